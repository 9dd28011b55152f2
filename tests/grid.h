/* A grid of cases: axes with a few levels each, and few points in which every level of an axis meets every level of
   each other one. */
#ifndef ATTN_TEST_GRID_H
#define ATTN_TEST_GRID_H

#include "test.h"

enum { GRID_AXES = 48, GRID_LEVELS = 20 }; /* at most */

/* One point: a level of each axis, -1 while it is not chosen. */
typedef struct grid_point {
    signed char at[GRID_AXES];
} grid_point;

typedef struct grid {
    int axes;
    const struct grid_axis {
        const char *name;
        int levels;
    } *axis;
    int first[2];                                    /* the axes that a random point chooses first: others get what
                                                        these leave of the bound */
    double (*cost)(const grid_point *p);             /* of what is chosen: the rest counts as the least */
    int (*impossible)(const grid_point *p);          /* no such case can be */
    int (*shows)(const grid_point *p, int a, int b); /* p is a test of how its levels of axes a and b meet */
} grid;

/* Random numbers of one case, so that it can be run alone. */
extern uint64_t grid_dice;
uint64_t grid_roll_bits(void);
size_t grid_roll(size_t n); /* 0 .. n - 1 */

/* Points in which every pair of levels occurs, each at most `bound` unless a pair by itself costs more; in a block. */
grid_point *grid_covering(const grid *g, int *count, double bound);

grid_point grid_sample(const grid *g, uint64_t seed, double bound); /* a random point, whose dice go on from it */

/* To see whether all pairs have occurred: forget them, cover the points that were run, and ask if one is missing. */
void grid_forget(void);
void grid_cover(const grid *g, const grid_point *p);
int grid_misses(const grid *g);

void grid_describe(const grid *g, const grid_point *p); /* prints the levels */

#endif
