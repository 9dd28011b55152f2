/* How fast attn_sdpa_backward and attn_matmul_add are, as ratios against limits of the same run:

   - the forward call with the same arguments, which also gives lse: two products of matrices, where the way back is
     five;
   - the plain backward: f32, each query head with keys of its own, every key seen, for what options and types cost;
     beside it what the same option costs the forward call;
   - forward and backward together, the loops that everybody writes, which keep weights and scores in memory;
   - for gradients of weights, attn_matmul_ctx and OpenBLAS.

   Visible pairs of query and key count where not all are seen. A call whose result is wrong stops the benchmark. The
   bars are for AVX-512. peers.py has PyTorch. */
#define _GNU_SOURCE
#include <math.h>
#include "library.h"
#include "bench.h"
#include "peer.h"

/* ==== One way back ================================================================================================ */

typedef enum option {
    PLAIN,
    WINDOW,      /* the newest 129 keys */
    LENGTHS,     /* half of the rows of a padded batch are valid */
    BLOCKS,      /* a tenth of the blocks of a mask is visible */
    DROPOUT,
    BIAS,        /* one for all items, and its gradient */
    BY_DISTANCE, /* a bias that attn_relative makes, and its gradient */
    ALIBI,       /* and the gradient of its slopes */
    SINKS,       /* and their gradient */
    SOFTCAP
} option;

typedef struct workload {
    size_t items, heads, kv_heads, len, size;
    attn_dtype dtype;
    int causal;
    option option;
} workload;

#define HEADS(h, l, d) .items = 1, .heads = h, .kv_heads = h, .len = l, .size = d
#define GROUP(h, kv, l, d) .items = 1, .heads = h, .kv_heads = kv, .len = l, .size = d
#define ITEMS(b, h, l, d) .items = b, .heads = h, .kv_heads = h, .len = l, .size = d

typedef struct training {
    workload workload;
    attn_tensor q, k, v, out, dout;
    attn_tensor used; /* DROPOUT: the weights that the forward call used */
    attn_opts opts;   /* with lse */
    attn_grads grads;
    attn_ctx ctx;
    double pairs;     /* of a query and a key that it sees, in all heads and items */
    void *owned[20];  /* what free_training frees */
    size_t owns;
    float *loop[2];   /* of the plain loop: weights, gradient of the scores */
} training;

enum { LEFT = 128, BLOCK = 64, LENS = 4 };

static attn_parallel two_threads; /* the library's pool */

static void *own(training *t, void *p)
{
    require(t->owns < sizeof t->owned / sizeof t->owned[0], "room for arguments");
    return t->owned[t->owns++] = p;
}

/* Random numbers, and gradients to be. */
static attn_tensor new_tensor(training *t, attn_dtype dtype, size_t items, size_t heads, size_t len, size_t size)
{
    size_t count = items * heads * len * size;
    attn_mat numbers = bench_matrix(dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32, 1, count), copy = numbers;
    if (dtype != numbers.dtype) {
        copy = attn_mat_of(bench_alloc(count * 2), dtype, 1, count);
        require(attn_mat_copy(copy, numbers) == ATTN_OK, "attn_mat_copy");
        free(numbers.data);
    }
    return attn_bhld(own(t, copy.data), dtype, items, heads, len, size);
}

static attn_dtype compute_type(const workload *w)
{
    return w->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
}

static void set_option(training *t)
{
    static const size_t lengths[LENS] = {2048, 1022, 515, 511};
    const workload *w = &t->workload;
    double len = (double)w->len, all = (double)(w->items * w->heads), pairs = 0;
    size_t n;

    t->pairs = all * (w->causal ? len * (len + 1) / 2 : len * len);
    switch (w->option) {
    case PLAIN: break;
    case WINDOW:
        t->opts.window.on = 1;
        t->opts.window.left = LEFT;
        t->pairs = all * ((LEFT + 1.0) * (LEFT + 2) / 2 + (len - LEFT - 1) * (LEFT + 1));
        break;
    case LENGTHS:
        t->opts.q_lens = t->opts.kv_lens = lengths;
        for (n = 0; n < LENS; n++)
            pairs += (double)(lengths[n] * lengths[n]);
        t->pairs = (double)w->heads * pairs;
        break;
    case BLOCKS:
        t->opts.mask = attn_bhld(own(t, bench_alloc(w->len * w->len)), ATTN_BOOL, 1, 1, w->len, w->len);
        t->pairs = all * random_blocks((unsigned char *)t->opts.mask.data, w->len, BLOCK);
        break;
    case DROPOUT:
        t->opts.dropout.p = 0.1;
        t->opts.dropout.seed = 1;
        t->used = new_tensor(t, ATTN_F32, w->items, w->heads, w->len, w->len);
        break;
    case BIAS:
        t->opts.bias = new_tensor(t, ATTN_F32, 1, w->heads, w->len, w->len);
        t->grads.bias = new_tensor(t, ATTN_F32, 1, w->heads, w->len, w->len);
        break;
    case BY_DISTANCE:
        t->opts.bias = attn_relative(attn_head(new_tensor(t, ATTN_F32, 1, 1, w->heads, 2 * w->len - 1), 0, 0), w->len,
                                     w->len);
        t->grads.by_distance = attn_head(new_tensor(t, ATTN_F32, 1, 1, w->heads, 2 * w->len - 1), 0, 0);
        break;
    case ALIBI:
        t->opts.alibi_slopes = (float *)new_tensor(t, ATTN_F32, 1, 1, 1, w->heads).data;
        require(attn_alibi_slopes((float *)t->owned[t->owns - 1], w->heads) == ATTN_OK, "attn_alibi_slopes");
        t->grads.alibi_slopes = (float *)new_tensor(t, ATTN_F32, 1, 1, 1, w->heads).data;
        break;
    case SINKS:
        t->opts.sinks = (float *)new_tensor(t, ATTN_F32, 1, 1, 1, w->heads).data;
        t->grads.sinks = (float *)new_tensor(t, ATTN_F32, 1, 1, 1, w->heads).data;
        break;
    case SOFTCAP: t->opts.softcap = 50; break;
    }
}

static void run_forward(void *arg)
{
    training *t = (training *)arg;
    attn_status status = attn_sdpa(t->out, t->q, t->k, t->v, &t->opts, &t->ctx);
    require(status == ATTN_OK, attn_status_string(status));
}

static void run_backward(void *arg)
{
    training *t = (training *)arg;
    attn_status status =
        attn_sdpa_backward(&t->grads, t->dout, t->q, t->k, t->v, t->out, t->opts.lse, &t->opts, &t->ctx);
    require(status == ATTN_OK, attn_status_string(status));
}

/* The loop that everybody writes, of the first head. */
static void run_loop(void *arg)
{
    const training *t = (const training *)arg;
    const workload *w = &t->workload;
    peer_attend_and_back((float *)t->out.data, (float *)t->grads.q.data, (float *)t->grads.k.data,
                         (float *)t->grads.v.data, (const float *)t->dout.data, (const float *)t->q.data,
                         (const float *)t->k.data, (const float *)t->v.data, t->loop[0], t->loop[1], w->len, w->size,
                         w->causal);
}

/* Ready for the way back. */
static training new_training(const workload *w)
{
    training t;
    size_t kv = w->kv_heads;

    memset(&t, 0, sizeof t);
    t.workload = *w;
    t.q = new_tensor(&t, w->dtype, w->items, w->heads, w->len, w->size);
    t.k = new_tensor(&t, w->dtype, w->items, kv, w->len, w->size);
    t.v = new_tensor(&t, w->dtype, w->items, kv, w->len, w->size);
    t.out = new_tensor(&t, w->dtype, w->items, w->heads, w->len, w->size);
    t.dout = new_tensor(&t, w->dtype, w->items, w->heads, w->len, w->size);
    t.grads.q = new_tensor(&t, w->dtype, w->items, w->heads, w->len, w->size);
    t.grads.k = new_tensor(&t, w->dtype, w->items, kv, w->len, w->size);
    t.grads.v = new_tensor(&t, w->dtype, w->items, kv, w->len, w->size);
    t.opts.lse = new_tensor(&t, compute_type(w), w->items, w->heads, w->len, 1);
    t.opts.causal = w->causal ? ATTN_CAUSAL_UPPER_LEFT : ATTN_CAUSAL_NONE;
    set_option(&t);
    t.opts.weights = t.used;
    run_forward(&t);
    memset(&t.opts.weights, 0, sizeof t.opts.weights);
    return t;
}

static void free_training(training *t)
{
    while (t->owns > 0)
        free(t->owned[--t->owns]);
}

/* ---- is it right? ---- */

/* One query head, the key/value head that it reads, and what reached out. */
typedef struct head {
    size_t b, h;
    attn_mat q, k, v, out, dout, lse, bias;
} head;

static head head_of(const training *t, size_t b, size_t h)
{
    size_t kv = h / (t->q.heads / t->k.heads);
    head x;
    memset(&x, 0, sizeof x);
    x.b = b;
    x.h = h;
    x.q = attn_head(t->q, b, h);
    x.k = attn_head(t->k, b, kv);
    x.v = attn_head(t->v, b, kv);
    x.out = attn_head(t->out, b, h);
    x.dout = attn_head(t->dout, b, h);
    x.lse = attn_head(t->opts.lse, b, h);
    if (t->opts.bias.data)
        x.bias = attn_head(t->opts.bias, 0, h);
    return x;
}

/* Of row i of a and row j of b. */
static double dot(attn_mat a, size_t i, attn_mat b, size_t j)
{
    double sum = 0;
    size_t d;
    for (d = 0; d < a.cols; d++)
        sum += attn_mat_get(a, i, d) * attn_mat_get(b, j, d);
    return sum;
}

static int is_hidden(const training *t, size_t b, size_t i, size_t j)
{
    const attn_opts *o = &t->opts;
    return (o->causal && j > i) || (o->window.on && (j > i + t->k.len || j + LEFT < i)) ||
           (o->kv_lens && (i >= o->q_lens[b] || j >= o->kv_lens[b])) ||
           (o->mask.data && attn_mat_get(attn_head(o->mask, 0, 0), i, j) == 0);
}

/* A query and a key: the weight that was used, the gradients of its score at last and of q . k. */
typedef struct pair {
    double weight, biased, dot;
} pair;

static pair pair_of(const training *t, const head *x, size_t i, size_t j)
{
    const attn_opts *o = &t->opts;
    double scale = 1 / sqrt((double)x->q.cols), s, slope = 1, p;
    pair r = {0, 0, 0};

    if (is_hidden(t, x->b, i, j))
        return r;
    s = scale * dot(x->q, i, x->k, j);
    if (o->softcap > 0) {
        double share = tanh(s / o->softcap);
        s = o->softcap * share;
        slope = 1 - share * share;
    }
    if (o->bias.data)
        s += attn_mat_get(x->bias, i, j);
    if (o->alibi_slopes)
        s -= o->alibi_slopes[x->h] * fabs((double)i - (double)j);
    p = exp(s - attn_mat_get(x->lse, i, 0));
    r.weight = t->used.data ? attn_mat_get(attn_head(t->used, x->b, x->h), i, j) : p;
    r.biased = r.weight * dot(x->dout, i, x->v, j) - p * dot(x->dout, i, x->out, i);
    r.dot = scale * slope * r.biased;
    return r;
}

/* A sum, and that of the magnitudes of its terms. */
typedef struct sum {
    double value, magnitude;
} sum;

static void add(sum *s, double x)
{
    s->value += x;
    s->magnitude += fabs(x);
}

static void check_sum(const training *t, attn_mat got, size_t row, size_t col, sum s, const char *who)
{
    double tolerance = 1e-5;
    if (t->workload.dtype != ATTN_F32)
        tolerance = t->workload.dtype == ATTN_F64 ? 1e-13 : t->workload.dtype == ATTN_F16 ? 1e-3 : 1e-2;
    if (!(fabs(attn_mat_get(got, row, col) - s.value) <= tolerance * s.magnitude)) {
        fflush(stdout);
        fprintf(stderr, "bench: %s: wrong gradient, %g instead of %g\n", who, attn_mat_get(got, row, col), s.value);
        exit(1);
    }
}

enum { SIZE_MOST = 128 };

static void check_query(const training *t, size_t b, size_t h, size_t i, const char *who)
{
    head x = head_of(t, b, h);
    sum dq[SIZE_MOST];
    size_t j, d;
    memset(dq, 0, sizeof dq);
    for (j = 0; j < x.k.rows; j++) {
        pair r = pair_of(t, &x, i, j);
        for (d = 0; d < x.q.cols; d++)
            add(&dq[d], r.dot * attn_mat_get(x.k, j, d));
    }
    for (d = 0; d < x.q.cols; d++)
        check_sum(t, attn_head(t->grads.q, b, h), i, d, dq[d], who);
}

static void check_key(const training *t, size_t b, size_t kv, size_t j, const char *who)
{
    size_t group = t->q.heads / t->k.heads, h, i, d;
    sum dk[SIZE_MOST], dv[SIZE_MOST];
    memset(dk, 0, sizeof dk);
    memset(dv, 0, sizeof dv);
    for (h = kv * group; h < (kv + 1) * group; h++) {
        head x = head_of(t, b, h);
        for (i = 0; i < x.q.rows; i++) {
            pair r = pair_of(t, &x, i, j);
            for (d = 0; d < x.q.cols; d++) {
                add(&dk[d], r.dot * attn_mat_get(x.q, i, d));
                add(&dv[d], r.weight * attn_mat_get(x.dout, i, d));
            }
        }
    }
    for (d = 0; d < t->q.dim; d++) {
        check_sum(t, attn_head(t->grads.k, b, kv), j, d, dk[d], who);
        check_sum(t, attn_head(t->grads.v, b, kv), j, d, dv[d], who);
    }
}

/* The sum over the items, by distance also over the pairs that are as far apart. */
static void check_bias(const training *t, size_t h, size_t i, size_t j, const char *who)
{
    size_t b, row, rows = t->grads.bias.data ? 1 : t->q.len;
    sum s = {0, 0};
    for (b = 0; b < t->q.batch; b++) {
        head x = head_of(t, b, h);
        for (row = 0; row < rows; row++)
            if (t->grads.bias.data)
                add(&s, pair_of(t, &x, i, j).biased);
            else if (row + j >= i && row + j - i < t->k.len)
                add(&s, pair_of(t, &x, row, row + j - i).biased);
    }
    if (t->grads.bias.data)
        check_sum(t, attn_head(t->grads.bias, 0, h), i, j, s, who);
    else
        check_sum(t, t->grads.by_distance, h, j + t->q.len - 1 - i, s, who);
}

/* For the first head, a middle and the last one: a query, a key. */
static void check_training(const training *t, size_t items, size_t heads, const char *who)
{
    size_t n;
    for (n = 0; n < 3; n++) {
        size_t b = n * (items - 1) / 2, h = n * (heads - 1) / 2;
        size_t i = n * ((t->opts.q_lens ? t->opts.q_lens[b] : t->q.len) - 1) / 2;
        check_query(t, b, h, i, who);
        check_key(t, b, h / (t->q.heads / t->k.heads), i, who);
        if (t->grads.bias.data || t->grads.by_distance.data)
            check_bias(t, h, i, n * (t->k.len - 1) / 3, who);
    }
}

static void spoil(attn_tensor t)
{
    size_t bytes = t.dtype == ATTN_F64 ? 8 : t.dtype == ATTN_F32 ? 4 : 2;
    memset(t.data, 0xff, t.batch * t.heads * t.len * t.dim * bytes); /* NaN */
}

/* Runs, and checks what that has written of so many items and heads. */
static void try_out(void (*run)(void *arg), training *t, size_t items, size_t heads, const char *who)
{
    spoil(t->grads.q);
    spoil(t->grads.k);
    spoil(t->grads.v);
    run(t);
    check_training(t, items, heads, who);
}

/* ==== The table =================================================================================================== */

/* A bar of 0 is none. */
typedef struct row {
    const char *work;
    workload workload;
    double forward_bar; /* time relative to the forward call: the most */
    double two_bar;     /* two threads over one: the least */
    double plain_bar;   /* time of a pair relative to the plain backward: the most */
    int loop, quick;
} row;

enum { OURS, ON_TWO, FORWARD, PLAIN_BACKWARD, PLAIN_FORWARD, LOOP, ALL };

typedef struct match {
    training ours, on_two, plain;
    contestant c[ALL]; /* those who race stand first, and `at` says where */
    size_t count, at[ALL];
    char shape[48];
} match;

static void print_column(const char *text)
{
    printf("%8s %-14s", text, "");
}

static void enter(match *m, size_t who, void (*run)(void *arg), training *t, double work)
{
    contestant *c = &m->c[m->count];
    m->at[who] = m->count++;
    c->run = run;
    c->arg = t;
    c->work = work;
    c->wall = who == ON_TWO;
}

static const contestant *who(const match *m, size_t n)
{
    return &m->c[m->at[n]];
}

static int has_plain(const workload *w)
{
    return w->option != PLAIN || w->dtype != ATTN_F32 || w->kv_heads < w->heads;
}

static void shape_of(char *text, size_t size, const workload *w)
{
    char heads[32] = "";
    if (w->items > 1)
        snprintf(heads, sizeof heads, "%d x ", (int)w->items);
    if (w->heads == w->kv_heads)
        snprintf(text, size, "%s%d x %d x %d", heads, (int)w->heads, (int)w->len, (int)w->size);
    else
        snprintf(text, size, "%s%d/%d x %d x %d", heads, (int)w->heads, (int)w->kv_heads, (int)w->len, (int)w->size);
}

static void set_up_plain(match *m, const workload *w)
{
    workload plain = *w;
    plain.dtype = ATTN_F32;
    plain.option = PLAIN;
    plain.kv_heads = w->heads;
    plain.causal = w->causal && w->option == PLAIN;
    m->plain = new_training(&plain);
    enter(m, PLAIN_BACKWARD, run_backward, &m->plain, m->plain.pairs);
    enter(m, PLAIN_FORWARD, run_forward, &m->plain, m->plain.pairs);
}

static void set_up(match *m, const row *r)
{
    const workload *w = &r->workload;
    size_t n;

    memset(m, 0, sizeof *m);
    shape_of(m->shape, sizeof m->shape, w);
    m->ours = new_training(w);
    for (n = 0; n < 2 && r->loop; n++)
        m->ours.loop[n] = (float *)own(&m->ours, bench_alloc(w->len * w->len * sizeof(float)));
    m->on_two = m->ours;
    m->on_two.ctx.parallel = two_threads;
    if (r->loop)
        try_out(run_loop, &m->ours, 1, 1, "the plain loop");
    try_out(run_backward, &m->on_two, w->items, w->heads, "two threads");
    try_out(run_backward, &m->ours, w->items, w->heads, "one thread");

    enter(m, OURS, run_backward, &m->ours, m->ours.pairs);
    enter(m, ON_TWO, run_backward, &m->on_two, m->ours.pairs);
    enter(m, FORWARD, run_forward, &m->ours, m->ours.pairs);
    if (has_plain(w))
        set_up_plain(m, w);
    if (r->loop)
        enter(m, LOOP, run_loop, &m->ours, m->ours.pairs / (double)(w->items * w->heads));
}

/* The speed of forward and backward together, relative to the plain loop. */
static double over_loop(const match *m)
{
    const contestant *back = who(m, OURS), *forward = who(m, FORWARD), *loop = who(m, LOOP);
    double r[ROUNDS];
    int i;
    for (i = 0; i < ROUNDS; i++)
        r[i] = loop->seconds[CPU][i] / loop->work * back->work / (back->seconds[CPU][i] + forward->seconds[CPU][i]);
    return median(r);
}

static void print_row(const match *m, const row *r)
{
    figure forward = {"1 thread", "forward time", "x", 0, r->forward_bar, 1};
    figure two = {"2 threads", "one thread", "x", 0, r->two_bar, 0};
    figure plain = {"1 thread", "plain time", "x", 0, r->plain_bar, 1};
    figure plain_forward = {"forward call", "plain time", "x", 0, 0, 1};
    figure loop = {"1 thread", "plain loop", "x", 0, 0, 0};

    printf("%-26s%-20s", r->work, m->shape);
    forward.value = ratio(who(m, FORWARD), who(m, OURS));
    two.value = ratio(who(m, ON_TWO), who(m, OURS));
    print_figure(r->work, m->shape, &forward);
    print_figure(r->work, m->shape, &two);
    if (has_plain(&r->workload)) {
        plain.value = ratio(who(m, PLAIN_BACKWARD), who(m, OURS));
        plain_forward.value = ratio(who(m, PLAIN_FORWARD), who(m, FORWARD));
        print_figure(r->work, m->shape, &plain);
        print_figure(r->work, m->shape, &plain_forward);
    } else {
        print_column("");
        print_column("");
    }
    if (r->loop) {
        loop.value = over_loop(m);
        print_figure(r->work, m->shape, &loop);
    }
    printf("\n");
    fflush(stdout);
}

static void bench_row(const row *r)
{
    match m;
    set_up(&m, r);
    race(m.c, m.count);
    print_row(&m, r);
    free_training(&m.ours);
    free_training(&m.plain);
}

/* ==== Gradients of weights ======================================================================================== */

/* dw += x^T dy: x tokens x M, dy tokens x N. */
typedef struct product {
    attn_mat dw, x, dy;
    attn_ctx ctx;
} product;

static void run_add(void *arg)
{
    const product *p = (const product *)arg;
    require(attn_matmul_add(p->dw, attn_mat_t(p->x), p->dy, 1, &p->ctx) == ATTN_OK, "attn_matmul_add");
}

static void run_matmul(void *arg)
{
    const product *p = (const product *)arg;
    require(attn_matmul_ctx(p->dw, attn_mat_t(p->x), p->dy, 1, &p->ctx) == ATTN_OK, "attn_matmul_ctx");
}

static void run_openblas(void *arg)
{
    const product *p = (const product *)arg;
    int rows = (int)p->dw.rows, cols = (int)p->dw.cols, tokens = (int)p->x.rows;
    sgemm(ROW_MAJOR, TRANS, NO_TRANS, rows, cols, tokens, 1, (const float *)p->x.data, rows,
          (const float *)p->dy.data, cols, 1, (float *)p->dw.data, cols);
}

/* A corner, the middle and another corner of what is added to zeros, against a plain sum. */
static void check_product(const product *p, void (*run)(void *arg))
{
    size_t n, k;
    memset(p->dw.data, 0, p->dw.rows * p->dw.cols * sizeof(float));
    run((void *)p);
    for (n = 0; n < 3; n++) {
        size_t i = n * (p->dw.rows - 1) / 2, j = n * (p->dw.cols - 1) / 2;
        sum s = {0, 0};
        for (k = 0; k < p->x.rows; k++)
            add(&s, attn_mat_get(p->x, k, i) * attn_mat_get(p->dy, k, j));
        require(fabs(attn_mat_get(p->dw, i, j) - s.value) <= 1e-5 * s.magnitude, "a right product");
    }
}

static void bench_weights(size_t rows, size_t tokens, size_t cols)
{
    figure f = {"1 thread", "attn_matmul", "x", 0, 0, 0}, on_two = {"2 threads", "attn_matmul", "x", 0, 0, 0};
    figure two = {"2 threads", "one thread", "x", 0, 0, 0}, openblas = {"1 thread", "OpenBLAS", "x", 0, 0, 0};
    product one, other;
    contestant c[5] = {
        {.run = run_add, .arg = &one},
        {.run = run_add, .arg = &other, .wall = 1},
        {.run = run_matmul, .arg = &one},
        {.run = run_matmul, .arg = &other, .wall = 1},
        {.run = run_openblas, .arg = &one},
    };
    size_t count = sgemm ? 5 : 4, i;
    char shape[48];

    memset(&one, 0, sizeof one);
    one.dw = bench_matrix(ATTN_F32, rows, cols);
    one.x = bench_matrix(ATTN_F32, tokens, rows);
    one.dy = bench_matrix(ATTN_F32, tokens, cols);
    other = one;
    other.ctx.parallel = two_threads;
    for (i = 0; i < count; i++) {
        c[i].work = 1;
        check_product((const product *)c[i].arg, c[i].run);
    }
    race(c, count);
    snprintf(shape, sizeof shape, "%d x %d x %d", (int)rows, (int)tokens, (int)cols);
    printf("%-26s%-20s", "dw += x^T dy", shape);
    f.value = ratio(&c[0], &c[2]);
    on_two.value = ratio(&c[1], &c[3]);
    two.value = ratio(&c[1], &c[0]);
    print_figure("dw += x^T dy", shape, &f);
    print_figure("dw += x^T dy", shape, &on_two);
    print_figure("dw += x^T dy", shape, &two);
    if (sgemm) {
        openblas.value = ratio(&c[0], &c[4]);
        print_figure("dw += x^T dy", shape, &openblas);
    }
    printf("\n");
    free(one.dw.data);
    free(one.x.data);
    free(one.dy.data);
}

static void bench_all_weights(void)
{
    printf("\nattn_matmul_add of f32: speed relative to attn_matmul_ctx, which overwrites; of two threads to one; to "
           "OpenBLAS\n%-26s%-20s", "work", "M x tokens x N");
    print_column("1 thread");
    print_column("2 threads");
    print_column("over one");
    print_column(sgemm ? "OpenBLAS" : "");
    printf("\n");
    bench_weights(512, 512, 512);
    bench_weights(512, 2048, 512);
    if (is_quick())
        return;
    bench_weights(512, 512, 2048);
    bench_weights(512, 2048, 2048);
}

/* ==== Memory ====================================================================================================== */

/* What a dry run tells for so many threads. */
static size_t scratch_of(training *t, size_t width)
{
    attn_dry_run dry = {0, NULL, 0};
    t->ctx.parallel = two_threads; /* which does not run here */
    t->ctx.parallel.width = width;
    t->ctx.dry_run = &dry;
    run_backward(t);
    t->ctx.dry_run = NULL;
    memset(&t->ctx.parallel, 0, sizeof t->ctx.parallel);
    return dry.scratch;
}

/* Gradients in 16 bits are sums in the compute type until they are rounded. */
static double sums_of(const training *t)
{
    const workload *w = &t->workload;
    size_t bytes = w->dtype == ATTN_F16 || w->dtype == ATTN_BF16 ? sizeof(float) : 0;
    return (double)(bytes * w->items * (w->heads + 2 * w->kv_heads) * w->len * w->size);
}

/* Room that is never touched. */
static attn_tensor reserve(training *t, attn_dtype dtype, size_t heads, size_t size)
{
    const workload *w = &t->workload;
    void *room = malloc(w->items * heads * w->len * size * sizeof(double));
    require(room != NULL, "memory");
    return attn_bhld(own(t, room), dtype, w->items, heads, w->len, size);
}

static void bench_scratch(const char *work, const workload *w)
{
    static const size_t widths[] = {1, 2, 16};
    static const char *const names[] = {"1 thread", "2 threads", "16 threads"};
    training t;
    char shape[48];
    size_t n;

    memset(&t, 0, sizeof t);
    t.workload = *w;
    t.q = t.out = t.dout = reserve(&t, w->dtype, w->heads, w->size);
    t.k = t.v = reserve(&t, w->dtype, w->kv_heads, w->size);
    t.grads.q = reserve(&t, w->dtype, w->heads, w->size);
    t.grads.k = reserve(&t, w->dtype, w->kv_heads, w->size);
    t.grads.v = reserve(&t, w->dtype, w->kv_heads, w->size);
    t.opts.lse = reserve(&t, compute_type(w), w->heads, 1);
    t.opts.causal = w->causal ? ATTN_CAUSAL_UPPER_LEFT : ATTN_CAUSAL_NONE;
    shape_of(shape, sizeof shape, w);
    printf("%-26s%-20s", work, shape);
    for (n = 0; n < 3; n++) {
        figure f = {"", "a thread", "MiB", 0, 4, 1};
        f.of = names[n];
        f.value = ((double)scratch_of(&t, widths[n]) - sums_of(&t)) / (double)widths[n] / (1 << 20);
        print_figure(work, shape, &f);
    }
    printf("%8.2f MiB\n", sums_of(&t) / (1 << 20));
    free_training(&t);
}

/* The first call takes its memory from the allocator, at once; the second one from the scratch that it was told. */
static void bench_allocations_of(const workload *w)
{
    training t = new_training(w);
    size_t bytes = scratch_of(&t, 2), before = bench_allocations, out = bench_allocated, most, given;
    void *scratch = own(&t, bench_alloc(bytes));
    char shape[48], text[1024];
    attn_dry_run dry = {0, text, sizeof text};

    shape_of(shape, sizeof shape, w);
    t.ctx.parallel = two_threads;
    bench_allocated_most = out;
    run_backward(&t);
    most = bench_allocated_most - out;
    printf("%-26s%-20s%d allocation%s, %.2f MiB; ", "two threads", shape, (int)(bench_allocations - before),
           bench_allocations - before == 1 ? "" : "s", (double)most / (1 << 20));
    t.ctx.scratch = scratch;
    t.ctx.scratch_size = bytes;
    before = bench_allocations;
    run_backward(&t);
    given = bench_allocations - before;
    printf("with scratch given %d: %s\n", (int)given, verdict(given == 0));
    t.ctx.dry_run = &dry;
    run_backward(&t);
    printf("%s\n", text);
    free_training(&t);
}

static void bench_memory(void)
{
    static const workload call = {HEADS(8, 1024, 64)};
    static const struct {
        const char *work;
        workload workload;
    } memory[] = {
        {"backward", {HEADS(2, 32768, 64)}},
        {"backward", {HEADS(8, 2048, 128)}},
        {"backward, one head", {HEADS(1, 2048, 64)}},
        {"backward, one key head", {GROUP(8, 1, 1024, 64)}},
        {"backward, f16", {HEADS(8, 1024, 64), .dtype = ATTN_F16}},
    };
    size_t i;
    printf("\nMemory: scratch of a thread, with so many; beside it what grows with the lengths, sums of 16-bit "
           "gradients\n%-26s%-20s", "work", "heads x keys x size");
    print_column("1 thread");
    print_column("2 threads");
    print_column("16 threads");
    printf("%12s\n", "sums");
    for (i = 0; i < sizeof memory / sizeof memory[0]; i++)
        bench_scratch(memory[i].work, &memory[i].workload);
    printf("\nAllocations of one call. With scratch given there are none: every worker's buffers are laid out in it "
           "beforehand.\n");
    bench_allocations_of(&call);
}

/* ==== The rows ==================================================================================================== */

static const row rows[] = {
    {"backward", {HEADS(8, 1024, 64)}, .forward_bar = 2.9, .two_bar = 1.9, .loop = 1, .quick = 1},
    {"backward", {HEADS(8, 2048, 128)}, .forward_bar = 2.9, .two_bar = 1.9, .loop = 1, .quick = 0},
    {"backward, causal", {HEADS(8, 1024, 64), .causal = 1}, .forward_bar = 2.9, .two_bar = 1.9, .loop = 1, .quick = 1},
    {"backward, causal", {HEADS(8, 2048, 128), .causal = 1}, .forward_bar = 2.9, .two_bar = 1.9, .loop = 1, .quick = 0},
    {"backward, one head", {HEADS(1, 2048, 64)}, .two_bar = 1.9, .quick = 1},
    {"backward, one key head", {GROUP(8, 1, 1024, 64)}, .two_bar = 1.9, .quick = 1},
    {"backward, causal", {HEADS(1, 2048, 64), .causal = 1}, .two_bar = 1.9, .quick = 1},
    {"backward, causal", {GROUP(8, 1, 1024, 64), .causal = 1}, .two_bar = 1.9, .quick = 1},
    {"backward, short", {HEADS(12, 128, 64)}, .quick = 1},
    {"backward, short", {ITEMS(64, 12, 32, 64)}, .quick = 1},
    {"backward, window of 129", {HEADS(2, 4096, 64), .causal = 1, .option = WINDOW}, .forward_bar = 2.9, .quick = 1},
    {"backward, lengths", {ITEMS(LENS, 2, 2048, 64), .option = LENGTHS}, .forward_bar = 2.9, .plain_bar = 1.25},
    {"backward, mask of blocks", {HEADS(2, 4096, 64), .option = BLOCKS}, .forward_bar = 2.9, .quick = 0},
    {"backward, 8/2 heads", {GROUP(8, 2, 1024, 64)}, .quick = 0},
    {"backward, f16", {HEADS(8, 1024, 64), .dtype = ATTN_F16}, .quick = 1},
    {"backward, bf16", {HEADS(8, 1024, 64), .dtype = ATTN_BF16}, .quick = 0},
    {"backward, f64", {HEADS(8, 1024, 64), .dtype = ATTN_F64}, .quick = 0},
    {"backward, dropout", {HEADS(8, 1024, 64), .option = DROPOUT}, .quick = 1},
    {"backward, bias", {HEADS(8, 1024, 64), .option = BIAS}, .quick = 0},
    {"backward, bias", {ITEMS(4, 2, 1024, 64), .option = BIAS}, .quick = 0},
    {"backward, by distance", {HEADS(8, 1024, 64), .option = BY_DISTANCE}, .quick = 1},
    {"backward, by distance", {ITEMS(4, 2, 1024, 64), .option = BY_DISTANCE}, .quick = 0},
    {"backward, ALiBi", {HEADS(8, 1024, 64), .option = ALIBI}, .quick = 0},
    {"backward, sinks", {HEADS(8, 1024, 64), .option = SINKS}, .quick = 0},
    {"backward, softcap", {HEADS(8, 1024, 64), .option = SOFTCAP}, .quick = 0},
};

int main(void)
{
    size_t i;

    require(attn_pool_new(&two_threads, 2) == ATTN_OK, "attn_pool_new");
    open_tsv();
    load_openblas();
    printf("attn_sdpa_backward: medians of %d rounds in which the contestants take turns.\n\n"
           "Time relative to the forward call; speed of two threads relative to one; time for each visible pair "
           "relative to\nthe plain backward, and beside it what the forward call takes for it; speed of forward and "
           "backward relative to the\nplain loop, compiled with %s.\n\n%-26s%-20s",
           ROUNDS, peer_loop_flags(), "work", "heads x keys x size");
    print_column("forward");
    print_column("2 threads");
    print_column("plain");
    print_column("forward's");
    print_column("loop");
    printf("\n");
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].quick || !is_quick())
            bench_row(&rows[i]);
    bench_all_weights();
    bench_memory();
    print_bars();
    close_tsv();
    attn_pool_free(&two_threads);
    return 0;
}
