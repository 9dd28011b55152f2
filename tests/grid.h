/* A grid of cases: axes with a few levels each, and few points in which every level of an axis meets every level of
   each other one. And what a point of such a grid needs to be run: a score_mod that tells where it was called, a call
   of the engine in any context. */
#ifndef ATTN_TEST_GRID_H
#define ATTN_TEST_GRID_H

#include "sdpa.h"

enum { GRID_AXES = 64, GRID_LEVELS = 20 }; /* at most */

/* One point: a level of each axis, -1 while it is not chosen. */
typedef struct grid_point {
    signed char at[GRID_AXES];
} grid_point;

typedef struct grid grid;
struct grid {
    int axes;
    const struct grid_axis {
        const char *name;
        int levels;           /* 0: this grid has no such axis */
        const size_t *values; /* what the levels stand for, or NULL: for themselves */
    } *axis;
    int first[2]; /* the axes that a random point chooses first: others get what these leave of the bound */
    double (*cost)(const grid *g, const grid_point *p);    /* of what is chosen: the rest counts as the least */
    int (*impossible)(const grid *g, const grid_point *p); /* no such case can be */
    int (*shows)(const grid *g, const grid_point *p, int a, int b); /* p is a test of how its levels of a and b meet */

    /* What grid_test runs, at length and quickly: points that cover the grid, within that bound of costs where a pair
       by itself does not cost more; then random ones of `sample`, so many and within that bound, quickly but for the
       first four. */
    const char *test, *variable; /* its name, and what of the environment tells the number of one case */
    double bound[2];
    grid_point (*sample)(const grid *g, uint64_t seed, double bound);
    long samples[2];
    double sample_bound[2];
};

size_t grid_value(const grid *g, const grid_point *p, int axis); /* 1 while it is not chosen, 0 of what it has not */

/* Random numbers of one case, so that it can be run alone. */
extern uint64_t grid_dice;
uint64_t grid_roll_bits(void);
size_t grid_roll(size_t n); /* 0 .. n - 1 */

grid_point grid_sample(const grid *g, uint64_t seed, double bound); /* a random point, whose dice go on from it */

/* Runs cases until five have failed, and checks that every pair of levels has occurred. Returns how many it ran. */
long grid_test(const grid *g, int (*run_case)(long number, const grid_point *p));

/* ---- random inputs, by the dice ---- */
double grid_number(void); /* -1 .. 1 */
attn_tensor grid_tensor(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout);

/* ---- a score_mod, a function of the score and every index that makes some scores -infinity; and its way back ---- */
typedef struct grid_bend {
    int f64;
    size_t b0, B, H, Lq, Lk;            /* b0: the first item of the batch is this one */
    const size_t *q_starts, *kv_starts; /* of packed texts, in place of Lq and Lk; or NULL */
    volatile int strayed;               /* it was called with an index that is not there */
} grid_bend;

void grid_bend_scores(void *bend, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0);
void grid_bend_back(void *bend, void *dscores, const void *before, size_t count, size_t b, size_t h, size_t i,
                    size_t j0);

/* ---- a call of attn_sdpa, or of attn_sdpa_backward with what that gave ---- */
typedef struct grid_call {
    attn_tensor out, q, k, v, dout;
    attn_opts o;         /* o.lse is given to attn_sdpa_backward too */
    attn_grads g;        /* what is wanted of that */
    int batch_invariant; /* in whatever context it runs */
} grid_call;

enum { GRID_FORWARD, GRID_BACKWARD };                        /* which of the two */
enum { GRID_ALONE, GRID_REVERSED, GRID_THREADS, GRID_RUNS }; /* who runs it: nobody, a runner, threads */
enum { GRID_NO_SCRATCH, GRID_EXACT, GRID_ODD, GRID_SCRATCHES };

attn_ctx grid_context(attn_isa isa, int runner, size_t width, test_runner *r); /* without scratch */
size_t grid_scratch(const grid_call *c, int which, const attn_ctx *ctx);       /* how many bytes it says; checked */
extern size_t grid_most_tasks; /* of grid_run, side by side, since this was zeroed */

/* Runs it. It keeps to its outputs, its scratch and its width, and frees what it allocates; scratch is as many bytes as
   it says, aligned or not. Checked; returns whether all of that held. */
int grid_run(const grid_call *c, int which, attn_isa isa, int runner, size_t width, int scratch);

/* One byte less is refused, and nothing written. */
void grid_check_less(const grid_call *c, int which, const attn_ctx *ctx);

/* Fresh outputs of the inputs' types, and gradients of all that has some but a bias; a run forward, and back too. */
void grid_plain_outputs(grid_call *c);
void grid_plain_grads(grid_call *c);
int grid_both_ways(grid_call *c, attn_isa isa, int runner, size_t width, int scratch);
int grid_same_both_ways(const grid_call *a, const grid_call *b);

/* The functions that take such a call, run and dry, for tests of statuses; text[size] receives what a dry run says, the
   number of bytes is thrown away. Names in grid_functions. */
enum { GRID_SDPA, GRID_DRY, GRID_BACK, GRID_BACK_DRY, GRID_FUNCTIONS };
extern const char *const grid_functions[GRID_FUNCTIONS];
attn_status grid_ask(const grid_call *c, int function, const attn_ctx *ctx, char *text, size_t size);

int grid_names(const char *text, const char *name); /* does it stand there as a word, or with a member of it? */

/* Something wrong done to a call that was right: the status, and what a dry run may name. */
typedef struct grid_fault {
    const char *name;
    attn_status want;
    const char *names[2];
} grid_fault;

typedef struct grid_wrong {
    grid_call c;
    attn_ctx ctx;
    int no_memory;    /* the allocator fails */
    size_t needed[2]; /* bytes of scratch, forward and back */
    void *scratch;    /* as many */
} grid_wrong;

enum { GRID_TEXT = 1024 };
void grid_finish(grid_wrong *s);   /* of a right call all but gradients: those, its results, and scratch */
void *grid_onto(const void *data); /* what is only read, to write it */
void grid_check_failure(const grid_wrong *s, int function, attn_status want, const grid_fault *fault);

/* Every fault in every function: it fails as it has to and has written nothing; without faults, none fails. `inflict`
   does it and returns the status to expect of that function, ATTN_OK where the fault is no matter of it. */
void grid_check_faults(const grid_fault *faults, int count, grid_wrong (*good_call)(void),
                       attn_status (*inflict)(grid_wrong *s, int fault, int function));

/* Of two faults f < g, which have different statuses, f is reported; `order` says which is done first: 1 f, 2 g; or 0
   if one leaves nothing of the other. */
void grid_check_order(const grid_fault *faults, int count, grid_wrong (*good_call)(void),
                      attn_status (*inflict)(grid_wrong *s, int fault, int function), int (*order)(int f, int g));

enum { GRID_OUTPUTS = 7 };
/* What it writes, absent where nothing is wanted: out, lse, weights, scores; or gradients, as attn_grads has them. */
void grid_outputs(const grid_call *c, int which, attn_tensor *outs);
int grid_same_outputs(const grid_call *a, const grid_call *b, int which); /* those that both have, bit for bit */
int grid_same_item(const grid_call *one, const grid_call *all, size_t b, int which); /* the same, with item b of all */

#endif
