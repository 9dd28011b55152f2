/* How fast attn_sdpa is, as ratios against limits and peers of the same run:

   - the peak: fused multiply-adds alone, with the same vectors on the same core;
   - for few queries, the read: all keys and values once, with as many streams as are fastest;
   - the plain call: f32, packed, every key seen, for what options, types and layouts cost;
   - for one query of few keys, the loop that everybody writes;
   - unfused attention, as one would write it for speed: for each block of 128 queries a matrix product of OpenBLAS or
     oneDNN, a vectorised softmax in place, another product, without the keys that the causal rule hides from the whole
     block. Few queries of all heads that share keys make one block.

   Half of the work counts where causal hides half of the keys, visible pairs of query and key alone where fewer are
   seen.
   A call whose result is wrong stops the benchmark. The bars are for AVX-512. */
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
    BLOCKS,
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
#define QUERIES(n, h, kv, l, d) .heads = h, .kv_heads = kv, .queries = n, .keys = l, .size = d
#define SQUARE(h, l, d) .heads = h, .kv_heads = h, .queries = l, .keys = l, .size = d
#define TYPE(t) .dtype = t, .kv_dtype = t

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

enum { QUERY_BLOCK = 128, WINDOW_SIZE = 512, BLOCK = 128, ITEMS = 4 };

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

static uint32_t random_below(uint32_t end)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * end >> 32);
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

/* A mask for all heads of which a tenth of the aligned blocks is visible; returns how many pairs that is. */
static double random_blocks(unsigned char *mask, size_t length)
{
    size_t side = length / BLOCK, blocks = side * side, wanted = blocks / 10, n, row;
    for (n = 0; n < blocks; n++) { /* exactly so many: each block takes its chance of those that are left */
        if (random_below((uint32_t)(blocks - n)) >= wanted)
            continue;
        wanted--;
        for (row = 0; row < BLOCK; row++)
            memset(mask + (n / side * BLOCK + row) * length + n % side * BLOCK, 1, BLOCK);
    }
    return (double)(blocks / 10 * BLOCK * BLOCK);
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
    case BLOCKS:
        mask = (unsigned char *)own(a, bench_alloc(w->queries * w->keys));
        a->opts.mask = attn_bhld(mask, ATTN_BOOL, 1, 1, w->queries, w->keys);
        a->pairs = (double)w->heads * random_blocks(mask, w->queries);
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

/* The loop that everybody writes; of one query, or of the queries of one head. */
static void run_loop(void *arg)
{
    const attention *a = (const attention *)arg;
    const workload *w = &a->workload;
    size_t i;
    for (i = 0; i < w->queries; i++)
        peer_attend((float *)a->out.data + i * w->size, (const float *)a->q.data + i * w->size,
                    (const float *)a->k.data, (const float *)a->v.data, a->scores[0], w->heads, w->kv_heads, w->keys,
                    w->size, (size_t)a->k.head_stride, (size_t)a->k.len_stride);
}

/* Keys and values. */
static reading reading_of(const attention *a, const attn_parallel *threads)
{
    const workload *w = &a->workload;
    size_t bytes = w->kv_dtype == ATTN_F64 ? 8 : w->kv_dtype == ATTN_F32 ? 4 : w->kv_dtype == ATTN_I8 ? 1 : 2;
    reading r = {a->k.data, a->v.data, 0, 1, 0, NULL};
    r.bytes = w->kv_heads * w->keys * w->size * bytes;
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
    TWO_PEERS  /* the fastest peer on two threads: the least */
} two;

/* A bar of 0 is none. */
typedef struct row {
    const char *work;
    workload workload;
    limit limit;
    double bar;
    two two;
    double two_bar, peer_bar; /* peer_bar: speed relative to the fastest peer */
    int quick;
} row;

static const char *const LIMITS[] = {"peak", "read", "f32 speed", "plain time"};
static const char *const UNITS[] = {"%", "%", "x", "x"};

static void print_start(const char *work, const char *shape, const char *against)
{
    printf("%-16s%-20s%-11s", work, shape, against);
}

static attn_isa isa_of(attn_isa isa)
{
    size_t i;
    for (i = 0; i < ISA_COUNT && isa == ATTN_ISA_BEST; i++)
        if (attn_isa_available(ISAS[i]))
            isa = ISAS[i];
    return isa;
}

/* Who may run for a row. */
enum {
    OURS,
    OURS_ON_TWO,
    LIMIT, /* but for the read */
    LIMIT_ON_TWO,
    READ,
    READ_ON_TWO,
    LOOP,
    PEERS,
    PEERS_ON_TWO = PEERS + 2,
    ALL = PEERS_ON_TWO + 2
};

typedef struct match {
    attention ours, on_two, plain, plain_on_two;
    peak peak;
    reading read, read_on_two;
    unfused unfused[2];
    contestant c[ALL]; /* those who race stand first, and `at` says where */
    size_t count, at[ALL];
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

static workload plain_workload(const workload *w)
{
    workload plain = *w;
    plain.dtype = plain.kv_dtype = ATTN_F32;
    plain.option = w->option < WEIGHTS ? PLAIN : CAUSAL;
    plain.layout = PACKED;
    return plain;
}

static void set_up(match *m, const row *r)
{
    workload plain = plain_workload(&r->workload);
    double work;
    size_t i;

    memset(m, 0, sizeof *m);
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

    for (i = 0; i < peer_count && has_peers(r); i++) {
        m->unfused[i].of = &m->ours;
        m->unfused[i].product = peers[i].product;
        try_out(run_unfused, &m->unfused[i], &m->ours, peers[i].name);
        enter(m, PEERS + i, run_unfused, &m->unfused[i], work, 0);
        if (r->two == TWO_PEERS)
            enter(m, PEERS_ON_TWO + i, run_unfused_on_two, &m->unfused[i], work, 1);
    }
}

static void shape_of(char *text, size_t size, const workload *w)
{
    if (w->heads == w->kv_heads)
        snprintf(text, size, "%d x %d x %d", (int)w->heads, (int)w->keys, (int)w->size);
    else
        snprintf(text, size, "%d/%d x %d x %d", (int)w->heads, (int)w->kv_heads, (int)w->keys, (int)w->size);
}

static void print_two(const match *m, const row *r, const char *shape)
{
    figure f = {"2 threads", "one thread", "x", 1e30, r->two_bar, 0};
    double x;
    size_t i;

    if (r->two == TWO_ONE)
        f.value = ratio(who(m, OURS_ON_TWO), who(m, OURS));
    if (r->two == TWO_LIMIT) {
        f.value = ratio(who(m, OURS_ON_TWO), who(m, r->limit == LIMIT_READ ? READ_ON_TWO : LIMIT_ON_TWO));
        f.against = LIMITS[r->limit];
        f.unit = UNITS[r->limit];
        f.most = r->limit == LIMIT_TIME;
        f.value = f.most ? 1 / f.value : f.value;
    }
    for (i = 0; i < peer_count && r->two == TWO_PEERS; i++) {
        x = ratio(who(m, OURS_ON_TWO), who(m, PEERS_ON_TWO + i));
        f.value = x < f.value ? x : f.value;
        f.against = "fastest unfused";
    }
    if (r->two == TWO_NOT || f.value >= 1e30)
        printf("%8s %-14s", "-", "");
    else
        print_figure(r->work, shape, &f);
}

/* The shares of the read that are not among the figures before. */
static void print_read(const match *m, const row *r, const char *shape)
{
    figure one = {"1 thread", "read", "%", 0, 0, 0}, on_two = {"2 threads", "read", "%", 0, 0, 0};
    if (!has_read(r))
        return;
    printf("of the read");
    if (r->limit != LIMIT_READ) {
        one.value = ratio(who(m, OURS), who(m, READ));
        print_figure(r->work, shape, &one);
    }
    if (r->two != TWO_NOT && (r->limit != LIMIT_READ || r->two != TWO_LIMIT)) {
        on_two.value = ratio(who(m, OURS_ON_TWO), who(m, READ_ON_TWO));
        print_figure(r->work, shape, &on_two);
    }
}

/* Each peer has the bar to itself: the fastest is among them. */
static void print_peers(const match *m, const row *r, const char *shape)
{
    size_t i;
    for (i = 0; i < peer_count && races(m, PEERS + i); i++) {
        figure f = {"1 thread", "", "x", 0, r->peer_bar, 0};
        f.against = peers[i].name;
        f.value = ratio(who(m, OURS), who(m, PEERS + i));
        print_figure(r->work, shape, &f);
    }
}

static void print_row(const match *m, const row *r)
{
    figure f = {"1 thread", LIMITS[r->limit], UNITS[r->limit], 0, r->bar, r->limit == LIMIT_TIME};
    char shape[48];

    shape_of(shape, sizeof shape, &r->workload);
    print_start(r->work, shape, LIMITS[r->limit]);
    if (races(m, r->limit == LIMIT_READ ? READ : LIMIT)) {
        f.value = ratio(who(m, OURS), who(m, r->limit == LIMIT_READ ? READ : LIMIT));
        f.value = f.most ? 1 / f.value : f.value;
        print_figure(r->work, shape, &f);
    } else
        printf("%8s %-14s", "-", "");
    print_two(m, r, shape);
    print_peers(m, r, shape);
    print_read(m, r, shape);
    printf("\n");
    fflush(stdout);
}

static void bench_row(const row *r)
{
    match m;
    if (!attn_isa_available(r->workload.isa))
        return;
    set_up(&m, r);
    race(m.c, m.count);
    print_row(&m, r);
    free_attention(&m.ours);
    if (has_plain(r))
        free_attention(&m.plain);
}

/* ==== One query of few keys, beside the plain loop ================================================================ */

/* In caches, where overhead counts. All of them in f32, and with scratch, as the loop has room for its scores. */
static const workload few_keys[] = {
    {ONE_QUERY(16, 16, 300, 64)},  {ONE_QUERY(8, 8, 1500, 128)}, {ONE_QUERY(12, 12, 700, 96)},
    {ONE_QUERY(24, 8, 900, 128)},  {ONE_QUERY(8, 8, 64, 64)},    {ONE_QUERY(8, 8, 256, 64)},
    {ONE_QUERY(8, 8, 1024, 64)},   {ONE_QUERY(8, 8, 2048, 64)},  {ONE_QUERY(32, 8, 512, 128)},
    {ONE_QUERY(32, 8, 2048, 128)},
};

/* The same numbers, packed and as [L,H,D]: by the loop, by the best instruction set and by AVX2. */
typedef struct duel {
    attention packed, lhd, packed_avx2, lhd_avx2;
    reading read;
} duel;

enum { LOOP_PACKED, LOOP_LHD, READS, BEST, AVX2 = BEST + 2, FEW = AVX2 + 2 }; /* packed, then [L,H,D] */

static void set_up_duel(duel *d, const workload *w)
{
    static char scratch[4 << 20];
    d->packed = new_attention(w);
    d->packed.ctx.scratch = scratch;
    d->packed.ctx.scratch_size = sizeof scratch;
    d->lhd = d->packed;
    d->lhd.k = attn_blhd(d->packed.k.data, ATTN_F32, 1, w->keys, w->kv_heads, w->size);
    d->lhd.v = attn_blhd(d->packed.v.data, ATTN_F32, 1, w->keys, w->kv_heads, w->size);
    d->packed_avx2 = d->packed;
    d->lhd_avx2 = d->lhd;
    d->packed_avx2.ctx.isa = d->lhd_avx2.ctx.isa = ATTN_ISA_AVX2;
    d->read = reading_of(&d->packed, NULL);
}

/* One instruction set: over the loop packed and as [L,H,D], [L,H,D] over packed, of the read. */
static void print_duel(const contestant *c, size_t ours, const char *shape, const char *isa, double bar)
{
    figure loop = {NULL, "plain loop", "x", 0, 0, 0}, loop_lhd = {NULL, "plain loop, [L,H,D]", "x", 0, 0, 0},
           packed = {NULL, "packed", "x", 0, 0.92, 0}, read = {NULL, "cached read", "%", 0, 0, 0};
    loop.of = loop_lhd.of = packed.of = read.of = isa;
    loop.value = ratio(&c[ours], &c[LOOP_PACKED]);
    loop.bar = bar;
    loop_lhd.value = ratio(&c[ours + 1], &c[LOOP_LHD]);
    packed.value = ratio(&c[ours + 1], &c[ours]);
    read.value = ratio(&c[ours], &c[READS]);
    print_start("one query", shape, isa);
    print_figure("one query", shape, &loop);
    print_figure("one query", shape, &loop_lhd);
    print_figure("one query", shape, &packed);
    print_figure("one query", shape, &read);
    printf("\n");
}

static void bench_few_keys(const workload *w)
{
    duel d;
    contestant c[FEW];
    void *who[FEW];
    size_t count = attn_isa_available(ATTN_ISA_AVX2) && isa_of(ATTN_ISA_BEST) != ATTN_ISA_AVX2 ? FEW : AVX2, i;
    char shape[48];

    set_up_duel(&d, w);
    who[LOOP_PACKED] = who[BEST] = &d.packed;
    who[LOOP_LHD] = who[BEST + 1] = &d.lhd;
    who[READS] = &d.read;
    who[AVX2] = &d.packed_avx2;
    who[AVX2 + 1] = &d.lhd_avx2;
    memset(c, 0, sizeof c);
    for (i = 0; i < count; i++) {
        c[i].run = i == READS ? run_read : i < READS ? run_loop : run_sdpa;
        c[i].arg = who[i];
        c[i].work = 1;
        if (i != READS)
            try_out(c[i].run, who[i], (const attention *)who[i], i < READS ? "the plain loop" : "one query");
    }
    race(c, count);
    shape_of(shape, sizeof shape, w);
    print_duel(c, BEST, shape, attn_isa_string(isa_of(ATTN_ISA_BEST)), 1.5);
    if (count > AVX2)
        print_duel(c, AVX2, shape, "avx2", 1.25);
    fflush(stdout);
    free_attention(&d.packed);
}

static void bench_one_query(void)
{
    size_t i, step = is_quick() ? 4 : 1;
    printf("\nOne query: speed relative to the plain loop that everybody writes, compiled with %s; [L,H,D] to packed; "
           "share of the read\n",
           peer_loop_flags());
    print_start("work", "heads x keys x size", "with");
    printf("%8s %-14s%8s %-14s%8s %-14s%8s\n", "packed", "", "[L,H,D]", "", "to packed", "", "read");
    for (i = 0; i < sizeof few_keys / sizeof few_keys[0]; i += step)
        bench_few_keys(&few_keys[i]);
    printf("\n");
}

/* ==== What is not a ratio ========================================================================================= */

/* One call of almost nothing: its time, what it allocates, and whether it troubles other threads. */

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
    figure us = {"1 thread", "", "us", 0, 0.2, 1};
    figure loop = {"1 thread", "time of the plain loop", "x", 0, 0, 1};
    size_t allocations;
    match m;

    set_up(&m, &r);
    m.ours.ctx.parallel.run = counting_run;
    m.ours.ctx.parallel.width = 2;
    runs = 0;
    allocations = bench_allocations;
    run_sdpa(&m.ours);
    allocations = bench_allocations - allocations;
    print_start(r.work, "1 x 3 x 3", "");
    try_out(run_loop, &m.ours, &m.ours, "the plain loop");
    enter(&m, LOOP, run_loop, &m.ours, flop(&m.ours), 0);
    race(m.c, m.count);
    us.value = 1e6 * median(m.c[OURS].seconds[CPU]);
    loop.value = 1 / ratio(who(&m, OURS), who(&m, LOOP));
    print_figure(r.work, "1 x 3 x 3", &us);
    print_figure(r.work, "1 x 3 x 3", &loop);
    print_peers(&m, &r, "1 x 3 x 3");
    printf("%d allocations, %d runs of threads: %s\n", (int)allocations, (int)runs,
           verdict(allocations == 0 && runs == 0));
    free_attention(&m.ours);
}

typedef struct merge {
    attn_tensor out, lse, out_b, lse_b;
} merge;

enum { MERGED = 512, MERGED_SIZE = 64 }; /* rows; numbers in one */

static void run_merge(void *arg)
{
    const merge *m = (const merge *)arg;
    require(attn_merge(m->out, m->lse, m->out_b, m->lse_b) == ATTN_OK, "attn_merge");
}

static void run_merge_loop(void *arg)
{
    const merge *m = (const merge *)arg;
    peer_merge((float *)m->out.data, (float *)m->lse.data, (const float *)m->out_b.data, (const float *)m->lse_b.data,
               MERGED, MERGED_SIZE);
}

/* Merges again and again: out stays between its two sides, and lse grows as the logarithm of how often. */
static void bench_merge(void)
{
    figure ns = {"an element", "", "ns", 0, 0, 1}, loop = {"1 thread", "time of the plain loop", "x", 0, 0, 1};
    merge m[2]; /* ours; the loop's, of the same numbers */
    contestant c[2];
    size_t i;

    memset(c, 0, sizeof c);
    for (i = 0; i < 2; i++) {
        attn_tensor *const all[] = {&m[i].out, &m[i].lse, &m[i].out_b, &m[i].lse_b};
        size_t n, bytes;
        for (n = 0; n < 4; n++) {
            size_t size = n % 2 == 0 ? MERGED_SIZE : 1;
            *all[n] = attn_bhld(bench_matrix(ATTN_F32, MERGED, size).data, ATTN_F32, 1, 1, MERGED, size);
            bytes = MERGED * size * sizeof(float);
            if (i > 0)
                memcpy(all[n]->data, (n == 0 ? m->out : n == 1 ? m->lse : n == 2 ? m->out_b : m->lse_b).data, bytes);
        }
        c[i].arg = &m[i];
        c[i].work = 1;
    }
    c[0].run = run_merge;
    c[1].run = run_merge_loop;
    run_merge_loop(&m[1]);
    run_merge(&m[0]);
    for (i = 0; i < MERGED * MERGED_SIZE; i++)
        require(fabsf(((float *)m[0].out.data)[i] - ((float *)m[1].out.data)[i]) <= 1e-6f, "merging as the loop does");
    race(c, 2);
    ns.value = 1e9 * median(c[0].seconds[CPU]) / (MERGED * MERGED_SIZE);
    loop.value = 1 / ratio(&c[0], &c[1]);
    print_start("attn_merge", "512 x 64", "");
    print_figure("attn_merge", "512 x 64", &ns);
    print_figure("attn_merge", "512 x 64", &loop);
    printf("an element, against the plain loop\n");
    for (i = 0; i < 2; i++) {
        free(m[i].out.data);
        free(m[i].lse.data);
        free(m[i].out_b.data);
        free(m[i].lse_b.data);
    }
}

/* One call at length 32768, on two threads: what the library takes beside inputs and output. */
static void bench_memory(void)
{
    static const workload w = {SQUARE(2, 32768, 64)};
    figure high = {"a thread", "allocated", "MiB", 0, 4, 1},
           scratch = {"a thread", "attn_sdpa_scratch", "MiB", 0, 4, 1};
    attention a = new_attention(&w);
    size_t bytes = 0, before = bench_allocated;

    a.ctx.parallel = two_threads;
    require(attn_sdpa_scratch(&bytes, a.out, a.q, a.k, a.v, &a.opts, &a.ctx) == ATTN_OK, "attn_sdpa_scratch");
    bench_allocated_most = bench_allocated;
    try_out(run_sdpa, &a, &a, "length 32768");
    high.value = (double)(bench_allocated_most - before) / 2 / (1 << 20);
    scratch.value = (double)bytes / 2 / (1 << 20);
    print_start("memory", "2 x 32768 x 64", "a thread");
    print_figure("memory", "2 x 32768 x 64", &high);
    print_figure("memory", "2 x 32768 x 64", &scratch);
    printf("at most, attn_sdpa_scratch\n");
    free_attention(&a);
}

/* Compiles the implementation with the command in the environment, which makes the object file named there. */
static void bench_compiler(void)
{
    figure seconds = {"compile time", "-O2", "s", 0, 6, 1}, text = {"text", "-O2", "KB", 0, 500, 1};
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
    print_start("implementation", "", "-O2");
    print_figure("implementation", "", &seconds);
    print_figure("implementation", "", &text);
    printf("compile time, text\n");
}

/* ==== The rows ==================================================================================================== */

static const row rows[] = {
    {"prefill", {SQUARE(8, 512, 64)}, LIMIT_PEAK, 0.82, TWO_ONE, 1.92, 1.1, 1},
    {"prefill", {SQUARE(8, 1024, 64)}, LIMIT_PEAK, 0.85, TWO_ONE, 1.92, 1.1, 1},
    {"prefill", {SQUARE(8, 2048, 64)}, LIMIT_PEAK, 0, TWO_ONE, 1.92, 1.1, 0},
    {"prefill", {SQUARE(8, 4096, 64)}, LIMIT_PEAK, 0.86, TWO_ONE, 1.92, 1.1, 0},
    {"prefill", {SQUARE(8, 1024, 128)}, LIMIT_PEAK, 0.88, TWO_ONE, 1.92, 1.1, 0},
    {"prefill", {SQUARE(8, 2048, 128)}, LIMIT_PEAK, 0.90, TWO_ONE, 1.92, 1.1, 0},
    {"causal", {SQUARE(12, 128, 64), .option = CAUSAL}, LIMIT_PEAK, 0, TWO_ONE, 0, 1.3, 0},
    {"causal", {SQUARE(8, 512, 64), .option = CAUSAL}, LIMIT_PEAK, 0.72, TWO_ONE, 1.9, 1.3, 1},
    {"causal", {SQUARE(8, 1024, 64), .option = CAUSAL}, LIMIT_PEAK, 0.77, TWO_ONE, 1.9, 1.3, 1},
    {"causal", {SQUARE(8, 2048, 64), .option = CAUSAL}, LIMIT_PEAK, 0.81, TWO_ONE, 1.9, 1.3, 0},
    {"causal", {SQUARE(8, 4096, 64), .option = CAUSAL}, LIMIT_PEAK, 0.84, TWO_ONE, 1.9, 1.3, 0},
    {"causal", {SQUARE(8, 1024, 128), .option = CAUSAL}, LIMIT_PEAK, 0, TWO_ONE, 1.9, 1.2, 0},
    {"causal", {SQUARE(8, 2048, 128), .option = CAUSAL}, LIMIT_PEAK, 0.85, TWO_ONE, 1.9, 1.2, 0},
    {"other sizes", {SQUARE(8, 1000, 40)}, LIMIT_PEAK, 0.70, TWO_ONE, 0, 1.1, 0},
    {"other sizes", {SQUARE(8, 1000, 72)}, LIMIT_PEAK, 0.75, TWO_ONE, 0, 1.1, 0},
    {"other sizes", {SQUARE(8, 1000, 80)}, LIMIT_PEAK, 0.75, TWO_ONE, 0, 1.1, 1},
    {"other sizes", {SQUARE(8, 1000, 96)}, LIMIT_PEAK, 0.78, TWO_ONE, 0, 1.1, 0},
    {"other sizes", {SQUARE(8, 1000, 256)}, LIMIT_PEAK, 0.80, TWO_ONE, 0, 1.1, 0},
    {"small", {SQUARE(12, 128, 64)}, LIMIT_PEAK, 0.76, TWO_ONE, 0, 1.1, 1},
    {"small", {SQUARE(8, 16, 64)}, LIMIT_PEAK, 0, TWO_ONE, 0, 1.5, 1},
    {"one query", {ONE_QUERY(32, 8, 32768, 128)}, LIMIT_READ, 0.80, TWO_LIMIT, 0.88, 1.5, 0},
    {"with f16 keys", {ONE_QUERY(32, 8, 32768, 128), .kv_dtype = ATTN_F16}, LIMIT_TIME, 0.55, TWO_LIMIT, 0.55, 0, 0},
    {"with bf16 keys", {ONE_QUERY(32, 8, 32768, 128), .kv_dtype = ATTN_BF16}, LIMIT_TIME, 0.55, TWO_LIMIT, 0.55, 0, 0},
    {"with i8 keys", {ONE_QUERY(32, 8, 32768, 128), .kv_dtype = ATTN_I8}, LIMIT_TIME, 0.45, TWO_LIMIT, 0.35, 0, 0},
    {"one query", {ONE_QUERY(32, 8, 4096, 128)}, LIMIT_READ, 0, TWO_PEERS, 0, 1.5, 1},
    {"one query", {ONE_QUERY(8, 8, 4096, 64)}, LIMIT_READ, 0, TWO_PEERS, 1.2, 1.3, 1},
    {"AVX2, one query", {ONE_QUERY(32, 8, 32768, 128), .isa = ATTN_ISA_AVX2}, LIMIT_READ, 0, TWO_LIMIT, 0, 0, 0},
    {"AVX2, f16 keys",
     {ONE_QUERY(32, 8, 32768, 128), .kv_dtype = ATTN_F16, .isa = ATTN_ISA_AVX2},
     LIMIT_READ,
     0,
     TWO_LIMIT,
     0,
     0,
     0},
    {"AVX2, bf16 keys",
     {ONE_QUERY(32, 8, 32768, 128), .kv_dtype = ATTN_BF16, .isa = ATTN_ISA_AVX2},
     LIMIT_READ,
     0,
     TWO_LIMIT,
     0,
     0,
     0},
    {"AVX2, i8 keys",
     {ONE_QUERY(32, 8, 32768, 128), .kv_dtype = ATTN_I8, .isa = ATTN_ISA_AVX2},
     LIMIT_READ,
     0,
     TWO_LIMIT,
     0,
     0,
     0},
    {"2 queries", {QUERIES(2, 64, 8, 8192, 128), .option = CAUSAL}, LIMIT_READ, 0, TWO_LIMIT, 0, 0, 0},
    {"4 queries", {QUERIES(4, 64, 8, 8192, 128), .option = CAUSAL}, LIMIT_READ, 0, TWO_LIMIT, 0, 0, 0},
    {"8 queries", {QUERIES(8, 64, 8, 8192, 128), .option = CAUSAL}, LIMIT_READ, 0, TWO_LIMIT, 0, 0, 0},
    {"2 queries", {QUERIES(2, 8, 1, 8192, 128), .option = CAUSAL}, LIMIT_READ, 0, TWO_LIMIT, 0, 0, 0},
    {"4 queries", {QUERIES(4, 8, 1, 8192, 128), .option = CAUSAL}, LIMIT_READ, 0, TWO_LIMIT, 0, 0, 1},
    {"8 queries", {QUERIES(8, 8, 1, 8192, 128), .option = CAUSAL}, LIMIT_READ, 0, TWO_LIMIT, 0, 0, 0},
    {"bf16", {SQUARE(8, 1024, 64), TYPE(ATTN_BF16)}, LIMIT_SPEED, 1.5, TWO_ONE, 0, 0, 1},
    {"f16", {SQUARE(8, 1024, 64), TYPE(ATTN_F16)}, LIMIT_SPEED, 0.95, TWO_ONE, 0, 0, 1},
    {"f64", {SQUARE(8, 1024, 64), TYPE(ATTN_F64)}, LIMIT_PEAK, 0.80, TWO_ONE, 0, 0, 1},
    {"f64", {SQUARE(8, 1024, 128), TYPE(ATTN_F64)}, LIMIT_PEAK, 0.85, TWO_ONE, 0, 0, 0},
    {"AVX2", {SQUARE(8, 1024, 64), .isa = ATTN_ISA_AVX2}, LIMIT_PEAK, 0.82, TWO_ONE, 0, 0, 1},
    {"window of 512", {SQUARE(2, 8192, 64), .option = WINDOW}, LIMIT_TIME, 1.25, TWO_ONE, 0, 0, 0},
    {"mask of blocks", {SQUARE(4, 8192, 64), .option = BLOCKS}, LIMIT_TIME, 1.25, TWO_ONE, 0, 0, 0},
    {"lengths", {SQUARE(2, 2048, 64), .option = LENGTHS}, LIMIT_TIME, 1.25, TWO_ONE, 0, 0, 0},
    {"softcap", {SQUARE(8, 1024, 64), .option = SOFTCAP}, LIMIT_TIME, 1.25, TWO_NOT, 0, 0, 1},
    {"softcap", {SQUARE(8, 1024, 128), .option = SOFTCAP}, LIMIT_TIME, 1.15, TWO_NOT, 0, 0, 0},
    {"bias", {SQUARE(8, 1024, 64), .option = BIAS}, LIMIT_TIME, 1.12, TWO_NOT, 0, 0, 1},
    {"ALiBi", {SQUARE(8, 1024, 64), .option = ALIBI}, LIMIT_TIME, 1.10, TWO_NOT, 0, 0, 1},
    {"sinks", {SQUARE(8, 1024, 64), .option = SINKS}, LIMIT_TIME, 1.02, TWO_NOT, 0, 0, 1},
    {"bool mask", {SQUARE(8, 1024, 64), .option = MASK}, LIMIT_TIME, 1.15, TWO_NOT, 0, 0, 1},
    {"causal, weights", {SQUARE(8, 1024, 64), .option = WEIGHTS}, LIMIT_TIME, 1.5, TWO_NOT, 0, 0, 0},
    {"causal, scores", {SQUARE(8, 1024, 64), .option = SCORES}, LIMIT_TIME, 1.5, TWO_NOT, 0, 0, 0},
    {"causal, both", {SQUARE(8, 1024, 64), .option = WEIGHTS_AND_SCORES}, LIMIT_TIME, 1.8, TWO_NOT, 0, 0, 1},
    {"[B,L,H,D]", {SQUARE(8, 1024, 64), .layout = BLHD}, LIMIT_TIME, 1.03, TWO_NOT, 0, 0, 0},
    {"[B,L,3,H,D]", {SQUARE(8, 1024, 64), .layout = INTERLEAVED}, LIMIT_TIME, 1.04, TWO_NOT, 0, 0, 1},
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
    printf("\n");
    print_start("work", "heads x keys x size", "against");
    printf("%8s %-14s%8s %-14s", "1 thread", "", "2 threads", "");
    for (i = 0; i < peer_count; i++)
        printf("%8s %-14s", peers[i].name, "");
    printf("\n");
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].quick || !is_quick())
            bench_row(&rows[i]);
    bench_one_query();
    bench_overhead();
    bench_merge();
    if (!is_quick())
        bench_memory();
    bench_compiler();
    print_bars();
    close_tsv();
    attn_pool_free(&two_threads);
    return 0;
}
