/* patterns.h: the regular expressions by which published tokenizers split text before they merge or look up anything:
   those of GPT-2, Llama 3, Qwen, GPT-OSS, Mistral, DeepSeek and others, as "pattern" of a tokenizer.json spells them.
   It takes patterns.c, unicode.c and unicode_tables.h: C99 and libc, nothing allocated.

       const patterns_regex *p = patterns_gpt2();
       size_t at = 0, begin, end;
       while (patterns_next(p, text, size, at, &begin, &end)) {
           if (begin > at)
               printf("between: %.*s\n", (int)(begin - at), text + at);
           printf("match: %.*s\n", (int)(end - begin), text + begin);
           at = end; // what is left behind the last match is between, too
       }

   There is no engine for regular expressions here: each that is known has a function of its own, which reads every
   character a few times at most. Categories and white space are those of unicode.h. Text is UTF-8 of any bytes: one
   that begins no character is read by itself, as a code point that no character has (UNICODE_CN). */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of them: a constant, which any number of threads may use. */
typedef struct patterns_regex patterns_regex;

/* The one that is spelt like this, to the letter, with \r and \n for those characters; NULL: it is not known. */
const patterns_regex *patterns_find(const char *text);

/* All that patterns_find knows, from 0 on; NULL behind the last. */
const patterns_regex *patterns_at(size_t index);

/* GPT-2's, which the use_regex of ByteLevel stands for; and the numbers that Digits finds, each by itself. */
const patterns_regex *patterns_gpt2(void);
const patterns_regex *patterns_number(void);

/* Where a match that begins at byte `at` of a text of `size` bytes ends: at most `size`. `at`: there is none. */
size_t patterns_match(const patterns_regex *p, const char *text, size_t size, size_t at);

/* The next match that begins at byte `at` or later: 1, and its bytes are *begin to *end - 1, at least one; or 0. `at`
   is where a character begins. */
int patterns_next(const patterns_regex *p, const char *text, size_t size, size_t at, size_t *begin, size_t *end);

#ifdef __cplusplus
}
#endif
#endif
