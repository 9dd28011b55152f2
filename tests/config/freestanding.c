/* WebAssembly without a libc: attention for JavaScript, whose Math is all the mathematics there is. Beside that the
   library needs memcpy, memmove and memset, which a compiler calls in any case (clang -mbulk-memory: instructions).
   freestanding.mjs calls what is exported here. */
#define IMPORTED(name) __attribute__((import_module("Math"), import_name(name)))
#define EXPORTED(name) __attribute__((export_name(name)))

IMPORTED("sqrt") double math_sqrt(double x);
IMPORTED("exp") double math_exp(double x);
IMPORTED("log") double math_log(double x);
IMPORTED("tanh") double math_tanh(double x);
IMPORTED("sin") double math_sin(double x);
IMPORTED("cos") double math_cos(double x);
IMPORTED("pow") double math_pow(double x, double y);

#define ATTN_NO_STDLIB
#define ATTN_SQRT math_sqrt
#define ATTN_EXP math_exp
#define ATTN_LOG math_log
#define ATTN_TANH math_tanh
#define ATTN_SIN math_sin
#define ATTN_COS math_cos
#define ATTN_POW math_pow
#define ATTN_IMPLEMENTATION
#include "attn.h"

#ifndef __wasm_bulk_memory__

void *memmove(void *to, const void *from, size_t size)
{
    char *t = (char *)to;
    const char *f = (const char *)from;
    size_t i;
    if (t < f)
        for (i = 0; i < size; i++)
            t[i] = f[i];
    else
        for (i = size; i > 0; i--)
            t[i - 1] = f[i - 1];
    return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
    return memmove(to, from, size);
}

void *memset(void *to, int byte, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++)
        ((char *)to)[i] = (char)byte;
    return to;
}

#endif

/* Where JavaScript puts its numbers, and gets them back. */
static double memory[1 << 18];

EXPORTED("memory_at") void *memory_at(void)
{
    return memory;
}

EXPORTED("memory_size") int memory_size(void)
{
    return sizeof memory;
}

EXPORTED("isa_available") int isa_available(int isa)
{
    return attn_isa_available((attn_isa)isa);
}

/* Attention over packed (heads, L, D), of which keys and values have half as many heads. If it is not to `run`, only
   the size of its scratch: *scratch_size. Returns the status. */
EXPORTED("attend")
attn_status attend(int run, int isa, int dtype, int causal, size_t heads, size_t Lq, size_t Lk, size_t D, void *out,
                   void *q, void *k, void *v, void *scratch, size_t *scratch_size)
{
    attn_dtype type = (attn_dtype)dtype;
    attn_tensor to = attn_bhld(out, type, 1, heads, Lq, D), queries = attn_bhld(q, type, 1, heads, Lq, D);
    attn_tensor keys = attn_bhld(k, type, 1, heads / 2, Lk, D), values = attn_bhld(v, type, 1, heads / 2, Lk, D);
    attn_opts opts = {0};
    attn_ctx ctx = {0};
    attn_dry_run dry = {0};
    attn_status status;
    opts.causal = causal ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
    ctx.isa = (attn_isa)isa;
    ctx.dry_run = run ? NULL : &dry;
    ctx.scratch = run ? scratch : NULL;
    ctx.scratch_size = run ? *scratch_size : 0;
    status = attn_sdpa(to, queries, keys, values, &opts, &ctx);
    if (!run && status == ATTN_OK)
        *scratch_size = dry.scratch;
    return status;
}

/* Row p: sin and cos of p times powers of 10000. */
EXPORTED("sinusoid") attn_status sinusoid(double *out, size_t rows, size_t cols)
{
    return attn_sinusoid(attn_mat_of(out, ATTN_F64, rows, cols), 0);
}
