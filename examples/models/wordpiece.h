/* wordpiece.h: text to token ids as BERT's tokenizers do it (WordPiece), with the results of the Python packages
   transformers and tokenizers. It takes wordpiece.c, unicode.c, unicode_tables.h, json.c, added.h, trie.h, text.h and
   shown.h: C99 and libc.

       wordpiece model;
       const char *error = wordpiece_open(&model, "all-MiniLM-L6-v2");
       if (error) {
           fprintf(stderr, "%s\n", error); // names the file and the cause
           return 1;
       }
       wordpiece_tokens tokens;
       if (!wordpiece_encode(&model, "How do I reset my password?", 27, &tokens)) {
           for (size_t i = 0; i < tokens.count; i++)
               printf("%d\n", tokens.ids[i]);
           wordpiece_tokens_free(&tokens);
       }
       wordpiece_close(&model);

   Text is cleaned (control characters go, every space becomes ' '), Chinese characters become words of their own,
   accents and upper case go if the model says so; words end at spaces, and each punctuation character is a word. A word
   is cut from its beginning, always into the longest piece that the vocabulary has; pieces after the first are written
   with a prefix, "##". A word that cannot be cut so is one unknown token.

   A search for a piece goes on to the end of its word at most: tokenizer.json may allow words of 1000 characters, so
   4000 bytes; published ones allow 100. One for an added token goes on at most 255 bytes, and 765 in text that is
   cleaned; cleaning makes a text 3 times as large at most.

   Text is UTF-8 of any bytes: a byte that is not valid UTF-8 is taken for U+FFFD, which cleaning drops. An open model
   is read only: any number of threads may use it. Devlin et al.: BERT (2018), arXiv:1810.04805. */
#ifndef WORDPIECE_H
#define WORDPIECE_H

#include "added.h"
#include "text.h"
#include "trie.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef trie_word wordpiece_word; /* text not ended by a NUL, its size in bytes, id */

typedef struct wordpiece {
    int32_t count;                                   /* ids are below it */
    int32_t unk_id, cls_id, sep_id, pad_id, mask_id; /* -1: the vocabulary has none; unk_id always is one */
    int clean_text, chinese_characters, lower_case, strip_accents;
    size_t longest_word; /* in characters: a longer one is unknown */

    /* For wordpiece.c. All tokens by their bytes, and all by their ids; the vocabulary, and where in it continuing
       pieces go on, or UINT32_MAX; tokens such as [MASK], which are found in the text before anything else happens to
       it, or after it has been cleaned. */
    wordpiece_word *words, *by_id;
    size_t word_count;
    trie pieces;
    uint32_t continuing;
    added_tokens added;
    char *text;
    char error[TEXT_ERROR];
    char notes[TEXT_NOTES]; /* what the files have and nobody looks at: lines for the user, each with its LF */
} wordpiece;

/* What a tokenizer is read from; NULL for a file that is not there. As in transformers, the vocabulary is that of
   tokenizer (tokenizer.json) or, if that has none, that of vocab (vocab.txt). How text is cleaned says config
   (tokenizer_config.json), and what it does not say is as in uncased BERT; tokenizer says it if tokenizer_class is none
   of BERT's, or nothing else is there. Where config names no class, model (config.json) may; and where it has no
   added_tokens_decoder, map (special_tokens_map.json) says what special tokens are, and there are those of added
   (added_tokens.json). model->notes has a line if two files say different things, or transformers 5 goes by others. */
typedef struct wordpiece_files {
    const char *vocab, *tokenizer, *config;
    size_t vocab_size, tokenizer_size, config_size;
    const char *model, *map, *added;
    size_t model_size, map_size, added_size;
} wordpiece_files;

typedef struct wordpiece_tokens {
    size_t count;
    int32_t *ids;
} wordpiece_tokens;

/* Opens the tokenizer of a directory, whose vocab.txt or tokenizer.json may be named as well. Returns NULL, or a
   message "DIRECTORY/FILE: ..." that says what is wrong and lives in model->error; there is nothing to close then. */
const char *wordpiece_open(wordpiece *model, const char *directory);

/* The same of files in memory, which need not stay. `name` stands for the directory. */
const char *wordpiece_parse(wordpiece *model, const wordpiece_files *files, const char *name);

/* Gives back everything. */
void wordpiece_close(wordpiece *model);

/* Cuts a text of `size` bytes into tokens, without the [CLS] and [SEP] that models want around it; such tokens that are
   spelt in the text are tokens, as they are to transformers. Returns NULL, or "no memory" and no tokens. */
const char *wordpiece_encode(const wordpiece *model, const char *text, size_t size, wordpiece_tokens *tokens);
void wordpiece_tokens_free(wordpiece_tokens *tokens);

/* The id of a token by its spelling, or -1; and the spelling by the id, whose text is NULL if there is none. */
int32_t wordpiece_id(const wordpiece *model, const char *text, size_t size);
wordpiece_word wordpiece_token(const wordpiece *model, int32_t id);

#ifdef __cplusplus
}
#endif
#endif
