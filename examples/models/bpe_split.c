/* bpe_split.c: words of a text. The normalizer rewrites it, added tokens are taken out of it, and the pre-tokenizer
   cuts what lies between them. */
#include "bpe_model.h"

#define NONE UINT32_MAX /* no character */

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

/* ---- the normalizer ---- */

static const char too_large[] = "the normalizer makes the text too large";

static int is_ascii(string s)
{
    size_t i;
    for (i = 0; i < s.size; i++)
        if ((unsigned char)s.text[i] >= 0x80)
            return 0;
    return 1;
}

static void append_step(const step *s, string text, buffer *out)
{
    size_t size = text.size;
    if (size == 0)
        return;
    if (s->kind == NORMAL_FORM && !is_ascii(text)) {
        while (text_reserve(out, size) &&
               (size = unicode_normalize(s->form, text.text, text.size, out->text, out->room)) > out->room) {
        }
        out->size = size;
    } else if (s->kind == REPLACE) {
        text_append_replaced(out, text, s->literal, s->content);
    } else {
        if (s->kind == PREPEND)
            text_append(out, s->content);
        text_append(out, text);
    }
}

const char *bpe_normalize(const bpe_model *m, string text, buffer *out, buffer *spare, size_t *room)
{
    size_t most = 0;
    buffer swap;
    int i;
    out->size = 0;
    if (m->normalizer_steps == 0)
        text_append(out, text);
    for (i = 0; i < m->normalizer_steps; i++) {
        spare->size = 0;
        append_step(&m->normalizer[i], i ? text_in(out) : text, spare);
        swap = *out;
        *out = *spare;
        *spare = swap;
        if (out->failed || spare->failed)
            return TEXT_NO_MEMORY;
        if (out->size > *room)
            return too_large;
        most = out->size > most ? out->size : most;
    }
    *room -= most;
    return out->failed ? TEXT_NO_MEMORY : NULL;
}

/* ---- the pre-tokenizer ---- */

static void cut_text(encoder *e, int index, string text, int first);

/* The next match of a SPLIT from `at` on: 1, and where it is; or 0. */
static int find_match(const step *s, string t, size_t at, size_t *begin, size_t *end)
{
    if (s->found)
        return patterns_next(s->found, t.text, t.size, at, begin, end);
    while (at < t.size && !text_begins(text_from(t, at), s->literal))
        at++;
    *begin = at;
    *end = at + s->literal.size;
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
        cut_text(s->e, s->index + 1, text_of(s->text.text + s->begin, s->end - s->begin), s->first && s->begin == 0);
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
    while (!e->error && find_match(&e->model->cuts[index], text, at, &begin, &end)) {
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
    const step *s = &e->model->cuts[index];
    const string space = text_word(" ");
    buffer *out;
    int prepends;
    if (e->error || text.size == 0)
        return;
    if (index == e->model->cut_steps) {
        bpe_encode_word(e, text);
        return;
    }
    if (s->kind == SPLIT) {
        split_text(e, index, text, first);
        return;
    }
    out = &e->rewritten[index];
    out->size = 0;
    prepends = !text_begins(text, space);
    if (s->kind == PREFIX) {
        if (prepends)
            text_append(out, space);
        text_append(out, text);
    } else {
        prepends &= s->prepend == ALWAYS || (s->prepend == FIRST && first);
        if (prepends && !text_begins(text, s->literal))
            text_append(out, s->literal);
        text_append_replaced(out, text, space, s->literal);
    }
    if (out->failed)
        e->error = TEXT_NO_MEMORY;
    else
        cut_text(e, index + 1, text_in(out), first);
}

/* ---- added tokens ---- */

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

/* Finds which bytes of e->normalized somebody said, by normalizing what was said and what was not each by itself. */
static void mark_normalized(encoder *e)
{
    const unsigned char *said = e->said + (e->part.text - e->given.text);
    buffer piece = {NULL, 0, 0, 0};
    size_t at = 0, end, room = SIZE_MAX / 2, prefix = 0;
    e->error = bpe_normalize(e->model, text_word("a"), &piece, &e->spare, &room);
    prefix = piece.size - (piece.size > 0); /* what is put in front of all text */
    for (e->marks.size = 0; at < e->part.size && !e->error; at = end) {
        size_t from = e->marks.size ? prefix : 0, before = e->marks.size;
        for (end = at + 1; end < e->part.size && !said[end] == !said[at];)
            end++;
        e->error = bpe_normalize(e->model, text_of(e->part.text + at, end - at), &piece, &e->spare, &room);
        for (; !e->error && from < piece.size; from++)
            text_append(&e->marks, text_of(said[at] ? "\1" : "", 1));
        if (!e->error && (e->marks.failed || e->marks.size > e->normalized.size ||
                          memcmp(piece.text + piece.size - (e->marks.size - before), e->normalized.text + before,
                                 e->marks.size - before) != 0))
            e->error = e->marks.failed ? TEXT_NO_MEMORY : "the normalizer joins what was said with what was not";
    }
    if (!e->error && e->marks.size != e->normalized.size)
        e->error = "the normalizer joins what was said with what was not";
    free(piece.text);
}

/* Whether somebody said a byte of a token that stands in a text. Where the normalizer writes U+2581 in front of a
   token, too, it is no matter who said the space that this comes from. */
static int was_said(encoder *e, const trie *f, const char *text, size_t size)
{
    const unsigned char *said = e->said;
    size_t at = (size_t)(text - e->given.text);
    if (!said)
        return 0;
    if (f == &e->model->normalized && e->model->normalizer_steps > 0) {
        if (e->marks.size == 0)
            mark_normalized(e);
        said = (const unsigned char *)e->marks.text;
        at = (size_t)(text - e->normalized.text);
        if (text_begins(text_of(text, size), text_word("\xe2\x96\x81")))
            at += 3, size -= 3;
    }
    while (!e->error && size > 0 && !said[at])
        at++, size--;
    return e->error || size > 0;
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
    } else if (e->part = t, e->marks.size = 0,
               (e->error = bpe_normalize(e->model, t, &e->normalized, &e->spare, &e->normal_room)) == NULL) {
        encode_added(e, &e->model->normalized, text_in(&e->normalized), first);
    }
}

/* Encodes text in which added tokens may stand. Of two that begin at a place, the longer is found; they do not overlap,
   but the white space that one takes from behind itself may still hold others. */
static void encode_added(encoder *e, const trie *f, string t, int first)
{
    const token *tokens = e->model->tokens;
    size_t at = 0, done = 0, begin, end, next, size = 0;
    while (at < t.size && f->nodes && !e->error) {
        int32_t id = trie_longest(f, t.text + at, t.size - at, &size);
        int flags = id >= 0 ? tokens[id].flags : 0;
        begin = at;
        end = at += id >= 0 ? size : 1;
        if (id < 0 || (e->skips_special && flags & SPECIAL))
            continue;
        if (flags & SPECIAL && was_said(e, f, t.text + begin, size)) {
            at = begin + 1;
            continue;
        }
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
            encode_between(e, f, text_of(t.text + done, begin - done), first && done == 0);
        if (begin < end && !e->error) /* the library loses a token of which nothing is left */
            push_id(e, id);
        done = end;
    }
    if (done < t.size)
        encode_between(e, f, text_from(t, done), first && done == 0);
}

void bpe_encode_text(encoder *e, string text, int first)
{
    encode_added(e, &e->model->raw, text, first);
}
