/* The library as the tests link it: one object of its own, so that it can be built with any flags. */
#include "test_malloc.h"

#include <assert.h>
#include <errno.h>

long test_tiles; /* how many tiles the engine has computed */

/* ---- what a pool asks of the system ---- */

test_system test_system_state;

static int refuses(void)
{
    test_system *t = &test_system_state;
    t->asked++;
    errno = EAGAIN; /* as the system may leave it */
    return t->fail_at && --t->fail_at == 0;
}

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

static HANDLE test_thread_new(LPTHREAD_START_ROUTINE start, void *arg)
{
    HANDLE thread = refuses() ? NULL : CreateThread(NULL, 0, start, arg, 0, NULL);
    test_system_state.live += thread != NULL;
    return thread;
}

static void test_thread_free(HANDLE thread)
{
    test_system_state.live--;
    CloseHandle(thread);
}

#define CreateThread(security, stack, start, arg, flags, id) test_thread_new(start, arg)
#define CloseHandle(thread) test_thread_free(thread)

#else

#include <pthread.h>

static const void *got[64]; /* mutexes and conditions */

static int get(const void *what, int error)
{
    int n = 0;
    while (got[n])
        n++;
    if (!error)
        got[n] = what;
    test_system_state.live += !error;
    return error;
}

static const void *give(const void *what)
{
    int n = 0;
    while (n < 63 && got[n] != what)
        n++;
    test_system_state.wrong |= got[n] != what;
    test_system_state.live--;
    got[n] = NULL;
    return what;
}

static int test_mutex_new(pthread_mutex_t *mutex)
{
    return refuses() ? EAGAIN : get(mutex, pthread_mutex_init(mutex, NULL));
}

static void test_mutex_free(pthread_mutex_t *mutex)
{
    if (give(mutex))
        pthread_mutex_destroy(mutex);
}

static int test_condition_new(pthread_cond_t *condition)
{
    return refuses() ? EAGAIN : get(condition, pthread_cond_init(condition, NULL));
}

static void test_condition_free(pthread_cond_t *condition)
{
    if (give(condition))
        pthread_cond_destroy(condition);
}

static int test_thread_new(pthread_t *thread, void *(*start)(void *arg), void *arg)
{
    int error = refuses() ? EAGAIN : pthread_create(thread, NULL, start, arg);
    test_system_state.live += !error;
    return error;
}

static void test_thread_free(pthread_t thread)
{
    test_system_state.live--;
    pthread_join(thread, NULL);
}

#undef pthread_mutex_init
#undef pthread_mutex_destroy
#undef pthread_cond_init
#undef pthread_cond_destroy
#undef pthread_create
#undef pthread_join
#define pthread_mutex_init(mutex, attributes) test_mutex_new(mutex)
#define pthread_mutex_destroy(mutex) test_mutex_free(mutex)
#define pthread_cond_init(condition, attributes) test_condition_new(condition)
#define pthread_cond_destroy(condition) test_condition_free(condition)
#define pthread_create(thread, attributes, start, arg) test_thread_new(thread, start, arg)
#define pthread_join(thread, result) test_thread_free(thread)

#endif

#define ATTN_MALLOC(size) test_malloc(size)
#define ATTN_FREE(p) test_free(p)
#define ATTN_ASSERT(condition) assert(condition)
#define ATTN_THREADS
#define ATTN__ON_TILE() ((void)__atomic_add_fetch(&test_tiles, 1, __ATOMIC_RELAXED))
#define ATTN_IMPLEMENTATION
#include "../attn.h"
