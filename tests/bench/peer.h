/* Softmax of each row as a plain loop. The same source twice: as any compiler must take it, and with -ffast-math, where
   gcc and glibc make the exponential a vector function (libmvec). vector_bytes: 64 or 32 for AVX-512 or AVX2, which
   this CPU must have; else what the compiler takes by itself. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

void softmax_plain(float *out, const float *in, size_t rows, size_t cols, size_t vector_bytes);
void softmax_fast(float *out, const float *in, size_t rows, size_t cols, size_t vector_bytes);

/* For attention without fusion, in peer_sdpa.c: softmax of one row in place. */
void peer_softmax_in_place(float *x, size_t count, size_t vector_bytes);

/* Reads, and does no more than a sum needs: nearly all of x, which lies on a multiple of 64 bytes, as fast as memory
   gives it with that many streams, each of which prefetches `ahead` bytes ahead (0: not). */
float peer_read(const void *x, size_t bytes, size_t streams, size_t ahead, size_t vector_bytes);

/* In peer_loop.c: the attention of one query as everybody writes it, head by head. The query of head h, and its row of
   out, begins at h * q_stride; the row of key j of key/value head h at h * head_stride + j * row_stride. scores: room
   for `keys` numbers. For this CPU, for any with AVX2, and for the target of a compiler that is told nothing. */
typedef void peer_attention(float *out, const float *q, const float *k, const float *v, float *scores, size_t heads,
                            size_t kv_heads, size_t keys, size_t size, size_t q_stride, size_t head_stride,
                            size_t row_stride);
peer_attention peer_attend, peer_attend_avx2, peer_attend_plain;

/* One head of attention and the way back through it: out, then the gradients of q, k and v, given that of out. All
   packed, len x size; causal: a query sees what comes before it and itself. weights, dscores: len x len, which are kept
   between the two. */
void peer_attend_and_back(float *out, float *dq, float *dk, float *dv, const float *dout, const float *q,
                          const float *k, const float *v, float *weights, float *dscores, size_t len, size_t size,
                          int causal);

/* out = x w^T by dot products. x: rows x inner; w: cols x inner, in f32 or bf16; rows of out begin out_stride apart. */
void peer_products(float *out, const float *x, const float *w, size_t rows, size_t inner, size_t cols,
                   size_t out_stride);
void peer_products_bf16(float *out, const float *x, const uint16_t *w, size_t rows, size_t inner, size_t cols,
                        size_t out_stride);

/* Two attentions of disjoint keys, with the logarithms of their sums of weights, become one in (out, lse). */
void peer_merge(float *out, float *lse, const float *out_b, const float *lse_b, size_t rows, size_t size);

/* What peer_loop.c was compiled with for this CPU. */
const char *peer_loop_flags(void);

#endif
