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

static void forget(void)
{
    memset(covered, 0, sizeof covered);
}

static void cover(const grid *g, const grid_point *p)
{
    for (int a = 0; a < g->axes; a++)
        for (int b = a + 1; b < g->axes; b++)
            if (g->axis[a].levels && g->axis[b].levels && g->shows(g, p, a, b))
                covered[a * GRID_LEVELS + p->at[a]][b * GRID_LEVELS + p->at[b]] = 1;
}

size_t grid_value(const grid *g, const grid_point *p, int axis)
{
    int level = p->at[axis];
    return level < 0 ? 1 : g->axis[axis].values ? g->axis[axis].values[level] : (size_t)level;
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
        if (!covered[row][col] && !g->impossible(g, p) && g->shows(g, p, *a, *b))
            return 1;
    }
    return 0;
}

static int misses_a_pair(const grid *g)
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
        if (other != axis && p->at[other] >= 0 && g->shows(g, p, a, b))
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
    int order[GRID_AXES], count = 0;
    for (int axis = 0; axis < g->axes; axis++)
        if (g->axis[axis].levels) {
            int earlier = (int)grid_roll((size_t)count + 1);
            order[count] = axis;
            order[count++] = order[earlier];
            order[earlier] = axis;
        }
    if (!greedy)
        order_first(order, g->first[0]), order_first(order, g->first[1]);
    for (int n = 0; n < count; n++) {
        int axis = order[n], best = -1, best_gain = -1, first;
        if (p->at[axis] >= 0)
            continue;
        first = (int)grid_roll((size_t)g->axis[axis].levels);
        for (int l = 0; l < g->axis[axis].levels && (greedy || best < 0); l++) {
            int more;
            p->at[axis] = (signed char)((first + l) % g->axis[axis].levels);
            if (g->cost(g, p) > bound || g->impossible(g, p) || !g->shows(g, p, a, b))
                continue;
            more = greedy ? gain(g, p, axis) : 0;
            if (more > best_gain)
                best_gain = more, best = p->at[axis];
        }
        CHECK(best >= 0); /* at least one fits */
        p->at[axis] = (signed char)(best > 0 ? best : 0);
    }
    for (int axis = 0; axis < g->axes; axis++)
        if (!g->axis[axis].levels)
            p->at[axis] = 0;
}

/* Points in which every pair of levels occurs, each at most `bound` unless a pair by itself costs more; in a block. */
static grid_point *covering(const grid *g, int *count, double bound)
{
    int room = 4096, a, b;
    size_t pair = 0;
    grid_point *points = test_block((size_t)room * sizeof *points), p;
    int fits = g->axes <= GRID_AXES;
    for (a = 0; fits && a < g->axes; a++)
        fits = g->axis[a].levels <= GRID_LEVELS;
    *count = 0;
    if (!CHECK(fits))
        return points;
    grid_dice = 1;
    forget();
    for (*count = 0; *count < room && uncovered(g, &pair, &p, &a, &b); ++*count) {
        complete(g, &p, a, b, g->cost(g, &p) > bound ? g->cost(g, &p) : bound, 1);
        cover(g, &p);
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

/* ---- cases ---- */

static void describe(const grid *g, const grid_point *p)
{
    int said = 0;
    for (int a = 0; a < g->axes; a++)
        if (g->axis[a].levels)
            printf("%s%s %d", said++ % 12 ? ", " : "\n    ", g->axis[a].name, p->at[a]);
    printf("\n");
}

long grid_test(const grid *g, int (*run_case)(long number, const grid_point *p))
{
    const char *only = getenv(g->variable);
    int rows, failed = 0, quick = test_quick != 0;
    long number, cases = 0;
    grid_point *points = covering(g, &rows, g->bound[quick]);
    grid_point *kept = malloc((size_t)rows * sizeof *kept); /* blocks are freed after each case */
    if (!CHECK(kept != NULL))
        return 0;
    memcpy(kept, points, (size_t)rows * sizeof *kept);
    forget();
    for (number = 0; number < rows + g->samples[quick] && failed < 5; number++) {
        int small = quick && number >= rows + 4; /* a few are large in several ways at once */
        grid_point p = number < rows ? kept[number] : g->sample(g, (uint64_t)number, g->sample_bound[small]);
        if (only && number != atol(only))
            continue;
        test_release();
        cases++;
        if (number < rows)
            cover(g, &p);
        if (!run_case(number, &p)) {
            failed++;
            printf("    %s%s=%ld ./build/test =%s runs this case alone:", quick ? "" : "TEST_LEVEL=full ", g->variable,
                   number, g->test);
            describe(g, &p);
        }
    }
    free(kept);
    test_case("every pair of levels has occurred");
    CHECK(only || !misses_a_pair(g) || failed == 5);
    CHECK(!failed);
    return cases;
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

static int same_outputs(const attn_tensor *x, const attn_tensor *y, int which)
{
    static const char *const names[][GRID_OUTPUTS] = {{"out", "lse", "weights", "scores"},
                                                      {"dq", "dk", "dv", "dbias", "by_distance", "dsinks", "dslopes"}};
    int same = 1;
    for (int n = 0; n < GRID_OUTPUTS; n++)
        if (!test_absent_tensor(x[n]) && !test_absent_tensor(y[n]) && !test_same_tensor_bits(x[n], y[n])) {
            printf("    %s differs\n", names[which][n]);
            same = 0;
        }
    return same;
}

int grid_same_outputs(const grid_call *a, const grid_call *b, int which)
{
    attn_tensor x[GRID_OUTPUTS], y[GRID_OUTPUTS];
    grid_outputs(a, which, x), grid_outputs(b, which, y);
    return same_outputs(x, y, which);
}

int grid_same_item(const grid_call *one, const grid_call *all, size_t b, int which)
{
    attn_tensor x[GRID_OUTPUTS], y[GRID_OUTPUTS];
    grid_outputs(one, which, x), grid_outputs(all, which, y);
    for (int n = 0; n < GRID_OUTPUTS; n++)
        y[n] = test_tensor_item(y[n], b);
    return same_outputs(x, y, which);
}

const char *const grid_functions[GRID_FUNCTIONS] = {"attn_sdpa", "attn_sdpa, dry", "attn_sdpa_backward",
                                                    "attn_sdpa_backward, dry"};

static attn_status call(const grid_call *c, int backward, const attn_ctx *ctx, attn_dry_run *dry)
{
    attn_ctx own = ctx ? *ctx : test_ctx(ATTN_ISA_BEST);
    own.batch_invariant |= c->batch_invariant;
    ctx = test_dry(ctx || own.batch_invariant ? &own : NULL, dry);
    if (backward)
        return attn_sdpa_backward(&c->g, c->dout, c->q, c->k, c->v, c->out, c->o.lse, &c->o, ctx);
    return attn_sdpa(c->out, c->q, c->k, c->v, &c->o, ctx);
}

/* Only a call itself may allocate: while it is run dry the allocator fails. */
attn_status grid_ask(const grid_call *c, int function, const attn_ctx *ctx, char *text, size_t size)
{
    attn_dry_run dry = {987654321, text, size};
    int fails = test_memory_state.fail_all, is_dry = function == GRID_DRY || function == GRID_BACK_DRY;
    attn_status status;
    test_memory_state.fail_all |= is_dry;
    status = call(c, function >= GRID_BACK, ctx, is_dry ? &dry : NULL);
    test_memory_state.fail_all = fails;
    CHECK((is_dry && status == ATTN_OK) == (dry.scratch != 987654321));
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

/* ---- running it ---- */

size_t grid_most_tasks;

attn_ctx grid_context(attn_isa isa, int runner, size_t width, test_runner *r)
{
    attn_ctx ctx = test_ctx(isa);
    memset(r, 0, sizeof *r);
    if (runner == GRID_REVERSED)
        ctx.parallel = test_serial_backwards(r, width);
    else if (runner == GRID_THREADS)
        ctx.parallel = test_threads(r, width);
    ctx.parallel.width = width;
    return ctx;
}

size_t grid_scratch(const grid_call *c, int which, const attn_ctx *ctx)
{
    attn_dry_run dry = {SIZE_MAX, NULL, 0};
    CHECK_STATUS(call(c, which == GRID_BACKWARD, ctx, &dry), ATTN_OK);
    return dry.scratch;
}

int grid_run(const grid_call *c, int which, attn_isa isa, int runner, size_t width, int scratch)
{
    test_runner r;
    attn_ctx ctx = grid_context(isa, runner, width, &r);
    attn_tensor outs[GRID_OUTPUTS];
    long calls = test_memory_state.calls, live = test_memory_state.live;
    int good;
    grid_outputs(c, which, outs);
    if (scratch) {
        test_scratch(&ctx, grid_scratch(c, which, &ctx), scratch == GRID_ODD);
    }
    test_freeze();
    good = CHECK_STATUS(grid_ask(c, which == GRID_BACKWARD ? GRID_BACK : GRID_SDPA, &ctx, NULL, 0), ATTN_OK);
    good &= CHECK(test_wrote_only_tensors(outs, GRID_OUTPUTS));
    good &= CHECK(!scratch || test_scratch_kept(&ctx));
    good &= CHECK(r.most <= width);
    good &= CHECK(test_memory_state.live == live);
    good &= CHECK(!scratch || test_memory_state.calls == calls); /* of no bytes there is nothing to allocate either */
    grid_most_tasks = r.most > grid_most_tasks ? r.most : grid_most_tasks;
    return good;
}

void grid_check_less(const grid_call *c, int which, const attn_ctx *ctx)
{
    attn_ctx less = *ctx;
    size_t bytes = grid_scratch(c, which, ctx);
    if (!CHECK(bytes > 0))
        return;
    test_scratch(&less, bytes - 1, 0);
    test_freeze();
    CHECK_STATUS(grid_ask(c, which == GRID_BACKWARD ? GRID_BACK : GRID_SDPA, &less, NULL, 0), ATTN_ERR_NOMEM);
    CHECK(test_wrote_nothing());
}

/* ---- both ways ---- */

void grid_plain_outputs(grid_call *c)
{
    attn_dtype compute = c->q.dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    c->out = test_tensor(c->q.dtype, c->q.batch, c->q.heads, c->q.len, c->v.dim, T_BHLD);
    c->o.lse = test_tensor(compute, c->q.batch, c->q.heads, c->q.len, 1, T_BHLD);
}

void grid_plain_grads(grid_call *c)
{
    c->g.q = test_tensor(c->q.dtype, c->q.batch, c->q.heads, c->q.len, c->q.dim, T_BHLD);
    c->g.k = test_tensor(c->k.dtype, c->k.batch, c->k.heads, c->k.len, c->k.dim, T_BHLD);
    c->g.v = test_tensor(c->v.dtype, c->v.batch, c->v.heads, c->v.len, c->v.dim, T_BHLD);
    c->g.sinks = c->o.sinks ? test_block(c->q.heads * sizeof(float)) : NULL;
    c->g.alibi_slopes = c->o.alibi_slopes ? test_block(c->q.heads * sizeof(float)) : NULL;
}

int grid_both_ways(grid_call *c, attn_isa isa, int runner, size_t width, int scratch)
{
    int good;
    grid_plain_outputs(c);
    good = grid_run(c, GRID_FORWARD, isa, runner, width, scratch);
    grid_plain_grads(c);
    good &= grid_run(c, GRID_BACKWARD, isa, runner, width, scratch);
    return good;
}

int grid_same_both_ways(const grid_call *a, const grid_call *b)
{
    return grid_same_outputs(a, b, GRID_FORWARD) && grid_same_outputs(a, b, GRID_BACKWARD);
}

/* ---- statuses ---- */

void grid_finish(grid_wrong *s)
{
    attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
    CHECK_STATUS(grid_ask(&s->c, GRID_SDPA, &ctx, NULL, 0), ATTN_OK);
    s->needed[GRID_FORWARD] = grid_scratch(&s->c, GRID_FORWARD, &ctx);
    grid_plain_grads(&s->c);
    s->needed[GRID_BACKWARD] = grid_scratch(&s->c, GRID_BACKWARD, &ctx);
    s->scratch = test_block(s->needed[0] > s->needed[1] ? s->needed[0] : s->needed[1]);
}

void *grid_onto(const void *data)
{
    return (void *)(uintptr_t)data;
}

void grid_check_failure(const grid_wrong *s, int function, attn_status want, const grid_fault *fault)
{
    char text[GRID_TEXT];
    int named = 0;
    memset(text, 'x', sizeof text);
    test_memory_state.fail_all = s->no_memory;
    CHECK_STATUS(grid_ask(&s->c, function, &s->ctx, text, sizeof text), want);
    test_memory_state.fail_all = 0;
    if (function == GRID_SDPA || function == GRID_BACK || !CHECK(memchr(text, 0, sizeof text) != NULL))
        return;
    for (int n = 0; n < 2; n++)
        named |= fault->names[n] && grid_names(text, fault->names[n]);
    if (!CHECK(named))
        printf("    it says: %s\n", text);
}

void grid_check_faults(const grid_fault *faults, int count, grid_wrong (*good_call)(void),
                       attn_status (*inflict)(grid_wrong *s, int fault, int function))
{
    for (int function = 0; function < GRID_FUNCTIONS; function++)
        for (int fault = 0; fault <= count; fault++) {
            grid_wrong s = good_call();
            attn_status want = fault < count ? inflict(&s, fault, function) : ATTN_OK;
            test_case("%s, %s", grid_functions[function], fault < count ? faults[fault].name : "as it should be");
            test_freeze();
            if (want != ATTN_OK) {
                grid_check_failure(&s, function, want, &faults[fault]);
                CHECK(test_wrote_nothing());
            } else if (fault == count) {
                char text[GRID_TEXT];
                CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, text, sizeof text), ATTN_OK);
            }
            test_release();
        }
}

void grid_check_order(const grid_fault *faults, int count, grid_wrong (*good_call)(void),
                      attn_status (*inflict)(grid_wrong *s, int fault, int function), int (*order)(int f, int g))
{
    for (int f = 0; f < count; f++)
        for (int g = f + 1; g < count; g++)
            for (int function = (f + g) % 2; function < GRID_FUNCTIONS; function += 2) {
                grid_wrong s;
                attn_status want[2];
                int g_first = order(f, g) == 2;
                if (test_rank(faults[f].want) == test_rank(faults[g].want) || (test_quick && test_below(5)) ||
                    !order(f, g))
                    continue;
                s = good_call();
                want[g_first] = inflict(&s, g_first ? g : f, function);
                want[!g_first] = inflict(&s, g_first ? f : g, function);
                test_case("%s, %s and %s", grid_functions[function], faults[f].name, faults[g].name);
                test_freeze();
                if (want[0] != ATTN_OK && want[1] != ATTN_OK) {
                    grid_check_failure(&s, function, want[0], &faults[f]);
                    CHECK(test_wrote_nothing());
                }
                test_release();
            }
}
