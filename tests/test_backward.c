/* attn_sdpa_backward: its reference against finite differences of attn_sdpa; the function against its reference over a
   grid of shapes, options, types, layouts and contexts in which every value meets every other; then what must hold
   whatever the values are.

   An element is within u (2 (D + 25) (1 + A) + Dv + 2 K + N) x the sum of the magnitudes of its terms, twice that with
   softcap, as NUMERICS of attn.h says, u being half an ulp of 1 in the compute type; plus half an ulp of a narrower
   type. That comes from counting roundings. Those of a score, D / 2 and some, move a weight by as much of itself: once
   in the backward pass, once in lse, and up to twice in out; so does what the sums of weights (in lse) and of values
   (in out) are off by, K or less each. lse is rounded twice, score - lse once, to less than u (4 A + 3 log n) in all,
   since |lse| is A + log n at most. dP and delta have Dv terms, a gradient has N. tanh is off by 6 ulp, its slope by
   twice that and by the score's error / softcap.

   Where nobody made the data for the purpose, it is also within 3 times the error of the naive composition + C u (1 +
   the largest |score| or |lse|) x that sum, which is no promise, but finds more; and the root of the mean of the
   squared errors of a case is at most 3 times the naive one's, as far as that is no luck.

   BACKWARD_CASE=N ./build/test backward_grid runs case N alone; BACKWARD_REPORT=1 says how many cases ran, the C that
   they needed, and how far off the worst was. */
#include "trial.h"

#define C 8

#if !defined(ATTN_NO_TRAINING)

/* ---- the axes of the grid ---- */

static const size_t sizes_d[] = {1, 2, 3, 5, 8, 16, 17, 40, 63, 64, 72, 96, 128, 130};
static const size_t sizes_dv[] = {0, 1, 3, 7, 16, 33, 64, 100, 130}; /* 0: D */
static const size_t lengths_q[] = {0, 1, 4, 15, 16, 17, 47, 48, 49, 97, 260};
static const size_t lengths_k[] = {0, 1, 7, 8, 9, 31, 127, 128, 129, 300, 530};
static const size_t groups[] = {1, 2, 7}, batches[] = {1, 3};

enum { WINDOWS = TRIAL_WINDOWS - 1, SCALES = 5, DROPS = 3 }; /* no window wider than all keys, nor scores so large */

/* clang-format off */
static const struct grid_axis axes[TRIAL_AXES] = {
    AXIS_OF(D, sizes_d), AXIS_OF(DV, sizes_dv), AXIS_OF(LQ, lengths_q), AXIS_OF(LK, lengths_k), AXIS_OF(GROUP, groups),
    AXIS_OF(B, batches), AXIS(WINDOW, WINDOWS), AXIS(MASK, MASKS), AXIS(MASK_KIND, MASK_KINDS), AXIS(Q_LENS, LENS),
    AXIS(KV_LENS, LENS), AXIS(SCALE, SCALES), AXIS(BIAS, BIASES), AXIS(BIAS_KIND, BIAS_LARGE),
    AXIS(BIAS_TYPE, TRIAL_FLOATS), AXIS(BIAS_GRAD, TRIAL_FLOATS), AXIS(DROPOUT, DROPS), AXES_OF_OPTIONS,
    AXES_OF_LAYOUTS, AXES_OF_GRADS, AXES_OF_CONTEXT, AXIS(INVARIANT, 2)
};

static const grid backward_grid = {
    TRIAL_GRID("backward_grid", "BACKWARD_CASE"), .first = {A_LQ, A_LK}, .cost = trial_cost, .bound = {3e4, 2e3},
     .sample = trial_sample, .samples = {300, 15}, .sample_bound = {6e4, 2e4}
};
/* clang-format on */

static grid_point sample(uint64_t seed, double bound)
{
    return trial_sample(&backward_grid, seed, bound);
}

/* ---- one case ---- */

static const real *factors; /* of dropout, in the trial that was made last; or NULL */
static int made;            /* such that naive loops are lucky: no more is asked than what is promised */

static void make(trial *t, const grid_point *p, uint64_t seed)
{
    trial_make(t, &backward_grid, p, seed);
    factors = backward_factors(t->c.o.dropout, t->B, t->H, t->Lq, t->Lk);
}

/* Its forward pass: out and lse, fresh. */
static void go_forward(trial *t, const grid_point *p, attn_isa isa)
{
    attn_ctx ctx = test_ctx(isa);
    trial_outputs(t, p, GRID_BACKWARD);
    CHECK_STATUS(grid_ask(&t->c, GRID_SDPA, &ctx, NULL, 0), ATTN_OK);
}

static attn_status run(const trial *t, const attn_ctx *ctx)
{
    return grid_ask(&t->c, GRID_BACK, ctx, NULL, 0);
}

enum { ISAS = TEST_LAST_ISA + 1 };

/* ---- the reference against finite differences ---- */

/* An option, as a level of an axis; of two that share an axis the later one counts. */
static const struct {
    int axis, level;
} settings[] = {{A_D, 0},
                {A_CAUSAL, ATTN_CAUSAL_UPPER_LEFT},
                {A_CAUSAL, ATTN_CAUSAL_LOWER_RIGHT},
                {A_CAUSAL, ATTN_CAUSAL_OFFSET},
                {A_OFFSET, OFFSET_AHEAD},
                {A_WINDOW, 2},
                {A_WINDOW, 3},
                {A_MASK, 1 + 15},
                {A_MASK, 1 + 8},
                {A_Q_LENS, LENS_RANDOM},
                {A_KV_LENS, LENS_RANDOM},
                {A_SCALE, 1},
                {A_SCALE, 2},
                {A_SOFTCAP, 1},
                {A_BIAS, 1 + 15},
                {A_BIAS, 1 + 14},
                {A_BIAS, 1 + 9},
                {A_BIAS, 1 + 6},
                {A_BIAS, 1},
                {A_BIAS, BIAS_BY_DISTANCE},
                {A_BIAS_KIND, BIAS_HOLES},
                {A_ALIBI, 1},
                {A_SINKS, SINKS_RANDOM},
                {A_MOD, 1},
                {A_DLSE, 1 + ATTN_F64},
                {A_DROPOUT, 1},
                {A_GROUP, 1},
                {A_HKV, 1},
                {A_B, 1},
                {A_DV, 3},
                {A_Q_LAYOUT, T_ONE_BATCH},
                {A_K_LAYOUT, T_ONE_BATCH},
                {A_V_LAYOUT, T_ONE_BATCH}};

/* Three items of two heads, 4 queries, 7 keys, D = 3, Dv = 7, all F64, without options. */
static grid_point plain_point(void)
{
    grid_point p;
    memset(p.at, 0, sizeof p.at);
    p.at[A_D] = 2, p.at[A_LQ] = 2, p.at[A_LK] = 2, p.at[A_TYPES] = 1, p.at[A_BIAS_TYPE] = p.at[A_BIAS_GRAD] = ATTN_F64;
    return p;
}

static void set_level(grid_point *p, int n)
{
    int axis = settings[n].axis;
    p->at[axis] = (signed char)settings[n].level;
    if (axis == A_CAUSAL && settings[n].level == ATTN_CAUSAL_OFFSET && !p->at[A_OFFSET])
        p->at[A_OFFSET] = OFFSET_ALIGNED;
    if (axis == A_BIAS_KIND && !p->at[A_BIAS])
        p->at[A_BIAS] = 1 + 15;
    if (axis >= A_Q_LAYOUT && axis <= A_V_LAYOUT)
        p->at[A_B] = 1;
}

/* The loss whose gradients are dout and dlse. */
static real loss_of(const trial *t)
{
    attn_ctx ctx = test_ctx(ATTN_ISA_SCALAR);
    real loss = 0;
    CHECK_STATUS(attn_sdpa(t->c.out, t->c.q, t->c.k, t->c.v, &t->c.o, &ctx), ATTN_OK);
    for (size_t b = 0; b < t->B; b++)
        for (size_t h = 0; h < t->H; h++)
            for (size_t i = 0; i < t->Lq; i++) {
                double lse = *(double *)test_tensor_at(t->c.o.lse, b, h, i, 0);
                for (size_t d = 0; d < t->Dv; d++)
                    loss += (real) * (double *)test_tensor_at(t->c.out, b, h, i, d) *
                            *(double *)test_tensor_at(t->c.dout, b, h, i, d);
                if (!test_absent_tensor(t->c.g.dlse) && lse > -HUGE_VAL)
                    loss += (real)lse * *(double *)test_tensor_at(t->c.g.dlse, b, h, i, 0);
            }
    return loss;
}

/* The input that element n of a gradient is about. */
static void *input_at(const trial *t, int g, size_t n)
{
    attn_tensor in = g == GRAD_Q ? t->c.q : g == GRAD_K ? t->c.k : g == GRAD_V ? t->c.v : t->c.o.bias;
    if (g == GRAD_SINKS || g == GRAD_SLOPES)
        return (void *)((g == GRAD_SINKS ? t->c.o.sinks : t->c.o.alibi_slopes) + n);
    if (g == GRAD_DISTANCE) {
        size_t count = t->Lq + t->Lk - 1, c = n % count, i = c < t->Lq ? t->Lq - 1 - c : 0;
        return test_tensor_at(in, 0, n / count, i, c + 1 + i - t->Lq);
    }
    return test_tensor_at(in, n / in.dim / in.len / in.heads, n / in.dim / in.len % in.heads, n / in.dim % in.len,
                          n % in.dim);
}

/* The input moved by `steps` times the direction. */
static void move(const trial *t, int g, const int *direction, size_t count, double step)
{
    for (size_t n = 0; n < count; n++) {
        void *x = input_at(t, g, n);
        if (g == GRAD_SINKS || g == GRAD_SLOPES)
            *(float *)x += (float)(step * direction[n]);
        else
            *(double *)x += step * direction[n];
    }
}

/* How the loss changes in a direction: central differences of fourth order. Steps are powers of two and moves whole
   numbers of them, so that floats move exactly. */
static real slope_of(const trial *t, int g, const int *direction, size_t count)
{
    const double step = 1.0 / 4096;
    real far, near;
    move(t, g, direction, count, 2 * step);
    far = loss_of(t);
    move(t, g, direction, count, -4 * step);
    far -= loss_of(t);
    move(t, g, direction, count, 3 * step);
    near = loss_of(t);
    move(t, g, direction, count, -2 * step);
    near -= loss_of(t);
    move(t, g, direction, count, step);
    return (8 * near - far) / (12 * (real)step);
}

static real worst_slope;

/* The direction of one element, or of all. */
static void check_direction(const trial *t, int g, const backward_result *want, const int *direction)
{
    real slope = slope_of(t, g, direction, want->counts[g]), said = 0, size = 0, tolerance;
    for (size_t n = 0; n < want->counts[g]; n++) {
        said += direction[n] * want->values[g][n];
        size += abs(direction[n]) * want->sizes[g][n];
    }
    tolerance = 1e-9L * (1 + size);
    worst_slope = fabsl(slope - said) / tolerance > worst_slope ? fabsl(slope - said) / tolerance : worst_slope;
    if (fabsl(slope - said) > tolerance)
        printf("    gradient of %s\n", backward_names[g]);
    CHECK_NEAR(slope, said, tolerance);
}

static void check_differences(const grid_point *p, uint64_t seed, int directions)
{
    static const attn_tensor none;
    trial t;
    backward_result want;
    int *direction;
    make(&t, p, seed);
    go_forward(&t, p, ATTN_ISA_SCALAR);
    sdpa_backward_reference(&want, &t.c.g, t.c.dout, t.c.q, t.c.k, t.c.v, none, &t.c.o, factors, EXACT);
    for (int g = 0; g < GRADS; g++) {
        direction = test_block(want.counts[g] * sizeof *direction + 1);
        for (int d = 0; d < (directions ? directions : (int)want.counts[g]); d++) {
            if (g == GRAD_BIAS && p->at[A_BIAS] == BIAS_BY_DISTANCE) /* its elements cannot move one by one */
                continue;
            for (size_t n = 0; n < want.counts[g]; n++)
                direction[n] = directions ? (int)grid_roll(3) - 1 : n == (size_t)d;
            check_direction(&t, g, &want, direction);
        }
    }
}

/* Every option alone, element by element; every two, each gradient in three directions. */
TEST(backward_differences)
{
    int count = COUNT(settings);
    if (test_lacks_f64())
        return;
    worst_slope = 0;
    for (int m = 0; m < count; m++)
        for (int n = m; n < count; n += test_quick ? 5 : 1) {
            grid_point p = plain_point();
            test_case("options %d and %d", m, n);
            set_level(&p, m);
            set_level(&p, n);
            check_differences(&p, (uint64_t)(100 * m + n), m == n ? 0 : 3);
            test_release();
        }
    if (getenv("BACKWARD_REPORT"))
        printf("differences: at most %.2Lg of the tolerance\n", worst_slope);
}

/* ---- against the reference ---- */

/* Of F32 and F64 gradients: the largest part of what is promised that an error was; the C that the worst needed; and of
   those whose naive error is no luck, the worst root of the mean of squares as a multiple of the naive one. */
static struct {
    long cases;
    real promised, constant, ratio;
    const char *name;
    long at;
} report[ISAS][2];
static long case_number;

/* Enough rows, scores and elements, rows of several keys (the weight of one alone is 1), no score so large that
   rounding it decides everything, and no score_mod, before which EXACT rounds as the naive way does. */
static int naive_is_typical(const trial *t, size_t count)
{
    size_t rows = t->B * t->H * t->Lq;
    return t->Lq >= 15 && sdpa_pairs >= 4 * rows && count >= 64 && test_size_of_sums < 32 && !t->c.o.score_mod;
}

/* Whether `got`, as stored, is right where `want` is a NaN, an infinity, or more than an F16 holds. */
static int is_special(real got, real want)
{
    return isnan(want) ? isnan(got) : !sdpa_finite(want) ? got == want : want > 0 ? got >= 65504 : got <= -65504;
}

/* A gradient as a whole, against the reference. */
typedef struct comparison {
    const trial *t;
    attn_isa isa;
    int grad;
    attn_dtype dtype;
    int narrow;             /* than the compute type */
    real unit, vanishing;   /* half an ulp of 1, times 1 + the largest |score| or |lse|, or, of few rows, sum of the
                               magnitudes of a score's terms; some weights that underflow */
    real promise;           /* an error is at most so many times the sum of the magnitudes of its terms */
    real got, naive, sizes; /* sums of squares: of errors, and of the sums of magnitudes */
    size_t count;
} comparison;

static void note(const comparison *c, real error, real of_naive, real size)
{
    int f64 = c->t->compute == ATTN_F64;
    real needed = size > 0 ? (error - 3 * of_naive) / (c->unit * size) : 0;
    report[c->isa][f64].promised = fmaxl(report[c->isa][f64].promised, size > 0 ? error / (c->promise * size) : 0);
    if (needed > report[c->isa][f64].constant) {
        report[c->isa][f64].constant = needed;
        report[c->isa][f64].name = backward_names[c->grad];
        report[c->isa][f64].at = case_number;
    }
}

static int element_close(comparison *c, size_t n, real want, real naive, real size)
{
    real got = backward_get(&c->t->c.g, c->grad, n), error = fabsl(got - want), of_naive = fabsl(naive - want),
         tolerance;
    if (!sdpa_finite(want) || (c->dtype == ATTN_F16 && fabsl(want) > 65504)) {
        if (is_special(got, want))
            return 1;
        printf("    %s[%zu]: got %.9Lg, want %.9Lg\n", backward_names[c->grad], n, got, want);
        return 0;
    }
    if (error < c->vanishing)
        return 1;
    tolerance = 3 * of_naive + C * c->unit * size;
    if (made || tolerance > c->promise * size)
        tolerance = c->promise * size;
    if (c->narrow && error > tolerance)
        tolerance += test_ulp(fabsl(want) + tolerance, c->dtype) / 2;
    if (!c->narrow)
        note(c, error, of_naive, size);
    c->got += error * error, c->naive += of_naive * of_naive, c->sizes += size * size;
    c->count++;
    if (error <= tolerance) /* and no NaN */
        return 1;
    printf("    %s[%zu]: got %.9Lg, want %.9Lg, naive %.9Lg, off by %.3Lg of %.3Lg\n", backward_names[c->grad], n, got,
           want, naive, error, tolerance);
    return 0;
}

/* How many pairs of a query and a key an element is summed over, at most. */
static real pairs_of(const trial *t, int grad, const backward_result *want)
{
    real pairs = (real)(t->B * t->Lq) * (real)(t->H * t->Lk);
    if (grad == GRAD_DISTANCE || grad == GRAD_SINKS)
        return (real)(t->B * t->Lq);
    return pairs / (real)(want->counts[grad] / (grad == GRAD_V ? t->Dv : grad <= GRAD_K ? t->D : 1));
}

static real promised(const trial *t, int grad, const backward_result *want)
{
    real D = (real)t->D, Dv = (real)t->Dv, n = (real)t->Lk, K = fminl(2 * n, 512 + n / 512);
    real bound = 2 * (D + 25) * (1 + want->sums) + Dv + 2 * K + pairs_of(t, grad, want);
    return test_ulp(1, t->compute) / 2 * bound * (t->c.o.softcap > 0 ? 2 : 1);
}

/* The way back sums the terms of all scores in two chains. Forward, few rows have another order: lse is then of scores
   that differ by roundings of sums, as large as their terms are. 8: no instruction set takes more rows for few. */
static int may_be_few(const trial *t)
{
    return t->c.batch_invariant || t->c.o.q_lens || t->c.o.sequences > 0 || t->Lq * (t->H / t->Hkv) <= 8;
}

/* initial: what there was before, or NULL */
static int grad_close(const trial *t, attn_isa isa, int grad, const backward_result *want, const backward_result *naive,
                      const real *initial)
{
    int f64 = t->compute == ATTN_F64;
    comparison c = {0};
    real least;
    c.t = t, c.isa = isa, c.grad = grad, c.dtype = backward_dtype(&t->c.g, grad);
    c.narrow = test_size(c.dtype) < test_size(t->compute);
    c.unit = test_ulp(1, t->compute) / 2 * (1 + (may_be_few(t) ? fmaxl(want->sums, want->most) : want->most));
    c.vanishing = ldexpl(1, f64 ? -1000 : -104);
    c.promise = promised(t, grad, want);
    for (size_t n = 0; n < want->counts[grad]; n++) {
        real x = initial ? initial[n] : 0;
        if (!element_close(&c, n, want->values[grad][n] + x, naive->values[grad][n] + x,
                           want->sizes[grad][n] + fabsl(x)))
            return 0;
    }
    if (c.narrow || made)
        return 1;
    least = C * c.unit;
    if (naive_is_typical(t, c.count) && !initial && c.naive > 0) {
        real ratio = sqrtl(c.got / c.naive);
        report[isa][f64].ratio = ratio > report[isa][f64].ratio ? ratio : report[isa][f64].ratio;
        least = 0;
    }
    if (c.got <= 9 * c.naive + least * least * c.sizes)
        return 1;
    printf("    %s: root mean square error %.3Lg, the naive one's %.3Lg\n", backward_names[grad],
           sqrtl(c.got / (real)c.count), sqrtl(c.naive / (real)c.count));
    return 0;
}

typedef struct answers {
    backward_result want, naive;
    real *initial[GRADS];
} answers;

static int has(const trial *t, int g)
{
    attn_tensor outs[GRADS];
    grid_outputs(&t->c, GRID_BACKWARD, outs);
    return !test_absent_tensor(outs[g]);
}

static void look_before(answers *a, const trial *t)
{
    attn_tensor outs[GRADS];
    grid_outputs(&t->c, GRID_BACKWARD, outs);
    for (int g = 0; g < GRADS; g++)
        a->initial[g] = t->c.g.accumulate && !test_absent_tensor(outs[g]) ? test_tensor_values(outs[g]) : NULL;
}

static void answer(answers *a, const trial *t, attn_isa isa)
{
    static const attn_tensor none;
    int rounded = test_size(t->c.out.dtype) < test_size(t->compute) ||
                  test_takes_pairs(isa, t->c.q.dtype, t->c.k.dtype, t->c.v.dtype);
    attn_tensor out = rounded ? t->c.out : none;
    test_mode naive = t->compute == ATTN_F64 ? NAIVE64 : NAIVE32;
    test_size_of_sums = 0, sdpa_pairs = 0;
    sdpa_backward_reference(&a->want, &t->c.g, t->c.dout, t->c.q, t->c.k, t->c.v, out, &t->c.o, factors, EXACT);
    sdpa_backward_reference(&a->naive, &t->c.g, t->c.dout, t->c.q, t->c.k, t->c.v, out, &t->c.o, factors, naive);
}

static int check_answers(const trial *t, attn_isa isa, const answers *a)
{
    int good = 1;
    if (!made && test_ulp(1, t->compute) * a->want.most > 1e-3L) /* ALiBi far away: lse has no digits for a weight */
        return 1;
    report[isa][t->compute == ATTN_F64].cases++;
    for (int g = 0; g < GRADS; g++)
        if (has(t, g))
            good &= CHECK(grad_close(t, isa, g, &a->want, &a->naive, a->initial[g]));
    return good;
}

/* ---- the grid ---- */

static void print_report(long cases)
{
    printf("%ld cases\n", cases);
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 2; n++)
            printf("    %-7s %s %6ld cases, %.3Lf of the bound, C at least %.2Lf (%s, case %ld), root mean square at "
                   "most %.2Lf of the naive way's\n",
                   attn_isa_string(isa), n ? "f64" : "f32", report[isa][n].cases, report[isa][n].promised,
                   report[isa][n].constant, report[isa][n].name ? report[isa][n].name : "-", report[isa][n].at,
                   report[isa][n].ratio);
}

/* One case on every instruction set, and twice more on the last one without threads and scratch, everything wanted and
   not: the same bits. A 16-bit out is rounded from other bits on each instruction set: it is taken from the first. */
static int run_case(long number, const grid_point *p)
{
    trial t[ISAS], plain;
    answers a;
    size_t width = trial_widths[p->at[A_WIDTH]];
    attn_isa last = ATTN_ISA_SCALAR;
    int good = 1;
    case_number = number;
    test_case("BACKWARD_CASE=%ld", number);
    make(&t[ATTN_ISA_SCALAR], p, (uint64_t)number);
    go_forward(&t[ATTN_ISA_SCALAR], p, ATTN_ISA_SCALAR);
    FOR_EACH_ISA_OF (isa, trial_type(p->at[A_TYPES], 0)) {
        if (!trial_runs_on(isa, number))
            continue;
        test_case("BACKWARD_CASE=%ld, %s", number, attn_isa_string(isa));
        if (isa != ATTN_ISA_SCALAR) {
            attn_tensor out = t[ATTN_ISA_SCALAR].c.out;
            t[isa] = t[ATTN_ISA_SCALAR];
            go_forward(&t[isa], p, isa);
            t[isa].c.out = test_size(out.dtype) == 2 ? out : t[isa].c.out;
        }
        trial_grads(&t[isa], p, ALL_GRADS);
        look_before(&a, &t[isa]);
        good &= grid_run(&t[isa].c, GRID_BACKWARD, isa, p->at[A_RUNNER], width, p->at[A_SCRATCH]);
        last = isa;
    }
    for (int n = 0; n < 2; n++) {
        plain = t[last];
        trial_grads(&plain, p, n ? ALL_GRADS & (int)(unsigned)((unsigned long)number * 2654435761u >> 7) : ALL_GRADS);
        test_case("BACKWARD_CASE=%ld, %s, %s", number, attn_isa_string(last), n ? "not all" : "plain");
        good &= grid_run(&plain.c, GRID_BACKWARD, last, GRID_ALONE, 1, GRID_NO_SCRATCH);
        good &= CHECK(grid_same_outputs(&plain.c, &t[last].c, GRID_BACKWARD));
    }
    good &= CHECK(!t[ATTN_ISA_SCALAR].user.strayed);
    answer(&a, &t[ATTN_ISA_SCALAR], ATTN_ISA_SCALAR);
    FOR_EACH_ISA_OF (isa, trial_type(p->at[A_TYPES], 0)) {
        if (!trial_runs_on(isa, number))
            continue;
        test_case("BACKWARD_CASE=%ld, %s", number, attn_isa_string(isa));
        good &= check_answers(&t[isa], isa, &a);
    }
    return good;
}

TEST(backward_grid)
{
    long cases;
    memset(report, 0, sizeof report);
    cases = grid_test(&backward_grid, run_case);
    if (getenv("BACKWARD_REPORT"))
        print_report(cases);
}

/* ---- what bounds are about ---- */

/* One head of random numbers, without options. */
static trial plain_trial(attn_dtype type, size_t Lq, size_t Lk, size_t D, size_t Dv)
{
    static const trial zero;
    trial t = zero;
    factors = NULL;
    t.grid = &backward_grid;
    t.B = t.H = t.Hkv = 1, t.Lq = Lq, t.Lk = Lk, t.D = D, t.Dv = Dv;
    t.compute = type == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    t.c.q = test_random_tensor(type, 1, 1, Lq, D, T_BHLD), t.c.k = test_random_tensor(type, 1, 1, Lk, D, T_BHLD);
    t.c.v = test_random_tensor(type, 1, 1, Lk, Dv, T_BHLD), t.c.dout = test_random_tensor(type, 1, 1, Lq, Dv, T_BHLD);
    t.c.o.scale = 1;
    return t;
}

/* Forward and back, out and the gradients in the compute type. */
static void run_plain(trial *t, attn_isa isa)
{
    grid_point p = plain_point();
    attn_ctx ctx = test_ctx(isa);
    t->c.out = test_tensor(t->compute, 1, 1, t->Lq, t->Dv, T_BHLD);
    t->c.o.lse = test_tensor(t->compute, 1, 1, t->Lq, 1, T_BHLD);
    CHECK_STATUS(attn_sdpa(t->c.out, t->c.q, t->c.k, t->c.v, &t->c.o, &ctx), ATTN_OK);
    trial_grads(t, &p, ALL_GRADS);
    CHECK_STATUS(run(t, &ctx), ATTN_OK);
}

static void check_made(trial *t, const char *name)
{
    answers a;
    made = 1;
    FOR_EACH_ISA (isa) {
        test_case("%s, %s, %s, Lq %zu, Lk %zu, D %zu, softcap %g", name, attn_isa_string(isa),
                  test_dtype_name(t->c.q.dtype), t->Lq, t->Lk, t->D, t->c.o.softcap);
        run_plain(t, isa);
        look_before(&a, t);
        if (isa == ATTN_ISA_SCALAR || test_takes_pairs(isa, t->c.q.dtype, t->c.k.dtype, t->c.v.dtype))
            answer(&a, t, isa);
        check_answers(t, isa, &a);
    }
    made = 0;
    test_release();
}

/* Each element is within what is promised where no multiple of the error of naive loops, nor of the scores, is a bound:
   equal scores, whose lse is larger than they are, and rounded; softcap, whose slope has the error of tanh, where it is
   small, and for small caps; scores that are small sums of large terms; sinks; an out whose weights pairs of BF16
   round. */
TEST(backward_bound)
{
    static const size_t counts[] = {3, 337, 3359, 7170, 20000};
    static const double caps[] = {0.05, 1, 20}, scores[] = {0.1, 0.35, 0.6, 2, 5, 8.7};
    const attn_dtype made_types[] = {ATTN_F32, test_wide, ATTN_BF16};
    memset(report, 0, sizeof report);
    for (int n = 0; n < COUNT(counts) * 2; n++) {
        trial t = plain_trial(n % 2 ? test_wide : ATTN_F32, 1, counts[n / 2], 1, 1);
        test_fill_tensor(t.c.q, 0);
        check_made(&t, "equal scores");
    }
    for (int n = 0; n < COUNT(caps) * COUNT(scores) * 4; n++) {
        trial t = plain_trial(n % 2 ? test_wide : ATTN_F32, 1, 2, 1, 1);
        t.c.o.softcap = caps[n / 4 % COUNT(caps)];
        test_fill_tensor(t.c.q, 1), test_fill_tensor(t.c.dout, 1);
        test_tensor_set(t.c.k, 0, 0, 0, 0, scores[n / 4 / COUNT(caps)]), test_tensor_set(t.c.k, 0, 0, 1, 0, 0);
        test_tensor_set(t.c.v, 0, 0, 0, 0, 1), test_tensor_set(t.c.v, 0, 0, 1, 0, n / 2 % 2 ? -1 : 0);
        check_made(&t, "softcap");
    }
    for (int n = 0; n < (test_quick ? 100 : 1000); n++) {
        attn_dtype type = made_types[n % 3];
        size_t Lq = 1 + test_below(n % 7 ? 3 : 20), Lk = 1 + test_below(n % 4 ? 4 : 40);
        size_t D = 1 + test_below(n % 5 ? 6 : 80);
        trial t = plain_trial(type, Lq, Lk, D, 1 + test_below(4));
        double size = pow(100, test_uniform() + 1), sink = 40 * test_uniform();
        t.c.o.softcap = n % 11 ? 0 : pow(30, test_uniform());
        t.sinks[0] = (float)sink;
        t.c.o.sinks = n % 3 ? NULL : t.sinks;
        for (size_t d = 0; d < D; d++) {
            for (size_t i = 0; i < Lq; i++)
                test_tensor_set(t.c.q, 0, 0, i, d, size * test_uniform());
            for (size_t j = 0; j < Lk; j++)
                test_tensor_set(t.c.k, 0, 0, j, d, size / 10 * test_uniform());
        }
        for (size_t j = 0; j < Lk && n % 2; j++)
            sdpa_aim(t.c.q, t.c.k, 0, j, 1, 2 * test_uniform());
        check_made(&t, "cancelling terms");
    }
    for (int n = 0; n < 8; n++) {
        trial t = plain_trial(n % 2 ? test_wide : ATTN_F32, 1, n % 4 < 2 ? 2 : 40, n < 4 ? 65 : 257, 1);
        sdpa_climb(t.c.q, t.c.k, t.c.v, 64);
        check_made(&t, "climbing sums");
    }
    if (getenv("BACKWARD_REPORT"))
        print_report(report[ATTN_ISA_SCALAR][0].cases + report[ATTN_ISA_SCALAR][1].cases);
}

/* Random scores up to 1 .. 20: of each gradient the root of the mean of squared errors is at most 8 u (1 + the largest
   |score| or |lse|) times that of the sums of magnitudes; and at most 3 times that of naive loops where these have no
   luck, with 64 queries and keys, D = 4 and no BF16. */
static void check_rms(trial *t, double most)
{
    answers a;
    real size = 0;
    for (size_t i = 0; i < t->Lq; i++)
        for (size_t j = 0; j < t->Lk; j++) {
            real dot = 0;
            for (size_t d = 0; d < t->D; d++)
                dot += test_tensor_get(t->c.q, 0, 0, i, d) * test_tensor_get(t->c.k, 0, 0, j, d);
            size = fmaxl(size, fabsl(dot));
        }
    t->c.o.scale = most / (double)size;
    FOR_EACH_ISA_OF (isa, t->c.q.dtype) {
        test_case("%s, %s, Lq %zu, Lk %zu, D %zu, scores up to %g", attn_isa_string(isa), test_dtype_name(t->c.q.dtype),
                  t->Lq, t->Lk, t->D, most);
        run_plain(t, isa);
        if (isa == ATTN_ISA_SCALAR || test_takes_pairs(isa, t->c.q.dtype, t->c.k.dtype, t->c.v.dtype))
            answer(&a, t, isa);
        for (int g = 0; g <= GRAD_V; g++) {
            real got = 0, naive = 0, sizes = 0, unit = test_ulp(1, t->compute) / 2;
            unit *= 1 + (may_be_few(t) ? fmaxl(a.want.sums, a.want.most) : a.want.most);
            for (size_t n = 0; n < a.want.counts[g]; n++) {
                real error = backward_get(&t->c.g, g, n) - a.want.values[g][n];
                real other = a.naive.values[g][n] - a.want.values[g][n];
                got += error * error, naive += other * other, sizes += a.want.sizes[g][n] * a.want.sizes[g][n];
            }
            CHECK(got <= 64 * unit * unit * sizes);
            if (t->Lq >= 64 && t->Lk >= 64 && t->D >= 4 && t->c.q.dtype != ATTN_BF16)
                CHECK(got <= 9 * naive);
        }
    }
    test_release();
}

TEST(backward_rms)
{
    static const size_t rows[] = {1, 2, 3, 16, 64}, keys[] = {1, 2, 4, 30, 64, 200}, depths[] = {1, 4, 16, 64};
    const attn_dtype rms_types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    for (int n = 0; n < COUNT(rows) * COUNT(keys) * COUNT(depths); n += test_quick ? 7 : 1)
        for (int times = 0; times < (test_quick ? 1 : 3); times++) {
            size_t Lq = rows[n % COUNT(rows)], Lk = keys[n / COUNT(rows) % COUNT(keys)];
            size_t D = depths[n / COUNT(rows) / COUNT(keys)];
            trial t = plain_trial(rms_types[(n + times) % 4], Lq, Lk, D, D);
            t.c.o.causal = n % 3 ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_LOWER_RIGHT;
            check_rms(&t, times == 0 ? 20 : times == 1 ? 5 : 1);
        }
}

/* ---- what must hold whatever the values are ---- */

/* Lengths of several chunks of keys and several cells of query blocks, and heads that are one or few. */
static void with_many_rows(grid_point *p, int n)
{
    p->at[A_LQ] = COUNT(lengths_q) - 1, p->at[A_LK] = COUNT(lengths_k) - 1;
    p->at[A_D] = (signed char)(n % 5), p->at[A_DV] = (signed char)(1 + n % 3);
    p->at[A_GROUP] = (signed char)(n % 2), p->at[A_HKV] = p->at[A_B] = 0;
    p->at[A_OFFSET] = OFFSET_ALIGNED;
    p->at[A_WINDOW] = (signed char)(n % 2 ? 0 : WINDOWS - 1);
    p->at[A_Q_LENS] = p->at[A_KV_LENS] = 0;
}

static void make_all(trial *t, const grid_point *p, uint64_t seed, attn_isa isa, int wanted)
{
    make(t, p, seed);
    go_forward(t, p, isa);
    trial_grads(t, p, wanted);
}

/* The same call in every width, on every runner, with and without scratch: the same bits. */
TEST(backward_contexts)
{
    grid_most_tasks = 0;
    for (int n = 0; n < (test_quick ? 6 : 15); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample((uint64_t)n, 3e4);
            trial plain, t;
            if (n % 3 == 0)
                with_many_rows(&p, n);
            make_all(&plain, &p, (uint64_t)n, isa, ALL_GRADS);
            test_case("point %d, %s, plain", n, attn_isa_string(isa));
            CHECK(grid_run(&plain.c, GRID_BACKWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (int c = n % 5; c < COUNT(trial_widths) * GRID_RUNS * GRID_SCRATCHES; c += test_quick ? 7
                                                                                           : n % 3    ? 5
                                                                                                      : 3) {
                int width = c % COUNT(trial_widths), runner = c / COUNT(trial_widths) % GRID_RUNS,
                    scratch = c / COUNT(trial_widths) / GRID_RUNS;
                t = plain;
                trial_grads(&t, &p, ALL_GRADS);
                test_case("point %d, %s, width %d, runner %d, scratch %d", n, attn_isa_string(isa),
                          (int)trial_widths[width], runner, scratch);
                CHECK(grid_run(&t.c, GRID_BACKWARD, isa, runner, trial_widths[width], scratch));
                CHECK(grid_same_outputs(&t.c, &plain.c, GRID_BACKWARD));
            }
            test_release();
        }
    CHECK(grid_most_tasks == 7);
}

/* One byte less than it says is too little, and then nothing is written. */
TEST(backward_scratch)
{
    for (int n = 0; n < (test_quick ? 10 : 60); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(100 + (uint64_t)n, 2e4);
            test_runner r;
            attn_ctx ctx = grid_context(isa, GRID_REVERSED, 1 + (size_t)n % 4, &r);
            trial t;
            make_all(&t, &p, (uint64_t)n, isa, ALL_GRADS);
            test_case("point %d, %s", n, attn_isa_string(isa));
            CHECK(grid_scratch(&t.c, GRID_BACKWARD, &ctx) > 0);
            grid_check_less(&t.c, GRID_BACKWARD, &ctx);
            test_release();
        }
}

/* Every subset of the gradients has the bits of all of them together. */
TEST(backward_requests)
{
    for (int n = 0; n < (test_quick ? 4 : 24); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(200 + (uint64_t)n, 1e4);
            trial all, t;
            if (n % 2) { /* something of everything */
                p.at[A_BIAS] = BIAS_BY_DISTANCE;
                p.at[A_SINKS] = p.at[A_ALIBI] = 1;
            }
            make_all(&all, &p, (uint64_t)n, isa, ALL_GRADS);
            test_case("point %d, %s, all", n, attn_isa_string(isa));
            CHECK(grid_run(&all.c, GRID_BACKWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (int wanted = 0; wanted < ALL_GRADS; wanted += test_quick ? 11 : n % 2 ? 1 : 3) {
                t = all;
                trial_grads(&t, &p, wanted);
                test_case("point %d, %s, of them %d", n, attn_isa_string(isa), wanted);
                CHECK(grid_run(&t.c, GRID_BACKWARD, isa, GRID_REVERSED, 1 + (size_t)wanted % 3, GRID_EXACT));
                CHECK(grid_same_outputs(&t.c, &all.c, GRID_BACKWARD));
            }
            test_release();
        }
}

/* The same numbers in any layout: the same bits. */
TEST(backward_layouts)
{
    for (int n = 0; n < (test_quick ? 5 : 40); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(300 + (uint64_t)n, 3e4);
            trial packed, t;
            for (int a = A_Q_LAYOUT; a <= A_V_GRAD_LAYOUT; a++)
                p.at[a] = T_BHLD;
            test_case("point %d, %s, packed", n, attn_isa_string(isa));
            make_all(&packed, &p, (uint64_t)n, isa, ALL_GRADS);
            CHECK(grid_run(&packed.c, GRID_BACKWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (int layout = 1; layout < T_OUT_LAYOUTS; layout += test_quick ? 3 : 1) {
                for (int a = A_Q_LAYOUT; a <= A_V_GRAD_LAYOUT; a++)
                    p.at[a] = (signed char)((layout + n * (a - A_Q_LAYOUT)) % T_OUT_LAYOUTS);
                test_case("point %d, %s, layout %d", n, attn_isa_string(isa), layout);
                make_all(&t, &p, (uint64_t)n, isa, ALL_GRADS);
                CHECK(grid_run(&t.c, GRID_BACKWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
                CHECK(grid_same_outputs(&t.c, &packed.c, GRID_BACKWARD));
            }
            test_release();
        }
}

/* A batch has the bits of its items one by one, and of any batch where the other items are NaN. */
TEST(backward_batch)
{
    for (int n = 0; n < (test_quick ? 4 : 24); n += test_quick ? 3 : 1)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(400 + (uint64_t)n, 5e4);
            trial all, other, one;
            if (n % 12 == 0)
                with_many_rows(&p, n);
            p.at[A_B] = 1, p.at[A_ACCUMULATE] = p.at[A_DROPOUT] = 0;
            p.at[A_Q_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_K_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_V_LAYOUT] %= T_OUT_LAYOUTS;
            p.at[A_DOUT_LAYOUT] %= T_OUT_LAYOUTS;
            test_case("point %d, %s", n, attn_isa_string(isa));
            make_all(&all, &p, (uint64_t)n, isa, ALL_GRADS);
            CHECK(grid_run(&all.c, GRID_BACKWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (size_t b = 0; b < all.B; b++) {
                trial_item(&one, &all, b);
                trial_grads(&one, &p, 1 << GRAD_Q | 1 << GRAD_K | 1 << GRAD_V | (all.c.o.bias.batch > 1) << GRAD_BIAS);
                CHECK(grid_run(&one.c, GRID_BACKWARD, isa, GRID_REVERSED, 3, GRID_EXACT));
                CHECK(grid_same_item(&one.c, &all.c, b, GRID_BACKWARD));
                make(&other, &p, (uint64_t)n);
                for (size_t c = 0; c < other.B; c++)
                    if (c != b) {
                        test_fill_tensor(test_tensor_item(other.c.q, c), NAN);
                        test_fill_tensor(test_tensor_item(other.c.k, c), NAN);
                        test_fill_tensor(test_tensor_item(other.c.v, c), NAN);
                        test_fill_tensor(test_tensor_item(other.c.dout, c), NAN);
                    }
                go_forward(&other, &p, isa);
                trial_grads(&other, &p, ALL_GRADS);
                CHECK(grid_run(&other.c, GRID_BACKWARD, isa, GRID_REVERSED, 2, GRID_NO_SCRATCH));
                CHECK(grid_same_item(&one.c, &other.c, b, GRID_BACKWARD));
            }
            test_release();
        }
}

/* What is added to zeros equals what is written; and added again, it is twice as much, but for the rounding of its
   terms, which are of size 1 and may cancel. */
TEST(backward_accumulates)
{
    for (int n = 0; n < (test_quick ? 5 : 30); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(500 + (uint64_t)n, 2e4);
            attn_tensor written[GRADS], added[GRADS];
            attn_ctx ctx = test_ctx(isa);
            trial t, u;
            p.at[A_ACCUMULATE] = 1;
            make_all(&t, &p, (uint64_t)n, isa, ALL_GRADS);
            u = t;
            trial_grads(&u, &p, ALL_GRADS);
            t.c.g.accumulate = 0;
            grid_outputs(&t.c, GRID_BACKWARD, written), grid_outputs(&u.c, GRID_BACKWARD, added);
            for (int g = 0; g < GRADS; g++)
                if (!test_absent_tensor(added[g]))
                    test_fill_tensor(added[g], 0);
            test_case("point %d, %s", n, attn_isa_string(isa));
            CHECK(grid_run(&t.c, GRID_BACKWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            CHECK(grid_run(&u.c, GRID_BACKWARD, isa, GRID_REVERSED, 2, GRID_EXACT));
            for (int times = 1; times <= 2; times++) {
                for (int g = 0; g < GRADS; g++) {
                    size_t count = added[g].batch * added[g].heads * added[g].len * added[g].dim;
                    real most = 0;
                    for (size_t e = 0; e < count; e++)
                        most = fabsl(backward_get(&t.c.g, g, e)) > most ? fabsl(backward_get(&t.c.g, g, e)) : most;
                    for (size_t e = 0; e < count; e++)
                        if (!CHECK_NEAR(backward_get(&u.c.g, g, e), times * backward_get(&t.c.g, g, e),
                                        times == 1 ? 0 : 1e-5L * (1 + most)))
                            break;
                }
                CHECK_STATUS(run(&u, &ctx), ATTN_OK); /* another instruction set would have other scores */
            }
            test_release();
        }
}

/* Many scores of moderate size: a root of mean squares within 3 times the naive one's, of every gradient. */
TEST(backward_accuracy)
{
    memset(report, 0, sizeof report);
    for (int n = 0; n < (test_quick ? 2 : 12); n++) {
        grid_point p = plain_point();
        trial t;
        answers a;
        p.at[A_LQ] = (signed char)(6 + n % 4), p.at[A_LK] = (signed char)(6 + n % 4);
        p.at[A_HKV] = 1;
        p.at[A_D] = (signed char)(4 + n % 6), p.at[A_DV] = (signed char)(3 + n % 4);
        p.at[A_TYPES] = (signed char)(n % 2), p.at[A_CAUSAL] = (signed char)(n / 2 % 3);
        p.at[A_BIAS] = (signed char)(n % 3 == 0 ? BIAS_BY_DISTANCE : n % 3 == 1 ? 1 + 15 : 0);
        p.at[A_BIAS_GRAD] = p.at[A_TYPES], p.at[A_GROUP] = (signed char)(n / 3 % 2);
        p.at[A_SOFTCAP] = (signed char)(n % 5 == 0 ? 2 : 0), p.at[A_DLSE] = (signed char)(n % 4 == 0);
        FOR_EACH_ISA (isa) {
            test_case("point %d, %s", n, attn_isa_string(isa));
            if (isa == ATTN_ISA_SCALAR)
                make(&t, &p, (uint64_t)n);
            go_forward(&t, &p, isa);
            trial_grads(&t, &p, ALL_GRADS);
            look_before(&a, &t);
            CHECK(grid_run(&t.c, GRID_BACKWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            if (isa == ATTN_ISA_SCALAR)
                answer(&a, &t, isa);
            check_answers(&t, isa, &a);
        }
        CHECK(naive_is_typical(&t, 64));
        test_release();
    }
    if (getenv("BACKWARD_REPORT"))
        print_report(12);
}

#endif
