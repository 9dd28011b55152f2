/* decoder.c: see decoder.h. First config.json, generation_config.json and the weights; then the rotations of positions;
   then the network. */
#include "decoder.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are computed at once: enough for products to be bound by arithmetic, few enough for their memory, and for
   what a ring must hold beyond its window. */
enum { CHUNK = 512 };

/* Frequencies of a rotation: of pair d of a head, by position. */
typedef struct decoder_rope {
    double base;
    attn_rope_scaling how; /* ATTN_ROPE_NTK: "dynamic", for a text that outgrows max_position_embeddings */
    double scale;          /* what is rotated is multiplied by it; has_scale: as the config says */
    int has_scale;
    double *frequencies;   /* [head_dim / 2] */
    const float *divisors; /* NULL, or what these are divided by, as a GGUF of Llama 3 says its scaling */
} decoder_rope;

enum { GLOBAL, LOCAL, NONE }; /* of a block's rotation; LOCAL is Gemma 3's where there is a window */

struct decoder_block {
    checkpoint_linear q, k, v, o;
    checkpoint_linear gate, up, down;    /* GPT-OSS: gate has both, row by row in turn */
    const float *norm, *ff_norm;         /* before attention and feed-forward */
    const float *out_norm, *ff_out_norm; /* Gemma: after them, before they are added */
    const float *q_norm, *k_norm;        /* of each head; NULL: none */
    const float *sinks;                  /* [heads]; NULL: none */
    size_t window;                       /* tokens that one sees, itself included; 0: all */
    int rope;
};

/* ==== config.json ================================================================================================ */

/* What is particular to a family, and what transformers takes where config.json says nothing. */
typedef struct traits {
    const char *model_type, *name;
    const char *const *members; /* of config.json, beside those that all have; NULL: none */
    size_t vocab_size, hidden_size, intermediate_size, num_hidden_layers;
    size_t num_attention_heads, num_key_value_heads, head_dim; /* 0: as many as heads; hidden_size / heads */
    size_t max_position_embeddings, sliding_window;            /* 0: no such thing */
    double rope_theta, rms_norm_eps, attn_softcap, final_softcap;
    long bos_id, eos_id, pad_id;
    int tie_word_embeddings;
    int attention_bias; /* what it is where nothing is said; FIXED: whatever is said */
    int mlp_bias;       /* whether there may be one */
} traits;

enum { NO = 0, YES = 1, FIXED = 2, NEVER = 3 };

/* Members of config.json beside those that all have. */
static const char *const of_qwen[] = {"use_sliding_window", "max_window_layers", "use_mrope", NULL};
static const char *const of_gemma2[] = {"query_pre_attn_scalar", NULL};
static const char *const of_gemma3[] = {"query_pre_attn_scalar", "rope_local_base_freq", "sliding_window_pattern",
                                        "_sliding_window_pattern", NULL};
static const char *const of_gpt_oss[] = {
    "num_local_experts", "num_experts",          "num_experts_per_tok",  "experts_per_token",      "swiglu_limit",
    "swiglu_alpha",      "router_aux_loss_coef", "output_router_logits", "initial_context_length", NULL};
static const char *const of_smollm3[] = {"use_sliding_window", "max_window_layers", "no_rope_layers",
                                         "no_rope_layer_interval", NULL};
static const char *const of_llama[] = {"rope_interleaved", "is_llama_config", "max_sequence_length", NULL};

/* clang-format off */
static const traits families[] = {
    {"llama", "Llama", of_llama, 32000, 4096, 11008, 32, 32, 0, 0, 2048, 0, 1e4, 1e-6, 0, 0, 1, 2, -1, 0, NO, 1},
    {"mistral", "Mistral", NULL, 32000, 4096, 14336, 32, 32, 8, 0, 131072, 4096, 1e4, 1e-6, 0, 0, 1, 2, -1, 0, NEVER,
     0},
    {"qwen2", "Qwen 2", of_qwen, 151936, 4096, 22016, 32, 32, 32, 0, 32768, 4096, 1e4, 1e-6, 0, 0, -1, -1, -1, 0,
     FIXED, 0},
    {"qwen3", "Qwen 3", of_qwen, 151936, 4096, 22016, 32, 32, 32, 128, 32768, 4096, 1e4, 1e-6, 0, 0, -1, -1, -1, 0, NO,
     0},
    {"gemma2", "Gemma 2", of_gemma2, 256000, 2304, 9216, 26, 8, 4, 256, 8192, 4096, 1e4, 1e-6, 50, 30, 2, 1, 0, 1, NO,
     0},
    {"gemma3_text", "Gemma 3", of_gemma3, 262208, 2304, 9216, 26, 8, 4, 256, 131072, 4096, 1e6, 1e-6, 0, 0, 2, 1, 0, 1,
     NO, 0},
    {"gpt_oss", "GPT-OSS", of_gpt_oss, 201088, 2880, 2880, 36, 64, 8, 64, 131072, 128, 150000, 1e-5, 0, 0, -1, -1, -1,
     0, YES, 0},
    {"smollm3", "SmolLM3", of_smollm3, 128256, 2048, 11008, 36, 16, 4, 0, 32768, 0, 2e6, 1e-6, 0, 0, 128000, 128001,
     128004, 1, NO, 1},
    {"gemma", "Gemma", NULL, 256000, 3072, 24576, 28, 16, 16, 256, 8192, 0, 1e4, 1e-6, 0, 0, 2, 1, 0, 1, NO, 0}};
/* clang-format on */

/* What the functions that open a model share. */
typedef struct loader {
    decoder *model;
    checkpoint *files;
    const checkpoint_opts *opts;
    const traits *kind;
    json config;     /* of the text part: config.json, or its text_config */
    json generation; /* generation_config.json, or config.json */
    int sample;      /* do_sample of that */
    int whole;       /* gemma3: text is a part of it */
    char prefix[32]; /* of the names of tensors */
    size_t window;   /* sliding_window; 0: none */
    int attention_bias, mlp_bias;
} loader;

static int is_there(json value)
{
    return value.type != JSON_NONE && value.type != JSON_NULL;
}

/* Whether two values that are not objects say the same, or one says nothing. */
static int agree(json a, json b)
{
    double x, y;
    if (!is_there(a) || !is_there(b))
        return 1;
    if (a.type == JSON_NUMBER && b.type == JSON_NUMBER)
        return json_double(a, &x) && json_double(b, &y) && !(x < y) && !(x > y);
    return a.type == b.type && (a.type != JSON_STRING || json_compare(a, b) == 0);
}

static void refuse(loader *load, json object, const char *name, const char *reason)
{
    checkpoint_fail_member(load->files, object, name, reason);
}

/* model_type, and where the members are. */
static void read_family(loader *load)
{
    const char *names[sizeof families / sizeof *families + 2] = {NULL};
    json type = json_get(load->config, "model_type");
    size_t i;
    for (i = 0; i < sizeof families / sizeof *families; i++)
        if (json_is(type, families[i].model_type))
            load->kind = &families[i];
    if (json_is(type, "gemma3")) {
        load->kind = &families[DECODER_GEMMA3];
        load->whole = 1;
        load->config = json_get(load->config, "text_config");
        type = json_get(load->config, "model_type");
        if (load->config.type != JSON_OBJECT)
            refuse(load, load->files->config, "text_config", "is no object");
        else if (is_there(type) && !json_is(type, "gemma3_text"))
            refuse(load, load->config, "text_config.model_type", "is not gemma3_text");
    }
    if (load->kind) {
        load->model->config.family = (decoder_family)(load->kind - families);
        load->model->gemma = strncmp(load->kind->model_type, "gemma", 5) == 0;
        return;
    }
    for (i = 0; i < sizeof families / sizeof *families; i++)
        names[i] = families[i].model_type;
    names[i] = "gemma3";
    if (is_there(type))
        checkpoint_type(load->files, load->config, names);
    else
        refuse(load, load->config, "model_type", "is missing");
}

static int flag(loader *load, const char *name, int otherwise)
{
    return checkpoint_flag(load->files, load->config, name, otherwise);
}

static double real(loader *load, const char *name, double least, double most, double otherwise)
{
    return checkpoint_real(load->files, load->config, name, least, most, otherwise);
}

/* Notes what of config.json nobody here looks at. */
static void note_others(loader *load)
{
    /* clang-format off */
    static const char *const known[] = {
        "add_cross_attention", "attention_bias", "attention_chunk_size", "attn_logit_softcapping",
        "final_logit_softcapping", "head_dim", "hidden_act", "hidden_activation", "hidden_size", "intermediate_size",
        "is_causal", "layer_types", "max_position_embeddings", "mlp_bias", "num_attention_heads", "num_hidden_layers",
        "num_key_value_heads", "original_max_position_embeddings", "partial_rotary_factor", "rms_norm_eps",
        "rope_parameters", "rope_scaling", "rope_theta", "sliding_window", "use_bidirectional_attention", "vocab_size",
        NULL};
    static const char *const pictures[] = {
        "boi_token_index", "eoi_token_index", "image_token_index", "mm_tokens_per_image", "text_config",
        "vision_config", NULL};
    /* clang-format on */
    static const char *const none[] = {NULL};
    const char *const *const text[] = {checkpoint_unread, checkpoint_generating, known,
                                       load->kind->members ? load->kind->members : none, NULL};
    static const char *const *const whole[] = {checkpoint_unread, checkpoint_generating, pictures, NULL};
    checkpoint_members(load->files, load->config, load->whole ? "text_config" : NULL, text);
    if (load->whole)
        checkpoint_members(load->files, load->files->config, NULL, whole);
}

/* What would change the results, and is not done here: refused unless it is what changes nothing. */
static void refuse_others(loader *load)
{
    static const char *const flags[][2] = {
        {"is_encoder_decoder", "is true, which no decoder is"},
        {"add_cross_attention", "is true: there is nothing to attend to but the text"},
        {"rope_interleaved", "is true, which this program does not do"},
        {"use_mrope", "is true, which this program does not do"}};
    json c = load->config;
    decoder_family family = load->model->config.family;
    size_t i;
    checkpoint_plain(load->files, c);
    checkpoint_plain(load->files, load->files->config);
    for (i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flag(load, flags[i][0], 0))
            refuse(load, c, flags[i][0], flags[i][1]);
    if (!flag(load, "is_causal", 1))
        refuse(load, c, "is_causal", "is false: no text can be continued so");
    if (is_there(json_get(c, "attention_chunk_size")))
        refuse(load, c, "attention_chunk_size", "is there, which this program does not do");
    if (real(load, "partial_rotary_factor", -1e9, 1e9, 1) != 1)
        refuse(load, c, "partial_rotary_factor", "is not 1, which this program does not do");
    if (is_there(json_get(c, "use_bidirectional_attention")) &&
        json_get(c, "use_bidirectional_attention").type != JSON_FALSE)
        refuse(load, c, "use_bidirectional_attention", "is there: no text can be continued so");
    if (family != DECODER_GEMMA2 && is_there(json_get(c, "attn_logit_softcapping")))
        refuse(load, c, "attn_logit_softcapping", "is there, which only a gemma2 has");
    if (family != DECODER_GEMMA2 && (family != DECODER_GEMMA3 || load->whole) &&
        is_there(json_get(c, "final_logit_softcapping")))
        refuse(load, c, "final_logit_softcapping", "is there, which only gemma2 and gemma3_text have");
    if (family == DECODER_LLAMA && is_there(json_get(c, "sliding_window")))
        refuse(load, c, "sliding_window", "is there, which no llama has");
}

static size_t number(loader *load, const char *name, size_t otherwise)
{
    return checkpoint_uint(load->files, load->config, name, 1, (long)otherwise);
}

/* Where null has another meaning than a member that is missing. */
static size_t number_or_null(loader *load, const char *name, size_t otherwise, size_t null)
{
    return json_get(load->config, name).type == JSON_NULL ? null : number(load, name, otherwise ? otherwise : null);
}

static void read_sizes(loader *load)
{
    decoder_config *c = &load->model->config;
    const traits *kind = load->kind;
    c->vocab_size = number(load, "vocab_size", kind->vocab_size);
    c->hidden_size = number(load, "hidden_size", kind->hidden_size);
    c->intermediate_size = number(load, "intermediate_size", kind->intermediate_size);
    c->num_hidden_layers = number(load, "num_hidden_layers", kind->num_hidden_layers);
    c->num_attention_heads = number(load, "num_attention_heads", kind->num_attention_heads);
    c->max_position_embeddings = number(load, "max_position_embeddings", kind->max_position_embeddings);
    if (load->files->failed)
        return;
    c->num_key_value_heads =
        number_or_null(load, "num_key_value_heads", kind->num_key_value_heads, c->num_attention_heads);
    c->head_dim = number_or_null(load, "head_dim", kind->head_dim, c->hidden_size / c->num_attention_heads);
    if (load->files->failed)
        return;
    if (c->num_attention_heads % c->num_key_value_heads != 0)
        refuse(load, load->config, "num_attention_heads", "is no multiple of num_key_value_heads");
    else if (c->head_dim == 0 || c->head_dim % 2 != 0)
        refuse(load, load->config, "head_dim", "is not even: it is rotated in pairs");
    else if (c->num_attention_heads > (size_t)INT32_MAX / c->head_dim || c->intermediate_size > INT32_MAX / 2)
        refuse(load, load->config, "head_dim", "is too large, or intermediate_size is");
}

/* hidden_act, or Gemma's hidden_activation. GPT-OSS has one of its own, whatever this says. */
static void read_activation(loader *load)
{
    static const char *const names[] = {"silu",
                                        "swish",
                                        "gelu_pytorch_tanh",
                                        "gelu_new",
                                        "gelu_python_tanh",
                                        "gelu_fast",
                                        "gelu_accurate",
                                        "gelu",
                                        "gelu_python",
                                        "relu",
                                        NULL};
    decoder_config *c = &load->model->config;
    const char *name = load->model->gemma && c->family != DECODER_GEMMA ? "hidden_activation" : "hidden_act";
    size_t i = checkpoint_choice(load->files, load->config, name, names);
    if (load->model->gemma && !is_there(json_get(load->config, name)))
        i = 2;
    if (c->family == DECODER_GEMMA && json_is(json_get(load->config, name), "gelu")) {
        checkpoint_note(load->files, "%s: hidden_act gelu: that by tanh is meant, as in transformers 5",
                        checkpoint_path(load->files, load->config));
        i = 2;
    }
    if (c->family == DECODER_GPT_OSS && i > 1)
        refuse(load, load->config, name, "is not silu");
    c->activation = i < 2 ? LAYERS_SILU : i < 7 ? LAYERS_GELU_TANH : i < 9 ? LAYERS_GELU_ERF : LAYERS_RELU;
}

/* A cap; null is none. */
static double read_cap(loader *load, const char *name, double otherwise)
{
    json value = json_get(load->config, name);
    if (value.type == JSON_NULL || (value.type == JSON_NONE && otherwise == 0))
        return 0;
    return real(load, name, 1e-3, 1e9, otherwise);
}

static void read_numbers(loader *load)
{
    decoder_config *c = &load->model->config;
    const traits *kind = load->kind;
    c->rms_norm_eps = real(load, "rms_norm_eps", 0, 1, kind->rms_norm_eps);
    c->scale = load->model->gemma && c->family != DECODER_GEMMA ? real(load, "query_pre_attn_scalar", 1e-6, 1e9, 256)
                                                                : (double)c->head_dim;
    c->scale = c->scale > 0 ? 1 / sqrt(c->scale) : 1;
    c->attn_logit_softcapping = read_cap(load, "attn_logit_softcapping", kind->attn_softcap);
    c->final_logit_softcapping = read_cap(load, "final_logit_softcapping", kind->final_softcap);
    c->tie_word_embeddings = checkpoint_flag(load->files, load->files->config, "tie_word_embeddings",
                                             flag(load, "tie_word_embeddings", kind->tie_word_embeddings));
    load->attention_bias = kind->attention_bias == FIXED ||
                           (json_get(load->config, "attention_bias").type != JSON_NULL && /* null is false */
                            flag(load, "attention_bias", kind->attention_bias == YES));
    load->mlp_bias = flag(load, "mlp_bias", 0);
    if (kind->attention_bias == NEVER && load->attention_bias)
        refuse(load, load->config, "attention_bias", "is true, which no such model has");
    if (!kind->mlp_bias && load->mlp_bias)
        refuse(load, load->config, "mlp_bias", "is true, which no such model has");
}

/* GPT-OSS is a mixture of experts; with one it is a feed-forward like the others. */
static void read_experts(loader *load)
{
    checkpoint *files = load->files;
    size_t experts, active;
    if (load->model->config.family != DECODER_GPT_OSS)
        return;
    experts = checkpoint_uint(files, load->config, "num_local_experts", 1, 128);
    if (!agree(json_get(load->config, "num_experts"), json_get(load->config, "num_local_experts")))
        refuse(load, load->config, "num_experts", "differs from num_local_experts");
    active = checkpoint_uint(files, load->config, "num_experts_per_tok", 1, 4);
    if (!files->failed && experts != 1)
        checkpoint_fail(files, "%s/config.json: num_local_experts is %lu: here GPT-OSS runs with one expert only",
                        files->directory, (unsigned long)experts);
    if (!files->failed && active != 1)
        checkpoint_fail(files, "%s/config.json: num_experts_per_tok is %lu, but there is one expert", files->directory,
                        (unsigned long)active);
    if (checkpoint_real(files, load->config, "swiglu_limit", 0, 1e9, 7) != 7)
        refuse(load, load->config, "swiglu_limit", "is not 7");
    if (checkpoint_real(files, load->config, "swiglu_alpha", 0, 1e9, 1.702) != 1.702)
        refuse(load, load->config, "swiglu_alpha", "is not 1.702");
}

/* A token's id; -1 for null and for -1, as the first models wrote "none"; and for a bos beyond the vocabulary, which
   changes nothing. */
static long read_id(loader *load, json object, const char *name, json value)
{
    uint64_t id;
    double minus;
    if (!is_there(value) || (json_double(value, &minus) && minus == -1))
        return -1;
    if (json_uint(value, &id) && id < load->model->config.vocab_size)
        return (long)id;
    if (json_uint(value, &id) && strcmp(name, "bos_token_id") == 0)
        return -1;
    refuse(load, object, name, "is no number below vocab_size");
    return -1;
}

/* Whether there is a generation_config.json: it alone counts then. */
static int has_generation(const loader *load)
{
    return load->generation.text != load->files->config.text;
}

/* A member of generation_config.json or, where there is no such file, of config.json or its text_config; *object: of
   which. */
static json find_member(const loader *load, const char *name, json *object)
{
    json value = json_get(*object = load->generation, name), inside = json_get(load->config, name);
    if (has_generation(load) || value.type > JSON_NULL || (value.type == JSON_NULL && inside.type <= JSON_NULL))
        return value;
    *object = load->config;
    return inside;
}

/* The id that such a member says; where there is none, the family's, if the vocabulary has it. */
static int32_t find_id(loader *load, const char *name, long usual)
{
    json object, value = find_member(load, name, &object);
    if (value.type == JSON_NONE)
        return !has_generation(load) && usual >= 0 && (size_t)usual < load->model->config.vocab_size ? (int32_t)usual
                                                                                                     : -1;
    return (int32_t)read_id(load, object, name, value);
}

/* Says what ends a text where generation_config.json does not, or nothing does. */
static void note_end(loader *load)
{
    const decoder_config *c = &load->model->config;
    const char *directory = load->files->directory;
    if (has_generation(load) &&
        (is_there(json_get(load->files->config, "eos_token_id")) || is_there(json_get(load->config, "eos_token_id"))))
        checkpoint_note(load->files,
                        "%s/generation_config.json: there is no eos_token_id, so no token ends a text, as in "
                        "transformers",
                        directory);
    else if (c->eos_count > 0)
        checkpoint_note(load->files,
                        "%s: there is no eos_token_id: token %ld ends a text, which transformers 4 takes "
                        "for it, and not 5",
                        checkpoint_path(load->files, load->config), (long)c->eos_ids[0]);
}

static void read_ids(loader *load)
{
    decoder_config *c = &load->model->config;
    json object, element, value = find_member(load, "eos_token_id", &object);
    long id;
    c->bos_id = find_id(load, "bos_token_id", load->kind->bos_id);
    c->pad_id = find_id(load, "pad_token_id", load->kind->pad_id);
    if (value.type != JSON_ARRAY) {
        c->eos_ids[0] = find_id(load, "eos_token_id", load->kind->eos_id);
        c->eos_count = c->eos_ids[0] >= 0;
        if (value.type == JSON_NONE)
            note_end(load);
        return;
    }
    for (element = json_first(value); element.type != JSON_NONE; element = json_next(element)) {
        id = read_id(load, object, "eos_token_id", element);
        if (c->eos_count == sizeof c->eos_ids / sizeof *c->eos_ids)
            refuse(load, object, "eos_token_id", "has more than 16 elements");
        if (load->files->failed)
            return;
        if (id >= 0)
            c->eos_ids[c->eos_count++] = (int32_t)id;
    }
}

/* How texts are continued by default: what transformers would do, or a refusal. */
static void read_generation(loader *load)
{
    decoder_config *c = &load->model->config;
    checkpoint *files = load->files;
    json g = load->generation;
    static const char cause[] = "is something that this program does not do";
    if (checkpoint_uint(files, g, "num_beams", 0, 1) != 1)
        refuse(load, g, "num_beams", cause);
    if (checkpoint_uint(files, g, "no_repeat_ngram_size", 0, 0) != 0)
        refuse(load, g, "no_repeat_ngram_size", cause);
    c->repetition_penalty = checkpoint_real(files, g, "repetition_penalty", 1e-6, 1e6, 1);
    c->temperature = 0;
    c->top_p = 1;
    c->top_k = 0;
    if (!load->sample)
        return;
    c->temperature = checkpoint_real(files, g, "temperature", 0, 1e6, 1);
    c->top_p = checkpoint_real(files, g, "top_p", 0, 1, 1);
    c->top_k = checkpoint_uint(files, g, "top_k", 0, 50);
    if (json_get(g, "top_k").type != JSON_NULL)
        return;
    c->top_k = 0;
    checkpoint_note(files, "%s: top_k is null: any token may be drawn, which transformers 4 takes it for, and not 5",
                    files->directory);
}

static void open_generation(loader *load)
{
    static const char *const names[] = {"repetition_penalty", "num_beams", "no_repeat_ngram_size"};
    static const char *const drawn[] = {"temperature", "top_k", "top_p"};
    json c = load->config;
    size_t i;
    load->generation = checkpoint_generation(load->files, &load->sample, 0);
    if (!load->whole || has_generation(load))
        return;
    /* transformers looks into text_config then */
    checkpoint_generates(load->files, c, load->sample, 0);
    for (i = 0; load->sample && i < 3; i++)
        if (is_there(json_get(c, drawn[i])))
            refuse(load, c, drawn[i], "of text_config changes texts: generation_config.json is to say it");
    if (flag(load, "do_sample", 0))
        refuse(load, c, "text_config.do_sample", "is true: generation_config.json is to say it");
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (real(load, names[i], -1e9, 1e9, i < 2) != (i < 2))
            refuse(load, c, names[i], "of text_config changes texts: generation_config.json is to say it");
}

/* ==== Layers: which window, which rotation ======================================================================= */

/* sliding_window; Qwen's counts only if use_sliding_window says so. */
static void read_window(loader *load)
{
    decoder_family family = load->model->config.family;
    json value = json_get(load->config, "sliding_window");
    if (family == DECODER_LLAMA || family == DECODER_GEMMA)
        return;
    if ((family == DECODER_QWEN2 || family == DECODER_QWEN3) && !flag(load, "use_sliding_window", 0))
        return;
    if (!is_there(value) && (value.type == JSON_NULL || load->kind->sliding_window == 0)) {
        if (load->model->gemma || family == DECODER_GPT_OSS)
            refuse(load, load->config, "sliding_window", "is null, but layers have windows");
        return;
    }
    load->window = number(load, "sliding_window", load->kind->sliding_window);
}

/* Whether layer i has a window where there is no layer_types: every `pattern`th layer of Gemma and GPT-OSS has none,
   Qwen's have one from the layer `first` on, SmolLM3's where they do not rotate. */
static int slides(const loader *load, size_t i, size_t pattern, size_t first, int some)
{
    switch (load->model->config.family) {
    case DECODER_MISTRAL: return 1;
    case DECODER_QWEN2:
    case DECODER_QWEN3: return i >= first;
    case DECODER_GEMMA2:
    case DECODER_GEMMA3:
    case DECODER_GPT_OSS: return (i + 1) % pattern != 0;
    case DECODER_SMOLLM3: return some && load->model->blocks[i].rope == NONE;
    case DECODER_LLAMA:
    case DECODER_GEMMA: break;
    }
    return 0;
}

/* layer_types, or what it is without it. */
static void read_layer_types(loader *load)
{
    static const char *const types[] = {"full_attention", "sliding_attention"};
    decoder_block *blocks = load->model->blocks;
    size_t count = load->model->config.num_hidden_layers, pattern = 2, first = 0, i;
    decoder_family family = load->model->config.family;
    int some = flag(load, "use_sliding_window", 0);
    json list = json_get(load->config, "layer_types"), type;
    if (family == DECODER_GEMMA3)
        pattern = number(load, "sliding_window_pattern", 6);
    if (family == DECODER_QWEN2 || family == DECODER_QWEN3)
        first = checkpoint_uint(load->files, load->config, "max_window_layers", 0, 28);
    if (load->files->failed)
        return;
    for (i = 0; !is_there(list) && i < count; i++)
        blocks[i].window = slides(load, i, pattern, first, some) ? load->window : 0;
    if (!is_there(list))
        return;
    for (i = 0, type = json_first(list); list.type == JSON_ARRAY && type.type != JSON_NONE && i < count; i++) {
        if (json_is(type, types[1]) && load->window == 0)
            refuse(load, load->config, "layer_types", "has sliding_attention, but there is no sliding_window");
        else if (!json_is(type, types[0]) && !json_is(type, types[1]))
            refuse(load, load->config, "layer_types", "has what is neither full_attention nor sliding_attention");
        else if (family == DECODER_MISTRAL && !json_is(type, types[load->window > 0]))
            refuse(load, load->config, "layer_types", "is not what all layers of a mistral are");
        if (load->files->failed)
            return;
        blocks[i].window = json_is(type, types[1]) ? load->window : 0;
        type = json_next(type);
    }
    if (list.type != JSON_ARRAY || i < count || type.type != JSON_NONE)
        refuse(load, load->config, "layer_types", "is no list of num_hidden_layers strings");
}

/* SmolLM3: a layer rotates where no_rope_layers, which has all layers, has 1; without that, all but every fourth do. */
static void read_no_rope(loader *load)
{
    decoder_block *blocks = load->model->blocks;
    size_t count = load->model->config.num_hidden_layers, interval, i;
    json list = json_get(load->config, "no_rope_layers"), flag;
    uint64_t rotates;
    if (load->model->config.family != DECODER_SMOLLM3)
        return;
    if (!is_there(list)) {
        interval = number(load, "no_rope_layer_interval", 4);
        for (i = 0; !load->files->failed && i < count; i++)
            blocks[i].rope = (i + 1) % interval != 0 ? GLOBAL : NONE;
        return;
    }
    for (i = 0, flag = json_first(list); list.type == JSON_ARRAY && i < count; i++, flag = json_next(flag)) {
        if (!json_uint(flag, &rotates) || rotates > 1)
            break;
        blocks[i].rope = rotates ? GLOBAL : NONE;
    }
    if (i < count || flag.type != JSON_NONE)
        refuse(load, load->config, "no_rope_layers", "is no list of 0 and 1 for each layer");
}

/* ==== Positions ================================================================================================== */

/* rope_scaling; JSON_NONE if it is empty. */
static json get_scaling(const loader *load)
{
    json scaling = json_get(load->config, "rope_scaling");
    if (scaling.type == JSON_OBJECT && !checkpoint_says(load->config, "rope_scaling"))
        scaling.type = JSON_NONE;
    return scaling;
}

/* rope_scaling says nothing that rope_parameters, which is there too, does not. */
static void compare_scaling(loader *load, json scaling, json parameters)
{
    json name = scaling.type == JSON_OBJECT ? json_first(scaling) : scaling;
    for (; name.type == JSON_STRING; name = json_next(name)) {
        char member[40];
        json value = json_value(name), other;
        json_string(name, member, sizeof member);
        other = json_get(parameters, strcmp(member, "type") == 0 ? "rope_type" : member);
        if (is_there(value) && (!is_there(other) || !agree(value, other)))
            refuse(load, load->config, "rope_scaling", "differs from rope_parameters");
    }
}

/* rope_parameters is what transformers 5 has in place of rope_theta and rope_scaling; of Gemma 3 also in place of
   rope_local_base_freq, and by layer types: there both may be there, if they agree. Elsewhere it is not looked at beside
   a rope_scaling. */
static json read_parameters(loader *load, int which)
{
    static const char *const known[] = {"full_attention", "sliding_attention", NULL};
    static const char *const *const lists[] = {known, NULL};
    json all = json_get(load->config, "rope_parameters"), one = json_get(all, known[which]);
    const char *base = which == GLOBAL ? "rope_theta" : "rope_local_base_freq";
    int nested = is_there(json_get(all, known[0])) || is_there(json_get(all, known[1]));
    if (is_there(get_scaling(load)) && load->model->config.family != DECODER_GEMMA3)
        all.type = JSON_NONE;
    if (!is_there(all))
        return all;
    if (all.type != JSON_OBJECT || (nested && is_there(one) && one.type != JSON_OBJECT))
        refuse(load, load->config, "rope_parameters", "is no object, or has one that is none");
    else if (nested != (load->model->config.family == DECODER_GEMMA3))
        refuse(load, load->config, "rope_parameters",
               nested ? "differs by layer types, which it does in a gemma3 alone"
                      : "has neither full_attention nor sliding_attention");
    if (nested && which == GLOBAL)
        checkpoint_members(load->files, all, "rope_parameters", lists);
    all = nested ? one : all;
    if (!agree(json_get(all, "rope_theta"), json_get(load->config, base)))
        refuse(load, load->config, base, "differs from the rope_theta of rope_parameters");
    if (which == GLOBAL)
        compare_scaling(load, get_scaling(load), all);
    return all;
}

/* The rotation of layers without a window, or of Gemma 3's with one. */
static json find_scaling(loader *load, int which)
{
    /* what GPT-OSS has where nothing is said */
    static const char yarn[] = "{\"rope_type\":\"yarn\",\"factor\":32,\"truncate\":false,"
                               "\"original_max_position_embeddings\":4096}";
    static const char *const known[] = {"rope_type",
                                        "type",
                                        "rope_theta",
                                        "factor",
                                        "partial_rotary_factor",
                                        "attention_factor",
                                        "beta_fast",
                                        "beta_slow",
                                        "mscale",
                                        "mscale_all_dim",
                                        "original_max_position_embeddings",
                                        "low_freq_factor",
                                        "high_freq_factor",
                                        "truncate",
                                        NULL};
    static const char *const *const lists[] = {known, NULL};
    json scaling = get_scaling(load), parameters = read_parameters(load, which);
    const char *name = is_there(parameters) ? "rope_parameters" : "rope_scaling";
    if (is_there(parameters))
        scaling = parameters;
    else if (which == LOCAL)
        scaling.type = JSON_NONE;
    else if (scaling.type == JSON_NONE && load->model->config.family == DECODER_GPT_OSS)
        json_parse(&scaling, yarn, sizeof yarn - 1, NULL);
    else if (scaling.type == JSON_NULL && load->model->config.family == DECODER_GPT_OSS)
        checkpoint_note(load->files,
                        "%s/config.json: rope_scaling is null: positions are as they are, which "
                        "transformers 4 takes it for, and not 5",
                        load->files->directory);
    if (is_there(scaling) && scaling.type != JSON_OBJECT)
        refuse(load, load->config, name, "is no object");
    if (load->model->config.family == DECODER_GEMMA3 && !is_there(parameters) && is_there(json_get(scaling, "type")) &&
        !is_there(json_get(scaling, "rope_type")))
        refuse(load, load->config, name, "has type in place of rope_type, which transformers passes over in a gemma3");
    checkpoint_members(load->files, scaling, name, lists);
    if (checkpoint_real(load->files, scaling, "partial_rotary_factor", -1e9, 1e9, 1) != 1)
        refuse(load, scaling, "partial_rotary_factor", "is not 1, which this program does not do");
    if (is_there(scaling) && !is_there(json_get(scaling, "rope_type")) && !is_there(json_get(scaling, "type")) &&
        (!is_there(parameters) || is_there(json_get(scaling, "factor"))))
        refuse(load, load->config, name, "has no rope_type");
    return scaling;
}

/* How long the texts were before scaling; Phi's files have it beside the rest, and transformers 5 prefers it there. */
static double read_original_length(loader *load, json scaling)
{
    static const char name[] = "original_max_position_embeddings";
    long most = (long)load->model->config.max_position_embeddings;
    if (!agree(json_get(scaling, name), json_get(load->config, name)))
        refuse(load, load->config, name, "differs from that of the rotation");
    return (double)checkpoint_uint(load->files, scaling, name, 1, (long)number(load, name, (size_t)most));
}

/* The base and the scaling, which may be missing. */
static void read_scaling(loader *load, decoder_rope *rope, int which)
{
    static const char *const types[] = {"default", "linear", "dynamic", "yarn", "llama3", NULL};
    static const attn_rope_scaling_kind kinds[] = {ATTN_ROPE_PLAIN, ATTN_ROPE_LINEAR, ATTN_ROPE_NTK, ATTN_ROPE_YARN,
                                                   ATTN_ROPE_LLAMA3};
    attn_rope_scaling *how = &rope->how;
    checkpoint *files = load->files;
    json scaling = find_scaling(load, which), type = json_get(scaling, "rope_type"), old = json_get(scaling, "type");
    json factor = json_get(scaling, "attention_factor");
    size_t kind;
    rope->base = which == GLOBAL ? real(load, "rope_theta", 1e-3, 1e15, load->kind->rope_theta)
                                 : real(load, "rope_local_base_freq", 1e-3, 1e15, 1e4);
    rope->base = checkpoint_real(files, scaling, "rope_theta", 1e-3, 1e15, rope->base);
    if (!agree(type, old))
        refuse(load, scaling, "type", "and rope_type of a rotation differ");
    kind = checkpoint_choice(files, scaling, is_there(type) ? "rope_type" : "type", types);
    if (files->failed || kind == 0)
        return;
    how->kind = kinds[kind];
    how->factor = checkpoint_real(files, scaling, "factor", kind == 2 ? 1 : 1e-6, 1e9, -1);
    if (kind == 2 && load->model->config.head_dim == 2)
        refuse(load, load->config, "head_dim", "is 2, too little for a rotation of type dynamic");
    if (kind >= 3)
        how->original_len = read_original_length(load, scaling);
    if (kind == 3) {
        how->mscale = checkpoint_real(files, scaling, "mscale", 0, 1e9, 0);
        how->mscale_all_dim = checkpoint_real(files, scaling, "mscale_all_dim", 0, 1e9, 0);
        how->beta_fast = checkpoint_real(files, scaling, "beta_fast", 0, 1e9, 32);
        how->beta_slow = checkpoint_real(files, scaling, "beta_slow", 0, 1e9, 1);
        how->no_truncate = !checkpoint_flag(files, scaling, "truncate", 1);
        rope->has_scale = is_there(factor);
        if (rope->has_scale)
            rope->scale = checkpoint_real(files, scaling, "attention_factor", -1, 1e9, -1);
        if (rope->scale < 0)
            refuse(load, scaling, "attention_factor", "is negative");
        if (!files->failed && rope->base <= 1)
            refuse(load, load->config, "rope_theta", "is not above 1");
        if (how->no_truncate && is_there(json_get(load->config, "rope_parameters")) &&
            load->model->config.family == DECODER_GEMMA3)
            refuse(load, scaling, "truncate", "is false, which transformers passes over in a gemma3");
    } else if (kind == 4) {
        how->beta_slow = checkpoint_real(files, scaling, "low_freq_factor", 1e-6, 1e9, -1);
        how->beta_fast = checkpoint_real(files, scaling, "high_freq_factor", 1e-6, 1e9, -1);
        if (!files->failed && how->beta_fast <= how->beta_slow)
            refuse(load, scaling, "high_freq_factor", "is not above low_freq_factor");
    }
}

/* For a text of `length` tokens. A "dynamic" base grows when a text has outgrown what the model was made for. */
static attn_status set_frequencies(const decoder *model, decoder_rope *rope, size_t length)
{
    attn_rope_scaling how = rope->how;
    double over = (double)length / (double)model->config.max_position_embeddings;
    if (how.kind == ATTN_ROPE_NTK)
        how.factor = over > 1 ? how.factor * over - (how.factor - 1) : 1;
    attn_status status = attn_rope_frequencies(rope->frequencies, model->config.head_dim, rope->base, &how,
                                               rope->has_scale ? NULL : &rope->scale);
    for (size_t i = 0; rope->divisors && i < model->config.head_dim / 2; i++)
        rope->frequencies[i] /= (double)rope->divisors[i];
    return status;
}

/* Those are numbers above 0; where they are, nothing else is said of scaling. */
static void read_divisors(loader *load, decoder_rope *rope)
{
    size_t half = load->model->config.head_dim / 2;
    if (!load->files->gguf || !checkpoint_has(load->files, "rope_freqs.weight"))
        return;
    rope->divisors = checkpoint_vector(load->files, half, "rope_freqs.weight");
    if (rope->how.kind != ATTN_ROPE_PLAIN)
        refuse(load, load->config, "rope_scaling", "is there beside the tensor rope_freqs.weight");
    for (size_t i = 0; rope->divisors && i < half && !load->files->failed; i++)
        if (!(rope->divisors[i] > 0 && rope->divisors[i] <= FLT_MAX))
            checkpoint_fail(load->files, "%s: tensor rope_freqs.weight has a number that is not above 0",
                            load->files->directory);
}

static void read_rope(loader *load)
{
    decoder *model = load->model;
    size_t half = model->config.head_dim / 2, i;
    model->ropes = (decoder_rope *)calloc(2, sizeof *model->ropes);
    if (model->ropes)
        model->ropes[0].frequencies = (double *)malloc(2 * half * sizeof(double)); /* of both */
    if (!model->ropes || !model->ropes[0].frequencies) {
        checkpoint_fail(load->files, "%s: no memory", load->files->directory);
        return;
    }
    for (i = 0; i < 2; i++) {
        decoder_rope *rope = &model->ropes[i];
        rope->frequencies = model->ropes[0].frequencies + i * half;
        if (i == GLOBAL || model->config.family == DECODER_GEMMA3)
            read_scaling(load, rope, (int)i);
        else
            rope->base = 1e4; /* of no use */
        if (i == GLOBAL)
            read_divisors(load, rope);
        if (!load->files->failed && set_frequencies(model, rope, 0) != ATTN_OK)
            refuse(load, load->config, i == GLOBAL ? "rope_scaling" : "rope_local_base_freq", "is out of range");
    }
    for (i = 0; model->config.family == DECODER_GEMMA3 && i < model->config.num_hidden_layers; i++)
        model->blocks[i].rope = model->blocks[i].window > 0 ? LOCAL : GLOBAL;
}

/* ==== Weights ==================================================================================================== */

static checkpoint_linear load_linear(loader *load, const char *name, unsigned long i, size_t outputs, size_t inputs,
                                     int has_bias)
{
    return checkpoint_linear_of(load->files, outputs, inputs, has_bias, "%slayers.%lu.%s", load->prefix, i, name);
}

static const float *load_vector(loader *load, const char *name, unsigned long i, size_t count)
{
    return checkpoint_vector(load->files, count, "%slayers.%lu.%s", load->prefix, i, name);
}

static void load_attention(loader *load, decoder_block *b, unsigned long i)
{
    const decoder_config *c = &load->model->config;
    size_t q = c->num_attention_heads * c->head_dim, kv = c->num_key_value_heads * c->head_dim, d = c->hidden_size;
    int bias = load->attention_bias;
    b->q = load_linear(load, "self_attn.q_proj", i, q, d, bias);
    b->k = load_linear(load, "self_attn.k_proj", i, kv, d, bias);
    b->v = load_linear(load, "self_attn.v_proj", i, kv, d, bias);
    b->o = load_linear(load, "self_attn.o_proj", i, d, q, bias && c->family != DECODER_QWEN2);
    if (c->family == DECODER_QWEN3 || c->family == DECODER_GEMMA3) {
        b->q_norm = load_vector(load, "self_attn.q_norm.weight", i, c->head_dim);
        b->k_norm = load_vector(load, "self_attn.k_norm.weight", i, c->head_dim);
    }
    if (c->family == DECODER_GPT_OSS)
        b->sinks = load_vector(load, "self_attn.sinks", i, c->num_attention_heads);
    checkpoint_ignore(load->files, "%slayers.%lu.self_attn.rotary_emb.inv_freq", load->prefix, i);
}

static void load_feed_forward(loader *load, decoder_block *b, unsigned long i)
{
    size_t d = load->model->config.hidden_size, f = load->model->config.intermediate_size;
    b->gate = load_linear(load, "mlp.gate_proj", i, f, d, load->mlp_bias);
    b->up = load_linear(load, "mlp.up_proj", i, f, d, load->mlp_bias);
    b->down = load_linear(load, "mlp.down_proj", i, d, f, load->mlp_bias);
}

/* A tensor of 1 x count as floats. */
static const float *load_row(loader *load, size_t count, const char *name, unsigned long i)
{
    attn_mat row = checkpoint_matrix(load->files, 1, count, "%slayers.%lu.mlp.experts.%s", load->prefix, i, name);
    float *values = load->files->failed ? NULL : (float *)checkpoint_layers(load->files, 1, count * sizeof *values);
    if (values)
        attn_mat_copy(attn_mat_of(values, ATTN_F32, 1, count), row);
    return values;
}

/* One expert: its matrices are inputs x outputs, and columns of gate and up take turns. The router has no choice. */
static void load_expert(loader *load, decoder_block *b, unsigned long i)
{
    const decoder_config *c = &load->model->config;
    checkpoint *files = load->files;
    size_t d = c->hidden_size, f = c->intermediate_size;
    const char *p = load->prefix;
    b->gate.w = attn_mat_t(checkpoint_stack(files, 1, d, 2 * f, "%slayers.%lu.mlp.experts.gate_up_proj", p, i));
    b->down.w = attn_mat_t(checkpoint_stack(files, 1, f, d, "%slayers.%lu.mlp.experts.down_proj", p, i));
    b->gate.bias = load_row(load, 2 * f, "gate_up_proj_bias", i);
    b->down.bias = load_row(load, d, "down_proj_bias", i);
    checkpoint_ignore(files, "%slayers.%lu.mlp.router.weight", p, i);
    checkpoint_ignore(files, "%slayers.%lu.mlp.router.bias", p, i);
}

static void load_block(loader *load, decoder_block *b, unsigned long i)
{
    size_t d = load->model->config.hidden_size;
    load_attention(load, b, i);
    if (load->model->config.family == DECODER_GPT_OSS)
        load_expert(load, b, i);
    else
        load_feed_forward(load, b, i);
    b->norm = load_vector(load, "input_layernorm.weight", i, d);
    if (load->model->gemma && load->model->config.family != DECODER_GEMMA) {
        b->out_norm = load_vector(load, "post_attention_layernorm.weight", i, d);
        b->ff_norm = load_vector(load, "pre_feedforward_layernorm.weight", i, d);
        b->ff_out_norm = load_vector(load, "post_feedforward_layernorm.weight", i, d);
    } else {
        b->ff_norm = load_vector(load, "post_attention_layernorm.weight", i, d);
    }
}

/* What the names of tensors begin with, where a head may stand beside them or none: of a Gemma 3 with eyes, of which
   files of two ages are about, the text part's; the rest of that is not looked at. */
static void set_prefix(loader *load)
{
    static const char *const seen[] = {"vision_tower.", "multi_modal_projector.", "model.vision_tower.",
                                       "model.multi_modal_projector."};
    static const char *const prefixes[][3] = {{"model.", ""},
                                              {"language_model.model.", "model.language_model.", "language_model."}};
    const char *const *p = prefixes[load->whole];
    size_t i;
    for (i = 0; i < 3 && p[i] && !checkpoint_has(load->files, "%sembed_tokens.weight", p[i]);)
        i++;
    snprintf(load->prefix, sizeof load->prefix, "%s", p[i < 3 && p[i] ? i : 0]);
    for (i = 0; load->whole && i < sizeof seen / sizeof *seen; i++)
        checkpoint_ignore_all(load->files, seen[i]);
}

static void load_weights(loader *load)
{
    decoder *model = load->model;
    decoder_config *c = &model->config;
    checkpoint *files = load->files;
    const char *head =
        checkpoint_has(files, "language_model.lm_head.weight") ? "language_model.lm_head.weight" : "lm_head.weight";
    char embedding[sizeof load->prefix + 20];
    const char *const names[] = {embedding, NULL};
    size_t i;
    set_prefix(load);
    snprintf(embedding, sizeof embedding, "%sembed_tokens.weight", load->prefix);
    checkpoint_ends(files, c->vocab_size, c->hidden_size, names, head, c->tie_word_embeddings, &model->embedding,
                    &model->head);
    c->tie_word_embeddings = model->head.data == model->embedding.data;
    for (i = 0; i < c->num_hidden_layers && !files->failed; i++)
        load_block(load, &model->blocks[i], (unsigned long)i);
    model->norm = checkpoint_vector(files, c->hidden_size, "%snorm.weight", load->prefix);
    checkpoint_ignore(files, "%srotary_emb.inv_freq", load->prefix);
    checkpoint_finish(files, load->kind->name);
}

/* ==== Opening and closing ======================================================================================== */

static void open_weights(loader *load)
{
    decoder *model = load->model;
    checkpoint_weights(load->files, load->opts);
    model->blocks =
        (decoder_block *)checkpoint_layers(load->files, model->config.num_hidden_layers, sizeof *model->blocks);
}

typedef void step(loader *load);

const char *decoder_open(decoder *model, const char *directory, const checkpoint_opts *opts)
{
    /* Each may take for granted what those before it have read. */
    static step *const steps[] = {read_family,     note_others,      refuse_others, read_sizes,
                                  read_activation, read_numbers,     read_experts,  open_generation,
                                  read_ids,        read_generation,  open_weights,  read_no_rope,
                                  read_window,     read_layer_types, read_rope,     load_weights};
    loader load;
    size_t i;
    memset(model, 0, sizeof *model);
    memset(&load, 0, sizeof load);
    load.model = model;
    load.files = &model->files;
    load.opts = opts;
    checkpoint_open(&model->files, directory);
    load.config = model->files.config;
    for (i = 0; i < sizeof steps / sizeof *steps && !model->files.failed; i++)
        steps[i](&load);
    if (!model->files.failed)
        return NULL;
    layers_fail(&model->net, "%s", model->files.error);
    decoder_close(model);
    return layers_outcome(&model->net);
}

void decoder_close(decoder *model)
{
    if (model->ropes)
        free(model->ropes[0].frequencies);
    free(model->ropes);
    layers_free(&model->net);
    checkpoint_close(&model->files);
    memset(model, 0, offsetof(decoder, net)); /* the message stays */
}

/* ==== Texts ====================================================================================================== */

/* How many tokens the cache of a block holds, for a text of up to `capacity`. A ring's queries, up to CHUNK at once,
   see window - 1 tokens before the first of them; and where no more were read than that, what the last call read can be
   forgotten again. */
static size_t cache_capacity(const decoder_block *b, size_t capacity)
{
    return b->window > 0 && b->window - 1 + CHUNK < capacity ? b->window - 1 + CHUNK : capacity;
}

size_t decoder_cache_size(const decoder *model, size_t capacity, attn_dtype cache)
{
    const decoder_config *c = &model->config;
    size_t all = 0, bytes, i;
    for (i = 0; i < c->num_hidden_layers; i++) {
        size_t tokens = cache_capacity(&model->blocks[i], capacity);
        if (attn_kv_cache_size(&bytes, 1, c->num_key_value_heads, tokens, c->head_dim, c->head_dim, cache,
                               tokens < capacity) != ATTN_OK ||
            bytes > SIZE_MAX - all)
            return SIZE_MAX;
        all += bytes;
    }
    return all;
}

const char *decoder_begin(decoder *model, decoder_text *text, size_t capacity, attn_dtype cache)
{
    const decoder_config *c = &model->config;
    attn_status status = ATTN_OK;
    size_t i;
    memset(text, 0, sizeof *text);
    text->caches = (attn_kv_cache *)calloc(c->num_hidden_layers, sizeof *text->caches);
    if (!text->caches)
        layers_fail(&model->net, "no memory");
    for (i = 0; text->caches && status == ATTN_OK && i < c->num_hidden_layers; i++) {
        size_t tokens = cache_capacity(&model->blocks[i], capacity);
        status = attn_kv_cache_init(&text->caches[i], 1, c->num_key_value_heads, tokens, c->head_dim, c->head_dim,
                                    cache, tokens < capacity, NULL, 0);
    }
    if (layers_check(&model->net, status, "attn_kv_cache_init"))
        text->capacity = capacity;
    else
        decoder_end(model, text);
    return layers_outcome(&model->net);
}

void decoder_end(decoder *model, decoder_text *text)
{
    size_t i;
    if (!text)
        return;
    for (i = 0; text->caches && i < model->config.num_hidden_layers; i++)
        attn_kv_cache_free(&text->caches[i]);
    free(text->caches);
    memset(text, 0, sizeof *text);
}

/* Whether a cache has all of the tokens that the one after the first `len` sees. */
static int remembers(const decoder_block *b, const attn_kv_cache *cache, size_t len)
{
    size_t oldest = cache->ring && b->window > 0 && len > b->window - 1 ? len - (b->window - 1) : 0;
    return !cache->first || cache->first[0] <= oldest;
}

void decoder_truncate(decoder *model, decoder_text *text, size_t len)
{
    size_t i;
    if (len >= text->length)
        return;
    for (i = 0; i < 2; i++)
        if (model->ropes[i].how.kind == ATTN_ROPE_NTK && text->length > model->config.max_position_embeddings)
            len = 0;
    for (i = 0; i < model->config.num_hidden_layers; i++)
        if (!remembers(&model->blocks[i], &text->caches[i], len))
            len = 0;
    for (i = 0; i < model->config.num_hidden_layers; i++)
        attn_kv_cache_truncate(&text->caches[i], 0, len);
    text->length = len;
}

/* ==== The network ================================================================================================ */

/* Numbers of a chunk, for each of its rows. */
typedef struct rows {
    size_t count;
    float *x;         /* hidden_size: what the blocks add to */
    float *h;         /* hidden_size: its norm, or what is to be added */
    float *q, *k, *v; /* queries, keys, values of all heads; what attention makes of them takes the place of q */
    float *a;
    float *f, *g, *w;       /* intermediate_size, w twice that for GPT-OSS */
    float *cos[2], *sin[2]; /* of each rotation: head_dim / 2 */
} rows;

static int begin_rows(decoder *model, rows *r, size_t count)
{
    const decoder_config *c = &model->config;
    size_t d = c->hidden_size, q = c->num_attention_heads * c->head_dim, kv = c->num_key_value_heads * c->head_dim;
    size_t f = c->intermediate_size, half = c->head_dim / 2, wide = c->family == DECODER_GPT_OSS ? 2 * f : 0;
    const layers_part parts[] = {{&r->x, d},        {&r->h, d},         {&r->q, q},         {&r->a, q},
                                 {&r->k, kv},       {&r->v, kv},        {&r->f, f},         {&r->g, f},
                                 {&r->w, wide},     {&r->cos[0], half}, {&r->sin[0], half}, {&r->cos[1], half},
                                 {&r->sin[1], half}};
    r->count = count;
    return layers_parts(&model->net, count, parts, sizeof parts / sizeof *parts);
}

/* Cosines and sines of the angles of rows from position `first` of a text of which `length` tokens are known: in float,
   as transformers has them. */
static void set_rotation(decoder *model, rows *r, int which, size_t first, size_t length)
{
    decoder_rope *rope = &model->ropes[which];
    size_t half = model->config.head_dim / 2, i, d;
    if (rope->how.kind == ATTN_ROPE_NTK)
        layers_check(&model->net, set_frequencies(model, rope, length), "attn_rope_frequencies");
    for (d = 0; d < half; d++)
        for (i = 0; i < r->count; i++) {
            float angle = (float)(first + i) * (float)rope->frequencies[d];
            r->cos[which][i * half + d] = (float)cos((double)angle) * (float)rope->scale;
            r->sin[which][i * half + d] = (float)sin((double)angle) * (float)rope->scale;
        }
}

/* The same for n rows of `heads` heads, the last n of the chunk. */
static void rotate(decoder *model, const rows *r, int which, float *x, size_t n, size_t heads)
{
    attn_tensor rotated = attn_blhd(x, ATTN_F32, 1, n, heads, model->config.head_dim);
    size_t half = model->config.head_dim / 2, first = (r->count - n) * half;
    attn_rope_opts opts;
    memset(&opts, 0, sizeof opts);
    opts.cos = attn_mat_of(r->cos[which] + first, ATTN_F32, n, half);
    opts.sin = attn_mat_of(r->sin[which] + first, ATTN_F32, n, half);
    layers_check(&model->net, attn_rope(rotated, rotated, &opts), "attn_rope");
}

/* x += what is in h, after a norm of its own if there is one. */
static void add(decoder *model, float *x, float *h, size_t n, const float *weight)
{
    size_t d = model->config.hidden_size;
    if (weight)
        layers_rms_norm(&model->net, h, h, n, d, d, weight, 1, model->config.rms_norm_eps);
    layers_add(&model->net, x, h, n, d);
}

static void norm(decoder *model, float *h, const float *x, size_t n, const float *weight)
{
    size_t d = model->config.hidden_size;
    layers_rms_norm(&model->net, h, x, n, d, d, weight, model->gemma ? 1 : 0, model->config.rms_norm_eps);
}

/* out = x w^T + bias. */
static void project(decoder *model, float *out, const float *x, size_t n, checkpoint_linear m)
{
    layers_project(&model->net, out, x, n, m.w, 1);
    layers_add_bias(&model->net, out, n, m.w.rows, m.bias);
}

/* Queries or keys of n rows, the last of the chunk: projected, normed, rotated. */
static void project_heads(decoder *model, const rows *r, const decoder_block *b, float *out, size_t n,
                          checkpoint_linear m, const float *weight)
{
    const decoder_config *c = &model->config;
    size_t D = c->head_dim, heads = m.w.rows / D;
    project(model, out, r->h + (r->count - n) * c->hidden_size, n, m);
    if (weight)
        layers_rms_norm(&model->net, out, out, n * heads, D, D, weight, model->gemma ? 1 : 0, c->rms_norm_eps);
    if (!model->net.failed && b->rope != NONE)
        rotate(model, r, b->rope, out, n, heads);
}

/* x += attention of the last n rows of the chunk; all of its rows enter the cache. */
static void attend(decoder *model, rows *r, const decoder_block *b, attn_kv_cache *cache, size_t n)
{
    const decoder_config *c = &model->config;
    size_t D = c->head_dim, H = c->num_attention_heads, Hkv = c->num_key_value_heads;
    float *x = r->x + (r->count - n) * c->hidden_size;
    attn_opts opts;
    norm(model, r->h, r->x, r->count, b->norm);
    project_heads(model, r, b, r->k, r->count, b->k, b->k_norm);
    project(model, r->v, r->h, r->count, b->v);
    if (n > 0)
        project_heads(model, r, b, r->q, n, b->q, b->q_norm);
    layers_append(&model->net, cache, attn_blhd(r->k, ATTN_F32, 1, r->count, Hkv, D),
                  attn_blhd(r->v, ATTN_F32, 1, r->count, Hkv, D));
    if (n == 0)
        return;
    memset(&opts, 0, sizeof opts);
    opts.scale = c->scale;
    opts.softcap = c->attn_logit_softcapping;
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    opts.window.on = b->window > 0;
    opts.window.left = (ptrdiff_t)b->window - 1;
    opts.window.right = -1;
    opts.sinks = b->sinks;
    layers_attend(&model->net, attn_blhd(r->a, ATTN_F32, 1, n, H, D), attn_blhd(r->q, ATTN_F32, 1, n, H, D), cache,
                  &opts);
    project(model, r->h, r->a, n, b->o);
    add(model, x, r->h, n, b->out_norm);
}

/* gate and up in turn become silu(1.702 gate) and (up + 1) / 1.702, both within 7: their product is
   (up + 1) gate sigmoid(1.702 gate). */
static void part_gates(const float *both, float *f, float *g, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        float gate = both[2 * i], up = both[2 * i + 1];
        gate = gate > 7 ? 7 : gate; /* NaN stays */
        up = up > 7 ? 7 : up < -7 ? -7 : up;
        f[i] = 1.702f * gate;
        g[i] = (up + 1) / 1.702f;
    }
}

/* x += down(activation(gate h) up h), h = norm(x), of the last n rows of the chunk. */
static void feed_forward(decoder *model, rows *r, const decoder_block *b, size_t n)
{
    const decoder_config *c = &model->config;
    float *x = r->x + (r->count - n) * c->hidden_size;
    norm(model, r->h, x, n, b->ff_norm);
    if (c->family == DECODER_GPT_OSS) {
        project(model, r->w, r->h, n, b->gate);
        if (!model->net.failed)
            part_gates(r->w, r->f, r->g, n * c->intermediate_size);
    } else {
        project(model, r->f, r->h, n, b->gate);
        project(model, r->g, r->h, n, b->up);
    }
    layers_gate(&model->net, r->f, r->g, n, c->intermediate_size, c->activation);
    project(model, r->h, r->f, n, b->down);
    add(model, x, r->h, n, b->ff_out_norm);
}

/* The embeddings of tokens, Gemma's times sqrt(hidden_size). */
static void embed(decoder *model, float *x, const int32_t *tokens, size_t n)
{
    size_t d = model->config.hidden_size, i;
    float factor = (float)sqrt((double)d);
    layers_embed(&model->net, x, model->embedding, tokens, n);
    for (i = 0; model->gemma && i < n * d; i++)
        x[i] *= factor;
}

/* Logits of the tokens after the last n of the chunk's. */
static void predict(decoder *model, rows *r, float *logits, size_t n)
{
    const decoder_config *c = &model->config;
    float cap = (float)c->final_logit_softcapping;
    size_t i;
    norm(model, r->h, r->x + (r->count - n) * c->hidden_size, n, model->norm);
    layers_project(&model->net, logits, r->h, n, model->head, 1);
    for (i = 0; cap > 0 && !model->net.failed && i < n * c->vocab_size; i++)
        logits[i] = tanhf(logits[i] / cap) * cap;
}

/* One chunk of a text of which `length` tokens are known; logits of its last `wanted` rows. What no logits come from is
   not computed in the last block, but its keys and values. */
static void read_chunk(decoder *model, decoder_text *text, const int32_t *tokens, size_t count, size_t length,
                       float *logits, size_t wanted)
{
    size_t blocks = model->config.num_hidden_layers, i, n;
    rows r;
    if (!begin_rows(model, &r, count))
        return;
    embed(model, r.x, tokens, count);
    set_rotation(model, &r, GLOBAL, text->length, length);
    if (model->config.family == DECODER_GEMMA3)
        set_rotation(model, &r, LOCAL, text->length, length);
    for (i = 0; i < blocks && !model->net.failed; i++) {
        n = i + 1 < blocks ? count : wanted;
        attend(model, &r, &model->blocks[i], &text->caches[i], n);
        if (n > 0)
            feed_forward(model, &r, &model->blocks[i], n);
    }
    if (wanted > 0)
        predict(model, &r, logits, wanted);
}

static const char *read_tokens(decoder *model, decoder_text *text, const int32_t *tokens, size_t count, float *logits,
                               int all)
{
    size_t vocabulary = model->config.vocab_size, length, i, n, wanted;
    if (count == 0 || count > text->capacity - text->length)
        layers_fail(&model->net, "%lu tokens, where there is room for 1 to %lu", (unsigned long)count,
                    (unsigned long)(text->capacity - text->length));
    if (!layers_known(&model->net, tokens, count, vocabulary))
        return layers_outcome(&model->net);
    length = text->length + count;
    for (i = 0; i < count && !model->net.failed; i += n) {
        n = count - i < CHUNK ? count - i : (size_t)CHUNK;
        wanted = !logits ? 0 : all ? n : i + n == count;
        read_chunk(model, text, tokens + i, n, length, logits && all ? logits + i * vocabulary : logits, wanted);
        if (!model->net.failed)
            text->length += n;
    }
    for (i = 0; model->net.failed && i < model->config.num_hidden_layers; i++)
        if (text->caches[i].lens[0] > text->length)
            attn_kv_cache_truncate(&text->caches[i], 0, text->length);
    return layers_outcome(&model->net);
}

const char *decoder_read(decoder *model, decoder_text *text, const int32_t *tokens, size_t count, float *logits)
{
    return read_tokens(model, text, tokens, count, logits, 0);
}

const char *decoder_read_all(decoder *model, decoder_text *text, const int32_t *tokens, size_t count, float *logits)
{
    return read_tokens(model, text, tokens, count, logits, 1);
}
