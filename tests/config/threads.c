/* A program with the library's pool of threads; it links with implementation.c. ATTN_THREADS is defined for both. */
#include "attn.h"
#include "answer.h"

int main(void)
{
    attn_parallel pool;
    attn_ctx ctx;
    int right;

    memset(&ctx, 0, sizeof ctx);
    if (attn_pool_new(&pool, 3) != ATTN_OK)
        return 1;
    ctx.parallel = pool;
    right = pool.width == 3 && answer_is_right(&ctx);
    attn_pool_free(&pool);
    return !right;
}
