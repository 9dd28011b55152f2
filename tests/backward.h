/* The reference of the backward pass: what attn_sdpa_backward is compared with, and that comparison. */
#ifndef ATTN_TEST_BACKWARD_H
#define ATTN_TEST_BACKWARD_H

#include "sdpa.h"

/* The gradients, in the order in which attn_grads names them. */
enum { GRAD_Q, GRAD_K, GRAD_V, GRAD_BIAS, GRAD_DISTANCE, GRAD_SINKS, GRAD_SLOPES, GRADS };

extern const char *const backward_names[GRADS];

/* Gradients, packed: of q, k, v and bias [batch][heads][len][dim] of the view that would receive them (batch 1 where q,
   k or v has batch_stride 0, the shape of opts.bias), by distance [H][Lq + Lk - 1], of sinks and slopes [H]. values is
   NULL where the options have no such input. sizes: of each element, the sum of the magnitudes of the terms that it is
   made of, in which the slope of softcap counts as 1; EXACT alone. most: the largest magnitude of a score at any stage,
   of a pair that is seen, or of an lse. sums: the largest, over such pairs, of the sum over d of |scale q[d] k[d]| plus
   |bias| and the ALiBi term; or of that sum / softcap, without these; or a sink's magnitude; EXACT alone. */
typedef struct backward_result {
    real *values[GRADS], *sizes[GRADS];
    size_t counts[GRADS];
    real most, sums;
} backward_result;

/* All of attn_sdpa_backward from its inputs, with a forward pass of its own. out: absent, or what the call is given in
   a 16-bit type, whose rounding is then no error of the call. Of grads only dlse and score_mod_grad are looked at.
   EXACT: long double and compensated sums; NAIVE32 and NAIVE64: the composition that everybody writes, every operation
   rounded. factors: [B][H][Lq][Lk], what dropout multiplies the weights with, or NULL. score_mod and its gradient are
   called for one score at a time, in the compute type. */
void sdpa_backward_reference(backward_result *result, const attn_grads *grads, attn_tensor dout, attn_tensor q,
                             attn_tensor k, attn_tensor v, attn_tensor out, const attn_opts *opts, const real *factors,
                             test_mode mode);

/* What dropout multiplies weights with, which is a function of its seed and of places alone: seen where all weights are
   equal. NULL without dropout. */
real *backward_factors(attn_dropout dropout, size_t B, size_t H, size_t Lq, size_t Lk);

/* Element n, counted as in `values`, of the gradient that a call has written. */
real backward_get(const attn_grads *grads, int grad, size_t n);
attn_dtype backward_dtype(const attn_grads *grads, int grad);

#endif
