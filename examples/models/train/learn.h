/* learn.h: how a network learns: the gradient of a batch on all processors, and AdamW. It takes learn.c and network.c.

       learner of;
       const char *error = learner_init(&of, &config, seed, pool);
       while (!error && more)
           error = learner_step(&of, pairs, count, 1e-3);  // of.loss, of.norm: of this batch
       learner_free(&of); */
#ifndef LEARN_H
#define LEARN_H

#include "network.h"

enum { LEARN_PARTS = 8, LEARN_SLICES = 16 };

/* A batch is cut into parts and the weights into slices, as many on every machine: the bits of what is learnt do not
   depend on the number of threads. */
typedef struct learner {
    network net;
    uint64_t seed;
    size_t step;       /* how many there have been */
    double loss, norm; /* of the last batch: -log(probability) of a word, the mean; length of the gradient */

    /* for learn.c */
    attn_parallel parallel;
    tape *tapes;            /* of each task */
    float *grads;           /* of each part */
    float *mean, *square;   /* AdamW: of the gradients, running */
    double losses[LEARN_PARTS], squares[LEARN_SLICES];
    const char *errors[LEARN_PARTS];
    const network_pair *pairs;
    size_t count;
    double scale, rate, clip;
} learner;

/* parallel: from attn_pool_new, or all zero. NULL, or a message; there is nothing to free then. */
const char *learner_init(learner *of, const t5_config *config, uint64_t seed, attn_parallel parallel);
void learner_free(learner *of);

/* One step of AdamW along the gradient of the mean loss of a word. NULL, or a message. */
const char *learner_step(learner *of, const network_pair *pairs, size_t count, double rate);

#endif
