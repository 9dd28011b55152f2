/* Threads for the tests where a system has none: a thread runs when it is joined, from its beginning to its end, which
   is an order that threads may have. What waits for another thread before that would wait for ever. */
#ifndef WASI_PTHREAD_H
#define WASI_PTHREAD_H

#include <stdlib.h>

typedef struct pthread_t {
    void *(*run)(void *arg);
    void *arg;
} pthread_t;

typedef int pthread_mutex_t, pthread_cond_t;

static inline int pthread_join(pthread_t thread, void **result)
{
    void *returned = thread.run(thread.arg);
    if (result)
        *result = returned;
    return 0;
}

#define pthread_create(thread, attributes, start, argument)                                                            \
    ((void)(attributes), (thread)->run = (start), (thread)->arg = (argument), 0)

#define pthread_mutex_init(mutex, attributes) ((void)(attributes), *(mutex) = 0)
#define pthread_mutex_lock(mutex) ((void)(mutex), 0)
#define pthread_mutex_unlock(mutex) ((void)(mutex), 0)
#define pthread_mutex_destroy(mutex) ((void)(mutex), 0)
#define pthread_cond_init(condition, attributes) ((void)(attributes), *(condition) = 0)
#define pthread_cond_wait(condition, mutex) abort()
#define pthread_cond_broadcast(condition) ((void)(condition), 0)
#define pthread_cond_destroy(condition) ((void)(condition), 0)

#endif
