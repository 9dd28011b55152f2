/* Constructors, slices, elements: what a view points at, and when it is absent or bad. */
#include "sdpa.h"

static int bad_tensor(attn_tensor t)
{
    return !t.data && t.batch == SIZE_MAX && t.heads == SIZE_MAX && t.len == SIZE_MAX && t.dim == SIZE_MAX;
}

static int absent_tensor(attn_tensor t)
{
    return !t.data && !t.dtype && !t.batch && !t.heads && !t.len && !t.dim && !t.batch_stride && !t.head_stride &&
           !t.len_stride && !t.dim_stride;
}

static int same_tensor(attn_tensor a, attn_tensor b)
{
    return a.data == b.data && a.dtype == b.dtype && a.batch == b.batch && a.heads == b.heads && a.len == b.len &&
           a.dim == b.dim && a.batch_stride == b.batch_stride && a.head_stride == b.head_stride &&
           a.len_stride == b.len_stride && a.dim_stride == b.dim_stride;
}

static attn_mat mat(void *data, attn_dtype dtype, size_t rows, size_t cols, ptrdiff_t row_stride, ptrdiff_t col_stride)
{
    attn_mat m = {data, dtype, rows, cols, row_stride, col_stride};
    return m;
}

TEST(strings)
{
    CHECK(attn_version() == ATTN_VERSION);
    for (int s = ATTN_OK; s <= ATTN_ERR_NOMEM; s++) {
        test_case("status %d", s);
        CHECK(attn_status_string((attn_status)s)[0] != 0);
        for (int other = ATTN_OK; other < s; other++)
            CHECK(strcmp(attn_status_string((attn_status)s), attn_status_string((attn_status)other)) != 0);
    }
    for (int isa = ATTN_ISA_BEST; isa <= TEST_LAST_ISA; isa++) {
        test_case("isa %d", isa);
        CHECK(attn_isa_string((attn_isa)isa)[0] != 0);
        CHECK(attn_isa_available((attn_isa)isa) == 0 || attn_isa_available((attn_isa)isa) == 1);
    }
    test_case("out of range");
    CHECK(attn_status_string((attn_status)99) != NULL && attn_status_string((attn_status)-1) != NULL);
    CHECK(attn_isa_string((attn_isa)99) != NULL && attn_isa_string((attn_isa)-1) != NULL);
    CHECK(!attn_isa_available((attn_isa)99) && !attn_isa_available((attn_isa)-1));
    CHECK(attn_isa_available(ATTN_ISA_BEST) && attn_isa_available(ATTN_ISA_SCALAR));
    CHECK(!attn_isa_available(TEST_ISA_LACKING));
    CHECK(strcmp(attn_isa_string(ATTN_ISA_AVX512), "avx512") == 0);
}

TEST(views_of_matrices)
{
    float a[6] = {0, 1, 2, 3, 4, 5};
    attn_mat m = attn_mat_of(a, ATTN_F32, 2, 3);
    CHECK(test_same_mat(m, mat(a, ATTN_F32, 2, 3, 3, 1)));
    CHECK(test_same_mat(attn_mat_t(m), mat(a, ATTN_F32, 3, 2, 1, 3)));
    CHECK(test_same_mat(attn_mat_t(attn_mat_t(m)), m));
    CHECK(attn_mat_get(m, 1, 2) == 5 && attn_mat_get(attn_mat_t(m), 2, 1) == 5 && attn_mat_get(m, 0, 1) == 1);
    for (int dtype = ATTN_F32; dtype <= ATTN_BOOL; dtype++)
        CHECK(test_same_mat(attn_mat_of(a, (attn_dtype)dtype, 1, 3), mat(a, (attn_dtype)dtype, 1, 3, 3, 1)));
    m = attn_mat_of(a, ATTN_F32, 0, 3);
    CHECK(m.rows == 0 && m.cols == 3 && !test_bad_mat(m));
    m = attn_mat_of(NULL, ATTN_F32, 3, 0);
    CHECK(m.rows == 3 && m.cols == 0 && !test_bad_mat(m) && !test_absent_mat(m));
    m = attn_mat_of(NULL, ATTN_F32, 0, 0);
    CHECK(!test_bad_mat(m) && !test_absent_mat(m));
}

TEST(views_sliced)
{
    float a[20];
    attn_mat m = attn_mat_of(a, ATTN_F32, 4, 5), back = mat(a + 19, ATTN_F32, 4, 5, -5, -1);
    attn_mat once = mat(a, ATTN_F32, 4, 5, 0, 1);
    CHECK(test_same_mat(attn_mat_rows(m, 1, 2), mat(a + 5, ATTN_F32, 2, 5, 5, 1)));
    CHECK(test_same_mat(attn_mat_cols(m, 1, 3), mat(a + 1, ATTN_F32, 4, 3, 5, 1)));
    CHECK(test_same_mat(attn_mat_rows(m, 0, 4), m) && test_same_mat(attn_mat_cols(m, 0, 5), m));
    CHECK(test_same_mat(attn_mat_rows(back, 3, 1), mat(a + 4, ATTN_F32, 1, 5, -5, -1)));
    CHECK(test_same_mat(attn_mat_cols(back, 4, 1), mat(a + 15, ATTN_F32, 4, 1, -5, -1)));
    CHECK(test_same_mat(attn_mat_rows(once, 3, 1), mat(a, ATTN_F32, 1, 5, 0, 1)));
    for (size_t first = 0; first <= 5; first++)
        for (size_t count = 0; count <= 6; count++) {
            attn_mat r = attn_mat_rows(m, first, count), c = attn_mat_cols(m, first, count);
            test_case("first %zu, count %zu", first, count);
            CHECK(test_bad_mat(r) == (first + count > 4) && test_bad_mat(c) == (first + count > 5));
            CHECK(test_bad_mat(r) || (r.rows == count && r.cols == 5));
            CHECK(test_bad_mat(c) || (c.rows == 4 && c.cols == count));
        }
    test_case("counts that wrap around");
    CHECK(test_bad_mat(attn_mat_rows(m, SIZE_MAX, 2)) && test_bad_mat(attn_mat_rows(m, 2, SIZE_MAX)));
    CHECK(test_bad_mat(attn_mat_cols(m, SIZE_MAX, 2)) && test_bad_mat(attn_mat_cols(m, 2, SIZE_MAX)));
    CHECK(test_bad_mat(attn_mat_rows(m, SIZE_MAX, 0)) && test_bad_mat(attn_mat_cols(m, SIZE_MAX, 0)));
    m = attn_mat_of(NULL, ATTN_F32, 0, 3);
    test_case("nothing of nothing");
    CHECK(!test_bad_mat(attn_mat_rows(m, 0, 0)) && !test_bad_mat(attn_mat_cols(m, 1, 2)));
    CHECK(test_bad_mat(attn_mat_rows(m, 0, 1)) && test_bad_mat(attn_mat_rows(m, 1, 0)));
}

/* Where element (b, h, l, d) lies, seen through attn_head(). */
static const float *at(attn_tensor t, size_t b, size_t h, size_t l, size_t d)
{
    return test_at(attn_head(t, b, h), l, d);
}

TEST(views_of_tensors)
{
    enum { B = 2, H = 3, L = 4, D = 5 };
    float a[B * H * L * D + 40];
    attn_tensor bhld = attn_bhld(a, ATTN_F32, B, H, L, D), blhd = attn_blhd(a, ATTN_F32, B, L, H, D);
    attn_tensor any = attn_tensor_of(a + 100, ATTN_F32, B, H, L, D, -7, 0, 3, -1),
                slice = attn_tensor_slice(bhld, 1, 2);
    attn_tensor heads = attn_heads(attn_mat_of(a, ATTN_F32, L, H * D), H);
    CHECK(bhld.batch == B && bhld.heads == H && bhld.len == L && bhld.dim == D && bhld.dtype == ATTN_F32);
    CHECK(blhd.batch == B && blhd.heads == H && blhd.len == L && blhd.dim == D);
    CHECK(slice.batch == B && slice.heads == H && slice.len == 2 && slice.dim == D);
    CHECK(heads.batch == 1 && heads.heads == H && heads.len == L && heads.dim == D);
    for (size_t n = 0; n < B * H * L * D; n++) {
        size_t d = n % D, l = n / D % L, h = n / D / L % H, b = n / D / L / H;
        test_case("[%zu][%zu][%zu][%zu]", b, h, l, d);
        CHECK(at(bhld, b, h, l, d) == a + ((b * H + h) * L + l) * D + d);
        CHECK(at(blhd, b, h, l, d) == a + ((b * L + l) * H + h) * D + d);
        CHECK(at(any, b, h, l, d) == a + 100 - 7 * b + 3 * l - d);
        CHECK(l + 1 >= L || l >= 2 || at(slice, b, h, l, d) == a + ((b * H + h) * L + l + 1) * D + d);
        CHECK(l >= 2 || at(attn_tensor_slice(blhd, 1, 3), b, h, l, d) == a + ((b * L + l + 1) * H + h) * D + d);
        CHECK(l >= 2 || at(attn_tensor_slice(any, 2, 2), b, h, l, d) == a + 100 - 7 * b + 3 * (l + 2) - d);
        CHECK(b > 0 || at(heads, b, h, l, d) == a + l * H * D + h * D + d);
    }
    test_case("heads of a transposed matrix");
    heads = attn_heads(attn_mat_t(attn_mat_of(a, ATTN_F32, 6, 4)), 3);
    CHECK(heads.heads == 3 && heads.len == 4 && heads.dim == 2 && at(heads, 0, 2, 3, 1) == a + 5 * 4 + 3);
    test_case("out of range");
    CHECK(test_bad_mat(attn_head(bhld, B, 0)) && test_bad_mat(attn_head(bhld, 0, H)));
    CHECK(test_bad_mat(attn_head(bhld, SIZE_MAX, 0)) && test_bad_mat(attn_head(bhld, 0, SIZE_MAX)));
    CHECK(bad_tensor(attn_tensor_slice(bhld, 3, 2)) && bad_tensor(attn_tensor_slice(bhld, 5, 0)));
    CHECK(bad_tensor(attn_tensor_slice(bhld, 2, SIZE_MAX)) && bad_tensor(attn_tensor_slice(bhld, SIZE_MAX, 2)));
    CHECK(same_tensor(attn_tensor_slice(bhld, 0, L), bhld) && attn_tensor_slice(bhld, L, 0).len == 0);
    CHECK(bad_tensor(attn_heads(attn_mat_of(a, ATTN_F32, 2, 6), 0)) &&
          bad_tensor(attn_heads(attn_mat_of(a, ATTN_F32, 2, 6), 4)));
    CHECK(bad_tensor(attn_heads(attn_mat_of(a, ATTN_F32, 2, 6), 12)));
    test_case("no elements");
    bhld = attn_bhld(NULL, ATTN_F32, 2, 3, 0, 5);
    CHECK(!bad_tensor(bhld) && bhld.len == 0 && attn_head(bhld, 1, 2).rows == 0 &&
          !test_bad_mat(attn_head(bhld, 1, 2)));
    CHECK(!bad_tensor(attn_tensor_slice(bhld, 0, 0)));
}

/* ---- the packed projection [B][L][(H + 2 Hkv) D] ---- */

/* A view of `heads` heads from `data` on, in rows of `row` elements. */
static int is_part(attn_tensor t, const float *data, size_t B, size_t L, size_t heads, size_t D, size_t row)
{
    return t.data == data && t.dtype == ATTN_F32 && t.batch == B && t.heads == heads && t.len == L && t.dim == D &&
           t.batch_stride == (ptrdiff_t)(L * row) && t.head_stride == (ptrdiff_t)D && t.len_stride == (ptrdiff_t)row &&
           t.dim_stride == 1;
}

TEST(views_qkv)
{
    static const size_t heads[][2] = {{1, 1}, {4, 4}, {4, 2}, {6, 1}, {2, 3}};
    float *a = test_block(4096 * sizeof *a);
    for (size_t i = 0; i < 4096; i++)
        a[i] = (float)i;
    for (size_t n = 0; n < sizeof heads / sizeof *heads; n++) {
        size_t B = 1 + n % 3, L = 1 + (3 * n + 2) % 5, D = 1 + n, H = heads[n][0], Hkv = heads[n][1],
               row = (H + 2 * Hkv) * D;
        attn_tensor q, k, v, of[3];
        test_case("B %zu, L %zu, H %zu, Hkv %zu, D %zu", B, L, H, Hkv, D);
        test_freeze();
        CHECK_STATUS(attn_qkv(&q, &k, &v, a, ATTN_F32, B, L, H, Hkv, D), ATTN_OK);
        CHECK(test_wrote_nothing());
        CHECK(is_part(q, a, B, L, H, D, row) && is_part(k, a + H * D, B, L, Hkv, D, row) &&
              is_part(v, a + (H + Hkv) * D, B, L, Hkv, D, row));
        of[0] = q, of[1] = k, of[2] = v;
        for (size_t i = 0; i < B * L * row; i++) {
            size_t c = i % row / D, part = c < H ? 0 : c < H + Hkv ? 1 : 2, h = c - (part ? H : 0) - (part / 2) * Hkv;
            CHECK(at(of[part], i / row / L, h, i / row % L, i % D) == a + i);
        }
    }
    test_case("other types");
    for (int dtype = ATTN_F32; dtype <= ATTN_BF16; dtype++) {
        attn_tensor q, k, v;
        size_t size = test_size((attn_dtype)dtype);
        CHECK_STATUS(attn_qkv(&q, &k, &v, a, (attn_dtype)dtype, 2, 3, 4, 2, 5), ATTN_OK);
        CHECK(q.dtype == (attn_dtype)dtype && k.dtype == (attn_dtype)dtype && v.dtype == (attn_dtype)dtype);
        CHECK((char *)k.data == (char *)a + 20 * size && (char *)v.data == (char *)a + 30 * size);
    }
}

/* Without elements, where data may be NULL; and without data, which who uses the views refuses. */
TEST(views_qkv_empty)
{
    float a[4] = {0};
    attn_tensor q, k, v;
    for (int n = 0; n < 32; n++) /* the sizes that are 0 */
        for (int null = 0; null < 2; null++) {
            size_t B = n & 1 ? 0 : 1, L = n & 2 ? 0 : 1, H = n & 4 ? 0 : 2, Hkv = n & 8 ? 0 : 1, D = n & 16 ? 0 : 1;
            int empty = !B || !L || !D;
            test_case("%zu x %zu x (%zu + 2 %zu) x %zu, data %d", B, L, H, Hkv, D, !null);
            CHECK_STATUS(attn_qkv(&q, &k, &v, null ? NULL : a, ATTN_F32, B, L, H, Hkv, D), ATTN_OK);
            CHECK(q.batch == B && q.heads == H && q.len == L && q.dim == D);
            CHECK(k.batch == B && k.heads == Hkv && k.len == L && k.dim == D);
            CHECK(v.batch == B && v.heads == Hkv && v.len == L && v.dim == D);
            CHECK(!absent_tensor(q) && !absent_tensor(k) && !absent_tensor(v));
            CHECK(null ? !q.data && !k.data && !v.data : q.data == a);
            CHECK_STATUS(attn_rope(q, q, NULL), null && H && !empty ? ATTN_ERR_NULL : D % 2 ? ATTN_ERR_SHAPE : ATTN_OK);
            CHECK_STATUS(attn_merge(v, k, v, k), null && Hkv && !empty ? ATTN_ERR_NULL
                                                 : !D                  ? ATTN_ERR_SHAPE
                                                 : empty || !Hkv       ? ATTN_OK
                                                                       : ATTN_ERR_ALIAS);
        }
}

TEST(views_qkv_status)
{
    float a[64] = {0};
    attn_tensor good = attn_bhld(a, ATTN_F32, 1, 1, 2, 2), q = good, k = good, v = good;
    const size_t most = SIZE_MAX, half = SIZE_MAX / 2 + 1, root = (size_t)1 << (sizeof(size_t) * 4);
    const size_t sizes[][5] = {
        {most, most, most, most, most}, {1, 1, most, 1, 1},     {1, 1, 1, most, 1},     {1, 1, 1, half, 1},
        {1, 1, half, half / 2, 1},      {1, 1, half, 1, 1},     {1, 1, 1, half / 2, 4}, {1, root, root, 1, 1},
        {root, 1, 1, 1, root},          {2, half, 1, 1, 1},     {1, 1, 1, 1, most / 3}, {1, 1, 1, 1, most / 3 + 1},
        {1, 2, 1, 1, half / 12},        {half / 12 + 1, 1, 1, 1, 1}};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (int missing = 0; missing < 8; missing++) {
            const size_t *s = sizes[n];
            attn_tensor *to[3] = {missing & 1 ? NULL : &q, missing & 2 ? NULL : &k, missing & 4 ? NULL : &v};
            q = k = v = good;
            test_case("sizes %zu, missing %d", n, missing);
            CHECK_STATUS(attn_qkv(to[0], to[1], to[2], a, ATTN_F32, s[0], s[1], s[2], s[3], s[4]),
                         missing ? ATTN_ERR_NULL : ATTN_ERR_OVERFLOW);
            CHECK(missing & 1 ? same_tensor(q, good) : bad_tensor(q));
            CHECK(missing & 2 ? same_tensor(k, good) : bad_tensor(k));
            CHECK(missing & 4 ? same_tensor(v, good) : bad_tensor(v));
        }
    for (int missing = 1; missing < 8; missing++) {
        q = k = v = good;
        test_case("missing %d", missing);
        CHECK_STATUS(attn_qkv(missing & 1 ? NULL : &q, missing & 2 ? NULL : &k, missing & 4 ? NULL : &v, a, ATTN_F32, 1,
                              2, 2, 1, 2),
                     ATTN_ERR_NULL);
        CHECK(missing & 1 ? same_tensor(q, good) : bad_tensor(q));
        CHECK(missing & 2 ? same_tensor(k, good) : bad_tensor(k));
        CHECK(missing & 4 ? same_tensor(v, good) : bad_tensor(v));
    }
}

/* The views go wherever tensors go: the bits are those of copies. out may be written where none of them lies. */
TEST(views_qkv_attend)
{
    static const size_t shapes[][5] = {{1, 5, 2, 2, 4}, {2, 7, 4, 2, 8}, {2, 19, 6, 1, 6}, {3, 33, 3, 3, 16}};
    for (size_t n = 0; n < 4 * sizeof shapes / sizeof *shapes; n++) {
        const size_t *s = shapes[n / 4], B = s[0], L = s[1], H = s[2], Hkv = s[3], D = s[4], row = (H + 2 * Hkv) * D;
        attn_mat all = test_random_mat(test_floats[n % 4], B * L, row, PACKED);
        attn_tensor q, k, v, own_q, own_k, own_v, out = test_tensor(all.dtype, B, H, L, D, T_BLHD),
                                                  want = test_tensor(all.dtype, B, H, L, D, T_BHLD);
        attn_opts opts = {0};
        opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
        test_case("%s, B %zu, L %zu, H %zu, Hkv %zu, D %zu", test_dtype_name(all.dtype), B, L, H, Hkv, D);
        CHECK_STATUS(attn_qkv(&q, &k, &v, all.data, all.dtype, B, L, H, Hkv, D), ATTN_OK);
        own_q = test_tensor_like(q, T_BHLD), own_k = test_tensor_like(k, T_BHLD), own_v = test_tensor_like(v, T_BHLD);
        /* turned in place, and nothing beside */
        test_freeze();
        CHECK_STATUS(attn_rope(q, q, NULL), ATTN_OK);
        CHECK(test_wrote_only_tensors(&q, 1));
        test_freeze();
        CHECK_STATUS(attn_rope(k, k, NULL), ATTN_OK);
        CHECK(test_wrote_only_tensors(&k, 1));
        CHECK_STATUS(attn_rope(own_q, own_q, NULL), ATTN_OK);
        CHECK_STATUS(attn_rope(own_k, own_k, NULL), ATTN_OK);
        CHECK(test_same_tensor_bits(q, own_q) && test_same_tensor_bits(k, own_k) && test_same_tensor_bits(v, own_v));
        CHECK_STATUS(attn_sdpa(want, own_q, own_k, own_v, &opts, NULL), ATTN_OK);
        test_freeze();
        CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_OK);
        CHECK(test_wrote_only_tensors(&out, 1) && test_same_tensor_bits(out, want));
        /* over what is read: refused */
        test_freeze();
        CHECK_STATUS(attn_sdpa(q, q, k, v, &opts, NULL), ATTN_ERR_ALIAS);
        if (H == Hkv) {
            CHECK_STATUS(attn_sdpa(k, q, k, v, &opts, NULL), ATTN_ERR_ALIAS);
            CHECK_STATUS(attn_sdpa(v, q, k, v, &opts, NULL), ATTN_ERR_ALIAS);
        }
        CHECK(test_wrote_nothing());
        /* between what is read: fine */
        CHECK_STATUS(attn_sdpa(q, own_q, k, v, &opts, NULL), ATTN_OK);
        CHECK(test_wrote_only_tensors(&q, 1) && test_same_tensor_bits(q, want));
        if (H == Hkv) {
            CHECK_STATUS(attn_rope(v, k, NULL), ATTN_OK);
            CHECK_STATUS(attn_rope(own_v, own_k, NULL), ATTN_OK);
            CHECK(test_same_tensor_bits(v, own_v) && test_same_tensor_bits(k, own_k));
        }
        test_release();
    }
}

TEST(views_too_large)
{
    double a[4] = {0};
    size_t half = SIZE_MAX / 2 + 1, root = (size_t)1 << (sizeof(size_t) * 4); /* root * root wraps to 0 */
    CHECK(test_bad_mat(attn_mat_of(a, ATTN_F64, SIZE_MAX, SIZE_MAX)));
    CHECK(test_bad_mat(attn_mat_of(a, ATTN_F64, root, root)));
    CHECK(test_bad_mat(attn_mat_of(a, ATTN_BOOL, half, 2)) && test_bad_mat(attn_mat_of(a, ATTN_BOOL, 2, half)));
    CHECK(test_bad_mat(attn_mat_of(a, ATTN_F64, SIZE_MAX / 8, 2)) &&
          test_bad_mat(attn_mat_of(a, ATTN_F32, half / 2, 1)));
    CHECK(test_bad_mat(attn_mat_new(ATTN_F64, SIZE_MAX, SIZE_MAX)) && test_bad_mat(attn_mat_new(ATTN_F32, root, root)));
    CHECK(test_bad_mat(attn_mat_new(ATTN_F64, half / 4, 2)) &&
          test_bad_mat(attn_mat_new(ATTN_F64, SIZE_MAX / 8 + 2, 1)));
    CHECK(bad_tensor(attn_bhld(a, ATTN_F32, root, 1, root, 1)) && bad_tensor(attn_blhd(a, ATTN_F32, root, 1, root, 1)));
    CHECK(bad_tensor(attn_bhld(a, ATTN_F32, 2, 2, half, 1)) && bad_tensor(attn_blhd(a, ATTN_F32, 2, half, 2, 1)));
    CHECK(bad_tensor(attn_bhld(a, ATTN_F32, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX)));
    CHECK(bad_tensor(attn_bhld(a, ATTN_F64, half / 8, 1, 1, 1)) &&
          bad_tensor(attn_blhd(a, ATTN_F64, 1, half / 8, 1, 1)));
    for (int axis = 0; axis < 4; axis++)
        for (int sign = -1; sign <= 1; sign += 2) {
            ptrdiff_t s[4] = {1, 1, 1, 1};
            s[axis] = sign < 0 ? PTRDIFF_MIN : PTRDIFF_MAX;
            test_case("axis %d, stride %td", axis, s[axis]);
            CHECK(bad_tensor(attn_tensor_of(a, ATTN_F32, 2, 2, 2, 2, s[0], s[1], s[2], s[3])));
            s[axis] /= 2;
            CHECK(bad_tensor(attn_tensor_of(a, ATTN_F32, 2, 2, 2, 2, s[0], s[1], s[2], s[3])));
            CHECK(bad_tensor(attn_tensor_of(a, ATTN_BOOL, 4, 4, 4, 4, s[0], s[1], s[2], s[3])));
        }
    test_case("elements out of this world");
    CHECK(isnan(attn_mat_get(mat(a, ATTN_F64, SIZE_MAX / 2, 2, PTRDIFF_MAX, 1), SIZE_MAX / 4, 1)));
    attn_mat_set(mat(a, ATTN_F64, SIZE_MAX / 2, 2, PTRDIFF_MIN, 1), SIZE_MAX / 4, 1, 1);
    test_case("a slice whose start is out of this world");
    CHECK(test_bad_mat(attn_mat_rows(mat(a, ATTN_F64, SIZE_MAX / 2, 1, PTRDIFF_MAX, 1), SIZE_MAX / 4, 1)));
    CHECK(test_bad_mat(attn_mat_cols(mat(a, ATTN_F64, 1, SIZE_MAX / 2, 1, PTRDIFF_MAX), SIZE_MAX / 4, 1)));
}

TEST(views_absent_and_bad)
{
    float a[4] = {1, 2, 3, 4};
    attn_mat none = {0}, bad = attn_mat_rows(attn_mat_of(a, ATTN_F32, 2, 2), 1, 2);
    attn_tensor no_tensor = {0}, bad_one = attn_tensor_slice(attn_bhld(a, ATTN_F32, 1, 1, 2, 2), 1, 2);
    CHECK(test_bad_mat(bad) && bad_tensor(bad_one));
    test_case("bad stays bad");
    CHECK(test_bad_mat(attn_mat_t(bad)) && test_bad_mat(attn_mat_rows(bad, 0, 1)) &&
          test_bad_mat(attn_mat_cols(bad, 0, 1)));
    CHECK(test_bad_mat(attn_mat_rows(bad, 0, 0)) && test_bad_mat(attn_mat_cols(bad, 0, 0)));
    CHECK(test_bad_mat(attn_mat_rows(bad, 0, SIZE_MAX)) && test_bad_mat(attn_mat_t(attn_mat_cols(bad, 1, 3))));
    CHECK(bad_tensor(attn_heads(bad, 1)) && bad_tensor(attn_heads(bad, 5)));
    CHECK(bad_tensor(attn_tensor_slice(bad_one, 0, 1)) && bad_tensor(attn_tensor_slice(bad_one, 0, 0)));
    CHECK(test_bad_mat(attn_head(bad_one, 0, 0)));
    CHECK(isnan(attn_mat_get(bad, 0, 0)));
    attn_mat_set(bad, 0, 0, 1);
    test_case("absent stays absent");
    CHECK(test_absent_mat(attn_mat_t(none)) && test_absent_mat(attn_mat_rows(none, 0, 0)) &&
          test_absent_mat(attn_mat_cols(none, 0, 0)));
    CHECK(test_bad_mat(attn_mat_rows(none, 0, 1)) && test_bad_mat(attn_mat_cols(none, 1, 0)));
    CHECK(absent_tensor(attn_tensor_slice(no_tensor, 0, 0)) && bad_tensor(attn_tensor_slice(no_tensor, 0, 1)));
    CHECK(absent_tensor(attn_heads(none, 2)));
    CHECK(isnan(attn_mat_get(none, 0, 0)));
    attn_mat_set(none, 0, 0, 1);
    test_case("empty is not absent");
    CHECK_STATUS(attn_mat_copy(attn_mat_of(NULL, ATTN_F32, 0, 0), attn_mat_of(NULL, ATTN_F32, 0, 0)), ATTN_OK);
    CHECK_STATUS(attn_mat_copy(none, attn_mat_of(NULL, ATTN_F32, 0, 0)), ATTN_ERR_NULL);
    none.dtype = ATTN_F16;
    CHECK_STATUS(attn_mat_copy(none, none), ATTN_OK);
    none.dtype = ATTN_F32;
    test_case("attn_head of an absent tensor has nothing to give");
    CHECK(attn_head(no_tensor, 0, 0).data == NULL);
    CHECK_STATUS(attn_mat_copy(attn_mat_of(a, ATTN_F32, 2, 2), attn_head(no_tensor, 0, 0)), ATTN_ERR_NULL);
    test_case("NULL data");
    CHECK(isnan(attn_mat_get(attn_mat_of(NULL, ATTN_F32, 2, 2), 1, 1)));
    attn_mat_set(attn_mat_of(NULL, ATTN_F32, 2, 2), 1, 1, 1);
    attn_mat_set(attn_mat_rows(attn_mat_of(NULL, ATTN_F32, 2, 2), 1, 1), 0, 1, 1);
    CHECK(isnan(attn_mat_get(attn_mat_cols(attn_mat_of(NULL, ATTN_F64, 2, 2), 1, 1), 1, 0)));
    CHECK_STATUS(attn_mat_copy(attn_mat_of(a, ATTN_F32, 1, 2), attn_mat_rows(attn_mat_of(NULL, ATTN_F32, 2, 2), 1, 1)),
                 ATTN_ERR_NULL);
}

TEST(views_new_and_free)
{
    attn_mat m, none = {0};
    for (int dtype = ATTN_F32; dtype <= ATTN_BOOL; dtype++) {
        long live = test_memory_state.live;
        test_case("%s", test_dtype_name((attn_dtype)dtype));
        m = attn_mat_new((attn_dtype)dtype, 3, 5);
        CHECK(test_same_mat(m, mat(m.data, (attn_dtype)dtype, 3, 5, 5, 1)) && m.data != NULL);
        CHECK(test_memory_state.live == live + 1);
        for (size_t i = 0; i < 15 * test_size((attn_dtype)dtype); i++)
            CHECK(((unsigned char *)m.data)[i] == 0);
        attn_mat_free(&m);
        CHECK(test_absent_mat(m) && test_memory_state.live == live);
        attn_mat_free(&m);
        CHECK(test_absent_mat(m));
    }
    for (size_t n = 0; n < 3; n++) {
        size_t rows = n == 0 ? 0 : 4 * (n - 1), cols = n == 1 ? 7 : 0;
        test_case("%zu x %zu", rows, cols);
        m = attn_mat_new(test_wide, rows, cols);
        CHECK(!test_bad_mat(m) && !test_absent_mat(m) && m.rows == rows && m.cols == cols);
        CHECK_STATUS(attn_mat_copy(m, m), ATTN_OK);
        attn_mat_free(&m);
        CHECK(test_absent_mat(m));
    }
    test_case("nothing to free");
    attn_mat_free(NULL);
    attn_mat_free(&none);
    m = attn_mat_new(ATTN_F32, SIZE_MAX, 2);
    CHECK(test_bad_mat(m));
    attn_mat_free(&m);
    CHECK(test_absent_mat(m));
    test_case("no memory");
    test_memory_state.fail_all = 1;
    m = attn_mat_new(ATTN_F32, 2, 2);
    test_memory_state.fail_all = 0;
    CHECK(test_bad_mat(m));
    test_case("no such dtype");
    CHECK(test_bad_mat(attn_mat_new((attn_dtype)77, 2, 2)) && test_bad_mat(attn_mat_new((attn_dtype)-1, 2, 2)));
}

TEST(views_get_and_set)
{
    static const double values[] = {0, -0.0, 1, -2, 0.5, 240, 1.0 / 1024};
    for (int dtype = ATTN_F32; dtype <= ATTN_BF16; dtype++)
        for (int layout = PACKED; layout < OUT_LAYOUTS; layout++) {
            attn_mat m = test_mat((attn_dtype)dtype, 3, 4, layout);
            test_case("%s, layout %d", test_dtype_name((attn_dtype)dtype), layout);
            for (size_t n = 0; n < sizeof values / sizeof *values; n++) {
                size_t r = n % 3, c = (3 * n + 1) % 4;
                attn_mat one = attn_mat_rows(attn_mat_cols(m, c, 1), r, 1);
                test_freeze();
                attn_mat_set(m, r, c, values[n]);
                CHECK(test_wrote_only(&one, 1));
                CHECK(test_bits64(attn_mat_get(m, r, c)) == test_bits64(values[n]));
                CHECK(attn_mat_get(one, 0, 0) == values[n] && attn_mat_get(attn_mat_t(m), c, r) == values[n]);
                CHECK((double)test_load(test_at(m, r, c), m.dtype) == values[n]);
            }
            test_freeze();
            attn_mat_set(m, 3, 0, 1);
            attn_mat_set(m, 0, 4, 1);
            attn_mat_set(m, SIZE_MAX, SIZE_MAX, 1);
            attn_mat_set(m, SIZE_MAX, 0, 1);
            CHECK(test_wrote_nothing());
            CHECK(isnan(attn_mat_get(m, 3, 0)) && isnan(attn_mat_get(m, 0, 4)) && isnan(attn_mat_get(m, SIZE_MAX, 1)));
        }
    {
        unsigned char b[3] = {0, 2, 255};
        attn_mat m = attn_mat_of(b, ATTN_BOOL, 1, 3);
        test_case("bool");
        CHECK(attn_mat_get(m, 0, 0) == 0 && attn_mat_get(m, 0, 1) == 1 && attn_mat_get(m, 0, 2) == 1);
        attn_mat_set(m, 0, 0, 0.25);
        attn_mat_set(m, 0, 1, -0.0);
        attn_mat_set(m, 0, 2, NAN);
        CHECK(b[0] == 1 && b[1] == 0 && b[2] == 1);
        m.dtype = ATTN_I8;
        test_case("i8 and unknown dtypes are refused");
        attn_mat_set(m, 0, 1, 5);
        CHECK(b[1] == 0 && isnan(attn_mat_get(m, 0, 0)));
        m.dtype = (attn_dtype)77;
        attn_mat_set(m, 0, 1, 5);
        CHECK(b[1] == 0 && isnan(attn_mat_get(m, 0, 0)));
        m.dtype = ATTN_BOOL;
        CHECK_STATUS(attn_mat_copy(m, mat(b, ATTN_I8, 1, 3, 3, 1)), ATTN_ERR_DTYPE);
    }
}
