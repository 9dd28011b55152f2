/* t5.c: see t5.h. First the file: config.json, the tensors and their names; then the network. */
#include "t5.h"
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_SIZE = 1 << 20, PATH_SIZE = 4096, NAME_SIZE = 96, PAGE = 4096, PART = 1 << 24 };

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

/* *bytes = a b size, or 0 where that is too much. */
static int multiply(size_t *bytes, size_t a, size_t b, size_t size)
{
    if ((b && a > (size_t)PTRDIFF_MAX / b) || (a * b > (size_t)PTRDIFF_MAX / size))
        return 0;
    *bytes = a * b * size;
    return 1;
}

/* Memory that t5_close gives back. */
typedef struct piece {
    struct piece *next;
    double aligned[1];
} piece;

static void *allocate(t5 *model, size_t count, size_t size)
{
    size_t bytes;
    piece *p = NULL;
    if (multiply(&bytes, count, 1, size) && bytes <= (size_t)PTRDIFF_MAX - sizeof *p)
        p = (piece *)malloc(sizeof *p + bytes);
    if (!p) {
        no_memory(model);
        return NULL;
    }
    p->next = (piece *)model->owned;
    model->owned = p;
    memset(p->aligned, 0, bytes);
    return p->aligned;
}

/* ==== config.json ================================================================================================ */

/* Reads a small file whole; a NUL follows it. */
static const char *read_file(t5 *model, const char *path, char **text, size_t *size)
{
    FILE *file = fopen(path, "rb");
    const char *error = NULL;
    if (!file)
        return fail(model, "%s: %s", path, strerror(errno));
    *text = (char *)malloc(CONFIG_SIZE + 1);
    *size = *text ? fread(*text, 1, CONFIG_SIZE + 1, file) : 0;
    if (!*text)
        error = fail(model, "%s: no memory", path);
    else if (ferror(file))
        error = fail(model, "%s: cannot be read", path);
    else if (*size > CONFIG_SIZE)
        error = fail(model, "%s: larger than %d bytes", path, CONFIG_SIZE);
    fclose(file);
    if (error)
        free(*text);
    return error;
}

/* A member that is a whole number, as int32_t holds it. */
typedef struct member {
    const char *name;
    size_t *value;
    int least;
    int otherwise; /* where it is missing; -1: that is an error */
} member;

static const char *config_number(t5 *model, const char *path, json config, const member *m)
{
    json number = json_get(config, m->name);
    uint64_t value;
    if (m->otherwise >= 0 && (number.type == JSON_NONE || number.type == JSON_NULL)) {
        *m->value = (size_t)m->otherwise;
        return NULL;
    }
    if (number.type == JSON_NONE)
        return fail(model, "%s: %s is missing", path, m->name);
    if (!json_uint(number, &value) || value < (uint64_t)m->least || value > INT32_MAX)
        return fail(model, "%s: %s is no whole number from %d to %ld", path, m->name, m->least, (long)INT32_MAX);
    *m->value = (size_t)value;
    return NULL;
}

static const char *config_numbers(t5 *model, const char *path, json config)
{
    t5_config *c = &model->config;
    size_t pad, eos, start, i;
    const char *error;
    const member members[] = {{"vocab_size", &c->vocab_size, 2, -1},
                              {"d_model", &c->d_model, 1, -1},
                              {"d_kv", &c->d_kv, 1, -1},
                              {"d_ff", &c->d_ff, 1, -1},
                              {"num_heads", &c->num_heads, 1, -1},
                              {"num_layers", &c->num_layers, 1, -1},
                              {"num_decoder_layers", &c->num_decoder_layers, 1, 0},
                              {"relative_attention_num_buckets", &c->buckets, 4, 32},
                              {"relative_attention_max_distance", &c->max_distance, 1, 128},
                              {"pad_token_id", &pad, 0, 0},
                              {"eos_token_id", &eos, 0, 1},
                              {"decoder_start_token_id", &start, 0, 0}};
    for (i = 0; i < sizeof members / sizeof *members; i++)
        if ((error = config_number(model, path, config, &members[i])))
            return error;
    if (pad >= c->vocab_size || eos >= c->vocab_size || start >= c->vocab_size)
        return fail(model, "%s: the id of pad, eos or decoder_start is not below vocab_size", path);
    c->pad_id = (int32_t)pad;
    c->eos_id = (int32_t)eos;
    c->start_id = (int32_t)start;
    if (c->num_decoder_layers == 0)
        c->num_decoder_layers = c->num_layers;
    if (c->max_distance <= c->buckets / 2)
        return fail(model, "%s: relative_attention_max_distance is not above half of the buckets", path);
    if (!multiply(&c->inner, c->num_heads, c->d_kv, 1) || c->inner > INT32_MAX)
        return fail(model, "%s: num_heads times d_kv is too large", path);
    return NULL;
}

/* feed_forward_proj: an activation's name, perhaps after "gated-". transformers takes gated-gelu for gelu_new. */
static const char *config_activation(t5 *model, const char *path, json config)
{
    json kind = json_get(config, "feed_forward_proj");
    t5_config *c = &model->config;
    if (kind.type == JSON_NONE || json_is(kind, "relu"))
        return NULL;
    c->gated = json_is(kind, "gated-gelu") || json_is(kind, "gated-gelu_new") || json_is(kind, "gated-relu");
    c->gelu = !json_is(kind, "gated-relu");
    if (c->gated || json_is(kind, "gelu_new"))
        return NULL;
    return fail(model, "%s: feed_forward_proj is none of relu, gated-gelu, gelu_new, gated-relu", path);
}

static const char *config_members(t5 *model, const char *path, json config)
{
    t5_config *c = &model->config;
    json epsilon = json_get(config, "layer_norm_epsilon"), tied = json_get(config, "tie_word_embeddings");
    json type = json_get(config, "model_type");
    const char *error;
    if (config.type != JSON_OBJECT)
        return fail(model, "%s: no JSON object", path);
    if (type.type != JSON_NONE && !json_is(type, "t5"))
        return fail(model, "%s: model_type is not t5", path);
    if ((error = config_numbers(model, path, config)) || (error = config_activation(model, path, config)))
        return error;
    c->epsilon = 1e-6;
    if (epsilon.type != JSON_NONE && (!json_double(epsilon, &c->epsilon) || !(c->epsilon >= 0 && c->epsilon <= 1)))
        return fail(model, "%s: layer_norm_epsilon is no number from 0 to 1", path);
    if (tied.type != JSON_NONE && tied.type != JSON_TRUE && tied.type != JSON_FALSE)
        return fail(model, "%s: tie_word_embeddings is neither true nor false", path);
    c->tied = tied.type != JSON_FALSE;
    return NULL;
}

static const char *read_config(t5 *model, const char *path)
{
    char *text = NULL;
    size_t size = 0, where;
    json config;
    const char *error = read_file(model, path, &text, &size), *cause;
    if (error)
        return error;
    cause = json_parse(&config, text, size, &where);
    error = cause ? fail(model, "%s: byte %lu: %s", path, (unsigned long)where, cause)
                  : config_members(model, path, config);
    free(text);
    return error;
}

/* ==== model.safetensors ========================================================================================== */

typedef struct loader {
    t5 *model;
    const char *path;
    unsigned char *taken; /* of each tensor of the file: it has its place */
    char name[NAME_SIZE]; /* of the tensor at hand */
    size_t bytes, done;   /* to read; and read */
    void (*progress)(void *user, double part);
    void *user;
} loader;

/* The shape as text, such as "32128 x 512". */
static void spell_shape(char *out, size_t size, const safetensors_tensor *tensor)
{
    size_t i, at = 0;
    snprintf(out, size, "one number");
    for (i = 0; i < tensor->rank && at < size; i++) {
        int wrote = snprintf(out + at, size - at, i ? " x %lu" : "%lu", (unsigned long)tensor->shape[i]);
        at += wrote > 0 ? (size_t)wrote : size;
    }
}

/* The tensor load->name of `rank` sizes, or NULL and a message. */
static const safetensors_tensor *find(loader *load, size_t rank, size_t rows, size_t cols)
{
    t5 *model = load->model;
    const safetensors_tensor *tensor = safetensors_find(&model->file, load->name);
    char shape[100];
    if (!tensor) {
        fail(model, "%s: tensor %s is missing", load->path, load->name);
        return NULL;
    }
    if (tensor->rank != rank || tensor->shape[0] != rows || (rank == 2 && tensor->shape[1] != cols)) {
        spell_shape(shape, sizeof shape, tensor);
        if (rank == 2)
            fail(model, "%s: tensor %s is %s, not %lu x %lu as config.json has it", load->path, load->name, shape,
                 (unsigned long)rows, (unsigned long)cols);
        else
            fail(model, "%s: tensor %s is %s, not %lu as config.json has it", load->path, load->name, shape,
                 (unsigned long)rows);
        return NULL;
    }
    if (tensor->dtype != SAFETENSORS_F32 && tensor->dtype != SAFETENSORS_F16 && tensor->dtype != SAFETENSORS_BF16) {
        fail(model, "%s: tensor %s is of type %s; F32, F16 and BF16 can be used", load->path, load->name,
             safetensors_dtype_name(tensor->dtype));
        return NULL;
    }
    load->taken[tensor - model->file.tensors] = 1;
    return tensor;
}

/* Touches each page of a tensor, so that it is read from the disk now and not word by word later. */
static void touch(loader *load, const safetensors_tensor *tensor)
{
    const volatile unsigned char *bytes = (const volatile unsigned char *)tensor->data;
    size_t i;
    for (i = 0; i < tensor->size; i += PAGE) {
        (void)bytes[i];
        if (load->progress && i % PART == 0)
            load->progress(load->user, (double)(load->done + i) / (double)load->bytes);
    }
    load->done += tensor->size;
}

/* The matrix load->name, rows x cols, where it lies; or a copy where this machine cannot read it there. 0: a message. */
static int load_matrix(loader *load, attn_mat *out, size_t rows, size_t cols)
{
    const safetensors_tensor *tensor = find(load, 2, rows, cols);
    const void *data;
    attn_dtype dtype;
    if (!tensor)
        return 0;
    dtype = tensor->dtype == SAFETENSORS_F32 ? ATTN_F32 : tensor->dtype == SAFETENSORS_F16 ? ATTN_F16 : ATTN_BF16;
    data = tensor->data;
    if (!safetensors_is_native(tensor)) {
        void *copy = allocate(load->model, tensor->size, 1);
        if (!copy)
            return 0;
        safetensors_copy(tensor, 0, tensor->count, copy);
        data = copy;
    }
    touch(load, tensor);
    *out = attn_mat_of(data, dtype, rows, cols);
    return 1;
}

/* The vector load->name as floats, for norms. */
static int load_vector(loader *load, const float **out, size_t count)
{
    const safetensors_tensor *tensor = find(load, 1, count, 0);
    float *values = tensor ? (float *)allocate(load->model, count, sizeof *values) : NULL;
    size_t i;
    for (i = 0; values && i < count; i++)
        values[i] = (float)safetensors_get(tensor, i);
    *out = values;
    return values != NULL;
}

static void set_name(loader *load, const char *name)
{
    snprintf(load->name, sizeof load->name, "%s", name);
}

static void name_in(loader *load, const char *stack, size_t i, int part, const char *rest)
{
    snprintf(load->name, sizeof load->name, "%s.block.%lu.layer.%d.%s", stack, (unsigned long)i, part, rest);
}

static int load_attention(loader *load, t5_attention *a, const char *stack, size_t i, int part, const char *kind)
{
    const t5_config *c = &load->model->config;
    attn_mat *matrices[4];
    static const char letters[] = "qkvo";
    char rest[40];
    int m;
    matrices[0] = &a->q, matrices[1] = &a->k, matrices[2] = &a->v, matrices[3] = &a->o;
    for (m = 0; m < 4; m++) {
        snprintf(rest, sizeof rest, "%s.%c.weight", kind, letters[m]);
        name_in(load, stack, i, part, rest);
        if (!load_matrix(load, matrices[m], m < 3 ? c->inner : c->d_model, m < 3 ? c->d_model : c->inner))
            return 0;
    }
    return 1;
}

static int load_feed_forward(loader *load, t5_block *b, const char *stack, size_t i, int part)
{
    const t5_config *c = &load->model->config;
    name_in(load, stack, i, part, c->gated ? "DenseReluDense.wi_0.weight" : "DenseReluDense.wi.weight");
    if (!load_matrix(load, &b->wi, c->d_ff, c->d_model))
        return 0;
    name_in(load, stack, i, part, "DenseReluDense.wi_1.weight");
    if (c->gated && !load_matrix(load, &b->gate, c->d_ff, c->d_model))
        return 0;
    name_in(load, stack, i, part, "DenseReluDense.wo.weight");
    if (!load_matrix(load, &b->wo, c->d_model, c->d_ff))
        return 0;
    name_in(load, stack, i, part, "layer_norm.weight");
    return load_vector(load, &b->ff_norm, c->d_model);
}

static int load_stack(loader *load, t5_stack *stack, const char *name, size_t count, int cross)
{
    const t5_config *c = &load->model->config;
    size_t i;
    if (count > load->model->file.count) { /* before memory is taken for them */
        fail(load->model, "%s: config.json has %lu layers, the file %lu tensors", load->path, (unsigned long)count,
             (unsigned long)load->model->file.count);
        return 0;
    }
    stack->blocks = (t5_block *)allocate(load->model, count, sizeof *stack->blocks);
    if (!stack->blocks)
        return 0;
    stack->count = count;
    for (i = 0; i < count; i++) {
        t5_block *b = &stack->blocks[i];
        if (!load_attention(load, &b->self, name, i, 0, "SelfAttention"))
            return 0;
        name_in(load, name, i, 0, "layer_norm.weight");
        if (!load_vector(load, &b->self_norm, c->d_model))
            return 0;
        if (cross && !load_attention(load, &b->cross, name, i, 1, "EncDecAttention"))
            return 0;
        name_in(load, name, i, 1, "layer_norm.weight");
        if (cross && !load_vector(load, &b->cross_norm, c->d_model))
            return 0;
        if (!load_feed_forward(load, b, name, i, cross ? 2 : 1))
            return 0;
    }
    name_in(load, name, 0, 0, "SelfAttention.relative_attention_bias.weight");
    if (!load_matrix(load, &stack->bias, c->buckets, c->num_heads))
        return 0;
    snprintf(load->name, sizeof load->name, "%s.final_layer_norm.weight", name);
    return load_vector(load, &stack->norm, c->d_model);
}

/* The embedding may stand under any of its names, and under all of them; the head too, if they are one. */
static int load_embedding(loader *load)
{
    static const char *const names[] = {"shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                                        "lm_head.weight"};
    t5 *model = load->model;
    const t5_config *c = &model->config;
    int i, count = c->tied ? 4 : 3, first = 0;
    while (first < count && !safetensors_find(&model->file, names[first]))
        first++;
    set_name(load, names[first % count]);
    if (!load_matrix(load, &model->embedding, c->vocab_size, c->d_model))
        return 0;
    for (i = first + 1; i < count; i++) {
        set_name(load, names[i]);
        if (safetensors_find(&model->file, names[i]) && !find(load, 2, c->vocab_size, c->d_model))
            return 0;
    }
    model->head = model->embedding;
    set_name(load, "lm_head.weight");
    return c->tied || load_matrix(load, &model->head, c->vocab_size, c->d_model);
}

/* What is left over: published files have a bias of the first cross-attention, which nothing uses. */
static int refuse_others(loader *load)
{
    static const char stale[] = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";
    t5 *model = load->model;
    char shown[81];
    size_t i, n;
    for (i = 0; i < model->file.count; i++) {
        const char *name = model->file.tensors[i].name;
        if (load->taken[i] || strcmp(name, stale) == 0)
            continue;
        for (n = 0; n + 1 < sizeof shown && name[n]; n++) /* nothing that a terminal would obey */
            shown[n] = name[n] >= ' ' && name[n] <= '~' ? name[n] : '?';
        shown[n] = 0;
        fail(model, "%s: tensor %s is none of a T5", load->path, shown);
        return 0;
    }
    return 1;
}

static const char *read_tensors(t5 *model, const char *path, void (*progress)(void *user, double part), void *user)
{
    const t5_config *c = &model->config;
    loader load;
    size_t i;
    int good;
    const char *error = safetensors_open(&model->file, path);
    if (error)
        return fail(model, "%s", error);
    memset(&load, 0, sizeof load);
    load.model = model;
    load.path = path;
    load.progress = progress;
    load.user = user;
    load.taken = (unsigned char *)calloc(model->file.count + 1, 1);
    if (!load.taken)
        return fail(model, "%s: no memory", path);
    for (i = 0; i < model->file.count; i++)
        load.bytes += model->file.tensors[i].size;
    good = load_embedding(&load) && load_stack(&load, &model->encoder, "encoder", c->num_layers, 0) &&
           load_stack(&load, &model->decoder, "decoder", c->num_decoder_layers, 1) && refuse_others(&load);
    free(load.taken);
    if (good && progress)
        progress(user, 1);
    return good ? NULL : model->error;
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
    const char *error;
    memset(model, 0, sizeof *model);
    if (strlen(directory) > sizeof path - 32)
        return fail(model, "the directory's name is too long");
    snprintf(path, sizeof path, "%s/config.json", directory);
    error = read_config(model, path);
    if (!error) {
        snprintf(path, sizeof path, "%s/spiece.model", directory);
        error = read_vocabulary(model, path);
    }
    if (!error) {
        snprintf(path, sizeof path, "%s/model.safetensors", directory);
        error = read_tensors(model, path, progress, user);
    }
    if (error)
        t5_close(model);
    return error;
}

void t5_close(t5 *model)
{
    char error[sizeof model->error];
    memcpy(error, model->error, sizeof error);
    while (model->owned) {
        piece *p = (piece *)model->owned;
        model->owned = p->next;
        free(p);
    }
    layers_free(&model->net);
    attn_mat_free(&model->distances);
    sentencepiece_close(&model->vocabulary);
    safetensors_close(&model->file);
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

static void begin_rows(t5 *model, rows *r, size_t count)
{
    const t5_config *c = &model->config;
    float *at = layers_rows(&model->net, count, 2 * c->d_model + 4 * c->inner + 2 * c->d_ff);
    memset(r, 0, sizeof *r);
    if (!at)
        return;
    r->count = count;
    r->x = at, at += count * c->d_model;
    r->h = at, at += count * c->d_model;
    r->q = at, at += count * c->inner;
    r->k = at, at += count * c->inner;
    r->v = at, at += count * c->inner;
    r->a = at, at += count * c->inner;
    r->f = at, at += count * c->d_ff;
    r->g = at;
}

/* What the network came to: the first error, if there was one, becomes the model's. The next call begins anew. */
static const char *outcome(t5 *model)
{
    if (!model->net.failed)
        return NULL;
    model->net.failed = 0;
    return fail(model, "%s", model->net.error);
}

const char *t5_check(t5 *model, attn_status status, const char *name)
{
    layers_check(&model->net, status, name);
    return outcome(model);
}

/* h = norm(x). No mean is taken off.                                               Zhang 2019, arXiv 1910.07467 */
static void norm(t5 *model, float *h, const float *x, size_t n, const float *weight)
{
    size_t d = model->config.d_model;
    layers_rms_norm(&model->net, h, x, n, d, d, weight, 0, model->config.epsilon);
}

/* x += wo(activation(wi h) gate h), h = norm(x). */
static void feed_forward(t5 *model, rows *r, const t5_block *b)
{
    const t5_config *c = &model->config;
    layers *net = &model->net;
    norm(model, r->h, r->x, r->count, b->ff_norm);
    layers_project(net, r->f, r->h, r->count, b->wi, 1);
    if (c->gated)
        layers_project(net, r->g, r->h, r->count, b->gate, 1);
    layers_gate(net, r->f, c->gated ? r->g : NULL, r->count, c->d_ff, c->gelu ? LAYERS_GELU_TANH : LAYERS_RELU);
    layers_project_add(net, r->x, r->f, r->count, b->wo, 1);
}

/* h = norm(x); q, k, v of it. */
static void project_self(t5 *model, rows *r, const t5_block *b)
{
    norm(model, r->h, r->x, r->count, b->self_norm);
    layers_project(&model->net, r->q, r->h, r->count, b->self.q, 1);
    layers_project(&model->net, r->k, r->h, r->count, b->self.k, 1);
    layers_project(&model->net, r->v, r->h, r->count, b->self.v, 1);
}

static void embed(t5 *model, float *x, const int32_t *ids, size_t n)
{
    size_t d = model->config.d_model, i;
    char message[64];
    for (i = 0; !model->net.failed && i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= model->config.vocab_size) {
            snprintf(message, sizeof message, "token %ld is not in the vocabulary", (long)ids[i]);
            layers_fail(&model->net, message);
            return;
        }
        attn_mat_copy(attn_mat_of(x + i * d, ATTN_F32, 1, d), attn_mat_rows(model->embedding, (size_t)ids[i], 1));
    }
}

/* *out becomes the biases of `table` for distances `first` to first + count - 1, heads x count; or stays what it was. */
static void spread_bias(t5 *model, attn_mat *out, attn_mat table, int bidirectional, ptrdiff_t first, size_t count)
{
    attn_mat spread;
    if (model->net.failed)
        return;
    spread = attn_mat_new(ATTN_F32, model->config.num_heads, count);
    if (!spread.data) {
        layers_fail(&model->net, "no memory");
        return;
    }
    layers_check(&model->net, attn_t5_bias(spread, table, bidirectional, model->config.max_distance, first),
                 "attn_t5_bias");
    attn_mat_free(model->net.failed ? &spread : out);
    if (!model->net.failed)
        *out = spread;
}

/* One block of the encoder, with the keys and queries of B texts of L rows. */
static void encode_block(t5 *model, rows *r, const t5_block *b, size_t B, size_t L, const attn_opts *opts)
{
    size_t H = model->config.num_heads, D = model->config.d_kv;
    attn_tensor out = attn_blhd(r->a, ATTN_F32, B, L, H, D), q = attn_blhd(r->q, ATTN_F32, B, L, H, D);
    attn_tensor k = attn_blhd(r->k, ATTN_F32, B, L, H, D), v = attn_blhd(r->v, ATTN_F32, B, L, H, D);
    project_self(model, r, b);
    layers_sdpa(&model->net, out, q, k, v, opts);
    layers_project_add(&model->net, r->x, r->a, r->count, b->self.o, 1);
    feed_forward(model, r, b);
}

const char *t5_encode(t5 *model, float *states, const int32_t *ids, const size_t *lens, size_t B, size_t L)
{
    const t5_config *c = &model->config;
    attn_mat bias = {NULL, ATTN_F32, 0, 0, 0, 0};
    attn_opts opts;
    rows r;
    size_t b, i;
    memset(&opts, 0, sizeof opts);
    opts.scale = 1;
    opts.q_lens = opts.kv_lens = lens;
    if (B > SIZE_MAX / (L + 1) || L > (size_t)PTRDIFF_MAX / 4)
        return no_memory(model);
    begin_rows(model, &r, B * L);
    if (model->net.failed)
        return outcome(model);
    memset(states, 0, B * L * c->d_model * sizeof *states);
    r.x = states;
    for (b = 0; b < B; b++)
        embed(model, states + b * L * c->d_model, ids + b * L, lens[b]);
    spread_bias(model, &bias, model->encoder.bias, 1, 1 - (ptrdiff_t)L, 2 * L - 1);
    opts.bias = attn_relative(bias, L, L);
    for (i = 0; i < model->encoder.count; i++)
        encode_block(model, &r, &model->encoder.blocks[i], B, L, &opts);
    attn_mat_free(&bias);
    norm(model, states, states, B * L, model->encoder.norm);
    for (b = 0; !model->net.failed && b < B; b++)
        memset(states + (b * L + lens[b]) * c->d_model, 0, (L - lens[b]) * c->d_model * sizeof *states);
    return outcome(model);
}

/* -- decoding -- */

const char *t5_begin(t5 *model, t5_text *text, const float *states, size_t source, size_t beams)
{
    size_t H = model->config.num_heads, D = model->config.d_kv, blocks = model->decoder.count, i;
    layers *net = &model->net;
    rows r;
    memset(text, 0, sizeof *text);
    text->beams = beams;
    text->source = source;
    text->cross = (attn_kv_cache *)calloc(blocks, sizeof *text->cross);
    text->self = (attn_kv_cache *)calloc(blocks, sizeof *text->self);
    if (!text->cross || !text->self)
        return no_memory(model);
    begin_rows(model, &r, source);
    for (i = 0; !net->failed && i < blocks; i++) {
        const t5_attention *cross = &model->decoder.blocks[i].cross;
        attn_kv_cache *cache = &text->cross[i];
        layers_project(net, r.k, states, source, cross->k, 1);
        layers_project(net, r.v, states, source, cross->v, 1);
        if (!net->failed && layers_check(net, attn_kv_cache_init(cache, 1, H, source, D, D, ATTN_F32, 0, NULL, 0),
                                         "attn_kv_cache_init"))
            layers_check(net,
                         attn_kv_cache_append(cache, attn_blhd(r.k, ATTN_F32, 1, source, H, D),
                                              attn_blhd(r.v, ATTN_F32, 1, source, H, D), NULL),
                         "attn_kv_cache_append");
    }
    return outcome(model);
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
static void grow_caches(t5 *model, t5_text *text, size_t len)
{
    size_t H = model->config.num_heads, D = model->config.d_kv, i, capacity;
    attn_kv_cache larger, *old;
    attn_status status = len > (size_t)PTRDIFF_MAX / 4 - text->length ? ATTN_ERR_NOMEM : ATTN_OK;
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
    layers_check(&model->net, status, "attn_kv_cache_init");
}

/* The decoder's biases for hypotheses of up to `length` tokens. */
static void grow_distances(t5 *model, size_t length)
{
    size_t reach = 32;
    if (model->distances.cols >= 2 * length)
        return;
    while (reach <= length)
        reach *= 2;
    spread_bias(model, &model->distances, model->decoder.bias, 0, 1 - (ptrdiff_t)reach, 2 * reach - 1);
}

/* The biases of `len` queries that begin at position `first`, to all keys up to the last of them. */
static attn_tensor decoder_bias(const t5 *model, size_t first, size_t len)
{
    size_t reach = (model->distances.cols + 1) / 2, keys = first + len;
    return attn_relative(attn_mat_cols(model->distances, reach - keys, len + keys - 1), len, keys);
}

/* Self-attention of the rows of one text, from row `at` on: they enter the cache and look at it. */
static void attend_self(t5 *model, rows *r, size_t at, t5_text *text, size_t block, size_t len)
{
    size_t H = model->config.num_heads, D = model->config.d_kv, to = at * model->config.inner;
    attn_kv_cache *cache = &text->self[block];
    attn_opts opts;
    if (model->net.failed)
        return;
    memset(&opts, 0, sizeof opts);
    opts.scale = 1;
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    opts.bias = decoder_bias(model, text->length, len);
    layers_check(&model->net,
                 attn_kv_cache_append(cache, attn_blhd(r->k + to, ATTN_F32, text->beams, len, H, D),
                                      attn_blhd(r->v + to, ATTN_F32, text->beams, len, H, D), NULL),
                 "attn_kv_cache_append");
    layers_attend(&model->net, attn_blhd(r->a + to, ATTN_F32, text->beams, len, H, D),
                  attn_blhd(r->q + to, ATTN_F32, text->beams, len, H, D), cache, &opts);
}

/* Attention to the text: the rows of all its hypotheses are queries of one item, so its keys are read once. */
static void attend_text(t5 *model, rows *r, size_t at, const t5_text *text, size_t block, size_t len, float *weights)
{
    size_t H = model->config.num_heads, D = model->config.d_kv, to = at * model->config.inner, n = text->beams * len;
    float *each = NULL;
    attn_opts opts;
    size_t bytes, h, i;
    if (model->net.failed)
        return;
    memset(&opts, 0, sizeof opts);
    opts.scale = 1;
    if (weights) {
        if (!multiply(&bytes, H * n, text->source, sizeof *each) || !(each = (float *)malloc(bytes))) {
            layers_fail(&model->net, "no memory");
            return;
        }
        opts.weights = attn_bhld(each, ATTN_F32, 1, H, n, text->source);
    }
    layers_attend(&model->net, attn_blhd(r->a + to, ATTN_F32, 1, n, H, D), attn_blhd(r->q + to, ATTN_F32, 1, n, H, D),
                  &text->cross[block], &opts);
    for (h = 0; !model->net.failed && weights && h < H; h++)
        for (i = 0; i < n * text->source; i++)
            weights[i] += each[h * n * text->source + i] / (float)(H * model->decoder.count);
    free(each);
}

/* One block of the decoder, for the rows of all texts. */
static void decode_block(t5 *model, rows *r, size_t block, t5_text *const *texts, size_t count, size_t len,
                         float *weights)
{
    const t5_block *b = &model->decoder.blocks[block];
    size_t t, at;
    project_self(model, r, b);
    for (t = at = 0; t < count; at += texts[t++]->beams * len)
        attend_self(model, r, at, texts[t], block, len);
    layers_project_add(&model->net, r->x, r->a, r->count, b->self.o, 1);
    norm(model, r->h, r->x, r->count, b->cross_norm);
    layers_project(&model->net, r->q, r->h, r->count, b->cross.q, 1);
    for (t = at = 0; t < count; at += texts[t++]->beams * len) {
        attend_text(model, r, at, texts[t], block, len, weights);
        if (weights)
            weights += texts[t]->beams * len * texts[t]->source;
    }
    layers_project_add(&model->net, r->x, r->a, r->count, b->cross.o, 1);
    feed_forward(model, r, b);
}

const char *t5_decode(t5 *model, t5_text *const *texts, size_t count, const int32_t *tokens, size_t len, float *logits,
                      float *weights)
{
    const t5_config *c = &model->config;
    rows r;
    size_t n = 0, seen = 0, t, i;
    for (t = 0; t < count; t++) {
        n += texts[t]->beams * len;
        seen += texts[t]->beams * len * texts[t]->source;
        grow_caches(model, texts[t], len);
        grow_distances(model, texts[t]->length + len);
    }
    begin_rows(model, &r, n);
    if (model->net.failed)
        return outcome(model);
    embed(model, r.x, tokens, n);
    for (i = 0; weights && i < seen; i++)
        weights[i] = 0;
    for (i = 0; i < model->decoder.count; i++)
        decode_block(model, &r, i, texts, count, len, weights);
    norm(model, r.h, r.x, n, model->decoder.norm);
    layers_project(&model->net, logits, r.h, n, model->head, c->tied ? 1 / sqrt((double)c->d_model) : 1);
    for (t = 0; !model->net.failed && t < count; t++)
        texts[t]->length += len;
    return outcome(model);
}
