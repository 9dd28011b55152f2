/* Every step against its model and against PyTorch, in every layout and mix of types. */
#include "test.h"

#include "golden/steps.h"

static int is(const test_op *op, const char *name)
{
    return strcmp(op->name, name) == 0;
}

/* One call with random inputs: results near the models, nothing else written. */
static void check_op(const test_op *op, const size_t *dims, attn_isa isa, int f64, int mixed, int plain)
{
    static const attn_dtype some[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    attn_dtype compute = f64 ? test_wide : ATTN_F32;
    attn_ctx ctx = test_ctx(isa);
    attn_mat m[OP_ARGS];
    real *exact[OP_ARGS], *naive[OP_ARGS];
    double scale = op->flags & OP_SCALE && test_maybe() ? test_uniform() * 3 : 1;
    if (is(op, "concat_heads") || is(op, "copy"))
        scale = 1;
    for (int a = 0; a < op->args; a++) {
        size_t rows, cols;
        attn_dtype dtype = f64 ? test_wide : mixed ? some[test_below(3)] : ATTN_F32;
        int layout = plain ? PACKED : (int)test_below(a < op->outs ? OUT_LAYOUTS : LAYOUTS);
        test_op_shape(op, a, dims, &rows, &cols);
        m[a] = a < op->outs ? test_mat(dtype, rows, cols, layout) : test_random_mat(dtype, rows, cols, layout);
        exact[a] = naive[a] = a < op->outs ? NULL : test_values(m[a]);
        if (a < op->outs) {
            exact[a] = test_reals(rows * cols);
            naive[a] = test_reals(rows * cols);
        }
    }
    test_case("attn_%s, %s, %s, dims %zu %zu %zu %zu %zu", op->name, attn_isa_string(isa),
              f64     ? "f64"
              : mixed ? "mixed"
                      : "f32",
              dims[0], dims[1], dims[2], dims[3], dims[4]);
    test_size_of_sums = 0;
    op->model(exact, dims, scale, EXACT);
    op->model(naive, dims, scale, f64 ? NAIVE64 : NAIVE32);
    test_freeze();
    CHECK_STATUS(op->call(m, scale, &ctx), ATTN_OK);
    CHECK(test_wrote_only(m, (size_t)op->outs));
    for (int a = 0; a < op->outs; a++)
        test_close(m[a], exact[a], naive[a], compute);
    test_release();
}

TEST(steps_against_models)
{
    static const size_t lengths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 49, 65};
    for (size_t o = 0; o < test_op_count; o++)
        for (int n = 0; n < (test_quick ? 12 : 240); n++) {
            const test_op *op = &test_ops[o];
            size_t dims[DIMS];
            for (size_t i = 0; i < DIMS; i++)
                dims[i] = test_below(3) ? 1 + test_below(6) : lengths[test_below(14)];
            if (n % 8 == 0 && n % 3 < 2)
                dims[n % 3 ? DIM_I : DIM_J] = 0;
            if (op->flags & OP_CTX) {
                FOR_EACH_ISA (isa)
                    check_op(op, dims, isa, n % 3 == 0, n % 3 == 1, n % 2);
            } else
                check_op(op, dims, ATTN_ISA_BEST, n % 3 == 0, n % 3 == 1, n % 2);
        }
}

/* The same values in any layout give the same bits. */
TEST(steps_layouts)
{
    static const size_t dims[DIMS] = {19, 33, 17, 21, 18};
    for (size_t o = 0; o < test_op_count; o++)
        FOR_EACH_FLOAT (dtype) {
            const test_op *op = &test_ops[o];
            attn_mat m[OP_ARGS], other[OP_ARGS];
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            for (int a = 0; a < op->args; a++) {
                size_t rows, cols;
                test_op_shape(op, a, dims, &rows, &cols);
                m[a] = a < op->outs ? test_mat(dtype, rows, cols, PACKED)
                                    : test_random_mat(dtype, rows, cols, PACKED);
            }
            test_case("attn_%s, %s, packed", op->name, test_dtype_name(dtype));
            CHECK_STATUS(op->call(m, 1, &ctx), ATTN_OK);
            for (int n = 0; n < (test_quick ? 2 : 12); n++) {
                int layouts[OP_ARGS];
                for (int a = 0; a < op->args; a++) {
                    layouts[a] = n < OUT_LAYOUTS ? n : (int)test_below(OUT_LAYOUTS);
                    other[a] = a < op->outs ? test_mat(dtype, m[a].rows, m[a].cols, layouts[a])
                                            : test_mat_like(m[a], layouts[a]);
                }
                test_case("attn_%s, %s, layouts %d %d %d ..", op->name, test_dtype_name(dtype), layouts[0],
                          layouts[1], layouts[2 % op->args]);
                test_freeze();
                CHECK_STATUS(op->call(other, 1, &ctx), ATTN_OK);
                CHECK(test_wrote_only(other, (size_t)op->outs));
                for (int a = 0; a < op->outs; a++)
                    CHECK(test_same_bits(other[a], m[a]));
            }
            test_release();
        }
}

TEST(steps_heads)
{
    for (size_t count = 1; count <= 8; count *= 2) {
        attn_mat in = test_random_mat(ATTN_F16, 5, 24, STRIDED), out = test_mat(ATTN_F16, 5, 24, TRANSPOSED), heads[8];
        test_case("%zu heads", count);
        CHECK_STATUS(attn_split_heads(heads, count, in), ATTN_OK);
        for (size_t h = 0; h < count; h++) {
            attn_mat same = attn_head(attn_heads(in, count), 0, h);
            CHECK(heads[h].rows == 5 && heads[h].cols == 24 / count && heads[h].dtype == ATTN_F16);
            CHECK(test_at(heads[h], 4, 1) == test_at(in, 4, h * 24 / count + 1));
            CHECK(test_at(heads[h], 4, 1) == test_at(same, 4, 1) && same.cols == heads[h].cols);
        }
        CHECK_STATUS(attn_concat_heads(out, heads, count), ATTN_OK);
        CHECK(test_same_bits(out, in));
    }
    {
        static const double left[] = {1, 2, 3, 4}, right[] = {5, 6}, want[] = {1, 2, 5, 3, 4, 6};
        attn_mat heads[3], out = test_mat(ATTN_F32, 2, 3, PADDED);
        test_case("heads of unlike widths and types");
        heads[0] = test_numbers(ATTN_F16, 2, 2, left);
        heads[1] = test_numbers(ATTN_F32, 2, 0, NULL);
        heads[2] = test_numbers(ATTN_BF16, 2, 1, right);
        CHECK_STATUS(attn_concat_heads(out, heads, 3), ATTN_OK);
        CHECK(test_same_bits(out, test_numbers(ATTN_F32, 2, 3, want)));
    }
}

TEST(steps_values)
{
    attn_mat weights = test_random_mat(ATTN_F32, 1, 9, PACKED), v = test_random_mat(ATTN_F32, 9, 13, PACKED);
    attn_mat each = test_mat(ATTN_F32, 9, 13, PACKED), sum = test_mat(ATTN_F32, 1, 13, PACKED);
    float one = 1;
    attn_mat ones = {&one, ATTN_F32, 1, 9, 0, 0}, total = test_mat(ATTN_F32, 1, 13, PACKED);
    test_case("the weighted values add up to the weighted sum");
    CHECK_STATUS(attn_weighted_values(each, weights, v), ATTN_OK);
    CHECK_STATUS(attn_weighted_sum(sum, weights, v), ATTN_OK);
    CHECK_STATUS(attn_matmul(total, ones, each), ATTN_OK);
    for (size_t d = 0; d < 13; d++)
        CHECK_NEAR(attn_mat_get(total, 0, d), attn_mat_get(sum, 0, d), 9 * FLT_EPSILON);
}

TEST(steps_cosine)
{
    static const double qs[] = {3, 4, 0, 0, -1, 0, 0, 2}, ks[] = {3, 4, 0, 0, 6, 8, 0, -1};
    static const double want[] = {1, 0, 1, -0.8, 0, 0, 0, 0, -0.6, 0, -0.6, 0, 0.8, 0, 0.8, -1};
    FOR_EACH_FLOAT (dtype) {
        attn_mat q = test_numbers(dtype, 4, 2, qs), k = test_numbers(dtype, 4, 2, ks),
                 out = test_mat(dtype, 4, 4, PACKED);
        test_case("%s: directions, and zero vectors", test_dtype_name(dtype));
        CHECK_STATUS(attn_scores_cosine(out, q, k, 5), ATTN_OK);
        for (size_t i = 0; i < 16; i++)
            CHECK_NEAR(test_load(test_at(out, i / 4, i % 4), out.dtype), 5 * want[i],
                       2 * test_ulp(5 * want[i], out.dtype));
    }
    for (int large = 0; large < 2; large++)
        for (int f64 = 0; f64 < 2; f64++) { /* squares beyond the range */
            attn_dtype dtype = f64 ? test_wide : ATTN_F32;
            double far = dtype == ATTN_F64 ? (large ? 1e200 : 1e-200) : (large ? 1e30 : 1e-30), both[4];
            attn_mat q, out = test_mat(dtype, 2, 2, PACKED);
            both[0] = both[1] = far, both[2] = far, both[3] = -far;
            q = test_numbers(dtype, 2, 2, both);
            test_case("%s vectors of %g", test_dtype_name(dtype), far);
            CHECK_STATUS(attn_scores_cosine(out, q, q, 1), ATTN_OK);
            for (size_t i = 0; i < 4; i++)
                CHECK_NEAR(attn_mat_get(out, i / 2, i % 2), i % 3 == 0, 4 * test_ulp(1, dtype));
        }
}

TEST(steps_attention)
{
    const attn_dtype kinds[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    attn_mat none = {0};
    for (size_t n = 0; n < 4; n++) {
        attn_dtype dtype = kinds[n];
        attn_mat q = test_random_mat(dtype, 17, 9, PACKED), k = test_random_mat(dtype, 33, 9, PACKED),
                 v = test_random_mat(dtype, 33, 10, PACKED);
        attn_mat out = test_mat(dtype, 17, 10, PACKED), again = test_mat(dtype, 17, 10, PACKED),
                 weights = test_mat(dtype, 17, 33, PACKED), scores = test_mat(dtype, 17, 33, PACKED);
        test_case("%s: weights do not change out", test_dtype_name(dtype));
        CHECK_STATUS(attn_attention(out, none, q, k, v, 0), ATTN_OK);
        for (size_t w = 0; w < 4; w++) {
            attn_mat given = test_mat(kinds[w], 17, 33, (int)(w % OUT_LAYOUTS));
            if (dtype == ATTN_F64 && kinds[w] != ATTN_F64)
                continue;
            test_fill(again, 0);
            CHECK_STATUS(attn_attention(again, given, q, k, v, 0), ATTN_OK);
            CHECK(test_same_bits(out, again));
        }
        if (n > 1)
            continue;
        test_case("%s: the steps one by one", test_dtype_name(dtype));
        CHECK_STATUS(attn_attention(out, weights, q, k, v, 0), ATTN_OK);
        CHECK_STATUS(attn_scores(scores, q, k, 0), ATTN_OK);
        CHECK_STATUS(attn_softmax(scores, scores), ATTN_OK);
        CHECK(test_same_bits(scores, weights));
        CHECK_STATUS(attn_weighted_sum(again, scores, v), ATTN_OK);
        CHECK(test_same_bits(out, again));
    }
    {
        attn_mat q = test_random_mat(ATTN_F32, 3, 4, PACKED), out = test_mat(ATTN_F32, 3, 4, PADDED);
        attn_mat nothing = attn_mat_rows(q, 0, 0), no_weights = test_mat(ATTN_F32, 3, 0, PACKED);
        test_case("no keys");
        test_freeze();
        CHECK_STATUS(attn_attention(out, no_weights, q, nothing, nothing, 0), ATTN_OK);
        CHECK(test_wrote_only(&out, 1));
        for (size_t i = 0; i < 12; i++)
            CHECK(test_load(test_at(out, i / 4, i % 4), ATTN_F32) == 0);
        test_fill(out, 3);
        CHECK_STATUS(attn_attention(out, none, q, nothing, nothing, 0), ATTN_OK);
        CHECK(attn_mat_get(out, 2, 3) == 0);
        test_case("no queries");
        CHECK_STATUS(attn_attention(attn_mat_rows(out, 0, 0), none, nothing, q, q, 0), ATTN_OK);
    }
}

/* ---- PyTorch ---- */

static uint32_t golden_state;

/* make_steps.py: inputs() */
static attn_mat golden_input(attn_dtype dtype, size_t rows, size_t cols)
{
    attn_mat m = test_mat(dtype, rows, cols, PACKED);
    for (size_t i = 0; i < rows * cols; i++) {
        golden_state = (uint32_t)(golden_state * UINT64_C(1664525) + 1013904223);
        (attn_mat_set)(m, i / cols, i % cols, ((double)((golden_state >> 16) % 255) - 127) / 64);
    }
    return m;
}

/* |out - golden| <= 8 ulp of the largest of the results: the inputs are exact, the sums short. */
static void check_golden(attn_mat out, const double *golden, size_t count)
{
    real most = 0;
    CHECK(count == out.rows * out.cols);
    for (size_t i = 0; i < count; i++)
        most = fabsl(golden[i]) > most ? fabsl(golden[i]) : most;
    for (size_t i = 0; i < count; i++)
        CHECK_NEAR(test_load(test_at(out, i / out.cols, i % out.cols), out.dtype), golden[i],
                   8 * test_ulp(most, out.dtype));
}

#define CHECK_GOLDEN(out, name) check_golden(out, golden_##name, sizeof golden_##name / sizeof *golden_##name)

TEST(steps_pytorch)
{
    attn_mat a, b, c, d, e, out, none = {0};
    for (attn_dtype t = ATTN_F32; t <= test_wide; t = (attn_dtype)(t + 1)) {
        test_case("matmul, %s", test_dtype_name(t));
        golden_state = 1;
        a = golden_input(t, 3, 7), b = golden_input(t, 7, 5), out = test_mat(t, 3, 5, PACKED);
        CHECK_STATUS(attn_matmul(out, a, b), ATTN_OK);
        CHECK_GOLDEN(out, matmul);
        test_case("softmax, %s", test_dtype_name(t));
        golden_state = 2;
        a = golden_input(t, 4, 9), out = test_mat(t, 4, 9, PACKED);
        CHECK_STATUS(attn_softmax(out, a), ATTN_OK);
        CHECK_GOLDEN(out, softmax);
        test_case("scores_general, %s", test_dtype_name(t));
        golden_state = 3;
        a = golden_input(t, 3, 4), b = golden_input(t, 5, 6), c = golden_input(t, 4, 6),
        out = test_mat(t, 3, 5, PACKED);
        CHECK_STATUS(attn_scores_general(out, a, b, c), ATTN_OK);
        CHECK_GOLDEN(out, scores_general);
        test_case("scores_additive, %s", test_dtype_name(t));
        golden_state = 4;
        a = golden_input(t, 3, 4), b = golden_input(t, 5, 6), c = golden_input(t, 4, 7), d = golden_input(t, 6, 7),
        e = golden_input(t, 7, 1);
        out = test_mat(t, 3, 5, PACKED);
        CHECK_STATUS(attn_scores_additive(out, a, b, c, d, e), ATTN_OK);
        CHECK_GOLDEN(out, scores_additive);
        test_case("scores_cosine, %s", test_dtype_name(t));
        golden_state = 5;
        a = golden_input(t, 4, 6), b = golden_input(t, 5, 6), out = test_mat(t, 4, 5, PACKED);
        CHECK_STATUS(attn_scores_cosine(out, a, b, 2.5), ATTN_OK);
        CHECK_GOLDEN(out, scores_cosine);
        test_case("attention, %s", test_dtype_name(t));
        golden_state = 6;
        a = golden_input(t, 4, 8), b = golden_input(t, 6, 8), c = golden_input(t, 6, 5),
        out = test_mat(t, 4, 5, PACKED);
        CHECK_STATUS(attn_attention(out, none, a, b, c, 0), ATTN_OK);
        CHECK_GOLDEN(out, attention);
        golden_state = 7;
        a = golden_input(t, 3, 8), b = golden_input(t, 6, 8), c = golden_input(t, 6, 2),
        out = test_mat(t, 3, 2, PACKED);
        CHECK_STATUS(attn_attention(out, none, a, b, c, 0.1), ATTN_OK);
        CHECK_GOLDEN(out, attention_scaled);
    }
}

/* NaN in a vector makes its own cosines NaN, found by their bits; the others are right. */
TEST(steps_cosine_nan)
{
    const double values[] = {test_f64(0x7ff8000000000000u), 1, 3, 4, 1, 2};
    attn_mat m = test_numbers(test_wide, 3, 2, values), out = test_mat(test_wide, 3, 3, PACKED);
    double y[9];
    CHECK_STATUS(attn_scores_cosine(out, m, m, 1), ATTN_OK);
    for (size_t i = 0; i < 9; i++) {
        int nan;
        y[i] = (double)test_load(test_at(out, i / 3, i % 3), out.dtype);
        nan = (test_bits64(y[i]) & INT64_MAX) > (uint64_t)0x7ff << 52;
        CHECK(nan == (i < 3 || i == 3 || i == 6));
    }
    CHECK(fabs(y[4] - 1) < 4.5 * (double)test_ulp(1, test_wide) && fabs(y[8] - 1) < 4.5 * (double)test_ulp(1, test_wide));
}
