/* attn_sdpa against PyTorch and ONNX Runtime: what they compute for the same inputs, see golden/make_sdpa.py. */
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

typedef struct golden_case {
    const char *name;
    uint32_t seed;
    size_t B, H, Hkv, Lq, Lk, D, Dv;
    golden_pattern mask, bias;
    attn_opts opts; /* but for its views */
    golden_result out, lse, weights, scores;
} golden_case;

/* ---- inputs ---- */

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
static int golden_shown(const golden_case *c, unsigned tag, const golden_pattern *pattern, size_t index)
{
    size_t p = pattern->p, j = index % pattern->dims[3], i = index / pattern->dims[3] % pattern->dims[2];
    size_t apart = i > j ? i - j : j - i;
    switch (pattern->show) {
    case SHOW_RANDOM: return golden_bits(c->seed, tag, index) % 256 < p;
    case SHOW_BAND: return apart <= p;
    case SHOW_OUTSIDE: return apart > p;
    case SHOW_COLUMNS: return j / p % 2 == 0;
    case SHOW_ROWS: return i / p % 2 == 0;
    case SHOW_DOCUMENTS: return i / p == j / p;
    case SHOW_PREFIX: return j <= i || j < p;
    default: return 1;
    }
}

static double golden_input(const golden_case *c, unsigned tag, size_t index)
{
    switch (tag) {
    case GOLDEN_MASK: return golden_shown(c, GOLDEN_MASK, &c->mask, index);
    case GOLDEN_BIAS:
        if (!golden_shown(c, GOLDEN_HIDDEN, &c->bias, index))
            return -HUGE_VAL;
    /* fall through */
    default: return golden_number(c->seed, tag, index);
    }
}

/* ---- tensors ---- */

static size_t elements(attn_tensor t)
{
    return t.batch * t.heads * t.len * t.dim;
}

/* b, h, i and d of element `index` in the order [B][H][L][D] */
#define PLACE(t, index)                                                                                                \
    (index) / (t).dim / (t).len / (t).heads, (index) / (t).dim / (t).len % (t).heads, (index) / (t).dim % (t).len,     \
        (index) % (t).dim

static attn_tensor input(const golden_case *c, unsigned tag, attn_tensor t)
{
    for (size_t n = 0; n < elements(t); n++)
        test_tensor_set(t, PLACE(t, n), golden_input(c, tag, n));
    return t;
}

static attn_tensor patterned(const golden_case *c, unsigned tag, const golden_pattern *p, attn_dtype dtype, int layout)
{
    attn_tensor absent = {0};
    if (p->show == SHOW_NONE)
        return absent;
    return input(c, tag, test_tensor(dtype, p->dims[0], p->dims[1], p->dims[2], p->dims[3], layout));
}

/* ---- score modifiers; user: the compute type ---- */

static void mod_relative(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)b, (void)h;
    for (size_t n = 0; n < count; n++) {
        double add = ((double)i - (double)(j0 + n)) / 16;
        if (*(attn_dtype *)user == ATTN_F64)
            ((double *)scores)[n] += add;
        else
            ((float *)scores)[n] += (float)add;
    }
}

static void mod_heads(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    double times = (double)(h + 1 + b) / 4;
    (void)i, (void)j0;
    for (size_t n = 0; n < count; n++)
        if (*(attn_dtype *)user == ATTN_F64)
            ((double *)scores)[n] *= times;
        else
            ((float *)scores)[n] *= (float)times;
}

#include "golden/sdpa.h"

/* ---- the comparison ---- */

/* |got - peer| <= 2 worst + off + 4 ulp of the compute type, in f64 with worst / 2^29; outputs in f16 or bf16 add 1e-3
   or 1e-2 of the value. In the sum of n elements the errors are of either sign: sqrt(n) times that bound. */
static void check_result(const golden_case *c, const golden_result *want, attn_tensor got, attn_dtype compute)
{
    double relative = got.dtype == ATTN_F16 ? 1e-3 : got.dtype == ATTN_BF16 ? 1e-2 : 0;
    real tolerance = want->off + 2 * (compute == ATTN_F64 ? ldexp(want->worst, -29) : want->worst), most = 0, sum = 0;
    if (!want->count)
        return;
    for (size_t n = 0; n < want->count; n++) {
        double x = want->samples[n], size = x == -HUGE_VAL ? 0 : fabs(x);
        most = size > most ? size : most;
        CHECK_NEAR(test_tensor_get(got, PLACE(got, n * want->stride)), x,
                   tolerance + 4 * test_ulp(size, compute) + relative * size);
    }
    for (size_t n = 0; n < elements(got); n++) {
        real x = test_tensor_get(got, PLACE(got, n));
        sum += (double)x == -HUGE_VAL ? 0 : x * golden_number(c->seed, GOLDEN_SUM, n);
    }
    tolerance += 4 * test_ulp(most, compute) + relative * most;
    CHECK_NEAR(sum, want->sum, sqrtl((real)elements(got)) * tolerance);
}

static attn_tensor wanted(const golden_result *result, attn_dtype dtype, const golden_case *c, size_t cols, int layout)
{
    attn_tensor absent = {0};
    return result->count ? test_tensor(dtype, c->B, c->H, c->Lq, cols, layout) : absent;
}

static void check_case(const golden_case *c, attn_dtype dtype, int layout)
{
    attn_dtype compute = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    attn_tensor q = input(c, GOLDEN_Q, test_tensor(dtype, c->B, c->H, c->Lq, c->D, layout)),
                k = input(c, GOLDEN_K, test_tensor(dtype, c->B, c->Hkv, c->Lk, c->D, layout)),
                v = input(c, GOLDEN_V, test_tensor(dtype, c->B, c->Hkv, c->Lk, c->Dv, layout)),
                out = test_tensor(dtype, c->B, c->H, c->Lq, c->Dv, layout);
    attn_opts opts = c->opts;
    opts.mask = patterned(c, GOLDEN_MASK, &c->mask, ATTN_BOOL, layout);
    opts.bias = patterned(c, GOLDEN_BIAS, &c->bias, dtype, layout);
    opts.lse = wanted(&c->lse, compute, c, 1, layout);
    opts.weights = wanted(&c->weights, compute, c, c->Lk, layout);
    opts.scores = wanted(&c->scores, compute, c, c->Lk, layout);
    opts.score_mod_user = &compute;
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = {{NULL, NULL, 0}, NULL, 0, isa};
        test_case("%s, %s, layout %d, %s", c->name, test_dtype_name(dtype), layout, attn_isa_string(isa));
        test_fill_tensor(out, 99);
        test_fill_tensor(opts.lse, 99);
        test_fill_tensor(opts.weights, 99);
        test_fill_tensor(opts.scores, 99);
        if (CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK)) {
            check_result(c, &c->out, out, compute);
            check_result(c, &c->lse, opts.lse, compute);
            check_result(c, &c->weights, opts.weights, compute);
            check_result(c, &c->scores, opts.scores, compute);
        }
    }
    test_release();
}

/* Every case in f32, and in f64 where the peer's is; a small one in one of the 16-bit types too. */
static void check_cases(const golden_case *cases, size_t count, int f64)
{
    for (size_t n = 0; n < count; n++) {
        const golden_case *c = &cases[n];
        int large = c->B * c->H * c->Lq * c->Lk > 100000, layout = n % 2 ? T_BLHD : T_BHLD;
        if (test_quick && (large || n % 5 != 0))
            continue;
        check_case(c, ATTN_F32, layout);
        if (f64)
            check_case(c, ATTN_F64, layout);
        if (!large)
            check_case(c, n % 4 < 2 ? ATTN_F16 : ATTN_BF16, (int)(n % T_OUT_LAYOUTS));
    }
}

#define CHECK_CASES(cases, f64) check_cases(cases, sizeof(cases) / sizeof *(cases), f64)

TEST(golden_pytorch)
{
    CHECK_CASES(golden_pytorch_f64, 1);
    CHECK_CASES(golden_pytorch_f32, 0);
}

TEST(golden_flex)
{
    CHECK_CASES(golden_flex_attention_f64, 1);
}

TEST(golden_onnx)
{
    CHECK_CASES(golden_attention_f32, 0);
}

TEST(golden_microsoft)
{
    CHECK_CASES(golden_microsoft_f32, 0);
}
