/* Dropout: which weights are dropped, by a generator written once more here; what becomes of the others; and that
   nothing else has a say in it. */
#include "sdpa.h"

typedef struct shape {
    size_t B, H, Hkv, Lq, Lk, D, Dv;
} shape;

/* ---- the generator, from the text of the interface and of the kernel table ---- */

static uint64_t mix(uint64_t x) /* splitmix64 */
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint32_t bits_of(uint64_t seed, size_t b, size_t h, size_t i, size_t j)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t row = mix(mix(mix(mix(seed + golden) + b + golden) + h + golden) + i + golden);
    uint32_t x = (uint32_t)row + (uint32_t)j * UINT32_C(0x9e3779b9);
    x = (x ^ x >> 16) * UINT32_C(0x21f0aaad) + (uint32_t)(row >> 32);
    x = (x ^ x >> 15) * UINT32_C(0x735a2d97);
    return x ^ x >> 15;
}

static int is_dropped(attn_dropout d, size_t b, size_t h, size_t i, size_t j)
{
    double limit = floor(d.p * 4294967296.0 + 0.5);
    return (double)bits_of(d.seed, b, h, i, j) < (limit > 4294967295.0 ? 4294967295.0 : limit);
}

/* ---- problems ---- */

enum { PLAIN, CAUSAL, WINDOWED, MASKED, BIASED, SUNK, LENGTHS, KINDS };

typedef struct problem {
    attn_dtype compute;
    attn_tensor q, k, v, out;
    attn_opts opts;
    attn_ctx ctx;
    float slopes[8];
    size_t q_lens[4], kv_lens[4];
} problem;

static void make(problem *p, attn_isa isa, attn_dtype dtype, shape n, int kind, int layout)
{
    memset(p, 0, sizeof *p);
    p->compute = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    p->ctx.isa = isa;
    p->q = test_random_tensor(dtype, n.B, n.H, n.Lq, n.D, layout);
    p->k = test_random_tensor(dtype, n.B, n.Hkv, n.Lk, n.D, layout);
    p->v = test_random_tensor(dtype, n.B, n.Hkv, n.Lk, n.Dv, layout);
    p->out = test_tensor(dtype, n.B, n.H, n.Lq, n.Dv, layout);
    p->opts.scale = 3;
    for (size_t h = 0; h < 8; h++)
        p->slopes[h] = ldexpf(1, -(int)h - 3);
    for (size_t b = 0; b < 4; b++) {
        p->q_lens[b] = n.Lq - (b + n.Lq) % 2;
        p->kv_lens[b] = n.Lk - n.Lk * b / 5;
    }
    if (kind == CAUSAL)
        p->opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    if (kind == WINDOWED) {
        p->opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
        p->opts.window.on = 1;
        p->opts.window.left = (ptrdiff_t)(n.Lk * 2 / 3);
        p->opts.window.right = -1;
        p->opts.softcap = 2;
    }
    if (kind == MASKED)
        p->opts.mask = test_random_tensor(ATTN_BOOL, n.B, 1, n.Lq, n.Lk, T_BHLD);
    if (kind == BIASED) {
        p->opts.bias = test_random_tensor(p->compute, 1, n.H, n.Lq, n.Lk, T_BHLD);
        p->opts.alibi_slopes = p->slopes;
    }
    if (kind == SUNK)
        p->opts.sinks = p->slopes;
    if (kind == LENGTHS) {
        p->opts.q_lens = p->q_lens;
        p->opts.kv_lens = p->kv_lens;
    }
}

static attn_tensor pairs(const problem *p, attn_dtype dtype, int layout)
{
    return test_tensor(dtype, p->q.batch, p->q.heads, p->q.len, p->k.len, layout);
}

static attn_tensor rows(const problem *p)
{
    return test_tensor(p->compute, p->q.batch, p->q.heads, p->q.len, 1, T_BHLD);
}

/* Weights and lse without dropout, which p has. */
static attn_tensor whole_weights(const problem *p, attn_tensor *lse)
{
    attn_opts opts = p->opts;
    attn_dropout none = {0, 0};
    attn_tensor out = test_tensor_like(p->out, T_BHLD);
    opts.dropout = none;
    opts.weights = pairs(p, p->compute, T_BHLD);
    *lse = opts.lse = rows(p);
    CHECK_STATUS(attn_sdpa(out, p->q, p->k, p->v, &opts, &p->ctx), ATTN_OK);
    return opts.weights;
}

/* 1 / (1 - p) in the compute type, times w, rounded there. */
static double scaled(const problem *p, double w)
{
    double keep = 1 / (1 - p->opts.dropout.p);
    float single;
    if (p->compute == ATTN_F64)
        return w * keep;
    single = (float)w * (float)keep;
    return single;
}

static double weight_at(attn_tensor w, size_t b, size_t h, size_t i, size_t j)
{
    return (double)test_tensor_get(w, b, h, i, j);
}

/* The weights shown are exactly z times those without dropout. */
static void check_weights(const problem *p, attn_tensor shown, attn_tensor whole)
{
    size_t off = 0;
    for (size_t b = 0; b < whole.batch; b++)
        for (size_t h = 0; h < whole.heads; h++)
            for (size_t i = 0; i < whole.len; i++)
                for (size_t j = 0; j < whole.dim; j++) {
                    double w = weight_at(whole, b, h, i, j), got = weight_at(shown, b, h, i, j);
                    double want = is_dropped(p->opts.dropout, b, h, i, j) ? 0 : scaled(p, w);
                    off += test_bits64(got) != test_bits64(want);
                }
    CHECK(off == 0);
}

/* out = weights v: each element within (Lk + 8) u sum |weight value|, the rounding of a narrower out, what pairs of BF16
   add, and weights below the smallest normal number, which may be shown as 0. */
static void check_out(const problem *p, attn_tensor out, attn_tensor weights)
{
    const real unit = p->compute == ATTN_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    const real normal = p->compute == ATTN_F64 ? DBL_MIN : FLT_MIN;
    const real lost = normal * ((real)p->k.len / (1 - (real)p->opts.dropout.p) + 1);
    size_t group = p->q.heads / p->k.heads;
    for (size_t b = 0; b < out.batch; b++)
        for (size_t h = 0; h < out.heads; h++)
            for (size_t i = 0; i < out.len; i++)
                for (size_t d = 0; d < out.dim; d++) {
                    real sum = 0, size = 0, term, ulp = lost, moved;
                    for (size_t j = 0; j < p->k.len; j++) {
                        term = test_tensor_get(weights, b, h, i, j);
                        if (term != 0) {
                            term *= test_tensor_get(p->v, b, h / group, j, d);
                            sum += term;
                            size += fabsl(term);
                        }
                    }
                    moved = test_pairs_error(p->ctx.isa, p->q.dtype, p->k.dtype, p->v.dtype, size);
                    ulp += moved;
                    if (out.dtype != p->compute)
                        ulp += test_ulp(fabsl(sum) + moved, out.dtype) / 2;
                    if (!CHECK_NEAR(test_tensor_get(out, b, h, i, d), sum,
                                    ((real)p->k.len + 8) * unit * size + ulp))
                        return;
                }
}

/* ---- weights and outputs ---- */

static void check_problem(problem *p)
{
    test_runner runner;
    attn_opts opts = p->opts;
    attn_tensor lse_whole, whole = whole_weights(p, &lse_whole), lse = rows(p), shown = pairs(p, p->compute, T_BHLD);
    attn_tensor alone = test_tensor_like(p->out, T_BHLD), narrow = pairs(p, ATTN_F16, T_TURNED);
    attn_ctx ctx = p->ctx;
    attn_dry_run dry = {0};
    opts.lse = lse;
    opts.weights = shown;
    CHECK_STATUS(attn_sdpa(p->out, p->q, p->k, p->v, &opts, &p->ctx), ATTN_OK);
    CHECK(test_same_tensor_bits(lse, lse_whole));
    check_weights(p, shown, whole);
    check_out(p, p->out, shown);
    opts = p->opts; /* neither other outputs nor threads nor scratch change a bit; the last is enough */
    ctx.parallel = test_serial_backwards(&runner, 3);
    CHECK_STATUS(attn_sdpa(alone, p->q, p->k, p->v, &opts, test_dry(&ctx, &dry)), ATTN_OK);
    test_scratch(&ctx, dry.scratch, 1);
    CHECK_STATUS(attn_sdpa(alone, p->q, p->k, p->v, &opts, &ctx), ATTN_OK);
    CHECK(test_same_tensor_bits(alone, test_tensor_like(p->out, T_BHLD)));
    opts.weights = narrow;
    CHECK_STATUS(attn_sdpa(alone, p->q, p->k, p->v, &opts, &p->ctx), ATTN_OK);
    CHECK(test_same_tensor_bits(alone, test_tensor_like(p->out, T_BHLD)));
    for (size_t j = 0; j < shown.dim; j++) {
        double w = weight_at(shown, 0, shown.heads - 1, shown.len - 1, j);
        if (w < 60000) /* what half holds */
            CHECK(weight_at(narrow, 0, shown.heads - 1, shown.len - 1, j) ==
                  test_decode(test_encode(w, ATTN_F16), ATTN_F16));
    }
}

TEST(dropout_weights)
{
    static const shape shapes[] = {{1, 1, 1, 1, 1, 1, 1},   {2, 2, 1, 5, 7, 3, 2},     {3, 2, 2, 26, 150, 8, 5},
                                   {1, 4, 1, 1, 300, 4, 3}, {2, 4, 2, 17, 129, 16, 7}, {1, 2, 1, 3, 1100, 4, 3},
                                   {1, 6, 2, 33, 48, 9, 65}};
    static const double chances[] = {0.1, 0.5, 0.999, 1e-6, 0.9, 1 - DBL_EPSILON, 0.3};
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    static const int layouts[] = {T_BHLD, T_BLHD, T_QKV, T_TURNED, T_FLIPPED, T_STEP};
    problem p;
    size_t turn = 0;
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
            for (int kind = 0; kind < KINDS; kind++)
                for (int t = 0; t < 4; t++, turn++) {
                    if (test_quick && turn % 5 != (size_t)isa % 5)
                        continue;
                    make(&p, isa, dtypes[t], shapes[n], kind, layouts[turn % 6]);
                    p.opts.dropout.p = chances[turn % 7];
                    p.opts.dropout.seed = turn % 3 ? test_random() : turn;
                    test_case("%s, %s, shape %d, options %d, p %g", attn_isa_string(isa), test_dtype_name(dtypes[t]),
                              (int)n, kind, p.opts.dropout.p);
                    check_problem(&p);
                    test_release();
                }
}

/* p = 0 is no dropout: the same bits, scratch and text, whatever the seed. */
TEST(dropout_none)
{
    static const shape shapes[] = {{2, 4, 2, 1, 300, 8, 8}, {2, 2, 2, 33, 130, 8, 8}};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 2; n++) {
            problem p;
            attn_tensor out, weights;
            char text[2][2000];
            attn_dry_run dry[2] = {{0, text[0], 2000}, {0, text[1], 2000}};
            make(&p, isa, ATTN_F32, shapes[n], PLAIN, T_BHLD);
            test_case("%s, shape %d", attn_isa_string(isa), (int)n);
            out = test_tensor_like(p.out, T_BHLD);
            weights = pairs(&p, ATTN_F32, T_BHLD);
            p.opts.weights = pairs(&p, ATTN_F32, T_BHLD);
            CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, &p.ctx), ATTN_OK);
            CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, test_dry(&p.ctx, &dry[0])), ATTN_OK);
            p.opts.dropout.seed = 12345;
            CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, test_dry(&p.ctx, &dry[1])), ATTN_OK);
            CHECK(dry[0].scratch == dry[1].scratch && !strcmp(text[0], text[1]) && !strstr(text[0], "dropout:"));
            attn_tensor first = p.opts.weights;
            p.opts.weights = weights;
            CHECK_STATUS(attn_sdpa(out, p.q, p.k, p.v, &p.opts, &p.ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(out, p.out) && test_same_tensor_bits(weights, first));
            p.opts.dropout.p = 0.5;
            CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, test_dry(&p.ctx, &dry[1])), ATTN_OK);
            CHECK(test_small ? test_is_brief(text[1]) : strstr(text[1], "dropout:") != NULL);
            CHECK(!strstr(text[1], "queries lie on the lanes") == !strstr(text[0], "queries lie on the lanes"));
            test_release();
        }
}

/* An item's bits depend on its number and on nothing in its neighbours; the rows of a longer text are those of a
   shorter one, causally: of many rows, or of any number if batch_invariant. */
TEST(dropout_alone)
{
    FOR_EACH_ISA (isa) {
        static const shape n = {3, 2, 1, 40, 140, 8, 8};
        problem p, q;
        attn_tensor part, k, v;
        make(&p, isa, ATTN_F32, n, PLAIN, T_BHLD);
        test_case("%s", attn_isa_string(isa));
        p.opts.dropout.p = 0.4;
        p.opts.dropout.seed = 7;
        CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, &p.ctx), ATTN_OK);
        q = p;
        q.q = test_tensor_like(p.q, T_BLHD);
        q.k = test_tensor_like(p.k, T_STEP);
        q.v = test_tensor_like(p.v, T_TURNED);
        q.out = test_tensor_like(p.out, T_BHLD);
        for (size_t b = 0; b < 2; b++)
            for (size_t j = 0; j < n.Lk; j++)
                test_tensor_set(q.v, b, 0, j, 0, 99);
        CHECK_STATUS(attn_sdpa(q.out, q.q, q.k, q.v, &q.opts, &q.ctx), ATTN_OK);
        attn_tensor last = p.out, same = q.out;
        last.data = test_tensor_at(p.out, 2, 0, 0, 0);
        same.data = test_tensor_at(q.out, 2, 0, 0, 0);
        last.batch = same.batch = 1;
        CHECK(test_same_tensor_bits(last, same));
        CHECK(!test_same_tensor_bits(p.out, q.out));

        p.opts.causal = ATTN_CAUSAL_UPPER_LEFT; /* 40 queries; then fewer, of fewer keys */
        k = attn_tensor_slice(p.k, 0, 60);
        v = attn_tensor_slice(p.v, 0, 60);
        for (size_t count = 25; count > 0; count /= 5) {
            p.ctx.batch_invariant = count < 25;
            CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, &p.ctx), ATTN_OK);
            part = test_tensor_like(attn_tensor_slice(p.out, 0, count), T_BHLD);
            test_fill_tensor(part, 0);
            CHECK_STATUS(attn_sdpa(part, attn_tensor_slice(p.q, 0, count), k, v, &p.opts, &p.ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(part, test_tensor_like(attn_tensor_slice(p.out, 0, count), T_BHLD)));
        }
        test_release();
    }
}

/* NaN and infinity: z multiplies. A dropped weight 0 times a NaN or infinite value is NaN, as in the steps; a row that
   is NaN has weights that are; and what lies behind a hidden key counts for nothing. */
TEST(dropout_specials)
{
    FOR_EACH_ISA (isa)
        for (int type = 0; type < 2; type++) {
            static const shape n = {1, 2, 2, 20, 140, 8, 4};
            problem p;
            attn_tensor clean, weights;
            size_t nans = 0, seen = 0, infinite = 0;
            make(&p, isa, type ? test_wide : ATTN_F32, n, CAUSAL, T_BHLD);
            test_case("%s, %s", attn_isa_string(isa), test_dtype_name(p.compute));
            p.opts.dropout.p = 0.5;
            clean = test_tensor_like(p.out, T_BHLD);
            weights = p.opts.weights = pairs(&p, p.compute, T_BHLD);
            CHECK_STATUS(attn_sdpa(clean, p.q, p.k, p.v, &p.opts, &p.ctx), ATTN_OK);
            test_tensor_set(p.v, 0, 0, 130, 1, (double)NAN); /* rows 10 .. 19 see it */
            test_tensor_set(p.v, 0, 0, 131, 2, HUGE_VAL);    /* rows 11 .. 19 do */
            test_tensor_set(p.q, 0, 1, 3, 0, (double)NAN);
            CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, &p.ctx), ATTN_OK);
            for (size_t h = 0; h < 2; h++)
                for (size_t i = 0; i < 20; i++)
                    for (size_t d = 0; d < 4; d++) {
                        real x = test_tensor_get(p.out, 0, h, i, d), y = test_tensor_get(clean, 0, h, i, d);
                        int spoilt = h == 0 ? i >= 10 && d == 1 : i == 3, sees = h == 0 && i >= 11 && d == 2;
                        if (sees)
                            spoilt = is_dropped(p.opts.dropout, 0, 0, i, 131);
                        infinite += (size_t)(sees && !spoilt);
                        CHECK(spoilt ? isnan((double)x) : sees ? (double)x == HUGE_VAL : x == y);
                    }
            for (size_t j = 0; j < 140; j++) {
                nans += (size_t)isnan(weight_at(weights, 0, 1, 3, j));
                seen += weight_at(weights, 0, 0, 19, j) > 0;
            }
            CHECK(nans == 140 && seen > 0 && seen < 140 && infinite > 0 && infinite < 9);
            test_release();
        }
}

/* ---- the generator, seen through weights ---- */

/* Of uniform weights, which are dropped: [B][H][Lq][Lk]. */
static unsigned char *decisions(attn_isa isa, double p, uint64_t seed, shape n)
{
    problem a;
    unsigned char *d = test_block(n.B * n.H * n.Lq * n.Lk), *at = d;
    make(&a, isa, ATTN_F32, n, PLAIN, T_BHLD);
    a.opts.dropout.p = p;
    a.opts.dropout.seed = seed;
    a.opts.weights = pairs(&a, ATTN_F32, T_BHLD);
    test_fill_tensor(a.q, 0);
    CHECK_STATUS(attn_sdpa(a.out, a.q, a.k, a.v, &a.opts, &a.ctx), ATTN_OK);
    for (size_t b = 0; b < n.B; b++)
        for (size_t h = 0; h < n.H; h++)
            for (size_t i = 0; i < n.Lq; i++)
                for (size_t j = 0; j < n.Lk; j++)
                    *at++ = weight_at(a.opts.weights, b, h, i, j) == 0;
    return d;
}

static double excess(const unsigned char *d, size_t count, double p) /* in standard deviations */
{
    double sum = 0;
    for (size_t n = 0; n < count; n++)
        sum += d[n];
    return (sum - (double)count * p) / sqrt((double)count * p * (1 - p));
}

static double correlation(const unsigned char *d, const unsigned char *e, size_t count, double p) /* likewise */
{
    double sum = 0;
    for (size_t n = 0; n < count; n++)
        sum += (d[n] - p) * (e[n] - p);
    return sum / sqrt((double)count) / (p * (1 - p));
}

/* As often as p says, in all and in each row and column together; and no decision tells of another: of keys, rows,
   heads, items, seeds that are near. Each within five standard deviations. */
TEST(dropout_chance)
{
    static const double chances[] = {0.5, 0.1, 0.01, 0.9};
    static const shape n = {2, 4, 4, 64, 512, 1, 0};
    size_t count = n.B * n.H * n.Lq * n.Lk, quarter = count / 8;
    for (size_t c = 0; c < 4; c++) {
        double p = chances[c], in_rows = 0, in_cols = 0, z;
        unsigned char *d = decisions(ATTN_ISA_BEST, p, c, n), *e = decisions(ATTN_ISA_BEST, p, c + 1, n);
        test_case("p %g", p);
        CHECK(fabs(excess(d, count, p)) < 5);
        for (size_t r = 0; r < count / n.Lk; r++) {
            z = excess(d + r * n.Lk, n.Lk, p);
            in_rows += z * z - 1;
        }
        for (size_t j = 0; j < n.Lk; j++) {
            double sum = 0, rows_of = (double)(count / n.Lk);
            for (size_t r = 0; r < count / n.Lk; r++)
                sum += d[r * n.Lk + j];
            z = (sum - rows_of * p) / sqrt(rows_of * p * (1 - p));
            in_cols += z * z - 1;
        }
        CHECK(fabs(in_rows) < 5 * sqrt(2.2 * (double)(count / n.Lk)));
        CHECK(fabs(in_cols) < 5 * sqrt(2.2 * (double)n.Lk));
        for (size_t lag = 1; lag <= 64; lag++)
            CHECK(fabs(correlation(d, d + lag, count - lag, p)) < 5);
        for (size_t lag = 1; lag < n.Lq; lag += lag) {
            CHECK(fabs(correlation(d, d + lag * n.Lk, count - lag * n.Lk, p)) < 5);
            CHECK(fabs(correlation(d, d + lag * (n.Lk + 1), count - lag * (n.Lk + 1), p)) < 5);
        }
        CHECK(fabs(correlation(d, d + quarter, count - quarter, p)) < 5);         /* heads */
        CHECK(fabs(correlation(d, d + 4 * quarter, count - 4 * quarter, p)) < 5); /* items */
        CHECK(fabs(correlation(d, e, count, p)) < 5);                             /* seeds */
        test_release();
    }
}

/* ---- the layer ---- */

TEST(dropout_mha)
{
    enum { B = 2, L = 9, H = 2, D = 4, E = 8 };
    attn_mha_weights w = {0};
    attn_opts opts = {0};
    attn_tensor x = test_random_tensor(ATTN_F32, B, 1, L, E, T_BHLD), out = test_tensor(ATTN_F32, B, 1, L, E, T_BHLD);
    attn_tensor whole, mean;
    w.wq = test_random_mat(ATTN_F32, E, H * D, PACKED);
    w.wk = test_random_mat(ATTN_F32, E, H * D, PACKED);
    w.wv = test_random_mat(ATTN_F32, E, H * D, PACKED);
    w.wo = test_random_mat(ATTN_F32, H * D, E, PACKED);
    w.heads = H;
    opts.weights = whole = test_tensor(ATTN_F32, B, H, L, L, T_BHLD);
    CHECK_STATUS(attn_mha(out, x, x, x, &w, &opts, NULL), ATTN_OK);
    opts.dropout.p = 0.5;
    opts.dropout.seed = 3;
    opts.weights = test_tensor(ATTN_F32, B, H, L, L, T_BHLD);
    CHECK_STATUS(attn_mha(out, x, x, x, &w, &opts, NULL), ATTN_OK);
    mean = test_tensor(ATTN_F32, B, 1, L, L, T_BHLD);
    for (size_t n = 0; n < B * H * L * L; n++) {
        size_t b = n / (H * L * L), h = n / (L * L) % H, i = n / L % L, j = n % L;
        double want = is_dropped(opts.dropout, b, h, i, j) ? 0 : 2 * weight_at(whole, b, h, i, j);
        CHECK(weight_at(opts.weights, b, h, i, j) == want);
    }
    whole = opts.weights;
    opts.weights = mean;
    CHECK_STATUS(attn_mha(out, x, x, x, &w, &opts, NULL), ATTN_OK);
    for (size_t n = 0; n < B * L * L; n++) {
        size_t b = n / (L * L), i = n / L % L, j = n % L;
        double want = (weight_at(whole, b, 0, i, j) + weight_at(whole, b, 1, i, j)) / 2;
        CHECK_NEAR(test_tensor_get(mean, b, 0, i, j), want, FLT_EPSILON * want);
    }
    opts.dropout.p = 1;
    CHECK_STATUS(attn_mha(out, x, x, x, &w, &opts, NULL), ATTN_ERR_VALUE);
}

/* ---- statuses ---- */

TEST(dropout_status)
{
    static const shape n = {1, 2, 1, 4, 5, 8, 8};
    const double bad[] = {1, 1.5, -0.1, -DBL_MIN, (double)NAN, HUGE_VAL, -HUGE_VAL};
    problem p;
    attn_kv_cache cache = {0};
    char text[2000];
    attn_dry_run dry = {0, text, sizeof text};
    make(&p, ATTN_ISA_BEST, ATTN_F32, n, PLAIN, T_BHLD);
    CHECK_STATUS(attn_kv_cache_init(&cache, 1, 1, 8, 8, 8, ATTN_F32, 0, NULL, 0), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_append(&cache, p.k, p.v, NULL), ATTN_OK);
    test_freeze();
    for (size_t c = 0; c < sizeof bad / sizeof *bad + 1; c++) {
        int both = c < sizeof bad / sizeof *bad; /* refused by both; what is legal elsewhere, by a cache */
        attn_status want = both ? ATTN_ERR_VALUE : ATTN_OK;
        p.opts.dropout.p = both ? bad[c] : 0.5;
        p.opts.dropout.seed = UINT64_MAX;
        test_case("p %g", p.opts.dropout.p);
        if (both)
            CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, NULL), want);
        CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, test_dry(NULL, &dry)), want);
        CHECK(!both || strstr(text, "opts.dropout: ") == text);
        CHECK_STATUS(attn_kv_cache_attend(p.out, p.q, &cache, &p.opts, NULL), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_attend(p.out, p.q, &cache, &p.opts, test_dry(NULL, &dry)), ATTN_ERR_VALUE);
        CHECK(strstr(text, "opts.dropout: ") == text);
        CHECK(test_wrote_nothing());
    }
    p.opts.dropout.p = 0;
    CHECK_STATUS(attn_kv_cache_attend(p.out, p.q, &cache, &p.opts, NULL), ATTN_OK);
    p.opts.dropout.p = -1; /* after shapes, before aliases, and before what follows it */
    p.opts.scores_stage = (attn_stage)77;
    CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, p.v, &p.opts, test_dry(NULL, &dry)), ATTN_ERR_VALUE);
    CHECK(strstr(text, "opts.dropout: ") == text);
    CHECK_STATUS(attn_sdpa(p.out, p.q, p.k, attn_tensor_slice(p.v, 0, 2), &p.opts, NULL), ATTN_ERR_SHAPE);
    CHECK_STATUS(attn_sdpa(p.q, p.q, p.k, p.v, &p.opts, NULL), ATTN_ERR_VALUE);
    attn_kv_cache_free(&cache);
}
