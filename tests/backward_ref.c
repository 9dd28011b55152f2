/* The reference of the backward pass, written from its formulas: for each head the matrices P, dP and dS as a whole, in
   dull loops, computed as the forward reference computes (sdpa_ref.c), which gives P. */
#include "backward.h"

const char *const backward_names[GRADS] = {"q", "k", "v", "bias", "by_distance", "sinks", "alibi_slopes"};

/* ---- sums ---- */

static real fit(real x, test_mode mode)
{
    return mode == NAIVE32 ? (real)(float)x : mode == NAIVE64 ? (real)(double)x : x;
}

/* A sum in the making: what EXACT lost in rounding, and the magnitudes of its terms. */
typedef struct sum {
    real value, lost, size;
} sum;

static void add(sum *s, real term, real size, test_mode mode)
{
    real before = s->value, after = before + term, part = after - before;
    s->value = fit(after, mode);
    if (mode != EXACT)
        return;
    s->lost += (before - (after - part)) + (term - part); /* Knuth's sum of two */
    s->size += size;
}

static real total(sum s)
{
    return sdpa_finite(s.value) ? s.value + s.lost : s.value;
}

/* ---- what one call has ---- */

typedef struct problem {
    const attn_grads *g;
    attn_opts o;
    test_mode mode;
    attn_dtype compute;
    size_t B, H, Hkv, Lq, Lk, D, Dv;
    real scale;
    const real *q, *k, *v, *dout, *out, *factors; /* [B][heads][L][D]; factors [B][H][Lq][Lk]; out, factors or NULL */
    const real *weights, *dots, *final, *lses; /* P, scores after the scaled product and at the end; the rows' lse */
    unsigned char *seen;                       /* of one head: [Lq][Lk] */
    real *ds, *ds_size, *bent, *bent_size;     /* dS at the end of the scores and where q k^T is scaled; likewise */
    sum *sums[GRADS];
    int shared[GRAD_V + 1]; /* q, k, v: by the batch */
    real most, largest_sum;
} problem;

/* Where element (b, h, i, j) lies in a packed tensor of the shape of t, whose dimensions of 1 stand for any number. */
static size_t broadcast_index(attn_tensor t, size_t b, size_t h, size_t i, size_t j)
{
    size_t head = (t.batch == 1 ? 0 : b) * t.heads + (t.heads == 1 ? 0 : h);
    return (head * t.len + (t.len == 1 ? 0 : i)) * t.dim + (t.dim == 1 ? 0 : j);
}

static real bias_at(attn_tensor t, size_t b, size_t h, size_t i, size_t j)
{
    return test_tensor_get(t, t.batch == 1 ? 0 : b, t.heads == 1 ? 0 : h, t.len == 1 ? 0 : i, t.dim == 1 ? 0 : j);
}

static real dlse_of(const problem *p, size_t b, size_t h, size_t i)
{
    return test_absent_tensor(p->g->dlse) ? 0 : fit(test_tensor_get(p->g->dlse, b, h, i, 0), p->mode);
}

/* |i + o - j|, which ALiBi multiplies with its slope */
static real distance(const problem *p, size_t b, size_t i, size_t j)
{
    return fit(fabsl((real)sdpa_position(&p->o, p->Lq, p->Lk, b, i) - (real)j), p->mode);
}

/* ---- one score ---- */

static real tangent(real x, test_mode mode) /* hyperbolic; tanhl of infinity is NaN under valgrind */
{
    return sdpa_finite(x) || isnan(x) ? fit(tanhl(x), mode) : x > 0 ? 1 : -1;
}

static void raise_most(problem *p, real score)
{
    if (sdpa_finite(score) && fabsl(score) > p->most)
        p->most = fabsl(score);
}

static void raise_sum(problem *p, real size)
{
    if (sdpa_finite(size) && size > p->largest_sum)
        p->largest_sum = size;
}

/* `sums` of backward_result, of one pair. */
static void look_at_sums(problem *p, size_t b, size_t h, size_t i, size_t j)
{
    const real *q = p->q + ((b * p->H + h) * p->Lq + i) * p->D;
    const real *k = p->k + ((b * p->Hkv + h / (p->H / p->Hkv)) * p->Lk + j) * p->D;
    real size = 0;
    for (size_t d = 0; d < p->D; d++)
        size += fabsl(p->scale * q[d] * k[d]);
    if (p->o.softcap > 0)
        raise_sum(p, size / (real)p->o.softcap);
    if (!test_absent_tensor(p->o.bias))
        size += fabsl(bias_at(p->o.bias, b, h, i, j));
    if (p->o.alibi_slopes)
        size += fabsl(p->o.alibi_slopes[h] * distance(p, b, i, j));
    raise_sum(p, size);
}

/* The score that score_mod is given. */
static real before_mod(const problem *p, real capped, size_t b, size_t h, size_t i, size_t j)
{
    real s = capped;
    if (!test_absent_tensor(p->o.bias))
        s = fit(s + fit(bias_at(p->o.bias, b, h, i, j), p->mode), p->mode);
    if (p->o.alibi_slopes)
        s = fit(s - fit((real)p->o.alibi_slopes[h] * distance(p, b, i, j), p->mode), p->mode);
    return s;
}

static real through_mod(const problem *p, real ds, real before, size_t b, size_t h, size_t i, size_t j)
{
    float ds32 = (float)ds, before32 = (float)before;
    double ds64 = (double)ds, before64 = (double)before;
    int f64 = p->compute == ATTN_F64;
    p->g->score_mod_grad(p->o.score_mod_user, f64 ? (void *)&ds64 : (void *)&ds32,
                         f64 ? (const void *)&before64 : (const void *)&before32, 1, b, h, i, j);
    return f64 ? (real)ds64 : (real)ds32;
}

/* From the end of a score back to the scaled product, by way of score_mod and softcap. Bias and slope receive what is
   between them. */
static void score_back(problem *p, size_t b, size_t h, size_t i, size_t j)
{
    size_t n = i * p->Lk + j, at = (b * p->H + h) * p->Lq * p->Lk + n;
    real s = p->dots[at], cap = fit(p->o.softcap, p->mode), bend = 1, before;
    raise_most(p, s);
    if (p->mode == EXACT)
        look_at_sums(p, b, h, i, j);
    if (cap > 0) {
        real t = tangent(fit(s / cap, p->mode), p->mode), square = fit(t * t, p->mode);
        s = fit(cap * t, p->mode);
        bend = fit(1 - square, p->mode);
    }
    before = before_mod(p, s, b, h, i, j);
    raise_most(p, before);
    raise_most(p, p->final[at]);
    if (p->o.score_mod) {
        p->ds[n] = through_mod(p, p->ds[n], before, b, h, i, j);
        p->ds_size[n] = fabsl(through_mod(p, p->ds_size[n], before, b, h, i, j));
    }
    p->bent[n] = fit(p->ds[n] * bend, p->mode);
    p->bent_size[n] = p->ds_size[n];
    if (!test_absent_tensor(p->o.bias))
        add(&p->sums[GRAD_BIAS][broadcast_index(p->o.bias, b, h, i, j)], p->ds[n], p->ds_size[n], p->mode);
    if (p->sums[GRAD_DISTANCE])
        add(&p->sums[GRAD_DISTANCE][h * (p->Lq + p->Lk - 1) + j + p->Lq - 1 - i], p->ds[n], p->ds_size[n], p->mode);
    if (p->o.alibi_slopes) {
        real far = distance(p, b, i, j);
        add(&p->sums[GRAD_SLOPES][h], fit(-far * p->ds[n], p->mode), far * p->ds_size[n], p->mode);
    }
}

/* ---- one row ---- */

/* dP = z dout . v; with out in place of v, the row's sum of P dP */
static sum weight_gradient(const problem *p, const real *dout, const real *v, real z)
{
    sum dp = {0, 0, 0};
    for (size_t d = 0; d < p->Dv; d++) {
        real term = fit(dout[d] * v[d], p->mode);
        add(&dp, term, fabsl(term), p->mode);
    }
    dp.value = fit(z * total(dp), p->mode);
    dp.size *= z;
    return dp;
}

/* dS = P (dP - (the row's sum of P dP - dlse)); a sink is a key whose dP is 0. */
static void row_back(problem *p, size_t b, size_t h, size_t i)
{
    size_t r = (b * p->H + h) * p->Lq + i, kv = b * p->Hkv + h / (p->H / p->Hkv);
    const real *weights = p->weights + r * p->Lk, dlse = dlse_of(p, b, h, i);
    real *ds = p->ds + i * p->Lk, *size = p->ds_size + i * p->Lk, left, left_size;
    const unsigned char *seen = p->seen + i * p->Lk;
    sum delta = {0, 0, 0};
    for (size_t j = 0; j < p->Lk; j++)
        if (seen[j]) {
            real z = p->factors ? fit(p->factors[r * p->Lk + j], p->mode) : 1;
            sum dp = weight_gradient(p, p->dout + r * p->Dv, p->v + (kv * p->Lk + j) * p->Dv, z);
            ds[j] = dp.value, size[j] = dp.size;
            add(&delta, fit(weights[j] * ds[j], p->mode), weights[j] * size[j], p->mode);
        }
    if (p->out)
        delta = weight_gradient(p, p->dout + r * p->Dv, p->out + r * p->Dv, 1);
    left = fit(total(delta) - dlse, p->mode);
    left_size = delta.size + fabsl(dlse);
    raise_most(p, p->lses[r]);
    for (size_t j = 0; j < p->Lk; j++)
        if (seen[j]) {
            ds[j] = fit(weights[j] * fit(ds[j] - left, p->mode), p->mode);
            size[j] = weights[j] * (size[j] + left_size);
            score_back(p, b, h, i, j);
        }
    if (p->o.sinks && !(sdpa_infinite(p->o.sinks[h]) < 0)) {
        real part = fit(p->o.sinks[h] - p->lses[r], p->mode);
        raise_most(p, p->o.sinks[h]);
        raise_sum(p, fabsl(p->o.sinks[h]));
        part = p->mode == EXACT ? expl(part) : fit(exp((double)part), p->mode);
        add(&p->sums[GRAD_SINKS][h], fit(-part * left, p->mode), part * left_size, p->mode);
    }
}

/* ---- one head ---- */

static void see(problem *p, size_t b, size_t h)
{
    const real *final = p->final + (b * p->H + h) * p->Lq * p->Lk;
    for (size_t i = 0; i < p->Lq; i++)
        for (size_t j = 0; j < p->Lk; j++) {
            size_t n = i * p->Lk + j;
            int sees = sdpa_sees(&p->o, p->Lq, p->Lk, b, h, i, j) && !(sdpa_infinite(final[n]) < 0);
            p->seen[n] = (unsigned char)sees;
        }
}

/* to[d] += the sum over n of factor a[n] rows[n][d], n = first, first + step, .. */
static void add_product(const problem *p, sum *to, real factor, const real *a, const real *a_size,
                        const unsigned char *seen, size_t count, size_t step, const real *rows, size_t dims)
{
    for (size_t d = 0; d < dims; d++) {
        sum s = {0, 0, 0};
        for (size_t n = 0; n < count; n++)
            if (seen[n * step])
                add(&s, fit(a[n * step] * rows[n * dims + d], p->mode), fabsl(a_size[n * step] * rows[n * dims + d]),
                    p->mode);
        add(&to[d], fit(factor * total(s), p->mode), fabsl(factor) * s.size, p->mode);
    }
}

static void head_back(problem *p, size_t b, size_t h)
{
    size_t head = b * p->H + h, kv = b * p->Hkv + h / (p->H / p->Hkv), Lq = p->Lq, Lk = p->Lk, D = p->D, Dv = p->Dv;
    const real *q = p->q + head * Lq * D, *k = p->k + kv * Lk * D, *dout = p->dout + head * Lq * Dv;
    sum *dq = p->sums[GRAD_Q] + (p->shared[GRAD_Q] ? h : head) * Lq * D, *dk = p->sums[GRAD_K], *dv = p->sums[GRAD_V];
    real *used = p->bent; /* the weights after dropout, before dS takes their place */
    dk += (p->shared[GRAD_K] ? h / (p->H / p->Hkv) : kv) * Lk * D;
    dv += (p->shared[GRAD_V] ? h / (p->H / p->Hkv) : kv) * Lk * Dv;
    see(p, b, h);
    for (size_t n = 0; n < Lq * Lk; n++)
        used[n] = p->weights[head * Lq * Lk + n];
    for (size_t n = 0; n < Lq * Lk && p->factors; n++)
        used[n] = fit(used[n] * fit(p->factors[head * Lq * Lk + n], p->mode), p->mode);
    for (size_t j = 0; j < Lk; j++)
        add_product(p, dv + j * Dv, 1, used + j, used + j, p->seen + j, Lq, Lk, dout, Dv);
    for (size_t i = 0; i < Lq; i++)
        if (!p->o.q_lens || i < p->o.q_lens[b]) {
            const real *bent = p->bent + i * Lk, *size = p->bent_size + i * Lk;
            row_back(p, b, h, i);
            add_product(p, dq + i * D, p->scale, bent, size, p->seen + i * Lk, Lk, 1, k, D);
        }
    for (size_t j = 0; j < Lk; j++)
        add_product(p, dk + j * D, p->scale, p->bent + j, p->bent_size + j, p->seen + j, Lq, Lk, q, D);
}

/* ---- the whole ---- */

static int by_distance_fits(const problem *p)
{
    attn_tensor t = p->o.bias;
    return !test_absent_tensor(t) && t.batch == 1 && t.heads == p->H && t.len == p->Lq && t.dim == p->Lk &&
           (t.len_stride == -t.dim_stride || p->Lq + p->Lk == 2) && p->Lq + p->Lk > 0;
}

static void count_elements(const problem *p, size_t *counts)
{
    size_t items[3];
    for (int g = 0; g <= GRAD_V; g++)
        items[g] = p->shared[g] ? 1 : p->B;
    counts[GRAD_Q] = items[GRAD_Q] * p->H * p->Lq * p->D;
    counts[GRAD_K] = items[GRAD_K] * p->Hkv * p->Lk * p->D;
    counts[GRAD_V] = items[GRAD_V] * p->Hkv * p->Lk * p->Dv;
    counts[GRAD_BIAS] = p->o.bias.batch * p->o.bias.heads * p->o.bias.len * p->o.bias.dim;
    counts[GRAD_DISTANCE] = by_distance_fits(p) ? p->H * (p->Lq + p->Lk - 1) : 0;
    counts[GRAD_SINKS] = p->o.sinks ? p->H : 0;
    counts[GRAD_SLOPES] = p->o.alibi_slopes ? p->H : 0;
}

/* Of the forward pass: the weights, the first and last scores, lse. */
static void forward(problem *p, attn_tensor q, attn_tensor k, attn_tensor v)
{
    size_t rows = p->B * p->H * p->Lq;
    real *weights = test_reals(rows * p->Lk), *dots = test_reals(rows * p->Lk), *lses = test_reals(rows);
    real *final = p->o.score_mod ? test_reals(rows * p->Lk) : dots;
    p->o.scores_stage = ATTN_STAGE_DOT;
    sdpa_reference(NULL, lses, weights, dots, q, k, v, &p->o, p->mode);
    p->o.scores_stage = ATTN_STAGE_FINAL;
    if (p->o.score_mod)
        sdpa_reference(NULL, NULL, NULL, final, q, k, v, &p->o, p->mode);
    p->weights = weights, p->dots = dots, p->lses = lses, p->final = final;
}

void sdpa_backward_reference(backward_result *result, const attn_grads *grads, attn_tensor dout, attn_tensor q,
                             attn_tensor k, attn_tensor v, attn_tensor out, const attn_opts *opts, const real *factors,
                             test_mode mode)
{
    static const attn_opts none;
    problem p = {0};
    p.g = grads, p.mode = mode, p.factors = factors;
    p.o = opts ? *opts : none;
    p.compute = q.dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    p.B = q.batch, p.H = q.heads, p.Hkv = k.heads, p.Lq = q.len, p.Lk = k.len, p.D = q.dim, p.Dv = v.dim;
    p.scale = fit(p.o.scale != 0 ? (real)p.o.scale : 1 / sqrtl((real)p.D), mode);
    p.shared[GRAD_Q] = !q.batch_stride, p.shared[GRAD_K] = !k.batch_stride, p.shared[GRAD_V] = !v.batch_stride;
    p.q = test_tensor_values(q), p.k = test_tensor_values(k), p.v = test_tensor_values(v);
    p.dout = test_tensor_values(dout), p.out = test_absent_tensor(out) ? NULL : test_tensor_values(out);
    forward(&p, q, k, v);
    p.seen = test_block(p.Lq * p.Lk);
    p.ds = test_reals(p.Lq * p.Lk), p.ds_size = test_reals(p.Lq * p.Lk);
    p.bent = test_reals(p.Lq * p.Lk), p.bent_size = test_reals(p.Lq * p.Lk);
    count_elements(&p, result->counts);
    for (int g = 0; g < GRADS; g++) {
        int always = g == GRAD_Q || g == GRAD_K || g == GRAD_V; /* also without elements: no pointer is NULL */
        p.sums[g] = always || result->counts[g] ? test_block(result->counts[g] * sizeof *p.sums[g]) : NULL;
        if (p.sums[g])
            memset(p.sums[g], 0, result->counts[g] * sizeof *p.sums[g]);
    }
    for (size_t b = 0; b < p.B; b++)
        for (size_t h = 0; h < p.H; h++)
            head_back(&p, b, h);
    for (int g = 0; g < GRADS; g++) {
        result->values[g] = result->counts[g] ? test_reals(result->counts[g]) : NULL;
        result->sizes[g] = result->counts[g] ? test_reals(result->counts[g]) : NULL;
        for (size_t n = 0; n < result->counts[g]; n++)
            result->values[g][n] = total(p.sums[g][n]), result->sizes[g][n] = p.sums[g][n].size;
    }
    result->most = p.most, result->sums = p.largest_sum;
}

/* ---- what a call has written ---- */

static attn_tensor tensor_of(const attn_grads *g, int grad)
{
    return grad == GRAD_Q ? g->q : grad == GRAD_K ? g->k : grad == GRAD_V ? g->v : g->bias;
}

real backward_get(const attn_grads *g, int grad, size_t n)
{
    if (grad <= GRAD_BIAS) {
        attn_tensor t = tensor_of(g, grad);
        size_t i = n / t.dim, h = i / t.len;
        return test_tensor_get(t, h / t.heads, h % t.heads, i % t.len, n % t.dim);
    }
    if (grad == GRAD_DISTANCE)
        return test_load(test_at(g->by_distance, n / g->by_distance.cols, n % g->by_distance.cols),
                         g->by_distance.dtype);
    return grad == GRAD_SINKS ? g->sinks[n] : g->alibi_slopes[n];
}

attn_dtype backward_dtype(const attn_grads *g, int grad)
{
    return grad <= GRAD_BIAS ? tensor_of(g, grad).dtype : grad == GRAD_DISTANCE ? g->by_distance.dtype : ATTN_F32;
}

real *backward_factors(attn_dropout dropout, size_t B, size_t H, size_t Lq, size_t Lk)
{
    attn_opts o = {0};
    attn_tensor q = test_tensor(test_wide, B, H, Lq, 1, T_BHLD), k = test_tensor(test_wide, B, H, Lk, 1, T_BHLD);
    real *z;
    if (dropout.p <= 0)
        return NULL;
    test_fill_tensor(q, 0), test_fill_tensor(k, 0);
    o.dropout = dropout;
    o.weights = test_tensor(test_wide, B, H, Lq, Lk, T_BHLD);
    CHECK_STATUS(attn_sdpa(test_tensor_like(q, T_BHLD), q, k, k, &o, NULL), ATTN_OK);
    z = test_tensor_values(o.weights);
    for (size_t n = 0; n < B * H * Lq * Lk; n++)
        z[n] = z[n] > 0 ? 1 / (1 - (real)dropout.p) : 0;
    return z;
}
