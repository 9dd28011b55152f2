/* How fast attn_sdpa of one query over a cache is, and of a few: ratios, each with its bar, against

   - the loop that everybody writes; for AVX2 and VECTOR128, to which attn_sdpa can be held, compiled for such CPUs;
   - the read: all keys and values once, with as many streams as are fastest;
   - the same call with another layout, type or number of queries, without pages, or without batch_invariant;
   - an older attn.h, whose structs have the same members but for new ones at the end of attn_ctx: ATTN_BENCH_OTHER
     names its libbench.so.

   In cache, everybody reads the same numbers again and again; from 8192 keys on, other memory is read before each turn.
   A call whose result is not the loop's stops the benchmark. */
#define _GNU_SOURCE
#include <math.h>
#include "library.h"
#include "bench.h"

/* ==== One call ==================================================================================================== */

typedef struct version {
    attn_status (*sdpa)(attn_tensor, attn_tensor, attn_tensor, attn_tensor, const attn_opts *, const attn_ctx *);
    attn_status (*cache)(attn_tensor, attn_tensor, const attn_kv_cache *, const attn_opts *, const attn_ctx *);
    attn_status (*pages)(attn_tensor, attn_tensor, const attn_kv_pages *, const attn_opts *, const attn_ctx *);
} version;

static const version this_version = {attn_sdpa, attn_kv_cache_attend, attn_kv_pages_attend};
static version other_version; /* all NULL: none */

typedef struct call {
    const version *version;
    const char *layout; /* the end of its name: nothing, or ", [L,H,D]" */
    attn_tensor out, q, k, v;
    attn_kv_cache cache; /* this, or pages, if it is one, in place of k and v, whose numbers it has */
    attn_kv_pages pages;
    attn_opts opts;
    attn_ctx ctx;
    peer_attention *loop;
    reading read[2];           /* of what the call reads, on one thread and on two */
    const struct call *beside; /* run before each turn, for what caches hold then */
} call;

enum { KEPT = 8, LONG = 32768, QUERIES = 8 * 1024 * 128 }; /* heads and tokens from memory; numbers of queries */

/* The numbers of all calls: each takes the first ones. All types but I8 hold them. */
static float *keys, *values, *queries, *out, *right;
static reading much;              /* memory that pushes them out of caches */
static float scores[2][LONG];     /* of the loop, on each thread */
static char scratch[16 << 20];    /* of attn.h, which so allocates as little as the loop */
static attn_parallel two_threads; /* the library's pool */

static void run_call(void *arg)
{
    const call *c = (const call *)arg;
    attn_status status = c->pages.table    ? c->version->pages(c->out, c->q, &c->pages, &c->opts, &c->ctx)
                         : c->cache.k.data ? c->version->cache(c->out, c->q, &c->cache, &c->opts, &c->ctx)
                                           : c->version->sdpa(c->out, c->q, c->k, c->v, &c->opts, &c->ctx);
    require(status == ATTN_OK, attn_status_string(status));
}

static void loop_part(const call *c, size_t part, size_t parts)
{
    size_t heads = c->q.heads / parts, kv_heads = c->k.heads / parts, stride = (size_t)c->k.head_stride, i;
    const float *k = keys + part * kv_heads * stride, *v = values + part * kv_heads * stride;
    for (i = 0; i < c->q.len; i++) {
        size_t row = (part * heads * c->q.len + i) * c->q.dim, hidden = c->opts.causal ? c->q.len - i - 1 : 0;
        c->loop(out + row, queries + row, k, v, scores[part], heads, kv_heads, c->k.len - hidden, c->q.dim,
                c->q.len * c->q.dim, stride, (size_t)c->k.len_stride);
    }
}

static void loop_task(void *arg, size_t index)
{
    loop_part((const call *)arg, index, 2);
}

static void run_loop(void *arg)
{
    if (((const call *)arg)->ctx.parallel.run)
        two_threads.run(two_threads.user, 2, loop_task, arg);
    else
        loop_part((const call *)arg, 0, 1);
}

static void push_out(void *arg)
{
    (void)arg;
    run_read(&much);
}

static void run_beside(void *arg)
{
    const call *c = (const call *)arg;
    call beside = *c->beside;
    size_t i;
    beside.ctx.parallel = c->ctx.parallel;
    for (i = 0; i < LONG; i += beside.k.len)
        run_call(&beside);
}

static void run_reading(void *arg)
{
    call *c = (call *)arg;
    run_read(&c->read[c->ctx.parallel.run != NULL]);
}

/* ==== A row ======================================================================================================= */

typedef struct row {
    void (*bench)(const struct row *r);
    const char *work;
    size_t heads, kv_heads, queries, size, lengths[4], quick; /* quick: so many of the lengths in the quick run */
    size_t keys;                                              /* one of them */
    double bar;
    attn_isa isa;
    peer_attention *loop; /* NULL: for this CPU */
    attn_dtype dtype;     /* of keys and values */
} row;

/* Number `ours` beside number `others`: its speed, or where `most` its time; beside itself the time alone. Where number
   `loop`, if not 0, is faster than the bar, that is 0.95 of it. */
typedef struct line {
    char against[40];
    size_t ours, others, loop;
    double bar;
    const char *unit;
    int most;
} line;

/* Those who take turns, each on one thread and, the next one, on two; and what is said of them. */
typedef struct match {
    const row *row;
    call calls[CONTESTANTS];
    contestant c[CONTESTANTS];
    line lines[CONTESTANTS];
    size_t count, line_count;
} match;

/* by_token: keys and values as [L,H,D]. Notes what the loop makes of it. */
static call new_call(const row *r, int by_token)
{
    attn_tensor (*view)(const void *data, attn_dtype dtype, size_t B, size_t a, size_t b, size_t D) =
        by_token ? attn_blhd : attn_bhld;
    size_t first = by_token ? r->keys : r->kv_heads, second = by_token ? r->kv_heads : r->keys;
    call c;
    memset(&c, 0, sizeof c);
    c.version = &this_version;
    c.layout = by_token ? ", [L,H,D]" : "";
    c.q = attn_bhld(queries, ATTN_F32, 1, r->heads, r->queries, r->size);
    c.out = attn_bhld(out, ATTN_F32, 1, r->heads, r->queries, r->size);
    c.k = view(keys, ATTN_F32, 1, first, second, r->size);
    c.v = view(values, ATTN_F32, 1, first, second, r->size);
    c.opts.causal = r->queries < r->keys ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
    c.ctx.scratch = scratch;
    c.ctx.scratch_size = sizeof scratch;
    c.ctx.isa = r->isa;
    c.loop = r->loop ? r->loop : peer_attend;
    run_loop(&c);
    memcpy(right, out, r->heads * r->queries * r->size * sizeof(float));
    return c;
}

static line *add_line(match *m, const char *against, size_t ours, size_t others, double bar)
{
    line *l = &m->lines[m->line_count++];
    snprintf(l->against, sizeof l->against, "%s%s", against, *against == '[' ? "" : m->calls[ours].layout);
    l->ours = ours;
    l->others = others;
    l->bar = bar;
    l->unit = "x";
    return l;
}

/* On one thread and on two, once the result is right. */
static size_t enter(match *m, void (*run)(void *arg), const call *c)
{
    size_t first = m->count, numbers = c->q.heads * c->q.len * c->q.dim, n, i;
    double tolerance = c->pages.k.dtype == ATTN_I8 || c->cache.k.dtype == ATTN_I8 ? 1e-3 : 1e-5;
    for (n = 0; n < 2; n++, m->count++) {
        call *own = &m->calls[m->count];
        require(m->count < CONTESTANTS, "room for contestants");
        *own = *c;
        if (n == 1)
            own->ctx.parallel = two_threads;
        m->c[m->count] = (contestant){.run = run, .arg = own, .work = 1, .wall = n == 1};
        m->c[m->count].before = c->beside ? run_beside : m->row->keys >= LONG / 4 ? push_out : NULL;
        memset(out, 0xff, numbers * sizeof(float)); /* NaN */
        run(own);
        for (i = 0; i < numbers && run != run_reading; i++)
            require(fabs((double)out[i] - (double)right[i]) <= tolerance, m->row->work);
    }
    return first;
}

/* The same of both versions. bar: over the other one. */
static size_t enter_call(match *m, const call *c, double bar)
{
    size_t first = enter(m, run_call, c);
    call other = *c;
    other.version = &other_version;
    if (other_version.sdpa)
        add_line(m, "other version", first, enter(m, run_call, &other), bar);
    return first;
}

static size_t enter_read(match *m, const call *c)
{
    static reading best[2]; /* the streams, which are found once */
    const attn_tensor *k = c->cache.k.data ? &c->cache.k : &c->k, *v = c->cache.k.data ? &c->cache.v : &c->v;
    size_t bytes = c->k.heads * c->k.len * c->k.dim * element_bytes(k->dtype), n;
    call reader = *c;
    for (n = 0; n < 2; n++) {
        reader.read[n] = (reading){k->data, v->data, bytes, best[n].streams, best[n].ahead, n ? &two_threads : NULL};
        if (best[n].streams == 0)
            best[n] = reader.read[n] = best_reading(reader.read[n]);
    }
    return enter(m, run_reading, &reader);
}

/* Races and prints. */
static void finish(match *m)
{
    const row *r = m->row;
    char heads[24], shape[64];
    const line *l;
    size_t n;
    race(m->c, m->count);
    snprintf(heads, sizeof heads, r->heads == r->kv_heads ? "%d" : "%d/%d", (int)r->heads, (int)r->kv_heads);
    snprintf(shape, sizeof shape, "%s x %d x %d", heads, (int)r->keys, (int)r->size);
    for (l = m->lines; l < m->lines + m->line_count; l++) {
        printf("%-30s%-20s%-23s", r->work, shape, l->against);
        for (n = 0; n < 2; n++) {
            const contestant *ours = &m->c[l->ours + n], *others = &m->c[l->others + n];
            double loop = l->loop ? ratio(&m->c[l->loop + n], others) : 0;
            figure f = {n == 0 ? "1 thread" : "2 threads", l->against, l->unit, 0, l->bar, l->most};
            f.value = l->most ? ratio(others, ours) : ratio(ours, others);
            if (ours == others)
                f.value = 1e6 * median(ours->seconds[n == 0 ? CPU : WALL]);
            f.bar = loop > f.bar ? 0.95 * loop : f.bar;
            print_figure(r->work, shape, &f);
        }
        printf("\n");
    }
    fflush(stdout);
    bench_free_owned();
}

/* ==== Kinds of rows =============================================================================================== */

static double logs[3]; /* sums: of logarithms of ratios to the loop, on one thread and on two; of how many */

/* Both layouts beside the loop. */
static void bench_loop(const row *r)
{
    match m = {.row = r};
    size_t ours[2], loops[2], n;
    for (n = 0; n < 2; n++) {
        call c = new_call(r, (int)n);
        ours[n] = enter_call(&m, &c, 0);
        loops[n] = enter(&m, run_loop, &c);
        add_line(&m, "plain loop", ours[n], loops[n], r->bar);
    }
    add_line(&m, "[H,L,D]", ours[1], ours[0], r->keys < LONG && r->isa == ATTN_ISA_BEST ? 0.75 : 0);
    finish(&m);
    for (n = 0; n < 4; n++)
        logs[n % 2] += log(ratio(&m.c[ours[n / 2] + n % 2], &m.c[loops[n / 2] + n % 2]));
    logs[2] += 2;
}

/* Of the rows before this one. */
static void bench_mean(const row *r)
{
    size_t n;
    printf("%-30s%-20s%-23s", r->work, "geometric", "plain loop");
    for (n = 0; n < 2 && logs[2] > 0; n++) {
        figure f = {n == 0 ? "1 thread" : "2 threads", "plain loop", "x", exp(logs[n] / logs[2]), r->bar, 0};
        print_figure(r->work, "geometric", &f);
    }
    printf("\n");
}

/* Both layouts beside the read, over the same memory. Of I8 they are a cache, and one page of [len][H][D], whose rows
   lie elsewhere: all have one scale. bar: over the loop. */
static void bench_memory(const row *r)
{
    match m = {.row = r};
    attn_kv_cache cache = {0};
    size_t read = 0, ours, n;
    for (n = 0; n < 2; n++) {
        call f32 = new_call(r, (int)n), c = f32;
        line *l;
        if (r->dtype != ATTN_F32 && n == 0)
            cache = new_cache(c.k, c.v, r->dtype);
        if (r->dtype == ATTN_I8 && n == 0)
            c.cache = cache;
        else if (r->dtype == ATTN_I8) {
            c.pages = new_pages(c.k, c.v, r->keys, r->dtype, 1);
            c.pages.k.data = cache.k.data;
            c.pages.v.data = cache.v.data;
        } else if (r->dtype != ATTN_F32) {
            c.k.data = cache.k.data;
            c.v.data = cache.v.data;
            c.k.dtype = c.v.dtype = r->dtype;
        }
        ours = enter_call(&m, &c, 0);
        read = n == 0 ? enter_read(&m, &c) : read;
        l = add_line(&m, "read", ours, read, r->dtype == ATTN_I8 ? 0 : n == 0 ? 0.8 : 0.65);
        l->unit = "%";
        if (r->dtype == ATTN_F32) {
            l->loop = enter(&m, run_loop, &c);
            add_line(&m, "plain loop", ours, l->loop, r->bar);
        } else if (r->dtype == ATTN_I8)
            add_line(&m, "f32 time", ours, enter(&m, run_call, &f32), 0.45)->most = 1;
    }
    finish(&m);
}

static void bench_pages(const row *r)
{
    static const size_t lengths[] = {16, 64, 128};
    static const double least[] = {0.8, 0.95, 0.97};
    size_t n;
    for (n = 0; n < 3; n++) {
        char work[48];
        row named = *r;
        match m = {.row = &named};
        call c = new_call(r, 0), paged = c;
        snprintf(work, sizeof work, "pages of %d%s", (int)lengths[n], r->work + strlen("pages"));
        named.work = work;
        c.cache = new_cache(c.k, c.v, r->dtype);
        paged.pages = new_pages(c.k, c.v, lengths[n], r->dtype, 0);
        paged.beside = r->keys < LONG ? &paged : &c;
        c.beside = r->keys < LONG ? &c : &paged;
        add_line(&m, "cache", enter_call(&m, &paged, 0), enter(&m, run_call, &c), r->dtype == ATTN_F32 ? least[n] : 0);
        finish(&m);
    }
}

/* The newest tokens, all of which ask. bar: over the other version. */
static void bench_queries(const row *r)
{
    row alone = *r;
    match m = {.row = r};
    size_t one, ours;
    call c;
    alone.queries = 1;
    c = new_call(&alone, 0);
    one = enter(&m, run_call, &c);
    c = new_call(r, 0);
    ours = enter_call(&m, &c, r->bar);
    add_line(&m, "time of one query", ours, one, 0)->most = 1;
    add_line(&m, "read", ours, enter_read(&m, &c), 0)->unit = "%";
    add_line(&m, "plain loop", ours, enter(&m, run_loop, &c), 1);
    finish(&m);
}

/* Without scratch, as small programs call it. */
static void bench_call(const row *r)
{
    match m = {.row = r};
    call c = new_call(r, 0);
    line *us;
    c.ctx.scratch_size = 0;
    c.ctx.scratch = NULL;
    enter_call(&m, &c, 0.38 / 0.32);
    us = add_line(&m, "", 0, 0, r->bar);
    us->unit = "us";
    us->most = 1;
    finish(&m);
}

static void bench_invariant(const row *r)
{
    match m = {.row = r};
    call c = new_call(r, 0), invariant = c;
    double bar = r->queries > 1 && is_zen4() ? 0.85 : r->bar;
    invariant.ctx.batch_invariant = 1;
    add_line(&m, "default", enter_call(&m, &invariant, 0), enter(&m, run_call, &c), bar);
    finish(&m);
}

/* ==== The rows ==================================================================================================== */

#define CACHED(h, d) bench_loop, "one query, in cache", h, h, 1, d
#define SHARED(h) bench_loop, "shared keys", h, KEPT, 1, 128
#define AVX2(h, d) bench_loop, "AVX2, in cache", h, h, 1, d
#define VECTOR128(h, d) bench_loop, "VECTOR128, in cache", h, h, 1, d
#define MEMORY(h, type) bench_memory, type ", from memory", h, KEPT, 1, 128
#define PAGES(more) bench_pages, "pages, one query" more, 32, KEPT, 1, 128
#define NEWEST(n) bench_queries, #n " queries", 64, 8, n, 128
#define INVARIANT(work, h, kv, n, d) bench_invariant, "batch_invariant, " work, h, kv, n, d

static const row rows[] = {
    {CACHED(16, 64), {64, 300, 1024, 4096}, 2, .bar = 1},
    {CACHED(8, 96), {64, 300, 1024, 4096}, 0, .bar = 1},
    {CACHED(8, 128), {64, 300, 1024, 4096}, 2, .bar = 1},
    {CACHED(8, 256), {64, 300, 1024, 4096}, 0, .bar = 1},
    {bench_mean, "one query, in cache, mean", 0, 0, 0, 0, {1}, 1, .bar = 1.15},
    {SHARED(24), {300, 4096, LONG}, 0, .bar = 1.4},
    {SHARED(32), {300, 4096}, 1, .bar = 1.4}, /* from memory below */
    {SHARED(64), {300, 4096, LONG}, 0, .bar = 1.4},
    {AVX2(16, 64), {300, 1500}, 1, .bar = 1, .isa = ATTN_ISA_AVX2, .loop = peer_attend_avx2},
    {AVX2(8, 128), {300, 1500}, 1, .bar = 1, .isa = ATTN_ISA_AVX2, .loop = peer_attend_avx2},
    {VECTOR128(16, 64), {300, 1500}, 1, .bar = 1, .isa = ATTN_ISA_VECTOR128, .loop = peer_attend_plain},
    {VECTOR128(8, 128), {300, 1500}, 1, .bar = 1, .isa = ATTN_ISA_VECTOR128, .loop = peer_attend_plain},
    {MEMORY(8, "f32"), {LONG}, 1, .bar = 0},
    {MEMORY(32, "f32"), {LONG}, 1, .bar = 1.4},
    {MEMORY(8, "f16"), {LONG}, 0, .dtype = ATTN_F16},
    {MEMORY(32, "f16"), {LONG}, 0, .dtype = ATTN_F16},
    {MEMORY(8, "bf16"), {LONG}, 0, .dtype = ATTN_BF16},
    {MEMORY(32, "bf16"), {LONG}, 0, .dtype = ATTN_BF16},
    {MEMORY(8, "i8"), {LONG}, 0, .dtype = ATTN_I8},
    {MEMORY(32, "i8"), {LONG}, 1, .dtype = ATTN_I8},
    {PAGES(""), {4096, LONG}, 1, .dtype = ATTN_F32},
    {PAGES(", bf16"), {4096}, 0, .dtype = ATTN_BF16},
    {PAGES(", i8"), {4096}, 0, .dtype = ATTN_I8},
    {NEWEST(2), {8192}, 0, .bar = 1.3},
    {NEWEST(4), {8192}, 1, .bar = 1.3},
    {NEWEST(8), {8192}, 0, .bar = 0.98}, /* as fast, but for what two equal contestants differ by; so below */
    {bench_call, "one call", 1, 1, 3, 3, {3}, 1, .bar = 0.32},
    {INVARIANT("one query", 16, 16, 1, 64), {300}, 1, .bar = 0.98},
    {INVARIANT("one query", 32, 8, 1, 128), {4096}, 0, .bar = 0.98},
    {INVARIANT("prefill", 8, 8, 1024, 64), {1024}, 1, .bar = 0.55},
    {INVARIANT("prefill", 8, 8, 1024, 128), {1024}, 0, .bar = 0.55},
};

static void load_other(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *functions[3];
    require(library != NULL, path);
    functions[0] = dlsym(library, "attn_sdpa");
    functions[1] = dlsym(library, "attn_kv_cache_attend");
    functions[2] = dlsym(library, "attn_kv_pages_attend");
    require(functions[0] && functions[1] && functions[2], path);
    memcpy(&other_version, functions, sizeof other_version);
}

int main(void)
{
    const char *other = getenv("ATTN_BENCH_OTHER");
    size_t kept = (size_t)KEPT * LONG * 128, all = 4 * kept + 3 * QUERIES, i, n;

    require(attn_pool_new(&two_threads, 2) == ATTN_OK, "attn_pool_new");
    if (other && *other)
        load_other(other);
    open_tsv();
    bars_are_for_all = 1;
    keys = (float *)bench_alloc(all * sizeof *keys);
    values = keys + kept;
    queries = values + kept;
    out = queries + QUERIES;
    right = out + QUERIES;
    for (i = 0; i < all - 2 * kept; i++) /* numbers from -1 to 1 that bf16 holds, of each row of 128 the first 1 */
        keys[i] = i % 128 > 0 ? (float)random_below(129) / 64 - 1 : 1;
    much = (reading){right + QUERIES, NULL, 2 * kept * sizeof *keys, 4, 1024, &two_threads};
    printf("One query over a cache, and a few, on ");
    print_cpu();
    printf("Speed, or of a time that, relative to what stands under \"against\": medians of %d rounds in which the "
           "contestants take\nturns. Keys and values are [H,L,D] unless it says otherwise. Of two threads with the "
           "plain loop, compiled with\n%s, each has half of the heads.\n\n",
           ROUNDS, peer_loop_flags());
    printf("%-30s%-20s%-23s%8s %-14s%8s\n", "work", "heads x keys x size", "against", "1 thread", "", "2 threads");
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (n = 0; n < (is_quick() ? rows[i].quick : 4) && rows[i].lengths[n] > 0; n++) {
            row r = rows[i];
            r.keys = is_quick() && r.lengths[n] == LONG ? LONG / 4 : r.lengths[n];
            if (is_wanted(r.work) && attn_isa_available(r.isa))
                r.bench(&r);
        }
    print_bars();
    close_tsv();
    free(keys);
    attn_pool_free(&two_threads);
    return 0;
}
