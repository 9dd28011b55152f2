/* layers.c: see layers.h. First memory and messages; then products and attention, which attn.h computes; then what goes
   row by row: the kernels, the instruction sets that they are compiled for, and the threads that take rows. */
#include "layers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== Messages and memory ======================================================================================== */

void layers_free(layers *net)
{
    free(net->work);
    free(net->scratch);
    net->work = net->scratch = NULL;
    net->work_size = net->scratch_size = 0;
}

int layers_fail(layers *net, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!net->failed)
        vsnprintf(net->error, sizeof net->error, format, arguments);
    va_end(arguments);
    net->failed = 1;
    return 0;
}

const char *layers_outcome(layers *net)
{
    const char *error = net->failed ? net->error : NULL;
    net->failed = 0;
    return error;
}

int layers_check(layers *net, attn_status status, const char *name)
{
    attn_fault fault = net->fault;
    net->fault.argument = net->fault.other = NULL;
    net->fault.text[0] = 0;
    if (status == ATTN_OK || net->failed)
        return !net->failed;
    if (status == ATTN_ERR_NOMEM)
        return layers_fail(net, "no memory");
    return layers_fail(net, "%s: %s%s%s%s%s", name, fault.argument ? fault.argument : "", fault.other ? ", " : "",
                       fault.other ? fault.other : "", fault.argument ? ": " : "",
                       fault.text[0] ? fault.text : attn_status_string(status));
}

/* At least `bytes` bytes at *memory; what was there is lost. */
static int grow(layers *net, char **memory, size_t *size, size_t bytes)
{
    if (bytes <= *size)
        return 1;
    free(*memory);
    *memory = (char *)malloc(bytes);
    *size = *memory ? bytes : 0;
    return *memory ? 1 : layers_fail(net, "no memory");
}

void *layers_memory(size_t a, size_t b, size_t c, size_t size)
{
    if ((b && a > (size_t)PTRDIFF_MAX / b) || (c && a * b > (size_t)PTRDIFF_MAX / c) ||
        a * b * c > (size_t)PTRDIFF_MAX / size - 1)
        return NULL;
    return malloc((a * b * c + 1) * size);
}

enum { LINE = 64 }; /* bytes of a line of the caches, and of the widest vectors: rows begin with one */

float *layers_rows(layers *net, size_t count, size_t width)
{
    if (net->failed)
        return NULL;
    if (width && count > ((size_t)PTRDIFF_MAX - LINE) / sizeof(float) / width) {
        layers_fail(net, "no memory");
        return NULL;
    }
    if (!grow(net, &net->work, &net->work_size, count * width * sizeof(float) + LINE))
        return NULL;
    return (float *)(void *)(net->work + (LINE - (uintptr_t)net->work % LINE) % LINE);
}

int layers_parts(layers *net, size_t count, const layers_part *parts, size_t n)
{
    size_t width = 0, i;
    float *at;
    for (i = 0; i < n; i++)
        width = parts[i].width < SIZE_MAX - width ? width + parts[i].width : SIZE_MAX;
    at = layers_rows(net, count, width);
    for (i = 0; at && i < n; at += count * parts[i++].width)
        *parts[i].rows = at;
    return at != NULL;
}

/* ==== Products and attention ===================================================================================== */

/* What a task of attn_matmul_ctx has use for (attn.h, MEMORY), and how many tasks it has at most. */
enum { SCRATCH = 600 << 10, TASKS = 256 };

static attn_ctx context(layers *net)
{
    attn_ctx ctx;
    memset(&ctx, 0, sizeof ctx);
    ctx.parallel = net->parallel;
    ctx.scratch = net->scratch;
    ctx.scratch_size = net->scratch_size;
    ctx.isa = net->isa;
    ctx.batch_invariant = net->batch_invariant;
    ctx.fault = &net->fault;
    return ctx;
}

static size_t width_of(const layers *net)
{
    size_t width = net->parallel.run && net->parallel.width > 1 ? net->parallel.width : 1;
    return width < TASKS ? width : (size_t)TASKS;
}

static void product(layers *net, float *out, const float *x, size_t n, attn_mat w, double factor, int add)
{
    attn_mat y = attn_mat_of(out, ATTN_F32, n, w.rows), in = attn_mat_of(x, ATTN_F32, n, w.cols), t = attn_mat_t(w);
    attn_ctx ctx;
    if (net->failed || n == 0 || !grow(net, &net->scratch, &net->scratch_size, width_of(net) * SCRATCH))
        return;
    ctx = context(net);
    if (add)
        layers_check(net, attn_matmul_add(y, in, t, factor, &ctx), "attn_matmul_add");
    else
        layers_check(net, attn_matmul_ctx(y, in, t, factor, &ctx), "attn_matmul_ctx");
}

void layers_project(layers *net, float *out, const float *x, size_t n, attn_mat w, double factor)
{
    product(net, out, x, n, w, factor, 0);
}

void layers_project_add(layers *net, float *out, const float *x, size_t n, attn_mat w, double factor)
{
    product(net, out, x, n, w, factor, 1);
}

void layers_sdpa(layers *net, attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v, const attn_opts *opts)
{
    attn_ctx ctx = context(net);
    attn_dry_run dry = {0, NULL, 0};
    ctx.dry_run = &dry;
    if (net->failed || !layers_check(net, attn_sdpa(out, q, k, v, opts, &ctx), "attn_sdpa") ||
        !grow(net, &net->scratch, &net->scratch_size, dry.scratch))
        return;
    ctx = context(net);
    layers_check(net, attn_sdpa(out, q, k, v, opts, &ctx), "attn_sdpa");
}

void layers_append(layers *net, attn_kv_cache *cache, attn_tensor k, attn_tensor v)
{
    if (!net->failed)
        layers_check(net, attn_kv_cache_append(cache, k, v, NULL), "attn_kv_cache_append");
}

void layers_attend(layers *net, attn_tensor out, attn_tensor q, const attn_kv_cache *cache, const attn_opts *opts)
{
    attn_ctx ctx = context(net);
    attn_dry_run dry = {0, NULL, 0};
    ctx.dry_run = &dry;
    if (net->failed || !layers_check(net, attn_kv_cache_attend(out, q, cache, opts, &ctx), "attn_kv_cache_attend") ||
        !grow(net, &net->scratch, &net->scratch_size, dry.scratch))
        return;
    ctx = context(net);
    layers_check(net, attn_kv_cache_attend(out, q, cache, opts, &ctx), "attn_kv_cache_attend");
}

/* ==== Embeddings ================================================================================================= */

int layers_known(layers *net, const int32_t *ids, size_t n, size_t count)
{
    size_t i;
    for (i = 0; !net->failed && i < n; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= count)
            layers_fail(net, "token %ld is not in the vocabulary", (long)ids[i]);
    return !net->failed;
}

void layers_embed(layers *net, float *x, attn_mat table, const int32_t *ids, size_t n)
{
    size_t i;
    if (layers_known(net, ids, n, table.rows))
        for (i = 0; i < n; i++, x += table.cols)
            attn_mat_copy(attn_mat_of(x, ATTN_F32, 1, table.cols), attn_mat_rows(table, (size_t)ids[i], 1));
}

/* ==== Kernels ====================================================================================================

   What goes row by row, as loops that gcc and clang make vectors of: no branches in them, no functions but those below.
   They are written once and become part of rows_avx512, rows_avx2 and rows_plain, where `fused` says whether madd is an
   instruction. Compilers fuse nothing else, so that an element's bits do not depend on its place in a row. */

#if (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
#define INLINE static inline __attribute__((always_inline))
#define FUSED_MADD(a, b, c) __builtin_fmaf(a, b, c)
#else
#define INLINE static
#define FUSED_MADD(a, b, c) ((a) * (b) + (c))
#endif

/* Before a loop whose turns do not depend on each other, although its pointers may be the same: it works in place. */
#if defined(__clang__)
#define LANES _Pragma("clang loop vectorize(assume_safety)")
#pragma clang fp contract(off)
#elif defined(__GNUC__) && !defined(__TINYC__)
#define LANES _Pragma("GCC ivdep")
#else
#define LANES
#endif

typedef enum kernel { NORM, ADD_NORM, RMS_NORM, ADD, GELU, GATE } kernel;

/* Rows to work on, and how. What a kernel has no use for is zero. */
typedef struct job {
    kernel which;
    float *x;                            /* n x d: what comes out, and where it works in place what goes in */
    const float *y;                      /* n x d: what goes in, or is added to x, or its gate */
    const float *weight, *bias, *y_bias; /* [d] */
    size_t n, d, stride;                 /* stride: floats from row to row, of a kernel that does not take d for it */
    float plus;
    double epsilon;
    layers_activation activation;
    void (*rows)(const struct job *j, size_t first, size_t end); /* the kernel, for this CPU */
    size_t tasks;
} job;

/* a b + c */
INLINE float madd(float a, float b, float c, int fused)
{
    return fused ? FUSED_MADD(a, b, c) : a * b + c;
}

INLINE uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* min(|x|, most) by their bits, which are ordered as they are; NaN: most. */
INLINE float magnitude(float x, float most)
{
    uint32_t a = bits_of(x) & 0x7fffffff, b = bits_of(most);
    return of_bits(a < b ? a : b);
}

/* -- activations -- */

/* x Phi(x), Phi of the normal distribution, is max(x, 0) - u Phi(-u), u = |x|: below 0 nothing cancels. Phi(-u) is the
   fourth power of (R - u) P(u - 5/2), P of degree 10: a minimax fit of u Phi(-u) for 0 <= u <= R = 6.75, relative where
   that is above 0.02. Beyond R, where u Phi(-u) is below 5.1e-11, it is 0. */
INLINE float gelu_erf(float x, int fused)
{
    float u = magnitude(x, 6.75f), t = u - 2.5f, p = 7.8288025e-9f;
    p = madd(p, t, 6.86245105e-9f, fused);
    p = madd(p, t, -4.37561852e-7f, fused);
    p = madd(p, t, 6.25341897e-7f, fused);
    p = madd(p, t, 1.43463822e-5f, fused);
    p = madd(p, t, -5.11175494e-5f, fused);
    p = madd(p, t, -2.5983245e-4f, fused);
    p = madd(p, t, 1.70114054e-3f, fused);
    p = madd(p, t, 1.61414442e-3f, fused);
    p = madd(p, t, -3.10697779e-2f, fused);
    p = madd(p, t, 6.60508052e-2f, fused);
    p *= 6.75f - u;
    p *= p;
    p *= p;
    return madd(-u, p, x < 0 ? 0 : x, fused); /* NaN stays */
}

/* exp(-|y|): 2^n 2^f, f from -1/2 to 1/2 and 2^f a polynomial, a minimax fit within 2e-9. 0 from 87.7 on; NaN: 0. */
INLINE float exp_minus(float y, int fused)
{
    float u = magnitude(y, 88), f, p;
    float rounded = madd(u, -1.44269504f, 12582912, fused); /* 1.5 2^23: the low bits are n, from -127 on */
    uint32_t n = bits_of(rounded) - 0x4b400000;             /* less the bits of 1.5 2^23 */
    f = madd(u, -1.44269504f, -(float)(int32_t)n, fused);
    p = madd(1.5353362e-4f, f, 1.3398875e-3f, fused);
    p = madd(p, f, 9.6184369e-3f, fused);
    p = madd(p, f, 5.55033237e-2f, fused);
    p = madd(p, f, 2.40226477e-1f, fused);
    p = madd(p, f, 6.93147182e-1f, fused);
    p = madd(p, f, 1, fused);
    return p * of_bits((n + 127) << 23);
}

/* x / (1 + exp(-y)) for y of the sign of x; least: an x below which that is 0. */
INLINE float times_logistic(float x, float y, float least, int fused)
{
    float e = exp_minus(y, fused), z = x < least ? least : x; /* -infinity times 0 were NaN */
    uint32_t negative = 0 - (bits_of(x) >> 31);
    return z * of_bits((bits_of(e) & negative) | (bits_of(1) & ~negative)) / (1 + e);
}

INLINE float silu(float x, int fused)
{
    return times_logistic(x, x, -88, fused);
}

/* x / 2 (1 + tanh(y / 2)) = x / (1 + exp(-y)), y = 2 sqrt(2/pi) (x + 0.044715 x^3) */
INLINE float gelu_tanh(float x, int fused)
{
    float square = x * x;
    return times_logistic(x, x * madd(0.0713548163f, square, 1.59576912f, fused), -11, fused);
}

INLINE float relu(float x)
{
    return x < 0 ? 0 : x; /* NaN stays */
}

/* Row by row, x = ACTIVATION gate, or without a gate. */
#define GATE_BY(ACTIVATION)                                                                                            \
    for (; first < end; first++, x += d) {                                                                             \
        if (gate) {                                                                                                    \
            LANES for (i = 0; i < d; i++) x[i] = ACTIVATION * gate[i];                                                 \
            gate += d;                                                                                                 \
        } else {                                                                                                       \
            LANES for (i = 0; i < d; i++) x[i] = ACTIVATION;                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    break

INLINE void gate_rows(const job *j, size_t first, size_t end, int fused)
{
    size_t d = j->d, i;
    float *x = j->x + first * d;
    const float *gate = j->y ? j->y + first * d : NULL;
    switch (j->activation) {
    case LAYERS_SILU: GATE_BY(silu(x[i], fused));
    case LAYERS_GELU_TANH: GATE_BY(gelu_tanh(x[i], fused));
    case LAYERS_GELU_ERF: GATE_BY(gelu_erf(x[i], fused));
    case LAYERS_RELU: GATE_BY(relu(x[i]));
    }
}

INLINE void gelu_rows(const job *j, size_t first, size_t end, int fused)
{
    size_t d = j->d, i;
    const float *bias = j->bias;
    float *x = j->x + first * d;
    for (; first < end; first++, x += d) {
        LANES for (i = 0; i < d; i++) x[i] = gelu_erf(x[i] + bias[i], fused);
    }
}

/* x += y; without y, bias to each row. */
INLINE void add_rows(const job *j, size_t first, size_t end)
{
    size_t d = j->d, step = j->y ? d : 0, i;
    float *x = j->x + first * d;
    const float *y = j->y ? j->y + first * d : j->bias;
    for (; first < end; first++, x += d, y += step) {
        LANES for (i = 0; i < d; i++) x[i] += y[i];
    }
}

/* -- norms -- */

/* Sums are made in so many parts, of the terms whose numbers agree modulo that: four vectors of AVX-512. */
enum { PARTS = 64 };

INLINE void fold(float *parts, size_t half)
{
    size_t i;
    for (i = 0; i < half; i++)
        parts[i] += parts[half + i];
}

INLINE float sum_of_parts(float *parts)
{
    fold(parts, 32);
    fold(parts, 16);
    fold(parts, 8);
    fold(parts, 4);
    return (parts[0] + parts[2]) + (parts[1] + parts[3]);
}

/* A part and one more term: x, or the square of x - mean. */
INLINE float with_term(float part, float x, int squared, float mean, int fused)
{
    return squared ? madd(x - mean, x - mean, part, fused) : part + x;
}

/* The sum of x, or of (x - mean)^2. */
INLINE float sum(const float *x, size_t d, int squared, float mean, int fused)
{
    float parts[PARTS];
    size_t i, l;
    for (l = 0; l < PARTS; l++)
        parts[l] = 0;
    for (i = 0; i + PARTS <= d; i += PARTS)
        for (l = 0; l < PARTS; l++)
            parts[l] = with_term(parts[l], x[i + l], squared, mean, fused);
    for (l = 0; i + l < d; l++)
        parts[l] = with_term(parts[l], x[i + l], squared, mean, fused);
    return sum_of_parts(parts);
}

INLINE float norm_factor(float squares, size_t d, double epsilon)
{
    return (float)(1 / sqrt((double)squares / (double)d + epsilon));
}

/* Sums of a row wait for each other, those of several rows do not: up to so many are normed together, whose rows stay
   in the first-level cache. */
enum { TOGETHER = 4, TOGETHER_MOST = 1024 };

INLINE size_t rows_together(const job *j, size_t rows)
{
    size_t most = j->d <= TOGETHER_MOST ? TOGETHER : 1;
    return rows < most ? rows : most;
}

/* h = norm(x), for TOGETHER rows at most. They are read three times, but once from memory. */
INLINE void norm_together(const job *j, float *h, const float *x, size_t rows, int fused)
{
    const float *weight = j->weight, *bias = j->bias;
    float mean[TOGETHER], factor[TOGETHER];
    size_t d = j->d, r, i;
    for (r = 0; r < rows; r++)
        mean[r] = (float)((double)sum(x + r * d, d, 0, 0, fused) / (double)d);
    for (r = 0; r < rows; r++)
        factor[r] = norm_factor(sum(x + r * d, d, 1, mean[r], fused), d, j->epsilon);
    for (r = 0; r < rows; r++, x += d, h += d) {
        float m = mean[r], f = factor[r];
        if (bias) {
            LANES for (i = 0; i < d; i++) h[i] = madd((x[i] - m) * f, weight[i], bias[i], fused);
        } else {
            LANES for (i = 0; i < d; i++) h[i] = (x[i] - m) * f * weight[i];
        }
    }
}

INLINE void norm_rows(const job *j, size_t first, size_t end, int fused)
{
    size_t rows;
    for (; first < end; first += rows) {
        rows = rows_together(j, end - first);
        norm_together(j, j->x + first * j->d, j->y + first * j->d, rows, fused);
    }
}

INLINE void add_norm_rows(const job *j, size_t first, size_t end, int fused)
{
    const float *y_bias = j->y_bias;
    size_t d = j->d, rows, r, i;
    for (; first < end; first += rows) {
        float *x = j->x + first * d;
        const float *y = j->y + first * d;
        rows = rows_together(j, end - first);
        for (r = 0; r < rows * d; r += d) {
            if (y_bias) {
                LANES for (i = 0; i < d; i++) x[r + i] += y[r + i] + y_bias[i];
            } else {
                LANES for (i = 0; i < d; i++) x[r + i] += y[r + i];
            }
        }
        norm_together(j, x, x, rows, fused);
    }
}

INLINE void rms_norm_rows(const job *j, size_t first, size_t end, int fused)
{
    size_t d = j->d, stride = j->stride, rows, r, i;
    const float *weight = j->weight, *x = j->y + first * stride;
    float *h = j->x + first * stride, plus = j->plus, factor[TOGETHER];
    for (; first < end; first += rows) {
        rows = rows_together(j, end - first);
        for (r = 0; r < rows; r++)
            factor[r] = norm_factor(sum(x + r * stride, d, 1, 0, fused), d, j->epsilon);
        for (r = 0; r < rows; r++, x += stride, h += stride) {
            float f = factor[r];
            LANES for (i = 0; i < d; i++) h[i] = x[i] * f * (weight[i] + plus);
        }
    }
}

/* -- instruction sets -- */

INLINE void rows_of_kernel(const job *j, size_t first, size_t end, int fused)
{
    switch (j->which) {
    case NORM: norm_rows(j, first, end, fused); break;
    case ADD_NORM: add_norm_rows(j, first, end, fused); break;
    case RMS_NORM: rms_norm_rows(j, first, end, fused); break;
    case ADD: add_rows(j, first, end); break;
    case GELU: gelu_rows(j, first, end, fused); break;
    case GATE: gate_rows(j, first, end, fused); break;
    }
}

/* gcc makes vectors of all these loops at -O3 alone, and must not fuse what it likes. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__TINYC__)
#define VECTORS __attribute__((optimize("O3", "fp-contract=off")))
#else
#define VECTORS
#endif

/* Has every processor of the compiler's target fused multiply-add? */
#if defined(__FP_FAST_FMAF) || defined(__aarch64__)
enum { FUSED = 1 };
#else
enum { FUSED = 0 };
#endif

VECTORS static void rows_plain(const job *j, size_t first, size_t end)
{
    rows_of_kernel(j, first, end, FUSED);
}

#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__)) && !defined(__TINYC__)
#define ROWS_X86 1

VECTORS __attribute__((target("avx2,fma"))) static void rows_avx2(const job *j, size_t first, size_t end)
{
    rows_of_kernel(j, first, end, 1);
}

VECTORS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))) static void
rows_avx512(const job *j, size_t first, size_t end)
{
    rows_of_kernel(j, first, end, 1);
}
#endif

/* ==== Row by row ================================================================================================= */

/* Tasks take whole chunks of rows, which hold so many numbers or are one row; and so many numbers are worth a task. */
enum { CHUNK = 1 << 12, WORTH = 1 << 14 };

static void task(void *arg, size_t index)
{
    const job *j = (const job *)arg;
    size_t rows = j->d < CHUNK ? CHUNK / j->d : 1, chunks = (j->n - 1) / rows + 1;
    size_t share = chunks / j->tasks, rest = chunks % j->tasks;
    size_t first = index * share + (index < rest ? index : rest), end = first + share + (index < rest);
    if (first < end)
        j->rows(j, first * rows, end < chunks ? end * rows : j->n);
}

#if defined(ROWS_X86)
static int is_chosen(const layers *net, attn_isa isa)
{
    return (net->isa == ATTN_ISA_BEST || net->isa == isa) && attn_isa_available(isa);
}
#endif

static void run(const layers *net, job *j)
{
    size_t width = width_of(net), most;
    if (net->failed || j->n == 0 || j->d == 0)
        return;
    j->rows = rows_plain;
#if defined(ROWS_X86)
    if (is_chosen(net, ATTN_ISA_AVX512))
        j->rows = rows_avx512;
    else if (is_chosen(net, ATTN_ISA_AVX2))
        j->rows = rows_avx2;
#endif
    most = j->n * j->d / WORTH;
    j->tasks = most > 1 && width > 1 ? (most < width ? most : width) : 1;
    if (j->tasks > 1)
        net->parallel.run(net->parallel.user, j->tasks, task, j);
    else
        j->rows(j, 0, j->n);
}

void layers_norm(layers *net, float *h, const float *x, size_t n, size_t d, const float *weight, const float *bias,
                 double epsilon)
{
    job j = {.which = NORM, .x = h, .y = x, .n = n, .d = d, .weight = weight, .bias = bias, .epsilon = epsilon};
    run(net, &j);
}

void layers_add_norm(layers *net, float *x, const float *y, const float *y_bias, size_t n, size_t d,
                     const float *weight, const float *bias, double epsilon)
{
    job j = {.which = ADD_NORM, .x = x, .y = y, .n = n, .d = d, .weight = weight, .bias = bias, .epsilon = epsilon};
    j.y_bias = y_bias;
    run(net, &j);
}

void layers_rms_norm(layers *net, float *h, const float *x, size_t n, size_t d, size_t stride, const float *weight,
                     float plus, double epsilon)
{
    job j = {.which = RMS_NORM, .x = h, .y = x, .n = n, .d = d, .stride = stride, .weight = weight, .epsilon = epsilon};
    j.plus = plus;
    run(net, &j);
}

void layers_add(layers *net, float *x, const float *y, size_t n, size_t d)
{
    job j = {.which = ADD, .x = x, .y = y, .n = n, .d = d};
    run(net, &j);
}

void layers_add_bias(layers *net, float *x, size_t n, size_t d, const float *bias)
{
    job j = {.which = ADD, .x = x, .n = n, .d = d, .bias = bias};
    if (bias)
        run(net, &j);
}

void layers_gelu(layers *net, float *x, size_t n, size_t d, const float *bias)
{
    job j = {.which = bias ? GELU : GATE, .x = x, .n = n, .d = d, .bias = bias, .activation = LAYERS_GELU_ERF};
    run(net, &j);
}

void layers_gate(layers *net, float *x, const float *gate, size_t n, size_t d, layers_activation activation)
{
    job j = {.which = GATE, .x = x, .y = gate, .n = n, .d = d, .activation = activation};
    run(net, &j);
}
