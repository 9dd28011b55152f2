/* What holds of the tokens of any text, under any model. */
#ifndef ATTN_FUZZ_TOKENS_H
#define ATTN_FUZZ_TOKENS_H

#include "fuzz.h"

#include "examples/models/sentencepiece.c"

/* Pieces by their first byte: an index that is not the model's own. */
typedef struct by_byte {
    int32_t first[256], *next; /* ids; -1 ends a chain */
    float unknown;             /* the score of a character that is no piece */
} by_byte;

UNTRACED static inline by_byte pieces_by_byte(const sentencepiece *model)
{
    by_byte b;
    b.next = malloc((size_t)model->count * sizeof *b.next);
    MUST(b.next);
    b.unknown = FLT_MAX;
    for (int c = 0; c < 256; c++)
        b.first[c] = -1;
    for (int32_t id = 0; id < model->count; id++) {
        const sentencepiece_piece *p = &model->pieces[id];
        if (p->type == SENTENCEPIECE_NORMAL && p->score < b.unknown)
            b.unknown = p->score;
        if (p->type == SENTENCEPIECE_NORMAL || p->type == SENTENCEPIECE_USER_DEFINED) {
            b.next[id] = b.first[(unsigned char)p->text.text[0]];
            b.first[(unsigned char)p->text.text[0]] = id;
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

/* The best cut of normalised text, by trying every piece at every character: what the tokens must be. */
UNTRACED static inline void check_cut(const sentencepiece *model, const by_byte *index,
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
            MUST(p->type == SENTENCEPIECE_NORMAL || p->type == SENTENCEPIECE_USER_DEFINED);
            MUST(spelling.size == p->text.size && memcmp(spelling.text, p->text.text, spelling.size) == 0);
        }
    }
    MUST(at == tokens.normalized_size);
    if (model->extra_ids == 0)
        check_cut(model, index, &tokens);
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
