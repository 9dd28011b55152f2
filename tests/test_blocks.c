/* Lists of key blocks: attn_sdpa and attn_sdpa_backward with opts.blocks have the bits of the equal mask, over a grid
   of shapes, lists, options, types, layouts and contexts in which every value meets every other; so do caches and
   layers. Then what is never read, work in proportion to what is listed, statuses and explanations.

   BLOCKS_CASE=N ./build/test blocks_grid runs case N alone. */
#include "mha.h"
#include "trial.h"

/* ---- the axes of the grid ---- */

static const size_t sizes_d[] = {1, 3, 8, 17, 64, 72, 128}, sizes_dv[] = {0, 1, 3, 16, 65, 100}; /* 0: D */
static const size_t lengths_q[] = {0, 1, 2, 3, 17, 49, 75, 130, 257};
static const size_t lengths_k[] = {0, 1, 17, 33, 127, 128, 129, 260, 513, 700, 1030, 1600, 3000};
static const size_t block_sizes[] = {1, 2, 3, 16, 48, 64, 100, 128, 200, 5000};
static const size_t groups[] = {1, 4, 7}, batches[] = {1, 3};
static const size_t windows[] = {0, 1, 2, 3, 4, TRIAL_WINDOWS - 1};
static const size_t masks[] = {0, MASKS - 1, 1 + 13, 1 + 9};                    /* all, rows, keys */
static const size_t biases[] = {0, MASKS - 1, 1 + 14, 1 + 9, BIAS_BY_DISTANCE}; /* all, heads, keys */

enum { LIST_EMPTY, LIST_FULL, LIST_ONE, LIST_TENTH, LIST_HALF, LIST_ADJACENT, LIST_ALTERNATING, LIST_MIXED, LISTS };
enum { OVER_ONE, OVER_KV, OVER_ALL, OVERS }; /* whose lists: all heads', key/value heads', each head's */
enum { SPOIL_NOTHING, SPOIL_HIDDEN, SPOIL_LISTED, SPOILT };

/* clang-format off */
static const struct grid_axis axes[TRIAL_AXES] = {
    AXIS_OF(D, sizes_d), AXIS_OF(DV, sizes_dv), AXIS_OF(LQ, lengths_q), AXIS_OF(LK, lengths_k), AXIS_OF(GROUP, groups),
    AXIS_OF(B, batches), AXIS_OF(BLOCK_Q, block_sizes), AXIS_OF(BLOCK_K, block_sizes), AXIS(LIST, LISTS),
    AXIS(LIST_BATCH, 2), AXIS(LIST_HEADS, OVERS), AXIS(LIST_WIDTH, 2), AXIS(SPOIL, SPOILT), AXIS_OF(WINDOW, windows),
    AXIS_OF(MASK, masks), AXIS(Q_LENS, LENS), AXIS(KV_LENS, LENS), AXIS(SCALE, 3), AXIS_OF(BIAS, biases),
    AXIS(BIAS_KIND, BIAS_BANDS), AXIS(BIAS_TYPE, TRIAL_FLOATS), AXIS(BIAS_GRAD, TRIAL_FLOATS), AXIS(DROPOUT, 2),
    AXIS(LSE, 1 + TRIAL_FLOATS), AXIS(WEIGHTS, 1 + TRIAL_FLOATS), AXIS(SCORES, 4), AXIS(SCORES_TYPE, TRIAL_FLOATS),
    AXES_OF_OPTIONS, AXES_OF_LAYOUTS, AXES_OF_GRADS, AXES_OF_CONTEXT, AXIS(INVARIANT, 2)
};
/* clang-format on */

/* Rows that see nothing are rare too. */
static grid_point sample_blocks(const grid *g, uint64_t seed, double bound)
{
    grid_point p = trial_sample(g, seed, bound);
    if (grid_roll(4)) {
        p.at[A_LIST] = p.at[A_LIST] == LIST_EMPTY ? LIST_HALF : p.at[A_LIST];
        p.at[A_WINDOW] = p.at[A_WINDOW] == 1 ? 0 : p.at[A_WINDOW];
    }
    return p;
}

/* clang-format off */
static const grid blocks_grid = {
    TRIAL_GRID("blocks_grid", "BLOCKS_CASE"), .first = {A_LQ, A_LK}, .cost = trial_cost, .bound = {2e5, 5e3},
     .sample = sample_blocks, .samples = {60, 10}, .sample_bound = {3e5, 5e4}
};
/* clang-format on */

/* ---- lists ---- */

static size_t ceil_of(size_t n, size_t size)
{
    return n / size + (n % size > 0);
}

static uint32_t *list_of(const attn_blocks *blocks, size_t rows, size_t b, size_t h, size_t s, uint32_t **count)
{
    size_t at = (b * blocks->heads + h) * rows + s;
    *count = (uint32_t *)(uintptr_t)blocks->count + at;
    return (uint32_t *)(uintptr_t)blocks->index + at * blocks->width;
}

/* Whether block number n of so many is listed, by the dice. */
static int is_listed(int kind, size_t n, size_t all, size_t only)
{
    switch (kind) {
    case LIST_EMPTY: return 0;
    case LIST_FULL: return 1;
    case LIST_ONE: return n == only;
    case LIST_TENTH: return grid_roll(10) == 0;
    case LIST_HALF: return grid_roll(2) == 0;
    case LIST_ADJACENT: return n >= only / 2 && n < only / 2 + 1 + all / 4; /* a run */
    default: return (n + only) % 2 == 0;
    }
}

/* Random lists for shapes that are known. Entries that are not in use hold garbage. */
static attn_blocks make_lists(size_t q_len, size_t kv_len, size_t batch, size_t heads, size_t Lq, size_t Lk, int kind,
                              size_t spare)
{
    attn_blocks blocks;
    size_t rows = ceil_of(Lq, q_len), all = ceil_of(Lk, kv_len), lists = batch * heads * rows;
    memset(&blocks, 0, sizeof blocks);
    blocks.q_len = q_len, blocks.kv_len = kv_len, blocks.batch = batch, blocks.heads = heads;
    blocks.width = (kind == LIST_EMPTY ? 0 : kind == LIST_ONE ? 1 : all) + spare;
    blocks.index = test_block(lists * blocks.width * sizeof *blocks.index + 4);
    blocks.count = test_block(lists * sizeof *blocks.count + 4);
    for (size_t b = 0; b < batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t s = 0; s < rows; s++) {
                uint32_t *count, *list = list_of(&blocks, rows, b, h, s, &count), used = 0;
                int one = kind == LIST_MIXED ? (int)grid_roll(LIST_MIXED) : kind;
                size_t only = grid_roll(all + !all);
                for (size_t n = 0; n < all; n++)
                    if (is_listed(one, n, all, only))
                        list[used++] = (uint32_t)n;
                *count = used;
            }
    return blocks;
}

/* Whether query i of head h of H, on Hkv, sees key j by the lists. */
static int lists_show(const attn_blocks *blocks, size_t H, size_t Hkv, size_t Lq, size_t b, size_t h, size_t i,
                      size_t j)
{
    uint32_t *count, *list = list_of(blocks, ceil_of(Lq, blocks->q_len), blocks->batch == 1 ? 0 : b,
                                     blocks->heads == 1   ? 0
                                     : blocks->heads == H ? h
                                                          : h / (H / Hkv),
                                     i / blocks->q_len, &count);
    uint32_t low = 0, high = *count;
    while (low < high) { /* the first that is not before j's block */
        uint32_t middle = low + (high - low) / 2;
        if (list[middle] < j / blocks->kv_len)
            low = middle + 1;
        else
            high = middle;
    }
    return low < *count && list[low] == j / blocks->kv_len;
}

/* The equal mask, of what the lists and the mask of the options both show. */
static attn_tensor equal_mask(const attn_opts *o, size_t B, size_t H, size_t Hkv, size_t Lq, size_t Lk)
{
    attn_tensor t = test_tensor(ATTN_BOOL, B, H, Lq, Lk, T_BHLD), m = o->mask;
    int masked = !test_absent_tensor(m);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < Lq; i++) {
                unsigned char *row = Lk ? test_tensor_at(t, b, h, i, 0) : NULL;
                for (size_t j = 0; j < Lk; j++) {
                    int shown = lists_show(&o->blocks, H, Hkv, Lq, b, h, i, j);
                    if (shown && masked)
                        shown = *(unsigned char *)test_tensor_at(m, m.batch == 1 ? 0 : b, m.heads == 1 ? 0 : h,
                                                                 m.len == 1 ? 0 : i, m.dim == 1 ? 0 : j) != 0;
                    row[j] = (unsigned char)shown;
                }
            }
    return t;
}

static attn_opts with_mask(const attn_opts *o, size_t B, size_t H, size_t Hkv, size_t Lq, size_t Lk)
{
    attn_opts masked = *o;
    masked.mask = equal_mask(o, B, H, Hkv, Lq, Lk);
    memset(&masked.blocks, 0, sizeof masked.blocks);
    return masked;
}

/* The instruction set whose bits lists have: with an odd kv_len they keep off pairs, which a mask does not. */
static attn_isa isa_of_mask(const attn_opts *lists, attn_isa isa)
{
    return lists->blocks.kv_len % 2 ? test_without_pairs(isa) : isa;
}

/* ---- one case ---- */

static void make_blocks(trial *t, const grid_point *p)
{
    int over = p->at[A_LIST_HEADS];
    size_t batch = p->at[A_LIST_BATCH] ? t->B : 1, heads = over == OVER_ONE ? 1 : over == OVER_KV ? t->Hkv : t->H;
    t->c.o.blocks = make_lists(block_sizes[p->at[A_BLOCK_Q]], block_sizes[p->at[A_BLOCK_K]], batch, heads, t->Lq, t->Lk,
                               p->at[A_LIST], p->at[A_LIST_WIDTH] ? 3 : 0);
}

/* NaN and infinities in a few rows of k and v: those that a list of the head's shows to any query, or those that none
   does. Those that rows see act as they do with a mask, the others not at all. */
static void spoil(trial *t, const grid_point *p)
{
    static const double garbage[] = {NAN, HUGE_VAL, -HUGE_VAL};
    int layout[2];
    layout[0] = p->at[A_K_LAYOUT], layout[1] = p->at[A_V_LAYOUT];
    for (size_t b = 0; b < t->B; b++)
        for (size_t g = 0; g < t->Hkv; g++)
            for (size_t j = 0; j < t->Lk; j++) {
                int shown = 0;
                for (size_t h = g * (t->H / t->Hkv); h < (g + 1) * (t->H / t->Hkv); h++)
                    for (size_t i = 0; i < t->Lq && !shown; i += t->c.o.blocks.q_len)
                        shown = lists_show(&t->c.o.blocks, t->H, t->Hkv, t->Lq, b, h, i, j);
                if (shown != (p->at[A_SPOIL] == SPOIL_LISTED) || (shown && grid_roll(40)))
                    continue;
                for (int side = 0; side < 2; side++)
                    if (layout[side] < T_OUT_LAYOUTS && (!shown || grid_roll(2)))
                        test_tensor_set(side ? t->c.v : t->c.k, b, g, j, grid_roll(side ? t->Dv : t->D),
                                        garbage[grid_roll(3)]);
            }
}

static void make(trial *t, const grid_point *p, uint64_t seed)
{
    trial_make(t, &blocks_grid, p, seed);
    make_blocks(t, p);
    if (p->at[A_SPOIL])
        spoil(t, p);
}

/* ---- a case ---- */

static int run_at(const trial *t, const grid_point *p, int which, attn_isa isa)
{
    return grid_run(&t->c, which, isa, p->at[A_RUNNER], trial_widths[p->at[A_WIDTH]], p->at[A_SCRATCH]);
}

static int check_forward(const trial *t, const attn_opts *masked, const grid_point *p, attn_isa isa)
{
    trial lists = *t, want = *t;
    int good;
    want.c.o = *masked;
    trial_outputs(&lists, p, GRID_FORWARD), trial_outputs(&want, p, GRID_FORWARD);
    good = run_at(&lists, p, GRID_FORWARD, isa);
    good &= grid_run(&want.c, GRID_FORWARD, isa_of_mask(&t->c.o, isa), GRID_ALONE, 1, GRID_NO_SCRATCH);
    return good & CHECK(grid_same_outputs(&lists.c, &want.c, GRID_FORWARD));
}

static int check_backward(const trial *t, const attn_opts *masked, const grid_point *p, attn_isa isa)
{
    trial lists = *t, want;
    int good;
    trial_outputs(&lists, p, GRID_BACKWARD);
    good = grid_run(&lists.c, GRID_FORWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH);
    want = lists;
    want.c.o = *masked;
    want.c.o.lse = lists.c.o.lse;
    trial_grads(&lists, p, ALL_GRADS), trial_grads(&want, p, ALL_GRADS);
    good &= run_at(&lists, p, GRID_BACKWARD, isa);
    good &= grid_run(&want.c, GRID_BACKWARD, isa, GRID_ALONE, 1, GRID_NO_SCRATCH);
    good &= CHECK(grid_same_outputs(&lists.c, &want.c, GRID_BACKWARD));
    return good;
}

static int run_case(long number, const grid_point *p)
{
    trial t;
    attn_opts masked;
    int good = 1;
    test_case("BLOCKS_CASE=%ld", number);
    make(&t, p, (uint64_t)number);
    for (size_t b = 0; b < t.B; b++) /* ALiBi's distances are floats: past 2^24 they round by where a run of keys begins */
        if (t.c.o.causal_offset && (t.offsets[b] > 1 << 24 || t.offsets[b] < -(1 << 24)))
            t.c.o.alibi_slopes = NULL;
    masked = with_mask(&t.c.o, t.B, t.H, t.Hkv, t.Lq, t.Lk);
    FOR_ISAS_OF_CASE (isa, trial_type(p->at[A_TYPES], 0), (size_t)number) {
        test_case("BLOCKS_CASE=%ld, %s", number, attn_isa_string(isa));
        good &= check_forward(&t, &masked, p, isa);
        test_case("BLOCKS_CASE=%ld, backward, %s", number, attn_isa_string(isa));
        good &= check_backward(&t, &masked, p, isa);
    }
    return good & CHECK(!t.user.strayed);
}

TEST(blocks_grid)
{
    grid_test(&blocks_grid, run_case);
}

/* ---- long contexts ---- */

/* A call with random views, and lists: without other options. */
static void plain_call(grid_call *c, attn_dtype dtype, size_t B, size_t H, size_t Hkv, size_t Lq, size_t Lk, size_t D,
                       int layout)
{
    memset(c, 0, sizeof *c);
    grid_dice = test_random();
    c->q = test_random_tensor(dtype, B, H, Lq, D, layout);
    c->k = test_random_tensor(dtype, B, Hkv, Lk, D, layout), c->v = test_random_tensor(dtype, B, Hkv, Lk, D, layout);
    c->dout = test_random_tensor(dtype, B, H, Lq, D, T_BHLD);
}

static attn_opts mask_of(const grid_call *c)
{
    return with_mask(&c->o, c->q.batch, c->q.heads, c->k.heads, c->q.len, c->k.len);
}

/* Decoding and prefill over many tiles and splits, in every width, on every runner, with and without scratch: the same
   bits, which are those of the mask. */
TEST(blocks_contexts)
{
    static const struct {
        size_t B, H, Hkv, Lq, Lk, q_len, kv_len;
        int kind, over;
    } cases[] = {
        {1, 4, 1, 1, 3000, 1, 1, LIST_TENTH, OVER_ONE},   /* top-k */
        {2, 8, 2, 1, 1600, 1, 1, LIST_TENTH, OVER_ALL},   /* each head's own */
        {1, 4, 1, 2, 2100, 1, 64, LIST_HALF, OVER_KV},    /* a few rows, of which each has its list */
        {1, 2, 2, 3, 2600, 5000, 16, LIST_ONE, OVER_ALL}, /* one block of sixteen keys */
        {1, 1, 1, 130, 1100, 64, 64, LIST_TENTH, OVER_ONE},      {2, 4, 2, 100, 530, 16, 48, LIST_HALF, OVER_ALL},
        {1, 2, 1, 200, 700, 3, 100, LIST_ALTERNATING, OVER_ALL}, {1, 2, 1, 75, 1300, 64, 128, LIST_MIXED, OVER_KV},
        {1, 1, 1, 60, 2000, 1, 1, LIST_TENTH, OVER_ONE},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        FOR_EACH_ISA (isa) {
            grid_call c, want;
            size_t heads = cases[n].over == OVER_ONE ? 1 : cases[n].over == OVER_KV ? cases[n].Hkv : cases[n].H;
            plain_call(&c, test_floats[n % 4], cases[n].B, cases[n].H, cases[n].Hkv, cases[n].Lq, cases[n].Lk, 8,
                       n % 2 ? T_BLHD : T_BHLD);
            c.o.blocks = make_lists(cases[n].q_len, cases[n].kv_len, n % 3 ? cases[n].B : 1, heads, cases[n].Lq,
                                    cases[n].Lk, cases[n].kind, n % 4);
            c.o.causal = n % 3 == 2 ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
            want = c;
            want.o = mask_of(&c);
            test_case("case %zu, %s, the mask", n, attn_isa_string(isa));
            CHECK(grid_both_ways(&want, isa_of_mask(&c.o, isa), GRID_ALONE, 1, GRID_NO_SCRATCH));
            for (int m = (int)n % 5; m < 4 * GRID_RUNS * GRID_SCRATCHES; m += test_quick ? 13 : 5) {
                int width = m % 4, runner = m / 4 % GRID_RUNS, scratch = m / 4 / GRID_RUNS;
                grid_call got = c;
                test_case("case %zu, %s, width %d, runner %d, scratch %d", n, attn_isa_string(isa),
                          (int)trial_widths[width], runner, scratch);
                CHECK(grid_both_ways(&got, isa, runner, trial_widths[width], scratch));
                CHECK(grid_same_both_ways(&got, &want));
            }
            test_release();
        }
}

/* What depends on the number of a key, where runs of listed keys are shorter than a vector: for few rows, whose keys
   lie on the lanes, and for many. One option at a time, then some together. */
TEST(blocks_runs)
{
    enum {
        BIAS = 1,
        SOFTCAP = 2,
        ALIBI = 4,
        MOD = 8,
        MASK = 16,
        WINDOW = 32,
        DROPOUT = 64,
        WEIGHTS = 128,
        LENGTHS = 256
    };
    static const int options[] = {BIAS,
                                  SOFTCAP,
                                  ALIBI,
                                  MOD,
                                  MASK,
                                  WINDOW,
                                  DROPOUT,
                                  WEIGHTS,
                                  LENGTHS,
                                  BIAS | SOFTCAP,
                                  ALIBI | SOFTCAP,
                                  BIAS | ALIBI,
                                  BIAS | WINDOW,
                                  MOD | MASK,
                                  MASK | WINDOW | LENGTHS,
                                  BIAS | ALIBI | MOD | WINDOW,
                                  SOFTCAP | BIAS | ALIBI | MOD | MASK | WINDOW | LENGTHS,
                                  SOFTCAP | BIAS | ALIBI | MOD | MASK | WINDOW | LENGTHS | DROPOUT};
    static const size_t rows[] = {1, 3, 40}, kv_lens[] = {1, 2, 3, 7}, q_lens[] = {2}, keys[] = {330};
    static const float slopes[] = {0.5f, 0.25f};
    for (size_t n = 0; n < sizeof options / sizeof *options * 3; n++)
        for (size_t m = 0; m < 4; m++)
            FOR_EACH_ISA (isa) {
                enum { LK = 340 };
                size_t Lq = rows[n % 3];
                int what = options[n / 3];
                grid_bend user = {0};
                grid_call c, want;
                plain_call(&c, test_floats[(n / 3 + m) % 4], 1, 2, 1, Lq, LK, 8, m % 2 ? T_BHLD : T_BLHD);
                c.o.blocks = make_lists(m % 2 ? 1 : 16, kv_lens[m], 1, m / 2 + 1, Lq, LK,
                                        (n + m) % 2 ? LIST_HALF : LIST_ALTERNATING, 0);
                c.o.softcap = what & SOFTCAP ? 2 : 0;
                c.o.alibi_slopes = what & ALIBI ? slopes : NULL;
                c.o.dropout.p = what & DROPOUT ? 0.4 : 0;
                c.o.window.on = (what & WINDOW) != 0, c.o.window.left = 201, c.o.window.right = 3;
                c.o.causal = what & WINDOW ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
                c.o.q_lens = what & LENGTHS ? q_lens : NULL, c.o.kv_lens = what & LENGTHS ? keys : NULL;
                if (Lq == 1 && what & LENGTHS)
                    c.o.q_lens = NULL;
                if (what & BIAS)
                    c.o.bias = test_random_tensor(m == 3 ? ATTN_F16 : c.q.dtype, 1, 2, Lq, LK, T_BHLD);
                if (what & MASK)
                    c.o.mask = test_random_tensor(ATTN_BOOL, 1, 1, Lq, LK, T_BHLD);
                user.f64 = c.q.dtype == ATTN_F64, user.B = 1, user.H = 2, user.Lq = Lq, user.Lk = LK;
                c.o.score_mod = what & MOD ? grid_bend_scores : NULL, c.o.score_mod_user = &user;
                c.g.score_mod_grad = what & MOD ? grid_bend_back : NULL;
                want = c;
                want.o = mask_of(&c);
                if (what & WEIGHTS) {
                    c.o.weights = test_tensor(ATTN_F32, 1, 2, Lq, LK, T_BHLD);
                    want.o.weights = test_tensor(ATTN_F32, 1, 2, Lq, LK, T_BHLD);
                }
                test_case("%s, %s, options %d, %zu queries, blocks of %zu", attn_isa_string(isa),
                          test_dtype_name(c.q.dtype), what, Lq, kv_lens[m]);
                CHECK(grid_both_ways(&c, isa, GRID_ALONE, 1, GRID_EXACT));
                CHECK(grid_both_ways(&want, isa_of_mask(&c.o, isa), GRID_ALONE, 1, GRID_NO_SCRATCH));
                CHECK(grid_same_both_ways(&c, &want) && !user.strayed);
                test_release();
            }
}

/* A mask that hides halves of tiles, which are left out then, alone and beside lists that name keys of the other half,
   of none or of both. */
TEST(blocks_masked_halves)
{
    enum { LK = 400, HALF = 64 };
    static const size_t rows[] = {1, 40, 100}, kv_lens[] = {16, 64, 1};
    for (unsigned hidden = 0; hidden < 1u << 6; hidden += test_quick ? 5 : 1)
        FOR_EACH_ISA (isa) {
            size_t Lq = rows[hidden % 3], kv_len = kv_lens[hidden / 3 % 3];
            grid_call c, want;
            plain_call(&c, test_floats[hidden % 4], 1, 2, 1, Lq, LK, 8, T_BHLD);
            c.o.blocks = make_lists(Lq, kv_len, 1, 1, Lq, LK, hidden % 2 ? LIST_TENTH : LIST_ALTERNATING, 0);
            c.o.mask = test_random_tensor(ATTN_BOOL, 1, 1, Lq, LK, T_BHLD);
            for (size_t i = 0; i < Lq; i++)
                for (size_t j = 0; j < LK; j++)
                    if (j / HALF < 6)
                        test_tensor_set(c.o.mask, 0, 0, i, j, !(hidden >> j / HALF & 1) && (j % 3 > 0 || j / HALF % 2));
            want = c;
            want.o = mask_of(&c);
            test_case("%s, halves %u hidden, %zu queries, blocks of %zu", attn_isa_string(isa), hidden, Lq, kv_len);
            CHECK(grid_both_ways(&c, isa, GRID_ALONE, 1, GRID_EXACT));
            CHECK(grid_both_ways(&want, isa_of_mask(&c.o, isa), GRID_ALONE, 1, GRID_NO_SCRATCH));
            CHECK(grid_same_both_ways(&c, &want));
            c.o.weights = test_tensor(ATTN_F32, 1, 2, Lq, LK, T_BHLD); /* then no half is left out */
            want = c;
            memset(&c.o.blocks, 0, sizeof c.o.blocks), memset(&want.o.blocks, 0, sizeof want.o.blocks);
            memset(&c.o.weights, 0, sizeof c.o.weights);
            CHECK(grid_both_ways(&c, isa, GRID_ALONE, 1, GRID_EXACT));
            CHECK(grid_both_ways(&want, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            CHECK(test_same_tensor_bits(c.out, want.out));
            test_release();
        }
}

/* Blocks of any size, up to the largest there is: one block of everything. */
TEST(blocks_huge_sizes)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, (size_t)PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1,
                                   SIZE_MAX / 2 + 7};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 10; n++) {
            grid_call c, want;
            plain_call(&c, ATTN_F32, 2, 2, 1, n % 2 ? 3 : 60, 140, 4, T_BHLD);
            c.o.blocks =
                make_lists(n < 5 ? sizes[n % 5] : 7, n < 5 ? 9 : sizes[n % 5], 2, 2, c.q.len, c.k.len, LIST_MIXED, 1);
            test_case("case %zu, %s", n, attn_isa_string(isa));
            want = c;
            want.o = mask_of(&c);
            CHECK(grid_both_ways(&c, isa, GRID_THREADS, 2, GRID_EXACT));
            CHECK(grid_both_ways(&want, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            CHECK(grid_same_both_ways(&c, &want));
            test_release();
        }
}

/* ---- in proportion to what is listed ---- */

static long tiles_of(grid_call *c, attn_isa isa)
{
    long before = test_tiles;
    attn_ctx ctx = test_ctx(isa);
    grid_plain_outputs(c);
    CHECK_STATUS(grid_ask(c, GRID_SDPA, &ctx, NULL, 0), ATTN_OK);
    return test_tiles - before;
}

static int are_few(const grid_call *c, attn_isa isa)
{
    attn_ctx ctx = test_ctx(isa);
    char text[GRID_TEXT];
    CHECK_STATUS(grid_ask(c, GRID_DRY, &ctx, text, sizeof text), ATTN_OK);
    return strstr(text, "terms of dot products lie on lanes") != NULL;
}

/* Of the tiles of 128 keys, or of 256 where rows are few, no more are computed than hold a listed key. */
TEST(blocks_tiles)
{
    static const size_t rows[] = {1, 2, 17, 300};
    enum { LK = 4096, MOST_TILES = LK / 128 };
    for (int n = 0; n < 4 * LISTS; n++)
        FOR_EACH_ISA (isa) {
            static const size_t kv_lens[] = {1, 16, 64, 128, 256};
            size_t Lq = rows[n % 4], kv_len = kv_lens[(n + n / 4) % 5], shown = 0;
            int kind = n / 4 == LIST_TENTH && kv_len < 64 ? LIST_ONE : n / 4;
            size_t tile_keys, tiles;
            grid_call c;
            long all, listed;
            uint32_t *count, *list;
            unsigned char holds[MOST_TILES] = {0};
            plain_call(&c, n % 3 ? ATTN_F32 : test_wide, 1, 2, 1, Lq, LK, 2, T_BHLD);
            c.batch_invariant = n / 4 % 2;
            all = tiles_of(&c, isa);
            tile_keys = are_few(&c, isa) ? 256 : 128, tiles = LK / tile_keys;
            c.o.blocks = make_lists(Lq, kv_len, 1, 1, Lq, LK, kind, 0);
            list = list_of(&c.o.blocks, 1, 0, 0, 0, &count);
            for (size_t m = 0; m < *count; m++)
                for (size_t j = list[m] * kv_len; j < (list[m] + 1) * kv_len; j++)
                    holds[j / tile_keys] = 1;
            for (size_t tile = 0; tile < tiles; tile++)
                shown += holds[tile];
            listed = tiles_of(&c, isa);
            test_case("%s, %zu queries, blocks of %zu, kind %d: %ld of %ld tiles", attn_isa_string(isa), Lq, kv_len,
                      kind, listed, all);
            CHECK(all > 0 && all % (long)tiles == 0);
            CHECK(listed <= all / (long)tiles * (long)shown && (listed > 0) == (shown > 0));
            test_release();
        }
}

/* A mask hides each key of a tile that is listed, and shows the others: nothing is computed. Nor do lists count that
   other queries have, which name keys that are shown to them. */
TEST(blocks_tiles_masked)
{
    enum { LK = 256, TILE = 128, ROWS = 16 };
    for (int n = 0; n < 8; n++)
        FOR_EACH_ISA (isa) {
            int copied = n & 1, last = n & 2, all = n & 4; /* list of the other rows too, or but a key of theirs */
            size_t rows = last ? 2 * ROWS : ROWS;
            attn_dtype type = copied ? ATTN_F16 : ATTN_F32;
            grid_call c;
            uint32_t *count, *list;
            long with;
            plain_call(&c, type, 1, 1, 1, rows, LK, 8, T_BHLD);
            c.o.blocks = make_lists(ROWS, 1, 1, 1, rows, LK, LIST_ALTERNATING, 0);
            c.o.mask = test_tensor(ATTN_BOOL, 1, 1, rows, LK, T_BHLD);
            list = list_of(&c.o.blocks, last ? 2 : 1, 0, 0, last ? 1 : 0, &count);
            *count = all ? TILE / 2 : 1;
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < LK; j++)
                    test_tensor_set(c.o.mask, 0, 0, i, j, 1);
            for (size_t i = rows - ROWS; i < rows; i++)
                for (size_t m = 0; m < *count; m++)
                    test_tensor_set(c.o.mask, 0, 0, i, list[m], 0);
            with = tiles_of(&c, isa);
            *count = 0;
            test_case("%s, case %d", attn_isa_string(isa), n);
            CHECK(with == tiles_of(&c, isa) && (with > 0) == (last > 0));
            test_release();
        }
}

/* Lists of a tenth for each 64 queries: what a block of queries meets is what a few of them list. */
TEST(blocks_tiles_sparse)
{
    enum { L = 1024, BLOCK = 64, ROWS = L / BLOCK, LISTED = 2, TILES = L / 128 };
    FOR_EACH_ISA (isa) {
        grid_call c;
        long all, listed;
        plain_call(&c, ATTN_F32, 1, 1, 1, L, L, 2, T_BHLD);
        all = tiles_of(&c, isa);
        c.o.blocks = make_lists(BLOCK, BLOCK, 1, 1, L, L, LIST_EMPTY, LISTED);
        test_case("%s, empty lists", attn_isa_string(isa));
        CHECK(tiles_of(&c, isa) == 0);
        for (size_t s = 0; s < ROWS; s++) { /* itself, and one before it */
            uint32_t *count, *list = list_of(&c.o.blocks, ROWS, 0, 0, s, &count);
            list[0] = (uint32_t)(s * s % (s + 1)), list[1] = (uint32_t)s;
            *count = list[0] < s ? 2 : 1;
            if (*count == 1)
                list[0] = (uint32_t)s;
        }
        listed = tiles_of(&c, isa);
        test_case("%s, %ld of %ld tiles", attn_isa_string(isa), listed, all);
        CHECK(listed > 0 && listed <= all * 2 * LISTED / TILES); /* a block of queries meets two lists at most */
        test_release();
    }
}

/* ---- what is never read ---- */

typedef struct holes {
    grid_call c;
    attn_isa isa;
} holes;

/* Rows of k or v; those of keys that no query lists cannot be read. */
static attn_tensor with_holes(const grid_call *c, attn_tensor from)
{
    unsigned char *hidden = test_block(from.heads * from.len);
    size_t group = c->q.heads / from.heads;
    for (size_t n = 0; n < from.heads * from.len; n++) {
        hidden[n] = 1;
        for (size_t r = 0; r < group * c->q.len && hidden[n]; r++)
            hidden[n] = !lists_show(&c->o.blocks, c->q.heads, from.heads, c->q.len, 0,
                                    n / from.len * group + r / c->q.len, r % c->q.len, n % from.len);
    }
    return test_rows_apart(from, 0, hidden);
}

static void attend_over_holes(void *arg)
{
    holes *w = arg;
    grid_plain_outputs(&w->c);
    CHECK(grid_run(&w->c, GRID_FORWARD, w->isa, GRID_ALONE, 1, GRID_EXACT));
}

/* Keys that no query lists are not read, whatever lies beside them. */
TEST(blocks_never_read)
{
    static const struct {
        size_t Lq, Lk, q_len, kv_len;
        int kind;
    } cases[] = {{1, 300, 1, 1, LIST_TENTH},          {1, 200, 1, 16, LIST_HALF},   {3, 150, 1, 3, LIST_TENTH},
                 {20, 300, 16, 64, LIST_ONE},         {60, 260, 64, 16, LIST_HALF}, {60, 140, 48, 1, LIST_TENTH},
                 {2, 600, 2, 100, LIST_ONE},          {70, 200, 3, 2, LIST_ONE},    {1, 130, 1, 48, LIST_EMPTY},
                 {50, 300, 200, 48, LIST_ALTERNATING}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        FOR_ISAS_OF_CASE (isa, ATTN_BF16, n)
            for (int over = 0; over < OVERS; over++) {
                holes w;
                grid_call want;
                plain_call(&w.c, test_floats[(n + (size_t)over) % 4], 1, 4, 2, cases[n].Lq, cases[n].Lk, n % 2 ? 8 : 5,
                           T_BHLD);
                w.isa = isa;
                w.c.o.blocks = make_lists(cases[n].q_len, cases[n].kv_len, 1,
                                          over == OVER_ONE  ? 1
                                          : over == OVER_KV ? 2
                                                            : 4,
                                          cases[n].Lq, cases[n].Lk, cases[n].kind, 0);
                want = w.c;
                want.o = mask_of(&w.c);
                grid_plain_outputs(&want);
                CHECK(grid_run(&want, GRID_FORWARD, isa_of_mask(&w.c.o, isa), GRID_ALONE, 1, GRID_NO_SCRATCH));
                w.c.k = with_holes(&w.c, w.c.k), w.c.v = with_holes(&w.c, w.c.v);
                test_case("case %zu, lists of kind %d, %s", n, over, attn_isa_string(isa));
                if (CHECK(test_keeps_off_fences(attend_over_holes, &w)))
                    CHECK(grid_same_outputs(&w.c, &want, GRID_FORWARD));
                test_release();
            }
}

/* Lists end where there is no more memory; of what they have room for, only what is counted is looked at. */
typedef struct fenced_lists {
    grid_call c;
    attn_isa isa;
} fenced_lists;

static void attend_fenced(void *arg)
{
    fenced_lists *f = arg;
    CHECK(grid_both_ways(&f->c, f->isa, GRID_ALONE, 1, GRID_EXACT));
}

static const uint32_t *fenced(const uint32_t *from, size_t count, int low)
{
    uint32_t *at = test_fenced(count * sizeof *at, low);
    memcpy(at, from, count * sizeof *at);
    return at;
}

TEST(blocks_fences)
{
    for (int n = 0; n < 16; n++)
        FOR_EACH_ISA (isa) {
            fenced_lists f;
            size_t rows = n % 3 ? 50 : 1, lists;
            grid_call want;
            plain_call(&f.c, n % 2 ? ATTN_F32 : test_wide, 2, 4, 2, rows, 300, 4, T_BHLD);
            f.isa = isa;
            f.c.o.blocks = make_lists(n % 4 ? 16 : 1, n % 5 ? 16 : 1, 1 + (size_t)n % 2, n % 4 == 3 ? 4 : 2, rows, 300,
                                      LIST_MIXED, 0);
            lists = f.c.o.blocks.batch * f.c.o.blocks.heads * ceil_of(rows, f.c.o.blocks.q_len);
            want = f.c;
            want.o = mask_of(&f.c);
            f.c.o.blocks.index = fenced(f.c.o.blocks.index, lists * f.c.o.blocks.width, n / 8);
            f.c.o.blocks.count = fenced(f.c.o.blocks.count, lists, n / 8);
            test_case("case %d, %s", n, attn_isa_string(isa));
            CHECK(grid_both_ways(&want, isa, GRID_ALONE, 1, GRID_NO_SCRATCH));
            if (CHECK(test_keeps_off_fences(attend_fenced, &f)))
                CHECK(grid_same_both_ways(&f.c, &want));
            test_release();
        }
}

/* Scratch is the same for other lists of the same room. */
TEST(blocks_scratch)
{
    static const int lists[] = {LIST_FULL, LIST_EMPTY, LIST_HALF};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 8; n++) {
            test_runner runner;
            attn_ctx ctx = grid_context(isa, GRID_REVERSED, 1 + n % 4, &runner);
            size_t bytes[3], room = ceil_of(500, 16);
            grid_call c;
            plain_call(&c, ATTN_F32, 1, 4, 2, n % 2 ? 1 : 100, 500, 8, T_BHLD);
            grid_plain_outputs(&c);
            test_case("case %zu, %s", n, attn_isa_string(isa));
            for (int m = 0; m < 3; m++) {
                c.o.blocks =
                    make_lists(16, 16, 1, n / 4 ? 1 : 4, c.q.len, 500, lists[m], lists[m] == LIST_EMPTY ? room : 0);
                bytes[m] = grid_scratch(&c, GRID_FORWARD, &ctx);
                CHECK(bytes[m] == bytes[0]);
            }
            grid_check_less(&c, GRID_FORWARD, &ctx);
            test_release();
        }
}

/* ---- caches ---- */

typedef struct cache_call {
    attn_tensor q, out;
    attn_opts o;
} cache_call;

static void run_cache(cache_call *c, const attn_kv_cache *cache, attn_isa isa, size_t width, int scratch, size_t Lk)
{
    test_runner runner;
    attn_ctx ctx = test_ctx(isa);
    attn_tensor outs[4];
    attn_dry_run dry = {0};
    size_t B = c->q.batch, H = c->q.heads, Lq = c->q.len;
    memset(outs, 0, sizeof outs);
    outs[0] = c->out = test_tensor(ATTN_F32, B, H, Lq, cache->v.dim, T_BHLD);
    outs[1] = c->o.lse = test_tensor(ATTN_F32, B, H, Lq, 1, T_BHLD);
    outs[2] = c->o.weights = test_tensor(ATTN_F32, B, H, Lq, Lk, T_BHLD);
    outs[3] = c->o.scores = test_tensor(ATTN_F32, B, H, Lq, Lk, T_BHLD);
    ctx.parallel = test_threads(&runner, width);
    if (scratch) {
        CHECK_STATUS(attn_kv_cache_attend(c->out, c->q, cache, &c->o, test_dry(&ctx, &dry)), ATTN_OK);
        test_scratch(&ctx, dry.scratch, Lk % 2 == 1);
    }
    test_freeze();
    CHECK_STATUS(attn_kv_cache_attend(c->out, c->q, cache, &c->o, &ctx), ATTN_OK);
    CHECK(test_wrote_only_tensors(outs, 4));
}

/* Lists number the tokens of a cache, of every type and of a ring: bits are those of the mask. */
TEST(blocks_cache)
{
    static const attn_dtype kinds[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
    static const size_t queries[] = {1, 1, 3, 20}, lens[] = {200, 137, 1};
    for (int n = 0; n < (test_quick ? 16 : 48); n++)
        FOR_EACH_ISA (isa) {
            enum { B = 3, H = 4, HKV = 2, D = 8, DV = 5, CAPACITY = 100, GIVEN = 150 };
            int ring = n / 4 % 2, over = n % OVERS;
            size_t Lq = queries[n / 8 % 4], Lk = ring ? GIVEN : lens[0], q_len = block_sizes[n % 6];
            attn_tensor k, v;
            attn_kv_cache cache;
            cache_call lists, masked;
            memset(&lists, 0, sizeof lists);
            grid_dice = (uint64_t)n;
            CHECK_STATUS(
                attn_kv_cache_init(&cache, B, HKV, ring ? CAPACITY : lens[0], D, DV, kinds[n % 4], ring, NULL, 0),
                ATTN_OK);
            for (int part = 0; part < 1 + ring; part++) { /* a ring drops the first tokens */
                k = test_random_tensor(ATTN_F32, B, HKV, ring ? GIVEN / 2 : lens[0], D, T_BHLD);
                v = test_random_tensor(ATTN_F32, B, HKV, ring ? GIVEN / 2 : lens[0], DV, T_BHLD);
                CHECK_STATUS(attn_kv_cache_append(&cache, k, v, ring ? NULL : lens), ATTN_OK);
            }
            lists.q = test_random_tensor(n % 5 ? ATTN_F32 : ATTN_BF16, B, H, Lq, D, T_BHLD);
            lists.o.causal = n % 3 || ring ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
            lists.o.window.on = ring, lists.o.window.left = CAPACITY - 20, lists.o.window.right = -1;
            lists.o.scores_stage = (attn_stage)(n % 3);
            lists.o.blocks = make_lists(q_len, block_sizes[(n + n / 6) % 8], n % 2 ? B : 1,
                                        over == OVER_ONE  ? 1
                                        : over == OVER_KV ? HKV
                                                          : H,
                                        Lq, Lk, n % 4 ? LIST_HALF : LIST_MIXED, 1);
            masked = lists;
            masked.o = with_mask(&lists.o, B, H, HKV, Lq, Lk);
            test_case("%s%s, %zu queries, %s, case %d", ring ? "ring of " : "", test_dtype_name(kinds[n % 4]), Lq,
                      attn_isa_string(isa), n);
            run_cache(&lists, &cache, isa, 1 + (size_t)n % 4, n % 2, Lk);
            run_cache(&masked, &cache, isa_of_mask(&lists.o, isa), 1, 0, Lk);
            CHECK(test_same_tensor_bits(lists.out, masked.out) && test_same_tensor_bits(lists.o.lse, masked.o.lse));
            CHECK(test_same_tensor_bits(lists.o.weights, masked.o.weights));
            CHECK(test_same_tensor_bits(lists.o.scores, masked.o.scores));
            attn_kv_cache_free(&cache);
            test_release();
        }
}

/* Scratch for a cache is enough before there are tokens, and when there are: of scores of every stage. */
TEST(blocks_cache_scratch)
{
    enum { CAPACITY = 300, D = 8 };
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 24; n++) {
            static const size_t tokens[] = {0, 1, 200, CAPACITY};
            size_t Lq = n % 2 ? 1 : 40, most = tokens[n / 6];
            attn_tensor q = test_random_tensor(ATTN_F32, 1, 2, Lq, D, T_BHLD);
            attn_tensor out = test_tensor(ATTN_F32, 1, 2, Lq, D, T_BHLD);
            attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, most, D, T_BHLD);
            attn_ctx ctx = test_ctx(isa);
            attn_dry_run dry = {0};
            attn_kv_cache cache = {0};
            attn_opts o;
            memset(&o, 0, sizeof o);
            CHECK_STATUS(attn_kv_cache_init(&cache, 1, 1, CAPACITY, D, D, ATTN_F32, 0, NULL, 0), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_append(&cache, k, k, NULL), ATTN_OK);
            o.blocks = make_lists(16, 3, 1, 1, Lq, most, LIST_HALF, 0);
            o.scores = test_tensor(ATTN_F32, 1, 2, Lq, most, T_BHLD);
            o.scores_stage = (attn_stage)(n % 3);
            test_case("%s, %zu queries, %zu tokens, stage %d", attn_isa_string(isa), Lq, most, n % 3);
            CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, test_dry(&ctx, &dry)), ATTN_OK);
            test_scratch(&ctx, dry.scratch, 1);
            CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, &ctx), ATTN_OK);
            attn_kv_cache_free(&cache);
            test_release();
        }
}

/* ---- the layer ---- */

enum { LAYER_H = 4, LAYER_HKV = 2, LAYER_D = 5, LAYER_E = 9 };

static void run_layer_at(layer_call *c, attn_isa isa, size_t width, size_t weights)
{
    test_runner runner;
    attn_ctx ctx = grid_context(isa, GRID_THREADS, width, &runner);
    c->out = test_tensor(c->q.dtype, c->q.batch, 1, c->q.len, LAYER_E, T_BHLD);
    c->o.lse = test_tensor(c->q.dtype, c->q.batch, LAYER_H, c->q.len, 1, T_BHLD);
    c->o.weights = test_tensor(c->q.dtype, c->q.batch, weights, c->q.len, c->k.len, T_BHLD);
    layer_grads(c);
    for (int back = 0; back < 2; back++)
        CHECK_STATUS(run_layer(c, back, &ctx), ATTN_OK);
}

TEST(blocks_layer)
{
    for (int n = 0; n < (test_quick ? 6 : 18); n++)
        FOR_EACH_ISA (isa) {
            attn_dtype type = n % 2 ? test_wide : ATTN_F32;
            size_t Lq = n % 3 ? 40 : 1, Lk = n % 3 == 2 ? 140 : 60;
            size_t weights = n % 4 ? 1 : LAYER_H;
            int over = n / 3 % OVERS;
            layer_call lists, masked;
            memset(&lists, 0, sizeof lists);
            grid_dice = (uint64_t)n;
            lists.q = test_random_tensor(type, 2, 1, Lq, 7, T_BHLD),
            lists.k = test_random_tensor(type, 2, 1, Lk, 6, T_BHLD);
            lists.v = test_random_tensor(type, 2, 1, Lk, 8, T_BHLD);
            lists.dout = test_random_tensor(type, 2, 1, Lq, LAYER_E, T_BHLD);
            lists.w.wq = projection(type, 7, LAYER_H * LAYER_D, PACKED);
            lists.w.wk = projection(type, 6, LAYER_HKV * LAYER_D, TRANSPOSED);
            lists.w.wv = projection(type, 8, LAYER_HKV * LAYER_D, PACKED);
            lists.w.wo = projection(type, LAYER_H * LAYER_D, LAYER_E, PACKED);
            lists.w.heads = LAYER_H, lists.w.kv_heads = LAYER_HKV;
            lists.o.causal = n % 2 ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
            lists.o.blocks = make_lists(block_sizes[n % 4], block_sizes[n % 5], 1 + (size_t)n % 2,
                                        over == OVER_ONE  ? 1
                                        : over == OVER_KV ? LAYER_HKV
                                                          : LAYER_H,
                                        Lq, Lk, LIST_MIXED, 0);
            masked = lists;
            masked.o = with_mask(&lists.o, 2, LAYER_H, LAYER_HKV, Lq, Lk);
            test_case("case %d, %s", n, attn_isa_string(isa));
            run_layer_at(&lists, isa, 1 + (size_t)n % 4, weights);
            run_layer_at(&masked, isa, 1, weights);
            CHECK(test_same_tensor_bits(lists.out, masked.out) && test_same_tensor_bits(lists.o.lse, masked.o.lse));
            CHECK(test_same_tensor_bits(lists.o.weights, masked.o.weights));
            CHECK(test_same_tensor_bits(lists.g.q, masked.g.q) && test_same_tensor_bits(lists.g.k, masked.g.k));
            CHECK(test_same_tensor_bits(lists.g.v, masked.g.v));
            CHECK(test_same_bits(lists.g.wq, masked.g.wq) && test_same_bits(lists.g.wk, masked.g.wk));
            CHECK(test_same_bits(lists.g.wv, masked.g.wv) && test_same_bits(lists.g.wo, masked.g.wo));
            test_release();
        }
}

/* ---- statuses ---- */

enum { SB = 2, SH = 4, SHKV = 2, SLQ = 5, SLK = 7, SD = 4, SDV = 6, SQ_LEN = 2, SKV_LEN = 3 };
enum { SROWS = (SLQ + SQ_LEN - 1) / SQ_LEN, SWIDTH = (SLK + SKV_LEN - 1) / SKV_LEN, SLISTS = SB * SH * SROWS };

/* What is done to the call, the status, and what an explanation may name. */
#define FAULT_LIST(X)                                                                                                  \
    X(NO_INDEX, ATTN_ERR_NULL, "opts.blocks", NULL)                                                                    \
    X(NO_COUNT, ATTN_ERR_NULL, "opts.blocks", NULL)                                                                    \
    X(THREE_ITEMS, ATTN_ERR_SHAPE, "opts.blocks", NULL)                                                                \
    X(NO_ITEMS, ATTN_ERR_SHAPE, "opts.blocks", NULL)                                                                   \
    X(THREE_HEADS, ATTN_ERR_SHAPE, "opts.blocks", NULL)                                                                \
    X(EIGHT_HEADS, ATTN_ERR_SHAPE, "opts.blocks", NULL)                                                                \
    X(NO_HEADS, ATTN_ERR_SHAPE, "opts.blocks", NULL)                                                                   \
    X(WIDTH_MAX, ATTN_ERR_OVERFLOW, "opts.blocks", NULL)                                                               \
    X(WIDTH_BYTES, ATTN_ERR_OVERFLOW, "opts.blocks", NULL)                                                             \
    X(WIDTH_OF_ALL, ATTN_ERR_OVERFLOW, "opts.blocks", NULL)                                                            \
    X(NO_Q_LEN, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                                   \
    X(NO_KV_LEN, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                                  \
    X(COUNT_LONG, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                                 \
    X(COUNT_MAX, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                                  \
    X(COUNT_LONG_FIRST, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                           \
    X(BEYOND, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                                     \
    X(BEYOND_BY_FAR, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                              \
    X(UNSORTED, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                                   \
    X(REPEATED, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                                   \
    X(UNSORTED_PAST_LENGTHS, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                      \
    X(INDEX_MISALIGNED, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                           \
    X(COUNT_MISALIGNED, ATTN_ERR_VALUE, "opts.blocks", NULL)                                                           \
    X(OUT_ON_INDEX, ATTN_ERR_ALIAS, "opts.blocks", "out")                                                              \
    X(OUT_ON_COUNT, ATTN_ERR_ALIAS, "opts.blocks", "out")                                                              \
    X(LSE_ON_INDEX, ATTN_ERR_ALIAS, "opts.blocks", "opts.lse")                                                         \
    X(WEIGHTS_ON_INDEX_END, ATTN_ERR_ALIAS, "opts.blocks", "opts.weights")                                             \
    X(SCORES_ON_COUNT, ATTN_ERR_ALIAS, "opts.blocks", "opts.scores")                                                   \
    X(DQ_ON_INDEX, ATTN_ERR_ALIAS, "opts.blocks", "grads.q")                                                           \
    X(SCRATCH_ON_COUNT, ATTN_ERR_ALIAS, "opts.blocks", "ctx.scratch")                                                  \
    X(SCRATCH_SHORT, ATTN_ERR_NOMEM, "ctx.scratch", NULL)                                                              \
    X(NO_MEMORY, ATTN_ERR_NOMEM, "ctx.scratch", NULL)
#define FAULT_NUMBER(name, status, first, second) name,
#define FAULT_ENTRY(name, status, first, second) {#name, status, {first, second}},

enum fault { FAULT_LIST(FAULT_NUMBER) FAULTS };
static const grid_fault faults[FAULTS] = {FAULT_LIST(FAULT_ENTRY)};

/* A call that is right: every list holds all blocks, and lengths hide some of them. */
static grid_wrong good_call(void)
{
    enum { ROOM = 1024 }; /* for an output on top of a list */
    static const size_t q_lens[SB] = {SLQ, 1}, kv_lens[SB] = {SLK, 2};
    grid_wrong s;
    grid_call *c = &s.c;
    uint32_t *index = test_block(SLISTS * SWIDTH * sizeof *index + ROOM),
             *count = test_block(SLISTS * sizeof *count + ROOM);
    attn_blocks blocks = {SQ_LEN, SKV_LEN, NULL, NULL, SB, SH, SWIDTH};
    memset(&s, 0, sizeof s);
    plain_call(c, ATTN_F32, SB, SH, SHKV, SLQ, SLK, SD, T_BHLD);
    c->v = test_random_tensor(ATTN_F32, SB, SHKV, SLK, SDV, T_BHLD);
    c->dout = test_random_tensor(ATTN_F32, SB, SH, SLQ, SDV, T_BHLD);
    for (size_t n = 0; n < SLISTS * SWIDTH; n++)
        index[n] = (uint32_t)(n % SWIDTH);
    for (size_t n = 0; n < SLISTS; n++)
        count[n] = SWIDTH;
    blocks.index = index, blocks.count = count;
    c->o.blocks = blocks;
    c->o.q_lens = q_lens, c->o.kv_lens = kv_lens;
    grid_plain_outputs(c);
    c->o.weights = test_tensor(ATTN_F32, SB, SH, SLQ, SLK, T_BHLD);
    c->o.scores = test_tensor(ATTN_F32, SB, SH, SLQ, SLK, T_BHLD);
    grid_finish(&s);
    return s;
}

/* A copy of the lists of which one number is another. */
static const uint32_t *with(const uint32_t *from, size_t count, size_t at, uint32_t number)
{
    uint32_t *copy = test_block(count * sizeof *copy + 1024);
    memcpy(copy, from, count * sizeof *copy);
    copy[at] = number;
    return copy;
}

/* Does it; the status to expect of this function, or ATTN_OK where the fault is no matter of it. */
static attn_status inflict(grid_wrong *s, int fault, int function)
{
    enum { INDICES = SLISTS * SWIDTH };
    grid_call *c = &s->c;
    attn_blocks *l = &c->o.blocks;
    int backward = function >= GRID_BACK, is_dry = function == GRID_DRY || function == GRID_BACK_DRY;
    switch (fault) {
    case NO_INDEX: l->index = NULL; break;
    case NO_COUNT: l->count = NULL; break;
    case THREE_ITEMS: l->batch = 3; break;
    case NO_ITEMS: l->batch = 0; break;
    case THREE_HEADS: l->heads = 3; break;
    case EIGHT_HEADS: l->heads = 8; break;
    case NO_HEADS: l->heads = 0; break;
    case WIDTH_MAX: l->width = SIZE_MAX; break;
    case WIDTH_BYTES: l->width = SIZE_MAX / sizeof *l->index / SLISTS + 1; break;
    case WIDTH_OF_ALL: l->width = SIZE_MAX / SLISTS + 2; break;
    case NO_Q_LEN: l->q_len = 0; break;
    case NO_KV_LEN: l->kv_len = 0; break;
    case COUNT_LONG: l->count = with(l->count, SLISTS, SLISTS - 1, SWIDTH + 1); break;
    case COUNT_MAX: l->count = with(l->count, SLISTS, SLISTS / 2, UINT32_MAX); break;
    case COUNT_LONG_FIRST: l->count = with(l->count, SLISTS, 0, SWIDTH + 1); break;
    case BEYOND: l->index = with(l->index, INDICES, INDICES - 1, SWIDTH); break;
    case BEYOND_BY_FAR: l->index = with(l->index, INDICES, SWIDTH - 1, UINT32_MAX); break;
    case UNSORTED: l->index = with(l->index, INDICES, 0, 2); break;
    case REPEATED: l->index = with(l->index, INDICES, INDICES - 2, 0); break;
    case UNSORTED_PAST_LENGTHS: l->index = with(l->index, INDICES, INDICES - 3, 1); break;
    case INDEX_MISALIGNED: l->index = (const uint32_t *)(const void *)((const char *)l->index + 1); break;
    case COUNT_MISALIGNED: l->count = (const uint32_t *)(const void *)((const char *)l->count + 2); break;
    case OUT_ON_INDEX: c->out.data = grid_onto(l->index); return backward ? ATTN_OK : ATTN_ERR_ALIAS;
    case OUT_ON_COUNT: c->out.data = grid_onto(l->count + SLISTS - 1); return backward ? ATTN_OK : ATTN_ERR_ALIAS;
    case LSE_ON_INDEX: c->o.lse.data = grid_onto(l->index); return backward ? ATTN_OK : ATTN_ERR_ALIAS;
    case WEIGHTS_ON_INDEX_END:
        c->o.weights.data = grid_onto(l->index + INDICES - 1);
        return backward ? ATTN_OK : ATTN_ERR_ALIAS;
    case SCORES_ON_COUNT: c->o.scores.data = grid_onto(l->count); return backward ? ATTN_OK : ATTN_ERR_ALIAS;
    case DQ_ON_INDEX: c->g.q.data = grid_onto(l->index); return backward ? ATTN_ERR_ALIAS : ATTN_OK;
    case SCRATCH_ON_COUNT: s->ctx.scratch = grid_onto(l->count), s->ctx.scratch_size = 8; break;
    case SCRATCH_SHORT:
        s->ctx.scratch = s->scratch, s->ctx.scratch_size = s->needed[backward] - 1;
        return is_dry ? ATTN_OK : ATTN_ERR_NOMEM;
    default: s->no_memory = 1; return is_dry || s->needed[backward] < 1 << 15 ? ATTN_OK : ATTN_ERR_NOMEM;
    }
    return faults[fault].want;
}

TEST(blocks_status)
{
    grid_check_faults(faults, FAULTS, good_call, inflict);
}

/* Of two faults the one that is checked first is reported, and nothing is written. */
static int order_of(int f, int g)
{
    int shapes = f >= THREE_ITEMS && f <= WIDTH_OF_ALL; /* then faults in the lists are others */
    if ((shapes && f != THREE_ITEMS && g >= OUT_ON_INDEX) || (g == NO_Q_LEN && f <= WIDTH_OF_ALL) ||
        f == SCRATCH_ON_COUNT || (f <= NO_COUNT && (g == NO_ITEMS || g == NO_HEADS)) ||
        ((f == INDEX_MISALIGNED || f == COUNT_MISALIGNED) && g >= OUT_ON_INDEX))
        return 0; /* no arrays are left that could be missing, or lie below an output of their alignment */
    return f <= NO_COUNT ? 2 : 1; /* then none are left to make others of */
}

TEST(blocks_status_order)
{
    grid_check_order(faults, FAULTS, good_call, inflict, order_of);
}

/* What is no fault: one list for the batch and all heads, lists of key/value heads, no room at all, entries that are
   not counted, which may be anything. */
TEST(blocks_status_right)
{
    static const size_t heads[] = {1, SHKV, SH};
    uint32_t none[SLISTS] = {0};
    for (size_t batch = 1; batch <= SB; batch++)
        for (int h = 0; h < 3; h++)
            for (int function = 0; function < GRID_FUNCTIONS; function++) {
                grid_wrong s = good_call();
                attn_blocks *l = &s.c.o.blocks;
                l->batch = batch, l->heads = heads[h];
                test_case("%s, %zu x %zu lists", grid_functions[function], batch, heads[h]);
                CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, NULL, 0), ATTN_OK);
                l->index = with(l->index, SLISTS * SWIDTH, SWIDTH - 1, UINT32_MAX);
                CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, NULL, 0), ATTN_ERR_VALUE);
                l->count = with(l->count, SLISTS, 0, SWIDTH - 1);
                CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, NULL, 0), ATTN_OK);
                l->width = 0;
                CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, NULL, 0), ATTN_ERR_VALUE);
                l->count = none;
                CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, NULL, 0), ATTN_OK);
                test_release();
            }
}

/* Not all of it is zero: then something is missing. All zero is no list, whatever stands beside it. */
TEST(blocks_status_absent)
{
    grid_wrong s = good_call();
    attn_tensor want;
    memset(&s.c.o.blocks, 0, sizeof s.c.o.blocks);
    CHECK_STATUS(grid_ask(&s.c, GRID_SDPA, &s.ctx, NULL, 0), ATTN_OK);
    want = test_tensor_like(s.c.out, T_BHLD);
    for (int member = 0; member < 5; member++) {
        attn_blocks l;
        size_t *const sizes[] = {&l.q_len, &l.kv_len, &l.batch, &l.heads, &l.width};
        attn_status status;
        memset(&l, 0, sizeof l);
        *sizes[member] = 1;
        s.c.o.blocks = l;
        test_case("member %d", member);
        test_freeze();
        status = grid_ask(&s.c, GRID_SDPA, &s.ctx, NULL, 0);
        CHECK(status == ATTN_ERR_NULL || status == ATTN_ERR_SHAPE || status == ATTN_ERR_VALUE);
        CHECK(test_wrote_nothing() && test_same_tensor_bits(want, s.c.out));
    }
}

/* Without queries, keys, items or heads: lists are looked at all the same. */
TEST(blocks_status_empty_shapes)
{
    static const size_t shapes[][4] = {{0, 2, 3, 4}, {2, 0, 3, 4}, {2, 2, 0, 4}, {2, 2, 3, 0}, {0, 0, 0, 0}};
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        for (int function = 0; function < GRID_FUNCTIONS; function++) {
            grid_wrong s;
            const size_t *d = shapes[n];
            memset(&s, 0, sizeof s);
            plain_call(&s.c, ATTN_F32, d[0], d[1], d[1], d[2], d[3], 4, T_BHLD);
            grid_plain_outputs(&s.c);
            grid_plain_grads(&s.c);
            s.c.o.blocks = make_lists(2, 3, 1, 1, d[2], d[3], LIST_FULL, 1);
            test_case("%s, %zu x %zu x %zu x %zu", grid_functions[function], d[0], d[1], d[2], d[3]);
            CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, NULL, 0), ATTN_OK);
            if (d[3] == 0 && d[2] > 0) {
                s.c.o.blocks.count = with(s.c.o.blocks.count, ceil_of(d[2], 2), 0, 1); /* of no keys */
                CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, NULL, 0), ATTN_ERR_VALUE);
            }
            s.c.o.blocks.heads = d[1] + 1 + (d[1] == 0);
            test_freeze();
            CHECK_STATUS(grid_ask(&s.c, function, &s.ctx, NULL, 0), ATTN_ERR_SHAPE);
            CHECK(test_wrote_nothing());
            test_release();
        }
}

/* A cache has as many keys as its longest item, a layer the heads of its weights. */
TEST(blocks_status_elsewhere)
{
    enum { KEYS = 6, EMBED = 8 };
    static const size_t lens[] = {KEYS, 2};
    attn_tensor k = test_random_tensor(ATTN_F32, 2, 2, KEYS, 4, T_BHLD);
    attn_tensor q = test_random_tensor(ATTN_F32, 2, 4, 3, 4, T_BHLD), out = test_tensor(ATTN_F32, 2, 4, 3, 4, T_BHLD);
    attn_tensor x = test_random_tensor(ATTN_F32, 2, 1, KEYS, EMBED, T_BHLD);
    attn_tensor y = test_tensor(ATTN_F32, 2, 1, KEYS, EMBED, T_BHLD);
    attn_mha_weights w;
    attn_kv_cache cache;
    attn_opts o;
    char text[GRID_TEXT];
    attn_dry_run dry = {5, text, sizeof text};
    memset(&o, 0, sizeof o), memset(&w, 0, sizeof w);
    o.blocks = make_lists(2, 4, 2, 4, 3, KEYS, LIST_FULL, 1);
    CHECK_STATUS(attn_kv_cache_init(&cache, 2, 2, 20, 4, 4, ATTN_F32, 0, NULL, 0), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_append(&cache, k, k, lens), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, NULL), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, test_dry(NULL, &dry)), ATTN_OK);
    dry.scratch = 5;
    o.blocks.index = with(o.blocks.index, 2 * 4 * 2 * 3, 1, 2);
    test_freeze();
    CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, NULL), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, test_dry(NULL, &dry)), ATTN_ERR_VALUE);
    CHECK(grid_names(text, "opts.blocks") && dry.scratch == 5);
    o.blocks.heads = 3;
    CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &o, NULL), ATTN_ERR_SHAPE);
    CHECK(test_wrote_nothing());
    attn_kv_cache_free(&cache);
    test_case("a layer");
    w.wq = w.wo = projection(ATTN_F32, EMBED, EMBED, PACKED),
    w.wk = w.wv = projection(ATTN_F32, EMBED, EMBED / 2, PACKED);
    w.heads = 4, w.kv_heads = 2;
    o.blocks = make_lists(2, 4, 2, 2, KEYS, KEYS, LIST_FULL, 1);
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, NULL), ATTN_OK);
    o.blocks.heads = 3;
    test_freeze();
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, NULL), ATTN_ERR_SHAPE);
    o.blocks.heads = 2, o.blocks.index = with(o.blocks.index, 2 * 2 * 3 * 3, 0, 1);
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, NULL), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_mha(y, x, x, x, &w, &o, test_dry(NULL, &dry)), ATTN_ERR_VALUE);
    CHECK(grid_names(text, "opts.blocks") && dry.scratch == 5);
}
