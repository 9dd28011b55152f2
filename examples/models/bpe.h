/* bpe.h: text to token ids and back, with the byte-pair encoding or the Unigram model of a tokenizer.json as the
   `tokenizers` library of Hugging Face writes it, and with that library's results. It takes bpe.c and its parts
   (bpe_model.h, bpe_read.c, bpe_split.c, bpe_merge.c, bpe_unigram.c), json.c, patterns.c, unicode.c, unicode_tables.h,
   added.h, charsmap.h, heap.h, text.h, trie.h and shown.h: C99 and libc.

       bpe model;
       const char *error = bpe_open(&model, "tokenizer.json");
       if (error) {
           fprintf(stderr, "%s\n", error); // names the file and the cause
           return 1;
       }
       bpe_tokens tokens;
       if (!bpe_encode(&model, "The house is wonderful.", 23, &tokens)) {
           for (size_t i = 0; i < tokens.count; i++)
               printf("%d\n", tokens.ids[i]);
           bpe_tokens_free(&tokens);
       }
       bpe_close(&model);

   Three kinds of model are read: byte-level ones, whose tokens spell bytes (GPT-2, Llama 3, Qwen, SmolLM, StarCoder,
   Mistral since Nemo, GPT-OSS, DeepSeek), and those that SentencePiece trained, whose tokens spell characters, with
   U+2581 for a space (Llama 2, Mistral 7B, Gemma, TinyLlama, Phi-3), and Unigram ones (T5). Where the library differs
   from SentencePiece, this is as the library: the rules of a charsmap are for whole clusters of characters, and scores
   are rounded twice. T5's sentinels <extra_id_0> and so on are found in every text. A file that asks for anything that
   is not known here, such as another pattern to split text by, is refused; members that nobody knows are in `notes`.
   "truncation" and "padding" are not looked at: transformers cuts and pads only where it is asked to.

   Text is UTF-8 of any bytes: each byte that is not valid UTF-8 becomes U+FFFD before the model sees it. An open model
   is read only: any number of threads may use it. Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words
   with Subword Units (2016), arXiv:1508.07909.

   A search for an added token, or for a piece of Unigram, goes at most 512 bytes on from each byte of the text, and of
   the text as the normalizer writes it. One of n bytes is refused if that is more than 4 n + 4096 bytes; 16 n + 4096,
   if no added token that is looked for then has more than 128 bytes (spaces alone become 3 n; U+FDFA alone, which NFKC
   makes longer than any other character, 11 n). So these searches take 2560 n + 2^21 steps at most, whatever the model;
   3 times that where the text is not UTF-8. */
#ifndef BPE_H
#define BPE_H

#include "json.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The tokens of a text. */
typedef struct bpe_tokens {
    int32_t *ids;
    size_t count;
} bpe_tokens;

typedef struct bpe {
    int32_t count;  /* ids are below it; some may belong to no token */
    int32_t unk_id; /* of what stands for unknown text; -1: there is none */

    /* What the model expects before and after a text, such as the id of <|begin_of_text|>: of the "single" template of
       post_processor. */
    bpe_tokens before, after;

    int space_first; /* whether a text gets a space, or what stands for one, in front */
    int byte_level;  /* whether the pre_tokenizer is ByteLevel and nothing else */
    int bytes;       /* or ends with it */
    int made_for;    /* BPE_OF_LLAMA and so on: the classes that cut text as this file says, whatever it says */

    struct bpe_model *model; /* for bpe.c */
    char error[512];
    char notes[4096]; /* what the file has and nobody looks at: lines for the user, each with its LF */
} bpe;

/* Classes of transformers 5 that make a normalizer and a pre_tokenizer of their own; of space_first nothing is said.
   BPE_OF_LEGACY: of a Llama, the space is put in front of what follows each special token, too; BPE_OF_SPACES: and in
   front of a text that begins with one. */
enum { BPE_OF_LLAMA = 1, BPE_OF_GEMMA = 2, BPE_OF_QWEN2 = 4, BPE_OF_LEGACY = 8, BPE_OF_SPACES = 16, BPE_OF_GPT2 = 32 };

/* Opens a tokenizer.json. Returns NULL, or a message "PATH: ..." that says what is wrong, which lives in model->error;
   there is nothing to close then. */
const char *bpe_open(bpe *model, const char *path);

/* The same of `size` bytes in memory, which need not stay. `name` stands for the path. */
const char *bpe_parse(bpe *model, const void *bytes, size_t size, const char *name);

/* What added_tokens_decoder of tokenizer_config.json, an object, says of tokens that the model has: they become added
   tokens, and the flags are those that it gives, as in transformers. Others are passed over. name: the file's. Returns
   NULL or the message; the model is still to be closed then. */
const char *bpe_amend(bpe *model, json tokens, const char *name);

/* Gives back everything. */
void bpe_close(bpe *model);

/* Cuts a text of `size` bytes into tokens, without those before and after it. Special tokens are never found in it:
   "<|im_end|>" is ten characters, whoever wrote it. Added tokens that are not special are found. Returns NULL, or what
   is wrong (no memory, a text of more than 1 GiB, one that the normalizer makes too large) and no tokens. */
const char *bpe_encode(const bpe *model, const char *text, size_t size, bpe_tokens *tokens);

/* The same otherwise: */
enum {
    BPE_SPECIAL = 1, /* special tokens in the text are found, as `tokenizers` finds them */
    BPE_INSIDE = 2   /* the text stands behind a special token: no space that belongs to the beginning of all alone */
};
const char *bpe_encode_as(const bpe *model, const char *text, size_t size, int flags, bpe_tokens *tokens);

/* The same as with BPE_SPECIAL, but no special token is found that has a byte which somebody said: one that is not 0 in
   said[size]. */
const char *bpe_encode_said(const bpe *model, const char *text, const unsigned char *said, size_t size,
                            bpe_tokens *tokens);
void bpe_tokens_free(bpe_tokens *tokens);

/* The text of tokens, to be freed: *size bytes and a NUL. Special tokens have none; what is not UTF-8 becomes U+FFFD.
   Returns NULL, or what is wrong (an id that the model does not have, no memory), and no text. */
const char *bpe_decode(const bpe *model, const int32_t *ids, size_t count, char **text, size_t *size);

/* The bytes that one token adds to a text, which need not be whole characters; special tokens add none, nor does an id
   that the model does not have. first: whether it is the first of a text, of which some models drop a space. Returns
   the whole size, and writes what fits into `size` bytes. */
size_t bpe_piece(const bpe *model, int32_t id, int first, char *out, size_t size);

/* How the file spells a token: *size bytes without a NUL, which live in the model. NULL if there is no such token. */
const char *bpe_spelling(const bpe *model, int32_t id, size_t *size);

/* The id of a token by how the file spells it, such as "<|im_end|>"; -1 if there is none. */
int32_t bpe_id(const bpe *model, const char *spelling, size_t size);

/* Whether an id is a special token's; and whether it is one of an added token, special or not. */
int bpe_is_special(const bpe *model, int32_t id);
int bpe_is_added(const bpe *model, int32_t id);

#ifdef __cplusplus
}
#endif
#endif
