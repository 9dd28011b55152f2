/* bpe_unigram.c: tokens of a word where the model is a Unigram one, as T5's is: of all ways to cut the word into
   pieces, the one whose scores have the greatest sum. And the rules of a charsmap, which such tokenizers rewrite text by. */
#include "bpe_model.h"

/* ---- the charsmap ----

   The library has its rules for what a reader sees as one character: of such a cluster of up to 5 bytes the shortest
   rule that its beginning has stands for all of it; where there is none, or more bytes, each code point is by itself.
   (Of the rules for clusters, those for emoji that are joined and for Indic conjuncts are left out: they make clusters
   of more bytes.) */

static int is_prepended(uint32_t c)
{
    return (c >= 0x600 && c <= 0x605) || c == 0x6dd || c == 0x70f || c == 0x890 || c == 0x891 || c == 0x8e2 ||
           c == 0xd4e || c == 0x110bd || c == 0x110cd || c == 0x111c2 || c == 0x111c3 || c == 0x1193f || c == 0x11941 ||
           c == 0x11a3a;
}

/* What goes on with the cluster before it: Extend, SpacingMark and ZWJ of Unicode's text segmentation (UAX 29). */
static int goes_on(uint32_t c)
{
    if (c < 0x300)
        return 0;
    if (unicode_is(c, UNICODE_MARK))
        return !((c >= 0x102b && c <= 0x102c) || c == 0x1038 || (c >= 0x1062 && c <= 0x1064) ||
                 (c >= 0x1067 && c <= 0x106d) || c == 0x1083 || (c >= 0x1087 && c <= 0x108c) || c == 0x108f ||
                 (c >= 0x109a && c <= 0x109c) || c == 0x1a61 || c == 0x1a63 || c == 0x1a64 || c == 0xaa7b ||
                 c == 0xaa7d || c == 0x11720 || c == 0x11721);
    return c == 0x200c || c == 0x200d || c == 0xe33 || c == 0xeb3 || c == 0xff9e || c == 0xff9f ||
           (c >= 0x1f3fb && c <= 0x1f3ff) || (c >= 0xe0020 && c <= 0xe007f);
}

static int is_control(uint32_t c)
{
    if (goes_on(c) || is_prepended(c))
        return 0;
    return unicode_is(c, UNICODE_CC | UNICODE_CF) || c == 0x2028 || c == 0x2029 || c == 0x2065 ||
           (c >= 0xfff0 && c <= 0xfff8) || (c >= 0xe0000 && c <= 0xe0fff);
}

/* The kind of a letter of Korean that joins others, by how many bits are set which of the next may join it; or 0. */
enum { L = 1, V = 2, T = 4, LV = 8, LVT = 16 };

static int hangul(uint32_t c)
{
    if (c >= 0xac00 && c <= 0xd7a3)
        return (c - 0xac00) % 28 ? LVT : LV;
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0xa960 && c <= 0xa97c)   ? L
           : (c >= 0x1160 && c <= 0x11a7) || (c >= 0xd7b0 && c <= 0xd7c6) ? V
           : (c >= 0x11a8 && c <= 0x11ff) || (c >= 0xd7cb && c <= 0xd7fb) ? T
                                                                          : 0;
}

static int joins(uint32_t before, uint32_t c)
{
    int kind = hangul(before), next = hangul(c);
    if (before == '\r')
        return c == '\n';
    if (is_control(before) || is_control(c))
        return 0;
    if (goes_on(c) || is_prepended(before))
        return 1;
    return next & (kind == L ? L | V | LV | LVT : kind & (LV | V) ? V | T : kind & (LVT | T) ? T : 0);
}

/* The bytes of the cluster that a text begins with. */
static size_t cluster_size(string text)
{
    uint32_t before, c;
    size_t size = unicode_read(text.text, text.size, &before), n;
    for (; size < text.size; size += n, before = c) {
        n = unicode_read(text.text + size, text.size - size, &c);
        if (!joins(before, c))
            break;
    }
    return size;
}

void bpe_rewrite(const charsmap *map, string text, size_t most, buffer *out)
{
    size_t end, size, used;
    uint32_t c;
    const char *rule;
    while (text.size && out->size <= most && !out->failed) {
        end = cluster_size(text);
        if (end < 6 && (rule = charsmap_find(map, text_of(text.text, end), 1, &used), used)) {
            text_append(out, text_word(rule));
            text = text_from(text, end);
            continue;
        }
        for (; end && out->size <= most; end -= size, text = text_from(text, size)) {
            size = unicode_read(text.text, text.size, &c);
            rule = charsmap_find(map, text_of(text.text, size), 1, &used);
            text_append(out, used ? text_word(rule) : text_of(text.text, size));
        }
    }
}

/* ---- pieces ---- */

#define UNREACHED SIZE_MAX

/* The sum is rounded to double also where registers hold more, or ties would fall otherwise. */
static void improve(cut *c, double before, double own, int32_t id, size_t begin)
{
    volatile double score = own + before;
    if (c->begin == UNREACHED || score > c->score) {
        c->score = score;
        c->id = id;
        c->begin = begin;
    }
}

/* Special tokens are pieces as well, which a text may spell only where it may have them. */
static int is_hidden(const encoder *e, int32_t id)
{
    return (e->skips_special || e->said) && e->model->tokens[id].flags & SPECIAL;
}

/* Viterbi: fills cuts[1] to cuts[word.size] from left to right; the first of equals stays. A character that is no piece
   is unknown, for less than any piece has. */
static void find_cuts(const encoder *e, string word, cut *cuts)
{
    const bpe_model *m = e->model;
    size_t begin, end, size;
    for (end = 0; end <= word.size; end++)
        cuts[end].begin = UNREACHED;
    cuts[0].score = 0;
    for (begin = 0; begin < word.size; begin += size) {
        uint32_t node = 0, c;
        int single = 0;
        size = unicode_read(word.text + begin, word.size - begin, &c);
        for (end = begin; end < word.size && (node = trie_step(&m->pieces, node, word.text[end])) != 0; end++) {
            int32_t id = m->pieces.nodes[node].id;
            if (id < 0 || is_hidden(e, id))
                continue;
            improve(&cuts[end + 1], cuts[begin].score, m->scores[id], id, begin);
            single |= end + 1 - begin == size;
        }
        if (!single)
            improve(&cuts[begin + size], cuts[begin].score, m->unknown_score, m->unk_id, begin);
    }
}

/* Appends the tokens of characters that no piece spells: together they may be one, or the tokens of their bytes. */
static void push_unknown(encoder *e, string text)
{
    const bpe_model *m = e->model;
    int32_t id = find_in_vocabulary(m, text);
    size_t at;
    int bytes = m->byte_fallback && id < 0;
    for (at = 0; bytes && at < text.size; at++)
        bytes = bpe_byte_token(m, text.text[at]) >= 0;
    if (!bytes)
        push_id(e, id >= 0 && !is_hidden(e, id) ? id : m->unk_id);
    for (at = 0; bytes && at < text.size && !e->error; at++)
        push_id(e, bpe_byte_token(m, text.text[at]));
}

void bpe_cut_word(encoder *e, string word)
{
    const bpe_model *m = e->model;
    cut *cuts =
        word.size < SIZE_MAX / 4 ? (cut *)text_grow(e->cuts, sizeof *cuts, 0, word.size + 1, &e->cut_room) : NULL;
    size_t begin, end, next;
    if (!cuts) {
        e->error = TEXT_NO_MEMORY;
        return;
    }
    e->cuts = cuts;
    find_cuts(e, word, cuts);
    /* The best way is known from its end. Turned round, each cut says where the next piece ends. */
    for (end = word.size, next = UNREACHED; end > 0; next = end, end = begin) {
        begin = cuts[end].begin;
        cuts[end].begin = next;
    }
    for (begin = 0, end = next; begin < word.size && !e->error; begin = end, end = cuts[end].begin) {
        int32_t id = cuts[end].id;
        if (id == m->unk_id) { /* those in a row are one */
            while (end < word.size && cuts[cuts[end].begin].id == id)
                end = cuts[end].begin;
            push_unknown(e, text_of(word.text + begin, end - begin));
        } else {
            push_id(e, id);
        }
    }
}

/* ---- the model ---- */

const char *bpe_index_pieces(bpe_model *m)
{
    trie_word *words = (trie_word *)malloc(((size_t)m->count + 1) * sizeof *words);
    const char *error = words ? NULL : TEXT_NO_MEMORY;
    size_t count = 0;
    int32_t id;
    m->unknown_score = 0;
    for (id = 0; words && id < (int32_t)m->vocabulary; id++) {
        words[count].text = m->tokens[id].text.text;
        words[count].size = m->tokens[id].text.size;
        words[count].id = id;
        count += words[count].size > 0;
        m->unknown_score = id == 0 || m->scores[id] < m->unknown_score ? m->scores[id] : m->unknown_score;
    }
    m->unknown_score -= 10;
    if (!error) {
        qsort(words, count, sizeof *words, added_compare);
        error = trie_build(&m->pieces, words, count);
    }
    free(words);
    return error;
}
