/* gguf_files.c: see gguf_files.h. First config.json; then the tokenizer; then the weights. */
#include "gguf_files.h"

enum { PARTS = 512, NAME = 160, ENDS = 32 };

/* ==== Messages and texts ========================================================================================= */

static const char *fail(gguf_files *model, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!model->failed)
        vsnprintf(model->error + strlen(model->error), sizeof model->error - strlen(model->error), format, arguments);
    va_end(arguments);
    model->failed = 1;
    return model->error;
}

static const char *outcome(gguf_files *model, const text_buffer *out)
{
    if (out && out->failed)
        fail(model, TEXT_NO_MEMORY);
    return model->failed ? model->error : NULL;
}

static void put(text_buffer *out, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_append(out, text_word(text));
}

/* A string of JSON. */
static void put_string(text_buffer *out, text_span s)
{
    put(out, "\"");
    for (; s.size; s = text_from(s, 1)) {
        unsigned char c = (unsigned char)*s.text;
        if (c < 0x20)
            put(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            put(out, "\\%c", c);
        else
            text_append(out, text_of(s.text, 1));
    }
    put(out, "\"");
}

/* The fewest digits that give the float again: what a configuration had when the file was made. */
static void put_real(text_buffer *out, double value)
{
    char text[40];
    int digits = 5;
    do
        snprintf(text, sizeof text, "%.*g", ++digits, value);
    while (digits < 17 && (float)strtod(text, NULL) != (float)value);
    put(out, "%s", text);
}

/* ==== Keys ======================================================================================================= */

static gguf_value key_of(const gguf_files *model, const char *architecture, const char *name)
{
    char key[NAME];
    snprintf(key, sizeof key, "%s.%s", architecture, name);
    return gguf_get(&model->parts[0], key);
}

static gguf_value token_key(const gguf_files *model, const char *name)
{
    return key_of(model, "tokenizer.ggml", name);
}

static uint64_t whole_of(gguf_value value, uint64_t otherwise)
{
    gguf_uint(value, &otherwise);
    return otherwise;
}

static int flag_of(gguf_value value, int otherwise)
{
    gguf_flag(value, &otherwise);
    return otherwise;
}

static text_span string_of(gguf_value value)
{
    size_t size = 0;
    const char *text = gguf_string(value, &size);
    return text_of(text ? text : "", size);
}

static int is_text(gguf_value value, const char *text)
{
    text_span s = string_of(value);
    return value.kind == GGUF_STRING && s.size == strlen(text) && memcmp(s.text, text, s.size) == 0;
}

/* A key names something that there is none of here. */
static void refuse(gguf_files *model, const char *key, gguf_value value, const char *list)
{
    char shown[80];
    text_span name = string_of(value);
    if (value.kind == GGUF_STRING)
        fail(model, "%s \"%s\" is none of %s", key, shown_text(shown, sizeof shown, name.text, name.size), list);
    else
        fail(model, "%s is missing: it is one of %s", key, list);
}

/* Whether there is a key that begins so. */
static int has_keys(const gguf_files *model, const char *begins)
{
    size_t length = strlen(begins);
    for (size_t i = 0; i < gguf_key_count(&model->parts[0]); i++) {
        text_span key;
        key.text = gguf_key_name(&model->parts[0], i, &key.size);
        if (key.size > length && memcmp(key.text, begins, length) == 0)
            return 1;
    }
    return 0;
}

/* Keys whose value is of another kind would count as missing, and texts be cut or end otherwise. */
static void check_kinds(gguf_files *model)
{
    static const struct {
        const char *key;
        gguf_kind kind;
    } kinds[] = {{"tokenizer.ggml.bos_token_id", GGUF_UINT},     {"tokenizer.ggml.eos_token_id", GGUF_UINT},
                 {"tokenizer.ggml.eot_token_id", GGUF_UINT},     {"tokenizer.ggml.eom_token_id", GGUF_UINT},
                 {"tokenizer.ggml.unknown_token_id", GGUF_UINT}, {"tokenizer.ggml.padding_token_id", GGUF_UINT},
                 {"tokenizer.ggml.add_bos_token", GGUF_BOOL},    {"tokenizer.ggml.add_eos_token", GGUF_BOOL},
                 {"tokenizer.ggml.add_space_prefix", GGUF_BOOL}, {"tokenizer.ggml.remove_extra_whitespaces", GGUF_BOOL},
                 {"tokenizer.chat_template", GGUF_STRING}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        gguf_kind kind = gguf_get(&model->parts[0], kinds[i].key).kind;
        if (kind != GGUF_NONE && kind != kinds[i].kind && !(kinds[i].kind == GGUF_UINT && kind == GGUF_INT))
            fail(model, "%s has a value of another kind", kinds[i].key);
    }
}

int gguf_files_samples(const gguf_files *model)
{
    return has_keys(model, "general.sampling.");
}

static const gguf_tensor *tensor_of(const gguf_files *model, const char *name)
{
    const gguf_tensor *found = NULL;
    for (size_t i = 0; i < model->count && !found; i++)
        found = gguf_find(&model->parts[i], name);
    return found;
}

/* ==== Architectures ============================================================================================== */

typedef struct architecture {
    const char *name, *model_type;
    int flags;
} architecture;

enum {
    TURNED = 1, /* rows of queries and keys are in the order of rotations of neighbours */
    GEMMA = 2,  /* norms are what they multiply by: one more than in safetensors */
    T5 = 4,
    WINDOWS = 8 /* in some layers; and norms behind attention and feed-forward, too */
};

static const architecture architectures[] = {{"llama", "llama", TURNED},
                                             {"smollm3", "smollm3", TURNED},
                                             {"qwen2", "qwen2", 0},
                                             {"qwen3", "qwen3", 0},
                                             {"gemma", "gemma", GEMMA},
                                             {"gemma2", "gemma2", GEMMA | WINDOWS},
                                             {"gemma3", "gemma3_text", GEMMA | WINDOWS},
                                             {"t5", "t5", T5}};

static const architecture *architecture_of(gguf_files *model)
{
    gguf_value value = gguf_get(&model->parts[0], "general.architecture");
    char list[200] = "";
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        if (is_text(value, architectures[i].name))
            return &architectures[i];
        snprintf(list + strlen(list), sizeof list - strlen(list), i ? ", %s" : "%s", architectures[i].name);
    }
    refuse(model, "general.architecture", value, list);
    return NULL;
}

/* What a key of the architecture becomes; NULL: it is read elsewhere, or changes nothing. */
typedef struct member {
    const char *key, *name;
    int flags; /* of the architectures that have it; 0: all but T5 */
} member;

/* clang-format off */
static const member members[] = {
    {"context_length", "max_position_embeddings", 0},
    {"embedding_length", "hidden_size", 0},
    {"block_count", "num_hidden_layers", 0},
    {"feed_forward_length", "intermediate_size", 0},
    {"attention.head_count", "num_attention_heads", 0},
    {"attention.head_count_kv", "num_key_value_heads", 0},
    {"attention.key_length", "head_dim", 0},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", 0},
    {"rope.freq_base", "rope_theta", 0},
    {"vocab_size", NULL, 0},
    {"attention.value_length", NULL, 0},
    {"tensor_data_layout", NULL, 0},
    {"use_parallel_residual", NULL, 0}, /* of old converters, whatever the model */
    {"rope.dimension_count", NULL, 0},
    {"rope.scaling.type", NULL, 0},
    {"rope.scaling.factor", NULL, 0},
    {"rope.scaling.original_context_length", NULL, 0},
    {"rope.scaling.finetuned", NULL, 0},
    {"rope.scaling.attn_factor", NULL, 0},
    {"rope.scaling.yarn_beta_fast", NULL, 0},
    {"rope.scaling.yarn_beta_slow", NULL, 0},
    {"attention.sliding_window", "sliding_window", WINDOWS},
    {"attention.sliding_window_pattern", "sliding_window_pattern", WINDOWS},
    {"rope.freq_base_swa", "rope_local_base_freq", WINDOWS},
    {"attn_logit_softcapping", "attn_logit_softcapping", WINDOWS},
    {"final_logit_softcapping", "final_logit_softcapping", WINDOWS},
    {"context_length", "n_positions", T5},
    {"embedding_length", "d_model", T5},
    {"block_count", "num_layers", T5},
    {"decoder_block_count", "num_decoder_layers", T5},
    {"feed_forward_length", "d_ff", T5},
    {"attention.head_count", "num_heads", T5},
    {"attention.key_length", "d_kv", T5},
    {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon", T5},
    {"attention.layer_norm_epsilon", NULL, T5},
    {"attention.relative_buckets_count", "relative_attention_num_buckets", T5},
    {"decoder_start_token_id", "decoder_start_token_id", T5},
    {"vocab_size", NULL, T5},
    {"attention.value_length", NULL, T5},
};
/* clang-format on */

static int has_member(const architecture *of, const member *m)
{
    return m->flags ? (of->flags & m->flags) != 0 : !(of->flags & T5);
}

/* ==== Tokens ===================================================================================================== */

enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

/* The arrays that say each token's spelling, type and score go side by side. */
typedef struct token {
    gguf_value text, type, score;
    size_t id;
} token;

static int begin_tokens(gguf_files *model, token *t)
{
    gguf_value texts = token_key(model, "tokens"), types = token_key(model, "token_type");
    gguf_value scores = token_key(model, "scores");
    t->text = gguf_first(texts);
    t->type = gguf_first(types);
    t->score = gguf_first(scores);
    t->id = 0;
    if (t->text.kind != GGUF_STRING)
        fail(model, "tokenizer.ggml.tokens is no array of texts");
    else if (types.kind != GGUF_NONE && types.count != texts.count)
        fail(model, "tokenizer.ggml.token_type has another length than tokens");
    else if (scores.kind != GGUF_NONE && scores.count != texts.count)
        fail(model, "tokenizer.ggml.scores has another length than tokens");
    return !model->failed;
}

static void next_token(token *t)
{
    t->text = gguf_next(t->text);
    t->type = gguf_next(t->type);
    t->score = gguf_next(t->score);
    t->id++;
}

/* A special token by its key. Some files write 4294967295 for none. */
static int special_id(gguf_files *model, const char *key, uint64_t *id)
{
    gguf_value tokens = token_key(model, "tokens");
    return gguf_uint(token_key(model, key), id) && (tokens.kind == GGUF_NONE || *id < tokens.count);
}

/* What llama.cpp ends a text with besides the tokens of keys, by its spelling. Those that look like tags are special,
   whatever type a file gives them. */
static int ends_text(const token *t)
{
    static const char *const spellings[] = {"<|eot_id|>",    "<|im_end|>",   "<|end|>",        "<end_of_turn>",
                                            "<|endoftext|>", "<|eom_id|>",   "<EOT>",          "<eos>",
                                            "</s>",          "<|return|>",   "<|call|>",       "<|fim_pad|>",
                                            "<|repo_name|>", "<|file_sep|>", "<|end_of_text|>"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (is_text(t->text, spellings[i]))
            return 1;
    return 0;
}

static int type_of(const token *t)
{
    int type = (int)whole_of(t->type, NORMAL);
    int is_tag = ends_text(t) && !is_text(t->text, "</s>") && !is_text(t->text, "<eos>");
    return is_tag && (type == NORMAL || type == USER_DEFINED) ? CONTROL : type;
}

/* ==== config.json ================================================================================================ */

static void put_member(gguf_files *model, const architecture *of, const member *m, text_buffer *out)
{
    gguf_value value = key_of(model, of->name, m->key);
    uint64_t whole;
    double number;
    if (value.kind == GGUF_NONE || !m->name)
        return;
    if (gguf_uint(value, &whole) && whole <= INT32_MAX) {
        put(out, ", \"%s\": %lu", m->name, (unsigned long)whole);
    } else if (value.kind == GGUF_REAL && gguf_real(value, &number) && number - number == 0) {
        put(out, ", \"%s\": ", m->name);
        put_real(out, number);
    } else {
        fail(model, "%s.%s is no number that can be used", of->name, m->key);
    }
}

/* A key of the architecture that is not known would change what the model computes. */
static void refuse_others(gguf_files *model, const architecture *of)
{
    const gguf *file = &model->parts[0];
    char shown[128];
    size_t length = strlen(of->name);
    for (size_t i = 0; i < gguf_key_count(file); i++) {
        text_span key;
        key.text = gguf_key_name(file, i, &key.size);
        if (key.size <= length || memcmp(key.text, of->name, length) != 0 || key.text[length] != '.')
            continue;
        size_t k = 0;
        for (key = text_from(key, length + 1); k < sizeof members / sizeof *members; k++)
            if (has_member(of, &members[k]) && text_compare(key, text_word(members[k].key)) == 0)
                break;
        if (k == sizeof members / sizeof *members)
            fail(model, "%s.%s is there, which this program does not do", of->name,
                 shown_text(shown, sizeof shown, key.text, key.size));
    }
}

static void put_factor(gguf_files *model, const architecture *of, const char *key, const char *name, text_buffer *out)
{
    double factor = 1;
    gguf_value value = key_of(model, of->name, key);
    if (value.kind == GGUF_NONE)
        return;
    if (!gguf_real(value, &factor) || factor - factor != 0)
        fail(model, "%s.%s is no number that can be used", of->name, key);
    put(out, ", \"%s\": ", name);
    put_real(out, factor);
}

/* Linear, which it is where no key says so, and YaRN are keys; what Llama 3 has are factors in a tensor, which decoder.c
   reads. */
static void put_scaling(gguf_files *model, const architecture *of, text_buffer *out)
{
    gguf_value type = key_of(model, of->name, "rope.scaling.type");
    int is_yarn = is_text(type, "yarn");
    double factor = 1, attention = 1;
    gguf_real(key_of(model, of->name, "rope.scaling.factor"), &factor);
    gguf_real(key_of(model, of->name, "rope.scaling.attn_factor"), &attention);
    if (!(attention >= 1 && attention <= 1))
        fail(model, "%s.rope.scaling.attn_factor is not 1, which this program does not do", of->name);
    if (is_text(type, "none") || (type.kind == GGUF_NONE && factor >= 1 && factor <= 1))
        return;
    if (type.kind != GGUF_NONE && !is_text(type, "linear") && !is_yarn)
        fail(model, "%s.rope.scaling.type is neither none, linear nor yarn", of->name);
    put(out, ", \"rope_scaling\": {\"rope_type\": \"%s\"", is_yarn ? "yarn" : "linear");
    put_factor(model, of, "rope.scaling.factor", "factor", out);
    if (is_yarn) {
        put_factor(model, of, "rope.scaling.yarn_beta_fast", "beta_fast", out);
        put_factor(model, of, "rope.scaling.yarn_beta_slow", "beta_slow", out);
        put(out, ", \"original_max_position_embeddings\": %lu",
            (unsigned long)whole_of(key_of(model, of->name, "rope.scaling.original_context_length"),
                                    whole_of(key_of(model, of->name, "context_length"), 0)));
    }
    put(out, "}");
}

/* What all heads have is head_dim: keys, values, and what is rotated. */
static void check_sizes(gguf_files *model, const architecture *of)
{
    uint64_t width = whole_of(key_of(model, of->name, "embedding_length"), 0);
    uint64_t heads = whole_of(key_of(model, of->name, "attention.head_count"), 0);
    uint64_t size = whole_of(key_of(model, of->name, "attention.key_length"), heads ? width / heads : 0);
    static const char *const others[] = {"attention.value_length", "rope.dimension_count"};
    for (size_t i = 0; i < 2; i++)
        if (whole_of(key_of(model, of->name, others[i]), size) != size)
            fail(model, "%s.%s is another than the size of a key, which this program does not do", of->name, others[i]);
}

/* Puts an id behind `count` of at most ENDS, unless it is there; returns how many it makes more. */
static size_t add_id(uint64_t *ids, size_t count, uint64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return 0;
    ids[count < ENDS ? count : ENDS - 1] = id;
    return count < ENDS;
}

/* Ids that begin and end texts. */
static void put_ids(gguf_files *model, const architecture *of, text_buffer *out)
{
    static const char *const keys[] = {"eos_token_id", "eot_token_id", "eom_token_id"};
    uint64_t ids[ENDS], id;
    size_t count = 0, i;
    token t;
    if (special_id(model, "bos_token_id", &id))
        put(out, ", \"bos_token_id\": %lu", (unsigned long)id);
    if (special_id(model, "padding_token_id", &id))
        put(out, ", \"pad_token_id\": %lu", (unsigned long)id);
    for (i = 0; i < 3; i++)
        if (special_id(model, keys[i], &id))
            count += add_id(ids, count, id);
    if (of->flags & T5) {
        if (count)
            put(out, ", \"eos_token_id\": %lu", (unsigned long)ids[0]);
        return;
    }
    if (token_key(model, "tokens").kind != GGUF_NONE)
        for (begin_tokens(model, &t); t.text.kind == GGUF_STRING; next_token(&t))
            if (type_of(&t) == CONTROL && ends_text(&t))
                count += add_id(ids, count, t.id);
    for (i = 0; i < count; i++)
        put(out, i ? ", %lu" : ", \"eos_token_id\": [%lu", (unsigned long)ids[i]);
    put(out, count ? "]" : "");
}

/* Of Gemma: scores are divided by the root of a key's size; in the 27b of both ages, of hidden_size / heads. */
static void put_gemma(gguf_files *model, const architecture *of, text_buffer *out)
{
    uint64_t layers = whole_of(key_of(model, of->name, "block_count"), 0);
    uint64_t width = whole_of(key_of(model, of->name, "embedding_length"), 0);
    uint64_t heads = whole_of(key_of(model, of->name, "attention.head_count"), 0);
    uint64_t size = whole_of(key_of(model, of->name, "attention.key_length"), 256);
    if (layers == (strcmp(of->name, "gemma2") == 0 ? 46 : 62) && heads)
        size = width / heads;
    put(out, ", \"query_pre_attn_scalar\": %lu", (unsigned long)size);
}

const char *gguf_files_config(gguf_files *model, text_buffer *out)
{
    static const char *const needed[] = {"block_count", "embedding_length", "feed_forward_length",
                                         "attention.head_count", "attention.layer_norm_rms_epsilon"};
    const architecture *of = architecture_of(model);
    const gguf_tensor *embedding = tensor_of(model, "token_embd.weight");
    if (!of)
        return outcome(model, out);
    put(out, "{\"model_type\": \"%s\"", of->model_type);
    refuse_others(model, of);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (key_of(model, of->name, needed[i]).kind == GGUF_NONE)
            fail(model, "%s.%s is missing", of->name, needed[i]);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (has_member(of, &members[i]))
            put_member(model, of, &members[i], out);
    if (embedding && embedding->rank == 2)
        put(out, ", \"vocab_size\": %lu", (unsigned long)embedding->shape[0]);
    put(out, ", \"tie_word_embeddings\": %s", tensor_of(model, "output.weight") ? "false" : "true");
    put_ids(model, of, out);
    if (of->flags & T5) {
        put(out, ", \"feed_forward_proj\": \"%s\"",
            tensor_of(model, "enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu");
    } else {
        check_sizes(model, of);
        put_scaling(model, of, out);
        if (key_of(model, of->name, "attention.head_count_kv").kind == GGUF_NONE)
            put(out, ", \"num_key_value_heads\": %lu",
                (unsigned long)whole_of(key_of(model, of->name, "attention.head_count"), 0));
        if (key_of(model, of->name, "rope.freq_base").kind == GGUF_NONE)
            put(out, ", \"rope_theta\": 10000");
        if (tensor_of(model, "blk.0.attn_q.bias"))
            put(out, ", \"attention_bias\": true");
        if (tensor_of(model, "blk.0.ffn_down.bias"))
            put(out, ", \"mlp_bias\": true");
    }
    if (of->flags & WINDOWS)
        put_gemma(model, of, out);
    put(out, "}");
    return outcome(model, out);
}

/* ==== The tokenizer ============================================================================================== */

/* How texts are split before their bytes are merged, by tokenizer.ggml.pre; and whether a bos stands before them where
   no key says so. */
typedef struct splitter {
    const char *names[5];
    const char *pattern; /* NULL: that of GPT-2 */
    int digits, ignore_merges, nfc, bos;
} splitter;

#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define CONTRACTIONS_AND_WORDS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|" BEFORE "\\p{L}+|"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define SIGNS "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define SIGNS_AND_SLASHES "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*"
#define SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const splitter splitters[] = {
    {{"gpt-2", NULL}, NULL, 0, 0, 0, 0},
    {{"smollm", "starcoder", "refact", NULL}, NULL, 1, 0, 0, 0},
    {{"llama-bpe", "llama3", "llama-v3", NULL}, CONTRACTIONS_AND_WORDS "\\p{N}{1,3}" SIGNS SPACES, 0, 1, 0, 1},
    {{"smaug-bpe", NULL}, CONTRACTIONS_AND_WORDS "\\p{N}{1,3}" SIGNS SPACES, 0, 1, 0, 0}, /* SmolLM3's */
    {{"qwen2", "deepseek-r1-qwen", NULL}, CONTRACTIONS_AND_WORDS "\\p{N}" SIGNS SPACES, 0, 0, 1, 0},
    {{"tekken", NULL},
     BEFORE UPPER "*" LOWER "+|" BEFORE UPPER "+" LOWER "*|\\p{N}" SIGNS_AND_SLASHES SPACES,
     0,
     1,
     0,
     1},
};

static const splitter *splitter_of(gguf_files *model)
{
    gguf_value pre = token_key(model, "pre");
    char list[200] = "";
    for (size_t i = 0; i < sizeof splitters / sizeof *splitters; i++)
        for (size_t k = 0; splitters[i].names[k]; k++) {
            if (is_text(pre, splitters[i].names[k]))
                return &splitters[i];
            snprintf(list + strlen(list), sizeof list - strlen(list), i + k ? ", %s" : "%s", splitters[i].names[k]);
        }
    refuse(model, "tokenizer.ggml.pre", pre, list);
    return NULL;
}

/* The spelling of a token by its id; of none if there is no such token. */
static text_span spelling(gguf_files *model, uint64_t id)
{
    token t;
    for (begin_tokens(model, &t); t.text.kind == GGUF_STRING; next_token(&t))
        if (t.id == id)
            return string_of(t.text);
    return text_of(NULL, 0);
}

/* The tokens around a text, bos and eos, as TemplateProcessing has them: `part` 0 in its order, 1 with their ids. */
static void put_around(gguf_files *model, const splitter *by, int part, text_buffer *out)
{
    static const char *const ids[] = {"bos_token_id", "eos_token_id"};
    const int add[] = {flag_of(token_key(model, "add_bos_token"), by->bos),
                       flag_of(token_key(model, "add_eos_token"), 0)};
    int count = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t id;
        text_span name;
        if (i == 1 && part == 0)
            put(out, count++ ? ", {\"Sequence\": {\"id\": \"A\"}}" : "{\"Sequence\": {\"id\": \"A\"}}");
        if (!add[i] || !special_id(model, ids[i], &id))
            continue;
        name = spelling(model, id);
        put(out, count++ ? ", " : "");
        put(out, part ? "" : "{\"SpecialToken\": {\"id\": ");
        put_string(out, name);
        if (part) {
            put(out, ": {\"ids\": [%lu], \"tokens\": [", (unsigned long)id);
            put_string(out, name);
        }
        put(out, part ? "]}" : "}}");
    }
}

static void put_added(gguf_files *model, text_buffer *out)
{
    token t;
    int count = 0;
    for (begin_tokens(model, &t); t.text.kind == GGUF_STRING; next_token(&t))
        if (type_of(&t) == CONTROL || type_of(&t) == USER_DEFINED) {
            put(out, "%s{\"id\": %lu, \"special\": %s, \"content\": ", count++ ? ", " : "", (unsigned long)t.id,
                type_of(&t) == CONTROL ? "true" : "false");
            put_string(out, string_of(t.text));
            put(out, "}");
        }
}

/* tokenizer.json of byte-level BPE. */
static void put_bpe(gguf_files *model, text_buffer *out)
{
    const splitter *by = splitter_of(model);
    gguf_value merge = gguf_first(token_key(model, "merges"));
    token t;
    if (by && merge.kind != GGUF_STRING)
        fail(model, "tokenizer.ggml.merges is no array of texts");
    if (model->failed)
        return;
    put(out, "{\"added_tokens\": [");
    put_added(model, out);
    put(out, "], \"normalizer\": %s", by->nfc ? "{\"type\": \"NFC\"}" : "null");
    put(out, ", \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [");
    if (by->digits)
        put(out, "{\"type\": \"Digits\", \"individual_digits\": true}, ");
    if (by->pattern) {
        put(out, "{\"type\": \"Split\", \"behavior\": \"Isolated\", \"invert\": false, \"pattern\": {\"Regex\": ");
        put_string(out, text_word(by->pattern));
        put(out, "}}, ");
    }
    put(out, "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": %s}]}",
        by->pattern ? "false" : "true");
    put(out, ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [");
    put_around(model, by, 0, out);
    put(out, "], \"special_tokens\": {");
    put_around(model, by, 1, out);
    put(out, "}}, \"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", ");
    put(out, "\"ignore_merges\": %s, \"vocab\": {", by->ignore_merges ? "true" : "false");
    for (begin_tokens(model, &t); t.text.kind == GGUF_STRING; next_token(&t)) {
        put(out, t.id ? ", " : "");
        put_string(out, string_of(t.text));
        put(out, ": %lu", (unsigned long)t.id);
    }
    put(out, "}, \"merges\": [");
    for (int first = 1; merge.kind == GGUF_STRING; merge = gguf_next(merge), first = 0) {
        put(out, first ? "" : ", ");
        put_string(out, string_of(merge));
    }
    put(out, "]}}");
}

/* ---- as SentencePiece has it: messages of fields ---- */

static void put_varint(text_buffer *out, uint64_t value)
{
    char byte;
    do {
        byte = (char)((value & 127) | (value > 127 ? 128 : 0));
        text_append(out, text_of(&byte, 1));
    } while (value >>= 7);
}

static void put_number(text_buffer *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_bytes(text_buffer *out, unsigned field, text_span bytes)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.size);
    text_append(out, bytes);
}

static void put_float(text_buffer *out, unsigned field, float value)
{
    uint32_t bits;
    char bytes[4];
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(bits >> 8 * i & 255);
    put_varint(out, field << 3 | 5);
    text_append(out, text_of(bytes, 4));
}

/* The converter writes user-defined pieces of spaces, as Gemma has them, with plain ones. */
static void put_piece(text_buffer *out, text_buffer *part, const token *t, int unigram)
{
    double score = 0;
    text_span s = string_of(t->text);
    size_t i, spaces = 0;
    gguf_real(t->score, &score);
    part->size = 0;
    for (i = 0; !unigram && type_of(t) == USER_DEFINED && i < s.size; i++)
        spaces += s.text[i] == ' ';
    put_varint(part, 1 << 3 | 2);
    put_varint(part, s.size + 2 * spaces);
    for (i = 0; i < s.size; i++)
        text_append(part, spaces && s.text[i] == ' ' ? text_of("\xe2\x96\x81", 3) : text_of(s.text + i, 1));
    put_float(part, 2, (float)score);
    put_number(part, 3, (uint64_t)type_of(t));
    put_bytes(out, 1, text_in(part));
}

/* The charsmap of T5: an array of bytes, which lie one after another. */
static text_span charsmap_of(gguf_files *model)
{
    gguf_value map = token_key(model, "precompiled_charsmap"), first = gguf_first(map);
    if (first.kind == GGUF_NONE)
        return text_of("", 0);
    return text_of((const char *)first.bytes, map.count);
}

/* How many tokens are pieces: llama.cpp fills the vocabulary of a T5 up to its embeddings with [PAD32000] and so on,
   which stand where its sentinels are. */
static size_t count_pieces(gguf_files *model)
{
    size_t count = 0;
    token t;
    for (begin_tokens(model, &t); t.text.kind == GGUF_STRING; next_token(&t)) {
        text_span text = string_of(t.text);
        if (type_of(&t) != UNUSED || text.size < 4 || memcmp(text.text, "[PAD", 4) != 0)
            count = t.id + 1;
    }
    return count;
}

static void put_sentencepiece(gguf_files *model, int unigram, text_buffer *out)
{
    static const struct {
        const char *key;
        unsigned field;
    } ids[] = {{"unknown_token_id", 40}, {"bos_token_id", 41}, {"eos_token_id", 42}, {"padding_token_id", 43}};
    text_buffer part = {NULL, 0, 0, 0};
    text_span charsmap = charsmap_of(model);
    size_t count = unigram ? count_pieces(model) : SIZE_MAX;
    uint64_t id;
    int bytes = 0;
    token t;
    for (begin_tokens(model, &t); t.text.kind == GGUF_STRING && t.id < count; next_token(&t)) {
        put_piece(out, &part, &t, unigram);
        bytes |= type_of(&t) == BYTE;
    }
    part.size = 0;
    put_number(&part, 3, unigram ? 1 : 2);
    put_number(&part, 35, (uint64_t)bytes);
    for (size_t i = 0; i < 4; i++)
        put_number(&part, ids[i].field, special_id(model, ids[i].key, &id) ? id : (uint64_t)-1);
    put_bytes(out, 2, text_in(&part));
    part.size = 0;
    put_bytes(&part, 2, charsmap);
    put_number(&part, 3, (uint64_t)flag_of(token_key(model, "add_space_prefix"), 1));
    put_number(&part, 4, (uint64_t)flag_of(token_key(model, "remove_extra_whitespaces"), 0));
    put_number(&part, 5, 1);
    put_bytes(out, 3, text_in(&part));
    out->failed |= part.failed;
    free(part.text);
}

const char *gguf_files_tokenizer(gguf_files *model, text_buffer *out, int *is_json)
{
    gguf_value kind = token_key(model, "model");
    *is_json = is_text(kind, "gpt2");
    if (*is_json)
        put_bpe(model, out);
    else if (is_text(kind, "llama") || is_text(kind, "t5"))
        put_sentencepiece(model, is_text(kind, "t5"), out);
    else
        refuse(model, "tokenizer.ggml.model", kind, "gpt2, llama, t5");
    return outcome(model, out);
}

const char *gguf_files_tokenizer_config(gguf_files *model, text_buffer *out)
{
    static const char *const names[][2] = {{"bos_token", "bos_token_id"},
                                           {"eos_token", "eos_token_id"},
                                           {"unk_token", "unknown_token_id"},
                                           {"pad_token", "padding_token_id"}};
    static const char *const flags[] = {"add_bos_token", "add_eos_token"};
    gguf_value chat = gguf_get(&model->parts[0], "tokenizer.chat_template");
    uint64_t id;
    int flag;
    put(out, "{\"added_tokens_decoder\": {}");
    for (size_t i = 0; i < 4; i++)
        if (special_id(model, names[i][1], &id)) {
            put(out, ", \"%s\": ", names[i][0]);
            put_string(out, spelling(model, id));
        }
    for (size_t i = 0; i < 2; i++)
        if (gguf_flag(token_key(model, flags[i]), &flag))
            put(out, ", \"%s\": %s", flags[i], flag ? "true" : "false");
    if (chat.kind == GGUF_STRING || has_keys(model, "tokenizer.chat_template."))
        put(out, ", \"chat_template\": ");
    if (chat.kind == GGUF_STRING)
        put_string(out, string_of(chat));
    else if (has_keys(model, "tokenizer.chat_template."))
        put(out, "[]"); /* several with names, and none that counts */
    put(out, "}");
    return outcome(model, out);
}

/* ==== Weights ==================================================================================================== */

/* What a tensor is called here: %lu is the number of its layer. */
/* clang-format off */
static const struct {
    const char *here, *there;
    int flags;
} names[] = {
    {"token_embd", "model.embed_tokens", 0},
    {"output_norm", "model.norm", 0},
    {"output", "lm_head", 0},
    {"blk.%lu.attn_norm", "model.layers.%lu.input_layernorm", 0},
    {"blk.%lu.attn_q", "model.layers.%lu.self_attn.q_proj", 0},
    {"blk.%lu.attn_k", "model.layers.%lu.self_attn.k_proj", 0},
    {"blk.%lu.attn_v", "model.layers.%lu.self_attn.v_proj", 0},
    {"blk.%lu.attn_output", "model.layers.%lu.self_attn.o_proj", 0},
    {"blk.%lu.attn_q_norm", "model.layers.%lu.self_attn.q_norm", 0},
    {"blk.%lu.attn_k_norm", "model.layers.%lu.self_attn.k_norm", 0},
    {"blk.%lu.ffn_gate", "model.layers.%lu.mlp.gate_proj", 0},
    {"blk.%lu.ffn_up", "model.layers.%lu.mlp.up_proj", 0},
    {"blk.%lu.ffn_down", "model.layers.%lu.mlp.down_proj", 0},
    {"blk.%lu.ffn_norm", "model.layers.%lu.pre_feedforward_layernorm", WINDOWS},
    {"blk.%lu.post_attention_norm", "model.layers.%lu.post_attention_layernorm", WINDOWS},
    {"blk.%lu.post_ffw_norm", "model.layers.%lu.post_feedforward_layernorm", WINDOWS},
    {"blk.%lu.ffn_norm", "model.layers.%lu.post_attention_layernorm", 0},
    {"token_embd", "shared", T5},
    {"output", "lm_head", T5},
    {"enc.output_norm", "encoder.final_layer_norm", T5},
    {"dec.output_norm", "decoder.final_layer_norm", T5},
    {"enc.blk.%lu.attn_norm", "encoder.block.%lu.layer.0.layer_norm", T5},
    {"enc.blk.%lu.attn_q", "encoder.block.%lu.layer.0.SelfAttention.q", T5},
    {"enc.blk.%lu.attn_k", "encoder.block.%lu.layer.0.SelfAttention.k", T5},
    {"enc.blk.%lu.attn_v", "encoder.block.%lu.layer.0.SelfAttention.v", T5},
    {"enc.blk.%lu.attn_o", "encoder.block.%lu.layer.0.SelfAttention.o", T5},
    {"enc.blk.%lu.attn_rel_b", "encoder.block.%lu.layer.0.SelfAttention.relative_attention_bias", T5},
    {"enc.blk.%lu.ffn_norm", "encoder.block.%lu.layer.1.layer_norm", T5},
    {"enc.blk.%lu.ffn_gate", "encoder.block.%lu.layer.1.DenseReluDense.wi_0", T5},
    {"enc.blk.%lu.ffn_up", "encoder.block.%lu.layer.1.DenseReluDense.wi", T5},
    {"enc.blk.%lu.ffn_down", "encoder.block.%lu.layer.1.DenseReluDense.wo", T5},
    {"dec.blk.%lu.attn_norm", "decoder.block.%lu.layer.0.layer_norm", T5},
    {"dec.blk.%lu.attn_q", "decoder.block.%lu.layer.0.SelfAttention.q", T5},
    {"dec.blk.%lu.attn_k", "decoder.block.%lu.layer.0.SelfAttention.k", T5},
    {"dec.blk.%lu.attn_v", "decoder.block.%lu.layer.0.SelfAttention.v", T5},
    {"dec.blk.%lu.attn_o", "decoder.block.%lu.layer.0.SelfAttention.o", T5},
    {"dec.blk.%lu.attn_rel_b", "decoder.block.%lu.layer.0.SelfAttention.relative_attention_bias", T5},
    {"dec.blk.%lu.cross_attn_norm", "decoder.block.%lu.layer.1.layer_norm", T5},
    {"dec.blk.%lu.cross_attn_q", "decoder.block.%lu.layer.1.EncDecAttention.q", T5},
    {"dec.blk.%lu.cross_attn_k", "decoder.block.%lu.layer.1.EncDecAttention.k", T5},
    {"dec.blk.%lu.cross_attn_v", "decoder.block.%lu.layer.1.EncDecAttention.v", T5},
    {"dec.blk.%lu.cross_attn_o", "decoder.block.%lu.layer.1.EncDecAttention.o", T5},
    {"dec.blk.%lu.cross_attn_rel_b", "decoder.block.%lu.layer.1.EncDecAttention.relative_attention_bias", T5},
    {"dec.blk.%lu.ffn_norm", "decoder.block.%lu.layer.2.layer_norm", T5},
    {"dec.blk.%lu.ffn_gate", "decoder.block.%lu.layer.2.DenseReluDense.wi_0", T5},
    {"dec.blk.%lu.ffn_up", "decoder.block.%lu.layer.2.DenseReluDense.wi", T5},
    {"dec.blk.%lu.ffn_down", "decoder.block.%lu.layer.2.DenseReluDense.wo", T5},
};
/* clang-format on */

/* The name of a tensor without ".weight" or ".bias", which *end receives, and the number of its layer, if it has one. */
static int rename_tensor(const architecture *of, int gated, const gguf_tensor *tensor, char out[NAME])
{
    char name[NAME], tried[NAME], *end, *at;
    unsigned long layer = 0;
    size_t i;
    if (tensor->name_size >= NAME)
        return 0;
    memcpy(name, tensor->name, tensor->name_size);
    name[tensor->name_size] = 0;
    strcpy(out, name);
    end = strrchr(name, '.');
    if (!end || (strcmp(end, ".weight") != 0 && strcmp(end, ".bias") != 0))
        return 1;
    at = strpbrk(name, "0123456789");
    layer = at && at < end ? strtoul(at, NULL, 10) : 0;
    *end = 0;
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].flags ? !(of->flags & names[i].flags) : of->flags & T5)
            continue;
        snprintf(tried, sizeof tried, names[i].here, layer);
        if (strcmp(tried, name) != 0)
            continue;
        snprintf(tried, sizeof tried, names[i].there, layer);
        at = strrchr(tried, '.');
        snprintf(out, NAME, "%.120s%s.%s", tried, gated && at && strcmp(at, ".wi") == 0 ? "_1" : "", end + 1);
        return 1;
    }
    return 1;
}

/* Memory that gguf_files_close gives back. */
typedef struct piece {
    struct piece *next;
    double aligned[1];
} piece;

static void *allocate(gguf_files *model, size_t size)
{
    piece *p = size < SIZE_MAX / 2 ? (piece *)malloc(sizeof *p + size) : NULL;
    if (!p) {
        fail(model, TEXT_NO_MEMORY);
        return NULL;
    }
    p->next = (piece *)model->pieces;
    model->pieces = p;
    return p->aligned;
}

static void drop_last(gguf_files *model)
{
    piece *p = (piece *)model->pieces;
    model->pieces = p->next;
    free(p);
}

/* How the weights of a tensor are to be written. */
typedef struct rewriting {
    const gguf_tensor *from;
    size_t heads; /* whose rows are put into the order of transformers; 0: as they are */
    float less;   /* what is taken away from each */
} rewriting;

/* Where row i of a turned matrix belongs: of each head the first of all pairs, and then the second. */
static size_t turned(const rewriting *how, size_t rows, size_t i)
{
    size_t size = how->heads ? rows / how->heads : 0, at = how->heads ? i % size : 0;
    return how->heads ? i - at + at % 2 * (size / 2) + at / 2 : i;
}

/* The nearest of 16 bits, the even one of two, of what is at most 65504. */
static uint32_t half_of(float number)
{
    uint32_t bits, sign;
    memcpy(&bits, &number, sizeof bits);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits >= 113 << 23)
        return sign | (bits + 0xfff + (bits >> 13 & 1) - (112 << 23)) >> 13;
    memcpy(&number, &bits, sizeof bits); /* below 2^-14: the last bit of its sum with 0.5 is that of the result */
    number += 0.5f;
    memcpy(&bits, &number, sizeof bits);
    return sign | (bits - (126 << 23));
}

/* Numbers as a safetensors file has them: the lowest byte first. */
static void put_halves(unsigned char *out, const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = half_of(numbers[i]);
        out[2 * i] = (unsigned char)bits;
        out[2 * i + 1] = (unsigned char)(bits >> 8);
    }
}

static void put_floats(unsigned char *out, const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        for (int k = 0; k < 4; k++)
            out[4 * i + (size_t)k] = (unsigned char)(bits >> 8 * k);
    }
}

static int fits_half(const float *numbers, size_t count)
{
    int fits = 1;
    for (size_t i = 0; i < count; i++)
        fits &= numbers[i] <= 65504 && numbers[i] >= -65504;
    return fits;
}

/* Elements of a row; those of a vector that is turned are rows of their own. */
static size_t columns(const rewriting *how)
{
    const gguf_tensor *from = how->from;
    return from->rank == 0 || (from->rank == 1 && how->heads) ? 1 : from->shape[from->rank - 1];
}

/* Writes a tensor row by row as numbers of that type. Returns 0 where one does not fit. */
static int write_rows(const rewriting *how, safetensors_dtype dtype, float *row, unsigned char *out)
{
    const gguf_tensor *from = how->from;
    size_t cols = from->count ? columns(how) : 0, rows = cols ? from->count / cols : 0, i, k;
    size_t size = cols * safetensors_bits(dtype) / 8;
    for (i = 0; i < rows; i++) {
        unsigned char *to = out + turned(how, rows, i) * size;
        if (dtype != SAFETENSORS_F32 && (from->type == GGUF_F16 || from->type == GGUF_BF16)) {
            memcpy(to, (const unsigned char *)from->data + i * size, size); /* the same bits, in another place */
            continue;
        }
        gguf_read(from, i * cols, cols, row);
        for (k = 0; how->less > 0 && k < cols; k++)
            row[k] -= how->less;
        if (dtype == SAFETENSORS_F32)
            put_floats(to, row, cols);
        else if (fits_half(row, cols))
            put_halves(to, row, cols);
        else
            return 0;
    }
    return 1;
}

/* What a tensor that is written anew becomes, if it fits. */
static safetensors_dtype becomes(const gguf_tensor *from)
{
    return from->rank < 2 || from->type == GGUF_F32 ? SAFETENSORS_F32
           : from->type == GGUF_BF16                ? SAFETENSORS_BF16
                                                    : SAFETENSORS_F16;
}

int gguf_files_rounding(const gguf_tensor *from, safetensors_dtype *dtype, double *largest, double *square)
{
    size_t cols = !from->count ? 0 : from->rank ? from->shape[from->rank - 1] : 1;
    size_t rows = cols ? from->count / cols : 0, i, k;
    float *row = gguf_block(from->type) && cols < SIZE_MAX / 16 ? (float *)malloc(cols * 6 + 1) : NULL;
    safetensors_tensor halves;
    memset(&halves, 0, sizeof halves);
    *dtype = becomes(from);
    *largest = *square = 0;
    if (!row)
        return 0;
    halves.dtype = SAFETENSORS_F16;
    halves.data = row + cols;
    halves.count = cols;
    for (i = 0; i < rows && *dtype == SAFETENSORS_F16 && from->type != GGUF_F16; i++) {
        gguf_read(from, i * cols, cols, row);
        if (!fits_half(row, cols)) {
            *dtype = SAFETENSORS_F32;
            *largest = *square = 0;
            break;
        }
        put_halves((unsigned char *)(row + cols), row, cols);
        for (k = 0; k < cols; k++) {
            double off = safetensors_get(&halves, k) - (double)row[k];
            off = off < 0 ? -off : off;
            *largest = off > *largest ? off : *largest;
            *square += off * off / (double)from->count;
        }
    }
    free(row);
    return 1;
}

/* Anew: vectors in F32, what has 16 bits in these, all else in F16 if it fits. */
static void rewrite(gguf_files *model, const rewriting *how, safetensors_tensor *to)
{
    const gguf_tensor *from = how->from;
    size_t cols = from->count ? columns(how) : 0, tries;
    float *row = cols < SIZE_MAX / 16 ? (float *)malloc(cols * sizeof *row + 1) : NULL;
    unsigned char *out;
    to->dtype = becomes(from);
    for (tries = 0; row && tries < 2; tries++) {
        out = to->count < SIZE_MAX / 8 ? (unsigned char *)allocate(model, to->count * safetensors_bits(to->dtype) / 8)
                                       : NULL;
        if (!out || write_rows(how, to->dtype, row, out)) {
            to->data = out;
            break;
        }
        drop_last(model);
        to->dtype = SAFETENSORS_F32;
    }
    if (!row)
        fail(model, TEXT_NO_MEMORY);
    free(row);
}

/* The tensor as it is to be seen, of which `to` has the name. */
static void convert(gguf_files *model, const architecture *of, const gguf_tensor *from, safetensors_tensor *to)
{
    rewriting how = {from, 0, 0};
    int is_q = strstr(to->name, ".self_attn.q_proj.") != NULL, is_k = strstr(to->name, ".self_attn.k_proj.") != NULL;
    size_t length = strlen(to->name);
    char shown[128];
    if (gguf_block(from->type) == 0) {
        char type[32];
        snprintf(type, sizeof type, "%u", from->type);
        fail(model, "tensor %s is of type %s, which is not read here",
             shown_text(shown, sizeof shown, from->name, from->name_size),
             gguf_type_name(from->type) ? gguf_type_name(from->type) : type);
        return;
    }
    if (of->flags & TURNED && (is_q || is_k))
        how.heads = (size_t)whole_of(key_of(model, of->name, is_q ? "attention.head_count" : "attention.head_count_kv"),
                                     whole_of(key_of(model, of->name, "attention.head_count"), 0));
    if (how.heads && (from->rank == 0 || how.heads > from->shape[0] / 2 || from->shape[0] % (2 * how.heads) != 0)) {
        fail(model, "tensor %s: its rows are no pairs of all heads", to->name);
        return;
    }
    if (how.heads && from->rank == 1 && from->type != GGUF_F32 && from->type != GGUF_F16 && from->type != GGUF_BF16) {
        fail(model, "tensor %s: a vector of blocks", to->name);
        return;
    }
    if (of->flags & GEMMA && length > 11 && strcmp(to->name + length - 11, "norm.weight") == 0)
        how.less = 1;
    to->shape = from->shape;
    to->rank = from->rank;
    to->count = from->count;
    to->dtype = from->type == GGUF_F32 ? SAFETENSORS_F32 : from->type == GGUF_F16 ? SAFETENSORS_F16 : SAFETENSORS_BF16;
    to->data = from->data;
    if (how.heads || how.less > 0 || (from->type != GGUF_F32 && from->type != GGUF_F16 && from->type != GGUF_BF16))
        rewrite(model, &how, to);
    to->size = to->count * safetensors_bits(to->dtype) / 8;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const safetensors_tensor *)a)->name, ((const safetensors_tensor *)b)->name);
}

const char *gguf_files_weights(gguf_files *model, void (*progress)(void *user, double part), void *user)
{
    const architecture *of = architecture_of(model);
    int gated = tensor_of(model, "enc.blk.0.ffn_gate.weight") != NULL;
    size_t count = 0, used = 0, bytes = 0, read = 0, i, t;
    safetensors_tensor *tensors;
    char(*spelt)[NAME];
    for (i = 0; i < model->count; i++)
        for (t = 0; t < model->parts[i].count; t++, count++)
            bytes += model->parts[i].tensors[t].size;
    tensors = of ? (safetensors_tensor *)allocate(model, count * (sizeof *tensors + sizeof *spelt) + 1) : NULL;
    if (!tensors)
        return outcome(model, NULL);
    memset(tensors, 0, count * sizeof *tensors);
    spelt = (char(*)[NAME])(void *)(tensors + count);
    for (i = 0; i < model->count; i++)
        for (t = 0; t < model->parts[i].count && !model->failed; t++) {
            const gguf_tensor *from = &model->parts[i].tensors[t];
            safetensors_tensor *to = &tensors[used];
            if (!rename_tensor(of, gated, from, spelt[used])) {
                fail(model, "a tensor has a name of more than %d bytes", NAME - 1);
                break;
            }
            to->name = spelt[used++];
            to->name_size = strlen(to->name);
            convert(model, of, from, to);
            if (to->data != from->data)
                gguf_forget(&model->parts[i], from);
            read += from->size;
            if (progress)
                progress(user, bytes ? (double)read / (double)bytes : 1);
        }
    qsort(tensors, used, sizeof *tensors, compare_names);
    for (i = 1; i < used && !model->failed; i++)
        if (strcmp(tensors[i - 1].name, tensors[i].name) == 0)
            fail(model, "tensor %s is there twice", tensors[i].name);
    model->weights.tensors = tensors;
    model->weights.count = model->failed ? 0 : used;
    return outcome(model, NULL);
}

/* ==== Opening and closing ======================================================================================== */

int gguf_files_is(const char *path)
{
    FILE *file = fopen(path, "rb");
    char begin[4];
    int is = file && fseek(file, 0, SEEK_SET) == 0 && fread(begin, 1, 4, file) == 4 &&
             /* a pipe is none */ memcmp(begin, "GGUF", 4) == 0;
    if (file)
        fclose(file);
    return is;
}

/* The other files of a split model: "-00001-of-00003.gguf" ends the name of the first. */
static void open_others(gguf_files *model, const char *path, uint64_t count)
{
    static const char ending[] = "-00001-of-00000.gguf";
    size_t length = strlen(path), size = sizeof ending - 1;
    char name[4096], wanted[32];
    snprintf(wanted, sizeof wanted, "-00001-of-%05lu.gguf", (unsigned long)count);
    if (length < size || length >= sizeof name || strcmp(path + length - size, wanted) != 0) {
        fail(model, "a part of %lu of a model: the path of the first is needed, which ends in %s", (unsigned long)count,
             wanted);
        return;
    }
    for (size_t i = 1; i < count && !model->failed; i++) {
        gguf *part = &model->parts[model->count];
        const char *error;
        snprintf(name, sizeof name, "%.*s-%05lu-of-%05lu.gguf", (int)(length - size), path, (unsigned long)(i + 1),
                 (unsigned long)count);
        error = gguf_open(part, name);
        if (error) {
            model->error[0] = 0;
            fail(model, "%s", error);
        } else {
            model->count++;
            if (whole_of(gguf_get(part, "split.no"), 0) != i)
                fail(model, "split.no of part %lu is not %lu", (unsigned long)(i + 1), (unsigned long)i);
        }
    }
}

const char *gguf_files_open(gguf_files *model, const char *path)
{
    const char *error;
    uint64_t count;
    memset(model, 0, sizeof *model);
    text_begin_message(model->error, path, ": ");
    model->parts = (gguf *)calloc(PARTS, sizeof *model->parts);
    if (!model->parts)
        return fail(model, TEXT_NO_MEMORY);
    if ((error = gguf_open(&model->parts[0], path)) != NULL) {
        model->error[0] = 0;
        fail(model, "%s", error);
    } else {
        model->count = 1;
        check_kinds(model);
        count = whole_of(gguf_get(&model->parts[0], "split.count"), 1);
        if (count > PARTS)
            fail(model, "more than %d parts", PARTS);
        else if (count > 1)
            open_others(model, path, count);
        count = 0;
        for (size_t i = 0; i < model->count; i++)
            count += model->parts[i].count;
        if (!model->failed && whole_of(gguf_get(&model->parts[0], "split.tensors.count"), count) != count)
            fail(model, "split.tensors.count is not the number of tensors of all parts, %lu", (unsigned long)count);
    }
    if (model->failed)
        gguf_files_close(model);
    return model->failed ? model->error : NULL;
}

void gguf_files_close(gguf_files *model)
{
    for (size_t i = 0; i < model->count; i++)
        gguf_close(&model->parts[i]);
    free(model->parts);
    while (model->pieces)
        drop_last(model);
    model->parts = NULL;
    model->count = 0;
    memset(&model->weights, 0, sizeof model->weights);
}
