#include "patterns.h"
#include "unicode.h"

#include <string.h>

#define END UINT32_MAX /* no character: the text has ended */

typedef struct span {
    const char *text; /* not ended by a NUL */
    size_t size;
} span;

/* One of a regular expression's, matched by a function of its own: where a match that begins at `at` ends, or `at`. */
struct patterns_regex {
    const char *text; /* as files spell it, with \r and \n for those characters */
    size_t (*match)(const patterns_regex *p, span t, size_t at);
    int contractions;    /* how 's, 't and so on are found: below */
    int cased;           /* a word goes on until capitals follow small letters */
    uint32_t set;        /* categories of its letters, or of its class */
    const char *members; /* ranges of its class, each X-Y */
    size_t most;         /* of numbers together, or of its class; 0: no limit */
    const char *tail;    /* what may follow punctuation, besides CR and LF */
};

enum { NO_CONTRACTIONS, OF_SMALL_LETTERS, OF_ALL_LETTERS, AFTER_WORDS };

/* The character at a byte, and where the next begins. At the end: END, which belongs to no class. */
static uint32_t char_at(span t, size_t at, size_t *next)
{
    uint32_t c;
    if (at >= t.size) {
        *next = at;
        return END;
    }
    if (((c = (unsigned char)t.text[at]) & 0x80) == 0) {
        *next = at + 1;
        return c;
    }
    *next = at + unicode_read(t.text + at, t.size - at, &c);
    return c;
}

static int is_in(uint32_t c, uint32_t set)
{
    return c != END && unicode_is(c, set);
}

static int is_white(uint32_t c)
{
    return c != END && unicode_is_space(c);
}

static int is_newline(uint32_t c)
{
    return c == '\r' || c == '\n';
}

/* [^\s\p{L}\p{N}], with another set of letters if need be. */
static int is_other(uint32_t c, uint32_t letters)
{
    return c != END && !unicode_is(c, letters | UNICODE_LETTER | UNICODE_NUMBER) && !unicode_is_space(c);
}

/* Where characters of a set end, `most` of them if that is not 0. */
static size_t run_of(span t, size_t at, uint32_t set, size_t most)
{
    size_t next, count = 0;
    while ((most == 0 || count < most) && is_in(char_at(t, at, &next), set)) {
        at = next;
        count++;
    }
    return at;
}

static size_t run_of_others(span t, size_t at, uint32_t letters)
{
    size_t next;
    while (is_other(char_at(t, at, &next), letters))
        at = next;
    return at;
}

static size_t run_of_newlines(span t, size_t at, const char *also)
{
    while (at < t.size && t.text[at] && (is_newline((unsigned char)t.text[at]) || strchr(also, t.text[at])))
        at++;
    return at;
}

/* \s+(?!\S)|\s+, and before it \s*[\r\n]+ if wanted: white space up to its last line break; or without its last
   character, which then belongs to what follows. */
static size_t match_spaces(span t, size_t at, int by_lines)
{
    size_t end = at, next, last = at, after_line = at;
    uint32_t c;
    while (is_white(c = char_at(t, end, &next))) {
        last = end;
        end = next;
        if (is_newline(c))
            after_line = end;
    }
    return by_lines && after_line > at ? after_line : end < t.size && last > at ? last : end;
}

/* 's, 't, 're, 've, 'm, 'll, 'd. Without regard to case, U+017F is an s. */
static size_t match_contraction(span t, size_t at, int any_case)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    size_t i, k, next, from;
    if (at >= t.size || t.text[at] != '\'')
        return at;
    for (i = 0; i < sizeof endings / sizeof *endings; i++) {
        for (k = 0, from = at + 1; endings[i][k]; k++, from = next) {
            uint32_t c = char_at(t, from, &next);
            if (any_case)
                c = c >= 'A' && c <= 'Z' ? c + 32 : c == 0x17f ? 's' : c;
            if (c != (unsigned char)endings[i][k])
                break;
        }
        if (!endings[i][k])
            return from;
    }
    return at;
}

/* GPT-2's. */
static size_t match_gpt2(const patterns_regex *p, span t, size_t at)
{
    size_t end = match_contraction(t, at, 0), next, from;
    uint32_t c = char_at(t, at, &next);
    (void)p;
    if (end > at)
        return end;
    from = c == ' ' ? next : at;
    if ((end = run_of(t, from, UNICODE_LETTER, 0)) > from || (end = run_of(t, from, UNICODE_NUMBER, 0)) > from ||
        (end = run_of_others(t, from, 0)) > from)
        return end;
    return match_spaces(t, at, 0);
}

enum {
    CAPITALS = UNICODE_LU | UNICODE_LT | UNICODE_LM | UNICODE_LO | UNICODE_MARK,
    SMALL = UNICODE_LL | UNICODE_LM | UNICODE_LO | UNICODE_MARK
};

/* CAPITALS*SMALL+. The two sets overlap: where no small letter follows the capitals, the last of them that is in both
   is given back to SMALL+, and the match ends behind it. */
static size_t match_small(span t, size_t at)
{
    size_t next, end = at, both = at;
    uint32_t c;
    for (; is_in(c = char_at(t, end, &next), CAPITALS); end = next)
        if (unicode_is(c, SMALL))
            both = next;
    return is_in(c, SMALL) ? run_of(t, end, SMALL, 0) : both;
}

/* CAPITALS+SMALL*. */
static size_t match_capitals(span t, size_t at)
{
    size_t end = run_of(t, at, CAPITALS, 0);
    return end > at ? run_of(t, end, SMALL, 0) : at;
}

/* A word as \p{L}+ or as capitals and small letters, with one character before it that is no letter, number or line
   break. The alternatives of a regular expression are tried in order, each with that character and then without. */
static size_t match_word(const patterns_regex *p, span t, size_t at)
{
    size_t next, end, k, from[2];
    uint32_t c = char_at(t, at, &next);
    from[0] = is_in(c, UNICODE_LETTER | UNICODE_NUMBER) || is_newline(c) ? at : next;
    from[1] = at;
    for (k = 0; k < 2; k++)
        if ((end = p->cased ? match_small(t, from[k]) : run_of(t, from[k], p->set, 0)) > from[k])
            return end;
    for (k = 0; k < 2 && p->cased; k++)
        if ((end = match_capitals(t, from[k])) > from[k])
            return end;
    return at;
}

/* Those of tiktoken's vocabularies since cl100k: Llama 3, Qwen, GPT-OSS, Mistral. */
static size_t match_tiktoken(const patterns_regex *p, span t, size_t at)
{
    size_t next, end = at, from;
    if (p->contractions == OF_ALL_LETTERS && (end = match_contraction(t, at, 1)) > at)
        return end;
    if ((end = match_word(p, t, at)) > at)
        return p->contractions == AFTER_WORDS ? match_contraction(t, end, 1) : end;
    if ((end = run_of(t, at, UNICODE_NUMBER, p->most)) > at)
        return end;
    from = char_at(t, at, &next) == ' ' ? next : at;
    if ((end = run_of_others(t, from, p->set)) > from)
        return run_of_newlines(t, end, p->tail);
    return match_spaces(t, at, 1);
}

/* DeepSeek-V3's: numbers and control characters are not matched. */
static size_t match_deepseek(const patterns_regex *p, span t, size_t at)
{
    enum { LETTERS = UNICODE_LETTER | UNICODE_MARK, SIGNS = UNICODE_P | UNICODE_S };
    size_t next, end, from;
    uint32_t c = char_at(t, at, &next);
    (void)p;
    if (c > ' ' && c < 0x7f && is_in(c, SIGNS)) {
        for (end = next; end < t.size &&
                         ((t.text[end] >= 'A' && t.text[end] <= 'Z') || (t.text[end] >= 'a' && t.text[end] <= 'z'));)
            end++;
        if (end > next)
            return end;
    }
    from = is_newline(c) || is_in(c, UNICODE_LETTER | SIGNS) ? at : next;
    if ((end = run_of(t, from, LETTERS, 0)) > from || (end = run_of(t, at, LETTERS, 0)) > at)
        return end;
    from = c == ' ' ? next : at;
    if ((end = run_of(t, from, SIGNS, 0)) > from)
        return run_of_newlines(t, end, "");
    return match_spaces(t, at, 1);
}

/* A class of categories. */
static size_t match_class(const patterns_regex *p, span t, size_t at)
{
    return run_of(t, at, p->set, p->most);
}

/* \s? and a class. */
static size_t match_spaced_class(const patterns_regex *p, span t, size_t at)
{
    size_t from, end;
    if (!is_white(char_at(t, at, &from)))
        from = at;
    return (end = run_of(t, from, p->set, 0)) > from ? end : at;
}

static int is_member(const char *members, uint32_t c)
{
    size_t size = strlen(members);
    uint32_t first, last;
    if (c == END)
        return 0;
    while (size) {
        size_t n = unicode_read(members, size, &first);
        members += n;
        size -= n;
        last = first;
        if (size > 1 && *members == '-') {
            n = 1 + unicode_read(members + 1, size - 1, &last);
            members += n;
            size -= n;
        }
        if (c >= first && c <= last)
            return 1;
    }
    return 0;
}

/* A class of ranges. */
static size_t match_members(const patterns_regex *p, span t, size_t at)
{
    size_t next, count = 0;
    while ((p->most == 0 || count++ < p->most) && is_member(p->members, char_at(t, at, &next)))
        at = next;
    return at;
}

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define BEFORE_WORD "[^\\r\\n\\p{L}\\p{N}]?"
#define CASED_1 BEFORE_WORD "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
#define CASED_2 BEFORE_WORD "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
#define SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SIGNS_AND_LINES "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define SIGNS_LINES_AND_SLASHES "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*"
#define CJK_OF_2023 "\xe4\xb8\x80-\xe9\xbe\xa5\xe0\xa0\x80-\xe4\xb8\x80\xea\xb0\x80-\xed\x9f\xbf"
#define CJK_OF_2024 "\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f\xe3\x82\xa0-\xe3\x83\xbf"

static const patterns_regex all[] = {
    /* GPT-2; the use_regex of ByteLevel */
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", match_gpt2, 0, 0, 0, "", 0,
     ""},
    /* Llama 3, SmolLM 3, OLMo 2, Phi-4, Granite 4: cl100k */
    {CONTRACTIONS "|" BEFORE_WORD "\\p{L}+|\\p{N}{1,3}" SIGNS_AND_LINES SPACES, match_tiktoken, OF_ALL_LETTERS, 0,
     UNICODE_LETTER, "", 3, ""},
    /* Qwen 2, 2.5, 3 */
    {CONTRACTIONS "|" BEFORE_WORD "\\p{L}+|\\p{N}" SIGNS_AND_LINES SPACES, match_tiktoken, OF_ALL_LETTERS, 0,
     UNICODE_LETTER, "", 1, ""},
    /* MiniCPM 5, behind \p{N}{1,3} */
    {CONTRACTIONS "|" BEFORE_WORD "\\p{L}+|\\p{N}+" SIGNS_AND_LINES SPACES, match_tiktoken, OF_ALL_LETTERS, 0,
     UNICODE_LETTER, "", 0, ""},
    /* Qwen 3.5 */
    {CONTRACTIONS "|" BEFORE_WORD "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" SPACES, match_tiktoken,
     OF_ALL_LETTERS, 0, UNICODE_LETTER | UNICODE_MARK, "", 1, ""},
    /* GPT-OSS, Llama 4: o200k */
    {CASED_1 CONTRACTIONS "?|" CASED_2 CONTRACTIONS "?|\\p{N}{1,3}" SIGNS_LINES_AND_SLASHES SPACES, match_tiktoken,
     AFTER_WORDS, 1, UNICODE_LETTER, "", 3, "/"},
    /* Mistral since Nemo: tekken */
    {CASED_1 "|" CASED_2 "|\\p{N}" SIGNS_LINES_AND_SLASHES SPACES, match_tiktoken, NO_CONTRACTIONS, 1, UNICODE_LETTER,
     "", 1, "/"},
    /* DeepSeek V3, R1 */
    {"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
     "| ?[\\p{P}\\p{S}]+[\\r\\n]*" SPACES,
     match_deepseek, 0, 0, 0, "", 0, ""},
    {"[" CJK_OF_2024 "]+", match_members, 0, 0, 0, CJK_OF_2024, 0, ""},
    /* DeepSeek Coder */
    {"[\\r\\n]", match_members, 0, 0, 0, "\r\n", 1, ""},
    {"\\s?\\p{L}+", match_spaced_class, 0, 0, UNICODE_LETTER, "", 0, ""},
    {"\\s?\\p{P}+", match_spaced_class, 0, 0, UNICODE_P, "", 0, ""},
    {"[" CJK_OF_2023 "]+", match_members, 0, 0, 0, CJK_OF_2023, 0, ""},
    /* parts of several */
    {"\\p{N}", match_class, 0, 0, UNICODE_NUMBER, "", 1, ""},
    {"\\p{N}{1,3}", match_class, 0, 0, UNICODE_NUMBER, "", 3, ""},
    {"\\p{N}+", match_class, 0, 0, UNICODE_NUMBER, "", 0, ""},
    {" ", match_members, 0, 0, 0, " ", 1, ""},
};

const patterns_regex *patterns_at(size_t index)
{
    return index < sizeof all / sizeof *all ? &all[index] : NULL;
}

const patterns_regex *patterns_find(const char *text)
{
    size_t i;
    for (i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].text, text) == 0)
            return &all[i];
    return NULL;
}

const patterns_regex *patterns_gpt2(void)
{
    return &all[0];
}

/* The numbers of Digits are those of Unicode 17, two blocks more than the patterns know. */
static size_t match_number(const patterns_regex *p, span t, size_t at)
{
    size_t next;
    uint32_t c = char_at(t, at, &next);
    (void)p;
    return is_in(c, UNICODE_NUMBER) || (c >= 0x11de0 && c <= 0x11de9) || (c >= 0x16ff4 && c <= 0x16ff6) ? next : at;
}

const patterns_regex *patterns_number(void)
{
    static const patterns_regex number = {"", match_number, 0, 0, 0, "", 0, ""};
    return &number;
}

size_t patterns_match(const patterns_regex *p, const char *text, size_t size, size_t at)
{
    span t;
    t.text = text;
    t.size = size;
    return p->match(p, t, at);
}

int patterns_next(const patterns_regex *p, const char *text, size_t size, size_t at, size_t *begin, size_t *end)
{
    span t;
    size_t next;
    t.text = text;
    t.size = size;
    for (; at < size; at = next) {
        *begin = at;
        *end = p->match(p, t, at);
        if (*end > at)
            return 1;
        char_at(t, at, &next);
    }
    return 0;
}
