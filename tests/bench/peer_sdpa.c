/* Compiled with -O3 -ffast-math: loops that gcc and clang turn into vectors, of what the function they end up in may
   use. */
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
#define INLINE static inline __attribute__((always_inline))

/* exp(x - max) is 2^n 2^r with an integer n and |r| <= 1/2; 2^r is its Taylor series up to r^6. */
INLINE void softmax(float *x, size_t count)
{
    float max = x[0], sum = 0, factor;
    size_t i;
    for (i = 1; i < count; i++)
        max = x[i] > max ? x[i] : max;
    for (i = 0; i < count; i++) {
        float t = (x[i] - max) * 1.44269504f, r, power;
        int32_t n, bits;
        t = t < -126 ? -126 : t;
        n = (int32_t)(t - 0.5f);
        r = t - (float)n;
        bits = (n + 127) * (1 << 23);
        memcpy(&power, &bits, sizeof power);
        r = 1 + r * (0.693147181f +
                     r * (0.240226507f +
                          r * (0.0555041087f + r * (0.00961812911f + r * (0.00133335581f + r * 0.000154035304f)))));
        sum += x[i] = power * r;
    }
    factor = 1 / sum;
    for (i = 0; i < count; i++)
        x[i] *= factor;
}

/* One stream alone does not fill the path to memory: each reads lines of its own part, and asks for those ahead. */
typedef float lanes __attribute__((vector_size(64)));

INLINE float read_streams(const char *x, size_t bytes, size_t streams, size_t ahead)
{
    size_t part = bytes / streams / 256 * 256, i, s;
    lanes sums[4] = {{0}, {0}, {0}, {0}};
    for (i = 0; i < part; i += 256)
        for (s = 0; s < streams; s++) {
            const char *p = x + s * part + i;
            const lanes *v = (const lanes *)p;
            if (ahead > 0) {
                __builtin_prefetch(p + ahead);
                __builtin_prefetch(p + ahead + 64);
                __builtin_prefetch(p + ahead + 128);
                __builtin_prefetch(p + ahead + 192);
            }
            sums[0] += v[0];
            sums[1] += v[1];
            sums[2] += v[2];
            sums[3] += v[3];
        }
    sums[0] += sums[1] + sums[2] + sums[3];
    return sums[0][0];
}

#ifdef FOR_AVX512
FOR_AVX512 static void softmax_avx512(float *x, size_t count)
{
    softmax(x, count);
}

FOR_AVX2 static void softmax_avx2(float *x, size_t count)
{
    softmax(x, count);
}

FOR_AVX512 static float read_avx512(const char *x, size_t bytes, size_t streams, size_t ahead)
{
    return read_streams(x, bytes, streams, ahead);
}

FOR_AVX2 static float read_avx2(const char *x, size_t bytes, size_t streams, size_t ahead)
{
    return read_streams(x, bytes, streams, ahead);
}
#endif

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

float peer_read(const void *x, size_t bytes, size_t streams, size_t ahead, size_t vector_bytes)
{
#ifdef FOR_AVX512
    if (vector_bytes == 64)
        return read_avx512((const char *)x, bytes, streams, ahead);
    if (vector_bytes == 32)
        return read_avx2((const char *)x, bytes, streams, ahead);
#endif
    (void)vector_bytes;
    return read_streams((const char *)x, bytes, streams, ahead);
}
