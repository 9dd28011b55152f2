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

/* ---- the names of special tokens ---- */

/* Whether a name is there: 2 with a text, 1 without one. */
static int has_name(const text_buffer *names, const char *name)
{
    int found = 0;
    for (size_t at = 0, size; at < names->size; at += size) {
        size_t length = strlen(names->text + at) + 1, text = strlen(names->text + at + length);
        size = length + text + 1;
        if (found < 2 && strcmp(names->text + at, name) == 0)
            found = text ? 2 : 1;
    }
    return found;
}

/* Appends a name and the text of its token: "<s>", or an object whose content that is. What has none, such as null, has
   an empty one: then only what is over it, special_tokens_map.json, gives it another. */
static void add_name(text_buffer *names, const char *name, json token, int is_over)
{
    size_t size;
    token = token.type == JSON_OBJECT ? json_get(token, "content") : token;
    size = json_string(token, NULL, 0);
    if (has_name(names, name) > is_over)
        return;
    if (text_reserve(names, strlen(name) + size + 2)) { /* both or neither */
        text_append(names, text_of(name, strlen(name) + 1));
        json_string(token, names->text + names->size, size + 1);
        names->text[names->size + size] = 0;
        names->size += strlen(names->text + names->size) + 1;
    }
}

/* The members of an object that name tokens: all, or those that end in "_token" and have a text, or null. */
static void add_names(text_buffer *names, json object, int all, int is_over)
{
    char name[NAME_SIZE];
    for (json key = json_first(object); object.type == JSON_OBJECT && key.type; key = json_next(key)) {
        size_t size = json_string(key, name, sizeof name);
        json value = json_value(key);
        if (size >= sizeof name || strlen(name) != size ||
            (!all && (size < 6 || strcmp(name + size - 6, "_token") != 0)))
            continue;
        if (value.type == JSON_STRING || value.type == JSON_OBJECT || value.type == JSON_NULL)
            add_name(names, name, value, is_over);
    }
}

/* The names that the classes of `transformers` give to tokens by themselves. */
static void add_defaults(text_buffer *names, json class_name)
{
    static const struct {
        const char *begins, *bos, *eos, *unk, *pad;
    } classes[] = {{"Llama", "\"<s>\"", "\"</s>\"", "\"<unk>\"", "null"},
                   {"CodeLlama", "\"<s>\"", "\"</s>\"", "\"<unk>\"", "null"},
                   {"Gemma", "\"<bos>\"", "\"<eos>\"", "\"<unk>\"", "\"<pad>\""},
                   {"Qwen2", "null", "\"<|endoftext|>\"", "\"<|endoftext|>\"", "\"<|endoftext|>\""},
                   {"GPT2", "\"<|endoftext|>\"", "\"<|endoftext|>\"", "\"<|endoftext|>\"", "null"}};
    char name[NAME_SIZE];
    json_string(class_name, name, sizeof name);
    for (size_t i = 0; class_name.type == JSON_STRING && i < sizeof classes / sizeof *classes; i++) {
        const char *const known[] = {"bos_token", "eos_token", "unk_token", "pad_token"};
        const char *const texts[] = {classes[i].bos, classes[i].eos, classes[i].unk, classes[i].pad};
        size_t length = strlen(classes[i].begins);
        json text;
        if (strncmp(name, classes[i].begins, length) || strncmp(name + length, "Tokenizer", 9))
            continue;
        for (size_t k = 0; k < 4; k++)
            if (!json_parse(&text, texts[k], strlen(texts[k]), NULL))
                add_name(names, known[k], text, 0);
    }
}

/* The names of what tokenizer.model has as such. */
static void add_pieces(const tokenizer *tokens, text_buffer *names)
{
    const sentencepiece *m = &tokens->model;
    const char *const known[] = {"bos_token", "eos_token", "unk_token"};
    const int32_t ids[] = {m->bos_id, m->eos_id, m->unk_id};
    for (size_t i = 0; i < 3; i++) {
        text_span piece = ids[i] >= 0 ? m->pieces[ids[i]].text : text_word("");
        if (has_name(names, known[i]) || piece.size == 0 || memchr(piece.text, 0, piece.size))
            continue;
        if (!text_reserve(names, strlen(known[i]) + piece.size + 2))
            return;
        text_append(names, text_of(known[i], strlen(known[i]) + 1));
        text_append(names, piece);
        text_append(names, text_of("", 1));
    }
}

/* Takes the names out that have no text. */
static void drop_empty(text_buffer *names)
{
    size_t at = 0, kept = 0;
    while (at < names->size) {
        size_t name = strlen(names->text + at) + 1, size = name + strlen(names->text + at + name) + 1;
        if (size > name + 1) {
            memmove(names->text + kept, names->text + at, size);
            kept += size;
        }
        at += size;
    }
    names->size = kept;
}

/* What `transformers` knows the special tokens by. map: special_tokens_map.json, which is looked at where
   tokenizer_config.json has no added_tokens_decoder. */
static const char *take_names(tokenizer *tokens, const char *path, json config, const text_buffer *map)
{
    text_buffer names = {NULL, 0, 0, 0};
    json object;
    add_names(&names, config, 0, 0);
    add_names(&names, json_get(config, "extra_special_tokens"), 1, 0);
    add_names(&names, json_get(config, "model_specific_special_tokens"), 1, 0);
    if (map->text && json_get(config, "added_tokens_decoder").type == JSON_NONE &&
        !json_parse(&object, map->text, map->size - 1, NULL))
        add_names(&names, object, 0, 1);
    if (!tokens->is_bpe)
        add_pieces(tokens, &names);
    add_defaults(&names, json_get(config, "tokenizer_class"));
    drop_empty(&names);
    tokens->names = names.text;
    tokens->names_size = names.size;
    return names.failed ? fail(tokens, path, TEXT_NO_MEMORY) : NULL;
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
    return strlen(tokens->chat_template) == size ? NULL : fail(tokens, path, "chat_template has a NUL within");
}

static const char *use_config(tokenizer *tokens, const char *path, const char *text, size_t size,
                              const text_buffer *map)
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
    if ((cause = take_names(tokens, path, config, map)) != NULL)
        return cause;
    return tokens->chat_template ? NULL : copy_template(tokens, path, json_get(config, "chat_template"));
}

static const char *open_config(tokenizer *tokens, const char *directory)
{
    char path[PATH_SIZE];
    text_buffer jinja = {NULL, 0, 0, 0}, config = {NULL, 0, 0, 0}, map = {NULL, 0, 0, 0};
    const json none = {JSON_NONE, NULL, NULL};
    const char *error = join(tokens, path, directory, "chat_template.jinja");
    if (!error)
        error = read_file(tokens, path, &jinja);
    tokens->chat_template = jinja.text;
    if (!error && jinja.text && strlen(jinja.text) + 1 != jinja.size)
        error = fail(tokens, path, "a NUL within");
    if (!error)
        error = join(tokens, path, directory, "special_tokens_map.json");
    if (!error)
        error = read_file(tokens, path, &map);
    if (!error)
        error = join(tokens, path, directory, "tokenizer_config.json");
    if (!error)
        error = read_file(tokens, path, &config);
    if (!error && config.text)
        error = use_config(tokens, path, config.text, config.size - 1, &map);
    else if (!error)
        error = take_names(tokens, path, none, &map);
    free(config.text);
    free(map.text);
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

/* Indexes the special tokens of tokenizer.model, which no text has. */
static const char *index_tags(tokenizer *tokens)
{
    const sentencepiece *m = &tokens->model;
    size_t count = 0;
    const char *error;
    trie_word *words = (trie_word *)malloc(((size_t)m->other_count + 1) * sizeof *words);
    if (!words)
        return TEXT_NO_MEMORY;
    for (int32_t i = 0; i < m->other_count; i++) {
        const sentencepiece_piece *p = m->sorted[m->sorted_count + i];
        if (p->type != SENTENCEPIECE_CONTROL || p->text.size == 0)
            continue;
        words[count].text = p->text.text;
        words[count].size = p->text.size;
        words[count++].id = (int32_t)(p - m->pieces);
    }
    error = trie_build(&tokens->tags, words, count);
    free(words);
    return error;
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
    if ((error = index_tags(tokens)) != NULL) {
        sentencepiece_close(&tokens->model);
        return fail(tokens, path, error);
    }
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
    trie_free(&tokens->tags);
    free(tokens->chat_template);
    free(tokens->names);
    tokens->chat_template = tokens->names = NULL;
    tokens->names_size = 0;
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

/* The next special token that nobody said, from a byte on: its id, and where it begins and ends; or -1, at the end. */
static int32_t find_tag(const tokenizer *tokens, const char *text, const unsigned char *said, size_t size,
                        size_t *begin, size_t *end)
{
    size_t used = 0, i;
    for (; *begin < size; ++*begin) {
        int32_t id = said[*begin] ? -1 : trie_longest(&tokens->tags, text + *begin, size - *begin, &used);
        for (i = 0; id >= 0 && i < used && !said[*begin + i];)
            i++;
        *end = *begin + (id >= 0 ? used : 0);
        if (id >= 0 && i == used)
            return id;
    }
    *end = size;
    return -1;
}

/* Where tags are text and the only special tokens are those that begin and end texts, each stretch of text between
   these was a text of its own in training, and is encoded so. */
static int is_fresh(const tokenizer *tokens, const char *text, const unsigned char *said, size_t size)
{
    size_t begin = 0, end;
    int32_t id;
    for (; (id = find_tag(tokens, text, said, size, &begin, &end)) >= 0; begin = end)
        if (id != tokens->model.bos_id && id != tokens->model.eos_id)
            return 0;
    return 1;
}

const char *tokenizer_encode_said(const tokenizer *tokens, const char *text, const unsigned char *said, size_t size,
                                  tokenizer_ids *ids)
{
    const char *error = NULL;
    size_t at = 0, begin = 0, end;
    int32_t id = 0;
    int fresh;
    if (tokens->is_bpe) {
        bpe_tokens found;
        error = bpe_encode_said(&tokens->json, text, said, size, &found);
        if (error)
            return error;
        error = tokenizer_push(ids, found.ids, found.count);
        bpe_tokens_free(&found);
        return error;
    }
    for (fresh = is_fresh(tokens, text, said, size); !error && id >= 0; at = begin = end) {
        id = find_tag(tokens, text, said, size, &begin, &end);
        if (begin > at)
            error = tokenizer_encode(tokens, text + at, begin - at, at > 0 && !fresh, ids);
        if (!error && id >= 0)
            error = tokenizer_push(ids, &id, 1);
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
