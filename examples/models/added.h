/* added.h: the added tokens of a tokenizer.json: they are found in a text as it is or, if they are "normalized", as the
   normalizer writes it, before what lies between them is cut into words. What is found, and where, is as the
   `tokenizers` library has it. Everything is static; it takes text.h, trie.h, json.h and unicode.h.

   A search for a token goes on as far as the longest of them, from each byte of a text. */
#ifndef ADDED_H
#define ADDED_H

#include "json.h"
#include "text.h"
#include "trie.h"
#include "unicode.h"

/* What tokenizer_config.json of any class may have beside tokens and flags that are read, and does not change which ids a
   text has. */
/* clang-format off */
static const char *const added_beside[] = {
    "additional_special_tokens", "auto_map", "backend", "clean_up_tokenization_spaces", "cls_token",
    "do_lower_case", "extra_special_tokens", "is_local", "local_files_only", "mask_token", "max_length",
    "model_input_names", "model_max_length", "model_specific_special_tokens", "name_or_path", "pad_to_multiple_of",
    "pad_token", "pad_token_type_id", "padding_side", "processor_class", "sep_token", "special_tokens_map_file",
    "stride", "tokenizer_class", "tokenizer_file", "truncation_side", "truncation_strategy", "unk_token", NULL};
/* clang-format on */

/* What the file says of a token. lstrip and rstrip: white space to its left and right belongs to it. */
enum { ADDED_SPECIAL = 1, ADDED_SINGLE_WORD = 2, ADDED_LSTRIP = 4, ADDED_RSTRIP = 8, ADDED_NORMALIZED = 16 };

typedef struct added_token {
    text_span text;
    int32_t id;
    int flags;
} added_token;

typedef struct added_tokens {
    added_token *tokens; /* in the order of the file */
    size_t count, room;
    trie raw, normalized; /* their places: of those looked for in the text as it is, and in the normalised one */
    size_t longest;       /* bytes of the longest of the latter, as it is looked for */
} added_tokens;

static inline void added_free(added_tokens *a)
{
    free(a->tokens);
    trie_free(&a->raw);
    trie_free(&a->normalized);
    memset(a, 0, sizeof *a);
}

/* The flags of an added token: null is false. Returns the name of a member that is something else, or NULL. */
static inline const char *added_flags(json token, int *flags)
{
    static const char *const names[] = {"special", "single_word", "lstrip", "rstrip", "normalized"};
    int i;
    *flags = 0;
    for (i = 0; i < 5; i++) {
        json value = json_get(token, names[i]);
        if (value.type > JSON_TRUE)
            return names[i];
        *flags |= value.type == JSON_TRUE ? 1 << i : 0;
    }
    return NULL;
}

/* One more; 0: no memory. */
static inline int added_push(added_tokens *a, text_span text, int32_t id, int flags)
{
    added_token *tokens = (added_token *)text_grow(a->tokens, sizeof *tokens, a->count, 1, &a->room);
    if (!tokens)
        return 0;
    tokens[a->count].text = text;
    tokens[a->count].id = id;
    tokens[a->count++].flags = flags;
    a->tokens = tokens;
    return 1;
}

/* Puts words in order and, of those that look the same, the smaller id first. */
static inline int added_compare(const void *a, const void *b)
{
    const trie_word *x = (const trie_word *)a, *y = (const trie_word *)b;
    int order = trie_compare(x, y);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

/* Of those that are spelt alike the first stays, with the flags of the last one whose place is from .. to - 1, if there
   is one. 0: no memory. */
static inline int added_unique(added_tokens *a, size_t from, size_t to)
{
    trie_word *words = (trie_word *)malloc((a->count + 1) * sizeof *words);
    size_t i, kept = 0, first = 0;
    for (i = 0; words && i < a->count; i++) {
        words[i].text = a->tokens[i].text.text;
        words[i].size = a->tokens[i].text.size;
        words[i].id = (int32_t)i;
    }
    if (words)
        qsort(words, a->count, sizeof *words, added_compare);
    for (i = 1; words && i < a->count; i++) {
        size_t place = (size_t)words[i].id;
        if (trie_compare(&words[i], &words[i - 1])) {
            first = i;
            continue;
        }
        if (place >= from && place < to)
            a->tokens[words[first].id].flags = a->tokens[place].flags;
        a->tokens[place].flags = -1;
    }
    for (i = 0; words && i < a->count; i++)
        if (a->tokens[i].flags >= 0)
            a->tokens[kept++] = a->tokens[i];
    a->count = words ? kept : a->count;
    free(words);
    return words != NULL;
}

/* ---- what finds them ---- */

/* Sets *out to a text as a normalizer writes it. Returns NULL, or what is wrong. */
typedef const char *(*added_normalizer)(void *user, text_span text, text_buffer *out);

enum { ADDED_CAUSE = 256 }; /* bytes of what holds a cause */

/* Appends to `written` how the normalizer writes each word. */
static inline const char *added_rewrite(const added_tokens *a, trie_word *words, size_t count,
                                        added_normalizer normalize, void *user, text_buffer *written,
                                        char cause[ADDED_CAUSE])
{
    text_buffer out = {NULL, 0, 0, 0};
    const char *error = NULL;
    char text[128];
    size_t i, at = 0;
    for (i = 0; i < count && !error; i++) {
        text_span token = a->tokens[(size_t)words[i].id % a->count].text;
        error = normalize(user, token, &out);
        if (!error)
            text_append(written, text_in(&out));
        words[i].size = out.size;
        if (out.failed || written->failed)
            error = TEXT_NO_MEMORY;
        else if (!error && out.size == 0)
            error = "the normalizer leaves nothing of it, which would be found everywhere";
        else if (!error && written->size > TRIE_NODES)
            error = "the normalizer makes too much of the tokens up to it";
        if (error && strcmp(error, TEXT_NO_MEMORY) != 0) {
            shown_text(text, sizeof text, token.text, token.size);
            snprintf(cause, ADDED_CAUSE, "the added token \"%s\": %s", text, error);
            error = cause;
        }
    }
    for (i = 0; i < count && !error; at += words[i++].size) /* where they stay by now */
        words[i].text = written->text + at;
    free(out.text);
    return error;
}

/* Makes one of the tries. Of those that look the same, the library before 0.23 finds the first special one, or else the
   first; 0.23 finds any. */
static inline const char *added_trie(added_tokens *a, int normalized, added_normalizer normalize, void *user,
                                     char cause[ADDED_CAUSE])
{
    text_buffer written = {NULL, 0, 0, 0};
    trie_word *words = (trie_word *)malloc((a->count + 1) * sizeof *words);
    const char *error = words ? NULL : TEXT_NO_MEMORY;
    size_t count = 0, i;
    for (i = 0; i < a->count && !error; i++)
        if (!(a->tokens[i].flags & ADDED_NORMALIZED) == !normalized) {
            words[count].text = a->tokens[i].text.text;
            words[count].size = a->tokens[i].text.size;
            words[count++].id = (int32_t)(a->tokens[i].flags & ADDED_SPECIAL ? i : i + a->count);
        }
    if (!error && normalized && normalize)
        error = added_rewrite(a, words, count, normalize, user, &written, cause);
    if (!error) {
        qsort(words, count, sizeof *words, added_compare);
        for (i = 0; i < count; i++) {
            words[i].id = (int32_t)((size_t)words[i].id % a->count);
            a->longest = normalized && words[i].size > a->longest ? words[i].size : a->longest;
        }
        error = trie_build(normalized ? &a->normalized : &a->raw, words, count);
    }
    free(words);
    free(written.text);
    return error;
}

/* Makes both. normalize may be NULL: it changes nothing. Returns NULL, or what is wrong, which may live in `cause`. */
static inline const char *added_index(added_tokens *a, added_normalizer normalize, void *user, char cause[ADDED_CAUSE])
{
    const char *error = added_trie(a, 0, normalize, user, cause);
    return error ? error : added_trie(a, 1, normalize, user, cause);
}

/* ---- a walk along a text, past the tokens in it ---- */

typedef struct added_walk {
    const added_tokens *added;
    const trie *found;                                            /* one of its tries */
    text_span text;                                               /* all of it */
    int skips_special;                                            /* special tokens are text */
    int (*hides)(void *user, const trie *found, text_span token); /* whether a special one is; or NULL */
    void *user;
    text_span before; /* what lies before the token, or at the end behind all of them */
    int32_t place;    /* of the token; -1: nothing is left of it, and the library loses it */
    size_t at, done;  /* searched up to there; belongs to no token from there on */
} added_walk;

static inline added_walk added_begin(const added_tokens *added, const trie *found, text_span text)
{
    added_walk w;
    memset(&w, 0, sizeof w);
    w.added = added;
    w.found = found;
    w.text = text_of(text.size ? text.text : "", text.size);
    return w;
}

/* \w: letters, marks, numbers that are digits or letters, what joins words. */
static inline int added_is_word(uint32_t c)
{
    return unicode_is(c, UNICODE_LETTER | UNICODE_MARK | UNICODE_ND | UNICODE_NL) || c == '_' || c == 0x200c ||
           c == 0x200d || c == 0x203f || c == 0x2040 || c == 0x2054 || c == 0xfe33 || c == 0xfe34 ||
           (c >= 0xfe4d && c <= 0xfe4f) || c == 0xff3f || (c >= 0x24b6 && c <= 0x24e9) ||
           (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

/* The character that ends before a byte, and *size its bytes; or that begins there. 0 bytes: there is none. */
static inline uint32_t added_before(text_span t, size_t at, size_t *size)
{
    size_t begin = at;
    uint32_t c = 0;
    while (begin > 0 && ((unsigned char)t.text[--begin] & 0xc0) == 0x80) {
    }
    *size = at - begin;
    if (at)
        unicode_read(t.text + begin, at - begin, &c);
    return c;
}

static inline uint32_t added_behind(text_span t, size_t at, size_t *size)
{
    uint32_t c = 0;
    *size = at < t.size ? unicode_read(t.text + at, t.size - at, &c) : 0;
    return c;
}

/* Goes on to the next token; 0: there is none. Of two that begin at a place the longer is found; they do not overlap,
   but the white space that one takes from behind itself may still hold others. */
static inline int added_next(added_walk *w)
{
    text_span t = w->text;
    size_t begin, end, size;
    while (w->at < t.size && w->found->nodes) {
        int32_t place = trie_longest(w->found, t.text + w->at, t.size - w->at, &size);
        int flags = place >= 0 ? w->added->tokens[place].flags : 0;
        begin = w->at;
        end = w->at += place >= 0 ? size : 1;
        if (place < 0 || (w->skips_special && flags & ADDED_SPECIAL))
            continue;
        if (flags & ADDED_SPECIAL && w->hides && w->hides(w->user, w->found, text_of(t.text + begin, end - begin))) {
            w->at = begin + 1;
            continue;
        }
        if (flags & ADDED_SINGLE_WORD &&
            (added_is_word(added_before(t, begin, &size)) || added_is_word(added_behind(t, end, &size))))
            continue;
        while (flags & ADDED_LSTRIP && begin > w->done && unicode_is_space(added_before(t, begin, &size)))
            begin -= size;
        if (flags & ADDED_LSTRIP && begin < w->done)
            begin = w->done;
        if (flags & ADDED_RSTRIP && end <= w->done)
            end = w->done; /* white space from here to there is known */
        while (flags & ADDED_RSTRIP && unicode_is_space(added_behind(t, end, &size)))
            end += size;
        if (begin > end)
            continue;
        w->before = text_of(t.text + w->done, begin > w->done ? begin - w->done : 0);
        w->place = begin < end ? place : -1;
        w->done = end;
        return 1;
    }
    w->before = text_of(t.text + w->done, t.size > w->done ? t.size - w->done : 0);
    return 0;
}

#endif
