/* A program with the implementation of a library that has no malloc: what the stack cannot hold is refused; a dry run
   tells how much that is. A cache and a layer live in memory of the program's. */
#define ATTN_NO_STDLIB
#define ATTN_IMPLEMENTATION
#include "attn.h"

#include <string.h>

enum { L = 300, D = 64 };

static double scratch[1 << 17];
static attn_dry_run dry;

/* A cache in storage of the program's, attended to in its scratch; a byte less of either is too little. */
static int cache_is_right(attn_tensor out, attn_tensor q)
{
    static double storage[1 << 16];
    attn_kv_cache cache;
    attn_ctx ctx;
    size_t bytes = 0;

    memset(&ctx, 0, sizeof ctx);
    if (attn_kv_cache_init(&cache, 1, 1, L, D, D, ATTN_F32, 0, NULL, 0) != ATTN_ERR_NOMEM)
        return 0;
    if (attn_kv_cache_size(&bytes, 1, 1, L, D, D, ATTN_F32, 0) != ATTN_OK || bytes > sizeof storage)
        return 0;
    if (attn_kv_cache_init(&cache, 1, 1, L, D, D, ATTN_F32, 0, storage, bytes - 1) != ATTN_ERR_NOMEM)
        return 0;
    if (attn_kv_cache_init(&cache, 1, 1, L, D, D, ATTN_F32, 0, storage, bytes) != ATTN_OK)
        return 0;
    if (attn_kv_cache_append(&cache, q, q, NULL) != ATTN_OK)
        return 0;
    if (attn_kv_cache_attend(out, q, &cache, NULL, NULL) != ATTN_ERR_NOMEM)
        return 0;
    ctx.dry_run = &dry;
    if (attn_kv_cache_attend(out, q, &cache, NULL, &ctx) != ATTN_OK || dry.scratch > sizeof scratch)
        return 0;
    ctx.dry_run = NULL;
    ctx.scratch = scratch;
    ctx.scratch_size = dry.scratch - 1;
    if (attn_kv_cache_attend(out, q, &cache, NULL, &ctx) != ATTN_ERR_NOMEM)
        return 0;
    ctx.scratch_size = dry.scratch;
    if (attn_kv_cache_attend(out, q, &cache, NULL, &ctx) != ATTN_OK)
        return 0;
    attn_kv_cache_free(&cache);
    return cache.lens == NULL;
}

/* A layer in scratch of the program's. */
static int layer_is_right(attn_tensor out, attn_tensor x)
{
    static float projection[D * D];
    attn_mha_weights layer;
    attn_ctx ctx;

    memset(&ctx, 0, sizeof ctx);
    memset(&layer, 0, sizeof layer);
    layer.wq = layer.wk = layer.wv = layer.wo = attn_mat_of(projection, ATTN_F32, D, D);
    layer.heads = 2;
    if (attn_mha(out, x, x, x, &layer, NULL, NULL) != ATTN_ERR_NOMEM)
        return 0;
    ctx.dry_run = &dry;
    if (attn_mha(out, x, x, x, &layer, NULL, &ctx) != ATTN_OK || dry.scratch > sizeof scratch)
        return 0;
    ctx.dry_run = NULL;
    ctx.scratch = scratch;
    ctx.scratch_size = dry.scratch - 1;
    if (attn_mha(out, x, x, x, &layer, NULL, &ctx) != ATTN_ERR_NOMEM)
        return 0;
    ctx.scratch_size = dry.scratch;
    return attn_mha(out, x, x, x, &layer, NULL, &ctx) == ATTN_OK;
}

int main(void)
{
    static float in[L * D], out[L * D], little[2];
    char text[256];
    attn_fault fault;
    attn_ctx ctx, asks;
    attn_tensor q = attn_bhld(in, ATTN_F32, 1, 1, L, D), o = attn_bhld(out, ATTN_F32, 1, 1, L, D);
    attn_tensor small = attn_bhld(in, ATTN_F32, 1, 1, 1, 2), small_out = attn_bhld(little, ATTN_F32, 1, 1, 1, 2);

    memset(&ctx, 0, sizeof ctx);
    asks = ctx;
    asks.dry_run = &dry;
    ctx.fault = &fault;
    if (attn_sdpa(o, q, q, q, NULL, &ctx) != ATTN_ERR_NOMEM)
        return 1;
    if (strcmp(fault.argument, "ctx.scratch") != 0)
        return 2;
    if (attn_sdpa(o, q, q, q, NULL, &asks) != ATTN_OK || dry.scratch <= 16384 || dry.scratch > sizeof scratch)
        return 3;
    ctx.scratch = scratch;
    ctx.scratch_size = dry.scratch;
    if (attn_sdpa(o, q, q, q, NULL, &ctx) != ATTN_OK)
        return 4;
    dry.text = text;
    dry.text_size = sizeof text;
    if (attn_sdpa(small_out, small, small, small, NULL, &asks) != ATTN_OK || dry.scratch > 16384)
        return 5;
    if (!strstr(text, "scratch: "))
        return 6;
    if (attn_sdpa(small_out, small, small, small, NULL, NULL) != ATTN_OK)
        return 7;
    if (!cache_is_right(o, q))
        return 8;
    if (!layer_is_right(o, q))
        return 9;
    return 0;
}
