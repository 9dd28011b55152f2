/* t5.h: T5, the encoder and decoder of Raffel et al. 2019 (arXiv 1910.10683), on attn.h. It takes t5.c, attn.h compiled
   once in the program, and beside this file layers.c, checkpoint.h, sentencepiece.h and bpe.h with what these take.

       t5 model;
       const char *error = t5_open(&model, "t5-small", NULL);
       if (error) {
           fprintf(stderr, "%s\n", error); // names the file, the tensor or the member, and the cause
           return 1;
       }
       t5_text text = {0}, *one = &text;
       int32_t token = model.config.start_id;
       float *states = malloc(len * model.config.d_model * sizeof *states);    // of int32_t ids[len]
       float *logits = malloc(model.config.vocab_size * sizeof *logits);       // of the next token
       if ((error = t5_encode(&model, states, ids, &len, 1, len)) ||           // what the encoder makes of a text
           (error = t5_begin(&model, &text, states, len, 1)) ||                // becomes keys and values
           (error = t5_decode(&model, &one, 1, &token, 1, logits)))            // for a decoder's steps: this is one
           fprintf(stderr, "%s\n", error);
       t5_end(&model, &text);
       t5_close(&model);

   The models: t5-small and t5-base (relu, the output projected by the embedding), v1_1 and flan-t5 (gated gelu, a head
   of its own), as transformers 4 and 5 save them: config.json, generation_config.json if it is there, model.safetensors
   or its shards, and tokenizer.json or, where there is none, spiece.model. The ids of generation_config.json count; how
   to search is the caller's (translate_settle). What would change the results and is not done here is an error that
   names it; members that nobody knows are in files.notes. Weights of F32, F16 and BF16 stay as and where they are in
   the file; numbers in between are float. beam.h searches, translate.h makes text of text. t5.c is to be compiled
   without -ffast-math, which loses sight of NaN and makes sums depend on addresses. */
#ifndef T5_H
#define T5_H

#include "bpe.h"
#include "checkpoint.h"
#include "layers.h"
#include "sentencepiece.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What config.json says, by its names. inner = num_heads * d_kv need not be d_model. */
typedef struct t5_config {
    size_t vocab_size, d_model, d_kv, d_ff, num_heads, inner;
    size_t num_layers, num_decoder_layers;
    size_t buckets, max_distance; /* relative_attention_num_buckets and _max_distance */
    double epsilon;               /* layer_norm_epsilon */
    int gelu, gated;              /* feed_forward_proj: relu, gated-gelu, .. */
    int tied;                     /* logits are of states times d_model^-0.5, as where the embedding learnt as the head:
                                     scale_decoder_outputs, else tie_word_embeddings with no other head in the file */
    int32_t pad_id, eos_id, start_id;
} t5_config;

/* Matrices are outputs x inputs, of the file's types: x becomes x w^T. */
typedef struct t5_attention {
    attn_mat q, k, v; /* inner x d_model */
    attn_mat o;       /* d_model x inner */
} t5_attention;

/* A block: each part is of norm(x) and added to x. */
typedef struct t5_block {
    const float *self_norm, *cross_norm, *ff_norm; /* [d_model] */
    t5_attention self, cross;                      /* cross: of the decoder alone */
    attn_mat wi, gate;                             /* d_ff x d_model; gate absent unless gated */
    attn_mat wo;                                   /* d_model x d_ff */
} t5_block;

typedef struct t5_stack {
    t5_block *blocks;
    size_t count;
    attn_mat bias;     /* buckets x heads: of the first block, for all */
    const float *norm; /* [d_model]: the last one */
} t5_stack;

/* Who watches attention, and may change it.

   look is shown the weights of each block as they are computed, which live until it returns. Of the encoder they are B x
   heads x L x L, rows past a text's length zeros; of the decoder, text by text, beams x heads x len x (tokens so far),
   and of cross-attention 1 x heads x (beams * len) x source, hypothesis by hypothesis. Without
   `look` nobody is shown any, and nothing is computed for it, nor for the other parts if `cross_alone` is set.

   changes says for each head what becomes of it, [parts][blocks][num_heads] of t5_change, with T5_ENCODER, T5_DECODER
   and T5_CROSS one after the other and as many blocks for each as the larger stack has; NULL: all are as trained. It is
   read at each step, so it lives as long as it is there. A head that is zero adds nothing, as where transformers has 0
   in head_mask, decoder_head_mask or cross_attn_head_mask; its weights are shown as zeros. The weights of a uniform one
   are 1 / (keys that the query may see): the tokens of its text, those of the hypothesis up to its own, or the tokens of
   the source. They hold for what is computed from then on: what a t5_text already has in its caches stays. */
typedef enum t5_part { T5_ENCODER, T5_DECODER, T5_CROSS } t5_part;
typedef enum t5_change { T5_AS_TRAINED, T5_ZERO, T5_UNIFORM } t5_change;
typedef struct t5_watch {
    void (*look)(void *user, t5_part part, size_t block, attn_tensor weights);
    void *user;
    int cross_alone;
    const unsigned char *changes;
} t5_watch;

typedef struct t5 {
    t5_config config;
    sentencepiece vocabulary; /* of spiece.model, with its sentinels: 100, or as many as there are embeddings for */
    bpe tokens;               /* or of tokenizer.json, where there is one: then tokens.count is more than 0 */
    attn_mat embedding, head; /* vocab_size x d_model; the same if tied */
    t5_stack encoder, decoder;
    t5_watch watch; /* zero after opening */

    /* for t5.c */
    checkpoint files;
    json generation;    /* generation_config.json or, where there is none, config.json */
    attn_mat distances; /* heads x (2 reach - 1): the decoder's bias by distance */

    layers net; /* net.parallel: threads to use, zero after opening; net.error: the last message */
} t5;

/* Hypotheses of one text that grow side by side: what the decoder keeps of them. */
typedef struct t5_text {
    size_t beams, length, source; /* hypotheses; tokens of each so far; tokens of the text */
    attn_kv_cache *cross;         /* keys and values of the text in each block: one item, for all hypotheses */
    attn_kv_cache *self;          /* and of the hypotheses' own tokens: `beams` items */
} t5_text;

/* Opens the three files of a directory; opts may be NULL. Returns NULL or a message "PATH: ..." that lives in the
   model; there is nothing to close then. */
const char *t5_open(t5 *model, const char *directory, const checkpoint_opts *opts);
void t5_close(t5 *model);

/* The encoder: states[b][i][d_model] of B texts of lens[b] tokens, 1 to L, ids[b][i]; rows past a length become
   zeros, whatever their ids. With model->net.batch_invariant a text's states have the same bits alone and in any
   batch. One call at a time for each model, as for all functions below; each returns NULL, or a message that lives in
   the model, and then what it was to write is lost: a t5_text can only be ended. */
const char *t5_encode(t5 *model, float *states, const int32_t *ids, const size_t *lens, size_t B, size_t L);

/* Begins `beams` hypotheses of a text whose states are source x d_model, all of them without tokens. t5_end gives back
   what they hold, after an error too; NULL-safe, and fine for {0}. */
const char *t5_begin(t5 *model, t5_text *text, const float *states, size_t source, size_t beams);
void t5_end(t5 *model, t5_text *text);

/* Hypothesis b becomes what hypothesis from[b] was. */
const char *t5_reorder(t5 *model, t5_text *text, const size_t *from);

/* The decoder: each hypothesis of `count` texts takes in `len` tokens. tokens, text by text: [beams][len]; logits, of
   the token after each of them, text by text: [beams][len][vocab_size]. */
const char *t5_decode(t5 *model, t5_text *const *texts, size_t count, const int32_t *tokens, size_t len, float *logits);

#ifdef __cplusplus
}
#endif
#endif
