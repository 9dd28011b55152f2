/* text.h: what the tokenizers need beside cutting: parts of a text, arrays and text that grow, files read whole, ids by
   their spelling, and messages. Everything is static; it takes shown.h and the C library. After a lack of memory, what
   grows stays as it is, and still has to be freed. */
#ifndef TEXT_H
#define TEXT_H

#include "shown.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#define TEXT_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* ---- parts of a text ---- */

typedef struct text_span {
    const char *text; /* not ended by a NUL */
    size_t size;      /* in bytes */
} text_span;

static inline text_span text_of(const char *text, size_t size)
{
    text_span s;
    s.text = text;
    s.size = size;
    return s;
}

/* A text that a NUL ends. */
static inline text_span text_word(const char *text)
{
    return text_of(text, strlen(text));
}

/* The text from that byte on. */
static inline text_span text_from(text_span s, size_t begin)
{
    return text_of(s.text + begin, s.size - begin);
}

/* `with` is not empty. */
static inline int text_begins(text_span s, text_span with)
{
    return with.size <= s.size && *s.text == *with.text && memcmp(s.text, with.text, with.size) == 0;
}

static inline int text_compare(text_span a, text_span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.text, b.text, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* The byte that <0x00> to <0xFF> stands for, or -1. digits: the 16 that there are, and in another case 16 more. */
static inline int text_named_byte(text_span s, const char *digits)
{
    const char *high, *low;
    if (s.size != 6 || memcmp(s.text, "<0x", 3) || s.text[5] != '>')
        return -1;
    high = (const char *)memchr(digits, s.text[3], strlen(digits));
    low = (const char *)memchr(digits, s.text[4], strlen(digits));
    return high && low ? (int)(high - digits) % 16 * 16 + (int)(low - digits) % 16 : -1;
}

static inline int text_is_valid(text_span s)
{
    size_t n;
    for (; s.size && (n = shown_utf8(s.text, s.size)) > 0; s = text_from(s, n)) {
    }
    return s.size == 0;
}

/* ---- what grows ---- */

/* The array `items` of `count`, each of so many bytes, with room for `more` beyond them. Returns where it lies by now;
   or NULL, and the array is as it was. */
static inline void *text_grow(void *items, size_t bytes, size_t count, size_t more, size_t *room)
{
    const size_t most = SIZE_MAX / 4 / bytes;
    size_t larger = count + more + count / 2 + 16;
    if (*room && more <= *room - count)
        return items;
    items = count < most && more < most ? realloc(items, larger * bytes) : NULL;
    *room = items ? larger : *room;
    return items;
}

/* Appends ids; 0: no memory. */
static inline int text_push(int32_t **ids, size_t *count, size_t *room, const int32_t *more, size_t more_count)
{
    int32_t *larger = (int32_t *)text_grow(*ids, sizeof *larger, *count, more_count, room);
    if (!larger)
        return 0;
    if (more_count)
        memcpy(larger + *count, more, more_count * sizeof *larger);
    *ids = larger;
    *count += more_count;
    return 1;
}

/* Bytes that grow. Once that has failed, appending does nothing. */
typedef struct text_buffer {
    char *text;
    size_t size, room;
    int failed;
} text_buffer;

static inline int text_reserve(text_buffer *b, size_t more)
{
    char *text = b->failed ? NULL : (char *)text_grow(b->text, 1, b->size, more, &b->room);
    if (text)
        b->text = text;
    else if (!b->failed)
        b->failed = 1;
    return text != NULL;
}

static inline void text_append(text_buffer *b, text_span s)
{
    if (s.size && text_reserve(b, s.size)) {
        memcpy(b->text + b->size, s.text, s.size);
        b->size += s.size;
    }
}

/* Appends text with each `old` as `fresh`. */
static inline void text_append_replaced(text_buffer *b, text_span s, text_span old, text_span fresh)
{
    size_t at = 0;
    while (at < s.size) {
        if (!text_begins(text_from(s, at), old)) {
            at++;
            continue;
        }
        text_append(b, text_of(s.text, at));
        text_append(b, fresh);
        s = text_from(s, at + old.size);
        at = 0;
    }
    text_append(b, s);
}

/* Appends text with U+FFFD for each byte that is not UTF-8. */
static inline void text_append_valid(text_buffer *b, text_span s)
{
    while (s.size) {
        size_t size = shown_utf8(s.text, s.size);
        text_append(b, size ? text_of(s.text, size) : text_word(TEXT_REPLACEMENT));
        s = text_from(s, size ? size : 1);
    }
}

static inline text_span text_in(const text_buffer *b)
{
    return text_of(b->text, b->size);
}

/* ---- messages ---- */

enum { TEXT_ERROR = 512 }; /* bytes of what holds a message */
#define TEXT_NO_MEMORY "no memory"

/* A message that begins with the name of a file, and what follows that. */
static inline void text_begin_message(char error[TEXT_ERROR], const char *name, const char *after)
{
    char shown[SHOWN_NAME];
    snprintf(error, TEXT_ERROR, "%s%s", shown_name(shown, name), after);
}

/* Goes on with a message; returns it. */
static inline const char *text_fail(char error[TEXT_ERROR], const char *format, ...)
{
    size_t used = strlen(error);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error + used, TEXT_ERROR - used, format, arguments);
    va_end(arguments);
    return error;
}

/* What is no reason to refuse a file, but to be shown to who reads it: lines, each with its LF and there once. prefix:
   how each begins, as "PATH: ". Where there is no room for one, the last line says so. */
enum { TEXT_NOTES = 4096 };

static inline void text_note(char notes[TEXT_NOTES], const char *prefix, const char *format, ...)
{
    static const char more[] = "there is more to note than is shown here\n";
    char line[TEXT_ERROR + 1];
    size_t used = strlen(notes), size = strlen(prefix) < TEXT_ERROR ? strlen(prefix) : TEXT_ERROR - 1;
    va_list arguments;
    memcpy(line, prefix, size);
    va_start(arguments, format);
    vsnprintf(line + size, TEXT_ERROR - size, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    if (strstr(notes, line) || strstr(notes, more))
        return;
    strcpy(notes + used, used + strlen(line) + strlen(more) < TEXT_NOTES ? line : more);
}

/* ---- files ---- */

/* Appends what a file has, of which the size need not be known before: a pipe is one too; not much more than `most`
   bytes. Closes it. Returns NULL, or what is wrong: then errno is 0 or says why. */
static inline const char *text_read(FILE *file, size_t most, text_buffer *whole)
{
    const char *error = NULL;
    size_t got = 1;
    int reason = 0;
    while (got && whole->size <= most && text_reserve(whole, 65536)) {
        errno = 0;
        got = fread(whole->text + whole->size, 1, whole->room - whole->size, file);
        whole->size += got;
    }
    if (whole->failed) {
        error = TEXT_NO_MEMORY;
    } else if (ferror(file)) {
        error = "cannot be read";
        reason = errno;
    }
    fclose(file);
    errno = reason;
    return error;
}

/* The same of a file by its path; what is wrong becomes part of a message. */
static inline const char *text_read_file(char error[TEXT_ERROR], const char *path, size_t most, text_buffer *whole)
{
    const char *cause = "cannot be opened";
    FILE *file = fopen(path, "rb");
    if (file && (cause = text_read(file, most, whole)) == NULL)
        return NULL;
    return text_fail(error, errno ? "%s: %s" : "%s", cause, strerror(errno));
}

/* ---- ids by their spelling ---- */

enum { TEXT_PROBES = 256 }; /* slots of a hash table that a key may be away from its own */

/* A hash table. The ids are places in an array of so many bytes each, which begin with a text_span: the spelling. */
typedef struct text_index {
    int32_t *ids;  /* -1 in empty slots */
    uint32_t mask; /* slots less one */
    const void *items;
    size_t bytes;
} text_index;

static inline uint32_t text_mixed(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* The slots of a table for so many keys: a power of 2, at least twice as many. */
static inline uint32_t text_slots(size_t count)
{
    uint32_t slots = 16;
    while (slots / 2 < count)
        slots *= 2;
    return slots;
}

/* An empty one for the spellings of so many items; 0: no memory. */
static inline int text_index_make(text_index *x, const void *items, size_t bytes, size_t count)
{
    size_t slots = text_slots(count), i;
    x->items = items;
    x->bytes = bytes;
    x->mask = (uint32_t)slots - 1;
    x->ids = slots < SIZE_MAX / sizeof *x->ids ? (int32_t *)malloc(slots * sizeof *x->ids) : NULL;
    for (i = 0; x->ids && i < slots; i++)
        x->ids[i] = -1;
    return x->ids != NULL;
}

/* The slot where a spelling is, or the empty one where it belongs; NULL: neither is among TEXT_PROBES. The hash is
   FNV-1a, with the high bits mixed into the low ones. */
static inline int32_t *text_index_slot(const text_index *x, text_span s)
{
    uint32_t hash = 2166136261u;
    size_t i;
    for (i = 0; i < s.size; i++)
        hash = (hash ^ (unsigned char)s.text[i]) * 16777619u;
    hash = text_mixed(hash);
    for (i = 0; i < TEXT_PROBES; i++, hash++) {
        int32_t *slot = &x->ids[hash & x->mask];
        const text_span *known =
            *slot < 0 ? NULL : (const text_span *)(const void *)((const char *)x->items + x->bytes * (size_t)*slot);
        if (!known || (known->size == s.size && memcmp(known->text, s.text, s.size) == 0))
            return slot;
    }
    return NULL;
}

#endif
