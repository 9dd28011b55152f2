/* What a level of each axis makes of a call, for all grids. */
#include "trial.h"

/* ---- what levels stand for ---- */

const size_t trial_kv_heads[2] = {1, 2}, trial_widths[4] = {1, 2, 3, 7};

/* Each alone, then mixes in which every type of one argument meets every type of each other. */
static const attn_dtype types[TRIAL_TYPES][5] = {
    {ATTN_F32, ATTN_F32, ATTN_F32, ATTN_F32, ATTN_F32},    {ATTN_F64, ATTN_F64, ATTN_F64, ATTN_F64, ATTN_F64},
    {ATTN_F16, ATTN_F16, ATTN_F16, ATTN_F16, ATTN_F16},    {ATTN_BF16, ATTN_BF16, ATTN_BF16, ATTN_BF16, ATTN_BF16},
    {ATTN_F32, ATTN_F16, ATTN_F16, ATTN_F32, ATTN_F16},    {ATTN_F32, ATTN_BF16, ATTN_BF16, ATTN_F16, ATTN_BF16},
    {ATTN_F16, ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_BF16},  {ATTN_F16, ATTN_F16, ATTN_BF16, ATTN_F32, ATTN_F32},
    {ATTN_F16, ATTN_BF16, ATTN_F32, ATTN_F32, ATTN_F16},   {ATTN_BF16, ATTN_F32, ATTN_BF16, ATTN_F32, ATTN_F16},
    {ATTN_BF16, ATTN_F16, ATTN_F32, ATTN_BF16, ATTN_BF16}, {ATTN_BF16, ATTN_BF16, ATTN_F16, ATTN_F16, ATTN_F32},
};

/* Of the gradients of q, k and v, where the compute type is F32. */
static const attn_dtype grad_types[TRIAL_GRAD_TYPES][3] = {
    {ATTN_F32, ATTN_F32, ATTN_F32},  {ATTN_F16, ATTN_F16, ATTN_F16},  {ATTN_BF16, ATTN_BF16, ATTN_BF16},
    {ATTN_F32, ATTN_F16, ATTN_BF16}, {ATTN_BF16, ATTN_F32, ATTN_F32}, {ATTN_F16, ATTN_BF16, ATTN_F32}};

static const attn_window windows[TRIAL_WINDOWS] = {{0, -9, -9}, {1, 0, 0},   {1, 3, -1},  {1, -1, 0},
                                                   {1, 40, 5},  {1, -1, -1}, {1, 100, 0}, {1, PTRDIFF_MAX, PTRDIFF_MAX},
                                                   {1, 600, 20}};
static const double scales[] = {0, 1, -0.7, 0.001, 30, 3000}, softcaps[TRIAL_SOFTCAPS] = {0, 0.5, 20};
static const double drops[] = {0, 0.25, 0.8};

attn_dtype trial_type(int level, int which)
{
    attn_dtype type = types[level][which];
    return type == ATTN_F64 ? test_wide : type;
}

/* ---- grids ---- */

double trial_cost(const grid *g, const grid_point *p)
{
    double D = (double)grid_value(g, p, A_D), Dv = (double)grid_value(g, p, A_DV);
    double heads = (double)(grid_value(g, p, A_GROUP) * grid_value(g, p, A_HKV) * grid_value(g, p, A_B));
    return heads * (double)(grid_value(g, p, A_LQ) * grid_value(g, p, A_LK)) * (D + (Dv > 0 ? Dv : D) + 30);
}

int trial_impossible(const grid *g, const grid_point *p)
{
    return p->at[A_CAUSAL] == ATTN_CAUSAL_OFFSET && grid_value(g, p, A_OFFSET) == OFFSET_NONE;
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
    case A_SCORES_TYPE: return p->at[A_SCORES] != 0;
    default: return 1;
    }
}

int trial_shows(const grid *g, const grid_point *p, int a, int b)
{
    static const int lengths[] = {A_LQ, A_LK, A_LONGEST};
    for (int n = 0; n < COUNT(lengths); n++)
        if (g->axis[lengths[n]].levels && grid_value(g, p, lengths[n]) == 0 && a != lengths[n] && b != lengths[n])
            return 0;
    return matters(p, a, b) && matters(p, b, a);
}

grid_point trial_sample(const grid *g, uint64_t seed, double bound)
{
    grid_point p = grid_sample(g, seed, bound);
    if (grid_roll(4)) {
        p.at[A_OFFSET] = p.at[A_OFFSET] > OFFSET_ALIGNED ? OFFSET_ALIGNED : p.at[A_OFFSET];
        p.at[A_Q_LENS] = p.at[A_Q_LENS] == LENS_ZERO ? LENS_FULL : p.at[A_Q_LENS];
        p.at[A_KV_LENS] = p.at[A_KV_LENS] == LENS_ZERO ? LENS_RANDOM : p.at[A_KV_LENS];
    }
    return p;
}

/* ---- a case ---- */

static size_t level(const trial *t, const grid_point *p, int axis)
{
    return grid_value(t->grid, p, axis);
}

static attn_dtype type_of(const trial *t, const grid_point *p, int which)
{
    return trial_type((int)level(t, p, A_TYPES), which);
}

static int has(const trial *t, int axis)
{
    return t->grid->axis[axis].levels > 0;
}

ptrdiff_t trial_offset(int level, size_t Lq, size_t Lk, size_t b)
{
    ptrdiff_t n = (ptrdiff_t)b, queries = (ptrdiff_t)Lq, keys = (ptrdiff_t)Lk;
    switch (level) {
    case OFFSET_AHEAD: return 5 + 20 * n;
    case OFFSET_BEHIND: return -5 - 20 * n;
    case OFFSET_ALIGNED: return keys - queries + n;
    case OFFSET_PAST: return keys + 10 + n;
    case OFFSET_BEFORE: return n - queries - 3;
    case OFFSET_HUGE: return n % 2 ? PTRDIFF_MIN + n : PTRDIFF_MAX - n;
    case OFFSET_HUGE_BEHIND: return PTRDIFF_MIN + n;
    default: return 0;
    }
}

static size_t length_of(int level, size_t L, size_t b)
{
    size_t any = grid_roll(L + 1);
    return level == LENS_FULL ? L : level == LENS_RANDOM ? any : b == 1 ? 0 : L - L / 3;
}

static attn_tensor spread(attn_dtype dtype, size_t bits, const trial *t, int layout)
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
                    double x = grid_number();
                    int hole = kind == BIAS_HOLES   ? grid_roll(4) == 0
                               : kind == BIAS_BANDS ? (i / 40 + j / 40 + h + b) % 2 == 1
                                                    : 0;
                    test_tensor_set(m, b, h, i, j, hole ? -HUGE_VAL : kind == BIAS_LARGE ? 30 * x : x);
                }
}

/* Values for attn_relative. */
static attn_tensor by_distance(attn_dtype dtype, const trial *t, int layout, int kind)
{
    attn_mat m = test_mat(dtype, t->H, t->Lq + t->Lk > 0 ? t->Lq + t->Lk - 1 : 0, layout % OUT_LAYOUTS);
    for (size_t h = 0; h < m.rows; h++)
        for (size_t c = 0; c < m.cols; c++) {
            double x = grid_number();
            (attn_mat_set)(m, h, c, kind == BIAS_HOLES && grid_roll(4) == 0 ? -HUGE_VAL : x);
        }
    return attn_relative(m, t->Lq, t->Lk);
}

static void make_rules(trial *t, const grid_point *p)
{
    attn_opts *o = &t->c.o;
    int layout = p->at[A_OTHER_LAYOUT], kind = p->at[A_BIAS_KIND];
    size_t mask = level(t, p, A_MASK), bias = level(t, p, A_BIAS);
    attn_dtype type = test_floats[level(t, p, A_BIAS_TYPE)];
    o->causal = (attn_causal)p->at[A_CAUSAL];
    o->window = windows[level(t, p, A_WINDOW)];
    for (size_t b = 0; b < t->B; b++) {
        t->offsets[b] = trial_offset((int)level(t, p, A_OFFSET), t->Lq, t->Lk, b);
        t->q_lens[b] = length_of(p->at[A_Q_LENS], t->Lq, b);
        t->kv_lens[b] = length_of(p->at[A_KV_LENS], t->Lk, b);
    }
    o->causal_offset = level(t, p, A_OFFSET) != OFFSET_NONE ? t->offsets : NULL;
    o->q_lens = p->at[A_Q_LENS] ? t->q_lens : NULL;
    o->kv_lens = p->at[A_KV_LENS] ? t->kv_lens : NULL;
    if (mask) {
        o->mask = spread(ATTN_BOOL, mask - 1, t, layout);
        fill_mask(o->mask, p->at[A_MASK_KIND]);
    }
    if (bias == BIAS_BY_DISTANCE) {
        o->bias = by_distance(type, t, layout, kind);
    } else if (bias) {
        o->bias = spread(type, bias - 1, t, layout);
        fill_bias(o->bias, kind);
    }
}

static void make_numbers(trial *t, const grid_point *p)
{
    attn_opts *o = &t->c.o;
    grid_bend *u = &t->user;
    o->scale = scales[level(t, p, A_SCALE)];
    o->softcap = softcaps[level(t, p, A_SOFTCAP)];
    o->dropout.p = drops[level(t, p, A_DROPOUT)];
    o->dropout.seed = has(t, A_DROPOUT) ? grid_roll_bits() : 0;
    for (size_t h = 0; h < t->H; h++) {
        double x = grid_number();
        t->slopes[h] = (float)(h % 4 == 3 ? -0.01 : ldexp(1, -1 - (int)(h % 8)));
        t->sinks[h] = (float)(p->at[A_SINKS] == SINKS_RANDOM ? 2 * x : h % 3 == 0 ? -HUGE_VAL : h % 3 == 1 ? 40 : -40);
    }
    o->alibi_slopes = p->at[A_ALIBI] ? t->slopes : NULL;
    o->sinks = p->at[A_SINKS] ? t->sinks : NULL;
    u->f64 = t->compute == ATTN_F64;
    u->B = t->B, u->H = t->H, u->Lq = t->Lq, u->Lk = t->Lk;
    o->score_mod = p->at[A_MOD] ? grid_bend_scores : NULL;
    o->score_mod_user = u;
    t->c.g.score_mod_grad = p->at[A_MOD] ? grid_bend_back : NULL;
}

void trial_begin(trial *t, const grid *g, const grid_point *p, uint64_t seed)
{
    static const trial zero;
    *t = zero;
    t->grid = g;
    grid_dice = seed;
    t->D = level(t, p, A_D);
    t->Dv = level(t, p, A_DV) ? level(t, p, A_DV) : t->D;
    t->Lq = level(t, p, A_LQ), t->Lk = level(t, p, A_LK);
    t->Hkv = level(t, p, A_HKV);
    t->H = t->Hkv * level(t, p, A_GROUP);
    t->B = level(t, p, A_B);
    t->compute = type_of(t, p, 0) == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    t->c.batch_invariant = has(t, A_INVARIANT) && level(t, p, A_INVARIANT) > 0;
}

void trial_fill(trial *t, const grid_point *p)
{
    grid_call *c = &t->c;
    c->q = grid_tensor(type_of(t, p, 0), t->B, t->H, t->Lq, t->D, p->at[A_Q_LAYOUT]);
    c->k = grid_tensor(type_of(t, p, 1), t->B, t->Hkv, t->Lk, t->D, p->at[A_K_LAYOUT]);
    c->v = grid_tensor(type_of(t, p, 2), t->B, t->Hkv, t->Lk, t->Dv, p->at[A_V_LAYOUT]);
    if (has(t, A_DOUT_LAYOUT))
        c->dout = grid_tensor(type_of(t, p, 3), t->B, t->H, t->Lq, t->Dv, p->at[A_DOUT_LAYOUT]);
    make_rules(t, p);
    make_numbers(t, p);
    if (p->at[A_DLSE])
        c->g.dlse = grid_tensor(test_floats[p->at[A_DLSE] - 1], t->B, t->H, t->Lq, 1, p->at[A_OTHER_LAYOUT]);
}

void trial_make(trial *t, const grid *g, const grid_point *p, uint64_t seed)
{
    trial_begin(t, g, p, seed);
    trial_fill(t, p);
}

/* ---- what a case writes ---- */

/* B x H x Lq x count, of one of the types after "none". */
static attn_tensor wanted_output(const trial *t, int type, size_t count, const grid_point *p)
{
    static const attn_tensor none;
    return type ? test_tensor(test_floats[type - 1], t->B, t->H, t->Lq, count, p->at[A_OTHER_LAYOUT]) : none;
}

void trial_outputs(trial *t, const grid_point *p, int which)
{
    attn_opts *o = &t->c.o;
    int forward = which == GRID_FORWARD, scores = forward ? p->at[A_SCORES] : 0;
    t->c.out = test_tensor(type_of(t, p, 4), t->B, t->H, t->Lq, t->Dv, p->at[A_OUT_LAYOUT]);
    o->lse = wanted_output(t, forward ? p->at[A_LSE] : t->compute == ATTN_F64 ? 2 : 1, 1, p);
    o->weights = wanted_output(t, forward ? p->at[A_WEIGHTS] : 0, t->Lk, p);
    o->scores = wanted_output(t, scores ? 1 + p->at[A_SCORES_TYPE] : 0, t->Lk, p);
    o->scores_stage = (attn_stage)(scores ? scores - 1 : 0);
}

/* Sums go to no 16-bit type. */
static attn_tensor fresh(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout, int accumulate)
{
    attn_tensor t = test_tensor(accumulate && test_size(dtype) == 2 ? ATTN_F32 : dtype, B, H, L, D, layout);
    if (accumulate)
        test_scatter(t, (uint64_t)(B + 3 * H + 5 * L + 7 * D));
    return t;
}

static attn_tensor input_grad(const trial *t, attn_tensor in, int g, const grid_point *p)
{
    attn_dtype type = t->compute == ATTN_F64 ? ATTN_F64 : grad_types[level(t, p, A_GRAD_TYPES)][g];
    int shared = in.batch_stride == 0 && in.heads && in.len && in.dim;
    return fresh(type, shared ? 1 : in.batch, in.heads, in.len, in.dim, p->at[A_Q_GRAD_LAYOUT + g],
                 p->at[A_ACCUMULATE]);
}

void trial_grads(trial *t, const grid_point *p, int wanted)
{
    static const attn_grads none;
    attn_grads g = none;
    attn_tensor bias = t->c.o.bias;
    attn_dtype type = test_floats[level(t, p, A_BIAS_GRAD)];
    int layout = p->at[A_OTHER_LAYOUT], sums = p->at[A_ACCUMULATE];
    g.dlse = t->c.g.dlse, g.score_mod_grad = t->c.g.score_mod_grad;
    g.accumulate = sums;
    if (wanted & 1 << GRAD_Q)
        g.q = input_grad(t, t->c.q, GRAD_Q, p);
    if (wanted & 1 << GRAD_K)
        g.k = input_grad(t, t->c.k, GRAD_K, p);
    if (wanted & 1 << GRAD_V)
        g.v = input_grad(t, t->c.v, GRAD_V, p);
    if (wanted & 1 << GRAD_BIAS && p->at[A_BIAS])
        g.bias = fresh(type, bias.batch, bias.heads, bias.len, bias.dim, layout, sums);
    if (wanted & 1 << GRAD_DISTANCE && level(t, p, A_BIAS) == BIAS_BY_DISTANCE && t->Lq + t->Lk > 0)
        g.by_distance = attn_head(fresh(type, 1, 1, t->H, t->Lq + t->Lk - 1, layout, sums), 0, 0);
    if (wanted & 1 << GRAD_SINKS && t->c.o.sinks)
        g.sinks = fresh(ATTN_F32, 1, 1, 1, t->H, T_BHLD, sums).data;
    if (wanted & 1 << GRAD_SLOPES && t->c.o.alibi_slopes)
        g.alibi_slopes = fresh(ATTN_F32, 1, 1, 2, t->H, T_BHLD, sums).data;
    t->c.g = g;
}

void trial_item(trial *one, const trial *all, size_t b)
{
    grid_call *c = &one->c;
    attn_opts *o = &c->o;
    attn_tensor *views[] = {&c->q,    &c->k,    &c->v,   &c->dout,    &c->out,   &c->g.dlse,
                            &o->mask, &o->bias, &o->lse, &o->weights, &o->scores};
    *one = *all;
    one->B = 1;
    for (int n = 0; n < COUNT(views); n++)
        *views[n] = test_tensor_item(*views[n], b);
    o->causal_offset = o->causal_offset ? o->causal_offset + b : NULL;
    o->q_lens = o->q_lens ? o->q_lens + b : NULL;
    o->kv_lens = o->kv_lens ? o->kv_lens + b : NULL;
    one->user.b0 = b, one->user.B = 1;
    o->score_mod_user = &one->user;
}

int trial_runs_on(attn_isa isa, long number)
{
    return isa == ATTN_ISA_SCALAR || test_has_turn(isa, (size_t)number);
}
