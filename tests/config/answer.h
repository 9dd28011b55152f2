#include <string.h>

/* One small attention whose answer is known, computed in every way, and some positions; the files here include it after
   the header, as C or as C++. */

static int answer_is_near(float out[2][2])
{
    float expected[2][2] = {{7 / 3.0f, 7 / 3.0f}, {1, 2}};
    int i, j;
    for (i = 0; i < 2; i++)
        for (j = 0; j < 2; j++)
            if (!(out[i][j] - expected[i][j] < 1e-5f && expected[i][j] - out[i][j] < 1e-5f))
                return 0;
    return 1;
}

static int answer_is_close(double x, double expected)
{
    return x - expected < 1e-5 && expected - x < 1e-5;
}

/* Two queries, three keys, scale 1. Query 0 scores every key alike, so its output is the mean value;
   query 1 scores them log 1, log 2 and log 4, so its weights are 1/7, 2/7 and 4/7. */
static float answer_q[2][2] = {{0, 0}, {1, 0}};
static float answer_k[3][2] = {{0, 1}, {0.693147181f, 2}, {1.386294361f, 3}};
static float answer_v[3][2] = {{7, 0}, {0, 7}, {0, 0}};

/* By the steps. */
static int answer_of_steps(const attn_ctx *ctx)
{
    float weights[2][3], out[2][2];
    attn_mat weights_view = attn_mat_of(weights, ATTN_F32, 2, 3), out_view = attn_mat_of(out, ATTN_F32, 2, 2);
    attn_mat q = attn_mat_of(answer_q, ATTN_F32, 2, 2), k = attn_mat_of(answer_k, ATTN_F32, 3, 2);

    return attn_matmul_ctx(weights_view, q, attn_mat_t(k), 1, ctx) == ATTN_OK &&
           attn_softmax_ctx(weights_view, weights_view, ctx) == ATTN_OK &&
           attn_matmul_ctx(out_view, weights_view, attn_mat_of(answer_v, ATTN_F32, 3, 2), 1, ctx) == ATTN_OK &&
           answer_is_near(out);
}

/* By the engine, from a cache, and as a layer whose projections change nothing; ctx has scratch. */
static int answer_of_engine(const attn_ctx *ctx)
{
    static double storage[64];
    float identity[2][2] = {{1, 0}, {0, 1}}, out[2][2];
    attn_tensor o = attn_bhld(out, ATTN_F32, 1, 1, 2, 2), q = attn_bhld(answer_q, ATTN_F32, 1, 1, 2, 2);
    attn_tensor k = attn_bhld(answer_k, ATTN_F32, 1, 1, 3, 2), v = attn_bhld(answer_v, ATTN_F32, 1, 1, 3, 2);
    attn_kv_cache cache;
    attn_mha_weights layer;
    attn_opts opts;

    memset(&opts, 0, sizeof opts);
    opts.scale = 1;
    memset(out, 0, sizeof out);
    if (attn_sdpa(o, q, k, v, &opts, ctx) != ATTN_OK || !answer_is_near(out))
        return 0;

    memset(out, 0, sizeof out);
    if (attn_kv_cache_init(&cache, 1, 1, 3, 2, 2, ATTN_F32, 0, storage, sizeof storage) != ATTN_OK ||
        attn_kv_cache_append(&cache, attn_tensor_slice(k, 0, 2), attn_tensor_slice(v, 0, 2), NULL) != ATTN_OK ||
        attn_kv_cache_append(&cache, attn_tensor_slice(k, 2, 1), attn_tensor_slice(v, 2, 1), NULL) != ATTN_OK ||
        attn_kv_cache_attend(o, q, &cache, &opts, ctx) != ATTN_OK || !answer_is_near(out))
        return 0;

    memset(out, 0, sizeof out);
    memset(&layer, 0, sizeof layer);
    layer.wq = layer.wk = layer.wv = layer.wo = attn_mat_of(identity, ATTN_F32, 2, 2);
    layer.heads = 1;
    return attn_mha(o, q, k, v, &layer, &opts, ctx) == ATTN_OK && answer_is_near(out);
}

/* Positions: row 1 of the sinusoids is (sin 1, cos 1); (1, 0) turned to position 1 is (cos 1, sin 1). */
static int answer_of_positions(void)
{
    float sinusoid[2] = {0, 0}, turned[2] = {1, 0}, slopes[2] = {0, 0}, table[4] = {1, 2, 3, 4}, bias[3] = {0, 0, 0};
    double frequencies[2] = {0, 0};
    attn_tensor row = attn_bhld(turned, ATTN_F32, 1, 1, 1, 2);
    attn_rope_opts opts;

    memset(&opts, 0, sizeof opts);
    opts.offset = 1;
    return attn_sinusoid(attn_mat_of(sinusoid, ATTN_F32, 1, 2), 1) == ATTN_OK &&
           answer_is_close(sinusoid[0], 0.841470985) && answer_is_close(sinusoid[1], 0.540302306) &&
           attn_rope(row, row, &opts) == ATTN_OK && answer_is_close(turned[0], 0.540302306) &&
           answer_is_close(turned[1], 0.841470985) && attn_rope_frequencies(frequencies, 4, 0, NULL, NULL) == ATTN_OK &&
           answer_is_close(frequencies[0], 1) && answer_is_close(frequencies[1], 0.01) &&
           attn_alibi_slopes(slopes, 2) == ATTN_OK && answer_is_close(slopes[0], 0.0625) &&
           answer_is_close(slopes[1], 0.00390625) &&
           attn_t5_bias(attn_mat_of(bias, ATTN_F32, 1, 3), attn_mat_of(table, ATTN_F32, 4, 1), 0, 0, -1) == ATTN_OK &&
           answer_is_close(bias[0], 2) && answer_is_close(bias[1], 1) && answer_is_close(bias[2], 1);
}

static int answer_is_right(const attn_ctx *ctx)
{
    static double scratch[1 << 17]; /* so that the engine needs no malloc */
    attn_ctx engine_ctx;

    memset(&engine_ctx, 0, sizeof engine_ctx);
    if (ctx)
        engine_ctx = *ctx;
    engine_ctx.scratch = scratch;
    engine_ctx.scratch_size = sizeof scratch;
    return answer_of_steps(ctx) && answer_of_engine(&engine_ctx) && answer_of_positions();
}
