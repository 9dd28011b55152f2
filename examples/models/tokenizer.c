#include "tokenizer.h"
#include "text.h"

enum { PATH_SIZE = 4096, CONFIG_SIZE = 1 << 26, NAME_SIZE = 256 };

static const char *fail(tokenizer *tokens, const char *path, const char *cause)
{
    text_begin_message(tokens->error, path, ": ");
    return text_fail(tokens->error, "%.200s", cause);
}

/* The path of a file of the directory. Returns NULL or the message. */
static const char *join(tokenizer *tokens, char path[PATH_SIZE], const char *directory, const char *name)
{
    int length = snprintf(path, PATH_SIZE, "%s/%s", directory, name);
    return length < 0 || length >= PATH_SIZE ? fail(tokens, directory, "the path is too long") : NULL;
}

/* Reads a file of the directory whole, with a NUL after it. Where there is none, it has no text. */
static const char *read_file(tokenizer *tokens, const char path[PATH_SIZE], text_buffer *whole)
{
    char limit[64];
    const char *error;
    FILE *file = fopen(path, "rb");
    if (!file)
        return errno == ENOENT ? NULL : fail(tokens, path, strerror(errno));
    error = text_read(file, CONFIG_SIZE, whole);
    snprintf(limit, sizeof limit, "larger than %d bytes", CONFIG_SIZE);
    if (!error && whole->size > CONFIG_SIZE)
        error = limit;
    text_append(whole, text_of("", 1));
    if (!error && whole->failed)
        error = TEXT_NO_MEMORY;
    return error ? fail(tokens, path, error) : NULL;
}

/* ---- what lies beside the vocabulary ---- */

/* A token of tokenizer_config.json: "<s>", or an object whose content that is. -1: there is none such. */
static int32_t token_of(const tokenizer *tokens, json token)
{
    char name[NAME_SIZE];
    size_t size;
    if (token.type == JSON_OBJECT)
        token = json_get(token, "content");
    if (token.type != JSON_STRING)
        return -1;
    size = json_string(token, name, sizeof name);
    return size < sizeof name && strlen(name) == size ? tokenizer_special(tokens, name) : -1;
}

/* "chat_template" is a text, or several with names, of which that named "default" counts. */
static const char *copy_template(tokenizer *tokens, const char *path, json value)
{
    size_t size;
    json entry;
    if (value.type == JSON_ARRAY) {
        for (entry = json_first(value); entry.type; entry = json_next(entry))
            if (json_is(json_get(entry, "name"), "default"))
                break;
        value = json_get(entry, "template");
    }
    if (value.type != JSON_STRING)
        return NULL;
    size = json_string(value, NULL, 0);
    tokens->chat_template = (char *)malloc(size + 1);
    if (!tokens->chat_template)
        return fail(tokens, path, TEXT_NO_MEMORY);
    json_string(value, tokens->chat_template, size + 1);
    return NULL;
}

/* Whether tokenizer_class begins so. */
static int is_class(json config, const char *name)
{
    char class_name[NAME_SIZE];
    json_string(json_get(config, "tokenizer_class"), class_name, sizeof class_name);
    return strncmp(class_name, name, strlen(name)) == 0;
}

/* Whether a member is true, or false; null is neither. Returns NULL, or the message. */
static const char *read_flag(tokenizer *tokens, const char *path, json config, const char *name, int *is_true,
                             int *is_false)
{
    json value = json_get(config, name);
    char cause[64];
    *is_true = value.type == JSON_TRUE;
    *is_false = value.type == JSON_FALSE;
    if (value.type <= JSON_TRUE)
        return NULL;
    snprintf(cause, sizeof cause, "%s is neither true nor false", name);
    return fail(tokens, path, cause);
}

/* What stands before and behind a text, as the members say. */
static const char *use_flags(tokenizer *tokens, const char *path, json config)
{
    int yes, no;
    const char *error = read_flag(tokens, path, config, "add_bos_token", &yes, &no);
    if (error)
        return error;
    if (no && tokens->before_count == 1 && tokens->before[0] == tokens->bos_id)
        tokens->before_count = 0;
    if (yes && tokens->before_count == 0 && tokens->bos_id >= 0) {
        tokens->before = &tokens->bos_id;
        tokens->before_count = 1;
    }
    if ((error = read_flag(tokens, path, config, "add_eos_token", &yes, &no)) != NULL)
        return error;
    if (no && tokens->after_count == 1 && tokens->after[0] == tokens->eos_id)
        tokens->after_count = 0;
    if (yes && tokens->eos_id < 0)
        return fail(tokens, path, "add_eos_token is true, and eos_token is no special token");
    if (yes && tokens->after_count == 0) {
        tokens->after = &tokens->eos_id;
        tokens->after_count = 1;
    }
    if ((error = read_flag(tokens, path, config, "add_prefix_space", &yes, &no)) != NULL || !tokens->is_bpe)
        return error;
    if ((yes && !tokens->json.space_first && tokens->json.byte_level) ||
        (no && tokens->json.space_first && (tokens->json.byte_level || is_class(config, "Llama"))))
        return fail(tokens, path, "add_prefix_space is not as tokenizer.json has it");
    return NULL;
}

/* Whether a text may be cut into a token of this spelling. */
static int is_known(const tokenizer *tokens, const char *name, size_t size)
{
    int32_t id = tokens->is_bpe ? bpe_id(&tokens->json, name, size) : sentencepiece_id(&tokens->model, name, size);
    return id >= 0 && (tokens->is_bpe || (id < tokens->model.count && tokens->model.pieces[id].text.size == size &&
                                          memcmp(tokens->model.pieces[id].text.text, name, size) == 0));
}

/* A token that is named beside the vocabulary has to be in it: nobody would find it otherwise. Special ones are in no
   text, and a note tells of them. */
static const char *check_added(tokenizer *tokens, const char *path, json content, int is_special)
{
    char name[NAME_SIZE], shown[NAME_SIZE], cause[2 * NAME_SIZE];
    size_t size = json_string(content, name, sizeof name);
    if (content.type != JSON_STRING || (size < sizeof name && is_known(tokens, name, size)))
        return NULL;
    snprintf(cause, sizeof cause, "the token \"%s\" is not in the vocabulary",
             shown_text(shown, sizeof shown, name, size < sizeof name ? size : sizeof name - 1));
    if (!is_special)
        return fail(tokens, path, cause);
    text_begin_message(tokens->error, path, ": ");
    text_note(tokens->notes, tokens->error, "%s", cause);
    return NULL;
}

static const char *parse(tokenizer *tokens, const char *path, const text_buffer *text, json *value)
{
    char place[128];
    size_t where;
    const char *cause = json_parse(value, text->text, text->size - 1, &where);
    if (cause) {
        snprintf(place, sizeof place, "byte %lu: %.80s", (unsigned long)where, cause);
        return fail(tokens, path, place);
    }
    return value->type == JSON_OBJECT ? NULL : fail(tokens, path, "not an object");
}

/* What else tokenizer_config.json has, and does not change which ids a text has. clean_up_tokenization_spaces changes
   texts that transformers makes of ids, and split_special_tokens is what happens here whatever it says. */
static const char *const harmless[] = {"additional_special_tokens",
                                       "auto_map",
                                       "backend",
                                       "boi_token",
                                       "chat_template",
                                       "clean_up_tokenization_spaces",
                                       "cls_token",
                                       "do_lower_case",
                                       "eoi_token",
                                       "errors",
                                       "extra_special_tokens",
                                       "image_token",
                                       "is_local",
                                       "legacy",
                                       "local_files_only",
                                       "mask_token",
                                       "max_length",
                                       "model_input_names",
                                       "model_max_length",
                                       "model_specific_special_tokens",
                                       "name_or_path",
                                       "pad_to_multiple_of",
                                       "pad_token",
                                       "pad_token_type_id",
                                       "padding_side",
                                       "processor_class",
                                       "response_schema",
                                       "sep_token",
                                       "sp_model_kwargs",
                                       "spaces_between_special_tokens",
                                       "special_tokens_map_file",
                                       "split_special_tokens",
                                       "stride",
                                       "tokenizer_class",
                                       "tokenizer_file",
                                       "transformers_version",
                                       "truncation_side",
                                       "truncation_strategy",
                                       "trust_remote_code",
                                       "unk_token",
                                       "use_default_system_prompt",
                                       "use_fast",
                                       NULL};

static const char *use_config(tokenizer *tokens, const char *path, json config)
{
    static const char *const used[] = {
        "add_bos_token", "add_eos_token", "add_prefix_space", "added_tokens_decoder", "bos_token", "eos_token", NULL};
    static const char *const *const lists[] = {used, harmless, NULL};
    json token = json_first(json_get(config, "added_tokens_decoder"));
    char names[160], shown[200];
    int32_t id;
    const char *error = NULL;
    if ((id = token_of(tokens, json_get(config, "bos_token"))) >= 0)
        tokens->bos_id = id;
    if ((id = token_of(tokens, json_get(config, "eos_token"))) >= 0)
        tokens->eos_id = id;
    for (; token.type && !error; token = json_next(token))
        error = check_added(tokens, path, json_get(json_value(token), "content"),
                            json_get(json_value(token), "special").type == JSON_TRUE);
    if (error || (error = use_flags(tokens, path, config)) != NULL)
        return error;
    text_begin_message(tokens->error, path, ": ");
    if (json_others(config, lists, names, sizeof names))
        text_note(tokens->notes, tokens->error, "unknown members are not looked at: %s",
                  shown_text(shown, sizeof shown, names, strlen(names)));
    return tokens->chat_template ? NULL : copy_template(tokens, path, json_get(config, "chat_template"));
}

/* added_tokens.json has spellings and ids. */
static const char *use_added(tokenizer *tokens, const char *path, json added)
{
    json name;
    const char *error = NULL;
    for (name = json_first(added); name.type && !error; name = json_next(name))
        error = check_added(tokens, path, name, json_is(name, "<pad>") || json_is(name, "[PAD]"));
    return error;
}

/* Reads a file of the directory, if it is there. */
static const char *open_json(tokenizer *tokens, const char *directory, const char *name,
                             const char *(*use)(tokenizer *, const char *, json))
{
    char path[PATH_SIZE];
    text_buffer text = {NULL, 0, 0, 0};
    json value;
    const char *error = join(tokens, path, directory, name);
    if (!error)
        error = read_file(tokens, path, &text);
    if (!error && text.text && (error = parse(tokens, path, &text, &value)) == NULL)
        error = use(tokens, path, value);
    free(text.text);
    return error;
}

static const char *open_config(tokenizer *tokens, const char *directory)
{
    char path[PATH_SIZE];
    text_buffer jinja = {NULL, 0, 0, 0};
    const char *error = join(tokens, path, directory, "chat_template.jinja");
    if (!error)
        error = read_file(tokens, path, &jinja);
    tokens->chat_template = jinja.text;
    if (!error)
        error = open_json(tokens, directory, "tokenizer_config.json", use_config);
    if (!error && !tokens->is_bpe)
        error = open_json(tokens, directory, "added_tokens.json", use_added);
    return error;
}

/* ---- the vocabulary ---- */

static int exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file || errno != ENOENT;
}

static const char *open_bpe(tokenizer *tokens, const char *path)
{
    const char *error = bpe_open(&tokens->json, path);
    if (error) {
        snprintf(tokens->error, sizeof tokens->error, "%s", error);
        return tokens->error;
    }
    tokens->is_bpe = 1;
    tokens->count = (size_t)tokens->json.count;
    tokens->before = tokens->json.before.ids;
    tokens->before_count = tokens->json.before.count;
    tokens->after = tokens->json.after.ids;
    tokens->after_count = tokens->json.after.count;
    if (tokens->before_count == 1)
        tokens->bos_id = tokens->before[0];
    memcpy(tokens->notes, tokens->json.notes, sizeof tokens->notes);
    return NULL;
}

static const char *open_sentencepiece(tokenizer *tokens, const char *path)
{
    /* What tokenizer.json has as special tokens, and tokenizer.model of some models as user-defined pieces: Gemma's.
       What is user-defined beside these, such as <table>, is text. */
    static const char *const tags[] = {"<s>",
                                       "</s>",
                                       "<bos>",
                                       "<eos>",
                                       "[INST]",
                                       "[/INST]",
                                       "[SYSTEM_PROMPT]",
                                       "[/SYSTEM_PROMPT]",
                                       "<|im_start|>",
                                       "<|im_end|>",
                                       "<start_of_turn>",
                                       "<end_of_turn>",
                                       "<|eot_id|>",
                                       "<|eom_id|>",
                                       "<|begin_of_text|>",
                                       "<|start_header_id|>",
                                       "<|end_header_id|>",
                                       "<|endoftext|>",
                                       NULL};
    const char *error = sentencepiece_open(&tokens->model, path);
    if (error) {
        snprintf(tokens->error, sizeof tokens->error, "%s", error);
        return tokens->error;
    }
    if ((error = sentencepiece_reserve(&tokens->model, tags)) != NULL)
        return fail(tokens, path, error);
    tokens->inside = tokens->model;
    tokens->inside.normalizer.add_dummy_prefix = 0;
    tokens->count = (size_t)tokens->model.count;
    tokens->bos_id = tokens->model.bos_id;
    tokens->eos_id = tokens->model.eos_id;
    tokens->before = &tokens->bos_id;
    tokens->before_count = tokens->bos_id >= 0;
    return NULL;
}

const char *tokenizer_open(tokenizer *tokens, const char *directory)
{
    char path[PATH_SIZE];
    const char *error;
    memset(tokens, 0, sizeof *tokens);
    tokens->bos_id = tokens->eos_id = -1;
    error = join(tokens, path, directory, "tokenizer.json");
    if (error)
        return error;
    if (exists(path)) {
        error = open_bpe(tokens, path);
    } else if ((error = join(tokens, path, directory, "tokenizer.model")) == NULL) {
        error = exists(path) ? open_sentencepiece(tokens, path)
                             : fail(tokens, directory, "there is neither tokenizer.json nor tokenizer.model");
    }
    if (error)
        return error;
    error = open_config(tokens, directory);
    if (error)
        tokenizer_close(tokens);
    else
        tokens->error[0] = 0;
    return error;
}

void tokenizer_close(tokenizer *tokens)
{
    if (tokens->is_bpe)
        bpe_close(&tokens->json);
    else if (tokens->count > 0)
        sentencepiece_close(&tokens->model);
    free(tokens->chat_template);
    tokens->chat_template = NULL;
    tokens->before = tokens->after = NULL;
    tokens->before_count = tokens->after_count = tokens->count = 0;
    tokens->is_bpe = 0;
}

/* ---- tokens ---- */

/* Whether an id may come of a text. */
static int is_in_text(const tokenizer *tokens, int32_t id)
{
    sentencepiece_type type;
    size_t size;
    if (tokens->is_bpe)
        return bpe_spelling(&tokens->json, id, &size) && !bpe_is_special(&tokens->json, id);
    type = tokens->model.pieces[id].type;
    return type != SENTENCEPIECE_CONTROL && type != SENTENCEPIECE_UNUSED;
}

int32_t tokenizer_last(const tokenizer *tokens)
{
    int32_t last = (int32_t)tokens->count - 1;
    size_t i;
    while (last >= 0 && !is_in_text(tokens, last))
        last--;
    for (i = 0; i < tokens->before_count; i++)
        last = tokens->before[i] > last ? tokens->before[i] : last;
    for (i = 0; i < tokens->after_count; i++)
        last = tokens->after[i] > last ? tokens->after[i] : last;
    return last;
}

const char *tokenizer_push(tokenizer_ids *ids, const int32_t *more, size_t count)
{
    return text_push(&ids->ids, &ids->count, &ids->capacity, more, count) ? NULL : TEXT_NO_MEMORY;
}

void tokenizer_ids_free(tokenizer_ids *ids)
{
    free(ids->ids);
    ids->ids = NULL;
    ids->count = ids->capacity = 0;
}

const char *tokenizer_begin(const tokenizer *tokens, tokenizer_ids *ids)
{
    return tokenizer_push(ids, tokens->before, tokens->before_count);
}

const char *tokenizer_end(const tokenizer *tokens, tokenizer_ids *ids)
{
    return tokenizer_push(ids, tokens->after, tokens->after_count);
}

const char *tokenizer_encode(const tokenizer *tokens, const char *text, size_t size, int inside, tokenizer_ids *ids)
{
    const char *error;
    if (tokens->is_bpe) {
        bpe_tokens found;
        error = bpe_encode_as(&tokens->json, text, size, inside ? BPE_INSIDE : 0, &found);
        if (error)
            return error;
        error = tokenizer_push(ids, found.ids, found.count);
        bpe_tokens_free(&found);
    } else {
        sentencepiece_tokens found;
        error = sentencepiece_encode(inside ? &tokens->inside : &tokens->model, text, size, &found);
        if (error)
            return error;
        error = tokenizer_push(ids, found.ids, found.count);
        sentencepiece_tokens_free(&found);
    }
    return error;
}

int32_t tokenizer_special(const tokenizer *tokens, const char *name)
{
    size_t size = strlen(name);
    int32_t id;
    const sentencepiece_piece *piece;
    if (tokens->is_bpe) {
        id = bpe_id(&tokens->json, name, size);
        return id >= 0 && bpe_is_special(&tokens->json, id) ? id : -1;
    }
    id = sentencepiece_id(&tokens->model, name, size);
    if (id < 0 || id >= tokens->model.count)
        return -1;
    piece = &tokens->model.pieces[id];
    return (piece->type == SENTENCEPIECE_CONTROL || piece->type == SENTENCEPIECE_USER_DEFINED) &&
                   piece->text.size == size && memcmp(piece->text.text, name, size) == 0
               ? id
               : -1;
}

size_t tokenizer_piece(const tokenizer *tokens, int32_t id, int first, char *out, size_t size)
{
    return tokens->is_bpe ? bpe_piece(&tokens->json, id, first, out, size)
                          : sentencepiece_piece_bytes(&tokens->model, id, first, out, size);
}
