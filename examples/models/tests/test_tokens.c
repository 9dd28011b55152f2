/* Tokens against the SentencePiece library: what it makes of the lines of lines.h, see golden/make_tokens.py; and
   against transformers, for sentinels. */
#include "test.h"
#include "examples/models/json.h"
#include "examples/models/sentencepiece.h"
#include "lines.h"
#include "golden/tokens.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

enum { OWN_MODELS = 3 }; /* the first of golden_ids */
static const char *const shared_models[] = {"t5-small.spiece", "seqio_test_sentencepiece", "sp_test_model",
                                            "tftext_fast_sentencepiece"};

/* ---- files ---- */

static const char *own_path(const char *format, const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, format, name);
    return path;
}

/* Models and results that are not part of the project: ATTN_T5_MODELS is their directory, else the current one. */
static const char *shared_path(const char *name, const char *ending)
{
    static char path[1024];
    const char *directory = getenv("ATTN_T5_MODELS");
    snprintf(path, sizeof path, "%s/%s%s", directory ? directory : ".", name, ending);
    return path;
}

static int exists(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f)
        fclose(f);
    return f != NULL;
}

/* Whether the file is there; if not, says so. */
static int shared(const char *path)
{
    if (exists(path))
        return 1;
    printf("skip %s: not there\n", path);
    CHECK(1);
    return 0;
}

/* The bytes of a file in a block with room for `more`. */
static char *contents(const char *path, size_t *size, size_t more)
{
    FILE *f = fopen(path, "rb");
    long end = -1;
    char *bytes = NULL;
    if (f && !fseek(f, 0, SEEK_END) && (end = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET)) {
        *size = (size_t)end;
        bytes = test_block(*size + more);
        if (fread(bytes, 1, *size, f) != *size)
            bytes = NULL;
    }
    if (f)
        fclose(f);
    test_case("%s", path);
    CHECK(bytes != NULL);
    return bytes;
}

static int opened(sentencepiece *model, const char *path)
{
    const char *error = sentencepiece_open(model, path);
    test_case("%s", error ? error : path);
    return CHECK(error == NULL);
}

/* ---- hashes: 64-bit FNV-1a; numbers are 4 bytes, the lowest first ---- */

static const uint64_t hash_start = 0xcbf29ce484222325u;

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t hash_number(uint64_t hash, size_t n)
{
    for (int i = 0; i < 4; i++, n >>= 8) {
        char byte = (char)(n & 0xff);
        hash = hash_bytes(hash, &byte, 1);
    }
    return hash;
}

static uint64_t hash_string(uint64_t hash, const char *bytes, size_t size)
{
    return hash_bytes(hash_number(hash, size), bytes, size);
}

/* Of the text of ids. */
static uint64_t hash_decoded(uint64_t hash, const sentencepiece *model, const int32_t *ids, size_t count)
{
    char *text;
    size_t size;
    if (!CHECK(sentencepiece_decode(model, ids, count, &text, &size) == NULL))
        return hash;
    CHECK(text[size] == 0);
    hash = hash_string(hash, text, size);
    test_free(text);
    return hash;
}

/* Of ids, pieces and the text of the ids. */
static uint64_t hash_encoded(uint64_t hash, const sentencepiece *model, const char *line, size_t size)
{
    sentencepiece_tokens tokens;
    if (!CHECK(sentencepiece_encode(model, line, size, &tokens) == NULL))
        return hash;
    hash = hash_number(hash, tokens.count);
    for (size_t i = 0; i < tokens.count; i++)
        hash = hash_number(hash, (size_t)tokens.ids[i]);
    for (size_t i = 0; i < tokens.count; i++)
        hash = hash_string(hash, tokens.pieces[i].text, tokens.pieces[i].size);
    hash = hash_decoded(hash, model, tokens.ids, tokens.count);
    sentencepiece_tokens_free(&tokens);
    return hash;
}

/* ---- what is shown of what differs ---- */

static void show_bytes(const char *what, const char *bytes, size_t size)
{
    printf("    %s ", what);
    for (size_t i = 0; i < size && i < 300; i++) {
        unsigned char c = (unsigned char)bytes[i];
        printf(c >= ' ' && c < 0x7f && c != '\\' ? "%c" : "\\x%02x", c);
    }
    printf(size > 300 ? "... %lu bytes\n" : "\n", (unsigned long)size);
}

static void show_tokens(const sentencepiece *model, const char *line, size_t size)
{
    sentencepiece_tokens tokens;
    char *text;
    show_bytes("line   ", line, size);
    if (sentencepiece_encode(model, line, size, &tokens))
        return;
    printf("    ids    ");
    for (size_t i = 0; i < tokens.count && i < 60; i++)
        printf(" %d", (int)tokens.ids[i]);
    printf("\n");
    for (size_t i = 0; i < tokens.count && i < 12; i++)
        show_bytes("piece  ", tokens.pieces[i].text, tokens.pieces[i].size);
    if (!sentencepiece_decode(model, tokens.ids, tokens.count, &text, &size)) {
        show_bytes("decoded", text, size);
        test_free(text);
    }
    sentencepiece_tokens_free(&tokens);
}

/* ---- lines ---- */

enum {
    HUNDRED = 100,  /* so many lines have one hash: that of theirs */
    BPE_STEP = 1400 /* under BPE the first hundred of so many */
};

static uint64_t hash_hundred(uint64_t *hashes, const sentencepiece *model, size_t first, char *line)
{
    uint64_t hash = hash_start;
    for (size_t i = 0; i < HUNDRED; i++) {
        hashes[i] = hash_encoded(hash_start, model, line, generate_line(first + i, line));
        hash = hash_number(hash_number(hash, (size_t)(hashes[i] & 0xffffffff)), (size_t)(hashes[i] >> 32));
    }
    return hash;
}

static void show_hundred(const uint64_t *hashes, const char *path, size_t first)
{
    for (size_t i = 0; i < HUNDRED; i++)
        printf("    %lu %016llx\n", (unsigned long)(first + i), (unsigned long long)hashes[i]);
    printf("    golden/make_tokens.py --lines %s %lu prints what they have to be\n", path, (unsigned long)first);
}

static void check_lines(const char *name, const char *path, size_t step)
{
    FILE *f = fopen(own_path("examples/models/tests/golden/tokens_%s.txt", name), "r");
    char *line = test_block(LINE_BYTES), text[32];
    uint64_t hashes[HUNDRED];
    size_t wrong = 0;
    sentencepiece model;
    test_case("%s", name);
    if (!CHECK(f != NULL))
        return;
    if (opened(&model, path)) {
        for (size_t first = 0; first < LINE_COUNT; first += step) {
            if (!CHECK(fgets(text, sizeof text, f) != NULL))
                break;
            if (test_quick && (step == HUNDRED ? first % 2000 && first != 9800 : first % 4200 != 0))
                continue;
            test_case("%s, lines %lu to %lu", name, (unsigned long)first, (unsigned long)first + HUNDRED - 1);
            if (!CHECK(hash_hundred(hashes, &model, first, line) == strtoull(text, NULL, 16)) && ++wrong == 1)
                show_hundred(hashes, path, first);
        }
        CHECK(!fgets(text, sizeof text, f));
        if (wrong)
            printf("%s: %lu hundreds of lines differ\n", name, (unsigned long)wrong);
        sentencepiece_close(&model);
    }
    fclose(f);
}

TEST(tokens_unigram)
{
    check_lines("unigram", "examples/models/tests/golden/unigram.model", HUNDRED);
}

TEST(tokens_bytes)
{
    check_lines("unigram_bytes", "examples/models/tests/golden/unigram_bytes.model", HUNDRED);
}

TEST(tokens_suffix)
{
    check_lines("unigram_suffix", "examples/models/tests/golden/unigram_suffix.model", HUNDRED);
}

TEST(tokens_bpe)
{
    check_lines("bpe", "examples/models/tests/golden/bpe.model", BPE_STEP);
    check_lines("bpe_bytes", "examples/models/tests/golden/bpe_bytes.model", BPE_STEP);
    check_lines("bpe_turns", "examples/models/tests/golden/bpe_turns.model", BPE_STEP);
}

TEST(tokens_shared_models)
{
    int any = 0;
    for (size_t i = 0; i < COUNT(shared_models); i++)
        any |= exists(shared_path(shared_models[i], ".model"));
    if (!any) {
        printf("skip tokens of published models: none in %s\n", shared_path("", ""));
        CHECK(1);
        return;
    }
    for (size_t i = 0; i < COUNT(shared_models); i++)
        if (shared(shared_path(shared_models[i], ".model")))
            check_lines(shared_models[i], shared_path(shared_models[i], ".model"), HUNDRED);
}

/* Every flag in every combination: fields at the end of a message replace what came before. */
TEST(tokens_flags)
{
    char *line = test_block(LINE_BYTES);
    for (size_t n = 0; n < COUNT(golden_flags); n++) {
        const char *path = own_path("examples/models/tests/golden/%s.model", golden_flags[n].model);
        const unsigned char flags[] = {0x1a,
                                       6,
                                       3 << 3,
                                       golden_flags[n].add_dummy_prefix,
                                       4 << 3,
                                       golden_flags[n].remove_extra_whitespaces,
                                       5 << 3,
                                       golden_flags[n].escape_whitespaces,
                                       0x12,
                                       3,
                                       0xc0,
                                       1,
                                       golden_flags[n].space_at_end};
        uint64_t hash = hash_start;
        sentencepiece model;
        size_t size;
        char *bytes = contents(path, &size, sizeof flags);
        if (!bytes)
            return;
        memcpy(bytes + size, flags, sizeof flags);
        if (!CHECK(sentencepiece_parse(&model, bytes, size + sizeof flags, path) == NULL))
            continue;
        for (size_t i = 0; i < 9860; i += 20)
            hash = hash_encoded(hash, &model, line, generate_line(i, line));
        test_case("%s, add_dummy_prefix %d, remove_extra_whitespaces %d, escape_whitespaces %d, space_at_end %d", path,
                  golden_flags[n].add_dummy_prefix, golden_flags[n].remove_extra_whitespaces,
                  golden_flags[n].escape_whitespaces, golden_flags[n].space_at_end);
        CHECK(hash == golden_flags[n].hash);
        sentencepiece_close(&model);
    }
}

/* Any ids in any order, control and unused pieces and lone bytes too. */
TEST(tokens_ids)
{
    for (size_t n = 0; n < COUNT(golden_ids); n++) {
        const char *path = n < OWN_MODELS ? own_path("examples/models/tests/golden/%s.model", golden_ids[n].model)
                                          : shared_path(golden_ids[n].model, ".model");
        int32_t ids[LINE_IDS];
        uint64_t hash = hash_start;
        sentencepiece model;
        if ((n >= OWN_MODELS && !exists(path)) || !opened(&model, path))
            continue;
        CHECK(model.count == golden_ids[n].count);
        for (size_t i = 0; i < LINE_ID_COUNT; i++)
            hash = hash_decoded(hash, &model, ids, generate_ids(i, golden_ids[n].count, ids));
        test_case("%s", path);
        CHECK(hash == golden_ids[n].hash);
        sentencepiece_close(&model);
    }
}

/* ---- properties ---- */

/* The bytes of the UTF-8 sequence at the start, or 0 if it is not valid: by the table 3-7 of Unicode. */
static size_t valid_at(const char *bytes, size_t size)
{
    static const unsigned char rows[][6] = {
        /* first bytes, second bytes, size */
        {0x00, 0x7f, 0, 0xff, 1},    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const unsigned char *b = (const unsigned char *)bytes;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (b[0] >= rows[i][0] && b[0] <= rows[i][1]) {
            size_t n = rows[i][4];
            int valid = n <= size && (n < 2 || (b[1] >= rows[i][2] && b[1] <= rows[i][3]));
            for (size_t k = 2; valid && k < n; k++)
                valid = b[k] >= 0x80 && b[k] <= 0xbf;
            return valid ? n : 0;
        }
    return 0;
}

static int holds(const char *bytes, size_t size, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= size; i++)
        if (memcmp(bytes + i, text, strlen(text)) == 0)
            return 1;
    return 0;
}

/* Whether the text written piece by piece is the one that decoding gives; its UTF-8 must be right. */
static int same_piece_by_piece(const sentencepiece *model, const sentencepiece_tokens *tokens, const char *want,
                               size_t want_size)
{
    size_t at = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        char bytes[64];
        size_t size = sentencepiece_piece_bytes(model, tokens->ids[i], i == 0, bytes, sizeof bytes);
        if (size > sizeof bytes || size > want_size - at || memcmp(bytes, want + at, size) != 0)
            return 0;
        at += size;
    }
    return at == want_size;
}

/* A model that spells everything gives the text back, with U+FFFD for each byte that is no UTF-8. */
static void check_round_trip(const char *path, size_t step)
{
    char *line = test_block(LINE_BYTES), *want = test_block(3 * (size_t)LINE_BYTES), *text;
    sentencepiece model;
    if (!opened(&model, path))
        return;
    for (size_t i = 0; i < LINE_COUNT; i += test_quick ? 20 : step) {
        size_t size = generate_line(i, line), wanted = 0, decoded;
        sentencepiece_tokens tokens;
        if (holds(line, size, "\xe2\x96\x81")) /* stands for a space */
            continue;
        for (size_t at = 0; at < size;) {
            size_t n = valid_at(line + at, size - at);
            memcpy(want + wanted, n ? line + at : "\xef\xbf\xbd", n ? n : 3);
            wanted += n ? n : 3;
            at += n ? n : 1;
        }
        test_case("line %lu", (unsigned long)i);
        if (!CHECK(sentencepiece_encode(&model, line, size, &tokens) == NULL))
            continue;
        if (CHECK(sentencepiece_decode(&model, tokens.ids, tokens.count, &text, &decoded) == NULL)) {
            CHECK(decoded == wanted && memcmp(text, want, wanted) == 0);
            test_free(text);
        }
        CHECK(same_piece_by_piece(&model, &tokens, want, wanted));
        sentencepiece_tokens_free(&tokens);
    }
    sentencepiece_close(&model);
}

TEST(tokens_round_trip)
{
    check_round_trip("examples/models/tests/golden/unigram_bytes.model", 1);
    check_round_trip("examples/models/tests/golden/bpe_bytes.model", 10);
}

/* Without byte fallback the pieces one after another are the normalised text, and each but the unknown is the one that
   its id names. */
TEST(tokens_spell_the_text)
{
    static const char *const paths[] = {"examples/models/tests/golden/unigram.model",
                                        "examples/models/tests/golden/unigram_suffix.model",
                                        "examples/models/tests/golden/bpe.model"};
    char *line = test_block(LINE_BYTES);
    for (size_t n = 0; n < COUNT(paths); n++) {
        sentencepiece model;
        if (!opened(&model, paths[n]))
            return;
        for (size_t i = 0; i < LINE_COUNT; i += test_quick ? 20 : n < 2 ? 1 : 10) {
            sentencepiece_tokens tokens;
            size_t at = 0;
            test_case("%s, line %lu", paths[n], (unsigned long)i);
            if (!CHECK(sentencepiece_encode(&model, line, generate_line(i, line), &tokens) == NULL))
                continue;
            for (size_t k = 0; k < tokens.count; k++) {
                sentencepiece_string piece = tokens.pieces[k];
                int32_t id = tokens.ids[k];
                int known = id >= 0 && id < model.count && id != model.unk_id;
                CHECK(known || (id == model.unk_id && (k == 0 || tokens.ids[k - 1] != id)));
                CHECK(at + piece.size <= tokens.normalized_size &&
                      memcmp(tokens.normalized + at, piece.text, piece.size) == 0);
                if (known)
                    CHECK(model.pieces[id].text.size == piece.size &&
                          memcmp(model.pieces[id].text.text, piece.text, piece.size) == 0 &&
                          sentencepiece_id(&model, piece.text, piece.size) == id);
                at += piece.size;
            }
            CHECK(at == tokens.normalized_size);
            sentencepiece_tokens_free(&tokens);
        }
        sentencepiece_close(&model);
    }
}

/* ---- sentinels ---- */

/* By the rule: the text of each part between sentinels, and what there is of these joined by one space. */
static char *decoded_by_parts(const sentencepiece *model, const int32_t *ids, size_t count, size_t *size)
{
    char *out = test_block(100000);
    *size = 0;
    for (size_t i = 0, begin = 0; i <= count; i++) {
        char *text = NULL, name[32];
        size_t length = 0;
        if (i < count && ids[i] < model->count)
            continue;
        CHECK(sentencepiece_decode(model, count ? ids + begin : NULL, i - begin, &text, &length) == NULL);
        if (length && *size)
            out[(*size)++] = ' ';
        memcpy(out + *size, text, length);
        *size += length;
        test_free(text);
        begin = i + 1;
        if (i == count)
            break;
        snprintf(name, sizeof name, "%s<extra_id_%d>", *size ? " " : "", (int)(model->count + 99 - ids[i]));
        memcpy(out + *size, name, strlen(name));
        *size += strlen(name);
    }
    return out;
}

TEST(tokens_sentinels)
{
    sentencepiece model;
    char *text;
    size_t size;
    int32_t id;
    if (!opened(&model, "examples/models/tests/golden/unigram.model"))
        return;
    model.extra_ids = 100;
    for (size_t n = 0; n < COUNT(golden_sentinels); n++) {
        sentencepiece_tokens tokens;
        size_t wanted, count = golden_sentinels[n].count;
        test_case("\"%s\"", golden_sentinels[n].text);
        if (!CHECK(sentencepiece_encode(&model, golden_sentinels[n].text, golden_sentinels[n].size, &tokens) == NULL))
            continue;
        if (!CHECK(tokens.count == count && !(count && memcmp(tokens.ids, golden_sentinels[n].ids, count * sizeof id))))
            show_tokens(&model, golden_sentinels[n].text, golden_sentinels[n].size);
        for (size_t i = 0; i < tokens.count; i++)
            if (tokens.ids[i] >= model.count)
                CHECK(sentencepiece_id(&model, tokens.pieces[i].text, tokens.pieces[i].size) == tokens.ids[i]);
        if (CHECK(sentencepiece_decode(&model, tokens.ids, tokens.count, &text, &size) == NULL)) {
            char *want = decoded_by_parts(&model, tokens.ids, tokens.count, &wanted);
            CHECK(size == wanted && memcmp(text, want, size) == 0);
            test_free(text);
        }
        sentencepiece_tokens_free(&tokens);
    }
    test_case("names and ids");
    CHECK(sentencepiece_id(&model, "<extra_id_0>", 12) == model.count + 99);
    CHECK(sentencepiece_id(&model, "<extra_id_99>", 13) == model.count);
    CHECK(sentencepiece_id(&model, "<extra_id_100>", 14) == model.unk_id);
    CHECK(sentencepiece_id(&model, "<extra_id_05>", 13) == model.unk_id);
    CHECK(sentencepiece_id(&model, "<extra_id_0> ", 13) == model.unk_id);
    CHECK(sentencepiece_id(&model, "</s>", 4) == model.eos_id && model.eos_id == 1);
    CHECK(sentencepiece_id(&model, "<pad>", 5) == model.pad_id && model.pad_id == 0);
    CHECK(model.bos_id == -1 && model.unk_id == 2);
    id = model.count + 99;
    CHECK(sentencepiece_decode(&model, &id, 1, &text, &size) == NULL && size == 12);
    test_free(text);
    id = model.count + 100;
    CHECK(sentencepiece_decode(&model, &id, 1, &text, &size) != NULL);
    id = -1;
    CHECK(sentencepiece_decode(&model, &id, 1, &text, &size) != NULL);
    model.extra_ids = 0;
    id = model.count;
    CHECK(sentencepiece_decode(&model, &id, 1, &text, &size) != NULL);
    CHECK(sentencepiece_id(&model, "<extra_id_0>", 12) == model.unk_id);
    sentencepiece_close(&model);
}

/* ---- results that others published ---- */

static char *string_of(json value, size_t *size)
{
    char *text;
    *size = json_string(value, NULL, 0);
    text = test_block(*size + 1);
    CHECK(json_string(value, text, *size + 1) == *size);
    return text;
}

static json parsed(const char *path)
{
    json value = {JSON_NONE, NULL, NULL};
    size_t size;
    char *bytes = contents(path, &size, 0);
    if (bytes)
        CHECK(json_parse(&value, bytes, size, NULL) == NULL);
    return value;
}

/* Ids of texts by t5-small's pieces, then </s>; and the texts as normalised. */
TEST(tokens_t5_goldens)
{
    sentencepiece model;
    size_t cases = 0;
    json golden;
    if (!shared(shared_path("t5_tokenizer_goldens", ".json")) || !shared(shared_path("t5-small.spiece", ".model")) ||
        !opened(&model, shared_path("t5-small.spiece", ".model")))
        return;
    golden = json_first(parsed(shared_path("t5_tokenizer_goldens", ".json")));
    for (; golden.type; golden = json_next(golden), cases++) {
        sentencepiece_tokens tokens;
        size_t size, length, i = 0;
        char *text = string_of(json_get(golden, "text"), &size), *norm = string_of(json_get(golden, "norm"), &length);
        test_case("case %lu", (unsigned long)cases);
        if (!CHECK(sentencepiece_encode(&model, text, size, &tokens) == NULL))
            continue;
        for (json id = json_first(json_get(golden, "ids")); id.type; id = json_next(id), i++) {
            uint64_t want = 0;
            CHECK(json_uint(id, &want) && i <= tokens.count);
            if (i <= tokens.count && !CHECK(want == (uint64_t)(i < tokens.count ? tokens.ids[i] : model.eos_id)))
                show_tokens(&model, text, size);
        }
        CHECK(i == tokens.count + 1);
        if (!CHECK(length == tokens.normalized_size && !(length && memcmp(norm, tokens.normalized, length))))
            show_bytes("normalized", tokens.normalized, tokens.normalized_size);
        sentencepiece_tokens_free(&tokens);
    }
    CHECK(cases >= 20);
    sentencepiece_close(&model);
}

/* Pieces in, and pieces out and their text, as the published model read and wrote them. */
static void check_trail(const sentencepiece *model, json trail)
{
    sentencepiece_tokens tokens;
    size_t size, length, decoded, count = 0, i = 0;
    char *input = string_of(json_get(trail, "input"), &size), *want = string_of(json_get(trail, "text"), &length),
         *text;
    int32_t ids[256];
    test_case("%.80s", input);
    if (!CHECK(sentencepiece_encode(model, input, size, &tokens) == NULL))
        return;
    for (json name = json_first(json_get(trail, "src")); name.type; name = json_next(name), i++) {
        char *piece = string_of(name, &decoded);
        if (i >= tokens.count) /* </s> is what comes after the text */
            CHECK(sentencepiece_id(model, piece, decoded) == model->eos_id);
        else if (!CHECK(sentencepiece_id(model, piece, decoded) == tokens.ids[i] && decoded == tokens.pieces[i].size &&
                        memcmp(piece, tokens.pieces[i].text, decoded) == 0))
            show_tokens(model, input, size);
    }
    CHECK(i == tokens.count + 1);
    for (json name = json_first(json_get(trail, "out")); name.type && count < 256; name = json_next(name)) {
        char *piece = string_of(name, &decoded);
        ids[count] = sentencepiece_id(model, piece, decoded);
        CHECK(ids[count++] != model->unk_id);
    }
    if (CHECK(count > 0 && sentencepiece_decode(model, ids, count, &text, &decoded) == NULL)) {
        if (!CHECK(decoded == length && memcmp(text, want, length) == 0))
            show_bytes("decoded", text, decoded);
        test_free(text);
    }
    sentencepiece_tokens_free(&tokens);
}

TEST(tokens_trails)
{
    sentencepiece model;
    json trails;
    size_t count = 0;
    if (!shared(shared_path("t5-small.token-trails-goldens", ".json")) ||
        !shared(shared_path("t5-small.spiece", ".model")) || !opened(&model, shared_path("t5-small.spiece", ".model")))
        return;
    model.extra_ids = 100;
    trails = parsed(shared_path("t5-small.token-trails-goldens", ".json"));
    for (json task = json_first(json_get(trails, "tasks")); task.type; task = json_next(task), count++)
        check_trail(&model, task);
    CHECK(count >= 5);
    CHECK(json_get(trails, "spans").type == JSON_OBJECT);
    check_trail(&model, json_get(trails, "spans"));
    sentencepiece_close(&model);
}
