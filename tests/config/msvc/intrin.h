/* What attn.h asks of Microsoft's <intrin.h>, for gcc in its place: see config/msvc.c. */
#ifndef ATTN_TEST_INTRIN_H
#define ATTN_TEST_INTRIN_H

static inline void __cpuidex(int registers[4], int leaf, int part)
{
    __asm__ volatile("cpuid"
                     : "=a"(registers[0]), "=b"(registers[1]), "=c"(registers[2]), "=d"(registers[3])
                     : "a"(leaf), "c"(part));
}

static inline long long _InterlockedExchangeAdd64(volatile long long *p, long long x)
{
    return __sync_fetch_and_add(p, x);
}

static inline long long _InterlockedOr64(volatile long long *p, long long x)
{
    return __sync_fetch_and_or(p, x);
}

static inline long long _InterlockedCompareExchange64(volatile long long *p, long long x, long long expected)
{
    return __sync_val_compare_and_swap(p, expected, x);
}

#endif
