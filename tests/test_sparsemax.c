/* attn_sparsemax and attn_entmax15 against entmax, against a reference that sorts, and by their properties. */
#include "sdpa.h"

#include <errno.h>

#include "golden/steps.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const real eps = 1.0L / 4503599627370496; /* 2^-52 */

static const char *name_of(int power)
{
    return power == 1 ? "sparsemax" : "entmax15";
}

/* The function of that power, which may neither ask for memory nor touch errno. */
static attn_status sparse(int power, attn_mat out, attn_mat in)
{
    long calls = test_memory_state.calls;
    attn_status status;
    errno = 7;
    test_memory_state.fail_all = 1;
    status = power == 1 ? attn_sparsemax(out, in) : attn_entmax15(out, in);
    test_memory_state.fail_all = 0;
    CHECK(test_memory_state.calls == calls && errno == 7);
    return status;
}

/* ---- the reference ---- */

static int descending(const void *a, const void *b)
{
    real x = *(const real *)a, y = *(const real *)b;
    return (x < y) - (x > y);
}

/* The sum of (z[j] - z[k - 1])^power over the first k numbers. */
static real sum_above(const real *z, size_t k, int power, real *terms)
{
    for (size_t j = 0; j < k; j++)
        terms[j] = power == 1 ? z[j] - z[k - 1] : (z[j] - z[k - 1]) * (z[j] - z[k - 1]);
    return test_sum(terms, k);
}

/* t of a row x, which is less its maximum and divided by the power: max(x - t, 0)^power add up to 1. Those above t are
   the k largest, z[0] .. z[k - 1]: as many as have sum_above less than 1. With y = z - z[k - 1], t is the root of
   sum (y - t) = 1, or the lower one of sum (y - t)^2 = 1, more exact for y that are small. */
static real threshold(const real *x, size_t n, int power)
{
    real *z = test_reals(n), *terms = test_reals(n), mean, apart;
    size_t k = 1, beyond = n + 1;
    memcpy(z, x, n * sizeof *z);
    qsort(z, n, sizeof *z, descending);
    while (beyond > 1 && sdpa_infinite(z[beyond - 2]))
        beyond--;
    while (beyond - k > 1) {
        size_t middle = k + (beyond - k) / 2;
        if (sum_above(z, middle, power, terms) < 1)
            k = middle;
        else
            beyond = middle;
    }
    mean = sum_above(z, k, 1, terms) / (real)k;
    if (power == 1)
        return z[k - 1] + mean - 1 / (real)k;
    for (size_t j = 0; j < k; j++)
        terms[j] = (z[j] - z[k - 1] - mean) * (z[j] - z[k - 1] - mean);
    apart = test_sum(terms, k);
    return z[k - 1] + mean - sqrtl((1 - apart) / (real)k);
}

/* x - t for each element of a row; NaN where the row has NaN or +infinity, -1 where it has -infinity alone. */
static void heights(real *above, const real *row, size_t n, int power)
{
    real most = -INFINITY, t = 0;
    int bad = 0;
    for (size_t j = 0; j < n; j++) {
        bad |= isnan((double)row[j]) || sdpa_infinite(row[j]) > 0;
        most = row[j] > most ? row[j] : most;
    }
    if (!bad && sdpa_finite(most)) {
        for (size_t j = 0; j < n; j++)
            above[j] = row[j] / power - most / power;
        t = threshold(above, n, power);
    }
    for (size_t j = 0; j < n; j++)
        above[j] = bad ? (real)NAN : sdpa_finite(most) ? above[j] - t : -1;
}

/* x and t are rounded to double, and t once more where sums of rounded numbers meet 1: x - t is within 2^-51, whatever
   the types. Elements are as near as that, rounded; 0 exactly below t; rows add up to 1 within 4 sqrt(n) ulp. */
static int check_rows(attn_mat out, attn_mat in, int power)
{
    attn_dtype compute = in.dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    real *x = test_values(in), *got = test_values(out), *above = test_reals(in.cols), off = 2 * eps;
    size_t n = in.cols;
    for (size_t r = 0; r < in.rows && n; r++) {
        heights(above, x + r * n, n, power);
        for (size_t j = 0; j < n; j++) {
            real up = above[j] > 0              ? above[j]
                      : isnan((double)above[j]) ? above[j]
                                                : 0,
                 want = power == 1 ? up : up * up;
            real tolerance = power == 1 ? off : (2 * up + off) * off;
            if (above[j] < -off)
                tolerance = 0;
            else
                tolerance += test_ulp(want + tolerance, out.dtype) / 2;
            if (!CHECK_NEAR(got[r * n + j], want, tolerance) ||
                (above[j] > off && want > 1e-7L && !CHECK(got[r * n + j] > 0)))
                return 0;
        }
        if (test_size(out.dtype) > 2 && sdpa_finite(got[r * n]) && !sdpa_infinite(x[r * n]))
            CHECK_NEAR(test_sum(got + r * n, n), 1, 4 * test_ulp(1, compute) * sqrtl((real)n));
    }
    return 1;
}

/* ---- numbers ---- */

static void check_golden(int power, const char *name, const double *in, const double *golden, size_t rows, size_t cols)
{
    for (size_t d = 0; d < 4; d++) {
        attn_mat x = test_numbers(test_floats[d], rows, cols, in), out = test_mat(test_floats[d], rows, cols, PACKED);
        test_case("%s, %s, %s", name_of(power), name, test_dtype_name(test_floats[d]));
        CHECK_STATUS(sparse(power, out, x), ATTN_OK);
        for (size_t i = 0; i < rows * cols; i++) /* entmax computes in f64 and has cancellation in its variance */
            CHECK_NEAR(test_load(test_at(out, i / cols, i % cols), test_floats[d]), golden[i],
                       golden[i] > 0 ? 32 * eps + test_ulp(golden[i], test_floats[d]) / 2 : 0);
        check_rows(out, x, power);
        test_release();
    }
}

TEST(sparse_golden)
{
    check_golden(1, "far", golden_sparse_far, golden_sparsemax_far, 6, 9);
    check_golden(2, "far", golden_sparse_far, golden_entmax15_far, 6, 9);
    check_golden(1, "near", golden_sparse_near, golden_sparsemax_near, 3, 40);
    check_golden(2, "near", golden_sparse_near, golden_entmax15_near, 3, 40);
}

/* What can be worked out by hand, in numbers that make every step exact. */
TEST(sparse_by_hand)
{
    static const struct {
        int power;
        size_t cols;
        double in[5], out[5];
    } rows[] = {
        {1, 1, {-7}, {1}},
        {2, 1, {-7}, {1}},
        {1, 2, {0.5, 0}, {0.75, 0.25}},
        {1, 2, {1, 0}, {1, 0}}, /* t is 0 */
        {1, 2, {2, 0}, {1, 0}},
        {1, 4, {1, 0.5, 0.5, 0.25}, {0.6666666666666667, 0.16666666666666667, 0.16666666666666667, 0}},
        {1, 5, {3, 3, 1, 3, 3}, {0.25, 0.25, 0, 0.25, 0.25}},
        {1, 3, {0, -2, 0x1p-32 - 1}, {1 - 0x1p-33, 0, 0x1p-33}}, /* barely seen */
        {1, 5, {-0.25, -0.5, 0, -1, -2}, {0.3333333333333333, 0.08333333333333333, 0.5833333333333334, 0, 0}},
        {2, 4, {5, 5, 5, 5}, {0.25, 0.25, 0.25, 0.25}},
        {2, 2, {2, 0}, {1, 0}},                               /* t is 0 */
        {2, 2, {0.4, 0}, {0.64, 0.36}},                       /* t is -0.6 */
        {2, 3, {0, -2, -2}, {1, 0, 0}},                       /* t is -1 */
        {2, 5, {4, 4, 2, 4, 4}, {0.25, 0.25, 0, 0.25, 0.25}}, /* t is 3/2 */
    };
    for (size_t n = 0; n < COUNT(rows); n++)
        for (size_t d = 0; d < 2; d++) {
            attn_mat in = test_numbers(test_floats[d], 1, rows[n].cols, rows[n].in), out = test_mat_like(in, PACKED);
            test_case("row %zu, %s", n, test_dtype_name(test_floats[d]));
            CHECK_STATUS(sparse(rows[n].power, out, in), ATTN_OK);
            for (size_t j = 0; j < rows[n].cols; j++)
                CHECK_NEAR(test_load(test_at(out, 0, j), test_floats[d]), rows[n].out[j],
                           rows[n].out[j] > 0 ? test_ulp(1, test_floats[d]) : 0);
        }
}

TEST(sparse_accuracy)
{
    static const attn_dtype narrow[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    static const double spreads[] = {0.01, 1, 5, 60, 700};
    static const size_t lengths[] = {127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 1025, 4099};
    for (size_t n = 0; n < (test_quick ? 150 : 1500); n++) {
        int power = 1 + (int)(n % 2), in_place = test_below(5) == 0;
        attn_dtype from = test_floats[test_below(4)], to = in_place || from == ATTN_F64 ? from : narrow[test_below(3)];
        size_t cols = n % 10 ? test_below(70) : lengths[n / 10 % COUNT(lengths)], rows = 1 + test_below(4);
        int layout = (int)test_below(in_place ? OUT_LAYOUTS : LAYOUTS);
        attn_mat in = test_random_mat(from, rows, cols, layout), was, out;
        double spread = spreads[test_below(COUNT(spreads))];
        for (size_t i = 0; i < rows * cols && layout < OUT_LAYOUTS; i++) /* near one another, and ties */
            (attn_mat_set)(in, i / cols, i % cols,
                           n % 3 ? test_uniform() * spread : floor(test_uniform() * 16) / 16 * spread);
        was = test_mat_like(in, PACKED);
        out = in_place ? in : test_mat(to, rows, cols, (int)test_below(OUT_LAYOUTS));
        test_case("%zu: %s, %s to %s, %zu x %zu, layout %d, spread %g%s", n, name_of(power), test_dtype_name(from),
                  test_dtype_name(to), rows, cols, layout, spread, in_place ? ", in place" : "");
        test_freeze();
        if (CHECK_STATUS(sparse(power, out, in), ATTN_OK) && CHECK(test_wrote_only(&out, 1)))
            check_rows(out, was, power);
        test_release();
    }
}

/* ---- rows that are hard ---- */

static double equal(size_t j, size_t n)
{
    (void)j, (void)n;
    return -3.7;
}

static double one_and_many(size_t j, size_t n) /* all count, t is near -1/2, and each has next to nothing */
{
    return j == n / 2 ? 1 : 0.5;
}

static double ramp(size_t j, size_t n)
{
    return (double)j / (double)n;
}

static double halves_to_top(size_t j, size_t n)
{
    (void)n;
    return -ldexp(1, -(int)(j % 60));
}

static double halves_from_below(size_t j, size_t n) /* ever nearer to where t starts */
{
    (void)n;
    return j == 0 ? 0 : ldexp(1, -(int)(j % 60)) - 1;
}

/* Newton's method leaves behind one more number of this row at each step: z_k lies between two of its points. */
static double left_one_by_one(size_t j, size_t n)
{
    double t = -0.5, gap = 0.25;
    (void)n;
    for (size_t k = 40; k > 2 && j < 38; k--) {
        if (k == j + 2)
            return t - gap / 2;
        t += gap / (double)k, gap /= 2 * (double)k;
    }
    return j == 38 ? 0 : -1;
}

static double at_threshold(size_t j, size_t n) /* of sparsemax with two equal maxima, but for the last bits */
{
    static const double steps[] = {0, 1, -1, 2, -2};
    (void)n;
    return j < 2 ? 1 : j < 40 ? 0.5 + steps[j % COUNT(steps)] * 0x1p-52 : 0.5;
}

static double tiny(size_t j, size_t n)
{
    (void)n;
    return (double)(j % 7) * test_f64(1);
}

static double tiny_floats(size_t j, size_t n)
{
    (void)n;
    return (double)(j % 5) * ldexp(1, -149) - ldexp(1, -148);
}

static double huge_floats(size_t j, size_t n)
{
    return j % 3 == 0 ? (double)FLT_MAX : j == n - 1 ? 0 : -(double)FLT_MAX;
}

static double huge(size_t j, size_t n)
{
    return j % 3 == 0 ? DBL_MAX : j == n - 1 ? 0 : -DBL_MAX;
}

static double lowest(size_t j, size_t n)
{
    (void)j, (void)n;
    return -DBL_MAX;
}

static double far_apart(size_t j, size_t n)
{
    return j == n - 1 ? 1e30 : -1e30;
}

static double far_from_zero(size_t j, size_t n) /* differences are multiples of 2^-13 */
{
    (void)n;
    return ldexp(1, 10) + (double)(j * j % 97) / 8192;
}

static double crowded(size_t j, size_t n) /* a million times as dense near the maximum */
{
    double x = (double)j / (double)n;
    return -x * x * x;
}

TEST(sparse_hard_rows)
{
    static const struct {
        const char *name;
        double (*at)(size_t j, size_t n);
    } rows[] = {{"equal", equal},
                {"one and many", one_and_many},
                {"ramp", ramp},
                {"halves to the top", halves_to_top},
                {"halves from below", halves_from_below},
                {"left one by one", left_one_by_one},
                {"at the threshold", at_threshold},
                {"subnormal", tiny},
                {"subnormal floats", tiny_floats},
                {"the largest floats", huge_floats},
                {"the largest", huge},
                {"the lowest", lowest},
                {"far apart", far_apart},
                {"far from zero", far_from_zero},
                {"crowded", crowded}};
    static const size_t lengths[] = {1, 2, 3, 8, 41, 60, 255, 256, 257, 2000, 100000};
    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t l = 0; l < COUNT(lengths) - (size_t)test_quick; l++)
            for (size_t d = 0; d < 2; d++) {
                size_t n = lengths[l];
                attn_mat in = test_mat(test_floats[d], 1, n, n % 2 ? PACKED : MIRRORED),
                         out = test_mat(test_floats[d], 1, n, PACKED);
                for (size_t j = 0; j < n; j++) {
                    double x = rows[r].at(j, n), most = d == 0 ? (double)FLT_MAX : DBL_MAX;
                    (attn_mat_set)(in, 0, j, x > most ? most : x < -most ? -most : x);
                }
                for (int power = 1; power <= 2; power++) {
                    test_case("%s, %s, %zu columns, %s", name_of(power), rows[r].name, n, test_dtype_name(test_floats[d]));
                    if (CHECK_STATUS(sparse(power, out, in), ATTN_OK))
                        check_rows(out, in, power);
                }
                test_release();
            }
}

/* Equal numbers, however many, have equal shares, rounded once; so have the largest of them. */
TEST(sparse_ties)
{
    for (size_t n = 1; n < 100000; n += 1 + n / 3)
        for (int power = 1; power <= 2; power++)
            for (size_t d = 0; d < 2; d++) {
                attn_mat in = test_mat(test_floats[d], 2, 2 * n, PACKED), out = test_mat(test_floats[d], 2, 2 * n, PACKED);
                double first = (double)test_load(out.data, test_floats[d]);
                size_t wrong = 0;
                for (size_t j = 0; j < 2 * n; j++) {
                    (attn_mat_set)(in, 0, j, 0.1);
                    (attn_mat_set)(in, 1, j, j % 2 ? 1000 : 997.5);
                }
                test_case("%s, %s, %zu columns", name_of(power), test_dtype_name(test_floats[d]), 2 * n);
                CHECK_STATUS(sparse(power, out, in), ATTN_OK);
                first = (double)test_load(out.data, test_floats[d]);
                CHECK_NEAR(first * 2 * (double)n, 1, 2 * test_ulp(1, test_floats[d]));
                for (size_t j = 0; j < 2 * n; j++) {
                    double a = (double)test_load(test_at(out, 0, j), test_floats[d]),
                           b = (double)test_load(test_at(out, 1, j), test_floats[d]);
                    wrong += !(a >= first && a <= first);
                    wrong += !(j % 2 ? fabs(b * (double)n - 1) <= 2 * (double)test_ulp(1, test_floats[d]) : b <= 0);
                }
                CHECK(wrong == 0);
                test_release();
            }
}

/* ---- infinities and NaN ---- */

enum { MINUS_INF, PLUS_INF, QUIET_NAN, NEGATIVE_NAN, KINDS };

static double special(int kind)
{
    switch (kind) {
    case MINUS_INF: return -HUGE_VAL;
    case PLUS_INF: return HUGE_VAL;
    case QUIET_NAN: return test_f64(0x7ff8000000000000u);
    default: return test_f64(0xfff8000000000000u);
    }
}

/* One such number at each place of a row, between plain rows: -infinity is 0 and changes nothing, the others make their
   row NaN and no other. */
TEST(sparse_infinite_elements)
{
    static const size_t widths[] = {1, 2, 3, 5, 16, 17, 33, 257, 300};
    for (size_t d = 0; d < 4; d++)
        for (size_t w = 0; w < COUNT(widths) - 2 * (size_t)test_quick; w++)
            for (size_t place = 0; place<widths[w]; place += widths[w]> 40 && place % 64 == 1 ? 62 : 1)
                for (int n = 0; n < 2 * KINDS; n++) {
                    size_t cols = widths[w];
                    int power = 1 + n % 2, kind = n / 2;
                    attn_mat in = test_random_mat(test_floats[d], 3, cols, n % 3 ? PACKED : STRIDED), was, out;
                    (attn_mat_set)(in, 1, place, special(kind));
                    was = test_mat_like(in, PACKED);
                    out = place % 2 ? test_mat(test_floats[d], 3, cols, PADDED) : in;
                    test_case("%s, %s, kind %d at %zu of %zu", name_of(power), test_dtype_name(test_floats[d]), kind, place,
                              cols);
                    CHECK_STATUS(sparse(power, out, in), ATTN_OK);
                    check_rows(out, was, power);
                    for (size_t c = 0; c < cols && kind != MINUS_INF; c++)
                        CHECK(isnan((double)test_load(test_at(out, 1, c), test_floats[d])));
                    if (kind == MINUS_INF)
                        CHECK(test_load(test_at(out, 1, place), test_floats[d]) == 0);
                    test_release();
                }
}

TEST(sparse_infinite_rows)
{
    for (size_t d = 0; d < 4; d++)
        for (size_t cols = 1; cols <= 520; cols = cols < 10 ? cols + 1 : 2 * cols + 3)
            for (int n = 0; n < 2 * 6; n++) {
                double most = test_floats[d] == ATTN_F32 ? FLT_MAX : d == 1 ? DBL_MAX : d == 2 ? 65504 : 3.3895313892515355e38;
                const double pairs[6][2] = {{-HUGE_VAL, -HUGE_VAL}, {-HUGE_VAL, -most},
                                            {-HUGE_VAL, most},      {-HUGE_VAL, HUGE_VAL},
                                            {HUGE_VAL, HUGE_VAL},   {HUGE_VAL, special(QUIET_NAN)}};
                int power = 1 + n % 2, kind = n / 2;
                attn_mat in = test_mat(test_floats[d], 3, cols, PACKED), out = test_mat(test_floats[d], 3, cols, TRANSPOSED);
                test_fill(in, 0);
                for (size_t c = 0; c < cols; c++)
                    (attn_mat_set)(in, 1, c, pairs[kind][c == cols / 2]);
                test_case("%s, %s, row %d, %zu columns", name_of(power), test_dtype_name(test_floats[d]), kind, cols);
                CHECK_STATUS(sparse(power, out, in), ATTN_OK);
                for (size_t c = 0; c < cols; c++) {
                    double x = (double)test_load(test_at(out, 1, c), test_floats[d]), even = 1 / (double)cols;
                    if (kind == 0) /* nothing to attend to */
                        CHECK(x == 0);
                    else if (kind < 3)
                        CHECK(x == (c == cols / 2));
                    else
                        CHECK(isnan(x));
                    for (size_t r = 0; r < 3; r += 2)
                        CHECK_NEAR(test_load(test_at(out, r, c), test_floats[d]), even, test_ulp(even, test_floats[d]));
                }
                test_release();
            }
}

/* ---- properties ---- */

/* Adding to a row a constant that changes no difference keeps every bit. */
TEST(sparse_translation)
{
    static const double shifts[] = {4096, -4096, 100, 0.5};
    for (size_t cols = 1; cols <= 300; cols += 1 + cols / 4)
        for (size_t n = 0; n < 4 * COUNT(shifts); n++) {
            int power = 1 + (int)(n % 2);
            attn_dtype dtype = test_floats[n / 2 % 2];
            attn_mat in = test_mat(dtype, 1, cols, PACKED), moved = test_mat(dtype, 1, cols, PACKED);
            attn_mat out = test_mat(dtype, 1, cols, PACKED), again = test_mat(dtype, 1, cols, PACKED);
            for (size_t c = 0; c < cols; c++) {
                double x = (double)test_below(256) / 64;
                (attn_mat_set)(in, 0, c, x);
                (attn_mat_set)(moved, 0, c, x + shifts[n / 4]);
            }
            test_case("%s, %s, %zu columns, moved by %g", name_of(power), test_dtype_name(dtype), cols, shifts[n / 4]);
            CHECK_STATUS(sparse(power, out, in), ATTN_OK);
            CHECK_STATUS(sparse(power, again, moved), ATTN_OK);
            CHECK(test_same_bits(out, again));
            test_release();
        }
}

/* A larger number has no smaller share, the same number the same; what sparsemax shows entmax15 shows, to which softmax
   gives a share too; each share follows its number to any place. */
TEST(sparse_order)
{
    for (size_t cols = 2; cols <= 200; cols += 1 + cols / 5) {
        attn_mat in = test_random_mat(test_wide, 1, cols, PACKED), turned = in, out[2], back[2];
        turned.data = test_at(in, 0, cols - 1), turned.col_stride = -1;
        for (size_t c = 0; c < cols; c++)
            (attn_mat_set)(in, 0, c, floor(test_uniform() * 40) / 16);
        for (int power = 1; power <= 2; power++) {
            size_t wrong = 0;
            test_case("%s, %zu columns", name_of(power), cols);
            out[power - 1] = test_mat(test_wide, 1, cols, PACKED), back[power - 1] = test_mat(test_wide, 1, cols, PACKED);
            CHECK_STATUS(sparse(power, out[power - 1], in), ATTN_OK);
            CHECK_STATUS(sparse(power, back[power - 1], turned), ATTN_OK);
            for (size_t a = 0; a < cols; a++) {
                double x = attn_mat_get(in, 0, a), y = attn_mat_get(out[power - 1], 0, a);
                CHECK_NEAR(attn_mat_get(back[power - 1], 0, cols - 1 - a), y, 2 * test_ulp(1, test_wide));
                for (size_t b = 0; b < cols; b++)
                    wrong += attn_mat_get(in, 0, b) >= x && attn_mat_get(out[power - 1], 0, b) < y;
            }
            CHECK(wrong == 0);
        }
        for (size_t c = 0; c < cols; c++)
            CHECK(attn_mat_get(out[0], 0, c) <= 0 || attn_mat_get(out[1], 0, c) > 0);
        test_release();
    }
}

/* The same numbers in any layout give the same bits, as do broadcast rows. */
TEST(sparse_layouts)
{
    for (size_t d = 0; d < 4; d++)
        for (int layout = PACKED; layout < LAYOUTS; layout++)
            for (int power = 1; power <= 2; power++)
                for (int n = 0; n < 3; n++) {
                    attn_mat in = test_random_mat(test_floats[d], 5, n == 2 ? 600 : 19, layout),
                             packed = test_mat_like(in, PACKED), want = test_mat(test_floats[d], in.rows, in.cols, PACKED),
                             out = test_mat(test_floats[d], in.rows, in.cols, (layout + n) % OUT_LAYOUTS);
                    test_case("%s, %s, layout %d, %d", name_of(power), test_dtype_name(test_floats[d]), layout, n);
                    CHECK_STATUS(sparse(power, want, packed), ATTN_OK);
                    test_freeze();
                    CHECK_STATUS(sparse(power, out, in), ATTN_OK);
                    CHECK(test_wrote_only(&out, 1) && test_same_bits(out, want));
                    CHECK_STATUS(sparse(power, attn_mat_t(test_mat_like(attn_mat_t(out), layout % OUT_LAYOUTS)), in),
                                 ATTN_OK);
                    if (layout < OUT_LAYOUTS) { /* in place */
                        test_freeze();
                        CHECK_STATUS(sparse(power, in, in), ATTN_OK);
                        CHECK(test_wrote_only(&in, 1) && test_same_bits(in, want));
                    }
                    test_release();
                }
}

/* ---- statuses ---- */

TEST(sparse_status)
{
    for (int power = 1; power <= 2; power++) {
        attn_mat in = test_random_mat(ATTN_F32, 3, 9, STRIDED), out = test_mat(ATTN_F32, 3, 9, STRIDED), none = {0};
        float *shared = test_block(200 * sizeof *shared);
        test_freeze();
        for (int f = 0; f < SPOILS; f++)
            for (int g = -1; g < SPOILS; g++) { /* of out and, unless -1, of in; then f = -1, of in alone */
                for (int alone = 0; alone < 2; alone++) {
                    attn_mat o = out, i = in;
                    attn_status want = alone ? ATTN_OK : test_spoil_mat(&o, SPOIL_REQUIRED | SPOIL_OUTPUT, f), second;
                    if (g < 0 ? alone : f == g && !alone && want == ATTN_ERR_SHAPE) /* then they fit again */
                        continue;
                    second = g < 0 ? ATTN_OK : test_spoil_mat(&i, SPOIL_REQUIRED, g);
                    if (want == ATTN_OK || (second != ATTN_OK && test_rank(second) < test_rank(want)))
                        want = second;
                    if (want == ATTN_OK)
                        continue;
                    test_case("%s, faults %d and %d", name_of(power), alone ? -1 : f, g);
                    CHECK_STATUS(sparse(power, o, i), want);
                    CHECK(test_wrote_nothing());
                }
            }
        test_case("%s, types", name_of(power));
        CHECK_STATUS(sparse(power, test_mat(ATTN_F64, 3, 9, PACKED), in), ATTN_ERR_DTYPE);
        CHECK_STATUS(sparse(power, out, test_random_mat(ATTN_F64, 3, 9, PACKED)), ATTN_ERR_DTYPE);
        CHECK_STATUS(sparse(power, test_mat(ATTN_F64, 4, 9, PACKED), in), ATTN_ERR_DTYPE);
        CHECK(test_wrote_nothing());
        test_case("%s, no elements", name_of(power));
        CHECK_STATUS(sparse(power, attn_mat_of(NULL, ATTN_F32, 0, 9), attn_mat_of(NULL, ATTN_F32, 0, 9)), ATTN_OK);
        CHECK_STATUS(sparse(power, attn_mat_of(NULL, ATTN_F16, 9, 0), attn_mat_of(NULL, ATTN_F32, 9, 0)), ATTN_OK);
        CHECK_STATUS(sparse(power, attn_mat_of(NULL, ATTN_F32, 9, 0), attn_mat_of(NULL, ATTN_F32, 0, 9)),
                     ATTN_ERR_SHAPE);
        CHECK_STATUS(sparse(power, attn_mat_of(NULL, ATTN_F64, 9, 0), attn_mat_of(NULL, ATTN_F32, 9, 0)),
                     ATTN_ERR_DTYPE);
        CHECK_STATUS(sparse(power, none, attn_mat_of(NULL, ATTN_F32, 0, 0)), ATTN_ERR_NULL);
        CHECK(test_wrote_nothing());
        test_case("%s, overlaps", name_of(power));
        for (size_t i = 0; i < 200; i++)
            shared[i] = (float)i / 16;
        test_freeze();
        CHECK_STATUS(sparse(power, attn_mat_of(shared + 1, ATTN_F32, 4, 8), attn_mat_of(shared, ATTN_F32, 4, 8)),
                     ATTN_ERR_ALIAS);
        CHECK_STATUS(sparse(power, attn_mat_of(shared, ATTN_F16, 4, 8), attn_mat_of(shared, ATTN_F32, 4, 8)),
                     ATTN_ERR_ALIAS);
        CHECK_STATUS(
            sparse(power, attn_mat_t(attn_mat_of(shared, ATTN_F32, 4, 4)), attn_mat_of(shared, ATTN_F32, 4, 4)),
            ATTN_ERR_ALIAS);
        CHECK(test_wrote_nothing());
        CHECK_STATUS(sparse(power, attn_mat_of(shared + 32, ATTN_F32, 4, 8), attn_mat_of(shared, ATTN_F32, 4, 8)),
                     ATTN_OK);
        in = attn_mat_of(shared, ATTN_F32, 4, 16); /* halves of rows fall between one another */
        CHECK_STATUS(sparse(power, attn_mat_cols(in, 8, 8), attn_mat_cols(in, 0, 8)), ATTN_OK);
        test_release();
    }
}
