/* bpe_split.c: words of a text. The normalizer rewrites it, added tokens are taken out of it, and the pre-tokenizer
   cuts what lies between them. */
#include "bpe_model.h"

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

/* How many of the bytes that a step has made of a text come of the first character of all, if `first` of the text do.
   What is written in place of something belongs to the last byte of that; a character of a normal form, to the first of
   those that it is made of, unless its marks have changed places. */
static size_t first_after(const step *s, string text, string out, size_t first)
{
    char alone[256]; /* the normal form of these bytes by themselves */
    size_t at = 0, after = 0, size;
    uint32_t c;
    if (first == 0 || out.size == 0 || s->kind == PREPEND)
        return first ? s->content.size + first : 0;
    if (s->kind != NORMAL_FORM) {
        while (at < first) {
            int found = text_begins(text_from(text, at), s->literal);
            at += found ? s->literal.size : 1;
            after += at > first ? 0 : found ? s->content.size : 1;
        }
        return after;
    }
    if (is_ascii(text))
        return first;
    size = unicode_normalize(s->form, text.text, first, alone, sizeof alone);
    size = size < sizeof alone - 4 ? size : sizeof alone - 4;
    while (after < size && after < out.size && alone[after] == out.text[after])
        after++;
    while (after > 0 && after < out.size && ((unsigned char)out.text[after] & 0xc0) == 0x80)
        after--;
    size = unicode_read(out.text, out.size, &c);
    return after > size ? after : size;
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
        append_step(&m->normalizer[i], given, spare);
        if (out->failed || spare->failed)
            return TEXT_NO_MEMORY;
        *first = first_after(&m->normalizer[i], given, text_in(spare), *first);
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
        bpe_encode_word(e, text);
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
    } else if ((e->error = bpe_normalize(m, t, &e->normalized, &e->spare, &e->normal_room, &first)) == NULL) {
        encode_added(e, &m->added.normalized, text_in(&e->normalized), first);
    }
}

static void encode_added(encoder *e, const trie *f, string t, size_t first)
{
    added_walk walk = added_begin(&e->model->added, f, t);
    int more = 1;
    walk.skips_special = e->skips_special;
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
