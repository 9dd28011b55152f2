/* How text is cut before it is merged: each pattern that bpe.c knows, against what the regular expression does. The
   functions of patterns are bpe.c's own, so that this file has a bpe.c of its own, under other names. */
#define bpe_open splits_bpe_open
#define bpe_parse splits_bpe_parse
#define bpe_close splits_bpe_close
#define bpe_encode splits_bpe_encode
#define bpe_encode_as splits_bpe_encode_as
#define bpe_tokens_free splits_bpe_tokens_free
#define bpe_decode splits_bpe_decode
#define bpe_piece splits_bpe_piece
#define bpe_spelling splits_bpe_spelling
#define bpe_id splits_bpe_id
#define bpe_is_special splits_bpe_is_special
#include "examples/models/bpe.c"

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
static uint32_t hash_ends(const pattern *p, string line, uint32_t hash)
{
    bpe_model model;
    step how;
    size_t at = 0, begin, end;
    memset(&model, 0, sizeof model);
    memset(&how, 0, sizeof how);
    how.found = p;
    while (find_match(&model, &how, line, at, &begin, &end)) {
        CHECK(begin >= at && end > begin && end <= line.size);
        if (begin > at)
            hash = hash_number(hash, begin);
        hash = hash_number(hash, end);
        at = end;
    }
    return at < line.size ? hash_number(hash, line.size) : hash;
}

/* A pattern as a C string with \r and \n spelt. */
static const pattern *pattern_of(json text)
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
    return find_pattern(spelled);
}

TEST(bpe_patterns)
{
    size_t size, known = 0;
    char *text = read_golden(&size), *line = test_block(1024);
    json golden, item;
    if (!CHECK(json_parse(&golden, text, size, NULL) == NULL))
        return;
    for (item = json_first(json_get(golden, "patterns")); item.type; item = json_next(item), known++) {
        const pattern *p = pattern_of(json_get(item, "pattern"));
        json want = json_first(json_get(item, "hashes"));
        uint32_t hash = 2166136261u;
        uint64_t wanted = 0;
        size_t count = 0;
        if (!CHECK(p != NULL))
            continue;
        for (json text_of = json_first(json_get(golden, "lines")); text_of.type; text_of = json_next(text_of)) {
            hash = hash_ends(p, make_string(line, json_string(text_of, line, 1024)), hash);
            if (++count % 10)
                continue;
            CHECK(json_uint(want, &wanted) && wanted == hash);
            want = json_next(want);
            hash = 2166136261u;
        }
        CHECK(count == 400 && want.type == JSON_NONE);
    }
    CHECK(known == sizeof patterns / sizeof *patterns);
}

/* ---- a text that ends where it should not ---- */

TEST(bpe_patterns_at_ends)
{
    static const char text[] =
        "'s 'LL don't \xc3\x89\xc4\xb0 123\xc2\xbd  \r\n /* x */ \t\xe4\xb8\x80\xe3\x81\x82 a\xcc\x81 \xc5\xbf";
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (size_t begin = 0; begin < sizeof text; begin++)
            for (size_t size = 0; begin + size < sizeof text; size++) {
                char *copy = malloc(size + !size); /* exact, for sanitizers and valgrind */
                if (!CHECK(copy != NULL))
                    return;
                memcpy(copy, text + begin, size);
                hash_ends(&patterns[i], make_string(copy, size), 0);
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
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
            CHECK(hash_ends(&patterns[i], make_string(text, size), 1) != 1);
    }
}

/* ---- bytes as characters ---- */

TEST(bpe_bytes_as_characters)
{
    int seen[256] = {0};
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t c = character_of((unsigned char)byte);
        CHECK(byte_of(c) == (int)byte && c > 0x20 && c != 0x7f && c != 0xad && (c < 0x80 || c > 0xa0));
        CHECK((c < 0x100) == (c == byte));
    }
    for (uint32_t c = 0; c < 0x110001; c++)
        if (byte_of(c) >= 0)
            seen[byte_of(c)]++;
    for (int byte = 0; byte < 256; byte++)
        CHECK(seen[byte] == 1);
    CHECK(character_of(' ') == 0x120 && character_of('\n') == 0x10a && character_of(0xad) == 0x143); /* Ġ, Ċ, Ń */
    CHECK(byte_of(NONE) == -1);
}
