/* layers.h: what a transformer is made of besides its attention: matrix products, norms, activations, sums. Everything
   works on rows of floats, on the threads of attn_parallel, with the vectors of this CPU, which it asks attn.h about. It
   takes layers.c, and attn.h compiled once in the program; where that lies elsewhere, the line that includes it is to be
   changed.

       layers net = {0};
       net.parallel = pool;
       layers_norm(&net, h, x, n, d, weight, bias, 1e-12);           // h = norm(x), for n rows of d
       layers_project(&net, f, h, n, w, 1);                         // f = h w^T
       layers_gelu(&net, f, n, w.rows, bias);                       // f = gelu(f + bias)
       if (net.failed)
           fprintf(stderr, "%s\n", net.error);

   The first error stays: what is called after it does nothing. A row's bits depend on that row alone: not on the number
   of threads, nor, with batch_invariant, of rows: few rows have products and attention of their own (DETERMINISM of
   attn.h). Compile without -ffast-math, which loses sight of NaN. */
#ifndef LAYERS_H
#define LAYERS_H

#include "../../attn.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct layers {
    attn_parallel parallel; /* threads to use: attn_pool_new, or the caller's; zero: this one */
    attn_isa isa;           /* instruction set to use; zero: the best */
    int batch_invariant;    /* 1: the same bits for any number of rows; many rows take up to 2.5 times as long */
    int failed;
    char error[512];

    /* for layers.c */
    char *work, *scratch; /* of layers_rows; and for attn.h */
    size_t work_size, scratch_size;
    attn_fault fault;
} layers;

/* Gives back memory. error stays. Fine for {0}. */
void layers_free(layers *net);

/* Notes what the attn.h function of this name came to. Returns whether all is well so far. */
int layers_check(layers *net, attn_status status, const char *name);

/* Makes this the error, unless there is one: printf's format. Returns 0. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int layers_fail(layers *net, const char *format, ...);

/* How a call of a network ends: NULL, or the error, which lives in net->error; the next call begins without one. */
const char *layers_outcome(layers *net);

/* `count` rows of `width` floats, for numbers in between: the same memory at each call, what was there is lost. It
   begins at a multiple of 64 bytes. NULL after an error. */
float *layers_rows(layers *net, size_t count, size_t width);

/* The same memory in n parts, one behind the other, each of `count` rows of its own width. Returns whether it is
   there. */
typedef struct layers_part {
    float **rows; /* becomes where the part begins */
    size_t width;
} layers_part;
int layers_parts(layers *net, size_t count, const layers_part *parts, size_t n);

/* Memory for a b c elements, which the caller frees; NULL only where it cannot be had, not for no elements. */
void *layers_memory(size_t a, size_t b, size_t c, size_t size);

/* Whether n ids are from 0 to count - 1; the error names the first that is not. layers_embed checks them so, and sets
   x to these rows of the table, n x table.cols. */
int layers_known(layers *net, const int32_t *ids, size_t n, size_t count);
void layers_embed(layers *net, float *x, attn_mat table, const int32_t *ids, size_t n);

/* out = factor x w^T, or out += factor x w^T, for n rows: x n x w.cols, out n x w.rows, w outputs x inputs of any type. */
void layers_project(layers *net, float *out, const float *x, size_t n, attn_mat w, double factor);
void layers_project_add(layers *net, float *out, const float *x, size_t n, attn_mat w, double factor);

/* attn_sdpa; attn_kv_cache_append; attn_kv_cache_attend: with scratch of the net's. */
void layers_sdpa(layers *net, attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v, const attn_opts *opts);
void layers_append(layers *net, attn_kv_cache *cache, attn_tensor k, attn_tensor v);
void layers_attend(layers *net, attn_tensor out, attn_tensor q, const attn_kv_cache *cache, const attn_opts *opts);

/* h = (x - mean) / sqrt(variance + epsilon) weight + bias; bias NULL = none. In place is legal, as for all below.

   Sums over a row are floats, of 64 parts each: they must not overflow. With u = 2^-24 and s = 1 / sqrt(variance +
   epsilon) an element is within u (d / 64 + 10) |weight| s (|x - mean| + mean of |x|) + u |h| of what it should be.
                                                                                          Ba 2016, arXiv 1607.06450 */
void layers_norm(layers *net, float *h, const float *x, size_t n, size_t d, const float *weight, const float *bias,
                 double epsilon);

/* x = norm(x + y + y_bias), as layers_norm: the end of a part of a network that norms what it has added up. */
void layers_add_norm(layers *net, float *x, const float *y, const float *y_bias, size_t n, size_t d,
                     const float *weight, const float *bias, double epsilon);

/* h = x / sqrt(mean of x^2 + epsilon) (weight + plus), for n rows of d that begin `stride` floats apart, in h as in x:
   plus is 1 for Gemma, 0 for the others. Sums as above; an element is within u (d / 64 + 10) |h| of what it should be.
                                                                                    Zhang 2019, arXiv 1910.07467 */
void layers_rms_norm(layers *net, float *h, const float *x, size_t n, size_t d, size_t stride, const float *weight,
                     float plus, double epsilon);

/* x += y; and each row of x += bias; bias NULL = nothing. */
void layers_add(layers *net, float *x, const float *y, size_t n, size_t d);
void layers_add_bias(layers *net, float *x, size_t n, size_t d, const float *bias);

/* x = gelu(x + bias) by erf, within 1e-7 + 2^-23 |gelu|; bias NULL = none.          Hendrycks 2016, arXiv 1606.08415 */
void layers_gelu(layers *net, float *x, size_t n, size_t d, const float *bias);

/* x = activation(x) gate, the halves of a gated feed-forward; gate NULL = 1. An activation a is within 1e-7 + 2^-23 |a|,
   and of -infinity it is 0, which it tends to.                                      Shazeer 2020, arXiv 2002.05202 */
typedef enum layers_activation {
    LAYERS_SILU,      /* x / (1 + exp(-x)) */
    LAYERS_GELU_TANH, /* x / 2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    LAYERS_GELU_ERF,  /* x / 2 (1 + erf(x / sqrt(2))) */
    LAYERS_RELU
} layers_activation;
void layers_gate(layers *net, float *x, const float *gate, size_t n, size_t d, layers_activation activation);

#ifdef __cplusplus
}
#endif
#endif
