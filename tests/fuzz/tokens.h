/* What holds of the tokens of any text, under any model. */
#ifndef ATTN_FUZZ_TOKENS_H
#define ATTN_FUZZ_TOKENS_H

#include "fuzz.h"

#include "examples/models/sentencepiece.c"

#include <math.h>

/* Pieces by their first byte: an index that is not the model's own. */
typedef struct by_byte {
    int32_t first[256], *next; /* ids of pieces in use; -1 ends a chain */
    int32_t all[256], *other;  /* the same of unused ones too */
    float unknown;             /* the score of a character that is no piece */
} by_byte;

UNTRACED static inline by_byte pieces_by_byte(const sentencepiece *model)
{
    by_byte b;
    b.next = malloc(2 * (size_t)model->count * sizeof *b.next);
    MUST(b.next);
    b.other = b.next + model->count;
    b.unknown = FLT_MAX;
    for (int c = 0; c < 256; c++)
        b.first[c] = b.all[c] = -1;
    for (int32_t id = 0; id < model->count; id++) {
        const sentencepiece_piece *p = &model->pieces[id];
        if (p->type == SENTENCEPIECE_NORMAL && p->score < b.unknown)
            b.unknown = p->score;
        if (p->type == SENTENCEPIECE_NORMAL || p->type == SENTENCEPIECE_USER_DEFINED) {
            b.next[id] = b.first[(unsigned char)p->text.text[0]];
            b.first[(unsigned char)p->text.text[0]] = id;
        }
        if (is_in_text(p)) {
            b.other[id] = b.all[(unsigned char)p->text.text[0]];
            b.all[(unsigned char)p->text.text[0]] = id;
        }
    }
    b.unknown -= 10;
    return b;
}

UNTRACED static inline int is_at(sentencepiece_string spelling, const char *text, size_t size)
{
    size_t i = 0;
    while (i < spelling.size && i < size && spelling.text[i] == text[i])
        i++;
    return i == spelling.size;
}

/* ---- Unigram: the best cut of normalised text, by trying every piece at every character ---- */

UNTRACED static inline void check_unigram(const sentencepiece *model, const by_byte *index,
                                          const sentencepiece_tokens *tokens)
{
    size_t size = tokens->normalized_size, next, token = tokens->count;
    const char *text = tokens->normalized;
    struct {
        float score;
        int32_t id;
        size_t begin;
    } *best = malloc((size + 1) * sizeof *best);
    MUST(best);
    for (size_t i = 0; i <= size; i++)
        best[i].begin = SIZE_MAX;
    best[0].score = 0;
    for (size_t at = 0; at < size; at = next) {
        static const size_t sizes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
        int alone = 0;
        float far = best[at].score;
        if (far > 100000 || far < -100000)
            for (size_t i = at; i <= size; i++)
                if (i == at || best[i].begin != SIZE_MAX)
                    best[i].score -= far;
        if (far > 100000 || far < -100000)
            best[at].score = 0;
        next = at + sizes[(unsigned char)text[at] >> 4];
        next = next < size ? next : size;
        for (int32_t id = index->first[(unsigned char)text[at]]; id >= -1; id = index->next[id]) {
            const sentencepiece_piece *p = id < 0 ? NULL : &model->pieces[id];
            size_t end = p ? at + p->text.size : next;
            float score;
            if (p && !is_at(p->text, text + at, size - at))
                continue;
            if (!p && alone)
                break;
            alone |= end == next;
            score = !p                                      ? index->unknown
                    : p->type == SENTENCEPIECE_USER_DEFINED ? (float)(0.1 * (double)(p->text.size - 1))
                                                            : p->score;
            score += best[at].score;
            if (best[end].begin == SIZE_MAX || score > best[end].score) {
                best[end].score = score;
                best[end].id = p ? id : model->unk_id;
                best[end].begin = at;
            }
            if (!p)
                break;
        }
    }
    for (size_t end = size; end > 0;) { /* from the end, for as many bytes of each token */
        size_t begin = best[end].begin;
        if (best[end].id == model->unk_id && model->byte_fallback) {
            for (; end > begin; end--)
                MUST(token > 0 && tokens->ids[--token] == model->byte_ids[(unsigned char)text[end - 1]]);
            continue;
        }
        while (best[end].id == model->unk_id && begin && best[begin].id == model->unk_id)
            begin = best[begin].begin;
        MUST(token > 0 && tokens->ids[--token] == best[end].id && tokens->pieces[token].size == end - begin);
        end = begin;
    }
    MUST(token == 0);
    free(best);
}

/* ---- BPE: every merge looks through all neighbours; words and characters ---- */

/* What becomes of a text: a character or symbol, or two nodes merged. */
typedef struct node {
    size_t begin, size;
    int32_t id, joined; /* of the piece; of that of it and the next node; -1: there is none */
    int left, right;    /* what it was merged from; 0: nothing */
    int whole;
} node;

/* Tokens as they must be, as far as they are seen. */
typedef struct seen {
    const sentencepiece *model;
    const sentencepiece_tokens *tokens;
    size_t count, at;
    int after_unknown;
} seen;

UNTRACED static inline int32_t id_at(const sentencepiece *model, const by_byte *index, const char *text, size_t size)
{
    for (int32_t id = index->all[(unsigned char)text[0]]; id >= 0; id = index->other[id])
        if (model->pieces[id].text.size == size && memcmp(model->pieces[id].text.text, text, size) == 0)
            return id;
    return -1;
}

UNTRACED static inline void must_follow(seen *s, int32_t id, size_t size)
{
    const sentencepiece_tokens *tokens = s->tokens;
    if (id != s->model->unk_id) {
        MUST(s->count < tokens->count && tokens->ids[s->count] == id && tokens->pieces[s->count].size == size);
        s->count++;
    } else if (s->model->byte_fallback) {
        for (size_t i = s->at; i < s->at + size; i++, s->count++)
            MUST(s->count < tokens->count &&
                 tokens->ids[s->count] == s->model->byte_ids[(unsigned char)tokens->normalized[i]]);
    } else {
        size_t before = s->after_unknown ? (size_t)(tokens->normalized + s->at - tokens->pieces[s->count - 1].text) : 0;
        s->count += s->after_unknown ? 0 : 1;
        MUST(s->count <= tokens->count && tokens->ids[s->count - 1] == id);
        MUST(tokens->pieces[s->count - 1].size >= before + size);
    }
    s->after_unknown = id == s->model->unk_id;
    s->at += size;
}

UNTRACED static inline int in_use(const sentencepiece *model, int32_t id)
{
    return id >= 0 && model->pieces[id].type != SENTENCEPIECE_UNUSED;
}

UNTRACED static inline void must_follow_node(seen *s, const node *nodes, int n, int depth)
{
    int32_t id = nodes[n].id;
    if (id >= 0 && depth > 100) {
        must_follow(s, id, nodes[n].size);
    } else if (id >= 0 && !in_use(s->model, id) && nodes[n].left) {
        must_follow_node(s, nodes, nodes[n].left, depth + 1);
        must_follow_node(s, nodes, nodes[n].right, depth + 1);
    } else {
        must_follow(s, in_use(s->model, id) ? id : s->model->unk_id, nodes[n].size);
    }
}

/* The nodes of a text before any merge, from nodes[1] on; returns their count. */
UNTRACED static inline int split(const sentencepiece *model, const by_byte *index, const char *text, size_t size,
                                 node *nodes)
{
    int count = 0;
    for (size_t at = 0; at < size; at += nodes[count].size) {
        sentencepiece_string rest = {text + at, size - at};
        node *n = &nodes[++count];
        memset(n, 0, sizeof *n);
        n->begin = at;
        if (model->kind == SENTENCEPIECE_WORD) {
            for (n->size = character_size(rest); n->size < rest.size;
                 n->size += character_size(text_from(rest, n->size)))
                if (is_at((sentencepiece_string){"\342\226\201", 3}, rest.text + n->size, rest.size - n->size))
                    break;
        } else {
            n->size = symbol_size(model, rest);
            n->whole = n->size > 0;
            n->size = n->whole ? n->size : character_size(rest);
        }
        n->id = id_at(model, index, text + at, n->size);
    }
    return count;
}

/* Whether a piece is merged before another: of 0 and -0, 0 is. */
UNTRACED static inline int is_higher(const sentencepiece *model, int32_t id, int32_t other)
{
    float a = model->pieces[id].score, b = model->pieces[other].score;
    return a > b || (a == b && !signbit(a) && signbit(b));
}

UNTRACED static inline void join(const sentencepiece *model, const by_byte *index, const char *text, node *left,
                                 const node *right)
{
    left->joined =
        !right || left->whole || right->whole ? -1 : id_at(model, index, text + left->begin, left->size + right->size);
}

UNTRACED static inline void check_merges(const sentencepiece *model, const by_byte *index,
                                         const sentencepiece_tokens *tokens)
{
    const char *text = tokens->normalized;
    node *nodes = malloc((2 * tokens->normalized_size + 2) * sizeof *nodes);
    int *row = malloc((tokens->normalized_size + 1) * sizeof *row), count, used, best;
    seen s = {model, tokens, 0, 0, 0};
    MUST(nodes && row);
    count = used = split(model, index, text, tokens->normalized_size, nodes);
    for (int i = 0; i < count; i++) {
        row[i] = i + 1;
        join(model, index, text, &nodes[i + 1], i + 1 < count ? &nodes[i + 2] : NULL);
    }
    for (best = 0; best >= 0 && model->kind == SENTENCEPIECE_BPE;) {
        best = -1;
        for (int i = 0; i + 1 < count; i++)
            if (nodes[row[i]].joined >= 0 &&
                (best < 0 || is_higher(model, nodes[row[i]].joined, nodes[row[best]].joined)))
                best = i;
        if (best >= 0) {
            const node *left = &nodes[row[best]], *right = &nodes[row[best + 1]];
            node both = {left->begin, left->size + right->size, left->joined, -1, row[best], row[best + 1], 0};
            nodes[++used] = both;
            row[best] = used;
            count--;
            memmove(row + best + 1, row + best + 2, (size_t)(count - best - 1) * sizeof *row);
            join(model, index, text, &nodes[used], best + 1 < count ? &nodes[row[best + 1]] : NULL);
            if (best)
                join(model, index, text, &nodes[row[best - 1]], &nodes[used]);
        }
    }
    for (int i = 0; i < count; i++)
        must_follow_node(&s, nodes, row[i], 0);
    MUST(s.count == tokens->count && s.at == tokens->normalized_size);
    free(nodes);
    free(row);
}

/* ---- any model ---- */

/* Encodes the text, and decodes what comes of it. */
UNTRACED static inline void check_text(const sentencepiece *model, const by_byte *index, const char *text, size_t size)
{
    sentencepiece_tokens tokens;
    size_t at = 0, decoded_size = SIZE_MAX;
    char *copy = exactly(text, size), *decoded = copy;
    memset(&tokens, 0x5a, sizeof tokens);
    MUST(sentencepiece_encode(model, copy, size, &tokens) == NULL);
    for (size_t i = 0; i < tokens.count; i++) {
        sentencepiece_string spelling = tokens.pieces[i];
        int32_t id = tokens.ids[i];
        const sentencepiece_piece *p = id < model->count ? &model->pieces[id] : NULL;
        MUST(id >= 0 && id < model->count + model->extra_ids);
        if (p && p->type == SENTENCEPIECE_BYTE) {
            MUST(model->byte_ids[(unsigned char)tokens.normalized[at++]] == id && spelling.size == 6);
            MUST(memcmp(spelling.text, p->text.text, 6) == 0);
            continue;
        }
        MUST(spelling.text == tokens.normalized + at && spelling.size && spelling.size <= tokens.normalized_size - at);
        at += spelling.size;
        if (!p) {
            MUST(sentencepiece_id(model, spelling.text, spelling.size) == id);
        } else if (id != model->unk_id) {
            MUST(p->type == SENTENCEPIECE_NORMAL || p->type == SENTENCEPIECE_USER_DEFINED ||
                 (p->type == SENTENCEPIECE_UNUSED && model->kind == SENTENCEPIECE_BPE)); /* split too often */
            MUST(spelling.size == p->text.size && memcmp(spelling.text, p->text.text, spelling.size) == 0);
        }
    }
    MUST(at == tokens.normalized_size);
    if (model->extra_ids == 0 && model->kind == SENTENCEPIECE_UNIGRAM)
        check_unigram(model, index, &tokens);
    else if (model->extra_ids == 0)
        check_merges(model, index, &tokens);
    MUST(sentencepiece_decode(model, tokens.ids, tokens.count, &decoded, &decoded_size) == NULL);
    MUST(decoded != copy && decoded[decoded_size] == 0);
    free(decoded);
    sentencepiece_tokens_free(&tokens);
    MUST(!tokens.count && !tokens.ids && !tokens.pieces && !tokens.normalized);
    free(copy);
}

/* Decodes ids that the bytes choose. */
UNTRACED static inline void check_ids(const sentencepiece *model, const char *bytes, size_t size)
{
    int32_t *ids = exactly(bytes, 0), known = model->count + model->extra_ids;
    char *text = NULL;
    size_t text_size = 0;
    free(ids);
    ids = malloc((size + 1) * sizeof *ids);
    MUST(ids);
    for (size_t i = 0; i < size; i++)
        ids[i] = (int32_t)(((unsigned char)bytes[i] + (i ? 256 * (unsigned char)bytes[i - 1] : 0u)) % (unsigned)known);
    MUST(sentencepiece_decode(model, ids, size, &text, &text_size) == NULL && text[text_size] == 0);
    free(text);
    text = (char *)ids;
    ids[size] = size % 2 ? known : -1;
    MUST(sentencepiece_decode(model, ids, size + 1, &text, &text_size) != NULL && !text && !text_size);
    free(ids);
}

#endif
