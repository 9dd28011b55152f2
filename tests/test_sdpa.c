/* attn_sdpa against the reference: a grid of shapes, options, types, layouts and contexts in which every value meets
   every other; then what must hold whatever the values are, the memory it takes, and the tiles it visits.

   SDPA_CASE=N ./build/test sdpa_grid runs case N alone; SDPA_REPORT=1 says how many cases ran and how far off the worst
   was. */
#include "trial.h"

/* ---- the axes of the grid ---- */

static const size_t sizes_d[] = {1, 3, 8, 40, 64, 72, 80, 96, 128, 192, 256, 576};
static const size_t sizes_dv[] = {0, 1, 3, 16, 40, 64, 100, 128, 193, 576}; /* 0: D */
static const size_t lengths_q[] = {0, 1, 2, 3, 17, 32, 75, 130, 257};
static const size_t lengths_k[] = {0, 1, 17, 31, 33, 65, 113, 127, 130, 255, 260, 512, 1030};
static const size_t groups[] = {1, 4, 7}, batches[] = {1, 3}, scales[] = {0, 1, 2, 3, 5};

/* clang-format off */
static const struct grid_axis axes[TRIAL_AXES] = {
    AXIS_OF(D, sizes_d), AXIS_OF(DV, sizes_dv), AXIS_OF(LQ, lengths_q), AXIS_OF(LK, lengths_k), AXIS_OF(GROUP, groups),
    AXIS_OF(B, batches), AXIS(WINDOW, TRIAL_WINDOWS), AXIS(MASK, MASKS), AXIS(MASK_KIND, MASK_KINDS),
    AXIS(Q_LENS, LENS), AXIS(KV_LENS, LENS), AXIS_OF(SCALE, scales), AXIS(BIAS, BIAS_BY_DISTANCE),
    AXIS(BIAS_KIND, BIAS_KINDS), AXIS(BIAS_TYPE, TRIAL_FLOATS), AXIS(LSE, 1 + TRIAL_FLOATS),
    AXIS(WEIGHTS, 1 + TRIAL_FLOATS), AXIS(SCORES, 4), AXIS(SCORES_TYPE, TRIAL_FLOATS), AXES_OF_OPTIONS, AXES_OF_LAYOUTS,
    AXES_OF_CONTEXT, AXIS(INVARIANT, 2)
};

static const grid sdpa_grid = {
    TRIAL_GRID("sdpa_grid", "SDPA_CASE"), .first = {A_LQ, A_LK}, .cost = trial_cost, .bound = {5e5, 5e3},
     .sample = trial_sample, .samples = {2000, 60}, .sample_bound = {5e5, 5e4}
};
/* clang-format on */

static grid_point sample(uint64_t seed, double bound)
{
    return trial_sample(&sdpa_grid, seed, bound);
}

static void make(trial *t, const grid_point *p, uint64_t seed)
{
    trial_make(t, &sdpa_grid, p, seed);
    trial_outputs(t, p, GRID_FORWARD);
}

static attn_status run(const trial *t, const attn_ctx *ctx)
{
    return grid_ask(&t->c, GRID_SDPA, ctx, NULL, 0);
}

/* ---- against the reference ---- */

typedef struct answers {
    real *out, *lse, *weights, *scores;
} answers;

static answers answer(const trial *t, test_mode mode)
{
    size_t rows = t->B * t->H * t->Lq;
    answers a = {NULL, NULL, NULL, NULL};
    a.out = test_reals(rows * t->Dv);
    a.lse = test_reals(rows);
    a.weights = t->c.o.weights.data ? test_reals(rows * t->Lk) : NULL;
    a.scores = t->c.o.scores.data ? test_reals(rows * t->Lk) : NULL;
    sdpa_reference(a.out, a.lse, a.weights, a.scores, t->c.q, t->c.k, t->c.v, &t->c.o, mode);
    return a;
}

enum { KINDS = 4, ISAS = TEST_LAST_ISA + 1 };

/* Of f32 and f64 results whose naive error is known well: the worst error as a multiple of it. And the worst error. */
static struct {
    long cases;
    real ratio, error;
} report[ISAS][KINDS];

static void find_answers(answers *want, answers *naive, const trial *t)
{
    test_size_of_sums = 0, sdpa_pairs = 0;
    *want = answer(t, EXACT);
    *naive = answer(t, t->compute == ATTN_F64 ? NAIVE64 : NAIVE32);
}

/* Enough scores, none so large that rounding it decides everything, and no score_mod, before which EXACT rounds as the
   naive way does: the naive error is no matter of luck. */
static int naive_is_typical(const trial *t)
{
    return sdpa_pairs >= 256 && test_size_of_sums < 64 && !t->c.o.score_mod;
}

static void note(const trial *t, attn_isa isa)
{
    real ratio = sdpa_worst_naive > 0 ? sdpa_worst_got / sdpa_worst_naive : 0;
    attn_dtype type = t->c.out.dtype;
    report[isa][type].cases++;
    if (naive_is_typical(t) && test_size(type) >= 4 && ratio > report[isa][type].ratio)
        report[isa][type].ratio = ratio;
    if (test_size_of_sums < 64 && sdpa_worst_got > report[isa][type].error)
        report[isa][type].error = sdpa_worst_got;
}

static void print_report(long cases)
{
    printf("%ld cases\n", cases);
    FOR_EACH_ISA (isa)
        for (int n = 0; n < KINDS; n++) {
            attn_dtype type = test_floats[n];
            printf("    %-7s %-5s %6ld cases, worst error %.2Lg", attn_isa_string(isa), test_dtype_name(type),
                   report[isa][type].cases, report[isa][type].error);
            if (test_size(type) >= 4)
                printf(", at most %.2Lf of the naive way's", report[isa][type].ratio);
            printf("\n");
        }
}

static int rows_sum_to_one(const trial *t, const answers *want)
{
    attn_tensor w = t->c.o.weights;
    real tolerance = 4 * test_ulp(1, t->compute) * sqrtl((real)t->Lk);
    for (size_t r = 0; r < t->B * t->H * t->Lq; r++) {
        real sum = 0;
        for (size_t j = 0; j < t->Lk; j++)
            sum += test_tensor_get(w, r / t->Lq / t->H, r / t->Lq % t->H, r % t->Lq, j);
        if (sdpa_finite(want->lse[r]) && fabsl(sum - 1) > tolerance)
            return CHECK_NEAR(sum, 1, tolerance);
    }
    return 1;
}

static int check_answers(const trial *t, attn_isa isa, const answers *want, const answers *naive)
{
    int good;
    real least = naive_is_typical(t) ? 0 : sdpa_least(1, t->compute), capped = 0;
    if (t->c.o.softcap > 0) /* tanh is within 9 ulp, 6 in float, which a bias may all but cancel: half of that */
        capped = 4.5L * test_ulp(fminl((real)t->c.o.softcap, test_size_of_sums), t->compute);
    sdpa_worst_naive = sdpa_worst_got = 0;
    good = CHECK(sdpa_close_pairs(t->c.out, want->out, naive->out, t->compute, least,
                                  sdpa_pairs_error(isa, t->c.q, t->c.k, t->c.v, &t->c.o)));
    note(t, isa);
    if (test_size_of_sums < 64 && test_size(t->c.out.dtype) == 2)
        good &= CHECK(sdpa_worst_got <= (t->c.out.dtype == ATTN_F16 ? 1e-3L : 1e-2L));
    if (t->c.o.lse.data)
        good &= CHECK(sdpa_close(t->c.o.lse, want->lse, naive->lse, t->compute, least));
    if (t->c.o.weights.data)
        good &= CHECK(sdpa_close(t->c.o.weights, want->weights, naive->weights, t->compute, least));
    if (t->c.o.scores.data)
        good &= CHECK(sdpa_close(t->c.o.scores, want->scores, naive->scores, t->compute, fmaxl(least, capped)));
    if (t->c.o.weights.data && t->c.o.weights.dtype == t->compute && !t->c.o.sinks)
        good &= rows_sum_to_one(t, want);
    return good;
}

/* ---- the grid ---- */

/* One case on every instruction set, and once more on the last one without threads and scratch: the same bits. */
static int run_case(long number, const grid_point *p)
{
    trial t[ISAS], plain;
    answers want, naive;
    size_t width = trial_widths[p->at[A_WIDTH]];
    attn_isa last = ATTN_ISA_SCALAR;
    int good = 1;
    test_case("SDPA_CASE=%ld", number);
    FOR_EACH_ISA_OF (isa, trial_type(p->at[A_TYPES], 0)) {
        if (!trial_runs_on(isa, number))
            continue;
        test_case("SDPA_CASE=%ld, %s", number, attn_isa_string(isa));
        if (isa == ATTN_ISA_SCALAR)
            make(&t[isa], p, (uint64_t)number);
        else {
            t[isa] = t[ATTN_ISA_SCALAR];
            trial_outputs(&t[isa], p, GRID_FORWARD);
        }
        good &= grid_run(&t[isa].c, GRID_FORWARD, isa, p->at[A_RUNNER], width, p->at[A_SCRATCH]);
        last = isa;
    }
    plain = t[ATTN_ISA_SCALAR];
    trial_outputs(&plain, p, GRID_FORWARD);
    good &= grid_run(&plain.c, GRID_FORWARD, last, GRID_ALONE, 1, GRID_NO_SCRATCH);
    good &= CHECK(grid_same_outputs(&plain.c, &t[last].c, GRID_FORWARD));
    good &= CHECK(!t[ATTN_ISA_SCALAR].user.strayed);
    find_answers(&want, &naive, &plain);
    FOR_EACH_ISA_OF (isa, trial_type(p->at[A_TYPES], 0)) {
        if (!trial_runs_on(isa, number))
            continue;
        test_case("SDPA_CASE=%ld, %s", number, attn_isa_string(isa));
        good &= check_answers(&t[isa], isa, &want, &naive);
    }
    return good;
}

TEST(sdpa_grid)
{
    long cases;
    memset(report, 0, sizeof report);
    cases = grid_test(&sdpa_grid, run_case);
    if (getenv("SDPA_REPORT"))
        print_report(cases);
}

/* ---- what must hold whatever the values are ---- */

/* Few queries, or some, and keys enough for several splits. */
static void with_many_keys(grid_point *p, int n)
{
    p->at[A_LQ] = (signed char)(n % 2 ? 1 + n % 3 : 6), p->at[A_LK] = COUNT(lengths_k) - 1;
    p->at[A_D] = (signed char)(n % 4), p->at[A_DV] = (signed char)(1 + n % 3);
    p->at[A_GROUP] = (signed char)(n % 2), p->at[A_HKV] = p->at[A_B] = 0;
    p->at[A_OFFSET] = OFFSET_ALIGNED;
    p->at[A_WINDOW] = (signed char)(n % 2 ? 0 : TRIAL_WINDOWS - 1); /* blocks start at keys of their own */
    p->at[A_KV_LENS] = 0;
}

/* The same call in every width, on every runner, with and without scratch: the same bits. */
TEST(sdpa_contexts)
{
    grid_most_tasks = 0;
    for (size_t n = 0; n < (test_quick ? 9 : 45); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(n, 1e5);
            trial plain, t;
            if (n % 3 == 0)
                with_many_keys(&p, (int)n);
            make(&plain, &p, n);
            test_case("point %d, %s, plain", (int)n, attn_isa_string(isa));
            CHECK(grid_run(&plain.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (int c = test_quick ? 5 : 0; c < COUNT(trial_widths) * GRID_RUNS * GRID_SCRATCHES;
                 c += test_quick ? 7 : 1) {
                int width = c % COUNT(trial_widths), runner = c / COUNT(trial_widths) % GRID_RUNS,
                    scratch = c / COUNT(trial_widths) / GRID_RUNS;
                t = plain;
                trial_outputs(&t, &p, GRID_FORWARD);
                test_case("point %d, %s, width %d, runner %d, scratch %d", (int)n, attn_isa_string(isa),
                          (int)trial_widths[width], runner, scratch);
                CHECK(grid_run(&t.c, GRID_FORWARD, isa, runner, trial_widths[width], scratch));
                CHECK(grid_same_outputs(&t.c, &plain.c, GRID_FORWARD));
            }
            test_release();
        }
    CHECK(grid_most_tasks == 7);
}

/* A batch has the bits of its items one by one, and of any batch where the other items are NaN. */
TEST(sdpa_batch)
{
    for (size_t n = 0; n < (test_quick ? 6 : 80); n += test_quick ? 3 : 1) /* of these the last has many keys */
        FOR_EACH_ISA_OF (isa, trial_type(sample(100 + n, 2e5).at[A_TYPES], 0)) {
            grid_point p = sample(100 + n, 2e5);
            trial all, other, one;
            if (n % 3 == 0)
                with_many_keys(&p, (int)n);
            p.at[A_B] = 1;
            p.at[A_Q_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_K_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_V_LAYOUT] %= T_OUT_LAYOUTS;
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            make(&all, &p, n);
            CHECK(grid_run(&all.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (size_t b = 0; b < all.B; b++) {
                trial_item(&one, &all, b), trial_outputs(&one, &p, GRID_FORWARD);
                CHECK(grid_run(&one.c, GRID_FORWARD, isa, GRID_ALONE, 3, GRID_EXACT));
                CHECK(grid_same_item(&one.c, &all.c, b, GRID_FORWARD));
                make(&other, &p, n);
                for (size_t c = 0; c < all.B; c++)
                    if (c != b) {
                        test_fill_tensor(test_tensor_item(other.c.q, c), NAN);
                        test_fill_tensor(test_tensor_item(other.c.k, c), NAN);
                        test_fill_tensor(test_tensor_item(other.c.v, c), NAN);
                    }
                CHECK(grid_run(&other.c, GRID_FORWARD, isa, GRID_REVERSED, 2, GRID_NO_SCRATCH));
                CHECK(grid_same_item(&one.c, &other.c, b, GRID_FORWARD));
            }
            test_release();
        }
}

/* Asking for lse, weights or scores changes neither out nor each other. */
TEST(sdpa_requests)
{
    for (size_t n = 0; n < (test_quick ? 10 : 80); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(200 + n, 1e5), q;
            trial all, t;
            p.at[A_LSE] = (signed char)(1 + n % 4), p.at[A_WEIGHTS] = (signed char)(1 + n / 4 % 4);
            p.at[A_SCORES] = (signed char)(1 + n % 3);
            if (n % 3 == 0)
                with_many_keys(&p, (int)n);
            test_case("point %d, %s, everything", (int)n, attn_isa_string(isa));
            make(&all, &p, n);
            CHECK(grid_run(&all.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (int asked = 0; asked < 7; asked++) {
                q = p, t = all;
                q.at[A_LSE] = asked & 1 ? p.at[A_LSE] : 0;
                q.at[A_WEIGHTS] = asked & 2 ? p.at[A_WEIGHTS] : 0;
                q.at[A_SCORES] = asked & 4 ? p.at[A_SCORES] : 0;
                test_case("point %d, %s, %d", (int)n, attn_isa_string(isa), asked);
                trial_outputs(&t, &q, GRID_FORWARD);
                CHECK(grid_run(&t.c, GRID_FORWARD, isa, GRID_REVERSED, 5, GRID_NO_SCRATCH));
                CHECK(test_same_tensor_bits(t.c.out, all.c.out));
                CHECK(!t.c.o.lse.data || test_same_tensor_bits(t.c.o.lse, all.c.o.lse));
                CHECK(!t.c.o.weights.data || test_same_tensor_bits(t.c.o.weights, all.c.o.weights));
                CHECK(!t.c.o.scores.data || test_same_tensor_bits(t.c.o.scores, all.c.o.scores));
            }
            test_release();
        }
}

/* The same numbers in any layout: the same bits. */
TEST(sdpa_layouts)
{
    for (size_t n = 0; n < (test_quick ? 10 : 80); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(300 + n, 1e5);
            trial packed, t;
            p.at[A_Q_LAYOUT] = p.at[A_K_LAYOUT] = p.at[A_V_LAYOUT] = p.at[A_OUT_LAYOUT] = p.at[A_OTHER_LAYOUT] = T_BHLD;
            test_case("point %d, %s, packed", (int)n, attn_isa_string(isa));
            make(&packed, &p, n);
            CHECK(grid_run(&packed.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (int layout = 1; layout < T_OUT_LAYOUTS; layout += test_quick ? 3 : 1) {
                p.at[A_Q_LAYOUT] = (signed char)layout,
                p.at[A_K_LAYOUT] = (signed char)((layout + (int)n) % T_OUT_LAYOUTS);
                p.at[A_V_LAYOUT] = (signed char)((layout + (int)n / 3) % T_OUT_LAYOUTS);
                p.at[A_OUT_LAYOUT] = p.at[A_OTHER_LAYOUT] = (signed char)((layout + (int)n / 5) % T_OUT_LAYOUTS);
                test_case("point %d, %s, layout %d", (int)n, attn_isa_string(isa), layout);
                make(&t, &p, n);
                CHECK(grid_run(&t.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
                CHECK(grid_same_outputs(&t.c, &packed.c, GRID_FORWARD));
            }
            test_release();
        }
}

/* q, k and v side by side in one buffer [B][L][3][H][D], v the first columns of k, and out in the place of a fourth. */
TEST(sdpa_interleaved)
{
    enum { B = 2, H = 3, L = 37, D = 20, Dv = 12 };
    FOR_EACH_ISA (isa)
        for (int shared = 0; shared < 2; shared++) {
            attn_tensor all = test_random_tensor(ATTN_F32, B, 4 * H, L, D, T_BLHD), q = all, k = all, v = all;
            attn_tensor out = all, apart, want = test_tensor(ATTN_F32, B, H, L, shared ? Dv : D, T_BHLD);
            attn_ctx ctx = test_ctx(isa);
            q.heads = k.heads = v.heads = out.heads = H;
            k.data = test_tensor_at(all, 0, H, 0, 0);
            v.data = test_tensor_at(all, 0, shared ? H : 2 * H, 0, 0);
            out.data = test_tensor_at(all, 0, 3 * H, 0, 0);
            v.dim = out.dim = shared ? Dv : D;
            apart = test_tensor_like(v, T_BHLD);
            test_case("%s, v is %s", attn_isa_string(isa), shared ? "a part of k" : "its own");
            CHECK_STATUS(attn_sdpa(want, test_tensor_like(q, T_BHLD), test_tensor_like(k, T_BHLD), apart, NULL, &ctx),
                         ATTN_OK);
            test_freeze();
            CHECK_STATUS(attn_sdpa(out, q, k, v, NULL, &ctx), ATTN_OK);
            CHECK(test_wrote_only_tensors(&out, 1));
            CHECK(test_same_tensor_bits(out, want));
        }
}

/* ---- the same mathematics in two ways: equal within a few ulp of the largest value ---- */

static int alike(attn_tensor a, attn_tensor b)
{
    real tolerance = 16 * test_ulp(1, a.dtype);
    for (size_t n = 0; n < a.batch * a.heads * a.len * a.dim; n++) {
        size_t d = n % a.dim, i = n / a.dim % a.len, h = n / a.dim / a.len % a.heads, c = n / a.dim / a.len / a.heads;
        real x = test_tensor_get(a, c, h, i, d), y = test_tensor_get(b, c, h, i, d);
        if (x != y && !(fabsl(x - y) <= tolerance))
            return CHECK_NEAR(x, y, tolerance);
    }
    return 1;
}

/* A point whose results are f32 or f64 and whose scores are moderate. */
static grid_point moderate(uint64_t seed)
{
    grid_point p = sample(seed, 2e5);
    p.at[A_TYPES] %= 2;
    p.at[A_SCALE] = p.at[A_ALIBI] = p.at[A_LSE] = p.at[A_WEIGHTS] = p.at[A_SCORES] = 0;
    p.at[A_BIAS_KIND] %= BIAS_LARGE;
    p.at[A_SINKS] %= SINKS_EXTREME;
    return p;
}

static void without_rules(grid_point *p)
{
    p->at[A_CAUSAL] = p->at[A_OFFSET] = p->at[A_WINDOW] = p->at[A_MASK] = p->at[A_BIAS] = p->at[A_Q_LENS] =
        p->at[A_KV_LENS] = p->at[A_MOD] = 0;
}

/* Many scores of one or two heads: no more than twice the naive error and 4 ulp, no matter of luck. */
TEST(sdpa_accuracy)
{
    for (size_t n = 0; n < (test_quick ? 3 : 40); n++) {
        grid_point p = moderate(1300 + n);
        trial t, u;
        answers want, naive;
        if (n % 2)
            without_rules(&p);
        p.at[A_LQ] = (signed char)(6 + n % 2), p.at[A_LK] = (signed char)(6 + n % 7);
        p.at[A_D] = (signed char)(2 + n % 7), p.at[A_DV] = (signed char)(3 + n % 4);
        p.at[A_GROUP] = p.at[A_B] = p.at[A_MOD] = p.at[A_KV_LENS] = p.at[A_Q_LENS] = p.at[A_OFFSET] = p.at[A_CAUSAL] =
            0;
        p.at[A_LSE] = p.at[A_WEIGHTS] = p.at[A_SCORES] = (signed char)(1 + p.at[A_TYPES]);
        p.at[A_SCORES_TYPE] = p.at[A_TYPES];
        make(&t, &p, n);
        find_answers(&want, &naive, &t);
        FOR_EACH_ISA (isa) {
            attn_ctx ctx = test_ctx(isa);
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            u = t;
            trial_outputs(&u, &p, GRID_FORWARD);
            CHECK_STATUS(run(&u, &ctx), ATTN_OK);
            CHECK(n % 2 == 0 || naive_is_typical(&t));
            check_answers(&u, isa, &want, &naive);
        }
        test_release();
    }
}

static attn_tensor lse_for(const trial *t)
{
    return test_tensor(t->compute, t->B, t->H, t->Lq, 1, T_BHLD);
}

/* Causal attention of query i is plain attention to the keys up to i. */
TEST(sdpa_truncation)
{
    for (size_t n = 0; n < (test_quick ? 10 : 60); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = moderate(400 + n);
            attn_ctx ctx = test_ctx(isa);
            trial t;
            without_rules(&p);
            p.at[A_CAUSAL] = ATTN_CAUSAL_UPPER_LEFT;
            make(&t, &p, n);
            t.c.o.lse = lse_for(&t);
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            CHECK_STATUS(run(&t, &ctx), ATTN_OK);
            for (size_t i = 0; i < t.Lq; i += 1 + t.Lq / 7) {
                size_t keys = i + 1 < t.Lk ? i + 1 : t.Lk;
                attn_tensor out = test_tensor(t.compute, t.B, t.H, 1, t.Dv, T_BHLD);
                attn_opts o = t.c.o;
                o.causal = ATTN_CAUSAL_NONE;
                o.lse = test_tensor(t.compute, t.B, t.H, 1, 1, T_BHLD);
                CHECK_STATUS(attn_sdpa(out, attn_tensor_slice(t.c.q, i, 1), attn_tensor_slice(t.c.k, 0, keys),
                                       attn_tensor_slice(t.c.v, 0, keys), &o, &ctx),
                             ATTN_OK);
                CHECK(alike(attn_tensor_slice(t.c.out, i, 1), out) && alike(attn_tensor_slice(t.c.o.lse, i, 1), o.lse));
            }
            test_release();
        }
}

/* The order of the keys matters little. */
TEST(sdpa_permutation)
{
    for (size_t n = 0; n < (test_quick ? 10 : 60); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = moderate(500 + n);
            attn_ctx ctx = test_ctx(isa);
            trial t, u;
            without_rules(&p);
            make(&t, &p, n);
            u = t;
            trial_outputs(&u, &p, GRID_FORWARD);
            t.c.o.lse = lse_for(&t), u.c.o.lse = lse_for(&u);
            u.c.k = test_tensor_like(t.c.k, T_BLHD), u.c.v = test_tensor_like(t.c.v, T_STEP);
            for (size_t j = 0; j < t.Lk; j++) { /* an odd step, and back to front: every key once */
                size_t from = t.Lk - 1 - (t.Lk % 7 ? 7 * j % t.Lk : j);
                test_copy_tensor(attn_tensor_slice(u.c.k, j, 1), attn_tensor_slice(t.c.k, from, 1));
                test_copy_tensor(attn_tensor_slice(u.c.v, j, 1), attn_tensor_slice(t.c.v, from, 1));
            }
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            CHECK_STATUS(run(&t, &ctx), ATTN_OK);
            CHECK_STATUS(run(&u, &ctx), ATTN_OK);
            CHECK(alike(t.c.out, u.c.out) && alike(t.c.o.lse, u.c.o.lse));
            test_release();
        }
}

/* Grouped heads equal plain heads over repeated keys and values. */
TEST(sdpa_groups)
{
    for (size_t n = 0; n < 60; n++)
        FOR_ISAS_OF_CASE (isa, ATTN_BF16, n) {
            grid_point p = moderate(600 + n);
            attn_ctx ctx = test_ctx(isa);
            trial t, u;
            p.at[A_GROUP] = (signed char)(1 + n % 2);
            make(&t, &p, n);
            u = t;
            trial_outputs(&u, &p, GRID_FORWARD);
            u.c.k = test_tensor(t.c.k.dtype, t.B, t.H, t.Lk, t.D, T_BHLD);
            u.c.v = test_tensor(t.c.v.dtype, t.B, t.H, t.Lk, t.Dv, T_BHLD);
            for (size_t h = 0; h < t.H; h++) {
                attn_tensor k = t.c.k, v = t.c.v, k_one = u.c.k, v_one = u.c.v;
                k.data = test_tensor_at(t.c.k, 0, h / (t.H / t.Hkv), 0, 0),
                k_one.data = test_tensor_at(u.c.k, 0, h, 0, 0);
                v.data = test_tensor_at(t.c.v, 0, h / (t.H / t.Hkv), 0, 0),
                v_one.data = test_tensor_at(u.c.v, 0, h, 0, 0);
                k.heads = v.heads = k_one.heads = v_one.heads = 1;
                test_copy_tensor(k_one, k), test_copy_tensor(v_one, v);
            }
            t.c.o.lse = lse_for(&t), u.c.o.lse = lse_for(&u);
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            CHECK_STATUS(run(&t, &ctx), ATTN_OK);
            CHECK_STATUS(run(&u, &ctx), ATTN_OK);
            CHECK(alike(t.c.out, u.c.out) && alike(t.c.o.lse, u.c.o.lse));
            test_release();
        }
}

/* ---- parts that are merged ---- */

static attn_tensor columns(attn_tensor t, size_t first, size_t count) /* of what broadcasts over the keys, or not */
{
    if (t.data && t.dim != 1) {
        t.data = test_tensor_at(t, 0, 0, 0, first);
        t.dim = count;
    }
    return t;
}

/* Attention to keys first .. first + count - 1 alone, as they stand among all. */
static void take_part(trial *part, const trial *all, size_t first, size_t count, int with_sinks)
{
    *part = *all;
    part->Lk = count;
    part->c.k = attn_tensor_slice(all->c.k, first, count);
    part->c.v = attn_tensor_slice(all->c.v, first, count);
    part->c.o.mask = columns(all->c.o.mask, first, count);
    part->c.o.bias = columns(all->c.o.bias, first, count);
    for (size_t b = 0; b < all->B; b++) {
        size_t valid = all->c.o.kv_lens ? all->kv_lens[b] : all->Lk;
        part->offsets[b] = sdpa_position(&all->c.o, all->Lq, all->Lk, b, 0) - (ptrdiff_t)first;
        part->kv_lens[b] = valid < first ? 0 : valid - first < count ? valid - first : count;
    }
    part->c.o.causal = all->c.o.causal ? ATTN_CAUSAL_OFFSET : ATTN_CAUSAL_NONE;
    part->c.o.causal_offset = part->offsets;
    part->c.o.kv_lens = part->kv_lens;
    part->c.o.sinks = with_sinks ? all->c.o.sinks : NULL;
    part->c.out = test_tensor(all->compute, all->B, all->H, all->Lq, all->Dv, (int)(first % T_OUT_LAYOUTS));
    part->c.o.lse = lse_for(all);
}

/* Two parts, the sinks in one of them, give the whole when merged, with the same bits for every width and layout. */
TEST(sdpa_merged)
{
    for (size_t n = 0; n < (test_quick ? 10 : 100); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = moderate(700 + n);
            trial t, a, b;
            answers want, naive;
            size_t cut;
            attn_tensor out, lse;
            test_runner r;
            attn_ctx ctx = grid_context(isa, n % 2 ? GRID_THREADS : GRID_REVERSED, 1 + n % 5, &r);
            real least;
            p.at[A_ALIBI] = n % 2, p.at[A_MOD] = 0;
            p.at[A_OFFSET] = p.at[A_OFFSET] < OFFSET_HUGE ? p.at[A_OFFSET] : OFFSET_AHEAD;
            make(&t, &p, n);
            cut = n % 5 == 0 ? 0 : n % 5 == 1 ? t.Lk : grid_roll(t.Lk + 1);
            take_part(&a, &t, 0, cut, n % 2 == 0);
            take_part(&b, &t, cut, t.Lk - cut, n % 2 == 1);
            test_case("point %d, %s, %d and %d keys", (int)n, attn_isa_string(isa), (int)cut, (int)(t.Lk - cut));
            CHECK_STATUS(run(&a, &ctx), ATTN_OK);
            CHECK_STATUS(run(&b, &ctx), ATTN_OK);
            out = test_tensor_like(a.c.out, T_BHLD), lse = test_tensor_like(a.c.o.lse, T_ODD);
            test_freeze();
            CHECK_STATUS(attn_merge_ctx(a.c.out, a.c.o.lse, b.c.out, b.c.o.lse, &ctx), ATTN_OK);
            {
                attn_tensor outs[2];
                outs[0] = a.c.out, outs[1] = a.c.o.lse;
                CHECK(test_wrote_only_tensors(outs, 2));
            }
            find_answers(&want, &naive, &t);
            least = sdpa_least(1, t.compute) + 2 * test_ulp(1, t.compute);
            CHECK(sdpa_close(a.c.out, want.out, naive.out, t.compute, least));
            CHECK(sdpa_close(a.c.o.lse, want.lse, naive.lse, t.compute, least));
            ctx.parallel.run = NULL;
            CHECK_STATUS(attn_merge_ctx(out, lse, b.c.out, b.c.o.lse, &ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(out, a.c.out) && test_same_tensor_bits(lse, a.c.o.lse));
            test_release();
        }
}

/* ---- garbage where nobody looks ---- */

/* Rows that `touched` says are NaN in out, lse and weights, all others have the bits of `clean`. */
static void check_rows(const trial *t, const trial *clean, int nan, size_t key, size_t query)
{
    int same = 1, bad = 1;
    for (size_t b = 0; b < t->B; b++)
        for (size_t h = 0; h < t->H; h++)
            for (size_t i = 0; i < t->Lq; i++) {
                int touched = key < t->Lk && sdpa_sees(&t->c.o, t->Lq, t->Lk, b, h, i, key);
                for (size_t j = 0; j < t->Lk && i == query; j++)
                    touched |= sdpa_sees(&t->c.o, t->Lq, t->Lk, b, h, i, j);
                if (!touched)
                    same &= test_same_row(t->c.out, clean->c.out, b, h, i) &&
                            test_same_row(t->c.o.lse, clean->c.o.lse, b, h, i) &&
                            test_same_row(t->c.o.weights, clean->c.o.weights, b, h, i) &&
                            test_same_row(t->c.o.scores, clean->c.o.scores, b, h, i);
                else if (nan)
                    bad &= test_row_is(t->c.out, b, h, i, NAN) && test_row_is(t->c.o.lse, b, h, i, NAN) &&
                           test_row_is(t->c.o.weights, b, h, i, NAN);
            }
    CHECK(same);
    CHECK(bad);
}

/* Garbage in a key, its value or a query reaches the rows that look at it and no others; so does one in a bias. */
TEST(sdpa_garbage)
{
    const double garbage[] = {NAN, HUGE_VAL, -HUGE_VAL, 6e4};
    for (size_t n = 0; n < (test_quick ? 12 : 120); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(800 + n, 1e5);
            trial clean, t;
            size_t key, query;
            double with = garbage[n % 4];
            p.at[A_Q_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_K_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_V_LAYOUT] %= T_OUT_LAYOUTS;
            p.at[A_MOD] = 0;
            p.at[A_LSE] = p.at[A_WEIGHTS] = 1;
            p.at[A_SCORES] = 1 + ATTN_STAGE_FINAL;
            make(&clean, &p, n);
            make(&t, &p, n);
            key = grid_roll(t.Lk), query = grid_roll(t.Lq);
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            CHECK(grid_run(&clean.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));

            test_case("point %d, %s, key %d is %g", (int)n, attn_isa_string(isa), (int)key, with);
            test_fill_tensor(attn_tensor_slice(t.c.k, key, 1), with),
                test_fill_tensor(attn_tensor_slice(t.c.v, key, 1), with);
            CHECK(grid_run(&t.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            check_rows(&t, &clean, isnan(with), key, t.Lq);

            test_case("point %d, %s, query %d is %g", (int)n, attn_isa_string(isa), (int)query, with);
            make(&t, &p, n);
            test_fill_tensor(attn_tensor_slice(t.c.q, query, 1), with);
            CHECK(grid_run(&t.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            check_rows(&t, &clean, isnan(with), t.Lk, query);

            test_case("point %d, %s, bias of hidden keys is %g", (int)n, attn_isa_string(isa), with);
            make(&t, &p, n);
            for (size_t b = 0; b < t.c.o.bias.batch && p.at[A_BIAS] == 16; b++)
                for (size_t h = 0; h < t.H; h++)
                    for (size_t i = 0; i < t.Lq; i++)
                        for (size_t j = 0; j < t.Lk; j++)
                            if (!sdpa_sees(&clean.c.o, t.Lq, t.Lk, b, h, i, j) &&
                                sdpa_infinite(test_tensor_get(clean.c.o.bias, b, h, i, j)) >= 0)
                                test_tensor_set(t.c.o.bias, b, h, i, j, with);
            CHECK(grid_run(&t.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            CHECK(grid_same_outputs(&t.c, &clean.c, GRID_FORWARD));
            test_release();
        }
}

/* Infinite scores, of a key that is infinite in one place, or of a bias: as the reference says. */
TEST(sdpa_infinite_scores)
{
    for (size_t n = 0; n < (test_quick ? 12 : 150); n++) {
        grid_point p = sample(1200 + n, 1e5);
        trial t, u;
        answers want, naive;
        double infinity = n % 2 ? HUGE_VAL : -HUGE_VAL;
        p.at[A_K_LAYOUT] %= T_OUT_LAYOUTS;
        p.at[A_LSE] = p.at[A_WEIGHTS] = p.at[A_SCORES] = (signed char)(1 + n % 3);
        make(&t, &p, n);
        for (size_t b = 0; b < t.B; b++)
            test_tensor_set(t.c.k, b, grid_roll(t.Hkv), grid_roll(t.Lk), 0, infinity);
        if (t.c.o.bias.data && n % 3 == 0)
            test_tensor_set(t.c.o.bias, 0, 0, t.c.o.bias.len - 1, t.c.o.bias.dim - 1, HUGE_VAL);
        find_answers(&want, &naive, &t);
        FOR_EACH_ISA (isa) {
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            u = t;
            trial_outputs(&u, &p, GRID_FORWARD);
            CHECK(grid_run(&u.c, GRID_FORWARD, isa, GRID_REVERSED, 2, GRID_EXACT));
            check_answers(&u, isa, &want, &naive);
        }
        test_release();
    }
}

/* Everything that no row sees is NaN: the same bits as without. */
TEST(sdpa_hidden_rows)
{
    for (size_t n = 0; n < (test_quick ? 12 : 120); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(900 + n, 1e5);
            trial clean, t;
            p.at[A_Q_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_K_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_V_LAYOUT] %= T_OUT_LAYOUTS;
            if (p.at[A_SCORES])
                p.at[A_SCORES] = 1 + ATTN_STAGE_FINAL;
            make(&clean, &p, n);
            make(&t, &p, n);
            for (size_t b = 0; b < t.B; b++)
                for (size_t g = 0; g < t.Hkv; g++)
                    for (size_t j = 0; j < t.Lk; j++) {
                        int seen = 0;
                        for (size_t h = g * (t.H / t.Hkv); h < (g + 1) * (t.H / t.Hkv); h++)
                            for (size_t i = 0; i < t.Lq; i++)
                                seen |= sdpa_sees(&t.c.o, t.Lq, t.Lk, b, h, i, j);
                        for (size_t d = 0; d < t.D && !seen; d++)
                            test_tensor_set(t.c.k, b, g, j, d, NAN);
                        for (size_t d = 0; d < t.Dv && !seen; d++)
                            test_tensor_set(t.c.v, b, g, j, d, NAN);
                    }
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            CHECK(grid_run(&clean.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            CHECK(grid_run(&t.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            CHECK(grid_same_outputs(&t.c, &clean.c, GRID_FORWARD));
            test_release();
        }
}

/* ---- memory that must not be touched ---- */

typedef struct fenced_call {
    grid_call c;
    attn_ctx ctx;
    attn_status status;
} fenced_call;

static void do_fenced_call(void *arg)
{
    fenced_call *c = arg;
    c->status = grid_ask(&c->c, GRID_SDPA, &c->ctx, NULL, 0);
}

/* Nothing is read past the valid keys, whatever is asked for, nor past the end of any tensor or before it. */
TEST(sdpa_fences)
{
    static const size_t dims[][2] = {{1, 1}, {3, 5}, {7, 2}, {16, 33}, {40, 9}, {64, 17}};
    static const size_t keys[][2] = {{1, 0},    {4, 4},     {5, 3},     {7, 7},     {8, 5},     {13, 12},
                                     {31, 17},  {100, 66},  {127, 127}, {130, 129}, {140, 128}, {200, 130},
                                     {260, 99}, {600, 600}, {700, 601}, {1100, 515}};
    static const size_t queries[] = {1, 3, 17, 26};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 128 : 1280); n++) {
            size_t Lk = keys[n % 16][0], valid = keys[n % 16][1], Lq = queries[n / 16 % 4];
            const size_t *dim = dims[test_below(COUNT(dims))];
            size_t D = dim[0], Dv = dim[1], step = test_below(4) ? 1 : 2;
            attn_dtype type = test_floats[test_below(4)], wide = type == ATTN_F64 ? ATTN_F64 : ATTN_F32;
            int backwards = test_maybe(), stage = (int)test_below(3), wanted = (int)test_below(5);
            test_runner r;
            fenced_call c;
            memset(&c, 0, sizeof c);
            c.c.q = test_fenced_rows(type, 1, Lq, D, Lq, 1, test_maybe());
            c.c.k = test_fenced_rows(type, 1, Lk, D, valid, step, backwards);
            c.c.v = test_fenced_rows(type, 1, Lk, Dv, valid, test_below(4) ? 1 : 2, backwards);
            c.c.out = test_fenced_rows(type, 1, Lq, Dv, Lq, 1, test_maybe());
            if (test_maybe())
                c.c.o.mask = test_fenced_pairs(ATTN_BOOL, test_maybe() ? Lq : 1, Lk, valid, backwards);
            if (test_maybe())
                c.c.o.bias = test_fenced_pairs(test_floats[test_below(4)], test_maybe() ? Lq : 1, Lk, valid, backwards);
            if (wanted > 0)
                c.c.o.lse = test_fenced_rows(wide, 1, Lq, 1, Lq, 1, test_maybe());
            if (wanted > 1 && wanted < 4)
                c.c.o.weights = test_fenced_rows(wide, 1, Lq, Lk, Lq, 1, test_maybe());
            if (wanted > 2)
                c.c.o.scores = test_fenced_rows(wide, 1, Lq, Lk, Lq, 1, test_maybe());
            c.c.o.scores_stage = (attn_stage)stage;
            c.c.o.softcap = test_maybe() ? 2 : 0;
            c.c.o.causal = test_below(3) ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_LOWER_RIGHT;
            c.c.o.kv_lens = &valid;
            c.ctx = grid_context(isa, GRID_REVERSED, n % 3 + 1, &r);
            test_case("%s, %s, %d of %d keys%s, D %d, Dv %d, %d wanted, stage %d", attn_isa_string(isa),
                      test_dtype_name(type), (int)valid, (int)Lk, backwards ? " backwards" : "", (int)D, (int)Dv,
                      wanted, stage);
            if (CHECK(test_keeps_off_fences(do_fenced_call, &c)))
                CHECK_STATUS(c.status, ATTN_OK);
            test_release();
        }
}

/* ---- memory ---- */

/* Exactly the scratch that was asked for is enough (the grid), one byte less is refused and nothing written; the bytes
   are no matter of contents. */
TEST(sdpa_scratch)
{
    for (size_t n = 0; n < (test_quick ? 20 : 200); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(1000 + n, 1e5);
            size_t width = trial_widths[p.at[A_WIDTH]], bytes;
            trial t, other;
            test_runner r;
            attn_ctx ctx = grid_context(isa, p.at[A_RUNNER], width, &r);
            make(&t, &p, n);
            make(&other, &p, n + 1);
            bytes = grid_scratch(&t.c, GRID_FORWARD, &ctx);
            test_case("point %d, %s, %zu bytes", (int)n, attn_isa_string(isa), bytes);
            CHECK(bytes > 0 && bytes < width << 22);
            CHECK(grid_scratch(&other.c, GRID_FORWARD, &ctx) == bytes);
            ctx.scratch = test_block(bytes);
            ctx.scratch_size = bytes - 1;
            CHECK(grid_scratch(&t.c, GRID_FORWARD, &ctx) == bytes);
            grid_check_less(&t.c, GRID_FORWARD, &ctx);
            CHECK(r.calls == 0);
            test_release();
        }
}

/* Of a call whose values are its keys. */
static size_t scratch_of(attn_tensor out, attn_tensor q, attn_tensor k, const attn_opts *opts, const attn_ctx *ctx)
{
    attn_dry_run dry = {0};
    CHECK_STATUS(attn_sdpa(out, q, k, k, opts, test_dry(ctx, &dry)), ATTN_OK);
    return dry.scratch;
}

/* Under 4 MiB for each task and no more for longer ones, be there many queries or one, many heads or one. The tensors
   are never touched: broadcast inputs, and an out that no one writes. */
TEST(sdpa_scratch_of_long)
{
    enum { D = 64, LONGER = 65536, LONG = 32768, H = 8 };
    float one = 0;
    float *memory = malloc(sizeof(float) * H * D * LONGER);
    if (!CHECK(memory != NULL))
        return;
    FOR_EACH_ISA (isa)
        for (int n = 0; n < COUNT(trial_widths) * 4; n++) {
            int single_query = n / COUNT(trial_widths) % 2;
            size_t width = trial_widths[n % COUNT(trial_widths)], heads = n / COUNT(trial_widths) / 2 ? 1 : H, bytes[3];
            for (size_t l = 0; l < 3; l++) {
                static const size_t lengths[] = {4096, LONG, LONGER};
                test_runner r;
                attn_ctx ctx = grid_context(isa, GRID_THREADS, width, &r);
                size_t Lk = lengths[l], Lq = single_query ? 1 : Lk;
                attn_tensor q = attn_tensor_of(&one, ATTN_F32, 1, heads, Lq, D, 0, 0, 0, 0), kv = q;
                kv.len = Lk;
                bytes[l] = scratch_of(attn_bhld(memory, ATTN_F32, 1, heads, Lq, D), q, kv, NULL, &ctx);
            }
            test_case("%s, %d queries, %d heads, width %d: %zu, %zu, %zu bytes", attn_isa_string(isa),
                      single_query ? 1 : LONG, (int)heads, (int)width, bytes[0], bytes[1], bytes[2]);
            CHECK(bytes[2] > 0 && bytes[2] < width << 22);
            CHECK(bytes[1] == bytes[2]);
            CHECK(bytes[0] == bytes[2] || ((single_query || test_small) && bytes[0] < bytes[2])); /* fewer splits */
            if (getenv("SDPA_REPORT"))
                printf("    %-7s %5d queries, %d heads, width %d: %zu bytes of scratch\n", attn_isa_string(isa),
                       single_query ? 1 : LONG, (int)heads, (int)width, bytes[1]);
        }
    free(memory);
}

/* What a call with more than a block of queries needs, any call with as many or more needs too, to the byte. */
TEST(sdpa_scratch_steady)
{
    enum { D = 3, H = 4, LONG = 70000 };
    static const size_t lengths[][2] = {{LONG, LONG}, {100, 1000}, {192, 256}, {240, 1000}, {288, 300}, {5000, 2000}};
    static float one[1], memory[H * D * LONG], keys[H * D * LONG];
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 8; n++) {
            size_t first = 0, bytes;
            for (size_t l = 0; l < COUNT(lengths); l++) {
                size_t Lq = lengths[l][0], Lk = lengths[l][1];
                attn_tensor q = attn_tensor_of(one, ATTN_F32, 1, H, Lq, D, 0, 0, 0, 0), kv = q;
                attn_opts opts = {0};
                attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
                ctx.isa = isa;
                kv.len = Lk;
                if (n % 2)
                    kv = attn_blhd(keys, ATTN_F32, 1, Lk, H, D);
                if (n / 2 % 2)
                    opts.mask = attn_tensor_of(one, ATTN_BOOL, 1, 1, 1, Lk, 0, 0, 0, 0);
                if (n / 4)
                    q.heads = kv.heads = 1;
                test_case("%s, kind %d, %zu queries, %zu keys", attn_isa_string(isa), n, Lq, Lk);
                bytes = scratch_of(attn_bhld(memory, ATTN_F32, 1, q.heads, Lq, D), q, kv, &opts, &ctx);
                first = l == 0 ? bytes : first;
                CHECK(bytes == first || (test_small && (Lk > SPLIT_KEYS) != (lengths[0][1] > SPLIT_KEYS)));
            }
        }
}

/* However wide the caller is, a run has no more than so many tasks, and scratch for no more. */
TEST(sdpa_scratch_of_wide)
{
    enum { MOST_TASKS = 256, D = 3 };
    static const size_t wide[] = {MOST_TASKS, MOST_TASKS + 1, (size_t)1 << 20, SIZE_MAX / 2, SIZE_MAX};
    FOR_EACH_ISA (isa)
        for (int decode = 0; decode < 2; decode++) { /* splits in parallel; more blocks than tasks */
            size_t B = decode ? 20 : 90, H = decode ? 1 : 4, Lk = decode ? 20000 : 9, first = 0;
            attn_tensor q = test_random_tensor(ATTN_F32, B, H, 1, D, T_BHLD), want = {0};
            attn_tensor kv = test_random_tensor(ATTN_F32, B, H, Lk, D, T_ONE_BATCH);
            for (int w = 0; w < COUNT(wide); w++) {
                test_runner r;
                attn_ctx ctx = grid_context(isa, GRID_REVERSED, wide[w], &r);
                attn_tensor out = test_tensor(ATTN_F32, B, H, 1, D, T_BHLD);
                size_t bytes;
                if (test_quick && decode && w != 4)
                    continue;
                test_case("%s, width %zu%s", attn_isa_string(isa), wide[w], decode ? ", one query" : "");
                bytes = scratch_of(out, q, kv, NULL, &ctx);
                first = first ? first : bytes;
                CHECK(bytes > 0 && bytes == first && bytes < (size_t)MOST_TASKS << 22);
                CHECK_STATUS(attn_sdpa(out, q, kv, kv, NULL, &ctx), ATTN_OK);
                CHECK(r.calls == 1 && r.most == (test_small && decode ? B : MOST_TASKS)); /* which never splits */
                want = want.data ? want : out;
                CHECK(test_same_tensor_bits(out, want));
            }
            test_release();
        }
}

/* Scratch does not grow with the keys once there is a block for each task; and 4 MiB are enough for one, always. */
TEST(sdpa_scratch_grows)
{
    static const size_t lengths[] = {512, 4096, 32768}, wide[] = {1, 4, 16, 256};
    float one = 0;
    float *memory = malloc(sizeof(float) * 256 * 64 * 128);
    if (!CHECK(memory != NULL))
        return;
    FOR_EACH_ISA (isa)
        for (int w = 0; w < COUNT(wide); w++)
            for (int many = 0; many < 2; many++) {
                size_t bytes[3], H = many ? 256 : 1;
                for (int l = 0; l < 3; l++) {
                    test_runner r;
                    attn_ctx ctx = grid_context(isa, GRID_REVERSED, wide[w], &r);
                    attn_tensor q = attn_tensor_of(&one, ATTN_F32, 1, H, 64, 128, 0, 0, 0, 1), kv = q;
                    q.dim_stride = kv.dim_stride = 0;
                    kv.len = lengths[l];
                    bytes[l] = scratch_of(attn_bhld(memory, ATTN_F32, 1, H, 64, 128), q, kv, NULL, &ctx);
                    CHECK(bytes[l] > 0 && bytes[l] < wide[w] << 22);
                }
                test_case("%s, width %zu, %d heads: %zu, %zu, %zu bytes", attn_isa_string(isa), wide[w], (int)H,
                          bytes[0], bytes[1], bytes[2]);
                if ((many || wide[w] == 1) && !test_small)
                    CHECK(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
                else
                    CHECK(bytes[0] <= bytes[1] && bytes[1] <= bytes[2]);
            }
    free(memory);
}

/* 64 queries and 32768 keys, through the allocator: no score matrix anywhere. */
TEST(sdpa_memory)
{
    enum { Lq = 64, Lk = 32768, D = 8 };
    attn_tensor q = test_random_tensor(ATTN_F32, 1, 1, Lq, D, T_BHLD),
                k = test_random_tensor(ATTN_F32, 1, 1, Lk, D, T_BLHD), out = test_tensor(ATTN_F32, 1, 1, Lq, D, T_BHLD);
    size_t most = 0;
    FOR_EACH_ISA (isa)
        for (int w = 0; w < COUNT(trial_widths); w += test_quick ? 3 : 1) {
            test_runner r;
            attn_ctx ctx = grid_context(isa, GRID_THREADS, trial_widths[w], &r);
            size_t bytes = scratch_of(out, q, k, NULL, &ctx), before = test_memory_state.bytes;
            test_case("%s, width %zu", attn_isa_string(isa), trial_widths[w]);
            test_memory_state.peak = before;
            CHECK_STATUS(attn_sdpa(out, q, k, k, NULL, &ctx), ATTN_OK);
            CHECK(test_memory_state.bytes == before);
            CHECK(test_memory_state.peak - before < trial_widths[w] << 22 && test_memory_state.peak - before <= bytes);
            most = test_memory_state.peak - before > most ? test_memory_state.peak - before : most;
        }
    CHECK(most > 0);
}

/* ---- tiles ---- */

/* What an explanation says of the tiles of a call. */
typedef struct tiling {
    unsigned long rows, keys; /* of a block and of a tile */
    unsigned long few_keys;   /* of a tile of few rows */
    unsigned long few, heads; /* so many rows of an item and a key/value head are few; heads that are then one block */
} tiling;

/* Adds to *count the tiles of item b that have a row that sees a key, to *all those that there are. Rows are numbered
   head by head. */
static void count_tiles(const trial *t, const tiling *of, size_t b, long *count, long *all)
{
    size_t group = t->H / t->Hkv, Lq = t->c.o.q_lens ? t->c.o.q_lens[b] : t->Lq, few = group * Lq <= of->few;
    size_t heads = few ? of->heads : 1, keys = few ? of->few_keys : of->keys;
    for (size_t g = 0; g < t->Hkv; g += heads) {
        size_t rows = group * Lq * (heads < t->Hkv - g ? heads : t->Hkv - g), most = heads > 1 ? rows : of->rows;
        for (size_t r0 = 0; r0 < rows; r0 += most)
            for (size_t j0 = 0; j0 < t->Lk; j0 += keys) {
                int seen = 0;
                for (size_t r = r0; r < r0 + most && r < rows; r++)
                    for (size_t j = j0; j < j0 + keys && j < t->Lk && !seen; j++)
                        seen = sdpa_sees(&t->c.o, t->Lq, t->Lk, b, g * group + r / Lq, r % Lq, j);
                *count += seen, ++*all;
            }
    }
}

/* The number after the phrase, or 0. */
static unsigned long said(const char *text, const char *phrase)
{
    const char *at = strstr(text, phrase);
    return at ? strtoul(at + strlen(phrase), NULL, 10) : 0;
}

/* How many tiles a call without options has, of so many queries of one head and so many keys. */
static long tiles_of(const trial *t, size_t rows, size_t keys, const attn_ctx *ctx)
{
    const grid_call *c = &t->c;
    float *none = test_block(8 * (rows + keys) * (t->D + t->Dv));
    long before = test_tiles;
    attn_tensor q = {none, c->q.dtype, 1, 1, rows, t->D, 0, 0, 0, 0}, k = q, v = q;
    k.dtype = c->k.dtype, k.len = v.len = keys, v.dtype = c->v.dtype, v.dim = t->Dv;
    memset(none, 0, 8 * (rows + keys) * (t->D + t->Dv));
    CHECK_STATUS(attn_sdpa(test_tensor(c->out.dtype, 1, 1, rows, t->Dv, T_BHLD), q, k, v, NULL, ctx), ATTN_OK);
    return test_tiles - before;
}

/* The tiles of an implementation that does not tell: the most rows, and the most keys, that are one tile. */
static tiling measured(const trial *t, const attn_ctx *ctx)
{
    tiling of = {1, 1, 0, (unsigned long)-1, 1};
    while (of.rows < 1000 && tiles_of(t, of.rows + 1, 1, ctx) == 1)
        of.rows++;
    while (of.keys < 1000 && tiles_of(t, 1, of.keys + 1, ctx) == 1)
        of.keys++;
    CHECK(tiles_of(t, 3 * of.rows, 3 * of.keys + 1, ctx) == 12);
    of.few_keys = of.keys;
    return of;
}

/* Returns how many tiles were skipped. */
static long check_tiles(const trial *t, attn_isa isa)
{
    attn_ctx ctx = test_ctx(isa);
    char text[2048] = "";
    tiling of;
    long before, tiles, seen = 0, all = 0;
    CHECK_STATUS(grid_ask(&t->c, GRID_DRY, &ctx, text, sizeof text), ATTN_OK);
    of.rows = said(text, "query blocks of "), of.keys = said(text, "key tiles of ");
    of.few = t->c.batch_invariant ? (unsigned long)-1 : said(text, "few rows, up to ");
    of.heads = said(text, "few rows of ") ? said(text, "few rows of ") : 1;
    of.few_keys = 256;
    if (test_small)
        of = measured(t, &ctx);
    if (!CHECK(of.rows && of.keys))
        return 0;
    before = test_tiles;
    CHECK_STATUS(run(t, &ctx), ATTN_OK);
    tiles = test_tiles - before;
    for (size_t b = 0; b < t->B; b++)
        count_tiles(t, &of, b, &seen, &all);
    CHECK_NEAR(tiles, seen, 0);
    return all - tiles;
}

/* A tile that no row sees is skipped, and no other is computed twice. */
TEST(sdpa_tiles)
{
    long skipped = 0;
    trial t;
    grid_point p;
    for (size_t n = 0; n < (test_quick ? 15 : 300); n++) {
        p = sample(1100 + n, 1e6);
        p.at[A_D] = p.at[A_DV] = 1;
        p.at[A_BIAS] = p.at[A_LSE] = p.at[A_WEIGHTS] = p.at[A_SCORES] = 0;
        p.at[A_LQ] = (signed char)(n % 4 == 3 ? 1 + n / 4 % 3 : 5 + n % 4);
        p.at[A_LK] = (signed char)(COUNT(lengths_k) - 1 - (int)(n / 4 % 5));
        p.at[A_MASK_KIND] = n % 3 ? MASK_BANDS : MASK_EMPTY_ROWS;
        if (p.at[A_INVARIANT]) /* few rows of heads side by side are one block, but nothing says how many are few */
            p.at[A_K_LAYOUT] = T_SLICE;
        make(&t, &p, n);
        FOR_EACH_ISA (isa) {
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            skipped += check_tiles(&t, isa);
        }
        test_release();
    }
    CHECK(skipped > 0);
    /* A block of the last queries of one head and the first of the next sees both ends of the keys, not the middle. */
    p = sample(1, 1e4);
    p.at[A_TYPES] = p.at[A_LSE] = p.at[A_WEIGHTS] = p.at[A_SCORES] = 0;
    without_rules(&p);
    make(&t, &p, 1);
    t.Lq = t.Lk = 700, t.H = 4, t.Hkv = 1;
    t.c.q = t.c.k = t.c.v = test_random_tensor(ATTN_F32, t.B, 1, t.Lk, t.D, T_BHLD);
    t.c.q.heads = t.H, t.c.q.head_stride = 0;
    t.Dv = t.D;
    t.c.out = test_tensor(ATTN_F32, t.B, t.H, t.Lq, t.D, T_BHLD);
    t.c.o.window.on = 1, t.c.o.window.left = 9, t.c.o.window.right = 9;
    FOR_EACH_ISA (isa) {
        test_case("a narrow window, %s", attn_isa_string(isa));
        CHECK(check_tiles(&t, isa) > 0);
    }
}

/* Equal weights over many keys of one value: what rounding adds up to stays within the bound of the text. */
TEST(sdpa_long_sums)
{
    enum { KEYS = 32768 };
    attn_tensor q = test_tensor(ATTN_F32, 1, 1, 1, 1, T_BHLD), k = test_tensor(ATTN_F32, 1, 1, KEYS, 1, T_BHLD);
    attn_tensor v = test_tensor(ATTN_F32, 1, 1, KEYS, 1, T_BHLD), out = test_tensor(ATTN_F32, 1, 1, 1, 1, T_BHLD);
    const double bound = 21 + 512 + KEYS / 512;
    memset(q.data, 0, sizeof(float)), memset(k.data, 0, KEYS * sizeof(float));
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 4; n++) {
            const float x = 0.5f + (float)n * 0.1343f;
            attn_ctx ctx = test_ctx(isa);
            ctx.batch_invariant = n % 2;
            for (size_t j = 0; j < KEYS; j++)
                ((float *)v.data)[j] = x;
            test_case("%s, value %g", attn_isa_string(isa), (double)x);
            CHECK_STATUS(attn_sdpa(out, q, k, v, NULL, &ctx), ATTN_OK);
            CHECK_NEAR(*(const float *)out.data, x, (double)x * bound * 0x1p-24);
        }
    test_release();
}
