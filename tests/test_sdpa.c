/* attn_sdpa against the reference: a grid of shapes, options, types, layouts and contexts in which every value meets
   every other; then what must hold whatever the values are, the memory it takes, and the tiles it visits.

   SDPA_CASE=N ./build/test sdpa_grid runs case N alone; SDPA_REPORT=1 says how many cases ran and how far off the worst
   was. */
#include "grid.h"
#include "sdpa.h"

/* ---- the axes of the grid ---- */

enum { MOST_BATCH = 3, MOST_HEADS = 14 };

static const size_t sizes_d[] = {1, 3, 8, 40, 64, 72, 80, 96, 128, 192, 256, 576};
static const size_t sizes_dv[] = {0, 1, 3, 16, 40, 64, 100, 128, 193, 576}; /* 0: D */
static const size_t lengths_q[] = {0, 1, 2, 3, 17, 32, 75, 130, 257};
static const size_t lengths_k[] = {0, 1, 17, 31, 33, 65, 113, 127, 130, 255, 260, 512, 1030};
static const size_t groups[] = {1, 4, 7}, kv_heads[] = {1, 2}, batches[] = {1, MOST_BATCH}, widths[] = {1, 2, 3, 5};
static const double scales[] = {0, 1, -0.7, 0.001, 3000}, softcaps[] = {0, 0.5, 20};
static const attn_dtype floats[] = {ATTN_F32, ATTN_F64, ATTN_F16, ATTN_BF16};

/* q, k, v, out: each alone, then mixes in which every type of one argument meets every type of each other. */
static const attn_dtype types[][4] = {
    {ATTN_F32, ATTN_F32, ATTN_F32, ATTN_F32},   {ATTN_F64, ATTN_F64, ATTN_F64, ATTN_F64},
    {ATTN_F16, ATTN_F16, ATTN_F16, ATTN_F16},   {ATTN_BF16, ATTN_BF16, ATTN_BF16, ATTN_BF16},
    {ATTN_F32, ATTN_F16, ATTN_F16, ATTN_F16},   {ATTN_F32, ATTN_BF16, ATTN_BF16, ATTN_BF16},
    {ATTN_F16, ATTN_F32, ATTN_F16, ATTN_BF16},  {ATTN_F16, ATTN_F16, ATTN_BF16, ATTN_F32},
    {ATTN_F16, ATTN_BF16, ATTN_F32, ATTN_F16},  {ATTN_BF16, ATTN_F32, ATTN_BF16, ATTN_F16},
    {ATTN_BF16, ATTN_F16, ATTN_F32, ATTN_BF16}, {ATTN_BF16, ATTN_BF16, ATTN_F16, ATTN_F32},
};

static const struct {
    int on;
    ptrdiff_t left, right;
} windows[] = {{0, -9, -9}, {1, 0, 0},   {1, 3, -1},  {1, -1, 0},
               {1, 40, 5},  {1, -1, -1}, {1, 100, 0}, {1, PTRDIFF_MAX, PTRDIFF_MAX},
               {1, 600, 20}};

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
enum { BIAS_RANDOM, BIAS_HOLES, BIAS_BANDS, BIAS_LARGE, BIAS_KINDS };
enum { LENS_NONE, LENS_FULL, LENS_RANDOM, LENS_ZERO, LENS };
enum { SINKS_NONE, SINKS_RANDOM, SINKS_EXTREME, SINKS };
enum { RUN_ALONE, RUN_BACKWARDS, RUN_THREADS, RUNS };
enum { SCRATCH_NONE, SCRATCH_EXACT, SCRATCH_ODD, SCRATCHES };

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* Name and number of levels. A mask or bias is absent, or 1 + one bit for each dimension that is not broadcast. */
#define AXIS_LIST(X)                                                                                                   \
    X(D, COUNT(sizes_d))                                                                                               \
    X(DV, COUNT(sizes_dv))                                                                                             \
    X(LQ, COUNT(lengths_q))                                                                                            \
    X(LK, COUNT(lengths_k))                                                                                            \
    X(GROUP, COUNT(groups))                                                                                            \
    X(HKV, COUNT(kv_heads))                                                                                            \
    X(B, COUNT(batches))                                                                                               \
    X(TYPES, COUNT(types))                                                                                             \
    X(CAUSAL, 4)                                                                                                       \
    X(OFFSET, OFFSETS)                                                                                                 \
    X(WINDOW, COUNT(windows))                                                                                          \
    X(MASK, 17)                                                                                                        \
    X(MASK_KIND, MASK_KINDS)                                                                                           \
    X(Q_LENS, LENS)                                                                                                    \
    X(KV_LENS, LENS)                                                                                                   \
    X(SCALE, COUNT(scales))                                                                                            \
    X(SOFTCAP, COUNT(softcaps))                                                                                        \
    X(BIAS, 17)                                                                                                        \
    X(BIAS_KIND, BIAS_KINDS)                                                                                           \
    X(BIAS_TYPE, COUNT(floats))                                                                                        \
    X(ALIBI, 2)                                                                                                        \
    X(SINKS, SINKS)                                                                                                    \
    X(MOD, 2)                                                                                                          \
    X(LSE, 1 + COUNT(floats))                                                                                          \
    X(WEIGHTS, 1 + COUNT(floats))                                                                                      \
    X(SCORES, 4)                                                                                                       \
    X(SCORES_TYPE, COUNT(floats))                                                                                      \
    X(Q_LAYOUT, T_LAYOUTS)                                                                                             \
    X(K_LAYOUT, T_LAYOUTS)                                                                                             \
    X(V_LAYOUT, T_LAYOUTS)                                                                                             \
    X(OUT_LAYOUT, T_OUT_LAYOUTS)                                                                                       \
    X(OTHER_LAYOUT, T_OUT_LAYOUTS)                                                                                     \
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

/* About how many products the reference makes; what is not chosen counts as 1. */
static double cost(const grid_point *p)
{
    double D = (double)value_at(p, A_D, sizes_d), Dv = (double)value_at(p, A_DV, sizes_dv);
    double heads = (double)(value_at(p, A_GROUP, groups) * value_at(p, A_HKV, kv_heads) * value_at(p, A_B, batches));
    return heads * (double)(value_at(p, A_LQ, lengths_q) * value_at(p, A_LK, lengths_k)) * (D + (Dv > 0 ? Dv : D) + 30);
}

/* ---- what makes a case ---- */

/* Whether the level of this axis matters at this point, to how it meets the other. */
static int matters(const grid_point *p, int axis, int other)
{
    switch (axis) {
    case A_OFFSET: /* it must not matter to the other causal rules */
        return p->at[A_CAUSAL] < ATTN_CAUSAL_UPPER_LEFT || p->at[A_CAUSAL] == ATTN_CAUSAL_OFFSET || other == A_CAUSAL;
    case A_MASK_KIND: return p->at[A_MASK] != 0;
    case A_BIAS_KIND:
    case A_BIAS_TYPE: return p->at[A_BIAS] != 0;
    case A_SCORES_TYPE: return p->at[A_SCORES] != 0;
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

static const grid sdpa_grid = {AXES, axes, {A_LQ, A_LK}, cost, impossible, shows};

/* A random point whose lengths are not 0; in three of four no item is empty or lies far from the others' keys. */
static grid_point sample(uint64_t seed, double bound)
{
    grid_point p = grid_sample(&sdpa_grid, seed, bound);
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
    attn_tensor q, k, v, out;
    attn_opts o; /* points into this struct */
    ptrdiff_t offsets[MOST_BATCH];
    size_t q_lens[MOST_BATCH], kv_lens[MOST_BATCH];
    float slopes[MOST_HEADS], sinks[MOST_HEADS];
    bend user;
} trial;

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
            *x64 = hide ? -HUGE_VAL : *x64 * 0.75 + lift;
        else
            *x32 = hide ? (float)-HUGE_VAL : *x32 * 0.75f + (float)lift;
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
                    double x = (double)grid_roll(1 << 20) / (1 << 19) - 1;
                    int hole = kind == BIAS_HOLES   ? grid_roll(4) == 0
                               : kind == BIAS_BANDS ? (i / 40 + j / 40 + h + b) % 2 == 1
                                                    : 0;
                    test_tensor_set(m, b, h, i, j, hole ? -HUGE_VAL : kind == BIAS_LARGE ? 30 * x : x);
                }
}

static attn_tensor scattered(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout)
{
    attn_tensor t = test_tensor(dtype, B, H, L, D, layout);
    test_scatter(t, grid_roll_bits());
    return t;
}

static void make_rules(trial *t, const grid_point *p)
{
    int layout = p->at[A_OTHER_LAYOUT];
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
    if (p->at[A_BIAS]) {
        t->o.bias = spread(floats[p->at[A_BIAS_TYPE]], p->at[A_BIAS] - 1, t, layout);
        fill_bias(t->o.bias, p->at[A_BIAS_KIND]);
    }
}

static void make_numbers(trial *t, const grid_point *p)
{
    t->o.scale = scales[p->at[A_SCALE]];
    t->o.softcap = softcaps[p->at[A_SOFTCAP]];
    for (size_t h = 0; h < t->H; h++) {
        double x = (double)grid_roll(1 << 20) / (1 << 19) - 1;
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
}

/* Other outputs, of this point or none: fresh each time, as `out` is. */
static void make_outputs(trial *t, const grid_point *p)
{
    static const attn_tensor none;
    int layout = p->at[A_OTHER_LAYOUT];
    t->out = test_tensor(types[p->at[A_TYPES]][3], t->B, t->H, t->Lq, t->Dv, p->at[A_OUT_LAYOUT]);
    t->o.lse = t->o.weights = t->o.scores = none;
    if (p->at[A_LSE])
        t->o.lse = test_tensor(floats[p->at[A_LSE] - 1], t->B, t->H, t->Lq, 1, layout);
    if (p->at[A_WEIGHTS])
        t->o.weights = test_tensor(floats[p->at[A_WEIGHTS] - 1], t->B, t->H, t->Lq, t->Lk, layout);
    if (p->at[A_SCORES])
        t->o.scores = test_tensor(floats[p->at[A_SCORES_TYPE]], t->B, t->H, t->Lq, t->Lk, layout);
    t->o.scores_stage = (attn_stage)(p->at[A_SCORES] ? p->at[A_SCORES] - 1 : 0);
}

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
    make_rules(t, p);
    make_numbers(t, p);
    make_outputs(t, p);
}

static attn_status run(const trial *t, const attn_ctx *ctx)
{
    return attn_sdpa(t->out, t->q, t->k, t->v, &t->o, ctx);
}

static int wrote_only_outputs(const trial *t)
{
    attn_tensor outs[4];
    outs[0] = t->out, outs[1] = t->o.lse, outs[2] = t->o.weights, outs[3] = t->o.scores;
    return test_wrote_only_tensors(outs, 4);
}

static int same_outputs(const trial *a, const trial *b)
{
    return test_same_tensor_bits(a->out, b->out) && test_same_tensor_bits(a->o.lse, b->o.lse) &&
           test_same_tensor_bits(a->o.weights, b->o.weights) && test_same_tensor_bits(a->o.scores, b->o.scores);
}

/* ---- scratch between two edges that must stay as they are ---- */

enum { EDGE = 64 };

typedef struct room {
    unsigned char *bytes;
    size_t start, size;
} room;

static room new_room(size_t size, size_t odd)
{
    room r = {NULL, EDGE + odd, size};
    r.bytes = malloc(size + 2 * EDGE + odd);
    if (!r.bytes) {
        puts("the tests are out of memory");
        exit(2);
    }
    memset(r.bytes, 0xff, size + 2 * EDGE + odd);
    return r;
}

static int close_room(room r) /* whether the edges are intact */
{
    int intact = 1;
    for (size_t n = 0; n < r.start; n++)
        intact &= r.bytes[n] == 0xff;
    for (size_t n = 0; n < EDGE; n++)
        intact &= r.bytes[r.start + r.size + n] == 0xff;
    free(r.bytes);
    return intact;
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
    CHECK_STATUS(attn_sdpa_scratch(&bytes, t->out, t->q, t->k, t->v, &t->o, ctx), ATTN_OK);
    return bytes;
}

static size_t most_tasks; /* side by side, since this was zeroed */

/* One call in the context of a point: keeps to its outputs, its scratch and its width, and frees what it allocates. */
static int run_at(const trial *t, attn_isa isa, int runner, size_t width, int scratch)
{
    test_runner r = {0, 0, 0};
    attn_ctx ctx = context(isa, runner, width, &r);
    room space = new_room(scratch ? scratch_of(t, &ctx) : 0, scratch == SCRATCH_ODD);
    long calls = test_memory_state.calls, live = test_memory_state.live;
    int good;
    if (scratch) {
        ctx.scratch = space.bytes + space.start;
        ctx.scratch_size = space.size;
    }
    test_freeze();
    good = CHECK_STATUS(run(t, &ctx), ATTN_OK);
    good &= CHECK(wrote_only_outputs(t));
    good &= CHECK(r.most <= width);
    most_tasks = r.most > most_tasks ? r.most : most_tasks;
    good &= CHECK(test_memory_state.live == live);
    /* with no bytes needed there is nothing to point to, and nothing to allocate */
    good &= CHECK(!scratch || test_memory_state.calls == calls);
    good &= CHECK(close_room(space));
    return good;
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
    a.weights = t->o.weights.data ? test_reals(rows * t->Lk) : NULL;
    a.scores = t->o.scores.data ? test_reals(rows * t->Lk) : NULL;
    sdpa_reference(a.out, a.lse, a.weights, a.scores, t->q, t->k, t->v, &t->o, mode);
    return a;
}

enum { KINDS = 4, ISAS = TEST_LAST_ISA + 1 };

/* Of f32 and f64 results whose naive error is known well: the worst error as a multiple of it. And the worst error. */
static struct {
    long cases;
    real ratio, error;
} report[ISAS][KINDS];

/* Enough scores, none so large that rounding it decides everything, and no score_mod, before which EXACT rounds as the
   naive way does: the naive error is no matter of luck. */
static int naive_is_typical(const trial *t)
{
    return sdpa_pairs >= 256 && test_size_of_sums < 64 && !t->o.score_mod;
}

static void note(const trial *t, attn_isa isa)
{
    real ratio = sdpa_worst_naive > 0 ? sdpa_worst_got / sdpa_worst_naive : 0;
    attn_dtype type = t->out.dtype;
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
            attn_dtype type = floats[n];
            printf("    %-7s %-5s %6ld cases, worst error %.2Lg", attn_isa_string(isa), test_dtype_name(type),
                   report[isa][type].cases, report[isa][type].error);
            if (test_size(type) >= 4)
                printf(", at most %.2Lf of the naive way's", report[isa][type].ratio);
            printf("\n");
        }
}

static int rows_sum_to_one(const trial *t, const answers *want)
{
    attn_tensor w = t->o.weights;
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
    real least = naive_is_typical(t) ? 0 : sdpa_least(1, t->compute);
    sdpa_worst_naive = sdpa_worst_got = 0;
    good = CHECK(sdpa_close_pairs(t->out, want->out, naive->out, t->compute, least,
                                sdpa_pairs_error(isa, t->q, t->k, t->v, &t->o)));
    note(t, isa);
    if (test_size_of_sums < 64 && test_size(t->out.dtype) == 2)
        good &= CHECK(sdpa_worst_got <= (t->out.dtype == ATTN_F16 ? 1e-3L : 1e-2L));
    if (t->o.lse.data)
        good &= CHECK(sdpa_close(t->o.lse, want->lse, naive->lse, t->compute, least));
    if (t->o.weights.data)
        good &= CHECK(sdpa_close(t->o.weights, want->weights, naive->weights, t->compute, least));
    if (t->o.scores.data)
        good &= CHECK(sdpa_close(t->o.scores, want->scores, naive->scores, t->compute, least));
    if (t->o.weights.data && t->o.weights.dtype == t->compute && !t->o.sinks)
        good &= rows_sum_to_one(t, want);
    return good;
}

/* ---- the grid ---- */

/* One case on every instruction set, and once more on the last one without threads and scratch: the same bits. */
static int run_case(long number, const grid_point *p)
{
    trial t[ISAS], plain;
    answers want, naive;
    size_t width = widths[p->at[A_WIDTH]];
    attn_isa last = ATTN_ISA_SCALAR;
    int good = 1;
    test_case("SDPA_CASE=%ld", number);
    FOR_EACH_ISA_OF (isa, types[p->at[A_TYPES]][0]) {
        test_case("SDPA_CASE=%ld, %s", number, attn_isa_string(isa));
        if (isa == ATTN_ISA_SCALAR)
            make(&t[isa], p, (uint64_t)number);
        else {
            t[isa] = t[ATTN_ISA_SCALAR];
            make_outputs(&t[isa], p);
        }
        good &= run_at(&t[isa], isa, p->at[A_RUNNER], width, p->at[A_SCRATCH]);
        last = isa;
    }
    plain = t[ATTN_ISA_SCALAR];
    make_outputs(&plain, p);
    good &= run_at(&plain, last, RUN_ALONE, 1, SCRATCH_NONE);
    good &= CHECK(same_outputs(&plain, &t[last]));
    good &= CHECK(!t[ATTN_ISA_SCALAR].user.strayed);
    test_size_of_sums = 0, sdpa_pairs = 0;
    want = answer(&plain, EXACT);
    naive = answer(&plain, plain.compute == ATTN_F64 ? NAIVE64 : NAIVE32);
    FOR_EACH_ISA_OF (isa, types[p->at[A_TYPES]][0]) {
        test_case("SDPA_CASE=%ld, %s", number, attn_isa_string(isa));
        good &= check_answers(&t[isa], isa, &want, &naive);
    }
    return good;
}

TEST(sdpa_grid)
{
    const char *only = getenv("SDPA_CASE"), *wanted = getenv("SDPA_REPORT");
    int rows, failed = 0;
    long number, cases = 0, samples = test_quick ? 60 : 2000;
    grid_point *points = grid_covering(&sdpa_grid, &rows, 5e5);
    grid_point *kept = malloc((size_t)rows * sizeof *kept); /* blocks are freed after each case */
    if (!CHECK(kept != NULL))
        return;
    memcpy(kept, points, (size_t)rows * sizeof *kept);
    grid_forget();
    memset(report, 0, sizeof report);
    for (number = 0; number < rows + samples && failed < 5; number++) {
        grid_point p = number < rows ? kept[number] : sample((uint64_t)number, test_quick ? 5e4 : 5e5);
        if (number < rows)
            grid_cover(&sdpa_grid, &p);
        if (only ? number != atol(only) : test_quick && number < rows && (number % 6 || cost(&p) > 4e4))
            continue;
        test_release();
        cases++;
        if (!run_case(number, &p)) {
            failed++;
            printf("    SDPA_CASE=%ld ./build/test sdpa_grid runs this case alone:", number);
            grid_describe(&sdpa_grid, &p);
        }
    }
    free(kept);
    test_case("every pair of levels has occurred");
    CHECK(failed || !grid_misses(&sdpa_grid));
    if (wanted)
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
    p->at[A_WINDOW] = (signed char)(n % 2 ? 0 : COUNT(windows) - 1); /* blocks start at keys of their own */
    p->at[A_KV_LENS] = 0;
}

/* The same call in every width, on every runner, with and without scratch: the same bits. */
TEST(sdpa_contexts)
{
    most_tasks = 0;
    for (size_t n = 0; n < (test_quick ? 9 : 45); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = sample(n, 1e5);
            trial plain, t;
            if (n % 3 == 0)
                with_many_keys(&p, (int)n);
            make(&plain, &p, n);
            test_case("point %d, %s, plain", (int)n, attn_isa_string(isa));
            CHECK(run_at(&plain, isa, RUN_ALONE, 1, SCRATCH_NONE));
            for (int c = test_quick ? 5 : 0; c < COUNT(widths) * RUNS * SCRATCHES; c += test_quick ? 7 : 1) {
                int width = c % COUNT(widths), runner = c / COUNT(widths) % RUNS, scratch = c / COUNT(widths) / RUNS;
                t = plain;
                make_outputs(&t, &p);
                test_case("point %d, %s, width %d, runner %d, scratch %d", (int)n, attn_isa_string(isa),
                          (int)widths[width], runner, scratch);
                CHECK(run_at(&t, isa, runner, widths[width], scratch));
                CHECK(same_outputs(&t, &plain));
            }
            test_release();
        }
    CHECK(most_tasks == 5);
}

static attn_tensor item_of(attn_tensor t, size_t b) /* one item of a batch, or of what is broadcast */
{
    if (t.batch > 1) {
        t.data = (char *)t.data + (ptrdiff_t)b * t.batch_stride * (ptrdiff_t)test_size(t.dtype);
        t.batch = 1;
    }
    return t;
}

/* Item b of a trial as a trial of its own, with fresh outputs. */
static void take_item(trial *one, const trial *all, const grid_point *p, size_t b)
{
    *one = *all;
    one->B = 1;
    one->q = item_of(all->q, b), one->k = item_of(all->k, b), one->v = item_of(all->v, b);
    one->o.mask = item_of(all->o.mask, b), one->o.bias = item_of(all->o.bias, b);
    one->o.causal_offset = all->o.causal_offset ? all->o.causal_offset + b : NULL;
    one->o.q_lens = all->o.q_lens ? all->o.q_lens + b : NULL;
    one->o.kv_lens = all->o.kv_lens ? all->o.kv_lens + b : NULL;
    one->user.b0 = b, one->user.B = 1;
    one->o.score_mod_user = &one->user;
    make_outputs(one, p);
}

static int same_item(const trial *one, const trial *all, size_t b)
{
    return test_same_tensor_bits(one->out, item_of(all->out, b)) &&
           test_same_tensor_bits(one->o.lse, item_of(all->o.lse, b)) &&
           test_same_tensor_bits(one->o.weights, item_of(all->o.weights, b)) &&
           test_same_tensor_bits(one->o.scores, item_of(all->o.scores, b));
}

/* A batch has the bits of its items one by one, and of any batch where the other items are NaN. */
TEST(sdpa_batch)
{
    for (size_t n = 0; n < (test_quick ? 6 : 80); n += test_quick ? 3 : 1) /* of these the last has many keys */
        FOR_EACH_ISA_OF (isa, types[sample(100 + n, 2e5).at[A_TYPES]][0]) {
            grid_point p = sample(100 + n, 2e5);
            trial all, other, one;
            if (n % 3 == 0)
                with_many_keys(&p, (int)n);
            p.at[A_B] = 1;
            p.at[A_Q_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_K_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_V_LAYOUT] %= T_OUT_LAYOUTS;
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            make(&all, &p, n);
            CHECK(run_at(&all, isa, RUN_ALONE, 1, SCRATCH_NONE));
            for (size_t b = 0; b < all.B; b++) {
                take_item(&one, &all, &p, b);
                CHECK(run_at(&one, isa, RUN_ALONE, 3, SCRATCH_EXACT));
                CHECK(same_item(&one, &all, b));
                make(&other, &p, n);
                for (size_t c = 0; c < all.B; c++)
                    if (c != b) {
                        test_fill_tensor(item_of(other.q, c), NAN);
                        test_fill_tensor(item_of(other.k, c), NAN);
                        test_fill_tensor(item_of(other.v, c), NAN);
                    }
                CHECK(run_at(&other, isa, RUN_BACKWARDS, 2, SCRATCH_NONE));
                CHECK(same_item(&one, &other, b));
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
            CHECK(run_at(&all, isa, RUN_ALONE, 1, SCRATCH_NONE));
            for (int asked = 0; asked < 7; asked++) {
                q = p, t = all;
                q.at[A_LSE] = asked & 1 ? p.at[A_LSE] : 0;
                q.at[A_WEIGHTS] = asked & 2 ? p.at[A_WEIGHTS] : 0;
                q.at[A_SCORES] = asked & 4 ? p.at[A_SCORES] : 0;
                test_case("point %d, %s, %d", (int)n, attn_isa_string(isa), asked);
                make_outputs(&t, &q);
                CHECK(run_at(&t, isa, RUN_BACKWARDS, 5, SCRATCH_NONE));
                CHECK(test_same_tensor_bits(t.out, all.out));
                CHECK(!t.o.lse.data || test_same_tensor_bits(t.o.lse, all.o.lse));
                CHECK(!t.o.weights.data || test_same_tensor_bits(t.o.weights, all.o.weights));
                CHECK(!t.o.scores.data || test_same_tensor_bits(t.o.scores, all.o.scores));
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
            CHECK(run_at(&packed, isa, RUN_ALONE, 1, SCRATCH_NONE));
            for (int layout = 1; layout < T_OUT_LAYOUTS; layout += test_quick ? 3 : 1) {
                p.at[A_Q_LAYOUT] = (signed char)layout,
                p.at[A_K_LAYOUT] = (signed char)((layout + (int)n) % T_OUT_LAYOUTS);
                p.at[A_V_LAYOUT] = (signed char)((layout + (int)n / 3) % T_OUT_LAYOUTS);
                p.at[A_OUT_LAYOUT] = p.at[A_OTHER_LAYOUT] = (signed char)((layout + (int)n / 5) % T_OUT_LAYOUTS);
                test_case("point %d, %s, layout %d", (int)n, attn_isa_string(isa), layout);
                make(&t, &p, n);
                CHECK(run_at(&t, isa, RUN_ALONE, 1, SCRATCH_NONE));
                CHECK(same_outputs(&t, &packed));
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
        test_size_of_sums = 0, sdpa_pairs = 0;
        want = answer(&t, EXACT);
        naive = answer(&t, t.compute == ATTN_F64 ? NAIVE64 : NAIVE32);
        FOR_EACH_ISA (isa) {
            attn_ctx ctx = test_ctx(isa);
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            u = t;
            make_outputs(&u, &p);
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
            t.o.lse = lse_for(&t);
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            CHECK_STATUS(run(&t, &ctx), ATTN_OK);
            for (size_t i = 0; i < t.Lq; i += 1 + t.Lq / 7) {
                size_t keys = i + 1 < t.Lk ? i + 1 : t.Lk;
                attn_tensor out = test_tensor(t.compute, t.B, t.H, 1, t.Dv, T_BHLD);
                attn_opts o = t.o;
                o.causal = ATTN_CAUSAL_NONE;
                o.lse = test_tensor(t.compute, t.B, t.H, 1, 1, T_BHLD);
                CHECK_STATUS(attn_sdpa(out, attn_tensor_slice(t.q, i, 1), attn_tensor_slice(t.k, 0, keys),
                                       attn_tensor_slice(t.v, 0, keys), &o, &ctx),
                             ATTN_OK);
                CHECK(alike(attn_tensor_slice(t.out, i, 1), out) && alike(attn_tensor_slice(t.o.lse, i, 1), o.lse));
            }
            test_release();
        }
}

static void copy_row(attn_tensor out, size_t to, attn_tensor in, size_t from)
{
    for (size_t b = 0; b < out.batch; b++)
        for (size_t h = 0; h < out.heads; h++)
            for (size_t d = 0; d < out.dim; d++)
                memcpy(test_tensor_at(out, b, h, to, d), test_tensor_at(in, b, h, from, d), test_size(in.dtype));
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
            make_outputs(&u, &p);
            t.o.lse = lse_for(&t), u.o.lse = lse_for(&u);
            u.k = test_tensor_like(t.k, T_BLHD), u.v = test_tensor_like(t.v, T_STEP);
            for (size_t j = 0; j < t.Lk; j++) { /* an odd step, and back to front: every key once */
                size_t from = t.Lk - 1 - (t.Lk % 7 ? 7 * j % t.Lk : j);
                copy_row(u.k, j, t.k, from);
                copy_row(u.v, j, t.v, from);
            }
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            CHECK_STATUS(run(&t, &ctx), ATTN_OK);
            CHECK_STATUS(run(&u, &ctx), ATTN_OK);
            CHECK(alike(t.out, u.out) && alike(t.o.lse, u.o.lse));
            test_release();
        }
}

/* Grouped heads equal plain heads over repeated keys and values. */
TEST(sdpa_groups)
{
    for (size_t n = 0; n < (test_quick ? 10 : 60); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = moderate(600 + n);
            attn_ctx ctx = test_ctx(isa);
            trial t, u;
            p.at[A_GROUP] = (signed char)(1 + n % 2);
            make(&t, &p, n);
            u = t;
            make_outputs(&u, &p);
            u.k = test_tensor(t.k.dtype, t.B, t.H, t.Lk, t.D, T_BHLD);
            u.v = test_tensor(t.v.dtype, t.B, t.H, t.Lk, t.Dv, T_BHLD);
            for (size_t h = 0; h < t.H; h++) {
                attn_tensor k = t.k, v = t.v, k_one = u.k, v_one = u.v;
                k.data = test_tensor_at(t.k, 0, h / (t.H / t.Hkv), 0, 0), k_one.data = test_tensor_at(u.k, 0, h, 0, 0);
                v.data = test_tensor_at(t.v, 0, h / (t.H / t.Hkv), 0, 0), v_one.data = test_tensor_at(u.v, 0, h, 0, 0);
                k.heads = v.heads = k_one.heads = v_one.heads = 1;
                for (size_t j = 0; j < t.Lk; j++)
                    copy_row(k_one, j, k, j), copy_row(v_one, j, v, j);
            }
            t.o.lse = lse_for(&t), u.o.lse = lse_for(&u);
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            CHECK_STATUS(run(&t, &ctx), ATTN_OK);
            CHECK_STATUS(run(&u, &ctx), ATTN_OK);
            CHECK(alike(t.out, u.out) && alike(t.o.lse, u.o.lse));
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
    part->k = attn_tensor_slice(all->k, first, count);
    part->v = attn_tensor_slice(all->v, first, count);
    part->o.mask = columns(all->o.mask, first, count);
    part->o.bias = columns(all->o.bias, first, count);
    for (size_t b = 0; b < all->B; b++) {
        size_t valid = all->o.kv_lens ? all->kv_lens[b] : all->Lk;
        part->offsets[b] = sdpa_position(&all->o, all->Lq, all->Lk, b, 0) - (ptrdiff_t)first;
        part->kv_lens[b] = valid < first ? 0 : valid - first < count ? valid - first : count;
    }
    part->o.causal = all->o.causal ? ATTN_CAUSAL_OFFSET : ATTN_CAUSAL_NONE;
    part->o.causal_offset = part->offsets;
    part->o.kv_lens = part->kv_lens;
    part->o.sinks = with_sinks ? all->o.sinks : NULL;
    part->out = test_tensor(all->compute, all->B, all->H, all->Lq, all->Dv, (int)(first % T_OUT_LAYOUTS));
    part->o.lse = lse_for(all);
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
            attn_ctx ctx = context(isa, n % 2 ? RUN_THREADS : RUN_BACKWARDS, 1 + n % 5, &r);
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
            out = test_tensor_like(a.out, T_BHLD), lse = test_tensor_like(a.o.lse, T_ODD);
            test_freeze();
            CHECK_STATUS(attn_merge_ctx(a.out, a.o.lse, b.out, b.o.lse, &ctx), ATTN_OK);
            {
                attn_tensor outs[2];
                outs[0] = a.out, outs[1] = a.o.lse;
                CHECK(test_wrote_only_tensors(outs, 2));
            }
            test_size_of_sums = 0;
            want = answer(&t, EXACT);
            naive = answer(&t, t.compute == ATTN_F64 ? NAIVE64 : NAIVE32);
            least = sdpa_least(1, t.compute) + 2 * test_ulp(1, t.compute);
            CHECK(sdpa_close(a.out, want.out, naive.out, t.compute, least));
            CHECK(sdpa_close(a.o.lse, want.lse, naive.lse, t.compute, least));
            ctx.parallel.run = NULL;
            CHECK_STATUS(attn_merge_ctx(out, lse, b.out, b.o.lse, &ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(out, a.out) && test_same_tensor_bits(lse, a.o.lse));
            test_release();
        }
}

/* ---- garbage where nobody looks ---- */

static int same_row(attn_tensor x, attn_tensor y, size_t b, size_t h, size_t i)
{
    for (size_t d = 0; d < x.dim; d++)
        if (memcmp(test_tensor_at(x, b, h, i, d), test_tensor_at(y, b, h, i, d), test_size(x.dtype)) != 0)
            return 0;
    return 1;
}

static int nan_row(attn_tensor x, size_t b, size_t h, size_t i)
{
    for (size_t d = 0; d < x.dim; d++)
        if (!isnan(test_tensor_get(x, b, h, i, d)))
            return 0;
    return 1;
}

/* Rows that `touched` says are NaN in out, lse and weights, all others have the bits of `clean`. */
static void check_rows(const trial *t, const trial *clean, int nan, size_t key, size_t query)
{
    int same = 1, bad = 1;
    for (size_t b = 0; b < t->B; b++)
        for (size_t h = 0; h < t->H; h++)
            for (size_t i = 0; i < t->Lq; i++) {
                int touched = key < t->Lk && sdpa_sees(&t->o, t->Lq, t->Lk, b, h, i, key);
                for (size_t j = 0; j < t->Lk && i == query; j++)
                    touched |= sdpa_sees(&t->o, t->Lq, t->Lk, b, h, i, j);
                if (!touched)
                    same &= same_row(t->out, clean->out, b, h, i) && same_row(t->o.lse, clean->o.lse, b, h, i) &&
                            same_row(t->o.weights, clean->o.weights, b, h, i) &&
                            same_row(t->o.scores, clean->o.scores, b, h, i);
                else if (nan)
                    bad &= nan_row(t->out, b, h, i) && nan_row(t->o.lse, b, h, i) && nan_row(t->o.weights, b, h, i);
            }
    CHECK(same);
    CHECK(bad);
}

static void fill_row(attn_tensor t, size_t i, double value)
{
    for (size_t b = 0; b < t.batch; b++)
        for (size_t h = 0; h < t.heads; h++)
            for (size_t d = 0; d < t.dim; d++)
                test_tensor_set(t, b, h, i, d, value);
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
            CHECK(run_at(&clean, isa, RUN_ALONE, 1, SCRATCH_NONE));

            test_case("point %d, %s, key %d is %g", (int)n, attn_isa_string(isa), (int)key, with);
            fill_row(t.k, key, with), fill_row(t.v, key, with);
            CHECK(run_at(&t, isa, RUN_ALONE, 1, SCRATCH_NONE));
            check_rows(&t, &clean, isnan(with), key, t.Lq);

            test_case("point %d, %s, query %d is %g", (int)n, attn_isa_string(isa), (int)query, with);
            make(&t, &p, n);
            fill_row(t.q, query, with);
            CHECK(run_at(&t, isa, RUN_ALONE, 1, SCRATCH_NONE));
            check_rows(&t, &clean, isnan(with), t.Lk, query);

            test_case("point %d, %s, bias of hidden keys is %g", (int)n, attn_isa_string(isa), with);
            make(&t, &p, n);
            for (size_t b = 0; b < t.o.bias.batch && p.at[A_BIAS] == 16; b++)
                for (size_t h = 0; h < t.H; h++)
                    for (size_t i = 0; i < t.Lq; i++)
                        for (size_t j = 0; j < t.Lk; j++)
                            if (!sdpa_sees(&clean.o, t.Lq, t.Lk, b, h, i, j) &&
                                sdpa_infinite(test_tensor_get(clean.o.bias, b, h, i, j)) >= 0)
                                test_tensor_set(t.o.bias, b, h, i, j, with);
            CHECK(run_at(&t, isa, RUN_ALONE, 1, SCRATCH_NONE));
            CHECK(same_outputs(&t, &clean));
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
            test_tensor_set(t.k, b, grid_roll(t.Hkv), grid_roll(t.Lk), 0, infinity);
        if (t.o.bias.data && n % 3 == 0)
            test_tensor_set(t.o.bias, 0, 0, t.o.bias.len - 1, t.o.bias.dim - 1, HUGE_VAL);
        test_size_of_sums = 0, sdpa_pairs = 0;
        want = answer(&t, EXACT);
        naive = answer(&t, t.compute == ATTN_F64 ? NAIVE64 : NAIVE32);
        FOR_EACH_ISA (isa) {
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            u = t;
            make_outputs(&u, &p);
            CHECK(run_at(&u, isa, RUN_BACKWARDS, 2, SCRATCH_EXACT));
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
                                seen |= sdpa_sees(&t.o, t.Lq, t.Lk, b, h, i, j);
                        for (size_t d = 0; d < t.D && !seen; d++)
                            test_tensor_set(t.k, b, g, j, d, NAN);
                        for (size_t d = 0; d < t.Dv && !seen; d++)
                            test_tensor_set(t.v, b, g, j, d, NAN);
                    }
            test_case("point %d, %s", (int)n, attn_isa_string(isa));
            CHECK(run_at(&clean, isa, RUN_ALONE, 1, SCRATCH_NONE));
            CHECK(run_at(&t, isa, RUN_ALONE, 1, SCRATCH_NONE));
            CHECK(same_outputs(&t, &clean));
            test_release();
        }
}

/* ---- memory that must not be touched ---- */

/* L rows of D elements, the first `exist` of them in fenced memory: the others would lie beyond the fence, which comes
   before the memory if the rows go backwards. */
static attn_tensor fenced_rows(attn_dtype dtype, size_t L, size_t D, size_t exist, size_t step, int backwards)
{
    size_t size = test_size(dtype), row = D * step;
    char *memory = test_fenced(exist ? (exist * row - step + 1) * size : 0, backwards);
    attn_tensor t = {NULL, dtype, 1, 1, L, D, 0, 0, 0, 0};
    t.len_stride = (backwards ? -1 : 1) * (ptrdiff_t)row;
    t.dim_stride = (ptrdiff_t)step;
    t.data = backwards ? memory + ((ptrdiff_t)exist - 1) * (ptrdiff_t)(row * size) : memory;
    test_scatter(attn_tensor_slice(t, 0, exist), L + D);
    return t;
}

/* One row of numbers for each query, or one for all, of which the first `exist` exist. */
static attn_tensor fenced_pairs(attn_dtype dtype, size_t Lq, size_t Lk, size_t exist, int backwards)
{
    attn_tensor t = fenced_rows(dtype, Lk, Lq, exist, 1, backwards);
    ptrdiff_t step = t.len_stride;
    t.len = Lq, t.dim = Lk;
    t.len_stride = t.dim_stride, t.dim_stride = step;
    return t;
}

typedef struct fenced_call {
    attn_tensor out, q, k, v;
    attn_opts opts;
    attn_ctx ctx;
    attn_status status;
} fenced_call;

static void do_fenced_call(void *arg)
{
    fenced_call *c = arg;
    c->status = attn_sdpa(c->out, c->q, c->k, c->v, &c->opts, &c->ctx);
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
            attn_dtype type = floats[test_below(4)], wide = type == ATTN_F64 ? ATTN_F64 : ATTN_F32;
            int backwards = test_maybe(), stage = (int)test_below(3), wanted = (int)test_below(5);
            test_runner r;
            fenced_call c;
            memset(&c, 0, sizeof c);
            c.q = fenced_rows(type, Lq, D, Lq, 1, test_maybe());
            c.k = fenced_rows(type, Lk, D, valid, step, backwards);
            c.v = fenced_rows(type, Lk, Dv, valid, test_below(4) ? 1 : 2, backwards);
            c.out = fenced_rows(type, Lq, Dv, Lq, 1, test_maybe());
            if (test_maybe())
                c.opts.mask = fenced_pairs(ATTN_BOOL, test_maybe() ? Lq : 1, Lk, valid, backwards);
            if (test_maybe())
                c.opts.bias = fenced_pairs(floats[test_below(4)], test_maybe() ? Lq : 1, Lk, valid, backwards);
            if (wanted > 0)
                c.opts.lse = fenced_rows(wide, Lq, 1, Lq, 1, test_maybe());
            if (wanted > 1 && wanted < 4)
                c.opts.weights = fenced_rows(wide, Lq, Lk, Lq, 1, test_maybe());
            if (wanted > 2)
                c.opts.scores = fenced_rows(wide, Lq, Lk, Lq, 1, test_maybe());
            c.opts.scores_stage = (attn_stage)stage;
            c.opts.softcap = test_maybe() ? 2 : 0;
            c.opts.causal = test_below(3) ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_LOWER_RIGHT;
            c.opts.kv_lens = &valid;
            c.ctx = context(isa, RUN_BACKWARDS, n % 3 + 1, &r);
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
            trial t, other;
            test_runner r = {0, 0, 0};
            attn_ctx ctx = context(isa, p.at[A_RUNNER], widths[p.at[A_WIDTH]], &r);
            size_t bytes;
            room space;
            make(&t, &p, n);
            make(&other, &p, n + 1);
            bytes = scratch_of(&t, &ctx);
            test_case("point %d, %s, %zu bytes", (int)n, attn_isa_string(isa), bytes);
            CHECK(bytes > 0 && bytes < widths[p.at[A_WIDTH]] << 22);
            CHECK(scratch_of(&other, &ctx) == bytes);
            space = new_room(bytes, 0);
            ctx.scratch = space.bytes + space.start;
            ctx.scratch_size = bytes - 1;
            CHECK(scratch_of(&t, &ctx) == bytes);
            test_freeze();
            CHECK_STATUS(run(&t, &ctx), ATTN_ERR_NOMEM);
            CHECK(test_wrote_nothing());
            CHECK(r.calls == 0);
            CHECK(close_room(space));
            test_release();
        }
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
        for (int n = 0; n < COUNT(widths) * 4; n++) {
            int single_query = n / COUNT(widths) % 2;
            size_t width = widths[n % COUNT(widths)], heads = n / COUNT(widths) / 2 ? 1 : H, bytes[3] = {0, 0, 0};
            for (size_t l = 0; l < 3; l++) {
                static const size_t lengths[] = {4096, LONG, LONGER};
                test_runner r;
                attn_ctx ctx = context(isa, RUN_THREADS, width, &r);
                size_t Lk = lengths[l], Lq = single_query ? 1 : Lk;
                attn_tensor q = attn_tensor_of(&one, ATTN_F32, 1, heads, Lq, D, 0, 0, 0, 0), kv = q;
                kv.len = Lk;
                CHECK_STATUS(
                    attn_sdpa_scratch(&bytes[l], attn_bhld(memory, ATTN_F32, 1, heads, Lq, D), q, kv, kv, NULL, &ctx),
                    ATTN_OK);
            }
            test_case("%s, %d queries, %d heads, width %d: %zu, %zu, %zu bytes", attn_isa_string(isa),
                      single_query ? 1 : LONG, (int)heads, (int)width, bytes[0], bytes[1], bytes[2]);
            CHECK(bytes[2] > 0 && bytes[2] < width << 22);
            CHECK(bytes[1] == bytes[2]);
            CHECK(bytes[0] == bytes[2] || (single_query && bytes[0] < bytes[2])); /* it has fewer splits */
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
    static const size_t lengths[][2] = {{LONG, LONG}, {100, 1000}, {192, 128}, {240, 1000}, {288, 300}, {5000, 2000}};
    static float one[1], memory[H * D * LONG], keys[H * D * LONG];
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 8; n++) {
            size_t first = 0, bytes = 0;
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
                CHECK_STATUS(
                    attn_sdpa_scratch(&bytes, attn_bhld(memory, ATTN_F32, 1, q.heads, Lq, D), q, kv, kv, &opts, &ctx),
                    ATTN_OK);
                first = l == 0 ? bytes : first;
                CHECK(bytes == first);
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
                attn_ctx ctx = context(isa, RUN_BACKWARDS, wide[w], &r);
                attn_tensor out = test_tensor(ATTN_F32, B, H, 1, D, T_BHLD);
                size_t bytes = 0;
                if (test_quick && decode && w != 4)
                    continue;
                test_case("%s, width %zu%s", attn_isa_string(isa), wide[w], decode ? ", one query" : "");
                CHECK_STATUS(attn_sdpa_scratch(&bytes, out, q, kv, kv, NULL, &ctx), ATTN_OK);
                first = first ? first : bytes;
                CHECK(bytes > 0 && bytes == first && bytes < (size_t)MOST_TASKS << 22);
                CHECK_STATUS(attn_sdpa(out, q, kv, kv, NULL, &ctx), ATTN_OK);
                CHECK(r.calls == 1 && r.most == MOST_TASKS);
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
                size_t bytes[3] = {0, 0, 0}, H = many ? 256 : 1;
                for (int l = 0; l < 3; l++) {
                    test_runner r;
                    attn_ctx ctx = context(isa, RUN_BACKWARDS, wide[w], &r);
                    attn_tensor q = attn_tensor_of(&one, ATTN_F32, 1, H, 64, 128, 0, 0, 0, 1), kv = q;
                    q.dim_stride = kv.dim_stride = 0;
                    kv.len = lengths[l];
                    CHECK_STATUS(
                        attn_sdpa_scratch(&bytes[l], attn_bhld(memory, ATTN_F32, 1, H, 64, 128), q, kv, kv, NULL, &ctx),
                        ATTN_OK);
                    CHECK(bytes[l] > 0 && bytes[l] < wide[w] << 22);
                }
                test_case("%s, width %zu, %d heads: %zu, %zu, %zu bytes", attn_isa_string(isa), wide[w], (int)H,
                          bytes[0], bytes[1], bytes[2]);
                if (many || wide[w] == 1)
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
        for (int w = 0; w < COUNT(widths); w += test_quick ? 3 : 1) {
            test_runner r;
            attn_ctx ctx = context(isa, RUN_THREADS, widths[w], &r);
            size_t bytes = 0, before = test_memory_state.bytes;
            test_case("%s, width %zu", attn_isa_string(isa), widths[w]);
            CHECK_STATUS(attn_sdpa_scratch(&bytes, out, q, k, k, NULL, &ctx), ATTN_OK);
            test_memory_state.peak = before;
            CHECK_STATUS(attn_sdpa(out, q, k, k, NULL, &ctx), ATTN_OK);
            CHECK(test_memory_state.bytes == before);
            CHECK(test_memory_state.peak - before < widths[w] << 22 && test_memory_state.peak - before <= bytes);
            most = test_memory_state.peak - before > most ? test_memory_state.peak - before : most;
        }
    CHECK(most > 0);
}

/* ---- tiles ---- */

/* How many tiles have a row that sees a key: rows of a key/value head in blocks of `queries`, keys in blocks of `keys`.
   Rows are numbered head by head. */
static long tiles_that_are_seen(const trial *t, size_t queries, size_t keys)
{
    size_t group = t->H / t->Hkv, rows = group * t->Lq;
    long count = 0;
    for (size_t b = 0; b < t->B; b++)
        for (size_t g = 0; g < t->Hkv; g++)
            for (size_t r0 = 0; r0 < rows; r0 += queries)
                for (size_t j0 = 0; j0 < t->Lk; j0 += keys) {
                    int seen = 0;
                    for (size_t r = r0; r < r0 + queries && r < rows; r++)
                        for (size_t j = j0; j < j0 + keys && j < t->Lk && !seen; j++)
                            seen = sdpa_sees(&t->o, t->Lq, t->Lk, b, g * group + r / t->Lq, r % t->Lq, j);
                    count += seen;
                }
    return count;
}

/* Returns how many tiles were skipped. */
static long check_tiles(const trial *t, attn_isa isa)
{
    static const char phrase[] = "blocks of ";
    attn_ctx ctx = test_ctx(isa);
    char text[2048] = "";
    unsigned long queries = 0, keys = 0;
    const char *at;
    long before = test_tiles, tiles;
    size_t all;
    CHECK_STATUS(attn_sdpa_explain(text, sizeof text, t->out, t->q, t->k, t->v, &t->o, &ctx), ATTN_OK);
    at = strstr(text, phrase);
    if (!CHECK(at && sscanf(at + strlen(phrase), "%lu rows x key tiles of %lu", &queries, &keys) == 2 && queries && keys))
        return 0;
    CHECK_STATUS(run(t, &ctx), ATTN_OK);
    tiles = test_tiles - before;
    CHECK_NEAR(tiles, tiles_that_are_seen(t, queries, keys), 0);
    all = t->B * t->Hkv * ((t->H / t->Hkv * t->Lq + queries - 1) / queries) * ((t->Lk + keys - 1) / keys);
    return (long)all - tiles;
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
    t.q = t.k = t.v = test_random_tensor(ATTN_F32, t.B, 1, t.Lk, t.D, T_BHLD);
    t.q.heads = t.H, t.q.head_stride = 0;
    t.Dv = t.D;
    t.out = test_tensor(ATTN_F32, t.B, t.H, t.Lq, t.D, T_BHLD);
    t.o.window.on = 1, t.o.window.left = 9, t.o.window.right = 9;
    FOR_EACH_ISA (isa) {
        test_case("a narrow window, %s", attn_isa_string(isa));
        CHECK(check_tiles(&t, isa) > 0);
    }
}
