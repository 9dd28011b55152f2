/* Products of pairs of BF16, ATTN_ISA_AVX512BF16: two terms of a sum at a time, neighbours among the dims of a query
   and a key, keys 2m and 2m + 1 of weights and values, or neighbours along k of a matrix product. Sums are float, and
   weights are rounded to BF16 for the product with V alone, and only where queries are many: few rows, and all of them
   if batch_invariant, multiply values by the very weights, as the base does. So the bound of an element is what
   NUMERICS of attn.h says of float and, with weights that are rounded, 2^-8 of the sum of the magnitudes that it is
   made of. What makes a pair depends on the numbers of the keys, never on the call: bits are those of any other way to
   the same rows, of as many queries or batch_invariant. Hidden keys are no part of a pair with a visible one. What has
   no pairs of BF16 has the bits of ATTN_ISA_AVX512, the base.

   PAIRS_CASE=N ./build/test pairs_grid runs case N alone. */
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define HAVE_CPUID 1
#include <cpuid.h>
#endif
#include "trial.h"

#define PAIRS (pairs_ctx.isa) /* once lacks_pairs has said 0 */
#define BASE (base_ctx.isa)   /* what it is but for pairs */

static attn_ctx pairs_ctx, base_ctx; /* both batch_invariant, or neither: first they are not */

static void be_invariant(int yes)
{
    pairs_ctx.batch_invariant = base_ctx.batch_invariant = yes;
}

static int lacks_pairs(void) /* this CPU, or this build: there is nothing to test */
{
    pairs_ctx = test_ctx(ATTN_ISA_AVX512BF16);
    base_ctx = test_ctx(ATTN_ISA_AVX512);
    return !CHECK(PAIRS <= TEST_LAST_ISA) || !attn_isa_available(PAIRS);
}

static double unit(void) /* by how much a sum is rounded, relative to it */
{
    return 0x1p-24;
}

/* ---- comparison ---- */

static int said; /* lines about what differs: the first are enough */
#define SAY(...) ((void)(said++ < 40 && printf(__VA_ARGS__)))

/* The same bits, the sign of a zero and which NaN it is aside. */
static int same_number(const void *a, const void *b, attn_dtype dtype)
{
    real x, y;
    if (memcmp(a, b, test_size(dtype)) == 0)
        return 1;
    x = test_load(a, dtype), y = test_load(b, dtype);
    return (isnan(x) && isnan(y)) || (x == 0 && y == 0);
}

static int same(attn_tensor a, attn_tensor b) /* says the first element that differs */
{
    if (!CHECK(a.dtype == b.dtype && a.batch == b.batch && a.heads == b.heads && a.len == b.len && a.dim == b.dim))
        return 0;
    for (size_t n = 0; n < a.batch * a.heads * a.len; n++)
        for (size_t d = 0; d < a.dim; d++) {
            size_t i = n % a.len, h = n / a.len % a.heads, item = n / a.len / a.heads;
            if (d == 0 && a.dim_stride == 1 && b.dim_stride == 1 &&
                memcmp(test_tensor_at(a, item, h, i, 0), test_tensor_at(b, item, h, i, 0),
                       a.dim * test_size(a.dtype)) == 0)
                break;
            if (same_number(test_tensor_at(a, item, h, i, d), test_tensor_at(b, item, h, i, d), a.dtype))
                continue;
            SAY("    element %zu %zu %zu %zu: %.9Lg and %.9Lg\n", item, h, i, d, test_tensor_get(a, item, h, i, d),
                test_tensor_get(b, item, h, i, d));
            return 0;
        }
    return 1;
}

static attn_tensor as_tensor(attn_mat m)
{
    return attn_tensor_of(m.data, m.dtype, 1, 1, m.rows, m.cols, 0, 0, m.row_stride, m.col_stride);
}

static int same_mats(attn_mat a, attn_mat b)
{
    return same(as_tensor(a), as_tensor(b));
}

/* ---- views ---- */

static attn_tensor rows_of(attn_tensor t, size_t b, size_t first, size_t count)
{
    t = test_tensor_item(t, b);
    t.data = test_tensor_at(t, 0, 0, first, 0);
    t.len = count;
    return t;
}

static attn_tensor columns_of(attn_tensor t, size_t count)
{
    t.dim = count;
    return t;
}

enum {                           /* where tensors lie, besides enum test_tensor_layout */
       ODD_ROWS = T_OUT_LAYOUTS, /* an odd number of elements apart, */
       EVEN_ROWS,                /* or an even one, of heads and items that are odd ones apart */
       SIDE_BY_SIDE,             /* heads in rows of an odd number */
       PLACES,
       FAR_ROWS = PLACES, /* a multiple of 8 KiB apart, heads side by side in them */
       FAR_BACK,          /* the same, the last row first */
       FAR_ODD            /* an element more */
};

/* A copy of t with these strides, at an odd number of elements from where memory is aligned. */
static attn_tensor strided(attn_tensor t, ptrdiff_t batch, ptrdiff_t head, ptrdiff_t len, ptrdiff_t dim)
{
    const ptrdiff_t strides[4] = {batch, head, len, dim};
    const size_t sizes[4] = {t.batch, t.heads, t.len, t.dim}, size = test_size(t.dtype);
    ptrdiff_t first = -1, last = 1;
    attn_tensor to = t;
    for (int n = 0; n < 4; n++) {
        ptrdiff_t end = (ptrdiff_t)(sizes[n] - 1) * strides[n];
        first += end < 0 ? end : 0;
        last += end > 0 ? end : 0;
    }
    to.batch_stride = batch, to.head_stride = head, to.len_stride = len, to.dim_stride = dim;
    to.data = (char *)test_block((size_t)(last - first) * size) - first * (ptrdiff_t)size;
    for (size_t n = 0; n < t.batch * t.heads * t.len; n++) {
        char *at = test_tensor_at(to, n / t.len / t.heads, n / t.len % t.heads, n % t.len, 0);
        const char *from = test_tensor_at(t, n / t.len / t.heads, n / t.len % t.heads, n % t.len, 0);
        for (size_t d = 0; d < t.dim; d++, at += dim * (ptrdiff_t)size, from += t.dim_stride * (ptrdiff_t)size)
            memcpy(at, from, size);
    }
    return to;
}

static attn_tensor laid(attn_tensor t, int place)
{
    ptrdiff_t d = (ptrdiff_t)t.dim, l = (ptrdiff_t)t.len, h = (ptrdiff_t)t.heads, step;
    switch (place) {
    case ODD_ROWS: step = d + 1 + d % 2; return strided(t, h * (l * step + 2) + 1, l * step + 2, step, 1);
    case EVEN_ROWS: step = d + 2 + d % 2; return strided(t, h * (l * step + 1) + 2, l * step + 1, step, 1);
    case SIDE_BY_SIDE: step = h * d + 1 + h * d % 2; return strided(t, l * step + 3, d, step, 1);
    case FAR_ROWS: return strided(t, l * 4096, d, 4096, 1);
    case FAR_BACK: return strided(t, l * 4096, d + d % 2, -4096, 1);
    case FAR_ODD: return strided(t, l * 4097, d, 4097, 1);
    default: return test_tensor_like(t, place);
    }
}

/* ---- the reference: dull loops in double over what the inputs hold ---- */

typedef struct answers {
    double *out, *lse, *weights, *scores; /* [B][H][Lq][Dv], [B][H][Lq], [B][H][Lq][Lk] twice; of the last stage */
    double *slack;                        /* [B][H][Lq]: the bound of float, for values of 1 */
    double *room;                         /* [B][H][Lq][Dv]: the bound of an element of out, */
    double *rounding;                     /* and what rounded weights add to it */
    unsigned char *seen;                  /* [B][Hkv][Lk]: by any row of the group */
} answers;

static double *doubles(attn_tensor t)
{
    size_t count = t.batch * t.heads * t.len * t.dim;
    const real *from = test_tensor_values(t);
    double *x = test_block(count * sizeof *x);
    for (size_t n = 0; n < count; n++)
        x[n] = (double)from[n];
    return x;
}

static double option(attn_tensor t, size_t b, size_t h, size_t i, size_t j) /* of a bias */
{
    return (double)test_tensor_get(t, t.batch == 1 ? 0 : b, t.heads == 1 ? 0 : h, t.len == 1 ? 0 : i,
                                   t.dim == 1 ? 0 : j);
}

/* scores[j], -infinity where nothing is seen. Returns A of NUMERICS: the most, over the keys that are seen, of the sum
   of magnitudes that a score is made of. */
static double score_row(const grid_call *c, double *scores, const double *q, const double *k, size_t b, size_t h,
                        size_t i)
{
    const attn_opts *o = &c->o;
    size_t D = c->q.dim, Lk = c->k.len;
    double scale = o->scale != 0 ? o->scale : 1 / sqrt((double)D), most = 0;
    for (size_t j = 0; j < Lk; j++) {
        double s = 0, size = 0;
        scores[j] = -HUGE_VAL;
        if (!sdpa_sees(o, c->q.len, Lk, b, h, i, j))
            continue;
        for (size_t d = 0; d < D; d++) {
            s += q[d] * k[j * D + d];
            size += fabs(scale * q[d] * k[j * D + d]);
        }
        s *= scale;
        if (o->softcap > 0)
            s = o->softcap * tanh(s / o->softcap);
        if (!test_absent_tensor(o->bias)) {
            s += option(o->bias, b, h, i, j);
            size += fabs(option(o->bias, b, h, i, j));
        }
        if (o->alibi_slopes) {
            double lean = (double)o->alibi_slopes[h] * fabs((double)sdpa_position(o, c->q.len, Lk, b, i) - (double)j);
            s -= lean;
            size += fabs(lean);
        }
        scores[j] = s;
        most = size > most ? size : most;
    }
    return most;
}

static answers reference(const grid_call *c)
{
    size_t B = c->q.batch, H = c->q.heads, Hkv = c->k.heads, Lq = c->q.len, Lk = c->k.len, D = c->q.dim, Dv = c->v.dim,
           rows = B * H * Lq;
    const double *q = doubles(c->q), *k = doubles(c->k), *v = doubles(c->v);
    answers a;
    a.out = test_block(rows * Dv * sizeof *a.out), a.room = test_block(rows * Dv * sizeof *a.room);
    a.rounding = test_block(rows * Dv * sizeof *a.rounding);
    a.lse = test_block(rows * sizeof *a.lse), a.slack = test_block(rows * sizeof *a.slack);
    a.weights = test_block(rows * Lk * sizeof *a.weights), a.scores = test_block(rows * Lk * sizeof *a.scores);
    a.seen = memset(test_block(B * Hkv * Lk), 0, B * Hkv * Lk);
    for (size_t r = 0; r < rows; r++) {
        size_t i = r % Lq, h = r / Lq % H, b = r / Lq / H, kv = b * Hkv + h / (H / Hkv), n = 0;
        double *s = a.scores + r * Lk, *w = a.weights + r * Lk, max = -HUGE_VAL, sum = 0, A;
        int valid = !c->o.q_lens || i < c->o.q_lens[b], sinks = valid && c->o.sinks;
        A = score_row(c, s, q + r * D, k + kv * Lk * D, b, h, i);
        for (size_t j = 0; j < Lk; j++)
            max = s[j] > max ? s[j] : max;
        if (sinks && (double)c->o.sinks[h] > max)
            max = (double)c->o.sinks[h];
        for (size_t j = 0; j < Lk; j++) {
            w[j] = s[j] > -HUGE_VAL ? exp(s[j] - max) : 0;
            sum += w[j];
            n += s[j] > -HUGE_VAL;
            a.seen[kv * Lk + j] |= s[j] > -HUGE_VAL;
        }
        if (sinks)
            sum += exp((double)c->o.sinks[h] - max);
        a.lse[r] = sum > 0 ? max + log(sum) : -HUGE_VAL;
        for (size_t j = 0; j < Lk; j++)
            w[j] = sum > 0 ? w[j] / sum : 0;
        a.slack[r] = unit() * (((double)D + 20) * (1 + A) + (n < 256 ? 2 * (double)n : 512 + (double)n / 512));
        for (size_t d = 0; d < Dv; d++) {
            double x = 0, size = 0, largest = 0;
            for (size_t j = 0; j < Lk; j++)
                if (s[j] > -HUGE_VAL) {
                    double value = v[(kv * Lk + j) * Dv + d];
                    x += w[j] * value;
                    size += w[j] * fabs(value);
                    largest = fabs(value) > largest ? fabs(value) : largest;
                }
            a.out[r * Dv + d] = x;
            a.room[r * Dv + d] = a.slack[r] * largest;
            a.rounding[r * Dv + d] = 0x1p-8 * size;
        }
    }
    return a;
}

/* Is each element within its bound? And of BF16 that are many, the RMS error within 1 % of their RMS. */
static int is_near(const grid_call *c, const answers *a)
{
    size_t rows = c->q.batch * c->q.heads * c->q.len, Lq = c->q.len, H = c->q.heads, Lk = c->k.len, Dv = c->v.dim;
    const double *out = doubles(c->out);
    double errors = 0, squares = 0;
    int near = 1, rounds = !pairs_ctx.batch_invariant && H / c->k.heads * Lq > 1; /* one row is few anywhere */
    for (size_t n = 0; n < rows * Dv && near; n++) {
        double error = fabs(out[n] - a->out[n]), room = a->room[n] + (rounds ? a->rounding[n] : 0);
        if (c->out.dtype != ATTN_F32)
            room += (double)test_ulp((real)(fabs(a->out[n]) + room), c->out.dtype) / 2;
        errors += error * error;
        squares += a->out[n] * a->out[n];
        if (!(error <= room)) {
            SAY("    row %zu, dim %zu: got %.9g, want %.9g within %.3g\n", n / Dv, n % Dv, out[n], a->out[n], room);
            near = 0;
        }
    }
    if (rows * Dv >= 100 && !(errors <= 1e-4 * squares)) {
        SAY("    RMS error %.3g of %.3g\n", sqrt(errors), sqrt(squares));
        near = 0;
    }
    for (size_t r = 0; r < rows && near; r++) {
        size_t i = r % Lq, h = r / Lq % H, b = r / Lq / H;
        double lse = (double)test_tensor_get(c->o.lse, b, h, i, 0);
        if (lse != a->lse[r] && !(fabs(lse - a->lse[r]) <= a->slack[r] + 0x1p-23 * fabs(a->lse[r]))) {
            SAY("    lse of row %zu: got %.9g, want %.9g\n", r, lse, a->lse[r]);
            near = 0;
        }
        for (size_t j = 0; j < Lk && near; j++) {
            double w = (double)test_tensor_get(c->o.weights, b, h, i, j), want = a->weights[r * Lk + j];
            double s = (double)test_tensor_get(c->o.scores, b, h, i, j), score = a->scores[r * Lk + j];
            if (fabs(w - want) <= 2 * a->slack[r] * want + 0x1p-124 && (s == score || fabs(s - score) <= a->slack[r]))
                continue;
            SAY("    row %zu, key %zu: weight %.9g, want %.9g; score %.9g, want %.9g\n", r, j, w, want, s, score);
            near = 0;
        }
    }
    return near;
}

/* ---- a part of a call: the same rows, by another way ---- */

typedef struct part {
    grid_call c; /* its options point into this struct */
    ptrdiff_t offset;
    size_t kv_len;
} part;

static attn_tensor option_of(attn_tensor t, size_t b, size_t i, size_t rows, size_t keys)
{
    if (test_absent_tensor(t))
        return t;
    t = rows_of(t, t.batch > 1 ? b : 0, t.len > 1 ? i : 0, t.len > 1 ? rows : 1);
    return t.dim > 1 ? columns_of(t, keys) : t;
}

static void renew(grid_call *c) /* outputs of the same types, where there are any */
{
    attn_opts *o = &c->o;
    size_t B = c->q.batch, H = c->q.heads, Lq = c->q.len, Lk = c->k.len;
    c->out = test_tensor(c->out.dtype, B, H, Lq, c->v.dim, T_BHLD);
    if (!test_absent_tensor(o->lse))
        o->lse = test_tensor(o->lse.dtype, B, H, Lq, 1, T_BHLD);
    if (!test_absent_tensor(o->weights))
        o->weights = test_tensor(o->weights.dtype, B, H, Lq, Lk, T_BHLD);
    if (!test_absent_tensor(o->scores))
        o->scores = test_tensor(o->scores.dtype, B, H, Lq, Lk, T_BHLD);
}

/* Rows i .. i + rows - 1 of item b, which exist, and the first so many keys. */
static void cut(part *p, const grid_call *c, size_t b, size_t i, size_t rows, size_t keys)
{
    attn_opts *o = &p->c.o;
    p->c = *c;
    p->c.q = rows_of(c->q, b, i, rows);
    p->c.k = rows_of(c->k, b, 0, keys), p->c.v = rows_of(c->v, b, 0, keys);
    p->offset = sdpa_position(&c->o, c->q.len, c->k.len, b, i);
    o->causal = c->o.causal ? ATTN_CAUSAL_OFFSET : ATTN_CAUSAL_NONE;
    o->causal_offset = &p->offset;
    o->q_lens = NULL;
    p->kv_len = c->o.kv_lens && c->o.kv_lens[b] < keys ? c->o.kv_lens[b] : keys;
    o->kv_lens = c->o.kv_lens ? &p->kv_len : NULL;
    o->mask = option_of(c->o.mask, b, i, rows, keys);
    o->bias = option_of(c->o.bias, b, i, rows, keys);
    renew(&p->c);
}

static int run(const grid_call *c, attn_isa isa)
{
    attn_ctx ctx = pairs_ctx;
    ctx.isa = isa;
    return CHECK_STATUS(attn_sdpa(c->out, c->q, c->k, c->v, &c->o, &ctx), ATTN_OK);
}

/* What both have of out, lse, weights and scores; `a` may have rows and keys that are the first of another's. */
static int same_outputs(const grid_call *a, const grid_call *whole, size_t b, size_t i)
{
    attn_tensor x[GRID_OUTPUTS], y[GRID_OUTPUTS];
    int all = 1;
    grid_outputs(a, GRID_FORWARD, x), grid_outputs(whole, GRID_FORWARD, y);
    for (int n = 0; n < 4; n++)
        if (!test_absent_tensor(x[n]) && !test_absent_tensor(y[n]) && x[n].dtype == y[n].dtype)
            all &=
                same(x[n],
                     columns_of(a->q.batch == y[n].batch && a->q.len == y[n].len ? y[n] : rows_of(y[n], b, i, x[n].len),
                                x[n].dim));
    return all;
}

/* The number of keys that rows i .. i + rows - 1 of item b see, or hidden ones before those. */
static size_t keys_seen(const grid_call *c, size_t b, size_t i, size_t rows)
{
    size_t keys = c->k.len;
    for (; keys > 1; keys--)
        for (size_t h = 0; h < c->q.heads; h++)
            for (size_t row = i; row < i + rows; row++)
                if (sdpa_sees(&c->o, c->q.len, c->k.len, b, h, row, keys - 1))
                    return keys;
    return keys;
}

static int part_is_same(const grid_call *whole, size_t b, size_t i, size_t rows, size_t keys)
{
    part p;
    cut(&p, whole, b, i, rows, keys);
    if (run(&p.c, PAIRS) && same_outputs(&p.c, whole, b, i))
        return 1;
    SAY("    rows %zu .. %zu of item %zu alone, with %zu keys\n", i, i + rows - 1, b, keys);
    return 0;
}

/* ---- the grid ---- */

static const size_t sizes_d[] = {1, 2, 3, 7, 8, 16, 31, 32, 33, 64, 65, 128, 200};
static const size_t sizes_dv[] = {0, 1, 3, 16, 31, 64, 65, 129}; /* 0: D */
static const size_t lengths_q[] = {1, 2, 5, 8, 9, 16, 17, 48, 49, 100};
static const size_t lengths_k[] = {1, 2, 3, 15, 16, 17, 47, 48, 49, 127, 128, 129, 300};
static const size_t groups[] = {1, 2, 4, 7, 8}, batches[] = {1, 2};
static const size_t kinds_of_offset[] = {OFFSET_ALIGNED, OFFSET_AHEAD, OFFSET_BEHIND};
static const double scales[] = {0, 1, -0.5};
static const attn_dtype out_types[] = {ATTN_F32, ATTN_BF16, ATTN_F16};
static const attn_window windows[] = {{0, 0, 0}, {1, 0, 0}, {1, 3, 0}, {1, 6, 5}, {1, -1, 1}, {1, 40, -1}, {1, 129, 0}};

enum { RANDOM, SCORES_EXACT, VALUES_EXACT, DATA }; /* small integers: scores, or both sums, have no rounding */
enum { NO_MASK, MASK_FULL, MASK_OF_HEADS, MASK_OF_KEYS, KINDS_OF_MASK };
enum { NO_BIAS, BIAS_FULL, BIAS_OF_KEYS, KINDS_OF_BIAS };
enum { NO_MATRIX, WEIGHTS, ROUNDED_WEIGHTS, FIRST_SCORES, MATRICES };

/* clang-format off */
static const struct grid_axis axes[TRIAL_AXES] = {
    AXIS_OF(D, sizes_d), AXIS_OF(DV, sizes_dv), AXIS_OF(LQ, lengths_q), AXIS_OF(LK, lengths_k), AXIS_OF(GROUP, groups),
    AXIS_OF(HKV, trial_kv_heads), AXIS_OF(B, batches), AXIS(NUMBERS, DATA), AXIS(OUT, COUNT(out_types)),
    AXIS(CAUSAL, 4), AXIS_OF(OFFSET, kinds_of_offset), AXIS(WINDOW, COUNT(windows)), AXIS(Q_LENS, 2), AXIS(KV_LENS, 2),
    AXIS(MASK, KINDS_OF_MASK), AXIS(BIAS, KINDS_OF_BIAS), AXIS(ALIBI, 2), AXIS(SOFTCAP, 2), AXIS(SINKS, 2),
    AXIS(SCALE, COUNT(scales)), AXIS(MATRIX, MATRICES), AXIS(Q_LAYOUT, PLACES), AXIS(K_LAYOUT, PLACES),
    AXIS(V_LAYOUT, PLACES), AXIS(OUT_LAYOUT, T_OUT_LAYOUTS), AXES_OF_CONTEXT
};

static const grid pairs_grid = {
    TRIAL_GRID("pairs_grid", "PAIRS_CASE"), .first = {A_LQ, A_LK}, .cost = trial_cost, .bound = {1.5e6, 2e4},
     .sample = grid_sample, .samples = {25, 0}, .sample_bound = {2e6, 2e6}
};
/* clang-format on */

static void fill(attn_tensor t, double size, int whole) /* random, up to `size`; or integers */
{
    for (size_t n = 0; n < t.batch * t.heads * t.len; n++)
        for (size_t d = 0; d < t.dim; d++) {
            double x = size * grid_number();
            test_tensor_set(t, n / t.len / t.heads, n / t.len % t.heads, n % t.len, d, whole ? floor(x) : x);
        }
}

static attn_tensor random_mask(size_t B, size_t H, size_t Lq, size_t Lk, size_t one_in)
{
    attn_tensor t = test_tensor(ATTN_BOOL, B, H, Lq, Lk, T_BHLD);
    for (size_t n = 0; n < B * H * Lq * Lk; n++)
        ((unsigned char *)t.data)[n] = grid_roll(one_in) > 0;
    return t;
}

static void make_options(trial *t, const grid_point *p)
{
    attn_opts *o = &t->c.o;
    size_t B = t->c.q.batch, H = t->c.q.heads, Lq = t->c.q.len, Lk = t->c.k.len;
    o->causal = (attn_causal)p->at[A_CAUSAL];
    o->window = windows[p->at[A_WINDOW]];
    for (size_t b = 0; b < B; b++) {
        t->offsets[b] = trial_offset((int)kinds_of_offset[p->at[A_OFFSET]], Lq, Lk, b);
        t->q_lens[b] = Lq - grid_roll(Lq) / 2, t->kv_lens[b] = Lk - grid_roll(Lk) / 2;
    }
    if (o->causal == ATTN_CAUSAL_OFFSET || p->at[A_OFFSET] == 0)
        o->causal_offset = t->offsets;
    o->q_lens = p->at[A_Q_LENS] ? t->q_lens : NULL;
    o->kv_lens = p->at[A_KV_LENS] ? t->kv_lens : NULL;
    if (p->at[A_MASK] != NO_MASK)
        o->mask = p->at[A_MASK] == MASK_OF_HEADS  ? random_mask(1, H, Lq, Lk, 3)
                  : p->at[A_MASK] == MASK_OF_KEYS ? random_mask(B, 1, 1, Lk, 2)
                                                  : random_mask(B, H, Lq, Lk, 2);
    if (p->at[A_BIAS] != NO_BIAS) {
        o->bias = p->at[A_BIAS] == BIAS_FULL ? test_tensor(ATTN_F32, B, H, Lq, Lk, T_BHLD)
                                             : test_tensor(ATTN_BF16, 1, H, 1, Lk, T_BHLD);
        fill(o->bias, 3, 0);
        for (size_t j = 0; j < Lk; j += 1 + grid_roll(9))
            test_tensor_set(o->bias, 0, grid_roll(H), grid_roll(o->bias.len), j, -HUGE_VAL);
    }
    for (size_t h = 0; h < H; h++)
        t->slopes[h] = (float)(0.02 * grid_number()), t->sinks[h] = (float)(3 * grid_number());
    o->alibi_slopes = p->at[A_ALIBI] ? t->slopes : NULL;
    o->sinks = p->at[A_SINKS] ? t->sinks : NULL;
    o->softcap = p->at[A_SOFTCAP] ? 5 : 0;
    o->scale = scales[p->at[A_SCALE]];
}

static void make(trial *t, const grid_point *p, uint64_t seed)
{
    int data = p->at[A_NUMBERS];
    trial_begin(t, &pairs_grid, p, seed);
    t->c.q = test_tensor(ATTN_BF16, t->B, t->H, t->Lq, t->D, T_BHLD);
    t->c.k = test_tensor(ATTN_BF16, t->B, t->Hkv, t->Lk, t->D, T_BHLD);
    t->c.v = test_tensor(ATTN_BF16, t->B, t->Hkv, t->Lk, t->Dv, T_BHLD);
    fill(t->c.q, data == RANDOM ? 4 : data == SCORES_EXACT ? 2 : 0, data != RANDOM);
    fill(t->c.k, data == RANDOM ? 1 : 3, data != RANDOM);
    fill(t->c.v, data == RANDOM ? 1 : 100, data != RANDOM);
    make_options(t, p);
    t->c.out.dtype = out_types[p->at[A_OUT]];
    t->c.o.lse = t->c.o.weights = t->c.o.scores = test_tensor(ATTN_F32, 1, 1, 1, 1, T_BHLD);
    t->c.o.scores_stage = ATTN_STAGE_FINAL;
    renew(&t->c);
}

/* Sums that have no rounding do not tell how they were made: the bits of the base, of all but out where it is made of
   rounded weights. */
static int is_exact(const trial *t, const grid_point *p)
{
    grid_call base = t->c;
    int values = p->at[A_NUMBERS] == VALUES_EXACT && !p->at[A_BIAS] && !p->at[A_ALIBI];
    values |= pairs_ctx.batch_invariant;
    if (p->at[A_NUMBERS] == RANDOM)
        return 1;
    renew(&base);
    if (!run(&base, BASE))
        return 0;
    return same(t->c.o.lse, base.o.lse) && same(t->c.o.weights, base.o.weights) && same(t->c.o.scores, base.o.scores) &&
           (!values || same(t->c.out, base.out));
}

/* The same call in another context and other layouts, for other outputs, over garbage in hidden keys. */
static int is_same_elsewhere(const trial *t, const grid_point *p, const answers *a)
{
    static const attn_tensor none;
    static const double garbage[] = {NAN, HUGE_VAL, -HUGE_VAL, 1e38};
    grid_call c = t->c;
    int matrix = p->at[A_MATRIX];
    c.q = laid(c.q, p->at[A_Q_LAYOUT]), c.k = laid(c.k, p->at[A_K_LAYOUT]), c.v = laid(c.v, p->at[A_V_LAYOUT]);
    c.o.scores_stage = matrix == FIRST_SCORES ? ATTN_STAGE_DOT : ATTN_STAGE_FINAL;
    if (matrix == NO_MATRIX || matrix == FIRST_SCORES)
        c.o.weights = none;
    if (matrix == NO_MATRIX || matrix == ROUNDED_WEIGHTS)
        c.o.scores = none;
    if (matrix == ROUNDED_WEIGHTS)
        c.o.weights.dtype = ATTN_BF16;
    if (matrix == NO_MATRIX && p->at[A_WIDTH] % 2)
        c.o.lse = none;
    renew(&c);
    c.out = test_tensor(c.out.dtype, c.q.batch, c.q.heads, c.q.len, c.v.dim, p->at[A_OUT_LAYOUT]);
    for (size_t n = 0; matrix != FIRST_SCORES && n < c.k.batch * c.k.heads * c.k.len; n++)
        for (size_t d = 0; !a->seen[n] && d < c.k.dim + c.v.dim; d++) {
            size_t j = n % c.k.len, h = n / c.k.len % c.k.heads, b = n / c.k.len / c.k.heads;
            test_tensor_set(d < c.k.dim ? c.k : c.v, b, h, j, d < c.k.dim ? d : d - c.k.dim, garbage[(n + d * 3) % 4]);
        }
    if (pairs_ctx.batch_invariant
            ? !run(&c, PAIRS)
            : !grid_run(&c, GRID_FORWARD, PAIRS, p->at[A_RUNNER], trial_widths[p->at[A_WIDTH]], p->at[A_SCRATCH]))
        return 0;
    if (matrix == FIRST_SCORES)
        c.o.scores = none;
    return same_outputs(&c, &t->c, 0, 0);
}

/* If batch_invariant, rows alone, one or a few of them, with all keys or as many as they see; in any case an item of
   the batch alone. */
static int are_same_alone(const trial *t)
{
    static const size_t counts[] = {1, 1, 2, 3, 5, 8, 17, 100};
    const grid_call *c = &t->c;
    int all = 1;
    for (int n = 0; n < COUNT(counts) && all; n++) {
        size_t b = grid_roll(c->q.batch), valid = c->o.q_lens ? c->o.q_lens[b] : c->q.len, rows = counts[n], i, keys;
        rows = rows < valid && pairs_ctx.batch_invariant ? rows : valid;
        i = grid_roll(valid - rows + 1);
        keys = keys_seen(c, b, i, rows);
        keys += n % 3 ? grid_roll(c->k.len - keys + 1) : 0;
        all &= part_is_same(c, b, i, rows, keys);
    }
    return all;
}

static int run_case(long number, const grid_point *p)
{
    trial t;
    answers a;
    int good;
    make(&t, p, (uint64_t)number * 1000003);
    test_case("PAIRS_CASE=%ld: D %zu, Dv %zu, Lq %zu, Lk %zu, H %zu, Hkv %zu", number, t.c.q.dim, t.c.v.dim, t.c.q.len,
              t.c.k.len, t.c.q.heads, t.c.k.heads);
    good = grid_run(&t.c, GRID_FORWARD, PAIRS, GRID_ALONE, 1, GRID_NO_SCRATCH);
    a = reference(&t.c);
    for (int invariant = 0; invariant < 2; invariant++) {
        be_invariant(invariant);
        if (invariant)
            good &= run(&t.c, PAIRS);
        good &= CHECK(is_near(&t.c, &a));
        good &= CHECK(is_exact(&t, p));
        good &= CHECK(is_same_elsewhere(&t, p, &a));
        good &= CHECK(are_same_alone(&t));
    }
    be_invariant(0);
    return good;
}

/* Every size and option with every other: near the reference, and the same bits by every other way. Then random ones.
   */
TEST(pairs_grid)
{
    if (!lacks_pairs())
        grid_test(&pairs_grid, run_case);
}

/* ---- long calls ---- */

/* q, k, v of BF16 and an out of float; scores of a few units; batch_invariant or not. */
static grid_call plain_call(size_t B, size_t H, size_t Hkv, size_t Lq, size_t Lk, size_t D, size_t Dv)
{
    grid_call c;
    memset(&c, 0, sizeof c);
    grid_dice = test_random();
    c.q = test_tensor(ATTN_BF16, B, H, Lq, D, T_BHLD);
    fill(c.q, 4, 0);
    c.k = test_random_tensor(ATTN_BF16, B, Hkv, Lk, D, T_BHLD);
    c.v = test_random_tensor(ATTN_BF16, B, Hkv, Lk, Dv, T_BHLD);
    c.out.dtype = ATTN_F32;
    renew(&c);
    be_invariant((int)grid_roll(2));
    return c;
}

static void want_lse(grid_call *c)
{
    c->o.lse = test_tensor(ATTN_F32, c->q.batch, c->q.heads, c->q.len, 1, T_BHLD);
}

static void want_matrices(grid_call *c, attn_stage stage)
{
    c->o.weights = test_tensor(ATTN_F32, c->q.batch, c->q.heads, c->q.len, c->k.len, T_BHLD);
    c->o.scores = test_tensor_like(c->o.weights, T_BHLD);
    c->o.scores_stage = stage;
}

/* Weights are rounded to the nearest, not downwards: the mean of many is that of the weights, which is 1. Those of few
   rows, or of any that are batch_invariant, are not rounded. */
TEST(pairs_nearest)
{
    static const size_t rows[] = {1, 60, 60};
    if (lacks_pairs())
        return;
    for (int n = 0; n < 3; n++) {
        grid_call c = plain_call(1, 4, 4, rows[n], 301, 16, 40);
        double sum = 0, most = 0;
        const double *out;
        be_invariant(n == 2);
        test_fill_tensor(c.v, 1);
        run(&c, PAIRS);
        out = doubles(c.out);
        for (size_t r = 0; r < 4 * rows[n] * 40; r++) {
            sum += out[r] - 1;
            most = fabs(out[r] - 1) > most ? fabs(out[r] - 1) : most;
        }
        test_case("%zu rows: on average %g above, at most %g off", rows[n], sum / (double)(160 * rows[n]), most);
        CHECK(fabs(sum) < 2e-4 * (double)(160 * rows[n]));
        CHECK(n == 1 ? most > 1e-5 && most < 0x1p-8 : most < 1e-6); /* they are rounded, and not more coarsely */
        test_release();
    }
}

/* By how much rounding the weights moves out, of random numbers: so many % of its RMS, for scores of this RMS. */
TEST(pairs_rounding)
{
    static const double sizes[] = {0.3, 5, 15}, least[] = {0.1, 0.02, 0.01}, most[] = {0.2, 0.07, 0.03};
    if (lacks_pairs())
        return;
    for (size_t n = 0; n < 9; n++) {
        grid_call c = plain_call(1, 1, 1, 256, n / 3 == 0 ? 16 : n / 3 == 1 ? 100 : 1000, 64, 64);
        const double *out, *exact;
        double errors = 0, squares = 0;
        be_invariant(0);
        test_scatter(c.q, n + 1);
        c.o.scale = sizes[n % 3] / (sqrt(64) / 3); /* of numbers of RMS 1 / sqrt(3) */
        run(&c, PAIRS);
        out = doubles(c.out);
        run(&c, test_without_pairs(PAIRS));
        exact = doubles(c.out);
        for (size_t r = 0; r < 256 * 64; r++)
            errors += (out[r] - exact[r]) * (out[r] - exact[r]), squares += exact[r] * exact[r];
        errors = 100 * sqrt(errors / squares);
        test_case("%zu keys, scores of RMS %g: %.4f %%", c.k.len, sizes[n % 3], errors);
        CHECK(errors >= least[n % 3] && errors <= most[n % 3]);
        if (getenv("TEST_REPORT"))
            printf("    %4zu keys, scores of RMS %-3g: %.4f %%\n", c.k.len, sizes[n % 3], errors);
        test_release();
    }
}

/* ---- token by token ---- */

static attn_kv_cache new_cache(const grid_call *c, size_t capacity, int ring)
{
    attn_kv_cache cache;
    size_t bytes = 0, B = c->k.batch, Hkv = c->k.heads, D = c->k.dim, Dv = c->v.dim;
    memset(&cache, 0, sizeof cache);
    CHECK_STATUS(attn_kv_cache_size(&bytes, B, Hkv, capacity, D, Dv, ATTN_BF16, ring), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_init(&cache, B, Hkv, capacity, D, Dv, ATTN_BF16, ring, test_block(bytes), bytes),
                 ATTN_OK);
    return cache;
}

/* Queries at .. and the keys up to them. */
static grid_call slice_of(const grid_call *whole, size_t at, size_t count)
{
    grid_call c = *whole;
    c.q = attn_tensor_slice(c.q, at, count);
    c.k = attn_tensor_slice(c.k, 0, at + count), c.v = attn_tensor_slice(c.v, 0, at + count);
    renew(&c);
    return c;
}

static int slice_is_same(const grid_call *whole, size_t at, size_t count)
{
    grid_call c = slice_of(whole, at, count);
    return run(&c, PAIRS) && same(c.out, attn_tensor_slice(whole->out, at, count)) &&
           same(c.o.lse, attn_tensor_slice(whole->o.lse, at, count));
}

/* Appends tokens at .. at + count - 1 and attends with their queries: the bits of the slice without a cache and, if
   batch_invariant, those of the whole, which is that. */
static int cache_step_is_same(attn_kv_cache *cache, const grid_call *whole, size_t at, size_t count)
{
    grid_call want = slice_of(whole, at, count), got = want;
    int all = 1;
    renew(&got);
    CHECK_STATUS(attn_kv_cache_append(cache, attn_tensor_slice(whole->k, at, count),
                                      attn_tensor_slice(whole->v, at, count), NULL),
                 ATTN_OK);
    for (int invariant = 0; invariant < 2; invariant++) {
        be_invariant(invariant);
        CHECK_STATUS(attn_kv_cache_attend(got.out, got.q, cache, &got.o, &pairs_ctx), ATTN_OK);
        all &= run(&want, PAIRS) && same_outputs(&got, &want, 0, 0);
    }
    return all && same(got.out, attn_tensor_slice(whole->out, at, count)) &&
           same(got.o.lse, attn_tensor_slice(whole->o.lse, at, count));
}

/* If batch_invariant, one query or a few at a time have the bits of one causal call, for odd and even lengths, heads
   and groups. */
TEST(pairs_decode)
{
    static const size_t sizes[][5] = {/* H, Hkv, L, D, Dv */
                                      {2, 1, 300, 33, 17}, {4, 4, 131, 64, 65},  {8, 1, 300, 16, 16},
                                      {8, 2, 129, 7, 3},   {1, 1, 300, 128, 64}, {2, 2, 200, 1, 1},
                                      {9, 1, 60, 5, 130},  {4, 1, 99, 40, 128}};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(sizes); n++) {
        const size_t *z = sizes[n];
        size_t L = test_quick ? 20 + z[2] / 8 : z[2];
        grid_call c = plain_call(2, z[0], z[1], L, L, z[3], z[4]);
        attn_kv_cache cache = new_cache(&c, L, 0), chunks = new_cache(&c, L + 3, 0);
        int held = 1;
        be_invariant(1);
        want_lse(&c);
        c.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
        run(&c, PAIRS);
        test_case("H %zu, Hkv %zu, L %zu, D %zu, Dv %zu", z[0], z[1], L, z[3], z[4]);
        for (size_t at = 0; at < L && held; at++)
            held &= slice_is_same(&c, at, 1) && cache_step_is_same(&cache, &c, at, 1);
        CHECK(held);
        for (size_t at = 0, count; at < L && held; at += count) {
            count = 1 + test_below(test_maybe() ? 8 : 30);
            count = count < L - at ? count : L - at;
            held &= slice_is_same(&c, at, count) && cache_step_is_same(&chunks, &c, at, count);
        }
        CHECK(held);
        test_release();
    }
}

/* Windows with edges of every parity: rows alone, one or a few, have the bits of all together, if batch_invariant. */
TEST(pairs_windows)
{
    if (lacks_pairs())
        return;
    for (int n = 0; n < (test_quick ? 12 : 60); n++) {
        size_t Lk = n % 5 == 4 ? 150 + test_below(60) : 1 + test_below(40), Lq = 1 + test_below(Lk);
        grid_call c = plain_call(1, n % 3 ? 4 : 1, 1, Lq, Lk, 1 + test_below(20), 1 + test_below(20));
        ptrdiff_t offset = (ptrdiff_t)(Lk - Lq) - (ptrdiff_t)test_below(3);
        be_invariant(1);
        want_lse(&c);
        if (n % 2)
            want_matrices(&c, ATTN_STAGE_FINAL);
        c.o.causal_offset = &offset;
        c.o.window.on = 1;
        c.o.window.left = (ptrdiff_t)test_below(n % 4 ? 6 : 60);
        c.o.window.right = n % 3 ? (ptrdiff_t)test_below(4) : -1;
        c.o.causal = n % 6 == 1 ? ATTN_CAUSAL_OFFSET : ATTN_CAUSAL_NONE;
        test_case("case %d: Lq %zu, Lk %zu, left %td, right %td", n, Lq, Lk, c.o.window.left, c.o.window.right);
        run(&c, PAIRS);
        for (size_t i = 0, rows; i < Lq; i += rows) {
            rows = test_maybe() ? 1 : 1 + test_below(3);
            rows = rows < Lq - i ? rows : Lq - i;
            CHECK(part_is_same(&c, 0, i, rows, keys_seen(&c, 0, i, rows)));
        }
        test_release();
    }
}

/* A ring has the bits of a window over everything: even capacities and odd ones, however far it has turned. */
TEST(pairs_ring)
{
    static const size_t capacities[] = {1, 2, 3, 7, 15, 16, 48, 49, 100, 129}, chunks[] = {1, 2, 3, 8, 20};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(capacities) * COUNT(chunks); n++) {
        size_t capacity = capacities[n / COUNT(chunks)], chunk = chunks[n % COUNT(chunks)];
        size_t L = capacity < 20 ? 3 * capacity + 30 : capacity + 51;
        grid_call c;
        attn_kv_cache ring;
        int held = 1;
        if (chunk > capacity)
            continue;
        c = plain_call(2, n % 2 ? 4 : 2, 2, L, L, n % 3 ? 7 : 16, n % 3 ? 8 : 33);
        want_lse(&c);
        c.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
        c.o.window.on = 1, c.o.window.left = (ptrdiff_t)(capacity - chunk), c.o.window.right = -1;
        be_invariant(1);
        run(&c, PAIRS);
        ring = new_cache(&c, capacity, 1);
        test_case("capacity %zu, chunks of %zu", capacity, chunk);
        for (size_t at = 0, count; at < L && held; at += count) {
            count = chunk < L - at ? chunk : L - at;
            held &= cache_step_is_same(&ring, &c, at, count);
        }
        CHECK(held && ring.first[0] == L - capacity);
        test_release();
    }
}

/* Where the oldest token of a ring is one of odd number, the one before it is no part of its pair, whatever lies there:
   what hides it is the ring alone, or a mask too. */
TEST(pairs_ring_begins)
{
    if (lacks_pairs())
        return;
    for (int n = 0; n < 40; n++) {
        size_t Lk = 3 + test_below(60), Lq = n % 2 ? 1 : 1 + test_below(20), capacity = Lk + test_below(3);
        size_t first = 1 + test_below(Lk - 1), lens[1], firsts[1];
        attn_tensor k, v;
        attn_kv_cache ring;
        grid_call c = plain_call(1, 2, 1, Lq, Lk, 1 + test_below(9), 1 + test_below(20));
        attn_tensor out = test_tensor_like(c.out, T_BHLD);
        attn_opts o;
        want_lse(&c);
        want_matrices(&c, n % 3 ? ATTN_STAGE_FINAL : ATTN_STAGE_DOT);
        grid_dice = test_random();
        c.o.mask = random_mask(1, 1, 1, Lk, 4);
        for (size_t j = 0; j < first; j++)
            *(char *)test_tensor_at(c.o.mask, 0, 0, 0, j) = 0;
        test_case("case %d: %zu queries, tokens %zu .. %zu", n, Lq, first, Lk - 1);
        run(&c, PAIRS);
        k = test_tensor(ATTN_BF16, 1, 1, capacity, c.k.dim, n % T_OUT_LAYOUTS);
        v = test_tensor(ATTN_BF16, 1, 1, capacity, c.v.dim, n / 3 % T_OUT_LAYOUTS);
        test_fill_tensor(k, NAN), test_fill_tensor(v, n % 3 ? NAN : HUGE_VAL);
        for (size_t j = first; j < Lk; j++) {
            CHECK_STATUS(attn_mat_copy(attn_head(attn_tensor_slice(k, j % capacity, 1), 0, 0),
                                       attn_head(attn_tensor_slice(c.k, j, 1), 0, 0)),
                         ATTN_OK);
            CHECK_STATUS(attn_mat_copy(attn_head(attn_tensor_slice(v, j % capacity, 1), 0, 0),
                                       attn_head(attn_tensor_slice(c.v, j, 1), 0, 0)),
                         ATTN_OK);
        }
        lens[0] = Lk, firsts[0] = first;
        CHECK_STATUS(attn_kv_cache_over(&ring, k, v, lens, firsts), ATTN_OK);
        o = c.o;
        o.lse = test_tensor_like(c.o.lse, T_BHLD);
        o.weights = test_tensor_like(c.o.weights, T_BHLD), o.scores = test_tensor_like(c.o.scores, T_BHLD);
        CHECK_STATUS(attn_kv_cache_attend(out, c.q, &ring, &o, &pairs_ctx), ATTN_OK);
        CHECK(same(out, c.out) && same(o.lse, c.o.lse) && same(o.weights, c.o.weights));
        for (size_t h = 0; h < 2; h++)
            for (size_t i = 0; i < Lq; i++)
                for (size_t j = 0; j < Lk; j++) {
                    real x = test_tensor_get(o.scores, 0, h, i, j);
                    CHECK(j < first ? sdpa_infinite(x) < 0 : x == test_tensor_get(c.o.scores, 0, h, i, j));
                }
        test_release();
    }
}

/* ---- pages ---- */

typedef struct paged {
    attn_kv_pages pages;
    size_t lens[2];
    uint32_t *table;
} paged;

/* The tokens of c in pages, in no order. Those of item b before first[b] are gone: the table has garbage for their
   pages, or, if `stale`, still says where they were. What holds nothing is NaN. */
static void make_pages(paged *p, const grid_call *c, size_t page_len, const size_t *first, int stale, int layout)
{
    size_t B = c->k.batch, Hkv = c->k.heads, each = (c->k.len + page_len - 1) / page_len, pages = B * each + 2, *order;
    memset(p, 0, sizeof *p);
    p->table = test_block(B * each * sizeof *p->table);
    order = test_block(pages * sizeof *order);
    p->pages.k = test_tensor(ATTN_BF16, pages, Hkv, page_len, c->k.dim, layout);
    p->pages.v = test_tensor(ATTN_BF16, pages, Hkv, page_len, c->v.dim, layout);
    test_fill_tensor(p->pages.k, NAN), test_fill_tensor(p->pages.v, NAN);
    for (size_t n = 0; n < pages; n++) {
        size_t earlier = test_below(n + 1);
        order[n] = order[earlier];
        order[earlier] = n;
    }
    for (size_t b = 0; b < B; b++)
        for (size_t j = 0; j < c->k.len; j++) {
            size_t page = order[b * each + j / page_len];
            p->table[b * each + j / page_len] =
                stale || j / page_len >= first[b] / page_len ? (uint32_t)page : 0xdeadbeef;
            for (size_t h = 0; h < Hkv && j >= first[b]; h++) {
                for (size_t d = 0; d < c->k.dim; d++)
                    memcpy(test_tensor_at(p->pages.k, page, h, j % page_len, d), test_tensor_at(c->k, b, h, j, d), 2);
                for (size_t d = 0; d < c->v.dim; d++)
                    memcpy(test_tensor_at(p->pages.v, page, h, j % page_len, d), test_tensor_at(c->v, b, h, j, d), 2);
            }
        }
    p->pages.table = p->table;
    p->pages.table_stride = each;
    p->pages.batch = B;
    p->pages.lens = p->lens;
}

/* Pages have the bits of one tensor, whatever their length, and where a window has left pages behind; so have scores
   before masking, which the keys in these have, too. */
TEST(pairs_pages)
{
    static const size_t page_lens[] = {1, 2, 3, 5, 16, 64}, queries[] = {1, 3, 8, 20, 60};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(page_lens) * COUNT(queries) * 4; n++) {
        size_t page_len = page_lens[n / 4 % COUNT(page_lens)], Lq = queries[n / 4 / COUNT(page_lens)], first[2],
               lens[2];
        size_t Lk = Lq + (n % 2 ? 60 : 200) + test_below(60), left = test_below(30);
        int scores = n % 4 == 2 && n % 3 == 0;
        grid_call c;
        paged p;
        attn_tensor out;
        attn_opts o;
        c = plain_call(2, n % 3 ? 4 : 2, 2, Lq, Lk, n % 5 ? 9 : 64, n % 5 ? 33 : 16);
        want_lse(&c);
        if (scores)
            want_matrices(&c, n % 8 == 2 ? ATTN_STAGE_DOT : ATTN_STAGE_SOFTCAP);
        c.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
        lens[0] = Lk, lens[1] = Lk - test_below(40);
        first[0] = first[1] = 0;
        if (n & 2) {
            c.o.window.on = 1, c.o.window.left = (ptrdiff_t)left, c.o.window.right = -1;
            for (size_t b = 0; b < 2 && !scores; b++)
                first[b] = lens[b] - Lq > left ? lens[b] - Lq - left : 0;
        }
        c.o.kv_lens = lens;
        make_pages(&p, &c, page_len, first, n % 3 == 0, n % 4 == 3 ? n / 4 % T_OUT_LAYOUTS : n % 2);
        memcpy(p.lens, lens, sizeof lens);
        test_case("case %d: pages of %zu, %zu queries of %zu tokens, from %zu on", n, page_len, Lq, Lk, first[0]);
        run(&c, PAIRS);
        o = c.o;
        o.kv_lens = NULL;
        o.lse = test_tensor_like(c.o.lse, T_BHLD);
        if (scores)
            o.weights = test_tensor_like(c.o.weights, T_BHLD), o.scores = test_tensor_like(c.o.scores, T_BHLD);
        out = test_tensor_like(c.out, T_BHLD);
        CHECK_STATUS(attn_kv_pages_attend(out, c.q, &p.pages, &o, &pairs_ctx), ATTN_OK);
        CHECK(same(out, c.out) && same(o.lse, c.o.lse));
        if (scores)
            CHECK(same(o.weights, c.o.weights) && same(o.scores, c.o.scores));
        test_release();
    }
}

/* ---- packed texts ---- */

/* Each text has the bits that it has alone, though its first row is one of odd number. */
TEST(pairs_texts)
{
    if (lacks_pairs())
        return;
    for (int n = 0; n < (test_quick ? 6 : 40); n++) {
        enum { TEXTS = 5 };
        size_t q_starts[TEXTS + 1] = {0}, kv_starts[TEXTS + 1] = {0};
        ptrdiff_t offsets[TEXTS];
        grid_call c;
        for (size_t s = 0; s < TEXTS; s++) {
            size_t keys = test_below(n % 4 ? 30 : 170), queries = n % 3 ? keys : test_below(n % 2 ? 4 : 60);
            q_starts[s + 1] = q_starts[s] + queries, kv_starts[s + 1] = kv_starts[s] + keys;
            offsets[s] = (ptrdiff_t)test_below(9) - 4;
        }
        c = plain_call(1, n % 2 ? 4 : 2, 2, q_starts[TEXTS] + 1, kv_starts[TEXTS] + 1, 1 + test_below(40),
                       1 + test_below(40));
        c.k = laid(c.k, n % PLACES), c.v = laid(c.v, n / 2 % PLACES);
        want_lse(&c);
        c.o.causal = (attn_causal)(n % 4);
        c.o.causal_offset = offsets;
        c.o.window.on = n % 5 == 1, c.o.window.left = 5, c.o.window.right = 2;
        c.o.sequences = TEXTS, c.o.q_starts = q_starts, c.o.kv_starts = kv_starts;
        test_case("case %d: %zu queries, %zu keys", n, q_starts[TEXTS], kv_starts[TEXTS]);
        run(&c, PAIRS);
        for (size_t s = 0; s < TEXTS; s++) {
            size_t queries = q_starts[s + 1] - q_starts[s], keys = kv_starts[s + 1] - kv_starts[s];
            grid_call one = c;
            one.o.sequences = 0;
            one.o.causal_offset = &offsets[s];
            one.q = rows_of(c.q, 0, q_starts[s], queries);
            one.k = rows_of(c.k, 0, kv_starts[s], keys), one.v = rows_of(c.v, 0, kv_starts[s], keys);
            renew(&one);
            run(&one, PAIRS);
            CHECK(same(one.out, rows_of(c.out, 0, q_starts[s], queries)));
            CHECK(same(one.o.lse, rows_of(c.o.lse, 0, q_starts[s], queries)));
        }
        test_release();
    }
}

/* ---- lists of key blocks ---- */

/* Random lists, and the equal mask. */
static void make_lists(grid_call *c, attn_tensor *mask, size_t q_len, size_t kv_len, size_t heads)
{
    size_t parts = (c->q.len + q_len - 1) / q_len, all = (c->k.len + kv_len - 1) / kv_len, group = c->q.heads / heads;
    attn_blocks *l = &c->o.blocks;
    uint32_t *index = test_block(heads * parts * all * sizeof *index),
             *count = test_block(heads * parts * sizeof *count);
    l->q_len = q_len, l->kv_len = kv_len, l->batch = 1, l->heads = heads, l->width = all;
    l->index = index, l->count = count;
    *mask = test_tensor(ATTN_BOOL, 1, c->q.heads, c->q.len, c->k.len, T_BHLD);
    memset(mask->data, 0, c->q.heads * c->q.len * c->k.len);
    for (size_t n = 0; n < heads * parts; n++) {
        size_t h = n / parts * group, first = n % parts * q_len, one_in = 1 + test_below(4);
        count[n] = 0;
        for (size_t block = 0; block < all; block++) {
            if (test_below(one_in) > 0)
                continue;
            index[n * all + count[n]++] = (uint32_t)block;
            for (size_t i = first; i < first + q_len && i < c->q.len; i++)
                for (size_t j = block * kv_len; j < (block + 1) * kv_len && j < c->k.len; j++)
                    for (size_t g = 0; g < group; g++)
                        *(char *)test_tensor_at(*mask, 0, h + g, i, j) = 1;
        }
    }
}

/* The bits of the equal mask. Blocks of an odd number of keys part pairs: such calls have those of the base. */
TEST(pairs_lists)
{
    static const size_t lens[] = {2, 16, 48, 1, 3, 15, 64, 130, 129}, queries[] = {1, 3, 49, 100};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(lens) * COUNT(queries) * 3; n++) {
        size_t kv_len = lens[n % COUNT(lens)], Lq = queries[n / COUNT(lens) % COUNT(queries)];
        grid_call c, masked;
        attn_tensor mask;
        if (test_quick && n % 8)
            continue;
        c = plain_call(1, 4, 2, Lq, 200 + test_below(150), n % 4 ? 8 : 17, n % 4 ? 17 : 64);
        c.k = laid(c.k, n % PLACES);
        want_lse(&c);
        if (n % 3 == 2)
            want_matrices(&c, n % 2 ? ATTN_STAGE_FINAL : ATTN_STAGE_DOT);
        c.o.causal = n % 5 ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_LOWER_RIGHT;
        if (n % 7 == 3)
            c.o.window.on = 1, c.o.window.left = 31, c.o.window.right = -1;
        make_lists(&c, &mask, n % 3 ? 7 : 16, kv_len, n % 2 ? 2 : n % 4 ? 1 : 4);
        masked = c;
        memset(&masked.o.blocks, 0, sizeof masked.o.blocks);
        masked.o.mask = mask;
        renew(&masked);
        test_case("case %d: %zu queries, %zu keys in blocks of %zu", n, Lq, c.k.len, kv_len);
        run(&c, PAIRS);
        run(&masked, kv_len % 2 ? BASE : PAIRS);
        CHECK(same_outputs(&c, &masked, 0, 0));
        if (kv_len % 2) {
            renew(&masked);
            masked.o.blocks = c.o.blocks;
            memset(&masked.o.mask, 0, sizeof masked.o.mask);
            run(&masked, BASE);
            CHECK(same_outputs(&c, &masked, 0, 0));
        }
        test_release();
    }
}

/* ---- splits, units, scratch ---- */

/* Many keys, in splits that run one after another or in parallel, on threads, in scratch: the same bits, which are
   those of the last rows of many, if batch_invariant. */
TEST(pairs_splits)
{
    static const struct {
        size_t H, Hkv, Lq, Lk, D, Dv;
    } cases[] = {{1, 1, 1, 601, 64, 64},   {4, 1, 2, 1025, 33, 17}, {8, 1, 1, 1601, 128, 128},
                 {2, 1, 60, 1100, 16, 40}, {2, 2, 1, 2303, 7, 129}, {16, 1, 3, 700, 24, 24}};
    if (lacks_pairs())
        return;
    for (int n = 0; n < (test_quick ? 3 : COUNT(cases)); n++) {
        grid_call c = plain_call(1, cases[n].H, cases[n].Hkv, cases[n].Lq, cases[n].Lk, cases[n].D, cases[n].Dv);
        grid_call many = c;
        size_t more = 64 - cases[n].Lq;
        be_invariant(0);
        c.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
        want_lse(&c);
        test_case("case %d", n);
        run(&c, PAIRS);
        for (int m = n % 3; m < 4 * GRID_RUNS * GRID_SCRATCHES; m += 5) {
            grid_call again = c;
            again.k = laid(c.k, m % PLACES), again.v = laid(c.v, m / 2 % PLACES);
            renew(&again);
            test_case("case %d, context %d", n, m);
            CHECK(grid_run(&again, GRID_FORWARD, PAIRS, m / 4 % GRID_RUNS, trial_widths[m % 4], m / 4 / GRID_RUNS));
            CHECK(same_outputs(&again, &c, 0, 0));
        }
        many.q = test_random_tensor(ATTN_BF16, 1, c.q.heads, c.q.len + more, c.q.dim, T_BHLD);
        for (size_t h = 0; h < c.q.heads; h++)
            CHECK_STATUS(attn_mat_copy(attn_mat_rows(attn_head(many.q, 0, h), more, c.q.len), attn_head(c.q, 0, h)),
                         ATTN_OK);
        many.o = c.o;
        renew(&many);
        test_case("case %d, more rows", n);
        be_invariant(1);
        run(&c, PAIRS), run(&many, PAIRS);
        CHECK(same(c.out, rows_of(many.out, 0, more, c.q.len)));
        CHECK(same(c.o.lse, rows_of(many.o.lse, 0, more, c.q.len)));
        test_release();
    }
}

/* Blocks of queries, or of heads, that share a copy of keys and values: rows a multiple of 8 KiB apart, in either
   order, at odd addresses, heads side by side; all have the bits of packed rows. */
TEST(pairs_units)
{
    static const struct {
        size_t B, H, Hkv, Lq, Lk, D, Dv;
    } cases[] = {{1, 8, 4, 100, 301, 64, 64}, {2, 4, 4, 150, 130, 33, 40}, {1, 16, 8, 1, 600, 128, 128},
                 {1, 8, 8, 3, 550, 127, 129}, {2, 2, 1, 230, 77, 8, 1},    {3, 1, 1, 1, 49, 16, 16},
                 {1, 4, 2, 1, 400, 64, 200}};
    static const int places[] = {FAR_ROWS, FAR_BACK,  FAR_ODD,  T_BLHD,       ODD_ROWS,   EVEN_ROWS,
                                 T_STEP,   T_FLIPPED, T_TURNED, SIDE_BY_SIDE, T_BACKWARDS};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(cases); n++) {
        grid_call c =
            plain_call(cases[n].B, cases[n].H, cases[n].Hkv, cases[n].Lq, cases[n].Lk, cases[n].D, cases[n].Dv);
        size_t lens[3] = {cases[n].Lk - 2, cases[n].Lk - 5, cases[n].Lk};
        attn_ctx ctx = pairs_ctx;
        test_runner runner;
        want_lse(&c);
        c.o.causal = n % 2 ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
        c.o.kv_lens = lens;
        test_case("case %d", n);
        run(&c, PAIRS);
        for (int m = 0; m < COUNT(places); m++) {
            grid_call again = c;
            if (test_quick && (m + n) % 5)
                continue;
            again.k = laid(c.k, places[m]);
            again.v = laid(c.v, places[(m + (n + m) % 3) % COUNT(places)]);
            again.q = m % 2 ? laid(c.q, places[(m + 5) % COUNT(places)]) : c.q;
            renew(&again);
            test_case("case %d, places %d and %d", n, places[m], places[(m + (n + m) % 3) % COUNT(places)]);
            ctx.parallel = test_threads(&runner, 1 + (size_t)m % 3);
            CHECK_STATUS(attn_sdpa(again.out, again.q, again.k, again.v, &again.o, &ctx), ATTN_OK);
            CHECK(same_outputs(&again, &c, 0, 0));
        }
        test_release();
    }
}

/* Queries lie anywhere: heads and rows an even number of elements apart, or an odd one, or back to front; with dims that
   fill whole steps, or do not; heads that share keys have the bits of heads that do not, if batch_invariant. */
TEST(pairs_queries)
{
    static const size_t dims[] = {16, 32, 48, 64, 18, 33};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(dims) * 8 * 2; n++) {
        size_t D = dims[n / 16], H = n % 16 / 8 ? 4 : 1, Hkv = H, Lq = (size_t)n % 8 + 1;
        grid_call c = plain_call(2, H, Hkv, Lq, 37, D, 8);
        run(&c, PAIRS);
        for (int m = 0; m < 16; m++) {
            ptrdiff_t len = (ptrdiff_t)D + 2 * (m & 1) + (m >> 1 & 1) + (ptrdiff_t)D % 2, l = (ptrdiff_t)Lq;
            ptrdiff_t head = l * len + (m >> 2 & 1);
            grid_call again = c;
            if (test_quick && (m + n) % 3)
                continue;
            again.q = strided(c.q, (ptrdiff_t)H * head + 1, head, m < 8 ? len : -len, 1);
            if (m == 7) /* heads within rows */
                again.q = strided(c.q, l * ((ptrdiff_t)H * len + 1), len, (ptrdiff_t)H * len + 1, 1);
            renew(&again);
            test_case("D %zu, %zu queries of %zu heads, strides %td and %td", D, Lq, H, again.q.len_stride,
                      again.q.head_stride);
            run(&again, PAIRS);
            CHECK(same(again.out, c.out));
            if (H > 1) { /* a group of heads */
                grid_call group = c;
                group.k = attn_tensor_of(c.k.data, ATTN_BF16, 2, 1, 37, D, c.k.batch_stride, 0, c.k.len_stride, 1);
                group.v = attn_tensor_of(c.v.data, ATTN_BF16, 2, 1, 37, 8, c.v.batch_stride, 0, c.v.len_stride, 1);
                again.k = group.k, again.v = group.v;
                renew(&group);
                run(&again, PAIRS), run(&group, PAIRS);
                CHECK(same(again.out, group.out));
                for (size_t b = 0; b < 2 && pairs_ctx.batch_invariant; b++) /* it has more rows */
                    CHECK(same(as_tensor(attn_head(again.out, b, 0)), as_tensor(attn_head(c.out, b, 0))));
            }
        }
        test_release();
    }
}

/* Keys and values that a batch, heads, or all tokens share: strides of 0. */
TEST(pairs_shared)
{
    if (lacks_pairs())
        return;
    for (int layout = T_ONE_BATCH; layout < T_LAYOUTS; layout++)
        for (int n = 0; n < 4; n++) {
            grid_call c = plain_call(2, 4, 2, n % 2 ? 1 : 30, 40 + (size_t)n, 6 + (size_t)n % 3, 17), packed;
            if (n < 3)
                c.k = test_random_tensor(ATTN_BF16, 2, 2, c.k.len, c.k.dim, layout);
            if (n > 0)
                c.v = test_random_tensor(ATTN_BF16, 2, 2, c.v.len, c.v.dim, layout);
            if (n == 1)
                c.q = test_random_tensor(ATTN_BF16, 2, 4, c.q.len, c.q.dim, layout);
            packed = c;
            packed.q = laid(c.q, T_BHLD), packed.k = laid(c.k, T_BHLD), packed.v = laid(c.v, T_BHLD);
            want_lse(&c), want_lse(&packed);
            renew(&packed);
            test_case("layout %d, case %d", layout, n);
            run(&c, PAIRS), run(&packed, PAIRS);
            CHECK(same_outputs(&c, &packed, 0, 0));
            test_release();
        }
}

/* Scratch is what the function says: a byte less is refused, and nothing written. */
TEST(pairs_scratch)
{
    static const size_t shapes[][4] = {{1, 300, 64, 64}, {1, 7, 1, 1}, {8, 129, 33, 17}, {100, 500, 65, 200}};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(shapes) * 3; n++) {
        const size_t *s = shapes[n / 3];
        grid_call c = plain_call(2, 4, 2, s[0], s[1], s[2], s[3]);
        attn_ctx ctx = pairs_ctx;
        test_runner runner;
        test_case("shape %d, width %d", n / 3, 1 + n % 3 * 2);
        ctx.parallel = test_serial_backwards(&runner, 1 + (size_t)n % 3 * 2);
        ctx.scratch_size = grid_scratch(&c, GRID_FORWARD, &ctx);
        ctx.scratch = test_block(ctx.scratch_size--);
        test_freeze();
        CHECK_STATUS(attn_sdpa(c.out, c.q, c.k, c.v, NULL, &ctx), ATTN_ERR_NOMEM);
        CHECK(test_wrote_nothing());
        test_release();
    }
}

/* Other outputs change nothing, at no stage. */
TEST(pairs_outputs)
{
    static const size_t queries[] = {1, 2, 9, 49, 100};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(queries) * 3; n++) {
        size_t Lq = queries[n % COUNT(queries)], Lk = n / COUNT(queries) ? 131 : 47;
        grid_call c = plain_call(1, 4, 2, Lq, Lk, 24, 33);
        c.o.causal = n % 2 ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
        c.o.softcap = n / COUNT(queries) == 2 ? 3 : 0;
        run(&c, PAIRS);
        for (int m = 0; m < 8; m++) {
            grid_call again = c;
            test_case("case %d, outputs %d", n, m);
            renew(&again);
            if (m & 1)
                want_lse(&again);
            if (m > 1)
                want_matrices(&again, (attn_stage)(m / 2 - 1));
            run(&again, PAIRS);
            CHECK(same(again.out, c.out));
        }
        test_release();
    }
}

/* ---- what is hidden, and what is not finite ---- */

/* Options that hide some keys from some rows, in all the ways there are; kind 0 hides none. */
enum { HIDING = 7 };

static void hide_some(grid_call *c, int kind, size_t *lens, ptrdiff_t *offset)
{
    size_t H = c->q.heads, Lq = c->q.len, Lk = c->k.len;
    *lens = Lk - test_below(Lk < 4 ? Lk : 4);
    *offset = (ptrdiff_t)test_below(Lk);
    switch (kind) {
    case 1: c->o.causal = ATTN_CAUSAL_OFFSET, c->o.causal_offset = offset; break;
    case 2: c->o.mask = random_mask(1, H, Lq, Lk, 2); break;
    case 3:
        c->o.window.on = 1, c->o.window.left = (ptrdiff_t)test_below(5), c->o.window.right = (ptrdiff_t)test_below(3);
        c->o.causal_offset = offset;
        break;
    case 4: c->o.kv_lens = lens; break;
    case 5:
        c->o.bias = test_tensor(ATTN_F32, 1, 1, Lq, Lk, T_BHLD);
        for (size_t n = 0; n < Lq * Lk; n++)
            ((float *)c->o.bias.data)[n] = test_maybe() ? 0.0f : -INFINITY;
        break;
    case 6: c->o.mask = random_mask(1, 1, 1, Lk, 3), c->o.causal = ATTN_CAUSAL_LOWER_RIGHT; break;
    default: break;
    }
}

static int kind_of(real x) /* finite, NaN, or which infinity */
{
    return isnan(x) ? 2 : sdpa_infinite(x);
}

/* Is out what it was but for column d, in rows that see a key whose value there is x? A second such key, j2, may have
   the value y. */
static int reaches(const grid_call *got, const grid_call *was, size_t kv, size_t d, size_t j, double x, size_t j2,
                   double y)
{
    size_t H = got->q.heads, Lq = got->q.len, Lk = got->k.len;
    for (size_t h = 0; h < H; h++)
        for (size_t i = 0; i < Lq; i++) {
            int mine = h / (H / got->k.heads) == kv, one = mine && sdpa_sees(&got->o, Lq, Lk, 0, h, i, j),
                two = mine && sdpa_sees(&got->o, Lq, Lk, 0, h, i, j2);
            double sum = (one ? x : 0) + (two ? y : 0);
            for (size_t e = 0; e < got->v.dim; e++) {
                const void *at = test_tensor_at(got->out, 0, h, i, e), *before = test_tensor_at(was->out, 0, h, i, e);
                if ((one || two) && e == d ? kind_of(test_load(at, ATTN_F32)) == kind_of((real)sum)
                                           : same_number(at, before, ATTN_F32))
                    continue;
                SAY("    head %zu, row %zu, dim %zu: got %Lg, was %Lg; key %zu is %s, key %zu is %s\n", h, i, e,
                    test_load(at, ATTN_F32), test_load(before, ATTN_F32), j, one ? "seen" : "hidden", j2,
                    two ? "seen" : "hidden");
                return 0;
            }
        }
    return 1;
}

/* NaN and infinity among the values reach the rows that see them, in their column, and nothing else: not those that see
   the key beside, nor does the nothing beside the last key of an odd number make a NaN of infinity. */
TEST(pairs_values)
{
    static const double bad[] = {HUGE_VAL, -HUGE_VAL, NAN};
    static const size_t queries[] = {1, 2, 8, 17, 50};
    if (lacks_pairs())
        return;
    for (int n = 0; n < (test_quick ? 60 : 420); n++) {
        size_t Lq = queries[n % COUNT(queries)], Lk = n % 4 ? 1 + test_below(20) : 40 + test_below(120), lens, D, Dv;
        size_t kv, j, j2, d;
        ptrdiff_t offset;
        double x = bad[test_below(3)], y = bad[test_below(3)];
        grid_call c, got;
        D = 1 + test_below(12), Dv = 1 + test_below(n % 3 ? 20 : 140);
        c = plain_call(1, 4, 2, Lq, Lk, D, Dv);
        hide_some(&c, n / COUNT(queries) % HIDING, &lens, &offset);
        kv = test_below(2), d = test_below(Dv);
        j = test_maybe() ? Lk - 1 : test_below(Lk), j2 = test_maybe() && (j ^ 1) < Lk ? j ^ 1 : test_below(Lk);
        run(&c, PAIRS);
        got = c;
        got.v = laid(c.v, n % PLACES);
        test_tensor_set(got.v, 0, kv, j, d, x);
        test_tensor_set(got.v, 0, kv, j2, d, y);
        x = j == j2 ? y : x;
        renew(&got);
        test_case("case %d: %zu queries, value %zu of %zu is %g, value %zu is %g", n, Lq, j, Lk, x, j2, y);
        if (run(&got, PAIRS))
            CHECK(reaches(&got, &c, kv, d, j, x, j2, j == j2 ? 0 : y));
        want_matrices(&got, ATTN_STAGE_FINAL);
        renew(&got);
        if (run(&got, PAIRS))
            CHECK(reaches(&got, &c, kv, d, j, x, j2, j == j2 ? 0 : y));
        test_release();
    }
}

/* What is not finite in a key or a query makes of its rows what it makes of them under the base; no other row changes.
   */
TEST(pairs_keys)
{
    static const double bad[] = {HUGE_VAL, -HUGE_VAL, NAN};
    static const size_t queries[] = {1, 3, 8, 17, 50};
    if (lacks_pairs())
        return;
    for (int n = 0; n < (test_quick ? 60 : 420); n++) {
        size_t Lq = queries[n % COUNT(queries)], Lk = n % 4 ? 1 + test_below(20) : 40 + test_below(120), lens, D, at, d;
        size_t kv = test_below(2);
        ptrdiff_t offset;
        double x = bad[test_below(3)];
        int in_q = n % 3 == 0;
        grid_call c, got, base;
        D = 1 + test_below(20);
        c = plain_call(1, 4, 2, Lq, Lk, D, 5);
        want_lse(&c);
        hide_some(&c, n / COUNT(queries) % HIDING, &lens, &offset);
        run(&c, PAIRS);
        got = c;
        got.q = laid(c.q, n % PLACES), got.k = laid(c.k, n / 2 % PLACES);
        at = test_below(in_q ? Lq : Lk), d = test_maybe() ? D - 1 : test_below(D);
        test_tensor_set(in_q ? got.q : got.k, 0, kv, at, d, x);
        renew(&got);
        base = got;
        renew(&base);
        test_case("case %d: %zu queries, %zu keys, D %zu: %s %zu has %g at %zu", n, Lq, Lk, D, in_q ? "query" : "key",
                  at, x, d);
        run(&got, PAIRS), run(&base, BASE);
        for (size_t h = 0; h < 4; h++)
            for (size_t i = 0; i < Lq; i++) {
                int touched = in_q ? h == kv && i == at : h / 2 == kv && sdpa_sees(&c.o, Lq, Lk, 0, h, i, at);
                for (size_t e = 0; e < 6; e++) {
                    attn_tensor g = e < 5 ? got.out : got.o.lse, w = e < 5 ? base.out : base.o.lse,
                                was = e < 5 ? c.out : c.o.lse;
                    real a = test_tensor_get(g, 0, h, i, e % 5), b = test_tensor_get(w, 0, h, i, e % 5);
                    if (!touched)
                        CHECK(same_number(test_tensor_at(g, 0, h, i, e % 5), test_tensor_at(was, 0, h, i, e % 5),
                                          ATTN_F32));
                    else
                        CHECK(kind_of(a) == kind_of(b) && (!sdpa_finite(a) || fabsl(a - b) < 0.02L));
                }
            }
        test_release();
    }
}

/* A BF16 below the smallest normal number counts as itself or as zero, and as nothing else. */
TEST(pairs_subnormal)
{
    static const size_t queries[] = {1, 20};
    if (lacks_pairs())
        return;
    for (int n = 0; n < 24; n++) {
        size_t Lq = queries[n % 2], Lk = 1 + test_below(40), D = 1 + test_below(9), j = test_below(Lk);
        grid_call c = plain_call(1, 1, 1, Lq, Lk, D, 3);
        grid_call zero = c;
        int in_v = n % 3 == 0;
        want_lse(&c), want_lse(&zero);
        zero.k = laid(c.k, T_BHLD), zero.v = laid(c.v, T_BHLD);
        renew(&zero);
        for (size_t d = 0; d < (in_v ? 3 : D); d++) {
            test_tensor_set(in_v ? c.v : c.k, 0, 0, j, d, (double)(1 + test_below(127)) * 0x1p-133);
            test_tensor_set(in_v ? zero.v : zero.k, 0, 0, j, d, 0);
        }
        test_case("case %d", n);
        run(&c, PAIRS), run(&zero, PAIRS);
        CHECK(
            same(c.o.lse, zero.o.lse)); /* added to others, or alone times a query, it is far below what floats tell */
        for (size_t i = 0; i < Lq; i++)
            for (size_t d = 0; d < 3; d++) {
                real x = test_tensor_get(c.out, 0, 0, i, d), y = test_tensor_get(zero.out, 0, 0, i, d);
                CHECK(x == y || (Lk == 1 && in_v && x == test_tensor_get(c.v, 0, 0, 0, d)));
            }
        test_release();
    }
}

/* Without keys, values' dims or queries there is nothing to multiply. */
TEST(pairs_empty)
{
    static const size_t queries[] = {0, 1, 3, 60};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(queries) * 4; n++) {
        size_t Lq = queries[n % COUNT(queries)], Lk = n / COUNT(queries) % 2 ? 33 : 0,
               Dv = n / COUNT(queries) / 2 ? 5 : 0;
        grid_call c = plain_call(1, 4, 2, Lq, Lk, 9, Dv), base;
        want_lse(&c);
        if (Lk > 0)
            want_matrices(&c, ATTN_STAGE_FINAL);
        base = c;
        renew(&base);
        test_case("%zu queries, %zu keys, Dv %zu", Lq, Lk, Dv);
        run(&c, PAIRS), run(&base, BASE);
        for (size_t r = 0; r < 4 * Lq; r++) {
            real lse = test_tensor_get(c.o.lse, 0, r / Lq, r % Lq, 0),
                 want = test_tensor_get(base.o.lse, 0, r / Lq, r % Lq, 0);
            CHECK(Lk == 0 ? sdpa_infinite(lse) < 0 : fabsl(lse - want) < 1e-5L);
            for (size_t d = 0; d < Dv && Lk == 0; d++)
                CHECK(test_tensor_get(c.out, 0, r / Lq, r % Lq, d) == 0);
        }
        test_release();
    }
}

/* ---- nothing is read outside ---- */

typedef struct fences {
    grid_call c;
    paged p;
    int pages;
} fences;

static void attend_fenced(void *arg)
{
    fences *f = arg;
    if (f->pages)
        CHECK_STATUS(attn_kv_pages_attend(f->c.out, f->c.q, &f->p.pages, &f->c.o, &pairs_ctx), ATTN_OK);
    else
        CHECK_STATUS(attn_sdpa(f->c.out, f->c.q, f->c.k, f->c.v, &f->c.o, &pairs_ctx), ATTN_OK);
}

/* Rows that begin and end where memory does, each by itself or all one after another; keys past kv_lens, and those that
   no list names, cannot be read. */
TEST(pairs_fences)
{
    static const size_t dims[] = {1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 64, 65}, queries[] = {1, 2, 8, 20};
    static const size_t keys[] = {1, 2, 3, 15, 17, 33, 49};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(dims) * COUNT(queries) * 4; n++) {
        size_t D = dims[n % COUNT(dims)], Lq = queries[n / COUNT(dims) % COUNT(queries)], Lk = keys[test_below(7)],
               valid;
        int low = test_maybe(), apart = n % 4 > 0, lists = n % 5 == 0 && Lk > 2;
        unsigned char hidden[2 * 49];
        attn_tensor mask;
        grid_call c;
        fences f;
        if (test_quick && n % 6)
            continue;
        c = plain_call(1, 2, 2, Lq, Lk, D, dims[test_below(COUNT(dims))]);
        memset(&f, 0, sizeof f);
        valid = lists ? Lk : 1 + test_below(Lk);
        c.o.kv_lens = &valid;
        c.o.causal = n % 3 ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_LOWER_RIGHT;
        if (lists)
            make_lists(&c, &mask, Lq, 2, 1);
        for (size_t j = 0; j < 2 * Lk; j++)
            hidden[j] = j % Lk >= valid || (lists && !*(char *)test_tensor_at(mask, 0, j / Lk, 0, j % Lk));
        run(&c, PAIRS);
        f.c = c;
        test_case("case %d: %zu queries, %zu keys of %zu, D %zu, Dv %zu, %s", n, Lq, valid, Lk, D, c.v.dim,
                  apart ? "apart" : "packed");
        if (apart) {
            f.c.k = test_rows_apart(c.k, low, hidden), f.c.v = test_rows_apart(c.v, low, hidden);
            f.c.q = test_rows_apart(c.q, low, NULL);
        } else {
            f.c.q.data = test_fenced(2 * Lq * D * 2, low);
            f.c.k.data = test_fenced(2 * Lk * D * 2, low), f.c.v.data = test_fenced(2 * Lk * c.v.dim * 2, low);
            memcpy(f.c.q.data, c.q.data, 2 * Lq * D * 2);
            memcpy(f.c.k.data, c.k.data, 2 * Lk * D * 2), memcpy(f.c.v.data, c.v.data, 2 * Lk * c.v.dim * 2);
        }
        renew(&f.c);
        if (CHECK(test_keeps_off_fences(attend_fenced, &f)))
            CHECK(same(f.c.out, c.out));
        test_release();
    }
}

/* Pages that a window has left behind are not read, though the first key that is seen may be one of odd number, and the
   key beside it in such a page. */
TEST(pairs_evicted)
{
    static const size_t page_lens[] = {1, 2, 3, 5, 16}, queries[] = {1, 2, 8, 20};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(page_lens) * COUNT(queries) * (test_quick ? 1 : 4); n++) {
        size_t page_len = page_lens[n % COUNT(page_lens)], Lq = queries[n / COUNT(page_lens) % COUNT(queries)];
        size_t first = page_len * (5 + test_below(6)), left = test_below(8), Lk = first + left + Lq, pages;
        unsigned char *hidden;
        grid_call c = plain_call(1, 2, 1, Lq, Lk, 1 + test_below(20), 1 + test_below(40));
        fences f;
        memset(&f, 0, sizeof f);
        want_lse(&c);
        if (n % 8 > 4)
            want_matrices(&c, ATTN_STAGE_FINAL);
        if (n % 16 > 12) /* which are computed once more */
            c.o.weights = test_tensor(ATTN_F16, 1, 2, Lq, Lk, T_BHLD);
        c.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
        c.o.window.on = 1, c.o.window.left = (ptrdiff_t)left, c.o.window.right = -1;
        run(&c, PAIRS);
        f.pages = 1;
        make_pages(&f.p, &c, page_len, &first, n % 3 > 0, T_BHLD);
        f.p.lens[0] = Lk;
        f.c = c;
        renew(&f.c);
        pages = f.p.pages.k.batch;
        hidden = memset(test_block(pages * page_len), 1, pages * page_len);
        for (size_t j = first / page_len; j < f.p.pages.table_stride; j++)
            memset(hidden + f.p.table[j] * page_len, 0, page_len);
        f.p.pages.k = test_rows_apart(f.p.pages.k, n % 2, hidden);
        f.p.pages.v = test_rows_apart(f.p.pages.v, n % 2, hidden);
        test_case("case %d: pages of %zu, %zu queries, keys %zu .. %zu", n, page_len, Lq, first, Lk - 1);
        if (CHECK(test_keeps_off_fences(attend_fenced, &f)))
            CHECK(same_outputs(&f.c, &c, 0, 0));
        test_release();
    }
}

/* ---- matrix products ---- */

/* b as the transpose of a matrix whose rows are `step` elements apart: terms of a sum follow each other. */
static attn_mat turned(attn_mat b, size_t step)
{
    attn_mat t = b;
    char *data = test_block((b.cols * step + 1) * 2);
    t.data = data + 2;
    t.row_stride = 1, t.col_stride = (ptrdiff_t)step;
    for (size_t r = 0; r < b.rows; r++)
        for (size_t c = 0; c < b.cols; c++)
            memcpy(test_at(t, r, c), test_at(b, r, c), 2);
    return t;
}

/* Layouts of test_mat, and rows or columns an odd or an even number of elements apart. */
enum { M_TURNED_ODD = LAYOUTS, M_TURNED_EVEN, M_ODD, M_EVEN, M_BACK, M_LAYOUTS };

static attn_mat like(attn_mat m, int layout)
{
    attn_mat t;
    size_t odd = 1 + m.rows % 2, even = m.rows % 2;
    switch (layout) {
    case M_TURNED_ODD: return turned(m, m.rows + odd + (m.rows + odd + 1) % 2);
    case M_TURNED_EVEN: return turned(m, m.rows + even + 2);
    case M_ODD: return attn_mat_t(turned(attn_mat_t(m), m.cols + 1 + m.cols % 2));
    case M_EVEN: return attn_mat_t(turned(attn_mat_t(m), m.cols + 2 + m.cols % 2));
    case M_BACK: /* rows that are pairs, the last first */
        t = attn_mat_t(turned(attn_mat_t(m), m.cols + m.cols % 2));
        if (m.rows == 0)
            return t;
        t.data = test_at(t, m.rows - 1, 0);
        t.row_stride *= -1;
        for (size_t r = 0; r < m.rows; r++)
            for (size_t c = 0; c < m.cols; c++)
                memcpy(test_at(t, r, c), test_at(m, r, c), 2);
        return t;
    default: return test_mat_like(m, layout < OUT_LAYOUTS ? layout : PACKED);
    }
}

static double *mat_doubles(attn_mat m, int by_cols)
{
    double *x = test_block(m.rows * m.cols * sizeof *x);
    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0; c < m.cols; c++)
            x[by_cols ? c * m.rows + r : r * m.cols + c] = (double)test_load(test_at(m, r, c), m.dtype);
    return x;
}

/* Is each element alpha a b within (K + 2) u |alpha| sum |a b|, and half an ulp of a narrower type? */
static int is_product(attn_mat out, attn_mat a, attn_mat b, double alpha)
{
    const double *x = mat_doubles(a, 0), *y = mat_doubles(b, 1), u = unit();
    size_t K = a.cols;
    for (size_t r = 0; r < out.rows; r++)
        for (size_t c = 0; c < out.cols; c++) {
            double sum = 0, size = 0, got = (double)test_load(test_at(out, r, c), out.dtype), room;
            for (size_t k = 0; k < K; k++) {
                double term = x[r * K + k] * y[c * K + k];
                sum += term;
                size += fabs(term);
            }
            sum *= alpha;
            room = ((double)K + 2) * u * fabs(alpha) * size + 0x1p-126;
            if (out.dtype != ATTN_F32)
                room += (double)test_ulp((real)(fabs(sum) + room), out.dtype) / 2;
            if (fabs(got - sum) <= room)
                continue;
            SAY("    element %zu %zu: got %.9g, want %.9g within %.3g\n", r, c, got, sum, room);
            return 0;
        }
    return 1;
}

/* Numbers, whole ones if `whole`: then sums have no rounding. */
static attn_mat factor(size_t rows, size_t cols, int whole)
{
    attn_mat m = test_random_mat(ATTN_BF16, rows, cols, PACKED);
    for (size_t n = 0; n < rows * cols && whole; n++)
        (attn_mat_set)(m, n / cols, n % cols, (double)test_below(17) - 8);
    return m;
}

/* Every size in every place, in all layouts: near the exact product, and of whole numbers the bits of the base. */
TEST(pairs_matmul)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 48, 49, 64, 100, 130, 257};
    static const attn_dtype outs[] = {ATTN_F32, ATTN_BF16, ATTN_F16};
    static const double alphas[] = {1, 0.75, -2, 1};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(sizes) * 3 * (test_quick ? 1 : 8); n++) {
        size_t size[3]; /* M, K, N */
        int whole = n % 4 == 3, la = (int)test_below(M_LAYOUTS), lb = (int)test_below(M_LAYOUTS);
        attn_mat a, b, out;
        for (int m = 0; m < 3; m++)
            size[m] = 1 + test_below(m == 1 || test_maybe() ? 40 : 20);
        size[n % 3] = sizes[n / 3 % COUNT(sizes)];
        a = like(factor(size[0], size[1], whole), la), b = like(factor(size[1], size[2], whole), lb);
        out = test_mat(outs[n / 5 % 3], size[0], size[2], (int)test_below(OUT_LAYOUTS));
        test_case("case %d: %zu x %zu x %zu, layouts %d and %d, alpha %g", n, size[0], size[1], size[2], la, lb,
                  alphas[n % 4]);
        test_freeze();
        CHECK_STATUS(attn_matmul_ctx(out, a, b, alphas[n % 4], &pairs_ctx), ATTN_OK);
        CHECK(test_wrote_only(&out, 1));
        CHECK(is_product(out, a, b, alphas[n % 4]));
        if (whole) {
            attn_mat base = test_mat(out.dtype, out.rows, out.cols, PACKED);
            CHECK_STATUS(attn_matmul_ctx(base, a, b, 1, &base_ctx), ATTN_OK);
            CHECK(same_mats(out, base));
        }
        test_release();
    }
}

/* Inputs whose rows are all one, or whose columns are. */
TEST(pairs_matmul_broadcast)
{
    if (lacks_pairs())
        return;
    for (int n = 0; n < 12; n++) {
        size_t M = 1 + test_below(40), K = 1 + test_below(60), N = 1 + test_below(60);
        attn_mat a = test_random_mat(ATTN_BF16, M, K, n % 3 ? ONE_ROW + n % 2 : PACKED);
        attn_mat b = test_random_mat(ATTN_BF16, K, N, n % 3 != 1 ? ONE_ROW + n / 2 % 2 : PACKED);
        attn_mat out = test_mat(ATTN_F32, M, N, PACKED), again = test_mat(ATTN_F32, M, N, PACKED);
        test_case("case %d: %zu x %zu x %zu", n, M, K, N);
        CHECK_STATUS(attn_matmul_ctx(out, a, b, 1, &pairs_ctx), ATTN_OK);
        CHECK_STATUS(attn_matmul_ctx(again, test_mat_like(a, PACKED), test_mat_like(b, TRANSPOSED), 1, &pairs_ctx),
                     ATTN_OK);
        CHECK(is_product(out, a, b, 1) && same_mats(out, again));
        test_release();
    }
}

/* Rows and columns of a product, batch_invariant: alone or among others, in every layout, on threads, with scratch of
   any size, or none and no memory either: the same bits; without it, those of as many rows. And added to what is
   there, the sum that they were, rounded to float. */
static void check_rows(size_t M, size_t K, size_t N, int n)
{
    static const size_t counts[] = {1, 4, 8, 16, 24, 27, 48, 49, 60},
                        scratches[] = {0, 1, 16384, 40000, 300000, 1 << 21};
    attn_mat a = factor(M, K, 0), b = factor(K, N, 0), all = test_mat(ATTN_F32, M, N, PACKED);
    attn_ctx invariant = pairs_ctx;
    invariant.batch_invariant = 1;
    CHECK_STATUS(attn_matmul_ctx(all, a, b, 0.5, &invariant), ATTN_OK);
    for (int m = n % 2; m < COUNT(counts); m += test_quick ? 4 : 1) {
        size_t count = M < 4           ? 1
                       : counts[m] < M ? counts[m]
                                       : M,
               first = test_below(M - count + 1), size = scratches[test_below(6)];
        int la = (int)test_below(M_LAYOUTS), lb = (int)test_below(M_LAYOUTS);
        lb = M < 4 && m < 6 ? m % 2 ? TRANSPOSED : M_TURNED_EVEN : m % 3 ? M_TURNED_ODD + (m + n) % 2 : lb;
        attn_mat some = like(attn_mat_rows(a, first, count), la), w = like(b, lb),
                 want = attn_mat_rows(all, first, count);
        attn_mat out = test_mat(ATTN_F32, count, N, (int)test_below(OUT_LAYOUTS)), sums, before;
        attn_ctx ctx = test_maybe() ? pairs_ctx : invariant;
        test_runner runner;
        size_t width = 1 + test_below(3), col = test_below(N), cols = 1 + test_below(N - col);
        ctx.parallel = m % 2 ? test_threads(&runner, width) : test_serial_backwards(&runner, width);
        if (size)
            test_scratch(&ctx, size, m % 2);
        test_case("%zu x %zu x %zu: %zu rows, layouts %d and %d, width %zu, scratch %zu", M, K, N, count, la, lb, width,
                  size);
        if (!ctx.batch_invariant) {
            want = test_mat(ATTN_F32, count, N, PACKED);
            CHECK_STATUS(attn_matmul_ctx(want, attn_mat_rows(a, first, count), b, 0.5, &pairs_ctx), ATTN_OK);
        }
        test_memory_state.fail_all = test_maybe();
        CHECK_STATUS(attn_matmul_ctx(out, some, w, 0.5, &ctx), ATTN_OK);
        CHECK(same_mats(out, want));
        if (count == 1) /* by another kernel, where there are few columns */
            CHECK_STATUS(attn_matmul_ctx(attn_mat_cols(out, col, cols), some, attn_mat_cols(w, col, cols), 0.5, &ctx),
                         ATTN_OK);
        CHECK(same_mats(out, want));
        before = test_random_mat(m % 2 ? test_wide : ATTN_F32, count, N, PACKED);
        sums = test_mat_like(before, (int)test_below(OUT_LAYOUTS));
        CHECK_STATUS(attn_matmul_add(sums, some, w, 0.5, &ctx), ATTN_OK);
        test_memory_state.fail_all = 0;
        CHECK(!size || test_scratch_kept(&ctx));
        for (size_t r = 0; r < count; r++)
            for (size_t c = 0; c < N; c++) {
                double x = (double)test_load(test_at(before, r, c), before.dtype), sum;
                sum = x + (double)test_load(test_at(want, r, c), ATTN_F32);
                if (before.dtype == ATTN_F32)
                    sum = (double)(float)sum;
                if (!CHECK((double)test_load(test_at(sums, r, c), sums.dtype) == sum))
                    return;
            }
    }
    test_release();
}

TEST(pairs_matmul_rows)
{
    static const size_t shapes[][3] = {{60, 64, 40},    {60, 65, 100},  {61, 257, 33}, {60, 700, 50},
                                       {60, 512, 130},  {64, 1500, 37}, {60, 7, 300},  {300, 100, 65},
                                       {5, 2600, 64},   {530, 34, 17},  {60, 16, 16},  {60, 30, 17},
                                       {1, 1024, 1030}, {2, 64, 5000},  {3, 896, 300}, {2, 2048, 131}};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(shapes); n += test_quick ? 3 : 1)
        check_rows(shapes[n][0], shapes[n][1], shapes[n][2], n);
}

/* Large products, cut into blocks and parts of sums, are near the exact one. */
TEST(pairs_matmul_large)
{
    static const size_t shapes[][3] = {{33, 700, 257}, {257, 1500, 16}, {1, 1500, 700}, {700, 33, 64}, {16, 1501, 100}};
    if (lacks_pairs())
        return;
    for (int n = 0; n < COUNT(shapes); n++)
        for (int whole = 0; whole < 2; whole++) {
            size_t by = test_quick ? 4 : 1, M = (shapes[n][0] + 3) / by, K = shapes[n][1], N = (shapes[n][2] + 3) / by;
            attn_mat a = like(factor(M, K, whole), n % 3 ? PACKED : M_ODD);
            attn_mat b = like(factor(K, N, whole), n % 2 ? PACKED : M_TURNED_EVEN),
                     out = test_mat(ATTN_F32, M, N, PACKED);
            test_case("%zu x %zu x %zu", M, K, N);
            CHECK_STATUS(attn_matmul_ctx(out, a, b, 1, &pairs_ctx), ATTN_OK);
            CHECK(is_product(out, a, b, 1));
            if (whole) {
                attn_mat base = test_mat(ATTN_F32, M, N, PACKED);
                CHECK_STATUS(attn_matmul_ctx(base, a, b, 1, &base_ctx), ATTN_OK);
                CHECK(same_mats(out, base));
            }
            test_release();
        }
}

/* NaN and infinity make of an element what they make of it in exact arithmetic, beside the zero that fills the last
   pair of an odd number of terms too; what is subnormal counts as itself or as zero. */
TEST(pairs_matmul_specials)
{
    static const double bad[] = {HUGE_VAL, -HUGE_VAL, NAN, 0x1p-130};
    if (lacks_pairs())
        return;
    for (int n = 0; n < (test_quick ? 30 : 200); n++) {
        size_t M = n % 3 ? 1 + test_below(30) : 1, K = 1 + test_below(60), N = 1 + test_below(60), k, row, col;
        attn_mat a = like(factor(M, K, 0), (int)test_below(M_LAYOUTS)),
                 b = like(factor(K, N, 0), (int)test_below(M_LAYOUTS));
        attn_mat out = test_mat(ATTN_F32, M, N, PACKED), was = test_mat(ATTN_F32, M, N, PACKED);
        int in_b = test_maybe();
        double x = bad[n % 4], other;
        k = test_maybe() ? K - 1 : test_below(K), row = test_below(M), col = test_below(N);
        (attn_mat_set)(in_b ? b : a, in_b ? k : row, in_b ? col : k, 0);
        CHECK_STATUS(attn_matmul_ctx(was, a, b, 1, &pairs_ctx), ATTN_OK);
        (attn_mat_set)(in_b ? b : a, in_b ? k : row, in_b ? col : k, x);
        test_case("case %d: %zu x %zu x %zu, %g at %zu of %s", n, M, K, N, x, k, in_b ? "b" : "a");
        CHECK_STATUS(attn_matmul_ctx(out, a, b, 1, &pairs_ctx), ATTN_OK);
        for (size_t r = 0; r < M; r++)
            for (size_t c = 0; c < N; c++) {
                real got = test_load(test_at(out, r, c), ATTN_F32), before = test_load(test_at(was, r, c), ATTN_F32);
                other = in_b ? (double)test_load(test_at(a, r, k), ATTN_BF16)
                             : (double)test_load(test_at(b, k, c), ATTN_BF16);
                if (in_b ? c != col : r != row)
                    CHECK(got == before);
                else if (n % 4 == 3)
                    CHECK(got == before || (K == 1 && got == (real)(float)(x * other)));
                else
                    CHECK(kind_of(got) == kind_of((real)(x * other)));
            }
        test_release();
    }
    for (int n = 0; n < 40; n++) { /* subnormal factors of large ones: the product is none */
        size_t K = 1 + test_below(20), k = test_below(K);
        attn_mat a = test_mat(ATTN_BF16, n % 2 ? 1 : 20, K, PACKED),
                 b = test_mat(ATTN_BF16, K, 33, n % 3 ? PACKED : TRANSPOSED);
        attn_mat out = test_mat(ATTN_F32, a.rows, 33, PACKED);
        test_fill(a, 0x1p20), test_fill(b, 0x1p-100);
        for (size_t c = 0; c < 33; c++)
            (attn_mat_set)(b, k, c, 0x1.8p-130);
        CHECK_STATUS(attn_matmul_ctx(out, a, b, 1, &pairs_ctx), ATTN_OK);
        test_case("case %d: a subnormal term of %zu", n, K);
        for (size_t r = 0; r < a.rows; r++)
            for (size_t c = 0; c < 33; c++) {
                double got = (double)test_load(test_at(out, r, c), ATTN_F32), rest = (double)(K - 1) * 0x1p-80;
                CHECK(got == rest || got == (double)(float)(rest + 0x1.8p-110));
            }
        test_release();
    }
}

typedef struct fenced_product {
    attn_mat out, a, b;
} fenced_product;

static void multiply_fenced(void *arg)
{
    fenced_product *f = arg;
    CHECK_STATUS(attn_matmul_ctx(f->out, f->a, f->b, 1, &pairs_ctx), ATTN_OK);
}

/* Nothing is read beside the factors, each row of which begins or ends where memory does. */
TEST(pairs_matmul_fences)
{
    static const size_t rows[] = {1, 2, 9, 30}, terms[] = {1, 2, 3, 15, 16, 17, 33, 48, 64},
                        cols[] = {1, 15, 16, 17, 33, 40};
    if (lacks_pairs())
        return;
    for (int n = 0; n < (test_quick ? 40 : 200); n++) {
        size_t M = rows[test_below(4)], K = terms[test_below(9)], N = cols[test_below(6)];
        attn_mat a = factor(M, K, 0), b = factor(K, N, 0), want = test_mat(ATTN_F32, M, N, PACKED), wide;
        int low = test_maybe(), turn = n % 3 > 0;
        fenced_product f;
        CHECK_STATUS(attn_matmul_ctx(want, a, b, 1, &pairs_ctx), ATTN_OK);
        f.a = attn_head(test_rows_apart(as_tensor(a), low, NULL), 0, 0);
        wide = turn ? attn_mat_t(test_mat_like(b, TRANSPOSED)) : b;
        f.b = attn_head(test_rows_apart(as_tensor(wide), low, NULL), 0, 0);
        f.b = turn ? attn_mat_t(f.b) : f.b;
        f.out = test_mat(ATTN_F32, M, N, PACKED);
        test_case("case %d: %zu x %zu x %zu%s", n, M, K, N, turn ? ", b is turned" : "");
        if (CHECK(test_keeps_off_fences(multiply_fenced, &f)))
            CHECK(same_mats(f.out, want));
        test_release();
    }
}

/* ---- what has no pairs of BF16 ---- */

static int names_isa(const char *text, attn_isa isa)
{
    return grid_names(text, attn_isa_string(isa)) && !grid_names(text, attn_isa_string(isa == PAIRS ? BASE : PAIRS));
}

/* All three of BF16 go by pairs, and say so; any other types have the bits of the base. */
TEST(pairs_types)
{
    static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    if (lacks_pairs())
        return;
    CHECK(strcmp(attn_isa_string(ATTN_ISA_AVX512BF16), "avx512bf16") == 0);
    for (int n = 0; n < 28 * 3; n++) {
        static const size_t queries[] = {1, 5, 60};
        size_t Lq = queries[n % 3];
        int kind = n / 3, pairs = kind == 26;
        attn_dtype q = kind < 27 ? types[kind % 3] : test_wide, k = kind < 27 ? types[kind / 3 % 3] : test_wide,
                   v = kind < 27 ? types[kind / 9] : test_wide;
        char text[4096];
        grid_call c = plain_call(1, 4, 2, Lq, 70, 65, 20), base, best;
        c.q = test_random_tensor(q, 1, 4, Lq, 65, T_BHLD);
        c.k = test_random_tensor(k, 1, 2, 70, 65, T_BHLD), c.v = test_random_tensor(v, 1, 2, 70, 20, T_BHLD);
        c.out.dtype = q == ATTN_F64 ? ATTN_F64 : ATTN_F32;
        renew(&c);
        want_lse(&c);
        if (n % 2)
            want_matrices(&c, ATTN_STAGE_FINAL);
        c.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
        base = best = c;
        renew(&base);
        test_case("q %s, k %s, v %s, %zu queries", test_dtype_name(q), test_dtype_name(k), test_dtype_name(v), Lq);
        run(&c, PAIRS), run(&base, BASE);
        if (pairs)
            CHECK(!test_same_tensor_bits(c.out, base.out));
        else
            CHECK(same_outputs(&c, &base, 0, 0));
        CHECK_STATUS(grid_ask(&c, GRID_DRY, &pairs_ctx, text, sizeof text), ATTN_OK);
        CHECK(names_isa(text, pairs ? PAIRS : BASE));
        CHECK_STATUS(grid_ask(&c, GRID_DRY, &base_ctx, text, sizeof text), ATTN_OK);
        CHECK(names_isa(text, BASE));
        renew(&best);
        run(&best, ATTN_ISA_BEST);
        CHECK(same_outputs(&best, test_takes_pairs(ATTN_ISA_BEST, q, k, v) ? &c : &base, 0, 0));
        test_release();
    }
}

/* ATTN_ISA_BEST takes them on those CPUs alone that were measured to be faster with them. */
TEST(pairs_best)
{
    int best = test_takes_pairs(ATTN_ISA_BEST, ATTN_BF16, ATTN_BF16, ATTN_BF16), known = 0, faster = 0;
    if (lacks_pairs()) {
        CHECK(!best);
        return;
    }
#ifdef HAVE_CPUID
    unsigned leaf[4] = {0}, family, model;
    CHECK(__get_cpuid(0, &leaf[0], &leaf[1], &leaf[2], &leaf[3]));
    known = leaf[2] == 0x6c65746e || leaf[2] == 0x444d4163; /* GenuineIntel, AuthenticAMD */
    faster = leaf[2] == 0x444d4163;
    CHECK(__get_cpuid(1, &leaf[0], &leaf[1], &leaf[2], &leaf[3]));
    family = (leaf[0] >> 8 & 15) + (leaf[0] >> 20 & 255), model = (leaf[0] >> 4 & 15) + (leaf[0] >> 12 & 0xf0);
    faster = faster && (family == 0x19 || (family == 0x1a && (model < 0x30 || model / 16 == 4 || model / 32 == 3)));
    test_case("family %x, model %x", family, model);
    if (known)
        CHECK(best == faster);
#else
    (void)known, (void)faster;
#endif
}

/* So do lists, by the number of keys in their blocks. */
TEST(pairs_types_of_lists)
{
    if (lacks_pairs())
        return;
    for (size_t kv_len = 1; kv_len < 9; kv_len++) {
        char text[4096];
        attn_tensor mask;
        grid_call c = plain_call(1, 2, 1, 3, 50, 8, 8);
        make_lists(&c, &mask, 2, kv_len, 1);
        test_case("blocks of %zu keys", kv_len);
        CHECK_STATUS(grid_ask(&c, GRID_DRY, &pairs_ctx, text, sizeof text), ATTN_OK);
        CHECK(names_isa(text, kv_len % 2 ? BASE : PAIRS));
        test_release();
    }
}

/* Products of matrices, by the types of both factors. */
TEST(pairs_types_of_products)
{
    const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, test_wide};
    if (lacks_pairs())
        return;
    for (int n = 0; n < 16 * 3; n++) {
        attn_dtype ta = types[n / 3 % 4], tb = types[n / 12], type = ta == ATTN_F64 ? ATTN_F64 : ATTN_F32;
        size_t M = n % 3 == 0 ? 1 : n % 3 == 1 ? 9 : 40;
        attn_mat a, b, out, base;
        if ((ta == ATTN_F64) != (tb == ATTN_F64))
            continue;
        a = test_random_mat(ta, M, 70, PACKED), b = test_random_mat(tb, 70, 33, n % 2 ? TRANSPOSED : PACKED);
        out = test_mat(type, M, 33, PACKED), base = test_mat(type, M, 33, PACKED);
        test_case("%s by %s, %zu rows", test_dtype_name(ta), test_dtype_name(tb), M);
        CHECK_STATUS(attn_matmul_ctx(out, a, b, 1, &pairs_ctx), ATTN_OK);
        CHECK_STATUS(attn_matmul_ctx(base, a, b, 1, &base_ctx), ATTN_OK);
        if (ta == ATTN_BF16 && tb == ATTN_BF16)
            CHECK(!test_same_bits(out, base));
        else
            CHECK(same_mats(out, base));
        CHECK_STATUS(attn_matmul_add(out, a, b, 0.5, &pairs_ctx), ATTN_OK);
        CHECK_STATUS(attn_matmul_add(base, a, b, 0.5, &base_ctx), ATTN_OK);
        if (ta != ATTN_BF16 || tb != ATTN_BF16)
            CHECK(same_mats(out, base));
        test_release();
    }
}

/* Caches: BF16 by pairs, if the queries are BF16 too; F32, F16 and I8 as under the base. */
TEST(pairs_types_of_caches)
{
    static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
    if (lacks_pairs())
        return;
    for (int n = 0; n < 16; n++) {
        attn_dtype q_type = n % 4 < 3 ? types[n % 4] : ATTN_BF16, type = types[n / 4];
        size_t bytes = 0, Lq = n % 4 == 3 ? 20 : 1;
        attn_tensor q = test_random_tensor(q_type, 1, 4, Lq, 65, T_BHLD),
                    out = test_tensor(ATTN_F32, 1, 4, Lq, 9, T_BHLD), base = test_tensor(ATTN_F32, 1, 4, Lq, 9, T_BHLD);
        int pairs = q_type == ATTN_BF16 && type == ATTN_BF16;
        attn_kv_cache cache;
        char text[4096];
        attn_dry_run dry = {0, text, sizeof text};
        memset(&cache, 0, sizeof cache);
        CHECK_STATUS(attn_kv_cache_size(&bytes, 1, 2, 50, 65, 9, type, 0), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_init(&cache, 1, 2, 50, 65, 9, type, 0, test_block(bytes), bytes), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_append(&cache, test_random_tensor(ATTN_F32, 1, 2, 43, 65, T_BHLD),
                                          test_random_tensor(ATTN_F32, 1, 2, 43, 9, T_BHLD), NULL),
                     ATTN_OK);
        test_case("queries of %s, a cache of %s", test_dtype_name(q_type), test_dtype_name(type));
        CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, NULL, &pairs_ctx), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_attend(base, q, &cache, NULL, &base_ctx), ATTN_OK);
        if (pairs)
            CHECK(!test_same_tensor_bits(out, base));
        else
            CHECK(same(out, base));
        CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, NULL, test_dry(&pairs_ctx, &dry)), ATTN_OK);
        CHECK(names_isa(text, pairs ? PAIRS : BASE));
        test_release();
    }
}

/* Softmax, merging and gradients of attention know no pairs. */
TEST(pairs_elsewhere)
{
    const attn_dtype types[] = {ATTN_BF16, ATTN_F32, ATTN_F16, test_wide};
    if (lacks_pairs())
        return;
    for (int n = 0; n < 4; n++) {
        attn_mat in = test_random_mat(types[n], 20, 99, PACKED), out = test_mat(types[n], 20, 99, PACKED),
                 base = test_mat(types[n], 20, 99, PACKED);
        attn_tensor x = test_random_tensor(types[n], 1, 2, 9, 20, T_BHLD),
                    y = test_random_tensor(types[n], 1, 2, 9, 20, T_BHLD);
        attn_tensor lse = test_random_tensor(ATTN_F32, 1, 2, 9, 1, T_BHLD),
                    lse_b = test_random_tensor(ATTN_F32, 1, 2, 9, 1, T_BHLD);
        attn_tensor x2 = laid(x, T_BHLD), lse2 = laid(lse, T_BHLD);
        test_case("%s", test_dtype_name(types[n]));
        CHECK_STATUS(attn_softmax_ctx(out, in, &pairs_ctx), ATTN_OK);
        CHECK_STATUS(attn_softmax_ctx(base, in, &base_ctx), ATTN_OK);
        CHECK(test_same_bits(out, base));
        CHECK_STATUS(attn_merge_ctx(x, lse, y, lse_b, &pairs_ctx), ATTN_OK);
        CHECK_STATUS(attn_merge_ctx(x2, lse2, y, lse_b, &base_ctx), ATTN_OK);
        CHECK(test_same_tensor_bits(x, x2) && test_same_tensor_bits(lse, lse2));
    }
    for (int n = 0; n < 6; n++) {
        grid_call c = plain_call(2, 4, 2, n % 3 == 0 ? 1 : n % 3 == 1 ? 9 : 60, 70, 12, 20), base;
        char text[4096];
        want_lse(&c);
        c.o.causal = n < 3 ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
        c.out.dtype = ATTN_BF16;
        renew(&c);
        run(&c, PAIRS);
        c.dout = test_random_tensor(ATTN_BF16, 2, 4, c.q.len, 20, T_BHLD);
        base = c;
        for (int m = 0; m < 2; m++) {
            grid_call *one = m ? &base : &c;
            one->g.q = test_tensor(ATTN_F32, 2, 4, c.q.len, 12, T_BHLD);
            one->g.k = test_tensor(ATTN_BF16, 2, 2, 70, 12, T_BHLD),
            one->g.v = test_tensor(ATTN_F32, 2, 2, 70, 20, T_BHLD);
        }
        test_case("gradients, case %d", n);
        CHECK(grid_run(&c, GRID_BACKWARD, PAIRS, GRID_ALONE, 1, GRID_EXACT));
        CHECK(grid_run(&base, GRID_BACKWARD, BASE, GRID_ALONE, 1, GRID_NO_SCRATCH));
        CHECK(grid_same_outputs(&c, &base, GRID_BACKWARD));
        CHECK_STATUS(grid_ask(&c, GRID_BACK_DRY, &pairs_ctx, text, sizeof text), ATTN_OK);
        CHECK(names_isa(text, BASE));
        test_release();
    }
}
