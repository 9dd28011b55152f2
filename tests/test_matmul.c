/* attn_matmul_ctx on every instruction set: lengths around the vector width, layouts, types, specials, contexts. */
#include "test.h"

/* 0, 1, and W - 1, W, W + 1 for every vector and tile width in use; then several tiles and one. */
static const size_t lengths[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,  12, 15, 16, 17,  23,  24, 25,
                                 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 129, 193, 257};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static attn_ctx on(attn_isa isa)
{
    attn_ctx ctx = test_ctx(isa);
    return ctx;
}

/* out = alpha a b on every instruction set against the models, and nothing beside out written. */
static void check_product(attn_mat out, attn_mat a, attn_mat b, double alpha)
{
    const test_op *matmul = test_op_named("matmul");
    size_t dims[DIMS] = {out.rows, out.cols, a.cols, 0, 0};
    real *exact[3], *naive[3];
    exact[1] = naive[1] = test_values(a);
    exact[2] = naive[2] = test_values(b);
    exact[0] = test_reals(out.rows * out.cols);
    naive[0] = test_reals(out.rows * out.cols);
    test_size_of_sums = 0;
    matmul->model(exact, dims, alpha, EXACT);
    matmul->model(naive, dims, alpha, a.dtype == ATTN_F64 ? NAIVE64 : NAIVE32);
    FOR_EACH_ISA_OF (isa, a.dtype) {
        attn_ctx ctx = on(isa);
        test_case("%s, alpha %g, %s %zu x %zu strides %td %td, %s %zu x %zu strides %td %td, to %s strides %td %td",
                  attn_isa_string(isa), alpha, test_dtype_name(a.dtype), a.rows, a.cols, a.row_stride, a.col_stride,
                  test_dtype_name(b.dtype), b.rows, b.cols, b.row_stride, b.col_stride, test_dtype_name(out.dtype),
                  out.row_stride, out.col_stride);
        test_fill(out, 99);
        test_freeze();
        CHECK_STATUS(attn_matmul_ctx(out, a, b, alpha, &ctx), ATTN_OK);
        CHECK(test_wrote_only(&out, 1));
        test_close(out, exact[0], naive[0], a.dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32);
    }
    test_release();
}

static void check_shape(const attn_dtype dtype[3], const int layout[3], size_t M, size_t K, size_t N)
{
    attn_mat a = test_random_mat(dtype[1], M, K, layout[1]), b = test_random_mat(dtype[2], K, N, layout[2]);
    check_product(test_mat(dtype[0], M, N, layout[0]), a, b, 1);
}

TEST(matmul_lengths)
{
    static const attn_dtype some[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    for (size_t n = 0; n < LENGTHS; n += test_quick ? 4 : 1)
        for (size_t place = 0; place < 3; place++) /* every length in every place: M, K, N */
            for (int kind = 0; kind < 3; kind++)   /* f32, f64, a mix */
                for (int round = 0; round < (test_quick ? 1 : 6); round++) {
                    attn_dtype dtype[3];
                    int layout[3];
                    size_t size[3];
                    for (size_t i = 0; i < 3; i++) {
                        dtype[i] = kind == 1 ? test_wide : kind == 2 ? some[test_below(3)] : ATTN_F32;
                        layout[i] = round == 0 ? PACKED : (int)test_below(i ? LAYOUTS : OUT_LAYOUTS);
                        size[i] = 1 + test_below(20);
                    }
                    size[place] = lengths[n];
                    check_shape(dtype, layout, size[0], size[1], size[2]);
                }
}

/* Over the edges of every block that a product is cut into. */
TEST(matmul_large)
{
    const attn_dtype types[][3] = {
        {ATTN_F32, ATTN_F32, ATTN_F32}, {test_wide, test_wide, test_wide}, {ATTN_BF16, ATTN_F16, ATTN_F32}};
    static const size_t shapes[][3] = {{67, 1031, 261}, {259, 515, 35}, {9, 300, 1100},
                                       {1, 2100, 130},  {130, 2100, 1}, {523, 67, 101}};
    for (size_t t = 0; t < 3; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            int layout[3] = {PACKED, PACKED, PACKED};
            size_t part = test_quick ? 5 : 1;
            layout[1 + s % 2] = (t + s) % 2 ? TRANSPOSED : PACKED;
            if (!test_quick || (s == t && t != 1))
                check_shape(types[t], layout, (shapes[s][0] + 3) / part, (shapes[s][1] + 3) / part,
                            (shapes[s][2] + 3) / part);
        }
}

TEST(matmul_alpha)
{
    static const double alphas[] = {1, -1, 0.125, -2.5, 1 / 3.0, 1e-3, 0};
    FOR_EACH_FLOAT(dtype)
    for (size_t n = 0; n < sizeof alphas / sizeof *alphas; n++) {
        attn_mat a = test_random_mat(dtype, 5, 19, PACKED), b = test_random_mat(dtype, 19, 23, PACKED);
        check_product(test_mat(dtype, 5, 23, PADDED), a, b, alphas[n]);
    }
}

/* NaN and infinity go where they belong and nowhere else; no sum over K = 0 leaves anything but zero. */
TEST(matmul_nonfinite)
{
    FOR_EACH_ISA (isa)
        FOR_EACH_FLOAT(dtype)
        {
            attn_ctx ctx = on(isa);
            attn_mat a = test_mat(dtype, 13, 21, PADDED), b = test_mat(dtype, 21, 35, PACKED),
                     out = test_mat(dtype, 13, 35, STRIDED);
            test_case("%s, %s, K = 0", attn_isa_string(isa), test_dtype_name(dtype));
            test_freeze();
            CHECK_STATUS(attn_matmul_ctx(out, attn_mat_cols(a, 0, 0), attn_mat_rows(b, 0, 0), 1, &ctx), ATTN_OK);
            CHECK(test_wrote_only(&out, 1));
            for (size_t i = 0; i < 13 * 35; i++)
                CHECK(test_load(test_at(out, i / 35, i % 35), out.dtype) == 0);
            for (int n = 0; n < (test_quick ? 4 : 60); n++) {
                size_t row = test_below(13), col = test_below(35), k = test_below(21);
                int in_b = n % 2, inf = n / 2 % 2;
                test_fill(a, 0.5);
                test_fill(b, 0.25);
                if (in_b)
                    (attn_mat_set)(b, k, col, inf ? -HUGE_VAL : NAN);
                else
                    (attn_mat_set)(a, row, k, inf ? -HUGE_VAL : NAN);
                test_case("%s, %s, %s at k %zu of %s", attn_isa_string(isa), test_dtype_name(dtype),
                          inf ? "-inf" : "NaN", k, in_b ? "b" : "a");
                CHECK_STATUS(attn_matmul_ctx(out, a, b, 1, &ctx), ATTN_OK);
                for (size_t i = 0; i < 13 * 35; i++) {
                    double x = (double)test_load(test_at(out, i / 35, i % 35), out.dtype);
                    if (in_b ? i % 35 == col : i / 35 == row)
                        CHECK(inf ? x == -HUGE_VAL : isnan(x));
                    else
                        CHECK(x == 21 * 0.125);
                }
                (attn_mat_set)(a, row, k, 0); /* 0 times infinity is NaN */
                if (in_b && inf) {
                    CHECK_STATUS(attn_matmul_ctx(out, a, b, 1, &ctx), ATTN_OK);
                    CHECK(isnan((double)test_load(test_at(out, row, col), out.dtype)));
                }
            }
            test_release();
        }
}

static attn_status matmul_on(attn_mat out, const attn_mat *in, const attn_ctx *ctx)
{
    return attn_matmul_ctx(out, in[0], in[1], 0.75, ctx);
}

TEST(matmul_contexts)
{
    static const size_t shapes[][3] = {{1, 1, 1},     {5, 40, 7},    {1030, 3, 20},
                                       {67, 130, 71}, {1, 500, 900}, {300, 520, 200}};
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16};
    size_t most = 0;
    for (size_t s = 0; s < (test_quick ? 3 : 6); s++)
        for (size_t d = 0; d < (s == 5 || test_quick ? 1 : 3); d++) {
            size_t tasks;
            attn_mat in[2], out = test_mat(dtypes[d], shapes[s][0], shapes[s][2], (int)(s % 3));
            in[0] = test_random_mat(dtypes[d], shapes[s][0], shapes[s][1], (int)(s % 2));
            in[1] = test_random_mat(dtypes[d], shapes[s][1], shapes[s][2], (int)(d % 2));
            tasks = test_contexts(out, matmul_on, in);
            most = tasks > most ? tasks : most;
            test_release();
        }
    test_case("the largest product was cut for every thread");
    CHECK(most == 5);
}

/* An element's bits depend on its row and its column alone: not on the layout of any matrix, nor on memory, nor on other
   columns, nor, where batch_invariant, on how many rows there are. */
TEST(matmul_bits)
{
    const attn_dtype types[] = {ATTN_F32, test_wide};
    FOR_EACH_ISA (isa)
        for (size_t d = 0; d < 2; d++)
            for (size_t n = 1; n < (test_quick ? 20 : 60); n += 3) {
                attn_ctx ctx = test_ctx(isa);
                size_t rows = 1 + n * 7 % 61, depth = 1 + n * 7 % 90;
                attn_mat a = test_random_mat(types[d], rows, depth, PACKED),
                         b = test_random_mat(types[d], depth, n, PACKED);
                attn_mat whole = test_mat(types[d], rows, n, PACKED), part = test_mat(types[d], rows, n, PACKED);
                test_case("%s, %s, %zu x %zu x %zu", attn_isa_string(isa), test_dtype_name(types[d]), rows, depth, n);
                CHECK_STATUS(attn_matmul_ctx(whole, a, b, 1, &ctx), ATTN_OK);
                for (int layout = PACKED; layout < OUT_LAYOUTS; layout++) {
                    attn_mat out = test_mat(types[d], rows, n, layout), x = test_mat_like(a, layout);
                    attn_mat w = test_mat_like(b, (layout + 1) % OUT_LAYOUTS);
                    CHECK_STATUS(attn_matmul_ctx(out, x, w, 1, &ctx), ATTN_OK);
                    CHECK(test_same_bits(whole, out));
                    test_memory_state.fail_all = 1; /* the stack has to do */
                    CHECK_STATUS(attn_matmul_ctx(out, x, w, 1, &ctx), ATTN_OK);
                    test_memory_state.fail_all = 0;
                    CHECK(test_same_bits(whole, out));
                }
                for (size_t j = 0; j < n; j++)
                    CHECK_STATUS(attn_matmul_ctx(attn_mat_cols(part, j, 1), a, attn_mat_cols(b, j, 1), 1, &ctx),
                                 ATTN_OK);
                CHECK(test_same_bits(whole, part));
                ctx.batch_invariant = test_invariant();
                CHECK_STATUS(attn_matmul_ctx(whole, a, b, 1, &ctx), ATTN_OK);
                for (size_t i = 0; i < rows; i++) { /* one row is one of few */
                    ctx.batch_invariant = i % 2 == 1;
                    CHECK_STATUS(attn_matmul_ctx(attn_mat_rows(part, i, 1), attn_mat_rows(a, i, 1), b, 1, &ctx),
                                 ATTN_OK);
                }
                CHECK(test_same_bits(whole, part));
                test_release();
            }
}

/* As the text has it: up to so many rows are few. */
static size_t most_few(attn_isa isa, attn_dtype type, size_t K)
{
    int avx512 = isa == ATTN_ISA_AVX512 || isa == ATTN_ISA_AVX512BF16;
    return K < 128 ? 8 : !avx512 ? 48 : type == ATTN_F64 ? 8 : 24;
}

/* So many rows have the bits that batch_invariant gives them; one more, and some bits are others, but of ATTN_SMALL. */
TEST(matmul_few_limits)
{
    enum { N = 40 };
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 8; n++) {
            attn_dtype type = n % 2 ? test_wide : isa == ATTN_ISA_AVX512BF16 ? ATTN_BF16 : ATTN_F32;
            size_t K = n % 4 < 2 ? 127 : 128, rows = most_few(isa, type, K) + (n >= 4);
            attn_mat a = test_random_mat(type, rows, K, PACKED);
            attn_mat b = test_random_mat(type, K, N, n % 3 ? TRANSPOSED : PACKED);
            attn_dtype wide = type == ATTN_F64 ? ATTN_F64 : ATTN_F32;
            attn_mat out = test_mat(wide, rows, N, PACKED), invariant = test_mat(wide, rows, N, PACKED);
            attn_ctx ctx = test_ctx(isa);
            test_case("%s, %s, %zu x %zu", attn_isa_string(isa), test_dtype_name(type), rows, K);
            CHECK_STATUS(attn_matmul_ctx(out, a, b, 1, &ctx), ATTN_OK);
            ctx.batch_invariant = test_invariant();
            CHECK_STATUS(attn_matmul_ctx(invariant, a, b, 1, &ctx), ATTN_OK);
            if (n < 4 || test_small)
                CHECK(test_same_bits(out, invariant));
            else if (wide != ATTN_F64 || (isa != ATTN_ISA_VECTOR128 && isa != ATTN_ISA_NEON)) /* 2 lanes are 2 chains */
                CHECK(!test_same_bits(out, invariant));
            test_release();
        }
}

/* Few rows times a transposed matrix, whose rows lie between fences `step` elements apart. */
typedef struct few {
    attn_mat out, a, w;
    attn_ctx ctx;
    attn_status status;
} few;

enum { LITTLE = 16384 }; /* bytes of scratch */

static void few_call(void *arg)
{
    few *f = (few *)arg;
    f->status = attn_matmul_ctx(f->out, f->a, attn_mat_t(f->w), 0.75, &f->ctx);
}

/* However many rows are multiplied at once, on however many threads, with scratch for all or for parts of their sums:
   they have the bits that the plain layout gives the same rows, or, if batch_invariant, among all. Nothing is read
   beside the matrices. */
static void check_few_rows(attn_isa isa, attn_dtype dtype, attn_dtype w_dtype, size_t K, size_t N, size_t step, int low)
{
    static const size_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 32, 33, 40, 64, 65, 70};
    attn_mat all = test_mat(dtype, 70, N, PACKED), b = test_random_mat(w_dtype, K, N, PACKED), w = attn_mat_t(b);
    attn_mat a = test_random_mat(dtype, 70, K, (int)test_below(LAYOUTS));
    attn_ctx plain = on(isa), invariant = plain;
    size_t size = test_size(w_dtype), bytes = N > 0 && K > 0 ? ((N - 1) * step + K) * size : 0;
    w.data = test_fenced(bytes, low);
    w.row_stride = (ptrdiff_t)step;
    w.col_stride = 1;
    for (size_t n = 0; n < N; n++)
        for (size_t k = 0; k < K; k++)
            memcpy(test_at(w, n, k), test_at(b, k, n), size);
    invariant.batch_invariant = test_invariant();
    CHECK_STATUS(attn_matmul_ctx(all, a, b, 0.75, &invariant), ATTN_OK);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c += test_quick ? 1 + test_below(4) : 1) {
        size_t count = counts[c], first = test_below(70 - count + 1);
        attn_mat some = test_mat(dtype, count, N, PACKED);
        CHECK_STATUS(attn_matmul_ctx(some, attn_mat_rows(a, first, count), b, 0.75, &plain), ATTN_OK);
        for (size_t width = 1; width <= 3; width++) {
            test_runner runner;
            few f;
            f.a = attn_mat_rows(a, first, count);
            f.w = w;
            f.ctx = test_maybe() ? plain : invariant;
            if (width > 1)
                f.ctx.parallel = test_maybe() ? test_serial_backwards(&runner, width) : test_threads(&runner, width);
            if (test_maybe()) /* none to speak of, or little */
                test_scratch(&f.ctx, test_maybe() ? 1 : LITTLE, test_maybe());
            f.out = test_mat(dtype, count, N, (int)test_below(OUT_LAYOUTS));
            test_case("%s, %zu rows of %s, %s %zu x %zu step %zu, width %zu%s", attn_isa_string(isa), count,
                      test_dtype_name(dtype), test_dtype_name(w_dtype), N, K, step, width,
                      f.ctx.scratch ? ", little scratch" : "");
            CHECK(test_keeps_off_fences(few_call, &f));
            CHECK_STATUS(f.status, ATTN_OK);
            CHECK(!f.ctx.scratch || test_scratch_kept(&f.ctx));
            CHECK(test_same_bits(f.out, f.ctx.batch_invariant ? attn_mat_rows(all, first, count) : some));
        }
    }
    test_release();
}

TEST(matmul_few_rows)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 65, 130, 259};
    static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 2 * SIZES; n += test_quick ? 1 + test_below(9) : 1)
            for (size_t t = 0; t < 4; t++) { /* every size as K and as N, beside any other */
                size_t K = n < SIZES ? sizes[n] : sizes[test_below(SIZES)],
                       N = n < SIZES ? sizes[test_below(SIZES)] : sizes[n - SIZES];
                check_few_rows(isa, t == 3 ? test_wide : types[test_below(3)], t == 3 ? test_wide : types[t], K, N,
                               K + (test_maybe() ? test_below(20) : 0), test_maybe());
            }
    FOR_EACH_ISA (isa) /* from where the sums of many rows are made of parts, and those of few */
        for (size_t K = 255, t = 0; K < 800; K += test_quick ? 150 : 49, t++)
            check_few_rows(isa, t % 4 == 3 ? test_wide : types[test_below(3)], t % 4 == 3 ? test_wide : types[t % 4], K,
                           17 + test_below(60), K + test_below(20), test_maybe());
    if (!test_quick)
        FOR_EACH_ISA (isa) /* deeper than a stack of rows */
            for (size_t t = 0; t < 3; t++)
                check_few_rows(isa, types[test_below(3)], types[t], 2500 + test_below(16), 100 + test_below(100), 2600,
                               test_maybe());
}

/* Rows that fill vectors, times a matrix of many more: some passes compute the transposed product. */
TEST(matmul_turned)
{
    static const size_t widths[] = {128, 131, 260, 515, 530}, depths[] = {1, 2, 15, 33, 259, 300, 701};
    const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, test_wide};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 3 : 14); n++) {
            attn_dtype w_dtype = types[n % 4], dtype = w_dtype == ATTN_F64 ? ATTN_F64 : types[test_below(3)];
            size_t K = depths[n % 7];
            check_few_rows(isa, n % 8 == 2 ? ATTN_BF16 : dtype, w_dtype, K, widths[n % 5], K + test_below(20),
                           test_maybe());
        }
}

/* Rows by a matrix that some CPUs read in streams far apart: 8 of them, which two or three threads share, and
   what is left over. Rows of w that follow each other or do not, a multiple of 2048 or 4096 bytes apart or not; the
   same bits as in a product of many rows that is batch_invariant, and added to what is there. */
static void check_far_rows(attn_isa isa, attn_dtype a_dtype, attn_dtype w_dtype, size_t count, size_t K, size_t N,
                           size_t step)
{
    enum { ROWS = 50 };
    attn_mat a = test_random_mat(a_dtype, ROWS, K, PACKED), all = test_mat(ATTN_F32, ROWS, N, PACKED);
    attn_mat w = test_random_mat(w_dtype, N, step, PACKED), sums = test_random_mat(ATTN_F32, count, N, PACKED);
    attn_ctx plain = on(isa), invariant = plain;
    w = attn_mat_cols(w, 0, K);
    invariant.batch_invariant = test_invariant();
    CHECK_STATUS(attn_matmul_ctx(all, a, attn_mat_t(w), 0.75, &invariant), ATTN_OK);
    for (size_t width = 1; width <= 3; width++)
        for (int layout = PACKED; layout < OUT_LAYOUTS; layout++) {
            size_t row = test_below(ROWS - count + 1);
            attn_mat out = test_mat(ATTN_F32, count, N, layout), added = test_mat_like(sums, layout);
            attn_mat again = test_mat_like(sums, PACKED);
            attn_ctx ctx = plain;
            test_runner runner;
            if (width > 1)
                ctx.parallel = test_maybe() ? test_serial_backwards(&runner, width) : test_threads(&runner, width);
            if (layout == PACKED && width == 2)
                test_scratch(&ctx, LITTLE, 1);
            test_case("%s, %zu rows from %zu of %s, %s %zu x %zu step %zu, width %zu, layout %d", attn_isa_string(isa),
                      count, row, test_dtype_name(a_dtype), test_dtype_name(w_dtype), N, K, step, width, layout);
            test_freeze();
            CHECK_STATUS(attn_matmul_ctx(out, attn_mat_rows(a, row, count), attn_mat_t(w), 0.75, &ctx), ATTN_OK);
            CHECK(test_wrote_only(&out, 1));
            CHECK(test_same_bits(out, attn_mat_rows(all, row, count)));
            CHECK_STATUS(attn_matmul_add(added, attn_mat_rows(a, row, count), attn_mat_t(w), -0.5, &ctx), ATTN_OK);
            for (size_t n = 0; n < N; n += 97) /* a column alone is no product by streams */
                CHECK_STATUS(attn_matmul_add(attn_mat_cols(again, n, 1), attn_mat_rows(a, row, count),
                                             attn_mat_t(attn_mat_rows(w, n, 1)), -0.5, &plain),
                             ATTN_OK);
            for (size_t n = 0; n < N; n += 97)
                CHECK(test_same_bits(attn_mat_cols(added, n, 1), attn_mat_cols(again, n, 1)));
        }
    test_release();
}

TEST(matmul_far_rows)
{
    static const size_t shapes[][3] = {/* K, N, step */
                                       {896, 300, 896},  {1024, 160, 1024}, {2048, 48, 2048},  {2048, 131, 2048},
                                       {4096, 35, 4096}, {1024, 160, 3072}, {1024, 256, 1040}, {2080, 64, 2080},
                                       {8192, 19, 8192}, {64, 4100, 64},    {1792, 544, 1792}};
    static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    FOR_EACH_ISA (isa)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (size_t t = 0; t < 3; t++)
                if (test_quick ? (s + t) % 5 == 0 : isa == ATTN_ISA_AVX512 || (s + t) % 3 == 0)
                    check_far_rows(isa, ATTN_F32, types[t], 1, shapes[s][0], shapes[s][1], shapes[s][2]);
    if (!test_quick && attn_isa_available(ATTN_ISA_AVX512)) { /* several rows: matrices of 8 MiB and more */
        check_far_rows(ATTN_ISA_AVX512, ATTN_F32, ATTN_F32, 2, 2048, 1060, 2048);
        check_far_rows(ATTN_ISA_AVX512, ATTN_BF16, ATTN_F16, 7, 4096, 1043, 4096);
        if (attn_isa_available(ATTN_ISA_AVX512BF16))
            check_far_rows(ATTN_ISA_AVX512BF16, ATTN_BF16, ATTN_BF16, 8, 4000, 1061, 4040);
    }
}

/* Numbers of every sign, exponent and upper half, with lower halves around every tie: what is stored is what the nearest
   16-bit number is, under each instruction set, in whole vectors and in the rest of a row. A NaN stays one. */
TEST(matmul_rounds_once)
{
    static const uint32_t lower[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff};
    attn_mat one = test_mat(ATTN_F32, 1, 1, PACKED), in = test_mat(ATTN_F32, 1, 1003, PACKED);
    test_fill(one, 1);
    for (uint32_t n = 0, high = 0x0080; high < 0x10000; n++) { /* no zeros and no subnormals */
        attn_mat out[2];
        size_t c;
        out[0] = test_mat(ATTN_F16, 1, in.cols, PACKED), out[1] = test_mat(ATTN_BF16, 1, in.cols, PACKED);
        for (c = 0; c < in.cols; c++, high += test_quick ? 1 + (uint32_t)test_below(41) : 1 + (uint32_t)test_below(5)) {
            uint32_t bits = ((high & 0x7f80) ? (high & 0xffff) << 16 : 0x3f800000) | lower[test_below(11)];
            if (c % 37 == 5) /* NaNs that rounding would make an infinity or zero */
                bits = (test_maybe() ? 0x7f800001 : 0x7fffffff) | (uint32_t)test_below(2) << 31;
            memcpy(test_at(in, 0, c), &bits, 4);
        }
        FOR_EACH_ISA (isa) {
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            ctx.isa = isa;
            for (int type = 0; type < 2; type++) {
                test_case("%s, %s, row %u", attn_isa_string(isa), type ? "bf16" : "f16", (unsigned)n);
                CHECK_STATUS(attn_matmul_ctx(out[type], one, in, 1, &ctx), ATTN_OK);
                for (c = 0; c < in.cols; c++) {
                    double x = (double)test_load(test_at(in, 0, c), ATTN_F32);
                    uint16_t got;
                    memcpy(&got, test_at(out[type], 0, c), 2);
                    if (isnan(x))
                        CHECK(isnan(test_decode(got, out[type].dtype)));
                    else
                        CHECK(got == test_encode(x, out[type].dtype));
                }
            }
        }
        test_release();
        one = test_mat(ATTN_F32, 1, 1, PACKED), in = test_mat(ATTN_F32, 1, 1003, PACKED);
        test_fill(one, 1);
    }
}
