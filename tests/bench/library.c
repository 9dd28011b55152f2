/* The library that the benchmarks measure, with its own threads and an allocator that counts; and, for peers.py, a few
   calls that take plain arguments. */
#define _POSIX_C_SOURCE 200112L
#include "library.h"
#include <stdlib.h>
#include <string.h>

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

int bench_isa(void)
{
    const char *name = getenv("ATTN_BENCH_ISA");
    int isa;
    if (!name || !*name)
        return ATTN_ISA_BEST;
    for (isa = ATTN_ISA_SCALAR; isa <= ATTN_ISA_AVX512BF16; isa++)
        if (strcmp(name, attn_isa_string((attn_isa)isa)) == 0)
            return isa;
    return -1;
}

static int with_threads(attn_ctx *ctx, int threads)
{
    int isa = bench_isa();
    if (isa < 0)
        return -1;
    memset(ctx, 0, sizeof *ctx);
    ctx->isa = (attn_isa)isa;
    if (threads > 1 && !pool.run && attn_pool_new(&pool, (size_t)threads) != ATTN_OK)
        return -1;
    if (threads > 1)
        ctx->parallel = pool;
    return 0;
}

int bench_sdpa(void *out, const void *q, const void *k, const void *v, const size_t *shape, int dtype, int by_token,
               int causal, int threads)
{
    size_t heads = shape[0], kv_heads = shape[1], queries = shape[2], keys = shape[3], size = shape[4];
    attn_dtype type = (attn_dtype)dtype;
    attn_opts opts = {0};
    attn_ctx ctx;

    if (with_threads(&ctx, threads))
        return -1;
    opts.causal = causal ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
    return (int)attn_sdpa(
        attn_bhld(out, type, 1, heads, queries, size), attn_bhld(q, type, 1, heads, queries, size),
        by_token ? attn_blhd(k, type, 1, keys, kv_heads, size) : attn_bhld(k, type, 1, kv_heads, keys, size),
        by_token ? attn_blhd(v, type, 1, keys, kv_heads, size) : attn_bhld(v, type, 1, kv_heads, keys, size), &opts,
        &ctx);
}

int bench_texts(float *out, const float *q, const float *k, const float *v, const size_t *shape, const size_t *starts,
                int by_token, int causal, int threads)
{
    size_t heads = shape[0], tokens = shape[1], size = shape[2];
    const float *inputs[3];
    attn_tensor t[4];
    attn_opts opts = {0};
    attn_ctx ctx;
    size_t n;

    if (with_threads(&ctx, threads))
        return -1;
    inputs[0] = q;
    inputs[1] = k;
    inputs[2] = v;
    for (n = 0; n < 4; n++) {
        const float *data = n < 3 ? inputs[n] : out;
        t[n] = by_token ? attn_blhd(data, ATTN_F32, 1, tokens, heads, size)
                        : attn_bhld(data, ATTN_F32, 1, heads, tokens, size);
    }
    opts.causal = causal ? ATTN_CAUSAL_UPPER_LEFT : ATTN_CAUSAL_NONE;
    opts.sequences = shape[3];
    opts.q_starts = opts.kv_starts = starts;
    return (int)attn_sdpa(t[3], t[0], t[1], t[2], &opts, &ctx);
}

/* Number n of the arrays: heads x len x size. */
static attn_tensor array_of(float *const *arrays, size_t n, size_t heads, size_t len, size_t size)
{
    return attn_bhld(arrays[n], ATTN_F32, 1, heads, len, size);
}

int bench_training(float *const *arrays, const size_t *shape, int causal, int threads)
{
    size_t heads = shape[0], kv_heads = shape[1], queries = shape[2], keys = shape[3], size = shape[4];
    attn_tensor out = array_of(arrays, 0, heads, queries, size), q = array_of(arrays, 5, heads, queries, size);
    attn_tensor k = array_of(arrays, 6, kv_heads, keys, size), v = array_of(arrays, 7, kv_heads, keys, size);
    attn_opts opts = {0};
    attn_grads grads = {0};
    attn_status status;
    attn_ctx ctx;

    if (with_threads(&ctx, threads))
        return -1;
    opts.causal = causal ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
    opts.lse = array_of(arrays, 1, heads, queries, 1);
    grads.q = array_of(arrays, 2, heads, queries, size);
    grads.k = array_of(arrays, 3, kv_heads, keys, size);
    grads.v = array_of(arrays, 4, kv_heads, keys, size);
    status = attn_sdpa(out, q, k, v, &opts, &ctx);
    if (status != ATTN_OK)
        return (int)status;
    return (int)attn_sdpa_backward(&grads, array_of(arrays, 8, heads, queries, size), q, k, v, out, opts.lse, &opts,
                                   &ctx);
}

int bench_product(void *out, const void *x, const void *w, const size_t *shape, int dtype, int transposed, int threads)
{
    size_t rows = shape[0], inner = shape[1], cols = shape[2];
    attn_dtype type = (attn_dtype)dtype;
    attn_mat factor = transposed ? attn_mat_t(attn_mat_of(w, type, cols, inner)) : attn_mat_of(w, type, inner, cols);
    attn_ctx ctx;

    if (with_threads(&ctx, threads))
        return -1;
    return (int)attn_matmul_ctx(attn_mat_of(out, type, rows, cols), attn_mat_of(x, type, rows, inner), factor, 1, &ctx);
}
