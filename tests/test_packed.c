/* Packed texts: attn_sdpa and attn_sdpa_backward with opts.sequences have the bits that each text has alone, over a
   grid of shapes, options, types, layouts and contexts in which every value meets every other. Then what texts must not
   do to one another, rows that belong to none, the layer, statuses and explanations.

   PACKED_CASE=N ./build/test packed_grid runs case N alone. */
#include "mha.h"
#include "trial.h"

/* ---- the axes of the grid ---- */

static const size_t sizes_d[] = {1, 3, 8, 17, 40, 64, 72, 128}, sizes_dv[] = {0, 1, 3, 16, 65, 100}; /* 0: D */
static const size_t counts[] = {1, 2, 3, 8, TRIAL_ITEMS}, longest[] = {0, 1, 4, 17, 49, 129, 257, 600};
static const size_t groups[] = {1, 3, 7}, windows[] = {0, 1, 2, 3, 4, 6};

/* Lengths of texts, of which those up to the longest are drawn: around vectors, register tiles, query blocks and key
   tiles of any instruction set. */
static const size_t edges[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,  15,  16,  17,  23,  24, 25,
                               31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 257, 600};

enum { SET_RANDOM, SET_EQUAL, SET_ONE_LONG, SET_HOLES, SETS };  /* of lengths of queries */
enum { KEYS_SAME, KEYS_OTHER, KEYS_CONTEXT, KEYS_HOLES, KEYS }; /* CONTEXT: few queries of longer texts */
enum { REST_NONE, REST_QUERIES, REST_KEYS, REST_BOTH, RESTS };  /* rows after the last text */

/* clang-format off */
static const struct grid_axis axes[TRIAL_AXES] = {
    AXIS_OF(TEXTS, counts), AXIS_OF(LONGEST, longest), AXIS(SET, SETS), AXIS(KEYS, KEYS), AXIS(REST, RESTS),
    AXIS_OF(D, sizes_d), AXIS_OF(DV, sizes_dv), AXIS_OF(GROUP, groups), AXIS_OF(WINDOW, windows), AXIS(SCALE, 3),
    AXIS(DROPOUT, 2), AXIS(LSE, 1 + TRIAL_FLOATS), AXES_OF_OPTIONS, AXES_OF_LAYOUTS, AXES_OF_GRADS, AXES_OF_CONTEXT
};
/* clang-format on */

/* About how many products the texts come to, if they are half as long as the longest. */
static double packed_cost(const grid *g, const grid_point *p)
{
    double D = (double)grid_value(g, p, A_D), Dv = (double)grid_value(g, p, A_DV);
    double heads = (double)(grid_value(g, p, A_GROUP) * grid_value(g, p, A_HKV));
    double length = (double)grid_value(g, p, A_LONGEST), texts = (double)grid_value(g, p, A_TEXTS);
    double pairs = p->at[A_KEYS] == KEYS_CONTEXT ? 2 * length : length * length / 4;
    return heads * texts * (1 + pairs) * (D + (Dv > 0 ? Dv : D) + 30);
}

/* clang-format off */
static const grid packed_grid = {
    TRIAL_GRID("packed_grid", "PACKED_CASE"), .first = {A_LONGEST, A_TEXTS}, .cost = packed_cost, .bound = {1e5, 1e3},
     .sample = grid_sample, .samples = {60, 10}, .sample_bound = {3e5, 5e4}
};
/* clang-format on */

/* ---- one case ---- */

static size_t any_length(size_t most)
{
    size_t n = 0;
    while (n + 1 < sizeof edges / sizeof *edges && edges[n + 1] <= most)
        n++;
    return edges[grid_roll(n + 1)];
}

static size_t q_length(const grid_point *p, size_t s)
{
    size_t most = longest[p->at[A_LONGEST]];
    if (p->at[A_KEYS] == KEYS_CONTEXT)
        return grid_roll(4) ? 1 : grid_roll(4);
    switch (p->at[A_SET]) {
    case SET_EQUAL: return most;
    case SET_ONE_LONG: return s == grid_value(&packed_grid, p, A_TEXTS) / 2 ? most : grid_roll(most / TRIAL_ITEMS + 2);
    case SET_HOLES: return grid_roll(3) ? any_length(most) : 0;
    default: return any_length(most);
    }
}

static size_t kv_length(const grid_point *p, size_t queries)
{
    size_t most = longest[p->at[A_LONGEST]];
    switch (p->at[A_KEYS]) {
    case KEYS_SAME: return queries;
    case KEYS_HOLES: return grid_roll(3) ? any_length(most) : 0;
    default: return any_length(most);
    }
}

static void make_texts(trial *t, const grid_point *p)
{
    size_t queries, keys;
    t->texts = counts[p->at[A_TEXTS]];
    for (size_t s = 0; s < t->texts; s++) {
        queries = q_length(p, s), keys = kv_length(p, queries);
        t->q_starts[s + 1] = t->q_starts[s] + queries;
        t->kv_starts[s + 1] = t->kv_starts[s] + keys;
    }
    t->c.o.sequences = t->texts;
    t->c.o.q_starts = t->q_starts;
    t->c.o.kv_starts = p->at[A_KEYS] == KEYS_SAME ? t->q_starts : t->kv_starts;
}

/* Rows that belong to no text hold NaN. */
static void spoil_rest(attn_tensor t, size_t used, int layout)
{
    if (used < t.len && layout != T_ONE_ROW)
        test_fill_tensor(attn_tensor_slice(t, used, t.len - used), NAN);
}

static void make(trial *t, const grid_point *p, uint64_t seed)
{
    grid_call *c = &t->c;
    size_t used_q, used_k;
    trial_begin(t, &packed_grid, p, seed);
    make_texts(t, p);
    used_q = t->q_starts[t->texts], used_k = t->kv_starts[t->texts];
    t->B = 1;
    t->Lq = used_q + (p->at[A_REST] & REST_QUERIES ? 1 + grid_roll(20) : 0);
    t->Lk = used_k + (p->at[A_REST] & REST_KEYS ? 1 + grid_roll(20) : 0);
    trial_fill(t, p);
    for (size_t s = 0; s < t->texts; s++)
        t->offsets[s] = trial_offset(p->at[A_OFFSET], t->q_starts[s + 1] - t->q_starts[s],
                                     t->kv_starts[s + 1] - t->kv_starts[s], s);
    t->user.B = t->texts;
    t->user.q_starts = t->q_starts, t->user.kv_starts = t->kv_starts;
    spoil_rest(c->q, used_q, p->at[A_Q_LAYOUT]), spoil_rest(c->dout, used_q, p->at[A_DOUT_LAYOUT]);
    spoil_rest(c->k, used_k, p->at[A_K_LAYOUT]), spoil_rest(c->v, used_k, p->at[A_V_LAYOUT]);
}

/* ---- a text alone ---- */

static attn_tensor text_of(attn_tensor t, const size_t *starts, size_t s)
{
    return test_absent_tensor(t) ? t : attn_tensor_slice(t, starts[s], starts[s + 1] - starts[s]);
}

/* A copy of one item as item s of a batch, whose others are NaN: there it has the same b. */
static attn_tensor as_item(attn_tensor one, size_t s)
{
    attn_tensor all;
    if (test_absent_tensor(one))
        return one;
    all = test_tensor(one.dtype, s + 1, one.heads, one.len, one.dim, T_BHLD);
    test_copy_tensor(test_tensor_item(all, s), one);
    return all;
}

/* Text s of a call as a call of its own, on views of the same tensors. The starts are left: they are not looked at. */
static grid_call one_text(const grid_call *all, size_t s)
{
    grid_call one = *all;
    const size_t *qs = all->o.q_starts, *ks = all->o.kv_starts;
    one.o.sequences = 0;
    one.q = text_of(all->q, qs, s), one.k = text_of(all->k, ks, s), one.v = text_of(all->v, ks, s);
    one.out = text_of(all->out, qs, s), one.o.lse = text_of(all->o.lse, qs, s);
    one.dout = text_of(all->dout, qs, s), one.g.dlse = text_of(all->g.dlse, qs, s);
    one.g.q = text_of(all->g.q, qs, s), one.g.k = text_of(all->g.k, ks, s), one.g.v = text_of(all->g.v, ks, s);
    one.o.causal_offset = all->o.causal_offset ? all->o.causal_offset + s : NULL;
    return one;
}

/* The same as item s of a batch of s + 1, which dropout can tell from item 0. */
static grid_call as_last_item(const grid_call *one, size_t s)
{
    grid_call c = *one;
    size_t *lens = test_block((s + 1) * sizeof *lens);
    ptrdiff_t *offsets = test_block((s + 1) * sizeof *offsets);
    for (size_t b = 0; b <= s; b++) {
        lens[b] = b == s ? one->q.len : 0;
        offsets[b] = one->o.causal_offset ? *one->o.causal_offset : 0;
    }
    c.q = as_item(one->q, s), c.k = as_item(one->k, s), c.v = as_item(one->v, s);
    c.out = as_item(one->out, s), c.o.lse = as_item(one->o.lse, s);
    c.dout = as_item(one->dout, s), c.g.dlse = as_item(one->g.dlse, s);
    c.g.q = as_item(one->g.q, s), c.g.k = as_item(one->g.k, s), c.g.v = as_item(one->g.v, s);
    c.o.q_lens = lens;
    c.o.causal_offset = one->o.causal_offset ? offsets : NULL;
    return c;
}

static attn_status run_plainly(const grid_call *c, int which, attn_isa isa, int batch_invariant)
{
    attn_ctx ctx = test_ctx(isa);
    ctx.batch_invariant = batch_invariant;
    return grid_ask(c, which == GRID_BACKWARD ? GRID_BACK : GRID_SDPA, &ctx, NULL, 0);
}

/* Text s alone, into the rows that it has in the outputs of `all`. */
static int run_text(const grid_call *all, grid_bend *user, size_t s, int which, attn_isa isa, int batch_invariant)
{
    grid_call one = one_text(all, s), item = one;
    attn_tensor rows[GRID_OUTPUTS], results[GRID_OUTPUTS];
    grid_bend alone = *user;
    int by_item = all->o.dropout.p > 0, good;
    if (by_item)
        item = as_last_item(&one, s);
    alone.b0 = by_item ? 0 : s, alone.B = by_item ? s + 1 : 1;
    alone.Lq = one.q.len, alone.Lk = one.k.len, alone.q_starts = alone.kv_starts = NULL;
    item.o.score_mod_user = &alone;
    good = CHECK_STATUS(run_plainly(&item, which, isa, batch_invariant), ATTN_OK);
    grid_outputs(&one, which, rows), grid_outputs(&item, which, results);
    for (int n = 0; n < 3 && by_item; n++) /* and back: what became of that item */
        test_copy_tensor(rows[n], test_tensor_item(results[n], s));
    return good;
}

/* ---- a case: forward ---- */

/* What all texts alone come to; rows that belong to none are zeros, their lse -infinity. */
static int run_alone(const trial *t, attn_isa isa, int batch_invariant)
{
    grid_bend user = t->user;
    int good = 1;
    test_fill_tensor(t->c.out, 0);
    if (!test_absent_tensor(t->c.o.lse))
        test_fill_tensor(t->c.o.lse, -HUGE_VAL);
    for (size_t s = 0; s < t->texts; s++)
        good &= run_text(&t->c, &user, s, GRID_FORWARD, isa, batch_invariant);
    return good;
}

static int check_forward(const trial *t, const grid_point *p, attn_isa isa)
{
    trial packed = *t, want = *t;
    int good;
    packed.c.o.score_mod_user = &packed.user;
    trial_outputs(&packed, p, GRID_FORWARD);
    trial_outputs(&want, p, GRID_FORWARD);
    good = grid_run(&packed.c, GRID_FORWARD, isa, p->at[A_RUNNER], trial_widths[p->at[A_WIDTH]], p->at[A_SCRATCH]);
    good &= run_alone(&want, isa, 0);
    good &= CHECK(grid_same_outputs(&packed.c, &want.c, GRID_FORWARD));
    good &= CHECK_STATUS(run_plainly(&packed.c, GRID_FORWARD, isa, 1), ATTN_OK);
    good &= run_alone(&want, isa, 1);
    good &= CHECK(grid_same_outputs(&packed.c, &want.c, GRID_FORWARD));
    good &= CHECK(!packed.user.strayed);
    return good;
}

/* ---- a case: backward ---- */

/* A sum over the texts: what each has alone, and the magnitudes that it is made of. */
typedef struct sums {
    real values[2][TRIAL_HEADS], sizes[2][TRIAL_HEADS], most;
} sums;

enum { OF_SINKS, OF_SLOPES };

/* Adds up what the gradients of text s are made of, from the reference. Dropout multiplies with at most its factor. */
static void add_sizes(sums *a, const grid_call *all, const grid_bend *user, size_t s)
{
    static const attn_tensor none;
    grid_call one = one_text(all, s);
    grid_bend alone = *user;
    backward_result r;
    size_t pairs = one.q.heads * one.q.len * one.k.len;
    real *factors = test_reals(pairs);
    for (size_t n = 0; n < pairs; n++)
        factors[n] = 1 / (1 - (real)one.o.dropout.p);
    alone.b0 = s, alone.B = 1, alone.Lq = one.q.len, alone.Lk = one.k.len, alone.q_starts = alone.kv_starts = NULL;
    one.o.score_mod_user = &alone;
    sdpa_backward_reference(&r, &one.g, one.dout, one.q, one.k, one.v, none, &one.o,
                            one.o.dropout.p > 0 ? factors : NULL, EXACT);
    a->most = r.most > a->most ? r.most : a->most;
    for (size_t h = 0; h < one.q.heads; h++) {
        a->sizes[OF_SINKS][h] += all->o.sinks ? r.sizes[GRAD_SINKS][h] : 0;
        a->sizes[OF_SLOPES][h] += all->o.alibi_slopes ? r.sizes[GRAD_SLOPES][h] : 0;
    }
}

/* Gradients of the texts alone, in the rows that are theirs; those of sinks and slopes as sums. */
static int run_back_alone(const trial *t, attn_isa isa, sums *a)
{
    grid_call c = t->c;
    grid_bend user = t->user;
    float *of[2], **sums_of[2];
    int good = 1;
    of[OF_SINKS] = c.g.sinks, of[OF_SLOPES] = c.g.alibi_slopes;
    sums_of[OF_SINKS] = &c.g.sinks, sums_of[OF_SLOPES] = &c.g.alibi_slopes;
    for (int n = 0; n < 2; n++)
        for (size_t h = 0; h < t->H; h++)
            a->values[n][h] = of[n] && c.g.accumulate ? (real)of[n][h] : 0;
    if (!c.g.accumulate)
        test_fill_tensor(c.g.q, 0), test_fill_tensor(c.g.k, 0), test_fill_tensor(c.g.v, 0);
    for (size_t s = 0; s < t->texts; s++) {
        for (int n = 0; n < 2; n++)
            if (of[n])
                *sums_of[n] = memset(test_block(t->H * sizeof(float)), c.g.accumulate ? 0 : 0xff, t->H * sizeof(float));
        good &= run_text(&c, &user, s, GRID_BACKWARD, isa, 0);
        for (size_t h = 0; h < t->H; h++) {
            a->values[OF_SINKS][h] += c.g.sinks ? (real)c.g.sinks[h] : 0;
            a->values[OF_SLOPES][h] += c.g.alibi_slopes ? (real)c.g.alibi_slopes[h] : 0;
        }
    }
    return good;
}

/* The sum in f64 of what the texts have alone, but for 8 u (1 + the largest |score| or |lse|) x the sum of the
   magnitudes of the terms, with u half an ulp of 1 in the compute type; and as much of each float that it was rounded
   to. */
static int check_sums(const trial *t, const sums *a, const sums *size)
{
    const float *of[2];
    int good = 1;
    of[OF_SINKS] = t->c.g.sinks, of[OF_SLOPES] = t->c.g.alibi_slopes;
    if (test_ulp(1, t->compute) * size->most > 1e-3L) /* ALiBi far away: an lse has no digits left for a weight */
        return 1;
    for (int n = 0; n < 2; n++)
        for (size_t h = 0; of[n] && h < t->H; h++) {
            real u = test_ulp(1, t->compute) / 2 * (1 + size->most), all = size->sizes[n][h] + fabsl(a->values[n][h]);
            real tolerance = (8 * u + test_ulp(1, ATTN_F32)) * all;
            good &= CHECK_NEAR(of[n][h], a->values[n][h], tolerance + 1e-30L);
        }
    return good;
}

static int check_backward(const trial *t, const grid_point *p, attn_isa isa, const sums *size)
{
    trial packed = *t, want;
    sums sum = {{{0}}, {{0}}, 0};
    int good;
    packed.c.o.score_mod_user = &packed.user;
    trial_outputs(&packed, p, GRID_BACKWARD);
    good = CHECK_STATUS(run_plainly(&packed.c, GRID_FORWARD, isa, 0), ATTN_OK);
    spoil_rest(packed.c.out, packed.q_starts[t->texts], 0); /* not looked at */
    want = packed;
    trial_grads(&packed, p, ALL_GRADS);
    trial_grads(&want, p, ALL_GRADS);
    good &= grid_run(&packed.c, GRID_BACKWARD, isa, p->at[A_RUNNER], trial_widths[p->at[A_WIDTH]], p->at[A_SCRATCH]);
    good &= run_back_alone(&want, isa, &sum);
    want.c.g.sinks = want.c.g.alibi_slopes = NULL;
    good &= CHECK(grid_same_outputs(&packed.c, &want.c, GRID_BACKWARD));
    good &= check_sums(&packed, &sum, size);
    good &= CHECK(!packed.user.strayed);
    return good;
}

static void find_sizes(const trial *t, sums *size)
{
    static const sums zero;
    *size = zero;
    for (size_t s = 0; s < t->texts && (t->c.o.sinks || t->c.o.alibi_slopes); s++)
        add_sizes(size, &t->c, &t->user, s);
}

/* ---- the grid ---- */

static int run_case(long number, const grid_point *p)
{
    trial t;
    sums size;
    int good = 1;
    test_case("PACKED_CASE=%ld", number);
    make(&t, p, (uint64_t)number);
    t.c.o.score_mod_user = &t.user;
    FOR_ISAS_OF_CASE (isa, trial_type(p->at[A_TYPES], 0), (size_t)number) {
        test_case("PACKED_CASE=%ld, %s", number, attn_isa_string(isa));
        good &= check_forward(&t, p, isa);
    }
    find_sizes(&t, &size);
    FOR_ISAS_OF_CASE (isa, trial_type(p->at[A_TYPES], 0), (size_t)number) {
        test_case("PACKED_CASE=%ld, backward, %s", number, attn_isa_string(isa));
        good &= check_backward(&t, p, isa, &size);
    }
    return good;
}

TEST(packed_grid)
{
    grid_test(&packed_grid, run_case);
}

/* ---- texts of given lengths ---- */

/* Texts whose views are random, without options; two query heads on each of two key/value heads. */
static void plain_texts(trial *t, attn_dtype dtype, size_t texts, const size_t *queries, const size_t *keys, size_t D,
                        int layout)
{
    static const trial zero;
    *t = zero;
    t->texts = texts, t->H = 4, t->Hkv = 2, t->D = t->Dv = D;
    t->compute = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    for (size_t s = 0; s < texts; s++) {
        t->q_starts[s + 1] = t->q_starts[s] + queries[s];
        t->kv_starts[s + 1] = t->kv_starts[s] + keys[s];
    }
    t->c.q = test_random_tensor(dtype, 1, t->H, t->q_starts[texts], D, layout);
    t->c.k = test_random_tensor(dtype, 1, t->Hkv, t->kv_starts[texts], D, layout);
    t->c.v = test_random_tensor(dtype, 1, t->Hkv, t->kv_starts[texts], D, layout);
    t->c.dout = test_random_tensor(dtype, 1, t->H, t->q_starts[texts], D, layout);
    t->c.o.sequences = texts;
}

static void point_to(trial *t) /* a trial's options point into it */
{
    t->c.o.q_starts = t->q_starts, t->c.o.kv_starts = t->kv_starts;
}

/* Each text alone, both ways, and the gradients of sinks and slopes aside. */
static grid_call each_alone(const trial *t, attn_isa isa)
{
    grid_call want = t->c;
    grid_bend user = t->user;
    want.o.sinks = t->c.o.sinks, grid_plain_outputs(&want);
    for (size_t s = 0; s < t->texts; s++)
        run_text(&want, &user, s, GRID_FORWARD, isa, 0);
    grid_plain_grads(&want);
    for (size_t s = 0; s < t->texts; s++)
        run_text(&want, &user, s, GRID_BACKWARD, isa, 0);
    want.g.sinks = want.g.alibi_slopes = NULL;
    return want;
}

/* Sets of texts that cut the work in every way, in every width, on every runner, with and without scratch: the same
   bits, which are those of each text alone. */
TEST(packed_contexts)
{
    static const struct {
        size_t texts, queries[8], keys[8];
    } sets[] = {
        {6, {1, 1, 1, 1, 1, 1}, {1100, 3, 600, 0, 129, 1}},      /* decoding */
        {5, {47, 48, 49, 1, 33}, {47, 48, 49, 1, 33}},           /* about a query block each */
        {7, {3, 5, 257, 2, 0, 9, 4}, {3, 5, 257, 2, 0, 9, 4}},   /* one longer than all others together */
        {4, {2, 130, 0, 17}, {530, 128, 300, 127}},              /* few rows beside many */
        {1, {65}, {520}},                                        /* one text */
        {8, {1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}}, /* each less than a register tile */
    };
    for (size_t n = 0; n < sizeof sets / sizeof *sets; n++)
        for (int kind = (int)n % 2; kind < (test_quick ? 1 : 4); kind += 2)
            FOR_EACH_ISA (isa) {
                trial t;
                grid_call want;
                plain_texts(&t, test_floats[(n + (size_t)kind) % 4], sets[n].texts, sets[n].queries, sets[n].keys,
                            kind % 2 ? 20 : 8, kind % 2 ? T_BLHD : T_BHLD);
                point_to(&t);
                t.c.o.causal = kind < 2 ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
                want = each_alone(&t, isa);
                for (int c = (int)n % 3; c < 4 * GRID_RUNS * GRID_SCRATCHES; c += test_quick ? 7 : 4) {
                    int width = c % 4, runner = c / 4 % GRID_RUNS, scratch = c / 4 / GRID_RUNS;
                    grid_call got = t.c;
                    test_case("set %zu, %s, %s, width %d, runner %d, scratch %d", n, test_dtype_name(t.c.q.dtype),
                              attn_isa_string(isa), (int)trial_widths[width], runner, scratch);
                    CHECK(grid_both_ways(&got, isa, runner, trial_widths[width], scratch));
                    CHECK(grid_same_both_ways(&got, &want));
                }
                test_release();
            }
}

/* Long texts of lengths around all edges, few and many rows, on the fast instruction sets. */
TEST(packed_lengths)
{
    FOR_EACH_ISA (isa)
        for (int n = 0; n < (isa == ATTN_ISA_SCALAR || test_quick ? 1 : 8); n++) {
            enum { TEXTS = sizeof edges / sizeof *edges };
            size_t queries[TEXTS], keys[TEXTS], count = isa == ATTN_ISA_SCALAR ? TEXTS - 5 : TEXTS;
            trial t;
            grid_call want, got;
            for (size_t s = 0; s < count; s++) {
                queries[s] = edges[(7 * s + (size_t)n) % count];
                keys[s] = n % 4 == 0 ? queries[s] : edges[(11 * s + 3 * (size_t)n) % count];
                if (n % 4 == 3)
                    queries[s] = (size_t)(s % 5);
            }
            plain_texts(&t, test_floats[n % 4], count, queries, keys, n % 2 ? 24 : 5, n / 4 ? T_QKV : T_BHLD);
            point_to(&t);
            t.c.o.causal = (attn_causal)(n % 3);
            test_case("set %d, %s", n, attn_isa_string(isa));
            want = each_alone(&t, isa);
            got = t.c;
            CHECK(grid_both_ways(&got, isa, GRID_THREADS, 2, GRID_EXACT));
            CHECK(grid_same_both_ways(&got, &want));
            test_release();
        }
}

/* Texts of one length are a batch: the same bits, those of dropout and what a score_mod is told included. */
TEST(packed_batch)
{
    static const size_t lengths[][2] = {{5, 5}, {1, 130}, {48, 48}, {50, 20}, {3, 0}, {130, 257}};
    static const float slopes[] = {0.5f, 0.25f, 0.125f, 1}, sinks[] = {0, 1, -1, 3};
    for (size_t n = 0; n < (test_quick ? 6 : 12); n++)
        FOR_EACH_ISA (isa) {
            enum { TEXTS = 5 };
            size_t queries[TEXTS], keys[TEXTS], Lq = lengths[n % 6][0], Lk = lengths[n % 6][1];
            static const ptrdiff_t offsets[TEXTS] = {0, 7, -2, 1, 300};
            trial t;
            grid_call batch, *c = &t.c;
            attn_tensor *of_batch[] = {&batch.q, &batch.k, &batch.v, &batch.dout};
            grid_bend user = {0};
            for (size_t s = 0; s < TEXTS; s++)
                queries[s] = Lq, keys[s] = Lk;
            plain_texts(&t, test_floats[n % 4], TEXTS, queries, keys, n % 5 ? 16 : 7, n % 2 ? T_BLHD : T_BHLD);
            point_to(&t);
            c->o.causal = (attn_causal)(n / 2 % 4), c->o.causal_offset = offsets;
            c->o.dropout.p = n % 3 ? 0.3 : 0, c->o.dropout.seed = n;
            c->o.alibi_slopes = n % 4 == 1 ? slopes : NULL;
            c->o.sinks = n % 5 < 3 ? sinks : NULL;
            c->o.softcap = n % 7 == 2 ? 3 : 0;
            user.f64 = t.compute == ATTN_F64, user.B = TEXTS, user.H = t.H, user.Lq = Lq, user.Lk = Lk;
            c->o.score_mod = n % 3 == 2 ? grid_bend_scores : NULL, c->o.score_mod_user = &user;
            c->g.score_mod_grad = n % 3 == 2 ? grid_bend_back : NULL;
            test_case("case %zu, %s", n, attn_isa_string(isa));
            CHECK(grid_both_ways(c, isa, GRID_THREADS, 1 + n % 4, GRID_EXACT));
            batch = *c;
            batch.o.sequences = 0;
            for (size_t i = 0; i < 4; i++) {
                of_batch[i]->batch = TEXTS;
                of_batch[i]->len /= TEXTS;
                of_batch[i]->batch_stride = (ptrdiff_t)of_batch[i]->len * of_batch[i]->len_stride;
            }
            CHECK(grid_both_ways(&batch, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (size_t h = 0; h < t.H; h++) { /* sums in other orders, of floats that are about one each */
                if (c->g.sinks)
                    CHECK_NEAR(c->g.sinks[h], batch.g.sinks[h], 1e-5L * (real)(1 + Lq));
                if (c->g.alibi_slopes)
                    CHECK_NEAR(c->g.alibi_slopes[h], batch.g.alibi_slopes[h], 1e-5L * (real)(1 + Lq * Lk));
            }
            for (size_t s = 0; s < TEXTS; s++) {
                grid_call one = one_text(c, s), item = batch;
                one.g.sinks = one.g.alibi_slopes = NULL;
                attn_tensor *rows[] = {&item.out, &item.o.lse, &item.g.q, &item.g.k, &item.g.v};
                for (size_t i = 0; i < 5; i++)
                    if (!test_absent_tensor(*rows[i])) {
                        rows[i]->data = rows[i]->len ? test_tensor_at(*rows[i], s, 0, 0, 0) : NULL;
                        rows[i]->batch = 1;
                    }
                CHECK(grid_same_both_ways(&one, &item));
            }
            CHECK(!user.strayed);
            test_release();
        }
}

/* A text is the same beside others that are NaN and infinite, and with NaN in all rows that are of no text. */
TEST(packed_neighbours)
{
    for (int n = 0; n < (test_quick ? 4 : 20); n++)
        FOR_EACH_ISA (isa) {
            grid_point p = grid_sample(&packed_grid, 5000 + (uint64_t)n, 3e4);
            trial t;
            p.at[A_Q_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_K_LAYOUT] %= T_OUT_LAYOUTS, p.at[A_V_LAYOUT] %= T_OUT_LAYOUTS;
            p.at[A_DOUT_LAYOUT] %= T_OUT_LAYOUTS;
            p.at[A_TEXTS] = (signed char)(1 + n % 3);
            make(&t, &p, (uint64_t)n);
            t.c.o.score_mod_user = &t.user;
            CHECK(grid_both_ways(&t.c, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (size_t s = 0; s < t.texts; s++) {
                grid_call other = t.c, mine, same;
                other.q = test_tensor_like(t.c.q, T_BHLD), other.k = test_tensor_like(t.c.k, T_BLHD);
                other.v = test_tensor_like(t.c.v, T_BHLD), other.dout = test_tensor_like(t.c.dout, T_BHLD);
                for (size_t r = 0; r < t.texts; r++)
                    if (r != s) {
                        grid_call one = one_text(&other, r);
                        test_fill_tensor(one.q, r % 2 ? NAN : HUGE_VAL),
                            test_fill_tensor(one.k, r % 2 ? HUGE_VAL : NAN);
                        test_fill_tensor(one.v, NAN), test_fill_tensor(one.dout, NAN);
                    }
                test_case("case %d, %s, text %zu", n, attn_isa_string(isa), s);
                CHECK(grid_both_ways(&other, isa, GRID_THREADS, 3, GRID_EXACT));
                mine = one_text(&t.c, s), same = one_text(&other, s);
                mine.g.sinks = mine.g.alibi_slopes = NULL;
                CHECK(grid_same_both_ways(&mine, &same));
            }
            test_release();
        }
}

/* ---- memory that no text has ---- */

typedef struct fenced_texts {
    trial t;
    attn_isa isa;
} fenced_texts;

static void attend_fenced(void *arg)
{
    fenced_texts *f = arg;
    CHECK(grid_both_ways(&f->t.c, f->isa, GRID_ALONE, 1, GRID_EXACT));
}

/* Rows side by side, 40 more than there is memory for: those are beyond a fence, after the last row or before it. */
static attn_tensor fenced_rows(attn_tensor from, int low)
{
    enum { BEYOND = 40 };
    size_t row = from.heads * from.dim, size = test_size(from.dtype);
    char *at = test_fenced(from.len * row * size, low);
    ptrdiff_t step = low ? -(ptrdiff_t)row : (ptrdiff_t)row;
    attn_tensor t = attn_tensor_of(low ? at + (from.len - 1) * row * size : at, from.dtype, 1, from.heads, from.len,
                                   from.dim, 0, (ptrdiff_t)from.dim, step, 1);
    test_copy_tensor(t, from);
    t.len += BEYOND;
    return t;
}

static const size_t *fenced_starts(const size_t *starts, size_t count)
{
    size_t *at = test_fenced(count * sizeof *at, 0);
    memcpy(at, starts, count * sizeof *at);
    return at;
}

TEST(packed_fences)
{
    static const size_t queries[][4] = {{1, 2, 1, 1}, {48, 3, 50, 17}, {5, 0, 9, 1}},
                        keys[][4] = {{520, 3, 0, 130}, {48, 3, 50, 17}, {17, 129, 1, 3}};
    for (int n = 0; n < 12; n++)
        FOR_EACH_ISA (isa) {
            fenced_texts f;
            grid_call want;
            plain_texts(&f.t, test_floats[n % 4], 4, queries[n % 3], keys[n % 3], 9, T_BHLD);
            point_to(&f.t);
            f.isa = isa;
            want = each_alone(&f.t, isa);
            f.t.c.k = fenced_rows(f.t.c.k, n / 3 % 2), f.t.c.v = fenced_rows(f.t.c.v, n / 3 % 2);
            f.t.c.o.q_starts = fenced_starts(f.t.q_starts, 5), f.t.c.o.kv_starts = fenced_starts(f.t.kv_starts, 5);
            test_case("case %d, %s", n, attn_isa_string(isa));
            if (CHECK(test_keeps_off_fences(attend_fenced, &f))) {
                grid_call got = f.t.c;
                attn_tensor rest;
                size_t used = want.k.len;
                rest = attn_tensor_slice(got.g.k, used, got.g.k.len - used);
                for (size_t h = 0; h < rest.heads; h++)
                    for (size_t i = 0; i < rest.len; i++)
                        for (size_t d = 0; d < rest.dim; d++)
                            CHECK(test_tensor_get(rest, 0, h, i, d) == 0);
                got.g.k = attn_tensor_slice(got.g.k, 0, used), got.g.v = attn_tensor_slice(got.g.v, 0, used);
                CHECK(grid_same_both_ways(&got, &want));
            }
            test_release();
        }
}

/* More texts than rows, by far: empty ones before, between and after those that have something, and texts that have
   queries but no keys. Work that is not in proportion to their number would take minutes here. */
TEST(packed_many)
{
    enum { TEXTS = 100000, ROWS = 60, D = 8 };
    size_t *qs = malloc((TEXTS + 1) * sizeof *qs), *ks = malloc((TEXTS + 1) * sizeof *ks);
    if (!CHECK(qs && ks))
        return;
    for (int kind = 0; kind < 5; kind++) /* no rows at all; one text; one row each in the middle; no keys; no queries */
        FOR_EACH_ISA (isa) {
            test_runner runner;
            attn_ctx ctx = test_ctx(isa);
            grid_call c, want;
            char text[400];
            memset(&c, 0, sizeof c);
            for (size_t s = 0; s <= TEXTS; s++) {
                size_t stairs = s < TEXTS / 2 ? 0 : s < TEXTS / 2 + ROWS ? s - TEXTS / 2 : ROWS;
                size_t rows = kind == 0 ? 0 : kind == 1 ? s > TEXTS / 3 ? ROWS : 0 : stairs;
                qs[s] = kind == 4 ? 0 : rows;
                ks[s] = kind == 3 ? 0 : rows;
            }
            c.q = test_random_tensor(ATTN_F32, 1, 2, ROWS, D, T_BLHD), c.dout = c.q;
            c.k = test_random_tensor(ATTN_F32, 1, 1, ROWS, D, T_BLHD), c.v = c.k;
            c.o.sequences = TEXTS, c.o.q_starts = qs, c.o.kv_starts = ks;
            c.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
            test_case("kind %d, %s", kind, attn_isa_string(isa));
            want = c;
            CHECK(grid_both_ways(&c, isa, GRID_THREADS, 3, GRID_EXACT));
            grid_plain_outputs(&want);
            test_fill_tensor(want.out, 0), test_fill_tensor(want.o.lse, -HUGE_VAL);
            want.o.sequences = 0;
            if (kind == 1)
                CHECK_STATUS(run_plainly(&want, GRID_FORWARD, isa, 0), ATTN_OK);
            for (size_t i = 0; kind == 2 && i < ROWS; i++) { /* the softmax of one key */
                grid_call one = want;
                one.q = attn_tensor_slice(want.q, i, 1), one.k = one.v = attn_tensor_slice(want.k, i, 1);
                one.out = attn_tensor_slice(want.out, i, 1), one.o.lse = attn_tensor_slice(want.o.lse, i, 1);
                CHECK_STATUS(run_plainly(&one, GRID_FORWARD, isa, 0), ATTN_OK);
            }
            CHECK(grid_same_outputs(&c, &want, GRID_FORWARD));
            ctx.parallel = test_serial_backwards(&runner, 2);
            CHECK(grid_scratch(&c, GRID_FORWARD, &ctx) < 1 << 20);
            CHECK_STATUS(grid_ask(&c, GRID_DRY, &ctx, text, sizeof text), ATTN_OK);
            test_release();
        }
    free(qs);
    free(ks);
}

/* Scratch is the same for other starts: a program may keep it. One byte less is too little, and nothing is written. */
TEST(packed_scratch)
{
    static const size_t first[] = {0, 50, 50, 90, 300}, second[] = {0, 1, 2, 3, 4}, third[] = {0, 0, 0, 0, 300};
    static const size_t *const starts[] = {first, second, third};
    FOR_EACH_ISA (isa)
        for (size_t width = 1; width <= 4; width += 3) {
            test_runner runner;
            attn_ctx ctx = grid_context(isa, GRID_REVERSED, width, &runner);
            size_t bytes[9];
            grid_call c;
            memset(&c, 0, sizeof c);
            c.q = test_random_tensor(ATTN_F32, 1, 4, 300, 16, T_BHLD);
            c.k = c.v = test_random_tensor(ATTN_F32, 1, 2, 300, 16, T_BHLD);
            grid_plain_outputs(&c);
            c.o.sequences = 4;
            for (size_t n = 0; n < 9; n++) {
                c.o.q_starts = starts[n % 3], c.o.kv_starts = starts[n / 3];
                test_case("%s, width %zu, starts %zu and %zu", attn_isa_string(isa), width, n % 3, n / 3);
                bytes[n] = grid_scratch(&c, GRID_FORWARD, &ctx);
                CHECK(bytes[n] == bytes[0]);
            }
            grid_check_less(&c, GRID_FORWARD, &ctx);
            test_release();
        }
}

/* ---- the layer ---- */

/* Its scratch between two edges, as many bytes as it says. */
static void run_layer_at(const layer_call *c, int which, attn_isa isa, size_t width)
{
    test_runner runner;
    attn_ctx ctx = test_ctx(isa);
    attn_dry_run dry = {0};
    long calls;
    ctx.parallel = test_threads(&runner, width);
    CHECK_STATUS(run_layer(c, which, test_dry(&ctx, &dry)), ATTN_OK);
    test_scratch(&ctx, dry.scratch, 1);
    calls = test_memory_state.calls;
    CHECK_STATUS(run_layer(c, which, &ctx), ATTN_OK);
    CHECK(test_memory_state.calls == calls && runner.most <= width);
}

enum { LAYER_TEXTS = 5 };

/* Gradient n of the weights and biases, as one row of numbers. */
static size_t layer_sum(const layer_call *c, int n, const real **x)
{
    const attn_mat mats[] = {c->g.wq, c->g.wk, c->g.wv, c->g.wo};
    float *const floats_of[] = {c->g.bq, c->g.bk, c->g.bv, c->g.bo};
    attn_mat m = mats[n % 4];
    size_t count = n < 4 ? m.rows * m.cols : m.cols;
    *x = test_values(n < 4 ? m : attn_mat_of(floats_of[n - 4], ATTN_F32, 1, count));
    return count;
}

/* A layer of packed texts projects all of their rows, each as it does alone; its gradients of weights are sums over the
   texts of numbers that are about one, cut otherwise: 64 ulp of 1 for each row, and rounding to what holds them. */
TEST(packed_layer)
{
    static const size_t queries[][LAYER_TEXTS] = {{3, 1, 0, 20, 2}, {1, 1, 1, 1, 1}, {60, 2, 7, 0, 9}},
                        keys[][LAYER_TEXTS] = {{3, 1, 0, 20, 2}, {5, 140, 3, 0, 1}, {60, 2, 7, 5, 0}};
    static const ptrdiff_t offsets[LAYER_TEXTS] = {0, 3, -1, 2, 100};
    static const float slopes[] = {0.5f, 0.25f, 0.125f, 1}, sinks[] = {0, 1, -1, 3};
    for (size_t n = 0; n < (test_quick ? 6 : 24); n++)
        FOR_EACH_ISA (isa) {
            enum { H = 4, HKV = 2, D = 5, DV = 3, EQ = 11, EK = 7, EV = 9, E = 10, REST = 3 };
            attn_dtype type = n % 2 ? test_wide : ATTN_F32;
            size_t starts[2][LAYER_TEXTS + 1] = {{0}, {0}}, rows, all_keys;
            const real *parts[8][LAYER_TEXTS + 1];
            layer_call c, want;
            memset(&c, 0, sizeof c);
            for (size_t s = 0; s < LAYER_TEXTS; s++) {
                starts[0][s + 1] = starts[0][s] + queries[n % 3][s];
                starts[1][s + 1] = starts[1][s] + keys[n % 3][s];
            }
            rows = starts[0][LAYER_TEXTS] + REST, all_keys = starts[1][LAYER_TEXTS] + REST;
            c.q = test_random_tensor(type, 1, 1, rows, EQ, (int)n % T_OUT_LAYOUTS);
            c.k = test_random_tensor(type, 1, 1, all_keys, EK, (int)(n / 2) % T_OUT_LAYOUTS);
            c.v = test_random_tensor(type, 1, 1, all_keys, EV, T_BHLD);
            c.dout = test_random_tensor(type, 1, 1, rows, E, T_BHLD);
            spoil_rest(c.k, all_keys - REST, 0), spoil_rest(c.v, all_keys - REST, 0);
            spoil_rest(c.q, rows - REST, 0), spoil_rest(c.dout, rows - REST, 0);
            c.w.wq = projection(type, EQ, H * D, PACKED), c.w.wk = projection(type, EK, HKV * D, TRANSPOSED);
            c.w.wv = projection(type, EV, HKV * DV, PACKED), c.w.wo = projection(type, H * DV, E, TRANSPOSED);
            c.w.bq = random_floats(H * D), c.w.bk = random_floats(HKV * D), c.w.bv = random_floats(HKV * DV);
            c.w.bo = random_floats(E);
            c.w.heads = H, c.w.kv_heads = HKV;
            c.o.causal = (attn_causal)(n / 3 % 4);
            c.o.causal_offset = c.o.causal == ATTN_CAUSAL_OFFSET ? offsets : NULL;
            c.o.alibi_slopes = n % 4 == 3 ? slopes : NULL;
            c.o.sinks = n % 5 == 1 ? sinks : NULL;
            c.o.q_starts = starts[0], c.o.kv_starts = starts[1];
            want = c;
            c.o.sequences = LAYER_TEXTS;
            c.out = test_tensor(type, 1, 1, rows, E, T_BHLD), want.out = test_tensor(type, 1, 1, rows, E, T_BHLD);
            c.o.lse = test_tensor(type, 1, H, rows, 1, T_BHLD), want.o.lse = test_tensor(type, 1, H, rows, 1, T_BHLD);
            test_fill_tensor(want.out, 0), test_fill_tensor(want.o.lse, -HUGE_VAL);
            layer_grads(&c), layer_grads(&want);
            test_fill_tensor(want.g.q, 0), test_fill_tensor(want.g.k, 0), test_fill_tensor(want.g.v, 0);
            test_case("case %zu, %s", n, attn_isa_string(isa));
            run_layer_at(&c, GRID_FORWARD, isa, 1 + n % 3);
            run_layer_at(&c, GRID_BACKWARD, isa, 1 + n % 3);
            for (size_t s = 0; s < LAYER_TEXTS; s++) {
                attn_ctx ctx = test_ctx(isa);
                layer_call one = want;
                one.q = text_of(c.q, starts[0], s), one.k = text_of(c.k, starts[1], s);
                one.v = text_of(c.v, starts[1], s), one.dout = text_of(c.dout, starts[0], s);
                one.out = text_of(want.out, starts[0], s), one.o.lse = text_of(want.o.lse, starts[0], s);
                one.g.q = text_of(want.g.q, starts[0], s), one.g.k = text_of(want.g.k, starts[1], s);
                one.g.v = text_of(want.g.v, starts[1], s);
                one.o.causal_offset = c.o.causal_offset ? offsets + s : NULL;
                CHECK_STATUS(run_layer(&one, GRID_FORWARD, &ctx), ATTN_OK);
                CHECK_STATUS(run_layer(&one, GRID_BACKWARD, &ctx), ATTN_OK);
                for (int g = 0; g < 8; g++)
                    layer_sum(&one, g, &parts[g][s]);
            }
            CHECK(test_same_tensor_bits(c.out, want.out) && test_same_tensor_bits(c.o.lse, want.o.lse));
            CHECK(test_same_tensor_bits(c.g.q, want.g.q));
            CHECK(test_same_tensor_bits(c.g.k, want.g.k) && test_same_tensor_bits(c.g.v, want.g.v));
            for (int g = 0; g < 8; g++) {
                size_t count = layer_sum(&c, g, &parts[g][LAYER_TEXTS]);
                real most = 0;
                for (int pass = 0; pass < 2; pass++)
                    for (size_t m = 0; m < count; m++) {
                        real sum = 0, size = 0;
                        for (size_t s = 0; s < LAYER_TEXTS; s++)
                            sum += parts[g][s][m], size += fabsl(parts[g][s][m]);
                        most = size > most ? size : most;
                        if (pass)
                            CHECK_NEAR(parts[g][LAYER_TEXTS][m], sum,
                                       64 * (real)(rows + all_keys) * test_ulp(1, type) +
                                           8 * test_ulp(most, g < 4 ? type : ATTN_F32));
                    }
            }
            test_release();
        }
}

/* ---- statuses ---- */

enum { TEXTS = 3, TOTAL_Q = 9, TOTAL_K = 11, STATUS_H = 4, STATUS_HKV = 2, STATUS_D = 4, STATUS_DV = 6 };

/* What is done to the call, the status, and what an explanation may name. */
#define FAULT_LIST(X)                                                                                                  \
    X(NO_Q_STARTS, ATTN_ERR_NULL, "opts.q_starts", NULL)                                                               \
    X(NO_KV_STARTS, ATTN_ERR_NULL, "opts.kv_starts", NULL)                                                             \
    X(NO_OFFSETS, ATTN_ERR_NULL, "opts.causal_offset", NULL)                                                           \
    X(TWO_ITEMS, ATTN_ERR_SHAPE, "q", "opts.sequences")                                                                \
    X(NO_ITEMS, ATTN_ERR_SHAPE, "q", "opts.sequences")                                                                 \
    X(TWO_ITEMS_OF_K, ATTN_ERR_SHAPE, "k", "grads.k")                                                                  \
    X(MOST_SEQUENCES, ATTN_ERR_OVERFLOW, "opts.sequences", "opts.causal_offset")                                       \
    X(MANY_SEQUENCES, ATTN_ERR_OVERFLOW, "opts.q_starts", "opts.causal_offset")                                        \
    X(Q_STARTS_LATE, ATTN_ERR_VALUE, "opts.q_starts", NULL)                                                            \
    X(Q_STARTS_FALL, ATTN_ERR_VALUE, "opts.q_starts", NULL)                                                            \
    X(Q_STARTS_FALL_AT_LAST, ATTN_ERR_VALUE, "opts.q_starts", NULL)                                                    \
    X(Q_STARTS_LONG, ATTN_ERR_VALUE, "opts.q_starts", NULL)                                                            \
    X(Q_STARTS_MAX, ATTN_ERR_VALUE, "opts.q_starts", NULL)                                                             \
    X(Q_STARTS_OVER_AND_BACK, ATTN_ERR_VALUE, "opts.q_starts", NULL)                                                   \
    X(Q_STARTS_MISALIGNED, ATTN_ERR_VALUE, "opts.q_starts", NULL)                                                      \
    X(KV_STARTS_LATE, ATTN_ERR_VALUE, "opts.kv_starts", NULL)                                                          \
    X(KV_STARTS_FALL, ATTN_ERR_VALUE, "opts.kv_starts", NULL)                                                          \
    X(KV_STARTS_LONG, ATTN_ERR_VALUE, "opts.kv_starts", NULL)                                                          \
    X(KV_STARTS_MAX, ATTN_ERR_VALUE, "opts.kv_starts", NULL)                                                           \
    X(KV_STARTS_MISALIGNED, ATTN_ERR_VALUE, "opts.kv_starts", NULL)                                                    \
    X(WITH_MASK, ATTN_ERR_VALUE, "opts.mask", "opts.sequences")                                                        \
    X(WITH_FULL_MASK, ATTN_ERR_VALUE, "opts.mask", "opts.sequences")                                                   \
    X(WITH_Q_LENS, ATTN_ERR_VALUE, "opts.q_lens", "opts.sequences")                                                    \
    X(WITH_KV_LENS, ATTN_ERR_VALUE, "opts.kv_lens", "opts.sequences")                                                  \
    X(WITH_BIAS, ATTN_ERR_VALUE, "opts.bias", "opts.sequences")                                                        \
    X(WITH_BLOCKS, ATTN_ERR_VALUE, "opts.blocks", "opts.sequences")                                                    \
    X(WITH_WEIGHTS, ATTN_ERR_VALUE, "opts.weights", "opts.sequences")                                                  \
    X(WITH_SCORES, ATTN_ERR_VALUE, "opts.scores", "opts.sequences")                                                    \
    X(OUT_ON_Q_STARTS, ATTN_ERR_ALIAS, "opts.q_starts", "out")                                                         \
    X(OUT_ON_KV_STARTS, ATTN_ERR_ALIAS, "opts.kv_starts", "out")                                                       \
    X(LSE_ON_Q_STARTS, ATTN_ERR_ALIAS, "opts.q_starts", "opts.lse")                                                    \
    X(DK_ON_KV_STARTS, ATTN_ERR_ALIAS, "opts.kv_starts", "grads.k")                                                    \
    X(SCRATCH_ON_STARTS, ATTN_ERR_ALIAS, "opts.q_starts", "ctx.scratch")                                               \
    X(SCRATCH_SHORT, ATTN_ERR_NOMEM, "ctx.scratch", NULL)                                                              \
    X(NO_MEMORY, ATTN_ERR_NOMEM, "ctx.scratch", NULL)
#define FAULT_NUMBER(name, status, first, second) name,
#define FAULT_ENTRY(name, status, first, second) {#name, status, {first, second}},

enum fault { FAULT_LIST(FAULT_NUMBER) FAULTS };
static const grid_fault faults[FAULTS] = {FAULT_LIST(FAULT_ENTRY)};

static const size_t *starts_of(size_t a, size_t b, size_t c, size_t d)
{
    size_t *starts = test_block((TEXTS + 1) * sizeof *starts + 1024); /* room for an output on top */
    starts[0] = a, starts[1] = b, starts[2] = c, starts[3] = d;
    return starts;
}

/* A call that is right, with all that may go with texts. */
static grid_wrong good_call(void)
{
    static const float slopes[STATUS_H] = {1, 0.5f, 0.25f, 0}, sinks[STATUS_H] = {0, 1, 2, 3};
    static const ptrdiff_t offsets[TEXTS] = {1, -1, 0};
    grid_wrong s;
    grid_call *c = &s.c;
    memset(&s, 0, sizeof s);
    c->q = test_random_tensor(ATTN_F32, 1, STATUS_H, TOTAL_Q, STATUS_D, T_BHLD);
    c->k = test_random_tensor(ATTN_F32, 1, STATUS_HKV, TOTAL_K, STATUS_D, T_BHLD);
    c->v = test_random_tensor(ATTN_F32, 1, STATUS_HKV, TOTAL_K, STATUS_DV, T_BHLD);
    c->dout = test_random_tensor(ATTN_F32, 1, STATUS_H, TOTAL_Q, STATUS_DV, T_BHLD);
    c->o.sequences = TEXTS;
    c->o.q_starts = starts_of(0, 2, 2, 8), c->o.kv_starts = starts_of(0, 4, 9, 10);
    c->o.causal = ATTN_CAUSAL_OFFSET, c->o.causal_offset = offsets;
    c->o.window.on = 1, c->o.window.left = 5, c->o.window.right = -1;
    c->o.alibi_slopes = slopes, c->o.sinks = sinks;
    grid_plain_outputs(c);
    grid_finish(&s);
    return s;
}

static void give_items(grid_call *c, size_t count)
{
    c->q.batch = c->k.batch = c->v.batch = c->out.batch = c->dout.batch = c->o.lse.batch = count;
    if (!test_absent_tensor(c->g.q))
        c->g.q.batch = c->g.k.batch = c->g.v.batch = count;
}

/* Does it; the status to expect of this function, or ATTN_OK where the fault is no matter of it. */
static attn_status inflict(grid_wrong *s, int fault, int function)
{
    grid_call *c = &s->c;
    attn_opts *o = &c->o;
    int backward = function >= GRID_BACK, is_dry = function == GRID_DRY || function == GRID_BACK_DRY;
    static size_t lens[] = {1};
    static const uint32_t zeros[64] = {0};
    switch (fault) {
    case NO_Q_STARTS: o->q_starts = NULL; break;
    case NO_KV_STARTS: o->kv_starts = NULL; break;
    case NO_OFFSETS: o->causal_offset = NULL; break;
    case TWO_ITEMS: give_items(c, 2); break;
    case NO_ITEMS: give_items(c, 0); break;
    case TWO_ITEMS_OF_K: c->k.batch = 2; break;
    case MOST_SEQUENCES: o->sequences = SIZE_MAX; break;
    case MANY_SEQUENCES: o->sequences = SIZE_MAX / sizeof(size_t); break;
    case Q_STARTS_LATE: o->q_starts = starts_of(1, 2, 2, 8); break;
    case Q_STARTS_FALL: o->q_starts = starts_of(0, 3, 2, 8); break;
    case Q_STARTS_FALL_AT_LAST: o->q_starts = starts_of(0, 3, 3, 2); break;
    case Q_STARTS_LONG: o->q_starts = starts_of(0, 2, 2, TOTAL_Q + 1); break;
    case Q_STARTS_MAX: o->q_starts = starts_of(0, 2, SIZE_MAX, SIZE_MAX); break;
    case Q_STARTS_OVER_AND_BACK: o->q_starts = starts_of(0, 2, TOTAL_Q + 4, 5); break;
    case Q_STARTS_MISALIGNED: o->q_starts = (const size_t *)(const void *)((const char *)o->q_starts + 1); break;
    case KV_STARTS_LATE: o->kv_starts = starts_of(2, 4, 9, 10); break;
    case KV_STARTS_FALL: o->kv_starts = starts_of(0, 4, 3, 10); break;
    case KV_STARTS_LONG: o->kv_starts = starts_of(0, 4, 9, TOTAL_K + 1); break;
    case KV_STARTS_MAX: o->kv_starts = starts_of(0, 4, 9, SIZE_MAX); break;
    case KV_STARTS_MISALIGNED: o->kv_starts = (const size_t *)(const void *)((const char *)o->kv_starts + 4); break;
    case WITH_MASK: o->mask = test_random_tensor(ATTN_BOOL, 1, 1, 1, 1, T_BHLD); break;
    case WITH_FULL_MASK: o->mask = test_random_tensor(ATTN_BOOL, 1, STATUS_H, TOTAL_Q, TOTAL_K, T_BHLD); break;
    case WITH_Q_LENS: o->q_lens = lens; break;
    case WITH_KV_LENS: o->kv_lens = lens; break;
    case WITH_BIAS: o->bias = test_random_tensor(ATTN_F32, 1, STATUS_H, TOTAL_Q, TOTAL_K, T_BHLD); break;
    case WITH_BLOCKS: {
        attn_blocks blocks = {16, 16, zeros, zeros, 1, 1, 1};
        o->blocks = blocks;
        break;
    }
    case WITH_WEIGHTS:
        o->weights = test_tensor(ATTN_F32, 1, STATUS_H, TOTAL_Q, TOTAL_K, T_BHLD);
        return backward ? ATTN_OK : ATTN_ERR_VALUE;
    case WITH_SCORES:
        o->scores = test_tensor(ATTN_F32, 1, STATUS_H, TOTAL_Q, TOTAL_K, T_BHLD);
        return backward ? ATTN_OK : ATTN_ERR_VALUE;
    case OUT_ON_Q_STARTS: c->out.data = grid_onto(o->q_starts); return backward ? ATTN_OK : ATTN_ERR_ALIAS;
    case OUT_ON_KV_STARTS: c->out.data = grid_onto(o->kv_starts); return backward ? ATTN_OK : ATTN_ERR_ALIAS;
    case LSE_ON_Q_STARTS: o->lse.data = grid_onto(o->q_starts); return backward ? ATTN_OK : ATTN_ERR_ALIAS;
    case DK_ON_KV_STARTS: c->g.k.data = grid_onto(o->kv_starts); return backward ? ATTN_ERR_ALIAS : ATTN_OK;
    case SCRATCH_ON_STARTS: s->ctx.scratch = grid_onto(o->q_starts), s->ctx.scratch_size = 8; break;
    case SCRATCH_SHORT:
        s->ctx.scratch = s->scratch, s->ctx.scratch_size = s->needed[backward] - 1;
        return is_dry ? ATTN_OK : ATTN_ERR_NOMEM;
    default: s->no_memory = 1; return is_dry || s->needed[backward] < 1 << 15 ? ATTN_OK : ATTN_ERR_NOMEM;
    }
    return faults[fault].want;
}

TEST(packed_status)
{
    grid_check_faults(faults, FAULTS, good_call, inflict);
}

/* Of two faults the one that is checked first is reported. */
static int order_of(int f, int g)
{
    if (f == MOST_SEQUENCES || f == MANY_SEQUENCES || f == NO_ITEMS) /* leave less to find */
        return 0;
    if (g >= OUT_ON_Q_STARTS && f >= Q_STARTS_LATE && f <= KV_STARTS_MISALIGNED)
        return 0;
    return 2; /* an output goes on top of the starts that f leaves */
}

TEST(packed_status_order)
{
    grid_check_order(faults, FAULTS, good_call, inflict, order_of);
}

/* Without texts the starts are not looked at, whatever they are; nor what stands behind the last of them. */
TEST(packed_status_off)
{
    grid_wrong s = good_call();
    size_t wrong[2] = {77, 3};
    ptrdiff_t offset = 0;
    attn_tensor want = test_tensor_like(s.c.out, T_BHLD);
    s.c.o.sequences = 0, s.c.o.q_starts = wrong, s.c.o.kv_starts = NULL;
    s.c.o.causal_offset = &offset;
    for (int function = 0; function < GRID_FUNCTIONS; function++)
        CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, NULL, 0), ATTN_OK);
    s.c.o.kv_starts = (const size_t *)(uintptr_t)3;
    s.c.o.q_starts = (const size_t *)(const void *)s.c.out.data; /* no overlap either */
    CHECK_STATUS(grid_ask(&s.c, GRID_SDPA, &s.ctx, NULL, 0), ATTN_OK);
    s.c.o.sequences = 1; /* one text, of which there is nothing */
    s.c.o.q_starts = s.c.o.kv_starts = starts_of(0, 0, SIZE_MAX, 1);
    CHECK_STATUS(grid_ask(&s.c, GRID_SDPA, &s.ctx, NULL, 0), ATTN_OK);
    test_fill_tensor(want, 0);
    CHECK(test_same_tensor_bits(s.c.out, want));
}

/* Tensors without rows, heads or values: starts are looked at all the same, and what there is comes out. */
TEST(packed_status_empty_shapes)
{
    for (int kind = 0; kind < 5; kind++)
        for (int function = 0; function < GRID_BACK; function++) {
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            size_t H = kind == 0 ? 0 : 2, rows = kind == 1 || kind == 3 ? 0 : 6, keys = kind == 2 || kind == 3 ? 0 : 6;
            grid_call c;
            memset(&c, 0, sizeof c);
            c.q = test_random_tensor(ATTN_F32, 1, H, rows, 3, T_BHLD);
            c.k = test_random_tensor(ATTN_F32, 1, H, keys, 3, T_BHLD);
            c.v = test_random_tensor(ATTN_F32, 1, H, keys, kind == 4 ? 0 : 3, T_BHLD);
            grid_plain_outputs(&c);
            c.o.sequences = TEXTS;
            c.o.q_starts = rows ? starts_of(0, 1, 1, 6) : starts_of(0, 0, 0, 0);
            c.o.kv_starts = keys ? starts_of(0, 1, 4, 5) : starts_of(0, 0, 0, 0);
            test_case("kind %d, %s", kind, grid_functions[function]);
            CHECK_STATUS(grid_ask(&c, function, &ctx, NULL, 0), ATTN_OK);
            c.o.q_starts = starts_of(0, 0, 0, rows + 1);
            test_freeze();
            CHECK_STATUS(grid_ask(&c, function, &ctx, NULL, 0), ATTN_ERR_VALUE);
            CHECK(test_wrote_nothing());
            test_release();
        }
}

/* What else takes options: a cache has no texts, a layer has. */
TEST(packed_status_elsewhere)
{
    enum { EMBED = 8 };
    attn_kv_cache cache;
    attn_tensor k = test_random_tensor(ATTN_F32, 1, 2, 6, 4, T_BHLD),
                q = test_random_tensor(ATTN_F32, 1, 2, 3, 4, T_BHLD);
    attn_tensor out = test_tensor(ATTN_F32, 1, 2, 3, 4, T_BHLD),
                x = test_random_tensor(ATTN_F32, 1, 1, 6, EMBED, T_BHLD);
    attn_tensor y = test_tensor(ATTN_F32, 1, 1, 6, EMBED, T_BHLD), two = test_tensor(ATTN_F32, 2, 1, 3, EMBED, T_BHLD);
    attn_mha_weights w;
    attn_opts o = {0};
    char text[GRID_TEXT];
    attn_dry_run dry = {5, text, sizeof text};
    o.sequences = TEXTS, o.q_starts = starts_of(0, 1, 1, 3), o.kv_starts = starts_of(0, 1, 4, 6);
    CHECK_STATUS(attn_kv_cache_init(&cache, 1, 2, 8, 4, 4, ATTN_F32, 0, NULL, 0), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_append(&cache, k, k, NULL), ATTN_OK);
    test_freeze();
    CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, NULL), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, test_dry(NULL, &dry)), ATTN_ERR_VALUE);
    CHECK(grid_names(text, "opts.sequences") && dry.scratch == 5 && test_wrote_nothing());
    o.sequences = 0;
    CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, NULL), ATTN_OK);
    attn_kv_cache_free(&cache);
    test_case("a layer");
    memset(&w, 0, sizeof w);
    w.heads = 2;
    w.wq = projection(ATTN_F32, EMBED, 8, PACKED), w.wk = projection(ATTN_F32, EMBED, 8, PACKED);
    w.wv = projection(ATTN_F32, EMBED, 8, PACKED), w.wo = projection(ATTN_F32, 8, EMBED, PACKED);
    o.sequences = TEXTS;
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, NULL), ATTN_OK);
    o.q_starts = starts_of(0, 1, 1, 7);
    test_freeze();
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, NULL), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, test_dry(NULL, &dry)), ATTN_ERR_VALUE);
    CHECK(grid_names(text, "opts.q_starts"));
    o.q_starts = o.kv_starts;
    o.weights = test_tensor(ATTN_F32, 1, 1, 6, 6, T_BHLD); /* the mean of heads */
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, NULL), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, test_dry(NULL, &dry)), ATTN_ERR_VALUE);
    o.weights = test_tensor(ATTN_F32, 1, 2, 6, 6, T_BHLD);
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, NULL), ATTN_ERR_VALUE);
    o.weights.data = NULL, memset(&o.weights, 0, sizeof o.weights);
    CHECK_STATUS(attn_mha(two, two, two, two, &w, &o, NULL), ATTN_ERR_SHAPE);
    CHECK_STATUS(attn_mha(two, test_tensor_like(two, T_BHLD), test_tensor_like(two, T_BHLD),
                          test_tensor_like(two, T_BHLD), &w, &o, test_dry(NULL, &dry)),
                 ATTN_ERR_SHAPE);
    CHECK(grid_names(text, "q") || grid_names(text, "opts.sequences"));
}
