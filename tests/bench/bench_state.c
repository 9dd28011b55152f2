/* What state, positions and projections cost around attn_sdpa, as ratios against peers of the same run:

   - a ring, beside a cache of the same tokens that is not one;
   - what a step of a model adds to attending: appending the token, rotating its query and key; the same for a prompt;
   - attn_mha, beside its four products and attn_sdpa called one by one.

   A call whose result is wrong stops the benchmark. There are no bars. */
#define _GNU_SOURCE
#include <math.h>
#include "library.h"
#include "bench.h"

enum { DTYPES = 4, F32 = 0, RING = DTYPES, CACHES };
static const attn_dtype DTYPE[CACHES] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8, ATTN_F32};

static void succeed(attn_status status, const char *call)
{
    require(status == ATTN_OK, call);
}

static attn_tensor random_tensor(size_t heads, size_t len, size_t size)
{
    return attn_bhld(bench_matrix(ATTN_F32, heads * len, size).data, ATTN_F32, 1, heads, len, size);
}

/* a and b hold the same numbers, nearly. */
static void check_near(attn_tensor a, attn_tensor b, double tolerance, const char *who)
{
    size_t h, i, d;
    for (h = 0; h < a.heads; h++)
        for (i = 0; i < a.len; i++)
            for (d = 0; d < a.dim; d++)
                if (!(fabs(attn_mat_get(attn_head(a, 0, h), i, d) - attn_mat_get(attn_head(b, 0, h), i, d)) <=
                      tolerance))
                    require(0, who);
}

static void enter(contestant *c, void (*run)(void *arg), void *arg)
{
    memset(c, 0, sizeof *c);
    c->run = run;
    c->arg = arg;
    c->work = 1;
}

/* ==== Decode ====================================================================================================== */

typedef struct decode {
    size_t heads, kv_heads, tokens, size;
    attn_tensor out, q, k, v;    /* queries of the newest tokens; all keys and values, in f32 */
    attn_tensor new_k, new_v;    /* rows that go into the caches */
    attn_tensor rotated, turned; /* query and key after attn_rope */
    attn_kv_cache cache[CACHES];
    attn_opts opts;
} decode;

/* A decode against one of its caches. */
typedef struct use {
    decode *of;
    attn_kv_cache *cache;
    attn_opts opts;
} use;

static void run_attend(void *arg)
{
    const use *u = (const use *)arg;
    succeed(attn_kv_cache_attend(u->of->out, u->of->q, u->cache, &u->opts, NULL), "attn_kv_cache_attend");
}

/* Appends in place of what was there: the cache is as long as before. */
static void run_append(void *arg)
{
    const use *u = (const use *)arg;
    succeed(attn_kv_cache_truncate(u->cache, 0, u->cache->lens[0] - u->of->new_k.len), "attn_kv_cache_truncate");
    succeed(attn_kv_cache_append(u->cache, u->of->new_k, u->of->new_v, NULL), "attn_kv_cache_append");
}

static void run_rope(void *arg)
{
    const decode *d = (const decode *)arg;
    attn_rope_opts opts;
    memset(&opts, 0, sizeof opts);
    opts.offset = (ptrdiff_t)d->tokens;
    succeed(attn_rope(d->rotated, d->q, &opts), "attn_rope");
    succeed(attn_rope(d->turned, d->new_k, &opts), "attn_rope");
}

static void run_copy(void *arg)
{
    const decode *d = (const decode *)arg;
    size_t bytes = d->kv_heads * d->new_k.len * d->size * sizeof(float);
    memcpy(d->cache[F32].k.data, d->new_k.data, bytes);
    memcpy(d->cache[F32].v.data, d->new_v.data, bytes);
}

/* The newest `queries` tokens ask. */
static void new_decode(decode *d, size_t heads, size_t kv_heads, size_t tokens, size_t size, size_t queries)
{
    size_t i;
    memset(d, 0, sizeof *d);
    d->heads = heads;
    d->kv_heads = kv_heads;
    d->tokens = tokens;
    d->size = size;
    d->out = random_tensor(heads, queries, size);
    d->q = random_tensor(heads, queries, size);
    d->rotated = random_tensor(heads, queries, size);
    d->k = random_tensor(kv_heads, tokens, size);
    d->v = random_tensor(kv_heads, tokens, size);
    d->new_k = random_tensor(kv_heads, queries, size);
    d->new_v = random_tensor(kv_heads, queries, size);
    d->turned = random_tensor(kv_heads, queries, size);
    d->opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    for (i = 0; i < CACHES; i++) {
        succeed(attn_kv_cache_init(&d->cache[i], 1, kv_heads, tokens, size, size, DTYPE[i], i == RING, NULL, 0),
                "attn_kv_cache_init");
        if (i == RING) /* older tokens, which the others push out: its rows begin in the middle */
            succeed(attn_kv_cache_append(&d->cache[i], attn_tensor_slice(d->k, 0, tokens / 2),
                                         attn_tensor_slice(d->v, 0, tokens / 2), NULL),
                    "attn_kv_cache_append");
        succeed(attn_kv_cache_append(&d->cache[i], d->k, d->v, NULL), "attn_kv_cache_append");
    }
}

static void free_decode(decode *d)
{
    size_t i;
    for (i = 0; i < CACHES; i++)
        attn_kv_cache_free(&d->cache[i]);
    free(d->out.data);
    free(d->q.data);
    free(d->k.data);
    free(d->v.data);
    free(d->new_k.data);
    free(d->new_v.data);
    free(d->rotated.data);
    free(d->turned.data);
}

static void use_caches(use *uses, decode *d)
{
    size_t i;
    for (i = 0; i < CACHES; i++) {
        uses[i].of = d;
        uses[i].cache = &d->cache[i];
        uses[i].opts = d->opts;
    }
    uses[RING].opts.window.on = 1; /* all that the ring still has */
    uses[RING].opts.window.left = (ptrdiff_t)d->tokens - 1;
}

static void print_shape(const decode *d)
{
    printf("%4lu/%-2lu%8lu%6lu", (unsigned long)d->heads, (unsigned long)d->kv_heads, (unsigned long)d->tokens,
           (unsigned long)d->size);
}

/* The ring begins in its middle. */
static void bench_ring(size_t heads, size_t kv_heads, size_t tokens, size_t size)
{
    decode d;
    use uses[CACHES];
    contestant c[2];
    attn_tensor right = random_tensor(heads, 1, size);

    new_decode(&d, heads, kv_heads, tokens, size, 1);
    use_caches(uses, &d);
    enter(&c[0], run_attend, &uses[RING]);
    enter(&c[1], run_attend, &uses[F32]);
    run_attend(&uses[F32]);
    memcpy(right.data, d.out.data, heads * size * sizeof(float));
    run_attend(&uses[RING]);
    check_near(d.out, right, 1e-5, "a ring");
    race(c, 2);
    print_shape(&d);
    printf("%9.2f x\n", ratio(&c[0], &c[1]));
    fflush(stdout);
    free(right.data);
    free_decode(&d);
}

/* What a step costs beside attending, in percent of that. */
static void bench_step(size_t heads, size_t kv_heads, size_t tokens, size_t size, size_t queries)
{
    decode d;
    use uses[CACHES];
    contestant c[DTYPES + 3], *rope = &c[DTYPES + 1], *copy = &c[DTYPES + 2]; /* attend in f32, appends, rope, memcpy */
    size_t i;

    new_decode(&d, heads, kv_heads, tokens, size, queries);
    use_caches(uses, &d);
    enter(&c[0], run_attend, &uses[F32]);
    for (i = 0; i < DTYPES; i++)
        enter(&c[1 + i], run_append, &uses[i]);
    enter(rope, run_rope, &d);
    enter(copy, run_copy, &d);
    race(c, DTYPES + 3);
    print_shape(&d);
    printf("%6lu", (unsigned long)queries);
    for (i = 0; i < DTYPES; i++)
        printf("%7.2f %%", 100 * ratio(&c[0], &c[1 + i]));
    printf("%7.2f %%%7.2f %%\n", 100 * ratio(&c[0], copy), 100 * ratio(&c[0], rope));
    fflush(stdout);
    free_decode(&d);
}

/* ==== The layer =================================================================================================== */

typedef struct layer {
    size_t heads, size;
    attn_mat x, out, projected[3], joined; /* length x (heads * size) */
    attn_mha_weights weights;
} layer;

static void run_layer(void *arg)
{
    const layer *l = (const layer *)arg;
    attn_tensor x = attn_heads(l->x, 1);
    succeed(attn_mha(attn_heads(l->out, 1), x, x, x, &l->weights, NULL, NULL), "attn_mha");
}

static void run_parts(void *arg)
{
    const layer *l = (const layer *)arg;
    const attn_mat *w[3];
    size_t n;
    w[0] = &l->weights.wq;
    w[1] = &l->weights.wk;
    w[2] = &l->weights.wv;
    for (n = 0; n < 3; n++)
        succeed(attn_matmul(l->projected[n], l->x, *w[n]), "attn_matmul");
    succeed(attn_sdpa(attn_heads(l->joined, l->heads), attn_heads(l->projected[0], l->heads),
                      attn_heads(l->projected[1], l->heads), attn_heads(l->projected[2], l->heads), NULL, NULL),
            "attn_sdpa");
    succeed(attn_matmul(l->out, l->joined, l->weights.wo), "attn_matmul");
}

/* A matrix of numbers as small as a layer starts with. */
static attn_mat projection(size_t size)
{
    attn_mat m = bench_matrix(ATTN_F32, size, size);
    size_t i;
    for (i = 0; i < size * size; i++)
        ((float *)m.data)[i] /= (float)sqrt((double)size);
    return m;
}

static void bench_layer(size_t heads, size_t length, size_t size)
{
    layer l;
    contestant c[2];
    attn_mat right = bench_matrix(ATTN_F32, length, heads * size);
    size_t n;

    memset(&l, 0, sizeof l);
    l.heads = l.weights.heads = heads;
    l.size = size;
    l.x = bench_matrix(ATTN_F32, length, heads * size);
    l.out = bench_matrix(ATTN_F32, length, heads * size);
    l.joined = bench_matrix(ATTN_F32, length, heads * size);
    for (n = 0; n < 3; n++)
        l.projected[n] = bench_matrix(ATTN_F32, length, heads * size);
    l.weights.wq = projection(heads * size);
    l.weights.wk = projection(heads * size);
    l.weights.wv = projection(heads * size);
    l.weights.wo = projection(heads * size);

    run_parts(&l);
    succeed(attn_mat_copy(right, l.out), "attn_mat_copy");
    run_layer(&l);
    check_near(attn_heads(l.out, 1), attn_heads(right, 1), 1e-4, "attn_mha");
    enter(&c[0], run_layer, &l);
    enter(&c[1], run_parts, &l);
    race(c, 2);
    printf("%5lu%8lu%6lu%9.2f x\n", (unsigned long)heads, (unsigned long)length, (unsigned long)size,
           ratio(&c[0], &c[1]));
    fflush(stdout);
    for (n = 0; n < 3; n++)
        free(l.projected[n].data);
    free(right.data);
    free(l.x.data);
    free(l.out.data);
    free(l.joined.data);
    free(l.weights.wq.data);
    free(l.weights.wk.data);
    free(l.weights.wv.data);
    free(l.weights.wo.data);
}

int main(void)
{
    printf("Ratios of speeds, medians of %d rounds in which the contestants take turns, on one thread.\n", ROUNDS);

    printf("\nattn_kv_cache_attend, one query, a ring: speed relative to a cache of the same tokens\n");
    printf("  heads  tokens  size     ring\n");
    bench_ring(8, 8, 512, 64);
    bench_ring(8, 8, 4096, 64);
    bench_ring(32, 8, 4096, 128);

    printf(
        "\nattn_kv_cache_append, memcpy of as much f32, attn_rope of q and k: time in percent of attending in f32\n");
    printf("  heads  tokens  size   new      f32      f16     bf16       i8   memcpy     rope\n");
    bench_step(8, 8, 4096, 64, 1);
    bench_step(32, 8, 4096, 128, 1);
    bench_step(8, 8, 1024, 64, 1024);
    if (!is_quick())
        bench_step(32, 8, 1024, 128, 1024);

    printf("\nattn_mha: speed relative to four products and attn_sdpa\n");
    printf("heads  length  size      parts\n");
    bench_layer(8, 64, 64);
    bench_layer(8, 512, 64);
    if (!is_quick())
        bench_layer(16, 1024, 64);
    print_bars();
    return 0;
}
