/* sample.h: from the logits of a next token to a token: greedy, temperature, top-k, top-p, repetition penalty, in the
   order and with the meaning of transformers' generate(). It takes sample.c: C99 and libc.

       sampler s;
       sample_opts opts = sample_defaults();
       opts.temperature = 0.7;
       opts.top_p = 0.9;
       const char *error = sample_begin(&s, &opts, vocab_size);
       if (!error)
           error = sample_saw(&s, prompt, prompt_count);   // what the repetition penalty strikes
       int32_t id;
       if (!error)
           error = sample_next(&s, logits, &id);           // and so on, with the logits after id
       sample_end(&s);

   Draws depend on the logits, the options and how many there were before: not on threads, nor on a machine's math
   library. Probabilities are whole numbers of parts of 2^-40 of the greatest, so that their sums are exact in any
   order; on machines that fuse multiply and add, one may differ by such a part. What is less likely than that is never
   drawn. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SAMPLE_VOCAB = 1 << 22 }; /* the most tokens of a vocabulary, so that no sum overflows */

/* repetition_penalty is what logits of tokens that were there are divided by; negative ones are multiplied. */
typedef struct sample_opts {
    double temperature;        /* logits are divided by it; 0: greedy, the greatest logit, of these the first */
    size_t top_k;              /* only the k greatest logits, and what equals the last of these; 0: all */
    double top_p;              /* of these only the greatest, until their probabilities reach p; 0 .. 1, 1: all */
    double repetition_penalty; /* above 0; 1: none */
    uint64_t seed;
} sample_opts;

typedef struct sampler {
    sample_opts opts;
    size_t vocab_size;
    uint64_t draws; /* so far: draw n of a seed is the same in every text */

    /* What the last draw was from: a token's probability is weights[id] / total. */
    uint64_t *weights, total;

    /* for sample.c */
    float *scores;       /* logits as they are rewritten */
    unsigned char *seen; /* whether the text has a token */
    char error[128];
} sampler;

/* Greedy, without penalty: temperature 0, top_k 0, top_p 1, repetition_penalty 1, seed 0. */
sample_opts sample_defaults(void);

/* Begins a text. Returns NULL or what is wrong with the options, in s->error; sample_end is fine then, too. */
const char *sample_begin(sampler *s, const sample_opts *opts, size_t vocab_size);
void sample_end(sampler *s);

/* Notes tokens of the text, such as the prompt's. Returns NULL, or a message about an id that the vocabulary lacks. */
const char *sample_saw(sampler *s, const int32_t *ids, size_t count);

/* Forgets all tokens that were noted: what follows is another text. Draws go on. */
void sample_forget(sampler *s);

/* Draws the token after which logits[vocab_size] ask, and notes it. Returns NULL, or a message: NaN or infinity among
   the logits, or all of them -infinity, which means "never" and is legal for some. */
const char *sample_next(sampler *s, const float *logits, int32_t *id);

/* What sample_next begins with: sets weights and total, draws nothing. */
const char *sample_distribute(sampler *s, const float *logits);

/* 64 random bits: number `draw` of a seed. */
uint64_t sample_random(uint64_t seed, uint64_t draw);

#ifdef __cplusplus
}
#endif
#endif
