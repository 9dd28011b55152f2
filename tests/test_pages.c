/* Pages: that they hold what a cache holds, and that attention over them has the bits of attention over a cache of the
   same tokens, whatever the table, the strides of the pages and the options. What no query sees is not read: such pages
   lie in memory that nobody may touch, and their entries in the table are garbage. Then statuses, scratch, memory. */
#if !defined(_WIN32) && !defined(__wasi__)
#define _POSIX_C_SOURCE 200112L
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */
#define _DARWIN_C_SOURCE 1
#define HAVE_MPROTECT 1
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "cache.h"

#include <errno.h>

/* ---- pages and a cache of the same tokens ---- */

enum { INTERLEAVED = T_OUT_LAYOUTS, PAGE_LAYOUTS }; /* others are those of tensors; T_BLHD has heads side by side */
enum { MOST_ITEMS = 5, K = 0, V };

typedef struct shape {
    size_t B, Hkv, D, Dv, page_len;
    size_t stride, pages; /* of the table; and how many there are */
    attn_dtype dtype;
    int layout;
} shape;

typedef struct twin {
    attn_kv_pages pages;
    attn_kv_cache cache;
    uint32_t *table; /* that of the pages, to write; an entry that names no page is UINT32_MAX */
    uint32_t *order; /* pages in random order, */
    size_t taken;    /* of which so many are in use */
} twin;

static const attn_dtype kinds[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
static const size_t page_lens[] = {1, 3, 16, 64, 100, 128, 200, 300};

/* k and v in turn: a row of v follows each row of k. */
static void interleave(attn_tensor *k, attn_tensor *v, shape s)
{
    size_t row = s.D + s.Dv, size = test_size(s.dtype);
    char *data = test_block(s.pages * s.Hkv * s.page_len * row * size);
    *k = attn_bhld(data, s.dtype, s.pages, s.Hkv, s.page_len, row);
    *v = *k;
    k->dim = s.D;
    v->dim = s.Dv;
    v->data = data + s.D * size;
}

static uint32_t *shuffled(size_t count)
{
    uint32_t *order = test_block(count * sizeof *order);
    for (size_t n = 0; n < count; n++) {
        size_t earlier = test_below(n + 1);
        order[n] = order[earlier];
        order[earlier] = (uint32_t)n;
    }
    return order;
}

static size_t *zeros(size_t count)
{
    size_t *x = test_block(count * sizeof *x);
    memset(x, 0, count * sizeof *x);
    return x;
}

/* Pages without tokens, around the views k and v, and an empty cache with as much room. */
static twin new_twin_over(shape s, attn_tensor k, attn_tensor v)
{
    size_t scales = s.pages * s.Hkv * s.page_len * sizeof(float), bytes = 0;
    twin t;
    memset(&t, 0, sizeof t);
    t.table = test_block(s.B * s.stride * sizeof *t.table); /* no page: test_block fills with ones */
    t.order = shuffled(s.pages);
    t.pages.k = k, t.pages.v = v;
    if (s.dtype == ATTN_I8)
        t.pages.k_scales = test_block(scales), t.pages.v_scales = test_block(scales);
    t.pages.table = t.table;
    t.pages.table_stride = s.stride;
    t.pages.batch = s.B;
    t.pages.lens = zeros(s.B);
    CHECK_STATUS(attn_kv_cache_size(&bytes, s.B, s.Hkv, s.stride * s.page_len, s.D, s.Dv, s.dtype, 0), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_init(&t.cache, s.B, s.Hkv, s.stride * s.page_len, s.D, s.Dv, s.dtype, 0,
                                    test_block(bytes), bytes),
                 ATTN_OK);
    return t;
}

static twin new_twin(shape s)
{
    attn_tensor k, v;
    if (s.layout == INTERLEAVED)
        interleave(&k, &v, s);
    else {
        k = test_tensor(s.dtype, s.pages, s.Hkv, s.page_len, s.D, s.layout);
        v = test_tensor(s.dtype, s.pages, s.Hkv, s.page_len, s.Dv, s.layout);
    }
    return new_twin_over(s, k, v);
}

static attn_tensor side(const attn_kv_pages *p, int which)
{
    return which == K ? p->k : p->v;
}

/* The same members: memcmp would read the padding, which nobody has written. */
static int same_pages(attn_kv_pages a, attn_kv_pages b)
{
    return kv_same_view(a.k, b.k) && kv_same_view(a.v, b.v) && a.k_scales == b.k_scales && a.v_scales == b.v_scales &&
           a.table == b.table && a.table_stride == b.table_stride && a.batch == b.batch && a.lens == b.lens;
}

static size_t pages_of(const attn_kv_pages *p, size_t tokens)
{
    return (tokens + p->k.len - 1) / p->k.len;
}

static uint32_t *entry(const twin *t, size_t b, size_t page)
{
    return t->table + b * t->pages.table_stride + page;
}

static size_t longest(const attn_kv_pages *p)
{
    return kv_longest(p->lens, p->batch);
}

/* Item b has entries for its first `len` tokens: pages that nobody has, in no order. */
static void reserve(twin *t, size_t b, size_t len)
{
    for (size_t page = 0; page < pages_of(&t->pages, len); page++)
        if (*entry(t, b, page) == UINT32_MAX && CHECK(t->taken < t->pages.k.batch))
            *entry(t, b, page) = t->order[t->taken++];
}

static void append(twin *t, attn_tensor k, attn_tensor v, const size_t *lens)
{
    for (size_t b = 0; b < t->pages.batch; b++)
        reserve(t, b, t->pages.lens[b] + (lens ? lens[b] : k.len));
    CHECK_STATUS(attn_kv_cache_append(&t->cache, k, v, lens), ATTN_OK);
    CHECK_STATUS(attn_kv_pages_append(&t->pages, k, v, lens), ATTN_OK);
}

static attn_tensor tokens_for(const twin *t, int which, attn_dtype dtype, size_t count, int layout)
{
    attn_tensor like = side(&t->pages, which);
    return test_random_tensor(dtype, t->pages.batch, like.heads, count, like.dim, layout);
}

static void append_random(twin *t, size_t count, const size_t *lens)
{
    append(t, tokens_for(t, K, ATTN_F32, count, T_BHLD), tokens_for(t, V, ATTN_F32, count, T_BHLD), lens);
}

/* All items begin with the same tokens: whole pages, which the first item fills and the others name too. */
static void begin_with_shared(twin *t, size_t pages)
{
    size_t count = pages * t->pages.k.len;
    attn_tensor k = tokens_for(t, K, ATTN_F32, count, T_ONE_BATCH), v = tokens_for(t, V, ATTN_F32, count, T_ONE_BATCH);
    attn_kv_pages first = t->pages;
    reserve(t, 0, count);
    CHECK_STATUS(attn_kv_cache_append(&t->cache, k, v, NULL), ATTN_OK);
    first.batch = k.batch = v.batch = 1;
    CHECK_STATUS(attn_kv_pages_append(&first, k, v, NULL), ATTN_OK);
    for (size_t b = 1; b < t->pages.batch; b++) {
        memcpy(entry(t, b, 0), entry(t, 0, 0), pages * sizeof *t->table);
        t->pages.lens[b] = count;
    }
}

/* ---- do they hold the same? ---- */

static void *element(const attn_kv_pages *p, int which, size_t b, size_t h, size_t j, size_t d)
{
    return test_tensor_at(side(p, which), p->table[b * p->table_stride + j / p->k.len], h, j % p->k.len, d);
}

static float *scale_at(const attn_kv_pages *p, int which, size_t b, size_t h, size_t j)
{
    size_t page = p->table[b * p->table_stride + j / p->k.len];
    return (which == K ? p->k_scales : p->v_scales) + (page * p->k.heads + h) * p->k.len + j % p->k.len;
}

static int holds_token(const twin *t, int which, size_t b, size_t h, size_t j)
{
    attn_tensor row = which == K ? t->cache.k : t->cache.v;
    const float *scales = which == K ? t->cache.k_scales : t->cache.v_scales;
    for (size_t d = 0; d < row.dim; d++)
        if (memcmp(element(&t->pages, which, b, h, j, d), test_tensor_at(row, b, h, j, d), test_size(row.dtype)) != 0)
            return 0;
    return !scales || row.dim == 0 ||
           memcmp(scale_at(&t->pages, which, b, h, j), scales + (b * row.heads + h) * row.len + j, sizeof *scales) == 0;
}

static int holds_cache(const twin *t) /* bit by bit */
{
    for (size_t b = 0; b < t->pages.batch; b++) {
        if (t->pages.lens[b] != t->cache.lens[b])
            return 0;
        for (size_t j = 0; j < t->cache.lens[b]; j++)
            for (size_t h = 0; h < t->cache.k.heads; h++)
                if (!holds_token(t, K, b, h, j) || !holds_token(t, V, b, h, j))
                    return 0;
    }
    return 1;
}

/* ---- a question: what attention is asked for ---- */

/* The mask that hides what the options' mask and lists of blocks hide. */
static attn_tensor mask_of(const kv_question *a, size_t Hkv, size_t Lk)
{
    attn_tensor mask = a->opts.mask, t = test_tensor(ATTN_BOOL, a->q.batch, a->q.heads, a->q.len, Lk, T_BHLD);
    int masked = !test_absent_tensor(mask);
    for (size_t b = 0; b < t.batch; b++)
        for (size_t h = 0; h < t.heads; h++)
            for (size_t i = 0; i < t.len; i++)
                for (size_t j = 0; j < Lk; j++) {
                    int shown = kv_is_listed(&a->opts.blocks, t.heads, Hkv, t.len, b, h, i, j);
                    if (masked && shown)
                        shown = test_tensor_get(mask, mask.batch == 1 ? 0 : b, mask.heads == 1 ? 0 : h,
                                                mask.len == 1 ? 0 : i, mask.dim == 1 ? 0 : j) != 0;
                    *(unsigned char *)test_tensor_at(t, b, h, i, j) = (unsigned char)shown;
                }
    return t;
}

/* What the cache says, one thread and its own memory; lists of blocks are a mask to it, which pairs of BF16 do not keep
   off where kv_len is odd. */
static kv_answer by_cache(const twin *t, const kv_question *a)
{
    kv_answer r = kv_blank(a, longest(&t->pages), t->pages.v.dim);
    attn_opts o = a->opts;
    attn_ctx ctx = test_ctx(o.blocks.kv_len % 2 ? test_without_pairs(a->ctx.isa) : a->ctx.isa);
    attn_blocks none;
    ctx.batch_invariant = a->ctx.batch_invariant;
    memset(&none, 0, sizeof none);
    if (o.blocks.q_len > 0)
        o.mask = mask_of(a, t->pages.k.heads, longest(&t->pages));
    o.blocks = none;
    o = kv_with_outputs(o, &r);
    CHECK_STATUS(attn_kv_cache_attend(r.out, a->q, &t->cache, &o, &ctx), ATTN_OK);
    return r;
}

static kv_answer by_pages(const twin *t, const kv_question *a)
{
    kv_answer r = kv_blank(a, longest(&t->pages), t->pages.v.dim);
    attn_opts o = kv_with_outputs(a->opts, &r);
    test_freeze();
    CHECK_STATUS(attn_kv_pages_attend(r.out, a->q, &t->pages, &o, &a->ctx), ATTN_OK);
    CHECK(kv_wrote_only(&r));
    return r;
}

static int same_answers(const kv_answer *got, const kv_answer *want)
{
    return CHECK(test_same_tensor_bits(got->out, want->out)) & CHECK(test_same_tensor_bits(got->lse, want->lse)) &
           CHECK(test_same_tensor_bits(got->weights, want->weights)) &
           CHECK(test_same_tensor_bits(got->scores, want->scores));
}

static void compare(const twin *t, const kv_question *a)
{
    kv_answer want = by_cache(t, a), got = by_pages(t, a);
    same_answers(&got, &want);
}

/* ---- random questions ---- */

/* Random lists: about one block of keys in `rarity` is listed; what follows a list is garbage. */
static void add_blocks(kv_question *a, const attn_kv_pages *p, size_t rarity)
{
    size_t q_lens[] = {1, 2, 16, a->q.len}, kv_lens[] = {1, 3, 16, 100, p->k.len, 2 * p->k.len, 128};
    size_t heads[] = {1, p->k.heads, a->q.heads}, lists, blocks, Lk = longest(p);
    attn_blocks l;
    uint32_t *index, *count;
    memset(&l, 0, sizeof l);
    l.q_len = q_lens[test_below(4)];
    l.kv_len = kv_lens[test_below(COUNT(kv_lens))];
    l.batch = test_maybe() ? 1 : a->q.batch;
    l.heads = heads[test_below(3)];
    blocks = (Lk + l.kv_len - 1) / l.kv_len;
    l.width = blocks + test_below(3);
    lists = l.batch * l.heads * ((a->q.len + l.q_len - 1) / l.q_len);
    l.index = index = test_block(lists * l.width * sizeof *index);
    l.count = count = test_block(lists * sizeof *count);
    for (size_t n = 0; n < lists; n++) {
        count[n] = 0;
        for (size_t j = 0; j < blocks; j++)
            if (test_below(rarity) == 0)
                index[n * l.width + count[n]++] = (uint32_t)j;
    }
    a->opts.blocks = l;
}

/* Each option is there or not. */
static void choose_options(kv_question *a, const twin *t)
{
    size_t B = a->q.batch, H = a->q.heads, Lq = a->q.len, Lk = longest(&t->pages);
    for (size_t b = 0; b < B; b++)
        a->q_lens[b] = test_below(Lq + 1);
    for (size_t h = 0; h < H; h++) {
        a->slopes[h] = (float)test_uniform();
        a->sinks[h] = (float)test_uniform();
    }
    a->opts.causal = (attn_causal)test_below(3);
    a->opts.q_lens = test_below(3) ? NULL : a->q_lens;
    a->opts.window.on = test_below(3) == 0;
    a->opts.window.left = (ptrdiff_t)test_below(Lk + 2) - 1;
    a->opts.window.right = (ptrdiff_t)test_below(4) - 1;
    if (test_below(4) == 0)
        a->opts.mask = kv_any_broadcast(ATTN_BOOL, B, H, Lq, Lk);
    if (test_below(4) == 0)
        kv_add_hiding_bias(a, Lk);
    a->opts.alibi_slopes = test_below(4) ? NULL : a->slopes;
    a->opts.sinks = test_below(4) ? NULL : a->sinks;
    a->opts.score_mod = test_below(5) ? NULL : kv_modify;
    a->opts.scale = test_below(3) ? 0 : test_uniform();
    a->opts.softcap = test_below(4) ? 0 : 1.5;
    a->opts.scores_stage = (attn_stage)test_below(3);
    if (test_below(4) == 0) {
        add_blocks(a, &t->pages, 1 + test_below(6));
        a->opts.scores_stage = ATTN_STAGE_FINAL;
    }
    a->out = kv_any_narrow();
    a->lse = kv_any_float(), a->weights = kv_any_float(), a->scores = kv_any_float();
    a->layout = (int)test_below(T_OUT_LAYOUTS);
    a->wants_lse = test_maybe(), a->wants_weights = test_below(4) == 0, a->wants_scores = test_below(4) == 0;
}

static void choose_runner(kv_question *a)
{
    size_t width = 1 + test_below(4);
    a->ctx.batch_invariant = test_maybe();
    if (test_maybe())
        a->ctx.parallel = test_maybe() ? test_threads(&a->runner, width) : test_serial_backwards(&a->runner, width);
}

static void give_scratch(kv_question *a, const attn_kv_pages *p)
{
    kv_answer r = kv_blank(a, longest(p), p->v.dim);
    attn_opts o = kv_with_outputs(a->opts, &r);
    attn_dry_run dry = {0};
    CHECK_STATUS(attn_kv_pages_attend(r.out, a->q, p, &o, test_dry(&a->ctx, &dry)), ATTN_OK);
    test_scratch(&a->ctx, dry.scratch, test_maybe());
}

static void describe(const twin *t, const kv_question *a, const char *what)
{
    const attn_kv_pages *p = &t->pages;
    test_case("%s: %s, %zu x %zu pages of %zu x %zu, %zu (%s); %zu x %zu %s queries; longest %zu%s%s%s%s%s%s%s%s%s%s%s",
              what, attn_isa_string(a->ctx.isa), p->batch, p->k.heads, p->k.len, p->k.dim, p->v.dim,
              test_dtype_name(p->k.dtype), a->q.heads, a->q.len, test_dtype_name(a->q.dtype), longest(p),
              a->opts.causal ? ", causal" : "", a->opts.window.on ? ", window" : "", a->opts.mask.data ? ", mask" : "",
              a->opts.bias.data ? ", bias" : "", a->opts.blocks.q_len ? ", blocks" : "",
              a->opts.q_lens ? ", q_lens" : "", a->opts.score_mod ? ", score_mod" : "",
              a->wants_weights ? ", weights" : "", a->wants_scores ? ", scores" : "",
              a->ctx.batch_invariant ? ", batch_invariant" : "", a->ctx.parallel.run ? ", several tasks" : "");
}

/* ---- the same bits as a cache ---- */

static void choose_lens(const twin *t, size_t most, size_t *lens) /* tokens to append, none to some */
{
    for (size_t b = 0; b < t->pages.batch; b++)
        lens[b] = test_below(5) == 0 ? 0 : test_below(most + 1);
    lens[test_below(t->pages.batch)] = most;
}

/* Every type of page with every page_len, one query, a few, and many; the rest at random. */
TEST(pages_equal_cache)
{
    static const size_t dims[] = {1, 2, 3, 5, 8, 16, 24, 33, 40, 64, 65};
    static const size_t many[] = {17, 40, 66};
    FOR_EACH_ISA (isa)
        for (size_t c = 0; c < 4 * COUNT(page_lens) * 3; c++) {
            shape s = {1, 1, 1, 1, 1, 0, 0, ATTN_F32, 0};
            size_t lens[MOST_ITEMS], group, Lq, most, shared = 0;
            attn_tensor q;
            kv_question a;
            twin t;
            s.dtype = kinds[c % 4];
            s.page_len = page_lens[c / 4 % COUNT(page_lens)];
            Lq = c / 4 / COUNT(page_lens) == 0   ? 1
                 : c / 4 / COUNT(page_lens) == 1 ? 2 + test_below(4)
                                                 : many[test_below(3)];
            s.B = 1 + test_below(MOST_ITEMS - 1), s.Hkv = 1 + test_below(3);
            s.D = dims[test_below(COUNT(dims))], s.Dv = dims[test_below(COUNT(dims))];
            s.layout = (int)test_below(PAGE_LAYOUTS);
            most = test_below(6) ? 1 + test_below(3 * s.page_len + 40) : 500;
            if (test_below(3) == 0)
                shared = 1 + test_below(3);
            s.stride = (most + 7 + s.page_len - 1) / s.page_len + shared + test_below(3);
            s.pages = s.B * s.stride + test_below(5);
            t = new_twin(s);
            if (shared)
                begin_with_shared(&t, shared);
            choose_lens(&t, most, lens);
            append_random(&t, most, lens);
            append_random(&t, 7, NULL);
            CHECK(holds_cache(&t));
            group = 1 + test_below(4);
            q = test_random_tensor(kinds[test_below(3)], s.B, group * s.Hkv, Lq, s.D, (int)test_below(T_LAYOUTS));
            kv_begin(&a, q, isa);
            for (int turn = 0; turn < 3; turn++) {
                kv_begin(&a, q, isa);
                if (turn == 0) {
                    a.wants_lse = 1;
                    t.pages.lens[0] = t.cache.lens[0] = 0; /* shortened by the program */
                } else
                    choose_options(&a, &t);
                choose_runner(&a);
                describe(&t, &a, "equal");
                if (test_maybe())
                    give_scratch(&a, &t.pages);
                compare(&t, &a);
            }
            test_release();
        }
}

/* Enough tokens for several splits, which run in parallel where there are few queries. */
TEST(pages_splits)
{
    size_t n = 0, most[2] = {0, 0}; /* tasks, of many queries and of few */
    FOR_EACH_ISA (isa)
        for (size_t c = 0; c < 2 * COUNT(page_lens); c++, n++) {
            shape s = {1, 1, 9, 12, 1, 0, 0, ATTN_F32, 0};
            size_t lens[MOST_ITEMS], tokens = 3100 + test_below(900), Lq = c % 2 ? 1 + test_below(3) : 20;
            kv_question a;
            twin t;
            if (!test_has_turn(isa, c))
                continue;
            s.dtype = kinds[(c / 2 + (size_t)isa) % 4];
            s.page_len = page_lens[c / 2];
            s.B = 1 + test_below(2), s.Hkv = 1 + test_below(2);
            s.layout = (int)test_below(PAGE_LAYOUTS);
            s.stride = (tokens + s.page_len - 1) / s.page_len;
            s.pages = s.B * s.stride;
            t = new_twin(s);
            choose_lens(&t, tokens, lens);
            append_random(&t, tokens, lens);
            kv_begin(&a, test_random_tensor(kinds[(n + c) % 3], s.B, 2 * s.Hkv, Lq, s.D, T_BHLD), isa);
            for (size_t width = 1; width <= 4; width++) {
                a.ctx.scratch = NULL, a.ctx.scratch_size = 0;
                a.ctx.parallel = width % 2 ? test_threads(&a.runner, width) : test_serial_backwards(&a.runner, width);
                a.ctx.batch_invariant = c / 2 % 2 != 0;
                a.wants_lse = 1;
                a.opts.window.on = width == 3, a.opts.window.left = 2000, a.opts.window.right = -1;
                if (width == 4)
                    add_blocks(&a, &t.pages, 2);
                describe(&t, &a, "splits");
                give_scratch(&a, &t.pages);
                compare(&t, &a);
                most[c % 2] = a.runner.most > most[c % 2] ? a.runner.most : most[c % 2];
            }
            test_release();
        }
    CHECK(most[0] > 1 && most[1] > 1);
}

/* Types of k and v that differ, which a cache has not: the bits of attn_sdpa over one tensor of the same numbers. */
TEST(pages_mixed_types)
{
    FOR_EACH_ISA (isa)
        for (size_t c = 0; c < 9; c++) {
            shape s = {2, 2, 7, 9, 16, 8, 16, ATTN_F32, T_BHLD};
            attn_tensor k = test_tensor(kinds[c % 3], 16, 2, 16, 7, T_BHLD), keys;
            attn_tensor v = test_tensor(kinds[c / 3], 16, 2, 16, 9, T_BLHD), values;
            size_t tokens[2] = {100, 37};
            attn_opts opts, plain;
            ptrdiff_t offsets[2];
            kv_question a;
            kv_answer got, want;
            twin t = new_twin_over(s, k, v);
            for (size_t b = 0; b < 2; b++)
                reserve(&t, b, tokens[b]);
            keys = test_random_tensor(k.dtype, 2, 2, 100, 7, T_BHLD);
            values = test_random_tensor(v.dtype, 2, 2, 100, 9, T_BHLD);
            CHECK_STATUS(attn_kv_pages_append(&t.pages, keys, values, tokens), ATTN_OK);
            kv_begin(&a, test_random_tensor(kinds[c % 3], 2, 4, c % 2 ? 1 : 21, 7, T_BHLD), isa);
            a.wants_lse = a.wants_weights = 1;
            describe(&t, &a, "mixed types");
            got = by_pages(&t, &a);
            want = kv_blank(&a, 100, 9);
            opts = kv_with_outputs(a.opts, &want);
            plain = opts;
            plain.causal = ATTN_CAUSAL_OFFSET;
            plain.causal_offset = offsets;
            plain.kv_lens = tokens;
            for (size_t b = 0; b < 2; b++)
                offsets[b] = (ptrdiff_t)tokens[b] - (ptrdiff_t)a.q.len;
            CHECK_STATUS(attn_sdpa(want.out, a.q, keys, values, &plain, &a.ctx), ATTN_OK);
            same_answers(&got, &want);
            test_release();
        }
}

/* ---- the formula itself ---- */

static real number(const attn_kv_pages *p, int which, size_t b, size_t h, size_t j, size_t d)
{
    const void *x = element(p, which, b, h, j, d);
    return p->k.dtype == ATTN_I8 ? (real) * (const signed char *)x * (real)*scale_at(p, which, b, h, j)
                                 : test_load(x, p->k.dtype);
}

/* One row: softmax over tokens first .. end - 1, by way of the table, and the sum of their values. */
static real exact_row(real *out, const kv_question *a, const attn_kv_pages *p, size_t b, size_t h, size_t i,
                      size_t first, size_t end)
{
    size_t kv = h / (a->q.heads / p->k.heads);
    real most = -INFINITY, sum = 0, *s = test_reals(end);
    for (size_t d = 0; d < p->v.dim; d++)
        out[d] = 0;
    for (size_t j = first; j < end; j++) {
        s[j] = 0;
        for (size_t d = 0; d < p->k.dim; d++)
            s[j] += test_tensor_get(a->q, b, h, i, d) * number(p, K, b, kv, j, d);
        s[j] /= sqrtl((real)p->k.dim);
        most = s[j] > most ? s[j] : most;
    }
    for (size_t j = first; j < end; j++) {
        sum += expl(s[j] - most);
        for (size_t d = 0; d < p->v.dim; d++)
            out[d] += expl(s[j] - most) * number(p, V, b, kv, j, d);
    }
    for (size_t d = 0; d < p->v.dim && first < end; d++)
        out[d] /= sum;
    return first < end ? most + logl(sum) : -INFINITY;
}

/* Token after token in one tensor, as float where it is I8. */
static attn_tensor gathered(const attn_kv_pages *p, int which)
{
    attn_tensor like = side(p, which);
    attn_dtype dtype = like.dtype == ATTN_I8 ? ATTN_F32 : like.dtype;
    attn_tensor t = test_tensor(dtype, p->batch, like.heads, longest(p), like.dim, T_BHLD);
    for (size_t b = 0; b < t.batch; b++)
        for (size_t j = 0; j < p->lens[b]; j++)
            for (size_t h = 0; h < t.heads; h++)
                for (size_t d = 0; d < t.dim; d++)
                    test_tensor_set(t, b, h, j, d, (double)number(p, which, b, h, j, d));
    return t;
}

/* Queries are the newest tokens; causal, and a window to the left. */
TEST(pages_exact)
{
    size_t n = 0;
    FOR_EACH_ISA (isa)
        for (size_t c = 0; c < 4 * COUNT(page_lens); c++, n++) {
            shape s = {2, 2, 1, 1, 1, 0, 0, ATTN_F32, 0};
            size_t tokens = 150 + test_below(80), lens[MOST_ITEMS], Lq = n % 3 ? 1 + test_below(3) : 19, Dv;
            real *out, *lse, *naive, *naive_lse;
            ptrdiff_t offsets[2];
            attn_tensor keys, values;
            attn_opts plain;
            kv_answer got;
            kv_question a;
            twin t;
            s.dtype = kinds[c % 4];
            s.page_len = page_lens[c / 4];
            s.D = 1 + test_below(20), s.Dv = Dv = 1 + test_below(20);
            s.layout = (int)test_below(PAGE_LAYOUTS);
            s.stride = (tokens + s.page_len - 1) / s.page_len;
            s.pages = s.B * s.stride;
            t = new_twin(s);
            choose_lens(&t, tokens, lens);
            append_random(&t, tokens, lens);
            kv_begin(&a, test_random_tensor(kinds[n % 3], 2, 4, Lq, s.D, T_BHLD), isa);
            a.opts.window.on = 1;
            a.opts.window.left = (ptrdiff_t)test_below(tokens);
            a.opts.window.right = 0;
            a.wants_lse = 1;
            describe(&t, &a, "exact");
            got = by_pages(&t, &a);
            out = test_reals(2 * 4 * Lq * Dv), lse = test_reals(2 * 4 * Lq);
            naive = test_reals(2 * 4 * Lq * Dv), naive_lse = test_reals(2 * 4 * Lq);
            for (size_t r = 0; r < 2 * 4 * Lq; r++) {
                size_t b = r / Lq / 4, i = r % Lq, end, first, left = (size_t)a.opts.window.left;
                end = t.pages.lens[b] + i + 1 > Lq ? t.pages.lens[b] + i + 1 - Lq : 0;
                first = end > left + 1 ? end - left - 1 : 0;
                lse[r] = exact_row(out + r * Dv, &a, &t.pages, b, r / Lq % 4, i, first, end);
            }
            plain = a.opts;
            plain.causal = ATTN_CAUSAL_OFFSET, plain.causal_offset = offsets, plain.kv_lens = t.pages.lens;
            for (size_t b = 0; b < 2; b++)
                offsets[b] = (ptrdiff_t)t.pages.lens[b] - (ptrdiff_t)Lq;
            keys = gathered(&t.pages, K), values = gathered(&t.pages, V);
            sdpa_reference(naive, naive_lse, NULL, NULL, a.q, keys, values, &plain, NAIVE32);
            test_size_of_sums = 1;
            CHECK(sdpa_close_pairs(got.out, out, naive, ATTN_F32, sdpa_least(1, ATTN_F32),
                                   sdpa_pairs_error(isa, a.q, keys, values, &plain)));
            CHECK(sdpa_close(got.lse, lse, naive_lse, ATTN_F32, sdpa_least(1, ATTN_F32)));
            test_release();
        }
}

/* ---- memory that must not be touched ----

   Each page has a slot of its own, whole pages of the operating system between fences. Rows of all heads follow each
   other by tokens, upwards or downwards, so that the first `held` rows of a slot end at a border (upwards) or begin at
   one: what lies beyond can be shut for the last page of an item, and all of a slot for a page that nobody sees. */

typedef struct slots {
    unsigned char *memory;
    size_t size, count;            /* of a slot, and how many; memory before the first is a fence */
    size_t held_bytes, rest_bytes; /* whole pages for the first rows, and for the others */
    int down;
} slots;

static size_t os_page(void)
{
#ifdef HAVE_MPROTECT
    return (size_t)sysconf(_SC_PAGESIZE);
#else
    return 64;
#endif
}

static void protect(void *at, size_t size, int open)
{
#ifdef HAVE_MPROTECT
    if (size > 0)
        CHECK(mprotect(at, size, open ? PROT_READ | PROT_WRITE : PROT_NONE) == 0);
#else
    (void)at, (void)size, (void)open;
#endif
}

static size_t whole(size_t size)
{
    return (size + os_page() - 1) / os_page() * os_page();
}

static size_t slots_bytes(const slots *l)
{
    return os_page() + l->count * l->size;
}

static void open_all(const slots *l)
{
    protect(l->memory, slots_bytes(l), 1);
}

static void shut_fences(const slots *l)
{
    for (size_t n = 0; n <= l->count; n++)
        protect(l->memory + n * l->size, os_page(), 0);
}

/* A slot, or of the last page of an item what comes after its rows. */
static void shut(const slots *l, size_t n, int only_rest)
{
    unsigned char *slot = l->memory + os_page() + n * l->size;
    if (only_rest)
        protect(l->down ? slot : slot + l->held_bytes, l->rest_bytes, 0);
    else
        protect(slot, l->held_bytes + l->rest_bytes, 0);
}

/* Slots for these pages, all open and full of NaN, and the view of them. */
static slots new_slots(attn_tensor *view, shape s, size_t dim, size_t held, int down)
{
    size_t size = test_size(s.dtype), row = s.Hkv * dim * size, start;
    slots l;
    memset(&l, 0, sizeof l);
    l.count = s.pages;
    l.held_bytes = whole(held * row), l.rest_bytes = whole((s.page_len - held) * row);
    l.size = l.held_bytes + l.rest_bytes + os_page();
    l.down = down;
#ifdef HAVE_MPROTECT
    l.memory = mmap(NULL, slots_bytes(&l), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(l.memory != MAP_FAILED))
        exit(2);
#else
    l.memory = test_block(slots_bytes(&l));
#endif
    memset(l.memory, 0xff, slots_bytes(&l));
    start = os_page() + (down ? l.rest_bytes + (held - 1) * row : l.held_bytes - held * row);
    *view = attn_tensor_of(l.memory + start, s.dtype, s.pages, s.Hkv, s.page_len, dim, (ptrdiff_t)(l.size / size),
                           (ptrdiff_t)dim, (down ? -1 : 1) * (ptrdiff_t)(s.Hkv * dim), 1);
    return l;
}

static void free_slots(slots *l)
{
#ifdef HAVE_MPROTECT
    munmap(l->memory, slots_bytes(l));
#endif
    memset(l, 0, sizeof *l);
}

typedef struct fenced_call { /* attends, or appends */
    attn_tensor out, k, v;
    const twin *twin;
    kv_question *a;
    attn_opts opts;
    const size_t *lens;
    attn_status status;
} fenced_call;

static void fenced_attend(void *arg)
{
    fenced_call *c = arg;
    c->status = attn_kv_pages_attend(c->out, c->a->q, &c->twin->pages, &c->opts, &c->a->ctx);
}

static void fenced_scratch(void *arg) /* which reads no pages at all */
{
    fenced_call *c = arg;
    give_scratch(c->a, &c->twin->pages);
}

static void fenced_append(void *arg)
{
    fenced_call *c = arg;
    c->status = attn_kv_pages_append(&c->twin->pages, c->k, c->v, c->lens);
}

/* Does a query see a token of this page of item b? By causal rule, window, lengths and blocks. */
static int sees_page(const twin *t, const kv_question *a, size_t b, size_t page)
{
    const attn_kv_pages *p = &t->pages;
    size_t queries = a->opts.q_lens ? a->opts.q_lens[b] : a->q.len, j, end = (page + 1) * p->k.len;
    ptrdiff_t offsets[MOST_ITEMS] = {0};
    attn_opts o = a->opts;
    attn_tensor none = {0};
    o.mask = o.bias = none;
    o.kv_lens = p->lens;
    o.causal = o.causal == ATTN_CAUSAL_NONE ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_OFFSET;
    o.causal_offset = offsets;
    offsets[b] = (ptrdiff_t)p->lens[b] - (ptrdiff_t)queries;
    for (size_t i = 0; i < queries; i++)
        for (j = page * p->k.len; j < end && j < p->lens[b]; j++) {
            if (!sdpa_sees(&o, a->q.len, longest(p), b, 0, i, j))
                continue;
            for (size_t h = 0; h < a->q.heads; h++)
                if (kv_is_listed(&o.blocks, a->q.heads, p->k.heads, a->q.len, b, h, i, j))
                    return 1;
        }
    return 0;
}

static uint32_t garbage(const attn_kv_pages *p)
{
    const uint32_t numbers[] = {UINT32_MAX, 0, (uint32_t)p->k.batch, (uint32_t)p->k.batch - 1, 0x80000000u};
    return numbers[test_below(5)];
}

static void spoil_scales(const attn_kv_pages *p, size_t page)
{
    size_t rows = p->k.heads * p->k.len;
    if (!p->k_scales)
        return;
    memset(p->k_scales + page * rows, 0xff, rows * sizeof(float));
    memset(p->v_scales + page * rows, 0xff, rows * sizeof(float));
}

/* Shuts every page that no query sees and the rows past the lengths, and spoils the entries of hidden pages. Returns
   how many entries that were. */
static size_t hide_unseen(const twin *t, const kv_question *a, const slots *l)
{
    const attn_kv_pages *p = &t->pages;
    unsigned char *seen = test_block(p->k.batch);
    size_t hidden = 0;
    memset(seen, 0, p->k.batch);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t page = 0; page < p->table_stride; page++) {
            if (sees_page(t, a, b, page)) {
                seen[*entry(t, b, page)] = (page + 1) * p->k.len <= p->lens[b] ? 1 : 2;
                continue;
            }
            hidden += page < pages_of(p, p->lens[b]);
            *entry(t, b, page) = garbage(p);
        }
    for (size_t n = 0; n < p->k.batch; n++)
        for (int which = K; which <= V; which++) {
            if (seen[n] != 1)
                shut(&l[which], n, seen[n] == 2);
            if (!seen[n])
                spoil_scales(p, n);
        }
    return hidden;
}

static void choose_hiding(kv_question *a, const twin *t)
{
    size_t Lk = longest(&t->pages), B = a->q.batch, H = a->q.heads, Lq = a->q.len;
    a->opts.causal = (attn_causal)test_below(3);
    a->opts.window.on = test_below(4) > 0;
    a->opts.window.left = (ptrdiff_t)test_below(test_maybe() ? Lk + 1 : 20) - (test_below(6) == 0);
    a->opts.window.right = (ptrdiff_t)test_below(4) - 1;
    for (size_t b = 0; b < B; b++)
        a->q_lens[b] = test_below(Lq + 1);
    a->opts.q_lens = test_below(3) ? NULL : a->q_lens;
    if (test_below(3) == 0)
        add_blocks(a, &t->pages, 1 + test_below(12));
    if (test_below(4) == 0)
        a->opts.mask = kv_any_broadcast(ATTN_BOOL, B, H, Lq, Lk);
    if (test_below(4) == 0)
        kv_add_hiding_bias(a, Lk);
    a->opts.score_mod = test_below(5) ? NULL : kv_modify;
    a->opts.softcap = test_below(4) ? 0 : 1.5;
    a->wants_lse = test_maybe(), a->wants_weights = test_below(3) == 0, a->wants_scores = test_below(3) == 0;
    a->opts.scores_stage = ATTN_STAGE_FINAL;
    if (test_maybe())
        a->ctx.parallel = test_serial_backwards(&a->runner, 1 + test_below(4));
}

/* The second part of the tokens is appended while all pages are shut but those it goes to, and other entries of the
   table are garbage. */
static void append_between_fences(twin *t, const slots *l, size_t count, const size_t *lens)
{
    attn_kv_pages *p = &t->pages;
    size_t entries = p->batch * p->table_stride;
    unsigned char *written = test_block(p->k.batch);
    uint32_t *saved = test_block(entries * sizeof *saved);
    fenced_call c;
    memset(&c, 0, sizeof c);
    memset(written, 0, p->k.batch);
    c.twin = t, c.lens = lens;
    c.k = tokens_for(t, K, kv_any_float(), count, T_BHLD), c.v = tokens_for(t, V, kv_any_float(), count, T_BHLD);
    for (size_t b = 0; b < p->batch; b++)
        reserve(t, b, p->lens[b] + lens[b]);
    memcpy(saved, t->table, entries * sizeof *saved);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t page = 0; page < p->table_stride; page++)
            if (lens[b] > 0 && page >= p->lens[b] / p->k.len && page < pages_of(p, p->lens[b] + lens[b]))
                written[*entry(t, b, page)] = 1;
            else
                *entry(t, b, page) = garbage(p);
    for (int which = K; which <= V; which++) {
        shut_fences(&l[which]);
        for (size_t n = 0; n < p->k.batch; n++)
            if (!written[n])
                shut(&l[which], n, 0);
    }
    if (CHECK(test_keeps_off_fences(fenced_append, &c)))
        CHECK_STATUS(c.status, ATTN_OK);
    open_all(&l[K]), open_all(&l[V]);
    memcpy(t->table, saved, entries * sizeof *saved);
    CHECK_STATUS(attn_kv_cache_append(&t->cache, c.k, c.v, lens), ATTN_OK);
}

/* Random tables and random windows: hidden pages and rows past the lengths are not read, nor are hidden entries. */
TEST(pages_fences)
{
    static const size_t queries[] = {1, 1, 2, 5, 18, 40};
    size_t hidden = 0, n = 0;
    FOR_EACH_ISA (isa)
        for (size_t c = 0; c < (test_quick ? 32u : 160u); c++, n++) {
            shape s = {1, 1, 1, 1, 1, 0, 0, ATTN_F32, 0};
            size_t first[MOST_ITEMS], second[MOST_ITEMS], held, most, shared, Lq = queries[test_below(6)];
            int down = test_maybe();
            slots l[2];
            attn_tensor views[2];
            fenced_call call;
            kv_answer want;
            kv_question a;
            twin t;
            memset(&call, 0, sizeof call);
            s.dtype = kinds[c % 4];
            s.page_len = page_lens[c / 4 % COUNT(page_lens)];
            s.B = 1 + test_below(3), s.Hkv = 1 + test_below(2);
            s.D = 1 + test_below(20), s.Dv = 1 + test_below(20);
            most = 1 + test_below(s.page_len < 16 ? 12 : 5); /* pages of an item */
            held = 1 + test_below(s.page_len);               /* rows of its last page */
            shared = test_maybe() ? test_below(most) : 0;
            s.stride = most + test_below(2);
            s.pages = s.B * most + 1 + test_below(3);
            for (int which = K; which <= V; which++)
                l[which] = new_slots(&views[which], s, which == K ? s.D : s.Dv, held, down);
            t = new_twin_over(s, views[K], views[V]);
            if (shared > 0)
                begin_with_shared(&t, shared);
            for (size_t b = 0; b < s.B; b++) {
                size_t own = most - shared, tokens = test_below(6) ? (test_below(own))*s.page_len + held : 0;
                first[b] = test_below(tokens + 1), second[b] = tokens - first[b];
            }
            test_case("fences: append, %s, pages of %zu", test_dtype_name(s.dtype), s.page_len);
            append_random(&t, most * s.page_len, first);
            append_between_fences(&t, l, most * s.page_len, second);
            CHECK(holds_cache(&t));
            kv_begin(&a, test_random_tensor(kinds[n % 3], s.B, (1 + test_below(4)) * s.Hkv, Lq, s.D, T_BHLD),
                           isa);
            choose_hiding(&a, &t);
            describe(&t, &a, "fences");
            want = by_cache(&t, &a);
            hidden += hide_unseen(&t, &a, l);
            shut_fences(&l[K]), shut_fences(&l[V]);
            call.twin = &t, call.a = &a;
            if (test_maybe())
                CHECK(test_keeps_off_fences(fenced_scratch, &call));
            {
                kv_answer got = kv_blank(&a, longest(&t.pages), s.Dv);
                call.out = got.out;
                call.opts = kv_with_outputs(a.opts, &got);
                if (CHECK(test_keeps_off_fences(fenced_attend, &call)) && CHECK_STATUS(call.status, ATTN_OK))
                    same_answers(&got, &want);
            }
            free_slots(&l[K]), free_slots(&l[V]);
            test_release();
        }
    CHECK(hidden > 10);
}

/* Pages between those that are listed are not read either, though they share tiles with them: whatever else is wanted.
 */
TEST(pages_unlisted)
{
    static const uint32_t index[] = {0, 2, 9, 11}, count[] = {4};
    for (size_t c = 0; c < 4 * 2 * 4; c++) {
        shape s = {1, 1, 8, 8, 16, 12, 13, ATTN_F32, 0};
        slots l[2];
        attn_tensor views[2];
        fenced_call call;
        kv_answer got, want;
        kv_question a;
        twin t;
        memset(&call, 0, sizeof call);
        s.dtype = kinds[c % 4];
        for (int which = K; which <= V; which++)
            l[which] = new_slots(&views[which], s, 8, 16, 0);
        t = new_twin_over(s, views[K], views[V]);
        append_random(&t, 12 * 16, NULL);
        kv_begin(&a, test_random_tensor(ATTN_F32, 1, 2, c / 4 % 2 ? 20 : 1, 8, T_BHLD), ATTN_ISA_BEST);
        a.opts.causal = ATTN_CAUSAL_NONE;
        a.opts.blocks.q_len = a.q.len, a.opts.blocks.kv_len = 16;
        a.opts.blocks.index = index, a.opts.blocks.count = count;
        a.opts.blocks.batch = a.opts.blocks.heads = 1, a.opts.blocks.width = 4;
        a.wants_weights = c / 8 % 2 == 1, a.wants_scores = c / 16 == 1, a.wants_lse = 1;
        a.opts.scores_stage = ATTN_STAGE_FINAL;
        describe(&t, &a, "unlisted");
        want = by_cache(&t, &a);
        CHECK(hide_unseen(&t, &a, l) == 8);
        shut_fences(&l[K]), shut_fences(&l[V]);
        got = kv_blank(&a, longest(&t.pages), 8);
        call.twin = &t, call.a = &a, call.out = got.out;
        call.opts = kv_with_outputs(a.opts, &got);
        if (CHECK(test_keeps_off_fences(fenced_attend, &call)) && CHECK_STATUS(call.status, ATTN_OK))
            same_answers(&got, &want);
        free_slots(&l[K]), free_slots(&l[V]);
        test_release();
    }
}

/* Scores before the last stage are wanted of hidden keys too, whose pages may be gone: such a call is refused or not,
   but never reads what is not there. */
TEST(pages_scores_of_hidden)
{
    for (int stage = 0; stage < 3; stage++)
        for (size_t c = 0; c < 8; c++) {
            shape s = {1, 1, 4, 4, 16, 6, 6, ATTN_F32, 0};
            size_t Lq = c / 4 ? 20 : 1;
            slots l[2];
            attn_tensor views[2];
            fenced_call call;
            kv_question a;
            kv_answer got, want;
            twin t;
            memset(&call, 0, sizeof call);
            s.dtype = kinds[c % 4];
            for (int which = K; which <= V; which++)
                l[which] = new_slots(&views[which], s, 4, 16, 0);
            t = new_twin_over(s, views[K], views[V]);
            append_random(&t, 96, NULL);
            kv_begin(&a, test_random_tensor(ATTN_F32, 1, 2, Lq, 4, T_BHLD), ATTN_ISA_BEST);
            a.opts.window.on = 1, a.opts.window.left = 20, a.opts.window.right = 0;
            a.opts.scores_stage = (attn_stage)stage;
            a.wants_scores = 1;
            describe(&t, &a, "scores of hidden keys");
            want = by_cache(&t, &a);
            got = by_pages(&t, &a); /* every page is there */
            same_answers(&got, &want);
            CHECK(hide_unseen(&t, &a, l) >= 3);
            for (size_t page = 0; page < s.stride; page++)
                if (!sees_page(&t, &a, 0, page))
                    *entry(&t, 0, page) = UINT32_MAX - (uint32_t)page;
            shut_fences(&l[K]), shut_fences(&l[V]);
            got = kv_blank(&a, 96, 4);
            call.twin = &t, call.a = &a, call.out = got.out;
            call.opts = kv_with_outputs(a.opts, &got);
            test_freeze();
            CHECK(test_keeps_off_fences(fenced_attend, &call));
            CHECK(call.status == ATTN_OK || (stage < 2 && call.status == ATTN_ERR_VALUE && test_wrote_nothing()));
            if (call.status == ATTN_OK)
                CHECK(test_same_tensor_bits(got.out, want.out));
            free_slots(&l[K]), free_slots(&l[V]);
            test_release();
        }
}

/* ---- append ---- */

/* One after the other across the borders of pages, of any types and layouts: the rows of a cache, nothing besides. */
TEST(pages_append)
{
    static const size_t lens_of_pages[] = {1, 3, 16, 64};
    for (size_t n = 0; n < (test_quick ? 40u : 160u); n++) {
        shape s = {1 + test_below(3), 1 + test_below(3), 1 + test_below(9), test_below(9), 1, 0, 0, ATTN_F32, 0};
        twin t;
        s.dtype = kinds[n % 4];
        s.page_len = lens_of_pages[n / 4 % 4];
        s.layout = (int)(n / 16 % PAGE_LAYOUTS);
        s.stride = 40 / s.page_len + 1;
        s.pages = s.B * s.stride;
        t = new_twin(s);
        for (int step = 0; step < 5; step++) {
            size_t L = test_below(9), lens[MOST_ITEMS], rows = 0, before[MOST_ITEMS];
            attn_tensor k = tokens_for(&t, K, kv_any_float(), L, (int)test_below(T_LAYOUTS));
            attn_tensor v = tokens_for(&t, V, kv_any_float(), L, (int)test_below(T_LAYOUTS)), *wrote;
            int all = test_maybe();
            test_case("append %s, %zu x %zu pages of %zu x %zu, %zu, layout %d: step %d", test_dtype_name(s.dtype), s.B,
                      s.Hkv, s.page_len, s.D, s.Dv, s.layout, step);
            for (size_t b = 0; b < s.B; b++) {
                before[b] = t.pages.lens[b];
                lens[b] = test_below(L + 1);
                reserve(&t, b, before[b] + (all ? L : lens[b]));
            }
            wrote = malloc((1 + s.B * L * s.Hkv * 4) * sizeof *wrote); /* not of the tests' memory, which is frozen */
            if (!CHECK(wrote != NULL))
                exit(2);
            test_freeze();
            CHECK_STATUS(attn_kv_pages_append(&t.pages, k, v, all ? NULL : lens), ATTN_OK);
            for (size_t b = 0; b < s.B; b++)
                for (size_t j = before[b]; j < before[b] + (all ? L : lens[b]); j++)
                    for (size_t h = 0; h < s.Hkv; h++)
                        for (int which = K; which <= V; which++) {
                            attn_tensor row = side(&t.pages, which);
                            if (row.dim > 0)
                                row.data = element(&t.pages, which, b, h, j, 0);
                            row.batch = row.heads = row.len = 1;
                            wrote[rows++] = row;
                            if (s.dtype == ATTN_I8)
                                wrote[rows++] = attn_bhld(scale_at(&t.pages, which, b, h, j), ATTN_F32, 1, 1, 1, 1);
                        }
            wrote[rows++] = attn_bhld(t.pages.lens, ATTN_BOOL, 1, 1, 1, s.B * sizeof(size_t)); /* bytes */
            CHECK(test_wrote_only_tensors(wrote, rows));
            free(wrote);
            CHECK_STATUS(attn_kv_cache_append(&t.cache, k, v, all ? NULL : lens), ATTN_OK);
            CHECK(holds_cache(&t));
        }
        test_release();
    }
}

/* One item has no room, or one page of one item is none: no item has changed. Exactly full is fine. */
TEST(pages_append_refused)
{
    for (size_t n = 0; n < 4 * 3; n++) {
        shape s = {3, 2, 3, 2, 4, 5, 15, ATTN_F32, 0};
        size_t fill[3] = {2, 14, 7}, add[3] = {18, 6, 13}, one_more[3];
        attn_kv_pages before;
        attn_tensor k, v;
        uint32_t was;
        twin t;
        s.dtype = kinds[n % 4];
        t = new_twin(s);
        test_case("append refused, %s", test_dtype_name(s.dtype));
        append_random(&t, 14, fill);
        k = tokens_for(&t, K, ATTN_F32, 19, T_BHLD), v = tokens_for(&t, V, ATTN_F32, 19, T_BHLD);
        for (size_t b = 0; b < 3; b++)
            reserve(&t, b, 20);
        memcpy(one_more, add, sizeof add);
        one_more[n / 4]++;
        before = t.pages;
        test_freeze();
        CHECK_STATUS(attn_kv_pages_append(&t.pages, k, v, one_more), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_pages_append(&t.pages, k, v, NULL), ATTN_ERR_VALUE);
        one_more[n / 4] = SIZE_MAX;
        CHECK_STATUS(attn_kv_pages_append(&t.pages, k, v, one_more), ATTN_ERR_VALUE);
        one_more[n / 4] = 20; /* more than are given */
        CHECK_STATUS(attn_kv_pages_append(&t.pages, k, v, one_more), ATTN_ERR_VALUE);
        CHECK(test_wrote_nothing());
        was = *entry(&t, n / 4, 4); /* the last of them */
        for (int kind = 0; kind < 3; kind++) {
            *entry(&t, n / 4, 4) = kind == 0 ? UINT32_MAX : kind == 1 ? 15 : 16;
            test_freeze();
            CHECK_STATUS(attn_kv_pages_append(&t.pages, k, v, add), ATTN_ERR_VALUE);
            CHECK(test_wrote_nothing());
        }
        *entry(&t, n / 4, 4) = was;
        for (size_t b = 0; b < 3; b++) /* whole pages that have their tokens: no row goes there */
            for (size_t page = 0; page < fill[b] / 4; page++) {
                was = *entry(&t, b, page);
                *entry(&t, b, page) = UINT32_MAX - (uint32_t)page;
                test_freeze();
                CHECK_STATUS(
                    attn_kv_pages_append(&t.pages, attn_tensor_slice(k, 0, 0), attn_tensor_slice(v, 0, 0), NULL),
                    ATTN_OK);
                CHECK(test_wrote_nothing());
                *entry(&t, b, page) = was;
            }
        CHECK(same_pages(before, t.pages));
        append(&t, k, v, add);
        CHECK(holds_cache(&t));
        test_release();
    }
}

/* ---- sharing, forks, pages given away ---- */

static void copy_page(const attn_kv_pages *p, uint32_t to, uint32_t from)
{
    for (int which = K; which <= V; which++) {
        attn_tensor t = side(p, which);
        float *scales = which == K ? p->k_scales : p->v_scales;
        for (size_t h = 0; h < t.heads; h++)
            for (size_t j = 0; j < t.len; j++) {
                for (size_t d = 0; d < t.dim; d++)
                    memcpy(test_tensor_at(t, to, h, j, d), test_tensor_at(t, from, h, j, d), test_size(t.dtype));
                if (scales)
                    scales[(to * t.heads + h) * t.len + j] = scales[(from * t.heads + h) * t.len + j];
            }
    }
}

/* Item 1 becomes what item 0 is: whole pages are shared, the one that is being written is copied. Then each goes on. */
TEST(pages_fork)
{
    for (size_t n = 0; n < 4 * COUNT(page_lens); n++) {
        shape s = {2, 2, 5, 6, 1, 0, 0, ATTN_F32, 0};
        size_t tokens = 1 + test_below(400), only_first[2], pages;
        attn_tensor k, v;
        kv_question a;
        twin t;
        s.dtype = kinds[n % 4];
        s.page_len = page_lens[n / 4];
        s.layout = (int)test_below(PAGE_LAYOUTS);
        s.stride = (tokens + 30) / s.page_len + 1;
        s.pages = 2 * s.stride;
        t = new_twin(s);
        k = tokens_for(&t, K, ATTN_F32, tokens, T_ONE_BATCH), v = tokens_for(&t, V, ATTN_F32, tokens, T_ONE_BATCH);
        reserve(&t, 0, tokens);
        only_first[0] = tokens, only_first[1] = 0;
        CHECK_STATUS(attn_kv_pages_append(&t.pages, k, v, only_first), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_append(&t.cache, k, v, NULL), ATTN_OK);
        pages = pages_of(&t.pages, tokens);
        memcpy(entry(&t, 1, 0), entry(&t, 0, 0), pages * sizeof *t.table);
        if (tokens % s.page_len) {
            *entry(&t, 1, pages - 1) = t.order[t.taken++];
            copy_page(&t.pages, *entry(&t, 1, pages - 1), *entry(&t, 0, pages - 1));
        }
        t.pages.lens[1] = tokens;
        for (int step = 0; step < 3; step++) {
            kv_begin(&a, test_random_tensor(ATTN_F32, 2, 4, step == 1 ? 12 : 1, 5, T_BHLD), ATTN_ISA_BEST);
            a.wants_lse = 1;
            describe(&t, &a, "fork");
            CHECK(holds_cache(&t));
            compare(&t, &a);
            append_random(&t, 10, NULL);
        }
        CHECK(holds_cache(&t));
        test_release();
    }
}

/* Few pages for many tokens: those that the window has left behind are taken for new tokens at once. */
TEST(pages_recycled)
{
    for (size_t n = 0; n < (test_quick ? 8u : 24u); n++) {
        static const size_t lens_of_pages[] = {1, 3, 16, 64, 100, 128};
        shape s = {2, 1, 8, 5, 1, 0, 0, ATTN_F32, 0};
        size_t tokens = 600, left, chunk;
        twin t;
        s.dtype = kinds[n % 4];
        s.page_len = lens_of_pages[n / 4];
        left = test_below(100), chunk = 1 + test_below(40);
        s.stride = (tokens + chunk) / s.page_len + 1;
        s.pages = 2 * ((left + chunk) / s.page_len + 2);
        t = new_twin(s);
        while (t.pages.lens[0] < tokens) {
            attn_tensor k = tokens_for(&t, K, ATTN_F32, chunk, T_BHLD), v = tokens_for(&t, V, ATTN_F32, chunk, T_BHLD);
            kv_question a;
            for (size_t b = 0; b < 2; b++) { /* each item uses every other page in turn */
                size_t end = pages_of(&t.pages, t.pages.lens[b] + chunk);
                for (size_t page = pages_of(&t.pages, t.pages.lens[b]); page < end; page++)
                    *entry(&t, b, page) = t.order[2 * (page % (s.pages / 2)) + b];
            }
            append(&t, k, v, NULL);
            for (size_t b = 0; b < 2; b++)
                for (size_t page = 0; (page + 1) * s.page_len + left + chunk <= t.pages.lens[b]; page++)
                    *entry(&t, b, page) = 0xdeadbeef;
            kv_begin(&a, test_random_tensor(ATTN_F16, 2, 3, chunk, 8, T_BHLD), ATTN_ISA_BEST);
            a.opts.window.on = 1, a.opts.window.left = (ptrdiff_t)left, a.opts.window.right = -1;
            a.wants_lse = a.wants_weights = 1;
            describe(&t, &a, "recycled");
            compare(&t, &a);
        }
        test_release();
    }
}

/* ---- nothing to do ---- */

/* No items, no queries, no values, no tokens, no pages: legal, and rows of zeros where there are rows. */
TEST(pages_empty)
{
    for (size_t n = 0; n < 4; n++) {
        shape s = {2, 1, 3, 2, 4, 2, 3, ATTN_F32, 0};
        attn_kv_pages none;
        attn_tensor q = test_random_tensor(ATTN_F32, 2, 2, 3, 3, T_BHLD),
                    out = test_tensor(ATTN_F32, 2, 2, 3, 2, T_BHLD);
        attn_tensor lse = test_tensor(ATTN_F32, 2, 2, 3, 1, T_BHLD), few;
        attn_opts opts = {0};
        attn_dry_run dry = {0};
        twin t;
        s.dtype = kinds[n];
        t = new_twin(s);
        test_case("empty, %s", test_dtype_name(s.dtype));
        opts.lse = lse;
        CHECK_STATUS(attn_kv_pages_attend(out, q, &t.pages, &opts, NULL), ATTN_OK);
        CHECK(test_tensor_get(out, 1, 1, 2, 1) == 0 && sdpa_infinite(test_tensor_get(lse, 0, 1, 1, 0)) < 0);
        none = t.pages; /* tokens, but no query for them: no entry is looked at */
        t.pages.lens[0] = 5, t.pages.lens[1] = 8;
        opts.lse.len = 0;
        test_freeze();
        few = attn_tensor_slice(out, 0, 0);
        CHECK_STATUS(attn_kv_pages_attend(few, attn_tensor_slice(q, 0, 0), &t.pages, &opts, NULL), ATTN_OK);
        none.batch = few.batch = q.batch = opts.lse.batch = 0;
        CHECK_STATUS(attn_kv_pages_attend(few, attn_tensor_slice(q, 0, 0), &none, &opts, NULL), ATTN_OK);
        opts.lse.len = 3, out.batch = 0;
        CHECK_STATUS(attn_kv_pages_attend(out, q, &none, &opts, NULL), ATTN_OK);
        CHECK_STATUS(attn_kv_pages_attend(out, q, &none, &opts, test_dry(NULL, &dry)), ATTN_OK);
        CHECK(test_wrote_nothing());
        few = attn_tensor_of(q.data, ATTN_F32, 0, 1, 3, 3, 9, 9, 3, 1);
        CHECK_STATUS(attn_kv_pages_append(&none, few, attn_tensor_of(q.data, ATTN_F32, 0, 1, 3, 2, 6, 6, 2, 1), NULL),
                     ATTN_OK);
        CHECK(test_wrote_nothing());
        out.batch = q.batch = opts.lse.batch = 2; /* no pages at all */
        memset(t.pages.lens, 0, 2 * sizeof(size_t));
        none = t.pages;
        none.k.batch = none.v.batch = 0;
        none.table_stride = n % 2 ? 0 : 2;
        test_fill_tensor(out, 7);
        CHECK_STATUS(attn_kv_pages_attend(out, q, &none, &opts, NULL), ATTN_OK);
        CHECK(test_tensor_get(out, 0, 0, 0, 0) == 0 && test_tensor_get(out, 1, 1, 2, 1) == 0);
        test_freeze();
        few = attn_tensor_slice(q, 0, 1), few.heads = 1;
        CHECK_STATUS(attn_kv_pages_append(&none, few, attn_tensor_of(few.data, ATTN_F32, 2, 1, 1, 2, 2, 2, 2, 1), NULL),
                     ATTN_ERR_VALUE);
        *entry(&t, 0, 0) = 0, *entry(&t, 1, 0) = 1;
        CHECK_STATUS(attn_kv_pages_append(&none, few, attn_tensor_of(few.data, ATTN_F32, 2, 1, 1, 2, 2, 2, 2, 1), NULL),
                     ATTN_ERR_VALUE);
        *entry(&t, 0, 0) = *entry(&t, 1, 0) = UINT32_MAX;
        CHECK(test_wrote_nothing());
        test_release();
    }
    for (size_t n = 0; n < 4; n++) { /* no values */
        shape s = {2, 2, 3, 0, 4, 3, 6, ATTN_F32, 0};
        kv_question a;
        twin t;
        s.dtype = kinds[n];
        t = new_twin(s);
        append_random(&t, 11, NULL);
        kv_begin(&a, test_random_tensor(ATTN_F32, 2, 4, 3, 3, T_BHLD), ATTN_ISA_BEST);
        a.wants_lse = a.wants_weights = 1;
        describe(&t, &a, "no values");
        compare(&t, &a);
        test_release();
    }
}

/* A page without end, one row seen again and again: nothing runs away, nothing overflows. */
TEST(pages_endless)
{
    const size_t most = (size_t)PTRDIFF_MAX;
    size_t lens[1] = {70};
    attn_dry_run dry = {0};
    uint32_t table[2] = {0, UINT32_MAX};
    attn_tensor row = test_random_tensor(ATTN_F32, 1, 1, 1, 3, T_BHLD),
                q = test_random_tensor(ATTN_F32, 1, 2, 5, 3, T_BHLD);
    attn_tensor out = test_tensor(ATTN_F32, 1, 2, 5, 3, T_BHLD);
    attn_kv_pages p;
    memset(&p, 0, sizeof p);
    row.len_stride = row.batch_stride = row.head_stride = 0;
    row.len = most / 2;
    p.k = p.v = row, p.table = table, p.table_stride = 2, p.batch = 1, p.lens = lens;
    test_case("endless pages");
    CHECK_STATUS(attn_kv_pages_attend(out, q, &p, NULL, NULL), ATTN_OK);
    for (size_t d = 0; d < 3; d++)
        CHECK_NEAR(test_tensor_get(out, 0, 1, 4, d), test_tensor_get(row, 0, 0, 0, d), 1e-6L);
    CHECK_STATUS(attn_kv_pages_attend(out, q, &p, NULL, test_dry(NULL, &dry)), ATTN_OK);
    p.k.len = p.v.len = most / 2 + 1;
    dry.scratch = 12345;
    test_freeze();
    CHECK_STATUS(attn_kv_pages_attend(out, q, &p, NULL, NULL), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_kv_pages_attend(out, q, &p, NULL, test_dry(NULL, &dry)), ATTN_ERR_OVERFLOW);
    CHECK(dry.scratch == 12345 && test_wrote_nothing());
    p.table_stride = 1;
    CHECK_STATUS(attn_kv_pages_attend(out, q, &p, NULL, NULL), ATTN_OK);
}

/* ---- statuses ---- */

enum {
    A_PAGES_K = 1,
    A_PAGES_V = 2,
    A_K_SCALES = 4,
    A_V_SCALES = 8,
    A_TABLE = 16,
    A_BATCH = 32,
    A_LENS = 64,
    A_PAGES = 127,
    A_OUT = 128,
    A_Q = 256,
    A_CAUSAL = 512,
    A_WINDOW = 1024,
    A_MASK = 2048,
    A_BIAS = 4096,
    A_LSE = 8192,
    A_WEIGHTS = 16384,
    A_SCORES = 32768,
    A_Q_LENS = 65536,
    A_KV_LENS = 131072,
    A_DROPOUT = 262144,
    A_SEQUENCES = 524288,
    A_BLOCKS = 1048576,
    A_SCRATCH = 2097152,
    A_ISA = 4194304,
    A_SEEN = A_TABLE | A_WINDOW | A_CAUSAL | A_Q_LENS | A_BLOCKS, /* what says which entries are looked at */
    A_PAIRS = A_MASK | A_BIAS | A_WEIGHTS | A_SCORES /* what has Lk columns */
};

#define ATTEND_FAULT_LIST(X)                                                                                           \
    X(PAGES_NULL, A_PAGES, NULL, "pages: ", c->given = NULL)                                                           \
    X(PAGES_ZERO, A_PAGES, NULL, "pages.k: ", c->pages = zero)                                                         \
    X(K_ABSENT, A_PAGES_K, NULL, "pages.k: ", *k = none)                                                               \
    X(K_BAD, A_PAGES_K, NULL, "pages.k: ", *k = bad)                                                                   \
    X(K_NO_DATA, A_PAGES_K, NULL, "pages.k: ", k->data = NULL)                                                         \
    X(V_ABSENT, A_PAGES_V, NULL, "pages.v: ", *v = none)                                                               \
    X(V_BAD, A_PAGES_V, NULL, "pages.v: ", *v = bad)                                                                   \
    X(V_NO_DATA, A_PAGES_V, NULL, "pages.v: ", v->data = NULL)                                                         \
    X(K_NO_SCALES, A_K_SCALES | A_PAGES_K, NULL, "pages.k_scales: ", c->pages.k_scales = NULL)                         \
    X(V_NO_SCALES, A_V_SCALES | A_PAGES_V, NULL, "pages.v_scales: ", c->pages.v_scales = NULL)                         \
    X(TABLE_NULL, A_TABLE, NULL, "pages.table: ", c->pages.table = NULL)                                               \
    X(LENS_NULL, A_LENS | A_PAIRS, NULL, "pages.lens: ", c->pages.lens = NULL)                                         \
    X(OUT_ABSENT, A_OUT, NULL, "out: ", c->out = none)                                                                 \
    X(Q_ABSENT, A_Q, NULL, "q: ", c->q = none)                                                                         \
    X(MASK_BAD, A_MASK, NULL, "opts.mask: ", o->mask = bad)                                                            \
    X(SCRATCH_MISSING, A_SCRATCH, NULL, "ctx.scratch: ", c->ctx.scratch = NULL, c->ctx.scratch_size = 7)               \
    X(K_F64, A_PAGES_K | A_K_SCALES, DTYPE, "pages.k: ", k->dtype = ATTN_F64)                                          \
    X(K_BOOL, A_PAGES_K | A_K_SCALES, DTYPE, "pages.k: ", k->dtype = ATTN_BOOL)                                        \
    X(K_UNKNOWN, A_PAGES_K | A_K_SCALES, DTYPE, "pages.k: ", k->dtype = (attn_dtype)77)                                \
    X(V_F64, A_PAGES_V | A_V_SCALES, DTYPE, "pages.v: ", v->dtype = ATTN_F64)                                          \
    X(V_BOOL, A_PAGES_V | A_V_SCALES, DTYPE, "pages.v: ", v->dtype = ATTN_BOOL)                                        \
    X(V_UNKNOWN, A_PAGES_V | A_V_SCALES, DTYPE, "pages.v: ", v->dtype = (attn_dtype)-1)                                \
    X(OUT_F64, A_OUT, DTYPE, "out: ", c->out.dtype = ATTN_F64)                                                         \
    X(Q_F64, A_Q, DTYPE, NULL, c->q.dtype = ATTN_F64)                                                                  \
    X(Q_I8, A_Q, DTYPE, "q: ", c->q.dtype = ATTN_I8)                                                                   \
    X(MASK_F32, A_MASK, DTYPE, "opts.mask: ", o->mask.dtype = ATTN_F32)                                                \
    X(NO_PAGE_LEN, A_PAGES, SHAPE, "pages.k: ", k->len = v->len = 0)                                                   \
    X(NO_D, A_PAGES_K | A_Q, SHAPE, NULL, k->dim = c->q.dim = 0)                                                       \
    X(K_DIM, A_PAGES_K | A_Q, SHAPE, "pages.k: ", k->dim--)                                                            \
    X(K_NO_DIM, A_PAGES_K, SHAPE, "pages.k: ", k->dim = 0)                                                             \
    X(K_LEN, A_PAGES_K | A_PAGES_V, SHAPE, "pages.v: ", k->len--)                                                      \
    X(K_PAGES, A_PAGES_K | A_PAGES_V, SHAPE, "pages.v: ", k->batch--)                                                  \
    X(V_PAGES, A_PAGES_V, SHAPE, "pages.v: ", v->batch--)                                                              \
    X(V_HEADS, A_PAGES_V, SHAPE, "pages.v: ", v->heads++)                                                              \
    X(V_LEN, A_PAGES_V, SHAPE, "pages.v: ", v->len--)                                                                  \
    X(V_DIM, A_PAGES_V, SHAPE, "out: ", v->dim--)                                                                      \
    X(BATCH_LESS, A_BATCH, SHAPE, "pages.batch: ", c->pages.batch--)                                                   \
    X(OUT_LEN, A_OUT, SHAPE, "out: ", c->out.len--)                                                                    \
    X(Q_DIM, A_Q, SHAPE, "pages.k: ", c->q.dim--)                                                                      \
    X(MASK_DIM, A_MASK, SHAPE, "opts.mask: ", o->mask.dim--)                                                           \
    X(MASK_PAST_ROOM, A_MASK, SHAPE, "opts.mask: ", o->mask.dim = S_STRIDE * k->len + 1)                               \
    X(BIAS_DIM, A_BIAS, SHAPE, "opts.bias: ", o->bias.dim--)                                                           \
    X(LSE_LEN, A_LSE, SHAPE, "opts.lse: ", o->lse.len--)                                                               \
    X(WEIGHTS_DIM, A_WEIGHTS, SHAPE, "opts.weights: ", o->weights.dim--)                                               \
    X(SCORES_DIM, A_SCORES, SHAPE, "opts.scores: ", o->scores.dim--)                                                   \
    X(K_STRIDE, A_PAGES_K, OVERFLOW, "pages.k: ", k->batch_stride = PTRDIFF_MAX)                                       \
    X(V_STRIDE, A_PAGES_V, OVERFLOW, "pages.v: ", v->len_stride = PTRDIFF_MIN)                                         \
    X(OUT_STRIDE, A_OUT, OVERFLOW, "out: ", c->out.head_stride = PTRDIFF_MAX)                                          \
    X(STRIDE_HUGE, A_TABLE, OVERFLOW, "pages.table", c->pages.table_stride = (size_t)PTRDIFF_MAX)                      \
    X(STRIDE_WRAPS, A_TABLE, OVERFLOW, "pages.table",                                                                  \
      c->pages.table_stride = SIZE_MAX / 4 + 2 /* times 4 rows of a page: 4 */)                                        \
    X(K_MISALIGNED, A_PAGES_K, VALUE, "pages.k: ", k->data = askew(k->data, 1))                                        \
    X(V_MISALIGNED, A_PAGES_V, VALUE, "pages.v: ", v->data = askew(v->data, 1))                                        \
    X(K_SCALES_MISALIGNED, A_K_SCALES | A_PAGES_K, VALUE, "pages.k_scales: ",                                          \
      c->pages.k_scales = askew(c->pages.k_scales, 2))                                                                 \
    X(V_SCALES_MISALIGNED, A_V_SCALES | A_PAGES_V, VALUE, "pages.v_scales: ",                                          \
      c->pages.v_scales = askew(c->pages.v_scales, 1))                                                                 \
    X(TABLE_MISALIGNED, A_TABLE, VALUE, "pages.table: ", c->pages.table = askew(c->table, 2))                          \
    X(LENS_MISALIGNED, A_LENS | A_PAIRS, VALUE, "pages.lens: ", c->pages.lens = askew(c->lens, 1))                     \
    X(LENS_LONG, A_LENS | A_PAIRS | A_BLOCKS, VALUE, "pages.lens: ", c->lens[1] = S_STRIDE * 4 + 1)                    \
    X(LENS_MAX, A_LENS | A_PAIRS | A_BLOCKS, VALUE, "pages.lens: ", c->lens[1] = SIZE_MAX)                             \
    X(NO_STRIDE, A_TABLE, VALUE, "pages.lens: ", c->pages.table_stride = 0)                                            \
    X(ENTRY_PAST, A_SEEN, VALUE, "pages.table: ", c->table[S_STRIDE] = UINT32_MAX)                                     \
    X(ENTRY_LAST, A_SEEN, VALUE, "pages.table: ", c->table[S_STRIDE] = S_PAGES)                                        \
    X(ENTRY_SEEN, A_SEEN, VALUE, "pages.table: ", c->table[1] = S_PAGES + 1)                                           \
    X(KV_LENS_GIVEN, A_KV_LENS, VALUE, "opts.kv_lens: ", o->kv_lens = c->many)                                         \
    X(OFFSET_MISSING, A_CAUSAL, NULL, "opts.causal_offset: ", o->causal = ATTN_CAUSAL_OFFSET)                          \
    X(OFFSET_MISALIGNED, A_CAUSAL, VALUE, "opts.causal_offset: ", o->causal_offset = askew(c->offsets, 1))             \
    X(CAUSAL_UNKNOWN, A_CAUSAL, VALUE, "opts.causal: ", o->causal = (attn_causal)4)                                    \
    X(DROPOUT_GIVEN, A_DROPOUT, VALUE, "opts.dropout: ", o->dropout.p = 0.5)                                           \
    X(SEQUENCES_GIVEN, A_SEQUENCES, VALUE, "opts.sequences: ", o->sequences = 1, o->q_starts = o->kv_starts = starts)  \
    X(SEQUENCES_STARTED, A_SEQUENCES, VALUE, NULL, o->sequences = S_B, o->q_starts = o->kv_starts = starts)            \
    X(BLOCKS_PAST, A_BLOCKS, VALUE, "opts.blocks", o->blocks = past_end)                                               \
    X(WINDOW_LEFT, A_WINDOW, VALUE, "opts.window: ", o->window.left = -2)                                              \
    X(Q_LENS_LONG, A_Q_LENS, VALUE, "opts.q_lens: ", c->many[1] = S_LQ + 1)                                            \
    X(ISA_UNKNOWN, A_ISA, VALUE, "ctx.isa: ", c->ctx.isa = (attn_isa)77)                                               \
    X(OUT_OVER_Q, A_OUT | A_Q, ALIAS, "out, q: ", c->out.data = c->q.data)                                             \
    X(OUT_OVER_K, A_OUT, ALIAS, "out, pages.k: ", c->out.data = kv_aligned(c->pages.k))                                \
    X(OUT_OVER_V, A_OUT, ALIAS, "out, pages.v: ", c->out.data = kv_aligned(c->pages.v))                                \
    X(OUT_OVER_TABLE, A_OUT, ALIAS, "out, pages.table: ", c->out.data = c->table)                                      \
    X(OUT_OVER_LENS, A_OUT, ALIAS, "out, pages.lens: ", c->out.data = c->lens)                                         \
    X(LSE_OVER_K_SCALES, A_LSE | A_PAGES_K | A_K_SCALES, ALIAS, NULL, o->lse.data = c->pages.k_scales)                 \
    X(LSE_OVER_V_SCALES, A_LSE | A_PAGES_V | A_V_SCALES, ALIAS, NULL, o->lse.data = c->pages.v_scales)                 \
    X(WEIGHTS_OVER_K, A_WEIGHTS, ALIAS, NULL, o->weights.data = kv_aligned(c->pages.k))                                \
    X(SCORES_OVER_V, A_SCORES, ALIAS, NULL, o->scores.data = kv_aligned(c->pages.v))                                   \
    X(SCRATCH_OVER_K, A_SCRATCH, ALIAS, NULL, c->ctx.scratch = c->pages.k.data)                                        \
    X(SCRATCH_OVER_TABLE, A_SCRATCH, ALIAS, NULL, c->ctx.scratch = (char *)c->table + 1)                               \
    X(SCRATCH_SHORT, A_SCRATCH, NOMEM, "ctx.scratch: ", c->ctx.scratch_size = 1)                                       \
    X(NO_MEMORY, A_SCRATCH, NOMEM, NULL, c->ctx.scratch = NULL, c->ctx.scratch_size = 0, c->no_memory = 1)

enum attend_fault { ATTEND_FAULT_LIST(FAULT_NUMBER) ATTEND_FAULTS };
static const fault_row attend_faults[] = {ATTEND_FAULT_LIST(NAMED_ENTRY)};

/* wide: more than the stack's room */
enum { S_B = 2, S_H = 2, S_LQ = 2, S_LK = 6, S_D = 600, S_MOST_DV = 2000, S_STRIDE = 3 };
#define S_DV (test_small ? (size_t)S_MOST_DV : 200) /* more than the stack holds */
#define S_PAGES (test_small ? 28 : 9) /* so that an output over keys or values is over nothing that lies behind them */

typedef struct attend_call {
    attn_tensor out, q;
    attn_kv_pages pages;
    const attn_kv_pages *given; /* the pages, or NULL */
    attn_opts opts;
    attn_ctx ctx;
    int no_memory;
    uint32_t *table; /* of this call alone */
    size_t *lens, many[S_B];
    ptrdiff_t offsets[S_B];
} attend_call;

static attn_status inflict_attend(attend_call *c, int kind)
{
    static const size_t starts[] = {0, 2};
    static const uint32_t past = 2, one[S_LQ] = {1, 1};
    static const attn_blocks past_end = {S_LQ, 4, &past, one, 1, 1, 1}; /* block 2 of 4 keys each, of 6 */
    attn_tensor none = {0}, bad = attn_tensor_slice(c->q, S_LQ, 1), *k = &c->pages.k, *v = &c->pages.v;
    attn_kv_pages zero;
    attn_opts *o = &c->opts;
    memset(&zero, 0, sizeof zero);
    if (kind == LENS_NULL || kind == LENS_MISALIGNED || kind == LENS_LONG || kind == LENS_MAX)
        o->mask = o->bias = o->weights = o->scores = none; /* these lengths say how many columns they have */
    switch (kind) {
        ATTEND_FAULT_LIST(NAMED_CASE)
    }
    return ATTN_OK;
}

static int is_of_i8(int f)
{
    return f == K_NO_SCALES || f == V_NO_SCALES || f == K_SCALES_MISALIGNED || f == V_SCALES_MISALIGNED ||
           f == LSE_OVER_K_SCALES || f == LSE_OVER_V_SCALES;
}

static int lacks_data(int f) /* which a dry run has no need of */
{
    return f == K_NO_DATA || f == V_NO_DATA;
}

static struct scene { /* of each type of page; nothing that fails changes it */
    twin t;
    attend_call right;
} scenes[4];

/* Every option is given. The first page of item 0 is hidden by the window: its entry is garbage. */
static void set_scene(struct scene *scene, attn_dtype dtype)
{
    shape s = {S_B, 1, S_D, S_DV, 4, S_STRIDE, S_PAGES, ATTN_F32, 0};
    size_t rows[2] = {S_LK, 3};
    attn_dry_run dry = {0};
    attend_call *c = &scene->right;
    s.dtype = dtype;
    scene->t = new_twin(s);
    append_random(&scene->t, S_LK, rows);
    memset(c, 0, sizeof *c);
    c->pages = scene->t.pages;
    c->table = scene->t.table;
    c->lens = c->pages.lens;
    c->q = test_random_tensor(ATTN_F32, S_B, S_H, S_LQ, S_D, T_BHLD);
    c->out = test_tensor(ATTN_F32, S_B, S_H, S_LQ, S_DV, T_BHLD);
    c->opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    c->opts.window.on = 1, c->opts.window.left = 0, c->opts.window.right = 0;
    c->table[0] = 0xbadc0de;
    c->opts.mask = test_random_tensor(ATTN_BOOL, S_B, S_H, S_LQ, S_LK, T_BHLD);
    c->opts.bias = test_random_tensor(ATTN_F32, S_B, S_H, S_LQ, S_LK, T_BHLD);
    c->opts.lse = test_tensor(ATTN_F32, S_B, S_H, S_LQ, 1, T_BHLD);
    c->opts.weights = test_tensor(ATTN_F32, S_B, S_H, S_LQ, S_LK, T_BHLD);
    c->opts.scores = test_tensor(ATTN_F32, S_B, S_H, S_LQ, S_LK, T_BHLD);
    c->opts.scores_stage = ATTN_STAGE_FINAL;
    c->many[0] = c->many[1] = S_LQ;
    c->opts.q_lens = c->many;
    CHECK_STATUS(attn_kv_pages_attend(c->out, c->q, &c->pages, &c->opts, test_dry(&c->ctx, &dry)), ATTN_OK);
    c->ctx.scratch = test_block(dry.scratch);
    c->ctx.scratch_size = dry.scratch;
}

typedef struct arrays { /* of a call; an output that begins at one of them does not end behind `room` */
    uint32_t table[8];
    size_t lens[S_B];
    char room[S_B * S_H * S_LQ * S_MOST_DV * sizeof(float)];
} arrays;

/* The call with its own arrays; what the frozen blocks hold stays as it is. */
static attend_call call_of(const struct scene *scene, arrays *own)
{
    attend_call c = scene->right;
    memset(own, 0, sizeof *own);
    memcpy(own->table, c.table, S_B * S_STRIDE * sizeof *c.table);
    memcpy(own->lens, c.lens, sizeof own->lens);
    c.pages.table = c.table = own->table;
    c.pages.lens = c.lens = own->lens;
    return c;
}

static void attempt_attend(int f, int g, attn_status want)
{
    for (int kind = 0; kind < 4; kind++) {
        static arrays own, own_before;
        attend_call c = call_of(&scenes[kind], &own);
        attn_kv_pages before;
        char text[200] = "";
        attn_dry_run dry = {12345, text, sizeof text};
        if (f != g && (f + g) % 4 != kind && !is_of_i8(f) && !is_of_i8(g)) /* pairs take turns */
            continue;
        if ((is_of_i8(f) || is_of_i8(g)) && kinds[kind] != ATTN_I8)
            continue;
        if (kinds[kind] == ATTN_I8 &&
            (f == K_MISALIGNED || f == V_MISALIGNED || g == K_MISALIGNED || g == V_MISALIGNED))
            continue; /* bytes are always aligned */
        c.opts.q_lens = c.many, c.given = &c.pages;
        inflict_attend(&c, f);
        if (g != f)
            inflict_attend(&c, g);
        before = c.pages;
        own_before = own;
        test_memory_state.fail_all = c.no_memory;
        CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, c.given, &c.opts, &c.ctx), want);
        test_memory_state.fail_all = 0;
        if (want != ATTN_ERR_NOMEM && !lacks_data(f) && !lacks_data(g)) {
            const char *named = f == g ? attend_faults[f].named : NULL;
            CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, c.given, &c.opts, test_dry(&c.ctx, &dry)), want);
            CHECK(strstr(text, ": ") != NULL);
            if (named && !CHECK(strncmp(text, named, strlen(named)) == 0))
                printf("    says: %s", text);
        }
        CHECK(dry.scratch == 12345 && test_wrote_nothing() && same_pages(before, c.pages));
        CHECK(memcmp(&own_before, &own, sizeof own) == 0);
    }
}

TEST(pages_status_attend)
{
    for (int kind = 0; kind < 4; kind++)
        set_scene(&scenes[kind], kinds[kind]);
    test_freeze();
    all_faults(attend_faults, ATTEND_FAULTS, attempt_attend);
}

/* The right call is right, so that faults are faults. Entries of pages that no query sees are none. */
TEST(pages_status_attend_right)
{
    for (int kind = 0; kind < 4; kind++) {
        struct scene *scene = &scenes[kind];
        static arrays own;
        attend_call c;
        char text[1000];
        attn_dry_run dry = {0, text, sizeof text}, again = {0, text, 5};
        set_scene(scene, kinds[kind]);
        test_case("the right call, %s", test_dtype_name(kinds[kind]));
        c = call_of(scene, &own);
        c.opts.q_lens = c.many;
        CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, &c.pages, &c.opts, &c.ctx), ATTN_OK);
        CHECK(!isnan(test_tensor_get(c.out, 1, 1, 1, 1)));
        CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, &c.pages, &c.opts, test_dry(&c.ctx, &dry)), ATTN_OK);
        CHECK(test_small ? test_is_brief(text) : strstr(text, "scratch: ") != NULL);
        c.ctx.scratch = NULL, c.ctx.scratch_size = 0;
        CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, &c.pages, &c.opts, &c.ctx), ATTN_OK);
        own.table[0] = UINT32_MAX;
        CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, &c.pages, &c.opts, test_dry(&c.ctx, &again)), ATTN_OK);
        CHECK(again.scratch == dry.scratch && strlen(text) == 4);
        c.opts.window.on = 0;
        CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, &c.pages, &c.opts, &c.ctx), ATTN_ERR_VALUE);
        test_release();
    }
}

/* ---- statuses of append ---- */

enum { A_K = 128, A_V = 256, A_ROWS = 512 };

#define APPEND_FAULT_LIST(X)                                                                                           \
    X(TO_NULL, A_PAGES, NULL, c->given = NULL)                                                                         \
    X(TO_ZERO, A_PAGES, NULL, c->pages = zero)                                                                         \
    X(TO_K_ABSENT, A_PAGES_K, NULL, *k = none)                                                                         \
    X(TO_V_BAD, A_PAGES_V, NULL, *v = bad)                                                                             \
    X(TO_NO_K_SCALES, A_PAGES_K | A_K_SCALES, NULL, c->pages.k_scales = NULL)                                          \
    X(TO_NO_V_SCALES, A_PAGES_V | A_V_SCALES, NULL, c->pages.v_scales = NULL)                                          \
    X(TO_NO_TABLE, A_TABLE, NULL, c->pages.table = NULL)                                                               \
    X(TO_NO_LENS, A_LENS, NULL, c->pages.lens = NULL)                                                                  \
    X(ROW_K_ABSENT, A_K, NULL, c->k = none)                                                                            \
    X(ROW_K_NO_DATA, A_K, NULL, c->k.data = NULL)                                                                      \
    X(ROW_V_ABSENT, A_V, NULL, c->v = none)                                                                            \
    X(ROW_V_BAD, A_V, NULL, c->v = bad)                                                                                \
    X(TO_K_F64, A_PAGES_K | A_K_SCALES, DTYPE, k->dtype = ATTN_F64)                                                    \
    X(TO_V_BOOL, A_PAGES_V | A_V_SCALES, DTYPE, v->dtype = ATTN_BOOL)                                                  \
    X(ROW_K_I8, A_K, DTYPE, c->k.dtype = ATTN_I8)                                                                      \
    X(ROW_K_UNKNOWN, A_K, DTYPE, c->k.dtype = (attn_dtype)-3)                                                          \
    X(ROW_V_BOOL, A_V, DTYPE, c->v.dtype = ATTN_BOOL)                                                                  \
    X(TO_NO_PAGE_LEN, A_PAGES, SHAPE, k->len = v->len = 0)                                                             \
    X(TO_NO_D, A_PAGES_K | A_K, SHAPE, k->dim = c->k.dim = 0)                                                          \
    X(TO_V_PAGES, A_PAGES_V, SHAPE, v->batch--)                                                                        \
    X(TO_V_LEN, A_PAGES_V, SHAPE, v->len--)                                                                            \
    X(TO_BATCH, A_BATCH, SHAPE, c->pages.batch--)                                                                      \
    X(ROW_K_BATCH, A_K, SHAPE, c->k.batch--)                                                                           \
    X(ROW_K_HEADS, A_K, SHAPE, c->k.heads--)                                                                           \
    X(ROW_K_LEN, A_K | A_V, SHAPE, c->k.len--)                                                                         \
    X(ROW_K_DIM, A_K, SHAPE, c->k.dim--)                                                                               \
    X(ROW_V_LEN, A_K | A_V, SHAPE, c->v.len--)                                                                         \
    X(ROW_V_DIM, A_V, SHAPE, c->v.dim--)                                                                               \
    X(TO_K_STRIDE, A_PAGES_K, OVERFLOW, k->batch_stride = PTRDIFF_MAX)                                                 \
    X(ROW_V_STRIDE, A_V, OVERFLOW, c->v.head_stride = PTRDIFF_MIN)                                                     \
    X(TO_STRIDE_WRAPS, A_TABLE, OVERFLOW, c->pages.table_stride = SIZE_MAX / 4 + 4)                                    \
    X(TO_V_MISALIGNED, A_PAGES_V, VALUE, v->data = askew(v->data, 1))                                                  \
    X(TO_TABLE_MISALIGNED, A_TABLE, VALUE, c->pages.table = askew(c->t.table, 1))                                      \
    X(TO_LENS_MISALIGNED, A_LENS, VALUE, c->pages.lens = askew(c->pages.lens, 2))                                      \
    X(ROW_K_MISALIGNED, A_K, VALUE, c->k.data = askew(c->k.data, 1))                                                   \
    X(TO_LENS_LONG, A_LENS, VALUE, c->pages.lens[1] = 13)                                                              \
    X(TO_LENS_MAX, A_LENS, VALUE, c->pages.lens[1] = SIZE_MAX)                                                         \
    X(ENTRY_NONE, A_TABLE, VALUE, *entry(&c->t, 2, 2) = 9 /* where its ninth token goes */)                            \
    X(ROWS_LONG, A_ROWS, VALUE, c->rows[2] = 6)                                                                        \
    X(ROWS_MAX, A_ROWS, VALUE, c->rows[2] = SIZE_MAX)                                                                  \
    X(ROWS_PAST, A_ROWS, VALUE, c->rows[0] = 5, c->pages.lens[0] = 8)                                                  \
    X(TO_SAME_PAGE, A_PAGES_K, ALIAS, k->batch_stride = 0)                                                             \
    X(TO_SAME_ROW, A_PAGES_V, ALIAS, v->len_stride = 0)                                                                \
    X(TO_K_OVER_V, A_PAGES_K | A_PAGES_V, ALIAS, k->data = v->data)                                                    \
    X(TO_K_OVER_TABLE, A_PAGES_K, ALIAS, k->data = c->t.table)                                                         \
    X(TO_V_OVER_LENS, A_PAGES_V, ALIAS, v->data = c->pages.lens)                                                       \
    X(TO_TABLE_OVER_LENS, A_LENS | A_TABLE, ALIAS,                                                                     \
      c->pages.lens = memcpy(zeros(9), c->pages.lens, 3 * sizeof(size_t)), c->pages.table = (void *)c->pages.lens /*   \
      all of these are numbers of pages, too */)                                                                       \
    X(ROW_K_OVER_K, A_K, ALIAS, c->k.data = kv_aligned(c->t.pages.k))                                                  \
    X(ROW_V_OVER_K, A_V, ALIAS, c->v.data = kv_aligned(c->t.pages.k))                                                  \
    X(ROW_V_OVER_V, A_V, ALIAS, c->v.data = kv_aligned(c->t.pages.v))                                                  \
    X(ROWS_OVER_LENS, A_ROWS | A_LENS, ALIAS, c->rows = c->pages.lens)

enum append_fault { APPEND_FAULT_LIST(FAULT_NUMBER) APPEND_FAULTS };
static const fault_row append_faults[] = {APPEND_FAULT_LIST(FAULT_ENTRY)};

typedef struct append_call {
    twin t;
    attn_kv_pages pages;
    const attn_kv_pages *given;
    attn_tensor k, v;
    size_t *rows;
} append_call;

static attn_status inflict_append(append_call *c, int kind)
{
    attn_tensor none = {0}, bad = attn_tensor_slice(c->k, c->k.len, 1), *k = &c->pages.k, *v = &c->pages.v;
    attn_kv_pages zero;
    memset(&zero, 0, sizeof zero);
    switch (kind) {
        APPEND_FAULT_LIST(FAULT_CASE)
    }
    return ATTN_OK;
}

static void attempt_append(int f, int g, attn_status want)
{
    for (int kind = 0; kind < 4; kind++) {
        shape s = {3, 2, 4, 3, 4, 3, 9, ATTN_F32, 0};
        attn_kv_pages before;
        append_call c;
        if (f != g && (f + g) % 4 != kind) /* pairs take turns */
            continue;
        if (kinds[kind] != ATTN_I8 &&
            (f == TO_NO_K_SCALES || f == TO_NO_V_SCALES || g == TO_NO_K_SCALES || g == TO_NO_V_SCALES))
            continue;
        if (kinds[kind] == ATTN_I8 && (f == TO_V_MISALIGNED || g == TO_V_MISALIGNED))
            continue;
        if ((f == ROWS_PAST && append_faults[g].args & A_LENS) || (g == ROWS_PAST && append_faults[f].args & A_LENS))
            continue;
        s.dtype = kinds[kind];
        c.t = new_twin(s);
        append_random(&c.t, 5, NULL);
        for (size_t b = 0; b < 3; b++)
            reserve(&c.t, b, 12);
        c.pages = c.t.pages, c.given = &c.pages;
        c.k = tokens_for(&c.t, K, ATTN_F32, 5, T_BHLD), c.v = tokens_for(&c.t, V, ATTN_F32, 5, T_BHLD);
        c.rows = zeros(3);
        c.rows[0] = 3, c.rows[2] = 4;
        inflict_append(&c, f);
        if (g != f)
            inflict_append(&c, g);
        before = c.pages;
        test_freeze();
        CHECK_STATUS(attn_kv_pages_append(c.given, c.k, c.v, c.rows), want);
        CHECK(test_wrote_nothing() && same_pages(before, c.pages));
        test_release();
    }
}

TEST(pages_status_append)
{
    all_faults(append_faults, APPEND_FAULTS, attempt_append);
}

/* ---- scratch and memory ---- */

/* Exactly what a dry run tells, at any alignment, is enough, now and when the items have grown; it does not
   change as they grow, and one byte less is too little once they are full. */
TEST(pages_scratch)
{
    static const size_t widths[] = {1, 2, 4}, grows[] = {0, 1, 130, 500, 369};
    static const size_t lens_of_pages[] = {1, 20, 100, 250};
    size_t most = 0;
    FOR_EACH_ISA (isa)
        for (int kind = 0; kind < 16; kind++) {
            shape s = {1, 1, 12, 7, 1, 0, 0, ATTN_F32, 0};
            size_t first[3] = {0}, Lq = kind % 3 ? 1 : 19;
            attn_tensor want = test_tensor(ATTN_F32, 1, 2, Lq, 7, T_BHLD);
            attn_opts opts = {0};
            twin t;
            kv_call c = {NULL, &t.pages, {0}, {0}, &opts};
            c.q = test_random_tensor(ATTN_F32, 1, 2, Lq, 12, T_BHLD);
            c.out = test_tensor(ATTN_F32, 1, 2, Lq, 7, T_BHLD);
            if (test_quick && (kind + (int)isa) % 5)
                continue;
            s.dtype = kinds[kind % 4];
            s.page_len = lens_of_pages[kind / 4];
            s.stride = s.pages = 1000 / s.page_len;
            opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
            opts.mask = test_tensor(ATTN_BOOL, 1, 1, 1, 1, T_BHLD);
            test_fill_tensor(opts.mask, 1);
            t = new_twin(s);
            test_case("scratch, %s, %s pages of %zu, %zu queries", attn_isa_string(isa), test_dtype_name(s.dtype),
                      s.page_len, Lq);
            for (size_t n = 0; n < COUNT(grows); n++) {
                attn_ctx plain = test_ctx(isa);
                size_t tasks;
                append_random(&t, grows[n], NULL);
                CHECK_STATUS(attn_kv_cache_attend(want, c.q, &t.cache, &opts, &plain), ATTN_OK);
                tasks = kv_check_scratch(&c, isa, widths, first, 3, n + 1 == COUNT(grows), n % 2 == 1); /* full */
                most = tasks > most ? tasks : most;
                CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, &t.pages, &opts, &plain), ATTN_OK);
                CHECK(test_same_tensor_bits(c.out, want));
            }
            test_release();
        }
    CHECK(most > 1);
}

/* What was enough for the empty items is enough for all that they will ever hold: with weights, a mask and lists of
   blocks too, whose shapes change on the way, and many items and heads. */
TEST(pages_scratch_grows)
{
    for (int kind = 0; kind < 8; kind++)
        for (size_t width = 1; width < 5; width++) {
            shape s = {3, 2, 9, 5, 1, 0, 0, ATTN_F32, 0};
            attn_dry_run dry = {0};
            size_t bytes = 0;
            kv_question a;
            twin t;
            s.dtype = kinds[kind % 4];
            s.page_len = kind / 4 ? 16 : 100;
            s.stride = 400 / s.page_len;
            s.pages = s.B * s.stride;
            t = new_twin(s);
            kv_begin(&a, test_random_tensor(ATTN_F16, 3, 4, 2, 9, T_STEP), ATTN_ISA_BEST);
            a.opts.window.on = 1, a.opts.window.left = 100, a.opts.window.right = 0;
            a.wants_lse = a.wants_weights = 1;
            a.ctx.parallel = test_serial_backwards(&a.runner, width);
            for (int n = 0; n < 6; n++) {
                kv_answer r = kv_blank(&a, longest(&t.pages), 5);
                attn_opts o = kv_with_outputs(a.opts, &r);
                attn_tensor mask = test_random_tensor(ATTN_BOOL, 1, 1, 2, longest(&t.pages), T_BHLD);
                if (n == 0) /* no elements yet: it need not lie anywhere */
                    mask.data = o.weights.data = NULL;
                o.mask = a.opts.mask = mask;
                if (kind % 2)
                    add_blocks(&a, &t.pages, 2);
                o.blocks = a.opts.blocks;
                describe(&t, &a, "scratch grows");
                if (n == 0 || !(kind % 2)) /* lists of blocks of other shapes are another call */
                    CHECK_STATUS(attn_kv_pages_attend(r.out, a.q, &t.pages, &o, test_dry(&a.ctx, &dry)), ATTN_OK);
                if (n == 0)
                    test_scratch(&a.ctx, bytes = dry.scratch, kind % 2);
                CHECK(dry.scratch <= bytes);
                if (!(kind % 2))
                    compare(&t, &a);
                else { /* what this call needs by itself */
                    void *first = a.ctx.scratch;
                    give_scratch(&a, &t.pages);
                    compare(&t, &a);
                    a.ctx.scratch = first, a.ctx.scratch_size = bytes;
                }
                append_random(&t, (size_t)(n * 23), NULL);
            }
            test_release();
        }
}

/* append never allocates; attend frees what it takes, also where some of it is refused. */
TEST(pages_no_memory)
{
    for (int kind = 0; kind < 4; kind++) {
        const size_t Dv = test_small ? 1900 : 190; /* more than the stack holds */
        shape s = {2, 2, 200, Dv, 16, 6, 12, ATTN_F32, 0};
        attn_tensor k = test_random_tensor(test_wide, 2, 2, 64, 200, T_TURNED);
        attn_tensor v = test_random_tensor(ATTN_F16, 2, 2, 64, Dv, T_FLIPPED);
        long calls = test_memory_state.calls;
        twin t;
        kv_call c = {NULL, &t.pages, {0}, {0}, NULL};
        c.q = test_random_tensor(ATTN_F32, 2, 2, 3, 200, T_BHLD);
        c.out = test_tensor(ATTN_F32, 2, 2, 3, Dv, T_BHLD);
        s.dtype = kinds[kind];
        t = new_twin(s);
        test_case("no memory, %s", test_dtype_name(s.dtype));
        test_memory_state.fail_all = 1;
        append(&t, k, v, NULL);
        CHECK(test_memory_state.calls == calls && holds_cache(&t));
        test_memory_state.fail_all = 0;
        kv_check_no_memory(&c);
        test_release();
    }
}

TEST(pages_errno)
{
    enum { MARK = 77 };
    FOR_EACH_ISA (isa)
        for (int kind = 0; kind < 4; kind++) {
            const size_t Dv = test_small ? 1500 : 150; /* more than the stack holds */
            shape s = {1, 1, 200, Dv, 16, 20, 20, ATTN_F32, 0};
            attn_ctx ctx = test_ctx(isa);
            attn_tensor q = test_random_tensor(ATTN_F32, 1, 1, 2, 200, T_BHLD),
                        out = test_tensor(ATTN_F32, 1, 1, 2, Dv, T_BHLD);
            attn_tensor k = test_random_tensor(test_wide, 1, 1, 290, 200, T_BHLD);
            attn_tensor v = test_random_tensor(test_wide, 1, 1, 290, Dv, T_BHLD);
            attn_dry_run dry = {0};
            attn_opts opts = {0};
            twin t;
            opts.scale = 3000;
            s.dtype = kinds[kind];
            t = new_twin(s);
            reserve(&t, 0, 290);
            test_case("errno, %s", test_dtype_name(s.dtype));
            test_tensor_set(v, 0, 0, 3, 2, 1e300);
            test_tensor_set(v, 0, 0, 4, 2, 1e-300);
            errno = MARK;
#define KEEPS_ERRNO(call, want) CHECK_STATUS(call, want), CHECK(errno == MARK), errno = MARK
            KEEPS_ERRNO(attn_kv_pages_append(&t.pages, k, v, NULL), ATTN_OK);
            KEEPS_ERRNO(attn_kv_pages_append(&t.pages, k, v, NULL), ATTN_ERR_VALUE);
            KEEPS_ERRNO(attn_kv_pages_attend(out, q, &t.pages, &opts, test_dry(&ctx, &dry)), ATTN_OK);
            KEEPS_ERRNO(attn_kv_pages_attend(out, q, &t.pages, &opts, &ctx), ATTN_OK);
            test_memory_state.fail_all = 1;
            KEEPS_ERRNO(attn_kv_pages_attend(out, q, &t.pages, &opts, &ctx), ATTN_ERR_NOMEM);
            test_memory_state.fail_all = 0;
            test_release();
        }
}
