/* An allocator of the program's own: everything it gave comes back, and it was asked. */
#include <stddef.h>
#include <stdlib.h>

static int calls, live;

static void *counting_malloc(size_t size)
{
    calls++;
    live++;
    return malloc(size);
}

static void counting_free(void *p)
{
    if (p)
        live--;
    free(p);
}

#define ATTN_MALLOC(size) counting_malloc(size)
#define ATTN_FREE(p) counting_free(p)
#define ATTN_IMPLEMENTATION
#include "attn.h"
#include "answer.h"

int main(void)
{
    attn_mat m = attn_mat_new(ATTN_F32, 5, 7);
    int right = answer_is_right(NULL) && calls > 0 && live == 1;
    attn_mat_free(&m);
    return !(right && live == 0);
}
