/* A program that has taken gguf.h and gguf.c, and mapped.h, text.h and shown.h with them. */
#include "gguf.h"

int main(void)
{
    static const unsigned char bytes[] = "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0k\4\0\0\0\7\0\0\0";
    uint64_t value = 0;
    gguf file;
    if (gguf_parse(&file, bytes, sizeof bytes - 1, "bytes"))
        return 1;
    gguf_uint(gguf_get(&file, "k"), &value);
    gguf_close(&file);
    return value != 7;
}
