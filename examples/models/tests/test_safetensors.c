/* The safetensors reader: files that the reference library wrote, element by element; odd and broken files with the
   verdict of the reference; truncated and altered ones; messages; memory. Files lie at the very end of their blocks, at
   every alignment, where a sanitizer sees a byte read too many. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "examples/models/safetensors.h"

#include "test.h"

#include "golden/safetensors.h"

#define TYPES "examples/models/tests/golden/types.safetensors"
#define TYPES_UNALIGNED "examples/models/tests/golden/types_unaligned.safetensors"

enum { TENSORS = sizeof golden_tensors / sizeof *golden_tensors, FILES = sizeof golden_files / sizeof *golden_files };

/* ---- bytes ---- */

typedef struct bytes {
    unsigned char *block, *at; /* at: the contents, at the end of the block */
    size_t size;
} bytes;

static bytes room(size_t size, size_t shift) /* at an address that is shift more than a multiple of 8 */
{
    bytes b;
    b.block = calloc(1, 8 + shift + size);
    if (!b.block)
        abort();
    b.at = b.block + 8 + shift;
    b.size = size;
    return b;
}

static bytes part(bytes whole, size_t size, size_t shift) /* a copy of the first ones */
{
    bytes b = room(size, shift);
    memcpy(b.at, whole.at, size);
    return b;
}

static void drop(bytes b)
{
    free(b.block);
}

static bytes read_all(const char *path)
{
    bytes b = {NULL, NULL, 0};
    FILE *f = fopen(path, "rb");
    long size;
    if (!CHECK(f != NULL) || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
        abort();
    b = room((size_t)size, 0);
    if (fread(b.at, 1, b.size, f) != b.size)
        abort();
    fclose(f);
    return b;
}

static void put_length(unsigned char *at, uint64_t length)
{
    for (int n = 0; n < 8; n++)
        at[n] = (unsigned char)(length >> 8 * n);
}

static bytes golden(const golden_file *g, size_t shift)
{
    size_t header = g->part_sizes[0] + g->part_sizes[1] * g->times + g->part_sizes[2];
    bytes whole = room(8 + header + g->data, shift), cut;
    unsigned char *at = whole.at + 8;
    put_length(whole.at, g->length == LENGTH_OF_HEADER ? header : g->length);
    memcpy(at, g->parts[0], g->part_sizes[0]);
    at += g->part_sizes[0];
    for (size_t n = 0; n < g->times; n++, at += g->part_sizes[1])
        memcpy(at, g->parts[1], g->part_sizes[1]);
    memcpy(at, g->parts[2], g->part_sizes[2]);
    if (g->cut >= whole.size)
        return whole;
    cut = part(whole, g->cut, shift);
    drop(whole);
    return cut;
}

static bytes of_header(const char *header, size_t data, size_t shift)
{
    size_t size = strlen(header);
    bytes b = room(8 + size + data, shift);
    put_length(b.at, size);
    memcpy(b.at + 8, header, size);
    return b;
}

/* ---- what holds of every message, and of every file that is open ---- */

/* Whole characters of UTF-8, none of which a terminal would obey. */
static int is_clean(const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t size = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
        if (!size || *s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0))
            return 0;
        for (s++; --size; s++)
            if (*s >> 6 != 2)
                return 0;
    }
    return 1;
}

static int says(const safetensors *file, const char *error, const char *name, const char *cause)
{
    int right = CHECK(error == file->error) && CHECK(strncmp(error, name, strlen(name)) == 0) &&
                CHECK(strncmp(error + strlen(name), ": ", 2) == 0) && CHECK(strlen(error) > strlen(name) + 4) &&
                CHECK(strstr(error + strlen(name), cause) != NULL) && CHECK(is_clean(error)) &&
                CHECK(strlen(error) < sizeof file->error);
    if (error && !right)
        printf("    %.400s\n", error);
    CHECK(!file->tensors && !file->count && !file->header && !file->header_size);
    CHECK(!file->owned && !file->mapping && !file->contents && !file->mapped);
    return right;
}

static void is_readable(const safetensors *file, const unsigned char *contents, size_t size)
{
    size_t sum = 8 + file->header_size;
    if (CHECK(file->header_size <= size - 8))
        CHECK(!memcmp(file->header, contents + 8, file->header_size) && !file->header[file->header_size]);
    for (size_t n = 0; n < file->count; n++) {
        const safetensors_tensor *t = &file->tensors[n];
        const unsigned char *data = t->data;
        size_t count = 1, bits = safetensors_bits(t->dtype);
        unsigned char one[8];
        double last = 0;
        for (size_t d = 0; d < t->rank; d++)
            count *= t->shape[d];
        CHECK(t->count == count && bits > 0 && t->size == count / 8 * bits + count % 8 * bits / 8);
        CHECK(data >= contents + 8 + file->header_size && t->size <= size && data <= contents + (size - t->size));
        CHECK(t->name[t->name_size] == 0);
        if (strlen(t->name) == t->name_size)
            CHECK(safetensors_find(file, t->name) == t);
        if (n)
            CHECK(strcmp(t[-1].name, t->name) < 0 || strlen(t->name) < t->name_size ||
                  strlen(t[-1].name) < t[-1].name_size);
        for (size_t i = 0; i < count; i++) {
            last = safetensors_get(t, i);
            CHECK(safetensors_copy(t, i, 1, one) == (bits >= 8));
        }
        CHECK(count == 0 || last == last || last != last);
        sum += t->size;
    }
    CHECK(sum == size);
}

/* ---- files of every type ---- */

static void put_native(unsigned char *at, uint64_t bits, size_t size) /* as this machine keeps such a number */
{
    uint16_t b16 = (uint16_t)bits;
    uint32_t b32 = (uint32_t)bits;
    switch (size) {
    case 1: *at = (unsigned char)bits; break;
    case 2: memcpy(at, &b16, 2); break;
    case 4: memcpy(at, &b32, 4); break;
    default: memcpy(at, &bits, 8); break;
    }
}

static void copies(const safetensors_tensor *t, const unsigned char *native, size_t first, size_t count, int can)
{
    unsigned char out[512];
    size_t size = safetensors_bits(t->dtype) / 8;
    memset(out, 0xa5, sizeof out);
    CHECK(safetensors_copy(t, first, count, out + 1) == can);
    size = can ? count * size : 0;
    CHECK(size == 0 || memcmp(out + 1, native + first * (safetensors_bits(t->dtype) / 8), size) == 0);
    CHECK(out[0] == 0xa5);
    for (size_t n = 1 + size; n < sizeof out; n++)
        if (out[n] != 0xa5) {
            CHECK(out[n] == 0xa5);
            break;
        }
}

static void same_tensor(const safetensors_tensor *t, const golden_tensor *g)
{
    size_t bits = safetensors_bits(g->dtype), size = bits / 8, numbers = g->dtype == SAFETENSORS_C64 ? 4 : size;
    unsigned char native[512] = {0};
    uint16_t one = 1;
    int little = *(unsigned char *)&one == 1;
    test_case("%s", t->name);
    CHECK(t->name_size == g->name_size && memcmp(t->name, g->name, g->name_size + 1) == 0);
    CHECK(t->dtype == g->dtype && t->rank == g->rank && t->count == g->count && t->size == g->count * bits / 8);
    for (size_t d = 0; d < g->rank; d++)
        CHECK(t->shape[d] == g->shape[d]);
    for (size_t n = 0; n < g->count; n++) {
        double got = safetensors_get(t, n), want = g->values ? g->values[n] : NAN;
        test_case("%s, element %zu", t->name, n);
        CHECK(isnan(want) ? isnan(got) : test_bits64(got) == test_bits64(want));
        if (!size)
            CHECK(((const unsigned char *)t->data)[n / 2] == g->bits[n / 2]);
        for (size_t i = 0; size && i < size / numbers; i++)
            put_native(native + n * size + i * numbers, g->bits[n] >> 32 * i, numbers);
    }
    test_case("%s, beyond its end", t->name);
    CHECK(isnan(safetensors_get(t, t->count)) && isnan(safetensors_get(t, t->count + 1)));
    CHECK(isnan(safetensors_get(t, SIZE_MAX)) && isnan(safetensors_get(t, SIZE_MAX / 2 + 1)));
    test_case("%s, copied", t->name);
    for (size_t first = 0; first <= t->count + 1; first++)
        for (size_t count = 0; count <= t->count + 2; count++)
            copies(t, native, first, count, size && first + count <= t->count);
    copies(t, native, SIZE_MAX, 1, 0);
    copies(t, native, SIZE_MAX, 0, 0);
    copies(t, native, 1, SIZE_MAX, 0);
    copies(t, native, 2, SIZE_MAX - 1, 0);
    copies(t, native, SIZE_MAX, SIZE_MAX, 0);
    copies(t, native, 0, SIZE_MAX / 8 + 1, 0);
    copies(t, native, SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1, 0);
    CHECK(safetensors_copy(t, 0, 0, NULL) == (size > 0));
    CHECK(!safetensors_is_native(t) == !((numbers <= 1 || little) && (uintptr_t)t->data % (numbers + !numbers) == 0));
}

static void holds_every_type(const safetensors *file)
{
    CHECK(file->count == TENSORS);
    for (size_t n = 0; n < TENSORS && n < file->count; n++)
        same_tensor(&file->tensors[n], &golden_tensors[n]);
}

static void parse_every_type(const char *path)
{
    bytes contents = read_all(path);
    safetensors file;
    for (size_t shift = 0; shift < 8; shift++) {
        bytes b = part(contents, contents.size, shift);
        test_case("%s, alignment %zu", path, shift);
        if (CHECK(safetensors_parse(&file, b.at, b.size, path) == NULL)) {
            holds_every_type(&file);
            is_readable(&file, b.at, b.size);
        }
        safetensors_close(&file);
        CHECK(!file.count && !file.tensors);
        drop(b);
    }
    drop(contents);
}

TEST(safetensors_types)
{
    parse_every_type(TYPES);
}

TEST(safetensors_unaligned)
{
    parse_every_type(TYPES_UNALIGNED);
}

TEST(safetensors_dtypes)
{
    static const struct {
        safetensors_dtype dtype;
        const char *name;
        size_t bits;
    } all[] = {{SAFETENSORS_BOOL, "BOOL", 8},
               {SAFETENSORS_F4, "F4", 4},
               {SAFETENSORS_F6_E2M3, "F6_E2M3", 6},
               {SAFETENSORS_F6_E3M2, "F6_E3M2", 6},
               {SAFETENSORS_U8, "U8", 8},
               {SAFETENSORS_I8, "I8", 8},
               {SAFETENSORS_F8_E5M2, "F8_E5M2", 8},
               {SAFETENSORS_F8_E4M3, "F8_E4M3", 8},
               {SAFETENSORS_F8_E8M0, "F8_E8M0", 8},
               {SAFETENSORS_F8_E4M3FNUZ, "F8_E4M3FNUZ", 8},
               {SAFETENSORS_F8_E5M2FNUZ, "F8_E5M2FNUZ", 8},
               {SAFETENSORS_I16, "I16", 16},
               {SAFETENSORS_U16, "U16", 16},
               {SAFETENSORS_F16, "F16", 16},
               {SAFETENSORS_BF16, "BF16", 16},
               {SAFETENSORS_I32, "I32", 32},
               {SAFETENSORS_U32, "U32", 32},
               {SAFETENSORS_F32, "F32", 32},
               {SAFETENSORS_C64, "C64", 64},
               {SAFETENSORS_F64, "F64", 64},
               {SAFETENSORS_I64, "I64", 64},
               {SAFETENSORS_U64, "U64", 64}};
    char header[120];
    safetensors file;
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        bytes b;
        test_case("%s", all[n].name);
        CHECK(strcmp(safetensors_dtype_name(all[n].dtype), all[n].name) == 0);
        CHECK(safetensors_bits(all[n].dtype) == all[n].bits);
        sprintf(header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[4],\"data_offsets\":[0,%d]}}", all[n].name,
                (int)all[n].bits / 2);
        b = of_header(header, all[n].bits / 2, 1);
        CHECK(safetensors_parse(&file, b.at, b.size, "a") == NULL);
        CHECK(file.count == 1 && file.tensors[0].dtype == all[n].dtype);
        if (all[n].dtype == SAFETENSORS_BOOL) { /* any byte but 0 is true */
            memcpy(b.at + b.size - 4, "\0\1\2\377", 4);
            CHECK(safetensors_get(file.tensors, 0) == 0 && safetensors_get(file.tensors, 1) == 1);
            CHECK(safetensors_get(file.tensors, 2) == 1 && safetensors_get(file.tensors, 3) == 1);
        }
        safetensors_close(&file);
        drop(b);
    }
    CHECK(safetensors_dtype_name((safetensors_dtype)99) != NULL);
}

/* Every number of 16 bits. */
TEST(safetensors_16_bits)
{
    static const char *const kinds[] = {"F16", "BF16", "I16", "U16"};
    for (size_t k = 0; k < 4; k++) {
        char header[120];
        bytes b;
        safetensors file;
        sprintf(header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[256,256],\"data_offsets\":[0,131072]}}", kinds[k]);
        b = of_header(header, 131072, 1);
        for (size_t n = 0; n < 65536; n++) {
            b.at[b.size - 131072 + 2 * n] = (unsigned char)(n & 255);
            b.at[b.size - 131072 + 2 * n + 1] = (unsigned char)(n >> 8);
        }
        if (CHECK(safetensors_parse(&file, b.at, b.size, kinds[k]) == NULL))
            for (unsigned n = 0; n < 65536; n++) {
                double got = safetensors_get(file.tensors, n);
                double want = k == 2   ? (double)n - (n < 32768 ? 0 : 65536)
                              : k == 3 ? (double)n
                                       : test_decode(n, k ? ATTN_BF16 : ATTN_F16);
                test_case("%s %04x", kinds[k], n);
                CHECK(isnan(want) ? isnan(got) : test_bits64(got) == test_bits64(want));
            }
        safetensors_close(&file);
        drop(b);
    }
}

/* ---- odd and broken files ---- */

TEST(safetensors_files)
{
    static const char name[] = "some where/model \303\251.safetensors";
    for (size_t n = 0; n < FILES; n++) {
        const golden_file *g = &golden_files[n];
        int opens = g->us == OPENED || (g->us == OPENED_64 && SIZE_MAX > 0xffffffffu);
        int large = g->part_sizes[1] * g->times > 10000;
        if (test_quick && g->times > 1000000)
            continue;
        for (size_t shift = 0; shift < (large ? 1 : 8); shift++) {
            bytes b = golden(g, shift);
            long live = test_memory_state.live;
            safetensors file;
            const char *error = safetensors_parse(&file, b.at, b.size, name);
            test_case("%s, alignment %zu", g->name, shift);
            if (opens && CHECK(!error))
                is_readable(&file, b.at, b.size);
            else if (opens)
                printf("    %.400s\n", error);
            else if (CHECK(error))
                says(&file, error, name, g->us == OPENED_64 ? "" : g->cause);
            safetensors_close(&file);
            CHECK(test_memory_state.live == live);
            drop(b);
        }
    }
}

/* Where this reader and the reference disagree: with duplicate keys, null for nothing, lists for objects; the rest it
   refuses is refused here. */
TEST(safetensors_verdicts)
{
    size_t accepted = 0, stricter = 0, laxer = 0;
    for (size_t n = 0; n < FILES; n++) {
        accepted += golden_files[n].reference == ACCEPTED;
        stricter += golden_files[n].reference == ACCEPTED && golden_files[n].us == REFUSED;
        laxer += golden_files[n].reference == REFUSED && golden_files[n].us != REFUSED;
    }
    test_case("%zu files, %zu accepted", (size_t)FILES, accepted);
    CHECK(accepted > 70 && FILES - accepted > 200);
    CHECK(stricter == 9 && laxer == 2);
}

static void refuse_prefixes(const char *path)
{
    bytes whole = read_all(path);
    safetensors file;
    for (size_t size = 0; size < whole.size; size++) {
        bytes b = part(whole, size, size % 8);
        const char *error = safetensors_parse(&file, b.at, size, path);
        test_case("%zu bytes of %s", size, path);
        if (CHECK(error))
            says(&file, error, path, "");
        safetensors_close(&file);
        drop(b);
    }
    drop(whole);
}

TEST(safetensors_truncated)
{
    refuse_prefixes(TYPES);
    refuse_prefixes(TYPES_UNALIGNED);
}

/* Each byte of the header changed: the file is refused, or opens and all of it can be read. */
TEST(safetensors_bytes_flipped)
{
    static const unsigned char values[] = {0, 0xff, '"', '}', '9', ' ', ',', '\\', '[', 0xc3};
    bytes whole = read_all(TYPES);
    size_t header = 8 + whole.at[0] + 256u * whole.at[1], opened = 0, refused = 0;
    for (size_t n = 0; n < header; n++)
        for (size_t v = 0; v < sizeof values + 3; v += test_quick ? 4 : 1) {
            bytes b = part(whole, whole.size, n % 8);
            safetensors file;
            const char *error;
            b.at[n] =
                v < sizeof values ? values[v] : (unsigned char)(b.at[n] ^ (v == sizeof values ? 1 : 0x40 << (v & 1)));
            error = safetensors_parse(&file, b.at, b.size, "a");
            test_case("byte %zu is %d", n, b.at[n]);
            if (error)
                says(&file, error, "a", "");
            else
                is_readable(&file, b.at, b.size);
            opened += !error;
            refused += error != NULL;
            safetensors_close(&file);
            drop(b);
        }
    CHECK(opened > 0 && refused > 0);
    drop(whole);
}

/* ---- names ---- */

/* A mapped file may be written to while it is open: of what was read of its header, nothing changes. */
TEST(safetensors_changed)
{
    static const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,2],\"data_offsets\":[0,2]}}";
    bytes b = of_header(header, 2, 0);
    safetensors file;
    if (CHECK(!safetensors_parse(&file, b.at, b.size, "changed"))) {
        memset(b.at, 'x', b.size - 2);
        CHECK(strcmp(file.header, header) == 0);
        CHECK(safetensors_find(&file, "a") == file.tensors && file.tensors->shape[1] == 2);
        safetensors_close(&file);
    }
    drop(b);
}

TEST(safetensors_find)
{
    safetensors file;
    bytes empty = of_header("{\"__metadata__\":{\"a\":\"b\"}}", 0, 0);
    bytes many = room(0, 0);
    if (CHECK(safetensors_open(&file, TYPES) == NULL)) {
        for (size_t n = 0; n < TENSORS; n++) {
            const golden_tensor *g = &golden_tensors[n];
            const safetensors_tensor *t = safetensors_find(&file, g->name);
            test_case("%s", g->name);
            if (strlen(g->name) == g->name_size)
                CHECK(t && t->name_size == g->name_size && memcmp(t->name, g->name, g->name_size) == 0);
            else
                CHECK(!t);
        }
        CHECK(!safetensors_find(&file, "f3") && !safetensors_find(&file, "f322") && !safetensors_find(&file, "F32"));
        CHECK(!safetensors_find(&file, "__metadata__") && !safetensors_find(&file, "format"));
        CHECK(!safetensors_find(&file, "zzz") && !safetensors_find(&file, "\377") && !safetensors_find(&file, " "));
        safetensors_close(&file);
        CHECK(!safetensors_find(&file, "f32")); /* closed */
    }
    CHECK(safetensors_parse(&file, empty.at, empty.size, "a") == NULL && file.count == 0);
    CHECK(!safetensors_find(&file, "a") && !safetensors_find(&file, "") && !safetensors_find(&file, "__metadata__"));
    safetensors_close(&file);
    drop(empty);
    drop(many);
    for (size_t count = 1; count < 70; count += count < 10 ? 1 : 13) { /* names in no order, U8 each with its number */
        static char header[8000];
        char name[40];
        char *at = header + sprintf(header, "{");
        bytes b;
        for (size_t n = 0; n < count; n++)
            at += sprintf(at, "%s\"%c%zu\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[%zu,%zu]}", n ? "," : "",
                          (int)('a' + n * 7 % 26), n, n, n + 1);
        strcpy(at, "}");
        b = of_header(header, count, 3);
        for (size_t n = 0; n < count; n++)
            b.at[b.size - count + n] = (unsigned char)n;
        test_case("%zu tensors", count);
        CHECK(safetensors_parse(&file, b.at, b.size, "a") == NULL && file.count == count);
        is_readable(&file, b.at, b.size);
        for (size_t n = 0; n < count; n++) {
            const safetensors_tensor *t;
            sprintf(name, "%c%zu", (int)('a' + n * 7 % 26), n);
            t = safetensors_find(&file, name);
            CHECK(t && strcmp(t->name, name) == 0 && safetensors_get(t, 0) == (double)n);
        }
        safetensors_close(&file);
        drop(b);
    }
}

/* A header with a name in many places, each of them a fault that a message tells. */
static const char *const faults[] = {
    "{\"%s\":1}",
    "{\"%s\":{}}",
    "{\"%s\":{\"dtype\":\"%s\",\"shape\":[],\"data_offsets\":[0,4]}}",
    "{\"%s\":{\"dtype\":\"F32\",\"shape\":\"%s\",\"data_offsets\":[0,4]}}",
    "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",
    "{\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
    "{\"%s\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
    "{\"%s\":{\"dtype\":\"F32\",\"%s\":0,\"%s\":1,\"shape\":[1],\"data_offsets\":[0,4]}}",
    "{\"%s\":1,\"%s\":1}",
    "{\"__metadata__\":{\"%s\":\"%s\",\"%s\":\"\"}}",
    "{\"__metadata__\":{\"%s\":[\"%s\"]}}",
    "{\"__metadata__\":{},\"%s\":[\"%s\" 1]}",
};
static const char *const fault_causes[] = {
    "not an object", "dtype",       "dtype",       "shape",        "data_offsets", "data_offsets",
    "two members",   "two members", "two members", "__metadata__", "__metadata__", "header",
};
enum { FAULTS = sizeof faults / sizeof *faults };

static bytes faulty(const char *fault, const char *name)
{
    size_t room_for = strlen(fault) + 3 * strlen(name) + 1;
    char *header = malloc(room_for), *to = header;
    bytes b;
    if (!header)
        abort();
    for (const char *at = fault; *at; at++)
        if (at[0] == '%' && at[1] == 's') {
            memcpy(to, name, strlen(name));
            to += strlen(name);
            at++;
        } else {
            *to++ = *at;
        }
    *to = 0;
    b = of_header(header, 4, 0);
    free(header);
    return b;
}

TEST(safetensors_names)
{
    static const char *const hostile[] = {"\\u001b[31mred", "\\n\\r\\t\\b", "\177",      "\302\233[2J",
                                          "\\u009b2J",      "\\u0000",      "a\\u0000b", "\\\"quoted\\\"",
                                          "%s%n%d",         "\\u0085"};
    static const char *const characters[] = {"x",       "\303\251", "\342\202\254", "\360\237\230\200",
                                             "\\u001b", "\302\205"};
    enum { LONG = 100000 };
    char *name = malloc(LONG + 16), *path = malloc(LONG + 16);
    safetensors file;
    if (!name || !path)
        abort();
    for (size_t f = 0; f < FAULTS; f++)
        for (size_t n = 0; n < sizeof hostile / sizeof *hostile; n++) {
            bytes b = faulty(faults[f], hostile[n]);
            const char *error = safetensors_parse(&file, b.at, b.size, "a");
            test_case("%s in %s", hostile[n], faults[f]);
            if (CHECK(error))
                says(&file, error, "a", fault_causes[f]);
            drop(b);
        }
    for (size_t c = 0; c < sizeof characters / sizeof *characters; c++)
        for (size_t lead = 0; lead < 4; lead += test_quick ? 3 : 1) {
            size_t unit = strlen(characters[c]), size = lead;
            static const size_t lengths[] = {40, 60, 64, 110, 128, 200, 256, 500, 520, LONG};
            memcpy(name, "xxx", lead);
            for (; size + unit <= LONG; size += unit)
                memcpy(name + size, characters[c], unit);
            name[size] = 0;
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths - (test_quick && c); l++) {
                size_t cut = lengths[l] < size ? lead + (lengths[l] - lead) / unit * unit : size;
                memcpy(path, name, cut);
                path[cut] = 0;
                for (size_t f = 0; f < FAULTS; f++) {
                    bytes b = faulty(faults[f], path);
                    const char *error = safetensors_parse(&file, b.at, b.size, "a");
                    test_case("%zu times %s after %zu in %s", lengths[l] / unit, characters[c], lead, faults[f]);
                    if (CHECK(error))
                        says(&file, error, "a", fault_causes[f]);
                    if (error && strchr("x\303\342\360", *characters[c]) && strchr("012345", '0' + (char)f)) {
                        char begin[40]; /* as many of its characters as anyone needs */
                        sprintf(begin, "tensor \"%.*s", (int)(lead + 24), path);
                        CHECK(strstr(error, begin) != NULL);
                    }
                    drop(b);
                }
                { /* as the file's name */
                    bytes b = of_header("{}", 1, 0);
                    const char *error = safetensors_parse(&file, b.at, b.size, path);
                    test_case("%zu times %s after %zu as the file's name", lengths[l] / unit, characters[c], lead);
                    CHECK(error && is_clean(error) && strlen(error) < sizeof file.error);
                    CHECK(error && strstr(error, ": ") && strstr(error, "after the last tensor"));
                    CHECK(error && (*characters[c] == '\\' || strncmp(error, "...", lead) == 0 ||
                                    (cut < 253 && strncmp(error, "xxx", lead) == 0)));
                    error = safetensors_open(&file, path);
                    CHECK(error && is_clean(error) && strlen(error) < sizeof file.error && strstr(error, ": "));
                    drop(b);
                }
            }
        }
    { /* both at once */
        const char *error;
        bytes b;
        memset(name, 'x', LONG);
        name[LONG] = 0;
        b = faulty(faults[0], name);
        error = safetensors_parse(&file, b.at, b.size, name);
        test_case("a long name in a long path");
        CHECK(error && is_clean(error) && strstr(error, "not an object"));
        drop(b);
    }
    free(name);
    free(path);
}

/* ---- files on disk ---- */

static void cannot_open(const char *path, const char *cause)
{
    safetensors file;
    const char *error;
    memset(&file, 0xa5, sizeof file);
    error = safetensors_open(&file, path);
    test_case("%s", path);
    if (CHECK(error))
        says(&file, error, path, cause);
    safetensors_close(&file);
}

#if !defined(_WIN32)

static char directory[] = "/tmp/attn-test-XXXXXX", path_in_directory[64];

static const char *in_directory(const char *name)
{
    sprintf(path_in_directory, "%s/%s", directory, name);
    return path_in_directory;
}

static int make_directory(void)
{
    strcpy(directory, "/tmp/attn-test-XXXXXX");
    if (mkdtemp(directory))
        return 1;
    printf("skip files of its own: no directory in /tmp\n");
    return 0;
}

static void write_file(const char *path, bytes contents)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(contents.at, 1, contents.size, f) == contents.size && fclose(f) == 0);
}

typedef struct pipe_writer {
    const char *path;
    bytes contents;
} pipe_writer;

static void *write_pipe(void *arg) /* until the reader has enough */
{
    const pipe_writer *w = arg;
    int fd = open(w->path, O_WRONLY);
    size_t done = 0;
    ssize_t n = 1;
    while (fd >= 0 && done < w->contents.size && n > 0) {
        n = write(fd, w->contents.at + done, w->contents.size - done < 5000 ? w->contents.size - done : 5000);
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static const char *open_pipe(safetensors *file, const char *path, bytes contents)
{
    pipe_writer w;
    const char *error;
    pthread_t thread;
    void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
    int fd;
    w.path = path;
    w.contents = contents;
    if (pthread_create(&thread, NULL, write_pipe, &w))
        abort();
    error = safetensors_open(file, path);
    fd = open(path, O_RDONLY | O_NONBLOCK); /* a writer that was not met goes on */
    if (fd >= 0)
        close(fd);
    pthread_join(thread, NULL);
    signal(SIGPIPE, handler);
    return error;
}

static bytes large_file(void) /* more than is read at once */
{
    bytes b = of_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[3,100000],\"data_offsets\":[0,300000]}}", 300000, 0);
    for (size_t n = 0; n < 300000; n++)
        b.at[b.size - 300000 + n] = (unsigned char)(n % 251);
    return b;
}

static int is_large_file(const safetensors *file)
{
    int right = CHECK(file->count == 1) && CHECK(file->tensors[0].count == 300000);
    for (size_t n = 0; right && n < 300000; n += 7)
        right = CHECK(safetensors_get(file->tensors, n) == (double)(n % 251));
    return right;
}

static int is_there(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f)
        fclose(f);
    return f != NULL;
}

#endif

TEST(safetensors_open)
{
    static const char *const paths[] = {TYPES, TYPES_UNALIGNED};
    safetensors file;
    for (size_t n = 0; n < 2; n++) {
        test_case("%s", paths[n]);
        memset(&file, 0xa5, sizeof file);
        if (CHECK(safetensors_open(&file, paths[n]) == NULL))
            holds_every_type(&file);
        safetensors_close(&file);
        safetensors_close(&file); /* once more: nothing is left to give back */
    }
    cannot_open("examples/models/tests/golden/no such.safetensors", "cannot be opened");
    cannot_open("", "cannot be opened");
    cannot_open("examples/models/tests/golden", "");
    cannot_open("attn.h", "header");
    cannot_open("examples/models/tests/golden/safetensors.h", "header");
#if !defined(_WIN32)
    if (is_there("/dev/null"))
        cannot_open("/dev/null", "header length");
    if (is_there("/dev/zero"))
        cannot_open("/dev/zero", "header");
    if (make_directory()) {
        bytes contents = read_all(TYPES), large = large_file(), none = room(0, 0), endless = room(3000000, 0);
        write_file(in_directory("empty"), none);
        cannot_open(path_in_directory, "header length");
        for (size_t size = 1; size < contents.size; size += size < 9 ? 1 : 501) {
            bytes b = part(contents, size, 0);
            write_file(path_in_directory, b);
            cannot_open(path_in_directory, size < 8 ? "header length" : "");
            drop(b);
        }
        write_file(path_in_directory, large);
        test_case("a large file");
        if (CHECK(safetensors_open(&file, path_in_directory) == NULL))
            is_large_file(&file);
        safetensors_close(&file);
        remove(path_in_directory);
        cannot_open(path_in_directory, "cannot be opened");

        if (CHECK(mkfifo(in_directory("pipe"), 0600) == 0)) {
            const char *error;
            test_case("a pipe");
            if (CHECK(open_pipe(&file, path_in_directory, contents) == NULL))
                holds_every_type(&file);
            safetensors_close(&file);
            test_case("a large pipe");
            if (CHECK(open_pipe(&file, path_in_directory, large) == NULL))
                is_large_file(&file);
            safetensors_close(&file);
            for (size_t size = 0; size < large.size; size += size < 10 ? 1 : 65531) {
                bytes b = part(large, size, 0);
                test_case("%zu bytes of a pipe", size);
                error = open_pipe(&file, path_in_directory, b);
                if (CHECK(error))
                    says(&file, error, path_in_directory, "");
                drop(b);
            }
            memset(endless.at, 0xee, endless.size);
            test_case("a pipe of no safetensors file");
            error = open_pipe(&file, path_in_directory, endless);
            if (CHECK(error))
                says(&file, error, path_in_directory, "header");
            remove(path_in_directory);
        }
        rmdir(directory);
        drop(contents);
        drop(large);
        drop(none);
        drop(endless);
    }
#endif
}

/* ---- memory ---- */

enum { FROM_MEMORY, FROM_FILE, FROM_PIPE };

/* Opens, with each allocation in turn failing, until it succeeds; whether it did after so many. */
static int open_without_memory(bytes contents, const char *path, int from, long least)
{
    for (long fail_at = 1; fail_at < 40; fail_at++) {
        long live = test_memory_state.live, calls = test_memory_state.calls;
        safetensors file;
        const char *error;
        test_case("allocation %ld fails, %s", fail_at, from == FROM_MEMORY ? "from memory" : path);
        test_memory_state.fail_at = fail_at;
        error = from == FROM_MEMORY ? safetensors_parse(&file, contents.at, contents.size, path)
                : from == FROM_FILE ? safetensors_open(&file, path)
                                    :
#if !defined(_WIN32)
                                    open_pipe(&file, path, contents);
#else
                                    "";
#endif
        if (test_memory_state.fail_at > 0) { /* that many were not asked for */
            test_memory_state.fail_at = 0;
            CHECK(!error && fail_at > least && test_memory_state.calls - calls == fail_at - 1);
            safetensors_close(&file);
            return CHECK(test_memory_state.live == live);
        }
        if (!CHECK(error))
            safetensors_close(&file);
        else
            says(&file, error, path, "no memory");
        CHECK(test_memory_state.live == live);
    }
    test_case("%s never opens", path);
    return CHECK(0);
}

TEST(safetensors_no_memory)
{
    bytes contents = read_all(TYPES), one = of_header("{}", 0, 0);
    bytes metadata = of_header("{\"__metadata__\":{\"a\":\"b\",\"c\":\"d\"}}", 0, 0);
    open_without_memory(contents, TYPES, FROM_MEMORY, 2);
    open_without_memory(contents, TYPES, FROM_FILE, 2);
    open_without_memory(metadata, "metadata", FROM_MEMORY, 0);
    open_without_memory(one, "one", FROM_MEMORY, 0);
#if !defined(_WIN32)
    if (make_directory()) {
        bytes large = large_file();
        if (CHECK(mkfifo(in_directory("pipe"), 0600) == 0)) {
            open_without_memory(contents, path_in_directory, FROM_PIPE, 3);
            open_without_memory(large, path_in_directory, FROM_PIPE, 3);
            remove(path_in_directory);
        }
        rmdir(directory);
        drop(large);
    }
#endif
    for (size_t n = 0; n < FILES; n++) { /* refused or opened, what was taken is given back */
        const golden_file *g = &golden_files[n];
        bytes b;
        if (g->times > 100000 || (test_quick && g->times > 1000))
            continue;
        b = golden(g, 0);
        for (long fail_at = 1; fail_at < 5; fail_at++) {
            long live = test_memory_state.live;
            safetensors file;
            const char *error;
            test_memory_state.fail_at = fail_at;
            error = safetensors_parse(&file, b.at, b.size, "a");
            test_case("%s, allocation %ld fails", g->name, fail_at);
            CHECK(test_memory_state.fail_at > 0 || (error && strstr(error, "no memory")));
            test_memory_state.fail_at = 0;
            safetensors_close(&file);
            CHECK(test_memory_state.live == live);
        }
        drop(b);
    }
    drop(contents);
    drop(one);
    drop(metadata);
}
