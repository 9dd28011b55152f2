/* How far attn_sdpa is from exact arithmetic: what NUMERICS of attn.h states, in the words of the tests.
     one element: |got - exact| <= u ((D + 20) (1 + A) + K) max |value|, u = 2^-24 in float and 2^-53 in double, where
         A = the most, over the keys that the row sees, of the sum over d of |scale q[d] k[d]|, + |bias| + |ALiBi|, and
         K = 2 n or 512 + n / 512, whichever is less, n keys; and half an ulp of a narrower output.
     It comes from counting roundings: D in a score and a few after it move each score by (D + 20) u A or less, and a
     softmax of scores off by x is a mean off by x max |value| or less; then the sums of up to 128 weights, and values,
     of a tile, of up to 32 splits and of what splits have of tiles. Data made to that end come near it, while naive
     loops make no error at all: no bound by a multiple of theirs, plus a constant, can hold for each element (CLIMB).
     where pairs of BF16 are multiplied: 2^-8 sum over keys of |weight value| more.
     many elements of random data: their RMS error is no more than twice that of naive loops.
   TEST_REPORT in the environment: says how near it came. */
#include "sdpa.h"

enum {
    RANDOM,
    NEAR,     /* keys that hardly differ */
    CANCELS,  /* q and k large and nearly orthogonal */
    BIASED,   /* by a bias of the size of the scores */
    UNBIASED, /* by one that all but cancels them */
    CAPPED,   /* by softcap */
    CAUSAL,
    SLOPED,    /* by ALiBi */
    TIES,      /* half of the keys are one */
    RISES,     /* ascending scores */
    EQUAL,     /* q does not tell keys apart, in exact arithmetic */
    CONSTANT,  /* all values are one, and scores hardly matter */
    FAR_ABOVE, /* one key's weight is 1, the others' half an ulp of it */
    STEPS,     /* the maximum rises a little from tile to tile */
    NATURAL,   /* the above; and one made so that fused sums climb where products rounded on their own do not: */
    CLIMB = NATURAL,
    CLASSES
};

static const char *const class_names[] = {"random",        "near ties",       "cancelling dot products",
                                          "bias",          "cancelling bias", "softcap",
                                          "causal",        "ALiBi",           "ties",
                                          "ascending",     "equal",           "same value",
                                          "one far above", "steps",           "climbing"};

typedef struct sizes {
    size_t Lq, Lk, D, Dv;
} sizes;

typedef struct trial {
    int kind;
    attn_dtype compute;
    attn_tensor q, k, v, out;
    attn_opts o;
    float slopes[4];
} trial;

static real unit(attn_dtype compute)
{
    return compute == ATTN_F64 ? 0x1p-53L : 0x1p-24L;
}

static double any(double least, double most)
{
    return least + (most - least) * (test_uniform() + 1) / 2;
}

static void randomize(attn_tensor t, double size)
{
    for (size_t b = 0; b < t.batch; b++)
        for (size_t h = 0; h < t.heads; h++)
            for (size_t i = 0; i < t.len; i++)
                for (size_t d = 0; d < t.dim; d++)
                    test_tensor_set(t, b, h, i, d, size * test_uniform());
}

static attn_tensor pairs(const trial *t) /* of q and k, in the compute type */
{
    return test_tensor(t->compute, 1, t->q.heads, t->q.len, t->k.len, T_BHLD);
}

/* Scores are about `size`. `in` is the type of q, k, v and out. */
static trial make(int kind, attn_dtype in, sizes n, double size)
{
    static const attn_opts none;
    trial t;
    int two = n.Lq < 30 && test_below(3) == 0 && kind != CLIMB; /* pairs of heads share keys */
    size_t Hkv = two ? 2 : 1, H = two ? 4 : 1;
    double scale, skew = pow(8, test_uniform()), value, large;
    t.kind = kind, t.o = none;
    t.compute = in == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    if (kind == FAR_ABOVE || kind == STEPS)
        n.D = 1;
    t.q = test_tensor(in, 1, H, n.Lq, n.D, T_BHLD);
    t.k = test_tensor(in, 1, Hkv, n.Lk, n.D, T_BHLD);
    t.v = test_tensor(in, 1, Hkv, n.Lk, n.Dv, T_BHLD);
    t.out = test_tensor(in, 1, H, n.Lq, n.Dv, T_BHLD);
    if (kind == CLIMB) {
        t.o.scale = 1;
        sdpa_climb(t.q, t.k, t.v, ldexp(1, 4 + (int)test_below(10)));
        return t;
    }
    t.o.scale = test_maybe() ? 0 : kind == CAPPED || test_maybe() ? any(-3, 3) : 1;
    if (kind == FAR_ABOVE || kind == STEPS)
        t.o.scale = 1;
    scale = t.o.scale != 0 ? t.o.scale : 1 / sqrt((double)n.D);
    large = sqrt(size / fabs(scale) * 3 / sqrt((double)n.D));
    if (in == ATTN_F16 && large > 500)
        large = 500, skew = 1;
    randomize(t.q, kind == CONSTANT ? 1e-4 : large * skew);
    randomize(t.k, large / skew);
    randomize(t.v, pow(100, test_uniform()));
    value = any(1, 2);
    for (size_t h = 0; h < Hkv; h++)
        for (size_t j = 0; j < n.Lk; j++) {
            for (size_t d = 0; d < n.D; d++) {
                real x = test_tensor_get(t.k, 0, h, 0, d), own = test_tensor_get(t.k, 0, h, j, d);
                if (kind == NEAR && j > 0)
                    test_tensor_set(t.k, 0, h, j, d, (double)(x + own / (real)(size > 1 ? size : 1)));
                if (kind == TIES && test_maybe())
                    test_tensor_set(t.k, 0, h, j, d, (double)x);
                if (kind == FAR_ABOVE)
                    test_tensor_set(t.k, 0, h, j, d, j ? -0.6931 * (in == ATTN_F64 ? 53 : 24) + value / 4 : 0);
                if (kind == STEPS)
                    test_tensor_set(t.k, 0, h, j, d, (double)(j / 128) * value / 500);
            }
            if (kind == CANCELS)
                sdpa_aim(t.q, t.k, h, j, scale, 2 * test_uniform());
            if (kind == EQUAL)
                sdpa_aim(t.q, t.k, h, j, scale, size);
            if (kind == RISES)
                sdpa_aim(t.q, t.k, h, j, scale, size * (double)j / (double)n.Lk);
            for (size_t d = 0; d < n.Dv; d++) {
                if (kind == CONSTANT || kind == FAR_ABOVE)
                    test_tensor_set(t.v, 0, h, j, d, kind == FAR_ABOVE && j && d % 2 ? -value : value);
                if (kind == STEPS)
                    test_tensor_set(t.v, 0, h, j, d, j < n.Lk / 2 ? value : -value);
            }
        }
    if (kind == FAR_ABOVE || kind == STEPS)
        test_fill_tensor(t.q, 1);
    if (kind == BIASED || kind == UNBIASED) {
        t.o.bias = pairs(&t);
        randomize(t.o.bias, size);
    }
    if (kind == UNBIASED)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < n.Lq; i++)
                for (size_t j = 0; j < n.Lk; j++) {
                    real dot = 0;
                    for (size_t d = 0; d < n.D; d++)
                        dot += test_tensor_get(t.q, 0, h, i, d) * test_tensor_get(t.k, 0, h / (H / Hkv), j, d);
                    test_tensor_set(t.o.bias, 0, h, i, j, 2 * test_uniform() - (double)dot * scale);
                }
    if (kind == CAPPED)
        t.o.softcap = test_maybe() ? 30 : size * any(0.1, 5);
    if (kind == CAUSAL)
        t.o.causal = test_maybe() ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_UPPER_LEFT;
    for (size_t h = 0; h < 4; h++)
        t.slopes[h] = (float)(size / (double)n.Lk * any(0.3, 3));
    return t;
}

/* ---- one element ---- */

typedef struct answers {
    real *out, *lse, *weights;
} answers;

static answers answer(const trial *t, test_mode mode)
{
    size_t rows = t->q.heads * t->q.len;
    answers a = {test_reals(rows * t->v.dim), test_reals(rows), test_reals(rows * t->k.len)};
    sdpa_reference(a.out, a.lse, a.weights, NULL, t->q, t->k, t->v, &t->o, mode);
    return a;
}

/* A, as above, and the largest |value| of column d that the row sees, in most[d]. Returns how many keys it sees. */
static size_t look(const trial *t, size_t h, size_t i, real *A, real *most)
{
    size_t kv = h / (t->q.heads / t->k.heads), n = 0;
    real scale = t->o.scale != 0 ? (real)t->o.scale : 1 / sqrtl((real)t->q.dim);
    *A = 0;
    for (size_t d = 0; d < t->v.dim; d++)
        most[d] = 0;
    for (size_t j = 0; j < t->k.len; j++) {
        real sum = 0;
        if (!sdpa_sees(&t->o, t->q.len, t->k.len, 0, h, i, j))
            continue;
        n++;
        for (size_t d = 0; d < t->q.dim; d++)
            sum += fabsl(scale * test_tensor_get(t->q, 0, h, i, d) * test_tensor_get(t->k, 0, kv, j, d));
        if (t->kind == BIASED || t->kind == UNBIASED)
            sum += fabsl(test_tensor_get(t->o.bias, 0, h, i, j));
        if (t->o.alibi_slopes)
            sum += fabsl((real)t->slopes[h] * ((real)i - (real)j));
        *A = sum > *A ? sum : *A;
        for (size_t d = 0; d < t->v.dim; d++)
            most[d] = fmaxl(most[d], fabsl(test_tensor_get(t->v, 0, kv, j, d)));
    }
    return n;
}

static real of_keys(size_t n) /* K */
{
    return n < 300 ? 2 * (real)n : fminl(2 * (real)n, 512 + (real)n / 512);
}

static real half_ulp(real x, attn_dtype type, attn_dtype compute) /* of a narrower output */
{
    return test_size(type) < test_size(compute) ? test_ulp(x, type) / 2 : 0;
}

/* Where nobody made the data for the purpose, what is seen is within 2 naive + OBSERVED u (1 + A) max |value|: half of
   that is more than some 60000 calls came to, 14.3. No promise, but it finds more. */
#define OBSERVED 32

typedef struct record {
    real ratio, constant;
} record; /* error / bound, and what stands for OBSERVED */

/* What pairs of BF16 may add to element d of row r. */
static real of_pairs(const trial *t, attn_isa isa, const answers *want, size_t r, size_t d)
{
    size_t kv = r / t->q.len / (t->q.heads / t->k.heads);
    real size = 0;
    if (!test_takes_pairs(isa, t->q.dtype, t->k.dtype, t->v.dtype))
        return 0;
    for (size_t j = 0; j < t->k.len; j++)
        size += want->weights[r * t->k.len + j] * fabsl(test_tensor_get(t->v, 0, kv, j, d));
    return test_pairs_error(isa, t->q.dtype, t->k.dtype, t->v.dtype, size);
}

static int check_row(const trial *t, attn_isa isa, const answers *want, const answers *naive, size_t h, size_t i,
                     record *most)
{
    real values[16], A, u = unit(t->compute), bound;
    size_t r = h * t->q.len + i, n = look(t, h, i, &A, values);
    bound = u * (((real)t->q.dim + 20) * (1 + A) + of_keys(n));
    for (size_t d = 0; d < t->v.dim; d++) {
        real x = want->out[r * t->v.dim + d], error = fabsl(test_tensor_get(t->out, 0, h, i, d) - x), tolerance;
        real lucky = fabsl(naive->out[r * t->v.dim + d] - x), more = of_pairs(t, isa, want, r, d), rounding, seen;
        rounding = more + half_ulp(fabsl(x) + bound * values[d] + more, t->out.dtype, t->compute);
        tolerance = bound * values[d] + rounding;
        if (!CHECK(error <= tolerance)) {
            printf("    row %zu %zu, %zu: off by %.3Lg = %.3Lf of the bound\n", h, i, d, error, error / tolerance);
            return 0;
        }
        if (values[d] <= 0)
            continue;
        most->ratio = fmaxl(most->ratio, (error - rounding) / (tolerance - rounding));
        if (t->kind >= NATURAL)
            continue;
        seen = (error - rounding - 2 * lucky) / (u * (1 + A) * values[d]);
        most->constant = fmaxl(most->constant, seen);
        if (!CHECK(seen <= OBSERVED))
            return 0;
    }
    if (n > 0) {
        real lse = want->lse[r], error = fabsl(test_tensor_get(t->o.lse, 0, h, i, 0) - lse);
        if (!CHECK(error <= bound))
            return 0;
    }
    for (size_t j = 0; j < t->k.len; j++)
        if (!CHECK(fabsl(test_tensor_get(t->o.weights, 0, h, i, j) - want->weights[r * t->k.len + j]) <= bound))
            return 0;
    return 1;
}

static void check_trial(trial *t, record *most)
{
    answers want, naive;
    if (t->kind == SLOPED)
        t->o.alibi_slopes = t->slopes;
    want = answer(t, EXACT);
    naive = answer(t, t->compute == ATTN_F64 ? NAIVE64 : NAIVE32);
    t->o.lse = test_tensor(t->compute, 1, t->q.heads, t->q.len, 1, T_BHLD);
    t->o.weights = pairs(t);
    FOR_EACH_ISA_OF (isa, t->q.dtype) {
        attn_ctx ctx = test_ctx(isa);
        int good = 1;
        ctx.batch_invariant = test_maybe();
        test_case("%s, %s, %s, Lq %zu, Lk %zu, D %zu%s", class_names[t->kind], attn_isa_string(isa),
                  test_dtype_name(t->q.dtype), t->q.len, t->k.len, t->q.dim,
                  ctx.batch_invariant ? ", batch_invariant" : "");
        good = CHECK_STATUS(attn_sdpa(t->out, t->q, t->k, t->v, &t->o, &ctx), ATTN_OK);
        for (size_t r = 0; r < t->q.heads * t->q.len && good; r++)
            good = check_row(t, isa, &want, &naive, r / t->q.len, r % t->q.len, &most[isa]);
    }
    test_release();
}

/* ---- the tests ---- */

static void report(const record *most)
{
    if (getenv("TEST_REPORT"))
        FOR_EACH_ISA (isa)
            printf("    %s: at most %.3Lf of the bound; where it is 2 naive + c u (1 + A), c = %.2Lf\n",
                   attn_isa_string(isa), most[isa].ratio, most[isa].constant);
}

/* Two keys that one outside check met: the naive loops were off by 8.4e-9, the engine by 3.4e-6. */
static void check_two_keys(record *most)
{
    static const double q[] = {-19.0252743, 13.2321386}, k[] = {-8.62814999, -19.9261684, 2.74434233, -3.49517274};
    for (int wide = 0; wide < 2; wide++)
        for (size_t Lq = 1; Lq < 40; Lq += 38) {
            trial t = make(RANDOM, wide ? test_wide : ATTN_F32, (sizes){Lq, 2, 2, 1}, 1);
            t.o.scale = 0;
            for (size_t h = 0; h < t.q.heads; h++)
                for (size_t d = 0; d < 2; d++) {
                    for (size_t i = 0; i < Lq; i++)
                        test_tensor_set(t.q, 0, h, i, d, q[d]);
                    for (size_t j = 0; j < 2; j++) {
                        test_tensor_set(t.k, 0, h / (t.q.heads / t.k.heads), j, d, k[2 * j + d]);
                        test_tensor_set(t.v, 0, h / (t.q.heads / t.k.heads), j, 0, j ? -1 : 1);
                    }
                }
            check_trial(&t, most);
        }
}

TEST(accuracy_element)
{
    static const size_t depths[] = {1, 2, 2, 2, 3, 4, 5, 8, 16, 33, 64, 128, 256};
    static const size_t keys[] = {1, 2, 2, 2, 3, 5, 16, 17, 40, 64, 129, 300, 1000, 4096},
                        rows[] = {1, 1, 2, 5, 20, 40};
    const attn_dtype types[] = {ATTN_F32, ATTN_F32, ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    record most[TEST_LAST_ISA + 1] = {{0, 0}};
    check_two_keys(most);
    for (size_t n = 0; n < (test_quick ? 150 : 1500); n++) {
        int kind = (int)(n % NATURAL);
        sizes s = {rows[test_below(6)], keys[test_below(14)], depths[test_below(13)], 1 + test_below(4)};
        trial t;
        while (s.Lq * s.Lk * s.D > (test_quick ? 1u << 13 : n % 50 ? 1u << 14 : 1u << 18)) {
            s.Lq = s.Lq / 3 + 1;
            if (test_maybe())
                s.Lk = s.Lk / 2 + 1;
            else
                s.D = s.D / 2 + 1;
        }
        t = make(kind, types[test_below(6)], s, pow(10, any(-1, 4.7)));
        check_trial(&t, most);
    }
    for (size_t n = 0; n < (test_quick ? 10 : 100); n++) {
        trial t = make(CLIMB, n % 2 ? test_wide : ATTN_F32, (sizes){1, n % 3 ? 2 : 40, depths[12 - n % 13] | 1, 2}, 1);
        check_trial(&t, most);
    }
    for (size_t n = 0; n < (test_quick ? 2 : 6); n++) { /* long chains of keys, and splits */
        trial t = make(n % 2 ? STEPS : CONSTANT, n % 3 ? ATTN_F32 : test_wide, (sizes){1, 10000 + 9000 * n, 1, 1}, 1);
        check_trial(&t, most);
    }
    report(most);
}

/* Of many random calls, each element's error being divided by its size, and of each large call by itself. */
TEST(accuracy_rms)
{
    static const int kinds[] = {RANDOM, NEAR, BIASED, CAPPED, CAUSAL, SLOPED, TIES, EQUAL};
    for (int wide = 0; wide < (LDBL_MANT_DIG > DBL_MANT_DIG && test_wide == ATTN_F64 ? 2 : 1); wide++)
        for (size_t c = 0; c < sizeof kinds / sizeof *kinds; c++) {
            real got[TEST_LAST_ISA + 1] = {0}, naive[TEST_LAST_ISA + 1] = {0}, worst[TEST_LAST_ISA + 1] = {0};
            for (size_t n = 0; n < (test_quick ? 3 : 20); n++) {
                sizes s = {n % 3 ? 48 : 12, 16 + test_below(180), 1 + test_below(64), 6};
                trial t = make(kinds[c], wide ? test_wide : ATTN_F32, s, any(0.5, n % 2 ? 8 : 20));
                real u = unit(t.compute);
                answers want, plain;
                if (t.kind == SLOPED)
                    t.o.alibi_slopes = t.slopes;
                want = answer(&t, EXACT);
                plain = answer(&t, wide ? NAIVE64 : NAIVE32);
                FOR_EACH_ISA_OF (isa, t.q.dtype) {
                    attn_ctx ctx = test_ctx(isa);
                    real square = 0, square_naive = 0, square_out = 0, most;
                    ctx.batch_invariant = n / 2 % 2;
                    test_case("%s, %s, %s, Lq %zu, Lk %zu, D %zu", class_names[t.kind], attn_isa_string(isa),
                              test_dtype_name(t.compute), s.Lq, s.Lk, s.D);
                    CHECK_STATUS(attn_sdpa(t.out, t.q, t.k, t.v, &t.o, &ctx), ATTN_OK);
                    for (size_t h = 0; h < t.q.heads; h++)
                        for (size_t i = 0; i < s.Lq; i++) {
                            real A, values[16];
                            look(&t, h, i, &A, values);
                            for (size_t d = 0; d < s.Dv; d++) {
                                size_t at = (h * s.Lq + i) * s.Dv + d;
                                real size = u * (1 + A) * values[d];
                                real error = test_tensor_get(t.out, 0, h, i, d) - want.out[at];
                                real other = plain.out[at] - want.out[at];
                                square += error * error, square_naive += other * other;
                                square_out += want.out[at] * want.out[at];
                                if (size > 0)
                                    got[isa] += error * error / size / size, naive[isa] += other * other / size / size;
                            }
                        }
                    most = 2 * sqrtl(square_naive) + 4 * 2 * u * sqrtl(square_out); /* 4 ulp, where they are largest */
                    CHECK(sqrtl(square) <= most);
                    worst[isa] = fmaxl(worst[isa], sqrtl(square) / most);
                }
                test_release();
            }
            FOR_EACH_ISA_OF (isa, ATTN_F32) {
                test_case("%s, %s, %s, all together", class_names[kinds[c]], attn_isa_string(isa),
                          wide ? "f64" : "f32");
                CHECK(got[isa] <= 1.5L * 1.5L * naive[isa]);
                if (getenv("TEST_REPORT"))
                    printf("    %-25s %-7s %s: RMS %.3Lf of naive; of one call %.3Lf of its bound\n",
                           class_names[kinds[c]], attn_isa_string(isa), wide ? "f64" : "f32",
                           sqrtl(got[isa] / naive[isa]), worst[isa]);
            }
        }
}

/* ---- sums over k ---- */

/* The errors of products a b, squared and summed; of one chain of fused sums for each, if there is no `got`. */
static real square_error(const attn_mat *got, attn_mat a, attn_mat b, const real *exact)
{
    real square = 0;
    for (size_t n = 0; n < a.rows * b.cols; n++) {
        size_t r = n / b.cols, c = n % b.cols;
        double wide = 0;
        float narrow = 0;
        real x;
        for (size_t k = 0; k < a.cols && !got; k++)
            if (a.dtype == ATTN_F64)
                wide = fma(*(double *)test_at(a, r, k), *(double *)test_at(b, k, c), wide);
            else
                narrow = fmaf(*(float *)test_at(a, r, k), *(float *)test_at(b, k, c), narrow);
        x = got ? test_load(test_at(*got, r, c), got->dtype) : a.dtype == ATTN_F64 ? (real)wide : (real)narrow;
        square += (x - exact[n]) * (x - exact[n]);
    }
    return square;
}

static void check_chains(const attn_mat *got, attn_mat a, attn_mat b, const real *exact, real square_chain, real most)
{
    real ratio = sqrtl(square_error(got, a, b, exact) / square_chain);
    CHECK(ratio < most);
    if (getenv("TEST_REPORT"))
        printf("    %s, %zu rows, K %zu: %.3Lf of one chain\n", test_dtype_name(a.dtype), a.rows, a.cols, ratio);
}

/* Products and scores of many rows are summed in two chains, of half the terms each: their RMS error is 0.71 of that of
   one. Those of few rows, and of any that are batch_invariant or ATTN_SMALL's, are summed in a chain for each lane: one
   in plain C, which rounds products besides. */
TEST(accuracy_chains)
{
    static const size_t depths[] = {64, 256, 512, 700};
    for (size_t n = 0; n < 4; n++)
        for (int few = 0; few < 2; few++)
            for (int wide = 0; wide <= test_real_is_wider(); wide++) {
                attn_dtype type = wide ? test_wide : ATTN_F32;
                size_t rows = few ? 4 : 40, cols = few ? 400 : 40, K = depths[n];
                attn_mat a = test_random_mat(type, rows, K, PACKED), b = test_random_mat(type, K, cols, TRANSPOSED);
                attn_tensor q = {a.data, type, 1, 1, rows, K, 0, 0, a.row_stride, 1};
                attn_tensor k = {b.data, type, 1, 1, cols, K, 0, 0, b.col_stride, 1};
                attn_tensor out = test_tensor(type, 1, 1, rows, K, T_BHLD);
                real *exact = test_reals(rows * cols), square;
                for (size_t e = 0; e < rows * cols * K; e++)
                    exact[e / K] = (e % K ? exact[e / K] : 0) + test_load(test_at(a, e / K / cols, e % K), type) *
                                                                    test_load(test_at(b, e % K, e / K % cols), type);
                square = square_error(NULL, a, b, exact);
                FOR_EACH_ISA_OF (isa, type) {
                    attn_ctx ctx = test_ctx(isa);
                    attn_mat product = test_mat(type, rows, cols, PACKED), scores;
                    attn_opts opts = {0};
                    test_case("%s, %s, %zu x %zu x %zu", attn_isa_string(isa), test_dtype_name(type), rows, K, cols);
                    opts.scale = 1;
                    opts.scores = test_tensor(type, 1, 1, rows, cols, T_BHLD);
                    scores = attn_head(opts.scores, 0, 0);
                    for (; ctx.batch_invariant < 2; ctx.batch_invariant++) {
                        int invariant = test_small || ctx.batch_invariant;
                        int lanes = invariant || rows <= (K < 128 ? 8 : 48);
                        int one = invariant && isa == ATTN_ISA_SCALAR;
                        CHECK_STATUS(attn_sdpa(out, q, k, k, &opts, &ctx), ATTN_OK);
                        check_chains(&scores, a, b, exact, square, one ? 1.2L : 0.85L);
                        CHECK_STATUS(attn_matmul_ctx(product, a, b, 1, &ctx), ATTN_OK);
                        check_chains(&product, a, b, exact, square, lanes && isa == ATTN_ISA_SCALAR ? 1.2L : 0.85L);
                    }
                }
                test_release();
            }
}

/* The first 48 keys are summed in chains of 16: after a value of 1, values of half an ulp of that are lost in one chain,
   but the sums of the later chains are not. */
TEST(accuracy_first_keys)
{
    for (int few = 0; few < 2; few++)
        for (int wide = 0; wide <= test_real_is_wider(); wide++)
            FOR_EACH_ISA (isa) {
                attn_dtype type = wide ? test_wide : ATTN_F32;
                size_t rows = few ? 1 : 20, keys = 64, dims = 70;
                attn_ctx ctx = test_ctx(isa);
                attn_tensor q = test_tensor(type, 1, 1, rows, 3, T_BHLD), k = test_tensor(type, 1, 1, keys, 3, T_BHLD);
                attn_tensor v = test_tensor(type, 1, 1, keys, dims, T_BHLD);
                attn_tensor out = test_tensor(type, 1, 1, rows, dims, T_BHLD);
                attn_mat first = attn_head(v, 0, 0), result = attn_head(out, 0, 0);
                test_case("%s, %s, %zu queries", attn_isa_string(isa), test_dtype_name(type), rows);
                test_fill_tensor(q, 0);
                test_fill_tensor(k, 0);
                test_fill_tensor(v, (double)unit(type));
                first.rows = 1;
                test_fill(first, 1);
                CHECK_STATUS(attn_sdpa(out, q, k, v, NULL, &ctx), ATTN_OK);
                for (size_t e = 0; e < rows * dims; e++) {
                    real x = test_load(test_at(result, e / dims, e % dims), type) * (real)keys;
                    CHECK(x >= 1 + 32 * unit(type) && x <= 1 + 70 * unit(type)); /* in one chain: 1 */
                }
                test_release();
            }
}

/* ---- scores that are outputs ---- */

/* scale q . k; and the sum of the magnitudes of its terms. */
static real exact_score(const trial *t, size_t h, size_t i, size_t j, real *size)
{
    real sum = 0;
    *size = 0;
    for (size_t d = 0; d < t->q.dim; d++) {
        real term = (real)t->o.scale * test_tensor_get(t->q, 0, h, i, d) *
                    test_tensor_get(t->k, 0, h / (t->q.heads / t->k.heads), j, d);
        sum += term, *size += fabsl(term);
    }
    return sum;
}

/* Scores of the last stage are scale q . k, rounded once more, where q . k is, of many rows, what attn_matmul gives; of
   few rows the terms are summed in another order, in which each is rounded D times or less, as in any: by u D A.
   Softmax may have left out that rounding, and that of the
   scale to float. So weights are those of the exported scores but for a factor of e^(4 u max |score|), which the
   outside check saw between -16540.4863 and -16540.1172; and but for what softmax itself is off by. Options that come
   between dot product and softmax make the scores those that softmax sees. */
static void check_scores(attn_isa isa, attn_dtype type, sizes n, double size, int left)
{
    attn_ctx ctx = test_ctx(isa);
    trial t = make(n.Lk % 2 ? NEAR : EQUAL, type, n, size);
    attn_tensor dot = test_tensor(type, 1, t.q.heads, n.Lq, n.Lk, T_BHLD);
    real u = unit(type);
    double scale;
    t.o.scale = left ? any(0.01, 0.6) : any(-3, -0.1);
    scale = t.o.scale;
    t.o.scores_stage = ATTN_STAGE_FINAL;
    t.o.scores = pairs(&t), t.o.weights = pairs(&t);
    ctx.batch_invariant = test_below(3) == 0;
    test_case("%s, %s, Lq %zu, Lk %zu, D %zu, scale %.9g%s", attn_isa_string(isa), test_dtype_name(type), n.Lq, n.Lk,
              n.D, scale, ctx.batch_invariant ? ", batch_invariant" : "");
    CHECK_STATUS(attn_sdpa(t.out, t.q, t.k, t.v, &t.o, &ctx), ATTN_OK);
    for (size_t h = 0; h < t.q.heads; h++)
        CHECK_STATUS(attn_matmul_ctx(attn_head(dot, 0, h), attn_head(t.q, 0, h),
                                     attn_mat_t(attn_head(t.k, 0, h / (t.q.heads / t.k.heads))), 1, &ctx),
                     ATTN_OK);
    for (size_t h = 0; h < t.q.heads; h++)
        for (size_t i = 0; i < n.Lq; i++) {
            real most = -INFINITY, largest = 0, sum = 0, least = type == ATTN_F64 ? 4.01L * DBL_MIN : 4.01L * FLT_MIN;
            for (size_t j = 0; j < n.Lk; j++) {
                real s = test_tensor_get(t.o.scores, 0, h, i, j), exact = scale * test_tensor_get(dot, 0, h, i, j);
                real off = 0;
                if (ctx.batch_invariant || n.Lq < 20)
                    exact = exact_score(&t, h, i, j, &off);
                if (!CHECK_NEAR(s, exact, u * ((real)n.D * off + 2.01L * fabsl(exact))))
                    return;
                most = fmaxl(most, s), largest = fmaxl(largest, fabsl(s));
            }
            for (size_t j = 0; j < n.Lk; j++)
                sum += expl(test_tensor_get(t.o.scores, 0, h, i, j) - most);
            for (size_t j = 0; j < n.Lk; j++) {
                real s = test_tensor_get(t.o.scores, 0, h, i, j), want = expl(s - most) / sum;
                real softmax = u * (2 * (20 + (most - s)) + of_keys(n.Lk)), apart = left ? 4 * u * largest : 0;
                if (!CHECK_NEAR(test_tensor_get(t.o.weights, 0, h, i, j), want, want * expm1l(apart + softmax) + least))
                    return;
            }
        }
    test_release();
}

TEST(accuracy_scores)
{
    FOR_EACH_ISA_OF (isa, ATTN_F32)
        for (size_t n = 0; n < (test_quick ? 20 : 200); n++) {
            sizes s = {n % 3 ? 1 + test_below(4) : 20 + test_below(20), 2 + test_below(n % 7 ? 20 : 300),
                       1 + test_below(n % 5 ? 8 : 80), 1};
            check_scores(isa, n % 4 ? ATTN_F32 : test_wide, s, pow(10, any(-1, 4.7)), n % 8 < 5);
        }
}
