/* unicode.h: what tokenizers ask of Unicode: code points, their categories, lower case, composed and decomposed forms.
   It takes unicode.c and unicode_tables.h: C99 and libc, nothing allocated.

       uint32_t code;
       for (size_t at = 0; at < size; at += unicode_read(text + at, size - at, &code))
           if (unicode_is(code, UNICODE_LETTER)) ...

   Published tokenizers are made and run with the Python package `tokenizers`, and what it says of a code point is said
   here. Its parts know different versions of Unicode: categories are those of 16.0, lower case is that of 17.0, normal
   forms are those of 9.0 (characters that came later have none and do not combine), BERT's categories those of 8.0. */
#ifndef UNICODE_H
#define UNICODE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* General categories, one bit each, so that a class is a set: \p{L} is UNICODE_LETTER. */
enum {
    UNICODE_LU = 1 << 0,  /* letters: upper case, */
    UNICODE_LL = 1 << 1,  /* lower, */
    UNICODE_LT = 1 << 2,  /* title, */
    UNICODE_LM = 1 << 3,  /* modifier, */
    UNICODE_LO = 1 << 4,  /* other */
    UNICODE_MN = 1 << 5,  /* marks: nonspacing, */
    UNICODE_MC = 1 << 6,  /* spacing, */
    UNICODE_ME = 1 << 7,  /* enclosing */
    UNICODE_ND = 1 << 8,  /* numbers: decimal, */
    UNICODE_NL = 1 << 9,  /* letter, */
    UNICODE_NO = 1 << 10, /* other */
    UNICODE_P = 1 << 11,  /* punctuation, all kinds */
    UNICODE_S = 1 << 12,  /* symbols, all kinds */
    UNICODE_Z = 1 << 13,  /* separators, all kinds */
    UNICODE_CC = 1 << 14, /* control characters, */
    UNICODE_CF = 1 << 15, /* of format, */
    UNICODE_CO = 1 << 16, /* of private use, */
    UNICODE_CN = 1 << 17, /* and code points that no character has; surrogates too */
    UNICODE_LETTER = UNICODE_LU | UNICODE_LL | UNICODE_LT | UNICODE_LM | UNICODE_LO,
    UNICODE_MARK = UNICODE_MN | UNICODE_MC | UNICODE_ME,
    UNICODE_NUMBER = UNICODE_ND | UNICODE_NL | UNICODE_NO
};

/* Reads the code point that `size` bytes of UTF-8 begin with, size at least 1, and returns how many bytes it has. A
   byte that begins none is read by itself, as UNICODE_INVALID + that byte. */
enum { UNICODE_INVALID = 0x110000 };
size_t unicode_read(const char *text, size_t size, uint32_t *code);

/* Writes a code point and returns how many bytes, 1 to 4; UNICODE_INVALID + byte gives that byte. */
size_t unicode_write(char out[4], uint32_t code);

/* The bit of its category; and whether it is one of a set's. Above U+10FFFF: UNICODE_CN. */
uint32_t unicode_category(uint32_t code);
int unicode_is(uint32_t code, uint32_t set);

/* White_Space: what \s of the patterns of published tokenizers matches. */
int unicode_is_space(uint32_t code);

/* The same to BERT's tokenizer, for the sets that it asks about: UNICODE_MN, UNICODE_P, and UNICODE_CC | UNICODE_CF |
   UNICODE_CO together. Characters that came after Unicode 8.0 are in none of these. */
uint32_t unicode_bert_category(uint32_t code);

/* Whether it is a mark that "StripAccents" drops, which is what Unicode 9.0 knows as UNICODE_MARK. */
int unicode_is_accent(uint32_t code);

/* Lower case, one to three code points; returns how many. The end of a word is no matter: U+03A3 gives U+03C3. */
size_t unicode_lower(uint32_t code, uint32_t out[3]);

/* Normal forms of UTF-8: returns the size of the result, of which it has written what fits into `capacity` bytes, whole
   code points only. Bytes that are no UTF-8 stay as they are. */
typedef enum unicode_form { UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC, UNICODE_NFKD } unicode_form;
size_t unicode_normalize(unicode_form form, const char *text, size_t size, char *out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
