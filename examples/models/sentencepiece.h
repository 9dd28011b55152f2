/* sentencepiece.h: text to token ids and back, with a SentencePiece model (T5's spiece.model; the tokenizer.model of
   Llama 2, Mistral 7B and Gemma) and the results of the SentencePiece library: Unigram, BPE, words and characters. It
   takes sentencepiece.c, charsmap.h, heap.h, trie.h, text.h and shown.h: C99 and libc.

       sentencepiece model;
       const char *error = sentencepiece_open(&model, "spiece.model");
       if (error) {
           fprintf(stderr, "%s\n", error); // names the file and the cause
           return 1;
       }
       sentencepiece_tokens tokens;
       if (!sentencepiece_encode(&model, "The house is wonderful.", 23, &tokens)) {
           for (size_t i = 0; i < tokens.count; i++)
               printf("%d %.*s\n", tokens.ids[i], (int)tokens.pieces[i].size, tokens.pieces[i].text);
           sentencepiece_tokens_free(&tokens);
       }
       sentencepiece_close(&model);

   Models are read more strictly than the library does: known fields must have their wire type, pieces and models a type
   that there is and 512 bytes at most, what a charsmap writes less than 256 bytes, and a file 64 MiB at most; a trie of
   pieces has 16,777,216 nodes at most. A search for pieces goes at most 512 bytes on from each byte of the normalised
   text, and a text of n bytes is refused if that has more than 4 n + 4096 bytes; 16 n + 4096, if no piece has more than
   128 bytes (spaces alone become 3 n; U+FDFA alone, which NFKC makes longer than any other character, 13 n). So these
   searches take 2048 n + 2^21 steps at most, whatever the model.

   Text is UTF-8 of any bytes: each byte that is not valid UTF-8 becomes U+FFFD before the model sees it. An open model
   is read only: any number of threads may use it. Kudo, Richardson: SentencePiece (2018), arXiv:1808.06226. */
#ifndef SENTENCEPIECE_H
#define SENTENCEPIECE_H

#include "charsmap.h"
#include "text.h"
#include "trie.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a model cuts text. */
typedef enum sentencepiece_kind {
    SENTENCEPIECE_UNIGRAM = 1, /* into the pieces whose scores have the greatest sum */
    SENTENCEPIECE_BPE,         /* into characters, then merges those neighbours first that have the highest score */
    SENTENCEPIECE_WORD,
    SENTENCEPIECE_CHARACTER
} sentencepiece_kind;

typedef enum sentencepiece_type {
    SENTENCEPIECE_NORMAL = 1,
    SENTENCEPIECE_UNKNOWN,      /* stands for what no piece spells */
    SENTENCEPIECE_CONTROL,      /* </s> and its like: never in text */
    SENTENCEPIECE_USER_DEFINED, /* kept whole wherever it stands, and not normalised */
    SENTENCEPIECE_UNUSED,
    SENTENCEPIECE_BYTE /* one byte of what no piece spells */
} sentencepiece_type;

typedef text_span sentencepiece_string; /* text not ended by a NUL, and its size in bytes */

typedef struct sentencepiece_piece {
    sentencepiece_string text;
    float score; /* log-probability; under BPE the order of merges, the highest first */
    sentencepiece_type type;
} sentencepiece_piece;

/* How text is rewritten before it is cut, or after it is put together again. */
typedef struct sentencepiece_normalizer {
    charsmap map;
    int add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, space_at_end;
} sentencepiece_normalizer;

typedef struct sentencepiece {
    sentencepiece_kind kind;
    const sentencepiece_piece *pieces; /* by id */
    int32_t count;
    int32_t unk_id, bos_id, eos_id, pad_id; /* -1: the model has none */

    /* Sentinels beyond the pieces, as T5 has 100: <extra_id_k> has the id count + extra_ids - 1 - k. They are split off
       before anything else happens to the text. 0 after opening; set it as the neural model needs, to less than
       2^31 - count. */
    int32_t extra_ids;

    /* For sentencepiece.c. sorted: the sorted_count pieces that text is cut into, by their bytes, then the other_count
       that it is not. Of the first, tree has all under Unigram, symbols the user-defined ones; hashed, but for Unigram:
       their ids by their bytes; longest is the size of the longest. */
    const sentencepiece_piece **sorted;
    int32_t sorted_count, other_count;
    trie tree, symbols;
    text_index hashed;
    int32_t byte_ids[256];
    size_t longest;
    int byte_fallback;
    float unknown_score;
    sentencepiece_string unknown_text; /* what the unknown piece decodes to */
    sentencepiece_normalizer normalizer, denormalizer;
    void *owned, *contents;
    char error[TEXT_ERROR];
} sentencepiece;

/* The tokens of a text. */
typedef struct sentencepiece_tokens {
    size_t count;
    int32_t *ids;
    sentencepiece_string *pieces; /* how each is spelt: its piece, or the text that no piece spells */
    char *normalized;             /* the text as it was cut, one token after another */
    size_t normalized_size;
} sentencepiece_tokens;

/* Opens a model. Returns NULL, or a message "PATH: ..." that says what is wrong, which lives in model->error; there is
   nothing to close then. */
const char *sentencepiece_open(sentencepiece *model, const char *path);

/* The same of `size` bytes in memory, which must stay until the model is closed. `name` stands for the path. */
const char *sentencepiece_parse(sentencepiece *model, const void *bytes, size_t size, const char *name);

/* Makes the user-defined pieces of these names, which NULL ends, control pieces, as if the model said so: no text has
   them any more. Some models have the tags of conversations so, which no user is to write. Returns NULL, or what is
   wrong, and the model is closed then: no memory, or there are no other pieces. */
const char *sentencepiece_reserve(sentencepiece *model, const char *const *names);

/* Gives back everything. */
void sentencepiece_close(sentencepiece *model);

/* Cuts a text of `size` bytes into tokens, without bos and eos. Returns NULL, or what is wrong (no memory, a text that
   normalising makes too large) and no tokens. */
const char *sentencepiece_encode(const sentencepiece *model, const char *text, size_t size,
                                 sentencepiece_tokens *tokens);
void sentencepiece_tokens_free(sentencepiece_tokens *tokens);

/* The text of tokens, to be freed: *size bytes and a NUL. Control pieces have none; a sentinel has its name, with a
   space to either side. Returns NULL, or what is wrong (an id that the model does not have, no memory, a text that a
   denormalizer makes too large), and no text. */
const char *sentencepiece_decode(const sentencepiece *model, const int32_t *ids, size_t count, char **text,
                                 size_t *size);

/* What one piece adds to a text that is written piece by piece: its spelling with a space for each U+2581, the byte of
   a byte piece, nothing for a control piece and for an id that is no piece. These need not be whole characters. first:
   no pieces but control ones came before it; then the space that encoding put in front of the text is left out. Returns
   how many bytes there are, and writes what fits into `size` bytes at `out`. Together they are what decoding gives, but
   for bytes that are no UTF-8, for a denormalizer, and for more spaces in front of the text of a model that removes
   extra ones. */
size_t sentencepiece_piece_bytes(const sentencepiece *model, int32_t id, int first, char *out, size_t size);

/* The id of a piece or a sentinel by its spelling, or unk_id. */
int32_t sentencepiece_id(const sentencepiece *model, const char *piece, size_t size);

#ifdef __cplusplus
}
#endif
#endif
