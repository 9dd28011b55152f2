/* bpe_split.c: words of a text. The normalizer rewrites it, added tokens are taken out of it, and the pre-tokenizer
   cuts what lies between them. */
#include "bpe_model.h"

#define NONE UINT32_MAX /* no character */

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

/* White space that both SentencePiece's NMT rules and the library's turn into a space, and what they drop. */
static uint32_t nmt(uint32_t c)
{
    if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f)
        return NONE;
    return (c >= 9 && c <= 0xd) || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
                   c == 0x2581 || c == 0xfeff || c == 0xfffd
               ? ' '
               : c;
}

/* Appends what becomes of each character. */
static void append_each(const step *s, string text, size_t most, buffer *out)
{
    uint32_t code, codes[3];
    size_t at, n, count, i;
    for (at = 0; at < text.size && out->size <= most && text_reserve(out, 16); at += n) {
        n = unicode_read(text.text + at, text.size - at, &code);
        codes[0] = s->kind == NMT ? nmt(code) : s->kind == STRIP_ACCENTS && unicode_is_accent(code) ? NONE : code;
        count = s->kind == LOWER ? unicode_lower(code, codes) : codes[0] != NONE;
        for (i = 0; i < count; i++)
            out->size += unicode_write(out->text + out->size, codes[i]);
    }
}

/* Appends text with `content` for each run of at least two spaces. */
static void append_runs(const step *s, string text, buffer *out)
{
    size_t at, run;
    for (at = 0; at < text.size; at += run ? run : 1) {
        for (run = 0; at + run < text.size && text.text[at + run] == ' ';)
            run++;
        text_append(out, run > 1 ? s->content : text_of(text.text + at, 1));
    }
}

/* A text without the white space at its ends. */
static string stripped(const step *s, string text)
{
    size_t size;
    while (s->left && text.size && unicode_is_space(added_behind(text, 0, &size)))
        text = text_from(text, size);
    while (s->right && text.size && unicode_is_space(added_before(text, text.size, &size)))
        text.size -= size;
    return text;
}

/* Appends what a step makes of a text; when that is more than `most` bytes, it may stop. */
static void append_step(const step *s, string text, size_t most, buffer *out)
{
    size_t size = text.size;
    if (size == 0)
        return;
    switch (s->kind) {
    case REPLACE: text_append_replaced(out, text, s->literal, s->content); break;
    case RUNS: append_runs(s, text, out); break;
    case STRIP: text_append(out, stripped(s, text)); break;
    case CHARSMAP: bpe_rewrite(&s->map, text, most, out); break;
    case LOWER:
    case STRIP_ACCENTS:
    case NMT: append_each(s, text, most, out); break;
    case NORMAL_FORM:
        if (!is_ascii(text)) {
            while (text_reserve(out, size) &&
                   (size = unicode_normalize(s->form, text.text, text.size, out->text, out->room)) > out->room) {
            }
            out->size = out->failed ? 0 : size;
            break;
        } /* fall through */
    default:
        if (s->kind == PREPEND)
            text_append(out, s->content);
        text_append(out, text);
    }
}

/* How many of the bytes that a step has made of a text come of the first character of all, if `first` of the text do;
   SIZE_MAX: no memory. What is written in place of something belongs to the last byte of that; a character of a normal
   form, to the first of those that it is made of, unless its marks have changed places. */
static size_t first_after(const step *s, string text, string out, size_t first)
{
    buffer alone = {NULL, 0, 0, 0}; /* what the step makes of these bytes by themselves */
    step part = *s;
    size_t at = 0, after = 0, least = 0;
    uint32_t c;
    if (first == 0 || out.size == 0 || s->kind == PREPEND)
        return first ? s->content.size + first : 0;
    if (s->kind == REPLACE || s->kind == METASPACE) {
        while (at < first) {
            int found = text_begins(text_from(text, at), s->literal);
            at += found ? s->literal.size : 1;
            after += at > first ? 0 : found ? s->content.size : 1;
        }
        return after;
    }
    part.right = 0; /* the end of these bytes is not that of the text */
    append_step(&part, text_of(text.text, first), SIZE_MAX, &alone);
    while (after < alone.size && after < out.size && alone.text[after] == out.text[after])
        after++;
    while (after > 0 && after < out.size && ((unsigned char)out.text[after] & 0xc0) == 0x80)
        after--;
    if (s->kind == NORMAL_FORM || s->kind == CHARSMAP)
        least = unicode_read(out.text, out.size, &c);
    free(alone.text);
    return alone.failed ? SIZE_MAX : after > least ? after : least;
}

const char *bpe_normalize(const bpe_model *m, string text, buffer *out, buffer *spare, size_t *room, size_t *first)
{
    size_t most = 0;
    buffer swap;
    int i;
    out->size = 0;
    if (m->normalizer_steps == 0)
        text_append(out, text);
    for (i = 0; i < m->normalizer_steps; i++) {
        string given = i ? text_in(out) : text;
        spare->size = 0;
        append_step(&m->normalizer[i], given, *room, spare);
        if (out->failed || spare->failed ||
            (*first = first_after(&m->normalizer[i], given, text_in(spare), *first)) == SIZE_MAX)
            return TEXT_NO_MEMORY;
        swap = *out;
        *out = *spare;
        *spare = swap;
        if (out->size > *room)
            return too_large;
        most = out->size > most ? out->size : most;
    }
    *room -= most;
    return out->failed ? TEXT_NO_MEMORY : NULL;
}

/* ---- the pre-tokenizer ---- */

static void cut_text(encoder *e, int index, string text, size_t first);

/* The next match of a SPLIT from `at` on: 1, and where it is; or 0. */
static int find_match(const step *s, string t, size_t at, size_t *begin, size_t *end)
{
    size_t size = 0;
    if (s->found)
        return patterns_next(s->found, t.text, t.size, at, begin, end);
    for (; at < t.size; at += size) {
        size = 1;
        if (s->literal.size ? text_begins(text_from(t, at), s->literal) : unicode_is_space(added_behind(t, at, &size)))
            break;
    }
    *begin = at;
    *end = at + (s->literal.size ? s->literal.size : size);
    return at < t.size;
}

/* Pieces of a text, each put together from one or more that follow each other. */
typedef struct splitter {
    encoder *e;
    int index;
    string text;
    size_t first;
    size_t begin, end; /* of the piece so far, if there is one */
    int open, matched; /* matched: what came last was a match */
} splitter;

/* What is left of `first` from a byte on. */
static size_t rest(size_t first, size_t begin)
{
    return first > begin ? first - begin : 0;
}

static void finish_piece(splitter *s)
{
    if (s->open)
        cut_text(s->e, s->index + 1, text_of(s->text.text + s->begin, s->end - s->begin), rest(s->first, s->begin));
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

static void split_text(encoder *e, int index, string text, size_t first)
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

/* Cuts text by the steps from `index` on, and encodes the words that come of it. first: how many of its bytes come of
   the first character of all. */
static void cut_text(encoder *e, int index, string text, size_t first)
{
    const step *s = &e->model->cuts[index];
    size_t more;
    buffer *out;
    if (e->error || text.size == 0)
        return;
    if (index == e->model->cut_steps) {
        (e->model->scores ? bpe_cut_word : bpe_encode_word)(e, text);
        return;
    }
    if (s->kind == SPLIT) {
        split_text(e, index, text, first);
        return;
    }
    out = &e->rewritten[index];
    out->size = 0;
    if ((s->prepend == ALWAYS || (s->prepend == FIRST && first)) && !text_begins(text, s->literal) &&
        !text_begins(text, s->content))
        text_append(out, s->content);
    more = first ? out->size : 0;
    text_append_replaced(out, text, s->literal, s->content);
    if (out->failed)
        e->error = TEXT_NO_MEMORY;
    else
        cut_text(e, index + 1, text_in(out), more + first_after(s, text, text_in(out), first));
}

/* ---- added tokens ---- */

/* Finds which bytes of e->normalized somebody said, by normalizing what was said and what was not each by itself. */
static void mark_normalized(encoder *e)
{
    const unsigned char *said = e->said + (e->part.text - e->given.text);
    buffer piece = {NULL, 0, 0, 0};
    size_t at = 0, end, room = SIZE_MAX / 2, prefix = 0, first = 0;
    e->error = bpe_normalize(e->model, text_word("a"), &piece, &e->spare, &room, &first);
    prefix = piece.size - (piece.size > 0); /* what is put in front of all text */
    for (e->marks.size = 0; at < e->part.size && !e->error; at = end) {
        size_t from = e->marks.size ? prefix : 0, before = e->marks.size;
        for (end = at + 1; end < e->part.size && !said[end] == !said[at];)
            end++;
        e->error = bpe_normalize(e->model, text_of(e->part.text + at, end - at), &piece, &e->spare, &room, &first);
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
static int was_said(void *encoding, const trie *f, string spelt)
{
    encoder *e = (encoder *)encoding;
    const unsigned char *said = e->said;
    size_t at = (size_t)(spelt.text - e->given.text);
    if (!said)
        return 0;
    if (f == &e->model->added.normalized && e->model->normalizer_steps > 0) {
        if (e->marks.size == 0)
            mark_normalized(e);
        said = (const unsigned char *)e->marks.text;
        at = (size_t)(spelt.text - e->normalized.text);
        if (text_begins(spelt, text_word("\xe2\x96\x81"))) {
            at += 3;
            spelt.size -= 3;
        }
    }
    while (!e->error && spelt.size > 0 && !said[at]) {
        at++;
        spelt.size--;
    }
    return e->error || spelt.size > 0;
}

/* The text between added tokens: at first it has still to be normalised, and others are then looked for. */
static void encode_added(encoder *e, const trie *f, string t, size_t first);

static void encode_between(encoder *e, const trie *f, string t, size_t first)
{
    const bpe_model *m = e->model;
    if (e->error || t.size == 0)
        return;
    if (f == &m->added.normalized) {
        cut_text(e, 0, t, first);
    } else if (m->normalizer_steps == 0) {
        encode_added(e, &m->added.normalized, t, first);
    } else if (e->part = t, e->marks.size = 0,
               (e->error = bpe_normalize(m, t, &e->normalized, &e->spare, &e->normal_room, &first)) == NULL) {
        encode_added(e, &m->added.normalized, text_in(&e->normalized), first);
    }
}

static void encode_added(encoder *e, const trie *f, string t, size_t first)
{
    added_walk walk = added_begin(&e->model->added, f, t);
    int more = 1;
    walk.skips_special = e->skips_special;
    walk.hides = was_said;
    walk.user = e;
    while (more && !e->error) {
        more = added_next(&walk);
        encode_between(e, f, walk.before, rest(first, (size_t)(walk.before.text - t.text)));
        if (more && walk.place >= 0 && !e->error)
            push_id(e, e->model->added.tokens[walk.place].id);
    }
}

void bpe_encode_text(encoder *e, string text, int first)
{
    uint32_t c;
    encode_added(e, &e->model->added.raw, text, first ? unicode_read(text.text, text.size, &c) : 0);
}
