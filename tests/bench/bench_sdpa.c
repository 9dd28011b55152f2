/* How fast attn_sdpa is, as ratios against limits and peers of the same run:

   - the peak: fused multiply-adds alone, with the same vectors on the same core;
   - for few queries, the read: all keys and values once, with as many streams as are fastest;
   - the plain call: f32, packed, every key seen, for what options, types and layouts cost;
   - for products of bf16, the same call by the instruction set that they extend;
   - for few queries, the loop that everybody writes;
   - unfused attention, as one would write it for speed: for each block of 128 queries a matrix product of OpenBLAS or
     oneDNN, a vectorised softmax in place, another product, without the keys that the causal rule hides from the whole
     block. Few queries of all heads that share keys make one block.

   Half of the work counts where causal hides half of the keys, visible pairs of query and key alone where fewer are
   seen.
   bench_query has one query beside the plain loop, and from memory. A call whose result is wrong stops the benchmark.
   The bars are for AVX-512, those of AVX512BF16 for Zen 5. */
#define _GNU_SOURCE
#include <math.h>
#include <sys/resource.h>
#include "library.h"
#include "bench.h"
#include "peer.h"

/* ==== One attention =============================================================================================== */

/* What it asks for. */
typedef enum option {
    PLAIN,
    CAUSAL,
    WINDOW,
    LENGTHS,
    SOFTCAP,
    BIAS,
    ALIBI,
    SINKS,
    MASK,
    WEIGHTS, /* these three: causal, and more outputs */
    SCORES,
    WEIGHTS_AND_SCORES
} option;

/* [B][H][L][D], [B][L][H][D], or q, k, v in one array of [B][L][3][H][D]. */
typedef enum layout { PACKED, BLHD, INTERLEAVED } layout;

/* A call. */
typedef struct workload {
    size_t heads, kv_heads, queries, keys, size;
    attn_dtype dtype, kv_dtype; /* of q and out; of k and v: I8 is a cache, for attn_kv_cache_attend */
    option option;
    layout layout;
    attn_isa isa;
} workload;

#define ONE_QUERY(h, kv, l, d) .heads = h, .kv_heads = kv, .queries = 1, .keys = l, .size = d
#define CACHE(t) ONE_QUERY(32, 8, 32768, 128), .kv_dtype = ATTN_##t
#define NEWEST(n, h, kv) .heads = h, .kv_heads = kv, .queries = n, .keys = 8192, .size = 128, .option = CAUSAL
#define GROUPS(h, kv, l, d) .heads = h, .kv_heads = kv, .queries = l, .keys = l, .size = d
#define SQUARE(h, l, d) GROUPS(h, h, l, d)
#define TYPE(t) .dtype = t, .kv_dtype = t
#define PAIRS TYPE(ATTN_BF16), .isa = ATTN_ISA_AVX512BF16

/* The same with its arguments. */
typedef struct attention {
    workload workload;
    attn_tensor out, q, k, v;
    attn_kv_cache cache;
    attn_opts opts;
    attn_ctx ctx;
    double pairs;   /* of a query and a key that it sees, in all heads and items */
    void *owned[8]; /* what free_attention frees */
    size_t owns;
    float *scores[2]; /* of unfused attention: the scores of a query block, for each thread */
} attention;

enum { QUERY_BLOCK = 128, WINDOW_SIZE = 512, ITEMS = 4 };

static attn_parallel two_threads; /* the library's pool */

/* The work: two products of one multiplication and one addition for each pair and each number of a key and a value. */
static double flop(const attention *a)
{
    return 4 * a->pairs * (double)a->workload.size;
}

static void *own(attention *a, void *p)
{
    require(a->owns < sizeof a->owned / sizeof a->owned[0], "room for arguments");
    return a->owned[a->owns++] = p;
}

/* So many random numbers. */
static void *random_array(attention *a, attn_dtype dtype, size_t count)
{
    attn_mat m = bench_matrix(dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32, 1, count), copy;
    if (dtype == m.dtype)
        return own(a, m.data);
    copy = attn_mat_of(bench_alloc(count * 2), dtype, 1, count);
    require(attn_mat_copy(copy, m) == ATTN_OK, "attn_mat_copy");
    free(m.data);
    return own(a, copy.data);
}

static attn_tensor random_tensor(attention *a, attn_dtype dtype, size_t heads, size_t len)
{
    size_t items = a->workload.option == LENGTHS ? ITEMS : 1, size = a->workload.size;
    void *data = random_array(a, dtype, items * heads * len * size);
    return a->workload.layout == PACKED ? attn_bhld(data, dtype, items, heads, len, size)
                                        : attn_blhd(data, dtype, items, len, heads, size);
}

/* The n-th of q, k, v in one array. */
static attn_tensor interleaved(const workload *w, float *data, size_t n)
{
    ptrdiff_t row = (ptrdiff_t)(3 * w->heads * w->size);
    return attn_tensor_of(data + n * w->heads * w->size, ATTN_F32, 1, w->heads, w->queries, w->size,
                          (ptrdiff_t)w->queries * row, (ptrdiff_t)w->size, row, 1);
}

/* As large as the scores. */
static attn_tensor random_scores(attention *a)
{
    const workload *w = &a->workload;
    return attn_bhld(random_array(a, ATTN_F32, w->heads * w->queries * w->keys), ATTN_F32, 1, w->heads, w->queries,
                     w->keys);
}

/* Sets one option. Every one but those on visibility leaves all keys visible, for the time of dense work. */
static void set_option(attention *a)
{
    static const size_t lengths[ITEMS] = {2048, 1531, 1022, 515};
    const workload *w = &a->workload;
    size_t n, pairs;
    float *numbers;
    unsigned char *mask;

    a->pairs = (double)w->heads * (double)w->queries * (double)w->keys;
    switch (w->option) {
    case PLAIN: break;
    case WEIGHTS:
    case SCORES:
    case WEIGHTS_AND_SCORES:
        if (w->option != SCORES)
            a->opts.weights = random_scores(a);
        if (w->option != WEIGHTS)
            a->opts.scores = random_scores(a);
        /* fall through */
    case CAUSAL:
        a->opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
        a->pairs -= (double)w->heads * (double)w->queries * (double)w->queries / 2;
        break;
    case WINDOW:
        a->opts.causal = ATTN_CAUSAL_UPPER_LEFT;
        a->opts.window.on = 1;
        a->opts.window.left = WINDOW_SIZE - 1;
        pairs = WINDOW_SIZE * (WINDOW_SIZE + 1) / 2 + (w->queries - WINDOW_SIZE) * WINDOW_SIZE;
        a->pairs = (double)w->heads * (double)pairs;
        break;
    case LENGTHS:
        a->opts.q_lens = a->opts.kv_lens = lengths;
        for (n = 0, pairs = 0; n < ITEMS; n++)
            pairs += lengths[n] * lengths[n];
        a->pairs = (double)w->heads * (double)pairs;
        break;
    case SOFTCAP: a->opts.softcap = 50; break;
    case BIAS: a->opts.bias = random_scores(a); break;
    case ALIBI:
        numbers = (float *)own(a, bench_alloc(w->heads * sizeof(float)));
        require(attn_alibi_slopes(numbers, w->heads) == ATTN_OK, "attn_alibi_slopes");
        a->opts.alibi_slopes = numbers;
        break;
    case SINKS: a->opts.sinks = (float *)random_array(a, ATTN_F32, w->heads); break;
    case MASK: /* one key in ten is hidden, anywhere */
        mask = (unsigned char *)own(a, bench_alloc(w->queries * w->keys));
        for (n = 0; n < w->queries * w->keys; n++)
            mask[n] = random_below(10) > 0;
        a->opts.mask = attn_bhld(mask, ATTN_BOOL, 1, 1, w->queries, w->keys);
        break;
    }
}

static attention new_attention(const workload *w)
{
    attention a;
    attn_dtype kv = w->kv_dtype == ATTN_I8 ? ATTN_F32 : w->kv_dtype;
    size_t n;

    memset(&a, 0, sizeof a);
    a.workload = *w;
    a.ctx.isa = w->isa;
    if (w->layout == INTERLEAVED) {
        float *data = (float *)random_array(&a, ATTN_F32, 3 * w->heads * w->queries * w->size);
        a.q = interleaved(w, data, 0);
        a.k = interleaved(w, data, 1);
        a.v = interleaved(w, data, 2);
    } else {
        a.q = random_tensor(&a, w->dtype, w->heads, w->queries);
        a.k = random_tensor(&a, kv, w->kv_heads, w->keys);
        a.v = random_tensor(&a, kv, w->kv_heads, w->keys);
    }
    a.out = random_tensor(&a, w->dtype, w->heads, w->queries);
    set_option(&a);
    if (w->kv_dtype == ATTN_I8)
        require(attn_kv_cache_init(&a.cache, 1, w->kv_heads, w->keys, w->size, w->size, ATTN_I8, 0, NULL, 0) ==
                        ATTN_OK &&
                    attn_kv_cache_append(&a.cache, a.k, a.v, NULL) == ATTN_OK,
                "attn_kv_cache_append");
    for (n = 0; n < 2; n++)
        a.scores[n] = (float *)own(&a, bench_alloc(QUERY_BLOCK * w->keys * sizeof(float)));
    return a;
}

static void free_attention(attention *a)
{
    attn_kv_cache_free(&a->cache);
    while (a->owns > 0)
        free(a->owned[--a->owns]);
}

static void run_sdpa(void *arg)
{
    attention *a = (attention *)arg;
    attn_status status = a->workload.kv_dtype == ATTN_I8
                             ? attn_kv_cache_attend(a->out, a->q, &a->cache, &a->opts, &a->ctx)
                             : attn_sdpa(a->out, a->q, a->k, a->v, &a->opts, &a->ctx);
    require(status == ATTN_OK, attn_status_string(status));
}

/* ---- is it right? ---- */

/* One head and the query of it that is looked at. */
typedef struct place {
    size_t b, h, i;
    attn_mat out, q, k, v;
} place;

static double option_at(attn_tensor t, const place *p, size_t j)
{
    return attn_mat_get(attn_head(t, t.batch > 1 ? p->b : 0, t.heads > 1 ? p->h : 0), p->i, j);
}

/* exp of the score of key j; 0: the query does not see it. Scores are small here. */
static double weight(const attn_opts *o, const place *p, size_t j)
{
    size_t d;
    double s = 0;

    if ((o->causal && j + p->q.rows > p->i + p->k.rows) || (o->window.on && j + WINDOW_SIZE <= p->i) ||
        (o->kv_lens && j >= o->kv_lens[p->b]) || (o->mask.data && option_at(o->mask, p, j) == 0))
        return 0;
    for (d = 0; d < p->q.cols; d++)
        s += attn_mat_get(p->q, p->i, d) * attn_mat_get(p->k, j, d);
    s /= sqrt((double)p->q.cols);
    if (o->softcap > 0)
        s = o->softcap * tanh(s / o->softcap);
    if (o->bias.data)
        s += option_at(o->bias, p, j);
    if (o->alibi_slopes)
        s -= o->alibi_slopes[p->h] * fabs((double)p->i - (double)j);
    return exp(s);
}

static double tolerance_of(const workload *w)
{
    attn_dtype coarsest = w->dtype == ATTN_F32 ? w->kv_dtype : w->dtype;
    switch (coarsest) {
    case ATTN_F64: return 1e-13;
    case ATTN_F32: return 1e-5;
    case ATTN_F16: return 1e-3;
    default: return 1e-2;
    }
}

/* The first, a middle and the last row, in plain double precision. */
static void check_attention(const attention *a, const char *who)
{
    double *weights = (double *)bench_alloc(a->k.len * sizeof(double));
    size_t n, j, d;
    for (n = 0; n < 3; n++) {
        place p;
        double sum;
        p.b = n * (a->q.batch - 1) / 2;
        p.h = n * (a->q.heads - 1) / 2;
        p.i = n * ((a->opts.q_lens ? a->opts.q_lens[p.b] : a->q.len) - 1) / 2;
        p.out = attn_head(a->out, p.b, p.h);
        p.q = attn_head(a->q, p.b, p.h);
        p.k = attn_head(a->k, p.b, p.h / (a->q.heads / a->k.heads));
        p.v = attn_head(a->v, p.b, p.h / (a->q.heads / a->k.heads));
        sum = a->opts.sinks ? exp((double)a->opts.sinks[p.h]) : 0;
        for (j = 0; j < p.k.rows; j++)
            sum += weights[j] = weight(&a->opts, &p, j);
        for (d = 0; d < p.v.cols; d++) {
            double mean = 0;
            for (j = 0; j < p.k.rows; j++)
                if (weights[j] > 0)
                    mean += weights[j] / sum * attn_mat_get(p.v, j, d);
            if (sum > 0 && !(fabs(mean - attn_mat_get(p.out, p.i, d)) <= tolerance_of(&a->workload))) {
                fflush(stdout);
                fprintf(stderr, "bench: %s: wrong attention\n", who);
                exit(1);
            }
        }
    }
    free(weights);
}

/* Runs, and checks what that has written. */
static void try_out(void (*run)(void *arg), void *arg, const attention *a, const char *who)
{
    size_t bytes = a->workload.dtype == ATTN_F64 ? 8 : a->workload.dtype == ATTN_F32 ? 4 : 2;
    memset(a->out.data, 0xff, a->out.batch * a->out.heads * a->out.len * a->out.dim * bytes); /* NaN */
    run(arg);
    check_attention(a, who);
}

/* ==== Peers ======================================================================================================= */

typedef int (*dnnl_sgemm_fn)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                             int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
static dnnl_sgemm_fn dnnl_sgemm;

static void load_onednn(void)
{
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.2"};
    void *library = NULL, *function;
    size_t i;
    setenv("OMP_NUM_THREADS", "1", 1);
    for (i = 0; i < 2 && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    function = library ? dlsym(library, "dnnl_sgemm") : NULL;
    memcpy(&dnnl_sgemm, &function, sizeof function);
    if (!function)
        printf("oneDNN not found, skipped.\n");
}

/* C = alpha A B, or alpha A B^T where `trans`; all packed, row-major: m x k, k x n or n x k, m x n. */
typedef void (*product_fn)(int trans, size_t m, size_t n, size_t k, float alpha, const float *a, const float *b,
                           float *c);

static void openblas_product(int trans, size_t m, size_t n, size_t k, float alpha, const float *a, const float *b,
                             float *c)
{
    int rows = (int)m, cols = (int)n, inner = (int)k;
    if (m == 1)
        sgemv(ROW_MAJOR, trans ? NO_TRANS : TRANS, trans ? cols : inner, trans ? inner : cols, alpha, b,
              trans ? inner : cols, a, 1, 0, c, 1);
    else
        sgemm(ROW_MAJOR, NO_TRANS, trans ? TRANS : NO_TRANS, rows, cols, inner, alpha, a, inner, b,
              trans ? inner : cols, 0, c, cols);
}

static void onednn_product(int trans, size_t m, size_t n, size_t k, float alpha, const float *a, const float *b,
                           float *c)
{
    int64_t rows = (int64_t)m, cols = (int64_t)n, inner = (int64_t)k;
    dnnl_sgemm('N', trans ? 'T' : 'N', rows, cols, inner, alpha, a, inner, b, trans ? inner : cols, 0, c, cols);
}

typedef struct peer {
    const char *name;
    product_fn product;
} peer;

static peer peers[2];
static size_t peer_count;

static void load_peers(void)
{
    static const peer openblas = {"OpenBLAS", openblas_product}, onednn = {"oneDNN", onednn_product};
    load_openblas();
    load_onednn();
    if (sgemm && sgemv)
        peers[peer_count++] = openblas;
    if (dnnl_sgemm)
        peers[peer_count++] = onednn;
}

/* A peer at work. */
typedef struct unfused {
    const attention *of;
    product_fn product;
} unfused;

/* Few queries: those of all heads that share keys make one query block. */
static int is_stacked(const workload *w)
{
    return w->heads / w->kv_heads * w->queries <= QUERY_BLOCK;
}

static size_t blocks_of_a_head(const workload *w)
{
    return (w->queries + QUERY_BLOCK - 1) / QUERY_BLOCK;
}

static size_t query_block_count(const workload *w)
{
    return is_stacked(w) ? w->kv_heads : w->heads * blocks_of_a_head(w);
}

/* Query block number n: some queries of one head, or all of the heads that share keys. */
static void run_query_block(const unfused *s, size_t n, float *scores)
{
    const attention *a = s->of;
    const workload *w = &a->workload;
    size_t group = w->heads / w->kv_heads, size = w->size, each = blocks_of_a_head(w), seen = w->keys, i;
    size_t begin = is_stacked(w) ? 0 : n % each * QUERY_BLOCK, kv = is_stacked(w) ? n : n / each / group;
    size_t first = is_stacked(w) ? n * group * w->queries : n / each * w->queries + begin;
    size_t rows = is_stacked(w) ? group * w->queries : w->queries - begin;
    const float *k = (const float *)a->k.data + kv * w->keys * size;
    const float *v = (const float *)a->v.data + kv * w->keys * size;

    rows = rows < QUERY_BLOCK ? rows : QUERY_BLOCK;
    if (w->option == CAUSAL && !is_stacked(w))
        seen = w->keys - w->queries + begin + rows;
    s->product(1, rows, seen, size, (float)(1 / sqrt((double)size)), (const float *)a->q.data + first * size, k,
               scores);
    for (i = 0; i < rows; i++) {
        size_t row = w->option == CAUSAL ? w->keys - w->queries + (begin + i) % w->queries + 1 : seen;
        peer_softmax_in_place(scores + i * seen, row, best_vector_bytes());
        memset(scores + i * seen + row, 0, (seen - row) * sizeof(float));
    }
    s->product(0, rows, size, seen, 1, scores, v, (float *)a->out.data + first * size);
}

static void run_unfused(void *arg)
{
    const unfused *s = (const unfused *)arg;
    size_t n;
    for (n = 0; n < query_block_count(&s->of->workload); n++)
        run_query_block(s, n, s->of->scores[0]);
}

/* Every other query block. */
static void unfused_task(void *arg, size_t index)
{
    const unfused *s = (const unfused *)arg;
    size_t n;
    for (n = index; n < query_block_count(&s->of->workload); n += 2)
        run_query_block(s, n, s->of->scores[index]);
}

static void run_unfused_on_two(void *arg)
{
    two_threads.run(two_threads.user, 2, unfused_task, arg);
}

/* The loop that everybody writes, of a part of the heads. Two parts of one key/value head share it. */
static void loop_part(const attention *a, size_t part, size_t parts)
{
    const workload *w = &a->workload;
    size_t heads = w->heads / parts, kv_heads = w->kv_heads > 1 ? w->kv_heads / parts : 1, i;
    size_t kv = w->kv_heads > 1 ? part * kv_heads * (size_t)a->k.head_stride : 0;
    for (i = 0; i < w->queries; i++) {
        size_t row = (part * heads * w->queries + i) * w->size;
        size_t seen = w->option == CAUSAL ? w->keys - w->queries + i + 1 : w->keys;
        peer_attend((float *)a->out.data + row, (const float *)a->q.data + row, (const float *)a->k.data + kv,
                    (const float *)a->v.data + kv, a->scores[part], heads, kv_heads, seen, w->size,
                    w->queries * w->size, (size_t)a->k.head_stride, (size_t)a->k.len_stride);
    }
}

static void run_loop(void *arg)
{
    loop_part((const attention *)arg, 0, 1);
}

static void loop_task(void *arg, size_t index)
{
    loop_part((const attention *)arg, index, 2);
}

static void run_loop_on_two(void *arg)
{
    two_threads.run(two_threads.user, 2, loop_task, arg);
}

/* Keys and values. */
static reading reading_of(const attention *a, const attn_parallel *threads)
{
    const workload *w = &a->workload;
    reading r = {a->k.data, a->v.data, 0, 1, 0, NULL};
    r.bytes = w->kv_heads * w->keys * w->size * element_bytes(w->kv_dtype);
    r.threads = threads;
    if (w->kv_dtype == ATTN_I8) {
        r.x = a->cache.k.data;
        r.y = a->cache.v.data;
    }
    return best_reading(r);
}

/* ==== The table =================================================================================================== */

/* What the first figure of a row is relative to, and what the bar is then: the least or the most. */
typedef enum limit {
    LIMIT_PEAK,  /* share of the peak: the least */
    LIMIT_READ,  /* share of the fastest read: the least */
    LIMIT_SPEED, /* speed relative to the plain call: the least */
    LIMIT_TIME   /* time for each visible pair relative to the plain call: the most */
} limit;

/* What the figure for two threads is relative to. */
typedef enum two {
    TWO_NOT,
    TWO_ONE,   /* the same on one thread: the least */
    TWO_LIMIT, /* the limit on two threads */
    TWO_PEERS  /* that; and the peers run on two threads as well */
} two;

/* A bar of 0 is none. */
typedef struct row {
    const char *work;
    workload workload;
    limit limit;
    double bar;
    two two;
    double two_bar, peer_bar; /* peer_bar: speed relative to each peer, and so to the fastest */
    int quick;
    double loop_bar; /* speed relative to the plain loop, on one and on two threads; 0: it does not run */
} row;

static const char *const LIMITS[] = {"peak", "read", "f32 speed", "plain time"};
static const char *const UNITS[] = {"%", "%", "x", "x"};

static void print_start(const char *work, const char *shape, const char *against)
{
    printf("%-23s%-20s%-11s", work, shape, against);
}

/* The heading of a figure, or what stands for one that there is not. */
static void print_column(const char *text)
{
    printf("%8s %-14s", text, "");
}

static void print_peer_names(void)
{
    size_t i;
    for (i = 0; i < peer_count; i++)
        print_column(peers[i].name);
    printf("\n");
}

static attn_isa isa_of(attn_isa isa)
{
    size_t i;
    for (i = 0; i < ISA_COUNT && isa == ATTN_ISA_BEST; i++)
        if (attn_isa_available(ISAS[i]))
            isa = ISAS[i];
    return isa;
}

/* Who may run for a row: on one thread, then the same on two. */
enum {
    OURS,
    OURS_ON_TWO,
    LIMIT, /* but for the read */
    LIMIT_ON_TWO,
    READ,
    READ_ON_TWO,
    LOOP,
    LOOP_ON_TWO,
    AVX512, /* beside AVX512BF16 */
    AVX512_ON_TWO,
    PEERS,
    PEERS_ON_TWO = PEERS + 2,
    ALL = PEERS_ON_TWO + 2
};

typedef struct match {
    attention ours, on_two, plain, plain_on_two, avx512, avx512_on_two;
    peak peak;
    reading read, read_on_two;
    unfused unfused[2];
    contestant c[ALL]; /* those who race stand first, and `at` says where */
    size_t count, at[ALL];
    char shape[48];
} match;

static void enter(match *m, size_t who, void (*run)(void *arg), void *arg, double work, int wall)
{
    contestant *c = &m->c[m->count];
    m->at[who] = m->count++;
    c->run = run;
    c->arg = arg;
    c->work = work;
    c->wall = wall;
}

static const contestant *who(const match *m, size_t n)
{
    return &m->c[m->at[n]];
}

static int races(const match *m, size_t n)
{
    return n == OURS || m->at[n] > 0;
}

static int has_plain(const row *r)
{
    return r->limit != LIMIT_PEAK && r->limit != LIMIT_READ;
}

static int has_peers(const row *r)
{
    const workload *w = &r->workload;
    return !has_plain(r) && w->dtype == ATTN_F32 && w->kv_dtype == ATTN_F32 && w->isa == ATTN_ISA_BEST;
}

/* Every row of few queries is a matter of reading, whatever else it is about. */
static int has_read(const row *r)
{
    return r->limit == LIMIT_READ || r->workload.queries == 1;
}

static int is_of_bf16(const row *r)
{
    return r->workload.isa == ATTN_ISA_AVX512BF16;
}

/* What speed is relative to differs in its type alone. */
static workload plain_workload(const row *r)
{
    workload plain = r->workload;
    plain.dtype = plain.kv_dtype = ATTN_F32;
    if (r->limit != LIMIT_SPEED)
        plain.option = plain.option < WEIGHTS ? PLAIN : CAUSAL;
    plain.layout = PACKED;
    if (is_of_bf16(r))
        plain.isa = ATTN_ISA_AVX512;
    return plain;
}

static void shape_of(char *text, size_t size, const workload *w)
{
    if (w->heads == w->kv_heads)
        snprintf(text, size, "%d x %d x %d", (int)w->heads, (int)w->keys, (int)w->size);
    else
        snprintf(text, size, "%d/%d x %d x %d", (int)w->heads, (int)w->kv_heads, (int)w->keys, (int)w->size);
}

static void set_up(match *m, const row *r)
{
    workload plain = plain_workload(r);
    double work;
    size_t i;

    memset(m, 0, sizeof *m);
    shape_of(m->shape, sizeof m->shape, &r->workload);
    m->ours = new_attention(&r->workload);
    m->on_two = m->ours;
    m->on_two.ctx.parallel = two_threads;
    work = flop(&m->ours);
    try_out(run_sdpa, &m->on_two, &m->ours, "two threads");
    try_out(run_sdpa, &m->ours, &m->ours, "one thread");
    enter(m, OURS, run_sdpa, &m->ours, work, 0);
    if (r->two != TWO_NOT)
        enter(m, OURS_ON_TWO, run_sdpa, &m->on_two, work, 1);

    if (r->limit == LIMIT_PEAK) {
        m->peak.isa = isa_of(r->workload.isa);
        m->peak.dtype = r->workload.dtype;
        if (lanes_of(m->peak.isa, m->peak.dtype) > 0)
            enter(m, LIMIT, run_peak, &m->peak, peak_work(&m->peak), 0);
    } else if (has_plain(r)) {
        m->plain = new_attention(&plain);
        m->plain_on_two = m->plain;
        m->plain_on_two.ctx.parallel = two_threads;
        enter(m, LIMIT, run_sdpa, &m->plain, flop(&m->plain), 0);
        if (r->two == TWO_LIMIT)
            enter(m, LIMIT_ON_TWO, run_sdpa, &m->plain_on_two, flop(&m->plain), 1);
    }
    if (has_read(r)) {
        m->read = reading_of(&m->ours, NULL);
        m->read_on_two = reading_of(&m->ours, &two_threads);
        enter(m, READ, run_read, &m->read, work, 0);
        enter(m, READ_ON_TWO, run_read, &m->read_on_two, work, 1);
    }
    if (r->loop_bar > 0) {
        try_out(run_loop_on_two, &m->ours, &m->ours, "the plain loop on two threads");
        try_out(run_loop, &m->ours, &m->ours, "the plain loop");
        enter(m, LOOP, run_loop, &m->ours, work, 0);
        enter(m, LOOP_ON_TWO, run_loop_on_two, &m->ours, work, 1);
    }
    if (is_of_bf16(r)) {
        m->avx512 = m->ours;
        m->avx512_on_two = m->on_two;
        m->avx512.ctx.isa = m->avx512_on_two.ctx.isa = ATTN_ISA_AVX512;
        try_out(run_sdpa, &m->avx512, &m->ours, "avx512");
        enter(m, AVX512, run_sdpa, &m->avx512, work, 0);
        enter(m, AVX512_ON_TWO, run_sdpa, &m->avx512_on_two, work, 1);
    }

    for (i = 0; i < peer_count && has_peers(r); i++) {
        m->unfused[i].of = &m->ours;
        m->unfused[i].product = peers[i].product;
        try_out(run_unfused, &m->unfused[i], &m->ours, peers[i].name);
        enter(m, PEERS + i, run_unfused, &m->unfused[i], work, 0);
        if (r->two == TWO_PEERS)
            enter(m, PEERS_ON_TWO + i, run_unfused_on_two, &m->unfused[i], work, 1);
    }
}

/* One of ours beside another contestant. */
static void print_beside(const match *m, const row *r, size_t ours, size_t other, const char *against, const char *unit,
                         double bar)
{
    figure f = {ours == OURS ? "1 thread" : "2 threads", against, unit, 0, bar, 0};
    if (!races(m, ours) || !races(m, other)) {
        print_column("-");
        return;
    }
    f.most = r->limit == LIMIT_TIME && (other == LIMIT || other == LIMIT_ON_TWO);
    f.value = ratio(who(m, ours), who(m, other));
    f.value = f.most ? 1 / f.value : f.value;
    print_figure(r->work, m->shape, &f);
}

/* Both of ours beside a contestant on one thread and, the next one, on two. */
static void print_both(const match *m, const row *r, size_t other, const char *against, const char *unit, double bar,
                       double two_bar)
{
    print_beside(m, r, OURS, other, against, unit, bar);
    print_beside(m, r, OURS_ON_TWO, other + 1, against, unit, two_bar);
}

static void print_peers(const match *m, const row *r, size_t ours, size_t first)
{
    size_t i;
    for (i = 0; i < peer_count && races(m, first + i); i++)
        print_beside(m, r, ours, first + i, peers[i].name, "x", r->peer_bar);
}

/* A line for each of the limit, the read, the plain loop, the other instruction set and the peers on two threads. */
static void print_row(const match *m, const row *r)
{
    size_t first = r->limit == LIMIT_READ ? READ : LIMIT;
    const char *against = LIMITS[r->limit], *unit = UNITS[r->limit];

    print_start(r->work, m->shape, against);
    if (r->two == TWO_ONE) {
        print_beside(m, r, OURS, first, against, unit, r->bar);
        print_beside(m, r, OURS_ON_TWO, OURS, "one thread", "x", r->two_bar);
    } else
        print_both(m, r, first, against, unit, r->bar, r->two_bar);
    print_peers(m, r, OURS, PEERS);
    if (has_read(r) && first != READ) {
        printf("\n");
        print_start("", "", "read");
        print_both(m, r, READ, "read", "%", 0, 0);
    }
    if (r->loop_bar > 0) {
        printf("\n");
        print_start("", "", "plain loop");
        print_both(m, r, LOOP, "plain loop", "x", r->loop_bar, r->loop_bar);
    }
    if (is_of_bf16(r)) {
        printf("\n");
        print_start("", "", "AVX512");
        print_both(m, r, AVX512, "AVX512", "x", 0, 0);
    }
    if (r->two == TWO_PEERS && peer_count > 0) {
        printf("\n");
        print_start("", "", "peers on 2");
        print_column("");
        print_column("");
        print_peers(m, r, OURS_ON_TWO, PEERS_ON_TWO);
    }
    printf("\n");
    fflush(stdout);
}

static void bench_row(const row *of_table)
{
    row copy = *of_table, *r = &copy;
    match m;
    if (!attn_isa_available(r->workload.isa))
        return;
    if (r->workload.dtype == ATTN_BF16 && r->limit == LIMIT_SPEED && !is_zen5()) /* whose bars these are */
        r->bar = r->two_bar = 0;
    set_up(&m, r);
    race(m.c, m.count);
    print_row(&m, r);
    free_attention(&m.ours);
    if (has_plain(r))
        free_attention(&m.plain);
}

/* ==== What is not a ratio ========================================================================================= */

/* One call of almost nothing: what it allocates, and whether it troubles other threads. */

static size_t runs;

static void counting_run(void *user, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    size_t i;
    (void)user;
    runs++;
    for (i = 0; i < count; i++)
        task(arg, i);
}

static void bench_overhead(void)
{
    static const row r = {.work = "one call", .workload = {SQUARE(1, 3, 3)}};
    size_t allocations;
    match m;

    printf("\nOne call: speed relative to the plain loop and to peers\n");
    print_start("work", "heads x keys x size", "");
    print_column("loop");
    print_peer_names();

    set_up(&m, &r);
    m.ours.ctx.parallel.run = counting_run;
    m.ours.ctx.parallel.width = 2;
    runs = 0;
    allocations = bench_allocations;
    run_sdpa(&m.ours);
    allocations = bench_allocations - allocations;
    try_out(run_loop, &m.ours, &m.ours, "the plain loop");
    enter(&m, LOOP, run_loop, &m.ours, flop(&m.ours), 0);
    race(m.c, m.count);
    print_start(r.work, m.shape, "");
    print_beside(&m, &r, OURS, LOOP, "plain loop", "x", 0);
    print_peers(&m, &r, OURS, PEERS);
    printf("%d allocations, %d runs of threads: %s\n", (int)allocations, (int)runs,
           verdict(allocations == 0 && runs == 0));
    free_attention(&m.ours);
}

typedef struct merge {
    attn_tensor out, lse, out_b, lse_b;
    attn_ctx ctx;
} merge;

enum { MERGED = 512, MERGED_SIZE = 64 }; /* rows; numbers in one */

static void run_merge(void *arg)
{
    const merge *m = (const merge *)arg;
    require(attn_merge_ctx(m->out, m->lse, m->out_b, m->lse_b, &m->ctx) == ATTN_OK, "attn_merge_ctx");
}

static void run_merge_loop(void *arg)
{
    const merge *m = (const merge *)arg;
    peer_merge((float *)m->out.data, (float *)m->lse.data, (const float *)m->out_b.data, (const float *)m->lse_b.data,
               MERGED, MERGED_SIZE);
}

/* Random numbers, or those of `from`. */
static attn_tensor merged(attn_dtype dtype, size_t size, const attn_tensor *from)
{
    attn_mat m = attn_mat_of(bench_alloc(MERGED * size * sizeof(double)), dtype, MERGED, size);
    attn_mat numbers = from ? attn_head(*from, 0, 0) : bench_matrix(ATTN_F32, MERGED, size);
    require(attn_mat_copy(m, numbers) == ATTN_OK, "attn_mat_copy");
    if (!from)
        free(numbers.data);
    return attn_bhld(m.data, dtype, 1, 1, MERGED, size);
}

static merge new_merge(attn_dtype dtype, const merge *from)
{
    attn_dtype of_lse = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    merge m;
    memset(&m, 0, sizeof m);
    m.out = merged(dtype, MERGED_SIZE, from ? &from->out : NULL);
    m.lse = merged(of_lse, 1, from ? &from->lse : NULL);
    m.out_b = merged(dtype, MERGED_SIZE, from ? &from->out_b : NULL);
    m.lse_b = merged(of_lse, 1, from ? &from->lse_b : NULL);
    return m;
}

static void free_merge(merge *m)
{
    free(m->out.data);
    free(m->lse.data);
    free(m->out_b.data);
    free(m->lse_b.data);
}

/* Merges again and again: out stays between its two sides, and lse grows as the logarithm of how often. The loop
   merges the same numbers in f32. */
static void bench_merge(attn_dtype dtype, const char *work, double bar, double tolerance)
{
    figure ns = {"1 thread", "an element", "ns", 0, bar, 1}, two_ns = {"2 threads", "an element", "ns", 0, bar, 1};
    figure loop = {"1 thread", "plain loop", "x", 0, 0, 0};
    merge of_loop = new_merge(ATTN_F32, NULL), ours = new_merge(dtype, &of_loop), on_two = ours;
    contestant c[3];
    size_t i;

    on_two.ctx.parallel = two_threads;
    run_merge_loop(&of_loop);
    run_merge(&ours);
    for (i = 0; i < MERGED * MERGED_SIZE; i++) {
        size_t r = i / MERGED_SIZE, d = i % MERGED_SIZE;
        require(fabs(attn_mat_get(attn_head(ours.out, 0, 0), r, d) -
                     attn_mat_get(attn_head(of_loop.out, 0, 0), r, d)) <= tolerance,
                "merging as the loop does");
    }
    memset(c, 0, sizeof c);
    for (i = 0; i < 3; i++) {
        c[i].run = i == 2 ? run_merge_loop : run_merge;
        c[i].arg = i == 2 ? &of_loop : i == 1 ? &on_two : &ours;
        c[i].work = 1;
        c[i].wall = i == 1;
    }
    race(c, 3);
    ns.value = 1e9 * median(c[0].seconds[CPU]) / (MERGED * MERGED_SIZE);
    two_ns.value = 1e9 * median(c[1].seconds[WALL]) / (MERGED * MERGED_SIZE);
    loop.value = ratio(&c[0], &c[2]);
    print_start(work, "512 x 64", "");
    print_figure(work, "512 x 64", &ns);
    print_figure(work, "512 x 64", &two_ns);
    if (dtype == ATTN_F32)
        print_figure(work, "512 x 64", &loop);
    printf("\n");
    free_merge(&ours);
    free_merge(&of_loop);
}

static void bench_merges(void)
{
    printf("\nattn_merge: time of an element of out; speed relative to the plain loop\n");
    print_start("out", "rows x size", "");
    print_column("1 thread");
    print_column("2 threads");
    print_column("loop");
    printf("\n");
    bench_merge(ATTN_F32, "attn_merge f32", 0.14, 1e-6);
    bench_merge(ATTN_F16, "attn_merge f16", 0, 1e-3);
    bench_merge(ATTN_BF16, "attn_merge bf16", 0, 1e-2);
    bench_merge(ATTN_F64, "attn_merge f64", 0, 1e-6);
}

/* One call at length 32768, on two threads: what the library takes beside inputs and output. */
static void bench_memory(void)
{
    static const workload w = {SQUARE(2, 32768, 64)};
    figure high = {"a thread", "allocated", "MiB", 0, 4, 1}, scratch = {"a thread", "scratch", "MiB", 0, 4, 1};
    attention a = new_attention(&w);
    attn_dry_run dry = {0};
    size_t before = bench_allocated;

    a.ctx.parallel = two_threads;
    a.ctx.dry_run = &dry;
    require(attn_sdpa(a.out, a.q, a.k, a.v, &a.opts, &a.ctx) == ATTN_OK, "attn_sdpa, dry");
    a.ctx.dry_run = NULL;
    bench_allocated_most = bench_allocated;
    try_out(run_sdpa, &a, &a, "length 32768");
    high.value = (double)(bench_allocated_most - before) / 2 / (1 << 20);
    scratch.value = (double)dry.scratch / 2 / (1 << 20);
    printf("\nMemory of one call, for each thread: what it allocated; what a dry run tells\n");
    print_start("work", "heads x keys x size", "");
    print_column("at most");
    print_column("scratch");
    printf("\n");
    print_start("memory", "2 x 32768 x 64", "");
    print_figure("memory", "2 x 32768 x 64", &high);
    print_figure("memory", "2 x 32768 x 64", &scratch);
    printf("\n");
    free_attention(&a);
}

/* Compiles the implementation with the command in the environment, which makes the object file named there. */
static void bench_compiler(void)
{
    figure seconds = {"compile time", "-O2", "s", 0, 6, 1}, text = {"text", "-O2", "KB", 0, 260, 1};
    const char *command = getenv("ATTN_BENCH_COMPILE"), *object = getenv("ATTN_BENCH_OBJECT");
    char size[256];
    struct rusage before, after;
    FILE *pipe;

    if (is_quick() || !command || !object)
        return;
    getrusage(RUSAGE_CHILDREN, &before);
    require(system(command) == 0, command);
    getrusage(RUSAGE_CHILDREN, &after);
    seconds.value = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                    1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec);
    snprintf(size, sizeof size, "size '%s' | awk 'NR == 2 { print $1 / 1000 }'", object);
    pipe = popen(size, "r");
    require(pipe && fscanf(pipe, "%lf", &text.value) == 1, size);
    pclose(pipe);
    printf("\nThe implementation, compiled with -O2\n");
    print_start("", "", "");
    print_column("time");
    print_column("text");
    printf("\n");
    print_start("implementation", "", "");
    print_figure("implementation", "", &seconds);
    print_figure("implementation", "", &text);
    printf("\n");
}

/* ==== The rows ==================================================================================================== */

static const row rows[] = {
    {"prefill", {SQUARE(8, 512, 64)}, .limit = LIMIT_PEAK, 0.82, TWO_ONE, 1.92, 1.1, 1},
    {"prefill", {SQUARE(8, 1024, 64)}, .limit = LIMIT_PEAK, 0.85, TWO_ONE, 1.92, 1.1, 1},
    {"prefill", {SQUARE(8, 2048, 64)}, .limit = LIMIT_PEAK, 0, TWO_ONE, 1.92, 1.1, 0},
    {"prefill", {SQUARE(8, 4096, 64)}, .limit = LIMIT_PEAK, 0.88, TWO_ONE, 1.92, 1.1, 0},
    {"prefill", {SQUARE(8, 1024, 128)}, .limit = LIMIT_PEAK, 0.88, TWO_ONE, 1.92, 1.1, 0},
    {"prefill", {SQUARE(8, 2048, 128)}, .limit = LIMIT_PEAK, 0.90, TWO_ONE, 1.92, 1.1, 0},
    {"causal", {SQUARE(12, 128, 64), .option = CAUSAL}, .limit = LIMIT_PEAK, 0, TWO_ONE, 0, 1.3, 0},
    {"causal", {SQUARE(8, 512, 64), .option = CAUSAL}, .limit = LIMIT_PEAK, 0.72, TWO_ONE, 1.9, 1.3, 1},
    {"causal", {SQUARE(8, 1024, 64), .option = CAUSAL}, .limit = LIMIT_PEAK, 0.77, TWO_ONE, 1.9, 1.3, 1},
    {"causal", {SQUARE(8, 2048, 64), .option = CAUSAL}, .limit = LIMIT_PEAK, 0.81, TWO_ONE, 1.9, 1.3, 0},
    {"causal", {SQUARE(8, 4096, 64), .option = CAUSAL}, .limit = LIMIT_PEAK, 0.81, TWO_ONE, 1.9, 1.3, 0},
    {"causal", {SQUARE(8, 1024, 128), .option = CAUSAL}, .limit = LIMIT_PEAK, 0, TWO_ONE, 1.9, 1.2, 0},
    {"causal", {SQUARE(8, 2048, 128), .option = CAUSAL}, .limit = LIMIT_PEAK, 0.85, TWO_ONE, 1.9, 1.2, 0},
    {"other sizes", {SQUARE(8, 1000, 40)}, .limit = LIMIT_PEAK, 0.70, TWO_ONE, 0, 1.1, 0},
    {"other sizes", {SQUARE(8, 1000, 72)}, .limit = LIMIT_PEAK, 0.75, TWO_ONE, 0, 1.1, 0},
    {"other sizes", {SQUARE(8, 1000, 80)}, .limit = LIMIT_PEAK, 0.75, TWO_ONE, 0, 1.1, 1},
    {"other sizes", {SQUARE(8, 1000, 96)}, .limit = LIMIT_PEAK, 0.78, TWO_ONE, 0, 1.1, 0},
    {"other sizes", {SQUARE(8, 1000, 256)}, .limit = LIMIT_PEAK, 0.80, TWO_ONE, 0, 1.1, 0},
    {"small", {SQUARE(12, 128, 64)}, .limit = LIMIT_PEAK, 0.76, TWO_ONE, 0, 1.1, 1},
    {"small", {SQUARE(8, 16, 64)}, .limit = LIMIT_PEAK, 0, TWO_ONE, 0, 1.5, 1},
    {"one query", {ONE_QUERY(32, 8, 4096, 128)}, .limit = LIMIT_READ, 0.95, TWO_PEERS, 0.95, 1.3, 1},
    {"one query", {ONE_QUERY(8, 8, 4096, 64)}, .limit = LIMIT_READ, 0.95, TWO_PEERS, 0.95, 1.3, 1},
    {"AVX2, one query", {CACHE(F32), .isa = ATTN_ISA_AVX2}, .limit = LIMIT_READ, 0.78, TWO_LIMIT, 0.78, 0, 0},
    {"AVX2, f16 keys", {CACHE(F16), .isa = ATTN_ISA_AVX2}, .limit = LIMIT_READ, 0.60, TWO_LIMIT, 0.60, 0, 0},
    {"AVX2, bf16 keys", {CACHE(BF16), .isa = ATTN_ISA_AVX2}, .limit = LIMIT_READ, 0.78, TWO_LIMIT, 0.78, 0, 0},
    {"AVX2, i8 keys", {CACHE(I8), .isa = ATTN_ISA_AVX2}, .limit = LIMIT_READ, 0, TWO_LIMIT, 0, 0, 0},
    {"2 queries", {NEWEST(2, 8, 1)}, .limit = LIMIT_READ, 0.75, TWO_LIMIT, 0.75, 0, 0, .loop_bar = 1},
    {"4 queries", {NEWEST(4, 8, 1)}, .limit = LIMIT_READ, 0.75, TWO_LIMIT, 0.75, 0, 1, .loop_bar = 1},
    {"8 queries", {NEWEST(8, 8, 1)}, .limit = LIMIT_READ, 0.75, TWO_LIMIT, 0.75, 0, 0, .loop_bar = 1},
    {"bf16", {SQUARE(8, 1024, 64), TYPE(ATTN_BF16)}, .limit = LIMIT_SPEED, 1.5, TWO_ONE, 0, 0, 1},
    {"f16", {SQUARE(8, 1024, 64), TYPE(ATTN_F16)}, .limit = LIMIT_SPEED, 0.95, TWO_ONE, 0, 0, 1},
    {"AVX512BF16", {SQUARE(8, 1024, 64), PAIRS}, .limit = LIMIT_SPEED, 1.6, TWO_LIMIT, 1.6, 0, 1},
    {"AVX512BF16", {SQUARE(8, 2048, 128), PAIRS}, .limit = LIMIT_SPEED, 1.7, TWO_LIMIT, 1.7, 0, 0},
    {"AVX512BF16, causal", {SQUARE(8, 1024, 64), PAIRS, .option = CAUSAL}, .limit = LIMIT_SPEED, 0, TWO_LIMIT},
    {"AVX512BF16, causal", {SQUARE(8, 2048, 128), PAIRS, .option = CAUSAL}, .limit = LIMIT_SPEED, 0, TWO_LIMIT},
    {"AVX512BF16, causal", {GROUPS(32, 8, 1024, 128), PAIRS, .option = CAUSAL}, .limit = LIMIT_SPEED, 0, TWO_LIMIT},
    {"AVX512BF16, one query", {ONE_QUERY(8, 8, 1024, 64), PAIRS}, .limit = LIMIT_SPEED, 0, TWO_LIMIT, 0, 0, 1},
    {"AVX512BF16, one query", {ONE_QUERY(32, 8, 4096, 128), PAIRS}, .limit = LIMIT_SPEED, 0, TWO_LIMIT},
    {"f64", {SQUARE(8, 1024, 64), TYPE(ATTN_F64)}, .limit = LIMIT_PEAK, 0.82, TWO_ONE, 0, 0, 1},
    {"f64", {SQUARE(8, 1024, 128), TYPE(ATTN_F64)}, .limit = LIMIT_PEAK, 0.85, TWO_ONE, 0, 0, 0},
    {"AVX2", {SQUARE(8, 1024, 64), .isa = ATTN_ISA_AVX2}, .limit = LIMIT_PEAK, 0.82, TWO_ONE, 0, 0, 1},
    {"window of 512", {SQUARE(2, 8192, 64), .option = WINDOW}, .limit = LIMIT_TIME, 1.25, TWO_ONE, 0, 0, 0},
    {"lengths", {SQUARE(2, 2048, 64), .option = LENGTHS}, .limit = LIMIT_TIME, 1.25, TWO_ONE, 0, 0, 0},
    {"softcap", {SQUARE(8, 1024, 64), .option = SOFTCAP}, .limit = LIMIT_TIME, 1.25, TWO_NOT, 0, 0, 1},
    {"softcap", {SQUARE(8, 1024, 128), .option = SOFTCAP}, .limit = LIMIT_TIME, 1.15, TWO_NOT, 0, 0, 0},
    {"bias", {SQUARE(8, 1024, 64), .option = BIAS}, .limit = LIMIT_TIME, 1.12, TWO_NOT, 0, 0, 1},
    {"ALiBi", {SQUARE(8, 1024, 64), .option = ALIBI}, .limit = LIMIT_TIME, 1.10, TWO_NOT, 0, 0, 1},
    {"sinks", {SQUARE(8, 1024, 64), .option = SINKS}, .limit = LIMIT_TIME, 1.02, TWO_NOT, 0, 0, 1},
    {"bool mask", {SQUARE(8, 1024, 64), .option = MASK}, .limit = LIMIT_TIME, 1.15, TWO_NOT, 0, 0, 1},
    {"causal, weights", {SQUARE(8, 1024, 64), .option = WEIGHTS}, .limit = LIMIT_TIME, 1.5, TWO_NOT, 0, 0, 1},
    {"causal, scores", {SQUARE(8, 1024, 64), .option = SCORES}, .limit = LIMIT_TIME, 1.5, TWO_NOT, 0, 0, 1},
    {"causal, both", {SQUARE(8, 1024, 64), .option = WEIGHTS_AND_SCORES}, .limit = LIMIT_TIME, 1.8, TWO_NOT, 0, 0, 1},
    {"[B,L,H,D]", {SQUARE(8, 1024, 64), .layout = BLHD}, .limit = LIMIT_TIME, 1.03, TWO_NOT, 0, 0, 0},
    {"[B,L,3,H,D]", {SQUARE(8, 1024, 64), .layout = INTERLEAVED}, .limit = LIMIT_TIME, 1.04, TWO_NOT, 0, 0, 1},
};

int main(void)
{
    double load = 0;
    size_t i;

    require(attn_pool_new(&two_threads, 2) == ATTN_OK, "attn_pool_new");
    open_tsv();
    printf("attn_sdpa: ratios, medians of %d rounds in which the contestants take turns.\n", ROUNDS);
    if (getloadavg(&load, 1) == 1)
        printf("Load of the machine before: %.1f. Two threads want a core each.\n", load);
    load_peers();
    printf("\nSpeed, or for \"plain time\" the time, relative to what stands under \"against\".\n"
           "Two threads: for few queries and AVX512BF16 relative to that on two threads, for others to one.\n\n");
    print_start("work", "heads x keys x size", "against");
    print_column("1 thread");
    print_column("2 threads");
    print_peer_names();
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((rows[i].quick || !is_quick()) && is_wanted(rows[i].work))
            bench_row(&rows[i]);
    if (is_wanted("one call"))
        bench_overhead();
    if (is_wanted("attn_merge"))
        bench_merges();
    if (!is_quick() && is_wanted("memory"))
        bench_memory();
    if (is_wanted("implementation"))
        bench_compiler();
    print_bars();
    close_tsv();
    attn_pool_free(&two_threads);
    return 0;
}
