/* What state, positions and projections cost around attn_sdpa, as ratios against peers of the same run:

   - decode: one query against a cache of each dtype, beside attn_sdpa over one tensor with the same tokens, and beside
     plain loops over them, which the compiler makes vectors of;
   - what a step of a model adds to that: appending the token, rotating its query and key; and the same for a prompt;
   - attn_mha, beside its four products and attn_sdpa called one by one, and beside nn.MultiheadAttention of PyTorch,
     where ATTN_BENCH_PYTHON names a Python that has it.

   A call whose result is wrong stops the benchmark. There are no bars. */
#define _GNU_SOURCE
#include <math.h>
#define ATTN_IMPLEMENTATION
#include "attn.h"
#include "bench.h"
#include "peer.h"
#include "torch.h"

enum { DTYPES = 4, F32 = 0, RING = DTYPES, CACHES };
static const attn_dtype DTYPE[CACHES] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8, ATTN_F32};
static const double TOLERANCE[CACHES] = {1e-5, 1e-3, 1e-2, 2e-2, 1e-5};

static void require(attn_status status, const char *call)
{
    if (status == ATTN_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", call, attn_status_string(status));
    exit(1);
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
                      tolerance)) {
                    fprintf(stderr, "bench: %s: wrong attention\n", who);
                    exit(1);
                }
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
    float *scores;
} decode;

/* A decode against one of its caches. */
typedef struct use {
    decode *of;
    attn_kv_cache *cache;
    attn_opts opts;
} use;

static void run_one_tensor(void *arg)
{
    const decode *d = (const decode *)arg;
    require(attn_sdpa(d->out, d->q, d->k, d->v, &d->opts, NULL), "attn_sdpa");
}

static void run_attend(void *arg)
{
    const use *u = (const use *)arg;
    require(attn_kv_cache_attend(u->of->out, u->of->q, u->cache, &u->opts, NULL), "attn_kv_cache_attend");
}

static void run_loops(void *arg)
{
    const decode *d = (const decode *)arg;
    size_t h, kv;
    for (h = 0; h < d->heads; h++) {
        kv = h / (d->heads / d->kv_heads);
        peer_decode((float *)d->out.data + h * d->size, (const float *)d->q.data + h * d->size,
                    (const float *)d->k.data + kv * d->tokens * d->size,
                    (const float *)d->v.data + kv * d->tokens * d->size, d->scores, d->tokens, d->size,
                    (float)(1 / sqrt((double)d->size)), best_vector_bytes());
    }
}

/* Appends in place of what was there: the cache is as long as before. */
static void run_append(void *arg)
{
    const use *u = (const use *)arg;
    require(attn_kv_cache_truncate(u->cache, 0, u->cache->lens[0] - u->of->new_k.len), "attn_kv_cache_truncate");
    require(attn_kv_cache_append(u->cache, u->of->new_k, u->of->new_v, NULL), "attn_kv_cache_append");
}

static void run_rope(void *arg)
{
    const decode *d = (const decode *)arg;
    attn_rope_opts opts;
    memset(&opts, 0, sizeof opts);
    opts.offset = (ptrdiff_t)d->tokens;
    require(attn_rope(d->rotated, d->q, &opts), "attn_rope");
    require(attn_rope(d->turned, d->new_k, &opts), "attn_rope");
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
    d->scores = (float *)bench_alloc(tokens * sizeof(float));
    d->opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    for (i = 0; i < CACHES; i++) {
        require(attn_kv_cache_init(&d->cache[i], 1, kv_heads, tokens, size, size, DTYPE[i], i == RING, NULL, 0),
                "attn_kv_cache_init");
        if (i == RING) /* older tokens, which the others push out: its rows begin in the middle */
            require(attn_kv_cache_append(&d->cache[i], attn_tensor_slice(d->k, 0, tokens / 2),
                                         attn_tensor_slice(d->v, 0, tokens / 2), NULL),
                    "attn_kv_cache_append");
        require(attn_kv_cache_append(&d->cache[i], d->k, d->v, NULL), "attn_kv_cache_append");
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
    free(d->scores);
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

/* The loops and the one tensor share memory: neither may follow the other, which would leave it in the processor's own
   cache. So the loops take their turn in the middle. */
static void bench_decode(size_t heads, size_t kv_heads, size_t tokens, size_t size)
{
    decode d;
    use uses[CACHES];
    contestant c[CACHES + 2], *caches[CACHES], *tensor = &c[0], *loops = &c[4];
    attn_tensor right = random_tensor(heads, 1, size);
    size_t i;

    new_decode(&d, heads, kv_heads, tokens, size, 1);
    use_caches(uses, &d);
    enter(tensor, run_one_tensor, &d);
    run_one_tensor(&d);
    memcpy(right.data, d.out.data, heads * size * sizeof(float));
    for (i = 0; i < CACHES; i++) {
        caches[i] = &c[i < 3 ? i + 1 : i + 2];
        enter(caches[i], run_attend, &uses[i]);
        run_attend(&uses[i]);
        check_near(d.out, right, TOLERANCE[i], "attn_kv_cache_attend");
    }
    enter(loops, run_loops, &d);
    run_loops(&d);
    check_near(d.out, right, TOLERANCE[F32], "loops");

    race(c, CACHES + 2);
    print_shape(&d);
    for (i = 0; i < CACHES; i++)
        printf("%7.2f x", ratio(caches[i], tensor));
    printf("%9.2f x\n", ratio(caches[F32], loops));
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

static const char torch_script[] =
    "import sys, torch\n"
    "torch.set_num_threads(1)\n"
    "with torch.no_grad():\n"
    "    for line in sys.stdin:\n"
    "        if line != 'run\\n':\n"
    "            heads, length, size = map(int, line.split())\n"
    "            layer = torch.nn.MultiheadAttention(heads * size, heads, batch_first=True).eval()\n"
    "            x = torch.randn(1, length, heads * size)\n"
    "        layer(x, x, x, need_weights=False)\n"
    "        print(torch.__version__, flush=True)\n";

typedef struct layer {
    size_t heads, size;
    attn_mat x, out, projected[3], joined; /* length x (heads * size) */
    attn_mha_weights weights;
} layer;

static void run_layer(void *arg)
{
    const layer *l = (const layer *)arg;
    attn_tensor x = attn_heads(l->x, 1);
    require(attn_mha(attn_heads(l->out, 1), x, x, x, &l->weights, NULL, NULL), "attn_mha");
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
        require(attn_matmul(l->projected[n], l->x, *w[n]), "attn_matmul");
    require(attn_sdpa(attn_heads(l->joined, l->heads), attn_heads(l->projected[0], l->heads),
                      attn_heads(l->projected[1], l->heads), attn_heads(l->projected[2], l->heads), NULL, NULL),
            "attn_sdpa");
    require(attn_matmul(l->out, l->joined, l->weights.wo), "attn_matmul");
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
    contestant c[3]; /* the layer, its parts, PyTorch */
    attn_mat right = bench_matrix(ATTN_F32, length, heads * size);
    char question[64];
    int torch;
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
    require(attn_mat_copy(right, l.out), "attn_mat_copy");
    run_layer(&l);
    check_near(attn_heads(l.out, 1), attn_heads(right, 1), 1e-4, "attn_mha");
    enter(&c[0], run_layer, &l);
    enter(&c[1], run_parts, &l);
    enter(&c[2], run_torch, NULL);
    snprintf(question, sizeof question, "%d %d %d\n", (int)heads, (int)length, (int)size);
    torch = ask_torch(question);
    c[0].wall = c[1].wall = c[2].wall = torch; /* PyTorch runs in another process */
    race(c, torch ? 3 : 2);
    printf("%5lu%8lu%6lu%9.2f x", (unsigned long)heads, (unsigned long)length, (unsigned long)size,
           ratio(&c[0], &c[1]));
    if (torch)
        printf("%9.2f x\n", ratio(&c[0], &c[2]));
    else
        printf("%11s\n", "-");
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
    load_torch(torch_script, "1 3 4\n");

    printf(
        "\nattn_kv_cache_attend, one query: speed relative to attn_sdpa over one f32 tensor; f32 relative to loops\n");
    printf("  heads  tokens  size      f32      f16     bf16       i8     ring      loops\n");
    bench_decode(8, 8, 512, 64);
    bench_decode(8, 8, 4096, 64);
    bench_decode(32, 8, 4096, 128);
    bench_decode(8, 8, 32768, 64);

    printf(
        "\nattn_kv_cache_append, memcpy of as much f32, attn_rope of q and k: time in percent of attending in f32\n");
    printf("  heads  tokens  size   new      f32      f16     bf16       i8   memcpy     rope\n");
    bench_step(8, 8, 4096, 64, 1);
    bench_step(32, 8, 4096, 128, 1);
    bench_step(8, 8, 1024, 64, 1024);
    bench_step(32, 8, 1024, 128, 1024);

    printf("\nattn_mha: speed relative to four products and attn_sdpa, and to PyTorch\n");
    printf("heads  length  size      parts    PyTorch\n");
    bench_layer(8, 64, 64);
    bench_layer(8, 512, 64);
    bench_layer(16, 1024, 64);
    stop_torch();
    return 0;
}
