/* ctx.fault: which argument an error speaks of, in every function that takes a ctx. On success it stays as it was; the
   names are those that the function's _explain gives, and strings that live as long as the program. */
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
    size_t bytes, *bytes_at;
    char text[3000], *text_at;
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
    w.bytes_at = &w.bytes;
    w.text_at = w.text;
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

/* ---- the functions, each in up to three forms ---- */

typedef enum form { CALL, SCRATCH, EXPLAIN, FORMS } form;
enum { NOT_SCRATCH = 1, ONLY_CALL = 2, ONLY_EXPLAIN = 4, ONLY_SCRATCH = 8 }; /* which of them see a fault */

static attn_status matmul(form f, const attn_ctx *ctx)
{
    (void)f;
    return attn_matmul_ctx(w.out, w.a, w.b, w.alpha, ctx);
}

static attn_status matmul_add(form f, const attn_ctx *ctx)
{
    (void)f;
    return attn_matmul_add(w.out, w.a, w.b, w.alpha, ctx);
}

static attn_status softmax(form f, const attn_ctx *ctx)
{
    (void)f;
    return attn_softmax_ctx(w.out, w.a, ctx);
}

static attn_status merge(form f, const attn_ctx *ctx)
{
    (void)f;
    return attn_merge_ctx(w.to, w.lse, w.out_b, w.lse_b, ctx);
}

static attn_status sdpa(form f, const attn_ctx *ctx)
{
    if (f == SCRATCH)
        return attn_sdpa_scratch(w.bytes_at, w.to, w.q, w.k, w.v, &w.opts, ctx);
    if (f == EXPLAIN)
        return attn_sdpa_explain(w.text_at, sizeof w.text, w.to, w.q, w.k, w.v, &w.opts, ctx);
    return attn_sdpa(w.to, w.q, w.k, w.v, &w.opts, ctx);
}

static attn_status cache(form f, const attn_ctx *ctx)
{
    if (f == SCRATCH)
        return attn_kv_cache_scratch(w.bytes_at, w.to, w.q, w.cache_at, &w.opts, ctx);
    if (f == EXPLAIN)
        return attn_kv_cache_explain(w.text_at, sizeof w.text, w.to, w.q, w.cache_at, &w.opts, ctx);
    return attn_kv_cache_attend(w.to, w.q, w.cache_at, &w.opts, ctx);
}

static attn_status pages(form f, const attn_ctx *ctx)
{
    if (f == SCRATCH)
        return attn_kv_pages_scratch(w.bytes_at, w.to, w.q, w.pages_at, &w.opts, ctx);
    if (f == EXPLAIN)
        return attn_kv_pages_explain(w.text_at, sizeof w.text, w.to, w.q, w.pages_at, &w.opts, ctx);
    return attn_kv_pages_attend(w.to, w.q, w.pages_at, &w.opts, ctx);
}

static attn_status layer_of(form f, const attn_ctx *ctx)
{
    if (f == SCRATCH)
        return attn_mha_scratch(w.bytes_at, w.to, w.q, w.k, w.v, w.weights_at, &w.opts, ctx);
    if (f == EXPLAIN)
        return attn_mha_explain(w.text_at, sizeof w.text, w.to, w.q, w.k, w.v, w.weights_at, &w.opts, ctx);
    return attn_mha(w.to, w.q, w.k, w.v, w.weights_at, &w.opts, ctx);
}

static attn_status backward(form f, const attn_ctx *ctx)
{
    if (f == SCRATCH)
        return attn_sdpa_backward_scratch(w.bytes_at, w.grads_at, w.dout, w.q, w.k, w.v, w.to, w.lse, &w.opts, ctx);
    if (f == EXPLAIN)
        return attn_sdpa_backward_explain(w.text_at, sizeof w.text, w.grads_at, w.dout, w.q, w.k, w.v, w.to, w.lse,
                                          &w.opts, ctx);
    return attn_sdpa_backward(w.grads_at, w.dout, w.q, w.k, w.v, w.to, w.lse, &w.opts, ctx);
}

static attn_status layer_backward(form f, const attn_ctx *ctx)
{
    if (f == SCRATCH)
        return attn_mha_backward_scratch(w.bytes_at, w.layer_grads_at, w.dout, w.q, w.k, w.v, w.weights_at, &w.opts,
                                         ctx);
    if (f == EXPLAIN)
        return attn_mha_backward_explain(w.text_at, sizeof w.text, w.layer_grads_at, w.dout, w.q, w.k, w.v,
                                         w.weights_at, &w.opts, ctx);
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

static int applies(int forms, form f)
{
    return !(forms & NOT_SCRATCH && f == SCRATCH) && !(forms & ONLY_CALL && f != CALL) &&
           !(forms & ONLY_EXPLAIN && f != EXPLAIN) && !(forms & ONLY_SCRATCH && f != SCRATCH);
}

static const char poison[2][8] = {"poison", "poison"};

/* The world, as it is now, is refused: with this status and these names, by all forms that see it, and nothing is
   written; the same without a fault to fill in. `last`: of the forms. */
static void refused(attn_status (*call)(form, const attn_ctx *), form last, int forms, const char *what,
                    attn_status want, const char *argument, const char *other)
{
    static const char *const form_names[] = {"", "_scratch", "_explain"};
    for (form f = CALL; f <= last; f = (form)(f + 1)) {
        attn_fault fault = {poison[0], poison[1]};
        size_t length = argument ? strlen(argument) : 0;
        if (!applies(forms, f))
            continue;
        test_case("%s%s: %s", what, form_names[f], argument);
        w.bytes = 77;
        test_freeze();
        w.ctx.fault = NULL;
        CHECK_STATUS(call(f, &w.ctx), want);
        w.ctx.fault = &fault;
        CHECK_STATUS(call(f, &w.ctx), want);
        CHECK(test_wrote_nothing() && w.bytes == 77);
        is_name(fault.argument, argument);
        is_name(fault.other, other);
        if (f == EXPLAIN && w.text_at) {
            CHECK(strncmp(w.text, argument, length) == 0 && w.text[length] == (other ? ',' : ':'));
            CHECK(!other || strncmp(w.text + length + 2, other, strlen(other)) == 0);
        }
    }
}

/* A right world: every form is fine, and does not look at the fault. */
static void accepted(attn_status (*call)(form, const attn_ctx *), form last, const char *what)
{
    for (form f = CALL; f <= last; f = (form)(f + 1)) {
        attn_fault fault = {poison[0], poison[1]};
        test_case("%s, form %d", what, (int)f);
        w.ctx.fault = NULL;
        CHECK_STATUS(call(f, &w.ctx), ATTN_OK);
        w.ctx.fault = &fault;
        CHECK_STATUS(call(f, &w.ctx), ATTN_OK);
        CHECK(fault.argument == poison[0] && fault.other == poison[1]);
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

static const place steps_places[] = {
    MAT("out", out, REQUIRED | OUTPUT), MAT("a", a, REQUIRED), MAT("b", b, REQUIRED), {NULL, 0, 0}};
static const place softmax_places[] = {MAT("out", out, REQUIRED | OUTPUT), MAT("in", a, REQUIRED), {NULL, 0, 0}};
static const place merge_places[] = {TENSOR("out", to, REQUIRED | OUTPUT),
                                     TENSOR("lse", lse, REQUIRED | OUTPUT),
                                     TENSOR("out_b", out_b, REQUIRED),
                                     TENSOR("lse_b", lse_b, REQUIRED),
                                     {NULL, 0, 0}};
static const place sdpa_places[] = {TENSOR("out", to, REQUIRED | OUTPUT),
                                    TENSOR("q", q, REQUIRED),
                                    TENSOR("k", k, REQUIRED),
                                    TENSOR("v", v, REQUIRED),
                                    OPTIONS,
                                    MATRICES,
                                    {NULL, 0, 0}};
static const place cache_places[] = {TENSOR("out", to, REQUIRED | OUTPUT),
                                     TENSOR("q", q, REQUIRED),
                                     TENSOR("cache.k", cache.k, REQUIRED | STORED),
                                     TENSOR("cache.v", cache.v, REQUIRED | STORED),
                                     OPTIONS,
                                     {NULL, 0, 0}};
static const place pages_places[] = {TENSOR("out", to, REQUIRED | OUTPUT),
                                     TENSOR("q", q, REQUIRED),
                                     TENSOR("pages.k", pages.k, REQUIRED | STORED),
                                     TENSOR("pages.v", pages.v, REQUIRED | STORED),
                                     OPTIONS,
                                     {NULL, 0, 0}};
static const place layer_places[] = {TENSOR("out", to, REQUIRED | OUTPUT),
                                     TENSOR("q", q, REQUIRED),
                                     TENSOR("k", k, REQUIRED),
                                     TENSOR("v", v, REQUIRED),
                                     MAT("weights.wq", weights.wq, REQUIRED),
                                     MAT("weights.wk", weights.wk, REQUIRED),
                                     MAT("weights.wv", weights.wv, REQUIRED),
                                     MAT("weights.wo", weights.wo, REQUIRED),
                                     OPTIONS,
                                     MATRICES,
                                     {NULL, 0, 0}};
static const place backward_places[] = {TENSOR("grads.q", grads.q, OUTPUT),
                                        TENSOR("grads.k", grads.k, OUTPUT),
                                        TENSOR("grads.v", grads.v, OUTPUT),
                                        TENSOR("grads.bias", grads.bias, OUTPUT),
                                        TENSOR("grads.dlse", grads.dlse, 0),
                                        TENSOR("dout", dout, REQUIRED),
                                        TENSOR("q", q, REQUIRED),
                                        TENSOR("k", k, REQUIRED),
                                        TENSOR("v", v, REQUIRED),
                                        TENSOR("out", to, REQUIRED),
                                        TENSOR("lse", lse, REQUIRED),
                                        TENSOR("opts.mask", opts.mask, 0),
                                        TENSOR("opts.bias", opts.bias, 0),
                                        {NULL, 0, 0}};
static const place layer_backward_places[] = {TENSOR("grads.q", layer_grads.q, OUTPUT),
                                              TENSOR("grads.k", layer_grads.k, OUTPUT),
                                              TENSOR("grads.v", layer_grads.v, OUTPUT),
                                              MAT("grads.wq", layer_grads.wq, OUTPUT),
                                              MAT("grads.wk", layer_grads.wk, OUTPUT),
                                              MAT("grads.wv", layer_grads.wv, OUTPUT),
                                              MAT("grads.wo", layer_grads.wo, OUTPUT),
                                              TENSOR("dout", dout, REQUIRED),
                                              TENSOR("q", q, REQUIRED),
                                              TENSOR("k", k, REQUIRED),
                                              TENSOR("v", v, REQUIRED),
                                              MAT("weights.wq", weights.wq, REQUIRED),
                                              MAT("weights.wk", weights.wk, REQUIRED),
                                              MAT("weights.wv", weights.wv, REQUIRED),
                                              MAT("weights.wo", weights.wo, REQUIRED),
                                              TENSOR("opts.mask", opts.mask, 0),
                                              TENSOR("opts.bias", opts.bias, 0),
                                              {NULL, 0, 0}};

/* Whatever is wrong with one view alone is said of that view. */
static void views(void (*right)(void), attn_status (*call)(form, const attn_ctx *), form last, const char *what,
                  const place *places)
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
            if (want != ATTN_OK)
                refused(call, last, 0, what, want, p->name, NULL);
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

static void faults(void (*right)(void), attn_status (*call)(form, const attn_ctx *), form last, const char *what,
                   const wrong *list)
{
    right();
    accepted(call, last, what);
    test_release();
    for (; list->spoil; list++) {
        right();
        list->spoil();
        refused(call, last, list->forms, what, list->want, list->argument, list->other);
        test_release();
    }
}

#define SPOIL(name, what)                                                                                              \
    static void name(void)                                                                                             \
    {                                                                                                                  \
        what;                                                                                                          \
    }

SPOIL(no_isa, w.ctx.isa = (attn_isa)99)
SPOIL(no_scratch, w.ctx.scratch_size = 64)
SPOIL(small_scratch, w.ctx.scratch = test_block(1); w.ctx.scratch_size = 1)
SPOIL(scratch_in_q, w.ctx.scratch = w.q.data; w.ctx.scratch_size = 8)
SPOIL(scratch_in_a, w.ctx.scratch = w.a.data; w.ctx.scratch_size = 8)
SPOIL(no_bytes, w.bytes_at = NULL)
SPOIL(no_text, w.text_at = NULL)

#define OF_CTX                                                                                                         \
    {no_isa, ATTN_ERR_VALUE, "ctx.isa", NULL, 0},                                                                      \
    {                                                                                                                  \
        no_scratch, ATTN_ERR_NULL, "ctx.scratch", NULL, NOT_SCRATCH                                                    \
    }

#define OF_FORMS                                                                                                       \
    OF_CTX, {small_scratch, ATTN_ERR_NOMEM, "ctx.scratch", NULL, NOT_SCRATCH},                                         \
        {scratch_in_q, ATTN_ERR_ALIAS, "ctx.scratch", "q", NOT_SCRATCH},                                               \
        {no_bytes, ATTN_ERR_NULL, "bytes", NULL, ONLY_SCRATCH},                                                        \
    {                                                                                                                  \
        no_text, ATTN_ERR_NULL, "text", NULL, ONLY_EXPLAIN                                                             \
    }

/* steps */
SPOIL(longer_out, w.out.rows++)
SPOIL(longer_inner, w.b.rows++)
SPOIL(not_finite_alpha, w.alpha = (double)NAN)
SPOIL(out_is_a, w.out = w.a; w.out.cols = LK)
SPOIL(out_in_b, w.out.data = w.b.data)
SPOIL(scratch_in_out, w.ctx.scratch = (char *)w.out.data + 1; w.ctx.scratch_size = 2)
SPOIL(out_one_on, w.out.data = (float *)w.a.data + 1)
SPOIL(wide_b, w.b = test_random_mat(ATTN_F64, D, LK, PACKED))
SPOIL(narrow_out, w.out = test_random_mat(ATTN_F16, LQ, LK, PACKED))

/* merge */
SPOIL(longer_lse, w.lse.len++)
SPOIL(wider_out_b, w.out_b.dim++)
SPOIL(longer_lse_b, w.lse_b.len++)
SPOIL(out_is_out_b, w.to = w.out_b)
SPOIL(lse_is_lse_b, w.lse = w.lse_b)
SPOIL(lse_in_out, w.lse.data = w.to.data)
SPOIL(scratch_in_lse, w.ctx.scratch = w.lse.data; w.ctx.scratch_size = 4)

/* the engine */
SPOIL(longer_to, w.to.len++)
SPOIL(wider_k, w.k.dim++)
SPOIL(longer_v, w.v.len++)
SPOIL(three_heads, w.q.heads = w.to.heads = w.dout.heads = w.grads.q.heads = 3)
SPOIL(longer_mask, w.opts.mask.dim += 7)
SPOIL(longer_bias, w.opts.bias.len++; memset(&w.grads.bias, 0, sizeof w.grads.bias))
SPOIL(longer_opts_lse, w.opts.lse.len++)
SPOIL(longer_weights, give_matrices(H); w.opts.weights.dim++)
SPOIL(longer_scores, give_matrices(H); w.opts.scores.dim++)
SPOIL(wide_k, w.k = test_random_tensor(ATTN_F64, B, HKV, LK, D, T_BHLD))
SPOIL(float_mask, w.opts.mask = some(B, 1, LQ, LK))
SPOIL(no_offset, w.opts.causal = ATTN_CAUSAL_OFFSET)
SPOIL(no_rule, w.opts.causal = (attn_causal)9)
SPOIL(window_of_less, w.opts.window.on = 1; w.opts.window.left = -2)
SPOIL(large_q_lens, w.opts.q_lens = numbers(B, LQ + 1))
SPOIL(large_kv_lens, w.opts.kv_lens = numbers(B, LK + 1))
SPOIL(scale_of_nan, w.opts.scale = (double)NAN)
SPOIL(softcap_below, w.opts.softcap = -1)
SPOIL(all_dropped, w.opts.dropout.p = 1)
SPOIL(no_stage, w.opts.scores_stage = (attn_stage)7)
SPOIL(odd_sinks, w.opts.sinks = (const float *)(const void *)((const char *)w.opts.sinks + 1))
SPOIL(odd_slopes, w.opts.alibi_slopes = (const float *)(const void *)((const char *)w.opts.alibi_slopes + 1))
SPOIL(to_is_q, w.to.data = w.q.data)
SPOIL(to_in_k, w.to.data = (float *)w.k.data + 3)
SPOIL(v_in_to, w.v.data = w.to.data)
SPOIL(to_in_opts_lse, w.opts.lse.data = w.to.data)
SPOIL(opts_lse_in_q, w.opts.lse.data = w.q.data)
SPOIL(bias_in_weights, give_matrices(H); w.opts.bias.data = w.opts.weights.data)
SPOIL(mask_in_scores, give_matrices(H); w.opts.mask.data = w.opts.scores.data)
SPOIL(sinks_in_lse, w.opts.sinks = w.opts.lse.data)
SPOIL(scratch_in_to, w.ctx.scratch = w.to.data; w.ctx.scratch_size = 4)

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
SPOIL(no_index, give_lists(); w.opts.blocks.index = NULL)
SPOIL(no_count, give_lists(); w.opts.blocks.count = NULL)
SPOIL(index_beyond, give_lists(); w.index[1] = LK)
SPOIL(count_beyond, give_lists(); w.count[2] = 2)
SPOIL(lists_of_three, give_lists(); w.opts.blocks.batch = 3)

#define OF_OPTIONS                                                                                                     \
    {longer_mask, ATTN_ERR_SHAPE, "opts.mask", NULL, 0}, {longer_bias, ATTN_ERR_SHAPE, "opts.bias", NULL, 0},          \
        {float_mask, ATTN_ERR_DTYPE, "opts.mask", NULL, 0}, {no_offset, ATTN_ERR_NULL, "opts.causal_offset", NULL, 0}, \
        {no_rule, ATTN_ERR_VALUE, "opts.causal", NULL, 0}, {window_of_less, ATTN_ERR_VALUE, "opts.window", NULL, 0},   \
        {large_q_lens, ATTN_ERR_VALUE, "opts.q_lens", NULL, 0}, {scale_of_nan, ATTN_ERR_VALUE, "opts.scale", NULL, 0}, \
        {softcap_below, ATTN_ERR_VALUE, "opts.softcap", NULL, 0},                                                      \
        {all_dropped, ATTN_ERR_VALUE, "opts.dropout", NULL, 0}, {odd_sinks, ATTN_ERR_VALUE, "opts.sinks", NULL, 0},    \
        {odd_slopes, ATTN_ERR_VALUE, "opts.alibi_slopes", NULL, 0},                                                    \
        {no_index, ATTN_ERR_NULL, "opts.blocks.index", NULL, 0},                                                       \
        {no_count, ATTN_ERR_NULL, "opts.blocks.count", NULL, 0},                                                       \
        {index_beyond, ATTN_ERR_VALUE, "opts.blocks.index", NULL, 0},                                                  \
        {count_beyond, ATTN_ERR_VALUE, "opts.blocks.count", NULL, 0},                                                  \
    {                                                                                                                  \
        lists_of_three, ATTN_ERR_SHAPE, "opts.blocks", NULL, 0                                                         \
    }

#define OF_OUTPUTS                                                                                                     \
    {longer_opts_lse, ATTN_ERR_SHAPE, "opts.lse", NULL, 0}, {longer_weights, ATTN_ERR_SHAPE, "opts.weights", NULL, 0}, \
        {longer_scores, ATTN_ERR_SHAPE, "opts.scores", NULL, 0},                                                       \
        {no_stage, ATTN_ERR_VALUE, "opts.scores_stage", NULL, 0},                                                      \
        {to_in_opts_lse, ATTN_ERR_ALIAS, "out", "opts.lse", 0}, {opts_lse_in_q, ATTN_ERR_ALIAS, "opts.lse", "q", 0},   \
        {bias_in_weights, ATTN_ERR_ALIAS, "opts.weights", "opts.bias", 0},                                             \
        {mask_in_scores, ATTN_ERR_ALIAS, "opts.scores", "opts.mask", 0},                                               \
        {sinks_in_lse, ATTN_ERR_ALIAS, "opts.lse", "opts.sinks", 0},                                                   \
    {                                                                                                                  \
        scratch_in_to, ATTN_ERR_ALIAS, "out", "ctx.scratch", NOT_SCRATCH                                               \
    }

/* cache */
SPOIL(null_cache, w.cache_at = NULL)
SPOIL(empty_cache, memset(&w.cache, 0, sizeof w.cache))
SPOIL(cache_of_integers, w.cache.k.dtype = ATTN_I8)
SPOIL(cache_of_integer_values, w.cache.v.dtype = ATTN_I8)
SPOIL(cache_of_doubles, w.cache.k = test_random_tensor(ATTN_F64, B, HKV, LK, D, T_BHLD))
SPOIL(shorter_cache_v, w.cache.v.len--)
SPOIL(wider_cache_k, w.cache.k = some(B, HKV, LK, D + 1))
SPOIL(more_items, w.cache.k = some(B + 1, HKV, LK, D); w.cache.v = some(B + 1, HKV, LK, DV);
      w.cache.lens = numbers(B + 1, LK); w.cache.first = NULL)
SPOIL(cache_too_full, w.lens[1] = LK + 1; memset(&w.opts, 0, sizeof w.opts))
SPOIL(cache_before_its_first, w.cache.first[1] = LK + 1; memset(&w.opts, 0, sizeof w.opts))
SPOIL(odd_cache_lens, w.cache.lens = (size_t *)(void *)((char *)w.lens + 1))
SPOIL(odd_cache_first, w.cache.first = (size_t *)(void *)((char *)w.cache.first + 1))
SPOIL(lost_tokens, w.cache.ring = 1; w.lens[0] += 2; w.cache.first[0] = 2; memset(&w.opts, 0, sizeof w.opts))
SPOIL(lens_beside_a_cache, w.opts.kv_lens = numbers(B, LK))
SPOIL(texts_in_a_cache, w.opts.sequences = 1)
SPOIL(to_in_cache_k, w.to.data = w.cache.k.data)
SPOIL(cache_v_in_to, w.cache.v.data = w.to.data)
SPOIL(cache_lens_in_to, w.cache.lens = memcpy(w.to.data, w.lens, B * sizeof *w.lens))
SPOIL(cache_first_in_lse, w.cache.first = memset(w.opts.lse.data, 0, B * sizeof *w.lens))

/* pages */
SPOIL(null_pages, w.pages_at = NULL)
SPOIL(pages_of_integers, w.pages.k.dtype = ATTN_I8)
SPOIL(pages_of_integer_values, w.pages.v.dtype = ATTN_I8)
SPOIL(shorter_pages_v, w.pages.v.len--)
SPOIL(wider_pages_k, w.pages.k = some(PAGES, HKV, PAGE, D + 1))
SPOIL(more_paged_items, w.pages.batch = 1)
SPOIL(no_table, w.pages.table = NULL)
SPOIL(no_pages_lens, w.pages.lens = NULL)
SPOIL(pages_too_full, w.lens[1] = PAGE * ENTRIES + 1; memset(&w.opts, 0, sizeof w.opts))
SPOIL(odd_pages_lens, w.pages.lens = (size_t *)(void *)((char *)w.lens + 1))
SPOIL(page_beyond, w.table[ENTRIES] = PAGES; memset(&w.opts, 0, sizeof w.opts))
SPOIL(to_in_pages_v, w.to.data = w.pages.v.data)
SPOIL(table_in_to, w.pages.table = memcpy(w.to.data, w.table, B *ENTRIES * sizeof *w.table))

/* layer */
SPOIL(null_weights, w.weights_at = NULL)
SPOIL(no_heads, w.weights.heads = 0)
SPOIL(odd_heads, w.weights.heads = 3)
SPOIL(wider_wq, w.weights.wq.rows++)
SPOIL(wider_wk, w.weights.wk.rows++)
SPOIL(wider_wv, w.weights.wv.rows++)
SPOIL(wider_wo, w.weights.wo.rows++)
SPOIL(odd_bq, w.weights.bq = (const float *)(const void *)((const char *)w.weights.bq + 1))
SPOIL(to_in_wo, w.to.data = w.weights.wo.data)
SPOIL(bk_in_to, w.weights.bk = w.to.data)

/* training */
SPOIL(null_grads, w.grads_at = NULL)
SPOIL(longer_grads_q, w.grads.q.len++)
SPOIL(longer_grads_k, w.grads.k.len++)
SPOIL(longer_grads_v, w.grads.v.len++)
SPOIL(longer_grads_bias, w.grads.bias.len++)
SPOIL(longer_dlse, w.grads.dlse.len++)
SPOIL(no_distances, w.grads.by_distance = test_random_mat(ATTN_F32, H, LQ + LK - 1, PACKED))
SPOIL(sinks_of_none, w.opts.sinks = NULL)
SPOIL(slopes_of_none, w.opts.alibi_slopes = NULL)
SPOIL(longer_dout, w.dout.len++)
SPOIL(narrow_lse, w.lse = test_random_tensor(ATTN_F16, B, H, LQ, 1, T_BHLD))
SPOIL(sum_in_half, w.grads.accumulate = 1; w.grads.k = test_random_tensor(ATTN_F16, B, HKV, LK, D, T_BHLD))
SPOIL(grads_q_in_q, w.grads.q.data = w.q.data)
SPOIL(grads_q_in_grads_k, w.grads.k.data = w.grads.q.data)
SPOIL(grads_sinks_in_sinks, w.grads.sinks = (float *)(uintptr_t)w.opts.sinks)

static void scores_as_they_are(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)user, (void)scores, (void)count, (void)b, (void)h, (void)i, (void)j0;
}
SPOIL(score_mod_alone, w.opts.score_mod = scores_as_they_are)

SPOIL(null_layer_grads, w.layer_grads_at = NULL)
SPOIL(longer_layer_q, w.layer_grads.q.len++)
SPOIL(wider_layer_wo, w.layer_grads.wo.cols++)
SPOIL(odd_layer_bo, w.layer_grads.bo = (float *)(void *)((char *)w.layer_grads.bo + 1))
SPOIL(layer_wq_in_wq, w.layer_grads.wq.data = w.weights.wq.data)
SPOIL(layer_bo_in_bo, w.layer_grads.bo = (float *)(uintptr_t)w.weights.bo)
SPOIL(layer_q_in_layer_wk, w.layer_grads.q.data = w.layer_grads.wk.data)

TEST(fault_of_steps)
{
    static const wrong products[] = {OF_CTX,
                                     {longer_out, ATTN_ERR_SHAPE, "out", NULL, 0},
                                     {longer_inner, ATTN_ERR_SHAPE, "a", NULL, 0},
                                     {not_finite_alpha, ATTN_ERR_VALUE, "alpha", NULL, 0},
                                     {wide_b, ATTN_ERR_DTYPE, "b", NULL, 0},
                                     {out_is_a, ATTN_ERR_ALIAS, "out", "a", 0},
                                     {out_in_b, ATTN_ERR_ALIAS, "out", "b", 0},
                                     {scratch_in_a, ATTN_ERR_ALIAS, "ctx.scratch", "a", 0},
                                     {scratch_in_out, ATTN_ERR_ALIAS, "out", "ctx.scratch", 0},
                                     {NULL, ATTN_OK, NULL, NULL, 0}};
    static const wrong rows[] = {OF_CTX,
                                 {longer_out, ATTN_ERR_SHAPE, "out", NULL, 0},
                                 {out_one_on, ATTN_ERR_ALIAS, "out", "in", 0},
                                 {scratch_in_a, ATTN_ERR_ALIAS, "ctx.scratch", "in", 0},
                                 {NULL, ATTN_OK, NULL, NULL, 0}};
    static const wrong sums[] = {{narrow_out, ATTN_ERR_DTYPE, "out", NULL, 0}, {NULL, ATTN_OK, NULL, NULL, 0}};
    static const wrong merges[] = {OF_CTX,
                                   {longer_lse, ATTN_ERR_SHAPE, "lse", NULL, 0},
                                   {wider_out_b, ATTN_ERR_SHAPE, "out_b", NULL, 0},
                                   {longer_lse_b, ATTN_ERR_SHAPE, "lse_b", NULL, 0},
                                   {out_is_out_b, ATTN_ERR_ALIAS, "out", "out_b", 0},
                                   {lse_is_lse_b, ATTN_ERR_ALIAS, "lse", "lse_b", 0},
                                   {lse_in_out, ATTN_ERR_ALIAS, "out", "lse", 0},
                                   {scratch_in_lse, ATTN_ERR_ALIAS, "lse", "ctx.scratch", 0},
                                   {NULL, ATTN_OK, NULL, NULL, 0}};
    faults(begin_steps, matmul, CALL, "attn_matmul_ctx", products);
    views(begin_steps, matmul, CALL, "attn_matmul_ctx", steps_places);
    faults(begin_steps, matmul_add, CALL, "attn_matmul_add", products);
    faults(begin_steps, matmul_add, CALL, "attn_matmul_add", sums);
    views(begin_steps, matmul_add, CALL, "attn_matmul_add", steps_places);
    faults(begin_softmax, softmax, CALL, "attn_softmax_ctx", rows);
    views(begin_softmax, softmax, CALL, "attn_softmax_ctx", softmax_places);
    faults(begin_merge, merge, CALL, "attn_merge_ctx", merges);
    views(begin_merge, merge, CALL, "attn_merge_ctx", merge_places);
    check_names();
}

TEST(fault_of_sdpa)
{
    static const wrong list[] = {OF_FORMS,
                                 OF_OPTIONS,
                                 OF_OUTPUTS,
                                 {longer_to, ATTN_ERR_SHAPE, "out", NULL, 0},
                                 {three_heads, ATTN_ERR_SHAPE, "q", NULL, 0},
                                 {wider_k, ATTN_ERR_SHAPE, "k", NULL, 0},
                                 {longer_v, ATTN_ERR_SHAPE, "v", NULL, 0},
                                 {wide_k, ATTN_ERR_DTYPE, "k", NULL, 0},
                                 {large_kv_lens, ATTN_ERR_VALUE, "opts.kv_lens", NULL, 0},
                                 {to_is_q, ATTN_ERR_ALIAS, "out", "q", 0},
                                 {to_in_k, ATTN_ERR_ALIAS, "out", "k", 0},
                                 {v_in_to, ATTN_ERR_ALIAS, "out", "v", 0},
                                 {NULL, ATTN_OK, NULL, NULL, 0}};
    faults(begin_sdpa, sdpa, EXPLAIN, "attn_sdpa", list);
    views(begin_sdpa, sdpa, EXPLAIN, "attn_sdpa", sdpa_places);
    check_names();
}

TEST(fault_of_cache)
{
    static const wrong list[] = {OF_FORMS,
                                 OF_OPTIONS,
                                 OF_OUTPUTS,
                                 {null_cache, ATTN_ERR_NULL, "cache", NULL, 0},
                                 {empty_cache, ATTN_ERR_NULL, "cache", NULL, 0},
                                 {cache_of_integers, ATTN_ERR_NULL, "cache.k_scales", NULL, 0},
                                 {cache_of_integer_values, ATTN_ERR_NULL, "cache.v_scales", NULL, 0},
                                 {cache_of_doubles, ATTN_ERR_DTYPE, "cache.k", NULL, 0},
                                 {longer_to, ATTN_ERR_SHAPE, "out", NULL, 0},
                                 {three_heads, ATTN_ERR_SHAPE, "q", NULL, 0},
                                 {shorter_cache_v, ATTN_ERR_SHAPE, "cache.v", NULL, 0},
                                 {wider_cache_k, ATTN_ERR_SHAPE, "cache.k", NULL, 0},
                                 {more_items, ATTN_ERR_SHAPE, "cache.k", NULL, 0},
                                 {cache_too_full, ATTN_ERR_VALUE, "cache.lens", NULL, 0},
                                 {cache_before_its_first, ATTN_ERR_VALUE, "cache.first", NULL, 0},
                                 {odd_cache_lens, ATTN_ERR_VALUE, "cache.lens", NULL, 0},
                                 {odd_cache_first, ATTN_ERR_VALUE, "cache.first", NULL, 0},
                                 {lost_tokens, ATTN_ERR_VALUE, "cache.first", NULL, NOT_SCRATCH},
                                 {lens_beside_a_cache, ATTN_ERR_VALUE, "opts.kv_lens", NULL, 0},
                                 {texts_in_a_cache, ATTN_ERR_VALUE, "opts.sequences", NULL, 0},
                                 {to_is_q, ATTN_ERR_ALIAS, "out", "q", 0},
                                 {to_in_cache_k, ATTN_ERR_ALIAS, "out", "cache.k", 0},
                                 {cache_v_in_to, ATTN_ERR_ALIAS, "out", "cache.v", 0},
                                 {cache_lens_in_to, ATTN_ERR_ALIAS, "out", "cache.lens", 0},
                                 {cache_first_in_lse, ATTN_ERR_ALIAS, "opts.lse", "cache.first", 0},
                                 {NULL, ATTN_OK, NULL, NULL, 0}};
    faults(begin_cache, cache, EXPLAIN, "attn_kv_cache_attend", list);
    views(begin_cache, cache, EXPLAIN, "attn_kv_cache_attend", cache_places);
    check_names();
}

TEST(fault_of_pages)
{
    static const wrong list[] = {OF_FORMS,
                                 OF_OPTIONS,
                                 OF_OUTPUTS,
                                 {null_pages, ATTN_ERR_NULL, "pages", NULL, 0},
                                 {pages_of_integers, ATTN_ERR_NULL, "pages.k_scales", NULL, 0},
                                 {pages_of_integer_values, ATTN_ERR_NULL, "pages.v_scales", NULL, 0},
                                 {no_table, ATTN_ERR_NULL, "pages.table", NULL, 0},
                                 {no_pages_lens, ATTN_ERR_NULL, "pages.lens", NULL, 0},
                                 {longer_to, ATTN_ERR_SHAPE, "out", NULL, 0},
                                 {shorter_pages_v, ATTN_ERR_SHAPE, "pages.v", NULL, 0},
                                 {wider_pages_k, ATTN_ERR_SHAPE, "pages.k", NULL, 0},
                                 {more_paged_items, ATTN_ERR_SHAPE, "pages.batch", NULL, 0},
                                 {pages_too_full, ATTN_ERR_VALUE, "pages.lens", NULL, 0},
                                 {odd_pages_lens, ATTN_ERR_VALUE, "pages.lens", NULL, 0},
                                 {page_beyond, ATTN_ERR_VALUE, "pages.table", NULL, NOT_SCRATCH},
                                 {lens_beside_a_cache, ATTN_ERR_VALUE, "opts.kv_lens", NULL, 0},
                                 {texts_in_a_cache, ATTN_ERR_VALUE, "opts.sequences", NULL, 0},
                                 {to_in_pages_v, ATTN_ERR_ALIAS, "out", "pages.v", 0},
                                 {table_in_to, ATTN_ERR_ALIAS, "out", "pages.table", 0},
                                 {NULL, ATTN_OK, NULL, NULL, 0}};
    faults(begin_pages, pages, EXPLAIN, "attn_kv_pages_attend", list);
    views(begin_pages, pages, EXPLAIN, "attn_kv_pages_attend", pages_places);
    check_names();
}

TEST(fault_of_layer)
{
    static const wrong list[] = {OF_FORMS,
                                 OF_OPTIONS,
                                 OF_OUTPUTS,
                                 {null_weights, ATTN_ERR_NULL, "weights", NULL, 0},
                                 {no_heads, ATTN_ERR_SHAPE, "weights.heads", NULL, 0},
                                 {odd_heads, ATTN_ERR_SHAPE, "weights.kv_heads", NULL, 0},
                                 {longer_to, ATTN_ERR_SHAPE, "out", NULL, 0},
                                 {longer_v, ATTN_ERR_SHAPE, "v", NULL, 0},
                                 {wider_wq, ATTN_ERR_SHAPE, "weights.wq", NULL, 0},
                                 {wider_wk, ATTN_ERR_SHAPE, "weights.wk", NULL, 0},
                                 {wider_wv, ATTN_ERR_SHAPE, "weights.wv", NULL, 0},
                                 {wider_wo, ATTN_ERR_SHAPE, "weights.wo", NULL, 0},
                                 {odd_bq, ATTN_ERR_VALUE, "weights.bq", NULL, 0},
                                 {large_kv_lens, ATTN_ERR_VALUE, "opts.kv_lens", NULL, 0},
                                 {to_is_q, ATTN_ERR_ALIAS, "out", "q", 0},
                                 {to_in_wo, ATTN_ERR_ALIAS, "out", "weights.wo", 0},
                                 {bk_in_to, ATTN_ERR_ALIAS, "out", "weights.bk", 0},
                                 {NULL, ATTN_OK, NULL, NULL, 0}};
    faults(begin_layer, layer_of, EXPLAIN, "attn_mha", list);
    views(begin_layer, layer_of, EXPLAIN, "attn_mha", layer_places);
    check_names();
}

TEST(fault_of_backward)
{
    static const wrong list[] = {OF_FORMS,
                                 OF_OPTIONS,
                                 {null_grads, ATTN_ERR_NULL, "grads", NULL, 0},
                                 {score_mod_alone, ATTN_ERR_NULL, "grads.score_mod_grad", NULL, 0},
                                 {narrow_lse, ATTN_ERR_DTYPE, "lse", NULL, 0},
                                 {sum_in_half, ATTN_ERR_DTYPE, "grads.k", NULL, 0},
                                 {longer_grads_q, ATTN_ERR_SHAPE, "grads.q", NULL, 0},
                                 {longer_grads_k, ATTN_ERR_SHAPE, "grads.k", NULL, 0},
                                 {longer_grads_v, ATTN_ERR_SHAPE, "grads.v", NULL, 0},
                                 {longer_grads_bias, ATTN_ERR_SHAPE, "grads.bias", NULL, 0},
                                 {no_distances, ATTN_ERR_SHAPE, "grads.by_distance", NULL, 0},
                                 {sinks_of_none, ATTN_ERR_SHAPE, "grads.sinks", NULL, 0},
                                 {slopes_of_none, ATTN_ERR_SHAPE, "grads.alibi_slopes", NULL, 0},
                                 {longer_dlse, ATTN_ERR_SHAPE, "grads.dlse", NULL, 0},
                                 {longer_dout, ATTN_ERR_SHAPE, "dout", NULL, 0},
                                 {longer_to, ATTN_ERR_SHAPE, "out", NULL, 0},
                                 {longer_lse, ATTN_ERR_SHAPE, "lse", NULL, 0},
                                 {large_kv_lens, ATTN_ERR_VALUE, "opts.kv_lens", NULL, 0},
                                 {grads_q_in_q, ATTN_ERR_ALIAS, "grads.q", "q", 0},
                                 {grads_q_in_grads_k, ATTN_ERR_ALIAS, "grads.q", "grads.k", 0},
                                 {grads_sinks_in_sinks, ATTN_ERR_ALIAS, "grads.sinks", "opts.sinks", 0},
                                 {NULL, ATTN_OK, NULL, NULL, 0}};
    faults(begin_backward, backward, EXPLAIN, "attn_sdpa_backward", list);
    views(begin_backward, backward, EXPLAIN, "attn_sdpa_backward", backward_places);
    check_names();
}

TEST(fault_of_layer_backward)
{
    static const wrong list[] = {OF_FORMS,
                                 OF_OPTIONS,
                                 {null_layer_grads, ATTN_ERR_NULL, "grads", NULL, 0},
                                 {null_weights, ATTN_ERR_NULL, "weights", NULL, 0},
                                 {longer_layer_q, ATTN_ERR_SHAPE, "grads.q", NULL, 0},
                                 {wider_layer_wo, ATTN_ERR_SHAPE, "grads.wo", NULL, 0},
                                 {longer_dout, ATTN_ERR_SHAPE, "dout", NULL, 0},
                                 {no_heads, ATTN_ERR_SHAPE, "weights.heads", NULL, 0},
                                 {odd_layer_bo, ATTN_ERR_VALUE, "grads.bo", NULL, 0},
                                 {score_mod_alone, ATTN_ERR_VALUE, "opts.score_mod", NULL, 0},
                                 {layer_wq_in_wq, ATTN_ERR_ALIAS, "grads.wq", "weights.wq", 0},
                                 {layer_bo_in_bo, ATTN_ERR_ALIAS, "grads.bo", "weights.bo", 0},
                                 {layer_q_in_layer_wk, ATTN_ERR_ALIAS, "grads.q", "grads.wk", 0},
                                 {NULL, ATTN_OK, NULL, NULL, 0}};
    faults(begin_layer_backward, layer_backward, EXPLAIN, "attn_mha_backward", list);
    views(begin_layer_backward, layer_backward, EXPLAIN, "attn_mha_backward", layer_backward_places);
    check_names();
}

/* No memory to be had: what there is too little of is scratch. */
TEST(fault_of_memory)
{
    static const struct {
        const char *name;
        void (*right)(void);
        attn_status (*call)(form, const attn_ctx *);
    } functions[] = {{"attn_mha", begin_layer, layer_of},
                     {"attn_sdpa_backward", begin_backward, backward},
                     {"attn_mha_backward", begin_layer_backward, layer_backward}};
    for (size_t n = 0; n < sizeof functions / sizeof functions[0]; n++) {
        functions[n].right();
        test_memory_state.fail_all = 1;
        refused(functions[n].call, CALL, 0, functions[n].name, ATTN_ERR_NOMEM, "ctx.scratch", NULL);
        test_memory_state.fail_all = 0;
        test_release();
    }
    check_names();
}
