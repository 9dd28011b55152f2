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

static const char *use_config(tokenizer *tokens, const char *path, const char *text, size_t size)
{
    json config, flag;
    char place[128];
    size_t where;
    int32_t bos;
    const char *cause = json_parse(&config, text, size, &where);
    if (cause) {
        snprintf(place, sizeof place, "byte %lu: %.80s", (unsigned long)where, cause);
        return fail(tokens, path, place);
    }
    if (config.type != JSON_OBJECT)
        return fail(tokens, path, "not an object");
    bos = token_of(tokens, json_get(config, "bos_token"));
    if (bos >= 0)
        tokens->bos_id = bos;
    flag = json_get(config, "add_bos_token");
    if (flag.type == JSON_FALSE && tokens->before_count == 1 && tokens->before[0] == tokens->bos_id)
        tokens->before_count = 0;
    if (flag.type == JSON_TRUE && tokens->before_count == 0 && tokens->bos_id >= 0) {
        tokens->before = &tokens->bos_id;
        tokens->before_count = 1;
    }
    return tokens->chat_template ? NULL : copy_template(tokens, path, json_get(config, "chat_template"));
}

static const char *open_config(tokenizer *tokens, const char *directory)
{
    char path[PATH_SIZE];
    text_buffer jinja = {NULL, 0, 0, 0}, config = {NULL, 0, 0, 0};
    const char *error = join(tokens, path, directory, "chat_template.jinja");
    if (!error)
        error = read_file(tokens, path, &jinja);
    tokens->chat_template = jinja.text;
    if (!error)
        error = join(tokens, path, directory, "tokenizer_config.json");
    if (!error)
        error = read_file(tokens, path, &config);
    if (!error && config.text)
        error = use_config(tokens, path, config.text, config.size - 1);
    free(config.text);
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
    if (tokens->before_count == 1)
        tokens->bos_id = tokens->before[0];
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
    tokens->before = &tokens->bos_id;
    tokens->before_count = tokens->bos_id >= 0;
    return NULL;
}

const char *tokenizer_open(tokenizer *tokens, const char *directory)
{
    char path[PATH_SIZE];
    const char *error;
    memset(tokens, 0, sizeof *tokens);
    tokens->bos_id = -1;
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
    tokens->before = NULL;
    tokens->before_count = tokens->count = 0;
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
