/* What the golden tests of the multi-head layer and of its gradients share, and those of T5's bias and of its. */
#ifndef ATTN_TEST_GOLDEN_LAYER_H
#define ATTN_TEST_GOLDEN_LAYER_H

#include "golden.h"

/* same: k and v are one tensor, of which q is the last Lq rows. buckets: with the bias of T5. mean: over the heads. */
typedef struct golden_layer {
    const char *name;
    uint32_t seed;
    size_t B, H, D, Lq, Lk, E, Ek, Ev;
    int same, biases;
    size_t buckets, max_distance;
    int decoder;
    golden_pattern mask, bias;
    attn_opts opts; /* but for its views */
    golden_result out, weights, mean;
} golden_layer;

/* buckets x H, make_state.py: the numbers of seed + 3 */
static attn_mat t5_table(uint32_t seed, size_t buckets, size_t H, attn_dtype dtype, int layout)
{
    attn_mat table = test_mat(dtype, buckets, H, layout);
    for (size_t n = 0; n < buckets * H; n++)
        attn_mat_set(table, n / H, n % H, golden_number(seed + 3, 0, n));
    return table;
}

/* A matrix as PyTorch keeps it, outputs x inputs: make_state.py, an eighth of the numbers of seed + 1. */
static attn_mat layer_matrix(const golden_layer *c, unsigned tag, size_t outputs, size_t inputs, attn_dtype dtype)
{
    attn_mat m = test_mat(dtype, outputs, inputs, (int)((c->seed + tag) % OUT_LAYOUTS));
    for (size_t n = 0; n < outputs * inputs; n++)
        attn_mat_set(m, n / inputs, n % inputs, golden_number(c->seed + 1, tag, n) / 8);
    return m;
}

static const float *layer_vector(const golden_layer *c, unsigned tag, size_t count)
{
    float *x = test_block(count * sizeof *x);
    for (size_t n = 0; n < count; n++)
        x[n] = (float)golden_number(c->seed + 2, tag, n);
    return x;
}

static attn_mha_weights layer_weights(const golden_layer *c, attn_dtype dtype)
{
    attn_mha_weights w = {0};
    size_t HD = c->H * c->D;
    if (c->Ek == c->E && c->Ev == c->E) { /* in_proj_weight */
        attn_mat all = layer_matrix(c, 0, 3 * HD, c->E, dtype);
        w.wq = attn_mat_t(attn_mat_rows(all, 0, HD));
        w.wk = attn_mat_t(attn_mat_rows(all, HD, HD));
        w.wv = attn_mat_t(attn_mat_rows(all, 2 * HD, HD));
    } else {
        w.wq = attn_mat_t(layer_matrix(c, 0, HD, c->E, dtype));
        w.wk = attn_mat_t(layer_matrix(c, 1, HD, c->Ek, dtype));
        w.wv = attn_mat_t(layer_matrix(c, 2, HD, c->Ev, dtype));
    }
    w.wo = attn_mat_t(layer_matrix(c, 3, c->E, HD, dtype));
    if (c->biases) {
        w.bq = layer_vector(c, 0, 3 * HD);
        w.bk = w.bq + HD;
        w.bv = w.bk + HD;
        w.bo = layer_vector(c, 1, c->E);
    }
    w.heads = c->H;
    return w;
}

#endif
