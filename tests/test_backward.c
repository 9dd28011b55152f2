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
#include "backward.h"
#include "grid.h"

#define C 8

#if !defined(ATTN_NO_TRAINING)

/* ---- the axes of the grid ---- */

enum { MOST_BATCH = 3, MOST_HEADS = 14 };

static const size_t sizes_d[] = {1, 2, 3, 5, 8, 16, 17, 40, 63, 64, 72, 96, 128, 130};
static const size_t sizes_dv[] = {0, 1, 3, 7, 16, 33, 64, 100, 130}; /* 0: D */
static const size_t lengths_q[] = {0, 1, 4, 15, 16, 17, 47, 48, 49, 97, 260};
static const size_t lengths_k[] = {0, 1, 7, 8, 9, 31, 127, 128, 129, 300, 530};
static const size_t groups[] = {1, 2, 7}, kv_heads[] = {1, 2}, batches[] = {1, MOST_BATCH}, widths[] = {1, 2, 3, 7};
static const double scales[] = {0, 1, -0.7, 0.001, 30}, softcaps[] = {0, 0.5, 20}, drops[] = {0, 0.25, 0.8};
static const attn_dtype floats[] = {ATTN_F32, ATTN_F64, ATTN_F16, ATTN_BF16};

/* q, k, v, dout, out: each alone, then mixes in which every type of one argument meets every type of each other. */
static const attn_dtype types[][5] = {
    {ATTN_F32, ATTN_F32, ATTN_F32, ATTN_F32, ATTN_F32},    {ATTN_F64, ATTN_F64, ATTN_F64, ATTN_F64, ATTN_F64},
    {ATTN_F16, ATTN_F16, ATTN_F16, ATTN_F16, ATTN_F16},    {ATTN_BF16, ATTN_BF16, ATTN_BF16, ATTN_BF16, ATTN_BF16},
    {ATTN_F32, ATTN_F16, ATTN_F16, ATTN_F32, ATTN_F16},    {ATTN_F32, ATTN_BF16, ATTN_BF16, ATTN_F16, ATTN_BF16},
    {ATTN_F16, ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_BF16},  {ATTN_F16, ATTN_F16, ATTN_BF16, ATTN_F32, ATTN_F32},
    {ATTN_F16, ATTN_BF16, ATTN_F32, ATTN_F32, ATTN_F16},   {ATTN_BF16, ATTN_F32, ATTN_BF16, ATTN_F32, ATTN_F16},
    {ATTN_BF16, ATTN_F16, ATTN_F32, ATTN_BF16, ATTN_BF16}, {ATTN_BF16, ATTN_BF16, ATTN_F16, ATTN_F16, ATTN_F32},
};

/* Of the gradients of q, k and v, where the compute type is F32. */
static const attn_dtype grad_types[][3] = {{ATTN_F32, ATTN_F32, ATTN_F32},
                                           {ATTN_F16, ATTN_F16, ATTN_F16},
                                           {ATTN_BF16, ATTN_BF16, ATTN_BF16},
                                           {ATTN_F32, ATTN_F16, ATTN_BF16},
                                           {ATTN_BF16, ATTN_F32, ATTN_F32},
                                           {ATTN_F16, ATTN_BF16, ATTN_F32}};

static const struct {
    int on;
    ptrdiff_t left, right;
} windows[] = {{0, -9, -9},  {1, 0, 0},  {1, 3, -1},   {1, -1, 0},
               {1, 40, 5}, {1, -1, -1}, {1, 100, 0}, {1, PTRDIFF_MAX, PTRDIFF_MAX}};

enum {
    OFFSET_NONE,
    OFFSET_ZERO,
    OFFSET_AHEAD,
    OFFSET_BEHIND,
    OFFSET_ALIGNED,
    OFFSET_PAST,
    OFFSET_BEFORE,
    OFFSET_HUGE,
    OFFSET_HUGE_BEHIND,
    OFFSETS
};
enum { MASK_RANDOM, MASK_BANDS, MASK_TRUE, MASK_EMPTY_ROWS, MASK_KINDS };
enum { BIAS_RANDOM, BIAS_HOLES, BIAS_BANDS, BIAS_KINDS };
enum { BIAS_BY_DISTANCE = 17, BIASES };
enum { LENS_NONE, LENS_FULL, LENS_RANDOM, LENS_ZERO, LENS };
enum { SINKS_NONE, SINKS_RANDOM, SINKS_EXTREME, SINKS };
enum { RUN_ALONE, RUN_BACKWARDS, RUN_THREADS, RUNS };
enum { SCRATCH_NONE, SCRATCH_EXACT, SCRATCH_ODD, SCRATCHES };

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* Name and number of levels. A mask or bias is absent, or 1 + one bit for each dimension that is not broadcast, or made
   by attn_relative. */
#define AXIS_LIST(X)                                                                                                   \
    X(D, COUNT(sizes_d))                                                                                               \
    X(DV, COUNT(sizes_dv))                                                                                             \
    X(LQ, COUNT(lengths_q))                                                                                            \
    X(LK, COUNT(lengths_k))                                                                                            \
    X(GROUP, COUNT(groups))                                                                                            \
    X(HKV, COUNT(kv_heads))                                                                                            \
    X(B, COUNT(batches))                                                                                               \
    X(TYPES, COUNT(types))                                                                                             \
    X(GRAD_TYPES, COUNT(grad_types))                                                                                   \
    X(CAUSAL, 4)                                                                                                       \
    X(OFFSET, OFFSETS)                                                                                                 \
    X(WINDOW, COUNT(windows))                                                                                          \
    X(MASK, 17)                                                                                                        \
    X(MASK_KIND, MASK_KINDS)                                                                                           \
    X(Q_LENS, LENS)                                                                                                    \
    X(KV_LENS, LENS)                                                                                                   \
    X(SCALE, COUNT(scales))                                                                                            \
    X(SOFTCAP, COUNT(softcaps))                                                                                        \
    X(BIAS, BIASES)                                                                                                    \
    X(BIAS_KIND, BIAS_KINDS)                                                                                           \
    X(BIAS_TYPE, COUNT(floats))                                                                                        \
    X(BIAS_GRAD, COUNT(floats))                                                                                        \
    X(ALIBI, 2)                                                                                                        \
    X(SINKS, SINKS)                                                                                                    \
    X(MOD, 2)                                                                                                          \
    X(DROPOUT, COUNT(drops))                                                                                           \
    X(DLSE, 1 + COUNT(floats))                                                                                         \
    X(ACCUMULATE, 2)                                                                                                   \
    X(Q_LAYOUT, T_LAYOUTS)                                                                                             \
    X(K_LAYOUT, T_LAYOUTS)                                                                                             \
    X(V_LAYOUT, T_LAYOUTS)                                                                                             \
    X(DOUT_LAYOUT, T_LAYOUTS)                                                                                          \
    X(OUT_LAYOUT, T_OUT_LAYOUTS)                                                                                       \
    X(OTHER_LAYOUT, T_OUT_LAYOUTS)                                                                                     \
    X(Q_GRAD_LAYOUT, T_OUT_LAYOUTS)                                                                                    \
    X(K_GRAD_LAYOUT, T_OUT_LAYOUTS)                                                                                    \
    X(V_GRAD_LAYOUT, T_OUT_LAYOUTS)                                                                                    \
    X(WIDTH, COUNT(widths))                                                                                            \
    X(RUNNER, RUNS)                                                                                                    \
    X(SCRATCH, SCRATCHES)

#define AXIS_NUMBER(name, levels) A_##name,
#define AXIS_ENTRY(name, levels) {#name, levels},
enum { AXIS_LIST(AXIS_NUMBER) AXES };

static const struct grid_axis axes[] = {AXIS_LIST(AXIS_ENTRY)};

static size_t value_at(const grid_point *p, int axis, const size_t *values)
{
    return p->at[axis] < 0 ? 1 : values[p->at[axis]];
}

/* About how many products the forward reference makes. */
static double cost(const grid_point *p)
{
    double D = (double)value_at(p, A_D, sizes_d), Dv = (double)value_at(p, A_DV, sizes_dv);
    double heads = (double)(value_at(p, A_GROUP, groups) * value_at(p, A_HKV, kv_heads) * value_at(p, A_B, batches));
    return heads * (double)(value_at(p, A_LQ, lengths_q) * value_at(p, A_LK, lengths_k)) * (D + (Dv > 0 ? Dv : D) + 30);
}

/* Whether the level of this axis matters at this point, to how it meets the other. */
static int matters(const grid_point *p, int axis, int other)
{
    switch (axis) {
    case A_OFFSET: /* it must not matter to the other causal rules */
        return p->at[A_CAUSAL] < ATTN_CAUSAL_UPPER_LEFT || p->at[A_CAUSAL] == ATTN_CAUSAL_OFFSET || other == A_CAUSAL;
    case A_MASK_KIND: return p->at[A_MASK] != 0;
    case A_BIAS_KIND:
    case A_BIAS_GRAD:
    case A_BIAS_TYPE: return p->at[A_BIAS] != 0;
    default: return 1;
    }
}

/* Whether the point is a test of how its levels of axes a and b meet: not if one is without effect, nor if there is
   nothing to compute, unless that is what one of the levels is about. */
static int shows(const grid_point *p, int a, int b)
{
    int empty_q = p->at[A_LQ] == 0, empty_k = p->at[A_LK] == 0;
    if ((empty_q && a != A_LQ && b != A_LQ) || (empty_k && a != A_LK && b != A_LK))
        return 0;
    return matters(p, a, b) && matters(p, b, a);
}

/* No such case can be: an offset must be given for ATTN_CAUSAL_OFFSET. */
static int impossible(const grid_point *p)
{
    return p->at[A_CAUSAL] == ATTN_CAUSAL_OFFSET && p->at[A_OFFSET] == OFFSET_NONE;
}

static const grid backward_grid = {AXES, axes, {A_LQ, A_LK}, cost, impossible, shows};

/* A random point whose lengths are not 0; in three of four no item is empty or lies far from the others' keys. */
static grid_point sample(uint64_t seed, double bound)
{
    grid_point p = grid_sample(&backward_grid, seed, bound);
    if (grid_roll(4)) {
        p.at[A_OFFSET] = p.at[A_OFFSET] > OFFSET_ALIGNED ? OFFSET_ALIGNED : p.at[A_OFFSET];
        p.at[A_Q_LENS] = p.at[A_Q_LENS] == LENS_ZERO ? LENS_FULL : p.at[A_Q_LENS];
        p.at[A_KV_LENS] = p.at[A_KV_LENS] == LENS_ZERO ? LENS_RANDOM : p.at[A_KV_LENS];
    }
    return p;
}

/* ---- one case ---- */

typedef struct bend {
    int f64;
    size_t b0, B, H, Lq, Lk; /* b0: the first item of the batch is this one */
    volatile int strayed;
} bend;

typedef struct trial {
    size_t B, H, Hkv, Lq, Lk, D, Dv;
    attn_dtype compute;
    attn_tensor dout, q, k, v, out, lse;
    attn_opts o; /* points into this struct */
    attn_grads g;
    ptrdiff_t offsets[MOST_BATCH];
    size_t q_lens[MOST_BATCH], kv_lens[MOST_BATCH];
    float slopes[MOST_HEADS], sinks[MOST_HEADS];
    bend user;
    const real *factors; /* of dropout, or NULL */
    int made;            /* such that naive loops are lucky: no more is asked than what is promised */
} trial;

static double bent(double x, double lift)
{
    return 0.75 * x + 0.25 * sin(x) + lift;
}

/* The score_mod of the tests: a function of the score and of every index; some scores become -infinity. */
static void bend_scores(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    bend *u = user;
    if (b >= u->B || h >= u->H || i >= u->Lq || j0 > u->Lk || count > u->Lk - j0)
        u->strayed = 1;
    for (size_t n = 0; n < count; n++) {
        size_t j = j0 + n;
        float *x32 = (float *)scores + n;
        double *x64 = (double *)scores + n;
        double lift = 0.125 * (double)((3 * (b + u->b0) + 5 * h + 7 * i + 11 * j) % 17);
        int hide = (i + 2 * j + h) % 11 == 3;
        if (u->f64)
            *x64 = hide ? -HUGE_VAL : bent(*x64, lift);
        else
            *x32 = hide ? (float)-HUGE_VAL : (float)bent(*x32, lift);
    }
}

/* Its way back; what it makes of the keys that it hid is for nobody to look at. */
static void bend_back(void *user, void *dscores, const void *before, size_t count, size_t b, size_t h, size_t i,
                      size_t j0)
{
    bend *u = user;
    if (b >= u->B || h >= u->H || i >= u->Lq || j0 > u->Lk || count > u->Lk - j0)
        u->strayed = 1;
    for (size_t n = 0; n < count; n++) {
        float *d32 = (float *)dscores + n;
        double *d64 = (double *)dscores + n;
        int hide = (i + 2 * (j0 + n) + h) % 11 == 3;
        if (u->f64)
            *d64 = hide ? NAN : *d64 * (0.75 + 0.25 * cos(((const double *)before)[n]));
        else
            *d32 = hide ? NAN : (float)(*d32 * (0.75 + 0.25 * cos(((const float *)before)[n])));
    }
}

static ptrdiff_t offset_of(int level, const trial *t, size_t b)
{
    ptrdiff_t n = (ptrdiff_t)b, Lq = (ptrdiff_t)t->Lq, Lk = (ptrdiff_t)t->Lk;
    switch (level) {
    case OFFSET_AHEAD: return 5 + 20 * n;
    case OFFSET_BEHIND: return -5 - 20 * n;
    case OFFSET_ALIGNED: return Lk - Lq + n;
    case OFFSET_PAST: return Lk + 10 + n;
    case OFFSET_BEFORE: return n - Lq - 3;
    case OFFSET_HUGE: return PTRDIFF_MAX - n;
    case OFFSET_HUGE_BEHIND: return -PTRDIFF_MAX - 1 + n;
    default: return 0;
    }
}

static size_t length_of(int level, size_t L, size_t b)
{
    size_t any = grid_roll(L + 1);
    return level == LENS_FULL ? L : level == LENS_RANDOM ? any : b == 1 ? 0 : L - L / 3;
}

static double roll_number(void) /* -1 .. 1 */
{
    return (double)grid_roll(1 << 20) / (1 << 19) - 1;
}

/* A mask or bias: `bits` says which of B, H, Lq, Lk are not broadcast. */
static attn_tensor spread(attn_dtype dtype, int bits, const trial *t, int layout)
{
    return test_tensor(dtype, bits & 1 ? t->B : 1, bits & 2 ? t->H : 1, bits & 4 ? t->Lq : 1, bits & 8 ? t->Lk : 1,
                       layout);
}

static void fill_mask(attn_tensor m, int kind)
{
    for (size_t b = 0; b < m.batch; b++)
        for (size_t h = 0; h < m.heads; h++)
            for (size_t i = 0; i < m.len; i++)
                for (size_t j = 0; j < m.dim; j++) {
                    unsigned char *at = test_tensor_at(m, b, h, i, j);
                    int random = grid_roll(3) > 0, band = (i / 40 + j / 40 + h + b) % 2 == 0;
                    int sees = kind == MASK_BANDS        ? band
                               : kind == MASK_TRUE       ? 1
                               : kind == MASK_EMPTY_ROWS ? random && i % 3 != 1
                                                         : random;
                    *at = (unsigned char)(sees ? 1 + 254 * (j % 2) : 0);
                }
}

static void fill_bias(attn_tensor m, int kind)
{
    for (size_t b = 0; b < m.batch; b++)
        for (size_t h = 0; h < m.heads; h++)
            for (size_t i = 0; i < m.len; i++)
                for (size_t j = 0; j < m.dim; j++) {
                    double x = roll_number();
                    int hole = kind == BIAS_HOLES   ? grid_roll(4) == 0
                               : kind == BIAS_BANDS ? (i / 40 + j / 40 + h + b) % 2 == 1
                                                    : 0;
                    test_tensor_set(m, b, h, i, j, hole ? -HUGE_VAL : x);
                }
}

/* Values for attn_relative. */
static attn_tensor by_distance(attn_dtype dtype, const trial *t, int layout, int kind)
{
    attn_mat m = test_mat(dtype, t->H, t->Lq + t->Lk > 0 ? t->Lq + t->Lk - 1 : 0, layout % OUT_LAYOUTS);
    for (size_t h = 0; h < m.rows; h++)
        for (size_t c = 0; c < m.cols; c++) {
            double x = roll_number();
            attn_mat_set(m, h, c, kind == BIAS_HOLES && grid_roll(4) == 0 ? -HUGE_VAL : x);
        }
    return attn_relative(m, t->Lq, t->Lk);
}

static attn_tensor scattered(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout)
{
    attn_tensor t = test_tensor(dtype, B, H, L, D, layout);
    test_scatter(t, grid_roll_bits());
    return t;
}

static void make_rules(trial *t, const grid_point *p)
{
    int layout = p->at[A_OTHER_LAYOUT], kind = p->at[A_BIAS_KIND];
    attn_dtype type = floats[p->at[A_BIAS_TYPE]];
    attn_window w = {windows[p->at[A_WINDOW]].on, windows[p->at[A_WINDOW]].left, windows[p->at[A_WINDOW]].right};
    t->o.causal = (attn_causal)p->at[A_CAUSAL];
    t->o.window = w;
    for (size_t b = 0; b < t->B; b++) {
        t->offsets[b] = offset_of(p->at[A_OFFSET], t, b);
        t->q_lens[b] = length_of(p->at[A_Q_LENS], t->Lq, b);
        t->kv_lens[b] = length_of(p->at[A_KV_LENS], t->Lk, b);
    }
    t->o.causal_offset = p->at[A_OFFSET] ? t->offsets : NULL;
    t->o.q_lens = p->at[A_Q_LENS] ? t->q_lens : NULL;
    t->o.kv_lens = p->at[A_KV_LENS] ? t->kv_lens : NULL;
    if (p->at[A_MASK]) {
        t->o.mask = spread(ATTN_BOOL, p->at[A_MASK] - 1, t, layout);
        fill_mask(t->o.mask, p->at[A_MASK_KIND]);
    }
    if (p->at[A_BIAS] == BIAS_BY_DISTANCE) {
        t->o.bias = by_distance(type, t, layout, kind);
    } else if (p->at[A_BIAS]) {
        t->o.bias = spread(type, p->at[A_BIAS] - 1, t, layout);
        fill_bias(t->o.bias, kind);
    }
}

/* What dropout multiplies weights with, which is a function of its seed and of places alone: seen where all weights are
   equal. */
static const real *find_factors(const trial *t)
{
    static const attn_opts none;
    attn_opts o = none;
    attn_tensor q = test_tensor(ATTN_F64, t->B, t->H, t->Lq, 1, T_BHLD);
    attn_tensor k = test_tensor(ATTN_F64, t->B, t->H, t->Lk, 1, T_BHLD);
    real *z;
    test_fill_tensor(q, 0), test_fill_tensor(k, 0);
    o.dropout = t->o.dropout;
    o.weights = test_tensor(ATTN_F64, t->B, t->H, t->Lq, t->Lk, T_BHLD);
    CHECK_STATUS(attn_sdpa(test_tensor(ATTN_F64, t->B, t->H, t->Lq, 1, T_BHLD), q, k, k, &o, NULL), ATTN_OK);
    z = test_tensor_values(o.weights);
    for (size_t n = 0; n < t->B * t->H * t->Lq * t->Lk; n++)
        z[n] = z[n] > 0 ? 1 / (1 - (real)o.dropout.p) : 0;
    return z;
}

static void make_numbers(trial *t, const grid_point *p)
{
    t->o.scale = scales[p->at[A_SCALE]];
    t->o.dropout.p = drops[p->at[A_DROPOUT]];
    t->o.dropout.seed = grid_roll_bits();
    t->factors = t->o.dropout.p > 0 ? find_factors(t) : NULL;
    t->o.softcap = softcaps[p->at[A_SOFTCAP]];
    for (size_t h = 0; h < t->H; h++) {
        double x = roll_number();
        t->slopes[h] = (float)(h % 4 == 3 ? -0.01 : ldexp(1, -1 - (int)(h % 8)));
        t->sinks[h] = (float)(p->at[A_SINKS] == SINKS_RANDOM ? 2 * x : h % 3 == 0 ? -HUGE_VAL : h % 3 == 1 ? 40 : -40);
    }
    t->o.alibi_slopes = p->at[A_ALIBI] ? t->slopes : NULL;
    t->o.sinks = p->at[A_SINKS] ? t->sinks : NULL;
    t->user.f64 = t->compute == ATTN_F64;
    t->user.b0 = 0, t->user.B = t->B, t->user.H = t->H, t->user.Lq = t->Lq, t->user.Lk = t->Lk;
    t->user.strayed = 0;
    t->o.score_mod = p->at[A_MOD] ? bend_scores : NULL;
    t->o.score_mod_user = &t->user;
    t->g.score_mod_grad = p->at[A_MOD] ? bend_back : NULL;
    if (p->at[A_DLSE])
        t->g.dlse = scattered(floats[p->at[A_DLSE] - 1], t->B, t->H, t->Lq, 1, p->at[A_OTHER_LAYOUT]);
}

/* ---- what a call writes ---- */

/* Sums go to no 16-bit type. */
static attn_dtype summable(attn_dtype type, const grid_point *p)
{
    return p->at[A_ACCUMULATE] && test_size(type) == 2 ? ATTN_F32 : type;
}

/* What is there before: NaN, or the numbers that a sum goes on from. */
static attn_tensor fresh(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout, const grid_point *p)
{
    attn_tensor t = test_tensor(dtype, B, H, L, D, layout);
    if (p->at[A_ACCUMULATE])
        test_scatter(t, (uint64_t)(B + 3 * H + 5 * L + 7 * D));
    return t;
}

static attn_tensor input_grad(const trial *t, attn_tensor in, int g, const grid_point *p)
{
    attn_dtype type = t->compute == ATTN_F64 ? ATTN_F64 : summable(grad_types[p->at[A_GRAD_TYPES]][g], p);
    int shared = in.batch_stride == 0 && in.heads && in.len && in.dim;
    return fresh(type, shared ? 1 : in.batch, in.heads, in.len, in.dim, p->at[A_Q_GRAD_LAYOUT + g], p);
}

static attn_mat as_mat(attn_tensor t) /* its only head */
{
    return attn_head(t, 0, 0);
}

/* Fresh gradients: those whose bits are set in `wanted`, as far as the options have them. */
static void make_grads(trial *t, const grid_point *p, int wanted)
{
    static const attn_grads none;
    attn_grads g = none;
    attn_dtype type = summable(floats[p->at[A_BIAS_GRAD]], p);
    int layout = p->at[A_OTHER_LAYOUT];
    g.dlse = t->g.dlse, g.score_mod_grad = t->g.score_mod_grad;
    g.accumulate = p->at[A_ACCUMULATE];
    if (wanted & 1 << GRAD_Q)
        g.q = input_grad(t, t->q, GRAD_Q, p);
    if (wanted & 1 << GRAD_K)
        g.k = input_grad(t, t->k, GRAD_K, p);
    if (wanted & 1 << GRAD_V)
        g.v = input_grad(t, t->v, GRAD_V, p);
    if (wanted & 1 << GRAD_BIAS && p->at[A_BIAS])
        g.bias = fresh(type, t->o.bias.batch, t->o.bias.heads, t->o.bias.len, t->o.bias.dim, layout, p);
    if (wanted & 1 << GRAD_DISTANCE && p->at[A_BIAS] == BIAS_BY_DISTANCE && t->Lq + t->Lk > 0)
        g.by_distance = as_mat(fresh(type, 1, 1, t->H, t->Lq + t->Lk - 1, layout, p));
    if (wanted & 1 << GRAD_SINKS && t->o.sinks)
        g.sinks = fresh(ATTN_F32, 1, 1, 1, t->H, T_BHLD, p).data;
    if (wanted & 1 << GRAD_SLOPES && t->o.alibi_slopes)
        g.alibi_slopes = fresh(ATTN_F32, 1, 1, 2, t->H, T_BHLD, p).data;
    t->g = g;
}

enum { ALL = (1 << GRADS) - 1 };

/* As tensors, for what looks at any output. */
static void outputs_of(const trial *t, attn_tensor *outs)
{
    static const attn_tensor none;
    attn_mat m = t->g.by_distance;
    outs[GRAD_Q] = t->g.q, outs[GRAD_K] = t->g.k, outs[GRAD_V] = t->g.v, outs[GRAD_BIAS] = t->g.bias;
    outs[GRAD_DISTANCE] = test_absent_mat(m) ? none
                                             : attn_tensor_of(m.data, m.dtype, 1, 1, m.rows, m.cols, 0, 0,
                                                              m.row_stride, m.col_stride);
    outs[GRAD_SINKS] = t->g.sinks ? attn_bhld(t->g.sinks, ATTN_F32, 1, 1, 1, t->H) : none;
    outs[GRAD_SLOPES] = t->g.alibi_slopes ? attn_bhld(t->g.alibi_slopes, ATTN_F32, 1, 1, 1, t->H) : none;
}

static int wrote_only_outputs(const trial *t)
{
    attn_tensor outs[GRADS];
    outputs_of(t, outs);
    return test_wrote_only_tensors(outs, GRADS);
}

/* Those that both have. */
static int same_outputs(const trial *a, const trial *b)
{
    attn_tensor x[GRADS], y[GRADS];
    int same = 1;
    outputs_of(a, x), outputs_of(b, y);
    for (int g = 0; g < GRADS; g++)
        if (!test_absent_tensor(x[g]) && !test_absent_tensor(y[g]) && !test_same_tensor_bits(x[g], y[g])) {
            printf("    the gradients of %s differ\n", backward_names[g]);
            same = 0;
        }
    return same;
}

/* ---- a whole case ---- */

static void make(trial *t, const grid_point *p, uint64_t seed)
{
    static const trial zero;
    const attn_dtype *type = types[p->at[A_TYPES]];
    *t = zero;
    grid_dice = seed;
    t->D = sizes_d[p->at[A_D]];
    t->Dv = sizes_dv[p->at[A_DV]] ? sizes_dv[p->at[A_DV]] : t->D;
    t->Lq = lengths_q[p->at[A_LQ]];
    t->Lk = lengths_k[p->at[A_LK]];
    t->Hkv = kv_heads[p->at[A_HKV]];
    t->H = t->Hkv * groups[p->at[A_GROUP]];
    t->B = batches[p->at[A_B]];
    t->compute = type[0] == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    t->q = scattered(type[0], t->B, t->H, t->Lq, t->D, p->at[A_Q_LAYOUT]);
    t->k = scattered(type[1], t->B, t->Hkv, t->Lk, t->D, p->at[A_K_LAYOUT]);
    t->v = scattered(type[2], t->B, t->Hkv, t->Lk, t->Dv, p->at[A_V_LAYOUT]);
    t->dout = scattered(type[3], t->B, t->H, t->Lq, t->Dv, p->at[A_DOUT_LAYOUT]);
    make_rules(t, p);
    make_numbers(t, p);
}

/* Its forward pass: out and lse, fresh. */
static void go_forward(trial *t, const grid_point *p, attn_isa isa)
{
    attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
    ctx.isa = isa;
    t->out = test_tensor(types[p->at[A_TYPES]][4], t->B, t->H, t->Lq, t->Dv, p->at[A_OUT_LAYOUT]);
    t->lse = t->o.lse = test_tensor(t->compute, t->B, t->H, t->Lq, 1, p->at[A_OTHER_LAYOUT]);
    CHECK_STATUS(attn_sdpa(t->out, t->q, t->k, t->v, &t->o, &ctx), ATTN_OK);
}

static attn_status run(const trial *t, const attn_ctx *ctx)
{
    return attn_sdpa_backward(&t->g, t->dout, t->q, t->k, t->v, t->out, t->lse, &t->o, ctx);
}

static attn_ctx context(attn_isa isa, int runner, size_t width, test_runner *r)
{
    attn_ctx ctx = test_ctx(isa);
    if (runner == RUN_BACKWARDS)
        ctx.parallel = test_serial_backwards(r, width);
    else if (runner == RUN_THREADS)
        ctx.parallel = test_threads(r, width);
    ctx.parallel.width = width;
    return ctx;
}

static size_t scratch_of(const trial *t, const attn_ctx *ctx)
{
    size_t bytes = SIZE_MAX;
    CHECK_STATUS(attn_sdpa_backward_scratch(&bytes, &t->g, t->dout, t->q, t->k, t->v, t->out, t->lse, &t->o, ctx),
                 ATTN_OK);
    return bytes;
}

enum { EDGE = 64 };

static int intact(const unsigned char *edge)
{
    int same = 1;
    for (int n = 0; n < EDGE; n++)
        same &= edge[n] == 0xff;
    return same;
}

static size_t most_tasks; /* side by side, since this was zeroed */

/* One call in some context: keeps to its outputs, its scratch and its width, and frees what it allocates. */
static int run_at(const trial *t, attn_isa isa, int runner, size_t width, int scratch)
{
    test_runner r = {0, 0, 0};
    attn_ctx ctx = context(isa, runner, width, &r);
    size_t size = scratch ? scratch_of(t, &ctx) : 0, start = EDGE + (scratch == SCRATCH_ODD);
    unsigned char *space = malloc(size + 2 * EDGE + 1);
    long calls = test_memory_state.calls, live = test_memory_state.live;
    int good = CHECK(space != NULL);
    if (!good)
        return 0;
    memset(space, 0xff, size + 2 * EDGE + 1);
    if (scratch) {
        ctx.scratch = space + start;
        ctx.scratch_size = size;
    }
    test_freeze();
    good &= CHECK_STATUS(run(t, &ctx), ATTN_OK);
    good &= CHECK(wrote_only_outputs(t));
    good &= CHECK(r.most <= width);
    most_tasks = r.most > most_tasks ? r.most : most_tasks;
    good &= CHECK(test_memory_state.live == live);
    /* with no bytes needed there is nothing to point to, and nothing to allocate */
    good &= CHECK(!scratch || test_memory_state.calls == calls);
    good &= CHECK(intact(space + start - EDGE) && intact(space + start + size));
    free(space);
    return good;
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
    CHECK_STATUS(attn_sdpa(t->out, t->q, t->k, t->v, &t->o, &ctx), ATTN_OK);
    for (size_t b = 0; b < t->B; b++)
        for (size_t h = 0; h < t->H; h++)
            for (size_t i = 0; i < t->Lq; i++) {
                double lse = *(double *)test_tensor_at(t->lse, b, h, i, 0);
                for (size_t d = 0; d < t->Dv; d++)
                    loss += (real) * (double *)test_tensor_at(t->out, b, h, i, d) *
                            *(double *)test_tensor_at(t->dout, b, h, i, d);
                if (!test_absent_tensor(t->g.dlse) && lse > -HUGE_VAL)
                    loss += (real)lse * *(double *)test_tensor_at(t->g.dlse, b, h, i, 0);
            }
    return loss;
}

/* The input that element n of a gradient is about. */
static void *input_at(const trial *t, int g, size_t n)
{
    attn_tensor in = g == GRAD_Q ? t->q : g == GRAD_K ? t->k : g == GRAD_V ? t->v : t->o.bias;
    if (g == GRAD_SINKS || g == GRAD_SLOPES)
        return (void *)((g == GRAD_SINKS ? t->o.sinks : t->o.alibi_slopes) + n);
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
    sdpa_backward_reference(&want, &t.g, t.dout, t.q, t.k, t.v, none, &t.o, t.factors, EXACT);
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
    return t->Lq >= 15 && sdpa_pairs >= 4 * rows && count >= 64 && test_size_of_sums < 32 && !t->o.score_mod;
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
    int narrow;          /* than the compute type */
    real unit, vanishing; /* half an ulp of 1, times 1 + the largest |score| or |lse|; some weights that underflow */
    real promise;         /* an error is at most so many times the sum of the magnitudes of its terms */
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
    real got = backward_get(&c->t->g, c->grad, n), error = fabsl(got - want), of_naive = fabsl(naive - want), tolerance;
    if (!sdpa_finite(want) || (c->dtype == ATTN_F16 && fabsl(want) > 65504)) {
        if (is_special(got, want))
            return 1;
        printf("    %s[%zu]: got %.9Lg, want %.9Lg\n", backward_names[c->grad], n, got, want);
        return 0;
    }
    if (error < c->vanishing)
        return 1;
    tolerance = 3 * of_naive + C * c->unit * size;
    if (c->t->made || tolerance > c->promise * size)
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
    return test_ulp(1, t->compute) / 2 * bound * (t->o.softcap > 0 ? 2 : 1);
}

/* initial: what there was before, or NULL */
static int grad_close(const trial *t, attn_isa isa, int grad, const backward_result *want,
                      const backward_result *naive, const real *initial)
{
    int f64 = t->compute == ATTN_F64;
    comparison c = {0};
    real least;
    c.t = t, c.isa = isa, c.grad = grad, c.dtype = backward_dtype(&t->g, grad);
    c.narrow = test_size(c.dtype) < test_size(t->compute);
    c.unit = test_ulp(1, t->compute) / 2 * (1 + want->most);
    c.vanishing = ldexpl(1, f64 ? -1000 : -104);
    c.promise = promised(t, grad, want);
    for (size_t n = 0; n < want->counts[grad]; n++) {
        real x = initial ? initial[n] : 0;
        if (!element_close(&c, n, want->values[grad][n] + x, naive->values[grad][n] + x,
                           want->sizes[grad][n] + fabsl(x)))
            return 0;
    }
    if (c.narrow || t->made)
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
    outputs_of(t, outs);
    return !test_absent_tensor(outs[g]);
}

static void look_before(answers *a, const trial *t)
{
    attn_tensor outs[GRADS];
    outputs_of(t, outs);
    for (int g = 0; g < GRADS; g++)
        a->initial[g] = t->g.accumulate && !test_absent_tensor(outs[g]) ? test_tensor_values(outs[g]) : NULL;
}

static void answer(answers *a, const trial *t, attn_isa isa)
{
    static const attn_tensor none;
    int rounded = test_size(t->out.dtype) < test_size(t->compute) ||
                  test_takes_pairs(isa, t->q.dtype, t->k.dtype, t->v.dtype);
    attn_tensor out = rounded ? t->out : none;
    test_mode naive = t->compute == ATTN_F64 ? NAIVE64 : NAIVE32;
    test_size_of_sums = 0, sdpa_pairs = 0;
    sdpa_backward_reference(&a->want, &t->g, t->dout, t->q, t->k, t->v, out, &t->o, t->factors, EXACT);
    sdpa_backward_reference(&a->naive, &t->g, t->dout, t->q, t->k, t->v, out, &t->o, t->factors, naive);
}

static int check_answers(const trial *t, attn_isa isa, const answers *a)
{
    int good = 1;
    if (!t->made && test_ulp(1, t->compute) * a->want.most > 1e-3L) /* ALiBi far away: lse has no digits for a weight */
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
    size_t width = widths[p->at[A_WIDTH]];
    attn_isa last = ATTN_ISA_SCALAR;
    int good = 1;
    case_number = number;
    test_case("BACKWARD_CASE=%ld", number);
    make(&t[ATTN_ISA_SCALAR], p, (uint64_t)number);
    go_forward(&t[ATTN_ISA_SCALAR], p, ATTN_ISA_SCALAR);
    FOR_EACH_ISA_OF (isa, types[p->at[A_TYPES]][0]) {
        test_case("BACKWARD_CASE=%ld, %s", number, attn_isa_string(isa));
        if (isa != ATTN_ISA_SCALAR) {
            attn_tensor out = t[ATTN_ISA_SCALAR].out;
            t[isa] = t[ATTN_ISA_SCALAR];
            go_forward(&t[isa], p, isa);
            t[isa].out = test_size(out.dtype) == 2 ? out : t[isa].out;
        }
        make_grads(&t[isa], p, ALL);
        look_before(&a, &t[isa]);
        good &= run_at(&t[isa], isa, p->at[A_RUNNER], width, p->at[A_SCRATCH]);
        last = isa;
    }
    for (int n = 0; n < 2; n++) {
        plain = t[last];
        make_grads(&plain, p, n ? ALL & (int)(unsigned)((unsigned long)number * 2654435761u >> 7) : ALL);
        test_case("BACKWARD_CASE=%ld, %s, %s", number, attn_isa_string(last), n ? "not all" : "plain");
        good &= run_at(&plain, last, RUN_ALONE, 1, SCRATCH_NONE);
        good &= CHECK(same_outputs(&plain, &t[last]));
    }
    good &= CHECK(!t[ATTN_ISA_SCALAR].user.strayed);
    answer(&a, &t[ATTN_ISA_SCALAR], ATTN_ISA_SCALAR);
    FOR_EACH_ISA_OF (isa, types[p->at[A_TYPES]][0]) {
        test_case("BACKWARD_CASE=%ld, %s", number, attn_isa_string(isa));
        good &= check_answers(&t[isa], isa, &a);
    }
    return good;
}

TEST(backward_grid)
{
    const char *only = getenv("BACKWARD_CASE"), *wanted = getenv("BACKWARD_REPORT");
    int rows, failed = 0;
    long number, cases = 0, samples = test_quick ? 30 : 300;
    grid_point *points = grid_covering(&backward_grid, &rows, 3e4);
    grid_point *kept = malloc((size_t)rows * sizeof *kept); /* blocks are freed after each case */
    if (!CHECK(kept != NULL))
        return;
    memcpy(kept, points, (size_t)rows * sizeof *kept);
    grid_forget();
    memset(report, 0, sizeof report);
    for (number = 0; number < rows + samples && failed < 5; number++) {
        grid_point p = number < rows ? kept[number] : sample((uint64_t)number, test_quick ? 2e4 : 6e4);
        if (number < rows)
            grid_cover(&backward_grid, &p);
        if (only ? number != atol(only) : test_quick && number < rows && (number % 6 || cost(&p) > 4e4))
            continue;
        test_release();
        cases++;
        if (!run_case(number, &p)) {
            failed++;
            printf("    BACKWARD_CASE=%ld ./build/test backward_grid runs this case alone:", number);
            grid_describe(&backward_grid, &p);
        }
    }
    free(kept);
    test_case("every pair of levels has occurred");
    CHECK(failed || !grid_misses(&backward_grid));
    if (wanted)
        print_report(cases);
}

/* ---- what bounds are about ---- */

/* One head of random numbers, without options. */
static trial plain_trial(attn_dtype type, size_t Lq, size_t Lk, size_t D, size_t Dv)
{
    static const trial zero;
    trial t = zero;
    t.B = t.H = t.Hkv = 1, t.Lq = Lq, t.Lk = Lk, t.D = D, t.Dv = Dv;
    t.compute = type == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    t.q = test_random_tensor(type, 1, 1, Lq, D, T_BHLD), t.k = test_random_tensor(type, 1, 1, Lk, D, T_BHLD);
    t.v = test_random_tensor(type, 1, 1, Lk, Dv, T_BHLD), t.dout = test_random_tensor(type, 1, 1, Lq, Dv, T_BHLD);
    t.o.scale = 1;
    return t;
}

/* Forward and back, out and the gradients in the compute type. */
static void run_plain(trial *t, attn_isa isa)
{
    grid_point p = plain_point();
    attn_ctx ctx = test_ctx(isa);
    t->out = test_tensor(t->compute, 1, 1, t->Lq, t->Dv, T_BHLD);
    t->lse = t->o.lse = test_tensor(t->compute, 1, 1, t->Lq, 1, T_BHLD);
    CHECK_STATUS(attn_sdpa(t->out, t->q, t->k, t->v, &t->o, &ctx), ATTN_OK);
    make_grads(t, &p, ALL);
    CHECK_STATUS(run(t, &ctx), ATTN_OK);
}

static void check_made(trial *t, const char *name)
{
    answers a;
    t->made = 1;
    FOR_EACH_ISA (isa) {
        test_case("%s, %s, %s, Lq %zu, Lk %zu, D %zu, softcap %g", name, attn_isa_string(isa),
                  test_dtype_name(t->q.dtype), t->Lq, t->Lk, t->D, t->o.softcap);
        run_plain(t, isa);
        look_before(&a, t);
        if (isa == ATTN_ISA_SCALAR || test_takes_pairs(isa, t->q.dtype, t->k.dtype, t->v.dtype))
            answer(&a, t, isa);
        check_answers(t, isa, &a);
    }
    test_release();
}

/* Moves key j along the first query, until q . k is `score`, however large the terms are. */
static void aim(const trial *t, size_t j, double score)
{
    real dot = 0, square = 0;
    for (size_t d = 0; d < t->D; d++) {
        real x = test_tensor_get(t->q, 0, 0, 0, d);
        dot += x * test_tensor_get(t->k, 0, 0, j, d), square += x * x;
    }
    for (size_t d = 0; d < t->D; d++) {
        real x = test_tensor_get(t->k, 0, 0, j, d);
        test_tensor_set(t->k, 0, 0, j, d, (double)(x + (score - dot) / square * test_tensor_get(t->q, 0, 0, 0, d)));
    }
}

/* Keys whose dot products with the only query are 2^6 and some in exact arithmetic, and climb in fused sums for every
   other key, which fall for the others: terms are half an ulp of the sum, those of one sign a little more, those of the
   other a little less (tests/test_accuracy.c). */
static void climb(trial *t)
{
    double step = t->compute == ATTN_F64 ? DBL_EPSILON : (double)FLT_EPSILON, sum = 64 * (1 + 4096 * step);
    double up = 32 * step * (1 - step / 2), down = -32 * step * (1 - step);
    for (size_t d = 0; d < t->D; d++) {
        test_tensor_set(t->q, 0, 0, 0, d, d ? 1 + step : 1);
        for (size_t j = 0; j < t->Lk; j++)
            test_tensor_set(t->k, 0, 0, j, d, d == 0 ? sum : (j % 2 ? -1 : 1) * (d % 2 ? up : down));
    }
    for (size_t j = 0; j < t->Lk; j++)
        test_fill_tensor(attn_tensor_slice(t->v, j, 1), j % 2 ? -1 : 1);
}

/* Each element is within what is promised where no multiple of the error of naive loops, nor of the scores, is a bound:
   equal scores, whose lse is larger than they are, and rounded; softcap, whose slope has the error of tanh, where it is
   small, and for small caps; scores that are small sums of large terms; sinks; an out whose weights pairs of BF16
   round. */
TEST(backward_bound)
{
    static const size_t counts[] = {3, 337, 3359, 7170, 20000};
    static const double caps[] = {0.05, 1, 20}, scores[] = {0.1, 0.35, 0.6, 2, 5, 8.7};
    static const attn_dtype made_types[] = {ATTN_F32, ATTN_F64, ATTN_BF16};
    memset(report, 0, sizeof report);
    for (int n = 0; n < COUNT(counts) * 2; n++) {
        trial t = plain_trial(n % 2 ? ATTN_F64 : ATTN_F32, 1, counts[n / 2], 1, 1);
        test_fill_tensor(t.q, 0);
        check_made(&t, "equal scores");
    }
    for (int n = 0; n < COUNT(caps) * COUNT(scores) * 4; n++) {
        trial t = plain_trial(n % 2 ? ATTN_F64 : ATTN_F32, 1, 2, 1, 1);
        t.o.softcap = caps[n / 4 % COUNT(caps)];
        test_fill_tensor(t.q, 1), test_fill_tensor(t.dout, 1);
        test_tensor_set(t.k, 0, 0, 0, 0, scores[n / 4 / COUNT(caps)]), test_tensor_set(t.k, 0, 0, 1, 0, 0);
        test_tensor_set(t.v, 0, 0, 0, 0, 1), test_tensor_set(t.v, 0, 0, 1, 0, n / 2 % 2 ? -1 : 0);
        check_made(&t, "softcap");
    }
    for (int n = 0; n < (test_quick ? 100 : 1000); n++) {
        attn_dtype type = made_types[n % 3];
        size_t Lq = 1 + test_below(n % 7 ? 3 : 20), Lk = 1 + test_below(n % 4 ? 4 : 40);
        size_t D = 1 + test_below(n % 5 ? 6 : 80);
        trial t = plain_trial(type, Lq, Lk, D, 1 + test_below(4));
        double size = pow(100, test_uniform() + 1), sink = 40 * test_uniform();
        t.o.softcap = n % 11 ? 0 : pow(30, test_uniform());
        t.sinks[0] = (float)sink;
        t.o.sinks = n % 3 ? NULL : t.sinks;
        for (size_t d = 0; d < D; d++) {
            for (size_t i = 0; i < Lq; i++)
                test_tensor_set(t.q, 0, 0, i, d, size * test_uniform());
            for (size_t j = 0; j < Lk; j++)
                test_tensor_set(t.k, 0, 0, j, d, size / 10 * test_uniform());
        }
        for (size_t j = 0; j < Lk && n % 2; j++)
            aim(&t, j, 2 * test_uniform());
        check_made(&t, "cancelling terms");
    }
    for (int n = 0; n < 8; n++) {
        trial t = plain_trial(n % 2 ? ATTN_F64 : ATTN_F32, 1, n % 4 < 2 ? 2 : 40, n < 4 ? 65 : 257, 1);
        climb(&t);
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
                dot += test_tensor_get(t->q, 0, 0, i, d) * test_tensor_get(t->k, 0, 0, j, d);
            size = fmaxl(size, fabsl(dot));
        }
    t->o.scale = most / (double)size;
    FOR_EACH_ISA_OF (isa, t->q.dtype) {
        test_case("%s, %s, Lq %zu, Lk %zu, D %zu, scores up to %g", attn_isa_string(isa), test_dtype_name(t->q.dtype),
                  t->Lq, t->Lk, t->D, most);
        run_plain(t, isa);
        if (isa == ATTN_ISA_SCALAR || test_takes_pairs(isa, t->q.dtype, t->k.dtype, t->v.dtype))
            answer(&a, t, isa);
        for (int g = 0; g <= GRAD_V; g++) {
            real got = 0, naive = 0, sizes = 0, unit = test_ulp(1, t->compute) / 2 * (1 + a.want.most);
            for (size_t n = 0; n < a.want.counts[g]; n++) {
                real error = backward_get(&t->g, g, n) - a.want.values[g][n];
                real other = a.naive.values[g][n] - a.want.values[g][n];
                got += error * error, naive += other * other, sizes += a.want.sizes[g][n] * a.want.sizes[g][n];
            }
            CHECK(got <= 64 * unit * unit * sizes);
            if (t->Lq >= 64 && t->Lk >= 64 && t->D >= 4 && t->q.dtype != ATTN_BF16)
                CHECK(got <= 9 * naive);
        }
    }
    test_release();
}

TEST(backward_rms)
{
    static const size_t rows[] = {1, 2, 3, 16, 64}, keys[] = {1, 2, 4, 30, 64, 200}, depths[] = {1, 4, 16, 64};
    static const attn_dtype rms_types[] = {ATTN_F32, ATTN_F64, ATTN_F16, ATTN_BF16};
    for (int n = 0; n < COUNT(rows) * COUNT(keys) * COUNT(depths); n += test_quick ? 7 : 1)
        for (int times = 0; times < (test_quick ? 1 : 3); times++) {
            size_t Lq = rows[n % COUNT(rows)], Lk = keys[n / COUNT(rows) % COUNT(keys)];
            size_t D = depths[n / COUNT(rows) / COUNT(keys)];
            trial t = plain_trial(rms_types[(n + times) % 4], Lq, Lk, D, D);
            t.o.causal = n % 3 ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_LOWER_RIGHT;
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
    p->at[A_WINDOW] = (signed char)(n % 2 ? 0 : COUNT(windows) - 1);
    p->at[A_Q_LENS] = p->at[A_KV_LENS] = 0;
}

static void make_all(trial *t, const grid_point *p, uint64_t seed, attn_isa isa, int wanted)
{
    make(t, p, seed);
    go_forward(t, p, isa);
    make_grads(t, p, wanted);
}

/* The same call in every width, on every runner, with and without scratch: the same bits. */
TEST(backward_contexts)
{
    most_tasks = 0;
    for (int n = 0; n < (test_quick ? 6 : 15); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample((uint64_t)n, 3e4);
            trial plain, t;
            if (n % 3 == 0)
                with_many_rows(&p, n);
            make_all(&plain, &p, (uint64_t)n, isa, ALL);
            test_case("point %d, %s, plain", n, attn_isa_string(isa));
            CHECK(run_at(&plain, isa, RUN_ALONE, 1, SCRATCH_NONE));
            for (int c = n % 5; c < COUNT(widths) * RUNS * SCRATCHES; c += test_quick ? 7 : n % 3 ? 5 : 3) {
                int width = c % COUNT(widths), runner = c / COUNT(widths) % RUNS, scratch = c / COUNT(widths) / RUNS;
                t = plain;
                make_grads(&t, &p, ALL);
                test_case("point %d, %s, width %d, runner %d, scratch %d", n, attn_isa_string(isa), (int)widths[width],
                          runner, scratch);
                CHECK(run_at(&t, isa, runner, widths[width], scratch));
                CHECK(same_outputs(&t, &plain));
            }
            test_release();
        }
    CHECK(most_tasks == 7);
}

/* One byte less than it says is too little, and then nothing is written. */
TEST(backward_scratch)
{
    for (int n = 0; n < (test_quick ? 10 : 60); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(100 + (uint64_t)n, 2e4);
            test_runner r = {0, 0, 0};
            attn_ctx ctx = context(isa, RUN_BACKWARDS, 1 + (size_t)n % 4, &r);
            trial t;
            make_all(&t, &p, (uint64_t)n, isa, ALL);
            test_case("point %d, %s", n, attn_isa_string(isa));
            ctx.scratch_size = scratch_of(&t, &ctx);
            ctx.scratch = test_block(ctx.scratch_size);
            CHECK(ctx.scratch_size > 0);
            ctx.scratch_size--;
            test_freeze();
            CHECK_STATUS(run(&t, &ctx), ATTN_ERR_NOMEM);
            CHECK(test_wrote_nothing());
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
            make_all(&all, &p, (uint64_t)n, isa, ALL);
            test_case("point %d, %s, all", n, attn_isa_string(isa));
            CHECK(run_at(&all, isa, RUN_ALONE, 1, SCRATCH_NONE));
            for (int wanted = 0; wanted < ALL; wanted += test_quick ? 11 : n % 2 ? 1 : 3) {
                t = all;
                make_grads(&t, &p, wanted);
                test_case("point %d, %s, of them %d", n, attn_isa_string(isa), wanted);
                CHECK(run_at(&t, isa, RUN_BACKWARDS, 1 + (size_t)wanted % 3, SCRATCH_EXACT));
                CHECK(same_outputs(&t, &all));
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
            make_all(&packed, &p, (uint64_t)n, isa, ALL);
            CHECK(run_at(&packed, isa, RUN_ALONE, 1, SCRATCH_NONE));
            for (int layout = 1; layout < T_OUT_LAYOUTS; layout += test_quick ? 3 : 1) {
                for (int a = A_Q_LAYOUT; a <= A_V_GRAD_LAYOUT; a++)
                    p.at[a] = (signed char)((layout + n * (a - A_Q_LAYOUT)) % T_OUT_LAYOUTS);
                test_case("point %d, %s, layout %d", n, attn_isa_string(isa), layout);
                make_all(&t, &p, (uint64_t)n, isa, ALL);
                CHECK(run_at(&t, isa, RUN_ALONE, 1, SCRATCH_NONE));
                CHECK(same_outputs(&t, &packed));
            }
            test_release();
        }
}

static attn_tensor item_of(attn_tensor t, size_t b) /* one item of a batch, or of what is broadcast */
{
    if (t.batch > 1) {
        t.data = (char *)t.data + (ptrdiff_t)b * t.batch_stride * (ptrdiff_t)test_size(t.dtype);
        t.batch = 1;
    }
    return t;
}

/* Item b of a trial as a trial of its own, with gradients of q, k, v, and of a bias that no items share. */
static void take_item(trial *one, const trial *all, const grid_point *p, size_t b)
{
    *one = *all;
    one->B = 1;
    one->q = item_of(all->q, b), one->k = item_of(all->k, b), one->v = item_of(all->v, b);
    one->dout = item_of(all->dout, b), one->out = item_of(all->out, b), one->lse = item_of(all->lse, b);
    one->g.dlse = item_of(all->g.dlse, b);
    one->o.mask = item_of(all->o.mask, b), one->o.bias = item_of(all->o.bias, b);
    one->o.causal_offset = all->o.causal_offset ? all->o.causal_offset + b : NULL;
    one->o.q_lens = all->o.q_lens ? all->o.q_lens + b : NULL;
    one->o.kv_lens = all->o.kv_lens ? all->o.kv_lens + b : NULL;
    one->user.b0 = b, one->user.B = 1;
    one->o.score_mod_user = &one->user;
    make_grads(one, p, 1 << GRAD_Q | 1 << GRAD_K | 1 << GRAD_V | (all->o.bias.batch > 1 ? 1 << GRAD_BIAS : 0));
}

static int same_item(const trial *one, const trial *all, size_t b)
{
    return test_same_tensor_bits(one->g.q, item_of(all->g.q, b)) &&
           test_same_tensor_bits(one->g.k, item_of(all->g.k, b)) &&
           test_same_tensor_bits(one->g.v, item_of(all->g.v, b)) &&
           (test_absent_tensor(one->g.bias) || test_same_tensor_bits(one->g.bias, item_of(all->g.bias, b)));
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
            make_all(&all, &p, (uint64_t)n, isa, ALL);
            CHECK(run_at(&all, isa, RUN_ALONE, 1, SCRATCH_NONE));
            for (size_t b = 0; b < all.B; b++) {
                take_item(&one, &all, &p, b);
                CHECK(run_at(&one, isa, RUN_BACKWARDS, 3, SCRATCH_EXACT));
                CHECK(same_item(&one, &all, b));
                make(&other, &p, (uint64_t)n);
                for (size_t c = 0; c < other.B; c++)
                    if (c != b) {
                        test_fill_tensor(item_of(other.q, c), NAN);
                        test_fill_tensor(item_of(other.k, c), NAN);
                        test_fill_tensor(item_of(other.v, c), NAN);
                        test_fill_tensor(item_of(other.dout, c), NAN);
                    }
                go_forward(&other, &p, isa);
                make_grads(&other, &p, ALL);
                CHECK(run_at(&other, isa, RUN_BACKWARDS, 2, SCRATCH_NONE));
                CHECK(same_item(&one, &other, b));
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
            trial t, u;
            p.at[A_ACCUMULATE] = 1;
            make_all(&t, &p, (uint64_t)n, isa, ALL);
            u = t;
            make_grads(&u, &p, ALL);
            t.g.accumulate = 0;
            outputs_of(&t, written), outputs_of(&u, added);
            for (int g = 0; g < GRADS; g++)
                if (!test_absent_tensor(added[g]))
                    test_fill_tensor(added[g], 0);
            test_case("point %d, %s", n, attn_isa_string(isa));
            CHECK(run_at(&t, isa, RUN_ALONE, 1, SCRATCH_NONE));
            CHECK(run_at(&u, isa, RUN_BACKWARDS, 2, SCRATCH_EXACT));
            for (int times = 1; times <= 2; times++) {
                for (int g = 0; g < GRADS; g++) {
                    size_t count = added[g].batch * added[g].heads * added[g].len * added[g].dim;
                    real most = 0;
                    for (size_t e = 0; e < count; e++)
                        most = fabsl(backward_get(&t.g, g, e)) > most ? fabsl(backward_get(&t.g, g, e)) : most;
                    for (size_t e = 0; e < count; e++)
                        if (!CHECK_NEAR(backward_get(&u.g, g, e), times * backward_get(&t.g, g, e),
                                        times == 1 ? 0 : 1e-5L * (1 + most)))
                            break;
                }
                CHECK_STATUS(run(&u, NULL), ATTN_OK);
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
            make_grads(&t, &p, ALL);
            look_before(&a, &t);
            CHECK(run_at(&t, isa, RUN_ALONE, 1, SCRATCH_NONE));
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
