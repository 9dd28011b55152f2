/* The library as the tests link it: one object of its own, so that it can be built with any flags. */
#include "test_malloc.h"

#include <assert.h>

long test_tiles; /* how many tiles the engine has computed */

#define ATTN_MALLOC(size) test_malloc(size)
#define ATTN_FREE(p) test_free(p)
#define ATTN_ASSERT(condition) assert(condition)
#define ATTN_THREADS
#define ATTN__ON_TILE() ((void)__atomic_add_fetch(&test_tiles, 1, __ATOMIC_RELAXED))
#define ATTN_IMPLEMENTATION
#include "../attn.h"
