/* translate.h: text to text with a T5 model: tokens, batches with padding, search, text again. It takes translate.c,
   beam.c, and t5.c with what that takes.

       translate_opts opts = translate_defaults();
       translate_text text = {"The house is wonderful.", 23};
       translation result;
       const char *error = translate(&model, &opts, &text, 1, &result, NULL);
       if (error || result.error[0])
           fprintf(stderr, "%s\n", error ? error : result.error);
       else
           puts(result.text);
       translate_free(&result, 1);

   A text is text: "</s>", "<pad>" and "<unk>" in it are characters, which in transformers are tokens. <extra_id_0> to
   <extra_id_99> are the model's sentinels; other special tokens of a tokenizer.json are tokens, too. */
#ifndef TRANSLATE_H
#define TRANSLATE_H

#include "beam.h"
#include "t5.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct translate_text {
    const char *text; /* UTF-8; need not end in a NUL */
    size_t size;      /* in bytes */
} translate_text;

typedef struct translation {
    char error[64];  /* why this text has no translation, or "". The members below are NULL and 0 then */
    char *text;      /* UTF-8 and a NUL; without unknown pieces, sentinels, and spaces at its ends, as transformers has
                       it (of spiece.model: with the slow tokenizer) */
    size_t size;     /* in bytes */
    int32_t *source; /* the tokens of the text with its prefix, eos_id last */
    size_t source_count;
    int32_t *ids; /* the tokens of the translation: beam_hypothesis */
    size_t count;
    float score;
} translation;

typedef struct translate_opts {
    const char *prefix; /* put before every text: the task */
    size_t max_source;  /* tokens of a text with its prefix, at most */
    beam_opts search;   /* its start_id and eos_id are those of the model */
    /* NULL, or is shown each step of the search for a result, of which there is only the source so far. */
    void (*step)(void *user, const translation *result, const beam_search *search);
    void *user;
} translate_opts;

/* Where the time went. `now` gives seconds since any time; NULL: no times. The others are added to. */
typedef struct translate_times {
    double (*now)(void);
    double encoding, decoding; /* seconds, searching included */
    size_t encoded, decoded;   /* tokens read and written */
} translate_times;

/* "translate English to French: ", 4096 tokens, beam_defaults(). */
translate_opts translate_defaults(void);

/* Of a search what the model's files say, as transformers does: generation_config.json (or config.json, where there is no
   such file), and of config.json what task_specific_params has for this task, such as "translation_en_to_fr"; NULL: for
   the one whose prefix is opts->prefix. What they do not say stays. What they ask for in vain is an error, and a prefix
   that is not opts->prefix is in model->files.notes. Returns NULL or a message that lives in the model. */
const char *translate_settle(t5 *model, const char *task, translate_opts *opts);

/* Translates `count` texts in one batch; each result is that of the text alone, to the last bit of its score with
   model->net.batch_invariant. times may be NULL. Returns NULL, or a message about the whole batch; results are to be
   freed in either case. */
const char *translate(t5 *model, const translate_opts *opts, const translate_text *texts, size_t count,
                      translation *results, translate_times *times);
void translate_free(translation *results, size_t count);

/* Reads a text and its translation, of which there must be one, again, each at once, for model->watch: row i of the
   decoder's weights is of the step that wrote ids[i]. Returns NULL or a message. */
const char *translate_again(t5 *model, const translation *result);

/* How each token of a translation attends to those of its text, in every head of every decoder block:
   weights[blocks][heads][count][source_count]. Returns NULL or a message. */
const char *translate_attention(t5 *model, const translation *result, float *weights);

/* How a token is spelt: a piece, </s>, <extra_id_0>; what the vocabulary lacks as <32100>. Writes at most `size` bytes
   with a NUL and returns the whole length. */
size_t translate_piece(const t5 *model, int32_t id, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
