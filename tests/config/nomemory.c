/* A program with the implementation of a library that has no malloc: what the stack cannot hold is refused, and the
   explanation says so with the same status. */
#define ATTN_NO_STDLIB
#define ATTN_IMPLEMENTATION
#include "attn.h"

#include <string.h>

enum { L = 300, D = 64 };

int main(void)
{
    static float in[L * D], out[L * D], little[2];
    static double scratch[1 << 17];
    char text[256];
    size_t bytes = 0;
    attn_ctx ctx;
    attn_tensor q = attn_bhld(in, ATTN_F32, 1, 1, L, D), o = attn_bhld(out, ATTN_F32, 1, 1, L, D);
    attn_tensor small = attn_bhld(in, ATTN_F32, 1, 1, 1, 2), small_out = attn_bhld(little, ATTN_F32, 1, 1, 1, 2);

    memset(&ctx, 0, sizeof ctx);
    if (attn_sdpa(o, q, q, q, NULL, NULL) != ATTN_ERR_NOMEM)
        return 1;
    if (attn_sdpa_explain(text, sizeof text, o, q, q, q, NULL, NULL) != ATTN_ERR_NOMEM)
        return 2;
    if (!strstr(text, "ctx.scratch"))
        return 3;
    if (attn_sdpa_scratch(&bytes, o, q, q, q, NULL, NULL) != ATTN_OK || bytes <= 16384 || bytes > sizeof scratch)
        return 4;
    ctx.scratch = scratch;
    ctx.scratch_size = bytes;
    if (attn_sdpa_explain(text, sizeof text, o, q, q, q, NULL, &ctx) != ATTN_OK ||
        attn_sdpa(o, q, q, q, NULL, &ctx) != ATTN_OK)
        return 5;
    if (attn_sdpa_scratch(&bytes, small_out, small, small, small, NULL, NULL) != ATTN_OK || bytes > 16384)
        return 6;
    if (attn_sdpa_explain(text, sizeof text, small_out, small, small, small, NULL, NULL) != ATTN_OK ||
        attn_sdpa(small_out, small, small, small, NULL, NULL) != ATTN_OK)
        return 7;
    return 0;
}
