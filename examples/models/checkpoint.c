/* checkpoint.c: see checkpoint.h. */
#include "checkpoint.h"
#include "gguf_files.h"
#include "shown.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH_SIZE = 4096,
    NAME_SIZE = 160,
    CONFIG_SIZE = 1 << 20, /* bytes of a JSON file */
    INDEX_SIZE = 1 << 24,  /* of the index of shards, which names every tensor */
    SHARDS = 512,
    PAGE = 4096,
    PART = 1 << 24 /* bytes between two calls of progress */
};

/* ==== Messages and memory ======================================================================================== */

/* A message begins with a path: of a long one the end is shown. */
const char *checkpoint_fail(checkpoint *files, const char *format, ...)
{
    char text[PATH_SIZE + sizeof files->error];
    va_list arguments;
    va_start(arguments, format);
    if (!files->failed) {
        vsnprintf(text, sizeof text, format, arguments);
        shown_end(files->error, sizeof files->error, text);
    }
    va_end(arguments);
    files->failed = 1;
    return files->error;
}

/* Memory that checkpoint_close gives back. */
typedef struct piece {
    struct piece *next;
    double aligned[1];
} piece;

/* count * size zeros, or NULL and the error. */
static void *allocate(checkpoint *files, size_t count, size_t size)
{
    piece *p = NULL;
    if (files->failed)
        return NULL;
    if (count <= ((size_t)PTRDIFF_MAX - sizeof *p) / size)
        p = (piece *)malloc(sizeof *p + count * size);
    if (!p) {
        checkpoint_fail(files, "%s: no memory", files->directory);
        return NULL;
    }
    p->next = (piece *)files->owned;
    files->owned = p;
    memset(p->aligned, 0, count * size);
    return p->aligned;
}

static char *copy_text(checkpoint *files, const char *text)
{
    char *copy = (char *)allocate(files, strlen(text) + 1, 1);
    if (copy)
        strcpy(copy, text);
    return copy;
}

/* ==== JSON ======================================================================================================= */

/* A JSON file that has been read: where its text lies tells messages whose member is wrong. */
struct checkpoint_text {
    struct checkpoint_text *next;
    char *path, *text;
    size_t size;
};

static void set_path(const checkpoint *files, char path[PATH_SIZE], const char *name)
{
    snprintf(path, PATH_SIZE, "%s/%s", files->directory, name);
}

/* Reads an open file whole, up to `most` bytes; a NUL follows them. */
static char *read_file(checkpoint *files, FILE *file, const char *path, size_t most, size_t *size)
{
    size_t capacity = 0, room;
    char *text = NULL, *larger;
    *size = 0;
    do {
        room = capacity ? 2 * capacity : 1 << 14;
        larger = (char *)realloc(text, room + 1);
        if (!larger) {
            checkpoint_fail(files, "%s: no memory", path);
            break;
        }
        text = larger;
        capacity = room;
        *size += fread(text + *size, 1, capacity - *size, file);
    } while (*size == capacity && *size <= most);
    if (!files->failed && ferror(file))
        checkpoint_fail(files, "%s: cannot be read", path);
    else if (!files->failed && *size > most)
        checkpoint_fail(files, "%s: larger than %lu bytes", path, (unsigned long)most);
    if (!files->failed) {
        text[*size] = 0;
        return text;
    }
    free(text);
    return NULL;
}

/* The value that a JSON file of the directory holds. JSON_NONE: an error, or there is no such file and need not be. */
static json read_json(checkpoint *files, const char *name, size_t most, int required)
{
    json value = {JSON_NONE, NULL, NULL};
    struct checkpoint_text *text;
    char path[PATH_SIZE];
    const char *cause, *kind;
    size_t where;
    FILE *file;
    if (files->failed)
        return value;
    set_path(files, path, name);
    file = fopen(path, "rb");
    kind = files->directory ? strrchr(files->directory, '.') : NULL;
    if (!file && errno == ENOENT && required && kind && strcmp(kind, ".gguf") == 0)
        checkpoint_fail(files, "%s: there is no such file", files->directory);
    else if (!file && errno == ENOTDIR)
        checkpoint_fail(files, "%s: neither a directory nor a GGUF that can be read", files->directory);
    else if (!file && (required || errno != ENOENT))
        checkpoint_fail(files, "%s: %s", path, strerror(errno));
    if (!file)
        return value;
    text = (struct checkpoint_text *)allocate(files, 1, sizeof *text);
    if (text && (text->path = copy_text(files, path)) != NULL &&
        (text->text = read_file(files, file, path, most, &text->size)) != NULL) {
        text->next = files->texts;
        files->texts = text;
        cause = json_parse(&value, text->text, text->size, &where);
        if (cause)
            checkpoint_fail(files, "%s: byte %lu: %s", path, (unsigned long)where, cause);
    }
    fclose(file);
    return value;
}

json checkpoint_json(checkpoint *files, const char *name)
{
    const json none = {JSON_NONE, NULL, NULL};
    return files->gguf ? none : read_json(files, name, CONFIG_SIZE, 0);
}

json checkpoint_object(checkpoint *files, const char *name)
{
    json value = checkpoint_json(files, name);
    if (!files->failed && value.type != JSON_NONE && value.type != JSON_OBJECT)
        checkpoint_fail(files, "%s/%s: no JSON object", files->directory, name);
    return value;
}

/* The path of the file that a value lies in. */
const char *checkpoint_path(const checkpoint *files, json value)
{
    const struct checkpoint_text *text = files->texts;
    while (text && value.stop != text->text + text->size)
        text = text->next;
    return text ? text->path : "config.json";
}

const char *checkpoint_fail_member(checkpoint *files, json object, const char *name, const char *reason)
{
    return checkpoint_fail(files, "%s: %s %s", checkpoint_path(files, object), name, reason);
}

void checkpoint_note(checkpoint *files, const char *format, ...)
{
    char text[2 * PATH_SIZE], line[1024], *larger;
    size_t at, size;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size = strlen(strcat(shown_end(line, sizeof line - 1, text), "\n"));
    if (files->failed || strstr(files->notes, line))
        return;
    at = strlen(files->notes);
    if (at + size >= files->notes_room) {
        larger = (char *)allocate(files, 2, at + sizeof line);
        if (!larger)
            return;
        files->notes = strcpy(larger, files->notes);
        files->notes_room = 2 * (at + sizeof line);
    }
    strcpy(files->notes + at, line);
}

void checkpoint_members(checkpoint *files, json object, const char *within, const char *const *const *lists)
{
    char names[240], shown[300];
    size_t count = json_others(object, lists, names, sizeof names);
    if (count > 0)
        checkpoint_note(files, "%s: %s%sunknown members are not looked at: %s", checkpoint_path(files, object),
                        within ? within : "", within ? ": " : "",
                        shown_text(shown, sizeof shown, names, strlen(names)));
}

/* The member, unless it is missing or null. */
static int member(checkpoint *files, json object, const char *name, json *value)
{
    *value = json_get(object, name);
    return !files->failed && value->type != JSON_NONE && value->type != JSON_NULL;
}

size_t checkpoint_uint(checkpoint *files, json object, const char *name, size_t least, long otherwise)
{
    json value;
    uint64_t number;
    if (!member(files, object, name, &value)) {
        if (otherwise >= 0)
            return (size_t)otherwise;
        checkpoint_fail_member(files, object, name, "is missing");
        return 0;
    }
    if (json_uint(value, &number) && number >= least && number <= INT32_MAX)
        return (size_t)number;
    checkpoint_fail(files, "%s: %s is no whole number from %lu to %ld", checkpoint_path(files, object), name,
                    (unsigned long)least, (long)INT32_MAX);
    return 0;
}

double checkpoint_real(checkpoint *files, json object, const char *name, double least, double most, double otherwise)
{
    json value;
    double number;
    if (!member(files, object, name, &value)) {
        if (otherwise < least)
            checkpoint_fail_member(files, object, name, "is missing");
        return otherwise;
    }
    if (json_double(value, &number) && number >= least && number <= most)
        return number;
    checkpoint_fail(files, "%s: %s is no number from %g to %g", checkpoint_path(files, object), name, least, most);
    return 0;
}

int checkpoint_flag(checkpoint *files, json object, const char *name, int otherwise)
{
    json value;
    if (!member(files, object, name, &value))
        return otherwise;
    if (value.type != JSON_TRUE && value.type != JSON_FALSE)
        checkpoint_fail_member(files, object, name, "is neither true nor false");
    return value.type == JSON_TRUE;
}

size_t checkpoint_choice(checkpoint *files, json object, const char *name, const char *const *names)
{
    char list[300], given[60], shown[100];
    size_t i, n, at = 0;
    json value;
    if (!member(files, object, name, &value))
        return 0;
    for (i = 0; names[i]; i++)
        if (json_is(value, names[i]))
            return i;
    for (i = 0; names[i] && at < sizeof list; i++) {
        int wrote = snprintf(list + at, sizeof list - at, i ? ", %s" : "%s", names[i]);
        at += wrote > 0 ? (size_t)wrote : sizeof list;
    }
    n = json_string(value, given, sizeof given);
    n = n < sizeof given ? n : sizeof given - 1;
    checkpoint_fail(files, "%s: %s%s%s%s is none of %s", checkpoint_path(files, object), name, n ? " \"" : "",
                    shown_text(shown, sizeof shown, given, n), n ? "\"" : "", list);
    return 0;
}

/* ==== Types of models ============================================================================================ */

/* What types have that no reader here does, or where they run. */
static const struct {
    const char *type, *missing;
} types[] = {
    {"t5", "05_translate runs it"},
    {"bert", "12_search runs it"},
    {"llama", "13_generate runs it"},
    {"mistral", "13_generate runs it"},
    {"qwen2", "13_generate runs it"},
    {"qwen3", "13_generate runs it"},
    {"gemma2", "13_generate runs it"},
    {"gemma3", "13_generate runs it"},
    {"gemma3_text", "13_generate runs it"},
    {"gpt_oss", "13_generate runs it, with one expert"},
    {"smollm3", "13_generate runs it"},
    /* decoders */
    {"phi3",
     "its query, key and value are one matrix, as are gate and up, and long texts rotate by factors of their own"},
    {"phi", "layer norms, attention and feed-forward side by side, and heads that rotate in part are missing here"},
    {"phimoe", "experts are missing here"},
    {"olmo", "norms without weights are missing here"},
    {"olmo2", "its norms come after attention and feed-forward alone, and those of queries and keys span all heads"},
    {"olmo3", "its norms come after attention and feed-forward alone, and those of queries and keys span all heads"},
    {"olmoe", "experts are missing here"},
    {"granite", "multipliers of embeddings, attention, residuals and logits are missing here"},
    {"granitemoe", "experts, and multipliers of embeddings, attention, residuals and logits are missing here"},
    {"granitemoehybrid", "layers of a state space, and experts are missing here"},
    {"mixtral", "experts are missing here"},
    {"qwen2_moe", "experts are missing here"},
    {"qwen3_moe", "experts are missing here"},
    {"qwen3_next", "layers of linear attention, and experts are missing here"},
    {"qwen2_vl", "positions of three parts are missing here"},
    {"qwen2_5_vl", "positions of three parts are missing here"},
    {"deepseek_v2", "experts, and keys and values that are made of a shorter vector are missing here"},
    {"deepseek_v3", "experts, and keys and values that are made of a shorter vector are missing here"},
    {"llama4", "experts, and attention in chunks are missing here"},
    {"mllama", "layers that attend to pictures are missing here"},
    {"llava", "pictures, and the text part's own config are missing here"},
    {"vaultgemma", "it has norms before attention and feed-forward alone, unlike gemma2"},
    {"mistral3", "pictures, and the text part's own config are missing here"},
    {"gemma3n", "embeddings of each layer, and layers that share keys and values are missing here"},
    {"gemma4", "embeddings of each layer, and layers that share keys and values are missing here"},
    {"cohere", "attention and feed-forward side by side, and a multiplier of logits are missing here"},
    {"cohere2", "attention and feed-forward side by side, and a multiplier of logits are missing here"},
    {"glm", "gate and up are one matrix, and heads rotate in part"},
    {"glm4", "gate and up are one matrix, and heads rotate in part"},
    {"minicpm", "multipliers of embeddings, residuals and logits are missing here"},
    {"internlm2", "its query, key and value are one matrix"},
    {"gpt2", "learnt positions and layer norms are missing here"},
    {"gpt_neo", "learnt positions and layer norms are missing here"},
    {"gpt_neox",
     "layer norms, attention and feed-forward side by side, and heads that rotate in part are missing here"},
    {"gptj", "layer norms, attention and feed-forward side by side, and heads that rotate in part are missing here"},
    {"opt", "learnt positions and layer norms are missing here"},
    {"bloom", "biases by distance and layer norms are missing here"},
    {"mpt", "biases by distance and layer norms are missing here"},
    {"falcon", "layer norms, and attention and feed-forward side by side are missing here"},
    {"stablelm", "layer norms, and heads that rotate in part are missing here"},
    {"starcoder2", "layer norms are missing here"},
    {"nemotron", "layer norms, and heads that rotate in part are missing here"},
    {"mamba", "it has no attention, but a state space"},
    {"mamba2", "it has no attention, but a state space"},
    {"jamba", "layers of a state space, and experts are missing here"},
    {"falcon_h1", "layers of a state space are missing here"},
    {"nemotron_h", "layers of a state space are missing here"},
    {"lfm2", "layers of convolutions are missing here"},
    /* encoders and decoders */
    {"mt5", "its vocabulary was not tried here"},
    {"umt5", "a bias by distance for each layer is missing here"},
    {"t5gemma", "rotations and four norms in an encoder and decoder are missing here"},
    {"longt5", "attention to what is near and to summaries is missing here"},
    {"switch_transformers", "experts are missing here"},
    {"bart", "learnt positions and layer norms are missing here"},
    {"mbart", "learnt positions and layer norms are missing here"},
    {"pegasus", "positions by sines and layer norms are missing here"},
    {"marian", "positions by sines and layer norms are missing here"},
    {"m2m_100", "positions by sines and layer norms are missing here"},
    {"whisper", "it hears, and nothing here does"},
    /* encoders */
    {"roberta", "its positions begin at 2, and its tokenizer is byte-pair encoding"},
    {"xlm-roberta", "its positions begin at 2, and its tokenizer is SentencePiece"},
    {"camembert", "its positions begin at 2, and its tokenizer is SentencePiece"},
    {"mpnet", "a bias by distance is missing here"},
    {"distilbert", "it has no token types, and other names of its tensors"},
    {"albert", "it has one layer for all, and narrow embeddings"},
    {"electra", "narrow embeddings are missing here"},
    {"deberta", "attention to distances is missing here"},
    {"deberta-v2", "attention to distances is missing here"},
    {"modernbert", "rotation, windows and a gated feed-forward are missing here"},
    {"nomic_bert", "rotation and a gated feed-forward are missing here"},
    {"new", "rotation and a gated feed-forward are missing here"}};

size_t checkpoint_type(checkpoint *files, json object, const char *const *names)
{
    char said[sizeof files->error];
    int failed = files->failed;
    size_t i, number = checkpoint_choice(files, object, "model_type", names);
    for (i = 0; files->failed > failed && i < sizeof types / sizeof *types; i++)
        if (json_is(json_get(object, "model_type"), types[i].type)) {
            strcpy(said, files->error);
            files->failed = 0;
            checkpoint_fail(files, "%s: %s", said, types[i].missing);
            break;
        }
    return number;
}

/* ==== What every configuration may have ========================================================================== */

/* Training, files and code, other uses of the network than those here, and types of numbers. */
/* clang-format off */
const char *const checkpoint_unread[] = {
    "_attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal", "_commit_hash",
    "_experts_implementation", "_flash_attn_2_enabled", "_from_model_config", "_name_or_path", "architectures",
    "attention_dropout", "attn_implementation", "auto_map", "chunk_size_feed_forward", "classifier_dropout",
    "compression_config", "cross_attention_hidden_size", "custom_pipelines", "dtype", "finetuning_task",
    "gradient_checkpointing", "id2label", "initializer_factor", "initializer_range", "is_decoder",
    "is_encoder_decoder", "label2id", "model_type", "name_or_path", "neftune_noise_alpha", "num_labels",
    "output_attentions", "output_hidden_states", "output_past", "per_layer_config", "prefix", "pretraining_tp",
    "problem_type", "pruned_heads", "quantization_config", "return_dict", "sep_token_id", "task_specific_params",
    "tf_legacy_loss", "tie_encoder_decoder", "tie_last_hidden_states", "tie_word_embeddings", "tokenizer_class",
    "torch_dtype", "torchscript", "transformers.js_config", "transformers_version", "unsloth_fixed",
    "unsloth_version", "use_bfloat16", "use_cache", NULL};
const char *const checkpoint_generating[] = {
    "_from_model_config", "assistant_confidence_threshold", "assistant_early_exit", "assistant_ensemble_weight",
    "assistant_lookbehind", "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "cache_config",
    "cache_implementation", "compile_config", "constraints", "continuous_batching_config", "decoder_start_token_id",
    "disable_compile", "diversity_penalty", "do_sample", "dola_layers", "early_stopping",
    "encoder_no_repeat_ngram_size", "encoder_repetition_penalty", "eos_token_id", "epsilon_cutoff", "eta_cutoff",
    "exponential_decay_length_penalty", "force_words_ids", "forced_bos_token_id", "forced_decoder_ids",
    "forced_eos_token_id", "guidance_scale", "is_assistant", "length_penalty", "low_memory", "max_cache_len",
    "max_length", "max_matching_ngram_size", "max_new_tokens", "max_time", "min_length", "min_new_tokens", "min_p",
    "no_repeat_ngram_size", "num_assistant_tokens", "num_assistant_tokens_schedule", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_attentions", "output_hidden_states", "output_logits", "output_scores",
    "pad_token_id", "penalty_alpha", "prefill_chunk_size", "prompt_lookup_num_tokens", "remove_invalid_values",
    "renormalize_logits", "repetition_penalty", "return_dict_in_generate", "return_legacy_cache", "sequence_bias",
    "speculation_type", "stop_strings", "suppress_tokens", "target_lookbehind", "temperature", "token_healing",
    "top_h", "top_k", "top_p", "transformers_version", "typical_p", "use_cache", "use_mtp", "watermarking_config",
    NULL};
/* clang-format on */

int checkpoint_says(json object, const char *name)
{
    json value = json_get(object, name);
    return value.type > JSON_FALSE && !json_is(value, "") &&
           ((value.type != JSON_ARRAY && value.type != JSON_OBJECT) || json_first(value).type != JSON_NONE);
}

void checkpoint_plain(checkpoint *files, json config)
{
    static const char *const names[] = {"quantization_config", "compression_config", "pruned_heads",
                                        "per_layer_config"};
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (i < 2 ? json_get(config, names[i]).type > JSON_NULL : checkpoint_says(config, names[i]))
            checkpoint_fail_member(files, config, names[i],
                                   i < 2 ? "is there: weights of F32, F16 and BF16 alone can be used"
                                         : "is there, which this program does not do");
}

void checkpoint_generates(checkpoint *files, json g, int sample, int least)
{
    static const struct {
        const char *name;
        double neutral;
        int sampling; /* counts only then */
    } numbers[] = {{"guidance_scale", 1, 0},
                   {"penalty_alpha", 0, 0},
                   {"min_p", 0, 1},
                   {"typical_p", 1, 1},
                   {"top_h", 0, 1},
                   {"epsilon_cutoff", 0, 1},
                   {"eta_cutoff", 0, 1},
                   {"num_beam_groups", 1, 0},
                   {"diversity_penalty", 0, 0},
                   {"encoder_repetition_penalty", 1, 0},
                   {"encoder_no_repeat_ngram_size", 0, 0}};
    static const char *const others[] = {
        "bad_words_ids",         "force_words_ids",     "suppress_tokens",
        "begin_suppress_tokens", "sequence_bias",       "forced_bos_token_id",
        "forced_decoder_ids",    "forced_eos_token_id", "exponential_decay_length_penalty",
        "stop_strings",          "watermarking_config", "constraints",
        "dola_layers",           "token_healing"};
    static const char cause[] = "is something that this program does not do";
    size_t i;
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if ((sample || !numbers[i].sampling) &&
            checkpoint_real(files, g, numbers[i].name, -1e9, 1e9, numbers[i].neutral) != numbers[i].neutral)
            checkpoint_fail_member(files, g, numbers[i].name, cause);
    for (i = 0; i < 2 && !least; i++)
        if (checkpoint_real(files, g, i ? "min_new_tokens" : "min_length", -1e9, 1e9, 0) != 0)
            checkpoint_fail_member(files, g, i ? "min_new_tokens" : "min_length", cause);
    for (i = 0; i < sizeof others / sizeof *others; i++)
        if (checkpoint_says(g, others[i]))
            checkpoint_fail_member(files, g, others[i], cause);
}

json checkpoint_generation(checkpoint *files, int *sample, int least)
{
    static const char *const *const lists[] = {checkpoint_generating, NULL};
    static const char *const both[] = {"do_sample",          "temperature", "top_k",     "top_p",
                                       "repetition_penalty", "max_length",  "num_beams", "no_repeat_ngram_size"};
    int said = 0;
    json g = checkpoint_object(files, "generation_config.json");
    if (g.type == JSON_NONE)
        g = files->config;
    else
        checkpoint_members(files, g, NULL, lists);
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        said |= json_get(files->config, both[i]).type > JSON_NULL;
    if (said && json_get(g, "_from_model_config").type == JSON_TRUE)
        checkpoint_note(files,
                        "%s: it counts, as in transformers 5: because of _from_model_config, 4 goes by config.json",
                        checkpoint_path(files, g));
    *sample = checkpoint_flag(files, g, "do_sample", 0);
    checkpoint_generates(files, g, *sample, least);
    return g;
}

/* ==== Files of weights =========================================================================================== */

/* Tensor t of a file is wrong. */
static void fail_tensor(checkpoint *files, const checkpoint_file *file, size_t t, const char *cause, const char *what)
{
    const safetensors_tensor *tensor = &file->tensors.tensors[t];
    char shown[160];
    checkpoint_fail(files, "%s: tensor %s %s%s", file->path,
                    shown_text(shown, sizeof shown, tensor->name, tensor->name_size), cause, what);
}

/* Opens the file of that name as the last of files->files, which has room for it. */
static void add_file(checkpoint *files, const char *name)
{
    checkpoint_file *file = &files->files[files->count];
    char path[PATH_SIZE];
    const char *error;
    size_t i;
    set_path(files, path, name);
    file->path = copy_text(files, path);
    if (!file->path)
        return;
    error = safetensors_open(&file->tensors, path);
    if (error) {
        checkpoint_fail(files, "%s", error);
        return;
    }
    files->count++;
    files->tensors += file->tensors.count;
    for (i = 0; i < file->tensors.count; i++)
        files->bytes += file->tensors.tensors[i].size;
    file->taken = (unsigned char *)allocate(files, file->tensors.count + 1, 1);
}

/* The shard of that name, opened if it is new; NULL after an error. */
static checkpoint_file *open_shard(checkpoint *files, json index, json value)
{
    char name[NAME_SIZE];
    size_t size = json_string(value, name, sizeof name), i, directory = strlen(files->directory) + 1;
    if (value.type != JSON_STRING || size == 0 || size >= sizeof name || strlen(name) != size ||
        strcspn(name, "/\\:") != size || name[0] == '.') {
        checkpoint_fail_member(files, index, "weight_map", "has a value that is no name of a file beside it");
        return NULL;
    }
    for (i = files->count; i > 0; i--) /* the one of the tensor before, nearly always */
        if (strcmp(files->files[i - 1].path + directory, name) == 0)
            return &files->files[i - 1];
    if (files->count == SHARDS)
        checkpoint_fail(files, "%s: more than %d files", checkpoint_path(files, index), SHARDS);
    else
        add_file(files, name);
    return files->failed ? NULL : &files->files[files->count - 1];
}

/* No name stands in two shards: which of the tensors is meant would be anybody's guess. */
static void check_shards(checkpoint *files)
{
    size_t i, j, t;
    for (i = 0; !files->failed && i < files->count; i++)
        for (t = 0; t < files->files[i].tensors.count; t++)
            for (j = 0; j < i; j++)
                if (safetensors_find(&files->files[j].tensors, files->files[i].tensors.tensors[t].name)) {
                    fail_tensor(files, &files->files[i], t, "is in another file, too", "");
                    return;
                }
}

static void open_shards(checkpoint *files, json index)
{
    json map = json_get(index, "weight_map"), name;
    if (map.type != JSON_OBJECT || json_first(map).type == JSON_NONE) {
        checkpoint_fail_member(files, index, "weight_map", "is no object with members");
        return;
    }
    files->files = (checkpoint_file *)allocate(files, SHARDS, sizeof *files->files);
    for (name = json_first(map); !files->failed && name.type != JSON_NONE; name = json_next(name)) {
        char tensor[NAME_SIZE], shown[160];
        checkpoint_file *file = open_shard(files, index, json_value(name));
        size_t size = json_string(name, tensor, sizeof tensor);
        if (file && (size >= sizeof tensor || strlen(tensor) != size || !safetensors_find(&file->tensors, tensor)))
            checkpoint_fail(files, "%s: there is no tensor %s, which the index says is here", file->path,
                            shown_text(shown, sizeof shown, tensor, size < sizeof tensor ? size : sizeof tensor - 1));
    }
    check_shards(files);
}

static int exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file != NULL;
}

/* Keeps a text until the files are closed, as that of a path. */
static void keep_text(checkpoint *files, const char *path, const text_buffer *from)
{
    struct checkpoint_text *text = (struct checkpoint_text *)allocate(files, 1, sizeof *text);
    if (!text) {
        free(from->text);
        return;
    }
    text->path = copy_text(files, path);
    text->text = from->text;
    text->size = from->size;
    text->next = files->texts;
    files->texts = text;
}

/* config.json of a GGUF, which is made of its keys. */
static json open_gguf(checkpoint *files, const char *path)
{
    json value = {JSON_NONE, NULL, NULL};
    text_buffer config = {NULL, 0, 0, 0};
    gguf_files *model = (gguf_files *)allocate(files, 1, sizeof *model);
    const char *error;
    if (!model)
        return value;
    if ((error = gguf_files_open(model, path)) != NULL) {
        checkpoint_fail(files, "%s", error);
        return value;
    }
    files->gguf = model;
    if (gguf_files_samples(model))
        checkpoint_note(files, "%s: general.sampling is not looked at: tokens are drawn as options say", path);
    error = gguf_files_config(model, &config);
    if (!error && json_parse(&value, config.text, config.size, NULL))
        checkpoint_fail(files, "%s: its keys make no config.json", path);
    keep_text(files, path, &config);
    if (error)
        checkpoint_fail(files, "%s", error);
    return value;
}

int checkpoint_tokenizer(checkpoint *files, const void **bytes, size_t *size, int *is_json)
{
    text_buffer contents = {NULL, 0, 0, 0};
    const char *error;
    if (!files->gguf)
        return 0;
    error = gguf_files_tokenizer(files->gguf, &contents, is_json);
    *bytes = contents.text;
    *size = contents.size;
    keep_text(files, files->directory, &contents);
    if (error)
        checkpoint_fail(files, "%s", error);
    return 1;
}

/* Its tensors, as the only file there is. */
static void add_gguf(checkpoint *files)
{
    const char *error;
    files->files = (checkpoint_file *)allocate(files, 1, sizeof *files->files);
    if (!files->files)
        return;
    error = gguf_files_weights(files->gguf, files->opts.progress, files->opts.user);
    files->files->tensors = files->gguf->weights;
    files->files->path = files->directory;
    files->tensors = files->files->tensors.count;
    files->files->taken = (unsigned char *)allocate(files, files->tensors + 1, 1);
    files->count = 1;
    files->opts.progress = NULL; /* it has been read */
    if (error)
        checkpoint_fail(files, "%s", error);
}

/* model.safetensors; or, where there is none, what the index lists. */
void checkpoint_weights(checkpoint *files, const checkpoint_opts *opts)
{
    char path[PATH_SIZE];
    json index = {JSON_NONE, NULL, NULL};
    if (files->failed)
        return;
    if (opts)
        files->opts = *opts;
    if (files->gguf) {
        add_gguf(files);
        return;
    }
    set_path(files, path, "adapter_config.json");
    if (exists(path)) {
        checkpoint_fail(files, "%s: an adapter, which nothing here adds to the weights: it is to be merged", path);
        return;
    }
    set_path(files, path, "model.safetensors");
    if (!exists(path))
        index = read_json(files, "model.safetensors.index.json", INDEX_SIZE, 0);
    if (index.type != JSON_NONE) {
        open_shards(files, index);
        return;
    }
    files->files = (checkpoint_file *)allocate(files, 1, sizeof *files->files);
    if (files->files)
        add_file(files, "model.safetensors");
    set_path(files, path, "pytorch_model.bin");
    if (files->count == 0 && exists(path)) {
        files->failed = 0; /* this says more */
        checkpoint_fail(files, "%s: only safetensors are read here: it is to be converted", path);
    }
}

const char *checkpoint_open(checkpoint *files, const char *directory)
{
    char shown[SHOWN_NAME];
    memset(files, 0, sizeof *files);
    files->directory = (char *)directory; /* of the caller, for a message */
    if (strlen(directory) > PATH_SIZE - NAME_SIZE - 2)
        return checkpoint_fail(files, "%s: the directory's name is too long", shown_name(shown, directory));
    files->directory = copy_text(files, directory);
    files->notes = copy_text(files, "");
    files->config =
        gguf_files_is(directory) ? open_gguf(files, directory) : read_json(files, "config.json", CONFIG_SIZE, 1);
    if (!files->failed && files->config.type != JSON_OBJECT)
        checkpoint_fail(files, "%s: no JSON object", checkpoint_path(files, files->config));
    if (!files->failed)
        return NULL;
    checkpoint_close(files);
    return files->error;
}

void checkpoint_close(checkpoint *files)
{
    struct checkpoint_text *text;
    size_t i;
    for (i = 0; i < files->count; i++)
        safetensors_close(&files->files[i].tensors);
    if (files->gguf)
        gguf_files_close(files->gguf);
    for (text = files->texts; text; text = text->next)
        free(text->text);
    while (files->owned) {
        piece *p = (piece *)files->owned;
        files->owned = p->next;
        free(p);
    }
    memset(files, 0, offsetof(checkpoint, failed));
}

/* ==== Tensors ==================================================================================================== */

/* A tensor and where it is. */
typedef struct found {
    checkpoint_file *file;
    const safetensors_tensor *tensor;
    char name[NAME_SIZE];
} found;

/* Looks for the name that the format spells; a name that is too long is that of no tensor. */
static void find(checkpoint *files, found *f, const char *format, va_list arguments)
{
    int size = vsnprintf(f->name, sizeof f->name, format, arguments);
    size_t i;
    f->file = NULL;
    f->tensor = NULL;
    for (i = 0; size >= 0 && (size_t)size < sizeof f->name && !f->tensor && i < files->count; i++) {
        f->file = &files->files[i];
        f->tensor = safetensors_find(&f->file->tensors, f->name);
    }
}

static void take(const found *f)
{
    f->file->taken[f->tensor - f->file->tensors.tensors] = 1;
}

/* The shape as text, such as "32128 x 512". */
static void spell_shape(char *out, size_t size, const size_t *shape, size_t rank)
{
    size_t i, at = 0;
    snprintf(out, size, "one number");
    for (i = 0; i < rank && at < size; i++) {
        int wrote = snprintf(out + at, size - at, i ? " x %lu" : "%lu", (unsigned long)shape[i]);
        at += wrote > 0 ? (size_t)wrote : size;
    }
}

/* Finds the tensor and checks its shape and type. Returns whether it can be used. */
static int find_weights(checkpoint *files, found *f, const size_t *shape, size_t rank, const char *format,
                        va_list arguments)
{
    char have[100], want[100];
    const safetensors_tensor *tensor;
    if (files->failed)
        return 0;
    find(files, f, format, arguments);
    tensor = f->tensor;
    if (!tensor) {
        if (files->count == 1)
            checkpoint_fail(files, "%s: tensor %s is missing", files->files[0].path, f->name);
        else
            checkpoint_fail(files, "%s: tensor %s is missing in all %lu files", files->directory, f->name,
                            (unsigned long)files->count);
        return 0;
    }
    if (tensor->rank != rank || memcmp(tensor->shape, shape, rank * sizeof *shape) != 0) {
        spell_shape(have, sizeof have, tensor->shape, tensor->rank);
        spell_shape(want, sizeof want, shape, rank);
        checkpoint_fail(files, "%s: tensor %s is %s, not %s as config.json has it", f->file->path, f->name, have, want);
        return 0;
    }
    if (tensor->dtype != SAFETENSORS_F32 && tensor->dtype != SAFETENSORS_F16 && tensor->dtype != SAFETENSORS_BF16) {
        checkpoint_fail(files, "%s: tensor %s is of type %s; F32, F16 and BF16 can be used", f->file->path, f->name,
                        safetensors_dtype_name(tensor->dtype));
        return 0;
    }
    take(f);
    return 1;
}

/* Touches each page of a tensor, so that it is read from the disk now and not word by word later. */
static void touch(checkpoint *files, const safetensors_tensor *tensor)
{
    const volatile unsigned char *bytes = (const volatile unsigned char *)tensor->data;
    size_t i;
    for (i = 0; i < tensor->size; i += PAGE) {
        (void)bytes[i];
        if (files->opts.progress && i % PART == 0)
            files->opts.progress(files->opts.user, (double)(files->read + i) / (double)files->bytes);
    }
    files->read += tensor->size;
}

/* The weights of that name and shape where they lie, or a copy where this machine cannot read them there; as rows of
   the last of the sizes. Absent after an error. */
static attn_mat find_matrix(checkpoint *files, const size_t *shape, size_t rank, const char *format, va_list arguments)
{
    attn_mat out = {NULL, ATTN_F32, 0, 0, 0, 0};
    const safetensors_tensor *tensor;
    const void *data;
    found f;
    if (!find_weights(files, &f, shape, rank, format, arguments))
        return out;
    tensor = f.tensor;
    data = tensor->data;
    if (!safetensors_is_native(tensor)) {
        void *copy = allocate(files, tensor->size, 1);
        if (!copy)
            return out;
        safetensors_copy(tensor, 0, tensor->count, copy);
        data = copy;
    }
    touch(files, tensor);
    return attn_mat_of(data,
                       tensor->dtype == SAFETENSORS_F32   ? ATTN_F32
                       : tensor->dtype == SAFETENSORS_F16 ? ATTN_F16
                                                          : ATTN_BF16,
                       rank == 3 ? shape[0] * shape[1] : shape[0], shape[rank - 1]);
}

attn_mat checkpoint_matrix(checkpoint *files, size_t rows, size_t cols, const char *format, ...)
{
    const size_t shape[2] = {rows, cols};
    attn_mat out;
    va_list arguments;
    va_start(arguments, format);
    out = find_matrix(files, shape, 2, format, arguments);
    va_end(arguments);
    return out;
}

attn_mat checkpoint_stack(checkpoint *files, size_t count, size_t rows, size_t cols, const char *format, ...)
{
    const size_t shape[3] = {count, rows, cols};
    attn_mat out;
    va_list arguments;
    va_start(arguments, format);
    out = find_matrix(files, shape, 3, format, arguments);
    va_end(arguments);
    return out;
}

checkpoint_linear checkpoint_linear_of(checkpoint *files, size_t outputs, size_t inputs, int has_bias,
                                       const char *format, ...)
{
    char name[NAME_SIZE];
    checkpoint_linear out;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    out.w = checkpoint_matrix(files, outputs, inputs, "%s.weight", name);
    out.bias = has_bias ? checkpoint_vector(files, outputs, "%s.bias", name) : NULL;
    return out;
}

const float *checkpoint_vector(checkpoint *files, size_t count, const char *format, ...)
{
    float *values = NULL;
    va_list arguments;
    found f;
    size_t i;
    va_start(arguments, format);
    if (find_weights(files, &f, &count, 1, format, arguments))
        values = (float *)allocate(files, count, sizeof *values);
    for (i = 0; values && i < count; i++)
        values[i] = (float)safetensors_get(f.tensor, i);
    va_end(arguments);
    if (values)
        files->read += f.tensor->size;
    return values;
}

/* Whether two matrices of the same shape, as they lie in files, have the same values. */
static int are_equal(attn_mat a, attn_mat b)
{
    size_t i, j;
    if (a.dtype == b.dtype)
        return memcmp(a.data, b.data, a.rows * a.cols * (a.dtype == ATTN_F32 ? 4 : 2)) == 0;
    for (i = 0; i < a.rows; i++)
        for (j = 0; j < a.cols; j++)
            if (!(attn_mat_get(a, i, j) == attn_mat_get(b, i, j)))
                return 0;
    return 1;
}

void checkpoint_ends(checkpoint *files, size_t rows, size_t cols, const char *const *names, const char *head_name,
                     int tied, attn_mat *embedding, attn_mat *head)
{
    const char *first = NULL;
    size_t i;
    int has_head = checkpoint_has(files, "%s", head_name);
    for (i = 0; names[i]; i++) {
        attn_mat copy;
        if (!checkpoint_has(files, "%s", names[i]))
            continue;
        copy = checkpoint_matrix(files, rows, cols, "%s", names[i]);
        if (!first)
            *embedding = copy;
        else if (!files->failed && !are_equal(*embedding, copy))
            checkpoint_fail(files, "%s: tensor %s differs from %s: there can be one embedding only",
                            files->count == 1 ? files->files[0].path : files->directory, names[i], first);
        first = first ? first : names[i];
    }
    if (!first) /* some files have what is tied under the head's name alone */
        *embedding = checkpoint_matrix(files, rows, cols, "%s", tied && has_head ? head_name : names[0]);
    *head = *embedding;
    if (has_head && first) {
        *head = checkpoint_matrix(files, rows, cols, "%s", head_name);
        if (!files->failed && are_equal(*embedding, *head))
            *head = *embedding;
    }
    if (!has_head && !tied)
        checkpoint_note(files, "%s: tie_word_embeddings is not true, but there is no %s: the embedding takes its place",
                        checkpoint_path(files, files->config), head_name);
}

int checkpoint_has(checkpoint *files, const char *format, ...)
{
    va_list arguments;
    found f;
    va_start(arguments, format);
    find(files, &f, format, arguments);
    va_end(arguments);
    return f.tensor != NULL;
}

void checkpoint_ignore(checkpoint *files, const char *format, ...)
{
    va_list arguments;
    found f;
    va_start(arguments, format);
    find(files, &f, format, arguments);
    va_end(arguments);
    if (f.tensor && !files->failed)
        take(&f);
}

void checkpoint_ignore_all(checkpoint *files, const char *prefix)
{
    size_t i, t;
    for (i = 0; !files->failed && i < files->count; i++)
        for (t = 0; t < files->files[i].tensors.count; t++)
            if (strncmp(files->files[i].tensors.tensors[t].name, prefix, strlen(prefix)) == 0)
                files->files[i].taken[t] = 1;
}

void checkpoint_finish(checkpoint *files, const char *model)
{
    size_t i, t;
    for (i = 0; !files->failed && i < files->count; i++)
        for (t = 0; t < files->files[i].tensors.count; t++)
            if (!files->files[i].taken[t])
                fail_tensor(files, &files->files[i], t, "is none of a ", model);
    if (!files->failed && files->opts.progress)
        files->opts.progress(files->opts.user, 1);
}

void *checkpoint_layers(checkpoint *files, size_t count, size_t size)
{
    if (!files->failed && count > files->tensors)
        checkpoint_fail(files, "%s: config.json has %lu layers, the weights %lu tensors",
                        files->count ? files->files[0].path : files->directory, (unsigned long)count,
                        (unsigned long)files->tensors);
    return allocate(files, count, size);
}
