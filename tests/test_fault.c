/* ctx.fault: which argument an error speaks of, in every function that takes a ctx. On success it stays as it was; the
   names are strings that live as long as the program, and a dry run's text begins with them. */
#include "calls.h"
#include "mha.h"

/* ---- one world for all functions: what they are given, right at first ---- */

enum { B = 2, H = 4, HKV = 2, LQ = 3, LK = 6, D = 8, DV = 6, E = 10, PAGE = 2, ENTRIES = 3, PAGES = 7 };

static struct world {
    attn_mat out, a, b; /* of the steps; a is softmax's `in` */
    double alpha;
    attn_tensor to, q, k, v, lse, dout; /* of the engine and of the layer. to: `out` */
    attn_tensor out_b, lse_b;
    attn_kv_cache cache, *cache_at;
    attn_kv_pages pages, *pages_at;
    attn_mha_weights weights, *weights_at;
    attn_opts opts;
    attn_grads grads, *grads_at;
    attn_mha_grads layer_grads, *layer_grads_at;
    attn_ctx ctx;
    attn_dry_run dry;
    char text[3000];
    uint32_t *table, *index, *count;
    size_t *lens;
} w;

static attn_tensor some(size_t batch, size_t heads, size_t len, size_t dim)
{
    return test_random_tensor(ATTN_F32, batch, heads, len, dim, T_BHLD);
}

static size_t *numbers(size_t count, size_t value)
{
    size_t *all = test_block(count * sizeof *all);
    for (size_t n = 0; n < count; n++)
        all[n] = value;
    return all;
}

static void begin(void)
{
    const struct world none = {0};
    w = none;
    w.dry.text = w.text;
    w.dry.text_size = sizeof w.text;
}

static void begin_steps(void)
{
    begin();
    w.out = test_random_mat(ATTN_F32, LQ, LK, PACKED);
    w.a = test_random_mat(ATTN_F32, LQ, D, PACKED);
    w.b = test_random_mat(ATTN_F32, D, LK, PACKED);
    w.alpha = 1;
}

static void begin_softmax(void)
{
    begin_steps();
    w.a = test_random_mat(ATTN_F32, LQ, LK, PACKED);
}

static void begin_merge(void)
{
    begin();
    w.to = some(B, H, LQ, DV);
    w.lse = some(B, H, LQ, 1);
    w.out_b = some(B, H, LQ, DV);
    w.lse_b = some(B, H, LQ, 1);
}

static void give_matrices(size_t heads) /* of which a cache or pages say how wide they are */
{
    w.opts.weights = some(B, heads, LQ, LK);
    w.opts.scores = some(B, H, LQ, LK);
}

static void give_options(void)
{
    w.opts.mask = test_random_tensor(ATTN_BOOL, B, 1, LQ, LK, T_BHLD);
    w.opts.bias = some(1, H, LQ, LK);
    w.opts.q_lens = numbers(B, LQ - 1);
    w.opts.sinks = random_floats(H);
    w.opts.alibi_slopes = random_floats(H);
    w.opts.lse = some(B, H, LQ, 1);
}

static void begin_heads(void)
{
    begin();
    w.to = some(B, H, LQ, DV);
    w.q = some(B, H, LQ, D);
    give_options();
}

static void begin_sdpa(void)
{
    begin_heads();
    w.k = some(B, HKV, LK, D);
    w.v = some(B, HKV, LK, DV);
    give_matrices(H);
    w.opts.kv_lens = numbers(B, LK);
}

static void begin_cache(void)
{
    begin_heads();
    w.cache_at = &w.cache;
    w.cache.k = some(B, HKV, LK, D); /* full: masks are as wide as its capacity */
    w.cache.v = some(B, HKV, LK, DV);
    w.lens = w.cache.lens = numbers(B, LK);
    w.cache.first = numbers(B, 0);
}

static void begin_pages(void)
{
    begin_heads();
    w.pages_at = &w.pages;
    w.pages.k = some(PAGES, HKV, PAGE, D);
    w.pages.v = some(PAGES, HKV, PAGE, DV);
    w.table = test_block(B * ENTRIES * sizeof *w.table);
    for (uint32_t n = 0; n < B * ENTRIES; n++)
        w.table[n] = n;
    w.pages.table = w.table;
    w.pages.table_stride = ENTRIES;
    w.pages.batch = B;
    w.lens = w.pages.lens = numbers(B, LK);
}

static void begin_layer(void)
{
    begin();
    w.to = some(B, 1, LQ, E);
    w.q = some(B, 1, LQ, E);
    w.k = some(B, 1, LK, E);
    w.v = some(B, 1, LK, E);
    w.weights_at = &w.weights;
    w.weights.wq = projection(ATTN_F32, E, H * D, PACKED);
    w.weights.wk = projection(ATTN_F32, E, HKV * D, PACKED);
    w.weights.wv = projection(ATTN_F32, E, HKV * DV, PACKED);
    w.weights.wo = projection(ATTN_F32, H * DV, E, PACKED);
    w.weights.bq = random_floats(H * D);
    w.weights.bk = random_floats(HKV * D);
    w.weights.bv = random_floats(HKV * DV);
    w.weights.bo = random_floats(E);
    w.weights.heads = H;
    w.weights.kv_heads = HKV;
    give_options();
    give_matrices(1);
    w.opts.kv_lens = numbers(B, LK);
}

static void begin_backward(void)
{
    begin_sdpa();
    w.dout = some(B, H, LQ, DV);
    w.lse = some(B, H, LQ, 1);
    w.grads_at = &w.grads;
    w.grads.q = some(B, H, LQ, D);
    w.grads.k = some(B, HKV, LK, D);
    w.grads.v = some(B, HKV, LK, DV);
    w.grads.bias = some(1, H, LQ, LK);
    w.grads.sinks = random_floats(H);
    w.grads.alibi_slopes = random_floats(H);
    w.grads.dlse = some(B, H, LQ, 1);
}

static void begin_layer_backward(void)
{
    begin_layer();
    w.dout = some(B, 1, LQ, E);
    w.layer_grads_at = &w.layer_grads;
    w.layer_grads.q = some(B, 1, LQ, E);
    w.layer_grads.k = some(B, 1, LK, E);
    w.layer_grads.v = some(B, 1, LK, E);
    w.layer_grads.wq = projection(ATTN_F32, E, H * D, PACKED);
    w.layer_grads.wk = projection(ATTN_F32, E, HKV * D, PACKED);
    w.layer_grads.wv = projection(ATTN_F32, E, HKV * DV, PACKED);
    w.layer_grads.wo = projection(ATTN_F32, H * DV, E, PACKED);
    w.layer_grads.bq = random_floats(H * D);
    w.layer_grads.bo = random_floats(E);
}

/* ---- the functions ---- */

enum { ONLY_CALL = 1, ONLY_DRY = 2 }; /* which of the two forms sees a fault */

static attn_status matmul(const attn_ctx *ctx)
{
    return attn_matmul_ctx(w.out, w.a, w.b, w.alpha, ctx);
}

static attn_status matmul_add(const attn_ctx *ctx)
{
    return attn_matmul_add(w.out, w.a, w.b, w.alpha, ctx);
}

static attn_status softmax(const attn_ctx *ctx)
{
    return attn_softmax_ctx(w.out, w.a, ctx);
}

static attn_status merge(const attn_ctx *ctx)
{
    return attn_merge_ctx(w.to, w.lse, w.out_b, w.lse_b, ctx);
}

static attn_status sdpa(const attn_ctx *ctx)
{
    return attn_sdpa(w.to, w.q, w.k, w.v, &w.opts, ctx);
}

static attn_status cache(const attn_ctx *ctx)
{
    return attn_kv_cache_attend(w.to, w.q, w.cache_at, &w.opts, ctx);
}

static attn_status pages(const attn_ctx *ctx)
{
    return attn_kv_pages_attend(w.to, w.q, w.pages_at, &w.opts, ctx);
}

static attn_status layer_of(const attn_ctx *ctx)
{
    return attn_mha(w.to, w.q, w.k, w.v, w.weights_at, &w.opts, ctx);
}

static attn_status backward(const attn_ctx *ctx)
{
    return attn_sdpa_backward(w.grads_at, w.dout, w.q, w.k, w.v, w.to, w.lse, &w.opts, ctx);
}

static attn_status layer_backward(const attn_ctx *ctx)
{
    return attn_mha_backward(w.layer_grads_at, w.dout, w.q, w.k, w.v, w.weights_at, &w.opts, ctx);
}

/* ---- one fault ---- */

enum { MOST_NAMES = 4000 };
static struct {
    const char *given;
    char text[32];
} names[MOST_NAMES]; /* all that the running test was given, to look at once more at its end */
static size_t name_count;

static int is_name(const char *given, const char *want)
{
    if (!want)
        return CHECK(!given);
    if (!CHECK(given && strcmp(given, want) == 0))
        return 0;
    if (CHECK(name_count < MOST_NAMES && strlen(want) < sizeof names[0].text)) {
        names[name_count].given = given;
        memcpy(names[name_count++].text, want, strlen(want) + 1);
    }
    return 1;
}

/* Strings of the library: neither the world nor later calls have changed them. */
static void check_names(void)
{
    test_release();
    memset(&w, 0, sizeof w);
    for (size_t n = 0; n < name_count; n++) {
        test_case("a name kept: %s", names[n].text);
        CHECK(strcmp(names[n].given, names[n].text) == 0);
    }
    name_count = 0;
}

static const char poison[2][8] = {"poison", "poison"};

/* The world, as it is now, is refused: with this status and these names, by all forms that see it, and nothing is
   written; the same without a fault to fill in. A dry run says what the fault does. */
static void refused(attn_status (*call)(const attn_ctx *), int forms, const char *what, attn_status want,
                    const char *argument, const char *other)
{
    for (int form = CALL; form < FORMS; form++) {
        attn_fault fault = {poison[0], poison[1], ""};
        char line[200];
        if (forms & (form == CALL ? ONLY_DRY : ONLY_CALL))
            continue;
        test_case("%s%s: %s", what, form_names[form], argument);
        w.dry.scratch = 77;
        w.ctx.dry_run = form == DRY ? &w.dry : NULL;
        test_freeze();
        w.ctx.fault = NULL;
        CHECK_STATUS(call(&w.ctx), want);
        w.ctx.fault = &fault;
        CHECK_STATUS(call(&w.ctx), want);
        CHECK(test_wrote_nothing() && w.dry.scratch == 77);
        is_name(fault.argument, argument);
        is_name(fault.other, other);
        snprintf(line, sizeof line, "%s%s%s: %s\n", argument, other ? ", " : "", other ? other : "",
                 fault.text);
        if (form == DRY && w.dry.text && !CHECK(strcmp(w.text, line) == 0))
            printf("    it says: %s\n", w.text);
    }
}

/* A right world: either form is fine, and does not look at the fault. */
static void accepted(attn_status (*call)(const attn_ctx *), const char *what)
{
    for (int form = CALL; form < FORMS; form++) {
        attn_fault fault = {poison[0], poison[1], "poison"};
        test_case("%s%s", what, form_names[form]);
        w.ctx.dry_run = form == DRY ? &w.dry : NULL;
        w.ctx.fault = NULL;
        CHECK_STATUS(call(&w.ctx), ATTN_OK);
        w.ctx.fault = &fault;
        CHECK_STATUS(call(&w.ctx), ATTN_OK);
        CHECK(fault.argument == poison[0] && fault.other == poison[1] && strcmp(fault.text, "poison") == 0);
    }
}

/* ---- what is wrong with a view by itself ---- */

enum { OUTPUT = SPOIL_OUTPUT, REQUIRED = SPOIL_REQUIRED, STORED = 4, MATRIX = 8 };

typedef struct place {
    const char *name;
    size_t at; /* in the world */
    int role;
} place;

#define TENSOR(name, member, role) {name, offsetof(struct world, member), role}
#define MAT(name, member, role) {name, offsetof(struct world, member), MATRIX | (role)}

#define OPTIONS                                                                                                        \
    TENSOR("opts.mask", opts.mask, 0), TENSOR("opts.bias", opts.bias, 0), TENSOR("opts.lse", opts.lse, OUTPUT)

#define MATRICES TENSOR("opts.weights", opts.weights, OUTPUT), TENSOR("opts.scores", opts.scores, OUTPUT)

/* clang-format off */
static const place steps_places[] = {MAT("out", out, REQUIRED | OUTPUT), MAT("a", a, REQUIRED), MAT("b", b, REQUIRED),
    {NULL, 0, 0}};
static const place softmax_places[] = {MAT("out", out, REQUIRED | OUTPUT), MAT("in", a, REQUIRED), {NULL, 0, 0}};
static const place merge_places[] = {TENSOR("out", to, REQUIRED | OUTPUT), TENSOR("lse", lse, REQUIRED | OUTPUT),
    TENSOR("out_b", out_b, REQUIRED), TENSOR("lse_b", lse_b, REQUIRED), {NULL, 0, 0}};
static const place sdpa_places[] = {TENSOR("out", to, REQUIRED | OUTPUT), TENSOR("q", q, REQUIRED),
    TENSOR("k", k, REQUIRED), TENSOR("v", v, REQUIRED), OPTIONS, MATRICES, {NULL, 0, 0}};
static const place cache_places[] = {TENSOR("out", to, REQUIRED | OUTPUT), TENSOR("q", q, REQUIRED),
    TENSOR("cache.k", cache.k, REQUIRED | STORED), TENSOR("cache.v", cache.v, REQUIRED | STORED), OPTIONS,
    {NULL, 0, 0}};
static const place pages_places[] = {TENSOR("out", to, REQUIRED | OUTPUT), TENSOR("q", q, REQUIRED),
    TENSOR("pages.k", pages.k, REQUIRED | STORED), TENSOR("pages.v", pages.v, REQUIRED | STORED), OPTIONS,
    {NULL, 0, 0}};
static const place layer_places[] = {TENSOR("out", to, REQUIRED | OUTPUT), TENSOR("q", q, REQUIRED),
    TENSOR("k", k, REQUIRED), TENSOR("v", v, REQUIRED), MAT("weights.wq", weights.wq, REQUIRED),
    MAT("weights.wk", weights.wk, REQUIRED), MAT("weights.wv", weights.wv, REQUIRED),
    MAT("weights.wo", weights.wo, REQUIRED), OPTIONS, MATRICES, {NULL, 0, 0}};
static const place backward_places[] = {TENSOR("grads.q", grads.q, OUTPUT), TENSOR("grads.k", grads.k, OUTPUT),
    TENSOR("grads.v", grads.v, OUTPUT), TENSOR("grads.bias", grads.bias, OUTPUT), TENSOR("grads.dlse", grads.dlse, 0),
    TENSOR("dout", dout, REQUIRED), TENSOR("q", q, REQUIRED), TENSOR("k", k, REQUIRED), TENSOR("v", v, REQUIRED),
    TENSOR("out", to, REQUIRED), TENSOR("lse", lse, REQUIRED), TENSOR("opts.mask", opts.mask, 0),
    TENSOR("opts.bias", opts.bias, 0), {NULL, 0, 0}};
static const place layer_backward_places[] = {TENSOR("grads.q", layer_grads.q, OUTPUT),
    TENSOR("grads.k", layer_grads.k, OUTPUT), TENSOR("grads.v", layer_grads.v, OUTPUT),
    MAT("grads.wq", layer_grads.wq, OUTPUT), MAT("grads.wk", layer_grads.wk, OUTPUT),
    MAT("grads.wv", layer_grads.wv, OUTPUT), MAT("grads.wo", layer_grads.wo, OUTPUT), TENSOR("dout", dout, REQUIRED),
    TENSOR("q", q, REQUIRED), TENSOR("k", k, REQUIRED), TENSOR("v", v, REQUIRED),
    MAT("weights.wq", weights.wq, REQUIRED), MAT("weights.wk", weights.wk, REQUIRED),
    MAT("weights.wv", weights.wv, REQUIRED), MAT("weights.wo", weights.wo, REQUIRED), TENSOR("opts.mask", opts.mask, 0),
    TENSOR("opts.bias", opts.bias, 0), {NULL, 0, 0}};
/* clang-format on */

/* Whatever is wrong with one view alone is said of that view. */
static void views(void (*right)(void), attn_status (*call)(const attn_ctx *), const char *what, const place *places)
{
    static const int kinds[] = {SPOIL_ABSENT,  SPOIL_BAD,        SPOIL_NULL_DATA,   SPOIL_I8,
                                SPOIL_UNKNOWN, SPOIL_MISALIGNED, SPOIL_ZERO_STRIDE, SPOIL_STRIDE};
    for (const place *p = places; p->name; p++)
        for (size_t n = 0; n < sizeof kinds / sizeof kinds[0]; n++) {
            void *at = (char *)&w + p->at;
            int role = p->role & (REQUIRED | OUTPUT);
            attn_status want;
            if (kinds[n] == SPOIL_I8 && p->role & STORED) /* which would need scales */
                continue;
            right();
            want = p->role & MATRIX ? test_spoil_mat(at, role, kinds[n]) : test_spoil(at, role, kinds[n]);
            if (want != ATTN_OK) /* a dry run has no need of data */
                refused(call, kinds[n] == SPOIL_NULL_DATA ? ONLY_CALL : 0, what, want, p->name, NULL);
            test_release();
        }
}

/* ---- what is wrong in a call: of two views that share memory the smaller lies in the larger ---- */

typedef struct wrong {
    void (*spoil)(void);
    attn_status want;
    const char *argument, *other;
    int forms;
} wrong;

static void faults(void (*right)(void), attn_status (*call)(const attn_ctx *), const char *what,
                   const wrong *const *list)
{
    right();
    accepted(call, what);
    test_release();
    for (; *list; list++) {
        right();
        (*list)->spoil();
        refused(call, (*list)->forms, what, (*list)->want, (*list)->argument, (*list)->other);
        test_release();
    }
}

/* One of these: the status, the arguments, the forms that see it (0: all), and what is done to a right world. */
#define WRONG(name, want, argument, other, forms, ...)                                                                 \
    static void do_##name(void)                                                                                        \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }                                                                                                                  \
    static const wrong name = {do_##name, ATTN_ERR_##want, argument, other, forms};

WRONG(no_isa, VALUE, "ctx.isa", NULL, 0, w.ctx.isa = (attn_isa)99)
WRONG(no_scratch, NULL, "ctx.scratch", NULL, 0, w.ctx.scratch_size = 64)
WRONG(small_scratch, NOMEM, "ctx.scratch", NULL, ONLY_CALL, w.ctx.scratch = test_block(1); w.ctx.scratch_size = 1)
WRONG(scratch_in_q, ALIAS, "ctx.scratch", "q", 0, w.ctx.scratch = w.q.data; w.ctx.scratch_size = 8)
WRONG(scratch_in_a, ALIAS, "ctx.scratch", "a", 0, w.ctx.scratch = w.a.data; w.ctx.scratch_size = 8)
WRONG(scratch_in_in, ALIAS, "ctx.scratch", "in", 0, w.ctx.scratch = w.a.data; w.ctx.scratch_size = 8)
WRONG(no_text, NULL, "ctx.dry_run.text", NULL, ONLY_DRY, w.dry.text = NULL)

#define OF_CTX &no_isa, &no_scratch, &no_text

#define OF_FORMS OF_CTX, &small_scratch, &scratch_in_q

/* steps */
WRONG(longer_out, SHAPE, "out", NULL, 0, w.out.rows++)
WRONG(longer_inner, SHAPE, "b", NULL, 0, w.b.rows++)
WRONG(not_finite_alpha, VALUE, "alpha", NULL, 0, w.alpha = (double)NAN)
WRONG(out_is_a, ALIAS, "out", "a", 0, w.out = w.a; w.out.cols = LK)
WRONG(out_in_b, ALIAS, "out", "b", 0, w.out.data = w.b.data)
WRONG(scratch_in_out, ALIAS, "out", "ctx.scratch", 0, w.ctx.scratch = (char *)w.out.data + 1; w.ctx.scratch_size = 2)
WRONG(out_one_on, ALIAS, "out", "in", 0, w.out.data = (float *)w.a.data + 1)
WRONG(wide_b, DTYPE, "b", NULL, 0, w.b = test_random_mat(ATTN_F64, D, LK, PACKED))
WRONG(narrow_out, DTYPE, "out", NULL, 0, w.out = test_random_mat(ATTN_F16, LQ, LK, PACKED))

/* merge */
WRONG(longer_lse, SHAPE, "lse", NULL, 0, w.lse.len++)
WRONG(wider_out_b, SHAPE, "out_b", NULL, 0, w.out_b.dim++)
WRONG(longer_lse_b, SHAPE, "lse_b", NULL, 0, w.lse_b.len++)
WRONG(out_is_out_b, ALIAS, "out", "out_b", 0, w.to = w.out_b)
WRONG(lse_is_lse_b, ALIAS, "lse", "lse_b", 0, w.lse = w.lse_b)
WRONG(lse_in_out, ALIAS, "out", "lse", 0, w.lse.data = w.to.data)
WRONG(scratch_in_lse, ALIAS, "lse", "ctx.scratch", 0, w.ctx.scratch = w.lse.data; w.ctx.scratch_size = 4)

/* the engine */
WRONG(longer_to, SHAPE, "out", NULL, 0, w.to.len++)
WRONG(wider_k, SHAPE, "k", NULL, 0, w.k.dim++)
WRONG(longer_v, SHAPE, "v", NULL, 0, w.v.len++)
WRONG(three_heads, SHAPE, "q", NULL, 0, w.q.heads = w.to.heads = w.dout.heads = w.grads.q.heads = 3)
WRONG(longer_mask, SHAPE, "opts.mask", NULL, 0, w.opts.mask.dim += 7)
WRONG(longer_bias, SHAPE, "opts.bias", NULL, 0, w.opts.bias.len++; memset(&w.grads.bias, 0, sizeof w.grads.bias))
WRONG(longer_opts_lse, SHAPE, "opts.lse", NULL, 0, w.opts.lse.len++)
WRONG(longer_weights, SHAPE, "opts.weights", NULL, 0, give_matrices(H); w.opts.weights.dim++)
WRONG(longer_scores, SHAPE, "opts.scores", NULL, 0, give_matrices(H); w.opts.scores.dim++)
WRONG(wide_k, DTYPE, "k", NULL, 0, w.k = test_random_tensor(ATTN_F64, B, HKV, LK, D, T_BHLD))
WRONG(float_mask, DTYPE, "opts.mask", NULL, 0, w.opts.mask = some(B, 1, LQ, LK))
WRONG(no_offset, NULL, "opts.causal_offset", NULL, 0, w.opts.causal = ATTN_CAUSAL_OFFSET)
WRONG(no_rule, VALUE, "opts.causal", NULL, 0, w.opts.causal = (attn_causal)9)
WRONG(window_of_less, VALUE, "opts.window", NULL, 0, w.opts.window.on = 1; w.opts.window.left = -2)
WRONG(large_q_lens, VALUE, "opts.q_lens", NULL, 0, w.opts.q_lens = numbers(B, LQ + 1))
WRONG(large_kv_lens, VALUE, "opts.kv_lens", NULL, 0, w.opts.kv_lens = numbers(B, LK + 1))
WRONG(scale_of_nan, VALUE, "opts.scale", NULL, 0, w.opts.scale = (double)NAN)
WRONG(softcap_below, VALUE, "opts.softcap", NULL, 0, w.opts.softcap = -1)
WRONG(all_dropped, VALUE, "opts.dropout", NULL, 0, w.opts.dropout.p = 1)
WRONG(no_stage, VALUE, "opts.scores_stage", NULL, 0, w.opts.scores_stage = (attn_stage)7)
WRONG(odd_sinks, VALUE, "opts.sinks", NULL, 0, w.opts.sinks = askew(w.opts.sinks, 1))
WRONG(odd_slopes, VALUE, "opts.alibi_slopes", NULL, 0, w.opts.alibi_slopes = askew(w.opts.alibi_slopes, 1))
WRONG(to_is_q, ALIAS, "out", "q", 0, w.to.data = w.q.data)
WRONG(to_in_k, ALIAS, "out", "k", 0, w.to.data = (float *)w.k.data + 3)
WRONG(v_in_to, ALIAS, "out", "v", 0, w.v.data = w.to.data)
WRONG(to_in_opts_lse, ALIAS, "out", "opts.lse", 0, w.opts.lse.data = w.to.data)
WRONG(opts_lse_in_q, ALIAS, "opts.lse", "q", 0, w.opts.lse.data = w.q.data)
WRONG(bias_in_weights, ALIAS, "opts.weights", "opts.bias", 0, give_matrices(H); w.opts.bias.data = w.opts.weights.data)
WRONG(mask_in_scores, ALIAS, "opts.scores", "opts.mask", 0, give_matrices(H); w.opts.mask.data = w.opts.scores.data)
WRONG(sinks_in_lse, ALIAS, "opts.lse", "opts.sinks", 0, w.opts.sinks = w.opts.lse.data)
WRONG(scratch_in_to, ALIAS, "out", "ctx.scratch", 0, w.ctx.scratch = w.to.data; w.ctx.scratch_size = 4)

static void give_lists(void)
{
    w.index = test_block(sizeof *w.index * LQ);
    w.count = test_block(sizeof *w.count * LQ);
    for (size_t n = 0; n < LQ; n++)
        w.index[n] = (uint32_t)n, w.count[n] = 1;
    w.opts.blocks.q_len = w.opts.blocks.kv_len = w.opts.blocks.batch = w.opts.blocks.heads = 1;
    w.opts.blocks.width = 1;
    w.opts.blocks.index = w.index;
    w.opts.blocks.count = w.count;
}
WRONG(no_index, NULL, "opts.blocks.index", NULL, 0, give_lists(); w.opts.blocks.index = NULL)
WRONG(no_count, NULL, "opts.blocks.count", NULL, 0, give_lists(); w.opts.blocks.count = NULL)
WRONG(index_beyond, VALUE, "opts.blocks.index", NULL, 0, give_lists(); w.index[1] = LK)
WRONG(count_beyond, VALUE, "opts.blocks.count", NULL, 0, give_lists(); w.count[2] = 2)
WRONG(lists_of_three, SHAPE, "opts.blocks", NULL, 0, give_lists(); w.opts.blocks.batch = 3)

#define OF_OPTIONS                                                                                                     \
    &longer_mask, &longer_bias, &float_mask, &no_offset, &no_rule, &window_of_less, &large_q_lens, &scale_of_nan,      \
    &softcap_below, &all_dropped, &odd_sinks, &odd_slopes, &no_index, &no_count, &index_beyond, &count_beyond,         \
    &lists_of_three

#define OF_OUTPUTS                                                                                                     \
    &longer_opts_lse, &longer_weights, &longer_scores, &no_stage, &to_in_opts_lse, &opts_lse_in_q, &bias_in_weights,   \
    &mask_in_scores, &sinks_in_lse, &scratch_in_to

/* cache */
WRONG(null_cache, NULL, "cache", NULL, 0, w.cache_at = NULL)
WRONG(empty_cache, NULL, "cache", NULL, 0, memset(&w.cache, 0, sizeof w.cache))
WRONG(cache_of_integers, NULL, "cache.k_scales", NULL, 0, w.cache.k.dtype = ATTN_I8)
WRONG(cache_of_integer_values, NULL, "cache.v_scales", NULL, 0, w.cache.v.dtype = ATTN_I8)
WRONG(cache_of_doubles, DTYPE, "cache.k", NULL, 0, w.cache.k = test_random_tensor(ATTN_F64, B, HKV, LK, D, T_BHLD))
WRONG(shorter_cache_v, SHAPE, "cache.v", NULL, 0, w.cache.v.len--)
WRONG(wider_cache_k, SHAPE, "cache.k", NULL, 0, w.cache.k = some(B, HKV, LK, D + 1))
WRONG(more_items, SHAPE, "cache.k", NULL, 0, w.cache.k = some(B + 1, HKV, LK, D); w.cache.v = some(B + 1, HKV, LK, DV);
      w.cache.lens = numbers(B + 1, LK); w.cache.first = NULL)
WRONG(cache_too_full, VALUE, "cache.lens", NULL, 0, w.lens[1] = LK + 1; memset(&w.opts, 0, sizeof w.opts))
WRONG(cache_before_its_first, VALUE, "cache.first", NULL, 0, w.cache.first[1] = LK + 1;
      memset(&w.opts, 0, sizeof w.opts))
WRONG(odd_cache_lens, VALUE, "cache.lens", NULL, 0, w.cache.lens = askew(w.lens, 1))
WRONG(odd_cache_first, VALUE, "cache.first", NULL, 0, w.cache.first = askew(w.cache.first, 1))
WRONG(lost_tokens, VALUE, "cache.first", NULL, 0, w.cache.ring = 1; w.lens[0] += 2; w.cache.first[0] = 2;
      memset(&w.opts, 0, sizeof w.opts))
WRONG(lens_beside_a_cache, VALUE, "opts.kv_lens", NULL, 0, w.opts.kv_lens = numbers(B, LK))
WRONG(texts_in_a_cache, VALUE, "opts.sequences", NULL, 0, w.opts.sequences = 1)
WRONG(to_in_cache_k, ALIAS, "out", "cache.k", 0, w.to.data = w.cache.k.data)
WRONG(cache_v_in_to, ALIAS, "out", "cache.v", 0, w.cache.v.data = w.to.data)
WRONG(cache_lens_in_to, ALIAS, "out", "cache.lens", 0, w.cache.lens = memcpy(w.to.data, w.lens, B * sizeof *w.lens))
WRONG(cache_first_in_lse, ALIAS, "opts.lse", "cache.first", 0,
      w.cache.first = memset(w.opts.lse.data, 0, B * sizeof *w.lens))

/* pages */
WRONG(null_pages, NULL, "pages", NULL, 0, w.pages_at = NULL)
WRONG(pages_of_integers, NULL, "pages.k_scales", NULL, 0, w.pages.k.dtype = ATTN_I8)
WRONG(pages_of_integer_values, NULL, "pages.v_scales", NULL, 0, w.pages.v.dtype = ATTN_I8)
WRONG(shorter_pages_v, SHAPE, "pages.v", NULL, 0, w.pages.v.len--)
WRONG(wider_pages_k, SHAPE, "pages.k", NULL, 0, w.pages.k = some(PAGES, HKV, PAGE, D + 1))
WRONG(more_paged_items, SHAPE, "pages.batch", NULL, 0, w.pages.batch = 1)
WRONG(no_table, NULL, "pages.table", NULL, 0, w.pages.table = NULL)
WRONG(no_pages_lens, NULL, "pages.lens", NULL, 0, w.pages.lens = NULL)
WRONG(pages_too_full, VALUE, "pages.lens", NULL, 0, w.lens[1] = PAGE * ENTRIES + 1; memset(&w.opts, 0, sizeof w.opts))
WRONG(odd_pages_lens, VALUE, "pages.lens", NULL, 0, w.pages.lens = askew(w.lens, 1))
WRONG(page_beyond, VALUE, "pages.table", NULL, 0, w.table[ENTRIES] = PAGES; memset(&w.opts, 0, sizeof w.opts))
WRONG(to_in_pages_v, ALIAS, "out", "pages.v", 0, w.to.data = w.pages.v.data)
WRONG(table_in_to, ALIAS, "out", "pages.table", 0,
      w.pages.table = memcpy(w.to.data, w.table, B * ENTRIES * sizeof *w.table))

/* layer */
WRONG(null_weights, NULL, "weights", NULL, 0, w.weights_at = NULL)
WRONG(no_heads, SHAPE, "weights.heads", NULL, 0, w.weights.heads = 0)
WRONG(odd_heads, SHAPE, "weights.kv_heads", NULL, 0, w.weights.heads = 3)
WRONG(wider_wq, SHAPE, "weights.wq", NULL, 0, w.weights.wq.rows++)
WRONG(wider_wk, SHAPE, "weights.wk", NULL, 0, w.weights.wk.rows++)
WRONG(wider_wv, SHAPE, "weights.wv", NULL, 0, w.weights.wv.rows++)
WRONG(wider_wo, SHAPE, "weights.wo", NULL, 0, w.weights.wo.rows++)
WRONG(odd_bq, VALUE, "weights.bq", NULL, 0, w.weights.bq = askew(w.weights.bq, 1))
WRONG(to_in_wo, ALIAS, "out", "weights.wo", 0, w.to.data = w.weights.wo.data)
WRONG(bk_in_to, ALIAS, "out", "weights.bk", 0, w.weights.bk = w.to.data)

/* training */
WRONG(null_grads, NULL, "grads", NULL, 0, w.grads_at = NULL)
WRONG(longer_grads_q, SHAPE, "grads.q", NULL, 0, w.grads.q.len++)
WRONG(longer_grads_k, SHAPE, "grads.k", NULL, 0, w.grads.k.len++)
WRONG(longer_grads_v, SHAPE, "grads.v", NULL, 0, w.grads.v.len++)
WRONG(longer_grads_bias, SHAPE, "grads.bias", NULL, 0, w.grads.bias.len++)
WRONG(longer_dlse, SHAPE, "grads.dlse", NULL, 0, w.grads.dlse.len++)
WRONG(no_distances, SHAPE, "grads.by_distance", NULL, 0,
      w.grads.by_distance = test_random_mat(ATTN_F32, H, LQ + LK - 1, PACKED))
WRONG(sinks_of_none, SHAPE, "grads.sinks", NULL, 0, w.opts.sinks = NULL)
WRONG(slopes_of_none, SHAPE, "grads.alibi_slopes", NULL, 0, w.opts.alibi_slopes = NULL)
WRONG(longer_dout, SHAPE, "dout", NULL, 0, w.dout.len++)
WRONG(narrow_lse, DTYPE, "lse", NULL, 0, w.lse = test_random_tensor(ATTN_F16, B, H, LQ, 1, T_BHLD))
WRONG(sum_in_half, DTYPE, "grads.k", NULL, 0, w.grads.accumulate = 1;
      w.grads.k = test_random_tensor(ATTN_F16, B, HKV, LK, D, T_BHLD))
WRONG(grads_q_in_q, ALIAS, "grads.q", "q", 0, w.grads.q.data = w.q.data)
WRONG(grads_q_in_grads_k, ALIAS, "grads.q", "grads.k", 0, w.grads.k.data = w.grads.q.data)
WRONG(grads_sinks_in_sinks, ALIAS, "grads.sinks", "opts.sinks", 0, w.grads.sinks = (float *)(uintptr_t)w.opts.sinks)

static void scores_as_they_are(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)user, (void)scores, (void)count, (void)b, (void)h, (void)i, (void)j0;
}
WRONG(score_mod_alone, NULL, "grads.score_mod_grad", NULL, 0, w.opts.score_mod = scores_as_they_are)
WRONG(score_mod_of_layer, VALUE, "opts.score_mod", NULL, 0, w.opts.score_mod = scores_as_they_are)

WRONG(null_layer_grads, NULL, "grads", NULL, 0, w.layer_grads_at = NULL)
WRONG(longer_layer_q, SHAPE, "grads.q", NULL, 0, w.layer_grads.q.len++)
WRONG(wider_layer_wo, SHAPE, "grads.wo", NULL, 0, w.layer_grads.wo.cols++)
WRONG(odd_layer_bo, VALUE, "grads.bo", NULL, 0, w.layer_grads.bo = askew(w.layer_grads.bo, 1))
WRONG(layer_wq_in_wq, ALIAS, "grads.wq", "weights.wq", 0, w.layer_grads.wq.data = w.weights.wq.data)
WRONG(layer_bo_in_bo, ALIAS, "grads.bo", "weights.bo", 0, w.layer_grads.bo = (float *)(uintptr_t)w.weights.bo)
WRONG(layer_q_in_layer_wk, ALIAS, "grads.q", "grads.wk", 0, w.layer_grads.q.data = w.layer_grads.wk.data)

TEST(fault_of_steps)
{
    static const wrong *const products[] = {OF_CTX, &longer_out, &longer_inner, &not_finite_alpha, &wide_b, &out_is_a,
        &out_in_b, &scratch_in_a, &scratch_in_out, NULL};
    static const wrong *const rows[] = {OF_CTX, &longer_out, &out_one_on, &scratch_in_in, NULL};
    static const wrong *const sums[] = {&narrow_out, NULL};
    static const wrong *const merges[] = {OF_CTX, &longer_lse, &wider_out_b, &longer_lse_b, &out_is_out_b,
        &lse_is_lse_b, &lse_in_out, &scratch_in_lse, NULL};
    faults(begin_steps, matmul, "attn_matmul_ctx", products);
    views(begin_steps, matmul, "attn_matmul_ctx", steps_places);
    faults(begin_steps, matmul_add, "attn_matmul_add", products);
    faults(begin_steps, matmul_add, "attn_matmul_add", sums);
    views(begin_steps, matmul_add, "attn_matmul_add", steps_places);
    faults(begin_softmax, softmax, "attn_softmax_ctx", rows);
    views(begin_softmax, softmax, "attn_softmax_ctx", softmax_places);
    faults(begin_merge, merge, "attn_merge_ctx", merges);
    views(begin_merge, merge, "attn_merge_ctx", merge_places);
    check_names();
}

TEST(fault_of_sdpa)
{
    static const wrong *const list[] = {OF_FORMS, OF_OPTIONS, OF_OUTPUTS, &longer_to, &three_heads, &wider_k, &longer_v,
        &wide_k, &large_kv_lens, &to_is_q, &to_in_k, &v_in_to, NULL};
    faults(begin_sdpa, sdpa, "attn_sdpa", list);
    views(begin_sdpa, sdpa, "attn_sdpa", sdpa_places);
    check_names();
}

TEST(fault_of_cache)
{
    static const wrong *const list[] = {OF_FORMS, OF_OPTIONS, OF_OUTPUTS, &null_cache, &empty_cache, &cache_of_integers,
        &cache_of_integer_values, &cache_of_doubles, &longer_to, &three_heads, &shorter_cache_v, &wider_cache_k,
        &more_items, &cache_too_full, &cache_before_its_first, &odd_cache_lens, &odd_cache_first, &lost_tokens,
        &lens_beside_a_cache, &texts_in_a_cache, &to_is_q, &to_in_cache_k, &cache_v_in_to, &cache_lens_in_to,
        &cache_first_in_lse, NULL};
    faults(begin_cache, cache, "attn_kv_cache_attend", list);
    views(begin_cache, cache, "attn_kv_cache_attend", cache_places);
    check_names();
}

TEST(fault_of_pages)
{
    static const wrong *const list[] = {OF_FORMS, OF_OPTIONS, OF_OUTPUTS, &null_pages, &pages_of_integers,
        &pages_of_integer_values, &no_table, &no_pages_lens, &longer_to, &shorter_pages_v, &wider_pages_k,
        &more_paged_items, &pages_too_full, &odd_pages_lens, &page_beyond, &lens_beside_a_cache, &texts_in_a_cache,
        &to_in_pages_v, &table_in_to, NULL};
    faults(begin_pages, pages, "attn_kv_pages_attend", list);
    views(begin_pages, pages, "attn_kv_pages_attend", pages_places);
    check_names();
}

TEST(fault_of_layer)
{
    static const wrong *const list[] = {OF_FORMS, OF_OPTIONS, OF_OUTPUTS, &null_weights, &no_heads, &odd_heads,
        &longer_to, &longer_v, &wider_wq, &wider_wk, &wider_wv, &wider_wo, &odd_bq, &large_kv_lens, &to_is_q, &to_in_wo,
        &bk_in_to, NULL};
    faults(begin_layer, layer_of, "attn_mha", list);
    views(begin_layer, layer_of, "attn_mha", layer_places);
    check_names();
}

TEST(fault_of_backward)
{
    static const wrong *const list[] = {OF_FORMS, OF_OPTIONS, &null_grads, &score_mod_alone, &narrow_lse, &sum_in_half,
        &longer_grads_q, &longer_grads_k, &longer_grads_v, &longer_grads_bias, &no_distances, &sinks_of_none,
        &slopes_of_none, &longer_dlse, &longer_dout, &longer_to, &longer_lse, &large_kv_lens, &grads_q_in_q,
        &grads_q_in_grads_k, &grads_sinks_in_sinks, NULL};
    faults(begin_backward, backward, "attn_sdpa_backward", list);
    views(begin_backward, backward, "attn_sdpa_backward", backward_places);
    check_names();
}

TEST(fault_of_layer_backward)
{
    static const wrong *const list[] = {OF_FORMS, OF_OPTIONS, &null_layer_grads, &null_weights, &longer_layer_q,
        &wider_layer_wo, &longer_dout, &no_heads, &odd_layer_bo, &score_mod_of_layer, &layer_wq_in_wq, &layer_bo_in_bo,
        &layer_q_in_layer_wk, NULL};
    faults(begin_layer_backward, layer_backward, "attn_mha_backward", list);
    views(begin_layer_backward, layer_backward, "attn_mha_backward", layer_backward_places);
    check_names();
}

/* ---- all ten: texts of faults, and dry runs ---- */

static void begin_products(void) /* large enough for copies of a and b */
{
    begin();
    w.out = test_random_mat(ATTN_F32, 70, 130, PACKED);
    w.a = test_random_mat(ATTN_F32, 70, 300, TRANSPOSED);
    w.b = test_random_mat(ATTN_F16, 300, 130, PACKED);
    w.alpha = 1;
}

static const struct function {
    const char *name;
    void (*right)(void);
    attn_status (*call)(const attn_ctx *);
    const place *places;
    int needs_memory; /* there is a NOMEM */
} functions[] = {{"attn_matmul_ctx", begin_products, matmul, steps_places, 0},
                 {"attn_matmul_add", begin_products, matmul_add, steps_places, 0},
                 {"attn_softmax_ctx", begin_softmax, softmax, softmax_places, 0},
                 {"attn_merge_ctx", begin_merge, merge, merge_places, 0},
                 {"attn_sdpa", begin_sdpa, sdpa, sdpa_places, 1},
                 {"attn_kv_cache_attend", begin_cache, cache, cache_places, 1},
                 {"attn_kv_pages_attend", begin_pages, pages, pages_places, 1},
                 {"attn_mha", begin_layer, layer_of, layer_places, 1},
                 {"attn_sdpa_backward", begin_backward, backward, backward_places, 1},
                 {"attn_mha_backward", begin_layer_backward, layer_backward, layer_backward_places, 1}};

/* No memory to be had: what there is too little of is scratch. */
TEST(fault_of_memory)
{
    for (size_t n = COUNT(functions) - 3; n < COUNT(functions); n++) {
        functions[n].right();
        test_memory_state.fail_all = 1;
        refused(functions[n].call, ONLY_CALL, functions[n].name, ATTN_ERR_NOMEM, "ctx.scratch", NULL);
        test_memory_state.fail_all = 0;
        test_release();
    }
    check_names();
}

/* What texts say, of one member of the world that is wrong. */
#define MEMBER(member) offsetof(struct world, member), sizeof w.member
static const struct said {
    void (*right)(void);
    attn_status (*call)(const attn_ctx *);
    size_t at, size, value;
    const char *argument, *text;
} texts[] = {
    {begin_sdpa, sdpa, MEMBER(opts.mask.heads), 3, "opts.mask", "3 heads, where 4 or 1 fit"},
    {begin_sdpa, sdpa, MEMBER(k.batch), 1, "k", "1 items, where 2 fit"},
    {begin_sdpa, sdpa, MEMBER(v.len), 5, "v", "5 positions, where 6 fit"},
    {begin_sdpa, sdpa, MEMBER(k.dim), 7, "k", "7 dims, where 8 fit"},
    {begin_sdpa, sdpa, MEMBER(opts.lse.dim), 0, "opts.lse", "0 dims, where 1 fits"},
    {begin_steps, matmul, MEMBER(b.rows), 7, "b", "7 rows, where 8 fit"},
    {begin_steps, matmul, MEMBER(out.cols), 5, "out", "5 columns, where 6 fit"},
    {begin_sdpa, sdpa, MEMBER(q.dim), 0, "q", "no dims"},
    {begin_sdpa, sdpa, MEMBER(k.heads), 3, "q", "4 heads, where 3 or a multiple of it fits"},
    {begin_sdpa, sdpa, MEMBER(q.data), 0, "q", "data is NULL"},
    {begin_sdpa, sdpa, MEMBER(opts.causal), ATTN_CAUSAL_OFFSET, "opts.causal_offset", "is required"},
    {begin_sdpa, sdpa, MEMBER(q.dtype), ATTN_I8, "q", "i8, where f32, f16 or bf16 fit"},
    {begin_sdpa, sdpa, MEMBER(k.dtype), 99, "k", "an unknown type, where f32, f16 or bf16 fit"},
    {begin_sdpa, sdpa, MEMBER(k.dtype), ATTN_F64, "k", "f64, where f32, f16 or bf16 fit"},
    {begin_sdpa, sdpa, MEMBER(q.dtype), ATTN_F64, "out", "f32, where f64 fits"},
    {begin_sdpa, sdpa, MEMBER(opts.mask.dtype), ATTN_F32, "opts.mask", "f32, where bool fits"},
    {begin_sdpa, sdpa, MEMBER(opts.bias.dtype), ATTN_BOOL, "opts.bias", "bool, where a type of float fits"},
    {begin_backward, backward, MEMBER(lse.dtype), ATTN_F16, "lse", "f16, where f32 fits"},
    {begin_sdpa, sdpa, MEMBER(to.head_stride), 0, "out", "its elements share memory"},
    {begin_sdpa, sdpa, MEMBER(opts.scores_stage), 99, "opts.scores_stage",
     "a number out of range, a full cache, misaligned data, or an instruction set this CPU lacks"},
    {begin_sdpa, sdpa, MEMBER(ctx.isa), 99, "ctx.isa", "unknown, which this CPU or build lacks"},
    {begin_layer, layer_of, MEMBER(weights.wq.rows), 9, "weights.wq", "9 rows, where 10 fit"},
};

/* The text is written on every error. */
TEST(fault_text)
{
    for (const struct function *f = functions; f < functions + COUNT(functions); f++) {
        attn_fault fault = {NULL, NULL, "poison"};
        f->right();
        w.ctx.fault = &fault;
        w.ctx.isa = (attn_isa)99;
        test_case("%s", f->name);
        CHECK_STATUS(f->call(&w.ctx), ATTN_ERR_VALUE);
        CHECK(memchr(fault.text, 0, sizeof fault.text) && strcmp(fault.text, "poison") != 0);
        test_release();
    }
    for (const struct said *said = texts; said < texts + COUNT(texts); said++) {
        attn_fault fault = {NULL, NULL, ""};
        const int narrow = (int)said->value;
        const char *text = said->text;
        attn_status status;
        if (test_wide != ATTN_F64 && strstr(text, "a type of float fits"))
            text = "bool, where f32, f16 or bf16 fit";
        if (test_wide != ATTN_F64 && strstr(said->text, "f64 fits"))
            continue;
        said->right();
        memcpy((char *)&w + said->at, said->size == sizeof narrow ? (const void *)&narrow : &said->value, said->size);
        w.ctx.fault = &fault;
        test_case("%s: %s", said->argument, said->text);
        status = said->call(&w.ctx);
        CHECK(status != ATTN_OK);
        if (!CHECK(strcmp(fault.argument, said->argument) == 0 &&
                   (strcmp(fault.text, text) == 0 ||
                    (test_small && strcmp(fault.text, attn_status_string(status)) == 0))))
            printf("    it says: %s: %s\n", fault.argument, fault.text);
        test_release();
    }
}

static void make_f64(const place *p)
{
    void *at = (char *)&w + p->at;
    if (p->role & MATRIX)
        ((attn_mat *)at)->dtype = ATTN_F64;
    else
        ((attn_tensor *)at)->dtype = ATTN_F64;
}

/* What a library without F64 is given of it, it refuses: one argument, which it names, or all of them. */
TEST(fault_of_f64)
{
    if (!test_lacks_f64())
        return;
    for (const struct function *f = functions; f < functions + COUNT(functions); f++) {
        attn_fault fault = {poison[0], poison[1], ""};
        int named = 0;
        for (const place *p = f->places; p->name; p++) {
            f->right();
            make_f64(p);
            refused(f->call, 0, f->name, ATTN_ERR_DTYPE, p->name, NULL);
            test_release();
        }
        f->right();
        for (const place *p = f->places; p->name; p++)
            if (strcmp(p->name, "opts.mask") != 0)
                make_f64(p);
        test_case("%s, all of f64", f->name);
        test_freeze();
        w.ctx.fault = &fault;
        CHECK_STATUS(f->call(&w.ctx), ATTN_ERR_DTYPE);
        CHECK(test_wrote_nothing() && !fault.other && fault.text[0]);
        for (const place *p = f->places; p->name; p++)
            named |= strcmp(fault.argument, p->name) == 0;
        CHECK(named);
        test_release();
    }
    check_names();
}

/* What the dry run of a right world tells; it says so in w.text. */
static size_t told(const struct function *f)
{
    w.dry.scratch = 987654321;
    w.ctx.dry_run = &w.dry;
    memset(w.text, 'x', sizeof w.text);
    test_freeze();
    CHECK_STATUS(f->call(&w.ctx), ATTN_OK);
    CHECK(test_wrote_nothing() && w.dry.scratch != 987654321);
    w.ctx.dry_run = NULL;
    return w.dry.scratch;
}

/* What is missing comes first, also where too many tokens leave open how many keys there are. */
TEST(fault_of_mask_before_lens)
{
    begin_cache();
    w.lens[0] = LK + 1;
    refused(cache, 0, "attn_kv_cache_attend", ATTN_ERR_VALUE, "cache.lens", NULL);
    w.opts.mask.data = NULL;
    refused(cache, ONLY_CALL, "attn_kv_cache_attend", ATTN_ERR_NULL, "opts.mask", NULL);
    check_names();
}

/* A mask may be what hides the tokens that a ring has dropped: without data nobody knows, and the scratch is told. */
TEST(dry_run_of_masked_ring)
{
    static const unsigned char shown[] = {0, 0, 1, 1, 1, 1}, all[] = {1, 1, 1, 1, 1, 1};
    size_t lens = 6, first = 2;
    attn_kv_cache ring;
    begin();
    CHECK_STATUS(attn_kv_cache_over(&ring, some(1, 1, 4, D), some(1, 1, 4, D), &lens, &first), ATTN_OK);
    w.q = some(1, 1, 1, D), w.to = some(1, 1, 1, D);
    w.cache_at = &ring;
    w.opts.mask = attn_bhld(shown, ATTN_BOOL, 1, 1, 1, 6);
    CHECK_STATUS(cache(&w.ctx), ATTN_OK);
    w.ctx.dry_run = &w.dry;
    CHECK_STATUS(cache(&w.ctx), ATTN_OK);
    w.opts.mask.data = NULL;
    CHECK_STATUS(cache(&w.ctx), ATTN_OK);
    w.opts.mask = attn_bhld(all, ATTN_BOOL, 1, 1, 1, 6);
    CHECK_STATUS(cache(&w.ctx), ATTN_ERR_VALUE);
    test_release();
}

/* Nothing is written, read or allocated, no task is run, and the same is said of the same call, before it and after. */
TEST(dry_run)
{
    static char text[sizeof w.text];
    for (const struct function *f = functions; f < functions + COUNT(functions); f++)
        FOR_EACH_ISA (isa) {
            test_runner r = {0, 0, 0};
            size_t bytes;
            f->right();
            w.ctx.isa = isa;
            w.ctx.parallel = test_serial_backwards(&r, 2);
            test_case("%s, %s", f->name, attn_isa_string(isa));
            test_memory_state.fail_all = 1;
            bytes = told(f);
            test_memory_state.fail_all = 0;
            CHECK(r.calls == 0 && memchr(w.text, 0, sizeof w.text) && w.text[0] && w.text[strlen(w.text) - 1] == '\n');
            memcpy(text, w.text, sizeof text);
            CHECK_STATUS(f->call(&w.ctx), ATTN_OK);
            CHECK(!test_wrote_nothing());
            CHECK(told(f) == bytes && memcmp(text, w.text, sizeof text) == 0);
            w.dry.text = NULL, w.dry.text_size = 0;
            CHECK(told(f) == bytes && w.text[0] == 'x');
            test_release();
        }
}

/* What it tells is enough for every width and instruction set: nothing is allocated. One byte less is too little where
   there is a NOMEM, and no matter of a dry run. */
TEST(dry_run_scratch)
{
    for (const struct function *f = functions; f < functions + COUNT(functions); f++)
        for (size_t width = 1; width <= 3; width += 2)
            FOR_EACH_ISA (isa) {
                test_runner r = {0, 0, 0};
                size_t bytes;
                long calls;
                f->right();
                w.ctx.isa = isa;
                w.ctx.parallel = test_serial_backwards(&r, width);
                bytes = told(f);
                test_case("%s, %s, width %zu: %zu bytes", f->name, attn_isa_string(isa), width, bytes);
                test_scratch(&w.ctx, bytes, 1);
                calls = test_memory_state.calls;
                CHECK_STATUS(f->call(&w.ctx), ATTN_OK);
                CHECK(test_memory_state.calls == calls && r.most <= width && test_scratch_kept(&w.ctx));
                if (bytes > 0) {
                    test_scratch(&w.ctx, bytes - 1, 1);
                    CHECK(told(f) == bytes);
                    CHECK_STATUS(f->call(&w.ctx), f->needs_memory ? ATTN_ERR_NOMEM : ATTN_OK);
                }
                CHECK(bytes > 0 || !f->needs_memory);
                test_release();
            }
}

/* Shapes, types and strides are all it has need of: it says the same where there are no numbers yet. */
TEST(dry_run_no_data)
{
    static char text[sizeof w.text];
    for (const struct function *f = functions; f < functions + COUNT(functions); f++) {
        size_t bytes;
        f->right();
        test_case("%s", f->name);
        bytes = told(f);
        memcpy(text, w.text, sizeof text);
        for (const place *p = f->places; p->name; p++) {
            void *at = (char *)&w + p->at;
            if (p->role & MATRIX)
                ((attn_mat *)at)->data = NULL;
            else
                ((attn_tensor *)at)->data = NULL;
            test_case("%s, without %s", f->name, p->name);
            CHECK(told(f) == bytes && memcmp(text, w.text, sizeof text) == 0);
        }
        test_release();
    }
}
