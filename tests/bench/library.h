/* attn.h with its threads, and what library.c adds to it. */
#ifndef LIBRARY_H
#define LIBRARY_H

#define ATTN_THREADS
#include "attn.h"

/* Of the library's allocator: calls so far, bytes that are out, and the most that ever were. */
extern size_t bench_allocations, bench_allocated, bench_allocated_most;

/* attn_sdpa of packed f32 arrays; shape: heads, kv_heads, queries, keys, size. threads: always 1 or the same number.
   Returns the status. */
int bench_sdpa(float *out, const float *q, const float *k, const float *v, const size_t *shape, int causal,
               int threads);

#endif
