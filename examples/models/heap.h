/* heap.h: pairs of neighbours that a byte-pair encoding may merge, the first of them first. Everything is static; it
   takes the C library alone. */
#ifndef HEAP_H
#define HEAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct heap_pair {
    uint32_t rank; /* the lowest comes first; of equal ones the leftmost */
    uint32_t value;
    size_t at; /* where the pair is */
} heap_pair;

/* Below pair i, and never before it, are HEAP_WAYS pairs from HEAP_WAYS i + 1 on: fewer levels than with 2, and so
   fewer cache misses. */
enum { HEAP_WAYS = 4 };

static inline int heap_is_before(const heap_pair *a, const heap_pair *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

/* Adds a pair to *count, for which there is room. */
static inline void heap_push(heap_pair *heap, size_t *count, heap_pair added)
{
    size_t i = (*count)++, above;
    for (; i > 0 && heap_is_before(&added, &heap[above = (i - 1) / HEAP_WAYS]); i = above)
        heap[i] = heap[above];
    heap[i] = added;
}

/* Takes the first of *count, at least one. */
static inline heap_pair heap_pop(heap_pair *heap, size_t *count)
{
    heap_pair top = heap[0], last = heap[--*count];
    size_t i = 0, first, best, k;
    for (; (first = HEAP_WAYS * i + 1) < *count; i = best) {
        best = first;
        for (k = first + 1; k < first + HEAP_WAYS && k < *count; k++)
            best = heap_is_before(&heap[k], &heap[best]) ? k : best;
        if (!heap_is_before(&heap[best], &last))
            break;
        heap[i] = heap[best];
    }
    heap[i] = last;
    return top;
}

#endif
