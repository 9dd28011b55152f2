/* Attention as everybody writes it, of bench_targets.c: packed heads x queries x size, keys x size for each head, and
   room for the scores of one query. plain_: compiled with the flags of the implementation; fast_: with -O3 -ffast-math
   for the same target. */
#ifndef PEER_TARGETS_H
#define PEER_TARGETS_H

#include <stddef.h>

typedef struct peer_shape {
    size_t heads, queries, keys, size;
} peer_shape;

void plain_f32(float *out, const float *q, const float *k, const float *v, float *scores, const peer_shape *shape);
void plain_f64(double *out, const double *q, const double *k, const double *v, double *scores, const peer_shape *shape);
void fast_f32(float *out, const float *q, const float *k, const float *v, float *scores, const peer_shape *shape);
void fast_f64(double *out, const double *q, const double *k, const double *v, double *scores, const peer_shape *shape);

#endif
