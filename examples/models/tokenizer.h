/* tokenizer.h: the tokenizer of a published decoder, whichever kind it is: tokenizer.json (byte-level BPE and its
   relatives) or, where there is none, tokenizer.model (SentencePiece). It takes tokenizer.c and the readers beside this
   file: bpe.c, sentencepiece.c, unicode.c, json.c. */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include "bpe.h"
#include "sentencepiece.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tokenizer {
    int is_bpe;
    bpe json;            /* of tokenizer.json */
    sentencepiece model; /* of tokenizer.model */
    size_t count;        /* ids are below it */
    char error[512];
} tokenizer;

/* Tokens that grow: ids[count]. {0} at first, and tokenizer_ids_free at the end. */
typedef struct tokenizer_ids {
    int32_t *ids;
    size_t count, capacity;
} tokenizer_ids;

/* Opens the tokenizer of a directory. Returns NULL or a message that lives in tokens->error; nothing to close then. */
const char *tokenizer_open(tokenizer *tokens, const char *directory);
void tokenizer_close(tokenizer *tokens);

/* Appends the tokens of a text, without those that a model puts around texts; in it "<s>" and the like are characters.
   Returns NULL, or "no memory" and *ids as it was; so do the others. */
const char *tokenizer_encode(const tokenizer *tokens, const char *text, size_t size, tokenizer_ids *ids);

/* Appends one id. */
const char *tokenizer_push(tokenizer_ids *ids, int32_t id);
void tokenizer_ids_free(tokenizer_ids *ids);

/* The id of a special token by its spelling, such as "<|im_end|>"; -1 if there is none. */
int32_t tokenizer_special(const tokenizer *tokens, const char *name);

/* The bytes that one token adds to a text, which need not be whole characters; special tokens add none. first: whether
   it is the first of a text, which SentencePiece models drop a space of. Returns the whole size, and writes what fits. */
size_t tokenizer_piece(const tokenizer *tokens, int32_t id, int first, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
