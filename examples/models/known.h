/* known.h: what a small model has been taught, as known.json beside its weights says it, so that a program can tell what
   it cannot know. Everything is static; it takes checkpoint.h with what that takes.

       {"words": ["a", "book", ..], "doubtful_below": -0.04}

   words: those of the texts that it has learnt from, in small letters. doubtful_below: a score that right answers of
   texts it had not seen are above, nearly all, and wrong ones below, nearly all. A model without the file is taken to
   know everything. */
#ifndef KNOWN_H
#define KNOWN_H

#include "checkpoint.h"

#include <string.h>

typedef struct known_model {
    json words;            /* JSON_NONE: all */
    double doubtful_below; /* -infinity where nothing is said */
} known_model;

/* After an error files->failed. */
static inline known_model known_of(checkpoint *files)
{
    json object = checkpoint_json(files, "known.json");
    known_model k;
    k.words = json_get(object, "words");
    k.doubtful_below = checkpoint_real(files, object, "doubtful_below", -1e9, 1e9, -1e9);
    if (!files->failed && object.type != JSON_NONE && k.words.type != JSON_ARRAY)
        checkpoint_fail_member(files, object, "words", "is no array");
    return k;
}

/* Whether a byte is of a word: letters, digits, an apostrophe within, and all of UTF-8 beyond ASCII. */
static inline int known__is_in_word(const char *text, size_t size, size_t i)
{
    unsigned char c = i < size ? (unsigned char)text[i] : 0;
    if (c == '\'')
        return i > 0 && text[i - 1] != '\'' && known__is_in_word(text, size, i - 1) &&
               known__is_in_word(text, size, i + 1);
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80;
}

static inline int known__has(const known_model *k, const char *word, size_t size)
{
    char small[64];
    json entry;
    size_t i;
    if (size >= sizeof small)
        return 0;
    for (i = 0; i < size; i++)
        small[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] - 'A' + 'a' : word[i]);
    small[size] = 0;
    for (entry = json_first(k->words); entry.type != JSON_NONE; entry = json_next(entry))
        if (json_is(entry, small))
            return 1;
    return 0;
}

/* The next word of a text, from *at on, that the model has not seen: its size, and *at is where it begins; 0: there is
   none. */
static inline size_t known_not(const known_model *k, const char *text, size_t size, size_t *at)
{
    size_t end;
    for (; k->words.type != JSON_NONE && *at < size; *at = end) {
        while (*at < size && !known__is_in_word(text, size, *at))
            ++*at;
        for (end = *at; known__is_in_word(text, size, end);)
            end++;
        if (end > *at && !known__has(k, text + *at, end - *at))
            return end - *at;
    }
    return 0;
}

#endif
