/* A program that has taken patterns.h and patterns.c, and what these take: unicode.h, unicode.c, unicode_tables.h. */
#include "patterns.h"

int main(void)
{
    static const char text[] = "It's  12";
    static const size_t ends[] = {2, 4, 5, 8}; /* It, 's, a space, and another with the number */
    const patterns_regex *p = patterns_gpt2();
    size_t at = 0, begin, end, count = 0;
    for (; patterns_next(p, text, sizeof text - 1, at, &begin, &end); at = end)
        if (count == 4 || begin != at || end != ends[count++])
            return 1;
    p = patterns_find("\\p{N}");
    return !(count == 4 && p && patterns_match(p, text, sizeof text - 1, 6) == 7 && !patterns_find("\\p{N}*"));
}
