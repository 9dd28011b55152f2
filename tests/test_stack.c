/* How much stack calls take: at most 24 KiB, and at most 8 KiB with the scratch that a dry run tells; of ATTN_SMALL,
   gradients aside, 6 KiB, which what has no use for scratch keeps to as well, but for steps. Each call runs
   over a part of the stack that was painted; how deep it went is seen from what is painted no more. What becomes of
   frames without optimisation, under sanitizers and valgrind, and on other processors, is not known: there the calls
   run, and how deep they go is not looked at. STACK_REPORT=1 prints it, of every call. */
#include "mha.h"
#include "trial.h"

enum { DEEP = 24 << 10, DEEP_WITH_SCRATCH = 8 << 10, PAINTED = 64 << 10, OURS = 768 }; /* frames of the test */
enum { SMALL = 16 << 10, SMALL_WITH_SCRATCH = 6 << 10 };

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) ||          \
    __has_feature(undefined_behavior_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__GNUC__) && defined(__x86_64__) && !defined(_WIN32) && !defined(SANITIZED) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define APART __attribute__((noinline))
enum { FRAMES_ARE_KNOWN = 1 };
#else
#define APART
enum { FRAMES_ARE_KNOWN = 0 };
#endif

/* ---- measuring ---- */

static const uint64_t paint = 0x5ca1ab1e0ddba115u;
static uintptr_t painted; /* the lowest address */

/* Both are called by the function that makes the call between them, so their frames lie where that call's do. */
APART static void paint_stack(void)
{
    volatile uint64_t area[PAINTED / 8];
    for (size_t n = 0; n < PAINTED / 8; n++)
        area[n] = paint;
    painted = (uintptr_t)area;
}

APART static size_t stack_taken(void)
{
    const volatile uint64_t *area = (const volatile uint64_t *)painted;
    size_t n = 0;
    while (n < PAINTED / 8 && area[n] == paint)
        n++;
    return PAINTED - 8 * n;
}

typedef struct args { /* whatever the calls below take */
    const test_op *op;
    attn_mat m[OP_ARGS];
    attn_tensor q, k, v, out, lse, other, other_lse;
    attn_opts o;
    attn_kv_cache cache;
    attn_kv_pages pages;
    grid_call c;
    layer_call l;
} args;

typedef struct subject {
    const char *name;
    int has_ctx;
    attn_status (*call)(args *a, const attn_ctx *ctx);
} subject;

static attn_status call_op(args *a, const attn_ctx *ctx);

static size_t most_stack(const subject *s, int scratch)
{
    int small = test_small && !strstr(s->name, "_backward");
    if (small && (scratch || (!s->has_ctx && s->call != call_op)))
        return SMALL_WITH_SCRATCH;
    return scratch ? DEEP_WITH_SCRATCH : DEEP;
}

static int are_judged(void)
{
    return FRAMES_ARE_KNOWN && test_optimised && test_real_is_wider();
}

static int next_case(int number) /* few of what is not judged, which takes long */
{
    return number + (are_judged() ? 1 : 7);
}

static void measure_on(const subject *s, attn_dtype type, args *a, attn_isa isa)
{
    enum { SCRATCH = 1, TASKS = 2, INVARIANT = 4 };
    static const char *const forms[] = {"", ", scratch", ", tasks", ", tasks, scratch", ", few", ", few, scratch"};
    for (int form = 0; form < (s->has_ctx ? 6 : 1); form++) {
        size_t most = most_stack(s, form & SCRATCH), taken;
        attn_ctx ctx = test_ctx(isa);
        attn_dry_run dry = {0};
        test_runner r = {0};
        if (form & TASKS)
            ctx.parallel = test_serial_backwards(&r, 3);
        ctx.batch_invariant = (form & INVARIANT) != 0;
        test_case("%s, %s, %s%s", s->name, attn_isa_string(isa), test_dtype_name(type), forms[form]);
        if (form & SCRATCH) {
            CHECK_STATUS(s->call(a, test_dry(&ctx, &dry)), ATTN_OK);
            test_scratch(&ctx, dry.scratch, 1);
        }
        CHECK_STATUS(s->call(a, &ctx), ATTN_OK); /* the first call of a function of libc takes stack of its own */
        if (!are_judged())
            continue;
        paint_stack();
        s->call(a, &ctx);
        taken = stack_taken();
        test_case("%s, %s, %s%s: %zu bytes of stack", s->name, attn_isa_string(isa), test_dtype_name(type), forms[form],
                  taken);
        if (getenv("STACK_REPORT"))
            printf("%6zu %s, %s, %s%s\n", taken, s->name, attn_isa_string(isa), test_dtype_name(type), forms[form]);
        CHECK(taken <= most + OURS);
    }
}

static void measure(const subject *s, attn_dtype type, args *a)
{
    if (!s->has_ctx)
        measure_on(s, type, a, ATTN_ISA_BEST);
    else
        FOR_EACH_ISA (isa)
            measure_on(s, type, a, isa);
}

/* ---- what is measured ---- */

#define SUBJECT(name, has_ctx, ...)                                                                                    \
    static attn_status call_##name(args *a, const attn_ctx *ctx)                                                       \
    {                                                                                                                  \
        (void)ctx;                                                                                                     \
        return __VA_ARGS__;                                                                                            \
    }                                                                                                                  \
    static const subject name = {"attn_" #name, has_ctx, call_##name}

static const size_t turned[] = {2, 0, 1, 1};

static size_t *emptied(args *a)
{
    memset(a->cache.lens, 0, a->cache.k.batch * sizeof *a->cache.lens);
    return NULL; /* of each item all rows */
}

SUBJECT(sdpa, 1, attn_sdpa(a->c.out, a->c.q, a->c.k, a->c.v, &a->c.o, ctx));
SUBJECT(sdpa_backward, 1,
        attn_sdpa_backward(&a->c.g, a->c.dout, a->c.q, a->c.k, a->c.v, a->c.out, a->c.o.lse, &a->c.o, ctx));
SUBJECT(mha, 1, run_layer(&a->l, 0, ctx));
SUBJECT(mha_backward, 1, run_layer(&a->l, 1, ctx));
SUBJECT(kv_cache_append, 0, attn_kv_cache_append(&a->cache, a->k, a->v, emptied(a)));
SUBJECT(kv_pages_append, 0, attn_kv_pages_append(&a->pages, a->k, a->v, emptied(a)));
SUBJECT(kv_cache_attend, 1, attn_kv_cache_attend(a->out, a->q, &a->cache, &a->o, ctx));
SUBJECT(kv_pages_attend, 1, attn_kv_pages_attend(a->out, a->q, &a->pages, &a->o, ctx));
SUBJECT(kv_cache_reorder, 0, attn_kv_cache_reorder(&a->cache, turned));
SUBJECT(kv_cache_copy, 0, attn_kv_cache_copy(&a->cache, 1, 2, 5));
SUBJECT(kv_cache_row, 0, attn_kv_cache_row(a->m[0], &a->cache, 1, 0, 3));
SUBJECT(merge_ctx, 1, attn_merge_ctx(a->out, a->lse, a->other, a->other_lse, ctx));
SUBJECT(rope, 0, attn_rope(a->out, a->other, NULL));
SUBJECT(sparsemax, 0, attn_sparsemax(a->m[0], a->m[1]));
SUBJECT(entmax15, 0, attn_entmax15(a->m[0], a->m[1]));
SUBJECT(matmul_add, 1, attn_matmul_add(a->m[0], a->m[1], a->m[2], 1, ctx));

/* ---- attention, both ways: random points of all options ---- */

static const size_t sizes[] = {1, 17, 64, 130, 256}, values[] = {0, 40, 128}; /* 0: D */
static const size_t lengths_q[] = {1, 3, 49, 130}, lengths_k[] = {1, 31, 260, 1030}, groups[] = {1, 4};
static const size_t batches[] = {1, 3};

/* clang-format off */
static const struct grid_axis axes[TRIAL_AXES] = {
    AXIS_OF(D, sizes), AXIS_OF(DV, values), AXIS_OF(LQ, lengths_q), AXIS_OF(LK, lengths_k), AXIS_OF(GROUP, groups),
    AXIS_OF(B, batches), AXIS(WINDOW, 6), AXIS(MASK, MASKS), AXIS(MASK_KIND, MASK_KINDS), AXIS(Q_LENS, 3),
    AXIS(KV_LENS, 3), AXIS(SCALE, 3), AXIS(BIAS, BIASES), AXIS(BIAS_KIND, BIAS_LARGE), AXIS(BIAS_TYPE, TRIAL_FLOATS),
    AXIS(BIAS_GRAD, TRIAL_FLOATS), AXIS(DROPOUT, 2), AXIS(LSE, 1 + TRIAL_FLOATS), AXIS(WEIGHTS, 1 + TRIAL_FLOATS),
    AXIS(SCORES, 4), AXIS(SCORES_TYPE, TRIAL_FLOATS), AXES_OF_OPTIONS, AXES_OF_LAYOUTS, AXES_OF_GRADS
};

static const grid stack_grid = {
    TRIAL_GRID("stack_attention", ""), .first = {A_LQ, A_LK}, .cost = trial_cost
};
/* clang-format on */

/* Every other block of keys, for all queries. */
static attn_blocks every_other(size_t Lq, size_t Lk, size_t kv_len)
{
    uint32_t *index = test_block(Lk * sizeof *index), *count = test_block(sizeof *count);
    attn_blocks l = {Lq, kv_len, index, count, 1, 1, 0};
    for (*count = 0; 2 * *count * kv_len < Lk; ++*count)
        index[*count] = 2 * *count;
    l.width = *count;
    return l;
}

enum { TEXTS, LISTS, NANS, PLAIN, KINDS };

static void make(trial *t, grid_point *p, int number)
{
    int kind = number % KINDS;
    size_t *q = t->q_starts, *k = t->kv_starts;
    *p = trial_sample(&stack_grid, (uint64_t)number, 1e7);
    if (kind == TEXTS) /* with these go no masks and the like */
        p->at[A_B] = p->at[A_MASK] = p->at[A_BIAS] = p->at[A_WEIGHTS] = p->at[A_SCORES] = p->at[A_Q_LENS] =
            p->at[A_KV_LENS] = 0;
    trial_make(t, &stack_grid, p, (uint64_t)number);
    if (kind == TEXTS) {
        q[1] = t->Lq / 2, q[2] = t->Lq, k[1] = t->Lk / 2, k[2] = t->Lk;
        t->c.o.sequences = t->user.B = 2;
        t->c.o.q_starts = t->user.q_starts = q, t->c.o.kv_starts = t->user.kv_starts = k;
    } else if (kind == LISTS) {
        t->c.o.blocks = every_other(t->Lq, t->Lk, number % 8 < KINDS ? 1 : 16);
    } else if (kind == NANS) {
        test_tensor_set(t->c.v, 0, 0, t->Lk / 2, 0, NAN), test_tensor_set(t->c.k, 0, 0, t->Lk - 1, 0, NAN);
    }
}

TEST(stack_attention)
{
    for (int number = 0; number < (test_quick ? 60 : 2000); number = next_case(number)) {
        grid_point p;
        trial t;
        args a = {0};
        make(&t, &p, number);
        trial_outputs(&t, &p, GRID_FORWARD);
        a.c = t.c;
        measure(&sdpa, a.c.q.dtype, &a);
        trial_outputs(&t, &p, GRID_BACKWARD);
        trial_grads(&t, &p, ALL_GRADS);
        a.c = t.c;
        CHECK_STATUS(call_sdpa(&a, NULL), ATTN_OK);
        measure(&sdpa_backward, a.c.q.dtype, &a);
        test_release();
    }
}

/* ---- layers, caches, steps ---- */

TEST(stack_layer)
{
    static const shape large = {2, 4, 2, 70, 150, 40, 24, 130, 65, 64, 100};
    for (int number = 0; number < (test_quick ? 8 : 200); number = next_case(number)) {
        attn_dtype type = test_floats[number % 4];
        layer t = make_layer(number < 4 ? large : random_shape(), type, WITH_ALL & ~WITH_BROADCAST);
        args a = {0};
        a.l.q = t.q, a.l.k = t.k, a.l.v = t.v, a.l.out = t.out, a.l.w = t.w, a.l.o = t.o;
        measure(&mha, type, &a);
        a.l.o.score_mod = NULL;
        a.l.dout = test_random_tensor(t.q.dtype, t.n.B, 1, t.n.Lq, t.n.E, T_STEP);
        layer_grads(&a.l);
        measure(&mha_backward, type, &a);
        test_release();
    }
}

TEST(stack_cache)
{
    enum { ITEMS = 4, HEADS = 2, ROOM = 8 };
    static const attn_dtype kinds[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
    static const uint32_t table[2 * ITEMS] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int number = 0; number < 16; number = next_case(number)) {
        attn_dtype kind = kinds[number % 4], type = test_floats[number % 3 ? number % 3 + 1 : 0];
        size_t D = number / 4 % 2 ? 2000 : 40, size = ITEMS * HEADS * ROOM * D * 8 + 4096;
        int ring = number / 8;
        args a = {0};
        attn_kv_pages *p = &a.pages;
        CHECK_STATUS(attn_kv_cache_init(&a.cache, ITEMS, HEADS, ROOM, D, D, kind, ring, test_block(size), size),
                     ATTN_OK);
        p->k = attn_bhld(a.cache.k.data, kind, 2 * ITEMS, HEADS, ROOM / 2, D); /* pages of the same memory */
        p->v = attn_bhld(a.cache.v.data, kind, 2 * ITEMS, HEADS, ROOM / 2, D);
        p->k_scales = a.cache.k_scales, p->v_scales = a.cache.v_scales, p->lens = a.cache.lens;
        p->table = table, p->table_stride = 2, p->batch = ITEMS;
        a.q = test_random_tensor(type, ITEMS, 3 * HEADS, 3, D, T_STEP);
        a.out = test_tensor(type, ITEMS, 3 * HEADS, 3, D, T_STEP);
        a.k = test_random_tensor(type, ITEMS, HEADS, ROOM, D, T_STEP);
        a.v = test_random_tensor(type, ITEMS, HEADS, ROOM, D, T_STEP);
        a.m[0] = test_mat(type, HEADS, D, STRIDED);
        a.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
        measure(&kv_pages_append, type, &a), measure(&kv_pages_attend, type, &a);
        measure(&kv_cache_append, type, &a), measure(&kv_cache_attend, type, &a);
        measure(&kv_cache_row, type, &a), measure(&kv_cache_reorder, kind, &a), measure(&kv_cache_copy, kind, &a);
        test_release();
    }
}

static attn_status call_op(args *a, const attn_ctx *ctx)
{
    return a->op->call(a->m, 1, ctx);
}

TEST(stack_steps)
{
    static const size_t dims[][DIMS] = {{3, 200, 70, 32, 40}, {100, 130, 300, 66, 33}, {2, 3000, 64, 64, 16}};
    for (int number = 0; number < 24; number = next_case(number)) {
        const size_t *n = dims[number % 3];
        attn_dtype type = test_floats[number / 3 % 4], sum = type == ATTN_F64 ? ATTN_F64 : ATTN_F32;
        int mats = number < 12 ? TRANSPOSED : STRIDED, tensors = number < 12 ? T_BHLD : T_STEP;
        args a = {0};
        for (a.op = test_ops; a.op < test_ops + test_op_count; a.op++) {
            subject s = {a.op->name, (a.op->flags & OP_CTX) != 0, call_op};
            for (int i = 0; i < a.op->args; i++) {
                size_t rows, cols;
                test_op_shape(a.op, i, n, &rows, &cols);
                a.m[i] = test_random_mat(type, rows, cols, mats);
            }
            measure(&s, type, &a);
        }
        a.m[0] = test_mat(type, n[0], n[1], mats), a.m[1] = test_random_mat(type, n[0], n[1], mats);
        measure(&sparsemax, type, &a), measure(&entmax15, type, &a);
        a.m[0] = test_random_mat(sum, n[0], n[1], mats);
        a.m[1] = test_random_mat(type, n[0], n[2], mats), a.m[2] = test_random_mat(type, n[2], n[1], mats);
        measure(&matmul_add, type, &a);
        a.out = test_random_tensor(type, 2, 3, n[0], n[2], tensors),
        a.lse = test_random_tensor(sum, 2, 3, n[0], 1, tensors);
        a.other = test_tensor_like(a.out, tensors), a.other_lse = test_tensor_like(a.lse, tensors);
        measure(&merge_ctx, type, &a), measure(&rope, type, &a);
        test_release();
    }
}

/* The stack, 16 KiB of it, is all the memory that ATTN_SMALL needs where rows have up to 256 dims and are no doubles. */
TEST(stack_alone)
{
    static const size_t dims[] = {1, 17, 64, 130, 256}, rows[] = {1, 3, 40};
    if (CHECK(test_small <= 1) && !test_small)
        return;
    for (int number = 0; number < 60; number = next_case(number)) {
        size_t D = dims[number % 5], Lq = rows[number / 5 % 3], Lk = number % 2 ? 300 : 31;
        attn_dtype type = test_floats[number % 4 == 1 ? 0 : number % 4];
        float slope[4] = {0.5f, 0.25f, 0.125f, 0.0625f};
        args a = {0};
        a.c.q = test_random_tensor(type, 2, 4, Lq, D, T_BLHD), a.c.out = test_tensor(type, 2, 4, Lq, D, T_BLHD);
        a.c.k = test_random_tensor(type, 2, 2, Lk, D, T_BLHD), a.c.v = test_random_tensor(type, 2, 2, Lk, D, T_BLHD);
        a.c.o.causal = ATTN_CAUSAL_LOWER_RIGHT;
        a.c.o.alibi_slopes = number % 3 ? slope : NULL;
        a.c.o.mask = test_random_tensor(ATTN_BOOL, 2, 1, Lq, Lk, T_BHLD);
        a.c.o.weights = number % 4 ? a.c.o.weights : test_tensor(type, 2, 4, Lq, Lk, T_BHLD);
        test_memory_state.fail_all = 1;
        FOR_EACH_ISA (isa) {
            attn_ctx ctx = test_ctx(isa);
            size_t taken;
            test_case("%s, %s, D %zu, %zu queries", attn_isa_string(isa), test_dtype_name(type), D, Lq);
            CHECK_STATUS(call_sdpa(&a, &ctx), ATTN_OK);
            if (!are_judged())
                continue;
            paint_stack();
            call_sdpa(&a, &ctx);
            taken = stack_taken();
            test_case("%s, %s, D %zu, %zu queries: %zu bytes", attn_isa_string(isa), test_dtype_name(type), D, Lq, taken);
            if (getenv("STACK_REPORT"))
                printf("%6zu attn_sdpa alone, %s, %s, D %zu\n", taken, attn_isa_string(isa), test_dtype_name(type), D);
            CHECK(taken <= SMALL + OURS);
        }
        test_memory_state.fail_all = 0;
        test_release();
    }
}
