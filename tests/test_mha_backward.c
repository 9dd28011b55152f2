/* The gradients of the multi-head layer: against finite differences of the layer itself, and against their formula
   around the reference of the engine's. */
#include "backward.h"
#include "calls.h"
#include "mha.h"

static const size_t widths[] = {1, 2, 3, 7};
static const shape large = {3, 6, 2, 37, 150, 20, 12, 48, 40, 33, 50};

/* ---- a call and its arguments ---- */

/* The gradients in the order of attn_mha_grads, and the same of what they belong to. */
enum { OF_Q, OF_K, OF_V, OF_WQ, OF_WK, OF_WV, OF_WO, OF_BQ, OF_BK, OF_BV, OF_BO, OF_ALL };

static const char *const grad_names[OF_ALL] = {"q", "k", "v", "wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo"};
enum { EVERY = (1 << OF_ALL) - 1 };

typedef struct pass {
    layer t;
    attn_tensor dout;
    attn_mha_grads g;
} pass;

static size_t width_of(const shape *n, int bias)
{
    return bias == OF_BQ ? n->H * n->D : bias == OF_BK ? n->Hkv * n->D : bias == OF_BV ? n->Hkv * n->Dv : n->E;
}

/* An input, its weights or bias as a tensor; of a bias that is not given, absent. */
static attn_tensor input_of(const layer *t, int which)
{
    const attn_tensor inputs[] = {t->q, t->k, t->v};
    const attn_mat mats[] = {t->w.wq, t->w.wk, t->w.wv, t->w.wo};
    const float *const biases[] = {t->w.bq, t->w.bk, t->w.bv, t->w.bo};
    if (which <= OF_V)
        return inputs[which];
    return which <= OF_WO ? of_mat(mats[which - OF_WQ]) : of_floats(biases[which - OF_BQ], width_of(&t->n, which));
}

static attn_tensor grad_of(const pass *p, int which)
{
    const attn_tensor inputs[] = {p->g.q, p->g.k, p->g.v};
    const attn_mat mats[] = {p->g.wq, p->g.wk, p->g.wv, p->g.wo};
    const float *const biases[] = {p->g.bq, p->g.bk, p->g.bv, p->g.bo};
    if (which <= OF_V)
        return inputs[which];
    return which <= OF_WO ? of_mat(mats[which - OF_WQ]) : of_floats(biases[which - OF_BQ], width_of(&p->t.n, which));
}

static void set_grad(pass *p, int which, attn_tensor t)
{
    attn_tensor *inputs[] = {&p->g.q, &p->g.k, &p->g.v};
    attn_mat *mats[] = {&p->g.wq, &p->g.wk, &p->g.wv, &p->g.wo};
    float **biases[] = {&p->g.bq, &p->g.bk, &p->g.bv, &p->g.bo};
    if (which <= OF_V)
        *inputs[which] = t;
    else if (which <= OF_WO)
        *mats[which - OF_WQ] = as_mat(t);
    else
        *biases[which - OF_BQ] = t.data;
}

/* A gradient to be written, of this type; of what the batch shares, batch 1. */
static attn_tensor new_grad(const pass *p, int which, attn_dtype dtype, int layout)
{
    attn_tensor of = input_of(&p->t, which);
    int shared = which <= OF_V && of.batch > 1 && of.batch_stride == 0 && of.len > 0;
    if (which >= OF_BQ)
        return test_tensor(ATTN_F32, 1, 1, 1, width_of(&p->t.n, which), T_BHLD);
    return test_tensor(dtype, shared ? 1 : of.batch, 1, of.len, of.dim, layout);
}

/* Fresh gradients; of the types and layouts of these numbers. */
static void make_grads(pass *p, unsigned wanted, size_t types, size_t layouts)
{
    static const attn_mha_grads none;
    p->g = none;
    for (int i = 0; i < OF_ALL; i++, types /= 4, layouts /= T_OUT_LAYOUTS)
        if (wanted >> i & 1)
            set_grad(p, i, new_grad(p, i, p->t.compute == ATTN_F64 ? ATTN_F64 : test_floats[types % 4 == 1 ? 0 : types % 4],
                                    (int)(layouts % T_OUT_LAYOUTS)));
}

static pass with_fresh_grads(const pass *p)
{
    pass fresh = *p;
    for (int i = 0; i < OF_ALL; i++) {
        attn_tensor t = grad_of(p, i);
        if (!test_absent_tensor(t))
            set_grad(&fresh, i, new_grad(p, i, t.dtype, i % T_OUT_LAYOUTS));
    }
    return fresh;
}

static pass make_pass(shape n, attn_dtype dtype, unsigned with)
{
    static const attn_tensor none;
    static const double chances[] = {0, 0, 0, 0.3};
    size_t layouts = !(with & WITH_LAYOUTS) ? 1 : with & WITH_BROADCAST ? T_LAYOUTS : T_OUT_LAYOUTS;
    attn_dtype type = dtype;
    pass p;
    memset(&p, 0, sizeof p);
    p.t = make_layer(n, dtype, with);
    p.t.o.score_mod = NULL;
    p.t.out = none; /* the tests of the layer have it */
    if (with & WITH_NUMBERS) {
        p.t.o.dropout.p = chances[test_below(4)];
        p.t.o.dropout.seed = test_random();
    }
    if (with & WITH_TYPES && dtype != ATTN_F64)
        type = test_floats[2 * test_below(2)];
    p.dout = test_random_tensor(type, n.B, 1, n.Lq, n.E, (int)test_below(layouts));
    make_grads(&p, EVERY, with & WITH_TYPES ? test_below(1 << 14) : 0,
               with & WITH_LAYOUTS ? test_below((size_t)1 << 30) : 0);
    return p;
}

static attn_status run(const pass *p, const attn_ctx *ctx)
{
    return attn_mha_backward(&p->g, p->dout, p->t.q, p->t.k, p->t.v, &p->t.w, &p->t.o, ctx);
}

typedef struct call_state {
    pass p;
    attn_ctx ctx;
    int no_grads, no_weights, no_memory; /* NULL is given; the allocator fails */
} call_state;

static call_state call_of(const pass *p, attn_isa isa)
{
    call_state c = {0};
    c.p = *p;
    c.ctx.isa = isa;
    return c;
}

static attn_status ask(const void *call, attn_dry_run *dry)
{
    const call_state *c = call;
    const pass *p = &c->p;
    const layer *t = &p->t;
    const attn_mha_grads *g = c->no_grads ? NULL : &p->g;
    const attn_mha_weights *w = c->no_weights ? NULL : &t->w;
    test_memory_state.fail_all |= c->no_memory;
    return attn_mha_backward(g, p->dout, t->q, t->k, t->v, w, &t->o, test_dry(&c->ctx, dry));
}

static const subject backward; /* that, and its faults: below */

static void outputs_of(const pass *p, attn_tensor *outs)
{
    for (int i = 0; i < OF_ALL; i++)
        outs[i] = grad_of(p, i);
}

/* The same bits in the gradients that both have. */
static int same_grads(const pass *a, const pass *b)
{
    int same = 1;
    for (int i = 0; i < OF_ALL; i++) {
        attn_tensor x = grad_of(a, i), y = grad_of(b, i);
        if (!test_absent_tensor(x) && !test_absent_tensor(y) && !test_same_tensor_bits(x, y)) {
            printf("    the gradient of %s differs\n", grad_names[i]);
            same = 0;
        }
    }
    return same;
}

static void run_as(const pass *p, attn_ctx ctx, int threads, size_t width, int scratch)
{
    call_state c = call_of(p, ctx.isa);
    attn_tensor outs[OF_ALL];
    c.ctx = ctx;
    outputs_of(p, outs);
    check_run(&backward, &c, &c.ctx, outs, OF_ALL, threads, width, scratch, 1);
}

static void run_at(const pass *p, attn_isa isa, int threads, size_t width, int scratch)
{
    run_as(p, test_ctx(isa), threads, width, scratch);
}

/* ---- the model ---- */

typedef struct answers {
    real *values[OF_ALL], *sizes[OF_ALL]; /* gradients, and the sums of the magnitudes of their terms */
    size_t counts[OF_ALL];
    real most; /* the largest score */
} answers;

/* values[n] += x y, of terms whose sizes are those. */
static void add(answers *a, int which, size_t n, real x, real y, real size, test_mode mode)
{
    a->values[which][n] = fit(a->values[which][n] + fit(x * y, mode), mode);
    a->sizes[which][n] += size;
}

/* Of one projection: of x to heads of D elements, whose gradients are dy (of the batch: B x heads x L x D). */
static void project_back(answers *a, int which, attn_tensor x, attn_mat w, size_t heads, const real *dy,
                         const real *dy_size, const size_t *lens, test_mode mode)
{
    size_t L = x.len, E = x.dim, D = w.cols / heads;
    real *matrix = test_values(w);
    int shared = a->counts[which] < x.batch * L * E;
    for (size_t b = 0; b < x.batch; b++)
        for (size_t c = 0; c < w.cols; c++)
            for (size_t j = 0; j < (lens ? lens[b] : L); j++) {
                size_t at = ((b * heads + c / D) * L + j) * D + c % D;
                add(a, which + OF_BQ, c, dy[at], 1, dy_size[at], mode);
                for (size_t e = 0; e < E; e++) {
                    real from = test_tensor_get(x, b, 0, j, e), by = matrix[e * w.cols + c];
                    add(a, which + OF_WQ, e * w.cols + c, from, dy[at], fabsl(from) * dy_size[at], mode);
                    add(a, which, ((shared ? 0 : b) * L + j) * E + e, dy[at], by, fabsl(by) * dy_size[at], mode);
                }
            }
}

/* dout wo^T as heads, and the gradients of wo and bo; mixed: the heads' out. sizes: the sums of the magnitudes of terms
   of dout wo^T. */
static attn_tensor out_back(answers *a, const pass *p, const real *mixed, attn_tensor sizes, test_mode mode)
{
    const shape *n = &p->t.n;
    size_t width = n->H * n->Dv;
    attn_tensor dmixed = test_tensor(mode == NAIVE32 ? ATTN_F32 : ATTN_F64, n->B, n->H, n->Lq, n->Dv, T_BHLD);
    real *wo = test_values(p->t.w.wo);
    for (size_t b = 0; b < n->B; b++)
        for (size_t i = 0; i < n->Lq; i++) {
            int past = p->t.o.q_lens && i >= p->t.o.q_lens[b];
            for (size_t c = 0; c < width; c++) {
                real sum = 0, size = 0;
                for (size_t e = 0; e < n->E && !past; e++) {
                    real x = mixed[((b * n->H + c / n->Dv) * n->Lq + i) * n->Dv + c % n->Dv];
                    real y = test_tensor_get(p->dout, b, 0, i, e);
                    add(a, OF_WO, c * n->E + e, x, y, fabsl(x * y), mode);
                    sum = fit(sum + fit(y * wo[c * n->E + e], mode), mode);
                    size += fabsl(y * wo[c * n->E + e]);
                }
                test_tensor_set(sizes, b, c / n->Dv, i, c % n->Dv, (double)size);
                test_tensor_set(dmixed, b, c / n->Dv, i, c % n->Dv, (double)sum);
            }
            for (size_t e = 0; e < n->E && !past; e++) {
                real y = test_tensor_get(p->dout, b, 0, i, e);
                add(a, OF_BO, e, y, 1, fabsl(y), mode);
            }
        }
    return dmixed;
}

/* The heads' out: weights times factors times v. */
static real *mix(const layer *t, attn_tensor q, attn_tensor k, attn_tensor v, const real *factors, test_mode mode)
{
    const shape *n = &t->n;
    size_t rows = n->B * n->H * n->Lq;
    real *weights = test_reals(rows * n->Lk), *mixed = test_reals(rows * n->Dv), *values = test_tensor_values(v);
    sdpa_reference(NULL, NULL, weights, NULL, q, k, v, &t->o, mode);
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < n->Dv; d++) {
            size_t head = r / n->Lq, kv = head / n->H * n->Hkv + head % n->H / (n->H / n->Hkv);
            real sum = 0;
            for (size_t j = 0; j < n->Lk; j++) {
                real z = factors ? factors[r * n->Lk + j] : 1;
                sum = fit(sum + fit(fit(z * weights[r * n->Lk + j], mode) * values[(kv * n->Lk + j) * n->Dv + d], mode),
                          mode);
            }
            mixed[r * n->Dv + d] = sum;
        }
    return mixed;
}

static answers answer(const pass *p, test_mode mode)
{
    static const attn_tensor absent;
    static const attn_grads none;
    const layer *t = &p->t;
    const shape *n = &t->n;
    attn_tensor q = project(t->q, t->w.wq, t->w.bq, n->H, mode), k = project(t->k, t->w.wk, t->w.bk, n->Hkv, mode),
                v = project(t->v, t->w.wv, t->w.bv, n->Hkv, mode), dmixed,
                dmixed_sizes = test_tensor(ATTN_F64, n->B, n->H, n->Lq, n->Dv, T_BHLD);
    real *factors = backward_factors(t->o.dropout, n->B, n->H, n->Lq, n->Lk);
    backward_result heads, sizes;
    answers a;
    for (int i = 0; i < OF_ALL; i++) {
        attn_tensor g = grad_of(p, i);
        a.counts[i] = g.batch * g.len * g.dim;
        a.values[i] = test_reals(a.counts[i]);
        a.sizes[i] = test_reals(a.counts[i]);
        for (size_t m = 0; m < a.counts[i]; m++)
            a.values[i][m] = a.sizes[i][m] = 0;
    }
    dmixed = out_back(&a, p, mix(t, q, k, v, factors, mode), dmixed_sizes, mode);
    sdpa_backward_reference(&heads, &none, dmixed, q, k, v, absent, &t->o, factors, mode);
    sizes = heads;
    if (mode == EXACT && n->Lk < 50) /* of few numbers all terms of dmixed may cancel, to which sizes are in proportion */
        sdpa_backward_reference(&sizes, &none, dmixed_sizes, q, k, v, absent, &t->o, factors, mode);
    project_back(&a, OF_Q, t->q, t->w.wq, n->H, heads.values[GRAD_Q], sizes.sizes[GRAD_Q], t->o.q_lens, mode);
    project_back(&a, OF_K, t->k, t->w.wk, n->Hkv, heads.values[GRAD_K], sizes.sizes[GRAD_K], t->o.kv_lens, mode);
    project_back(&a, OF_V, t->v, t->w.wv, n->Hkv, heads.values[GRAD_V], sizes.sizes[GRAD_V], t->o.kv_lens, mode);
    a.most = heads.most;
    return a;
}

static real worst; /* the largest error, as a part of what is allowed */

/* |got - want| <= 3 worst + 4 ulp + 8 u (1 + the largest |score| or |lse|) x the sum of the magnitudes of its terms,
   worst being the largest error of the naive way in this gradient; and half an ulp of a narrower type. */
static void check_answers(const pass *p, const answers *want, const answers *naive)
{
    real u = p->t.compute == ATTN_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    for (int i = 0; i < OF_ALL; i++) {
        attn_tensor g = grad_of(p, i);
        real lost = 0;
        for (size_t n = 0; n < want->counts[i]; n++) {
            real error = fabsl(naive->values[i][n] - want->values[i][n]);
            lost = error > lost ? error : lost;
        }
        for (size_t n = 0; n < want->counts[i]; n++) {
            real x = want->values[i][n], got = test_tensor_get(g, n / g.dim / g.len, 0, n / g.dim % g.len, n % g.dim);
            real tolerance = 3 * lost + 4 * test_ulp(x, p->t.compute) + 8 * u * (1 + want->most) * want->sizes[i][n];
            if (g.dtype != p->t.compute)
                tolerance += test_ulp(x, g.dtype) / 2 + tolerance / 8;
            if (fabsl(got - x) > worst * tolerance)
                worst = fabsl(got - x) / tolerance;
            if (!CHECK_NEAR(got, x, tolerance)) {
                printf("    the gradient of %s, element %zu\n", grad_names[i], n);
                break;
            }
        }
    }
}

/* One pass on every instruction set against the model, and then in other contexts: the same bits. */
static void check_pass(const pass *first, size_t others)
{
    answers want = answer(first, EXACT), naive = answer(first, first->t.compute == ATTN_F64 ? NAIVE64 : NAIVE32);
    FOR_EACH_ISA (isa) {
        pass p = with_fresh_grads(first);
        size_t step = others < 8 || isa == test_without_pairs(isa) ? 1 : 5; /* little of it is of BF16 */
        run_at(&p, isa, 0, 1, 0);
        check_answers(&p, &want, &naive);
        for (size_t n = 0; n < others; n += step) {
            size_t which = others < 8 ? test_below(16) : n;
            pass again = with_fresh_grads(&p);
            run_at(&again, isa, which / 8 != 0, widths[which % 4], which / 4 % 2 != 0);
            CHECK(same_grads(&p, &again));
        }
    }
}

TEST(mha_backward_grid)
{
    for (size_t n = 0; n < (test_quick ? 40 : 600); n++) {
        shape d = random_shape();
        pass p = make_pass(d, test_floats[n % 4], WITH_ALL);
        test_case("case %zu, %s, B %zu H %zu / %zu Lq %zu Lk %zu D %zu Dv %zu E %zu %zu %zu %zu", n,
                  test_dtype_name(test_floats[n % 4]), d.B, d.H, d.Hkv, d.Lq, d.Lk, d.D, d.Dv, d.Eq, d.Ek, d.Ev, d.E);
        check_pass(&p, 1);
        test_release();
    }
}

TEST(mha_backward_large)
{
    static const unsigned withs[] = {0, WITH_RULES | WITH_BIASES | WITH_TYPES | WITH_LAYOUTS, WITH_ALL};
    for (size_t n = 0; n < (test_quick ? 1 : 6); n++) {
        shape d = large;
        pass p;
        if (n % 3 == 1)
            d.B = 1, d.H = d.Hkv, d.Lk = 300, d.Lq = 50 + n;
        p = make_pass(d, test_floats[n / 3], withs[test_quick ? 2 : n % 3]);
        test_case("case %zu, %s", n, test_dtype_name(test_floats[n / 3]));
        check_pass(&p, test_quick ? 2 : 16);
        test_release();
    }
}

/* ---- finite differences ---- */

/* What dout is the gradient of: the sum of dout out. */
static real loss(const pass *p)
{
    attn_tensor out = test_tensor(ATTN_F64, p->t.n.B, 1, p->t.n.Lq, p->t.n.E, T_BHLD);
    real sum = 0;
    CHECK_STATUS(attn_mha(out, p->t.q, p->t.k, p->t.v, &p->t.w, &p->t.o, NULL), ATTN_OK);
    for (size_t b = 0; b < out.batch; b++)
        for (size_t i = 0; i < out.len && !(p->t.o.q_lens && i >= p->t.o.q_lens[b]); i++)
            for (size_t e = 0; e < out.dim; e++)
                sum += test_tensor_get(p->dout, b, 0, i, e) * test_tensor_get(out, b, 0, i, e);
    return sum;
}

/* A tensor whose items are all the same, now that may be written to. */
static attn_tensor share(attn_tensor t)
{
    t.batch_stride = 0;
    return t;
}

TEST(mha_backward_differences)
{
    size_t tried[OF_ALL] = {0};
    if (test_lacks_f64())
        return;
    for (size_t n = 0; n < (test_quick ? 60 : 600); n++) {
        shape d = random_shape();
        pass p = make_pass(d, ATTN_F64, WITH_ALL & ~(unsigned)(WITH_BROADCAST | WITH_OUTPUTS));
        if (n % 3 == 0)
            p.t.k = share(p.t.k), p.t.v = share(p.t.v);
        if (n % 9 == 0)
            p.t.q = share(p.t.q);
        make_grads(&p, EVERY, 0, test_below((size_t)1 << 30));
        CHECK_STATUS(run(&p, NULL), ATTN_OK);
        for (int which = 0; which < OF_ALL; which++) {
            attn_tensor x = input_of(&p.t, which), g = grad_of(&p, which);
            double step = which < OF_BQ ? 1e-5 : 1.0 / 1024, was, up, down;
            size_t b, i, e;
            real rise, got;
            if (test_absent_tensor(x) || x.len == 0 || x.dim == 0 || x.batch == 0)
                continue;
            b = test_below(g.batch), i = test_below(x.len), e = test_below(x.dim);
            was = (double)test_tensor_get(x, b, 0, i, e);
            test_tensor_set(x, b, 0, i, e, was + step);
            up = (double)test_tensor_get(x, b, 0, i, e), rise = loss(&p);
            test_tensor_set(x, b, 0, i, e, was - step);
            down = (double)test_tensor_get(x, b, 0, i, e), rise -= loss(&p);
            test_tensor_set(x, b, 0, i, e, was);
            got = test_tensor_get(g, b, 0, i, e);
            test_case("case %zu, %s[%zu][%zu][%zu], B %zu H %zu / %zu Lq %zu Lk %zu", n, grad_names[which], b, i, e, d.B,
                      d.H, d.Hkv, d.Lq, d.Lk);
            CHECK_NEAR(got, rise / ((real)up - down), (which < OF_BQ ? 1e-6L : 1e-4L) * (1 + fabsl(got)));
            tried[which] += got != 0;
        }
        test_release();
    }
    for (int which = 0; which < OF_ALL; which++)
        CHECK(tried[which] > 8);
}

/* ---- what must hold whatever the values are ---- */

/* Each gradient has the bits that it has among all; none at all is a call that writes nothing. */
TEST(mha_backward_requests)
{
    for (size_t n = 0; n < (test_quick ? 6 : 40); n++)
        FOR_EACH_ISA (isa) {
            pass all = make_pass(n % 8 == 7 ? large : random_shape(), test_floats[n % 4], WITH_ALL), some = all;
            run_at(&all, isa, 0, 1, 0);
            for (int i = -1; i < OF_ALL + 4; i++) {
                unsigned wanted = i < 0 ? 0 : i < OF_ALL ? 1u << i : (unsigned)test_below(EVERY);
                for (int which = 0; which < OF_ALL; which++) {
                    static const attn_tensor none;
                    attn_tensor g = grad_of(&all, which);
                    set_grad(&some, which,
                             wanted >> which & 1 ? new_grad(&all, which, g.dtype, which % T_OUT_LAYOUTS) : none);
                }
                test_case("case %zu, %s, %s, wanted %x", n, test_dtype_name(test_floats[n % 4]), attn_isa_string(isa),
                          wanted);
                run_at(&some, isa, 0, widths[n % 4], (int)n % 2);
                CHECK(same_grads(&all, &some));
            }
            test_release();
        }
}

/* With accumulate, exactly the sum of what was there and the gradient, rounded; rows past the lengths stay. */
TEST(mha_backward_accumulates)
{
    for (size_t n = 0; n < (test_quick ? 8 : 80); n++)
        FOR_EACH_ISA (isa) {
            const attn_dtype wide[] = {ATTN_F32, test_wide};
            pass plain = make_pass(n % 8 == 7 ? large : random_shape(), wide[n % 2],
                                   WITH_ALL & ~(unsigned)(WITH_TYPES | WITH_BROADCAST)),
                 sum;
            test_case("case %zu, %s, %s", n, test_dtype_name(wide[n % 2]), attn_isa_string(isa));
            if (n % 3 == 0)
                plain.t.k = share(plain.t.k);
            make_grads(&plain, EVERY, 0, test_below((size_t)1 << 30));
            run_at(&plain, isa, 0, 1, 0);
            sum = with_fresh_grads(&plain);
            sum.g.accumulate = 1;
            for (int i = 0; i < OF_ALL; i++)
                test_scatter(grad_of(&sum, i), (uint64_t)i + 1);
            run_at(&sum, isa, 1, widths[n % 4], (int)n / 4 % 2);
            for (int i = 0; i < OF_ALL; i++) {
                attn_tensor g = grad_of(&sum, i), add = grad_of(&plain, i), was = test_tensor_like(g, T_BHLD);
                size_t count = g.batch * g.len * g.dim;
                test_scatter(was, (uint64_t)i + 1);
                for (size_t m = 0; m < count; m++) {
                    size_t b = m / g.dim / g.len, r = m / g.dim % g.len, c = m % g.dim;
                    real x = test_tensor_get(was, b, 0, r, c), y = test_tensor_get(add, b, 0, r, c);
                    /* the biases of a double layer are floats: their sum is rounded once, that before it was too */
                    real slack = i >= OF_BQ && n % 2 ? test_ulp(y, ATTN_F32) : 0;
                    float single = (float)x + (float)y; /* rounded, where registers are wider too */
                    real want = g.dtype == ATTN_F64 ? (real)((double)x + (double)y) : (real)single;
                    if (!CHECK_NEAR(test_tensor_get(g, b, 0, r, c), want,
                                    slack > 0 ? slack / 2 + test_ulp(want, ATTN_F32) : 0))
                        break;
                }
            }
            test_release();
        }
}

/* The bits do not depend on where the caller has its rows; 16-bit gradients are those of floats, rounded. */
TEST(mha_backward_layouts)
{
    for (size_t n = 0; n < (test_quick ? 8 : 60); n++)
        FOR_EACH_ISA (isa) {
            pass p = make_pass(n % 8 == 7 ? large : random_shape(), test_floats[n % 4], WITH_ALL), packed, narrow;
            attn_tensor *tensors[] = {&packed.t.q, &packed.t.k, &packed.t.v, &packed.dout};
            attn_mat *mats[] = {&packed.t.w.wq, &packed.t.w.wk, &packed.t.w.wv, &packed.t.w.wo};
            test_case("case %zu, %s, %s", n, test_dtype_name(test_floats[n % 4]), attn_isa_string(isa));
            for (int i = 0; i < 3 && n % 2; i++) { /* a view that the batch shares, and copies for each item */
                attn_tensor *x = i == 0 ? &p.t.q : i == 1 ? &p.t.k : &p.t.v;
                if (p.t.compute == x->dtype && x->len > 1 && x->dim > 1)
                    *x = share(test_tensor_like(*x, T_BHLD));
            }
            packed = p;
            for (int i = 0; i < 4; i++) {
                *tensors[i] = test_tensor_like(*tensors[i], T_BHLD);
                *mats[i] = test_mat_like(*mats[i], PACKED);
            }
            make_grads(&packed, EVERY, 0, 0);
            run_at(&packed, isa, 0, 1, 0);
            make_grads(&p, EVERY, 0, test_below((size_t)1 << 30));
            for (int i = 0; i <= OF_V; i++)
                if (grad_of(&p, i).batch != p.t.n.B) /* a sum: another gradient */
                    set_grad(&packed, i, (attn_tensor){0});
            run_at(&p, isa, 0, 2, 0);
            CHECK(same_grads(&p, &packed));
            if (p.t.compute == ATTN_F64) {
                test_release();
                continue;
            }
            narrow = p;
            make_grads(&narrow, EVERY, n % 3 ? 0x3fff : 0x2aaa, 0);
            run_at(&narrow, isa, 0, 3, 1);
            for (int i = 0; i <= OF_WO; i++) {
                attn_tensor x = grad_of(&p, i), y = grad_of(&narrow, i), rounded = test_tensor_like(y, T_BHLD);
                for (size_t b = 0; b < x.batch; b++)
                    for (size_t r = 0; r < x.len; r++)
                        for (size_t c = 0; c < x.dim; c++)
                            test_tensor_set(rounded, b, 0, r, c, (double)test_tensor_get(x, b, 0, r, c));
                CHECK(test_same_tensor_bits(rounded, y));
            }
            test_release();
        }
}

static void spoil_rows(attn_tensor t, size_t b, size_t from)
{
    for (size_t i = from; i < t.len; i++)
        for (size_t e = 0; e < t.dim; e++)
            test_tensor_set(t, b, 0, i, e, e % 3 == 1 ? HUGE_VAL : NAN);
}

/* Padding said by lengths or by a mask has the same bits; and what lies there does not matter. */
TEST(mha_backward_padding)
{
    for (size_t n = 0; n < (test_quick ? 10 : 80); n++)
        FOR_EACH_ISA (isa) {
            shape d = n % 8 == 7 ? large : random_shape();
            size_t *lens, *q_lens;
            attn_ctx ctx = test_ctx(isa);
            pass clean, dirty, masked;
            d.B = n % 3 == 0 ? 1 : 2;
            lens = random_lengths(d.B, d.Lk);
            q_lens = random_lengths(d.B, d.Lq);
            clean = make_pass(d, test_floats[n % 4], (WITH_ALL & ~(unsigned)(WITH_BROADCAST | WITH_RULES)));
            clean.t.o.kv_lens = lens;
            clean.t.o.q_lens = q_lens;
            test_case("case %zu, %s, %s", n, test_dtype_name(test_floats[n % 4]), attn_isa_string(isa));
            run_at(&clean, isa, 0, 1, 0);
            dirty = with_fresh_grads(&clean);
            masked = with_fresh_grads(&clean);
            for (size_t b = 0; b < d.B; b++) {
                spoil_rows(dirty.t.k, b, lens[b]);
                spoil_rows(dirty.t.v, b, lens[b]);
                spoil_rows(dirty.t.q, b, q_lens[b]);
                spoil_rows(dirty.dout, b, q_lens[b]);
            }
            run_at(&dirty, isa, 0, 3, 1);
            CHECK(same_grads(&clean, &dirty));
            for (size_t b = 0; b < d.B; b++) {
                for (size_t j = lens[b]; j < d.Lk; j++)
                    CHECK(zero_row(dirty.g.k, b, 0, j) && zero_row(dirty.g.v, b, 0, j));
                for (size_t i = q_lens[b]; i < d.Lq; i++)
                    CHECK(zero_row(dirty.g.q, b, 0, i));
            }
            masked.t.o.kv_lens = NULL; /* what lies there is still NaN */
            masked.t.o.mask = lengths_mask(lens, d.B, d.Lk);
            ctx.batch_invariant = 1; /* all rows of k and v exist, and may no longer be few */
            run_as(&clean, ctx, 0, 1, 0);
            run_as(&masked, ctx, 0, 2, 0);
            CHECK(same_grads(&clean, &masked));
            test_release();
        }
}

/* Hidden in the midst of others: holes in a mask, keys after the last query, queries that see nothing. */
TEST(mha_backward_hidden)
{
    for (size_t n = 0; n < (test_quick ? 8 : 60); n++)
        FOR_EACH_ISA (isa) {
            shape d = n % 8 == 7 ? large : random_shape();
            pass p = make_pass(d, test_floats[n % 4], (WITH_ALL & ~(unsigned)(WITH_BROADCAST | WITH_RULES))), q;
            attn_tensor mask = test_random_tensor(ATTN_BOOL, d.B, 1, 1, d.Lk, T_BHLD),
                        rows = test_random_tensor(ATTN_BOOL, d.B, 1, d.Lq, 1, T_BHLD);
            test_case("case %zu, %s, %s", n, test_dtype_name(test_floats[n % 4]), attn_isa_string(isa));
            p.t.o.mask = n % 4 == 0 ? rows : mask;
            p.t.o.causal = n % 4 == 2 ? ATTN_CAUSAL_UPPER_LEFT : ATTN_CAUSAL_NONE;
            run_at(&p, isa, 0, 1, 0);
            q = with_fresh_grads(&p);
            for (size_t b = 0; b < d.B; b++) {
                for (size_t j = 0; j < d.Lk && n % 4 != 0; j++)
                    if (test_tensor_get(mask, b, 0, 0, j) == 0 || (p.t.o.causal && j >= d.Lq)) {
                        spoil_rows(attn_tensor_slice(q.t.k, j, 1), b, 0);
                        spoil_rows(attn_tensor_slice(q.t.v, j, 1), b, 0);
                    }
                for (size_t i = 0; i < d.Lq && n % 4 == 0; i++)
                    if (test_tensor_get(rows, b, 0, i, 0) == 0)
                        spoil_rows(attn_tensor_slice(q.t.q, i, 1), b, 0);
            }
            run_at(&q, isa, 1, 2, 1);
            CHECK(same_grads(&p, &q));
            test_release();
        }
}

/* The gradients of an item's inputs are those that it has alone; those of weights and biases add up. */
TEST(mha_backward_batch)
{
    for (size_t n = 0; n < (test_quick ? 8 : 60); n++)
        FOR_EACH_ISA (isa) {
            shape d = n % 8 == 7 ? large : random_shape();
            pass all, part;
            real *sums[OF_ALL], *sizes[OF_ALL];
            d.B = 3;
            all = make_pass(d, test_floats[n % 2], WITH_ALL & ~(unsigned)(WITH_BROADCAST | WITH_TYPES));
            all.t.o.dropout.p = 0; /* items have numbers there */
            test_case("case %zu, %s", n, attn_isa_string(isa));
            run_at(&all, isa, 0, widths[n % 4], 0);
            for (int i = OF_WQ; i < OF_ALL; i++) {
                attn_tensor g = grad_of(&all, i);
                sums[i] = test_reals(g.len * g.dim), sizes[i] = test_reals(g.len * g.dim);
                for (size_t m = 0; m < g.len * g.dim; m++)
                    sums[i][m] = sizes[i][m] = 0;
            }
            for (size_t b = 0; b < d.B; b++) {
                part = all;
                part.t = layer_item(&all.t, b);
                part.dout = test_tensor_item(all.dout, b);
                make_grads(&part, EVERY, 0, n);
                run_at(&part, isa, 0, widths[(n + b) % 4], 1);
                for (int i = 0; i < OF_ALL; i++) {
                    attn_tensor g = grad_of(&part, i);
                    if (i <= OF_V)
                        CHECK(test_same_tensor_bits(g, test_tensor_item(grad_of(&all, i), b)));
                    for (size_t m = 0; m < g.len * g.dim && i > OF_V; m++) {
                        real x = test_tensor_get(g, 0, 0, m / g.dim, m % g.dim);
                        sums[i][m] += x, sizes[i][m] += fabsl(x);
                    }
                }
            }
            for (int i = OF_WQ; i < OF_ALL; i++) { /* the sums over tokens are cut otherwise */
                attn_tensor g = grad_of(&all, i);
                real most = 0;
                for (size_t m = 0; m < g.len * g.dim; m++)
                    most = sizes[i][m] > most ? sizes[i][m] : most;
                for (size_t m = 0; m < g.len * g.dim; m++)
                    if (!CHECK_NEAR(test_tensor_get(g, 0, 0, m / g.dim, m % g.dim), sums[i][m],
                                    16 * test_ulp(most, g.dtype)))
                        break;
            }
            test_release();
        }
}

/* ---- what is never read ---- */

TEST(mha_backward_fences)
{
    static const size_t keys[][2] = {{5, 0}, {4, 4}, {7, 3}, {9, 8}, {31, 17}, {130, 129}, {140, 128}, {260, 99}};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 16 : 60); n++) {
            size_t *valid = test_block(2 * sizeof *valid);
            attn_dtype dtype = test_floats[n % 4];
            shape d = random_shape();
            call_state c = {0};
            test_runner r;
            d.B = 1;
            d.Lk = keys[n % COUNT(keys)][0], valid[0] = keys[n % COUNT(keys)][1];
            valid[1] = test_below(d.Lq + 1);
            c.p = make_pass(d, dtype, WITH_BIASES | WITH_LAYOUTS);
            c.p.t.k = test_fenced_rows(dtype, 1, d.Lk, d.Ek, valid[0], 1, test_maybe());
            c.p.t.v = test_fenced_rows(dtype, 1, d.Lk, d.Ev, valid[0], 1, test_maybe());
            c.p.t.q = test_fenced_rows(dtype, 1, d.Lq, d.Eq, valid[1], 1, test_maybe());
            c.p.dout = test_fenced_rows(dtype, 1, d.Lq, d.E, valid[1], 1, test_maybe());
            c.p.t.o.kv_lens = valid;
            c.p.t.o.q_lens = valid + 1;
            c.ctx.isa = isa;
            c.ctx.parallel = test_serial_backwards(&r, 1 + n % 3);
            test_case("%s, %s, %zu of %zu keys, %zu of %zu queries, E %zu %zu %zu %zu", attn_isa_string(isa),
                      test_dtype_name(dtype), valid[0], d.Lk, valid[1], d.Lq, d.Eq, d.Ek, d.Ev, d.E);
            check_fences(&backward, &c);
            test_release();
        }
}

/* ---- memory ---- */

TEST(mha_backward_memory)
{
    for (size_t n = 0; n < (test_quick ? 4 : 16); n++)
        FOR_EACH_ISA (isa) {
            shape d = n % 4 ? large : random_shape();
            call_state c = {0};
            test_runner r;
            size_t bytes;
            long live = test_memory_state.live;
            c.p = make_pass(d, test_floats[n % 4], WITH_ALL & ~(unsigned)WITH_RULES);
            c.ctx.isa = isa;
            c.ctx.parallel = test_serial_backwards(&r, widths[n / 4]);
            bytes = needed_by(&backward, &c);
            test_case("%s, %s, width %zu, %zu bytes", test_dtype_name(test_floats[n % 4]), attn_isa_string(isa),
                      widths[n / 4], bytes);
            CHECK(bytes >= 2 * test_size(c.p.t.compute) * d.B *
                               (d.H * d.Lq * (d.D + d.Dv) + d.Hkv * d.Lk * (d.D + d.Dv)));
            c.ctx.scratch = test_block(bytes);
            c.ctx.scratch_size = bytes - 1;
            CHECK(needed_by(&backward, &c) == bytes);
            test_freeze();
            CHECK_STATUS(make(&backward, CALL, &c, NULL), ATTN_ERR_NOMEM);
            CHECK(test_wrote_nothing() && r.calls == 0);
            c.ctx.scratch = NULL, c.ctx.scratch_size = 0;
            test_memory_state.fail_at = 1;
            CHECK_STATUS(make(&backward, CALL, &c, NULL), ATTN_ERR_NOMEM);
            test_memory_state.fail_at = 0;
            CHECK(test_wrote_nothing() && test_memory_state.live == live);
            test_release();
        }
}

/* In the lengths it is linear. */
TEST(mha_backward_scratch_grows)
{
    enum { LONG = 8000, E = 8 };
    float x = 0, *memory = malloc(sizeof(float) * LONG * E); /* never touched */
    attn_dry_run dry[2] = {{0}, {0}};
    size_t kept = sizeof(float) * LONG * (8 * E + 2), most;
    if (!CHECK(memory != NULL))
        return;
    for (int half = 0; half < 2; half++) {
        size_t L = LONG >> half;
        attn_tensor rows = {NULL, ATTN_F32, 1, 1, L, E, 0, 0, 0, 0};
        attn_mat square = {NULL, ATTN_F32, E, E, 0, 0};
        attn_mha_weights w = {0};
        attn_mha_grads g = {0};
        rows.data = square.data = &x;
        w.wq = w.wk = w.wv = w.wo = square;
        w.heads = 2;
        g.q = attn_bhld(memory, ATTN_F32, 1, 1, L, E);
        g.wk = test_mat(ATTN_F32, E, E, PACKED), g.wv = test_mat(ATTN_F32, E, E, PACKED);
        CHECK_STATUS(attn_mha_backward(&g, rows, rows, rows, rows, &w, NULL, test_dry(NULL, &dry[half])), ATTN_OK);
    }
    most = dry[0].scratch;
    test_case("%zu and %zu bytes, rows of %zu", most, dry[1].scratch, kept);
    CHECK(most >= kept && most < kept + ((size_t)2 << 20));
    CHECK(most - dry[1].scratch > kept / 4 && most - dry[1].scratch < kept);
    free(memory);
}

/* ---- statuses ---- */

/* The views first, with what they are to the call; and what they are called in explanations. */
/* clang-format off */
#define ARG_LIST(X)                                                                                                    \
    X(DQ, "grads.q", SPOIL_OUTPUT) X(DK, "grads.k", SPOIL_OUTPUT) X(DV, "grads.v", SPOIL_OUTPUT)                       \
    X(DWQ, "grads.wq", SPOIL_OUTPUT) X(DWK, "grads.wk", SPOIL_OUTPUT) X(DWV, "grads.wv", SPOIL_OUTPUT)                 \
    X(DWO, "grads.wo", SPOIL_OUTPUT) X(DOUT, "dout", SPOIL_REQUIRED) X(Q, "q", SPOIL_REQUIRED)                         \
    X(K, "k", SPOIL_REQUIRED) X(V, "v", SPOIL_REQUIRED) X(WQ, "weights.wq", SPOIL_REQUIRED)                            \
    X(WK, "weights.wk", SPOIL_REQUIRED) X(WV, "weights.wv", SPOIL_REQUIRED) X(WO, "weights.wo", SPOIL_REQUIRED)        \
    X(MASK, "opts.mask", 0) X(BIAS, "opts.bias", 0)                                                                    \
    X(A_GRADS, "grads", 0) X(A_WEIGHTS, "weights", 0) X(A_HEADS, "weights", 0) X(A_BIASES, "grads", 0)                 \
    X(A_CAUSAL, "opts", 0) X(A_WINDOW, "opts.window", 0) X(A_LENS, "opts", 0) X(A_SCALE, "opts.scale", 0)       \
    X(A_CAP, "opts.softcap", 0) X(A_MOD, "opts.score_mod", 0) X(A_SCRATCH, "ctx.scratch", 0) X(A_ISA, "ctx.isa", 0)
/* clang-format on */

enum arg { ARG_LIST(ARG_NUMBER) ARGS, VIEWS = A_GRADS };
static const char *const arg_names[] = {ARG_LIST(ARG_NAME)};
static const int roles[] = {ARG_LIST(ARG_ROLE)};

#define FAULT_LIST(X)                                                                                                  \
    X(NO_GRADS, A_GRADS, NULL, c->no_grads = 1)                                                                        \
    X(NO_WEIGHTS, A_WEIGHTS, NULL, c->no_weights = 1)                                                                  \
    X(OFFSET_MISSING, A_CAUSAL, NULL, c->p.t.o.causal = ATTN_CAUSAL_OFFSET, c->p.t.o.causal_offset = NULL)             \
    X(SCRATCH_MISSING, A_SCRATCH, NULL, c->ctx.scratch_size = 100)                                                     \
    X(SUM_IN_BF16, DWK, DTYPE, g->wk.dtype = ATTN_BF16, g->accumulate = 1)                                             \
    X(SUM_IN_F16, DQ, DTYPE, g->q.dtype = ATTN_F16, g->accumulate = 1)                                                 \
    X(HEADS_NONE, A_HEADS, SHAPE, c->p.t.w.heads = 0)                                                                  \
    X(HEADS_MANY, A_HEADS, SHAPE, c->p.t.w.heads = 5)                                                                  \
    X(GROUPS_ODD, A_HEADS, SHAPE, c->p.t.w.kv_heads = 3)                                                               \
    X(DQ_OF_ALL, DQ, SHAPE, g->q.batch = 1 /* q is not shared */)                                                      \
    X(CAUSAL_UNKNOWN, A_CAUSAL, VALUE, c->p.t.o.causal = (attn_causal)77)                                              \
    X(WINDOW_LEFT, A_WINDOW, VALUE, c->p.t.o.window.on = 1, c->p.t.o.window.left = -2)                                 \
    X(QLENS_LONG, A_LENS, VALUE, c->p.t.o.q_lens = too_long)                                                           \
    X(KVLENS_LONG, A_LENS, VALUE, c->p.t.o.kv_lens = too_long)                                                         \
    X(SCALE_NAN, A_SCALE, VALUE, c->p.t.o.scale = NAN)                                                                 \
    X(CAP_NEGATIVE, A_CAP, VALUE, c->p.t.o.softcap = -1)                                                               \
    X(MODIFIED, A_MOD, VALUE, c->p.t.o.score_mod = modify)                                                             \
    X(DBQ_ODD, A_BIASES, VALUE, g->bq = askew(g->bq, 1))                                                               \
    X(ISA_LACKING, A_ISA, VALUE, c->ctx.isa = (attn_isa)77)                                                            \
    X(DQ_ON_DOUT, DQ, ALIAS, g->q.data = (char *)good->p.dout.data + 4)                                                \
    X(DK_ON_K, DK, ALIAS, g->k.data = (char *)good->p.t.k.data + 4)                                                    \
    X(DV_ON_DK, DV, ALIAS, g->v.data = (char *)was->k.data + 4)                                                        \
    X(DWQ_ON_WQ, DWQ, ALIAS, g->wq.data = good->p.t.w.wq.data)                                                         \
    X(DWO_ON_DWK, DWO, ALIAS, g->wo.data = (char *)was->wk.data + 4)                                                   \
    X(DWV_ON_MASK, DWV, ALIAS, g->wv.data = good->p.t.o.mask.data)                                                     \
    X(DBQ_ON_BQ, A_BIASES, ALIAS, g->bq = (float *)(uintptr_t)good->p.t.w.bq)                                          \
    X(DBK_ON_DBV, A_BIASES, ALIAS, g->bk = was->bv + 1)                                                                \
    X(DBO_ON_DWO, A_BIASES, ALIAS, g->bo = was->wo.data)                                                               \
    X(SCRATCH_ON_DQ, A_SCRATCH, ALIAS, c->ctx.scratch = was->q.data, c->ctx.scratch_size = 1)                          \
    X(SCRATCH_ON_WO, A_SCRATCH, ALIAS, c->ctx.scratch = good->p.t.w.wo.data, c->ctx.scratch_size = 1)                  \
    X(SCRATCH_SHORT, A_SCRATCH, NOMEM, c->ctx.scratch = some_scratch, c->ctx.scratch_size = 16)                        \
    X(NO_MEMORY, A_SCRATCH, NOMEM, c->no_memory = 1)

enum { FAULT_LIST(FAULT_NUMBER) OTHER_FAULTS, VIEW_FAULTS = (int)VIEWS * SPOILS, FAULTS = VIEW_FAULTS + OTHER_FAULTS };
static const fault_row other_faults[] = {FAULT_LIST(FAULT_ENTRY)};

static attn_tensor *tensor_of(call_state *c, int view)
{
    switch (view) {
    case DQ: return &c->p.g.q;
    case DK: return &c->p.g.k;
    case DV: return &c->p.g.v;
    case DOUT: return &c->p.dout;
    case Q: return &c->p.t.q;
    case K: return &c->p.t.k;
    case V: return &c->p.t.v;
    case MASK: return &c->p.t.o.mask;
    case BIAS: return &c->p.t.o.bias;
    default: return NULL;
    }
}

static attn_mat *mat_of(call_state *c, int view)
{
    attn_mat *grads[] = {&c->p.g.wq, &c->p.g.wk, &c->p.g.wv, &c->p.g.wo};
    attn_mat *mats[] = {&c->p.t.w.wq, &c->p.t.w.wk, &c->p.t.w.wv, &c->p.t.w.wo};
    return view <= DWO ? grads[view - DWQ] : mats[view - WQ];
}

static int arg_of(int fault)
{
    return fault < VIEW_FAULTS ? fault / SPOILS : (int)other_faults[fault - VIEW_FAULTS].args;
}

static const char *name_of(int fault)
{
    return fault < VIEW_FAULTS ? spoil_names[fault % SPOILS] : other_faults[fault - VIEW_FAULTS].name;
}

static void modify(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)user, (void)scores, (void)count, (void)b, (void)h, (void)i, (void)j0;
}

static const size_t too_long[] = {0, 1000};
static char some_scratch[16];

static attn_status inflict(void *call, const void *right, int fault, uint64_t *names)
{
    call_state *c = call;
    const call_state *good = right;
    int view = fault / SPOILS, kind = fault % SPOILS;
    attn_mha_grads *g = &c->p.g;
    const attn_mha_grads *was = &good->p.g;
    *names = set_of(arg_of(fault));
    if (fault < VIEW_FAULTS) {
        if (kind >= SPOIL_BATCH && kind <= SPOIL_NO_DIM)
            *names = 0; /* other views fit it no longer */
        if (view == MASK && kind == SPOIL_BOOL)
            return ATTN_OK;
        return tensor_of(c, view) ? test_spoil(tensor_of(c, view), roles[view], kind)
                                  : test_spoil_mat(mat_of(c, view), roles[view], kind);
    }
    switch (fault - VIEW_FAULTS) {
        FAULT_LIST(FAULT_CASE)
    }
    return ATTN_OK;
}

/* Two faults in dimensions may fit one another, and one may hide what the other has broken. */
static int may_undo(int f, int g)
{
    static const int pairs[][2] = {{DQ, Q},   {DK, K},   {DV, V},   {DWQ, WQ}, {DWK, WK}, {DWV, WV},      {DWO, WO},
                                   {Q, WQ},   {K, WK},   {V, WV},   {WQ, WK},  {WV, WO},  {DOUT, WO},     {DQ, DOUT},
                                   {DK, K},   {DK, DV},  {DWK, DWO}, {DQ, WQ}, {DK, WK},  {DWO, A_BIASES}, {DWV, MASK},
                                   {DWQ, A_BIASES}};
    int a = arg_of(f) < arg_of(g) ? arg_of(f) : arg_of(g), b = arg_of(f) < arg_of(g) ? arg_of(g) : arg_of(f);
    for (size_t n = 0; n < COUNT(pairs); n++)
        if (a == pairs[n][0] && b == pairs[n][1])
            return 1;
    return a == b || (a <= DWO && b == A_GRADS) || (a >= WQ && a <= WO && b == A_WEIGHTS);
}

static const subject backward = {
    "attn_mha_backward", arg_names, ARGS, FAULTS, -1, sizeof(call_state), ask, inflict, arg_of, name_of, may_undo};

static call_state good_call(void)
{
    pass p = make_pass(usual_layer, ATTN_F32, 0);
    give_everything(&p.t);
    return call_of(&p, ATTN_ISA_BEST);
}

TEST(mha_backward_status)
{
    call_state good = good_call();
    attn_tensor outs[OF_ALL];
    outputs_of(&good.p, outs);
    test_freeze();
    check_alone(&backward, &good, "");
    check_pairs(&backward, &good, test_quick ? 40 : 1, "");
    good.p.t.o.lse = good.p.t.q, good.p.t.o.weights.dtype = (attn_dtype)77, good.p.t.o.scores = good.p.g.q;
    good.p.t.o.scores_stage = (attn_stage)9;
    check_right(&backward, &good, outs, OF_ALL, ", what opts has for outputs is not looked at");
}

/* F64 throughout or nowhere; biases are floats. */
TEST(mha_backward_status_types)
{
    for (int all = 0; all < (test_wide == ATTN_F64 ? 2 : 1); all++)
        for (int view = DQ; view <= WO; view++) {
            shape d = {1, 2, 2, 2, 3, 2, 2, 4, 4, 4, 4};
            call_state c = {0};
            attn_dtype other = all ? ATTN_F32 : ATTN_F64;
            c.p = make_pass(d, all ? ATTN_F64 : ATTN_F32, WITH_BIASES);
            if (tensor_of(&c, view))
                *tensor_of(&c, view) = test_random_tensor(other, 1, 1, tensor_of(&c, view)->len, 4, T_BHLD);
            else
                *mat_of(&c, view) = test_random_mat(other, 4, 4, PACKED);
            test_case("%s, but view %d", all ? "f64" : "f32", view);
            check_refused(&backward, &c, ATTN_ERR_DTYPE);
            test_release();
        }
}

/* Batch 1 for what the batch shares, and for nothing else. */
TEST(mha_backward_status_shared)
{
    for (int which = OF_Q; which <= OF_V; which++)
        for (int shared = 0; shared < 2; shared++) {
            shape d = {3, 2, 2, 2, 3, 2, 2, 4, 4, 4, 4};
            pass p = make_pass(d, ATTN_F32, 0);
            attn_tensor *x = which == OF_Q ? &p.t.q : which == OF_K ? &p.t.k : &p.t.v;
            test_case("%s, shared %d", grad_names[which], shared);
            if (shared)
                *x = share(*x);
            make_grads(&p, 1u << which, 0, 0);
            CHECK(grad_of(&p, which).batch == (shared ? 1 : 3));
            CHECK_STATUS(run(&p, NULL), ATTN_OK);
            set_grad(&p, which, test_tensor(ATTN_F32, shared ? 3 : 1, 1, x->len, 4, T_BHLD));
            CHECK_STATUS(run(&p, NULL), ATTN_ERR_SHAPE);
            test_release();
        }
}

TEST(mha_backward_status_empty_shapes)
{
    for (size_t n = 0; n < COUNT(empty_layers) * 4; n++) {
        pass p = make_pass(empty_layers[n / 4], test_floats[n % 4], WITH_BIASES | WITH_NUMBERS), bad;
        test_case("shape %zu, %s", n / 4, test_dtype_name(test_floats[n % 4]));
        check_pass(&p, 2);
        test_freeze();
        test_case("shape %zu, %s, with a fault", n / 4, test_dtype_name(test_floats[n % 4]));
        bad = p, bad.g.wo.dtype = ATTN_BOOL;
        CHECK_STATUS(run(&bad, NULL), ATTN_ERR_DTYPE);
        bad = p, bad.g.wk.rows++;
        CHECK_STATUS(run(&bad, NULL), bad.g.wk.cols && !bad.g.wk.data ? ATTN_ERR_NULL : ATTN_ERR_SHAPE);
        bad = p, bad.t.o.scale = NAN;
        CHECK_STATUS(run(&bad, NULL), ATTN_ERR_VALUE);
        CHECK(test_wrote_nothing());
        test_release();
    }
}

/* Many items without elements are not gone through one by one. */
TEST(mha_backward_empty_items)
{
    attn_mha_weights w = {0};
    attn_mha_grads g = {0};
    attn_tensor many = attn_tensor_of(NULL, ATTN_F32, SIZE_MAX / 16, 1, 0, 1, 1, 1, 1, 1);
    float bias[4] = {1, 1, 1, 1};
    w.wq = w.wk = w.wv = w.wo = test_random_mat(ATTN_F32, 1, 1, PACKED);
    w.heads = 1;
    g.q = g.k = g.v = many;
    g.wq = test_mat(ATTN_F32, 1, 1, PACKED), g.wk = test_mat(ATTN_F32, 1, 1, PACKED);
    g.wv = test_mat(ATTN_F32, 1, 1, PACKED), g.wo = test_mat(ATTN_F32, 1, 1, PACKED);
    g.bq = bias, g.bk = bias + 1, g.bv = bias + 2, g.bo = bias + 3;
    CHECK_STATUS(attn_mha_backward(&g, many, many, many, many, &w, NULL, NULL), ATTN_OK);
    CHECK(bias[0] == 0 && bias[1] == 0 && bias[2] == 0 && bias[3] == 0);
    CHECK((attn_mat_get)(g.wq, 0, 0) == 0 && (attn_mat_get)(g.wo, 0, 0) == 0);
}

TEST(mha_backward_status_huge_shapes)
{
    const size_t wide = (size_t)1 << (sizeof(size_t) * 5), most = PTRDIFF_MAX; /* the square of wide overflows */
    float x = 1;
    for (int n = 0; n < 7; n++) {
        static const char *const what[] = {"H and Lq", "Lk and D", "Lk and Dv", "Lk", "Lq", "B", "Lk and Ek"};
        size_t H = n == 0 ? wide : 1, Lq = n == 0 ? wide : n == 4 ? most : 1;
        size_t Lk = n == 1 || n == 2 || n == 6 ? wide : n == 3 ? most : 1, E = n == 6 ? wide : 1;
        size_t D = n == 1 ? wide : 1, Dv = n == 2 ? wide : 1, B = n == 5 ? SIZE_MAX / 2 + 1 : 1;
        attn_tensor q = {NULL, ATTN_F32, B, 1, Lq, 1, 0, 0, 0, 0}, k = {NULL, ATTN_F32, B, 1, Lk, E, 0, 0, 0, 0};
        attn_mat one = {NULL, ATTN_F32, 1, 1, 0, 0};
        attn_mha_weights w = {{0}, {0}, {0}, {0}, NULL, NULL, NULL, NULL, H, H};
        attn_mha_grads g = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, NULL, NULL, NULL, NULL, 0};
        float sum[1] = {0};
        attn_dry_run dry = {77, NULL, 0};
        q.data = k.data = one.data = &x;
        w.wq = w.wk = w.wv = w.wo = one;
        w.wq.cols = w.wk.cols = H * D, w.wv.cols = w.wo.rows = H * Dv;
        w.wk.rows = w.wv.rows = E;
        if (n == 6) { /* a copy of all tokens: the pointer is never used */
            g.wk = w.wk;
            g.wk.data = (void *)((uintptr_t)sum & ~(uintptr_t)7);
            g.wk.row_stride = 1;
        } else {
            g.bo = sum;
        }
        test_case("%s", what[n]);
        CHECK_STATUS(attn_mha_backward(&g, q, q, k, k, &w, NULL, NULL), ATTN_ERR_OVERFLOW);
        CHECK_STATUS(attn_mha_backward(&g, q, q, k, k, &w, NULL, test_dry(NULL, &dry)), ATTN_ERR_OVERFLOW);
        CHECK(dry.scratch == 77);
    }
}

TEST(mha_backward_errno)
{
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 2; n++) {
            call_state c = {0};
            c.p = make_pass(large, test_floats[n], WITH_BIASES);
            c.ctx.isa = isa;
            c.p.t.o.softcap = 1e4;
            c.p.t.o.scale = -300;
            check_errno(&backward, &c);
            test_release();
        }
}

/* The argument at fault by its name; and the scratch of the whole. */
TEST(mha_backward_explain)
{
    pass p = make_pass(large, ATTN_F32, WITH_BIASES);
    call_state c = call_of(&p, ATTN_ISA_BEST);
    char text[TEXT], bytes[32];
    const struct {
        const char *start;
        attn_status status;
    } want[] = {{"grads.wk: ", ATTN_ERR_SHAPE},       {"grads.bv: ", ATTN_ERR_VALUE},
                {"dout: ", ATTN_ERR_SHAPE},           {"grads.q: ", ATTN_ERR_DTYPE},
                {"opts.score_mod: ", ATTN_ERR_VALUE}, {"grads.q, dout: ", ATTN_ERR_ALIAS},
                {"weights.wo: ", ATTN_ERR_NULL}};
    test_case("explain");
    snprintf(bytes, sizeof bytes, "scratch: %zu bytes", needed_by(&backward, &c));
    CHECK_STATUS(make(&backward, DRY, &c, text), ATTN_OK);
    CHECK(test_small ? test_is_brief(text) : strstr(text, bytes) != NULL);
    for (size_t n = 0; n < COUNT(want); n++) {
        pass *bad = &c.p;
        *bad = p;
        switch (n) {
        case 0: bad->g.wk.rows++; break;
        case 1: bad->g.bv = (float *)(void *)((char *)bad->g.bv + 1); break;
        case 2: bad->dout.dim--; break;
        case 3: bad->g.accumulate = 1, bad->g.q.dtype = ATTN_F16; break;
        case 4: bad->t.o.score_mod = modify; break;
        case 5: bad->g.q.data = bad->dout.data; break;
        default: memset(&bad->t.w.wo, 0, sizeof bad->t.w.wo); break;
        }
        CHECK_STATUS(make(&backward, DRY, &c, text), want[n].status);
        if (!CHECK(strncmp(text, want[n].start, strlen(want[n].start)) == 0))
            printf("    %s", text);
    }
}
