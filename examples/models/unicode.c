#include "unicode.h"

#include <string.h>

/* ---- tables ---- */

/* Runs of code points are 4-byte numbers, in order: the first code point << 8 | the value that it and what follows it
   have until the next run. In category_runs the value is the number of the category's bit, or one of these where upper
   case and lower case take turns; category_pages[p] is the run that code point p << 8 lies in. bert_runs and
   accent_runs have the categories that differ from those, or 0; combining_runs the canonical combining classes. */
enum { EVEN_UPPER = 18, ODD_UPPER = 19, PAGES_END = 0x20000 };

/* Code points first, first + step, ... below first + count have a lower case that is `delta` beyond them. */
typedef struct lower_run {
    uint32_t first;
    uint16_t count, step;
    int32_t delta;
} lower_run;

/* What each of `count` code points from `first` becomes: `size` code points at pool[at], then the next one's; or, where
   size is 0, one code point: pool[at] for the first, pool[at] + 1 for the second and so on. */
typedef struct mapping {
    uint32_t first;
    uint16_t count, size, at;
} mapping;

/* Two code points that compose, in order of the first and then of the second. */
typedef struct composition {
    uint32_t first, second, both;
} composition;

#include "unicode_tables.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    PARTS = 18,         /* code points that one decomposes into, at most */
    FIRST_MARK = 0x300, /* below it nothing reorders, and nothing composes with what is before it */
    SYLLABLE = 0xAC00,  /* of Hangul: leading consonant, vowel and, if it has one, trailing consonant */
    SYLLABLES = 11172,
    LEADING = 0x1100,
    VOWEL = 0x1161,
    TRAILING = 0x11A7, /* would be the consonant of no consonant */
    LEADINGS = 19,
    VOWELS = 21,
    TRAILINGS = 28
};

/* The value that a code point has, whose run is one of first to stop - 1. */
static uint32_t run_value(const uint32_t *runs, size_t first, size_t stop, uint32_t code)
{
    while (stop - first > 1) {
        size_t middle = first + (stop - first) / 2;
        if (runs[middle] >> 8 > code)
            stop = middle;
        else
            first = middle;
    }
    return runs[first] & 0xff;
}

static const mapping *find_mapping(const mapping *table, size_t count, uint32_t code)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table[middle].first + table[middle].count <= code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && table[low].first <= code ? &table[low] : NULL;
}

/* ---- UTF-8 ---- */

size_t unicode_read(const char *text, size_t size, uint32_t *code)
{
    const unsigned char *b = (const unsigned char *)text;
    size_t need = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0, i;
    uint32_t value = need < 2 ? b[0] : b[0] & 0x7fu >> need;
    if (need <= size && need) {
        for (i = 1; i < need && (b[i] & 0xc0) == 0x80; i++)
            value = value << 6 | (b[i] & 0x3f);
        if (i == need && (need < 3 || value >= (need == 3 ? 0x800u : 0x10000u)) && value < UNICODE_INVALID &&
            (value < 0xd800 || value > 0xdfff)) {
            *code = value;
            return need;
        }
    }
    *code = (uint32_t)UNICODE_INVALID + b[0];
    return 1;
}

size_t unicode_write(char out[4], uint32_t code)
{
    size_t size = code < 0x80 || code >= UNICODE_INVALID ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, i;
    if (size == 1) {
        out[0] = (char)(code < 0x80 ? code : code - UNICODE_INVALID);
        return 1;
    }
    for (i = size - 1; i; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00u >> size & 0xf0) | code);
    return size;
}

/* ---- classes ---- */

uint32_t unicode_category(uint32_t code)
{
    size_t page = code >> 8;
    uint32_t value;
    if (code >= UNICODE_INVALID)
        return UNICODE_CN;
    if (code < PAGES_END)
        value = run_value(category_runs, category_pages[page], category_pages[page + 1] + (size_t)1, code);
    else
        value = run_value(category_runs, category_pages[PAGES_END >> 8], COUNT(category_runs), code);
    if (value == EVEN_UPPER || value == ODD_UPPER)
        value ^= code;
    else
        return (uint32_t)1 << value;
    return value & 1 ? UNICODE_LL : UNICODE_LU;
}

int unicode_is(uint32_t code, uint32_t set)
{
    return (unicode_category(code) & set) != 0;
}

int unicode_is_space(uint32_t code)
{
    return code < 0x80 ? code == ' ' || (code >= '\t' && code <= '\r')
                       : code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
                             code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

uint32_t unicode_bert_category(uint32_t code)
{
    uint32_t value = code < 0x80 ? 0 : run_value(bert_runs, 0, COUNT(bert_runs), code);
    return value && code < UNICODE_INVALID ? (uint32_t)1 << value : unicode_category(code);
}

int unicode_is_accent(uint32_t code)
{
    uint32_t value = code < FIRST_MARK ? 0 : run_value(accent_runs, 0, COUNT(accent_runs), code);
    return code >= FIRST_MARK && code < UNICODE_INVALID &&
           ((value ? (uint32_t)1 << value : unicode_category(code)) & UNICODE_MARK) != 0;
}

size_t unicode_lower(uint32_t code, uint32_t out[3])
{
    size_t low = 0, high = COUNT(lower_runs);
    out[0] = code;
    if (code < 0x80) {
        out[0] += code >= 'A' && code <= 'Z' ? 'a' - 'A' : 0;
        return 1;
    }
    if (code == 0x130) { /* I with a dot above: i and a dot above; no other has more than one code point */
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lower_runs[middle].first + lower_runs[middle].count <= code)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < COUNT(lower_runs) && lower_runs[low].first <= code &&
        (code - lower_runs[low].first) % lower_runs[low].step == 0)
        out[0] += (uint32_t)lower_runs[low].delta;
    return 1;
}

static uint32_t combining_class(uint32_t code)
{
    return code < FIRST_MARK || code >= UNICODE_INVALID ? 0 : run_value(combining_runs, 0, COUNT(combining_runs), code);
}

/* ---- normal forms (Unicode Standard Annex #15) ---- */

/* Writes what a code point decomposes into, fully, and returns how many code points. */
static size_t decompose(uint32_t code, int compatibly, uint32_t out[PARTS])
{
    const mapping *m = NULL;
    size_t i, size;
    out[0] = code;
    if (code < 0xa0 || code >= UNICODE_INVALID)
        return 1;
    if (code - SYLLABLE < SYLLABLES) {
        uint32_t trailing = (code - SYLLABLE) % TRAILINGS, others = (code - SYLLABLE) / TRAILINGS;
        out[0] = LEADING + others / VOWELS;
        out[1] = VOWEL + others % VOWELS;
        out[2] = TRAILING + trailing;
        return trailing ? 3 : 2;
    }
    if (compatibly)
        m = find_mapping(compatible, COUNT(compatible), code);
    if (!m)
        m = find_mapping(canonical, COUNT(canonical), code);
    if (!m)
        return 1;
    if (m->size == 0) {
        out[0] = pool[m->at] + (code - m->first);
        return 1;
    }
    size = m->size;
    for (i = 0; i < size; i++)
        out[i] = pool[m->at + (code - m->first) * size + i];
    return size;
}

/* What two code points compose to, or 0. */
static uint32_t compose(uint32_t first, uint32_t second)
{
    size_t low = 0, high = COUNT(compositions);
    if (second < FIRST_MARK)
        return 0;
    if (first - LEADING < LEADINGS && second - VOWEL < VOWELS)
        return SYLLABLE + ((first - LEADING) * VOWELS + (second - VOWEL)) * TRAILINGS;
    if (first - SYLLABLE < SYLLABLES && (first - SYLLABLE) % TRAILINGS == 0 && second - TRAILING - 1 < TRAILINGS - 1)
        return first + (second - TRAILING);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const composition *p = &compositions[middle];
        if (p->first == first && p->second == second)
            return p->both;
        if (p->first < first || (p->first == first && p->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* A place in the decomposed text, which is never written down: parts[i] is the code point that it is at. */
typedef struct place {
    const char *text, *end;                /* what follows the one that parts come from */
    uint32_t parts[PARTS], code, class_of; /* code: parts[i]; class_of: its combining class */
    size_t i, count;                       /* count 0: the text has ended */
    int compatibly;
} place;

static void advance(place *p)
{
    uint32_t code;
    if (++p->i >= p->count) {
        p->i = p->count = 0;
        if (p->text == p->end)
            return;
        p->text += unicode_read(p->text, (size_t)(p->end - p->text), &code);
        p->count = decompose(code, p->compatibly, p->parts);
    }
    p->code = p->parts[p->i];
    p->class_of = combining_class(p->code);
}

/* What is written: `size` bytes in all, of which those are kept that fit, up to the first code point that does not. */
typedef struct output {
    char *text;
    size_t size, capacity;
} output;

static void put_code(output *out, uint32_t code)
{
    char bytes[4];
    size_t count = unicode_write(bytes, code);
    if (out->size <= out->capacity && count <= out->capacity - out->size)
        memcpy(out->text + out->size, bytes, count);
    out->size += count;
}

/* The marks that follow a starter, a code point of combining class 0: they have other classes and, in normal forms,
   stand in order of these, marks of one class as they stood. There may be any number of them, and nothing is allocated:
   so the text is read again for each class that occurs, unless they stand in order already. */
enum { EATEN = 8 }; /* more marks than compose with one starter */

typedef struct marks {
    place begin, end;
    int ordered;
    unsigned char occurs[256]; /* class by class, if they are not in order */
    size_t count, eaten[EATEN],
        eaten_count; /* eaten: the marks that the starter has composed with, by where they stood */
} marks;

static void read_marks(marks *m, const place *at)
{
    uint32_t last = 0;
    m->begin = m->end = *at;
    m->ordered = 1;
    for (m->count = m->eaten_count = 0; m->end.count && m->end.class_of; m->count++) {
        m->ordered = m->ordered && m->end.class_of >= last;
        last = m->end.class_of;
        advance(&m->end);
    }
    if (!m->ordered) {
        place p;
        memset(m->occurs, 0, sizeof m->occurs);
        for (p = m->begin; p.text != m->end.text || p.i != m->end.i || p.count != m->end.count; advance(&p))
            m->occurs[p.class_of] = 1;
    }
}

static int is_eaten(const marks *m, size_t index)
{
    size_t i;
    for (i = 0; i < m->eaten_count; i++)
        if (m->eaten[i] == index)
            return 1;
    return 0;
}

/* Composes a starter with the mark at `index`, if they do. */
static int eat(marks *m, uint32_t *starter, uint32_t mark, size_t index)
{
    uint32_t both = m->eaten_count < EATEN ? compose(*starter, mark) : 0;
    if (both) {
        *starter = both;
        m->eaten[m->eaten_count++] = index;
    }
    return both != 0;
}

/* Composes a starter with marks in their order: each but those behind one of their own class that stays. So the first
   mark of a class that does not compose is the last one tried; one reading finds the first of every class. */
static void compose_marks(marks *m, uint32_t *starter)
{
    uint32_t first[256], c, stays = 0;
    size_t index[256], i;
    place p = m->begin;
    int again = !m->ordered;
    for (i = 0; m->ordered && i < m->count; i++, advance(&p))
        if (p.class_of == stays || !eat(m, starter, p.code, i))
            stays = p.class_of;
    while (again) {
        memset(first, 0, sizeof first);
        for (i = 0, p = m->begin; i < m->count; i++, advance(&p))
            if (!first[p.class_of] && !is_eaten(m, i)) {
                first[p.class_of] = p.code;
                index[p.class_of] = i;
            }
        for (c = 1, again = 0; c < 256 && !again; c++)
            again = first[c] && eat(m, starter, first[c], index[c]);
    }
}

static void put_marks(const marks *m, output *out)
{
    uint32_t c;
    size_t i;
    for (c = 1; c < 256; c++) {
        place p = m->begin;
        if (m->ordered || m->occurs[c])
            for (i = 0; i < m->count; i++, advance(&p))
                if ((m->ordered || p.class_of == c) && !is_eaten(m, i))
                    put_code(out, p.code);
        if (m->ordered)
            return;
    }
}

size_t unicode_normalize(unicode_form form, const char *text, size_t size, char *out, size_t capacity)
{
    int composes = form == UNICODE_NFC || form == UNICODE_NFKC;
    uint32_t starter;
    output result;
    marks m;
    place p;
    result.text = out;
    result.size = 0;
    result.capacity = capacity;
    memset(&p, 0, sizeof p);
    p.text = text;
    p.end = size ? text + size : text; /* which may be NULL then */
    p.compatibly = form == UNICODE_NFKC || form == UNICODE_NFKD;
    advance(&p);
    while (p.count) {
        int has_starter = p.class_of == 0;
        starter = p.code;
        if (has_starter) {
            advance(&p);
            if (!p.count || (p.code < FIRST_MARK && p.class_of == 0)) { /* nothing here combines */
                put_code(&result, starter);
                continue;
            }
        }
        for (;;) { /* a starter behind it, with no mark left between, may compose with it too */
            uint32_t both;
            read_marks(&m, &p);
            if (has_starter && composes && m.count)
                compose_marks(&m, &starter);
            p = m.end;
            if (!has_starter || !composes || m.count != m.eaten_count || !p.count ||
                (both = compose(starter, p.code)) == 0)
                break;
            starter = both;
            advance(&p);
        }
        if (has_starter)
            put_code(&result, starter);
        put_marks(&m, &result);
    }
    return result.size;
}
