/* How fast attn_sdpa is, as ratios against peers of the same run:

   - the peak: fused multiply-adds alone, with the same vectors on the same core;
   - strips: attention without fusion as one would write it for speed, 128 queries at a time: sgemm of OpenBLAS, a
     vectorised softmax in place, sgemm (sgemv for a single query), never touching keys that causal hides;
   - for one query, reading every key and value once;
   - scaled_dot_product_attention of PyTorch, where ATTN_BENCH_PYTHON names a Python that has it.

   Half of the work counts where causal hides half of the keys. A call whose result is wrong stops the benchmark.
   Bars: 65 % of the peak at 8 heads of 1024 x 1024 x 64 with each vector instruction set, and less than 4 MiB of scratch
   for each thread at length 32768. */
#define _GNU_SOURCE
#include <math.h>

/* An allocator that knows how much is out, and how much that ever was. */
#include <stdlib.h>
static size_t allocated, allocated_most;

static void *counting_malloc(size_t size)
{
    size_t *p = size < (size_t)-1 - 64 ? (size_t *)malloc(size + 64) : NULL;
    if (!p)
        return NULL;
    *p = size;
    allocated += size;
    if (allocated_most < allocated)
        allocated_most = allocated;
    return (char *)p + 64;
}

static void counting_free(void *p)
{
    if (!p)
        return;
    p = (char *)p - 64;
    allocated -= *(size_t *)p;
    free(p);
}

#define ATTN_MALLOC(size) counting_malloc(size)
#define ATTN_FREE(p) counting_free(p)
#define ATTN_THREADS
#define ATTN_IMPLEMENTATION
#include "attn.h"
#include "bench.h"
#include "peer.h"
#include "torch.h"

/* ==== One attention =============================================================================================== */

typedef struct shape {
    size_t heads, kv_heads, queries, keys, size;
    int causal;
    attn_dtype dtype;
    int barred;
} shape;

typedef struct attention {
    shape shape;
    attn_tensor out, q, k, v;
    attn_opts opts;
    attn_ctx ctx;
    float *strip; /* the scores of STRIP queries */
} attention;

enum { STRIP = 128 };

static attn_parallel two_threads; /* the library's pool */

/* The work: two products of one multiplication and one addition for each query, each key that it sees, each number. */
static double flop(const shape *s)
{
    double pairs = (double)s->queries * (double)s->keys;
    if (s->causal)
        pairs = (double)s->queries * ((double)s->queries + 1) / 2;
    return 4 * pairs * (double)s->heads * (double)s->size;
}

static attn_tensor random_tensor(attn_dtype dtype, size_t heads, size_t len, size_t size)
{
    attn_mat m = bench_matrix(ATTN_F32, heads * len, size), copy;
    if (dtype == ATTN_F32)
        return attn_bhld(m.data, ATTN_F32, 1, heads, len, size);
    copy = attn_mat_of(bench_alloc(heads * len * size * 2), dtype, heads * len, size);
    if (attn_mat_copy(copy, m) != ATTN_OK) {
        fprintf(stderr, "bench: attn_mat_copy failed\n");
        exit(1);
    }
    free(m.data);
    return attn_bhld(copy.data, dtype, 1, heads, len, size);
}

static attention new_attention(shape s)
{
    attention a;
    memset(&a, 0, sizeof a);
    a.shape = s;
    a.q = random_tensor(s.dtype, s.heads, s.queries, s.size);
    a.k = random_tensor(s.dtype, s.kv_heads, s.keys, s.size);
    a.v = random_tensor(s.dtype, s.kv_heads, s.keys, s.size);
    a.out = random_tensor(s.dtype, s.heads, s.queries, s.size);
    a.opts.causal = s.causal ? ATTN_CAUSAL_UPPER_LEFT : ATTN_CAUSAL_NONE;
    a.strip = (float *)bench_alloc(STRIP * s.keys * sizeof(float));
    return a;
}

static void free_attention(attention *a)
{
    free(a->q.data);
    free(a->k.data);
    free(a->v.data);
    free(a->out.data);
    free(a->strip);
}

static void run_sdpa(void *arg)
{
    attention *a = (attention *)arg;
    attn_status status = attn_sdpa(a->out, a->q, a->k, a->v, &a->opts, &a->ctx);
    if (status != ATTN_OK) {
        fprintf(stderr, "bench: attn_sdpa: %s\n", attn_status_string(status));
        exit(1);
    }
}

/* Some rows of the result, in plain double precision. */
static void check_attention(const attention *a, const char *who)
{
    double tolerance = a->shape.dtype == ATTN_F32 ? 1e-5 : 1e-3;
    double *weights = (double *)bench_alloc(a->k.len * sizeof(double));
    size_t n, j, d;
    for (n = 0; n < 5; n++) {
        size_t h = n * (a->q.heads - 1) / 4, i = (4 - n) * (a->q.len - 1) / 4;
        size_t seen = a->shape.causal ? i + 1 : a->k.len;
        attn_mat q = attn_head(a->q, 0, h), out = attn_head(a->out, 0, h);
        attn_mat k = attn_head(a->k, 0, h / (a->q.heads / a->k.heads));
        attn_mat v = attn_head(a->v, 0, h / (a->q.heads / a->k.heads));
        double sum = 0;
        for (j = 0; j < seen; j++) {
            double dot = 0;
            for (d = 0; d < q.cols; d++)
                dot += attn_mat_get(q, i, d) * attn_mat_get(k, j, d);
            sum += weights[j] = exp(dot / sqrt((double)q.cols)); /* |dot| is small here */
        }
        for (d = 0; d < v.cols; d++) {
            double mean = 0;
            for (j = 0; j < seen; j++)
                mean += weights[j] / sum * attn_mat_get(v, j, d);
            if (!(fabs(mean - attn_mat_get(out, i, d)) <= tolerance)) {
                fprintf(stderr, "bench: %s: wrong attention\n", who);
                exit(1);
            }
        }
    }
    free(weights);
}

/* ==== Peers ======================================================================================================= */

/* Attention of one strip: `rows` queries from number `first` on, of one head. */
static void run_strip(attention *a, size_t head, size_t first, size_t rows)
{
    size_t size = a->shape.size, kv_head = head / (a->shape.heads / a->shape.kv_heads), i;
    size_t keys = a->shape.causal ? first + rows : a->shape.keys;
    const float *q = (const float *)a->q.data + (head * a->shape.queries + first) * size;
    const float *k = (const float *)a->k.data + kv_head * a->shape.keys * size;
    const float *v = (const float *)a->v.data + kv_head * a->shape.keys * size;
    float *out = (float *)a->out.data + (head * a->shape.queries + first) * size, *scores = a->strip;
    float scale = (float)(1 / sqrt((double)size));
    int m = (int)rows, n = (int)keys, d = (int)size;

    if (rows == 1)
        sgemv(ROW_MAJOR, NO_TRANS, n, d, scale, k, d, q, 1, 0, scores, 1);
    else
        sgemm(ROW_MAJOR, NO_TRANS, TRANS, m, n, d, scale, q, d, k, d, 0, scores, n);
    for (i = 0; i < rows; i++) {
        size_t seen = a->shape.causal ? first + i + 1 : keys;
        peer_softmax_in_place(scores + i * keys, seen, best_vector_bytes());
        memset(scores + i * keys + seen, 0, (keys - seen) * sizeof(float));
    }
    if (rows == 1)
        sgemv(ROW_MAJOR, TRANS, n, d, 1, v, d, scores, 1, 0, out, 1);
    else
        sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, d, n, 1, scores, n, v, d, 0, out, d);
}

static void run_strips(void *arg)
{
    attention *a = (attention *)arg;
    size_t head, first, left;
    for (head = 0; head < a->shape.heads; head++)
        for (first = 0; first < a->shape.queries; first += STRIP) {
            left = a->shape.queries - first;
            run_strip(a, head, first, left < STRIP ? left : STRIP);
        }
}

static void run_read(void *arg)
{
    const attention *a = (const attention *)arg;
    size_t count = a->shape.kv_heads * a->shape.keys * a->shape.size / (a->shape.dtype == ATTN_F32 ? 1 : 2);
    volatile float sum = peer_sum((const float *)a->k.data, count, best_vector_bytes());
    sum = peer_sum((const float *)a->v.data, count, best_vector_bytes());
    (void)sum;
}

static const char torch_script[] =
    "import sys, torch\n"
    "torch.set_num_threads(1)\n"
    "attend = torch.nn.functional.scaled_dot_product_attention\n"
    "with torch.no_grad():\n"
    "    for line in sys.stdin:\n"
    "        if line != 'run\\n':\n"
    "            heads, kv_heads, queries, keys, size, causal, half = map(int, line.split())\n"
    "            dtype = torch.float16 if half else torch.float32\n"
    "            q = torch.randn(1, heads, queries, size, dtype=dtype)\n"
    "            k, v = (torch.randn(1, kv_heads, keys, size, dtype=dtype) for _ in 'kv')\n"
    "            more = {'enable_gqa': True} if heads != kv_heads else {}\n"
    "        attend(q, k, v, is_causal=bool(causal), **more)\n"
    "        print(torch.__version__, flush=True)\n";

static int set_up_torch(const shape *s)
{
    char text[128];
    snprintf(text, sizeof text, "%d %d %d %d %d %d %d\n", (int)s->heads, (int)s->kv_heads, (int)s->queries,
             (int)s->keys, (int)s->size, s->causal, s->dtype == ATTN_F16);
    return ask_torch(text);
}

/* ==== Matches ===================================================================================================== */

/* Who runs for one shape, in this order: attn_sdpa with each instruction set, their peaks, attn_sdpa with the best one
   on two threads; then the peers that there are. */
typedef struct match {
    attention calls[ISA_COUNT + 1];
    peak peaks[ISA_COUNT];
    contestant c[CONTESTANTS];
    size_t isas, count;
    const contestant *calls_first, *peaks_first, *two, *strips, *torch, *read;
} match;

static const contestant *enter(match *t, void (*run)(void *arg), void *arg, double work, int wall)
{
    contestant *c = &t->c[t->count++];
    c->run = run;
    c->arg = arg;
    c->work = work;
    c->wall = wall;
    return c;
}

static void set_up(match *t, const attention *a)
{
    double work = flop(&a->shape);
    size_t i;

    memset(t, 0, sizeof *t);
    for (i = 0; i < ISA_COUNT + 1; i++)
        t->calls[i] = *a;
    for (i = 0; i < ISA_COUNT; i++)
        if (attn_isa_available(ISAS[i]) && lanes_of(ISAS[i], ATTN_F32) > 0) {
            t->calls[t->isas].ctx.isa = ISAS[i];
            t->peaks[t->isas++].isa = ISAS[i];
        }
    t->calls[t->isas].ctx.parallel = two_threads;

    t->calls_first = t->c;
    for (i = 0; i < t->isas; i++)
        enter(t, run_sdpa, &t->calls[i], work, 0);
    t->peaks_first = t->c + t->count;
    for (i = 0; i < t->isas && a->shape.queries > 1; i++)
        enter(t, run_peak, &t->peaks[i], peak_work(&t->peaks[i]), 0);
    t->two = enter(t, run_sdpa, &t->calls[t->isas], work, 1);
    if (sgemm && sgemv && a->shape.dtype == ATTN_F32)
        t->strips = enter(t, run_strips, &t->calls[0], work, 0);
    if (set_up_torch(&a->shape))
        t->torch = enter(t, run_torch, NULL, work, 1);
    if (a->shape.queries == 1)
        t->read = enter(t, run_read, &t->calls[0], work, 0);
}

static void print_times(const contestant *a, const contestant *b)
{
    if (b)
        printf("%9.2f x", ratio(a, b));
    else
        printf("%11s", "-");
}

static void print_match(const match *t, const shape *s)
{
    size_t i;
    printf("%4lu/%-2lu%6lu x%6lu x%4lu  %s %s", (unsigned long)s->heads, (unsigned long)s->kv_heads,
           (unsigned long)s->queries, (unsigned long)s->keys, (unsigned long)s->size,
           s->dtype == ATTN_F32 ? "f32" : "f16", s->causal ? "causal" : "      ");
    for (i = 0; i < t->isas; i++)
        if (t->read)
            printf("%9.0f %%", 100 * ratio(&t->calls_first[i], t->read));
        else
            printf("%9.0f %%", 100 * ratio(&t->calls_first[i], &t->peaks_first[i]));
    print_times(t->calls_first, t->strips);
    print_times(t->calls_first, t->torch);
    print_times(t->two, t->calls_first);
    for (i = 0; i < t->isas && s->barred; i++)
        printf("%s%s of peak, %s", i > 0 ? "; " : "   ", attn_isa_string(t->peaks[i].isa),
               bar(ratio(&t->calls_first[i], &t->peaks_first[i]), 0.65));
    printf("\n");
    fflush(stdout);
}

static void bench_shapes(const char *title, const char *against, const shape *shapes, size_t count)
{
    size_t n, i;
    printf("\n%s: speed relative to\n%39s", title, "heads   queries   keys  size           ");
    for (i = 0; i < ISA_COUNT; i++)
        if (attn_isa_available(ISAS[i]))
            printf("%6s %s", attn_isa_string(ISAS[i]), against);
    printf("%11s%11s%11s   bars\n", "strips", "PyTorch", "2 threads");
    for (n = 0; n < count; n++) {
        attention a = new_attention(shapes[n]);
        match t;
        set_up(&t, &a);
        for (i = 0; i < t.isas; i++) {
            run_sdpa(&t.calls[i]);
            check_attention(&a, attn_isa_string(t.peaks[i].isa));
        }
        if (t.strips) {
            run_strips(&t.calls[0]);
            check_attention(&a, "strips");
        }
        if (t.isas > 0) {
            race(t.c, t.count);
            print_match(&t, &shapes[n]);
        }
        free_attention(&a);
    }
}

/* ==== Memory ====================================================================================================== */

/* One whole run at length 32768, on two threads, by the clock on the wall. */
static void bench_memory(void)
{
    static const shape long_one = {8, 8, 32768, 32768, 64, 0, ATTN_F32, 0};
    attention a = new_attention(long_one);
    peak p = {ATTN_ISA_BEST, ATTN_F32};
    size_t i, bytes[2] = {0, 0};
    double start, seconds, peak_seconds;

    printf("\nmemory: 8 heads of 32768 x 32768 x 64, f32; the scores alone would be %.0f GiB\n",
           8.0 * 32768 * 32768 * 4 / (1 << 30));
    for (i = 0; i < 2; i++) {
        if (i == 1)
            a.ctx.parallel = two_threads;
        if (attn_sdpa_scratch(&bytes[i], a.out, a.q, a.k, a.v, &a.opts, &a.ctx) != ATTN_OK)
            exit(1);
        printf("attn_sdpa_scratch, %d thread%s: %.0f KiB   for each thread less than 4 MiB, %s\n", (int)i + 1,
               i ? "s" : " ", (double)bytes[i] / 1024, verdict(bytes[i] < (i + 1) * (4u << 20)));
    }
    allocated_most = allocated;
    start = seconds_now(1);
    run_sdpa(&a);
    seconds = seconds_now(1) - start;
    check_attention(&a, "length 32768");
    for (i = 0; i < ISA_COUNT && p.isa == ATTN_ISA_BEST; i++)
        if (attn_isa_available(ISAS[i]))
            p.isa = ISAS[i];
    printf("allocated at most: %.0f KiB\n", (double)allocated_most / 1024);
    if (lanes_of(p.isa, ATTN_F32) > 0) {
        start = seconds_now(0);
        for (i = 0; i < 100; i++)
            run_peak(&p);
        peak_seconds = (seconds_now(0) - start) / 100;
        printf("the run on two threads: %.1f s, %.0f %% of twice the peak\n", seconds,
               50 * flop(&long_one) / seconds / (peak_work(&p) / peak_seconds));
    }
    free_attention(&a);
}

int main(void)
{
    static const shape prefill[] = {
        {8, 8, 512, 512, 64, 0, ATTN_F32, 0},    {8, 8, 1024, 1024, 64, 0, ATTN_F32, 1},
        {8, 8, 2048, 2048, 64, 0, ATTN_F32, 0},  {8, 8, 512, 512, 64, 1, ATTN_F32, 0},
        {8, 8, 2048, 2048, 64, 1, ATTN_F32, 0},  {8, 8, 2048, 2048, 128, 0, ATTN_F32, 0},
        {8, 8, 2048, 2048, 128, 1, ATTN_F32, 0}, {12, 12, 128, 128, 64, 0, ATTN_F32, 0},
        {8, 8, 16, 16, 64, 0, ATTN_F32, 0},      {8, 2, 1024, 1024, 64, 0, ATTN_F32, 0},
        {8, 8, 1024, 1024, 64, 0, ATTN_F16, 0},  {8, 8, 1024, 1024, 64, 1, ATTN_F16, 0},
    };
    static const shape decode[] = {
        {8, 8, 1, 4096, 64, 0, ATTN_F32, 0},
        {32, 8, 1, 4096, 128, 0, ATTN_F32, 0},
        {8, 8, 1, 4096, 64, 0, ATTN_F16, 0},
    };

    printf("Ratios of speeds, medians of %d rounds in which the contestants take turns, on one thread.\n", ROUNDS);
    if (attn_pool_new(&two_threads, 2) != ATTN_OK) {
        fprintf(stderr, "bench: no threads\n");
        return 1;
    }
    load_openblas();
    load_torch(torch_script, "1 1 3 3 4 0 0\n");
    bench_shapes("attn_sdpa", "peak", prefill, sizeof prefill / sizeof prefill[0]);
    bench_shapes("attn_sdpa, one query", "read", decode, sizeof decode / sizeof decode[0]);
    bench_memory();
    attn_pool_free(&two_threads);
    stop_torch();
    printf("\n%d of %d bars met%s\n", bars_met, bars, bars_met < bars ? ", some MISSED" : "");
    return 0;
}
