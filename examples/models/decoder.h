/* decoder.h: the decoders that everybody runs, on attn.h: Llama 2 and 3, Mistral, Qwen 2 and 3, Gemma 1 to 3, SmolLM,
   and GPT-OSS with one expert. It takes decoder.c, attn.h compiled once in the program, and beside this file
   checkpoint.c with the readers that takes, and layers.c.

       decoder model;
       const char *error = decoder_open(&model, "SmolLM2-135M", NULL);
       decoder_text text;
       float *logits = malloc(model.config.vocab_size * sizeof *logits);
       if (!error)
           error = decoder_begin(&model, &text, 1024, ATTN_F32);               // room for 1024 tokens
       if (!error)
           error = decoder_read(&model, &text, prompt, prompt_count, logits);  // of the token after the prompt
       ... error = decoder_read(&model, &text, &token, 1, logits) ...           // and after each one more
       decoder_end(&model, &text);
       decoder_close(&model);

   Weights of F32, F16 and BF16 stay as and where they are in the file; numbers in between are float. The logits are
   those of transformers 4.57 and 5.24. With model.net.batch_invariant reading a text at once, in pieces or token by
   token gives the same bits, up to 16384 tokens, with a cache of F32, F16 or BF16, but reading takes longer; except
   with a rotation of type "dynamic" once a text outgrows max_position_embeddings: each call then rotates what it reads
   by the length that the text has after it, as transformers does.

   Positions are read as transformers 4 has them (rope_theta, rope_scaling) and as 5 does (rope_parameters), which
   counts where there is no rope_scaling; of a gemma3 both may be there if they agree. What config.json says and would
   change the results, but is not done here, is an error that names it: quantization, more experts than one, other kinds
   of rotation or activations; so is a tensor that nothing asks for. Members that nobody knows are in files.notes. Of
   Gemma 3 with pictures the text part is read, and what sees them is passed over. */
#ifndef DECODER_H
#define DECODER_H

#include "checkpoint.h"
#include "layers.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* model_type of config.json. */
typedef enum decoder_family {
    DECODER_LLAMA,   /* llama: Llama 2, 3, SmolLM */
    DECODER_MISTRAL, /* mistral */
    DECODER_QWEN2,   /* qwen2: 2 and 2.5 */
    DECODER_QWEN3,   /* qwen3 */
    DECODER_GEMMA2,  /* gemma2 */
    DECODER_GEMMA3,  /* gemma3_text, and the text part of gemma3 */
    DECODER_GPT_OSS, /* gpt_oss, num_local_experts 1 */
    DECODER_SMOLLM3, /* smollm3 */
    DECODER_GEMMA    /* gemma */
} decoder_family;

/* What config.json says, by its names. */
typedef struct decoder_config {
    decoder_family family;
    size_t vocab_size, hidden_size, intermediate_size, num_hidden_layers;
    size_t num_attention_heads, num_key_value_heads, head_dim;
    size_t max_position_embeddings;
    double rms_norm_eps, scale; /* scale of scores: 1 / sqrt(head_dim), or of query_pre_attn_scalar */
    double attn_logit_softcapping, final_logit_softcapping; /* 0: none */
    layers_activation activation;
    int tie_word_embeddings; /* the head is the embedding: what the weights have, whatever the config says */

    /* Ids, of generation_config.json; without such a file of config.json, else those that the family has by default. */
    int32_t bos_id, pad_id; /* -1: none */
    int32_t eos_ids[16];    /* what ends a text; eos_token_id is a number or a list */
    size_t eos_count;

    /* How a text is continued by default: what generation_config.json says, or config.json if there is no such file. */
    double temperature;        /* 0: greedy, as without do_sample true; else 1 where nothing is said */
    double top_p;              /* 1: all */
    size_t top_k;              /* 0: all; 50 where do_sample is true and nothing is said, as transformers has it */
    double repetition_penalty; /* of greedy search too; 1: none */
} decoder_config;

typedef struct decoder_block decoder_block; /* a layer's weights: decoder.c */

typedef struct decoder {
    decoder_config config;
    attn_mat embedding, head; /* vocab_size x hidden_size; the same if tied */

    /* for decoder.c */
    checkpoint files;
    decoder_block *blocks;
    struct decoder_rope *ropes; /* two */
    const float *norm;
    int gemma; /* 2 or 3 */

    layers net; /* net.parallel: threads to use, zero after opening; net.error: the last message */
} decoder;

/* A text that is being read or written: keys and values of its tokens in each layer. A layer with a window of W tokens
   keeps W - 1 + 512 at most, as a ring. */
typedef struct decoder_text {
    size_t length, capacity; /* tokens so far, and at most */
    attn_kv_cache *caches;   /* one for each layer */
} decoder_text;

/* Opens config.json, generation_config.json if it is there, and the weights. Returns NULL or a message that lives in
   the model; there is nothing to close then. */
const char *decoder_open(decoder *model, const char *directory, const checkpoint_opts *opts);
void decoder_close(decoder *model);

/* Begins a text without tokens; cache: ATTN_F32, ATTN_F16, ATTN_BF16 or ATTN_I8. decoder_end gives back what it holds,
   after an error too; NULL-safe, and fine for {0}. As all functions below these return NULL, or a message that lives in
   the model; one call at a time for each model. */
const char *decoder_begin(decoder *model, decoder_text *text, size_t capacity, attn_dtype cache);
void decoder_end(decoder *model, decoder_text *text);

/* The text forgets all but its first `len` tokens, so that it can go on otherwise. Where it could not go on as if it had
   just these, it forgets all of them: where a layer's ring has dropped what the next token is to see, and of a "dynamic"
   rotation that had turned slower. text->length says how many are left: len, all if there are fewer, or 0. */
void decoder_truncate(decoder *model, decoder_text *text, size_t len);

/* How many bytes the caches of such a text take; SIZE_MAX if there can be none. */
size_t decoder_cache_size(const decoder *model, size_t capacity, attn_dtype cache);

/* The text takes in `count` tokens, at least one; logits[vocab_size] of the token after the last of them; NULL: not
   wanted. An id that the vocabulary lacks, or more tokens than there is room for: a message, and the text as it was.
   Where memory ran out, the text has the first of them that text->length says, and the call may be made again. */
const char *decoder_read(decoder *model, decoder_text *text, const int32_t *tokens, size_t count, float *logits);

/* The same with logits[count][vocab_size] of the token after each. */
const char *decoder_read_all(decoder *model, decoder_text *text, const int32_t *tokens, size_t count, float *logits);

#ifdef __cplusplus
}
#endif
#endif
