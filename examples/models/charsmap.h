/* charsmap.h: the rules by which SentencePiece rewrites text, such as NFKC: a trie, as spiece.model and tokenizer.json
   ("Precompiled") have it. Everything is static; it takes text.h. Yata, Darts-clone (2008). */
#ifndef CHARSMAP_H
#define CHARSMAP_H

#include "text.h"

enum {
    CHARSMAP_RULE = 256, /* bytes of what is rewritten, and to what: less than this; Unicode needs 33 */
    CHARSMAP_STEP = 256  /* units come in such blocks, in which a trie's step stays */
};

typedef struct charsmap {
    const unsigned char *units; /* the trie, a double array of unit_count little-endian numbers of 4 bytes */
    uint32_t unit_count;        /* 0: there are no rules */
    const char *strings;        /* what the trie's values point into */
    uint32_t strings_size;
} charsmap;

/* A unit of the double array: bits 0 to 7 and 31 are the label, bit 8 tells that the node has a value, the others are
   the offset to its children; a value is a unit with bit 31 set. */
static inline uint32_t charsmap_unit(const unsigned char *units, uint32_t i)
{
    const unsigned char *b = units + 4 * (size_t)i;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint32_t charsmap_label(uint32_t unit)
{
    return unit & 0x800000ff;
}

static inline uint32_t charsmap_offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & 0x200) >> 6);
}

static inline int charsmap_has_value(uint32_t unit)
{
    return unit >> 8 & 1;
}

/* Reads bytes of the trie as 4 bytes, the trie, strings ended by NULs. Whatever is checked here for every unit need not
   be checked at any step of a walk. The bytes have to stay. Returns NULL, or what is wrong. */
static inline const char *charsmap_read(charsmap *n, text_span map)
{
    const unsigned char *bytes = (const unsigned char *)map.text;
    uint32_t size, i, unit;
    size_t j, begin = 0;
    n->unit_count = 0;
    if (map.size == 0)
        return NULL;
    if (map.size < 4)
        return "the charsmap is shorter than its header";
    size = charsmap_unit(bytes, 0);
    if (size >= map.size - 4)
        return "the charsmap's trie is longer than the charsmap";
    if (size == 0 || size % (4 * CHARSMAP_STEP))
        return "the charsmap's trie is not of whole blocks";
    n->units = bytes + 4;
    n->unit_count = size / 4;
    n->strings = map.text + 4 + size;
    n->strings_size = (uint32_t)(map.size - 4 - size);
    if (n->strings[n->strings_size - 1])
        return "the charsmap's strings do not end in a NUL";
    for (j = 0; j < n->strings_size; j++) {
        begin = n->strings[j] ? begin : j + 1;
        if (j - begin + 1 == CHARSMAP_RULE)
            return "a string of the charsmap has more than 255 bytes";
    }
    unit = charsmap_unit(n->units, 0);
    if (charsmap_label(unit) || charsmap_has_value(unit) || charsmap_offset(unit) == 0)
        return "the charsmap's root is wrong";
    for (i = 0; i < n->unit_count; i++) {
        unit = charsmap_unit(n->units, i);
        if (charsmap_label(unit) > 0xff) {
            if ((unit & 0x7fffffff) >= n->strings_size)
                return "the charsmap points past its strings";
        } else if (((i ^ charsmap_offset(unit)) | (CHARSMAP_STEP - 1)) >= n->unit_count) {
            return i ? "the charsmap's trie points past its end" : "the charsmap's root points past the trie's end";
        } else if (charsmap_has_value(unit) &&
                   charsmap_label(charsmap_unit(n->units, i ^ charsmap_offset(unit))) <= 0xff) {
            return "the charsmap's trie has a node without its value";
        }
    }
    return NULL;
}

/* What the beginning of a text is rewritten to, by the longest of the `most` shortest rules for it; *used: the bytes of
   that beginning. 0 bytes of it: there is no rule. */
static inline const char *charsmap_find(const charsmap *n, text_span text, int most, size_t *used)
{
    uint32_t place, unit, value = 0;
    size_t i;
    int seen = 0;
    *used = 0;
    if (n->unit_count == 0)
        return NULL;
    place = charsmap_offset(charsmap_unit(n->units, 0));
    for (i = 0; i < text.size && i < CHARSMAP_RULE && seen < most; i++) {
        place ^= (unsigned char)text.text[i];
        unit = charsmap_unit(n->units, place);
        if (charsmap_label(unit) != (unsigned char)text.text[i])
            break;
        place ^= charsmap_offset(unit);
        if (charsmap_has_value(unit)) {
            value = charsmap_unit(n->units, place) & 0x7fffffff;
            *used = i + 1;
            seen++;
        }
    }
    return n->strings + value;
}

#endif
