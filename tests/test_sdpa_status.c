/* Every status that the engine can return, for every argument that can cause it; the order of the checks; that a call
   which fails has written nothing; and what a dry run says of it. A fault is something wrong done to one argument of a
   call that was right. */
#include "calls.h"
#include "grid.h"

#include <errno.h>

/* ---- arguments ---- */

/* Tensors first; and what they are called in explanations. */
/* clang-format off */
#define ARG_LIST(X)                                                                                                    \
    X(OUT, "out", REQUIRED | OUTPUT) X(Q, "q", REQUIRED) X(K, "k", REQUIRED) X(V, "v", REQUIRED)                       \
    X(MASK, "opts.mask", TRUTH | BROADCAST) X(BIAS, "opts.bias", ANY_FLOAT | BROADCAST)                                \
    X(LSE, "opts.lse", OUTPUT | ANY_FLOAT) X(WEIGHTS, "opts.weights", OUTPUT | ANY_FLOAT)                              \
    X(SCORES, "opts.scores", OUTPUT | ANY_FLOAT)                                                                       \
    X(CAUSAL, "opts.causal", 0) X(CAUSAL_OFFSET, "opts.causal_offset", 0) X(WINDOW, "opts.window", 0)                  \
    X(Q_LENS, "opts.q_lens", 0) X(KV_LENS, "opts.kv_lens", 0) X(SCALE, "opts.scale", 0) X(SOFTCAP, "opts.softcap", 0)  \
    X(STAGE, "opts.scores_stage", 0) X(SCRATCH, "ctx.scratch", 0) X(ISA, "ctx.isa", 0)
/* clang-format on */

enum role { REQUIRED = 1, OUTPUT = 2, ANY_FLOAT = 4, TRUTH = 8, BROADCAST = 16 };
enum arg { ARG_LIST(ARG_NUMBER) ARGS, TENSORS = CAUSAL };
static const char *const arg_names[] = {ARG_LIST(ARG_NAME)};
static const int roles[] = {ARG_LIST(ARG_ROLE)};

enum { MERGE_OUT, MERGE_LSE, MERGE_OUT_B, MERGE_LSE_B, MERGE_TENSORS };

static const int merge_roles[MERGE_TENSORS] = {REQUIRED | OUTPUT, REQUIRED | OUTPUT | ANY_FLOAT, REQUIRED,
                                               REQUIRED | ANY_FLOAT};

/* ---- faults of a tensor ---- */

/* By status: NULL, DTYPE, SHAPE, OVERFLOW, VALUE, ALIAS. ON_TOP + n: an output on top of tensor n. */
/* clang-format off */
#define TENSOR_FAULT_LIST(X)                                                                                           \
    X(ABSENT) X(BAD) X(NULL_DATA)                                                                                      \
    X(DTYPE_I8) X(DTYPE_BOOL) X(DTYPE_F32) X(DTYPE_F64) X(DTYPE_UNKNOWN) X(DTYPE_NEGATIVE)                             \
    X(MORE_BATCH) X(MORE_HEADS) X(MORE_LEN) X(MORE_DIM) X(NO_BATCH) X(NO_HEADS) X(NO_LEN) X(NO_DIM)                    \
    X(MAX_BATCH) X(MAX_HEADS) X(MAX_LEN) X(MAX_DIM)                                                                    \
    X(STRIDE_MAX) X(STRIDE_MIN) X(STRIDE_BYTES)                                                                        \
    X(MISALIGNED)                                                                                                      \
    X(ZERO_STRIDE) X(CLOSE_STRIDES) X(ON_TOP)
/* clang-format on */
#define ENUMERATOR(name) name,
#define NAME(name) #name,

enum tensor_fault { TENSOR_FAULT_LIST(ENUMERATOR) TENSOR_FAULTS = ON_TOP + TENSORS };
static const char *const tensor_fault_names[] = {TENSOR_FAULT_LIST(NAME)};

static size_t *dim_of(attn_tensor *t, int d)
{
    return d == 0 ? &t->batch : d == 1 ? &t->heads : d == 2 ? &t->len : &t->dim;
}

static ptrdiff_t *stride_of(attn_tensor *t, int d)
{
    return d == 0 ? &t->batch_stride : d == 1 ? &t->head_stride : d == 2 ? &t->len_stride : &t->dim_stride;
}

static int is_full(attn_tensor t)
{
    return t.batch && t.heads && t.len && t.dim;
}

/* Does it to t, which has this role; `other` is the tensor of ON_TOP. The status to expect, or ATTN_OK where the fault
   has no meaning. */
static attn_status inflict_tensor(attn_tensor *t, int role, int fault, const attn_tensor *other)
{
    int full = is_full(*t), wide = 3; /* wide: a dimension with a stride that counts */
    attn_tensor none = {0};
    while (wide > 0 && *dim_of(t, wide) < 2)
        wide--;
    if (fault >= STRIDE_MAX && (!full || *dim_of(t, wide) < 2) && fault != MISALIGNED)
        return ATTN_OK;
    if (fault >= ZERO_STRIDE && !(role & OUTPUT))
        return ATTN_OK;
    switch (fault) {
    case ABSENT: *t = none; return role & REQUIRED ? ATTN_ERR_NULL : ATTN_OK;
    case BAD: *t = attn_tensor_slice(*t, t->len, 1); return ATTN_ERR_NULL;
    case NULL_DATA: t->data = NULL; return full ? ATTN_ERR_NULL : ATTN_OK;
    case DTYPE_I8: t->dtype = ATTN_I8; return ATTN_ERR_DTYPE;
    case DTYPE_BOOL: t->dtype = ATTN_BOOL; return role & TRUTH ? ATTN_OK : ATTN_ERR_DTYPE;
    case DTYPE_F32: t->dtype = ATTN_F32; return role & TRUTH ? ATTN_ERR_DTYPE : ATTN_OK;
    case DTYPE_F64: t->dtype = ATTN_F64; return role & ANY_FLOAT && test_wide == ATTN_F64 ? ATTN_OK : ATTN_ERR_DTYPE;
    case DTYPE_UNKNOWN: t->dtype = (attn_dtype)77; return ATTN_ERR_DTYPE;
    case DTYPE_NEGATIVE: t->dtype = (attn_dtype)-1; return ATTN_ERR_DTYPE;
    case MORE_BATCH:
    case MORE_HEADS:
    case MORE_LEN:
    case MORE_DIM: {
        size_t *n = dim_of(t, fault - MORE_BATCH);
        *n += *n == 0 && role & BROADCAST ? 2 : 1;
        return ATTN_ERR_SHAPE;
    }
    case NO_BATCH:
    case NO_HEADS:
    case NO_LEN:
    case NO_DIM: {
        size_t *n = dim_of(t, fault - NO_BATCH);
        if (*n == 0)
            return ATTN_OK;
        *n = 0;
        return ATTN_ERR_SHAPE;
    }
    case MAX_BATCH:
    case MAX_HEADS:
    case MAX_LEN:
    case MAX_DIM: *dim_of(t, fault - MAX_BATCH) = SIZE_MAX; return ATTN_ERR_SHAPE;
    case STRIDE_MAX: *stride_of(t, wide) = PTRDIFF_MAX; return ATTN_ERR_OVERFLOW;
    case STRIDE_MIN: *stride_of(t, wide) = PTRDIFF_MIN; return ATTN_ERR_OVERFLOW;
    case STRIDE_BYTES:
        *stride_of(t, wide) = PTRDIFF_MAX / 2;
        return test_size(t->dtype) > 1 || *dim_of(t, wide) > 3 ? ATTN_ERR_OVERFLOW : ATTN_OK;
    case MISALIGNED: t->data = (char *)t->data + 1; return full && test_size(t->dtype) > 1 ? ATTN_ERR_VALUE : ATTN_OK;
    case ZERO_STRIDE: *stride_of(t, wide) = 0; return ATTN_ERR_ALIAS;
    case CLOSE_STRIDES:
        t->batch_stride = t->head_stride = t->len_stride = t->dim_stride = 1;
        return (t->batch > 1) + (t->heads > 1) + (t->len > 1) + (t->dim > 1) > 1 ? ATTN_ERR_ALIAS : ATTN_OK;
    default: /* ON_TOP + n */
        if (!other || !is_full(*other))
            return ATTN_OK;
        t->data = (char *)other->data + 8;
        return ATTN_ERR_ALIAS;
    }
}

/* ---- faults of a call ---- */

#define CALL_FAULT_LIST(X)                                                                                             \
    X(OFFSET_MISSING, CAUSAL_OFFSET, NULL, s->opts.causal = ATTN_CAUSAL_OFFSET)                                        \
    X(SCRATCH_MISSING, SCRATCH, NULL, s->ctx.scratch = NULL, s->ctx.scratch_size = 100)                                \
    X(CAUSAL_UNKNOWN, CAUSAL, VALUE, s->opts.causal = (attn_causal)4)                                                  \
    X(CAUSAL_NEGATIVE, CAUSAL, VALUE, s->opts.causal = (attn_causal)-1)                                                \
    X(WINDOW_LEFT, WINDOW, VALUE, s->opts.window.on = 1, s->opts.window.left = -2)                                     \
    X(WINDOW_RIGHT, WINDOW, VALUE, s->opts.window.on = 1, s->opts.window.right = -2)                                   \
    X(WINDOW_MIN, WINDOW, VALUE, s->opts.window.on = 1, s->opts.window.right = PTRDIFF_MIN)                            \
    X(Q_LENS_LONG, Q_LENS, VALUE, s->opts.q_lens = s->q_lens.long_by_one; ONLY_IF(items))                              \
    X(Q_LENS_MAX, Q_LENS, VALUE, s->opts.q_lens = s->q_lens.max; ONLY_IF(items))                                       \
    X(KV_LENS_LONG, KV_LENS, VALUE, s->opts.kv_lens = s->kv_lens.long_by_one; ONLY_IF(items))                          \
    X(KV_LENS_MAX, KV_LENS, VALUE, s->opts.kv_lens = s->kv_lens.max; ONLY_IF(items))                                   \
    X(SCALE_NAN, SCALE, VALUE, s->opts.scale = NAN)                                                                    \
    X(SCALE_INF, SCALE, VALUE, s->opts.scale = HUGE_VAL)                                                               \
    X(SCALE_MINUS_INF, SCALE, VALUE, s->opts.scale = -HUGE_VAL)                                                        \
    X(SCALE_NO_FLOAT, SCALE, VALUE, s->opts.scale = 1e300)                                                             \
    X(SOFTCAP_NAN, SOFTCAP, VALUE, s->opts.softcap = NAN)                                                              \
    X(SOFTCAP_INF, SOFTCAP, VALUE, s->opts.softcap = HUGE_VAL)                                                         \
    X(SOFTCAP_NEGATIVE, SOFTCAP, VALUE, s->opts.softcap = -1)                                                          \
    X(STAGE_UNKNOWN, STAGE, VALUE, s->opts.scores_stage = (attn_stage)3)                                               \
    X(STAGE_NEGATIVE, STAGE, VALUE, s->opts.scores_stage = (attn_stage)-1)                                             \
    X(ISA_LACKING, ISA, VALUE, s->ctx.isa = TEST_ISA_LACKING)                                                          \
    X(ISA_UNKNOWN, ISA, VALUE, s->ctx.isa = (attn_isa)77)                                                              \
    X(ISA_NEGATIVE, ISA, VALUE, s->ctx.isa = (attn_isa)-1)                                                             \
    X(SCRATCH_ON_OUT, SCRATCH, ALIAS, *names |= set_of(OUT); return lay_scratch(s, good->t[OUT]))                      \
    X(SCRATCH_ON_LSE, SCRATCH, ALIAS, *names |= set_of(LSE); return lay_scratch(s, good->t[LSE]))                      \
    X(SCRATCH_SHORT, SCRATCH, NOMEM, s->ctx.scratch = good->scratch; s->ctx.scratch_size = good->needed - 1;           \
      ONLY_IF(full))                                                                                                   \
    X(NO_MEMORY, SCRATCH, NOMEM, s->no_memory = 1; ONLY_IF(good->allocates))

enum call_fault { CALL_FAULT_LIST(FAULT_NUMBER) CALL_FAULTS };
static const fault_row call_faults[] = {CALL_FAULT_LIST(FAULT_ENTRY)};

typedef struct shape {
    size_t B, H, Hkv, Lq, Lk, D, Dv;
} shape;

typedef struct call_state {
    attn_tensor t[TENSORS];
    attn_opts opts; /* its tensors are t's */
    attn_ctx ctx;
    int no_memory, allocates; /* the allocator fails; a right call uses it */
    size_t needed;            /* bytes of scratch */
    void *scratch;
    length_table q_lens, kv_lens;
} call_state;

static attn_opts options_of(const call_state *s)
{
    attn_opts opts = s->opts;
    opts.mask = s->t[MASK];
    opts.bias = s->t[BIAS];
    opts.lse = s->t[LSE];
    opts.weights = s->t[WEIGHTS];
    opts.scores = s->t[SCORES];
    return opts;
}

static attn_status ask(const void *call, attn_dry_run *dry)
{
    const call_state *s = call;
    attn_opts opts = options_of(s);
    test_memory_state.fail_all |= s->no_memory;
    return attn_sdpa(s->t[OUT], s->t[Q], s->t[K], s->t[V], &opts, test_dry(&s->ctx, dry));
}

enum { TENSOR_TRIALS = (int)TENSORS * TENSOR_FAULTS, FAULTS = TENSOR_TRIALS + CALL_FAULTS };

static int arg_of(int fault)
{
    return fault < TENSOR_TRIALS ? fault / TENSOR_FAULTS : (int)call_faults[fault - TENSOR_TRIALS].args;
}

static const char *tensor_fault_name(int kind)
{
    return tensor_fault_names[kind < ON_TOP ? kind : ON_TOP];
}

static const char *name_of(int fault)
{
    return fault < TENSOR_TRIALS ? tensor_fault_name(fault % TENSOR_FAULTS)
                                           : call_faults[fault - TENSOR_TRIALS].name;
}

static int may_undo(int f, int g) /* one of these the other */
{
    int a = arg_of(f), b = arg_of(g), kind = f % TENSOR_FAULTS, other = g % TENSOR_FAULTS;
    if (a == b || (a == CAUSAL && b == CAUSAL_OFFSET) || (a == CAUSAL_OFFSET && b == CAUSAL))
        return 1;
    return a < TENSORS && b < TENSORS &&
           ((kind == other && kind >= MORE_BATCH && kind <= MAX_DIM) || (kind >= ON_TOP && other >= ON_TOP));
}

static attn_status lay_scratch(call_state *s, attn_tensor over)
{
    s->ctx.scratch = (char *)over.data + 1;
    s->ctx.scratch_size = 8;
    return is_full(over) ? ATTN_ERR_ALIAS : ATTN_OK;
}

static attn_status inflict_call(call_state *s, const call_state *good, int fault, uint64_t *names)
{
    int full = is_full(good->t[Q]) && is_full(good->t[K]), items = good->t[Q].batch > 0;
    switch (fault) {
        CALL_FAULT_LIST(FAULT_CASE)
    }
    return ATTN_OK;
}

static attn_status inflict(void *call, const void *right, int fault, uint64_t *names)
{
    call_state *s = call;
    const call_state *good = right;
    int arg = arg_of(fault), kind = fault % TENSOR_FAULTS;
    const attn_tensor *other = NULL;
    *names = set_of(arg);
    if (fault >= TENSOR_TRIALS)
        return inflict_call(s, good, fault - TENSOR_TRIALS, names);
    if (kind >= ON_TOP && kind - ON_TOP != arg) {
        other = &good->t[kind - ON_TOP];
        *names |= set_of(kind - ON_TOP);
    }
    if (arg == Q && (kind == DTYPE_F64 || (kind >= MORE_BATCH && kind <= MAX_DIM)))
        *names |= set_of(OUT) | set_of(K) | set_of(V); /* the others fit q no longer */
    if (arg == K && (kind == MORE_HEADS || kind == NO_HEADS || kind == MAX_HEADS))
        *names |= set_of(Q) | set_of(V);
    if (arg == K && (kind == MORE_LEN || kind == NO_LEN || kind == MAX_LEN))
        *names |= set_of(V) | set_of(MASK);
    if (arg == V && (kind == MORE_DIM || kind == NO_DIM || kind == MAX_DIM))
        *names |= set_of(OUT);
    return inflict_tensor(&s->t[arg], roles[arg], kind, other);
}

static const subject sdpa = {"attn_sdpa", arg_names, ARGS,   FAULTS,  V,       sizeof(call_state),
                             ask,         inflict,   arg_of, name_of, may_undo};

/* A call that is right, with every optional tensor, inputs of 0.25 and 1, and outputs of canaries. */
static call_state good_call(shape n)
{
    call_state s = {0};
    long calls;
    s.q_lens = lengths_of(n.B, n.Lq);
    s.kv_lens = lengths_of(n.B, n.Lk);
    s.opts.q_lens = s.q_lens.all;
    s.opts.kv_lens = s.kv_lens.all;
    s.t[OUT] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.Dv);
    s.t[Q] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.D);
    s.t[K] = tensor(ATTN_F32, n.B, n.Hkv, n.Lk, n.D);
    s.t[V] = tensor(ATTN_F32, n.B, n.Hkv, n.Lk, n.Dv);
    s.t[MASK] = tensor(ATTN_BOOL, n.B, n.H, n.Lq, n.Lk);
    s.t[BIAS] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.Lk);
    s.t[LSE] = tensor(ATTN_F32, n.B, n.H, n.Lq, 1);
    s.t[WEIGHTS] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.Lk);
    s.t[SCORES] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.Lk);
    for (int a = Q; a <= BIAS; a++)
        test_fill_tensor(s.t[a], a == MASK ? 1 : 0.25);
    s.needed = needed_by(&sdpa, &s);
    s.scratch = test_block(s.needed + 1);
    calls = test_memory_state.calls;
    CHECK_STATUS(make(&sdpa, CALL, &s, NULL), ATTN_OK);
    s.allocates = test_memory_state.calls > calls;
    for (int a = 0; a < TENSORS; a++)
        if (roles[a] & OUTPUT)
            memset(s.t[a].data, 0xff, size_of(s.t[a]) * test_size(s.t[a].dtype));
    return s;
}

static const shape usual = {2, 4, 2, 3, 5, 4, 6};

static size_t outputs_of(const call_state *s, attn_tensor *outs)
{
    size_t count = 0;
    for (int a = 0; a < TENSORS; a++)
        if (roles[a] & OUTPUT)
            outs[count++] = s->t[a];
    return count;
}

TEST(sdpa_status_single_faults)
{
    call_state good = good_call(usual);
    attn_tensor outs[TENSORS];
    size_t count = outputs_of(&good, outs);
    test_freeze();
    check_alone(&sdpa, &good, "");
    check_right(&sdpa, &good, outs, count, "");
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; i < size_of(outs[n]); i++)
            CHECK(isfinite(((const float *)outs[n].data)[i]));
}

/* Two faults at once: the one that is checked first is the one that is reported, and of two of a kind the argument
   that stands further left is named. */
static void check_order(shape n, size_t one_in)
{
    call_state good = good_call(n);
    char where[80];
    snprintf(where, sizeof where, ", B %zu H %zu Lq %zu Lk %zu", n.B, n.H, n.Lq, n.Lk);
    test_freeze();
    check_pairs(&sdpa, &good, one_in, where);
    test_release();
}

TEST(sdpa_status_order)
{
    check_order(usual, test_quick ? 40 : 1);
}

/* Nothing to do is no reason to look away. */
TEST(sdpa_status_empty_shapes)
{
    static const shape empty[] = {{0, 4, 2, 3, 5, 4, 6}, {2, 0, 0, 3, 5, 4, 6}, {2, 0, 2, 3, 5, 4, 6},
                                  {2, 4, 2, 0, 5, 4, 6}, {2, 4, 2, 3, 0, 4, 6}, {2, 4, 2, 3, 5, 4, 0},
                                  {0, 0, 0, 0, 0, 1, 0}};
    for (size_t e = 0; e < sizeof empty / sizeof *empty; e++) {
        call_state good = good_call(empty[e]);
        attn_tensor outs[TENSORS];
        size_t count = outputs_of(&good, outs);
        const float *out = good.t[OUT].data, *lse = good.t[LSE].data;
        char where[32];
        snprintf(where, sizeof where, ", empty shape %zu", e);
        test_freeze();
        check_alone(&sdpa, &good, where);
        check_right(&sdpa, &good, outs, count, where);
        for (size_t i = 0; i < size_of(good.t[OUT]); i++) /* only Lk = 0 leaves any: zeros */
            CHECK(test_bits32(out[i]) == 0);
        for (size_t i = 0; i < size_of(good.t[LSE]); i++)
            CHECK(empty[e].Lk ? isfinite(lse[i]) : lse[i] == -HUGE_VALF);
        test_release();
        check_order(empty[e], test_quick ? 200 : 8);
    }
}

TEST(sdpa_status_pointers)
{
    attn_tensor q = filled(ATTN_F32, 1, 1, 2, 3), k = filled(ATTN_F32, 1, 1, 4, 3), v = filled(ATTN_F32, 1, 1, 4, 3),
                out = tensor(ATTN_F32, 1, 1, 2, 3);
    attn_opts opts = {0};
    static const ptrdiff_t offset[] = {1};
    test_case("causal_offset is there, or need not be");
    opts.causal = ATTN_CAUSAL_OFFSET;
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_ERR_NULL);
    opts.causal_offset = offset;
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_OK);
    opts.causal = ATTN_CAUSAL_NONE;
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_OK);
    opts.causal_offset = NULL;
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_OK);
    CHECK_STATUS(attn_sdpa(out, q, k, v, NULL, NULL), ATTN_OK);
    test_case("a window that is off is not looked at");
    opts.window.left = opts.window.right = -77;
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_OK);
    opts.window.on = 1;
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_ERR_VALUE);
    opts.window.left = opts.window.right = -1;
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_OK);
    opts.window.left = opts.window.right = PTRDIFF_MAX;
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_OK);
}

/* A slice that failed is no absent mask, and a mask of another shape is no broadcast. */
TEST(sdpa_status_masks)
{
    static const size_t n[4] = {2, 4, 3, 5};
    attn_tensor q = filled(ATTN_F32, 2, 4, 3, 2), k = filled(ATTN_F32, 2, 2, 5, 2), v = filled(ATTN_F32, 2, 2, 5, 2),
                out = tensor(ATTN_F32, 2, 4, 3, 2), bytes = tensor(ATTN_BOOL, 1, 1, 10, 100);
    attn_tensor numbers = filled(ATTN_F32, 1, 1, 10, 100);
    attn_opts none = {0}, opts;
    opts = none;
    opts.mask = attn_tensor_slice(attn_bhld(bytes.data, ATTN_BOOL, 2, 4, 2, 5), 0, 3);
    test_freeze();
    test_case("a slice of rows that are not there");
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_ERR_NULL);
    opts = none;
    opts.bias = attn_tensor_slice(attn_bhld(numbers.data, ATTN_F32, 2, 4, 2, 5), 1, 2);
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_ERR_NULL);
    test_case("a failed tensor of too many elements");
    opts = none;
    opts.mask = attn_bhld(bytes.data, ATTN_BOOL, 2, 4, SIZE_MAX / 4, 5);
    CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), ATTN_ERR_NULL);
    CHECK(test_wrote_nothing());
    for (size_t c = 0; c < 4 * 4 * 4 * 4; c++) { /* each dimension: full, 1, one more, one less (2 - 1 = 1 is legal) */
        size_t d[4], choice[4] = {c % 4, c / 4 % 4, c / 16 % 4, c / 64}, legal = 1;
        for (size_t i = 0; i < 4; i++) {
            d[i] = choice[i] == 1 ? 1 : n[i] + (choice[i] == 2) - (choice[i] == 3);
            legal = legal && (d[i] == 1 || d[i] == n[i]);
        }
        test_case("mask and bias %zu x %zu x %zu x %zu", d[0], d[1], d[2], d[3]);
        opts = none;
        opts.mask = attn_bhld(bytes.data, ATTN_BOOL, d[0], d[1], d[2], d[3]);
        CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), legal ? ATTN_OK : ATTN_ERR_SHAPE);
        opts = none;
        opts.bias = attn_bhld(numbers.data, ATTN_F32, d[0], d[1], d[2], d[3]);
        CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL), legal ? ATTN_OK : ATTN_ERR_SHAPE);
        opts.lse = attn_bhld(bytes.data, ATTN_F32, d[0], d[1], d[2], 1);
        opts.bias = none.bias;
        CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, NULL),
                     d[0] == n[0] && d[1] == n[1] && d[2] == n[2] ? ATTN_OK : ATTN_ERR_SHAPE);
    }
}

TEST(sdpa_status_shapes)
{
    attn_tensor q = filled(ATTN_F32, 1, 6, 2, 3), k = filled(ATTN_F32, 1, 6, 2, 3), out = tensor(ATTN_F32, 1, 6, 2, 3);
    attn_tensor no_dim = q;
    float x = 1, y = 1;
    no_dim.dim = 0;
    test_case("a head of size 0");
    CHECK_STATUS(attn_sdpa(out, no_dim, no_dim, k, NULL, NULL), ATTN_ERR_SHAPE);
    no_dim.len = 0;
    CHECK_STATUS(attn_sdpa(attn_tensor_slice(out, 0, 0), no_dim, no_dim, attn_tensor_slice(k, 0, 0), NULL, NULL),
                 ATTN_ERR_SHAPE);
    for (size_t Hkv = 0; Hkv <= 12; Hkv++) {
        attn_tensor few = attn_tensor_of(k.data, ATTN_F32, 1, Hkv, 2, 3, 0, 0, 3, 1);
        test_case("6 heads of queries on %zu of keys", Hkv);
        CHECK_STATUS(attn_sdpa(out, q, few, few, NULL, NULL), Hkv && 6 % Hkv == 0 ? ATTN_OK : ATTN_ERR_SHAPE);
    }
    test_case("shapes that fit one another but no memory");
    {
        size_t huge = SIZE_MAX / 4;
        attn_tensor all = attn_tensor_of(&x, ATTN_F32, 1, 1, huge, 1, 0, 0, 0, 0),
                    one = attn_bhld(&x, ATTN_F32, 1, 1, 1, 1);
        attn_tensor tall = {&y, ATTN_F32, 1, 1, huge, 1, 0, 0, 1, 0};
        attn_opts opts = {0};
        CHECK_STATUS(attn_sdpa(tall, all, one, one, NULL, NULL), ATTN_ERR_OVERFLOW);
        opts.weights = tall;
        opts.weights.dim = huge;
        opts.weights.len_stride = PTRDIFF_MAX / 8;
        opts.weights.dim_stride = 1;
        CHECK_STATUS(attn_sdpa(tall, all, all, all, &opts, NULL), ATTN_ERR_OVERFLOW);
        opts.weights.len = 1;
        opts.weights.dim_stride = 4;
        CHECK_STATUS(attn_sdpa(attn_bhld(&y, ATTN_F32, 1, 1, 1, 1), one, all, all, &opts, NULL), ATTN_ERR_OVERFLOW);
        CHECK(y == 1);
    }
}

/* Dimensions that someone has written into the struct, of tensors whose strides are 0: refused, never multiplied. */
TEST(sdpa_status_huge_shapes)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 126, (size_t)PTRDIFF_MAX + 2,
                                   (size_t)PTRDIFF_MAX + 1};
    static const size_t tall[] = {PTRDIFF_MAX, PTRDIFF_MAX - 1, PTRDIFF_MAX - 127, PTRDIFF_MAX / 2 + 1};
    const size_t wide = (size_t)1 << (sizeof(size_t) * 5); /* its square overflows */
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 6 * 5 + 3; n++) {
            call_state s = {0};
            int kind = n / 5;
            size_t huge = kind < 6 ? sizes[n % 5] : wide;
            static const char *const names[] = {"Lk", "Lq", "B", "H", "D", "Dv", "B and H", "H and Lq", "H, D and Lq"};
            if (kind == 6)
                kind = 6 + n % 5;
            s.ctx.isa = isa;
            s.t[OUT] = tensor(ATTN_F32, 1, 1, 2, 3);
            s.t[Q] = filled(ATTN_F32, 1, 1, 2, 3);
            s.t[K] = filled(ATTN_F32, 1, 1, 4, 3);
            s.t[V] = filled(ATTN_F32, 1, 1, 4, 3);
            for (int a = OUT; a <= V; a++) {
                attn_tensor *t = &s.t[a];
                t->batch_stride = t->head_stride = t->len_stride = t->dim_stride = 0;
                if (kind == 2 || kind == 6)
                    t->batch = huge;
                if ((kind == 3 && a < K) || kind == 6 || (kind > 6 && a < K))
                    t->heads = huge;
                if ((kind == 0 && a >= K) || ((kind == 1 || kind > 6) && a < K))
                    t->len = huge;
                if (((kind == 4 || kind == 8) && (a == Q || a == K)) || (kind == 5 && (a == OUT || a == V)))
                    t->dim = huge;
            }
            test_case("%s, %s of %zu", attn_isa_string(isa), names[kind], huge);
            check_refused(&sdpa, &s, ATTN_ERR_OVERFLOW);
            test_release();
        }
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 8; n++) { /* as many keys as there can be: only asked for */
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            attn_tensor out = tensor(ATTN_F32, 1, 1, 2, 3), kv = filled(ATTN_F32, 1, 1, 4, 3);
            test_runner runner;
            attn_dry_run dry = {0};
            ctx.isa = isa;
            if (n % 2)
                ctx.parallel = test_serial_backwards(&runner, 300);
            kv.batch_stride = kv.head_stride = kv.len_stride = kv.dim_stride = 0;
            kv.len = tall[n / 2];
            test_case("%s, Lk of %zu", attn_isa_string(isa), kv.len);
            CHECK_STATUS(attn_sdpa(out, filled(ATTN_F32, 1, 1, 2, 3), kv, kv, NULL, test_dry(&ctx, &dry)), ATTN_OK);
            CHECK(dry.scratch > 0 && dry.scratch < (size_t)1 << 30);
            test_release();
        }
}

/* Outputs without elements: nothing is looped over, however large the other dimensions are. */
TEST(sdpa_status_huge_and_empty)
{
    const size_t many = (size_t)1 << (sizeof(size_t) * 5);
    float one = 1;
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
        attn_dry_run dry = {0};
        attn_opts none = {0}, opts = none;
        attn_tensor q = attn_tensor_of(&one, ATTN_F32, many, 1, 1, 1, 0, 0, 0, 0), k = q, v = q, out = q, weights, want;
        ctx.isa = isa;
        k.len = v.len = 0;
        out.dim = v.dim = 0;
        test_case("%s, no keys, no values, weights", attn_isa_string(isa));
        opts.weights = attn_tensor_of(&one, ATTN_F32, many, 1, 1, 0, 0, 0, 0, 0);
        opts.scores = opts.weights;
        CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK);
        CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, test_dry(&ctx, &dry)), ATTN_OK);
        test_case("%s, no values", attn_isa_string(isa));
        k.len = v.len = 5;
        CHECK_STATUS(attn_sdpa(out, q, k, v, NULL, &ctx), ATTN_OK);
        q.len = out.len = 0;
        v.dim = out.dim = 3;
        test_case("%s, no queries", attn_isa_string(isa));
        CHECK_STATUS(attn_sdpa(out, q, k, v, &none, &ctx), ATTN_OK);
        FOR_EACH_FLOAT (dtype) {
            attn_opts wanted = none;
            q = filled(dtype, 1, 2, 3, 4);
            k = filled(dtype, 1, 1, 150, 4);
            want = wanted.weights = tensor(test_wide, 1, 2, 3, 150);
            test_case("%s, %s, weights without values", attn_isa_string(isa), test_dtype_name(dtype));
            CHECK_STATUS(attn_sdpa(tensor(dtype, 1, 2, 3, 5), q, k, filled(dtype, 1, 1, 150, 5),
                                   &wanted, &ctx),
                         ATTN_OK);
            weights = wanted.weights = tensor(test_wide, 1, 2, 3, 150);
            v = k;
            v.data = NULL;
            v.dim = 0;
            v.batch_stride = v.head_stride = v.len_stride = v.dim_stride = PTRDIFF_MAX / 8 / 256;
            out = q;
            out.data = NULL;
            out.dim = 0;
            out.batch_stride = out.head_stride = out.len_stride = out.dim_stride = PTRDIFF_MIN / 8 / 256;
            CHECK_STATUS(attn_sdpa(out, q, k, v, &wanted, &ctx), ATTN_OK);
            CHECK(test_same_tensor_bits(weights, want));
        }
        test_release();
    }
}

TEST(sdpa_status_types)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    for (size_t n = 0; n < 256; n++) { /* every mix of the four */
        attn_dtype t[4] = {types[n % 4], types[n / 4 % 4], types[n / 16 % 4], types[n / 64]};
        int wide = (t[0] == ATTN_F64) + (t[1] == ATTN_F64) + (t[2] == ATTN_F64) + (t[3] == ATTN_F64);
        attn_opts opts = {0};
        attn_tensor out = tensor(t[0], 1, 2, 2, 3);
        opts.bias = filled(types[(n + n / 4) % 4], 1, 2, 2, 4);
        opts.lse = tensor(types[(n + n / 16) % 4], 1, 2, 2, 1);
        opts.weights = tensor(types[(n + n / 64) % 4], 1, 2, 2, 4);
        opts.scores = tensor(types[(n / 4 + n / 16) % 4], 1, 2, 2, 4);
        test_case("out %s, q %s, k %s, v %s", test_dtype_name(t[0]), test_dtype_name(t[1]), test_dtype_name(t[2]),
                  test_dtype_name(t[3]));
        CHECK_STATUS(
            attn_sdpa(out, filled(t[1], 1, 2, 2, 3), filled(t[2], 1, 1, 4, 3), filled(t[3], 1, 1, 4, 3), &opts, NULL),
            wide == 0 || wide == 4 ? ATTN_OK : ATTN_ERR_DTYPE);
        test_release();
    }
    for (int type = -1; type < 8; type++) {
        attn_opts opts = {0};
        opts.mask = tensor(ATTN_BOOL, 1, 2, 2, 4);
        opts.mask.dtype = (attn_dtype)type;
        test_case("a mask of dtype %d", type);
        CHECK_STATUS(attn_sdpa(tensor(ATTN_F32, 1, 2, 2, 3), filled(ATTN_F32, 1, 2, 2, 3), filled(ATTN_F32, 1, 1, 4, 3),
                               filled(ATTN_F32, 1, 1, 4, 3), &opts, NULL),
                     type == ATTN_BOOL ? ATTN_OK : ATTN_ERR_DTYPE);
    }
}

TEST(sdpa_status_values)
{
    attn_tensor q = filled(test_wide, 1, 1, 2, 3), out = tensor(test_wide, 1, 1, 2, 3);
    attn_tensor small = filled(ATTN_F32, 1, 1, 2, 3), small_out = tensor(ATTN_F32, 1, 1, 2, 3);
    static const double finite[] = {1, -1, 1e-300, -1e30, 1e30, 1e300};
    attn_opts none = {0}, opts;
    for (size_t n = 0; n < 6; n++) {
        test_case("scale %g", finite[n]);
        opts = none;
        opts.scale = finite[n];
        CHECK_STATUS(attn_sdpa(out, q, q, q, &opts, NULL), n < 5 || test_wide == ATTN_F64 ? ATTN_OK : ATTN_ERR_VALUE);
        CHECK_STATUS(attn_sdpa(small_out, small, small, small, &opts, NULL), n < 5 ? ATTN_OK : ATTN_ERR_VALUE);
        test_case("softcap %g", finite[n]);
        opts = none;
        opts.softcap = finite[n];
        CHECK_STATUS(attn_sdpa(out, q, q, q, &opts, NULL),
                     finite[n] > 0 && (test_wide == ATTN_F64 || (n != 2 && n < 5)) ? ATTN_OK : ATTN_ERR_VALUE);
    }
    for (int isa = -1; isa <= TEST_LAST_ISA + 1; isa++) {
        attn_ctx ctx = test_ctx((attn_isa)isa);
        int there = isa == ATTN_ISA_BEST || attn_isa_available((attn_isa)isa);
        attn_dry_run dry = {0};
        test_case("isa %d", isa);
        CHECK_STATUS(attn_sdpa(out, q, q, q, NULL, &ctx), there ? ATTN_OK : ATTN_ERR_VALUE);
        CHECK_STATUS(attn_sdpa(out, q, q, q, NULL, test_dry(&ctx, &dry)), there ? ATTN_OK : ATTN_ERR_VALUE);
    }
}

/* scale and softcap are numbers of the compute type, and a cap is large enough to divide by. */
TEST(sdpa_status_edges)
{
    static const struct {
        double scale, softcap;
        attn_status narrow, wide; /* of f32 and the 16-bit types; of f64 */
    } cases[] = {{0, 1e-39, ATTN_ERR_VALUE, ATTN_OK},
                 {0, 1e39, ATTN_ERR_VALUE, ATTN_OK},
                 {1e39, 0, ATTN_ERR_VALUE, ATTN_OK},
                 {-1e39, 0, ATTN_ERR_VALUE, ATTN_OK},
                 {0, FLT_MIN, ATTN_OK, ATTN_OK},
                 {0, FLT_MAX, ATTN_OK, ATTN_OK},
                 {FLT_MAX, 0, ATTN_OK, ATTN_OK},
                 {-FLT_MAX, 1, ATTN_OK, ATTN_OK},
                 {1e-39, 0, ATTN_OK, ATTN_OK},
                 {0, DBL_MIN, ATTN_ERR_VALUE, ATTN_OK},
                 {0, 1e-310, ATTN_ERR_VALUE, ATTN_ERR_VALUE}};
    FOR_EACH_ISA (isa)
        FOR_EACH_FLOAT (dtype)
            for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
                attn_status want = dtype == ATTN_F64 ? cases[n].wide : cases[n].narrow;
                call_state s = {0};
                char text[TEXT];
                s.ctx.isa = isa;
                s.opts.scale = cases[n].scale;
                s.opts.softcap = cases[n].softcap;
                s.t[OUT] = tensor(dtype, 1, 1, 2, 3);
                for (int a = Q; a <= V; a++)
                    s.t[a] = filled(dtype, 1, 1, 2, 3);
                test_case("%s, %s, scale %g, softcap %g", attn_isa_string(isa), test_dtype_name(dtype),
                          cases[n].scale, cases[n].softcap);
                for (int f = 0; f < FORMS; f++)
                    CHECK_STATUS(make(&sdpa, f, &s, text), want);
                CHECK(want == ATTN_OK ||
                      grid_names(text, cases[n].scale != 0 ? arg_names[SCALE] : arg_names[SOFTCAP]));
                test_release();
            }
}

/* ---- overlap ---- */

TEST(sdpa_status_overlap)
{
    float *a = test_block(400 * sizeof *a);
    attn_tensor q = attn_bhld(a, ATTN_F32, 1, 2, 3, 4), kv = attn_bhld(a + 100, ATTN_F32, 1, 2, 3, 4);
    attn_opts none = {0}, opts = none;
    for (size_t i = 0; i < 400; i++)
        a[i] = (float)i / 400;
    test_case("in place");
    CHECK_STATUS(attn_sdpa(q, q, kv, kv, NULL, NULL), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_sdpa(kv, q, kv, kv, NULL, NULL), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_sdpa(kv, q, q, kv, NULL, NULL), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_sdpa(kv, q, kv, q, NULL, NULL), ATTN_ERR_ALIAS);
    test_case("in parallel");
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 24, ATTN_F32, 1, 2, 3, 4), q, kv, kv, NULL, NULL), ATTN_OK);
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 23, ATTN_F32, 1, 2, 3, 4), q, kv, kv, NULL, NULL), ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 76, ATTN_F32, 1, 2, 3, 4), q, kv, kv, NULL, NULL), ATTN_OK);
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 77, ATTN_F32, 1, 2, 3, 4), q, kv, kv, NULL, NULL), ATTN_ERR_ALIAS);
    test_case("inputs on one another");
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 200, ATTN_F32, 1, 2, 3, 4), q, q, q, NULL, NULL), ATTN_OK);
    test_case("q, k, v and out in one buffer [L][4][H][D]"); /* L 3, H 2, D 4 */
    for (ptrdiff_t place = 0; place < 4; place++) {
        attn_tensor t[4];
        for (ptrdiff_t i = 0; i < 4; i++)
            t[i] = attn_tensor_of(a + (place + i) % 4 * 8, ATTN_F32, 1, 2, 3, 4, 0, 4, 32, 1);
        CHECK_STATUS(attn_sdpa(t[0], t[1], t[2], t[3], NULL, NULL), ATTN_OK);
        CHECK_STATUS(attn_sdpa(t[0], t[1], t[2], t[0], NULL, NULL), ATTN_ERR_ALIAS);
        t[0].data = (float *)t[0].data + (place == 3 ? -1 : 1);
        CHECK_STATUS(attn_sdpa(t[0], t[1], t[2], t[3], NULL, NULL), ATTN_ERR_ALIAS);
    }
    test_case("outputs that slide over themselves");
    CHECK_STATUS(attn_sdpa(attn_tensor_of(a + 200, ATTN_F32, 1, 2, 3, 4, 0, 4, 4, 1), q, kv, kv, NULL, NULL),
                 ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_sdpa(attn_tensor_of(a + 200, ATTN_F32, 1, 2, 3, 4, 0, 3, 8, 1), q, kv, kv, NULL, NULL),
                 ATTN_ERR_ALIAS);
    CHECK_STATUS(attn_sdpa(attn_tensor_of(a + 200, ATTN_F32, 1, 2, 3, 4, 0, 4, 8, 1), q, kv, kv, NULL, NULL), ATTN_OK);
    CHECK_STATUS(attn_sdpa(attn_tensor_of(a + 212, ATTN_F32, 1, 2, 3, 4, 77, 12, -4, 1), q, kv, kv, NULL, NULL),
                 ATTN_OK);
    test_case("outputs on one another");
    opts.lse = attn_bhld(a + 223, ATTN_F32, 1, 2, 3, 1);
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 200, ATTN_F32, 1, 2, 3, 4), q, kv, kv, &opts, NULL), ATTN_ERR_ALIAS);
    opts.lse = attn_bhld(a + 224, ATTN_F32, 1, 2, 3, 1);
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 200, ATTN_F32, 1, 2, 3, 4), q, kv, kv, &opts, NULL), ATTN_OK);
    opts.weights = attn_bhld(a + 229, ATTN_F32, 1, 2, 3, 3);
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 200, ATTN_F32, 1, 2, 3, 4), q, kv, kv, &opts, NULL), ATTN_ERR_ALIAS);
    opts.weights = attn_bhld(a + 230, ATTN_F32, 1, 2, 3, 3);
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 200, ATTN_F32, 1, 2, 3, 4), q, kv, kv, &opts, NULL), ATTN_OK);
    opts.scores = opts.weights;
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 200, ATTN_F32, 1, 2, 3, 4), q, kv, kv, &opts, NULL), ATTN_ERR_ALIAS);
    opts.scores.data = a + 248;
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 200, ATTN_F32, 1, 2, 3, 4), q, kv, kv, &opts, NULL), ATTN_OK);
    test_case("lse beside out in one row"); /* [L][H][4 + 1] */
    opts = none;
    opts.lse = attn_tensor_of(a + 204, ATTN_F32, 1, 2, 3, 1, 0, 5, 10, 1);
    CHECK_STATUS(attn_sdpa(attn_tensor_of(a + 200, ATTN_F32, 1, 2, 3, 4, 0, 5, 10, 1), q, kv, kv, &opts, NULL),
                 ATTN_OK);
    test_case("the bias in place of the scores");
    opts = none;
    opts.bias = opts.scores = attn_bhld(a + 300, ATTN_F32, 1, 2, 3, 3);
    CHECK_STATUS(attn_sdpa(attn_bhld(a + 200, ATTN_F32, 1, 2, 3, 4), q, kv, kv, &opts, NULL), ATTN_ERR_ALIAS);
}

/* ---- memory ---- */

static const size_t large_dims[] = {33, 330}; /* of values: than the stack holds, that of ATTN_SMALL too */

static call_state large_call(attn_dtype dtype)
{
    size_t Dv = large_dims[test_small];
    call_state s = {0};
    s.t[OUT] = tensor(dtype, 1, 4, 70, Dv);
    s.t[Q] = filled(dtype, 1, 4, 70, 40);
    s.t[K] = filled(dtype, 1, 2, 150, 40);
    s.t[V] = filled(dtype, 1, 2, 150, Dv);
    return s;
}

/* With exactly the bytes that a dry run tells, at any address, nothing is allocated and nothing beyond them
   is touched; with one byte less the call fails. */
TEST(sdpa_status_scratch)
{
    static const size_t widths[] = {0, 1, 2, 3, 5};
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 5 * 3; n++) {
            call_state s = large_call(dtypes[n / 5]);
            size_t width = widths[n % 5];
            test_runner runner;
            attn_tensor want = s.t[OUT];
            s.ctx.isa = isa;
            if (test_quick && n % 8 != 2)
                continue;
            test_case("%s, %s, width %zu", attn_isa_string(isa), test_dtype_name(dtypes[n / 5]), width);
            CHECK_STATUS(make(&sdpa, CALL, &s, NULL), ATTN_OK);
            s.t[OUT] = tensor(want.dtype, want.batch, want.heads, want.len, want.dim);
            if (width)
                s.ctx.parallel = test_serial_backwards(&runner, width);
            CHECK(check_scratch(&sdpa, &s, &s.ctx, &s.t[OUT], 1) < 4 << 20);
            CHECK(test_same_tensor_bits(s.t[OUT], want));
            test_release();
        }
}

/* Scratch of at most 16 KiB, 11 of ATTN_SMALL, comes from the stack, more from the allocator, once. */
TEST(sdpa_status_small_scratch)
{
    const size_t stack = test_small ? 11456 : 16896; /* as ATTN__PLAN_STACK */
    static const shape shapes[] = {{1, 1, 1, 1, 1, 1, 1},  {1, 2, 1, 1, 9, 8, 8},    {2, 1, 1, 3, 20, 16, 4},
                                   {1, 1, 1, 1, 40, 8, 8}, {1, 1, 1, 1, 128, 4, 4},  {1, 1, 1, 1, 2000, 64, 64},
                                   {1, 8, 1, 9, 30, 3, 3}, {1, 4, 2, 40, 150, 9, 33}, {1, 1, 1, 2, 7, 9, 4000}};
    size_t small = 0, large = 0;
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 9 * 3; n++) {
            const shape *d = &shapes[n / 3];
            attn_dtype dtype = n % 3 == 0 ? ATTN_F32 : n % 3 == 1 ? test_wide : ATTN_F16;
            call_state s = {0};
            long calls = test_memory_state.calls;
            size_t bytes;
            if (test_quick && (n / 3 + n) % 3 != (size_t)isa % 3)
                continue;
            s.ctx.isa = isa;
            s.t[OUT] = tensor(dtype, d->B, d->H, d->Lq, d->Dv);
            s.t[Q] = filled(dtype, d->B, d->H, d->Lq, d->D);
            s.t[K] = filled(dtype, d->B, d->Hkv, d->Lk, d->D);
            s.t[V] = filled(dtype, d->B, d->Hkv, d->Lk, d->Dv);
            bytes = needed_by(&sdpa, &s);
            test_case("%s, %s, shape %zu, %zu bytes", attn_isa_string(isa), test_dtype_name(dtype), n / 3, bytes);
            CHECK_STATUS(make(&sdpa, CALL, &s, NULL), ATTN_OK);
            CHECK(test_memory_state.calls - calls == (bytes > stack));
            small += bytes <= stack;
            large += bytes > stack;
            test_release();
        }
    CHECK(small > 0 && large > 0);
}

TEST(sdpa_status_no_memory)
{
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 3; n++) {
            call_state s = large_call(dtypes[n]);
            test_runner runner;
            s.ctx.isa = isa;
            s.ctx.parallel = test_serial_backwards(&runner, 1 + n);
            test_case("%s, %s, an allocation fails", attn_isa_string(isa), test_dtype_name(dtypes[n]));
            check_allocations(&sdpa, &s, &s.t[OUT], 1);
            test_release();
        }
}

/* Memory comes last. */
TEST(sdpa_status_no_memory_at_last)
{
    const shape large = {1, 4, 2, 70, 150, 40, large_dims[test_small]};
    call_state good = good_call(large);
    CHECK(good.allocates);
    test_freeze();
    test_memory_state.fail_all = 1;
    check_alone(&sdpa, &good, ", no memory");
    test_memory_state.fail_all = 0;
}

TEST(sdpa_status_errno)
{
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 2; n++) {
            attn_dtype dtype = n ? test_wide : ATTN_F32;
            call_state s = large_call(dtype);
            test_fill_tensor(s.t[K], 1e-3);
            test_fill(attn_head(s.t[K], 0, 1), n ? 300 : 90); /* weights that are too small for a number */
            s.ctx.isa = isa;
            s.opts.softcap = 1e4;
            s.opts.scale = -3;
            s.t[LSE] = tensor(dtype, 1, 4, 70, 1);
            s.t[WEIGHTS] = tensor(dtype, 1, 4, 70, 150);
            test_case("%s, %s", attn_isa_string(isa), test_dtype_name(dtype));
            check_errno(&sdpa, &s);
            CHECK_STATUS(attn_merge(s.t[OUT], s.t[LSE], filled(dtype, 1, 4, 70, s.t[OUT].dim),
                                    filled(dtype, 1, 4, 70, 1)),
                         ATTN_OK);
            CHECK(errno == 7);
            test_release();
        }
}

/* Nor where splits of the keys run in parallel and are merged, far apart: the weights of one are too small. */
TEST(sdpa_status_errno_apart)
{
    enum { L = 2048 };
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 4; n++) {
            attn_dtype dtype = n / 2 ? test_wide : ATTN_F32;
            attn_tensor q = tensor(dtype, 1, 1, 1, 1), kv = tensor(dtype, 1, 1, L, 1), out = tensor(dtype, 1, 1, 1, 1);
            attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
            test_runner runner;
            test_fill_tensor(q, 1);
            test_fill_tensor(attn_tensor_slice(kv, 0, L / 2), 0);
            test_fill_tensor(attn_tensor_slice(kv, L / 2, L / 2), 900);
            ctx.isa = isa;
            ctx.parallel = test_serial_backwards(&runner, 4);
            if (n % 2) { /* without the allocator, which may hide a change */
                ctx.scratch_size = 1 << 18;
                ctx.scratch = test_block(ctx.scratch_size);
            }
            test_case("%s, %s%s", attn_isa_string(isa), test_dtype_name(dtype), n % 2 ? ", scratch given" : "");
            errno = 7;
            CHECK_STATUS(attn_sdpa(out, q, kv, kv, NULL, &ctx), ATTN_OK);
            CHECK(errno == 7);
            CHECK(test_small ? runner.most <= 1 : runner.most == 4);
            CHECK_NEAR(test_tensor_get(out, 0, 0, 0, 0), 900, 1e-4L);
            test_release();
        }
}

/* ---- explanations ---- */

TEST(sdpa_explain_sizes)
{
    call_state s = good_call(usual), bad = s;
    bad.t[BIAS].len = 7;
    test_case("a call that succeeds");
    check_cuts(&sdpa, &s, ATTN_OK);
    test_case("a call that fails");
    check_cuts(&sdpa, &bad, ATTN_ERR_SHAPE);
    test_case("a call that lacks memory");
    bad = s;
    bad.ctx.scratch = s.scratch;
    bad.ctx.scratch_size = s.needed - 1;
    check_cuts(&sdpa, &bad, ATTN_OK);
}

TEST(sdpa_explain_text)
{
    FOR_EACH_ISA (isa)
        for (size_t width = 1; width < 4; width++) {
            call_state s = large_call(ATTN_F32), other = s;
            test_runner runner;
            char text[TEXT], bytes[32];
            const char *blocks;
            size_t queries = 0, keys = 0, from = 0;
            s.ctx.isa = isa;
            s.ctx.parallel = test_serial_backwards(&runner, width);
            test_case("%s, width %zu", attn_isa_string(isa), width);
            test_freeze();
            CHECK_STATUS(make(&sdpa, DRY, &s, text), ATTN_OK);
            CHECK(test_wrote_nothing() && runner.calls == 0);
            CHECK(grid_names(text, attn_isa_string(test_without_pairs(isa)))); /* what is used for floats */
            CHECK((strstr(text, "no products of BF16") != NULL) == (isa != test_without_pairs(isa)));
            if (test_small) {
                CHECK(test_is_brief(text));
                test_release();
                continue;
            }
            blocks = strstr(text, "blocks of ");
            CHECK(blocks && sscanf(blocks, "blocks of %zu rows x key tiles of %zu", &queries, &keys) == 2);
            CHECK(queries > 0 && keys > 0);
            snprintf(bytes, sizeof bytes, "%zu", needed_by(&sdpa, &s));
            CHECK(grid_names(text, bytes));
            CHECK(strstr(text, "cop") == NULL); /* packed floats are read where they lie */
            for (int a = K; a <= V; a++) {
                for (int why = 0; why < 2; why++) {
                    other = s;
                    if (why == 0)
                        other.t[a].dtype = ATTN_F16;
                    else
                        other.t[a] = attn_tensor_of(filled(ATTN_F32, 1, 2, 150, 80).data, ATTN_F32, 1, 2, 150,
                                                    other.t[a].dim, 0, 150 * 80, 80, 2);
                    test_case("%s, width %zu, %s %s", attn_isa_string(isa), width, arg_names[a],
                              why ? "strided" : "of 16 bits");
                    CHECK_STATUS(make(&sdpa, DRY, &other, text), ATTN_OK);
                    CHECK(strstr(text, "cop") != NULL && grid_names(text, arg_names[a]));
                    CHECK(strstr(text, why ? "stride" : "16-bit") != NULL);
                }
            }
            other = large_call(ATTN_BF16);
            other.ctx = s.ctx;
            test_case("%s, width %zu, all of BF16", attn_isa_string(isa), width);
            CHECK_STATUS(make(&sdpa, DRY, &other, text), ATTN_OK);
            CHECK(grid_names(text, attn_isa_string(isa)) && strstr(text, "no products of BF16") == NULL);
            test_release();
            (void)from;
        }
}

/* Which kernels take a call, or its items: those of few rows, of many, or both where lengths vary. */
TEST(sdpa_explain_rows)
{
    static const size_t rows[] = {1, 40};
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 8; n++) {
            size_t Lq = rows[n % 2], lens[] = {1, 1};
            int invariant = n / 2 % 2, vary = n / 4, few = Lq == 1;
            attn_tensor q = filled(ATTN_F32, 2, 2, Lq, 8), k = filled(ATTN_F32, 2, 2, 30, 8);
            attn_opts opts = {0};
            attn_ctx ctx = test_ctx(isa);
            char text[TEXT];
            attn_dry_run dry = {0, text, sizeof text};
            ctx.batch_invariant = invariant;
            opts.q_lens = vary ? lens : NULL;
            test_case("%s, %zu rows%s%s", attn_isa_string(isa), Lq, invariant ? ", batch_invariant" : "",
                      vary ? ", q_lens" : "");
            CHECK_STATUS(attn_sdpa(tensor(ATTN_F32, 2, 2, Lq, 8), q, k, k, &opts, test_dry(&ctx, &dry)), ATTN_OK);
            if (test_small) {
                CHECK(test_is_brief(text));
                test_release();
                continue;
            }
            CHECK((strstr(text, "terms of dot products lie on lanes") != NULL) == (few || invariant || vary));
            CHECK((strstr(text, "few rows, up to ") != NULL) == (!invariant && (few || vary)));
            CHECK(grid_names(text, "batch_invariant") == invariant);
            CHECK((strstr(text, "queries lie on the lanes") != NULL) == (!few && !invariant));
            test_release();
        }
}

TEST(sdpa_explain_options)
{
    call_state good = large_call(ATTN_F32), s = good;
    ptrdiff_t offset = 3;
    char text[TEXT];
    test_runner runner;
    test_case("no causal_offset, and a mask of the wrong shape");
    s.opts.causal = ATTN_CAUSAL_OFFSET;
    s.t[MASK] = tensor(ATTN_BOOL, 1, 4, 70, 149);
    CHECK_STATUS(make(&sdpa, DRY, &s, text), ATTN_ERR_NULL);
    CHECK(grid_names(text, arg_names[CAUSAL_OFFSET]) && !grid_names(text, arg_names[MASK]));
    s.t[MASK] = attn_tensor_slice(s.t[MASK], 70, 1);
    CHECK_STATUS(make(&sdpa, DRY, &s, text), ATTN_ERR_NULL);
    CHECK(grid_names(text, arg_names[CAUSAL_OFFSET]) && !grid_names(text, arg_names[MASK]));
    s.opts.causal_offset = &offset;
    CHECK_STATUS(make(&sdpa, DRY, &s, text), ATTN_ERR_NULL);
    CHECK(!grid_names(text, arg_names[CAUSAL_OFFSET]) && grid_names(text, arg_names[MASK]));
    if (test_small)
        return;
    test_case("mask and bias");
    for (int n = 0; n < 4; n++) {
        s = good;
        if (n & 1)
            s.t[MASK] = filled(ATTN_BOOL, 1, 1, 70, 150);
        if (n & 2)
            s.t[BIAS] = filled(ATTN_F16, 1, 4, 70, 150);
        CHECK_STATUS(make(&sdpa, DRY, &s, text), ATTN_OK);
        CHECK(grid_names(text, "mask") == (n & 1));
        CHECK(grid_names(text, "bias") == (n >> 1));
        CHECK((strstr(text, "cop") != NULL) == (n > 0));
    }
    test_case("scores of hidden keys");
    for (int n = 0; n < 16; n++) {
        static const char phrase[] = "those of hidden keys are computed";
        s = good;
        if (n & 1)
            s.t[SCORES] = tensor(ATTN_F32, 1, 4, 70, 150);
        if (n & 2)
            s.t[WEIGHTS] = tensor(ATTN_F32, 1, 4, 70, 150);
        s.opts.scores_stage = n & 4 ? n & 8 ? ATTN_STAGE_DOT : ATTN_STAGE_SOFTCAP : ATTN_STAGE_FINAL;
        CHECK_STATUS(make(&sdpa, DRY, &s, text), ATTN_OK);
        CHECK((strstr(text, phrase) != NULL) == (n & 1 && n & 4));
    }
    test_case("weights and splits");
    for (int n = 0; n < 4; n++) {
        static const char phrase[] = "splits do not run in parallel";
        s = good;
        s.t[OUT] = tensor(ATTN_F32, 1, 4, 1, 33);
        s.t[Q] = filled(ATTN_F32, 1, 4, 1, 40);
        s.t[K] = filled(ATTN_F32, 1, 2, 2000, 40);
        s.t[V] = filled(ATTN_F32, 1, 2, 2000, 33);
        s.ctx.parallel = test_serial_backwards(&runner, 4);
        if (n)
            s.t[n == 1 ? WEIGHTS : n == 2 ? SCORES : LSE] = tensor(ATTN_F32, 1, 4, 1, n < 3 ? 2000 : 1);
        CHECK_STATUS(make(&sdpa, DRY, &s, text), ATTN_OK);
        CHECK((strstr(text, phrase) != NULL) == (n == 1 || n == 2));
        CHECK((strstr(text, "splits, in parallel") != NULL) == (n == 0 || n == 3));
    }
}

/* ---- attn_merge ---- */

typedef struct merge_state {
    attn_tensor t[MERGE_TENSORS];
    attn_ctx ctx;
} merge_state;

static merge_state good_merge(size_t B, size_t H, size_t L, size_t Dv)
{
    merge_state s = {0};
    s.t[MERGE_OUT] = filled(ATTN_F32, B, H, L, Dv);
    s.t[MERGE_LSE] = filled(ATTN_F32, B, H, L, 1);
    s.t[MERGE_OUT_B] = filled(ATTN_F32, B, H, L, Dv);
    s.t[MERGE_LSE_B] = filled(ATTN_F32, B, H, L, 1);
    return s;
}

enum { MERGE_FAULTS = (int)MERGE_TENSORS * TENSOR_FAULTS + 3 }; /* and three of ctx.isa */

static attn_status inflict_merge(merge_state *s, const merge_state *good, int fault)
{
    const int isas[] = {TEST_ISA_LACKING, 77, -1};
    int arg = fault / TENSOR_FAULTS, kind = fault % TENSOR_FAULTS, over = kind - ON_TOP;
    if (arg == MERGE_TENSORS) {
        s->ctx.isa = (attn_isa)isas[kind];
        return ATTN_ERR_VALUE;
    }
    return inflict_tensor(&s->t[arg], merge_roles[arg], kind,
                          over >= 0 && over < MERGE_TENSORS && over != arg ? &good->t[over] : NULL);
}

static attn_status merge(const merge_state *s, int plain)
{
    if (plain)
        return attn_merge(s->t[0], s->t[1], s->t[2], s->t[3]);
    return attn_merge_ctx(s->t[0], s->t[1], s->t[2], s->t[3], &s->ctx);
}

TEST(merge_status)
{
    static const size_t shapes[][4] = {{2, 3, 4, 5}, {0, 3, 4, 5}, {2, 0, 4, 5}, {2, 3, 0, 5}, {2, 3, 4, 0}};
    for (size_t n = 0; n < 5; n++) {
        merge_state good = good_merge(shapes[n][0], shapes[n][1], shapes[n][2], shapes[n][3]);
        attn_tensor outs[] = {good.t[MERGE_OUT], good.t[MERGE_LSE]};
        test_freeze();
        for (int f = 0; f < MERGE_FAULTS; f++)
            for (int g = f; g < MERGE_FAULTS; g++) {
                merge_state s = good;
                attn_status first = inflict_merge(&s, &good, f), second = first;
                if (f != g && (f / TENSOR_FAULTS == g / TENSOR_FAULTS || f % TENSOR_FAULTS == g % TENSOR_FAULTS ||
                               (f % TENSOR_FAULTS >= ON_TOP && g % TENSOR_FAULTS >= ON_TOP)))
                    continue; /* one may undo the other */
                if (test_quick && f != g && test_below(20))
                    continue;
                if (f != g)
                    second = inflict_merge(&s, &good, g);
                if (first == ATTN_OK || second == ATTN_OK)
                    continue;
                test_case("shape %zu, argument %d: %s; argument %d: %s", n, f / TENSOR_FAULTS,
                          tensor_fault_name(f % TENSOR_FAULTS), g / TENSOR_FAULTS,
                          tensor_fault_name(g % TENSOR_FAULTS));
                CHECK_STATUS(merge(&s, s.ctx.isa == ATTN_ISA_BEST && (f + g) % 2),
                             test_rank(first) < test_rank(second) ? first : second);
                CHECK(test_wrote_nothing());
            }
        test_case("shape %zu, as it should be", n);
        CHECK_STATUS(merge(&good, n % 2), ATTN_OK);
        CHECK(test_wrote_only_tensors(outs, 2));
        test_release();
    }
}

TEST(merge_status_types)
{
    const attn_dtype types[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    for (size_t n = 0; n < 256; n++) {
        attn_dtype t[4] = {types[n % 4], types[n / 4 % 4], types[n / 16 % 4], types[n / 64]};
        test_case("%s, lse %s, with %s, lse %s", test_dtype_name(t[0]), test_dtype_name(t[1]), test_dtype_name(t[2]),
                  test_dtype_name(t[3]));
        CHECK_STATUS(attn_merge(filled(t[0], 1, 2, 3, 4), filled(t[1], 1, 2, 3, 1), filled(t[2], 1, 2, 3, 4),
                                filled(t[3], 1, 2, 3, 1)),
                     (t[0] == ATTN_F64) == (t[2] == ATTN_F64) ? ATTN_OK : ATTN_ERR_DTYPE);
        test_release();
    }
}
