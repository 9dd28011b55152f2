#include <string.h>

/* One small attention whose answer is known; the files here include it after the header, as C or as C++. */

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

/* Two queries, three keys, scale 1. Query 0 scores every key alike, so its output is the mean value;
   query 1 scores them log 1, log 2 and log 4, so its weights are 1/7, 2/7 and 4/7. */
static int answer_is_right(const attn_ctx *ctx)
{
    float q[2][2] = {{0, 0}, {1, 0}};
    float k[3][2] = {{0, 1}, {0.693147181f, 2}, {1.386294361f, 3}};
    float v[3][2] = {{7, 0}, {0, 7}, {0, 0}};
    float weights[2][3], out[2][2];
    static double scratch[1 << 17]; /* so that the engine needs no malloc */
    attn_mat weights_view = attn_mat_of(weights, ATTN_F32, 2, 3);
    attn_mat out_view = attn_mat_of(out, ATTN_F32, 2, 2);
    attn_mat q_view = attn_mat_of(q, ATTN_F32, 2, 2);
    attn_mat k_view = attn_mat_of(k, ATTN_F32, 3, 2);
    attn_mat v_view = attn_mat_of(v, ATTN_F32, 3, 2);
    attn_opts opts;
    attn_ctx engine_ctx;

    if (attn_matmul_ctx(weights_view, q_view, attn_mat_t(k_view), 1, ctx) != ATTN_OK)
        return 0;
    if (attn_softmax_ctx(weights_view, weights_view, ctx) != ATTN_OK)
        return 0;
    if (attn_matmul_ctx(out_view, weights_view, v_view, 1, ctx) != ATTN_OK || !answer_is_near(out))
        return 0;

    memset(&opts, 0, sizeof opts);
    memset(&engine_ctx, 0, sizeof engine_ctx);
    memset(out, 0, sizeof out);
    if (ctx)
        engine_ctx = *ctx;
    engine_ctx.scratch = scratch;
    engine_ctx.scratch_size = sizeof scratch;
    opts.scale = 1;
    return attn_sdpa(attn_heads(out_view, 1), attn_heads(q_view, 1), attn_heads(k_view, 1), attn_heads(v_view, 1),
                     &opts, &engine_ctx) == ATTN_OK &&
           answer_is_near(out);
}
