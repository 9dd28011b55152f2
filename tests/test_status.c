/* Every status that a step can return, for every argument that can cause it; the order of the checks; and that a call
   that fails has written nothing. A fault is something wrong done to one argument of a call that was right. */
#include "calls.h"

#include <errno.h>

typedef struct call_state {
    const test_op *op;
    attn_mat m[OP_ARGS];
    double scale;
    attn_ctx ctx;
    int no_memory;
} call_state;

/* ---- faults ---- */

/* First those of argument `arg`, which is *m: wanted: weights, which may be absent, of any float. */
#define FAULT_LIST(X)                                                                                                  \
    X(ABSENT, 0, NULL, *m = none; ONLY_IF(!wanted))                                                                    \
    X(BAD, 0, NULL, *m = attn_mat_rows(*m, m->rows, 1))                                                                \
    X(NULL_DATA, 0, NULL, m->data = NULL; ONLY_IF(full))                                                               \
    X(DTYPE_I8, 0, DTYPE, m->dtype = ATTN_I8)                                                                          \
    X(DTYPE_BOOL, 0, DTYPE, m->dtype = ATTN_BOOL; ONLY_IF(!copy))                                                      \
    X(DTYPE_F64, 0, DTYPE, m->dtype = ATTN_F64; ONLY_IF(test_wide != ATTN_F64 || (!copy && !wanted)))                \
    X(DTYPE_UNKNOWN, 0, DTYPE, m->dtype = (attn_dtype)77)                                                              \
    X(DTYPE_NEGATIVE, 0, DTYPE, m->dtype = (attn_dtype)-1)                                                             \
    X(ROWS, 0, SHAPE, m->rows++)                                                                                       \
    X(COLS, 0, SHAPE, m->cols++)                                                                                       \
    X(ROWS_MAX, 0, SHAPE, m->rows = SIZE_MAX)                                                                          \
    X(COLS_MAX, 0, SHAPE, m->cols = SIZE_MAX)                                                                          \
    X(STRIDE_MAX, 0, OVERFLOW, *stride = PTRDIFF_MAX; ONLY_IF(full))                                                   \
    X(STRIDE_MIN, 0, OVERFLOW, *stride = PTRDIFF_MIN; ONLY_IF(full))                                                   \
    X(STRIDE_BYTES, 0, OVERFLOW, *stride = PTRDIFF_MAX / 2; ONLY_IF(full))                                             \
    X(MISALIGNED, 0, VALUE, m->data = askew(m->data, 1); ONLY_IF(full))                                                \
    X(ZERO_STRIDE, 0, ALIAS, *stride = 0; ONLY_IF(full && output))                                                     \
    X(CLOSE_STRIDES, 0, ALIAS, m->row_stride = m->col_stride = 1; ONLY_IF(full && output))                             \
    X(OVERLAP, 0, ALIAS, ONLY_IF(meets); m->data = askew(source.data, sizeof(float)))                                  \
    X(IN_PLACE, 0, ALIAS, ONLY_IF(meets && !(op->flags & OP_IN_PLACE)); m->data = source.data)                         \
    X(SCALE_NAN, 0, VALUE, s->scale = NAN; ONLY_IF(op->flags & OP_SCALE))                                              \
    X(SCALE_INF, 0, VALUE, s->scale = -HUGE_VAL; ONLY_IF(op->flags & OP_SCALE))                                        \
    X(ISA_LACKING, 0, VALUE, s->ctx.isa = TEST_ISA_LACKING; ONLY_IF(op->flags & OP_CTX))                               \
    X(ISA_UNKNOWN, 0, VALUE, s->ctx.isa = (attn_isa)77; ONLY_IF(op->flags & OP_CTX))                                   \
    X(ISA_NEGATIVE, 0, VALUE, s->ctx.isa = (attn_isa)-1; ONLY_IF(op->flags & OP_CTX))                                  \
    X(NO_MEMORY, 0, NOMEM, s->no_memory = 1; ONLY_IF(op->flags & OP_ALLOCATES))

enum fault { FAULT_LIST(FAULT_NUMBER) FAULTS, MATRIX_FAULTS = SCALE_NAN };
static const fault_row faults[] = {FAULT_LIST(FAULT_ENTRY)};

/* Does it; the status to expect, or ATTN_OK where the fault has no meaning. */
static attn_status inflict(call_state *s, int fault, int arg)
{
    attn_mat *m = &s->m[arg];
    const test_op *op = s->op;
    int copy = op->flags & OP_COPY, wanted = strcmp(op->name, "attention") == 0 && arg == 1;
    int full = m->rows && m->cols, output = arg < op->outs;
    ptrdiff_t *stride = m->rows > 1 ? &m->row_stride : &m->col_stride;
    attn_mat none = {0}, source = s->m[op->outs];
    int meets = full && output && source.data && source.rows && source.cols;
    switch (fault) {
        FAULT_LIST(FAULT_CASE)
    }
    return ATTN_OK;
}

/* A call that is right, with outputs of canaries and a little room behind each input. */
static call_state good_call(const test_op *op, const size_t *dims)
{
    call_state s = {op, {{NULL, ATTN_F32, 0, 0, 0, 0}}, 1, test_ctx(ATTN_ISA_BEST), 0};
    for (int a = 0; a < op->args; a++) {
        size_t rows, cols;
        test_op_shape(op, a, dims, &rows, &cols);
        s.m[a] = test_mat(ATTN_F32, rows, cols, PACKED);
        if (a >= op->outs)
            test_fill(s.m[a], 0.25);
    }
    return s;
}

static attn_status make_step(const call_state *s)
{
    attn_status status;
    test_memory_state.fail_all = s->no_memory;
    status = s->op->call(s->m, s->scale, &s->ctx);
    test_memory_state.fail_all = 0;
    return status;
}

static int args_of(const test_op *op, int fault)
{
    return fault < MATRIX_FAULTS ? op->args : 1;
}

static const size_t sizes[DIMS] = {3, 4, 5, 6, 7};

/* Each fault alone; and then that what is right is right. Memory for nothing is not asked for. */
static void check_faults(const test_op *op, const size_t *dims)
{
    call_state good = good_call(op, dims), s;
    test_freeze();
    for (int fault = 0; fault < FAULTS; fault++)
        for (int arg = 0; arg < args_of(op, fault); arg++) {
            attn_status want;
            s = good;
            if ((want = inflict(&s, fault, arg)) == ATTN_OK || (want == ATTN_ERR_NOMEM && dims != sizes))
                continue;
            test_case("attn_%s, dims %zu %zu, argument %d: %s", op->name, dims[0], dims[1], arg, faults[fault].name);
            CHECK_STATUS(make_step(&s), want);
            CHECK(test_wrote_nothing());
        }
    test_case("attn_%s, dims %zu %zu, as it should be", op->name, dims[0], dims[1]);
    CHECK_STATUS(make_step(&good), ATTN_OK);
    CHECK(test_wrote_only(good.m, (size_t)op->outs));
    if (dims == sizes)
        CHECK(!test_same_bits(good.m[0], test_mat(ATTN_F32, good.m[0].rows, good.m[0].cols, PACKED)));
    test_release();
}

TEST(status_single_faults)
{
    for (size_t o = 0; o < test_op_count; o++)
        check_faults(&test_ops[o], sizes);
}

/* Two faults at once, in two arguments or in one: the one that is checked first is the one that is reported. */
static void check_order(const test_op *op, const size_t *dims)
{
    call_state good = good_call(op, dims);
    test_freeze();
    for (int f = 0; f < FAULTS; f++)
        for (int g = 0; g < FAULTS; g++)
            for (int a = 0; a < args_of(op, f); a++)
                for (int b = 0; b < args_of(op, g); b++) {
                    call_state s = good;
                    attn_status first, second;
                    int of_matrices = f < MATRIX_FAULTS && g < MATRIX_FAULTS;
                    if (of_matrices && a == b) /* one may undo the other */
                        continue;
                    if (test_quick && test_below(8))
                        continue;
                    first = inflict(&s, f, a);
                    second = inflict(&s, g, b);
                    if (first == ATTN_OK || second == ATTN_OK || first == second)
                        continue;
                    test_case("attn_%s, %s in %d and %s in %d, dims %zu %zu", op->name, faults[f].name, a,
                              faults[g].name, b, dims[0], dims[1]);
                    CHECK_STATUS(make_step(&s), test_rank(first) < test_rank(second) ? first : second);
                    CHECK(test_wrote_nothing());
                }
    test_release();
}

/* What a library without F64 is given of it, it refuses: all arguments, or one. */
TEST(status_f64)
{
    double numbers[64] = {0};
    const double kept[64] = {0};
    attn_mat m = attn_mat_of(numbers, ATTN_F64, 4, 4), f32 = test_mat(ATTN_F32, 4, 4, PACKED), heads[2];
    attn_mat by_distance = test_mat(ATTN_F32, 4, 7, PACKED), f64s = attn_mat_of(numbers + 32, ATTN_F64, 4, 7);
    attn_tensor t = attn_heads(m, 2), t32 = attn_heads(f32, 2);
    attn_kv_cache cache = {0};
    attn_kv_pages pages = {0};
    attn_rope_opts tables = {0};
    size_t bytes = 77, lens[2] = {0, 0}, most = sizeof numbers;
    const uint32_t table[2] = {0, 1};
    if (test_lacks_f64()) {
        for (size_t o = 0; o < test_op_count; o++) {
            call_state s = good_call(&test_ops[o], sizes);
            for (int a = 0; a < s.op->args; a++)
                s.m[a].dtype = ATTN_F64;
            test_freeze();
            test_case("attn_%s, all", s.op->name);
            CHECK_STATUS(make_step(&s), ATTN_ERR_DTYPE);
            CHECK(test_wrote_nothing());
        }
        test_fill(f32, 0.5), test_fill(by_distance, 0.5);
        test_freeze();
        test_case("steps of one matrix and more");
        CHECK_STATUS(attn_mat_copy(f32, m), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_mat_copy(m, f32), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_mat_copy(m, m), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_sparsemax(m, m), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_entmax15(m, m), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_sparsemax(f32, m), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_entmax15(m, f32), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_softmax_backward(m, m, m), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_softmax_backward(f32, f32, m), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_softmax_backward(m, f32, f32), ATTN_ERR_DTYPE);
        heads[0] = attn_mat_cols(m, 0, 2), heads[1] = attn_mat_cols(m, 2, 2);
        CHECK_STATUS(attn_concat_heads(m, heads, 2), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_concat_heads(f32, heads, 2), ATTN_ERR_DTYPE);
        test_case("positions");
        CHECK_STATUS(attn_sinusoid(m, 0), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_t5_bias(f64s, f32, 1, 0, 0), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_t5_bias(by_distance, m, 1, 0, 0), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_t5_bias_backward(m, by_distance, 1, 0, 0), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_t5_bias_backward(f32, f64s, 1, 0, 0), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_rope(t, t, NULL), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_rope(t32, t, NULL), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_rope(t, t32, NULL), ATTN_ERR_DTYPE);
        tables.cos = tables.sin = attn_mat_cols(attn_mat_t(by_distance), 0, 1);
        CHECK_STATUS(attn_rope(t32, t32, &tables), ATTN_OK);
        test_freeze();
        tables.cos = attn_mat_cols(m, 0, 1);
        CHECK_STATUS(attn_rope(t32, t32, &tables), ATTN_ERR_DTYPE);
        tables.sin = tables.cos, tables.cos = attn_mat_cols(attn_mat_t(by_distance), 0, 1);
        CHECK_STATUS(attn_rope(t32, t32, &tables), ATTN_ERR_DTYPE);
        test_case("caches and pages");
        CHECK_STATUS(attn_kv_cache_size(&bytes, 1, 2, 4, 2, 2, ATTN_F64, 0), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_kv_cache_init(&cache, 1, 2, 4, 2, 2, ATTN_F64, 0, numbers, most), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_kv_cache_init(&cache, 1, 2, 4, 2, 2, ATTN_F64, 0, NULL, 0), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_kv_cache_over(&cache, t, t, lens, NULL), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_kv_cache_over(&cache, t32, t, lens, NULL), ATTN_ERR_DTYPE);
        CHECK(bytes == 77 && !cache.k.data && !cache.lens);
        cache.k = cache.v = t32, cache.lens = lens;
        CHECK_STATUS(attn_kv_cache_append(&cache, t, t32, NULL), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_kv_cache_append(&cache, t32, t, NULL), ATTN_ERR_DTYPE);
        lens[0] = 1;
        CHECK_STATUS(attn_kv_cache_row(attn_mat_of(numbers, ATTN_F64, 2, 2), &cache, 0, 0, 0), ATTN_ERR_DTYPE);
        cache.v = t;
        CHECK_STATUS(attn_kv_cache_append(&cache, t32, t32, NULL), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_kv_cache_reorder(&cache, lens + 1), ATTN_ERR_DTYPE);
        CHECK_STATUS(attn_kv_cache_copy(&cache, 0, 0, 0), ATTN_ERR_DTYPE);
        pages.k = pages.v = t32, pages.lens = lens, pages.table = table, pages.table_stride = 1, pages.batch = 1;
        CHECK_STATUS(attn_kv_pages_append(&pages, t, t, NULL), ATTN_ERR_DTYPE);
        pages.k = t;
        CHECK_STATUS(attn_kv_pages_append(&pages, t32, t32, NULL), ATTN_ERR_DTYPE);
        CHECK(test_wrote_nothing() && lens[0] == 1 && lens[1] == 0 && memcmp(numbers, kept, sizeof kept) == 0);
        test_case("views");
        attn_mat_set(m, 1, 2, 0.1);
        CHECK(attn_mat_get(m, 1, 2) == 0.1 && numbers[6] == 0.1);
    }
}

TEST(status_order)
{
    for (size_t o = 0; o < test_op_count; o++)
        check_order(&test_ops[o], sizes);
}

TEST(status_empty_shapes)
{
    static const size_t empty[][DIMS] = {{0, 4, 5, 6, 7}, {3, 0, 5, 6, 7}, {0, 0, 5, 6, 7}};
    for (size_t o = 0; o < test_op_count; o++)
        for (size_t e = 0; e < 3; e++) {
            check_faults(&test_ops[o], empty[e]);
            check_order(&test_ops[o], empty[e]);
        }
}

TEST(status_numbers)
{
    attn_mat q = test_random_mat(ATTN_F32, 2, 3, PACKED), k = test_random_mat(ATTN_F32, 2, 3, PACKED),
             out = test_mat(ATTN_F32, 2, 2, PACKED);
    attn_mat no_dims = attn_mat_cols(q, 0, 0), weights = test_mat(ATTN_F32, 2, 2, PACKED), none = {0};
    attn_mat wide = test_mat(ATTN_F64, 2, 2, PACKED);
    test_freeze();
    test_case("a head of size 0");
    CHECK_STATUS(attn_scores(out, no_dims, no_dims, 1), ATTN_ERR_SHAPE);
    CHECK_STATUS(attn_attention(out, none, no_dims, no_dims, out, 1), ATTN_ERR_SHAPE);
    test_case("v of the additive score is one column");
    CHECK_STATUS(attn_scores_additive(out, q, k, attn_mat_t(q), attn_mat_t(k), out), ATTN_ERR_SHAPE);
    test_case("weighted_values takes one row of weights");
    CHECK_STATUS(attn_weighted_values(test_mat(ATTN_F32, 2, 3, PACKED), weights, q), ATTN_ERR_SHAPE);
    test_case("weights may be absent, never bad");
    CHECK_STATUS(attn_attention(out, attn_mat_rows(weights, 1, 2), q, k, attn_mat_cols(q, 0, 2), 0), ATTN_ERR_NULL);
    test_case("types that do not mix");
    CHECK_STATUS(attn_matmul(wide, q, attn_mat_t(k)), ATTN_ERR_DTYPE);
    CHECK_STATUS(attn_softmax(wide, weights), ATTN_ERR_DTYPE);
    CHECK_STATUS(attn_softmax(weights, wide), ATTN_ERR_DTYPE);
    CHECK(test_wrote_nothing());
    test_case("finite numbers");
    CHECK_STATUS(attn_scores(out, q, k, -1), ATTN_OK);
    CHECK_STATUS(attn_scores_cosine(out, q, k, 0), ATTN_OK);
    CHECK(test_load(out.data, ATTN_F32) == 0);
    CHECK_STATUS(attn_matmul_ctx(out, q, attn_mat_t(k), 1, NULL), ATTN_OK);
    CHECK_STATUS(attn_softmax_ctx(out, out, NULL), ATTN_OK);
    test_case("a number that is none in the compute type");
    CHECK_STATUS(attn_scores(out, q, k, 1e300), ATTN_ERR_VALUE);
    CHECK_STATUS(attn_matmul_ctx(out, q, attn_mat_t(k), -1e39, NULL), ATTN_ERR_VALUE);
    if (test_wide == ATTN_F64) {
    CHECK_STATUS(attn_matmul_ctx(wide, wide, test_numbers(ATTN_F64, 2, 2, (const double[]){1, 2, 3, 4}), 1e300, NULL),
                 ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_matmul_ctx(wide, test_mat(ATTN_F64, 2, 1, PACKED), test_mat(ATTN_F64, 1, 2, PACKED), 1e300, NULL),
                 ATTN_OK);
    }
    {
        static const double numbers[] = {NAN, HUGE_VAL, -HUGE_VAL};
        attn_mat x = test_mat(test_wide, 2, 3, PACKED), result = test_mat(test_wide, 2, 2, PACKED);
        attn_mat mixed = test_mat(test_wide, 2, 3, PACKED);
        for (size_t n = 0; n < 3; n++) {
            CHECK_STATUS(attn_scores(result, x, x, numbers[n]), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_scores_cosine(result, x, x, numbers[n]), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_matmul_ctx(result, x, attn_mat_t(x), numbers[n], NULL), ATTN_ERR_VALUE);
            CHECK_STATUS(attn_attention(mixed, none, x, x, x, numbers[n]), ATTN_ERR_VALUE);
        }
    }
    test_case("scratch that is not there, or is in use");
    {
        float other[4] = {1, 2, 3, 4};
        attn_mat in = attn_mat_of(other, ATTN_F32, 2, 2);
        attn_ctx ctx = {{NULL, NULL, 0}, NULL, 100, ATTN_ISA_BEST, NULL, 0, NULL};
        CHECK_STATUS(attn_softmax_ctx(out, in, &ctx), ATTN_ERR_NULL);
        CHECK_STATUS(attn_matmul_ctx(out, in, in, 1, &ctx), ATTN_ERR_NULL);
        ctx.scratch = (char *)out.data + 15;
        CHECK_STATUS(attn_softmax_ctx(out, in, &ctx), ATTN_ERR_ALIAS);
        CHECK_STATUS(attn_matmul_ctx(out, in, in, 1, &ctx), ATTN_ERR_ALIAS);
        ctx.scratch = other;
        ctx.scratch_size = 1;
        CHECK_STATUS(attn_softmax_ctx(out, in, &ctx), ATTN_ERR_ALIAS);
        CHECK_STATUS(attn_matmul_ctx(out, in, in, 1, &ctx), ATTN_ERR_ALIAS);
        CHECK_STATUS(attn_softmax_ctx(in, in, &ctx), ATTN_ERR_ALIAS);
    }
    test_case("misaligned by 2 and 4 bytes");
    {
        attn_mat m = attn_mat_of((char *)q.data + 2, ATTN_F32, 1, 1);
        CHECK_STATUS(attn_mat_copy(out, m), ATTN_ERR_SHAPE);
        CHECK_STATUS(attn_mat_copy(attn_mat_of(out.data, ATTN_F32, 1, 1), m), ATTN_ERR_VALUE);
        CHECK_STATUS(
            attn_mat_copy(attn_mat_of((char *)out.data + 2, ATTN_F32, 1, 1), attn_mat_of(q.data, ATTN_F32, 1, 1)),
            ATTN_ERR_VALUE);
        CHECK_STATUS(
            attn_mat_copy(attn_mat_of((char *)wide.data + 1, ATTN_F16, 1, 1), attn_mat_of(q.data, ATTN_F32, 1, 1)),
            ATTN_ERR_VALUE);
        CHECK_STATUS(
            attn_mat_copy(attn_mat_of((char *)wide.data + 1, ATTN_BOOL, 1, 1), attn_mat_of(q.data, ATTN_F32, 1, 1)),
            ATTN_OK);
    }
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        test_case("%s", attn_isa_string(isa));
        CHECK_STATUS(attn_softmax_ctx(out, out, &ctx), ATTN_OK);
    }
    for (int isa = ATTN_ISA_SCALAR; isa <= TEST_LAST_ISA; isa++) {
        attn_ctx ctx = test_ctx((attn_isa)isa);
        test_case("isa %d", isa);
        CHECK_STATUS(attn_matmul_ctx(out, q, attn_mat_t(k), 1, &ctx),
                     attn_isa_available((attn_isa)isa) ? ATTN_OK : ATTN_ERR_VALUE);
    }
}

TEST(status_heads)
{
    attn_mat in = test_random_mat(ATTN_F32, 3, 8, PACKED), out = test_mat(ATTN_F32, 3, 8, PACKED), heads[4], none = {0},
             kept;
    for (int h = 0; h < 4; h++)
        heads[h] = attn_mat_cols(out, 0, 1);
    kept = heads[0];
    test_freeze();
    test_case("split");
    CHECK_STATUS(attn_split_heads(NULL, 2, in), ATTN_ERR_NULL);
    CHECK_STATUS(attn_split_heads(heads, 2, none), ATTN_ERR_NULL);
    CHECK_STATUS(attn_split_heads(heads, 2, attn_mat_cols(in, 8, 1)), ATTN_ERR_NULL);
    CHECK_STATUS(attn_split_heads(heads, 0, in), ATTN_ERR_SHAPE);
    CHECK_STATUS(attn_split_heads(heads, 3, in), ATTN_ERR_SHAPE);
    CHECK_STATUS(attn_split_heads(heads, 16, in), ATTN_ERR_SHAPE);
    in.dtype = ATTN_I8;
    CHECK_STATUS(attn_split_heads(heads, 3, in), ATTN_ERR_DTYPE);
    in.dtype = ATTN_F32;
    CHECK(test_same_mat(heads[0], kept));
    test_case("concat");
    CHECK_STATUS(attn_split_heads(heads, 4, in), ATTN_OK);
    CHECK_STATUS(attn_concat_heads(out, NULL, 4), ATTN_ERR_NULL);
    CHECK_STATUS(attn_concat_heads(none, heads, 4), ATTN_ERR_NULL);
    CHECK_STATUS(attn_concat_heads(out, heads, 3), ATTN_ERR_SHAPE);
    CHECK_STATUS(attn_concat_heads(out, heads, 0), ATTN_ERR_SHAPE);
    kept = heads[3];
    heads[3] = none;
    CHECK_STATUS(attn_concat_heads(out, heads, 4), ATTN_ERR_NULL);
    heads[3] = kept;
    heads[2].dtype = ATTN_BOOL;
    CHECK_STATUS(attn_concat_heads(out, heads, 4), ATTN_ERR_DTYPE);
    heads[2].dtype = ATTN_F32;
    heads[1].rows = 2;
    CHECK_STATUS(attn_concat_heads(out, heads, 4), ATTN_ERR_SHAPE);
    heads[1].rows = 3;
    heads[1].cols = SIZE_MAX; /* 2 + SIZE_MAX + 2 + 2 is no sum */
    CHECK_STATUS(attn_concat_heads(out, heads, 4), ATTN_ERR_SHAPE);
    heads[1].cols = 2;
    heads[3] = attn_mat_cols(out, 6, 2);
    CHECK_STATUS(attn_concat_heads(out, heads, 4), ATTN_ERR_ALIAS);
    heads[3] = kept;
    CHECK(test_wrote_nothing());
    CHECK_STATUS(attn_concat_heads(out, heads, 4), ATTN_OK);
    CHECK(test_same_bits(out, in));
}

/* Shapes that fit one another but no memory: broadcast inputs make them possible without a byte. */
TEST(status_huge_shapes)
{
    float x = 1, y = 1;
    size_t huge = SIZE_MAX / 2;
    attn_mat column = {&x, ATTN_F32, huge, 1, 0, 1}, row = {&x, ATTN_F32, 1, huge, 1, 0};
    attn_mat out = {&y, ATTN_F32, huge, huge, 1, 1}, flat = {&y, ATTN_F32, huge, huge, 0, 0},
             tall = {&y, ATTN_F32, huge, 1, 1, 1};
    attn_mat all = {&x, ATTN_F32, huge, huge, 0, 0};
    CHECK_STATUS(attn_matmul(out, column, row), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_scores(out, column, column, 1), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_softmax(out, all), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_mat_copy(out, all), ATTN_ERR_OVERFLOW);
    CHECK_STATUS(attn_mat_copy(tall, column), ATTN_ERR_OVERFLOW);
    CHECK(attn_mat_copy(flat, all) == ATTN_ERR_OVERFLOW || attn_mat_copy(flat, all) == ATTN_ERR_ALIAS);
    test_case("a sum of more terms than can be counted");
    for (size_t terms = huge + 1; terms > huge; terms += huge) { /* 2^63 and 2^64 - 1, say */
        attn_mat a = {&x, ATTN_F32, 1, terms, 0, 0}, b = {&x, ATTN_F32, terms, 1, 0, 0}, c = {&y, ATTN_F32, 1, 1, 1, 1};
        CHECK_STATUS(attn_matmul(c, a, b), ATTN_ERR_OVERFLOW);
    }
    test_case("temporaries that fit no memory"); /* one query, one key, but A or Dk beyond counting */
    {
        attn_mat one = {&x, ATTN_F32, 1, 1, 1, 1}, result = {&y, ATTN_F32, 1, 1, 1, 1};
        attn_mat lots = {&x, ATTN_F32, huge, huge, 0, 0};
        CHECK_STATUS(attn_scores_additive(result, one, one, row, row, column), ATTN_ERR_OVERFLOW);
        CHECK_STATUS(attn_scores_general(result, one, row, row), ATTN_ERR_OVERFLOW);
        CHECK_STATUS(attn_scores_cosine(result, row, row, 1), ATTN_ERR_OVERFLOW);
        CHECK_STATUS(attn_attention(tall, attn_mat_rows(lots, 0, 0), column, column, column, 1), ATTN_ERR_SHAPE);
    }
    CHECK(y == 1);
}

/* Every allocation fails once: the call says NOMEM and has written nothing, or did without and gives the same bits. */
TEST(status_no_memory)
{
    static const size_t dims[][DIMS] = {{3, 4, 5, 6, 7}, {70, 90, 40, 50, 33}};
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16};
    for (size_t o = 0; o < test_op_count; o++)
        for (size_t n = 0; n < 12; n++) {
            const test_op *op = &test_ops[o];
            attn_mat none = {0};
            size_t d = n / 3 % 2;
            call_state s = good_call(op, dims[d]);
            attn_mat want[2];
            int absent = n >= 6, attention = strcmp(op->name, "attention") == 0, spent = 0;
            if ((test_quick && d) || (absent && !attention)) {
                test_release();
                continue;
            }
            for (int a = 0; a < op->args; a++) {
                attn_mat m = test_mat(dtypes[n % 3], s.m[a].rows, s.m[a].cols, PACKED);
                if (a >= op->outs)
                    test_fill(m, test_uniform());
                s.m[a] = m;
            }
            if (absent)
                s.m[1] = none;
            test_case("attn_%s, %s, dims %zu", op->name, test_dtype_name(dtypes[n % 3]), d);
            CHECK_STATUS(make_step(&s), ATTN_OK);
            for (int a = 0; a < op->outs; a++)
                want[a] = a && absent ? none : test_mat_like(s.m[a], PACKED);
            for (int nth = 1; !spent; nth++) {
                attn_status status;
                for (int a = 0; a < op->outs; a++)
                    if (s.m[a].data)
                        test_fill(s.m[a], 99);
                test_freeze();
                test_memory_state.fail_at = nth;
                status = s.op->call(s.m, s.scale, &s.ctx);
                spent = test_memory_state.fail_at > 0;
                test_memory_state.fail_at = 0;
                test_case("attn_%s, %s, dims %zu, allocation %d fails", op->name, test_dtype_name(dtypes[n % 3]), d,
                          nth);
                CHECK(status == ATTN_OK || status == ATTN_ERR_NOMEM);
                CHECK(status == ATTN_OK || op->flags & OP_ALLOCATES || attention);
                CHECK(status == ATTN_OK ? test_same_bits(s.m[0], want[0]) : test_wrote_nothing());
            }
            s.no_memory = 1;
            test_case("attn_%s, %s, dims %zu, no memory at all", op->name, test_dtype_name(dtypes[n % 3]), d);
            if (op->flags & OP_ALLOCATES || (attention && (absent || n % 3 == 2)))
                CHECK_STATUS(make_step(&s), ATTN_ERR_NOMEM);
            else
                CHECK_STATUS(make_step(&s), ATTN_OK);
            test_release();
        }
}

/* The caller's errno is never changed, whatever libm and malloc do to it. */
TEST(status_errno)
{
    static const double x[] = {0, -1e4, -800, -746};
    attn_mat in = test_numbers(test_wide, 1, 4, x), out = test_mat(test_wide, 1, 4, PACKED), one = attn_mat_cols(in, 1, 1);
    attn_mat large = test_random_mat(ATTN_F32, 100, 100, PACKED), product = test_mat(ATTN_F32, 100, 100, PACKED);
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        test_case("%s", attn_isa_string(isa));
        errno = 7;
        CHECK_STATUS(attn_softmax_ctx(out, in, &ctx), ATTN_OK);
        CHECK(errno == 7);
    }
    test_case("tanh, and no memory");
    errno = 7;
    CHECK_STATUS(attn_scores_additive(attn_mat_cols(out, 0, 1), one, one, one, one, one), ATTN_OK);
    CHECK(errno == 7);
    test_memory_state.fail_all = 1;
    CHECK(test_bad_mat(attn_mat_new(ATTN_F32, 2, 2)));
    CHECK_STATUS(attn_matmul(product, large, large), ATTN_OK);
    CHECK(errno == 7);
    test_memory_state.fail_all = 0;
}

/* Without elements there is nothing to do, however many rows there are of them. */
TEST(status_endless_rows)
{
    float x = 1;
    attn_mat rows = {&x, ATTN_F32, PTRDIFF_MAX / 8, 0, 0, 0}, one = attn_mat_of(&x, ATTN_F32, 1, 1);
    attn_mat weights = {&x, ATTN_F32, 1, PTRDIFF_MAX / 8, 0, 0}, none = attn_mat_of(&x, ATTN_F32, 0, 1);
    CHECK_STATUS(attn_mat_copy(rows, rows), ATTN_OK);
    CHECK_STATUS(attn_softmax(rows, rows), ATTN_OK);
    CHECK_STATUS(attn_weighted_values(rows, weights, rows), ATTN_OK);
    CHECK_STATUS(attn_weighted_sum(rows, rows, attn_mat_t(none)), ATTN_ERR_SHAPE);
    CHECK_STATUS(attn_concat_heads(rows, &rows, 1), ATTN_OK);
    CHECK_STATUS(attn_scores_cosine(rows, rows, attn_mat_cols(none, 0, 0), 1), ATTN_OK);
    CHECK_STATUS(
        attn_scores_additive(rows, rows, none, attn_mat_rows(attn_mat_t(none), 0, 0), attn_mat_cols(one, 0, 0), none),
        ATTN_OK);
}
