/* The recipes, each against loops in double that say what it is for. recipes.h is their code, as it stands in
   examples/recipes.md: the Makefile takes it from there. */
#include "sdpa.h"

#include "recipes.h"

/* ---- the reference: one query in dull loops, numbers of every type read as double ---- */

static double largest_score, largest_value; /* that row() has met in this test */

static double at(attn_tensor t, size_t b, size_t h, size_t i, size_t d)
{
    return (double)test_tensor_get(t, b, h, i, d);
}

/* What one query makes of keys with these scores: weights[Lk], of which those that it does not see are 0, in a
   denominator that has `more` beside them; returns the denominator. sees may be NULL: all. */
static double row(double *weights, const double *scores, size_t Lk, const unsigned char *sees, double more)
{
    double sum = more;
    for (size_t j = 0; j < Lk; j++)
        if (!sees || sees[j]) {
            sum += exp(scores[j]);
            largest_score = fmax(largest_score, fabs(scores[j]));
        }
    for (size_t j = 0; j < Lk; j++)
        weights[j] = !sees || sees[j] ? exp(scores[j]) / sum : 0;
    return sum;
}

/* scores[j] = scale q k_j for query i of head h of item b. */
static void score(double *scores, attn_tensor q, attn_tensor k, size_t b, size_t h, size_t i, double scale)
{
    for (size_t j = 0; j < k.len; j++) {
        scores[j] = 0;
        for (size_t d = 0; d < q.dim; d++)
            scores[j] += scale * at(q, b, h, i, d) * at(k, b, h / (q.heads / k.heads), j, d);
    }
}

/* Element d of the mean of the values of group g of item b. */
static double mean(const double *weights, attn_tensor v, size_t b, size_t g, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < v.len; j++)
        if (weights[j] > 0) {
            sum += weights[j] * at(v, b, g, j, d);
            largest_value = fmax(largest_value, fabs(at(v, b, g, j, d)));
        }
    return sum;
}

/* One element of `out` against `want`. A score is off by some roundings of its size, a weight by as much relative to
   it, and a mean of values by as much as its weights: with 16 for all that are in a row, 16 * 2^-24 (1 + largest score)
   largest value. */
static void check_near(attn_tensor out, size_t b, size_t h, size_t i, size_t d, double want)
{
    test_case("item %d, head %d, row %d, element %d", (int)b, (int)h, (int)i, (int)d);
    CHECK_NEAR(test_tensor_get(out, b, h, i, d), (real)want,
               (real)(8 * FLT_EPSILON * (1 + largest_score) * largest_value));
}

/* Row i of head h of item b against plain attention to the keys that it sees. */
static void check_row(attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v, size_t b, size_t h, size_t i,
                      const unsigned char *sees, double more)
{
    double scores[64], weights[64];
    CHECK(k.len <= 64);
    score(scores, q, k, b, h, i, 1 / sqrt((double)q.dim));
    row(weights, scores, k.len, sees, more);
    for (size_t d = 0; d < out.dim; d++)
        check_near(out, b, h, i, d, mean(weights, v, b, h / (q.heads / v.heads), d));
}

static void begin(void)
{
    largest_score = largest_value = 0;
}

static void *copy_of(const void *data, size_t size)
{
    return memcpy(test_block(size), data, size);
}

static attn_tensor random_blhd(size_t B, size_t L, size_t H, size_t D)
{
    attn_tensor t = attn_blhd(test_block(B * L * H * D * sizeof(float)), ATTN_F32, B, L, H, D);
    test_scatter(t, test_random());
    return t;
}

/* ---- the recipes ---- */

/* Every layer and token of llama2.c's caches, of which the tokens to come hold NaN. */
TEST(recipes_cache_in_place)
{
    enum { LAYERS = 3, H = 4, HKV = 2, L = 9, D = 8, KV = HKV * D };
    attn_tensor keys = test_random_tensor(ATTN_F32, 1, LAYERS, L, KV, T_BHLD);
    attn_tensor values = test_random_tensor(ATTN_F32, 1, LAYERS, L, KV, T_BHLD), out = random_blhd(1, 1, H, D);
    float *key_cache = test_block(LAYERS * L * KV * sizeof *key_cache); /* NaN */
    float *value_cache = test_block(LAYERS * L * KV * sizeof *value_cache);

    begin();
    for (size_t pos = 0; pos < L; pos++)
        for (size_t layer = 0; layer < LAYERS; layer++) {
            attn_tensor q = random_blhd(1, 1, H, D);
            size_t at_layer = layer * L * KV, row_at = at_layer + pos * KV;
            memcpy(key_cache + row_at, (float *)keys.data + row_at, KV * sizeof(float));
            memcpy(value_cache + row_at, (float *)values.data + row_at, KV * sizeof(float));
            CHECK_STATUS(attend_in_place(out.data, q.data, key_cache, value_cache, layer, pos, L, H, HKV, D, NULL),
                         ATTN_OK);
            for (size_t h = 0; h < H; h++)
                check_row(out, q, attn_blhd((float *)keys.data + at_layer, ATTN_F32, 1, pos + 1, HKV, D),
                          attn_blhd((float *)values.data + at_layer, ATTN_F32, 1, pos + 1, HKV, D), 0, h, 0, NULL, 0);
        }
    { /* a token beyond the cache, and who is to blame in a step that fails */
        attn_fault fault = {NULL, NULL, ""};
        attn_ctx ctx = {.fault = &fault};
        float *q = out.data;
        CHECK_STATUS(attend_in_place(out.data, q, key_cache, value_cache, 0, L, L, H, HKV, D, &ctx), ATTN_ERR_VALUE);
        CHECK_STATUS(attend_in_place(out.data, q, key_cache, value_cache, 0, 0, L, H, HKV, D, &ctx), ATTN_ERR_ALIAS);
        CHECK(fault.argument && strcmp(fault.argument, "out") == 0 && fault.other && strcmp(fault.other, "q") == 0);
    }
}

/* Keys and values of every head made from the latents, which is what the recipe leaves out. */
TEST(recipes_mla)
{
    enum { H = 3, L = 4, LK = 11, N = 12, P = 6, R = 20, DV = 8 };
    static const int layouts[] = {T_BHLD, T_BLHD, T_SLICE, T_TURNED};
    for (size_t n = 0; n < sizeof layouts / sizeof layouts[0]; n++) {
        int layout = layouts[n];
        attn_tensor q = test_random_tensor(ATTN_F32, 1, H, L, N, layout);
        attn_tensor wide = test_random_tensor(ATTN_F32, 1, H, L, R + P, layout);
        attn_tensor cache = test_random_tensor(ATTN_F32, 1, 1, LK, R + P, layout);
        attn_tensor out = test_tensor(ATTN_F32, 1, H, L, DV, layout), mixed = test_tensor(ATTN_F32, 1, H, L, R, layout);
        attn_mat kv_b = test_random_mat(ATTN_F32, H * (N + DV), R, PACKED);
        float *weight = kv_b.data;
        attn_tensor w_uk = attn_tensor_of(weight, ATTN_F32, 1, H, N, R, 0, (N + DV) * R, R, 1);
        attn_tensor w_uv = attn_tensor_of(weight + N * R, ATTN_F32, 1, H, R, DV, 0, (N + DV) * R, 1, R), none = {0};

        begin();
        CHECK_STATUS(mla(out, q, wide, cache, w_uk, w_uv, mixed), ATTN_OK);
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < L; i++) {
                double scores[LK], weights[LK], values[LK][DV];
                unsigned char sees[LK];
                for (size_t j = 0; j < LK; j++) {
                    double sum = 0;
                    for (size_t m = 0; m < N + DV; m++) { /* rows of kv_b_proj: the key's elements, the value's */
                        double element = 0;
                        for (size_t r = 0; r < R; r++)
                            element += attn_mat_get(kv_b, h * (N + DV) + m, r) * at(cache, 0, 0, j, r);
                        if (m < N)
                            sum += at(q, 0, h, i, m) * element;
                        else
                            values[j][m - N] = element;
                    }
                    for (size_t p = 0; p < P; p++)
                        sum += at(wide, 0, h, i, R + p) * at(cache, 0, 0, j, R + p);
                    scores[j] = sum / sqrt((double)(N + P));
                    sees[j] = j <= i + LK - L;
                }
                row(weights, scores, LK, sees, 0);
                for (size_t d = 0; d < DV; d++) {
                    double want = 0;
                    for (size_t j = 0; j < LK; j++) {
                        want += weights[j] * values[j][d];
                        largest_value = fmax(largest_value, fabs(values[j][d]));
                    }
                    check_near(out, 0, h, i, d, want);
                }
            }
        test_case("a step that fails");
        CHECK_STATUS(mla(out, q, wide, cache, none, w_uv, mixed), ATTN_ERR_NULL);
        CHECK_STATUS(mla(out, q, wide, attn_tensor_slice(cache, 0, 99), w_uk, w_uv, mixed), ATTN_ERR_NULL);
        CHECK_STATUS(mla(out, q, wide, cache, w_uk, none, mixed), ATTN_ERR_NULL);
    }
}

/* The heads with these parities, seen with twice the stride. */
static attn_tensor parity(attn_tensor t, size_t odd)
{
    return attn_tensor_of(test_tensor_at(t, 0, odd, 0, 0), t.dtype, t.batch, t.heads / 2, t.len, t.dim, t.batch_stride,
                          2 * t.head_stride, t.len_stride, t.dim_stride);
}

TEST(recipes_differential)
{
    enum { B = 2, H = 4, HKV = 2, L = 5, D = 8, DV = 16 };
    const float lambda = 0.375f;
    attn_tensor q = test_random_tensor(ATTN_F32, B, 2 * H, L, D, T_BLHD);
    attn_tensor k = test_random_tensor(ATTN_F32, B, 2 * HKV, L, D, T_BHLD);
    attn_tensor v = test_random_tensor(ATTN_F32, B, HKV, L, DV, T_BLHD);
    attn_tensor out = test_tensor(ATTN_F32, B, H, L, DV, T_BHLD), second = test_tensor(ATTN_F32, B, H, L, DV, T_BHLD);
    attn_tensor halves_q[2], halves_k[2];
    attn_opts opts = {.causal = ATTN_CAUSAL_UPPER_LEFT};

    for (size_t odd = 0; odd < 2; odd++)
        halves_q[odd] = parity(q, odd), halves_k[odd] = parity(k, odd);
    begin();
    CHECK_STATUS(differential(out, halves_q, halves_k, v, lambda, second, &opts), ATTN_OK);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < L; i++) {
                double scores[L], weights[2][L];
                unsigned char sees[L];
                size_t g = h / (H / HKV);
                for (size_t j = 0; j < L; j++)
                    sees[j] = j <= i;
                for (size_t odd = 0; odd < 2; odd++) {
                    for (size_t j = 0; j < L; j++) {
                        scores[j] = 0;
                        for (size_t d = 0; d < D; d++)
                            scores[j] += at(q, b, 2 * h + odd, i, d) * at(k, b, 2 * g + odd, j, d) / sqrt(D);
                    }
                    row(weights[odd], scores, L, sees, 0);
                }
                for (size_t d = 0; d < DV; d++) {
                    double less = (double)lambda * mean(weights[1], v, b, g, d);
                    check_near(out, b, h, i, d, mean(weights[0], v, b, g, d) - less);
                }
            }
    test_case("a step that fails");
    halves_k[1] = k;
    CHECK_STATUS(differential(out, halves_q, halves_k, v, lambda, second, &opts), ATTN_ERR_SHAPE);
}

/* Prefix and own keys in one list; and the way for other orders, with a batch_stride of 0. */
TEST(recipes_shared_prefix)
{
    enum { B = 3, H = 4, HKV = 2, L = 2, PREFIX = 9, OWN = 7, D = 8, DV = 4 };
    const size_t lens[B] = {OWN, L, 4};
    attn_tensor q = random_blhd(B, L, H, D), out = random_blhd(B, L, H, DV), part = random_blhd(B, L, H, DV);
    attn_tensor lse = random_blhd(B, L, H, 1), part_lse = random_blhd(B, L, H, 1);
    attn_tensor prefix_k = random_blhd(1, PREFIX, HKV, D), prefix_v = random_blhd(1, PREFIX, HKV, DV);
    attn_tensor own_k = random_blhd(B, OWN, HKV, D), own_v = random_blhd(B, OWN, HKV, DV);
    attn_opts opts = {.lse = test_tensor(ATTN_F32, B, H, L, 1, T_SLICE)};
    attn_tensor other = test_tensor(ATTN_F32, B, H, L, DV, T_SLICE);

    begin();
    CHECK_STATUS(shared_prefix(out, lse, q, prefix_k, prefix_v, own_k, own_v, lens, part, part_lse), ATTN_OK);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < L; i++) {
                double scores[PREFIX + OWN], weights[PREFIX + OWN], sum;
                unsigned char sees[PREFIX + OWN];
                size_t g = h / (H / HKV);
                attn_tensor item_k = prefix_k;
                item_k.batch = B;
                item_k.batch_stride = 0;
                score(scores, q, item_k, b, h, i, 1 / sqrt(D));
                score(scores + PREFIX, q, own_k, b, h, i, 1 / sqrt(D));
                for (size_t j = 0; j < PREFIX + OWN; j++)
                    sees[j] = j < PREFIX || j - PREFIX <= i + lens[b] - L;
                sum = row(weights, scores, PREFIX + OWN, sees, 0);
                for (size_t d = 0; d < DV; d++) {
                    double own = mean(weights + PREFIX, own_v, b, g, d);
                    check_near(out, b, h, i, d, mean(weights, prefix_v, 0, g, d) + own);
                }
                check_near(lse, b, h, i, 0, log(sum));
            }

    prefix_k.batch = prefix_v.batch = B;
    prefix_k.batch_stride = prefix_v.batch_stride = 0;
    CHECK_STATUS(attn_sdpa(other, q, prefix_k, prefix_v, &opts, NULL), ATTN_OK);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < L; i++) {
                for (size_t d = 0; d < DV; d++)
                    check_near(part, b, h, i, d, at(other, b, h, i, d));
                check_near(part_lse, b, h, i, 0, at(opts.lse, b, h, i, 0));
            }
    test_case("a prefix for each item");
    CHECK_STATUS(shared_prefix(out, lse, q, prefix_k, prefix_v, own_k, own_v, lens, part, part_lse), ATTN_ERR_SHAPE);
}

/* Each draft attends to its own path; and its output is that of this path alone, appended to the text by itself. */
TEST(recipes_tree_of_drafts)
{
    enum { H = 4, HKV = 2, TEXT = 6, T = 7, LK = TEXT + T, D = 8 };
    static const int parent[T] = {-1, 0, 0, 1, -1, 4, 3};
    attn_tensor q = random_blhd(1, T, H, D), out = random_blhd(1, T, H, D);
    attn_tensor k = random_blhd(1, LK, HKV, D), v = random_blhd(1, LK, HKV, D);
    unsigned char *mask = test_block(T * LK);
    attn_kv_cache cache = {0};

    begin();
    CHECK_STATUS(attn_kv_cache_init(&cache, 1, HKV, LK + 3, D, D, ATTN_F32, 0, NULL, 0), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
    CHECK_STATUS(verify_drafts(out, q, &cache, parent, mask), ATTN_OK);
    attn_kv_cache_free(&cache);
    for (size_t i = 0; i < T; i++) {
        unsigned char sees[LK] = {0};
        for (size_t j = 0; j < TEXT; j++)
            sees[j] = 1;
        switch (i) { /* the paths, drawn by hand */
        case 0: sees[6] = 1; break;
        case 1: sees[6] = sees[7] = 1; break;
        case 2: sees[6] = sees[8] = 1; break;
        case 3: sees[6] = sees[7] = sees[9] = 1; break;
        case 4: sees[10] = 1; break;
        case 5: sees[10] = sees[11] = 1; break;
        case 6: sees[6] = sees[7] = sees[9] = sees[12] = 1; break;
        }
        for (size_t h = 0; h < H; h++)
            check_row(out, q, k, v, 0, h, i, sees, 0);
    }
}

/* The cache then holds the bits of one that only ever saw the text and the path, and so is what comes out of it. */
TEST(recipes_best_path)
{
    enum { H = 4, HKV = 2, TEXT = 6, T = 7, LK = TEXT + T, D = 8, DV = 12, MOST = 4 };
    static const attn_dtype dtypes[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    static const size_t paths[][MOST] = {{0, 1, 3, 6}, {4, 5}, {0, 2}, {0}}, counts[] = {4, 2, 2, 0};
    float *room_k = test_block(MOST * HKV * D * sizeof *room_k), *room_v = test_block(MOST * HKV * DV * sizeof *room_v);
    for (size_t n = 0; n < sizeof dtypes / sizeof dtypes[0]; n++)
        for (size_t m = 0; m < sizeof counts / sizeof counts[0]; m++) {
            attn_kv_cache cache = {0}, alone = {0};
            attn_tensor k = random_blhd(1, LK, HKV, D), v = random_blhd(1, LK, HKV, DV), q = random_blhd(1, 1, H, D);
            attn_tensor out = random_blhd(1, 1, H, DV), want = random_blhd(1, 1, H, DV);
            test_case("type %d, path %d", (int)n, (int)m);
            CHECK_STATUS(attn_kv_cache_init(&cache, 1, HKV, LK, D, DV, dtypes[n], 0, NULL, 0), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_init(&alone, 1, HKV, LK, D, DV, dtypes[n], 0, NULL, 0), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_append(&cache, k, v, NULL), ATTN_OK);
            CHECK_STATUS(keep_path(&cache, T, paths[m], counts[m], room_k, room_v), ATTN_OK);

            CHECK_STATUS(
                attn_kv_cache_append(&alone, attn_tensor_slice(k, 0, TEXT), attn_tensor_slice(v, 0, TEXT), NULL),
                ATTN_OK);
            for (size_t i = 0; i < counts[m]; i++)
                CHECK_STATUS(attn_kv_cache_append(&alone, attn_tensor_slice(k, TEXT + paths[m][i], 1),
                                                  attn_tensor_slice(v, TEXT + paths[m][i], 1), NULL),
                             ATTN_OK);
            CHECK(cache.lens[0] == TEXT + counts[m] && alone.lens[0] == cache.lens[0]);
            for (size_t j = 0; j < cache.lens[0]; j++)
                for (size_t h = 0; h < HKV; h++)
                    for (size_t d = 0; d < DV; d++)
                        CHECK((d >= D || at(cache.k, 0, h, j, d) == at(alone.k, 0, h, j, d)) &&
                              at(cache.v, 0, h, j, d) == at(alone.v, 0, h, j, d));
            CHECK_STATUS(attn_kv_cache_attend(out, q, &cache, NULL, NULL), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_attend(want, q, &alone, NULL, NULL), ATTN_OK);
            CHECK(memcmp(out.data, want.data, H * DV * sizeof(float)) == 0);
            if (m == 1) { /* a draft that is not there: nothing is lost */
                const size_t beyond = T;
                CHECK_STATUS(keep_path(&alone, 2, &beyond, 1, room_k, room_v), ATTN_ERR_VALUE);
                CHECK(alone.lens[0] == cache.lens[0]);
            }
            attn_kv_cache_free(&cache);
            attn_kv_cache_free(&alone);
        }
}

TEST(recipes_off_by_one)
{
    enum { B = 2, H = 4, HKV = 1, L = 3, LK = 9, D = 8 };
    const float zeros[H] = {0};
    attn_tensor q = random_blhd(B, L, H, D), out = random_blhd(B, L, H, D);
    attn_tensor k = random_blhd(B, LK, HKV, D), v = random_blhd(B, LK, HKV, D);

    begin();
    CHECK_STATUS(off_by_one(out, q, k, v, zeros), ATTN_OK);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < L; i++)
                check_row(out, q, k, v, b, h, i, NULL, 1); /* 1 + the sum */
}

static const double *sums; /* for by_weight */

static int by_weight(const void *a, const void *b)
{
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return sums[i] < sums[j] ? 1 : sums[i] > sums[j] ? -1 : i > j ? 1 : -1;
}

/* The keys are those that a sort puts first; the next query sees them alone, as if only their rows had been kept. */
TEST(recipes_eviction)
{
    enum { H = 4, HKV = 2, GROUP = H / HKV, L = 6, LK = 20, KEEP = 5, D = 8 };
    attn_tensor q = random_blhd(1, L, H, D), next = random_blhd(1, 1, H, D), out = random_blhd(1, L, H, D);
    attn_tensor k = random_blhd(1, LK, HKV, D), v = random_blhd(1, LK, HKV, D), alone = random_blhd(1, 1, H, D);
    attn_tensor kept_k = random_blhd(1, KEEP, HKV, D), kept_v = random_blhd(1, KEEP, HKV, D);
    float *weights = test_block(H * L * LK * sizeof *weights);
    uint32_t *index = test_block(HKV * KEEP * sizeof *index);
    double *received = test_block(LK * sizeof *received);
    const uint32_t count[HKV] = {KEEP, KEEP};
    attn_opts opts = {.weights = attn_bhld(weights, ATTN_F32, 1, H, L, LK)};
    attn_tensor seen = random_blhd(1, 1, H, D);

    begin();
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_OK);
    for (size_t g = 0; g < HKV; g++)
        heaviest(index + g * KEEP, KEEP, weights + g * GROUP * L * LK, GROUP * L, LK, received);
    CHECK_STATUS(see_heaviest(seen, next, k, v, index, count, KEEP), ATTN_OK);

    for (size_t g = 0; g < HKV; g++) {
        double total[LK] = {0}, scores[LK], one[LK];
        unsigned char keep[LK] = {0};
        size_t order[LK], n = 0;
        for (size_t h = g * GROUP; h < (g + 1) * GROUP; h++)
            for (size_t i = 0; i < L; i++) {
                score(scores, q, k, 0, h, i, 1 / sqrt(D));
                row(one, scores, LK, NULL, 0);
                for (size_t j = 0; j < LK; j++)
                    total[j] += one[j];
            }
        for (size_t j = 0; j < LK; j++)
            order[j] = j;
        sums = total;
        qsort(order, LK, sizeof order[0], by_weight);
        test_case("group %d: the last that is kept and the first that is not are too near each other", (int)g);
        CHECK(total[order[KEEP - 1]] - total[order[KEEP]] > 1e-4);
        for (size_t m = 0; m < KEEP; m++)
            keep[order[m]] = 1;
        for (size_t j = 0; j < LK; j++)
            if (keep[j]) {
                test_case("group %d, key %d", (int)g, (int)j);
                CHECK(index[g * KEEP + n] == j);
                CHECK_STATUS(attn_mat_copy(attn_mat_rows(attn_head(kept_k, 0, g), n, 1),
                                           attn_mat_rows(attn_head(k, 0, g), j, 1)),
                             ATTN_OK);
                CHECK_STATUS(attn_mat_copy(attn_mat_rows(attn_head(kept_v, 0, g), n, 1),
                                           attn_mat_rows(attn_head(v, 0, g), j, 1)),
                             ATTN_OK);
                n++;
            }
        for (size_t h = g * GROUP; h < (g + 1) * GROUP; h++)
            check_row(seen, next, k, v, 0, h, 0, keep, 0);
    }
    CHECK_STATUS(attn_sdpa(alone, next, kept_k, kept_v, NULL, NULL), ATTN_OK);
    for (size_t h = 0; h < H; h++)
        for (size_t d = 0; d < D; d++)
            check_near(seen, 0, h, 0, d, at(alone, 0, h, 0, d));

    { /* equal weights: the first keys, and no more than wanted */
        const float equal[2 * 6] = {1, 0.5f, 1, 1, 0, 1, 0, 0.5f, 0, 0, 0, 0};
        heaviest(index, 3, equal, 2, 6, received);
        CHECK(index[0] == 0 && index[1] == 1 && index[2] == 2);
        heaviest(index, 5, equal, 2, 6, received);
        CHECK(index[3] == 3 && index[4] == 5);
    }
    { /* weights of NaN: no more than are wanted */
        const float nan_row[4] = {NAN, NAN, NAN, NAN};
        uint32_t two[4] = {9, 9, 9, 9};
        heaviest(two, 2, nan_row, 1, 4, received);
        CHECK(two[0] == 0 && two[1] == 1 && two[2] == 9 && two[3] == 9);
    }
}

/* Padding on the left, on the right, and everywhere; one query may look nowhere but at padding. */
TEST(recipes_two_masks)
{
    enum { B = 3, H = 2, L = 4, LK = 6, D = 8 };
    static const unsigned char valid[B * LK] = {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0};
    static const unsigned char shown[L * LK] = {1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1};
    attn_tensor q = random_blhd(B, L, H, D), out = random_blhd(B, L, H, D);
    attn_tensor k = random_blhd(B, LK, H, D), v = random_blhd(B, LK, H, D);
    float *bias = test_block(L * LK * sizeof *bias);

    begin();
    CHECK_STATUS(two_masks(out, q, k, v, copy_of(valid, sizeof valid), copy_of(shown, sizeof shown), bias), ATTN_OK);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < L; i++) {
                unsigned char sees[LK], any = 0;
                for (size_t j = 0; j < LK; j++)
                    any |= sees[j] = valid[b * LK + j] & shown[i * LK + j];
                if (any)
                    check_row(out, q, k, v, b, h, i, sees, 0);
                for (size_t d = 0; d < D && !any; d++)
                    check_near(out, b, h, i, d, 0);
            }
}

/* The formula: pair d turns by the position on its section's axis times 1e6^(-2d/D). Computed in double and rounded
   once: half an ulp of a number below 2 is 2^-24. */
TEST(recipes_mrope)
{
    enum { B = 2, H = 3, L = 7, D = 32 };
    static const size_t sections[3] = {4, 7, 5};
    attn_tensor x = test_random_tensor(ATTN_F32, B, H, L, D, T_QKV), before = test_tensor_like(x, T_BHLD);
    const ptrdiff_t *positions[3];
    ptrdiff_t *numbers = test_block(3 * B * L * sizeof *numbers);
    double *all = test_block(D / 2 * sizeof *all), *own = test_block(D / 2 * sizeof *own);

    for (size_t n = 0; n < 3 * B * L; n++)
        numbers[n] = (ptrdiff_t)test_below(300);
    for (size_t axis = 0; axis < 3; axis++)
        positions[axis] = numbers + axis * B * L;
    CHECK_STATUS(mrope(x, positions, sections, all, own), ATTN_OK);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < L; i++)
                for (size_t d = 0; d < D / 2; d++) {
                    size_t axis = d < 4 ? 0 : d < 11 ? 1 : 2;
                    double angle = (double)numbers[(axis * B + b) * L + i] * pow(1e6, -2.0 * (double)d / (double)D);
                    double u = at(before, b, h, i, d), w = at(before, b, h, i, d + D / 2);
                    test_case("item %d, head %d, row %d, pair %d", (int)b, (int)h, (int)i, (int)d);
                    CHECK_NEAR(at(x, b, h, i, d), u * cos(angle) - w * sin(angle), FLT_EPSILON / 2 + 1e-12);
                    CHECK_NEAR(at(x, b, h, i, d + D / 2), u * sin(angle) + w * cos(angle), FLT_EPSILON / 2 + 1e-12);
                }
    { /* one call would not do: positions that differ turn other pairs */
        static const ptrdiff_t here[B * L] = {0};
        attn_tensor y = test_tensor_like(before, T_BHLD);
        positions[0] = positions[2] = here;
        CHECK_STATUS(mrope(y, positions, sections, all, own), ATTN_OK);
        for (size_t d = 0; d < D; d++)
            for (size_t b = 0, turns = d % 16 >= 4 && d % 16 < 11; b < B; b++)
                CHECK(turns || at(y, b, 0, 1, d) == at(before, b, 0, 1, d));
    }
}
