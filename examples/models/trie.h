/* trie.h: strings, of which those that a text begins with are found in one walk along it: a step for each byte, as far
   as any of them goes. So a text of n bytes takes n times as many steps as the longest string has bytes, at most,
   whatever the strings are. Everything is static; it takes the C library alone.

       const trie_word words[] = {{"a", 1, 7}, {"ab", 2, 3}}; // in order
       trie t = {NULL, NULL};
       size_t used;
       if (!trie_build(&t, words, 2))
           printf("%d\n", (int)trie_longest(&t, "abc", 3, &used)); // 3, and used is 2
       trie_free(&t); */
#ifndef TRIE_H
#define TRIE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The most nodes: there is one for each different beginning of a word, and one more. Published vocabularies have 3
   million at most. A node takes 9 bytes, and 17 while the trie is built: 285 MB in all. */
enum { TRIE_NODES = 1 << 24 };

typedef struct trie_word {
    const char *text; /* not ended by a NUL */
    size_t size;      /* in bytes */
    int32_t id;       /* 0 or more */
} trie_word;

/* Node 0 is the root; the children of a node are those from its `first` to that of the next node, in the order of their
   bytes. */
typedef struct trie_node {
    uint32_t first;
    int32_t id; /* of the word that ends here, or -1 */
} trie_node;

typedef struct trie {
    trie_node *nodes;     /* NULL: there are no words */
    unsigned char *bytes; /* of each node: the one that leads to it */
} trie;

/* The order that words must be in: by bytes. */
static inline int trie_compare(const trie_word *a, const trie_word *b)
{
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static inline void trie_free(trie *t)
{
    free(t->nodes);
    free(t->bytes);
    t->nodes = NULL;
    t->bytes = NULL;
}

/* Fills the trie level by level: the children of a node get their places when it is its turn. Words
   ranges[i][0] to ranges[i][1] - 1 go through node i. */
static inline void trie_fill(trie *t, const trie_word *words, size_t count, uint32_t (*ranges)[2])
{
    size_t i, used = 1, depth = 0, level_end = 1;
    ranges[0][0] = 0;
    ranges[0][1] = (uint32_t)count;
    t->bytes[0] = 0;
    for (i = 0; i < used; i++) {
        size_t low = ranges[i][0], high = ranges[i][1];
        if (i == level_end) {
            level_end = used;
            depth++;
        }
        t->nodes[i].id = low < high && words[low].size == depth ? words[low].id : -1;
        while (low < high && words[low].size == depth)
            low++;
        t->nodes[i].first = (uint32_t)used;
        while (low < high) {
            char byte = words[low].text[depth];
            ranges[used][0] = (uint32_t)low;
            while (low < high && words[low].text[depth] == byte)
                low++;
            ranges[used][1] = (uint32_t)low;
            t->bytes[used++] = (unsigned char)byte;
        }
    }
    t->nodes[used].first = (uint32_t)used;
    t->nodes[used].id = -1;
}

/* The nodes of a trie of words in order; when they are more than TRIE_NODES, it stops counting. */
static inline size_t trie_count(const trie_word *words, size_t count)
{
    size_t total = 1, i;
    for (i = 0; i < count && total <= TRIE_NODES; i++) {
        size_t same = 0;
        while (i && same < words[i - 1].size && same < words[i].size && words[i - 1].text[same] == words[i].text[same])
            same++;
        total += words[i].size - same;
    }
    return total;
}

/* A trie of words in order, none empty; of those alike the first counts. Returns NULL, or what is wrong; there is
   nothing to free then. */
static inline const char *trie_build(trie *t, const trie_word *words, size_t count)
{
    size_t total = trie_count(words, count);
    uint32_t(*ranges)[2];
    t->nodes = NULL;
    t->bytes = NULL;
    if (count == 0)
        return NULL;
    if (total > TRIE_NODES)
        return "the words make a trie of more than 16777216 nodes";
    t->nodes = (trie_node *)malloc((total + 1) * sizeof *t->nodes);
    t->bytes = (unsigned char *)malloc(total);
    ranges = (uint32_t(*)[2])malloc(total * sizeof *ranges);
    if (t->nodes && t->bytes && ranges)
        trie_fill(t, words, count, ranges);
    else
        trie_free(t);
    free(ranges);
    return t->nodes ? NULL : "no memory";
}

/* The child of a node that a byte leads to, or 0. */
static inline uint32_t trie_step(const trie *t, uint32_t node, char byte)
{
    uint32_t first, count, i;
    const unsigned char *bytes, *found;
    if (!t->nodes)
        return 0;
    first = t->nodes[node].first;
    count = t->nodes[node + 1].first - first;
    bytes = t->bytes + first;
    for (i = 0; i < count && i < 4; i++) /* few nodes have more children: a call is for these */
        if (bytes[i] == (unsigned char)byte)
            return first + i;
    found = count > 4 ? (const unsigned char *)memchr(bytes, (unsigned char)byte, count) : NULL;
    return found ? first + (uint32_t)(found - bytes) : 0;
}

/* The longest word that a text begins with: its id, and *used its size; or -1. */
static inline int32_t trie_longest(const trie *t, const char *text, size_t size, size_t *used)
{
    uint32_t node = 0;
    int32_t id = -1;
    size_t i;
    for (i = 0; i < size && (node = trie_step(t, node, text[i])) != 0; i++)
        if (t->nodes[node].id >= 0) {
            id = t->nodes[node].id;
            *used = i + 1;
        }
    return id;
}

#endif
