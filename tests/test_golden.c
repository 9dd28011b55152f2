/* attn_sdpa against PyTorch and ONNX Runtime: what they compute for the same inputs, see golden/make_sdpa.py. */
#include "golden.h"

typedef struct golden_case {
    const char *name;
    uint32_t seed;
    size_t B, H, Hkv, Lq, Lk, D, Dv;
    golden_pattern mask, bias;
    attn_opts opts; /* but for its views */
    golden_result out, lse, weights, scores;
} golden_case;

/* ---- score modifiers; user: the compute type ---- */

static void mod_relative(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    (void)b, (void)h;
    for (size_t n = 0; n < count; n++) {
        double add = ((double)i - (double)(j0 + n)) / 16;
        if (*(attn_dtype *)user == ATTN_F64)
            ((double *)scores)[n] += add;
        else
            ((float *)scores)[n] += (float)add;
    }
}

static void mod_heads(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    double times = (double)(h + 1 + b) / 4;
    (void)i, (void)j0;
    for (size_t n = 0; n < count; n++)
        if (*(attn_dtype *)user == ATTN_F64)
            ((double *)scores)[n] *= times;
        else
            ((float *)scores)[n] *= (float)times;
}

#include "golden/sdpa.h"

/* ---- the comparison ---- */

static attn_tensor wanted(const golden_result *result, attn_dtype dtype, const golden_case *c, size_t cols, int layout)
{
    attn_tensor absent = {0};
    return result->count ? test_tensor(dtype, c->B, c->H, c->Lq, cols, layout) : absent;
}

static void check_case(const golden_case *c, attn_dtype dtype, int layout)
{
    attn_dtype compute = dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
    attn_tensor q = golden_filled(c->seed, GOLDEN_Q, test_tensor(dtype, c->B, c->H, c->Lq, c->D, layout)),
                k = golden_filled(c->seed, GOLDEN_K, test_tensor(dtype, c->B, c->Hkv, c->Lk, c->D, layout)),
                v = golden_filled(c->seed, GOLDEN_V, test_tensor(dtype, c->B, c->Hkv, c->Lk, c->Dv, layout)),
                out = test_tensor(dtype, c->B, c->H, c->Lq, c->Dv, layout);
    attn_opts opts = c->opts;
    opts.mask = golden_patterned(c->seed, &c->mask, ATTN_BOOL, layout);
    opts.bias = golden_patterned(c->seed, &c->bias, dtype, layout);
    opts.lse = wanted(&c->lse, compute, c, 1, layout);
    opts.weights = wanted(&c->weights, compute, c, c->Lk, layout);
    opts.scores = wanted(&c->scores, compute, c, c->Lk, layout);
    opts.score_mod_user = &compute;
    FOR_EACH_ISA_OF (isa, dtype) {
        attn_ctx ctx = test_ctx(isa);
        test_case("%s, %s, layout %d, %s", c->name, test_dtype_name(dtype), layout, attn_isa_string(isa));
        test_fill_tensor(out, 99);
        test_fill_tensor(opts.lse, 99);
        test_fill_tensor(opts.weights, 99);
        test_fill_tensor(opts.scores, 99);
        if (CHECK_STATUS(attn_sdpa(out, q, k, v, &opts, &ctx), ATTN_OK)) {
            golden_check_pairs(c->seed, &c->out, out, compute, sdpa_pairs_error(isa, q, k, v, &opts));
            golden_check(c->seed, &c->lse, opts.lse, compute);
            golden_check(c->seed, &c->weights, opts.weights, compute);
            golden_check(c->seed, &c->scores, opts.scores, compute);
        }
    }
    test_release();
}

/* Every case in f32, and in f64 where the peer's is; a small one in one of the 16-bit types too. */
static void check_cases(const golden_case *cases, size_t count, int f64)
{
    for (size_t n = 0; n < count; n++) {
        const golden_case *c = &cases[n];
        int large = c->B * c->H * c->Lq * c->Lk > 100000, layout = n % 2 ? T_BLHD : T_BHLD;
        if (test_quick && (large || n % 5 != 0))
            continue;
        check_case(c, ATTN_F32, layout);
        if (f64)
            check_case(c, test_wide, layout);
        if (!large)
            check_case(c, n % 4 < 2 ? ATTN_F16 : ATTN_BF16, (int)(n % T_OUT_LAYOUTS));
    }
}

#define CHECK_CASES(cases, f64) check_cases(cases, sizeof(cases) / sizeof *(cases), f64)

TEST(golden_pytorch)
{
    CHECK_CASES(golden_pytorch_f64, 1);
    CHECK_CASES(golden_pytorch_f32, 0);
}

TEST(golden_flex)
{
    CHECK_CASES(golden_flex_attention_f64, 1);
}

TEST(golden_onnx)
{
    CHECK_CASES(golden_attention_f32, 0);
}

TEST(golden_microsoft)
{
    CHECK_CASES(golden_microsoft_f32, 0);
}
