/* What the tests of the multi-head layer share: layers of random numbers. */
#ifndef ATTN_TEST_MHA_H
#define ATTN_TEST_MHA_H

#include "sdpa.h"

typedef struct shape {
    size_t B, H, Hkv, Lq, Lk, D, Dv, Eq, Ek, Ev, E;
} shape;

typedef struct observer { /* what the score_mod is told */
    int f64;
    size_t b0; /* the number of the first item among all */
    shape n;
    volatile int strayed;
} observer;

typedef struct layer {
    shape n;
    attn_dtype compute;
    attn_tensor q, k, v, out;
    attn_mha_weights w;
    attn_opts o;
} layer;

enum { /* what a layer is made with */
       WITH_BIASES = 1,
       WITH_RULES = 2,
       WITH_NUMBERS = 4,
       WITH_OUTPUTS = 8,
       WITH_LAYOUTS = 16,
       WITH_BROADCAST = 32, /* of inputs */
       WITH_TYPES = 64,
       WITH_ALL = 127
};

float *random_floats(size_t count);
size_t *random_lengths(size_t B, size_t most);
attn_mat projection(attn_dtype dtype, size_t rows, size_t cols, int layout); /* products with ones are about one */
shape random_shape(void);
layer make_layer(shape n, attn_dtype dtype, unsigned with);

/* Fresh outputs, of the types and layouts of these numbers; weights: 0 none, 1 for each head, 2 their mean. */
void make_outputs(layer *t, attn_dtype type, int weights, int others, int layout);

/* Numbers of heads, biases and every option to a layer of `usual_layer`, as tests of statuses want them. */
extern const shape usual_layer, empty_layers[9];
void give_everything(layer *t);

layer layer_item(const layer *all, size_t b); /* that item alone, with its part of every option */

real fit(real x, test_mode mode); /* rounded as the mode says */
int zero_row(attn_tensor t, size_t b, size_t h, size_t i);

/* Shows each item the first lens[b] keys. */
attn_tensor lengths_mask(const size_t *lens, size_t B, size_t Lk);

typedef struct layer_call { /* of attn_mha, or of attn_mha_backward with what that gave */
    attn_tensor q, k, v, out, dout;
    attn_mha_weights w;
    attn_opts o;
    attn_mha_grads g;
} layer_call;

void layer_grads(layer_call *c); /* fresh, of all inputs, weights and biases, and of their types */
attn_status run_layer(const layer_call *c, int back, const attn_ctx *ctx);

/* x w + b for each row, as B x heads x L x D; kept as double by EXACT. */
attn_tensor project(attn_tensor x, attn_mat w, const float *bias, size_t heads, test_mode mode);

#endif
