/* WordPiece against transformers and tokenizers, see golden/make_wordpiece.py; and tokenizers that are broken, odd, or
   so small that their tokens can be told by hand. */
#include "test.h"

#include "examples/models/unicode.h"
#include "examples/models/wordpiece.h"

#include <time.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define GOLDEN "examples/models/tests/golden/wordpiece/"

/* ---- models and tokens ---- */

/* A tokenizer of these files, none of them if NULL. Whether it could be read; a check fails if not. */
static int parsed(wordpiece *model, const char *vocab, const char *tokenizer, const char *config)
{
    wordpiece_files files = {vocab,
                             tokenizer,
                             config,
                             vocab ? strlen(vocab) : 0,
                             tokenizer ? strlen(tokenizer) : 0,
                             config ? strlen(config) : 0,
                             NULL,
                             NULL,
                             NULL,
                             0,
                             0,
                             0};
    const char *error = wordpiece_parse(model, &files, "some");
    test_case("%s", error ? error : "");
    return CHECK(error == NULL);
}

/* Whether the tokens of a text are these ids, which -1 ends. */
static int gives(const wordpiece *model, const char *text, size_t size, const int32_t *ids)
{
    wordpiece_tokens tokens;
    size_t count = 0;
    int right = wordpiece_encode(model, text, size, &tokens) == NULL;
    while (ids[count] >= 0)
        count++;
    right = right && tokens.count == count && (!count || !memcmp(tokens.ids, ids, count * sizeof *ids));
    wordpiece_tokens_free(&tokens);
    return right && !tokens.ids && !tokens.count;
}

/* GIVES(model, "text", ids...): checks it. */
#define GIVES(model, text, ...)                                                                                        \
    do {                                                                                                               \
        const int32_t gives_ids[] = {__VA_ARGS__, -1};                                                                 \
        CHECK(gives(model, text, sizeof(text) - 1, gives_ids));                                                        \
    } while (0)

/* ---- what transformers gives ---- */

static char *contents(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    long end = -1;
    char *bytes = NULL;
    if (f && !fseek(f, 0, SEEK_END) && (end = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET)) {
        *size = (size_t)end;
        bytes = test_block(*size + 1);
        bytes[*size] = 0;
        if (fread(bytes, 1, *size, f) != *size)
            bytes = NULL;
    }
    if (f)
        fclose(f);
    test_case("%s", path);
    CHECK(bytes != NULL);
    return bytes;
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Puts bytes in the place of \xNN. Returns how many are left of those up to the LF. */
static size_t unescape(char *line)
{
    size_t used = 0;
    for (const char *at = line; *at != '\n'; at++)
        if (at[0] == '\\') {
            line[used++] = (char)(digit(at[2]) << 4 | digit(at[3]));
            at += 3;
        } else {
            line[used++] = *at;
        }
    return used;
}

static void compare_lines(const wordpiece *model, const char *name)
{
    static int32_t want[1024];
    char path[128], *line, *numbers;
    size_t size, count, number = 0;
    snprintf(path, sizeof path, GOLDEN "%s.ids", name);
    numbers = contents(path, &size);
    line = contents(GOLDEN "lines.txt", &size);
    while (line && numbers && *line) {
        char *next = strchr(line, '\n') + 1;
        for (count = 0; *numbers != '\n'; count++)
            want[count] = (int32_t)strtol(numbers, &numbers, 10);
        numbers++;
        want[count] = -1;
        test_case("%s, line %lu", name, (unsigned long)++number);
        CHECK(count < COUNT(want) && gives(model, line, unescape(line), want));
        line = next;
    }
    CHECK(number > 300 && !*numbers);
}

TEST(wordpiece_lines)
{
    static const struct {
        const char *name;
        int32_t count, unk, cls, sep, pad, mask;
    } models[] = {{"uncased", 640, 636, 637, 638, 0, 639},
                  {"cased", 720, 716, 717, 718, 0, 719},
                  {"odd", 606, 598, 0, 599, -1, -1}};
    for (size_t i = 0; i < COUNT(models); i++) {
        wordpiece model;
        char path[128];
        const char *error;
        snprintf(path, sizeof path, GOLDEN "%s", models[i].name);
        error = wordpiece_open(&model, path);
        test_case("%s", error ? error : path);
        if (!CHECK(error == NULL))
            continue;
        CHECK(model.count == models[i].count && model.unk_id == models[i].unk && model.cls_id == models[i].cls);
        CHECK(model.sep_id == models[i].sep && model.pad_id == models[i].pad && model.mask_id == models[i].mask);
        compare_lines(&model, models[i].name);
        wordpiece_close(&model);
        CHECK(!model.words && !model.pieces.nodes && !model.text && !model.count);
    }
}

/* ---- tokens that can be told by hand ---- */

enum { UNK, CLS, SEP, A, B, C, AB, ABC, THEN_A, THEN_B, THEN_BC, DOT, EACUTE, HAN, SMALL };
static const char small[] = "[UNK]\n[CLS]\n[SEP]\na\nb\nc\nab\nabc\n##a\n##b\n##bc\n.\n\xc3\xa9\n\xe6\xbc\xa2\n";

TEST(wordpiece_longest)
{
    wordpiece model;
    if (!parsed(&model, small, NULL, NULL))
        return;
    CHECK(model.count == SMALL && model.unk_id == UNK && model.cls_id == CLS && model.sep_id == SEP);
    CHECK(model.pad_id == -1 && model.mask_id == -1 && model.longest_word == 100);
    CHECK(model.clean_text && model.chinese_characters && model.lower_case && model.strip_accents);
    GIVES(&model, "a", A);
    GIVES(&model, "abc", ABC);
    GIVES(&model, "ABC ab", ABC, AB);
    GIVES(&model, "aba", AB, THEN_A);
    GIVES(&model, "abbc", AB, THEN_BC);
    GIVES(&model, "abb", AB, THEN_B);
    GIVES(&model, "abbcx", UNK); /* one token for the whole word, which was cut up to its end */
    GIVES(&model, "x", UNK);
    GIVES(&model, "ac", UNK); /* there is c, but not ##c */
    GIVES(&model, "##a", UNK, UNK, A);
    GIVES(&model, "a.b", A, DOT, B);
    GIVES(&model, "..", DOT, DOT);
    GIVES(&model,
          "a\xe6\xbc\xa2"
          "b",
          A, HAN, B);
    GIVES(&model, "\xc3\xa9", UNK); /* e, that is, since accents go */
    GIVES(&model,
          "a\xcc\x81"
          "b",
          AB);
    GIVES(&model, "", -1);
    CHECK(gives(&model, NULL, 0, (const int32_t[]){-1}));
    GIVES(&model, " \t\n\r\xc2\xa0\xe3\x80\x80", -1);
    GIVES(&model,
          "a\0b\x7f"
          "c",
          ABC);
    GIVES(&model, "a[SEP]b[CLS]", A, SEP, B, CLS);
    GIVES(&model, "[sep]", UNK, UNK, UNK);
    GIVES(&model, "[SEP", UNK, UNK);
    GIVES(&model, "[UNK]a", UNK, A);
    wordpiece_close(&model);
}

TEST(wordpiece_by_id)
{
    wordpiece model;
    if (!parsed(&model, small, NULL, NULL))
        return;
    for (int32_t id = 0; id < SMALL; id++) {
        wordpiece_word token = wordpiece_token(&model, id);
        test_case("id %d", (int)id);
        CHECK(token.id == id && token.text && wordpiece_id(&model, token.text, token.size) == id);
    }
    CHECK(wordpiece_id(&model, "##bc", 4) == THEN_BC && wordpiece_id(&model, "##b", 3) == THEN_B);
    CHECK(wordpiece_id(&model, "##bcd", 5) == -1 && wordpiece_id(&model, "", 0) == -1);
    CHECK(!wordpiece_token(&model, -1).text && !wordpiece_token(&model, SMALL).text);
    wordpiece_close(&model);
}

/* Words are counted in characters, as text has them after it has been cleaned. */
TEST(wordpiece_long_words)
{
    static char text[512];
    int32_t ids[128];
    wordpiece model;
    if (!parsed(&model, "[UNK]\n\xd1\x8f\n##\xd1\x8f\n", NULL, NULL))
        return;
    for (int count = 98; count <= 102; count++) {
        for (int i = 0; i < count; i++) {
            memcpy(text + 4 * i, i % 2 ? "\xd1\x8f\xcc\x81" : "\xd0\xaf\xcc\x81", 4); /* with an accent, which goes */
            ids[i] = i ? 2 : 1;
        }
        ids[count] = -1;
        test_case("%d characters", count);
        CHECK(gives(&model, text, 4 * (size_t)count, count <= 100 ? ids : (const int32_t[]){0, -1}));
    }
    wordpiece_close(&model);
}

/* A byte that is not UTF-8 is U+FFFD: cleaning drops it, or it is part of a word. */
TEST(wordpiece_not_utf8)
{
    wordpiece model;
    if (parsed(&model, small, NULL, NULL)) {
        GIVES(&model,
              "a\xff"
              "b",
              AB);
        GIVES(&model, "\xed\xa0\xbd\xed\xb8\x80", -1);
        GIVES(&model, "a\xf0\x9f\x98", A);
        wordpiece_close(&model);
    }
    if (parsed(&model, "[UNK]\na\n##\xef\xbf\xbd\n",
               "{\"model\":{\"type\":\"WordPiece\"},\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":false},"
               "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}}",
               NULL)) {
        GIVES(&model, "a\xff\xfe", 1, 2, 2);
        wordpiece_close(&model);
    }
}

/* Lines end in LF or CR LF, the last one in nothing if it likes; empty lines count; of two alike the later one is it.
   */
TEST(wordpiece_vocab_lines)
{
    static const char *const vocabs[] = {"[UNK]\n\na\nb\na", "[UNK]\r\n\r\na\r\nb\r\na\r\n", "[UNK]\n\na\nb\na\n"};
    for (size_t i = 0; i < COUNT(vocabs); i++) {
        wordpiece model;
        if (!parsed(&model, vocabs[i], NULL, NULL))
            continue;
        CHECK(model.count == 5);
        GIVES(&model, "a b", 4, 3);
        wordpiece_close(&model);
    }
}

TEST(wordpiece_empty_line)
{
    wordpiece model;
    if (parsed(&model, "\n[UNK]\na\n", NULL, NULL)) {
        GIVES(&model, "a", 2);
        wordpiece_close(&model);
    }
}

/* Chinese characters, as BERT has them, are words of their own. */
TEST(wordpiece_chinese)
{
    static const uint32_t ranges[][2] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},  {0x20000, 0x2a6df},
                                         {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
    wordpiece model;
    if (!parsed(&model, small, NULL, NULL))
        return;
    for (size_t i = 0; i < 4 * COUNT(ranges); i++) {
        uint32_t code = ranges[i / 4][i / 2 % 2] + (i % 4 == 0 ? 0xffffffff : i % 4 == 3);
        char text[8] = "a";
        size_t size = 1 + unicode_write(text + 1, code);
        text[size++] = 'b';
        test_case("U+%04lX", (unsigned long)code);
        if (code != 0xf8ff) /* of private use: goes */
            CHECK(gives(&model, text, size, i % 4 % 3 ? (const int32_t[]){A, UNK, B, -1} : (const int32_t[]){UNK, -1}));
    }
    wordpiece_close(&model);
}

/* ---- options ---- */

#define BERT "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}"
#define NORMALIZER(options) "\"normalizer\":{\"type\":\"BertNormalizer\"" options "}"
#define AROUND ",\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",2],\"cls\":[\"[CLS]\",1]}"
#define MODEL(options) "\"model\":{\"type\":\"WordPiece\"" options "}"

/* tokenizer_config.json has the last word, as BERT's classes of transformers 4.57 and 5.24 have it, unless there is none
   or the class is a general one; accents go with upper case if nothing says. */
TEST(wordpiece_options)
{
    static const struct {
        const char *tokenizer, *config;
        int lower, strip, chinese, clean;
    } cases[] = {
        {NULL, NULL, 1, 1, 1, 1},
        {NULL, "{}", 1, 1, 1, 1},
        {NULL, "{\"do_lower_case\":false}", 0, 0, 1, 1},
        {NULL, "{\"do_lower_case\":true,\"strip_accents\":false}", 1, 0, 1, 1},
        {NULL, "{\"do_lower_case\":false,\"strip_accents\":true,\"tokenize_chinese_chars\":false}", 0, 1, 0, 1},
        {NULL, "{\"do_lower_case\":null,\"strip_accents\":null}", 1, 1, 1, 1},
        {"{" MODEL("") "," NORMALIZER(",\"lowercase\":false") "," BERT "}", NULL, 0, 0, 1, 1},
        {"{" MODEL("") "," NORMALIZER(",\"strip_accents\":false,\"clean_text\":false") "," BERT "}", NULL, 1, 0, 1, 0},
        {"{" MODEL("") "," NORMALIZER(",\"handle_chinese_chars\":false") "," BERT "}", "{}", 1, 1, 1, 1},
        {"{" MODEL("") "," NORMALIZER(",\"lowercase\":false") "," BERT "}", "{\"tokenizer_class\":\"BertTokenizer\"}",
         1, 1, 1, 1},
        {"{" MODEL("") "," NORMALIZER(",\"lowercase\":false") "," BERT AROUND "}",
         "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}", 0, 0, 1, 1},
        {"{" MODEL("") "," NORMALIZER(",\"lowercase\":false,\"strip_accents\":true") "," BERT AROUND "}",
         "{\"tokenizer_class\":\"TokenizersBackend\",\"do_lower_case\":true}", 0, 1, 1, 1},
        {NULL, "{\"tokenizer_class\":\"PreTrainedTokenizerFast\",\"do_lower_case\":false}", 0, 0, 1, 1},
        {"{" MODEL("") "," NORMALIZER(",\"lowercase\":false,\"strip_accents\":true") "," BERT "}",
         "{\"do_lower_case\":true,\"strip_accents\":false}", 1, 0, 1, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        wordpiece model;
        if (!parsed(&model, small, cases[i].tokenizer, cases[i].config))
            continue;
        test_case("%d", (int)i);
        CHECK(model.lower_case == cases[i].lower && model.strip_accents == cases[i].strip);
        CHECK(model.chinese_characters == cases[i].chinese && model.clean_text == cases[i].clean);
        GIVES(&model, "a B", A, cases[i].lower ? B : UNK);
        GIVES(&model, "a\xe6\xbc\xa2", cases[i].chinese ? A : UNK, cases[i].chinese ? HAN : -1);
        GIVES(&model, "\xc3\xa9", cases[i].strip ? UNK : EACUTE);
        GIVES(&model, "a\x01", cases[i].clean ? A : UNK);
        wordpiece_close(&model);
    }
}

TEST(wordpiece_model_options)
{
    wordpiece model;
    if (parsed(&model, NULL,
               "{" MODEL(",\"unk_token\":\"?\",\"continuing_subword_prefix\":\"\",\"max_input_chars_per_word\":3,"
                         "\"vocab\":{\"b\":7,\"a\":2,\"?\":40}") "," NORMALIZER("") "," BERT "}",
               NULL)) {
        CHECK(model.count == 41 && model.unk_id == 40 && model.cls_id == -1);
        GIVES(&model, "aba", 2, 7, 2);
        GIVES(&model, "abab", 40);
        CHECK(wordpiece_token(&model, 7).size == 1 && !wordpiece_token(&model, 8).text);
        wordpiece_close(&model);
    }
    if (parsed(&model,
               "[UNK]\na\n\xc2\xb7\n\xc2\xb7"
               "a\n", /* the prefix begins as other words do */
               "{" MODEL(",\"continuing_subword_prefix\":\"\\u00b7\"") "," NORMALIZER("") "," BERT "}", NULL)) {
        GIVES(&model, "aa", 1, 3);
        wordpiece_close(&model);
    }
    if (parsed(&model, "[UNK]\na\n#\n", NULL, NULL)) { /* nothing continues a word */
        GIVES(&model, "a aa a#", 1, 0, 1, 2);
        wordpiece_close(&model);
    }
    if (parsed(&model, "a\n##a\n[UNK]", "{" MODEL(",\"max_input_chars_per_word\":0") "," NORMALIZER("") "," BERT "}",
               NULL)) {
        GIVES(&model, "a", 2);
        wordpiece_close(&model);
    }
}

/* The vocabulary of tokenizer.json goes before vocab.txt, which may have more words, or other text. */
TEST(wordpiece_both_files)
{
    static const char tokenizer[] =
        "{" MODEL(",\"vocab\":{\"[UNK]\":0,\"b\":1,\"a\":2}") "," NORMALIZER("") "," BERT "}";
    static const char *const others[] = {"a\nb\n[UNK]\n", "", "\xff", small};
    for (size_t i = 0; i < COUNT(others); i++) {
        wordpiece model;
        if (!parsed(&model, others[i], tokenizer, NULL))
            continue;
        test_case("%d", (int)i);
        CHECK(model.count == 3);
        GIVES(&model, "a b [UNK]ab", 2, 1, 0, 0);
        wordpiece_close(&model);
    }
}

/* ---- special and added tokens ---- */

TEST(wordpiece_special_names)
{
    static const char vocab[] = "<unk>\n<s>\n</s>\n<pad>\n<mask>\n[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\n";
    static const struct {
        const char *tokenizer, *config;
        int32_t unk, cls, sep, pad, mask;
    } cases[] = {
        {NULL, NULL, 5, 6, 7, 8, 9},
        {NULL,
         "{\"unk_token\":\"<unk>\",\"cls_token\":\"<s>\",\"sep_token\":{\"content\":\"</s>\"},"
         "\"pad_token\":{\"content\":\"<pad>\"},\"mask_token\":\"<mask>\"}",
         0, 1, 2, 3, 4},
        {NULL, "{\"cls_token\":\"<none>\",\"sep_token\":null,\"mask_token\":5}", 5, -1, 7, 8, 9},
        {"{" MODEL(",\"unk_token\":\"<unk>\"") "," NORMALIZER(
             "") "," BERT ",\"post_processor\":"
                 "{\"type\":\"BertProcessing\",\"cls\":[\"<s>\",1],\"sep\":[\"</s>\",2]}}",
         "{\"cls_token\":\"[CLS]\"}", 0, 1, 2, 8, 9},
        {"{" MODEL("") "," NORMALIZER(
             "") "," BERT ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
                 "{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},"
                 "{\"SpecialToken\":{\"id\":\"</s>\",\"type_id\":0}}]}}",
         NULL, 5, 1, 2, 8, 9},
        {"{" MODEL("") "," NORMALIZER("") "," BERT ",\"post_processor\":null}", NULL, 5, 6, 7, 8, 9},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        wordpiece model;
        if (!parsed(&model, vocab, cases[i].tokenizer, cases[i].config))
            continue;
        test_case("%d", (int)i);
        CHECK(model.unk_id == cases[i].unk && model.cls_id == cases[i].cls && model.sep_id == cases[i].sep);
        CHECK(model.pad_id == cases[i].pad && model.mask_id == cases[i].mask);
        wordpiece_close(&model);
    }
}

static const char added_json[] = "{" MODEL("") "," NORMALIZER(
    "") "," BERT ",\"added_tokens\":["
        "{\"id\":20,\"content\":\"<a>\"},{\"id\":21,\"content\":\"<a><b>\",\"lstrip\":true,\"rstrip\":true},"
        "{\"id\":22,\"content\":\"A\\u0301c\",\"normalized\":true},{\"id\":23,\"content\":\"AC\",\"normalized\":true},"
        "{\"id\":24,\"content\":\"abc\",\"normalized\":true},{\"id\":9,\"content\":\"b\",\"normalized\":true,"
        "\"lstrip\":true},"
        "{\"id\":19,\"content\":\"<a>\"}]}";

TEST(wordpiece_added_tokens)
{
    static const char config[] =
        "{\"added_tokens_decoder\":{\"30\":{\"content\":\"<c>\"},\"31\":{\"content\":\"<a>\"}}}";
    wordpiece model;
    if (!parsed(&model, small, added_json, config))
        return;
    CHECK(model.count == 31 && wordpiece_id(&model, "<a>", 3) == 20 && wordpiece_token(&model, 30).size == 3);
    GIVES(&model, "<a>", 20); /* the first of two in a file, and tokenizer.json before the config */
    GIVES(&model, "<c>a<c>", 30, A, 30);
    GIVES(&model, "<a><b>", 21); /* the longest */
    GIVES(&model, "a \t<a><b>\xe3\x80\x80 a", A, 21, A);
    GIVES(&model, "<a> <a><b> <a>", 20, 21, 20);
    GIVES(&model, "acc", 22, C); /* as it is when cleaned, the first of two, and within words */
    GIVES(&model,
          "A\xcc\x81"
          "C",
          22);
    GIVES(&model, "xABC", UNK, ABC); /* in the vocabulary: with the id from there */
    GIVES(&model, "a  b", A, B);
    GIVES(&model, "ba  bb", B, A, B, B);
    wordpiece_close(&model);
}

/* The flags of tokenizer_config.json go before those of tokenizer.json. */
TEST(wordpiece_added_flags)
{
    static const char config[] =
        "{\"added_tokens_decoder\":{\"20\":{\"content\":\"<a>\"},\"21\":{\"content\":\"<a><b>\"},"
        "\"24\":{\"content\":\"ab\",\"normalized\":true}}}";
    wordpiece model;
    if (!parsed(&model, small, added_json, config))
        return;
    GIVES(&model, "a <a><b>", A, 21);
    GIVES(&model, "[SEP]cab", SEP, C, AB); /* a word of the vocabulary that only it has */
    CHECK(!(model.added.tokens[1].flags & (ADDED_LSTRIP | ADDED_RSTRIP)) && model.added.tokens[1].id == 21);
    wordpiece_close(&model);
}

#define ADDED(tokens) "{" MODEL("") "," NORMALIZER("") "," BERT ",\"added_tokens\":[" tokens "]}"
#define POST(processor) "{" MODEL("") "," NORMALIZER("") "," BERT ",\"post_processor\":" processor "}"
#define TOKEN(id, content, flag) "{\"id\":" #id ",\"content\":\"" content "\",\"" flag "\":true,\"normalized\":true}"

/* Tokens of white space, single words, and tokens that look the same once they are cleaned. */
TEST(wordpiece_added_as_the_library_has_them)
{
    wordpiece model;
    if (parsed(&model, small, ADDED(TOKEN(20, "  ", "lstrip") "," TOKEN(21, "\\t", "x")), NULL)) {
        GIVES(&model, "a  b", A, 20, B);
        GIVES(&model, "a \t\xe3\x80\x80\nb", A, 20, 20, B); /* cleaned, all four are spaces */
        GIVES(&model, "a b ", A, 21, B, 21);
        GIVES(&model, "   a", 20, 21, A);
        wordpiece_close(&model);
    }
    if (parsed(&model, small, ADDED(TOKEN(20, " ", "rstrip") "," TOKEN(21, "b", "lstrip")), NULL)) {
        GIVES(&model, "a   a", A, 20, 20, 20, A); /* each takes all that follow, and all are found */
        GIVES(&model, " a  b b", 20, A, 20, 20, B, 20, B);
        GIVES(&model, "ab", A, B); /* a word of the vocabulary has the id from there */
        wordpiece_close(&model);
    }
    if (parsed(&model, small, ADDED(TOKEN(20, "B", "single_word")), NULL)) {
        GIVES(&model, "b a b,b", 20, A, 20, UNK, 20);
        GIVES(&model, "b_ab", B, UNK, AB);
        wordpiece_close(&model);
    }
    if (parsed(&model, small,
               ADDED(TOKEN(20, "Ca", "x") "," TOKEN(21, "CA", "x") "," TOKEN(22, "BA", "x") "," TOKEN(23, "bA",
                                                                                                      "special")),
               NULL)) {
        GIVES(&model, "ca", 20);
        GIVES(&model, "ba", 23); /* the special one */
        wordpiece_close(&model);
    }
}

/* What nobody looks at is noted, and what is said twice. */
static void notes(const char *tokenizer, const char *config, const char *want)
{
    wordpiece model;
    test_case("%s %s", tokenizer ? tokenizer : "", config ? config : "");
    if (!parsed(&model, small, tokenizer, config))
        return;
    CHECK(strcmp(model.notes, want) == 0 && !model.error[0]);
    wordpiece_close(&model);
}

TEST(wordpiece_notes)
{
    notes(NULL, "{\"tokenizer_class\":null}", "");
    notes(NULL, "{\"tokenizer_class\":\"DistilBertTokenizerFast\"}", "");
    notes(NULL, "{\"do_lower_case\":true,\"backend\":\"tokenizers\",\"is_local\":true}", "");
    notes(NULL, "{\"fold\":1,\"\\u0007\":2}",
          "some/tokenizer_config.json: unknown members are not looked at: fold, \\x07\n");
    notes("{" MODEL(",\"extra\":1") "," NORMALIZER(",\"more\":1") "," BERT ",\"truncation\":null,\"other\":1}", NULL,
          "some/tokenizer.json: unknown members are not looked at: other\n"
          "some/tokenizer.json: model: unknown members are not looked at: extra\n"
          "some/tokenizer.json: normalizer: unknown members are not looked at: more\n");
    notes(ADDED(TOKEN(20, "x", "odd") "," TOKEN(21, "y", "odd")), NULL,
          "some/tokenizer.json: added tokens: unknown members are not looked at: odd\n");
    notes("{" MODEL("") "," NORMALIZER("") "," BERT "}", "{}",
          "some/tokenizer.json: post_processor is missing: tokens stand around a text all the same, as in transformers "
          "5; not so in 4\n");
    notes("{" MODEL("") "," NORMALIZER(",\"lowercase\":false") "," BERT AROUND "}", "{}",
          "some/tokenizer.json: the normalizer is not as tokenizer_config.json has it, and does not count\n");
    notes("{" MODEL("") "," NORMALIZER(",\"lowercase\":false") "," BERT AROUND "}",
          "{\"tokenizer_class\":\"TokenizersBackend\",\"do_lower_case\":true}",
          "some/tokenizer.json: the normalizer is not as tokenizer_config.json has it, and counts here\n");
    notes("{" MODEL(",\"max_input_chars_per_word\":9") "," NORMALIZER("") "," BERT AROUND "}",
          "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}", "");
    notes("{" MODEL(",\"max_input_chars_per_word\":9") "," NORMALIZER("") "," BERT AROUND "}",
          "{\"tokenizer_class\":\"BertTokenizer\"}",
          "some/tokenizer.json: clean_text, max_input_chars_per_word and continuing_subword_prefix count here; in "
          "transformers 5 they are true, 100 and \"##\" for a tokenizer_class of BERT's\n");
    notes("{" MODEL("") "," NORMALIZER("") "," BERT AROUND "}", "{\"cls_token\":\"[SEP]\"}",
          "some/tokenizer.json: cls_token counts here as this file has it; transformers 5 has another one\n");
    notes(
        "{" MODEL("") "," NORMALIZER(",\"lowercase\":false") "," BERT "}", NULL,
        "some/tokenizer.json: the normalizer is not as tokenizer_config.json has it where it says nothing, and counts "
        "here\n");
}

/* What config.json, special_tokens_map.json and added_tokens.json say. */
static int parsed_beside(wordpiece *model, const char *config, const char *of_model, const char *map, const char *added)
{
    wordpiece_files files;
    const char *error;
    memset(&files, 0, sizeof files);
    files.vocab = small;
    files.vocab_size = sizeof small - 1;
    files.config = config;
    files.model = of_model;
    files.map = map;
    files.added = added;
    files.config_size = config ? strlen(config) : 0;
    files.model_size = of_model ? strlen(of_model) : 0;
    files.map_size = map ? strlen(map) : 0;
    files.added_size = added ? strlen(added) : 0;
    error = wordpiece_parse(model, &files, "some");
    test_case("%s", error ? error : "");
    return error == NULL;
}

TEST(wordpiece_other_files)
{
    static const char *const japanese = "{\"tokenizer_class\":\"BertJapaneseTokenizer\"}";
    static const char *const map = "{\"cls_token\":\"ab\",\"sep_token\":{\"content\":\"c\",\"lstrip\":true}}";
    wordpiece model;
    CHECK(!parsed_beside(&model, NULL, japanese, NULL, NULL) &&
          strcmp(model.error, "some/config.json: tokenizer_class: \"BertJapaneseTokenizer\" is not known here") == 0);
    if (CHECK(parsed_beside(&model, "{\"tokenizer_class\":\"BertTokenizer\"}", japanese, NULL, NULL)))
        wordpiece_close(&model); /* tokenizer_config.json goes before it */
    if (CHECK(parsed_beside(&model, "{\"cls_token\":\"a\"}", NULL, map, NULL))) {
        CHECK(model.cls_id == AB && model.sep_id == C && model.unk_id == UNK);
        GIVES(&model, "b cb", B, C, B); /* special tokens are found within words */
        GIVES(&model, "abab[CLS]", AB, AB, UNK, UNK, UNK);
        wordpiece_close(&model);
    }
    if (CHECK(parsed_beside(&model, "{\"cls_token\":\"a\",\"added_tokens_decoder\":{}}", NULL, map, "{\"<x>\":14}"))) {
        CHECK(model.cls_id == A && model.sep_id == SEP && model.count == SMALL);
        wordpiece_close(&model);
    }
    if (CHECK(parsed_beside(&model, NULL, NULL, NULL, "{\"<X>\":14,\"bb\":15}"))) {
        CHECK(model.count == 16);
        GIVES(&model, "a<x>abbB", A, 14, A, 15, B);
        wordpiece_close(&model);
    }
    CHECK(!parsed_beside(&model, NULL, NULL, NULL, "{\"x\":\"y\"}") &&
          strncmp(model.error, "some/added_tokens.json: a token that is not", 43) == 0);
    CHECK(!parsed_beside(&model, NULL, NULL, "[]", NULL) &&
          strcmp(model.error, "some/special_tokens_map.json: not an object") == 0);
}

/* Tokens that tokenizer_config.json names are special: they are found within words. */
TEST(wordpiece_named_tokens)
{
    static const char *const configs[] = {"{\"bos_token\":\"b\"}", "{\"eos_token\":{\"content\":\"b\"}}",
                                          "{\"additional_special_tokens\":[\"x\",\"b\"]}",
                                          "{\"extra_special_tokens\":{\"some\":\"b\"}}"};
    for (size_t i = 0; i < COUNT(configs); i++) {
        wordpiece model;
        if (!parsed(&model, small, NULL, configs[i]))
            continue;
        test_case("%s", configs[i]);
        GIVES(&model, "abc", A, B, C);
        wordpiece_close(&model);
    }
}

/* ---- what is refused ---- */

static void refused(const char *vocab, size_t vocab_size, const char *tokenizer, const char *config, const char *want)
{
    wordpiece_files files = {vocab,
                             tokenizer,
                             config,
                             vocab_size,
                             tokenizer ? strlen(tokenizer) : 0,
                             config ? strlen(config) : 0,
                             NULL,
                             NULL,
                             NULL,
                             0,
                             0,
                             0};
    long live = test_memory_state.live;
    wordpiece model;
    const char *error;
    memset(&model, 0x5a, sizeof model);
    error = wordpiece_parse(&model, &files, "some");
    test_case("%s, not %s", error ? error : "no error", want);
    CHECK(error == model.error && error && !strcmp(error, want));
    CHECK(test_memory_state.live == live && !model.words && !model.count);
    if (!error)
        wordpiece_close(&model);
}

TEST(wordpiece_refuses)
{
    static const struct {
        const char *vocab, *tokenizer, *config, *error;
    } cases[] = {
        {NULL, NULL, "{}", "some: there is neither vocab.txt nor tokenizer.json"},
        {"", NULL, NULL, "some/vocab.txt: no unknown token, \"[UNK]\""},
        {"a\nb\n", NULL, NULL, "some/vocab.txt: no unknown token, \"[UNK]\""},
        {"[UNK]\n", NULL, "{\"unk_token\":\"<\\u0007>\"}", "some/vocab.txt: no unknown token, \"<\\x07>\""},
        {"[UNK]\na\xff\n", NULL, NULL, "some/vocab.txt: line 2 is not UTF-8"},
        {"[UNK]\n\n\xed\xa0\x80", NULL, NULL, "some/vocab.txt: line 3 is not UTF-8"},
        {small, "{", NULL, "some/tokenizer.json: byte 1: a name in quotes is missing"},
        {small, "[]", NULL, "some/tokenizer.json: not an object"},
        {small, NULL, "{]", "some/tokenizer_config.json: byte 1: a name in quotes is missing"},
        {small, NULL, "1", "some/tokenizer_config.json: not an object"},
        {small, "{}", NULL, "some/tokenizer.json: model: not a WordPiece model"},
        {small, "{\"model\":[]}", NULL, "some/tokenizer.json: model: not a WordPiece model"},
        {small, "{\"model\":{\"type\":\"BPE\"}}", NULL, "some/tokenizer.json: model: not a WordPiece model"},
        {small, "{\"model\":{\"merges\":[]}}", NULL, "some/tokenizer.json: model: not a WordPiece model"},
        {small, "{" MODEL("") ",\"normalizer\":null}", NULL, "some/tokenizer.json: normalizer: not a BertNormalizer"},
        {small, "{" MODEL("") ",\"normalizer\":{\"type\":\"NFC\"}}", NULL,
         "some/tokenizer.json: normalizer: not a BertNormalizer"},
        {small, "{" MODEL("") "," NORMALIZER("") "}", NULL,
         "some/tokenizer.json: pre_tokenizer: not a BertPreTokenizer"},
        {small, "{" MODEL("") "," NORMALIZER(",\"lowercase\":1") "," BERT "}", NULL,
         "some/tokenizer.json: lowercase: neither true nor false"},
        {small, NULL, "{\"do_lower_case\":\"no\"}",
         "some/tokenizer_config.json: do_lower_case: neither true nor false"},
        {small, NULL, "{\"word_tokenizer_type\":\"mecab\"}",
         "some/tokenizer_config.json: word_tokenizer_type is not known here"},
        {small, NULL, "{\"word_tokenizer_type\":null,\"subword_tokenizer_type\":\"character\"}",
         "some/tokenizer_config.json: subword_tokenizer_type is not known here"},
        {small, NULL, "{\"truncation_side\":\"left\"}",
         "some/tokenizer_config.json: truncation_side: texts lose their end here, and nothing else"},
        {small, "{" MODEL("") "," NORMALIZER("") "," BERT ",\"truncation\":{\"direction\":\"Left\"}}", NULL,
         "some/tokenizer.json: truncation.direction: texts lose their end here, and nothing else"},
        {small, NULL, "{\"strip_accents\":0}", "some/tokenizer_config.json: strip_accents: neither true nor false"},
        {small, "{" MODEL(",\"continuing_subword_prefix\":null") "," NORMALIZER("") "," BERT "}", NULL,
         "some/tokenizer.json: model.continuing_subword_prefix: not a string"},
        {small, "{" MODEL(",\"max_input_chars_per_word\":1001") "," NORMALIZER("") "," BERT "}", NULL,
         "some/tokenizer.json: model.max_input_chars_per_word: not a number up to 1000"},
        {small, "{" MODEL(",\"max_input_chars_per_word\":-1") "," NORMALIZER("") "," BERT "}", NULL,
         "some/tokenizer.json: model.max_input_chars_per_word: not a number up to 1000"},
        {NULL, "{" MODEL("") "," NORMALIZER("") "," BERT "}", NULL, "some/tokenizer.json: model.vocab: not an object"},
        {NULL, "{" MODEL(",\"vocab\":{}") "," NORMALIZER("") "," BERT "}", NULL,
         "some/tokenizer.json: no unknown token, \"[UNK]\""},
        {small, "{" MODEL(",\"vocab\":{}") "," NORMALIZER("") "," BERT "}", NULL,
         "some/tokenizer.json: no unknown token, \"[UNK]\""},
        {NULL, "{" MODEL(",\"vocab\":{\"[UNK]\":2147483647}") "," NORMALIZER("") "," BERT "}", NULL,
         "some/tokenizer.json: model.vocab: the id of \"[UNK]\" is not one below 2147483647"},
        {NULL, "{" MODEL(",\"vocab\":{\"[UNK]\":0,\"a\\nb\":1.5}") "," NORMALIZER("") "," BERT "}", NULL,
         "some/tokenizer.json: model.vocab: the id of \"a\\x0ab\" is not one below 2147483647"},
        {small, "{" MODEL("") "," NORMALIZER("") "," BERT ",\"added_tokens\":[{\"id\":1}]}", NULL,
         "some/tokenizer.json: an added token without content"},
        {small, "{" MODEL("") "," NORMALIZER("") "," BERT ",\"added_tokens\":[{\"id\":1,\"content\":\"\"}]}", NULL,
         "some/tokenizer.json: an added token without content"},
        {small, "{" MODEL("") "," NORMALIZER("") "," BERT ",\"added_tokens\":[7]}", NULL,
         "some/tokenizer.json: an added token without content"},
        {small, "{" MODEL("") "," NORMALIZER("") "," BERT ",\"added_tokens\":[{\"content\":\"x\"}]}", NULL,
         "some/tokenizer.json: the added token \"x\" has no id below 2147483647"},
        {small, ADDED(TOKEN(20, "\\u0301", "x")), NULL,
         "some/tokenizer.json: the added token \"\xcc\x81\": the normalizer leaves nothing of it, which would be found "
         "everywhere"},
        {small,
         "{" MODEL("") "," NORMALIZER("") "," BERT ",\"added_tokens\":[{\"id\":1,\"content\":\"x\","
                                          "\"normalized\":\"\"}]}",
         NULL, "some/tokenizer.json: the added token \"x\": normalized is neither true nor false"},
        {small,
         POST("{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{}},{\"SpecialToken\":{\"id\":\"[SEP]\"}}]}"),
         NULL, "some/tokenizer.json: post_processor: not one token, the text, and one token"},
        {small,
         POST("{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[CLS]\"}},{\"Sequence\":{}},"
              "{\"SpecialToken\":{\"id\":\"[SEP]\"}},{\"SpecialToken\":{\"id\":\"[SEP]\"}}]}"),
         NULL, "some/tokenizer.json: post_processor: not one token, the text, and one token"},
        {small, POST("{\"type\":\"ByteLevel\"}"), NULL,
         "some/tokenizer.json: post_processor: not one token, the text, and one token"},
        {small, NULL, "{\"tokenizer_class\":\"BertJapaneseTokenizer\"}",
         "some/tokenizer_config.json: tokenizer_class: \"BertJapaneseTokenizer\" is not known here"},
        {small, NULL, "{\"tokenizer_class\":\"Bert\"}",
         "some/tokenizer_config.json: tokenizer_class: \"Bert\" is not known here"},
        {small, NULL, "{\"tokenizer_class\":7}", "some/tokenizer_config.json: tokenizer_class: \"\" is not known here"},
        {small, POST("null"), "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}",
         "some/tokenizer.json: post_processor: no tokens stand around a text"},
        {small, NULL, "{\"added_tokens_decoder\":{\"x\":{\"content\":\"y\"}}}",
         "some/tokenizer_config.json: the added token \"y\" has no id below 2147483647"},
        {small, NULL, "{\"added_tokens_decoder\":{\"7\":{}}}",
         "some/tokenizer_config.json: an added token without content"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        refused(cases[i].vocab, cases[i].vocab ? strlen(cases[i].vocab) : 0, cases[i].tokenizer, cases[i].config,
                cases[i].error);
    refused(small, ((size_t)1 << 24) + 1, NULL, NULL, "some/vocab.txt: larger than 16777216 bytes");
}

TEST(wordpiece_long_tokens)
{
    char file[1024], want[512], name[301], token[257];
    wordpiece model;
    for (size_t size = 255; size <= 256; size++) {
        memset(token, 'x', size);
        token[size] = 0;
        snprintf(file, sizeof file, "{\"added_tokens_decoder\":{\"7\":{\"content\":\"%s\"}}}", token);
        if (size == 255 && parsed(&model, small, NULL, file)) {
            CHECK(gives(&model, token, size, (const int32_t[]){7, -1}));
            wordpiece_close(&model);
        }
    }
    snprintf(want, sizeof want, "some/tokenizer_config.json: the added token \"%.124s...\" is longer than 255 bytes",
             token);
    refused(small, sizeof small - 1, NULL, file, want);
    memset(name, 'n', 300); /* of a long name, its end */
    name[300] = 0;
    {
        wordpiece_files none = {NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0};
        const char *error = wordpiece_parse(&model, &none, name);
        CHECK(error && strncmp(error, "...nnnn", 7) == 0 && strstr(error, "n: there is neither") == error + 3 + 248);
    }
}

/* ---- files ---- */

static void open_refused(const char *path, const char *want)
{
    wordpiece model;
    const char *error = wordpiece_open(&model, path);
    test_case("%s: %s", path, error ? error : "no error");
    CHECK(error == model.error && error && strcmp(error, want) == 0);
    if (!error)
        wordpiece_close(&model);
}

TEST(wordpiece_open)
{
    static const char *const paths[] = {GOLDEN "uncased", GOLDEN "uncased/vocab.txt", GOLDEN "uncased/tokenizer.json",
                                        GOLDEN "cased/tokenizer.json", GOLDEN "odd/vocab.txt"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        wordpiece model;
        const char *error = wordpiece_open(&model, paths[i]);
        test_case("%s", error ? error : paths[i]);
        if (CHECK(error == NULL))
            wordpiece_close(&model);
    }
    open_refused("none", "none: there is neither vocab.txt nor tokenizer.json");
    open_refused("none/vocab.txt", "none: there is neither vocab.txt nor tokenizer.json");
    open_refused("vocab.txt", ".: there is neither vocab.txt nor tokenizer.json");
    open_refused("", ": there is neither vocab.txt nor tokenizer.json");
    open_refused(GOLDEN, "examples/models/tests/golden/wordpiece/: there is neither vocab.txt nor tokenizer.json");
    open_refused(GOLDEN "lines.txt",
                 "examples/models/tests/golden/wordpiece/lines.txt: there is neither vocab.txt nor tokenizer.json");
}

/* ---- no memory ---- */

/* Calls with the nth allocation failing: its message, "reached" if there is no nth one, or NULL. */
static const char *fail_nth(long n, const char *(*call)(wordpiece *model), wordpiece *model)
{
    const char *error;
    test_memory_state.fail_at = n;
    error = call(model);
    if (!error && test_memory_state.fail_at)
        error = "reached";
    test_memory_state.fail_at = 0;
    return error;
}

static const char *call_open(wordpiece *model)
{
    const char *error = wordpiece_open(model, GOLDEN "odd");
    if (!error)
        wordpiece_close(model);
    return error;
}

static const char *call_encode(wordpiece *model)
{
    static const char text[] = "some t\xc3\xa9xt [MASK] of words which are more than a few, so that ids have to grow, "
                               "\xe6\xbc\xa2\xe5\xad\x97 and again and again and again and again";
    wordpiece_tokens tokens;
    const char *error = wordpiece_encode(model, text, sizeof text - 1, &tokens);
    CHECK(!error || (!tokens.ids && !tokens.count));
    wordpiece_tokens_free(&tokens);
    return error;
}

TEST(wordpiece_no_memory)
{
    wordpiece model;
    long n, live = test_memory_state.live;
    const char *error;
    for (n = 1; n < 100 && strcmp(error = fail_nth(n, call_open, &model), "reached"); n++) {
        test_case("allocation %ld: %s", n, error);
        CHECK(strstr(error, "no memory") && strncmp(error, GOLDEN "odd", sizeof GOLDEN - 1) == 0);
        CHECK(test_memory_state.live == live);
    }
    CHECK(n > 15 && n < 100);
    if (!CHECK(wordpiece_open(&model, GOLDEN "uncased") == NULL))
        return;
    live = test_memory_state.live;
    for (n = 1; n < 100 && strcmp(error = fail_nth(n, call_encode, &model), "reached"); n++) {
        test_case("allocation %ld of a text", n);
        CHECK(!strcmp(error, "no memory") && test_memory_state.live == live);
    }
    CHECK(n > 4 && n < 100);
    wordpiece_close(&model);
}

/* ---- long text ---- */

static size_t count_of(const wordpiece *model, const char *text, size_t size)
{
    wordpiece_tokens tokens;
    size_t count = wordpiece_encode(model, text, size, &tokens) ? SIZE_MAX : tokens.count;
    wordpiece_tokens_free(&tokens);
    return count;
}

/* A line without a space, and others that are bad to read: ten times as long, not a hundred times as slow. */
TEST(wordpiece_long_lines)
{
    static const struct {
        const char *part;
        size_t per_part; /* tokens; 0: all of it is one */
    } kinds[] = {{"a", 0},
                 {".", 1},
                 {"\xe6\xbc\xa2", 1},
                 {"\xcc\x81", 0},
                 {"[", 1},
                 {"[SEP", 2},
                 {" ", 0},
                 {"\xff", 0},
                 {"ab ", 1},
                 {"\xe1\xba\xad", 0},
                 {"\xcc\x81\xcc\xa3\xd6\xb0", 0}};
    const size_t longest = test_quick ? 1 << 12 : 1 << 20;
    char *text = test_block(longest + 8);
    wordpiece model;
    if (!parsed(&model, small, NULL, NULL))
        return;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        double seconds[2];
        for (int round = 0; round < 2; round++) {
            size_t size = strlen(kinds[i].part), parts = longest / size / (round ? 1 : 10), count;
            clock_t start = clock();
            for (size_t k = 0; k < parts; k++)
                memcpy(text + k * size, kinds[i].part, size);
            count = count_of(&model, text, parts * size);
            seconds[round] = (double)(clock() - start) / (double)CLOCKS_PER_SEC;
            test_case("kind %d, %lu parts: %lu tokens", (int)i, (unsigned long)parts, (unsigned long)count);
            CHECK(kinds[i].per_part ? count == parts * kinds[i].per_part : count <= 1);
        }
        test_case("kind %d: ten times as much took %.3f s, not %.3f s", (int)i, seconds[1], seconds[0]);
        CHECK(seconds[1] <= 50 * (seconds[0] + 0.02));
    }
    wordpiece_close(&model);
}
