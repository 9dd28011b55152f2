/* Attention as everybody writes it for a processor without an operating system. */
#include "loops.h"
#include <math.h>

void loops(float *out, const float *q, const float *k, const float *v, float *scores, size_t H, size_t Lq, size_t Lk,
           size_t D, int causal)
{
    const float scale = 1.0f / sqrtf((float)D);
    size_t h, i, j, d;
    for (h = 0; h < H; h++)
        for (i = 0; i < Lq; i++) {
            const float *query = q + (h * Lq + i) * D, *key = k + h * Lk * D, *value = v + h * Lk * D;
            float *row = out + (h * Lq + i) * D, max = -INFINITY, sum = 0;
            size_t seen = causal ? Lk - Lq + i + 1 : Lk;
            for (j = 0; j < seen; j++) {
                float score = 0;
                for (d = 0; d < D; d++)
                    score += query[d] * key[j * D + d];
                scores[j] = score * scale;
                if (scores[j] > max)
                    max = scores[j];
            }
            for (j = 0; j < seen; j++) {
                scores[j] = expf(scores[j] - max);
                sum += scores[j];
            }
            for (d = 0; d < D; d++)
                row[d] = 0;
            for (j = 0; j < seen; j++) {
                float weight = scores[j] / sum;
                for (d = 0; d < D; d++)
                    row[d] += weight * value[j * D + d];
            }
        }
}
