/* t5.c: see t5.h. First the files: config.json, the names of the weights; then the network. */
#include "t5.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

/* ==== Messages and memory ======================================================================================== */

static const char *fail(t5 *model, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->error, sizeof model->error, format, arguments);
    va_end(arguments);
    return model->error;
}

static const char *no_memory(t5 *model)
{
    return fail(model, "no memory");
}

const char *t5_check(t5 *model, attn_status status, const char *name)
{
    attn_fault fault = model->fault;
    if (status == ATTN_OK)
        return NULL;
    model->fault.argument = model->fault.other = NULL;
    if (status == ATTN_ERR_NOMEM)
        return no_memory(model);
    return fail(model, "%s: %s%s%s%s%s", name, fault.argument ? fault.argument : "", fault.other ? ", " : "",
                fault.other ? fault.other : "", fault.argument ? ": " : "", attn_status_string(status));
}

/* *bytes = a b size, or 0 where that is too much. */
static int multiply(size_t *bytes, size_t a, size_t b, size_t size)
{
    if ((b && a > (size_t)PTRDIFF_MAX / b) || (a * b > (size_t)PTRDIFF_MAX / size))
        return 0;
    *bytes = a * b * size;
    return 1;
}

/* At least `bytes` bytes at *memory; what was there is lost. */
static const char *grow(t5 *model, char **memory, size_t *size, size_t bytes)
{
    if (bytes <= *size)
        return NULL;
    free(*memory);
    *memory = (char *)malloc(bytes);
    *size = *memory ? bytes : 0;
    return *memory ? NULL : no_memory(model);
}

/* ==== config.json ================================================================================================ */

static void read_numbers(checkpoint *files, t5_config *c)
{
    json config = files->config;
    size_t pad, eos, start;
    c->vocab_size = checkpoint_uint(files, config, "vocab_size", 2, -1);
    c->d_model = checkpoint_uint(files, config, "d_model", 1, -1);
    c->d_kv = checkpoint_uint(files, config, "d_kv", 1, -1);
    c->d_ff = checkpoint_uint(files, config, "d_ff", 1, -1);
    c->num_heads = checkpoint_uint(files, config, "num_heads", 1, -1);
    c->num_layers = checkpoint_uint(files, config, "num_layers", 1, -1);
    c->num_decoder_layers = checkpoint_uint(files, config, "num_decoder_layers", 1, (long)c->num_layers);
    c->buckets = checkpoint_uint(files, config, "relative_attention_num_buckets", 4, 32);
    c->max_distance = checkpoint_uint(files, config, "relative_attention_max_distance", 1, 128);
    c->epsilon = checkpoint_real(files, config, "layer_norm_epsilon", 0, 1, 1e-6);
    c->tied = checkpoint_flag(files, config, "tie_word_embeddings", 1);
    pad = checkpoint_uint(files, config, "pad_token_id", 0, 0);
    eos = checkpoint_uint(files, config, "eos_token_id", 0, 1);
    start = checkpoint_uint(files, config, "decoder_start_token_id", 0, 0);
    if (pad >= c->vocab_size || eos >= c->vocab_size || start >= c->vocab_size)
        checkpoint_fail_member(files, config, "vocab_size",
                               "is too small: the id of pad, eos or decoder_start is not below vocab_size");
    c->pad_id = (int32_t)pad;
    c->eos_id = (int32_t)eos;
    c->start_id = (int32_t)start;
    if (c->max_distance <= c->buckets / 2)
        checkpoint_fail_member(files, config, "relative_attention_max_distance", "is not above half of the buckets");
    if (!multiply(&c->inner, c->num_heads, c->d_kv, 1) || c->inner > INT32_MAX)
        checkpoint_fail_member(files, config, "num_heads", "times d_kv is too large");
}

/* feed_forward_proj: an activation's name, perhaps after "gated-". transformers takes gated-gelu for gelu_new. */
static void read_activation(checkpoint *files, t5_config *c)
{
    static const char *const names[] = {"relu", "gelu_new", "gated-gelu", "gated-gelu_new", "gated-relu", NULL};
    size_t kind;
    if (json_get(files->config, "feed_forward_proj").type == JSON_NULL)
        checkpoint_fail_member(files, files->config, "feed_forward_proj", "is null");
    kind = checkpoint_choice(files, files->config, "feed_forward_proj", names);
    c->gated = kind >= 2;
    c->gelu = kind >= 1 && kind <= 3;
}

static void read_config(checkpoint *files, t5_config *c)
{
    static const char *const types[] = {"t5", NULL};
    checkpoint_choice(files, files->config, "model_type", types);
    read_numbers(files, c);
    read_activation(files, c);
}

/* ==== Weights ==================================================================================================== */

static void read_attention(checkpoint *files, const t5_config *c, t5_attention *a, const char *stack, size_t i,
                           int part, const char *kind)
{
    unsigned long at = (unsigned long)i;
    a->q = checkpoint_matrix(files, c->inner, c->d_model, "%s.block.%lu.layer.%d.%s.q.weight", stack, at, part, kind);
    a->k = checkpoint_matrix(files, c->inner, c->d_model, "%s.block.%lu.layer.%d.%s.k.weight", stack, at, part, kind);
    a->v = checkpoint_matrix(files, c->inner, c->d_model, "%s.block.%lu.layer.%d.%s.v.weight", stack, at, part, kind);
    a->o = checkpoint_matrix(files, c->d_model, c->inner, "%s.block.%lu.layer.%d.%s.o.weight", stack, at, part, kind);
}

static const float *read_norm(checkpoint *files, const t5_config *c, const char *stack, size_t i, int part)
{
    return checkpoint_vector(files, c->d_model, "%s.block.%lu.layer.%d.layer_norm.weight", stack, (unsigned long)i,
                             part);
}

static void read_feed_forward(checkpoint *files, const t5_config *c, t5_block *b, const char *stack, size_t i, int part)
{
    unsigned long at = (unsigned long)i;
    b->wi = checkpoint_matrix(files, c->d_ff, c->d_model, "%s.block.%lu.layer.%d.DenseReluDense.%s.weight", stack, at,
                              part, c->gated ? "wi_0" : "wi");
    if (c->gated)
        b->gate = checkpoint_matrix(files, c->d_ff, c->d_model, "%s.block.%lu.layer.%d.DenseReluDense.wi_1.weight",
                                    stack, at, part);
    b->wo = checkpoint_matrix(files, c->d_model, c->d_ff, "%s.block.%lu.layer.%d.DenseReluDense.wo.weight", stack, at,
                              part);
    b->ff_norm = read_norm(files, c, stack, i, part);
}

static void read_stack(checkpoint *files, const t5_config *c, t5_stack *stack, const char *name, size_t count,
                       int cross)
{
    size_t i;
    stack->blocks = (t5_block *)checkpoint_layers(files, count, sizeof *stack->blocks);
    stack->count = count;
    for (i = 0; !files->failed && i < count; i++) {
        t5_block *b = &stack->blocks[i];
        read_attention(files, c, &b->self, name, i, 0, "SelfAttention");
        b->self_norm = read_norm(files, c, name, i, 0);
        if (cross) {
            read_attention(files, c, &b->cross, name, i, 1, "EncDecAttention");
            b->cross_norm = read_norm(files, c, name, i, 1);
        }
        read_feed_forward(files, c, b, name, i, cross ? 2 : 1);
    }
    stack->bias = checkpoint_matrix(files, c->buckets, c->num_heads,
                                    "%s.block.0.layer.0.SelfAttention.relative_attention_bias.weight", name);
    stack->norm = checkpoint_vector(files, c->d_model, "%s.final_layer_norm.weight", name);
}

/* The embedding may stand under any of its names, and under all of them; the head too, if they are one. */
static void read_embedding(t5 *model)
{
    static const char *const names[] = {"shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                                        "lm_head.weight"};
    const t5_config *c = &model->config;
    checkpoint *files = &model->files;
    int i, count = c->tied ? 4 : 3, first = 0;
    while (first < count && !checkpoint_has(files, "%s", names[first]))
        first++;
    model->embedding = checkpoint_matrix(files, c->vocab_size, c->d_model, "%s", names[first % count]);
    for (i = first + 1; i < count; i++)
        if (checkpoint_has(files, "%s", names[i]))
            checkpoint_matrix(files, c->vocab_size, c->d_model, "%s", names[i]);
    model->head = model->embedding;
    if (!c->tied)
        model->head = checkpoint_matrix(files, c->vocab_size, c->d_model, "lm_head.weight");
}

static void read_weights(t5 *model)
{
    const t5_config *c = &model->config;
    checkpoint *files = &model->files;
    read_embedding(model);
    read_stack(files, c, &model->encoder, "encoder", c->num_layers, 0);
    read_stack(files, c, &model->decoder, "decoder", c->num_decoder_layers, 1);
    /* published files have it, and nothing uses it */
    checkpoint_ignore(files, "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");
    checkpoint_finish(files, "T5");
}

/* ==== Opening and closing ======================================================================================== */

/* The pieces are those of the embeddings, but for sentinels and some that fill up the last ones; and the end of a text
   is what config.json says: a file that is cut short or another's would give wrong words without a message. */
static const char *read_vocabulary(t5 *model, const char *path)
{
    const t5_config *c = &model->config;
    sentencepiece *v = &model->vocabulary;
    size_t others;
    const char *error = sentencepiece_open(v, path);
    if (error)
        return fail(model, "%s", error);
    if ((size_t)v->count > c->vocab_size)
        return fail(model, "%s: %ld pieces, more than the vocab_size of config.json", path, (long)v->count);
    others = c->vocab_size - (size_t)v->count;
    if (sentencepiece_id(v, "<extra_id_0>", 12) == v->unk_id) {
        v->extra_ids = others < 100 ? (int32_t)others : 100;
        others -= (size_t)v->extra_ids;
    }
    if (others > 64 && others > c->vocab_size / 64)
        return fail(model, "%s: %ld pieces, too few for the vocab_size of config.json, %lu", path, (long)v->count,
                    (unsigned long)c->vocab_size);
    if (v->eos_id != c->eos_id)
        return fail(model, "%s: texts end with piece %ld, not %ld as config.json has it", path, (long)v->eos_id,
                    (long)c->eos_id);
    return NULL;
}

const char *t5_open(t5 *model, const char *directory, void (*progress)(void *user, double part), void *user)
{
    char path[PATH_SIZE];
    checkpoint_opts opts;
    const char *error = NULL;
    memset(model, 0, sizeof *model);
    opts.progress = progress;
    opts.user = user;
    if (!checkpoint_open(&model->files, directory, &opts)) {
        read_config(&model->files, &model->config);
        snprintf(path, sizeof path, "%s/spiece.model", directory);
        error = model->files.failed ? NULL : read_vocabulary(model, path);
        if (!error)
            read_weights(model);
    }
    if (model->files.failed)
        error = fail(model, "%s", model->files.error);
    if (error)
        t5_close(model);
    return error;
}

void t5_close(t5 *model)
{
    char error[sizeof model->error];
    memcpy(error, model->error, sizeof error);
    free(model->work);
    free(model->scratch);
    attn_mat_free(&model->distances);
    sentencepiece_close(&model->vocabulary);
    checkpoint_close(&model->files);
    memset(model, 0, sizeof *model);
    memcpy(model->error, error, sizeof error); /* t5_open's message outlives the model */
}

/* ==== The network ================================================================================================ */

/* Numbers of a step, for each of its rows. */
typedef struct rows {
    size_t count;
    float *x;             /* d_model: what the blocks add to */
    float *h;             /* d_model: its norm, or what is to be added */
    float *q, *k, *v, *a; /* inner: queries, keys, values, what attention made of them */
    float *f, *g;         /* d_ff */
} rows;

enum { SCRATCH = 1 << 19 }; /* of a task: what a large attn_matmul_ctx takes (attn.h, MEMORY); with less it is slower */

static const char *begin_rows(t5 *model, rows *r, size_t count)
{
    const t5_config *c = &model->config;
    size_t width = 2 * c->d_model + 4 * c->inner + 2 * c->d_ff, bytes;
    float *at;
    const char *error;
    if (!multiply(&bytes, width, count, sizeof *at))
        return no_memory(model);
    if ((error = grow(model, &model->work, &model->work_size, bytes)))
        return error;
    at = (float *)(void *)model->work;
    r->count = count;
    r->x = at, at += count * c->d_model;
    r->h = at, at += count * c->d_model;
    r->q = at, at += count * c->inner;
    r->k = at, at += count * c->inner;
    r->v = at, at += count * c->inner;
    r->a = at, at += count * c->inner;
    r->f = at, at += count * c->d_ff;
    r->g = at;
    return NULL;
}

static attn_ctx context(t5 *model)
{
    attn_ctx ctx = {{0, 0, 0}, 0, 0, ATTN_ISA_BEST, 0};
    ctx.parallel = model->parallel;
    ctx.scratch = model->scratch;
    ctx.scratch_size = model->scratch_size;
    ctx.fault = &model->fault;
    return ctx;
}

/* out = factor x w^T, for n rows. */
static const char *project(t5 *model, float *out, const float *x, size_t n, attn_mat w, double factor)
{
    size_t tasks = model->parallel.width > 0 ? model->parallel.width : 1, bytes;
    const char *error = multiply(&bytes, tasks, SCRATCH, 1) ? grow(model, &model->scratch, &model->scratch_size, bytes)
                                                            : no_memory(model);
    attn_ctx ctx = context(model);
    attn_status status;
    if (error)
        return error;
    status = attn_matmul_ctx(attn_mat_of(out, ATTN_F32, n, w.rows), attn_mat_of(x, ATTN_F32, n, w.cols), attn_mat_t(w),
                             factor, &ctx);
    return t5_check(model, status, "attn_matmul_ctx");
}

/* h = x weight / sqrt(mean of x^2 + epsilon), for each row: no mean is taken off.   Zhang 2019, arXiv 1910.07467 */
static void norm(const t5 *model, float *h, const float *x, size_t n, const float *weight)
{
    size_t d = model->config.d_model, r, i;
    for (r = 0; r < n; r++, x += d, h += d) {
        double sum = 0;
        float factor;
        for (i = 0; i < d; i++)
            sum += (double)x[i] * (double)x[i];
        factor = (float)(1 / sqrt(sum / (double)d + model->config.epsilon));
        for (i = 0; i < d; i++)
            h[i] = x[i] * factor * weight[i];
    }
}

static void add(float *x, const float *h, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++)
        x[i] += h[i];
}

/* x += out of attention, r->a, times w^T. */
static const char *add_attention(t5 *model, rows *r, attn_mat w)
{
    const char *error = project(model, r->h, r->a, r->count, w, 1);
    if (!error)
        add(r->x, r->h, r->count * model->config.d_model);
    return error;
}

/* gelu(x) = x/2 (1 + tanh u) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3). */
static void activate(const t5 *model, float *f, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++)
        if (model->config.gelu)
            f[i] = f[i] / (1 + expf(-1.5957691216f * (f[i] + 0.044715f * f[i] * f[i] * f[i])));
        else
            f[i] = f[i] < 0 ? 0 : f[i]; /* NaN stays */
}

/* x += wo(activation(wi h) gate h), h = norm(x). */
static const char *feed_forward(t5 *model, rows *r, const t5_block *b)
{
    size_t count = r->count * model->config.d_ff, i;
    const char *error;
    norm(model, r->h, r->x, r->count, b->ff_norm);
    if ((error = project(model, r->f, r->h, r->count, b->wi, 1)))
        return error;
    activate(model, r->f, count);
    if (model->config.gated) {
        if ((error = project(model, r->g, r->h, r->count, b->gate, 1)))
            return error;
        for (i = 0; i < count; i++)
            r->f[i] *= r->g[i];
    }
    if ((error = project(model, r->h, r->f, r->count, b->wo, 1)))
        return error;
    add(r->x, r->h, r->count * model->config.d_model);
    return NULL;
}

/* h = norm(x); q, k, v of it. */
static const char *project_self(t5 *model, rows *r, const t5_block *b)
{
    const char *error;
    norm(model, r->h, r->x, r->count, b->self_norm);
    if ((error = project(model, r->q, r->h, r->count, b->self.q, 1)) ||
        (error = project(model, r->k, r->h, r->count, b->self.k, 1)))
        return error;
    return project(model, r->v, r->h, r->count, b->self.v, 1);
}

static const char *embed(t5 *model, float *x, const int32_t *ids, size_t n)
{
    size_t d = model->config.d_model, i;
    for (i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= model->config.vocab_size)
            return fail(model, "token %ld is not in the vocabulary", (long)ids[i]);
        attn_mat_copy(attn_mat_of(x + i * d, ATTN_F32, 1, d), attn_mat_rows(model->embedding, (size_t)ids[i], 1));
    }
    return NULL;
}

/* *out becomes the biases of `table` for distances `first` to first + count - 1, heads x count; or stays what it was. */
static const char *spread_bias(t5 *model, attn_mat *out, attn_mat table, int bidirectional, ptrdiff_t first,
                               size_t count)
{
    const t5_config *c = &model->config;
    attn_mat spread = attn_mat_new(ATTN_F32, c->num_heads, count);
    const char *error;
    if (!spread.data)
        return no_memory(model);
    error = t5_check(model, attn_t5_bias(spread, table, bidirectional, c->max_distance, first), "attn_t5_bias");
    attn_mat_free(error ? &spread : out);
    if (!error)
        *out = spread;
    return error;
}

/* Room for attention, of which `status` and `bytes` say how much. */
static const char *grow_scratch(t5 *model, attn_status status, size_t bytes)
{
    const char *error = t5_check(model, status, "attn_sdpa_scratch");
    return error ? error : grow(model, &model->scratch, &model->scratch_size, bytes);
}

/* out = attention of q to what a cache holds. */
static const char *attend(t5 *model, attn_tensor out, attn_tensor q, const attn_kv_cache *cache, const attn_opts *opts)
{
    attn_ctx ctx = context(model);
    size_t bytes = 0;
    attn_status status;
    const char *error;
    status = attn_kv_cache_scratch(&bytes, out, q, cache, opts, &ctx);
    if ((error = grow_scratch(model, status, bytes)))
        return error;
    ctx = context(model);
    return t5_check(model, attn_kv_cache_attend(out, q, cache, opts, &ctx), "attn_kv_cache_attend");
}

/* One block of the encoder, with the keys and queries of B texts of L rows. */
static const char *encode_block(t5 *model, rows *r, const t5_block *b, size_t B, size_t L, const attn_opts *opts)
{
    size_t H = model->config.num_heads, D = model->config.d_kv, bytes = 0;
    attn_tensor out = attn_blhd(r->a, ATTN_F32, B, L, H, D), q = attn_blhd(r->q, ATTN_F32, B, L, H, D);
    attn_tensor k = attn_blhd(r->k, ATTN_F32, B, L, H, D), v = attn_blhd(r->v, ATTN_F32, B, L, H, D);
    attn_ctx ctx = context(model);
    attn_status status;
    const char *error;
    status = attn_sdpa_scratch(&bytes, out, q, k, v, opts, &ctx);
    if ((error = grow_scratch(model, status, bytes)) || (error = project_self(model, r, b)))
        return error;
    ctx = context(model);
    if ((error = t5_check(model, attn_sdpa(out, q, k, v, opts, &ctx), "attn_sdpa")) ||
        (error = add_attention(model, r, b->self.o)))
        return error;
    return feed_forward(model, r, b);
}

const char *t5_encode(t5 *model, float *states, const int32_t *ids, const size_t *lens, size_t B, size_t L)
{
    const t5_config *c = &model->config;
    attn_mat bias = {NULL, ATTN_F32, 0, 0, 0, 0};
    attn_opts opts;
    rows r;
    size_t b, i;
    const char *error;
    memset(&opts, 0, sizeof opts);
    opts.scale = 1;
    opts.q_lens = opts.kv_lens = lens;
    if (B > SIZE_MAX / (L + 1) || L > (size_t)PTRDIFF_MAX / 4)
        return no_memory(model);
    if ((error = begin_rows(model, &r, B * L)))
        return error;
    memset(states, 0, B * L * c->d_model * sizeof *states);
    r.x = states;
    for (b = 0; !error && b < B; b++)
        error = embed(model, states + b * L * c->d_model, ids + b * L, lens[b]);
    if (!error)
        error = spread_bias(model, &bias, model->encoder.bias, 1, 1 - (ptrdiff_t)L, 2 * L - 1);
    opts.bias = attn_relative(bias, L, L);
    for (i = 0; !error && i < model->encoder.count; i++)
        error = encode_block(model, &r, &model->encoder.blocks[i], B, L, &opts);
    attn_mat_free(&bias);
    if (error)
        return error;
    norm(model, states, states, B * L, model->encoder.norm);
    for (b = 0; b < B; b++)
        memset(states + (b * L + lens[b]) * c->d_model, 0, (L - lens[b]) * c->d_model * sizeof *states);
    return NULL;
}

/* -- decoding -- */

const char *t5_begin(t5 *model, t5_text *text, const float *states, size_t source, size_t beams)
{
    size_t H = model->config.num_heads, D = model->config.d_kv, blocks = model->decoder.count, i;
    const char *error;
    rows r;
    memset(text, 0, sizeof *text);
    text->beams = beams;
    text->source = source;
    text->cross = (attn_kv_cache *)calloc(blocks, sizeof *text->cross);
    text->self = (attn_kv_cache *)calloc(blocks, sizeof *text->self);
    error = text->cross && text->self ? begin_rows(model, &r, source) : no_memory(model);
    for (i = 0; !error && i < blocks; i++) {
        const t5_attention *cross = &model->decoder.blocks[i].cross;
        attn_kv_cache *cache = &text->cross[i];
        attn_status status;
        if ((error = project(model, r.k, states, source, cross->k, 1)) ||
            (error = project(model, r.v, states, source, cross->v, 1)))
            return error;
        status = attn_kv_cache_init(cache, 1, H, source, D, D, ATTN_F32, 0, NULL, 0);
        if (status == ATTN_OK)
            status = attn_kv_cache_append(cache, attn_blhd(r.k, ATTN_F32, 1, source, H, D),
                                          attn_blhd(r.v, ATTN_F32, 1, source, H, D), NULL);
        error = t5_check(model, status, "attn_kv_cache_append");
    }
    return error;
}

void t5_end(t5 *model, t5_text *text)
{
    size_t i;
    if (!text)
        return;
    for (i = 0; i < model->decoder.count; i++) {
        if (text->cross)
            attn_kv_cache_free(&text->cross[i]);
        if (text->self)
            attn_kv_cache_free(&text->self[i]);
    }
    free(text->cross);
    free(text->self);
    memset(text, 0, sizeof *text);
}

const char *t5_reorder(t5 *model, t5_text *text, const size_t *from)
{
    attn_status status = ATTN_OK;
    size_t i;
    for (i = 0; status == ATTN_OK && text->length > 0 && i < model->decoder.count; i++)
        status = attn_kv_cache_reorder(&text->self[i], from);
    return t5_check(model, status, "attn_kv_cache_reorder");
}

/* Room for `len` more tokens in every cache: a larger one takes over what the old one has. */
static const char *grow_caches(t5 *model, t5_text *text, size_t len)
{
    size_t H = model->config.num_heads, D = model->config.d_kv, i, capacity;
    attn_kv_cache larger, *old;
    attn_status status = ATTN_OK;
    if (len > (size_t)PTRDIFF_MAX / 4 - text->length)
        return no_memory(model);
    for (i = 0; status == ATTN_OK && i < model->decoder.count; i++) {
        old = &text->self[i];
        if (old->k.len >= text->length + len)
            continue;
        for (capacity = 32; capacity < text->length + len;)
            capacity *= 2;
        memset(&larger, 0, sizeof larger);
        status = attn_kv_cache_init(&larger, text->beams, H, capacity, D, D, ATTN_F32, 0, NULL, 0);
        if (status == ATTN_OK && text->length > 0)
            status = attn_kv_cache_append(&larger, attn_tensor_slice(old->k, 0, text->length),
                                          attn_tensor_slice(old->v, 0, text->length), NULL);
        if (status == ATTN_OK) {
            attn_kv_cache_free(old);
            *old = larger;
        } else {
            attn_kv_cache_free(&larger);
        }
    }
    return t5_check(model, status, "attn_kv_cache_init");
}

/* The decoder's biases for hypotheses of up to `length` tokens. */
static const char *grow_distances(t5 *model, size_t length)
{
    size_t reach = 32;
    if (model->distances.cols >= 2 * length)
        return NULL;
    while (reach <= length)
        reach *= 2;
    return spread_bias(model, &model->distances, model->decoder.bias, 0, 1 - (ptrdiff_t)reach, 2 * reach - 1);
}

/* The biases of `len` queries that begin at position `first`, to all keys up to the last of them. */
static attn_tensor decoder_bias(const t5 *model, size_t first, size_t len)
{
    size_t reach = (model->distances.cols + 1) / 2, keys = first + len;
    return attn_relative(attn_mat_cols(model->distances, reach - keys, len + keys - 1), len, keys);
}

/* Self-attention of the rows of one text, from row `at` on: they enter the cache and look at it. */
static const char *attend_self(t5 *model, rows *r, size_t at, t5_text *text, size_t block, size_t len)
{
    size_t H = model->config.num_heads, D = model->config.d_kv, to = at * model->config.inner;
    attn_kv_cache *cache = &text->self[block];
    attn_opts opts;
    attn_status status = attn_kv_cache_append(cache, attn_blhd(r->k + to, ATTN_F32, text->beams, len, H, D),
                                              attn_blhd(r->v + to, ATTN_F32, text->beams, len, H, D), NULL);
    memset(&opts, 0, sizeof opts);
    opts.scale = 1;
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    opts.bias = decoder_bias(model, text->length, len);
    if (status != ATTN_OK)
        return t5_check(model, status, "attn_kv_cache_append");
    return attend(model, attn_blhd(r->a + to, ATTN_F32, text->beams, len, H, D),
                  attn_blhd(r->q + to, ATTN_F32, text->beams, len, H, D), cache, &opts);
}

/* Attention to the text: the rows of all its hypotheses are queries of one item, so its keys are read once. */
static const char *attend_text(t5 *model, rows *r, size_t at, const t5_text *text, size_t block, size_t len,
                               float *weights)
{
    size_t H = model->config.num_heads, D = model->config.d_kv, to = at * model->config.inner, n = text->beams * len;
    float *each = NULL;
    const char *error;
    attn_opts opts;
    size_t bytes, h, i;
    memset(&opts, 0, sizeof opts);
    opts.scale = 1;
    if (weights) {
        if (!multiply(&bytes, H * n, text->source, sizeof *each) || !(each = (float *)malloc(bytes)))
            return no_memory(model);
        opts.weights = attn_bhld(each, ATTN_F32, 1, H, n, text->source);
    }
    error = attend(model, attn_blhd(r->a + to, ATTN_F32, 1, n, H, D), attn_blhd(r->q + to, ATTN_F32, 1, n, H, D),
                   &text->cross[block], &opts);
    for (h = 0; !error && weights && h < H; h++)
        for (i = 0; i < n * text->source; i++)
            weights[i] += each[h * n * text->source + i] / (float)(H * model->decoder.count);
    free(each);
    return error;
}

/* One block of the decoder, for the rows of all texts. */
static const char *decode_block(t5 *model, rows *r, size_t block, t5_text *const *texts, size_t count, size_t len,
                                float *weights)
{
    const t5_block *b = &model->decoder.blocks[block];
    const char *error = project_self(model, r, b);
    size_t t, at;
    for (t = at = 0; !error && t < count; at += texts[t++]->beams * len)
        error = attend_self(model, r, at, texts[t], block, len);
    if (!error)
        error = add_attention(model, r, b->self.o);
    if (error)
        return error;
    norm(model, r->h, r->x, r->count, b->cross_norm);
    error = project(model, r->q, r->h, r->count, b->cross.q, 1);
    for (t = at = 0; !error && t < count; at += texts[t++]->beams * len) {
        error = attend_text(model, r, at, texts[t], block, len, weights);
        if (weights)
            weights += texts[t]->beams * len * texts[t]->source;
    }
    if (!error)
        error = add_attention(model, r, b->cross.o);
    return error ? error : feed_forward(model, r, b);
}

const char *t5_decode(t5 *model, t5_text *const *texts, size_t count, const int32_t *tokens, size_t len, float *logits,
                      float *weights)
{
    const t5_config *c = &model->config;
    rows r;
    size_t n = 0, seen = 0, t, i;
    const char *error = NULL;
    for (t = 0; !error && t < count; t++) {
        n += texts[t]->beams * len;
        seen += texts[t]->beams * len * texts[t]->source;
        error = grow_caches(model, texts[t], len);
        if (!error)
            error = grow_distances(model, texts[t]->length + len);
    }
    if (!error)
        error = begin_rows(model, &r, n);
    if (!error)
        error = embed(model, r.x, tokens, n);
    for (i = 0; weights && i < seen; i++)
        weights[i] = 0;
    for (i = 0; !error && i < model->decoder.count; i++)
        error = decode_block(model, &r, i, texts, count, len, weights);
    if (error)
        return error;
    for (t = 0; t < count; t++)
        texts[t]->length += len;
    norm(model, r.h, r.x, n, model->decoder.norm);
    return project(model, logits, r.h, n, model->head, c->tied ? 1 / sqrt((double)c->d_model) : 1);
}
