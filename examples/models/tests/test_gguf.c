/* The GGUF reader: a file of the format's reference, value by value and element by element; broken and hostile files;
   files cut anywhere. */
#include "examples/models/gguf_files.h"

#include "test.h"

#include <math.h>

#define TYPES "examples/models/tests/golden/gguf/types.gguf"
#define FLOATS "examples/models/tests/golden/gguf/types.f32"

static unsigned char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = (unsigned char *)malloc(1 << 17);
    if (!CHECK(file && bytes))
        abort();
    *size = fread(bytes, 1, 1 << 17, file);
    fclose(file);
    return bytes;
}

TEST(gguf_values)
{
    gguf file;
    uint64_t whole = 7;
    double number = 7;
    int flag = 7;
    size_t size = 0;
    gguf_value v;
    static const struct {
        const char *key;
        double value;
        int is_uint;
    } numbers[] = {{"uint8", 200, 1},
                   {"int8", -100, 0},
                   {"uint16", 60000, 1},
                   {"int16", -30000, 0},
                   {"uint32", 4000000000., 1},
                   {"int32", -2000000000., 0},
                   {"float32", 0.100000001490116119384765625, 0},
                   {"uint64", 18446744073709551615., 1},
                   {"int64", -9223372036854775808., 0},
                   {"float64", 0.1, 0}};
    if (!CHECK(gguf_open(&file, TYPES) == NULL))
        return;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char key[32];
        snprintf(key, sizeof key, "test.%s", numbers[i].key);
        test_case("%s", key);
        v = gguf_get(&file, key);
        CHECK(gguf_real(v, &number) && number == numbers[i].value);
        CHECK(gguf_uint(v, &whole) == numbers[i].is_uint && (!numbers[i].is_uint || (double)whole == number));
        CHECK(!gguf_flag(v, &flag) && !gguf_string(v, &size) && gguf_first(v).kind == GGUF_NONE);
    }
    test_case("texts, flags, arrays");
    CHECK(gguf_flag(gguf_get(&file, "test.bool"), &flag) && flag == 1);
    v = gguf_get(&file, "test.string");
    CHECK(gguf_string(v, &size) && size == 9 && memcmp(gguf_string(v, &size), "caf\xc3\xa9 \xe2\x96\x81", 9) == 0);
    CHECK(gguf_get(&file, "test.texts").count == 3);
    v = gguf_first(gguf_get(&file, "test.texts"));
    CHECK(gguf_string(v, &size) && size == 0);
    v = gguf_next(v);
    CHECK(gguf_string(v, &size) && size == 1 && *gguf_string(v, &size) == 'a');
    v = gguf_next(v);
    CHECK(gguf_string(v, &size) && size == 5);
    v = gguf_next(v);
    CHECK(v.kind == GGUF_NONE && gguf_next(v).kind == GGUF_NONE && !gguf_string(v, &size) && !gguf_uint(v, &whole));
    v = gguf_next(gguf_first(gguf_get(&file, "test.numbers")));
    CHECK(gguf_real(v, &number) && number == -2);
    v = gguf_next(gguf_first(gguf_get(&file, "test.reals")));
    CHECK(gguf_real(v, &number) && number == -0.25);
    CHECK(gguf_get(&file, "test.").kind == GGUF_NONE && gguf_get(&file, "").kind == GGUF_NONE);
    CHECK(!gguf_find(&file, "Q4") && !gguf_find(&file, ""));
    gguf_close(&file);
    CHECK(!file.tensors && !file.count && !gguf_find(&file, "F32") && gguf_get(&file, "test.bool").kind == GGUF_NONE);
}

/* Every element has the bits that the reference gives it; in one read, and block by block from the last to the first. */
TEST(gguf_elements)
{
    gguf file;
    size_t size, t, at = 0;
    unsigned char *wanted = read_whole(FLOATS, &size);
    if (!CHECK(gguf_open(&file, TYPES) == NULL))
        return;
    CHECK(size == file.count * 256 * 4 && file.count == 15);
    for (t = 0; t < file.count; t++, at += 256) {
        const gguf_tensor *w = &file.tensors[t];
        size_t block = gguf_block(w->type), wrong = 0;
        float row[256], parts[256];
        test_case("%s", gguf_type_name(w->type));
        CHECK(w->rank == 2 && w->shape[0] == 1 && w->shape[1] == 256 && w->count == 256);
        CHECK(gguf_read(w, 0, 256, row) && !gguf_read(w, 0, 512, row) && !gguf_read(w, 256, block, row));
        CHECK(block == 1 || (!gguf_read(w, 0, 1, row) && !gguf_read(w, 1, block, row)));
        for (size_t i = 256; i > 0; i -= block)
            CHECK(gguf_read(w, i - block, block, parts + i - block));
        CHECK(memcmp(row, parts, sizeof row) == 0);
        for (size_t i = 0; i < 256; i++) {
            const unsigned char *b = wanted + 4 * (at + i);
            uint32_t bits = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24, is;
            memcpy(&is, &row[i], sizeof is);
            wrong += is != bits;
        }
        CHECK(wrong == 0);
    }
    gguf_close(&file);
    free(wanted);
}

/* ---- files that are wrong ---- */

static unsigned char made[512];
static size_t made_size;

static void put(uint64_t value, size_t size)
{
    for (; size > 0; size--, value >>= 8)
        made[made_size++] = (unsigned char)value;
}
static void put_text(const char *text)
{
    put(strlen(text), 8);
    memcpy(made + made_size, text, strlen(text));
    made_size += strlen(text);
}
static void begin(uint64_t version, uint64_t tensors, uint64_t keys)
{
    memcpy(made, "GGUF", 4);
    made_size = 4;
    put(version, 4);
    put(tensors, 8);
    put(keys, 8);
}
static void put_tensor(const char *name, uint64_t rank, const uint64_t *sizes, uint64_t type, uint64_t offset)
{
    put_text(name);
    put(rank, 4);
    for (uint64_t i = 0; i < rank && i < 8; i++)
        put(sizes[i], 8);
    put(type, 4);
    put(offset, 8);
}

/* What is made so far, at the end of a block of its own, is refused in these words. */
static void refused(const char *why)
{
    unsigned char *bytes = (unsigned char *)malloc(made_size);
    const char *error;
    gguf file;
    if (!bytes)
        abort();
    memcpy(bytes, made, made_size);
    error = gguf_parse(&file, bytes, made_size, "some.gguf");
    test_case("%s", why);
    if (!CHECK(error && strncmp(error, "some.gguf: ", 11) == 0 && strstr(error, why)))
        fprintf(stderr, "    %s\n", error ? error : "no error");
    free(bytes);
}

TEST(gguf_refused)
{
    static const uint64_t one[] = {32}, huge[] = {(uint64_t)1 << 40, (uint64_t)1 << 40}, four[] = {1, 1, 1, 1, 1};
    memcpy(made, "GGML", made_size = 4);
    refused("does not begin as a GGUF file");
    begin(0, 0, 0);
    refused("version 0 of GGUF");
    begin(1, 0, 0);
    refused("version 1 of GGUF, where 2 and 3 are read");
    begin(0x03000000, 0, 0);
    refused("big-endian");
    begin(3, (uint64_t)1 << 60, 0);
    refused("more tensors than the file has room for");
    begin(3, 0, (uint64_t)1 << 60);
    refused("more keys than the file has room for");
    begin(3, 0, 1);
    put((uint64_t)1 << 60, 8), put(0, 8);
    refused("the file ends within its keys");
    begin(3, 0, 1);
    put_text("k"), put(8, 4), put((uint64_t)1 << 60, 8), put(0, 8);
    refused("key \"k\": its text ends after the file");
    begin(3, 0, 1);
    put_text("k"), put(13, 4), put(0, 8);
    refused("key \"k\": a value of an unknown type");
    begin(3, 0, 1);
    put_text("k"), put(9, 4), put(9, 4), put(1, 8), put(9, 4), put(1, 8);
    refused("key \"k\": an array of arrays");
    begin(3, 0, 1);
    put_text("k"), put(9, 4), put(77, 4), put(1, 8);
    refused("key \"k\": an array of an unknown type");
    begin(3, 0, 1);
    put_text("k"), put(9, 4), put(8, 4), put((uint64_t)1 << 60, 8);
    refused("key \"k\": its elements end after the file");
    begin(3, 0, 1);
    put_text("k"), put(9, 4), put(8, 4), put(1, 8), put((uint64_t)1 << 60, 8);
    refused("key \"k\": a text in it ends after the file");
    begin(3, 0, 2);
    put_text("k"), put(7, 4), put(1, 1), put_text("k"), put(7, 4), put(1, 1), put(0, 8);
    refused("key \"k\": is there twice");
    begin(3, 1, 0);
    put_tensor("w", 5, four, 0, 0);
    refused("tensor \"w\": more than four sizes");
    begin(3, 1, 0);
    put_tensor("w", 2, huge, 0, 0);
    refused("tensor \"w\": its sizes overflow");
    begin(3, 1, 0);
    put_tensor("w", 1, four, GGUF_Q4_0, 0);
    refused("tensor \"w\": a row has no whole number of blocks");
    begin(3, 1, 0);
    put_tensor("w", 1, one, 0, 16), put(0, 200);
    refused("tensor \"w\": its data are not aligned");
    begin(3, 1, 0);
    put_tensor("w", 1, one, 0, 32), put(0, 32 - made_size % 32 + 32 + 127);
    refused("tensor \"w\": its data end after the file");
    begin(3, 1, 0);
    put_tensor("w", 1, one, 0, (uint64_t)0 - 32), put(0, 200);
    refused("tensor \"w\": its data end after the file");
    begin(3, 2, 0);
    put_tensor("w", 1, one, 0, 0), put_tensor("w", 1, one, 0, 0), put(0, 200);
    refused("tensor \"w\": is there twice");
    begin(3, 2, 0);
    put_tensor("v", 1, one, 0, 0), put_tensor("w", 1, one, 0, 0), put(0, 200);
    refused("tensors share their data");
    begin(3, 0, 1);
    put_text("general.alignment"), put(4, 4), put(0, 4);
    refused("general.alignment is no power of 2");
    begin(3, 0, 1);
    put_text("general.alignment"), put(4, 4), put(48, 4);
    refused("general.alignment is no power of 2");
    begin(3, 0, 1);
    put_text("general.alignment"), put(8, 4), put_text("x");
    refused("general.alignment is no power of 2");
}

/* A type that cannot be read keeps no tensor from being found, nor others from being read. */
TEST(gguf_other_types)
{
    static const uint64_t one[] = {32};
    gguf file;
    float row[32];
    begin(3, 2, 0);
    put_tensor("a", 1, one, 22, 0), put_tensor("b", 1, one, 0, 0);
    put(0, 32 - made_size % 32), put(0x3f800000, 4), put(0, 124);
    if (!CHECK(gguf_parse(&file, made, made_size, "some.gguf") == NULL))
        return;
    CHECK(gguf_find(&file, "a") && !gguf_read(gguf_find(&file, "a"), 0, 32, row));
    CHECK(strcmp(gguf_type_name(22), "IQ2_S") == 0 && !gguf_type_name(99) && !gguf_type_name(4) && gguf_block(22) == 0);
    CHECK(gguf_read(gguf_find(&file, "b"), 0, 32, row) && row[0] == 1 && row[31] == 0);
    gguf_close(&file);
}

/* What is not finite stays so: the tensor is widened, as where a number is beyond 65504. */
TEST(gguf_not_finite)
{
    static const uint64_t one[] = {32, 1}, halves[] = {0x7e00, 0x7c00, 0x7bff, 0x3c00};
    for (size_t i = 0; i < 4; i++) {
        safetensors_dtype dtype;
        double largest, square;
        gguf file;
        begin(3, 1, 0);
        put_tensor("w", 2, one, GGUF_Q8_0, 0), put(0, 32 - made_size % 32), put(halves[i], 2), put(1, 32);
        memset(made + made_size, 0, 64);
        if (!CHECK(gguf_parse(&file, made, made_size + 64, "some.gguf") == NULL))
            continue;
        CHECK(gguf_files_rounding(&file.tensors[0], &dtype, &largest, &square) && largest == 0 && square == 0);
        CHECK(dtype == (i < 2 ? SAFETENSORS_F32 : SAFETENSORS_F16));
        gguf_close(&file);
    }
}

TEST(gguf_cut)
{
    size_t size;
    unsigned char *bytes = read_whole(TYPES, &size);
    gguf file;
    for (size_t n = 0; n < size; n += n < 2500 ? 1 : 97) {
        unsigned char *cut = (unsigned char *)malloc(n + 1);
        if (!cut)
            abort();
        memcpy(cut, bytes, n);
        test_case("%lu bytes", (unsigned long)n);
        CHECK(gguf_parse(&file, cut, n, "cut.gguf") != NULL);
        free(cut);
    }
    free(bytes);
}

TEST(gguf_no_file)
{
    gguf file;
    const char *error = gguf_open(&file, "none.gguf");
    CHECK(error && strncmp(error, "none.gguf: cannot be opened", 27) == 0);
    error = gguf_open(&file, "examples");
    CHECK(error && strncmp(error, "examples: cannot be read", 24) == 0);
}
