/* The library as the tests link it: one object of its own, so that it can be built with any flags. */
#include "test_malloc.h"

#include <assert.h>
#include <errno.h>

long test_tiles;                 /* how many tiles the engine has computed */
extern const int test_optimised; /* whether the compiler was asked to optimise the library */
extern const int test_small;     /* ATTN_SMALL */

/* ---- what a pool asks of the system ---- */

test_system test_system_state;

#ifndef __wasi__ /* whose threads are macros and never fail */

static int refuses(void)
{
    test_system_state.asked++;
    errno = EAGAIN; /* as the system may leave it */
    return test_system_state.fail_at && --test_system_state.fail_at == 0;
}

static void tally(long change, const void *what)
{
    test_system_state.live += change;
    test_system_state.sum += (uintptr_t)change * (uintptr_t)what;
}

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

static HANDLE got(HANDLE thread)
{
    tally(thread != NULL, NULL);
    return thread;
}

#define CreateThread(security, stack, start, arg, flags, id)                                                           \
    (refuses() ? NULL : got(CreateThread(security, stack, start, arg, flags, id)))
#define CloseHandle(thread) (tally(-1, NULL), CloseHandle(thread))

#else

#include <pthread.h>

static int got(int error, const void *what)
{
    tally(!error, what);
    return error;
}

#define pthread_mutex_init(m, attributes) (refuses() ? EAGAIN : got(pthread_mutex_init(m, attributes), m))
#define pthread_mutex_destroy(m) (tally(-1, m), pthread_mutex_destroy(m))
#define pthread_cond_init(c, attributes) (refuses() ? EAGAIN : got(pthread_cond_init(c, attributes), c))
#define pthread_cond_destroy(c) (tally(-1, c), pthread_cond_destroy(c))
#define pthread_create(t, attributes, start, arg)                                                                      \
    (refuses() ? EAGAIN : got(pthread_create(t, attributes, start, arg), NULL))
#define pthread_join(t, result) (tally(-1, NULL), pthread_join(t, result))

#endif

#endif

#define ATTN_MALLOC(size) test_malloc(size)
#define ATTN_FREE(p) test_free(p)
#define ATTN_ASSERT(condition) assert(condition)
#define ATTN_THREADS
#define ATTN__ON_TILE() ((void)__atomic_add_fetch(&test_tiles, 1, __ATOMIC_RELAXED))
#define ATTN_IMPLEMENTATION
#include "../attn.h"

#ifdef __OPTIMIZE__
const int test_optimised = 1;
#else
const int test_optimised = 0;
#endif

#ifdef ATTN_SMALL
const int test_small = 1;
#else
const int test_small = 0;
#endif

/* The types that it computes in. */
#ifdef ATTN_NO_F64
#define WIDE ATTN_F32
#else
#define WIDE ATTN_F64
#endif
extern const attn_dtype test_wide, test_floats[4];
const attn_dtype test_wide = WIDE, test_floats[4] = {ATTN_F32, WIDE, ATTN_F16, ATTN_BF16};
