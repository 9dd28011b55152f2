/* The steps of training, beside the engine's: attn_matmul_add, attn_softmax_backward, attn_t5_bias_backward, and
   rotations the other way round. */
#include "calls.h"

/* ---- attn_matmul_add ---- */

/* before[i] + alpha a b, within what a sum of so many terms in the compute type may lose; and, where alpha is 1, the
   bits of attn_matmul_ctx added in the type of out. */
static void check_sums(attn_mat out, attn_mat before, attn_mat a, attn_mat b, double alpha, const attn_ctx *ctx)
{
    attn_dtype compute = a.dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    attn_mat product = test_mat(compute, out.rows, out.cols, PACKED);
    CHECK_STATUS(attn_matmul_ctx(product, a, b, 1, ctx), ATTN_OK);
    for (size_t i = 0; i < out.rows * out.cols; i++) {
        size_t r = i / out.cols, c = i % out.cols;
        real was = test_load(test_at(before, r, c), before.dtype), got = test_load(test_at(out, r, c), out.dtype);
        real sum = 0, size = 0, factor = compute == ATTN_F64 ? alpha : (double)(float)alpha;
        for (size_t k = 0; k < a.cols; k++) {
            real term = test_load(test_at(a, r, k), a.dtype) * test_load(test_at(b, k, c), b.dtype);
            sum += term;
            size += fabsl(term);
        }
        if (!CHECK_NEAR(got, was + factor * sum,
                        (real)(a.cols + 2) / 2 * test_ulp(1, compute) * fabsl(factor) * size +
                            test_ulp(was + factor * sum, out.dtype)))
            return;
        if (alpha == 1) {
            volatile double x = (double)was, y = (double)test_load(test_at(product, r, c), compute), both = x + y;
            volatile float narrow = (float)both; /* no other number than a sum of floats, which double holds well */
            if (!CHECK(got == (real)(out.dtype == ATTN_F32 ? (double)narrow : both)))
                return;
        }
    }
}

static void check_add(attn_mat out, attn_mat a, attn_mat b, double alpha)
{
    attn_mat before = test_random_mat(out.dtype, out.rows, out.cols, PACKED);
    FOR_EACH_ISA_OF (isa, a.dtype) {
        attn_ctx ctx = test_ctx(isa);
        test_case("%s, alpha %g, %s %zu x %zu strides %td %td, %s %zu x %zu strides %td %td, to %s strides %td %td",
                  attn_isa_string(isa), alpha, test_dtype_name(a.dtype), a.rows, a.cols, a.row_stride, a.col_stride,
                  test_dtype_name(b.dtype), b.rows, b.cols, b.row_stride, b.col_stride, test_dtype_name(out.dtype),
                  out.row_stride, out.col_stride);
        CHECK_STATUS(attn_mat_copy(out, before), ATTN_OK);
        test_freeze();
        CHECK_STATUS(attn_matmul_add(out, a, b, alpha, &ctx), ATTN_OK);
        CHECK(test_wrote_only(&out, 1));
        check_sums(out, before, a, b, alpha, &ctx);
    }
    test_release();
}

TEST(matmul_add)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 48, 49, 65, 100, 130};
    static const double alphas[] = {1, 1, -1, 0.125, -2.5, 1 / 3.0, 1e-3, 0};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (size_t n = 0; n < SIZES; n += test_quick ? 5 : 1)
        for (size_t place = 0; place < 3; place++) /* every length in every place: M, K, N */
            for (size_t round = 0; round < (test_quick ? 2 : 12); round++) {
                static const attn_dtype narrow[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
                int wide = round % 3 == 0;
                size_t size[3] = {1 + test_below(20), 1 + test_below(20), 1 + test_below(20)};
                attn_dtype a_type = wide ? test_wide : narrow[test_below(3)];
                attn_dtype b_type = wide ? test_wide : narrow[test_below(3)];
                attn_mat a, b;
                size[place] = sizes[n];
                a = test_random_mat(a_type, size[0], size[1], (int)test_below(LAYOUTS));
                b = test_random_mat(b_type, size[1], size[2], (int)test_below(LAYOUTS));
                check_add(test_mat(wide || round % 3 == 1 ? test_wide : ATTN_F32, size[0], size[2],
                                   (int)(round % OUT_LAYOUTS)),
                          a, b, alphas[test_below(8)]);
            }
}

/* Over the edges of every block that a product is cut into, general and of few rows. */
TEST(matmul_add_large)
{
    static const size_t shapes[][3] = {{67, 1031, 261}, {259, 515, 35}, {1, 2100, 130}, {9, 300, 700}};
    const attn_dtype types[][2] = {{ATTN_F32, ATTN_F32}, {test_wide, ATTN_F32}, {test_wide, test_wide}};
    for (size_t s = 0; s < 4; s++)
        for (size_t t = 0; t < 3; t++) {
            size_t part = test_quick ? 5 : 1, M = (shapes[s][0] + 3) / part, K = (shapes[s][1] + 3) / part,
                   N = (shapes[s][2] + 3) / part;
            int turned = (s + t) % 2 == 0;
            attn_mat a = test_random_mat(types[t][1], M, K, turned ? TRANSPOSED : PACKED);
            attn_mat b = test_random_mat(types[t][1], K, N, turned ? PACKED : TRANSPOSED);
            check_add(test_mat(types[t][0], M, N, t == s ? TRANSPOSED : PACKED), a, b, s % 2 ? 1 : -0.75);
        }
}

/* An element's bits do not depend on the layout of any matrix, nor, where batch_invariant, on how many rows there are. */
TEST(matmul_add_bits)
{
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 3; d++)
            for (size_t n = 1; n < 60; n += test_quick ? 13 : 4) {
                attn_ctx ctx = test_ctx(isa);
                attn_dtype compute = d == 2 ? test_wide : ATTN_F32, type = d ? test_wide : ATTN_F32;
                size_t rows = 1 + n * 7 % 61, depth = 1 + n * 7 % 90;
                attn_mat a = test_random_mat(compute, rows, depth, PACKED),
                         b = test_random_mat(compute, depth, n, PACKED);
                attn_mat before = test_random_mat(type, rows, n, PACKED), whole = test_mat_like(before, PACKED);
                test_case("%s, %s to %s, %zu x %zu x %zu", attn_isa_string(isa), test_dtype_name(compute),
                          test_dtype_name(type), rows, depth, n);
                CHECK_STATUS(attn_matmul_add(whole, a, b, 1 / 3.0, &ctx), ATTN_OK);
                for (int layout = PACKED; layout < OUT_LAYOUTS; layout++) {
                    attn_mat out = test_mat_like(before, layout);
                    CHECK_STATUS(attn_matmul_add(out, test_mat_like(a, layout),
                                                 test_mat_like(b, (layout + 1) % OUT_LAYOUTS), 1 / 3.0, &ctx),
                                 ATTN_OK);
                    CHECK(test_same_bits(whole, out));
                }
                ctx.batch_invariant = test_invariant();
                whole = test_mat_like(before, PACKED);
                CHECK_STATUS(attn_matmul_add(whole, a, b, 1 / 3.0, &ctx), ATTN_OK);
                for (size_t i = 0; i < rows; i++) {
                    ctx.batch_invariant = i % 2 == 1;
                    CHECK_STATUS(attn_matmul_add(attn_mat_rows(before, i, 1), attn_mat_rows(a, i, 1), b, 1 / 3.0, &ctx),
                                 ATTN_OK);
                }
                CHECK(test_same_bits(whole, before));
                test_release();
            }
}

static attn_status add_on(attn_mat out, const attn_mat *in, const attn_ctx *ctx)
{
    attn_status copied = attn_mat_copy(out, in[2]);
    return copied == ATTN_OK ? attn_matmul_add(out, in[0], in[1], 0.75, ctx) : copied;
}

TEST(matmul_add_contexts)
{
    static const size_t shapes[][3] = {{5, 40, 7}, {1030, 3, 20}, {67, 130, 71}, {1, 500, 900}, {300, 520, 200}};
    size_t most = 0;
    for (size_t s = 0; s < (test_quick ? 2 : 5); s++)
        for (size_t d = 0; d < (s == 4 || test_quick ? 1 : 3); d++) {
            size_t tasks;
            attn_dtype compute = d == 2 ? test_wide : ATTN_F32;
            attn_mat in[3], out = test_mat(d ? test_wide : ATTN_F32, shapes[s][0], shapes[s][2], (int)(s % 4));
            in[0] = test_random_mat(compute, shapes[s][0], shapes[s][1], (int)((s + 1) % 2));
            in[1] = test_random_mat(compute, shapes[s][1], shapes[s][2], (int)(d % 2));
            in[2] = test_random_mat(out.dtype, out.rows, out.cols, PACKED);
            tasks = test_contexts(out, add_on, in);
            most = tasks > most ? tasks : most;
            test_release();
        }
    test_case("the largest product was cut for every thread");
    CHECK(most == 5);
}

/* Without memory the same bits; a sum of no terms leaves what is there; NaN goes where it belongs. */
TEST(matmul_add_edges)
{
    attn_mat a = test_random_mat(ATTN_F32, 70, 130, TRANSPOSED), b = test_random_mat(ATTN_F32, 130, 90, PACKED);
    attn_mat before = test_random_mat(ATTN_F32, 70, 90, PACKED), out = test_mat_like(before, PACKED), lean;
    CHECK_STATUS(attn_matmul_add(out, a, b, 2, NULL), ATTN_OK);
    lean = test_mat_like(before, PACKED);
    test_memory_state.fail_all = 1;
    CHECK_STATUS(attn_matmul_add(lean, a, b, 2, NULL), ATTN_OK);
    test_memory_state.fail_all = 0;
    CHECK(test_same_bits(out, lean));
    CHECK_STATUS(attn_matmul_add(lean, attn_mat_cols(a, 0, 0), attn_mat_rows(b, 0, 0), 2, NULL), ATTN_OK); /* K = 0 */
    CHECK(test_same_bits(out, lean));
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        test_case("%s, NaN and infinity", attn_isa_string(isa));
        CHECK_STATUS(attn_mat_copy(lean, before), ATTN_OK);
        (attn_mat_set)(a, 3, 5, NAN);
        (attn_mat_set)(lean, 7, 89, NAN);
        (attn_mat_set)(lean, 8, 88, HUGE_VAL);
        CHECK_STATUS(attn_matmul_add(lean, a, b, 1, &ctx), ATTN_OK);
        for (size_t i = 0; i < 70 * 90; i++) {
            double x = (double)test_load(test_at(lean, i / 90, i % 90), ATTN_F32);
            CHECK(i == 8 * 90 + 88 ? x == HUGE_VAL : (isnan(x) != 0) == (i / 90 == 3 || i == 7 * 90 + 89));
        }
    }
}

TEST(matmul_add_statuses)
{
    static const attn_status wanted[] = {
        ATTN_ERR_NULL, ATTN_ERR_NULL, ATTN_ERR_NULL, ATTN_ERR_NULL, ATTN_ERR_NULL, ATTN_ERR_DTYPE,
        ATTN_ERR_DTYPE, ATTN_ERR_DTYPE, ATTN_ERR_DTYPE, ATTN_ERR_DTYPE, ATTN_ERR_SHAPE, ATTN_ERR_SHAPE,
        ATTN_ERR_SHAPE, ATTN_ERR_OVERFLOW, ATTN_ERR_VALUE, ATTN_ERR_VALUE, ATTN_ERR_VALUE, ATTN_ERR_VALUE,
        ATTN_ERR_ALIAS, ATTN_ERR_ALIAS, ATTN_ERR_ALIAS, ATTN_ERR_ALIAS};
    for (int first = 0; first < (int)COUNT(wanted); first++)
        for (int second = first; second < (int)COUNT(wanted); second++) { /* of two faults, the one that comes first counts */
            attn_status want = test_rank(wanted[first]) <= test_rank(wanted[second]) ? wanted[first] : wanted[second];
            attn_mat none = {0};
            struct {
                attn_mat out, a, b;
                double alpha;
                attn_ctx ctx;
            } c;
            c.a = test_random_mat(ATTN_F32, 8, 8, PACKED);
            c.b = test_random_mat(ATTN_F32, 8, 8, PACKED);
            c.out = test_random_mat(ATTN_F32, 8, 8, PACKED);
            c.alpha = 1;
            c.ctx = test_ctx(ATTN_ISA_BEST);
            if (first >= 5 && first <= 9 && second != first && second >= 5 && second <= 9)
                continue; /* they undo one another */
            for (int f = second;; f = first) {
                switch (f) {
                case 0: c.out = none; break;
                case 1: c.a = none; break;
                case 2: c.b = attn_mat_rows(c.b, 9, 9); break;
                case 3: c.out.data = NULL; break;
                case 4: c.ctx.scratch_size = 1; break;
                case 5: c.out.dtype = ATTN_F16; break;
                case 6: c.out.dtype = ATTN_BF16; break;
                case 7: c.a.dtype = ATTN_F64; break;
                case 8: c.b.dtype = ATTN_F64; break;
                case 9: c.a.dtype = c.b.dtype = ATTN_F64; break; /* and out F32 */
                case 10: c.out.rows = 7; break;
                case 11: c.a.cols = 7; break;
                case 12: c.b.cols = 7; break;
                case 13: c.a.row_stride = PTRDIFF_MAX; break;
                case 14: c.alpha = NAN; break;
                case 15: c.alpha = 1e39; break;
                case 16: c.ctx.isa = TEST_ISA_LACKING; break;
                case 17: c.a.data = (char *)c.a.data + 1; break;
                case 18: c.out.data = c.a.data; break;
                case 19: c.out.data = (float *)c.b.data + 1; break;
                case 20: c.out.row_stride = 0; break;
                default: c.out.row_stride = c.out.col_stride = 1; break;
                }
                if (f == first)
                    break;
            }
            test_case("faults %d and %d", first, second);
            test_freeze();
            CHECK_STATUS(attn_matmul_add(c.out, c.a, c.b, c.alpha, &c.ctx), want);
            CHECK(test_wrote_nothing());
            test_release();
        }
}

/* ---- attn_softmax_backward: accuracy, layouts and statuses are tested with the other steps, by its model ---- */

/* In place over either input, or both, gives the bits of a call apart; beyond a chunk too. */
TEST(softmax_backward_in_place)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    static const size_t lengths[] = {1, 9, 255, 256, 257, 600};
    for (size_t t = 0; t < 4; t++)
        for (size_t n = 0; n < 6; n++)
            for (int layout = PACKED; layout < OUT_LAYOUTS; layout++) {
                attn_mat dout = test_random_mat(types[t], 3, lengths[n], layout), both;
                attn_mat y = test_random_mat(types[t], 3, lengths[n], layout);
                attn_mat want = test_mat(types[t], 3, lengths[n], PACKED);
                test_case("%s, %zu columns, layout %d", test_dtype_name(types[t]), lengths[n], layout);
                CHECK_STATUS(attn_softmax(y, y), ATTN_OK);
                CHECK_STATUS(attn_softmax_backward(want, dout, y), ATTN_OK);
                both = test_mat_like(dout, layout);
                CHECK_STATUS(attn_softmax_backward(both, both, y), ATTN_OK);
                CHECK(test_same_bits(both, want));
                both = test_mat_like(y, layout);
                CHECK_STATUS(attn_softmax_backward(both, dout, both), ATTN_OK);
                CHECK(test_same_bits(both, want));
                CHECK_STATUS(attn_softmax_backward(want, y, y), ATTN_OK);
                CHECK_STATUS(attn_softmax_backward(y, y, y), ATTN_OK);
                CHECK(test_same_bits(y, want));
                test_release();
            }
}

/* A row of NaN gives NaN, one of zeros gives zeros whatever reaches it, and neither touches its neighbours. */
TEST(softmax_backward_specials)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    static const size_t lengths[] = {1, 2, 7, 64, 300};
    for (size_t t = 0; t < 4; t++)
        for (size_t n = 0; n < 5; n++) {
            size_t cols = lengths[n];
            attn_mat dout = test_random_mat(types[t], 5, cols, PACKED), y = test_random_mat(types[t], 5, cols, PACKED);
            attn_mat din = test_mat(types[t], 5, cols, PACKED);
            test_case("%s, %zu columns", test_dtype_name(types[t]), cols);
            test_fill(attn_mat_rows(y, 1, 1), 0);
            test_fill(attn_mat_rows(dout, 1, 1), NAN);
            test_fill(attn_mat_rows(y, 2, 1), -0.0);
            test_fill(attn_mat_rows(dout, 2, 1), HUGE_VAL);
            test_fill(attn_mat_rows(y, 3, 1), NAN);
            (attn_mat_set)(dout, 4, cols - 1, NAN);
            CHECK_STATUS(attn_softmax_backward(din, dout, y), ATTN_OK);
            for (size_t i = 0; i < 5 * cols; i++) {
                double x = (double)test_load(test_at(din, i / cols, i % cols), types[t]);
                CHECK(i / cols == 0 ? x - x == 0 : i / cols < 3 ? x == 0 : isnan(x));
            }
            test_release();
        }
}

/* The derivative of a loss through attn_softmax, by differences: (f(x + h) - f(x - h)) / 2h. */
TEST(softmax_backward_differences)
{
    const double h = 1e-5;
    attn_mat x = test_random_mat(ATTN_F64, 3, 17, PACKED), y = test_mat(ATTN_F64, 3, 17, PACKED);
    attn_mat dy = test_random_mat(ATTN_F64, 3, 17, PACKED), dx = test_mat(ATTN_F64, 3, 17, PACKED);
    if (test_lacks_f64())
        return;
    CHECK_STATUS(attn_softmax(y, x), ATTN_OK);
    CHECK_STATUS(attn_softmax_backward(dx, dy, y), ATTN_OK);
    for (size_t i = 0; i < 3 * 17; i++) {
        double was = (attn_mat_get)(x, i / 17, i % 17);
        real loss[2] = {0, 0};
        for (int side = 0; side < 2; side++) {
            (attn_mat_set)(x, i / 17, i % 17, side ? was - h : was + h);
            CHECK_STATUS(attn_softmax(y, x), ATTN_OK);
            for (size_t j = 0; j < 3 * 17; j++)
                loss[side] += test_load(test_at(y, j / 17, j % 17), ATTN_F64) *
                              test_load(test_at(dy, j / 17, j % 17), ATTN_F64);
        }
        (attn_mat_set)(x, i / 17, i % 17, was);
        CHECK_NEAR(test_load(test_at(dx, i / 17, i % 17), ATTN_F64), (loss[0] - loss[1]) / (2 * h), 1e-9);
    }
}

/* ---- attn_t5_bias_backward ---- */

/* Each column goes to the bucket that attn_t5_bias takes it from: asked of a table whose rows are their own numbers. */
static void check_t5(attn_mat dtable, attn_mat dby, int bidirectional, size_t most, ptrdiff_t first)
{
    size_t buckets = dtable.rows, N = dby.cols;
    attn_mat numbers = test_mat(ATTN_F32, buckets, 1, PACKED), bucket = test_mat(ATTN_F32, 1, N, PACKED);
    real *sum = test_reals(buckets), *size = test_reals(buckets);
    for (size_t k = 0; k < buckets; k++)
        *(float *)test_at(numbers, k, 0) = (float)k;
    CHECK_STATUS(attn_t5_bias(bucket, numbers, bidirectional, most, first), ATTN_OK);
    test_fill(dtable, 77); /* which is overwritten */
    test_freeze();
    test_memory_state.fail_all = 1;
    CHECK_STATUS(attn_t5_bias_backward(dtable, dby, bidirectional, most, first), ATTN_OK);
    test_memory_state.fail_all = 0;
    CHECK(test_wrote_only(&dtable, 1));
    for (size_t h = 0; h < dby.rows; h++) {
        for (size_t k = 0; k < buckets; k++)
            sum[k] = size[k] = 0;
        for (size_t c = 0; c < N; c++) {
            real x = test_load(test_at(dby, h, c), dby.dtype);
            size_t k = (size_t) * (float *)test_at(bucket, 0, c);
            sum[k] += x, size[k] += fabsl(x);
        }
        for (size_t k = 0; k < buckets; k++)
            if (!CHECK_NEAR(test_load(test_at(dtable, k, h), dtable.dtype), sum[k],
                            test_ulp(sum[k], dtable.dtype) / 2 * 1.001L + (real)N * test_ulp(size[k], ATTN_F64)))
                return;
    }
}

TEST(t5_bias_backward)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    static const size_t counts[] = {2, 3, 4, 8, 32, 33}, mosts[] = {0, 20, 200}, lengths[] = {0, 1, 2, 33, 500};
    for (int n = 0; n < (test_quick ? 40 : 600); n++) {
        size_t buckets = counts[test_below(6)], most = mosts[test_below(3)];
        size_t H = test_below(5), N = lengths[test_below(5)];
        int bidirectional = buckets >= 4 && test_maybe() ? (int)(1 + test_below(2)) : 0;
        ptrdiff_t first = n % 10 == 0   ? PTRDIFF_MAX - 20
                          : n % 10 == 1 ? PTRDIFF_MIN + 3
                                        : (ptrdiff_t)test_below(N + 1) * -1 + (ptrdiff_t)test_below(9);
        attn_mat dby = test_random_mat(types[test_below(4)], H, N, (int)test_below(LAYOUTS));
        attn_mat dtable = test_mat(types[test_below(4)], buckets, H, (int)test_below(OUT_LAYOUTS));
        test_case("%zu buckets, %zu heads, %zu distances from %td, bidirectional %d, most %zu, %s to %s", buckets, H, N,
                  first, bidirectional, most, test_dtype_name(dby.dtype), test_dtype_name(dtable.dtype));
        check_t5(dtable, dby, bidirectional, most, first);
        test_release();
    }
}

TEST(t5_bias_backward_statuses)
{
    static const attn_status wanted[] = {
        ATTN_ERR_NULL, ATTN_ERR_NULL, ATTN_ERR_DTYPE, ATTN_ERR_DTYPE, ATTN_ERR_SHAPE, ATTN_ERR_SHAPE,
        ATTN_ERR_SHAPE, ATTN_ERR_OVERFLOW, ATTN_ERR_VALUE, ATTN_ERR_VALUE, ATTN_ERR_ALIAS, ATTN_ERR_ALIAS};
    for (int first = 0; first < (int)COUNT(wanted); first++)
        for (int second = first; second < (int)COUNT(wanted); second++) { /* of two faults, the one that comes first counts */
            attn_status want = test_rank(wanted[first]) <= test_rank(wanted[second]) ? wanted[first] : wanted[second];
            attn_mat dby = test_random_mat(ATTN_F32, 3, 40, PACKED), dtable = test_mat(ATTN_F32, 16, 3, PACKED);
            attn_mat none = {0};
            size_t most = 0;
            for (int f = second;; f = first) {
                switch (f) {
                case 0: dtable = none; break;
                case 1: dby = attn_mat_rows(dby, 4, 4); break;
                case 2: dtable.dtype = ATTN_BOOL; break;
                case 3: dby.dtype = ATTN_I8; break;
                case 4: dtable.cols = 2; break;
                case 5: dby.rows = 2; break;
                case 6: dtable.rows = 3; break; /* too few for two directions */
                case 7: dby.row_stride = PTRDIFF_MIN; break;
                case 8: most = dtable.rows / 4; break;
                case 9: dtable.data = (char *)dtable.data + 1; break;
                case 10: dtable.data = (float *)dby.data + 1; break;
                default: dtable.col_stride = 0; break;
                }
                if (f == first)
                    break;
            }
            if ((first == 4 && second == 5) || (first == 6 && second == 8) || (first == 0 && second == 8))
                continue; /* each makes up for the other */
            test_case("faults %d and %d", first, second);
            test_freeze();
            CHECK_STATUS(attn_t5_bias_backward(dtable, dby, 1, most, -20), want);
            CHECK(test_wrote_nothing());
            test_release();
        }
}

/* ---- attn_rope_opts.transposed: rotations by the model are tested with the others ---- */

/* There and back again; and <rope(x), y> = <x, rope^T(y)>, with a scale. */
TEST(rope_transposed)
{
    for (int n = 0; n < (test_quick ? 8 : 80); n++) {
        size_t B = 1 + test_below(2), H = 1 + test_below(3), L = 1 + test_below(9), D = 2 * (1 + test_below(70));
        attn_dtype type = n % 2 ? test_wide : ATTN_F32;
        attn_rope_opts there = {0}, back;
        attn_tensor x = test_random_tensor(type, B, H, L, D, T_BHLD), y = test_random_tensor(type, B, H, L, D, T_BLHD);
        attn_tensor turned = test_tensor(type, B, H, L, D, n % T_OUT_LAYOUTS), again = test_tensor_like(x, T_BHLD);
        real products[2] = {0, 0}, *values[4];
        size_t count = B * H * L * D;
        there.interleaved = test_maybe();
        there.dim = test_maybe() ? 2 * (1 + test_below(D / 2)) : 0;
        there.offset = (ptrdiff_t)test_below(2000) - 1000;
        back = there;
        back.transposed = 1;
        test_case("%s, %zu x %zu x %zu x %zu, dim %zu", test_dtype_name(type), B, H, L, D, there.dim);
        CHECK_STATUS(attn_rope(turned, x, &there), ATTN_OK);
        CHECK_STATUS(attn_rope(again, turned, &back), ATTN_OK);
        values[0] = test_tensor_values(x), values[1] = test_tensor_values(again);
        for (size_t i = 0; i < count; i++)
            CHECK_NEAR(values[1][i], values[0][i], 4 * test_ulp(1, type));
        there.scale = back.scale = -1.75;
        CHECK_STATUS(attn_rope(turned, x, &there), ATTN_OK);
        CHECK_STATUS(attn_rope(again, y, &back), ATTN_OK);
        values[1] = test_tensor_values(turned), values[2] = test_tensor_values(y);
        values[3] = test_tensor_values(again);
        for (size_t i = 0; i < count; i++) {
            products[0] += values[1][i] * values[2][i];
            products[1] += values[0][i] * values[3][i];
        }
        CHECK_NEAR(products[0], products[1], (real)count * 4 * test_ulp(1, type));
        test_release();
    }
}
