/* Parts of tensors, rows of them, and tensors that end where memory does. */
#include "sdpa.h"

attn_tensor test_tensor_item(attn_tensor t, size_t b)
{
    if (t.batch > 1) {
        t.data = test_tensor_at(t, b, 0, 0, 0);
        t.batch = 1;
    }
    return t;
}

void test_copy_tensor(attn_tensor to, attn_tensor from)
{
    for (size_t n = 0; n < to.batch * to.heads * to.len; n++) {
        size_t i = n % to.len, h = n / to.len % to.heads, b = n / to.len / to.heads;
        for (size_t d = 0; d < to.dim; d++)
            memcpy(test_tensor_at(to, b, h, i, d), test_tensor_at(from, b, h, i, d), test_size(to.dtype));
    }
}

int test_same_row(attn_tensor x, attn_tensor y, size_t b, size_t h, size_t i)
{
    for (size_t d = 0; d < x.dim; d++)
        if (memcmp(test_tensor_at(x, b, h, i, d), test_tensor_at(y, b, h, i, d), test_size(x.dtype)) != 0)
            return 0;
    return 1;
}

int test_row_is(attn_tensor t, size_t b, size_t h, size_t i, real want)
{
    for (size_t d = 0; d < t.dim; d++) {
        real x = test_tensor_get(t, b, h, i, d);
        if (isnan(want) ? !isnan(x) : x != want || (want == 0 && signbit(x)))
            return 0;
    }
    return 1;
}

void test_fill_row(attn_tensor t, size_t b, size_t h, size_t i, double value)
{
    for (size_t d = 0; d < t.dim; d++)
        test_tensor_set(t, b, h, i, d, value);
}

attn_tensor test_fenced_rows(attn_dtype dtype, size_t H, size_t L, size_t D, size_t exist, size_t step, int backwards)
{
    size_t size = test_size(dtype), row = H * D * step;
    char *memory = test_fenced(exist ? (exist * row - step + 1) * size : 0, backwards);
    attn_tensor t = {NULL, dtype, 1, H, L, D, 0, 0, 0, 0};
    t.head_stride = (ptrdiff_t)(D * step);
    t.len_stride = (backwards ? -1 : 1) * (ptrdiff_t)row;
    t.dim_stride = (ptrdiff_t)step;
    t.data = backwards && exist ? memory + (exist - 1) * row * size : memory;
    test_scatter(attn_tensor_slice(t, 0, exist), test_random());
    return t;
}

attn_tensor test_fenced_pairs(attn_dtype dtype, size_t Lq, size_t Lk, size_t exist, int backwards)
{
    attn_tensor t = test_fenced_rows(dtype, 1, Lk, Lq, exist, 1, backwards);
    ptrdiff_t step = t.len_stride;
    t.len = Lq, t.dim = Lk;
    t.len_stride = t.dim_stride, t.dim_stride = step;
    return t;
}

attn_tensor test_rows_apart(attn_tensor from, int low, const unsigned char *hidden)
{
    size_t rows = from.batch * from.heads * from.len, size = test_size(from.dtype), step = 2 * TEST_PAGE / size;
    char *at = test_fenced(2 * rows * TEST_PAGE, 0);
    attn_tensor t = attn_tensor_of(low ? at + TEST_PAGE : at + TEST_PAGE - from.dim * size, from.dtype, from.batch,
                                   from.heads, from.len, from.dim, (ptrdiff_t)(from.heads * from.len * step),
                                   (ptrdiff_t)(from.len * step), (ptrdiff_t)step, 1);
    test_copy_tensor(t, from);
    for (size_t n = 0; n < rows; n++)
        for (size_t page = 0; page < 2; page++)
            if (page != (size_t)low || (hidden && hidden[n]))
                test_shut(at + (2 * n + page) * TEST_PAGE);
    return t;
}
