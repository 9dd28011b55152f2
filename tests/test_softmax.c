/* attn_softmax_ctx on every instruction set: accuracy, properties, specials. */
#include "test.h"

static attn_ctx on(attn_isa isa)
{
    attn_ctx ctx = test_ctx(isa);
    return ctx;
}

static attn_status softmax_isa(attn_isa isa, attn_mat out, attn_mat in)
{
    attn_ctx ctx = on(isa);
    return attn_softmax_ctx(out, in, &ctx);
}

static attn_dtype compute_type(attn_dtype dtype)
{
    return dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
}

static double smallest_normal(attn_dtype compute)
{
    return compute == ATTN_F64 ? DBL_MIN : FLT_MIN;
}

/* The accuracy that attn.h states: |out - want| <= (20 + d) ulp(want), d = the row's maximum minus that
   input, which falls away where the difference is exact; + smallest normal where want is below it, + ulp/2 of a 16-bit
   out. Rows sum to 1 within 4 sqrt(n) ulp. */
static const int ULPS = 20;

static int check_rows(attn_mat out, attn_mat in, int exact)
{
    const test_op *softmax = test_op_named("softmax");
    attn_dtype compute = compute_type(in.dtype);
    size_t n = in.cols, dims[DIMS] = {in.rows, n, 0, 0, 0};
    real *want[2], *got = test_values(out), tiny = smallest_normal(compute), root = sqrtl((real)n);
    want[1] = test_values(in);
    want[0] = test_reals(in.rows * n);
    softmax->model(want, dims, 1, EXACT);
    for (size_t r = 0; r < in.rows && n; r++) {
        real most = -INFINITY;
        for (size_t c = 0; c < n; c++)
            most = want[1][r * n + c] > most ? want[1][r * n + c] : most;
        for (size_t c = 0; c < n; c++) {
            real w = want[0][r * n + c];
            real ulps = ULPS + (exact ? 0 : most - want[1][r * n + c]);
            real tolerance = ulps * test_ulp(w, compute) + (w < tiny ? tiny : 0);
            if (test_size(out.dtype) == 2)
                tolerance += test_ulp(w + tolerance, out.dtype) / 2;
            if (!CHECK_NEAR(got[r * n + c], w, tolerance))
                return 0;
        }
        if (test_size(out.dtype) > 2)
            CHECK_NEAR(test_sum(got + r * n, n), 1, 4 * test_ulp(1, compute) * root);
    }
    return 1;
}

TEST(softmax_accuracy)
{
    static const size_t long_rows[] = {191, 192, 193, 255, 256, 257, 511, 513, 1000, 1023, 1024, 1025, 4099};
    static const double spreads[] = {1, 10, 60, 700};
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 4; d++)
            for (size_t n = 0; n < 130 + sizeof long_rows / sizeof *long_rows; n++) {
                size_t cols = n < 130 ? n : long_rows[n - 130], rows = 1 + n % 4, s = (n + d) % 4;
                int in_place = (n + d) % 5 == 0,
                    exact = n % 2 == 0; /* exact: no difference of two numbers is rounded */
                attn_mat in = test_random_mat(test_floats[d], rows, cols, (int)(n % OUT_LAYOUTS)), out, input;
                if (test_quick && n % 9 && n != 130 + 12) {
                    test_release();
                    continue;
                }
                for (size_t i = 0; i < rows * cols; i++) {
                    double x = (double)test_load(test_at(in, i / cols, i % cols), in.dtype) * spreads[s];
                    (attn_mat_set)(in, i / cols, i % cols, exact ? floor(x * 16) / 16 : x);
                }
                input = test_mat_like(in, PACKED);
                out = in_place ? in
                               : test_mat(d < 2 ? test_floats[d] : test_floats[n % 4 == 1 ? 0 : n % 4], rows, cols,
                                          (int)(n / 2 % OUT_LAYOUTS));
                test_case("%s, %s to %s, %zu x %zu, spread %g%s", attn_isa_string(isa), test_dtype_name(in.dtype),
                          test_dtype_name(out.dtype), rows, cols, spreads[s], in_place ? ", in place" : "");
                test_freeze();
                if (CHECK_STATUS(softmax_isa(isa, out, in), ATTN_OK) && CHECK(test_wrote_only(&out, 1)))
                    check_rows(out, input, exact);
                test_release();
            }
}

/* One 0 among equal numbers: every addition of the sum may be rounded the same way. */
TEST(softmax_equal_numbers)
{
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 2; d++)
            for (size_t n = 0; n < (test_quick ? 3 : 60); n++) {
                size_t cols = n % 3 ? 300 + 17 * n : 5000 + n;
                attn_mat in = test_mat(test_floats[d], 1, cols, PACKED), out = test_mat(test_floats[d], 1, cols, PACKED);
                test_fill(in, -10 * fabs(test_uniform()));
                (attn_mat_set)(in, 0, n, 0);
                test_case("%s, %s, %zu columns", attn_isa_string(isa), test_dtype_name(test_floats[d]), cols);
                CHECK_STATUS(softmax_isa(isa, out, in), ATTN_OK);
                check_rows(out, in, 1);
                test_release();
            }
}

/* exp alone: beside the one number 0 the sum is 1 and each result is exp(x), within 2 ulp; libm's, which the compiler
   may replace by a vector function of its own, within 4. */
TEST(softmax_exponential)
{
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 2; d++) {
            size_t cols = test_quick ? 501 : 20001;
            attn_mat in = test_mat(test_floats[d], 1, cols, PACKED), out = test_mat(test_floats[d], 1, cols, PACKED);
            double low = d ? -708 : -87, high = d ? -47 : -27;
            test_case("%s, %s", attn_isa_string(isa), test_dtype_name(test_floats[d]));
            for (size_t c = 0; c < cols; c++)
                (attn_mat_set)(in, 0, c, c ? low + (high - low) * (test_uniform() + 1) / 2 : 0);
            CHECK_STATUS(softmax_isa(isa, out, in), ATTN_OK);
            for (size_t c = 1; c < cols; c++) {
                real want = expl(test_load(test_at(in, 0, c), test_floats[d]));
                CHECK_NEAR(test_load(test_at(out, 0, c), test_floats[d]), want,
                           (isa == ATTN_ISA_SCALAR ? 4 : 2) * test_ulp(want, test_floats[d]));
            }
        }
}

/* Results around and below the smallest normal number: absolute error at most that number, never NaN or negative. */
TEST(softmax_tiny_results)
{
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 2; d++) {
            size_t cols = 61;
            attn_mat in = test_mat(test_floats[d], 1, cols, PACKED), out = test_mat(test_floats[d], 1, cols, PACKED);
            double low = d ? 700 : 80, tiny = smallest_normal(test_floats[d]);
            test_case("%s, %s", attn_isa_string(isa), test_dtype_name(test_floats[d]));
            for (size_t c = 0; c < cols; c++)
                (attn_mat_set)(in, 0, c, c ? -low - (double)c : 0);
            CHECK_STATUS(softmax_isa(isa, out, in), ATTN_OK);
            for (size_t c = 1; c < cols; c++) {
                real got = test_load(test_at(out, 0, c), test_floats[d]),
                     want = expl(-(real)low - (real)c); /* the sum is 1 */
                CHECK(got >= 0 &&
                      fabsl(got - want) <= tiny + (ULPS + (low + (double)c) / 2) * test_ulp(want, test_floats[d]));
            }
            CHECK(test_load(out.data, test_floats[d]) == 1);
            check_rows(out, in, 1);
        }
}

/* Each instruction set is a pass of its own: it adds up in another order, and some last bits tell. BEST is the one with
   the widest vectors. */
TEST(softmax_passes_differ)
{
    static const attn_isa isas[] = {ATTN_ISA_SCALAR, ATTN_ISA_VECTOR128, ATTN_ISA_NEON, ATTN_ISA_AVX2, ATTN_ISA_AVX512};
    attn_mat in = test_random_mat(test_wide, 40, 1000, PACKED), best = test_mat(test_wide, 40, 1000, PACKED);
    attn_mat seen[sizeof isas / sizeof *isas];
    size_t count = 0;
    CHECK_STATUS(attn_softmax(best, in), ATTN_OK);
    for (size_t n = 0; n < sizeof isas / sizeof *isas; n++) {
        if (!attn_isa_available(isas[n]))
            continue;
        seen[count] = test_mat(test_wide, 40, 1000, PACKED);
        CHECK_STATUS(softmax_isa(isas[n], seen[count], in), ATTN_OK);
        for (size_t i = 0; i < count; i++) {
            test_case("%s and instruction set %zu", attn_isa_string(isas[n]), i);
            CHECK(!test_same_bits(seen[count], seen[i]));
        }
        count++;
    }
    test_case("best");
    CHECK(test_same_bits(best, seen[count - 1]));
}

/* Adding to a row a constant that changes no difference keeps every bit. */
TEST(softmax_translation)
{
    static const double shifts[] = {10000, -10000, 4096, 0.5};
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 2; d++)
            for (size_t cols = 1; cols <= (test_quick ? 20 : 70); cols++)
                for (size_t s = 0; s < 4; s++) {
                    attn_mat in = test_mat(test_floats[d], 1, cols, PACKED), moved = test_mat(test_floats[d], 1, cols, PACKED);
                    attn_mat out = test_mat(test_floats[d], 1, cols, PACKED), again = test_mat(test_floats[d], 1, cols, PACKED);
                    for (size_t c = 0; c < cols; c++) {
                        double x = cols == 4 ? (double)c : (double)test_below(1024) / 64; /* 0 1 2 3 at four columns */
                        (attn_mat_set)(in, 0, c, x);
                        (attn_mat_set)(moved, 0, c, x + shifts[s]);
                    }
                    test_case("%s, %s, %zu columns, moved by %g", attn_isa_string(isa), test_dtype_name(test_floats[d]),
                              cols, shifts[s]);
                    CHECK_STATUS(softmax_isa(isa, out, in), ATTN_OK);
                    CHECK_STATUS(softmax_isa(isa, again, moved), ATTN_OK);
                    CHECK(test_same_bits(out, again));
                    test_release();
                }
}

/* The weights follow their keys: each is the same, up to the order of the sum, wherever its key stands. */
TEST(softmax_permutation)
{
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 2; d++)
            for (size_t cols = 2; cols < (test_quick ? 20 : 100); cols += 3) {
                attn_mat in = test_random_mat(test_floats[d], 1, cols, PACKED), turned = test_mat_like(in, REVERSED);
                attn_mat out = test_mat(test_floats[d], 1, cols, PACKED), back = test_mat(test_floats[d], 1, cols, PACKED);
                attn_mat backwards = in;
                backwards.data = test_at(in, 0, cols - 1);
                backwards.col_stride = -1;
                test_case("%s, %s, %zu columns", attn_isa_string(isa), test_dtype_name(test_floats[d]), cols);
                CHECK_STATUS(softmax_isa(isa, out, in), ATTN_OK);
                CHECK_STATUS(softmax_isa(isa, back, backwards), ATTN_OK);
                for (size_t c = 0; c < cols; c++) {
                    real a = test_load(test_at(out, 0, c), test_floats[d]),
                         b = test_load(test_at(back, 0, cols - 1 - c), test_floats[d]);
                    CHECK_NEAR(a, b, (ULPS + sqrtl((real)cols) / 2) * test_ulp(a, test_floats[d]));
                }
                test_case("%s, %s, %zu columns, another layout", attn_isa_string(isa), test_dtype_name(test_floats[d]),
                          cols);
                CHECK_STATUS(softmax_isa(isa, back, turned), ATTN_OK);
                CHECK(test_same_bits(out, back));
                test_release();
            }
}

enum kind { ZEROS, NANS, EVEN, FIRST }; /* what a special row becomes; FIRST: 1 in the first place, else 0 */

TEST(softmax_nonfinite)
{
    static const double largest[] = {FLT_MAX, DBL_MAX, 65504, 3.3895313892515355e38}; /* of each type */
    static const double least[] = {1.401298464324817e-45, 4.9406564584124654e-324, 5.9604644775390625e-08,
                                   9.183549615799121e-41};
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 4; d++) {
            const double inf = HUGE_VAL, nan = test_f64(0x7ff8000000000000u), most = largest[test_floats[d]],
                         tiny = least[test_floats[d]];
            const struct {
                const char *name;
                double first, others;
                enum kind kind;
            } rows[] = {
                {"NaN", nan, 1, NANS},
                {"-NaN", -nan, 1, NANS},
                {"+inf", inf, 1, NANS},
                {"all +inf", inf, inf, NANS},
                {"+inf and -inf", inf, -inf, NANS},
                {"NaN and -inf", nan, -inf, NANS},
                {"-NaN and +inf", -nan, inf, NANS},
                {"all -inf", -inf, -inf, ZEROS},
                {"-inf but one", 5, -inf, FIRST},
                {"the least number and -inf", -most, -inf, FIRST},
                {"the largest number and -inf", most, -inf, FIRST},
                {"the largest number and its negative", most, -most, FIRST},
                {"all the least number", -most, -most, EVEN},
                {"all the largest number", most, most, EVEN},
                {"subnormals", tiny, -tiny, EVEN},
                {"zeros of both signs", 0, -0.0, EVEN},
                {"a wide gap", 0, -20000, FIRST},
            };
            for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
                for (size_t cols = 1; cols <= 67; cols += test_quick && cols > 2 ? 16 : 1) {
                    attn_mat in = test_mat(test_floats[d], 3, cols, PADDED), out = test_mat(test_floats[d], 3, cols, PACKED);
                    for (size_t r = 0; r < 3; r++) /* between two plain rows */
                        for (size_t c = 0; c < cols; c++)
                            (attn_mat_set)(in, r, c, r != 1 ? 0 : c ? rows[n].others : rows[n].first);
                    test_case("%s, %s, %s, %zu columns", attn_isa_string(isa), test_dtype_name(test_floats[d]), rows[n].name,
                              cols);
                    test_freeze();
                    CHECK_STATUS(softmax_isa(isa, out, in), ATTN_OK);
                    CHECK(test_wrote_only(&out, 1));
                    for (size_t i = 0; i < 3 * cols; i++) {
                        enum kind kind = i / cols == 1 ? rows[n].kind : EVEN;
                        double x = (double)test_load(test_at(out, i / cols, i % cols), test_floats[d]),
                               even = 1 / (double)cols;
                        if (kind == NANS)
                            CHECK(isnan(x));
                        else if (kind == EVEN)
                            CHECK(fabs(x - even) <= (double)test_ulp(even, test_floats[d]));
                        else
                            CHECK(x == (kind == FIRST && i % cols == 0));
                    }
                    test_release();
                }
        }
}

/* NaN, of either sign, or +infinity at each place of a row makes that row NaN and no other. */
TEST(softmax_poison)
{
    static const size_t widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 65, 129};
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 4; d++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w += 1 + (size_t)test_quick * 5)
                for (size_t place = 0; place < widths[w]; place++)
                    for (int kind = 0; kind < 3; kind++) {
                        size_t cols = widths[w];
                        attn_mat in = test_mat(test_floats[d], 3, cols, PACKED);
                        int good = 1;
                        if ((place + (size_t)kind) % 3 && cols > 20 && (test_quick || d > 1))
                            continue;
                        for (size_t i = 0; i < 3 * cols; i++)
                            memset(test_at(in, i / cols, i % cols), 0, test_size(test_floats[d]));
                        (attn_mat_set)(in, 1, place,
                                       kind == 0   ? test_f64(0x7ff8000000000000u)
                                       : kind == 1 ? test_f64(0xfff8000000000000u)
                                                   : HUGE_VAL);
                        test_case("%s, %s, %s at %zu of %zu", attn_isa_string(isa), test_dtype_name(test_floats[d]),
                                  kind == 0   ? "NaN"
                                  : kind == 1 ? "-NaN"
                                              : "+inf",
                                  place, cols);
                        CHECK_STATUS(softmax_isa(isa, in, in), ATTN_OK);
                        for (size_t i = 0; i < 3 * cols; i++) {
                            double x = (double)test_load(test_at(in, i / cols, i % cols), test_floats[d]);
                            good = good && (i / cols == 1 ? isnan(x) : x > 0);
                        }
                        CHECK(good);
                        test_release();
                    }
}

TEST(softmax_million)
{
    size_t cols = test_quick ? 10001 : 1000000;
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 2; d++)
            for (int even = 0; even < 2; even++) {
                attn_mat in = test_mat(test_floats[d], 1, cols, PACKED), out = test_mat(test_floats[d], 1, cols, PACKED);
                test_case("%s, %s, %zu columns%s", attn_isa_string(isa), test_dtype_name(test_floats[d]), cols,
                          even ? ", all alike" : "");
                for (size_t c = 0; c < cols; c++)
                    (attn_mat_set)(in, 0, c, even ? 3 : test_uniform() * 5);
                CHECK_STATUS(softmax_isa(isa, out, in), ATTN_OK);
                CHECK_NEAR(test_sum(test_values(out), cols), 1, 4 * test_ulp(1, test_floats[d]) * sqrtl((real)cols));
                if (even)
                    CHECK_NEAR(test_load(out.data, test_floats[d]) * (real)cols, 1,
                               4 * test_ulp(1, test_floats[d]) * sqrtl((real)cols));
                test_release();
            }
}

static attn_status softmax_on(attn_mat out, const attn_mat *in, const attn_ctx *ctx)
{
    return attn_softmax_ctx(out, in[0], ctx);
}

TEST(softmax_contexts)
{
    static const size_t shapes[][2] = {{1, 1}, {7, 33}, {5, 9000}, {17, 1025}, {640, 129}};
    size_t most = 0;
    for (size_t s = 0; s < (test_quick ? 3 : 5); s++)
        for (size_t d = 0; d < (test_quick ? 1 : s == 4 ? 2 : 4); d++) {
            attn_mat in = test_random_mat(test_floats[d], shapes[s][0], shapes[s][1], (int)(s % 2));
            attn_mat out = test_mat(test_floats[d], shapes[s][0], shapes[s][1], (int)(s % 3));
            size_t tasks = test_contexts(out, softmax_on, &in);
            most = tasks > most ? tasks : most;
            test_release();
        }
    test_case("the largest matrix was cut for every thread");
    CHECK(most == 5);
}
