/* Caches over memory of the program: whatever its strides and types, such a cache holds what one of attn_kv_cache_init
   holds, and attention over it has the bits of attn_sdpa over one tensor. Then what every cache can do besides: copies
   of items, rows read back, queries that are not the newest tokens, masks and biases as wide as the capacity, and lost
   tokens that a mask hides, all of it with pages too where they can; and the names of arguments at fault. */
#include "cache.h"
#include "grid.h"

/* ---- places: what programs have ---- */

enum { MOST_ITEMS = 6, MOST_HEADS = 9, K = 0, V };
enum { IN_LAYERS, SIDE_BY_SIDE, PADDED_ROWS, ANYHOW, PLACES };

typedef struct shape {
    size_t B, Hkv, capacity, D, Dv;
    int ring;
} shape;

static const attn_dtype kinds[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
/* The second of three layers of llama2.c's [layer][B][capacity][Hkv][D]. */
static attn_tensor in_layers(attn_dtype dtype, shape s, size_t D)
{
    size_t layer = s.B * s.capacity * s.Hkv * D * test_size(dtype);
    return attn_blhd((char *)test_block(3 * layer) + layer, dtype, s.B, s.capacity, s.Hkv, D);
}

/* Dimensions in any order, some backwards, with gaps between the rows of each. */
static attn_tensor anyhow(attn_dtype dtype, shape s, size_t D)
{
    size_t n[4] = {0, 0, 0, 0}, order[4], step = 1 + test_below(3), start = 0;
    ptrdiff_t strides[4];
    n[0] = s.B, n[1] = s.Hkv, n[2] = s.capacity, n[3] = D;
    for (size_t k = 0; k < 4; k++) {
        size_t earlier = test_below(k + 1);
        order[k] = order[earlier];
        order[earlier] = k;
    }
    for (size_t k = 0; k < 4; k++) {
        size_t d = order[k];
        int backwards = test_below(3) == 0;
        strides[d] = backwards ? -(ptrdiff_t)step : (ptrdiff_t)step;
        start += backwards ? (n[d] - 1) * step : 0;
        step = step * n[d] + test_below(4);
    }
    return attn_tensor_of((char *)test_block(step * test_size(dtype)) + start * test_size(dtype), dtype, s.B, s.Hkv,
                          s.capacity, D, strides[0], strides[1], strides[2], strides[3]);
}

/* Room for k and v; one array of both, [B][capacity][2][Hkv][], has one type. */
static void place(attn_tensor *k, attn_tensor *v, shape s, attn_dtype of_k, attn_dtype of_v, int where)
{
    switch (where) {
    case IN_LAYERS: *k = in_layers(of_k, s, s.D), *v = in_layers(of_v, s, s.Dv); break;
    case PADDED_ROWS:
        *k = test_tensor(of_k, s.B, s.Hkv, s.capacity, s.D, T_SLICE);
        *v = test_tensor(of_v, s.B, s.Hkv, s.capacity, s.Dv, T_SLICE);
        break;
    case SIDE_BY_SIDE:
        *k = test_tensor(of_k, s.B, 2 * s.Hkv, s.capacity, s.D > s.Dv ? s.D : s.Dv, T_BLHD);
        *v = *k;
        v->data = test_tensor_at(*k, 0, s.Hkv, 0, 0);
        k->heads = v->heads = s.Hkv;
        k->dim = s.D, v->dim = s.Dv;
        break;
    default: *k = anyhow(of_k, s, s.D), *v = anyhow(of_v, s, s.Dv); break;
    }
}

static attn_tensor some_dims(attn_tensor t, size_t first, size_t count)
{
    t.data = test_tensor_at(t, 0, 0, 0, first);
    t.dim = count;
    return t;
}

/* ---- a cache over memory, and caches of the library's making that are told the same ---- */

typedef struct pair {
    attn_kv_cache over, made[2]; /* made: of the type of k, and of v */
    shape s;
    int latent;   /* v lies in the rows of k, */
    size_t start; /* from this element on */
    size_t lens[MOST_ITEMS], first[MOST_ITEMS];
} pair;

static attn_kv_cache new_cache(shape s, attn_dtype dtype)
{
    size_t bytes = 0;
    attn_kv_cache cache = {0};
    CHECK_STATUS(attn_kv_cache_size(&bytes, s.B, s.Hkv, s.capacity, s.D, s.Dv, dtype, s.ring), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_init(&cache, s.B, s.Hkv, s.capacity, s.D, s.Dv, dtype, s.ring, test_block(bytes), bytes),
                 ATTN_OK);
    return cache;
}

static void begin_over(pair *p, shape s, attn_tensor k, attn_tensor v)
{
    memset(p, 0, sizeof *p);
    p->s = s;
    CHECK_STATUS(attn_kv_cache_over(&p->over, k, v, p->lens, s.ring ? p->first : NULL), ATTN_OK);
    p->made[K] = new_cache(s, k.dtype);
    p->made[V] = new_cache(s, v.dtype);
}

static void begin(pair *p, shape s, attn_dtype of_k, attn_dtype of_v, int where)
{
    attn_tensor k, v;
    place(&k, &v, s, of_k, where == SIDE_BY_SIDE ? of_k : of_v, where);
    begin_over(p, s, k, v);
}

/* Values are elements start .. start + Dv - 1 of the keys. */
static void begin_latent(pair *p, shape s, attn_dtype dtype, int where, size_t start)
{
    shape both = s;
    attn_tensor k, unused;
    if (where == SIDE_BY_SIDE)
        both.Dv = s.D;
    place(&k, &unused, both, dtype, dtype, where);
    begin_over(p, s, k, some_dims(k, start, s.Dv));
    p->latent = 1;
    p->start = start;
}

static const attn_tensor none;

static void append_tensors(pair *p, attn_tensor k, attn_tensor v, const size_t *lens, attn_status want)
{
    if (p->latent)
        v = some_dims(k, p->start, p->s.Dv);
    CHECK_STATUS(attn_kv_cache_append(&p->over, k, p->latent ? none : v, lens), want);
    for (int which = K; which <= V; which++)
        CHECK_STATUS(attn_kv_cache_append(&p->made[which], k, v, lens), want);
}

static void append(pair *p, size_t count, const size_t *lens)
{
    append_tensors(p, test_random_tensor(ATTN_F32, p->s.B, p->s.Hkv, count, p->s.D, T_BHLD),
                   test_random_tensor(ATTN_F32, p->s.B, p->s.Hkv, count, p->s.Dv, T_BHLD), lens, ATTN_OK);
}

static void truncate_item(pair *p, size_t b, size_t len)
{
    CHECK_STATUS(attn_kv_cache_truncate(&p->over, b, len), ATTN_OK);
    for (int which = K; which <= V; which++)
        CHECK_STATUS(attn_kv_cache_truncate(&p->made[which], b, len), ATTN_OK);
}

static void reorder(pair *p, const size_t *from)
{
    CHECK_STATUS(attn_kv_cache_reorder(&p->over, from), ATTN_OK);
    for (int which = K; which <= V; which++)
        CHECK_STATUS(attn_kv_cache_reorder(&p->made[which], from), ATTN_OK);
}

static void copy_item(pair *p, size_t to, size_t from, size_t len)
{
    CHECK_STATUS(attn_kv_cache_copy(&p->over, to, from, len), ATTN_OK);
    for (int which = K; which <= V; which++)
        CHECK_STATUS(attn_kv_cache_copy(&p->made[which], to, from, len), ATTN_OK);
}

static attn_tensor side(const attn_kv_cache *cache, int which)
{
    return which == K ? cache->k : cache->v;
}

static size_t oldest(const attn_kv_cache *cache, size_t b)
{
    return cache->first ? cache->first[b] : 0;
}

static size_t longest(const attn_kv_cache *cache)
{
    return kv_longest(cache->lens, cache->k.batch);
}

/* Is token j of one item that of the other, bit by bit? */
static int same_token(const attn_kv_cache *a, size_t item_a, const attn_kv_cache *b, size_t item_b, int which, size_t j)
{
    attn_tensor x = side(a, which), y = side(b, which);
    int same = x.dtype == y.dtype;
    for (size_t h = 0; h < x.heads && same; h++) {
        for (size_t d = 0; d < x.dim && same; d++)
            same = memcmp(test_tensor_at(x, item_a, h, j % x.len, d), test_tensor_at(y, item_b, h, j % y.len, d),
                          test_size(x.dtype)) == 0;
        if (x.dtype == ATTN_I8)
            same &= test_bits32(*kv_scale_at(a, which, item_a, h, j % x.len)) ==
                    test_bits32(*kv_scale_at(b, which, item_b, h, j % y.len));
    }
    return same;
}

/* Is item b of the one what the first `len` tokens of an item of the other are? */
static int same_item(const attn_kv_cache *a, size_t item_a, const attn_kv_cache *b, size_t item_b, size_t len,
                     int which)
{
    size_t first = oldest(b, item_b) < len ? oldest(b, item_b) : len;
    int same = a->lens[item_a] == len && oldest(a, item_a) == first;
    for (size_t j = first; j < len && same; j++)
        same = same_token(a, item_a, b, item_b, which, j);
    return same;
}

static int agrees(const pair *p)
{
    int same = 1;
    for (size_t b = 0; b < p->s.B; b++)
        for (int which = K; which <= V; which++)
            same &= same_item(&p->over, b, &p->made[which], b, p->made[which].lens[b], which);
    return same;
}

/* ---- attention: what is asked for, and what attn_sdpa says ---- */

typedef struct question {
    grid_call c; /* k and v are the cache's matter */
    attn_ctx ctx;
    size_t q_lens[MOST_ITEMS];
    ptrdiff_t offsets[MOST_ITEMS];
    float slopes[MOST_HEADS], sinks[MOST_HEADS];
    uint32_t listed[2 * MOST_ITEMS * 64], counts[2 * MOST_ITEMS];
} question;

enum { WANTS_LSE = 1, WANTS_WEIGHTS = 2, WANTS_SCORES = 4, WANTS_ALL = 7 };

static void want_outputs(grid_call *c, const attn_kv_cache *cache, unsigned wants)
{
    size_t B = c->q.batch, H = c->q.heads, Lq = c->q.len, Lk = longest(cache);
    c->out = test_tensor(ATTN_F32, B, H, Lq, cache->v.dim, T_BHLD);
    c->o.lse = wants & WANTS_LSE ? test_tensor(ATTN_F32, B, H, Lq, 1, T_BHLD) : none;
    c->o.weights = wants & WANTS_WEIGHTS ? test_tensor(ATTN_F32, B, H, Lq, Lk, T_BHLD) : none;
    c->o.scores = wants & WANTS_SCORES ? test_tensor(ATTN_F32, B, H, Lq, Lk, T_BHLD) : none;
}

static void begin_question(question *a, const pair *p, size_t H, size_t Lq, attn_isa isa)
{
    memset(a, 0, sizeof *a);
    a->ctx = test_ctx(isa);
    a->ctx.batch_invariant = test_maybe();
    a->c.q = test_random_tensor(ATTN_F32, p->s.B, H, Lq, p->s.D, T_BHLD);
    a->c.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
    want_outputs(&a->c, &p->over, WANTS_ALL);
}

/* The same call with outputs of its own. */
static grid_call anew(const grid_call *c)
{
    grid_call fresh = *c;
    attn_tensor *outs[] = {&fresh.out, &fresh.o.lse, &fresh.o.weights, &fresh.o.scores};
    for (size_t n = 0; n < COUNT(outs); n++)
        if (!test_absent_tensor(*outs[n]))
            *outs[n] = test_tensor(outs[n]->dtype, outs[n]->batch, outs[n]->heads, outs[n]->len, outs[n]->dim, T_BHLD);
    return fresh;
}

/* Every token in its place, NaN where the cache has none. */
static attn_tensor gathered(const attn_kv_cache *cache, int which)
{
    attn_tensor from = side(cache, which);
    attn_tensor t = test_tensor(from.dtype, from.batch, from.heads, longest(cache), from.dim, T_BHLD);
    for (size_t b = 0; b < t.batch; b++)
        for (size_t j = oldest(cache, b); j < cache->lens[b]; j++)
            for (size_t n = 0; n < t.heads * t.dim; n++)
                memcpy(test_tensor_at(t, b, n / t.dim, j, n % t.dim),
                       test_tensor_at(from, b, n / t.dim, j % from.len, n % t.dim), test_size(t.dtype));
    return t;
}

/* Options of attention to stored tokens as attn_sdpa takes them. */
static void resolve(attn_opts *o, const attn_kv_cache *cache, size_t Lq, ptrdiff_t *offsets)
{
    size_t Lk = longest(cache);
    for (size_t b = 0; b < cache->k.batch; b++)
        offsets[b] = o->causal_offset ? o->causal_offset[b]
                                      : (ptrdiff_t)cache->lens[b] - (ptrdiff_t)(o->q_lens ? o->q_lens[b] : Lq);
    o->causal = o->causal == ATTN_CAUSAL_NONE ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_OFFSET;
    o->causal_offset = offsets;
    o->kv_lens = cache->lens;
    if (o->mask.dim > 1)
        o->mask.dim = Lk;
    if (o->bias.dim > 1)
        o->bias.dim = Lk;
}

/* Does a query see a token that the ring has lost? A bias of -infinity is no mask. */
static int sees_lost(const attn_kv_cache *cache, const grid_call *c)
{
    ptrdiff_t offsets[MOST_ITEMS];
    attn_opts o = c->o;
    resolve(&o, cache, c->q.len, offsets);
    o.bias = none;
    for (size_t b = 0; b < c->q.batch; b++)
        for (size_t n = 0; n < c->q.heads * c->q.len; n++)
            for (size_t j = 0; j < oldest(cache, b); j++) {
                size_t h = n / c->q.len, i = n % c->q.len;
                if (sdpa_sees(&o, c->q.len, longest(cache), b, h, i, j) &&
                    kv_is_listed(&o.blocks, 1, 1, c->q.len, b, 0, i, j))
                    return 1;
            }
    return 0;
}

/* attn_sdpa over one tensor; lost tokens are NaN there, and have no scores. */
static grid_call by_sdpa(const pair *p, const question *a, const attn_ctx *ctx)
{
    ptrdiff_t offsets[MOST_ITEMS];
    grid_call c = anew(&a->c);
    attn_opts o = c.o;
    resolve(&o, &p->over, c.q.len, offsets);
    CHECK_STATUS(attn_sdpa(c.out, c.q, gathered(&p->over, K), gathered(&p->over, V), &o, ctx), ATTN_OK);
    for (size_t b = 0; b < p->s.B && !test_absent_tensor(o.scores); b++)
        for (size_t n = 0; n < c.q.heads * c.q.len; n++)
            for (size_t j = 0; j < oldest(&p->over, b); j++)
                test_tensor_set(o.scores, b, n / c.q.len, n % c.q.len, j, -HUGE_VAL);
    return c;
}

/* The same tokens in pages, which have exactly the capacity of the cache, in reversed order. */
static attn_kv_pages paged(const pair *p, uint32_t *table, size_t *lens)
{
    size_t page_len = 1 + test_below(p->s.capacity), pages;
    attn_kv_pages pages_of = {0};
    while (p->s.capacity % page_len)
        page_len--;
    pages = p->s.B * (p->s.capacity / page_len);
    pages_of.k = test_tensor(p->over.k.dtype, pages, p->s.Hkv, page_len, p->s.D, T_BLHD);
    pages_of.v = test_tensor(p->over.v.dtype, pages, p->s.Hkv, page_len, p->s.Dv, T_BHLD);
    pages_of.table = table;
    pages_of.table_stride = p->s.capacity / page_len;
    pages_of.batch = p->s.B;
    pages_of.lens = lens;
    for (size_t n = 0; n < pages; n++)
        table[n] = (uint32_t)(pages - 1 - n);
    memset(lens, 0, p->s.B * sizeof *lens);
    CHECK_STATUS(attn_kv_pages_append(&pages_of, gathered(&p->over, K), gathered(&p->over, V), p->lens), ATTN_OK);
    return pages_of;
}

static int is_fault(attn_fault fault, const char *argument, const char *other)
{
    return fault.argument && strcmp(fault.argument, argument) == 0 &&
           (other ? fault.other && strcmp(fault.other, other) == 0 : !fault.other);
}

/* The call is refused for this argument, run or dry; the latter has no need of memory and data. */
static void refuses(const attn_kv_cache *cache, const grid_call *c, const attn_ctx *ctx, attn_status want,
                    const char *argument, const char *other)
{
    size_t length = strlen(argument);
    char text[200] = "";
    attn_dry_run dry = {12345, text, sizeof text};
    test_freeze();
    for (int is_dry = 0; is_dry < 2; is_dry++) {
        attn_fault fault = {"nothing", "nothing", ""};
        attn_ctx named = *test_dry(ctx, is_dry ? &dry : NULL);
        named.fault = &fault;
        if (is_dry && (want == ATTN_ERR_NOMEM || (cache && cache->k.dim && !(cache->k.data && cache->v.data))))
            continue;
        CHECK_STATUS(attn_kv_cache_attend(c->out, c->q, cache, &c->o, &named), want);
        if (!CHECK(is_fault(fault, argument, other)))
            printf("    at fault: %s, %s\n", fault.argument, fault.other ? fault.other : "no other");
        CHECK(!is_dry || (strncmp(text, argument, length) == 0 && text[length] == (other ? ',' : ':')));
        CHECK(!is_dry || !other || grid_names(text, other));
    }
    CHECK(dry.scratch == 12345 && test_wrote_nothing());
}

/* Asks the cache, and compares with attn_sdpa, with a cache of attn_kv_cache_init, and with pages. */
static void compare(const pair *p, const question *a)
{
    attn_fault fault = {"nothing", "nothing", ""};
    attn_ctx ctx = a->ctx;
    attn_tensor outs[GRID_OUTPUTS];
    grid_call want, got;
    if (sees_lost(&p->over, &a->c)) {
        refuses(&p->over, &a->c, &ctx, ATTN_ERR_VALUE, "cache.first", NULL);
        return;
    }
    want = by_sdpa(p, a, &ctx);
    ctx.fault = &fault;
    grid_outputs(&a->c, GRID_FORWARD, outs);
    test_freeze();
    CHECK_STATUS(attn_kv_cache_attend(a->c.out, a->c.q, &p->over, &a->c.o, &ctx), ATTN_OK);
    CHECK(test_wrote_only_tensors(outs, GRID_OUTPUTS) && is_fault(fault, "nothing", "nothing"));
    CHECK(grid_same_outputs(&a->c, &want, GRID_FORWARD));
    if (p->over.k.dtype == p->over.v.dtype && p->made[K].lens) {
        got = anew(&a->c);
        CHECK_STATUS(attn_kv_cache_attend(got.out, got.q, &p->made[K], &got.o, &ctx), ATTN_OK);
        CHECK(grid_same_outputs(&got, &want, GRID_FORWARD));
    }
    if (!p->s.ring) {
        size_t lens[MOST_ITEMS];
        uint32_t table[MOST_ITEMS * 64];
        attn_kv_pages pages = paged(p, table, lens);
        got = anew(&a->c);
        CHECK_STATUS(attn_kv_pages_attend(got.out, got.q, &pages, &got.o, &ctx), ATTN_OK);
        CHECK(grid_same_outputs(&got, &want, GRID_FORWARD));
    }
}

/* ---- random questions ---- */

/* As wide as the keys are many, or as the cache has room. */
static size_t any_width(const pair *p)
{
    size_t Lk = longest(&p->over);
    return p->s.capacity >= Lk && test_maybe() ? p->s.capacity : Lk;
}

static attn_tensor any_broadcast(attn_dtype dtype, const grid_call *c, size_t width)
{
    return test_random_tensor(dtype, test_maybe() ? c->q.batch : 1, test_maybe() ? c->q.heads : 1,
                              test_maybe() ? c->q.len : 1, test_below(6) ? width : 1, (int)test_below(T_OUT_LAYOUTS));
}

static void hide_lost(attn_tensor mask, const pair *p)
{
    for (size_t b = 0; b < p->s.B && mask.dim > 1; b++)
        for (size_t n = 0; n < mask.heads * mask.len; n++)
            for (size_t j = 0; j < oldest(&p->over, b) && j < mask.dim; j++)
                test_tensor_set(mask, mask.batch == 1 ? 0 : b, n / mask.len, n % mask.len, j, 0);
}

/* Some -infinity; and what lies beyond the keys is NaN. */
static void prepare_bias(attn_tensor bias, size_t Lk)
{
    for (size_t n = 0; n < bias.batch * bias.heads * bias.len; n++)
        for (size_t j = 0; j < bias.dim && bias.dim > 1; j++)
            if (j >= Lk || test_below(9) == 0)
                test_tensor_set(bias, n / bias.len / bias.heads, n / bias.len % bias.heads, n % bias.len, j,
                                j >= Lk ? test_f64(0x7ff8000000000000u) : -HUGE_VAL);
}

static ptrdiff_t any_offset(const pair *p, size_t b, size_t Lq)
{
    ptrdiff_t newest = (ptrdiff_t)p->lens[b] - (ptrdiff_t)Lq;
    switch (test_below(16)) {
    case 0: return PTRDIFF_MIN + (ptrdiff_t)test_below(3);
    case 1: return PTRDIFF_MAX - (ptrdiff_t)test_below(3);
    case 2: return -(ptrdiff_t)test_below(12);
    case 3: return (ptrdiff_t)test_below(p->lens[b] + 1);
    default: return newest + (ptrdiff_t)test_below(7) - 3;
    }
}

static void add_lists(question *a, const pair *p)
{
    attn_blocks *l = &a->c.o.blocks;
    size_t blocks, lists;
    l->q_len = 1 + test_below(a->c.q.len);
    l->kv_len = 1 + test_below(9);
    l->batch = test_maybe() ? 1 : p->s.B;
    l->heads = 1;
    lists = l->batch * ((a->c.q.len + l->q_len - 1) / l->q_len);
    blocks = (longest(&p->over) + l->kv_len - 1) / l->kv_len;
    l->width = blocks;
    if (lists > COUNT(a->counts) || lists * blocks > COUNT(a->listed)) {
        memset(l, 0, sizeof *l);
        return;
    }
    for (size_t n = 0; n < lists; n++) {
        a->counts[n] = 0;
        for (size_t block = 0; block < blocks; block++)
            if (test_maybe())
                a->listed[n * blocks + a->counts[n]++] = (uint32_t)block;
    }
    l->index = a->listed;
    l->count = a->counts;
}

/* What the first queries can look back upon without seeing what is lost; or one more. */
static void choose_window(question *a, const pair *p)
{
    ptrdiff_t left = (ptrdiff_t)test_below(30) - 1;
    for (size_t b = 0; b < p->s.B; b++) {
        ptrdiff_t held = (ptrdiff_t)(p->lens[b] - oldest(&p->over, b)) - (ptrdiff_t)a->c.q.len;
        if (oldest(&p->over, b) > 0 && (left < 0 || left > held))
            left = held < 0 ? 0 : held;
    }
    a->c.o.window.on = 1;
    a->c.o.window.left = left + (test_below(8) == 0);
    a->c.o.window.right = (ptrdiff_t)test_below(4) - 1;
}

static void ask_anything(question *a, const pair *p)
{
    static const size_t few[] = {1, 1, 2, 3, 5, 12};
    size_t H = (1 + test_below(3)) * p->s.Hkv, Lq = few[test_below(COUNT(few))];
    attn_opts *o = &a->c.o;
    begin_question(a, p, H, Lq, kv_any_isa());
    a->c.q = test_random_tensor(kinds[test_below(3)], p->s.B, H, Lq, p->s.D, (int)test_below(T_LAYOUTS));
    want_outputs(&a->c, &p->over, (unsigned)test_below(WANTS_ALL + 1));
    o->causal = (attn_causal)test_below(4);
    for (size_t b = 0; b < p->s.B; b++) {
        a->q_lens[b] = test_below(Lq + 1);
        a->offsets[b] = any_offset(p, b, Lq);
    }
    for (size_t h = 0; h < H; h++) {
        a->slopes[h] = (float)test_uniform();
        a->sinks[h] = (float)test_uniform();
    }
    if (o->causal == ATTN_CAUSAL_OFFSET || test_below(3) == 0)
        o->causal_offset = a->offsets;
    if (test_below(3) == 0)
        o->q_lens = a->q_lens;
    if (test_below(3) == 0)
        choose_window(a, p);
    if (p->s.ring ? test_below(6) > 0 : test_maybe()) {
        o->mask = any_broadcast(ATTN_BOOL, &a->c, any_width(p));
        if (test_below(6) > 0)
            hide_lost(o->mask, p);
    }
    if (test_below(3) == 0) {
        o->bias = any_broadcast(test_floats[test_below(4)], &a->c, any_width(p));
        prepare_bias(o->bias, longest(&p->over));
    }
    if (test_below(4) == 0)
        add_lists(a, p);
    o->alibi_slopes = test_below(3) ? NULL : a->slopes;
    o->sinks = test_below(3) ? NULL : a->sinks;
    o->softcap = test_below(4) ? 0 : 1.5;
    o->scores_stage = (attn_stage)test_below(3);
}

/* ---- a cache over any memory, driven at random ---- */

static void append_at_random(pair *p)
{
    size_t L = test_below(test_below(8) ? 5 : 2 * p->s.capacity), lens[MOST_ITEMS];
    int ragged = test_maybe(), fits = 1;
    for (size_t b = 0; b < p->s.B; b++) {
        lens[b] = test_below(L + 1);
        fits &= p->s.ring || p->lens[b] + (ragged ? lens[b] : L) <= p->s.capacity;
    }
    append_tensors(
        p, test_random_tensor(test_floats[test_below(4)], p->s.B, p->s.Hkv, L, p->s.D, (int)test_below(T_OUT_LAYOUTS)),
        test_random_tensor(test_floats[test_below(4)], p->s.B, p->s.Hkv, L, p->s.Dv, (int)test_below(T_OUT_LAYOUTS)),
        ragged ? lens : NULL, fits ? ATTN_OK : ATTN_ERR_VALUE);
}

static void change_at_random(pair *p)
{
    size_t from[MOST_ITEMS], b = test_below(p->s.B), other = test_below(p->s.B);
    switch (test_below(8)) {
    case 0: truncate_item(p, b, test_maybe() ? p->lens[b] - p->lens[b] / 4 : test_below(p->lens[b] + 1)); break;
    case 1: copy_item(p, b, other, test_maybe() ? p->lens[other] : test_below(p->lens[other] + 1)); break;
    case 2:
        for (b = 0; b < p->s.B; b++)
            from[b] = test_below(p->s.B);
        reorder(p, from);
        break;
    default: append_at_random(p); break;
    }
    CHECK(agrees(p));
}

/* Every place, type and mixture of types; every third time the values lie within the keys. */
TEST(cache_over_at_random)
{
    static const size_t capacities[] = {1, 3, 8, 20, 60};
    static pair p;
    static question a;
    for (int n = 0; n < (test_quick ? 24 : 180); n++) {
        shape s = {1 + test_below(4), 1 + test_below(3), 0, 1 + test_below(12), 1 + test_below(12), n / 4 % 2};
        attn_dtype of_k = kinds[test_below(3)], of_v = test_maybe() ? of_k : kinds[test_below(3)];
        s.capacity = capacities[test_below(COUNT(capacities))];
        if (n % 3 == 0) {
            s.D += s.Dv;
            begin_latent(&p, s, of_k, n % PLACES, test_maybe() ? 0 : test_below(s.D - s.Dv + 1));
        } else
            begin(&p, s, of_k, of_v, n % PLACES);
        for (int step = 0; step < 30; step++) {
            test_case("episode %d, place %d, %s and %s%s, step %d", n, n % PLACES, test_dtype_name(p.over.k.dtype),
                      test_dtype_name(p.over.v.dtype), s.ring ? ", ring" : "", step);
            if (step % 2 == 0)
                change_at_random(&p);
            else {
                ask_anything(&a, &p);
                compare(&p, &a);
            }
        }
        test_release();
    }
}

/* ---- memory that the program owns and writes ---- */

/* llama2.c: the forward pass writes the rows of key_cache and value_cache itself, layer by layer. */
TEST(cache_over_llama2c)
{
    enum { LAYERS = 3, L = 40, HKV = 2, H = 4, D = 8, ROW = HKV * D };
    float *key_cache = test_block(LAYERS * L * ROW * sizeof(float));
    float *value_cache = test_block(LAYERS * L * ROW * sizeof(float));
    attn_kv_cache cache[LAYERS];
    size_t lens[LAYERS] = {0, 0, 0};
    for (size_t l = 0; l < LAYERS; l++)
        CHECK_STATUS(attn_kv_cache_over(&cache[l], attn_blhd(key_cache + l * L * ROW, ATTN_F32, 1, L, HKV, D),
                                        attn_blhd(value_cache + l * L * ROW, ATTN_F32, 1, L, HKV, D), &lens[l], NULL),
                     ATTN_OK);
    for (size_t pos = 0; pos < L; pos++)
        for (size_t l = 0; l < LAYERS; l++) {
            float *k = key_cache + (l * L + pos) * ROW, *v = value_cache + (l * L + pos) * ROW;
            attn_tensor q = test_random_tensor(ATTN_F32, 1, H, 1, D, T_BHLD);
            attn_tensor out = test_tensor(ATTN_F32, 1, H, 1, D, T_BHLD), want = test_tensor_like(out, T_BHLD);
            attn_tensor row = attn_blhd(k, ATTN_F32, 1, 1, HKV, D), other = attn_blhd(v, ATTN_F32, 1, 1, HKV, D);
            test_case("layer %zu, token %zu", l, pos);
            if (pos % 5 == 4) { /* some steps leave it to the library: the same place */
                attn_tensor new_k = test_random_tensor(ATTN_F32, 1, HKV, 1, D, T_BHLD);
                attn_tensor written[2] = {row, other};
                test_freeze();
                CHECK_STATUS(attn_kv_cache_append(&cache[l], new_k, new_k, NULL), ATTN_OK);
                CHECK(test_wrote_only_tensors(written, 2) && test_same_tensor_bits(row, new_k) &&
                      test_same_tensor_bits(other, new_k));
            } else {
                test_scatter(row, test_random());
                test_scatter(other, test_random());
                lens[l] = pos + 1;
            }
            CHECK_STATUS(attn_kv_cache_attend(out, q, &cache[l], NULL, NULL), ATTN_OK);
            CHECK_STATUS(attn_sdpa(want, q, test_tensor_like(attn_tensor_slice(cache[l].k, 0, pos + 1), T_BHLD),
                                   test_tensor_like(attn_tensor_slice(cache[l].v, 0, pos + 1), T_BHLD), NULL, NULL),
                         ATTN_OK);
            CHECK(lens[l] == pos + 1 && test_same_tensor_bits(out, want));
        }
}

/* Lengths that are there before the cache is, and that the program sets between calls, forwards and back; of a ring the
   first ones too. */
TEST(cache_over_set_lengths)
{
    static pair p;
    static question a;
    for (int n = 0; n < 3 * 3 * 2; n++) {
        shape s = {3, 2, 10, 5, 4, n / 9};
        attn_tensor k, v;
        size_t lens[3] = {7, 0, 10}, first[3] = {2, 0, 0}, more[3] = {3, 4, 0};
        place(&k, &v, s, kinds[n % 3], kinds[n / 3 % 3], ANYHOW);
        test_scatter(k, test_random()), test_scatter(v, test_random());
        memset(&p, 0, sizeof p);
        p.s = s;
        memcpy(p.lens, lens, sizeof lens);
        memcpy(p.first, first, sizeof first);
        test_case("%s and %s, %s", test_dtype_name(k.dtype), test_dtype_name(v.dtype), s.ring ? "ring" : "no ring");
        test_freeze();
        CHECK_STATUS(attn_kv_cache_over(&p.over, k, v, p.lens, s.ring ? p.first : NULL), ATTN_OK);
        CHECK(test_wrote_nothing() && p.over.lens == p.lens && p.over.first == (s.ring ? p.first : NULL));
        CHECK(!p.over.ring == !s.ring && p.over.own == NULL && !p.over.k_scales && !p.over.v_scales);
        CHECK(memcmp(p.lens, lens, sizeof lens) == 0 && memcmp(p.first, first, sizeof first) == 0);
        for (int step = 0; step < 6; step++) {
            if (step == 1)
                CHECK_STATUS(attn_kv_cache_append(&p.over, test_random_tensor(ATTN_F32, 3, 2, 4, 5, T_BHLD),
                                                  test_random_tensor(ATTN_F32, 3, 2, 4, 4, T_BHLD), more),
                             ATTN_OK);
            if (step == 1)
                CHECK(p.lens[0] == 10 && p.lens[1] == 4 && p.lens[2] == 10);
            for (size_t b = 0; b < 3 && step >= 2; b++) { /* tokens 30 .. 39 too lie there, if the program says so */
                p.first[b] = s.ring ? test_below(40) : 0;
                p.lens[b] = p.first[b] + test_below(11);
            }
            begin_question(&a, &p, 4, 2, kv_any_isa());
            if (s.ring) {
                a.c.o.mask = test_tensor(ATTN_BOOL, 3, 1, 1, longest(&p.over), T_BHLD);
                test_fill_tensor(a.c.o.mask, 1);
                hide_lost(a.c.o.mask, &p);
            }
            compare(&p, &a);
        }
        test_release();
    }
}

/* Between the rows, and in the rows of other tokens and items, not a byte changes. */
TEST(cache_over_gaps)
{
    static pair p;
    for (int n = 0; n < 3 * PLACES * 4; n++) {
        shape s = {4, 2, 9, 6, 5, n / 3 / PLACES / 2};
        attn_dtype dtype = kinds[n % 3];
        size_t lens[4] = {1, 3, 0, 2}, from[4] = {1, 0, 1, 2};
        attn_tensor rows[2 * 4 * 3];
        size_t count = 0;
        test_case("%s, place %d", test_dtype_name(dtype), n / 3 % PLACES);
        if (n / 3 / PLACES % 2 == 0)
            begin(&p, s, dtype, dtype, n / 3 % PLACES);
        else
            begin_latent(&p, s, dtype, n / 3 % PLACES, 1);
        append(&p, 5, NULL);
        test_freeze();
        CHECK_STATUS(attn_kv_cache_append(&p.over, test_random_tensor(ATTN_F32, 4, 2, 3, 6, T_BHLD),
                                          p.latent ? none : test_random_tensor(ATTN_F32, 4, 2, 3, 5, T_BHLD), lens),
                     ATTN_OK);
        for (size_t b = 0; b < 4; b++)
            for (size_t j = 5; j < 5 + lens[b]; j++)
                for (int which = K; which <= V; which++) {
                    attn_tensor t = attn_tensor_slice(side(&p.over, which), j % 9, 1);
                    t.data = test_tensor_at(t, b, 0, 0, 0);
                    t.batch = 1;
                    rows[count++] = t;
                }
        CHECK(count <= COUNT(rows) && test_wrote_only_tensors(rows, count));
        rows[0] = p.over.k, rows[1] = p.over.v;
        test_freeze();
        CHECK_STATUS(attn_kv_cache_reorder(&p.over, from), ATTN_OK);
        CHECK(test_wrote_only_tensors(rows, 2));
        rows[0] = attn_tensor_slice(rows[0], 0, 4), rows[1] = attn_tensor_slice(rows[1], 0, 4);
        rows[0].data = test_tensor_at(rows[0], 3, 0, 0, 0), rows[1].data = test_tensor_at(rows[1], 3, 0, 0, 0);
        rows[0].batch = rows[1].batch = 1;
        test_freeze();
        CHECK_STATUS(attn_kv_cache_copy(&p.over, 3, 1, 4), ATTN_OK);
        CHECK(test_wrote_only_tensors(rows, 2) && p.lens[3] == 4);
        test_freeze();
        CHECK_STATUS(attn_kv_cache_truncate(&p.over, 0, 1), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_copy(&p.over, 1, 1, 2), ATTN_OK); /* a truncation */
        CHECK(test_wrote_nothing() && p.lens[0] == 1 && p.lens[1] == 2);
        test_release();
    }
}

/* Keys and values that all items share, for cross-attention say: to be attended, not to be written. */
TEST(cache_over_shared)
{
    static question a;
    for (int n = 0; n < 3; n++) {
        attn_tensor k = test_random_tensor(kinds[n], 3, 2, 12, 6, T_ONE_BATCH),
                    row = test_tensor(kinds[n], 3, 2, 1, 6, 0);
        attn_tensor v = test_random_tensor(kinds[n], 3, 2, 12, 4, T_ONE_BATCH);
        size_t lens[3] = {12, 3, 7}, were[3] = {12, 3, 7}, from[3] = {1, 0, 2};
        attn_kv_cache cache;
        grid_call want;
        test_case("%s", test_dtype_name(kinds[n]));
        CHECK_STATUS(attn_kv_cache_over(&cache, k, v, lens, NULL), ATTN_OK);
        memset(&a, 0, sizeof a);
        a.c.q = test_random_tensor(ATTN_F32, 3, 4, 2, 6, T_BHLD);
        want_outputs(&a.c, &cache, WANTS_ALL);
        CHECK_STATUS(attn_kv_cache_attend(a.c.out, a.c.q, &cache, &a.c.o, NULL), ATTN_OK);
        want = anew(&a.c);
        want.o.kv_lens = lens;
        CHECK_STATUS(attn_sdpa(want.out, want.q, k, v, &want.o, NULL), ATTN_OK);
        CHECK(grid_same_outputs(&a.c, &want, GRID_FORWARD));
        lens[0] = were[0] = 5;
        test_freeze();
        CHECK_STATUS(attn_kv_cache_append(&cache, row, attn_tensor_slice(test_tensor_like(v, T_BHLD), 0, 1), NULL),
                     ATTN_ERR_ALIAS);
        CHECK_STATUS(attn_kv_cache_reorder(&cache, from), ATTN_ERR_ALIAS);
        CHECK_STATUS(attn_kv_cache_copy(&cache, 0, 1, 2), ATTN_ERR_ALIAS);
        CHECK(test_wrote_nothing() && memcmp(lens, were, sizeof lens) == 0);
        CHECK_STATUS(attn_kv_cache_truncate(&cache, 2, 6), ATTN_OK);
        CHECK(lens[2] == 6);
    }
}

TEST(cache_over_free)
{
    long calls = test_memory_state.calls, live = test_memory_state.live;
    attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, 4, 3, T_BHLD),
                v = test_random_tensor(ATTN_F32, 1, 1, 4, 2, T_BHLD);
    size_t lens[1] = {3}, first[1] = {1}, from[1] = {0};
    attn_kv_cache cache;
    memset(&cache, 0x77, sizeof cache); /* what was there before does not matter */
    test_freeze();
    CHECK_STATUS(attn_kv_cache_over(&cache, k, v, lens, first), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_reorder(&cache, from), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_copy(&cache, 0, 0, 3), ATTN_OK);
    attn_kv_cache_free(&cache);
    CHECK(test_memory_state.calls == calls && test_memory_state.live == live && test_wrote_nothing());
    CHECK(test_absent_tensor(cache.k) && test_absent_tensor(cache.v) && !cache.lens && !cache.first && !cache.ring);
    CHECK(lens[0] == 3 && first[0] == 1);
}

/* ---- values within the keys ---- */

/* Multi-head latent attention: k and its rotated part are one row, of which v is the first part; or any other. */
TEST(cache_over_latent)
{
    static pair p;
    static question a;
    for (int n = 0; n < 3 * PLACES * 3; n++)
        for (size_t Hkv = 1; Hkv < 3; Hkv++) {
            static const size_t starts[] = {0, 3, 8};
            shape s = {2, Hkv, 16, 24, 16, n % 2};
            size_t start = starts[n / 3 / PLACES], from[2] = {1, 0}, lens[2] = {5, 2};
            test_case("%s, place %d, from %zu on, %zu heads", test_dtype_name(kinds[n % 3]), n / 3 % PLACES, start,
                      Hkv);
            begin_latent(&p, s, kinds[n % 3], n / 3 % PLACES, start);
            append(&p, 5, lens);
            CHECK(agrees(&p));
            reorder(&p, from); /* a cycle: rows that are swapped twice stay where they were */
            CHECK(agrees(&p) && p.lens[0] == 2 && p.lens[1] == 5);
            copy_item(&p, 0, 1, 4);
            append(&p, 9, NULL);
            CHECK(agrees(&p));
            begin_question(&a, &p, 4, 3, kv_any_isa());
            compare(&p, &a);
            test_release();
        }
}

/* A value is given where there is none to write, and only there: to pages too. All of a row may be its value. */
TEST(cache_over_latent_arguments)
{
    for (int n = 0; n < 3; n++) {
        size_t lens[2] = {2, 1}, apart[2] = {2, 1}, all[2] = {2, 1}, paged_lens[2] = {2, 1};
        uint32_t table[2] = {1, 0};
        attn_tensor rows = test_random_tensor(kinds[n], 2, 1, 4, 6, T_SLICE);
        attn_tensor k = test_random_tensor(ATTN_F32, 2, 1, 1, 6, T_BHLD), v = some_dims(k, 0, 4), bad = v;
        attn_kv_pages pages = {0};
        attn_kv_cache latent, separate, whole;
        CHECK_STATUS(attn_kv_cache_over(&latent, rows, some_dims(rows, 0, 4), lens, NULL), ATTN_OK);
        CHECK_STATUS(
            attn_kv_cache_over(&separate, rows, test_random_tensor(kinds[n], 2, 1, 4, 4, T_SLICE), apart, NULL),
            ATTN_OK);
        CHECK_STATUS(attn_kv_cache_over(&whole, rows, rows, all, NULL), ATTN_OK);
        pages.k = rows, pages.v = some_dims(rows, 2, 4);
        pages.table = table, pages.table_stride = 1, pages.batch = 2, pages.lens = paged_lens;
        bad.data = NULL, bad.batch = bad.heads = bad.len = bad.dim = SIZE_MAX;
        test_case("%s", test_dtype_name(kinds[n]));
        test_freeze();
        CHECK_STATUS(attn_kv_cache_append(&latent, k, v, NULL), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_append(&latent, k, bad, NULL), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_append(&latent, none, none, NULL), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_append(&whole, k, k, NULL), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_append(&separate, k, none, NULL), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_pages_append(&pages, k, v, NULL), ATTN_ERR_VALUE);
        CHECK(test_wrote_nothing() && lens[0] == 2 && apart[0] == 2 && all[0] == 2 && paged_lens[0] == 2);
        pages.v = separate.v;
        CHECK_STATUS(attn_kv_pages_append(&pages, k, none, NULL), ATTN_ERR_NULL);
        pages.v = some_dims(rows, 2, 4);
        CHECK_STATUS(attn_kv_cache_append(&latent, k, none, NULL), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_append(&whole, k, none, NULL), ATTN_OK);
        CHECK_STATUS(attn_kv_pages_append(&pages, k, none, NULL), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_append(&separate, k, v, NULL), ATTN_OK);
        CHECK(lens[1] == 2 && apart[1] == 2 && all[1] == 2 && paged_lens[1] == 2);
    }
}

/* Values that share memory with the keys in another way: they can be read, not written. */
TEST(cache_over_overlapping)
{
    enum { LATER_ROWS, BACKWARDS, HALVES, OTHER_TYPE, EVERY_OTHER, OTHER_HEADS, SAME_ROW, SAME_HEAD, SAME_ITEM, WAYS };
    const uint16_t one = 1; /* its first byte is 1 on a little-endian machine */
    for (int way = 0; way < WAYS; way++)
        for (int ring = 0; ring < 2; ring++) {
            size_t lens[2] = {3, 6}, first[2] = {0, 1}, from[2] = {1, 0};
            attn_dtype type = way == OTHER_TYPE ? ATTN_BF16 : ATTN_F32; /* below 1, it is below 2 as an F16 */
            attn_tensor rows = test_random_tensor(type, 2, 3, 8, 6, T_BLHD), k = rows, v = rows;
            attn_tensor q = test_random_tensor(ATTN_F32, 2, 2, 2, 6, T_BHLD), out, want;
            attn_tensor new_k, new_v, row = test_tensor(ATTN_F32, 1, 1, 2, 6, T_BHLD);
            attn_opts opts = {0};
            attn_kv_cache cache;
            k.heads = v.heads = 2;
            k.len = v.len = 7;
            switch (way) {
            case LATER_ROWS: v.data = test_tensor_at(rows, 0, 0, 1, 0); break;
            case BACKWARDS: v.data = test_tensor_at(rows, 0, 0, 0, 5), v.dim_stride = -1; break;
            case HALVES: /* the upper ones of floats */
                v.data = (char *)v.data + 2 * *(const unsigned char *)&one;
                v.dtype = ATTN_BF16, v.dim_stride = 2;
                v.batch_stride *= 2, v.head_stride *= 2, v.len_stride *= 2;
                break;
            case OTHER_TYPE: v.dtype = ATTN_F16; break;
            case EVERY_OTHER: v.dim_stride = 2, v.dim = 3; break;
            case SAME_ROW: v.len_stride = 0; break;
            case SAME_HEAD: v.head_stride = 0; break;
            case SAME_ITEM: v.batch_stride = 0; break;
            default: v.data = test_tensor_at(rows, 0, 1, 0, 0); break;
            }
            test_case("way %d", way);
            test_freeze();
            CHECK_STATUS(attn_kv_cache_over(&cache, k, v, lens, ring ? first : NULL), ATTN_OK);
            new_k = test_random_tensor(ATTN_F32, 2, 2, 1, 6, T_BHLD), new_v = some_dims(new_k, 0, v.dim);
            CHECK_STATUS(attn_kv_cache_append(&cache, new_k, new_v, NULL), ATTN_ERR_ALIAS);
            CHECK_STATUS(attn_kv_cache_append(&cache, new_k, none, NULL), ATTN_ERR_NULL);
            CHECK_STATUS(attn_kv_cache_reorder(&cache, from), ATTN_ERR_ALIAS);
            CHECK_STATUS(attn_kv_cache_copy(&cache, 0, 1, 4), ATTN_ERR_ALIAS);
            CHECK(test_wrote_nothing() && lens[0] == 3 && lens[1] == 6);
            out = test_tensor(ATTN_F32, 2, 2, 2, v.dim, T_BHLD), want = test_tensor_like(out, T_BHLD);
            opts.window.on = ring, opts.window.left = 2;
            CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &opts, NULL), ATTN_OK);
            opts.kv_lens = lens, opts.causal_offset = (ptrdiff_t[2]){1, 4};
            CHECK_STATUS(attn_sdpa(want, q, k, v, &opts, NULL), ATTN_OK);
            CHECK(test_same_tensor_bits(out, want));
            row.dim = v.dim;
            CHECK_STATUS(attn_kv_cache_row(attn_mat_of(row.data, ATTN_F32, 2, v.dim), &cache, 1, 1, 5), ATTN_OK);
            CHECK(test_tensor_get(attn_bhld(row.data, ATTN_F32, 1, 1, 2, v.dim), 0, 0, 1, 2) ==
                  test_tensor_get(v, 1, 1, 5, 2));
            CHECK_STATUS(attn_kv_cache_truncate(&cache, 1, 5), ATTN_OK);
        }
}

/* ---- reorder and copy, against items that stay as they were ---- */

/* Maps with cycles, chains and items that stay; nothing but the rows and the lengths takes part. */
TEST(cache_over_reorder)
{
    static pair p;
    for (int n = 0; n < (test_quick ? 40 : 400); n++) {
        shape s = {1 + test_below(MOST_ITEMS), 1 + test_below(2), 1 + test_below(5), 3, 2, n % 2};
        size_t from[MOST_ITEMS], lens[MOST_ITEMS];
        long calls = test_memory_state.calls;
        int held = 1;
        for (size_t b = 0; b < s.B; b++) {
            from[b] = test_below(4) ? test_below(s.B) : b;
            lens[b] = test_below((s.ring ? 3 : 1) * s.capacity + 1);
        }
        for (size_t b = 0; n % 3 == 0 && b < s.B; b++) { /* a permutation */
            size_t earlier = test_below(b + 1);
            from[b] = from[earlier];
            from[earlier] = b;
        }
        if (n % 5 == 0) {
            s.D += s.Dv;
            begin_latent(&p, s, kinds[n % 3], n % PLACES, test_below(s.D - s.Dv + 1));
        } else
            begin(&p, s, kinds[n % 3], kinds[n / 3 % 3], n % PLACES);
        test_case("map %d of %zu items, place %d", n, s.B, n % PLACES);
        append(&p, 3 * s.capacity, lens);
        CHECK_STATUS(attn_kv_cache_reorder(&p.over, from), ATTN_OK);
        for (size_t b = 0; b < s.B; b++)
            for (int which = K; which <= V; which++)
                held &= same_item(&p.over, b, &p.made[which], from[b], p.made[which].lens[from[b]], which);
        CHECK(held && test_memory_state.calls == calls);
        test_release();
    }
}

/* Of every type, rings that have turned too: item `to` is the beginning of `from`, the others are what they were. */
TEST(cache_copy)
{
    for (int n = 0; n < 4 * 2; n++)
        for (size_t to = 0; to < 3; to++)
            for (size_t from = 0; from < 3; from++)
                for (size_t len = 0;; len++) {
                    shape s = {3, 2, 5, 7, 3, n / 4};
                    size_t lens[3] = {5, 0, 3}, most;
                    attn_kv_cache cache = new_cache(s, kinds[n % 4]), was = new_cache(s, kinds[n % 4]);
                    attn_tensor k = test_random_tensor(ATTN_F32, 3, 2, 13, 7, T_BHLD);
                    attn_tensor v = test_random_tensor(ATTN_F32, 3, 2, 13, 3, T_BHLD);
                    int held = 1;
                    if (s.ring)
                        lens[0] = 13, lens[1] = 4, lens[2] = 7;
                    most = lens[from];
                    test_case("%s%s: %zu tokens of item %zu to item %zu", s.ring ? "ring of " : "",
                              test_dtype_name(kinds[n % 4]), len, from, to);
                    CHECK_STATUS(attn_kv_cache_append(&cache, k, v, lens), ATTN_OK);
                    CHECK_STATUS(attn_kv_cache_append(&was, k, v, lens), ATTN_OK);
                    test_freeze();
                    CHECK_STATUS(attn_kv_cache_copy(&cache, to, from, len), len <= most ? ATTN_OK : ATTN_ERR_VALUE);
                    CHECK(len <= most || test_wrote_nothing());
                    for (size_t b = 0; b < 3; b++)
                        for (int which = K; which <= V; which++)
                            held &= b == to && len <= most ? same_item(&cache, b, &was, from, len, which)
                                                           : same_item(&cache, b, &was, b, lens[b], which);
                    CHECK(held);
                    test_release();
                    if (len > most)
                        break;
                }
}

TEST(cache_copy_status)
{
    for (int n = 0; n < 4 * 2; n++) {
        shape s = {3, 1, 4, 3, 2, n / 4};
        attn_kv_cache cache = new_cache(s, kinds[n % 4]), zero = {0};
        attn_tensor k = test_random_tensor(ATTN_F32, 3, 1, 3, 3, T_BHLD), v = some_dims(k, 0, 2);
        CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
        test_case("%s", test_dtype_name(kinds[n % 4]));
        test_freeze();
        CHECK_STATUS(attn_kv_cache_copy(NULL, 0, 0, 0), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_copy(&zero, 9, 9, 9), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_copy(&cache, 3, 0, 1), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_copy(&cache, 0, 3, 0), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_copy(&cache, SIZE_MAX, 0, 1), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_copy(&cache, 0, SIZE_MAX, 1), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_copy(&cache, 0, 1, 4), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_copy(&cache, 0, 0, 4), ATTN_ERR_VALUE);
        CHECK(test_wrote_nothing());
    }
}

/* A prompt that two texts share is computed once; then each goes its own way. */
TEST(cache_copy_prompt)
{
    static pair p;
    static question a;
    for (int n = 0; n < 3 * 2; n++) {
        shape s = {3, 2, 30, 8, 6, n / 3};
        size_t prompt[3] = {s.ring ? 45 : 17, 0, 2}, own[3] = {3, 5, 1};
        begin(&p, s, kinds[n % 3], kinds[n % 3], ANYHOW);
        test_case("%s%s", s.ring ? "ring of " : "", test_dtype_name(kinds[n % 3]));
        append(&p, 45, prompt);
        copy_item(&p, 1, 0, prompt[0] - 2);
        append(&p, 5, own);
        CHECK(agrees(&p) && p.lens[1] == prompt[0] + 3);
        begin_question(&a, &p, 4, 5, ATTN_ISA_BEST);
        memcpy(a.q_lens, own, sizeof own);
        a.c.o.q_lens = a.q_lens;
        a.c.o.window.on = s.ring, a.c.o.window.left = 20;
        compare(&p, &a);
        CHECK(!sees_lost(&p.over, &a.c));
        test_release();
    }
}

/* ---- rows read back ---- */

/* An integer times its scale is exact in double; what is wanted is rounded once. */
static int is_row(attn_mat out, const attn_kv_cache *cache, int which, size_t b, size_t j)
{
    attn_tensor t = side(cache, which);
    for (size_t h = 0; h < t.heads; h++)
        for (size_t d = 0; d < t.dim; d++) {
            const void *element = test_tensor_at(t, b, h, j % t.len, d);
            double x = t.dtype == ATTN_I8
                           ? *(const signed char *)element * (double)*kv_scale_at(cache, which, b, h, j % t.len)
                           : (double)test_load(element, t.dtype);
            real got = test_load(test_at(out, h, d), out.dtype);
            if (out.dtype == ATTN_F16 || out.dtype == ATTN_BF16)
                x = isnan(x) ? x : test_decode(test_encode(x, out.dtype), out.dtype);
            if (out.dtype == ATTN_F32)
                x = (double)(float)x;
            if (isnan(x) ? !isnan(got) : got != (real)x)
                return 0;
        }
    return 1;
}

TEST(cache_row)
{
    for (int n = 0; n < 4 * 4 * 2; n++) {
        shape s = {2, 3, 4, 7, 5, n / 16};
        attn_dtype of_out = test_floats[n / 4 % 4];
        attn_kv_cache cache = new_cache(s, kinds[n % 4]);
        attn_tensor k = test_random_tensor(ATTN_F32, 2, 3, 11, 7, T_BHLD),
                    v = test_random_tensor(ATTN_F32, 2, 3, 11, 5, 0);
        size_t lens[2] = {4, 2};
        if (s.ring)
            lens[0] = 11, lens[1] = 6;
        for (size_t j = 0; j < 11; j++) /* of different sizes, beyond F16 and below; some not finite */
            for (size_t h = 0; h < 3; h++)
                for (size_t d = 0; d < 7; d++) {
                    int power = j % 3 == 0 ? 0 : (int)test_below(50) - 30;
                    test_tensor_set(k, 0, h, j, d, ldexp((double)test_tensor_get(k, 0, h, j, d), power));
                    test_tensor_set(v, 0, h, j, d % 5, ldexp((double)test_tensor_get(v, 0, h, j, d % 5), power));
                }
        test_tensor_set(k, 0, 1, lens[0] - 1, 3, HUGE_VAL);
        test_tensor_set(v, 1, 2, lens[1] - 1, 0, test_f64(0x7ff8000000000000u));
        CHECK_STATUS(attn_kv_cache_append(&cache, k, v, lens), ATTN_OK);
        for (size_t b = 0; b < 2; b++)
            for (size_t j = cache.first[b]; j < lens[b]; j++)
                for (int values = 0; values < 2; values++)
                    for (int layout = 0; layout < OUT_LAYOUTS; layout++) {
                        attn_mat out = test_mat(of_out, 3, values ? 5 : 7, layout);
                        test_case("%s%s as %s: item %zu, token %zu", s.ring ? "ring of " : "",
                                  test_dtype_name(kinds[n % 4]), test_dtype_name(of_out), b, j);
                        test_freeze();
                        CHECK_STATUS(attn_kv_cache_row(out, &cache, b, values ? 1 + (int)test_below(9) : 0, j),
                                     ATTN_OK);
                        CHECK(test_wrote_only(&out, 1) && is_row(out, &cache, values, b, j));
                    }
        test_release();
    }
}

/* Of memory of any strides, of both types; and what is read can be appended again. */
TEST(cache_row_of_any_memory)
{
    static pair p;
    for (int n = 0; n < 9 * PLACES; n++) {
        shape s = {2, 2, 6, 5, 3, n % 2};
        attn_kv_cache again;
        size_t to[2];
        int held = 1;
        begin(&p, s, kinds[n % 3], kinds[n / 3 % 3], n / 9);
        test_case("%s and %s", test_dtype_name(p.over.k.dtype), test_dtype_name(p.over.v.dtype));
        append(&p, s.ring ? 8 : 6, NULL);
        again = p.over;
        again.k = anyhow(p.over.k.dtype, s, 5), again.v = anyhow(p.over.v.dtype, s, 3);
        again.lens = to;
        to[0] = to[1] = oldest(&p.over, 0);
        for (size_t j = to[0]; j < p.lens[0]; j++)
            for (size_t b = 0; b < 2; b++) {
                attn_tensor k = test_tensor(ATTN_F32, 2, 2, 1, 5, T_BLHD),
                            v = test_tensor(test_wide, 2, 2, 1, 3, T_BLHD);
                attn_mat key = test_mat(ATTN_F32, 2, 5, STRIDED), value = test_mat(test_wide, 2, 3, TRANSPOSED);
                size_t lens[2];
                lens[0] = b == 0, lens[1] = b == 1;
                CHECK_STATUS(attn_kv_cache_row(key, &p.over, b, 0, j), ATTN_OK);
                CHECK_STATUS(attn_kv_cache_row(value, &p.over, b, 1, j), ATTN_OK);
                held &= is_row(key, &p.over, K, b, j) && is_row(value, &p.over, V, b, j);
                for (size_t h = 0; h < 2; h++) {
                    CHECK_STATUS(attn_mat_copy(attn_head(k, b, h), attn_mat_rows(key, h, 1)), ATTN_OK);
                    CHECK_STATUS(attn_mat_copy(attn_head(v, b, h), attn_mat_rows(value, h, 1)), ATTN_OK);
                }
                CHECK_STATUS(attn_kv_cache_append(&again, k, v, lens), ATTN_OK);
                held &= same_token(&again, b, &p.over, b, K, j) && same_token(&again, b, &p.over, b, V, j);
            }
        CHECK(held);
        test_release();
    }
}

TEST(cache_row_status)
{
    for (int n = 0; n < 4 * 2; n++) {
        shape s = {2, 2, 8, 4, 3, n / 4};
        attn_kv_cache cache = new_cache(s, kinds[n % 4]), zero = {0};
        attn_tensor k = test_random_tensor(ATTN_F32, 2, 2, s.ring ? 11 : 6, 4, T_BHLD);
        size_t last = s.ring ? 10 : 5;
        attn_mat out = test_mat(ATTN_F32, 2, 4, PADDED), over = out;
        CHECK_STATUS(attn_kv_cache_append(&cache, k, some_dims(k, 0, 3), NULL), ATTN_OK);
        test_case("%s", test_dtype_name(kinds[n % 4]));
        over.data = (void *)(((uintptr_t)cache.k.data + 3) / 4 * 4);
        test_freeze();
        for (int kind = 0; kind < SPOILS; kind++) {
            attn_mat spoiled = out;
            attn_status want = test_spoil_mat(&spoiled, SPOIL_REQUIRED | SPOIL_OUTPUT, kind);
            if (want == ATTN_OK)
                continue;
            CHECK_STATUS(attn_kv_cache_row(spoiled, &cache, 0, 0, last), want);
            CHECK_STATUS(attn_kv_cache_row(spoiled, &cache, 0, 0, last + 1),
                         test_rank(want) < test_rank(ATTN_ERR_VALUE) ? want : ATTN_ERR_VALUE);
            CHECK_STATUS(attn_kv_cache_row(spoiled, NULL, 0, 0, last), ATTN_ERR_NULL);
        }
        CHECK_STATUS(attn_kv_cache_row(out, NULL, 0, 0, last), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_row(out, &zero, 9, 0, 99), ATTN_ERR_NULL);
        CHECK_STATUS(attn_kv_cache_row(out, &cache, 0, 1, last), ATTN_ERR_SHAPE); /* as wide as keys */
        CHECK_STATUS(attn_kv_cache_row(out, &cache, 2, 0, last), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_row(out, &cache, SIZE_MAX, 0, last), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_row(out, &cache, 1, 0, last + 1), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_row(out, &cache, 1, 0, SIZE_MAX), ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_row(out, &cache, 1, 0, 2), s.ring ? ATTN_ERR_VALUE : ATTN_OK); /* lost */
        test_fill(out, 7);
        test_freeze();
        CHECK_STATUS(attn_kv_cache_row(out, &cache, 1, 0, 0), s.ring ? ATTN_ERR_VALUE : ATTN_OK);
        CHECK(!s.ring || test_wrote_nothing());
        test_freeze();
        CHECK_STATUS(attn_kv_cache_row(over, &cache, 0, 0, last), ATTN_ERR_ALIAS);
        CHECK(test_wrote_nothing());
        CHECK_STATUS(attn_kv_cache_row(out, &cache, 1, 0, s.ring ? 3 : 0), ATTN_OK); /* the oldest */
    }
}

/* ---- queries that are not the newest tokens ---- */

/* Every rule with every window, with and without ALiBi, offsets of all kinds, also for some of the queries only. */
TEST(cache_offset)
{
    static const attn_window windows[] = {{0, 0, 0}, {1, 3, 0}, {1, 2, -1}, {1, -1, 2}, {1, 0, 0}};
    static const ptrdiff_t offsets[][3] = {{9, 20, 0},
                                           {4, 0, 12},
                                           {-2, -1, -30},
                                           {PTRDIFF_MIN, PTRDIFF_MAX, 5},
                                           {PTRDIFF_MAX - 1, PTRDIFF_MIN + 1, PTRDIFF_MAX - 2},
                                           {13, 25, 18}};
    static const float slopes[] = {0.5f, -0.25f, 1e-3f, 2};
    static pair p;
    static question a;
    FOR_EACH_ISA (isa)
        for (int ring = 0; ring < 2; ring++) {
            shape s = {3, 2, 24, 7, 5, ring};
            size_t lens[3] = {12, 24, 3}, more[3] = {0, 6, 0}, seen = 0, lost = 0;
            int rule = 0;
            begin(&p, s, kinds[isa % 3], kinds[isa % 3], ANYHOW);
            append(&p, 24, lens);
            if (ring)
                append(&p, 6, more);
            for (size_t n = 0; n < COUNT(windows) * COUNT(offsets) * 4; n++, rule++) {
                begin_question(&a, &p, 4, 3, isa);
                a.c.o.window = windows[n % COUNT(windows)];
                memcpy(a.offsets, offsets[n / COUNT(windows) % COUNT(offsets)], sizeof *offsets);
                a.c.o.causal_offset = a.offsets;
                a.c.o.alibi_slopes = n / COUNT(windows) / COUNT(offsets) % 2 ? slopes : NULL;
                a.q_lens[0] = 2, a.q_lens[1] = 3, a.q_lens[2] = 1;
                a.c.o.q_lens = n / COUNT(windows) / COUNT(offsets) / 2 ? a.q_lens : NULL;
                for (rule = test_quick ? (int)n % 4 : 0; rule < 4; rule += test_quick ? 4 : 1) {
                    a.c = anew(&a.c);
                    a.c.o.causal = (attn_causal)rule;
                    test_case("%s, ring %d, rule %d, case %zu", attn_isa_string(isa), ring, rule, n);
                    compare(&p, &a);
                    lost += sees_lost(&p.over, &a.c) != 0;
                    seen++;
                }
                if (n % 20 == 19) { /* memory: the same cache in new places */
                    test_release();
                    begin(&p, s, kinds[isa % 3], kinds[isa % 3], (int)(n / 20) % PLACES);
                    append(&p, 24, lens);
                    if (ring)
                        append(&p, 6, more);
                }
            }
            CHECK(ring ? lost > 0 && lost < seen : lost == 0);
            test_release();
        }
}

/* Three rules with an offset mean the same; the one that must have it says so where it has none. */
TEST(cache_offset_rules)
{
    static pair p;
    static question a;
    shape s = {2, 1, 20, 6, 6, 0};
    attn_ctx ctx = {0};
    grid_call c[3];
    begin(&p, s, ATTN_F32, ATTN_F32, IN_LAYERS);
    append(&p, 15, NULL);
    begin_question(&a, &p, 2, 4, ATTN_ISA_BEST);
    a.offsets[0] = 3, a.offsets[1] = 11;
    a.c.o.causal_offset = a.offsets;
    for (int rule = ATTN_CAUSAL_UPPER_LEFT; rule <= ATTN_CAUSAL_OFFSET; rule++) {
        c[rule - 1] = anew(&a.c);
        c[rule - 1].o.causal = (attn_causal)rule;
        CHECK_STATUS(attn_kv_cache_attend(c[rule - 1].out, a.c.q, &p.over, &c[rule - 1].o, NULL), ATTN_OK);
        CHECK(grid_same_outputs(&c[0], &c[rule - 1], GRID_FORWARD));
    }
    a.c.o.causal = ATTN_CAUSAL_OFFSET;
    a.c.o.causal_offset = NULL;
    refuses(&p.over, &a.c, &ctx, ATTN_ERR_NULL, "opts.causal_offset", NULL);
    refuses(&p.made[K], &a.c, &ctx, ATTN_ERR_NULL, "opts.causal_offset", NULL);
    a.c.o.causal_offset = (const ptrdiff_t *)(const void *)((const char *)a.offsets + 1);
    refuses(&p.over, &a.c, &ctx, ATTN_ERR_VALUE, "opts.causal_offset", NULL);
    a.c.o.causal = ATTN_CAUSAL_NONE;
    refuses(&p.over, &a.c, &ctx, ATTN_ERR_VALUE, "opts.causal_offset", NULL);
}

/* A text that is in the cache already, read once more from its middle: what its queries saw when they were the newest.
 */
TEST(cache_read_again)
{
    enum { L = 150, CHUNK = 10 };
    static pair p;
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 3; n++) {
            shape s = {1, 2, L, 16, 8, 0};
            attn_tensor q = test_random_tensor(ATTN_F32, 1, 4, L, 16, T_BHLD),
                        out = test_tensor(ATTN_F32, 1, 4, L, 8, 0);
            attn_tensor once = test_tensor(ATTN_F32, 1, 4, CHUNK, 8, T_BHLD);
            attn_opts opts = {0};
            attn_ctx ctx = test_ctx(isa);
            opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
            test_case("%s, %s", attn_isa_string(isa), test_dtype_name(kinds[n]));
            begin(&p, s, kinds[n], kinds[n], SIDE_BY_SIDE);
            for (size_t at = 0; at < L; at += CHUNK) {
                append(&p, CHUNK, NULL);
                CHECK_STATUS(attn_kv_cache_attend(attn_tensor_slice(out, at, CHUNK), attn_tensor_slice(q, at, CHUNK),
                                                  &p.over, &opts, &ctx),
                             ATTN_OK);
            }
            for (size_t at = 0; at + CHUNK <= L; at += 7) {
                ptrdiff_t offset = (ptrdiff_t)at;
                opts.causal_offset = &offset;
                CHECK_STATUS(attn_kv_cache_attend(once, attn_tensor_slice(q, at, CHUNK), &p.over, &opts, &ctx),
                             ATTN_OK);
                CHECK(test_same_tensor_bits(once, attn_tensor_slice(out, at, CHUNK)));
            }
            test_release();
        }
}

/* ---- drafts ---- */

enum { NODES = 7 };
static const size_t parents[NODES] = {0, 0, 0, 1, 1, 2, 3}; /* of the nodes of a tree; the root is its own */

static int is_ancestor(size_t node, size_t of) /* or the node itself */
{
    while (of != node && of != parents[of])
        of = parents[of];
    return of == node;
}

static int near_tensors(attn_tensor a, attn_tensor b)
{
    for (size_t n = 0; n < a.batch * a.heads * a.len * a.dim; n++) {
        size_t d = n % a.dim, i = n / a.dim % a.len, h = n / a.dim / a.len % a.heads,
               item = n / a.dim / a.len / a.heads;
        if (!(fabsl(test_tensor_get(a, item, h, i, d) - test_tensor_get(b, item, h, i, d)) <= 1e-5L))
            return 0;
    }
    return 1;
}

/* Drafts in a tree are tokens L .. L + 6 of the cache, in a ring some of them where old tokens were. A mask shows each
   its ancestors; they stand at different depths, so that no causal rule is right, but any offset is that leaves them to
   the mask. Each branch is what it would be without the others; then one of them is taken over, row by row. */
TEST(cache_draft_tree)
{
    enum { L = 21, H = 4, D = 8, DV = 6, LEFT = 16 };
    for (int n = 0; n < 3 * 2; n++) {
        shape s = {1, 2, n / 3 ? LEFT + NODES : 40, D, DV, n / 3};
        attn_tensor k = test_random_tensor(ATTN_F32, 1, 2, L + NODES, D, T_BHLD);
        attn_tensor v = test_random_tensor(ATTN_F32, 1, 2, L + NODES, DV, T_BHLD);
        attn_tensor q = test_random_tensor(ATTN_F32, 1, H, NODES, D, T_BHLD),
                    out = test_tensor(ATTN_F32, 1, H, NODES, DV, 0);
        attn_tensor mask = test_tensor(ATTN_BOOL, 1, 1, NODES, L + NODES, T_BHLD),
                    after = test_tensor_like(out, T_BHLD);
        attn_tensor one = test_tensor(ATTN_F32, 1, H, 1, DV, T_BHLD);
        static pair p;
        size_t text[1] = {L}, path[NODES], depth = 0;
        ptrdiff_t beyond = L + NODES;
        attn_opts opts = {0};
        begin(&p, s, kinds[n % 3], kinds[n % 3], ANYHOW);
        test_case("%s%s", s.ring ? "ring of " : "", test_dtype_name(kinds[n % 3]));
        append_tensors(&p, k, v, text, ATTN_OK);
        append_tensors(&p, attn_tensor_slice(k, L, NODES), attn_tensor_slice(v, L, NODES), NULL, ATTN_OK);
        for (size_t i = 0; i < NODES; i++)
            for (size_t j = 0; j < L + NODES; j++)
                test_tensor_set(mask, 0, 0, i, j, j < L ? j >= L - LEFT : is_ancestor(j - L, i));
        opts.mask = mask;
        CHECK_STATUS(attn_kv_cache_attend(out, q, &p.over, &opts, NULL), ATTN_OK);
        opts.causal = ATTN_CAUSAL_UPPER_LEFT;
        opts.causal_offset = &beyond;
        CHECK_STATUS(attn_kv_cache_attend(after, q, &p.over, &opts, NULL), ATTN_OK);
        CHECK(test_same_tensor_bits(out, after));
        for (size_t node = 0; node < NODES; node++) { /* its branch alone, in a cache of its own */
            shape alone = {1, 2, L + NODES, D, DV, 0};
            attn_kv_cache branch = new_cache(alone, kinds[n % 3]);
            memset(&opts, 0, sizeof opts);
            opts.window.on = 1, opts.window.right = -1;
            opts.window.left = -1;
            CHECK_STATUS(attn_kv_cache_append(&branch, k, v, text), ATTN_OK);
            depth = 0;
            for (size_t i = 0; i <= node; i++)
                if (is_ancestor(i, node)) {
                    path[depth++] = i;
                    CHECK_STATUS(attn_kv_cache_append(&branch, attn_tensor_slice(k, L + i, 1),
                                                      attn_tensor_slice(v, L + i, 1), NULL),
                                 ATTN_OK);
                }
            opts.window.left = (ptrdiff_t)(LEFT + depth - 1);
            CHECK_STATUS(attn_kv_cache_attend(one, attn_tensor_slice(q, node, 1), &branch, &opts, NULL), ATTN_OK);
            CHECK(near_tensors(one, attn_tensor_slice(out, node, 1)));
        }
        CHECK(depth == 4 && path[1] == 1 && path[2] == 3 &&
              path[3] == 6);                 /* the branch of the last node: it is taken */
        for (size_t i = 1; i < depth; i++) { /* in order: no row is overwritten before it is read */
            attn_tensor key = test_tensor(kinds[n % 3], 1, 2, 1, D, T_BHLD),
                        value = test_tensor(kinds[n % 3], 1, 2, 1, DV, 0);
            attn_mat key_rows = attn_mat_of(key.data, key.dtype, 2, D),
                     value_rows = attn_mat_of(value.data, value.dtype, 2, DV);
            CHECK_STATUS(attn_kv_cache_row(key_rows, &p.over, 0, 0, L + path[i]), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_row(value_rows, &p.over, 0, 1, L + path[i]), ATTN_OK);
            p.over.lens[0] = L + i; /* the program may set it */
            CHECK_STATUS(attn_kv_cache_append(&p.over, key, value, NULL), ATTN_OK);
            p.over.lens[0] = L + NODES;
        }
        CHECK_STATUS(attn_kv_cache_truncate(&p.over, 0, L + depth), ATTN_OK);
        memset(&opts, 0, sizeof opts);
        opts.window.on = 1, opts.window.left = (ptrdiff_t)(LEFT + depth - 1), opts.window.right = -1;
        CHECK_STATUS(attn_kv_cache_attend(one, attn_tensor_slice(q, NODES - 1, 1), &p.over, &opts, NULL), ATTN_OK);
        CHECK(near_tensors(one, attn_tensor_slice(out, NODES - 1, 1)));
        test_release();
    }
}

/* Drafts in a row: some are accepted, the others truncated. The text that comes out is that of one token at a time. */
TEST(cache_speculative)
{
    enum { L = 120, B = 2, H = 4, D = 12, DRAFTS = 4, LEFT = 40 };
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 3 * 2; n++) {
            shape s = {B, 2, n / 3 ? LEFT + DRAFTS : L, D, D, n / 3};
            attn_tensor q = test_random_tensor(ATTN_F32, B, H, L, D, T_BHLD),
                        k = test_random_tensor(ATTN_F32, B, 2, L, D, 0);
            attn_tensor v = test_random_tensor(ATTN_F32, B, 2, L, D, T_BHLD),
                        plain = test_tensor(ATTN_F32, B, H, L, D, 0);
            attn_tensor out = test_tensor(ATTN_F32, B, H, DRAFTS, D, T_BHLD);
            attn_kv_cache one_by_one;
            shape all = {B, 2, L, D, D, 0};
            static pair p;
            attn_opts opts = {0};
            attn_ctx ctx = test_ctx(isa);
            size_t at = 0;
            ctx.batch_invariant = test_invariant();
            opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
            opts.window.on = s.ring, opts.window.left = LEFT;
            test_case("%s, %s%s", attn_isa_string(isa), s.ring ? "ring of " : "", test_dtype_name(kinds[n % 3]));
            one_by_one = new_cache(all, kinds[n % 3]);
            begin(&p, s, kinds[n % 3], kinds[n % 3], PADDED_ROWS);
            for (size_t t = 0; t < L; t++) {
                CHECK_STATUS(
                    attn_kv_cache_append(&one_by_one, attn_tensor_slice(k, t, 1), attn_tensor_slice(v, t, 1), NULL),
                    ATTN_OK);
                CHECK_STATUS(attn_kv_cache_attend(attn_tensor_slice(plain, t, 1), attn_tensor_slice(q, t, 1),
                                                  &one_by_one, &opts, &ctx),
                             ATTN_OK);
            }
            while (at + DRAFTS <= L) {
                attn_tensor drafts_k = test_tensor_like(attn_tensor_slice(k, at, DRAFTS), T_BHLD);
                attn_tensor drafts_v = test_tensor_like(attn_tensor_slice(v, at, DRAFTS), T_BHLD);
                size_t right = 1 + test_below(DRAFTS); /* as many drafts are right */
                ptrdiff_t offsets[B];
                test_scatter(attn_tensor_slice(drafts_k, right, DRAFTS - right), test_random());
                test_scatter(attn_tensor_slice(drafts_v, right, DRAFTS - right), test_random());
                append_tensors(&p, drafts_k, drafts_v, NULL, ATTN_OK);
                offsets[0] = offsets[1] = (ptrdiff_t)at;
                opts.causal_offset = test_maybe() ? offsets : NULL; /* they are the newest: it is the same */
                CHECK_STATUS(attn_kv_cache_attend(out, attn_tensor_slice(q, at, DRAFTS), &p.over, &opts, &ctx),
                             ATTN_OK);
                CHECK(test_same_tensor_bits(attn_tensor_slice(out, 0, right), attn_tensor_slice(plain, at, right)));
                at += right;
                for (size_t b = 0; b < B; b++)
                    truncate_item(&p, b, at);
                CHECK(agrees(&p));
            }
            CHECK(at > L - DRAFTS);
            test_release();
        }
}

/* ---- masks and biases as wide as the capacity ---- */

static attn_opts cut(attn_opts o, size_t Lk)
{
    o.mask.dim = o.mask.dim > 1 ? Lk : o.mask.dim;
    o.bias.dim = o.bias.dim > 1 ? Lk : o.bias.dim;
    return o;
}

/* One array, made once, serves while the cache fills up: of every type, in every layout, cut or whole, of pages too. */
TEST(cache_wide_mask)
{
    static pair p;
    static question a;
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 4 * T_OUT_LAYOUTS; n++) {
            shape s = {2, 2, 37, 6, 5, n / 4 % 2};
            attn_tensor mask, bias;
            if (test_quick && (n + (int)isa) % 4)
                continue;
            begin(&p, s, kinds[n % 3], kinds[n % 3], n % PLACES);
            mask = test_random_tensor(ATTN_BOOL, n % 2 ? 2 : 1, n / 2 % 2 ? 4 : 1, 3, 37, n / 4);
            bias = test_random_tensor(test_floats[n % 4], n / 2 % 2 ? 2 : 1, n % 2 ? 4 : 1, 3, 37, n / 4);
            while (p.lens[1] < 37) {
                size_t Lk, more[2];
                more[0] = test_below(4), more[1] = 1 + test_below(7);
                more[1] = more[1] < 37 - p.lens[1] ? more[1] : 37 - p.lens[1];
                more[0] = p.lens[0] + more[0] <= 37 ? more[0] : 0;
                append(&p, 7, more);
                Lk = longest(&p.over);
                test_case("%s, case %d, %zu keys", attn_isa_string(isa), n, Lk);
                for (int which = 1; which < 4; which++) {
                    grid_call narrow;
                    begin_question(&a, &p, 4, 3, isa);
                    a.c.o.mask = which & 1 ? mask : none;
                    a.c.o.bias = which & 2 ? bias : none;
                    if (which & 2)
                        prepare_bias(bias, Lk);
                    a.c.o.scores_stage = ATTN_STAGE_FINAL;
                    compare(&p, &a);
                    narrow = anew(&a.c);
                    narrow.o = cut(narrow.o, Lk);
                    CHECK_STATUS(attn_kv_cache_attend(narrow.out, narrow.q, &p.over, &narrow.o, &a.ctx), ATTN_OK);
                    CHECK(grid_same_outputs(&a.c, &narrow, GRID_FORWARD));
                    if (which & 2) /* what was spoiled comes into use */
                        test_scatter(bias, test_random());
                }
            }
            test_release();
        }
}

/* Biases by distance, T5's: the view of the whole capacity is as good as that of today's keys. */
TEST(cache_wide_relative)
{
    enum { CAPACITY = 50, LQ = 3, H = 4 };
    static pair p;
    static question a;
    for (int n = 0; n < 3; n++) {
        shape s = {1, 2, CAPACITY, 8, 8, 0};
        attn_mat by_distance = test_random_mat(n == 1 ? ATTN_F16 : ATTN_F32, H, LQ + CAPACITY - 1, PACKED);
        begin(&p, s, kinds[n], kinds[n], IN_LAYERS);
        while (p.lens[0] + 9 <= CAPACITY) {
            append(&p, 9, NULL);
            begin_question(&a, &p, H, LQ, kv_any_isa());
            a.c.o.bias = attn_relative(by_distance, LQ, CAPACITY);
            test_case("%s, %zu keys", test_dtype_name(kinds[n]), p.lens[0]);
            compare(&p, &a);
        }
        test_release();
    }
}

/* Neither as many columns as keys nor as the cache has room for; weights and scores are of today's keys. */
TEST(cache_wide_status)
{
    static pair p;
    for (int ring = 0; ring < 2; ring++) {
        static const size_t widths[] = {0, 2, 8, 10, 11, 12, 13, 14, 16};
        shape s = {1, 1, 12, 4, 4, ring};
        size_t Lk = ring ? 15 : 9;
        attn_ctx ctx = {0};
        question a;
        begin(&p, s, ATTN_F32, ATTN_F32, ANYHOW);
        append(&p, Lk, NULL);
        begin_question(&a, &p, 1, 1, ATTN_ISA_BEST);
        a.c.o.window.on = 1, a.c.o.window.left = 1;
        for (size_t n = 0; n < COUNT(widths); n++) {
            size_t width = widths[n];
            int fits = !ring && width == 12; /* what a ring has room for is less than its keys are many */
            grid_call c = a.c;
            test_case("%zu columns of %zu, ring %d", width, Lk, ring);
            c.o.mask = test_random_tensor(ATTN_BOOL, 1, 1, 1, width, T_BHLD);
            if (fits)
                CHECK_STATUS(attn_kv_cache_attend(c.out, c.q, &p.over, &c.o, NULL), ATTN_OK);
            else
                refuses(&p.over, &c, &ctx, ATTN_ERR_SHAPE, "opts.mask", NULL);
            c = a.c;
            c.o.bias = test_random_tensor(ATTN_F32, 1, 1, 1, width, T_BHLD);
            if (fits)
                CHECK_STATUS(attn_kv_cache_attend(c.out, c.q, &p.over, &c.o, NULL), ATTN_OK);
            else
                refuses(&p.over, &c, &ctx, ATTN_ERR_SHAPE, "opts.bias", NULL);
            c = a.c;
            c.o.weights = test_tensor(ATTN_F32, 1, 1, 1, width, T_BHLD);
            refuses(&p.over, &c, &ctx, ATTN_ERR_SHAPE, "opts.weights", NULL);
            c = a.c;
            c.o.scores = test_tensor(ATTN_F32, 1, 1, 1, width, T_BHLD);
            refuses(&p.over, &c, &ctx, ATTN_ERR_SHAPE, "opts.scores", NULL);
        }
        if (!ring) { /* pages, in all of which there is as much room */
            uint32_t table[12];
            size_t lens[1];
            attn_kv_pages pages = paged(&p, table, lens);
            grid_call c = a.c;
            attn_fault fault = {"nothing", "nothing", ""};
            ctx.fault = &fault;
            for (size_t n = 0; n < COUNT(widths); n++) {
                c.o.mask = test_random_tensor(ATTN_BOOL, 1, 1, 1, widths[n], T_BHLD);
                test_freeze();
                CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, &pages, &c.o, &ctx),
                             widths[n] == 12 ? ATTN_OK : ATTN_ERR_SHAPE);
                CHECK(widths[n] == 12 || (is_fault(fault, "opts.mask", NULL) && test_wrote_nothing()));
            }
            c.o.mask = none;
            c.o.causal = ATTN_CAUSAL_OFFSET;
            CHECK_STATUS(attn_kv_pages_attend(c.out, c.q, &pages, &c.o, &ctx), ATTN_ERR_NULL);
            CHECK(is_fault(fault, "opts.causal_offset", NULL));
        }
        test_release();
    }
}

/* Room for one token: a mask of one column means all keys, were they dropped or not. */
TEST(cache_wide_of_one)
{
    static pair p;
    static question a;
    for (int ring = 0; ring < 2; ring++)
        for (size_t tokens = 0; tokens < (ring ? 4 : 2); tokens++)
            for (int shown = 0; shown < 2; shown++) {
                shape s = {2, 1, 1, 3, 2, ring};
                begin(&p, s, ATTN_F32, ATTN_BF16, ANYHOW);
                append(&p, tokens, NULL);
                begin_question(&a, &p, 2, 1, kv_any_isa());
                a.c.o.mask = test_tensor(ATTN_BOOL, 2, 1, 1, 1, T_BHLD);
                a.c.o.bias = test_random_tensor(ATTN_F16, 1, 2, 1, 1, T_BHLD);
                test_fill_tensor(a.c.o.mask, shown);
                test_case("%zu tokens, ring %d, mask %d", tokens, ring, shown);
                CHECK(sees_lost(&p.over, &a.c) == (shown && tokens > 1));
                compare(&p, &a);
                test_release();
            }
}

/* ---- lost tokens ---- */

/* What a full cache says with the same mask, in every stage of the scores. */
TEST(cache_lost_hidden)
{
    static pair ring, full;
    static question a;
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 3 * 3; n++) {
            shape small = {2, 2, 20, 8, 6, 1}, large = {2, 2, 50, 8, 6, 0};
            size_t lens[2] = {50, 31}, some[2] = {8, 8};
            attn_tensor k = test_random_tensor(ATTN_F32, 2, 2, 50, 8, T_BHLD), mask;
            attn_tensor v = test_random_tensor(ATTN_F32, 2, 2, 50, 6, T_BHLD), rows[4];
            grid_call want;
            begin(&ring, small, kinds[n % 3], kinds[n % 3], ANYHOW);
            begin(&full, large, kinds[n % 3], kinds[n % 3], ANYHOW);
            append_tensors(&ring, k, v, lens, ATTN_OK);
            append_tensors(&full, k, v, lens, ATTN_OK);
            CHECK(ring.first[0] == 30 && ring.first[1] == 11);
            begin_question(&a, &ring, 4, 8, isa);
            mask = test_random_tensor(ATTN_BOOL, 2, n % 2 ? 1 : 4, n / 2 % 2 ? 1 : 8, 50, T_BHLD);
            hide_lost(mask, &ring);
            a.c.o.mask = mask;
            a.c.o.scores_stage = (attn_stage)(n / 3);
            a.c.o.softcap = 2;
            test_case("%s, %s, stage %d", attn_isa_string(isa), test_dtype_name(kinds[n % 3]), n / 3);
            want = anew(&a.c);
            CHECK_STATUS(attn_kv_cache_attend(want.out, want.q, &full.over, &want.o, &a.ctx), ATTN_OK);
            compare(&ring, &a);
            rows[0] = want.o.weights, rows[1] = a.c.o.weights, rows[2] = want.o.scores, rows[3] = a.c.o.scores;
            CHECK(test_same_tensor_bits(want.out, a.c.out) && test_same_tensor_bits(want.o.lse, a.c.o.lse));
            CHECK(test_same_tensor_bits(rows[0], rows[1]));
            for (size_t b = 0; b < 2; b++)
                for (size_t m = 0; m < 4 * 8 * 50; m++) {
                    size_t h = m / 400, i = m / 50 % 8, j = m % 50;
                    real got = test_tensor_get(rows[3], b, h, i, j), other = test_tensor_get(rows[2], b, h, i, j);
                    if (j < ring.first[b])
                        CHECK(test_tensor_get(rows[1], b, h, i, j) == 0 && sdpa_infinite(got) < 0);
                    else
                        CHECK(got == other);
                }
            /* a bias of -infinity hides no lost token: it is known too late */
            a.c.o.bias = test_tensor(ATTN_F32, 1, 1, 1, 50, T_BHLD);
            test_fill_tensor(a.c.o.bias, -HUGE_VAL);
            a.c.o.mask = none;
            refuses(&ring.over, &a.c, &a.ctx, ATTN_ERR_VALUE, "cache.first", NULL);
            a.c.o.mask = mask, a.c.o.bias = none;
            memcpy(a.q_lens, some, sizeof some);
            a.c.o.q_lens = a.q_lens;
            a.c = anew(&a.c);
            compare(&ring, &a);
            test_release();
        }
}

/* One lost token shown to one query of one head of one item, wherever it is: refused; with causal rule or window in
   between, or to a query that is not valid, it is not. */
TEST(cache_lost_shown_once)
{
    enum { LOST = 140, CAPACITY = 30, LQ = 5, H = 4 };
    static pair p;
    static question a;
    shape s = {2, 2, CAPACITY, 4, 3, 1};
    size_t lens[2] = {40, LOST + CAPACITY}, some[2] = {5, 3};
    attn_ctx ctx = {0};
    for (int n = 0; n < (test_quick ? 40 : 300); n++) {
        size_t b = test_below(2), h = test_below(H), i = test_below(LQ);
        size_t lost = b == 0 ? 10 : LOST, j = n % 3 == 0 ? lost - 1 : n % 3 == 1 ? 0 : test_below(lost);
        attn_status want = ATTN_OK;
        if (n % 20 == 0) {
            test_release();
            begin(&p, s, ATTN_F32, ATTN_F32, n / 20 % PLACES);
            append(&p, LOST + CAPACITY, lens);
        }
        begin_question(&a, &p, H, LQ, kv_any_isa());
        a.c.o.mask = test_tensor(ATTN_BOOL, 2, H, LQ, LOST + CAPACITY, (int)test_below(T_OUT_LAYOUTS));
        test_fill_tensor(a.c.o.mask, 1);
        hide_lost(a.c.o.mask, &p);
        test_case("case %d: item %zu, head %zu, query %zu, token %zu", n, b, h, i, j);
        CHECK_STATUS(attn_kv_cache_attend(a.c.out, a.c.q, &p.over, &a.c.o, NULL), ATTN_OK);
        *(unsigned char *)test_tensor_at(a.c.o.mask, b, h, i, j) = (unsigned char)(1 + test_below(255));
        CHECK(sees_lost(&p.over, &a.c));
        refuses(&p.over, &a.c, &ctx, ATTN_ERR_VALUE, "cache.first", NULL);
        switch (n % 4) {
        case 0: /* by the window */
            a.c.o.window.on = 1, a.c.o.window.right = -1;
            a.c.o.window.left = (ptrdiff_t)(lens[b] - LQ + i - j) - 1;
            break;
        case 1: /* by the causal rule */
            a.offsets[0] = a.offsets[1] = LOST + CAPACITY;
            a.offsets[b] = (ptrdiff_t)j - (ptrdiff_t)i - 1;
            a.c.o.causal_offset = a.offsets;
            break;
        case 2: /* by the lengths of the queries */
            memcpy(a.q_lens, some, sizeof some);
            a.c.o.q_lens = a.q_lens;
            a.c.o.causal = ATTN_CAUSAL_NONE;
            want = i < some[b] ? ATTN_ERR_VALUE : ATTN_OK;
            break;
        default: /* by none: a window that begins just there */
            a.c.o.window.on = 1, a.c.o.window.right = -1;
            a.c.o.window.left = (ptrdiff_t)(lens[b] - LQ + i - j);
            want = ATTN_ERR_VALUE;
        }
        CHECK(sees_lost(&p.over, &a.c) == (want != ATTN_OK));
        if (want == ATTN_OK)
            compare(&p, &a);
        else
            refuses(&p.over, &a.c, &ctx, want, "cache.first", NULL);
    }
}

/* One byte of a mask for many: shown to all is shown. */
TEST(cache_lost_broadcast)
{
    static pair p;
    static question a;
    shape s = {2, 2, 12, 4, 3, 1};
    attn_ctx ctx = {0};
    for (int shape_of = 0; shape_of < 16; shape_of++)
        for (int shown = 0; shown < 2; shown++) {
            size_t lens[2] = {12, 30}, B = shape_of & 1 ? 2 : 1, H = shape_of & 2 ? 4 : 1;
            size_t Lq = shape_of & 4 ? 3 : 1, Lk = shape_of & 8 ? 30 : 1;
            begin(&p, s, ATTN_F16, ATTN_F16, ANYHOW);
            append(&p, 30, lens);
            begin_question(&a, &p, 4, 3, kv_any_isa());
            a.c.o.mask = test_tensor(ATTN_BOOL, B, H, Lq, Lk, (int)test_below(T_OUT_LAYOUTS));
            test_fill_tensor(a.c.o.mask, Lk > 1);
            hide_lost(a.c.o.mask, &p);
            if (shown)
                test_tensor_set(a.c.o.mask, B - 1, test_below(H), test_below(Lq), Lk > 1 ? test_below(18) : 0, 1);
            test_case("mask %zu x %zu x %zu x %zu, shown %d", B, H, Lq, Lk, shown);
            CHECK(sees_lost(&p.over, &a.c) == shown);
            if (shown)
                refuses(&p.over, &a.c, &ctx, ATTN_ERR_VALUE, "cache.first", NULL);
            else
                compare(&p, &a);
            test_release();
        }
}

/* Lists of blocks hide too: a lost token is seen if it is listed and the mask shows it. */
TEST(cache_lost_blocks)
{
    static pair p;
    static question a;
    size_t seen = 0, cases = test_quick ? 100 : 800;
    for (size_t n = 0; n < cases; n++) {
        shape s = {2, 1, 16, 4, 3, 1};
        size_t lens[2] = {16, 19 + n % 13};
        begin(&p, s, kinds[n % 3], kinds[n % 3], (int)n % PLACES);
        append(&p, 40, lens);
        begin_question(&a, &p, 2, 4, kv_any_isa());
        add_lists(&a, &p);
        a.c.o.mask = any_broadcast(ATTN_BOOL, &a.c, lens[1]);
        hide_lost(a.c.o.mask, &p);
        if (n % 2 && a.c.o.mask.dim > 1) /* one column of lost tokens is shown */
            for (size_t m = 0; m < a.c.o.mask.batch * a.c.o.mask.heads * a.c.o.mask.len; m++)
                test_tensor_set(a.c.o.mask, m / a.c.o.mask.len / a.c.o.mask.heads,
                                m / a.c.o.mask.len % a.c.o.mask.heads, m % a.c.o.mask.len, n % 3, 1);
        a.c.o.scores_stage = ATTN_STAGE_FINAL;
        test_case("case %zu", n);
        seen += sees_lost(&p.over, &a.c) != 0;
        compare(&p, &a);
        test_release();
    }
    CHECK(seen > cases / 20 && seen < cases / 2);
}

/* ---- statuses, and whose fault it is ---- */

/* What is wrong with a view of rows: another dim is no fault, nor are strides of 0; values may have no elements. */
static attn_status spoil_rows(attn_tensor *t, int kind, int values)
{
    attn_tensor was = *t;
    attn_status want = test_spoil(t, SPOIL_REQUIRED, kind);
    if (kind == SPOIL_DIM)
        *t = was;
    return kind == SPOIL_DIM || (kind == SPOIL_NO_DIM && values) ? ATTN_OK : want;
}

/* Items of a number that overflows with their strides: their lengths are not looked for. */
static void too_many(void *arg)
{
    attn_kv_cache made = {0}, *bad = arg;
    attn_tensor q = test_tensor(ATTN_F32, 1, 3, 1, 6, T_BHLD), out = test_tensor(ATTN_F32, 1, 3, 1, 6, T_BHLD);
    attn_tensor few = test_tensor(ATTN_F32, 1, 3, 1, 6, T_BHLD);
    attn_mat row = test_random_mat(ATTN_F32, 3, 6, PACKED);
    few.batch = q.batch = out.batch = bad->k.batch;
    few.batch_stride = q.batch_stride = 0;
    CHECK_STATUS(attn_kv_cache_over(&made, bad->k, bad->v, bad->lens, NULL), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_kv_cache_append(bad, few, few, NULL), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_kv_cache_copy(bad, 0, 1, 0), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_kv_cache_row(row, bad, 0, 0, 0), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_kv_cache_attend(out, q, bad, NULL, NULL), ATTN_ERR_OVERFLOW);
}

TEST(cache_over_too_many)
{
    attn_kv_cache bad = {0};
    bad.k = test_random_tensor(ATTN_F32, 1, 3, 5, 6, T_BHLD);
    bad.v = test_random_tensor(ATTN_F32, 1, 3, 5, 6, T_BHLD);
    bad.k.batch = bad.v.batch = 4096;
    bad.k.batch_stride = PTRDIFF_MAX / 64;
    bad.lens = test_fenced(sizeof *bad.lens, 0);
    bad.lens[0] = 0;
    CHECK(test_keeps_off_fences(too_many, &bad));
}

TEST(cache_over_status)
{
    size_t *numbers = test_block(5 * sizeof *numbers);
    attn_kv_cache *cache = test_block(sizeof *cache), *inside;
    attn_tensor k = test_random_tensor(ATTN_F32, 2, 3, 5, 6, T_BLHD),
                v = test_random_tensor(ATTN_BF16, 2, 3, 5, 4, T_STEP);
    size_t *lens = numbers, *first = numbers + 2, *askew = (size_t *)(void *)((char *)numbers + 1);
    numbers[0] = 3, numbers[1] = 5, numbers[2] = 0, numbers[3] = 2, numbers[4] = 0;
    test_freeze();
    for (int f = -1; f < SPOILS; f++)
        for (int g = -1; g < SPOILS; g++) {
            attn_tensor some_k = k, some_v = v;
            attn_status of_k = f < 0 ? ATTN_OK : spoil_rows(&some_k, f, 0);
            attn_status of_v = g < 0 ? ATTN_OK : spoil_rows(&some_v, g, 1), want = first_of(of_k, of_v);
            if (want == ATTN_OK || (want == ATTN_ERR_SHAPE && f == g)) /* both are one more: they fit */
                continue;
            test_case("k %d, v %d", f, g);
            CHECK_STATUS(attn_kv_cache_over(cache, some_k, some_v, lens, g % 2 ? first : NULL), want);
            CHECK_STATUS(attn_kv_cache_over(NULL, some_k, some_v, lens, NULL), ATTN_ERR_NULL);
            CHECK_STATUS(attn_kv_cache_over(cache, some_k, some_v, askew, NULL), first_of(want, ATTN_ERR_VALUE));
        }
    for (int n = 0; n < 4; n++) { /* types that go elsewhere */
        attn_tensor wrong = n % 2 ? v : k;
        wrong.dtype = n / 2 ? ATTN_F64 : ATTN_I8;
        test_case("wrong type %d", n);
        CHECK_STATUS(attn_kv_cache_over(cache, n % 2 ? k : wrong, n % 2 ? wrong : v, lens, NULL), ATTN_ERR_DTYPE);
    }
    test_case("arrays");
    CHECK_STATUS(attn_kv_cache_over(cache, k, v, NULL, first), ATTN_ERR_NULL);
    CHECK_STATUS(attn_kv_cache_over(cache, k, v, askew, first), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_kv_cache_over(cache, k, v, lens, askew), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_kv_cache_over(cache, none, none, NULL, NULL), ATTN_ERR_NULL);
    inside = (attn_kv_cache *)(void *)(((uintptr_t)k.data + 15) / 16 * 16);
    CHECK_STATUS(attn_kv_cache_over(inside, k, v, lens, first), ATTN_ERR_ALIAS);
    inside = (attn_kv_cache *)(void *)numbers;
    CHECK_STATUS(attn_kv_cache_over(inside, k, v, lens, first), ATTN_ERR_ALIAS);
    CHECK(test_wrote_nothing());
    CHECK_STATUS(attn_kv_cache_over(cache, k, v, lens, first), ATTN_OK);
}

/* No items, no heads, values of no elements: legal, and of no effect. */
TEST(cache_over_empty)
{
    static const size_t sizes[][3] = {{0, 2, 4}, {2, 0, 4}, {2, 1, 0}, {0, 0, 0}};
    for (size_t n = 0; n < COUNT(sizes); n++) {
        size_t B = sizes[n][0], H = sizes[n][1], Dv = sizes[n][2], lens[2] = {1, 1}, from[2] = {1, 0};
        attn_tensor k = test_random_tensor(ATTN_F16, B, H, 3, 5, T_BLHD),
                    v = test_random_tensor(ATTN_F32, B, H, 3, Dv, 0);
        attn_tensor out = test_tensor(ATTN_F32, B, 2 * H, 1, Dv, T_BHLD);
        attn_kv_cache cache;
        test_case("%zu x %zu, values of %zu", B, H, Dv);
        CHECK_STATUS(attn_kv_cache_over(&cache, k, v, lens, NULL), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_append(&cache, test_random_tensor(ATTN_F32, B, H, 1, 5, T_BHLD),
                                          test_random_tensor(ATTN_F32, B, H, 1, Dv, T_BHLD), NULL),
                     ATTN_OK);
        CHECK(lens[0] == (B ? 2 : 1));
        CHECK_STATUS(attn_kv_cache_reorder(&cache, from), ATTN_OK);
        CHECK_STATUS(attn_kv_cache_copy(&cache, 0, 1, 1), B ? ATTN_OK : ATTN_ERR_VALUE);
        CHECK_STATUS(attn_kv_cache_row(test_mat(ATTN_F32, H, Dv, PACKED), &cache, 1, 1, 0),
                     B ? ATTN_OK : ATTN_ERR_VALUE);
        CHECK_STATUS(
            attn_kv_cache_attend(out, test_random_tensor(ATTN_F32, B, 2 * H, 1, 5, T_BHLD), &cache, NULL, NULL),
            ATTN_OK);
    }
}

/* Numbers that the program has set wrong are found by every function, before anything is written. */
TEST(cache_over_status_lengths)
{
    static const struct {
        size_t lens, first;
        const char *name;
    } cases[] = {{5, 0, "cache.lens"},
                 {SIZE_MAX, 0, "cache.lens"},
                 {(size_t)PTRDIFF_MAX + 1, 0, "cache.lens"},
                 {9, 4, "cache.lens"},
                 {SIZE_MAX, SIZE_MAX - 1, "cache.lens"},
                 {(size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX, "cache.lens"},
                 {3, 4, "cache.first"},
                 {2, SIZE_MAX, "cache.first"},
                 {0, 1, "cache.first"}};
    attn_tensor k = test_random_tensor(ATTN_F32, 2, 1, 4, 6, T_BLHD), row = test_random_tensor(ATTN_F32, 2, 1, 1, 6, 0);
    attn_mat out = test_mat(ATTN_F32, 1, 6, PACKED);
    attn_ctx ctx = {0};
    for (size_t n = 0; n < COUNT(cases); n++)
        for (size_t b = 0; b < 2; b++) {
            size_t *lens = test_block(2 * sizeof *lens), *first = test_block(2 * sizeof *first), from[2] = {1, 0};
            attn_kv_cache cache, made = {0};
            attn_tensor v = test_random_tensor(ATTN_F32, 2, 1, 4, 6, T_BLHD);
            grid_call c;
            memset(&c, 0, sizeof c);
            lens[0] = lens[1] = 2, first[0] = first[1] = 0;
            test_case("item %zu: tokens %zu to %zu", b, cases[n].first, cases[n].lens);
            CHECK_STATUS(attn_kv_cache_over(&cache, k, v, lens, cases[n].first || n % 2 ? first : NULL), ATTN_OK);
            c.q = test_random_tensor(ATTN_F32, 2, 1, 1, 6, T_BHLD), c.out = test_tensor(ATTN_F32, 2, 1, 1, 6, T_BHLD);
            c.o.lse = test_tensor(ATTN_F32, 2, 1, 1, 1, T_BHLD);
            lens[b] = cases[n].lens, first[b] = cases[n].first;
            test_freeze();
            CHECK_STATUS(attn_kv_cache_over(&made, k, v, lens, cache.first), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_kv_cache_append(&cache, row, row, NULL), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_kv_cache_append(&cache, attn_tensor_slice(row, 0, 0), attn_tensor_slice(row, 0, 0), NULL),
                         ATTN_ERR_VALUE);
            CHECK_STATUS(attn_kv_cache_truncate(&cache, b, 1), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_kv_cache_reorder(&cache, from), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_kv_cache_copy(&cache, 0, 1, 0), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_kv_cache_copy(&cache, 1, 0, 1), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_kv_cache_row(out, &cache, b, 0, 1), ATTN_ERR_VALUE);
            CHECK(test_wrote_nothing() && !made.lens);
            refuses(&cache, &c, &ctx, ATTN_ERR_VALUE, cases[n].name, NULL);
            lens[b] = 2, first[b] = 0; /* it can be repaired */
            CHECK_STATUS(attn_kv_cache_attend(c.out, c.q, &cache, &c.o, NULL), ATTN_OK);
        }
}

/* Tokens may have any number up to PTRDIFF_MAX: of a text that has gone on for ever, the last ones. */
TEST(cache_over_far)
{
    attn_tensor k = test_random_tensor(ATTN_F32, 1, 1, 4, 6, T_BLHD), q = test_random_tensor(ATTN_F32, 1, 2, 1, 6, 0);
    attn_tensor near = test_tensor(ATTN_F32, 1, 2, 1, 6, T_BHLD), far = test_tensor(ATTN_F32, 1, 2, 1, 6, T_BHLD);
    size_t lens[1] = {7}, first[1] = {3}, from[1] = {0};
    attn_mat row = test_mat(ATTN_F32, 1, 6, PACKED);
    attn_opts opts = {0};
    attn_kv_cache cache;
    opts.window.on = 1, opts.window.left = 2;
    test_case("the last tokens of all");
    CHECK_STATUS(attn_kv_cache_over(&cache, k, k, lens, first), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_attend(near, q, &cache, &opts, NULL), ATTN_OK);
    lens[0] = (size_t)PTRDIFF_MAX, first[0] = (size_t)PTRDIFF_MAX - 4; /* 7 and 3, but for multiples of 4 */
    CHECK_STATUS(attn_kv_cache_attend(far, q, &cache, &opts, NULL), ATTN_OK);
    CHECK(near_tensors(near, far));
    CHECK_STATUS(attn_kv_cache_row(row, &cache, 0, 0, lens[0] - 1), ATTN_OK);
    CHECK(test_load(test_at(row, 0, 5), ATTN_F32) == test_tensor_get(k, 0, 0, 2, 5));
    CHECK_STATUS(attn_kv_cache_reorder(&cache, from), ATTN_OK);
    CHECK(lens[0] == (size_t)PTRDIFF_MAX && first[0] == (size_t)PTRDIFF_MAX - 4);
    CHECK_STATUS(attn_kv_cache_append(&cache, q, none, NULL), ATTN_ERR_SHAPE);
    CHECK_STATUS(attn_kv_cache_append(&cache, test_random_tensor(ATTN_F32, 1, 1, 1, 6, T_BHLD), none, NULL),
                 ATTN_ERR_OVERFLOW);
    CHECK(lens[0] == (size_t)PTRDIFF_MAX);
}

/* The names of the members of a cache, and of the arguments that meet them. */
TEST(cache_fault_names)
{
    enum { B = 2, LQ = 2, LK = 6, D = 8 };
    for (int n = 0; n < 2; n++) {
        shape s = {B, 1, 9, D, D, 1};
        attn_kv_cache cache = new_cache(s, n ? ATTN_I8 : ATTN_F32), bad, zero = {0};
        attn_tensor k = test_random_tensor(ATTN_F32, B, 1, LK, D, T_BHLD), askew;
        size_t valid[B] = {LQ, LQ};
        char scratch[8];
        attn_ctx ctx = {0}, other = {0};
        grid_call right, c;
        CHECK_STATUS(attn_kv_cache_append(&cache, k, k, NULL), ATTN_OK);
        memset(&right, 0, sizeof right);
        right.q = test_random_tensor(ATTN_F32, B, 2, LQ, D, T_BHLD);
        want_outputs(&right, &cache, WANTS_ALL);
        test_case("%s", test_dtype_name(cache.k.dtype));
#define REFUSES(change, want, argument, met)                                                                           \
    do {                                                                                                               \
        c = right, bad = cache, other = ctx;                                                                           \
        change;                                                                                                        \
        test_case("%s: %s", test_dtype_name(cache.k.dtype), #change);                                                  \
        refuses(&bad, &c, &other, want, argument, met);                                                                \
    } while (0)
        refuses(NULL, &right, &ctx, ATTN_ERR_NULL, "cache", NULL);
        refuses(&zero, &right, &ctx, ATTN_ERR_NULL, "cache", NULL);
        REFUSES(bad.k.data = NULL, ATTN_ERR_NULL, "cache.k", NULL);
        REFUSES(bad.v.data = NULL, ATTN_ERR_NULL, "cache.v", NULL);
        REFUSES(bad.k.dtype = ATTN_BOOL, ATTN_ERR_DTYPE, "cache.k", NULL);
        REFUSES(bad.v.dtype = (attn_dtype)77, ATTN_ERR_DTYPE, "cache.v", NULL);
        REFUSES(bad.v.len--, ATTN_ERR_SHAPE, "cache.v", NULL);
        REFUSES(bad.k.len_stride = PTRDIFF_MAX, ATTN_ERR_OVERFLOW, "cache.k", NULL);
        REFUSES(bad.v.head_stride = bad.v.len_stride = PTRDIFF_MIN, ATTN_ERR_OVERFLOW, "cache.v", NULL);
        REFUSES((bad.lens = (size_t *)(void *)((char *)bad.lens + 1), c.o.weights = c.o.scores = none), ATTN_ERR_VALUE,
                "cache.lens", NULL); /* these lengths say how many columns they have */
        REFUSES((bad.first = (size_t *)(void *)((char *)bad.first + 1), c.o.weights = c.o.scores = none),
                ATTN_ERR_VALUE, "cache.first", NULL);
        if (n) {
            REFUSES(bad.k_scales = NULL, ATTN_ERR_NULL, "cache.k_scales", NULL);
            REFUSES(bad.v_scales = NULL, ATTN_ERR_NULL, "cache.v_scales", NULL);
            REFUSES(bad.v_scales = (float *)(void *)((char *)bad.v_scales + 2), ATTN_ERR_VALUE, "cache.v_scales", NULL);
            REFUSES(c.o.lse.data = cache.k_scales, ATTN_ERR_ALIAS, "opts.lse", "cache.k_scales");
            REFUSES(c.o.lse.data = cache.v_scales, ATTN_ERR_ALIAS, "opts.lse", "cache.v_scales");
        } else {
            REFUSES(bad.k.data = (char *)bad.k.data + 1, ATTN_ERR_VALUE, "cache.k", NULL);
            REFUSES(bad.v.data = (char *)bad.v.data + 2, ATTN_ERR_VALUE, "cache.v", NULL);
        }
        REFUSES(c.out = none, ATTN_ERR_NULL, "out", NULL);
        REFUSES(c.q = none, ATTN_ERR_NULL, "q", NULL);
        REFUSES(c.q.dtype = ATTN_I8, ATTN_ERR_DTYPE, "q", NULL);
        REFUSES(c.out.dtype = ATTN_F64, ATTN_ERR_DTYPE, "out", NULL);
        REFUSES(c.out.len--, ATTN_ERR_SHAPE, "out", NULL);
        REFUSES(c.o.weights.dim--, ATTN_ERR_SHAPE, "opts.weights", NULL);
        REFUSES(c.o.kv_lens = valid, ATTN_ERR_VALUE, "opts.kv_lens", NULL);
        REFUSES(c.o.dropout.p = 0.5, ATTN_ERR_VALUE, "opts.dropout", NULL);
        REFUSES(c.o.sequences = 1, ATTN_ERR_VALUE, "opts.sequences", NULL);
        REFUSES(c.o.causal = (attn_causal)4, ATTN_ERR_VALUE, "opts.causal", NULL);
        REFUSES(other.scratch_size = 9, ATTN_ERR_NULL, "ctx.scratch", NULL);
        REFUSES((other.scratch = scratch, other.scratch_size = 1), ATTN_ERR_NOMEM, "ctx.scratch", NULL);
        askew = attn_tensor_of((void *)(((uintptr_t)cache.k.data + 7) / 8 * 8), ATTN_F32, B, 2, LQ, 1, 1, 2, 4, 1);
        REFUSES(c.o.lse = askew, ATTN_ERR_ALIAS, "opts.lse", "cache.k");
        askew.data = (void *)(((uintptr_t)cache.v.data + 7) / 8 * 8);
        REFUSES(c.o.lse = askew, ATTN_ERR_ALIAS, "opts.lse", "cache.v");
        REFUSES(c.o.lse.data = cache.lens, ATTN_ERR_ALIAS, "opts.lse", "cache.lens");
        REFUSES(c.o.lse.data = cache.first, ATTN_ERR_ALIAS, "opts.lse", "cache.first");
        REFUSES(c.out.data = c.q.data, ATTN_ERR_ALIAS, "out", "q");
        REFUSES(c.out.len_stride = 0, ATTN_ERR_ALIAS, "out", NULL);
#undef REFUSES
        CHECK_STATUS(attn_kv_cache_attend(right.out, right.q, &cache, &right.o, &ctx), ATTN_OK);
        test_release();
    }
}
