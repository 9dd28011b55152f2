/* The allocator that the tests give to the library and to the examples' readers: it counts, fills with NaN, and fails on request.
   And what a pool of threads asks of the system, which is counted and refused on request as well. */
#ifndef ATTN_TEST_MALLOC_H
#define ATTN_TEST_MALLOC_H

#include <stddef.h>
#include <stdint.h>

void *test_malloc(size_t size);
void *test_calloc(size_t count, size_t size);
void *test_realloc(void *p, size_t size);
void test_free(void *p);

typedef struct test_system {
    long asked, live, fail_at; /* mutexes, conditions and threads (on Windows these alone); fail_at: 1 = the next */
    uintptr_t sum;             /* of the addresses of live mutexes and conditions */
} test_system;
extern test_system test_system_state;

#endif
