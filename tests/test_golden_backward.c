/* The gradients of attention, of the multi-head layer, of T5's bias, of softmax and of rotations against PyTorch's
   autograd and transformers: what they find for the same inputs, see golden/make_backward.py. And two keys by hand. */
#include "calls.h"
#include "golden_layer.h"

/* One attn_sdpa and the way back. relative: the bias is one of distances; lse: a gradient reaches it; shared: all items
   of the batch have one q, k or v. */
typedef struct golden_backward {
    const char *name;
    uint32_t seed;
    size_t B, H, Hkv, Lq, Lk, D, Dv;
    golden_pattern mask, bias;
    int relative, lse, shared_q, shared_k, shared_v;
    attn_opts opts; /* but for its views */
    attn_score_mod_grad mod_grad;
    golden_result dq, dk, dv, dbias, dby_distance, dsinks, dslopes;
} golden_backward;

/* Queries on keys with T5's bias, the first query at position `past`; a decoder's see no key after themselves. */
typedef struct golden_t5_backward {
    const char *name;
    uint32_t seed;
    int decoder;
    size_t buckets, max_distance, B, H, Lq, Lk, past;
    golden_result dq, dk, dv, dtable;
} golden_t5_backward;

/* The gradients of matrices are as PyTorch keeps them, outputs x inputs. */
typedef struct golden_layer_backward {
    golden_layer of;
    golden_result dq, dk, dv, dwq, dwk, dwv, dwo, dbq, dbk, dbv, dbo;
} golden_layer_backward;

typedef struct golden_softmax_backward {
    const char *name;
    uint32_t seed;
    size_t rows, cols;
    golden_result din;
} golden_softmax_backward;

/* positions: [B][L] */
typedef struct golden_rope_backward {
    const char *name;
    uint32_t seed;
    size_t B, H, L, D;
    attn_rope_opts opts;
    golden_result din;
} golden_rope_backward;

enum { GOLDEN_DOUT = 7 }; /* the numbers of dout; those of dlse are of seed + 4, those of distances GOLDEN_BIAS */

/* ---- score modifiers and their gradients; user: the compute type ---- */

static double real_at(void *user, const void *x, size_t n)
{
    return *(attn_dtype *)user == ATTN_F64 ? ((const double *)x)[n] : (double)((const float *)x)[n];
}

static void set_real(void *user, void *x, size_t n, double value)
{
    if (*(attn_dtype *)user == ATTN_F64)
        ((double *)x)[n] = value;
    else
        ((float *)x)[n] = (float)value;
}

static void mod_relative(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)b, (void)h;
    for (size_t n = 0; n < count; n++)
        set_real(user, scores, n, real_at(user, scores, n) + ((double)i - (double)(j0 + n)) / 16);
}

static void mod_relative_grad(void *user, void *dscores, const void *before, size_t count, size_t b, size_t h, size_t i,
                              size_t j0)
{
    (void)user, (void)dscores, (void)before, (void)count, (void)b, (void)h, (void)i, (void)j0;
}

static void mod_heads(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)i, (void)j0;
    for (size_t n = 0; n < count; n++)
        set_real(user, scores, n, real_at(user, scores, n) * (double)(h + 1 + b) / 4);
}

static void mod_heads_grad(void *user, void *dscores, const void *before, size_t count, size_t b, size_t h, size_t i,
                           size_t j0)
{
    (void)before;
    mod_heads(user, dscores, count, b, h, i, j0);
}

static void mod_square(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)b, (void)h, (void)i, (void)j0;
    for (size_t n = 0; n < count; n++) {
        double s = real_at(user, scores, n);
        set_real(user, scores, n, s + s * s / 16);
    }
}

static void mod_square_grad(void *user, void *dscores, const void *before, size_t count, size_t b, size_t h, size_t i,
                            size_t j0)
{
    (void)b, (void)h, (void)i, (void)j0;
    for (size_t n = 0; n < count; n++)
        set_real(user, dscores, n, real_at(user, dscores, n) * (1 + real_at(user, before, n) / 8));
}

#include "golden/backward.h"

/* In the quick version every fifth case. */
static int skipped(size_t n)
{
    return test_quick && n % 5 != 0;
}

/* Gradients are either overwritten, whatever was there, or added to zeros. */
static void prepare(attn_tensor t, int accumulate)
{
    test_fill_tensor(t, accumulate ? 0 : 99);
}

/* ---- attn_sdpa_backward ---- */

/* An input; shared: of one item, which the whole batch sees. */
static attn_tensor input(const golden_backward *c, unsigned tag, attn_dtype dtype, size_t H, size_t L, size_t D,
                         int shared, int layout)
{
    attn_tensor t = golden_filled(c->seed, tag, test_tensor(dtype, shared ? 1 : c->B, H, L, D, layout));
    if (shared) {
        t.batch = c->B;
        t.batch_stride = 0;
    }
    return t;
}

static attn_tensor input_grad(attn_tensor t, int shared, int layout)
{
    return test_tensor(t.dtype, shared ? 1 : t.batch, t.heads, t.len, t.dim, layout);
}

static void check_case(const golden_backward *c, attn_dtype dtype, int layout)
{
    attn_tensor q = input(c, GOLDEN_Q, dtype, c->H, c->Lq, c->D, c->shared_q, layout),
                k = input(c, GOLDEN_K, dtype, c->Hkv, c->Lk, c->D, c->shared_k, (layout + 1) % T_OUT_LAYOUTS),
                v = input(c, GOLDEN_V, dtype, c->Hkv, c->Lk, c->Dv, c->shared_v, (layout + 2) % T_OUT_LAYOUTS),
                out = test_tensor(dtype, c->B, c->H, c->Lq, c->Dv, (layout + 3) % T_OUT_LAYOUTS),
                dout = golden_filled(c->seed, GOLDEN_DOUT, test_tensor(dtype, c->B, c->H, c->Lq, c->Dv, layout));
    attn_opts opts = c->opts;
    attn_grads grads = {0};
    float *dsinks = test_block(c->H * sizeof *dsinks), *dslopes = test_block(c->H * sizeof *dslopes);
    opts.mask = golden_patterned(c->seed, &c->mask, ATTN_BOOL, layout);
    opts.bias = golden_patterned(c->seed, &c->bias, dtype, layout);
    opts.lse = test_tensor(dtype, c->B, c->H, c->Lq, 1, layout);
    opts.score_mod_user = &dtype;
    grads.q = input_grad(q, c->shared_q, (layout + 4) % T_OUT_LAYOUTS);
    grads.k = input_grad(k, c->shared_k, (layout + 5) % T_OUT_LAYOUTS);
    grads.v = input_grad(v, c->shared_v, (layout + 6) % T_OUT_LAYOUTS);
    if (c->bias.show != SHOW_NONE)
        grads.bias = input_grad(opts.bias, 0, layout);
    if (c->relative) {
        attn_mat table = test_mat(dtype, c->H, c->Lq + c->Lk - 1, layout % OUT_LAYOUTS);
        golden_filled(c->seed, GOLDEN_BIAS, of_mat(table));
        opts.bias = attn_relative(table, c->Lq, c->Lk);
        grads.by_distance = test_mat(dtype, c->H, c->Lq + c->Lk - 1, (layout + 1) % OUT_LAYOUTS);
    }
    grads.sinks = opts.sinks ? dsinks : NULL;
    grads.alibi_slopes = opts.alibi_slopes ? dslopes : NULL;
    if (c->lse)
        grads.dlse = golden_filled(c->seed + 4, 0, test_tensor(dtype, c->B, c->H, c->Lq, 1, layout));
    grads.score_mod_grad = c->mod_grad;
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        grads.accumulate = layout % 2 == 0;
        test_case("%s, %s, layout %d, %s", c->name, test_dtype_name(dtype), layout, attn_isa_string(isa));
        prepare(grads.q, grads.accumulate);
        prepare(grads.k, grads.accumulate);
        prepare(grads.v, grads.accumulate);
        prepare(grads.bias, grads.accumulate);
        prepare(of_mat(grads.by_distance), grads.accumulate);
        prepare(of_floats(dsinks, c->H), grads.accumulate);
        prepare(of_floats(dslopes, c->H), grads.accumulate);
        if (CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK) &&
            CHECK_STATUS(attn_sdpa_backward(&grads, dout, q, k, v, out, opts.lse, &opts, &ctx), ATTN_OK)) {
            golden_check(c->seed, &c->dq, grads.q, dtype);
            golden_check(c->seed, &c->dk, grads.k, dtype);
            golden_check(c->seed, &c->dv, grads.v, dtype);
            golden_check(c->seed, &c->dbias, grads.bias, dtype);
            golden_check(c->seed, &c->dby_distance, of_mat(grads.by_distance), dtype);
            golden_check(c->seed, &c->dsinks, of_floats(dsinks, c->H), dtype);
            golden_check(c->seed, &c->dslopes, of_floats(dslopes, c->H), dtype);
        }
    }
    test_release();
}

static void check_cases(const golden_backward *cases, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (!skipped(n)) {
            check_case(&cases[n], ATTN_F32, (int)(n % T_OUT_LAYOUTS));
            check_case(&cases[n], test_wide, (int)((n + 1) % T_OUT_LAYOUTS));
        }
}

TEST(golden_backward_pytorch)
{
    check_cases(golden_backward_pytorch, COUNT(golden_backward_pytorch));
}

TEST(golden_backward_flex)
{
    check_cases(golden_backward_flex, COUNT(golden_backward_flex));
}

TEST(golden_backward_sinks)
{
    check_cases(golden_backward_sinks, COUNT(golden_backward_sinks));
}

TEST(golden_backward_composed)
{
    check_cases(golden_backward_composed, COUNT(golden_backward_composed));
}

/* ---- T5: the gradient goes through attention to the bias of each distance, and through that to the table ---- */

static void check_t5(const golden_t5_backward *c, attn_dtype dtype, int layout)
{
    enum { D = 8 };
    attn_tensor q = golden_filled(c->seed, GOLDEN_Q, test_tensor(dtype, c->B, c->H, c->Lq, D, layout)),
                k = golden_filled(c->seed, GOLDEN_K, test_tensor(dtype, c->B, c->H, c->Lk, D, layout)),
                v = golden_filled(c->seed, GOLDEN_V, test_tensor(dtype, c->B, c->H, c->Lk, D, layout)),
                dout = golden_filled(c->seed, GOLDEN_DOUT, test_tensor(dtype, c->B, c->H, c->Lq, D, layout)),
                out = test_tensor(dtype, c->B, c->H, c->Lq, D, layout);
    attn_mat table = t5_table(c->seed, c->buckets, c->H, dtype, PACKED), dtable,
             by_distance = test_mat(dtype, c->H, c->Lq + c->Lk - 1, PACKED);
    ptrdiff_t first = 1 - (ptrdiff_t)c->Lq - (ptrdiff_t)c->past, offsets[2];
    attn_opts opts = {0};
    attn_grads grads = {0};
    offsets[0] = offsets[1] = (ptrdiff_t)c->past;
    for (size_t n = 0; n < golden_elements(q); n++) /* there is no scale: large scores leave one key to each query */
        test_tensor_set(q, GOLDEN_PLACE(q, n), golden_number(c->seed, GOLDEN_Q, n) / 4);
    CHECK_STATUS(attn_t5_bias(by_distance, table, !c->decoder, c->max_distance, first), ATTN_OK);
    opts.scale = 1;
    opts.causal = c->decoder ? ATTN_CAUSAL_OFFSET : ATTN_CAUSAL_NONE;
    opts.causal_offset = offsets;
    opts.bias = attn_relative(by_distance, c->Lq, c->Lk);
    opts.lse = test_tensor(dtype, c->B, c->H, c->Lq, 1, layout);
    grads.q = test_tensor(dtype, c->B, c->H, c->Lq, D, layout);
    grads.k = test_tensor(dtype, c->B, c->H, c->Lk, D, layout);
    grads.v = test_tensor(dtype, c->B, c->H, c->Lk, D, layout);
    grads.by_distance = test_mat(dtype, c->H, c->Lq + c->Lk - 1, PACKED);
    dtable = test_mat(dtype, c->buckets, c->H, layout % OUT_LAYOUTS);
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        test_case("%s, %s, layout %d, %s", c->name, test_dtype_name(dtype), layout, attn_isa_string(isa));
        test_fill(dtable, 99);
        if (CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK) &&
            CHECK_STATUS(attn_sdpa_backward(&grads, dout, q, k, v, out, opts.lse, &opts, &ctx), ATTN_OK) &&
            CHECK_STATUS(attn_t5_bias_backward(dtable, grads.by_distance, !c->decoder, c->max_distance, first),
                         ATTN_OK)) {
            golden_check(c->seed, &c->dq, grads.q, dtype);
            golden_check(c->seed, &c->dk, grads.k, dtype);
            golden_check(c->seed, &c->dv, grads.v, dtype);
            golden_check(c->seed, &c->dtable, of_mat(dtable), dtype);
        }
    }
    test_release();
}

TEST(golden_backward_t5)
{
    for (size_t n = 0; n < COUNT(golden_backward_t5); n++) {
        check_t5(&golden_backward_t5[n], ATTN_F32, (int)n);
        check_t5(&golden_backward_t5[n], test_wide, (int)n + 1);
    }
}

/* ---- the multi-head layer ---- */

enum { WQ, WK, WV, WO, MATRICES };

static void check_layer(const golden_layer_backward *g, attn_dtype dtype, int layout)
{
    const golden_layer *c = &g->of;
    const size_t HD = c->H * c->D, outputs[MATRICES] = {HD, HD, HD, c->E}, inputs[MATRICES] = {c->E, c->Ek, c->Ev, HD};
    const golden_result *dw[MATRICES] = {&g->dwq, &g->dwk, &g->dwv, &g->dwo},
                        *db[MATRICES] = {&g->dbq, &g->dbk, &g->dbv, &g->dbo};
    attn_mha_weights weights = layer_weights(c, dtype);
    attn_tensor q = golden_filled(c->seed, GOLDEN_Q, test_tensor(dtype, c->B, 1, c->Lq, c->E, layout)),
                k = golden_filled(c->seed, GOLDEN_K, test_tensor(dtype, c->B, 1, c->Lk, c->Ek, layout)),
                v = golden_filled(c->seed, GOLDEN_V, test_tensor(dtype, c->B, 1, c->Lk, c->Ev, layout)),
                dout = golden_filled(c->seed, GOLDEN_DOUT, test_tensor(dtype, c->B, 1, c->Lq, c->E, layout));
    attn_opts opts = c->opts;
    attn_mha_grads grads = {0};
    attn_mat w[MATRICES], *const dws[MATRICES] = {&grads.wq, &grads.wk, &grads.wv, &grads.wo};
    float **const dbs[MATRICES] = {&grads.bq, &grads.bk, &grads.bv, &grads.bo};
    opts.mask = golden_patterned(c->seed, &c->mask, ATTN_BOOL, layout);
    opts.bias = golden_patterned(c->seed, &c->bias, dtype, layout);
    grads.q = test_tensor(dtype, c->B, 1, c->Lq, c->E, (layout + 1) % T_OUT_LAYOUTS);
    grads.k = test_tensor(dtype, c->B, 1, c->Lk, c->Ek, (layout + 2) % T_OUT_LAYOUTS);
    grads.v = test_tensor(dtype, c->B, 1, c->Lk, c->Ev, (layout + 3) % T_OUT_LAYOUTS);
    for (int m = 0; m < MATRICES; m++) {
        w[m] = test_mat(dtype, outputs[m], inputs[m], (layout + m) % OUT_LAYOUTS);
        *dws[m] = attn_mat_t(w[m]);
        *dbs[m] = c->biases ? test_block(outputs[m] * sizeof(float)) : NULL;
    }
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        grads.accumulate = layout % 2 == 0;
        test_case("%s, %s, layout %d, %s", c->name, test_dtype_name(dtype), layout, attn_isa_string(isa));
        prepare(grads.q, grads.accumulate);
        prepare(grads.k, grads.accumulate);
        prepare(grads.v, grads.accumulate);
        for (int m = 0; m < MATRICES; m++) {
            prepare(of_mat(w[m]), grads.accumulate);
            if (c->biases)
                prepare(of_floats(*dbs[m], outputs[m]), grads.accumulate);
        }
        if (!CHECK_STATUS(attn_mha_backward(&grads, dout, q, k, v, &weights, &opts, &ctx), ATTN_OK))
            continue;
        golden_check(c->seed, &g->dq, grads.q, dtype);
        golden_check(c->seed, &g->dk, grads.k, dtype);
        golden_check(c->seed, &g->dv, grads.v, dtype);
        for (int m = 0; m < MATRICES; m++) {
            golden_check(c->seed, dw[m], of_mat(w[m]), dtype);
            if (c->biases)
                golden_check(c->seed, db[m], of_floats(*dbs[m], outputs[m]), dtype);
        }
    }
    test_release();
}

TEST(golden_backward_layers)
{
    for (size_t n = 0; n < COUNT(golden_backward_layers); n++) {
        check_layer(&golden_backward_layers[n], ATTN_F32, (int)n % T_OUT_LAYOUTS);
        check_layer(&golden_backward_layers[n], test_wide, (int)(n + 1) % T_OUT_LAYOUTS);
    }
}

/* ---- steps ---- */

static void check_softmax(const golden_softmax_backward *c, attn_dtype dtype, int layout)
{
    attn_mat in = test_mat(dtype, c->rows, c->cols, layout), out = test_mat(dtype, c->rows, c->cols, layout),
             dout = test_mat(dtype, c->rows, c->cols, (layout + 1) % OUT_LAYOUTS),
             din = test_mat(dtype, c->rows, c->cols, (layout + 2) % OUT_LAYOUTS);
    for (size_t n = 0; n < c->rows * c->cols; n++)
        attn_mat_set(in, n / c->cols, n % c->cols, 4 * golden_number(c->seed, GOLDEN_Q, n));
    golden_filled(c->seed, GOLDEN_DOUT, of_mat(dout));
    test_case("%s, %s, layout %d", c->name, test_dtype_name(dtype), layout);
    CHECK_STATUS(attn_softmax(out, in), ATTN_OK);
    CHECK_STATUS(attn_softmax_backward(din, dout, out), ATTN_OK);
    golden_check(c->seed, &c->din, of_mat(din), dtype);
    test_case("%s, %s, layout %d, in place", c->name, test_dtype_name(dtype), layout);
    CHECK_STATUS(attn_softmax_backward(dout, dout, out), ATTN_OK);
    golden_check(c->seed, &c->din, of_mat(dout), dtype);
    test_release();
}

TEST(golden_backward_softmax)
{
    for (size_t n = 0; n < COUNT(golden_backward_softmax); n++)
        for (int layout = 0; layout < OUT_LAYOUTS; layout++) {
            check_softmax(&golden_backward_softmax[n], ATTN_F32, layout);
            check_softmax(&golden_backward_softmax[n], test_wide, layout);
        }
}

TEST(golden_backward_rotations)
{
    for (size_t n = 0; n < COUNT(golden_backward_rotations); n++) {
        const golden_rope_backward *c = &golden_backward_rotations[n];
        for (attn_dtype dtype = ATTN_F32; dtype <= test_wide; dtype = (attn_dtype)(dtype + 1)) {
            int layout = (int)n % T_OUT_LAYOUTS;
            attn_tensor in = test_tensor(dtype, c->B, c->H, c->L, c->D, layout),
                        out = test_tensor(dtype, c->B, c->H, c->L, c->D, (layout + 1) % T_OUT_LAYOUTS);
            attn_rope_opts opts = c->opts;
            opts.transposed = 1;
            test_case("%s, %s", c->name, test_dtype_name(dtype));
            CHECK_STATUS(attn_rope(out, golden_filled(c->seed, GOLDEN_Q, in), &opts), ATTN_OK);
            golden_check(c->seed, &c->din, out, ATTN_F64); /* computed in double whatever the type */
            CHECK_STATUS(attn_rope(in, in, &opts), ATTN_OK);
            golden_check(c->seed, &c->din, in, ATTN_F64);
            test_release();
        }
    }
}

/* ---- two keys, by hand ---- */

typedef struct two_keys {
    double q, k[2], v[2], dout;
    attn_opts opts;
    double dlse, sink, slope; /* 0: none */
} two_keys;

typedef struct two_gradients {
    double out, lse, dq, dk[2], dv[2], dbias[2], dsink, dslope;
} two_gradients;

static void check_two_keys(const char *name, two_keys c, two_gradients want)
{
    const float sink = (float)c.sink, slope = (float)c.slope;
    double bias[2] = {0, 0}, out = 0, lse = 0, dq = 0, dk[2], dv[2], dbias[2];
    float dsink, dslope;
    attn_opts opts = c.opts;
    attn_grads grads = {0};
    attn_tensor q = attn_bhld(&c.q, ATTN_F64, 1, 1, 1, 1), k = attn_bhld(c.k, ATTN_F64, 1, 1, 2, 1),
                v = attn_bhld(c.v, ATTN_F64, 1, 1, 2, 1);
    opts.bias = attn_bhld(bias, ATTN_F64, 1, 1, 1, 2);
    opts.lse = attn_bhld(&lse, ATTN_F64, 1, 1, 1, 1);
    opts.sinks = c.sink > 0 ? &sink : NULL;
    opts.alibi_slopes = c.slope > 0 ? &slope : NULL;
    grads.q = attn_bhld(&dq, ATTN_F64, 1, 1, 1, 1);
    grads.k = attn_bhld(dk, ATTN_F64, 1, 1, 2, 1);
    grads.v = attn_bhld(dv, ATTN_F64, 1, 1, 2, 1);
    grads.bias = attn_bhld(dbias, ATTN_F64, 1, 1, 1, 2);
    grads.dlse = attn_bhld(&c.dlse, ATTN_F64, 1, 1, 1, 1);
    grads.sinks = opts.sinks ? &dsink : NULL;
    grads.alibi_slopes = opts.alibi_slopes ? &dslope : NULL;
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        attn_tensor o = attn_bhld(&out, ATTN_F64, 1, 1, 1, 1);
        real close = 1e-14L, near = 1e-6L; /* slope and sink are floats: ln 4 is not one */
        test_case("two keys, %s, %s", name, attn_isa_string(isa));
        if (opts.sinks)
            close = near;
        if (!CHECK_STATUS(attn_sdpa(o, q, k, v, &opts, &ctx), ATTN_OK) ||
            !CHECK_STATUS(attn_sdpa_backward(&grads, attn_bhld(&c.dout, ATTN_F64, 1, 1, 1, 1), q, k, v, o, opts.lse,
                                             &opts, &ctx),
                          ATTN_OK))
            continue;
        CHECK_NEAR(out, want.out, close);
        CHECK_NEAR(lse, want.lse, close);
        CHECK_NEAR(dq, want.dq, close);
        for (int j = 0; j < 2; j++) {
            CHECK_NEAR(dk[j], want.dk[j], close);
            CHECK_NEAR(dv[j], want.dv[j], close);
            CHECK_NEAR(dbias[j], want.dbias[j], close);
        }
        if (opts.sinks)
            CHECK_NEAR(dsink, want.dsink, near);
        if (opts.alibi_slopes)
            CHECK_NEAR(dslope, want.dslope, near);
    }
}

/* One query q = ln 3 looks at two keys, k = (1, 0), with values v = (4, 8); D = Dv = 1, so that scale is 1. The loss
   grows by dout = 2 for each unit of out.

   Forward:
       scores   s = q k = (ln 3, 0)
       sum of exp   = 3 + 1 = 4              lse = ln 4
       weights  P = (3/4, 1/4)
       out        = 3/4 4 + 1/4 8 = 5
   Backward:
       dv = P dout = (3/2, 1/2)                    a value reaches out by its weight
       dP = dout v = (8, 16)                       a weight reaches out by its value
       Weights sum to 1: where one grows, the others shrink by their parts. What that takes away is the mean of dP,
       P . dP = 3/4 8 + 1/4 16 = 10, which is dout . out = 2 5:
       dS = P (dP - 10) = (3/4 (-2), 1/4 6) = (-3/2, 3/2)     the second value is the larger: its score should grow
       dq = dS . k = -3/2 1 + 3/2 0 = -3/2
       dk = dS q = (-3/2 ln 3, 3/2 ln 3)
       A bias is added to the scores: its gradient is dS itself. */
TEST(golden_backward_two_keys)
{
    const double ln2 = 0.69314718055994530942, ln3 = 1.0986122886681096914;
    two_keys plain = {0};
    two_gradients want = {0};
    if (test_lacks_f64())
        return;
    plain.q = ln3;
    plain.k[0] = 1, plain.k[1] = 0;
    plain.v[0] = 4, plain.v[1] = 8;
    plain.dout = 2;
    want.out = 5;
    want.lse = 2 * ln2;
    want.dq = -1.5;
    want.dk[0] = -1.5 * ln3, want.dk[1] = 1.5 * ln3;
    want.dv[0] = 1.5, want.dv[1] = 0.5;
    want.dbias[0] = -1.5, want.dbias[1] = 1.5;
    check_two_keys("plain", plain, want);

    /* The loss also grows by dlse = 4 for each unit of lse, and lse by P for each unit of a score: P dlse = (3, 1) is
       added to dS, or what is the same, dlse subtracted from the 10.
           dS = P (dP - 6) = (3/4 2, 1/4 10) = (3/2, 5/2)        dq = 3/2        dk = (3/2 ln 3, 5/2 ln 3) */
    {
        two_keys c = plain;
        two_gradients w = want;
        c.dlse = 4;
        w.dq = 1.5;
        w.dk[0] = 1.5 * ln3, w.dk[1] = 2.5 * ln3;
        w.dbias[0] = 1.5, w.dbias[1] = 2.5;
        check_two_keys("dlse", c, w);
    }

    /* A sink of ln 4 is one more logit, without a value: the sum of exp is 3 + 1 + 4 = 8.
           lse = ln 8     P = (3/8, 1/8), the sink's is 1/2     out = 12/8 + 8/8 = 5/2     dout . out = 5
           dv = (3/4, 1/4)       dS = (3/8 (8 - 5), 1/8 (16 - 5)) = (9/8, 11/8)       dsink = 1/2 (0 - 5) = -5/2
       The three gradients sum to 0, as they must: adding one number to all logits changes nothing.
           dq = 9/8       dk = (9/8 ln 3, 11/8 ln 3) */
    {
        two_keys c = plain;
        two_gradients w = want;
        c.sink = 2 * ln2;
        w.out = 2.5;
        w.lse = 3 * ln2;
        w.dq = 1.125;
        w.dk[0] = 1.125 * ln3, w.dk[1] = 1.375 * ln3;
        w.dv[0] = 0.75, w.dv[1] = 0.25;
        w.dbias[0] = 1.125, w.dbias[1] = 1.375;
        w.dsink = -2.5;
        check_two_keys("sink", c, w);
    }

    /* A softcap of c: s = c tanh(x / c) of the dot product x, ds/dx = 1 - tanh(x / c)^2. With c = 2 ln 3 and q = ln 3
       times ln 3, x / c = (ln 3)/2: tanh is (3 - 1) / (3 + 1) = 1/2, so s = (ln 3, 0) as before, with slopes (3/4, 1).
           before the cap dX = (-3/2 3/4, 3/2 1) = (-9/8, 3/2)      dq = -9/8      dk = (-9/8 q, 3/2 q)
       The bias comes after the cap: its gradient stays (-3/2, 3/2). */
    {
        two_keys c = plain;
        two_gradients w = want;
        c.opts.softcap = 2 * ln3;
        c.q = ln3 * ln3;
        w.dq = -1.125;
        w.dk[0] = -1.125 * c.q, w.dk[1] = 1.5 * c.q;
        check_two_keys("softcap", c, w);
    }

    /* A scale of 3 with a third of the query: the same scores. dq = scale dS . k = -9/2, dk = scale dS q as before. */
    {
        two_keys c = plain;
        two_gradients w = want;
        c.opts.scale = 3;
        c.q = ln3 / 3;
        w.dq = -4.5;
        check_two_keys("scale", c, w);
    }

    /* ALiBi takes slope |i - j| from the scores, (0, slope). A slope of 1/2 and a second key of 1 / (2 ln 3): its score
       is 1/2 - 1/2 = 0, as before. dslope = -(0 dS[0] + 1 dS[1]) = -3/2, and dq = -3/2 1 + 3/2 / (2 ln 3). */
    {
        two_keys c = plain;
        two_gradients w = want;
        c.slope = 0.5;
        c.k[1] = 0.5 / ln3;
        w.dq = -1.5 + 0.75 / ln3;
        w.dslope = -1.5;
        check_two_keys("ALiBi", c, w);
    }

    /* A causal rule hides the second key: one key has weight 1, whatever its score. out = 4, lse = ln 3, dv = (2, 0),
       and nothing else has a gradient. */
    {
        two_keys c = plain;
        two_gradients w = {0};
        c.opts.causal = ATTN_CAUSAL_UPPER_LEFT;
        w.out = 4;
        w.lse = ln3;
        w.dv[0] = 2;
        check_two_keys("causal", c, w);
    }
}
