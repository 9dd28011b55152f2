/* Which views may share memory: named cases, and thousands of small views against a comparison element by element. */
#include "test.h"

static attn_mat mat(void *data, attn_dtype dtype, size_t rows, size_t cols, ptrdiff_t row_stride, ptrdiff_t col_stride)
{
    attn_mat m = {data, dtype, rows, cols, row_stride, col_stride};
    return m;
}

static attn_mat f32(float *data, size_t rows, size_t cols, ptrdiff_t row_stride, ptrdiff_t col_stride)
{
    return mat(data, ATTN_F32, rows, cols, row_stride, col_stride);
}

TEST(alias_named_cases)
{
    float a[200];
    attn_mat m = attn_mat_of(a, ATTN_F32, 8, 6), square = attn_mat_of(a, ATTN_F32, 5, 5),
             b = attn_mat_of(a + 100, ATTN_F32, 6, 3);
    for (size_t i = 0; i < 200; i++)
        a[i] = (float)i / 200;
    test_case("disjoint bytes, one beside the other");
    CHECK_STATUS(attn_mat_copy(f32(a, 2, 5, 5, 1), f32(a + 10, 2, 5, 5, 1)), ATTN_OK);
    CHECK_STATUS(attn_softmax(f32(a, 2, 5, 5, 1), f32(a + 19, 2, 5, -5, -1)), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(a + 9, 2, 5, -5, -1), f32(a + 10, 2, 5, 1, 2)), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(a + 10, 2, 5, 5, 1), f32(a + 11, 2, 5, 0, 0)), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_mat_copy(f32(a + 10, 2, 5, 5, 1), f32(a + 20, 2, 5, 0, 0)), ATTN_OK);
    test_case("column blocks of one matrix");
    CHECK_STATUS(attn_mat_copy(attn_mat_cols(m, 0, 3), attn_mat_cols(m, 3, 3)), ATTN_OK);
    CHECK_STATUS(attn_softmax(attn_mat_cols(m, 4, 2), attn_mat_cols(m, 0, 2)), ATTN_OK);
    CHECK_STATUS(attn_matmul(attn_mat_cols(m, 3, 3), attn_mat_cols(m, 0, 3), attn_mat_rows(b, 0, 3)), ATTN_OK);
    CHECK_STATUS(attn_matmul(attn_mat_cols(m, 2, 3), attn_mat_cols(m, 0, 3), attn_mat_rows(b, 0, 3)), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_matmul(attn_mat_t(attn_mat_cols(m, 3, 3)), attn_mat_rows(attn_mat_t(b), 0, 3),
                             attn_mat_t(attn_mat_cols(m, 0, 6))),
                 ATTN_ERR_ALIAS);
    test_case("row blocks, even and odd rows");
    CHECK_STATUS(attn_mat_copy(attn_mat_rows(m, 4, 4), attn_mat_rows(m, 0, 4)), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(attn_mat_rows(m, 1, 4), attn_mat_rows(m, 0, 4)), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_mat_copy(f32(a, 4, 6, 12, 1), f32(a + 6, 4, 6, 12, 1)), ATTN_OK);
    CHECK_STATUS(attn_softmax(f32(a + 6, 4, 6, 12, 1), f32(a, 4, 6, 12, 1)), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(a, 4, 6, 12, 1), f32(a + 5, 4, 6, 12, 1)), ATTN_ERR_ALIAS);
    test_case("q, k, v and heads in one buffer [L][3][H][D]"); /* L 4, H 2, D 3 */
    for (size_t from = 0; from < 6; from++)
        for (size_t to = 0; to < 6; to++) {
            attn_tensor block_in = attn_heads(f32(a, 4, 18, 18, 1), 6);
            CHECK_STATUS(attn_mat_copy(attn_head(block_in, 0, to), attn_head(block_in, 0, from)), ATTN_OK);
            CHECK_STATUS(
                attn_weighted_sum(attn_head(block_in, 0, to), f32(a + 100, 4, 4, 4, 1), attn_head(block_in, 0, from)),
                to == from ? ATTN_ERR_ALIAS : ATTN_OK);
        }
    test_case(
        "a transposed input in the same buffer"); /* 4 queries, 4 keys and their scores, side by side in rows of 16 */
    CHECK_STATUS(attn_scores(f32(a + 8, 4, 4, 16, 1), f32(a, 4, 4, 16, 1), f32(a + 4, 4, 4, 16, 1), 0), ATTN_OK);
    CHECK_STATUS(attn_matmul(f32(a + 8, 4, 4, 16, 1), f32(a, 4, 4, 16, 1), f32(a + 4, 4, 4, 1, 16)), ATTN_OK);
    CHECK_STATUS(attn_matmul(f32(a + 7, 4, 4, 16, 1), f32(a, 4, 4, 16, 1), f32(a + 4, 4, 4, 1, 16)), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_scores(f32(a + 7, 4, 4, 16, 1), f32(a, 4, 4, 16, 1), f32(a + 4, 4, 4, 16, 1), 0), ATTN_ERR_ALIAS);
    test_case("an input whose rows slide over one another"); /* many ways to reach an address */
    CHECK_STATUS(attn_weighted_sum(f32(a, 2, 2, 3, 1), f32(a + 190, 2, 2, 2, 1), f32(a + 4, 2, 2, 3, 1)),
                 ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_matmul(f32(a, 2, 2, 3, 1), f32(a + 190, 2, 2, 2, 1), f32(a + 5, 2, 2, 3, 1)), ATTN_OK);
    CHECK_STATUS(attn_concat_heads(f32(a, 2, 2, 3, 1), (const attn_mat[]){f32(a + 1, 2, 2, 3, 1)}, 1), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_matmul(f32(a, 2, 180, 200, 1), f32(a + 1, 2, 1, 3, 1), f32(a + 1, 1, 180, 3, 1)), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_matmul(f32(a, 2, 2, 3, 1), f32(a + 1, 2, 190, 3, 1), f32(a + 1, 190, 2, 1, 0)), ATTN_ERR_ALIAS);
    test_case("a column that crosses the row of a single key"); /* batch strides of one item say nothing */
    for (ptrdiff_t at = 0; at < 48; at++) {
        attn_tensor key = attn_tensor_of(a + at, ATTN_F32, 1, 1, 1, 4, 80, 80, 16, 1);
        attn_tensor column = attn_tensor_of(a + 3, ATTN_F32, 1, 1, 4, 1, 64, 64, 16, 1);
        CHECK_STATUS(attn_sdpa(column, attn_bhld(a + 100, ATTN_F32, 1, 1, 4, 4), key,
                               attn_bhld(a + 199, ATTN_F32, 1, 1, 1, 1), NULL, NULL),
                     at % 16 <= 3 ? ATTN_ERR_ALIAS : ATTN_OK);
    }
    test_case("interleaved element by element");
    CHECK_STATUS(attn_mat_copy(f32(a, 3, 4, 8, 2), f32(a + 1, 3, 4, 8, 2)), ATTN_OK);
    test_case("the identical view");
    CHECK_STATUS(attn_mat_copy(m, m), ATTN_OK);
    CHECK_STATUS(attn_softmax(m, m), ATTN_OK);
    CHECK_STATUS(attn_softmax_ctx(m, m, NULL), ATTN_OK);
    CHECK_STATUS(attn_softmax(attn_mat_t(m), attn_mat_t(m)), ATTN_OK);
    CHECK_STATUS(attn_matmul(square, square, square), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_weighted_sum(square, f32(a + 100, 5, 5, 5, 1), square), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_weighted_values(square, f32(a + 100, 1, 5, 5, 1), square), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_scores(square, square, f32(a + 100, 5, 5, 5, 1), 1), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_concat_heads(m, &m, 1), ATTN_ERR_ALIAS);
    test_case("the same elements in another order");
    CHECK_STATUS(attn_mat_copy(attn_mat_t(square), square), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_softmax(square, attn_mat_t(square)), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_mat_copy(f32(a + 24, 5, 5, -5, -1), square), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_softmax(f32(a + 4, 5, 5, 5, -1), square), ATTN_ERR_ALIAS);
    test_case("the same bytes as another type");
    CHECK_STATUS(attn_mat_copy(mat(a, ATTN_F16, 5, 5, 5, 1), square), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_softmax(mat(a, ATTN_BF16, 5, 5, 5, 1), mat(a, ATTN_F16, 5, 5, 5, 1)), ATTN_ERR_ALIAS);
    test_case("part of it");
    CHECK_STATUS(attn_mat_copy(f32(a, 2, 5, 5, 1), f32(a + 1, 2, 5, 5, 1)), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_softmax(f32(a + 1, 2, 5, 5, 1), f32(a, 2, 5, 5, 1)), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_softmax(attn_mat_rows(square, 0, 1), attn_mat_t(attn_mat_cols(square, 0, 1))), ATTN_ERR_ALIAS);
    test_case("an empty view touches nothing");
    CHECK_STATUS(attn_mat_copy(f32(a, 0, 5, 5, 1), f32(a, 0, 5, 5, 1)), ATTN_OK);
    CHECK_STATUS(attn_matmul(square, attn_mat_cols(square, 0, 0), attn_mat_rows(square, 0, 0)), ATTN_OK);
}

TEST(alias_outputs)
{
    float a[64] = {0};
    attn_mat in = attn_mat_of(a, ATTN_F32, 3, 4), q = attn_mat_of(a, ATTN_F32, 3, 2),
             v = attn_mat_of(a, ATTN_F32, 3, 4);
    attn_mat row = attn_mat_of(a, ATTN_F32, 1, 4), column = attn_mat_of(a, ATTN_F32, 4, 1);
    float *o = a + 24;
    test_case("elements on top of one another");
    CHECK_STATUS(attn_mat_copy(f32(o, 3, 4, 0, 1), in), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_mat_copy(f32(o, 3, 4, 4, 0), in), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_mat_copy(f32(o, 3, 4, 0, 0), in), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_mat_copy(f32(o, 3, 4, 3, 1), in), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_mat_copy(f32(o, 3, 4, 1, 2), in), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_mat_copy(f32(o + 20, 3, 4, -3, 1), in), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_softmax(f32(o, 3, 4, 1, 1), in), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_softmax(f32(o, 3, 4, 0, 1), f32(o, 3, 4, 0, 1)), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_mat_copy(f32(o, 3, 4, 0, 1), f32(o, 3, 4, 0, 1)), ATTN_ERR_ALIAS);
    test_case("close, yet apart");
    CHECK_STATUS(attn_mat_copy(f32(o, 3, 4, 4, 1), in), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(o, 3, 4, 1, 3), in), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(o + 11, 3, 4, -4, -1), in), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(o + 3, 3, 4, 4, -1), in), ATTN_OK);
    test_case("the stride of a single row or column means nothing");
    CHECK_STATUS(attn_mat_copy(f32(o, 1, 4, 0, 1), row), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(o, 1, 4, 1, 1), row), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(o, 1, 4, PTRDIFF_MAX, 1), row), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(o, 4, 1, 1, 0), column), ATTN_OK);
    CHECK_STATUS(attn_softmax(f32(o, 4, 1, 1, PTRDIFF_MIN), column), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(f32(o, 1, 1, 0, 0), attn_mat_rows(column, 0, 1)), ATTN_OK);
    test_case("two outputs");
    CHECK_STATUS(attn_attention(f32(o, 3, 4, 4, 1), f32(o + 11, 3, 3, 3, 1), q, q, v, 1), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_attention(f32(o, 3, 4, 4, 1), f32(o, 3, 3, 4, 1), q, q, v, 1), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_attention(f32(o, 3, 4, 4, 1), f32(o + 12, 3, 3, 3, 1), q, q, v, 1), ATTN_OK);
    CHECK_STATUS(attn_attention(f32(o, 3, 4, 7, 1), f32(o + 4, 3, 3, 7, 1), q, q, v, 1), ATTN_OK);
    CHECK_STATUS(attn_attention(f32(o, 3, 4, 4, 1), f32(o + 12, 3, 3, 0, 1), q, q, v, 1), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_attention(f32(o, 3, 4, 4, 1), f32(a + 2, 3, 3, 3, 1), q, q, v, 1), ATTN_ERR_ALIAS);
}

/* ---- brute force ---- */

enum { BYTES = 160, TRIES = 60000, QUICK_TRIES = 2000, MOST = 4 };

static double buffer_memory[BYTES / 8];

/* A view of up to MOST x MOST elements inside the buffer. */
static attn_mat random_view(attn_dtype dtype, size_t rows, size_t cols)
{
    ptrdiff_t size = (ptrdiff_t)test_size(dtype), room = BYTES / size, low, high;
    attn_mat m = mat(NULL, dtype, rows, cols, 0, 0);
    do {
        static const ptrdiff_t usual[] = {0, 1, 2, 3, 4, 5, 6, 8, 10};
        ptrdiff_t down, across;
        m.row_stride = usual[test_below(9)] * (test_below(4) ? 1 : -1);
        m.col_stride = usual[test_below(9)] * (test_below(4) ? 1 : -1);
        down = rows ? (ptrdiff_t)(rows - 1) * m.row_stride : 0;
        across = cols ? (ptrdiff_t)(cols - 1) * m.col_stride : 0;
        low = (down < 0 ? down : 0) + (across < 0 ? across : 0);
        high = (down > 0 ? down : 0) + (across > 0 ? across : 0);
    } while (high - low >= room);
    m.data = (char *)buffer_memory + (ptrdiff_t)test_below((size_t)(room - (high - low))) * size - low * size;
    return m;
}

/* Counts how often each byte belongs to the view: 2 stands for more than once. */
static void mark(unsigned char *count, attn_mat m)
{
    memset(count, 0, BYTES);
    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0; c < m.cols; c++) {
            size_t first = (size_t)((char *)test_at(m, r, c) - (char *)buffer_memory);
            for (size_t n = 0; n < test_size(m.dtype); n++)
                if (count[first + n] < 2)
                    count[first + n]++;
        }
}

/* Strides a and b over n_a and n_b elements never give the same place twice, by the rule of the design. */
static int spread(ptrdiff_t a, size_t n_a, ptrdiff_t b, size_t n_b)
{
    ptrdiff_t small, big;
    size_t n_small;
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    if (n_a <= 1)
        return n_b <= 1 || b > 0;
    if (n_b <= 1)
        return a > 0;
    small = a < b ? a : b, big = a < b ? b : a, n_small = a < b ? n_a : n_b;
    return small > 0 && big > (ptrdiff_t)(n_small - 1) * small;
}

static int span(const unsigned char *count, int *first, int *last)
{
    *first = 0, *last = BYTES - 1;
    while (*first < BYTES && !count[*first])
        ++*first;
    while (*last >= 0 && !count[*last])
        --*last;
    return *first <= *last;
}

/* May `out` be written while `in` is read? 1 it must be accepted, 0 it must be refused, -1 either will do. */
static int verdict(attn_mat out, attn_mat in, int identical_ok)
{
    unsigned char o[BYTES], i[BYTES];
    int o_first, o_last, i_first, i_last;
    ptrdiff_t offset, rows_apart;
    mark(o, out);
    mark(i, in);
    if (!out.rows || !out.cols)
        return 1;
    for (int n = 0; n < BYTES; n++)
        if (o[n] > 1)
            return 0;
    if (!spread(out.row_stride, out.rows, out.col_stride, out.cols))
        return -1;
    if (!span(i, &i_first, &i_last))
        return 1;
    if (identical_ok && test_same_mat(out, in))
        return 1;
    if (identical_ok && out.data == in.data && out.dtype == in.dtype && out.rows == in.rows && out.cols == in.cols &&
        (out.rows == 1 || out.row_stride == in.row_stride) && (out.cols == 1 || out.col_stride == in.col_stride))
        return -1; /* identical but for a stride that leads nowhere */
    for (int n = 0; n < BYTES; n++)
        if (o[n] && i[n])
            return 0;
    span(o, &o_first, &o_last);
    if (o_last < i_first || i_last < o_first)
        return 1;
    if (out.dtype != in.dtype || out.row_stride != in.row_stride || out.col_stride != in.col_stride)
        return -1;
    /* one lattice: is there a place for both boxes in it where no two points coincide? */
    offset = ((char *)in.data - (char *)out.data) / (ptrdiff_t)test_size(out.dtype);
    for (rows_apart = -BYTES; rows_apart <= BYTES; rows_apart++) {
        ptrdiff_t rest = offset - rows_apart * out.row_stride, cols_apart = out.col_stride ? rest / out.col_stride : 0;
        ptrdiff_t top = rows_apart < 0 ? rows_apart : 0, left = cols_apart < 0 ? cols_apart : 0;
        ptrdiff_t bottom = rows_apart + (ptrdiff_t)in.rows, right = cols_apart + (ptrdiff_t)in.cols;
        if (rest != cols_apart * out.col_stride)
            continue;
        bottom = bottom > (ptrdiff_t)out.rows ? bottom : (ptrdiff_t)out.rows;
        right = right > (ptrdiff_t)out.cols ? right : (ptrdiff_t)out.cols;
        if (spread(out.row_stride, (size_t)(bottom - top), out.col_stride, (size_t)(right - left)))
            return 1;
    }
    return -1;
}

static void fill_buffer(void)
{
    unsigned char *bytes = (unsigned char *)buffer_memory;
    for (size_t n = 0; n < BYTES; n++) /* finite in every type and byte order */
        bytes[n] = (unsigned char)(0x30 + test_below(16));
}

/* What functions called next find in memory that they have not written: large numbers, or small ones. */
static void litter_stack(size_t number)
{
    size_t memory[2048];
    volatile size_t *at = memory;
    for (size_t n = 0; n < 2048; n++)
        at[n] = number;
}

static void (*const volatile litter)(size_t number) = litter_stack; /* a call, whatever compilers would make of it */

static long accepted, refused, free_choice;

static void judge(attn_status got, int want, attn_mat out, attn_mat in)
{
    test_case("out %s %zu x %zu strides %td %td at byte %td; in %s %zu x %zu strides %td %td at byte %td",
              test_dtype_name(out.dtype), out.rows, out.cols, out.row_stride, out.col_stride,
              (char *)out.data - (char *)buffer_memory, test_dtype_name(in.dtype), in.rows, in.cols, in.row_stride,
              in.col_stride, (char *)in.data - (char *)buffer_memory);
    CHECK(got == ATTN_OK || got == ATTN_ERR_ALIAS);
    CHECK(want != 1 || got == ATTN_OK);
    CHECK(want != 0 || got == ATTN_ERR_ALIAS);
    accepted += want == 1;
    refused += want == 0;
    free_choice += want == -1;
}

TEST(alias_brute_force_copy)
{
    accepted = refused = free_choice = 0;
    for (int n = 0; n < (test_quick ? QUICK_TRIES : TRIES); n++) {
        size_t rows = test_below(MOST + 1), cols = test_below(MOST + 1);
        attn_dtype dtype = test_maybe() ? ATTN_F32 : ATTN_F16;
        attn_mat out = random_view(dtype, rows, cols), in = random_view(test_below(4) ? dtype : ATTN_F32, rows, cols);
        double before[BYTES / 8], values[MOST * MOST];
        attn_status status;
        if (test_below(3) && in.dtype == out.dtype) { /* the same strides, somewhere */
            ptrdiff_t shift = (ptrdiff_t)test_below(13) - 6;
            in = out;
            in.data = (char *)in.data + shift * (ptrdiff_t)test_size(dtype);
            for (size_t corner = 0; corner < 4 && rows && cols; corner++) {
                char *p = test_at(in, corner & 1 ? rows - 1 : 0, corner & 2 ? cols - 1 : 0);
                if (p < (char *)buffer_memory || p >= (char *)buffer_memory + BYTES)
                    in.data = out.data;
            }
            if (!rows || !cols)
                in.data = out.data;
        }
        fill_buffer();
        for (size_t i = 0; i < rows * cols; i++)
            values[i] = (double)test_load(test_at(in, i / cols, i % cols), in.dtype);
        memcpy(before, buffer_memory, sizeof before);
        litter(n % 2 ? SIZE_MAX / 3 : 0);
        status = attn_mat_copy(out, in);
        judge(status, verdict(out, in, 1), out, in);
        if (status != ATTN_OK)
            CHECK(memcmp(before, buffer_memory, sizeof before) == 0);
        for (size_t i = 0; i < rows * cols && status == ATTN_OK && in.dtype == out.dtype; i++)
            CHECK((double)test_load(test_at(out, i / cols, i % cols), out.dtype) == values[i]);
    }
    test_case("the tries were of every kind");
    CHECK(accepted > 100 && refused > 100 && free_choice > 10);
}

/* out and a of different sizes: out = a b with b elsewhere. */
TEST(alias_brute_force_matmul)
{
    static const float ones[MOST * MOST] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    accepted = refused = free_choice = 0;
    for (int n = 0; n < (test_quick ? QUICK_TRIES : TRIES); n++) {
        size_t rows = test_below(MOST + 1), cols = test_below(MOST + 1), inner = test_below(MOST + 1);
        attn_mat out = random_view(ATTN_F32, rows, cols),
                 a = random_view(test_below(8) ? ATTN_F32 : ATTN_F16, rows, inner);
        attn_mat b = attn_mat_of(ones, ATTN_F32, inner, cols);
        double before[BYTES / 8];
        attn_status status;
        if (test_below(3) && a.dtype == ATTN_F32) { /* the lattice of out, where it fits */
            attn_mat same = a;
            int inside = 1;
            same.row_stride = out.row_stride;
            same.col_stride = out.col_stride;
            for (size_t corner = 0; corner < 4 && rows && inner; corner++) {
                char *p = test_at(same, corner & 1 ? rows - 1 : 0, corner & 2 ? inner - 1 : 0);
                inside = inside && p >= (char *)buffer_memory && p < (char *)buffer_memory + BYTES;
            }
            a = inside ? same : a;
        }
        fill_buffer();
        memcpy(before, buffer_memory, sizeof before);
        litter(n % 2 ? SIZE_MAX / 3 : 0);
        status = attn_matmul(out, a, b);
        judge(status, verdict(out, a, 0), out, a);
        if (status != ATTN_OK)
            CHECK(memcmp(before, buffer_memory, sizeof before) == 0);
    }
    test_case("the tries were of every kind");
    CHECK(accepted > 100 && refused > 100 && free_choice > 10);
}
