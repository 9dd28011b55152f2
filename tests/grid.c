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

/* ---- random inputs ---- */

double grid_number(void)
{
    return (double)grid_roll(1 << 20) / (1 << 19) - 1;
}

attn_tensor grid_tensor(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout)
{
    attn_tensor t = test_tensor(dtype, B, H, L, D, layout);
    test_scatter(t, grid_roll_bits());
    return t;
}

/* ---- a score_mod ---- */

static int is_there(const grid_bend *u, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    size_t Lq, Lk;
    if (b >= u->B || h >= u->H)
        return 0;
    Lq = u->q_starts ? u->q_starts[b + 1] - u->q_starts[b] : u->Lq;
    Lk = u->kv_starts ? u->kv_starts[b + 1] - u->kv_starts[b] : u->Lk;
    return i < Lq && j0 <= Lk && count <= Lk - j0;
}

static int is_hidden(size_t h, size_t i, size_t j)
{
    return (i + 2 * j + h) % 11 == 3;
}

static double bent(double x, double lift)
{
    return 0.75 * x + 0.25 * sin(x) + lift;
}

void grid_bend_scores(void *bend, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    grid_bend *u = bend;
    if (!is_there(u, count, b, h, i, j0))
        u->strayed = 1;
    for (size_t n = 0; n < count; n++) {
        size_t j = j0 + n;
        double lift = 0.125 * (double)((3 * (b + u->b0) + 5 * h + 7 * i + 11 * j) % 17);
        float *x32 = (float *)scores + n;
        double *x64 = (double *)scores + n;
        if (u->f64)
            *x64 = is_hidden(h, i, j) ? -HUGE_VAL : bent(*x64, lift);
        else
            *x32 = is_hidden(h, i, j) ? (float)-HUGE_VAL : (float)bent(*x32, lift);
    }
}

/* What it makes of the keys that were hidden is for nobody to look at. */
void grid_bend_back(void *bend, void *dscores, const void *before, size_t count, size_t b, size_t h, size_t i,
                    size_t j0)
{
    grid_bend *u = bend;
    if (!is_there(u, count, b, h, i, j0))
        u->strayed = 1;
    for (size_t n = 0; n < count; n++) {
        float *d32 = (float *)dscores + n;
        double *d64 = (double *)dscores + n;
        int hidden = is_hidden(h, i, j0 + n);
        if (u->f64)
            *d64 = hidden ? NAN : *d64 * (0.75 + 0.25 * cos(((const double *)before)[n]));
        else
            *d32 = hidden ? NAN : (float)(*d32 * (0.75 + 0.25 * cos(((const float *)before)[n])));
    }
}

/* ---- a call ---- */

static attn_tensor numbers(float *x, size_t count)
{
    attn_tensor none;
    memset(&none, 0, sizeof none);
    return x ? attn_bhld(x, ATTN_F32, 1, 1, 1, count) : none;
}

void grid_outputs(const grid_call *c, int which, attn_tensor *outs)
{
    attn_mat m = c->g.by_distance;
    for (int n = 0; n < GRID_OUTPUTS; n++)
        outs[n] = numbers(NULL, 0);
    if (which == GRID_FORWARD) {
        outs[0] = c->out, outs[1] = c->o.lse, outs[2] = c->o.weights, outs[3] = c->o.scores;
        return;
    }
    outs[0] = c->g.q, outs[1] = c->g.k, outs[2] = c->g.v, outs[3] = c->g.bias;
    if (!test_absent_mat(m))
        outs[4] = attn_tensor_of(m.data, m.dtype, 1, 1, m.rows, m.cols, 0, 0, m.row_stride, m.col_stride);
    outs[5] = numbers(c->g.sinks, c->q.heads), outs[6] = numbers(c->g.alibi_slopes, c->q.heads);
}

int grid_same_outputs(const grid_call *a, const grid_call *b, int which)
{
    static const char *const names[][GRID_OUTPUTS] = {{"out", "lse", "weights", "scores"},
                                                      {"dq", "dk", "dv", "dbias", "by_distance", "dsinks", "dslopes"}};
    attn_tensor x[GRID_OUTPUTS], y[GRID_OUTPUTS];
    int same = 1;
    grid_outputs(a, which, x), grid_outputs(b, which, y);
    for (int n = 0; n < GRID_OUTPUTS; n++)
        if (!test_absent_tensor(x[n]) && !test_absent_tensor(y[n]) && !test_same_tensor_bits(x[n], y[n])) {
            printf("    %s differs\n", names[which][n]);
            same = 0;
        }
    return same;
}

const char *const grid_functions[GRID_FUNCTIONS] = {
    "attn_sdpa",          "attn_sdpa_scratch",          "attn_sdpa_explain",
    "attn_sdpa_backward", "attn_sdpa_backward_scratch", "attn_sdpa_backward_explain"};

static attn_status size_of(size_t *bytes, const grid_call *c, int which, const attn_ctx *ctx)
{
    if (which == GRID_BACKWARD)
        return attn_sdpa_backward_scratch(bytes, &c->g, c->dout, c->q, c->k, c->v, c->out, c->o.lse, &c->o, ctx);
    return attn_sdpa_scratch(bytes, c->out, c->q, c->k, c->v, &c->o, ctx);
}

/* Only a call itself may allocate: for the others the allocator fails. */
attn_status grid_ask(const grid_call *c, int function, const attn_ctx *ctx, char *text, size_t size)
{
    size_t bytes = 987654321;
    int fails = test_memory_state.fail_all;
    attn_status status = ATTN_OK;
    test_memory_state.fail_all |= function != GRID_SDPA && function != GRID_BACK;
    switch (function) {
    case GRID_SDPA: status = attn_sdpa(c->out, c->q, c->k, c->v, &c->o, ctx); break;
    case GRID_EXPLAIN: status = attn_sdpa_explain(text, size, c->out, c->q, c->k, c->v, &c->o, ctx); break;
    case GRID_BACK: status = attn_sdpa_backward(&c->g, c->dout, c->q, c->k, c->v, c->out, c->o.lse, &c->o, ctx); break;
    case GRID_BACK_EXPLAIN:
        status = attn_sdpa_backward_explain(text, size, &c->g, c->dout, c->q, c->k, c->v, c->out, c->o.lse, &c->o, ctx);
        break;
    default:
        status = size_of(&bytes, c, function == GRID_SIZE ? GRID_FORWARD : GRID_BACKWARD, ctx);
        CHECK((status == ATTN_OK) == (bytes != 987654321));
    }
    test_memory_state.fail_all = fails;
    return status;
}

static int is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

int grid_names(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if ((at == text || !(is_word(at[-1]) || at[-1] == '.')) && !is_word(at[length]))
            return 1;
    return 0;
}

int grid_run(const grid_call *c, int which, attn_isa isa, int runner, size_t width, int scratch)
{
    test_runner r = {0, 0, 0};
    attn_ctx ctx = test_ctx(isa);
    attn_tensor outs[GRID_OUTPUTS + 1];
    long calls = test_memory_state.calls, live = test_memory_state.live;
    int good, odd = scratch == GRID_ODD;
    if (runner == GRID_REVERSED)
        ctx.parallel = test_serial_backwards(&r, width);
    else if (runner == GRID_THREADS)
        ctx.parallel = test_threads(&r, width);
    ctx.parallel.width = width;
    grid_outputs(c, which, outs);
    outs[GRID_OUTPUTS] = numbers(NULL, 0);
    if (scratch) {
        CHECK_STATUS(size_of(&ctx.scratch_size, c, which, &ctx), ATTN_OK);
        ctx.scratch = (char *)test_block(ctx.scratch_size + (size_t)odd) + odd;
        outs[GRID_OUTPUTS] = attn_bhld(ctx.scratch, ATTN_BOOL, 1, 1, 1, ctx.scratch_size);
    }
    test_freeze();
    good = CHECK_STATUS(grid_ask(c, which == GRID_BACKWARD ? GRID_BACK : GRID_SDPA, &ctx, NULL, 0), ATTN_OK);
    good &= CHECK(test_wrote_only_tensors(outs, GRID_OUTPUTS + 1));
    good &= CHECK(r.most <= width);
    good &= CHECK(test_memory_state.live == live && (!scratch || test_memory_state.calls == calls));
    return good;
}
