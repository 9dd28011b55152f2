/* bpe_merge.c: tokens of a word. It begins as bytes or characters, and neighbours become one as the merges of the model
   say. What it works on grows in the encoder, for the next word. */
#include "bpe_model.h"

#define NONE UINT32_MAX /* no place */

static const merge *find_merge(const bpe_model *m, int32_t left, int32_t right)
{
    const merge *found = merge_slot(m, left, right);
    return found && found->id >= 0 ? found : NULL;
}

/* Adds the symbol at a place and its next to the heap, if there is a merge of them. */
static void add_candidate(encoder *e, uint32_t at)
{
    const symbol *left = &e->symbols[at];
    const merge *found;
    heap_pair added;
    if (left->next == NONE || (found = find_merge(e->model, left->id, e->symbols[left->next].id)) == NULL)
        return;
    added.rank = (uint32_t)found->rank;
    added.value = (uint32_t)found->id;
    added.at = at;
    heap_push(e->heap, &e->heap_size, added);
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
    while (e->heap_size) {
        heap_pair top = heap_pop(e->heap, &e->heap_size);
        const merge *now;
        uint32_t right = s[top.at].next;
        if (s[top.at].id < 0 || right == NONE || (now = find_merge(e->model, s[top.at].id, s[right].id)) == NULL ||
            now->id != (int32_t)top.value)
            continue;
        s[top.at].id = now->id;
        s[top.at].next = s[right].next;
        s[right].id = -1;
        if (s[right].next != NONE)
            s[s[right].next].before = (uint32_t)top.at;
        if (s[top.at].before != NONE)
            add_candidate(e, s[top.at].before);
        add_candidate(e, (uint32_t)top.at);
    }
}

static int reserve_symbols(encoder *e, size_t count)
{
    symbol *symbols = count < NONE ? (symbol *)text_grow(e->symbols, sizeof *symbols, 0, count, &e->symbol_room) : NULL;
    heap_pair *heap = symbols ? (heap_pair *)text_grow(e->heap, sizeof *heap, 0, 2 * count, &e->heap_room) : NULL;
    e->symbols = symbols ? symbols : e->symbols;
    e->heap = heap ? heap : e->heap;
    if (!heap)
        e->error = TEXT_NO_MEMORY;
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

int32_t bpe_byte_token(const bpe_model *m, char byte)
{
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", (unsigned)(unsigned char)byte);
    return find_in_vocabulary(m, text_word(name));
}

/* A character that is no token becomes the tokens of its bytes, if all of them are; else it is unknown. */
static int add_bytes(encoder *e, uint32_t *count, string character)
{
    int32_t ids[4];
    size_t i;
    for (i = 0; i < character.size && i < 4; i++)
        if ((ids[i] = bpe_byte_token(e->model, character.text[i])) < 0)
            return 0;
    for (i = 0; i < character.size; i++)
        add_symbol(e, count, ids[i]);
    return 1;
}

/* The token that a whole word is, or -1. */
static int32_t whole_word(encoder *e, string word)
{
    const bpe_model *m = e->model;
    char one[4];
    size_t at;
    if (word.size > m->longest)
        return -1;
    if (!m->bytes)
        return find_in_vocabulary(m, word);
    e->spelled.size = 0;
    for (at = 0; at < word.size; at++)
        text_append(&e->spelled, character_of(one, word.text[at]));
    if (e->spelled.failed)
        e->error = TEXT_NO_MEMORY;
    return e->error ? -1 : find_in_vocabulary(m, text_in(&e->spelled));
}

/* Makes symbols of a word, and returns how many. An unknown character is added when the next known one comes, so that a
   run of them can be one; the library has bytes in between stand before it. */
static uint32_t add_characters(encoder *e, string word)
{
    const bpe_model *m = e->model;
    uint32_t count = 0, c;
    size_t at, n;
    int unknown = 0;
    char one[4];
    for (at = 0; at < word.size; at += n) {
        string character;
        int32_t id;
        n = m->bytes ? 1 : unicode_read(word.text + at, word.size - at, &c);
        character = text_of(word.text + at, n);
        id = m->bytes ? m->byte_ids[(unsigned char)word.text[at]] : find_in_vocabulary(m, character);
        if (id >= 0) {
            if (unknown)
                add_symbol(e, &count, m->unk_id);
            unknown = 0;
            add_symbol(e, &count, id);
            continue;
        }
        if (m->bytes)
            character = character_of(one, word.text[at]);
        if ((m->byte_fallback && add_bytes(e, &count, character)) || m->unk_id < 0)
            continue; /* without an unknown token, the library drops the character */
        if (unknown && !m->fuse_unk)
            add_symbol(e, &count, m->unk_id);
        unknown = 1;
    }
    if (unknown)
        add_symbol(e, &count, m->unk_id);
    return count;
}

void bpe_encode_word(encoder *e, string word)
{
    const bpe_model *m = e->model;
    uint32_t count, i;
    int32_t id = -1;
    if (e->error || !reserve_symbols(e, m->bytes ? 2 * word.size : word.size))
        return;
    if (m->ignore_merges && (id = whole_word(e, word)) >= 0)
        push_id(e, id);
    if (id >= 0 || e->error)
        return;
    count = add_characters(e, word);
    if (count > 1)
        merge_all(e, count);
    for (i = 0; i < count && i != NONE && !e->error; i = e->symbols[i].next)
        push_id(e, e->symbols[i].id);
}
