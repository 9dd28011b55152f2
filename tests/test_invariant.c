/* What a row's bits may depend on: with ctx.batch_invariant, or if ATTN_SMALL, not on how many rows are computed beside
   it, and by default on how many its own batch item has, times the heads of its group, and on nothing else. */
#include "sdpa.h"

enum { BATCH = 3, HKV = 2, GROUP = 3, H = HKV * GROUP, LQ = 22, Q_LEN = 4, LISTS = (LQ + Q_LEN - 1) / Q_LEN };
enum { PLAIN, MASK, BIAS, ALIBI, SOFTCAP, MOD, SINKS, DROPOUT, WINDOW, KEYS, BLOCKS, LENGTHS, NANS, KINDS };

static const char *const kinds[] = {"plain",   "mask",   "bias",       "ALiBi", "softcap", "score_mod", "sinks",
                                    "dropout", "window", "lists of 1", "lists", "lengths", "NaN"};

typedef struct place { /* of the first row of a call, among all */
    size_t b, h, i;
    int f64;
} place;

typedef struct call {
    attn_tensor q, k, v, out;
    attn_opts o;
    place at;
    ptrdiff_t offsets[BATCH];
    size_t q_lens[BATCH], kv_lens[BATCH];
    float slopes[H], sinks[H];
} call;

static void bend(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    const place *p = user;
    for (size_t n = 0; n < count; n++) {
        double lift = 0.25 * (double)((b + p->b + 3 * (h + p->h) + 5 * (i + p->i) + 7 * (j0 + n)) % 11);
        if (p->f64)
            ((double *)scores)[n] = 0.5 * ((double *)scores)[n] + lift;
        else
            ((float *)scores)[n] = (float)(0.5 * (double)((float *)scores)[n] + lift);
    }
}

/* Lists of each head: a third of the key blocks, the first among them. */
static attn_blocks make_lists(size_t kv_len, size_t Lk)
{
    size_t width = (Lk + kv_len - 1) / kv_len;
    uint32_t *index = test_block(H * LISTS * width * sizeof *index), *count = test_block(H * LISTS * sizeof *count);
    attn_blocks blocks = {Q_LEN, kv_len, index, count, 1, H, width};
    for (size_t l = 0; l < H * LISTS; l++) {
        count[l] = 0;
        for (size_t n = 0; n < width; n++)
            if (n == 0 || test_below(3) == 0)
                index[l * width + count[l]++] = (uint32_t)n;
    }
    return blocks;
}

static void want_outputs(call *c, int all)
{
    size_t B = c->q.batch, heads = c->q.heads, Lq = c->q.len;
    attn_dtype wide = c->at.f64 ? test_wide : ATTN_F32;
    attn_tensor none = {0};
    c->out = test_tensor(c->q.dtype, B, heads, Lq, c->v.dim, T_BHLD);
    c->o.lse = c->o.weights = c->o.scores = none;
    if (!all)
        return;
    c->o.lse = test_tensor(wide, B, heads, Lq, 1, T_BHLD);
    c->o.weights = test_tensor(wide, B, heads, Lq, c->k.len, T_BHLD);
    c->o.scores = test_tensor(wide, B, heads, Lq, c->k.len, T_BHLD);
    c->o.scores_stage = ATTN_STAGE_FINAL;
}

static void make(call *c, int kind, attn_dtype type, size_t Lk, size_t D, int layout)
{
    memset(c, 0, sizeof *c);
    c->at.f64 = type == ATTN_F64;
    c->q = test_random_tensor(type, BATCH, H, LQ, D, layout);
    c->k = test_random_tensor(type, BATCH, HKV, Lk, D, layout);
    c->v = test_random_tensor(type, BATCH, HKV, Lk, 1 + test_below(D + 9), layout);
    for (size_t b = 0; b < BATCH; b++) {
        c->offsets[b] = (ptrdiff_t)test_below(Lk);
        c->q_lens[b] = 1 + test_below(b == 1 ? LQ : 3);
        c->kv_lens[b] = Lk - test_below(Lk);
    }
    for (size_t h = 0; h < H; h++)
        c->slopes[h] = (float)test_uniform() / 8, c->sinks[h] = (float)test_uniform();
    c->o.scale = 0.5, c->o.causal_offset = c->offsets;
    c->o.softcap = kind == SOFTCAP ? 2 : 0;
    c->o.dropout.p = kind == DROPOUT ? 0.3 : 0;
    if (kind == MASK)
        c->o.mask = test_random_tensor(ATTN_BOOL, BATCH, H, LQ, Lk, T_BHLD);
    if (kind == BIAS)
        c->o.bias = test_random_tensor(type, BATCH, H, LQ, Lk, T_BHLD);
    c->o.alibi_slopes = kind == ALIBI ? c->slopes : NULL;
    c->o.sinks = kind == SINKS ? c->sinks : NULL;
    c->o.score_mod = kind == MOD ? bend : NULL;
    c->o.score_mod_user = &c->at;
    if (kind == KEYS || kind == BLOCKS)
        c->o.blocks = make_lists(kind == KEYS ? 1 : 16, Lk);
    if (kind == WINDOW)
        c->o.causal = ATTN_CAUSAL_OFFSET, c->o.window = (attn_window){1, (ptrdiff_t)(Lk / 2), -1};
    for (size_t j = 1; j < Lk && kind == NANS; j += 29) /* each in one column */
        test_tensor_set(c->v, j % BATCH, j % HKV, j, j % c->v.dim, j % 2 ? NAN : HUGE_VAL);
    if (kind == NANS)
        c->o.mask = test_random_tensor(ATTN_BOOL, BATCH, H, LQ, Lk, T_BHLD);
    c->o.q_lens = kind == LENGTHS ? c->q_lens : NULL;
    c->o.kv_lens = kind == LENGTHS ? c->kv_lens : NULL;
}

static attn_tensor cut(attn_tensor t, size_t b, size_t h, size_t heads, size_t i, size_t rows)
{
    if (test_absent_tensor(t))
        return t;
    t.data = test_tensor_at(t, b, h, i, 0);
    t.batch = 1, t.heads = heads, t.len = rows;
    return t;
}

static attn_blocks cut_lists(attn_blocks all, size_t h, size_t heads, size_t first, size_t lists)
{
    attn_blocks part = all;
    uint32_t *index = test_block(heads * lists * all.width * sizeof *index);
    uint32_t *count = test_block(heads * lists * sizeof *count);
    for (size_t l = 0; l < heads * lists; l++) {
        size_t from = (h + l / lists) * LISTS + first + l % lists;
        memcpy(index + l * all.width, all.index + from * all.width, all.width * sizeof *index);
        count[l] = all.count[from];
    }
    part.index = index, part.count = count, part.heads = heads;
    return part;
}

/* Some rows of one item: of one head, or of all. They are one block of lists, or begin with the first. */
static void take(call *part, const call *all, size_t b, size_t h, size_t heads, size_t i, size_t rows)
{
    attn_opts *o = &part->o;
    *part = *all;
    part->q = cut(all->q, b, h, heads, i, rows);
    part->k = cut(all->k, b, h / GROUP, heads == 1 ? 1 : HKV, 0, all->k.len);
    part->v = cut(all->v, b, h / GROUP, heads == 1 ? 1 : HKV, 0, all->k.len);
    o->mask = cut(o->mask, b, h, heads, i, rows), o->bias = cut(o->bias, b, h, heads, i, rows);
    o->alibi_slopes = o->alibi_slopes ? o->alibi_slopes + h : NULL;
    o->sinks = o->sinks ? o->sinks + h : NULL;
    o->score_mod_user = &part->at;
    part->at.b = b, part->at.h = h, part->at.i = i;
    part->offsets[0] = all->offsets[b] + (ptrdiff_t)i;
    part->kv_lens[0] = all->kv_lens[b];
    o->causal_offset = part->offsets, o->q_lens = NULL, o->kv_lens = o->kv_lens ? part->kv_lens : NULL;
    if (o->blocks.index)
        o->blocks = cut_lists(o->blocks, h, heads, i / Q_LEN, (rows + Q_LEN - 1) / Q_LEN);
}

static void run(call *c, attn_isa isa, int invariant, size_t width)
{
    test_runner r;
    attn_ctx ctx = test_ctx(isa);
    ctx.batch_invariant = invariant;
    if (width > 1)
        ctx.parallel = test_serial_backwards(&r, width);
    CHECK_STATUS(attn_sdpa(c->out, c->q, c->k, c->v, &c->o, &ctx), ATTN_OK);
}

static int same(const call *part, const call *all, size_t b, size_t h, size_t i)
{
    const attn_tensor x[] = {part->out, part->o.lse, part->o.weights, part->o.scores};
    const attn_tensor y[] = {all->out, all->o.lse, all->o.weights, all->o.scores};
    int equal = 1;
    for (size_t n = 0; n < 4; n++)
        if (!test_absent_tensor(x[n]) && !test_absent_tensor(y[n]))
            equal &= test_same_tensor_bits(x[n], cut(y[n], b, h, part->q.heads, i, part->q.len));
    return equal;
}

/* Every kind with every type and D; quickly, every kind with every type, and every D. */
static size_t make_case(call *c, size_t n, attn_isa isa)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    static const size_t lengths[] = {300, 40, 1, 1100, 257};
    size_t D = n % 35 < 33 ? 1 + n % 35 : n % 35 == 33 ? 64 : 130, Lk = lengths[n / 7 % 5];
    test_case("%s, %s, %s, D %zu, %zu keys", attn_isa_string(isa), kinds[n % KINDS],
              test_dtype_name(types[n / KINDS % 4]), D, Lk);
    make(c, (int)(n % KINDS), types[n / KINDS % 4], Lk, D, n % 5 < 2 ? T_BLHD : n % 5 == 2 ? T_STEP : T_BHLD);
    return n % KINDS;
}

/* A row of one head alone is the row among many; by default too, for then it is one of few. */
TEST(invariant_rows)
{
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 60 : 1820); n++) {
            call all, part;
            size_t kind = make_case(&all, n, isa);
            want_outputs(&all, n % 3 > 0);
            run(&all, isa, test_invariant(), 1 + n % 4);
            for (size_t times = 0; times < 4; times++) {
                size_t b = kind == DROPOUT ? 0 : test_below(BATCH), h = kind == DROPOUT ? 0 : test_below(H);
                size_t i = kind == DROPOUT ? 0 : test_below(kind == LENGTHS ? all.q_lens[b] : LQ);
                size_t rows = (kind == LENGTHS ? all.q_lens[b] : LQ) - i;
                rows = rows < Q_LEN - i % Q_LEN ? rows : Q_LEN - i % Q_LEN;
                rows = times % 2 ? rows : 1;
                take(&part, &all, b, h, 1, i, rows);
                want_outputs(&part, times < 2);
                run(&part, isa, rows > 1 && test_invariant(), 1);
                CHECK(same(&part, &all, b, h, i));
            }
            test_release();
        }
}

/* Of ATTN_SMALL every row is that, without being asked for: alone, among some and among all it has the same bits, which
   batch_invariant does not change; so has a row of a product. */
TEST(invariant_small)
{
    enum { ROWS = 60, K = 150, N = 33 };
    if (CHECK(test_small <= 1) && !test_small)
        return;
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        for (size_t n = 0; n < (test_quick ? 60 : 1820); n++) {
            call all, part;
            size_t kind = make_case(&all, n, isa);
            want_outputs(&all, n % 3 > 0);
            run(&all, isa, 0, 1 + n % 4);
            part = all;
            want_outputs(&part, n % 3 > 0);
            run(&part, isa, 1, 1 + n % 3);
            CHECK(test_same_tensor_bits(part.out, all.out) && test_same_tensor_bits(part.o.lse, all.o.lse) &&
                  test_same_tensor_bits(part.o.weights, all.o.weights) &&
                  test_same_tensor_bits(part.o.scores, all.o.scores));
            for (size_t i = 0; i < LQ && kind != DROPOUT && kind != LENGTHS; i += Q_LEN) {
                size_t b = test_below(BATCH), h = test_below(H), most = LQ - i < Q_LEN ? LQ - i : Q_LEN;
                take(&part, &all, b, h, 1, i, 1 + test_below(most));
                want_outputs(&part, i % 3 > 0);
                run(&part, isa, 0, 1);
                CHECK(same(&part, &all, b, h, i));
            }
            test_release();
        }
        for (size_t t = 0; t < 4; t++) {
            attn_mat a = test_random_mat(test_floats[t], ROWS, K, (int)t), b = test_random_mat(test_floats[t], K, N, PACKED);
            attn_mat out = test_mat(test_floats[t], ROWS, N, PACKED), some = test_mat(test_floats[t], ROWS, N, PADDED);
            test_case("%s, %s, products", attn_isa_string(isa), test_dtype_name(test_floats[t]));
            CHECK_STATUS(attn_matmul_ctx(out, a, b, 0.75, &ctx), ATTN_OK);
            for (size_t r = 0, count; r < ROWS; r += count) {
                count = 1 + test_below(r % 2 ? 1 : 20);
                count = count < ROWS - r ? count : ROWS - r;
                CHECK_STATUS(attn_matmul_ctx(attn_mat_rows(some, r, count), attn_mat_rows(a, r, count), b, 0.75, &ctx),
                             ATTN_OK);
            }
            CHECK(test_same_bits(some, out));
            test_release();
        }
    }
}

/* An item with q_lens is the item alone, with as many queries and no lengths: others have more or fewer. */
TEST(invariant_items)
{
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 60 : 1820); n++)
            for (int invariant = 0; invariant < 2; invariant++) {
                call all, part;
                size_t items = make_case(&all, n, isa) == DROPOUT ? 1 : BATCH;
                all.o.q_lens = all.q_lens;
                want_outputs(&all, n % 3 > 0);
                run(&all, isa, invariant, 1 + n % 4);
                for (size_t b = 0; b < items; b++) {
                    take(&part, &all, b, 0, H, 0, all.q_lens[b]);
                    part.q = test_tensor_like(part.q, (int)((n + b) % T_OUT_LAYOUTS));
                    part.k = test_tensor_like(part.k, (int)((n / 2 + b) % T_OUT_LAYOUTS));
                    part.v = test_tensor_like(part.v, (int)((n / 3 + b) % T_OUT_LAYOUTS));
                    want_outputs(&part, b == 1);
                    run(&part, isa, invariant && test_invariant(), 1 + n % 3);
                    CHECK(same(&part, &all, b, 0, 0));
                }
                test_release();
            }
}

/* With the keys up to its own, and those alone, a query is what it is in one causal call: up to 16384 keys. */
TEST(invariant_tokens)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 4 : 40); n++) {
            attn_dtype type = types[n % 4];
            size_t Lk = n % 8 == 3 ? 16384 : 1 + test_below(1500), Lq = Lk < 200 ? Lk : 200, D = 1 + test_below(40);
            float slope = 0.01f;
            call all, one;
            memset(&all, 0, sizeof all);
            all.at.f64 = type == ATTN_F64;
            all.q = test_random_tensor(type, 1, 1, Lq, D, T_BHLD); /* the last ones */
            all.k = test_random_tensor(type, 1, 1, Lk, D, T_BHLD),
            all.v = test_random_tensor(type, 1, 1, Lk, 5, T_BHLD);
            all.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
            all.o.alibi_slopes = n % 3 == 1 ? &slope : NULL;
            if (n % 3 == 2)
                all.o.window = (attn_window){1, 300, -1};
            want_outputs(&all, 1);
            run(&all, isa, test_invariant(), 2);
            for (size_t times = 0; times < 8; times++) {
                size_t i = times ? test_below(Lq) : Lq - 1, keys = Lk - Lq + i + 1;
                one = all;
                one.q = cut(all.q, 0, 0, 1, i, 1), one.k.len = one.v.len = keys;
                want_outputs(&one, 1);
                test_case("%s, %s, D %zu, %zu of %zu keys", attn_isa_string(isa), test_dtype_name(type), D, keys, Lk);
                run(&one, isa, (int)(times % 2), 1 + times % 3);
                for (size_t m = 0; m < 2; m++) {
                    attn_tensor *of_all = m ? &all.o.weights : &all.o.scores;
                    attn_tensor *of_one = m ? &one.o.weights : &one.o.scores, head = *of_all;
                    head.dim = keys;
                    CHECK(test_same_tensor_bits(*of_one, cut(head, 0, 0, 1, i, 1)));
                }
                CHECK(test_same_tensor_bits(one.out, cut(all.out, 0, 0, 1, i, 1)));
                CHECK(test_same_tensor_bits(one.o.lse, cut(all.o.lse, 0, 0, 1, i, 1)));
            }
            test_release();
        }
}

/* Items of a batch whose keys are more than caches hold, though each has few: an item alone has their bits, and no call
   writes beyond its scratch. */
TEST(invariant_batch)
{
    enum { B = 24, HEADS = 8, L = 128, D = 24 };
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 4; n++) {
            size_t Lk = n / 2 ? L : L - 9;
            attn_dry_run dry = {0};
            attn_tensor q = test_random_tensor(ATTN_F32, B, HEADS, 2, D, T_BHLD), out[2];
            attn_tensor k = test_random_tensor(ATTN_F32, B, HEADS, Lk, D, n / 2 ? T_BLHD : T_BHLD);
            attn_tensor v = test_random_tensor(ATTN_F32, B, HEADS, Lk, D, n / 2 ? T_BLHD : T_BHLD);
            attn_opts opts = {0};
            attn_ctx ctx = test_ctx(isa);
            ctx.batch_invariant = n % 2;
            opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
            test_case("%s, invariant %d, %zu keys", attn_isa_string(isa), n % 2, Lk);
            out[0] = test_tensor(ATTN_F32, B, HEADS, 2, D, T_BHLD);
            out[1] = test_tensor(ATTN_F32, 1, HEADS, 2, D, T_BHLD);
            CHECK_STATUS(attn_sdpa(out[0], q, k, v, &opts, test_dry(&ctx, &dry)), ATTN_OK);
            ctx.scratch = test_block(dry.scratch), ctx.scratch_size = dry.scratch;
            CHECK_STATUS(attn_sdpa(out[0], q, k, v, &opts, &ctx), ATTN_OK);
            ctx.scratch = NULL, ctx.scratch_size = 0;
            CHECK_STATUS(attn_sdpa(out[1], test_tensor_item(q, B - 1), test_tensor_item(k, B - 1),
                                   test_tensor_item(v, B - 1), &opts, &ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(out[1], test_tensor_item(out[0], B - 1)));
            test_release();
        }
}

/* Heads that lie side by side are one block, whose splits several tasks take, in exactly the scratch that was asked
   for: the bits are those of one task and of heads apart. */
TEST(invariant_side)
{
    enum { B = 2, HEADS = 6, LK = 1300, D = 24 };
    static size_t lens[B] = {700, LK};
    FOR_EACH_ISA (isa)
        for (size_t Lq = 1; Lq <= 2; Lq++) {
            attn_tensor q = test_random_tensor(ATTN_F32, B, HEADS, Lq, D, T_BHLD), out[2], k[2], v[2];
            attn_opts opts = {0};
            test_runner runner;
            k[0] = test_random_tensor(ATTN_F32, B, HEADS, LK, D, T_BHLD);
            v[0] = test_random_tensor(ATTN_F32, B, HEADS, LK, D, T_BHLD);
            k[1] = test_tensor(ATTN_F32, B, HEADS, LK, D, T_BLHD);
            v[1] = test_tensor(ATTN_F32, B, HEADS, LK, D, T_BLHD);
            test_copy_tensor(k[1], k[0]);
            test_copy_tensor(v[1], v[0]);
            opts.kv_lens = lens;
            for (size_t n = 0; n < 2; n++) {
                attn_ctx ctx = test_ctx(isa);
                attn_dry_run dry = {0};
                if (n == 1)
                    ctx.parallel = test_serial_backwards(&runner, 3);
                test_case("%s, %zu queries", attn_isa_string(isa), Lq);
                out[n] = test_tensor(ATTN_F32, B, HEADS, Lq, D, T_BHLD);
                CHECK_STATUS(attn_sdpa(out[n], q, k[n], v[n], &opts, test_dry(&ctx, &dry)), ATTN_OK);
                ctx.scratch = test_block(dry.scratch), ctx.scratch_size = dry.scratch;
                CHECK_STATUS(attn_sdpa(out[n], q, k[n], v[n], &opts, &ctx), ATTN_OK);
            }
            CHECK(test_same_tensor_bits(out[1], out[0]));
            test_release();
        }
}
