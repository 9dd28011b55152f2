/* bpe_read.c: a model of a tokenizer.json, which is checked as it is read: its parts one after another, the added
   tokens once the vocabulary is known, and the merges once it can be searched. */
#include "bpe_model.h"

enum {
    ID_MAX = 1 << 22,     /* ids are below it; the largest published vocabulary has 262,208 */
    MERGES_MAX = 1 << 22, /* the most merges; published ones are 514,906 */
    TEMPLATE_MAX = 64,    /* parts of a template */
    DEPTH = 4,            /* of sequences within sequences */
    PIECE_MAX = 512,      /* bytes of a piece of Unigram: a text may be looked at so far again from each of its bytes */
    STRING_MAX = 64,      /* bytes of what is written in place of something, and of that: it is looked for everywhere */
    PATTERN_MAX = 2048    /* bytes of a pattern that is compared with those known */
};

/* A message about a string of the file. */
static const char *fail_text(bpe *b, const char *format, string text)
{
    char out[160];
    return text_fail(b->error, format, shown_text(out, sizeof out, text.text, text.size));
}

static const char *fail_json(bpe *b, const char *format, json text)
{
    char out[400], clean[160];
    size_t size = json_string(text, out, sizeof out);
    return text_fail(b->error, format, shown_text(clean, sizeof clean, out, size < sizeof out ? size : sizeof out - 1));
}

/* ---- JSON ---- */

/* What a string spells, kept in the model. Its memory is that of the file, in which each is written once. */
static string take_string(bpe_model *m, json value)
{
    string s = text_of(m->next, json_string(value, m->next, SIZE_MAX));
    m->next += s.size;
    return s;
}

/* A member that is true, false, or absent or null: then `usual`. Returns 0 if it is something else. */
static int read_flag(json value, int usual, int *flag)
{
    *flag = value.type == JSON_TRUE || (usual && value.type != JSON_FALSE);
    return value.type == JSON_TRUE || value.type == JSON_FALSE || value.type == JSON_NULL || value.type == JSON_NONE;
}

static int is_absent(json value)
{
    return value.type == JSON_NONE || value.type == JSON_NULL;
}

/* A member's string, of 1 to STRING_MAX bytes. */
static const char *read_string(bpe *b, json value, const char *what, string *text)
{
    if (value.type != JSON_STRING)
        return text_fail(b->error, "%s: a string is missing", what);
    *text = take_string(b->model, value);
    if (text->size > STRING_MAX)
        return text_fail(b->error, "%s: more than %d bytes", what, (int)STRING_MAX);
    return text->size ? NULL : text_fail(b->error, "%s: an empty string", what);
}

static int type_is(json value, const char *type)
{
    return json_is(json_get(value, "type"), type);
}

static const char *unknown_type(bpe *b, const char *what, json value)
{
    json type = json_get(value, "type");
    text_fail(b->error, "%s: ", what);
    return type.type == JSON_STRING ? fail_json(b, "the type \"%s\" is not known here", type)
                                    : text_fail(b->error, "no type");
}

/* Notes members that nobody knows. what: of what; NULL: of the file. */
static void note_members(bpe *b, const char *what, json object, const char *const *known)
{
    const char *const *lists[2];
    char names[160], shown[200];
    lists[0] = known;
    lists[1] = NULL;
    if (json_others(object, lists, names, sizeof names))
        text_note(b->notes, b->error, "%s%sunknown members are not looked at: %s", what ? what : "", what ? ": " : "",
                  shown_text(shown, sizeof shown, names, strlen(names)));
}

/* The same of a step of a normalizer and its like: the members that any of them has. */
static void note_step(bpe *b, const char *what, json value)
{
    static const char *const known[] = {"type",
                                        "normalizers",
                                        "pretokenizers",
                                        "decoders",
                                        "processors",
                                        "pattern",
                                        "content",
                                        "behavior",
                                        "invert",
                                        "prepend",
                                        "replacement",
                                        "prepend_scheme",
                                        "add_prefix_space",
                                        "split",
                                        "str_rep",
                                        "trim_offsets",
                                        "use_regex",
                                        "individual_digits",
                                        "precompiled_charsmap",
                                        "strip_left",
                                        "strip_right",
                                        "start",
                                        "stop",
                                        "single",
                                        "pair",
                                        "special_tokens",
                                        NULL};
    note_members(b, what, value, known);
}

/* Reads each part of a Sequence by the function that reads such parts. */
static const char *read_each(bpe *b, json parts, const char *(*reader)(bpe *, json, int), int depth)
{
    const char *error = NULL;
    for (parts = json_first(parts); parts.type && !error; parts = json_next(parts))
        error = reader(b, parts, depth);
    return error;
}

/* ---- normalizer ---- */

/* One more step of a normalizer or a pre-tokenizer, all zero; NULL and a message if there are too many. */
static step *add_step(bpe *b, step_kind kind)
{
    bpe_model *m = b->model;
    int cuts = kind == SPLIT || kind == METASPACE, *count = cuts ? &m->cut_steps : &m->normalizer_steps;
    step *s = cuts ? &m->cuts[*count] : &m->normalizer[*count];
    if (*count == STEPS) {
        text_fail(b->error, "%s: more than %d steps", cuts ? "pre_tokenizer" : "normalizer", (int)STEPS);
        return NULL;
    }
    ++*count;
    s->kind = kind;
    return s;
}

/* A pattern that is a string: {"String": "..."}. */
static const char *read_literal(bpe *b, json value, const char *what, string *text)
{
    json literal = json_get(value, "String"), regex = json_get(value, "Regex");
    if (literal.type != JSON_STRING && regex.type == JSON_STRING)
        return fail_json(b, "normalizer or decoder: the pattern \"%s\" is not known here", regex);
    return read_string(b, literal, what, text);
}

/* The value of a digit of base64, or -1. */
static int digit64(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* A charsmap, written in base64. */
static const char *read_precompiled(bpe *b, json value, charsmap *map)
{
    static const char what[] = "normalizer, Precompiled";
    bpe_model *m = b->model;
    json text = json_get(value, "precompiled_charsmap");
    const char *error;
    string s;
    char *out = m->next;
    size_t i;
    uint32_t bits = 0;
    if (text.type != JSON_STRING)
        return text_fail(b->error, "%s: precompiled_charsmap is no string", what);
    s = take_string(m, text);
    while (s.size && s.text[s.size - 1] == '=')
        s.size--;
    for (i = 0; i < s.size; i++) {
        int digit = digit64(s.text[i]);
        if (digit < 0)
            return text_fail(b->error, "%s: precompiled_charsmap is not base64", what);
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4) /* in place: it becomes shorter */
            *out++ = (char)(bits >> (6 - 2 * (i % 4)) & 0xff);
    }
    error = charsmap_read(map, text_of(s.text, (size_t)(out - s.text)));
    return error ? text_fail(b->error, "%s: %s", what, error) : NULL;
}

/* A pattern that is a regular expression: that of spaces. */
static int is_runs(json value)
{
    json pattern = json_get(json_get(value, "pattern"), "Regex");
    return json_is(pattern, " {2,}");
}

static const char *read_normalizer(bpe *b, json value, int depth)
{
    static const struct {
        const char *name;
        step_kind kind;
        unicode_form form;
    } kinds[] = {{"NFC", NORMAL_FORM, UNICODE_NFC},
                 {"NFD", NORMAL_FORM, UNICODE_NFD},
                 {"NFKC", NORMAL_FORM, UNICODE_NFKC},
                 {"NFKD", NORMAL_FORM, UNICODE_NFKD},
                 {"Prepend", PREPEND, UNICODE_NFC},
                 {"Replace", REPLACE, UNICODE_NFC},
                 {"Strip", STRIP, UNICODE_NFC},
                 {"Precompiled", CHARSMAP, UNICODE_NFC},
                 {"Lowercase", LOWER, UNICODE_NFC},
                 {"StripAccents", STRIP_ACCENTS, UNICODE_NFC},
                 {"Nmt", NMT, UNICODE_NFC}};
    const char *error = NULL;
    json inner = json_get(value, "content");
    step *s;
    size_t i = 0;
    note_step(b, "normalizer", value);
    if (is_absent(value))
        return NULL;
    if (type_is(value, "Sequence") && depth < DEPTH)
        return read_each(b, json_get(value, "normalizers"), read_normalizer, depth + 1);
    while (i < sizeof kinds / sizeof *kinds && !type_is(value, kinds[i].name))
        i++;
    if (i == sizeof kinds / sizeof *kinds)
        return unknown_type(b, "normalizer", value);
    if ((s = add_step(b, kinds[i].kind == REPLACE && is_runs(value) ? RUNS : kinds[i].kind)) == NULL)
        return b->error;
    s->form = kinds[i].form;
    if (s->kind == CHARSMAP)
        return read_precompiled(b, value, &s->map);
    if (s->kind == STRIP && (!read_flag(json_get(value, "strip_left"), 0, &s->left) ||
                             !read_flag(json_get(value, "strip_right"), 0, &s->right)))
        return text_fail(b->error, "normalizer, Strip: a member is neither true nor false");
    if (s->kind == PREPEND)
        return read_string(b, json_get(value, "prepend"), "normalizer, Prepend", &s->content);
    if (s->kind == REPLACE)
        error = read_literal(b, json_get(value, "pattern"), "normalizer, Replace", &s->literal);
    if (!error && (s->kind == REPLACE || s->kind == RUNS) && !json_is(inner, "")) /* nothing in its place is allowed */
        error = read_string(b, inner, "normalizer, Replace, content", &s->content);
    return error;
}

/* ---- pre_tokenizer ---- */

static const char *read_behavior(bpe *b, json value, behavior *how)
{
    static const char *const names[] = {"Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext"};
    int i;
    for (i = 0; i < 5; i++)
        if (json_is(value, names[i])) {
            *how = (behavior)i;
            return NULL;
        }
    return value.type == JSON_STRING
               ? fail_json(b, "pre_tokenizer, Split: the behavior \"%s\" is not known here", value)
               : text_fail(b->error, "pre_tokenizer, Split: no behavior");
}

/* A regular expression is looked for among those known: with \r and \n for the characters, which some files have. */
static const char *read_regex(bpe *b, json value, const patterns_regex **found)
{
    string text = take_string(b->model, value);
    char spelled[PATTERN_MAX], out[360];
    size_t i, used = 0;
    for (i = 0; i < text.size && used + 3 < sizeof spelled; i++)
        if (text.text[i] == '\r' || text.text[i] == '\n') {
            spelled[used++] = '\\';
            spelled[used++] = text.text[i] == '\r' ? 'r' : 'n';
        } else {
            spelled[used++] = text.text[i];
        }
    spelled[used] = 0;
    *found = i == text.size && strlen(spelled) == used ? patterns_find(spelled) : NULL;
    if (*found)
        return NULL;
    return text_fail(b->error, "pre_tokenizer: the pattern \"%s\" is not known here",
                     shown_text(out, sizeof out, spelled, used));
}

static const char *read_split(bpe *b, json value)
{
    json what = json_get(value, "pattern");
    step *s = add_step(b, SPLIT);
    if (!s || read_behavior(b, json_get(value, "behavior"), &s->how))
        return b->error;
    if (!read_flag(json_get(value, "invert"), 0, &s->invert))
        return text_fail(b->error, "pre_tokenizer, Split: invert is neither true nor false");
    if (json_get(what, "Regex").type == JSON_STRING)
        return read_regex(b, json_get(what, "Regex"), &s->found);
    return read_literal(b, what, "pre_tokenizer, Split, pattern", &s->literal);
}

static const char *read_byte_level(bpe *b, json value)
{
    step *s;
    int prefix, regex;
    if (!read_flag(json_get(value, "add_prefix_space"), 1, &prefix) ||
        !read_flag(json_get(value, "use_regex"), 1, &regex))
        return text_fail(b->error, "pre_tokenizer, ByteLevel: a member is neither true nor false");
    if (prefix) {
        if ((s = add_step(b, METASPACE)) == NULL)
            return b->error;
        s->literal = s->content = text_word(" ");
    }
    if (regex) {
        if ((s = add_step(b, SPLIT)) == NULL)
            return b->error;
        s->found = patterns_gpt2();
    }
    b->model->bytes = 1;
    return NULL;
}

/* Which texts get the space in front: in older files a member add_prefix_space says so. */
static const char *read_scheme(bpe *b, json value, const char *what, int *prepend)
{
    json scheme = json_get(value, "prepend_scheme"), prefix = json_get(value, "add_prefix_space");
    int wanted;
    if (!read_flag(prefix, 1, &wanted))
        return text_fail(b->error, "%s: add_prefix_space is neither true nor false", what);
    *prepend = json_is(scheme, "first") ? FIRST : json_is(scheme, "never") || !wanted ? NEVER : ALWAYS;
    if (scheme.type != JSON_NONE && !json_is(scheme, "first") && !json_is(scheme, "never") &&
        !json_is(scheme, "always"))
        return text_fail(b->error, "%s: a prepend_scheme that is not known here", what);
    if (!wanted && scheme.type != JSON_NONE && *prepend != NEVER)
        return text_fail(b->error, "%s: add_prefix_space and prepend_scheme contradict each other", what);
    return NULL;
}

static const char *read_metaspace(bpe *b, json value)
{
    static const char what[] = "pre_tokenizer, Metaspace";
    step *s = add_step(b, METASPACE), *split;
    uint32_t character;
    int splits;
    if (!s || read_string(b, json_get(value, "replacement"), what, &s->content) ||
        read_scheme(b, value, what, &s->prepend))
        return b->error;
    s->literal = text_word(" ");
    if (unicode_read(s->content.text, s->content.size, &character) != s->content.size)
        return text_fail(b->error, "%s: replacement is more than a character", what);
    if (!read_flag(json_get(value, "split"), 1, &splits))
        return text_fail(b->error, "%s: split is neither true nor false", what);
    if (!splits)
        return NULL;
    if ((split = add_step(b, SPLIT)) == NULL)
        return b->error;
    split->literal = s->content;
    split->how = WITH_NEXT;
    return NULL;
}

static const char *read_digits(bpe *b, json value)
{
    step *s = add_step(b, SPLIT);
    int single;
    if (!s)
        return b->error;
    if (!read_flag(json_get(value, "individual_digits"), 0, &single))
        return text_fail(b->error, "pre_tokenizer, Digits: individual_digits is neither true nor false");
    s->found = patterns_number();
    s->how = single ? ISOLATED : CONTIGUOUS;
    return NULL;
}

/* Neither a pattern nor a literal: white space. */
static const char *read_white_space(bpe *b)
{
    step *s = add_step(b, SPLIT);
    if (!s)
        return b->error;
    s->how = REMOVED;
    return NULL;
}

static const char *read_pre_tokenizer(bpe *b, json value, int depth)
{
    note_step(b, "pre_tokenizer", value);
    if (is_absent(value))
        return NULL;
    if (type_is(value, "Sequence") && depth < DEPTH)
        return read_each(b, json_get(value, "pretokenizers"), read_pre_tokenizer, depth + 1);
    if (b->model->bytes)
        return text_fail(b->error, "pre_tokenizer: something follows ByteLevel");
    return type_is(value, "ByteLevel")         ? read_byte_level(b, value)
           : type_is(value, "Split")           ? read_split(b, value)
           : type_is(value, "Digits")          ? read_digits(b, value)
           : type_is(value, "Metaspace")       ? read_metaspace(b, value)
           : type_is(value, "WhitespaceSplit") ? read_white_space(b)
                                               : unknown_type(b, "pre_tokenizer", value);
}

/* ---- decoder ---- */

/* The parts of a Sequence in the order in which they may stand, each at most once. */
enum { AT_REPLACE, AT_BYTES, AT_FUSE, AT_STRIP, AT_END };

static const char *read_decoder_part(bpe *b, json value, int *place)
{
    bpe_model *m = b->model;
    static const char *const names[] = {"Replace", "ByteFallback", "Fuse", "Strip"};
    const char *error;
    uint64_t begin, stop;
    int i = 0;
    note_step(b, "decoder", value);
    while (i < AT_END && !type_is(value, names[i]))
        i++;
    if (i == AT_END)
        return unknown_type(b, "decoder", value);
    if (i < *place || (i == AT_STRIP && *place != AT_STRIP))
        return text_fail(b->error, "decoder: %s stands where it is not known here", names[i]);
    *place = i + 1;
    if (i == AT_BYTES)
        m->named_bytes = 1;
    if (i == AT_REPLACE) {
        error = read_literal(b, json_get(value, "pattern"), "decoder, Replace", &m->space);
        return error ? error : read_string(b, json_get(value, "content"), "decoder, Replace", &m->blank);
    }
    if (i == AT_STRIP) {
        if (!json_is(json_get(value, "content"), " ") || !json_uint(json_get(value, "start"), &begin) ||
            !json_uint(json_get(value, "stop"), &stop) || begin > 1 || stop > 0)
            return text_fail(b->error, "decoder: a Strip of anything but one space in front is not known here");
        m->drops_space = (int)begin;
    }
    return NULL;
}

static const char *read_decoder(bpe *b, json value, int depth)
{
    bpe_model *m = b->model;
    const char *error = NULL;
    json inner = json_first(json_get(value, "decoders"));
    int place = AT_REPLACE, prepend;
    note_step(b, "decoder", value);
    if (is_absent(value))
        return NULL;
    if (type_is(value, "Sequence") && inner.type && !json_next(inner).type && depth < DEPTH)
        return read_decoder(b, inner, depth + 1); /* a sequence of one */
    m->decoder = CHARACTERS;
    if (type_is(value, "Sequence")) {
        for (; inner.type && !error; inner = json_next(inner))
            error = read_decoder_part(b, inner, &place);
        return error;
    }
    if (type_is(value, "ByteLevel")) {
        m->decoder = BYTE_LEVEL;
        return NULL;
    }
    if (!type_is(value, "Metaspace"))
        return read_decoder_part(b, value, &place);
    if ((error = read_string(b, json_get(value, "replacement"), "decoder, Metaspace", &m->space)) ||
        (error = read_scheme(b, value, "decoder, Metaspace", &prepend)) != NULL)
        return error;
    m->drops_marks = prepend != NEVER;
    m->blank = text_word(" ");
    return NULL;
}

/* ---- model ---- */

/* Makes `id` one that there is. */
static const char *make_room(bpe *b, uint64_t id)
{
    bpe_model *m = b->model;
    size_t old = m->room;
    token *tokens;
    if (id >= ID_MAX)
        return text_fail(b->error, "the id %llu is too large: published ones are less than %ld", (unsigned long long)id,
                         (long)ID_MAX);
    if (id < (uint64_t)m->count)
        return NULL;
    if ((tokens = (token *)text_grow(m->tokens, sizeof *tokens, (size_t)m->count, (size_t)id + 1 - (size_t)m->count,
                                     &m->room)) == NULL)
        return text_fail(b->error, TEXT_NO_MEMORY);
    memset(tokens + old, 0, (m->room - old) * sizeof *tokens);
    m->tokens = tokens;
    m->count = (int32_t)id + 1;
    return NULL;
}

/* A number as the library reads it, rounded twice: the digits that fit 64 bits as a whole number, and that times a
   power of ten, or by one. Ways to cut a word are often worth the same but for that. Returns 0 if it is no number. */
static int read_score(json number, double *score)
{
    const char *at = number.text;
    uint64_t digits = 0;
    long exponent = 0, given = 0;
    int fraction = 0, full = 0, sign;
    char text[32];
    json power;
    double value, scale = 1;
    volatile double whole;
    if (!json_double(number, &value))
        return 0;
    for (at += *at == '-'; at < number.stop && ((*at >= '0' && *at <= '9') || *at == '.'); at++) {
        unsigned digit = (unsigned)(*at - '0');
        full |= *at != '.' && (digits > UINT64_MAX / 10 || digits * 10 > UINT64_MAX - digit);
        if (*at == '.')
            fraction = 1;
        else if (full)
            exponent += !fraction;
        else
            digits = digits * 10 + digit;
        exponent -= *at != '.' && fraction && !full;
    }
    if (at < number.stop && (*at == 'e' || *at == 'E')) {
        sign = *++at == '-' ? -1 : 1;
        for (at += *at == '-' || *at == '+'; at < number.stop && *at >= '0' && *at <= '9' && given < 100000; at++)
            given = given * 10 + (*at - '0');
        exponent += sign * given;
    }
    snprintf(text, sizeof text, "1e%ld", exponent < 0 ? -exponent : exponent);
    if (exponent < -308 || json_parse(&power, text, strlen(text), NULL) || !json_double(power, &scale))
        return 0;
    whole = (double)digits;
    value = exponent < 0 ? whole / scale : whole * scale;
    *score = *number.text == '-' ? -value : value;
    return 1;
}

/* The pieces of Unigram, each with its score; their places are their ids. */
static const char *read_pieces(bpe *b, json vocabulary)
{
    bpe_model *m = b->model;
    const char *error;
    json piece;
    int32_t id = 0;
    if ((m->scores = (double *)malloc((json_count(vocabulary) + 1) * sizeof *m->scores)) == NULL)
        return text_fail(b->error, TEXT_NO_MEMORY);
    for (piece = json_first(vocabulary); piece.type; piece = json_next(piece), id++) {
        json name = json_first(piece), score = json_next(name);
        if (piece.type != JSON_ARRAY || name.type != JSON_STRING || !read_score(score, &m->scores[id]) ||
            json_next(score).type)
            return text_fail(b->error, "model.vocab, number %ld: not a piece and its score", (long)id);
        if ((error = make_room(b, (uint64_t)id)) != NULL)
            return error;
        m->tokens[id].flags = IN_VOCABULARY;
        m->tokens[id].text = take_string(m, name);
        if (m->tokens[id].text.size > PIECE_MAX)
            return text_fail(b->error, "model.vocab, number %ld: more than %d bytes", (long)id, (int)PIECE_MAX);
        m->longest = m->tokens[id].text.size > m->longest ? m->tokens[id].text.size : m->longest;
    }
    m->vocabulary = (size_t)id;
    return id ? NULL : text_fail(b->error, "model.vocab is empty");
}

static const char *read_vocabulary(bpe *b, json vocabulary, json type)
{
    bpe_model *m = b->model;
    const char *error;
    json name;
    token *t;
    if (vocabulary.type == JSON_ARRAY && !json_is(type, "BPE"))
        return read_pieces(b, vocabulary);
    if (json_is(type, "Unigram"))
        return text_fail(b->error, "model.vocab is missing, or no array");
    if (vocabulary.type != JSON_OBJECT)
        return text_fail(b->error, "model.vocab is missing, or no object");
    for (name = json_first(vocabulary); name.type; name = json_next(name)) {
        uint64_t id;
        if (!json_uint(json_value(name), &id))
            return fail_json(b, "model.vocab: the id of \"%s\" is no whole number", name);
        if ((error = make_room(b, id)) != NULL)
            return error;
        t = &m->tokens[id];
        if (t->flags)
            return text_fail(b->error, "model.vocab: two tokens have the id %lu", (unsigned long)id);
        t->flags = IN_VOCABULARY;
        t->text = take_string(m, name);
        m->longest = t->text.size > m->longest ? t->text.size : m->longest;
        m->vocabulary++;
    }
    return m->count ? NULL : text_fail(b->error, "model.vocab is empty");
}

/* The spellings of a merge's two sides and of both together, until a string is taken again; 0 if it is neither "a b"
   nor ["a", "b"]. */
static int spell_merge(bpe_model *m, json value, string sides[3])
{
    json left = json_first(value), right = json_next(left);
    char *begin = m->next, *space;
    string text;
    if (value.type == JSON_STRING) {
        text = take_string(m, value);
        space = (char *)memchr(begin, ' ', text.size);
        if (!space || memchr(space + 1, ' ', text.size - (size_t)(space + 1 - begin)))
            return 0;
        memmove(space, space + 1, text.size - (size_t)(space + 1 - begin));
        sides[0] = text_of(begin, (size_t)(space - begin));
        sides[2] = text_of(begin, text.size - 1);
        sides[1] = text_from(sides[2], sides[0].size);
    } else {
        sides[0] = take_string(m, left);
        sides[1] = take_string(m, right);
        sides[2] = text_of(begin, sides[0].size + sides[1].size);
    }
    m->next = begin;
    return value.type == JSON_STRING || (value.type == JSON_ARRAY && left.type == JSON_STRING &&
                                         right.type == JSON_STRING && !json_next(right).type);
}

static const char *read_merge(bpe *b, json value, int32_t rank)
{
    bpe_model *m = b->model;
    string sides[3];
    int32_t ids[3];
    merge *slot;
    int i;
    if (!spell_merge(m, value, sides))
        return text_fail(b->error, "model.merges, number %ld: neither \"a b\" nor [\"a\", \"b\"]", (long)rank);
    for (i = 0; i < 3; i++)
        if ((ids[i] = find_in_vocabulary(m, sides[i])) < 0)
            return fail_text(b, "model.merges: \"%s\" is not in model.vocab", sides[i]);
    if ((slot = merge_slot(m, ids[0], ids[1])) == NULL)
        return text_fail(b->error, "model.merges collide in the hash table");
    slot->left = ids[0];
    slot->right = ids[1];
    slot->id = ids[2];
    slot->rank = rank; /* of two merges of the same, the last */
    return NULL;
}

static const char *read_merges(bpe *b, json merges)
{
    bpe_model *m = b->model;
    const char *error = NULL;
    size_t count = json_count(merges), i;
    int32_t rank = 0;
    json value;
    if (merges.type != JSON_ARRAY)
        return text_fail(b->error, "model.merges is missing, or no array");
    if (count > MERGES_MAX)
        return text_fail(b->error, "model.merges: more than %ld", (long)MERGES_MAX);
    m->merge_mask = text_slots(count) - 1;
    if ((m->merges = (merge *)malloc(((size_t)m->merge_mask + 1) * sizeof *m->merges)) == NULL)
        return text_fail(b->error, TEXT_NO_MEMORY);
    for (i = 0; i <= m->merge_mask; i++)
        m->merges[i].id = -1;
    for (value = json_first(merges); value.type && !error; value = json_next(value)) {
        if (value.type == JSON_STRING && rank == 0 && json_string(value, NULL, 0) > 8) {
            char head[10];
            json_string(value, head, sizeof head);
            if (strncmp(head, "#version", 8) == 0)
                continue; /* the first line of merges.txt */
        }
        error = read_merge(b, value, rank++);
    }
    return error;
}

/* What tokens are found in by their spelling. */
static const char *index_tokens(bpe *b)
{
    bpe_model *m = b->model;
    int32_t id, *slot;
    if (!text_index_make(&m->index, m->tokens, sizeof *m->tokens, (size_t)m->count))
        return text_fail(b->error, TEXT_NO_MEMORY);
    for (id = 0; id < m->count; id++) {
        if (!m->tokens[id].flags)
            continue;
        if ((slot = text_index_slot(&m->index, m->tokens[id].text)) == NULL)
            return text_fail(b->error, "tokens collide in the hash table");
        if (*slot >= 0)
            return fail_text(b, "the token \"%s\" has two ids", m->tokens[id].text);
        *slot = id;
    }
    return NULL;
}

static const char *index_pieces(bpe *b)
{
    const char *error = bpe_index_pieces(b->model);
    return error ? text_fail(b->error, "model.vocab: %s", error) : NULL;
}

/* Members that change how words are cut, in ways that no published decoder uses. */
static const char *check_model(bpe *b, json name)
{
    static const char *const unknown[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    json value = json_value(name);
    double dropout;
    int i;
    for (i = 0; i < 2; i++)
        if (json_is(name, unknown[i]) && !is_absent(value) && !json_is(value, ""))
            return text_fail(b->error, "model.%s is not known here", unknown[i]);
    if (json_is(name, "dropout") && !is_absent(value) && (!json_double(value, &dropout) || dropout < 0 || dropout > 0))
        return text_fail(b->error, "model.dropout: tokens would be drawn by chance");
    if (json_is(name, "type") && !is_absent(value) && !json_is(value, "BPE") && !json_is(value, "Unigram"))
        return fail_json(b, "model.type is \"%s\", and not BPE or Unigram", value);
    return NULL;
}

/* The parts of "model" that are read after all tokens are known. */
typedef struct parts {
    json type, vocabulary, merges, unknown, unknown_id;
} parts;

static const char *read_model(bpe *b, json value, parts *p)
{
    static const char *const names[] = {"type", "vocab", "merges", "unk_token", "unk_id"};
    static const char *const known[] = {"type",
                                        "dropout",
                                        "unk_token",
                                        "unk_id",
                                        "continuing_subword_prefix",
                                        "end_of_word_suffix",
                                        "fuse_unk",
                                        "byte_fallback",
                                        "ignore_merges",
                                        "vocab",
                                        "merges",
                                        NULL};
    json *members[] = {&p->type, &p->vocabulary, &p->merges, &p->unknown, &p->unknown_id};
    bpe_model *m = b->model;
    const char *error = NULL;
    json name;
    int i;
    note_members(b, "model", value, known);
    memset(p, 0, sizeof *p);
    if (value.type != JSON_OBJECT)
        return text_fail(b->error, "\"model\" is missing, or no object");
    for (name = json_first(value); name.type && !error; name = json_next(name)) {
        json member = json_value(name);
        int *flag = json_is(name, "byte_fallback")   ? &m->byte_fallback
                    : json_is(name, "fuse_unk")      ? &m->fuse_unk
                    : json_is(name, "ignore_merges") ? &m->ignore_merges
                                                     : NULL;
        if (flag && !read_flag(member, 0, flag))
            return fail_json(b, "model.%s is neither true nor false", name);
        for (i = 0; i < 5; i++)
            if (json_is(name, names[i]))
                *members[i] = member;
        error = check_model(b, name);
    }
    return error;
}

static const char *read_unknown(bpe *b, json value, json number)
{
    bpe_model *m = b->model;
    uint64_t id;
    m->unk_id = -1;
    if (m->scores) {
        if (!json_uint(number, &id) || id >= m->vocabulary)
            return text_fail(b->error, "model.unk_id is not the id of a piece");
        m->unk_id = (int32_t)id;
        return NULL;
    }
    if (is_absent(value))
        return NULL;
    m->unk_id = find_in_vocabulary(m, take_string(m, value));
    return m->unk_id >= 0 ? NULL : fail_json(b, "model.unk_token, \"%s\", is not in model.vocab", value);
}

/* The tokens that words begin as, where they are spelt byte by byte. */
static void find_bytes(bpe_model *m)
{
    char text[4];
    int byte;
    for (byte = 0; byte < 256; byte++)
        m->byte_ids[byte] = find_in_vocabulary(m, character_of(text, (char)byte));
}

/* ---- added_tokens ---- */

static const char *push_added(bpe *b, int32_t id, int flags)
{
    bpe_model *m = b->model;
    token *t = &m->tokens[id];
    t->flags = (t->flags & ~SPECIAL) | ADDED | (flags & ADDED_SPECIAL ? SPECIAL : 0);
    if (m->scores && text_begins(t->text, text_word("<extra_id_")))
        flags &= ~ADDED_SPECIAL; /* sentinels are found in any text, and say nothing */
    return added_push(&m->added, t->text, id, flags) ? NULL : text_fail(b->error, TEXT_NO_MEMORY);
}

static const char *read_added(bpe *b, json value, int depth)
{
    static const char *const known[] = {"id",     "content",    "single_word", "lstrip",
                                        "rstrip", "normalized", "special",     NULL};
    bpe_model *m = b->model;
    json content = json_get(value, "content");
    string text;
    const char *error;
    int flags;
    char out[160];
    uint64_t id;
    token *t;
    (void)depth;
    note_members(b, "added_tokens", value, known);
    if (content.type != JSON_STRING)
        return text_fail(b->error, "added_tokens: one has no content");
    if (json_is(content, ""))
        return NULL; /* the library skips it */
    if (!json_uint(json_get(value, "id"), &id))
        return fail_json(b, "added_tokens: the id of \"%s\" is no whole number", content);
    if ((error = added_flags(value, &flags)) != NULL)
        return text_fail(b->error, "added_tokens, id %llu: %s is neither true nor false", (unsigned long long)id,
                         error);
    if ((error = make_room(b, id)) != NULL)
        return error;
    text = take_string(m, content);
    if (text.size > ADDED_MAX)
        return fail_text(b, "added_tokens: \"%s\" has more than 512 bytes", text);
    t = &m->tokens[id];
    if (t->flags & ADDED)
        return text_fail(b->error, "added_tokens: two have the id %lu", (unsigned long)id);
    if (t->flags && text_compare(t->text, text))
        return fail_text(b, "added_tokens: \"%s\" has the id of another token of model.vocab", text);
    if (!t->flags && id != m->vocabulary + m->others++)
        text_note(b->notes, b->error, "added_tokens: the tokenizers library gives \"%s\" another id than %lu",
                  shown_text(out, sizeof out, text.text, text.size), (unsigned long)id);
    t->text = text;
    return push_added(b, (int32_t)id, flags);
}

static const char *read_all_added(bpe *b, json added)
{
    if (!is_absent(added) && added.type != JSON_ARRAY)
        return text_fail(b->error, "added_tokens is no array");
    return read_each(b, added, read_added, 0);
}

/* The spelling of an added token as the normalizer writes it. */
static const char *normalize_token(void *model, text_span text, buffer *out)
{
    buffer spare = {NULL, 0, 0, 0};
    size_t room = ADDED_MAX, first = 0;
    const char *error = bpe_normalize((const bpe_model *)model, text, out, &spare, &room, &first);
    int failed = spare.failed;
    free(spare.text);
    return failed ? TEXT_NO_MEMORY : error && !out->failed ? "the normalizer makes more than 512 bytes of it" : error;
}

static const char *index_added(bpe *b)
{
    bpe_model *m = b->model;
    char cause[ADDED_CAUSE];
    const char *error = added_index(&m->added, m->normalizer_steps ? normalize_token : NULL, m, cause);
    m->growth = m->added.longest > LONG ? GROWTH_LONG : GROWTH;
    return error ? text_fail(b->error, "added_tokens: %s", error) : NULL;
}

const char *bpe_amend(bpe *b, json tokens, const char *name)
{
    bpe_model *m = b->model;
    size_t before = m->added.count;
    const char *error = NULL, *member;
    text_begin_message(b->error, name, ": ");
    for (json key = json_first(tokens); key.type && !error; key = json_next(key)) {
        char text[ADDED_MAX + 1], shown[160];
        json content = json_get(json_value(key), "content");
        size_t size = json_string(content, text, sizeof text);
        int32_t id = size > 0 && size <= ADDED_MAX ? find_token(m, text_of(text, size)) : -1;
        int flags;
        if (id < 0)
            continue;
        error = (member = added_flags(json_value(key), &flags)) == NULL
                    ? push_added(b, id, flags)
                    : text_fail(b->error, "the token \"%s\": %s is neither true nor false",
                                shown_text(shown, sizeof shown, text, size), member);
    }
    if (!error && m->added.count > before) {
        if (!added_unique(&m->added, before, m->added.count))
            return text_fail(b->error, TEXT_NO_MEMORY);
        trie_free(&m->added.raw);
        trie_free(&m->added.normalized);
        m->added.longest = 0;
        error = index_added(b);
    }
    if (!error)
        b->error[0] = 0;
    return error;
}

/* ---- post_processor ---- */

/* The ids of a special token of a template. */
static const char *read_special(bpe *b, json specials, json name, bpe_tokens *tokens, size_t *room)
{
    json member, ids = {JSON_NONE, NULL, NULL};
    int32_t known;
    uint64_t id;
    for (member = json_first(specials); member.type; member = json_next(member))
        if (json_compare(member, name) == 0)
            ids = json_get(json_value(member), "ids");
    if (name.type != JSON_STRING || ids.type != JSON_ARRAY)
        return fail_json(b, "post_processor: \"%s\" is not among its special_tokens", name);
    for (ids = json_first(ids); ids.type; ids = json_next(ids)) {
        if (!json_uint(ids, &id) || id >= (uint64_t)b->count || !b->model->tokens[id].flags)
            return fail_json(b, "post_processor: \"%s\" has an id that the model does not have", name);
        known = (int32_t)id;
        if (!text_push(&tokens->ids, &tokens->count, room, &known, 1))
            return text_fail(b->error, TEXT_NO_MEMORY);
    }
    return NULL;
}

static const char *read_post_processor(bpe *b, json value, int depth)
{
    const char *error = NULL;
    size_t room[2] = {0, 0};
    int texts = 0, items = 0;
    json item;
    note_step(b, "post_processor", value);
    if (is_absent(value) || type_is(value, "ByteLevel"))
        return NULL;
    if (type_is(value, "Sequence") && depth < DEPTH)
        return read_each(b, json_get(value, "processors"), read_post_processor, depth + 1);
    if (!type_is(value, "TemplateProcessing"))
        return unknown_type(b, "post_processor", value);
    if (b->before.count || b->after.count)
        return text_fail(b->error, "post_processor: two templates");
    for (item = json_first(json_get(value, "single")); item.type && !error; item = json_next(item)) {
        json special = json_get(item, "SpecialToken");
        if (++items > TEMPLATE_MAX)
            return text_fail(b->error, "post_processor: a template of more than %d parts", (int)TEMPLATE_MAX);
        if (special.type == JSON_OBJECT)
            error = read_special(b, json_get(value, "special_tokens"), json_get(special, "id"),
                                 texts ? &b->after : &b->before, &room[texts != 0]);
        else
            texts += json_get(item, "Sequence").type == JSON_OBJECT;
    }
    if (!error && texts != 1)
        return text_fail(b->error, "post_processor: \"single\" is not the template of one text");
    return error;
}

/* ---- classes of transformers 5 ---- */

static int is_text(string s, const char *want)
{
    return text_compare(s, text_word(want)) == 0;
}

static int made_for(const bpe_model *m)
{
    static const char mark[] = "\xe2\x96\x81", qwen2[] =
                                                   "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
                                                   "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    const step *normal = m->normalizer, *first = m->cuts;
    int prepends = m->normalizer_steps == 2 && normal->kind == PREPEND && is_text(normal->content, mark);
    int marks = (m->normalizer_steps == 1 || prepends) && normal[prepends].kind == REPLACE &&
                is_text(normal[prepends].literal, " ") && is_text(normal[prepends].content, mark);
    int metaspace =
        !m->normalizer_steps && m->cut_steps == 1 && first->kind == METASPACE && is_text(first->content, mark);
    int of_bytes = m->byte_fallback && m->fuse_unk && !m->ignore_merges && !m->bytes && !m->scores;
    return (of_bytes && ((marks && m->cut_steps == 0) || metaspace)
                ? BPE_OF_LLAMA | (prepends || (metaspace && first->prepend == ALWAYS) ? BPE_OF_LEGACY : 0) |
                      (prepends ? BPE_OF_SPACES : 0)
                : 0) |
           (of_bytes && marks && !prepends &&
                    (m->cut_steps == 0 || (m->cut_steps == 1 && first->kind == SPLIT && is_text(first->literal, " ")))
                ? BPE_OF_GEMMA
                : 0) |
           (m->bytes && m->normalizer_steps == 1 && normal->kind == NORMAL_FORM && normal->form == UNICODE_NFC &&
                    m->cut_steps == 1 && first->found == patterns_find(qwen2) && first->how == ISOLATED &&
                    !first->invert
                ? BPE_OF_QWEN2
                : 0) |
           (m->bytes && !m->normalizer_steps && m->cut_steps == 1 && first->found == patterns_gpt2() && !first->invert
                ? BPE_OF_GPT2
                : 0);
}

const char *bpe_read(bpe *b, json root)
{
    static const char *const names[] = {"normalizer",     "pre_tokenizer", "decoder",    "model",   "added_tokens",
                                        "post_processor", "version",       "truncation", "padding", NULL};
    enum { NORMALIZER, PRE_TOKENIZER, DECODER, MODEL, ADDED_TOKENS, POST_PROCESSOR, VERSION, MEMBERS };
    bpe_model *m = b->model;
    json members[MEMBERS], name;
    const char *error;
    parts p;
    int i;
    memset(members, 0, sizeof members);
    m->next = m->strings;
    if (root.type != JSON_OBJECT)
        return text_fail(b->error, "no object");
    for (name = json_first(root); name.type; name = json_next(name))
        for (i = 0; i < MEMBERS; i++)
            if (json_is(name, names[i]))
                members[i] = json_value(name);
    note_members(b, NULL, root, names);
    if (members[VERSION].type && !json_is(members[VERSION], "1.0"))
        return text_fail(b->error, "version is not \"1.0\", which alone is known here");
    if ((error = read_model(b, members[MODEL], &p)) != NULL ||
        (error = read_normalizer(b, members[NORMALIZER], 0)) != NULL ||
        (error = read_pre_tokenizer(b, members[PRE_TOKENIZER], 0)) != NULL ||
        (error = read_decoder(b, members[DECODER], 0)) != NULL ||
        (error = read_vocabulary(b, p.vocabulary, p.type)) != NULL ||
        (error = read_all_added(b, members[ADDED_TOKENS])) != NULL || (error = index_tokens(b)) != NULL ||
        (error = read_unknown(b, p.unknown, p.unknown_id)) != NULL ||
        (error = m->scores ? index_pieces(b) : read_merges(b, p.merges)) != NULL)
        return error;
    find_bytes(m);
    if (m->scores && m->bytes)
        return text_fail(b->error, "pre_tokenizer: ByteLevel is not known before a Unigram model");
    b->byte_level = type_is(members[PRE_TOKENIZER], "ByteLevel");
    b->bytes = m->bytes;
    b->made_for = made_for(m);
    b->space_first = (m->cut_steps && m->cuts[0].kind == METASPACE && m->cuts[0].prepend != NEVER) ||
                     (m->normalizer_steps && m->normalizer[0].kind == PREPEND);
    b->count = m->count;
    b->unk_id = m->unk_id;
    if ((error = index_added(b)) != NULL)
        return error;
    return read_post_processor(b, members[POST_PROCESSOR], 0);
}
