/* bpe.c: see bpe.h. It opens a model, encodes and decodes; its parts read, split and merge. */
#include "bpe_model.h"

enum {
    FILE_MAX = 1 << 27, /* bytes of a file; published ones have 34 MB at most */
    TEXT_MAX = 1 << 30  /* bytes of a text to encode */
};

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
        free(m->strings);
        free(m->index.ids);
        free(m->merges);
        free(m->scores);
        trie_free(&m->pieces);
        added_free(&m->added);
        free(m);
    }
    bpe_tokens_free(&b->before);
    bpe_tokens_free(&b->after);
    b->model = NULL;
    b->count = 0;
}

/* An empty model, whose messages will begin with its name. */
static void start(bpe *b, const char *name)
{
    memset(b, 0, sizeof *b);
    text_begin_message(b->error, name, ": ");
}

const char *bpe_parse(bpe *b, const void *bytes, size_t size, const char *name)
{
    const char *error;
    size_t where;
    json root;
    start(b, name);
    if (size > FILE_MAX)
        error = text_fail(b->error, "larger than %ld bytes", (long)FILE_MAX);
    else if ((error = json_parse(&root, (const char *)bytes, size, &where)) != NULL)
        error = text_fail(b->error, "byte %lu: %s", (unsigned long)where, error);
    else if ((b->model = (bpe_model *)calloc(1, sizeof *b->model)) == NULL ||
             (b->model->strings = (char *)malloc(size + 16)) == NULL)
        error = text_fail(b->error, TEXT_NO_MEMORY);
    else
        error = bpe_read(b, root);
    if (error)
        bpe_close(b);
    else
        b->error[0] = 0;
    return error;
}

const char *bpe_open(bpe *b, const char *path)
{
    buffer contents = {NULL, 0, 0, 0};
    const char *error;
    start(b, path);
    error = text_read_file(b->error, path, FILE_MAX, &contents);
    if (!error)
        error = bpe_parse(b, contents.text, contents.size, path);
    free(contents.text);
    return error;
}

/* ---- encoding ---- */

/* Marks for the bytes of valid text, in which U+FFFD stands for each that is none. */
static void append_marks(buffer *marks, string given, const unsigned char *said)
{
    while (given.size) {
        size_t size = shown_utf8(given.text, given.size), i;
        for (i = 0; i < (size ? size : sizeof TEXT_REPLACEMENT - 1); i++)
            text_append(marks, text_of((const char *)said + (size ? i : 0), 1));
        said += size ? size : 1;
        given = text_from(given, size ? size : 1);
    }
}

static const char *encode(const bpe *b, const char *text, const unsigned char *said, size_t size, int flags,
                          bpe_tokens *tokens)
{
    buffer valid = {NULL, 0, 0, 0}, marks = {NULL, 0, 0, 0};
    string given = text_of(text, size);
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
    if (!text_is_valid(given)) {
        text_append_valid(&valid, given);
        if (said)
            append_marks(&marks, given, said);
        said = said ? (const unsigned char *)marks.text : NULL;
        given = text_in(&valid);
    }
    e.error = valid.failed || marks.failed ? TEXT_NO_MEMORY : NULL;
    e.said = said;
    e.given = given;
    if (given.size && !e.error)
        bpe_encode_text(&e, given, !(flags & BPE_INSIDE));
    free(valid.text);
    free(marks.text);
    free(e.marks.text);
    free(e.symbols);
    free(e.heap);
    free(e.cuts);
    free(e.normalized.text);
    free(e.spare.text);
    free(e.spelled.text);
    for (i = 0; i < STEPS; i++)
        free(e.rewritten[i].text);
    if (e.error)
        bpe_tokens_free(tokens);
    return e.error;
}

const char *bpe_encode_as(const bpe *b, const char *text, size_t size, int flags, bpe_tokens *tokens)
{
    return encode(b, text, NULL, size, flags, tokens);
}

const char *bpe_encode_said(const bpe *b, const char *text, const unsigned char *said, size_t size, bpe_tokens *tokens)
{
    size_t at = 0;
    while (said && at < size && !said[at])
        at++;
    return encode(b, text, at < size ? said : NULL, size, BPE_SPECIAL, tokens);
}

const char *bpe_encode(const bpe *b, const char *text, size_t size, bpe_tokens *tokens)
{
    return bpe_encode_as(b, text, size, 0, tokens);
}

/* ---- decoding ---- */

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
    return text_named_byte(s, "0123456789abcdef0123456789ABCDEF");
}

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
    size_t at, before = w->used;
    uint32_t code;
    for (at = 0; at < spelling.size;) {
        int byte;
        char c;
        at += unicode_read(spelling.text + at, spelling.size - at, &code);
        byte = byte_of(code);
        c = (char)byte;
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
    int byte = m->named_bytes ? named_byte(spelling) : -1;
    size_t at = 0;
    char c = (char)byte;
    if (byte >= 0) {
        write_bytes(w, &c, 1);
        return;
    }
    while (at < spelling.size) {
        int is_blank = m->space.size && text_begins(text_from(spelling, at), m->space);
        if (!is_blank)
            write_bytes(w, spelling.text + at, 1);
        else if (!first || !m->drops_marks)
            write_bytes(w, m->blank.text, m->blank.size);
        at += is_blank ? m->space.size : 1;
    }
}

static size_t write_piece(const bpe *b, int32_t id, int first, char *out, size_t size)
{
    const bpe_model *m = b->model;
    string spelling = m->tokens[id].text;
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

static void append_repaired(buffer *out, string s)
{
    while (s.size) {
        size_t size = shown_utf8(s.text, s.size);
        text_append(out, size ? text_of(s.text, size) : text_word(TEXT_REPLACEMENT));
        s = text_from(s, size ? size : broken_size(s.text, s.size));
    }
}

/* The bytes that the text ends with come from tokens of a byte each: if they are no UTF-8, U+FFFD stands for each. */
static void finish_bytes(buffer *text, size_t begin)
{
    size_t count = text->size - begin;
    if (text->failed || count == 0 || text_is_valid(text_from(text_in(text), begin)))
        return;
    text->size = begin;
    while (count--)
        text_append(text, text_word(TEXT_REPLACEMENT));
}

static void append_pieces(const bpe *b, const int32_t *ids, size_t count, buffer *text)
{
    const bpe_model *m = b->model;
    size_t i, begin = 0, size; /* begin: of bytes that are still to be looked at, if is_byte */
    int first = 1, is_byte = 0, was_byte = 0;
    for (i = 0; i < count && !text->failed; i++, was_byte = is_byte) {
        if (bpe_is_special(b, ids[i]))
            continue;
        is_byte = m->decoder == CHARACTERS && m->named_bytes && named_byte(m->tokens[ids[i]].text) >= 0;
        if (was_byte && !is_byte)
            finish_bytes(text, begin);
        if (is_byte && !was_byte)
            begin = text->size;
        size = write_piece(b, ids[i], first, NULL, 0);
        if (size && text_reserve(text, size))
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
        append_repaired(&out, text_in(&pieces));
    text_append(&out, text_of("", 1));
    free(pieces.text);
    if (pieces.failed || out.failed) {
        free(out.text);
        return TEXT_NO_MEMORY;
    }
    *text = out.text;
    *size = out.size - 1;
    return NULL;
}

/* ---- single tokens ---- */

const char *bpe_spelling(const bpe *b, int32_t id, size_t *size)
{
    *size = is_token(b, id) ? b->model->tokens[id].text.size : 0;
    return is_token(b, id) ? b->model->tokens[id].text.text : NULL;
}

int32_t bpe_id(const bpe *b, const char *spelling, size_t size)
{
    return find_token(b->model, text_of(spelling, size));
}

int bpe_is_added(const bpe *b, int32_t id)
{
    return is_token(b, id) && b->model->tokens[id].flags & ADDED;
}

int bpe_is_special(const bpe *b, int32_t id)
{
    return is_token(b, id) && b->model->tokens[id].flags & SPECIAL;
}
