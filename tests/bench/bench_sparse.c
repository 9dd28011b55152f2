/* How fast packed texts, lists of blocks and pages are, as ratios against what each stands for:

   - lists of blocks, and the mask of the same blocks: the plain call, of which every key is seen, by the time for each
     visible pair of a query and a key;
   - the top k keys of one query: the same query with all keys;
   - packed texts: the texts, called one by one;
   - pages: a cache that holds the same tokens in one piece;
   - two threads: one, and what stands above on two.

   A call whose result is not that of what it stands for, or not that of plain sums, stops the benchmark. The bars are
   for AVX-512. peers.py has PyTorch. An argument, "lists", "top", "packed", "pages" or "backward", runs that part. */
#define _GNU_SOURCE
#include <math.h>
#include "library.h"
#include "bench.h"

/* ==== One call ==================================================================================================== */

typedef struct call {
    attn_tensor out, q, k, v;
    attn_kv_cache *cache; /* this, or pages, in place of k and v */
    attn_kv_pages *pages;
    attn_tensor dout; /* for the way back, which writes grads */
    attn_grads grads;
    attn_opts opts;
    size_t turn; /* of the top k, whose lists change from call to call */
    attn_ctx ctx;
} call;

enum { LISTS = 16 }; /* of the top k, one after the other: what one call has read is no help to the next one */

static attn_parallel two_threads; /* the library's pool */

static attn_tensor random_tensor(size_t heads, size_t len, size_t size, int by_token)
{
    void *data = bench_own(bench_matrix(ATTN_F32, heads * len, size).data);
    return by_token ? attn_blhd(data, ATTN_F32, 1, len, heads, size) : attn_bhld(data, ATTN_F32, 1, heads, len, size);
}

static call new_call(size_t heads, size_t kv_heads, size_t queries, size_t keys, size_t size, int by_token)
{
    call c;
    memset(&c, 0, sizeof c);
    c.out = random_tensor(heads, queries, size, by_token);
    c.q = random_tensor(heads, queries, size, by_token);
    c.k = random_tensor(kv_heads, keys, size, by_token);
    c.v = random_tensor(kv_heads, keys, size, by_token);
    return c;
}

/* Room for the gradients, and the forward call that the way back wants to have seen. */
static void make_ready_for_backward(call *c, int by_token)
{
    c->dout = random_tensor(c->q.heads, c->q.len, c->q.dim, by_token);
    c->grads.q = random_tensor(c->q.heads, c->q.len, c->q.dim, by_token);
    c->grads.k = random_tensor(c->k.heads, c->k.len, c->k.dim, by_token);
    c->grads.v = random_tensor(c->v.heads, c->v.len, c->v.dim, by_token);
    c->opts.lse = random_tensor(c->q.heads, c->q.len, 1, by_token);
    require(attn_sdpa(c->out, c->q, c->k, c->v, &c->opts, NULL) == ATTN_OK, "attn_sdpa");
}

static void succeed(attn_status status)
{
    require(status == ATTN_OK, attn_status_string(status));
}

static void run_sdpa(void *arg)
{
    const call *c = (const call *)arg;
    succeed(attn_sdpa(c->out, c->q, c->k, c->v, &c->opts, &c->ctx));
}

static void run_backward(void *arg)
{
    const call *c = (const call *)arg;
    succeed(attn_sdpa_backward(&c->grads, c->dout, c->q, c->k, c->v, c->out, c->opts.lse, &c->opts, &c->ctx));
}

static attn_tensor text_of(attn_tensor t, const call *c, size_t s)
{
    const size_t *starts = c->opts.q_starts;
    return attn_tensor_slice(t, starts[s], starts[s + 1] - starts[s]);
}

static void run_one_by_one(void *arg)
{
    const call *c = (const call *)arg;
    attn_opts opts = c->opts;
    size_t s;
    opts.sequences = 0;
    for (s = 0; s < c->opts.sequences; s++)
        succeed(attn_sdpa(text_of(c->out, c, s), text_of(c->q, c, s), text_of(c->k, c, s), text_of(c->v, c, s), &opts,
                          &c->ctx));
}

static void run_backward_one_by_one(void *arg)
{
    const call *c = (const call *)arg;
    attn_opts opts = c->opts;
    size_t s;
    opts.sequences = 0;
    memset(&opts.lse, 0, sizeof opts.lse);
    for (s = 0; s < c->opts.sequences; s++) {
        attn_grads grads = c->grads;
        grads.q = text_of(grads.q, c, s);
        grads.k = text_of(grads.k, c, s);
        grads.v = text_of(grads.v, c, s);
        succeed(attn_sdpa_backward(&grads, text_of(c->dout, c, s), text_of(c->q, c, s), text_of(c->k, c, s),
                                   text_of(c->v, c, s), text_of(c->out, c, s), text_of(c->opts.lse, c, s), &opts,
                                   &c->ctx));
    }
}

/* With the next ones of the lists. */
static void run_top(void *arg)
{
    call *c = (call *)arg;
    call now = *c;
    now.opts.blocks.index += c->turn++ % LISTS * c->opts.blocks.heads * c->opts.blocks.width;
    run_sdpa(&now);
}

static void run_cache(void *arg)
{
    const call *c = (const call *)arg;
    succeed(attn_kv_cache_attend(c->out, c->q, c->cache, &c->opts, &c->ctx));
}

static void run_pages(void *arg)
{
    const call *c = (const call *)arg;
    succeed(attn_kv_pages_attend(c->out, c->q, c->pages, &c->opts, &c->ctx));
}

/* ---- is it right? ---- */

static size_t bytes_of(attn_tensor t)
{
    return t.batch * t.heads * t.len * t.dim * sizeof(float);
}

/* Query i of head h sees of the keys `begin` to `end`, or of those the ones that `seen`, if given, has 1 for: its row
   of out by plain sums. */
static void check_query(const call *c, size_t h, size_t i, size_t begin, size_t end, const unsigned char *seen,
                        const char *who)
{
    size_t kv = h / (c->q.heads / c->k.heads), j, d;
    attn_mat out = attn_head(c->out, 0, h), q = attn_head(c->q, 0, h);
    attn_mat k = attn_head(c->k, 0, kv), v = attn_head(c->v, 0, kv);
    double *sums = (double *)bench_alloc((v.cols + 1) * sizeof(double)), *weights = sums + v.cols;

    for (j = begin; j < end; j++) {
        double s = 0, w;
        if (seen && !seen[j])
            continue;
        for (d = 0; d < q.cols; d++)
            s += attn_mat_get(q, i, d) * attn_mat_get(k, j, d);
        *weights += w = exp(s / sqrt((double)q.cols)); /* scores are small here */
        for (d = 0; d < v.cols; d++)
            sums[d] += w * attn_mat_get(v, j, d);
    }
    for (d = 0; d < v.cols; d++)
        require(fabs(attn_mat_get(out, i, d) - (*weights > 0 ? sums[d] / *weights : 0)) <= 1e-5, who);
    free(sums);
}

/* Arrays of as many numbers, nearly the same. */
static void check_near(const float *a, const float *b, size_t count, const char *who)
{
    size_t i;
    for (i = 0; i < count; i++)
        require(fabs((double)a[i] - (double)b[i]) <= 1e-5 * (1 + fabs((double)b[i])), who);
}

/* Runs, after NaN has been written to all results, and compares these with the ones of another function or call. */
static void check_same(void (*run)(void *arg), const call *c, void (*run_other)(void *arg), const call *other,
                       const char *who)
{
    const attn_tensor results[4] = {c->out, c->grads.q, c->grads.k, c->grads.v};
    int is_back = c->dout.data != NULL;
    float *right[4] = {NULL, NULL, NULL, NULL};
    call copy = *other;
    size_t n, first = is_back ? 1 : 0, end = is_back ? 4 : 1;

    run_other(&copy);
    for (n = first; n < end; n++) {
        right[n] = (float *)bench_alloc(bytes_of(results[n]));
        memcpy(right[n], results[n].data, bytes_of(results[n]));
        memset(results[n].data, 0xff, bytes_of(results[n]));
    }
    copy = *c;
    run(&copy);
    for (n = first; n < end; n++) {
        check_near((const float *)results[n].data, right[n], bytes_of(results[n]) / sizeof(float), who);
        free(right[n]);
    }
}

/* ==== The table =================================================================================================== */

/* Who run in turn: each with a call of its own. */
typedef struct match {
    contestant c[CONTESTANTS];
    call calls[CONTESTANTS];
    size_t count;
} match;

/* On one thread, and as the next contestant on two; returns the number of the first. */
static size_t enter(match *m, void (*run)(void *arg), const call *c, double work)
{
    size_t i, first = m->count;
    for (i = 0; i < 2; i++) {
        contestant *one = &m->c[m->count];
        require(m->count < CONTESTANTS, "room for contestants");
        m->calls[m->count] = *c;
        if (i == 1)
            m->calls[m->count].ctx.parallel = two_threads;
        one->run = run;
        one->arg = &m->calls[m->count++];
        one->work = work;
        one->wall = i == 1;
    }
    return first;
}

/* The same on one thread alone. */
static size_t enter_one(match *m, void (*run)(void *arg), const call *c, double work)
{
    size_t first = enter(m, run, c, work);
    m->count--;
    return first;
}

/* What a row says: the bars are the least, or where `most`, of a time, the most. 0: there is none. */
typedef struct row {
    const char *work, *shape, *against;
    double bar;
    int most;
    double two_bar; /* speed of two threads relative to one */
} row;

static void print_column(const char *text)
{
    printf("%8s %-14s", text, "");
}

static void print_beside(const match *m, const row *r, size_t ours, size_t other, const char *of, const char *against,
                         double bar, int most)
{
    figure f = {of, against, "x", ratio(&m->c[ours], &m->c[other]), bar, most};
    if (most)
        f.value = 1 / f.value;
    print_figure(r->work, r->shape, &f);
}

/* Number `ours` beside number `other`, both on one thread; where the other runs on two as well, the same on two; two
   threads over one. */
static void print_row(const match *m, const row *r, size_t ours, size_t other)
{
    printf("%-36s%-22s%-12s", r->work, r->shape, r->against);
    print_beside(m, r, ours, other, "1 thread", r->against, r->bar, r->most);
    if (other + 1 < m->count && m->c[other + 1].run == m->c[other].run && m->c[other + 1].wall)
        print_beside(m, r, ours + 1, other + 1, "2 threads", r->against, r->bar, r->most);
    else
        print_column("");
    print_beside(m, r, ours + 1, ours, "2 threads", "one thread", r->two_bar, 0);
    printf("\n");
    fflush(stdout);
}

/* ==== Lists of blocks ============================================================================================= */

/* The lists of a mask of blocks, len x len, for all heads. */
static attn_blocks lists_of(const unsigned char *mask, size_t len, size_t block)
{
    size_t side = len / block, i, j;
    uint32_t *index = (uint32_t *)bench_own(bench_alloc(side * side * sizeof *index));
    uint32_t *count = (uint32_t *)bench_own(bench_alloc(side * sizeof *count));
    attn_blocks b = {0, 0, NULL, NULL, 1, 1, 0};

    for (i = 0; i < side; i++)
        for (j = 0; j < side; j++)
            if (mask[i * block * len + j * block])
                index[i * side + count[i]++] = (uint32_t)j;
    b.q_len = b.kv_len = block;
    b.index = index;
    b.count = count;
    b.width = side;
    return b;
}

/* Two calls of the same tensors, with a tenth of the blocks as a mask and as lists; returns the visible pairs. */
static double new_lists(call *masked, call *listed, size_t heads, size_t len, size_t size, size_t block)
{
    unsigned char *mask = (unsigned char *)bench_own(bench_alloc(len * len));
    double pairs = (double)heads * random_blocks(mask, len, block);
    *masked = *listed = new_call(heads, heads, len, len, size, 0);
    masked->opts.mask = attn_bhld(mask, ATTN_BOOL, 1, 1, len, len);
    listed->opts.blocks = lists_of(mask, len, block);
    return pairs;
}

static void bench_lists(size_t block)
{
    char list_name[40], mask_name[40];
    const row lists = {list_name, "4 x 8192 x 64", "plain time", 1.15, 1, 1.9};
    const row mask = {mask_name, "4 x 8192 x 64", "plain time", 1.35, 1, 0};
    call masked, listed, plain;
    double pairs = new_lists(&masked, &listed, 4, 8192, 64, block);
    match m;
    size_t n, ours, others, limit;

    memset(&m, 0, sizeof m);
    plain = masked;
    memset(&plain.opts, 0, sizeof plain.opts);
    if (is_quick()) /* one head takes as long for each pair */
        plain.out.heads = plain.q.heads = plain.k.heads = plain.v.heads = 1;
    ours = enter(&m, run_sdpa, &listed, pairs);
    others = enter(&m, run_sdpa, &masked, pairs);
    limit = enter_one(&m, run_sdpa, &plain, (double)plain.q.heads * 8192 * 8192);
    check_same(run_sdpa, &m.calls[ours + 1], run_sdpa, &masked, "lists of blocks on two threads");
    check_same(run_sdpa, &listed, run_sdpa, &masked, "lists of blocks");
    for (n = 0; n < 3; n++)
        check_query(&listed, n, n * 8191 / 2, 0, 8192,
                    (const unsigned char *)masked.opts.mask.data + n * 8191 / 2 * 8192, "a sum of blocks");
    race(m.c, m.count);
    snprintf(list_name, sizeof list_name, "lists of %d x %d", (int)block, (int)block);
    snprintf(mask_name, sizeof mask_name, "mask of %d x %d", (int)block, (int)block);
    print_row(&m, &lists, ours, limit);
    print_row(&m, &mask, others, limit);
    bench_free_owned();
}

/* ==== The top k =================================================================================================== */

/* LISTS times a list for each of the heads, of so many keys. */
static attn_blocks random_keys(size_t heads, size_t keys, size_t picked)
{
    uint32_t *index = (uint32_t *)bench_own(bench_alloc(LISTS * heads * picked * sizeof *index));
    uint32_t *count = (uint32_t *)bench_own(bench_alloc(heads * sizeof *count));
    attn_blocks b = {1, 1, NULL, NULL, 1, 0, 0};
    size_t n, j, at = 0;

    for (n = 0; n < LISTS * heads; n++) {
        size_t left = picked;
        for (j = 0; j < keys; j++) /* exactly so many: each key takes its chance of those that are left */
            if (random_below((uint32_t)(keys - j)) < left) {
                index[at++] = (uint32_t)j;
                left--;
            }
    }
    for (n = 0; n < heads; n++)
        count[n] = (uint32_t)picked;
    b.index = index;
    b.count = count;
    b.heads = heads;
    b.width = picked;
    return b;
}

/* The first, a middle and the last head, with the first lists. */
static void check_top(const call *c, const char *who)
{
    const attn_blocks *b = &c->opts.blocks;
    size_t n, i;
    for (n = 0; n < 3; n++) {
        size_t h = n * (c->q.heads - 1) / 2, list = b->heads == 1 ? 0 : h / (c->q.heads / b->heads);
        unsigned char *seen = (unsigned char *)bench_alloc(c->k.len);
        call first = *c;
        for (i = 0; i < b->count[list]; i++)
            seen[b->index[list * b->width + i]] = 1;
        memset(c->out.data, 0xff, bytes_of(c->out));
        run_top(&first);
        check_query(c, h, 0, 0, c->k.len, seen, who);
        free(seen);
    }
}

/* A list for each key/value head, and one for all. */
static void bench_top(size_t keys, size_t picked, double bar)
{
    call all = new_call(32, 8, 1, keys, 128, 0), top = all, shared = all;
    char work[2][40], shape[40];
    match m;
    size_t i, ours[2], limit;

    memset(&m, 0, sizeof m);
    top.opts.blocks = random_keys(8, keys, picked);
    shared.opts.blocks = random_keys(1, keys, picked);
    ours[0] = enter(&m, run_top, &top, 1);
    ours[1] = enter(&m, run_top, &shared, 1);
    limit = enter(&m, run_sdpa, &all, 1);
    for (i = 0; i < limit; i++)
        check_top(&m.calls[i], "the top keys");
    race(m.c, m.count);
    snprintf(shape, sizeof shape, "32/8 x %d x 128", (int)keys);
    for (i = 0; i < 2; i++) {
        row r = {NULL, NULL, "all keys", 0, 0, 0};
        snprintf(work[i], sizeof work[i], i == 0 ? "top %d" : "top %d, one list", (int)picked);
        r.work = work[i];
        r.shape = shape;
        r.bar = bar;
        print_row(&m, &r, ours[i], limit);
    }
    bench_free_owned();
}

/* ==== Packed texts ================================================================================================ */

enum { TEXTS = 64, SHORTEST = 20, LONGEST = 500 };

/* Where each text begins; peers.py has the same lengths. with_long: the last text is as long as all the others. */
static const size_t *new_starts(int with_long)
{
    static size_t starts[TEXTS + 1];
    uint32_t state = 1;
    size_t s;
    for (s = 0; s < TEXTS; s++) {
        state = state * 1664525u + 1013904223u;
        starts[s + 1] = starts[s] + SHORTEST + (size_t)((uint64_t)state * (LONGEST - SHORTEST + 1) >> 32);
    }
    if (with_long)
        starts[TEXTS] = 2 * starts[TEXTS - 1];
    return starts;
}

typedef struct packed {
    size_t heads, size;
    int by_token, causal, with_long, quick;
} packed;

static call new_packed(const packed *p)
{
    const size_t *starts = new_starts(p->with_long);
    call c = new_call(p->heads, p->heads, starts[TEXTS], starts[TEXTS], p->size, p->by_token);
    c.opts.sequences = TEXTS;
    c.opts.q_starts = c.opts.kv_starts = starts;
    c.opts.causal = p->causal ? ATTN_CAUSAL_UPPER_LEFT : ATTN_CAUSAL_NONE;
    return c;
}

/* The first, a middle and the last text. */
static void check_packed(const call *c)
{
    const size_t *starts = c->opts.q_starts;
    size_t n;
    for (n = 0; n < 3; n++) {
        size_t s = n * (TEXTS - 1) / 2, i = starts[s] + n * (starts[s + 1] - starts[s] - 1) / 2;
        check_query(c, n * (c->q.heads - 1) / 2, i, starts[s], c->opts.causal ? i + 1 : starts[s + 1], NULL,
                    "a sum of a packed text");
    }
}

/* backward: the way back alone. */
static void bench_packed(const packed *p, int backward)
{
    void (*run)(void *arg) = backward ? run_backward : run_sdpa;
    void (*run_others)(void *arg) = backward ? run_backward_one_by_one : run_one_by_one;
    call c = new_packed(p);
    char work[64], shape[40];
    row r = {NULL, NULL, "one by one", 0, 0, 0};
    match m;
    size_t ours, others;

    memset(&m, 0, sizeof m);
    if (backward)
        make_ready_for_backward(&c, p->by_token);
    ours = enter(&m, run, &c, 1);
    others = enter(&m, run_others, &c, 1);
    check_same(run, &m.calls[ours + 1], run_others, &c, "packed texts on two threads");
    check_same(run, &c, run_others, &c, "packed texts");
    if (!backward)
        check_packed(&c);
    race(m.c, m.count);
    snprintf(work, sizeof work, "%s%s%s%s", backward ? "backward, packed" : "packed", p->with_long ? ", one long" : "",
             p->by_token ? ", [L,H,D]" : "", p->causal ? ", causal" : "");
    snprintf(shape, sizeof shape, "%d x %d texts x %d", (int)p->heads, TEXTS, (int)p->size);
    r.work = work;
    r.shape = shape;
    r.bar = backward ? 0 : 1;
    r.two_bar = backward ? 0 : 1.9;
    print_row(&m, &r, ours, others);
    bench_free_owned();
}

/* ==== Pages ======================================================================================================= */

enum { PAGE_SIZES = 3 };
static const size_t PAGE_LEN[PAGE_SIZES] = {16, 64, 128};

/* The prefill of `tokens` tokens; bench_query has one query. */
typedef struct paged {
    size_t heads, kv_heads, tokens, size;
    int quick;
} paged;

static void bench_pages(const paged *p)
{
    static const double least[PAGE_SIZES] = {0.9, 0.97, 0.98};
    call c = new_call(p->heads, p->kv_heads, p->tokens, p->tokens, p->size, 0);
    attn_kv_pages pages[PAGE_SIZES];
    attn_kv_cache cache = new_cache(c.k, c.v, ATTN_F32);
    char shape[40];
    match m;
    size_t n, i, ours[PAGE_SIZES], others;

    memset(&m, 0, sizeof m);
    c.opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    c.cache = &cache;
    others = enter(&m, run_cache, &c, 1);
    for (n = 0; n < PAGE_SIZES; n++) {
        pages[n] = new_pages(c.k, c.v, PAGE_LEN[n], ATTN_F32, 0);
        c.pages = &pages[n];
        ours[n] = enter(&m, run_pages, &c, 1);
        for (i = 0; i < 2; i++)
            check_same(run_pages, &m.calls[ours[n] + i], run_cache, &c, "pages");
    }
    for (n = 0; n < 3; n++) {
        i = n * (p->tokens - 1) / 2;
        check_query(&c, n * (p->heads - 1) / 2, i, 0, i + 1, NULL, "a sum of pages");
    }
    race(m.c, m.count);
    if (p->heads == p->kv_heads)
        snprintf(shape, sizeof shape, "%d x %d x %d", (int)p->heads, (int)p->tokens, (int)p->size);
    else
        snprintf(shape, sizeof shape, "%d/%d x %d x %d", (int)p->heads, (int)p->kv_heads, (int)p->tokens, (int)p->size);
    for (n = 0; n < PAGE_SIZES; n++) {
        char work[64];
        row r = {NULL, NULL, "cache", 0, 0, 1.9};
        snprintf(work, sizeof work, "pages of %d, prefill", (int)PAGE_LEN[n]);
        r.work = work;
        r.shape = shape;
        r.bar = least[n];
        print_row(&m, &r, ours[n], others);
    }
    bench_free_owned();
}

/* ==== The way back through lists ================================================================================== */

static void bench_backward_lists(void)
{
    static const row lists = {"backward, lists of 64 x 64", "2 x 4096 x 64", "plain time", 0, 1, 0};
    static const row mask = {"backward, mask of 64 x 64", "2 x 4096 x 64", "plain time", 0, 1, 0};
    call masked, listed, plain;
    double pairs = new_lists(&masked, &listed, 2, 4096, 64, 64);
    match m;
    size_t ours, others, limit;

    memset(&m, 0, sizeof m);
    plain = new_call(2, 2, 4096, 4096, 64, 0);
    make_ready_for_backward(&plain, 0);
    make_ready_for_backward(&masked, 0);
    listed.dout = masked.dout;
    listed.grads = masked.grads;
    listed.opts.lse = masked.opts.lse;
    ours = enter(&m, run_backward, &listed, pairs);
    others = enter(&m, run_backward, &masked, pairs);
    limit = enter_one(&m, run_backward, &plain, 2.0 * 4096 * 4096);
    check_same(run_backward, &m.calls[ours + 1], run_backward, &masked, "lists of blocks on two threads");
    check_same(run_backward, &listed, run_backward, &masked, "lists of blocks");
    race(m.c, m.count);
    print_row(&m, &lists, ours, limit);
    print_row(&m, &mask, others, limit);
    bench_free_owned();
}

/* ==== The rows ==================================================================================================== */

static const packed packed_rows[] = {
    {.heads = 12, .size = 32, .by_token = 0, .causal = 0, .quick = 1},
    {.heads = 12, .size = 64, .by_token = 0, .causal = 0},
    {.heads = 12, .size = 32, .by_token = 1, .causal = 0},
    {.heads = 12, .size = 64, .by_token = 1, .causal = 0, .quick = 1},
    {.heads = 12, .size = 32, .by_token = 0, .causal = 1, .quick = 1},
    {.heads = 12, .size = 64, .by_token = 0, .causal = 1, .quick = 1},
    {.heads = 12, .size = 32, .by_token = 1, .causal = 1},
    {.heads = 12, .size = 64, .by_token = 1, .causal = 1},
    {.heads = 1, .size = 64, .with_long = 1, .causal = 0}, /* one head: few tasks, and one text has nearly all work */
    {.heads = 1, .size = 64, .with_long = 1, .causal = 1, .quick = 1},
};

static const paged paged_rows[] = {
    {8, 8, 2048, 64, 1},
    {32, 8, 1024, 128, 0},
};

static const packed backward_rows[] = {
    {.heads = 12, .size = 32, .by_token = 0, .causal = 0, .quick = 1},
    {.heads = 12, .size = 64, .by_token = 1, .causal = 1},
};

static void print_names(const char *part)
{
    printf("\n%-36s%-22s%-12s", part, "heads x keys x size", "against");
    print_column("1 thread");
    print_column("2 threads");
    print_column("over one");
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    size_t i;

    require(attn_pool_new(&two_threads, 2) == ATTN_OK, "attn_pool_new");
    open_tsv();
    printf("Packed, sparse, paged: medians of %d rounds in which the contestants take turns.\n"
           "Speed, or for \"plain time\" the time for each visible pair, relative to what stands under \"against\", on "
           "one thread\nand on two; speed of two threads relative to one.\n",
           ROUNDS);
    if (!*part || strcmp(part, "lists") == 0) {
        print_names("lists");
        bench_lists(64);
        bench_lists(128);
    }
    if (!*part || strcmp(part, "top") == 0) {
        print_names("one query");
        bench_top(8192, 512, 4);
        if (!is_quick())
            bench_top(32768, 2048, 0);
    }
    if (!*part || strcmp(part, "packed") == 0) {
        print_names("texts of 20 to 500 tokens");
        for (i = 0; i < sizeof packed_rows / sizeof packed_rows[0]; i++)
            if (packed_rows[i].quick || !is_quick())
                bench_packed(&packed_rows[i], 0);
    }
    if (!*part || strcmp(part, "pages") == 0) {
        print_names("pages");
        for (i = 0; i < sizeof paged_rows / sizeof paged_rows[0]; i++)
            if (paged_rows[i].quick || !is_quick())
                bench_pages(&paged_rows[i]);
    }
    if (!*part || strcmp(part, "backward") == 0) {
        print_names("backward");
        for (i = 0; i < sizeof backward_rows / sizeof backward_rows[0]; i++)
            if (backward_rows[i].quick || !is_quick())
                bench_packed(&backward_rows[i], 1);
        bench_backward_lists();
    }
    print_bars();
    close_tsv();
    attn_pool_free(&two_threads);
    return 0;
}
