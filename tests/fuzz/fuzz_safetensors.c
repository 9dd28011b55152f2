/* Fuzz target: safetensors files. After an odd first byte the input is a file; after an even one it is a header, up to
   the first NUL, and data: the header's length is put before them. How to run: fuzz.h. */
#define MAPPED_NEVER /* no file is opened here */
#include "fuzz.h"

#include "examples/models/json.c"

#include "examples/models/safetensors.c"

static void check_tensor(const safetensors *file, const safetensors_tensor *t, const unsigned char *begin,
                         const unsigned char *end)
{
    size_t count = 1, bits = safetensors_bits(t->dtype), bytes = bits / 8;
    const unsigned char *data = t->data;
    MUST(t->name[t->name_size] == 0 && bits && strcmp(safetensors_dtype_name(t->dtype), "unknown"));
    for (size_t i = 0; i < t->rank; i++) {
        MUST(!t->shape[i] || count <= SIZE_MAX / t->shape[i]);
        count *= t->shape[i];
    }
    MUST(count == t->count && count <= SIZE_MAX / bits && count * bits == t->size * 8);
    MUST(is_utf8(t->name, t->name_size));
    MUST(data >= begin && data <= end && t->size <= (size_t)(end - data));
    if (!memchr(t->name, 0, t->name_size))
        MUST(safetensors_find(file, t->name) == t);
    MUST(safetensors_get(t, t->count) != safetensors_get(t, t->count));
    MUST(safetensors_get(t, SIZE_MAX) != safetensors_get(t, SIZE_MAX));
    for (size_t i = 0; i < t->count && i < 3; i++) {
        double first = safetensors_get(t, i), last = safetensors_get(t, t->count - 1 - i);
        if (t->dtype == SAFETENSORS_U8)
            MUST(first == data[i] && last == data[t->count - 1 - i]);
        if (bits < 8)
            MUST(first != first && last != last);
    }
    if (bytes) {
        unsigned char *out = malloc(t->size + 1);
        MUST(out);
        out[t->size] = 77;
        MUST(safetensors_copy(t, 0, t->count, out) && out[t->size] == 77);
        if (is_little_endian())
            MUST(memcmp(out, data, t->size) == 0);
        if (t->count) {
            MUST(safetensors_copy(t, t->count - 1, 1, out));
            if (is_little_endian())
                MUST(memcmp(out, data + t->size - bytes, bytes) == 0);
        }
        MUST(!safetensors_copy(t, t->count, 1, out) && !safetensors_copy(t, 0, t->count + 1, out));
        MUST(!safetensors_copy(t, 1, SIZE_MAX, out) && !safetensors_copy(t, SIZE_MAX, 1, out));
        MUST(safetensors_copy(t, t->count, 0, out));
        if (bytes == 1)
            MUST(safetensors_is_native(t));
        free(out);
    }
}

static void check_file(const void *bytes, size_t size)
{
    safetensors file, empty;
    const char *error;
    memset(&file, 0x5a, sizeof file);
    memset(&empty, 0, sizeof empty);
    error = safetensors_parse(&file, bytes, size, "some.safetensors");
    if (error) {
        check_message(error, "some.safetensors", sizeof file.error);
        MUST(error == file.error && !file.tensors && !file.count && !file.header && !file.owned);
        return;
    }
    MUST(size >= 8 && file.header_size <= size - 8 &&
         memcmp(file.header, (const char *)bytes + 8, file.header_size) == 0);
    const unsigned char *end = (const unsigned char *)bytes + size, *begin = end - (size - 8 - file.header_size);
    size_t total = 0;
    for (size_t i = 0; i < file.count; i++) {
        const safetensors_tensor *t = &file.tensors[i];
        check_tensor(&file, t, begin, end);
        total += t->size;
        for (size_t k = 0; k < i && k < 16; k++) {
            const unsigned char *first = t->data, *other = file.tensors[k].data;
            MUST(!t->size || !file.tensors[k].size || first + t->size <= other ||
                 other + file.tensors[k].size <= first);
        }
        if (i) {
            size_t least = t[-1].name_size < t->name_size ? t[-1].name_size : t->name_size;
            int order = memcmp(t[-1].name, t->name, least);
            MUST(order < 0 || (order == 0 && t[-1].name_size < t->name_size));
        }
    }
    MUST(total == (size_t)(end - begin));
    MUST(!safetensors_find(&file, "no such tensor") || file.count);
    safetensors_close(&file);
    MUST(memcmp(&file, &empty, sizeof file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size && bytes[0] % 2 == 0) {
        const uint8_t *zero = memchr(bytes + 1, 0, size - 1);
        size_t header = zero ? (size_t)(zero - bytes) - 1 : size - 1, data = zero ? size - header - 2 : 0;
        unsigned char *whole = malloc(8 + header + data);
        MUST(whole);
        for (int i = 0; i < 8; i++)
            whole[i] = (unsigned char)((uint64_t)header >> 8 * i);
        memcpy(whole + 8, bytes + 1, header);
        memcpy(whole + 8 + header, bytes + size - data, data);
        check_file(whole, 8 + header + data);
        free(whole);
    } else if (size) {
        void *whole = exactly(bytes + 1, size - 1);
        check_file(whole, size - 1);
        free(whole);
    }
    return 0;
}
