/* Few points in which every pair of levels occurs: point by point, from a pair that is missing, choosing for the other
   axes the level that adds most pairs. */
#include "grid.h"

uint64_t grid_dice;

uint64_t grid_roll_bits(void) /* splitmix64 */
{
    uint64_t z = grid_dice += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

size_t grid_roll(size_t n)
{
    return (size_t)(grid_roll_bits() % n);
}

/* ---- which pairs have occurred ---- */

enum { SIDE = GRID_AXES * GRID_LEVELS };

static unsigned char covered[SIDE][SIDE]; /* [a * GRID_LEVELS + level][b ..], a < b */

void grid_forget(void)
{
    memset(covered, 0, sizeof covered);
}

void grid_cover(const grid *g, const grid_point *p)
{
    for (int a = 0; a < g->axes; a++)
        for (int b = a + 1; b < g->axes; b++)
            if (g->shows(p, a, b))
                covered[a * GRID_LEVELS + p->at[a]][b * GRID_LEVELS + p->at[b]] = 1;
}

static grid_point nowhere(void)
{
    grid_point p;
    memset(p.at, -1, sizeof p.at);
    return p;
}

/* The next pair, from *pair on in the order of `covered`, that no case has shown; 0 if there is none. */
static int uncovered(const grid *g, size_t *pair, grid_point *p, int *a, int *b)
{
    for (; *pair < sizeof covered; ++*pair) {
        int row = (int)(*pair / SIDE), col = (int)(*pair % SIDE);
        *a = row / GRID_LEVELS, *b = col / GRID_LEVELS;
        if (*a >= *b || *b >= g->axes || row % GRID_LEVELS >= g->axis[*a].levels ||
            col % GRID_LEVELS >= g->axis[*b].levels)
            continue;
        *p = nowhere();
        p->at[*a] = (signed char)(row % GRID_LEVELS), p->at[*b] = (signed char)(col % GRID_LEVELS);
        if (!covered[row][col] && !g->impossible(p) && g->shows(p, *a, *b))
            return 1;
    }
    return 0;
}

int grid_misses(const grid *g)
{
    grid_point missing;
    size_t pair = 0;
    int a, b, misses = uncovered(g, &pair, &missing, &a, &b);
    if (misses)
        printf("    no case has %s %d and %s %d\n", g->axis[a].name, missing.at[a], g->axis[b].name, missing.at[b]);
    return misses;
}

/* ---- points ---- */

/* How many uncovered pairs the level of `axis` makes with those chosen. */
static int gain(const grid *g, const grid_point *p, int axis)
{
    int count = 0;
    for (int other = 0; other < g->axes; other++) {
        int a = axis < other ? axis : other, b = axis < other ? other : axis;
        if (other != axis && p->at[other] >= 0 && g->shows(p, a, b))
            count += !covered[a * GRID_LEVELS + p->at[a]][b * GRID_LEVELS + p->at[b]];
    }
    return count;
}

static void order_first(int *order, int axis)
{
    int n = 0;
    while (order[n] != axis)
        n++;
    order[n] = order[0];
    order[0] = axis;
}

/* Chooses the axes left open, in random order: a level that adds most pairs (greedy), or any; within the bound, and so
   that the point still shows how a and b meet. */
static void complete(const grid *g, grid_point *p, int a, int b, double bound, int greedy)
{
    int order[GRID_AXES];
    for (int n = 0; n < g->axes; n++) {
        int earlier = (int)grid_roll((size_t)n + 1);
        order[n] = n;
        order[n] = order[earlier];
        order[earlier] = n;
    }
    if (!greedy)
        order_first(order, g->first[0]), order_first(order, g->first[1]);
    for (int n = 0; n < g->axes; n++) {
        int axis = order[n], best = -1, best_gain = -1, first;
        if (p->at[axis] >= 0)
            continue;
        first = (int)grid_roll((size_t)g->axis[axis].levels);
        for (int l = 0; l < g->axis[axis].levels && (greedy || best < 0); l++) {
            int more;
            p->at[axis] = (signed char)((first + l) % g->axis[axis].levels);
            if (g->cost(p) > bound || g->impossible(p) || !g->shows(p, a, b))
                continue;
            more = greedy ? gain(g, p, axis) : 0;
            if (more > best_gain)
                best_gain = more, best = p->at[axis];
        }
        p->at[axis] = (signed char)best;
    }
}

grid_point *grid_covering(const grid *g, int *count, double bound)
{
    int room = 4096, a, b;
    size_t pair = 0;
    grid_point *points = test_block((size_t)room * sizeof *points), p;
    grid_dice = 1;
    grid_forget();
    for (*count = 0; *count < room && uncovered(g, &pair, &p, &a, &b); ++*count) {
        complete(g, &p, a, b, g->cost(&p) > bound ? g->cost(&p) : bound, 1);
        grid_cover(g, &p);
        points[*count] = p;
    }
    CHECK(*count < room);
    return points;
}

grid_point grid_sample(const grid *g, uint64_t seed, double bound)
{
    grid_point p = nowhere();
    grid_dice = seed;
    complete(g, &p, 0, 1, bound, 0);
    return p;
}

void grid_describe(const grid *g, const grid_point *p)
{
    for (int a = 0; a < g->axes; a++)
        printf("%s%s %d", a % 12 ? ", " : "\n    ", g->axis[a].name, p->at[a]);
    printf("\n");
}
