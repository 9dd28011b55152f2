/* bert.c: see bert.h. First the files, then the network, then texts. */
#include "bert.h"
#include "json.h"
#include "shown.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens of a batch of bert_embed: so many that weights are read from memory seldom, so few that the numbers in between
   stay in the caches. */
enum { BATCH = 512 };

/* ==== Configuration ============================================================================================== */

/* A member that is there, is not null and says something else than `otherwise` asks for what is not done here. */
static void refuse_flag(checkpoint *files, json object, const char *name, int otherwise)
{
    if (checkpoint_flag(files, object, name, otherwise) != otherwise)
        checkpoint_fail_member(files, object, name,
                               otherwise ? "is false, which bert.c has no way for"
                                         : "is true, which bert.c has no way for");
}

static void read_config(bert *model)
{
    static const char *const types[] = {"bert", NULL}, *const activations[] = {"gelu", NULL},
                             *const positions[] = {"absolute", NULL};
    /* clang-format off */
    static const char *const known[] = {
        "add_cross_attention", "attention_probs_dropout_prob", "bos_token_id", "directionality", "eos_token_id",
        "hidden_act", "hidden_dropout_prob", "hidden_size", "intermediate_size", "layer_norm_eps",
        "max_position_embeddings", "num_attention_heads", "num_hidden_layers", "pad_token_id", "pooler_fc_size",
        "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
        "position_embedding_type", "type_vocab_size", "vocab_size", NULL};
    /* clang-format on */
    static const char *const *const lists[] = {checkpoint_unread, known, NULL};
    checkpoint *files = &model->files;
    bert_config *c = &model->config;
    json config = files->config;
    checkpoint_type(files, config, types);
    checkpoint_choice(files, config, "hidden_act", activations);
    checkpoint_choice(files, config, "position_embedding_type", positions);
    checkpoint_plain(files, config);
    checkpoint_members(files, config, NULL, lists);
    refuse_flag(files, config, "is_decoder", 0);
    refuse_flag(files, config, "add_cross_attention", 0);
    c->vocab_size = checkpoint_uint(files, config, "vocab_size", 1, -1);
    c->hidden_size = checkpoint_uint(files, config, "hidden_size", 1, -1);
    c->intermediate_size = checkpoint_uint(files, config, "intermediate_size", 1, -1);
    c->num_attention_heads = checkpoint_uint(files, config, "num_attention_heads", 1, -1);
    c->num_hidden_layers = checkpoint_uint(files, config, "num_hidden_layers", 1, -1);
    c->max_position_embeddings = checkpoint_uint(files, config, "max_position_embeddings", 2, -1);
    c->type_vocab_size = checkpoint_uint(files, config, "type_vocab_size", 1, 2);
    c->layer_norm_eps = checkpoint_real(files, config, "layer_norm_eps", 0, 1, 1e-12);
    if (!files->failed && c->hidden_size % c->num_attention_heads)
        checkpoint_fail_member(files, config, "hidden_size", "is no multiple of num_attention_heads");
}

/* A string of a file of sentence-transformers 5 and later that is to be this, where it is there. */
static void expect(checkpoint *files, json object, const char *name, const char *wanted)
{
    const char *names[2] = {NULL, NULL};
    names[0] = wanted;
    checkpoint_choice(files, object, name, names);
}

/* A file that sentence-transformers reads where there is a modules.json. */
static json read_beside(checkpoint *files, const char *name)
{
    json object = checkpoint_object(files, name);
    if (object.type == JSON_NONE || checkpoint_json(files, "modules.json").type != JSON_NONE)
        return object;
    if (json_get(object, "truncate_dim").type > JSON_NULL)
        checkpoint_fail_member(
            files, object, "truncate_dim",
            "is there, but no modules.json, without which sentence-transformers does not look at it");
    checkpoint_note(files, "%s/%s: it does not count, as in sentence-transformers: there is no modules.json",
                    files->directory, name);
    object.type = JSON_NONE;
    return object;
}

/* sentence_bert_config.json: what goes into the network and what comes out of it. */
static void read_transformer(checkpoint *files, json sentences)
{
    static const char *const filled[] = {"model_args",        "tokenizer_args",  "config_args",     "processor_args",
                                         "processing_kwargs", "query_expansion", "query_length",    "document_length",
                                         "model_kwargs",      "config_kwargs",   "processor_kwargs"};
    static const char *const known[] = {"max_seq_length",  "do_lower_case",      "transformer_task",
                                        "modality_config", "module_output_name", "unpad_inputs",
                                        "model_args",      "tokenizer_args",     "config_args",
                                        "processor_args",  "processing_kwargs",  "query_expansion",
                                        "query_length",    "document_length",    "model_kwargs",
                                        "config_kwargs",   "processor_kwargs",   NULL};
    static const char *const *const lists[] = {known, NULL};
    static const char *const how[] = {"attn_implementation", NULL}; /* of model_args, later model_kwargs: no matter */
    static const char *const *const harmless[] = {how, NULL};
    json text = json_get(json_get(sentences, "modality_config"), "text"), value;
    size_t i;
    checkpoint_members(files, sentences, NULL, lists);
    expect(files, sentences, "transformer_task", "feature-extraction");
    expect(files, sentences, "module_output_name", "token_embeddings");
    expect(files, text, "method", "forward");
    expect(files, text, "method_output_name", "last_hidden_state");
    for (i = 0; i < sizeof filled / sizeof *filled; i++) {
        value = json_get(sentences, filled[i]);
        if (checkpoint_says(sentences, filled[i]) &&
            (strncmp(filled[i], "model_", 6) != 0 || value.type != JSON_OBJECT ||
             json_others(value, harmless, NULL, 0) > 0))
            checkpoint_fail_member(files, sentences, filled[i], "is there, which bert.c has no way for");
    }
}

/* The first that says something of the file's names of today and of old. */
static json find_sentences(checkpoint *files)
{
    static const char *const kinds[] = {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"};
    json object = {JSON_NONE, NULL, NULL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !json_first(object).type; i++) {
        char name[64];
        snprintf(name, sizeof name, "sentence_%s_config.json", kinds[i]);
        object = read_beside(files, name);
    }
    return object;
}

/* max_seq_length; where it is missing the tokenizer's model_max_length; no more than there are positions. */
static void read_lengths(bert *model)
{
    checkpoint *files = &model->files;
    json sentences = find_sentences(files);
    json tokenizer = checkpoint_object(files, "tokenizer_config.json");
    size_t positions = model->config.max_position_embeddings, length;
    double most; /* what has no limit says 1e30 */
    read_transformer(files, sentences);
    length = checkpoint_uint(files, sentences, "max_seq_length", 2, 0);
    if (!length) {
        most = checkpoint_real(files, tokenizer, "model_max_length", 2, 1e300, 1e300);
        length = most < (double)positions ? (size_t)most : positions;
    }
    model->config.max_seq_length = length < positions ? length : positions;
    if (checkpoint_flag(files, sentences, "do_lower_case", 0) && !model->vocabulary.lower_case)
        checkpoint_fail_member(files, sentences, "do_lower_case", "is true, and that of the tokenizer is not");
}

/* 1_Pooling/config.json: "pooling_mode", or a flag for each mode, of which one is true. */
static void read_pooling(bert *model, const char *path)
{
    static const char *const modes[] = {"mean", "cls", "max", NULL};
    static const char *const flags[] = {"pooling_mode_mean_tokens", "pooling_mode_cls_token", "pooling_mode_max_tokens",
                                        NULL};
    static const char *const others[] = {"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                                         "pooling_mode_lasttoken", NULL};
    static const char *const known[] = {"embedding_dimension", "word_embedding_dimension", "pooling_mode",
                                        "include_prompt", NULL};
    static const char *const *const lists[] = {known, flags, others, NULL};
    checkpoint *files = &model->files;
    json config = checkpoint_object(files, path);
    size_t i, chosen = 0, width;
    if (!files->failed && config.type == JSON_NONE)
        checkpoint_fail(files, "%s/%s: no such file", files->directory, path);
    checkpoint_members(files, config, NULL, lists);
    width = checkpoint_uint(files, config, "embedding_dimension", 1, 0);
    if (!width)
        width = checkpoint_uint(files, config, "word_embedding_dimension", 1, (long)model->config.hidden_size);
    if (width != model->config.hidden_size)
        checkpoint_fail_member(files, config, "word_embedding_dimension", "is not the hidden_size of config.json");
    if (!checkpoint_flag(files, config, "include_prompt", 1) && (model->query.size || model->document.size))
        checkpoint_fail_member(files, config, "include_prompt",
                               "is false, and there are prompts, which bert.c pools with the rest");
    if (json_get(config, "pooling_mode").type != JSON_NONE) {
        model->config.pooling = (bert_pooling)checkpoint_choice(files, config, "pooling_mode", modes);
        return;
    }
    for (i = 0; others[i]; i++)
        refuse_flag(files, config, others[i], 0);
    for (i = 0; flags[i]; i++)
        if (checkpoint_flag(files, config, flags[i], 0)) {
            model->config.pooling = (bert_pooling)i;
            if (chosen++)
                checkpoint_fail_member(files, config, flags[i],
                                       "is true beside another mode, which bert.c has no way for");
        }
}

/* 2_Normalize/config.json, which older files do not have. */
static void read_normalize(bert *model, const char *path)
{
    static const char *const known[] = {"module_input_name", "module_output_name", NULL};
    static const char *const *const lists[] = {known, NULL};
    json config = checkpoint_object(&model->files, path);
    checkpoint_members(&model->files, config, NULL, lists);
    expect(&model->files, config, known[0], "sentence_embedding");
    expect(&model->files, config, known[1], "sentence_embedding");
    model->config.normalize = 1;
}

/* Module n of modules.json: first this network, then pooling, then perhaps normalisation. */
static void read_module(bert *model, json module, size_t n)
{
    static const char *const names[] = {"Transformer", "Pooling", "Normalize"};
    static const char *const known[] = {"idx", "name", "path", "type", "kwargs", NULL};
    static const char *const *const lists[] = {known, NULL};
    static const char package[] = "sentence_transformers.";
    checkpoint *files = &model->files;
    char type[100], path[200], shown[160];
    size_t size = json_string(json_get(module, "type"), type, sizeof type);
    const char *last = strrchr(type, '.');
    checkpoint_members(files, module, "a module", lists);
    if (size >= sizeof type || n > 2 || strncmp(type, package, sizeof package - 1) != 0 ||
        strcmp(last + 1, names[n]) != 0)
        checkpoint_fail(files, "%s/modules.json: module %lu is \"%s\"; bert.c has Transformer, Pooling, Normalize",
                        files->directory, (unsigned long)n, shown_text(shown, sizeof shown, type, strlen(type)));
    size = json_string(json_get(module, "path"), path, sizeof path - 20);
    if (size >= sizeof path - 20 || path[strcspn(path, "/\\:")] || path[0] == '.')
        checkpoint_fail_member(files, module, "path", "is no name of a directory beside it");
    else if (n == 0 && size)
        checkpoint_fail_member(files, module, "path", "of the Transformer is not the directory itself");
    if (files->failed)
        return;
    strcat(path, size ? "/config.json" : "config.json");
    if (n == 1)
        read_pooling(model, path);
    else if (n == 2 && size)
        read_normalize(model, path);
    model->config.normalize |= n == 2;
}

/* modules.json. Without the file it is the mean, as it is (and see read_beside). */
static void read_modules(bert *model)
{
    checkpoint *files = &model->files;
    json modules = checkpoint_json(files, "modules.json"), module;
    size_t n = 0;
    if (!files->failed && modules.type != JSON_NONE && modules.type != JSON_ARRAY)
        checkpoint_fail(files, "%s/modules.json: no JSON array", files->directory);
    for (module = json_first(modules); !files->failed && module.type != JSON_NONE; module = json_next(module))
        read_module(model, module, n++);
}

/* A prompt of that name; empty without. */
static bert_text read_prompt(checkpoint *files, json prompts, const char *name)
{
    json value = json_get(prompts, name);
    bert_text out = {"", 0};
    char *text;
    if (value.type > JSON_NULL && value.type != JSON_STRING)
        checkpoint_fail_member(files, prompts, name, "is no string");
    out.size = files->failed ? 0 : json_string(value, NULL, 0);
    text = out.size ? (char *)checkpoint_layers(files, 1, out.size + 1) : NULL;
    if (text)
        json_string(value, text, out.size + 1);
    out.text = text ? text : "";
    out.size = text ? out.size : 0;
    return out;
}

/* config_sentence_transformers.json: prompts, how much of a vector is used, and how vectors are compared. */
static void read_sentences(bert *model, json sentences)
{
    static const char *const known[] = {"__version__",        "default_prompt_name", "model_type", "prompts",
                                        "similarity_fn_name", "truncate_dim",        NULL};
    static const char *const *const lists[] = {known, NULL};
    checkpoint *files = &model->files;
    bert_config *c = &model->config;
    json prompts = json_get(sentences, "prompts"), usual = json_get(sentences, "default_prompt_name"), text;
    char name[100] = "";
    checkpoint_members(files, sentences, NULL, lists);
    expect(files, sentences, "model_type", "SentenceTransformer");
    if (json_get(sentences, "model_type").type == JSON_NULL)
        checkpoint_fail_member(files, sentences, "model_type", "is null, which is no SentenceTransformer");
    if (prompts.type > JSON_NULL && prompts.type != JSON_OBJECT)
        checkpoint_fail_member(files, sentences, "prompts", "is no object");
    c->dimension = checkpoint_uint(files, sentences, "truncate_dim", 1, (long)c->hidden_size);
    c->dimension = c->dimension < c->hidden_size ? c->dimension : c->hidden_size;
    model->query = read_prompt(files, prompts, "query");
    model->document = read_prompt(files, prompts, "document");
    json_string(usual, name, sizeof name);
    text = json_get(prompts, name);
    if (usual.type > JSON_NULL && text.type != JSON_NULL && !json_is(text, "") &&
        !(text.type == JSON_NONE && (json_is(usual, "query") || json_is(usual, "document"))))
        checkpoint_fail_member(files, sentences, "default_prompt_name",
                               "puts a prompt before all texts, which bert.c does not");
    if (!model->document.size && (checkpoint_says(prompts, "passage") || checkpoint_says(prompts, "corpus")))
        checkpoint_note(files, "%s/config_sentence_transformers.json: of prompts, query and document alone are used",
                        files->directory);
}

/* Vectors are compared by their cosine, or by what is the same. */
static void read_similarity(bert *model, json sentences)
{
    static const char *const names[] = {"cosine", "dot", NULL};
    const bert_config *c = &model->config;
    if (checkpoint_choice(&model->files, sentences, "similarity_fn_name", names) == 1 &&
        (!c->normalize || c->dimension < c->hidden_size))
        checkpoint_fail_member(&model->files, sentences, "similarity_fn_name",
                               "is dot, where vectors are not of length 1: cosines are what is compared here");
}

/* ==== Weights ==================================================================================================== */

static checkpoint_linear linear(checkpoint *files, const char *prefix, size_t layer, const char *name, size_t rows,
                                size_t cols)
{
    return checkpoint_linear_of(files, rows, cols, 1, "%sencoder.layer.%lu.%s", prefix, (unsigned long)layer, name);
}

/* Files from before 2019 have other names for the two. */
static bert_norm norm_of(checkpoint *files, size_t size, const char *prefix, const char *name)
{
    int old = checkpoint_has(files, "%s%s.gamma", prefix, name);
    bert_norm out;
    out.weight = checkpoint_vector(files, size, "%s%s.%s", prefix, name, old ? "gamma" : "weight");
    out.bias = checkpoint_vector(files, size, "%s%s.%s", prefix, name, old ? "beta" : "bias");
    return out;
}

static bert_norm layer_norm(checkpoint *files, size_t size, const char *prefix, size_t layer, const char *name)
{
    char whole[80];
    snprintf(whole, sizeof whole, "encoder.layer.%lu.%s.LayerNorm", (unsigned long)layer, name);
    return norm_of(files, size, prefix, whole);
}

static void load_embeddings(bert *model, const char *prefix)
{
    checkpoint *files = &model->files;
    const bert_config *c = &model->config;
    attn_mat types;
    float *type;
    model->words =
        checkpoint_matrix(files, c->vocab_size, c->hidden_size, "%sembeddings.word_embeddings.weight", prefix);
    model->positions = checkpoint_matrix(files, c->max_position_embeddings, c->hidden_size,
                                         "%sembeddings.position_embeddings.weight", prefix);
    types = checkpoint_matrix(files, c->type_vocab_size, c->hidden_size, "%sembeddings.token_type_embeddings.weight",
                              prefix);
    model->norm = norm_of(files, c->hidden_size, prefix, "embeddings.LayerNorm");
    type = (float *)checkpoint_layers(files, 1, c->hidden_size * sizeof *type);
    if (type)
        attn_mat_copy(attn_mat_of(type, ATTN_F32, 1, c->hidden_size), attn_mat_rows(types, 0, 1));
    model->type = type;
}

static void load(bert *model)
{
    checkpoint *files = &model->files;
    const bert_config *c = &model->config;
    const char *prefix = checkpoint_has(files, "bert.embeddings.word_embeddings.weight") ? "bert." : "";
    size_t d = c->hidden_size, i;
    load_embeddings(model, prefix);
    model->encoder = (bert_layer *)checkpoint_layers(files, c->num_hidden_layers, sizeof *model->encoder);
    for (i = 0; model->encoder && !files->failed && i < c->num_hidden_layers; i++) {
        bert_layer *l = &model->encoder[i];
        l->query = linear(files, prefix, i, "attention.self.query", d, d);
        l->key = linear(files, prefix, i, "attention.self.key", d, d);
        l->value = linear(files, prefix, i, "attention.self.value", d, d);
        l->output = linear(files, prefix, i, "attention.output.dense", d, d);
        l->attention_norm = layer_norm(files, d, prefix, i, "attention.output");
        l->up = linear(files, prefix, i, "intermediate.dense", c->intermediate_size, d);
        l->down = linear(files, prefix, i, "output.dense", d, c->intermediate_size);
        l->output_norm = layer_norm(files, d, prefix, i, "output");
    }
    checkpoint_ignore(files, "%sembeddings.position_ids", prefix);
    checkpoint_ignore(files, "%spooler.dense.weight", prefix); /* of [CLS], for what BERT learnt first */
    checkpoint_ignore(files, "%spooler.dense.bias", prefix);
    checkpoint_ignore_all(files, "cls.");
    checkpoint_finish(files, "BERT");
}

static void check_vocabulary(bert *model)
{
    checkpoint *files = &model->files;
    const wordpiece *v = &model->vocabulary;
    if (!files->failed && (v->cls_id < 0 || v->sep_id < 0))
        checkpoint_fail(files, "%s: the vocabulary has no [CLS] or no [SEP]", files->directory);
    if (!files->failed && (size_t)v->count > model->config.vocab_size)
        checkpoint_fail(files, "%s: the vocabulary has %ld ids, config.json says %lu", files->directory, (long)v->count,
                        (unsigned long)model->config.vocab_size);
}

const char *bert_open(bert *model, const char *directory, const checkpoint_opts *opts)
{
    checkpoint *files = &model->files;
    const char *error;
    json sentences;
    memset(model, 0, sizeof *model);
    if (!checkpoint_open(files, directory))
        read_config(model);
    checkpoint_weights(files, opts);
    if (!files->failed && (error = wordpiece_open(&model->vocabulary, directory)) != NULL)
        checkpoint_fail(files, "%s", error);
    check_vocabulary(model);
    read_lengths(model);
    sentences = read_beside(files, "config_sentence_transformers.json");
    read_sentences(model, sentences);
    read_modules(model);
    read_similarity(model, sentences);
    load(model);
    if (!files->failed) {
        model->ids = (int32_t *)malloc((BATCH + model->config.max_seq_length) * sizeof *model->ids);
        model->starts = (size_t *)calloc(BATCH + 1, sizeof *model->starts);
        if (!model->ids || !model->starts)
            checkpoint_fail(files, "%s: no memory", files->directory);
    }
    if (!files->failed)
        return NULL;
    layers_fail(&model->net, "%s", files->error);
    bert_close(model);
    return layers_outcome(&model->net);
}

void bert_close(bert *model)
{
    free(model->ids);
    free(model->starts);
    layers_free(&model->net);
    wordpiece_close(&model->vocabulary);
    checkpoint_close(&model->files);
    memset(model, 0, offsetof(bert, net)); /* the message stays */
}

/* ==== The network ================================================================================================ */

/* Rows of numbers in between: those of the feed-forward take the place of the attention's. */
typedef struct rows {
    float *x;             /* count x hidden_size: the caller's states */
    float *q, *k, *v, *a; /* count x hidden_size: what attention takes and gives */
    float *f;             /* count x intermediate_size: the same memory */
    float *y;             /* count x hidden_size: what is to be added to x */
    size_t count;
} rows;

static int begin_rows(bert *model, rows *r, float *states, size_t count)
{
    size_t d = model->config.hidden_size, width = model->config.intermediate_size;
    float *rest; /* of f, which begins with q */
    const layers_part parts[] = {
        {&r->q, d}, {&r->k, d}, {&r->v, d}, {&r->a, d}, {&rest, width / 4 < d ? 0 : width - 4 * d}, {&r->y, d}};
    r->x = states;
    r->count = count;
    if (!layers_parts(&model->net, count, parts, sizeof parts / sizeof *parts))
        return 0;
    r->f = r->q;
    return 1;
}

static double now(const bert *model)
{
    return model->times.now ? model->times.now() : 0;
}

/* x = norm(word + type + position) of each token. */
static void embed(bert *model, rows *r, const int32_t *ids, const size_t *starts, size_t sequences)
{
    const bert_config *c = &model->config;
    attn_mat places = attn_mat_of(r->q, ATTN_F32, r->count, c->hidden_size);
    size_t s;
    layers_embed(&model->net, r->x, model->words, ids, r->count);
    for (s = 0; s < sequences; s++) {
        size_t count = starts[s + 1] - starts[s];
        attn_mat_copy(attn_mat_rows(places, starts[s], count), attn_mat_rows(model->positions, 0, count));
    }
    layers_add_bias(&model->net, r->x, r->count, c->hidden_size, model->type);
    layers_add(&model->net, r->x, r->q, r->count, c->hidden_size);
    layers_norm(&model->net, r->x, r->x, r->count, c->hidden_size, model->norm.weight, model->norm.bias,
                c->layer_norm_eps);
}

/* out = in w^T, for all rows. */
static void project(bert *model, float *out, const float *in, const rows *r, attn_mat w)
{
    double start = now(model);
    layers_project(&model->net, out, in, r->count, w, 1);
    model->times.products += now(model) - start;
    model->times.flops += 2 * (double)r->count * (double)w.rows * (double)w.cols;
}

static void project_in(bert *model, float *out, const rows *r, checkpoint_linear m)
{
    project(model, out, r->x, r, m.w);
    layers_add_bias(&model->net, out, r->count, m.w.rows, m.bias);
}

/* x = norm(x + in w^T + bias), where a half of a layer ends. */
static void add_and_norm(bert *model, const rows *r, const float *in, checkpoint_linear m, bert_norm n)
{
    size_t d = model->config.hidden_size;
    project(model, r->y, in, r, m.w);
    layers_add_norm(&model->net, r->x, r->y, m.bias, r->count, d, n.weight, n.bias, model->config.layer_norm_eps);
}

static void attend(bert *model, const rows *r, const attn_opts *opts)
{
    size_t H = model->config.num_attention_heads, D = model->config.hidden_size / H, n = r->count;
    double start = now(model);
    layers_sdpa(&model->net, attn_blhd(r->a, ATTN_F32, 1, n, H, D), attn_blhd(r->q, ATTN_F32, 1, n, H, D),
                attn_blhd(r->k, ATTN_F32, 1, n, H, D), attn_blhd(r->v, ATTN_F32, 1, n, H, D), opts);
    model->times.attention += now(model) - start;
}

static void encode_layer(bert *model, const rows *r, const bert_layer *l, const attn_opts *opts)
{
    project_in(model, r->q, r, l->query);
    project_in(model, r->k, r, l->key);
    project_in(model, r->v, r, l->value);
    attend(model, r, opts);
    add_and_norm(model, r, r->a, l->output, l->attention_norm);
    project(model, r->f, r->x, r, l->up.w);
    layers_gelu(&model->net, r->f, r->count, l->up.w.rows, l->up.bias);
    add_and_norm(model, r, r->f, l->down, l->output_norm);
}

/* Whether texts and tokens are some that the network has a way for. */
static int check_tokens(bert *model, const int32_t *ids, const size_t *starts, size_t sequences)
{
    const bert_config *c = &model->config;
    layers *net = &model->net;
    size_t s, i;
    if (sequences && starts[0])
        return layers_fail(net, "the first text does not start with token 0");
    for (s = 0; s < sequences; s++) {
        if (starts[s + 1] < starts[s] || starts[s + 1] - starts[s] > c->max_position_embeddings)
            return layers_fail(net, "text %lu is not of 0 to %lu tokens", (unsigned long)s,
                               (unsigned long)c->max_position_embeddings);
        for (i = starts[s]; i < starts[s + 1]; i++)
            if (ids[i] < 0 || (size_t)ids[i] >= c->vocab_size)
                return layers_fail(net, "token %ld is not below vocab_size", (long)ids[i]);
    }
    return 1;
}

const char *bert_encode(bert *model, float *states, const int32_t *ids, const size_t *starts, size_t sequences)
{
    attn_opts opts;
    rows r;
    size_t i;
    if (!check_tokens(model, ids, starts, sequences) || sequences == 0 || starts[sequences] == 0)
        return layers_outcome(&model->net);
    memset(&r, 0, sizeof r);
    memset(&opts, 0, sizeof opts);
    opts.sequences = sequences;
    opts.q_starts = opts.kv_starts = starts;
    if (begin_rows(model, &r, states, starts[sequences])) {
        embed(model, &r, ids, starts, sequences);
        for (i = 0; i < model->config.num_hidden_layers; i++)
            encode_layer(model, &r, &model->encoder[i], &opts);
    }
    return layers_outcome(&model->net);
}

/* ==== Texts ====================================================================================================== */

/* The tokens of a text after its prompt. */
static const char *encode_text(bert *model, bert_text text, wordpiece_tokens *tokens)
{
    bert_text prompt = model->prompt;
    const char *error;
    char *whole;
    if (prompt.size == 0)
        return wordpiece_encode(&model->vocabulary, text.text, text.size, tokens);
    if (text.size > (size_t)PTRDIFF_MAX - prompt.size || !(whole = (char *)malloc(prompt.size + text.size)))
        return "no memory";
    memcpy(whole, prompt.text, prompt.size);
    if (text.size > 0)
        memcpy(whole + prompt.size, text.text, text.size);
    error = wordpiece_encode(&model->vocabulary, whole, prompt.size + text.size, tokens);
    free(whole);
    return error;
}

const char *bert_tokens(bert *model, bert_text text, int32_t *ids, size_t *count)
{
    size_t most = model->config.max_seq_length - 2, n;
    wordpiece_tokens tokens;
    const char *error = encode_text(model, text, &tokens);
    if (error)
        return error;
    n = tokens.count < most ? tokens.count : most;
    ids[0] = model->vocabulary.cls_id;
    if (n)
        memcpy(ids + 1, tokens.ids, n * sizeof *ids);
    ids[n + 1] = model->vocabulary.sep_id;
    *count = n + 2;
    model->truncated += n < tokens.count;
    wordpiece_tokens_free(&tokens);
    return NULL;
}

/* Pools columns j .. j + count - 1, at most COLUMNS, and returns the sum of their squares. Sums are in double. */
enum { COLUMNS = 64 };
static double pool_columns(const bert_config *c, float *vector, const float *states, size_t n, size_t j, size_t count)
{
    double sums[COLUMNS], squares = 0;
    size_t r, i;
    for (i = 0; i < count; i++)
        sums[i] = (double)states[j + i];
    for (r = 1; r < n && c->pooling == BERT_MEAN; r++)
        for (i = 0; i < count; i++)
            sums[i] += (double)states[r * c->hidden_size + j + i];
    for (r = 1; r < n && c->pooling == BERT_MAX; r++)
        for (i = 0; i < count; i++)
            if ((double)states[r * c->hidden_size + j + i] > sums[i])
                sums[i] = (double)states[r * c->hidden_size + j + i];
    for (i = 0; i < count; i++) {
        double x = c->pooling == BERT_MEAN ? sums[i] / (double)n : sums[i];
        vector[j + i] = (float)x;
        squares += x * x;
    }
    return squares;
}

void bert_pool(const bert *model, float *vector, const float *states, size_t count)
{
    const bert_config *c = &model->config;
    size_t d = c->hidden_size, j;
    double squares = 0, length;
    for (j = 0; j < d; j += COLUMNS)
        squares += pool_columns(c, vector, states, count, j, d - j < COLUMNS ? d - j : (size_t)COLUMNS);
    length = sqrt(squares) > 1e-12 ? sqrt(squares) : 1e-12; /* as torch has it */
    for (j = 0; c->normalize && j < d; j++)
        vector[j] = (float)((double)vector[j] / length);
}

/* A batch of bert_embed: its texts, and their tokens in model->ids. Behind these may be those of the next text, which
   has no room any more. */
typedef struct batch {
    size_t texts, tokens, next;
} batch;

/* Makes a batch of the texts that follow, of one at least. */
static const char *fill(bert *model, batch *b, const bert_text *texts, size_t left)
{
    size_t n, at = 0, length = 0;
    const char *error;
    memmove(model->ids, model->ids + b->tokens, b->next * sizeof *model->ids);
    for (n = 0; n < left && at < BATCH; n++, at += length) {
        length = n ? 0 : b->next;
        if (!length && (error = bert_tokens(model, texts[n], model->ids + at, &length)) != NULL)
            return error;
        if (n && at + length > BATCH)
            break;
        model->starts[n + 1] = at + length;
    }
    b->next = n < left && at < BATCH ? length : 0;
    b->texts = n;
    b->tokens = at;
    return NULL;
}

static int are_finite(const float *vector, size_t d)
{
    size_t j;
    for (j = 0; j < d; j++)
        if (!(fabsf(vector[j]) <= FLT_MAX))
            return 0;
    return 1;
}

const char *bert_embed(bert *model, float *vectors, const bert_text *texts, size_t count)
{
    size_t d = model->config.hidden_size, wide = model->config.dimension, most = model->config.max_seq_length, i, first;
    const size_t *starts = model->starts;
    batch b = {0, 0, 0};
    float *states = (float *)layers_memory(most > BATCH ? most : (size_t)BATCH, d, 1, sizeof *states);
    const char *error = states ? NULL : "no memory";
    for (first = 0; first < count && !error; first += b.texts) {
        error = fill(model, &b, texts + first, count - first);
        if (!error)
            error = bert_encode(model, states, model->ids, starts, b.texts);
        for (i = 0; i < b.texts && !error; i++) {
            float *vector = states + starts[i] * d;
            bert_pool(model, vector, vector, starts[i + 1] - starts[i]);
            if (!are_finite(vector, d))
                error = "a vector is not finite: the weights are damaged";
            memcpy(vectors + (first + i) * wide, vector, wide * sizeof *vector);
        }
        model->tokens += error ? 0 : b.tokens;
    }
    free(states);
    return error;
}
