/* bpe_model.h: a byte-pair encoding in memory, and a text on its way through it, for the parts of bpe.c alone:
   bpe_read.c makes the one of a tokenizer.json; of the other, bpe_split.c makes words, and bpe_merge.c or bpe_unigram.c
   makes tokens of these. Whoever calls bpe.h has no need of it. */
#ifndef BPE_MODEL_H
#define BPE_MODEL_H

#include "added.h"
#include "bpe.h"
#include "charsmap.h"
#include "heap.h"
#include "json.h"
#include "patterns.h"
#include "text.h"
#include "trie.h"
#include "unicode.h"

typedef text_span string;
typedef text_buffer buffer;

enum {
    STEPS = 16,      /* of a normalizer, or of a pre-tokenizer */
    ADDED_MAX = 512, /* bytes of an added token, as the file and as the normalizer writes it: a text may be looked at so
                        far again from each of its bytes */
    LONG = 128,      /* a normalizer makes a text of n bytes GROWTH n + SLACK at most; if it writes an added token */
    GROWTH = 16,     /* with more than LONG bytes, GROWTH_LONG n + SLACK, for then there is more to look at again. */
    GROWTH_LONG = 4, /* Spaces alone become 3 n; U+FDFA alone, which NFKC makes longer than any other, 11 n */
    SLACK = 4096
};

/* ---- a model ---- */

typedef enum behavior { ISOLATED, REMOVED, CONTIGUOUS, WITH_PREVIOUS, WITH_NEXT } behavior;

typedef enum step_kind {
    SPLIT,       /* into what `found` or the literal matches, or white space, and what lies between */
    METASPACE,   /* writes `content` for each space (which is the literal), and in front */
    NORMAL_FORM, /* these and what follows are a normalizer's */
    PREPEND,
    REPLACE,
    RUNS, /* writes `content` for two spaces or more */
    STRIP,
    CHARSMAP,
    LOWER,
    STRIP_ACCENTS,
    NMT
} step_kind;

enum { ALWAYS, FIRST, NEVER };

typedef struct step {
    step_kind kind;
    const patterns_regex *found; /* NULL: the literal */
    string literal, content;
    behavior how;
    int invert;
    int prepend;     /* which texts METASPACE writes one in front of */
    int left, right; /* which ends STRIP takes white space from */
    unicode_form form;
    charsmap map;
} step;

enum { IN_VOCABULARY = 1, ADDED = 2, SPECIAL = 4 };

typedef struct token {
    string text;
    int flags; /* 0: no token has this id */
} token;

typedef struct merge {
    int32_t left, right, id; /* id < 0: an empty slot */
    int32_t rank;
} merge;

enum { SPELLINGS, BYTE_LEVEL, CHARACTERS }; /* what the decoder makes texts from */

typedef struct bpe_model {
    token *tokens;
    size_t room; /* for so many */
    int32_t count;
    char *strings, *next; /* what the file spells, no longer than it writes that; where the next string goes */
    size_t longest;       /* bytes of a token of the vocabulary */
    size_t growth;        /* GROWTH, or GROWTH_LONG */

    text_index index;    /* of tokens */
    merge *merges;       /* a hash table of merges by their two ids */
    uint32_t merge_mask; /* slots less one */

    size_t vocabulary, others; /* tokens of the vocabulary, and those that were added to it */
    double *scores;            /* Unigram: of the vocabulary's pieces, which have the first ids; NULL: BPE */
    double unknown_score;
    trie pieces;

    int ignore_merges, byte_fallback, fuse_unk;
    int32_t unk_id;

    step normalizer[STEPS], cuts[STEPS];
    int normalizer_steps, cut_steps;
    int bytes; /* words are spelt byte by byte */
    int32_t byte_ids[256];
    added_tokens added;

    int decoder;
    string space, blank; /* CHARACTERS: what is written as what */
    int drops_space;     /* Strip: the one that a text begins with */
    int drops_marks;     /* Metaspace: in a text's first token, all that stand for spaces */
    int named_bytes;     /* <0x00> to <0xFF> are bytes */
} bpe_model;

static inline int32_t find_token(const bpe_model *m, string s)
{
    const int32_t *slot = text_index_slot(&m->index, s);
    return slot ? *slot : -1;
}

/* Added tokens that are not in the vocabulary are unknown to the merges. */
static inline int32_t find_in_vocabulary(const bpe_model *m, string s)
{
    int32_t id = s.size > m->longest ? -1 : find_token(m, s);
    return id >= 0 && m->tokens[id].flags & IN_VOCABULARY ? id : -1;
}

/* The slot where the merge of two is, or the empty one where it belongs; NULL: neither is near. */
static inline merge *merge_slot(const bpe_model *m, int32_t left, int32_t right)
{
    uint32_t slot = text_mixed((uint32_t)left * 0x9e3779b1u ^ text_mixed((uint32_t)right)), i;
    for (i = 0; i < TEXT_PROBES; i++, slot++) {
        merge *at = &m->merges[slot & m->merge_mask];
        if (at->id < 0 || (at->left == left && at->right == right))
            return at;
    }
    return NULL;
}

/* ---- bytes as characters: GPT-2's table, in which every byte is one that prints ---- */

static inline int is_printed(uint32_t byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xff && byte != 0xad);
}

/* Writes a byte's character. The others follow one another from U+0100 on: 0 to 32, 127 to 160, 173. */
static inline string character_of(char out[4], char c)
{
    unsigned char byte = (unsigned char)c;
    uint32_t code = is_printed(byte) ? byte : byte <= 32 ? 0x100u + byte : byte <= 160 ? 0x121u + (byte - 127u) : 0x143;
    return text_of(out, unicode_write(out, code));
}

/* ---- a text ---- */

typedef struct symbol {
    int32_t id; /* -1: merged into the one before */
    uint32_t before, next;
} symbol;

/* The best way to cut a word up to a byte. */
typedef struct cut {
    double score;
    size_t begin; /* of the last piece */
    int32_t id;
} cut;

/* What happens to one text. */
typedef struct encoder {
    const bpe_model *model;
    bpe_tokens *tokens;
    size_t room; /* of tokens->ids */
    symbol *symbols;
    heap_pair *heap; /* of symbols that may become one, by what they become */
    size_t symbol_room, heap_room, heap_size;
    cut *cuts;
    size_t cut_room;
    size_t normal_room; /* of what the normalizer may still write */
    buffer normalized, spare, spelled;
    buffer rewritten[STEPS]; /* by METASPACE */
    int skips_special;

    /* Of the text as it is given, and of a part of it as the normalizer writes it: which bytes somebody said, whose
       special tokens are none. NULL: nobody said any, or it is not known yet, as it is seldom asked for. */
    const unsigned char *said;
    string given, part; /* part: of `given`, which is normalized */
    buffer marks;
    const char *error;
} encoder;

static inline void push_id(encoder *e, int32_t id)
{
    if (!text_push(&e->tokens->ids, &e->tokens->count, &e->room, &id, 1))
        e->error = TEXT_NO_MEMORY;
}

/* Fills an empty model, of which the messages begin with the name of the file already. Returns NULL or the message. */
const char *bpe_read(bpe *b, json root);

/* Sets *out to the text as the model's normalizer writes it. *room: the bytes that there may be after any of its steps;
   what they were goes off it. *first: how many bytes of the text come of the first character of all, and then how many
   of *out do. Returns NULL, or what is wrong: a buffer has failed, or the text becomes too large. */
const char *bpe_normalize(const bpe_model *m, string text, buffer *out, buffer *spare, size_t *room, size_t *first);

/* Appends the tokens of a text. first: whether it is the beginning of all. */
void bpe_encode_text(encoder *e, string text, int first);

/* Appends the tokens of a word, which the pre-tokenizer has cut out: of BPE, and of Unigram. */
void bpe_encode_word(encoder *e, string word);
void bpe_cut_word(encoder *e, string word);

/* The token <0x00> to <0xFF> of a byte, or -1. */
int32_t bpe_byte_token(const bpe_model *m, char byte);

/* Makes what pieces are found by, once they are read. Returns NULL, or what is wrong. */
const char *bpe_index_pieces(bpe_model *m);

/* Appends text as the rules of a charsmap write it, until there are more than `most` bytes. */
void bpe_rewrite(const charsmap *map, string text, size_t most, buffer *out);

#endif
