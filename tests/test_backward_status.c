/* Every status that attn_sdpa_backward can return, for every argument that can cause it; the order of the checks; that
   a call which fails has written nothing; what a dry run says of it; memory, fences and overlap. As
   test_sdpa_status.c: a fault is something wrong done to one argument of a call that was right. */
#include "calls.h"
#include "grid.h"

/* ---- arguments, in the order in which faults of one kind are named ---- */

enum role { REQUIRED = 1, OUTPUT = 2, ANY_FLOAT = 4, ARRAY = 8, TRUTH = 16, SIMPLE = 32 }; /* SIMPLE: no memory */

/* clang-format off */
#define ARG_LIST(X)                                                                                                    \
    X(GRADS, "grads", SIMPLE)                                                                                          \
    X(DQ, "grads.q", OUTPUT) X(DK, "grads.k", OUTPUT) X(DV, "grads.v", OUTPUT)                                         \
    X(DBIAS, "grads.bias", OUTPUT | ANY_FLOAT) X(BY_DISTANCE, "grads.by_distance", OUTPUT | ANY_FLOAT)                 \
    X(DSINKS, "grads.sinks", OUTPUT | ARRAY) X(DSLOPES, "grads.alibi_slopes", OUTPUT | ARRAY)                          \
    X(DLSE, "grads.dlse", ANY_FLOAT) X(MOD_GRAD, "grads.score_mod_grad", SIMPLE)                                       \
    X(DOUT, "dout", REQUIRED) X(Q, "q", REQUIRED) X(K, "k", REQUIRED) X(V, "v", REQUIRED) X(OUT, "out", REQUIRED)      \
    X(LSE, "lse", REQUIRED)                                                                                            \
    X(CAUSAL, "opts.causal", SIMPLE) X(CAUSAL_OFFSET, "opts.causal_offset", ARRAY) X(WINDOW, "opts.window", SIMPLE)    \
    X(MASK, "opts.mask", TRUTH) X(Q_LENS, "opts.q_lens", ARRAY) X(KV_LENS, "opts.kv_lens", ARRAY)                      \
    X(SCALE, "opts.scale", SIMPLE) X(SOFTCAP, "opts.softcap", SIMPLE) X(BIAS, "opts.bias", ANY_FLOAT)                  \
    X(SLOPES, "opts.alibi_slopes", ARRAY) X(SINKS, "opts.sinks", ARRAY) X(DROPOUT, "opts.dropout", SIMPLE)             \
    X(SCRATCH, "ctx.scratch", SIMPLE) X(ISA, "ctx.isa", SIMPLE)
/* clang-format on */

enum arg { ARG_LIST(ARG_NUMBER) ARGS };
static const char *const arg_names[] = {ARG_LIST(ARG_NAME)};
static const int roles[] = {ARG_LIST(ARG_ROLE)};

/* ---- faults of an argument in memory ---- */

/* After those of test_spoil: F64 in a call of floats, F16 as lse or as an output that is added to, an array that is not
   aligned, an output on top of argument n. */
enum { WIDE = SPOILS, NARROW, ADDED, MISALIGNED, ON_TOP, VIEW_FAULTS = ON_TOP + ARGS };
static const char *const fault_names[] = {"F64", "F16", "F16, added", "unaligned"};

/* ---- faults of a call ---- */

#define CALL_FAULT_LIST(X)                                                                                             \
    X(NO_GRADS, GRADS, NULL, s->no_grads = 1)                                                                          \
    X(NO_MOD_GRAD, MOD_GRAD, NULL, s->grads.score_mod_grad = NULL)                                                     \
    X(OFFSET_MISSING, CAUSAL_OFFSET, NULL, s->t[CAUSAL_OFFSET].data = NULL)                                            \
    X(SCRATCH_MISSING, SCRATCH, NULL, s->ctx.scratch = NULL, s->ctx.scratch_size = 100)                                \
    X(NO_SINKS, DSINKS, SHAPE, s->t[SINKS].data = NULL)                                                                \
    X(NO_SLOPES, DSLOPES, SHAPE, s->t[SLOPES].data = NULL)                                                             \
    X(CAUSAL_UNKNOWN, CAUSAL, VALUE, s->opts.causal = (attn_causal)4)                                                  \
    X(CAUSAL_NEGATIVE, CAUSAL, VALUE, s->opts.causal = (attn_causal)-1)                                                \
    X(WINDOW_LEFT, WINDOW, VALUE, s->opts.window.on = 1, s->opts.window.left = -2)                                     \
    X(WINDOW_RIGHT, WINDOW, VALUE, s->opts.window.on = 1, s->opts.window.right = PTRDIFF_MIN)                          \
    X(Q_LENS_LONG, Q_LENS, VALUE, s->t[Q_LENS].data = s->q_lens.long_by_one; ONLY_IF(items))                           \
    X(Q_LENS_MAX, Q_LENS, VALUE, s->t[Q_LENS].data = s->q_lens.max; ONLY_IF(items))                                    \
    X(KV_LENS_LONG, KV_LENS, VALUE, s->t[KV_LENS].data = s->kv_lens.long_by_one; ONLY_IF(items))                       \
    X(KV_LENS_MAX, KV_LENS, VALUE, s->t[KV_LENS].data = s->kv_lens.max; ONLY_IF(items))                                \
    X(SCALE_NAN, SCALE, VALUE, s->opts.scale = NAN)                                                                    \
    X(SCALE_INF, SCALE, VALUE, s->opts.scale = -HUGE_VAL)                                                              \
    X(SCALE_NO_FLOAT, SCALE, VALUE, s->opts.scale = 1e300)                                                             \
    X(SOFTCAP_NAN, SOFTCAP, VALUE, s->opts.softcap = NAN)                                                              \
    X(SOFTCAP_NEGATIVE, SOFTCAP, VALUE, s->opts.softcap = -1)                                                          \
    X(SOFTCAP_TINY, SOFTCAP, VALUE, s->opts.softcap = 1e-39)                                                           \
    X(DROPOUT_ONE, DROPOUT, VALUE, s->opts.dropout.p = 1)                                                              \
    X(DROPOUT_NEGATIVE, DROPOUT, VALUE, s->opts.dropout.p = -1e-9)                                                     \
    X(DROPOUT_NAN, DROPOUT, VALUE, s->opts.dropout.p = NAN)                                                            \
    X(ISA_LACKING, ISA, VALUE, s->ctx.isa = (attn_isa)77)                                                              \
    X(ISA_NEGATIVE, ISA, VALUE, s->ctx.isa = (attn_isa)-1)                                                             \
    X(SCRATCH_ON_DQ, SCRATCH, ALIAS, *names |= set_of(DQ); return lay_scratch(s, good->t[DQ]))                         \
    X(SCRATCH_ON_DSINKS, SCRATCH, ALIAS, *names |= set_of(DSINKS); return lay_scratch(s, good->t[DSINKS]))             \
    X(SCRATCH_ON_K, SCRATCH, ALIAS, *names |= set_of(K); return lay_scratch(s, good->t[K]))                            \
    X(SCRATCH_SHORT, SCRATCH, NOMEM, s->ctx.scratch = good->scratch; s->ctx.scratch_size = good->needed - 1;           \
      ONLY_IF(full && good->needed))                                                                                   \
    X(NO_MEMORY, SCRATCH, NOMEM, s->no_memory = 1; ONLY_IF(good->allocates))

enum call_fault { CALL_FAULT_LIST(FAULT_NUMBER) CALL_FAULTS };
static const fault_row call_faults[] = {CALL_FAULT_LIST(FAULT_ENTRY)};

enum { FAULTS = ARGS * VIEW_FAULTS + CALL_FAULTS };

static int arg_of(int fault)
{
    return fault < ARGS * VIEW_FAULTS ? fault / VIEW_FAULTS : (int)call_faults[fault - ARGS * VIEW_FAULTS].args;
}

static const char *name_of(int fault)
{
    int kind = fault % VIEW_FAULTS;
    if (fault >= ARGS * VIEW_FAULTS)
        return call_faults[fault - ARGS * VIEW_FAULTS].name;
    if (kind < ON_TOP)
        return kind < SPOILS ? spoil_names[kind] : fault_names[kind - SPOILS];
    return arg_names[kind - ON_TOP];
}

/* ---- calls ---- */

typedef struct shape {
    size_t B, H, Hkv, Lq, Lk, D, Dv;
} shape;

typedef struct call_state {
    attn_tensor t[ARGS]; /* arrays as 1 x 1 x 1 x count, by_distance as 1 x 1 x H x (Lq + Lk - 1) */
    attn_grads grads;    /* its views and arrays are t's, and those of */
    attn_opts opts;      /* this */
    attn_ctx ctx;
    int no_grads, no_memory, allocates; /* NULL is given; the allocator fails; a right call uses it */
    size_t needed;                      /* bytes of scratch */
    void *scratch;
    length_table q_lens, kv_lens;
} call_state;

static attn_grads grads_of(const call_state *s)
{
    attn_grads grads = s->grads;
    grads.q = s->t[DQ];
    grads.k = s->t[DK];
    grads.v = s->t[DV];
    grads.bias = s->t[DBIAS];
    grads.by_distance = as_mat(s->t[BY_DISTANCE]);
    grads.sinks = s->t[DSINKS].data;
    grads.alibi_slopes = s->t[DSLOPES].data;
    grads.dlse = s->t[DLSE];
    return grads;
}

static attn_opts options_of(const call_state *s)
{
    attn_opts opts = s->opts;
    opts.causal_offset = s->t[CAUSAL_OFFSET].data;
    opts.mask = s->t[MASK];
    opts.q_lens = s->t[Q_LENS].data;
    opts.kv_lens = s->t[KV_LENS].data;
    opts.bias = s->t[BIAS];
    opts.alibi_slopes = s->t[SLOPES].data;
    opts.sinks = s->t[SINKS].data;
    return opts;
}

static attn_status ask(const void *call, attn_dry_run *dry)
{
    const call_state *s = call;
    attn_grads g = grads_of(s);
    attn_opts o = options_of(s);
    const attn_grads *grads = s->no_grads ? NULL : &g;
    const attn_tensor *t = s->t;
    test_memory_state.fail_all |= s->no_memory;
    return attn_sdpa_backward(grads, t[DOUT], t[Q], t[K], t[V], t[OUT], t[LSE], &o, test_dry(&s->ctx, dry));
}

/* Fills lse and out with those of the forward call. */
static void forward(call_state *s)
{
    attn_opts opts = options_of(s), none = {0};
    opts.lse = s->t[LSE];
    opts.weights = none.weights;
    opts.scores = none.scores;
    CHECK_STATUS(attn_sdpa(s->t[OUT], s->t[Q], s->t[K], s->t[V], &opts, NULL), ATTN_OK);
}

static void keep_scores(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)user, (void)scores, (void)count, (void)b, (void)h, (void)i, (void)j0;
}

static void keep_gradients(void *user, void *dscores, const void *before, size_t count, size_t b, size_t h, size_t i,
                           size_t j0)
{
    (void)user, (void)dscores, (void)before, (void)count, (void)b, (void)h, (void)i, (void)j0;
}

static attn_tensor array_of(void *data, size_t count, size_t size)
{
    return attn_bhld(data, size == 8 ? ATTN_F64 : ATTN_F32, 1, 1, 1, count);
}

static attn_tensor floats_of(size_t count, float value)
{
    attn_tensor t = tensor(ATTN_F32, 1, 1, 1, count);
    test_fill_tensor(t, (double)value);
    return t;
}

static void canaries(call_state *s) /* in every output */
{
    for (int a = 0; a < ARGS; a++)
        if (roles[a] & OUTPUT && size_of(s->t[a]))
            memset(s->t[a].data, 0xff, size_of(s->t[a]) * test_size(s->t[a].dtype));
}

/* ---- doing wrong ---- */

static int is_full(attn_tensor t)
{
    return size_of(t) > 0;
}

static attn_status lay_scratch(call_state *s, attn_tensor over)
{
    s->ctx.scratch = (char *)over.data + 1;
    s->ctx.scratch_size = 8;
    return is_full(over) ? ATTN_ERR_ALIAS : ATTN_OK;
}

/* Does it to t[arg]; the status to expect, or ATTN_OK where the fault has no meaning; *names: which arguments an
   explanation may name. */
static attn_status inflict_view(call_state *s, const call_state *good, int arg, int kind, uint64_t *names)
{
    attn_tensor *t = &s->t[arg], other;
    int role = roles[arg];
    *names = set_of(arg);
    if (role & SIMPLE || t->dim == 0 || test_absent_tensor(*t))
        return ATTN_OK;
    if (kind >= ON_TOP) {
        other = good->t[kind - ON_TOP];
        if (kind - ON_TOP == arg || !(role & OUTPUT) || roles[kind - ON_TOP] & SIMPLE || !is_full(*t) ||
            size_of(other) * test_size(other.dtype) <= 8)
            return ATTN_OK;
        t->data = (char *)other.data + 8;
        *names |= set_of(kind - ON_TOP);
        return ATTN_ERR_ALIAS;
    }
    if (kind == MISALIGNED) {
        t->data = (char *)t->data + 1;
        return role & ARRAY && is_full(*t) ? ATTN_ERR_VALUE : ATTN_OK;
    }
    if (role & ARRAY)
        return ATTN_OK;
    if (kind == WIDE) {
        t->dtype = ATTN_F64;
        *names |= arg == Q ? ~(uint64_t)0 : 0; /* the others fit q no longer */
        return role & ANY_FLOAT && test_wide == ATTN_F64 ? ATTN_OK : ATTN_ERR_DTYPE;
    }
    if (kind == NARROW) {
        t->dtype = ATTN_F16;
        return arg == LSE ? ATTN_ERR_DTYPE : ATTN_OK;
    }
    if (kind == ADDED) {
        t->dtype = ATTN_F16;
        s->grads.accumulate = 1;
        return role & OUTPUT ? ATTN_ERR_DTYPE : ATTN_OK;
    }
    if (role & TRUTH && kind == SPOIL_BOOL)
        return ATTN_OK;
    if (arg >= Q && arg <= V && kind >= SPOIL_BATCH && kind <= SPOIL_NO_DIM)
        *names = ~(uint64_t)0;
    if (arg == BIAS && (kind == SPOIL_ABSENT || (kind >= SPOIL_BATCH && kind <= SPOIL_NO_DIM)))
        *names |= set_of(DBIAS) | set_of(BY_DISTANCE);
    if (arg == BIAS && kind == SPOIL_ABSENT) { /* a gradient without its option */
        test_spoil(t, 0, kind);
        *names = set_of(DBIAS) | set_of(BY_DISTANCE);
        return ATTN_ERR_SHAPE;
    }
    if (arg == BY_DISTANCE && (kind == SPOIL_BATCH || kind == SPOIL_HEADS))
        return ATTN_OK; /* a matrix */
    if ((arg == MASK || arg == BIAS) && !is_full(*t) && kind >= SPOIL_BATCH && kind <= SPOIL_DIM) {
        size_t *const sizes[] = {&t->batch, &t->heads, &t->len, &t->dim}, *n = sizes[kind - SPOIL_BATCH];
        *n += *n == 0; /* 1 would broadcast */
    }
    if (arg == BIAS && !test_absent_tensor(good->t[BY_DISTANCE]) && (kind == SPOIL_STRIDE || kind == SPOIL_FARTHER)) {
        attn_status status = test_spoil(t, role, kind); /* it is no longer one of distances */
        *names = set_of(BY_DISTANCE);
        return status == ATTN_OK ? ATTN_OK : ATTN_ERR_SHAPE;
    }
    return test_spoil(t, role & (REQUIRED | OUTPUT), kind);
}

static attn_status inflict_call(call_state *s, const call_state *good, int fault, uint64_t *names)
{
    int full = is_full(good->t[Q]) && is_full(good->t[K]), items = good->t[Q].batch > 0;
    *names = set_of((int)call_faults[fault].args);
    switch (fault) {
        CALL_FAULT_LIST(FAULT_CASE)
    }
    return ATTN_OK;
}

static attn_status inflict(void *call, const void *good, int fault, uint64_t *names)
{
    if (fault < ARGS * VIEW_FAULTS)
        return inflict_view(call, good, fault / VIEW_FAULTS, fault % VIEW_FAULTS, names);
    return inflict_call(call, good, fault - ARGS * VIEW_FAULTS, names);
}

static int may_undo(int f, int g) /* one of these the other */
{
    int a = arg_of(f), b = arg_of(g), kind = f % VIEW_FAULTS, other = g % VIEW_FAULTS;
    int views = f < ARGS * VIEW_FAULTS && g < ARGS * VIEW_FAULTS;
    int of_sinks = (a == DSINKS || a == SINKS) && (b == DSINKS || b == SINKS),
        of_slopes = (a == DSLOPES || a == SLOPES) && (b == DSLOPES || b == SLOPES),
        of_causal = (a == CAUSAL || a == CAUSAL_OFFSET) && (b == CAUSAL || b == CAUSAL_OFFSET);
    if (a == b || of_sinks || of_slopes || of_causal)
        return 1;
    return views && ((kind == other && kind >= SPOIL_BATCH && kind <= SPOIL_NO_DIM) ||
                     (kind >= ON_TOP && other >= ON_TOP) || kind == ADDED || other == ADDED);
}

static const subject backward = {
    "attn_sdpa_backward", arg_names, ARGS, FAULTS, LSE, sizeof(call_state), ask, inflict, arg_of, name_of, may_undo};

/* A call that is right, with every option and every gradient, all of float; the bias is one of distances or, without
   `relative`, B x H x Lq x Lk. The outputs of attn_sdpa are bad views: nobody looks at them. */
static call_state good_call(shape n, int relative)
{
    call_state s = {0};
    long calls;
    ptrdiff_t *offsets = test_block((n.B + 1) * sizeof *offsets);
    attn_tensor bad = {NULL, ATTN_F32, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, 0, 0, 0, 0};
    for (size_t b = 0; b < n.B; b++)
        offsets[b] = (ptrdiff_t)n.Lk;
    s.q_lens = lengths_of(n.B, n.Lq);
    s.kv_lens = lengths_of(n.B, n.Lk);
    s.t[Q_LENS] = array_of(s.q_lens.all, n.B, sizeof(size_t));
    s.t[KV_LENS] = array_of(s.kv_lens.all, n.B, sizeof(size_t));
    s.t[CAUSAL_OFFSET] = array_of(offsets, n.B, sizeof *offsets);
    s.opts.causal = ATTN_CAUSAL_OFFSET;
    s.opts.score_mod = keep_scores;
    s.grads.score_mod_grad = keep_gradients;
    s.t[DOUT] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.Dv);
    s.t[Q] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.D);
    s.t[K] = tensor(ATTN_F32, n.B, n.Hkv, n.Lk, n.D);
    s.t[V] = tensor(ATTN_F32, n.B, n.Hkv, n.Lk, n.Dv);
    s.t[OUT] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.Dv);
    s.t[LSE] = tensor(ATTN_F32, n.B, n.H, n.Lq, 1);
    s.t[DLSE] = tensor(ATTN_F32, n.B, n.H, n.Lq, 1);
    s.t[MASK] = tensor(ATTN_BOOL, n.B, n.H, n.Lq, n.Lk);
    s.t[SINKS] = floats_of(n.H, 0.5f);
    s.t[SLOPES] = floats_of(n.H, 0.125f);
    for (int a = DLSE; a <= MASK; a++)
        if (size_of(s.t[a]) && !(roles[a] & (ARRAY | SIMPLE)))
            test_fill_tensor(s.t[a], a == MASK ? 1 : a == V ? 0.75 : 0.25);
    if (relative) {
        s.t[BIAS] = tensor(ATTN_F32, 1, 1, n.H, n.Lq + n.Lk - 1);
        test_fill_tensor(s.t[BIAS], 0.25);
        s.t[BIAS] = attn_relative(as_mat(s.t[BIAS]), n.Lq, n.Lk);
        s.t[BY_DISTANCE] = tensor(ATTN_F32, 1, 1, n.H, n.Lq + n.Lk - 1);
        s.t[DBIAS] = tensor(ATTN_F32, 1, n.H, n.Lq, n.Lk);
    } else {
        s.t[BIAS] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.Lk);
        test_fill_tensor(s.t[BIAS], 0.25);
        s.t[DBIAS] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.Lk);
    }
    s.t[DQ] = tensor(ATTN_F32, n.B, n.H, n.Lq, n.D);
    s.t[DK] = tensor(ATTN_F32, n.B, n.Hkv, n.Lk, n.D);
    s.t[DV] = tensor(ATTN_F32, n.B, n.Hkv, n.Lk, n.Dv);
    s.t[DSINKS] = floats_of(n.H, 0);
    s.t[DSLOPES] = floats_of(n.H, 0);
    forward(&s);
    s.opts.lse = s.opts.weights = s.opts.scores = bad;
    s.needed = needed_by(&backward, &s);
    s.scratch = test_block(s.needed + 1);
    calls = test_memory_state.calls;
    CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_OK);
    s.allocates = test_memory_state.calls > calls;
    canaries(&s);
    return s;
}

static const shape usual = {2, 4, 2, 3, 5, 4, 6};

/* Every output of a good call, for test_wrote_only_tensors; absent ones are fine. */
static size_t outputs_of(const call_state *s, attn_tensor *outs)
{
    size_t count = 0;
    for (int a = 0; a < ARGS; a++)
        if (roles[a] & OUTPUT)
            outs[count++] = s->t[a];
    return count;
}

static void check_outputs(const call_state *s) /* every element is written and finite */
{
    for (int a = 0; a < ARGS; a++)
        for (size_t i = 0; roles[a] & OUTPUT && i < size_of(s->t[a]); i++)
            if (!CHECK(isfinite(((const float *)s->t[a].data)[i])))
                printf("    %s[%zu]\n", arg_names[a], i);
}

TEST(backward_status_single_faults)
{
    for (int relative = 0; relative < 2; relative++) {
        const char *where = relative ? ", relative" : "";
        call_state good = good_call(usual, relative);
        attn_tensor outs[ARGS];
        size_t count = outputs_of(&good, outs);
        test_freeze();
        check_alone(&backward, &good, where);
        check_right(&backward, &good, outs, count, where);
        check_outputs(&good);
        test_release();
    }
}

static void check_order(shape n, int relative, size_t one_in)
{
    call_state good = good_call(n, relative);
    char where[80];
    snprintf(where, sizeof where, ", B %zu H %zu Lq %zu Lk %zu%s", n.B, n.H, n.Lq, n.Lk, relative ? ", relative" : "");
    test_freeze();
    check_pairs(&backward, &good, one_in, where);
    test_release();
}

TEST(backward_status_order)
{
    check_order(usual, 0, test_quick ? 100 : 3);
    check_order(usual, 1, test_quick ? 100 : 3);
}

/* Nothing to do is no reason to look away. */
TEST(backward_status_empty_shapes)
{
    static const shape empty[] = {{0, 4, 2, 3, 5, 4, 6}, {2, 0, 0, 3, 5, 4, 6}, {2, 0, 2, 3, 5, 4, 6},
                                  {2, 4, 2, 0, 5, 4, 6}, {2, 4, 2, 3, 0, 4, 6}, {2, 4, 2, 3, 5, 4, 0},
                                  {0, 0, 0, 0, 0, 1, 0}};
    for (size_t e = 0; e < sizeof empty / sizeof *empty; e++) {
        call_state good = good_call(empty[e], 0);
        attn_tensor outs[ARGS];
        size_t count = outputs_of(&good, outs);
        char where[32];
        snprintf(where, sizeof where, ", empty shape %zu", e);
        test_freeze();
        check_alone(&backward, &good, where);
        check_right(&backward, &good, outs, count, where);
        check_outputs(&good);
        if (e != 5) /* without values a gradient still reaches lse */
            for (int a = DQ; a <= DSLOPES; a++)
                for (size_t i = 0; a != DSINKS && i < size_of(good.t[a]); i++)
                    CHECK(((const float *)good.t[a].data)[i] == 0);
        for (size_t h = 0; e == 4 && h < 4; h++) /* only the sink is seen: lse is the sink, 2 x 3 rows of dlse 1/4 */
            CHECK_NEAR(((const float *)good.t[DSINKS].data)[h], 1.5, 1e-6L);
        test_release();
        check_order(empty[e], 0, test_quick ? 1000 : 40);
    }
}

/* Without items, heads, queries or keys sums are of nothing, but there may be gradients of biases, slopes and shared
   inputs, which are zeros then; added to, they stay. */
TEST(backward_status_empty_sums)
{
    for (int empty = 0; empty < 4; empty++)
        for (int ones = 0; ones < 16; ones++) /* which dimensions of the bias are 1 */
            for (int accumulate = 0; accumulate < 2; accumulate++) {
                size_t n[4] = {2, 4, 3, 5}, d[4];
                call_state s = {0};
                attn_tensor outs[ARGS];
                size_t count;
                n[empty] = 0;
                for (int i = 0; i < 4; i++)
                    d[i] = ones >> i & 1 ? 1 : n[i];
                test_case("no %s, bias %zu x %zu x %zu x %zu%s", empty == 0   ? "items"
                                                                  : empty == 1 ? "heads"
                                                                  : empty == 2 ? "queries"
                                                                               : "keys",
                          d[0], d[1], d[2], d[3], accumulate ? ", added" : "");
                s.t[Q] = filled(ATTN_F32, n[0], n[1], n[2], 3);
                s.t[K] = filled(ATTN_F32, n[0], 2, n[3], 3);
                s.t[V] = filled(ATTN_F32, n[0], 2, n[3], 3);
                s.t[OUT] = filled(ATTN_F32, n[0], n[1], n[2], 3);
                s.t[DOUT] = filled(ATTN_F32, n[0], n[1], n[2], 3);
                s.t[LSE] = filled(ATTN_F32, n[0], n[1], n[2], 1);
                s.t[BIAS] = filled(ATTN_F32, d[0], d[1], d[2], d[3]);
                s.t[SLOPES] = floats_of(n[1], 0.5f);
                s.t[DBIAS] = tensor(ATTN_F32, d[0], d[1], d[2], d[3]);
                s.t[DSLOPES] = floats_of(n[1], 0);
                s.t[DQ] = tensor(ATTN_F32, n[0], n[1], n[2], 3);
                s.t[DK] = tensor(ATTN_F32, n[0], 2, n[3], 3);
                s.t[DV] = tensor(ATTN_F32, n[0], 2, n[3], 3);
                if (ones == 0 && empty < 2) { /* Lq + Lk - 1 columns */
                    s.t[BIAS] = attn_relative(as_mat(filled(ATTN_F32, 1, 1, n[1], 7)), 3, 5);
                    memset(&s.t[DBIAS], 0, sizeof s.t[DBIAS]);
                    s.t[BY_DISTANCE] = tensor(ATTN_F32, 1, 1, n[1], 7);
                }
                s.grads.accumulate = accumulate;
                count = outputs_of(&s, outs);
                for (size_t i = 0; i < count; i++)
                    test_fill_tensor(outs[i], 99);
                test_freeze();
                CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_OK);
                CHECK(test_wrote_only_tensors(outs, count));
                for (size_t i = 0; i < count; i++)
                    for (size_t j = 0; j < size_of(outs[i]); j++)
                        CHECK(((const float *)outs[i].data)[j] == (accumulate ? 99.0f : 0.0f));
                test_release();
            }
}

TEST(backward_status_pointers)
{
    attn_tensor q = filled(ATTN_F32, 1, 1, 2, 3), k = filled(ATTN_F32, 1, 1, 4, 3), v = filled(ATTN_F32, 1, 1, 4, 3),
                out = filled(ATTN_F32, 1, 1, 2, 3), dout = filled(ATTN_F32, 1, 1, 2, 3), none = {0},
                lse = filled(ATTN_F32, 1, 1, 2, 1);
    attn_grads grads = {0};
    attn_opts opts = {0};
    grads.q = tensor(ATTN_F32, 1, 1, 2, 3);
    test_freeze();
    test_case("no grads");
    CHECK_STATUS(attn_sdpa_backward(NULL, dout, q, k, v, out, lse, NULL, NULL), ATTN_ERR_NULL);
    CHECK(test_wrote_nothing());
    test_case("nothing is wanted");
    grads.q = none;
    CHECK_STATUS(attn_sdpa_backward(&grads, dout, q, k, v, out, lse, NULL, NULL), ATTN_OK);
    CHECK_STATUS(attn_sdpa_backward(&grads, dout, q, k, v, out, lse, &opts, NULL), ATTN_OK);
    CHECK_STATUS(attn_sdpa_backward(&grads, dout, q, k, q, out, lse, &opts, NULL), ATTN_ERR_SHAPE);
    CHECK(test_wrote_nothing());
    test_case("score_mod_grad without score_mod is not looked at");
    grads.score_mod_grad = keep_gradients;
    CHECK_STATUS(attn_sdpa_backward(&grads, dout, q, k, v, out, lse, NULL, NULL), ATTN_OK);
    CHECK_STATUS(attn_sdpa_backward(&grads, dout, q, k, v, out, lse, &opts, NULL), ATTN_OK);
    test_case("score_mod without its gradient, wherever gradients are wanted");
    grads.score_mod_grad = NULL;
    opts.score_mod = keep_scores;
    CHECK_STATUS(attn_sdpa_backward(&grads, dout, q, k, v, out, lse, &opts, NULL), ATTN_ERR_NULL);
}

/* ---- types ---- */

/* The views of a call whose types are given: f64 iff q is, then all of them; lse in the compute type. */
TEST(backward_status_types)
{
    enum { KINDS = 8 };
    static const int kinds[KINDS] = {Q, DQ, DK, DV, DOUT, K, V, OUT};
    for (size_t n = 0; n < (test_quick ? 2000 : 20000); n++) {
        call_state s = {0};
        attn_dtype type[ARGS];
        int wide = 0, right;
        int one = test_maybe() ? (int)test_below(KINDS) : -1; /* mostly all of a family but one */
        int family = test_maybe();
        for (int m = 0; m < KINDS; m++)
            type[kinds[m]] = (m == one) != family ? test_wide : test_floats[2 * test_below(2) + (test_below(2) ? 1 : 0)];
        for (int m = 0; m < KINDS; m++) {
            if (!((m == one) != family) && type[kinds[m]] == ATTN_F64)
                type[kinds[m]] = ATTN_F32;
            wide += type[kinds[m]] == ATTN_F64;
        }
        s.t[Q] = filled(type[Q], 1, 2, 2, 3);
        s.t[K] = filled(type[K], 1, 1, 4, 3);
        s.t[V] = filled(type[V], 1, 1, 4, 5);
        s.t[DOUT] = filled(type[DOUT], 1, 2, 2, 5);
        s.t[OUT] = filled(type[OUT], 1, 2, 2, 5);
        type[LSE] = test_floats[test_below(4)];
        if (test_below(4))
            type[LSE] = type[Q] == ATTN_F64 ? ATTN_F64 : ATTN_F32;
        s.t[LSE] = filled(type[LSE], 1, 2, 2, 1);
        s.t[DLSE] = filled(test_floats[test_below(4)], 1, 2, 2, 1);
        s.t[BIAS] = filled(test_floats[test_below(4)], 1, 2, 2, 4);
        s.t[DBIAS] = tensor(test_floats[test_below(4)], 1, 2, 2, 4);
        s.t[DQ] = tensor(type[DQ], 1, 2, 2, 3);
        s.t[DK] = tensor(type[DK], 1, 1, 4, 3);
        s.t[DV] = tensor(type[DV], 1, 1, 4, 5);
        if (test_below(3) == 0) {
            s.t[BIAS] = filled(test_floats[test_below(4)], 1, 1, 2, 5);
            s.t[BIAS] = attn_relative(as_mat(s.t[BIAS]), 2, 4);
            s.t[BY_DISTANCE] = tensor(test_floats[test_below(4)], 1, 1, 2, 5);
            if (test_maybe())
                memset(&s.t[DBIAS], 0, sizeof s.t[DBIAS]);
        }
        s.grads.accumulate = test_below(3) == 0;
        right = (wide == 0 || wide == KINDS) && type[LSE] == (type[Q] == ATTN_F64 ? ATTN_F64 : ATTN_F32);
        for (int a = DQ; s.grads.accumulate && a <= BY_DISTANCE; a++) {
            if (!test_absent_tensor(s.t[a]) && s.t[a].dtype >= ATTN_F16)
                right = 0;
            else if (!test_absent_tensor(s.t[a]))
                test_fill_tensor(s.t[a], 0);
        }
        test_case("q %s, k %s, v %s, dout %s, out %s, lse %s, grads.q %s, k %s, v %s, bias %s%s",
                  test_dtype_name(type[Q]), test_dtype_name(type[K]), test_dtype_name(type[V]),
                  test_dtype_name(type[DOUT]), test_dtype_name(type[OUT]), test_dtype_name(type[LSE]),
                  test_dtype_name(type[DQ]), test_dtype_name(type[DK]), test_dtype_name(type[DV]),
                  test_dtype_name(s.t[DBIAS].dtype), s.grads.accumulate ? ", added" : "");
        if (!right)
            test_freeze();
        CHECK_STATUS(make(&backward, CALL, &s, NULL), right ? ATTN_OK : ATTN_ERR_DTYPE);
        if (!right)
            CHECK(test_wrote_nothing());
        test_release();
    }
}

/* ---- gradients of options ---- */

/* A gradient of an option that is not there; whether it is NULL, or there are no options at all. */
TEST(backward_status_not_given)
{
    attn_tensor q = filled(ATTN_F32, 1, 2, 2, 3), k = filled(ATTN_F32, 1, 2, 4, 3), out = filled(ATTN_F32, 1, 2, 2, 3),
                lse = filled(ATTN_F32, 1, 2, 2, 1);
    static const char *const names[] = {"grads.bias", "grads.by_distance", "grads.sinks", "grads.alibi_slopes"};
    const attn_opts none = {0};
    for (int n = 0; n < 4; n++)
        for (int options = 0; options < 2; options++) {
            attn_grads grads = {0};
            char text[TEXT];
            attn_dry_run dry = {0, text, TEXT};
            if (n == 0)
                grads.bias = tensor(ATTN_F32, 1, 2, 2, 4);
            if (n == 1)
                grads.by_distance = as_mat(tensor(ATTN_F32, 1, 1, 2, 5));
            if (n == 2)
                grads.sinks = floats_of(2, 0).data;
            if (n == 3)
                grads.alibi_slopes = floats_of(2, 0).data;
            test_case("%s, %s", names[n], options ? "not among the options" : "no options");
            test_freeze();
            CHECK_STATUS(attn_sdpa_backward(&grads, out, q, k, k, out, lse, options ? &none : NULL, NULL),
                         ATTN_ERR_SHAPE);
            CHECK_STATUS(
                attn_sdpa_backward(&grads, out, q, k, k, out, lse, options ? &none : NULL, test_dry(NULL, &dry)),
                ATTN_ERR_SHAPE);
            CHECK(grid_names(text, names[n]));
            CHECK(test_wrote_nothing());
        }
}

/* by_distance takes a bias that attn_relative could have made, of whatever matrix, and no other. */
TEST(backward_status_by_distance)
{
    static const size_t lengths[][2] = {{1, 1}, {1, 5}, {4, 1}, {3, 5}, {6, 2}};
    for (size_t n = 0; n < 5; n++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            size_t Lq = lengths[n][0], Lk = lengths[n][1], H = 2, N = Lq + Lk - 1;
            call_state s = {0};
            attn_tensor bias;
            s.t[Q] = filled(ATTN_F32, 2, H, Lq, 3);
            s.t[K] = s.t[V] = filled(ATTN_F32, 2, 1, Lk, 3);
            s.t[OUT] = tensor(ATTN_F32, 2, H, Lq, 3);
            s.t[DOUT] = filled(ATTN_F32, 2, H, Lq, 3);
            s.t[LSE] = tensor(ATTN_F32, 2, H, Lq, 1);
            bias = s.t[BIAS] = attn_relative(test_random_mat(ATTN_F32, H, N, layout), Lq, Lk);
            s.t[BY_DISTANCE] = tensor(ATTN_F32, 1, 1, H, N);
            forward(&s);
            test_case("layout %d, %zu x %zu", layout, Lq, Lk);
            CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_OK);
            test_freeze();
            test_case("layout %d, %zu x %zu, one column more", layout, Lq, Lk);
            s.t[BY_DISTANCE].dim++;
            CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_ERR_SHAPE);
            test_case("layout %d, %zu x %zu, one column less", layout, Lq, Lk);
            s.t[BY_DISTANCE].dim -= 2;
            CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_ERR_SHAPE);
            s.t[BY_DISTANCE].dim++;
            test_case("layout %d, %zu x %zu, one row for all heads", layout, Lq, Lk);
            s.t[BY_DISTANCE].len = 1;
            CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_ERR_SHAPE);
            s.t[BY_DISTANCE].len = H;
            test_case("layout %d, %zu x %zu, a bias for each item", layout, Lq, Lk);
            s.t[BIAS].batch = 2;
            CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_ERR_SHAPE);
            s.t[BIAS] = bias;
            test_case("layout %d, %zu x %zu, a bias for all heads", layout, Lq, Lk);
            s.t[BIAS].heads = 1;
            CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_ERR_SHAPE);
            s.t[BIAS] = bias;
            if (Lq > 1 && Lk > 1) {
                test_case("layout %d, %zu x %zu, a bias that is no matrix of distances", layout, Lq, Lk);
                s.t[BIAS] = filled(ATTN_F32, 1, H, Lq, Lk);
                test_freeze();
                CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_ERR_SHAPE);
                s.t[BIAS] = bias;
                s.t[BIAS].len = 1; /* one row for all queries */
                CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_ERR_SHAPE);
            }
            CHECK(test_wrote_nothing());
            test_release();
        }
}

/* Which shapes the gradient of an input may have: its own, or one item where the whole batch shares it. */
TEST(backward_status_shared)
{
    static const int inputs[] = {Q, K, V}, outputs[] = {DQ, DK, DV};
    for (size_t n = 0; n < 3; n++)
        for (size_t shared = 0; shared < 2; shared++)
            for (size_t B = 1; B < 4; B++) {
                call_state s = {0};
                attn_tensor *t = &s.t[inputs[n]];
                s.t[Q] = filled(ATTN_F32, 3, 2, 4, 3);
                s.t[K] = filled(ATTN_F32, 3, 1, 5, 3);
                s.t[V] = filled(ATTN_F32, 3, 1, 5, 3);
                s.t[OUT] = tensor(ATTN_F32, 3, 2, 4, 3);
                s.t[DOUT] = filled(ATTN_F32, 3, 2, 4, 3);
                s.t[LSE] = tensor(ATTN_F32, 3, 2, 4, 1);
                if (shared)
                    t->batch_stride = 0;
                forward(&s);
                s.t[outputs[n]] = tensor(ATTN_F32, B, t->heads, t->len, t->dim);
                test_case("%s, %s, %zu items", arg_names[outputs[n]], shared ? "shared" : "one for each item", B);
                CHECK_STATUS(make(&backward, CALL, &s, NULL), (shared ? B == 1 : B == 3) ? ATTN_OK : ATTN_ERR_SHAPE);
                test_release();
            }
}

/* ---- sizes ---- */

/* Dimensions that someone has written into the struct, of tensors whose strides are 0: refused, never multiplied. */
TEST(backward_status_huge_shapes)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 126, (size_t)PTRDIFF_MAX + 1};
    const size_t wide = (size_t)1 << (sizeof(size_t) * 5); /* its square overflows */
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 6 * 3 + 2; n++) {
            static const char *const names[] = {"Lk", "Lq", "B", "H", "D", "Dv", "B and H", "H and Lq"};
            int kind = n < 18 ? n / 3 : n - 12;
            size_t huge = n < 18 ? sizes[n % 3] : wide;
            call_state s = {0};
            s.ctx.isa = isa;
            for (int a = DOUT; a <= LSE; a++) {
                attn_tensor *t = &s.t[a];
                int keys = a == K || a == V;
                *t = filled(ATTN_F32, 1, 1, keys ? 4 : 2, a == LSE ? 1 : 3);
                t->batch_stride = t->head_stride = t->len_stride = t->dim_stride = 0;
                if (kind == 2 || kind == 6)
                    t->batch = huge;
                if ((kind == 3 && !keys) || kind == 6 || (kind == 7 && !keys))
                    t->heads = huge;
                if ((kind == 0 && keys) || ((kind == 1 || kind == 7) && !keys))
                    t->len = huge;
                if ((kind == 4 && (a == Q || a == K)) || (kind == 5 && (a == OUT || a == DOUT || a == V)))
                    t->dim = huge;
            }
            s.t[DQ] = s.t[Q];
            s.t[DQ].data = tensor(ATTN_F32, 1, 1, 2, 3).data;
            s.t[DQ].batch = 1; /* q has batch_stride 0 */
            test_case("%s, %s of %zu", attn_isa_string(isa), names[kind], huge);
            check_refused(&backward, &s, ATTN_ERR_OVERFLOW);
            test_release();
        }
}

/* Products of dimensions that no single one of them shows: bytes of a tile of keys, blocks of all heads, places of a
   bias. */
TEST(backward_status_huge_products)
{
    static float one[1];
    const size_t word = sizeof(size_t) * 8, dims[] = {1, 130};
    attn_grads grads = {0};
    attn_opts opts = {0};
    attn_dry_run dry = {7, NULL, 0};
    for (size_t c = 0; c < 2; c++)
        for (size_t power = word - 14; power < word - 2; power++) {
            size_t L = dims[c], D = (size_t)1 << power;
            attn_tensor x = attn_tensor_of(one, ATTN_F32, 1, 1, L, D, 0, 0, 0, 0), lse = x;
            attn_status status;
            lse.dim = 1;
            test_case("L %zu, D 2^%zu", L, power);
            status = attn_sdpa_backward(&grads, x, x, x, x, x, lse, NULL, test_dry(NULL, &dry));
            CHECK(status == ATTN_OK || status == ATTN_ERR_OVERFLOW);
            CHECK(power < word - 6 || status == ATTN_ERR_OVERFLOW);
        }
    for (size_t c = 0; c < 2; c++) {
        size_t L = (size_t)1 << (word - 3), B = (size_t)1 << (word / 2 - 1), places = (size_t)1 << (word / 2);
        attn_tensor x = c == 0 ? attn_tensor_of(one, ATTN_F32, B, 4, L, 2, 0, 0, 0, 1)
                               : attn_tensor_of(one, ATTN_F32, 2, 1, places, 2, 0, 0, 0, 1),
                    lse = x;
        lse.dim = 1;
        dry.scratch = 7;
        if (c == 1) {
            opts.bias = attn_tensor_of(one, ATTN_F32, 1, 1, places, places, 0, 0, 0, 0);
            grads.bias = opts.bias;
            grads.bias.data = &(float){0};
        }
        test_case("%s", c == 0 ? "blocks" : "places of a bias");
        CHECK(attn_sdpa_backward(&grads, x, x, x, x, x, lse, &opts, test_dry(NULL, &dry)) != ATTN_OK);
        CHECK(dry.scratch == 7);
    }
}

/* Sums that need memory as long as the lengths: more than there is. */
TEST(backward_status_huge_scratch)
{
    float one = 1, two = 2, three = 3;
    size_t many = (size_t)PTRDIFF_MAX / 16;
    call_state s = {0};
    attn_dry_run dry = {7, NULL, 0};
    attn_status status;
    s.t[Q] = s.t[OUT] = s.t[DOUT] = s.t[LSE] = attn_tensor_of(&one, ATTN_F32, 1, 1, many, 1, 0, 0, 0, 0);
    s.t[K] = s.t[V] = attn_tensor_of(&two, ATTN_F32, 1, 1, 1, 1, 0, 0, 0, 0);
    s.t[DK] = attn_tensor_of(&three, ATTN_F32, 1, 1, 1, 1, 0, 0, 0, 0);
    test_case("a question alone: it may not fit, but must not wrap around");
    status = ask(&s, &dry);
    CHECK(status == ATTN_OK || status == ATTN_ERR_OVERFLOW);
    CHECK(status == ATTN_OK ? dry.scratch != 7 : dry.scratch == 7);
}

/* ---- overlap ---- */

TEST(backward_status_overlap)
{
    float *a = test_block(600 * sizeof *a);
    attn_tensor q = attn_bhld(a, ATTN_F32, 1, 2, 3, 4), kv = attn_bhld(a + 100, ATTN_F32, 1, 2, 3, 4),
                out = attn_bhld(a + 200, ATTN_F32, 1, 2, 3, 4), lse = attn_bhld(a + 300, ATTN_F32, 1, 2, 3, 1);
    attn_grads none = {0}, grads = none;
    for (size_t i = 0; i < 600; i++)
        a[i] = (float)i / 600;
    test_case("in place of an input");
    for (int n = 0; n < 4; n++) {
        grads = none;
        grads.q = n == 0 ? q : n == 1 ? kv : n == 2 ? out : attn_bhld(a + 300 - 23, ATTN_F32, 1, 2, 3, 4);
        test_freeze();
        CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_ERR_ALIAS);
        grads.k = grads.q;
        grads.q = none.q;
        CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_ERR_ALIAS);
        grads.v = grads.k;
        grads.k = none.k;
        CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_ERR_ALIAS);
        CHECK(test_wrote_nothing());
    }
    test_case("dout, out and all inputs on one another");
    grads = none;
    grads.q = attn_bhld(a + 400, ATTN_F32, 1, 2, 3, 4);
    CHECK_STATUS(attn_sdpa_backward(&grads, q, q, q, q, q, lse, NULL, NULL), ATTN_OK);
    test_case("outputs on one another");
    grads.k = attn_bhld(a + 423, ATTN_F32, 1, 2, 3, 4);
    CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_ERR_ALIAS);
    grads.k = attn_bhld(a + 424, ATTN_F32, 1, 2, 3, 4);
    CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_OK);
    grads.v = grads.k;
    CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_ERR_ALIAS);
    test_case("interleaved [L][3][H][D]"); /* L 3, H 2, D 4 */
    grads.q = attn_tensor_of(a + 400, ATTN_F32, 1, 2, 3, 4, 0, 4, 24, 1);
    grads.k = attn_tensor_of(a + 408, ATTN_F32, 1, 2, 3, 4, 0, 4, 24, 1);
    grads.v = attn_tensor_of(a + 416, ATTN_F32, 1, 2, 3, 4, 0, 4, 24, 1);
    CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_OK);
    grads.v.data = a + 415;
    CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_ERR_ALIAS);
    test_case("an output that slides over itself");
    grads = none;
    grads.q = attn_tensor_of(a + 400, ATTN_F32, 1, 2, 3, 4, 0, 4, 4, 1);
    CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_ERR_ALIAS);
    grads.q.len_stride = 0;
    CHECK_STATUS(attn_sdpa_backward(&grads, out, q, kv, kv, out, lse, NULL, NULL), ATTN_ERR_ALIAS);
}

/* ---- memory ---- */

/* All gradients of a call of several tiles; with 16-bit types, a bias with dimensions of 1, or one of distances. */
static call_state large_call(attn_dtype dtype, int relative)
{
    attn_dtype compute = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    call_state s = {0};
    s.t[Q] = filled(dtype, 1, 4, 70, 40);
    s.t[K] = filled(dtype, 1, 2, 150, 40);
    s.t[V] = filled(dtype, 1, 2, 150, 33);
    s.t[DOUT] = filled(dtype, 1, 4, 70, 33);
    s.t[OUT] = tensor(dtype, 1, 4, 70, 33);
    s.t[LSE] = tensor(compute, 1, 4, 70, 1);
    s.t[DLSE] = filled(ATTN_F32, 1, 4, 70, 1);
    s.t[SINKS] = floats_of(4, 0.5f);
    s.t[SLOPES] = floats_of(4, 0.125f);
    s.opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    if (relative) {
        s.t[BIAS] = filled(dtype, 1, 1, 4, 70 + 150 - 1);
        s.t[BIAS] = attn_relative(as_mat(s.t[BIAS]), 70, 150);
        s.t[BY_DISTANCE] = tensor(dtype, 1, 1, 4, 70 + 150 - 1);
    } else {
        s.t[BIAS] = filled(dtype, 1, 1, 70, 1);
        s.t[DBIAS] = tensor(dtype, 1, 1, 70, 1);
    }
    s.t[DQ] = tensor(dtype, 1, 4, 70, 40);
    s.t[DK] = tensor(dtype, 1, 2, 150, 40);
    s.t[DV] = tensor(dtype, 1, 2, 150, 33);
    s.t[DSINKS] = floats_of(4, 0);
    s.t[DSLOPES] = floats_of(4, 0);
    forward(&s);
    return s;
}

/* Outputs of their own for a call like s. */
static call_state elsewhere(const call_state *s)
{
    call_state other = *s;
    for (int a = 0; a < ARGS; a++)
        if (roles[a] & OUTPUT && !test_absent_tensor(s->t[a]))
            other.t[a] = tensor(s->t[a].dtype, s->t[a].batch, s->t[a].heads, s->t[a].len, s->t[a].dim);
    return other;
}

static int same_outputs(const call_state *s, const call_state *other)
{
    int same = 1;
    for (int a = 0; a < ARGS; a++)
        if (roles[a] & OUTPUT && !test_absent_tensor(s->t[a]))
            same &= test_same_tensor_bits(s->t[a], other->t[a]);
    return same;
}

TEST(backward_status_scratch)
{
    static const size_t widths[] = {0, 1, 2, 3, 5};
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 5 * 4; n++) {
            call_state s, fed;
            size_t width = widths[n % 5], count;
            test_runner runner;
            attn_tensor outs[ARGS];
            if (test_quick && n % 8 != 2)
                continue;
            s = large_call(dtypes[n / 5], n % 2 == 0);
            s.ctx.isa = isa;
            test_case("%s, %s, width %zu", attn_isa_string(isa), test_dtype_name(dtypes[n / 5]), width);
            CHECK_STATUS(make(&backward, CALL, &s, NULL), ATTN_OK);
            fed = elsewhere(&s);
            if (width)
                fed.ctx.parallel = test_serial_backwards(&runner, width);
            count = outputs_of(&fed, outs);
            CHECK(check_scratch(&backward, &fed, &fed.ctx, outs, count) < (width + 1) * (4 << 20));
            CHECK(same_outputs(&fed, &s));
            test_release();
        }
}

/* The size of the scratch is no matter of contents. */
TEST(backward_status_scratch_unread)
{
    call_state s = large_call(ATTN_F32, 1);
    size_t bytes = needed_by(&backward, &s);
    test_fill_tensor(s.t[Q], 3);
    test_fill_tensor(s.t[LSE], 0);
    CHECK(needed_by(&backward, &s) == bytes);
}

TEST(backward_status_no_memory)
{
    const attn_dtype dtypes[] = {ATTN_F32, test_wide, ATTN_F16};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < 6; n++) {
            call_state s = large_call(dtypes[n % 3], n < 3);
            attn_tensor outs[ARGS];
            size_t count = outputs_of(&s, outs);
            test_runner runner;
            s.ctx.isa = isa;
            s.ctx.parallel = test_serial_backwards(&runner, 1 + n);
            test_case("%s, %s, an allocation fails", attn_isa_string(isa), test_dtype_name(dtypes[n % 3]));
            check_allocations(&backward, &s, outs, count);
            test_release();
        }
}

/* Memory comes last. */
TEST(backward_status_no_memory_at_last)
{
    static const shape large = {1, 4, 2, 70, 150, 40, 33};
    call_state good = good_call(large, 1);
    CHECK(good.allocates);
    test_freeze();
    test_memory_state.fail_all = 1;
    check_alone(&backward, &good, ", no memory");
    test_memory_state.fail_all = 0;
}

TEST(backward_status_errno)
{
    FOR_EACH_ISA (isa)
        for (int n = 0; n < 2; n++) {
            call_state s = large_call(n ? test_wide : ATTN_F32, 1);
            s.ctx.isa = isa;
            test_fill(attn_head(s.t[K], 0, 1), n ? 300 : 90); /* weights that are too small for a number */
            s.opts.softcap = 1e4;
            s.opts.scale = -3;
            forward(&s);
            test_case("%s, %s", attn_isa_string(isa), n ? "f64" : "f32");
            check_errno(&backward, &s);
            test_release();
        }
}

/* ---- memory that must not be touched ---- */

typedef struct fenced_call {
    call_state s;
    int back;
    attn_status status;
} fenced_call;

static void do_fenced_call(void *arg)
{
    fenced_call *c = arg;
    attn_opts opts = options_of(&c->s);
    if (!c->back) {
        opts.lse = c->s.t[LSE];
        c->status = attn_sdpa(c->s.t[OUT], c->s.t[Q], c->s.t[K], c->s.t[V], &opts, &c->s.ctx);
    } else {
        c->status = make(&backward, CALL, &c->s, NULL);
    }
}

/* Copies the first `exist` rows of a whole result to where no others exist. */
static attn_tensor fenced_copy(attn_tensor t, size_t exist, int backwards)
{
    attn_tensor copy = test_fenced_rows(t.dtype, t.heads, t.len, t.dim, exist, 1, backwards);
    test_copy_tensor(attn_tensor_slice(copy, 0, exist), attn_tensor_slice(t, 0, exist));
    return copy;
}

/* Nothing is read past the valid keys, nor of dout, out, lse and dlse past the valid queries, nor past the end of any
   tensor or before it. */
TEST(backward_fences)
{
    static const size_t dims[][2] = {{1, 1}, {3, 5}, {7, 2}, {16, 33}, {40, 9}, {64, 17}};
    static const size_t keys[][2] = {{1, 1},   {4, 4},   {5, 3},    {7, 7},     {8, 5},     {13, 12},
                                     {31, 17}, {33, 0},  {100, 66}, {127, 127}, {130, 129}, {140, 128}};
    static const size_t queries[][2] = {{1, 1}, {3, 2}, {17, 17}, {26, 9}, {70, 65}, {5, 0}};
    FOR_EACH_ISA (isa)
        for (size_t n = 0; n < (test_quick ? 72 : 720); n++) {
            const size_t *dim = dims[test_below(6)], *key = keys[n % 12], *query = queries[n / 12 % 6];
            size_t Lk = key[0], valid = key[1], Lq = query[0], rows = query[1], H = 1 + test_below(2), D = dim[0],
                   Dv = dim[1];
            attn_dtype type = test_floats[test_below(4)], compute = type == ATTN_F64 ? ATTN_F64 : ATTN_F32;
            int backwards = test_maybe(), of_rows = test_maybe();
            test_runner runner;
            fenced_call c;
            memset(&c, 0, sizeof c);
            c.s.t[Q] = test_fenced_rows(type, H, Lq, D, Lq, 1, test_maybe());
            c.s.t[K] = test_fenced_rows(type, 1, Lk, D, valid, 1, backwards);
            c.s.t[V] = test_fenced_rows(type, 1, Lk, Dv, valid, 1, backwards);
            c.s.t[OUT] = test_tensor(type, 1, H, Lq, Dv, T_BHLD);
            c.s.t[LSE] = test_tensor(compute, 1, H, Lq, 1, T_BHLD);
            if (test_maybe())
                c.s.t[MASK] = test_fenced_pairs(ATTN_BOOL, test_maybe() ? Lq : 1, Lk, valid, backwards);
            if (test_maybe())
                c.s.t[BIAS] = test_fenced_pairs(test_floats[test_below(4)], test_maybe() ? Lq : 1, Lk, valid, backwards);
            if (test_maybe())
                c.s.t[SINKS] = floats_of(H, 0.25f);
            c.s.opts.softcap = test_maybe() ? 2 : 0;
            c.s.opts.causal = test_below(3) ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_LOWER_RIGHT;
            c.s.t[Q_LENS] = array_of(test_block(sizeof rows), 1, sizeof rows);
            c.s.t[KV_LENS] = array_of(test_block(sizeof valid), 1, sizeof valid);
            memcpy(c.s.t[Q_LENS].data, &rows, sizeof rows);
            memcpy(c.s.t[KV_LENS].data, &valid, sizeof valid);
            c.s.ctx.isa = isa;
            test_case("%s, %s, %d of %d keys%s, %d of %d queries, H %d, D %d, Dv %d", attn_isa_string(isa),
                      test_dtype_name(type), (int)valid, (int)Lk, backwards ? " backwards" : "", (int)rows, (int)Lq,
                      (int)H, (int)D, (int)Dv);
            if (CHECK(test_keeps_off_fences(do_fenced_call, &c)))
                CHECK_STATUS(c.status, ATTN_OK);
            c.back = 1;
            c.s.t[OUT] = fenced_copy(c.s.t[OUT], rows, of_rows);
            c.s.t[LSE] = fenced_copy(c.s.t[LSE], rows, of_rows);
            c.s.t[DOUT] = test_fenced_rows(type, H, Lq, Dv, rows, 1, of_rows);
            if (test_maybe())
                c.s.t[DLSE] = test_fenced_rows(test_floats[test_below(4)], H, Lq, 1, rows, 1, of_rows);
            if (test_below(4))
                c.s.t[DQ] = test_fenced_rows(type, H, Lq, D, Lq, 1, test_maybe());
            if (test_below(4))
                c.s.t[DK] = test_fenced_rows(type, 1, Lk, D, Lk, 1, test_maybe());
            if (test_below(4))
                c.s.t[DV] = test_fenced_rows(type, 1, Lk, Dv, Lk, 1, test_maybe());
            if (!test_absent_tensor(c.s.t[BIAS]) && test_maybe())
                c.s.t[DBIAS] =
                    test_fenced_rows(test_floats[test_below(4)], 1, c.s.t[BIAS].len, Lk, c.s.t[BIAS].len, 1, test_maybe());
            if (!test_absent_tensor(c.s.t[SINKS]))
                c.s.t[DSINKS] = test_fenced_rows(ATTN_F32, 1, 1, H, 1, 1, test_maybe());
            c.s.ctx.parallel = test_serial_backwards(&runner, n % 3 + 1);
            if (n % 4 == 0) {
                c.s.ctx.scratch_size = needed_by(&backward, &c.s);
                c.s.ctx.scratch = test_fenced(c.s.ctx.scratch_size, test_maybe());
            }
            if (CHECK(test_keeps_off_fences(do_fenced_call, &c)))
                CHECK_STATUS(c.status, ATTN_OK);
            test_release();
        }
}

/* ---- explanations ---- */

TEST(backward_explain)
{
    call_state s = good_call(usual, 1), bad = s;
    char text[TEXT], bytes[32];
    bad.t[BIAS].len = 7;
    test_case("a call that succeeds");
    check_cuts(&backward, &s, ATTN_OK);
    test_case("a call that fails");
    check_cuts(&backward, &bad, ATTN_ERR_SHAPE);
    test_case("a call that lacks memory");
    bad = s;
    bad.ctx.scratch = s.scratch;
    bad.ctx.scratch_size = s.needed - 1;
    check_cuts(&backward, &bad, ATTN_OK);
    FOR_EACH_ISA (isa) {
        test_runner runner;
        s = large_call(ATTN_F32, 0);
        s.ctx.isa = isa;
        s.ctx.parallel = test_serial_backwards(&runner, 2);
        test_case("what it says, %s", attn_isa_string(isa));
        test_freeze();
        CHECK_STATUS(make(&backward, DRY, &s, text), ATTN_OK);
        CHECK(test_wrote_nothing() && runner.calls == 0);
        CHECK(grid_names(text, attn_isa_string(test_without_pairs(isa))));
        snprintf(bytes, sizeof bytes, "%zu", needed_by(&backward, &s));
        CHECK(test_small ? test_is_brief(text) : grid_names(text, bytes));
        test_release();
    }
}
