/* network.c: see network.h. First the weights; then the steps with their way back, a layer, the whole; last the files.
   A gradient is named after what it is of, with a d before it: dx says how the loss changes with each number of x. */
#include "network.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH = 8 << 20 }; /* for attn.h, of each tape; memory that is never touched costs nothing */

/* ==== Chance ===================================================================================================== */

/* Number `index` of the sequence that belongs to a seed: splitmix64, Steele, Lea, Flood 2014. */
uint64_t network_random(uint64_t seed, uint64_t index)
{
    uint64_t x = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Above 0, at most 1. */
static double uniform(uint64_t seed, uint64_t index)
{
    return ((double)(network_random(seed, index) >> 11) + 1) / 9007199254740992.0;
}

/* Mean 0, variance 1: Box, Muller 1958. */
static double normal(uint64_t seed, uint64_t index)
{
    return sqrt(-2 * log(uniform(seed, 2 * index))) * cos(6.283185307179586 * uniform(seed, 2 * index + 1));
}

/* ==== Weights ==================================================================================================== */

/* One more tensor; returns where it begins. Its weights are random, deviation from 0; with deviation 0 they are 1. */
static size_t tensor(network *net, size_t rows, size_t cols, double deviation, const char *format, ...)
{
    network_tensor *added = &net->tensors[net->tensor_count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(added->name, sizeof added->name, format, arguments);
    va_end(arguments);
    added->rows = rows;
    added->cols = cols;
    added->at = net->size;
    added->deviation = deviation;
    net->size += rows * cols;
    return added->at;
}

static void add_layer(network *net, network_stack *stack, network_kind kind, const char *name, size_t block)
{
    static const char *const kinds[] = {"SelfAttention", "EncDecAttention", "DenseReluDense"};
    const t5_config *c = &net->config;
    network_layer *layer = &stack->layers[stack->count++];
    size_t d = c->d_model, inner = c->inner, part = stack->count - 1 - block * (stack == &net->encoder ? 2 : 3);
    double by_d = 1 / sqrt((double)d);
    char path[64];
    snprintf(path, sizeof path, "%s.block.%lu.layer.%lu", name, (unsigned long)block, (unsigned long)part);
    layer->kind = kind;
    if (kind == NETWORK_FEED_FORWARD) {
        layer->in = tensor(net, c->d_ff, d, by_d, "%s.%s.wi.weight", path, kinds[kind]);
        layer->out = tensor(net, d, c->d_ff, 1 / sqrt((double)c->d_ff), "%s.%s.wo.weight", path, kinds[kind]);
    } else {
        layer->in = tensor(net, inner, d, by_d / sqrt((double)c->d_kv), "%s.%s.q.weight", path, kinds[kind]);
        tensor(net, inner, d, by_d, "%s.%s.k.weight", path, kinds[kind]); /* behind q, and v behind it: one matrix */
        tensor(net, inner, d, by_d, "%s.%s.v.weight", path, kinds[kind]);
        layer->out = tensor(net, d, inner, 1 / sqrt((double)inner), "%s.%s.o.weight", path, kinds[kind]);
    }
    layer->norm = tensor(net, 1, d, 0, "%s.layer_norm.weight", path);
}

static void add_stack(network *net, network_stack *stack, const char *name, size_t blocks)
{
    const t5_config *c = &net->config;
    for (size_t block = 0; block < blocks; block++) {
        add_layer(net, stack, NETWORK_SELF, name, block);
        if (stack == &net->decoder)
            add_layer(net, stack, NETWORK_CROSS, name, block);
        add_layer(net, stack, NETWORK_FEED_FORWARD, name, block);
    }
    stack->bias = tensor(net, c->buckets, c->num_heads, 1 / sqrt((double)c->d_model),
                         "%s.block.0.layer.0.SelfAttention.relative_attention_bias.weight", name);
    stack->norm = tensor(net, 1, c->d_model, 0, "%s.final_layer_norm.weight", name);
}

void network_free(network *net)
{
    free(net->tensors);
    free(net->encoder.layers);
    free(net->decoder.layers);
    free(net->weights);
    memset(net, 0, sizeof *net);
}

const char *network_init(network *net, const t5_config *config, uint64_t seed)
{
    size_t count = 2 * config->num_layers + 3 * config->num_decoder_layers;
    if (config->gated || config->gelu || !config->tied)
        return "a T5 that learns has relu and tied embeddings";
    memset(net, 0, sizeof *net);
    net->config = *config;
    net->tensors = (network_tensor *)calloc(5 * count + 5, sizeof *net->tensors);
    net->encoder.layers = (network_layer *)calloc(count, sizeof *net->encoder.layers);
    net->decoder.layers = (network_layer *)calloc(count, sizeof *net->decoder.layers);
    if (net->tensors && net->encoder.layers && net->decoder.layers) {
        net->embedding = tensor(net, config->vocab_size, config->d_model, 1, "shared.weight");
        add_stack(net, &net->encoder, "encoder", config->num_layers);
        add_stack(net, &net->decoder, "decoder", config->num_decoder_layers);
        net->weights = (float *)calloc(net->size, sizeof *net->weights);
    }
    if (!net->weights) {
        network_free(net);
        return "no memory";
    }
    for (const network_tensor *t = net->tensors; t < net->tensors + net->tensor_count; t++)
        for (size_t i = t->at; i < t->at + t->rows * t->cols; i++)
            net->weights[i] = t->deviation > 0 ? (float)(t->deviation * normal(seed, i)) : 1;
    return NULL;
}

/* ==== A pass: forward and back =================================================================================== */

/* What a layer leaves for the way back; rows are those of its stack, B texts of `len`. */
struct network_record {
    float *x;   /* d_model: its input */
    float *h;   /* d_model: norm(x) */
    float *q;   /* inner: queries; in self-attention 3 inner: q, k, v side by side */
    float *kv;  /* 2 inner: k, v of the text, for attention to it */
    float *a;   /* inner: what attention made of them; or d_ff: the hidden numbers of feed-forward */
    float *lse; /* num_heads: attn_sdpa's log of the sum of exp */
};

/* A stack at work. */
typedef struct side {
    const network_stack *stack;
    struct network_record *records; /* of each layer; and one more, of which x is what the last one gave */
    size_t len, rows;               /* the longest text; B len */
    size_t *lens;
    float *bias;                    /* num_heads x (2 len - 1): of a key at a distance from its query */
    float *states, *dstates;        /* d_model: the last norm */
    float *dx;                      /* d_model: the gradient of that x which the way back has come to */
} side;

typedef struct pass {
    const network *net;
    const network_pair *pairs;
    size_t count;
    side encoder, decoder;
    float *grads;
    float *dh, *dy, *da, *dq; /* gradients of h; of what a layer adds; of a; of q, k, v, where attention has them */
    float *dbias, *dtable;    /* by distance; by bucket */
    float *logits;            /* vocab_size: the decoder's, then their gradient */
    double loss, scale;
    uint64_t seed;
    attn_ctx ctx;
    attn_status status; /* the first error, */
    attn_fault fault;   /* and the argument that it speaks of, where the function takes ctx */
    char *memory;       /* of the tape; NULL while it is measured */
    size_t used;
} pass;

static void *take(pass *p, size_t count, size_t size)
{
    void *memory = p->memory ? p->memory + p->used : NULL;
    p->used += (count * size + 63) / 64 * 64;
    return memory;
}

static float *take_floats(pass *p, size_t rows, size_t cols)
{
    return (float *)take(p, rows * cols, sizeof(float));
}

static void note(pass *p, attn_status status)
{
    if (p->status == ATTN_OK && status != ATTN_OK) {
        p->status = status;
        p->ctx.fault = NULL; /* later ones are its consequences */
    }
}

/* NULL, or what the first error was. */
static const char *message(const pass *p, char *text, size_t size)
{
    const char *argument = p->fault.argument, *other = p->fault.other;
    if (p->status == ATTN_OK)
        return NULL;
    snprintf(text, size, "%s%s%s%s%s", argument ? argument : "", other ? ", " : "", other ? other : "",
             argument ? ": " : "", attn_status_string(p->status));
    return text;
}

/* ---- steps: each with its way back ---- */

static attn_mat matrix(const float *data, size_t rows, size_t cols)
{
    return attn_mat_of(data, ATTN_F32, rows, cols);
}

/* y = x w^T, for w outputs x inputs.   Back: dw += dy^T x;  dx = dy w, or dx += that. */
static void project(pass *p, float *y, const float *x, size_t rows, size_t at, size_t outputs, size_t inputs)
{
    attn_mat w = matrix(p->net->weights + at, outputs, inputs);
    note(p, attn_matmul_ctx(matrix(y, rows, outputs), matrix(x, rows, inputs), attn_mat_t(w), 1, &p->ctx));
}

static void project_back(pass *p, float *dx, int add, const float *dy, const float *x, size_t rows, size_t at,
                         size_t outputs, size_t inputs)
{
    attn_mat w = matrix(p->net->weights + at, outputs, inputs), dw = matrix(p->grads + at, outputs, inputs);
    attn_mat y = matrix(dy, rows, outputs), out = matrix(dx, rows, inputs);
    note(p, attn_matmul_add(dw, attn_mat_t(y), matrix(x, rows, inputs), 1, &p->ctx));
    note(p, add ? attn_matmul_add(out, y, w, 1, &p->ctx) : attn_matmul_ctx(out, y, w, 1, &p->ctx));
}

/* What RMS norm multiplies a row by: 1 / sqrt(mean of x^2 + epsilon). */
static float norm_factor(const pass *p, const float *x)
{
    size_t d = p->net->config.d_model;
    float sum = 0;
    for (size_t i = 0; i < d; i++)
        sum += x[i] * x[i];
    return 1 / sqrtf(sum / (float)d + (float)p->net->config.epsilon);
}

/* h = x f w, f = norm_factor(x).   Back: dw += dh x f;  dx += f (dh w - x f^2 mean of (dh w x)). */
static void norm(const pass *p, float *h, const float *x, size_t rows, size_t at)
{
    const float *w = p->net->weights + at;
    size_t d = p->net->config.d_model;
    for (size_t r = 0; r < rows; r++, x += d, h += d) {
        float f = norm_factor(p, x);
        for (size_t i = 0; i < d; i++)
            h[i] = x[i] * f * w[i];
    }
}

static void norm_back(const pass *p, float *dx, const float *dh, const float *x, size_t rows, size_t at)
{
    const float *w = p->net->weights + at;
    float *dw = p->grads + at;
    size_t d = p->net->config.d_model;
    for (size_t r = 0; r < rows; r++, x += d, dh += d, dx += d) {
        float f = norm_factor(p, x), mean = 0;
        for (size_t i = 0; i < d; i++)
            mean += dh[i] * w[i] * x[i];
        mean *= f * f / (float)d;
        for (size_t i = 0; i < d; i++) {
            dw[i] += dh[i] * x[i] * f;
            dx[i] += f * (dh[i] * w[i] - x[i] * mean);
        }
    }
}

/* Each number becomes 0 with the probability of dropout, or 1 / (1 - p) times as large: its place says which. Back: the
   same to the gradient. */
static void drop(const pass *p, float *x, size_t count, uint64_t place)
{
    double dropped = p->net->dropout;
    uint64_t seed = network_random(p->seed, place);
    for (size_t i = 0; dropped > 0 && i < count; i++)
        x[i] = uniform(seed, i) > dropped ? x[i] / (float)(1 - dropped) : 0;
}

static uint64_t place_of(const pass *p, const side *s, size_t layer, int what)
{
    return 4 * (layer + (s == &p->decoder ? p->encoder.stack->count + 1 : 0)) + (uint64_t)what;
}

/* The tokens that a stack reads; the decoder those of the target, one later. */
static int32_t token(const pass *p, const side *s, size_t text, size_t i)
{
    if (s == &p->encoder)
        return p->pairs[text].source[i];
    return i > 0 ? p->pairs[text].target[i - 1] : p->net->config.start_id;
}

/* Rows of the embedding; past a text's end, zeros: they stay zeros in every layer, and so do their gradients. */
static void embed(const pass *p, const side *s)
{
    size_t d = p->net->config.d_model;
    float *x = s->records[0].x;
    memset(x, 0, s->rows * d * sizeof *x);
    for (size_t b = 0; b < p->count; b++)
        for (size_t i = 0; i < s->lens[b]; i++)
            memcpy(x + (b * s->len + i) * d, p->net->weights + p->net->embedding + (size_t)token(p, s, b, i) * d,
                   d * sizeof *x);
    drop(p, x, s->rows * d, place_of(p, s, s->stack->count, 0));
}

static void embed_back(const pass *p, const side *s)
{
    size_t d = p->net->config.d_model;
    drop(p, s->dx, s->rows * d, place_of(p, s, s->stack->count, 0));
    for (size_t b = 0; b < p->count; b++)
        for (size_t i = 0; i < s->lens[b]; i++) {
            float *row = p->grads + p->net->embedding + (size_t)token(p, s, b, i) * d;
            for (size_t j = 0; j < d; j++)
                row[j] += s->dx[(b * s->len + i) * d + j];
        }
}

/* ---- a layer ---- */

/* `inner` columns of rows of `width` numbers, as the heads of B texts. */
static attn_tensor heads(const pass *p, const float *data, const side *s, size_t width)
{
    const t5_config *c = &p->net->config;
    return attn_tensor_of(data, ATTN_F32, p->count, c->num_heads, s->len, c->d_kv, (ptrdiff_t)(s->len * width),
                          (ptrdiff_t)c->d_kv, (ptrdiff_t)width, 1);
}

/* Attention of a layer as attn.h sees it: self-attention has q, k, v side by side, attention to the text k and v. */
typedef struct attention {
    attn_tensor q, k, v, a, lse;
    attn_opts opts;
    const side *text; /* whose keys they are */
    size_t q_width, kv_width;
} attention;

static attention attention_of(const pass *p, const side *s, size_t i)
{
    const struct network_record *r = &s->records[i];
    const t5_config *c = &p->net->config;
    int cross = s->stack->layers[i].kind == NETWORK_CROSS;
    const float *k = cross ? r->kv : r->q + c->inner;
    attention of;
    memset(&of, 0, sizeof of);
    of.text = cross ? &p->encoder : s;
    of.q_width = cross ? c->inner : 3 * c->inner;
    of.kv_width = cross ? 2 * c->inner : 3 * c->inner;
    of.q = heads(p, r->q, s, of.q_width);
    of.k = heads(p, k, of.text, of.kv_width);
    of.v = heads(p, k + c->inner, of.text, of.kv_width);
    of.a = heads(p, r->a, s, c->inner);
    of.lse = attn_bhld(r->lse, ATTN_F32, p->count, c->num_heads, s->len, 1);
    of.opts.scale = 1; /* T5 has no 1 / sqrt(d_kv): its weights begin smaller for that */
    of.opts.q_lens = s->lens;
    of.opts.kv_lens = of.text->lens;
    if (!cross)
        of.opts.bias = attn_relative(matrix(s->bias, c->num_heads, 2 * s->len - 1), s->len, s->len);
    if (!cross && s == &p->decoder)
        of.opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    of.opts.dropout.p = p->net->dropout;
    of.opts.dropout.seed = network_random(p->seed, place_of(p, s, i, 3));
    return of;
}

/* The table of biases, spread out by distance; and its gradient gathered again. */
static void spread_bias(pass *p, const side *s)
{
    const t5_config *c = &p->net->config;
    note(p, attn_t5_bias(matrix(s->bias, c->num_heads, 2 * s->len - 1),
                         matrix(p->net->weights + s->stack->bias, c->buckets, c->num_heads), s == &p->encoder,
                         c->max_distance, 1 - (ptrdiff_t)s->len));
}

static void bias_back(pass *p, const side *s)
{
    const t5_config *c = &p->net->config;
    float *table = p->grads + s->stack->bias;
    note(p, attn_t5_bias_backward(matrix(p->dtable, c->buckets, c->num_heads),
                                  matrix(p->dbias, c->num_heads, 2 * s->len - 1), s == &p->encoder, c->max_distance,
                                  1 - (ptrdiff_t)s->len));
    for (size_t i = 0; i < c->buckets * c->num_heads; i++)
        table[i] += p->dtable[i];
}

/* a = attention of h to h; or to the states of the text. */
static void attend(pass *p, const side *s, size_t i)
{
    const struct network_record *r = &s->records[i];
    const network_layer *layer = &s->stack->layers[i];
    size_t d = p->net->config.d_model, inner = p->net->config.inner;
    attention of = attention_of(p, s, i);
    project(p, r->q, r->h, s->rows, layer->in, of.q_width, d);
    if (layer->kind == NETWORK_CROSS)
        project(p, r->kv, of.text->states, of.text->rows, layer->in + inner * d, 2 * inner, d);
    of.opts.lse = of.lse;
    note(p, attn_sdpa(of.a, of.q, of.k, of.v, &of.opts, &p->ctx));
}

static void attend_back(pass *p, const side *s, size_t i)
{
    const struct network_record *r = &s->records[i];
    const network_layer *layer = &s->stack->layers[i];
    size_t d = p->net->config.d_model, inner = p->net->config.inner;
    attention of = attention_of(p, s, i);
    float *dk = layer->kind == NETWORK_CROSS ? p->dq + s->rows * inner : p->dq + inner;
    attn_grads grads;
    memset(&grads, 0, sizeof grads);
    grads.q = heads(p, p->dq, s, of.q_width);
    grads.k = heads(p, dk, of.text, of.kv_width);
    grads.v = heads(p, dk + inner, of.text, of.kv_width);
    if (layer->kind == NETWORK_SELF)
        grads.by_distance = matrix(p->dbias, p->net->config.num_heads, 2 * s->len - 1);
    note(p, attn_sdpa_backward(&grads, heads(p, p->da, s, inner), of.q, of.k, of.v, of.a, of.lse, &of.opts, &p->ctx));
    project_back(p, p->dh, 0, p->dq, r->h, s->rows, layer->in, of.q_width, d);
    if (layer->kind == NETWORK_CROSS)
        project_back(p, of.text->dstates, 1, dk, of.text->states, of.text->rows, layer->in + inner * d, 2 * inner, d);
    else
        bias_back(p, s);
}

/* a = relu(h wi^T) */
static void feed(pass *p, const side *s, size_t i)
{
    const t5_config *c = &p->net->config;
    float *a = s->records[i].a;
    project(p, a, s->records[i].h, s->rows, s->stack->layers[i].in, c->d_ff, c->d_model);
    for (size_t j = 0; j < s->rows * c->d_ff; j++)
        a[j] = a[j] < 0 ? 0 : a[j];
    drop(p, a, s->rows * c->d_ff, place_of(p, s, i, 1));
}

static void feed_back(pass *p, const side *s, size_t i)
{
    const t5_config *c = &p->net->config;
    const float *a = s->records[i].a;
    drop(p, p->da, s->rows * c->d_ff, place_of(p, s, i, 1));
    for (size_t j = 0; j < s->rows * c->d_ff; j++)
        p->da[j] = a[j] > 0 ? p->da[j] : 0;
    project_back(p, p->dh, 0, p->da, s->records[i].h, s->rows, s->stack->layers[i].in, c->d_ff, c->d_model);
}

/* ---- the whole ---- */

static size_t hidden(const pass *p, const network_layer *layer)
{
    return layer->kind == NETWORK_FEED_FORWARD ? p->net->config.d_ff : p->net->config.inner;
}

/* x += drop(a out^T), a = attention or feed-forward of h, h = norm(x): through all layers, and the last norm. */
static void forward(pass *p, const side *s)
{
    size_t d = p->net->config.d_model;
    spread_bias(p, s);
    embed(p, s);
    for (size_t i = 0; i < s->stack->count; i++) {
        const network_layer *layer = &s->stack->layers[i];
        const struct network_record *r = &s->records[i];
        float *next = s->records[i + 1].x;
        norm(p, r->h, r->x, s->rows, layer->norm);
        if (layer->kind == NETWORK_FEED_FORWARD)
            feed(p, s, i);
        else
            attend(p, s, i);
        project(p, next, r->a, s->rows, layer->out, d, hidden(p, layer));
        drop(p, next, s->rows * d, place_of(p, s, i, 2));
        for (size_t j = 0; j < s->rows * d; j++)
            next[j] += r->x[j];
    }
    norm(p, s->states, s->records[s->stack->count].x, s->rows, s->stack->norm);
    drop(p, s->states, s->rows * d, place_of(p, s, s->stack->count, 1));
}

/* The same from its end: dstates has become the gradient of the states. */
static void backward(pass *p, const side *s)
{
    size_t d = p->net->config.d_model;
    drop(p, s->dstates, s->rows * d, place_of(p, s, s->stack->count, 1));
    memset(s->dx, 0, s->rows * d * sizeof *s->dx);
    norm_back(p, s->dx, s->dstates, s->records[s->stack->count].x, s->rows, s->stack->norm);
    for (size_t i = s->stack->count; i-- > 0;) {
        const network_layer *layer = &s->stack->layers[i];
        const struct network_record *r = &s->records[i];
        memcpy(p->dy, s->dx, s->rows * d * sizeof *p->dy);
        drop(p, p->dy, s->rows * d, place_of(p, s, i, 2));
        project_back(p, p->da, 0, p->dy, r->a, s->rows, layer->out, d, hidden(p, layer));
        if (layer->kind == NETWORK_FEED_FORWARD)
            feed_back(p, s, i);
        else
            attend_back(p, s, i);
        norm_back(p, s->dx, p->dh, r->x, s->rows, layer->norm);
    }
    embed_back(p, s);
}

/* Cross-entropy of the words: logits = states embedding^T / sqrt(d_model), P = softmax(logits), loss = -log P[word].
   Back: dlogits = P - (1 at the word), times scale. Rows past a target's end have neither. */
static void learn_words(pass *p)
{
    const side *s = &p->decoder;
    size_t d = p->net->config.d_model, words = p->net->config.vocab_size;
    double factor = 1 / sqrt((double)d);
    attn_mat states = matrix(s->states, s->rows, d), logits = matrix(p->logits, s->rows, words);
    attn_mat embedding = matrix(p->net->weights + p->net->embedding, words, d);
    note(p, attn_matmul_ctx(logits, states, attn_mat_t(embedding), factor, &p->ctx));
    note(p, attn_softmax_ctx(logits, logits, &p->ctx));
    for (size_t b = 0; b < p->count; b++)
        for (size_t i = 0; i < s->len; i++) {
            float *row = p->logits + (b * s->len + i) * words, *word;
            if (i >= s->lens[b]) {
                memset(row, 0, words * sizeof *row);
                continue;
            }
            word = row + p->pairs[b].target[i];
            p->loss -= p->scale * log(*word > FLT_MIN ? *word : FLT_MIN);
            *word -= 1;
            for (size_t j = 0; j < words; j++)
                row[j] *= (float)p->scale;
        }
    note(p, attn_matmul_ctx(matrix(s->dstates, s->rows, d), logits, embedding, factor, &p->ctx));
    note(p, attn_matmul_add(matrix(p->grads + p->net->embedding, words, d), attn_mat_t(logits), states, factor,
                            &p->ctx));
}

/* ---- memory ---- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void lay_out_side(pass *p, side *s)
{
    const t5_config *c = &p->net->config;
    s->lens = (size_t *)take(p, p->count, sizeof *s->lens);
    s->bias = take_floats(p, c->num_heads, 2 * s->len - 1);
    s->states = take_floats(p, s->rows, c->d_model);
    s->dstates = take_floats(p, s->rows, c->d_model);
    s->dx = take_floats(p, s->rows, c->d_model);
    for (size_t i = 0; i < s->stack->count; i++) {
        network_kind kind = s->stack->layers[i].kind;
        struct network_record *r = &s->records[i];
        r->x = take_floats(p, s->rows, c->d_model);
        r->h = take_floats(p, s->rows, c->d_model);
        r->a = take_floats(p, s->rows, hidden(p, &s->stack->layers[i]));
        r->q = take_floats(p, s->rows, kind == NETWORK_SELF ? 3 * c->inner : kind == NETWORK_CROSS ? c->inner : 0);
        r->kv = take_floats(p, p->encoder.rows, kind == NETWORK_CROSS ? 2 * c->inner : 0);
        r->lse = take_floats(p, s->rows, kind == NETWORK_FEED_FORWARD ? 0 : c->num_heads);
    }
    s->records[s->stack->count].x = take_floats(p, s->rows, c->d_model);
}

/* Gives everything its place in p->memory; or, while that is NULL, only counts. */
static void lay_out(pass *p)
{
    const t5_config *c = &p->net->config;
    size_t rows = larger(p->encoder.rows, p->decoder.rows), len = larger(p->encoder.len, p->decoder.len);
    p->used = 0;
    lay_out_side(p, &p->encoder);
    lay_out_side(p, &p->decoder);
    p->dh = take_floats(p, rows, c->d_model);
    p->dy = take_floats(p, rows, c->d_model);
    p->da = take_floats(p, rows, larger(c->inner, c->d_ff));
    p->dq = take_floats(p, rows, 3 * c->inner);
    p->dbias = take_floats(p, c->num_heads, 2 * len - 1);
    p->dtable = take_floats(p, c->buckets, c->num_heads);
    p->logits = take_floats(p, p->decoder.rows, c->vocab_size);
}

static int make_room(pass *p, tape *t)
{
    size_t count = p->encoder.stack->count + p->decoder.stack->count + 2;
    if (!t->scratch)
        t->scratch = malloc(SCRATCH);
    if (!t->records)
        t->records = (struct network_record *)calloc(count, sizeof *t->records);
    if (!t->scratch || !t->records)
        return 0;
    p->encoder.records = t->records;
    p->decoder.records = t->records + p->encoder.stack->count + 1;
    lay_out(p);
    if (p->used > t->memory_size) {
        free(t->memory);
        t->memory_size = p->used + p->used / 4; /* the next batches may be somewhat longer */
        t->memory = malloc(t->memory_size);
    }
    p->memory = (char *)t->memory;
    if (!p->memory)
        t->memory_size = 0;
    else
        lay_out(p);
    return p->memory != NULL;
}

void tape_free(tape *t)
{
    free(t->memory);
    free(t->scratch);
    free(t->records);
    memset(t, 0, sizeof *t);
}

const char *network_learn(const network *net, tape *t, double *loss, float *grads, const network_pair *pairs,
                          size_t count, double scale)
{
    pass p;
    memset(&p, 0, sizeof p);
    p.net = net;
    p.pairs = pairs;
    p.count = count;
    p.grads = grads;
    p.scale = scale;
    p.seed = t->seed;
    p.encoder.stack = &net->encoder;
    p.decoder.stack = &net->decoder;
    for (size_t b = 0; b < count; b++) {
        p.encoder.len = larger(p.encoder.len, pairs[b].source_len);
        p.decoder.len = larger(p.decoder.len, pairs[b].target_len);
    }
    p.encoder.rows = count * p.encoder.len;
    p.decoder.rows = count * p.decoder.len;
    if (!make_room(&p, t))
        return "no memory";
    p.ctx.scratch = t->scratch;
    p.ctx.scratch_size = SCRATCH;
    p.ctx.fault = &p.fault;
    for (size_t b = 0; b < count; b++) {
        p.encoder.lens[b] = pairs[b].source_len;
        p.decoder.lens[b] = pairs[b].target_len;
    }
    forward(&p, &p.encoder);
    forward(&p, &p.decoder);
    learn_words(&p);
    memset(p.encoder.dstates, 0, p.encoder.rows * net->config.d_model * sizeof(float)); /* attention adds to it */
    backward(&p, &p.decoder);
    backward(&p, &p.encoder);
    *loss += p.loss;
    return message(&p, t->error, sizeof t->error);
}

/* ==== Files ====================================================================================================== */

static FILE *create(char *path, size_t size, const char *directory, const char *name)
{
    snprintf(path, size, "%s/%s", directory, name);
    return fopen(path, "wb");
}

/* Numbers are little-endian there, whatever they are here. */
static void put_number(FILE *file, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        putc((int)(value >> (8 * i) & 255), file);
}

/* The JSON of a safetensors file, padded to 8 bytes; out has 256 bytes for each tensor and for the rest. */
static size_t spell_header(const network *net, char *out, size_t size)
{
    size_t length = (size_t)snprintf(out, size, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (const network_tensor *t = net->tensors; t < net->tensors + net->tensor_count; t++) {
        char rows[24] = "";
        if (t->rows > 1)
            snprintf(rows, sizeof rows, "%lu,", (unsigned long)t->rows);
        length += (size_t)snprintf(out + length, size - length,
                                   ",\"%s\":{\"dtype\":\"BF16\",\"shape\":[%s%lu],\"data_offsets\":[%lu,%lu]}", t->name,
                                   rows, (unsigned long)t->cols, 2 * (unsigned long)t->at,
                                   2 * (unsigned long)(t->at + t->rows * t->cols));
    }
    out[length++] = '}';
    while (length % 8 != 0)
        out[length++] = ' ';
    return length;
}

static int write_tensors(const network *net, FILE *file)
{
    size_t size = 256 * (net->tensor_count + 1), length;
    char *header = (char *)malloc(size);
    uint16_t bits = 0;
    if (!header)
        return 0;
    length = spell_header(net, header, size);
    put_number(file, length, 8);
    fwrite(header, 1, length, file);
    for (size_t i = 0; i < net->size; i++) {
        attn_mat_copy(attn_mat_of(&bits, ATTN_BF16, 1, 1), matrix(&net->weights[i], 1, 1));
        put_number(file, bits, 2);
    }
    free(header);
    return 1;
}

static void write_config(const t5_config *c, FILE *file)
{
    const struct {
        const char *name;
        size_t value;
    } numbers[] = {{"d_ff", c->d_ff},
                   {"d_kv", c->d_kv},
                   {"d_model", c->d_model},
                   {"decoder_start_token_id", (size_t)c->start_id},
                   {"eos_token_id", (size_t)c->eos_id},
                   {"num_decoder_layers", c->num_decoder_layers},
                   {"num_heads", c->num_heads},
                   {"num_layers", c->num_layers},
                   {"pad_token_id", (size_t)c->pad_id},
                   {"relative_attention_max_distance", c->max_distance},
                   {"relative_attention_num_buckets", c->buckets},
                   {"vocab_size", c->vocab_size}};
    fprintf(file, "{\n  \"architectures\": [\n    \"T5ForConditionalGeneration\"\n  ],\n");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        fprintf(file, "  \"%s\": %lu,\n", numbers[i].name, (unsigned long)numbers[i].value);
    fprintf(file,
            "  \"dropout_rate\": 0.0,\n  \"dtype\": \"bfloat16\",\n  \"feed_forward_proj\": \"relu\",\n"
            "  \"is_encoder_decoder\": true,\n  \"layer_norm_epsilon\": %g,\n  \"model_type\": \"t5\",\n"
            "  \"tie_word_embeddings\": true\n}\n",
            c->epsilon);
}

const char *network_save(const network *net, const char *directory)
{
    char path[4096];
    for (int tensors = 0; tensors < 2; tensors++) {
        FILE *file = create(path, sizeof path, directory, tensors ? "model.safetensors" : "config.json");
        int good = file != NULL;
        if (good && tensors)
            good = write_tensors(net, file);
        else if (good)
            write_config(&net->config, file);
        if (file && (ferror(file) | fclose(file)))
            good = 0;
        if (!good)
            return tensors ? "model.safetensors cannot be written" : "config.json cannot be written";
    }
    return NULL;
}
