/* What the fuzz targets share. Each is a function that takes any bytes; fuzz_main.c calls it with files, libFuzzer with
   inputs of its own. Run from the top of the tree:

       sh tests/fuzz/run.sh 1000000 json            libFuzzer (clang), with the sanitizers
       cc -I. tests/fuzz/fuzz_json.c tests/fuzz/fuzz_main.c -lm && ./a.out FILE...
*/
#ifndef ATTN_FUZZ_H
#define ATTN_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What holds of every input, or the fuzzer stops. */
#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Checks are no part of what libFuzzer looks for new ways through. */
#ifdef __clang__
#define UNTRACED __attribute__((no_sanitize("coverage")))
#else
#define UNTRACED
#endif

/* A copy that ends where its block does. */
static inline void *exactly(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    MUST(copy);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

/* Inputs of a target without the eight bytes that every GGUF begins with; and 255 stands for the seven zeros that most of
   its sizes end in. The whole, which ends where its block does; *whole_size: its size. */
static inline void *gguf_of(const uint8_t *bytes, size_t size, size_t *whole_size)
{
    unsigned char *whole = (unsigned char *)malloc(8 + 7 * size + 1), *exact;
    size_t used = 8;
    MUST(whole);
    memcpy(whole, "GGUF\3\0\0", 8);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 255)
            whole[used++] = bytes[i];
        for (int k = 0; bytes[i] == 255 && k < 7; k++)
            whole[used++] = 0;
    }
    exact = (unsigned char *)exactly(whole, used);
    free(whole);
    *whole_size = used;
    return exact;
}

/* Whether all of it is UTF-8: no overlong sequence, no surrogate, nothing beyond U+10FFFF. */
UNTRACED static inline int is_utf8(const char *text, size_t size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    for (size_t i = 0, n; i < size; i += n) {
        uint32_t c = (unsigned char)text[i];
        n = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;
        if (n == 0 || n > size - i)
            return 0;
        c &= n == 1 ? 0x7fu : 0x7fu >> n;
        for (size_t k = 1; k < n; k++) {
            if (((unsigned char)text[i + k] & 0xc0) != 0x80)
                return 0;
            c = c << 6 | ((unsigned char)text[i + k] & 0x3f);
        }
        if (c < least[n] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
            return 0;
    }
    return 1;
}

/* A message is a line of text that begins with the file's name. */
UNTRACED static inline void check_message(const char *error, const char *name, size_t room)
{
    size_t size = strlen(error);
    MUST(size < room && strncmp(error, name, strlen(name)) == 0 && strncmp(error + strlen(name), ": ", 2) == 0);
    MUST(size > strlen(name) + 2 && is_utf8(error, size));
    for (size_t i = 0; i < size; i++)
        MUST((unsigned char)error[i] >= 0x20 && error[i] != 0x7f);
}

#endif
