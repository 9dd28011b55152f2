/* The key/value cache: where its rows lie and how they are rounded, what each call does to them, and that attention over
   a cache has the bits of attn_sdpa over one tensor of the same keys. What a cache should hold is kept beside it by a
   model: every token ever appended, in plain arrays. Then statuses, memory, and scratch. */
#include "cache.h"

#include <errno.h>

/* ---- shapes and storage ---- */

typedef struct shape {
    size_t B, Hkv, capacity, D, Dv;
    attn_dtype dtype;
    int ring;
} shape;

enum { MOST_ITEMS = 9, EDGE = 96 };

static const attn_dtype kinds[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
static void trying(shape s, const char *what)
{
    test_case("%s%s, %zu x %zu x %zu x %zu, %zu: %s", s.ring ? "ring of " : "", test_dtype_name(s.dtype), s.B, s.Hkv,
              s.capacity, s.D, s.Dv, what);
}

static size_t bytes_of(shape s)
{
    size_t bytes = SIZE_MAX;
    CHECK_STATUS(attn_kv_cache_size(&bytes, s.B, s.Hkv, s.capacity, s.D, s.Dv, s.dtype, s.ring), ATTN_OK);
    return bytes;
}

static attn_status init(attn_kv_cache *cache, shape s, void *storage, size_t size)
{
    return attn_kv_cache_init(cache, s.B, s.Hkv, s.capacity, s.D, s.Dv, s.dtype, s.ring, storage, size);
}

/* A cache whose storage is a block of the tests, off every alignment. */
static attn_kv_cache new_cache(shape s)
{
    size_t bytes = bytes_of(s);
    attn_kv_cache cache = {0};
    CHECK_STATUS(init(&cache, s, (char *)test_block(bytes + 1) + 1, bytes), ATTN_OK);
    return cache;
}

static int same_struct(const attn_kv_cache *a, const attn_kv_cache *b)
{
    return kv_same_view(a->k, b->k) && kv_same_view(a->v, b->v) && a->k_scales == b->k_scales &&
           a->v_scales == b->v_scales && a->lens == b->lens && a->first == b->first && a->ring == b->ring &&
           a->own == b->own;
}

/* ---- numbers ---- */

static float rounded(real x, attn_dtype dtype) /* once, to what a cache of that type holds */
{
    double exact = (double)x;
    if (dtype == ATTN_F16 || dtype == ATTN_BF16)
        return (float)test_decode(test_encode(exact, dtype), dtype);
    return (float)exact;
}

static int same_float(float a, float b)
{
    return test_bits32(a) == test_bits32(b) || (isnan(a) && isnan(b));
}

static int same_number(const void *a, const void *b, attn_dtype dtype) /* the sign of a zero or NaN aside */
{
    real x = test_load(a, dtype), y = test_load(b, dtype);
    return memcmp(a, b, test_size(dtype)) == 0 || (x == 0 && y == 0) || (isnan(x) && isnan(y));
}

/* The same but for the rounding of float sums, and of the type. */
static int near_number(const void *a, const void *b, attn_dtype dtype)
{
    real slack = dtype == ATTN_BF16 ? 1.0L / 128 : dtype == ATTN_F16 ? 1.0L / 1024 : 4e-6L;
    real x = test_load(a, dtype), y = test_load(b, dtype);
    return same_number(a, b, dtype) || fabsl(x - y) <= slack * (1 + fabsl(y));
}

typedef int comparison(const void *a, const void *b, attn_dtype dtype);

static int same_shape(attn_tensor a, attn_tensor b)
{
    return a.dtype == b.dtype && a.batch == b.batch && a.heads == b.heads && a.len == b.len && a.dim == b.dim;
}

static int all_numbers(attn_tensor a, attn_tensor b, comparison *same)
{
    if (!same_shape(a, b))
        return 0;
    for (size_t n = 0; n < a.batch * a.heads * a.len; n++)
        for (size_t d = 0; d < a.dim; d++) {
            size_t item = n / a.len / a.heads, h = n / a.len % a.heads, i = n % a.len;
            if (!same(test_tensor_at(a, item, h, i, d), test_tensor_at(b, item, h, i, d), a.dtype))
                return 0;
        }
    return 1;
}

static int same_numbers(attn_tensor a, attn_tensor b)
{
    return all_numbers(a, b, same_number);
}

enum { K, V };

static attn_tensor side(const attn_kv_cache *cache, int which)
{
    return which == K ? cache->k : cache->v;
}

/* Element d of token j, by what attn_kv_cache says of its members. */
static float stored(const attn_kv_cache *cache, int which, size_t b, size_t h, size_t j, size_t d)
{
    attn_tensor t = side(cache, which);
    const void *element = test_tensor_at(t, b, h, j % t.len, d);
    if (t.dtype == ATTN_I8)
        return (float)*(const signed char *)element * *kv_scale_at(cache, which, b, h, j % t.len);
    return (float)test_load(element, t.dtype);
}

/* Fills a slot: nothing there can be told from garbage. */
static void spoil(const attn_kv_cache *cache, size_t b, size_t h, size_t slot, double garbage)
{
    for (int which = K; which <= V; which++) {
        attn_tensor t = side(cache, which);
        for (size_t d = 0; d < t.dim; d++)
            if (t.dtype == ATTN_I8)
                *(signed char *)test_tensor_at(t, b, h, slot, d) = 127;
            else
                test_tensor_set(t, b, h, slot, d, garbage);
        if (t.dtype == ATTN_I8)
            *kv_scale_at(cache, which, b, h, slot) = (float)garbage;
    }
}

/* ---- the model ---- */

enum { MOST_TOKENS = 400, GIVEN = 2 }; /* GIVEN + K, GIVEN + V: before rounding */

typedef struct model {
    shape s;
    size_t lens[MOST_ITEMS], first[MOST_ITEMS];
    float *told[4], *spare[4]; /* [B][MOST_TOKENS][Hkv][D]: every token, as the cache rounds it; room to reorder */
} model;

static size_t dim_of(const model *m, int which)
{
    return which % 2 == K ? m->s.D : m->s.Dv;
}

static size_t item_size(const model *m, int which)
{
    return MOST_TOKENS * m->s.Hkv * dim_of(m, which);
}

static model new_model(shape s)
{
    model m = {0};
    m.s = s;
    for (int which = K; which <= GIVEN + V; which++) {
        m.told[which] = test_block(s.B * item_size(&m, which) * sizeof(float));
        m.spare[which] = test_block(s.B * item_size(&m, which) * sizeof(float));
    }
    return m;
}

static float *told(const model *m, int which, size_t b, size_t h, size_t j, size_t d)
{
    return m->told[which] + b * item_size(m, which) + (j * m->s.Hkv + h) * dim_of(m, which) + d;
}

static size_t longest(const model *m)
{
    return kv_longest(m->lens, m->s.B);
}

static int is_finite_row(attn_tensor t, size_t b, size_t h, size_t i)
{
    for (size_t d = 0; d < t.dim; d++)
        if (!sdpa_finite(test_tensor_get(t, b, h, i, d)))
            return 0;
    return 1;
}

/* Is token j of an I8 cache row i of `from`? Every integer times the scale, a product that nobody has rounded, is off
   by at most half a scale, and by what rounding to float comes to. */
static int is_near(const attn_kv_cache *cache, int which, attn_tensor from, size_t b, size_t h, size_t i, size_t j)
{
    size_t slot = j % cache->k.len;
    real scale = (real)*kv_scale_at(cache, which, b, h, slot);
    int finite = is_finite_row(from, b, h, i), held = 1;
    const real slack = test_wide == ATTN_F64 ? 1e-6L : 0x1p-15L;
    for (size_t d = 0; d < from.dim; d++) {
        real n = (real) * (const signed char *)test_tensor_at(side(cache, which), b, h, slot, d);
        real x = test_tensor_get(from, b, h, i, d);
        held &= n >= -127 && n <= 127;
        real narrowed = from.dtype == ATTN_F64 ? test_ulp(x, ATTN_F32) / 2 : 0;
        held &= finite ? fabsl(n * scale - x) <= scale / 2 * (1 + slack) + narrowed : isnan(n * scale);
        held &= !finite || sdpa_finite((real)stored(cache, which, b, h, j, d));
    }
    return held;
}

/* What an I8 cache holds is taken over from it, once it has been found to be within its bound. */
static void learn(model *m, const attn_kv_cache *cache, int which, attn_tensor from, size_t b, size_t before)
{
    int held = 1;
    size_t start = before > m->first[b] ? before : m->first[b];
    for (size_t j = start; j < m->lens[b]; j++)
        for (size_t h = 0; h < m->s.Hkv; h++) {
            held &= is_near(cache, which, from, b, h, j - before, j);
            for (size_t d = 0; d < from.dim; d++)
                *told(m, which, b, h, j, d) = stored(cache, which, b, h, j, d);
        }
    CHECK(held);
}

/* The same append, to the model; `cache` has had it already. */
static void tell(model *m, const attn_kv_cache *cache, attn_tensor k, attn_tensor v, const size_t *lens)
{
    for (size_t b = 0; b < m->s.B; b++) {
        size_t before = m->lens[b], count = lens ? lens[b] : k.len;
        m->lens[b] += count;
        if (m->lens[b] > m->s.capacity && m->first[b] < m->lens[b] - m->s.capacity)
            m->first[b] = m->lens[b] - m->s.capacity;
        for (int which = K; which <= V; which++) {
            attn_tensor from = which == K ? k : v;
            for (size_t j = 0; j < count; j++)
                for (size_t h = 0; h < m->s.Hkv; h++)
                    for (size_t d = 0; d < from.dim; d++) {
                        real x = test_tensor_get(from, b, h, j, d);
                        *told(m, GIVEN + which, b, h, before + j, d) = (float)x;
                        *told(m, which, b, h, before + j, d) = rounded(x, m->s.dtype);
                    }
            if (m->s.dtype == ATTN_I8)
                learn(m, cache, which, from, b, before);
        }
    }
}

static void tell_truncate(model *m, size_t b, size_t len)
{
    m->lens[b] = len;
    m->first[b] = m->first[b] < len ? m->first[b] : len;
}

static void tell_reorder(model *m, const size_t *from)
{
    model old = *m;
    for (size_t b = 0; b < m->s.B; b++) {
        m->lens[b] = old.lens[from[b]];
        m->first[b] = old.first[from[b]];
        for (int which = K; which <= GIVEN + V; which++)
            memcpy(old.spare[which] + b * item_size(m, which), old.told[which] + from[b] * item_size(m, which),
                   item_size(m, which) * sizeof(float));
    }
    for (int which = K; which <= GIVEN + V; which++) {
        m->told[which] = old.spare[which];
        m->spare[which] = old.told[which];
    }
}

static int is_there(const model *m, size_t b, size_t slot) /* does a token lie there? */
{
    for (size_t j = m->first[b]; j < m->lens[b]; j++)
        if (j % m->s.capacity == slot)
            return 1;
    return 0;
}

/* Does the cache hold what it should? */
static int holds(const attn_kv_cache *cache, const model *m)
{
    for (size_t b = 0; b < m->s.B; b++) {
        if (cache->lens[b] != m->lens[b] || cache->first[b] != m->first[b])
            return 0;
        for (size_t j = m->first[b]; j < m->lens[b]; j++)
            for (size_t h = 0; h < m->s.Hkv; h++)
                for (int which = K; which <= V; which++)
                    for (size_t d = 0; d < dim_of(m, which); d++)
                        if (!same_float(stored(cache, which, b, h, j, d), *told(m, which, b, h, j, d)))
                            return 0;
    }
    return 1;
}

/* Appends `count` random rows, or lens[b] of them, to both. */
static void append(attn_kv_cache *cache, model *m, size_t count, const size_t *lens)
{
    attn_tensor k = test_random_tensor(ATTN_F32, m->s.B, m->s.Hkv, count, m->s.D, T_BHLD);
    attn_tensor v = test_random_tensor(ATTN_F32, m->s.B, m->s.Hkv, count, m->s.Dv, T_BHLD);
    CHECK_STATUS(attn_kv_cache_append(cache, k, v, lens), ATTN_OK);
    tell(m, cache, k, v, lens);
}

/* ---- attention over the model: attn_sdpa over one tensor ---- */

static kv_question plain_question(attn_tensor q, attn_isa isa)
{
    kv_question a;
    kv_begin(&a, q, isa);
    a.out = q.dtype;
    return a;
}

/* Every token in its place, NaN where the cache has none. */
static attn_tensor assembled(const model *m, int which)
{
    attn_dtype dtype = m->s.dtype == ATTN_I8 ? ATTN_F32 : m->s.dtype;
    attn_tensor t = test_tensor(dtype, m->s.B, m->s.Hkv, longest(m), dim_of(m, which), T_BHLD);
    for (size_t b = 0; b < m->s.B; b++)
        for (size_t j = m->first[b]; j < m->lens[b]; j++)
            for (size_t h = 0; h < m->s.Hkv; h++)
                for (size_t d = 0; d < t.dim; d++)
                    test_tensor_set(t, b, h, j, d, (double)*told(m, which, b, h, j, d));
    return t;
}

static attn_tensor without_dropped(const model *m, attn_tensor mask, size_t H, size_t Lq)
{
    attn_tensor t = test_tensor(ATTN_BOOL, m->s.B, H, Lq, longest(m), T_BHLD);
    int masked = !test_absent_tensor(mask);
    for (size_t b = 0; b < t.batch; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < Lq; i++)
                for (size_t j = 0; j < t.dim; j++) {
                    int shown = j >= m->first[b];
                    if (masked && shown)
                        shown = *(unsigned char *)test_tensor_at(mask, mask.batch == 1 ? 0 : b, mask.heads == 1 ? 0 : h,
                                                                 mask.len == 1 ? 0 : i, mask.dim == 1 ? 0 : j) != 0;
                    *(unsigned char *)test_tensor_at(t, b, h, i, j) = (unsigned char)shown;
                }
    return t;
}

/* The options that mean the same to attn_sdpa, but for tokens that have been dropped. */
static attn_opts plainly(const model *m, const kv_question *a, ptrdiff_t *offsets)
{
    attn_opts o = a->opts;
    for (size_t b = 0; b < m->s.B; b++)
        offsets[b] = (ptrdiff_t)m->lens[b] - (ptrdiff_t)(o.q_lens ? o.q_lens[b] : a->q.len);
    o.causal = o.causal == ATTN_CAUSAL_NONE ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_OFFSET;
    o.causal_offset = offsets;
    o.kv_lens = m->lens;
    return o;
}

/* By causal rule, window and mask: a bias of -infinity does not count. */
static int sees_dropped(const model *m, const kv_question *a)
{
    ptrdiff_t offsets[MOST_ITEMS];
    attn_opts o = plainly(m, a, offsets);
    attn_tensor none = {0};
    o.bias = none;
    for (size_t b = 0; b < m->s.B; b++)
        for (size_t n = 0; n < a->q.heads * a->q.len; n++)
            for (size_t j = 0; j < m->first[b]; j++)
                if (sdpa_sees(&o, a->q.len, longest(m), b, n / a->q.len, n % a->q.len, j))
                    return 1;
    return 0;
}

static kv_answer by_sdpa(const model *m, const kv_question *a)
{
    ptrdiff_t offsets[MOST_ITEMS];
    attn_opts o = plainly(m, a, offsets);
    kv_answer r = kv_blank(a, longest(m), m->s.Dv);
    attn_ctx ctx = test_ctx(a->ctx.isa);
    ctx.batch_invariant = a->ctx.batch_invariant;
    for (size_t b = 0; b < m->s.B; b++)
        if (m->first[b] > 0) {
            o.mask = without_dropped(m, o.mask, a->q.heads, a->q.len);
            break;
        }
    o = kv_with_outputs(o, &r);
    CHECK_STATUS(attn_sdpa(r.out, a->q, assembled(m, K), assembled(m, V), &o, &ctx), ATTN_OK);
    return r;
}

static int same_pairs(const model *m, attn_tensor got, attn_tensor want, double of_dropped, comparison *same)
{
    if (!same_shape(got, want))
        return 0;
    for (size_t b = 0; b < got.batch; b++)
        for (size_t h = 0; h < got.heads; h++)
            for (size_t i = 0; i < got.len; i++)
                for (size_t j = 0; j < got.dim; j++) {
                    const void *x = test_tensor_at(got, b, h, i, j);
                    if (j < m->first[b] ? (double)test_load(x, got.dtype) != of_dropped
                                        : !same(x, test_tensor_at(want, b, h, i, j), got.dtype))
                        return 0;
                }
    return 1;
}

/* The same bits; of I8, whose scales multiply scores and weights and not each element, the same but for rounding. */
static int same_answer(const model *m, const kv_answer *got, const kv_answer *want)
{
    comparison *same = m->s.dtype == ATTN_I8 ? near_number : same_number;
    return all_numbers(got->out, want->out, same) && all_numbers(got->lse, want->lse, same) &&
           same_pairs(m, got->weights, want->weights, 0, same) &&
           same_pairs(m, got->scores, want->scores, -HUGE_VAL, same);
}

static kv_answer ask(const attn_kv_cache *cache, const model *m, const kv_question *a, attn_status want)
{
    kv_answer r = kv_blank(a, longest(m), m->s.Dv);
    attn_opts o = kv_with_outputs(a->opts, &r);
    test_freeze();
    CHECK_STATUS(attn_kv_cache_attend(r.out, a->q, cache, &o, &a->ctx), want);
    CHECK(want == ATTN_OK ? kv_wrote_only(&r) : test_wrote_nothing());
    return r;
}

static void compare(const attn_kv_cache *cache, const model *m, const kv_question *a)
{
    kv_answer got, want;
    if (sees_dropped(m, a)) {
        ask(cache, m, a, ATTN_ERR_VALUE);
        return;
    }
    got = ask(cache, m, a, ATTN_OK);
    want = by_sdpa(m, a);
    CHECK(same_answer(m, &got, &want));
}

/* Attention with nothing but the causal rule, and a window where the ring has dropped something. */
static void compare_plainly(const attn_kv_cache *cache, const model *m, size_t Lq)
{
    attn_tensor q = test_random_tensor(ATTN_F32, m->s.B, 2 * m->s.Hkv, Lq, m->s.D, T_BHLD);
    kv_question a = plain_question(q, ATTN_ISA_BEST);
    size_t left = m->s.capacity;
    for (size_t b = 0; b < m->s.B; b++) {
        size_t held = m->lens[b] - m->first[b];
        left = held < left ? held : left;
    }
    a.opts.window.on = 1;
    a.opts.window.left = left > Lq ? (ptrdiff_t)(left - Lq) : 0;
    a.opts.window.right = -1;
    a.wants_lse = a.wants_weights = 1;
    compare(cache, m, &a);
}

/* ---- storage ---- */

static int is_zero_struct(attn_kv_cache cache)
{
    return test_absent_tensor(cache.k) && test_absent_tensor(cache.v) && !cache.k_scales && !cache.v_scales &&
           !cache.lens && !cache.first && !cache.ring && !cache.own;
}

static int is_empty_cache(const attn_kv_cache *c, shape s)
{
    int held = c->k.batch == s.B && c->k.heads == s.Hkv && c->k.len == s.capacity && c->k.dim == s.D &&
               c->v.batch == s.B && c->v.heads == s.Hkv && c->v.len == s.capacity && c->v.dim == s.Dv &&
               c->k.dtype == s.dtype && c->v.dtype == s.dtype && !c->ring == !s.ring;
    if (s.dtype != ATTN_I8)
        held &= !c->k_scales && !c->v_scales;
    for (size_t b = 0; held && b < s.B; b++)
        held &= c->lens[b] == 0 && c->first[b] == 0;
    return held;
}

/* Uses all of a cache: full, wrapped around, cut, reordered, read. */
static void exercise(attn_kv_cache *cache, shape s)
{
    model m = new_model(s);
    size_t turned[MOST_ITEMS];
    append(cache, &m, s.capacity, NULL);
    CHECK(holds(cache, &m));
    compare_plainly(cache, &m, 1);
    if (s.ring) {
        append(cache, &m, s.capacity / 2 + 1, NULL);
        CHECK(holds(cache, &m));
        compare_plainly(cache, &m, 2);
    }
    for (size_t b = 0; b < s.B; b++) {
        size_t len = m.lens[b] - (b + 1) % (s.capacity < 2 ? 1 : 2);
        turned[b] = (b + 1) % s.B;
        CHECK_STATUS(attn_kv_cache_truncate(cache, b, len), ATTN_OK);
        tell_truncate(&m, b, len);
    }
    CHECK_STATUS(attn_kv_cache_reorder(cache, turned), ATTN_OK);
    tell_reorder(&m, turned);
    CHECK(holds(cache, &m));
    compare_plainly(cache, &m, 1);
}

static const shape odd_shapes[] = {{1, 1, 1, 1, 1, ATTN_F32, 0},   {2, 1, 3, 5, 2, ATTN_F32, 1},
                                   {3, 2, 5, 3, 7, ATTN_F32, 0},   {1, 3, 4, 1, 9, ATTN_F32, 2},
                                   {2, 2, 7, 17, 1, ATTN_F32, -1}, {3, 1, 9, 8, 16, ATTN_F32, 0}};
enum { ODD_SHAPES = sizeof odd_shapes / sizeof *odd_shapes };

/* Any alignment, and exactly as many bytes as attn_kv_cache_size says; around them nothing is written. */
TEST(cache_storage)
{
    for (size_t n = 0; n < ODD_SHAPES * 4; n++) {
        shape s = odd_shapes[n / 4];
        size_t bytes;
        s.dtype = kinds[n % 4];
        trying(s, "given storage");
        bytes = bytes_of(s);
        for (size_t start = 0; start < 64; start += test_quick ? 7 : 1) {
            unsigned char *memory = test_block(bytes + start + 2 * EDGE), *at = memory + EDGE + start;
            attn_kv_cache cache = {0}, none = {0};
            int intact = 1;
            memset(memory, 0xa5, bytes + start + 2 * EDGE);
            test_freeze();
            CHECK_STATUS(init(&cache, s, at, bytes - 1), ATTN_ERR_NOMEM);
            CHECK(test_wrote_nothing() && same_struct(&cache, &none));
            CHECK_STATUS(init(&cache, s, at, bytes), ATTN_OK);
            CHECK(is_empty_cache(&cache, s) && cache.own == NULL);
            exercise(&cache, s);
            for (size_t i = 0; i < EDGE + start; i++)
                intact &= memory[i] == 0xa5;
            for (size_t i = EDGE + start + bytes; i < bytes + start + 2 * EDGE; i++)
                intact &= memory[i] == 0xa5;
            CHECK(intact);
            test_freeze();
            attn_kv_cache_free(&cache);
            CHECK(is_zero_struct(cache) && test_wrote_nothing());
            test_release();
        }
    }
}

TEST(cache_own_storage)
{
    attn_kv_cache none = {0};
    attn_kv_cache_free(NULL);
    attn_kv_cache_free(&none);
    CHECK(is_zero_struct(none));
    for (size_t n = 0; n < ODD_SHAPES * 4; n++) {
        long live = test_memory_state.live;
        shape s = odd_shapes[n / 4];
        attn_kv_cache cache;
        s.dtype = kinds[n % 4];
        trying(s, "own storage");
        memset(&cache, 0x77, sizeof cache); /* what was there before does not matter */
        CHECK_STATUS(init(&cache, s, NULL, 0), ATTN_OK);
        CHECK(test_memory_state.live == live + 1 && cache.own != NULL && is_empty_cache(&cache, s));
        exercise(&cache, s);
        attn_kv_cache_free(&cache);
        CHECK(test_memory_state.live == live && is_zero_struct(cache));
        attn_kv_cache_free(&cache);
        CHECK(is_zero_struct(cache));
        test_release();
    }
}

typedef struct fenced_work {
    shape s;
    void *storage;
    size_t bytes;
} fenced_work;

static void work_between_fences(void *arg)
{
    const fenced_work *work = arg;
    attn_kv_cache cache;
    CHECK_STATUS(init(&cache, work->s, work->storage, work->bytes), ATTN_OK);
    exercise(&cache, work->s);
}

TEST(cache_fences)
{
    for (size_t n = 0; n < ODD_SHAPES * 4; n++)
        for (int low = 0; low < 2; low++) {
            fenced_work work = {odd_shapes[n / 4], NULL, 0};
            work.s.dtype = kinds[n % 4];
            trying(work.s, low ? "begins at a fence" : "ends at a fence");
            work.bytes = bytes_of(work.s);
            work.storage = test_fenced(work.bytes, low);
            CHECK(test_keeps_off_fences(work_between_fences, &work));
            test_release();
        }
}

/* No items, no heads, no values: legal, and of no effect. */
TEST(cache_empty_shapes)
{
    static const shape shapes[] = {{0, 2, 3, 4, 5, ATTN_F32, 0},
                                   {2, 0, 3, 4, 5, ATTN_F32, 0},
                                   {2, 1, 3, 4, 0, ATTN_F32, 0},
                                   {0, 0, 3, 4, 0, ATTN_F32, 0}};
    for (size_t n = 0; n < 4 * 4 * 2; n++) {
        size_t from[2] = {1, 0};
        shape s = shapes[n / 8];
        attn_kv_cache cache;
        model m;
        s.dtype = kinds[n % 4];
        s.ring = n / 4 % 2;
        trying(s, "empty");
        m = new_model(s);
        cache = new_cache(s);
        CHECK(is_empty_cache(&cache, s));
        append(&cache, &m, 3, NULL);
        append(&cache, &m, 0, NULL);
        CHECK_STATUS(attn_kv_cache_reorder(&cache, from), ATTN_OK);
        tell_reorder(&m, from);
        CHECK_STATUS(attn_kv_cache_truncate(&cache, 0, 2), s.B ? ATTN_OK : ATTN_ERR_VALUE);
        if (s.B)
            tell_truncate(&m, 0, 2);
        CHECK(holds(&cache, &m));
        compare_plainly(&cache, &m, 2);
        compare_plainly(&cache, &m, 0);
    }
}

/* ---- append ---- */

/* Numbers that one rounding takes elsewhere than two do, that overflow, that are subnormal; infinities, NaN. */
static double hard_number(void)
{
    double sign = test_maybe() ? 1 : -1, step = ldexp(1, -10), far = ldexp(1, -40);
    switch (test_below(12)) {
    case 0: return sign * (1 + step * (double)test_below(8) + step / 2 + far); /* F16, by way of F32: to even */
    case 1: return sign * (1 + step * (double)test_below(8) + step / 2 - far);
    case 2: return sign * (1 + 8 * step * (double)test_below(8) + 4 * step + far); /* BF16 */
    case 3: return sign * (1 + 8 * step * (double)test_below(8) + 4 * step - far);
    case 4: return sign * (1 + 8 * step * (double)test_below(8) + 4 * step); /* a tie */
    case 5: return sign * ldexp((double)test_below(4096), -26);              /* subnormal as F16 */
    case 6: return sign * (test_maybe() ? 65519.99999 : 65520);              /* the end of F16 */
    case 7: return sign * ldexp(test_uniform(), 120);
    case 8: return test_maybe() ? sign * HUGE_VAL : test_f64(0x7ff8000000000000u);
    case 9: return sign * 0.0;
    default: return test_uniform();
    }
}

static attn_tensor hard_tensor(attn_dtype dtype, const model *m, size_t L, int which)
{
    int layout = (int)test_below(T_LAYOUTS);
    attn_tensor t = test_tensor(dtype, m->s.B, m->s.Hkv, L, dim_of(m, which), layout);
    test_scatter(t, test_random());
    for (size_t n = 0; n < m->s.B * m->s.Hkv * L; n++)
        for (size_t d = 0; d < t.dim; d++)
            if (m->s.dtype != ATTN_I8 || test_below(10) == 0)
                test_tensor_set(t, n / L / t.heads, n / L % t.heads, n % L, d, hard_number());
    return t;
}

/* Every type of k with every type of v, in every layout, into a cache of every type: rounded once. */
TEST(cache_append_types)
{
    enum { L = 4 };
    for (size_t n = 0; n < 4 * 4 * 4; n++)
        for (size_t round = 0; round < (test_quick ? 1 : 8); round++) {
            shape s = {2, 2, 6, 5, 3, ATTN_F32, 0};
            attn_kv_cache cache;
            model m;
            attn_tensor k, v;
            s.dtype = kinds[n / 16];
            s.ring = (int)round % 2;
            s.D = round % 3 == 0 ? 5 : round % 3 == 1 ? 37 : 1;
            s.Dv = round % 4 == 0 ? 3 : 19;
            trying(s, "types");
            cache = new_cache(s);
            m = new_model(s);
            for (int again = 0; again <= s.ring; again++) { /* a ring wraps around */
                k = hard_tensor(test_floats[n % 4], &m, L, K);
                v = hard_tensor(test_floats[n / 4 % 4], &m, L, V);
                CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
                tell(&m, &cache, k, v, NULL);
                CHECK(holds(&cache, &m));
            }
            test_release();
        }
}

TEST(cache_append_lengths)
{
    for (int kind = 0; kind < 8; kind++) {
        static const size_t ragged[][3] = {{0, 2, 5}, {3, 0, 0}, {0, 0, 0}, {1, 1, 1}, {5, 4, 0}};
        shape s = {3, 2, 20, 3, 2, ATTN_F32, 0};
        attn_kv_cache cache;
        model m;
        s.dtype = kinds[kind % 4];
        s.ring = kind / 4;
        s.capacity = s.ring ? 6 : 20;
        trying(s, "ragged");
        cache = new_cache(s);
        m = new_model(s);
        for (size_t n = 0; n < 5; n++) {
            append(&cache, &m, 5, ragged[n]);
            CHECK(holds(&cache, &m));
        }
        append(&cache, &m, 4, NULL);
        append(&cache, &m, 0, NULL);
        CHECK(holds(&cache, &m));
        compare_plainly(&cache, &m, 1);
    }
}

/* One item too long, and no item has changed; exactly full is fine. */
TEST(cache_append_past_capacity)
{
    for (int kind = 0; kind < 4; kind++)
        for (size_t culprit = 0; culprit < 3; culprit++) {
            shape s = {3, 1, 8, 4, 3, ATTN_F32, 0};
            size_t some[3] = {5, 5, 5}, more[3] = {3, 3, 3}, huge[3] = {0, 0, 0};
            attn_kv_cache cache, before;
            model m;
            attn_tensor k, v;
            s.dtype = kinds[kind];
            trying(s, "past capacity");
            cache = new_cache(s);
            m = new_model(s);
            k = test_random_tensor(ATTN_F32, 3, 1, 9, 4, T_BHLD);
            v = test_random_tensor(ATTN_F32, 3, 1, 9, 3, T_BHLD);
            test_freeze();
            before = cache;
            CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_ERR_VALUE);
            CHECK(strstr(attn_status_string(ATTN_ERR_VALUE), "a full cache") != NULL);
            CHECK(test_wrote_nothing() && same_struct(&cache, &before));
            append(&cache, &m, 5, some);
            more[culprit] = 4;
            huge[culprit] = 10;
            test_freeze();
            CHECK_STATUS(attn_kv_cache_append(&cache, k, v, more), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_kv_cache_append(&cache, k, v, huge), ATTN_ERR_VALUE);
            huge[culprit] = SIZE_MAX;
            CHECK_STATUS(attn_kv_cache_append(&cache, k, v, huge), ATTN_ERR_VALUE);
            huge[culprit] = SIZE_MAX - 4; /* 5 and that are none */
            CHECK_STATUS(attn_kv_cache_append(&cache, k, v, huge), ATTN_ERR_VALUE);
            CHECK(test_wrote_nothing() && same_struct(&cache, &before));
            CHECK(holds(&cache, &m));
            more[culprit] = 3;
            append(&cache, &m, 3, more);
            CHECK(holds(&cache, &m));
            compare_plainly(&cache, &m, 2);
        }
}

/* The values are those of the rows, whatever other rows, heads and items hold: each element has a number of its own. */
TEST(cache_rows_apart)
{
    for (int kind = 0; kind < 2; kind++) {
        shape s = {2, 3, 6, 5, 4, ATTN_F32, 0};
        attn_kv_cache cache;
        attn_tensor k = test_tensor(ATTN_F32, 2, 3, 4, 5, T_BLHD), v = test_tensor(test_wide, 2, 3, 4, 4, T_TURNED);
        int held = 1;
        s.ring = kind;
        trying(s, "numbered");
        cache = new_cache(s);
        for (int turn = 0; turn < (kind ? 4 : 1); turn++)
            for (size_t n = 0; n < 2 * 3 * 4; n++) {
                for (size_t d = 0; d < 5; d++)
                    test_tensor_set(k, n / 12, n / 4 % 3, n % 4, d, (double)(turn * 1000) + (double)(n * 5 + d));
                for (size_t d = 0; d < 4; d++)
                    test_tensor_set(v, n / 12, n / 4 % 3, n % 4, d, -(double)(turn * 1000) - (double)(n * 4 + d));
                if (n == 23)
                    CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
            }
        for (size_t b = 0; b < 2; b++)
            for (size_t h = 0; h < 3; h++)
                for (size_t j = cache.first[b]; j < cache.lens[b]; j++) {
                    size_t n = b * 12 + h * 4 + j % 4, turn = j / 4;
                    for (size_t d = 0; d < 5; d++)
                        held &= stored(&cache, K, b, h, j, d) == (float)(turn * 1000 + n * 5 + d);
                    for (size_t d = 0; d < 4; d++)
                        held &= stored(&cache, V, b, h, j, d) == -(float)(turn * 1000 + n * 4 + d);
                }
        CHECK(held && cache.lens[1] == (kind ? 16 : 4) && cache.first[1] == (kind ? 10 : 0));
    }
}

/* ---- truncate, reorder ---- */

static void truncate_both(attn_kv_cache *cache, model *m, size_t b, size_t len)
{
    CHECK_STATUS(attn_kv_cache_truncate(cache, b, len), ATTN_OK);
    tell_truncate(m, b, len);
    CHECK(holds(cache, m));
}

TEST(cache_truncate)
{
    for (int kind = 0; kind < 8; kind++) {
        shape s = {2, 1, 8, 3, 2, ATTN_F32, 0};
        size_t rows[2] = {8, 5};
        attn_kv_cache cache;
        model m;
        s.dtype = kinds[kind % 4];
        s.ring = kind / 4;
        trying(s, "truncate");
        cache = new_cache(s);
        m = new_model(s);
        append(&cache, &m, 8, rows);
        truncate_both(&cache, &m, 0, 8); /* all of it: no change */
        truncate_both(&cache, &m, 0, 3);
        truncate_both(&cache, &m, 1, 0);
        compare_plainly(&cache, &m, 1);
        append(&cache, &m, 5, NULL);
        CHECK(holds(&cache, &m));
        compare_plainly(&cache, &m, 2);
        test_freeze();
        CHECK_STATUS(attn_kv_cache_truncate(&cache, 0, 9), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_truncate(&cache, 1, 6), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_truncate(&cache, 1, SIZE_MAX), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_truncate(&cache, 2, 0), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_truncate(&cache, SIZE_MAX, 0), ATTN_ERR_VALUE);
        CHECK(test_wrote_nothing() && holds(&cache, &m));
    }
}

/* To every length of a ring that has wrapped around, below what it has dropped too; then it grows again. */
TEST(cache_truncate_ring)
{
    for (int kind = 0; kind < 4; kind++)
        for (size_t len = 0; len <= 20; len++) {
            shape s = {2, 2, 8, 3, 2, ATTN_F32, 1};
            attn_kv_cache cache;
            model m;
            s.dtype = kinds[kind];
            trying(s, "truncate a ring");
            cache = new_cache(s);
            m = new_model(s);
            append(&cache, &m, 20, NULL);
            truncate_both(&cache, &m, 1, len);
            CHECK(cache.first[1] == (len < 12 ? len : 12) && cache.lens[1] == len);
            CHECK(cache.first[0] == 12 && cache.lens[0] == 20);
            compare_plainly(&cache, &m, 1);
            for (size_t more = 1; more < 6; more++) {
                append(&cache, &m, more, NULL);
                CHECK(holds(&cache, &m));
                compare_plainly(&cache, &m, more);
            }
            test_release();
        }
}

/* A cache of items of different lengths, some of a ring wrapped around. */
static void fill_ragged(attn_kv_cache *cache, model *m)
{
    size_t lens[MOST_ITEMS];
    for (size_t b = 0; b < m->s.B; b++)
        lens[b] = test_below((m->s.ring ? 3 : 1) * m->s.capacity + 1);
    append(cache, m, 3 * m->s.capacity, lens);
    if (m->s.ring)
        append(cache, m, 2, NULL);
}

static void reorder_both(attn_kv_cache *cache, model *m, const size_t *from)
{
    long calls = test_memory_state.calls;
    CHECK_STATUS(attn_kv_cache_reorder(cache, from), ATTN_OK);
    CHECK(test_memory_state.calls == calls);
    tell_reorder(m, from);
    CHECK(holds(cache, m));
}

/* The same rows, appended to a new cache: what reorder must equal. Slots included. */
static void recompute(const attn_kv_cache *cache, const model *m)
{
    attn_kv_cache fresh = new_cache(m->s);
    size_t most = longest(m), Lk = most ? most : 1;
    attn_tensor k = test_tensor(ATTN_F32, m->s.B, m->s.Hkv, Lk, m->s.D, T_BHLD);
    attn_tensor v = test_tensor(ATTN_F32, m->s.B, m->s.Hkv, Lk, m->s.Dv, T_BHLD);
    attn_tensor q = test_random_tensor(ATTN_F32, m->s.B, m->s.Hkv, 1, m->s.D, T_BHLD);
    kv_question a = plain_question(q, ATTN_ISA_BEST);
    kv_answer got, want;
    test_fill_tensor(k, 0);
    test_fill_tensor(v, 0);
    for (size_t b = 0; b < m->s.B; b++)
        for (size_t j = m->first[b]; j < m->lens[b]; j++)
            for (size_t h = 0; h < m->s.Hkv; h++) {
                for (size_t d = 0; d < m->s.D; d++)
                    test_tensor_set(k, b, h, j, d, (double)*told(m, GIVEN + K, b, h, j, d));
                for (size_t d = 0; d < m->s.Dv; d++)
                    test_tensor_set(v, b, h, j, d, (double)*told(m, GIVEN + V, b, h, j, d));
            }
    CHECK_STATUS(attn_kv_cache_append(&fresh, k, v, m->lens), ATTN_OK);
    a.opts.window.on = 1; /* itself: nobody sees what was dropped */
    CHECK(holds(&fresh, m));
    got = ask(cache, m, &a, ATTN_OK);
    want = ask(&fresh, m, &a, ATTN_OK);
    CHECK(same_answer(m, &got, &want));
}

/* Every map of up to 4 items onto themselves, permutations among them. */
TEST(cache_reorder)
{
    for (int kind = 0; kind < 8; kind++)
        for (size_t B = 1; B <= 4; B++) {
            size_t maps = B == 1 ? 1 : B == 2 ? 4 : B == 3 ? 27 : 256;
            for (size_t n = test_quick ? test_below(5) % maps : 0; n < maps; n += test_quick ? 9 : 1) {
                shape s = {B, 2, 3, 3, 2, ATTN_F32, 0};
                size_t from[4], rest = n;
                attn_kv_cache cache;
                model m;
                for (size_t b = 0; b < B; b++, rest /= B)
                    from[b] = rest % B;
                s.dtype = kinds[kind % 4];
                s.ring = kind / 4;
                trying(s, "reorder");
                cache = new_cache(s);
                m = new_model(s);
                fill_ragged(&cache, &m);
                reorder_both(&cache, &m, from);
                recompute(&cache, &m);
                if (s.ring)
                    append(&cache, &m, 2, NULL);
                CHECK(holds(&cache, &m));
                compare_plainly(&cache, &m, 1);
                test_release();
            }
        }
}

TEST(cache_reorder_random)
{
    for (int n = 0; n < (test_quick ? 20 : 300); n++) {
        shape s = {5, 1, 4, 2, 3, ATTN_F32, 0};
        size_t from[MOST_ITEMS];
        attn_kv_cache cache;
        model m;
        s.B += test_below(MOST_ITEMS - 4);
        s.dtype = kinds[n % 4];
        s.ring = n / 4 % 2;
        trying(s, "reorder at random");
        cache = new_cache(s);
        m = new_model(s);
        fill_ragged(&cache, &m);
        for (int again = 0; again < 4; again++) {
            for (size_t b = 0; b < s.B; b++)
                from[b] = b;
            for (size_t b = s.B; again % 2 == 0 && b-- > 1;) { /* a permutation, */
                size_t other = test_below(b + 1), kept = from[b];
                from[b] = from[other];
                from[other] = kept;
            }
            for (size_t b = 0; again % 2 == 1 && b < s.B; b++) /* or any map */
                from[b] = test_below(s.B);
            reorder_both(&cache, &m, from);
        }
        recompute(&cache, &m);
        from[test_below(s.B)] = test_maybe() ? s.B : SIZE_MAX;
        test_freeze();
        CHECK_STATUS(attn_kv_cache_reorder(&cache, from), ATTN_ERR_VALUE);
        CHECK(test_wrote_nothing() && holds(&cache, &m));
        test_release();
    }
}

/* ---- decode and prefill ---- */

typedef struct sequence { /* one batch of tokens, and attention over all of it at once, batch_invariant */
    size_t B, H, Hkv, L, D, Dv;
    attn_dtype dtype;
    attn_tensor q, k, v, out;
} sequence;

static sequence new_sequence(attn_dtype dtype, attn_isa isa, size_t B, size_t H, size_t Hkv, size_t L, size_t D,
                             size_t Dv, const attn_window *window)
{
    sequence s = {0};
    attn_opts opts = {0};
    attn_ctx ctx = test_ctx(isa);
    ctx.batch_invariant = test_invariant();
    s.B = B, s.H = H, s.Hkv = Hkv, s.L = L, s.D = D, s.Dv = Dv;
    s.dtype = dtype;
    s.q = test_random_tensor(dtype, B, H, L, D, T_BLHD);
    s.k = test_random_tensor(dtype, B, Hkv, L, D, T_BLHD);
    s.v = test_random_tensor(dtype, B, Hkv, L, Dv, T_BLHD);
    s.out = test_tensor(dtype, B, H, L, Dv, T_BHLD);
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    if (window)
        opts.window = *window;
    CHECK_STATUS(attn_sdpa(s.out, s.q, s.k, s.v, &opts, &ctx), ATTN_OK);
    return s;
}

/* Tokens at .. at + count - 1 attend; the cache ends with them. */
static attn_tensor attended(const attn_kv_cache *cache, const sequence *s, size_t at, size_t count,
                            const attn_window *window, const attn_ctx *ctx)
{
    attn_opts opts = {0};
    attn_tensor out = test_tensor(s->dtype, s->B, s->H, count, s->Dv, T_BHLD);
    opts.causal = at % 2 ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_UPPER_LEFT; /* they mean the same here */
    if (window)
        opts.window = *window;
    CHECK_STATUS(attn_kv_cache_attend(out, attn_tensor_slice(s->q, at, count), cache, &opts, ctx), ATTN_OK);
    return out;
}

/* Appends tokens at .. at + count - 1 and attends with them; are these rows of the one-shot result? */
static int step_equals(attn_kv_cache *cache, const sequence *s, size_t at, size_t count, const attn_window *window,
                       attn_isa isa)
{
    attn_ctx ctx = test_ctx(isa);
    ctx.batch_invariant = test_invariant();
    CHECK_STATUS(
        attn_kv_cache_append(cache, attn_tensor_slice(s->k, at, count), attn_tensor_slice(s->v, at, count), NULL),
        ATTN_OK);
    return same_numbers(attended(cache, s, at, count, window, &ctx), attn_tensor_slice(s->out, at, count));
}

/* Token by token: the bits of all at once. */
TEST(cache_decode)
{
    static const size_t sizes[][5] = {/* H, Hkv, L, D, Dv */
                                      {4, 2, 600, 16, 9},
                                      {3, 3, 140, 5, 40},
                                      {8, 1, 70, 64, 64},
                                      {6, 2, 300, 33, 1}};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 4 * 3; n++) {
            const size_t *z = sizes[n / 3];
            attn_dtype dtype = kinds[n % 3];
            size_t L = test_quick ? z[2] / 4 : z[2];
            sequence s = new_sequence(dtype, isa, 2, z[0], z[1], L, z[3], z[4], NULL);
            shape of = {2, 0, 0, 0, 0, ATTN_F32, 0};
            attn_kv_cache cache;
            int held = 1;
            of.Hkv = z[1], of.capacity = L, of.D = z[3], of.Dv = z[4], of.dtype = dtype;
            trying(of, attn_isa_string(isa));
            cache = new_cache(of);
            for (size_t t = 0; t < L; t++)
                held &= step_equals(&cache, &s, t, 1, NULL, isa);
            CHECK(held);
            test_release();
        }
}

/* Every way to cut 9 tokens into chunks; random ways to cut 700. */
TEST(cache_chunks)
{
    FOR_EACH_ISA (isa)
        for (int kind = 0; kind < 3; kind++) {
            shape small = {2, 1, 9, 4, 3, ATTN_F32, 0}, large = {1, 2, 700, 8, 5, ATTN_F32, 0};
            sequence s = new_sequence(kinds[kind], isa, 2, 3, 1, 9, 4, 3, NULL);
            small.dtype = large.dtype = kinds[kind];
            trying(small, attn_isa_string(isa));
            for (unsigned cuts = 0; cuts < 256; cuts += test_quick ? 15 : 1) {
                attn_kv_cache cache = new_cache(small);
                int held = 1;
                for (size_t at = 0, end; at < 9; at = end) {
                    for (end = at + 1; end < 9 && !(cuts >> (end - 1) & 1); end++)
                        ;
                    held &= step_equals(&cache, &s, at, end - at, NULL, isa);
                }
                CHECK(held);
            }
            if (test_quick && kind != (int)isa % 3)
                continue;
            s = new_sequence(kinds[kind], isa, 1, 4, 2, 700, 8, 5, NULL);
            trying(large, attn_isa_string(isa));
            for (int n = 0; n < (test_quick ? 1 : 3); n++) {
                attn_kv_cache cache = new_cache(large);
                int held = 1;
                for (size_t at = 0, count; at < 700; at += count) {
                    count = 1 + test_below(n == 0 ? 400 : 60);
                    count = count < 700 - at ? count : 700 - at;
                    held &= step_equals(&cache, &s, at, count, NULL, isa);
                }
                CHECK(held);
            }
            test_release();
        }
}

/* Beyond 16384 keys splits lie elsewhere for every number of keys: the bits are those of attn_sdpa over as many, and
   all at once is as near to the reference as each token by itself. */
TEST(cache_decode_far)
{
    enum { L = 16900, LAST = 3 };
    static const size_t pauses[] = {16384, L - LAST, L};
    shape s = {1, 1, L, 8, 4, ATTN_F32, 0}, turning = {1, 1, 200, 8, 4, ATTN_F32, 1};
    attn_kv_cache cache = new_cache(s), ring = new_cache(turning);
    attn_tensor q = test_random_tensor(ATTN_F32, 1, 2, LAST, 8, T_BHLD);
    attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, L, 8, T_BHLD),
                out = test_tensor(ATTN_F32, 1, 2, LAST, 4, T_BHLD);
    attn_tensor v = test_random_tensor(ATTN_F32, 1, 1, L, 4, T_BHLD), one = test_tensor(ATTN_F32, 1, 2, 1, 4, T_BHLD);
    attn_tensor steps = test_tensor(ATTN_F32, 1, 2, LAST, 4, T_BHLD), windowed = test_tensor_like(out, T_BHLD);
    real *want = test_reals(2 * LAST * 4), *naive = test_reals(2 * LAST * 4);
    attn_opts opts = {0}, near = {0};
    size_t at = 0;
    trying(s, "far");
    opts.causal = near.causal = ATTN_CAUSAL_LOWER_RIGHT;
    near.window.on = 1, near.window.left = 200 - LAST;
    for (int n = 0; n < 3; n++) {
        attn_tensor keys = attn_tensor_slice(k, 0, pauses[n]), values = attn_tensor_slice(v, 0, pauses[n]);
        while (at < pauses[n]) {
            size_t count = n == 2 ? 1 : pauses[n] - at < 999 ? pauses[n] - at : 999;
            CHECK_STATUS(
                attn_kv_cache_append(&cache, attn_tensor_slice(k, at, count), attn_tensor_slice(v, at, count), NULL),
                ATTN_OK);
            CHECK_STATUS(
                attn_kv_cache_append(&ring, attn_tensor_slice(k, at, count), attn_tensor_slice(v, at, count), NULL),
                ATTN_OK);
            if (n == 2) {
                size_t i = at - (L - LAST);
                CHECK_STATUS(attn_kv_cache_attend(one, attn_tensor_slice(q, i, 1), &cache, &opts, NULL), ATTN_OK);
                CHECK_STATUS(attn_mat_copy(attn_mat_rows(attn_head(steps, 0, 0), i, 1), attn_head(one, 0, 0)), ATTN_OK);
                CHECK_STATUS(attn_mat_copy(attn_mat_rows(attn_head(steps, 0, 1), i, 1), attn_head(one, 0, 1)), ATTN_OK);
            }
            at += count;
        }
        CHECK_STATUS(attn_sdpa(out, q, keys, values, &opts, NULL), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_attend(windowed, q, &cache, &opts, NULL), ATTN_OK);
        CHECK(same_numbers(out, windowed));
        CHECK_STATUS(attn_sdpa(out, q, keys, values, &near, NULL), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_attend(windowed, q, &ring, &near, NULL), ATTN_OK);
        CHECK(same_numbers(out, windowed));
    }
    test_size_of_sums = 0;
    sdpa_reference(want, NULL, NULL, NULL, q, k, v, &opts, EXACT);
    sdpa_reference(naive, NULL, NULL, NULL, q, k, v, &opts, NAIVE32);
    CHECK(sdpa_close(steps, want, naive, ATTN_F32, sdpa_least(1, ATTN_F32)));
}

/* A ring has the bits of a window over everything, however often it turns, whatever its size, chunk by chunk;
   batch_invariant, those of all at once. */
TEST(cache_ring)
{
    static const size_t capacities[] = {1, 2, 7, 100, 128, 129, 300}, chunks[] = {1, 2, 3, 5, 64};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 7 * 5; n++) {
            shape small = {2, 2, 0, 6, 5, ATTN_F32, 1}, full;
            size_t chunk = chunks[n % 5], L = 0, capacity = capacities[n / 5];
            attn_window window = {1, 0, 0};
            attn_ctx ctx = test_ctx(isa);
            attn_kv_cache ring, all;
            sequence s;
            int held = 1, equal = 1;
            if (chunk > capacity || (test_quick && (n + (size_t)isa) % 8 && (chunk < 64 || capacity > 100)))
                continue;
            L = capacity < 50 ? 10 * capacity : 2 * capacity + 77;
            L = L < 30 ? 30 : L;
            window.left = (ptrdiff_t)(capacity - chunk);
            window.right = n % 2 ? -1 : 0;
            small.capacity = capacity;
            small.dtype = kinds[(n + (size_t)isa) % 3];
            full = small;
            full.capacity = L;
            full.ring = 0;
            trying(small, attn_isa_string(isa));
            ring = new_cache(small);
            all = new_cache(full);
            s = new_sequence(small.dtype, isa, 2, 4, 2, L, 6, 5, &window);
            for (size_t at = 0, count; at < L; at += count) {
                count = chunk < L - at ? chunk : L - at;
                held &= step_equals(&ring, &s, at, count, &window, isa);
                held &= step_equals(&all, &s, at, count, &window, isa);
                equal &= same_numbers(attended(&ring, &s, at, count, &window, &ctx),
                                      attended(&all, &s, at, count, &window, &ctx));
            }
            CHECK(held && equal);
            CHECK(ring.lens[1] == L && ring.first[1] == L - capacity);
            test_release();
        }
}

/* More tokens at once than the ring holds: attn_sdpa over them, then append; the next steps go on from there. With the
   ring they would see what was dropped. */
TEST(cache_ring_prefill)
{
    for (size_t n = 0; n < 4 * 6; n++) {
        static const size_t lengths[] = {9, 10, 15, 16, 17, 40};
        enum { CAPACITY = 8, MORE = 20 };
        shape of = {2, 1, CAPACITY, 4, 3, ATTN_F32, 1};
        size_t L = lengths[n / 4];
        attn_window window = {1, CAPACITY - 1, 0};
        attn_kv_cache ring;
        sequence s;
        attn_tensor out = test_tensor(ATTN_F32, 2, 2, L, 3, T_BHLD);
        attn_opts opts = {0};
        of.dtype = kinds[n % 4];
        trying(of, "prefill");
        s = new_sequence(of.dtype == ATTN_I8 ? ATTN_F32 : of.dtype, ATTN_ISA_BEST, 2, 2, 1, L + MORE, 4, 3, &window);
        ring = new_cache(of);
        opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
        opts.window = window;
        CHECK_STATUS(attn_kv_cache_append(&ring, attn_tensor_slice(s.k, 0, L), attn_tensor_slice(s.v, 0, L), NULL),
                     ATTN_OK);
        CHECK(ring.lens[0] == L && ring.first[0] == L - CAPACITY);
        test_freeze();
        CHECK_STATUS(attn_kv_cache_attend(out, attn_tensor_slice(s.q, 0, L), &ring, &opts, NULL), ATTN_ERR_VALUE);
        CHECK(test_wrote_nothing());
        for (size_t t = L; of.dtype != ATTN_I8 && t < L + MORE; t++)
            CHECK(step_equals(&ring, &s, t, 1, &window, ATTN_ISA_BEST));
    }
}

/* Exactly one token too far back; each bound that can show it; only for items and queries that exist. */
TEST(cache_dropped)
{
    shape s = {2, 1, 8, 4, 3, ATTN_F32, 1};
    attn_kv_cache cache = new_cache(s);
    model m = new_model(s);
    size_t rows[2] = {11, 5}, none[2] = {0, 2}, one[2] = {1, 2};
    kv_question a;
    trying(s, "dropped");
    append(&cache, &m, 11, rows);
    for (int causal = ATTN_CAUSAL_NONE; causal <= ATTN_CAUSAL_LOWER_RIGHT; causal++)
        for (int Lq = 1; Lq < 4; Lq++)
            for (ptrdiff_t left = -1; left < 12; left++) {
                int seen;
                a = plain_question(test_random_tensor(ATTN_F32, 2, 1, (size_t)Lq, 4, T_BHLD), ATTN_ISA_BEST);
                a.opts.causal = (attn_causal)causal;
                a.opts.window.on = 1, a.opts.window.left = left, a.opts.window.right = -1;
                a.wants_lse = 1;
                seen = sees_dropped(&m, &a);
                CHECK(seen == (left < 0 || left + Lq > 8));
                ask(&cache, &m, &a, seen ? ATTN_ERR_VALUE : ATTN_OK);
                a.opts.window.on = 0;
                ask(&cache, &m, &a, ATTN_ERR_VALUE);
            }
    a = plain_question(test_random_tensor(ATTN_F32, 2, 1, 2, 4, T_BHLD), ATTN_ISA_BEST);
    ask(&cache, &m, &a, ATTN_ERR_VALUE);
    a.opts.q_lens = none; /* nobody asks of the item that has dropped tokens */
    compare(&cache, &m, &a);
    CHECK(!sees_dropped(&m, &a));
    a.opts.q_lens = one;
    a.opts.window.on = 1, a.opts.window.left = 7;
    compare(&cache, &m, &a);
    CHECK(!sees_dropped(&m, &a));
    a.opts.mask = test_tensor(ATTN_BOOL, 1, 1, 1, 1, T_BHLD);
    test_fill_tensor(a.opts.mask, 1);
    a.opts.window.left = 8;
    ask(&cache, &m, &a, ATTN_ERR_VALUE);
    test_fill_tensor(a.opts.mask, 0); /* it hides them all */
    ask(&cache, &m, &a, ATTN_OK);
}

/* ---- the model, driven at random ---- */

static void choose_window(kv_question *a, const model *m)
{
    ptrdiff_t left = PTRDIFF_MAX;
    for (size_t b = 0; b < m->s.B; b++) { /* what each first query can look back upon */
        size_t queries = a->opts.q_lens ? a->opts.q_lens[b] : a->q.len;
        ptrdiff_t back = (ptrdiff_t)(m->lens[b] - m->first[b]) - (ptrdiff_t)queries;
        if (m->first[b] > 0 && queries > 0)
            left = back < left ? back : left;
    }
    a->opts.window.on = left < PTRDIFF_MAX || test_below(3) == 0;
    a->opts.window.left = left == PTRDIFF_MAX ? (ptrdiff_t)test_below(40) - 1 : left < 0 ? 0 : left;
    if (a->opts.window.left > 0 && test_below(3) == 0)
        a->opts.window.left = (ptrdiff_t)test_below((size_t)a->opts.window.left % 1000);
    if (test_below(8) == 0)
        a->opts.window.left++;
    a->opts.window.right = (ptrdiff_t)test_below(4) - 1;
}

static void any_question(kv_question *a, const model *m)
{
    static const size_t few[] = {1, 1, 1, 2, 3, 5, 12};
    size_t group = 1 + test_below(3), Lq = few[test_below(7)], H = group * m->s.Hkv, B = m->s.B, Lk = longest(m);
    kv_begin(a, test_random_tensor(kv_any_narrow(), B, H, Lq, m->s.D, (int)test_below(T_LAYOUTS)), kv_any_isa());
    a->ctx.batch_invariant = test_maybe();
    a->opts.causal = (attn_causal)test_below(3);
    a->layout = (int)test_below(T_OUT_LAYOUTS);
    for (size_t b = 0; b < B; b++)
        a->q_lens[b] = test_below(Lq + 1);
    for (size_t h = 0; h < H; h++) {
        a->slopes[h] = (float)test_uniform();
        a->sinks[h] = (float)test_uniform();
    }
    if (test_below(3) == 0)
        a->opts.q_lens = a->q_lens;
    choose_window(a, m);
    if (test_below(3) == 0)
        a->opts.mask = kv_any_broadcast(ATTN_BOOL, B, H, Lq, Lk);
    if (test_below(3) == 0)
        kv_add_hiding_bias(a, Lk);
    a->opts.alibi_slopes = test_below(3) ? NULL : a->slopes;
    a->opts.sinks = test_below(3) ? NULL : a->sinks;
    a->opts.score_mod = test_below(4) ? NULL : kv_modify;
    a->opts.scale = test_below(3) ? 0 : test_uniform();
    a->opts.softcap = test_below(4) ? 0 : 1.5;
    a->opts.scores_stage = (attn_stage)test_below(3);
    a->out = kv_any_narrow();
    a->lse = kv_any_float(), a->weights = kv_any_float(), a->scores = kv_any_float();
    a->wants_lse = test_maybe(), a->wants_weights = test_below(3) == 0, a->wants_scores = test_below(3) == 0;
    if (test_below(4) == 0)
        a->ctx.parallel = test_serial_backwards(&a->runner, 1 + test_below(5));
}

static void give_scratch(kv_question *a, const attn_kv_cache *cache, const model *m)
{
    kv_answer r = kv_blank(a, longest(m), m->s.Dv);
    attn_opts o = kv_with_outputs(a->opts, &r);
    attn_dry_run dry = {0};
    CHECK_STATUS(attn_kv_cache_attend(r.out, a->q, cache, &o, test_dry(&a->ctx, &dry)), ATTN_OK);
    test_scratch(&a->ctx, dry.scratch, test_maybe());
}

static void attend_at_random(const attn_kv_cache *cache, const model *m)
{
    kv_question a;
    any_question(&a, m);
    if (!sees_dropped(m, &a) && test_below(4) == 0)
        give_scratch(&a, cache, m);
    compare(cache, m, &a);
}

static void append_at_random(attn_kv_cache *cache, model *m)
{
    size_t most = test_below(8) ? 4 : 2 * m->s.capacity, L = test_below(most + 1), lens[MOST_ITEMS];
    attn_tensor k, v;
    int ragged = test_maybe(), fits = 1;
    for (size_t b = 0; b < m->s.B; b++) {
        size_t count = lens[b] = test_below(L + 1), len;
        len = m->lens[b] + (ragged ? count : L);
        fits &= m->s.ring || len <= m->s.capacity;
        if (len > MOST_TOKENS)
            return;
    }
    k = test_random_tensor(kv_any_float(), m->s.B, m->s.Hkv, L, m->s.D, (int)test_below(T_LAYOUTS));
    v = test_random_tensor(kv_any_float(), m->s.B, m->s.Hkv, L, m->s.Dv, (int)test_below(T_LAYOUTS));
    test_freeze();
    CHECK_STATUS(attn_kv_cache_append(cache, k, v, ragged ? lens : NULL), fits ? ATTN_OK : ATTN_ERR_VALUE);
    if (fits)
        tell(m, cache, k, v, ragged ? lens : NULL);
    else
        CHECK(test_wrote_nothing());
}

static void truncate_at_random(attn_kv_cache *cache, model *m)
{
    size_t b = test_below(m->s.B), len = test_below(m->lens[b] + 1);
    if (test_maybe() && m->lens[b] - len > 3)
        len = m->lens[b] - test_below(4);
    truncate_both(cache, m, b, len);
}

static void reorder_at_random(attn_kv_cache *cache, model *m)
{
    size_t from[MOST_ITEMS];
    for (size_t b = 0; b < m->s.B; b++)
        from[b] = test_below(m->s.B);
    reorder_both(cache, m, from);
}

TEST(cache_at_random)
{
    static const size_t capacities[] = {1, 3, 8, 20, 64, 140};
    int episodes = test_quick ? 8 : 56;
    for (int n = 0; n < episodes; n++) {
        shape s = {1 + test_below(4), 1 + test_below(3), 1, 1 + test_below(12), 1 + test_below(12), ATTN_F32, 0};
        attn_kv_cache cache;
        model m;
        s.capacity = capacities[test_below(6)];
        s.dtype = kinds[n % 4];
        s.ring = n / 4 % 2;
        cache = new_cache(s);
        m = new_model(s);
        for (int step = 0; step < 60; step++) {
            size_t what = test_below(16);
            test_case("episode %d, step %d", n, step);
            if (what < 6)
                append_at_random(&cache, &m);
            else if (what < 7)
                truncate_at_random(&cache, &m);
            else if (what < 8)
                reorder_at_random(&cache, &m);
            else
                attend_at_random(&cache, &m);
        }
        CHECK(holds(&cache, &m));
        test_release();
    }
}

/* ---- what nobody sees ---- */

static void spoil_unused(const attn_kv_cache *cache, const model *m, double garbage)
{
    for (size_t b = 0; b < m->s.B; b++)
        for (size_t slot = 0; slot < m->s.capacity; slot++)
            for (size_t h = 0; h < m->s.Hkv && !is_there(m, b, slot); h++)
                spoil(cache, b, h, slot, garbage);
}

/* Tokens that no query of the question sees by its causal rule, window and lengths. */
static void spoil_hidden(const attn_kv_cache *cache, const model *m, const kv_question *a, double garbage)
{
    ptrdiff_t offsets[MOST_ITEMS];
    attn_opts o = plainly(m, a, offsets);
    for (size_t b = 0; b < m->s.B; b++)
        for (size_t j = m->first[b]; j < m->lens[b]; j++) {
            int seen = 0;
            for (size_t i = 0; i < a->q.len; i++)
                seen |= sdpa_sees(&o, a->q.len, longest(m), b, 0, i, j);
            for (size_t h = 0; h < m->s.Hkv && !seen; h++)
                spoil(cache, b, h, j % m->s.capacity, garbage);
        }
}

/* Slots never written, truncated or dropped, and tokens that a window or a length hides: garbage there changes nothing.
 */
TEST(cache_garbage)
{
    static const size_t counts[][3] = {{0, 1, 3}, {5, 0, 16}, {16, 16, 16}, {40, 11, 29}};
    static const size_t cuts[][3] = {{0, 0, 0}, {1, 3, 5}, {0, 9, 40}};
    for (size_t n = 0; n < 4 * 3 * 8; n++)
        for (int infinite = 0; infinite < 2; infinite++) {
            double garbage = infinite ? HUGE_VAL : test_f64(0x7ff8000000000000u);
            shape s = {3, 2, 16, 5, 4, ATTN_F32, 0};
            const size_t *lens = counts[n / 3 % 4];
            size_t q_lens[3] = {2, 0, 3};
            attn_kv_cache cache;
            kv_answer before, after;
            kv_question a;
            model m;
            s.dtype = kinds[n / 12 % 4];
            s.ring = (int)(n / 48);
            if (!s.ring && lens[0] > 16)
                continue;
            trying(s, "garbage");
            cache = new_cache(s);
            m = new_model(s);
            spoil_unused(&cache, &m, garbage);
            append(&cache, &m, 40, lens);
            for (size_t b = 0; b < 3; b++)
                truncate_both(&cache, &m, b, m.lens[b] - (cuts[n % 3][b] < m.lens[b] ? cuts[n % 3][b] : m.lens[b]));
            a = plain_question(test_random_tensor(ATTN_F32, 3, 4, 3, 5, T_BHLD), ATTN_ISA_BEST);
            a.opts.window.on = 1, a.opts.window.left = 1;
            a.opts.q_lens = q_lens;
            a.wants_lse = a.wants_weights = a.wants_scores = 1;
            a.opts.scores_stage = ATTN_STAGE_FINAL;
            if (sees_dropped(&m, &a))
                a.opts.window.left = 0, q_lens[0] = q_lens[2] = 1;
            if (sees_dropped(&m, &a)) /* cut to below what was dropped */
                continue;
            before = ask(&cache, &m, &a, ATTN_OK);
            spoil_unused(&cache, &m, garbage);
            after = ask(&cache, &m, &a, ATTN_OK);
            CHECK(same_answer(&m, &after, &before));
            spoil_hidden(&cache, &m, &a, garbage);
            after = ask(&cache, &m, &a, ATTN_OK);
            CHECK(same_answer(&m, &after, &before));
            test_release();
        }
}

/* ---- I8 ---- */

enum { ROW = 9 };

/* A row whose largest magnitude is `most`, at a random place. */
static void set_row(attn_tensor t, size_t i, double most)
{
    size_t at = test_below(t.dim);
    for (size_t d = 0; d < t.dim; d++)
        test_tensor_set(t, 0, 0, i, d, most * test_uniform());
    test_tensor_set(t, 0, 0, i, at, test_maybe() ? most : -most);
}

static real largest(attn_tensor t, size_t i)
{
    real most = 0;
    for (size_t d = 0; d < t.dim; d++) {
        real x = fabsl(test_tensor_get(t, 0, 0, i, d));
        most = x > most ? x : most;
    }
    return most;
}

/* Integers -127 .. 127, the largest of them 127, times a scale that is the largest magnitude / 127. */
static void check_row(const attn_kv_cache *cache, int which, attn_tensor from, size_t i)
{
    real most = largest(from, i), scale = (real)*kv_scale_at(cache, which, 0, 0, i);
    int peak = 0;
    for (size_t d = 0; d < from.dim; d++) {
        int n = *(const signed char *)test_tensor_at(side(cache, which), 0, 0, i, d);
        CHECK(n >= -127 && n <= 127);
        peak = abs(n) > peak ? abs(n) : peak;
    }
    CHECK(is_near(cache, which, from, 0, 0, i, i));
    if (!is_finite_row(from, 0, 0, i))
        return;
    CHECK(sdpa_finite(scale) && scale >= 0);
    if (most >= 127 * (real)FLT_MIN && most < 0.999L * FLT_MAX)
        CHECK(peak == 127 && scale == (real)(float)(double)(most / 127));
}

/* Rows of all magnitudes, next to rows of zeros, of NaN and of infinities; each alone has its scale. */
TEST(cache_i8_rows)
{
    static const double sizes[] = {1,          127,      126.5,    0x1p-20,  1e30,     3.4028234663852886e38,
                                   3.4e38,     0x1p127,  1e-30,    0x1p-119, 0x1p-120, 0x1p-126,
                                   0x1.8p-140, 0x1p-142, 0x1p-143, 0x1p-148, 0x1p-149};
    enum { SIZES = sizeof sizes / sizeof *sizes, L = 3 * SIZES };
    for (size_t type = 0; type < 4; type++)
        for (int which = K; which <= V; which++) {
            shape s = {1, 1, L, ROW, ROW, ATTN_I8, 0};
            attn_kv_cache cache = new_cache(s);
            attn_tensor t = test_tensor(test_floats[type], 1, 1, L, ROW, T_STEP), other = test_tensor_like(t, T_BHLD);
            test_fill_tensor(other, 1);
            trying(s, test_dtype_name(test_floats[type]));
            for (size_t i = 0; i < L; i++) {
                double most = sizes[i / 3];
                set_row(t, i, test_floats[type] == ATTN_F16 && most > 65504 ? 65504 : most);
                if (i % 3 == 1)
                    for (size_t d = 0; d < ROW; d++)
                        test_tensor_set(t, 0, 0, i, d, i % 2 ? 0.0 : -0.0);
                if (i % 3 == 2)
                    test_tensor_set(t, 0, 0, i, test_below(ROW),
                                    i % 4 == 0   ? HUGE_VAL
                                    : i % 4 == 1 ? -HUGE_VAL
                                                 : test_f64(0x7ff8000000000000u));
            }
            CHECK_STATUS(attn_kv_cache_append(&cache, which == K ? t : other, which == K ? other : t, NULL), ATTN_OK);
            for (size_t i = 0; i < L; i++) {
                test_case("%s, row %zu, largest %Lg", test_dtype_name(test_floats[type]), i, largest(t, i));
                check_row(&cache, which, t, i);
                check_row(&cache, !which, other, i);
                for (size_t d = 0; d < ROW && i % 3 == 1; d++)
                    CHECK(stored(&cache, which, 0, 0, i, d) == 0);
            }
        }
}

/* Halves and what is next to them go to the nearest integer: no other is nearer, to within what a division rounds. */
TEST(cache_i8_nearest)
{
    enum { D = 255 };
    shape s = {1, 1, 1, D, D, ATTN_I8, 0};
    for (int step = -1; step <= 1; step++) {
        attn_kv_cache cache = new_cache(s);
        attn_tensor t = test_tensor(test_wide, 1, 1, 1, D, T_BHLD);
        trying(s, "halves");
        test_tensor_set(t, 0, 0, 0, 0, 127); /* the scale is 1 */
        for (int n = -126; n < 127; n++)
            test_tensor_set(t, 0, 0, 0, (size_t)(n + 127), n - 0.5 + step * 1e-3);
        test_tensor_set(t, 0, 0, 0, 254, -127);
        CHECK_STATUS(attn_kv_cache_append(&cache, t, t, NULL), ATTN_OK);
        CHECK(*kv_scale_at(&cache, K, 0, 0, 0) == 1 && *kv_scale_at(&cache, V, 0, 0, 0) == 1);
        CHECK(stored(&cache, K, 0, 0, 0, 0) == 127 && stored(&cache, K, 0, 0, 0, 254) == -127);
        for (int n = -126; n < 127; n++) {
            float got = stored(&cache, K, 0, 0, 0, (size_t)(n + 127));
            CHECK(step == 0 ? got == (float)n || got == (float)(n - 1) : got == (float)(step < 0 ? n - 1 : n));
        }
    }
}

/* |out - exact| for one query. A key that is off by at most s/2 in each element moves its score by at most
   e = |scale| (|q_0| + ... ) s/2; all scores within E = max e, each weight within a factor exp(2E) of its own; so the
   weighted sum is off by at most (exp(2E) - 1) sum w |v| + max s_v / 2, and the rounding of float, 1e-5. */
static real i8_bound(const attn_kv_cache *cache, attn_tensor q, attn_tensor v, const real *weights, size_t b, size_t h,
                     size_t i, size_t d)
{
    size_t kv = h / (q.heads / v.heads), Lk = v.len;
    real size = 0, key = 0, value = 0, sum = 0;
    for (size_t n = 0; n < q.dim; n++)
        size += fabsl(test_tensor_get(q, b, h, i, n));
    for (size_t j = 0; j < Lk; j++) {
        real w = weights[((b * q.heads + h) * q.len + i) * Lk + j];
        if (w == 0)
            continue;
        key = fmaxl(key, (real)*kv_scale_at(cache, K, b, kv, j));
        value = fmaxl(value, (real)*kv_scale_at(cache, V, b, kv, j));
        sum += w * fabsl(test_tensor_get(v, b, kv, j, d));
    }
    return (expl(2 * size / sqrtl((real)q.dim) * key / 2) - 1) * sum + value / 2 + 1e-5L;
}

/* Attention over an I8 cache: attn_sdpa over the same numbers as F32, but for rounding; and near what the rows were. */
TEST(cache_i8_attend)
{
    static const size_t lengths[] = {1, 17, 130, 300};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 2 : 4); n++) {
            shape s = {2, 2, 300, 64, 40, ATTN_I8, 0};
            size_t L = lengths[n], Lq = L < 3 ? L : 3;
            attn_kv_cache cache = new_cache(s);
            model m = new_model(s);
            attn_tensor k = test_random_tensor(ATTN_F32, 2, 2, L, 64, T_BLHD);
            attn_tensor v = test_random_tensor(ATTN_F32, 2, 2, L, 40, T_TURNED);
            kv_question a = plain_question(test_random_tensor(ATTN_F32, 2, 4, Lq, 64, T_BHLD), isa);
            real *want = test_reals(2 * 4 * Lq * 40), *weights = test_reals(2 * 4 * Lq * L), most = 0, loosest = 0;
            kv_answer got;
            int held = 1;
            trying(s, attn_isa_string(isa));
            CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
            tell(&m, &cache, k, v, NULL);
            a.wants_lse = a.wants_weights = a.wants_scores = 1;
            compare(&cache, &m, &a);
            got = ask(&cache, &m, &a, ATTN_OK);
            sdpa_reference(want, NULL, weights, NULL, a.q, k, v, &a.opts, EXACT);
            for (size_t r = 0; r < 2 * 4 * Lq; r++)
                for (size_t d = 0; d < 40; d++) {
                    size_t b = r / Lq / 4, h = r / Lq % 4, i = r % Lq;
                    real bound = i8_bound(&cache, a.q, v, weights, b, h, i, d);
                    real error = fabsl(test_tensor_get(got.out, b, h, i, d) - want[r * 40 + d]);
                    held &= error <= bound;
                    most = error > most ? error : most;
                    loosest = bound > loosest ? bound : loosest;
                }
            CHECK(held);
            CHECK(loosest < 0.06L && most > loosest / 300); /* the bound says something */
            test_release();
        }
}

/* Query i of `all`, whose tokens are the newest of the cache, alone: what came after it is taken back. */
static int i8_row_equals(attn_kv_cache *cache, attn_tensor all, attn_tensor q, size_t L, size_t i, attn_opts opts,
                         const attn_ctx *ctx)
{
    attn_tensor one = test_tensor(all.dtype, all.batch, all.heads, 1, all.dim, T_BHLD);
    for (size_t b = 0; b < all.batch; b++)
        CHECK_STATUS(attn_kv_cache_truncate(cache, b, L - all.len + i + 1), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_attend(one, attn_tensor_slice(q, i, 1), cache, &opts, ctx), ATTN_OK);
    return same_numbers(one, attn_tensor_slice(all, i, 1));
}

/* An I8 cache gives a query the same bits alone and among others, if batch_invariant; a row of NaN that nobody sees
   changes none, one that is seen makes NaN. */
TEST(cache_i8_few_rows)
{
    enum { L = 300, LQ = 24, LEFT = 170, UNSEEN = 100, SEEN = 290 }; /* the first query sees keys 106 .. 276 */
    static const attn_dtype types[] = {ATTN_F32, ATTN_BF16};
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 8; n++) {
            shape s = {2, 2, L, 24, 17, ATTN_I8, 0};
            attn_dtype type = types[n / 2 % 2];
            attn_tensor k = test_random_tensor(ATTN_F32, 2, 2, L, 24, T_BHLD);
            attn_tensor v = test_random_tensor(ATTN_F32, 2, 2, L, 17, T_BHLD);
            attn_tensor q = test_random_tensor(type, 2, 4, LQ, 24, T_BHLD), out[3];
            attn_opts opts = {0};
            attn_ctx ctx = test_ctx(isa);
            ctx.batch_invariant = n < 4;
            opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
            opts.window.on = n % 2 == 0, opts.window.left = LEFT;
            opts.kv_lens = NULL;
            for (int spoiled = 0; spoiled < 3; spoiled++) {
                size_t row = spoiled == 1 ? UNSEEN : SEEN;
                attn_kv_cache cache = new_cache(s);
                int held = 1;
                for (size_t h = 0; spoiled && h < 4; h++)
                    test_tensor_set(n % 2 ? k : v, h / 2, h % 2, row, h, h % 2 ? NAN : HUGE_VAL);
                trying(s, attn_isa_string(isa));
                CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
                out[spoiled] = test_tensor(type, 2, 4, LQ, 17, T_BHLD);
                CHECK_STATUS(attn_kv_cache_attend(out[spoiled], q, &cache, &opts, &ctx), ATTN_OK);
                for (size_t i = LQ; ctx.batch_invariant && i-- > 0;)
                    held &= i8_row_equals(&cache, out[spoiled], q, L, i, opts, &ctx);
                CHECK(held);
                for (size_t r = 0; r < 2 * 4 * LQ; r++) {
                    int sees = n % 2 ? spoiled : spoiled == 2; /* without a window row UNSEEN is seen by all */
                    int nan = sees && (spoiled == 1 || n % 2 || L - LQ + r % LQ >= SEEN);
                    held &= !isnan((double)test_tensor_get(out[spoiled], r / LQ / 4, r / LQ % 4, r % LQ, 3)) == !nan;
                }
                CHECK(held);
            }
            CHECK(n % 2 || same_numbers(out[0], out[1]));
            test_release();
        }
}

/* A row of NaN spoils who sees it, and no one else. */
TEST(cache_i8_nan)
{
    shape s = {1, 1, 8, 4, 3, ATTN_I8, 0};
    for (int which = K; which <= V; which++) {
        attn_kv_cache cache = new_cache(s);
        attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, 6, 4, T_BHLD),
                    v = test_random_tensor(ATTN_F32, 1, 1, 6, 3, T_BHLD);
        attn_tensor out = test_tensor(ATTN_F32, 1, 1, 6, 3, T_BHLD),
                    q = test_random_tensor(ATTN_F32, 1, 1, 6, 4, T_BHLD);
        attn_opts opts = {0};
        trying(s, "a row of NaN");
        test_tensor_set(which == K ? k : v, 0, 0, 2, 1, HUGE_VAL);
        CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
        opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
        opts.window.on = 1, opts.window.left = 1, opts.window.right = 0;
        CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &opts, NULL), ATTN_OK);
        for (size_t i = 0; i < 6; i++)
            for (size_t d = 0; d < 3; d++)
                CHECK(!isnan(test_tensor_get(out, 0, 0, i, d)) == (i < 2 || i > 3));
    }
}

/* ---- statuses ---- */

enum { A_CACHE = 1, A_B = 2, A_HKV = 4, A_CAPACITY = 8, A_D = 16, A_DV = 32, A_DTYPE = 64, A_STORAGE = 128 };

#define INIT_FAULT_LIST(X)                                                                                             \
    X(CACHE_IS_NULL, A_CACHE, NULL, c->cache = NULL)                                                                   \
    X(STORAGE_IS_NULL, A_STORAGE, NULL, c->storage = NULL)                                                             \
    X(DTYPE_F64, A_DTYPE, DTYPE, c->s.dtype = ATTN_F64)                                                                \
    X(DTYPE_BOOL, A_DTYPE, DTYPE, c->s.dtype = ATTN_BOOL)                                                              \
    X(DTYPE_UNKNOWN, A_DTYPE, DTYPE, c->s.dtype = (attn_dtype)77)                                                      \
    X(DTYPE_NEGATIVE, A_DTYPE, DTYPE, c->s.dtype = (attn_dtype)-1)                                                     \
    X(NO_CAPACITY, A_CAPACITY, SHAPE, c->s.capacity = 0)                                                               \
    X(NO_D, A_D, SHAPE, c->s.D = 0)                                                                                    \
    X(MAX_B, A_B, OVERFLOW, c->s.B = SIZE_MAX)                                                                         \
    X(MAX_HKV, A_HKV, OVERFLOW, c->s.Hkv = SIZE_MAX)                                                                   \
    X(MAX_CAPACITY, A_CAPACITY, OVERFLOW, c->s.capacity = SIZE_MAX)                                                    \
    X(MAX_D, A_D, OVERFLOW, c->s.D = SIZE_MAX)                                                                         \
    X(MAX_DV, A_DV, OVERFLOW, c->s.Dv = SIZE_MAX)                                                                      \
    X(SHORT_STORAGE, A_STORAGE, NOMEM, c->size--)                                                                      \
    X(NO_STORAGE, A_STORAGE, NOMEM, c->size = 0)                                                                       \
    X(NO_MEMORY, A_STORAGE, NOMEM, c->no_memory = 1, c->storage = NULL, c->size = 0)

enum init_fault { INIT_FAULT_LIST(FAULT_NUMBER) INIT_FAULTS };
static const fault_row init_faults[] = {INIT_FAULT_LIST(FAULT_ENTRY)};

typedef struct init_call {
    shape s;
    attn_kv_cache *cache;
    void *storage;
    size_t size;
    int no_memory;
} init_call;

static attn_status inflict_init(init_call *c, int kind)
{
    switch (kind) {
        INIT_FAULT_LIST(FAULT_CASE)
    }
    return ATTN_OK;
}

static void attempt_init(int f, int g, attn_status want)
{
    for (int kind = 0; kind < 8; kind++) {
        init_call c = {{2, 2, 3, 4, 5, ATTN_F32, 0}, NULL, NULL, 0, 0};
        attn_kv_cache cache, before;
        size_t bytes = 12345;
        unsigned both = init_faults[f].args | init_faults[g].args;
        long live = test_memory_state.live;
        attn_status status, of_size = (both & A_STORAGE) ? ATTN_OK : want;
        memset(&cache, 0x5a, sizeof cache);
        before = cache;
        c.s.dtype = kinds[kind % 4];
        c.s.ring = kind / 4;
        c.cache = &cache;
        c.size = bytes_of(c.s);
        c.storage = test_block(c.size);
        inflict_init(&c, f);
        inflict_init(&c, g);
        if (g == f && f == SHORT_STORAGE)
            c.size++; /* twice the same */
        test_freeze();
        test_memory_state.fail_all = c.no_memory;
        status = init(c.cache, c.s, c.storage, c.size);
        test_memory_state.fail_all = 0;
        CHECK_STATUS(status, want);
        CHECK(test_wrote_nothing() && same_struct(&cache, &before) && test_memory_state.live == live);
        if (f != g && (both & A_STORAGE)) /* attn_kv_cache_size knows of the other fault alone */
            of_size = init_faults[init_faults[f].args & A_STORAGE ? g : f].want;
        if (of_size == ATTN_OK)
            continue;
        status = attn_kv_cache_size(c.cache ? &bytes : NULL, c.s.B, c.s.Hkv, c.s.capacity, c.s.D, c.s.Dv, c.s.dtype,
                                    c.s.ring);
        CHECK_STATUS(status, of_size);
        CHECK(bytes == 12345);
        test_release();
    }
}

TEST(cache_status_init)
{
    all_faults(init_faults, INIT_FAULTS, attempt_init);
}

static size_t any_size(void) /* of any magnitude */
{
    unsigned bits = (unsigned)sizeof(size_t) * 8, low = (unsigned)test_below(bits);
    switch (test_below(4)) {
    case 0: return 1 + test_below(5);
    case 1: return ((size_t)2 << low) - 1;
    case 2: return SIZE_MAX >> low;
    default: return 1 + (size_t)(test_random() & (SIZE_MAX >> low) >> 1);
    }
}

/* Sizes of all magnitudes: never wrong about whether they fit in memory. */
TEST(cache_status_huge_shapes)
{
    real most = ldexpl(1, (int)sizeof(size_t) * 8 - 1);
    size_t fit = 0, too_large = 0;
    for (int n = 0; n < (test_quick ? 5000 : 50000); n++) {
        shape s = {any_size(), any_size(), any_size(), any_size(), any_size(), ATTN_F32, 0};
        size_t bytes = 12345;
        attn_kv_cache cache, before;
        attn_status status;
        real rows, total, most_total;
        s.dtype = kinds[n % 4];
        s.ring = n / 4 % 2;
        rows = (real)s.B * (real)s.Hkv * (real)s.capacity;
        total = rows * ((real)s.D + (real)s.Dv) * (real)test_size(s.dtype) + (real)s.B * 2 * sizeof(size_t);
        total += s.dtype == ATTN_I8 ? rows * 2 * sizeof(float) : 0;
        most_total = total + (real)s.B * sizeof(size_t) + 1024; /* a little more is the library's to use */
        memset(&cache, 0x5a, sizeof cache);
        before = cache;
        trying(s, "huge");
        status = attn_kv_cache_size(&bytes, s.B, s.Hkv, s.capacity, s.D, s.Dv, s.dtype, s.ring);
        if (total > most * 1.0001L)
            CHECK_STATUS(status, ATTN_ERR_OVERFLOW);
        if (most_total < most * 0.9999L)
            CHECK_STATUS(status, ATTN_OK);
        if (status == ATTN_OK)
            CHECK((real)bytes >= total * 0.9999999L && (real)bytes <= most_total * 1.0000001L);
        else
            CHECK(bytes == 12345);
        fit += status == ATTN_OK;
        too_large += status != ATTN_OK;
        test_memory_state.fail_all = 1;
        CHECK_STATUS(init(&cache, s, NULL, 0), status == ATTN_OK ? ATTN_ERR_NOMEM : ATTN_ERR_OVERFLOW);
        test_memory_state.fail_all = 0;
        CHECK(same_struct(&cache, &before));
    }
    CHECK(fit > 500 && too_large > 500);
}

/* With nothing to store, a size may be as large as it likes or be refused, but never half believed. */
TEST(cache_status_huge_and_empty)
{
    for (int n = 0; n < 4000; n++) {
        shape s = {any_size(), any_size(), any_size(), any_size(), any_size(), ATTN_F32, 0};
        size_t bytes = 12345;
        attn_kv_cache cache = {0};
        attn_status status;
        s.dtype = kinds[n % 4];
        *(n / 4 % 2 ? &s.B : &s.Hkv) = 0;
        trying(s, "huge and empty");
        status = attn_kv_cache_size(&bytes, s.B, s.Hkv, s.capacity, s.D, s.Dv, s.dtype, s.ring);
        CHECK(status == ATTN_OK || (status == ATTN_ERR_OVERFLOW && bytes == 12345));
        if (status == ATTN_OK && bytes < 4096) {
            unsigned char *memory = test_block(bytes);
            CHECK_STATUS(init(&cache, s, memory, bytes), ATTN_OK);
            CHECK(is_empty_cache(&cache, s));
        }
    }
}

enum { A_K = 2, A_V = 4, A_LENS = 8 };

#define APPEND_FAULT_LIST(X)                                                                                           \
    X(ADD_NO_CACHE, A_CACHE, NULL, c->cache = NULL)                                                                    \
    X(ADD_ZERO_CACHE, A_CACHE, NULL, c->cache = zero)                                                                  \
    X(K_ABSENT, A_K, NULL, c->k = none)                                                                                \
    X(K_BAD, A_K, NULL, c->k = attn_tensor_slice(c->k, c->k.len, 1))                                                   \
    X(K_NO_DATA, A_K, NULL, c->k.data = NULL)                                                                          \
    X(V_ABSENT, A_V, NULL, c->v = none)                                                                                \
    X(V_BAD, A_V, NULL, c->v = attn_tensor_slice(c->v, c->v.len, 1))                                                   \
    X(V_NO_DATA, A_V, NULL, c->v.data = NULL)                                                                          \
    X(K_I8, A_K, DTYPE, c->k.dtype = ATTN_I8)                                                                          \
    X(K_BOOL, A_K, DTYPE, c->k.dtype = ATTN_BOOL)                                                                      \
    X(K_UNKNOWN, A_K, DTYPE, c->k.dtype = (attn_dtype)-3)                                                              \
    X(V_I8, A_V, DTYPE, c->v.dtype = ATTN_I8)                                                                          \
    X(V_BOOL, A_V, DTYPE, c->v.dtype = ATTN_BOOL)                                                                      \
    X(V_UNKNOWN, A_V, DTYPE, c->v.dtype = (attn_dtype)99)                                                              \
    X(K_BATCH, A_K, SHAPE, c->k.batch--)                                                                               \
    X(K_HEADS, A_K, SHAPE, c->k.heads--)                                                                               \
    X(K_LEN, A_K | A_V, SHAPE, c->k.len--)                                                                             \
    X(K_DIM, A_K, SHAPE, c->k.dim--)                                                                                   \
    X(V_BATCH, A_V, SHAPE, c->v.batch--)                                                                               \
    X(V_HEADS, A_V, SHAPE, c->v.heads--)                                                                               \
    X(V_LEN, A_K | A_V, SHAPE, c->v.len--)                                                                             \
    X(V_DIM, A_V, SHAPE, c->v.dim--)                                                                                   \
    X(K_STRIDE, A_K, OVERFLOW, c->k.len_stride = PTRDIFF_MAX)                                                          \
    X(V_STRIDE, A_V, OVERFLOW, c->v.head_stride = PTRDIFF_MIN)                                                         \
    X(K_MISALIGNED, A_K, VALUE, c->k.data = askew(c->k.data, 1))                                                       \
    X(V_MISALIGNED, A_V, VALUE, c->v.data = askew(c->v.data, 1))                                                       \
    X(LENS_LONG, A_LENS, VALUE, c->lens[2] = 6)                                                                        \
    X(LENS_MAX, A_LENS, VALUE, c->lens[2] = SIZE_MAX)                                                                  \
    X(LENS_PAST, A_LENS, VALUE, c->lens[1] = 5)                                                                        \
    X(LENS_NULL_PAST, A_LENS, VALUE, c->all = 1)                                                                       \
    X(K_OVER_K, A_K, ALIAS, c->k.data = keys)                                                                          \
    X(K_OVER_V, A_K, ALIAS, c->k.data = values)                                                                        \
    X(V_OVER_K, A_V, ALIAS, c->v.data = keys)                                                                          \
    X(V_OVER_V, A_V, ALIAS, c->v.data = values)

enum append_fault { APPEND_FAULT_LIST(FAULT_NUMBER) APPEND_FAULTS };
static const fault_row append_faults[] = {APPEND_FAULT_LIST(FAULT_ENTRY)};

typedef struct append_call {
    attn_kv_cache *cache;
    attn_tensor k, v;
    size_t lens[3];
    int all; /* lens is NULL */
} append_call;

static attn_status inflict_append(append_call *c, int kind, attn_kv_cache *zero, const attn_kv_cache *cache)
{
    attn_tensor none = {0};
    void *keys = cache->k.data, *values = cache->v.data;
    switch (kind) {
        APPEND_FAULT_LIST(FAULT_CASE)
    }
    return ATTN_OK;
}

static void attempt_append(int f, int g, attn_status want)
{
    for (int kind = 0; kind < 4; kind++) {
        shape s = {3, 2, 10, 4, 3, ATTN_F32, 0};
        attn_kv_cache cache, before, zero = {0};
        append_call c;
        model m;
        s.dtype = kinds[kind];
        cache = new_cache(s);
        m = new_model(s);
        append(&cache, &m, 7, NULL);
        c.cache = &cache;
        c.k = test_random_tensor(ATTN_F32, 3, 2, 5, 4, T_BHLD);
        c.v = test_random_tensor(ATTN_F32, 3, 2, 5, 3, T_BHLD);
        c.lens[0] = 3, c.lens[1] = 0, c.lens[2] = 2;
        c.all = 0;
        inflict_append(&c, f, &zero, &cache);
        if (g != f)
            inflict_append(&c, g, &zero, &cache);
        before = cache;
        test_freeze();
        CHECK_STATUS(attn_kv_cache_append(c.cache, c.k, c.v, c.all ? NULL : c.lens), want);
        CHECK(test_wrote_nothing() && same_struct(&cache, &before) && is_zero_struct(zero));
        CHECK(holds(&cache, &m));
        test_release();
    }
}

TEST(cache_status_append)
{
    all_faults(append_faults, APPEND_FAULTS, attempt_append);
}

TEST(cache_status_ring_append)
{
    shape s = {2, 1, 4, 3, 2, ATTN_F32, 1};
    attn_kv_cache cache = new_cache(s);
    model m = new_model(s);
    attn_tensor k = test_random_tensor(ATTN_F32, 2, 1, 6, 3, T_BHLD),
                v = test_random_tensor(ATTN_F32, 2, 1, 6, 2, T_BHLD);
    size_t lens[2] = {6, 7};
    trying(s, "ring");
    append(&cache, &m, 6, NULL);
    test_freeze();
    CHECK_STATUS(attn_kv_cache_append(&cache, k, v, lens), ATTN_ERR_VALUE);
    lens[1] = SIZE_MAX - 5;
    CHECK_STATUS(attn_kv_cache_append(&cache, k, v, lens), ATTN_ERR_VALUE);
    CHECK(test_wrote_nothing() && holds(&cache, &m));
}

/* Rows of a view without end, one row seen again and again: nothing runs away, nothing overflows. */
TEST(cache_status_endless_append)
{
    for (int ring = 0; ring < 2; ring++) {
        shape s = {1, 1, 4, 1, 1, ATTN_F32, 0};
        size_t lens[1] = {2};
        attn_kv_cache cache;
        attn_status status;
        attn_tensor t = test_tensor(ATTN_F32, 1, 1, 1, 1, T_BHLD);
        s.ring = ring;
        trying(s, "endless");
        cache = new_cache(s);
        test_fill_tensor(t, 3);
        t.len = SIZE_MAX;
        t.len_stride = t.head_stride = t.batch_stride = 0;
        test_freeze();
        status = attn_kv_cache_append(&cache, t, t, lens);
        CHECK(status == ATTN_OK || status == ATTN_ERR_OVERFLOW);
        CHECK(status == ATTN_OK || test_wrote_nothing());
        if (status == ATTN_OK)
            CHECK(cache.lens[0] == 2 && stored(&cache, K, 0, 0, 1, 0) == 3);
        test_freeze();
        if (!ring) {
            CHECK(attn_kv_cache_append(&cache, t, t, NULL) != ATTN_OK);
            CHECK(test_wrote_nothing());
        }
    }
}

TEST(cache_status_truncate_and_reorder)
{
    for (int kind = 0; kind < 8; kind++) {
        shape s = {3, 1, 4, 3, 2, ATTN_F32, 0};
        size_t from[3] = {0, 1, 2};
        attn_kv_cache cache, zero = {0}, before;
        model m;
        s.dtype = kinds[kind % 4];
        s.ring = kind / 4;
        trying(s, "statuses");
        cache = before = new_cache(s);
        m = new_model(s);
        append(&cache, &m, 4, NULL);
        test_freeze();
        CHECK_STATUS(attn_kv_cache_truncate(NULL, 0, 0), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_truncate(NULL, 9, 9), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_truncate(&zero, 0, 0), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_truncate(&cache, 3, 0), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_truncate(&cache, 0, 5), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_reorder(NULL, from), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_reorder(&zero, from), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_reorder(&cache, NULL), ATTN_ERR_NULL);
        for (size_t culprit = 0; culprit < 3; culprit++)
            for (size_t wrong = 3; wrong > 2; wrong = wrong == 3 ? SIZE_MAX : 0) {
                size_t bad[3] = {1, 2, 0};
                bad[culprit] = wrong;
                CHECK_STATUS(attn_kv_cache_reorder(&cache, bad), ATTN_ERR_VALUE);
            }
        CHECK(test_wrote_nothing() && same_struct(&cache, &before) && is_zero_struct(zero));
        CHECK(holds(&cache, &m));
    }
}

/* ---- statuses of attend and scratch ---- */

enum {
    A_OUT = 2,
    A_Q = 4,
    A_CAUSAL = 8,
    A_WINDOW = 16,
    A_MASK = 32,
    A_BIAS = 64,
    A_LSE = 128,
    A_WEIGHTS = 256,
    A_SCORES = 512,
    A_Q_LENS = 1024,
    A_KV_LENS = 2048,
    A_SCALE = 4096,
    A_SOFTCAP = 8192,
    A_STAGE = 16384,
    A_SCRATCH = 32768,
    A_ISA = 65536
};

#define ATTEND_FAULT_LIST(X)                                                                                           \
    X(SEE_NO_CACHE, A_CACHE, NULL, c->cache = NULL)                                                                    \
    X(SEE_ZERO_CACHE, A_CACHE, NULL, c->cache = zero)                                                                  \
    X(OUT_ABSENT, A_OUT, NULL, c->out = none)                                                                          \
    X(OUT_BAD, A_OUT, NULL, c->out = bad)                                                                              \
    X(Q_ABSENT, A_Q, NULL, c->q = none)                                                                                \
    X(Q_BAD, A_Q, NULL, c->q = bad)                                                                                    \
    X(MASK_BAD, A_MASK, NULL, o->mask = bad)                                                                           \
    X(BIAS_BAD, A_BIAS, NULL, o->bias = bad)                                                                           \
    X(LSE_BAD, A_LSE, NULL, o->lse = bad)                                                                              \
    X(WEIGHTS_BAD, A_WEIGHTS, NULL, o->weights = bad)                                                                  \
    X(SCORES_BAD, A_SCORES, NULL, o->scores = bad)                                                                     \
    X(SCRATCH_MISSING, A_SCRATCH, NULL, c->ctx.scratch = NULL, c->ctx.scratch_size = 7)                                \
    X(OFFSET_MISSING, A_CAUSAL, NULL, o->causal = ATTN_CAUSAL_OFFSET)                                                  \
    X(OUT_F64, A_OUT, DTYPE, c->out.dtype = ATTN_F64)                                                                  \
    X(OUT_I8, A_OUT, DTYPE, c->out.dtype = ATTN_I8)                                                                    \
    X(Q_F64, A_Q, DTYPE, c->q.dtype = ATTN_F64)                                                                        \
    X(Q_I8, A_Q, DTYPE, c->q.dtype = ATTN_I8)                                                                          \
    X(MASK_F32, A_MASK, DTYPE, o->mask.dtype = ATTN_F32)                                                               \
    X(BIAS_BOOL, A_BIAS, DTYPE, o->bias.dtype = ATTN_BOOL)                                                             \
    X(LSE_I8, A_LSE, DTYPE, o->lse.dtype = ATTN_I8)                                                                    \
    X(WEIGHTS_BOOL, A_WEIGHTS, DTYPE, o->weights.dtype = ATTN_BOOL)                                                    \
    X(OUT_BATCH, A_OUT, SHAPE, c->out.batch--)                                                                         \
    X(OUT_HEADS, A_OUT, SHAPE, c->out.heads--)                                                                         \
    X(OUT_LEN, A_OUT, SHAPE, c->out.len--)                                                                             \
    X(OUT_DIM, A_OUT, SHAPE, c->out.dim--)                                                                             \
    X(Q_BATCH, A_Q, SHAPE, c->q.batch--)                                                                               \
    X(Q_HEADS, A_Q, SHAPE, c->q.heads--)                                                                               \
    X(Q_LEN, A_Q, SHAPE, c->q.len--)                                                                                   \
    X(Q_DIM, A_Q, SHAPE, c->q.dim--)                                                                                   \
    X(MASK_DIM, A_MASK, SHAPE, o->mask.dim--)                                                                          \
    X(MASK_CAPACITY, A_MASK, SHAPE, o->mask.dim = cache->k.len)                                                        \
    X(BIAS_DIM, A_BIAS, SHAPE, o->bias.dim--)                                                                          \
    X(LSE_LEN, A_LSE, SHAPE, o->lse.len--)                                                                             \
    X(WEIGHTS_DIM, A_WEIGHTS, SHAPE, o->weights.dim--)                                                                 \
    X(SCORES_DIM, A_SCORES, SHAPE, o->scores.dim = cache->k.len)                                                       \
    X(OUT_STRIDE, A_OUT, OVERFLOW, c->out.head_stride = PTRDIFF_MAX)                                                   \
    X(Q_STRIDE, A_Q, OVERFLOW, c->q.len_stride = PTRDIFF_MIN)                                                          \
    X(MASK_STRIDE, A_MASK, OVERFLOW, o->mask.batch_stride = PTRDIFF_MAX)                                               \
    X(OUT_MISALIGNED, A_OUT, VALUE, c->out.data = askew(c->out.data, 1))                                               \
    X(Q_MISALIGNED, A_Q, VALUE, c->q.data = askew(c->q.data, 2))                                                       \
    X(KV_LENS_GIVEN, A_KV_LENS, VALUE, o->kv_lens = c->lens)                                                           \
    X(OFFSET_MISALIGNED, A_CAUSAL, VALUE, o->causal_offset = askew(c->offsets, 1))                                     \
    X(CAUSAL_UNKNOWN, A_CAUSAL, VALUE, o->causal = (attn_causal)4)                                                     \
    X(WINDOW_LEFT, A_WINDOW, VALUE, o->window.left = -2)                                                               \
    X(WINDOW_RIGHT, A_WINDOW, VALUE, o->window.right = PTRDIFF_MIN)                                                    \
    X(SEES_DROPPED, A_WINDOW | A_CAUSAL, VALUE, o->window.left = 3)                                                    \
    X(Q_LENS_LONG, A_Q_LENS, VALUE, o->q_lens = c->many, c->many[1] = S_LQ + 1)                                        \
    X(Q_LENS_MAX, A_Q_LENS, VALUE, o->q_lens = c->many, c->many[1] = SIZE_MAX)                                         \
    X(SCALE_NAN, A_SCALE, VALUE, o->scale = test_f64(0x7ff8000000000000u))                                             \
    X(SOFTCAP_NEGATIVE, A_SOFTCAP, VALUE, o->softcap = -1)                                                             \
    X(STAGE_UNKNOWN, A_STAGE, VALUE, o->scores_stage = (attn_stage)3)                                                  \
    X(ISA_UNKNOWN, A_ISA, VALUE, c->ctx.isa = (attn_isa)77)                                                            \
    X(OUT_ITSELF, A_OUT, ALIAS, c->out.head_stride = 0)                                                                \
    X(OUT_OVER_Q, A_OUT | A_Q, ALIAS, c->out.data = c->q.data)                                                         \
    X(OUT_OVER_K, A_OUT, ALIAS, c->out.data = kv_aligned(cache->k))                                                    \
    X(OUT_OVER_V, A_OUT, ALIAS, c->out.data = kv_aligned(cache->v))                                                    \
    X(LSE_OVER_V, A_LSE, ALIAS, o->lse.data = kv_aligned(cache->v))                                                    \
    X(WEIGHTS_OVER_K, A_WEIGHTS, ALIAS, o->weights.data = kv_aligned(cache->k))                                        \
    X(SCORES_OVER_K, A_SCORES, ALIAS, o->scores.data = kv_aligned(cache->k))                                           \
    X(SCORES_OVER_WEIGHTS, A_SCORES | A_WEIGHTS, ALIAS, o->scores.data = o->weights.data)                              \
    X(OUT_OVER_LENS, A_OUT, ALIAS, c->out.data = cache->lens)                                                          \
    X(LSE_OVER_FIRST, A_LSE, ALIAS, o->lse.data = cache->first)                                                        \
    X(LSE_OVER_SCALES, A_LSE, ALIAS, o->lse.data = cache->v_scales ? (void *)cache->v_scales : (void *)cache->lens)    \
    X(SCRATCH_OVER_K, A_SCRATCH, ALIAS, c->ctx.scratch = cache->k.data)                                                \
    X(SCRATCH_OVER_V, A_SCRATCH, ALIAS, c->ctx.scratch = askew(cache->v.data, 1))                                      \
    X(SCRATCH_SHORT, A_SCRATCH, NOMEM, c->ctx.scratch_size = 1)                                                        \
    X(SEE_NO_MEMORY, A_SCRATCH, NOMEM, c->ctx.scratch = NULL, c->ctx.scratch_size = 0, c->no_memory = 1)

enum attend_fault { ATTEND_FAULT_LIST(FAULT_NUMBER) ATTEND_FAULTS };
static const fault_row attend_faults[] = {ATTEND_FAULT_LIST(FAULT_ENTRY)};

enum { S_B = 2, S_H = 2, S_LQ = 2, S_LK = 6, S_D = 600 }; /* wide: more than the stack's room */
#define S_DV (test_small ? (size_t)2000 : 200)

typedef struct attend_call {
    attn_tensor out, q;
    const attn_kv_cache *cache;
    attn_opts opts;
    attn_ctx ctx;
    int no_memory;
    size_t lens[S_B], many[S_B];
    ptrdiff_t offsets[S_B];
} attend_call;

static attn_status inflict_attend(attend_call *c, int kind, const attn_kv_cache *zero, const attn_kv_cache *cache)
{
    attn_tensor none = {0}, bad = attn_tensor_slice(c->q, S_LQ, 1);
    attn_opts *o = &c->opts;
    switch (kind) {
        ATTEND_FAULT_LIST(FAULT_CASE)
    }
    return ATTN_OK;
}

/* A ring that has dropped tokens of item 0; every option is given. */
static attend_call right_call(const attn_kv_cache *cache)
{
    attn_dry_run dry = {0};
    attend_call c;
    memset(&c, 0, sizeof c);
    c.cache = cache;
    c.q = test_random_tensor(ATTN_F32, S_B, S_H, S_LQ, S_D, T_BHLD);
    c.out = test_tensor(ATTN_F32, S_B, S_H, S_LQ, S_DV, T_BHLD);
    c.opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    c.opts.window.on = 1, c.opts.window.left = 2, c.opts.window.right = 0;
    c.opts.mask = test_random_tensor(ATTN_BOOL, S_B, S_H, S_LQ, S_LK, T_BHLD);
    test_tensor_set(c.opts.mask, 0, S_H - 1, 0, 1, 1); /* token 1 has been dropped; it is for the window to hide it */
    c.opts.bias = test_random_tensor(ATTN_F32, S_B, S_H, S_LQ, S_LK, T_BHLD);
    c.opts.lse = test_tensor(ATTN_F32, S_B, S_H, S_LQ, 1, T_BHLD);
    c.opts.weights = test_tensor(ATTN_F32, S_B, S_H, S_LQ, S_LK, T_BHLD);
    c.opts.scores = test_tensor(ATTN_F32, S_B, S_H, S_LQ, S_LK, T_BHLD);
    c.opts.q_lens = c.many;
    c.many[0] = c.many[1] = S_LQ;
    CHECK_STATUS(attn_kv_cache_attend(c.out, c.q, cache, &c.opts, test_dry(&c.ctx, &dry)), ATTN_OK);
    c.ctx.scratch = test_block(dry.scratch);
    c.ctx.scratch_size = dry.scratch;
    return c;
}

static struct scene { /* of each type of cache; nothing that fails changes it */
    attn_kv_cache cache;
    attend_call right;
} scenes[4];

static void set_scene(struct scene *scene, attn_dtype dtype)
{
    shape s = {S_B, 1, 4, S_D, S_DV, ATTN_F32, 1};
    size_t rows[2] = {S_LK, 3};
    attn_tensor k = test_random_tensor(ATTN_F32, S_B, 1, S_LK, S_D, T_BHLD);
    attn_tensor v = test_random_tensor(ATTN_F32, S_B, 1, S_LK, S_DV, T_BHLD);
    s.dtype = dtype;
    trying(s, "statuses");
    scene->cache = new_cache(s);
    CHECK_STATUS(attn_kv_cache_append(&scene->cache, k, v, rows), ATTN_OK);
    scene->right = right_call(&scene->cache);
}

static void attempt_attend(int f, int g, attn_status want)
{
    for (int kind = 0; kind < 4; kind++) {
        char text[200] = "";
        attn_dry_run dry = {12345, text, sizeof text};
        attn_kv_cache before = scenes[kind].cache, zero = {0};
        attend_call c = scenes[kind].right;
        attn_status status;
        if (f != g && (f + g) % 4 != kind) /* pairs take turns */
            continue;
        c.opts.q_lens = c.many; /* c has moved */
        inflict_attend(&c, f, &zero, &scenes[kind].cache);
        if (g != f)
            inflict_attend(&c, g, &zero, &scenes[kind].cache);
        test_memory_state.fail_all = c.no_memory;
        status = attn_kv_cache_attend(c.out, c.q, c.cache, &c.opts, &c.ctx);
        test_memory_state.fail_all = 0;
        CHECK_STATUS(status, want);
        if (want != ATTN_ERR_NOMEM) {
            CHECK_STATUS(attn_kv_cache_attend(c.out, c.q, c.cache, &c.opts, test_dry(&c.ctx, &dry)), want);
            CHECK(strstr(text, ": ") != NULL);
        }
        CHECK(dry.scratch == 12345 && test_wrote_nothing());
        CHECK(same_struct(&scenes[kind].cache, &before) && is_zero_struct(zero));
    }
}

TEST(cache_status_attend)
{
    for (int kind = 0; kind < 4; kind++)
        set_scene(&scenes[kind], kinds[kind]);
    test_freeze();
    all_faults(attend_faults, ATTEND_FAULTS, attempt_attend);
}

/* The right call is right, so that faults are faults. */
TEST(cache_status_attend_right)
{
    for (int kind = 0; kind < 4; kind++) {
        struct scene scene;
        attend_call c;
        set_scene(&scene, kinds[kind]);
        c = scene.right;
        c.opts.q_lens = c.many;
        c.cache = &scene.cache;
        CHECK_STATUS(attn_kv_cache_attend(c.out, c.q, c.cache, &c.opts, &c.ctx), ATTN_OK);
        CHECK(!isnan(test_tensor_get(c.out, 1, 1, 1, 1)));
        c.ctx.scratch = NULL, c.ctx.scratch_size = 0;
        CHECK_STATUS(attn_kv_cache_attend(c.out, c.q, c.cache, &c.opts, &c.ctx), ATTN_OK);
    }
}

/* Found by review: lengths that are refused are not reckoned with, a cache may not lie in its own storage, and doubles
   of any smallness have a scale. */
TEST(cache_misfit_arguments)
{
    shape s = {1, 1, 4, 2, 2, ATTN_F32, 1}, tiny = {1, 1, 4, 2, 2, ATTN_I8, 0};
    attn_kv_cache cache = new_cache(s), small = new_cache(tiny), *inside = test_block(4096), before;
    attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, 10, 2, T_BHLD), q = attn_tensor_slice(k, 0, 1);
    attn_tensor out = test_tensor(ATTN_F32, 1, 1, 1, 2, T_BHLD), d = test_random_tensor(test_wide, 1, 1, 1, 2, T_BHLD);
    size_t q_len = (size_t)1 << (sizeof(size_t) * 8 - 1);
    attn_opts opts = {0};
    trying(s, "odd arguments");
    CHECK_STATUS(attn_kv_cache_append(&cache, k, k, NULL), ATTN_OK);
    opts.q_lens = &q_len;
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &opts, NULL), ATTN_ERR_VALUE);
    memset(inside, 0x5a, sizeof *inside);
    before = *inside;
    CHECK_STATUS(attn_kv_cache_init(inside, 1, 1, 4, 2, 2, ATTN_F32, 1, inside, 4096), ATTN_ERR_ALIAS);
    CHECK(memcmp(inside, &before, sizeof before) == 0);
    for (int power = -140; power > -1075; power -= 3) {
        test_tensor_set(d, 0, 0, 0, 0, ldexp(1.1, power));
        test_tensor_set(d, 0, 0, 0, 1, 0);
        CHECK_STATUS(attn_kv_cache_truncate(&small, 0, 0), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_append(&small, d, d, NULL), ATTN_OK);
        CHECK(fabsl(small.k_scales[0] * (real)((const signed char *)small.k.data)[0] - ldexpl(1.1L, power)) <=
              small.k_scales[0] * 0.500001L);
    }
}

/* How k is read, which argument is at fault, and scratch that is no matter of what a ring has dropped. */
TEST(cache_explain)
{
    static const char *const reads[] = {"k is read in place\n", "widened", "widened", "scales"};
    for (int kind = 0; kind < 4; kind++)
        for (int way = 0; way < 6; way++) {
            int ring = way % 2, few = way / 2 > 0; /* one query, or all of them if batch_invariant */
            size_t queries = way / 2 == 1 ? 1 : 40;
            const char *lanes = way / 2 == 0   ? "queries lie on the lanes of vectors: more rows than "
                                : way / 2 == 1 ? "terms of dot products lie on lanes: few rows, up to "
                                               : "terms of dot products lie on lanes: batch_invariant\n";
            shape s = {1, 1, 200, 8, 8, ATTN_F32, 0};
            size_t past = 250;
            attn_kv_cache cache;
            attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, 150, 8, T_BHLD), q = attn_tensor_slice(k, 0, queries);
            attn_tensor out = test_tensor(ATTN_F32, 1, 1, queries, 8, T_BHLD);
            attn_opts opts = {0};
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            char text[600], bytes[32];
            attn_dry_run dry = {0, text, sizeof text}, empty = {0};
            int in_place;
            ctx.batch_invariant = way / 2 == 2;
            s.dtype = kinds[kind];
            s.ring = ring;
            trying(s, "explain");
            opts.window.on = ring, opts.window.left = 9;
            cache = new_cache(s);
            CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &opts, test_dry(&ctx, &empty)), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_append(&cache, k, k, NULL), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, NULL, test_dry(&ctx, &dry)), ATTN_OK);
            CHECK(test_small ? test_is_brief(text) : strstr(text, lanes) != NULL);
            in_place = few && (text[0] == 'a' || text[0] == 'n'); /* avx, neon: other passes widen narrow rows first */
            CHECK((test_small || strstr(text, reads[in_place ? 0 : kind]) != NULL) && strstr(text, "anew") == NULL);
            snprintf(bytes, sizeof bytes, "scratch: %zu bytes\n", dry.scratch); /* for all the tokens there may be */
            CHECK(test_small || strstr(text, bytes) != NULL);
            if (ring) {
                CHECK_STATUS(attn_kv_cache_append(&cache, k, k, NULL), ATTN_OK);
                CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, NULL, test_dry(&ctx, &dry)), ATTN_ERR_VALUE);
                CHECK(strncmp(text, "cache.first: ", 13) == 0);
                CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &opts, test_dry(&ctx, &dry)), ATTN_OK);
                CHECK(dry.scratch == empty.scratch);
                CHECK((strstr(text, "anew") != NULL) == (!test_small && kind == 0 && !few));
            }
            opts.kv_lens = &past;
            CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &opts, test_dry(&ctx, &dry)), ATTN_ERR_VALUE);
            CHECK(strncmp(text, "opts.kv_lens: ", 14) == 0);
        }
}

/* ---- overlap ---- */

/* What ends where the storage begins, or begins where it ends, is another matter than what does not. */
TEST(cache_overlap)
{
    for (int kind = 0; kind < 4; kind++) {
        shape s = {1, 1, 8, 16, 16, ATTN_F32, 0};
        enum { TOKENS = 2, OUT = TOKENS * 16 * sizeof(float) };
        attn_kv_cache cache = {0}, before;
        attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, TOKENS, 16, T_BHLD), over;
        char *memory, *storage;
        size_t bytes;
        s.dtype = kinds[kind];
        trying(s, "overlap");
        bytes = bytes_of(s);
        memory = test_block(bytes + 2 * OUT + 64);
        memory = (char *)(((uintptr_t)memory + 63) / 64 * 64 - 64 + (memory ? 64 : 0));
        storage = memory + OUT;
        bytes = (bytes + 7) / 8 * 8;
        CHECK_STATUS(init(&cache, s, storage, bytes), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_append(&cache, k, k, NULL), ATTN_OK);
        for (int after = 0; after < 2; after++) {
            over = attn_bhld(after ? storage + bytes : memory, ATTN_F32, 1, 1, TOKENS, 16);
            CHECK_STATUS(attn_kv_cache_attend(over, k, &cache, NULL, NULL), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_append(&cache, over, over, NULL), ATTN_OK);
        }
        over = attn_bhld(kv_aligned(cache.k), ATTN_F32, 1, 1, TOKENS, 16);
        if (s.dtype == ATTN_F32) { /* queries may lie there */
            over.data = cache.k.data;
            CHECK_STATUS(attn_kv_cache_attend(attn_bhld(memory, ATTN_F32, 1, 1, TOKENS, 16), over, &cache, NULL, NULL),
                         ATTN_OK);
        }
        before = cache;
        test_freeze();
        for (int n = 0; n < 4; n++) {
            char *ends[4];
            ends[0] = kv_aligned(cache.k), ends[1] = kv_aligned(cache.v);
            ends[2] = (char *)kv_aligned(cache.k) + 8 * 16 * test_size(s.dtype) - 8;
            ends[3] = (char *)kv_aligned(cache.v) + 8 * 16 * test_size(s.dtype) - 8;
            over.data = ends[n];
            if (ends[n] + OUT > memory + 2 * OUT + bytes)
                continue;
            CHECK_STATUS(attn_kv_cache_attend(over, k, &cache, NULL, NULL), ATTN_ERR_ALIAS);
            CHECK_STATUS(attn_kv_cache_append(&cache, over, k, NULL), ATTN_ERR_ALIAS);
            CHECK_STATUS(attn_kv_cache_append(&cache, k, over, NULL), ATTN_ERR_ALIAS);
        }
        CHECK(test_wrote_nothing() && same_struct(&cache, &before));
    }
}

/* ---- memory ---- */

TEST(cache_no_memory)
{
    for (int kind = 0; kind < 4; kind++) {
        const size_t Dv = test_small ? 1900 : 190; /* more than the stack holds */
        shape s = {2, 2, 700, 200, Dv, ATTN_F32, 0};
        attn_kv_cache cache, before;
        kv_call c = {&cache, NULL, {0}, {0}, NULL};
        attn_tensor k = test_random_tensor(test_wide, 2, 2, 64, 200, T_TURNED);
        attn_tensor v = test_random_tensor(ATTN_F16, 2, 2, 64, Dv, T_FLIPPED);
        attn_status status = ATTN_ERR_NOMEM;
        long live = test_memory_state.live, calls;
        size_t same[2] = {1, 0};
        c.q = test_random_tensor(ATTN_F32, 2, 2, 3, 200, T_BHLD);
        c.out = test_tensor(ATTN_F32, 2, 2, 3, Dv, T_BHLD);
        s.dtype = kinds[kind];
        s.ring = kind % 2;
        trying(s, "no memory");
        memset(&cache, 0x5a, sizeof cache);
        before = cache;
        for (long at = 1; status != ATTN_OK && at < 10; at++) {
            test_memory_state.fail_at = at;
            status = init(&cache, s, NULL, 0);
            if (status != ATTN_OK) {
                CHECK(status == ATTN_ERR_NOMEM && same_struct(&cache, &before));
                CHECK(test_memory_state.live == live);
            }
        }
        test_memory_state.fail_at = 0;
        CHECK_STATUS(status, ATTN_OK);
        calls = test_memory_state.calls;
        test_memory_state.fail_all = 1; /* none of these allocates */
        CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_reorder(&cache, same), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_truncate(&cache, 0, 60), ATTN_OK);
        CHECK(test_memory_state.calls == calls);
        test_memory_state.fail_all = 0;
        live = test_memory_state.live;
        before = cache;
        kv_check_no_memory(&c);
        CHECK(same_struct(&cache, &before));
        attn_kv_cache_free(&cache);
        CHECK(test_memory_state.live == live - 1);
        test_release();
    }
}

/* ---- scratch ---- */

/* Exactly what a dry run tells, between guards and at any alignment, is enough, now and when the items have
   grown; with every runner and width, and the bits stay the same. One byte less is too little. */
TEST(cache_scratch)
{
    static const size_t widths[] = {1, 2, 3, 5, 16}, grows[] = {0, 1, 130, 500, 369, 900};
    size_t most = 0;
    FOR_EACH_ISA (isa)
        for (int kind = 0; kind < 8; kind++) {
            shape s = {1, 1, 1000, 12, 7, ATTN_F32, 0};
            size_t first[5] = {0};
            attn_opts opts = {0};
            attn_kv_cache cache;
            kv_call c = {&cache, NULL, {0}, {0}, &opts};
            c.q = test_random_tensor(ATTN_F32, 1, 2, 1, 12, T_BHLD);
            c.out = test_tensor(ATTN_F32, 1, 2, 1, 7, T_BHLD);
            if (test_quick && (kind + (int)isa) % 3)
                continue;
            s.dtype = kinds[kind % 4];
            s.ring = kind / 4;
            opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
            opts.window.on = s.ring, opts.window.left = 800, opts.window.right = -1;
            opts.mask = test_tensor(ATTN_BOOL, 1, 1, 1, 1, T_BHLD);
            test_fill_tensor(opts.mask, 1);
            trying(s, "scratch");
            cache = new_cache(s);
            for (size_t n = 0; n < (s.ring ? 6 : 5); n++) {
                attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, grows[n], 12, T_BHLD);
                attn_tensor v = test_random_tensor(ATTN_F32, 1, 1, grows[n], 7, T_BHLD);
                size_t tasks;
                CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
                tasks = kv_check_scratch(&c, isa, widths, first, 5, n == 4 && !s.ring, n % 2 == 1); /* full */
                most = tasks > most ? tasks : most;
            }
            test_release();
        }
    CHECK(test_small ? most <= 1 : most > 1); /* a single query has been shared out */
}

/* With weights and a mask too, whose shapes change as the items grow, and many items and heads. */
TEST(cache_scratch_grows)
{
    for (int kind = 0; kind < 8; kind++)
        for (size_t width = 1; width < 6; width += 2) {
            shape s = {3, 2, 600, 9, 5, ATTN_F32, 0};
            test_runner runner;
            attn_dry_run dry = {0};
            size_t bytes = 0;
            kv_question a = {0};
            attn_kv_cache cache;
            model m;
            s.dtype = kinds[kind % 4];
            s.capacity = kind / 4 ? 128 : 390;
            s.ring = kind / 4;
            trying(s, "scratch grows");
            cache = new_cache(s);
            m = new_model(s);
            a = plain_question(test_random_tensor(ATTN_F16, 3, 4, 2, 9, T_STEP), ATTN_ISA_BEST);
            a.opts.window.on = 1, a.opts.window.left = 100, a.opts.window.right = 0;
            a.wants_lse = a.wants_weights = 1;
            a.ctx.parallel = test_serial_backwards(&runner, width);
            for (int n = 0; n < 6; n++) {
                kv_answer r = kv_blank(&a, longest(&m), 5);
                attn_opts o = kv_with_outputs(a.opts, &r);
                attn_tensor mask = test_random_tensor(ATTN_BOOL, 1, 1, 2, longest(&m), T_BHLD);
                if (n == 0) /* no elements yet: it need not lie anywhere */
                    mask.data = o.weights.data = NULL;
                o.mask = a.opts.mask = mask;
                CHECK_STATUS(attn_kv_cache_attend(r.out, a.q, &cache, &o, test_dry(&a.ctx, &dry)), ATTN_OK);
                if (n == 0)
                    test_scratch(&a.ctx, bytes = dry.scratch, kind % 2);
                CHECK(dry.scratch <= bytes);
                compare(&cache, &m, &a);
                append(&cache, &m, (size_t)(n * 23), NULL);
            }
            test_release();
        }
}

/* ---- absent, errno ---- */

TEST(cache_zeroed)
{
    attn_kv_cache zero = {0};
    size_t from[1] = {0};
    attn_dry_run dry = {12345, NULL, 0};
    attn_tensor t = test_random_tensor(ATTN_F32, 1, 1, 1, 1, T_BHLD), out = test_tensor(ATTN_F32, 1, 1, 1, 1, T_BHLD);
    test_case("a cache of zeros");
    test_freeze();
    CHECK_STATUS(attn_kv_cache_append(&zero, t, t, NULL), ATTN_ERR_NULL);
    CHECK_STATUS(attn_kv_cache_truncate(&zero, 0, 0), ATTN_ERR_NULL);
    CHECK_STATUS(attn_kv_cache_reorder(&zero, from), ATTN_ERR_NULL);
    CHECK_STATUS(attn_kv_cache_attend(out, t, &zero, NULL, NULL), ATTN_ERR_NULL);
    CHECK_STATUS(attn_kv_cache_attend(out, t, &zero, NULL, test_dry(NULL, &dry)), ATTN_ERR_NULL);
    attn_kv_cache_free(&zero);
    CHECK(is_zero_struct(zero) && dry.scratch == 12345 && test_wrote_nothing());
}

/* Numbers that let libm complain, an allocator that does, right calls and wrong ones. */
TEST(cache_errno)
{
    enum { MARK = 77 };
    FOR_EACH_ISA (isa)
        for (int kind = 0; kind < 8; kind++) {
            const size_t Dv = test_small ? 1500 : 150; /* more than the stack holds */
            shape s = {1, 1, 300, 200, Dv, ATTN_F32, 0};
            attn_ctx ctx = test_ctx(isa);
            attn_tensor q = test_random_tensor(ATTN_F32, 1, 1, 2, 200, T_BHLD),
                        out = test_tensor(ATTN_F32, 1, 1, 2, Dv, T_BHLD);
            attn_tensor k = test_random_tensor(test_wide, 1, 1, 290, 200, T_BHLD),
                        v = test_random_tensor(test_wide, 1, 1, 290, Dv, T_BHLD);
            size_t from[1] = {0}, bytes;
            attn_dry_run dry = {0};
            attn_opts opts = {0};
            attn_kv_cache cache;
            s.dtype = kinds[kind % 4];
            s.ring = kind / 4;
            opts.scale = 3000;
            trying(s, "errno");
            test_tensor_set(v, 0, 0, 3, 2, 1e300);
            test_tensor_set(v, 0, 0, 4, 2, 1e-300);
            errno = MARK;
#define KEEPS_ERRNO(call, want) CHECK_STATUS(call, want), CHECK(errno == MARK), errno = MARK
            KEEPS_ERRNO(attn_kv_cache_size(&bytes, 1, 1, 1, 1, 1, ATTN_I8, 0), ATTN_OK);
            KEEPS_ERRNO(attn_kv_cache_size(&bytes, 1, 1, SIZE_MAX, 1, 1, ATTN_I8, 0), ATTN_ERR_OVERFLOW);
            test_memory_state.fail_all = 1;
            KEEPS_ERRNO(init(&cache, s, NULL, 0), ATTN_ERR_NOMEM);
            test_memory_state.fail_all = 0;
            KEEPS_ERRNO(init(&cache, s, NULL, 0), ATTN_OK);
            KEEPS_ERRNO(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
            KEEPS_ERRNO(attn_kv_cache_append(&cache, k, k, NULL), ATTN_ERR_SHAPE);
            KEEPS_ERRNO(attn_kv_cache_reorder(&cache, from), ATTN_OK);
            KEEPS_ERRNO(attn_kv_cache_truncate(&cache, 0, 280), ATTN_OK);
            KEEPS_ERRNO(attn_kv_cache_truncate(&cache, 1, 280), ATTN_ERR_VALUE);
            KEEPS_ERRNO(attn_kv_cache_attend(out, q, &cache, &opts, test_dry(&ctx, &dry)), ATTN_OK);
            KEEPS_ERRNO(attn_kv_cache_attend(out, q, &cache, &opts, &ctx), ATTN_OK);
            test_memory_state.fail_all = 1;
            KEEPS_ERRNO(attn_kv_cache_attend(out, q, &cache, &opts, &ctx), ATTN_ERR_NOMEM);
            test_memory_state.fail_all = 0;
            attn_kv_cache_free(&cache);
            CHECK(errno == MARK);
            test_release();
        }
}
