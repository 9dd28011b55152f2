/* The library that the benchmarks measure, with its own threads and an allocator that counts; and, for peers.py, a few
   calls that take plain arguments. */
#define _POSIX_C_SOURCE 200112L
#include "library.h"
#include <stdlib.h>

size_t bench_allocations, bench_allocated, bench_allocated_most;

/* The size of an allocation stands before it. */
enum { BEFORE = 64 };

static void *counting_malloc(size_t size)
{
    size_t *p = size < (size_t)-1 - BEFORE ? (size_t *)malloc(size + BEFORE) : NULL;
    if (!p)
        return NULL;
    *p = size;
    bench_allocations++;
    bench_allocated += size;
    if (bench_allocated_most < bench_allocated)
        bench_allocated_most = bench_allocated;
    return (char *)p + BEFORE;
}

static void counting_free(void *p)
{
    if (!p)
        return;
    p = (char *)p - BEFORE;
    bench_allocated -= *(size_t *)p;
    free(p);
}

#define ATTN_MALLOC(size) counting_malloc(size)
#define ATTN_FREE(p) counting_free(p)
#define ATTN_IMPLEMENTATION
#include "attn.h"

/* ==== For peers.py ================================================================================================ */

static attn_parallel pool;

int bench_sdpa(float *out, const float *q, const float *k, const float *v, const size_t *shape, int causal, int threads)
{
    size_t heads = shape[0], kv_heads = shape[1], queries = shape[2], keys = shape[3], size = shape[4];
    attn_opts opts = {0};
    attn_ctx ctx = {0};

    if (threads > 1 && !pool.run && attn_pool_new(&pool, (size_t)threads) != ATTN_OK)
        return -1;
    if (threads > 1)
        ctx.parallel = pool;
    opts.causal = causal ? ATTN_CAUSAL_UPPER_LEFT : ATTN_CAUSAL_NONE;
    return (int)attn_sdpa(
        attn_bhld(out, ATTN_F32, 1, heads, queries, size), attn_bhld(q, ATTN_F32, 1, heads, queries, size),
        attn_bhld(k, ATTN_F32, 1, kv_heads, keys, size), attn_bhld(v, ATTN_F32, 1, kv_heads, keys, size), &opts, &ctx);
}
