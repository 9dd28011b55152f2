#include <stddef.h>

/* out = softmax(q k^T / sqrt(D)) v, for H heads of packed q H x Lq x D, k and v H x Lk x D. scores: Lk of them. */
void loops(float *out, const float *q, const float *k, const float *v, float *scores, size_t H, size_t Lq, size_t Lk,
           size_t D, int causal);
