#include "tokenizer.h"
#include "added.h"
#include "gguf_files.h"
#include "text.h"

enum { PATH_SIZE = 4096, CONFIG_SIZE = 1 << 26, NAME_SIZE = 256 };

static const char *fail(tokenizer *tokens, const char *path, const char *cause)
{
    text_begin_message(tokens->error, path, ": ");
    return text_fail(tokens->error, "%.200s", cause);
}

static void note(tokenizer *tokens, const char *path, const char *cause)
{
    char prefix[TEXT_ERROR];
    text_begin_message(prefix, path, ": ");
    text_note(tokens->notes, prefix, "%s", cause);
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

static int exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file)
        fclose(file);
    return file || errno != ENOENT;
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
static void add_defaults(text_buffer *names, const char *name)
{
    static const struct {
        const char *begins, *bos, *eos, *unk, *pad;
    } classes[] = {{"Llama", "\"<s>\"", "\"</s>\"", "\"<unk>\"", "null"},
                   {"CodeLlama", "\"<s>\"", "\"</s>\"", "\"<unk>\"", "null"},
                   {"Gemma", "\"<bos>\"", "\"<eos>\"", "\"<unk>\"", "\"<pad>\""},
                   {"Qwen2", "null", "\"<|endoftext|>\"", "\"<|endoftext|>\"", "\"<|endoftext|>\""},
                   {"GPT2", "\"<|endoftext|>\"", "\"<|endoftext|>\"", "\"<|endoftext|>\"", "null"}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
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

/* Whether a text may be cut into a token of this spelling. */
static int is_known(const tokenizer *tokens, const char *name, size_t size)
{
    int32_t id = tokens->is_bpe ? bpe_id(&tokens->json, name, size) : sentencepiece_id(&tokens->model, name, size);
    return id >= 0 && (tokens->is_bpe || (id < tokens->model.count && tokens->model.pieces[id].text.size == size &&
                                          memcmp(tokens->model.pieces[id].text.text, name, size) == 0));
}

/* Appends `"": {"content": TEXT, "special": true}` for a token of the vocabulary that is not special yet. One that is
   not in the vocabulary is told of, if it is said and no default. */
static void add_special(tokenizer *tokens, const char *path, text_buffer *out, text_span name, int is_said)
{
    int is_there = name.size == 0 || is_known(tokens, name.text, name.size);
    char shown[NAME_SIZE], part[2 * NAME_SIZE];
    if (!is_there && is_said) {
        snprintf(part, sizeof part, "the token \"%s\" is not in the vocabulary",
                 shown_text(shown, sizeof shown, name.text, name.size));
        note(tokens, path, part);
    }
    if (!is_there || name.size == 0 || !tokens->is_bpe ||
        bpe_is_special(&tokens->json, bpe_id(&tokens->json, name.text, name.size)))
        return;
    text_append(out, text_word(out->size > 1 ? "," : ""));
    text_append(out, text_word("\"\":{\"special\":true,\"content\":\""));
    for (size_t i = 0; i < name.size; i++) {
        char c = name.text[i];
        snprintf(part, sizeof part, (unsigned char)c < 0x20 || c == '"' || c == '\\' ? "\\u%04x" : "%c", c);
        text_append(out, text_word(part));
    }
    text_append(out, text_word("\"}"));
}

/* What is named as a special token and is in the vocabulary of tokenizer.json becomes one, as in transformers. */
static const char *amend_named(tokenizer *tokens, const char *path, json config, const text_buffer *names, int is_said)
{
    static const char *const lists[] = {"additional_special_tokens", "extra_special_tokens"};
    text_buffer all = {NULL, 0, 0, 0};
    json value;
    const char *error = NULL;
    text_append(&all, text_word("{"));
    for (size_t at = 0; at < names->size;) {
        const char *text = names->text + at + strlen(names->text + at) + 1;
        add_special(tokens, path, &all, text_word(text), is_said);
        at = (size_t)(text - names->text) + strlen(text) + 1;
    }
    for (size_t i = 0; i < 2; i++) {
        json list = json_get(config, lists[i]), token = json_first(list);
        for (; list.type == JSON_ARRAY && token.type; token = json_next(token)) {
            char text[NAME_SIZE];
            size_t size =
                json_string(token.type == JSON_OBJECT ? json_get(token, "content") : token, text, sizeof text);
            if (size < sizeof text)
                add_special(tokens, path, &all, text_of(text, size), 1);
        }
    }
    text_append(&all, text_word("}"));
    if (all.failed)
        error = fail(tokens, path, TEXT_NO_MEMORY);
    else if (all.size > 2 && !json_parse(&value, all.text, all.size, NULL) && bpe_amend(&tokens->json, value, path)) {
        memcpy(tokens->error, tokens->json.error, sizeof tokens->error);
        error = tokens->error;
    }
    free(all.text);
    return error;
}

static void take_ids(tokenizer *tokens, json object)
{
    int32_t bos_id = token_of(tokens, json_get(object, "bos_token"));
    int32_t eos_id = token_of(tokens, json_get(object, "eos_token"));
    tokens->bos_id = bos_id >= 0 ? bos_id : tokens->bos_id;
    tokens->eos_id = eos_id >= 0 ? eos_id : tokens->eos_id;
}

/* Which class cuts texts in transformers 5: tokenizer_class of tokenizer_config.json or config.json, if any; that of
   the kind of model where there is none, and of Qwen 2 always. */
static void take_class(tokenizer *tokens, json config)
{
    static const char *const usual[][2] = {{"gemma2", "GemmaTokenizer"},      {"gemma3", "GemmaTokenizer"},
                                           {"gemma3_text", "GemmaTokenizer"}, {"gpt2", "GPT2Tokenizer"},
                                           {"qwen2", "Qwen2Tokenizer"},       {"qwen3", "Qwen2Tokenizer"}};
    json name = json_get(config, "tokenizer_class");
    int is_qwen2 = strcmp(tokens->model_type, "qwen2") == 0;
    if (name.type == JSON_STRING)
        json_string(name, tokens->cut_as, sizeof tokens->cut_as);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcmp(tokens->model_type, usual[i][0]) == 0 && (!*tokens->cut_as || is_qwen2))
            snprintf(tokens->cut_as, sizeof tokens->cut_as, "%s", usual[i][1]);
}

/* What `transformers` knows the special tokens by. map: special_tokens_map.json, which is looked at where
   tokenizer_config.json has no added_tokens_decoder. */
static const char *take_names(tokenizer *tokens, const char *path, json config, const text_buffer *map)
{
    text_buffer names = {NULL, 0, 0, 0};
    json object = {JSON_NONE, NULL, NULL};
    const char *error = NULL;
    take_class(tokens, config);
    add_names(&names, config, 0, 0);
    add_names(&names, json_get(config, "extra_special_tokens"), 1, 0);
    add_names(&names, json_get(config, "model_specific_special_tokens"), 1, 0);
    if (map->text && json_get(config, "added_tokens_decoder").type == JSON_NONE &&
        !json_parse(&object, map->text, map->size - 1, NULL))
        add_names(&names, object, 0, 1);
    error = amend_named(tokens, path, config, &names, 1);
    if (!tokens->is_bpe)
        add_pieces(tokens, &names);
    add_defaults(&names, tokens->cut_as);
    drop_empty(&names);
    tokens->names = names.text;
    tokens->names_size = names.size;
    if (!error && names.failed)
        error = fail(tokens, path, TEXT_NO_MEMORY);
    if (!error && tokens->is_bpe) /* the defaults of a class, too */
        error = amend_named(tokens, path, object, &names, 0);
    if (error)
        return error;
    take_ids(tokens, config);
    take_ids(tokens, object);
    return NULL;
}

/* "chat_template" is a text, or several with names, of which that named "default" counts: an object, or a list of
   objects with "name" and "template". */
static const char *copy_template(tokenizer *tokens, const char *path, json value)
{
    int several = value.type == JSON_ARRAY || value.type == JSON_OBJECT;
    size_t size;
    json entry, of = value;
    if (value.type == JSON_OBJECT)
        value = json_get(of, "default");
    for (entry = json_first(of); of.type == JSON_ARRAY && entry.type; entry = json_next(entry))
        if (json_is(json_get(entry, "name"), "default"))
            value = json_get(entry, "template");
    if (value.type != JSON_STRING && (several || value.type > JSON_NULL))
        note(tokens, path, several ? "chat_template has none that is named \"default\"" : "chat_template is no text");
    if (value.type != JSON_STRING)
        return NULL;
    size = json_string(value, NULL, 0);
    tokens->chat_template = (char *)malloc(size + 1);
    if (!tokens->chat_template)
        return fail(tokens, path, TEXT_NO_MEMORY);
    json_string(value, tokens->chat_template, size + 1);
    return strlen(tokens->chat_template) == size ? NULL : fail(tokens, path, "chat_template has a NUL within");
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

/* What stands before and behind a text, as the members say where there is tokenizer.model. What tokenizer.json puts
   there goes before them, as in transformers 5; in 4 the classes named below went by the members alone, whose defaults
   are the bos token and no eos token: a note tells where this is another. */
static const char *use_flags(tokenizer *tokens, const char *path, json config)
{
    static const char *const classes[] = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer"};
    int bos, no_bos, eos, no_eos, named = 0;
    const char *error;
    if ((error = read_flag(tokens, path, config, "add_bos_token", &bos, &no_bos)) != NULL ||
        (error = read_flag(tokens, path, config, "add_eos_token", &eos, &no_eos)) != NULL)
        return error;
    if (!tokens->is_bpe && no_bos)
        tokens->before_count = 0;
    if (!tokens->is_bpe && eos && tokens->eos_id < 0)
        return fail(tokens, path, "add_eos_token is true, and eos_token is no special token");
    if (!tokens->is_bpe && eos) {
        tokens->after = &tokens->eos_id;
        tokens->after_count = 1;
    }
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        named |= is_class(config, classes[i]);
    bos |= json_get(config, "add_bos_token").type == JSON_NONE;
    if (tokens->is_bpe && named &&
        (tokens->before_count != (size_t)bos || tokens->after_count != (size_t)eos ||
         (bos && tokens->before[0] != tokens->bos_id) || (eos && tokens->after[0] != tokens->eos_id)))
        note(tokens, path,
             "what tokenizer.json puts around a text counts here, and not add_bos_token and "
             "add_eos_token, as in transformers 5; not so in 4");
    return NULL;
}

/* Of Mistral, and where there is no class or a general one, it does by tokenizer.json. */
static int is_cut_plainly(const tokenizer *tokens)
{
    return !*tokens->cut_as || strcmp(tokens->model_type, "mistral") == 0 ||
           strncmp(tokens->cut_as, "PreTrainedTokenizer", 19) == 0 || strcmp(tokens->cut_as, "TokenizersBackend") == 0;
}

static int is_cut_as(const tokenizer *tokens, const char *name)
{
    const char *class_name = tokens->cut_as + (strncmp(tokens->cut_as, "CodeLlama", 9) == 0 ? 4 : 0);
    return !is_cut_plainly(tokens) && strncmp(class_name, name, strlen(name)) == 0;
}

static int is_cut_by_known(const tokenizer *tokens)
{
    return is_cut_plainly(tokens) || is_cut_as(tokens, "LlamaTokenizer") || is_cut_as(tokens, "GemmaTokenizer") ||
           is_cut_as(tokens, "GPT2Tokenizer") || is_cut_as(tokens, "Qwen2Tokenizer");
}

/* Whether tokenizer.model has special tokens that begin and end no text, such as [INST]. */
static int has_tags(const sentencepiece *m)
{
    for (int32_t i = 0; i < m->other_count; i++) {
        const sentencepiece_piece *p = m->sorted[m->sorted_count + i];
        int32_t id = (int32_t)(p - m->pieces);
        if (p->type == SENTENCEPIECE_CONTROL && id != m->bos_id && id != m->eos_id)
            return 1;
    }
    return 0;
}

/* Whether texts get a space in front; and whether transformers 5 cuts them otherwise than tokenizer.json says. What is
   for bytes counts for a LlamaTokenizer, too. */
static const char *check_space(tokenizer *tokens, const char *path, json config)
{
    static const char other[] =
        "normalizer and pre_tokenizer of tokenizer.json count here; transformers 5 has others for "
        "this tokenizer_class or model_type";
    int yes, no, is_as = tokens->json.made_for;
    const char *error = read_flag(tokens, path, config, "add_prefix_space", &yes, &no);
    tokens->is_first = !tokens->is_bpe && json_get(config, "legacy").type == JSON_FALSE;
    if (!error && !tokens->is_bpe && !tokens->is_first && is_cut_as(tokens, "LlamaTokenizer") &&
        tokens->model.normalizer.add_dummy_prefix)
        note(tokens, path,
             "a space goes in front of a text that begins with one, and of what follows special tokens, as "
             "SentencePiece has it; not so in transformers 5");
    if (!error && !tokens->is_bpe && !tokens->is_first && !tokens->is_gguf &&
        tokens->model.normalizer.add_dummy_prefix && has_tags(&tokens->model))
        note(tokens, path,
             "in chats no space is put behind special tokens, as their publishers have it; transformers puts one "
             "unless \"legacy\" is false");
    if (!error && !tokens->is_bpe && no && tokens->model.normalizer.add_dummy_prefix)
        error = fail(tokens, path, "add_prefix_space is false, and tokenizer.model puts a space in front of texts");
    if (error || !tokens->is_bpe)
        return error;
    if ((yes && !tokens->json.space_first && tokens->json.byte_level) ||
        (no && tokens->json.space_first && (tokens->json.byte_level || is_class(config, "Llama"))))
        return fail(tokens, path, "add_prefix_space is not as tokenizer.json has it");
    if (!is_cut_by_known(tokens) ||
        (is_cut_as(tokens, "LlamaTokenizer") && !tokens->json.bytes &&
         (!(is_as & BPE_OF_LLAMA) || tokens->json.space_first != !no)) ||
        (is_cut_as(tokens, "GemmaTokenizer") && !tokens->json.bytes && !(is_as & BPE_OF_GEMMA)) ||
        (is_cut_as(tokens, "GPT2Tokenizer") && !(is_as & BPE_OF_GPT2)) ||
        (is_cut_as(tokens, "Qwen2Tokenizer") && !(is_as & BPE_OF_QWEN2)))
        note(tokens, path, other);
    else if (is_cut_as(tokens, "LlamaTokenizer") && !tokens->json.bytes && is_as & BPE_OF_SPACES)
        note(tokens, path,
             "a text that begins with a space, and in chats what follows special tokens, gets one more, as in "
             "transformers 4; 5 adds none");
    if (yes && tokens->json.bytes && !tokens->json.space_first)
        note(tokens, path, "add_prefix_space does not count: tokenizer.json puts no space in front of texts");
    return NULL;
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
    note(tokens, path, cause);
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
   texts that transformers makes of ids, and split_special_tokens is what happens in texts whatever it says. */
/* clang-format off */
static const char *const harmless[] = {
    "boi_token", "chat_template", "eoi_token", "eot_token", "errors", "extra_ids", "fast", "fill_token", "image_token",
    "legacy", "middle_token", "prefix_token", "response_schema", "sp_model_kwargs", "spaces_between_special_tokens",
    "split_special_tokens", "suffix_first", "suffix_token", "transformers_version", "trust_remote_code",
    "use_default_system_prompt", "use_fast", "vocab_size", NULL};
/* clang-format on */

/* Notes where chats of a LlamaTokenizer have other tokens in transformers 5: there "legacy" says whether a space is put
   in front of what follows a special token. */
static void note_chats(tokenizer *tokens, const char *path, json config)
{
    int legacy = json_get(config, "legacy").type == JSON_TRUE, made_for = tokens->json.made_for;
    int all = (made_for & BPE_OF_LEGACY) != 0;
    if (tokens->is_bpe && is_cut_as(tokens, "LlamaTokenizer") && tokens->chat_template && tokens->json.space_first &&
        made_for & BPE_OF_LLAMA && all != legacy)
        note(tokens, path,
             "in chats, a U+2581 stands behind special tokens where tokenizer.json puts one, as in "
             "transformers 4; 5 goes by \"legacy\"");
}

static long count_added(const tokenizer *tokens)
{
    long count = 0;
    for (int32_t id = 0; tokens->is_bpe && id < tokens->json.count; id++)
        count += bpe_is_added(&tokens->json, id);
    return count;
}

/* The classes that transformers 5 makes anew have the added tokens of added_tokens_decoder alone. */
static void note_added(tokenizer *tokens, const char *path, json config, long more)
{
    for (json token = json_first(json_get(config, "added_tokens_decoder")); token.type; token = json_next(token))
        more--;
    if (tokens->is_bpe && tokens->has_decoder && !is_cut_plainly(tokens) && more > 0)
        note(tokens, path,
             "added_tokens_decoder has fewer tokens than tokenizer.json, which counts here; transformers 5 "
             "knows no others");
}

static const char *use_config(tokenizer *tokens, const char *path, json config, const text_buffer *map)
{
    static const char *const used[] = {
        "add_bos_token", "add_eos_token", "add_prefix_space", "added_tokens_decoder", "bos_token", "eos_token", NULL};
    static const char *const *const lists[] = {used, harmless, added_beside, NULL};
    json token = json_first(json_get(config, "added_tokens_decoder"));
    char names[160], shown[200], cause[300];
    const char *error = NULL;
    long added; /* before others that are named become such */
    tokens->has_config = 1;
    tokens->has_decoder = json_get(config, "added_tokens_decoder").type != JSON_NONE;
    if (tokens->is_bpe && bpe_amend(&tokens->json, json_get(config, "added_tokens_decoder"), path)) {
        memcpy(tokens->error, tokens->json.error, sizeof tokens->error);
        return tokens->error;
    }
    added = count_added(tokens);
    for (; token.type && !error; token = json_next(token))
        error = check_added(tokens, path, json_get(json_value(token), "content"),
                            json_get(json_value(token), "special").type == JSON_TRUE);
    if (error || (error = take_names(tokens, path, config, map)) != NULL ||
        (error = use_flags(tokens, path, config)) != NULL || (error = check_space(tokens, path, config)) != NULL)
        return error;
    if (json_get(config, "split_special_tokens").type == JSON_TRUE)
        note(tokens, path,
             "split_special_tokens is true: in chats, special tokens of the template are tokens all the same");
    if (json_others(config, lists, names, sizeof names)) {
        snprintf(cause, sizeof cause, "unknown members are not looked at: %s",
                 shown_text(shown, sizeof shown, names, strlen(names)));
        note(tokens, path, cause);
    }
    if (!tokens->chat_template)
        error = copy_template(tokens, path, json_get(config, "chat_template"));
    note_chats(tokens, path, config);
    note_added(tokens, path, config, added);
    return error;
}

/* config.json says what kind of model it is, and perhaps the tokenizer's class. */
static const char *use_model(tokenizer *tokens, const char *path, json config, const text_buffer *map)
{
    json type = json_get(config, "model_type"), name = json_get(config, "tokenizer_class");
    (void)path;
    (void)map;
    if (type.type == JSON_STRING)
        json_string(type, tokens->model_type, sizeof tokens->model_type);
    if (name.type == JSON_STRING)
        json_string(name, tokens->cut_as, sizeof tokens->cut_as);
    return NULL;
}

/* added_tokens.json has spellings and ids. Beside tokenizer.json transformers makes them added tokens. */
static const char *use_added(tokenizer *tokens, const char *path, json added, const text_buffer *map)
{
    char text[NAME_SIZE], shown[NAME_SIZE], cause[2 * NAME_SIZE];
    json name;
    const char *error = NULL;
    (void)map;
    for (name = json_first(added); name.type && !error; name = json_next(name)) {
        size_t size = json_string(name, text, sizeof text);
        error = check_added(tokens, path, name, json_is(name, "<pad>") || json_is(name, "[PAD]"));
        if (error || !tokens->is_bpe || size >= sizeof text || !is_known(tokens, text, size) ||
            bpe_is_added(&tokens->json, bpe_id(&tokens->json, text, size)))
            continue;
        snprintf(cause, sizeof cause, "\"%s\" is no added token in tokenizer.json",
                 shown_text(shown, sizeof shown, text, size));
        error = fail(tokens, path, cause);
    }
    return error;
}

/* Reads a file of the directory, if it is there. */
static const char *open_json(tokenizer *tokens, const char *directory, const char *name,
                             const char *(*use)(tokenizer *, const char *, json, const text_buffer *),
                             const text_buffer *map)
{
    char path[PATH_SIZE];
    text_buffer text = {NULL, 0, 0, 0};
    json value;
    const char *error = join(tokens, path, directory, name);
    if (!error)
        error = read_file(tokens, path, &text);
    if (!error && text.text && (error = parse(tokens, path, &text, &value)) == NULL)
        error = use(tokens, path, value, map);
    free(text.text);
    return error;
}

static const char *open_config(tokenizer *tokens, const char *directory)
{
    char path[PATH_SIZE];
    text_buffer jinja = {NULL, 0, 0, 0}, map = {NULL, 0, 0, 0};
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
    if (!error && (error = join(tokens, path, directory, "additional_chat_templates")) == NULL && exists(path))
        note(tokens, path, "templates in it are not looked at");
    if (!error && (error = join(tokens, path, directory, "tekken.json")) == NULL && exists(path))
        note(tokens, path, "it is not looked at: where transformers 5 reads it, texts may be cut otherwise");
    if (!error)
        error = open_json(tokens, directory, "config.json", use_model, NULL);
    if (!error)
        error = open_json(tokens, directory, "tokenizer_config.json", use_config, &map);
    if (!error && !tokens->has_config) {
        error = take_names(tokens, path, none, &map);
        if (!error)
            error = join(tokens, path, directory, tokens->is_bpe ? "tokenizer.json" : "tokenizer.model");
        if (!error && !tokens->is_bpe)
            note(tokens, path,
                 "without tokenizer_config.json a bos token goes before a text, as in transformers 4; 5 may put none");
        if (!error)
            error = check_space(tokens, path, none);
    }
    if (!error && !(tokens->is_bpe && tokens->has_decoder))
        error = open_json(tokens, directory, "added_tokens.json", use_added, NULL);
    free(map.text);
    return error;
}

/* ---- the vocabulary ---- */

static const char *use_bpe(tokenizer *tokens, const char *error)
{
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

static const char *use_sentencepiece(tokenizer *tokens, const char *path, const char *error)
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
    tokens->eos_id = tokens->model.eos_id;
    tokens->before = &tokens->bos_id;
    tokens->before_count = tokens->bos_id >= 0;
    return NULL;
}

/* What lies in a GGUF, as the files of a directory. */
static const char *open_gguf(tokenizer *tokens, const char *path)
{
    const text_buffer none = {NULL, 0, 0, 0};
    text_buffer config = none, *contents = &tokens->contents;
    gguf_files model;
    json value;
    int is_json = 0;
    const char *error = gguf_files_open(&model, path);
    tokens->is_gguf = 1;
    if (!error && (error = gguf_files_tokenizer(&model, contents, &is_json)) == NULL)
        error = gguf_files_tokenizer_config(&model, &config);
    if (error)
        snprintf(tokens->error, sizeof tokens->error, "%s", error);
    if (!error && is_json)
        error = use_bpe(tokens, bpe_parse(&tokens->json, contents->text, contents->size, path));
    else if (!error)
        error =
            use_sentencepiece(tokens, path, sentencepiece_parse(&tokens->model, contents->text, contents->size, path));
    text_append(&config, text_of("", 1));
    if (!error && config.failed)
        error = fail(tokens, path, TEXT_NO_MEMORY);
    if (!error && ((error = parse(tokens, path, &config, &value)) != NULL ||
                   (error = use_config(tokens, path, value, &none)) != NULL))
        tokenizer_close(tokens);
    free(config.text);
    if (is_json || error) {
        free(contents->text);
        *contents = none;
    }
    gguf_files_close(&model);
    return error ? tokens->error : NULL;
}

const char *tokenizer_open(tokenizer *tokens, const char *directory)
{
    char path[PATH_SIZE];
    const char *error;
    memset(tokens, 0, sizeof *tokens);
    tokens->bos_id = tokens->eos_id = -1;
    if (gguf_files_is(directory))
        return open_gguf(tokens, directory);
    error = join(tokens, path, directory, "tokenizer.json");
    if (error)
        return error;
    if (exists(path)) {
        error = use_bpe(tokens, bpe_open(&tokens->json, path));
    } else if ((error = join(tokens, path, directory, "tokenizer.model")) == NULL) {
        error = exists(path) ? use_sentencepiece(tokens, path, sentencepiece_open(&tokens->model, path))
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
    trie_free(&tokens->tags);
    free(tokens->contents.text);
    memset(&tokens->contents, 0, sizeof tokens->contents);
    free(tokens->chat_template);
    free(tokens->names);
    tokens->chat_template = tokens->names = NULL;
    tokens->names_size = 0;
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
        static const char mark[] = "\xe2\x96\x81";
        sentencepiece_tokens found;
        if (tokens->is_first && size > 0 && (*text == ' ' || (size >= 3 && memcmp(text, mark, 3) == 0)))
            inside = 1; /* it has one */
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
    fresh = tokens->is_gguf || (!tokens->is_first && is_fresh(tokens, text, said, size));
    for (; !error && id >= 0; at = begin = end) {
        id = find_tag(tokens, text, said, size, &begin, &end);
        if (begin > at)
            error = tokenizer_encode(tokens, text + at, begin - at,
                                     at > 0 && (!fresh || (tokens->is_gguf && text[at] == ' ')), ids);
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
    if (tokens->is_bpe)
        return bpe_piece(&tokens->json, id, first, out, size);
    return id == tokens->model.unk_id ? 0 : sentencepiece_piece_bytes(&tokens->model, id, first, out, size);
}
