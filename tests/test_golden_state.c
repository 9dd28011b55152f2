/* Positions, the multi-head layer and growing sequences against transformers, PyTorch and ONNX Runtime: what they
   compute for the same inputs, see golden/make_state.py. */
#include "golden_layer.h"

/* Which bucket T5 gives each distance first .. last: bucket[n] from starts[n] up to the next start. */
typedef struct golden_buckets {
    const char *name;
    int bidirectional;
    size_t buckets, max_distance;
    ptrdiff_t first, last;
    size_t count;
    const ptrdiff_t *starts;
    const size_t *bucket;
} golden_buckets;

/* T5's bias of Lq queries, the first at position `past`, on Lk keys. */
typedef struct golden_t5 {
    const char *name;
    uint32_t seed;
    int bidirectional;
    size_t buckets, max_distance, H, Lq, Lk, past;
    golden_result bias;
} golden_t5;

/* off: the largest error of a value, relative to it. */
typedef struct golden_frequencies {
    const char *name;
    size_t dim;
    double base;
    attn_rope_scaling scaling;
    double scale, off;
    const double *values;
} golden_frequencies;

typedef struct golden_slopes {
    const char *name;
    size_t H;
    double off;
    const double *values;
} golden_slopes;

typedef struct golden_sinusoid {
    const char *name;
    uint32_t seed;
    size_t D, rows, first;
    golden_result out;
} golden_sinusoid;

/* scaling.factor 0: base alone. opts.positions: [B][L], else opts.offset. */
typedef struct golden_rope {
    const char *name;
    uint32_t seed;
    size_t B, H, L, D;
    attn_rope_opts opts;
    attn_rope_scaling scaling;
    golden_result out;
} golden_rope;

/* With tables of cosines and sines. opts.positions: [B][L], or NULL: row b L + i of the tables is that of token i of
   item b. three: the peer has B x L x (H D). */
typedef struct golden_tables {
    const char *name;
    uint32_t seed;
    size_t B, H, L, D, rows;
    int three;
    attn_rope_opts opts;
    golden_result out;
} golden_tables;

/* Calls of steps[n] rows, of which item b has lens[n * B + b] valid ones (NULL: all). q, k, v and out have the rows of
   all calls, one after the other; k and v of the end have the tokens of the longest item, or a ring's newest. */
typedef struct golden_session {
    const char *name;
    uint32_t seed;
    size_t B, H, Hkv, D, Dv, calls;
    const size_t *steps, *lens;
    int rope;
    attn_rope_opts rotary;
    size_t capacity; /* of the peer's ring, 0 = it kept all */
    attn_opts opts;
    golden_result out, weights, k, v; /* weights: of the last call */
} golden_session;

#include "golden/state.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* In the quick version every fifth case, and nothing long. */
static int skipped(size_t n)
{
    return test_quick && n % 5 != 0;
}

/* ---- T5 ---- */

TEST(golden_t5_buckets)
{
    for (size_t n = 0; n < COUNT(golden_t5_buckets); n++) {
        const golden_buckets *c = &golden_t5_buckets[n];
        size_t distances = (size_t)(c->last - c->first) + 1, at = 0, wrong = 0;
        attn_mat table = test_mat(ATTN_F32, c->buckets, 2, TRANSPOSED), got = test_mat(test_wide, 2, distances, PACKED);
        for (size_t b = 0; b < c->buckets; b++) {
            attn_mat_set(table, b, 0, (double)b);
            attn_mat_set(table, b, 1, -(double)b);
        }
        test_case("%s", c->name);
        CHECK_STATUS(attn_t5_bias(got, table, c->bidirectional, c->max_distance, c->first), ATTN_OK);
        for (size_t m = 0; m < distances; m++) {
            double want;
            if (at + 1 < c->count && c->first + (ptrdiff_t)m == c->starts[at + 1])
                at++;
            want = (double)c->bucket[at];
            if (!(fabs(attn_mat_get(got, 0, m) - want) <= 0 && fabs(attn_mat_get(got, 1, m) + want) <= 0) && !wrong++)
                test_case("%s: distance %ld", c->name, (long)(c->first + (ptrdiff_t)m));
        }
        CHECK(wrong == 0);
        CHECK(at + 1 == c->count);
        test_release();
    }
}

/* Moves numbers of the table, so every bit is the peer's, whatever the types. */
TEST(golden_t5_biases)
{
    for (size_t n = 0; n < COUNT(golden_t5_biases); n++)
        for (size_t t = 0; t < COUNT(test_floats); t++) {
            const golden_t5 *c = &golden_t5_biases[n];
            attn_mat table = t5_table(c->seed, c->buckets, c->H, test_floats[(t + n) % 4], (int)((n + t) % OUT_LAYOUTS)),
                     bias = test_mat(test_floats[t], c->H, c->Lq + c->Lk - 1, (int)(n % OUT_LAYOUTS));
            test_case("%s, %s", c->name, test_dtype_name(test_floats[t]));
            CHECK_STATUS(attn_t5_bias(bias, table, c->bidirectional, c->max_distance % 128,
                                      1 - (ptrdiff_t)c->Lq - (ptrdiff_t)c->past),
                         ATTN_OK); /* 128 as 0, its default */
            golden_check(c->seed, &c->bias, attn_relative(bias, c->Lq, c->Lk), test_floats[t]);
            test_release();
        }
}

/* ---- frequencies, slopes, sinusoids ---- */

/* Ours are rounded a few times in double, by no more than 2^-44 of the value (pow of an exponent below 8, and the
   difference of 1 and a ramp); the peer's f32 are off by what make_state.py has measured. */
TEST(golden_frequencies)
{
    for (size_t n = 0; n < COUNT(golden_rope_frequencies); n++) {
        const golden_frequencies *c = &golden_rope_frequencies[n];
        double *got = test_block(c->dim / 2 * sizeof *got), scale = 99;
        test_case("%s", c->name);
        if (!CHECK_STATUS(
                attn_rope_frequencies(got, c->dim, c->base, c->scaling.factor > 0 ? &c->scaling : NULL, &scale),
                ATTN_OK))
            continue;
        for (size_t d = 0; d < c->dim / 2; d++)
            CHECK_NEAR(got[d], c->values[d], (c->off + ldexp(1, -44)) * fabs(c->values[d]));
        CHECK_NEAR(scale, c->scale, 4 * test_ulp(c->scale, ATTN_F64));
        if (fabs(c->base - 10000) <= 0) { /* the default, and scale not wanted */
            test_fill(attn_mat_of(got, ATTN_F64, 1, c->dim / 2), 99);
            CHECK_STATUS(attn_rope_frequencies(got, c->dim, 0, c->scaling.factor > 0 ? &c->scaling : NULL, NULL),
                         ATTN_OK);
            for (size_t d = 0; d < c->dim / 2; d++)
                CHECK_NEAR(got[d], c->values[d], (c->off + ldexp(1, -44)) * fabs(c->values[d]));
        }
        test_release();
    }
}

/* Ours are rounded to float once: half an ulp is at most 2^-24 of the value. */
TEST(golden_slopes)
{
    for (size_t n = 0; n < COUNT(golden_alibi_slopes); n++) {
        const golden_slopes *c = &golden_alibi_slopes[n];
        float *got = test_block(c->H * sizeof *got);
        test_case("%s", c->name);
        CHECK_STATUS(attn_alibi_slopes(got, c->H), ATTN_OK);
        for (size_t h = 0; h < c->H; h++)
            CHECK_NEAR(got[h], c->values[h], (c->off + ldexp(1, -24)) * c->values[h]);
        test_release();
    }
}

/* Angles below 2^15 are off by at most 2^-37 in double; the results are f32. */
TEST(golden_sinusoids)
{
    for (size_t n = 0; n < COUNT(golden_sinusoids); n++)
        for (size_t t = 0; t < COUNT(test_floats); t++) {
            const golden_sinusoid *c = &golden_sinusoids[n];
            attn_mat out = test_mat(test_floats[t], c->rows, c->D, (int)((n + t) % OUT_LAYOUTS));
            test_case("%s, %s", c->name, test_dtype_name(test_floats[t]));
            CHECK_STATUS(attn_sinusoid(out, c->first), ATTN_OK);
            golden_check(c->seed, &c->out, attn_heads(out, 1), ATTN_F64);
            test_release();
        }
}

/* ---- rotations ---- */

/* The positions of a case in the caller's strides: 0 packed, 1 spread, 2 from the last to the first. */
static void place(attn_rope_opts *opts, const golden_rope *c, int how)
{
    ptrdiff_t L = (ptrdiff_t)c->L,
              across = how == 0   ? L
                       : how == 1 ? 3 * L + 2
                                  : -2 * L,
              along = how == 1 ? 3 : 1 - how;
    ptrdiff_t *all = test_block(4 * c->B * c->L * sizeof *all + 2 * c->B * sizeof *all), *first = all;
    if (how == 2)
        first = all + 4 * c->B * c->L - 1, along = -2;
    else if (how == 0)
        along = 1;
    for (size_t b = 0; b < c->B; b++)
        for (size_t i = 0; i < c->L; i++)
            first[(ptrdiff_t)b * across + (ptrdiff_t)i * along] = c->opts.positions[b * c->L + i] - 1000;
    opts->positions = first;
    opts->position_batch_stride = how == 0 ? 0 : across;
    opts->position_len_stride = how == 0 ? 0 : along;
    opts->offset = 1000;
}

static void check_rope(const golden_rope *c, attn_dtype dtype, int layout, int in_place)
{
    attn_rope_opts opts = c->opts;
    attn_tensor in = golden_filled(c->seed, GOLDEN_Q, test_tensor(dtype, c->B, c->H, c->L, c->D, layout));
    attn_tensor out = in_place ? in : test_tensor(dtype, c->B, c->H, c->L, c->D, (layout + 3) % T_OUT_LAYOUTS);
    size_t dim = c->opts.dim ? c->opts.dim : c->D;
    if (opts.positions)
        place(&opts, c, layout % 3);
    if (c->scaling.factor > 0) {
        double *own = test_block(dim / 2 * sizeof *own);
        CHECK_STATUS(attn_rope_frequencies(own, dim, opts.base, &c->scaling, &opts.scale), ATTN_OK);
        opts.frequencies = own;
        opts.base = 2; /* not used then */
    }
    test_case("%s, %s, layout %d%s", c->name, test_dtype_name(dtype), layout, in_place ? ", in place" : "");
    CHECK_STATUS(attn_rope(out, in, &opts), ATTN_OK);
    golden_check(c->seed, &c->out, out, ATTN_F64); /* computed in double whatever the type */
    test_release();
}

TEST(golden_rotations)
{
    for (size_t n = 0; n < COUNT(golden_rotations); n++) {
        const golden_rope *c = &golden_rotations[n];
        for (int in_place = 0; in_place < 2; in_place++) {
            int layout = (int)(n + 5 * (size_t)in_place) % T_OUT_LAYOUTS;
            check_rope(c, ATTN_F32, layout, in_place);
            check_rope(c, test_wide, (layout + 1) % T_OUT_LAYOUTS, in_place);
            check_rope(c, n % 2 ? ATTN_F16 : ATTN_BF16, (layout + 2) % T_OUT_LAYOUTS, in_place);
        }
    }
}

/* The tables of ONNX's operator; what it leaves out, position_ids, are rows in order. */
static void check_tables(const golden_tables *c, attn_dtype dtype, attn_dtype of_tables, int layout)
{
    attn_rope_opts opts = c->opts;
    size_t pairs = (c->opts.dim ? c->opts.dim : c->D) / 2;
    attn_tensor in = golden_filled(c->seed, GOLDEN_Q,
                                   test_tensor(dtype, c->B, c->H, c->L, c->D, c->three ? T_BLHD : layout)),
                out = test_tensor(dtype, c->B, c->H, c->L, c->D, layout);
    opts.cos = test_mat(of_tables, c->rows, pairs, layout % OUT_LAYOUTS);
    opts.sin = test_mat(of_tables, c->rows, pairs, (layout + 1) % OUT_LAYOUTS);
    golden_filled(c->seed, GOLDEN_K, attn_heads(opts.cos, 1));
    golden_filled(c->seed, GOLDEN_V, attn_heads(opts.sin, 1));
    if (!opts.positions) {
        ptrdiff_t *in_order = test_block(c->rows * sizeof *in_order);
        for (size_t n = 0; n < c->rows; n++)
            in_order[n] = (ptrdiff_t)n;
        opts.positions = in_order;
    }
    test_case("%s, %s with tables of %s, layout %d", c->name, test_dtype_name(dtype), test_dtype_name(of_tables),
              layout);
    CHECK_STATUS(attn_rope(out, in, &opts), ATTN_OK);
    golden_check(c->seed, &c->out, out, ATTN_F64);
    CHECK_STATUS(attn_rope(in, in, &opts), ATTN_OK);
    CHECK(test_same_tensor_bits(in, out));
    test_release();
}

TEST(golden_rotations_by_tables)
{
    for (size_t n = 0; n < COUNT(golden_rotations_by_tables); n++)
        for (size_t t = 0; t < COUNT(test_floats); t++)
            check_tables(&golden_rotations_by_tables[n], test_floats[t], test_floats[(t + n) % 4],
                         (int)(n + 3 * t) % T_OUT_LAYOUTS);
}

/* ---- the multi-head layer ---- */

/* T5's bias for the queries of a layer, which are its last Lq tokens. */
static attn_tensor layer_t5_bias(const golden_layer *c, attn_dtype dtype)
{
    attn_mat table = t5_table(c->seed, c->buckets, c->H, dtype, PACKED),
             by_distance = test_mat(dtype, c->H, c->Lq + c->Lk - 1, PACKED);
    CHECK_STATUS(attn_t5_bias(by_distance, table, !c->decoder, c->max_distance, 1 - (ptrdiff_t)c->Lk), ATTN_OK);
    return attn_relative(by_distance, c->Lq, c->Lk);
}

static void check_layer(const golden_layer *c, attn_dtype dtype, int layout)
{
    attn_dtype compute = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    attn_mha_weights weights = layer_weights(c, dtype);
    attn_opts opts = c->opts;
    attn_tensor k = golden_filled(c->seed, GOLDEN_K, test_tensor(dtype, c->B, 1, c->Lk, c->Ek, layout)), v = k, q,
                out = test_tensor(dtype, c->B, 1, c->Lq, c->E, (layout + 1) % T_OUT_LAYOUTS);
    if (c->same)
        q = attn_tensor_slice(k, c->Lk - c->Lq, c->Lq);
    else {
        v = golden_filled(c->seed, GOLDEN_V, test_tensor(dtype, c->B, 1, c->Lk, c->Ev, (layout + 2) % T_OUT_LAYOUTS));
        q = golden_filled(c->seed, GOLDEN_Q, test_tensor(dtype, c->B, 1, c->Lq, c->E, (layout + 3) % T_OUT_LAYOUTS));
    }
    opts.mask = golden_patterned(c->seed, &c->mask, ATTN_BOOL, layout);
    opts.bias = c->buckets ? layer_t5_bias(c, dtype) : golden_patterned(c->seed, &c->bias, dtype, layout);
    if (c->weights.count || c->mean.count)
        opts.weights = test_tensor(compute, c->B, c->mean.count ? 1 : c->H, c->Lq, c->Lk, layout);
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        test_case("%s, %s, layout %d, %s", c->name, test_dtype_name(dtype), layout, attn_isa_string(isa));
        test_fill_tensor(out, 99);
        test_fill_tensor(opts.weights, 99);
        if (CHECK_STATUS(attn_mha(out, q, k, v, &weights, &opts, &ctx), ATTN_OK)) {
            golden_check(c->seed, &c->out, out, compute);
            golden_check(c->seed, c->mean.count ? &c->mean : &c->weights, opts.weights, compute);
        }
    }
    test_release();
}

static void check_layers(const golden_layer *cases, size_t count, int f64)
{
    for (size_t n = 0; n < count; n++) {
        int layout = (int)(n % T_OUT_LAYOUTS);
        if (skipped(n))
            continue;
        check_layer(&cases[n], ATTN_F32, layout);
        if (f64)
            check_layer(&cases[n], test_wide, (layout + 1) % T_OUT_LAYOUTS);
        check_layer(&cases[n], n % 4 < 2 ? ATTN_F16 : ATTN_BF16, (layout + 2) % T_OUT_LAYOUTS);
    }
}

TEST(golden_layers)
{
    check_layers(golden_layers_f64, COUNT(golden_layers_f64), 1);
    check_layers(golden_layers_f32, COUNT(golden_layers_f32), 0);
    check_layers(golden_layers_t5, COUNT(golden_layers_t5), 1);
}

/* ---- growing sequences ---- */

enum { SESSION_PEER, SESSION_ROOMY, SESSION_RING, SESSION_SMALL_RING, SESSION_CACHES };

/* How many tokens a cache of this kind holds; 0: such a session has none. A ring as large as the peer's is in the place
   of the peer's; a roomy one is no ring, larger than it need be; another holds what the window shows to the longest
   call; the small one only what it shows to the calls after the first. */
static size_t session_capacity(const golden_session *c, int kind, size_t tokens)
{
    size_t left = (size_t)c->opts.window.left, longest = 0;
    if (kind == SESSION_PEER)
        return c->capacity ? c->capacity : tokens;
    if (kind == SESSION_ROOMY)
        return tokens + 7;
    if (!c->opts.window.on)
        return kind == SESSION_RING ? tokens : 0;
    for (size_t n = kind == SESSION_SMALL_RING; n < c->calls; n++)
        longest = c->steps[n] > longest ? c->steps[n] : longest;
    return left + longest;
}

/* Rows first .. first + L - 1 of all those of a session. */
static attn_tensor session_rows(const golden_session *c, unsigned tag, attn_dtype dtype, size_t first, size_t L,
                                int layout)
{
    size_t H = tag == GOLDEN_Q ? c->H : c->Hkv, D = tag == GOLDEN_V ? c->Dv : c->D, T = 0;
    attn_tensor t = test_tensor(dtype, c->B, H, L, D, layout);
    for (size_t n = 0; n < c->calls; n++)
        T += c->steps[n];
    for (size_t n = 0; n < golden_elements(t); n++) {
        size_t d = n % D, i = n / D % L, bh = n / D / L;
        test_tensor_set(t, GOLDEN_PLACE(t, n), golden_number(c->seed, tag, (bh * T + first + i) * D + d));
    }
    return t;
}

/* What a cache holds of each item's tokens from..most - 1; zeros past an item's own. */
static attn_tensor session_kept(const attn_kv_cache *cache, attn_tensor rows, size_t from, size_t most)
{
    attn_tensor t = test_tensor(test_wide, rows.batch, rows.heads, most - from, rows.dim, T_BHLD);
    for (size_t n = 0; n < golden_elements(t); n++) {
        size_t d = n % t.dim, j = from + n / t.dim % t.len, h = n / t.dim / t.len % t.heads,
               b = n / t.dim / t.len / t.heads;
        double x = 0;
        if (j < cache->lens[b] && CHECK(j >= cache->first[b]))
            x = (double)test_tensor_get(rows, b, h, j % rows.len, d);
        test_tensor_set(t, GOLDEN_PLACE(t, n), x);
    }
    return t;
}

static void session_rotate(const golden_session *c, attn_tensor t, const attn_kv_cache *cache)
{
    attn_rope_opts opts = c->rotary;
    ptrdiff_t *positions = test_block(c->B * t.len * sizeof *positions);
    for (size_t n = 0; n < c->B * t.len; n++)
        positions[n] = (ptrdiff_t)(cache->lens[n / t.len] + n % t.len);
    opts.positions = positions;
    CHECK_STATUS(attn_rope(t, t, &opts), ATTN_OK);
}

/* Key and value rows are rounded to the cache's type: `dtype` is one that holds them exactly, unless they are rotated.
   16-bit queries would be rounded when rotated; without rotation they too are exact. */
static void check_session(const golden_session *c, int kind, attn_dtype dtype, attn_dtype q_dtype, attn_isa isa)
{
    attn_ctx ctx = test_ctx(isa);
    attn_kv_cache cache;
    attn_tensor all, absent = {0};
    size_t rows = 0, tokens = 0, first = 0, capacity, bytes = 0, layout = c->seed % T_OUT_LAYOUTS;
    int ring = kind == SESSION_RING || kind == SESSION_SMALL_RING || (kind == SESSION_PEER && c->capacity);
    for (size_t n = 0; n < c->calls; n++)
        rows += c->steps[n];
    for (size_t b = 0; b < c->B; b++) {
        size_t own = 0;
        for (size_t n = 0; n < c->calls; n++)
            own += c->lens ? c->lens[n * c->B + b] : c->steps[n];
        tokens = own > tokens ? own : tokens;
    }
    capacity = session_capacity(c, kind, tokens);
    if (capacity == 0)
        return;
    test_case("%s: %s, %s %zu, %s", c->name, test_dtype_name(dtype), ring ? "ring of" : "room for", capacity,
              attn_isa_string(isa));
    CHECK_STATUS(attn_kv_cache_size(&bytes, c->B, c->Hkv, capacity, c->D, c->Dv, dtype, ring), ATTN_OK);
    if (!CHECK_STATUS(attn_kv_cache_init(&cache, c->B, c->Hkv, capacity, c->D, c->Dv, dtype, ring,
                                         kind == SESSION_ROOMY ? NULL : test_block(bytes),
                                         kind == SESSION_ROOMY ? 0 : bytes),
                      ATTN_OK))
        return;
    all = test_tensor(ATTN_F32, c->B, c->H, rows, c->Dv, T_BHLD);
    for (size_t n = 0; n < c->calls; first += c->steps[n++]) {
        size_t L = c->steps[n];
        const size_t *lens = c->lens ? c->lens + n * c->B : NULL;
        attn_opts opts = c->opts;
        attn_tensor q = session_rows(c, GOLDEN_Q, q_dtype, first, L, (int)layout),
                    k = session_rows(c, GOLDEN_K, dtype, first, L, (int)(layout + n) % T_OUT_LAYOUTS),
                    v = session_rows(c, GOLDEN_V, dtype, first, L, (int)(layout + 2 * n) % T_OUT_LAYOUTS),
                    out = attn_tensor_slice(all, first, L);
        opts.q_lens = lens;
        if (c->rope) {
            session_rotate(c, q, &cache);
            session_rotate(c, k, &cache);
        }
        if (n + 1 == c->calls && c->weights.count)
            opts.weights = test_tensor(ATTN_F32, c->B, c->H, L, tokens, (int)layout);
        if (ring && c->opts.window.on && (size_t)c->opts.window.left + L > capacity) {
            opts.kv_lens = lens; /* more than the ring holds: attend first */
            CHECK(n == 0);
            CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_append(&cache, k, v, lens), ATTN_OK);
        } else {
            CHECK_STATUS(attn_kv_cache_append(&cache, k, v, lens), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, &opts, &ctx), ATTN_OK);
        }
        golden_check(c->seed, n + 1 == c->calls ? &c->weights : &(golden_result){0}, opts.weights, ATTN_F32);
    }
    golden_check(c->seed, &c->out, all, ATTN_F32);
    if (kind == SESSION_PEER || kind == SESSION_ROOMY || !c->opts.window.on) {
        size_t from = c->capacity && tokens > c->capacity ? tokens - c->capacity : 0;
        golden_check(c->seed, &c->k, session_kept(&cache, cache.k, from, tokens), ATTN_F32);
        golden_check(c->seed, &c->v, session_kept(&cache, cache.v, from, tokens), ATTN_F32);
    }
    attn_kv_cache_free(&cache);
    CHECK(cache.own == NULL && test_absent_tensor(cache.k) && !memcmp(&cache.v, &absent, sizeof absent));
    test_release();
}

static void check_sessions(const golden_session *cases, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const golden_session *c = &cases[n];
        if (skipped(n) || (test_quick && c->steps[0] > 100))
            continue;
        FOR_EACH_ISA (isa)
            for (int kind = 0; kind < SESSION_CACHES; kind++) {
                attn_dtype narrow = (n + (size_t)kind) % 2 ? ATTN_F16 : ATTN_BF16;
                check_session(c, kind, ATTN_F32, ATTN_F32, isa);
                if (!c->rope)
                    check_session(c, kind, narrow, n % 3 ? ATTN_F32 : ATTN_F16, isa);
            }
    }
}

TEST(golden_sessions)
{
    check_sessions(golden_sessions_f64, COUNT(golden_sessions_f64));
    check_sessions(golden_sessions_f32, COUNT(golden_sessions_f32));
}
