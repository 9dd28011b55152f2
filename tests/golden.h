/* What the golden tests share: inputs that the scripts of tests/golden make too, and the comparison with a peer. */
#ifndef ATTN_TEST_GOLDEN_H
#define ATTN_TEST_GOLDEN_H

#include "sdpa.h"

/* Which elements of a mask, or finite ones of a bias, a pattern shows. p is its number, i the query, j the key. */
typedef enum golden_show {
    SHOW_NONE,      /* no such tensor */
    SHOW_ALL,       /* every element */
    SHOW_RANDOM,    /* p of 256 */
    SHOW_BAND,      /* |i - j| <= p */
    SHOW_OUTSIDE,   /* |i - j| > p */
    SHOW_COLUMNS,   /* stripes of p keys */
    SHOW_ROWS,      /* stripes of p queries: the others see nothing */
    SHOW_DOCUMENTS, /* blocks of p x p */
    SHOW_PREFIX     /* j <= i, and the first p keys */
} golden_show;

typedef struct golden_pattern {
    golden_show show;
    size_t p, dims[4]; /* batch, heads, queries, keys: 1 or all */
} golden_pattern;

/* A peer's result: every stride-th element, and the sum of all finite ones times numbers of GOLDEN_SUM. worst is the
   error of the plain composition in f32, off the peer's own error, both against the composition in f64. */
typedef struct golden_result {
    const double *samples;
    size_t count, stride;
    double worst, off, sum;
} golden_result;

/* Which of its numbers a case takes. */
enum { GOLDEN_Q, GOLDEN_K, GOLDEN_V, GOLDEN_MASK, GOLDEN_BIAS, GOLDEN_HIDDEN, GOLDEN_SUM };

/* make_sdpa.py: bits(), splitmix64 of (seed, tag, index) */
static uint64_t golden_bits(uint32_t seed, unsigned tag, size_t index)
{
    uint64_t z = ((uint64_t)(seed * 8 + tag) << 32) + index;
    z = (z + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) >> 40;
}

/* make_sdpa.py: numbers(), -127/64 .. 127/64, which every float type holds exactly */
static double golden_number(uint32_t seed, unsigned tag, size_t index)
{
    return ((double)(golden_bits(seed, tag, index) % 255) - 127) / 64;
}

/* make_sdpa.py: shown(). index is the element's own, row by row */
static int golden_shown(uint32_t seed, unsigned tag, const golden_pattern *pattern, size_t index)
{
    size_t p = pattern->p, j = index % pattern->dims[3], i = index / pattern->dims[3] % pattern->dims[2];
    size_t apart = i > j ? i - j : j - i;
    switch (pattern->show) {
    case SHOW_RANDOM: return golden_bits(seed, tag, index) % 256 < p;
    case SHOW_BAND: return apart <= p;
    case SHOW_OUTSIDE: return apart > p;
    case SHOW_COLUMNS: return j / p % 2 == 0;
    case SHOW_ROWS: return i / p % 2 == 0;
    case SHOW_DOCUMENTS: return i / p == j / p;
    case SHOW_PREFIX: return j <= i || j < p;
    default: return 1;
    }
}

/* ---- tensors ---- */

static size_t golden_elements(attn_tensor t)
{
    return t.batch * t.heads * t.len * t.dim;
}

/* b, h, i and d of element `index` in the order [B][H][L][D] */
#define GOLDEN_PLACE(t, index)                                                                                         \
    (index) / (t).dim / (t).len / (t).heads, (index) / (t).dim / (t).len % (t).heads, (index) / (t).dim % (t).len,     \
        (index) % (t).dim

/* t, filled with the numbers of a tag */
static attn_tensor golden_filled(uint32_t seed, unsigned tag, attn_tensor t)
{
    for (size_t n = 0; n < golden_elements(t); n++)
        test_tensor_set(t, GOLDEN_PLACE(t, n), golden_number(seed, tag, n));
    return t;
}

/* A mask (BOOL) or a bias of that pattern; absent if there is none. */
static attn_tensor golden_patterned(uint32_t seed, const golden_pattern *p, attn_dtype dtype, int layout)
{
    attn_tensor t = {0};
    if (p->show == SHOW_NONE)
        return t;
    t = test_tensor(dtype, p->dims[0], p->dims[1], p->dims[2], p->dims[3], layout);
    for (size_t n = 0; n < golden_elements(t); n++) {
        double x = dtype == ATTN_BOOL                        ? golden_shown(seed, GOLDEN_MASK, p, n)
                   : golden_shown(seed, GOLDEN_HIDDEN, p, n) ? golden_number(seed, GOLDEN_BIAS, n)
                                                             : -HUGE_VAL;
        test_tensor_set(t, GOLDEN_PLACE(t, n), x);
    }
    return t;
}

/* ---- the comparison ---- */

/* |got - peer| <= 2 worst + off + 4 ulp of the compute type, in f64 with worst / 2^29; results narrower than that type
   add 1e-7 (f32), 1e-3 (f16) or 1e-2 (bf16) of the value; and pairs[n] is added, if there are any (sdpa_pairs_error).
   In the sum of n elements the errors are of either sign: sqrt(n) times that bound. A peer that only copies its inputs
   has worst = off = 0: then every bit is the same. */
static void golden_check_pairs(uint32_t seed, const golden_result *want, attn_tensor got, attn_dtype compute,
                               const real *pairs)
{
    double relative = got.dtype == ATTN_F16                          ? 1e-3
                      : got.dtype == ATTN_BF16                       ? 1e-2
                      : got.dtype == ATTN_F32 && compute == ATTN_F64 ? 1e-7
                                                                     : 0;
    real tolerance = want->off + 2 * (compute == ATTN_F64 ? ldexp(want->worst, -29) : want->worst), most = 0, sum = 0,
         moved = 0;
    int exact = want->worst <= 0 && want->off <= 0;
    if (!want->count)
        return;
    for (size_t n = 0; n < want->count; n++) {
        double x = want->samples[n], size = x == -HUGE_VAL ? 0 : fabs(x);
        size_t at = n * want->stride;
        most = size > most ? size : most;
        CHECK_NEAR(test_tensor_get(got, GOLDEN_PLACE(got, at)), x,
                   exact ? 0 : tolerance + 4 * test_ulp(size, compute) + relative * size + (pairs ? pairs[at] : 0));
    }
    for (size_t n = 0; n < golden_elements(got); n++) {
        real x = test_tensor_get(got, GOLDEN_PLACE(got, n));
        sum += (double)x == -HUGE_VAL ? 0 : x * golden_number(seed, GOLDEN_SUM, n);
        moved = pairs && pairs[n] > moved ? pairs[n] : moved;
    }
    tolerance += 4 * test_ulp(most, compute) + relative * most + moved;
    CHECK_NEAR(sum, want->sum, exact ? 0 : sqrtl((real)golden_elements(got)) * tolerance);
}

static void golden_check(uint32_t seed, const golden_result *want, attn_tensor got, attn_dtype compute)
{
    golden_check_pairs(seed, want, got, compute, NULL);
}

#endif
