/* Tiles of the engine: whichever rows a block has, whatever is copied, each number is the same; and how exact the
   exponentials are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sdpa.h"

enum { HEADS = 20, ROWS = 9 }; /* more than half a vector of any pass, and so many that some are fewer than that */

/* Heads first .. first + count - 1 of t, where it has `heads`. */
static attn_tensor some_heads_of(attn_tensor t, size_t heads, size_t first, size_t count)
{
    if (t.heads != heads)
        return t;
    t.data = test_tensor_at(t, 0, first, 0, 0);
    t.heads = count;
    return t;
}

static attn_tensor some_heads(attn_tensor t, size_t first, size_t count)
{
    return some_heads_of(t, HEADS, first, count);
}

typedef struct shape {
    size_t D, Dv, Lk;
    int layout;
} shape;

enum { PLAIN, BIASED, MASKED, WINDOWED, CAPPED, SLOPED, SUNK, OPTIONS };

static attn_opts options(int kind, size_t Lk, attn_dtype dtype, float *slopes)
{
    attn_opts opts = {0};
    attn_dtype wide = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    opts.lse = test_tensor(wide, 1, HEADS, 1, 1, T_BHLD);
    opts.weights = test_tensor(wide, 1, HEADS, 1, Lk, T_BHLD);
    opts.scores = test_tensor(wide, 1, HEADS, 1, Lk, T_BHLD);
    opts.scores_stage = ATTN_STAGE_FINAL;
    if (kind == BIASED)
        opts.bias = test_random_tensor(ATTN_F16, 1, HEADS, 1, Lk, T_BHLD);
    if (kind == MASKED)
        opts.mask = test_random_tensor(ATTN_BOOL, 1, HEADS, 1, Lk, T_BHLD);
    if (kind == WINDOWED) {
        opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
        opts.window.on = 1;
        opts.window.left = (ptrdiff_t)(Lk * 2 / 3);
        opts.window.right = -1;
    }
    if (kind == CAPPED)
        opts.softcap = 0.5;
    for (size_t h = 0; h < HEADS; h++)
        slopes[h] = ldexpf(1, -(int)h - 3);
    if (kind == SLOPED)
        opts.alibi_slopes = slopes;
    if (kind == SUNK)
        opts.sinks = slopes;
    if (kind % 2)
        opts.scale = -0.3;
    return opts;
}

/* Some heads of a group alone or among all: the same rows, whatever block they are in. */
TEST(sdpa_tiles_lanes)
{
    static const shape shapes[] = {{1, 1, 1, T_BHLD},     {3, 5, 15, T_BHLD},      {16, 16, 16, T_BHLD},
                                   {20, 65, 129, T_BLHD}, {33, 80, 127, T_BHLD},   {64, 64, 300, T_QKV},
                                   {8, 0, 40, T_BHLD},    {40, 24, 1100, T_SLICE}, {17, 18, 260, T_TURNED}};
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
            for (int trial = 0; trial < 4 * OPTIONS; trial++) {
                shape s = shapes[n];
                attn_dtype dtype = dtypes[trial % 4];
                float slopes[HEADS];
                attn_tensor q, k, v, out, few;
                attn_opts opts, part;
                attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
                size_t rows = 1 + (size_t)(test_random() % ROWS), first = (size_t)(test_random() % (HEADS - ROWS));
                if (test_quick && (size_t)trial % 5 != n % 5)
                    continue;
                ctx.isa = isa;
                ctx.batch_invariant = test_invariant();
                q = test_random_tensor(dtype, 1, HEADS, 1, s.D, T_BHLD);
                k = test_random_tensor(dtype, 1, 1, s.Lk, s.D, s.layout);
                v = test_random_tensor(dtype, 1, 1, s.Lk, s.Dv, s.layout);
                out = test_tensor(dtype, 1, HEADS, 1, s.Dv, T_BHLD);
                few = test_tensor(dtype, 1, rows, 1, s.Dv, T_BHLD);
                opts = options(trial / 4, s.Lk, dtype, slopes);
                part = opts;
                part.lse = test_tensor(opts.lse.dtype, 1, rows, 1, 1, T_BHLD);
                part.weights = test_tensor(opts.lse.dtype, 1, rows, 1, s.Lk, T_BHLD);
                part.scores = test_tensor(opts.lse.dtype, 1, rows, 1, s.Lk, T_BHLD);
                part.bias = some_heads(opts.bias, first, rows);
                part.mask = some_heads(opts.mask, first, rows);
                part.alibi_slopes = opts.alibi_slopes ? slopes + first : NULL;
                part.sinks = opts.sinks ? slopes + first : NULL;
                test_case("%s, %s, D %d, Dv %d, Lk %d, options %d, rows %d from %d", attn_isa_string(isa),
                          test_dtype_name(dtype), (int)s.D, (int)s.Dv, (int)s.Lk, trial / 4, (int)rows, (int)first);
                CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK);
                CHECK_STATUS(attn_sdpa(few, some_heads(q, first, rows), k, v, &part, &ctx), ATTN_OK);
                CHECK(test_same_tensor_bits(few, some_heads(out, first, rows)));
                CHECK(test_same_tensor_bits(part.lse, some_heads(opts.lse, first, rows)));
                CHECK(test_same_tensor_bits(part.weights, some_heads(opts.weights, first, rows)));
                CHECK(test_same_tensor_bits(part.scores, some_heads(opts.scores, first, rows)));
                test_release();
            }
}

/* Rows first .. first + count - 1 of t, where it has so many. */
static attn_tensor some_rows(attn_tensor t, size_t rows, size_t first, size_t count)
{
    if (t.len != rows)
        return t;
    t.data = test_tensor_at(t, 0, 0, first, 0);
    t.len = count;
    return t;
}

/* In a tenth of v's rows an infinity or NaN, one kind to a column: no row may see it through a copy that hides it. */
static void spoil_some(attn_tensor v)
{
    static const double specials[] = {HUGE_VAL, -HUGE_VAL, NAN};
    for (size_t j = 0; j < v.len; j += 10)
        test_tensor_set(v, 0, 0, j, j / 10 % v.dim, specials[j / 10 % v.dim % 3]);
}

/* Many blocks share the copies of their tiles, some rows have none to share: the same bits, whatever each sees; by
   default of rows that are not few. */
TEST(sdpa_tiles_units)
{
    enum { LQ = 800, LK = 700, D = 5, FEW = 8 }; /* no pass takes more for few */
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    static const int layouts[] = {T_BHLD, T_QKV, T_TURNED};
    FOR_EACH_ISA (isa)
        for (int trial = 0; trial < 24; trial++) {
            attn_dtype dtype = dtypes[trial % 4], wide = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
            ptrdiff_t offset = -60, here;
            size_t lens = LK - 77;
            attn_tensor q, k, v, out;
            attn_opts opts = {0}, part;
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            ctx.isa = isa;
            ctx.batch_invariant = trial / 4 % 2;
            if (test_quick && trial % 4 != (int)isa % 4)
                continue;
            q = test_random_tensor(dtype, 1, 1, LQ, D, T_BHLD);
            k = test_random_tensor(dtype, 1, 1, LK, D, layouts[trial % 3]);
            v = test_random_tensor(dtype, 1, 1, LK, D, layouts[trial / 2 % 3]);
            out = test_tensor(dtype, 1, 1, LQ, D, T_BHLD);
            opts.lse = test_tensor(wide, 1, 1, LQ, 1, T_BHLD);
            if (trial % 6 == 1)
                opts.weights = test_tensor(wide, 1, 1, LQ, LK, T_BHLD);
            if (trial % 6 == 3)
                opts.mask = test_random_tensor(ATTN_BOOL, 1, 1, LQ, LK, T_BHLD);
            if (trial % 6 == 4)
                opts.kv_lens = &lens;
            opts.causal_offset = &offset;
            if (trial % 3 != 0)
                opts.causal = ATTN_CAUSAL_OFFSET;
            if (trial % 5 == 2) {
                opts.window.on = 1;
                opts.window.left = 50;
                opts.window.right = -1;
            }
            if (trial % 2)
                spoil_some(v);
            CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK);
            for (size_t first = 0, rows; first < LQ; first += rows) {
                rows = (ctx.batch_invariant ? 1 : FEW + 1) + (size_t)(test_random() % 60);
                rows = rows < LQ - first ? rows : LQ - first;
                if (rows <= FEW && !ctx.batch_invariant)
                    break;
                test_case("%s, %s, trial %d, %d rows from %d", attn_isa_string(isa), test_dtype_name(dtype), trial,
                          (int)rows, (int)first);
                attn_tensor few = test_tensor(dtype, 1, 1, rows, D, T_BHLD);
                here = offset + (ptrdiff_t)first;
                part = opts;
                part.causal_offset = &here;
                part.lse = test_tensor(wide, 1, 1, rows, 1, T_BHLD);
                part.mask = some_rows(opts.mask, LQ, first, rows);
                if (opts.weights.data)
                    part.weights = test_tensor(wide, 1, 1, rows, LK, T_BHLD);
                CHECK_STATUS(attn_sdpa(few, some_rows(q, LQ, first, rows), k, v, &part, &ctx), ATTN_OK);
                CHECK(test_same_tensor_bits(few, some_rows(out, LQ, first, rows)));
                CHECK(test_same_tensor_bits(part.lse, some_rows(opts.lse, LQ, first, rows)));
                CHECK(test_same_tensor_bits(part.weights, some_rows(opts.weights, LQ, first, rows)));
            }
            test_release();
        }
}

/* Parts of the mask hide all, some or nothing: what is cached of it, for heads that share it, changes no bit. */
TEST(sdpa_tiles_mask_cache)
{
    enum { B = 2, H = 3, LQ = 300, LK = 520, D = 3, PART = 64 };
    FOR_EACH_ISA (isa)
        for (int trial = 0; trial < 6; trial++) {
            size_t lens[B] = {LK - 100, LK}, mask_heads = trial % 2 ? 1 : 2 * H, mask_batch = trial % 3 ? B : 1;
            attn_tensor q = test_random_tensor(ATTN_F32, B, 2 * H, LQ / 2, D, T_BHLD), k, v, out, one;
            attn_opts opts = {0}, part;
            attn_ctx ctx = test_ctx(isa);
            if (!test_has_turn(isa, (size_t)trial))
                continue;
            k = test_random_tensor(ATTN_F32, B, H, LK, D, T_BHLD);
            v = test_random_tensor(ATTN_F32, B, H, LK, D, T_BHLD);
            out = test_tensor(ATTN_F32, B, 2 * H, LQ / 2, D, T_BHLD);
            one = test_tensor(ATTN_F32, B, 2, LQ / 2, D, T_BHLD);
            opts.mask = test_random_tensor(ATTN_BOOL, mask_batch, mask_heads, LQ / 2, LK, T_BHLD);
            for (size_t b = 0; b < mask_batch; b++)
                for (size_t h = 0; h < mask_heads; h++)
                    for (size_t j = 0, seen = 0; j < LK; j++) {
                        seen = j % PART == 0 ? (size_t)(test_random() % 4) : seen;
                        for (size_t i = 0; i < LQ / 2 && seen < 3; i++)
                            test_tensor_set(opts.mask, b, h, i, j, seen == (i / PART + b + h) % 3);
                    }
            opts.weights = test_tensor(ATTN_F32, B, 2 * H, LQ / 2, LK, T_BHLD);
            opts.kv_lens = trial / 2 % 2 ? lens : NULL;
            CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK);
            for (size_t h = 0; h < H; h++) {
                test_case("%s, trial %d, head %d", attn_isa_string(isa), trial, (int)h);
                part = opts;
                part.mask = some_heads_of(opts.mask, 2 * H, 2 * h, 2);
                part.weights = test_tensor(ATTN_F32, B, 2, LQ / 2, LK, T_BHLD);
                CHECK_STATUS(attn_sdpa(one, some_heads_of(q, 2 * H, 2 * h, 2), some_heads_of(k, H, h, 1),
                                       some_heads_of(v, H, h, 1), &part, &ctx),
                             ATTN_OK);
                CHECK(test_same_tensor_bits(one, some_heads_of(out, 2 * H, 2 * h, 2)));
                CHECK(test_same_tensor_bits(part.weights, some_heads_of(opts.weights, 2 * H, 2 * h, 2)));
            }
            test_release();
        }
}

static int hidden_from(attn_tensor mask, size_t b, size_t first_head, size_t heads, size_t j) /* from all queries */
{
    int seen = mask.data == NULL;
    for (size_t r = 0; r < heads * mask.len; r++)
        seen |= *(unsigned char *)test_tensor_at(mask, b, first_head + r / mask.len, r % mask.len, j);
    return !seen;
}

/* Rows of k and v that lie as in [B,L,H,D], many bytes apart: decoding takes several heads together, each of which sees
   other keys. The bits of the packed layout, whatever hidden keys hold. k is v: all but its heads is NaN. */
TEST(sdpa_tiles_heads)
{
    enum { B = 2, LK = 1100, AMONG = 96, GROUP = 2 };
    static const size_t kv_heads[] = {3, 9, 9, 3}, dims[] = {8, 5, 8, 12};
    static const size_t lens[B] = {LK - 5, 700};
    for (size_t n = 0; n < 4; n++) {
        attn_dtype dtype = n % 2 ? ATTN_F16 : ATTN_F32;
        size_t H = kv_heads[n], Lq = 1 + n / 2;
        ptrdiff_t left = n < 2 ? 300 : 900;
        float slopes[9 * GROUP];
        attn_opts opts = {0};
        attn_tensor q = test_random_tensor(dtype, B, H * GROUP, Lq, dims[n], T_BHLD), packed;
        attn_tensor k = test_tensor(dtype, B, AMONG, LK, n == 3 ? 2 * dims[n] : dims[n], T_BLHD);
        k.heads = H;
        k.dim = dims[n];
        k.dim_stride = n == 3 ? 2 : 1; /* read through a copy */
        test_scatter(k, n);
        for (size_t h = 0; h < H * GROUP; h++)
            slopes[h] = ldexpf(1, -(int)h % 7 - 4);
        opts.kv_lens = lens;
        opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
        opts.window.on = 1;
        opts.window.left = left;
        opts.window.right = 0;
        if (n < 2) /* heads see keys in other tiles */
            opts.mask = test_random_tensor(ATTN_BOOL, B, H * GROUP, Lq, LK, T_BHLD);
        for (size_t h = 0; h < H * GROUP && n < 2; h++)
            for (size_t j = 0; j < LK; j++)
                if (j / 128 % 3 == h / GROUP % 3)
                    for (size_t b = 0; b < B; b++)
                        test_tensor_set(opts.mask, b, h, 0, j, 0);
        if (n == 2)
            opts.alibi_slopes = opts.sinks = slopes;
        packed = test_tensor_like(k, T_BHLD);
        for (size_t b = 0; b < B; b++)
            for (size_t h = 1; h < H; h += 2) /* others are finite */
                for (size_t j = 0; j < LK; j++)
                    if (j >= lens[b] || j + (size_t)left + Lq < lens[b] ||
                        hidden_from(opts.mask, b, GROUP * h, GROUP, j))
                        for (size_t d = 0; d < dims[n]; d++)
                            test_tensor_set(k, b, h, j, d, NAN);
        FOR_EACH_ISA (isa) {
            attn_tensor want = test_tensor(dtype, B, H * GROUP, Lq, dims[n], T_BHLD);
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            ctx.isa = isa;
            opts.lse = test_tensor(ATTN_F32, B, H * GROUP, Lq, 1, T_BHLD);
            CHECK_STATUS(attn_sdpa(want, q, packed, packed, &opts, &ctx), ATTN_OK);
            for (size_t width = 1; width <= 2; width++) {
                test_runner runner;
                attn_opts other = opts;
                attn_tensor out = test_tensor(dtype, B, H * GROUP, Lq, dims[n], T_BHLD);
                ctx.parallel = test_threads(&runner, width);
                other.lse = test_tensor(ATTN_F32, B, H * GROUP, Lq, 1, T_BHLD);
                test_case("%s, %s, %zu heads, Lq %zu, D %zu, width %zu", attn_isa_string(isa), test_dtype_name(dtype),
                          H, Lq, dims[n], width);
                CHECK_STATUS(attn_sdpa(out, q, k, k, &other, &ctx), ATTN_OK);
                CHECK(test_same_tensor_bits(out, want) && test_same_tensor_bits(other.lse, opts.lse));
            }
        }
        test_release();
    }
}

/* A mask of any layout and broadcast hides what a bias of -infinity hides: the same bits, around whole words of bits.
   With scale 1 a bias of 0 changes no score. */
TEST(sdpa_tiles_masks)
{
    static const size_t lengths[] = {1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200};
    static const int layouts[] = {T_BHLD,  T_BLHD,      T_TURNED,   T_STEP,    T_FLIPPED,
                                  T_SLICE, T_ONE_BATCH, T_ONE_HEAD, T_ONE_ROW, T_ONE_COL};
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_BF16};
    enum { B = 2, H = 4, D = 3 };
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 11; n++)
            for (int trial = 0; trial < 10; trial++) {
                attn_dtype dtype = dtypes[(n + (size_t)trial) % 3];
                size_t Lq = trial % 2 ? 1 : 1 + lengths[10 - n] % 70, Hkv = n % 2 ? 4 : 2, Lk = lengths[n];
                attn_tensor q = test_random_tensor(dtype, B, H, Lq, D, T_BHLD), masked, biased;
                attn_tensor k = test_random_tensor(dtype, B, Hkv, Lk, D, T_BHLD);
                attn_opts mask = {0}, bias;
                attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
                if (test_quick && (n + (size_t)trial) % 4 != (size_t)isa % 4)
                    continue;
                ctx.isa = isa;
                mask.scale = 1;
                bias = mask;
                masked = test_tensor(dtype, B, H, Lq, D, T_BHLD), biased = test_tensor(dtype, B, H, Lq, D, T_BHLD);
                mask.mask = test_random_tensor(ATTN_BOOL, B, H, Lq, Lk, layouts[trial]);
                mask.lse = test_tensor(dtype, B, H, Lq, 1, T_BHLD), bias.lse = test_tensor(dtype, B, H, Lq, 1, T_BHLD);
                bias.bias = test_tensor(dtype, B, H, Lq, Lk, T_BHLD);
                for (size_t r = 0; r < B * H * Lq * Lk; r++) {
                    size_t j = r % Lk, i = r / Lk % Lq, h = r / Lk / Lq % H, b = r / Lk / Lq / H;
                    int shown = *(unsigned char *)test_tensor_at(mask.mask, b, h, i, j) != 0;
                    test_tensor_set(bias.bias, b, h, i, j, shown ? 0 : -INFINITY);
                }
                test_case("%s, %s, Lq %zu, Lk %zu, layout %d", attn_isa_string(isa), test_dtype_name(dtype), Lq, Lk,
                          layouts[trial]);
                CHECK_STATUS(attn_sdpa(masked, q, k, k, &mask, &ctx), ATTN_OK);
                CHECK_STATUS(attn_sdpa(biased, q, k, k, &bias, &ctx), ATTN_OK);
                CHECK(test_same_tensor_bits(masked, biased) && test_same_tensor_bits(mask.lse, bias.lse));
                test_release();
            }
}

/* So many keys that splits lie by their number: by that of the item, whatever another item has. */
TEST(sdpa_tiles_split)
{
    enum { LONG = 33000 };
    static const size_t lens[2] = {17000, LONG};
    FOR_EACH_ISA (isa)
        for (size_t rows = 1; rows < 60; rows += 50) {
            attn_tensor q = test_random_tensor(ATTN_F32, 2, 1, rows, 2, T_BHLD), one = q;
            attn_tensor k = test_random_tensor(ATTN_F32, 2, 1, LONG, 2, T_BHLD), part = k;
            attn_tensor out = test_tensor(ATTN_F32, 2, 1, rows, 2, T_BHLD), some = out;
            attn_opts opts = {0};
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            ctx.isa = isa;
            opts.kv_lens = lens;
            CHECK_STATUS(attn_sdpa(out, q, k, k, &opts, &ctx), ATTN_OK);
            for (size_t b = 0; b < 2; b++) {
                test_case("%s, %zu rows, item %zu", attn_isa_string(isa), rows, b);
                one.batch = part.batch = some.batch = 1;
                one.data = test_tensor_at(q, b, 0, 0, 0);
                part.data = test_tensor_at(k, b, 0, 0, 0);
                part.len = lens[b];
                some.data = test_tensor_at(out, b, 0, 0, 0);
                attn_tensor alone = test_tensor(ATTN_F32, 1, 1, rows, 2, T_BHLD);
                CHECK_STATUS(attn_sdpa(alone, one, part, part, NULL, &ctx), ATTN_OK);
                CHECK(test_same_tensor_bits(alone, some));
            }
            test_release();
        }
}

/* Scores that are exact, 0, -1, -2 ...: each weight is exp of its score, divided by the sum. */
TEST(sdpa_tiles_exponentials)
{
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 8; n++) {
            attn_dtype dtype = n % 2 ? test_wide : ATTN_F32;
            size_t Lk = dtype == ATTN_F64 ? 690 : 82, rows = n / 2 % 2 ? 1 : 40;
            double scale = n / 4 ? 0.25 : 1;
            attn_tensor q = test_tensor(dtype, 1, 1, rows, 1, T_BHLD), k = test_tensor(dtype, 1, 1, Lk, 1, T_BHLD);
            attn_tensor out = test_tensor(dtype, 1, 1, rows, 1, T_BHLD);
            attn_opts opts = {0};
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            real sum = 0;
            ctx.isa = isa;
            opts.scale = scale;
            opts.weights = test_tensor(dtype, 1, 1, rows, Lk, T_BHLD);
            test_fill_tensor(q, 1);
            for (size_t j = 0; j < Lk; j++) {
                test_tensor_set(k, 0, 0, j, 0, -(double)j / scale);
                sum += expl(-(real)j);
            }
            test_case("%s, %s, %d rows, scale %g", attn_isa_string(isa), test_dtype_name(dtype), (int)rows, scale);
            CHECK_STATUS(attn_sdpa(out, q, k, k, &opts, &ctx), ATTN_OK);
            for (size_t j = 0; j < Lk; j++) {
                real want = expl(-(real)j) / sum;
                CHECK_NEAR(test_tensor_get(opts.weights, 0, 0, rows - 1, j), want, 4 * test_ulp(want, dtype));
            }
            test_release();
        }
}

/* One query of 1 and keys whose products with it are `dots`, values 1, 2 ...; alone, or as one of 17. */
static attn_tensor attend_dots(const double *dots, size_t Lk, attn_dtype dtype, attn_isa isa, int few, attn_opts *opts)
{
    size_t rows = few ? 1 : 17;
    double half = dtype == ATTN_F64 ? 1e150 : 1e17; /* no product of inputs is out of range by itself */
    attn_tensor q = test_tensor(dtype, 1, 1, rows, 1, T_BHLD), k = test_tensor(dtype, 1, 1, Lk, 1, T_BHLD);
    attn_tensor v = test_tensor(dtype, 1, 1, Lk, 1, T_BHLD), out = test_tensor(dtype, 1, 1, rows, 1, T_BHLD);
    attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
    ctx.isa = isa;
    opts->scores = test_tensor(dtype, 1, 1, rows, Lk, T_BHLD);
    opts->scores_stage = ATTN_STAGE_FINAL;
    test_fill_tensor(q, half);
    for (size_t j = 0; j < Lk; j++) {
        test_tensor_set(k, 0, 0, j, 0, dots[j] / half);
        test_tensor_set(v, 0, 0, j, 0, (double)j + 1);
    }
    CHECK_STATUS(attn_sdpa(out, q, k, v, opts, &ctx), ATTN_OK);
    return out;
}

/* Scales far from 1: tiny ones make equal weights of large products, large ones infinities of small ones. */
TEST(sdpa_tiles_scales)
{
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 4; n++) {
            attn_dtype dtype = n % 2 ? test_wide : ATTN_F32;
            double large = dtype == ATTN_F64 ? 1e300 : 1e34, tiny = dtype == ATTN_F64 ? 1e-306 : 1e-37,
                   dots[4] = {large, large, large, large};
            attn_opts opts = {0};
            test_case("%s, %s, %s", attn_isa_string(isa), test_dtype_name(dtype), n / 2 ? "few" : "many");
            for (int times = 0; times < 4; times++, tiny /= 100) {
                opts.scale = tiny;
                CHECK_NEAR(test_tensor_get(attend_dots(dots, 4, dtype, isa, n / 2, &opts), 0, 0, 0, 0), 2.5, 1e-2L);
            }
            opts.causal = ATTN_CAUSAL_UPPER_LEFT; /* hidden scores stay -infinity, whatever the scale */
            attend_dots(dots, 4, dtype, isa, n / 2, &opts);
            CHECK(test_tensor_get(opts.scores, 0, 0, 0, 3) == -INFINITY);
            opts.causal = ATTN_CAUSAL_NONE;
            opts.scale = dtype == ATTN_F64 ? 1e10 : 1e6; /* the score is infinite though the product is not */
            CHECK(isnan(test_tensor_get(attend_dots(dots, 4, dtype, isa, n / 2, &opts), 0, 0, 0, 0)));
            test_release();
        }
}

/* Softcaps whose ratio to the scale is out of range, above and below. */
TEST(sdpa_tiles_softcaps)
{
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 4; n++) {
            attn_dtype dtype = n % 2 ? test_wide : ATTN_F32;
            double large = dtype == ATTN_F64 ? 1e308 : 3e38, dots[3] = {0, -1, 1};
            attn_opts opts = {0};
            test_case("%s, %s, %s", attn_isa_string(isa), test_dtype_name(dtype), n / 2 ? "few" : "many");
            opts.scale = large;
            opts.softcap = 0.5;
            attend_dots(dots, 3, dtype, isa, n / 2, &opts);
            for (size_t j = 0; j < 3; j++)
                CHECK_NEAR(test_tensor_get(opts.scores, 0, 0, 0, j), dots[j] / 2, 1e-6L);
            opts.scale = dtype == ATTN_F64 ? 1e-20 : 1e-10;
            opts.softcap = large / 1000; /* its reciprocal is a normal number: -ffast-math may take that */
            dots[1] = large / 1e8;
            attend_dots(dots, 3, dtype, isa, n / 2, &opts);
            CHECK_NEAR(test_tensor_get(opts.scores, 0, 0, 0, 1), dots[1] * opts.scale, dots[1] * opts.scale * 1e-6);
            test_release();
        }
}

/* Scratch does not grow with the number of keys beyond one tile, of 256 keys where there are few rows, nor does a
   longer call need less. */
TEST(sdpa_tiles_scratch)
{
    static const size_t keys[] = {256, 257, 512, 513, 20000}, queries[] = {1, 2, 4, 8, 9, 16, 17, 32, 47, 48, 1000};
    char *at = (char *)(uintptr_t)(1 << 20); /* nothing is read there */
    FOR_EACH_ISA (isa)
        for (size_t heads = 1; heads <= 16; heads *= 4)
            for (int blhd = 0; blhd < 2; blhd++) {
                size_t least = 0;
                for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
                    attn_dry_run dry = {0};
                    size_t first = 0;
                    for (size_t n = 0; n < sizeof keys / sizeof *keys; n++) {
                        attn_tensor q = attn_bhld(at, ATTN_F32, 1, heads, queries[i], 64), out = q, k;
                        attn_ctx ctx = test_ctx(isa);
                        k = blhd ? attn_blhd(at, ATTN_F32, 1, keys[n], heads, 64)
                                 : attn_bhld(at, ATTN_F32, 1, heads, keys[n], 64);
                        out.data = at + (1 << 28);
                        test_case("%s, %zu heads, %zu queries, %zu keys", attn_isa_string(isa), heads, queries[i],
                                  keys[n]);
                        CHECK_STATUS(attn_sdpa(out, q, k, k, NULL, test_dry(&ctx, &dry)), ATTN_OK);
                        first = n == 0 ? dry.scratch : first;
                        CHECK(dry.scratch == first || (test_small && keys[n] > SPLIT_KEYS && dry.scratch > first));
                    }
                    CHECK(first >= least);
                    least = first;
                }
            }
}

/* Few queries of any layout: the same bits. */
TEST(sdpa_tiles_queries)
{
    static const int layouts[] = {T_BHLD, T_BLHD,    T_QKV,       T_SLICE,    T_TURNED,
                                  T_ODD,  T_FLIPPED, T_BACKWARDS, T_ONE_HEAD, T_ONE_ROW};
    enum { HKV = 2, LK = 150 };
    for (size_t n = 0; n < sizeof layouts / sizeof *layouts; n++)
        for (size_t Lq = 1; Lq <= 3; Lq++)
            for (size_t group = 1; group <= 2; group++)
                for (size_t D = 8; D <= 20; D += 4) {
                    attn_dtype dtype = (n + Lq + group) % 4 ? ATTN_F32 : test_wide;
                    attn_tensor q = test_random_tensor(dtype, 2, HKV * group, Lq, D, layouts[n]);
                    attn_tensor gathered = test_tensor_like(q, T_STEP);
                    attn_tensor k = test_random_tensor(dtype, 2, HKV, LK, D, T_BHLD);
                    FOR_EACH_ISA (isa) {
                        attn_ctx ctx = test_ctx(isa);
                        attn_tensor out = test_tensor(dtype, 2, HKV * group, Lq, D, T_BHLD);
                        attn_tensor want = test_tensor(dtype, 2, HKV * group, Lq, D, T_BHLD);
                        test_case("%s, %s, layout %d, %zu queries, groups of %zu, D %zu", attn_isa_string(isa),
                                  test_dtype_name(dtype), layouts[n], Lq, group, D);
                        CHECK_STATUS(attn_sdpa(want, gathered, k, k, NULL, &ctx), ATTN_OK);
                        CHECK_STATUS(attn_sdpa(out, q, k, k, NULL, &ctx), ATTN_OK);
                        CHECK(test_same_tensor_bits(out, want));
                    }
                    test_release();
                }
}

enum { TURN_BATCH = 2, TURN_HEADS = 5, TURN_ROWS = 200 };

static void count_scores(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    size_t *seen = user;
    (void)scores;
    (void)j0;
    seen[(b * TURN_HEADS + h) * TURN_ROWS + i] += count;
}

/* As many heads in turn as there are workers, who here take all units one after another: a row meets its keys once. */
TEST(sdpa_tiles_turns)
{
    attn_tensor q = test_random_tensor(ATTN_F32, TURN_BATCH, TURN_HEADS, TURN_ROWS, 3, T_BHLD);
    attn_tensor want = test_tensor(ATTN_F32, TURN_BATCH, TURN_HEADS, TURN_ROWS, 3, T_BHLD);
    attn_opts opts = {0};
    opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    opts.score_mod = count_scores;
    for (size_t width = 1; width <= TURN_BATCH * TURN_HEADS + 1; width++) {
        size_t *seen = test_block(TURN_BATCH * TURN_HEADS * TURN_ROWS * sizeof *seen), once = 1;
        test_runner runner;
        attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
        attn_tensor out = width > 1 ? test_tensor(ATTN_F32, TURN_BATCH, TURN_HEADS, TURN_ROWS, 3, T_BHLD) : want;
        memset(seen, 0, TURN_BATCH * TURN_HEADS * TURN_ROWS * sizeof *seen);
        opts.score_mod_user = seen;
        ctx.parallel = test_serial_backwards(&runner, width);
        test_case("width %zu", width);
        CHECK_STATUS(attn_sdpa(out, q, q, q, &opts, &ctx), ATTN_OK);
        for (size_t row = 0; row < TURN_BATCH * TURN_HEADS * TURN_ROWS; row++)
            once &= seen[row] == row % TURN_ROWS + 1;
        CHECK(once && test_same_tensor_bits(out, want));
    }
}

/* A bias that is added from where it lies, in full blocks, or through a copy: the same bits. -infinity hides some keys
   from some rows, and one that is NaN from all. */
TEST(sdpa_tiles_biases)
{
    enum { LQ = 115, LK = 211, D = 4, NONE = 70 };
    static const float slopes[] = {0.5f, 0.25f};
    for (int n = 0; n < 12; n++) {
        attn_dtype dtype = n % 2 ? test_wide : ATTN_F32;
        size_t heads = n / 2 % 2 ? 1 : 2;
        int layout = n / 4 == 0 ? T_BHLD : n / 4 == 1 ? T_SLICE : T_ONE_ROW;
        attn_tensor q = test_random_tensor(dtype, 1, 2, LQ, D, T_BHLD),
                    k = test_random_tensor(dtype, 1, 1, LK, D, T_BHLD);
        attn_tensor v = test_random_tensor(dtype, 1, 1, LK, D, T_BHLD);
        attn_tensor bias = test_random_tensor(dtype, 1, heads, LQ, LK, layout);
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < LQ; i++)
                for (size_t j = 0; j < LK; j++)
                    if (j == NONE || (i + 3 * j) % 7 == h)
                        test_tensor_set(bias, 0, h, i, j, -HUGE_VAL);
        test_tensor_set(k, 0, 0, NONE, 1, NAN);
        FOR_EACH_ISA (isa) {
            attn_ctx ctx = test_ctx(isa);
            attn_tensor out[2], weights[2];
            for (int copied = 0; copied < 2; copied++) {
                attn_opts opts = {0};
                out[copied] = test_tensor(dtype, 1, 2, LQ, D, T_BHLD);
                weights[copied] = opts.weights = test_tensor(dtype, 1, 2, LQ, LK, T_BHLD);
                opts.bias = copied ? test_tensor_like(bias, T_STEP) : bias;
                opts.softcap = n % 3 == 1 ? 2 : 0;
                opts.alibi_slopes = n % 3 == 2 ? slopes : NULL; /* with those it is copied in any case */
                CHECK_STATUS(attn_sdpa(out[copied], q, k, v, &opts, &ctx), ATTN_OK);
            }
            test_case("%s, %s, %zu heads, layout %d", attn_isa_string(isa), test_dtype_name(dtype), heads, layout);
            CHECK(test_same_tensor_bits(out[0], out[1]) && test_same_tensor_bits(weights[0], weights[1]));
            CHECK(isfinite(test_tensor_get(out[0], 0, 1, LQ - 1, 0)));
        }
        test_release();
    }
}

/* Tiles of keys that no row sees: weights of 0, or NaN in a row that is NaN, and scores of -infinity, in matrices of
   any type, packed or with gaps that stay as they are. */
TEST(sdpa_tiles_hidden)
{
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    enum { LK = 530, SPOILT = 3, LEFT = 20, OFFSET = 300 };
    for (int n = 0; n < 16; n++)
        FOR_EACH_ISA (isa) {
            size_t Lq = n / 8 ? 70 : 4;
            ptrdiff_t offset = OFFSET;
            int held = 1;
            attn_ctx ctx = test_ctx(isa);
            attn_tensor q = test_random_tensor(ATTN_F32, 1, 1, Lq, 5, T_BHLD), out, outs[3];
            attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, LK, 5, T_BHLD);
            attn_opts opts = {0};
            test_fill_tensor(attn_tensor_slice(q, SPOILT, 1), NAN);
            opts.causal = ATTN_CAUSAL_OFFSET;
            opts.causal_offset = &offset;
            opts.window.on = 1;
            opts.window.left = LEFT;
            opts.window.right = -1;
            opts.scores_stage = ATTN_STAGE_FINAL;
            opts.weights = test_tensor(dtypes[n % 4], 1, 1, Lq, LK, n / 4 % 2 ? T_STEP : T_BHLD);
            opts.scores = test_tensor(dtypes[(n + 1) % 4], 1, 1, Lq, LK, n / 4 % 2 ? T_BHLD : T_STEP);
            out = test_tensor(ATTN_F32, 1, 1, Lq, 5, T_BHLD);
            outs[0] = out;
            outs[1] = opts.weights;
            outs[2] = opts.scores;
            test_case("%s, weights %s, scores %s, %zu queries, %d", attn_isa_string(isa),
                      test_dtype_name(opts.weights.dtype), test_dtype_name(opts.scores.dtype), Lq, n);
            test_freeze();
            CHECK_STATUS(attn_sdpa(out, q, k, k, &opts, &ctx), ATTN_OK);
            CHECK(test_wrote_only_tensors(outs, 3));
            for (size_t i = 0; i < Lq; i++)
                for (size_t j = 0; j < LK; j++) {
                    real weight = test_tensor_get(opts.weights, 0, 0, i, j);
                    real score = test_tensor_get(opts.scores, 0, 0, i, j);
                    int sees = j <= i + OFFSET && j + LEFT >= i + OFFSET;
                    held &= i == SPOILT ? isnan(weight) != 0 : sees ? weight > 0 : weight == 0;
                    held &= sees ? score > -HUGE_VAL || i == SPOILT : score == -HUGE_VAL;
                }
            CHECK(held);
            test_release();
        }
}

/* So many bytes of keys that rows are prefetched, and the same heads one by one, each of which has too few. */
TEST(sdpa_tiles_prefetched)
{
    enum { LK = 1100 };
    static const size_t queries[] = {1, 3, 60};
    for (int n = 0; n < 6; n++) {
        attn_dtype dtype = n % 2 ? ATTN_BF16 : ATTN_F32;
        size_t Lq = queries[n / 2], D = n % 2 ? 160 : 80, H = 3;
        attn_tensor q = test_random_tensor(ATTN_F32, 1, H, Lq, D, T_BHLD);
        attn_tensor k = test_random_tensor(dtype, 1, H, LK, D, T_BHLD),
                    v = test_random_tensor(dtype, 1, H, LK, D, T_BHLD);
        FOR_EACH_ISA (isa) {
            attn_ctx ctx = test_ctx(isa);
            attn_tensor out = test_tensor(ATTN_F32, 1, H, Lq, D, T_BHLD),
                        one = test_tensor(ATTN_F32, 1, 1, Lq, D, T_BHLD);
            test_case("%s, %s, %zu queries", attn_isa_string(isa), test_dtype_name(dtype), Lq);
            CHECK_STATUS(attn_sdpa(out, q, k, v, NULL, &ctx), ATTN_OK);
            for (size_t h = 0; h < H; h++) {
                CHECK_STATUS(attn_sdpa(one, some_heads_of(q, H, h, 1), some_heads_of(k, H, h, 1),
                                       some_heads_of(v, H, h, 1), NULL, &ctx),
                             ATTN_OK);
                CHECK(test_same_tensor_bits(one, some_heads_of(out, H, h, 1)));
            }
        }
        test_release();
    }
}
