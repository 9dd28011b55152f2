/* Positions: rotations, their frequencies, biases by distance, slopes, sinusoids. The models here are written from the
   papers and the text of the interface, in long double or in whole numbers. */
#include "sdpa.h"
#include "golden/rope.h"

#include <errno.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const real eps = 1.0L / 4503599627370496; /* 2^-52 */
static const int wide_words = PTRDIFF_MAX > 0x7fffffff;

static real wide_eps(void) /* of the widest type: the same, if that is F64 */
{
    return test_ulp(1, test_wide);
}

static real half_ulp(real x, attn_dtype dtype)
{
    return test_ulp(x, dtype) / 2;
}

/* x rounded once to dtype, to nearest even, and decoded again. */
static real rounded(double x, attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_F64: return x;
    case ATTN_F32: return (float)x;
    default: return test_decode(test_encode(x, dtype), dtype);
    }
}

static double *doubles(size_t count)
{
    return test_block(count * sizeof(double));
}

static ptrdiff_t *places(size_t count)
{
    return test_block(count * sizeof(ptrdiff_t));
}

/* No call here may need memory. */
#define WITHOUT_MEMORY(status, call)                                                                                   \
    do {                                                                                                               \
        long calls_before = test_memory_state.calls;                                                                   \
        test_memory_state.fail_all = 1;                                                                                \
        status = (call);                                                                                               \
        test_memory_state.fail_all = 0;                                                                                \
        CHECK(test_memory_state.calls == calls_before);                                                                \
    } while (0)

/* ==== rotations ==== */

static real position_of(const attn_rope_opts *o, size_t L, size_t b, size_t i)
{
    ptrdiff_t by_item = o->position_batch_stride, by_row = o->position_len_stride;
    if (!o->positions)
        return (real)o->offset + (real)i;
    if (by_item == 0 && by_row == 0)
        by_item = (ptrdiff_t)L, by_row = 1;
    return (real)o->offset + (real)o->positions[(ptrdiff_t)b * by_item + (ptrdiff_t)i * by_row];
}

/* One row in long double; slack: what computing it in double may be off by. Own frequencies and tables are exact; the
   others come from a power, whose exponent is rounded too. */
static void turn(real *want, real *slack, const real *row, size_t D, const attn_rope_opts *o, real position)
{
    size_t dim = o->dim ? o->dim : D;
    real base = o->base != 0 ? (real)o->base : 10000, scale = o->scale != 0 ? (real)o->scale : 1;
    for (size_t d = 0; d < D; d++)
        want[d] = row[d], slack[d] = 0;
    for (size_t d = 0; d < dim / 2; d++) {
        size_t one = o->interleaved ? 2 * d : d, two = o->interleaved ? 2 * d + 1 : d + dim / 2;
        real x = row[one], y = row[two], cosine, sine, off = 4;
        if (test_absent_mat(o->cos)) {
            real frequency = o->frequencies ? (real)o->frequencies[d] : powl(base, -2 * (real)d / (real)dim);
            real angle = position * frequency;
            off += (o->frequencies ? 2 : 4 + fabsl(logl(base))) * fabsl(angle);
            cosine = cosl(angle), sine = sinl(angle);
        } else {
            cosine = test_load(test_at(o->cos, (size_t)position, d), o->cos.dtype);
            sine = test_load(test_at(o->sin, (size_t)position, d), o->sin.dtype);
        }
        sine = o->transposed ? -sine : sine;
        want[one] = scale * (x * cosine - y * sine);
        want[two] = scale * (x * sine + y * cosine);
        slack[one] = slack[two] = fabsl(scale) * (fabsl(x) + fabsl(y)) * off * eps;
    }
}

/* Every element within half an ulp of the model, and what double may be off by. */
static int turned_well(attn_tensor out, attn_tensor in, const attn_rope_opts *o)
{
    size_t D = in.dim;
    real *row = test_reals(D), *want = test_reals(D), *slack = test_reals(D);
    for (size_t b = 0; b < in.batch; b++)
        for (size_t h = 0; h < in.heads; h++)
            for (size_t i = 0; i < in.len; i++) {
                for (size_t d = 0; d < D; d++)
                    row[d] = test_tensor_get(in, b, h, i, d);
                turn(want, slack, row, D, o, position_of(o, in.len, b, i));
                for (size_t d = 0; d < D; d++)
                    if (!CHECK_NEAR(test_tensor_get(out, b, h, i, d), want[d],
                                    half_ulp(fabsl(want[d]) + slack[d], out.dtype) + slack[d]))
                        return 0;
            }
    return 1;
}

/* Positions of B x L rows by one of eight conventions; returns them through the options. */
enum { PLACES_NONE, PLACES_PACKED, PLACES_SHARED, PLACES_ITEM, PLACES_REVERSED, PLACES_STEP, PLACES_TURNED, PLACES };

static void place_rows(attn_rope_opts *o, int kind, size_t B, size_t L, size_t reach)
{
    ptrdiff_t b = (ptrdiff_t)B, l = (ptrdiff_t)L, *p;
    size_t count = kind == PLACES_SHARED ? L : kind == PLACES_ITEM ? B : kind == PLACES_STEP ? B * (2 * L + 3) : B * L;
    if (kind == PLACES_NONE)
        return;
    p = places(count);
    for (size_t n = 0; n < count; n++)
        p[n] = (ptrdiff_t)test_below(2 * reach + 1) - (ptrdiff_t)reach;
    o->positions = p;
    switch (kind) {
    case PLACES_SHARED: o->position_len_stride = 1; break;
    case PLACES_ITEM: o->position_batch_stride = 1; break;
    case PLACES_REVERSED:
        o->position_batch_stride = -l, o->position_len_stride = -1;
        o->positions += B && L ? B * L - 1 : 0;
        break;
    case PLACES_STEP: o->position_batch_stride = 2 * l + 3, o->position_len_stride = 2; break;
    case PLACES_TURNED: o->position_batch_stride = 1, o->position_len_stride = b; break;
    default: break;
    }
}

/* Tables for positions 0 .. rows - 1, of any types and strides; base and frequencies are not looked at then. */
static void give_tables(attn_rope_opts *o, size_t rows, size_t pairs)
{
    o->cos = test_random_mat(test_floats[test_below(4)], rows, pairs, (int)test_below(LAYOUTS));
    o->sin = test_random_mat(test_floats[test_below(4)], rows, pairs, (int)test_below(LAYOUTS));
    o->base = NAN;
    o->frequencies = (const double *)(const void *)((const char *)test_block(1) + 1);
}

static attn_rope_opts random_rope(size_t B, size_t L, size_t D)
{
    static const double bases[] = {0, 10000, 500000, 1, 2.5, 0.5}, scales[] = {0, 1, 0.5, -1.25, 1.1386294361119891};
    static const ptrdiff_t offsets[] = {0, 0, 1, -7, 900, -1001};
    attn_rope_opts o = {0};
    size_t dim, reach = test_maybe() ? 4 : 1000;
    o.interleaved = test_maybe() ? (int)(1 + test_below(2)) : 0; /* any truth is true */
    o.dim = D % 2 || test_maybe() ? 2 * test_below(D / 2 + 1) : 0;
    if (o.dim == 0 && D % 2)
        o.dim = D - 1;
    dim = o.dim ? o.dim : D;
    o.base = bases[test_below(COUNT(bases))];
    o.offset = offsets[test_below(COUNT(offsets))];
    o.scale = scales[test_below(COUNT(scales))];
    o.transposed = (int)test_below(3);
    place_rows(&o, (int)test_below(PLACES), B, L, reach);
    if (test_below(4) == 0) {
        o.offset = (ptrdiff_t)(o.positions ? reach : test_below(reach));
        give_tables(&o, o.positions ? 2 * reach + 1 : (size_t)o.offset + L, dim / 2);
    } else if (test_below(3) == 0) {
        double *frequencies = doubles(dim / 2);
        for (size_t d = 0; d < dim / 2; d++)
            frequencies[d] = test_uniform() * (d % 3 ? 0.01 : 2);
        o.frequencies = frequencies;
    }
    return o;
}

TEST(rope_grid)
{
    static const size_t dims[] = {2, 3, 4, 5, 6, 8, 9, 10, 16, 18, 64, 67, 132, 261};
    for (size_t n = 0; n < (test_quick ? 300 : 3000); n++) {
        size_t B = 1 + test_below(3), H = 1 + test_below(3), L = 1 + test_below(5), D = dims[n % COUNT(dims)];
        attn_dtype from = test_floats[n / COUNT(dims) % 4], to = test_floats[test_below(4)];
        int layout_in = (int)test_below(T_LAYOUTS), layout_out = (int)test_below(T_OUT_LAYOUTS);
        attn_tensor in = test_random_tensor(from, B, H, L, D, layout_in), out = test_tensor(to, B, H, L, D, layout_out);
        attn_rope_opts o = random_rope(B, L, D);
        attn_status status;
        test_case("case %zu: %s to %s, layouts %d and %d, %zu x %zu x %zu x %zu, dim %zu, base %g, offset %d", n,
                  test_dtype_name(from), test_dtype_name(to), layout_in, layout_out, B, H, L, D, o.dim, o.base,
                  (int)o.offset);
        test_freeze();
        WITHOUT_MEMORY(status, attn_rope(out, in, &o));
        CHECK_STATUS(status, ATTN_OK);
        CHECK(test_wrote_only_tensors(&out, 1));
        if (!turned_well(out, in, &o))
            return;
        test_release();
    }
}

/* As many rows as a model sees, of the sizes that models have; opts NULL, and all that it stands for said outright. */
TEST(rope_many_rows)
{
    for (int n = 0; n < 6; n++) {
        attn_dtype dtype = test_floats[n % 2];
        size_t L = test_quick ? 100 : 1000, D = n < 2 ? 2 : n < 4 ? 64 : 128;
        attn_tensor in = test_random_tensor(dtype, 1, 1, L, D, T_BHLD), out = test_tensor(dtype, 1, 1, L, D, T_BLHD),
                    same = test_tensor(dtype, 1, 1, L, D, T_STEP), by_array = test_tensor(dtype, 1, 1, L, D, T_BHLD);
        attn_rope_opts zero = {0}, full = {0};
        double *frequencies = doubles(D / 2), scale = 77;
        ptrdiff_t *positions = places(L);
        test_case("%s, %zu x %zu", test_dtype_name(dtype), L, D);
        CHECK_STATUS(attn_rope(out, in, NULL), ATTN_OK);
        turned_well(out, in, &zero);
        CHECK_STATUS(attn_rope(same, in, &zero), ATTN_OK);
        CHECK(test_same_tensor_bits(out, same));
        for (size_t i = 0; i < L; i++)
            positions[i] = (ptrdiff_t)i + 3;
        CHECK_STATUS(attn_rope_frequencies(frequencies, D, 0, NULL, &scale), ATTN_OK);
        full.dim = D, full.base = 10000, full.scale = 1, full.offset = -3, full.positions = positions;
        CHECK_STATUS(attn_rope(same, in, &full), ATTN_OK);
        CHECK(test_same_tensor_bits(out, same));
        full.frequencies = frequencies, full.scale = scale, full.base = 0;
        CHECK_STATUS(attn_rope(by_array, in, &full), ATTN_OK);
        CHECK(test_same_tensor_bits(out, by_array));
        test_release();
    }
}

/* Elements from dim on are the input's, rounded once; so are turned ones at position 0 and scale 1. These would come
   out differently if they passed through float, or were rounded half up. */
TEST(rope_rounds_once)
{
    static const double traps[] = {1 + 0x1p-11 + 0x1p-40,
                                   1 + 0x1p-8 + 0x1p-40,
                                   1 + 0x1p-24 + 0x1p-50,
                                   1 + 0x1p-11,
                                   1 + 0x1p-8,
                                   1 + 0x1p-24,
                                   1 + 3 * 0x1p-11,
                                   1 + 3 * 0x1p-8,
                                   1 + 3 * 0x1p-24,
                                   65519.99,
                                   65520,
                                   0x1p-24 * 0.75,
                                   -(1 + 0x1p-8 + 0x1p-33),
                                   3.0e-8,
                                   -0.1,
                                   1e5};
    enum { D = 2 * COUNT(traps) };
    for (int interleaved = 0; interleaved < 2; interleaved++)
        for (int n = 0; n < 4; n++) {
            attn_tensor in = test_tensor(test_wide, 1, 1, 1, D, T_BHLD),
                        out = test_tensor(test_floats[n], 1, 1, 1, D, T_STEP);
            attn_rope_opts o = {0};
            o.interleaved = interleaved;
            o.dim = D / 2;
            for (size_t d = 0; d < D; d++)
                test_tensor_set(in, 0, 0, 0, d, traps[d % COUNT(traps)]);
            CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
            for (size_t d = 0; d < D; d++) {
                test_case("%s, element %zu", test_dtype_name(test_floats[n]), d);
                CHECK_NEAR(test_tensor_get(out, 0, 0, 0, d),
                           rounded((double)test_tensor_get(in, 0, 0, 0, d), test_floats[n]), 0);
            }
            test_release();
        }
}

/* ---- tables of cosines and sines ---- */

/* Tables of the widest type for positions 0 .. rows - 1: what attn_rope makes of (1, 0) are the cosine and sine that it turns
   by. */
static void tabulate(attn_rope_opts *tables, const attn_rope_opts *o, size_t rows, size_t dim)
{
    attn_tensor ones = test_tensor(test_wide, 1, 1, rows, dim, T_BHLD);
    attn_mat both = attn_head(ones, 0, 0);
    attn_rope_opts halves = {0};
    halves.base = o->base, halves.frequencies = o->frequencies;
    test_fill(attn_mat_cols(both, 0, dim / 2), 1);
    test_fill(attn_mat_cols(both, dim / 2, dim / 2), 0);
    CHECK_STATUS(attn_rope(ones, ones, &halves), ATTN_OK);
    tables->cos = attn_mat_cols(both, 0, dim / 2);
    tables->sin = attn_mat_cols(both, dim / 2, dim / 2);
}

/* Tables in double of what it would compute itself change no bit, whatever else is asked for. */
TEST(rope_tables_equal_frequencies)
{
    enum { B = 2, H = 2, L = 5, REACH = 40 };
    if (test_lacks_f64())
        return;
    for (size_t n = 0; n < (test_quick ? 40 : 400); n++) {
        size_t D = 2 + 2 * test_below(n % 9 ? 12 : 170), dim;
        attn_tensor in = test_random_tensor(test_floats[n % 4], B, H, L, D, (int)test_below(T_LAYOUTS)), one, two;
        attn_rope_opts o = random_rope(B, L, D), by_table;
        ptrdiff_t *positions = places(B * L);
        if (!test_absent_mat(o.cos))
            continue;
        dim = o.dim ? o.dim : D;
        for (size_t i = 0; i < B * L; i++)
            positions[i] = (ptrdiff_t)test_below(REACH);
        o.positions = n % 3 ? positions : NULL, o.position_batch_stride = o.position_len_stride = 0;
        o.offset = n % 3 ? 0 : (ptrdiff_t)test_below(REACH - L + 1);
        by_table = o;
        tabulate(&by_table, &o, REACH, dim);
        by_table.base = -1, by_table.frequencies = NULL;
        one = test_tensor(test_floats[n / 4 % 4], B, H, L, D, T_BHLD), two = test_tensor_like(one, T_STEP);
        test_case("case %zu: %s to %s, D %zu, dim %zu", n, test_dtype_name(in.dtype), test_dtype_name(one.dtype), D,
                  dim);
        CHECK_STATUS(attn_rope(one, in, &o), ATTN_OK);
        CHECK_STATUS(attn_rope(two, in, &by_table), ATTN_OK);
        CHECK(test_same_tensor_bits(one, two));
        test_release();
    }
}

/* Transposed, tables turn back what they have turned; one that is no rotation, too, is transposed as a matrix is. */
TEST(rope_tables_transposed)
{
    enum { L = 20, D = 12 };
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        attn_tensor in = test_random_tensor(test_wide, 1, 2, L, D, T_BHLD), other = test_tensor_like(in, T_BHLD),
                    out = test_tensor_like(in, T_BHLD), back = test_tensor_like(in, T_BHLD);
        attn_rope_opts o = {0}, plain = {0};
        real there = 0, again = 0;
        test_scatter(other, 5);
        o.interleaved = interleaved, o.scale = 3;
        tabulate(&o, &plain, L, D);
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        o.transposed = 1, o.scale = 1.0 / 3;
        CHECK_STATUS(attn_rope(back, out, &o), ATTN_OK);
        for (size_t i = 0; i < L * D; i++)
            CHECK_NEAR(test_tensor_get(back, 0, 1, i / D, i % D), test_tensor_get(in, 0, 1, i / D, i % D), 16 * wide_eps());
        test_case("interleaved %d: <R x, y> and <x, R^T y>", interleaved);
        o.cos = test_random_mat(ATTN_F32, L, D / 2, TRANSPOSED), o.sin = test_random_mat(ATTN_F16, L, D / 2, STRIDED);
        o.scale = -0.5, o.transposed = 0;
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        o.transposed = 1;
        CHECK_STATUS(attn_rope(back, other, &o), ATTN_OK);
        for (size_t i = 0; i < L * D; i++) {
            there += test_tensor_get(out, 0, 0, i / D, i % D) * test_tensor_get(other, 0, 0, i / D, i % D);
            again += test_tensor_get(in, 0, 0, i / D, i % D) * test_tensor_get(back, 0, 0, i / D, i % D);
        }
        CHECK_NEAR(there, again, L * D * 8 * wide_eps());
        test_release();
    }
}

/* ONNX's inputs of three dimensions, B x L x (H D), and tables with a row for each token, without positions: views. */
TEST(rope_tables_by_views)
{
    enum { B = 2, H = 4, L = 3, D = 8 };
    for (int n = 0; n < 4; n++) {
        attn_tensor in = test_random_tensor(ATTN_F32, B, H, L, D, T_BHLD), want = test_tensor_like(in, T_BHLD),
                    three = test_tensor_like(in, T_BLHD), got = test_tensor_like(in, T_BLHD);
        attn_mat rows = attn_mat_of(three.data, ATTN_F32, B * L, H * D),
                 out = attn_mat_of(got.data, ATTN_F32, B * L, H * D);
        attn_rope_opts o = {0};
        ptrdiff_t positions[B * L];
        o.interleaved = n % 2, o.dim = n < 2 ? 0 : 4;
        give_tables(&o, B * L, n < 2 ? D / 2 : 2);
        for (size_t i = 0; i < B * L; i++)
            positions[i] = (ptrdiff_t)i;
        o.positions = positions;
        test_case("interleaved %d, dim %zu", o.interleaved, o.dim);
        CHECK_STATUS(attn_rope(want, in, &o), ATTN_OK);
        turned_well(want, in, &o);
        CHECK_STATUS(
            attn_rope(attn_blhd(got.data, ATTN_F32, B, L, H, D), attn_blhd(three.data, ATTN_F32, B, L, H, D), &o),
            ATTN_OK);
        CHECK(test_same_tensor_bits(got, want));
        test_fill_tensor(got, 99);
        o.positions = NULL; /* item by item: a matrix of its own, and an offset */
        for (size_t b = 0; b < B; b++) {
            o.offset = (ptrdiff_t)(b * L);
            CHECK_STATUS(attn_rope(attn_heads(attn_mat_rows(out, b * L, L), H),
                                   attn_heads(attn_mat_rows(rows, b * L, L), H), &o),
                         ATTN_OK);
        }
        CHECK(test_same_tensor_bits(got, want));
        test_fill_tensor(got, 99);
        o.offset = 0; /* or each with its own rows of the tables */
        for (size_t b = 0; b < B; b++) {
            attn_rope_opts own = o;
            own.cos = attn_mat_rows(o.cos, b * L, L), own.sin = attn_mat_rows(o.sin, b * L, L);
            CHECK_STATUS(attn_rope(attn_heads(attn_mat_rows(out, b * L, L), H),
                                   attn_heads(attn_mat_rows(rows, b * L, L), H), &own),
                         ATTN_OK);
        }
        CHECK(test_same_tensor_bits(got, want));
        test_release();
    }
}

/* Tables are multiplied by in double: what float would round or overflow comes out right. NaN and infinity stay in the
   pairs that they turn. */
TEST(rope_tables_in_double)
{
    static const double xs[] = {1 + 0x1p-40, 0x1p+300}, cosines[] = {1 - 0x1p-45, 0x1p-300}, zeros[] = {0, 0},
                        bad[] = {NAN, 0, HUGE_VAL};
    attn_tensor in = attn_heads(test_numbers(ATTN_F64, 1, 2, xs), 1), out = test_tensor(ATTN_F64, 1, 1, 1, 2, T_BHLD);
    attn_rope_opts o = {0};
    for (size_t n = 0; n < 2 && test_wide == ATTN_F64; n++) {
        test_tensor_set(in, 0, 0, 0, 0, xs[n]);
        test_tensor_set(in, 0, 0, 0, 1, 0);
        o.cos = test_numbers(ATTN_F64, 1, 1, cosines + n), o.sin = test_numbers(ATTN_BF16, 1, 1, zeros);
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        CHECK_NEAR(test_tensor_get(out, 0, 0, 0, 0), (real)xs[n] * (real)cosines[n], eps / 2);
        CHECK(test_tensor_get(out, 0, 0, 0, 1) == 0);
    }
    in = test_random_tensor(ATTN_F32, 1, 1, 1, 6, T_BHLD), out = test_tensor(ATTN_F32, 1, 1, 1, 6, T_BHLD);
    o.interleaved = 1;
    o.cos = test_numbers(ATTN_F16, 1, 3, bad), o.sin = test_random_mat(ATTN_F32, 1, 3, PACKED);
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
    for (size_t d = 0; d < 6; d++)
        CHECK(sdpa_finite(test_tensor_get(out, 0, 0, 0, d)) == (d / 2 == 1));
}

/* Every position must have a row: VALUE, whether it comes from the offset, from positions or from both. */
TEST(rope_tables_positions)
{
    enum { B = 2, H = 2, L = 3, D = 4, ROWS = 10 };
    static const struct {
        ptrdiff_t offset, position; /* that of the last row of the last item; -1000: none are given */
        int fits;
    } cases[] = {
        {0, -1000, 1},
        {ROWS - L, -1000, 1},
        {ROWS - L + 1, -1000, 0},
        {ROWS, -1000, 0},
        {-1, -1000, 0},
        {-L, -1000, 0},
        {PTRDIFF_MAX, -1000, 0},
        {PTRDIFF_MAX - 1, -1000, 0},
        {PTRDIFF_MIN, -1000, 0},
        {0, ROWS - 1, 1},
        {0, ROWS, 0},
        {0, -1, 0},
        {0, 0, 1},
        {1, ROWS - 2, 1},
        {1, ROWS - 1, 0},
        {5, -5, 1},
        {5, -6, 0},
        {-1, 1, 0},
        {-1, ROWS, 0}, /* the others are at 0 */
        {PTRDIFF_MAX, PTRDIFF_MAX, 0},
        {PTRDIFF_MIN, PTRDIFF_MIN, 0},
        {0, PTRDIFF_MAX, 0},
        {0, PTRDIFF_MIN, 0},
        {3, PTRDIFF_MAX, 0},
        {1, PTRDIFF_MIN, 0},
    };
    ptrdiff_t *positions = places(B * L);
    attn_rope_opts o = {0};
    for (size_t n = 0; n < COUNT(cases); n++) {
        attn_tensor in = test_random_tensor(ATTN_F32, B, H, L, D, T_BHLD),
                    out = test_tensor(ATTN_F32, B, H, L, D, T_STEP);
        positions = places(B * L);
        for (size_t i = 0; i < B * L; i++)
            positions[i] = i + 1 < B * L ? 0 : cases[n].position;
        give_tables(&o, ROWS, D / 2);
        o.offset = cases[n].offset, o.positions = cases[n].position == -1000 ? NULL : positions;
        test_case("offset %td, position %td of %d rows", o.offset, cases[n].position, ROWS);
        test_freeze();
        CHECK_STATUS(attn_rope(out, in, &o), cases[n].fits ? ATTN_OK : ATTN_ERR_VALUE);
        if (cases[n].fits)
            CHECK(test_wrote_only_tensors(&out, 1) && turned_well(out, in, &o));
        else
            CHECK(test_wrote_nothing());
        test_release();
    }
    test_case("positions that an offset brings back");
    {
        attn_tensor in = test_random_tensor(ATTN_F32, 1, H, 2, D, T_BHLD),
                    out = test_tensor(ATTN_F32, 1, H, 2, D, T_BHLD), same = test_tensor(ATTN_F32, 1, H, 2, D, T_BHLD);
        positions = places(2), positions[0] = 1 - PTRDIFF_MAX, positions[1] = 4 - PTRDIFF_MAX;
        give_tables(&o, ROWS, D / 2);
        o.offset = PTRDIFF_MAX, o.positions = positions;
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        positions[0] = 1, positions[1] = 4, o.offset = 0;
        CHECK_STATUS(attn_rope(same, in, &o), ATTN_OK);
        CHECK(test_same_tensor_bits(out, same));
    }
    test_case("without elements, in no time");
    give_tables(&o, ROWS, D / 2);
    o.positions = NULL, o.offset = 0;
    CHECK_STATUS(attn_rope(attn_bhld(NULL, ATTN_F32, SIZE_MAX / 16, 0, 3, D),
                           attn_bhld(NULL, ATTN_F32, SIZE_MAX / 16, 0, 3, D), &o),
                 ATTN_OK);
    CHECK_STATUS(attn_rope(attn_bhld(NULL, ATTN_F32, 1, 0, SIZE_MAX / 64, D),
                           attn_bhld(NULL, ATTN_F32, 1, 0, SIZE_MAX / 64, D), &o),
                 ATTN_ERR_VALUE);
    o.offset = ROWS;
    CHECK_STATUS(attn_rope(attn_bhld(NULL, ATTN_F32, 1, 0, 1, D), attn_bhld(NULL, ATTN_F32, 1, 0, 1, D), &o),
                 ATTN_ERR_VALUE);
    CHECK_STATUS(attn_rope(attn_bhld(NULL, ATTN_F32, 1, 2, 0, D), attn_bhld(NULL, ATTN_F32, 1, 2, 0, D), &o), ATTN_OK);
    CHECK_STATUS(attn_rope(attn_bhld(NULL, ATTN_F32, 0, 2, 1, D), attn_bhld(NULL, ATTN_F32, 0, 2, 1, D), &o), ATTN_OK);
}

/* What is copied keeps every bit; NaN in a pair stays in it; the copied elements are not scaled. */
TEST(rope_copies)
{
    enum { D = 10, DIM = 6 };
    for (int n = 0; n < 8; n++) {
        attn_dtype dtype = test_floats[n % 4];
        attn_tensor in = test_random_tensor(dtype, 1, 1, 3, D, T_BHLD), out = test_tensor(dtype, 1, 1, 3, D, T_BHLD);
        attn_rope_opts o = {0};
        size_t other = n < 4 ? 1 + DIM / 2 : 3;
        o.interleaved = n >= 4;
        o.dim = DIM;
        o.scale = -3;
        test_case("%s, interleaved %d", test_dtype_name(dtype), o.interleaved);
        test_tensor_set(in, 0, 0, 1, n < 4 ? 1 : 2, NAN);
        test_tensor_set(in, 0, 0, 0, 8, HUGE_VAL);
        test_tensor_set(in, 0, 0, 2, 9, -HUGE_VAL);
        test_tensor_set(in, 0, 0, 2, 7, -0.0);
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        for (size_t i = 0; i < 3; i++)
            for (size_t d = 0; d < D; d++) {
                int in_pair = i == 1 && (d == (n < 4 ? 1u : 2u) || d == other);
                if (d >= DIM)
                    CHECK(memcmp(test_tensor_at(out, 0, 0, i, d), test_tensor_at(in, 0, 0, i, d), test_size(dtype)) ==
                          0);
                else
                    CHECK(!isnan((double)test_tensor_get(out, 0, 0, i, d)) == !in_pair);
            }
        test_tensor_set(in, 0, 0, 1, 7, NAN);
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        CHECK(isnan((double)test_tensor_get(out, 0, 0, 1, 7)) && !isnan((double)test_tensor_get(out, 0, 0, 1, 8)));
        test_release();
    }
}

TEST(rope_in_place)
{
    for (size_t n = 0; n < 4 * T_OUT_LAYOUTS * 4; n++) {
        attn_dtype dtype = test_floats[n % 4];
        int layout = (int)(n / 4 % T_OUT_LAYOUTS);
        size_t D = n % 16 == 5 ? 150 + n % 3 : 2 + n % 7;
        attn_tensor in = test_random_tensor(dtype, 2, 3, 4, D, layout), out = test_tensor(dtype, 2, 3, 4, D, T_BHLD);
        attn_rope_opts o = random_rope(2, 4, D);
        test_case("%s, layout %d, D %zu, dim %zu, interleaved %d", test_dtype_name(dtype), layout, D, o.dim,
                  o.interleaved);
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        test_freeze();
        CHECK_STATUS(attn_rope(in, in, &o), ATTN_OK);
        CHECK(test_wrote_only_tensors(&in, 1));
        CHECK(test_same_tensor_bits(in, out));
        test_release();
    }
}

/* Overlaps that are not the very same view are refused; what falls in between is fine. */
TEST(rope_overlap)
{
    float *a = test_block(400 * sizeof *a);
    attn_tensor q = attn_bhld(a, ATTN_F32, 1, 2, 3, 4), t, u;
    attn_rope_opts o = {0};
    for (size_t i = 0; i < 400; i++)
        a[i] = (float)i / 400;
    CHECK_STATUS(attn_rope(attn_bhld(a + 23, ATTN_F32, 1, 2, 3, 4), q, NULL), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_rope(attn_bhld(a + 4, ATTN_F32, 1, 2, 3, 4), q, NULL), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_rope(attn_bhld(a + 24, ATTN_F32, 1, 2, 3, 4), q, NULL), ATTN_OK);
    test_case("the same data in another order, or as another type");
    CHECK_STATUS(attn_rope(attn_blhd(a, ATTN_F32, 1, 3, 2, 4), q, NULL), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_rope(attn_bhld(a, ATTN_F16, 1, 2, 3, 4), q, NULL), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_rope(q, attn_bhld(a, ATTN_BF16, 1, 2, 3, 4), NULL), ATTN_ERR_ALIAS);
    test_case("an output upon itself");
    CHECK_STATUS(attn_rope(attn_tensor_of(a + 100, ATTN_F32, 1, 2, 3, 4, 0, 4, 4, 1), q, NULL), ATTN_ERR_ALIAS);
    t = attn_tensor_of(a + 100, ATTN_F32, 2, 1, 3, 4, 0, 0, 4, 1);
    CHECK_STATUS(attn_rope(t, t, NULL), ATTN_ERR_ALIAS);
    test_case("thirds of one buffer"); /* [L][3][H][D], L 3, H 2, D 4 */
    t = attn_tensor_of(a + 8, ATTN_F32, 1, 2, 3, 4, 0, 4, 24, 1);
    u = attn_tensor_of(a + 16, ATTN_F32, 1, 2, 3, 4, 0, 4, 24, 1);
    CHECK_STATUS(attn_rope(u, t, NULL), ATTN_OK);
    CHECK_STATUS(attn_rope(u, u, NULL), ATTN_OK);
    test_case("an output upon the positions or the frequencies");
    {
        ptrdiff_t *positions = places(16);
        double *frequencies = doubles(8);
        for (size_t n = 0; n < 16; n++)
            positions[n] = 1, frequencies[n / 2] = 1;
        o.positions = positions;
        t = attn_bhld(positions + 2, ATTN_F32, 1, 1, 3, 2);
        CHECK_STATUS(attn_rope(t, attn_bhld(a, ATTN_F32, 1, 1, 3, 2), &o), ATTN_ERR_ALIAS);
        t = attn_bhld(positions + 3, ATTN_F32, 1, 1, 3, 2);
        CHECK_STATUS(attn_rope(t, attn_bhld(a, ATTN_F32, 1, 1, 3, 2), &o), ATTN_OK);
        o.positions = positions + 5, o.position_len_stride = -1; /* positions 3 .. 5 */
        CHECK_STATUS(attn_rope(t, attn_bhld(a, ATTN_F32, 1, 1, 3, 2), &o), ATTN_ERR_ALIAS);
        t = attn_bhld(positions + 6, ATTN_F32, 1, 1, 3, 2);
        CHECK_STATUS(attn_rope(t, attn_bhld(a, ATTN_F32, 1, 1, 3, 2), &o), ATTN_OK);
        o.positions = NULL;
        o.frequencies = frequencies;
        t = attn_bhld(frequencies + 1, ATTN_F32, 1, 1, 3, 4);
        CHECK_STATUS(attn_rope(t, q, &o), ATTN_ERR_SHAPE);
        CHECK_STATUS(attn_rope(t, attn_bhld(a, ATTN_F32, 1, 1, 3, 4), &o), ATTN_ERR_ALIAS);
        o.dim = 2;
        CHECK_STATUS(attn_rope(t, attn_bhld(a, ATTN_F32, 1, 1, 3, 4), &o), ATTN_OK);
    }
}

/* A turn keeps the length of every pair, undoes itself backwards, and q . k knows only the distance. */
TEST(rope_properties)
{
    enum { L = 40, D = 16 };
    for (int n = 0; n < 4; n++) {
        attn_tensor in = test_random_tensor(test_wide, 1, 2, L, D, T_BHLD), out = test_tensor_like(in, T_BHLD),
                    back = test_tensor_like(in, T_BHLD);
        attn_rope_opts there = {0}, again = {0};
        ptrdiff_t *positions = places(2 * L);
        there.interleaved = again.interleaved = n % 2;
        there.scale = n < 2 ? 0 : 4, again.scale = n < 2 ? 0 : 0.25;
        for (size_t i = 0; i < L; i++) {
            positions[i] = (ptrdiff_t)test_below(4001) - 2000;
            positions[L + i] = -positions[i];
        }
        there.positions = positions, again.positions = positions + L;
        test_case("interleaved %d, scale %g", n % 2, there.scale);
        CHECK_STATUS(attn_rope(out, in, &there), ATTN_OK);
        CHECK_STATUS(attn_rope(back, out, &again), ATTN_OK);
        for (size_t h = 0; h < 2; h++)
            for (size_t i = 0; i < L; i++)
                for (size_t d = 0; d < D / 2; d++) {
                    size_t one = n % 2 ? 2 * d : d, two = n % 2 ? 2 * d + 1 : d + D / 2;
                    real x = test_tensor_get(in, 0, h, i, one), y = test_tensor_get(in, 0, h, i, two);
                    real size = hypotl(x, y), scale = n < 2 ? 1 : 4;
                    CHECK_NEAR(hypotl(test_tensor_get(out, 0, h, i, one), test_tensor_get(out, 0, h, i, two)),
                               scale * size, 8 * scale * wide_eps() * size);
                    CHECK_NEAR(test_tensor_get(back, 0, h, i, one), x, 16 * wide_eps() * size);
                    CHECK_NEAR(test_tensor_get(back, 0, h, i, two), y, 16 * wide_eps() * size);
                }
        test_release();
    }
    for (int n = 0; n < 40; n++) {
        attn_tensor q = test_random_tensor(test_wide, 1, 1, 1, D, T_BHLD),
                    k = test_random_tensor(test_wide, 1, 1, 1, D, T_BHLD),
                    qs = test_tensor(test_wide, 1, 1, L, D, T_BHLD), ks = test_tensor(test_wide, 1, 1, L, D, T_BHLD);
        attn_rope_opts o = {0};
        ptrdiff_t distance = (ptrdiff_t)test_below(200) - 100;
        real first = 0;
        o.interleaved = n % 2;
        q.len = k.len = L, q.len_stride = k.len_stride = 0; /* the same row at every position */
        CHECK_STATUS(attn_rope(qs, q, &o), ATTN_OK);
        o.offset = distance;
        CHECK_STATUS(attn_rope(ks, k, &o), ATTN_OK);
        test_case("distance %d", (int)distance);
        for (size_t i = 0; i < L; i++) {
            real sum = 0;
            for (size_t d = 0; d < D; d++)
                sum += test_tensor_get(qs, 0, 0, i, d) * test_tensor_get(ks, 0, 0, i, d);
            first = i ? first : sum;
            CHECK_NEAR(sum, first, 9000 * wide_eps());
        }
        test_release();
    }
}

/* Positions are whole numbers up to 2^53; beyond, they are rounded to double, and saturate. The angles here fit a
   double, in which their sines are computed too: valgrind has no long double. */
TEST(rope_far_away)
{
    static const double powers[] = {1, 0.5, 0.25, 2};
    enum { D = 8, L = 5 };
    ptrdiff_t *positions = places(L);
    attn_tensor in = test_random_tensor(test_wide, 1, 1, L, D, T_BHLD), out = test_tensor(test_wide, 1, 1, L, D, T_BHLD);
    attn_rope_opts o = {0};
    ptrdiff_t most = wide_words ? (ptrdiff_t)(PTRDIFF_MAX / 1024 + 1) : PTRDIFF_MAX - 3; /* 2^53 */
    o.frequencies = powers;
    for (int n = 0; n < 4; n++) {
        o.offset = n < 2 ? most - L + 1 : 1 - most;
        o.positions = n % 2 ? positions : NULL;
        for (ptrdiff_t i = 0; i < L; i++)
            positions[i] = n < 2 ? i : -i / 4;
        if (n == 2)
            o.offset = -most;
        test_case("near 2^53, %d", n);
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        for (size_t i = 0; i < L; i++) /* products with powers of two are exact */
            for (size_t d = 0; d < D / 2; d++) {
                real x = test_tensor_get(in, 0, 0, i, d), y = test_tensor_get(in, 0, 0, i, d + D / 2);
                real angle = position_of(&o, L, 0, i) * (real)powers[d];
                CHECK_NEAR(test_tensor_get(out, 0, 0, i, d), x * cos((double)angle) - y * sin((double)angle), 4 * wide_eps());
                CHECK_NEAR(test_tensor_get(out, 0, 0, i, d + D / 2), x * sin((double)angle) + y * cos((double)angle),
                           4 * wide_eps());
            }
    }
    test_case("an offset that the positions bring back");
    o.offset = PTRDIFF_MAX;
    o.positions = positions;
    for (ptrdiff_t i = 0; i < L; i++)
        positions[i] = i - PTRDIFF_MAX;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
    o.offset = 0;
    for (ptrdiff_t i = 0; i < L; i++)
        positions[i] = i;
    turned_well(out, in, &o);
    for (size_t n = 0; n < 8; n++) { /* positions saturate */
        static const ptrdiff_t ends[] = {PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX - 2, PTRDIFF_MIN + 1};
        attn_rope_opts far = {0};
        far.offset = ends[n % 4];
        far.positions = n < 4 ? NULL : positions;
        far.frequencies = powers;
        for (size_t i = 0; i < L; i++)
            positions[i] = ends[n % 4];
        test_case("offset %td%s", far.offset, n < 4 ? "" : ", twice");
        CHECK_STATUS(attn_rope(out, in, &far), ATTN_OK);
        for (size_t i = 0; i < L; i++) {
            double position = (double)position_of(&far, L, 0, i);
            double end = position < 0 ? (double)PTRDIFF_MIN : (double)PTRDIFF_MAX;
            position = fabs(position) < fabs(end) ? position : end;
            for (size_t d = 0; d < D / 2; d++) {
                real x = test_tensor_get(in, 0, 0, i, d), y = test_tensor_get(in, 0, 0, i, d + D / 2);
                double angle = position * powers[d];
                CHECK_NEAR(test_tensor_get(out, 0, 0, i, d), x * cos(angle) - y * sin(angle), 4 * wide_eps());
                CHECK_NEAR(test_tensor_get(out, 0, 0, i, d + D / 2), x * sin(angle) + y * cos(angle), 4 * wide_eps());
            }
        }
    }
}

/* ---- statuses ---- */

/* Faults of the options, after those of out and in. */
enum {
    ROPE_ODD = 2 * SPOILS,
    ROPE_LARGE,
    ROPE_LARGEST,
    ROPE_BASE_NAN,
    ROPE_BASE_INF,
    ROPE_BASE_NEGATIVE,
    ROPE_SCALE_NAN,
    ROPE_SCALE_INF,
    ROPE_FREQUENCY_NAN,
    ROPE_FREQUENCY_INF,
    ROPE_FAR_ITEMS,
    ROPE_FAR_ROWS,
    ROPE_ON_TOP,
    ROPE_FAULTS
};

typedef struct rope_call {
    attn_tensor out, in;
    attn_rope_opts o;
    const double *bad[2]; /* frequencies of which the last is no number */
    ptrdiff_t *positions;
} rope_call;

static attn_status spoil_rope(rope_call *c, int fault)
{
    int items = c->in.batch > 1 && c->in.len > 0, rows = c->in.batch > 0 && c->in.len > 1;
    if (fault < SPOILS)
        return test_spoil(&c->out, SPOIL_REQUIRED | SPOIL_OUTPUT, fault);
    if (fault < 2 * SPOILS)
        return test_spoil(&c->in, SPOIL_REQUIRED, fault - SPOILS);
    switch (fault) {
    case ROPE_ODD: c->o.dim = 3; return ATTN_ERR_VALUE;
    case ROPE_LARGE: c->o.dim = c->in.dim + 2; return ATTN_ERR_VALUE;
    case ROPE_LARGEST: c->o.dim = SIZE_MAX - 1; return ATTN_ERR_VALUE;
    case ROPE_BASE_NAN: c->o.base = NAN; return ATTN_ERR_VALUE;
    case ROPE_BASE_INF: c->o.base = HUGE_VAL; return ATTN_ERR_VALUE;
    case ROPE_BASE_NEGATIVE: c->o.base = -1; return ATTN_ERR_VALUE;
    case ROPE_SCALE_NAN: c->o.scale = NAN; return ATTN_ERR_VALUE;
    case ROPE_SCALE_INF: c->o.scale = -HUGE_VAL; return ATTN_ERR_VALUE;
    case ROPE_FREQUENCY_NAN: c->o.frequencies = c->bad[0]; return ATTN_ERR_VALUE;
    case ROPE_FREQUENCY_INF: c->o.frequencies = c->bad[1]; return ATTN_ERR_VALUE;
    case ROPE_FAR_ITEMS:
        c->o.positions = c->positions, c->o.position_batch_stride = PTRDIFF_MAX;
        return items ? ATTN_ERR_OVERFLOW : ATTN_OK;
    case ROPE_FAR_ROWS:
        c->o.positions = c->positions, c->o.position_len_stride = PTRDIFF_MIN;
        return rows ? ATTN_ERR_OVERFLOW : ATTN_OK;
    default: c->out.data = (char *)c->in.data + 4; return c->in.batch && c->in.len ? ATTN_ERR_ALIAS : ATTN_OK;
    }
}

static int argument_of(int fault)
{
    return fault < SPOILS || fault == ROPE_ON_TOP ? 0 : fault < 2 * SPOILS ? 1 : fault < ROPE_FAR_ITEMS ? 2 : 3;
}

static void check_rope_faults(size_t B, size_t L)
{
    enum { D = 6 };
    rope_call good;
    double *bad = doubles(D);
    memset(&good, 0, sizeof good);
    good.in = test_random_tensor(ATTN_F32, B, 2, L, D, T_STEP); /* with room behind it */
    good.out = test_tensor(ATTN_F32, B, 2, L, D, T_BHLD);
    good.positions = places(B * L);
    for (size_t n = 0; n < B * L; n++)
        good.positions[n] = 1;
    for (size_t d = 0; d < D; d++)
        bad[d] = d == D / 2 - 1 ? NAN : d == D - 1 ? -HUGE_VAL : 1;
    good.bad[0] = bad, good.bad[1] = bad + D / 2;
    test_freeze();
    for (int f = 0; f < ROPE_FAULTS; f++)
        for (int g = -1; g < f; g++) {
            rope_call c = good;
            attn_status first = spoil_rope(&c, f), second = ATTN_OK;
            int same_shape = f < 2 * SPOILS && g == f - SPOILS; /* then out and in fit again */
            if (first == ATTN_OK || (g >= 0 && (argument_of(f) == argument_of(g) || same_shape)))
                continue;
            if (f == ROPE_ON_TOP && g >= SPOILS && g < 2 * SPOILS)
                continue;
            /* the values of an array whose number is wrong are not looked at */
            if (g >= 0 && (second = spoil_rope(&c, g)) == ATTN_OK)
                continue;
            if (second != ATTN_OK && test_rank(second) < test_rank(first))
                first = second;
            test_case("%zu x 2 x %zu, faults %d and %d", B, L, f, g);
            CHECK_STATUS(attn_rope(c.out, c.in, &c.o), first);
            CHECK(test_wrote_nothing());
        }
    test_case("%zu x 2 x %zu, as it should be", B, L);
    good.o.positions = good.positions;
    CHECK_STATUS(attn_rope(good.out, good.in, &good.o), ATTN_OK);
    CHECK(test_wrote_only_tensors(&good.out, 1));
    test_release();
}

/* Faults of the tables, alone and with one of out, in or the other table. */
TEST(rope_tables_status)
{
    enum { D = 6, L = 3, ROWS = 5 };
    attn_tensor in = test_random_tensor(ATTN_F32, 2, 2, L, D, T_STEP), out = test_tensor(ATTN_F32, 2, 2, L, D, T_BHLD);
    attn_rope_opts good = {0};
    good.cos = test_random_mat(ATTN_F32, ROWS, D / 2, STRIDED);
    good.sin = test_random_mat(ATTN_F16, ROWS, D / 2, STRIDED);
    test_freeze();
    for (int f = 0; f < 4 * SPOILS + 3; f++)
        for (int g = -1; g < f; g++) { /* -1: f alone */
            attn_tensor a = out, b = in;
            attn_rope_opts o = good;
            attn_status want = ATTN_OK;
            int skip = g >= 0 && f < 4 * SPOILS && (f / SPOILS == g / SPOILS || f % SPOILS == g % SPOILS);
            for (int n = 0; n < 2 && !skip; n++) {
                int fault = n ? g : f, kind = fault % SPOILS;
                attn_status status = ATTN_OK;
                if (fault < 0)
                    break;
                switch (fault / SPOILS) {
                case 0: status = test_spoil(&a, SPOIL_REQUIRED | SPOIL_OUTPUT, kind); break;
                case 1: status = test_spoil(&b, SPOIL_REQUIRED, kind); break;
                case 2: status = test_spoil_mat(&o.cos, SPOIL_REQUIRED, kind); break;
                case 3: status = test_spoil_mat(&o.sin, SPOIL_REQUIRED, kind); break;
                default:
                    status = ATTN_ERR_VALUE;
                    if (kind == 0)
                        o.offset = ROWS - L + 1;
                    else if (kind == 1)
                        o.scale = NAN;
                    else if (g < 2 * SPOILS && g >= 0) /* another view than the one that has the fault */
                        skip = 1;
                    else
                        a.data = good.cos.data, status = ATTN_ERR_ALIAS;
                }
                skip |= status == ATTN_OK;
                if (want == ATTN_OK || test_rank(status) < test_rank(want))
                    want = status;
            }
            if (skip)
                continue;
            test_case("faults %d and %d", f, g);
            CHECK_STATUS(attn_rope(a, b, &o), want);
            CHECK(test_wrote_nothing());
        }
    test_case("as it should be");
    CHECK_STATUS(attn_rope(out, in, &good), ATTN_OK);
    CHECK(test_wrote_only_tensors(&out, 1));
    turned_well(out, in, &good);
    test_release();
}

/* The same where dim is given; and where tables lie in what is written. */
TEST(rope_tables_dims)
{
    enum { D = 8, L = 2 };
    attn_tensor in = test_random_tensor(ATTN_F32, 1, 1, L, D, T_BHLD), out = test_tensor(ATTN_F32, 1, 1, L, D, T_BHLD);
    attn_mat wide = test_random_mat(test_wide, L, D, PACKED), none = {0};
    float *both;
    test_freeze();
    for (size_t dim = 0; dim <= D + 3; dim++)
        for (size_t pairs = 0; pairs <= D; pairs++) {
            attn_rope_opts o = {0};
            size_t turned = dim ? dim : D;
            o.dim = dim;
            o.cos = attn_mat_cols(wide, 0, pairs), o.sin = attn_mat_cols(wide, D - pairs, pairs);
            test_case("dim %zu, %zu columns", dim, pairs);
            if (pairs == turned / 2 && turned % 2 == 0 && turned <= D)
                continue;
            CHECK_STATUS(attn_rope(out, in, &o), pairs == turned / 2 ? ATTN_ERR_VALUE : ATTN_ERR_SHAPE);
            CHECK(test_wrote_nothing());
        }
    for (int n = 0; n < 2; n++) {
        attn_rope_opts o = {0};
        o.cos = n ? none : attn_mat_cols(wide, 0, D / 2), o.sin = n ? attn_mat_cols(wide, 0, D / 2) : none;
        test_case("one table alone, %d", n);
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_ERR_NULL);
        CHECK(test_wrote_nothing());
    }
    test_case("interleaved in one buffer, as [row][cos and sin]");
    {
        attn_rope_opts o = {0};
        o.cos = attn_mat_cols(wide, 0, D / 2), o.sin = attn_mat_cols(wide, D / 2, D / 2);
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        turned_well(out, in, &o);
        o.sin = o.cos; /* two inputs may be one */
        CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
        turned_well(out, in, &o);
    }
    test_case("upon the tables");
    both = test_block(64 * sizeof *both);
    for (size_t i = 0; i < 64; i++)
        both[i] = (float)i / 64;
    test_freeze();
    for (int n = 0; n < 2; n++) {
        attn_rope_opts o = {0};
        attn_mat table = attn_mat_of(both + 12, ATTN_F32, L, D / 2);
        o.cos = n ? attn_mat_cols(wide, 0, D / 2) : table, o.sin = n ? table : attn_mat_cols(wide, 0, D / 2);
        CHECK_STATUS(attn_rope(attn_bhld(both, ATTN_F32, 1, 1, L, D), in, &o), ATTN_ERR_ALIAS);
        CHECK_STATUS(attn_rope(attn_bhld(both + 19, ATTN_F32, 1, 1, L, D), in, &o), ATTN_ERR_ALIAS);
        CHECK(test_wrote_nothing());
        CHECK_STATUS(attn_rope(attn_bhld(both + 20, ATTN_F32, 1, 1, L, D), in, &o), ATTN_OK);
        table = attn_mat_cols(attn_mat_of(both, ATTN_F32, L, 16), D, D / 2); /* beside the rows that are written */
        o.cos = n ? attn_mat_cols(wide, 0, D / 2) : table, o.sin = n ? table : attn_mat_cols(wide, 0, D / 2);
        CHECK_STATUS(attn_rope(attn_heads(attn_mat_cols(attn_mat_of(both, ATTN_F32, L, 16), 0, D), 1), in, &o),
                     ATTN_OK);
        test_freeze();
    }
}

TEST(rope_status)
{
    attn_tensor in = test_random_tensor(ATTN_F32, 1, 1, 2, 5, T_BHLD), out = test_tensor(ATTN_F32, 1, 1, 2, 5, T_BHLD);
    attn_rope_opts o = {0};
    double *one = doubles(1);
    test_case("D is odd");
    test_freeze();
    CHECK_STATUS(attn_rope(out, in, NULL), ATTN_ERR_SHAPE);
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_ERR_SHAPE);
    o.base = -1;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_ERR_SHAPE);
    o.base = 0;
    o.dim = 6;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_ERR_VALUE);
    o.dim = 5;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_ERR_VALUE);
    CHECK(test_wrote_nothing());
    o.dim = 4;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
    test_case("only dim / 2 frequencies are read"); /* the block holds one */
    *one = 0.5;
    o.dim = 2, o.frequencies = one;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
    turned_well(out, in, &o);
    test_case("positions off their alignment");
    o.positions = (const ptrdiff_t *)(const void *)((const char *)test_block(64) + 1);
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_ERR_VALUE);
    test_case("nothing is turned, with frequencies or without");
    CHECK_STATUS(attn_rope(attn_bhld(NULL, ATTN_F32, 2, 3, 4, 0), attn_bhld(NULL, ATTN_F32, 2, 3, 4, 0), NULL),
                 ATTN_OK);
    test_release();
    check_rope_faults(2, 3);
    check_rope_faults(0, 3);
    check_rope_faults(2, 0);
    check_rope_faults(1, 1);
}

TEST(positions_errno)
{
    double frequencies[] = {DBL_MAX, DBL_MIN, 1}, freq[64], scale;
    attn_rope_opts o = {0};
    attn_rope_scaling s = {.factor = 1e300, .original_len = 4096};
    attn_tensor in = test_random_tensor(test_wide, 1, 1, 4, 6, T_BHLD), out = test_tensor(test_wide, 1, 1, 4, 6, T_BHLD);
    attn_mat table = test_random_mat(ATTN_F32, 32, 2, PACKED), by_distance = test_mat(ATTN_F32, 2, 9, PACKED);
    float slopes[40];
    o.frequencies = frequencies, o.offset = 1000;
    errno = 7;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK); /* the sine of infinity */
    o.frequencies = NULL, o.base = DBL_MAX;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_OK);
    o.base = 5e-324;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_ERR_VALUE);
    CHECK(errno == 7);
    for (int kind = ATTN_ROPE_PLAIN; kind <= ATTN_ROPE_LLAMA3; kind++)
        for (int n = 0; n < 4; n++) {
            s.kind = (attn_rope_scaling_kind)kind;
            s.factor = n % 2 ? 1e-300 : 1e300;
            (void)attn_rope_frequencies(freq, 128, n < 2 ? 0 : 5e-324, &s, &scale); /* may refuse */
        }
    CHECK(errno == 7);
    CHECK_STATUS(attn_t5_bias(by_distance, table, 1, 0, PTRDIFF_MIN), ATTN_OK);
    CHECK_STATUS(attn_alibi_slopes(slopes, 40), ATTN_OK);
    CHECK_STATUS(attn_sinusoid(by_distance, SIZE_MAX), ATTN_OK);
    CHECK(errno == 7);
    o.base = -1;
    CHECK_STATUS(attn_rope(out, in, &o), ATTN_ERR_VALUE);
    CHECK(errno == 7);
}

/* ==== frequencies ==== */

static real plain_frequency(real base, size_t dim, size_t d)
{
    return powl(base, -2 * (real)d / (real)dim);
}

/* YaRN, section 3.2, with the bounds of the ramp rounded outwards and clamped to the dimensions, as the models that use
   it were trained: pair d is interpolated the more, the fewer turns it makes in the length of training. */
static real yarn_frequency(real base, size_t dim, size_t d, const attn_rope_scaling *s)
{
    const real tau = 6.283185307179586476925286766559L;
    real fast = s->beta_fast != 0 ? s->beta_fast : 32, slow = s->beta_slow != 0 ? s->beta_slow : 1, keep;
    real low = (real)dim * logl(s->original_len / (fast * tau)) / (2 * logl(base));
    real high = (real)dim * logl(s->original_len / (slow * tau)) / (2 * logl(base));
    real plain = plain_frequency(base, dim, d);
    if (!s->no_truncate)
        low = floorl(low), high = ceill(high);
    low = low < 0 ? 0 : low > (real)dim - 1 ? (real)dim - 1 : low;
    high = high < 0 ? 0 : high > (real)dim - 1 ? (real)dim - 1 : high;
    if (low == high)
        high += 0.001L;
    keep = 1 - ((real)d - low) / (high - low);
    keep = keep < 0 ? 0 : keep > 1 ? 1 : keep;
    return keep * plain + (1 - keep) * plain / s->factor;
}

/* Llama 3.1: the share that is kept grows with the turns that a pair makes in the length of training. */
static real llama3_frequency(real base, size_t dim, size_t d, const attn_rope_scaling *s)
{
    real fast = s->beta_fast != 0 ? s->beta_fast : 4, slow = s->beta_slow != 0 ? s->beta_slow : 1;
    real plain = plain_frequency(base, dim, d), turns = s->original_len * plain / 6.283185307179586476925286766559L;
    real keep = (turns - slow) / (fast - slow);
    keep = keep < 0 ? 0 : keep > 1 ? 1 : keep;
    return keep * plain + (1 - keep) * plain / s->factor;
}

static real frequency_model(real base, size_t dim, size_t d, const attn_rope_scaling *s)
{
    real factor = s ? s->factor : 1;
    switch (s ? s->kind : ATTN_ROPE_PLAIN) {
    case ATTN_ROPE_LINEAR: return plain_frequency(base, dim, d) / factor;
    case ATTN_ROPE_NTK: return dim == 2 ? 1 : plain_frequency(base * powl(factor, (real)dim / ((real)dim - 2)), dim, d);
    case ATTN_ROPE_YARN: return yarn_frequency(base, dim, d, s);
    case ATTN_ROPE_LLAMA3: return llama3_frequency(base, dim, d, s);
    case ATTN_ROPE_LONGROPE: return plain_frequency(base, dim, d) / s->factors[d];
    case ATTN_ROPE_PROPORTIONAL:
        return d < (size_t)(s->share * (double)(dim / 2)) ? plain_frequency(base, dim, d) / factor : 0;
    default: return plain_frequency(base, dim, d);
    }
}

TEST(rope_frequencies_formulas)
{
    static const size_t dims[] = {2, 4, 6, 32, 64, 96, 128, 256};
    static const double bases[] = {0, 10000, 500000, 1e6, 150000, 3}, factors[] = {1, 2, 4, 8, 32, 40, 1.5, 0.5, 16.25},
                        lengths[] = {2048, 4096, 8192, 32768, 100};
    static const double betas[][2] = {{0, 0}, {32, 1}, {16, 2}, {0, 4}, {64, 0}};
    for (size_t n = 0; n < (test_quick ? 600 : 6000); n++) {
        size_t dim = dims[n % COUNT(dims)];
        double base = bases[test_below(COUNT(bases))], *freq = doubles(dim / 2), scale = 77;
        size_t beta = test_below(COUNT(betas));
        double *divisors = doubles(dim / 2), m[] = {0.7 * (double)test_below(3), 0.4 * (double)test_below(3)};
        real log_factor;
        attn_rope_scaling s = {(attn_rope_scaling_kind)test_below(7),
                               factors[test_below(COUNT(factors))],
                               lengths[test_below(COUNT(lengths))],
                               betas[beta][0],
                               betas[beta][1],
                               test_maybe(),
                               m[0],
                               m[1],
                               divisors,
                               0.25 * (double)(1 + test_below(4))};
        const attn_rope_scaling *given = s.kind == ATTN_ROPE_PLAIN && test_maybe() ? NULL : &s;
        real true_base = base != 0 ? (real)base : 10000, scaled = 1;
        attn_status status;
        for (size_t d = 0; d < dim / 2; d++)
            divisors[d] = 1 + 10 * fabs(test_uniform());
        if (s.kind == ATTN_ROPE_LLAMA3 && s.beta_slow == 4)
            s.beta_fast = 4.5;
        log_factor = s.factor > 1 ? logl((real)s.factor) : 0;
        test_case("kind %d, dim %zu, base %g, factor %g, len %g, betas %g %g", given ? (int)s.kind : -1, dim, base,
                  s.factor, s.original_len, s.beta_fast, s.beta_slow);
        WITHOUT_MEMORY(status, attn_rope_frequencies(freq, dim, base, given, n % 3 ? &scale : NULL));
        CHECK_STATUS(status, ATTN_OK);
        for (size_t d = 0; d < dim / 2; d++) {
            real want = frequency_model(true_base, dim, d, given);
            int real_bounds = s.kind == ATTN_ROPE_LLAMA3 || (s.kind == ATTN_ROPE_YARN && s.no_truncate);
            real turns = real_bounds ? 16 : 1; /* by so much the error of what lies between the bounds counts */
            CHECK_NEAR((real)freq[d], want,
                       turns * want * (8 + 4 * fabsl(logl(plain_frequency(true_base, dim, d)))) * eps);
        }
        if (s.kind == ATTN_ROPE_YARN)
            scaled = m[0] != 0 && m[1] != 0 ? (1 + (real)m[0] * log_factor / 10) / (1 + (real)m[1] * log_factor / 10)
                                            : 1 + log_factor / 10;
        else if (s.kind == ATTN_ROPE_LONGROPE)
            scaled = sqrtl(1 + log_factor / logl((real)s.original_len));
        CHECK_NEAR((real)scale, n % 3 ? scaled : 77, 4 * eps);
        test_release();
    }
    {
        attn_rope_scaling s = {.kind = ATTN_ROPE_NTK, .factor = 8};
        double freq[32];
        test_case("the highest stays, the lowest is divided");
        CHECK_STATUS(attn_rope_frequencies(freq, 64, 0, &s, NULL), ATTN_OK);
        CHECK_NEAR((real)freq[0], 1, 0);
        CHECK_NEAR((real)freq[31], plain_frequency(10000, 64, 31) / 8, 40 * eps * (real)freq[31]);
        test_case("YaRN keeps the fast and divides the slow"); /* 32 turns and 1 turn in 2048 tokens */
        s.kind = ATTN_ROPE_YARN;
        s.original_len = 2048;
        CHECK_STATUS(attn_rope_frequencies(freq, 64, 0, &s, NULL), ATTN_OK);
        for (size_t d = 0; d < 32; d++) {
            real plain = plain_frequency(10000, 64, d), turns = plain * 2048 / 6.283185307179586L;
            if (turns > 64 || turns < 0.5L)
                CHECK_NEAR((real)freq[d], turns > 1 ? plain : plain / 8, 40 * eps * plain);
            CHECK((real)freq[d] <= plain * (1 + 40 * eps) && (real)freq[d] >= plain / 8 * (1 - 40 * eps));
        }
    }
}

/* What transformers computes, in float. */
TEST(rope_frequencies_golden)
{
    for (size_t n = 0; n < COUNT(golden_ropes); n++) {
        const struct golden_rope *want = &golden_ropes[n];
        double freq[32], scale;
        test_case("number %zu, kind %d", n, (int)want->scaling.kind);
        CHECK_STATUS(attn_rope_frequencies(freq, want->dim, want->base, &want->scaling, &scale), ATTN_OK);
        CHECK_NEAR((real)scale, want->scale, 1e-7 * want->scale);
        for (size_t d = 0; d < want->dim / 2; d++)
            CHECK_NEAR((real)freq[d], want->freq[d], 2e-6 * want->freq[d]);
    }
}

TEST(rope_frequencies_status)
{
    static const double wrong[] = {NAN, HUGE_VAL, -HUGE_VAL, -1, 0};
    static const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    double *freq = doubles(8), *scale = doubles(1);
    attn_rope_scaling good = {ATTN_ROPE_YARN, 4, 2048, 32, 1, 0, 0, 0, NULL, 0}, s;
    test_freeze();
    CHECK_STATUS(attn_rope_frequencies(NULL, 16, 0, NULL, scale), ATTN_ERR_NULL);
    CHECK_STATUS(attn_rope_frequencies(NULL, 15, -1, NULL, scale), ATTN_ERR_NULL);
    CHECK_STATUS(attn_rope_frequencies(freq, 15, 0, NULL, scale), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_rope_frequencies(freq, 1, 0, NULL, NULL), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_rope_frequencies(freq, SIZE_MAX - 1, 0, NULL, scale), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_rope_frequencies(freq, SIZE_MAX / 4 + 1, -1, NULL, scale), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_rope_frequencies(NULL, SIZE_MAX - 1, 0, NULL, scale), ATTN_ERR_NULL);
    for (size_t n = 0; n < COUNT(wrong); n++) {
        test_case("%g", wrong[n]);
        if (n < 4)
            CHECK_STATUS(attn_rope_frequencies(freq, 16, wrong[n], NULL, scale), ATTN_ERR_VALUE);
        s = good, s.factor = wrong[n];
        for (int kind = ATTN_ROPE_LINEAR; kind <= ATTN_ROPE_PROPORTIONAL; kind++) {
            s.kind = (attn_rope_scaling_kind)kind;
            s.factors = ones;
            if (s.factor != 0 || kind != ATTN_ROPE_PROPORTIONAL)
                CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
        }
        s = good, s.original_len = wrong[n];
        CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
        s = good, s.beta_fast = wrong[n];
        if (n < 4)
            CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
        s = good, s.beta_slow = wrong[n];
        if (n < 4)
            CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
    }
    s = good, s.kind = ATTN_ROPE_LLAMA3, s.beta_fast = s.beta_slow = 2;
    CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
    s.kind = ATTN_ROPE_PROPORTIONAL, s.share = 1.25;
    CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
    s.kind = ATTN_ROPE_LONGROPE, s.factors = NULL;
    CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_NULL);
    s.factors = ones, s.original_len = 1;
    CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
    s = good, s.mscale = -1;
    CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
    for (size_t n = 0; n < COUNT(wrong); n++) {
        double factors[] = {1, 2, 3, wrong[n], 5, 6, 7, 8};
        test_case("a factor of %g", wrong[n]);
        s = good, s.kind = ATTN_ROPE_LONGROPE, s.factors = factors;
        CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
    }
    s = good, s.kind = (attn_rope_scaling_kind)7;
    CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
    s.kind = (attn_rope_scaling_kind)-1;
    CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_ERR_VALUE);
    CHECK(test_wrote_nothing());
    test_case("no frequencies, and all zero");
    CHECK_STATUS(attn_rope_frequencies(freq + 8, 0, 0, &good, NULL), ATTN_OK);
    CHECK(test_wrote_nothing());
    memset(&s, 0, sizeof s);
    CHECK_STATUS(attn_rope_frequencies(freq, 16, 0, &s, scale), ATTN_OK);
    CHECK(*scale > 0.999 && *scale < 1.001 && freq[1] < freq[0]);
    for (int n = 0; n < 12; n++) { /* whatever is answered, nothing goes astray */
        static const double bases[] = {1, 0.5, DBL_MAX, DBL_MIN};
        s = good;
        s.original_len = n % 3 == 0 ? DBL_MAX : n % 3 == 1 ? DBL_MIN : 2048;
        test_case("base %g, len %g", bases[n / 3], s.original_len);
        if (attn_rope_frequencies(freq, 16, bases[n / 3], &s, scale) == ATTN_OK)
            CHECK(freq[0] >= 0 && freq[0] <= 1);
    }
}

/* ==== biases by distance ==== */

TEST(relative_elements)
{
    static const size_t lengths[] = {1, 2, 3, 7};
    for (size_t n = 0; n < 16 * LAYOUTS * 2; n++) {
        size_t Lq = lengths[n % 4], Lk = lengths[n / 4 % 4], H = 1 + n % 3;
        int layout = (int)(n / 16 % LAYOUTS);
        attn_dtype dtype = test_floats[n % 4];
        attn_mat m = test_random_mat(dtype, H, Lq + Lk - 1, layout);
        attn_tensor t = attn_relative(m, Lq, Lk);
        test_case("%s, layout %d, %zu x %zu", test_dtype_name(dtype), layout, Lq, Lk);
        CHECK(t.dtype == dtype && t.batch == 1 && t.heads == H && t.len == Lq && t.dim == Lk);
        if (t.batch == 1 && t.heads == H && t.len == Lq && t.dim == Lk)
            for (size_t h = 0; h < H; h++)
                for (size_t i = 0; i < Lq; i++)
                    for (size_t j = 0; j < Lk; j++)
                        CHECK(test_tensor_at(t, 0, h, i, j) == test_at(m, h, j + Lq - 1 - i));
        test_release();
    }
}

static int bad_tensor(attn_tensor t)
{
    return !t.data && t.batch == SIZE_MAX && t.heads == SIZE_MAX && t.len == SIZE_MAX && t.dim == SIZE_MAX;
}

TEST(relative_shapes)
{
    attn_mat m = test_random_mat(ATTN_F32, 3, 8, PACKED), none = {0}, edge;
    attn_tensor t;
    for (size_t Lq = 0; Lq < 12; Lq++)
        for (size_t Lk = 0; Lk < 12; Lk++) {
            test_case("%zu x %zu of 8 distances", Lq, Lk);
            t = attn_relative(m, Lq, Lk);
            CHECK(bad_tensor(t) == (Lq + Lk != 9));
            CHECK(test_absent_tensor(attn_relative(none, Lq, Lk)));
            CHECK(bad_tensor(attn_relative(attn_mat_rows(m, 3, 1), Lq, Lk)));
        }
    test_case("no queries or no keys");
    t = attn_relative(attn_mat_cols(m, 0, 4), 0, 5);
    CHECK(!bad_tensor(t) && t.batch == 1 && t.heads == 3 && t.len == 0 && t.dim == 5);
    t = attn_relative(attn_mat_cols(m, 0, 4), 5, 0);
    CHECK(!bad_tensor(t) && t.batch == 1 && t.heads == 3 && t.len == 5 && t.dim == 0);
    t = attn_relative(attn_mat_cols(m, 0, 0), 0, 0);
    CHECK(bad_tensor(t) || (t.len == 0 && t.dim == 0));
    CHECK(bad_tensor(attn_relative(m, 0, 0)));
    t = attn_relative(attn_mat_cols(m, 0, 0), 0, 1);
    CHECK(!bad_tensor(t) && t.len == 0 && t.dim == 1);
    t = attn_relative(attn_mat_rows(m, 0, 0), 4, 5);
    CHECK(!bad_tensor(t) && t.heads == 0 && t.len == 4 && t.dim == 5);
    test_case("sums that wrap around");
    CHECK(bad_tensor(attn_relative(m, SIZE_MAX, 10)));
    CHECK(bad_tensor(attn_relative(m, 10, SIZE_MAX)));
    CHECK(bad_tensor(attn_relative(m, SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 10)));
    CHECK(bad_tensor(attn_relative(attn_mat_cols(m, 0, 0), SIZE_MAX, 2)));
    edge = m, edge.cols = SIZE_MAX, edge.col_stride = 0;
    CHECK(bad_tensor(attn_relative(edge, SIZE_MAX, 1)));
    CHECK(bad_tensor(attn_relative(edge, 0, 0)));
    test_case("a stride that has no opposite");
    edge = attn_mat_cols(m, 0, 1), edge.col_stride = PTRDIFF_MIN;
    t = attn_relative(edge, 1, 1);
    CHECK(!bad_tensor(t) && t.heads == 3 && test_tensor_get(t, 0, 2, 0, 0) == test_load(test_at(m, 2, 0), ATTN_F32));
    edge.cols = 2;
    CHECK(bad_tensor(attn_relative(edge, 1, 2)));
}

/* ---- whole numbers of any size: limbs of 16 bits, the lowest first ---- */

enum { LIMBS = 400 };

typedef struct natural {
    uint32_t limb[LIMBS];
    int count;
} natural;

static void multiply(natural *x, uint32_t factor, size_t times) /* factor < 2^16 */
{
    while (times-- > 0) {
        uint32_t carry = 0;
        for (int n = 0; n < x->count || carry; n++) {
            uint32_t limb = (n < x->count ? x->limb[n] : 0) * factor + carry;
            x->limb[n] = limb & 0xffff;
            carry = limb >> 16;
            x->count = n < x->count ? x->count : n + 1;
        }
    }
}

static int compare(const natural *x, const natural *y)
{
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    for (int n = x->count - 1; n >= 0; n--)
        if (x->limb[n] != y->limb[n])
            return x->limb[n] < y->limb[n] ? -1 : 1;
    return 0;
}

/* Whether ln(n / exact) / ln(most / exact) >= step / steps, that is n^steps exact^step >= most^step exact^steps. */
static int has_reached(size_t n, size_t exact, size_t most, size_t step, size_t steps)
{
    natural x = {{1}, 1}, y = {{1}, 1};
    multiply(&x, (uint32_t)n, steps);
    multiply(&x, (uint32_t)exact, step);
    multiply(&y, (uint32_t)most, step);
    multiply(&y, (uint32_t)exact, steps);
    return compare(&x, &y) >= 0;
}

/* The first distance of each bucket on one side, of `count` buckets; all numbers below 2^16. */
static void bucket_starts(size_t *starts, size_t count, size_t most)
{
    size_t exact = count / 2;
    for (size_t k = 0; k < count; k++)
        if (k <= exact)
            starts[k] = k;
        else {
            size_t low = starts[k - 1] - 1, high = most; /* not yet, surely */
            while (high - low > 1) {
                size_t middle = low + (high - low) / 2;
                if (has_reached(middle, exact, most, k - exact, count - exact))
                    high = middle;
                else
                    low = middle;
            }
            starts[k] = high;
        }
}

/* The bucket of distance key - query. */
static size_t bucket_of(real distance, const size_t *starts, size_t buckets, int bidirectional)
{
    size_t count = bidirectional ? buckets / 2 : buckets, k = count - 1;
    real size = bidirectional ? fabsl(distance) : distance > 0 ? 0 : -distance;
    while (k > 0 && size < (real)starts[k])
        k--;
    return k + (bidirectional && distance > 0 ? count : 0);
}

/* Calls attn_t5_bias with a table whose rows are their own numbers. */
static attn_mat buckets_at(size_t buckets, int bidirectional, size_t most, ptrdiff_t first, size_t count)
{
    attn_mat table = test_mat(ATTN_F32, buckets, 2, PACKED), by_distance = test_mat(ATTN_F32, 2, count, PACKED);
    attn_status status;
    for (size_t r = 0; r < buckets; r++) {
        *(float *)test_at(table, r, 0) = (float)r;
        *(float *)test_at(table, r, 1) = -(float)r - 0.5f;
    }
    WITHOUT_MEMORY(status, attn_t5_bias(by_distance, table, bidirectional, most, first));
    CHECK_STATUS(status, ATTN_OK);
    for (size_t c = 0; c < count; c++)
        if (!CHECK(*(float *)test_at(by_distance, 1, c) == -*(float *)test_at(by_distance, 0, c) - 0.5f))
            break;
    return by_distance;
}

/* The buckets that T5 has: 32, up to 128. */
TEST(t5_buckets)
{
    static const size_t encoder[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
    static const size_t decoder[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                     16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
    enum { FAR = 20000 };
    size_t starts[32];
    bucket_starts(starts, 16, 128);
    CHECK(memcmp(starts, encoder, sizeof encoder) == 0); /* the model itself */
    bucket_starts(starts, 32, 128);
    CHECK(memcmp(starts, decoder, sizeof decoder) == 0);
    for (int bidirectional = 0; bidirectional < 2; bidirectional++) {
        attn_mat got = buckets_at(32, bidirectional, bidirectional ? 128 : 0, -FAR, 2 * FAR + 1);
        for (ptrdiff_t c = 0; c <= 2 * FAR; c++) {
            size_t want = bucket_of(c - FAR, bidirectional ? encoder : decoder, 32, bidirectional);
            test_case("%s, distance %td", bidirectional ? "encoder" : "decoder", c - FAR);
            if (!CHECK(*(float *)test_at(got, 0, (size_t)c) == (float)want))
                break;
        }
    }
}

TEST(t5_other_buckets)
{
    static const size_t counts[] = {2, 3, 4, 5, 6, 7, 8, 10, 16, 20, 33, 64, 100, 128};
    static const size_t mosts[] = {0, 2, 3, 5, 9, 17, 33, 65, 100, 127, 129, 256, 1000, 4096, 65535};
    for (size_t n = 0; n < COUNT(counts) * COUNT(mosts) * 2; n++) {
        size_t buckets = counts[n / 2 % COUNT(counts)], most = mosts[n / 2 / COUNT(counts)], starts[128];
        int bidirectional = n % 2 ? (int)(1 + n % 3) : 0;
        size_t side = bidirectional ? buckets / 2 : buckets, last = most ? most : 128;
        ptrdiff_t first = -(ptrdiff_t)(last + last / 2 + 3);
        size_t count = (size_t)(-first) * 2 + 1;
        attn_mat got;
        if (side < 2 || last <= side / 2 || (test_quick && n % 5))
            continue;
        bucket_starts(starts, side, last);
        got = buckets_at(buckets, bidirectional, most, first, count);
        for (size_t c = 0; c<count; c += count> 5000 && c > 1000 && c + 1000 < count ? 7 : 1) {
            test_case("%zu buckets, bidirectional %d, most %zu, distance %td", buckets, bidirectional, most,
                      first + (ptrdiff_t)c);
            if (!CHECK(*(float *)test_at(got, 0, c) ==
                       (float)bucket_of((real)first + (real)c, starts, buckets, bidirectional)))
                break;
        }
        for (size_t k = side / 2; k < side; k++) { /* and at both sides of every step, where errors are */
            ptrdiff_t at = (ptrdiff_t)starts[k];
            attn_mat near = buckets_at(buckets, bidirectional, most, -at, 2);
            CHECK(*(float *)test_at(near, 0, 0) == (float)bucket_of(-at, starts, buckets, bidirectional));
            CHECK(*(float *)test_at(near, 0, 1) == (float)bucket_of(1 - at, starts, buckets, bidirectional));
        }
        test_release();
    }
}

/* Where a step falls on a whole distance: max_distance = exact ratio^steps. */
TEST(t5_whole_steps)
{
    static const size_t counts[] = {3, 4, 5, 6, 7, 8, 10, 12};
    for (size_t n = 0; n < COUNT(counts); n++)
        for (size_t ratio = 2; ratio < 260; ratio += test_quick ? 5 : 1) {
            size_t count = counts[n], exact = count / 2, most = exact, at = exact;
            for (size_t k = exact; k < count && most < 65536; k++)
                most *= ratio;
            if (most >= 65536)
                break;
            for (size_t k = exact; k < count; k++, at *= ratio) {
                attn_mat got = buckets_at(count, 0, most, -(ptrdiff_t)at, 2);
                test_case("%zu buckets, most %zu, distance %zu", count, most, at);
                CHECK(*(float *)test_at(got, 0, 0) == (float)k);
                CHECK(*(float *)test_at(got, 0, 1) == (float)(k - 1));
            }
            test_release();
        }
}

/* Distances past what a ptrdiff_t holds are simply far. */
TEST(t5_far_away)
{
    static const ptrdiff_t firsts[] = {PTRDIFF_MAX, PTRDIFF_MAX - 1, PTRDIFF_MIN, PTRDIFF_MIN + 1, PTRDIFF_MIN + 7};
    for (size_t n = 0; n < COUNT(firsts) * 2; n++) {
        int bidirectional = n % 2 == 1, after = firsts[n / 2] > 0;
        attn_mat got = buckets_at(32, bidirectional, 0, firsts[n / 2], 5);
        test_case("first %td, bidirectional %d", firsts[n / 2], bidirectional);
        for (size_t c = 0; c < 5; c++)
            CHECK(*(float *)test_at(got, 0, c) == (after ? (bidirectional ? 31 : 0) : bidirectional ? 15 : 31));
    }
    for (int bidirectional = 0; bidirectional < 2; bidirectional++) {
        attn_mat got = buckets_at(32, bidirectional, SIZE_MAX, PTRDIFF_MIN, 4), near;
        float far = *(float *)test_at(got, 0, 0), before = bidirectional ? 15 : 31;
        test_case("the largest max_distance, bidirectional %d", bidirectional);
        CHECK(far <= before && far >= before - 1); /* half of it, in a logarithmic scale */
        near = buckets_at(32, bidirectional, SIZE_MAX, -15, 16);
        for (ptrdiff_t c = 0; c < 16; c++)
            CHECK(*(float *)test_at(near, 0, (size_t)c) == (float)(bidirectional && c < 7 ? 8 : 15 - c));
    }
}

/* Any types and layouts, each element rounded once; and the table's bias is the one that attn_sdpa adds. */
TEST(t5_types_and_layouts)
{
    size_t starts[16];
    bucket_starts(starts, 8, 20);
    for (size_t n = 0; n < 16 * LAYOUTS; n++) {
        attn_dtype from = test_floats[n % 4], to = test_floats[n / 4 % 4];
        attn_mat table = test_random_mat(from, 16, 3, (int)(n / 16)), out = test_mat(to, 3, 51, (int)(n % OUT_LAYOUTS));
        if (n / 16 < OUT_LAYOUTS) /* twice rounded, this one would be off */
            (attn_mat_set)(table, 0, 0, 1 + 0x1p-11 + 0x1p-40);
        test_case("%s layout %d to %s layout %d", test_dtype_name(from), (int)(n / 16), test_dtype_name(to),
                  (int)(n % OUT_LAYOUTS));
        test_freeze();
        CHECK_STATUS(attn_t5_bias(out, table, 1, 20, -25), ATTN_OK);
        CHECK(test_wrote_only(&out, 1));
        for (size_t h = 0; h < 3; h++)
            for (size_t c = 0; c < 51; c++) {
                real x = test_load(test_at(table, bucket_of((real)c - 25, starts, 16, 1), h), from);
                CHECK_NEAR(test_load(test_at(out, h, c), to), rounded((double)x, to), 0);
            }
        test_release();
    }
}

TEST(t5_as_bias)
{
    enum { H = 4, D = 8 };
    static const size_t shapes[][3] = {{5, 5, 0}, {1, 7, 6}, {3, 40, 37}, {20, 3, 0}, {130, 260, 130}}; /* Lq, Lk, p */
    size_t starts[32];
    bucket_starts(starts, 16, 128);
    for (size_t n = 0; n < COUNT(shapes) * 2; n++) {
        size_t Lq = shapes[n / 2][0], Lk = shapes[n / 2][1], p = shapes[n / 2][2];
        attn_mat table = test_random_mat(ATTN_F32, 32, H, TRANSPOSED),
                 by_distance = test_mat(ATTN_F32, H, Lq + Lk - 1, n % 2 ? TRANSPOSED : PACKED);
        attn_tensor q = test_random_tensor(ATTN_F32, 2, H, Lq, D, T_BHLD),
                    k = test_random_tensor(ATTN_F32, 2, H, Lk, D, T_BHLD),
                    v = test_random_tensor(ATTN_F32, 2, H, Lk, D, T_BHLD),
                    one = test_tensor(ATTN_F32, 2, H, Lq, D, T_BHLD), two = test_tensor(ATTN_F32, 2, H, Lq, D, T_BHLD),
                    bias = test_tensor(ATTN_F32, 1, H, Lq, Lk, T_BHLD);
        attn_opts opts = {0};
        CHECK_STATUS(attn_t5_bias(by_distance, table, 1, 0, 1 - (ptrdiff_t)Lq - (ptrdiff_t)p), ATTN_OK);
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < Lq; i++)
                for (size_t j = 0; j < Lk; j++) {
                    size_t bucket = bucket_of((real)j - (real)i - (real)p, starts, 32, 1);
                    test_tensor_set(bias, 0, h, i, j, (double)test_load(test_at(table, bucket, h), ATTN_F32));
                }
        test_case("%zu queries from %zu, %zu keys", Lq, p, Lk);
        opts.scale = 1; /* T5 does not scale */
        opts.bias = bias;
        CHECK_STATUS(attn_sdpa(one, q, k, v, &opts, NULL), ATTN_OK);
        opts.bias = attn_relative(by_distance, Lq, Lk);
        CHECK_STATUS(attn_sdpa(two, q, k, v, &opts, NULL), ATTN_OK);
        CHECK(test_same_tensor_bits(one, two));
        test_release();
    }
}

TEST(t5_status)
{
    attn_mat table = test_random_mat(ATTN_F32, 32, 3, STRIDED), out = test_mat(ATTN_F32, 3, 9, STRIDED), none = {0};
    size_t count = 2 * SPOILS + 3;
    test_freeze();
    for (size_t f = 0; f < count; f++)
        for (size_t g = 0; g <= f; g++) { /* g == f: alone */
            attn_mat o = out, t = table;
            size_t most = 0, faults[2] = {f, g};
            int bidirectional = 0,
                skip = f != g && (f < SPOILS) == (g < SPOILS) && (f < 2 * SPOILS) == (g < 2 * SPOILS);
            attn_status want = ATTN_OK;
            skip |= f >= SPOILS && f < 2 * SPOILS && f - SPOILS == SPOIL_DIM && g == SPOIL_LEN; /* fit again */
            skip |= f >= SPOILS && f < 2 * SPOILS && f - SPOILS == SPOIL_NO_DIM && g == SPOIL_NO_LEN;
            for (int n = 0; n < 2 && !skip; n++) {
                size_t fault = faults[n];
                attn_status status;
                if (n == 1 && f == g)
                    break;
                if (fault < SPOILS) /* any number of distances is fine */
                    status = fault == SPOIL_DIM || fault == SPOIL_NO_DIM
                                 ? ATTN_OK
                                 : test_spoil_mat(&o, SPOIL_REQUIRED | SPOIL_OUTPUT, (int)fault);
                else if (fault < 2 * SPOILS) /* and of buckets, but 0 */
                    status = fault - SPOILS == SPOIL_LEN ? ATTN_OK
                                                         : test_spoil_mat(&t, SPOIL_REQUIRED, (int)(fault - SPOILS));
                else if (fault == 2 * SPOILS + 2)
                    t.rows = 1, status = ATTN_ERR_SHAPE;
                else
                    most = fault == 2 * SPOILS ? 16 : 1, status = ATTN_ERR_VALUE;
                skip |= status == ATTN_OK;
                if (!skip && (want == ATTN_OK || test_rank(status) < test_rank(want)))
                    want = status;
            }
            if (skip)
                continue;
            test_case("faults %zu and %zu", f, g);
            CHECK_STATUS(attn_t5_bias(o, t, bidirectional, most, -4), want);
            CHECK(test_wrote_nothing());
        }
    test_case("numbers of buckets");
    for (size_t buckets = 0; buckets < 7; buckets++)
        for (int bidirectional = 0; bidirectional < 2; bidirectional++) {
            attn_mat few = attn_mat_rows(table, 0, buckets);
            CHECK_STATUS(attn_t5_bias(out, few, bidirectional, 0, -4),
                         buckets < (bidirectional ? 4u : 2u) ? ATTN_ERR_SHAPE : ATTN_OK);
        }
    test_case("max_distance");
    CHECK_STATUS(attn_t5_bias(out, table, 0, 16, -4), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_t5_bias(out, table, 0, 17, -4), ATTN_OK);
    CHECK_STATUS(attn_t5_bias(out, table, 1, 8, -4), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_t5_bias(out, table, 1, 9, -4), ATTN_OK);
    CHECK_STATUS(attn_t5_bias(out, test_random_mat(ATTN_F32, 256, 3, PACKED), 0, 0, -4), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_t5_bias(out, test_random_mat(ATTN_F32, 254, 3, PACKED), 0, 0, -4), ATTN_OK);
    test_case("nothing to write");
    CHECK_STATUS(attn_t5_bias(attn_mat_of(NULL, ATTN_F32, 3, 0), table, 0, 0, PTRDIFF_MIN), ATTN_OK);
    CHECK_STATUS(attn_t5_bias(attn_mat_of(NULL, ATTN_F32, 0, 5), attn_mat_of(NULL, ATTN_F32, 32, 0), 0, 0, 0), ATTN_OK);
    CHECK_STATUS(attn_t5_bias(attn_mat_of(NULL, ATTN_F32, 3, 0), table, 0, 5, 0), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_t5_bias(attn_mat_of(NULL, ATTN_F32, 3, 0), none, 0, 0, 0), ATTN_ERR_NULL);
    test_case("on top of the table");
    out = attn_mat_of(table.data, ATTN_F32, 3, 2);
    CHECK_STATUS(attn_t5_bias(out, table, 0, 0, -4), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_t5_bias(out, table, 0, 16, -4), ATTN_ERR_VALUE);
}

/* ==== slopes and sinusoids ==== */

TEST(alibi_slopes_values)
{
    for (size_t H = 0; H <= 130; H++) {
        float *slopes = test_block((H + 1) * sizeof *slopes);
        size_t below = 1;
        attn_status status;
        while (2 * below <= H)
            below *= 2;
        test_freeze();
        WITHOUT_MEMORY(status, attn_alibi_slopes(slopes, H));
        CHECK_STATUS(status, ATTN_OK);
        for (size_t h = 0; h < H; h++) {
            /* 2^(-8/P) and its powers; then of the next power of two, the first, third, .. */
            real step = h < below ? 8 / (real)below : 4 / (real)below,
                 count = (real)(h < below ? h + 1 : 2 * (h - below) + 1);
            real want = powl(2, -step * count), exponent = step * count;
            test_case("slope %zu of %zu", h, H);
            CHECK_NEAR((real)slopes[h], want, exponent == floorl(exponent) ? 0 : half_ulp(want, ATTN_F32) * 1.0001L);
        }
        CHECK(isnan((double)slopes[H])); /* no more than H */
        test_release();
    }
}

TEST(alibi_slopes_status)
{
    float *slopes = test_block(4 * sizeof *slopes);
    test_freeze();
    CHECK_STATUS(attn_alibi_slopes(NULL, 4), ATTN_ERR_NULL);
    CHECK_STATUS(attn_alibi_slopes(NULL, SIZE_MAX), ATTN_ERR_NULL);
    CHECK_STATUS(attn_alibi_slopes(slopes, SIZE_MAX), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_alibi_slopes(slopes, SIZE_MAX / 4 + 1), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_alibi_slopes(slopes, SIZE_MAX / 8 + 1), ATTN_ERR_OVERFLOW);
    CHECK(test_wrote_nothing());
}

TEST(sinusoid_values)
{
    static const size_t dims[] = {1, 2, 3, 4, 7, 16, 33, 64};
    static const size_t firsts[] = {0, 1, 17, 1000, 100000};
    for (size_t n = 0; n < COUNT(dims) * COUNT(firsts) * 4; n++) {
        size_t D = dims[n % COUNT(dims)], first = firsts[n / COUNT(dims) % COUNT(firsts)];
        attn_dtype dtype = test_floats[n / COUNT(dims) / COUNT(firsts)];
        int layout = (int)(n % OUT_LAYOUTS);
        attn_mat out = test_mat(dtype, 7, D, layout);
        attn_status status;
        test_case("%s, layout %d, D %zu, first %zu", test_dtype_name(dtype), layout, D, first);
        test_freeze();
        WITHOUT_MEMORY(status, attn_sinusoid(out, first));
        CHECK_STATUS(status, ATTN_OK);
        CHECK(test_wrote_only(&out, 1));
        for (size_t r = 0; r < 7; r++)
            for (size_t c = 0; c < D; c++) {
                real angle = (real)(first + r) * powl(10000, -(real)(c - c % 2) / (real)D);
                real want = c % 2 ? cosl(angle) : sinl(angle), slack = (2 + 14 * angle) * eps;
                CHECK_NEAR(test_load(test_at(out, r, c), dtype), want, half_ulp(fabsl(want) + slack, dtype) + slack);
            }
        test_release();
    }
}

TEST(sinusoid_status)
{
    attn_mat out = test_mat(ATTN_F32, 3, 4, STRIDED), none = {0};
    static const size_t firsts[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2, SIZE_MAX / 2 + 1};
    test_freeze();
    for (int kind = 0; kind < SPOILS; kind++) {
        attn_mat m = out;
        attn_status want = test_spoil_mat(&m, SPOIL_REQUIRED | SPOIL_OUTPUT, kind);
        if (want == ATTN_OK || want == ATTN_ERR_SHAPE)
            continue;
        test_case("fault %d", kind);
        CHECK_STATUS(attn_sinusoid(m, 0), want);
        CHECK(test_wrote_nothing());
    }
    test_case("nothing to write");
    CHECK_STATUS(attn_sinusoid(none, 0), ATTN_ERR_NULL);
    CHECK_STATUS(attn_sinusoid(attn_mat_of(NULL, ATTN_F32, 0, 4), 0), ATTN_OK);
    CHECK_STATUS(attn_sinusoid(attn_mat_of(NULL, ATTN_F32, 4, 0), SIZE_MAX), ATTN_OK);
    CHECK(test_wrote_nothing());
    for (size_t n = 0; n < COUNT(firsts); n++) {
        test_case("first %zu", firsts[n]);
        CHECK_STATUS(attn_sinusoid(out, firsts[n]), ATTN_OK);
        for (size_t r = 0; r < 3; r++)
            for (size_t c = 0; c < 4; c += 2) {
                real size =
                    hypotl(test_load(test_at(out, r, c), ATTN_F32), test_load(test_at(out, r, c + 1), ATTN_F32));
                CHECK_NEAR(size, 1, 1e-6L);
            }
    }
}

/* What would not be finite is refused, not half written. */
TEST(rope_frequencies_finite)
{
    static const struct {
        double base;
        attn_rope_scaling s;
    } bad[] = {{5e-324, {.kind = ATTN_ROPE_PLAIN}},
               {10000, {.kind = ATTN_ROPE_LINEAR, .factor = 5e-324}},
               {10000, {.kind = ATTN_ROPE_NTK, .factor = 5e-324}},
               {1e-300, {.kind = ATTN_ROPE_LINEAR, .factor = 1e-100}},
               {1.5, {.kind = ATTN_ROPE_YARN, .factor = 5e-324, .original_len = 100}}};
    double freq[32], before[32], scale = 5, plain[32];
    memset(freq, 0x5a, sizeof freq);
    memcpy(before, freq, sizeof freq);
    for (size_t n = 0; n < COUNT(bad); n++) {
        test_case("%zu", n);
        CHECK_STATUS(attn_rope_frequencies(freq, 64, bad[n].base, &bad[n].s, &scale), ATTN_ERR_VALUE);
        CHECK(memcmp(freq, before, sizeof freq) == 0 && scale > 4);
    }
    CHECK_STATUS(attn_rope_frequencies(freq, 64, 1e-300, NULL, &scale), ATTN_OK);
    CHECK_STATUS(attn_rope_frequencies(plain, 64, 0, NULL, NULL), ATTN_OK);
    CHECK(freq[31] > 1e200 && freq[31] < 1e300 && plain[0] > 0.999);
}

/* Numbers that are no elements must be aligned too: nothing is read or written through such a pointer. */
TEST(arrays_misaligned)
{
    char *block = test_block(64), *odd = block + 1;
    double *frequencies = (double *)(void *)odd, scale;
    attn_tensor t = test_random_tensor(ATTN_F32, 1, 1, 1, 4, T_BHLD);
    attn_rope_opts o = {0};
    attn_tensor out = test_tensor(ATTN_F32, 1, 1, 1, 4, T_BHLD);
    const size_t *lens = (const size_t *)(const void *)odd;
    attn_opts opts = {0};
    attn_kv_cache cache = {0};
    size_t bytes;
    test_case("misaligned");
    CHECK_STATUS(attn_kv_cache_size(&bytes, 1, 1, 2, 4, 4, ATTN_F32, 0), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_init(&cache, 1, 1, 2, 4, 4, ATTN_F32, 0, test_block(bytes), bytes), ATTN_OK);
    test_freeze();
    o.frequencies = frequencies;
    CHECK_STATUS(attn_rope(t, t, &o), ATTN_ERR_VALUE);
    o.frequencies = NULL;
    o.positions = (const ptrdiff_t *)(const void *)odd;
    CHECK_STATUS(attn_rope(t, t, &o), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_rope_frequencies(frequencies, 4, 0, NULL, &scale), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_rope_frequencies((double *)(void *)block, 4, 0, NULL, frequencies), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_alibi_slopes((float *)(void *)odd, 2), ATTN_ERR_VALUE);
    opts.kv_lens = lens;
    CHECK_STATUS(attn_sdpa(out, t, t, t, &opts, NULL), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_kv_cache_append(&cache, t, t, lens), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_kv_cache_reorder(&cache, lens), ATTN_ERR_VALUE);
    CHECK(test_wrote_nothing());
}
