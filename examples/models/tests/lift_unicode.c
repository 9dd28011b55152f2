/* A program that has taken unicode.h, unicode.c and unicode_tables.h. */
#include "unicode.h"

#include <string.h>

int main(void)
{
    static const char text[] = "e\314\201\357\254\201"; /* e, an acute accent and the ligature fi */
    char out[16];
    uint32_t code, lower[3];
    size_t size = unicode_read("\303\211", 2, &code); /* E with an acute accent */
    return !(size == 2 && unicode_is(code, UNICODE_LU) && unicode_lower(code, lower) == 1 && lower[0] == 0xe9 &&
             unicode_normalize(UNICODE_NFKC, text, strlen(text), out, sizeof out) == 4 &&
             memcmp(out, "\303\251fi", 4) == 0);
}
