#include "mapped.h"
#include "safetensors.h"
#include "json.h"
#include "text.h"

enum { LENGTH = 8, HEADER_MAX = 100000000 }; /* bytes of the header's length, and the most it may say */

static const struct {
    const char *name;
    size_t bits;
} dtypes[] = {{"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
              {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
              {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
              {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}};

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* ---- messages ---- */

/* An empty file, whose messages will begin with its name. */
static void start(safetensors *file, const char *name)
{
    memset(file, 0, sizeof *file);
    text_begin_message(file->error, name, ": ");
}

static const char *fail_tensor(safetensors *file, const safetensors_tensor *tensor, const char *cause)
{
    char name[128];
    return text_fail(file->error, "tensor \"%s\": %s", shown_text(name, sizeof name, tensor->name, tensor->name_size),
                     cause);
}

/* ---- the header ---- */

static int is_metadata(json name)
{
    return json_is(name, "__metadata__");
}

static int compare_names(const void *a, const void *b)
{
    return json_compare(*(const json *)a, *(const json *)b);
}

/* Whether each name of an object is there once. `what` stands for the object in the message. */
static const char *check_names(safetensors *file, json object, const char *what)
{
    size_t count = json_count(object), i = 0;
    const char *error = NULL;
    char name[64], text[64];
    json element, *names;
    if (object.type != JSON_OBJECT || count < 2)
        return NULL;
    if ((names = malloc(count * sizeof *names)) == NULL)
        return text_fail(file->error, TEXT_NO_MEMORY);
    for (element = json_first(object); element.type; element = json_next(element))
        names[i++] = element;
    qsort(names, count, sizeof *names, compare_names);
    for (i = 1; i < count && !error; i++)
        if (json_compare(names[i - 1], names[i]) == 0) {
            size_t length = json_string(names[i], name, sizeof name);
            length = length < sizeof name ? length : sizeof name - 1;
            error =
                text_fail(file->error, "%s has two members \"%s\"", what, shown_text(text, sizeof text, name, length));
        }
    free(names);
    return error;
}

static const char *check_metadata(safetensors *file, json metadata)
{
    json name;
    const char *error;
    if (metadata.type != JSON_OBJECT)
        return text_fail(file->error, "__metadata__ is not an object");
    if ((error = check_names(file, metadata, "__metadata__")) != NULL)
        return error;
    for (name = json_first(metadata); name.type; name = json_next(name))
        if (json_value(name).type != JSON_STRING)
            return text_fail(file->error, "__metadata__ holds what is not a string");
    return NULL;
}

/* dtype, shape and data_offsets of a tensor that has its name already; its sizes go to *shape and move it on. */
static const char *read_tensor(safetensors *file, json info, safetensors_tensor *tensor, size_t **shape,
                               const unsigned char *data, size_t data_size)
{
    json dtype = json_get(info, "dtype"), sizes = json_get(info, "shape"), offsets = json_get(info, "data_offsets");
    json begin = json_first(offsets), end = json_next(begin), element;
    uint64_t value, from, to;
    char message[128];
    size_t i, bits;
    if (info.type != JSON_OBJECT)
        return fail_tensor(file, tensor, "not an object");
    if (dtype.type != JSON_STRING)
        return fail_tensor(file, tensor, "dtype is not a string");
    for (i = 0; i < DTYPES && !json_is(dtype, dtypes[i].name); i++)
        ;
    if (i == DTYPES)
        return fail_tensor(file, tensor, "dtype is unknown");
    tensor->dtype = (safetensors_dtype)i;

    if (sizes.type != JSON_ARRAY)
        return fail_tensor(file, tensor, "shape is not an array");
    tensor->shape = *shape;
    tensor->count = 1;
    for (element = json_first(sizes); element.type; element = json_next(element)) {
        if (!json_uint(element, &value) || value > SIZE_MAX)
            return fail_tensor(file, tensor, "shape holds what is not a size");
        if (value && tensor->count > SIZE_MAX / value)
            return fail_tensor(file, tensor, "shape overflows");
        tensor->count *= (size_t)value;
        *(*shape)++ = (size_t)value;
        tensor->rank++;
    }
    bits = dtypes[tensor->dtype].bits;
    if (tensor->count > SIZE_MAX / bits)
        return fail_tensor(file, tensor, "size in bytes overflows");
    if (tensor->count * bits % 8)
        return fail_tensor(file, tensor, "elements do not fill whole bytes");
    tensor->size = tensor->count * bits / 8;

    if (offsets.type != JSON_ARRAY || json_count(offsets) != 2 || !json_uint(begin, &from) || !json_uint(end, &to))
        return fail_tensor(file, tensor, "data_offsets is not two offsets");
    if (from > to)
        return fail_tensor(file, tensor, "data_offsets end before they begin");
    if (to > data_size)
        return fail_tensor(file, tensor, "data_offsets end after the file");
    if (to - from != tensor->size) {
        snprintf(message, sizeof message, "dtype and shape take %llu bytes, data_offsets %llu",
                 (unsigned long long)tensor->size, (unsigned long long)(to - from));
        return fail_tensor(file, tensor, message);
    }
    tensor->data = data + (size_t)from;
    return NULL;
}

static int compare_data(const void *a, const void *b)
{
    const safetensors_tensor *s = a, *t = b;
    const unsigned char *x = s->data, *y = t->data;
    return x != y ? (x > y) - (x < y) : (s->size > t->size) - (s->size < t->size);
}

static int compare_tensors(const void *a, const void *b)
{
    const safetensors_tensor *s = a, *t = b;
    int order = memcmp(s->name, t->name, s->name_size < t->name_size ? s->name_size : t->name_size);
    return order ? order : (s->name_size > t->name_size) - (s->name_size < t->name_size);
}

/* Whether the tensors' data, in order, are the data: nothing between, before or after them, and nothing twice. */
static const char *check_layout(safetensors *file, safetensors_tensor *tensors, size_t count, const unsigned char *data,
                                size_t data_size)
{
    const unsigned char *next = data;
    size_t i;
    qsort(tensors, count, sizeof *tensors, compare_data);
    for (i = 0; i < count; i++) {
        if ((const unsigned char *)tensors[i].data < next)
            return fail_tensor(file, &tensors[i], "data overlap those of another tensor");
        if ((const unsigned char *)tensors[i].data > next)
            return fail_tensor(file, &tensors[i], "a gap lies before the data");
        next += tensors[i].size;
    }
    if ((size_t)(next - data) != data_size)
        return text_fail(file->error, "the file goes on after the last tensor");
    return NULL;
}

static const char *read_tensors(safetensors *file, json header, const unsigned char *data, size_t data_size)
{
    size_t count = 0, sizes = 0, bytes = 0, i = 0, *shape;
    safetensors_tensor *tensors;
    const char *error;
    char *names, text[128], what[160];
    json name;
    if ((error = check_names(file, header, "the header")) != NULL)
        return error;
    for (name = json_first(header); name.type; name = json_next(name))
        if (!is_metadata(name)) {
            count++;
            bytes += json_string(name, NULL, 0) + 1;
            sizes += json_count(json_get(json_value(name), "shape"));
        }
    file->owned = tensors = malloc(count * sizeof *tensors + sizes * sizeof *shape + bytes + 1);
    if (!tensors)
        return text_fail(file->error, TEXT_NO_MEMORY);
    memset(tensors, 0, count * sizeof *tensors);
    shape = (size_t *)(void *)(tensors + count);
    names = (char *)(shape + sizes);
    for (name = json_first(header); name.type; name = json_next(name)) {
        json info = json_value(name);
        if (is_metadata(name)) {
            error = check_metadata(file, info);
        } else {
            tensors[i].name = names;
            tensors[i].name_size = json_string(name, names, file->header_size);
            names += tensors[i].name_size + 1;
            snprintf(what, sizeof what, "tensor \"%s\"",
                     shown_text(text, sizeof text, tensors[i].name, tensors[i].name_size));
            error = check_names(file, info, what);
            error = error ? error : read_tensor(file, info, &tensors[i++], &shape, data, data_size);
        }
        if (error)
            return error;
    }
    if ((error = check_layout(file, tensors, count, data, data_size)) != NULL)
        return error;
    qsort(tensors, count, sizeof *tensors, compare_tensors);
    file->tensors = tensors;
    file->count = count;
    return NULL;
}

static uint64_t little_endian(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    while (count--)
        value = value << 8 | bytes[count];
    return value;
}

/* The header is copied, because a mapped file may change while it is read. */
static const char *read_file(safetensors *file, const unsigned char *bytes, size_t size)
{
    uint64_t length = size < LENGTH ? 0 : little_endian(bytes, LENGTH);
    const char *error;
    size_t where;
    char *copy;
    json header;
    if (size < LENGTH)
        return text_fail(file->error, "no header length: %llu bytes", (unsigned long long)size);
    if (length > HEADER_MAX)
        return text_fail(file->error, "a header of %llu bytes is too large", (unsigned long long)length);
    if (length > size - LENGTH)
        return text_fail(file->error, "a header of %llu bytes in a file of %llu", (unsigned long long)length,
                         (unsigned long long)size);
    bytes += LENGTH;
    size -= LENGTH;
    if ((copy = malloc((size_t)length + 1)) == NULL)
        return text_fail(file->error, TEXT_NO_MEMORY);
    memcpy(copy, bytes, (size_t)length);
    copy[length] = 0;
    file->header = copy;
    file->header_size = (size_t)length;
    if ((error = json_parse(&header, copy, file->header_size, &where)) != NULL)
        return text_fail(file->error, "header, byte %llu: %s", (unsigned long long)where, error);
    if (header.type != JSON_OBJECT)
        return text_fail(file->error, "the header is not an object");
    return read_tensors(file, header, bytes + length, size - (size_t)length);
}

/* ---- files ---- */

/* Gives back everything when there is a message, which stays. */
static const char *finish(safetensors *file, const char *error)
{
    if (error)
        safetensors_close(file);
    else
        memset(file->error, 0, sizeof file->error);
    return error;
}

/* How many bytes of a file there is reason to read: to the end of the data and one more, as far as its first bytes
   tell; no more where they are wrong, for some files have no end. */
static size_t wanted(const unsigned char *bytes, size_t size)
{
    uint64_t length = size < LENGTH ? 0 : little_endian(bytes, LENGTH), end = 0, to;
    json header, name;
    if (size < LENGTH || (length <= HEADER_MAX && length > size - LENGTH))
        return SIZE_MAX;
    if (length > HEADER_MAX || json_parse(&header, (const char *)bytes + LENGTH, (size_t)length, NULL))
        return size;
    for (name = json_first(header); name.type; name = json_next(name))
        if (json_uint(json_next(json_first(json_get(json_value(name), "data_offsets"))), &to) && to > end)
            end = to;
    return end < SIZE_MAX - LENGTH - HEADER_MAX - 1 ? LENGTH + (size_t)length + (size_t)end + 1 : SIZE_MAX;
}

static const char *read_stream(safetensors *file, FILE *stream, size_t *size)
{
    text_buffer whole = {NULL, 0, 0, 0};
    size_t limit = SIZE_MAX, got = 1;
    while (got && whole.size < limit && text_reserve(&whole, 65536)) {
        got = fread(whole.text + whole.size, 1, whole.room - whole.size, stream);
        whole.size += got;
        limit = got && limit == SIZE_MAX ? wanted((const unsigned char *)whole.text, whole.size) : limit;
    }
    file->contents = whole.text;
    *size = whole.size;
    if (whole.failed)
        return text_fail(file->error, TEXT_NO_MEMORY);
    return ferror(stream) ? text_fail(file->error, "cannot be read: %s", strerror(errno)) : NULL;
}

const char *safetensors_open(safetensors *file, const char *path)
{
    const char *error;
    size_t size;
    FILE *stream;
    start(file, path);
    file->mapping = mapped_open(path, &file->mapped);
    if (file->mapping)
        return finish(file, read_file(file, file->mapping, file->mapped));
    if ((stream = fopen(path, "rb")) == NULL)
        return text_fail(file->error, "cannot be opened: %s", strerror(errno));
    error = read_stream(file, stream, &size);
    fclose(stream);
    return finish(file, error ? error : read_file(file, file->contents, size));
}

const char *safetensors_parse(safetensors *file, const void *bytes, size_t size, const char *name)
{
    start(file, name);
    return finish(file, read_file(file, bytes, size));
}

void safetensors_close(safetensors *file)
{
    mapped_close(file->mapping, file->mapped);
    free((void *)(uintptr_t)file->header);
    free(file->contents);
    free(file->owned);
    memset(file, 0, offsetof(safetensors, error));
}

/* ---- tensors ---- */

const safetensors_tensor *safetensors_find(const safetensors *file, const char *name)
{
    safetensors_tensor key;
    memset(&key, 0, sizeof key);
    key.name = name;
    key.name_size = strlen(name);
    return file->count ? bsearch(&key, file->tensors, file->count, sizeof key, compare_tensors) : NULL;
}

const char *safetensors_dtype_name(safetensors_dtype dtype)
{
    return (unsigned)dtype < DTYPES ? dtypes[dtype].name : "unknown";
}

size_t safetensors_bits(safetensors_dtype dtype)
{
    return (unsigned)dtype < DTYPES ? dtypes[dtype].bits : 0;
}

static double from_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double from_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double from_f16(uint32_t bits)
{
    uint64_t sign = (uint64_t)(bits >> 15) << 63, exponent = bits >> 10 & 31, fraction = bits & 0x3ff, wide;
    double tiny = (double)fraction / (1 << 24);
    memcpy(&wide, &tiny, sizeof wide);
    if (exponent > 0)
        wide = (exponent == 31 ? 0x7ff : exponent + 1008) << 52 | fraction << 42;
    return from_f64(sign | wide);
}

double safetensors_get(const safetensors_tensor *tensor, size_t i)
{
    size_t size = safetensors_bits(tensor->dtype) / 8;
    uint64_t bits;
    if (i >= tensor->count)
        return from_f64((uint64_t)0x7ff8 << 48);
    bits = little_endian((const unsigned char *)tensor->data + i * size, size);
    switch (tensor->dtype) {
    case SAFETENSORS_BOOL: return bits != 0;
    case SAFETENSORS_U8:
    case SAFETENSORS_U16:
    case SAFETENSORS_U32:
    case SAFETENSORS_U64: return (double)bits;
    case SAFETENSORS_I8: return (double)((int64_t)(bits ^ 0x80) - 0x80);
    case SAFETENSORS_I16: return (double)((int64_t)(bits ^ 0x8000) - 0x8000);
    case SAFETENSORS_I32: return (double)((int64_t)(bits ^ 0x80000000) - 0x80000000LL);
    case SAFETENSORS_I64: return bits >> 63 ? -(double)(~bits + 1) : (double)bits;
    case SAFETENSORS_F16: return from_f16((uint32_t)bits);
    case SAFETENSORS_BF16: return from_f32((uint32_t)bits << 16);
    case SAFETENSORS_F32: return from_f32((uint32_t)bits);
    case SAFETENSORS_F64: return from_f64(bits);
    default: return from_f64((uint64_t)0x7ff8 << 48);
    }
}

/* Bytes of a number: of C64, of one of its two parts. 1 for what has less than 8 bits. */
static size_t number_size(safetensors_dtype dtype)
{
    size_t size = safetensors_bits(dtype) / 8;
    return dtype == SAFETENSORS_C64 ? 4 : size ? size : 1;
}

static int is_little_endian(void)
{
    static const uint16_t one = 1;
    return *(const unsigned char *)&one;
}

int safetensors_is_native(const safetensors_tensor *tensor)
{
    size_t size = number_size(tensor->dtype);
    return (size == 1 || is_little_endian()) && (uintptr_t)tensor->data % size == 0;
}

int safetensors_copy(const safetensors_tensor *tensor, size_t first, size_t count, void *out)
{
    size_t size = safetensors_bits(tensor->dtype) / 8, number = number_size(tensor->dtype), i, j;
    unsigned char *bytes = out;
    if (!size || first > tensor->count || count > tensor->count - first)
        return 0;
    if (count)
        memcpy(out, (const unsigned char *)tensor->data + first * size, count * size);
    if (!is_little_endian())
        for (i = 0; i < count * size; i += number)
            for (j = 0; j < number / 2; j++) {
                unsigned char byte = bytes[i + j];
                bytes[i + j] = bytes[i + number - 1 - j];
                bytes[i + number - 1 - j] = byte;
            }
    return 1;
}
