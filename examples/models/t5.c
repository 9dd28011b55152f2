/* t5.c: see t5.h. First the files: config.json, the names of the weights; then the network. */
#include "t5.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

/* ==== config.json ================================================================================================ */

/* An id: generation_config.json may say another than config.json, and then counts. */
static size_t read_id(checkpoint *files, json generation, const char *name, long usual)
{
    long id = (long)checkpoint_uint(files, files->config, name, 0, usual);
    return checkpoint_uint(files, generation, name, 0, id);
}

static void read_ids(checkpoint *files, json generation, t5_config *c)
{
    size_t pad = read_id(files, generation, "pad_token_id", 0), eos = read_id(files, generation, "eos_token_id", 1);
    size_t start = read_id(files, generation, "decoder_start_token_id", 0);
    if (checkpoint_real(files, generation, "repetition_penalty", -1e9, 1e9, 1) != 1)
        checkpoint_fail_member(files, generation, "repetition_penalty", "is something that this program does not do");
    if (pad >= c->vocab_size || eos >= c->vocab_size || start >= c->vocab_size)
        checkpoint_fail_member(files, files->config, "vocab_size",
                               "is too small: the id of pad, eos or decoder_start is not below vocab_size");
    if (json_get(generation, "eos_token_id").type <= JSON_NULL && generation.text != files->config.text)
        checkpoint_note(files,
                        "%s/generation_config.json: there is no eos_token_id: that of config.json ends a text, which "
                        "nothing does in transformers",
                        files->directory);
    else if (json_get(generation, "eos_token_id").type <= JSON_NULL)
        checkpoint_note(files,
                        "%s: there is no eos_token_id: token 1 ends a text, which transformers 4 takes for "
                        "it where it is missing, and nothing does elsewhere",
                        checkpoint_path(files, files->config));
    if (checkpoint_flag(files, generation, "renormalize_logits", 0))
        checkpoint_note(files, "%s: renormalize_logits is true, which is not done: scores may be others",
                        files->directory);
    c->pad_id = (int32_t)pad;
    c->eos_id = (int32_t)eos;
    c->start_id = (int32_t)start;
}

static void read_numbers(checkpoint *files, t5_config *c)
{
    json config = files->config;
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
    if (c->max_distance <= c->buckets / 2)
        checkpoint_fail_member(files, config, "relative_attention_max_distance", "is not above half of the buckets");
    c->inner = c->num_heads * c->d_kv;
    if ((uint64_t)c->num_heads * c->d_kv > INT32_MAX)
        checkpoint_fail_member(files, config, "num_heads", "times d_kv is too large");
}

/* feed_forward_proj: an activation's name, perhaps after "gated-". transformers takes gated-gelu for gelu_new. Where
   dense_act_fn and is_gated_act are there, too, they count more there; here they must say the same. */
static void read_activation(checkpoint *files, t5_config *c)
{
    static const char *const names[] = {"relu", "gelu_new", "gated-gelu", "gated-gelu_new", "gated-relu", NULL};
    json config = files->config, function = json_get(config, "dense_act_fn");
    size_t kind;
    if (json_get(config, "feed_forward_proj").type == JSON_NULL)
        checkpoint_fail_member(files, config, "feed_forward_proj", "is null");
    kind = checkpoint_choice(files, config, "feed_forward_proj", names);
    c->gated = kind >= 2;
    c->gelu = kind >= 1 && kind <= 3;
    if (function.type > JSON_NULL && !json_is(function, c->gelu ? "gelu_new" : "relu"))
        checkpoint_fail_member(files, config, "dense_act_fn", "is not what feed_forward_proj says");
    if (checkpoint_flag(files, config, "is_gated_act", c->gated) != c->gated)
        checkpoint_fail_member(files, config, "is_gated_act", "is not what feed_forward_proj says");
}

/* Members that nobody reads, and those that transformers takes for others of theirs. */
static void note_others(checkpoint *files)
{
    /* clang-format off */
    static const char *const known[] = {
        "d_ff", "d_kv", "d_model", "dense_act_fn", "dropout_rate", "feed_forward_proj", "head_dim", "hidden_size",
        "is_gated_act", "layer_norm_epsilon", "n_positions", "num_attention_heads", "num_decoder_layers", "num_heads",
        "num_hidden_layers", "num_layers", "relative_attention_max_distance", "relative_attention_num_buckets",
        "scale_decoder_outputs", "vocab_size", NULL};
    /* clang-format on */
    static const char *const *const lists[] = {checkpoint_unread, checkpoint_generating, known, NULL};
    static const char *const same[][2] = {{"hidden_size", "d_model"},
                                          {"num_attention_heads", "num_heads"},
                                          {"num_hidden_layers", "num_layers"},
                                          {"head_dim", "d_kv"}};
    json config = files->config;
    size_t i;
    checkpoint_plain(files, config);
    checkpoint_members(files, config, NULL, lists);
    for (i = 0; i < sizeof same / sizeof *same; i++) {
        size_t number = checkpoint_uint(files, config, same[i][1], 1, -1);
        if (checkpoint_uint(files, config, same[i][0], 1, (long)number) != number)
            checkpoint_fail_member(files, config, same[i][0], "is another name of a member that says otherwise");
    }
    if (!checkpoint_flag(files, config, "is_encoder_decoder", 1))
        checkpoint_fail_member(files, config, "is_encoder_decoder", "is false, which no T5 is here");
    if (checkpoint_flag(files, config, "tie_encoder_decoder", 0))
        checkpoint_fail_member(files, config, "tie_encoder_decoder", "is true, which this program does not do");
}

static void read_config(t5 *model)
{
    static const char *const types[] = {"t5", NULL};
    checkpoint *files = &model->files;
    t5_config *c = &model->config;
    int sample;
    checkpoint_type(files, files->config, types);
    read_numbers(files, c);
    read_activation(files, c);
    model->generation = checkpoint_generation(files, &sample, 1);
    if (sample)
        checkpoint_note(files, "%s: do_sample is true: texts are searched for, not drawn", files->directory);
    read_ids(files, model->generation, c);
    note_others(files);
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

/* The embedding may stand under any of its names, and under all of them; and the head too, if they are one. */
static void read_embedding(t5 *model)
{
    static const char *const names[] = {"shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                                        NULL};
    static const char name[] = "scale_decoder_outputs";
    t5_config *c = &model->config;
    checkpoint *files = &model->files;
    json scale = json_get(files->config, name);
    checkpoint_ends(files, c->vocab_size, c->d_model, names, "lm_head.weight", c->tied, &model->embedding,
                    &model->head);
    if (c->tied && model->head.data != model->embedding.data && scale.type == JSON_NONE)
        checkpoint_note(files,
                        "%s/config.json: there is no scale_decoder_outputs: transformers 5 would scale what "
                        "lm_head.weight makes, which is not done here",
                        files->directory);
    if (scale.type == JSON_NULL)
        checkpoint_fail_member(files, files->config, name, "is null: it is to be true or false");
    c->tied = checkpoint_flag(files, files->config, name, c->tied && model->head.data == model->embedding.data);
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

/* The pieces are those of the embeddings, but for `others` that fill up the last ones; and the end of a text is what
   config.json says: a file that is cut short or another's would give wrong words without a message. */
static void check_vocabulary(t5 *model, const char *path, size_t count, size_t others, int32_t end)
{
    const t5_config *c = &model->config;
    checkpoint *files = &model->files;
    if (count > c->vocab_size)
        checkpoint_fail(files, "%s: %lu pieces, more than the vocab_size of config.json", path, (unsigned long)count);
    else if (others > 64 && others > c->vocab_size / 64)
        checkpoint_fail(files, "%s: %lu pieces, too few for the vocab_size of config.json, %lu", path,
                        (unsigned long)count, (unsigned long)c->vocab_size);
    else if (end != c->eos_id)
        checkpoint_fail(files, "%s: texts end with piece %ld, not %ld as config.json has it", path, (long)end,
                        (long)c->eos_id);
}

static void use_pieces(t5 *model, const char *path, const char *error)
{
    sentencepiece *v = &model->vocabulary;
    size_t size = model->config.vocab_size, count, others;
    if (error) {
        checkpoint_fail(&model->files, "%s", error);
        return;
    }
    count = (size_t)v->count;
    others = count < size ? size - count : 0;
    if (sentencepiece_id(v, "<extra_id_0>", 12) == v->unk_id) {
        v->extra_ids = others < 100 ? (int32_t)others : 100;
        others -= (size_t)v->extra_ids;
    }
    check_vocabulary(model, path, count, others, v->eos_id);
}

static void use_tokens(t5 *model, const char *path, const char *error)
{
    bpe *t = &model->tokens;
    size_t size = model->config.vocab_size, count;
    if (error) {
        checkpoint_fail(&model->files, "%s", error);
        return;
    }
    count = (size_t)t->count;
    check_vocabulary(model, path, count, count < size ? size - count : 0,
                     t->after.count ? t->after.ids[t->after.count - 1] : -1);
}

/* Whether the tokenizer has a token, as none of a text's pieces. */
static int has_token(const t5 *model, const char *text, size_t size)
{
    const sentencepiece *v = &model->vocabulary;
    int32_t id = model->tokens.count ? bpe_id(&model->tokens, text, size) : sentencepiece_id(v, text, size);
    if (model->tokens.count) /* of </s>, <pad> and <unk> a text has none anyway */
        return id >= 0 && (bpe_is_added(&model->tokens, id) || id == model->tokens.unk_id ||
                           id == model->config.eos_id || id == model->config.pad_id);
    return id >= v->count || (id >= 0 && v->pieces[id].type != SENTENCEPIECE_NORMAL &&
                              v->pieces[id].text.size == size && memcmp(v->pieces[id].text.text, text, size) == 0);
}

static void check_named(t5 *model, const char *name, json content)
{
    char text[256], shown[256];
    size_t size = json_string(content, text, sizeof text);
    if (content.type != JSON_STRING || size == 0 || (size < sizeof text && has_token(model, text, size)))
        return;
    checkpoint_fail(&model->files, "%s/%s: the token \"%s\" was added to %s: a tokenizer.json that has it is needed",
                    model->files.directory, name,
                    shown_text(shown, sizeof shown, text, size < sizeof text ? size : sizeof text - 1),
                    model->tokens.count ? "tokenizer.json" : "spiece.model");
}

/* What was added to the tokens is told in any of three files. */
static void check_added(t5 *model)
{
    json added = checkpoint_object(&model->files, "added_tokens.json"), token;
    json config = checkpoint_object(&model->files, "tokenizer_config.json");
    json map = checkpoint_object(&model->files, "special_tokens_map.json");
    if (!model->tokens.count && checkpoint_uint(&model->files, config, "extra_ids", 0, 100) != 100)
        checkpoint_fail_member(&model->files, config, "extra_ids", "is not 100: tokenizer.json is needed");
    if (model->tokens.count &&
        bpe_amend(&model->tokens, json_get(config, "added_tokens_decoder"), "tokenizer_config.json"))
        checkpoint_fail(&model->files, "%s/%s", model->files.directory, model->tokens.error);
    for (token = json_first(added); token.type; token = json_next(token))
        check_named(model, "added_tokens.json", token);
    for (token = json_first(json_get(config, "added_tokens_decoder")); token.type; token = json_next(token))
        check_named(model, "tokenizer_config.json", json_get(json_value(token), "content"));
    for (int i = 0; i < 4; i++) {
        json list = json_get(i & 1 ? config : map, i & 2 ? "extra_special_tokens" : "additional_special_tokens");
        for (token = json_first(list); list.type == JSON_ARRAY && token.type; token = json_next(token))
            check_named(model, i & 1 ? "tokenizer_config.json" : "special_tokens_map.json",
                        token.type == JSON_OBJECT ? json_get(token, "content") : token);
    }
}

/* As transformers does, tokenizer.json if it is there. */
static void read_vocabulary(t5 *model, const char *directory)
{
    char path[PATH_SIZE];
    const void *bytes;
    size_t size;
    FILE *file;
    int is_json;
    if (checkpoint_tokenizer(&model->files, &bytes, &size, &is_json)) {
        if (is_json)
            checkpoint_fail(&model->files, "%s: its tokenizer is none of a T5", directory);
        else if (!model->files.failed)
            use_pieces(model, directory, sentencepiece_parse(&model->vocabulary, bytes, size, directory));
        return;
    }
    snprintf(path, sizeof path, "%s/tokenizer.json", directory);
    file = fopen(path, "rb");
    if (file)
        fclose(file);
    if (file || errno != ENOENT) {
        use_tokens(model, path, bpe_open(&model->tokens, path));
    } else {
        snprintf(path, sizeof path, "%s/spiece.model", directory);
        use_pieces(model, path, sentencepiece_open(&model->vocabulary, path));
    }
    if (!model->files.failed)
        check_added(model);
}

const char *t5_open(t5 *model, const char *directory, const checkpoint_opts *opts)
{
    memset(model, 0, sizeof *model);
    if (!checkpoint_open(&model->files, directory)) {
        read_config(model);
        checkpoint_weights(&model->files, opts);
        if (!model->files.failed)
            read_vocabulary(model, directory);
        if (!model->files.failed)
            read_weights(model);
    }
    if (!model->files.failed)
        return NULL;
    layers_fail(&model->net, "%s", model->files.error);
    t5_close(model);
    return layers_outcome(&model->net);
}

void t5_close(t5 *model)
{
    layers_free(&model->net);
    attn_mat_free(&model->distances);
    sentencepiece_close(&model->vocabulary);
    bpe_close(&model->tokens);
    checkpoint_close(&model->files);
    memset(model, 0, offsetof(t5, net)); /* the message stays */
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

static int begin_rows(t5 *model, rows *r, size_t count)
{
    size_t d = model->config.d_model, inner = model->config.inner, d_ff = model->config.d_ff;
    const layers_part parts[] = {{&r->x, d},     {&r->h, d},     {&r->q, inner}, {&r->k, inner},
                                 {&r->v, inner}, {&r->a, inner}, {&r->f, d_ff},  {&r->g, d_ff}};
    memset(r, 0, sizeof *r);
    r->count = count;
    return layers_parts(&model->net, count, parts, sizeof parts / sizeof *parts);
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

/* *out becomes the biases of `table` for distances `first` to first + count - 1, heads x count; or stays as it was. */
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

/* Memory for the weights of attention, F32, if somebody watches; else, or after an error, an absent view. */
static attn_tensor begin_watch(t5 *model, t5_part part, size_t B, size_t Lq, size_t Lk)
{
    attn_tensor weights;
    size_t H = model->config.num_heads;
    void *data;
    memset(&weights, 0, sizeof weights);
    if (!model->watch.look || model->net.failed || (model->watch.cross_alone && part != T5_CROSS))
        return weights;
    data = layers_memory(B * H, Lq, Lk, sizeof(float));
    if (data)
        return attn_bhld(data, ATTN_F32, B, H, Lq, Lk);
    layers_fail(&model->net, "no memory");
    return weights;
}

/* Shows them, and gives the memory back. */
static void end_watch(t5 *model, t5_part part, size_t block, attn_tensor weights)
{
    if (weights.data && !model->net.failed)
        model->watch.look(model->watch.user, part, block, weights);
    free(weights.data);
}

/* The scores of a changed head. Alike, they make weights that are; a row whose keys are all hidden is zeros. */
static void change_scores(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0)
{
    const unsigned char *changes = (const unsigned char *)user;
    float *s = (float *)scores;
    size_t n;
    (void)b, (void)i, (void)j0;
    if (changes[h] != T5_AS_TRAINED)
        for (n = 0; n < count; n++)
            s[n] = changes[h] == T5_ZERO ? -INFINITY : 0;
}

/* Has the heads of a block changed, if any of them is to be. */
static void change_heads(const t5 *model, t5_part part, size_t block, attn_opts *opts)
{
    size_t H = model->config.num_heads, blocks = model->encoder.count, h;
    const unsigned char *changes = model->watch.changes;
    if (!changes)
        return;
    if (blocks < model->decoder.count)
        blocks = model->decoder.count;
    changes += ((size_t)part * blocks + block) * H;
    for (h = 0; h < H; h++)
        if (changes[h] != T5_AS_TRAINED) {
            opts->score_mod = change_scores;
            opts->score_mod_user = (void *)changes;
        }
}

/* Rows of all heads as texts of L rows each. */
static attn_tensor heads(const t5 *model, float *x, size_t B, size_t L)
{
    return attn_blhd(x, ATTN_F32, B, L, model->config.num_heads, model->config.d_kv);
}

/* One block of the encoder, with the keys and queries of B texts of L rows. */
static void encode_block(t5 *model, rows *r, size_t block, size_t B, size_t L, attn_opts opts)
{
    const t5_block *b = &model->encoder.blocks[block];
    project_self(model, r, b);
    change_heads(model, T5_ENCODER, block, &opts);
    opts.weights = begin_watch(model, T5_ENCODER, B, L, L);
    layers_sdpa(&model->net, heads(model, r->a, B, L), heads(model, r->q, B, L), heads(model, r->k, B, L),
                heads(model, r->v, B, L), &opts);
    end_watch(model, T5_ENCODER, block, opts.weights);
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
        return "no memory";
    if (!begin_rows(model, &r, B * L))
        return layers_outcome(&model->net);
    memset(states, 0, B * L * c->d_model * sizeof *states);
    r.x = states;
    for (b = 0; b < B; b++)
        layers_embed(&model->net, states + b * L * c->d_model, model->embedding, ids + b * L, lens[b]);
    spread_bias(model, &bias, model->encoder.bias, 1, 1 - (ptrdiff_t)L, 2 * L - 1);
    opts.bias = attn_relative(bias, L, L);
    for (i = 0; i < model->encoder.count; i++)
        encode_block(model, &r, i, B, L, opts);
    attn_mat_free(&bias);
    norm(model, states, states, B * L, model->encoder.norm);
    for (b = 0; !model->net.failed && b < B; b++)
        memset(states + (b * L + lens[b]) * c->d_model, 0, (L - lens[b]) * c->d_model * sizeof *states);
    return layers_outcome(&model->net);
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
        return "no memory";
    begin_rows(model, &r, source);
    for (i = 0; !net->failed && i < blocks; i++) {
        const t5_attention *cross = &model->decoder.blocks[i].cross;
        attn_kv_cache *cache = &text->cross[i];
        layers_project(net, r.k, states, source, cross->k, 1);
        layers_project(net, r.v, states, source, cross->v, 1);
        if (!net->failed)
            layers_check(net, attn_kv_cache_init(cache, 1, H, source, D, D, ATTN_F32, 0, NULL, 0),
                         "attn_kv_cache_init");
        layers_append(net, cache, heads(model, r.k, 1, source), heads(model, r.v, 1, source));
    }
    return layers_outcome(&model->net);
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
    layers_check(&model->net, status, "attn_kv_cache_reorder");
    return layers_outcome(&model->net);
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
    size_t beams = text->beams, to = at * model->config.inner;
    attn_kv_cache *cache = &text->self[block];
    attn_opts opts;
    if (model->net.failed)
        return;
    memset(&opts, 0, sizeof opts);
    opts.scale = 1;
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    opts.bias = decoder_bias(model, text->length, len);
    change_heads(model, T5_DECODER, block, &opts);
    opts.weights = begin_watch(model, T5_DECODER, beams, len, text->length + len);
    layers_append(&model->net, cache, heads(model, r->k + to, beams, len), heads(model, r->v + to, beams, len));
    layers_attend(&model->net, heads(model, r->a + to, beams, len), heads(model, r->q + to, beams, len), cache, &opts);
    end_watch(model, T5_DECODER, block, opts.weights);
}

/* Attention to the text: the rows of all its hypotheses are queries of one item, so its keys are read once. */
static void attend_text(t5 *model, rows *r, size_t at, const t5_text *text, size_t block, size_t len)
{
    size_t to = at * model->config.inner, n = text->beams * len;
    attn_opts opts;
    if (model->net.failed)
        return;
    memset(&opts, 0, sizeof opts);
    opts.scale = 1;
    change_heads(model, T5_CROSS, block, &opts);
    opts.weights = begin_watch(model, T5_CROSS, 1, n, text->source);
    layers_attend(&model->net, heads(model, r->a + to, 1, n), heads(model, r->q + to, 1, n), &text->cross[block],
                  &opts);
    end_watch(model, T5_CROSS, block, opts.weights);
}

/* 1. The encoder has read the text, with the task in words before it: each token, a word or a part of one, attended to
   all tokens of the text. The decoder writes one token after another, from the one before it, and several translations
   side by side (beams). In each of its blocks a token attends to itself and those before it, whose keys and values are
   kept in a cache (self-attention), then to the text, with queries of the translation, keys and values of the text
   (cross-attention, which the pictures show: a row is the step that wrote that token, </s> the end); then it works on
   its own numbers (feed-forward). What each finds is added. T5 leaves out the division by sqrt(d); to the scores of
   self-attention it adds a learnt number for the distance. */
static void decode_block(t5 *model, rows *r, size_t block, t5_text *const *texts, size_t count, size_t len)
{
    const t5_block *b = &model->decoder.blocks[block];
    size_t t, at;
    project_self(model, r, b);
    for (t = at = 0; t < count; at += texts[t++]->beams * len)
        attend_self(model, r, at, texts[t], block, len);
    layers_project_add(&model->net, r->x, r->a, r->count, b->self.o, 1);
    norm(model, r->h, r->x, r->count, b->cross_norm);
    layers_project(&model->net, r->q, r->h, r->count, b->cross.q, 1);
    for (t = at = 0; t < count; at += texts[t++]->beams * len)
        attend_text(model, r, at, texts[t], block, len);
    layers_project_add(&model->net, r->x, r->a, r->count, b->cross.o, 1);
    feed_forward(model, r, b);
}

const char *t5_decode(t5 *model, t5_text *const *texts, size_t count, const int32_t *tokens, size_t len, float *logits)
{
    const t5_config *c = &model->config;
    rows r;
    size_t n = 0, t, i;
    for (t = 0; t < count; t++) {
        n += texts[t]->beams * len;
        grow_caches(model, texts[t], len);
        grow_distances(model, texts[t]->length + len);
    }
    if (!begin_rows(model, &r, n))
        return layers_outcome(&model->net);
    layers_embed(&model->net, r.x, model->embedding, tokens, n);
    for (i = 0; i < model->decoder.count; i++)
        decode_block(model, &r, i, texts, count, len);
    norm(model, r.h, r.x, n, model->decoder.norm);
    layers_project(&model->net, logits, r.h, n, model->head, c->tied ? 1 / sqrt((double)c->d_model) : 1);
    for (t = 0; !model->net.failed && t < count; t++)
        texts[t]->length += len;
    return layers_outcome(&model->net);
}
