/* attn_sdpa beside the plain loop, for any target that has a C compiler: targets.sh builds and runs this for many.

       bench_targets [LENGTH]                 ratios of speeds; prefill has LENGTH keys (1024)
       bench_targets LENGTH check             whether all contestants have the same results
       bench_targets LENGTH WORK CONTESTANT RUNS [seconds]
                                              runs one contestant, for counts of instructions, or says how long it took

   Contestants run in turn, ROUNDS times over; a figure is the median of the ratios of the rounds. attn_sdpa has its
   scratch memory as the loop has its scores: what malloc costs is not measured. Only what WASI has too is needed. */
#define _POSIX_C_SOURCE 200112L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "attn.h"
#include "peer_targets.h"

enum { ROUNDS = 11, SIZE_MOST = 64 };

/* ==== Contestants ================================================================================================= */

enum { SCALAR, VECTOR128, AVX2, BEST, PLAIN, FAST, CONTESTANTS };
static const char *const CONTESTANT_NAMES[] = {"scalar", "vector128", "avx2", "best", "plain", "fast"};
static const attn_isa ISAS[] = {ATTN_ISA_SCALAR, ATTN_ISA_VECTOR128, ATTN_ISA_AVX2, ATTN_ISA_BEST};

typedef struct work {
    const char *name;
    attn_dtype dtype;
    peer_shape shape;
} work;

/* What the work is about; a length of 0 is that of the command line. */
static const work WORKS[] = {
    {"prefill", ATTN_F32, {8, 0, 0, 64}},        {"prefill_64", ATTN_F32, {1, 64, 64, 64}},
    {"prefill_16", ATTN_F32, {1, 16, 16, 32}},   {"query", ATTN_F32, {1, 1, 1024, 64}},
    {"query_128", ATTN_F32, {1, 1, 128, 64}},    {"query_8_heads", ATTN_F32, {8, 1, 1024, 64}},
    {"prefill_f64", ATTN_F64, {8, 0, 0, 64}},    {"prefill_64_f64", ATTN_F64, {1, 64, 64, 64}},
    {"query_f64", ATTN_F64, {1, 1, 1024, 64}},
};
enum { WORK_COUNT = sizeof WORKS / sizeof WORKS[0] };

typedef struct arrays {
    void *out, *q, *k, *v, *scores, *scratch;
} arrays;

enum { SCRATCH = 4 << 20 };

static void require(int fine, const char *what)
{
    if (fine)
        return;
    fflush(stdout);
    fprintf(stderr, "bench_targets: %s failed\n", what);
    exit(1);
}

static int available(int contestant)
{
    return contestant >= PLAIN || attn_isa_available(ISAS[contestant]);
}

static void run(const work *w, const arrays *a, int contestant)
{
    const peer_shape *s = &w->shape;
    attn_opts opts = {0};
    attn_ctx ctx = {0};

    if (contestant == PLAIN && w->dtype == ATTN_F32)
        plain_f32((float *)a->out, (float *)a->q, (float *)a->k, (float *)a->v, (float *)a->scores, s);
    else if (contestant == PLAIN)
        plain_f64((double *)a->out, (double *)a->q, (double *)a->k, (double *)a->v, (double *)a->scores, s);
    else if (contestant == FAST && w->dtype == ATTN_F32)
        fast_f32((float *)a->out, (float *)a->q, (float *)a->k, (float *)a->v, (float *)a->scores, s);
    else if (contestant == FAST)
        fast_f64((double *)a->out, (double *)a->q, (double *)a->k, (double *)a->v, (double *)a->scores, s);
    else {
        ctx.isa = ISAS[contestant];
        ctx.scratch = a->scratch;
        ctx.scratch_size = SCRATCH;
        require(attn_sdpa(attn_bhld(a->out, w->dtype, 1, s->heads, s->queries, s->size),
                          attn_bhld(a->q, w->dtype, 1, s->heads, s->queries, s->size),
                          attn_bhld(a->k, w->dtype, 1, s->heads, s->keys, s->size),
                          attn_bhld(a->v, w->dtype, 1, s->heads, s->keys, s->size), &opts, &ctx) == ATTN_OK,
                "attn_sdpa");
    }
}

/* ==== Data ======================================================================================================== */

static double number_at(const void *x, attn_dtype dtype, size_t i)
{
    return dtype == ATTN_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* Room for `count` numbers on a multiple of 64 bytes: between -1 and 1, the same ones in every run of the program. It
   is never freed. */
static void *numbers(attn_dtype dtype, size_t count)
{
    char *memory = (char *)malloc(count * 8 + 64);
    static unsigned long state = 12345;
    size_t i;
    require(memory != NULL, "memory");
    memory += 64 - (size_t)memory % 64;
    for (i = 0; i < count; i++) {
        double x;
        state = (state * 1664525u + 1013904223u) & 0xffffffffu;
        x = (double)(state >> 8) / (1 << 23) - 1;
        if (dtype == ATTN_F32)
            ((float *)(void *)memory)[i] = (float)x;
        else
            ((double *)(void *)memory)[i] = x;
    }
    return memory;
}

static arrays arrays_of(const work *w)
{
    const peer_shape *s = &w->shape;
    arrays a;
    a.out = numbers(w->dtype, s->heads * s->queries * s->size);
    a.q = numbers(w->dtype, s->heads * s->queries * s->size);
    a.k = numbers(w->dtype, s->heads * s->keys * s->size);
    a.v = numbers(w->dtype, s->heads * s->keys * s->size);
    a.scores = numbers(w->dtype, s->keys);
    a.scratch = malloc(SCRATCH);
    require(a.scratch != NULL, "memory");
    return a;
}

/* Every contestant has the result of the plain loop. */
static void check(const work *w, const arrays *a)
{
    size_t count = w->shape.heads * w->shape.queries * w->shape.size, i;
    double tolerance = w->dtype == ATTN_F32 ? 1e-5 : 1e-13;
    void *expected = numbers(w->dtype, count);
    arrays b = *a;
    int c;

    b.out = expected;
    run(w, &b, PLAIN);
    for (c = 0; c < CONTESTANTS; c++) {
        if (!available(c) || c == PLAIN)
            continue;
        memset(a->out, 0, count * (w->dtype == ATTN_F32 ? 4 : 8));
        run(w, a, c);
        for (i = 0; i < count; i++)
            require(fabs(number_at(a->out, w->dtype, i) - number_at(expected, w->dtype, i)) <= tolerance,
                    CONTESTANT_NAMES[c]);
    }
}

/* ==== Time ======================================================================================================== */

#ifndef CLOCK_THREAD_CPUTIME_ID /* newer WASI */
#define CLOCK_THREAD_CPUTIME_ID CLOCK_MONOTONIC
#endif

/* The time of this thread, which other programs on the machine do not add to. */
static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of one run. */
static double take_turn(const work *w, const arrays *a, int contestant, long runs)
{
    double start = seconds_now();
    long i;
    for (i = 0; i < runs; i++)
        run(w, a, contestant);
    return (seconds_now() - start) / (double)runs;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many times as fast a is as b; 0 if one of them is not there. */
static double ratio(double seconds[][ROUNDS], int a, int b)
{
    double r[ROUNDS];
    int i;
    if (!available(a) || !available(b))
        return 0;
    for (i = 0; i < ROUNDS; i++)
        r[i] = seconds[b][i] / seconds[a][i];
    qsort(r, ROUNDS, sizeof r[0], compare_doubles);
    return r[ROUNDS / 2];
}

/* As many runs as take 2 milliseconds, at least one. */
static long runs_in_a_turn(const work *w, const arrays *a, int contestant)
{
    long runs = 1;
    take_turn(w, a, contestant, 1);
    while (take_turn(w, a, contestant, runs) * (double)runs < 0.002)
        runs *= 2;
    return runs;
}

static const int RATIOS[][2] = {{BEST, PLAIN},       {BEST, FAST},        {VECTOR128, PLAIN}, {VECTOR128, FAST},
                                {VECTOR128, SCALAR}, {VECTOR128, AVX2}};
enum { RATIO_COUNT = sizeof RATIOS / sizeof RATIOS[0] };

static void time_work(const work *w, const arrays *a)
{
    static double seconds[CONTESTANTS][ROUNDS];
    long runs[CONTESTANTS];
    int round, c;
    size_t i;

    for (c = 0; c < CONTESTANTS; c++)
        runs[c] = available(c) ? runs_in_a_turn(w, a, c) : 0;
    for (round = 0; round < ROUNDS; round++)
        for (c = 0; c < CONTESTANTS; c++)
            if (available(c))
                seconds[c][round] = take_turn(w, a, c, runs[c]);
    printf("%-16s%2lu x%5lu x%3lu", w->name, (unsigned long)w->shape.heads, (unsigned long)w->shape.keys,
           (unsigned long)w->shape.size);
    for (i = 0; i < RATIO_COUNT; i++) {
        double r = ratio(seconds, RATIOS[i][0], RATIOS[i][1]);
        if (r > 0)
            printf("%11.2f", r);
        else
            printf("%11s", "-");
    }
    printf("\n");
    fflush(stdout);
}

/* ==== Program ===================================================================================================== */

static work with_length(work w, size_t length)
{
    if (w.shape.queries == 0)
        w.shape.queries = w.shape.keys = length;
    return w;
}

/* Runs one contestant as often as `runs` says; 2 if it is not there. */
static int run_one(size_t length, const char *name, const char *contestant, long runs, int say_seconds)
{
    size_t i;
    int c;
    for (i = 0; i < WORK_COUNT; i++)
        for (c = 0; c < CONTESTANTS; c++)
            if (strcmp(WORKS[i].name, name) == 0 && strcmp(CONTESTANT_NAMES[c], contestant) == 0) {
                work w = with_length(WORKS[i], length);
                arrays a = arrays_of(&w);
                double seconds;
                if (!available(c))
                    return 2;
                take_turn(&w, &a, c, 1); /* what is compiled or found out on first use */
                seconds = take_turn(&w, &a, c, runs);
                if (say_seconds)
                    printf("%g\n", seconds);
                return 0;
            }
    require(0, "finding such a case or contestant");
    return 1;
}

static void print_head(void)
{
    size_t i;
    printf("%-31s", "heads x keys x size");
    for (i = 0; i < RATIO_COUNT; i++)
        printf("%11s", CONTESTANT_NAMES[RATIOS[i][0]]);
    printf("\n%-31s", "");
    for (i = 0; i < RATIO_COUNT; i++)
        printf("   / %-6.6s", CONTESTANT_NAMES[RATIOS[i][1]]);
    printf("\n");
}

int main(int argc, char **argv)
{
    size_t length = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 1024, i;

    if (argc > 4)
        return run_one(length, argv[2], argv[3], strtol(argv[4], NULL, 10), argc > 5);
    if (argc == 1 || argc == 2)
        print_head();
    for (i = 0; i < WORK_COUNT; i++) {
        work w = with_length(WORKS[i], length);
        arrays a = arrays_of(&w);
        check(&w, &a);
        if (argc < 3)
            time_work(&w, &a);
    }
    return 0;
}
