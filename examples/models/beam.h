/* beam.h: greedy and beam search for one text, over the logits of any model: beam.c, C99 and libc. The results are those
   of generate() in Hugging Face's transformers 4.57.

       beam_search search;
       beam_opts opts = beam_defaults();
       const char *error = beam_begin(&search, &opts, vocab_size);
       while (!error && !search.done) {
           ... logits[beams][vocab_size] after search.tokens[beams], of hypotheses that continue search.from[beams] ...
           error = beam_step(&search, logits, log_sums);
       }
       if (!error)
           ... search.best[0].ids, .count and .score ...
       beam_end(&search);

   Each step looks at every continuation of every hypothesis by one token. Of the 2 * beams best, those that end and are
   among the first `beams` are finished; of the others the best `beams` go on. The finished are kept by their score, the
   sum of log-probabilities / length^length_penalty. One beam is greedy search. */
#ifndef BEAM_H
#define BEAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct beam_opts {
    size_t beams;           /* hypotheses, at least 1 */
    size_t max_length;      /* tokens, the start token counted, at least 2 */
    double length_penalty;  /* length: tokens without the start token, with the last one */
    int early_stopping;     /* 1: done when `beams` are finished; 0: not before the others have no chance either */
    size_t no_repeat_ngram; /* no so many tokens in a row twice; 0: off */
    int32_t start_id, eos_id;
    size_t min_length; /* tokens, the start token counted, before which nothing ends; 0: off */
} beam_opts;

typedef struct beam_hypothesis {
    int32_t *ids; /* [count]: without the start token; eos_id is the last, unless the limit came first */
    size_t count;
    float score;
    int finished; /* 0: there is no such hypothesis */
} beam_hypothesis;

typedef struct beam_search {
    const int32_t *tokens; /* [beams]: the newest token of each hypothesis, for the model */
    const size_t *from;    /* [beams]: which hypothesis of the step before each continues */
    const float *scores; /* [beams]: of each hypothesis, the sum of its log-probabilities; below -1e8: there is none */
    int moved;           /* whether from is more than 0, 1, 2, .. */
    int done;
    const beam_hypothesis *best; /* [beams], best first: the finished so far, and when done the result */

    /* for beam.c */
    beam_opts opts;
    size_t vocab_size, length, capacity; /* tokens of each hypothesis, the start token counted; room for so many */
    struct beam_state *state;
} beam_search;

/* 4 beams, 257 tokens with the start, penalty 1, no early stopping, start 0, end 1: what transformers translates with
   where a model's files say nothing. */
beam_opts beam_defaults(void);

/* Begins: tokens are all start_id. Returns NULL, or "no memory" or the option that is out of range, and then there is
   nothing to end. */
const char *beam_begin(beam_search *search, const beam_opts *opts, size_t vocab_size);
void beam_end(beam_search *search); /* NULL-safe, and fine for {0} */

/* Takes the logits of the next token, [beams][vocab_size], and of each row log(sum of exp(logits)). Returns NULL, or "no
   memory", or that the logits are no numbers; then the search is as it was. */
const char *beam_step(beam_search *search, const float *logits, const float *log_sums);

#ifdef __cplusplus
}
#endif
#endif
