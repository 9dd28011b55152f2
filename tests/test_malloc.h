/* The allocator that the tests give to the library and to the examples' readers: it counts, fills with NaN, and fails on request. */
#ifndef ATTN_TEST_MALLOC_H
#define ATTN_TEST_MALLOC_H

#include <stddef.h>

void *test_malloc(size_t size);
void *test_calloc(size_t count, size_t size);
void *test_realloc(void *p, size_t size);
void test_free(void *p);

#endif
