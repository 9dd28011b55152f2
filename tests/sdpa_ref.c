/* The reference of the engine, written from the text of the interface: dull loops over batch, heads, queries and keys,
   computed in one of three ways: far beyond f64 with compensated sums (EXACT), or rounding every operation to f32 or
   f64, as the naive composition of the steps does. Inputs are held as double, which every element type fits. */
#include "sdpa.h"

/* ---- visibility ---- */

static size_t valid_queries(const attn_opts *o, size_t Lq, size_t b)
{
    return o->q_lens ? o->q_lens[b] : Lq;
}

static size_t valid_keys(const attn_opts *o, size_t Lk, size_t b)
{
    return o->kv_lens ? o->kv_lens[b] : Lk;
}

ptrdiff_t sdpa_position(const attn_opts *o, size_t Lq, size_t Lk, size_t b, size_t i)
{
    ptrdiff_t offset = 0;
    if (o->causal == ATTN_CAUSAL_LOWER_RIGHT)
        offset = (ptrdiff_t)valid_keys(o, Lk, b) - (ptrdiff_t)valid_queries(o, Lq, b);
    else if (o->causal == ATTN_CAUSAL_OFFSET || (o->causal == ATTN_CAUSAL_NONE && o->causal_offset))
        offset = o->causal_offset[b];
    return offset > PTRDIFF_MAX - (ptrdiff_t)i ? PTRDIFF_MAX : offset + (ptrdiff_t)i;
}

/* Element (b, h, i, j) of a tensor whose dimensions of 1 stand for any number. */
static real broadcast(attn_tensor t, size_t b, size_t h, size_t i, size_t j)
{
    return test_tensor_get(t, t.batch == 1 ? 0 : b, t.heads == 1 ? 0 : h, t.len == 1 ? 0 : i, t.dim == 1 ? 0 : j);
}

int sdpa_sees(const attn_opts *o, size_t Lq, size_t Lk, size_t b, size_t h, size_t i, size_t j)
{
    ptrdiff_t position = sdpa_position(o, Lq, Lk, b, i);
    real ahead = (real)j - (real)position;
    if (i >= valid_queries(o, Lq, b) || j >= valid_keys(o, Lk, b))
        return 0;
    if (o->causal != ATTN_CAUSAL_NONE && (ptrdiff_t)j > position)
        return 0;
    if (o->window.on && o->window.left >= 0 && -ahead > (real)o->window.left)
        return 0;
    if (o->window.on && o->window.right >= 0 && ahead > (real)o->window.right)
        return 0;
    if (!test_absent_tensor(o->mask) && broadcast(o->mask, b, h, i, j) == 0)
        return 0;
    if (!test_absent_tensor(o->bias) && sdpa_infinite(broadcast(o->bias, b, h, i, j)) < 0)
        return 0;
    return 1;
}

/* ---- arithmetic ---- */

int sdpa_finite(real x)
{
    return isfinite((double)x);
}

int sdpa_infinite(real x)
{
    return (double)x == HUGE_VAL ? 1 : (double)x == -HUGE_VAL ? -1 : 0;
}

static real fit(real x, test_mode mode)
{
    return mode == NAIVE32 ? (real)(float)x : mode == NAIVE64 ? (real)(double)x : x;
}

static real exponential(real x, test_mode mode)
{
    return mode == EXACT ? expl(x) : fit(exp((double)x), mode);
}

static real tangent(real x, test_mode mode) /* hyperbolic; tanhl of infinity is NaN under valgrind */
{
    return sdpa_finite(x) || isnan(x) ? fit(tanhl(x), mode) : x > 0 ? 1 : -1;
}

/* *sum += x, what was lost in rounding goes to *lost (Knuth's sum of two). */
static void add(real *sum, real *lost, real x)
{
    real before = *sum, after = before + x, part = after - before;
    *sum = after;
    *lost += (before - (after - part)) + (x - part);
}

static real total(real sum, real lost)
{
    return sdpa_finite(sum) ? sum + lost : sum;
}

/* a . b; EXACT adds the sum of magnitudes to *size. */
static real dot(const double *a, const double *b, size_t count, real *size, test_mode mode)
{
    if (mode == EXACT) {
        real sum = 0, lost = 0;
        for (size_t n = 0; n < count; n++) {
            real term = (real)a[n] * (real)b[n];
            add(&sum, &lost, term);
            *size += fabsl(term);
        }
        return total(sum, lost);
    }
    if (mode == NAIVE32) {
        float sum = 0;
        for (size_t n = 0; n < count; n++) {
            float term = (float)a[n] * (float)b[n];
            sum += term;
        }
        return sum;
    } else {
        double sum = 0;
        for (size_t n = 0; n < count; n++) {
            double term = a[n] * b[n];
            sum += term;
        }
        return sum;
    }
}

/* out[d] = sum over the keys that are seen of weights[j] v[j][d] */
static void mix(real *out, const real *weights, const unsigned char *seen, const double *v, size_t Lk, size_t Dv,
                test_mode mode)
{
    for (size_t d = 0; d < Dv; d++) {
        real sum = 0, lost = 0;
        float sum32 = 0;
        double sum64 = 0;
        for (size_t j = 0; j < Lk; j++) {
            if (!seen[j])
                continue;
            if (mode == EXACT)
                add(&sum, &lost, weights[j] * (real)v[j * Dv + d]);
            else if (mode == NAIVE32) {
                float term = (float)weights[j] * (float)v[j * Dv + d];
                sum32 += term;
            } else {
                double term = (double)weights[j] * v[j * Dv + d];
                sum64 += term;
            }
        }
        out[d] = mode == EXACT ? total(sum, lost) : mode == NAIVE32 ? (real)sum32 : (real)sum64;
    }
}

/* ---- one score ---- */

size_t sdpa_pairs;

typedef struct problem {
    const attn_opts *o;
    const float *slopes;
    test_mode mode;
    int f64;
    size_t Lq, Lk, D;
    real scale;
} problem;

static real modified(const problem *p, real score, size_t b, size_t h, size_t i, size_t j)
{
    float x32 = (float)score;
    double x64 = (double)score;
    p->o->score_mod(p->o->score_mod_user, p->f64 ? (void *)&x64 : (void *)&x32, 1, b, h, i, j);
    return p->f64 ? (real)x64 : (real)x32;
}

static void raise_size(real size, test_mode mode)
{
    if (mode == EXACT && sdpa_finite(size) && size > test_size_of_sums)
        test_size_of_sums = size;
}

/* stages[0 .. 2] = the score after the dot product, after softcap, and at the end. */
static void score(const problem *p, real *stages, const double *q, const double *k, size_t b, size_t h, size_t i,
                  size_t j, int sees)
{
    const attn_opts *o = p->o;
    test_mode mode = p->mode;
    real size = 0, cap = fit(o->softcap, mode), s;
    s = stages[ATTN_STAGE_DOT] = fit(p->scale * dot(q, k, p->D, &size, mode), mode);
    size *= fabsl(p->scale);
    if (o->softcap > 0)
        s = fit(cap * tangent(fit(s / cap, mode), mode), mode);
    stages[ATTN_STAGE_SOFTCAP] = s;
    stages[ATTN_STAGE_FINAL] = -INFINITY;
    raise_size(size, mode);
    if (!sees)
        return;
    if (!test_absent_tensor(o->bias)) {
        real bias = fit(broadcast(o->bias, b, h, i, j), mode);
        s = fit(s + bias, mode);
        size += fabsl(bias);
    }
    if (o->alibi_slopes) {
        real distance = fit(fabsl((real)sdpa_position(o, p->Lq, p->Lk, b, i) - (real)j), mode);
        real lean = fit((real)o->alibi_slopes[h] * distance, mode);
        s = fit(s - lean, mode);
        size += fabsl(lean);
    }
    if (o->score_mod)
        s = modified(p, s, b, h, i, j);
    stages[ATTN_STAGE_FINAL] = s;
    if (size < fabsl(s))
        size = fabsl(s);
    sdpa_pairs += mode == EXACT;
    raise_size(size, mode);
}

/* ---- one row ---- */

/* weights[0 .. Lk - 1] holds the scores, -infinity where nothing is seen, and becomes the probabilities. Returns the
   log of the sum of exp. */
static real softmax(real *weights, size_t Lk, const float *sink, test_mode mode)
{
    real most = sink ? *sink : -INFINITY, sum = 0, lost = 0, divisor;
    int bad = sink && (isnan(*sink) || sdpa_infinite(*sink) > 0);
    for (size_t j = 0; j < Lk; j++) {
        bad |= isnan(weights[j]) || sdpa_infinite(weights[j]) > 0;
        most = weights[j] > most ? weights[j] : most;
    }
    if (bad || sdpa_infinite(most) < 0) {
        for (size_t j = 0; j < Lk; j++)
            weights[j] = bad ? NAN : 0;
        return bad ? NAN : -INFINITY;
    }
    for (size_t j = 0; j <= Lk; j++) {
        real s = j < Lk ? weights[j] : sink ? *sink : -INFINITY;
        real e = sdpa_infinite(s) < 0 ? 0 : exponential(fit(s - most, mode), mode);
        if (j < Lk)
            weights[j] = e;
        if (mode == EXACT)
            add(&sum, &lost, e);
        else
            sum = fit(sum + e, mode);
    }
    divisor = total(sum, lost);
    for (size_t j = 0; j < Lk; j++)
        weights[j] = fit(weights[j] / divisor, mode);
    return fit(most + fit(logl(divisor), mode), mode);
}

/* ---- the whole ---- */

static double *values(attn_tensor t) /* [B][H][L][D] */
{
    double *x = test_block(t.batch * t.heads * t.len * t.dim * sizeof *x), *next = x;
    for (size_t b = 0; b < t.batch; b++)
        for (size_t h = 0; h < t.heads; h++)
            for (size_t i = 0; i < t.len; i++)
                for (size_t d = 0; d < t.dim; d++)
                    *next++ = (double)test_tensor_get(t, b, h, i, d);
    return x;
}

void sdpa_reference(real *out, real *lse, real *weights, real *scores, attn_tensor q, attn_tensor k, attn_tensor v,
                    const attn_opts *opts, test_mode mode)
{
    static const attn_opts none;
    size_t H = q.heads, Lq = q.len, Lk = k.len, D = q.dim, Dv = v.dim;
    const double *qs = values(q), *ks = values(k), *vs = values(v);
    real *row = test_reals(Lk), stages[3];
    unsigned char *sees = test_block(Lk);
    problem p = {opts ? opts : &none, NULL, mode, q.dtype == ATTN_F64, Lq, Lk, D, 0};
    p.scale = fit(p.o->scale != 0 ? (real)p.o->scale : 1 / sqrtl((real)D), mode);
    for (size_t b = 0; b < q.batch; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < Lq; i++) {
                size_t r = (b * H + h) * Lq + i, kv = b * k.heads + h / (H / k.heads);
                int valid = i < valid_queries(p.o, Lq, b);
                real l = -INFINITY;
                for (size_t j = 0; j < Lk; j++) {
                    sees[j] = (unsigned char)sdpa_sees(p.o, Lq, Lk, b, h, i, j);
                    stages[0] = stages[1] = stages[2] = -INFINITY;
                    if (sees[j] || (scores && valid && j < valid_keys(p.o, Lk, b)))
                        score(&p, stages, qs + r * D, ks + (kv * Lk + j) * D, b, h, i, j, sees[j]);
                    row[j] = stages[ATTN_STAGE_FINAL];
                    if (sdpa_infinite(row[j]) < 0)
                        sees[j] = 0;
                    if (scores)
                        scores[r * Lk + j] = stages[p.o->scores_stage];
                }
                if (valid)
                    l = softmax(row, Lk, p.o->sinks ? p.o->sinks + h : NULL, mode);
                else
                    for (size_t j = 0; j < Lk; j++)
                        row[j] = 0;
                if (lse)
                    lse[r] = l;
                if (weights)
                    memcpy(weights + r * Lk, row, Lk * sizeof *row);
                if (out)
                    mix(out + r * Dv, row, sees, vs + kv * Lk * Dv, Lk, Dv, mode);
                for (size_t d = 0; out && isnan(l) && d < Dv; d++)
                    out[r * Dv + d] = NAN;
            }
}

real *sdpa_pairs_error(attn_isa isa, attn_tensor q, attn_tensor k, attn_tensor v, const attn_opts *opts)
{
    attn_tensor sizes;
    real *errors;
    size_t count = q.batch * q.heads * q.len * v.dim;
    if (!test_takes_pairs(isa, q.dtype, k.dtype, v.dtype))
        return NULL;
    sizes = test_tensor_like(v, T_BHLD);
    for (size_t n = 0; n < v.batch * v.heads * v.len * v.dim; n++)
        ((uint16_t *)sizes.data)[n] &= 0x7fff;
    errors = test_reals(count);
    sdpa_reference(errors, NULL, NULL, NULL, q, k, sizes, opts, NAIVE64);
    for (size_t n = 0; n < count; n++)
        errors[n] = test_pairs_error(isa, q.dtype, k.dtype, v.dtype, errors[n]);
    return errors;
}

/* ---- comparison ---- */

real sdpa_worst_naive, sdpa_worst_got;

real sdpa_least(real size, attn_dtype compute)
{
    return size * test_ulp(test_size_of_sums > 1 ? test_size_of_sums : 1, compute) / 2;
}

static real error_of(real got, real want)
{
    return sdpa_finite(want) && sdpa_finite(got) ? fabsl(got - want) : 0;
}

/* Whether `got`, as stored, is right where `want` is a NaN, an infinity, or more than an F16 holds. */
static int is_special(real got, real want)
{
    return isnan(want) ? isnan(got) : !sdpa_finite(want) ? got == want : want > 0 ? got >= 65504 : got <= -65504;
}

int sdpa_close(attn_tensor got, const real *want, const real *naive, attn_dtype compute, real least)
{
    return sdpa_close_pairs(got, want, naive, compute, least, NULL);
}

int sdpa_close_pairs(attn_tensor got, const real *want, const real *naive, attn_dtype compute, real least,
                     const real *pairs)
{
    size_t count = got.batch * got.heads * got.len * got.dim, n = 0;
    real worst = 0;
    for (n = 0; n < count; n++)
        worst = error_of(naive[n], want[n]) > worst ? error_of(naive[n], want[n]) : worst;
    sdpa_worst_naive = worst > sdpa_worst_naive ? worst : sdpa_worst_naive;
    worst = worst > least ? worst : least;
    n = 0;
    for (size_t b = 0; b < got.batch; b++)
        for (size_t h = 0; h < got.heads; h++)
            for (size_t i = 0; i < got.len; i++)
                for (size_t d = 0; d < got.dim; d++, n++) {
                    real x = test_tensor_get(got, b, h, i, d), y = want[n], tolerance;
                    if (!sdpa_finite(y) || (got.dtype == ATTN_F16 && fabsl(y) > 65504)) {
                        if (is_special(x, y))
                            continue;
                    } else {
                        real error = error_of(x, y);
                        sdpa_worst_got = error > sdpa_worst_got ? error : sdpa_worst_got;
                        if (error <= 2 * worst && sdpa_finite(x))
                            continue;
                        tolerance = 2 * worst + 4 * test_ulp(y, compute) + (pairs ? pairs[n] : 0);
                        if (test_size(got.dtype) < test_size(compute))
                            tolerance += test_ulp(fabsl(y) + tolerance, got.dtype) / 2;
                        if (error <= tolerance && sdpa_finite(x))
                            continue;
                    }
                    printf("    element %zu %zu %zu %zu: got %.9Lg, want %.9Lg, naive %.9Lg, off by %.3Lg; naive by "
                           "at most %.3Lg\n",
                           b, h, i, d, x, y, naive[n], fabsl(x - y), worst);
                    return 0;
                }
    return 1;
}

/* ---- data that is hard ---- */

void sdpa_aim(attn_tensor q, attn_tensor k, size_t h, size_t j, double scale, double score)
{
    size_t first = h * (q.heads / k.heads);
    real dot_product = 0, square = 0;
    for (size_t d = 0; d < q.dim; d++) {
        real x = test_tensor_get(q, 0, first, 0, d);
        dot_product += x * test_tensor_get(k, 0, h, j, d);
        square += x * x;
    }
    for (size_t d = 0; d < q.dim && square > 0; d++) {
        real x = test_tensor_get(k, 0, h, j, d), along = test_tensor_get(q, 0, first, 0, d);
        test_tensor_set(k, 0, h, j, d, (double)(x + ((real)score / scale - dot_product) / square * along));
    }
}

void sdpa_climb(attn_tensor q, attn_tensor k, attn_tensor v, double power)
{
    double step = q.dtype == ATTN_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    double S = power * (1 + 4096 * step), half = power * step / 2, up = half * (1 - step / 2),
           down = -half * (1 - step);
    for (size_t d = 0; d < q.dim; d++) {
        test_tensor_set(q, 0, 0, 0, d, d ? 1 + step : 1);
        for (size_t j = 0; j < k.len; j++)
            test_tensor_set(k, 0, 0, j, d, d == 0 ? S : (j % 2 ? -1 : 1) * (d % 2 ? up : down));
    }
    for (size_t j = 0; j < k.len; j++)
        test_fill_tensor(attn_tensor_slice(v, j, 1), j % 2 ? -1 : 1);
}
