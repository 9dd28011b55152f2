/* A program that calls nothing (PROGRAM 0), attn_sdpa on floats (1), and a cache of I8 besides (2), to see how large
   they are. Sizes are unknown to the compiler, as they are where a program reads them from a model. */
#if PROGRAM
#define ATTN_IMPLEMENTATION
#define ATTN_STATIC
#include "attn.h"

volatile size_t H, L, D;
float q[1], k[1], v[1], out[1];
char scratch[1];
#endif
#if PROGRAM == 2
attn_kv_cache cache;
char storage[1];
#endif

int main(void)
{
    int status = 0;
#if PROGRAM
    attn_opts opts = {.causal = ATTN_CAUSAL_LOWER_RIGHT};
    attn_ctx ctx = {.scratch = scratch, .scratch_size = L};
    attn_tensor tk = attn_bhld(k, ATTN_F32, 1, H, L, D), tv = attn_bhld(v, ATTN_F32, 1, H, L, D);
    attn_tensor tq = attn_bhld(q, ATTN_F32, 1, H, L, D), to = attn_bhld(out, ATTN_F32, 1, H, L, D);
    status |= attn_sdpa(to, tq, tk, tv, &opts, &ctx);
#endif
#if PROGRAM == 2
    status |= attn_kv_cache_init(&cache, 1, H, L, D, D, ATTN_I8, 0, storage, L);
    status |= attn_kv_cache_append(&cache, tk, tv, NULL);
    tq = attn_bhld(q, ATTN_F32, 1, H, 1, D), to = attn_bhld(out, ATTN_F32, 1, H, 1, D);
    status |= attn_kv_cache_attend(to, tq, &cache, &opts, &ctx);
#endif
    return status;
}
