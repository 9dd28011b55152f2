/* The multi-head layer against its formula: four projections around the reference of the engine. */
#include "calls.h"
#include "mha.h"

static const size_t widths[] = {1, 2, 3, 7};

static const shape large = {2, 6, 2, 37, 150, 20, 12, 48, 40, 33, 50};

static attn_status run(const layer *t, const attn_ctx *ctx)
{
    return attn_mha(t->out, t->q, t->k, t->v, &t->w, &t->o, ctx);
}

typedef struct call_state {
    layer t;
    attn_ctx ctx;
    int no_weights, no_memory; /* NULL is given; the allocator fails */
} call_state;

static call_state call_of(const layer *t, attn_isa isa)
{
    call_state c = {0};
    c.t = *t;
    c.ctx.isa = isa;
    return c;
}

static attn_status ask(const void *call, attn_dry_run *dry)
{
    const call_state *c = call;
    const layer *t = &c->t;
    const attn_mha_weights *w = c->no_weights ? NULL : &t->w;
    test_memory_state.fail_all |= c->no_memory;
    return attn_mha(t->out, t->q, t->k, t->v, w, &t->o, test_dry(&c->ctx, dry));
}

static const subject mha; /* that, and its faults: below */
enum { OUTPUTS = 4 };

static void outputs_of(const layer *t, attn_tensor *outs)
{
    outs[0] = t->out, outs[1] = t->o.lse, outs[2] = t->o.weights, outs[3] = t->o.scores;
}

static int same_outputs(const layer *a, const layer *b)
{
    return test_same_tensor_bits(a->out, b->out) && test_same_tensor_bits(a->o.lse, b->o.lse) &&
           test_same_tensor_bits(a->o.weights, b->o.weights) && test_same_tensor_bits(a->o.scores, b->o.scores);
}

static layer with_fresh_outputs(const layer *t)
{
    static const attn_tensor none;
    layer fresh = *t;
    attn_tensor *outs[] = {&fresh.out, &fresh.o.lse, &fresh.o.weights, &fresh.o.scores};
    for (size_t n = 0; n < 4; n++)
        *outs[n] = test_absent_tensor(*outs[n]) ? none
                                                : test_tensor(outs[n]->dtype, outs[n]->batch, outs[n]->heads,
                                                              outs[n]->len, outs[n]->dim, (int)n);
    return fresh;
}

static void run_as(const layer *t, attn_ctx ctx, int threads, size_t width, int scratch)
{
    call_state c = call_of(t, ctx.isa);
    attn_tensor outs[OUTPUTS];
    c.ctx = ctx;
    outputs_of(t, outs);
    check_run(&mha, &c, &c.ctx, outs, OUTPUTS, threads, width, scratch, 0);
}

static void run_at(const layer *t, attn_isa isa, int threads, size_t width, int scratch)
{
    run_as(t, test_ctx(isa), threads, width, scratch);
}

/* ---- the model ---- */

typedef struct answers {
    real *out, *lse, *weights, *mean, *scores;
    real size; /* the largest sum of magnitudes of an output */
} answers;

static answers answer(const layer *t, test_mode mode)
{
    const shape *n = &t->n;
    size_t rows = n->B * n->H * n->Lq, width = n->H * n->Dv;
    attn_tensor q = project(t->q, t->w.wq, t->w.bq, n->H, mode), k = project(t->k, t->w.wk, t->w.bk, n->Hkv, mode),
                v = project(t->v, t->w.wv, t->w.bv, n->Hkv, mode);
    real *mixed = test_reals(rows * n->Dv), *wo = test_values(t->w.wo);
    observer *u = t->o.score_mod_user;
    answers a = {NULL, NULL, NULL, NULL, NULL, 0};
    a.out = test_reals(n->B * n->Lq * n->E);
    a.lse = test_reals(rows);
    a.weights = test_reals(rows * n->Lk);
    a.mean = test_reals(n->B * n->Lq * n->Lk);
    a.scores = test_reals(rows * n->Lk);
    if (u)
        u->f64 = mode != NAIVE32;
    sdpa_reference(mixed, a.lse, a.weights, a.scores, q, k, v, &t->o, mode);
    if (u)
        u->f64 = t->compute == ATTN_F64;
    for (size_t b = 0; b < n->B; b++)
        for (size_t i = 0; i < n->Lq; i++) {
            for (size_t e = 0; e < n->E; e++) {
                real sum = 0, size = 0;
                for (size_t c = 0; c < width; c++) {
                    real x = mixed[((b * n->H + c / n->Dv) * n->Lq + i) * n->Dv + c % n->Dv] * wo[c * n->E + e];
                    sum = fit(sum + fit(x, mode), mode);
                    size += fabsl(x);
                }
                if (t->w.bo)
                    sum = fit(sum + (real)t->w.bo[e], mode), size += fabsl((real)t->w.bo[e]);
                a.out[(b * n->Lq + i) * n->E + e] = t->o.q_lens && i >= t->o.q_lens[b] ? 0 : sum;
                a.size = size > a.size ? size : a.size;
            }
            for (size_t j = 0; j < n->Lk; j++) {
                real sum = 0;
                for (size_t h = 0; h < n->H; h++)
                    sum = fit(sum + a.weights[((b * n->H + h) * n->Lq + i) * n->Lk + j], mode);
                a.mean[(b * n->Lq + i) * n->Lk + j] = fit(sum / (real)n->H, mode);
            }
        }
    return a;
}

/* What rounding the scores comes to is allowed, and twice that where there are few numbers: the naive way may be lucky. */
static void check_answers(const layer *t, const answers *want, const answers *naive)
{
    real few = (t->n.B * t->n.H * t->n.Lq * t->n.Lk < 2000 ? 2 : 1) * sdpa_least(1, t->compute);
    CHECK(sdpa_close(t->out, want->out, naive->out, t->compute, few * (want->size > 1 ? want->size : 1)));
    if (!test_absent_tensor(t->o.lse))
        CHECK(sdpa_close(t->o.lse, want->lse, naive->lse, t->compute, few));
    if (!test_absent_tensor(t->o.weights)) {
        int mean = t->o.weights.heads != t->n.H;
        CHECK(sdpa_close(t->o.weights, mean ? want->mean : want->weights, mean ? naive->mean : naive->weights,
                         t->compute, few));
    }
    if (!test_absent_tensor(t->o.scores))
        CHECK(sdpa_close(t->o.scores, want->scores, naive->scores, t->compute, few));
}

/* One layer on every instruction set against the model, and then in other contexts: the same bits. */
static void check_layer(const layer *first, size_t others)
{
    answers want, naive;
    test_size_of_sums = 0;
    want = answer(first, EXACT);
    naive = answer(first, first->compute == ATTN_F64 ? NAIVE64 : NAIVE32);
    FOR_EACH_ISA (isa) {
        layer t = with_fresh_outputs(first);
        size_t step = others < 8 || isa == test_without_pairs(isa) ? 1 : 5; /* little of it is of BF16 */
        run_at(&t, isa, 0, 1, 0);
        check_answers(&t, &want, &naive);
        for (size_t n = 0; n < others; n += step) {
            size_t which = others < 8 ? test_below(16) : n;
            layer again = with_fresh_outputs(&t);
            run_at(&again, isa, which / 8 != 0, widths[which % 4], which / 4 % 2 != 0);
            CHECK(same_outputs(&t, &again));
        }
    }
    if (first->o.score_mod_user)
        CHECK(!((observer *)first->o.score_mod_user)->strayed);
}

TEST(mha_grid)
{
    for (size_t n = 0; n < (test_quick ? 60 : 900); n++) {
        shape d = random_shape();
        layer t = make_layer(d, test_floats[n % 4], WITH_ALL);
        test_case("case %zu, %s, B %zu H %zu / %zu Lq %zu Lk %zu D %zu Dv %zu E %zu %zu %zu %zu", n,
                  test_dtype_name(test_floats[n % 4]), d.B, d.H, d.Hkv, d.Lq, d.Lk, d.D, d.Dv, d.Eq, d.Ek, d.Ev, d.E);
        check_layer(&t, 1);
        test_release();
    }
}

/* Several tiles, the widths of models: threads, scratch and instruction sets in every combination. */
TEST(mha_large)
{
    static const unsigned withs[] = {0, WITH_BIASES | WITH_OUTPUTS,
                                     WITH_RULES | WITH_BIASES | WITH_TYPES | WITH_LAYOUTS, WITH_ALL};
    for (size_t n = 0; n < (test_quick ? 2 : 8); n++) {
        shape d = large;
        layer t;
        if (n % 4 == 2)
            d.B = 1, d.H = d.Hkv, d.Lk = 600, d.Lq = 1 + n;
        t = make_layer(d, test_floats[n / 2 % 4], withs[test_quick ? 3 : n % 4]);
        test_case("case %zu, %s", n, test_dtype_name(test_floats[n / 2 % 4]));
        check_layer(&t, test_quick ? 3 : 16);
        test_release();
    }
}

/* ---- what must hold whatever the values are ---- */

static attn_mat identity(attn_dtype dtype, size_t n)
{
    attn_mat m = test_mat(dtype, n, n, TRANSPOSED);
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < n; c++)
            (attn_mat_set)(m, r, c, r == c);
    return m;
}

/* Around projections that change nothing it is attn_sdpa, to the last bit, but for pairs of BF16, which the layer, whose
   projections are floats, has not; NULL options are none. */
TEST(mha_of_identities)
{
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 12 : 60); n++) {
            attn_dtype dtype = test_floats[n % 4], compute = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
            size_t D = 1 + test_below(9), Hkv = 1 + test_below(3), H = Hkv * (1 + test_below(3)),
                   Lq = 1 + test_below(40), Lk = 1 + test_below(150);
            attn_tensor q = test_random_tensor(dtype, 2, 1, Lq, H * D, T_BHLD),
                        k = test_random_tensor(dtype, 2, 1, Lk, Hkv * D, T_BHLD),
                        v = test_random_tensor(dtype, 2, 1, Lk, Hkv * D, T_BHLD),
                        out = test_tensor(compute, 2, 1, Lq, H * D, T_BHLD),
                        want = test_tensor(compute, 2, 1, Lq, H * D, T_BHLD);
            attn_mha_weights w = {{0}, {0}, {0}, {0}, NULL, NULL, NULL, NULL, 0, 0};
            attn_opts o = {0};
            attn_ctx ctx = test_ctx(isa), without = test_ctx(test_without_pairs(isa));
            w.wq = w.wo = identity(compute, H * D);
            w.wk = w.wv = identity(compute, Hkv * D);
            w.heads = H, w.kv_heads = Hkv;
            o.causal = (attn_causal)test_below(3);
            test_case("%s, %s, H %zu / %zu, D %zu, Lq %zu, Lk %zu", attn_isa_string(isa), test_dtype_name(dtype), H,
                      Hkv, D, Lq, Lk);
            CHECK_STATUS(attn_sdpa(attn_blhd(want.data, compute, 2, Lq, H, D), attn_blhd(q.data, dtype, 2, Lq, H, D),
                                   attn_blhd(k.data, dtype, 2, Lk, Hkv, D), attn_blhd(v.data, dtype, 2, Lk, Hkv, D),
                                   o.causal ? &o : NULL, &without),
                         ATTN_OK);
            CHECK_STATUS(attn_mha(out, q, k, v, &w, o.causal ? &o : NULL, &ctx), ATTN_OK);
            for (size_t b = 0; b < 2; b++)
                for (size_t i = 0; i < Lq; i++)
                    for (size_t e = 0; e < H * D; e++) /* == : the sign of a zero is no matter */
                        if (!CHECK(test_tensor_get(out, b, 0, i, e) == test_tensor_get(want, b, 0, i, e)))
                            b = 2, i = Lq, e = H * D;
            test_release();
        }
}

/* An item has the bits that it has alone, and beside others that are NaN. */
TEST(mha_batch)
{
    for (size_t n = 0; n < (test_quick ? 8 : 60); n++)
        FOR_EACH_ISA (isa) {
            shape d = random_shape();
            layer all, one;
            observer *u;
            d.B = 3;
            if (n % 8 == 7)
                d = large;
            all = make_layer(d, test_floats[n / 2 % 4], WITH_ALL & ~(unsigned)WITH_BROADCAST);
            test_case("case %zu, %s", n, attn_isa_string(isa));
            run_at(&all, isa, 0, widths[n % 4], 0);
            for (size_t b = 0; b < d.B; b++) {
                layer part = layer_item(&all, b);
                one = with_fresh_outputs(&part);
                if ((u = all.o.score_mod_user) != NULL)
                    u->b0 = b;
                run_at(&one, isa, 0, widths[(n + b) % 4], 1);
                if (u)
                    u->b0 = 0;
                CHECK(same_outputs(&one, &part));
            }
            one = with_fresh_outputs(&all);
            test_fill_tensor(test_tensor_item(one.q, 1), NAN);
            test_fill_tensor(test_tensor_item(one.k, 1), NAN);
            test_fill_tensor(test_tensor_item(one.v, 1), NAN);
            run_at(&one, isa, 1, 3, 0);
            for (size_t b = 0; b < d.B; b += 2)
                CHECK(test_same_tensor_bits(test_tensor_item(one.out, b), test_tensor_item(all.out, b)));
            test_release();
        }
}

/* If batch_invariant, few queries have the bits that they have among many, and so have their projections, by transposed
   weights and with biases. */
TEST(mha_few_rows)
{
    static const size_t counts[] = {1, 2, 5, 8, 9, 16, 17, 25, 32};
    enum { LQ = 70, LK = 6, H = 3, D = 48, E = 261 };
    for (size_t n = 0; n < 6; n++)
        FOR_EACH_ISA (isa) {
            attn_dtype type = n % 3 == 0 ? ATTN_F32 : n % 3 == 1 ? test_wide : ATTN_BF16;
            size_t K = n < 3 ? 90 : 610;
            attn_tensor q = test_random_tensor(type, 1, 1, LQ, K, T_BHLD), all = test_tensor(type, 1, 1, LQ, E, T_BHLD);
            attn_tensor k = test_random_tensor(type, 1, 1, LK, K, T_BHLD);
            attn_mha_weights w = {0};
            attn_ctx ctx = test_ctx(isa);
            ctx.batch_invariant = test_invariant();
            w.wq = projection(type, K, H * D, TRANSPOSED), w.wk = projection(type, K, H * D, TRANSPOSED);
            w.wv = projection(type, K, H * D, TRANSPOSED), w.wo = projection(type, H * D, E, TRANSPOSED);
            w.bq = random_floats(H * D), w.bk = random_floats(H * D), w.bv = random_floats(H * D);
            w.bo = random_floats(E);
            w.heads = H;
            CHECK_STATUS(attn_mha(all, q, k, k, &w, NULL, &ctx), ATTN_OK);
            for (size_t c = 0; c < COUNT(counts); c++) {
                size_t first = test_below(LQ - counts[c] + 1);
                attn_tensor few = test_tensor(type, 1, 1, counts[c], E, T_BHLD);
                test_case("%s, %s, K %zu, %zu rows", attn_isa_string(isa), test_dtype_name(type), K, counts[c]);
                CHECK_STATUS(attn_mha(few, attn_tensor_slice(q, first, counts[c]), k, k, &w, NULL, &ctx), ATTN_OK);
                CHECK(test_same_tensor_bits(few, attn_tensor_slice(all, first, counts[c])));
            }
            test_release();
        }
}

/* Asking for more changes no bit of out; the mean of the weights is that; 16-bit ones are rounded once. */
TEST(mha_requests)
{
    for (size_t n = 0; n < (test_quick ? 8 : 80); n++)
        FOR_EACH_ISA (isa) {
            shape d = n % 8 == 7 ? large : random_shape();
            layer bare = make_layer(d, test_floats[n % 4], WITH_ALL & ~(unsigned)WITH_OUTPUTS), each = bare, mean = bare;
            attn_dtype wide = bare.compute;
            real tolerance = 4 * test_ulp(1, wide);
            test_case("case %zu, %s, %s", n, test_dtype_name(test_floats[n % 4]), attn_isa_string(isa));
            run_at(&bare, isa, 0, 1, 0);
            make_outputs(&each, bare.out.dtype, 1, 4 + 32 + (int)wide, 2);
            run_at(&each, isa, 0, 3, 1);
            CHECK(test_same_tensor_bits(bare.out, each.out));
            make_outputs(&mean, bare.out.dtype, 2, (int)wide, 1);
            run_at(&mean, isa, 1, 2, 0);
            CHECK(test_same_tensor_bits(bare.out, mean.out));
            for (size_t b = 0; b < d.B; b++)
                for (size_t i = 0; i < d.Lq; i++)
                    for (size_t j = 0; j < d.Lk; j++) {
                        real sum = 0;
                        for (size_t h = 0; h < d.H; h++)
                            sum += test_tensor_get(each.o.weights, b, h, i, j);
                        CHECK_NEAR(test_tensor_get(mean.o.weights, b, 0, i, j), sum / (real)d.H, tolerance);
                    }
            for (int narrow = 2; narrow < 4; narrow++)
                for (int which = 1; which < 3; which++) {
                    layer rounded = bare;
                    attn_tensor from = which == 1 ? each.o.weights : mean.o.weights;
                    make_outputs(&rounded, bare.out.dtype, which, narrow, 3);
                    run_at(&rounded, isa, 0, 1, 0);
                    CHECK(test_same_tensor_bits(bare.out, rounded.out));
                    for (size_t b = 0; b < d.B; b++)
                        for (size_t h = 0; h < from.heads; h++)
                            for (size_t i = 0; i < d.Lq; i++)
                                for (size_t j = 0; j < d.Lk; j++) {
                                    real x = test_tensor_get(from, b, h, i, j);
                                    real half = test_ulp(x, rounded.o.weights.dtype) / 2;
                                    CHECK_NEAR(test_tensor_get(rounded.o.weights, b, h, i, j), x,
                                               half + 4 * test_ulp(x, wide));
                                }
                }
            test_release();
        }
}

/* Padding said by lengths, by a mask, or by a shorter tensor; and what lies there does not matter. Where fewer rows
   exist, and may be few, the bits are the same if batch_invariant. */
TEST(mha_padding)
{
    for (size_t n = 0; n < (test_quick ? 10 : 100); n++)
        FOR_EACH_ISA (isa) {
            shape d = n % 8 == 7 ? large : random_shape();
            size_t *lens, *q_lens;
            layer padded, masked, cut, dirty;
            attn_ctx ctx = test_ctx(isa);
            d.B = n % 3 == 0 ? 1 : 2;
            lens = random_lengths(d.B, d.Lk);
            q_lens = random_lengths(d.B, d.Lq);
            padded = make_layer(d, test_floats[n % 4], WITH_BIASES | WITH_TYPES | WITH_LAYOUTS);
            padded.o.kv_lens = lens;
            masked = with_fresh_outputs(&padded);
            masked.o.kv_lens = NULL;
            masked.o.mask = lengths_mask(lens, d.B, d.Lk);
            test_case("case %zu, %s, %s", n, test_dtype_name(test_floats[n % 4]), attn_isa_string(isa));
            ctx.batch_invariant = test_invariant();
            run_as(&padded, ctx, 0, 1, 0);
            run_as(&masked, ctx, 0, 2, 0);
            CHECK(same_outputs(&padded, &masked));
            run_at(&padded, isa, 0, 1, 0);
            if (d.B == 1) {
                cut = with_fresh_outputs(&padded);
                cut.o.kv_lens = NULL;
                cut.k = attn_tensor_slice(cut.k, 0, lens[0]), cut.v = attn_tensor_slice(cut.v, 0, lens[0]);
                run_at(&cut, isa, 0, 1, 1);
                CHECK(same_outputs(&padded, &cut));
            }
            dirty = with_fresh_outputs(&padded);
            dirty.o.q_lens = q_lens;
            for (size_t b = 0; b < d.B; b++) {
                for (size_t j = lens[b]; j < d.Lk; j++)
                    for (size_t e = 0; e < d.Ek || e < d.Ev; e++) {
                        if (e < d.Ek)
                            test_tensor_set(dirty.k, b, 0, j, e, e % 2 ? HUGE_VAL : NAN);
                        if (e < d.Ev)
                            test_tensor_set(dirty.v, b, 0, j, e, NAN);
                    }
                for (size_t i = q_lens[b]; i < d.Lq; i++)
                    for (size_t e = 0; e < d.Eq; e++)
                        test_tensor_set(dirty.q, b, 0, i, e, NAN);
            }
            run_as(&padded, ctx, 0, 1, 0);
            run_as(&dirty, ctx, 0, 3, 1);
            for (size_t b = 0; b < d.B; b++)
                for (size_t i = 0; i < d.Lq; i++)
                    if (i < q_lens[b])
                        for (size_t e = 0; e < d.E; e++)
                            CHECK(test_tensor_get(dirty.out, b, 0, i, e) == test_tensor_get(padded.out, b, 0, i, e));
                    else
                        CHECK(zero_row(dirty.out, b, 0, i));
            test_release();
        }
}

/* Rows without a key are bo, rows past q_lens are zeros in out and in both kinds of weights. */
TEST(mha_empty_rows)
{
    for (int n = 0; n < 8; n++)
        FOR_EACH_ISA (isa) {
            shape d = {2, 4, 2, 5, 6, 3, 2, 7, 8, 9, 10};
            layer t = make_layer(d, test_floats[n % 4], n < 4 ? WITH_LAYOUTS : 0);
            float *bo = random_floats(d.E);
            size_t *q_lens = test_block(2 * sizeof *q_lens), *kv_lens = test_block(2 * sizeof *kv_lens);
            q_lens[0] = 3, q_lens[1] = 5, kv_lens[0] = 6, kv_lens[1] = 0;
            t.w.bv = random_floats(d.Hkv * d.Dv);
            t.w.bo = bo;
            t.o.q_lens = q_lens, t.o.kv_lens = kv_lens;
            make_outputs(&t, t.out.dtype, 1 + n / 4, 4, n);
            test_case("%s, %s, weights %d", test_dtype_name(test_floats[n % 4]), attn_isa_string(isa), 1 + n / 4);
            run_at(&t, isa, 0, 2, n % 2);
            for (size_t b = 0; b < 2; b++)
                for (size_t i = 0; i < d.Lq; i++)
                    for (size_t h = 0; h < t.o.weights.heads; h++) {
                        int past = i >= q_lens[b];
                        CHECK(zero_row(t.o.weights, b, h, i) == (past || b == 1));
                        CHECK(sdpa_finite(test_tensor_get(t.o.lse, b, h, i, 0)) == !(past || b == 1));
                        CHECK(zero_row(t.out, b, 0, i) == past);
                        for (size_t e = 0; e < d.E && b == 1; e++)
                            CHECK_NEAR(test_tensor_get(t.out, b, 0, i, e), (real)bo[e],
                                       t.out.dtype == ATTN_F32 || t.out.dtype == ATTN_F64
                                           ? 0
                                           : test_ulp((real)bo[e], t.out.dtype) / 2);
                    }
            test_release();
        }
}

/* ---- what is never read ---- */

TEST(mha_fences)
{
    static const size_t keys[][2] = {{5, 0}, {4, 4}, {7, 3}, {9, 8}, {31, 17}, {130, 129}, {140, 128}, {260, 99}};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 16 : 120); n++) {
            size_t *valid = test_block(2 * sizeof *valid);
            attn_dtype dtype = test_floats[n % 4];
            shape d = random_shape();
            call_state c = {0};
            test_runner r;
            int backwards = test_maybe();
            d.B = 1;
            d.Lk = keys[n % COUNT(keys)][0], valid[0] = keys[n % COUNT(keys)][1];
            valid[1] = d.Lq;
            c.ctx.isa = isa;
            c.t = make_layer(d, dtype, WITH_BIASES | WITH_LAYOUTS);
            make_outputs(&c.t, c.t.out.dtype, n % 3 == 0 ? 1 : 2 * (n % 3 == 1), test_maybe() ? 4 : 0, 0);
            c.t.k = test_fenced_rows(dtype, 1, d.Lk, d.Ek, valid[0], 1, backwards);
            c.t.v = test_fenced_rows(dtype, 1, d.Lk, d.Ev, valid[0], 1, backwards);
            c.t.q = test_fenced_rows(dtype, 1, d.Lq, d.Eq, d.Lq, 1, test_maybe());
            c.t.o.kv_lens = valid;
            c.t.o.q_lens = test_maybe() ? valid + 1 : NULL;
            c.ctx.parallel = test_serial_backwards(&r, 1 + n % 3);
            test_case("%s, %s, %zu of %zu keys%s, E %zu %zu %zu", attn_isa_string(isa), test_dtype_name(dtype),
                      valid[0], d.Lk, backwards ? " backwards" : "", d.Eq, d.Ek, d.Ev);
            check_fences(&mha, &c);
            test_release();
        }
}

/* ---- memory ---- */

TEST(mha_memory)
{
    for (size_t n = 0; n < (test_quick ? 4 : 16); n++)
        FOR_EACH_ISA (isa) {
            shape d = n % 4 ? large : random_shape();
            call_state c = {0};
            layer *t = &c.t;
            test_runner r;
            size_t bytes;
            attn_status status;
            long live = test_memory_state.live;
            d.Lq += !d.Lq;
            d.Lk += !d.Lk;
            *t = make_layer(d, test_floats[n % 4], WITH_ALL & ~(unsigned)WITH_RULES);
            c.ctx.isa = isa;
            c.ctx.parallel = test_serial_backwards(&r, widths[n / 4]);
            bytes = needed_by(&mha, &c);
            test_case("%s, %s, width %zu, %zu bytes", test_dtype_name(test_floats[n % 4]), attn_isa_string(isa),
                      widths[n / 4], bytes);
            CHECK(bytes >= test_size(t->compute) * (d.H * d.Lq * d.D + d.Hkv * d.Lk * (d.D + d.Dv)));
            test_fill_tensor(t->q, 0); /* contents do not matter */
            c.ctx.scratch = test_block(bytes);
            c.ctx.scratch_size = bytes - 1;
            CHECK(needed_by(&mha, &c) == bytes);
            test_freeze();
            CHECK_STATUS(make(&mha, CALL, &c, NULL), ATTN_ERR_NOMEM);
            CHECK(test_wrote_nothing() && r.calls == 0);
            c.ctx.scratch = NULL, c.ctx.scratch_size = 0;
            for (int nth = 1; nth < 3; nth++) {
                test_memory_state.fail_at = nth % 2;
                c.no_memory = nth == 2;
                test_freeze();
                status = make(&mha, CALL, &c, NULL);
                test_memory_state.fail_at = 0;
                CHECK(status == ATTN_ERR_NOMEM || (status == ATTN_OK && bytes <= 16384));
                CHECK(status == ATTN_OK || test_wrote_nothing());
                CHECK(test_memory_state.live == live);
            }
            test_release();
        }
}

/* It grows with the lengths as the projections do; as the scores only where their mean is wanted. */
TEST(mha_scratch_grows)
{
    enum { LONG = 8000, E = 8 };
    float x = 0;
    for (int n = 0; n < 6; n++) {
        attn_tensor rows = {NULL, ATTN_F32, 1, 1, LONG, E, 0, 0, 0, 0},
                    out = {NULL, ATTN_F32, 1, 1, LONG, E, 0, 0, E, 1};
        attn_mha_weights w = {{0}, {0}, {0}, {0}, NULL, NULL, NULL, NULL, 2, 0};
        attn_opts o = {0};
        test_runner r;
        attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
        attn_dry_run dry = {0}, half = {0};
        size_t kept;
        float *memory = malloc(sizeof(float) * LONG * E); /* never touched */
        attn_mat square = {NULL, ATTN_F32, E, E, 0, 0};
        if (!CHECK(memory != NULL))
            return;
        rows.data = square.data = &x;
        out.data = memory;
        w.wq = w.wk = w.wv = w.wo = square;
        if (n % 3 == 1) /* a view that no one writes to, for the question needs addresses alone */
            o.weights = attn_tensor_of((void *)((uintptr_t)memory + sizeof(float) * LONG * E), ATTN_F32, 1, 1, LONG,
                                       LONG, 0, 0, LONG, 1);
        ctx.parallel = test_serial_backwards(&r, n < 3 ? 1 : 7);
        kept = sizeof(float) * LONG * (size_t)(n % 3 == 1 ? 4 * E + 2 * LONG : 4 * E);
        CHECK_STATUS(attn_mha(out, rows, rows, rows, &w, &o, test_dry(&ctx, &dry)), ATTN_OK);
        test_case("%zu bytes, projections of %zu", dry.scratch, kept);
        CHECK(dry.scratch >= kept * 3 / 4 && dry.scratch < kept * 3 / 2 + ctx.parallel.width * ((size_t)1 << 20));
        rows.len = out.len = LONG / 2;
        if (n % 3 == 1)
            o.weights.len = o.weights.dim = LONG / 2;
        CHECK_STATUS(attn_mha(out, rows, rows, rows, &w, &o, test_dry(&ctx, &half)), ATTN_OK);
        dry.scratch -= half.scratch;
        CHECK(dry.scratch > kept / 4 && dry.scratch < (n % 3 == 1 ? 4 : 1) * kept);
        free(memory);
    }
}

/* ---- statuses ---- */

/* The views first, with what they are to the call; and what they are called in explanations. */
/* clang-format off */
#define ARG_LIST(X)                                                                                                    \
    X(OUT, "out", SPOIL_REQUIRED | SPOIL_OUTPUT) X(Q, "q", SPOIL_REQUIRED) X(K, "k", SPOIL_REQUIRED)                   \
    X(V, "v", SPOIL_REQUIRED) X(WQ, "weights.wq", SPOIL_REQUIRED) X(WK, "weights.wk", SPOIL_REQUIRED)                  \
    X(WV, "weights.wv", SPOIL_REQUIRED) X(WO, "weights.wo", SPOIL_REQUIRED) X(MASK, "opts.mask", 0)                    \
    X(BIAS, "opts.bias", 0) X(LSE, "opts.lse", SPOIL_OUTPUT) X(WEIGHTS, "opts.weights", SPOIL_OUTPUT)                  \
    X(SCORES, "opts.scores", SPOIL_OUTPUT)                                                                             \
    X(A_WEIGHTS, "weights", 0) X(A_HEADS, "weights", 0) X(A_BQ, "weights.bq", 0) X(A_BK, "weights.bk", 0)              \
    X(A_BV, "weights.bv", 0) X(A_BO, "weights.bo", 0) X(A_CAUSAL, "opts", 0) X(A_WINDOW, "opts.window", 0)             \
    X(A_QLENS, "opts.q_lens", 0) X(A_KVLENS, "opts.kv_lens", 0) X(A_SCALE, "opts.scale", 0)                            \
    X(A_CAP, "opts.softcap", 0) X(A_STAGE, "opts.scores_stage", 0) X(A_SLOPES, "opts.alibi_slopes", 0)                 \
    X(A_SINKS, "opts.sinks", 0) X(A_SCRATCH, "ctx.scratch", 0) X(A_ISA, "ctx.isa", 0)
/* clang-format on */

enum arg { ARG_LIST(ARG_NUMBER) ARGS, VIEWS = A_WEIGHTS };
static const char *const arg_names[] = {ARG_LIST(ARG_NAME)};
static const int roles[] = {ARG_LIST(ARG_ROLE)};

#define FAULT_LIST(X)                                                                                                  \
    X(NO_WEIGHTS, A_WEIGHTS, NULL, c->no_weights = 1)                                                                  \
    X(OFFSET_MISSING, A_CAUSAL, NULL, c->t.o.causal = ATTN_CAUSAL_OFFSET, c->t.o.causal_offset = NULL)                 \
    X(SCRATCH_MISSING, A_SCRATCH, NULL, c->ctx.scratch_size = 100)                                                     \
    X(HEADS_NONE, A_HEADS, SHAPE, c->t.w.heads = 0)                                                                    \
    X(HEADS_FEW, A_HEADS, SHAPE, c->t.w.heads = 2)                                                                     \
    X(HEADS_MANY, A_HEADS, SHAPE, c->t.w.heads = 5)                                                                    \
    X(HEADS_MOST, A_HEADS, SHAPE, c->t.w.heads = SIZE_MAX)                                                             \
    X(GROUPS_ALL, A_HEADS, SHAPE, c->t.w.kv_heads = 0)                                                                 \
    X(GROUPS_ODD, A_HEADS, SHAPE, c->t.w.kv_heads = 3)                                                                 \
    X(GROUPS_ONE, A_HEADS, SHAPE, c->t.w.kv_heads = 1)                                                                 \
    X(GROUPS_MOST, A_HEADS, SHAPE, c->t.w.kv_heads = SIZE_MAX)                                                         \
    X(CAUSAL_UNKNOWN, A_CAUSAL, VALUE, c->t.o.causal = (attn_causal)77)                                                \
    X(WINDOW_LEFT, A_WINDOW, VALUE, c->t.o.window.on = 1, c->t.o.window.left = -2)                                     \
    X(WINDOW_RIGHT, A_WINDOW, VALUE, c->t.o.window.on = 1, c->t.o.window.right = PTRDIFF_MIN)                          \
    X(QLENS_LONG, A_QLENS, VALUE, c->t.o.q_lens = too_long)                                                            \
    X(KVLENS_LONG, A_KVLENS, VALUE, c->t.o.kv_lens = too_long)                                                         \
    X(SCALE_NAN, A_SCALE, VALUE, c->t.o.scale = NAN)                                                                   \
    X(SCALE_NO_FLOAT, A_SCALE, VALUE, c->t.o.scale = 1e300)                                                            \
    X(CAP_NEGATIVE, A_CAP, VALUE, c->t.o.softcap = -1)                                                                 \
    X(CAP_INF, A_CAP, VALUE, c->t.o.softcap = HUGE_VAL)                                                                \
    X(STAGE_UNKNOWN, A_STAGE, VALUE, c->t.o.scores_stage = (attn_stage)3)                                              \
    X(ISA_LACKING, A_ISA, VALUE, c->ctx.isa = TEST_ISA_LACKING)                                                        \
    X(ISA_UNKNOWN, A_ISA, VALUE, c->ctx.isa = (attn_isa)77)                                                            \
    X(OUT_ON_Q, OUT, ALIAS, *names |= set_of(Q), c->t.out.data = askew(data_of(good, Q), 4))                           \
    X(OUT_ON_K, OUT, ALIAS, *names |= set_of(K), c->t.out.data = askew(data_of(good, K), 4))                           \
    X(OUT_ON_V, OUT, ALIAS, *names |= set_of(V), c->t.out.data = askew(data_of(good, V), 4))                           \
    X(OUT_ON_WQ, OUT, ALIAS, *names |= set_of(WQ), c->t.out.data = askew(data_of(good, WQ), 4))                        \
    X(OUT_ON_WK, OUT, ALIAS, *names |= set_of(WK), c->t.out.data = askew(data_of(good, WK), 4))                        \
    X(OUT_ON_WV, OUT, ALIAS, *names |= set_of(WV), c->t.out.data = askew(data_of(good, WV), 4))                        \
    X(OUT_ON_WO, OUT, ALIAS, *names |= set_of(WO), c->t.out.data = askew(data_of(good, WO), 4))                        \
    X(OUT_ON_MASK, OUT, ALIAS, *names |= set_of(MASK), c->t.out.data = askew(data_of(good, MASK), 4))                  \
    X(OUT_ON_BIAS, OUT, ALIAS, *names |= set_of(BIAS), c->t.out.data = askew(data_of(good, BIAS), 4))                  \
    X(OUT_ON_LSE, OUT, ALIAS, *names |= set_of(LSE), c->t.out.data = askew(data_of(good, LSE), 4))                     \
    X(OUT_ON_WEIGHTS, OUT, ALIAS, *names |= set_of(WEIGHTS), c->t.out.data = askew(data_of(good, WEIGHTS), 4))         \
    X(OUT_ON_SCORES, OUT, ALIAS, *names |= set_of(SCORES), c->t.out.data = askew(data_of(good, SCORES), 4))            \
    X(BQ_ON_OUT, A_BQ, ALIAS, c->t.w.bq = good->t.out.data)                                                            \
    X(BK_ON_OUT, A_BK, ALIAS, c->t.w.bk = good->t.out.data)                                                            \
    X(BV_ON_OUT, A_BV, ALIAS, c->t.w.bv = good->t.out.data)                                                            \
    X(BO_ON_OUT, A_BO, ALIAS, c->t.w.bo = good->t.out.data)                                                            \
    X(BO_ON_LSE, A_BO, ALIAS, c->t.w.bo = good->t.o.lse.data)                                                          \
    X(SLOPES_ON_OUT, A_SLOPES, ALIAS, c->t.o.alibi_slopes = good->t.out.data)                                          \
    X(SINKS_ON_OUT, A_SINKS, ALIAS, c->t.o.sinks = good->t.out.data)                                                   \
    X(LSE_ON_WO, LSE, ALIAS, c->t.o.lse.data = good->t.w.wo.data)                                                      \
    X(WEIGHTS_ON_Q, WEIGHTS, ALIAS, c->t.o.weights.data = good->t.q.data)                                              \
    X(SCORES_ON_WEIGHTS, SCORES, ALIAS, c->t.o.scores.data = (char *)good->t.o.weights.data + 4)                       \
    X(SCRATCH_ON_OUT, A_SCRATCH, ALIAS, c->ctx.scratch = good->t.out.data, c->ctx.scratch_size = 1)                    \
    X(SCRATCH_ON_Q, A_SCRATCH, ALIAS, c->ctx.scratch = good->t.q.data, c->ctx.scratch_size = 1)                        \
    X(SCRATCH_ON_WO, A_SCRATCH, ALIAS, c->ctx.scratch = good->t.w.wo.data, c->ctx.scratch_size = 1)                    \
    X(SCRATCH_SHORT, A_SCRATCH, NOMEM, c->ctx.scratch = some_scratch, c->ctx.scratch_size = 16)                        \
    X(NO_MEMORY, A_SCRATCH, NOMEM, c->no_memory = 1)

enum { FAULT_LIST(FAULT_NUMBER) OTHER_FAULTS, VIEW_FAULTS = (int)VIEWS * SPOILS, FAULTS = VIEW_FAULTS + OTHER_FAULTS };
static const fault_row other_faults[] = {FAULT_LIST(FAULT_ENTRY)};

static attn_tensor *tensor_of(call_state *c, int view)
{
    attn_tensor *all[] = {&c->t.out,    &c->t.q,      &c->t.k,     &c->t.v,         NULL,          NULL, NULL, NULL,
                          &c->t.o.mask, &c->t.o.bias, &c->t.o.lse, &c->t.o.weights, &c->t.o.scores};
    return all[view];
}

static attn_mat *mat_of(call_state *c, int view)
{
    attn_mat *all[] = {&c->t.w.wq, &c->t.w.wk, &c->t.w.wv, &c->t.w.wo};
    return all[view - WQ];
}

static void *data_of(const call_state *c, int view)
{
    call_state copy = *c;
    return view >= WQ && view <= WO ? mat_of(&copy, view)->data : tensor_of(&copy, view)->data;
}

static int arg_of(int fault)
{
    return fault < VIEW_FAULTS ? fault / SPOILS : (int)other_faults[fault - VIEW_FAULTS].args;
}

static const char *name_of(int fault)
{
    return fault < VIEW_FAULTS ? spoil_names[fault % SPOILS] : other_faults[fault - VIEW_FAULTS].name;
}

static const size_t too_long[] = {0, 1000};
static char some_scratch[16];

static attn_status inflict(void *call, const void *right, int fault, uint64_t *names)
{
    call_state *c = call;
    const call_state *good = right;
    int view = fault / SPOILS, kind = fault % SPOILS;
    *names = set_of(arg_of(fault));
    if (fault < VIEW_FAULTS) {
        if (kind >= SPOIL_BATCH && kind <= SPOIL_NO_DIM)
            *names = 0; /* other views fit it no longer */
        if (view == MASK && kind == SPOIL_BOOL)
            return ATTN_OK;
        return view >= WQ && view <= WO ? test_spoil_mat(mat_of(c, view), roles[view], kind)
                                        : test_spoil(tensor_of(c, view), roles[view], kind);
    }
    switch (fault - VIEW_FAULTS) {
        FAULT_LIST(FAULT_CASE)
    }
    return ATTN_OK;
}

/* Two faults in dimensions may fit one another, and one may hide what the other has broken. */
static int may_undo(int f, int g)
{
    int a = arg_of(f) < arg_of(g) ? arg_of(f) : arg_of(g), b = arg_of(f) < arg_of(g) ? arg_of(g) : arg_of(f);
    return a == b || (a == OUT && b == WO) || (a == Q && b == WQ) || (a == K && b == WK) || (a == V && b == WV) ||
           (a == WQ && b == WK) || (a == WV && b == WO) || (a == A_HEADS && b == A_HEADS);
}

static const subject mha = {"attn_mha", arg_names, ARGS,   FAULTS,  -1,      sizeof(call_state),
                            ask,        inflict,   arg_of, name_of, may_undo};

static call_state good_call(void)
{
    layer t = make_layer(usual_layer, ATTN_F32, 0);
    make_outputs(&t, ATTN_F32, 1, 4 + 32, 0);
    give_everything(&t);
    return call_of(&t, ATTN_ISA_BEST);
}

TEST(mha_status)
{
    call_state good = good_call();
    attn_tensor outs[OUTPUTS];
    outputs_of(&good.t, outs);
    test_freeze();
    check_alone(&mha, &good, "");
    check_pairs(&mha, &good, test_quick ? 20 : 1, "");
    check_right(&mha, &good, outs, OUTPUTS, "");
}

/* F64 throughout or nowhere; any other mixture is fine (the grid). */
TEST(mha_status_types)
{
    for (int all = 0; all < (test_wide == ATTN_F64 ? 2 : 1); all++)
        for (int view = OUT; view <= WO; view++) {
            shape d = {1, 2, 2, 2, 3, 2, 2, 4, 4, 4, 4};
            call_state c = {0};
            attn_dtype other = all ? ATTN_F32 : ATTN_F64;
            c.t = make_layer(d, all ? ATTN_F64 : ATTN_F32, 0);
            if (view >= WQ)
                *mat_of(&c, view) = test_random_mat(other, mat_of(&c, view)->rows, mat_of(&c, view)->cols, PACKED);
            else
                *tensor_of(&c, view) = test_random_tensor(other, 1, 1, tensor_of(&c, view)->len, 4, T_BHLD);
            test_case("%s, but view %d", all ? "f64" : "f32", view);
            check_refused(&mha, &c, ATTN_ERR_DTYPE);
            test_release();
        }
}

/* Numbers of heads: what divides, and what fits the other matrices. */
TEST(mha_status_heads)
{
    shape d = {1, 4, 4, 2, 3, 3, 3, 12, 12, 12, 12};
    layer t = make_layer(d, ATTN_F32, 0);
    attn_tensor more;
    attn_dry_run dry = {0};
    test_freeze();
    for (size_t heads = 0; heads < 30; heads++)
        for (size_t kv_heads = 0; kv_heads < 30; kv_heads++) {
            int fits = heads > 0 && 12 % heads == 0 && (kv_heads == 0 || kv_heads == heads); /* D is 12 / either */
            t.w.heads = heads, t.w.kv_heads = kv_heads;
            test_case("%zu and %zu heads of 12 columns", heads, kv_heads);
            CHECK_STATUS(run(&t, test_dry(NULL, &dry)), fits ? ATTN_OK : ATTN_ERR_SHAPE);
            if (!fits)
                CHECK_STATUS(run(&t, NULL), ATTN_ERR_SHAPE);
        }
    CHECK(test_wrote_nothing());
    test_case("the number of heads in a tensor is 1");
    t.w.heads = 4, t.w.kv_heads = 0;
    more = t.q, more.heads = 2, more.dim = 6;
    CHECK_STATUS(attn_mha(t.out, more, t.k, t.v, &t.w, NULL, NULL), ATTN_ERR_SHAPE);
    more = t.out, more.heads = 0;
    CHECK_STATUS(attn_mha(more, t.q, t.k, t.v, &t.w, NULL, NULL), ATTN_ERR_SHAPE);
    test_case("weights for each head, or for all");
    for (size_t heads = 0; heads < 6; heads++) {
        t.o.weights = test_tensor(ATTN_F32, 1, heads, 2, 3, T_BHLD);
        CHECK_STATUS(run(&t, NULL), heads == 1 || heads == 4 ? ATTN_OK : ATTN_ERR_SHAPE);
    }
    test_case("their mean has as many rows and columns");
    for (size_t c = 0; c < 27; c++) {
        t.o.weights = test_tensor(ATTN_F32, c % 3, 1, 1 + c / 3 % 3, 2 + c / 9, T_BHLD);
        CHECK_STATUS(run(&t, NULL), c % 3 == 1 && c / 3 % 3 == 1 && c / 9 == 1 ? ATTN_OK : ATTN_ERR_SHAPE);
    }
    test_case("lse and scores only for each");
    memset(&t.o, 0, sizeof t.o);
    t.o.lse = test_tensor(ATTN_F32, 1, 1, 2, 1, T_BHLD);
    CHECK_STATUS(run(&t, NULL), ATTN_ERR_SHAPE);
    memset(&t.o, 0, sizeof t.o);
    t.o.scores = test_tensor(ATTN_F32, 1, 1, 2, 3, T_BHLD);
    CHECK_STATUS(run(&t, NULL), ATTN_ERR_SHAPE);
}

/* The arrays reach as far as the heads do, not further. Run dry: nothing is read or written there. */
TEST(mha_status_overlap)
{
    shape d = {2, 4, 2, 3, 5, 3, 5, 6, 7, 8, 9};
    layer t = make_layer(d, ATTN_F32, 0);
    float *arrays = test_block(600 * sizeof *arrays);
    static const size_t counts[] = {12, 6, 10, 9, 4, 4};
    attn_dry_run dry = {0};
    for (int n = 0; n < 600; n++)
        arrays[n] = 0;
    for (int which = 0; which < 6; which++)
        for (size_t start = 0; start < 2; start++) { /* out begins at the array's last element, or past it */
            layer s = t;
            const float **array[] = {&s.w.bq, &s.w.bk, &s.w.bv, &s.w.bo, &s.o.alibi_slopes, &s.o.sinks};
            *array[which] = arrays + 100;
            s.out = attn_bhld(arrays + 100 + counts[which] - 1 + start, ATTN_F32, 2, 1, 3, 9);
            test_case("array %d, out at %zu", which, counts[which] - 1 + start);
            CHECK_STATUS(run(&s, test_dry(NULL, &dry)), start ? ATTN_OK : ATTN_ERR_ALIAS);
            *array[which] = arrays + 100 + 54 - 1 + start;
            s.out.data = arrays + 100;
            CHECK_STATUS(run(&s, test_dry(NULL, &dry)), start ? ATTN_OK : ATTN_ERR_ALIAS);
        }
    test_case("out on the lengths"); /* zeros: right in themselves */
    {
        layer s = t;
        size_t *lens = test_block(100 * sizeof *lens);
        memset(lens, 0, 100 * sizeof *lens);
        s.o.q_lens = lens + 1;
        for (size_t start = 0; start < 2; start++) {
            s.out = attn_bhld(lens + 2 + start, ATTN_F32, 2, 1, 3, 9);
            CHECK_STATUS(run(&s, test_dry(NULL, &dry)), start ? ATTN_OK : ATTN_ERR_ALIAS);
        }
    }
    test_case("inputs may be one"); /* self-attention, and one matrix for all */
    {
        shape e = {2, 2, 2, 5, 5, 4, 4, 8, 8, 8, 8};
        layer s = make_layer(e, ATTN_F32, 0), u;
        u = with_fresh_outputs(&s);
        s.k = s.v = s.q;
        s.w.wk = s.w.wv = s.w.wo = s.w.wq;
        u = with_fresh_outputs(&s);
        u.k = test_tensor_like(s.q, T_BHLD), u.v = test_tensor_like(s.q, T_FLIPPED);
        CHECK_STATUS(run(&s, NULL), ATTN_OK);
        CHECK_STATUS(run(&u, NULL), ATTN_OK);
        CHECK(same_outputs(&s, &u));
        s.out = s.q;
        CHECK_STATUS(run(&s, NULL), ATTN_ERR_ALIAS);
    }
}

TEST(mha_status_empty_shapes)
{
    for (size_t n = 0; n < COUNT(empty_layers) * 4; n++) {
        shape d = empty_layers[n / 4];
        layer t = make_layer(d, test_floats[n % 4], WITH_BIASES | WITH_OUTPUTS | WITH_NUMBERS), bad;
        test_case("shape %zu, %s", n / 4, test_dtype_name(test_floats[n % 4]));
        check_layer(&t, 2);
        test_freeze();
        test_case("shape %zu, %s, with a fault", n / 4, test_dtype_name(test_floats[n % 4]));
        bad = t, bad.w.wo.dtype = ATTN_BOOL;
        CHECK_STATUS(run(&bad, NULL), ATTN_ERR_DTYPE);
        bad = t, bad.q.heads = 2;
        CHECK_STATUS(run(&bad, NULL), ATTN_ERR_SHAPE);
        bad = t, bad.o.scale = NAN;
        CHECK_STATUS(run(&bad, NULL), ATTN_ERR_VALUE);
        bad = t, bad.w.wk = attn_mat_rows(bad.w.wk, bad.w.wk.rows, 1);
        CHECK_STATUS(run(&bad, NULL), ATTN_ERR_NULL);
        CHECK(test_wrote_nothing());
        test_release();
    }
    {
        shape d = {2, 4, 2, 3, 5, 0, 6, 7, 8, 9, 10};
        layer t = make_layer(d, ATTN_F32, 0);
        test_case("heads without elements");
        CHECK_STATUS(run(&t, NULL), ATTN_ERR_SHAPE);
    }
}

TEST(mha_status_huge_shapes)
{
    const size_t wide = (size_t)1 << (sizeof(size_t) * 5), most = PTRDIFF_MAX; /* the square of wide overflows */
    float x = 1;
    for (int n = 0; n < 9; n++) {
        static const char *const names[] = {"H and Lq", "Lk and D",   "Lk and Dv", "Lk", "Lq",
                                            "SIZE_MAX", "Hkv and Lk", "B",         "H D"};
        size_t H = n == 0 || n == 6 || n == 8 ? wide : 1, Hkv = n == 6 || n == 8 ? wide : 1;
        size_t Lq = n == 0 ? wide : n == 4 ? most : 1, Lk = n == 1 || n == 2 || n == 6 ? wide : n == 3 ? most : 1;
        size_t D = n == 1 ? wide : 1, Dv = n == 2 ? wide : 1, B = n == 7 ? SIZE_MAX / 2 + 1 : 1;
        attn_dry_run dry = {77, NULL, 0};
        attn_tensor q = {NULL, ATTN_F32, B, 1, Lq, 1, 0, 0, 0, 0}, k = {NULL, ATTN_F32, B, 1, Lk, 1, 0, 0, 0, 0}, out;
        attn_mat one = {NULL, ATTN_F32, 1, 1, 0, 0};
        attn_mha_weights w = {{0}, {0}, {0}, {0}, NULL, NULL, NULL, NULL, H, Hkv};
        q.data = k.data = one.data = &x;
        if (n == 5)
            q.len = SIZE_MAX;
        out = q;
        out.data = &(float){0};
        w.wq = w.wk = w.wv = w.wo = one;
        w.wq.cols = H * D, w.wk.cols = Hkv * D, w.wv.cols = Hkv * Dv, w.wo.rows = H * Dv;
        if (n == 8) { /* the matrices' own */
            w.wq.cols = w.wk.cols = wide << (sizeof(size_t) * 3 - 1);
            w.heads = w.kv_heads = 1;
            w.wv.cols = 1, w.wo.rows = 1;
        }
        test_case("%s", names[n]);
        CHECK_STATUS(attn_mha(out, q, k, k, &w, NULL, NULL), ATTN_ERR_OVERFLOW);
        CHECK_STATUS(attn_mha(out, q, k, k, &w, NULL, test_dry(NULL, &dry)), ATTN_ERR_OVERFLOW);
        CHECK(dry.scratch == 77);
    }
}

TEST(mha_errno)
{
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 2; n++) {
            call_state c = {0};
            c.t = make_layer(large, test_floats[n], WITH_BIASES | WITH_OUTPUTS);
            c.ctx.isa = isa;
            c.t.o.softcap = 1e4;
            c.t.o.scale = -300;
            check_errno(&mha, &c);
            test_release();
        }
}

/* Items without elements are not gone through one by one; and lengths that say "all" change no bit. */
TEST(mha_empty_items)
{
    attn_mat one = test_random_mat(ATTN_F32, 1, 1, PACKED);
    attn_mha_weights w = {0};
    attn_tensor many = attn_tensor_of(NULL, ATTN_F32, SIZE_MAX / 16, 1, 0, 1, 1, 1, 1, 1);
    layer t = make_layer(large, ATTN_F32, WITH_BIASES);
    size_t *q_lens = test_block(t.n.B * sizeof *q_lens), *kv_lens = test_block(t.n.B * sizeof *kv_lens);
    attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
    attn_tensor plain;
    w.wq = w.wk = w.wv = w.wo = one;
    w.heads = 1;
    CHECK_STATUS(attn_mha(many, many, many, many, &w, NULL, NULL), ATTN_OK);
    CHECK_STATUS(run(&t, &ctx), ATTN_OK);
    plain = test_tensor_like(t.out, T_BHLD);
    for (size_t b = 0; b < t.n.B; b++)
        q_lens[b] = t.n.Lq, kv_lens[b] = t.n.Lk;
    t.o.q_lens = q_lens, t.o.kv_lens = kv_lens;
    CHECK_STATUS(run(&t, &ctx), ATTN_OK);
    CHECK(test_same_tensor_bits(plain, t.out));
}

/* The argument at fault by its name; and the scratch of the layer, not of the engine in it. */
TEST(mha_explain)
{
    layer t = make_layer(large, ATTN_F32, WITH_BIASES);
    call_state c = call_of(&t, ATTN_ISA_BEST);
    const attn_mha_weights w = t.w;
    char text[TEXT], bytes[32];
    snprintf(bytes, sizeof bytes, "scratch: %zu bytes", needed_by(&mha, &c));
    CHECK_STATUS(make(&mha, DRY, &c, text), ATTN_OK);
    CHECK(test_small ? test_is_brief(text) : strstr(text, bytes) != NULL);
    c.t.w.wk.rows++;
    CHECK_STATUS(make(&mha, DRY, &c, text), ATTN_ERR_SHAPE);
    CHECK(strncmp(text, "weights.wk: ", 12) == 0);
    c.t.w = w;
    c.t.w.heads = 0;
    CHECK_STATUS(make(&mha, DRY, &c, text), ATTN_ERR_SHAPE);
    CHECK(strncmp(text, "weights.heads: ", 15) == 0);
    c.t.w = w;
    c.t.w.bv = (const float *)(const void *)((const char *)t.w.bv + 1); /* never read */
    CHECK_STATUS(make(&mha, DRY, &c, text), ATTN_ERR_VALUE);
    CHECK(strncmp(text, "weights.bv: ", 12) == 0);
    CHECK_STATUS(make(&mha, CALL, &c, NULL), ATTN_ERR_VALUE);
}
