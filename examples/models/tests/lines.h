/* lines.h: 10,000 lines of text, good and bad, that tokenizers must agree on; the same on every machine. The tests and
   golden/make_tokens.py both take them from here. */
#ifndef ATTN_TEST_LINES_H
#define ATTN_TEST_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    LINE_COUNT = 10000,
    LINE_BYTES = 1250000, /* the most that a line has; all but a few have less than 2000 */
    LINE_IDS = 12,        /* the most ids of a sequence */
    LINE_ID_COUNT = 1000  /* sequences of ids */
};

typedef struct line_writer {
    char *bytes;
    size_t size;
    uint64_t state;
} line_writer;

static uint64_t line_random(line_writer *l) /* splitmix64 */
{
    uint64_t z = l->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t line_below(line_writer *l, size_t n)
{
    return (size_t)((line_random(l) >> 20) % n);
}

static void line_start(line_writer *l, char *out, size_t index)
{
    l->bytes = out;
    l->size = 0;
    l->state = ((uint64_t)index + 1) * 0xd1342543de82ef95u;
}

/* ---- what lines are made of ---- */

static void line_bytes(line_writer *l, const char *bytes, size_t size)
{
    if (size <= LINE_BYTES - l->size) {
        memcpy(l->bytes + l->size, bytes, size);
        l->size += size;
    }
}

static void line_text(line_writer *l, const char *text)
{
    line_bytes(l, text, strlen(text));
}

/* One code point; surrogates and what is beyond U+10FFFF come out as UTF-8 does not allow them. */
static size_t line_encode(uint32_t c, char *out)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 63));
    out[0] = (char)(size == 1 ? c : lead[size] | c);
    return size;
}

static void line_char(line_writer *l, uint32_t c)
{
    char bytes[4];
    line_bytes(l, bytes, line_encode(c, bytes));
}

static void line_chars(line_writer *l, uint32_t first, uint32_t last, size_t count)
{
    while (count--)
        line_char(l, first + (uint32_t)line_below(l, last - first + 1));
}

#define LINE_PICK(l, table) ((table)[line_below(l, sizeof(table) / sizeof *(table))])

static const uint32_t line_spaces[] = {0x20,   0x09,   0x0a,   0x0b,   0x0c,   0x0d,   0x85,   0xa0,
                                       0x1680, 0x180e, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005,
                                       0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f,
                                       0x205f, 0x3000, 0x2581, 0x1c,   0x1d,   0x1e,   0x1f};
static const uint32_t line_zero_widths[] = {0xad,   0x34f,  0x61c,  0x200b, 0x200c, 0x200d, 0x200e,
                                            0x200f, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066, 0xfe00,
                                            0xfe0e, 0xfe0f, 0xfeff, 0xfff9, 0xfffd, 0xe0001};

static void line_word(line_writer *l)
{
    static const char *const words[] = {"the",
                                        "The",
                                        "a",
                                        "is",
                                        "of",
                                        "and",
                                        "house",
                                        "wonderful",
                                        "weather",
                                        "nice",
                                        "today",
                                        "attention",
                                        "weights",
                                        "queries",
                                        "keys",
                                        "values",
                                        "every",
                                        "translate",
                                        "English",
                                        "French",
                                        "German",
                                        "to",
                                        "I",
                                        "you",
                                        "New",
                                        "York",
                                        "don't",
                                        "reading",
                                        "reads",
                                        "unreadable",
                                        "le",
                                        "la",
                                        "maison",
                                        "est",
                                        "temps",
                                        "beau",
                                        "chat",
                                        "chats",
                                        "d'abord",
                                        "l'eau",
                                        "qu'il",
                                        "chien",
                                        "nous",
                                        "avons",
                                        "translation",
                                        "das",
                                        "Haus",
                                        "ist",
                                        "Zug",
                                        "und",
                                        "der",
                                        "die",
                                        "nicht",
                                        "Wetter",
                                        "heute",
                                        "Katzen",
                                        "Satz",
                                        "gesehen",
                                        "wir",
                                        "sentence",
                                        "machine",
                                        "e-mail",
                                        "well-known",
                                        "co-op",
                                        "HTTP",
                                        "TODAY",
                                        "MiXeD",
                                        "x",
                                        "xx",
                                        "q",
                                        "Z",
                                        "aaaa",
                                        "Donaudampfschifffahrtsgesellschaft",
                                        "antidisestablishmentarianism"};
    line_text(l, LINE_PICK(l, words));
}

static void line_accents(line_writer *l)
{
    static const char *const words[] = {"été",       "où",          "garçon",     "Noël",     "cœur",  "façade",
                                        "naïve",     "über",        "Straße",     "schön",    "grün",  "Äpfel",
                                        "français",  "aujourd’hui", "señor",      "piñata",   "ação",  "Łódź",
                                        "žluťoučký", "Ångström",    "smørrebrød", "İstanbul", "ışık",  "Ελλάδα",
                                        "Москва",    "ёжик",        "việt",       "Việt Nam", "falsé", "œuvre"};
    line_text(l, LINE_PICK(l, words));
}

/* A letter and marks after it, also several and in any order. */
static void line_marks(line_writer *l)
{
    static const char letters[] = "aeiouAEIOUncszyxCKN";
    static const uint32_t marks[] = {0x300, 0x301, 0x302, 0x303, 0x308, 0x30a, 0x30c,  0x327,
                                     0x323, 0x328, 0x304, 0x306, 0x31b, 0x345, 0x20dd, 0x335};
    for (size_t n = 1 + line_below(l, 4); n; n--) {
        if (line_below(l, 12))
            line_char(l, (unsigned char)letters[line_below(l, sizeof letters - 1)]);
        for (size_t m = 1 + (line_below(l, 3) ? 0 : line_below(l, 4)); m; m--)
            line_char(l, LINE_PICK(l, marks));
    }
}

static void line_compatible(line_writer *l)
{
    static const char *const texts[] = {"ﬁ", "ﬂ", "ﬀ", "ﬃ",  "ﬄ",   "ﬅ",  "ﬆ",  "½",  "¼",  "¾",  "™",  "©",  "²",
                                        "³", "¹", "①", "⑳",  "Ⅷ",   "ⅷ",  "㎏", "㎞", "℃",  "№",  "…",  "‥",  "ª",
                                        "º", "µ", "Ω", "K",  "Å",   "ĳ",  "ǆ",  "㈱", "㍿", "㌀", "⁵",  "₅",  "ℌ",
                                        "𝐀", "𝒻", "𝟘", "🄰",  "ﬁre", "¨",  "´",  "¸",  "‼",  "⁇",  "⁉",  "㏂", "⒈",
                                        "⑴", "ſ", "⫝̸", "﹏", "﹪",  "﹩", "︵", "｟", "￠", "￦", "豈", "丽"};
    for (size_t n = 1 + line_below(l, 4); n; n--)
        line_text(l, LINE_PICK(l, texts));
}

static void line_full_width(line_writer *l)
{
    line_chars(l, 0xff01, 0xff5e, 1 + line_below(l, 8));
}

static void line_half_width(line_writer *l)
{
    for (size_t n = 1 + line_below(l, 6); n; n--) {
        line_chars(l, 0xff61, 0xff9f, 1);
        if (!line_below(l, 3))
            line_char(l, line_below(l, 2) ? 0xff9e : 0xff9f); /* voiced and half-voiced marks */
    }
}

static void line_hangul(line_writer *l)
{
    for (size_t n = 1 + line_below(l, 4); n; n--)
        switch (line_below(l, 4)) {
        case 0: line_chars(l, 0xac00, 0xd7a3, 1); break;
        case 1: line_chars(l, 0x3131, 0x318e, 1); break;
        case 2:
            line_chars(l, 0xac00, 0xd7a3, 1);
            line_chars(l, 0x11a8, 0x11c2, 1);
            break;
        default:
            line_chars(l, 0x1100, 0x1112, 1);
            line_chars(l, 0x1161, 0x1175, 1);
            if (line_below(l, 2))
                line_chars(l, 0x11a8, 0x11c2, 1);
        }
}

static void line_east_asian(line_writer *l)
{
    static const char *const texts[] = {"你好", "世界", "東京", "日本語", "こんにちは", "カタカナ",
                                        "が",   "ぱ",   "は゛", "。",     "、",         "「"};
    for (size_t n = 1 + line_below(l, 4); n; n--)
        if (line_below(l, 2))
            line_text(l, LINE_PICK(l, texts));
        else
            line_chars(l, 0x4e00, 0x9fff, 1);
}

static void line_arabic(line_writer *l)
{
    static const char *const texts[] = {"ﷺ",     "ﷲ", "ﻻ", "ﻼ", "ﷻ",    "ﳲ", "سلام",
                                        "مرحبا", "ـ", "٣", "ﭐ", "שלום", "ﬡ", "हिन्दी"};
    for (size_t n = 1 + line_below(l, 3); n; n--)
        if (line_below(l, 4))
            line_text(l, LINE_PICK(l, texts));
        else
            line_chars(l, 0xfe70, 0xfefc, 1);
}

static void line_emoji(line_writer *l)
{
    static const char *const texts[] = {"😀",
                                        "👍🏽",
                                        "👨‍👩‍👧‍👦",
                                        "🇫🇷",
                                        "🇩🇪🇬🇧",
                                        "❤️",
                                        "🏴‍☠️",
                                        "1️⃣",
                                        "🤖",
                                        "🏳️‍🌈",
                                        "☺"};
    for (size_t n = 1 + line_below(l, 3); n; n--)
        line_text(l, LINE_PICK(l, texts));
}

static void line_control(line_writer *l)
{
    for (size_t n = 1 + line_below(l, 3); n; n--)
        line_char(l, (uint32_t)(line_below(l, 2) ? line_below(l, 0x20) : 0x7f + line_below(l, 0x21)));
}

static void line_zero_width(line_writer *l)
{
    for (size_t n = 1 + line_below(l, 3); n; n--)
        line_char(l, LINE_PICK(l, line_zero_widths));
}

static void line_blanks(line_writer *l)
{
    static const char *const texts[] = {" ", "  ", "\t", "\n", "\r\n", " \t ", "▁", "▁▁", " ▁ "};
    uint32_t space = LINE_PICK(l, line_spaces);
    for (size_t n = 1 + line_below(l, 6); n; n--)
        switch (line_below(l, 3)) {
        case 0: line_char(l, space); break;
        case 1: line_char(l, ' '); break;
        default: line_text(l, LINE_PICK(l, texts));
        }
}

static void line_digits(line_writer *l)
{
    line_chars(l, '0', '9', 1 + line_below(l, 6));
    if (!line_below(l, 3)) {
        line_char(l, line_below(l, 2) ? '.' : ',');
        line_chars(l, '0', '9', 1 + line_below(l, 3));
    }
}

static void line_punctuation(line_writer *l)
{
    static const char signs[] = ".,;:!?-'\"()[]{}<>/\\@#$%^&*_+=|~`";
    char sign = signs[line_below(l, sizeof signs - 1)];
    for (size_t n = 1 + line_below(l, 5); n; n--)
        line_char(l, (unsigned char)(line_below(l, 4) ? sign : signs[line_below(l, sizeof signs - 1)]));
}

static void line_run(line_writer *l)
{
    static const uint32_t letters[] = {'x', 'a', 'e', '=', '-', 0xe9, 0x4e00, 0x301, 0x1f600, 0x2581, ' ', 0x3042};
    uint32_t letter = LINE_PICK(l, letters);
    for (size_t n = 2 + line_below(l, 80); n; n--)
        line_char(l, letter);
}

/* Names that pieces may have and text must not be taken for. */
static void line_names(line_writer *l)
{
    static const char *const texts[] = {
        "<unk>",  "</s>",   "<s>",           "<pad>", "<extra_id_7>", "<extra_id_07>", "<0x41>",
        "<0x0A>", "<0xff>", "▁<extra_id_0>", "⁇",     " ⁇ ",          "<extra_id_",    "<extra_id_100>"};
    line_text(l, LINE_PICK(l, texts));
}

/* The user-defined symbols of the models that make_tokens.py makes, and their parts. */
static void line_symbols(line_writer *l)
{
    static const char *const texts[] = {
        "<sep>",     "<sep>>", "<sep", "<sep><sep>>", "New York", "NewYork", "New▁York",  "▁Zug▁", "Zug",
        "①",         "ﬁre",    " x",   "x ",          "==",       "====",    "===",       "=",     "<|user|>",
        "<|user|>:", "<|user", "|>",   "\n",          "▁▁",       "▁▁▁▁",    "    ",      "   ",   "<|system_message|>",
        "ab",        "abc",    "bcd",  "cd",          "abcd",     "é",       "e\xcc\x81", " Zug ", "\t\t"};
    for (size_t n = 1 + line_below(l, 4); n; n--) {
        line_text(l, LINE_PICK(l, texts));
        if (!line_below(l, 3))
            line_char(l, ' ');
    }
}

static void line_any(line_writer *l)
{
    static const uint32_t last[] = {0x7f, 0x7ff, 0x2fff, 0xffff, 0x10ffff};
    for (size_t n = 1 + line_below(l, 4); n; n--)
        line_chars(l, 0, LINE_PICK(l, last), 1);
}

static void line_truncated(line_writer *l)
{
    static const uint32_t first[] = {0x80, 0x800, 0x10000}, last[] = {0x7ff, 0xffff, 0x10ffff};
    size_t kind = line_below(l, 3), before = l->size;
    line_chars(l, first[kind], last[kind], 1);
    if (l->size > before)
        l->size -= 1 + line_below(l, kind + 1);
}

static void line_invalid(line_writer *l)
{
    static const char *const texts[] = {"\x80",
                                        "\xbf",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xc0\xaf",
                                        "\xe0\x80\x80",
                                        "\xe0\x9f\xbf",
                                        "\xf0\x80\x80\x80",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xed\xa0\x80",
                                        "\xed\xbf\xbf",
                                        "\xed\xa0\xbd\xed\xb8\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xf7\xbf\xbf\xbf",
                                        "\xf8\x88\x80\x80\x80",
                                        "\xfc\x84\x80\x80\x80\x80",
                                        "\xfe",
                                        "\xff",
                                        "\xff\xfe",
                                        "\xc3\x28",
                                        "\xe2\x28\xa1",
                                        "\xe2\x96",
                                        "\xe2\x96\x81\x81",
                                        "\xf0\x9f\x98",
                                        "\xf0\x9f",
                                        "\xc3\xc3\xa9",
                                        "\xe2\xe2\x96\x81"};
    switch (line_below(l, 4)) {
    case 0: line_truncated(l); break;
    case 1:
        for (size_t n = 1 + line_below(l, 3); n; n--) {
            char byte = (char)(128 + (int)line_below(l, 128) - 256);
            line_bytes(l, &byte, 1);
        }
        break;
    default: line_text(l, LINE_PICK(l, texts));
    }
}

/* ---- lines ---- */

static void (*const line_parts[])(line_writer *l) = {
    line_word,   line_accents,     line_marks, line_compatible, line_full_width, line_half_width, line_hangul,
    line_arabic, line_east_asian,  line_emoji, line_control,    line_zero_width, line_blanks,     line_digits,
    line_run,    line_punctuation, line_names, line_symbols,    line_any,        line_invalid};

static void line_sentence(line_writer *l, size_t words)
{
    static const char *const marks[] = {", ", "; ", ": ", " - ", ". ", "  ", "\n"}, *const ends[] = {".", "!", "?",
                                                                                                     "...", ""};
    for (; words; words--) {
        if (line_below(l, 6))
            line_word(l);
        else if (line_below(l, 4))
            line_accents(l);
        else
            line_digits(l);
        if (words > 1)
            line_text(l, line_below(l, 8) ? " " : LINE_PICK(l, marks));
    }
    line_text(l, LINE_PICK(l, ends));
}

/* Anything after anything, with a space after one part in `spaces`; 0: no spaces. */
static void line_mix(line_writer *l, size_t parts, size_t spaces)
{
    for (; parts; parts--) {
        LINE_PICK(l, line_parts)(l);
        if (spaces && !line_below(l, spaces))
            line_char(l, ' ');
    }
}

/* One special character alone, or wherever it may matter. */
static void line_around(line_writer *l, uint32_t c, size_t where)
{
    if (where == 0) {
        line_char(l, c);
        return;
    }
    line_char(l, c);
    line_word(l);
    line_char(l, c);
    line_word(l);
    line_char(l, ' ');
    line_char(l, c);
    line_char(l, c);
    line_char(l, ' ');
    line_word(l);
    line_chars(l, c, c, where == 2 ? 3 : 1);
}

/* Long ones: the scores of their paths leave the range in which a float adds well. Returns whether the line is one. */
static int line_long(line_writer *l, size_t index)
{
    static const struct {
        size_t index, size;
        void (*part)(line_writer *); /* NULL: sentences */
    } mixed[] = {{9860, 3000, line_word},    {9880, 20000, line_any},         {9900, 40000, line_symbols},
                 {9920, 60000, line_run},    {9921, 60000, line_east_asian},  {9922, 60000, line_marks},
                 {9923, 60000, line_blanks}, {9924, 60000, line_invalid},     {9925, 60000, line_compatible},
                 {9926, 200000, line_names}, {9940, 200000, line_half_width}, {9960, 220000, NULL},
                 {9967, 1240000, NULL}};
    static const struct {
        size_t index, count;
        uint32_t first, last;
    } chars[] = {{9961, 200001, 'x', 'x'},      /* one letter */
                 {9962, 200000, 'a', 'z'},      /* one word */
                 {9963, 70000, 0x4e00, 0x9fff}, /* hardly a piece among them */
                 {9964, 30000, ' ', ' '},       /* nothing */
                 {9965, 10000, 0xfdfa, 0xfdfa}, /* grows when normalised */
                 {9966, 50000, 0x10000, 0x10ffff} /* nothing but unknown */};
    for (size_t i = 0; i < sizeof chars / sizeof *chars; i++)
        if (chars[i].index == index)
            line_chars(l, chars[i].first, chars[i].last, chars[i].count);
    if (index == 9967) { /* a sum of scores above 100,000 where these are user-defined symbols, then near ties */
        while (l->size < 1100000)
            line_text(l, "<|system_message|>");
        while (l->size < 1150000)
            line_text(l, "      \n");
    }
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++)
        while (mixed[i].index == index && l->size < mixed[i].size)
            if (mixed[i].part) {
                mixed[i].part(l);
            } else {
                line_sentence(l, 1 + line_below(l, 30));
                line_char(l, ' ');
            }
    return l->size > 0;
}

/* Writes line `index` to out, which has room for LINE_BYTES; returns its size. A line may hold any byte, NUL and
   newline too. */
static size_t generate_line(size_t index, char *out)
{
    enum {
        CONTROLS = 0xa0 * 2,
        SPACES = CONTROLS + (int)(sizeof line_spaces / sizeof *line_spaces) * 3,
        ZERO_WIDTHS = SPACES + (int)(sizeof line_zero_widths / sizeof *line_zero_widths) * 3
    };
    line_writer l;
    line_start(&l, out, index);
    if (index < CONTROLS)
        line_around(&l, (uint32_t)(index / 2), index % 2);
    else if (index < SPACES)
        line_around(&l, line_spaces[(index - CONTROLS) / 3], (index - CONTROLS) % 3);
    else if (index < ZERO_WIDTHS)
        line_around(&l, line_zero_widths[(index - SPACES) / 3], (index - SPACES) % 3);
    else if (!line_long(&l, index))
        switch (line_below(&l, 10)) {
        case 0: line_sentence(&l, 1 + line_below(&l, 8)); break;
        case 1: line_sentence(&l, 5 + line_below(&l, 25)); break;
        case 2: line_mix(&l, 1 + line_below(&l, 3), 0); break;
        case 3: line_mix(&l, 1 + line_below(&l, 12), 0); break;
        case 4: line_mix(&l, 1 + line_below(&l, 12), 2); break;
        case 5: { /* much of one kind */
            void (*part)(line_writer *) = LINE_PICK(&l, line_parts);
            for (size_t n = 1 + line_below(&l, 8); n; n--) {
                part(&l);
                if (!line_below(&l, 3))
                    line_char(&l, ' ');
            }
            break;
        }
        case 6: /* spaces at the start, within, at the end */
            line_blanks(&l);
            for (size_t n = line_below(&l, 5); n; n--) {
                line_mix(&l, 1, 0);
                line_blanks(&l);
            }
            break;
        case 7: /* user-defined symbols and words */
            for (size_t n = 1 + line_below(&l, 6); n; n--) {
                line_symbols(&l);
                if (line_below(&l, 2))
                    line_blanks(&l);
                if (line_below(&l, 2))
                    line_word(&l);
            }
            break;
        case 8: /* invalid UTF-8 among words, and at the end */
            for (size_t n = line_below(&l, 5); n; n--) {
                line_word(&l);
                line_invalid(&l);
                line_any(&l);
            }
            line_truncated(&l);
            break;
        default:
            if (!line_below(&l, 10)) /* short ones, and the empty line */
                line_chars(&l, ' ', '~', line_below(&l, 4));
            else if (!line_below(&l, 5))
                line_chars(&l, ' ', ' ', line_below(&l, 9));
            else
                line_chars(&l, 0, 0x10ffff, 1 + line_below(&l, 30));
        }
    return l.size;
}

/* Writes a sequence of ids below `count`, for decoding; returns how many. Small ids come often. */
static inline size_t generate_ids(size_t index, int32_t count, int32_t *ids)
{
    line_writer l;
    line_start(&l, NULL, index + LINE_COUNT);
    size_t size = index < (size_t)count && index < 300 ? 1 : line_below(&l, LINE_IDS + 1);
    for (size_t i = 0; i < size; i++)
        ids[i] = (int32_t)line_below(&l, (size_t)(line_below(&l, 3) || count < 16 ? count : 16));
    if (index < (size_t)count && index < 300)
        ids[0] = (int32_t)index;
    return size;
}

#endif
