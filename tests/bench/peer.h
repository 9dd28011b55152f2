/* Softmax of each row as a plain loop. The same source twice: as any compiler must take it, and with -ffast-math, where
   gcc and glibc make the exponential a vector function (libmvec). vector_bytes: 64 or 32 for AVX-512 or AVX2, which
   this CPU must have; else what the compiler takes by itself. */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>

void softmax_plain(float *out, const float *in, size_t rows, size_t cols, size_t vector_bytes);
void softmax_fast(float *out, const float *in, size_t rows, size_t cols, size_t vector_bytes);

/* For attention without fusion, in peer_sdpa.c: softmax of one row in place, and a sum that only reads, as fast as memory
   gives. */
void peer_softmax_in_place(float *x, size_t count, size_t vector_bytes);
float peer_sum(const float *x, size_t count, size_t vector_bytes);

/* One query against some keys and values of `size` numbers, in plain loops; scores: room for as many as there are keys. */
void peer_decode(float *out, const float *q, const float *k, const float *v, float *scores, size_t keys, size_t size,
                 float scale, size_t vector_bytes);

#endif
