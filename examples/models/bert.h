/* bert.h: BERT encoders (Devlin et al. 2018, arXiv 1810.04805) that make a vector of a text, so that texts of like
   meaning have like vectors (Reimers and Gurevych 2019, arXiv 1908.10084), on attn.h. It takes bert.c, attn.h compiled
   once in the program, and beside this file layers.c, checkpoint.h and wordpiece.h with what these take.

       bert model;
       const char *error = bert_open(&model, "all-MiniLM-L6-v2", NULL);
       if (error) {
           fprintf(stderr, "%s\n", error); // names the file, the tensor or the member, and the cause
           return 1;
       }
       bert_text texts[] = {{"a cat", 5}, {"some kitten", 11}};
       float *vectors = malloc(2 * model.config.dimension * sizeof *vectors);
       if ((error = bert_embed(&model, vectors, texts, 2)) != NULL)
           fprintf(stderr, "%s\n", error);
       bert_close(&model);

   The models: all-MiniLM-L6-v2 and its relatives, as sentence-transformers 2 to 6 publishes them: config.json and
   model.safetensors, vocab.txt or tokenizer.json, and modules.json, sentence_bert_config.json, 1_Pooling/config.json,
   2_Normalize/config.json and config_sentence_transformers.json, which may be missing. What these ask for and is not
   done here is refused by name; members that nobody knows are in files.notes. Weights of F32, F16 and BF16 stay as and
   where they are in the file; numbers in between are float. Texts of a batch stand one after another and are never
   padded: a vector has the same bits on any number of threads and, with model.net.batch_invariant, alone and in any
   batch. bert.c is to be compiled without -ffast-math, as layers.c is. */
#ifndef BERT_H
#define BERT_H

#include "checkpoint.h"
#include "layers.h"
#include "wordpiece.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the states of a text's tokens become its vector: their mean, that of [CLS], or the largest in each dimension. */
typedef enum bert_pooling { BERT_MEAN, BERT_CLS, BERT_MAX } bert_pooling;

/* What the files say, by their names. */
typedef struct bert_config {
    size_t vocab_size, hidden_size, intermediate_size, num_attention_heads, num_hidden_layers;
    size_t max_position_embeddings, type_vocab_size;
    double layer_norm_eps;
    size_t max_seq_length; /* tokens of a text, [CLS] and [SEP] included: bert_embed leaves out what follows */
    bert_pooling pooling;
    int normalize;    /* vectors are of length 1, before they lose what is beyond */
    size_t dimension; /* numbers of a vector: truncate_dim, else hidden_size */
} bert_config;

typedef struct bert_norm {
    const float *weight, *bias; /* [hidden_size] */
} bert_norm;

typedef struct bert_layer {
    checkpoint_linear query, key, value, output; /* of the attention */
    checkpoint_linear up, down;                  /* to intermediate_size and back */
    bert_norm attention_norm, output_norm;       /* after each half has been added to its input */
} bert_layer;

/* Where the time of bert_encode went, in seconds. `now` gives seconds since any time; NULL: no times. The others are
   added to. */
typedef struct bert_times {
    double (*now)(void);
    double products, attention, flops; /* matrix products of layers; attn_sdpa; what the products took */
} bert_times;

typedef struct bert_text {
    const char *text; /* UTF-8; need not end in a NUL */
    size_t size;      /* in bytes */
} bert_text;

typedef struct bert {
    bert_config config;
    wordpiece vocabulary;
    attn_mat words, positions; /* vocab_size and max_position_embeddings x hidden_size */
    const float *type;         /* [hidden_size]: of token type 0, which all tokens have */
    bert_norm norm;
    bert_layer *encoder;
    bert_times times;
    bert_text prompt;          /* what stands before every text: empty after opening, one of these for a search */
    bert_text query, document; /* "query" and "document" of prompts, for questions and for what is to be found */
    size_t tokens, truncated;  /* that bert_embed has read so far; and texts of which it has not read the end */

    /* for bert.c */
    checkpoint files;
    int32_t *ids; /* of a batch of bert_embed */
    size_t *starts;

    layers net; /* net.parallel: threads to use, zero after opening; net.error: the last message */
} bert;

/* Opens the files of a directory; opts may be NULL. Returns NULL or a message "PATH: ..." that lives in the model;
   there is nothing to close then. */
const char *bert_open(bert *model, const char *directory, const checkpoint_opts *opts);
void bert_close(bert *model);

/* The tokens of a text after its prompt, [CLS] first and [SEP] last: writes at most max_seq_length of them to ids,
   which has room for so many, and sets *count. Returns NULL or a message, as do the functions below. */
const char *bert_tokens(bert *model, bert_text text, int32_t *ids, size_t *count);

/* The encoder: states[i][hidden_size] of all tokens of `sequences` texts, one after another: those of text s are
   ids[i], starts[s] <= i < starts[s + 1]; starts[0] is 0. One call at a time for each model. */
const char *bert_encode(bert *model, float *states, const int32_t *ids, const size_t *starts, size_t sequences);

/* vector[hidden_size] of one text from the states of its `count` tokens, at least one: pooled, normalised, whole. It
   may lie where the first of the states does. */
void bert_pool(const bert *model, float *vector, const float *states, size_t count);

/* vectors[i][dimension] of texts, which may be any bytes. */
const char *bert_embed(bert *model, float *vectors, const bert_text *texts, size_t count);

#ifdef __cplusplus
}
#endif
#endif
