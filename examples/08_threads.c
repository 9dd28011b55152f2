/* Threads and memory: the library starts no thread and keeps no memory unless it is asked to. The same attention on
   the library's own pool, in a loop of the program's, and in scratch memory of the program's: always the same bits.

       cc -O2 08_threads.c -lm -lpthread && ./a.out
       cc -O2 -fopenmp 08_threads.c -lm -lpthread && ./a.out       on_openmp then runs its tasks side by side */
#define ATTN_THREADS /* adds attn_pool_new and attn_pool_free */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"
#ifdef _OPENMP
#include <omp.h>
#endif

static const char about[] = "Threads and memory: the same attention on the library's threads, in a loop of\n"
                            "the program's, and in memory of the program's.";

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, LENGTH = 150, SIZE = 32 };

static float queries[BATCH * HEADS][LENGTH * SIZE];
static float keys[BATCH * KV_HEADS][LENGTH * SIZE], values[BATCH * KV_HEADS][LENGTH * SIZE];
static float alone[BATCH * HEADS][LENGTH * SIZE], again[BATCH * HEADS][LENGTH * SIZE];

/* For ctx.parallel.run any function will do that calls every task once and returns when all are done. Here: a loop.
   OpenMP, where it is switched on, shares it out, one task at a time to a thread that is free, and waits at its end for
   the last. Tasks do not wait for each other, so that fewer threads than tasks are fine, one too: without OpenMP, or
   where the program is in a parallel region already. A pool of yours would take the tasks here instead. */
static void on_openmp(void *user, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)user;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1)
#endif
    for (ptrdiff_t index = 0; index < (ptrdiff_t)count; index++)
        task(arg, (size_t)index);
}

/* Another: the last task first. `user` is what ctx.parallel.user says: here where to note how many tasks there were. */
static void backwards(void *user, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    size_t *most = (size_t *)user;
    if (*most < count)
        *most = count;
    while (count-- > 0)
        task(arg, count);
}

static void compare(const char *who)
{
    printf("%s: %s\n", who, memcmp(alone, again, sizeof alone) == 0 ? "the same bits" : "OTHER BITS");
    memset(again, 0, sizeof again);
}

int main(int argc, char **argv)
{
    attn_tensor q = attn_bhld(queries, ATTN_F32, BATCH, HEADS, LENGTH, SIZE);
    attn_tensor k = attn_bhld(keys, ATTN_F32, BATCH, KV_HEADS, LENGTH, SIZE);
    attn_tensor v = attn_bhld(values, ATTN_F32, BATCH, KV_HEADS, LENGTH, SIZE);
    attn_tensor out = attn_bhld(again, ATTN_F32, BATCH, HEADS, LENGTH, SIZE);
    attn_ctx ctx = show_ctx; /* all zero, but for where errors name their argument */
    attn_opts opts = {0};
    attn_status status;
    size_t most = 0;
    char text[2000];
    attn_dry_run dry = {0, NULL, 0};

    show_directory(argc, argv, "", about);
    opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    show_random(attn_mat_of(queries, ATTN_F32, BATCH * HEADS, LENGTH * SIZE), 1, -1, 1);
    show_random(attn_mat_of(keys, ATTN_F32, BATCH * KV_HEADS, LENGTH * SIZE), 2, -1, 1);
    show_random(attn_mat_of(values, ATTN_F32, BATCH * KV_HEADS, LENGTH * SIZE), 3, -1, 1);

    show_title("1. On this thread alone");
    SHOW_TRY(attn_sdpa(attn_bhld(alone, ATTN_F32, BATCH, HEADS, LENGTH, SIZE), q, k, v, &opts, &show_ctx));
    printf("%d items, %d heads on %d of keys and values,\n%d queries and keys of %d numbers, causal\n", BATCH, HEADS,
           KV_HEADS, LENGTH, SIZE);

    show_title("2. On the library's pool of threads, this one included");
    for (size_t threads = 1; threads <= 4; threads *= 2) {
        char who[32];
        SHOW_TRY(attn_pool_new(&ctx.parallel, threads)); /* once in a program, not for each call */
        SHOW_TRY(attn_sdpa(out, q, k, v, &opts, &ctx));
        snprintf(who, sizeof who, "%d of them", (int)threads);
        compare(who);
        attn_pool_free(&ctx.parallel);
    }

    show_title("3. On threads of the program's own");
    ctx = show_ctx;
    ctx.parallel.run = on_openmp;
    ctx.parallel.width = 4; /* no more tasks than this in progress at once */
    SHOW_TRY(attn_sdpa(out, q, k, v, &opts, &ctx));
    compare("a loop over 4 tasks, which OpenMP may share out");
    ctx.parallel.run = backwards;
    ctx.parallel.user = &most;
    ctx.parallel.width = 3;
    SHOW_TRY(attn_sdpa(out, q, k, v, &opts, &ctx));
    compare("one after another, the last task first");
    printf("tasks at most: %d\n", (int)most);

    show_title("4. In scratch memory of the program's own: nothing is allocated");
    ctx.dry_run = &dry; /* the call is checked and planned, and tells how much it needs */
    SHOW_TRY(attn_sdpa(out, q, k, v, &opts, &ctx));
    ctx.dry_run = NULL; /* else the next one would compute nothing either */
    ctx.scratch = malloc(dry.scratch);
    ctx.scratch_size = dry.scratch;
    SHOW_TRY(attn_sdpa(out, q, k, v, &opts, &ctx));
    compare("as much as a dry run tells");
    ctx.scratch_size = 1;
    status = attn_sdpa(out, q, k, v, &opts, &ctx);
    printf("a single byte: %s: %s; the output is %s\n", show_fault.argument, attn_status_string(status),
           again[0][0] == 0 && again[BATCH * HEADS - 1][LENGTH * SIZE - 1] == 0 ? "as it was" : "WRITTEN");
    free(ctx.scratch);

    show_title("5. How it runs on this machine, by a dry run: for one thread and for four");
#ifdef _OPENMP
    printf("OpenMP shares the loop out to %d threads\n", omp_get_max_threads());
#endif
    dry.text = text;
    dry.text_size = sizeof text;
    ctx = show_ctx;
    ctx.dry_run = &dry;
    SHOW_TRY(attn_sdpa(out, q, k, v, &opts, &ctx));
    fputs(text, stdout);
    ctx.parallel.run = on_openmp;
    ctx.parallel.width = 4;
    SHOW_TRY(attn_sdpa(out, q, k, v, &opts, &ctx));
    printf("\n%s", text);
    return show_done();
}
