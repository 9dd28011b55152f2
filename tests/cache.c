/* Questions to caches and pages, and memory that they need. */
#include "cache.h"

void kv_begin(kv_question *a, attn_tensor q, attn_isa isa)
{
    memset(a, 0, sizeof *a);
    a->q = q;
    a->ctx.isa = isa;
    a->opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    a->out = a->lse = a->weights = a->scores = ATTN_F32;
}

kv_answer kv_blank(const kv_question *a, size_t Lk, size_t Dv)
{
    kv_answer r;
    size_t B = a->q.batch, H = a->q.heads, Lq = a->q.len;
    memset(&r, 0, sizeof r);
    r.out = test_tensor(a->out, B, H, Lq, Dv, a->layout);
    if (a->wants_lse)
        r.lse = test_tensor(a->lse, B, H, Lq, 1, a->layout);
    if (a->wants_weights)
        r.weights = test_tensor(a->weights, B, H, Lq, Lk, a->layout);
    if (a->wants_scores)
        r.scores = test_tensor(a->scores, B, H, Lq, Lk, a->layout);
    return r;
}

attn_opts kv_with_outputs(attn_opts opts, const kv_answer *r)
{
    opts.lse = r->lse;
    opts.weights = r->weights;
    opts.scores = r->scores;
    return opts;
}

int kv_wrote_only(const kv_answer *r)
{
    attn_tensor outs[4];
    outs[0] = r->out, outs[1] = r->lse, outs[2] = r->weights, outs[3] = r->scores;
    return test_wrote_only_tensors(outs, 4);
}

/* ---- random parts ---- */

attn_dtype kv_any_float(void)
{
    const attn_dtype floats[] = {ATTN_F32, test_wide, ATTN_F16, ATTN_BF16};
    return floats[test_below(4)];
}

attn_dtype kv_any_narrow(void)
{
    static const attn_dtype narrow[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    return narrow[test_below(3)];
}

attn_isa kv_any_isa(void)
{
    attn_isa isa;
    do
        isa = (attn_isa)test_below(TEST_LAST_ISA + 1);
    while (!attn_isa_available(isa));
    return isa;
}

attn_tensor kv_any_broadcast(attn_dtype dtype, size_t B, size_t H, size_t Lq, size_t Lk)
{
    return test_random_tensor(dtype, test_maybe() ? B : 1, test_maybe() ? H : 1, test_maybe() ? Lq : 1,
                              test_below(4) ? Lk : 1, (int)test_below(T_OUT_LAYOUTS));
}

void kv_add_hiding_bias(kv_question *a, size_t Lk)
{
    attn_tensor t = a->opts.bias = kv_any_broadcast(kv_any_float(), a->q.batch, a->q.heads, a->q.len, Lk);
    for (size_t n = 0; n < t.batch * t.heads * t.len; n++)
        for (size_t j = 0; j < t.dim; j++)
            if (test_below(9) == 0)
                test_tensor_set(t, n / t.len / t.heads, n / t.len % t.heads, n % t.len, j, -HUGE_VAL);
}

void kv_modify(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    float *x = scores;
    (void)user;
    for (size_t n = 0; n < count; n++)
        x[n] += 0.125f * (float)((b * 7 + h * 3 + i * 5 + j0 + n) % 11);
}

/* ---- members ---- */

size_t kv_longest(const size_t *lens, size_t B)
{
    size_t most = 0;
    for (size_t b = 0; b < B; b++)
        most = lens[b] > most ? lens[b] : most;
    return most;
}

int kv_same_view(attn_tensor a, attn_tensor b)
{
    return a.data == b.data && a.dtype == b.dtype && a.batch == b.batch && a.heads == b.heads && a.len == b.len &&
           a.dim == b.dim && a.batch_stride == b.batch_stride && a.head_stride == b.head_stride &&
           a.len_stride == b.len_stride && a.dim_stride == b.dim_stride;
}

void *kv_aligned(attn_tensor t)
{
    return (void *)(((uintptr_t)t.data + 7) / 8 * 8);
}

float *kv_scale_at(const attn_kv_cache *cache, int values, size_t b, size_t h, size_t slot)
{
    return (values ? cache->v_scales : cache->k_scales) + (b * cache->k.heads + h) * cache->k.len + slot;
}

int kv_is_listed(const attn_blocks *l, size_t H, size_t Hkv, size_t Lq, size_t b, size_t h, size_t i, size_t j)
{
    size_t head = l->heads == 1 ? 0 : l->heads == H ? h : h / (H / Hkv), list;
    if (l->q_len == 0)
        return 1;
    list = ((l->batch == 1 ? 0 : b) * l->heads + head) * ((Lq + l->q_len - 1) / l->q_len) + i / l->q_len;
    for (uint32_t n = 0; n < l->count[list]; n++)
        if (l->index[list * l->width + n] == j / l->kv_len)
            return 1;
    return 0;
}

/* ---- memory ---- */

static attn_status attend(const kv_call *c, const attn_ctx *ctx)
{
    return c->pages ? attn_kv_pages_attend(c->out, c->q, c->pages, c->opts, ctx)
                    : attn_kv_cache_attend(c->out, c->q, c->cache, c->opts, ctx);
}

size_t kv_check_scratch(const kv_call *c, attn_isa isa, const size_t *widths, size_t *first, size_t count, int full,
                        int odd)
{
    attn_ctx plain = test_ctx(isa);
    size_t most = 0;
    attn_tensor want;
    CHECK_STATUS(attend(c, &plain), ATTN_OK);
    want = test_tensor_like(c->out, T_BHLD);
    for (size_t w = 0; w < count; w++)
        for (int threads = 0; threads < 2; threads++) {
            test_runner runner;
            attn_ctx ctx = plain;
            attn_dry_run dry = {0};
            size_t bytes;
            long calls;
            ctx.parallel = threads ? test_threads(&runner, widths[w]) : test_serial_backwards(&runner, widths[w]);
            CHECK_STATUS(attend(c, test_dry(&ctx, &dry)), ATTN_OK);
            bytes = dry.scratch;
            first[w] = first[w] ? first[w] : bytes;
            CHECK(bytes == first[w]);
            test_scratch(&ctx, bytes, odd);
            test_fill_tensor(c->out, 7);
            calls = test_memory_state.calls;
            CHECK_STATUS(attend(c, &ctx), ATTN_OK);
            CHECK(test_memory_state.calls == calls && runner.most <= widths[w]);
            most = runner.most > most ? runner.most : most;
            CHECK(test_same_tensor_bits(c->out, want));
            CHECK(test_scratch_kept(&ctx));
            ctx.scratch = bytes ? test_block(bytes) : NULL;
            ctx.scratch_size = full ? bytes - 1 : 1;
            test_fill_tensor(c->out, 7);
            CHECK_STATUS(attend(c, &ctx), ATTN_ERR_NOMEM);
            CHECK(test_tensor_get(c->out, 0, c->out.heads - 1, 0, c->out.dim - 1) == 7);
        }
    return most;
}

void kv_check_no_memory(const kv_call *c)
{
    attn_status status = ATTN_ERR_NOMEM;
    long live = test_memory_state.live, failed = 0;
    for (long at = 1; status != ATTN_OK && at < 10; at++) {
        test_freeze();
        test_memory_state.fail_at = at;
        status = attend(c, NULL);
        if (status != ATTN_OK) {
            CHECK(status == ATTN_ERR_NOMEM && test_wrote_nothing());
            failed++;
        }
        CHECK(test_memory_state.live == live);
    }
    test_memory_state.fail_at = 0;
    CHECK_STATUS(status, ATTN_OK);
    CHECK(failed > 0);
}
