/* layers.c: see layers.h. First memory and messages; then products and attention, which attn.h computes; then what goes
   row by row: kernels, and the threads that take rows. */
#include "layers.h"

#include <float.h>
#include <math.h>
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

int layers_fail(layers *net, const char *message)
{
    if (!net->failed)
        snprintf(net->error, sizeof net->error, "%s", message);
    net->failed = 1;
    return 0;
}

int layers_check(layers *net, attn_status status, const char *name)
{
    attn_fault fault = net->fault;
    net->fault.argument = net->fault.other = NULL;
    if (status == ATTN_OK || net->failed)
        return !net->failed;
    if (status == ATTN_ERR_NOMEM)
        return layers_fail(net, "no memory");
    snprintf(net->error, sizeof net->error, "%s: %s%s%s%s%s", name, fault.argument ? fault.argument : "",
             fault.other ? ", " : "", fault.other ? fault.other : "", fault.argument ? ": " : "",
             attn_status_string(status));
    net->failed = 1;
    return 0;
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
    ctx.fault = &net->fault;
    return ctx;
}

static size_t width_of(const layers *net)
{
    size_t width = net->parallel.run && net->parallel.width > 1 ? net->parallel.width : 1;
    return width < TASKS ? width : (size_t)TASKS;
}

static attn_ctx context_of_product(layers *net)
{
    if (!net->failed)
        grow(net, &net->scratch, &net->scratch_size, width_of(net) * SCRATCH);
    return context(net);
}

void layers_project(layers *net, float *out, const float *x, size_t n, attn_mat w, double factor)
{
    attn_ctx ctx = context_of_product(net);
    if (net->failed || n == 0)
        return;
    layers_check(net,
                 attn_matmul_ctx(attn_mat_of(out, ATTN_F32, n, w.rows), attn_mat_of(x, ATTN_F32, n, w.cols),
                                 attn_mat_t(w), factor, &ctx),
                 "attn_matmul_ctx");
}

void layers_project_add(layers *net, float *out, const float *x, size_t n, attn_mat w, double factor)
{
    attn_ctx ctx = context_of_product(net);
    if (net->failed || n == 0)
        return;
    layers_check(net,
                 attn_matmul_add(attn_mat_of(out, ATTN_F32, n, w.rows), attn_mat_of(x, ATTN_F32, n, w.cols),
                                 attn_mat_t(w), factor, &ctx),
                 "attn_matmul_add");
}

void layers_sdpa(layers *net, attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v, const attn_opts *opts)
{
    attn_ctx ctx = context(net);
    size_t bytes = 0;
    if (net->failed || !layers_check(net, attn_sdpa_scratch(&bytes, out, q, k, v, opts, &ctx), "attn_sdpa") ||
        !grow(net, &net->scratch, &net->scratch_size, bytes))
        return;
    ctx = context(net);
    layers_check(net, attn_sdpa(out, q, k, v, opts, &ctx), "attn_sdpa");
}

void layers_attend(layers *net, attn_tensor out, attn_tensor q, const attn_kv_cache *cache, const attn_opts *opts)
{
    attn_ctx ctx = context(net);
    size_t bytes = 0;
    if (net->failed ||
        !layers_check(net, attn_kv_cache_scratch(&bytes, out, q, cache, opts, &ctx), "attn_kv_cache_attend") ||
        !grow(net, &net->scratch, &net->scratch_size, bytes))
        return;
    ctx = context(net);
    layers_check(net, attn_kv_cache_attend(out, q, cache, opts, &ctx), "attn_kv_cache_attend");
}

/* ==== Row by row ================================================================================================= */

void layers_norm(layers *net, float *h, const float *x, size_t n, size_t d, const float *weight, const float *bias,
                 double epsilon)
{
    size_t r, i;
    for (r = 0; !net->failed && r < n; r++, x += d, h += d) {
        double sum = 0, squares = 0, mean, factor;
        for (i = 0; i < d; i++)
            sum += (double)x[i];
        mean = sum / (double)d;
        for (i = 0; i < d; i++)
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        factor = 1 / sqrt(squares / (double)d + epsilon);
        for (i = 0; i < d; i++)
            h[i] = (float)(((double)x[i] - mean) * factor) * weight[i] + (bias ? bias[i] : 0);
    }
}

void layers_rms_norm(layers *net, float *h, const float *x, size_t n, size_t d, size_t stride, const float *weight,
                     float plus, double epsilon)
{
    size_t r, i;
    for (r = 0; !net->failed && r < n; r++, x += stride, h += stride) {
        double sum = 0;
        float factor;
        for (i = 0; i < d; i++)
            sum += (double)x[i] * (double)x[i];
        factor = (float)(1 / sqrt(sum / (double)d + epsilon));
        for (i = 0; i < d; i++)
            h[i] = x[i] * factor * (weight[i] + plus);
    }
}

void layers_add(layers *net, float *x, const float *y, size_t n, size_t d)
{
    size_t i;
    for (i = 0; !net->failed && i < n * d; i++)
        x[i] += y[i];
}

void layers_add_bias(layers *net, float *x, size_t n, size_t d, const float *bias)
{
    size_t r, i;
    for (r = 0; !net->failed && bias && r < n; r++, x += d)
        for (i = 0; i < d; i++)
            x[i] += bias[i];
}

static float activate(float f, layers_activation activation)
{
    double x = (double)f;
    if (f < -FLT_MAX && activation != LAYERS_RELU)
        return -0.0f; /* what they tend to */
    switch (activation) {
    case LAYERS_SILU: return (float)(x / (1 + exp(-x)));
    case LAYERS_GELU_TANH: return (float)(x / 2 * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))));
    case LAYERS_GELU_ERF: return (float)(x / 2 * erfc(-0.70710678118654752 * x));
    case LAYERS_RELU: return f < 0 ? 0 : f;
    }
    return f;
}

void layers_gelu(layers *net, float *x, size_t n, size_t d, const float *bias)
{
    size_t r, i;
    for (r = 0; !net->failed && r < n; r++, x += d)
        for (i = 0; i < d; i++)
            x[i] = activate(bias ? x[i] + bias[i] : x[i], LAYERS_GELU_ERF);
}

void layers_gate(layers *net, float *x, const float *gate, size_t n, size_t d, layers_activation activation)
{
    size_t i;
    for (i = 0; !net->failed && i < n * d; i++)
        x[i] = activate(x[i], activation) * (gate ? gate[i] : 1);
}
