/* Loops as everybody writes them, compiled as their users would for speed: for this CPU, which PEER_FLAGS says how, and
   the first of them, PEER, for other targets too. */
#include "peer.h"
#include <math.h>
#include <string.h>

void PEER(float *out, const float *q, const float *k, const float *v, float *scores, size_t heads, size_t kv_heads,
          size_t keys, size_t size, size_t q_stride, size_t head_stride, size_t row_stride)
{
    size_t group = heads / kv_heads, h, j, d;
    for (h = 0; h < heads; h++) {
        const float *query = q + h * q_stride, *key = k + h / group * head_stride, *value = v + h / group * head_stride;
        float *row = out + h * q_stride, max, sum = 0;
        for (j = 0; j < keys; j++) {
            float score = 0;
            for (d = 0; d < size; d++)
                score += query[d] * key[j * row_stride + d];
            scores[j] = score / sqrtf((float)size);
        }
        max = scores[0];
        for (j = 1; j < keys; j++)
            if (scores[j] > max)
                max = scores[j];
        for (j = 0; j < keys; j++) {
            scores[j] = expf(scores[j] - max);
            sum += scores[j];
        }
        for (j = 0; j < keys; j++)
            scores[j] /= sum;
        for (d = 0; d < size; d++)
            row[d] = 0;
        for (j = 0; j < keys; j++)
            for (d = 0; d < size; d++)
                row[d] += scores[j] * value[j * row_stride + d];
    }
}

#ifdef PEER_FLAGS

/* weights = softmax(q k^T / sqrt(size)), out = weights v; hidden weights are not looked at. */
static void attend(float *out, const float *q, const float *k, const float *v, float *weights, size_t len, size_t size,
                   int causal)
{
    size_t i, j, d;
    for (i = 0; i < len; i++) {
        float *p = weights + i * len, *row = out + i * size, max, sum = 0;
        size_t seen = causal ? i + 1 : len;
        for (j = 0; j < seen; j++) {
            float score = 0;
            for (d = 0; d < size; d++)
                score += q[i * size + d] * k[j * size + d];
            p[j] = score / sqrtf((float)size);
        }
        max = p[0];
        for (j = 1; j < seen; j++)
            if (p[j] > max)
                max = p[j];
        for (j = 0; j < seen; j++) {
            p[j] = expf(p[j] - max);
            sum += p[j];
        }
        for (j = 0; j < seen; j++)
            p[j] /= sum;
        for (d = 0; d < size; d++)
            row[d] = 0;
        for (j = 0; j < seen; j++)
            for (d = 0; d < size; d++)
                row[d] += p[j] * v[j * size + d];
    }
}

void peer_attend_and_back(float *out, float *dq, float *dk, float *dv, const float *dout, const float *q,
                          const float *k, const float *v, float *weights, float *dscores, size_t len, size_t size,
                          int causal)
{
    size_t i, j, d;
    attend(out, q, k, v, weights, len, size, causal);
    memset(dq, 0, len * size * sizeof(float));
    memset(dk, 0, len * size * sizeof(float));
    memset(dv, 0, len * size * sizeof(float));
    for (i = 0; i < len; i++) {
        const float *p = weights + i * len;
        float *ds = dscores + i * len, sum = 0;
        size_t seen = causal ? i + 1 : len;
        for (j = 0; j < seen; j++) {
            float dp = 0;
            for (d = 0; d < size; d++)
                dp += dout[i * size + d] * v[j * size + d];
            ds[j] = dp;
            sum += p[j] * dp;
        }
        for (j = 0; j < seen; j++)
            ds[j] = p[j] * (ds[j] - sum) / sqrtf((float)size);
    }
    for (i = 0; i < len; i++)
        for (j = 0; j < (causal ? i + 1 : len); j++)
            for (d = 0; d < size; d++) {
                dq[i * size + d] += dscores[i * len + j] * k[j * size + d];
                dk[j * size + d] += dscores[i * len + j] * q[i * size + d];
                dv[j * size + d] += weights[i * len + j] * dout[i * size + d];
            }
}

void peer_products(float *out, const float *x, const float *w, size_t rows, size_t inner, size_t cols,
                   size_t out_stride)
{
    size_t r, c, k;
    for (r = 0; r < rows; r++)
        for (c = 0; c < cols; c++) {
            float sum = 0;
            for (k = 0; k < inner; k++)
                sum += x[r * inner + k] * w[c * inner + k];
            out[r * out_stride + c] = sum;
        }
}

/* The upper half of a float. */
static float float_of(uint16_t bf16)
{
    uint32_t bits = (uint32_t)bf16 << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void peer_products_bf16(float *out, const float *x, const uint16_t *w, size_t rows, size_t inner, size_t cols,
                        size_t out_stride)
{
    size_t r, c, k;
    for (r = 0; r < rows; r++)
        for (c = 0; c < cols; c++) {
            float sum = 0;
            for (k = 0; k < inner; k++)
                sum += x[r * inner + k] * float_of(w[c * inner + k]);
            out[r * out_stride + c] = sum;
        }
}

void peer_merge(float *out, float *lse, const float *out_b, const float *lse_b, size_t rows, size_t size)
{
    size_t r, d;
    for (r = 0; r < rows; r++) {
        float max = lse[r] > lse_b[r] ? lse[r] : lse_b[r];
        float a = expf(lse[r] - max), b = expf(lse_b[r] - max), sum = a + b;
        for (d = 0; d < size; d++)
            out[r * size + d] = (out[r * size + d] * a + out_b[r * size + d] * b) / sum;
        lse[r] = max + logf(sum);
    }
}

const char *peer_loop_flags(void)
{
    return PEER_FLAGS;
}

#endif
