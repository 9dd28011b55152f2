/* network.h: a T5 that learns: t5.h's network in float, with the way back. It takes network.c, and attn.h compiled once
   in the program. Of the published kinds it is the first: relu, the output projected by the embedding.

       network net;
       tape t = {0};
       float *grads = calloc(net.size, sizeof *grads);     // after network_init(&net, &config, seed)
       double loss = 0;
       const char *error = network_learn(&net, &t, &loss, grads, pairs, count, 1.0 / labels);

   The weights are one array, in which each tensor has its place; the gradient, and what an optimiser keeps, are arrays
   of the same form. Parts of a batch may be learnt at once, each with a tape and a gradient of its own. Compile without
   -ffast-math, which sums in another order. */
#ifndef NETWORK_H
#define NETWORK_H

#include "../t5.h"

/* One of the tensors of the file: rows x cols of weights[at], .. A vector has 1 row. */
typedef struct network_tensor {
    char name[80];
    size_t rows, cols, at;
    double deviation; /* of the random numbers that it begins with; 0: it begins with ones */
} network_tensor;

/* The network is a list of layers, each of which adds to its input: x += out(f(in(norm(x)))). In a block of the encoder
   they are self-attention and feed-forward, in one of the decoder there is attention to the text between them. */
typedef enum network_kind { NETWORK_SELF, NETWORK_CROSS, NETWORK_FEED_FORWARD } network_kind;

typedef struct network_layer {
    network_kind kind;
    size_t norm; /* where its weights begin: d_model of them */
    size_t in;   /* q, k, v one after another, each inner x d_model; or wi, d_ff x d_model */
    size_t out;  /* o, d_model x inner; or wo, d_model x d_ff */
} network_layer;

/* Encoder or decoder. */
typedef struct network_stack {
    network_layer *layers;
    size_t count;
    size_t bias; /* buckets x heads, for the self-attention of all layers */
    size_t norm; /* the last one */
} network_stack;

typedef struct network {
    t5_config config;
    double dropout; /* the part of hidden numbers and of attention's weights that becomes 0 in learning; at first 0 */
    network_tensor *tensors;
    size_t tensor_count;
    network_stack encoder, decoder;
    size_t embedding; /* vocab_size x d_model */
    float *weights;
    size_t size; /* of weights */
} network;

/* A sentence and its translation, both with eos_id at the end. */
typedef struct network_pair {
    const int32_t *source, *target;
    size_t source_len, target_len;
} network_pair;

/* What the way forward keeps for the way back; {0} at first. seed: of dropout, another for every batch. */
typedef struct tape {
    uint64_t seed;
    void *memory, *scratch;
    size_t memory_size;
    struct network_record *records;
    char error[160]; /* the last message of network_learn */
} tape;

/* Number `index` of the sequence of random numbers that belongs to a seed. */
uint64_t network_random(uint64_t seed, uint64_t index);

/* A network with random weights, of the sizes in config. NULL, or a message; there is nothing to free then. */
const char *network_init(network *net, const t5_config *config, uint64_t seed);
void network_free(network *net);

/* *loss += scale times the sum over the words of each target of -log(probability), given the words before it; and grads
   += the gradient of that. count is at least 1, as are all lengths; ids are in the vocabulary. NULL, or a message that
   may live in the tape. */
const char *network_learn(const network *net, tape *t, double *loss, float *grads, const network_pair *pairs,
                          size_t count, double scale);
void tape_free(tape *t);

/* Writes config.json and model.safetensors (bfloat16) into a directory. Returns NULL, or a message. */
const char *network_save(const network *net, const char *directory);

#endif
