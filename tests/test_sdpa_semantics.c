/* What attn_sdpa means where implementations differ: empty rows, hidden garbage, visibility, the order of options,
   sinks, specials, shared memory; and attn_merge. Expectations are made by hand where they can be; the rest is compared
   with the reference. Results are compared bit by bit where nothing may change them. */
#include "sdpa.h"

/* ---- problems ---- */

typedef struct shape {
    size_t B, H, Hkv, Lq, Lk, D, Dv;
} shape;

typedef struct problem {
    attn_isa isa;
    attn_tensor q, k, v;
    attn_opts opts;
    int batch_invariant;
} problem;

typedef struct result {
    attn_tensor out, lse, weights, scores;
} result;

static char problem_name[128];

static void trying(const char *what)
{
    test_case("%s, %s", problem_name, what);
}

static problem make_problem(attn_isa isa, attn_dtype dtype, shape n)
{
    problem p = {ATTN_ISA_BEST, {0}, {0}, {0}, {0}, 0};
    p.isa = isa;
    p.q = test_random_tensor(dtype, n.B, n.H, n.Lq, n.D, T_BHLD);
    p.k = test_random_tensor(dtype, n.B, n.Hkv, n.Lk, n.D, T_BHLD);
    p.v = test_random_tensor(dtype, n.B, n.Hkv, n.Lk, n.Dv, T_BHLD);
    return p;
}

/* Every instruction set, with types and kinds of shapes: less than a tile; several of everything; one query. One that
   differs from another for BF16 alone gets that. */
static int next_problem(problem *p, size_t *n)
{
    static const shape small = {2, 2, 1, 5, 7, 3, 2}, tiled = {1, 2, 2, 26, 150, 8, 5},
                       decode = {1, 4, 1, 1, 1100, 4, 3};
    const struct {
        const char *name;
        attn_dtype type;
        const shape *shape;
    } kinds[] = {{"small", ATTN_F32, &small},   {"tiled", ATTN_F32, &tiled},    {"decode", ATTN_F32, &decode},
                 {"tiled", test_wide, &tiled},  {"decode", test_wide, &decode}, {"small", ATTN_F16, &small},
                 {"decode", ATTN_F16, &decode}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    static size_t turn; /* the short version takes one kind for each instruction set, another in each test */
    test_release();
    turn = *n ? turn : test_below(KINDS);
    for (; *n < KINDS * TEST_LAST_ISA; ++*n) {
        attn_isa isa = (attn_isa)(ATTN_ISA_SCALAR + *n / KINDS);
        size_t kind = *n % KINDS;
        attn_dtype type = kinds[kind].type;
        if (!attn_isa_available(isa) || (test_quick && kind != (turn + 3 * (size_t)isa) % KINDS))
            continue;
        if (isa != test_without_pairs(isa)) {
            if (type != ATTN_F32 && !test_quick)
                continue; /* the same shapes again */
            type = ATTN_BF16;
        }
        snprintf(problem_name, sizeof problem_name, "%s, %s, %s", attn_isa_string(isa), test_dtype_name(type),
                 kinds[kind].name);
        test_case("%s", problem_name);
        *p = make_problem(isa, type, *kinds[kind].shape);
        p->batch_invariant = test_maybe();
        ++*n;
        return 1;
    }
    return 0;
}

static attn_dtype compute_type(const problem *p)
{
    return p->q.dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
}

static attn_tensor new_out(const problem *p)
{
    return test_tensor(p->q.dtype, p->q.batch, p->q.heads, p->q.len, p->v.dim, T_BHLD);
}

static attn_tensor new_pairs(const problem *p, attn_dtype dtype) /* one number for each query and key */
{
    return test_tensor(dtype, p->q.batch, p->q.heads, p->q.len, p->k.len, T_BHLD);
}

static attn_tensor new_rows(const problem *p, attn_dtype dtype)
{
    return test_tensor(dtype, p->q.batch, p->q.heads, p->q.len, 1, T_BHLD);
}

static attn_status run(const problem *p, attn_tensor out, const attn_opts *opts, size_t width)
{
    test_runner runner;
    attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
    ctx.isa = p->isa;
    ctx.batch_invariant = p->batch_invariant;
    if (width)
        ctx.parallel = test_serial_backwards(&runner, width);
    return attn_sdpa(out, p->q, p->k, p->v, opts, &ctx);
}

/* The call with all outputs; and that neither they nor threads change out. */
static result attend(const problem *p)
{
    result r;
    attn_opts opts = p->opts;
    attn_tensor plain = new_out(p), side_by_side = new_out(p);
    CHECK_STATUS(run(p, plain, &opts, 0), ATTN_OK);
    CHECK_STATUS(run(p, side_by_side, &opts, 3), ATTN_OK);
    CHECK(test_same_tensor_bits(plain, side_by_side));
    r.out = new_out(p);
    r.lse = opts.lse = new_rows(p, compute_type(p));
    r.weights = opts.weights = new_pairs(p, compute_type(p));
    r.scores = opts.scores = new_pairs(p, compute_type(p));
    opts.scores_stage = ATTN_STAGE_FINAL;
    CHECK_STATUS(run(p, r.out, &opts, 2), ATTN_OK);
    CHECK(test_same_tensor_bits(r.out, plain));
    return r;
}

static size_t elements(attn_tensor t)
{
    return t.batch * t.heads * t.len * t.dim;
}

static real largest(const real *x, size_t count) /* finite one */
{
    real most = 1;
    for (size_t n = 0; n < count; n++)
        if (isfinite((double)x[n]) && fabsl(x[n]) > most)
            most = fabsl(x[n]);
    return most;
}

static void check_reference(const problem *p, result r)
{
    test_mode mode = p->q.dtype == ATTN_F64 ? NAIVE64 : NAIVE32;
    attn_tensor got[] = {r.out, r.lse, r.weights, r.scores};
    attn_opts opts = p->opts;
    real *want[4], *naive[4], *pairs = sdpa_pairs_error(p->isa, p->q, p->k, p->v, &opts);
    opts.scores_stage = ATTN_STAGE_FINAL;
    for (int n = 0; n < 4; n++) {
        want[n] = test_reals(elements(got[n]));
        naive[n] = test_reals(elements(got[n]));
    }
    test_size_of_sums = 0;
    sdpa_reference(want[0], want[1], want[2], want[3], p->q, p->k, p->v, &opts, EXACT);
    sdpa_reference(naive[0], naive[1], naive[2], naive[3], p->q, p->k, p->v, &opts, mode);
    for (int n = 0; n < 4; n++) {
        real size = n ? 1 : largest(want[0], elements(got[0]));
        CHECK(sdpa_close_pairs(got[n], want[n], naive[n], compute_type(p), sdpa_least(size, compute_type(p)),
                               n ? NULL : pairs));
    }
}

static result answer(const problem *p)
{
    result r = attend(p);
    check_reference(p, r);
    return r;
}

/* ---- rows of results ---- */

static int same_rows(result a, result c, size_t b, size_t h, size_t i)
{
    return test_same_row(a.out, c.out, b, h, i) && test_same_row(a.lse, c.lse, b, h, i) &&
           test_same_row(a.weights, c.weights, b, h, i) && test_same_row(a.scores, c.scores, b, h, i);
}

static int same_results(result a, result c)
{
    return test_same_tensor_bits(a.out, c.out) && test_same_tensor_bits(a.lse, c.lse) &&
           test_same_tensor_bits(a.weights, c.weights) && test_same_tensor_bits(a.scores, c.scores);
}

static int is_number(real x, real want) /* 0 is +0, a NaN any */
{
    return isnan(want) ? isnan(x) : x == want && (want != 0 || !signbit(x));
}

static int is_empty_row(result r, size_t b, size_t h, size_t i, real lse)
{
    return test_row_is(r.out, b, h, i, 0) && test_row_is(r.lse, b, h, i, lse) && test_row_is(r.weights, b, h, i, 0) &&
           test_row_is(r.scores, b, h, i, -INFINITY);
}

static int is_nan_row(result r, size_t b, size_t h, size_t i)
{
    return test_row_is(r.out, b, h, i, NAN) && test_row_is(r.lse, b, h, i, NAN) && test_row_is(r.weights, b, h, i, NAN);
}

#define FOR_EACH_ROW(p, b, h, i)                                                                                       \
    for (size_t b = 0; b < (p).q.batch; b++)                                                                           \
        for (size_t h = 0; h < (p).q.heads; h++)                                                                       \
            for (size_t i = 0; i < (p).q.len; i++)

/* ---- ways to hide ---- */

enum way { BY_MASK, BY_BIAS, BY_MOD, BY_LENGTH, BY_CAUSAL, BY_WINDOW, WAYS };
static const char *const way_names[] = {"by mask", "by bias", "by score_mod", "by kv_lens", "by causal", "by window"};

typedef int (*rule)(size_t b, size_t h, size_t i, size_t j); /* whether it is hidden */

typedef struct mod_user {
    int f64;
    rule hides;
    double value; /* in place of a hidden score */
} mod_user;

static void set_score(int f64, void *scores, size_t n, double value)
{
    if (f64)
        ((double *)scores)[n] = value;
    else
        ((float *)scores)[n] = (float)value;
}

static double get_score(int f64, const void *scores, size_t n)
{
    return f64 ? ((const double *)scores)[n] : (double)((const float *)scores)[n];
}

static void hide_scores(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    const mod_user *u = user;
    for (size_t n = 0; n < count; n++)
        if (u->hides(b, h, i, j0 + n))
            set_score(u->f64, scores, n, u->value);
}

static void hide_by_mask(problem *p, rule hides)
{
    p->opts.mask = new_pairs(p, ATTN_BOOL);
    FOR_EACH_ROW(*p, b, h, i)
    for (size_t j = 0; j < p->k.len; j++)
        *(unsigned char *)test_tensor_at(p->opts.mask, b, h, i, j) = !hides(b, h, i, j);
}

/* A bias of `value` where the rule hides, of ordinary numbers elsewhere. */
static void put_bias(problem *p, attn_dtype dtype, rule hides, double value)
{
    p->opts.bias = new_pairs(p, dtype);
    test_scatter(p->opts.bias, 77);
    FOR_EACH_ROW(*p, b, h, i)
    for (size_t j = 0; j < p->k.len; j++)
        if (hides(b, h, i, j))
            test_tensor_set(p->opts.bias, b, h, i, j, value);
}

static void put_mod(problem *p, rule hides, double value)
{
    mod_user *u = test_block(sizeof *u);
    u->f64 = p->q.dtype == ATTN_F64;
    u->hides = hides;
    u->value = value;
    p->opts.score_mod = hide_scores;
    p->opts.score_mod_user = u;
}

static void *offsets(const problem *p, ptrdiff_t offset)
{
    ptrdiff_t *o = test_block(p->q.batch * sizeof *o);
    for (size_t b = 0; b < p->q.batch; b++)
        o[b] = offset;
    return o;
}

static size_t *lengths(const problem *p, size_t first, size_t others)
{
    size_t *lens = test_block(p->q.batch * sizeof *lens);
    for (size_t b = 0; b < p->q.batch; b++)
        lens[b] = b ? others : first;
    return lens;
}

static int sees(const problem *p, size_t b, size_t h, size_t i, size_t j)
{
    const mod_user *u = p->opts.score_mod_user;
    return sdpa_sees(&p->opts, p->q.len, p->k.len, b, h, i, j) && !(u && u->value < 0 && u->hides(b, h, i, j));
}

static int hide_some(size_t b, size_t h, size_t i, size_t j)
{
    return (5 * i + 3 * j + h + b) % 4 == 0;
}

/* Every way hides something from somebody; none hides everything. */
static void hide(problem *p, int way)
{
    ptrdiff_t Lk = (ptrdiff_t)p->k.len;
    switch (way) {
    case BY_MASK: hide_by_mask(p, hide_some); break;
    case BY_BIAS: put_bias(p, p->q.dtype, hide_some, -INFINITY); break;
    case BY_MOD: put_mod(p, hide_some, -INFINITY); break;
    case BY_LENGTH: p->opts.kv_lens = lengths(p, p->k.len * 2 / 3, p->k.len / 2); break;
    case BY_CAUSAL:
        p->opts.causal = ATTN_CAUSAL_OFFSET;
        p->opts.causal_offset = offsets(p, Lk - Lk / 4 - 2);
        break;
    default:
        p->opts.window.on = 1;
        p->opts.window.left = Lk / 3;
        p->opts.window.right = Lk / 8;
        p->opts.causal_offset = offsets(p, Lk / 2);
        break;
    }
}

/* ---- nothing to attend to ---- */

static int hide_third_rows(size_t b, size_t h, size_t i, size_t j)
{
    (void)j;
    return (i + h + b) % 3 == 0;
}

/* Ways to leave a row without keys, for some rows. */
static void empty_some(problem *p, int way)
{
    ptrdiff_t Lq = (ptrdiff_t)p->q.len, Lk = (ptrdiff_t)p->k.len;
    switch (way) {
    case BY_MASK: hide_by_mask(p, hide_third_rows); break;
    case BY_BIAS: put_bias(p, compute_type(p), hide_third_rows, -INFINITY); break;
    case BY_MOD: put_mod(p, hide_third_rows, -INFINITY); break;
    case BY_LENGTH: p->opts.kv_lens = lengths(p, 0, p->k.len); break;
    case BY_CAUSAL:
        p->opts.causal = ATTN_CAUSAL_OFFSET;
        p->opts.causal_offset = offsets(p, -(Lq / 2) - 1);
        break;
    default: /* the window of the last rows lies behind the last key */
        p->opts.window.on = 1;
        p->opts.window.left = 1;
        p->opts.causal_offset = offsets(p, Lk + 1 - Lq / 2);
        break;
    }
}

static int sees_nothing(const problem *p, size_t b, size_t h, size_t i)
{
    for (size_t j = 0; j < p->k.len; j++)
        if (sees(p, b, h, i, j))
            return 0;
    return 1;
}

TEST(sdpa_empty_rows)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        attn_opts none = p.opts;
        test_fill_tensor(p.v, 1000); /* a mean of these would show */
        for (int way = 0; way < WAYS; way++) {
            size_t empty = 0, rows = 0;
            result r;
            p.opts = none;
            empty_some(&p, way);
            trying(way_names[way]);
            r = answer(&p);
            FOR_EACH_ROW(p, b, h, i)
            {
                int is = sees_nothing(&p, b, h, i);
                CHECK(is == is_empty_row(r, b, h, i, -INFINITY));
                empty += (size_t)is;
                rows++;
            }
            CHECK(empty > 0 && (empty < rows || p.q.len == 1 || way == BY_LENGTH));
        }
    }
}

/* Left padding: what the causal rule shows, the mask hides. Neither empties a row by itself. */
static int hide_padding(size_t b, size_t h, size_t i, size_t j)
{
    (void)b, (void)h, (void)i;
    return j < 3;
}

TEST(sdpa_empty_rows_together)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int way = 0; way < 3; way++) {
            result r;
            attn_opts none = {0};
            p.opts = none;
            if (way == BY_MASK)
                hide_by_mask(&p, hide_padding);
            else if (way == BY_BIAS)
                put_bias(&p, p.q.dtype, hide_padding, -INFINITY);
            else
                put_mod(&p, hide_padding, -INFINITY);
            p.opts.causal = ATTN_CAUSAL_UPPER_LEFT;
            trying(way_names[way]);
            r = answer(&p);
            FOR_EACH_ROW(p, b, h, i)
            CHECK((i < 3) == is_empty_row(r, b, h, i, -INFINITY));
        }
}

TEST(sdpa_no_keys)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        float *sinks = test_block(p.q.heads * sizeof *sinks);
        for (int with_sinks = 0; with_sinks < 2; with_sinks++) {
            result r;
            p.k = attn_tensor_slice(p.k, 0, 0);
            p.v = attn_tensor_slice(p.v, 0, 0);
            for (size_t h = 0; h < p.q.heads; h++)
                sinks[h] = (float)h - 1.5f;
            p.opts.sinks = with_sinks ? sinks : NULL;
            trying(with_sinks ? "Lk 0, sinks" : "Lk 0");
            r = attend(&p);
            FOR_EACH_ROW(p, b, h, i)
            CHECK(is_empty_row(r, b, h, i, with_sinks ? (real)sinks[h] : -INFINITY));
        }
    }
}

/* ---- garbage ---- */

static const struct {
    const char *name;
    double value;
    int in_v, key; /* 0 the first, 1 the middle one, 2 the last */
} garbage[] = {{"NaN in K", NAN, 0, 1},           {"NaN in the last K", NAN, 0, 2}, {"infinity in K", INFINITY, 0, 1},
               {"NaN in the first V", NAN, 1, 0}, {"NaN in V", NAN, 1, 1},          {"NaN in the last V", NAN, 1, 2},
               {"infinity in V", INFINITY, 1, 1}};
enum { GARBAGE = sizeof garbage / sizeof *garbage };

static void make_positive(attn_tensor t)
{
    for (size_t b = 0; b < t.batch; b++)
        for (size_t h = 0; h < t.heads; h++)
            for (size_t i = 0; i < t.len; i++)
                for (size_t d = 0; d < t.dim; d++)
                    test_tensor_set(t, b, h, i, d, fabs((double)test_tensor_get(t, b, h, i, d)) + 0.25);
}

/* Spoils one number of a key, which some rows see and others do not: who does not see it keeps every bit. */
TEST(sdpa_hidden_garbage)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        attn_opts none = p.opts;
        make_positive(p.q); /* then q.k with an infinity is one */
        for (int way = 0; way < WAYS; way++) {
            result clean;
            size_t hidden = 0, seen = 0;
            p.opts = none;
            hide(&p, way);
            p.opts.softcap = way % 2 ? 4 : 0;
            trying(way_names[way]);
            clean = answer(&p);
            for (int g = 0; g < GARBAGE; g++) {
                problem dirty = p;
                result r;
                attn_tensor *t = garbage[g].in_v ? &dirty.v : &dirty.k;
                size_t key = garbage[g].key == 0 ? 0 : garbage[g].key == 1 ? t->len / 2 : t->len - 1;
                *t = test_tensor_like(*t, T_BHLD);
                for (size_t b = 0; b < t->batch; b++)
                    for (size_t h = 0; h < t->heads; h++)
                        test_tensor_set(*t, b, h, key, t->dim - 1, garbage[g].value);
                test_case("%s, %s, %s", problem_name, way_names[way], garbage[g].name);
                r = attend(&dirty);
                FOR_EACH_ROW(p, b, h, i)
                {
                    int touched = sees(&p, b, h, i, key);
                    hidden += !touched;
                    seen += (size_t)touched;
                    if (!touched) {
                        CHECK(same_rows(r, clean, b, h, i));
                    } else if (!garbage[g].in_v) {
                        int capped = isinf(garbage[g].value) && p.opts.softcap > 0;
                        CHECK(capped ? isfinite((double)test_tensor_get(r.lse, b, h, i, 0)) : is_nan_row(r, b, h, i));
                    } else {
                        attn_tensor got = r.out, want = clean.out;
                        double x = (double)test_tensor_get(got, b, h, i, got.dim - 1); /* valgrind's real is a double */
                        CHECK(isnan(x) || (isinf(x) && isinf(garbage[g].value)));
                        got.dim = want.dim = got.dim - 1;
                        CHECK(test_same_row(got, want, b, h, i));
                        CHECK(test_same_row(r.lse, clean.lse, b, h, i) &&
                              test_same_row(r.weights, clean.weights, b, h, i));
                    }
                }
            }
            CHECK(hidden > 0 && seen > 0);
        }
    }
}

/* All of a hidden key and value: no bit of any result changes. */
static int hide_odd_keys(size_t b, size_t h, size_t i, size_t j)
{
    (void)b, (void)h, (void)i;
    return j % 2 == 1;
}

TEST(sdpa_hidden_from_all)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 1e30};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int way = 0; way < 3; way++) {
            attn_opts none = {0};
            result clean, r;
            problem dirty;
            p.opts = none;
            if (way == BY_MASK)
                hide_by_mask(&p, hide_odd_keys);
            else if (way == BY_BIAS)
                put_bias(&p, p.q.dtype, hide_odd_keys, -INFINITY);
            else
                put_mod(&p, hide_odd_keys, -INFINITY);
            p.opts.softcap = way == BY_BIAS ? 3 : 0;
            clean = attend(&p);
            for (size_t x = 0; x < 4; x++) {
                dirty = p;
                dirty.k = test_tensor_like(p.k, T_BHLD);
                dirty.v = test_tensor_like(p.v, T_BHLD);
                for (size_t j = 1; j < p.k.len; j += 2) {
                    attn_tensor k = attn_tensor_slice(dirty.k, j, 1), v = attn_tensor_slice(dirty.v, j, 1);
                    test_fill_tensor(k, values[x]);
                    test_fill_tensor(v, values[(x + j / 2) % 4]);
                }
                test_case("%s, %s, %g", problem_name, way_names[way], values[x]);
                r = attend(&dirty);
                CHECK(same_results(r, clean));
            }
        }
}

/* Past kv_lens and q_lens lies garbage of which nothing is read. */
TEST(sdpa_past_lengths)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        problem dirty = p;
        size_t Lq = p.q.len, Lk = p.k.len, keys = Lk - Lk / 3, queries = Lq - Lq / 2;
        attn_opts none = p.opts;
        attn_tensor rest[3];
        dirty.q = test_tensor_like(p.q, T_BHLD);
        dirty.k = test_tensor_like(p.k, T_BHLD);
        dirty.v = test_tensor_like(p.v, T_BHLD);
        rest[0] = attn_tensor_slice(dirty.q, queries, Lq - queries);
        rest[1] = attn_tensor_slice(dirty.k, keys, Lk - keys);
        rest[2] = attn_tensor_slice(dirty.v, keys, Lk - keys);
        for (int causal = 0; causal < 3; causal++) {
            result want, r;
            p.opts = none;
            p.opts.causal = (attn_causal)causal;
            p.opts.kv_lens = lengths(&p, keys, keys);
            p.opts.q_lens = lengths(&p, queries, queries);
            p.opts.softcap = causal == 1 ? 3 : 0;
            dirty.opts = p.opts;
            test_case("%s, causal %d", problem_name, causal);
            want = answer(&p);
            for (int t = 0; t < 3; t++)
                test_fill_tensor(rest[t], values[(t + causal) % 3]);
            r = attend(&dirty);
            CHECK(same_results(r, want));
            FOR_EACH_ROW(p, b, h, i)
            CHECK(i < queries || is_empty_row(r, b, h, i, -INFINITY));
        }
    }
}

/* Keys past kv_lens leave no trace: the bits of a call that has the valid ones alone. */
TEST(sdpa_past_lengths_same_bits)
{
    static const size_t keys[] = {0,  1,  2,  3,  4,  5,   6,   7,   8,   9,   15,  16,  17,
                                  31, 33, 65, 95, 96, 127, 128, 129, 130, 136, 255, 257, 1300};
    static const size_t more[] = {1, 4, 8, 9, 40, 128, 200, 32000};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 26 * 8; n++) {
            size_t valid = keys[n / 8], others = more[n % 8];
            attn_dtype dtype = n % 5 < 3 ? ATTN_F32 : n % 5 == 3 ? ATTN_F16 : test_wide;
            shape dims = {1, 2, 1, 3, valid + others, 3, 5};
            problem p, part;
            result want, r;
            if ((valid < 1000) != (others < 1000) || (test_quick && others < 1000 && n % 7 != (size_t)isa))
                continue;
            part = p = make_problem(isa, dtype, dims);
            part.k = attn_tensor_slice(p.k, 0, valid);
            part.v = attn_tensor_slice(p.v, 0, valid);
            p.opts.kv_lens = lengths(&p, valid, valid);
            p.opts.softcap = part.opts.softcap = n % 2 ? 0 : 2;
            test_case("%s, %s, %zu of %zu keys", attn_isa_string(isa), test_dtype_name(dtype), valid, dims.Lk);
            r = attend(&p);
            want = attend(&part);
            r.weights.dim = r.scores.dim = valid;
            CHECK(same_results(r, want));
            test_release();
        }
}

/* The mask selects: what is computed under false never counts, be it NaN. */
TEST(sdpa_mask_selects)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 1e300};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        attn_opts with_mask, none = p.opts;
        result clean, r;
        hide_by_mask(&p, hide_some);
        with_mask = p.opts;
        for (size_t x = 0; x < 4; x++) {
            p.opts = with_mask;
            put_bias(&p, compute_type(&p), hide_some, 0.5);
            clean = x ? attend(&p) : answer(&p);
            put_bias(&p, compute_type(&p), hide_some, values[x]);
            test_case("%s, bias %g under false", problem_name, values[x]);
            r = attend(&p);
            CHECK(same_results(r, clean));
            p.opts = with_mask;
            put_mod(&p, hide_some, 0.5);
            clean = attend(&p);
            put_mod(&p, hide_some, values[x]);
            test_case("%s, score_mod gives %g under false", problem_name, values[x]);
            r = attend(&p);
            CHECK(same_results(r, clean));
            p.opts = none;
        }
    }
}

/* ---- infinities and NaN that are seen ---- */

/* A score of -infinity weighs nothing, wherever it comes from; one that score_mod makes hides what lies in V. */
TEST(sdpa_minus_infinity)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        attn_opts none = p.opts;
        problem masked, dirty;
        result want, r;
        make_positive(p.q);
        trying("score_mod gives -infinity to what holds NaN");
        put_mod(&p, hide_odd_keys, -INFINITY);
        want = answer(&p);
        dirty = p;
        dirty.v = test_tensor_like(p.v, T_BHLD);
        for (size_t j = 1; j < p.k.len; j += 2)
            test_fill_tensor(attn_tensor_slice(dirty.v, j, 1), NAN);
        r = attend(&dirty);
        CHECK(same_results(r, want));
        trying("-infinity in K");
        p.opts = none;
        masked = p;
        hide_by_mask(&masked, hide_odd_keys);
        want = answer(&masked);
        for (size_t j = 1; j < p.k.len; j += 2)
            test_fill_tensor(attn_tensor_slice(p.k, j, 1), -INFINITY);
        r = attend(&p);
        CHECK(same_results(r, want));
        trying("-infinity in all of K");
        test_fill_tensor(p.k, -INFINITY);
        test_fill_tensor(p.v, 1000);
        r = attend(&p);
        FOR_EACH_ROW(p, b, h, i)
        CHECK(is_empty_row(r, b, h, i, -INFINITY));
    }
}

/* -infinity hides what lies in V also when K makes it, by an element or beyond the range of the compute type; and a
   hidden weight is +0. */
TEST(sdpa_minus_infinity_hides)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int overflow = 0; overflow < 2; overflow++) {
            double huge = p.q.dtype == ATTN_F64 ? -1e308 : p.q.dtype == ATTN_F16 ? -INFINITY : -3e38;
            problem masked, dirty = p;
            result want, r;
            make_positive(p.q);
            dirty.q = p.q;
            dirty.k = test_tensor_like(p.k, T_BHLD);
            dirty.v = test_tensor_like(p.v, T_BHLD);
            dirty.opts.scale = 100;
            masked = dirty;
            masked.k = p.k;
            masked.v = p.v;
            hide_by_mask(&masked, hide_odd_keys);
            trying(overflow ? "dot products overflow" : "-infinity in K");
            for (size_t j = 1; j < p.k.len; j += 2) {
                test_fill_tensor(attn_tensor_slice(dirty.k, j, 1), overflow ? huge : -INFINITY);
                test_fill_tensor(attn_tensor_slice(dirty.v, j, 1), j % 4 == 1 ? NAN : INFINITY);
            }
            want = attend(&masked);
            r = attend(&dirty);
            CHECK(same_results(r, want));
            FOR_EACH_ROW(p, b, h, i)
            for (size_t j = 1; j < p.k.len; j += 2)
                CHECK(is_number(test_tensor_get(r.weights, b, h, i, j), 0));
        }
}

static int hide_one(size_t b, size_t h, size_t i, size_t j)
{
    return b == 0 && h == 1 && i == 0 && j == 4;
}

/* One NaN or +infinity spoils its own row, all of it, and no other. */
TEST(sdpa_nan_attended)
{
    enum { IN_Q, IN_BIAS, IN_BIAS_INFINITE, BY_MOD_NAN, BY_MOD_INFINITE, PLACES };
    static const char *const names[] = {"NaN in q", "NaN in bias", "infinity in bias", "NaN by score_mod",
                                        "infinity by score_mod"};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int place = 0; place < PLACES; place++) {
            attn_opts none = {0};
            double value = place == IN_BIAS_INFINITE || place == BY_MOD_INFINITE ? INFINITY : NAN;
            result clean, r;
            problem dirty;
            p.opts = none;
            p.opts.softcap = place % 2 ? 0 : 3;
            if (place == IN_BIAS || place == IN_BIAS_INFINITE)
                put_bias(&p, p.q.dtype, hide_one, 0.5);
            else if (place != IN_Q)
                put_mod(&p, hide_one, 0.5);
            dirty = p;
            trying(names[place]);
            clean = answer(&p);
            dirty.q = test_tensor_like(p.q, T_BHLD);
            if (place == IN_Q)
                test_tensor_set(dirty.q, 0, 1, 0, p.q.dim - 1, NAN);
            else if (place == IN_BIAS || place == IN_BIAS_INFINITE)
                put_bias(&dirty, p.q.dtype, hide_one, value);
            else
                put_mod(&dirty, hide_one, value);
            r = attend(&dirty);
            FOR_EACH_ROW(p, b, h, i)
            CHECK(b == 0 && h == 1 && i == 0 ? is_nan_row(r, b, h, i) : same_rows(r, clean, b, h, i));
        }
}

/* Dot products beyond the range of the compute type are infinities like any other. */
TEST(sdpa_overflow_of_scores)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        double huge = p.q.dtype == ATTN_F64 ? 1e300 : 1e30;
        attn_tensor key = attn_tensor_slice(p.k, 1, 1);
        result r, want;
        problem masked = p;
        if (p.q.dtype == ATTN_F16)
            continue;
        make_positive(p.q);
        for (size_t b = 0; b < p.q.batch; b++)
            for (size_t h = 0; h < p.q.heads; h++)
                for (size_t d = 0; d < p.q.dim; d++)
                    test_tensor_set(p.q, b, h, 0, d, huge);
        masked.q = test_tensor_like(p.q, T_BHLD); /* row 0 has numbers here, of which the other rows know nothing */
        test_fill_tensor(p.k, 0.5);
        test_fill_tensor(key, huge);
        trying("to infinity");
        r = attend(&p);
        FOR_EACH_ROW(p, b, h, i)
        CHECK(i > 0 || is_nan_row(r, b, h, i));
        trying("to -infinity");
        test_fill_tensor(key, -huge);
        masked.k = p.k;
        masked.opts = p.opts;
        put_bias(&masked, compute_type(&p), hide_one, 0);
        test_fill_tensor(masked.opts.bias, 0);
        FOR_EACH_ROW(p, b, h, i)
        test_tensor_set(masked.opts.bias, b, h, i, 1, -INFINITY);
        r = attend(&p);
        want = attend(&masked);
        FOR_EACH_ROW(p, b, h, i)
        CHECK(i > 0 || (test_same_row(r.out, want.out, b, h, i) && test_same_row(r.weights, want.weights, b, h, i)));
    }
}

/* ---- the order of things ---- */

/* One query, three keys, numbers that can be checked by hand: dot 100, 0, -100; softcap 2; bias 0, 5, -infinity. */
TEST(sdpa_softcap_before_bias_and_mask)
{
    static const double dots[] = {100, 0, -100}, biases[] = {0, 5, -INFINITY}, values[] = {1, 10, 100};
    static const real want[3][3] = {{100, 0, -100}, {2, 0, -2}, {2, 5, -INFINITY}};
    FOR_EACH_ISA (isa)
        for (size_t t = 0; t < 6; t++) {
            const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16};
            problem p = make_problem(isa, types[t % 3], (shape){1, 1, 1, 1, 3, 1, 1});
            attn_tensor out = new_out(&p);
            real e = expl(2 - 5), mean = (e * 1 + 10) / (e + 1), ulp = test_ulp(10, p.q.dtype);
            test_tensor_set(p.q, 0, 0, 0, 0, 1);
            p.opts.bias = new_pairs(&p, p.q.dtype);
            p.opts.mask = new_pairs(&p, ATTN_BOOL);
            for (size_t j = 0; j < 3; j++) {
                test_tensor_set(p.k, 0, 0, j, 0, dots[j]);
                test_tensor_set(p.v, 0, 0, j, 0, values[j]);
                test_tensor_set(p.opts.bias, 0, 0, 0, j, t < 3 || j < 2 ? biases[j] : 0);
                *(unsigned char *)test_tensor_at(p.opts.mask, 0, 0, 0, j) = t < 3 || j < 2;
            }
            p.opts.softcap = 2;
            for (int stage = 0; stage < 3; stage++) {
                p.opts.scores = new_pairs(&p, p.q.dtype);
                p.opts.scores_stage = (attn_stage)stage;
                p.opts.lse = new_rows(&p, compute_type(&p));
                test_case("%s, %s, %s, stage %d", attn_isa_string(isa), test_dtype_name(p.q.dtype),
                          t < 3 ? "bias" : "mask", stage);
                CHECK_STATUS(run(&p, out, &p.opts, 0), ATTN_OK);
                for (size_t j = 0; j < 3; j++)
                    CHECK_NEAR(test_tensor_get(p.opts.scores, 0, 0, 0, j), want[stage][j],
                               stage ? 4 * test_ulp(2, p.q.dtype) : 0);
                CHECK_NEAR(test_tensor_get(out, 0, 0, 0, 0), mean, 4 * ulp);
                CHECK_NEAR(test_tensor_get(p.opts.lse, 0, 0, 0, 0), logl(expl(2) + expl(5)),
                           4 * test_ulp(5, compute_type(&p)));
            }
            test_release();
        }
}

/* Every option at once, in each type and on every instruction set, against the reference. */
TEST(sdpa_all_options)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        float slopes[4] = {0.5f, -0.25f, 0.0625f, 0}, sinks[4] = {0.5f, -1, 2, -30};
        p.opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
        p.opts.window.on = 1;
        p.opts.window.left = (ptrdiff_t)p.k.len / 2;
        p.opts.window.right = -1;
        p.opts.q_lens = lengths(&p, p.q.len - p.q.len / 5, p.q.len);
        p.opts.kv_lens = lengths(&p, p.k.len - 1, p.k.len - p.k.len / 5);
        p.opts.scale = -0.7;
        p.opts.softcap = 0.9;
        p.opts.alibi_slopes = slopes;
        p.opts.sinks = sinks;
        hide_by_mask(&p, hide_some);
        put_bias(&p, ATTN_F32, hide_one, -INFINITY);
        put_mod(&p, hide_one, 0.25);
        answer(&p);
    }
}

/* ---- visibility ---- */

#define MOST PTRDIFF_MAX
#define LEAST PTRDIFF_MIN
enum { NONE = ATTN_CAUSAL_NONE, UPPER = ATTN_CAUSAL_UPPER_LEFT, LOWER = ATTN_CAUSAL_LOWER_RIGHT };
enum { OFFSET = ATTN_CAUSAL_OFFSET, ALL = 99, UNLIMITED = -1 };

/* A row of the picture for each query: # sees, . does not. */
static const struct sight {
    const char *name;
    int causal;
    ptrdiff_t offset;
    int window;
    ptrdiff_t left, right;
    size_t q_len, kv_len;
    const char *picture;
} sights[] = {
    {"everything", NONE, 0, 0, 0, 0, ALL, ALL, "##### ##### #####"},
    {"upper left, Lq < Lk", UPPER, 0, 0, 0, 0, ALL, ALL, "#.... ##... ###.."},
    {"upper left, Lq = Lk", UPPER, 0, 0, 0, 0, ALL, ALL, "#.. ##. ###"},
    {"upper left, Lq > Lk", UPPER, 0, 0, 0, 0, ALL, ALL, "#.. ##. ### ### ###"},
    {"upper left asks for no offset", UPPER, 2, 0, 0, 0, ALL, ALL, "#.... ##... ###.."},
    {"lower right, Lq < Lk", LOWER, 0, 0, 0, 0, ALL, ALL, "###.. ####. #####"},
    {"lower right, Lq = Lk", LOWER, 0, 0, 0, 0, ALL, ALL, "#.. ##. ###"},
    {"lower right, Lq > Lk", LOWER, 0, 0, 0, 0, ALL, ALL, "... ... #.. ##. ###"},
    {"lower right asks for no offset", LOWER, 2, 0, 0, 0, ALL, ALL, "###.. ####. #####"},
    {"lower right, one query", LOWER, 0, 0, 0, 0, ALL, ALL, "#####"},
    {"lower right, valid lengths", LOWER, 0, 0, 0, 0, 2, 4, "###... ####.. ......"},
    {"lower right, fewer valid keys", LOWER, 0, 0, 0, 0, 3, 2, "..... #.... ##... ....."},
    {"lower right, no valid keys", LOWER, 0, 0, 0, 0, ALL, 0, "..... ....."},
    {"lower right, no valid queries", LOWER, 0, 0, 0, 0, 0, ALL, "..... ....."},
    {"upper left, valid lengths", UPPER, 0, 0, 0, 0, 3, 2, "#.... ##... ##... ....."},
    {"offset 0", OFFSET, 0, 0, 0, 0, ALL, ALL, "#.... ##... ###.."},
    {"offset 1", OFFSET, 1, 0, 0, 0, ALL, ALL, "##... ###.. ####."},
    {"offset -1", OFFSET, -1, 0, 0, 0, ALL, ALL, "..... #.... ##..."},
    {"offset -3", OFFSET, -3, 0, 0, 0, ALL, ALL, "..... ..... ....."},
    {"offset 4", OFFSET, 4, 0, 0, 0, ALL, ALL, "##### ##### #####"},
    {"offset 1, valid lengths", OFFSET, 1, 0, 0, 0, 2, 2, "##... ##... ....."},
    {"offset PTRDIFF_MAX", OFFSET, MOST, 0, 0, 0, ALL, ALL, "### ### ###"},
    {"offset PTRDIFF_MIN", OFFSET, LEAST, 0, 0, 0, ALL, ALL, "... ... ..."},
    {"no causal, an offset alone", NONE, -2, 0, 0, 0, ALL, ALL, "##### ##### #####"},
    {"no window, whatever its sides", NONE, 0, 0, 1, 0, ALL, ALL, "##### ##### #####"},
    {"no window beside a rule", LOWER, 0, 0, 1, 0, ALL, ALL, "###.. ####. #####"},
    {"window 0 0", NONE, 0, 1, 0, 0, ALL, ALL, "#... .#.. ..#. ...# ...."},
    {"window 1 0", NONE, 0, 1, 1, 0, ALL, ALL, "#... ##.. .##. ..## ...#"},
    {"window 0 1", NONE, 0, 1, 0, 1, ALL, ALL, "##... .##.. ..##."},
    {"window 2 1", NONE, 0, 1, 2, 1, ALL, ALL, "##... ###.. ####. .#### ..###"},
    {"window 1 unlimited", NONE, 0, 1, 1, UNLIMITED, ALL, ALL, "##### ##### .#### ..###"},
    {"window unlimited 1", NONE, 0, 1, UNLIMITED, 1, ALL, ALL, "##... ###.. ####. #####"},
    {"window unlimited on both sides", NONE, 0, 1, UNLIMITED, UNLIMITED, ALL, ALL, "### ###"},
    {"window of huge sides", NONE, 0, 1, MOST, MOST, ALL, ALL, "### ###"},
    {"window of huge sides, offset", NONE, -1, 1, MOST, MOST, ALL, ALL, "### ###"},
    {"window of huge sides, huge offset", NONE, MOST, 1, MOST, MOST, ALL, ALL, "### ###"},
    {"window at a huge offset", NONE, MOST, 1, 5, MOST, ALL, ALL, "... ..."},
    {"window at a hugely negative offset", NONE, LEAST, 1, MOST, 5, ALL, ALL, "... ..."},
    {"window reaching on from there", NONE, LEAST + 1, 1, 5, MOST, ALL, ALL, "#.. ##. ###"},
    {"window with offset", NONE, 2, 1, 1, 0, ALL, ALL, ".##.. ..##. ...##"},
    {"window with negative offset", NONE, -1, 1, 1, 1, ALL, ALL, "#.... ##... ###.. .###."},
    {"window with causal", UPPER, 0, 1, 1, 3, ALL, ALL, "#.... ##... .##.. ..##."},
    {"window with causal, right unlimited", UPPER, 0, 1, 2, UNLIMITED, ALL, ALL, "#.... ##... ###.. .###."},
    {"window at the lower right", LOWER, 0, 1, 1, UNLIMITED, ALL, ALL, ".##.. ..##. ...##"},
    {"window at the lower right, valid lengths", LOWER, 0, 1, 1, UNLIMITED, 2, 3, "##... .##.. ....."},
    {"window at the lower right, no causal", NONE, 2, 1, 1, 1, 2, 3, ".##.. ..#.. ....."},
    {"window past the last key", NONE, 4, 1, 1, 0, ALL, ALL, "...## ....# ....."},
    {"window before the first key", OFFSET, -2, 1, 3, UNLIMITED, ALL, ALL, "..... ..... #...."},
};

/* All scores are 0, so a row's weights are 1 / the number of keys that it sees. */
TEST(sdpa_visibility)
{
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 2 * sizeof sights / sizeof *sights; n++) {
            const struct sight *s = &sights[n / 2];
            size_t Lk = strcspn(s->picture, " "), Lq = (strlen(s->picture) + 1) / (Lk + 1);
            problem p;
            result r;
            if (test_quick && (n + (size_t)isa) % 3)
                continue;
            p = make_problem(isa, n % 2 ? test_wide : ATTN_F32, (shape){2, 2, 1, Lq, Lk, 3, 2});
            test_fill_tensor(p.q, 0);
            p.opts.causal = (attn_causal)s->causal;
            p.opts.causal_offset = offsets(&p, s->offset);
            p.opts.window.on = s->window;
            p.opts.window.left = s->left;
            p.opts.window.right = s->right;
            if (s->q_len != ALL)
                p.opts.q_lens = lengths(&p, s->q_len, s->q_len);
            if (s->kv_len != ALL)
                p.opts.kv_lens = lengths(&p, s->kv_len, s->kv_len);
            test_case("%s, %s, %s", attn_isa_string(isa), test_dtype_name(p.q.dtype), s->name);
            r = attend(&p);
            FOR_EACH_ROW(p, b, h, i)
            {
                real count = 0, one = test_ulp(1, p.q.dtype), mean;
                for (size_t j = 0; j < Lk; j++)
                    count += s->picture[i * (Lk + 1) + j] == '#';
                for (size_t j = 0; j < Lk; j++) {
                    int shown = s->picture[i * (Lk + 1) + j] == '#';
                    CHECK(is_number(test_tensor_get(r.scores, b, h, i, j), shown ? 0 : -INFINITY));
                    CHECK_NEAR(test_tensor_get(r.weights, b, h, i, j), shown ? 1 / count : 0, shown ? one : 0);
                }
                CHECK_NEAR(test_tensor_get(r.lse, b, h, i, 0), count > 0 ? logl(count) : -INFINITY, 2 * one);
                for (size_t d = 0; d < p.v.dim; d++) {
                    mean = 0;
                    for (size_t j = 0; j < Lk; j++)
                        if (s->picture[i * (Lk + 1) + j] == '#')
                            mean += test_tensor_get(p.v, b, 0, j, d) / count;
                    CHECK_NEAR(test_tensor_get(r.out, b, h, i, d), mean, 4 * one);
                }
            }
            test_release();
        }
}

/* The same rules across tiles; lengths and offsets differ from item to item. */
TEST(sdpa_visibility_of_tiles)
{
    static const shape shapes[] = {{2, 2, 1, 40, 300, 4, 3}, {2, 2, 2, 300, 40, 4, 3}};
    static const ptrdiff_t shifts[][2] = {{0, 0}, {-7, 30}, {131, -39}, {260, -100}};
    static const ptrdiff_t sides[][2] = {{0, 0}, {20, UNLIMITED}, {UNLIMITED, 3}, {130, 1}};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 2 * 4 * 4 * 4; n++) {
            size_t which = n % 2, causal = n / 2 % 4, shift = n / 8 % 4, side = n / 32;
            problem p;
            ptrdiff_t *o;
            if (n > 0 && test_below(test_quick ? 60 : 8)) /* the first always */
                continue;
            p = make_problem(isa, n / 2 % 2 ? test_wide : ATTN_F32, shapes[which]);
            p.opts.causal = (attn_causal)causal;
            p.opts.causal_offset = o = offsets(&p, shifts[shift][0]);
            o[1] = shifts[shift][1];
            p.opts.window.on = side > 0;
            p.opts.window.left = sides[side][0];
            p.opts.window.right = sides[side][1];
            if (shift % 2) {
                p.opts.q_lens = lengths(&p, p.q.len - 3, p.q.len / 2);
                p.opts.kv_lens = lengths(&p, p.k.len / 2, p.k.len - 9);
            }
            test_case("%s, %s, shape %zu, causal %zu, offsets %td %td, window %td %td%s", attn_isa_string(isa),
                      test_dtype_name(p.q.dtype), which, causal, o[0], o[1], sides[side][0], sides[side][1],
                      shift % 2 ? ", lengths" : "");
            answer(&p);
            test_release();
        }
}

/* ---- heads ---- */

/* Query head h reads key/value head h / (H / Hkv), in K as in V: the values of a head are its number, and only its own
   queries match its keys. */
TEST(sdpa_groups_of_heads)
{
    static const size_t counts[][2] = {{6, 1}, {6, 2}, {6, 3}, {6, 6}, {4, 2}};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 10; n++) {
            size_t H = counts[n % 5][0], Hkv = counts[n % 5][1];
            problem p = make_problem(isa, n < 5 ? ATTN_F32 : test_wide, (shape){2, H, Hkv, 3, 9, 6, 1}), repeated = p;
            result r, plain;
            p.batch_invariant = repeated.batch_invariant = 1; /* fewer rows share a head where it is repeated */
            test_case("%s, %s, %zu heads on %zu", attn_isa_string(isa), test_dtype_name(p.q.dtype), H, Hkv);
            answer(&p);
            repeated.k.heads = repeated.v.heads = H;
            repeated.k = test_tensor(p.k.dtype, 2, H, 9, 6, T_BHLD);
            repeated.v = test_tensor(p.v.dtype, 2, H, 9, 1, T_BHLD);
            for (size_t b = 0; b < 2; b++)
                for (size_t h = 0; h < H; h++)
                    for (size_t j = 0; j < 9; j++) {
                        size_t kv = h * Hkv / H;
                        test_tensor_set(p.v, b, kv, j, 0, (double)kv + 1);
                        for (size_t d = 0; d < 6; d++)
                            memcpy(test_tensor_at(repeated.k, b, h, j, d), test_tensor_at(p.k, b, kv, j, d),
                                   test_size(p.k.dtype));
                        test_tensor_set(repeated.v, b, h, j, 0, (double)kv + 1);
                    }
            r = answer(&p);
            plain = attend(&repeated);
            CHECK(same_results(r, plain));
            FOR_EACH_ROW(p, b, h, i)
            CHECK_NEAR(test_tensor_get(r.out, b, h, i, 0), (real)(h * Hkv / H) + 1, 8 * test_ulp(8, p.q.dtype));
            test_release();
        }
}

/* ---- sinks ---- */

/* A sink is a key of that score whose value is zero and whose weight nobody sees. */
TEST(sdpa_sinks)
{
    static const float values[] = {0, 3.5f, -40, 1e4f, -1e4f, 88};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (size_t x = 0; x < 6; x++) {
            float sinks[4];
            result r, none;
            real one = test_ulp(1, compute_type(&p));
            for (size_t h = 0; h < p.q.heads; h++)
                sinks[h] = values[(h + x) % 6];
            p.opts.sinks = NULL;
            none = attend(&p);
            p.opts.sinks = sinks;
            test_case("%s, sinks %g %g", problem_name, (double)sinks[0], (double)sinks[1]);
            r = answer(&p);
            CHECK(test_same_tensor_bits(r.scores, none.scores));
            FOR_EACH_ROW(p, b, h, i)
            {
                real plain = test_tensor_get(none.lse, b, h, i, 0), sink = sinks[h];
                real most = plain > sink ? plain : sink, lse = most + logl(expl(plain - most) + expl(sink - most));
                real sum = 0;
                for (size_t j = 0; j < p.k.len; j++)
                    sum += test_tensor_get(r.weights, b, h, i, j);
                CHECK_NEAR(test_tensor_get(r.lse, b, h, i, 0), lse, 16 * test_ulp(lse, compute_type(&p)) + 16 * one);
                CHECK_NEAR(sum, expl(plain - lse), 64 * one);
            }
        }
}

TEST(sdpa_sinks_of_minus_infinity)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        static const float sinks[] = {-HUGE_VALF, -HUGE_VALF, -HUGE_VALF, -HUGE_VALF};
        result none, r;
        hide(&p, BY_CAUSAL);
        none = attend(&p);
        p.opts.sinks = sinks;
        r = answer(&p);
        CHECK(same_results(r, none));
    }
}

/* A sink is a score like any other: NaN or +infinity makes the rows of its head NaN, and of no other. */
TEST(sdpa_sinks_of_nan)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int infinite = 0; infinite < 2; infinite++) {
            float sinks[4] = {0.5f, -HUGE_VALF, 2, -3};
            result clean, r;
            hide(&p, BY_CAUSAL);
            p.opts.sinks = sinks;
            clean = attend(&p);
            sinks[1] = infinite ? HUGE_VALF : NAN;
            trying(infinite ? "a sink of infinity" : "a sink of NaN");
            r = answer(&p);
            FOR_EACH_ROW(p, b, h, i)
            CHECK(h == 1 ? is_nan_row(r, b, h, i) : same_rows(r, clean, b, h, i));
        }
}

TEST(sdpa_sinks_of_empty_rows)
{
    static const float sinks[] = {0.75f, -1e4f, 1e4f, -HUGE_VALF};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int way = 0; way < WAYS; way++) {
            attn_opts none = {0};
            result r;
            p.opts = none;
            empty_some(&p, way);
            p.opts.sinks = sinks;
            p.opts.q_lens = lengths(&p, p.q.len - p.q.len / 4, p.q.len);
            trying(way_names[way]);
            r = answer(&p);
            FOR_EACH_ROW(p, b, h, i)
            {
                int valid = i < p.opts.q_lens[b]; /* there is nothing at all past q_lens */
                if (!valid || sees_nothing(&p, b, h, i))
                    CHECK(is_empty_row(r, b, h, i, valid ? (real)sinks[h] : -INFINITY));
            }
        }
}

/* ---- scores and their logarithm ---- */

/* lse is the natural log of the sum of exp of the scores that softmax sees. */
TEST(sdpa_natural_log)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int with_scale = 0; with_scale < 2; with_scale++) {
            result r;
            real one = test_ulp(1, compute_type(&p));
            p.opts.scale = with_scale ? 7 : 0;
            hide(&p, BY_CAUSAL);
            r = attend(&p);
            FOR_EACH_ROW(p, b, h, i)
            {
                real most = -INFINITY, sum = 0, lse;
                for (size_t j = 0; j < p.k.len; j++)
                    most = fmaxl(most, test_tensor_get(r.scores, b, h, i, j));
                for (size_t j = 0; j < p.k.len; j++)
                    sum += expl(test_tensor_get(r.scores, b, h, i, j) - most);
                lse = most + logl(sum);
                CHECK_NEAR(test_tensor_get(r.lse, b, h, i, 0), lse, 8 * test_ulp(lse, compute_type(&p)) + 32 * one);
            }
        }
}

TEST(sdpa_scales)
{
    static const double scales[] = {-1, -0.3, 2, 1e-30, -1e4};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        problem turned = p;
        result r, other;
        for (size_t s = 0; s < 5; s++) {
            p.opts.scale = scales[s];
            test_case("%s, scale %g", problem_name, scales[s]);
            answer(&p);
        }
        trying("0 is 1 / sqrt(D)");
        p.opts.scale = 1 / sqrt((double)p.q.dim);
        r = attend(&p);
        p.opts.scale = 0;
        other = attend(&p);
        CHECK(same_results(r, other));
        trying("-1 turns q around");
        p.opts.scale = -1;
        r = attend(&p);
        turned.q = test_tensor_like(p.q, T_BHLD);
        FOR_EACH_ROW(p, b, h, i)
        for (size_t d = 0; d < p.q.dim; d++)
            test_tensor_set(turned.q, b, h, i, d, -(double)test_tensor_get(p.q, b, h, i, d));
        turned.opts.scale = 1;
        other = attend(&turned);
        CHECK(same_results(r, other));
    }
}

/* tanh of softcap: within 6 ulp in float and 9 in double, as attn.h states, from 2^-20 to saturation. */
TEST(sdpa_softcap_accuracy)
{
    enum { KEYS = 2000 };
    FOR_EACH_ISA (isa)
        for (int wide = 0; wide < 2; wide++) {
            attn_dtype type = wide ? test_wide : ATTN_F32;
            problem p = make_problem(isa, type, (shape){1, 1, 1, 1, KEYS, 1, 1});
            test_case("%s, %s", attn_isa_string(isa), test_dtype_name(type));
            test_fill_tensor(p.q, 1);
            for (size_t j = 0; j < KEYS; j++)
                test_tensor_set(p.k, 0, 0, j, 0, (j % 2 ? -1 : 1) * exp2(-20 + 25 * (double)j / (double)KEYS));
            test_tensor_set(p.k, 0, 0, 0, 0, 0.00093587080606669299); /* 8.5 ulp in VECTOR128 */
            p.opts.scale = p.opts.softcap = 1;
            p.opts.scores = new_pairs(&p, type);
            p.opts.scores_stage = ATTN_STAGE_SOFTCAP;
            CHECK_STATUS(run(&p, new_out(&p), &p.opts, 0), ATTN_OK);
            for (size_t j = 0; j < KEYS; j++) {
                real want = tanhl(test_tensor_get(p.k, 0, 0, j, 0));
                CHECK_NEAR(test_tensor_get(p.opts.scores, 0, 0, 0, j), want, (wide ? 9 : 6) * test_ulp(want, type));
            }
            test_release();
        }
}

/* Scores of +-10000 made of whole numbers, so that every type has them exactly. */
TEST(sdpa_large_logits)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int way = 0; way < 3; way++) {
            FOR_EACH_ROW(p, b, h, i)
            for (size_t d = 0; d < p.q.dim; d++)
                test_tensor_set(p.q, b, h, i, d, d == 0 ? (i % 2 ? 100 : -100) : (double)test_below(3) - 1);
            for (size_t b = 0; b < p.k.batch; b++)
                for (size_t h = 0; h < p.k.heads; h++)
                    for (size_t j = 0; j < p.k.len; j++)
                        for (size_t d = 0; d < p.k.dim; d++) {
                            double x = way == 0 ? 100 : way == 1 ? (j % 2 ? 100 : -100) : (double)test_below(201) - 100;
                            test_tensor_set(p.k, b, h, j, d, d == 0 ? x : (double)test_below(3) - 1);
                        }
            p.opts.scale = 1;
            trying(way == 0 ? "all large" : way == 1 ? "of both signs" : "of all sizes");
            answer(&p);
        }
}

/* A dot product of +infinity is the cap; a cap as small as can be makes all keys alike. */
TEST(sdpa_softcap_of_infinity)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        result r;
        make_positive(p.q);
        p.opts.softcap = 2;
        for (size_t j = 0; j < p.k.len; j++)
            test_fill_tensor(attn_tensor_slice(p.k, j, 1), j % 2 ? INFINITY : -INFINITY);
        trying("infinite dot products");
        r = attend(&p);
        FOR_EACH_ROW(p, b, h, i)
        {
            real even = (real)((p.k.len + 1) / 2), odd = (real)(p.k.len / 2), sum = odd + even * expl(-4);
            for (size_t j = 0; j < p.k.len; j++)
                CHECK_NEAR(test_tensor_get(r.weights, b, h, i, j), (j % 2 ? 1 : expl(-4)) / sum, 1e-6L);
            for (size_t d = 0; d < p.v.dim; d++)
                CHECK(isfinite((double)test_tensor_get(r.out, b, h, i, d)));
            CHECK_NEAR(test_tensor_get(r.lse, b, h, i, 0), 2 + logl(sum), 1e-5L);
        }
        trying("the smallest cap");
        p.opts.softcap = p.q.dtype == ATTN_F64 ? DBL_MIN : (double)FLT_MIN;
        r = attend(&p);
        FOR_EACH_ROW(p, b, h, i)
        for (size_t j = 0; j < p.k.len; j++)
            CHECK_NEAR(test_tensor_get(r.weights, b, h, i, j), 1 / (real)p.k.len, 1e-6L / (real)p.k.len);
    }
}

/* ---- rows by themselves ---- */

/* Some rows of a call, asked for alone or a few together, by default so many together that they are not few, at their
   place among the keys: no bit differs. Query i of the call stands at i + offset. */
static void check_rows_alone(const problem *p, ptrdiff_t offset)
{
    attn_tensor out = new_out(p), lse = new_rows(p, compute_type(p));
    attn_opts opts = p->opts;
    opts.lse = lse;
    opts.causal_offset = offsets(p, offset);
    CHECK_STATUS(run(p, out, &opts, 0), ATTN_OK);
    for (size_t n = 0; n < (test_quick ? 3 : 12); n++) {
        problem part = *p;
        size_t count = !p->batch_invariant ? 17 : n % 3 == 2 ? 5 : 1, i = test_below(p->q.len - count + 1);
        attn_tensor got;
        part.q = attn_tensor_slice(p->q, i, count);
        got = new_out(&part);
        if (!test_absent_tensor(p->opts.bias))
            opts.bias = attn_tensor_slice(p->opts.bias, i, count);
        opts.lse = new_rows(&part, compute_type(p));
        opts.causal_offset = offsets(p, offset + (ptrdiff_t)i);
        test_case("%s, %zu rows from row %zu of %zu, %zu keys", problem_name, count, i, p->q.len, p->k.len);
        CHECK_STATUS(run(&part, got, &opts, n % 2 ? 3 : 0), ATTN_OK);
        CHECK(test_same_tensor_bits(got, attn_tensor_slice(out, i, count)));
        CHECK(test_same_tensor_bits(opts.lse, attn_tensor_slice(lse, i, count)));
    }
}

TEST(sdpa_rows_alone_bias)
{
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 12; n++) {
            attn_dtype dtype = n % 3 ? n % 3 == 1 ? test_wide : ATTN_BF16 : ATTN_F32;
            shape s = {2, 4, 2, 21, 70 + n, 11, 9};
            problem p = make_problem(isa, dtype, s);
            snprintf(problem_name, sizeof problem_name, "bias, %s, %s", attn_isa_string(isa), test_dtype_name(dtype));
            p.opts.bias = test_random_tensor(compute_type(&p), 2, 4, s.Lq, s.Lk, T_BHLD);
            p.opts.softcap = n % 4 == 3 ? 3 : 0;
            p.opts.causal = n % 2 ? ATTN_CAUSAL_OFFSET : ATTN_CAUSAL_NONE;
            p.opts.scale = 0.3;
            for (p.batch_invariant = 0; p.batch_invariant < 2; p.batch_invariant++)
                check_rows_alone(&p, 40);
            test_release();
        }
}

TEST(sdpa_rows_alone)
{
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 4; n++) {
            attn_dtype dtype = n / 2 ? test_wide : ATTN_F32;
            size_t Lq = test_quick ? 300 : 3000;
            ptrdiff_t keys = n % 2 ? 4 * 256 : 9 * 128; /* of a split: whole tiles */
            shape narrow = {1, 1, 1, Lq, 3000, 3, 2}, wide = {1, 1, 1, test_quick ? 30 : 200, 40000, 2, 1};
            problem p;
            if (n / 2 && (test_quick || isa == ATTN_ISA_SCALAR))
                continue;
            snprintf(problem_name, sizeof problem_name, "%s, %s", attn_isa_string(isa), test_dtype_name(dtype));
            p = make_problem(isa, dtype, narrow);
            p.batch_invariant = n % 2;
            p.opts.causal = ATTN_CAUSAL_OFFSET;
            p.opts.window.on = 1;
            p.opts.window.left = 700;
            check_rows_alone(&p, (ptrdiff_t)(3000 - Lq));
            test_release();
            p = make_problem(isa, dtype, wide);
            p.batch_invariant = n % 2;
            check_rows_alone(&p, 0);
            p.opts.kv_lens = lengths(&p, 38765, 0);
            check_rows_alone(&p, 0);
            p.q = attn_tensor_slice(p.q, 0, 30);
            p.opts.causal = ATTN_CAUSAL_OFFSET;
            check_rows_alone(&p, 32 * keys - 15); /* half of them see a tile more than 32 such splits */
            test_release();
        }
}

/* The mean of equal values is that value, with one large weight and many small ones, or many of each. For powers of
   two, whose products are exact, many rows round sums of weights and of values alike; few rows add them up in other
   orders, which differ by no more than NUMERICS gives to sums over the keys. */
TEST(sdpa_equal_values)
{
    static const size_t counts[] = {128, 512, 5000, 100000};
    static const double values[] = {1, 0.125, -4096};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 4 * 2 * 2 * 2; n++) {
            attn_dtype dtype = n & 1 ? test_wide : ATTN_F32;
            int turns = n & 2 ? 1 : 0, few = n & 4 ? 1 : 0;
            shape dims = {1, 1, 1, few ? 2 : 17, counts[n / 8], 1, 3};
            real most = fminl(2 * (real)dims.Lk, 512 + (real)dims.Lk / 512) / 2; /* in ulp: u is half of one */
            problem p = make_problem(isa, dtype, dims);
            attn_tensor out = new_out(&p);
            if (test_quick && dims.Lk > 1000 && n % 4 > 0)
                continue;
            p.opts.scale = 1;
            test_fill_tensor(p.q, 1);
            for (size_t j = 0; j < dims.Lk; j++) {
                double score = turns ? j % 2 ? 10 + 1e-3 * (double)(j % 7) : 0 : j ? -17.34 : 0;
                test_tensor_set(p.k, 0, 0, j, 0, score);
                for (size_t d = 0; d < 3; d++)
                    test_tensor_set(p.v, 0, 0, j, d, values[d]);
            }
            test_case("%s, %s, %zu queries, %zu keys, %s", attn_isa_string(isa), test_dtype_name(dtype), dims.Lq,
                      dims.Lk, turns ? "10 and 0 by turns" : "0 and then -17.34");
            CHECK_STATUS(run(&p, out, &p.opts, 0), ATTN_OK);
            for (size_t d = 0; d < 3; d++) {
                real want = test_tensor_get(p.v, 0, 0, 0, d);
                for (size_t i = 0; i < dims.Lq; i++)
                    CHECK_NEAR(test_tensor_get(out, 0, 0, i, d), want, (few || test_small ? most : 2) * test_ulp(want, dtype));
            }
            test_release();
        }
}

/* A large negative bias is a number, not a mask: a row of them alone is still a mean. */
static int hide_all(size_t b, size_t h, size_t i, size_t j)
{
    (void)b, (void)h, (void)i, (void)j;
    return 1;
}

static int hide_first_half(size_t b, size_t h, size_t i, size_t j)
{
    (void)b, (void)h;
    return i % 3 == 0 ? j % 300 < 150 : i % 3 == 1 ? j % 300 >= 150 || j < 5 : 1;
}

TEST(sdpa_finite_bias_is_no_mask)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        double least = p.q.dtype == ATTN_F64 ? -DBL_MAX : -(double)FLT_MAX;
        result r;
        put_bias(&p, compute_type(&p), hide_all, least);
        trying("all of a row");
        r = answer(&p);
        FOR_EACH_ROW(p, b, h, i)
        {
            CHECK(test_row_is(r.weights, b, h, i, test_tensor_get(r.weights, b, h, i, 0)));
            CHECK_NEAR(test_tensor_get(r.weights, b, h, i, 0), 1 / (real)p.k.len, test_ulp(1, compute_type(&p)));
            CHECK(test_row_is(r.lse, b, h, i, least) && test_row_is(r.scores, b, h, i, least));
        }
        trying("with causal");
        p.opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
        answer(&p);
        trying("some of a row");
        put_bias(&p, compute_type(&p), hide_first_half, least);
        answer(&p);
        trying("-65504 and -10000");
        p.opts.causal = ATTN_CAUSAL_NONE;
        put_bias(&p, ATTN_F16, hide_all, -65504);
        answer(&p);
        put_bias(&p, ATTN_BF16, hide_first_half, -10000);
        answer(&p);
    }
}

/* Any byte but 0 is true. */
TEST(sdpa_truth)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        result want, r;
        hide_by_mask(&p, hide_some);
        want = attend(&p);
        FOR_EACH_ROW(p, b, h, i)
        for (size_t j = 0; j < p.k.len; j++) {
            unsigned char *t = test_tensor_at(p.opts.mask, b, h, i, j);
            *t = (unsigned char)(*t ? 1 + test_below(255) : 0);
        }
        r = answer(&p);
        CHECK(same_results(r, want));
    }
}

/* ---- more outputs ---- */

TEST(sdpa_requests_change_nothing)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int way = 0; way < WAYS; way++) {
            attn_opts none = {0};
            result want;
            p.opts = none;
            hide(&p, way);
            p.opts.softcap = way % 2 ? 3 : 0;
            want = attend(&p);
            for (int ask = 0; ask < 16; ask++) { /* lse, weights, and no scores or those of a stage */
                attn_opts opts = p.opts;
                attn_tensor out = new_out(&p);
                if (ask & 1)
                    opts.lse = new_rows(&p, compute_type(&p));
                if (ask & 2)
                    opts.weights = new_pairs(&p, compute_type(&p));
                if (ask / 4)
                    opts.scores = new_pairs(&p, compute_type(&p));
                opts.scores_stage = (attn_stage)(ask / 4 ? ask / 4 - 1 : 0);
                test_case("%s, %s, outputs %d", problem_name, way_names[way], ask);
                CHECK_STATUS(run(&p, out, &opts, (size_t)ask % 4), ATTN_OK);
                CHECK(test_same_tensor_bits(out, want.out));
                CHECK(!(ask & 1) || test_same_tensor_bits(opts.lse, want.lse));
                CHECK(!(ask & 2) || test_same_tensor_bits(opts.weights, want.weights));
                CHECK(ask / 4 != 3 || test_same_tensor_bits(opts.scores, want.scores));
            }
        }
}

/* Weights and scores of each stage, asked for together, are what each is by itself, of any type and layout; and packed
   ones. */
TEST(sdpa_weights_beside_scores)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_BF16};
    static const int layouts[] = {T_BHLD, T_TURNED, T_STEP};
    static const size_t rows[] = {1, 3, 37};
    enum { LK = 290, RULES = 4 };
    static const size_t lens[2] = {LK, 130};
    FOR_EACH_ISA (isa)
        for (int n = test_quick ? (int)isa % 5 : 0; n < 3 * 3 * 3 * RULES; n += test_quick ? 5 : 1) {
            attn_dtype type = types[n % 3];
            int layout = layouts[n / 3 % 3], rules = n / 27;
            problem p = make_problem(isa, type, (shape){2, 2, 1, rows[n / 9 % 3], LK, 5, 3});
            attn_opts *o = &p.opts;
            o->causal = rules == 1 || rules == 3 ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
            o->kv_lens = rules >= 2 ? lens : NULL;
            o->softcap = rules == 2 ? 2 : 0;
            if (rules == 3)
                put_bias(&p, type, hide_some, -INFINITY);
            for (int stage = 0; stage < 3; stage++) {
                attn_opts none = p.opts, alone[2], both;
                attn_tensor out[4];
                none.scores_stage = (attn_stage)stage;
                alone[0] = alone[1] = both = none;
                alone[0].weights = new_pairs(&p, type);
                alone[1].scores = new_pairs(&p, type);
                both.weights = test_tensor(type, 2, 2, p.q.len, LK, layout);
                both.scores = test_tensor(type, 2, 2, p.q.len, LK, layouts[(n + stage) % 3]);
                for (int x = 0; x < 4; x++)
                    out[x] = new_out(&p);
                test_case("%s, %s, layout %d, Lq %zu, rules %d, stage %d", attn_isa_string(isa), test_dtype_name(type),
                          layout, p.q.len, rules, stage);
                CHECK_STATUS(run(&p, out[0], &none, 0), ATTN_OK);
                CHECK_STATUS(run(&p, out[1], &alone[0], 0), ATTN_OK);
                CHECK_STATUS(run(&p, out[2], &alone[1], 0), ATTN_OK);
                CHECK_STATUS(run(&p, out[3], &both, (size_t)n % 3), ATTN_OK);
                for (int x = 1; x < 4; x++)
                    CHECK(test_same_tensor_bits(out[x], out[0]));
                CHECK(test_same_tensor_bits(both.weights, alone[0].weights));
                CHECK(test_same_tensor_bits(both.scores, alone[1].scores));
            }
            test_release();
        }
}

/* The scores of each stage: all valid pairs in the first two, whoever sees whom, and -infinity past the lengths. */
TEST(sdpa_stages)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int way = 0; way < WAYS; way++)
            for (int stage = 0; stage < 3; stage++) {
                attn_opts none = {0};
                attn_tensor out = new_out(&p), scores = new_pairs(&p, compute_type(&p));
                real *want = test_reals(elements(scores)), *naive = test_reals(elements(scores));
                p.opts = none;
                hide(&p, way);
                p.opts.softcap = way % 2 ? 0.75 : 0;
                p.opts.scale = 3;
                p.opts.scores = scores;
                p.opts.scores_stage = (attn_stage)stage;
                if (way == BY_LENGTH)
                    p.opts.q_lens = lengths(&p, p.q.len - p.q.len / 4, p.q.len);
                if (way == BY_CAUSAL) /* most of the tiles are skipped */
                    p.opts.causal = ATTN_CAUSAL_UPPER_LEFT;
                test_case("%s, %s, stage %d", problem_name, way_names[way], stage);
                CHECK_STATUS(run(&p, out, &p.opts, 0), ATTN_OK);
                test_size_of_sums = 0;
                sdpa_reference(NULL, NULL, NULL, want, p.q, p.k, p.v, &p.opts, EXACT);
                sdpa_reference(NULL, NULL, NULL, naive, p.q, p.k, p.v, &p.opts,
                               p.q.dtype == ATTN_F64 ? NAIVE64 : NAIVE32);
                CHECK(sdpa_close(scores, want, naive, compute_type(&p), sdpa_least(1, compute_type(&p))));
            }
}

/* `to` is `from` in another type; the latter may have been rounded once more. */
static void check_rounded(const problem *p, attn_tensor to, attn_tensor from)
{
    FOR_EACH_ROW(*p, b, h, i)
    for (size_t d = 0; d < to.dim; d++) {
        real x = test_tensor_get(from, b, h, i, d), tolerance = 0;
        if (to.dtype != from.dtype)
            tolerance = test_ulp(x, from.dtype) + test_ulp(x, to.dtype) / 2;
        CHECK_NEAR(test_tensor_get(to, b, h, i, d), x, tolerance);
    }
}

/* lse, weights and scores of every float type hold the wide results, rounded once. */
TEST(sdpa_types_of_outputs)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (size_t t = 0; t < 4; t++) {
            result wide;
            attn_opts none = {0}, opts;
            attn_tensor out = new_out(&p), from[3], to[3];
            p.opts = none;
            hide(&p, BY_WINDOW);
            wide = attend(&p);
            opts = p.opts;
            opts.lse = to[0] = new_rows(&p, types[t]);
            opts.weights = to[1] = new_pairs(&p, types[(t + 1) % 4]);
            opts.scores = to[2] = new_pairs(&p, types[(t + 2) % 4]);
            opts.scores_stage = ATTN_STAGE_FINAL;
            from[0] = wide.lse;
            from[1] = wide.weights;
            from[2] = wide.scores;
            test_case("%s, lse %s", problem_name, test_dtype_name(types[t]));
            CHECK_STATUS(run(&p, out, &opts, 0), ATTN_OK);
            CHECK(test_same_tensor_bits(out, wide.out));
            for (int o = 0; o < 3; o++)
                check_rounded(&p, to[o], from[o]);
        }
}

/* ---- shared memory ---- */

/* V is the first Dv numbers of each row of K. */
TEST(sdpa_values_within_keys)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        problem apart = p;
        result r, want;
        p.v = p.k;
        p.v.dim = p.k.dim - 1;
        apart.v = test_tensor_like(p.v, T_BHLD);
        r = answer(&p);
        want = attend(&apart);
        CHECK(same_results(r, want));
        trying("V is K");
        p.v = p.k;
        answer(&p);
        if (p.k.len < 200) {
            trying("q is K too");
            p.q = p.k;
            answer(&p);
        }
    }
}

/* q, k, v, and even out lie in one buffer [B][L][4][H][D]: the bits of packed ones, and nothing else is written. */
TEST(sdpa_one_buffer)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    static const size_t sizes[][4] = {{2, 5, 2, 3}, {1, 140, 2, 16}};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 8; n++) {
            const size_t *s = sizes[n / 4], B = s[0], L = s[1], H = s[2], D = s[3], row = 4 * H * D;
            attn_mat buffer = test_random_mat(types[n % 4], B * L, row, PACKED);
            attn_tensor t[4], want;
            problem p = {ATTN_ISA_BEST, {0}, {0}, {0}, {0}, 0};
            for (size_t i = 0; i < 4; i++)
                t[i] = attn_tensor_of(test_at(buffer, 0, i * H * D), types[n % 4], B, H, L, D, (ptrdiff_t)(L * row),
                                      (ptrdiff_t)D, (ptrdiff_t)row, 1);
            p.isa = isa;
            p.q = t[1];
            p.k = t[2];
            p.v = t[3];
            p.opts.causal = ATTN_CAUSAL_UPPER_LEFT;
            test_case("%s, %s, L %zu", attn_isa_string(isa), test_dtype_name(types[n % 4]), L);
            test_freeze();
            CHECK_STATUS(run(&p, t[0], &p.opts, 0), ATTN_OK);
            CHECK(test_wrote_only_tensors(t, 1));
            p.q = test_tensor_like(t[1], T_BHLD);
            p.k = test_tensor_like(t[2], T_BHLD);
            p.v = test_tensor_like(t[3], T_BHLD);
            want = test_tensor(types[n % 4], B, H, L, D, T_BHLD);
            CHECK_STATUS(run(&p, want, &p.opts, 0), ATTN_OK);
            CHECK(test_same_tensor_bits(t[0], want));
            test_release();
        }
}

/* K and V of one item for the whole batch, a bias and a mask of one row for all: strides of 0 or dimensions of 1. */
TEST(sdpa_shared_by_the_batch)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        problem copied;
        result r, want;
        size_t Lk = p.k.len;
        p.q = test_random_tensor(p.q.dtype, 3, p.q.heads, p.q.len, p.q.dim, T_BHLD);
        p.k = test_random_tensor(p.k.dtype, 3, p.k.heads, Lk, p.k.dim, T_ONE_BATCH);
        p.v = test_random_tensor(p.v.dtype, 3, p.v.heads, Lk, p.v.dim, T_ONE_BATCH);
        copied = p;
        copied.k = test_tensor_like(p.k, T_BHLD);
        copied.v = test_tensor_like(p.v, T_BHLD);
        p.opts.bias = test_random_tensor(compute_type(&p), 1, 1, 1, Lk, T_BHLD);
        p.opts.mask = test_random_tensor(ATTN_BOOL, 1, p.q.heads, p.q.len, Lk, T_BHLD);
        copied.opts.bias = new_pairs(&p, compute_type(&p));
        copied.opts.mask = new_pairs(&p, ATTN_BOOL);
        FOR_EACH_ROW(p, b, h, i)
        for (size_t j = 0; j < Lk; j++) {
            memcpy(test_tensor_at(copied.opts.bias, b, h, i, j), test_tensor_at(p.opts.bias, 0, 0, 0, j),
                   test_size(compute_type(&p)));
            memcpy(test_tensor_at(copied.opts.mask, b, h, i, j), test_tensor_at(p.opts.mask, 0, h, i, j), 1);
        }
        r = answer(&p);
        want = attend(&copied);
        CHECK(same_results(r, want));
    }
}

/* ---- score_mod ---- */

typedef struct spy_user {
    const problem *p;
    attn_tensor met;       /* the scores as they came */
    unsigned char *counts; /* how often each was met */
    int wrong;
    size_t furthest; /* of a single thread */
} spy_user;

static void spy(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    spy_user *u = user;
    const problem *p = u->p;
    int f64 = p->q.dtype == ATTN_F64;
    if (count == 0 || b >= p->q.batch || h >= p->q.heads || i >= p->q.len || j0 >= p->k.len || count > p->k.len - j0 ||
        (uintptr_t)scores % (f64 ? 8 : 4) != 0) {
        u->wrong = 1;
        return;
    }
    for (size_t j = j0; j < j0 + count; j++) {
        size_t at = ((b * p->q.heads + h) * p->q.len + i) * p->k.len + j;
        u->counts[at] = (unsigned char)(u->counts[at] < 255 ? u->counts[at] + 1 : 255);
        if (f64)
            memcpy(test_tensor_at(u->met, b, h, i, j), (char *)scores + 8 * (j - j0), 8);
        else
            memcpy(test_tensor_at(u->met, b, h, i, j), (char *)scores + 4 * (j - j0), 4);
    }
}

/* score_mod meets every visible score, with its place, after softcap, bias and ALiBi. */
TEST(sdpa_score_mod_calls)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int way = 0; way < 8; way++) { /* none, and with what is hidden; on one thread and on three */
            static const float slopes[] = {0.25f, 0.5f, 1, 2};
            attn_opts none = {0}, opts;
            test_runner runner;
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            attn_tensor out = new_out(&p), quiet = new_out(&p), scores = new_pairs(&p, compute_type(&p));
            spy_user u = {NULL, {0}, NULL, 0, 0};
            size_t count = elements(scores);
            if (way / 2 == 1 || way / 2 == 2)
                p.opts = none, hide(&p, way / 2 == 1 ? BY_MASK : BY_WINDOW);
            else
                p.opts = none;
            p.opts.softcap = 2;
            p.opts.alibi_slopes = slopes;
            if (way / 2 == 3) {
                hide(&p, BY_LENGTH);
                put_bias(&p, ATTN_F32, hide_one, 0.5);
            }
            u.p = &p;
            u.met = new_pairs(&p, compute_type(&p));
            u.counts = test_block(count);
            memset(u.counts, 0, count);
            ctx.isa = p.isa;
            if (way % 2)
                ctx.parallel = test_threads(&runner, 3);
            test_scratch(&ctx, 1 << 20, way % 2);
            test_case("%s, way %d", problem_name, way);
            opts = p.opts;
            opts.scores = scores;
            opts.scores_stage = ATTN_STAGE_FINAL;
            CHECK_STATUS(attn_sdpa(quiet, p.q, p.k, p.v, &opts, &ctx), ATTN_OK);
            opts = p.opts;
            opts.score_mod = spy;
            opts.score_mod_user = &u;
            CHECK_STATUS(attn_sdpa(out, p.q, p.k, p.v, &opts, &ctx), ATTN_OK);
            CHECK(!u.wrong);
            CHECK(sdpa_close(out, test_tensor_values(quiet), test_tensor_values(quiet), p.q.dtype,
                             8 * test_ulp(2, compute_type(&p))));
            FOR_EACH_ROW(p, b, h, i)
            for (size_t j = 0; j < p.k.len; j++)
                if (sdpa_sees(&p.opts, p.q.len, p.k.len, b, h, i, j)) {
                    real score = test_tensor_get(scores, b, h, i, j);
                    CHECK(u.counts[((b * p.q.heads + h) * p.q.len + i) * p.k.len + j] == 1);
                    CHECK_NEAR(test_tensor_get(u.met, b, h, i, j), score,
                               4 * test_ulp(score, compute_type(&p)) + 4 * test_ulp(2, compute_type(&p)));
                }
            test_case("%s, way %d, with more outputs", problem_name, way);
            opts.lse = new_rows(&p, compute_type(&p));
            opts.weights = new_pairs(&p, compute_type(&p));
            CHECK_STATUS(attn_sdpa(quiet, p.q, p.k, p.v, &opts, &ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(out, quiet) && !u.wrong);
        }
}

static void furthest_key(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    size_t *most = user;
    (void)scores, (void)b, (void)h, (void)i;
    *most = j0 + count > *most ? j0 + count : *most;
}

/* It never meets tiles that are skipped: here all that no query sees beyond the tile of the last key. */
TEST(sdpa_score_mod_skips)
{
    FOR_EACH_ISA (isa) {
        problem p = make_problem(isa, ATTN_F32, (shape){1, 2, 1, 20, 3000, 3, 2});
        size_t most = 0;
        p.opts.causal = ATTN_CAUSAL_UPPER_LEFT;
        p.opts.score_mod = furthest_key;
        p.opts.score_mod_user = &most;
        test_case("%s", attn_isa_string(isa));
        CHECK_STATUS(run(&p, new_out(&p), &p.opts, 0), ATTN_OK);
        CHECK(most >= 20 && most < 1000);
    }
}

typedef struct relative_user {
    int f64;
    const double *by_distance; /* of j - i + Lq - 1 */
    size_t Lq;
} relative_user;

static void relative(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    const relative_user *u = user;
    (void)b, (void)h;
    for (size_t n = 0; n < count; n++)
        set_score(u->f64, scores, n, get_score(u->f64, scores, n) + u->by_distance[j0 + n + u->Lq - 1 - i]);
}

/* A table of relative positions, as a score_mod and as a bias, with and without hidden keys, on threads and without. */
TEST(sdpa_score_mod_is_bias)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int way = 0; way < 4; way++) {
            attn_opts none = {0};
            size_t Lq = p.q.len, count = Lq + p.k.len - 1;
            double *table = test_block(count * sizeof *table);
            relative_user u;
            test_runner runner;
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            attn_tensor out = new_out(&p);
            result r;
            for (size_t d = 0; d < count; d++)
                table[d] = (double)(float)test_uniform();
            p.opts = none;
            if (way)
                hide(&p, way == 1 ? BY_MASK : way == 2 ? BY_CAUSAL : BY_LENGTH);
            u.f64 = p.q.dtype == ATTN_F64;
            u.by_distance = table;
            u.Lq = Lq;
            p.opts.score_mod = relative;
            p.opts.score_mod_user = &u;
            test_case("%s, way %d, score_mod", problem_name, way);
            r = answer(&p);
            ctx.isa = p.isa;
            ctx.batch_invariant = p.batch_invariant;
            ctx.parallel = test_threads(&runner, 3);
            test_scratch(&ctx, 1 << 20, way % 2);
            CHECK_STATUS(attn_sdpa(out, p.q, p.k, p.v, &p.opts, &ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(out, r.out));
            p.opts.score_mod = NULL;
            p.opts.bias = new_pairs(&p, compute_type(&p));
            FOR_EACH_ROW(p, b, h, i)
            for (size_t j = 0; j < p.k.len; j++)
                test_tensor_set(p.opts.bias, b, h, i, j, table[j + Lq - 1 - i]);
            test_case("%s, way %d, bias", problem_name, way);
            check_reference(&p, r);
        }
}

static void leave_scores(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)user, (void)scores, (void)count, (void)b, (void)h, (void)i, (void)j0;
}

/* A score_mod that changes nothing changes no bit: not even where a weight that is too small for a number meets NaN or
   infinity in V. */
TEST(sdpa_score_mod_of_identity)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (int way = 0; way < 6; way++) {
            attn_opts none = {0};
            float *slopes = test_block(p.q.heads * sizeof *slopes); /* of 0: both calls make scores */
            problem modified;
            result want, r;
            memset(slopes, 0, p.q.heads * sizeof *slopes);
            p.opts = none;
            p.opts.alibi_slopes = slopes;
            if (way < 2)
                hide(&p, way ? BY_CAUSAL : BY_MASK);
            if (way >= 3) { /* one key lies far below the others */
                double small = p.q.dtype == ATTN_F64 ? -900 : -300;
                attn_tensor key = attn_tensor_slice(p.k, 3, 1);
                test_fill_tensor(p.q, 1);
                p.opts.scale = 1;
                test_fill_tensor(key, small);
                test_fill_tensor(attn_tensor_slice(p.v, 3, 1), way == 3 ? NAN : way == 4 ? INFINITY : -INFINITY);
            }
            modified = p;
            modified.opts.score_mod = leave_scores;
            test_case("%s, way %d", problem_name, way);
            want = attend(&p);
            r = attend(&modified);
            CHECK(same_results(r, want));
        }
}

/* ---- ALiBi ---- */

/* With scores of 0, what is added stands alone: -slope |i + o - j|, exact for these slopes. */
TEST(sdpa_alibi)
{
    static const float slopes[] = {0.5f, 0.125f, -2, 0};
    static const ptrdiff_t shifts[] = {0, 3, -4, 200};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (size_t way = 0; way < 16; way++) {
            attn_opts none = {0};
            ptrdiff_t given = shifts[way / 4], offset;
            result r;
            if (p.q.dtype == ATTN_F16)
                continue;
            p.opts = none;
            test_fill_tensor(p.q, 0);
            p.opts.causal = (attn_causal)(way % 4);
            if (given || p.opts.causal == ATTN_CAUSAL_OFFSET)
                p.opts.causal_offset = offsets(&p, given);
            p.opts.kv_lens = lengths(&p, p.k.len - 1, p.k.len);
            p.opts.alibi_slopes = slopes;
            test_case("%s, causal %zu, offset %td", problem_name, way % 4, given);
            r = way % 3 ? attend(&p) : answer(&p);
            FOR_EACH_ROW(p, b, h, i)
            for (size_t j = 0; j < p.opts.kv_lens[b]; j++) {
                offset = given;
                if (p.opts.causal == ATTN_CAUSAL_UPPER_LEFT)
                    offset = 0;
                else if (p.opts.causal == ATTN_CAUSAL_LOWER_RIGHT)
                    offset = (ptrdiff_t)p.opts.kv_lens[b] - (ptrdiff_t)p.q.len;
                if (p.opts.causal == ATTN_CAUSAL_NONE || (ptrdiff_t)j <= (ptrdiff_t)i + offset)
                    CHECK(test_tensor_get(r.scores, b, h, i, j) ==
                          -(real)slopes[h] * fabsl((real)i + (real)offset - (real)j));
            }
        }
}

TEST(sdpa_alibi_far_away)
{
    static const float slopes[] = {1e-18f, -1e-18f, 0, 1e-19f};
    static const ptrdiff_t shifts[] = {PTRDIFF_MAX, PTRDIFF_MAX - 1, PTRDIFF_MIN, PTRDIFF_MIN + 1};
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (size_t way = 0; way < 4; way++) {
            p.opts.causal_offset = offsets(&p, shifts[way]);
            p.opts.alibi_slopes = slopes;
            test_case("%s, offset %td", problem_name, shifts[way]);
            answer(&p);
        }
}

/* ---- attn_merge ---- */

static result slice_answer(const problem *whole, size_t first, size_t count)
{
    problem p = *whole;
    p.k = attn_tensor_slice(p.k, first, count);
    p.v = attn_tensor_slice(p.v, first, count);
    return attend(&p);
}

static attn_status merge(result a, result c)
{
    return attn_merge(a.out, a.lse, c.out, c.lse);
}

/* |got - want| within what two halves may add to the error of the whole. */
static void check_merged(const problem *p, result got, result want)
{
    real ulp = test_ulp(1, compute_type(p));
    FOR_EACH_ROW(*p, b, h, i)
    {
        real lse = test_tensor_get(want.lse, b, h, i, 0);
        CHECK_NEAR(test_tensor_get(got.lse, b, h, i, 0), lse, 8 * test_ulp(lse, compute_type(p)) + 16 * ulp);
        for (size_t d = 0; d < p->v.dim; d++)
            CHECK_NEAR(test_tensor_get(got.out, b, h, i, d), test_tensor_get(want.out, b, h, i, d), 32 * ulp);
    }
}

TEST(merge_halves)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);)
        for (size_t cut = 0; cut < 6; cut++) {
            static const float sinks[] = {0.5f, -1, 3, 100};
            size_t Lk = p.k.len, first = cut % 3 == 0 ? 1 : cut % 3 == 1 ? Lk / 2 : 0;
            attn_opts none = {0};
            result whole, left, right;
            if (test_size(p.q.dtype) == 2)
                continue;
            p.opts = none;
            p.opts.scale = 3;
            test_case("%s, cut at %zu%s", problem_name, first, cut < 3 ? "" : ", sinks in one part");
            p.opts.sinks = cut < 3 ? NULL : sinks;
            whole = attend(&p);
            left = slice_answer(&p, 0, first);
            p.opts.sinks = NULL;
            right = slice_answer(&p, first, Lk - first);
            CHECK_STATUS(merge(left, right), ATTN_OK);
            check_merged(&p, left, whole);
        }
}

/* A ring of parts, each under the causal rule at its own offset; the first rows see nothing of the later parts. */
TEST(merge_ring)
{
    problem p;
    for (size_t n = 0; next_problem(&p, &n);) {
        size_t Lk = p.k.len, step = Lk / 3 + 1;
        result whole, sum = {{0}, {0}, {0}, {0}}, part;
        if (test_size(p.q.dtype) == 2)
            continue;
        p.opts.causal = ATTN_CAUSAL_OFFSET;
        p.opts.causal_offset = offsets(&p, 1);
        whole = attend(&p);
        for (size_t first = 0; first < Lk; first += step) {
            p.opts.causal_offset = offsets(&p, 1 - (ptrdiff_t)first);
            part = slice_answer(&p, first, first + step < Lk ? step : Lk - first);
            if (first == 0)
                sum = part;
            else
                CHECK_STATUS(merge(sum, part), ATTN_OK);
        }
        check_merged(&p, sum, whole);
    }
}

typedef struct side {
    double out, lse;
} side;

/* One row of each: two sides, and what becomes of them. */
static const struct {
    const char *name;
    side a, b, want;
} sides[] = {
    {"equal", {1, 2}, {3, 2}, {2, 2.693147180559945309}},
    {"three to one", {1, 0}, {5, -1.0986122886681098}, {2, 0.28768207245178092}},
    {"the second is empty", {1.25, 2}, {7, -INFINITY}, {1.25, 2}},
    {"the second is empty and NaN", {1.25, 2}, {NAN, -INFINITY}, {1.25, 2}},
    {"the second is empty and infinite", {-1.25, -2e4}, {INFINITY, -INFINITY}, {-1.25, -2e4}},
    {"the first is empty", {7, -INFINITY}, {1.25, 2}, {1.25, 2}},
    {"the first is empty and NaN", {NAN, -INFINITY}, {1.25, -2e4}, {1.25, -2e4}},
    {"both are empty", {7, -INFINITY}, {8, -INFINITY}, {0, -INFINITY}},
    {"both are empty and NaN", {NAN, -INFINITY}, {INFINITY, -INFINITY}, {0, -INFINITY}},
    {"far apart", {1, 1e4}, {3, -1e4}, {1, 1e4}},
    {"far apart the other way", {1, -1e4}, {3, 1e4}, {3, 1e4}},
    {"both far down", {1, -1e4}, {3, -1e4}, {2, -1e4 + 0.693147180559945309}},
    {"both far up", {1, 3e4}, {3, 3e4}, {2, 3e4 + 0.693147180559945309}},
    {"lse NaN", {1, NAN}, {3, 2}, {NAN, NAN}},
    {"lse of the second NaN", {1, 2}, {3, NAN}, {NAN, NAN}},
    {"lse infinite", {1, INFINITY}, {3, 2}, {NAN, NAN}},
    {"lse of the second infinite", {1, 2}, {3, INFINITY}, {NAN, NAN}},
    {"NaN beside empty", {1, NAN}, {3, -INFINITY}, {NAN, NAN}},
    {"empty beside NaN", {1, -INFINITY}, {3, NAN}, {NAN, NAN}},
    {"infinite beside empty", {1, INFINITY}, {3, -INFINITY}, {NAN, NAN}},
    {"empty beside infinite", {1, -INFINITY}, {3, INFINITY}, {NAN, NAN}},
    {"a NaN of its own", {NAN, 2}, {3, 2}, {NAN, 2.693147180559945309}},
};

TEST(merge_rows)
{
    enum { ROWS = sizeof sides / sizeof *sides };
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    for (size_t n = 0; n < 16; n++) {
        attn_dtype type = types[n % 4], wide = types[n % 4 == 1 ? 1 : n / 4 == 1 ? 0 : n / 4];
        attn_tensor t[4];
        for (size_t x = 0; x < 4; x++) {
            t[x] = test_tensor(x % 2 ? wide : type, 1, 1, ROWS, x % 2 ? 1 : 2, T_BHLD);
            for (size_t i = 0; i < ROWS; i++) {
                const side *s = x < 2 ? &sides[i].a : &sides[i].b;
                for (size_t d = 0; d < t[x].dim; d++)
                    test_tensor_set(t[x], 0, 0, i, d, x % 2 ? s->lse : s->out);
            }
        }
        CHECK_STATUS(attn_merge(t[0], t[1], t[2], t[3]), ATTN_OK);
        for (size_t i = 0; i < ROWS; i++) {
            real out = sides[i].want.out, lse = sides[i].want.lse, unit = test_ulp(3, type) + 3 * test_ulp(2, wide);
            int exact = isinf(sides[i].a.lse) || isinf(sides[i].b.lse);
            test_case("%s, lse %s, %s", test_dtype_name(type), test_dtype_name(wide), sides[i].name);
            for (size_t d = 0; d < 2; d++)
                CHECK_NEAR(test_tensor_get(t[0], 0, 0, i, d), out, exact ? 0 : 4 * unit);
            CHECK_NEAR(test_tensor_get(t[1], 0, 0, i, 0), lse,
                       2 * test_ulp(isfinite(lse) && fabsl(lse) > 2 ? lse : 2, wide));
        }
        test_release();
    }
}

/* An element's bits do not depend on the columns beside it. */
TEST(merge_columns)
{
    enum { ROWS = 9, DIM = 43 };
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_BF16};
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        FOR_EACH_ISA (isa) {
            attn_ctx ctx = test_ctx(isa);
            attn_tensor t[4], alone;
            for (size_t x = 0; x < 4; x++)
                t[x] = test_random_tensor(x % 2 ? test_wide : types[n], 1, 1, ROWS, x % 2 ? 1 : DIM, T_BHLD);
            alone = test_tensor_like(t[0], T_BHLD);
            test_case("%s, %s", attn_isa_string(isa), test_dtype_name(types[n]));
            for (size_t d = 0; d < DIM; d++) {
                attn_tensor out = alone, lse = test_tensor_like(t[1], T_BHLD), out_b = t[2];
                out.data = test_tensor_at(alone, 0, 0, 0, d);
                out_b.data = test_tensor_at(t[2], 0, 0, 0, d);
                out.dim = out_b.dim = 1;
                CHECK_STATUS(attn_merge_ctx(out, lse, out_b, t[3], &ctx), ATTN_OK);
            }
            CHECK_STATUS(attn_merge_ctx(t[0], t[1], t[2], t[3], &ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(t[0], alone));
            test_release();
        }
}

/* A side of small weight keeps its digits, whichever side it is. */
TEST(merge_light_sides)
{
    enum { ROWS = 400 };
    attn_tensor t[4], mirror[4];
    real *want = test_reals(ROWS), *size = test_reals(ROWS), *apart = test_reals(ROWS);
    for (size_t x = 0; x < 4; x++)
        t[x] = test_tensor(test_wide, 1, 1, ROWS, 1, T_BHLD);
    for (size_t i = 0; i < ROWS; i++) {
        const int f64 = test_wide == ATTN_F64;
        const double first[][4] = {{1e30, -50, 1, 0},      {1, 0, 1e30, -50},
                                   {f64 ? 1e300 : 1e38, f64 ? -690 : -87, 1, 0},
                                   {-1e10, 20, 1e20, -5},  {1, 0.5, -1, 0.25}, {1, 0, 1, -700}};
        double range = i % 3 ? 40 : 2, pair[4];
        real out[2], lse[2], most, sum;
        pair[0] = test_uniform() * pow(10, 20 * test_uniform()), pair[1] = range * test_uniform();
        pair[2] = test_uniform() * pow(10, 20 * test_uniform()), pair[3] = range * test_uniform();
        for (size_t x = 0; x < 4; x++)
            test_tensor_set(t[x], 0, 0, i, 0, i < 6 ? first[i][x] : pair[x]);
        for (size_t x = 0; x < 2; x++) {
            out[x] = test_tensor_get(t[2 * x], 0, 0, i, 0);
            lse[x] = test_tensor_get(t[2 * x + 1], 0, 0, i, 0);
        }
        most = lse[0] > lse[1] ? lse[0] : lse[1];
        sum = expl(lse[0] - most) + expl(lse[1] - most);
        want[i] = (out[0] * expl(lse[0] - most) + out[1] * expl(lse[1] - most)) / sum;
        size[i] = (fabsl(out[0]) * expl(lse[0] - most) + fabsl(out[1]) * expl(lse[1] - most)) / sum;
        apart[i] = fabsl(lse[0] - lse[1]);
    }
    for (size_t x = 0; x < 4; x++)
        mirror[x] = test_tensor_like(t[(x + 2) % 4], T_BHLD);
    CHECK_STATUS(attn_merge(t[0], t[1], t[2], t[3]), ATTN_OK);
    CHECK_STATUS(attn_merge(mirror[0], mirror[1], mirror[2], mirror[3]), ATTN_OK);
    for (size_t i = 0; i < ROWS; i++) {
        real unit = size[i] * test_ulp(1, test_wide), got = test_tensor_get(t[0], 0, 0, i, 0);
        test_case("row %zu", i);
        CHECK_NEAR(got, want[i], (8 + apart[i]) * unit);
        CHECK_NEAR(test_tensor_get(mirror[0], 0, 0, i, 0), want[i], (8 + apart[i]) * unit);
        CHECK_NEAR(got, test_tensor_get(mirror[0], 0, 0, i, 0), 45 * unit);
        CHECK_NEAR(test_tensor_get(t[1], 0, 0, i, 0), test_tensor_get(mirror[1], 0, 0, i, 0),
                   45 * test_ulp(1, test_wide));
    }
}

/* An empty side leaves every bit of the other: also -0, subnormal numbers and the payload of a NaN. */
TEST(merge_empty_keeps_bits)
{
    const uint32_t quiet = test_same_nan(0, 0xffffu, 16) ? 0x7fc00000u : 0x7fc01234u; /* where there are more than one */
    const uint32_t bits[] = {0x80000000u, 1, 0x007fffffu, quiet, 0x7f800000u, 0x3f812345u, 0xff7fffffu};
    for (int first = 0; first < 2; first++) {
        attn_tensor t[4], before[2];
        for (size_t x = 0; x < 4; x++)
            t[x] = test_random_tensor(ATTN_F32, 2, 1, 7, x % 2 ? 1 : 5, T_STEP);
        for (size_t b = 0; b < 2; b++)
            for (size_t i = 0; i < 7; i++)
                memcpy(test_tensor_at(t[first ? 2 : 0], b, 0, i, (i + b) % 5), &bits[i], 4);
        test_fill_tensor(t[first ? 1 : 3], -INFINITY);
        before[0] = test_tensor_like(t[first ? 2 : 0], T_BHLD);
        before[1] = test_tensor_like(t[first ? 3 : 1], T_BHLD);
        test_freeze();
        test_case(first ? "the first is empty" : "the second is empty");
        CHECK_STATUS(attn_merge(t[0], t[1], t[2], t[3]), ATTN_OK);
        CHECK(test_same_tensor_bits(t[0], before[0]) && test_same_tensor_bits(t[1], before[1]));
        CHECK(first ? test_wrote_only_tensors(t, 2) : test_wrote_nothing());
    }
}

TEST(merge_contexts)
{
    for (int n = 0; n < 2; n++) {
        attn_dtype type = n ? test_wide : ATTN_F32;
        attn_tensor t[4], first[2], want[2];
        for (size_t x = 0; x < 4; x++)
            t[x] = test_random_tensor(type, 2, 3, 47, x % 2 ? 1 : 5, T_BLHD);
        for (int x = 0; x < 2; x++)
            first[x] = test_tensor_like(t[x], T_BHLD);
        FOR_EACH_ISA (isa) {
            attn_ctx alone = test_ctx(ATTN_ISA_BEST);
            alone.isa = isa;
            for (int x = 0; x < 2; x++)
                want[x] = test_tensor_like(first[x], T_BHLD);
            CHECK_STATUS(attn_merge_ctx(want[0], want[1], t[2], t[3], &alone), ATTN_OK);
            for (size_t width = 0; width < 6; width++) {
                test_runner runner;
                attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
                attn_tensor got[2];
                long calls = test_memory_state.calls;
                for (int x = 0; x < 2; x++)
                    got[x] = test_tensor_like(first[x], width % 2 ? T_FLIPPED : T_BLHD);
                ctx.isa = isa;
                if (width)
                    ctx.parallel = width % 2 ? test_threads(&runner, width) : test_serial_backwards(&runner, width);
                test_case("%s, %s, width %zu", attn_isa_string(isa), test_dtype_name(type), width);
                CHECK_STATUS(attn_merge_ctx(got[0], got[1], t[2], t[3], width ? &ctx : &alone), ATTN_OK);
                CHECK(test_same_tensor_bits(got[0], want[0]) && test_same_tensor_bits(got[1], want[1]));
                CHECK(!width || (runner.most <= width && (width < 2 || runner.most > 0)));
                CHECK(test_memory_state.calls == calls);
            }
        }
        test_release();
    }
}

/* Every mix of types and layouts, on every instruction set: dims around the width of vectors and beyond one copy, rows
   beyond one turn, and a quarter of the sides empty with NaN behind them. Merged in double and rounded once: within half
   an ulp of a float type, and what rounding to float first costs a 16-bit one; in double, within the errors of exp (2
   ulp, and half an ulp of the difference of the lse), two quotients, products and a sum. */
TEST(merge_layouts)
{
    const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, test_wide};
    static const size_t dims[] = {1, 3, 8, 15, 16, 17, 31, 33, 64, 67, 130}, lens[] = {1, 5, 9, 70, 131};
    for (size_t n = 0; n < (test_quick ? 60 : 400); n++)
        FOR_EACH_ISA (isa) {
            attn_dtype a = types[n % 4], b = a == ATTN_F64 ? a : types[test_below(3)];
            size_t H = 1 + test_below(3), L = lens[test_below(5)], D = dims[n % 11];
            attn_dtype type[4] = {a, types[test_below(4)], b, types[test_below(4)]};
            attn_tensor t[4], before[2];
            problem p = {0};
            test_runner runner;
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            for (size_t x = 0; x < 4; x++)
                t[x] = test_random_tensor(type[x], 1 + n % 2, H, L, x % 2 ? 1 : D, (int)test_below(T_OUT_LAYOUTS));
            p.q = t[0];
            FOR_EACH_ROW(p, c, h, i)
            {
                for (size_t x = 0; x < 4; x += 2) {
                    int empty = test_below(4) == 0;
                    test_tensor_set(t[x + 1], c, h, i, 0, empty ? -INFINITY : 20 * test_uniform());
                    for (size_t d = 0; empty && d < D; d++)
                        test_tensor_set(t[x], c, h, i, d, NAN);
                }
            }
            before[0] = test_tensor_like(t[0], T_BHLD), before[1] = test_tensor_like(t[1], T_BHLD);
            ctx.isa = isa;
            if (n % 3)
                ctx.parallel =
                    n % 3 == 1 ? test_threads(&runner, 1 + n % 5) : test_serial_backwards(&runner, 1 + n % 5);
            test_freeze();
            test_case("%s, out %s, lse %s, with %s, lse %s, %zu x %zu x %zu", attn_isa_string(isa), test_dtype_name(a),
                      test_dtype_name(type[1]), test_dtype_name(b), test_dtype_name(type[3]), H, L, D);
            CHECK_STATUS(attn_merge_ctx(t[0], t[1], t[2], t[3], &ctx), ATTN_OK);
            CHECK(test_wrote_only_tensors(t, 2));
            FOR_EACH_ROW(p, c, h, i)
            {
                double x = (double)test_tensor_get(before[1], c, h, i, 0), most; /* valgrind's real is a double */
                double y = (double)test_tensor_get(t[3], c, h, i, 0), got = (double)test_tensor_get(t[1], c, h, i, 0);
                real wx, wy, lse, u = (test_real_is_wider() ? 1 : 4) * test_ulp(1, ATTN_F64);
                most = x > y ? x : y;
                wx = isinf(x) ? 0 : expl((real)x - most);
                wy = isinf(y) ? 0 : expl((real)y - most);
                lse = isinf(most) ? 0 : most + log1pl(x > y ? wy : wx);
                if (isinf(most))
                    CHECK(got == most);
                else
                    CHECK_NEAR(got, lse, 0.51L * test_ulp(lse, type[1]) + 2 * u);
                for (size_t d = 0; d < D; d++) {
                    real f = wx > 0 ? wx * test_tensor_get(before[0], c, h, i, d) : 0, sum = wx + wy > 0 ? wx + wy : 1;
                    real q = wy > 0 ? wy * test_tensor_get(t[2], c, h, i, d) : 0, want = (f + q) / sum;
                    real error = (6 + fabsl((real)x - y)) * u * (fabsl(f) + fabsl(q)) / sum;
                    if (wx == 0 || wy == 0)
                        error = 0;
                    CHECK_NEAR(test_tensor_get(t[0], c, h, i, d), want, 0.501L * test_ulp(want, a) + error);
                }
            }
            test_release();
        }
}

/* A v without dims may be NULL: no pointer is made of it, by the search for NaN in hidden rows or by prefetching. */
TEST(sdpa_v_without_dims)
{
    enum { H = 8, D = 80, LONG_KEYS = 2000, TYPES = 4 };
    const attn_dtype types[TYPES] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    static const unsigned char mask[3] = {1, 0, 1};
    void *q = test_block(H * D * sizeof(double)), *k = test_block((size_t)H * LONG_KEYS * D * sizeof(double));
    float lse[H];
    size_t n, h, keys;
    attn_ctx ctx = {0};
    memset(q, 0, H * D * sizeof(double));
    memset(k, 0, (size_t)H * LONG_KEYS * D * sizeof(double));
    FOR_EACH_ISA (isa)
        for (n = 0; n < 2 * TYPES; n++) {
            attn_dtype type = types[n % TYPES];
            attn_opts opts = {0};
            keys = n < TYPES ? 3 : LONG_KEYS;
            ctx.isa = isa;
            opts.lse = attn_bhld(lse, ATTN_F32, 1, H, 1, 1);
            if (keys == 3)
                opts.mask = attn_bhld((void *)(uintptr_t)mask, ATTN_BOOL, 1, 1, 1, 3);
            test_case("%s, %s, %zu keys", attn_isa_string(isa), test_dtype_name(type), keys);
            CHECK_STATUS(attn_sdpa(attn_bhld(NULL, type, 1, H, 1, 0), attn_bhld(q, type, 1, H, 1, D),
                                   attn_bhld(k, type, 1, H, keys, D), attn_bhld(NULL, type, 1, H, keys, 0), &opts,
                                   &ctx),
                         ATTN_OK);
            for (h = 0; h < H; h++)
                CHECK_NEAR(lse[h], logl(keys == 3 ? 2 : (real)keys), 1e-5L);
        }
    test_release();
}
