#include "mapped.h"

#include "gguf.h"
#include "text.h"

#include <math.h>

enum { ALIGNMENT = 32, RANK = 4, LEAST_KEY = 13, LEAST_TENSOR = 24 }; /* bytes that a key or a tensor takes, at least */

typedef struct gguf_key {
    text_span name;
    gguf_value value;
} gguf_key;

/* Types of elements: elements and bytes of a block; of what cannot be read, 0. */
static const struct {
    const char *name;
    unsigned short elements, bytes;
} types[] = {{"F32", 1, 4},      {"F16", 1, 2},      {"Q4_0", 32, 18},   {"Q4_1", 32, 20},   {NULL, 0, 0},
             {NULL, 0, 0},       {"Q5_0", 32, 22},   {"Q5_1", 32, 24},   {"Q8_0", 32, 34},   {"Q8_1", 0, 0},
             {"Q2_K", 256, 84},  {"Q3_K", 256, 110}, {"Q4_K", 256, 144}, {"Q5_K", 256, 176}, {"Q6_K", 256, 210},
             {"Q8_K", 0, 0},     {"IQ2_XXS", 0, 0},  {"IQ2_XS", 0, 0},   {"IQ3_XXS", 0, 0},  {"IQ1_S", 0, 0},
             {"IQ4_NL", 32, 18}, {"IQ3_S", 0, 0},    {"IQ2_S", 0, 0},    {"IQ4_XS", 0, 0},   {"I8", 0, 0},
             {"I16", 0, 0},      {"I32", 0, 0},      {"I64", 0, 0},      {"F64", 0, 0},      {"IQ1_M", 0, 0},
             {"BF16", 1, 2},     {NULL, 0, 0},       {NULL, 0, 0},       {NULL, 0, 0},       {"TQ1_0", 0, 0},
             {"TQ2_0", 0, 0},    {NULL, 0, 0},       {NULL, 0, 0},       {NULL, 0, 0},       {"MXFP4", 32, 17}};

enum { TYPES = sizeof types / sizeof *types };

const char *gguf_type_name(unsigned type)
{
    return type < TYPES ? types[type].name : NULL;
}

size_t gguf_block(unsigned type)
{
    return type < TYPES ? types[type].elements : 0;
}

/* ==== The header ================================================================================================= */

static uint64_t little_endian(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;
    while (size--)
        value = value << 8 | bytes[size];
    return value;
}

/* Kinds and sizes of the types of values, by their numbers. */
static const struct {
    gguf_kind kind;
    size_t size;
} values[] = {{GGUF_UINT, 1}, {GGUF_INT, 1},  {GGUF_UINT, 2}, {GGUF_INT, 2},    {GGUF_UINT, 4},
              {GGUF_INT, 4},  {GGUF_REAL, 4}, {GGUF_BOOL, 1}, {GGUF_STRING, 8}, {GGUF_ARRAY, 12},
              {GGUF_UINT, 8}, {GGUF_INT, 8},  {GGUF_REAL, 8}};

enum { VALUES = sizeof values / sizeof *values, STRING = 8, ARRAY = 9 };

/* What is left of the header. */
typedef struct cursor {
    const unsigned char *at, *stop;
} cursor;

static size_t left(cursor c)
{
    return (size_t)(c.stop - c.at);
}

/* A number of so many bytes; 0: the header has ended. */
static int read_number(cursor *c, size_t size, uint64_t *value)
{
    if (left(*c) < size)
        return 0;
    *value = little_endian(c->at, size);
    c->at += size;
    return 1;
}

static int read_text(cursor *c, text_span *text)
{
    uint64_t size;
    if (!read_number(c, 8, &size) || size > left(*c))
        return 0;
    *text = text_of((const char *)c->at, (size_t)size);
    c->at += (size_t)size;
    return 1;
}

/* Passes the value of a type that is known: NULL, or what is wrong. */
static const char *pass_value(cursor *c, unsigned type)
{
    uint64_t of, count, i;
    text_span text;
    if (type == STRING)
        return read_text(c, &text) ? NULL : "its text ends after the file";
    if (type != ARRAY) {
        if (left(*c) < values[type].size)
            return "it ends after the file";
        c->at += values[type].size;
        return NULL;
    }
    if (!read_number(c, 4, &of) || !read_number(c, 8, &count))
        return "it ends after the file";
    if (of >= VALUES || of == ARRAY)
        return of == ARRAY ? "an array of arrays" : "an array of an unknown type";
    if (count > left(*c) / values[of].size)
        return "its elements end after the file";
    if (of != STRING) {
        c->at += (size_t)count * values[of].size;
        return NULL;
    }
    for (i = 0; i < count; i++)
        if (!read_text(c, &text))
            return "a text in it ends after the file";
    return NULL;
}

static const char *fail_named(gguf *file, const char *what, text_span name, const char *cause)
{
    char shown[128];
    return text_fail(file->error, "%s \"%s\": %s", what, shown_text(shown, sizeof shown, name.text, name.size), cause);
}

static const char *read_key(gguf *file, cursor *c, gguf_key *key)
{
    uint64_t type;
    const char *cause;
    if (!read_text(c, &key->name) || !read_number(c, 4, &type))
        return text_fail(file->error, "the file ends within its keys");
    if (type >= VALUES)
        return fail_named(file, "key", key->name, "a value of an unknown type");
    key->value.kind = values[type].kind;
    key->value.type = (unsigned)type;
    key->value.bytes = c->at;
    key->value.stop = c->stop;
    if ((cause = pass_value(c, (unsigned)type)) != NULL)
        return fail_named(file, "key", key->name, cause);
    key->value.count = type == ARRAY ? (size_t)little_endian(key->value.bytes + 4, 8) : 1;
    return NULL;
}

/* All but where the data are; *offset: from the beginning of all data. */
static const char *read_tensor(gguf *file, cursor *c, gguf_tensor *tensor, uint64_t *offset)
{
    uint64_t rank, type, size;
    text_span name;
    size_t i, block;
    if (!read_text(c, &name) || !read_number(c, 4, &rank))
        return text_fail(file->error, "the file ends within its tensors");
    tensor->name = name.text;
    tensor->name_size = name.size;
    if (rank > RANK)
        return fail_named(file, "tensor", name, "more than four sizes");
    tensor->rank = (size_t)rank;
    tensor->count = 1;
    for (i = tensor->rank; i-- > 0;) { /* the file has the size of a row first */
        if (!read_number(c, 8, &size))
            return text_fail(file->error, "the file ends within its tensors");
        if (size > SIZE_MAX / 2 || (size > 0 && tensor->count > SIZE_MAX / 2 / size))
            return fail_named(file, "tensor", name, "its sizes overflow");
        tensor->shape[i] = (size_t)size;
        tensor->count *= (size_t)size;
    }
    if (!read_number(c, 4, &type) || !read_number(c, 8, offset))
        return text_fail(file->error, "the file ends within its tensors");
    tensor->type = (unsigned)type;
    block = gguf_block(tensor->type);
    if (block == 0)
        return NULL;
    if ((tensor->rank ? tensor->shape[tensor->rank - 1] : 1) % block != 0)
        return fail_named(file, "tensor", name, "a row has no whole number of blocks");
    if (tensor->count / block > SIZE_MAX / 2 / types[type].bytes)
        return fail_named(file, "tensor", name, "its size in bytes overflows");
    tensor->size = tensor->count / block * types[type].bytes;
    return NULL;
}

static int compare_keys(const void *a, const void *b)
{
    return text_compare(((const gguf_key *)a)->name, ((const gguf_key *)b)->name);
}

static text_span name_of(const gguf_tensor *tensor)
{
    return text_of(tensor->name, tensor->name_size);
}

static int compare_tensors(const void *a, const void *b)
{
    return text_compare(name_of((const gguf_tensor *)a), name_of((const gguf_tensor *)b));
}

/* Sorts both, and finds names that are there twice. */
static const char *sort_names(gguf *file, gguf_tensor *tensors)
{
    size_t i;
    qsort(file->keys, file->key_count, sizeof *file->keys, compare_keys);
    qsort(tensors, file->count, sizeof *tensors, compare_tensors);
    for (i = 1; i < file->key_count; i++)
        if (compare_keys(&file->keys[i - 1], &file->keys[i]) == 0)
            return fail_named(file, "key", file->keys[i].name, "is there twice");
    for (i = 1; i < file->count; i++)
        if (compare_tensors(&tensors[i - 1], &tensors[i]) == 0)
            return fail_named(file, "tensor", name_of(&tensors[i]), "is there twice");
    return NULL;
}

/* How the file begins: what it is, and how many tensors and keys there are. */
static const char *read_counts(gguf *file, cursor *c, size_t *tensors, size_t *keys)
{
    uint64_t version, count;
    if (left(*c) < 4 || memcmp(c->at, "GGUF", 4) != 0)
        return text_fail(file->error, "does not begin as a GGUF file");
    c->at += 4;
    if (!read_number(c, 4, &version))
        return text_fail(file->error, "the file ends within its header");
    if (version < 2 || version > 3)
        return text_fail(file->error, version < 65536 ? "version %lu of GGUF, where 2 and 3 are read" : "big-endian",
                         (unsigned long)version);
    if (!read_number(c, 8, &count) || count > left(*c) / LEAST_TENSOR)
        return text_fail(file->error, "more tensors than the file has room for");
    *tensors = (size_t)count;
    if (!read_number(c, 8, &count) || count > left(*c) / LEAST_KEY)
        return text_fail(file->error, "more keys than the file has room for");
    *keys = (size_t)count;
    return NULL;
}

/* Where the data begin: general.alignment, or 32. 0 and the error: it is no power of 2. */
static size_t alignment(gguf *file)
{
    gguf_value value = gguf_get(file, "general.alignment");
    uint64_t align = ALIGNMENT;
    if (value.kind != GGUF_NONE &&
        (!gguf_uint(value, &align) || align == 0 || (align & (align - 1)) != 0 || align > 1 << 20)) {
        text_fail(file->error, "general.alignment is no power of 2 up to 1048576");
        return 0;
    }
    return (size_t)align;
}

/* Reads the header in `bytes`, of a file of `size` bytes whose data follow it at `data`. */
static const char *read_header(gguf *file, const unsigned char *bytes, size_t header, const unsigned char *data,
                               size_t size)
{
    cursor c = {bytes, bytes + header};
    size_t count, keys, i, align, begin, room;
    int shared = 0;
    const char *error = read_counts(file, &c, &count, &keys);
    gguf_tensor *tensors;
    uint64_t *offsets;
    if (error)
        return error;
    file->owned = calloc(1, count * (sizeof *tensors + sizeof *offsets) + keys * sizeof *file->keys + 1);
    if (!file->owned)
        return text_fail(file->error, TEXT_NO_MEMORY);
    file->keys = (gguf_key *)file->owned;
    tensors = (gguf_tensor *)(void *)(file->keys + keys);
    offsets = (uint64_t *)(void *)(tensors + count);
    for (i = 0; i < keys && !error; i++)
        error = read_key(file, &c, &file->keys[i]);
    for (i = 0; i < count && !error; i++)
        error = read_tensor(file, &c, &tensors[i], &offsets[i]);
    if (error)
        return error;
    file->key_count = keys;
    qsort(file->keys, keys, sizeof *file->keys, compare_keys);
    if ((align = alignment(file)) == 0)
        return file->error;
    begin = (size_t)(c.at - bytes);
    begin += (align - begin % align) % align;
    room = begin < size ? size - begin : 0;
    for (i = 0; i < count; i++) {
        if (offsets[i] % align != 0)
            return fail_named(file, "tensor", name_of(&tensors[i]), "its data are not aligned");
        if (begin > size || offsets[i] > size - begin || tensors[i].size > size - begin - (size_t)offsets[i])
            return fail_named(file, "tensor", name_of(&tensors[i]), "its data end after the file");
        shared |= tensors[i].size > room;
        room -= shared ? 0 : tensors[i].size;
        tensors[i].data = data + begin + (size_t)offsets[i];
    }
    file->count = count;
    file->tensors = tensors;
    if ((error = sort_names(file, tensors)) != NULL)
        return error;
    return shared ? text_fail(file->error, "tensors share their data") : NULL;
}

/* How long the header is, without what is in it; 0 and the error. */
static size_t header_size(gguf *file, const unsigned char *bytes, size_t size)
{
    cursor c = {bytes, bytes + size};
    size_t count, keys;
    gguf_tensor tensor;
    gguf_key key;
    uint64_t offset;
    const char *error = read_counts(file, &c, &count, &keys);
    for (; keys > 0 && !error; keys--)
        error = read_key(file, &c, &key);
    for (; count > 0 && !error; count--)
        error = read_tensor(file, &c, &tensor, &offset);
    return error ? 0 : (size_t)(c.at - bytes);
}

/* The header is copied, because a mapped file may change while it is read. */
static const char *read_file(gguf *file, const unsigned char *bytes, size_t size)
{
    size_t header = header_size(file, bytes, size);
    if (header == 0)
        return file->error;
    if ((file->header = malloc(header)) == NULL)
        return text_fail(file->error, TEXT_NO_MEMORY);
    memcpy(file->header, bytes, header);
    return read_header(file, (const unsigned char *)file->header, header, bytes, size);
}

/* ==== Files ====================================================================================================== */

static const char *finish(gguf *file, const char *error)
{
    if (error)
        gguf_close(file);
    else
        memset(file->error, 0, sizeof file->error);
    return error;
}

const char *gguf_open(gguf *file, const char *path)
{
    text_buffer whole = {NULL, 0, 0, 0};
    const char *error;
    memset(file, 0, sizeof *file);
    text_begin_message(file->error, path, ": ");
    file->mapping = mapped_open(path, &file->mapped);
    if (file->mapping)
        return finish(file, read_file(file, (const unsigned char *)file->mapping, file->mapped));
    error = text_read_file(file->error, path, SIZE_MAX / 4, &whole);
    file->contents = whole.text;
    return finish(file, error ? error : read_file(file, (const unsigned char *)whole.text, whole.size));
}

const char *gguf_parse(gguf *file, const void *bytes, size_t size, const char *name)
{
    memset(file, 0, sizeof *file);
    text_begin_message(file->error, name, ": ");
    return finish(file, read_file(file, (const unsigned char *)bytes, size));
}

void gguf_close(gguf *file)
{
    mapped_close(file->mapping, file->mapped);
    free(file->contents);
    free(file->header);
    free(file->owned);
    memset(file, 0, offsetof(gguf, error));
}

/* ==== Values ===================================================================================================== */

gguf_value gguf_get(const gguf *file, const char *key)
{
    static const gguf_value none = {GGUF_NONE, 0, NULL, NULL, 0};
    gguf_key wanted;
    const gguf_key *found;
    wanted.name = text_word(key);
    found = file->key_count
                ? (const gguf_key *)bsearch(&wanted, file->keys, file->key_count, sizeof wanted, compare_keys)
                : NULL;
    return found ? found->value : none;
}

size_t gguf_key_count(const gguf *file)
{
    return file->key_count;
}

const char *gguf_key_name(const gguf *file, size_t index, size_t *size)
{
    *size = file->keys[index].name.size;
    return file->keys[index].name.text;
}

gguf_value gguf_first(gguf_value array)
{
    array.type = array.kind == GGUF_ARRAY ? (unsigned)little_endian(array.bytes, 4) : 0;
    array.kind = array.kind == GGUF_ARRAY && array.count > 0 ? values[array.type].kind : GGUF_NONE;
    if (array.kind != GGUF_NONE)
        array.bytes += 12;
    return array;
}

gguf_value gguf_next(gguf_value element)
{
    size_t size = 0;
    if (element.kind == GGUF_STRING)
        size = 8 + (size_t)little_endian(element.bytes, 8);
    else if (element.kind != GGUF_NONE)
        size = values[element.type].size;
    if (element.kind == GGUF_NONE || --element.count == 0)
        element.kind = GGUF_NONE;
    else
        element.bytes += size;
    return element;
}

/* A whole number that may be negative, as 64 bits of two's complement. */
static uint64_t bits_of(gguf_value value)
{
    size_t size = values[value.type].size;
    uint64_t bits = little_endian(value.bytes, size), sign = (uint64_t)1 << (8 * size - 1);
    return value.kind == GGUF_INT ? (bits ^ sign) - sign : bits;
}

int gguf_uint(gguf_value value, uint64_t *out)
{
    if (value.kind != GGUF_UINT && (value.kind != GGUF_INT || bits_of(value) >> 63))
        return 0;
    *out = bits_of(value);
    return 1;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int gguf_real(gguf_value value, double *out)
{
    uint64_t bits;
    if (value.kind == GGUF_REAL) {
        bits = bits_of(value);
        *out = (double)float_of((uint32_t)bits);
        if (values[value.type].size == 8)
            memcpy(out, &bits, sizeof *out);
    } else if (value.kind == GGUF_UINT || value.kind == GGUF_INT) {
        bits = bits_of(value);
        *out = value.kind == GGUF_INT && bits >> 63 ? -(double)(~bits + 1) : (double)bits;
    } else {
        return 0;
    }
    return 1;
}

int gguf_flag(gguf_value value, int *out)
{
    if (value.kind != GGUF_BOOL)
        return 0;
    *out = *value.bytes != 0;
    return 1;
}

const char *gguf_string(gguf_value value, size_t *size)
{
    if (value.kind != GGUF_STRING)
        return NULL;
    *size = (size_t)little_endian(value.bytes, 8);
    return (const char *)value.bytes + 8;
}

const gguf_tensor *gguf_find(const gguf *file, const char *name)
{
    gguf_tensor wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.name = name;
    wanted.name_size = strlen(name);
    return file->count
               ? (const gguf_tensor *)bsearch(&wanted, file->tensors, file->count, sizeof wanted, compare_tensors)
               : NULL;
}

/* ==== Elements =================================================================================================== */

/* Numbers of the reference are floats. All products but the last of Q6_K are exact in them, so that it does not matter
   whether a compiler makes one rounding of a product and a sum. */
static float half(const unsigned char *bytes)
{
    uint32_t bits = (uint32_t)little_endian(bytes, 2), sign = bits >> 15 << 31, exponent = bits >> 10 & 31;
    uint32_t fraction = bits & 0x3ff;
    if (exponent == 0)
        return float_of(sign | 0x3f800000) * ((float)fraction / (1 << 24));
    return float_of(sign | (exponent == 31 ? 0xffu : exponent + 112) << 23 | fraction << 13);
}

/* Blocks of 32. What is added to a product is -0.0 where nothing is: that changes no zero either. */
static void read_q4(const unsigned char *q, float d, int less, float least, float *out)
{
    int i;
    for (i = 0; i < 16; i++) {
        out[i] = d * (float)((q[i] & 15) - less) + least;
        out[i + 16] = d * (float)((q[i] >> 4) - less) + least;
    }
}

/* The fifth bits of all 32 stand before the others. */
static void read_q5(const unsigned char *high, const unsigned char *q, float d, int less, float least, float *out)
{
    uint32_t fifth = (uint32_t)little_endian(high, 4);
    int i;
    for (i = 0; i < 16; i++) {
        out[i] = d * (float)((int)((q[i] & 15) | (fifth >> i & 1) << 4) - less) + least;
        out[i + 16] = d * (float)((int)(q[i] >> 4 | (fifth >> (i + 16) & 1) << 4) - less) + least;
    }
}

static int signed_byte(unsigned char byte)
{
    return (byte ^ 0x80) - 0x80;
}

static void read_q8_0(const unsigned char *b, float *out)
{
    float d = half(b);
    int i;
    for (i = 0; i < 32; i++)
        out[i] = d * (float)signed_byte(b[2 + i]);
}

/* Four bits stand for one of 16 numbers. */
static void read_table(const unsigned char *q, float scale, const float table[16], float *out)
{
    int i;
    for (i = 0; i < 16; i++) {
        out[i] = scale * table[q[i] & 15];
        out[i + 16] = scale * table[q[i] >> 4];
    }
}

static void read_iq4_nl(const unsigned char *b, float *out)
{
    static const float table[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    read_table(b + 2, half(b), table, out);
}

/* Half of 2^(e - 127), times twice the numbers of E2M1. */
static void read_mxfp4(const unsigned char *b, float *out)
{
    static const float twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    read_table(b + 1, float_of(*b < 2 ? 0x00200000u << *b : (uint32_t)(*b - 1) << 23), twice, out);
}

/* Blocks of 256, in parts that have scales of their own. */
static void read_q2_k(const unsigned char *b, float *out)
{
    float d = half(b + 80), least = half(b + 82);
    int part, i;
    for (part = 0; part < 16; part++) {
        const unsigned char *q = b + 16 + part / 8 * 32 + part % 2 * 16;
        float scale = d * (float)(b[part] & 15), less = least * (float)(b[part] >> 4);
        for (i = 0; i < 16; i++)
            *out++ = scale * (float)(q[i] >> part % 8 / 2 * 2 & 3) - less;
    }
}

/* Scales have six bits: four of them in the first eight bytes, two in the last four. */
static void read_q3_k(const unsigned char *b, float *out)
{
    const unsigned char *s = b + 96;
    float d = half(b + 108);
    int part, i;
    for (part = 0; part < 16; part++) {
        const unsigned char *q = b + 32 + part / 8 * 32 + part % 2 * 16, *high = b + part % 2 * 16;
        float scale =
            d * (float)(((s[part % 8] >> part / 8 * 4 & 15) | (s[8 + part % 4] >> part / 4 * 2 & 3) << 4) - 32);
        for (i = 0; i < 16; i++)
            *out++ = scale * (float)((q[i] >> part % 8 / 2 * 2 & 3) - (high[i] >> part / 2 & 1 ? 0 : 4));
    }
}

/* Scale and least of each of 8 parts have six bits, in twelve bytes. high: the fifth bits of Q5_K, or NULL. */
static void read_q45_k(const unsigned char *b, const unsigned char *high, const unsigned char *q, float *out)
{
    const unsigned char *s = b + 4;
    float d = half(b), least = half(b + 2);
    int part, i;
    for (part = 0; part < 8; part++, q += part % 2 ? 0 : 32) {
        int first = part < 4 ? s[part] & 63 : (s[part + 4] & 15) | s[part - 4] >> 6 << 4;
        int second = part < 4 ? s[part + 4] & 63 : s[part + 4] >> 4 | s[part] >> 6 << 4;
        float scale = d * (float)first, less = least * (float)second;
        for (i = 0; i < 32; i++)
            *out++ = scale * (float)((q[i] >> part % 2 * 4 & 15) | (high ? (high[i] >> part & 1) << 4 : 0)) - less;
    }
}

static void read_q6_k(const unsigned char *b, float *out)
{
    float d = half(b + 208);
    int part, i;
    for (part = 0; part < 16; part++) {
        const unsigned char *low = b + part / 8 * 64 + part % 4 * 16, *high = b + 128 + part / 8 * 32 + part % 2 * 16;
        float scale = d * (float)signed_byte(b[192 + part]);
        for (i = 0; i < 16; i++)
            *out++ = scale * (float)(((low[i] >> part % 8 / 4 * 4 & 15) | (high[i] >> part % 8 / 2 * 2 & 3) << 4) - 32);
    }
}

static void read_block(unsigned type, const unsigned char *b, float *out)
{
    switch (type) {
    case GGUF_F32: *out = float_of((uint32_t)little_endian(b, 4)); break;
    case GGUF_F16: *out = half(b); break;
    case GGUF_BF16: *out = float_of((uint32_t)little_endian(b, 2) << 16); break;
    case GGUF_Q4_0: read_q4(b + 2, half(b), 8, -0.0f, out); break;
    case GGUF_Q4_1: read_q4(b + 4, half(b), 0, half(b + 2), out); break;
    case GGUF_Q5_0: read_q5(b + 2, b + 6, half(b), 16, -0.0f, out); break;
    case GGUF_Q5_1: read_q5(b + 4, b + 8, half(b), 0, half(b + 2), out); break;
    case GGUF_Q8_0: read_q8_0(b, out); break;
    case GGUF_Q2_K: read_q2_k(b, out); break;
    case GGUF_Q3_K: read_q3_k(b, out); break;
    case GGUF_Q4_K: read_q45_k(b, NULL, b + 16, out); break;
    case GGUF_Q5_K: read_q45_k(b, b + 16, b + 48, out); break;
    case GGUF_Q6_K: read_q6_k(b, out); break;
    case GGUF_IQ4_NL: read_iq4_nl(b, out); break;
    case GGUF_MXFP4: read_mxfp4(b, out); break;
    default: break;
    }
}

int gguf_read(const gguf_tensor *tensor, size_t first, size_t count, float *out)
{
    size_t block = gguf_block(tensor->type), i;
    const unsigned char *bytes = (const unsigned char *)tensor->data;
    if (block == 0 || first % block || count % block || first > tensor->count || count > tensor->count - first)
        return 0;
    for (i = 0; i < count; i += block)
        read_block(tensor->type, bytes + (first + i) / block * types[tensor->type].bytes, out + i);
    return 1;
}

void gguf_forget(const gguf *file, const gguf_tensor *tensor)
{
    if (file->mapping)
        mapped_forget(tensor->data, tensor->size);
}
