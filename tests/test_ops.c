/* The steps as a table: shapes, rules, and a model of each. A model is the dull formula, written once and computed in
   one of three ways: far beyond f64 with compensated sums (EXACT), or rounding every operation to f32 or f64. */
#include "test.h"

/* ---- arithmetic of the models ---- */

static real fit(real x, test_mode mode)
{
    return mode == NAIVE32 ? (real)(float)x : mode == NAIVE64 ? (real)(double)x : x;
}

real test_size_of_sums;

typedef struct total {
    real sum, lost;
} total;

static void add(total *t, real x, test_mode mode) /* Neumaier's compensated sum when EXACT */
{
    real sum = fit(t->sum + x, mode);
    if (mode == EXACT && isfinite(sum))
        t->lost += fabsl(t->sum) >= fabsl(x) ? (t->sum - sum) + x : (x - sum) + t->sum;
    t->sum = sum;
}

real test_sum(const real *x, size_t count)
{
    total t = {0, 0};
    for (size_t n = 0; n < count; n++)
        add(&t, x[n], EXACT);
    return t.sum + t.lost;
}

static real dot(const real *a, size_t a_step, const real *b, size_t b_step, size_t count, test_mode mode)
{
    total t = {0, 0};
    real size = 0;
    for (size_t k = 0; k < count; k++) {
        real term = fit(a[k * a_step] * b[k * b_step], mode);
        add(&t, term, mode);
        size += fabsl(term);
    }
    if (mode == EXACT && size > test_size_of_sums)
        test_size_of_sums = size;
    return t.sum + t.lost;
}

/* out[M][N] = scale a[M][K] b; b is [K][N], or [N][K] when `turned` */
static void product(real *out, const real *a, const real *b, size_t M, size_t K, size_t N, int turned, double scale,
                    test_mode mode)
{
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++)
            out[m * N + n] =
                fit(fit(scale, mode) * dot(a + m * K, 1, turned ? b + n * K : b + n, turned ? 1 : N, K, mode), mode);
}

static void softmax(real *out, const real *in, size_t rows, size_t cols, test_mode mode)
{
    for (size_t r = 0; r < rows; r++, out += cols, in += cols) {
        total t = {0, 0};
        real most = -INFINITY, sum;
        for (size_t c = 0; c < cols; c++)
            most = in[c] > most ? in[c] : most;
        for (size_t c = 0; c < cols; c++) {
            out[c] = fit(expl(fit(in[c] - most, mode)), mode);
            add(&t, out[c], mode);
        }
        sum = t.sum + t.lost;
        for (size_t c = 0; c < cols; c++)
            out[c] = most == -INFINITY ? 0 : fit(out[c] / sum, mode);
    }
}

static double scale_or_default(double scale, const size_t *dims)
{
    return scale != 0 ? scale : 1 / sqrt((double)dims[DIM_D]);
}

/* ---- models: m[] is outputs, then inputs ---- */

#define MODEL(name) static void model_##name(real *const *m, const size_t *n, double scale, test_mode mode)

MODEL(matmul)
{
    product(m[0], m[1], m[2], n[DIM_I], n[DIM_D], n[DIM_J], 0, scale, mode);
}

MODEL(scores)
{
    product(m[0], m[1], m[2], n[DIM_I], n[DIM_D], n[DIM_J], 1, scale_or_default(scale, n), mode);
}

MODEL(scores_general)
{
    real *qw = test_reals(n[DIM_I] * n[DIM_E]);
    (void)scale;
    product(qw, m[1], m[3], n[DIM_I], n[DIM_D], n[DIM_E], 0, 1, mode);
    product(m[0], qw, m[2], n[DIM_I], n[DIM_E], n[DIM_J], 1, 1, mode);
}

MODEL(scores_additive)
{
    size_t I = n[DIM_I], J = n[DIM_J], A = n[DIM_A];
    real *qw = test_reals(I * A), *kw = test_reals(J * A), *bent = test_reals(A);
    (void)scale;
    product(qw, m[1], m[3], I, n[DIM_D], A, 0, 1, mode);
    product(kw, m[2], m[4], J, n[DIM_E], A, 0, 1, mode);
    for (size_t i = 0; i < I; i++)
        for (size_t j = 0; j < J; j++) {
            for (size_t a = 0; a < A; a++)
                bent[a] = fit(tanhl(fit(qw[i * A + a] + kw[j * A + a], mode)), mode);
            m[0][i * J + j] = dot(bent, 1, m[5], 1, A, mode);
        }
}

MODEL(scores_cosine)
{
    size_t D = n[DIM_D];
    for (size_t i = 0; i < n[DIM_I]; i++)
        for (size_t j = 0; j < n[DIM_J]; j++) {
            const real *q = m[1] + i * D, *k = m[2] + j * D;
            real qq = fit(sqrtl(dot(q, 1, q, 1, D, mode)), mode), kk = fit(sqrtl(dot(k, 1, k, 1, D, mode)), mode);
            real length = fit(qq * kk, mode);
            m[0][i * n[DIM_J] + j] =
                length > 0 ? fit(fit(scale, mode) * fit(dot(q, 1, k, 1, D, mode) / length, mode), mode) : 0;
        }
}

MODEL(softmax)
{
    (void)scale;
    softmax(m[0], m[1], n[DIM_I], n[DIM_J], mode);
}

MODEL(softmax_backward)
{
    size_t J = n[DIM_J];
    (void)scale;
    for (size_t i = 0; i < n[DIM_I]; i++) {
        const real *dy = m[1] + i * J, *y = m[2] + i * J;
        real sum = dot(dy, 1, y, 1, J, mode);
        for (size_t j = 0; j < J; j++)
            m[0][i * J + j] = fit(y[j] * fit(dy[j] - sum, mode), mode);
    }
}

MODEL(weighted_values)
{
    (void)scale;
    for (size_t j = 0; j < n[DIM_J]; j++)
        for (size_t d = 0; d < n[DIM_D]; d++)
            m[0][j * n[DIM_D] + d] = fit(m[1][j] * m[2][j * n[DIM_D] + d], mode);
}

MODEL(weighted_sum)
{
    (void)scale;
    product(m[0], m[1], m[2], n[DIM_I], n[DIM_J], n[DIM_D], 0, 1, mode);
}

MODEL(concat_heads)
{
    size_t D = n[DIM_D];
    (void)scale, (void)mode;
    for (size_t i = 0; i < n[DIM_I]; i++)
        for (size_t c = 0; c < 2 * D; c++)
            m[0][i * 2 * D + c] = c < D ? m[1][i * D + c] : m[2][i * D + c - D];
}

MODEL(attention)
{
    product(m[1], m[2], m[3], n[DIM_I], n[DIM_D], n[DIM_J], 1, scale_or_default(scale, n), mode);
    softmax(m[1], m[1], n[DIM_I], n[DIM_J], mode);
    product(m[0], m[1], m[4], n[DIM_I], n[DIM_J], n[DIM_E], 0, 1, mode);
}

MODEL(copy)
{
    (void)scale, (void)mode;
    memcpy(m[0], m[1], n[DIM_I] * n[DIM_J] * sizeof **m);
}

/* ---- calls ---- */

#define CALL(name) static attn_status call_##name(const attn_mat *m, double scale, const attn_ctx *ctx)

CALL(matmul)
{
    (void)scale, (void)ctx;
    return attn_matmul(m[0], m[1], m[2]);
}
CALL(scores)
{
    (void)ctx;
    return attn_scores(m[0], m[1], m[2], scale);
}
CALL(scores_general)
{
    (void)scale, (void)ctx;
    return attn_scores_general(m[0], m[1], m[2], m[3]);
}
CALL(scores_additive)
{
    (void)scale, (void)ctx;
    return attn_scores_additive(m[0], m[1], m[2], m[3], m[4], m[5]);
}
CALL(scores_cosine)
{
    (void)ctx;
    return attn_scores_cosine(m[0], m[1], m[2], scale);
}
CALL(softmax)
{
    (void)scale, (void)ctx;
    return attn_softmax(m[0], m[1]);
}
CALL(softmax_backward)
{
    (void)scale, (void)ctx;
    return attn_softmax_backward(m[0], m[1], m[2]);
}
CALL(weighted_values)
{
    (void)scale, (void)ctx;
    return attn_weighted_values(m[0], m[1], m[2]);
}
CALL(weighted_sum)
{
    (void)scale, (void)ctx;
    return attn_weighted_sum(m[0], m[1], m[2]);
}
CALL(concat_heads)
{
    (void)scale, (void)ctx;
    return attn_concat_heads(m[0], m + 1, 2);
}
CALL(attention)
{
    (void)ctx;
    return attn_attention(m[0], m[1], m[2], m[3], m[4], scale);
}
CALL(matmul_ctx)
{
    return attn_matmul_ctx(m[0], m[1], m[2], scale, ctx);
}
CALL(softmax_ctx)
{
    (void)scale;
    return attn_softmax_ctx(m[0], m[1], ctx);
}
CALL(copy)
{
    (void)scale, (void)ctx;
    return attn_mat_copy(m[0], m[1]);
}

#define OP(name, shapes, outs, args, flags, model)                                                                     \
    {                                                                                                                  \
#name, shapes, outs, args, flags, call_##name, model_##model                                                   \
    }

const test_op test_ops[] = {
    OP(matmul, "ij id dj", 1, 3, 0, matmul),
    OP(scores, "ij id jd", 1, 3, OP_SCALE, scores),
    OP(scores_general, "ij id je de", 1, 4, OP_ALLOCATES, scores_general),
    OP(scores_additive, "ij id je da ea a1", 1, 6, OP_ALLOCATES, scores_additive),
    OP(scores_cosine, "ij id jd", 1, 3, OP_SCALE | OP_ALLOCATES, scores_cosine),
    OP(softmax, "ij ij", 1, 2, OP_IN_PLACE, softmax),
    OP(softmax_backward, "ij ij ij", 1, 3, OP_IN_PLACE, softmax_backward),
    OP(weighted_values, "jd 1j jd", 1, 3, 0, weighted_values),
    OP(weighted_sum, "id ij jd", 1, 3, 0, weighted_sum),
    OP(concat_heads, "ih id id", 1, 3, 0, concat_heads),
    OP(attention, "ie ij id jd je", 2, 5, OP_SCALE, attention),
    OP(matmul_ctx, "ij id dj", 1, 3, OP_SCALE | OP_CTX, matmul),
    OP(softmax_ctx, "ij ij", 1, 2, OP_CTX | OP_IN_PLACE, softmax),
    OP(copy, "ij ij", 1, 2, OP_COPY | OP_IN_PLACE, copy),
};
const size_t test_op_count = sizeof test_ops / sizeof *test_ops;

const test_op *test_op_named(const char *name)
{
    const test_op *op = test_ops;
    while (strcmp(op->name, name) != 0)
        op++;
    return op;
}

static size_t length(char letter, const size_t *dims)
{
    static const char letters[] = "ijdea";
    return letter == '1' ? 1 : letter == 'h' ? 2 * dims[DIM_D] : dims[strchr(letters, letter) - letters];
}

void test_op_shape(const test_op *op, int arg, const size_t *dims, size_t *rows, size_t *cols)
{
    *rows = length(op->shapes[3 * arg], dims);
    *cols = length(op->shapes[3 * arg + 1], dims);
}

/* ---- comparison ---- */

int test_close(attn_mat out, const real *want, const real *naive, attn_dtype compute)
{
    real worst = test_ulp(test_size_of_sums, compute) / 2;
    for (size_t i = 0; i < out.rows * out.cols; i++)
        if (fabsl(naive[i] - want[i]) > worst)
            worst = fabsl(naive[i] - want[i]);
    for (size_t i = 0; i < out.rows * out.cols; i++) {
        real tolerance = 2 * worst + 4 * test_ulp(want[i], compute);
        if (test_size(out.dtype) == 2)
            tolerance += test_ulp(fabsl(want[i]) + tolerance, out.dtype) / 2;
        if (!CHECK_NEAR(test_load(test_at(out, i / out.cols, i % out.cols), out.dtype), want[i], tolerance))
            return 0;
    }
    return 1;
}
