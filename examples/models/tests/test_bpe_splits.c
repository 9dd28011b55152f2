/* How text is cut before it is merged: each pattern that patterns.c knows, against what the regular expression does. */
#include "examples/models/bpe.h"
#include "examples/models/json.h"
#include "examples/models/patterns.h"
#include "examples/models/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_MAX = 2048 }; /* bytes of a pattern */

#include "test.h"

/* ---- golden.json ---- */

static char *read_golden(size_t *size)
{
    FILE *file = fopen("examples/models/tests/golden/bpe/golden.json", "rb");
    char *text = test_block(1 << 18);
    *size = file ? fread(text, 1, 1 << 18, file) : 0;
    if (file)
        fclose(file);
    CHECK(*size > 0 && *size < 1 << 18);
    return text;
}

static uint32_t hash_number(uint32_t hash, size_t number)
{
    for (int i = 0; i < 4; i++)
        hash = (hash ^ (uint32_t)(number >> 8 * i & 0xff)) * 16777619u;
    return hash;
}

/* The bytes at which pieces of a line end, in the hash. */
static uint32_t hash_ends(const patterns_regex *p, const char *line, size_t size, uint32_t hash)
{
    size_t at = 0, begin, end;
    while (patterns_next(p, line, size, at, &begin, &end)) {
        CHECK(begin >= at && end > begin && end <= size && patterns_match(p, line, size, begin) == end);
        if (begin > at)
            hash = hash_number(hash, begin);
        hash = hash_number(hash, end);
        at = end;
    }
    return at < size ? hash_number(hash, size) : hash;
}

/* A pattern as a C string with \r and \n spelt. */
static const patterns_regex *pattern_of(json text)
{
    char spelled[PATTERN_MAX], raw[PATTERN_MAX];
    size_t size = json_string(text, raw, sizeof raw), used = 0;
    for (size_t i = 0; i < size && used + 3 < sizeof spelled; i++)
        if (raw[i] == '\r' || raw[i] == '\n') {
            spelled[used++] = '\\';
            spelled[used++] = raw[i] == '\r' ? 'r' : 'n';
        } else {
            spelled[used++] = raw[i];
        }
    spelled[used] = 0;
    test_case("%s", spelled);
    return patterns_find(spelled);
}

TEST(bpe_patterns)
{
    size_t size, known = 0;
    char *text = read_golden(&size), *line = test_block(1024);
    json golden, item;
    if (!CHECK(json_parse(&golden, text, size, NULL) == NULL))
        return;
    for (item = json_first(json_get(golden, "patterns")); item.type; item = json_next(item), known++) {
        const patterns_regex *p = pattern_of(json_get(item, "pattern"));
        json want = json_first(json_get(item, "hashes"));
        uint32_t hash = 2166136261u;
        uint64_t wanted = 0;
        size_t count = 0;
        if (!CHECK(p != NULL))
            continue;
        for (json text_of = json_first(json_get(golden, "lines")); text_of.type; text_of = json_next(text_of)) {
            hash = hash_ends(p, line, json_string(text_of, line, 1024), hash);
            if (++count % 10)
                continue;
            CHECK(json_uint(want, &wanted) && wanted == hash);
            want = json_next(want);
            hash = 2166136261u;
        }
        CHECK(count == 400 && want.type == JSON_NONE);
    }
    CHECK(known > 0 && patterns_at(known - 1) && !patterns_at(known));
    CHECK(patterns_find("") == NULL && patterns_find("\\w+") == NULL && patterns_gpt2() == patterns_at(0));
}

/* ---- a text that ends where it should not ---- */

TEST(bpe_patterns_at_ends)
{
    static const char text[] =
        "'s 'LL don't \xc3\x89\xc4\xb0 123\xc2\xbd  \r\n /* x */ \t\xe4\xb8\x80\xe3\x81\x82 a\xcc\x81 \xc5\xbf";
    for (size_t i = 0; patterns_at(i); i++)
        for (size_t begin = 0; begin < sizeof text; begin++)
            for (size_t size = 0; begin + size < sizeof text; size++) {
                char *copy = malloc(size + !size); /* exact, for sanitizers and valgrind */
                if (!CHECK(copy != NULL))
                    return;
                memcpy(copy, text + begin, size);
                hash_ends(patterns_at(i), copy, size, 0);
                free(copy);
                if (size > 8)
                    size += 3;
            }
}

/* Long runs of characters take as long as their length, not its square. */
TEST(bpe_patterns_of_long_runs)
{
    static const char *const units[] = {"a", "A", " ",  "\n",  " \n",      "1",
                                        "'", ".", "aA", "字A", "\xcc\x81", "A\xcc\x81"};
    const size_t size = test_quick ? 1 << 13 : 1 << 16;
    char *text = test_block(size);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        for (size_t i = 0, n = strlen(units[u]); i < size; i++)
            text[i] = i < size - size % n ? units[u][i % n] : 'x';
        for (size_t i = 0; patterns_at(i); i++)
            CHECK(hash_ends(patterns_at(i), text, size, 1) != 1);
    }
}

/* ---- bytes as characters: GPT-2's table, as its tokenizer shows it ---- */

TEST(bpe_bytes_as_characters)
{
    int seen[256] = {0};
    char spelling[4], byte[4] = {0};
    bpe model;
    if (!CHECK(bpe_open(&model, "examples/models/tests/golden/bpe/gpt2.json") == NULL))
        return;
    for (uint32_t c = 0; c < 0x3000; c++) {
        int32_t id = bpe_id(&model, spelling, unicode_write(spelling, c));
        unsigned value;
        if (id < 0)
            continue;
        CHECK(bpe_piece(&model, id, 0, byte, sizeof byte) == 1);
        value = (unsigned char)byte[0];
        CHECK(c > 0x20 && c != 0x7f && c != 0xad && (c < 0x80 || c > 0xa0) && (c < 0x100) == (c == value));
        CHECK((c == 0x120) == (value == ' ') && (c == 0x10a) == (value == '\n') && (c == 0x143) == (value == 0xad));
        seen[value]++;
    }
    for (int value = 0; value < 256; value++)
        CHECK(seen[value] == 1);
    bpe_close(&model);
}

/* Characters with every byte that UTF-8 has come back from the ids that their bytes become. */
TEST(bpe_bytes_come_back)
{
    bpe model;
    if (!CHECK(bpe_open(&model, "examples/models/tests/golden/bpe/gpt2.json") == NULL))
        return;
    for (uint32_t c = 0; c < 0x110000; c += c < 0x800 ? 1 : c < 0x10000 ? 0x3f1 : 0x3fff) {
        char text[4], *back = NULL;
        size_t size = unicode_write(text, c), back_size = 0;
        bpe_tokens tokens;
        if (c >= 0xd800 && c < 0xe000)
            continue;
        if (!CHECK(bpe_encode(&model, text, size, &tokens) == NULL))
            break;
        CHECK(bpe_decode(&model, tokens.ids, tokens.count, &back, &back_size) == NULL);
        CHECK(back && back_size == size && memcmp(back, text, size) == 0);
        test_free(back);
        bpe_tokens_free(&tokens);
    }
    bpe_close(&model);
}
