/* Timing side by side, and the peak of this machine: what every benchmark here is measured with.

   Absolute times drift with the clock of the machine and with its other work, so the benchmarks print ratios alone.
   Contestants run in turn, ROUNDS times over; each round gives one ratio, and the median of those is the result.
   ATTN_BENCH_QUICK in the environment: a part of everything; ATTN_BENCH_ONLY: of bench_query, bench_sdpa and
   bench_steps, rows in whose name a word begins so. Include it after _GNU_SOURCE is defined. */
#ifndef BENCH_H
#define BENCH_H

#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif
#include "attn.h"
#include "peer.h"

static inline int is_quick(void)
{
    const char *quick = getenv("ATTN_BENCH_QUICK");
    return quick && *quick;
}

static inline int is_wanted(const char *work)
{
    const char *only = getenv("ATTN_BENCH_ONLY"), *at = work;
    while (only && (at = strcasestr(at, only)) != NULL && at > work && isalnum((unsigned char)at[-1]))
        at++; /* that is within a word: bf16 is not f16 */
    return !only || at != NULL;
}

static inline void require(int fine, const char *what)
{
    if (fine)
        return;
    fflush(stdout);
    fprintf(stderr, "bench: %s failed\n", what);
    exit(1);
}

static int bars, bars_met;

/* Counts a bar. */
static inline const char *verdict(int met)
{
    bars++;
    bars_met += met;
    return met ? "met" : "MISSED";
}

/* ==== Contestants ================================================================================================= */

enum { ROUNDS = 11, CONTESTANTS = 16 };
enum { CPU, WALL, CLOCKS };

typedef struct contestant {
    void (*run)(void *arg);
    void *arg;
    double work;                    /* of one run, in whatever unit the ratio is about: flop, bytes, elements */
    int wall;                       /* measure by the clock on the wall: for more than one thread */
    void (*before)(void *arg);      /* a turn, if given: what caches hold then */
    double seconds[CLOCKS][ROUNDS]; /* of one run, in each round */
} contestant;

/* The time of this thread, which other programs on the machine do not add to; or the time on the wall. */
static inline double seconds_now(int clock)
{
    struct timespec t;
    clock_gettime(clock == WALL ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One turn; seconds: of one run by each clock. */
static inline void take_turn(const contestant *c, long runs, double *seconds)
{
    double start[CLOCKS];
    int clock;
    long i;
    for (clock = 0; clock < CLOCKS; clock++)
        start[clock] = seconds_now(clock);
    for (i = 0; i < runs; i++)
        c->run(c->arg);
    for (clock = 0; clock < CLOCKS; clock++)
        seconds[clock] = (seconds_now(clock) - start[clock]) / (double)runs;
}

/* As many runs as take 2 milliseconds, at least one. */
static inline long runs_in_a_turn(const contestant *c)
{
    double seconds[CLOCKS];
    long runs = 1;
    take_turn(c, 1, seconds);
    for (;; runs *= 2) {
        take_turn(c, runs, seconds);
        if ((double)runs * seconds[c->wall ? WALL : CPU] >= 0.002)
            return runs;
    }
}

/* Of turns on one thread: what they took by each clock. */
static double turns[CLOCKS];

/* Times the contestants in turn. */
static inline void race(contestant *c, size_t count)
{
    long runs[CONTESTANTS];
    double seconds[CLOCKS];
    size_t i;
    int round, clock;

    for (i = 0; i < count; i++)
        runs[i] = runs_in_a_turn(&c[i]);
    for (round = 0; round < ROUNDS; round++)
        for (i = 0; i < count; i++) {
            if (c[i].before)
                c[i].before(c[i].arg);
            take_turn(&c[i], runs[i], seconds);
            for (clock = 0; clock < CLOCKS; clock++)
                c[i].seconds[clock][round] = seconds[clock];
            for (clock = 0; clock < CLOCKS && !c[i].wall; clock++)
                turns[clock] += seconds[clock] * (double)runs[i];
        }
}

/* The end of a benchmark. */
static inline void print_bars(void)
{
    if (bars > 0)
        printf("\n%d of %d bars met", bars_met, bars);
    if (turns[WALL] > 0)
        printf("\nOther programs took %.0f %% of the time.\n", 100 * (1 - turns[CPU] / turns[WALL]));
}

static inline int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(const double *x)
{
    double sorted[ROUNDS];
    memcpy(sorted, x, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof sorted[0], compare_doubles);
    return sorted[ROUNDS / 2];
}

/* The median over the rounds of rate a / rate b, where a rate is work per second. By the clock on the wall if one of
   them needs it. */
static inline double ratio(const contestant *a, const contestant *b)
{
    int clock = a->wall || b->wall ? WALL : CPU, i;
    double r[ROUNDS];
    for (i = 0; i < ROUNDS; i++)
        r[i] = a->work / a->seconds[clock][i] * b->seconds[clock][i] / b->work;
    return median(r);
}

/* ==== The CPU ===================================================================================================== */

/* Some bars are those of one family of CPUs. AMD's has this number; others have 0. */
static inline unsigned amd_family(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    unsigned a, maker[3], b, c, d;
    if (__get_cpuid(0, &a, &maker[0], &maker[2], &maker[1]) && memcmp(maker, "AuthenticAMD", 12) == 0 &&
        __get_cpuid(1, &a, &b, &c, &d))
        return (a >> 8 & 15) + (a >> 20 & 255);
#endif
    return 0;
}

static inline int is_zen5(void)
{
    return amd_family() == 26;
}

/* Zen 3 has the same number, but no AVX-512. */
static inline int is_zen4(void)
{
    return amd_family() == 25 && attn_isa_available(ATTN_ISA_AVX512);
}

/* What the CPU calls itself, which on virtual machines says little, and the numbers that it goes by. */
static inline void print_cpu(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    unsigned name[13] = {0}, a = 0, b, c, d, n;
    for (n = 0; n < 3; n++)
        __get_cpuid(0x80000002 + n, &name[4 * n], &name[4 * n + 1], &name[4 * n + 2], &name[4 * n + 3]);
    __get_cpuid(1, &a, &b, &c, &d);
    printf("%s, family %u, model %u\n", (const char *)name, (a >> 8 & 15) + ((a >> 8 & 15) == 15 ? a >> 20 & 255 : 0),
           (a >> 4 & 15) + (a >> 12 & 0xf0));
#else
    printf("A CPU that is not x86-64\n");
#endif
}

/* ==== The peak: nothing but fused multiply-adds, on 12 independent accumulators (24 on AArch64, and of bf16) ====== */

enum { PEAK_LOOPS = 20000 };

#if defined(__x86_64__) && defined(__GNUC__)
#define ACCUMULATORS 12
#define FMA_LOOP(instruction, reg)                                                                                     \
    __asm__ volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11,14,15\n\tvxorps %%xmm\\r,%%xmm\\r,%%xmm\\r\n\t.endr\n"          \
                     "1:\n\t"                                                                                          \
                     ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\t" instruction " %%" reg "14,%%" reg "15,%%" reg              \
                     "\\r\n\t.endr\n\t"                                                                                \
                     "dec %0\n\tjnz 1b\n\tvzeroupper"                                                                  \
                     : "+r"(loops)                                                                                     \
                     :                                                                                                 \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",  \
                       "xmm11", "xmm14", "xmm15")
#elif defined(__aarch64__) && defined(__GNUC__)
#define ACCUMULATORS 24
#define FMA_LOOP(instruction, lanes)                                                                                   \
    __asm__ volatile("movi v30.4s,#0\n\tmovi v31.4s,#0\n"                                                              \
                     "1:\n\t"                                                                                          \
                     ".irp r,0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,8,9\n\t" instruction            \
                     " v\\r\\()." lanes ",v30." lanes ",v31." lanes "\n\t.endr\n\t"                                    \
                     "subs %0,%0,#1\n\tb.ne 1b"                                                                        \
                     : "+r"(loops)                                                                                     \
                     :                                                                                                 \
                     : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v16", "v17", "v18", "v19",   \
                       "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31")
#endif

/* Products of bf16: pairs of them, so that each accumulator has two multiply-adds. */
#if defined(FMA_LOOP) && defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 9 : __GNUC__ >= 10)
enum { PAIRS_ACCUMULATORS = 24 };
__attribute__((target("avx512f"))) static inline void pairs_loop(long loops)
{
#define PAIRS_REGISTERS "0,1,2,3,4,5,6,7,8,9,10,11,12,13,16,17,18,19,20,21,22,23,24,25"
    __asm__ volatile(".irp r," PAIRS_REGISTERS ",14,15\n\tvpxord %%zmm\\r,%%zmm\\r,%%zmm\\r\n\t.endr\n"
                     "1:\n\t"
                     ".irp r," PAIRS_REGISTERS "\n\tvdpbf16ps %%zmm14,%%zmm15,%%zmm\\r\n\t.endr\n\t"
                     "dec %0\n\tjnz 1b\n\tvzeroupper"
                     : "+r"(loops)
                     :
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20",
                       "xmm21", "xmm22", "xmm23", "xmm24", "xmm25");
}
#define PAIRS_LOOP(loops) pairs_loop(loops)
#else
enum { PAIRS_ACCUMULATORS = 0 };
#define PAIRS_LOOP(loops) ((void)(loops))
#endif

typedef struct peak {
    attn_isa isa;
    attn_dtype dtype;
} peak;

static inline int is_of_pairs(attn_isa isa, attn_dtype dtype)
{
    return isa == ATTN_ISA_AVX512BF16 && dtype == ATTN_BF16;
}

/* Elements of dtype in a vector of isa; 0 where this file has no loop for it. */
static inline size_t lanes_of(attn_isa isa, attn_dtype dtype)
{
    size_t bytes = 0;
    if (is_of_pairs(isa, dtype))
        return PAIRS_ACCUMULATORS > 0 ? 32 : 0;
#if defined(__x86_64__) && defined(FMA_LOOP)
    if (isa == ATTN_ISA_AVX512)
        bytes = 64;
    if (isa == ATTN_ISA_AVX2)
        bytes = 32;
#elif defined(FMA_LOOP)
    if (isa == ATTN_ISA_NEON)
        bytes = 16;
#endif
    (void)isa;
    return bytes / (dtype == ATTN_F64 ? 8 : 4);
}

static inline void run_peak(void *arg)
{
    const peak *p = (const peak *)arg;
    long loops = PEAK_LOOPS;
    if (is_of_pairs(p->isa, p->dtype)) {
        PAIRS_LOOP(loops);
        return;
    }
#if defined(__x86_64__) && defined(FMA_LOOP)
    if (p->isa == ATTN_ISA_AVX512 && p->dtype == ATTN_F64)
        FMA_LOOP("vfmadd231pd", "zmm");
    else if (p->isa == ATTN_ISA_AVX512)
        FMA_LOOP("vfmadd231ps", "zmm");
    else if (p->dtype == ATTN_F64)
        FMA_LOOP("vfmadd231pd", "ymm");
    else
        FMA_LOOP("vfmadd231ps", "ymm");
#elif defined(FMA_LOOP)
    if (p->dtype == ATTN_F64)
        FMA_LOOP("fmla", "2d");
    else
        FMA_LOOP("fmla", "4s");
#endif
    (void)p;
    (void)loops;
}

/* The flop of one run_peak. */
static inline double peak_work(const peak *p)
{
    if (is_of_pairs(p->isa, p->dtype))
        return 2.0 * PEAK_LOOPS * PAIRS_ACCUMULATORS * 32;
#ifdef FMA_LOOP
    return 2.0 * PEAK_LOOPS * ACCUMULATORS * (double)lanes_of(p->isa, p->dtype);
#else
    (void)p;
    return 1;
#endif
}

static const attn_isa ISAS[] = {ATTN_ISA_AVX512, ATTN_ISA_AVX2, ATTN_ISA_NEON};
enum { ISA_COUNT = sizeof ISAS / sizeof ISAS[0] };

/* The vectors of the best instruction set. */
static inline size_t best_vector_bytes(void)
{
    size_t i, most = 0;
    for (i = 0; i < ISA_COUNT; i++)
        if (attn_isa_available(ISAS[i]) && most < 4 * lanes_of(ISAS[i], ATTN_F32))
            most = 4 * lanes_of(ISAS[i], ATTN_F32);
    return most;
}

/* ==== The read: data once, with as many streams as are fastest ==================================================== */

typedef struct reading {
    const void *x, *y; /* two arrays, read one after the other; y may be NULL */
    size_t bytes;      /* of each */
    size_t streams, ahead;
    const attn_parallel *threads; /* two, or NULL: this one */
} reading;

/* Part number `part` of each array; what peer_read takes begins at a multiple of 64 bytes. */
static inline void read_part(const reading *r, size_t part, size_t parts)
{
    size_t bytes = r->bytes / parts, i;
    volatile float sum;
    for (i = 0; i < 2; i++) {
        const char *x = (const char *)(i == 0 ? r->x : r->y);
        size_t skipped;
        if (!x)
            continue;
        x += part * bytes;
        skipped = (64 - (uintptr_t)x % 64) % 64;
        sum = peer_read(x + skipped, bytes - skipped, r->streams, r->ahead, best_vector_bytes());
        (void)sum;
    }
}

static inline void read_task(void *arg, size_t index)
{
    read_part((const reading *)arg, index, 2);
}

static inline void run_read(void *arg)
{
    const reading *r = (const reading *)arg;
    if (r->threads)
        r->threads->run(r->threads->user, 2, read_task, arg);
    else
        read_part(r, 0, 1);
}

/* The same with the fastest streams. */
static inline reading best_reading(reading r)
{
    static const size_t streams[] = {1, 2, 3, 4, 6, 8, 12, 16}, ahead[] = {0, 512, 1024, 2048, 4096};
    reading best = r;
    double least = 1e30;
    size_t n;
    for (n = 0; n < 8 * 5 * 3; n++) { /* three rounds over all, the best of each */
        contestant c;
        double seconds[CLOCKS];
        memset(&c, 0, sizeof c);
        r.streams = streams[n % 8];
        r.ahead = ahead[n / 8 % 5];
        c.run = run_read;
        c.arg = &r;
        take_turn(&c, 1 + (long)((4 << 20) / r.bytes), seconds); /* several times what lies in a cache */
        if (seconds[r.threads ? WALL : CPU] < least) {
            least = seconds[r.threads ? WALL : CPU];
            best = r;
        }
    }
    return best;
}

/* ==== Figures ===================================================================================================== */

static FILE *tsv; /* every figure, for report.py: work, shape, of, against, unit, value, bar */

/* Opens the file that ATTN_BENCH_TSV names, if it does. */
static inline void open_tsv(void)
{
    const char *path = getenv("ATTN_BENCH_TSV");
    int version = attn_version();
    tsv = path && *path ? fopen(path, "a") : NULL;
    if (tsv)
        fprintf(tsv, "# attn.h %d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
}

static inline void close_tsv(void)
{
    if (tsv)
        fclose(tsv);
}

typedef struct figure {
    const char *of, *against; /* "1 thread", "peak" */
    const char *unit;         /* "%": value and bar are shares; "x" and others */
    double value, bar;
    int most; /* the bar is the most, not the least */
} figure;

static int bars_are_for_all; /* not for CPUs with AVX-512 alone */

static inline void print_figure(const char *work, const char *shape, const figure *f)
{
    char text[40] = "", value[32];
    double times = strcmp(f->unit, "%") == 0 ? 100 : 1;
    int digits = times > 1 || f->bar >= 10 ? 0 : 2;
    int judged = f->bar > 0 && (bars_are_for_all || attn_isa_available(ATTN_ISA_AVX512));
    if (judged)
        snprintf(text, sizeof text, "%s%.*f %s", f->most ? "<=" : ">=", digits, times * f->bar,
                 verdict(f->most ? f->value <= f->bar : f->value >= f->bar));
    snprintf(value, sizeof value, "%.*f %s", digits, times * f->value, f->unit);
    printf("%8s %-14s", value, text);
    if (tsv)
        fprintf(tsv, judged ? "%s\t%s\t%s\t%s\t%s\t%g\t%s%g\n" : "%s\t%s\t%s\t%s\t%s\t%g\t\n", work, shape, f->of,
                f->against, f->unit, f->value, f->most ? "<=" : ">=", f->bar);
}

/* ==== OpenBLAS ==================================================================================================== */

typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                         const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*dgemm_fn)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                         const double *b, int ldb, double beta, double *c, int ldc);
typedef void (*sgemv_fn)(int order, int trans, int m, int n, float alpha, const float *a, int lda, const float *x,
                         int incx, float beta, float *y, int incy);
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
static sgemm_fn sgemm;
static dgemm_fn dgemm;
static sgemv_fn sgemv;

static inline void load_openblas(void)
{
    void *library, *s, *d, *v;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    /* OpenBLAS takes CPUs newer than itself for old ones: tell it about AVX-512, whatever the environment says. */
    if (attn_isa_available(ATTN_ISA_AVX512))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    s = library ? dlsym(library, "cblas_sgemm") : NULL;
    d = library ? dlsym(library, "cblas_dgemm") : NULL;
    v = library ? dlsym(library, "cblas_sgemv") : NULL;
    memcpy(&sgemm, &s, sizeof s);
    memcpy(&dgemm, &d, sizeof d);
    memcpy(&sgemv, &v, sizeof v);
    if (!s || !d || !v)
        printf("OpenBLAS not found, skipped.\n");
}

/* ==== Data ======================================================================================================== */

/* Large arrays lie in huge pages where the system has them: reading them is then about memory alone. */
static inline void *bench_alloc(size_t bytes)
{
    enum { HUGE_PAGE = 2 << 20 };
    void *p = NULL;
    require(posix_memalign(&p, bytes < HUGE_PAGE ? 4096 : HUGE_PAGE, bytes + 4096) == 0, "memory");
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_PAGE)
        (void)madvise(p, bytes, MADV_HUGEPAGE);
#endif
    memset(p, 0, bytes);
    return p;
}

/* A matrix of numbers between -1 and 1: another one in each call, the same ones in every run. */
static inline attn_mat bench_matrix(attn_dtype dtype, size_t rows, size_t cols)
{
    attn_mat m = attn_mat_of(bench_alloc(rows * cols * 8), dtype, rows, cols);
    static uint32_t state = 12345;
    size_t i;
    for (i = 0; i < rows * cols; i++) {
        double x;
        state = state * 1664525u + 1013904223u;
        x = (double)(state >> 8) / (1 << 23) - 1;
        if (dtype == ATTN_F32)
            ((float *)m.data)[i] = (float)x;
        else
            ((double *)m.data)[i] = x;
    }
    return m;
}

static inline uint32_t random_below(uint32_t end)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * end >> 32);
}

/* A mask, length x length, of which a tenth of the aligned blocks is visible; returns how many pairs that is. */
static inline double random_blocks(unsigned char *mask, size_t length, size_t block)
{
    size_t side = length / block, blocks = side * side, wanted = blocks / 10, n, row;
    for (n = 0; n < blocks; n++) { /* exactly so many: each block takes its chance of those that are left */
        if (random_below((uint32_t)(blocks - n)) >= wanted)
            continue;
        wanted--;
        for (row = 0; row < block; row++)
            memset(mask + (n / side * block + row) * length + n % side * block, 1, block);
    }
    return (double)(blocks / 10 * block * block);
}

/* What bench_free_owned frees, after each row. */
static void *bench_owned[64];
static size_t bench_owns;

static inline void *bench_own(void *p)
{
    require(bench_owns < sizeof bench_owned / sizeof bench_owned[0], "room for arguments");
    return bench_owned[bench_owns++] = p;
}

static inline void bench_free_owned(void)
{
    while (bench_owns > 0)
        free(bench_owned[--bench_owns]);
}

static inline size_t element_bytes(attn_dtype dtype)
{
    return dtype == ATTN_F64 ? 8 : dtype == ATTN_F32 ? 4 : dtype == ATTN_I8 ? 1 : 2;
}

/* Room for the pages of a tensor. by_token: [page_len][H][D], not [H][page_len][D]. */
static inline attn_tensor room_for_pages(attn_tensor t, size_t count, size_t page_len, attn_dtype dtype, int by_token)
{
    void *data = bench_own(bench_alloc(count * page_len * t.heads * t.dim * element_bytes(dtype)));
    return by_token ? attn_blhd(data, dtype, count, page_len, t.heads, t.dim)
                    : attn_bhld(data, dtype, count, t.heads, page_len, t.dim);
}

/* The tokens of k and v, in pages whose order is random. */
static inline attn_kv_pages new_pages(attn_tensor k, attn_tensor v, size_t page_len, attn_dtype dtype, int by_token)
{
    size_t count = (k.len + page_len - 1) / page_len, numbers = count * k.heads * page_len, n;
    uint32_t *table = (uint32_t *)bench_own(bench_alloc(count * sizeof *table));
    attn_kv_pages pages;

    memset(&pages, 0, sizeof pages);
    pages.k = room_for_pages(k, count, page_len, dtype, by_token);
    pages.v = room_for_pages(v, count, page_len, dtype, by_token);
    if (dtype == ATTN_I8) {
        pages.k_scales = (float *)bench_own(bench_alloc(numbers * sizeof(float)));
        pages.v_scales = (float *)bench_own(bench_alloc(numbers * sizeof(float)));
    }
    for (n = 0; n < count; n++) { /* a page more, which changes places with any of those there are, or itself */
        size_t other = random_below((uint32_t)n + 1);
        table[n] = table[other];
        table[other] = (uint32_t)n;
    }
    pages.table = table;
    pages.table_stride = count;
    pages.batch = 1;
    pages.lens = (size_t *)bench_own(bench_alloc(sizeof(size_t)));
    require(attn_kv_pages_append(&pages, k, v, NULL) == ATTN_OK, "attn_kv_pages_append");
    return pages;
}

/* The same tokens in one piece, in memory of the same kind. */
static inline attn_kv_cache new_cache(attn_tensor k, attn_tensor v, attn_dtype dtype)
{
    size_t bytes = 0;
    attn_kv_cache cache;
    memset(&cache, 0, sizeof cache);
    require(attn_kv_cache_size(&bytes, 1, k.heads, k.len, k.dim, v.dim, dtype, 0) == ATTN_OK, "attn_kv_cache_size");
    require(attn_kv_cache_init(&cache, 1, k.heads, k.len, k.dim, v.dim, dtype, 0, bench_own(bench_alloc(bytes)),
                               bytes) == ATTN_OK &&
                attn_kv_cache_append(&cache, k, v, NULL) == ATTN_OK,
            "attn_kv_cache_append");
    return cache;
}

#endif
