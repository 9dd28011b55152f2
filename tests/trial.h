/* Cases of attention from grids: the axes that grids share, and what a level of each makes of a call. A grid says which
   axes it has, and of some what its levels stand for; what else belongs to a case, its test adds. */
#ifndef ATTN_TEST_TRIAL_H
#define ATTN_TEST_TRIAL_H

#include "backward.h"
#include "grid.h"

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* ---- axes ---- */

/* clang-format off */
enum { /* those of one test alone, then in the order in which a case is made */
    A_TEXTS, A_LONGEST, A_SET, A_KEYS, A_REST, A_D, A_DV, A_LQ, A_LK, A_GROUP, A_HKV, A_B, A_BLOCK_Q, A_BLOCK_K, A_LIST,
    A_LIST_BATCH, A_LIST_HEADS, A_LIST_WIDTH, A_SPOIL, A_NUMBERS, A_MATRIX, A_OUT, A_TYPES, A_GRAD_TYPES, A_CAUSAL,
    A_OFFSET, A_WINDOW, A_MASK, A_MASK_KIND, A_Q_LENS, A_KV_LENS, A_SCALE, A_SOFTCAP, A_BIAS, A_BIAS_KIND, A_BIAS_TYPE,
    A_BIAS_GRAD, A_ALIBI, A_SINKS, A_MOD, A_DROPOUT, A_LSE, A_WEIGHTS, A_SCORES, A_SCORES_TYPE, A_DLSE, A_ACCUMULATE,
    A_Q_LAYOUT, A_K_LAYOUT, A_V_LAYOUT, A_DOUT_LAYOUT, A_OUT_LAYOUT, A_OTHER_LAYOUT, A_Q_GRAD_LAYOUT, A_K_GRAD_LAYOUT,
    A_V_GRAD_LAYOUT, A_WIDTH, A_RUNNER, A_SCRATCH, A_INVARIANT, TRIAL_AXES
};
enum { OFFSET_NONE, OFFSET_ZERO, OFFSET_AHEAD, OFFSET_BEHIND, OFFSET_ALIGNED, OFFSET_PAST, OFFSET_BEFORE, OFFSET_HUGE,
       OFFSET_HUGE_BEHIND, OFFSETS }; /* HUGE: of either sign in turn */
/* clang-format on */

/* What levels stand for: a number of one of the tables in trial.c, unless the grid lists other numbers of it; sizes, of
   which a grid has its own, for themselves. Here is how long the tables are. */
enum { TRIAL_TYPES = 12, TRIAL_GRAD_TYPES = 6, TRIAL_WINDOWS = 9, TRIAL_FLOATS = 4, TRIAL_SOFTCAPS = 3 };
attn_dtype trial_type(int level, int which); /* which: 0 to 4, of q, k, v, dout, out */
extern const size_t trial_kv_heads[2], trial_widths[4];
enum { LENS_NONE, LENS_FULL, LENS_RANDOM, LENS_ZERO, LENS };
enum { SINKS_NONE, SINKS_RANDOM, SINKS_EXTREME, SINKS };

/* A mask or bias: absent, or 1 + one bit for each of B, H, Lq, Lk that is not broadcast, or made by attn_relative. */
enum { MASKS = 17, BIAS_BY_DISTANCE = MASKS, BIASES };
enum { MASK_RANDOM, MASK_BANDS, MASK_TRUE, MASK_EMPTY_ROWS, MASK_KINDS };
enum { BIAS_RANDOM, BIAS_HOLES, BIAS_BANDS, BIAS_LARGE, BIAS_KINDS };

#define AXIS(axis, levels) [A_##axis] = {#axis, levels, NULL}
#define AXIS_OF(axis, values) [A_##axis] = {#axis, COUNT(values), values}

/* What any grid has: its options, its inputs, where it runs. */
#define AXES_OF_OPTIONS                                                                                                \
    AXIS(CAUSAL, 4), AXIS(OFFSET, OFFSETS), AXIS(SOFTCAP, TRIAL_SOFTCAPS), AXIS(ALIBI, 2), AXIS(SINKS, SINKS),         \
        AXIS(MOD, 2), AXIS(TYPES, TRIAL_TYPES), AXIS_OF(HKV, trial_kv_heads)
#define AXES_OF_LAYOUTS                                                                                                \
    AXIS(Q_LAYOUT, T_LAYOUTS), AXIS(K_LAYOUT, T_LAYOUTS), AXIS(V_LAYOUT, T_LAYOUTS), AXIS(OUT_LAYOUT, T_OUT_LAYOUTS),  \
        AXIS(OTHER_LAYOUT, T_OUT_LAYOUTS)
#define AXES_OF_GRADS                                                                                                  \
    AXIS(GRAD_TYPES, TRIAL_GRAD_TYPES), AXIS(DLSE, 1 + TRIAL_FLOATS), AXIS(ACCUMULATE, 2),                             \
        AXIS(DOUT_LAYOUT, T_LAYOUTS), AXIS(Q_GRAD_LAYOUT, T_OUT_LAYOUTS), AXIS(K_GRAD_LAYOUT, T_OUT_LAYOUTS),          \
        AXIS(V_GRAD_LAYOUT, T_OUT_LAYOUTS)
#define AXES_OF_CONTEXT AXIS_OF(WIDTH, trial_widths), AXIS(RUNNER, GRID_RUNS), AXIS(SCRATCH, GRID_SCRATCHES)

#define TRIAL_GRID(name, name_of_case)                                                                                 \
    .test = name, .variable = name_of_case, .axes = TRIAL_AXES, .axis = axes, .impossible = trial_impossible,          \
    .shows = trial_shows

/* About how many products the reference makes; what is not chosen counts as 1. */
double trial_cost(const grid *g, const grid_point *p);
int trial_impossible(const grid *g, const grid_point *p); /* an offset must be given for ATTN_CAUSAL_OFFSET */

/* Whether the point is a test of how its levels of axes a and b meet: not if one is without effect, nor if there is
   nothing to compute, unless that is what one of the levels is about. */
int trial_shows(const grid *g, const grid_point *p, int a, int b);

/* A random point whose lengths are not 0; in three of four no item is empty or lies far from the others' keys. */
grid_point trial_sample(const grid *g, uint64_t seed, double bound);

/* ---- a case ---- */

enum { TRIAL_ITEMS = 33, TRIAL_HEADS = 16 }; /* at most, of any grid */

typedef struct trial {
    grid_call c; /* its options point into this struct, or into the one that it is a copy of */
    const grid *grid;
    size_t B, H, Hkv, Lq, Lk, D, Dv;
    attn_dtype compute;
    ptrdiff_t offsets[TRIAL_ITEMS];
    size_t q_lens[TRIAL_ITEMS], kv_lens[TRIAL_ITEMS];
    float slopes[TRIAL_HEADS], sinks[TRIAL_HEADS];
    grid_bend user;
    size_t texts, q_starts[TRIAL_ITEMS + 1], kv_starts[TRIAL_ITEMS + 1]; /* of packed texts, which their test makes */
} trial;

/* Inputs and options of a point, by the dice. In two parts: the shapes, as far as the grid has axes of them; and what
   is made for the shapes that stand in the trial. */
void trial_make(trial *t, const grid *g, const grid_point *p, uint64_t seed);
void trial_begin(trial *t, const grid *g, const grid_point *p, uint64_t seed);
void trial_fill(trial *t, const grid_point *p);

ptrdiff_t trial_offset(int level, size_t Lq, size_t Lk, size_t b); /* of item b */

/* Fresh outputs of the point; for the way back lse in the compute type, and out alone. */
void trial_outputs(trial *t, const grid_point *p, int which);

/* Fresh gradients: those whose bits are set in `wanted`, as far as the options have them. Before the call they are NaN,
   or numbers that a sum goes on from. */
enum { ALL_GRADS = (1 << GRADS) - 1 };
void trial_grads(trial *t, const grid_point *p, int wanted);

void trial_item(trial *one, const trial *all, size_t b); /* item b as a trial of its own, whose outputs are all's */

/* Whether a case runs on it: the scalar one, which makes it, always, the others in turn. */
int trial_runs_on(attn_isa isa, long number);

#endif
