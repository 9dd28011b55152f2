#include "wordpiece.h"

#include "json.h"
#include "unicode.h"

#include <string.h>

enum {
    FILE_MAX = 1 << 24,      /* bytes of a file; published ones have 5 MB at most */
    ADDED_MAX = 255,         /* bytes of an added token, cleaned 3 times as many; a text is searched at every byte */
    LONGEST_WORD_MAX = 1000, /* a word may be looked at again from each of its characters; published models say 100 */
    SPECIALS = 5
};

typedef wordpiece_word word;
typedef text_buffer buffer;

static const char vocab_txt[] = "vocab.txt", tokenizer_json[] = "tokenizer.json",
                  config_json[] = "tokenizer_config.json", model_json[] = "config.json",
                  map_json[] = "special_tokens_map.json", added_json[] = "added_tokens.json";

/* ---- messages ---- */

/* An empty model, whose messages will begin with its name. */
static void start(wordpiece *model, const char *name)
{
    memset(model, 0, sizeof *model);
    text_begin_message(model->error, name, "");
}

/* Goes on with a message: file is one of the directory; NULL for the directory itself. */
static char *in(wordpiece *model, const char *file)
{
    text_fail(model->error, "%s%s: ", file ? "/" : "", file ? file : "");
    return model->error;
}

/* ---- words in order ---- */

/* By bytes and, of two that are alike, the larger id first. */
static int compare_words(const void *a, const void *b)
{
    const word *x = (const word *)a, *y = (const word *)b;
    int order = trie_compare(x, y);
    return order ? order : (x->id < y->id) - (x->id > y->id);
}

static int compare_ids(const void *a, const void *b)
{
    const word *x = (const word *)a, *y = (const word *)b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Puts words in order, and keeps of those alike the one of the largest id. Returns how many are left. */
static size_t sort_words(word *words, size_t count)
{
    size_t i, kept = 0;
    qsort(words, count, sizeof *words, compare_words);
    for (i = 0; i < count; i++)
        if (i == 0 || trie_compare(&words[i], &words[i - 1]))
            words[kept++] = words[i];
    return kept;
}

static int compare_texts(const void *a, const void *b)
{
    return trie_compare((const word *)a, (const word *)b);
}

static const word *find_word(const word *words, size_t count, const char *text, size_t size)
{
    word key;
    key.text = text;
    key.size = size;
    return (const word *)bsearch(&key, words, count, sizeof *words, compare_texts);
}

/* ---- text that is cleaned ---- */

/* A character, in lower case if that is wanted. */
static void put(buffer *b, uint32_t code, int lower)
{
    uint32_t codes[3] = {0, 0, 0};
    size_t count = 1, i;
    codes[0] = code;
    if (lower)
        count = unicode_lower(code, codes);
    for (i = 0; i < count; i++)
        b->size += unicode_write(b->text + b->size, codes[i]);
}

static int is_chinese(uint32_t code)
{
    return code >= 0x3400 &&
           (code <= 0x4dbf || (code >= 0x4e00 && code <= 0x9fff) || (code >= 0xf900 && code <= 0xfaff) ||
            (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b81f) ||
            (code >= 0x2b920 && code <= 0x2ceaf) || (code >= 0x2f800 && code <= 0x2fa1f));
}

/* Whether it is nothing but bytes of ASCII that are printed. */
static int is_plain(uint32_t code)
{
    return code >= 0x20 && code < 0x7f;
}

/* Cleans text: *out becomes it. Where marks go, text is first decomposed, of which `spare` is given the room. */
static int clean(const wordpiece *model, const char *text, size_t size, buffer *out, buffer *spare)
{
    const uint32_t control = UNICODE_CC | UNICODE_CF | UNICODE_CO;
    int strips = 0; /* there is something that may have marks */
    size_t at, n;
    uint32_t code;
    out->size = 0;
    for (at = 0; at < size; at += n) {
        if (!text_reserve(out, 16))
            return 0;
        n = unicode_read(text + at, size - at, &code);
        if (code >= UNICODE_INVALID)
            code = 0xfffd;
        if (model->clean_text && !is_plain(code)) {
            if (code == '\t' || code == '\n' || code == '\r')
                code = ' ';
            if (code == 0 || code == 0xfffd || (unicode_bert_category(code) & control))
                continue;
            if (unicode_is_space(code))
                code = ' ';
        }
        strips |= code >= 0x80;
        if (model->chinese_characters && is_chinese(code)) {
            put(out, ' ', 0);
            put(out, code, 0);
            code = ' ';
        }
        put(out, code, model->lower_case && (code < 0x80 || !model->strip_accents));
    }
    if (strips && model->strip_accents) {
        spare->size = 0;
        if (!text_reserve(spare, 3 * out->size)) /* no character grows more */
            return 0;
        spare->size = unicode_normalize(UNICODE_NFD, out->text, out->size, spare->text, spare->room);
        for (at = out->size = 0; at < spare->size; at += n) {
            if (!text_reserve(out, 16))
                return 0;
            n = unicode_read(spare->text + at, spare->size - at, &code);
            if (code < 0x80 || unicode_bert_category(code) != UNICODE_MN)
                put(out, code, model->lower_case);
        }
    }
    return 1;
}

/* ---- the parts of a model ---- */

/* What is being read, and where strings go meanwhile. */
typedef struct reading {
    const wordpiece_files *files;
    json tokenizer, config, model, map, added; /* JSON_NONE: not there, or it does not count */
    int goes_by_tokenizer;                     /* tokenizer.json says how text is cleaned */
    char *next;                                /* of the model's text */
    size_t begin, end;                         /* of the added tokens: those of tokenizer_config.json */
    word prefix, specials[SPECIALS];
} reading;

/* The text of a JSON string, kept. */
static word take_string(reading *r, json string)
{
    word w;
    w.text = r->next;
    w.size = json_string(string, r->next, SIZE_MAX);
    w.id = -1;
    r->next += w.size + 1;
    return w;
}

static word plain_word(const char *text)
{
    word w;
    w.text = text;
    w.size = strlen(text);
    w.id = -1;
    return w;
}

static int read_id(json number, int32_t *id)
{
    uint64_t value;
    if (!json_uint(number, &value) || value >= INT32_MAX)
        return 0;
    *id = (int32_t)value;
    return 1;
}

static const char *read_lines(wordpiece *model, const char *text, size_t size)
{
    size_t at = 0, end, i, n;
    uint32_t code;
    for (; at < size; at = end + 1) {
        word *w = &model->words[model->word_count];
        const char *feed = (const char *)memchr(text + at, '\n', size - at);
        end = feed ? (size_t)(feed - text) : size;
        w->text = text + at;
        w->size = end - at - (end > at && text[end - 1] == '\r');
        w->id = (int32_t)model->word_count++;
        for (i = 0; i < w->size; i += n) {
            n = unicode_read(w->text + i, w->size - i, &code);
            if (code >= UNICODE_INVALID)
                return text_fail(in(model, vocab_txt), "line %lu is not UTF-8", (unsigned long)model->word_count);
        }
    }
    return NULL;
}

static const char *read_members(wordpiece *model, reading *r, json vocab)
{
    char text[128];
    json name;
    for (name = json_first(vocab); name.type; name = json_next(name)) {
        word w = take_string(r, name);
        if (!read_id(json_value(name), &w.id))
            return text_fail(in(model, tokenizer_json), "model.vocab: the id of \"%s\" is not one below 2147483647",
                             shown_text(text, sizeof text, w.text, w.size));
        model->words[model->word_count++] = w;
    }
    return NULL;
}

static size_t lines(const char *text, size_t size)
{
    size_t count = size && text[size - 1] != '\n', i;
    for (i = 0; i < size; i++)
        count += text[i] == '\n';
    return count;
}

/* A flag, if the object has it: null and what is missing leave it as it was. */
static const char *read_flag(wordpiece *model, const char *file, json object, const char *name, int *flag)
{
    json value = json_get(object, name);
    if (value.type == JSON_TRUE || value.type == JSON_FALSE)
        *flag = value.type == JSON_TRUE;
    else if (value.type && value.type != JSON_NULL)
        return text_fail(in(model, file), "%s: neither true nor false", name);
    return NULL;
}

/* What tokenizer_config.json may have; of these, special tokens and what has to do with cleaning is read. Others have
   to do with tensors, with other classes, or with text that is made of ids. */
/* clang-format off */
static const char *const of_config[] = {
    "added_tokens_decoder", "bos_token", "do_basic_tokenize", "eos_token", "never_split", "strip_accents",
    "tokenize_chinese_chars", NULL};
/* clang-format on */

/* Whether an object is of a type; one that names none, as in old files, is taken for it. */
static int has_type(json object, const char *want)
{
    json type = json_get(object, "type");
    return object.type == JSON_OBJECT && (type.type == JSON_NONE || json_is(type, want));
}

/* Notes members of a part of a file that nobody knows. */
static void note_members(wordpiece *model, const char *file, const char *part, json object, const char *const *known)
{
    const char *const *lists[3];
    char names[160], shown[200], prefix[TEXT_ERROR + 32];
    lists[0] = known;
    lists[1] = known == of_config ? added_beside : NULL;
    lists[2] = NULL;
    snprintf(prefix, sizeof prefix, "%s/%s: ", model->error, file);
    if (json_others(object, lists, names, sizeof names))
        text_note(model->notes, prefix, "%s%sunknown members are not looked at: %s", part, *part ? ": " : "",
                  shown_text(shown, sizeof shown, names, strlen(names)));
}

/* What tokenizer.json says of the model and of how text is cleaned. */
static const char *read_parts(wordpiece *model, reading *r, int *strip)
{
    static const char *const of_file[] = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                                          "pre_tokenizer", "post_processor", "decoder", "model",        NULL};
    static const char *const of_model[] = {
        "type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab", NULL};
    static const char *const of_normalizer[] = {"type",          "clean_text", "handle_chinese_chars",
                                                "strip_accents", "lowercase",  NULL};
    json m = json_get(r->tokenizer, "model"), normalizer = json_get(r->tokenizer, "normalizer"), value;
    const char *error;
    uint64_t number;
    note_members(model, tokenizer_json, "", r->tokenizer, of_file);
    note_members(model, tokenizer_json, "model", m, of_model);
    note_members(model, tokenizer_json, "normalizer", normalizer, of_normalizer);
    if (!has_type(m, "WordPiece") || json_get(m, "merges").type)
        return text_fail(in(model, tokenizer_json), "model: not a WordPiece model");
    if (!has_type(normalizer, "BertNormalizer"))
        return text_fail(in(model, tokenizer_json), "normalizer: not a BertNormalizer");
    if (!has_type(json_get(r->tokenizer, "pre_tokenizer"), "BertPreTokenizer"))
        return text_fail(in(model, tokenizer_json), "pre_tokenizer: not a BertPreTokenizer");
    if ((value = json_get(m, "continuing_subword_prefix")).type == JSON_STRING)
        r->prefix = take_string(r, value);
    else if (value.type)
        return text_fail(in(model, tokenizer_json), "model.continuing_subword_prefix: not a string");
    if ((value = json_get(m, "max_input_chars_per_word")).type) {
        if (!json_uint(value, &number) || number > LONGEST_WORD_MAX)
            return text_fail(in(model, tokenizer_json), "model.max_input_chars_per_word: not a number up to %d",
                             (int)LONGEST_WORD_MAX);
        model->longest_word = (size_t)number;
    }
    if ((error = read_flag(model, tokenizer_json, normalizer, "clean_text", &model->clean_text)) != NULL ||
        (error = read_flag(model, tokenizer_json, normalizer, "handle_chinese_chars", &model->chinese_characters)) !=
            NULL ||
        (error = read_flag(model, tokenizer_json, normalizer, "strip_accents", strip)) != NULL ||
        (error = read_flag(model, tokenizer_json, normalizer, "lowercase", &model->lower_case)) != NULL)
        return error;
    return NULL;
}

/* Who says how text is cleaned. The general classes of transformers leave to tokenizer.json what it says; BERT's own
   take tokenizer_config.json alone, and what that does not say is as in uncased BERT. Others, such as those for
   Japanese, cut text in ways of their own. */
static const char *read_class(wordpiece *model, reading *r)
{
    static const char *const known[] = {"PreTrained", "TokenizersBackend", "Bert", "DistilBert", "Electra", "MPNet"};
    const char *file = json_get(r->config, "tokenizer_class").type > JSON_NULL ? config_json : model_json;
    json value = json_get(file == config_json ? r->config : r->model, "tokenizer_class");
    char name[64], shown[80];
    size_t size = json_string(value, name, sizeof name), i;
    r->goes_by_tokenizer = r->tokenizer.type && !r->config.type && !r->model.type;
    if (value.type <= JSON_NULL)
        return NULL;
    for (i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i]);
        const char *rest = name + length;
        if (strncmp(name, known[i], length) == 0 &&
            (strcmp(rest, "Tokenizer") == 0 || strcmp(rest, "TokenizerFast") == 0 || (i == 1 && !*rest)))
            break;
    }
    if (i < sizeof known / sizeof *known && value.type == JSON_STRING && strlen(name) == size) {
        r->goes_by_tokenizer |= i < 2 && r->tokenizer.type;
        return NULL;
    }
    return text_fail(in(model, file), "tokenizer_class: \"%s\" is not known here",
                     shown_text(shown, sizeof shown, name, size < sizeof name ? size : sizeof name - 1));
}

/* Other ways to cut text, and to cut off its end: into words for Japanese, and from the beginning on. */
static const char *check_options(wordpiece *model, const reading *r)
{
    static const char *const members[] = {"word_tokenizer_type", "subword_tokenizer_type"};
    json side = json_get(r->config, "truncation_side"),
         direction = json_get(json_get(r->tokenizer, "truncation"), "direction");
    int i;
    for (i = 0; i < 2; i++)
        if (json_get(r->config, members[i]).type > JSON_NULL)
            return text_fail(in(model, config_json), "%s is not known here", members[i]);
    if (side.type > JSON_NULL && !json_is(side, "right"))
        return text_fail(in(model, config_json), "truncation_side: texts lose their end here, and nothing else");
    if (side.type <= JSON_NULL && direction.type > JSON_NULL && !json_is(direction, "Right"))
        return text_fail(in(model, tokenizer_json),
                         "truncation.direction: texts lose their end here, and nothing else");
    return NULL;
}

static const char *read_options(wordpiece *model, reading *r)
{
    const char *error = NULL;
    int strip = -1, lower, chinese, strips;
    char prefix[TEXT_ERROR + 32];
    model->clean_text = model->chinese_characters = model->lower_case = 1;
    model->longest_word = 100;
    r->prefix = plain_word("##");
    note_members(model, config_json, "", r->config, of_config);
    if ((error = read_class(model, r)) != NULL || (error = check_options(model, r)) != NULL)
        return error;
    if (r->tokenizer.type && (error = read_parts(model, r, &strip)) != NULL)
        return error;
    lower = model->lower_case;
    chinese = model->chinese_characters;
    strips = strip;
    model->lower_case = model->chinese_characters = 1;
    strip = -1;
    if ((error = read_flag(model, config_json, r->config, "do_lower_case", &model->lower_case)) != NULL ||
        (error = read_flag(model, config_json, r->config, "tokenize_chinese_chars", &model->chinese_characters)) !=
            NULL ||
        (error = read_flag(model, config_json, r->config, "strip_accents", &strip)) != NULL)
        return error;
    snprintf(prefix, sizeof prefix, "%s/%s: ", model->error, tokenizer_json);
    if (r->tokenizer.type && (lower != model->lower_case || chinese != model->chinese_characters || strips != strip))
        text_note(model->notes, prefix, "the normalizer is not as tokenizer_config.json has it%s, and %s",
                  r->config.type ? "" : " where it says nothing",
                  r->goes_by_tokenizer ? "counts here" : "does not count");
    if (r->goes_by_tokenizer) {
        model->lower_case = lower;
        model->chinese_characters = chinese;
        strip = strips;
    }
    model->strip_accents = strip < 0 ? model->lower_case : strip;
    return NULL;
}

/* ---- special and added tokens ---- */

/* A special token of special_tokens_map.json or, where that has none, of tokenizer_config.json. */
static json special_of(const reading *r, const char *name)
{
    json value = json_get(r->map, name);
    return value.type > JSON_NULL ? value : json_get(r->config, name);
}

/* The spelling of a special token: a string, or an object with its content; or the usual. */
static word special(reading *r, json value, word usual)
{
    if (value.type == JSON_OBJECT)
        value = json_get(value, "content");
    return value.type == JSON_STRING ? take_string(r, value) : usual;
}

static const char *const special_members[SPECIALS] = {"unk_token", "cls_token", "sep_token", "pad_token", "mask_token"};

/* Unknown, class, separator, padding and mask token. What tokenizer.json has for the unknown one, and puts around a
   text, goes before tokenizer_config.json: BertProcessing has the two by name, in a template they are before and
   behind. */
static void read_specials(wordpiece *model, reading *r)
{
    static const char *const usual[SPECIALS] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};
    json processor = json_get(r->tokenizer, "post_processor"), element, name;
    char prefix[TEXT_ERROR + 32];
    word named[SPECIALS];
    int i, behind = 0;
    for (i = 0; i < SPECIALS; i++)
        named[i] = r->specials[i] = special(r, special_of(r, special_members[i]), plain_word(usual[i]));
    if ((name = json_get(json_get(r->tokenizer, "model"), "unk_token")).type == JSON_STRING)
        r->specials[0] = take_string(r, name);
    if ((name = json_first(json_get(processor, "cls"))).type == JSON_STRING)
        r->specials[1] = take_string(r, name);
    if ((name = json_first(json_get(processor, "sep"))).type == JSON_STRING)
        r->specials[2] = take_string(r, name);
    for (element = json_first(json_get(processor, "single")); element.type; element = json_next(element)) {
        behind |= json_get(element, "Sequence").type != JSON_NONE;
        if ((name = json_get(json_get(element, "SpecialToken"), "id")).type == JSON_STRING)
            r->specials[behind ? 2 : 1] = take_string(r, name);
    }
    snprintf(prefix, sizeof prefix, "%s/%s: ", model->error, tokenizer_json);
    for (i = 0; i < 3 && !r->goes_by_tokenizer; i++)
        if (trie_compare(&named[i], &r->specials[i]))
            text_note(model->notes, prefix, "%s counts here as this file has it; transformers 5 has another one",
                      special_members[i]);
    if (!r->goes_by_tokenizer &&
        (!model->clean_text || model->longest_word != 100 || r->prefix.size != 2 || memcmp(r->prefix.text, "##", 2)))
        text_note(
            model->notes, prefix,
            "clean_text, max_input_chars_per_word and continuing_subword_prefix count here; in transformers 5 they "
            "are true, 100 and \"##\" for a tokenizer_class of BERT's");
}

/* One token stands before a text and one behind it, whichever they are. */
static const char *check_processor(wordpiece *model, const reading *r)
{
    json processor = json_get(r->tokenizer, "post_processor"), part = json_first(json_get(processor, "single"));
    char prefix[TEXT_ERROR + 32];
    int i;
    if (!r->tokenizer.type || has_type(processor, "BertProcessing") || has_type(processor, "RobertaProcessing"))
        return NULL;
    if (processor.type <= JSON_NULL && r->goes_by_tokenizer && r->config.type)
        return text_fail(in(model, tokenizer_json), "post_processor: no tokens stand around a text");
    if (processor.type <= JSON_NULL) {
        snprintf(prefix, sizeof prefix, "%s/%s: ", model->error, tokenizer_json);
        if (!r->goes_by_tokenizer)
            text_note(model->notes, prefix,
                      "post_processor is missing: tokens stand around a text all the same, as in "
                      "transformers 5; not so in 4");
        return NULL;
    }
    for (i = 0; i < 3; i++, part = json_next(part))
        if (!json_get(part, i == 1 ? "Sequence" : "SpecialToken").type)
            break;
    if (!has_type(processor, "TemplateProcessing") || i < 3 || part.type)
        return text_fail(in(model, tokenizer_json), "post_processor: not one token, the text, and one token");
    return NULL;
}

/* An added token, whose id is a number of its own or, if digits are given, the name of the member. */
static const char *read_added(wordpiece *model, reading *r, const char *file, json object, const word *digits)
{
    static const char *const known[] = {"id",         "content", "single_word", "lstrip", "rstrip",
                                        "normalized", "special", "__type",      NULL};
    json content = json_get(object, "content"), number = json_get(object, "id");
    const char *member;
    char text[128];
    int flags;
    word w;
    note_members(model, file, "added tokens", object, known);
    if (digits)
        json_parse(&number, digits->text, digits->size, NULL);
    if (content.type != JSON_STRING || json_string(content, NULL, 0) == 0)
        return text_fail(in(model, file), "an added token without content");
    w = take_string(r, content);
    shown_text(text, sizeof text, w.text, w.size);
    if (w.size > ADDED_MAX)
        return text_fail(in(model, file), "the added token \"%s\" is longer than %d bytes", text, (int)ADDED_MAX);
    if ((member = added_flags(object, &flags)) != NULL)
        return text_fail(in(model, file), "the added token \"%s\": %s is neither true nor false", text, member);
    if (!read_id(number, &w.id))
        return text_fail(in(model, file), "the added token \"%s\" has no id below 2147483647", text);
    return added_push(&model->added, text_of(w.text, w.size), w.id, flags) ? NULL
                                                                           : text_fail(in(model, NULL), TEXT_NO_MEMORY);
}

/* A special token that the vocabulary has, as value says it, with the flags of an object. */
static const char *push_special(wordpiece *model, word w, json value)
{
    int flags;
    if (!w.size || w.size > ADDED_MAX || !find_word(model->words, model->word_count, w.text, w.size))
        return NULL;
    if (value.type != JSON_OBJECT || added_flags(value, &flags))
        flags = 0;
    return added_push(&model->added, text_of(w.text, w.size), 0, flags | ADDED_SPECIAL)
               ? NULL
               : text_fail(in(model, NULL), TEXT_NO_MEMORY);
}

/* Other tokens that files name as special: one, or all of an array or of an object. */
static const char *read_named(wordpiece *model, reading *r, json value)
{
    int has_content = json_get(value, "content").type != JSON_NONE;
    const char *error = NULL;
    json element;
    if (value.type == JSON_STRING || (value.type == JSON_OBJECT && has_content))
        return push_special(model, special(r, value, plain_word("")), value);
    for (element = json_first(value); value.type >= JSON_ARRAY && element.type && !error;
         element = json_next(element)) {
        json token = value.type == JSON_OBJECT ? json_value(element) : element;
        error = push_special(model, special(r, token, plain_word("")), token);
    }
    return error;
}

/* All that a text may have, the most important first: of two that are spelt alike, the first counts, with the flags
   that tokenizer_config.json gives it, if it does. Special tokens that the vocabulary does not have are text. */
static const char *read_all_added(wordpiece *model, reading *r)
{
    static const char *const more[] = {"bos_token", "eos_token", "additional_special_tokens", "extra_special_tokens"};
    json element = json_first(json_get(r->tokenizer, "added_tokens"));
    const char *error = NULL;
    int i;
    for (; element.type && !error; element = json_next(element))
        error = read_added(model, r, tokenizer_json, element, NULL);
    r->begin = model->added.count;
    element = json_first(json_get(r->config, "added_tokens_decoder"));
    for (; element.type && !error; element = json_next(element)) {
        word digits = take_string(r, element);
        error = read_added(model, r, config_json, json_value(element), &digits);
    }
    r->end = model->added.count;
    for (i = 0; i < SPECIALS && !error; i++)
        if (special_of(r, special_members[i]).type != JSON_NULL) /* the model has none, though a text may spell it */
            error = push_special(model, r->specials[i], special_of(r, special_members[i]));
    for (i = 0; i < SPECIALS && !error; i++)
        error = read_named(model, r, special_of(r, special_members[i]));
    for (i = 0; i < 4 && !error; i++)
        error = read_named(model, r, special_of(r, more[i]));
    for (element = json_first(r->added); element.type && !error; element = json_next(element)) {
        word w = take_string(r, element);
        if (!w.size || w.size > ADDED_MAX || !read_id(json_value(element), &w.id))
            error = text_fail(in(model, added_json),
                              "a token that is not of 1 to %d bytes, or has no id below 2147483647", (int)ADDED_MAX);
        else if (!added_push(&model->added, text_of(w.text, w.size), w.id, ADDED_NORMALIZED))
            error = text_fail(in(model, NULL), TEXT_NO_MEMORY);
    }
    return error;
}

/* The spelling of an added token once it is cleaned. */
static const char *clean_token(void *model, text_span text, buffer *out)
{
    buffer spare = {NULL, 0, 0, 0};
    int done = clean((const wordpiece *)model, text.text, text.size, out, &spare);
    free(spare.text);
    return done ? NULL : TEXT_NO_MEMORY;
}

/* Gives added tokens that are words the ids of these, adds the others to the words, and makes what they are found
   with. */
static const char *index_added(wordpiece *model, const reading *r, char cause[ADDED_CAUSE])
{
    size_t vocabulary = model->word_count, i;
    if (!added_unique(&model->added, r->begin, r->end))
        return TEXT_NO_MEMORY;
    for (i = 0; i < model->added.count; i++) {
        added_token *t = &model->added.tokens[i];
        const word *known = find_word(model->words, vocabulary, t->text.text, t->text.size);
        word *w = &model->words[model->word_count];
        if (known) {
            t->id = known->id;
            continue;
        }
        w->text = t->text.text;
        w->size = t->text.size;
        w->id = t->id;
        model->word_count++;
    }
    model->word_count = sort_words(model->words, model->word_count);
    return added_index(&model->added, clean_token, model, cause);
}

/* ---- models ---- */

static const char *read_json(wordpiece *model, const char *file, const char *text, size_t size, json *value)
{
    const char *error;
    size_t where;
    memset(value, 0, sizeof *value);
    if (!text)
        return NULL;
    if (size > FILE_MAX)
        return text_fail(in(model, file), "larger than %d bytes", (int)FILE_MAX);
    if ((error = json_parse(value, text, size, &where)) != NULL)
        return text_fail(in(model, file), "byte %lu: %s", (unsigned long)where, error);
    return value->type == JSON_OBJECT ? NULL : text_fail(in(model, file), "not an object");
}

/* Puts the words in order, and makes what text is cut with: without those that are longer than any word of a text. */
static const char *index_words(wordpiece *model, word prefix)
{
    word *pieces = (word *)malloc((model->word_count + 1) * sizeof *pieces);
    size_t i, count = 0;
    uint32_t node = 0;
    const char *error;
    for (i = 0; i < model->word_count; i++)
        if (model->words[i].id >= model->count)
            model->count = model->words[i].id + 1;
    model->word_count = sort_words(model->words, model->word_count);
    if (!pieces)
        return TEXT_NO_MEMORY;
    for (i = 0; i < model->word_count; i++)
        if (model->words[i].size && model->words[i].size <= prefix.size + 4 * model->longest_word)
            pieces[count++] = model->words[i];
    error = trie_build(&model->pieces, pieces, count);
    free(pieces);
    for (i = 0; !error && i < prefix.size && (node || i == 0); i++)
        node = trie_step(&model->pieces, node, prefix.text[i]);
    model->continuing = node || prefix.size == 0 ? node : UINT32_MAX;
    return error;
}

static const char *read_words(wordpiece *model, reading *r)
{
    const wordpiece_files *f = r->files;
    json vocab = json_get(json_get(r->tokenizer, "model"), "vocab");
    int is_lines = !vocab.type && f->vocab; /* as transformers: where both files have a vocabulary, tokenizer.json's */
    size_t count = is_lines ? lines(f->vocab, f->vocab_size) : json_count(vocab);
    size_t added = SPECIALS + json_count(json_get(r->config, "added_tokens_decoder")) +
                   json_count(json_get(r->tokenizer, "added_tokens")) + json_count(r->added);
    const char *error = NULL;
    char cause[ADDED_CAUSE];
    if (!is_lines && vocab.type != JSON_OBJECT)
        return text_fail(in(model, tokenizer_json), "model.vocab: not an object");
    model->words = (word *)malloc((count + added) * sizeof *model->words);
    if (!model->words)
        return text_fail(in(model, NULL), TEXT_NO_MEMORY);
    if (is_lines) {
        memcpy(r->next, f->vocab, f->vocab_size);
        error = read_lines(model, r->next, f->vocab_size);
        r->next += f->vocab_size;
    } else {
        error = read_members(model, r, vocab);
    }
    if (error)
        return error;
    if ((error = index_words(model, r->prefix)) != NULL)
        return text_fail(in(model, NULL), "%s", error);
    read_specials(model, r);
    if ((error = check_processor(model, r)) != NULL || (error = read_all_added(model, r)) != NULL)
        return error;
    error = index_added(model, r, cause);
    return error ? text_fail(in(model, error == cause ? tokenizer_json : NULL), "%s", error) : NULL;
}

static const char *read_model(wordpiece *model, const wordpiece_files *files)
{
    const char *error;
    char text[128];
    int32_t *ids[SPECIALS];
    size_t i;
    reading r;
    memset(&r, 0, sizeof r);
    r.files = files;
    if (!files->vocab && !files->tokenizer)
        return text_fail(in(model, NULL), "there is neither vocab.txt nor tokenizer.json");
    if (files->vocab_size > FILE_MAX)
        return text_fail(in(model, vocab_txt), "larger than %d bytes", (int)FILE_MAX);
    if ((error = read_json(model, tokenizer_json, files->tokenizer, files->tokenizer_size, &r.tokenizer)) != NULL ||
        (error = read_json(model, config_json, files->config, files->config_size, &r.config)) != NULL ||
        (error = read_json(model, model_json, files->model, files->model_size, &r.model)) != NULL)
        return error;
    if (json_get(r.config, "added_tokens_decoder").type == JSON_NONE &&
        ((error = read_json(model, map_json, files->map, files->map_size, &r.map)) != NULL ||
         (error = read_json(model, added_json, files->added, files->added_size, &r.added)) != NULL))
        return error;
    model->text = r.next = (char *)malloc(files->vocab_size + files->tokenizer_size + files->config_size +
                                          2 * (files->config_size + files->map_size) + files->added_size + 1);
    if (!r.next)
        return text_fail(in(model, NULL), TEXT_NO_MEMORY);
    if ((error = read_options(model, &r)) != NULL || (error = read_words(model, &r)) != NULL)
        return error;
    ids[0] = &model->unk_id;
    ids[1] = &model->cls_id;
    ids[2] = &model->sep_id;
    ids[3] = &model->pad_id;
    ids[4] = &model->mask_id;
    for (i = 0; i < SPECIALS; i++)
        *ids[i] = wordpiece_id(model, r.specials[i].text, r.specials[i].size);
    if (model->unk_id < 0)
        return text_fail(in(model, json_get(json_get(r.tokenizer, "model"), "vocab").type ? tokenizer_json : vocab_txt),
                         "no unknown token, \"%s\"",
                         shown_text(text, sizeof text, r.specials[0].text, r.specials[0].size));
    model->by_id = (word *)malloc(model->word_count * sizeof *model->by_id);
    if (!model->by_id)
        return text_fail(in(model, NULL), TEXT_NO_MEMORY);
    memcpy(model->by_id, model->words, model->word_count * sizeof *model->by_id);
    qsort(model->by_id, model->word_count, sizeof *model->by_id, compare_ids);
    if (model->by_id[model->word_count - 1].id >= model->count) /* empty lines and lines twice have ids as well */
        model->count = model->by_id[model->word_count - 1].id + 1;
    return NULL;
}

/* Gives back everything when there is a message, which stays. */
static const char *finish(wordpiece *model, const char *error)
{
    if (error)
        wordpiece_close(model);
    else
        memset(model->error, 0, sizeof model->error);
    return error;
}

const char *wordpiece_parse(wordpiece *model, const wordpiece_files *files, const char *name)
{
    start(model, name);
    return finish(model, read_model(model, files));
}

/* Reads a file of the directory whole; its text stays NULL if there is none. */
static const char *read_file(wordpiece *model, char *path, size_t length, const char *file, buffer *contents)
{
    const char *cause;
    FILE *stream;
    path[length] = '/';
    strcpy(path + length + 1, file);
    errno = 0;
    if ((stream = fopen(path, "rb")) == NULL)
        return errno == ENOENT || errno == ENOTDIR
                   ? NULL
                   : text_fail(in(model, file), "cannot be opened: %s", strerror(errno));
    if ((cause = text_read(stream, FILE_MAX, contents)) == NULL)
        return NULL;
    return contents->failed ? text_fail(in(model, NULL), cause)
                            : text_fail(in(model, file), "%s: %s", cause, strerror(errno));
}

/* The length of a path without the name of the file, if it ends in that. */
static size_t without(const char *path, size_t length, const char *file)
{
    size_t size = strlen(file);
    if (length > size && path[length - size - 1] == '/' && memcmp(path + length - size, file, size) == 0)
        return length - size - 1;
    return length;
}

const char *wordpiece_open(wordpiece *model, const char *directory)
{
    enum { FILES = 6 };
    static const char *const names[FILES] = {vocab_txt, tokenizer_json, config_json, model_json, map_json, added_json};
    size_t length = strlen(directory), i;
    buffer texts[FILES];
    char *path = (char *)malloc(length + 32);
    const char *error = NULL;
    wordpiece_files files;
    memset(texts, 0, sizeof texts);
    start(model, directory);
    if (!path)
        return finish(model, text_fail(in(model, NULL), TEXT_NO_MEMORY));
    if (strcmp(directory, vocab_txt) == 0 || strcmp(directory, tokenizer_json) == 0) {
        directory = ".";
        length = 1;
    }
    length = without(directory, without(directory, length, vocab_txt), tokenizer_json);
    memcpy(path, directory, length);
    path[length] = 0;
    start(model, path);
    for (i = 0; i < FILES && !error; i++)
        error = read_file(model, path, length, names[i], &texts[i]);
    files.vocab = texts[0].text;
    files.tokenizer = texts[1].text;
    files.config = texts[2].text;
    files.vocab_size = texts[0].size;
    files.tokenizer_size = texts[1].size;
    files.config_size = texts[2].size;
    files.model = texts[3].text;
    files.model_size = texts[3].size;
    files.map = texts[4].text;
    files.map_size = texts[4].size;
    files.added = texts[5].text;
    files.added_size = texts[5].size;
    error = finish(model, error ? error : read_model(model, &files));
    for (i = 0; i < FILES; i++)
        free(texts[i].text);
    free(path);
    return error;
}

void wordpiece_close(wordpiece *model)
{
    trie_free(&model->pieces);
    added_free(&model->added);
    free(model->words);
    free(model->by_id);
    free(model->text);
    memset(model, 0, offsetof(wordpiece, error));
}

int32_t wordpiece_id(const wordpiece *model, const char *text, size_t size)
{
    const word *w = find_word(model->words, model->word_count, text, size);
    return w ? w->id : -1;
}

wordpiece_word wordpiece_token(const wordpiece *model, int32_t id)
{
    word none;
    const word *found;
    none.text = NULL;
    none.size = 0;
    none.id = id;
    found = (const word *)bsearch(&none, model->by_id, model->word_count, sizeof none, compare_ids);
    none.id = -1;
    return found ? *found : none;
}

/* ---- tokens of a text ---- */

typedef struct work {
    const wordpiece *model;
    buffer cleaned, spare;
    wordpiece_tokens *tokens;
    size_t room; /* of their ids */
} work;

static int push(work *w, int32_t id)
{
    return text_push(&w->tokens->ids, &w->tokens->count, &w->room, &id, 1);
}

/* Cuts one word of so many characters. */
static int cut_word(work *w, const char *text, size_t size, size_t characters)
{
    const wordpiece *model = w->model;
    size_t before = w->tokens->count, at = 0;
    while (at < size && characters <= model->longest_word && (at == 0 || model->continuing != UINT32_MAX)) {
        uint32_t node = at ? model->continuing : 0;
        size_t end = at, i = at;
        int32_t id = -1;
        while (i < size && (node = trie_step(&model->pieces, node, text[i])) != 0) {
            i++;
            if (model->pieces.nodes[node].id >= 0) {
                id = model->pieces.nodes[node].id;
                end = i;
            }
        }
        if (end == at)
            break;
        if (!push(w, id))
            return 0;
        at = end;
    }
    if (at == size)
        return 1;
    w->tokens->count = before;
    return push(w, model->unk_id);
}

/* To BERT, every character of ASCII that is printed and neither letter nor digit is punctuation. */
static int is_punctuation(uint32_t code)
{
    if (code >= 0x80)
        return unicode_bert_category(code) == UNICODE_P;
    return is_plain(code) && !(code >= '0' && code <= '9') && !((code | 32) >= 'a' && (code | 32) <= 'z');
}

/* Cuts clean text into words, and these into tokens. */
static int cut_text(work *w, const char *text, size_t size)
{
    size_t begin = 0, characters = 0, at, n;
    uint32_t code;
    for (at = 0; at < size; at += n) {
        int space, alone;
        n = unicode_read(text + at, size - at, &code);
        space = unicode_is_space(code);
        alone = !space && is_punctuation(code);
        characters++;
        if (!space && !alone)
            continue;
        if (!cut_word(w, text + begin, at - begin, characters - 1) || (alone && !cut_word(w, text + at, n, 1)))
            return 0;
        begin = at + n;
        characters = 0;
    }
    return cut_word(w, text + begin, size - begin, characters);
}

/* Text between the added tokens that are found in it as it is spelt is cleaned; what is between those that are found in
   it then, the second time that this is called, is cut. */
static int split(work *w, int is_clean, text_span text)
{
    const added_tokens *added = &w->model->added;
    added_walk walk = added_begin(added, is_clean ? &added->normalized : &added->raw, text);
    for (;;) {
        int more = added_next(&walk);
        text_span before = walk.before;
        if (before.size && is_clean && !cut_text(w, before.text, before.size))
            return 0;
        if (before.size && !is_clean &&
            (!clean(w->model, before.text, before.size, &w->cleaned, &w->spare) || !split(w, 1, text_in(&w->cleaned))))
            return 0;
        if (!more)
            return 1;
        if (walk.place >= 0 && !push(w, added->tokens[walk.place].id))
            return 0;
    }
}

const char *wordpiece_encode(const wordpiece *model, const char *text, size_t size, wordpiece_tokens *tokens)
{
    work w;
    int done;
    memset(&w, 0, sizeof w);
    memset(tokens, 0, sizeof *tokens);
    w.model = model;
    w.tokens = tokens;
    done = split(&w, 0, text_of(text, size));
    free(w.cleaned.text);
    free(w.spare.text);
    if (!done)
        wordpiece_tokens_free(tokens);
    return done ? NULL : TEXT_NO_MEMORY;
}

void wordpiece_tokens_free(wordpiece_tokens *tokens)
{
    free(tokens->ids);
    memset(tokens, 0, sizeof *tokens);
}
