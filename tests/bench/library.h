/* attn.h with its threads, and what library.c adds to it. */
#ifndef LIBRARY_H
#define LIBRARY_H

#define ATTN_THREADS
#include "attn.h"

/* Of the library's allocator: calls so far, bytes that are out, and the most that ever were. */
extern size_t bench_allocations, bench_allocated, bench_allocated_most;

/* ATTN_BENCH_ISA in the environment, a name as attn_isa_string returns it: the instruction set of what follows. Without
   it that is the best one. Returns its number, or -1 if nothing is called so. */
int bench_isa(void);

/* attn_sdpa of packed arrays of one type, an attn_dtype; shape: heads, kv_heads, queries, keys, size. by_token: the
   heads of a key or value lie side by side, [L,H,D]. causal: the last query sees every key. threads: always 1 or the
   same number. Returns the status. */
int bench_sdpa(void *out, const void *q, const void *k, const void *v, const size_t *shape, int dtype, int by_token,
               int causal, int threads);

/* attn_sdpa of texts without padding, f32; shape: heads, tokens of all texts, size, texts. starts: where each begins,
   and the end. by_token: heads lie side by side, in all four arrays. causal: a query sees what comes before it. */
int bench_texts(float *out, const float *q, const float *k, const float *v, const size_t *shape, const size_t *starts,
                int by_token, int causal, int threads);

/* Forward and backward of packed f32 arrays: out, lse, dq, dk, dv, which it writes, q, k, v, dout. */
int bench_training(float *const *arrays, const size_t *shape, int causal, int threads);

/* The same for out = x w^T; shape: rows of x, their size, rows of w. Not transposed: out = x w; shape: rows of x, their
   size, columns of w. */
int bench_product(void *out, const void *x, const void *w, const size_t *shape, int dtype, int transposed, int threads);

#endif
