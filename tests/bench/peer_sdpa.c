/* Compiled with -O3 -ffast-math: loops that any compiler turns into vectors. */
#include "peer.h"
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__clang__)
#define FOR_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"), min_vector_width(512)))
#define FOR_AVX2 __attribute__((target("avx2,fma")))
#elif defined(__x86_64__) && defined(__GNUC__)
#define FOR_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")))
#define FOR_AVX2 __attribute__((target("avx2,fma")))
#endif

/* exp(x - max) is 2^n 2^r with an integer n and |r| <= 1/2; 2^r is its Taylor series up to r^6. */
#define SOFTMAX_IN_PLACE(name)                                                                                         \
    static void name(float *x, size_t count)                                                                           \
    {                                                                                                                  \
        float max = x[0], sum = 0, factor;                                                                             \
        size_t i;                                                                                                      \
        for (i = 1; i < count; i++)                                                                                    \
            max = x[i] > max ? x[i] : max;                                                                             \
        for (i = 0; i < count; i++) {                                                                                  \
            float t = (x[i] - max) * 1.44269504f, r, power;                                                            \
            int32_t n, bits;                                                                                           \
            t = t < -126 ? -126 : t;                                                                                   \
            n = (int32_t)(t - 0.5f);                                                                                   \
            r = t - (float)n;                                                                                          \
            bits = (n + 127) * (1 << 23);                                                                              \
            memcpy(&power, &bits, sizeof power);                                                                       \
            r = 1 + r * (0.693147181f +                                                                                \
                         r * (0.240226507f + r * (0.0555041087f + r * (0.00961812911f +                                \
                                                                       r * (0.00133335581f + r * 0.000154035304f))))); \
            sum += x[i] = power * r;                                                                                   \
        }                                                                                                              \
        factor = 1 / sum;                                                                                              \
        for (i = 0; i < count; i++)                                                                                    \
            x[i] *= factor;                                                                                            \
    }

/* Four places at once: one stream alone does not fill the path to memory. */
#define SUM_OF(name)                                                                                                   \
    static float name(const float *x, size_t count)                                                                    \
    {                                                                                                                  \
        const float *x1 = x + count / 4, *x2 = x1 + count / 4, *x3 = x2 + count / 4;                                   \
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                                          \
        size_t i;                                                                                                      \
        for (i = 0; i < count / 4; i++) {                                                                              \
            s0 += x[i];                                                                                                \
            s1 += x1[i];                                                                                               \
            s2 += x2[i];                                                                                               \
            s3 += x3[i];                                                                                               \
        }                                                                                                              \
        return s0 + s1 + s2 + s3;                                                                                      \
    }

#define DECODE(name, softmax)                                                                                          \
    static void name(float *out, const float *q, const float *k, const float *v, float *scores, size_t keys,           \
                     size_t size, float scale)                                                                         \
    {                                                                                                                  \
        size_t j, d;                                                                                                   \
        for (j = 0; j < keys; j++) {                                                                                   \
            float dot = 0;                                                                                             \
            for (d = 0; d < size; d++)                                                                                 \
                dot += q[d] * k[j * size + d];                                                                         \
            scores[j] = scale * dot;                                                                                   \
        }                                                                                                              \
        softmax(scores, keys);                                                                                         \
        for (d = 0; d < size; d++)                                                                                     \
            out[d] = 0;                                                                                                \
        for (j = 0; j < keys; j++)                                                                                     \
            for (d = 0; d < size; d++)                                                                                 \
                out[d] += scores[j] * v[j * size + d];                                                                 \
    }

#ifdef FOR_AVX512
FOR_AVX512 SOFTMAX_IN_PLACE(softmax_avx512)
FOR_AVX2 SOFTMAX_IN_PLACE(softmax_avx2)
FOR_AVX512 SUM_OF(sum_avx512)
FOR_AVX2 SUM_OF(sum_avx2)
FOR_AVX512 DECODE(decode_avx512, softmax_avx512)
FOR_AVX2 DECODE(decode_avx2, softmax_avx2)
#endif
    SOFTMAX_IN_PLACE(softmax) SUM_OF(sum) DECODE(decode, softmax)

        void peer_softmax_in_place(float *x, size_t count, size_t vector_bytes)
{
#ifdef FOR_AVX512
    if (vector_bytes == 64) {
        softmax_avx512(x, count);
        return;
    }
    if (vector_bytes == 32) {
        softmax_avx2(x, count);
        return;
    }
#endif
    (void)vector_bytes;
    softmax(x, count);
}

float peer_sum(const float *x, size_t count, size_t vector_bytes)
{
#ifdef FOR_AVX512
    if (vector_bytes == 64)
        return sum_avx512(x, count);
    if (vector_bytes == 32)
        return sum_avx2(x, count);
#endif
    (void)vector_bytes;
    return sum(x, count);
}

void peer_decode(float *out, const float *q, const float *k, const float *v, float *scores, size_t keys, size_t size,
                 float scale, size_t vector_bytes)
{
#ifdef FOR_AVX512
    if (vector_bytes == 64) {
        decode_avx512(out, q, k, v, scores, keys, size, scale);
        return;
    }
    if (vector_bytes == 32) {
        decode_avx2(out, q, k, v, scores, keys, size, scale);
        return;
    }
#endif
    (void)vector_bytes;
    decode(out, q, k, v, scores, keys, size, scale);
}
