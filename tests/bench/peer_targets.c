/* The loop of peer_targets.h, which PEER_F32 and PEER_F64 name. This file includes itself, once for each type. */
#ifndef REAL

#include "peer_targets.h"
#include <math.h>

#define REAL float
#define EXP expf
#define SQRT sqrtf
#define PEER PEER_F32
#include "peer_targets.c"
#undef REAL
#undef EXP
#undef SQRT
#undef PEER
#define REAL double
#define EXP exp
#define SQRT sqrt
#define PEER PEER_F64
#include "peer_targets.c"

#else

void PEER(REAL *out, const REAL *q, const REAL *k, const REAL *v, REAL *scores, const peer_shape *shape)
{
    size_t keys = shape->keys, size = shape->size, i, j, d;
    for (i = 0; i < shape->heads * shape->queries; i++) {
        size_t first = i / shape->queries * keys * size; /* of the keys of this head */
        const REAL *query = q + i * size, *key = k + first, *value = v + first;
        REAL *row = out + i * size, max, sum = 0;
        for (j = 0; j < keys; j++) {
            REAL score = 0;
            for (d = 0; d < size; d++)
                score += query[d] * key[j * size + d];
            scores[j] = score / SQRT((REAL)size);
        }
        max = scores[0];
        for (j = 1; j < keys; j++)
            if (scores[j] > max)
                max = scores[j];
        for (j = 0; j < keys; j++) {
            scores[j] = EXP(scores[j] - max);
            sum += scores[j];
        }
        for (j = 0; j < keys; j++)
            scores[j] /= sum;
        for (d = 0; d < size; d++)
            row[d] = 0;
        for (j = 0; j < keys; j++)
            for (d = 0; d < size; d++)
                row[d] += scores[j] * value[j * size + d];
    }
}

#endif
