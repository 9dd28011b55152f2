/* shown.h: text that comes from files, as messages show it: whole characters of UTF-8, and \xNN for each byte of a
   control character, which a terminal would obey, and of what is no UTF-8. Everything is static; it takes the C library
   alone. */
#ifndef SHOWN_H
#define SHOWN_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Of the bytes that a text begins with, at least one, how many belong to one character (RFC 3629). It is *whole; or
   what it lacks may yet come; or, where *wrong, cannot. */
static inline size_t shown_part(const char *text, size_t size, int *whole, int *wrong)
{
    const unsigned char *b = (const unsigned char *)text;
    size_t length = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0, i;
    unsigned char low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;  /* less would be overlong, */
    unsigned char high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf; /* more a surrogate, or beyond U+10FFFF */
    for (i = 1; i < length && i < size && b[i] >= low && b[i] <= high; i++)
        low = 0x80, high = 0xbf;
    *whole = i == length;
    *wrong = length == 0 || (i < length && i < size);
    return i;
}

/* The bytes of the character that a text of `size` bytes, at least one, begins with; 0: of none. */
static inline size_t shown_utf8(const char *text, size_t size)
{
    int whole, wrong;
    size_t length = shown_part(text, size, &whole, &wrong);
    return whole ? length : 0;
}

/* Whether that character is U+0000 to U+001F or U+007F to U+009F. */
static inline int shown_is_control(const char *text, size_t length)
{
    unsigned char c = (unsigned char)text[0];
    return c < 0x20 || c == 0x7f || (length == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0);
}

enum { SHOWN_ONE = 12 }; /* room for one character as it is shown */

/* Writes how the first character is shown, with a NUL, and returns how many bytes of the text that is. */
static inline size_t shown_next(char out[SHOWN_ONE], const char *text, size_t size)
{
    size_t length = shown_utf8(text, size), i;
    if (length && !shown_is_control(text, length)) {
        memcpy(out, text, length);
        out[length] = 0;
        return length;
    }
    length = length ? length : 1;
    for (i = 0; i < length; i++)
        snprintf(out + 4 * i, SHOWN_ONE - 4 * i, "\\x%02x", (unsigned)(unsigned char)text[i]);
    return length;
}

static inline void shown_put(FILE *file, const char *text, size_t size)
{
    char one[SHOWN_ONE];
    while (size) {
        size_t length = shown_next(one, text, size);
        fputs(one, file);
        text += length;
        size -= length;
    }
}

/* The same into `room` bytes, at least 4: as many characters as leave room for "...", which ends what is not all.
   Returns out. */
static inline const char *shown_text(char *out, size_t room, const char *text, size_t size)
{
    char one[SHOWN_ONE];
    size_t used = 0, length;
    for (; size; text += length, size -= length) {
        length = shown_next(one, text, size);
        if (used + strlen(one) + sizeof "..." > room)
            break;
        strcpy(out + used, one);
        used += strlen(one);
    }
    strcpy(out + used, size ? "..." : "");
    return out;
}

/* The same, but of a long text the end, after "...": room is at least 32 bytes. */
static inline char *shown_end(char *out, size_t room, const char *text)
{
    char one[SHOWN_ONE];
    size_t size = strlen(text), at, length, all = 0, dots;
    for (at = 0; at < size; at += shown_next(one, text + at, size - at), all += strlen(one)) {
    }
    dots = all + sizeof "..." > room ? 3 : 0;
    for (; all + dots + sizeof "..." > room; text += length, size -= length, all -= strlen(one))
        length = shown_next(one, text, size);
    strcpy(out, dots ? "..." : "");
    shown_text(out + dots, room - dots, text, size);
    return out;
}

/* The name of a file for the beginning of a message: of a long one the end, so that there is room for the cause. */
enum { SHOWN_NAME = 256 };
static inline const char *shown_name(char out[SHOWN_NAME], const char *name)
{
    return shown_end(out, SHOWN_NAME, name);
}

#endif
