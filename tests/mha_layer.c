/* Multi-head layers of random numbers, and their projections in dull loops. */
#include "mha.h"

/* A function of the score and every index. */
static void bend_scores(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    observer *u = user;
    if (b + u->b0 >= u->n.B || h >= u->n.H || i >= u->n.Lq || j0 > u->n.Lk || count > u->n.Lk - j0)
        u->strayed = 1;
    for (size_t n = 0; n < count; n++) {
        double lift = 0.125 * (double)((3 * (b + u->b0) + 5 * h + 7 * i + 11 * (j0 + n)) % 17);
        if (u->f64)
            ((double *)scores)[n] = ((double *)scores)[n] * 0.75 + lift;
        else
            ((float *)scores)[n] = ((float *)scores)[n] * 0.75f + (float)lift;
    }
}

float *random_floats(size_t count)
{
    float *x = test_block(count * sizeof *x);
    for (size_t n = 0; n < count; n++)
        x[n] = (float)test_uniform();
    return x;
}

attn_mat projection(attn_dtype dtype, size_t rows, size_t cols, int layout)
{
    attn_mat m = test_mat(dtype, rows, cols, layout);
    double size = rows ? 1.5 / sqrt((double)rows) : 1;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            (attn_mat_set)(m, r, c, size * test_uniform());
    return m;
}

static attn_tensor spread(attn_dtype dtype, const shape *n, int layout)
{
    return test_random_tensor(dtype, test_maybe() ? n->B : 1, test_maybe() ? n->H : 1, test_maybe() ? n->Lq : 1,
                              test_maybe() ? n->Lk : 1, layout);
}

size_t *random_lengths(size_t B, size_t most)
{
    size_t *lens = test_block((B + 1) * sizeof *lens);
    for (size_t b = 0; b < B; b++)
        lens[b] = test_below(most + 1);
    return lens;
}

static void make_rules(layer *t, int layout)
{
    const shape *n = &t->n;
    ptrdiff_t *offsets = test_block((n->B + 1) * sizeof *offsets);
    for (size_t b = 0; b < n->B; b++)
        offsets[b] = (ptrdiff_t)test_below(n->Lk + 5) - 2;
    t->o.causal = (attn_causal)test_below(4);
    t->o.causal_offset = t->o.causal == ATTN_CAUSAL_OFFSET || test_below(4) == 0 ? offsets : NULL;
    t->o.q_lens = test_below(3) ? NULL : random_lengths(n->B, n->Lq);
    t->o.kv_lens = test_maybe() ? NULL : random_lengths(n->B, n->Lk);
    if (test_below(4) == 0) {
        t->o.window.on = 1;
        t->o.window.left = (ptrdiff_t)test_below(6) - 1, t->o.window.right = (ptrdiff_t)test_below(6) - 1;
    }
    if (test_below(3) == 0)
        t->o.mask = spread(ATTN_BOOL, n, layout);
    if (test_below(3) == 0)
        t->o.bias = spread(test_floats[test_below(4)], n, layout);
}

static void make_numbers(layer *t)
{
    static const double scales[] = {0, 0, 1, -0.7}, softcaps[] = {0, 0, 2};
    observer *u = test_block(sizeof *u);
    float *slopes = random_floats(t->n.H), *sinks = random_floats(t->n.H);
    memset(u, 0, sizeof *u);
    u->f64 = t->compute == ATTN_F64;
    u->n = t->n;
    t->o.scale = scales[test_below(4)];
    t->o.softcap = softcaps[test_below(3)];
    t->o.alibi_slopes = test_below(3) ? NULL : slopes;
    t->o.sinks = test_below(3) ? NULL : sinks;
    t->o.score_mod = test_below(3) ? NULL : bend_scores;
    t->o.score_mod_user = u;
}

void make_outputs(layer *t, attn_dtype type, int weights, int others, int layout)
{
    static const attn_tensor none;
    const shape *n = &t->n;
    t->out = test_tensor(type, n->B, 1, n->Lq, n->E, layout);
    t->o.lse = t->o.weights = t->o.scores = none;
    if (weights)
        t->o.weights = test_tensor(test_floats[others % 4], n->B, weights == 1 ? n->H : 1, n->Lq, n->Lk, layout);
    if (others & 4)
        t->o.lse = test_tensor(test_floats[others / 8 % 4], n->B, n->H, n->Lq, 1, layout);
    if (others & 32) {
        t->o.scores = test_tensor(test_floats[others / 64 % 4], n->B, n->H, n->Lq, n->Lk, layout);
        t->o.scores_stage = (attn_stage)(others / 256 % 3);
    }
}

layer make_layer(shape n, attn_dtype dtype, unsigned with)
{
    layer t;
    attn_dtype type[8];
    int in[8] = {0}, mats = with & WITH_BROADCAST ? LAYOUTS : OUT_LAYOUTS,
        tensors = with & WITH_BROADCAST ? T_LAYOUTS : T_OUT_LAYOUTS;
    memset(&t, 0, sizeof t);
    t.n = n;
    t.compute = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    for (int i = 0; i < 8; i++) {
        type[i] = dtype;
        if (with & WITH_TYPES && dtype != ATTN_F64 && test_below(3) == 0)
            type[i] = test_floats[test_below(3) ? 2 + test_below(2) : 0];
        if (with & WITH_LAYOUTS)
            in[i] = (int)test_below((size_t)(i < 4 ? tensors : mats));
    }
    t.q = test_random_tensor(type[0], n.B, 1, n.Lq, n.Eq, in[0]);
    t.k = test_random_tensor(type[1], n.B, 1, n.Lk, n.Ek, in[1]);
    t.v = test_random_tensor(type[2], n.B, 1, n.Lk, n.Ev, in[2]);
    t.w.wq = projection(type[4], n.Eq, n.H * n.D, in[4]);
    t.w.wk = projection(type[5], n.Ek, n.Hkv * n.D, in[5]);
    t.w.wv = projection(type[6], n.Ev, n.Hkv * n.Dv, in[6]);
    t.w.wo = projection(type[7], n.H * n.Dv, n.E, in[7]);
    t.w.heads = n.H;
    t.w.kv_heads = n.Hkv == n.H && test_maybe() ? 0 : n.Hkv;
    if (with & WITH_BIASES) {
        t.w.bq = test_maybe() ? random_floats(n.H * n.D) : NULL;
        t.w.bk = test_maybe() ? random_floats(n.Hkv * n.D) : NULL;
        t.w.bv = test_maybe() ? random_floats(n.Hkv * n.Dv) : NULL;
        t.w.bo = test_maybe() ? random_floats(n.E) : NULL;
    }
    if (with & WITH_RULES)
        make_rules(&t, in[3] % T_OUT_LAYOUTS);
    if (with & WITH_NUMBERS)
        make_numbers(&t);
    make_outputs(&t, type[3], with & WITH_OUTPUTS ? (int)test_below(3) : 0,
                 with & WITH_OUTPUTS ? (int)test_below(768) : 0, in[3] % T_OUT_LAYOUTS);
    return t;
}

shape random_shape(void)
{
    shape n;
    n.B = 1 + test_below(3);
    n.Hkv = 1 + test_below(3);
    n.H = n.Hkv * (1 + test_below(3));
    n.Lq = test_below(8) ? 1 + test_below(9) : 0;
    n.Lk = test_below(8) ? 1 + test_below(20) : test_below(2);
    n.D = 1 + test_below(9);
    n.Dv = test_maybe() ? n.D : 1 + test_below(7);
    n.Eq = 1 + test_below(20);
    n.Ek = test_maybe() ? n.Eq : 1 + test_below(20);
    n.Ev = test_maybe() ? n.Ek : 1 + test_below(20);
    n.E = test_maybe() ? n.Eq : 1 + test_below(20);
    return n;
}

real fit(real x, test_mode mode)
{
    return mode == NAIVE32 ? (real)(float)x : mode == NAIVE64 ? (real)(double)x : x;
}

attn_tensor project(attn_tensor x, attn_mat w, const float *bias, size_t heads, test_mode mode)
{
    size_t D = w.cols / heads;
    attn_tensor y = test_tensor(mode == NAIVE32 ? ATTN_F32 : ATTN_F64, x.batch, heads, x.len, D, T_BHLD);
    real *row = test_reals(x.dim), *matrix = test_values(w);
    for (size_t b = 0; b < x.batch; b++)
        for (size_t i = 0; i < x.len; i++) {
            for (size_t e = 0; e < x.dim; e++)
                row[e] = test_tensor_get(x, b, 0, i, e);
            for (size_t c = 0; c < w.cols; c++) {
                real sum = 0;
                for (size_t e = 0; e < x.dim; e++)
                    sum = fit(sum + fit(row[e] * matrix[e * w.cols + c], mode), mode);
                test_tensor_set(y, b, c / D, i, c % D, (double)fit(sum + (bias ? (real)bias[c] : 0), mode));
            }
        }
    return y;
}

int zero_row(attn_tensor t, size_t b, size_t h, size_t i)
{
    for (size_t d = 0; d < t.dim; d++)
        if (test_tensor_get(t, b, h, i, d) != 0)
            return 0;
    return 1;
}

attn_tensor lengths_mask(const size_t *lens, size_t B, size_t Lk)
{
    attn_tensor mask = test_tensor(ATTN_BOOL, B, 1, 1, Lk, T_BHLD);
    for (size_t b = 0; b < B; b++)
        for (size_t j = 0; j < Lk; j++)
            *(unsigned char *)test_tensor_at(mask, b, 0, 0, j) = j < lens[b];
    return mask;
}

layer layer_item(const layer *all, size_t b)
{
    layer part = *all;
    part.q = test_tensor_item(all->q, b), part.k = test_tensor_item(all->k, b), part.v = test_tensor_item(all->v, b);
    part.out = test_tensor_item(all->out, b);
    part.o.mask = test_tensor_item(all->o.mask, b), part.o.bias = test_tensor_item(all->o.bias, b);
    part.o.lse = test_tensor_item(all->o.lse, b), part.o.weights = test_tensor_item(all->o.weights, b);
    part.o.scores = test_tensor_item(all->o.scores, b);
    part.o.q_lens = all->o.q_lens ? all->o.q_lens + b : NULL;
    part.o.kv_lens = all->o.kv_lens ? all->o.kv_lens + b : NULL;
    part.o.causal_offset = all->o.causal_offset ? all->o.causal_offset + b : NULL;
    part.n.B = 1;
    return part;
}

const shape usual_layer = {2, 4, 2, 3, 200, 3, 40, 6, 7, 8, 9};

const shape empty_layers[] = {
    {0, 4, 2, 3, 5, 4, 6, 7, 8, 9, 10}, {2, 4, 2, 0, 5, 4, 6, 7, 8, 9, 10}, {2, 4, 2, 3, 0, 4, 6, 7, 8, 9, 10},
    {2, 4, 2, 3, 5, 4, 0, 7, 8, 9, 10}, {2, 4, 2, 3, 5, 4, 6, 0, 8, 9, 10}, {2, 4, 2, 3, 5, 4, 6, 7, 0, 9, 10},
    {2, 4, 2, 3, 5, 4, 6, 7, 8, 0, 10}, {2, 4, 2, 3, 5, 4, 6, 7, 8, 9, 0},  {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0}};

void give_everything(layer *t)
{
    size_t *lens = test_block(4 * sizeof *lens);
    t->w.bq = random_floats(12), t->w.bk = random_floats(6), t->w.bv = random_floats(80), t->w.bo = random_floats(9);
    t->w.kv_heads = 2;
    t->o.mask = test_random_tensor(ATTN_BOOL, 2, 4, 3, 200, T_BHLD);
    t->o.bias = test_random_tensor(ATTN_F32, 2, 4, 3, 200, T_BHLD);
    lens[0] = lens[1] = 3, lens[2] = lens[3] = 100;
    t->o.q_lens = lens, t->o.kv_lens = lens + 2;
    t->o.alibi_slopes = random_floats(4), t->o.sinks = random_floats(4);
}

void layer_grads(layer_call *c)
{
    const attn_mha_weights *w = &c->w;
    attn_dtype type = c->q.dtype;
    c->g.q = test_tensor(type, c->q.batch, 1, c->q.len, c->q.dim, T_BHLD);
    c->g.k = test_tensor(type, c->k.batch, 1, c->k.len, c->k.dim, T_BHLD);
    c->g.v = test_tensor(type, c->v.batch, 1, c->v.len, c->v.dim, T_BHLD);
    c->g.wq = test_mat(type, w->wq.rows, w->wq.cols, PACKED), c->g.wk = test_mat(type, w->wk.rows, w->wk.cols, PACKED);
    c->g.wv = test_mat(type, w->wv.rows, w->wv.cols, PACKED), c->g.wo = test_mat(type, w->wo.rows, w->wo.cols, PACKED);
    c->g.bq = w->bq ? random_floats(w->wq.cols) : NULL, c->g.bk = w->bk ? random_floats(w->wk.cols) : NULL;
    c->g.bv = w->bv ? random_floats(w->wv.cols) : NULL, c->g.bo = w->bo ? random_floats(w->wo.cols) : NULL;
}

attn_status run_layer(const layer_call *c, int back, const attn_ctx *ctx)
{
    if (back)
        return attn_mha_backward(&c->g, c->dout, c->q, c->k, c->v, &c->w, &c->o, ctx);
    return attn_mha(c->out, c->q, c->k, c->v, &c->w, &c->o, ctx);
}
