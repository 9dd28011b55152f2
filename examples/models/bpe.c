#include "bpe.h"
#include "json.h"
#include "patterns.h"
#include "shown.h"
#include "trie.h"
#include "unicode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

enum {
    FILE_MAX = 1 << 27,   /* bytes of a file; published ones have 34 MB at most */
    TEXT_MAX = 1 << 30,   /* bytes of a text to encode */
    ID_MAX = 1 << 22,     /* ids are below it; the largest published vocabulary has 262,208 */
    MERGES_MAX = 1 << 22, /* the most merges; published ones are 514,906 */
    TEMPLATE_MAX = 64,    /* parts of a template */
    DEPTH = 4,            /* of sequences within sequences */
    ADDED_MAX = 512,      /* bytes of an added token, as the file and as the normalizer writes it: a text may be looked
                             at so far again from each of its bytes */
    STEPS = 16,           /* of a normalizer, or of a pre-tokenizer */
    STRING_MAX = 64,      /* bytes of what is written in place of something, and of that: it is looked for everywhere */
    LONG = 128,           /* a normalizer makes a text of n bytes GROWTH n + SLACK at most; if it writes an added */
    GROWTH = 16,          /* token with more than LONG bytes, GROWTH_LONG n + SLACK, for then there is more to look */
    GROWTH_LONG = 4,      /* at again. Spaces alone become 3 n; U+FDFA alone, which NFKC makes longer than any */
    SLACK = 4096,         /* other, 11 n */
    PROBES = 256,         /* slots of a hash table that a key may be away from its own */
    PATTERN_MAX = 2048    /* bytes of a pattern that is compared with those known */
};

#define NONE UINT32_MAX /* no position, no character */

typedef struct string {
    const char *text; /* not ended by a NUL */
    size_t size;
} string;

static string make_string(const char *text, size_t size)
{
    string s;
    s.text = text;
    s.size = size;
    return s;
}

static string part(string s, size_t begin, size_t end)
{
    return make_string(s.text + begin, end - begin);
}

/* Bytes that grow. After a lack of memory, appending does nothing. */
typedef struct buffer {
    char *text;
    size_t size, room;
    int failed;
} buffer;

static int reserve(buffer *b, size_t more)
{
    char *text = NULL;
    size_t room;
    if (!b->failed && more <= b->room - b->size)
        return 1;
    room = b->room + b->room / 2 + 64;
    if (!b->failed && more < SIZE_MAX / 4 && b->size < SIZE_MAX / 4) {
        room = room < b->size + more ? b->size + more : room;
        text = (char *)realloc(b->text, room);
    }
    if (!text) {
        b->failed = 1;
        return 0;
    }
    b->text = text;
    b->room = room;
    return 1;
}

static void append(buffer *b, const char *text, size_t size)
{
    if (size && reserve(b, size)) {
        memcpy(b->text + b->size, text, size);
        b->size += size;
    }
}

/* ---- a model in memory ---- */

typedef enum behavior { ISOLATED, REMOVED, CONTIGUOUS, WITH_PREVIOUS, WITH_NEXT } behavior;

typedef enum step_kind {
    SPLIT,       /* into what `found` or the literal matches, and what lies between */
    PREFIX,      /* puts a space in front */
    METASPACE,   /* writes `literal` for each space, and in front */
    NORMAL_FORM, /* the last three are a normalizer's */
    PREPEND,
    REPLACE
} step_kind;

enum { ALWAYS, FIRST, NEVER };

typedef struct step {
    step_kind kind;
    const patterns_regex *found;                           /* NULL: the literal */
    uint32_t literal, literal_size, content, content_size; /* in model->strings */
    behavior how;
    int invert;
    int prepend; /* which texts METASPACE writes one in front of */
    unicode_form form;
} step;

enum { IN_VOCABULARY = 1, ADDED = 2, SPECIAL = 4, SINGLE_WORD = 8, LSTRIP = 16, RSTRIP = 32, NORMALIZED = 64 };

typedef struct token {
    uint32_t text, size; /* in model->strings */
    int flags;           /* 0: no token has this id */
} token;

typedef struct merge {
    int32_t left, right, id; /* id < 0: an empty slot */
    int32_t rank;
} merge;

enum { SPELLINGS, BYTE_LEVEL, CHARACTERS }; /* what the decoder makes texts from */

typedef struct bpe_model {
    token *tokens;
    int32_t count;
    buffer strings;
    size_t longest; /* bytes of a token of the vocabulary */
    size_t growth;  /* GROWTH, or GROWTH_LONG */

    int32_t *index;      /* a hash table of ids by spelling, -1 in empty slots */
    merge *merges;       /* one of merges by their two ids */
    uint32_t index_mask; /* slots less one */
    uint32_t merge_mask;

    int ignore_merges, byte_fallback, fuse_unk;
    int32_t unk_id;

    step normalizer[STEPS], cuts[STEPS];
    int normalizer_steps, cut_steps;
    int bytes; /* words are spelt byte by byte */
    int32_t byte_ids[256];
    trie raw, normalized; /* added tokens that are looked for before and after the normalizer */

    int decoder;
    uint32_t space, space_size, blank, blank_size; /* CHARACTERS: what is written as what, in strings */
    int drops_space;                               /* Strip: the one that a text begins with */
    int drops_marks;                               /* Metaspace: in a text's first token, all that stand for spaces */
    int named_bytes;                               /* <0x00> to <0xFF> are bytes */
} bpe_model;

static string token_text(const bpe_model *m, int32_t id)
{
    return make_string(m->strings.text + m->tokens[id].text, m->tokens[id].size);
}

/* ---- messages ---- */

/* An empty model, whose messages will begin with its name. */
static void start(bpe *b, const char *name)
{
    char text[SHOWN_NAME];
    memset(b, 0, sizeof *b);
    snprintf(b->error, sizeof b->error, "%s: ", shown_name(text, name));
}

static const char *fail(bpe *b, const char *format, ...)
{
    size_t used = strlen(b->error);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(b->error + used, sizeof b->error - used, format, arguments);
    va_end(arguments);
    return b->error;
}

static const char no_memory[] = "no memory";

/* A message about a string of the file. */
static const char *fail_text(bpe *b, const char *format, string text)
{
    char out[160];
    return fail(b, format, shown_text(out, sizeof out, text.text, text.size));
}

static const char *fail_json(bpe *b, const char *format, json text)
{
    char out[400], clean[160];
    size_t size = json_string(text, out, sizeof out);
    return fail(b, format, shown_text(clean, sizeof clean, out, size < sizeof out ? size : sizeof out - 1));
}

/* ---- reading JSON ---- */

/* Appends what a string spells, and returns its size; b->failed tells of a lack of memory. */
static size_t append_json(buffer *b, json text)
{
    size_t size;
    if (!reserve(b, 64))
        return 0;
    size = json_string(text, b->text + b->size, b->room - b->size);
    if (size >= b->room - b->size) {
        if (!reserve(b, size + 1))
            return 0;
        json_string(text, b->text + b->size, b->room - b->size);
    }
    b->size += size;
    return size;
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

/* Keeps a member's string, of 1 to STRING_MAX bytes, in model->strings. */
static const char *read_string(bpe *b, json value, const char *what, uint32_t *text, uint32_t *size)
{
    bpe_model *m = b->model;
    if (value.type != JSON_STRING)
        return fail(b, "%s: a string is missing", what);
    *text = (uint32_t)m->strings.size;
    *size = (uint32_t)append_json(&m->strings, value);
    if (m->strings.failed)
        return fail(b, no_memory);
    if (*size > STRING_MAX)
        return fail(b, "%s: more than %d bytes", what, (int)STRING_MAX);
    return *size ? NULL : fail(b, "%s: an empty string", what);
}

/* ---- the two hash tables ---- */

static uint32_t hash_more(uint32_t hash, const char *text, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static uint32_t mixed(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

static uint32_t hash_string(string s)
{
    return mixed(hash_more(2166136261u, s.text, s.size));
}

static uint32_t hash_pair(int32_t left, int32_t right)
{
    return mixed((uint32_t)left * 0x9e3779b1u ^ mixed((uint32_t)right));
}

/* The slots of a table for so many keys: a power of 2, at least twice as many. */
static uint32_t slots_for(size_t count)
{
    uint32_t slots = 16;
    while (slots / 2 < count)
        slots *= 2;
    return slots;
}

/* The slot where a spelling is, or the empty one where it belongs; NONE: neither within PROBES slots. */
static uint32_t slot_of(const bpe_model *m, string s)
{
    uint32_t slot = hash_string(s), i;
    for (i = 0; i < PROBES; i++, slot++) {
        int32_t id = m->index[slot & m->index_mask];
        if (id < 0 || (m->tokens[id].size == s.size && memcmp(token_text(m, id).text, s.text, s.size) == 0))
            return slot & m->index_mask;
    }
    return NONE;
}

static int32_t find_token(const bpe_model *m, string s)
{
    uint32_t slot = slot_of(m, s);
    return slot == NONE ? -1 : m->index[slot];
}

/* Added tokens that are not in the vocabulary are unknown to the merges. */
static int32_t find_in_vocabulary(const bpe_model *m, string s)
{
    int32_t id = s.size > m->longest ? -1 : find_token(m, s);
    return id >= 0 && m->tokens[id].flags & IN_VOCABULARY ? id : -1;
}

static merge *merge_slot(const bpe_model *m, int32_t left, int32_t right)
{
    uint32_t slot = hash_pair(left, right), i;
    for (i = 0; i < PROBES; i++, slot++) {
        merge *at = &m->merges[slot & m->merge_mask];
        if (at->id < 0 || (at->left == left && at->right == right))
            return at;
    }
    return NULL;
}

static const merge *find_merge(const bpe_model *m, int32_t left, int32_t right)
{
    const merge *found = merge_slot(m, left, right);
    return found && found->id >= 0 ? found : NULL;
}

/* ---- bytes as characters: GPT-2's table, in which every byte is one that prints ---- */

static int is_printed(uint32_t byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xff && byte != 0xad);
}

/* The others follow one another from U+0100 on: 0 to 32, 127 to 160, 173. */
static uint32_t character_of(unsigned char byte)
{
    return is_printed(byte) ? byte : byte <= 32 ? 0x100u + byte : byte <= 160 ? 0x121u + (byte - 127u) : 0x143;
}

/* The byte that a character stands for, or -1. */
static int byte_of(uint32_t c)
{
    if (c < 0x100)
        return is_printed(c) ? (int)c : -1;
    return c <= 0x120 ? (int)(c - 0x100) : c <= 0x142 ? (int)(c - 0x121 + 127) : c == 0x143 ? 173 : -1;
}

/* The byte that <0x00> to <0xFF> stands for, or -1. */
static int named_byte(string s)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *high, *low;
    if (s.size != 6 || memcmp(s.text, "<0x", 3) || s.text[5] != '>')
        return -1;
    high = (const char *)memchr(digits, s.text[3], 32);
    low = (const char *)memchr(digits, s.text[4], 32);
    return high && low ? (int)(high - digits) % 16 * 16 + (int)(low - digits) % 16 : -1;
}

/* ---- characters ---- */

/* The character at a byte, and where the next begins. At the end: NONE. */
static uint32_t read_at(string t, size_t at, size_t *next)
{
    uint32_t c = NONE;
    *next = at < t.size ? at + unicode_read(t.text + at, t.size - at, &c) : at;
    return c;
}

static int is_space(uint32_t c)
{
    return c != NONE && unicode_is_space(c);
}

/* ---- reading: normalizer ---- */

static int type_is(json value, const char *type)
{
    return json_is(json_get(value, "type"), type);
}

static const char *unknown_type(bpe *b, const char *what, json value)
{
    json type = json_get(value, "type");
    char name[64], format[128];
    if (type.type != JSON_STRING)
        return fail(b, "%s: no type", what);
    snprintf(name, sizeof name, "%s", what);
    snprintf(format, sizeof format, "%s: the type \"%%s\" is not known here", name);
    return fail_json(b, format, type);
}

/* One more step of a normalizer or a pre-tokenizer, all zero; NULL and a message if there are too many. */
static step *add_step(bpe *b, step_kind kind)
{
    bpe_model *m = b->model;
    int cuts = kind == SPLIT || kind == PREFIX || kind == METASPACE,
        *count = cuts ? &m->cut_steps : &m->normalizer_steps;
    step *s = cuts ? &m->cuts[*count] : &m->normalizer[*count];
    if (*count == STEPS) {
        fail(b, "%s: more than %d steps", cuts ? "pre_tokenizer" : "normalizer", (int)STEPS);
        return NULL;
    }
    ++*count;
    s->kind = kind;
    return s;
}

/* A pattern that is a string: {"String": "..."}. */
static const char *read_literal(bpe *b, json value, const char *what, uint32_t *text, uint32_t *size)
{
    json literal = json_get(value, "String"), regex = json_get(value, "Regex");
    if (literal.type != JSON_STRING && regex.type == JSON_STRING)
        return fail_json(b, "normalizer or decoder: the pattern \"%s\" is not known here", regex);
    return read_string(b, literal, what, text, size);
}

static const char *read_normalizer(bpe *b, json value, int depth)
{
    static const char *const forms[] = {"NFC", "NFD", "NFKC", "NFKD"};
    const char *error = NULL;
    json inner;
    step *s;
    int i;
    if (is_absent(value))
        return NULL;
    if (type_is(value, "Sequence") && depth < DEPTH) {
        for (inner = json_first(json_get(value, "normalizers")); inner.type && !error; inner = json_next(inner))
            error = read_normalizer(b, inner, depth + 1);
        return error;
    }
    for (i = 0; i < 4; i++)
        if (type_is(value, forms[i])) {
            if ((s = add_step(b, NORMAL_FORM)) == NULL)
                return b->error;
            s->form = (unicode_form)(UNICODE_NFC + i);
            return NULL;
        }
    if (!type_is(value, "Prepend") && !type_is(value, "Replace"))
        return unknown_type(b, "normalizer", value);
    if ((s = add_step(b, type_is(value, "Prepend") ? PREPEND : REPLACE)) == NULL)
        return b->error;
    if (s->kind == PREPEND) {
        error = read_string(b, json_get(value, "prepend"), "normalizer, Prepend", &s->content, &s->content_size);
    } else {
        inner = json_get(value, "content");
        error = read_literal(b, json_get(value, "pattern"), "normalizer, Replace", &s->literal, &s->literal_size);
        if (!error && !json_is(inner, "")) /* nothing in place of something is allowed */
            error = read_string(b, inner, "normalizer, Replace, content", &s->content, &s->content_size);
    }
    return error;
}

/* ---- reading: pre_tokenizer ---- */

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
               : fail(b, "pre_tokenizer, Split: no behavior");
}

/* A regular expression is looked for among those known: with \r and \n for the characters, which some files have. */
static const char *read_regex(bpe *b, json value, const patterns_regex **found)
{
    buffer text = {NULL, 0, 0, 0};
    char spelled[PATTERN_MAX], out[360];
    size_t i, used = 0;
    append_json(&text, value);
    if (text.failed)
        return fail(b, no_memory);
    for (i = 0; i < text.size && used + 3 < sizeof spelled; i++)
        if (text.text[i] == '\r' || text.text[i] == '\n') {
            spelled[used++] = '\\';
            spelled[used++] = text.text[i] == '\r' ? 'r' : 'n';
        } else {
            spelled[used++] = text.text[i];
        }
    spelled[used] = 0;
    *found = i == text.size && strlen(spelled) == used ? patterns_find(spelled) : NULL;
    free(text.text);
    if (*found)
        return NULL;
    return fail(b, "pre_tokenizer: the pattern \"%s\" is not known here",
                shown_text(out, sizeof out, spelled, used));
}

static const char *read_split(bpe *b, json value)
{
    json what = json_get(value, "pattern");
    step *s = add_step(b, SPLIT);
    if (!s || read_behavior(b, json_get(value, "behavior"), &s->how))
        return b->error;
    if (!read_flag(json_get(value, "invert"), 0, &s->invert))
        return fail(b, "pre_tokenizer, Split: invert is neither true nor false");
    if (json_get(what, "Regex").type == JSON_STRING)
        return read_regex(b, json_get(what, "Regex"), &s->found);
    return read_literal(b, what, "pre_tokenizer, Split, pattern", &s->literal, &s->literal_size);
}

static const char *read_byte_level(bpe *b, json value)
{
    step *s;
    int prefix, regex;
    if (!read_flag(json_get(value, "add_prefix_space"), 1, &prefix) ||
        !read_flag(json_get(value, "use_regex"), 1, &regex))
        return fail(b, "pre_tokenizer, ByteLevel: a member is neither true nor false");
    if (prefix && !add_step(b, PREFIX))
        return b->error;
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
        return fail(b, "%s: add_prefix_space is neither true nor false", what);
    *prepend = json_is(scheme, "first") ? FIRST : json_is(scheme, "never") || !wanted ? NEVER : ALWAYS;
    if (scheme.type != JSON_NONE && !json_is(scheme, "first") && !json_is(scheme, "never") &&
        !json_is(scheme, "always"))
        return fail(b, "%s: a prepend_scheme that is not known here", what);
    if (!wanted && scheme.type != JSON_NONE && *prepend != NEVER)
        return fail(b, "%s: add_prefix_space and prepend_scheme contradict each other", what);
    return NULL;
}

static const char *read_metaspace(bpe *b, json value)
{
    static const char what[] = "pre_tokenizer, Metaspace";
    step *s = add_step(b, METASPACE), *split;
    uint32_t character;
    int splits;
    if (!s || read_string(b, json_get(value, "replacement"), what, &s->literal, &s->literal_size) ||
        read_scheme(b, value, what, &s->prepend))
        return b->error;
    if (unicode_read(b->model->strings.text + s->literal, s->literal_size, &character) != s->literal_size)
        return fail(b, "%s: replacement is more than a character", what);
    if (!read_flag(json_get(value, "split"), 1, &splits))
        return fail(b, "%s: split is neither true nor false", what);
    if (!splits)
        return NULL;
    if ((split = add_step(b, SPLIT)) == NULL)
        return b->error;
    split->literal = s->literal;
    split->literal_size = s->literal_size;
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
        return fail(b, "pre_tokenizer, Digits: individual_digits is neither true nor false");
    s->found = patterns_number();
    s->how = single ? ISOLATED : CONTIGUOUS;
    return NULL;
}

static const char *read_pre_tokenizer(bpe *b, json value, int depth)
{
    const char *error = NULL;
    json inner;
    if (is_absent(value))
        return NULL;
    if (type_is(value, "Sequence") && depth < DEPTH) {
        for (inner = json_first(json_get(value, "pretokenizers")); inner.type && !error; inner = json_next(inner))
            error = read_pre_tokenizer(b, inner, depth + 1);
        return error;
    }
    if (b->model->bytes)
        return fail(b, "pre_tokenizer: something follows ByteLevel");
    return type_is(value, "ByteLevel")   ? read_byte_level(b, value)
           : type_is(value, "Split")     ? read_split(b, value)
           : type_is(value, "Digits")    ? read_digits(b, value)
           : type_is(value, "Metaspace") ? read_metaspace(b, value)
                                         : unknown_type(b, "pre_tokenizer", value);
}

/* ---- reading: decoder ---- */

/* The parts of a Sequence in the order in which they may stand, each at most once. */
enum { AT_REPLACE, AT_BYTES, AT_FUSE, AT_STRIP, AT_END };

static const char *read_decoder_part(bpe *b, json value, int *place)
{
    bpe_model *m = b->model;
    static const char *const names[] = {"Replace", "ByteFallback", "Fuse", "Strip"};
    const char *error;
    uint64_t begin, stop;
    int i = 0;
    while (i < AT_END && !type_is(value, names[i]))
        i++;
    if (i == AT_END)
        return unknown_type(b, "decoder", value);
    if (i < *place || (i == AT_STRIP && *place != AT_STRIP))
        return fail(b, "decoder: %s stands where it is not known here", names[i]);
    *place = i + 1;
    if (i == AT_BYTES)
        m->named_bytes = 1;
    if (i == AT_REPLACE) {
        error = read_literal(b, json_get(value, "pattern"), "decoder, Replace", &m->space, &m->space_size);
        return error ? error
                     : read_string(b, json_get(value, "content"), "decoder, Replace", &m->blank, &m->blank_size);
    }
    if (i == AT_STRIP) {
        if (!json_is(json_get(value, "content"), " ") || !json_uint(json_get(value, "start"), &begin) ||
            !json_uint(json_get(value, "stop"), &stop) || begin > 1 || stop > 0)
            return fail(b, "decoder: a Strip of anything but one space in front is not known here");
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
    if ((error = read_string(b, json_get(value, "replacement"), "decoder, Metaspace", &m->space, &m->space_size)) ||
        (error = read_scheme(b, value, "decoder, Metaspace", &prepend)) != NULL)
        return error;
    m->drops_marks = prepend != NEVER;
    m->blank = (uint32_t)m->strings.size;
    m->blank_size = 1;
    append(&m->strings, " ", 1);
    return m->strings.failed ? fail(b, no_memory) : NULL;
}

/* ---- reading: model ---- */

/* Makes `id` one that there is. */
static const char *make_room(bpe *b, uint64_t id, size_t *room)
{
    bpe_model *m = b->model;
    size_t more = *room;
    token *tokens;
    if (id >= ID_MAX)
        return fail(b, "the id %llu is too large: published ones are less than %ld", (unsigned long long)id,
                    (long)ID_MAX);
    while (more <= id)
        more = more + more / 2 + 256;
    if (more > *room) {
        if ((tokens = (token *)realloc(m->tokens, more * sizeof *tokens)) == NULL)
            return fail(b, no_memory);
        memset(tokens + *room, 0, (more - *room) * sizeof *tokens);
        m->tokens = tokens;
        *room = more;
    }
    m->count = m->count > (int32_t)id ? m->count : (int32_t)id + 1;
    return NULL;
}

static const char *read_vocabulary(bpe *b, json vocabulary, size_t *room)
{
    bpe_model *m = b->model;
    const char *error;
    json name;
    token *t;
    if (vocabulary.type != JSON_OBJECT)
        return fail(b, "model.vocab is missing, or no object");
    for (name = json_first(vocabulary); name.type; name = json_next(name)) {
        uint64_t id;
        if (!json_uint(json_value(name), &id))
            return fail_json(b, "model.vocab: the id of \"%s\" is no whole number", name);
        if ((error = make_room(b, id, room)) != NULL)
            return error;
        t = &m->tokens[id];
        if (t->flags)
            return fail(b, "model.vocab: two tokens have the id %lu", (unsigned long)id);
        t->flags = IN_VOCABULARY;
        t->text = (uint32_t)m->strings.size;
        t->size = (uint32_t)append_json(&m->strings, name);
        m->longest = t->size > m->longest ? t->size : m->longest;
        if (m->strings.failed)
            return fail(b, no_memory);
    }
    return m->count ? NULL : fail(b, "model.vocab is empty");
}

/* Appends the spellings of a merge's two sides and sets where the second begins; 0 if it is neither "a b" nor
   ["a", "b"]. */
static int spell_merge(buffer *text, json value, size_t *middle)
{
    json left = json_first(value), right = json_next(left);
    char *space;
    text->size = 0;
    if (value.type == JSON_STRING) {
        append_json(text, value);
        space = text->size ? (char *)memchr(text->text, ' ', text->size) : NULL;
        if (!space)
            return 0;
        *middle = (size_t)(space - text->text);
        memmove(space, space + 1, text->size - *middle - 1);
        text->size--;
        return memchr(text->text + *middle, ' ', text->size - *middle) == NULL;
    }
    *middle = append_json(text, left);
    append_json(text, right);
    return value.type == JSON_ARRAY && left.type == JSON_STRING && right.type == JSON_STRING && !json_next(right).type;
}

static const char *read_merge(bpe *b, json value, int32_t rank, buffer *text)
{
    bpe_model *m = b->model;
    size_t middle = 0;
    string whole, side[2];
    int32_t ids[3];
    merge *slot;
    int i;
    if (!spell_merge(text, value, &middle))
        return text->failed ? fail(b, no_memory)
                            : fail(b, "model.merges, number %ld: neither \"a b\" nor [\"a\", \"b\"]", (long)rank);
    if (text->failed)
        return fail(b, no_memory);
    whole = make_string(text->text, text->size);
    side[0] = part(whole, 0, middle);
    side[1] = part(whole, middle, whole.size);
    for (i = 0; i < 3; i++)
        if ((ids[i] = find_in_vocabulary(m, i < 2 ? side[i] : whole)) < 0)
            return fail_text(b, "model.merges: \"%s\" is not in model.vocab", i < 2 ? side[i] : whole);
    if ((slot = merge_slot(m, ids[0], ids[1])) == NULL)
        return fail(b, "model.merges collide in the hash table");
    slot->left = ids[0];
    slot->right = ids[1];
    slot->id = ids[2];
    slot->rank = rank; /* of two merges of the same, the last */
    return NULL;
}

static const char *read_merges(bpe *b, json merges)
{
    bpe_model *m = b->model;
    buffer text = {NULL, 0, 0, 0};
    const char *error = NULL;
    size_t count = 0, i;
    int32_t rank = 0;
    json value;
    if (merges.type != JSON_ARRAY)
        return fail(b, "model.merges is missing, or no array");
    for (value = json_first(merges); value.type; value = json_next(value))
        count++;
    if (count > MERGES_MAX)
        return fail(b, "model.merges: more than %ld", (long)MERGES_MAX);
    m->merge_mask = slots_for(count) - 1;
    if ((m->merges = (merge *)malloc(((size_t)m->merge_mask + 1) * sizeof *m->merges)) == NULL)
        return fail(b, no_memory);
    for (i = 0; i <= m->merge_mask; i++)
        m->merges[i].id = -1;
    for (value = json_first(merges); value.type && !error; value = json_next(value)) {
        if (value.type == JSON_STRING && rank == 0 && json_string(value, NULL, 0) > 8) {
            char head[10];
            json_string(value, head, sizeof head);
            if (strncmp(head, "#version", 8) == 0)
                continue; /* the first line of merges.txt */
        }
        error = read_merge(b, value, rank++, &text);
    }
    free(text.text);
    return error;
}

/* The hash table of spellings. */
static const char *index_tokens(bpe *b)
{
    bpe_model *m = b->model;
    size_t i, slots = slots_for((size_t)m->count);
    uint32_t slot;
    int32_t id;
    m->index_mask = (uint32_t)slots - 1;
    if ((m->index = (int32_t *)malloc(slots * sizeof *m->index)) == NULL)
        return fail(b, no_memory);
    for (i = 0; i < slots; i++)
        m->index[i] = -1;
    for (id = 0; id < m->count; id++) {
        if (!m->tokens[id].flags)
            continue;
        if ((slot = slot_of(m, token_text(m, id))) == NONE)
            return fail(b, "tokens collide in the hash table");
        if (m->index[slot] >= 0)
            return fail_text(b, "the token \"%s\" has two ids", token_text(m, id));
        m->index[slot] = id;
    }
    return NULL;
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
            return fail(b, "model.%s is not known here", unknown[i]);
    if (json_is(name, "dropout") && !is_absent(value) && (!json_double(value, &dropout) || dropout < 0 || dropout > 0))
        return fail(b, "model.dropout: tokens would be drawn by chance");
    if (json_is(name, "type") && !is_absent(value) && !json_is(value, "BPE"))
        return fail_json(b, "model.type is \"%s\", and not BPE", value);
    return NULL;
}

/* The parts of "model" that are read after all tokens are known. */
typedef struct parts {
    json vocabulary, merges, unknown;
} parts;

static const char *read_model(bpe *b, json value, parts *p)
{
    bpe_model *m = b->model;
    const char *error = NULL;
    json name;
    memset(p, 0, sizeof *p);
    if (value.type != JSON_OBJECT)
        return fail(b, "\"model\" is missing, or no object");
    for (name = json_first(value); name.type && !error; name = json_next(name)) {
        json member = json_value(name);
        int *flag = json_is(name, "byte_fallback")   ? &m->byte_fallback
                    : json_is(name, "fuse_unk")      ? &m->fuse_unk
                    : json_is(name, "ignore_merges") ? &m->ignore_merges
                                                     : NULL;
        if (flag && !read_flag(member, 0, flag))
            return fail_json(b, "model.%s is neither true nor false", name);
        if (json_is(name, "vocab"))
            p->vocabulary = member;
        if (json_is(name, "merges"))
            p->merges = member;
        if (json_is(name, "unk_token"))
            p->unknown = member;
        error = check_model(b, name);
    }
    return error;
}

static const char *read_unknown(bpe *b, json value)
{
    bpe_model *m = b->model;
    buffer text = {NULL, 0, 0, 0};
    m->unk_id = -1;
    if (is_absent(value))
        return NULL;
    append_json(&text, value);
    if (!text.failed)
        m->unk_id = find_in_vocabulary(m, make_string(text.text, text.size));
    free(text.text);
    if (text.failed)
        return fail(b, no_memory);
    return m->unk_id >= 0 ? NULL : fail_json(b, "model.unk_token, \"%s\", is not in model.vocab", value);
}

/* The tokens that words begin as, where they are spelt byte by byte. */
static void find_bytes(bpe_model *m)
{
    char text[4];
    int byte;
    for (byte = 0; byte < 256; byte++)
        m->byte_ids[byte] =
            find_in_vocabulary(m, make_string(text, unicode_write(text, character_of((unsigned char)byte))));
}

/* ---- reading: added_tokens ---- */

static const char *read_added(bpe *b, json value, size_t *room)
{
    static const char *const names[] = {"special", "single_word", "lstrip", "rstrip", "normalized"};
    static const int bits[] = {SPECIAL, SINGLE_WORD, LSTRIP, RSTRIP, NORMALIZED};
    bpe_model *m = b->model;
    json content = json_get(value, "content");
    string text;
    const char *error;
    int flags = ADDED, flag, i;
    uint64_t id;
    size_t before = m->strings.size;
    token *t;
    if (content.type != JSON_STRING)
        return fail(b, "added_tokens: one has no content");
    if (json_is(content, ""))
        return NULL; /* the library skips it */
    if (!json_uint(json_get(value, "id"), &id))
        return fail_json(b, "added_tokens: the id of \"%s\" is no whole number", content);
    for (i = 0; i < 5; i++) {
        if (!read_flag(json_get(value, names[i]), 0, &flag))
            return fail(b, "added_tokens, id %llu: %s is neither true nor false", (unsigned long long)id, names[i]);
        flags |= flag ? bits[i] : 0;
    }
    if ((error = make_room(b, id, room)) != NULL)
        return error;
    append_json(&m->strings, content);
    if (m->strings.failed)
        return fail(b, no_memory);
    text = part(make_string(m->strings.text, m->strings.size), before, m->strings.size);
    if (text.size > ADDED_MAX)
        return fail_text(b, "added_tokens: \"%s\" has more than 512 bytes", text);
    t = &m->tokens[id];
    if (t->flags & ADDED)
        return fail(b, "added_tokens: two have the id %lu", (unsigned long)id);
    if (t->flags && (t->size != text.size || memcmp(m->strings.text + t->text, text.text, text.size)))
        return fail_text(b, "added_tokens: \"%s\" has the id of another token of model.vocab", text);
    if (!t->flags) {
        t->text = (uint32_t)before;
        t->size = (uint32_t)text.size;
    }
    t->flags |= flags;
    return NULL;
}

static const char *read_all_added(bpe *b, json added, size_t *room)
{
    const char *error = NULL;
    if (!is_absent(added) && added.type != JSON_ARRAY)
        return fail(b, "added_tokens is no array");
    for (added = json_first(added); added.type && !error; added = json_next(added))
        error = read_added(b, added, room);
    return error;
}

/* By bytes and, of those that look the same, the smaller id first. */
static int compare_words(const void *a, const void *b)
{
    const trie_word *x = (const trie_word *)a, *y = (const trie_word *)b;
    int order = trie_compare(x, y);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static const char *normalize(const bpe_model *m, string text, buffer *out, buffer *spare, size_t *room);

/* Appends how each of the tokens `words` is written once the normalizer has rewritten it; what nothing is left of goes.
   Returns NULL or a message. */
static const char *rewrite(bpe *b, trie_word *words, size_t *count, buffer *written)
{
    buffer out = {NULL, 0, 0, 0}, spare = {NULL, 0, 0, 0};
    const char *error = NULL;
    size_t i, kept = 0, at = 0;
    for (i = 0; i < *count && !error; i++) {
        string text = make_string(words[i].text, words[i].size);
        size_t room = ADDED_MAX;
        error = normalize(b->model, text, &out, &spare, &room);
        if (error && error != no_memory)
            error = fail_text(b, "added_tokens: the normalizer makes more than 512 bytes of \"%s\"", text);
        else if (!error && written->size > TRIE_NODES)
            error = fail(b, "added_tokens: the normalizer makes more than %d bytes of them", (int)TRIE_NODES);
        if (error || out.size == 0)
            continue;
        append(written, out.text, out.size);
        words[kept] = words[i];
        words[kept++].size = out.size;
    }
    free(out.text);
    free(spare.text);
    for (i = 0; i < kept && !written->failed; at += words[i++].size) /* where they stay by now */
        words[i].text = written->text + at;
    *count = kept;
    return error == no_memory || written->failed ? fail(b, no_memory) : error;
}

/* The added tokens that are looked for after the normalizer (or before it), which has rewritten them too. Of those that
   look the same then, the library finds the first special one, or else the first. */
static const char *make_finder(bpe *b, trie *found, int normalized)
{
    bpe_model *m = b->model;
    buffer written = {NULL, 0, 0, 0};
    trie_word *words = (trie_word *)malloc((size_t)m->count * sizeof *words);
    const char *error = words ? NULL : fail(b, no_memory);
    size_t count = 0, i;
    int32_t id;
    for (id = 0; id < m->count && !error; id++) {
        int flags = m->tokens[id].flags;
        if (!(flags & ADDED) || !(flags & NORMALIZED) != !normalized)
            continue;
        words[count].text = token_text(m, id).text;
        words[count].size = token_text(m, id).size;
        words[count++].id = flags & SPECIAL ? id : id + ID_MAX;
    }
    if (!error && normalized && m->normalizer_steps)
        error = rewrite(b, words, &count, &written);
    if (!error) {
        qsort(words, count, sizeof *words, compare_words);
        m->growth = GROWTH;
        for (i = 0; i < count; i++) {
            words[i].id %= ID_MAX;
            if (normalized && words[i].size > LONG)
                m->growth = GROWTH_LONG;
        }
        if ((error = trie_build(found, words, count)) != NULL)
            error = fail(b, "added_tokens: %s", error);
    }
    free(words);
    free(written.text);
    return error;
}

/* ---- reading: post_processor ---- */

static const char *push_id(bpe_tokens *tokens, size_t *room, int32_t id)
{
    if (tokens->count == *room) {
        size_t more = *room + *room / 2 + 16;
        int32_t *ids = more > SIZE_MAX / sizeof *ids ? NULL : (int32_t *)realloc(tokens->ids, more * sizeof *ids);
        if (!ids)
            return no_memory;
        tokens->ids = ids;
        *room = more;
    }
    tokens->ids[tokens->count++] = id;
    return NULL;
}

/* The ids of a special token of a template. */
static const char *read_special(bpe *b, json specials, json name, bpe_tokens *tokens, size_t *room)
{
    json member, ids = {JSON_NONE, NULL, NULL};
    const char *error = NULL;
    uint64_t id;
    for (member = json_first(specials); member.type; member = json_next(member))
        if (json_compare(member, name) == 0)
            ids = json_get(json_value(member), "ids");
    if (name.type != JSON_STRING || ids.type != JSON_ARRAY)
        return fail_json(b, "post_processor: \"%s\" is not among its special_tokens", name);
    for (ids = json_first(ids); ids.type && !error; ids = json_next(ids)) {
        if (!json_uint(ids, &id) || id >= (uint64_t)b->count || !b->model->tokens[id].flags)
            return fail_json(b, "post_processor: \"%s\" has an id that the model does not have", name);
        error = push_id(tokens, room, (int32_t)id);
    }
    return error ? fail(b, error) : NULL;
}

static const char *read_post_processor(bpe *b, json value, int depth)
{
    const char *error = NULL;
    size_t room[2] = {0, 0};
    int texts = 0, items = 0;
    json item;
    if (is_absent(value) || type_is(value, "ByteLevel"))
        return NULL;
    if (type_is(value, "Sequence") && depth < DEPTH) {
        for (item = json_first(json_get(value, "processors")); item.type && !error; item = json_next(item))
            error = read_post_processor(b, item, depth + 1);
        return error;
    }
    if (!type_is(value, "TemplateProcessing"))
        return unknown_type(b, "post_processor", value);
    if (b->before.count || b->after.count)
        return fail(b, "post_processor: two templates");
    for (item = json_first(json_get(value, "single")); item.type && !error; item = json_next(item)) {
        json special = json_get(item, "SpecialToken");
        if (++items > TEMPLATE_MAX)
            return fail(b, "post_processor: a template of more than %d parts", (int)TEMPLATE_MAX);
        if (special.type == JSON_OBJECT)
            error = read_special(b, json_get(value, "special_tokens"), json_get(special, "id"),
                                 texts ? &b->after : &b->before, &room[texts != 0]);
        else
            texts += json_get(item, "Sequence").type == JSON_OBJECT;
    }
    if (!error && texts != 1)
        return fail(b, "post_processor: \"single\" is not the template of one text");
    return error;
}

/* ---- opening ---- */

void bpe_tokens_free(bpe_tokens *tokens)
{
    free(tokens->ids);
    memset(tokens, 0, sizeof *tokens);
}

void bpe_close(bpe *b)
{
    bpe_model *m = b->model;
    if (m) {
        free(m->tokens);
        free(m->strings.text);
        free(m->index);
        free(m->merges);
        trie_free(&m->raw);
        trie_free(&m->normalized);
        free(m);
    }
    bpe_tokens_free(&b->before);
    bpe_tokens_free(&b->after);
    b->model = NULL;
    b->count = 0;
}

static const char *read_root(bpe *b, json root)
{
    static const char *const names[] = {"normalizer", "pre_tokenizer", "decoder",
                                        "model",      "added_tokens",  "post_processor"};
    enum { NORMALIZER, PRE_TOKENIZER, DECODER, MODEL, ADDED_TOKENS, POST_PROCESSOR, MEMBERS };
    bpe_model *m = b->model;
    json members[MEMBERS], name;
    const char *error;
    size_t room = 0;
    parts p;
    int i;
    memset(members, 0, sizeof members);
    if (root.type != JSON_OBJECT)
        return fail(b, "no object");
    for (name = json_first(root); name.type; name = json_next(name))
        for (i = 0; i < MEMBERS; i++)
            if (json_is(name, names[i]))
                members[i] = json_value(name);
    if ((error = read_model(b, members[MODEL], &p)) != NULL ||
        (error = read_normalizer(b, members[NORMALIZER], 0)) != NULL ||
        (error = read_pre_tokenizer(b, members[PRE_TOKENIZER], 0)) != NULL ||
        (error = read_decoder(b, members[DECODER], 0)) != NULL ||
        (error = read_vocabulary(b, p.vocabulary, &room)) != NULL ||
        (error = read_all_added(b, members[ADDED_TOKENS], &room)) != NULL || (error = index_tokens(b)) != NULL ||
        (error = read_unknown(b, p.unknown)) != NULL || (error = read_merges(b, p.merges)) != NULL)
        return error;
    find_bytes(m);
    b->count = m->count;
    if ((error = make_finder(b, &m->raw, 0)) != NULL || (error = make_finder(b, &m->normalized, 1)) != NULL)
        return error;
    return read_post_processor(b, members[POST_PROCESSOR], 0);
}

const char *bpe_parse(bpe *b, const void *bytes, size_t size, const char *name)
{
    char message[sizeof b->error];
    const char *error;
    size_t where;
    json root;
    start(b, name);
    if (size > FILE_MAX)
        error = fail(b, "larger than %ld bytes", (long)FILE_MAX);
    else if ((error = json_parse(&root, (const char *)bytes, size, &where)) != NULL)
        error = fail(b, "byte %lu: %s", (unsigned long)where, error);
    else if ((b->model = (bpe_model *)calloc(1, sizeof *b->model)) == NULL)
        error = fail(b, no_memory);
    else
        error = read_root(b, root);
    if (error) {
        memcpy(message, b->error, sizeof message);
        bpe_close(b);
        memset(b, 0, sizeof *b);
        memcpy(b->error, message, sizeof message);
        return b->error;
    }
    b->error[0] = 0;
    return NULL;
}

/* Reads to the end of a file, which need not be known before: a pipe is one too. */
static const char *read_stream(bpe *b, FILE *file, buffer *contents)
{
    size_t got = 1;
    while (got && contents->size <= FILE_MAX) {
        if (!reserve(contents, contents->size < 65536 ? 65536 : contents->size / 2))
            return fail(b, no_memory);
        errno = 0;
        got = fread(contents->text + contents->size, 1, contents->room - contents->size, file);
        contents->size += got;
    }
    return ferror(file) ? fail(b, "cannot be read: %s", strerror(errno)) : NULL;
}

const char *bpe_open(bpe *b, const char *path)
{
    buffer contents = {NULL, 0, 0, 0};
    const char *error;
    FILE *file;
    start(b, path);
    if ((file = fopen(path, "rb")) == NULL)
        return fail(b, "cannot be opened: %s", strerror(errno));
    error = read_stream(b, file, &contents);
    fclose(file);
    if (!error)
        error = bpe_parse(b, contents.text, contents.size, path);
    free(contents.text);
    return error;
}

/* ---- encoding: the normalizer ---- */

static const char too_large[] = "the normalizer makes the text too large";

static int is_ascii(string s)
{
    size_t i;
    for (i = 0; i < s.size; i++)
        if ((unsigned char)s.text[i] >= 0x80)
            return 0;
    return 1;
}

/* Whether a string stands at a byte of the text. */
static int stands_at(string text, size_t at, string what)
{
    return what.size <= text.size - at && text.text[at] == what.text[0] &&
           memcmp(text.text + at, what.text, what.size) == 0;
}

static void append_replaced(buffer *out, string text, string from, string to)
{
    size_t at = 0, begin = 0;
    while (at < text.size) {
        if (!stands_at(text, at, from)) {
            at++;
            continue;
        }
        append(out, text.text + begin, at - begin);
        append(out, to.text, to.size);
        begin = at += from.size;
    }
    append(out, text.text + begin, at - begin);
}

static string in_strings(const bpe_model *m, uint32_t text, uint32_t size)
{
    return make_string(m->strings.text + text, size);
}

static void append_step(const bpe_model *m, const step *s, string text, buffer *out)
{
    string content = in_strings(m, s->content, s->content_size);
    if (text.size == 0)
        return;
    if (s->kind == NORMAL_FORM && !is_ascii(text)) {
        size_t size = text.size;
        while (reserve(out, size) &&
               (size = unicode_normalize(s->form, text.text, text.size, out->text, out->room)) > out->room) {
        }
        out->size = size;
    } else if (s->kind == REPLACE) {
        append_replaced(out, text, in_strings(m, s->literal, s->literal_size), content);
    } else {
        if (s->kind == PREPEND)
            append(out, content.text, content.size);
        append(out, text.text, text.size);
    }
}

/* Sets *out to the text as the model's normalizer writes it. *room: the bytes that there may be after any of its steps;
   what they were goes off it. */
static const char *normalize(const bpe_model *m, string text, buffer *out, buffer *spare, size_t *room)
{
    size_t most = 0;
    buffer swap;
    int i;
    out->size = 0;
    if (m->normalizer_steps == 0)
        append(out, text.text, text.size);
    for (i = 0; i < m->normalizer_steps; i++) {
        spare->size = 0;
        append_step(m, &m->normalizer[i], i ? make_string(out->text, out->size) : text, spare);
        swap = *out;
        *out = *spare;
        *spare = swap;
        if (out->failed || spare->failed)
            return no_memory;
        if (out->size > *room)
            return too_large;
        most = out->size > most ? out->size : most;
    }
    *room -= most;
    return out->failed ? no_memory : NULL;
}

/* ---- encoding: merges ---- */

typedef struct symbol {
    int32_t id; /* -1: merged into the one before */
    uint32_t before, next;
} symbol;

/* Two symbols that may become one: the lowest rank first, of the same the leftmost. */
typedef struct candidate {
    uint32_t rank, at;
    int32_t id; /* what they become */
} candidate;

/* What happens to one text. */
typedef struct encoder {
    const bpe_model *model;
    bpe_tokens *tokens;
    size_t room;
    symbol *symbols;
    candidate *heap; /* the first is the lowest */
    size_t symbol_room, heap_size;
    size_t normal_room; /* of what the normalizer may still write */
    buffer normalized, spare, spelled;
    buffer rewritten[STEPS]; /* by PREFIX and METASPACE */
    int skips_special;
    const char *error;
} encoder;

static int is_before(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void sift_down(encoder *e, size_t at)
{
    candidate c = e->heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= e->heap_size)
            break;
        child += child + 1 < e->heap_size && is_before(&e->heap[child + 1], &e->heap[child]);
        if (!is_before(&e->heap[child], &c))
            break;
        e->heap[at] = e->heap[child];
        at = child;
    }
    e->heap[at] = c;
}

static void sift_up(encoder *e, size_t at)
{
    candidate c = e->heap[at];
    while (at > 0 && is_before(&c, &e->heap[(at - 1) / 2])) {
        e->heap[at] = e->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    e->heap[at] = c;
}

/* Adds the symbol at a place and its next, if there is a merge of them, at the end of the heap. */
static int add_candidate(encoder *e, uint32_t at)
{
    const symbol *left = &e->symbols[at];
    const merge *found;
    candidate *c = &e->heap[e->heap_size];
    if (left->next == NONE || (found = find_merge(e->model, left->id, e->symbols[left->next].id)) == NULL)
        return 0;
    c->rank = (uint32_t)found->rank;
    c->at = at;
    c->id = found->id;
    e->heap_size++;
    return 1;
}

/* Merges the first `count` symbols: always the pair whose merge was learnt first. Each merge adds two candidates at
   most and takes one away, so that there are never more than two for each symbol. One that is out of date does nothing,
   unless the symbols there now become what it would have made. */
static void merge_all(encoder *e, uint32_t count)
{
    symbol *s = e->symbols;
    uint32_t i;
    e->heap_size = 0;
    for (i = 0; i + 1 < count; i++)
        add_candidate(e, i);
    for (i = (uint32_t)e->heap_size / 2; i > 0; i--)
        sift_down(e, i - 1);
    while (e->heap_size) {
        candidate top = e->heap[0];
        const merge *now;
        uint32_t right = s[top.at].next;
        e->heap[0] = e->heap[--e->heap_size];
        if (e->heap_size)
            sift_down(e, 0);
        if (s[top.at].id < 0 || right == NONE || (now = find_merge(e->model, s[top.at].id, s[right].id)) == NULL ||
            now->id != top.id)
            continue;
        s[top.at].id = top.id;
        s[top.at].next = s[right].next;
        s[right].id = -1;
        if (s[right].next != NONE)
            s[s[right].next].before = top.at;
        if (s[top.at].before != NONE && add_candidate(e, s[top.at].before))
            sift_up(e, e->heap_size - 1);
        if (add_candidate(e, top.at))
            sift_up(e, e->heap_size - 1);
    }
}

static int reserve_symbols(encoder *e, size_t count)
{
    symbol *symbols;
    candidate *heap;
    if (count <= e->symbol_room)
        return 1;
    count = count < SIZE_MAX / 4 / sizeof *heap ? count + count / 2 + 64 : 0;
    if (count >= NONE)
        count = 0;
    symbols = count ? (symbol *)realloc(e->symbols, count * sizeof *symbols) : NULL;
    e->symbols = symbols ? symbols : e->symbols;
    heap = symbols ? (candidate *)realloc(e->heap, 2 * count * sizeof *heap) : NULL;
    e->heap = heap ? heap : e->heap;
    e->symbol_room = heap ? count : e->symbol_room;
    if (!heap)
        e->error = no_memory;
    return heap != NULL;
}

static void add_symbol(encoder *e, uint32_t *count, int32_t id)
{
    symbol *s = &e->symbols[*count];
    s->id = id;
    s->before = *count ? *count - 1 : NONE;
    s->next = NONE;
    if (*count)
        s[-1].next = *count;
    ++*count;
}

/* A character that is no token becomes the tokens of its bytes, if all of them are; else it is unknown. */
static int add_bytes(encoder *e, uint32_t *count, string character)
{
    int32_t ids[4];
    char name[8];
    size_t i;
    for (i = 0; i < character.size && i < 4; i++) {
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)(unsigned char)character.text[i]);
        if ((ids[i] = find_in_vocabulary(e->model, make_string(name, 6))) < 0)
            return 0;
    }
    for (i = 0; i < character.size; i++)
        add_symbol(e, count, ids[i]);
    return 1;
}

/* Appends the tokens of a word, which the pre-tokenizer has cut out. An unknown character is added when the next known
   one comes, so that a run of them can be one; the library has bytes in between stand before it. */
static void encode_word(encoder *e, string word)
{
    const bpe_model *m = e->model;
    uint32_t count = 0, i;
    size_t at, n;
    int32_t id;
    int unknown = 0;
    char one[4];
    if (e->error || !reserve_symbols(e, m->bytes ? 2 * word.size : word.size))
        return;
    if (m->ignore_merges) {
        string whole = word;
        if (m->bytes && word.size <= m->longest) {
            e->spelled.size = 0;
            for (at = 0; at < word.size; at++)
                append(&e->spelled, one, unicode_write(one, character_of((unsigned char)word.text[at])));
            if (e->spelled.failed) {
                e->error = no_memory;
                return;
            }
            whole = make_string(e->spelled.text, e->spelled.size);
        }
        if (word.size <= m->longest && (id = find_in_vocabulary(m, whole)) >= 0) {
            e->error = push_id(e->tokens, &e->room, id);
            return;
        }
    }
    for (at = 0; at < word.size; at += n) {
        string character;
        uint32_t c;
        n = m->bytes ? 1 : unicode_read(word.text + at, word.size - at, &c);
        character = part(word, at, at + n);
        id = m->bytes ? m->byte_ids[(unsigned char)word.text[at]] : find_in_vocabulary(m, character);
        if (id >= 0) {
            if (unknown)
                add_symbol(e, &count, m->unk_id);
            unknown = 0;
            add_symbol(e, &count, id);
            continue;
        }
        if (m->bytes)
            character = make_string(one, unicode_write(one, character_of((unsigned char)word.text[at])));
        if ((m->byte_fallback && add_bytes(e, &count, character)) || m->unk_id < 0)
            continue; /* without an unknown token, the library drops the character */
        if (unknown && !m->fuse_unk)
            add_symbol(e, &count, m->unk_id);
        unknown = 1;
    }
    if (unknown)
        add_symbol(e, &count, m->unk_id);
    if (count > 1)
        merge_all(e, count);
    for (i = 0; i < count && i != NONE && !e->error; i = e->symbols[i].next)
        e->error = push_id(e->tokens, &e->room, e->symbols[i].id);
}

/* ---- encoding: the pre-tokenizer ---- */

static void cut_text(encoder *e, int index, string text, int first);

/* The next match of a SPLIT from `at` on: 1, and where it is; or 0. */
static int find_match(const bpe_model *m, const step *s, string t, size_t at, size_t *begin, size_t *end)
{
    string literal = in_strings(m, s->literal, s->literal_size);
    if (s->found)
        return patterns_next(s->found, t.text, t.size, at, begin, end);
    while (at < t.size && !stands_at(t, at, literal))
        at++;
    *begin = at;
    *end = at + literal.size;
    return at < t.size;
}

/* Pieces of a text, each put together from one or more that follow each other. */
typedef struct splitter {
    encoder *e;
    int index, first;
    string text;
    size_t begin, end; /* of the piece so far, if there is one */
    int open, matched; /* matched: what came last was a match */
} splitter;

static void finish_piece(splitter *s)
{
    if (s->open)
        cut_text(s->e, s->index + 1, part(s->text, s->begin, s->end), s->first && s->begin == 0);
    s->open = 0;
}

static void add_piece(splitter *s, size_t begin, size_t end, int is_match)
{
    const step *how = &s->e->model->cuts[s->index];
    int joins;
    is_match ^= how->invert;
    joins = how->how == CONTIGUOUS      ? is_match == s->matched
            : how->how == WITH_PREVIOUS ? is_match && !s->matched
            : how->how == WITH_NEXT     ? !is_match && s->matched
                                        : 0;
    if (!joins || !s->open) {
        finish_piece(s);
        s->begin = begin;
    }
    s->end = end;
    s->open = how->how != REMOVED || !is_match;
    s->matched = is_match;
}

static void split_text(encoder *e, int index, string text, int first)
{
    splitter s;
    size_t at = 0, begin, end;
    memset(&s, 0, sizeof s);
    s.e = e;
    s.index = index;
    s.first = first;
    s.text = text;
    while (!e->error && find_match(e->model, &e->model->cuts[index], text, at, &begin, &end)) {
        if (begin > at)
            add_piece(&s, at, begin, 0);
        add_piece(&s, begin, end, 1);
        at = end;
    }
    if (at < text.size)
        add_piece(&s, at, text.size, 0);
    finish_piece(&s);
}

/* Cuts text by the steps from `index` on, and encodes the words that come of it. first: whether it is the beginning of
   all. */
static void cut_text(encoder *e, int index, string text, int first)
{
    const bpe_model *m = e->model;
    const step *s = &m->cuts[index];
    buffer *out;
    string mark;
    if (e->error || text.size == 0)
        return;
    if (index == m->cut_steps) {
        encode_word(e, text);
        return;
    }
    if (s->kind == SPLIT) {
        split_text(e, index, text, first);
        return;
    }
    out = &e->rewritten[index];
    out->size = 0;
    if (s->kind == PREFIX) {
        if (text.text[0] != ' ')
            append(out, " ", 1);
        append(out, text.text, text.size);
    } else {
        mark = in_strings(m, s->literal, s->literal_size);
        if ((s->prepend == ALWAYS || (s->prepend == FIRST && first)) && text.text[0] != ' ' &&
            !stands_at(text, 0, mark))
            append(out, mark.text, mark.size);
        append_replaced(out, text, make_string(" ", 1), mark);
    }
    if (out->failed)
        e->error = no_memory;
    else
        cut_text(e, index + 1, make_string(out->text, out->size), first);
}

/* ---- encoding: added tokens ---- */

/* \w: letters, marks, numbers that are digits or letters, what joins words. */
static int is_word(uint32_t c)
{
    return c != NONE &&
           (unicode_is(c, UNICODE_LETTER | UNICODE_MARK | UNICODE_ND | UNICODE_NL) || c == '_' || c == 0x200c ||
            c == 0x200d || c == 0x203f || c == 0x2040 || c == 0x2054 || c == 0xfe33 || c == 0xfe34 ||
            (c >= 0xfe4d && c <= 0xfe4f) || c == 0xff3f || (c >= 0x24b6 && c <= 0x24e9) ||
            (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189));
}

/* The character that ends before a byte, and where it begins. */
static uint32_t read_before(string t, size_t at, size_t *begin)
{
    size_t next;
    if (at == 0)
        return NONE;
    for (*begin = at - 1; *begin > 0 && ((unsigned char)t.text[*begin] & 0xc0) == 0x80;)
        --*begin;
    return read_at(t, *begin, &next);
}

/* The text between added tokens: at first it has still to be normalised, and others are then looked for. */
static void encode_added(encoder *e, const trie *f, string t, int first);

static void encode_between(encoder *e, const trie *f, string t, int first)
{
    if (e->error || t.size == 0)
        return;
    if (f == &e->model->normalized) {
        cut_text(e, 0, t, first);
    } else if (e->model->normalizer_steps == 0) {
        encode_added(e, &e->model->normalized, t, first);
    } else if ((e->error = normalize(e->model, t, &e->normalized, &e->spare, &e->normal_room)) == NULL) {
        encode_added(e, &e->model->normalized, make_string(e->normalized.text, e->normalized.size), first);
    }
}

/* Encodes text in which added tokens may stand. Of two that begin at a place, the longer is found; they do not overlap,
   but the white space that one takes from behind itself may still hold others. */
static void encode_added(encoder *e, const trie *f, string t, int first)
{
    const token *tokens = e->model->tokens;
    size_t at = 0, done = 0, begin, end, next, size;
    while (at < t.size && f->nodes && !e->error) {
        int32_t id = trie_longest(f, t.text + at, t.size - at, &size);
        int flags = id >= 0 ? tokens[id].flags : 0;
        begin = at;
        end = at += id >= 0 ? size : 1;
        if (id < 0 || (e->skips_special && flags & SPECIAL))
            continue;
        if (flags & SINGLE_WORD && (is_word(read_before(t, begin, &next)) || is_word(read_at(t, end, &next))))
            continue;
        while (flags & LSTRIP && begin > done && is_space(read_before(t, begin, &next)))
            begin = next;
        if (flags & LSTRIP && begin < done)
            begin = done;
        if (flags & RSTRIP && end <= done)
            end = done; /* white space from here to there is known */
        while (flags & RSTRIP && is_space(read_at(t, end, &next)))
            end = next;
        if (begin > end)
            continue;
        if (done < begin)
            encode_between(e, f, part(t, done, begin), first && done == 0);
        if (begin < end && !e->error) /* the library loses a token of which nothing is left */
            e->error = push_id(e->tokens, &e->room, id);
        done = end;
    }
    if (done < t.size)
        encode_between(e, f, part(t, done, t.size), first && done == 0);
}

/* Copies text, with U+FFFD for each byte that is not UTF-8. */
static void append_valid(buffer *out, const char *text, size_t size)
{
    size_t at, begin = 0, n;
    uint32_t c;
    for (at = 0; at < size; at += n) {
        n = unicode_read(text + at, size - at, &c);
        if (c < UNICODE_INVALID)
            continue;
        append(out, text + begin, at - begin);
        append(out, REPLACEMENT, strlen(REPLACEMENT));
        begin = at + n;
    }
    append(out, text + begin, size - begin);
}

static int is_valid(const char *text, size_t size)
{
    size_t at;
    uint32_t c = 0;
    for (at = 0; at < size && c < UNICODE_INVALID;)
        at += unicode_read(text + at, size - at, &c);
    return c < UNICODE_INVALID;
}

const char *bpe_encode_as(const bpe *b, const char *text, size_t size, int flags, bpe_tokens *tokens)
{
    buffer valid = {NULL, 0, 0, 0};
    encoder e;
    int i;
    memset(tokens, 0, sizeof *tokens);
    memset(&e, 0, sizeof e);
    if (size > TEXT_MAX)
        return "a text of more than 1 GiB";
    e.model = b->model;
    e.tokens = tokens;
    e.skips_special = !(flags & BPE_SPECIAL);
    e.normal_room = size < SIZE_MAX / 2 / GROWTH ? size * b->model->growth + SLACK : SIZE_MAX;
    if (!is_valid(text, size)) {
        append_valid(&valid, text, size);
        text = valid.text;
        size = valid.size;
    }
    e.error = valid.failed ? no_memory : NULL;
    if (size && !e.error)
        encode_added(&e, &b->model->raw, make_string(text, size), !(flags & BPE_INSIDE));
    free(valid.text);
    free(e.symbols);
    free(e.heap);
    free(e.normalized.text);
    free(e.spare.text);
    free(e.spelled.text);
    for (i = 0; i < STEPS; i++)
        free(e.rewritten[i].text);
    if (e.error)
        bpe_tokens_free(tokens);
    return e.error;
}

const char *bpe_encode(const bpe *b, const char *text, size_t size, bpe_tokens *tokens)
{
    return bpe_encode_as(b, text, size, 0, tokens);
}

/* ---- decoding ---- */

static int is_token(const bpe *b, int32_t id)
{
    return id >= 0 && id < b->count && b->model->tokens[id].flags;
}

/* Writes what fits, and counts everything. */
typedef struct writer {
    char *out;
    size_t size, used;
    int drops_space; /* the first byte, if it is one */
} writer;

static void write_bytes(writer *w, const char *bytes, size_t count)
{
    if (count && w->drops_space) {
        size_t dropped = *bytes == ' ';
        bytes += dropped;
        count -= dropped;
        w->drops_space = 0;
    }
    if (count && w->used < w->size)
        memcpy(w->out + w->used, bytes, count < w->size - w->used ? count : w->size - w->used);
    w->used += count;
}

/* Bytes of a spelling in which each character stands for one; if one does not, the spelling is the text. */
static void write_byte_level(writer *w, string spelling)
{
    size_t at, next, before = w->used;
    for (at = 0; at < spelling.size; at = next) {
        int byte = byte_of(read_at(spelling, at, &next));
        char c = (char)byte;
        if (byte < 0) {
            w->used = before;
            write_bytes(w, spelling.text, spelling.size);
            return;
        }
        write_bytes(w, &c, 1);
    }
}

static void write_characters(writer *w, const bpe_model *m, string spelling, int first)
{
    string space = in_strings(m, m->space, m->space_size), blank = in_strings(m, m->blank, m->blank_size);
    int byte = m->named_bytes ? named_byte(spelling) : -1;
    size_t at = 0;
    char c = (char)byte;
    if (byte >= 0) {
        write_bytes(w, &c, 1);
        return;
    }
    while (at < spelling.size) {
        int is_blank = space.size && stands_at(spelling, at, space);
        if (!is_blank)
            write_bytes(w, spelling.text + at, 1);
        else if (!first || !m->drops_marks)
            write_bytes(w, blank.text, blank.size);
        at += is_blank ? space.size : 1;
    }
}

static size_t write_piece(const bpe *b, int32_t id, int first, char *out, size_t size)
{
    const bpe_model *m = b->model;
    string spelling = token_text(m, id);
    writer w;
    w.out = out;
    w.size = size;
    w.used = 0;
    w.drops_space = first && m->drops_space;
    if (m->decoder == BYTE_LEVEL) {
        write_byte_level(&w, spelling);
    } else if (m->decoder == CHARACTERS) {
        write_characters(&w, m, spelling, first);
    } else {
        write_bytes(&w, " ", !first);
        write_bytes(&w, spelling.text, spelling.size);
    }
    return w.used;
}

size_t bpe_piece(const bpe *b, int32_t id, int first, char *out, size_t size)
{
    return is_token(b, id) && !bpe_is_special(b, id) ? write_piece(b, id, first, out, size) : 0;
}

/* The bytes of what is no UTF-8 that one U+FFFD stands for: a character that is cut off, as far as it goes, or one byte
   (Unicode 16, table 3-8). */
static size_t broken_size(const char *text, size_t size)
{
    unsigned char lead = (unsigned char)text[0], c = size > 1 ? (unsigned char)text[1] : 0;
    size_t most = lead < 0xc2 ? 1 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : 1, n = 1;
    int low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80, high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (most > 1 && c >= low && c <= high)
        for (n = 2; n < most && n < size && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n++;
    return n;
}

static void append_repaired(buffer *out, const char *text, size_t size)
{
    size_t at, n;
    uint32_t c;
    for (at = 0; at < size; at += n) {
        n = unicode_read(text + at, size - at, &c);
        if (c < UNICODE_INVALID) {
            append(out, text + at, n);
        } else {
            n = broken_size(text + at, size - at);
            append(out, REPLACEMENT, strlen(REPLACEMENT));
        }
    }
}

/* The bytes that the text ends with come from tokens of a byte each: if they are no UTF-8, U+FFFD stands for each. */
static void finish_bytes(buffer *text, size_t begin)
{
    size_t count = text->size - begin;
    if (text->failed || count == 0 || is_valid(text->text + begin, count))
        return;
    text->size = begin;
    while (count--)
        append(text, REPLACEMENT, strlen(REPLACEMENT));
}

static void append_pieces(const bpe *b, const int32_t *ids, size_t count, buffer *text)
{
    const bpe_model *m = b->model;
    size_t i, begin = 0, size; /* begin: of bytes that are still to be looked at, if is_byte */
    int first = 1, is_byte = 0, was_byte = 0;
    for (i = 0; i < count && !text->failed; i++, was_byte = is_byte) {
        if (bpe_is_special(b, ids[i]))
            continue;
        is_byte = m->decoder == CHARACTERS && m->named_bytes && named_byte(token_text(m, ids[i])) >= 0;
        if (was_byte && !is_byte)
            finish_bytes(text, begin);
        if (is_byte && !was_byte)
            begin = text->size;
        size = write_piece(b, ids[i], first, NULL, 0);
        if (size && reserve(text, size))
            text->size += write_piece(b, ids[i], first, text->text + text->size, size);
        first = 0;
    }
    if (was_byte)
        finish_bytes(text, begin);
}

const char *bpe_decode(const bpe *b, const int32_t *ids, size_t count, char **text, size_t *size)
{
    buffer pieces = {NULL, 0, 0, 0}, out = {NULL, 0, 0, 0};
    size_t i;
    *text = NULL;
    *size = 0;
    for (i = 0; i < count; i++)
        if (!is_token(b, ids[i]))
            return "an id that the model does not have";
    append_pieces(b, ids, count, &pieces);
    if (!pieces.failed)
        append_repaired(&out, pieces.text, pieces.size);
    append(&out, "", 1);
    free(pieces.text);
    if (pieces.failed || out.failed) {
        free(out.text);
        return no_memory;
    }
    *text = out.text;
    *size = out.size - 1;
    return NULL;
}

/* ---- single tokens ---- */

const char *bpe_spelling(const bpe *b, int32_t id, size_t *size)
{
    *size = is_token(b, id) ? b->model->tokens[id].size : 0;
    return is_token(b, id) ? token_text(b->model, id).text : NULL;
}

int32_t bpe_id(const bpe *b, const char *spelling, size_t size)
{
    return find_token(b->model, make_string(spelling, size));
}

int bpe_is_special(const bpe *b, int32_t id)
{
    return is_token(b, id) && b->model->tokens[id].flags & SPECIAL;
}
