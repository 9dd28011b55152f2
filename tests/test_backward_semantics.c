/* What attn_sdpa_backward makes of keys that are hidden, of rows that see nothing, of NaN, of results that were merged,
   and of dimensions of 0. */
#include "sdpa.h"

#if !defined(ATTN_NO_TRAINING)

/* ---- a call with something of everything ---- */

enum { B = 2, H = 4, HKV = 2, GROUP = H / HKV, LQ = 37, LK = 150, D = 9, DV = 11 };

typedef struct setup {
    attn_dtype type;
    attn_isa isa;
    attn_tensor dout, q, k, v, out, lse;
    attn_opts o;
    attn_grads g;
    size_t q_lens[B], kv_lens[B];
    float slopes[H], sinks[H];
} setup;

/* Every item has its lengths, every head its mask and its bias; three of four pairs see each other. */
static void make(setup *s, attn_dtype type, attn_isa isa)
{
    static const setup zero;
    *s = zero;
    s->type = type, s->isa = isa;
    s->q = test_random_tensor(type, B, H, LQ, D, T_BHLD);
    s->k = test_random_tensor(type, B, HKV, LK, D, T_BHLD);
    s->v = test_random_tensor(type, B, HKV, LK, DV, T_BHLD);
    s->dout = test_random_tensor(type, B, H, LQ, DV, T_BHLD);
    s->out = test_tensor(type, B, H, LQ, DV, T_BHLD);
    s->lse = test_tensor(type, B, H, LQ, 1, T_BHLD);
    s->g.dlse = test_random_tensor(type, B, H, LQ, 1, T_BHLD);
    s->o.bias = test_random_tensor(type, B, H, LQ, LK, T_BHLD);
    s->o.mask = test_tensor(ATTN_BOOL, B, H, LQ, LK, T_BHLD);
    for (size_t n = 0; n < (size_t)B * H * LQ * LK; n++)
        ((unsigned char *)s->o.mask.data)[n] = test_below(4) > 0;
    for (size_t h = 0; h < H; h++)
        s->slopes[h] = (float)ldexp(1, -(int)h), s->sinks[h] = (float)test_uniform();
    s->q_lens[0] = LQ, s->q_lens[1] = LQ - 5;
    s->kv_lens[0] = LK, s->kv_lens[1] = LK - 20;
    s->o.q_lens = s->q_lens, s->o.kv_lens = s->kv_lens;
    s->o.alibi_slopes = s->slopes;
}

static attn_ctx context(const setup *s)
{
    attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
    ctx.isa = s->isa;
    return ctx;
}

static void forward(setup *s)
{
    attn_ctx ctx = context(s);
    s->o.lse = s->lse;
    CHECK_STATUS(attn_sdpa(s->out, s->q, s->k, s->v, &s->o, &ctx), ATTN_OK);
}

/* Gradients in fresh memory, which is NaN; of sinks and slopes where there are such. */
static void backward(setup *s)
{
    attn_ctx ctx = context(s);
    attn_tensor bias = s->o.bias;
    s->g.q = test_tensor(s->type, s->q.batch, s->q.heads, s->q.len, s->q.dim, T_BHLD);
    s->g.k = test_tensor(s->type, s->k.batch, s->k.heads, s->k.len, s->k.dim, T_BHLD);
    s->g.v = test_tensor(s->type, s->v.batch, s->v.heads, s->v.len, s->v.dim, T_BHLD);
    if (!test_absent_tensor(bias))
        s->g.bias = test_tensor(s->type, bias.batch, bias.heads, bias.len, bias.dim, T_BHLD);
    s->g.sinks = s->o.sinks ? test_block(s->q.heads * sizeof(float)) : NULL;
    s->g.alibi_slopes = s->o.alibi_slopes ? test_block(s->q.heads * sizeof(float)) : NULL;
    CHECK_STATUS(attn_sdpa_backward(&s->g, s->dout, s->q, s->k, s->v, s->out, s->lse, &s->o, &ctx), ATTN_OK);
}

static void forward_and_back(setup *s)
{
    forward(s);
    backward(s);
}

/* The same call with inputs of its own, to spoil. */
static void copy(setup *to, const setup *s)
{
    *to = *s;
    to->q = test_tensor_like(s->q, T_BHLD), to->k = test_tensor_like(s->k, T_BHLD);
    to->v = test_tensor_like(s->v, T_BHLD), to->dout = test_tensor_like(s->dout, T_BHLD);
    to->out = test_tensor_like(s->out, T_BHLD), to->lse = test_tensor_like(s->lse, T_BHLD);
    to->g.dlse = test_tensor_like(s->g.dlse, T_BHLD);
    to->o.q_lens = to->q_lens, to->o.kv_lens = to->kv_lens;
    to->o.alibi_slopes = s->o.alibi_slopes ? to->slopes : NULL;
    to->o.sinks = s->o.sinks ? to->sinks : NULL;
}

static int sees(const setup *s, size_t b, size_t h, size_t i, size_t j)
{
    return sdpa_sees(&s->o, s->q.len, s->k.len, b, h, i, j);
}

static int same_bits(attn_tensor a, attn_tensor b, size_t n0, size_t h, size_t i, size_t d)
{
    return memcmp(test_tensor_at(a, n0, h, i, d), test_tensor_at(b, n0, h, i, d), test_size(a.dtype)) == 0;
}

#define FOR_EACH_ROW(t, b, h, i)                                                                                       \
    for (size_t b = 0; b < (t).batch; b++)                                                                             \
        for (size_t h = 0; h < (t).heads; h++)                                                                         \
            for (size_t i = 0; i < (t).len; i++)

static int same_slopes(const setup *s, const setup *t)
{
    return memcmp(s->g.alibi_slopes, t->g.alibi_slopes, H * sizeof(float)) == 0;
}

/* Both F32 and F64, on every instruction set. */
#define FOR_EACH_WAY(type, isa)                                                                                        \
    for (attn_dtype type = ATTN_F32; type <= test_wide; type = (attn_dtype)(type + 1))                                  \
        FOR_EACH_ISA (isa)

/* ---- hidden keys ---- */

enum { BY_MASK, BY_BIAS, BY_LENGTH, BY_CAUSAL, BY_WINDOW, BY_MOD, WAYS };

static int is_hidden_key(int way, size_t j)
{
    return way == BY_LENGTH ? j >= 100 : way == BY_CAUSAL || way == BY_WINDOW ? j > 100 : j % 5 == 2 || j > 140;
}

static void hide(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)b, (void)h, (void)i;
    for (size_t n = 0; n < count; n++)
        if (is_hidden_key(BY_MOD, j0 + n)) {
            if (*(attn_dtype *)user == ATTN_F64)
                ((double *)scores)[n] = -HUGE_VAL;
            else
                ((float *)scores)[n] = (float)-HUGE_VAL;
        }
}

static void keep(void *user, void *dscores, const void *before, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)user, (void)dscores, (void)before, (void)count, (void)b, (void)h, (void)i, (void)j0;
}

/* Hides those keys from every row. */
static void hide_keys(setup *s, int way)
{
    FOR_EACH_ROW (s->q, b, h, i)
        for (size_t j = 0; j < LK; j++) {
            if (way == BY_MASK && is_hidden_key(way, j))
                *(unsigned char *)test_tensor_at(s->o.mask, b, h, i, j) = 0;
            if (way == BY_BIAS && is_hidden_key(way, j))
                test_tensor_set(s->o.bias, b, h, i, j, -HUGE_VAL);
        }
    if (way == BY_LENGTH)
        s->kv_lens[0] = s->kv_lens[1] = 100;
    if (way == BY_CAUSAL) /* the last query is at position 100 */
        s->o.causal = ATTN_CAUSAL_LOWER_RIGHT, s->kv_lens[0] = 101, s->kv_lens[1] = 96;
    if (way == BY_WINDOW)
        s->o.window.on = 1, s->o.window.left = 30, s->o.window.right = 100 - (LQ - 1);
    if (way == BY_MOD)
        s->o.score_mod = hide, s->o.score_mod_user = &s->type, s->g.score_mod_grad = keep;
}

/* NaN, infinity or garbage in keys and values that no row sees: their gradient is 0 and all others keep their bits. */
TEST(backward_hidden_keys)
{
    static const double garbage[] = {NAN, HUGE_VAL, -HUGE_VAL, 3e38};
    FOR_EACH_WAY (type, isa)
        for (int way = 0; way < WAYS; way++) {
            setup s, t;
            make(&s, type, isa);
            hide_keys(&s, way);
            forward_and_back(&s);
            for (size_t n = 0; n < sizeof garbage / sizeof *garbage; n++) {
                test_case("%s, %s, hidden in way %d, garbage %d", test_dtype_name(type), attn_isa_string(isa), way,
                          (int)n);
                copy(&t, &s);
                FOR_EACH_ROW (t.k, b, h, j)
                    if (is_hidden_key(way, j))
                        test_fill_row(t.k, b, h, j, garbage[n]), test_fill_row(t.v, b, h, j, garbage[n]);
                backward(&t);
                FOR_EACH_ROW (t.k, b, h, j)
                    if (is_hidden_key(way, j))
                        CHECK(test_row_is(t.g.k, b, h, j, 0) && test_row_is(t.g.v, b, h, j, 0));
                CHECK(test_same_tensor_bits(t.g.q, s.g.q));
                CHECK(test_same_tensor_bits(t.g.k, s.g.k));
                CHECK(test_same_tensor_bits(t.g.v, s.g.v));
                CHECK(test_same_tensor_bits(t.g.bias, s.g.bias));
                CHECK(same_slopes(&t, &s));
            }
            test_release();
        }
}

/* Where a pair is hidden the gradient of its bias is 0, and nowhere else. */
TEST(backward_hidden_pairs)
{
    FOR_EACH_WAY (type, isa) {
        setup s;
        long hidden = 0, wrong = 0;
        make(&s, type, isa);
        s.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
        s.o.alibi_slopes = NULL; /* which makes weights underflow */
        test_case("%s, %s", test_dtype_name(type), attn_isa_string(isa));
        forward_and_back(&s);
        FOR_EACH_ROW (s.q, b, h, i)
            for (size_t j = 0; j < LK; j++) {
                real got = test_tensor_get(s.g.bias, b, h, i, j);
                hidden += !sees(&s, b, h, i, j);
                wrong += sees(&s, b, h, i, j) ? got == 0 : got != 0;
            }
        CHECK(hidden > 0 && wrong == 0);
        test_release();
    }
}

/* Rows past q_lens: nothing of q, dout, out, lse and dlse is looked at. */
TEST(backward_past_lengths)
{
    FOR_EACH_WAY (type, isa) {
        setup s, t;
        make(&s, type, isa);
        s.o.sinks = s.sinks;
        forward_and_back(&s);
        copy(&t, &s);
        test_case("%s, %s", test_dtype_name(type), attn_isa_string(isa));
        FOR_EACH_ROW (t.q, b, h, i)
            if (i >= t.q_lens[b]) {
                attn_tensor all[5];
                all[0] = t.q, all[1] = t.dout, all[2] = t.out, all[3] = t.lse, all[4] = t.g.dlse;
                CHECK(test_row_is(s.g.q, b, h, i, 0));
                for (int n = 0; n < 5; n++)
                    test_fill_row(all[n], b, h, i, n % 2 ? HUGE_VAL : NAN);
            }
        backward(&t);
        CHECK(test_same_tensor_bits(t.g.q, s.g.q));
        CHECK(test_same_tensor_bits(t.g.k, s.g.k));
        CHECK(test_same_tensor_bits(t.g.v, s.g.v));
        CHECK(test_same_tensor_bits(t.g.bias, s.g.bias));
        CHECK(same_slopes(&t, &s));
        CHECK(memcmp(t.g.sinks, s.g.sinks, sizeof s.sinks) == 0);
        test_release();
    }
}

/* ---- rows that see nothing ---- */

static int is_empty_row(size_t i)
{
    return i % 4 == 1 || i > 33;
}

/* Their dq is 0, and whatever q and dout are there changes nothing else, with and without sinks. */
TEST(backward_empty_rows)
{
    FOR_EACH_WAY (type, isa)
        for (int way = 0; way < 4; way++) {
            setup s, t;
            make(&s, type, isa);
            s.o.sinks = way & 1 ? s.sinks : NULL;
            test_case("%s, %s, way %d", test_dtype_name(type), attn_isa_string(isa), way);
            FOR_EACH_ROW (s.q, b, h, i)
                for (size_t j = 0; j < LK && is_empty_row(i); j++)
                    *(unsigned char *)test_tensor_at(s.o.mask, b, h, i, j) = 0;
            forward_and_back(&s);
            copy(&t, &s);
            FOR_EACH_ROW (t.q, b, h, i)
                if (is_empty_row(i))
                    test_fill_row(way & 2 ? t.dout : t.q, b, h, i, NAN);
            backward(&t);
            FOR_EACH_ROW (t.q, b, h, i)
                if (is_empty_row(i))
                    CHECK(test_row_is(s.g.q, b, h, i, 0) && test_row_is(s.g.bias, b, h, i, 0));
            CHECK(test_same_tensor_bits(t.g.q, s.g.q));
            CHECK(test_same_tensor_bits(t.g.k, s.g.k));
            CHECK(test_same_tensor_bits(t.g.v, s.g.v));
            CHECK(test_same_tensor_bits(t.g.bias, s.g.bias));
            CHECK(same_slopes(&t, &s));
            CHECK(way != 1 || memcmp(t.g.sinks, s.g.sinks, sizeof s.sinks) == 0);
            test_release();
        }
}

/* No row sees anything: a sink takes it all, and its gradient is the sum of dlse; a sink of -infinity is none. */
TEST(backward_only_sinks)
{
    FOR_EACH_WAY (type, isa) {
        setup s;
        make(&s, type, isa);
        s.o.sinks = s.sinks;
        s.sinks[2] = (float)-HUGE_VAL;
        memset(s.o.mask.data, 0, (size_t)B * H * LQ * LK);
        test_case("%s, %s", test_dtype_name(type), attn_isa_string(isa));
        forward_and_back(&s);
        for (size_t h = 0; h < H; h++) {
            real sum = 0;
            for (size_t b = 0; b < B; b++)
                for (size_t i = 0; i < s.q_lens[b]; i++)
                    sum += test_tensor_get(s.g.dlse, b, h, i, 0);
            CHECK_NEAR(s.g.sinks[h], h == 2 ? 0 : sum, (LQ * B) * test_ulp(1, ATTN_F32));
            CHECK(s.g.alibi_slopes[h] == 0);
        }
        FOR_EACH_ROW (s.q, b, h, i)
            CHECK(test_row_is(s.g.q, b, h, i, 0) && test_row_is(s.g.bias, b, h, i, 0));
        FOR_EACH_ROW (s.k, b, h, j)
            CHECK(test_row_is(s.g.k, b, h, j, 0) && test_row_is(s.g.v, b, h, j, 0));
        test_release();
    }
}

/* ---- NaN ---- */

enum { IN_Q, IN_DOUT, IN_K, IN_V, IN_LSE, PLACES };

static attn_tensor *nan_place(setup *s, int place)
{
    attn_tensor *const places[PLACES] = {&s->q, &s->dout, &s->k, &s->v, &s->lse};
    return places[place];
}

/* Whether row i of query head h of item b has a NaN in what makes its dS. */
static int row_is_spoilt(const setup *s, int place, size_t b, size_t h, size_t i, const size_t *at)
{
    if (b != at[0] || i >= s->q_lens[b])
        return 0;
    if (place == IN_K || place == IN_V)
        return h / GROUP == at[1] && sees(s, b, h, i, at[2]);
    return h == at[1] && i == at[2];
}

/* Whether a spoilt row sees key j of key/value head h. */
static int key_is_spoilt(const setup *s, int place, size_t b, size_t h, size_t j, const size_t *at)
{
    for (size_t head = h * GROUP; head < (h + 1) * GROUP; head++)
        for (size_t i = 0; i < LQ; i++)
            if (row_is_spoilt(s, place, b, head, i, at) && sees(s, b, head, i, j))
                return 1;
    return 0;
}

/* One NaN spoils the dq of the rows that it is in or that see it, with the dk and dv of what those see; but dv not by
   way of v, and by way of dout only in its column. All else keeps its bits. */
static void check_nan(const setup *s, setup *t, int place, const size_t *at, size_t column)
{
    long bad_q = 0, bad_k = 0, bad_v = 0, bad_bias = 0, spoilt = 0;
    FOR_EACH_ROW (t->q, b, h, i) {
        int nan = row_is_spoilt(s, place, b, h, i, at);
        spoilt += nan;
        bad_q += nan ? !test_row_is(t->g.q, b, h, i, NAN) : !test_same_row(t->g.q, s->g.q, b, h, i);
        for (size_t j = 0; j < LK; j++)
            bad_bias += nan && sees(s, b, h, i, j) ? !isnan(test_tensor_get(t->g.bias, b, h, i, j))
                                                   : !same_bits(t->g.bias, s->g.bias, b, h, i, j);
    }
    FOR_EACH_ROW (t->k, b, h, j) {
        int nan = key_is_spoilt(s, place, b, h, j, at);
        bad_k += nan ? !test_row_is(t->g.k, b, h, j, NAN) : !test_same_row(t->g.k, s->g.k, b, h, j);
        for (size_t d = 0; d < DV; d++)
            bad_v += nan && (place == IN_Q || place == IN_K || place == IN_LSE || (place == IN_DOUT && d == column))
                         ? !isnan(test_tensor_get(t->g.v, b, h, j, d))
                         : !same_bits(t->g.v, s->g.v, b, h, j, d);
    }
    CHECK(spoilt > 0 && bad_q == 0);
    CHECK(bad_k == 0);
    CHECK(bad_v == 0);
    CHECK(bad_bias == 0);
}

TEST(backward_nan)
{
    FOR_EACH_WAY (type, isa)
        for (int place = 0; place < PLACES; place++)
            for (int n = 0; n < (test_quick ? 1 : 4); n++) {
                setup s, t;
                size_t at[3], column = 3;
                attn_tensor in;
                make(&s, type, isa);
                if (n % 2)
                    s.o.causal = ATTN_CAUSAL_LOWER_RIGHT, s.o.window.on = 1, s.o.window.left = 60;
                if (n == 2)
                    s.o.softcap = 5;
                forward_and_back(&s);
                copy(&t, &s);
                at[0] = test_below(B), at[2] = 3 + test_below(28);
                in = *nan_place(&t, place);
                at[1] = test_below(in.heads);
                at[2] += place == IN_K || place == IN_V ? (n % 2 ? 90 : 64) : 0;
                test_case("%s, %s, NaN in %d, options %d, at %d %d %d", test_dtype_name(type), attn_isa_string(isa),
                          place, n, (int)at[0], (int)at[1], (int)at[2]);
                test_tensor_set(in, at[0], at[1], at[2], in.dim > 1 ? column : 0, NAN);
                if (place == IN_Q || place == IN_K || place == IN_V)
                    forward(&t);
                backward(&t);
                check_nan(&s, &t, place, at, column);
                test_release();
            }
}

/* ---- the same mathematics in two ways ---- */

static real largest(attn_tensor t)
{
    real most = 0;
    FOR_EACH_ROW (t, b, h, i)
        for (size_t d = 0; d < t.dim; d++)
            most = fabsl(test_tensor_get(t, b, h, i, d)) > most ? fabsl(test_tensor_get(t, b, h, i, d)) : most;
    return most;
}

static int alike(attn_tensor a, attn_tensor b)
{
    real tolerance = 64 * test_ulp(1, a.dtype) * largest(b);
    FOR_EACH_ROW (a, n, h, i)
        for (size_t d = 0; d < a.dim; d++)
            if (!(fabsl(test_tensor_get(a, n, h, i, d) - test_tensor_get(b, n, h, i, d)) <= tolerance))
                return CHECK_NEAR(test_tensor_get(a, n, h, i, d), test_tensor_get(b, n, h, i, d), tolerance);
    return 1;
}

static int alike_floats(const float *a, const float *b, size_t count)
{
    return alike(attn_bhld(a, ATTN_F32, 1, 1, 1, count), attn_bhld(b, ATTN_F32, 1, 1, 1, count));
}

static int alike_all(const setup *a, const setup *b)
{
    return CHECK(alike(a->g.q, b->g.q)) & CHECK(alike(a->g.k, b->g.k)) & CHECK(alike(a->g.v, b->g.v)) &
           CHECK(alike(a->g.bias, b->g.bias));
}

static attn_tensor keys_of(attn_tensor t, size_t first, size_t count) /* of a mask or bias */
{
    t.data = test_tensor_at(t, 0, 0, 0, first);
    t.dim = count;
    return t;
}

/* out and lse of two halves of the keys, merged: the gradients of the whole. */
TEST(backward_merged)
{
    FOR_EACH_WAY (type, isa) {
        setup s, t, half;
        attn_ctx ctx;
        size_t first = 70, lens[B];
        attn_tensor out = test_tensor(type, B, H, LQ, DV, T_BHLD), lse = test_tensor(type, B, H, LQ, 1, T_BHLD);
        make(&s, type, isa);
        s.o.sinks = s.sinks, s.o.alibi_slopes = NULL;
        forward_and_back(&s);
        copy(&t, &s);
        ctx = context(&s);
        half = t;
        half.o.kv_lens = lens;
        for (int part = 0; part < 2; part++) {
            size_t from = part ? first : 0, count = part ? LK - first : first;
            for (size_t b = 0; b < B; b++)
                lens[b] = part ? s.kv_lens[b] - first : first;
            half.o.mask = keys_of(s.o.mask, from, count), half.o.bias = keys_of(s.o.bias, from, count);
            half.o.sinks = part ? NULL : s.sinks;
            half.o.lse = part ? lse : t.lse;
            CHECK_STATUS(attn_sdpa(part ? out : t.out, t.q, attn_tensor_slice(t.k, from, count),
                                   attn_tensor_slice(t.v, from, count), &half.o, &ctx),
                         ATTN_OK);
        }
        CHECK_STATUS(attn_merge(t.out, t.lse, out, lse), ATTN_OK);
        test_case("%s, %s", test_dtype_name(type), attn_isa_string(isa));
        backward(&t);
        alike_all(&t, &s);
        CHECK(alike_floats(t.g.sinks, s.g.sinks, H));
        test_release();
    }
}

/* A causal rule with any offset, and a window, equal the mask that says the same. */
TEST(backward_cuts)
{
    static const ptrdiff_t offsets[] = {-40, -37, -36, -35, -17, -16, -15, -1, 0,  1,   15,  16,  17,  31,
                                        32,  33,  47,  48,  63,  64,  65,  91, 92, 112, 113, 114, 127, 150};
    for (size_t n = 0; n < sizeof offsets / sizeof *offsets; n += test_quick ? 5 : 1)
        FOR_EACH_WAY (type, isa) {
            setup s, t;
            ptrdiff_t both[B];
            int windowed = (int)(n + (size_t)type) % 2;
            make(&s, type, isa);
            s.o.alibi_slopes = NULL;
            both[0] = offsets[n], both[1] = offsets[n] / 2;
            s.o.causal = ATTN_CAUSAL_OFFSET, s.o.causal_offset = both;
            s.o.window.on = windowed, s.o.window.left = 20, s.o.window.right = -1;
            copy(&t, &s);
            t.o.mask = test_tensor_like(s.o.mask, T_BHLD);
            FOR_EACH_ROW (t.q, b, h, i)
                for (size_t j = 0; j < LK; j++)
                    *(unsigned char *)test_tensor_at(t.o.mask, b, h, i, j) =
                        (unsigned char)sdpa_sees(&s.o, LQ, LK, b, h, i, j);
            t.o.causal = ATTN_CAUSAL_NONE, t.o.causal_offset = NULL, t.o.window.on = 0;
            test_case("%s, %s, offset %d, window %d", test_dtype_name(type), attn_isa_string(isa), (int)offsets[n],
                      windowed);
            forward_and_back(&s);
            forward_and_back(&t);
            alike_all(&t, &s);
            test_release();
        }
}

/* ---- dimensions of 0 ---- */

static int all_are(attn_tensor t, double x)
{
    int same = 1;
    FOR_EACH_ROW (t, b, h, i)
        same &= test_row_is(t, b, h, i, x);
    return same;
}

/* Every gradient, of bias with some dimensions of 1, is written, where nothing can be attended to: zeros, or what was
   there; only sinks still take dlse. */
static void check_empty(attn_dtype type, attn_isa isa, size_t items, size_t Lq, size_t Lk, int accumulate)
{
    float sinks[H] = {1, 2, 3, 4}, slopes[H] = {1, 1, 1, 1}, dsinks[H], dslopes[H];
    for (int bits = 0; bits < 16; bits++) {
        attn_tensor q = test_random_tensor(type, items, H, Lq, D, T_BHLD);
        attn_tensor k = test_random_tensor(type, items, HKV, Lk, D, T_BHLD);
        attn_tensor v = test_random_tensor(type, items, HKV, Lk, DV, T_BHLD);
        attn_tensor out = test_random_tensor(type, items, H, Lq, DV, T_BHLD);
        attn_tensor lse = test_random_tensor(type, items, H, Lq, 1, T_BHLD);
        attn_opts o;
        attn_grads g;
        attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
        real sum[H] = {0};
        ctx.isa = isa;
        memset(&o, 0, sizeof o);
        memset(&g, 0, sizeof g);
        o.sinks = sinks, o.alibi_slopes = slopes, o.lse = lse;
        o.bias = test_random_tensor(type, bits & 1 ? items : 1, bits & 2 ? H : 1, bits & 4 ? Lq : 1, bits & 8 ? Lk : 1,
                                    T_BHLD);
        CHECK_STATUS(attn_sdpa(out, q, k, v, &o, &ctx), ATTN_OK);
        g.q = test_tensor(type, items, H, Lq, D, T_BHLD), g.k = test_tensor(type, items, HKV, Lk, D, T_BHLD);
        g.v = test_tensor(type, items, HKV, Lk, DV, T_BHLD);
        g.bias = test_tensor(type, o.bias.batch, o.bias.heads, o.bias.len, o.bias.dim, T_BHLD);
        g.dlse = test_random_tensor(type, items, H, Lq, 1, T_BHLD);
        g.sinks = dsinks, g.alibi_slopes = dslopes, g.accumulate = accumulate;
        if (accumulate)
            test_fill_tensor(g.q, 7), test_fill_tensor(g.k, 7), test_fill_tensor(g.v, 7), test_fill_tensor(g.bias, 7);
        for (int h = 0; h < H; h++) {
            dsinks[h] = dslopes[h] = accumulate ? 7 : NAN;
            for (size_t b = 0; b < items; b++)
                for (size_t i = 0; i < Lq; i++)
                    sum[h] += test_tensor_get(g.dlse, b, (size_t)h, i, 0);
        }
        test_case("%s, %s, B %d, Lq %d, Lk %d, bias %d, accumulate %d", test_dtype_name(type), attn_isa_string(isa),
                  (int)items, (int)Lq, (int)Lk, bits, accumulate);
        CHECK_STATUS(attn_sdpa_backward(&g, out, q, k, v, out, lse, &o, &ctx), ATTN_OK);
        CHECK(all_are(g.q, accumulate ? 7 : 0) && all_are(g.k, accumulate ? 7 : 0));
        CHECK(all_are(g.v, accumulate ? 7 : 0) && all_are(g.bias, accumulate ? 7 : 0));
        for (int h = 0; h < H; h++) {
            CHECK_NEAR(dsinks[h], sum[h] + (accumulate ? 7 : 0), 64 * test_ulp(1, ATTN_F32));
            CHECK(dslopes[h] == (accumulate ? 7.f : 0.f));
        }
        test_release();
    }
}

TEST(backward_without_rows_or_keys)
{
    FOR_EACH_WAY (type, isa)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            check_empty(type, isa, 2, 5, 0, accumulate);
            check_empty(type, isa, 2, 0, 5, accumulate);
            check_empty(type, isa, 1, 0, 0, accumulate);
            check_empty(type, isa, 0, 5, 6, accumulate);
        }
}

/* Values without elements: what reaches lse is all there is. */
TEST(backward_without_values)
{
    FOR_EACH_WAY (type, isa) {
        setup s, t;
        make(&s, type, isa);
        test_fill_tensor(s.dout, 0);
        s.o.sinks = s.sinks;
        forward_and_back(&s);
        copy(&t, &s);
        t.dout = t.out = attn_bhld(NULL, type, B, H, LQ, 0);
        t.v = attn_bhld(NULL, type, B, HKV, LK, 0);
        test_case("%s, %s", test_dtype_name(type), attn_isa_string(isa));
        backward(&t);
        CHECK(alike(t.g.q, s.g.q) & alike(t.g.k, s.g.k) & alike(t.g.bias, s.g.bias));
        CHECK(alike_floats(t.g.sinks, s.g.sinks, H) & alike_floats(t.g.alibi_slopes, s.g.alibi_slopes, H));
        test_release();
    }
}

/* Sums over a huge batch, or for a huge number of heads, of nothing: they end, and biases and sinks get their 0. */
TEST(backward_huge_and_empty)
{
    static float numbers[64];
    const size_t huge = SIZE_MAX / 2;
    for (int way = 0; way < 8; way++) {
        size_t items = way < 6 ? huge : 1, heads = way < 3 ? 0 : way < 6 ? 1 : huge, rows = way < 3 ? 4 : 0;
        size_t kv_heads = heads > 0 ? 1 : 0;
        attn_tensor q = attn_tensor_of(numbers, ATTN_F32, items, heads, rows, 4, 0, 0, 4, 1);
        attn_tensor k = attn_tensor_of(numbers, ATTN_F32, items, kv_heads, 4, 4, 0, 0, 4, 1);
        attn_tensor lse = attn_tensor_of(numbers, ATTN_F32, items, heads, rows, 1, 0, 0, 1, 1);
        float dsinks[1] = {NAN}, dslopes[1] = {NAN};
        attn_opts o = {0};
        attn_grads g = {0};
        test_case("%d", way);
        g.k = test_tensor(ATTN_F32, 1, kv_heads, 4, 4, T_BHLD);
        if (way < 6) {
            o.bias = attn_bhld(numbers, ATTN_F32, 1, 1, way % 3 == 1 ? 1 : rows, way % 3 == 2 || way == 4 ? 1 : 4);
            g.bias = test_tensor(ATTN_F32, 1, 1, o.bias.len, o.bias.dim, T_BHLD);
            o.sinks = o.alibi_slopes = numbers;
            g.sinks = dsinks, g.alibi_slopes = dslopes;
        }
        CHECK_STATUS(attn_sdpa_backward(&g, q, q, k, k, q, lse, &o, NULL), ATTN_OK);
        CHECK(all_are(g.k, 0) && (way >= 6 || all_are(g.bias, 0)));
        CHECK(way < 3 || way >= 6 || (dsinks[0] == 0 && dslopes[0] == 0));
        test_release();
    }
}

/* ---- numbers at the ends of their range ---- */

/* A NaN is one whatever its lowest bits are: those of a query make NaN of dv too. */
TEST(backward_any_nan)
{
    FOR_EACH_WAY (type, isa)
        for (unsigned low = 0; low < 64; low += 21) {
            setup s;
            uint64_t wide = 0x7ff8000000000000u | low;
            uint32_t narrow = 0x7fc00000u | low;
            const void *nan_bits = type == ATTN_F64 ? (const void *)&wide : (const void *)&narrow;
            make(&s, type, isa);
            memcpy(test_tensor_at(s.q, 1, 2, 3, 4), nan_bits, test_size(type));
            forward_and_back(&s);
            test_case("%s, %s, %u", test_dtype_name(type), attn_isa_string(isa), low);
            for (size_t j = 0; j < LK; j++)
                CHECK(test_row_is(s.g.v, 1, 1, j, NAN) == sees(&s, 1, 2, 3, j));
            test_release();
        }
}

/* Where scores are so huge that those of the forward call and lse differ by much, no weight is above 1. */
TEST(backward_huge_scores)
{
    FOR_EACH_WAY (type, isa)
        for (int e = 10; e < 90; e += 5) {
            setup s;
            make(&s, type, isa);
            s.q = test_random_tensor(type, B, H, LQ, 17, T_BHLD);
            s.k = test_random_tensor(type, B, H, LQ, 17, T_BHLD);
            s.v = test_random_tensor(type, B, H, LQ, DV, T_BHLD);
            for (size_t n = 0; n < (size_t)B * H * LQ; n++)
                for (size_t d = 0; d < 17; d++) {
                    size_t b = n / LQ / H, h = n / LQ % H, i = n % LQ;
                    test_tensor_set(s.q, b, h, i, d, ldexp((double)test_tensor_get(s.q, b, h, i, d), e));
                }
            memset(&s.o, 0, sizeof s.o);
            s.o.window.on = 1; /* each query its own key */
            memset(&s.g, 0, sizeof s.g);
            forward_and_back(&s);
            test_case("%s, %s, 2^%d", test_dtype_name(type), attn_isa_string(isa), e);
            FOR_EACH_ROW (s.g.v, b, h, i)
                for (size_t d = 0; d < DV; d++)
                    CHECK(fabs((double)test_tensor_get(s.g.v, b, h, i, d)) <=
                          fabs((double)test_tensor_get(s.dout, b, h, i, d)) * 1.000001);
            test_release();
        }
}

/* What is summed in double over items, or rows: 1 + 1e-16 is 1, not the double below it. Two queries and keys of score
   -1, which is their lse too: weights are 1, and dS is dlse. In floats it shows where 2^-25 less, which they begin with,
   lies in the middle of two. */
TEST(backward_sums)
{
    static const ptrdiff_t offsets[2] = {1, 1};
    FOR_EACH_ISA (isa)
        for (int rows = 0; rows < 2; rows++) {
            attn_ctx ctx = test_ctx(isa);
            attn_tensor dlse = test_tensor(test_wide, rows ? 1 : 2, 1, rows ? 2 : 1, 1, T_BHLD);
            attn_tensor lse = test_tensor_like(dlse, T_BHLD), q = test_tensor_like(dlse, T_BHLD);
            attn_tensor k = test_tensor(test_wide, dlse.batch, 1, rows ? 2 : 1, 1, T_BHLD);
            attn_mat bias = test_mat(test_wide, 1, 1, PACKED), dbias = test_mat(test_wide, 1, 1, PACKED);
            float slope = 1, sink = -1, dslope = (float)ldexp(1, -25), dsink = -dslope;
            attn_opts o = {0};
            attn_grads g = {0};
            test_case("%s, %s", attn_isa_string(isa), rows ? "rows" : "items");
            test_fill_tensor(q, 0), test_fill_tensor(k, 0), test_fill_tensor(lse, -1);
            test_tensor_set(dlse, 0, 0, 0, 0, 1), test_tensor_set(dlse, !rows, 0, (size_t)rows, 0, 1e-16);
            test_fill(bias, rows ? -1 : 0), test_fill(dbias, 0);
            o.bias = attn_relative(bias, 1, 1);
            o.sinks = &sink, g.sinks = &dsink;
            g.dlse = dlse, g.accumulate = 1;
            if (rows) {
                g.bias = attn_heads(dbias, 1);
            } else {
                g.by_distance = dbias;
                o.causal_offset = offsets;
                o.alibi_slopes = &slope, g.alibi_slopes = &dslope;
            }
            CHECK_STATUS(attn_sdpa_backward(&g, q, q, k, k, q, lse, &o, &ctx), ATTN_OK);
            CHECK_NEAR(attn_mat_get(dbias, 0, 0), rows ? 2 : 1, 0); /* of one key, or two */
            CHECK_NEAR(dsink, 1, 0);
            CHECK(rows || dslope == -1);
            test_release();
        }
}

/* An item with few valid keys has the bits of one in tensors that end there: a longer neighbour changes nothing. */
TEST(backward_padding)
{
    static const size_t lens[] = {1, 7, 10, 19, 40};
    const size_t queries = 5, all = 150, size = 16, wide = 150;
    attn_tensor q = test_random_tensor(ATTN_F32, 1, 2, queries, size, T_BHLD);
    attn_tensor k = test_random_tensor(ATTN_F32, 1, 2, all, size, T_BHLD);
    attn_tensor v = test_random_tensor(ATTN_F32, 1, 2, all, wide, T_BHLD);
    attn_tensor dout = test_random_tensor(ATTN_F32, 1, 2, queries, wide, T_BHLD);
    attn_tensor out = test_tensor(ATTN_F32, 1, 2, queries, wide, T_BHLD);
    attn_tensor lse = test_tensor(ATTN_F32, 1, 2, queries, 1, T_BHLD);
    attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
    for (size_t n = 0; n < sizeof lens / sizeof *lens; n++)
        FOR_EACH_ISA (isa) {
            attn_tensor keys = attn_tensor_slice(k, 0, lens[n]), values = attn_tensor_slice(v, 0, lens[n]);
            attn_grads grads[2];
            attn_opts opts = {0};
            memset(grads, 0, sizeof grads);
            test_case("%zu keys, %s", lens[n], attn_isa_string(isa));
            ctx.isa = isa;
            for (int i = 0; i < 2; i++) {
                grads[i].q = test_tensor(ATTN_F32, 1, 2, queries, size, T_BHLD);
                grads[i].k = test_tensor(ATTN_F32, 1, 2, i ? lens[n] : all, size, T_BHLD);
                grads[i].v = test_tensor(ATTN_F32, 1, 2, i ? lens[n] : all, wide, T_BHLD);
            }
            opts.lse = lse;
            opts.kv_lens = &lens[n];
            CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK);
            CHECK_STATUS(attn_sdpa_backward(&grads[0], dout, q, k, v, out, lse, &opts, &ctx), ATTN_OK);
            opts.kv_lens = NULL;
            CHECK_STATUS(attn_sdpa_backward(&grads[1], dout, q, keys, values, out, lse, &opts, &ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(grads[0].q, grads[1].q));
            CHECK(test_same_tensor_bits(attn_tensor_slice(grads[0].k, 0, lens[n]), grads[1].k));
            CHECK(test_same_tensor_bits(attn_tensor_slice(grads[0].v, 0, lens[n]), grads[1].v));
        }
}

#endif
