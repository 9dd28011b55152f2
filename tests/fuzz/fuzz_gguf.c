/* Fuzz target: GGUF files. An input is what follows the version; a byte of 255 in it stands for seven zeros. How to run:
   fuzz.h. */
#define MAPPED_NEVER /* no file is opened here */
#include "fuzz.h"

#include "examples/models/gguf.c"

static void check_value(gguf_value v)
{
    double number;
    uint64_t whole;
    int flag, depth = v.kind == GGUF_ARRAY;
    size_t size, seen = 0;
    const char *text = gguf_string(v, &size);
    MUST(!text || ((const unsigned char *)text + size <= v.stop));
    MUST(!text + !gguf_real(v, &number) + !gguf_flag(v, &flag) == (v.kind == GGUF_ARRAY ? 3 : 2));
    MUST(!gguf_uint(v, &whole) || gguf_real(v, &number));
    for (gguf_value e = gguf_first(v); e.kind != GGUF_NONE; e = gguf_next(e), seen++) {
        MUST(e.kind != GGUF_ARRAY && e.count == v.count - seen);
        check_value(e);
    }
    MUST(!depth || seen == v.count);
}

static void check_tensor(const gguf *file, const gguf_tensor *t, const unsigned char *end)
{
    size_t block = gguf_block(t->type), count = 1;
    float out[256];
    for (size_t i = 0; i < t->rank; i++)
        count *= t->shape[i];
    MUST(count == t->count && t->rank <= 4 && (const unsigned char *)t->data + t->size <= end);
    MUST(block || !t->size);
    if (!memchr(t->name, 0, t->name_size)) {
        char name[256];
        if (t->name_size < sizeof name) {
            memcpy(name, t->name, t->name_size);
            name[t->name_size] = 0;
            MUST(gguf_find(file, name) == t);
        }
    }
    MUST(!gguf_read(t, t->count, block ? block : 1, out) && !gguf_read(t, 0, t->count + 1, out));
    if (block && t->count)
        MUST(gguf_read(t, 0, block, out) && gguf_read(t, t->count - block, block, out));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    size_t used;
    unsigned char *exact = (unsigned char *)gguf_of(bytes, size, &used);
    gguf file, empty;
    const char *error;
    memset(&file, 0x5a, sizeof file);
    memset(&empty, 0, sizeof empty);
    error = gguf_parse(&file, exact, used, "some.gguf");
    if (error) {
        check_message(error, "some.gguf", sizeof file.error);
        MUST(error == file.error && !file.tensors && !file.count && !file.keys && !file.owned);
    } else {
        for (size_t i = 0; i < file.key_count; i++)
            check_value(file.keys[i].value);
        for (size_t i = 0; i < file.count; i++)
            check_tensor(&file, &file.tensors[i], exact + used);
        gguf_close(&file);
        MUST(memcmp(&file, &empty, sizeof file) == 0);
    }
    free(exact);
    return 0;
}
