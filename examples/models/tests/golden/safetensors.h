/* Written by make_safetensors.py with safetensors 0.8.0 and PyTorch 2.13.0: what types.safetensors and
   types_unaligned.safetensors hold, in the order of the names' bytes; and files with the verdict of the reference.
   Included after examples/models/safetensors.h and math.h. */

#define TEXT(literal) literal, sizeof literal - 1

/* An element is its bits; of F4, two elements are, the byte that they share. Values are of the types that are read. */
typedef struct golden_tensor {
    const char *name;
    size_t name_size;
    safetensors_dtype dtype;
    size_t rank, shape[5], count;
    const uint64_t *bits;
    const double *values;
} golden_tensor;

static const uint64_t golden_bits_0[] = {
    0x42300000u};

static const double golden_values_0[] = {
    0x1.6000000000000p+5};

static const uint64_t golden_bits_1[] = {
    0x0u, 0x8000u, 0x3f80u, 0xbfc0u, 0x4049u, 0xba83u, 0x7f80u, 0xff80u, 0x7fc0u, 0x1u, 0x8001u, 0x83u, 0x7f7eu,
    0xbdcdu, 0x4060u, 0x3eabu};

static const double golden_values_1[] = {
    0x0.0p+0, -0x0.0p+0, 0x1.0000000000000p+0, -0x1.8000000000000p+0, 0x1.9200000000000p+1, -0x1.0600000000000p-10,
    INFINITY, -INFINITY, NAN, 0x1.0000000000000p-133, -0x1.0000000000000p-133, 0x1.0600000000000p-126,
    0x1.fc00000000000p+127, -0x1.9a00000000000p-4, 0x1.c000000000000p+1, 0x1.5600000000000p-2};

static const uint64_t golden_bits_2[] = {
    0x0u, 0x1u, 0x1u, 0x0u, 0x1u};

static const double golden_values_2[] = {
    0x0.0p+0, 0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x0.0p+0, 0x1.0000000000000p+0};

static const uint64_t golden_bits_3[] = {
    0x400000003f800000ull, 0x7f80000080000000ull, 0xc050000080000000ull};

static const uint64_t golden_bits_4[] = {
    0x42240000u};

static const double golden_values_4[] = {
    0x1.4800000000000p+5};

static const uint64_t golden_bits_8[] = {
    0x0u, 0x8000u, 0x3c00u, 0xbe00u, 0x4248u, 0x9419u, 0x7c00u, 0xfc00u, 0x7e00u, 0x1u, 0x83ffu, 0x400u, 0x7bffu,
    0xae66u, 0x4300u, 0x3555u};

static const double golden_values_8[] = {
    0x0.0p+0, -0x0.0p+0, 0x1.0000000000000p+0, -0x1.8000000000000p+0, 0x1.9200000000000p+1, -0x1.0640000000000p-10,
    INFINITY, -INFINITY, NAN, 0x1.0000000000000p-24, -0x1.ff80000000000p-15, 0x1.0000000000000p-14,
    0x1.ffc0000000000p+15, -0x1.9980000000000p-4, 0x1.c000000000000p+1, 0x1.5540000000000p-2};

static const uint64_t golden_bits_9[] = {
    0x0u, 0x80000000u, 0x3f800000u, 0xbfc00000u, 0x40490fdbu, 0xba83126fu, 0x7f800000u, 0xff800000u, 0x7fc00000u,
    0x1u, 0x800116c2u, 0x800000u, 0x7f7fffffu, 0xbdcccccdu, 0x40600000u, 0x3eaaaaabu};

static const double golden_values_9[] = {
    0x0.0p+0, -0x0.0p+0, 0x1.0000000000000p+0, -0x1.8000000000000p+0, 0x1.921fb60000000p+1, -0x1.0624de0000000p-10,
    INFINITY, -INFINITY, NAN, 0x1.0000000000000p-149, -0x1.16c2000000000p-133, 0x1.0000000000000p-126,
    0x1.fffffe0000000p+127, -0x1.99999a0000000p-4, 0x1.c000000000000p+1, 0x1.5555560000000p-2};

static const uint64_t golden_bits_10[] = {
    0x0u, 0x1u, 0x38u, 0x7bu, 0x7cu, 0x7fu, 0x80u, 0xffu, 0x3u, 0x12u, 0x40u, 0x5au, 0x81u, 0xb8u, 0xc4u, 0xfeu};

static const uint64_t golden_bits_11[] = {
    0x0u, 0x8000000000000000ull, 0x3ff0000000000000ull, 0xbff8000000000000ull, 0x400921fb54442d18ull,
    0xbf50624dd2f1a9fcull, 0x7ff0000000000000ull, 0xfff0000000000000ull, 0x7ff8000000000000ull, 0x1u,
    0x800012688b70e62bull, 0x10000000000000ull, 0x7fefffffffffffffull, 0xbfb999999999999aull, 0x400c000000000000ull,
    0x3fd5555555555555ull};

static const double golden_values_11[] = {
    0x0.0p+0, -0x0.0p+0, 0x1.0000000000000p+0, -0x1.8000000000000p+0, 0x1.921fb54442d18p+1, -0x1.0624dd2f1a9fcp-10,
    INFINITY, -INFINITY, NAN, 0x0.0000000000001p-1022, -0x0.012688b70e62bp-1022, 0x1.0000000000000p-1022,
    0x1.fffffffffffffp+1023, -0x1.999999999999ap-4, 0x1.c000000000000p+1, 0x1.5555555555555p-2};

static const uint64_t golden_bits_12[] = {
    0x0u, 0x1u, 0x38u, 0x7bu, 0x7cu, 0x7fu, 0x80u, 0xffu, 0x3u, 0x12u, 0x40u, 0x5au, 0x81u, 0xb8u, 0xc4u, 0xfeu};

static const uint64_t golden_bits_13[] = {
    0x0u, 0x1u, 0x38u, 0x7bu, 0x7cu, 0x7fu, 0x80u, 0xffu, 0x3u, 0x12u, 0x40u, 0x5au, 0x81u, 0xb8u, 0xc4u, 0xfeu};

static const uint64_t golden_bits_14[] = {
    0x0u, 0x1u, 0x38u, 0x7bu, 0x7cu, 0x7fu, 0x80u, 0xffu, 0x3u, 0x12u, 0x40u, 0x5au, 0x81u, 0xb8u, 0xc4u, 0xfeu};

static const uint64_t golden_bits_15[] = {
    0x0u, 0x1u, 0x38u, 0x7bu, 0x7cu, 0x7fu, 0x80u, 0xffu, 0x3u, 0x12u, 0x40u, 0x5au, 0x81u, 0xb8u, 0xc4u, 0xfeu};

static const uint64_t golden_bits_16[] = {
    0x0u, 0x1u, 0x38u, 0x7bu, 0x7cu, 0x7fu, 0x80u, 0xffu, 0x3u, 0x12u, 0x40u, 0x5au, 0x81u, 0xb8u, 0xc4u, 0xfeu};

static const uint64_t golden_bits_17[] = {
    0x0u, 0x1u, 0xffffu, 0x7fffu, 0x8000u, 0x100u, 0xfffeu, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u};

static const double golden_values_17[] = {
    0x0.0p+0, 0x1.0000000000000p+0, -0x1.0000000000000p+0, 0x1.fffc000000000p+14, -0x1.0000000000000p+15,
    0x1.0000000000000p+8, -0x1.0000000000000p+1, 0x1.8000000000000p+1, 0x1.0000000000000p+2, 0x1.4000000000000p+2,
    0x1.8000000000000p+2, 0x1.c000000000000p+2};

static const uint64_t golden_bits_18[] = {
    0x0u, 0x1u, 0xffffffffu, 0x7fffffffu, 0x80000000u, 0x10000u};

static const double golden_values_18[] = {
    0x0.0p+0, 0x1.0000000000000p+0, -0x1.0000000000000p+0, 0x1.fffffffc00000p+30, -0x1.0000000000000p+31,
    0x1.0000000000000p+16};

static const uint64_t golden_bits_19[] = {
    0x0u, 0x1u, 0x1fffffffffffffull, 0x20000000000000ull, 0x20000000000001ull, 0x20000000000003ull,
    0x4000000000000200ull, 0x4000000000000201ull, 0x7fffffffffffffffull, 0x7ffffffffffffe00ull, 0x0u,
    0xffffffffffffffffull, 0xffe0000000000001ull, 0xffe0000000000000ull, 0xffdfffffffffffffull, 0xffdffffffffffffdull,
    0xbffffffffffffe00ull, 0xbffffffffffffdffull, 0x8000000000000001ull, 0x8000000000000200ull, 0x8000000000000000ull,
    0x8000000000000201ull};

static const double golden_values_19[] = {
    0x0.0p+0, 0x1.0000000000000p+0, 0x1.fffffffffffffp+52, 0x1.0000000000000p+53, 0x1.0000000000000p+53,
    0x1.0000000000002p+53, 0x1.0000000000000p+62, 0x1.0000000000001p+62, 0x1.0000000000000p+63, 0x1.0000000000000p+63,
    0x0.0p+0, -0x1.0000000000000p+0, -0x1.fffffffffffffp+52, -0x1.0000000000000p+53, -0x1.0000000000000p+53,
    -0x1.0000000000002p+53, -0x1.0000000000000p+62, -0x1.0000000000001p+62, -0x1.0000000000000p+63,
    -0x1.0000000000000p+63, -0x1.0000000000000p+63, -0x1.fffffffffffffp+62};

static const uint64_t golden_bits_20[] = {
    0x0u, 0x1u, 0xffu, 0x7fu, 0x80u};

static const double golden_values_20[] = {
    0x0.0p+0, 0x1.0000000000000p+0, -0x1.0000000000000p+0, 0x1.fc00000000000p+6, -0x1.0000000000000p+7};

static const uint64_t golden_bits_21[] = {
    0x42280000u};

static const double golden_values_21[] = {
    0x1.5000000000000p+5};

static const uint64_t golden_bits_22[] = {
    0xc0200000u};

static const double golden_values_22[] = {
    -0x1.4000000000000p+1};

static const uint64_t golden_bits_23[] = {
    0xfffffffffffffff9ull};

static const double golden_values_23[] = {
    -0x1.c000000000000p+2};

static const uint64_t golden_bits_24[] = {
    0x0u, 0x1u, 0x8000u, 0xffffu, 0x100u};

static const double golden_values_24[] = {
    0x0.0p+0, 0x1.0000000000000p+0, 0x1.0000000000000p+15, 0x1.fffe000000000p+15, 0x1.0000000000000p+8};

static const uint64_t golden_bits_25[] = {
    0x0u, 0x1u, 0x80000000u, 0xffffffffu, 0xffffu};

static const double golden_values_25[] = {
    0x0.0p+0, 0x1.0000000000000p+0, 0x1.0000000000000p+31, 0x1.fffffffe00000p+31, 0x1.fffe000000000p+15};

static const uint64_t golden_bits_26[] = {
    0x0u, 0x1u, 0x1fffffffffffffull, 0x20000000000000ull, 0x20000000000001ull, 0x20000000000003ull,
    0x4000000000000200ull, 0x4000000000000201ull, 0x7fffffffffffffffull, 0x7ffffffffffffe00ull, 0x8000000000000000ull,
    0x8000000000000400ull, 0x8000000000000401ull, 0x8000000000000c00ull, 0xfffffffffffffbffull, 0xfffffffffffffc00ull,
    0xffffffffffffffffull};

static const double golden_values_26[] = {
    0x0.0p+0, 0x1.0000000000000p+0, 0x1.fffffffffffffp+52, 0x1.0000000000000p+53, 0x1.0000000000000p+53,
    0x1.0000000000002p+53, 0x1.0000000000000p+62, 0x1.0000000000001p+62, 0x1.0000000000000p+63, 0x1.0000000000000p+63,
    0x1.0000000000000p+63, 0x1.0000000000000p+63, 0x1.0000000000001p+63, 0x1.0000000000002p+63, 0x1.fffffffffffffp+63,
    0x1.0000000000000p+64, 0x1.0000000000000p+64};

static const uint64_t golden_bits_27[] = {
    0x0u, 0x1u, 0x7fu, 0x80u, 0xffu};

static const double golden_values_27[] = {
    0x0.0p+0, 0x1.0000000000000p+0, 0x1.fc00000000000p+6, 0x1.0000000000000p+7, 0x1.fe00000000000p+7};

static const uint64_t golden_bits_28[] = {
    0x422c0000u};

static const double golden_values_28[] = {
    0x1.5800000000000p+5};

static const golden_tensor golden_tensors[] = {
    {TEXT(""), SAFETENSORS_F32, 1, {1}, 1, golden_bits_0, golden_values_0},
    {TEXT("bf16"), SAFETENSORS_BF16, 2, {16, 1}, 16, golden_bits_1, golden_values_1},
    {TEXT("bool"), SAFETENSORS_BOOL, 1, {5}, 5, golden_bits_2, golden_values_2},
    {TEXT("c64"), SAFETENSORS_C64, 1, {3}, 3, golden_bits_3, NULL},
    {TEXT("d\303\251j\303\240 \346\227\245\346\234\254\350\252\236 \360\237\230\200"), SAFETENSORS_F32, 1, {1}, 1,
     golden_bits_4, golden_values_4},
    {TEXT("empty"), SAFETENSORS_F32, 1, {0}, 0, NULL, NULL},
    {TEXT("empty.bool"), SAFETENSORS_BOOL, 2, {0, 0}, 0, NULL, NULL},
    {TEXT("empty.f64"), SAFETENSORS_F64, 3, {3, 0, 2}, 0, NULL, NULL},
    {TEXT("f16"), SAFETENSORS_F16, 3, {2, 2, 4}, 16, golden_bits_8, golden_values_8},
    {TEXT("f32"), SAFETENSORS_F32, 2, {4, 4}, 16, golden_bits_9, golden_values_9},
    {TEXT("f4"), SAFETENSORS_F4, 2, {2, 16}, 32, golden_bits_10, NULL},
    {TEXT("f64"), SAFETENSORS_F64, 1, {16}, 16, golden_bits_11, golden_values_11},
    {TEXT("float8_e4m3fn"), SAFETENSORS_F8_E4M3, 1, {16}, 16, golden_bits_12, NULL},
    {TEXT("float8_e4m3fnuz"), SAFETENSORS_F8_E4M3FNUZ, 1, {16}, 16, golden_bits_13, NULL},
    {TEXT("float8_e5m2"), SAFETENSORS_F8_E5M2, 1, {16}, 16, golden_bits_14, NULL},
    {TEXT("float8_e5m2fnuz"), SAFETENSORS_F8_E5M2FNUZ, 1, {16}, 16, golden_bits_15, NULL},
    {TEXT("float8_e8m0fnu"), SAFETENSORS_F8_E8M0, 1, {16}, 16, golden_bits_16, NULL},
    {TEXT("i16"), SAFETENSORS_I16, 5, {1, 2, 1, 3, 2}, 12, golden_bits_17, golden_values_17},
    {TEXT("i32"), SAFETENSORS_I32, 1, {6}, 6, golden_bits_18, golden_values_18},
    {TEXT("i64"), SAFETENSORS_I64, 1, {22}, 22, golden_bits_19, golden_values_19},
    {TEXT("i8"), SAFETENSORS_I8, 1, {5}, 5, golden_bits_20, golden_values_20},
    {TEXT("quote \" slash / back \\ tab \011 newline \012 bell \007"), SAFETENSORS_F32, 1, {1}, 1, golden_bits_21,
     golden_values_21},
    {TEXT("scalar"), SAFETENSORS_F32, 0, {0}, 1, golden_bits_22, golden_values_22},
    {TEXT("scalar.i64"), SAFETENSORS_I64, 0, {0}, 1, golden_bits_23, golden_values_23},
    {TEXT("u16"), SAFETENSORS_U16, 1, {5}, 5, golden_bits_24, golden_values_24},
    {TEXT("u32"), SAFETENSORS_U32, 1, {5}, 5, golden_bits_25, golden_values_25},
    {TEXT("u64"), SAFETENSORS_U64, 1, {17}, 17, golden_bits_26, golden_values_26},
    {TEXT("u8"), SAFETENSORS_U8, 1, {5}, 5, golden_bits_27, golden_values_27},
    {TEXT("zero \000 within"), SAFETENSORS_F32, 1, {1}, 1, golden_bits_28, golden_values_28},
};

/* A file: 8 bytes with the length of what follows, or another number; part 0, `times` part 1, part 2; `data` zeros. Of
   that the first `cut` bytes. `cause` is in the message if it is refused. Comments tell where the verdicts differ. */
enum { REFUSED, ACCEPTED, OPENED = ACCEPTED, OPENED_64 }; /* OPENED_64: where size_t has 64 bits */

#define LENGTH_OF_HEADER (UINT64_MAX - 1) /* no file asks for this one */
#define WHOLE SIZE_MAX

typedef struct golden_file {
    const char *name, *parts[3];
    size_t part_sizes[3], times;
    uint64_t length;
    size_t data, cut;
    int reference, us;
    const char *cause;
} golden_file;

static const golden_file golden_files[] = {
    {"0 bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, 0, REFUSED, REFUSED, "header length"},
    {"1 bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, 1, REFUSED, REFUSED, "header length"},
    {"2 bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, 2, REFUSED, REFUSED, "header length"},
    {"3 bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, 3, REFUSED, REFUSED, "header length"},
    {"4 bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, 4, REFUSED, REFUSED, "header length"},
    {"5 bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, 5, REFUSED, REFUSED, "header length"},
    {"6 bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, 6, REFUSED, REFUSED, "header length"},
    {"7 bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, 7, REFUSED, REFUSED, "header length"},
    {"a length and nothing more", {"", "", ""}, {0, 0, 0}, 0, 2u, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"eight zeros", {"", "", ""}, {0, 0, 0}, 0, 0u, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a length of 0 before data", {"", "", ""}, {0, 0, 0}, 0, 0u, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a length beyond the limit", {"{}", "", ""}, {2, 0, 0}, 0, 100000001u, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a length at the limit in a short file", {"{}", "", ""}, {2, 0, 0}, 0, 100000000u, 0, WHOLE, REFUSED, REFUSED,
     "header"},
    {"a header at the limit", {"{}", " ", ""}, {2, 1, 0}, 99999998, LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, ""},
    {"a header beyond the limit", {"{}", " ", ""}, {2, 1, 0}, 99999999, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "header"},
    {"a length of 2^31", {"{}", "", ""}, {2, 0, 0}, 0, 2147483648u, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a length of 2^32 + 2", {"{}", "", ""}, {2, 0, 0}, 0, 4294967298ull, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a length of 2^63", {"{}", "", ""}, {2, 0, 0}, 0, 9223372036854775808ull, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a length of 2^64 - 8", {"{}", "", ""}, {2, 0, 0}, 0, 18446744073709551608ull, 0, WHOLE, REFUSED, REFUSED,
     "header"},
    {"a length of 2^64 - 6", {"{}", "", ""}, {2, 0, 0}, 0, 18446744073709551610ull, 0, WHOLE, REFUSED, REFUSED,
     "header"},
    {"a length of 2^64 - 1", {"{}", "", ""}, {2, 0, 0}, 0, 18446744073709551615ull, 0, WHOLE, REFUSED, REFUSED,
     "header"},
    {"a length past the end by one", {"{}", "", ""}, {2, 0, 0}, 0, 3u, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a length past the end by four", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {54, 0, 0}, 0, 59u, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a length into the data", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {54, 0, 0}, 0, 55u, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a length short by one", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {54, 0, 0}, 0, 53u, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"an empty header", {"{}", "", ""}, {2, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, ""},
    {"metadata alone", {"{\"__metadata__\":{\"a\":\"b\"}}", "", ""}, {26, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     ACCEPTED, OPENED, ""},
    {"one tensor", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"space before", {" \011\015\012{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"space after", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}} \011\015\012", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"space within",
     {" { \"a\" : { \"dtype\" : \"F32\" ,\012\"shape\" : [ 1 ] ,\011\"data_offsets\" : [ 0 , 4 ]\015} } ", "", ""},
     {78, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"an array as the header", {"[]", "", ""}, {2, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"null as the header", {"null", "", ""}, {4, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a string as the header", {"\"a\"", "", ""}, {3, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a number as the header", {"3", "", ""}, {1, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"true as the header", {"true", "", ""}, {4, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"an array of an object", {"[{}]", "", ""}, {4, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"space alone", {"   ", "", ""}, {3, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"two objects", {"{}{}", "", ""}, {4, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a letter after", {"{}x", "", ""}, {3, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a NUL after", {"{}\000", "", ""}, {3, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a NUL before", {"\000{}", "", ""}, {3, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a byte order mark", {"\357\273\277{}", "", ""}, {5, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "header"},
    {"a trailing comma", {"{\"__metadata__\":{},}", "", ""}, {20, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "header"},
    {"a comment", {"{}/**/", "", ""}, {6, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"single quotes", {"{'__metadata__':{}}", "", ""}, {19, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "header"},
    {"no quotes", {"{__metadata__:{}}", "", ""}, {17, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"an object that does not end", {"{\"__metadata__\":{}", "", ""}, {18, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "header"},
    {"a wrong bracket", {"{\"__metadata__\":{}]", "", ""}, {19, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "header"},
    {"UTF-16", {"{\000\"\000_\000_\000m\000e\000t\000a\000d\000a\000t\000a\000_\000_\000\"\000:\000{\000}\000}\000", "",
     ""}, {38, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a form feed", {"\014{}", "", ""}, {3, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a space beyond ASCII", {"\302\240{}", "", ""}, {4, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "header"},
    {"a lone byte in a name", {"{\"\200\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a lone byte in metadata", {"{\"__metadata__\":{\"a\":\"\200\"}}", "", ""}, {26, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a lone byte in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\200\"}}", "", ""}, {62, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"an overlong character in a name", {"{\"\300\200\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "",
     ""}, {55, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"an overlong character in metadata", {"{\"__metadata__\":{\"a\":\"\300\200\"}}", "", ""}, {27, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"an overlong character in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\300\200\"}}", "", ""}, {63, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a truncated character in a name", {"{\"\342\202\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "",
     ""}, {55, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a truncated character in metadata", {"{\"__metadata__\":{\"a\":\"\342\202\"}}", "", ""}, {27, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a truncated character in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\342\202\"}}", "", ""}, {63, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"an encoded surrogate in a name", {"{\"\355\240\200\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
     "", ""}, {56, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"an encoded surrogate in metadata", {"{\"__metadata__\":{\"a\":\"\355\240\200\"}}", "", ""}, {28, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"an encoded surrogate in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\355\240\200\"}}", "", ""}, {64, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a character beyond Unicode in a name",
     {"{\"\364\220\200\200\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {57, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a character beyond Unicode in metadata", {"{\"__metadata__\":{\"a\":\"\364\220\200\200\"}}", "", ""},
     {29, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a character beyond Unicode in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\364\220\200\200\"}}", "", ""},
     {65, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a control character in a name", {"{\"\012\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a control character in metadata", {"{\"__metadata__\":{\"a\":\"\012\"}}", "", ""}, {26, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a control character in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\012\"}}", "", ""}, {62, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a NUL in a name", {"{\"\000\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a NUL in metadata", {"{\"__metadata__\":{\"a\":\"\000\"}}", "", ""}, {26, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "header"},
    {"a NUL in what is ignored", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\000\"}}", "",
     ""}, {62, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"half a pair in a name", {"{\"\\ud800\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {59, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"half a pair in metadata", {"{\"__metadata__\":{\"a\":\"\\ud800\"}}", "", ""}, {31, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"half a pair in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\\ud800\"}}", "", ""}, {67, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"the other half in a name", {"{\"\\udc00\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {59, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"the other half in metadata", {"{\"__metadata__\":{\"a\":\"\\udc00\"}}", "", ""}, {31, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"the other half in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\\udc00\"}}", "", ""}, {67, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a pair reversed in a name", {"{\"\\udc00\\ud800\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "",
     ""}, {65, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a pair reversed in metadata", {"{\"__metadata__\":{\"a\":\"\\udc00\\ud800\"}}", "", ""}, {37, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"a pair reversed in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\\udc00\\ud800\"}}", "", ""},
     {73, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"no escape in a name", {"{\"\\x41\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {57, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"no escape in metadata", {"{\"__metadata__\":{\"a\":\"\\x41\"}}", "", ""}, {29, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "header"},
    {"no escape in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":\"\\x41\"}}", "", ""}, {65, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"an invalid number in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":01}}", "", ""}, {61, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"NaN in what is ignored", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":NaN}}", "", ""},
     {62, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "header"},
    {"a number too large in what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1e999}}", "", ""}, {64, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, OPENED, ""}, /* numbers that nobody asks for are not converted here */
    {"125 arrays in what is ignored", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":", "[",
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
     "]]]]]]]]]]]]]]]]]]]]]]]]]}}"}, {57, 1, 127}, 125, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"126 arrays in what is ignored", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":", "[",
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
     "]]]]]]]]]]]]]]]]]]]]]]]]]]}}"}, {57, 1, 128}, 126, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, OPENED, ""},
     /* there 127 levels are the limit, here 128 */
    {"127 arrays in what is ignored", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":", "[",
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]}}"}, {57, 1, 129}, 127, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "deep"},
    {"100000 arrays", {"", "[", ""}, {0, 1, 0}, 100000, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "deep"},
    {"100000 objects", {"", "{\"a\":", ""}, {0, 5, 0}, 100000, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "deep"},
    {"100000 arrays in what is ignored", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":", "[",
     ""}, {57, 1, 0}, 100000, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "deep"},
    {"100000 arrays as a shape", {"{\"a\":{\"dtype\":\"F32\",\"shape\":", "[", ""}, {28, 1, 0}, 100000,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "deep"},
    {"a name of no characters", {"{\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {53, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"a name with a NUL", {"{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {61, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"a name of 100000 bytes", {"{\"", "x", "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"},
     {2, 1, 51}, 100000, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"names apart by a NUL",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\\u0000\":{\"dtype\":\"F32\",\"sh"
     "ape\":[1],\"data_offsets\":[4,8]}}", "", ""}, {113, 0, 0}, 0, LENGTH_OF_HEADER, 8, WHOLE, ACCEPTED, OPENED, ""},
    {"names apart by their normal form",
     {"{\"\303\251\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"e\314\201\":{\"dtype\":\"F3"
     "2\",\"shape\":[1],\"data_offsets\":[4,8]}}", "", ""}, {110, 0, 0}, 0, LENGTH_OF_HEADER, 8, WHOLE,
     ACCEPTED, OPENED, ""},
    {"two tensors of a name",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[4,8]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 8, WHOLE, REFUSED, REFUSED,
     "two members \"a\""},
    {"two tensors of a name and place",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[0,4]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, REFUSED,
     "two members \"a\""}, /* the last of several counts there; a file that says two things is wrong here */
    {"a name spelled twice",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"\\u0061\":{\"dtype\":\"F32\",\"sha"
     "pe\":[1],\"data_offsets\":[0,4]}}", "", ""}, {112, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, REFUSED,
     "two members \"a\""}, /* the last of several counts there; a file that says two things is wrong here */
    {"a name twice, far apart",
     {"{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[4,8]},\"c\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},\"b\":{\""
     "dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {214, 0, 0}, 0, LENGTH_OF_HEADER, 12, WHOLE,
     ACCEPTED, REFUSED, "two members \"b\""},
     /* the last of several counts there; a file that says two things is wrong here */
    {"a name 1000 times", {"{", "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},",
     "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"}, {1, 53, 53}, 999, LENGTH_OF_HEADER, 4, WHOLE,
     ACCEPTED, REFUSED, "two members \"a\""},
     /* the last of several counts there; a file that says two things is wrong here */
    {"a name twice, once of no tensor", {"{\"a\":1,\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "",
     ""}, {60, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "two members \"a\""},
    {"two metadata", {"{\"__metadata__\":{},\"__metadata__\":{}}", "", ""}, {37, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "two members \"__metadata__\""},
    {"two metadata, once with an escape", {"{\"__metadata__\":{},\"\\u005f_metadata__\":{}}", "", ""}, {42, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "two members \"__metadata__\""},
    {"metadata with an escape", {"{\"\\u005f_metadata__\":{\"a\":\"b\"}}", "", ""}, {31, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, ""},
    {"metadata that are a tensor", {"{\"__metadata__\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "",
     ""}, {65, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "__metadata__"},
    {"a key twice in metadata", {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", "", ""}, {34, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, REFUSED, "two members \"a\""},
     /* the last of several counts there; a file that says two things is wrong here */
    {"two dtype", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"dtype\":\"F32\"}}", "", ""},
     {68, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "two members \"dtype\""},
    {"two shape", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"shape\":[1]}}", "", ""},
     {66, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "two members \"shape\""},
    {"two data_offsets", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"data_offsets\":[0,4]}}", "",
     ""}, {75, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "two members \"data_offsets\""},
    {"two dtype, once with an escape",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"\\u0064type\":\"F32\"}}", "", ""},
     {73, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "two members \"dtype\""},
    {"two keys that are ignored", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1,\"x\":2}}",
     "", ""}, {66, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, REFUSED, "two members \"x\""},
     /* the last of several counts there; a file that says two things is wrong here */
    {"two keys within what is ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":{\"y\":1,\"y\":2}}}", "", ""},
     {72, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"metadata that are null", {"{\"__metadata__\":null}", "", ""}, {21, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     ACCEPTED, REFUSED, "__metadata__"}, /* null stands for none there */
    {"metadata that are []", {"{\"__metadata__\":[]}", "", ""}, {19, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "__metadata__"},
    {"metadata that are \"a\"", {"{\"__metadata__\":\"a\"}", "", ""}, {20, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "__metadata__"},
    {"metadata that are 1", {"{\"__metadata__\":1}", "", ""}, {18, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "__metadata__"},
    {"metadata that are true", {"{\"__metadata__\":true}", "", ""}, {21, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "__metadata__"},
    {"metadata that hold null", {"{\"__metadata__\":{\"a\":null}}", "", ""}, {27, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "__metadata__"},
    {"metadata that hold 1", {"{\"__metadata__\":{\"a\":1}}", "", ""}, {24, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "__metadata__"},
    {"metadata that hold true", {"{\"__metadata__\":{\"a\":true}}", "", ""}, {27, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "__metadata__"},
    {"metadata that hold []", {"{\"__metadata__\":{\"a\":[]}}", "", ""}, {25, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     REFUSED, REFUSED, "__metadata__"},
    {"metadata that hold {\"b\":\"c\"}", {"{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}", "", ""}, {32, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "__metadata__"},
    {"metadata that hold nothing", {"{\"__metadata__\":{}}", "", ""}, {19, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE,
     ACCEPTED, OPENED, ""},
    {"metadata after the tensors",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"__metadata__\":{\"a\":\"\"}}", "", ""},
     {78, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"wrong metadata after the tensors",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"__metadata__\":{\"a\":1}}", "", ""},
     {77, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "__metadata__"},
    {"metadata named otherwise", {"{\"__Metadata__\":{\"a\":\"b\"}}", "", ""}, {26, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"__Metadata__\": "},
    {"a tensor that is null", {"{\"a\":null}", "", ""}, {10, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "\"a\": not an object"},
    {"a tensor that is []", {"{\"a\":[]}", "", ""}, {8, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "\"a\": not an object"},
    {"a tensor that is \"a\"", {"{\"a\":\"a\"}", "", ""}, {9, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "\"a\": not an object"},
    {"a tensor that is 1", {"{\"a\":1}", "", ""}, {7, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "\"a\": not an object"},
    {"a tensor that is false", {"{\"a\":false}", "", ""}, {11, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "\"a\": not an object"},
    {"a tensor that is a list", {"{\"a\":[\"F32\",[1],[0,4]]}", "", ""}, {23, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE,
     ACCEPTED, REFUSED, "\"a\": not an object"}, /* Rust reads a list as a structure too */
    {"a tensor of nothing", {"{\"a\":{}}", "", ""}, {8, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED,
     "\"a\": "},
    {"keys in another order", {"{\"a\":{\"data_offsets\":[0,4],\"shape\":[1],\"dtype\":\"F32\"}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"keys with escapes", {"{\"a\":{\"\\u0064type\":\"\\u004632\",\"sh\\u0061pe\":[1],\"data_offset\\u0073\":[0,4]}}",
     "", ""}, {74, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"keys that are ignored",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1,\"\":[{\"dtype\":\"F64\"}],\""
     "Shape\":[2],\"strides\":null,\"offset\":-1.5e-3}}", "", ""}, {125, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE,
     ACCEPTED, OPENED, ""},
    {"keys that are ignored first",
     {"{\"a\":{\"x\":{\"shape\":[7]},\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {72, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"no dtype", {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {40, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE,
     REFUSED, REFUSED, "\"a\": dtype"},
    {"no shape", {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", "", ""}, {42, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"no data_offsets", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "", ""}, {33, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"dtype null", {"{\"a\":{\"dtype\":null,\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 1", {"{\"a\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {50, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype []", {"{\"a\":{\"dtype\":[],\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {51, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype [\"F32\"]", {"{\"a\":{\"dtype\":[\"F32\"],\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {56, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype {}", {"{\"a\":{\"dtype\":{},\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {51, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype true", {"{\"a\":{\"dtype\":true,\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype as an object", {"{\"a\":{\"dtype\":{\"F32\":null},\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {61, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, REFUSED, "\"a\": dtype"}, /* Rust reads that as a name too */
    {"dtype 'f32'", {"{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'F32 '", {"{\"a\":{\"dtype\":\"F32 \",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype ' F32'", {"{\"a\":{\"dtype\":\" F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype ''", {"{\"a\":{\"dtype\":\"\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {51, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'F'", {"{\"a\":{\"dtype\":\"F\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {52, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'F3'", {"{\"a\":{\"dtype\":\"F3\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'F322'", {"{\"a\":{\"dtype\":\"F322\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'F128'", {"{\"a\":{\"dtype\":\"F128\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'FLOAT'", {"{\"a\":{\"dtype\":\"FLOAT\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {56, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'float32'", {"{\"a\":{\"dtype\":\"float32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {58, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'F8'", {"{\"a\":{\"dtype\":\"F8\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'F8_E4M3FN'", {"{\"a\":{\"dtype\":\"F8_E4M3FN\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {60, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'I4'", {"{\"a\":{\"dtype\":\"I4\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'bf16'", {"{\"a\":{\"dtype\":\"bf16\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'F32\\u0000'", {"{\"a\":{\"dtype\":\"F32\\u0000\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {60, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'U128'", {"{\"a\":{\"dtype\":\"U128\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'C128'", {"{\"a\":{\"dtype\":\"C128\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype '__metadata__'", {"{\"a\":{\"dtype\":\"__metadata__\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {63, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'Bool'", {"{\"a\":{\"dtype\":\"Bool\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"dtype 'bool'", {"{\"a\":{\"dtype\":\"bool\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype"},
    {"four of BOOL", {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"four of BOOL in a byte too many", {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[0,5]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of BOOL in a byte too few", {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[0,3]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F4", {"{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,2]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 2, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F4 in a byte too many", {"{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,3]}}", "", ""},
     {53, 0, 0}, 0, LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F4 in a byte too few", {"{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,1]}}", "", ""},
     {53, 0, 0}, 0, LENGTH_OF_HEADER, 1, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F6_E2M3", {"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}", "", ""}, {58, 0, 0}, 0,
     LENGTH_OF_HEADER, 3, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F6_E2M3 in a byte too many", {"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,4]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F6_E2M3 in a byte too few", {"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,2]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 2, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F6_E3M2", {"{\"a\":{\"dtype\":\"F6_E3M2\",\"shape\":[4],\"data_offsets\":[0,3]}}", "", ""}, {58, 0, 0}, 0,
     LENGTH_OF_HEADER, 3, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F6_E3M2 in a byte too many", {"{\"a\":{\"dtype\":\"F6_E3M2\",\"shape\":[4],\"data_offsets\":[0,4]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F6_E3M2 in a byte too few", {"{\"a\":{\"dtype\":\"F6_E3M2\",\"shape\":[4],\"data_offsets\":[0,2]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 2, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of U8", {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"four of U8 in a byte too many", {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,5]}}", "", ""},
     {53, 0, 0}, 0, LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of U8 in a byte too few", {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,3]}}", "", ""},
     {53, 0, 0}, 0, LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of I8", {"{\"a\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,4]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"four of I8 in a byte too many", {"{\"a\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,5]}}", "", ""},
     {53, 0, 0}, 0, LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of I8 in a byte too few", {"{\"a\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,3]}}", "", ""},
     {53, 0, 0}, 0, LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E5M2", {"{\"a\":{\"dtype\":\"F8_E5M2\",\"shape\":[4],\"data_offsets\":[0,4]}}", "", ""}, {58, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F8_E5M2 in a byte too many", {"{\"a\":{\"dtype\":\"F8_E5M2\",\"shape\":[4],\"data_offsets\":[0,5]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E5M2 in a byte too few", {"{\"a\":{\"dtype\":\"F8_E5M2\",\"shape\":[4],\"data_offsets\":[0,3]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E4M3", {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,4]}}", "", ""}, {58, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F8_E4M3 in a byte too many", {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,5]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E4M3 in a byte too few", {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,3]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E8M0", {"{\"a\":{\"dtype\":\"F8_E8M0\",\"shape\":[4],\"data_offsets\":[0,4]}}", "", ""}, {58, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F8_E8M0 in a byte too many", {"{\"a\":{\"dtype\":\"F8_E8M0\",\"shape\":[4],\"data_offsets\":[0,5]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E8M0 in a byte too few", {"{\"a\":{\"dtype\":\"F8_E8M0\",\"shape\":[4],\"data_offsets\":[0,3]}}", "",
     ""}, {58, 0, 0}, 0, LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E4M3FNUZ", {"{\"a\":{\"dtype\":\"F8_E4M3FNUZ\",\"shape\":[4],\"data_offsets\":[0,4]}}", "", ""},
     {62, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F8_E4M3FNUZ in a byte too many",
     {"{\"a\":{\"dtype\":\"F8_E4M3FNUZ\",\"shape\":[4],\"data_offsets\":[0,5]}}", "", ""}, {62, 0, 0}, 0,
     LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E4M3FNUZ in a byte too few",
     {"{\"a\":{\"dtype\":\"F8_E4M3FNUZ\",\"shape\":[4],\"data_offsets\":[0,3]}}", "", ""}, {62, 0, 0}, 0,
     LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E5M2FNUZ", {"{\"a\":{\"dtype\":\"F8_E5M2FNUZ\",\"shape\":[4],\"data_offsets\":[0,4]}}", "", ""},
     {62, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F8_E5M2FNUZ in a byte too many",
     {"{\"a\":{\"dtype\":\"F8_E5M2FNUZ\",\"shape\":[4],\"data_offsets\":[0,5]}}", "", ""}, {62, 0, 0}, 0,
     LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F8_E5M2FNUZ in a byte too few",
     {"{\"a\":{\"dtype\":\"F8_E5M2FNUZ\",\"shape\":[4],\"data_offsets\":[0,3]}}", "", ""}, {62, 0, 0}, 0,
     LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of I16", {"{\"a\":{\"dtype\":\"I16\",\"shape\":[4],\"data_offsets\":[0,8]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 8, WHOLE, ACCEPTED, OPENED, ""},
    {"four of I16 in a byte too many", {"{\"a\":{\"dtype\":\"I16\",\"shape\":[4],\"data_offsets\":[0,9]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 9, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of I16 in a byte too few", {"{\"a\":{\"dtype\":\"I16\",\"shape\":[4],\"data_offsets\":[0,7]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 7, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of U16", {"{\"a\":{\"dtype\":\"U16\",\"shape\":[4],\"data_offsets\":[0,8]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 8, WHOLE, ACCEPTED, OPENED, ""},
    {"four of U16 in a byte too many", {"{\"a\":{\"dtype\":\"U16\",\"shape\":[4],\"data_offsets\":[0,9]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 9, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of U16 in a byte too few", {"{\"a\":{\"dtype\":\"U16\",\"shape\":[4],\"data_offsets\":[0,7]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 7, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F16", {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 8, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F16 in a byte too many", {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,9]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 9, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F16 in a byte too few", {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,7]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 7, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of BF16", {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 8, WHOLE, ACCEPTED, OPENED, ""},
    {"four of BF16 in a byte too many", {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,9]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 9, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of BF16 in a byte too few", {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,7]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 7, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of I32", {"{\"a\":{\"dtype\":\"I32\",\"shape\":[4],\"data_offsets\":[0,16]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 16, WHOLE, ACCEPTED, OPENED, ""},
    {"four of I32 in a byte too many", {"{\"a\":{\"dtype\":\"I32\",\"shape\":[4],\"data_offsets\":[0,17]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 17, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of I32 in a byte too few", {"{\"a\":{\"dtype\":\"I32\",\"shape\":[4],\"data_offsets\":[0,15]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 15, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of U32", {"{\"a\":{\"dtype\":\"U32\",\"shape\":[4],\"data_offsets\":[0,16]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 16, WHOLE, ACCEPTED, OPENED, ""},
    {"four of U32 in a byte too many", {"{\"a\":{\"dtype\":\"U32\",\"shape\":[4],\"data_offsets\":[0,17]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 17, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of U32 in a byte too few", {"{\"a\":{\"dtype\":\"U32\",\"shape\":[4],\"data_offsets\":[0,15]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 15, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F32", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 16, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F32 in a byte too many", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,17]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 17, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F32 in a byte too few", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,15]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 15, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of C64", {"{\"a\":{\"dtype\":\"C64\",\"shape\":[4],\"data_offsets\":[0,32]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 32, WHOLE, ACCEPTED, OPENED, ""},
    {"four of C64 in a byte too many", {"{\"a\":{\"dtype\":\"C64\",\"shape\":[4],\"data_offsets\":[0,33]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 33, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of C64 in a byte too few", {"{\"a\":{\"dtype\":\"C64\",\"shape\":[4],\"data_offsets\":[0,31]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 31, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F64", {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[0,32]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 32, WHOLE, ACCEPTED, OPENED, ""},
    {"four of F64 in a byte too many", {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[0,33]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 33, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of F64 in a byte too few", {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[0,31]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 31, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of I64", {"{\"a\":{\"dtype\":\"I64\",\"shape\":[4],\"data_offsets\":[0,32]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 32, WHOLE, ACCEPTED, OPENED, ""},
    {"four of I64 in a byte too many", {"{\"a\":{\"dtype\":\"I64\",\"shape\":[4],\"data_offsets\":[0,33]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 33, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of I64 in a byte too few", {"{\"a\":{\"dtype\":\"I64\",\"shape\":[4],\"data_offsets\":[0,31]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 31, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of U64", {"{\"a\":{\"dtype\":\"U64\",\"shape\":[4],\"data_offsets\":[0,32]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 32, WHOLE, ACCEPTED, OPENED, ""},
    {"four of U64 in a byte too many", {"{\"a\":{\"dtype\":\"U64\",\"shape\":[4],\"data_offsets\":[0,33]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 33, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"four of U64 in a byte too few", {"{\"a\":{\"dtype\":\"U64\",\"shape\":[4],\"data_offsets\":[0,31]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 31, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"F4 [3] in 1 bytes", {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 1, WHOLE, REFUSED, REFUSED, "\"a\": elements"},
    {"F4 [3] in 2 bytes", {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 2, WHOLE, REFUSED, REFUSED, "\"a\": elements"},
    {"F4 [] in 1 bytes", {"{\"a\":{\"dtype\":\"F4\",\"shape\":[],\"data_offsets\":[0,1]}}", "", ""}, {52, 0, 0}, 0,
     LENGTH_OF_HEADER, 1, WHOLE, REFUSED, REFUSED, "\"a\": elements"},
    {"F4 [1] in 0 bytes", {"{\"a\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,0]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": elements"},
    {"F6_E2M3 [3] in 2 bytes", {"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[3],\"data_offsets\":[0,2]}}", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 2, WHOLE, REFUSED, REFUSED, "\"a\": elements"},
    {"F6_E2M3 [2] in 1 bytes", {"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[2],\"data_offsets\":[0,1]}}", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 1, WHOLE, REFUSED, REFUSED, "\"a\": elements"},
    {"F6_E3M2 [1,2] in 2 bytes", {"{\"a\":{\"dtype\":\"F6_E3M2\",\"shape\":[1,2],\"data_offsets\":[0,2]}}", "", ""},
     {60, 0, 0}, 0, LENGTH_OF_HEADER, 2, WHOLE, REFUSED, REFUSED, "\"a\": elements"},
    {"F6_E3M2 [5] in 4 bytes", {"{\"a\":{\"dtype\":\"F6_E3M2\",\"shape\":[5],\"data_offsets\":[0,4]}}", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": elements"},
    {"F4 [2] in 1 bytes", {"{\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 1, WHOLE, ACCEPTED, OPENED, ""},
    {"F4 [0] in 0 bytes", {"{\"a\":{\"dtype\":\"F4\",\"shape\":[0],\"data_offsets\":[0,0]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, ""},
    {"F6_E2M3 [2,2] in 3 bytes", {"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[2,2],\"data_offsets\":[0,3]}}", "", ""},
     {60, 0, 0}, 0, LENGTH_OF_HEADER, 3, WHOLE, ACCEPTED, OPENED, ""},
    {"F6_E3M2 [8] in 6 bytes", {"{\"a\":{\"dtype\":\"F6_E3M2\",\"shape\":[8],\"data_offsets\":[0,6]}}", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 6, WHOLE, ACCEPTED, OPENED, ""},
    {"shape null", {"{\"a\":{\"dtype\":\"F32\",\"shape\":null,\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape 1", {"{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", "", ""}, {52, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape \"1\"", {"{\"a\":{\"dtype\":\"F32\",\"shape\":\"1\",\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape {}", {"{\"a\":{\"dtype\":\"F32\",\"shape\":{},\"data_offsets\":[0,4]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape {\"0\":1}", {"{\"a\":{\"dtype\":\"F32\",\"shape\":{\"0\":1},\"data_offsets\":[0,4]}}", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape true", {"{\"a\":{\"dtype\":\"F32\",\"shape\":true,\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [[1]]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[[1]],\"data_offsets\":[0,4]}}", "", ""}, {56, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [\"1\"]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[\"1\"],\"data_offsets\":[0,4]}}", "", ""}, {56, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [null]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[null],\"data_offsets\":[0,4]}}", "", ""}, {57, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [true]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[true],\"data_offsets\":[0,4]}}", "", ""}, {57, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [{}]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[{}],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [-1]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [-0]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-0],\"data_offsets\":[0,4]}}", "", ""}, {55, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [1.0]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", "", ""}, {56, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [1e0]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1e0],\"data_offsets\":[0,4]}}", "", ""}, {56, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [0.5]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0.5],\"data_offsets\":[0,4]}}", "", ""}, {56, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [1,1.0]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1.0],\"data_offsets\":[0,4]}}", "", ""}, {58, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [18446744073709551616]",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551616],\"data_offsets\":[0,4]}}", "", ""}, {73, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [1e30]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1e30],\"data_offsets\":[0,4]}}", "", ""}, {57, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [100000000000000000000000000000001]",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[100000000000000000000000000000001],\"data_offsets\":[0,4]}}", "", ""},
     {86, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"shape [-1, -1]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1,-1],\"data_offsets\":[0,4]}}", "", ""}, {58, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": shape"},
    {"rank 0", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"rank 9", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", "", ""},
     {70, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"rank 100000", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[", "1,", "1],\"data_offsets\":[0,4]}}"}, {29, 2, 25}, 99999,
     LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"rank 100000 of zeros", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[", "0,", "0],\"data_offsets\":[0,0]}}"},
     {29, 2, 25}, 99999, LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, ""},
    {"rank 100000 of twos", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[", "2,", "2],\"data_offsets\":[0,0]}}"},
     {29, 2, 25}, 99999, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": shape overflows"},
    {"size 0", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, ""},
    {"size 0 with bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"rank 0 without bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,0]}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"one element too many", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": dtype and shape"},
    {"shape [9223372036854775808,4,0] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808,4,0],\"data_offsets\":[0,0]}}", "", ""}, {76, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [0,9223372036854775808,4] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,9223372036854775808,4],\"data_offsets\":[0,0]}}", "", ""}, {76, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED_64, "\"a\": "},
    {"shape [4,0,9223372036854775808] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4,0,9223372036854775808],\"data_offsets\":[0,0]}}", "", ""}, {76, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED_64, "\"a\": "},
    {"shape [9223372036854775808,0] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808,0],\"data_offsets\":[0,0]}}", "", ""}, {74, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED_64, "\"a\": "},
    {"shape [0,18446744073709551615] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,18446744073709551615],\"data_offsets\":[0,0]}}", "", ""}, {75, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED_64, "\"a\": "},
    {"shape [0,18446744073709551615,18446744073709551615] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,18446744073709551615,18446744073709551615],\"data_offsets\":[" "0,0]}}",
     "", ""}, {96, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED_64, "\"a\": "},
    {"shape [9223372036854775808,2] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808,2],\"data_offsets\":[0,0]}}", "", ""}, {74, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [4294967296,4294967296] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", "", ""}, {74, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [4294967296,4294967296,0] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,0],\"data_offsets\":[0,0]}}", "", ""}, {76, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [4294967296,4294967295,0] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967295,0],\"data_offsets\":[0,0]}}", "", ""}, {76, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED_64, "\"a\": "},
    {"shape [65536,65536,0] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[65536,65536,0],\"data_offsets\":[0,0]}}", "", ""}, {66, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED_64, "\"a\": "},
    {"shape [0,65536,65536] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,65536,65536],\"data_offsets\":[0,0]}}", "", ""}, {66, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, "\"a\": "},
    {"shape [65536,65535,0] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[65536,65535,0],\"data_offsets\":[0,0]}}", "", ""}, {66, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, "\"a\": "},
    {"shape [4294967296] in no bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296],\"data_offsets\":[0,0]}}", "",
     ""}, {63, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [0,4294967296] in no bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4294967296],\"data_offsets\":[0,0]}}",
     "", ""}, {65, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED_64, "\"a\": "},
    {"shape [0,4294967295] in no bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4294967295],\"data_offsets\":[0,0]}}",
     "", ""}, {65, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, "\"a\": "},
    {"shape [4294967297] in no bytes", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967297],\"data_offsets\":[0,0]}}", "",
     ""}, {63, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [18446744073709551615,18446744073709551615] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551615,18446744073709551615],\"data_offsets\":[0," "0]}}", "",
     ""}, {94, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [18446744073709551615] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551615],\"data_offsets\":[0,0]}}", "", ""}, {73, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [4611686018427387904] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", "", ""}, {72, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [576460752303423488] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[576460752303423488],\"data_offsets\":[0,0]}}", "", ""}, {71, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [576460752303423487] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[576460752303423487],\"data_offsets\":[0,0]}}", "", ""}, {71, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [0,18446744073709551616] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,18446744073709551616],\"data_offsets\":[0,0]}}", "", ""}, {75, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [3,5,17,257,641,6700417] in no bytes",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3,5,17,257,641,6700417],\"data_offsets\":[0,0]}}", "", ""}, {75, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [2305843009213693952] of U8 to 2305843009213693952",
     {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2305843009213693952],\"data_offsets\":[0,2305843009213693952]}}", "", ""},
     {89, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [1152921504606846976] of U8 to 1152921504606846976",
     {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1152921504606846976],\"data_offsets\":[0,1152921504606846976]}}", "", ""},
     {89, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [288230376151711744] of F64 to 2305843009213693952",
     {"{\"a\":{\"dtype\":\"F64\",\"shape\":[288230376151711744],\"data_offsets\":[0,2305843009213693952]}}", "", ""},
     {89, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [536870912] of U8 to 536870912",
     {"{\"a\":{\"dtype\":\"U8\",\"shape\":[536870912],\"data_offsets\":[0,536870912]}}", "", ""}, {69, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [4294967296] of U8 to 4294967296",
     {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296],\"data_offsets\":[0,4294967296]}}", "", ""}, {71, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [4294967300] of U8 to 4", {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967300],\"data_offsets\":[0,4]}}", "",
     ""}, {62, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"shape [18446744073709551615] of U8 to 18446744073709551615",
     {"{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551615],\"data_offsets\":[0,18446744073709551615]}" "}", "",
     ""}, {91, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"data_offsets null", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":null}}", "", ""}, {53, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets 0", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":0}}", "", ""}, {50, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets \"0,4\"", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":\"0,4\"}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets {}", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":{}}}", "", ""}, {51, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets {\"0\":0,\"1\":4}", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":{\"0\":0,\"1\":4}}}",
     "", ""}, {62, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets []", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[]}}", "", ""}, {51, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", "", ""}, {52, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [4]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}}", "", ""}, {52, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,4,4]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", "", ""},
     {56, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,4,null]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,null]}}", "", ""},
     {59, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [[0,4]]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[[0,4]]}}", "", ""},
     {56, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [\"0\",\"4\"]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[\"0\",\"4\"]}}", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [null,4]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[null,4]}}", "", ""},
     {57, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,null]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,null]}}", "", ""},
     {57, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [-0,4]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-0,4]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [-4,0]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,-4]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,-4]}}", "", ""},
     {55, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0.0,4]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0.0,4]}}", "", ""},
     {56, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,4.0]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4.0]}}", "", ""},
     {56, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,4e0]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4e0]}}", "", ""},
     {56, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,0.4e1]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,0.4e1]}}", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,18446744073709551616]",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,18446744073709551616]}}", "", ""}, {73, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,18446744073709551620]",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,18446744073709551620]}}", "", ""}, {73, 0, 0}, 0,
     LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [18446744073709551616,18446744073709551620]",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[18446744073709551616,18446744073709551620]" "}}", "",
     ""}, {92, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets [0,1e300]", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,1e300]}}", "", ""},
     {58, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets that end before they begin", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", "",
     ""}, {54, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets reversed of size 0", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,0]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets that wrap", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[18446744073709551612,0]}}",
     "", ""}, {73, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets at the end of numbers",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[18446744073709551611,18446744073709551615]" "}}", "",
     ""}, {92, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets 2^32 on", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4294967296,4294967300]}}", "",
     ""}, {72, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets that end after the file", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "",
     ""}, {54, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"data_offsets after the file by one", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 3, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"no data", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": data_offsets"},
    {"a byte after the data", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "after the last tensor"},
    {"data without a tensor", {"{}", "", ""}, {2, 0, 0}, 0, LENGTH_OF_HEADER, 1, WHOLE, REFUSED, REFUSED,
     "after the last tensor"},
    {"data of metadata alone", {"{\"__metadata__\":{}}", "", ""}, {19, 0, 0}, 0, LENGTH_OF_HEADER, 8, WHOLE,
     REFUSED, REFUSED, "after the last tensor"},
    {"first offset not 0", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 8, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"first offset 1", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 5, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"two in order",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[4,8]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 8, WHOLE, ACCEPTED, OPENED, ""},
    {"two in the other order",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[0,4]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 8, WHOLE, ACCEPTED, OPENED, ""},
    {"a gap", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[8,12]}}", "", ""}, {108, 0, 0}, 0, LENGTH_OF_HEADER, 12, WHOLE, REFUSED, REFUSED, "\"b\": "},
    {"a gap of one byte",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[5,9]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 9, WHOLE, REFUSED, REFUSED, "\"b\": "},
    {"a gap, in the other order",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[5,9]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[0,4]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 9, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"overlap", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "2],\"data_offsets\":[4,12]}}", "", ""}, {108, 0, 0}, 0, LENGTH_OF_HEADER, 12, WHOLE, REFUSED, REFUSED, "\"b\": "},
    {"overlap by one byte",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[3,7]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 7, WHOLE, REFUSED, REFUSED, "\"b\": "},
    {"one within another",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},\"b\":{\"dtype\":\"F32\",\"shape\":"
     "[1],\"data_offsets\":[4,8]}}", "", ""}, {108, 0, 0}, 0, LENGTH_OF_HEADER, 12, WHOLE, REFUSED, REFUSED, "\"b\": "},
    {"one at the end of another",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},\"b\":{\"dtype\":\"F32\",\"shape\":"
     "[1],\"data_offsets\":[8,12]}}", "", ""}, {109, 0, 0}, 0, LENGTH_OF_HEADER, 12, WHOLE, REFUSED, REFUSED,
     "\"b\": "},
    {"one at the beginning of another",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},\"b\":{\"dtype\":\"F32\",\"shape\":"
     "[1],\"data_offsets\":[0,4]}}", "", ""}, {108, 0, 0}, 0, LENGTH_OF_HEADER, 12, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"the same range",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[0,4]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "tensor"},
    {"the same range, and more data",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "1],\"data_offsets\":[0,4]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 8, WHOLE, REFUSED, REFUSED, "tensor"},
    {"size 0 before",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "0],\"data_offsets\":[0,0]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"size 0 after",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "0],\"data_offsets\":[4,4]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, ACCEPTED, OPENED, ""},
    {"size 0 within",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "0],\"data_offsets\":[2,2]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"b\": "},
    {"size 0 past the end",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "0],\"data_offsets\":[5,5]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"b\": "},
    {"size 0 at a place of its own", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}}", "", ""},
     {54, 0, 0}, 0, LENGTH_OF_HEADER, 4, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"size 0 far out", {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}}", "", ""}, {54, 0, 0}, 0,
     LENGTH_OF_HEADER, 0, WHOLE, REFUSED, REFUSED, "\"a\": "},
    {"sizes 0 at one offset",
     {"{\"d\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},\"e\":{\"dtype\":\"F32\",\"shape\":["
     "2,0],\"data_offsets\":[4,4]},\"c\":{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[0,0]},\"a\":"
     "{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[8,8]},\"f\":{\"dtype\":\"F32\",\"shape\":[2,0],"
     "\"data_offsets\":[4,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[4,4]},\"g\":{\"dt"
     "ype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "", ""}, {382, 0, 0}, 0, LENGTH_OF_HEADER, 8, WHOLE,
     ACCEPTED, OPENED, ""},
    {"sizes 0 alone",
     {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"b\":{\"dtype\":\"F32\",\"shape\":["
     "3,0],\"data_offsets\":[0,0]}}", "", ""}, {109, 0, 0}, 0, LENGTH_OF_HEADER, 0, WHOLE, ACCEPTED, OPENED, ""},
    {"five in any order",
     {"{\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,24]},\"c\":{\"dtype\":\"F32\",\"shape\""
     ":[0],\"data_offsets\":[0,0]},\"d\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[24,40]},\"a\":"
     "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"e\":{\"dtype\":\"F32\",\"shape\":[2],\"da"
     "ta_offsets\":[4,12]}}", "", ""}, {271, 0, 0}, 0, LENGTH_OF_HEADER, 40, WHOLE, ACCEPTED, OPENED, ""},
    {"unaligned tensors",
     {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},\"b\":{\"dtype\":\"F64\",\"shape\":[2"
     "],\"data_offsets\":[3,19]}}", "", ""}, {107, 0, 0}, 0, LENGTH_OF_HEADER, 19, WHOLE, ACCEPTED, OPENED, ""},
};
