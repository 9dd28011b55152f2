/* tokenizer.h: the tokenizer of a published decoder, whichever kind it is: tokenizer.json (byte-pair encoding) or,
   where there is none, tokenizer.model (SentencePiece); with what tokenizer_config.json says about it. A token that
   only this or, where this has no added_tokens_decoder, added_tokens.json has is not found in texts: one that is not
   special is refused. Text is cut as tokenizer.json says. What transformers 5 cuts otherwise because of tokenizer_class
   and model_type is noted. It takes tokenizer.c and, beside this
   file, bpe.h and sentencepiece.h with what these take.

       tokenizer tokens;
       tokenizer_ids ids = {0};
       const char *error = tokenizer_open(&tokens, "SmolLM2-135M");
       if (!error)
           error = tokenizer_begin(&tokens, &ids);                             // what the model expects before a text
       if (!error)
           error = tokenizer_encode(&tokens, "Once upon a time", 16, 0, &ids);
       ...
       tokenizer_ids_free(&ids);
       tokenizer_close(&tokens); */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include "bpe.h"
#include "json.h"
#include "sentencepiece.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tokenizer {
    int is_bpe;
    bpe json;                    /* of tokenizer.json, */
    sentencepiece model, inside; /* or of tokenizer.model; inside: the same without a space in front of texts */
    trie tags;                   /* special tokens of tokenizer.model */
    size_t count;                /* ids are below it */
    int has_config, has_decoder; /* tokenizer_config.json is there; has added_tokens_decoder */
    int is_gguf;         /* a space goes in front of what follows a special token and has none, as in llama.cpp */
    int is_first;        /* tokenizer.model with "legacy": false: a space goes in front of the first text alone */
    char model_type[32]; /* of config.json; "": nothing is known */
    char cut_as[40];     /* the class by which transformers 5 cuts texts; "": by tokenizer.json */

    /* What stands before and behind every text: what the post_processor of tokenizer.json says; or the bos piece of
       tokenizer.model, of which add_bos_token and add_eos_token of tokenizer_config.json may say otherwise. */
    const int32_t *before, *after;
    size_t before_count, after_count;
    int32_t bos_id, eos_id; /* -1: none is known */

    /* The names that `transformers` knows special tokens by, and their texts in turn, each with a NUL: "bos_token",
       "<s>", ... */
    char *names;
    size_t names_size;
    char *chat_template; /* chat_template.jinja, or that of tokenizer_config.json: text with a NUL. NULL: none */
    text_buffer contents; /* of a GGUF: for tokenizer.c */
    char error[512];
    char notes[4096]; /* what the files have and nobody looks at: lines for the user, each with its LF */
} tokenizer;

/* Tokens that grow: ids[count]. {0} at first, and tokenizer_ids_free at the end. */
typedef struct tokenizer_ids {
    int32_t *ids;
    size_t count, capacity;
} tokenizer_ids;

/* Opens the tokenizer of a directory. Returns NULL, or a message that names the file and the cause and lives in
   tokens->error; nothing to close then. */
const char *tokenizer_open(tokenizer *tokens, const char *directory);
void tokenizer_close(tokenizer *tokens);

/* The last id that a text can have, or that stands before or behind it: special tokens are in no text, and some models
   have fewer tokens than their tokenizer has of these. -1: there is none. */
int32_t tokenizer_last(const tokenizer *tokens);

/* Appends what stands before a text; and what stands behind it. Returns NULL, or "no memory" and *ids as it was; so do
   the others. */
const char *tokenizer_begin(const tokenizer *tokens, tokenizer_ids *ids);
const char *tokenizer_end(const tokenizer *tokens, tokenizer_ids *ids);

/* Appends the tokens of a text, in which special tokens such as "<s>" are characters. inside: it goes on after other
   tokens, so no space is put in front of it that belongs to the beginning of texts. */
const char *tokenizer_encode(const tokenizer *tokens, const char *text, size_t size, int inside, tokenizer_ids *ids);

/* The same of a rendered template, in which special tokens are found unless somebody said a byte of them: one that is
   not 0 in said[size]. */
const char *tokenizer_encode_said(const tokenizer *tokens, const char *text, const unsigned char *said, size_t size,
                                  tokenizer_ids *ids);

/* Appends some ids. */
const char *tokenizer_push(tokenizer_ids *ids, const int32_t *more, size_t count);
void tokenizer_ids_free(tokenizer_ids *ids);

/* The id of a special token by its spelling, such as "<|im_end|>"; -1 if there is none. */
int32_t tokenizer_special(const tokenizer *tokens, const char *name);

/* The bytes that one token adds to a text, which need not be whole characters; special tokens add none. first: whether
   it is the first of a text, which some models drop a space of. Returns the whole size, and writes what fits. */
size_t tokenizer_piece(const tokenizer *tokens, int32_t id, int first, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
