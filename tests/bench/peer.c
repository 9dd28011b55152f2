#include "peer.h"
#include <math.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,prefer-vector-width=512")))
#define FOR_AVX2 __attribute__((target("avx2,fma")))
#endif

#define SOFTMAX_ROW(name)                                                                                              \
    static void name(float *restrict out, const float *restrict in, size_t cols)                                       \
    {                                                                                                                  \
        float max = in[0], sum = 0, factor;                                                                            \
        size_t i;                                                                                                      \
        for (i = 1; i < cols; i++)                                                                                     \
            max = in[i] > max ? in[i] : max;                                                                           \
        for (i = 0; i < cols; i++)                                                                                     \
            sum += out[i] = expf(in[i] - max);                                                                         \
        factor = 1 / sum;                                                                                              \
        for (i = 0; i < cols; i++)                                                                                     \
            out[i] *= factor;                                                                                          \
    }

#ifdef FOR_AVX512
FOR_AVX512 SOFTMAX_ROW(row_avx512)
FOR_AVX2 SOFTMAX_ROW(row_avx2)
#endif
    SOFTMAX_ROW(row)

        void PEER(float *out, const float *in, size_t rows, size_t cols, size_t vector_bytes)
{
    void (*best)(float *restrict out, const float *restrict in, size_t cols) = row;
    size_t r;
#ifdef FOR_AVX512
    if (vector_bytes == 32)
        best = row_avx2;
    if (vector_bytes == 64)
        best = row_avx512;
#endif
    (void)vector_bytes;
    for (r = 0; r < rows; r++)
        best(out + r * cols, in + r * cols, cols);
}
