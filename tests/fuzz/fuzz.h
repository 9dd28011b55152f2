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

/* A message is a line of text that begins with the file's name. */
UNTRACED static inline void check_message(const char *error, const char *name, size_t room)
{
    size_t size = strlen(error);
    MUST(size < room && strncmp(error, name, strlen(name)) == 0 && strncmp(error + strlen(name), ": ", 2) == 0);
    MUST(size > strlen(name) + 2);
    for (size_t i = 0; i < size; i++)
        MUST((unsigned char)error[i] >= 0x20 && error[i] != 0x7f);
}

#endif
