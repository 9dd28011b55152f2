/* Trials of calls that something is wrong with. */
#include "calls.h"

void *askew(const void *p, size_t bytes)
{
    return (void *)((uintptr_t)p + bytes);
}

attn_status first_of(attn_status a, attn_status b)
{
    return test_rank(a) < test_rank(b) ? a : b;
}

void all_faults(const fault *faults, int count, void (*attempt)(int f, int g, attn_status want))
{
    for (int f = 0; f < count; f++)
        for (int g = f; g < count; g++) {
            if (g != f && faults[f].args & faults[g].args)
                continue;
            test_case("%s and %s", faults[f].name, faults[g].name);
            attempt(f, g, first_of(faults[f].want, faults[g].want));
        }
}
