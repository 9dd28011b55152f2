/* attn_pool_new: the pool of threads behind ATTN_THREADS. Every task runs once, tasks run side by side, runs within
   runs, runs from several threads at once, that bits do not change, and what happens without memory or threads. */
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#else
#define _POSIX_C_SOURCE 200112L
#define HAVE_PTHREADS 1
#include <pthread.h>
#include <unistd.h>
#endif

#include "sdpa.h"

#include <errno.h>
#include <time.h>

enum { MOST_TASKS = 8 };
static const size_t sizes[] = {1, 2, 3, 5};

static int is_zero(attn_parallel p)
{
    return !p.run && !p.user && !p.width;
}

/* ---- plain runs: each task adds to a number of its own ---- */

typedef struct tally {
    int times[MOST_TASKS];
    double work[MOST_TASKS];
} tally;

static void count_task(void *arg, size_t index)
{
    tally *t = arg;
    double x = 1;
    for (size_t n = 0; n < 50 * index; n++) /* tasks of different lengths */
        x = x * 0.5 + 1;
    t->work[index] = x;
    t->times[index]++;
}

TEST(pool_runs)
{
    for (size_t s = 0; s < 4; s++) {
        attn_parallel pool;
        int rounds = test_quick ? 50 : 2000;
        memset(&pool, 0x77, sizeof pool);
        test_case("%zu threads", sizes[s]);
        if (!CHECK_STATUS(attn_pool_new(&pool, sizes[s]), ATTN_OK))
            continue;
        CHECK(pool.run != NULL && pool.width == sizes[s]);
        for (size_t count = 0; count <= sizes[s]; count++) {
            tally t = {{0}, {0}};
            for (int n = 0; n < rounds; n++)
                pool.run(pool.user, count, count_task, &t);
            test_case("%zu threads, %zu tasks", sizes[s], count);
            for (size_t i = 0; i < MOST_TASKS; i++)
                CHECK(t.times[i] == (i < count ? rounds : 0));
        }
        attn_pool_free(&pool);
        CHECK(is_zero(pool));
    }
}

TEST(pool_new_and_free)
{
    attn_parallel pool = {NULL, NULL, 0}, other;
    static const attn_parallel untouched = {NULL, NULL, 77};
    attn_pool_free(NULL);
    attn_pool_free(&pool);
    CHECK(is_zero(pool));
    test_case("no place for it");
    CHECK_STATUS(attn_pool_new(NULL, 2), ATTN_ERR_NULL);
    test_case("one thread for each processor");
    CHECK_STATUS(attn_pool_new(&pool, 0), ATTN_OK);
    CHECK(pool.width > 0);
    attn_pool_free(&pool);
    attn_pool_free(&pool); /* a second time */
    CHECK(is_zero(pool));
    test_case("two pools");
    CHECK_STATUS(attn_pool_new(&pool, 2), ATTN_OK);
    CHECK_STATUS(attn_pool_new(&other, 3), ATTN_OK);
    for (int n = 0; n < 100; n++) {
        tally t = {{0}, {0}};
        pool.run(pool.user, 2, count_task, &t);
        other.run(other.user, 3, count_task, &t);
        CHECK(t.times[0] == 2 && t.times[1] == 2 && t.times[2] == 1);
    }
    attn_pool_free(&pool);
    attn_pool_free(&other);
    CHECK(is_zero(pool) && is_zero(other));
    for (int n = 0; n < (test_quick ? 5 : 100); n++) { /* a life without a run */
        CHECK_STATUS(attn_pool_new(&pool, 3), ATTN_OK);
        attn_pool_free(&pool);
    }
    test_case("no memory");
    errno = 7;
    for (size_t s = 0; s < 4; s++) {
        pool = untouched;
        test_memory_state.fail_all = 1;
        CHECK_STATUS(attn_pool_new(&pool, sizes[s]), ATTN_ERR_NOMEM);
        test_memory_state.fail_all = 0;
        CHECK(!pool.run && !pool.user && pool.width == 77);
    }
    test_case("a failure leaves the struct alone");
    for (int n = 0; n < 2; n++) {
        attn_parallel before;
        memset(&before, 0x77, sizeof before);
        pool = before;
        test_memory_state.fail_all = 1;
        CHECK_STATUS(attn_pool_new(&pool, n ? 3 : SIZE_MAX), n ? ATTN_ERR_NOMEM : ATTN_ERR_OVERFLOW);
        test_memory_state.fail_all = 0;
        CHECK(memcmp(&pool, &before, sizeof pool) == 0);
    }
    pool = untouched;
    test_case("more threads than can be counted");
    for (size_t threads = SIZE_MAX; threads > SIZE_MAX / 64; threads /= 2) {
        attn_status status = attn_pool_new(&pool, threads);
        CHECK(status == ATTN_ERR_OVERFLOW || status == ATTN_ERR_NOMEM);
        CHECK(!pool.run && !pool.user && pool.width == 77);
    }
    CHECK(errno == 7);
}

/* The system refuses one mutex, condition or thread after another: no pool, and all is given back that was got. */
TEST(pool_refused)
{
    test_system *t = &test_system_state;
    for (size_t s = 0; s < 4; s++)
        for (long refused = 1, made = 0; !made; refused++) {
            attn_parallel pool, before;
            attn_status status;
            long live = test_memory_state.live;
            memset(&before, 0x77, sizeof before);
            pool = before;
            t->asked = 0;
            t->fail_at = refused;
            errno = 7;
            test_case("%zu threads, refused: the one of number %ld", sizes[s], refused);
            status = attn_pool_new(&pool, sizes[s]);
            made = t->fail_at > 0; /* not so many were asked for */
            t->fail_at = 0;
            CHECK_STATUS(status, made ? ATTN_OK : ATTN_ERR_NOMEM);
            if ((status == ATTN_OK) != made)
                return;
            if (made) {
                tally runs = {{0}, {0}};
#ifndef __wasi__
                CHECK(t->asked >= (long)sizes[s] - 1);
#endif
                CHECK(t->asked == refused - 1 && t->live == t->asked);
                pool.run(pool.user, sizes[s], count_task, &runs);
                for (size_t i = 0; i < sizes[s]; i++)
                    CHECK(runs.times[i] == 1);
                attn_pool_free(&pool);
                CHECK(is_zero(pool));
            } else {
                CHECK(t->asked == refused && memcmp(&pool, &before, sizeof pool) == 0);
            }
            CHECK(t->live == 0 && t->sum == 0 && test_memory_state.live == live && errno == 7);
        }
}

/* ---- tasks that wait for one another: all threads of the pool have to take one each ---- */

typedef struct meeting {
    size_t count, came, left, missed;
    time_t deadline;
} meeting;

static void doze(void) /* some tenths of a millisecond, for other threads */
{
#ifdef _WIN32
    Sleep(1);
#else
    struct timespec wait = {0, 100000};
    nanosleep(&wait, NULL);
#endif
}

static void meet(void *arg, size_t index)
{
    meeting *m = arg;
    __atomic_add_fetch(&m->came, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&m->came, __ATOMIC_SEQ_CST) < m->count && time(NULL) < m->deadline)
        doze();
    if (__atomic_load_n(&m->came, __ATOMIC_SEQ_CST) < m->count)
        __atomic_add_fetch(&m->missed, 1, __ATOMIC_SEQ_CST);
    while (index-- > 0) /* one is done before the other, and the run after the last */
        doze();
    __atomic_add_fetch(&m->left, 1, __ATOMIC_SEQ_CST);
}

TEST(pool_meets)
{
    size_t missed = 0;
    for (size_t s = 0; s < 4 && !missed; s++) {
        attn_parallel pool = {0};
#ifdef __wasi__
        if (sizes[s] > 1) /* its threads run one after the other */
            break;
#endif
        if (!CHECK_STATUS(attn_pool_new(&pool, sizes[s]), ATTN_OK))
            return;
        for (int round = 0; round < 12 && !missed; round++) { /* threads that wait, and those that sleep by now */
            meeting m = {0, 0, 0, 0, 0};
            m.count = sizes[s] - (size_t)round % sizes[s];
            m.deadline = time(NULL) + 20;
            test_case("%zu threads, round %d: %zu tasks", sizes[s], round, m.count);
            for (int n = 0; n < round / 6 * 20; n++)
                doze();
            pool.run(pool.user, m.count, meet, &m);
            missed = m.missed;
            CHECK(!missed && __atomic_load_n(&m.left, __ATOMIC_SEQ_CST) == m.count);
        }
        attn_pool_free(&pool);
    }
#if defined(_SC_NPROCESSORS_ONLN) && !defined(__wasi__)
    {
        attn_parallel pool = {0};
        test_case("one thread for each processor");
        if (CHECK_STATUS(attn_pool_new(&pool, 0), ATTN_OK)) {
            CHECK((long)pool.width == sysconf(_SC_NPROCESSORS_ONLN));
            attn_pool_free(&pool);
        }
    }
#endif
}

/* ---- runs within runs: the inner one finds the pool taken and works by itself ---- */

typedef struct nest {
    attn_parallel pool;
    tally inner[MOST_TASKS];
} nest;

static void outer_task(void *arg, size_t index)
{
    nest *n = arg;
    n->pool.run(n->pool.user, n->pool.width, count_task, &n->inner[index]);
}

TEST(pool_nested)
{
    for (size_t s = 0; s < 4; s++) {
        static const nest none;
        nest n = none;
        CHECK_STATUS(attn_pool_new(&n.pool, sizes[s]), ATTN_OK);
        for (int round = 1; round <= 20; round++) {
            n.pool.run(n.pool.user, sizes[s], outer_task, &n);
            test_case("%zu threads, round %d", sizes[s], round);
            for (size_t i = 0; i < sizes[s]; i++)
                for (size_t j = 0; j < sizes[s]; j++)
                    CHECK(n.inner[i].times[j] == round);
        }
        attn_pool_free(&n.pool);
    }
}

/* A score_mod that computes with the pool whose run it is part of. */
typedef struct deep_user {
    attn_parallel pool;
    attn_isa isa;
} deep_user;

static void deep_mod(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    const deep_user *u = user;
    float in[6] = {1, 2, 3, 4, 5, 6}, out[6], *x = scores;
    attn_ctx ctx = test_ctx(ATTN_ISA_BEST);
    (void)b, (void)h;
    ctx.parallel = u->pool;
    ctx.isa = u->isa;
    (attn_softmax_ctx)((attn_mat_of)(out, ATTN_F32, 3, 2), (attn_mat_of)(in, ATTN_F32, 3, 2), &ctx);
    for (size_t n = 0; n < count; n++)
        x[n] += out[(i + j0 + n) % 6];
}

/* ---- the engine on a pool ---- */

typedef struct job {
    attn_tensor out, q, k, v;
    attn_opts opts;
    attn_ctx ctx;
    attn_status status;
} job;

enum { SCRATCH = 1 << 20 };

static job make_job(attn_isa isa, attn_dtype dtype, size_t B, size_t H, size_t Hkv, size_t Lq, size_t Lk)
{
    job j = {{0}, {0}, {0}, {0}, {0}, test_ctx(ATTN_ISA_BEST), ATTN_OK};
    j.q = test_random_tensor(dtype, B, H, Lq, 9, T_BLHD);
    j.k = test_random_tensor(dtype, B, Hkv, Lk, 9, T_BLHD);
    j.v = test_random_tensor(dtype, B, Hkv, Lk, 5, T_BLHD);
    j.out = test_tensor(dtype, B, H, Lq, 5, T_BLHD);
    j.opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    j.ctx.isa = isa;
    test_scratch(&j.ctx, SCRATCH, Lq % 2 == 1);
    return j;
}

static void do_job(job *j) /* from any thread: nothing of the tests is touched */
{
    j->status = (attn_sdpa)(j->out, j->q, j->k, j->v, &j->opts, &j->ctx);
}

/* The bits of a call without a pool, many times over. */
TEST(pool_bits)
{
    static const size_t shapes[][5] = {{2, 4, 2, 33, 70}, {1, 4, 1, 1, 3000}, {1, 1, 1, 300, 20}};
    for (size_t s = 0; s < 4; s++) {
        attn_parallel pool;
        CHECK_STATUS(attn_pool_new(&pool, sizes[s]), ATTN_OK);
        FOR_EACH_ISA (isa)
            for (size_t n = 0; n < 6; n++) {
                const size_t *d = shapes[n / 2];
                job j = make_job(isa, n % 2 ? test_wide : ATTN_F32, d[0], d[1], d[2], d[3], d[4]), alone = j;
                alone.out = test_tensor_like(j.out, T_BHLD);
                do_job(&alone);
                j.ctx.parallel = pool;
                test_case("%zu threads, %s, shape %zu", sizes[s], attn_isa_string(isa), n);
                for (int round = 0; round < (test_quick ? 2 : 8); round++) {
                    test_fill_tensor(j.out, 7);
                    if (round % 2) { /* memory of its own */
                        j.ctx.scratch = NULL;
                        j.ctx.scratch_size = 0;
                    }
                    do_job(&j);
                    CHECK(j.status == ATTN_OK && alone.status == ATTN_OK);
                    CHECK(test_same_tensor_bits(j.out, alone.out));
                }
                test_release();
            }
        attn_pool_free(&pool);
    }
}

TEST(pool_nested_calls)
{
    FOR_EACH_ISA (isa)
        for (size_t s = 0; s < 4; s++) {
            job j = make_job(isa, ATTN_F32, 1, 4, 2, 20, 40), alone = j;
            deep_user u;
            u.isa = isa;
            test_case("%s, %zu threads", attn_isa_string(isa), sizes[s]);
            CHECK_STATUS(attn_pool_new(&u.pool, sizes[s]), ATTN_OK);
            alone.out = test_tensor_like(j.out, T_BHLD);
            alone.opts.score_mod = j.opts.score_mod = deep_mod;
            alone.opts.score_mod_user = j.opts.score_mod_user = &u;
            do_job(&alone);
            j.ctx.parallel = u.pool;
            do_job(&j);
            CHECK(j.status == ATTN_OK && alone.status == ATTN_OK);
            CHECK(test_same_tensor_bits(j.out, alone.out));
            attn_pool_free(&u.pool);
            test_release();
        }
}

/* ---- callers side by side: one has the pool, the others work by themselves ---- */

#ifdef HAVE_PTHREADS

enum { CALLERS = 4 };

typedef struct caller {
    job j;
    tally t;
    int rounds, wrong;
    unsigned char *want; /* the bytes of out */
    size_t bytes;
} caller;

static void *call_often(void *arg)
{
    caller *c = arg;
    for (int n = 0; n < c->rounds; n++) {
        memset(c->j.out.data, 0xff, c->bytes);
        do_job(&c->j);
        c->wrong |= c->j.status != ATTN_OK || memcmp(c->j.out.data, c->want, c->bytes) != 0;
        c->j.ctx.parallel.run(c->j.ctx.parallel.user, c->j.ctx.parallel.width, count_task, &c->t);
    }
    return NULL;
}

TEST(pool_callers)
{
    FOR_EACH_ISA (isa)
        for (size_t s = 0; s < 4; s++) {
            attn_parallel pool;
            caller callers[CALLERS];
            pthread_t threads[CALLERS];
            test_case("%s, %zu threads", attn_isa_string(isa), sizes[s]);
            CHECK_STATUS(attn_pool_new(&pool, sizes[s]), ATTN_OK);
            for (size_t c = 0; c < CALLERS; c++) {
                caller *me = &callers[c];
                memset(me, 0, sizeof *me);
                me->j = make_job(isa, c % 2 ? test_wide : ATTN_F32, 1, 2, 2, 10 + c, 30);
                me->bytes = 2 * (10 + c) * 5 * test_size(me->j.out.dtype);
                me->rounds = test_quick ? 5 : 60;
                do_job(&me->j);
                me->want = test_block(me->bytes);
                memcpy(me->want, me->j.out.data, me->bytes);
                me->j.ctx.parallel = pool;
            }
            for (size_t c = 0; c < CALLERS; c++)
                if (!CHECK(pthread_create(&threads[c], NULL, call_often, &callers[c]) == 0))
                    exit(2);
            for (size_t c = 0; c < CALLERS; c++) {
                pthread_join(threads[c], NULL);
                CHECK(!callers[c].wrong);
                for (size_t i = 0; i < sizes[s]; i++)
                    CHECK(callers[c].t.times[i] == callers[c].rounds);
            }
            attn_pool_free(&pool);
            test_release();
        }
}

#else

TEST(pool_callers)
{
    CHECK(1); /* needs threads of its own */
}

#endif
