/* Unicode against the Python package tokenizers, whose words on every code point golden/make_unicode.py has hashed; and
   text that is long, broken or does not fit. */
#include "test.h"

#include "examples/models/unicode.h"
#include "golden/unicode.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

enum { FORMS = UNICODE_NFKD + 1 };

/* ---- hashes: 64-bit FNV-1a ---- */

static const uint64_t hash_start = 0xcbf29ce484222325u;

static void hash_bytes(uint64_t *hash, const void *bytes, size_t size)
{
    for (const unsigned char *b = bytes; size--; b++)
        *hash = (*hash ^ *b) * 0x100000001b3u;
}

static void hash_byte(uint64_t *hash, int byte)
{
    unsigned char b = (unsigned char)byte;
    hash_bytes(hash, &b, 1);
}

static void hash_text(uint64_t *hash, const char *text, size_t size)
{
    for (int i = 0; i < 4; i++)
        hash_byte(hash, (int)(size >> 8 * i & 0xff));
    hash_bytes(hash, text, size);
}

static void hash_form(uint64_t *hash, unicode_form form, const char *text, size_t size)
{
    char out[256];
    size_t used = unicode_normalize(form, text, size, out, sizeof out);
    if (CHECK(used <= sizeof out))
        hash_text(hash, out, used);
}

static int number_of(uint32_t bit)
{
    int number = 0;
    while (bit >>= 1)
        number++;
    return number;
}

/* ---- every code point ---- */

static void hash_code(uint64_t *hash, uint32_t code)
{
    uint32_t lower[3], bert = unicode_bert_category(code);
    char text[16];
    size_t size = 0, count = unicode_lower(code, lower);
    hash_byte(hash, number_of(unicode_category(code)));
    hash_byte(hash, unicode_is_space(code));
    hash_byte(hash, bert == UNICODE_MN);
    hash_byte(hash, bert == UNICODE_P && code >= 128);
    hash_byte(hash, (bert & (UNICODE_CC | UNICODE_CF | UNICODE_CO)) != 0);
    hash_byte(hash, unicode_is_accent(code));
    for (size_t i = 0; i < count; i++)
        size += unicode_write(text + size, lower[i]);
    hash_text(hash, text, size);
    size = unicode_write(text, code);
    for (int form = 0; form < FORMS; form++)
        hash_form(hash, (unicode_form)form, text, size);
}

/* One hash for each 4096 code points, of the planes that have no characters for one block in 16. The short version
   leaves out what is CJK or Hangul as well, and most of what is beyond. */
TEST(unicode_code_points)
{
    CHECK(COUNT(golden_blocks) == 0x110000 >> 12);
    for (uint32_t block = 0; block < COUNT(golden_blocks); block++) {
        uint64_t hash = hash_start;
        if (block >= 0x40 && block < 0xe0 && block % 16)
            continue;
        if (test_quick && ((block >= 5 && block < 10) || (block > 10 && block < 13) || block > 17) && block != 0x1d)
            continue;
        for (uint32_t code = block << 12; code < (block + 1) << 12; code++)
            if (code < 0xd800 || code > 0xdfff)
                hash_code(&hash, code);
        test_case("U+%04lX to U+%04lX", (unsigned long)block << 12, (unsigned long)(block << 12) + 0xfff);
        CHECK(hash == golden_blocks[block]);
    }
}

TEST(unicode_beyond)
{
    static const uint32_t codes[] = {0xd800, 0xdfff, UNICODE_INVALID, UNICODE_INVALID + 0xff, 0xffffffff};
    for (size_t i = 0; i < COUNT(codes); i++) {
        uint32_t lower[3];
        test_case("%lx", (unsigned long)codes[i]);
        CHECK(unicode_category(codes[i]) == UNICODE_CN && unicode_bert_category(codes[i]) == UNICODE_CN);
        CHECK(!unicode_is(codes[i], ~(uint32_t)UNICODE_CN) && unicode_is(codes[i], UNICODE_CN));
        CHECK(!unicode_is_space(codes[i]) && !unicode_is_accent(codes[i]));
        CHECK(unicode_lower(codes[i], lower) == 1 && lower[0] == codes[i]);
    }
    CHECK(unicode_is('a', UNICODE_LETTER) && unicode_is(0x1c5, UNICODE_LETTER) && !unicode_is('1', UNICODE_LETTER));
    CHECK(unicode_is(0xbd, UNICODE_NUMBER) && unicode_is(0x20dd, UNICODE_MARK) && !unicode_is(0x20dd, UNICODE_MN));
}

/* ---- UTF-8 ---- */

TEST(unicode_utf8)
{
    for (uint32_t code = 0; code < UNICODE_INVALID; code += code < 0x3000 || !test_quick ? 1 : 61) {
        char text[5] = {0, 0, 0, 0, 'x'};
        size_t size = unicode_write(text, code), want = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        uint32_t read = 0;
        test_case("U+%04lX", (unsigned long)code);
        if (size != want || text[4] != 'x')
            CHECK(0);
        if (code >= 0xd800 && code <= 0xdfff) { /* halves of a pair are no characters: byte by byte */
            if (unicode_read(text, size, &read) != 1 || read != UNICODE_INVALID + 0xed)
                CHECK(0);
            continue;
        }
        if (unicode_read(text, size, &read) != size || read != code)
            CHECK(0);
        for (size_t cut = 1; cut < size; cut++) /* cut off: its first byte is none */
            if (unicode_read(text, cut, &read) != 1 || read != (uint32_t)UNICODE_INVALID + (unsigned char)text[0])
                CHECK(0);
    }
    CHECK(1);
}

TEST(unicode_not_utf8)
{
    static const char *const wrong[] = {"\x80",
                                        "\xbf",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xc3(",
                                        "\xe0\x80\x80",
                                        "\xe0\x9f\xbf",
                                        "\xe2\x82(",
                                        "\xe2(\xa1",
                                        "\xed\xa0\x80",
                                        "\xed\xbf\xbf",
                                        "\xf0\x80\x80\x80",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf0\x9f\x98(",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xf8\x88\x80\x80\x80",
                                        "\xfe",
                                        "\xff",
                                        "\xed\xa0\xbd\xed\xb8\x80"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        size_t size = strlen(wrong[i]);
        uint32_t code = 0;
        char out[16];
        test_case("%d", (int)i);
        CHECK(unicode_read(wrong[i], size, &code) == 1 &&
              code == (uint32_t)UNICODE_INVALID + (unsigned char)wrong[i][0]);
        CHECK(unicode_write(out, code) == 1 && out[0] == wrong[i][0]);
        for (int form = 0; form < FORMS; form++)
            CHECK(unicode_normalize((unicode_form)form, wrong[i], size, out, sizeof out) == size &&
                  memcmp(out, wrong[i], size) == 0);
    }
}

/* ---- normal forms ---- */

/* Strings of code points that compose, decompose and change places; the same as make_unicode.py makes. */
TEST(unicode_strings)
{
    for (int form = 0; form < FORMS; form++) {
        uint32_t state = 1;
        uint64_t hash = hash_start;
        for (int i = 0; i < 4000; i++) {
            char text[64];
            size_t size = 0, count;
            state = state * 1664525 + 1013904223;
            count = 1 + (state >> 16) % 12;
            for (size_t k = 0; k < count; k++) {
                state = state * 1664525 + 1013904223;
                size += unicode_write(text + size, golden_codes[(state >> 8) % COUNT(golden_codes)]);
            }
            hash_form(&hash, (unicode_form)form, text, size);
        }
        test_case("form %d", form);
        CHECK(hash == golden_strings[form]);
    }
}

/* Hangul: what is no trailing consonant, or follows none, stays. */
TEST(unicode_hangul)
{
    static const struct {
        const char *text, *composed;
    } cases[] = {{"\xe1\x84\x80\xe1\x85\xa1", "\xea\xb0\x80"},                              /* 1100 1161: AC00 */
                 {"\xea\xb0\x80\xe1\x86\xa8", "\xea\xb0\x81"},                              /* AC00 11A8: AC01 */
                 {"\xea\xb0\x80\xe1\x87\x82", "\xea\xb0\x9b"},                              /* AC00 11C2: AC1B */
                 {"\xea\xb0\x80\xe1\x86\xa7", "\xea\xb0\x80\xe1\x86\xa7"},                  /* AC00 11A7 */
                 {"\xea\xb0\x80\xe1\x87\x83", "\xea\xb0\x80\xe1\x87\x83"},                  /* AC00 11C3 */
                 {"\xea\xb0\x81\xe1\x86\xa8", "\xea\xb0\x81\xe1\x86\xa8"},                  /* AC01 11A8 */
                 {"\xe1\x84\x93\xe1\x85\xa1", "\xe1\x84\x93\xe1\x85\xa1"},                  /* 1113 1161 */
                 {"\xe1\x84\x80\xe1\x85\xb6", "\xe1\x84\x80\xe1\x85\xb6"},                  /* 1100 1176 */
                 {"\xe1\x84\x80\xcc\x81\xe1\x85\xa1", "\xe1\x84\x80\xcc\x81\xe1\x85\xa1"}}; /* a mark between */
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[16];
        size_t size = unicode_normalize(UNICODE_NFC, cases[i].text, strlen(cases[i].text), out, sizeof out);
        test_case("%d", (int)i);
        CHECK(size == strlen(cases[i].composed) && memcmp(out, cases[i].composed, size) == 0);
    }
}

/* What fits is written, whole characters of it, and not a byte more. */
TEST(unicode_capacity)
{
    static const char text[] = "a\xc3\xa9\xea\xb0\x81\xf0\x9d\x85\x9e\xef\xac\x83\xff\xcc\x81\xcc\xa3z";
    char whole[128];
    for (int form = 0; form < FORMS; form++) {
        size_t size = unicode_normalize((unicode_form)form, text, sizeof text - 1, whole, sizeof whole);
        CHECK(unicode_normalize((unicode_form)form, text, sizeof text - 1, NULL, 0) == size && size < sizeof whole);
        for (size_t capacity = 0; capacity <= size; capacity++) {
            char out[128];
            size_t kept = 0, next = 0;
            uint32_t code;
            memset(out, '~', sizeof out);
            test_case("form %d, %lu bytes", form, (unsigned long)capacity);
            CHECK(unicode_normalize((unicode_form)form, text, sizeof text - 1, out, capacity) == size);
            while (next <= capacity) {
                kept = next;
                next += kept < size ? unicode_read(whole + kept, size - kept, &code) : capacity + 1;
            }
            CHECK(memcmp(out, whole, kept) == 0);
            for (size_t i = kept; i < sizeof out; i++)
                if (out[i] != '~')
                    CHECK(0);
        }
    }
    CHECK(unicode_normalize(UNICODE_NFC, NULL, 0, NULL, 0) == 0);
}

/* Marks without end, in every order, are put in order in a time that grows as they do; and they are in order then. */
TEST(unicode_marks)
{
    const size_t count = test_quick ? 1 << 11 : 1 << 18;
    static const uint32_t marks[] = {0x301, 0x323, 0x5b0, 0x5b9, 0x651, 0x64b,
                                     0x345, 0x327, 0x307, 0x334, 0x321, 0xf71};
    char *text = test_block(3 * count), *out = test_block(3 * count + 8), *again = test_block(3 * count + 8);
    for (int form = 0; form < FORMS; form++)
        for (int turn = 0; turn < 3; turn++) {
            size_t size = 0, used;
            if (turn)
                text[size++] = 'q';
            for (size_t i = 1; i < count; i++) {
                uint32_t mark = marks[turn == 2 ? i * 7 % COUNT(marks) : i * COUNT(marks) / count];
                size += unicode_write(text + size, mark);
            }
            used = unicode_normalize((unicode_form)form, text, size, out, 3 * count + 8);
            test_case("form %d, turn %d", form, turn);
            CHECK(used == size || (used < size && form != UNICODE_NFD && form != UNICODE_NFKD));
            CHECK(unicode_normalize((unicode_form)form, out, used, again, used) == used);
            CHECK(memcmp(out, again, used) == 0);
            CHECK(turn != 2 || memcmp(out, text, used) != 0);
        }
}
