/* BPE tokenizers: those of golden/bpe against the `tokenizers` library, see golden/make_bpe.py; and files that are
   broken or odd, written here. */
#include "test.h"

#include "examples/models/bpe.h"
#include "examples/models/json.h"

enum { FILE_ROOM = 1 << 18, LINE_ROOM = 1024 };

/* Kinds whose tokens give every text back, and those that do so but for U+2581, which comes back as a space. */
static const char *const exact_kinds[] = {"gpt2",         "llama3",    "smollm",        "gpt_oss",
                                          "mistral_nemo", "deepseek3", "deepseek_coder"};
static const char *const spaced_kinds[] = {"llama2", "mistral", "gemma", "phi3"};
enum {
    EXACT_KINDS = sizeof exact_kinds / sizeof *exact_kinds,
    SPACED_KINDS = sizeof spaced_kinds / sizeof *spaced_kinds
};

static const char *kind_path(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "examples/models/tests/golden/bpe/%s.json", name);
    return path;
}

static char *read_file(const char *name, size_t *size)
{
    FILE *file = fopen(kind_path(name), "rb");
    char *text = test_block(FILE_ROOM);
    *size = file ? fread(text, 1, FILE_ROOM, file) : 0;
    if (file)
        fclose(file);
    CHECK(*size > 0 && *size < FILE_ROOM);
    return text;
}

static int open_kind(bpe *model, const char *name)
{
    const char *error;
    memset(model, 0x5a, sizeof *model);
    error = bpe_open(model, kind_path(name));
    if (!CHECK(error == NULL))
        printf("    got \"%s\"\n", error);
    return error == NULL;
}

static json golden_json(void)
{
    size_t size;
    char *text = read_file("golden", &size);
    json golden;
    CHECK(json_parse(&golden, text, size, NULL) == NULL);
    return golden;
}

/* The classes of transformers 5 that cut text as these files do. */
TEST(bpe_made_for)
{
    static const struct {
        const char *name;
        int made_for;
    } cases[] = {{"llama2", BPE_OF_LLAMA | BPE_OF_LEGACY | BPE_OF_SPACES},
                 {"phi3", BPE_OF_LLAMA | BPE_OF_LEGACY | BPE_OF_SPACES},
                 {"mistral", BPE_OF_LLAMA},
                 {"gemma", BPE_OF_GEMMA},
                 {"qwen2", BPE_OF_QWEN2},
                 {"qwen35", 0},
                 {"llama3", 0},
                 {"gpt2", BPE_OF_GPT2},
                 {"smollm", 0},
                 {"metaspace", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bpe model;
        test_case("%s", cases[i].name);
        if (!open_kind(&model, cases[i].name))
            continue;
        CHECK(model.made_for == cases[i].made_for);
        bpe_close(&model);
    }
}

/* ---- against the library ---- */

static uint32_t hash_bytes(uint32_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}

static uint32_t hash_number(uint32_t hash, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        hash = (hash ^ (number >> 8 * i & 0xff)) * 16777619u;
    return hash;
}

static uint32_t hash_ids(uint32_t hash, const bpe_tokens *tokens)
{
    hash = hash_number(hash, (uint32_t)tokens->count);
    for (size_t i = 0; i < tokens->count; i++)
        hash = hash_number(hash, (uint32_t)tokens->ids[i]);
    return hash;
}

/* The hash that golden.json has of a line. */
static uint32_t hash_line(const bpe *model, const char *line, size_t size)
{
    bpe_tokens plain, special;
    char *text = NULL;
    size_t text_size = 0;
    uint32_t hash = 2166136261u;
    CHECK(bpe_encode(model, line, size, &plain) == NULL);
    CHECK(bpe_encode_as(model, line, size, BPE_SPECIAL, &special) == NULL);
    CHECK(bpe_decode(model, special.ids, special.count, &text, &text_size) == NULL);
    hash = hash_ids(hash_ids(hash, &plain), &special);
    hash = hash_bytes(hash_number(hash, (uint32_t)text_size), text, text_size);
    test_free(text);
    bpe_tokens_free(&plain);
    bpe_tokens_free(&special);
    return hash;
}

TEST(bpe_goldens)
{
    json golden = golden_json(), kinds = json_first(json_get(golden, "kinds"));
    char *line = test_block(LINE_ROOM), name[32];
    size_t count = 0, known = 0;
    for (; kinds.type; kinds = json_next(kinds), known++) {
        json want = json_first(json_value(kinds));
        bpe model;
        json_string(kinds, name, sizeof name);
        if (!open_kind(&model, name))
            continue;
        count = 0;
        for (json item = json_first(json_get(golden, "lines")); item.type; item = json_next(item), count++) {
            uint64_t wanted = 0;
            test_case("%s, line %d: see make_bpe.py --ids", name, (int)count);
            CHECK(json_uint(want, &wanted));
            CHECK(hash_line(&model, line, json_string(item, line, LINE_ROOM)) == wanted);
            want = json_next(want);
        }
        CHECK(count == 400 && !want.type);
        bpe_close(&model);
    }
    CHECK(known == 19);
}

/* ---- there and back ---- */

static int gives_back(const bpe *model, const char *line, size_t size)
{
    bpe_tokens tokens;
    char *text = NULL, *pieces = test_block(4 * size + 64);
    size_t text_size = 0, used = 0;
    int held = CHECK(bpe_encode(model, line, size, &tokens) == NULL) &&
               CHECK(bpe_decode(model, tokens.ids, tokens.count, &text, &text_size) == NULL) &&
               CHECK(text_size == size && memcmp(text, line, size) == 0 && text[size] == 0);
    for (size_t i = 0; i < tokens.count; i++) { /* the pieces of tokens one by one, as a stream has them */
        size_t more = bpe_piece(model, tokens.ids[i], i == 0, NULL, 0);
        CHECK(bpe_piece(model, tokens.ids[i], i == 0, pieces + used, more) == more);
        used += more;
        CHECK(used <= size && !bpe_is_special(model, tokens.ids[i]));
    }
    held &= CHECK(used == size && memcmp(pieces, line, size) == 0);
    test_free(text);
    bpe_tokens_free(&tokens);
    return held;
}

TEST(bpe_gives_text_back)
{
    json golden = golden_json();
    char *line = test_block(LINE_ROOM);
    for (size_t k = 0; k < EXACT_KINDS + SPACED_KINDS; k++) {
        const char *name = k < EXACT_KINDS ? exact_kinds[k] : spaced_kinds[k - EXACT_KINDS];
        int count = 0;
        bpe model;
        if (!open_kind(&model, name))
            continue;
        for (json item = json_first(json_get(golden, "lines")); item.type; item = json_next(item)) {
            size_t size = json_string(item, line, LINE_ROOM);
            line[size] = 0;
            /* U+2581 is a space; and of the spaces that a text begins with, Mistral's file loses the first */
            if (k >= EXACT_KINDS && (strstr(line, "\xe2\x96\x81") || strstr(line, "</think>") || line[0] == ' '))
                continue;
            test_case("%s, line %d", name, count++);
            gives_back(&model, line, size);
        }
        CHECK(count > 100);
        bpe_close(&model);
    }
}

/* Each byte that is not UTF-8 is read as U+FFFD, whatever stands around it. */
TEST(bpe_bytes_that_are_not_utf8)
{
    static const struct {
        const char *text, *same;
    } lines[] = {{"a\xff b", "a\xef\xbf\xbd b"},
                 {"\xe2\x96", "\xef\xbf\xbd\xef\xbf\xbd"},
                 {"x\xed\xa0\x80y", "x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy"},
                 {"\xc3\xa9\xc3", "\xc3\xa9\xef\xbf\xbd"},
                 {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xc0\x80<|im_end|>", "\xef\xbf\xbd\xef\xbf\xbd<|im_end|>"}};
    for (size_t k = 0; k < EXACT_KINDS + SPACED_KINDS; k++) {
        bpe model;
        if (!open_kind(&model, k < EXACT_KINDS ? exact_kinds[k] : spaced_kinds[k - EXACT_KINDS]))
            continue;
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            CHECK(hash_line(&model, lines[i].text, strlen(lines[i].text)) ==
                  hash_line(&model, lines[i].same, strlen(lines[i].same)));
        bpe_close(&model);
    }
}

/* What is not UTF-8 among the bytes of tokens: one U+FFFD for a character that is cut off, as Python and Rust do. */
TEST(bpe_decode_of_broken_characters)
{
    static const struct {
        const char *bytes, *want, *want_of_names;
    } cases[] = {{"\xe2\x96", "\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xe2\x96\x81", "\xe2\x96\x81", "\xe2\x96\x81"},
                 {"\xf0\x9f\x98", "\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xff\x41", "\xef\xbf\xbd\x41", "\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                 {"\xc3\xa9\xc3", "\xc3\xa9\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}};
    bpe levels, names;
    if (!open_kind(&levels, "gpt2"))
        return;
    if (open_kind(&names, "gemma")) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            int32_t ids[2][8];
            char name[8], *text = NULL;
            size_t count = strlen(cases[i].bytes), size = 0;
            for (size_t k = 0; k < count; k++) {
                unsigned byte = (unsigned char)cases[i].bytes[k];
                snprintf(name, sizeof name, "<0x%02X>", byte);
                ids[1][k] = bpe_id(&names, name, 6);
                for (ids[0][k] = 0; ids[0][k] < levels.count; ids[0][k]++) { /* the token of that byte alone */
                    char out[4];
                    if (bpe_piece(&levels, ids[0][k], 0, out, sizeof out) == 1 && (unsigned char)out[0] == byte)
                        break;
                }
            }
            test_case("case %d", (int)i);
            CHECK(bpe_decode(&levels, ids[0], count, &text, &size) == NULL && strcmp(text, cases[i].want) == 0);
            test_free(text);
            CHECK(bpe_decode(&names, ids[1], count, &text, &size) == NULL && strcmp(text, cases[i].want_of_names) == 0);
            test_free(text);
        }
        bpe_close(&names);
    }
    bpe_close(&levels);
}

/* ---- special tokens, and others by their names ---- */

static int32_t id_of(const bpe *model, const char *spelling)
{
    return bpe_id(model, spelling, strlen(spelling));
}

static size_t times(const bpe *model, const char *text, int flags, int32_t id)
{
    bpe_tokens tokens;
    size_t count = 0;
    if (!CHECK(bpe_encode_as(model, text, strlen(text), flags, &tokens) == NULL))
        return 0;
    for (size_t i = 0; i < tokens.count; i++)
        count += tokens.ids[i] == id;
    bpe_tokens_free(&tokens);
    return count;
}

TEST(bpe_special_tokens)
{
    static const char text[] = "<|im_start|>user\n<think>a<|im_end|><|im_end|>";
    bpe model;
    int32_t end, think;
    char out[16];
    size_t size = 1;
    if (!open_kind(&model, "qwen2"))
        return;
    end = id_of(&model, "<|im_end|>");
    think = id_of(&model, "<think>");
    CHECK(end > 0 && think > 0 && end < model.count && id_of(&model, "<|im_end") == -1 && id_of(&model, "") == -1);
    CHECK(bpe_is_special(&model, end) && !bpe_is_special(&model, think) && !bpe_is_special(&model, 0));
    CHECK(!bpe_is_special(&model, -1) && !bpe_is_special(&model, model.count));
    CHECK(times(&model, text, 0, end) == 0 && times(&model, text, BPE_SPECIAL, end) == 2);
    CHECK(times(&model, text, 0, think) == 1 && times(&model, text, BPE_SPECIAL, think) == 1);
    CHECK(bpe_piece(&model, end, 0, out, sizeof out) == 0 && bpe_piece(&model, think, 0, out, sizeof out) == 7);
    CHECK(bpe_piece(&model, -1, 0, out, sizeof out) == 0 && bpe_piece(&model, model.count, 1, out, sizeof out) == 0);
    memset(out, 'x', sizeof out);
    CHECK(bpe_piece(&model, think, 0, out, 3) == 7 && memcmp(out, "<thx", 4) == 0);
    CHECK(memcmp(bpe_spelling(&model, end, &size), "<|im_end|>", 10) == 0 && size == 10);
    CHECK(bpe_spelling(&model, model.count, &size) == NULL && size == 0 && bpe_spelling(&model, -1, &size) == NULL);
    for (int32_t id = 0; id < model.count; id++) {
        const char *spelling = bpe_spelling(&model, id, &size);
        CHECK(spelling && bpe_id(&model, spelling, size) == id);
    }
    bpe_close(&model);
}

TEST(bpe_before_and_after)
{
    static const struct {
        const char *kind, *before, *after[2];
    } kinds[] = {{"gpt2", NULL, {NULL, NULL}},
                 {"llama3", "<|begin_of_text|>", {NULL, NULL}},
                 {"gemma", "<s>", {NULL, NULL}},
                 {"odd", "<s>", {"[SEP]", "<s>"}}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bpe model;
        size_t after = 0;
        if (!open_kind(&model, kinds[i].kind))
            continue;
        test_case("%s", kinds[i].kind);
        CHECK(model.before.count == (kinds[i].before != NULL));
        CHECK(!kinds[i].before || model.before.ids[0] == id_of(&model, kinds[i].before));
        for (; after < 2 && kinds[i].after[after]; after++)
            CHECK(model.after.count == 2 && model.after.ids[after] == id_of(&model, kinds[i].after[after]));
        CHECK(model.after.count == after);
        bpe_close(&model);
    }
}

/* Tokens that share all but their ends, in a text that has them, their beginning alone, and more of it before them. */
TEST(bpe_added_alike)
{
    enum { TOKENS = 2000, SHARED = 494, SIZE = 500 };
    char *file = test_block(TOKENS * (SIZE + 32) + 200), *text = test_block(3 * SIZE), a[SHARED + 1];
    size_t used = (size_t)sprintf(file, "{\"model\":{\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]},\"added_tokens\":[");
    bpe_tokens tokens;
    bpe model;
    memset(a, 'a', SHARED);
    a[SHARED] = 0;
    for (int i = 0; i < TOKENS; i++)
        used += (size_t)sprintf(file + used, "%s{\"id\":%d,\"content\":\"%sb%05d\"}", i ? "," : "", i + 2, a, i);
    sprintf(file + used, "]}");
    if (!CHECK(bpe_parse(&model, file, strlen(file), "alike") == NULL))
        return;
    for (int i = 0; i < TOKENS; i += 37) {
        sprintf(text, "%sb%s%sb%05db", a, a + 3, a, i);
        test_case("token %d", i + 2);
        if (!CHECK(bpe_encode(&model, text, strlen(text), &tokens) == NULL))
            continue;
        CHECK(tokens.count == SHARED + 1 + SHARED - 3 + 2 && tokens.ids[SHARED] == 1);
        CHECK(tokens.ids[tokens.count - 2] == i + 2 && tokens.ids[tokens.count - 1] == 1);
        bpe_tokens_free(&tokens);
    }
    bpe_close(&model);
}

/* "first" is the beginning of all: neither what stands behind a special token nor what goes on inside. */
TEST(bpe_inside)
{
    bpe model;
    int32_t mark;
    if (!open_kind(&model, "mistral"))
        return;
    mark = id_of(&model, "\xe2\x96\x81");
    CHECK(mark > 0 && times(&model, "\x01", 0, mark) == 1 && times(&model, "\x01", BPE_INSIDE, mark) == 0);
    CHECK(times(&model, "</s>\x01", BPE_SPECIAL, mark) == 0 && times(&model, "\x01</s>", BPE_SPECIAL, mark) == 1);
    CHECK(times(&model, "", 0, mark) == 0);
    bpe_close(&model);
}

/* ---- files that are wrong ---- */

static const char *open_text(bpe *model, const char *text, size_t size)
{
    const char *error;
    void *copy = malloc(size + !size); /* exactly the file's, so that whoever reads past it is caught */
    if (!copy)
        abort();
    memcpy(copy, text, size);
    memset(model, 0x5a, sizeof *model);
    error = bpe_parse(model, copy, size, "odd.json");
    free(copy);
    return error;
}

static int refused(const char *text, size_t size, const char *word)
{
    bpe model;
    long live = test_memory_state.live;
    const char *error = open_text(&model, text, size);
    int held = CHECK(error != NULL);
    if (!error)
        bpe_close(&model);
    else if (!CHECK(error == model.error && strncmp(error, "odd.json: ", 10) == 0 && strstr(error + 10, word)))
        printf("    got \"%s\", want \"%s\" in it\n", error, word);
    CHECK(!error || (!model.model && !model.count && !model.before.ids && !model.after.ids));
    return CHECK(test_memory_state.live == live) && held;
}

/* A small file whose members are given, in place of what else they are; NULL leaves one as it is. */
typedef struct members {
    const char *model, *added, *normalizer, *pre_tokenizer, *decoder, *post;
} members;

static const char small_model[] =
    "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"c\":3},\"merges\":[\"a b\"]}";

static char *small_file(const members *m, size_t *size)
{
    char *text = test_block(8192);
    int used =
        snprintf(text, 8192,
                 "{\"added_tokens\":%s,\"normalizer\":%s,\"pre_tokenizer\":%s,\"decoder\":%s,"
                 "\"post_processor\":%s,\"model\":%s}",
                 m->added ? m->added : "[{\"id\":9,\"content\":\"<s>\",\"special\":true}]",
                 m->normalizer ? m->normalizer : "null", m->pre_tokenizer ? m->pre_tokenizer : "null",
                 m->decoder ? m->decoder : "null", m->post ? m->post : "null", m->model ? m->model : small_model);
    *size = (size_t)used;
    return text;
}

static void refuses(members m, const char *word)
{
    size_t size;
    char *text = small_file(&m, &size);
    test_case("%s", word);
    refused(text, size, word);
}

static void reads(members m)
{
    size_t size;
    char *text = small_file(&m, &size);
    bpe model;
    test_case("%s", text);
    if (CHECK(open_text(&model, text, size) == NULL))
        bpe_close(&model);
}

#define TYPE(name) "{\"type\":\"" name "\"}"
#define MODEL(vocab, merges) "{\"vocab\":" vocab ",\"merges\":" merges "}"
#define UNIGRAM(pieces, unknown) "{\"type\":\"Unigram\",\"unk_id\":" unknown ",\"vocab\":[" pieces "]}"
#define REPLACE(old, fresh) "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" old "\"},\"content\":\"" fresh "\"}"
#define SPLIT(pattern) "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"Isolated\"}"

TEST(bpe_wrong_models)
{
    static const struct {
        const char *model, *word;
    } cases[] = {
        {"null", "\"model\" is missing"},
        {"[]", "\"model\" is missing"},
        {"{}", "model.vocab is missing"},
        {MODEL("[]", "[]"), "model.vocab is empty"},
        {"{\"type\":\"BPE\",\"vocab\":[[\"a\",0]]}", "model.vocab is missing, or no object"},
        {"{\"type\":\"Unigram\",\"vocab\":{\"a\":0}}", "model.vocab is missing, or no array"},
        {UNIGRAM("[\"a\",0],[\"b\"]", "0"), "number 1: not a piece and its score"},
        {UNIGRAM("[\"a\",0],[0,0]", "0"), "number 1: not a piece and its score"},
        {UNIGRAM("[\"a\",0],[\"b\",0,0]", "0"), "number 1: not a piece and its score"},
        {UNIGRAM("[\"a\",1e-400]", "0"), "number 0: not a piece and its score"},
        {UNIGRAM("{\"a\":0}", "0"), "number 0: not a piece and its score"},
        {UNIGRAM("[\"a\",0],[\"a\",0]", "0"), "\"a\" has two ids"},
        {UNIGRAM("[\"a\",0]", "1"), "model.unk_id is not the id of a piece"},
        {UNIGRAM("[\"a\",0]", "null"), "model.unk_id is not the id of a piece"},
        {MODEL("{}", "[]"), "model.vocab is empty"},
        {MODEL("{\"a\":0}", "{}"), "model.merges is missing"},
        {"{\"vocab\":{\"a\":0}}", "model.merges is missing"},
        {"{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}", "model.type is \"WordPiece\", and not BPE"},
        {"{\"type\":\"Uni\\ngram\",\"vocab\":{\"a\":0}}", "model.type is \"Uni\\x0agram\""},
        {MODEL("{\"a\":-1}", "[]"), "the id of \"a\" is no whole number"},
        {MODEL("{\"a\":0.5}", "[]"), "the id of \"a\" is no whole number"},
        {MODEL("{\"a\":\"0\"}", "[]"), "the id of \"a\" is no whole number"},
        {MODEL("{\"a\":4194304}", "[]"), "the id 4194304 is too large"},
        {MODEL("{\"a\":18446744073709551615}", "[]"), "the id 18446744073709551615 is too large"},
        {MODEL("{\"a\":1,\"b\":1}", "[]"), "two tokens have the id 1"},
        {MODEL("{\"a\":1,\"a\":2}", "[]"), "\"a\" has two ids"},
        {MODEL("{\"a\":0}", "[\"a\"]"), "number 0: neither \"a b\" nor"},
        {MODEL("{\"a\":0}", "[\"a a a\"]"), "number 0: neither \"a b\" nor"},
        {MODEL("{\"a\":0}", "[[\"a\"]]"), "number 0: neither \"a b\" nor"},
        {MODEL("{\"a\":0}", "[[\"a\",\"a\",\"a\"]]"), "number 0: neither \"a b\" nor"},
        {MODEL("{\"a\":0}", "[[\"a\",1]]"), "number 0: neither \"a b\" nor"},
        {MODEL("{\"a\":0}", "[7]"), "number 0: neither \"a b\" nor"},
        {MODEL("{\"a\":0}", "[\"a x\"]"), "\"x\" is not in model.vocab"},
        {MODEL("{\"a\":0}", "[\"x a\"]"), "\"x\" is not in model.vocab"},
        {MODEL("{\"a\":0}", "[\"a a\"]"), "\"aa\" is not in model.vocab"},
        {MODEL("{\"a\":0,\"b\":1}", "[\"a <s>\"]"), "\"<s>\" is not in model.vocab"},
        {"{\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"<unk>\"}", "model.unk_token, \"<unk>\", is not in"},
        {"{\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":1}", "model.unk_token"},
        {"{\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1}", "model.dropout"},
        {"{\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":\"no\"}", "model.dropout"},
        {"{\"vocab\":{\"a\":0},\"merges\":[],\"fuse_unk\":1}", "model.fuse_unk is neither true nor false"},
        {"{\"vocab\":{\"a\":0},\"merges\":[],\"byte_fallback\":\"\"}", "model.byte_fallback is neither"},
        {"{\"vocab\":{\"a\":0},\"merges\":[],\"ignore_merges\":0}", "model.ignore_merges is neither"},
        {"{\"vocab\":{\"a\":0},\"merges\":[],\"end_of_word_suffix\":\"</w>\"}", "model.end_of_word_suffix"},
        {"{\"vocab\":{\"a\":0},\"merges\":[],\"continuing_subword_prefix\":\"##\"}", "model.continuing_subword_prefix"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        members m = {0};
        m.model = cases[i].model;
        refuses(m, cases[i].word);
    }
    members m = {0};
    m.model = UNIGRAM("[\"a\",0]", "0");
    m.pre_tokenizer = "{\"type\":\"ByteLevel\"}";
    refuses(m, "pre_tokenizer: ByteLevel is not known before a Unigram model");
}

TEST(bpe_wrong_added_tokens)
{
    static const struct {
        const char *added, *word;
    } cases[] = {
        {"{}", "added_tokens is no array"},
        {"[1]", "one has no content"},
        {"[{\"id\":5}]", "one has no content"},
        {"[{\"content\":\"x\"}]", "the id of \"x\" is no whole number"},
        {"[{\"id\":-5,\"content\":\"x\"}]", "the id of \"x\" is no whole number"},
        {"[{\"id\":5,\"content\":\"x\",\"special\":1}]", "id 5: special is neither true nor false"},
        {"[{\"id\":5,\"content\":\"x\",\"lstrip\":\"\"}]", "id 5: lstrip is neither true nor false"},
        {"[{\"id\":5000000,\"content\":\"x\"}]", "the id 5000000 is too large"},
        {"[{\"id\":5,\"content\":\"x\"},{\"id\":5,\"content\":\"y\"}]", "two have the id 5"},
        {"[{\"id\":5,\"content\":\"x\"},{\"id\":6,\"content\":\"x\"}]", "\"x\" has two ids"},
        {"[{\"id\":1,\"content\":\"x\"}]", "\"x\" has the id of another token of model.vocab"},
        {"[{\"id\":5,\"content\":\"ab\"}]", "\"ab\" has two ids"},
    };
    char *text = test_block(700);
    members m = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        m.added = cases[i].added;
        refuses(m, cases[i].word);
    }
    snprintf(text, 700, "[{\"id\":5,\"content\":\"%0513d\"}]", 0);
    m.added = text;
    refuses(m, "\" has more than 512 bytes");
    m.normalizer = "{\"type\":\"Replace\",\"pattern\":{\"String\":\"x\"},\"content\":\"aaaaaaaaaaaaaaaa\"}";
    m.added = "[{\"id\":5,\"content\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}]"; /* 33: not normalised, 33 bytes */
    reads(m);
    m.added = "[{\"id\":5,\"content\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",\"normalized\":true}]"; /* 32 */
    reads(m);
    m.added = "[{\"id\":5,\"content\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",\"normalized\":true}]"; /* 33 */
    refuses(m, "xxx\": the normalizer makes more than 512 bytes of it");
    m.normalizer = "{\"type\":\"Replace\",\"pattern\":{\"String\":\"x\"},\"content\":\"\"}";
    m.added = "[{\"id\":5,\"content\":\"xx\",\"normalized\":true}]";
    refuses(m, "added_tokens: the added token \"xx\": the normalizer leaves nothing of it");
}

TEST(bpe_wrong_steps)
{
    static const struct {
        const char *normalizer, *pre_tokenizer, *decoder, *post, *word;
    } cases[] = {
        {"1", 0, 0, 0, "normalizer: no type"},
        {TYPE("Uppercase"), 0, 0, 0, "normalizer: the type \"Uppercase\" is not known here"},
        {"{\"type\":\"Sequence\",\"normalizers\":[" TYPE("NFC") "," TYPE("BertNormalizer") "]}", 0, 0, 0,
         "\"BertNormalizer\""},
        {"{\"type\":\"Strip\",\"strip_left\":1}", 0, 0, 0, "Strip: a member"},
        {TYPE("Precompiled"), 0, 0, 0, "Precompiled: precompiled_charsmap is no string"},
        {"{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AB-D\"}", 0, 0, 0, "is not base64"},
        {"{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"A=BD\"}", 0, 0, 0, "is not base64"},
        {"{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA=\"}", 0, 0, 0, "shorter than its header"},
        {TYPE("Prepend"), 0, 0, 0, "Prepend: a string is missing"},
        {"{\"type\":\"Prepend\",\"prepend\":\"\"}", 0, 0, 0, "Prepend: an empty string"},
        {TYPE("Replace"), 0, 0, 0, "Replace: a string is missing"},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"\"}", 0, 0, 0, "an empty string"},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"}}", 0, 0, 0, "content: a string is missing"},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {3,}\"},\"content\":\"\"}", 0, 0, 0, "the pattern \" {3,}\""},
        {"{\"type\":\"Prepend\",\"prepend\":\"12345678901234567890123456789012345678901234567890123456789012345\"}", 0,
         0, 0, "Prepend: more than 64 bytes"},
        {"{\"type\":\"Replace\",\"content\":\"\","
         "\"pattern\":{\"String\":\"12345678901234567890123456789012345678901234567890123456789012345\"}}",
         0, 0, 0, "Replace: more than 64 bytes"},
        {0, "true", 0, 0, "pre_tokenizer: no type"},
        {0, TYPE("Whitespace"), 0, 0, "pre_tokenizer: the type \"Whitespace\" is not known here"},
        {0, SPLIT("{\"Regex\":\"\\\\p{L}+|\\\\d\\u001b[2J\"}"), 0, 0,
         "the pattern \"\\p{L}+|\\d\\x1b[2J\" is not known here"},
        {0, SPLIT("{\"Regex\":\"\"}"), 0, 0, "the pattern \"\" is not known here"},
        {0, SPLIT("{\"Regex\":\" \\u0000\"}"), 0, 0, "the pattern \" \\x00\" is not known here"},
        {0, SPLIT("{}"), 0, 0, "Split, pattern: a string is missing"},
        {0, SPLIT("{\"String\":\"\"}"), 0, 0, "Split, pattern: an empty string"},
        {0, "{\"type\":\"Split\",\"pattern\":{\"String\":\" \"}}", 0, 0, "no behavior"},
        {0, "{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},\"behavior\":\"isolated\"}", 0, 0,
         "\"isolated\" is not"},
        {0, "{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},\"behavior\":\"Removed\",\"invert\":1}", 0, 0,
         "invert"},
        {0, "{\"type\":\"Digits\",\"individual_digits\":1}", 0, 0, "individual_digits"},
        {0, "{\"type\":\"ByteLevel\",\"use_regex\":1}", 0, 0, "ByteLevel: a member"},
        {0, "{\"type\":\"Sequence\",\"pretokenizers\":[" TYPE("ByteLevel") "," TYPE("Digits") "]}", 0, 0,
         "follows ByteLevel"},
        {0, TYPE("Metaspace"), 0, 0, "Metaspace: a string is missing"},
        {0, "{\"type\":\"Metaspace\",\"replacement\":\"_____\"}", 0, 0, "more than a character"},
        {0, "{\"type\":\"Metaspace\",\"replacement\":\"  \"}", 0, 0, "more than a character"},
        {0, "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}", 0, 0, "prepend_scheme"},
        {0, "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"add_prefix_space\":false}", 0,
         0, "contradict each other"},
        {0, "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"split\":0}", 0, 0, "split is neither"},
        {0, 0, "{}", 0, "decoder: no type"},
        {0, 0, TYPE("WordPiece"), 0, "decoder: the type \"WordPiece\" is not known here"},
        {0, 0, "{\"type\":\"Sequence\",\"decoders\":[" TYPE("Fuse") "," TYPE("ByteFallback") "]}", 0,
         "decoder: ByteFallback"},
        {0, 0, "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}", 0, "decoder: Strip stands where"},
        {0, 0,
         "{\"type\":\"Sequence\",\"decoders\":[" TYPE(
             "Fuse") ",{\"type\":\"Strip\",\"content\":\"_\",\"start\":1,\"stop\":0}]}",
         0, "a Strip of anything but"},
        {0, 0,
         "{\"type\":\"Sequence\",\"decoders\":[" TYPE(
             "Fuse") ",{\"type\":\"Strip\",\"content\":\" \",\"start\":0,\"stop\":1}]}",
         0, "a Strip of anything but"},
        {0, 0, 0, TYPE("RobertaProcessing"), "post_processor: the type \"RobertaProcessing\""},
        {0, 0, 0, TYPE("TemplateProcessing"), "not the template of one text"},
        {0, 0, 0, "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}}]}",
         "\"<s>\" is not among"},
        {0, 0, 0,
         "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}}],"
         "\"special_tokens\":{\"<s>\":{\"ids\":[8]}}}",
         "an id that the model does not have"},
        {0, 0, 0,
         "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}}],"
         "\"special_tokens\":{\"<s>\":{\"ids\":[\"<s>\"]}}}",
         "an id that the model does not have"},
        {0, 0, 0, "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{}},{\"Sequence\":{}}]}", "of one text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        members m = {0};
        m.normalizer = cases[i].normalizer;
        m.pre_tokenizer = cases[i].pre_tokenizer;
        m.decoder = cases[i].decoder;
        m.post = cases[i].post;
        refuses(m, cases[i].word);
    }
}

/* As many steps as there may be, and one more; sequences within sequences. */
TEST(bpe_many_steps)
{
    for (int count = 16; count <= 17; count++)
        for (int what = 0; what < 2; what++) {
            char *text = test_block(4096);
            members m = {0};
            size_t size;
            bpe model;
            sprintf(text, "{\"type\":\"Sequence\",\"%s\":[%s", what ? "pretokenizers" : "normalizers",
                    what ? SPLIT("{\"String\":\"c\"}") : TYPE("NFC"));
            for (int i = 1; i < count; i++)
                sprintf(text + strlen(text), ",%s", what ? SPLIT("{\"String\":\"c\"}") : TYPE("NFC"));
            strcat(text, "]}");
            *(what ? &m.pre_tokenizer : &m.normalizer) = text;
            if (count == 17) {
                refuses(m, what ? "pre_tokenizer: more than 16 steps" : "normalizer: more than 16 steps");
                continue;
            }
            text = small_file(&m, &size);
            if (CHECK(open_text(&model, text, size) == NULL)) {
                CHECK(times(&model, "abcab", 0, 2) == 2 && times(&model, "abcab", 0, 3) == 1);
                bpe_close(&model);
            }
        }
}

/* What takes long to read is refused before: many parts of a template, many merges. */
TEST(bpe_many_parts)
{
    const size_t merges = (1 << 22) + 1, room = 2 * merges + 4096;
    char *text = test_block(room);
    members m = {0};
    m.post = text;
    strcpy(text, "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{}}");
    for (int i = 1; i < 65; i++)
        strcat(text, ",{}");
    strcat(text, "]}");
    refuses(m, "a template of more than 64 parts");
    if (test_quick)
        return;
    strcpy(text, "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[1");
    for (size_t i = 1, at = strlen(text); i < merges; i++, at += 2)
        memcpy(text + at, ",1", 3);
    strcat(text, "]}}");
    test_case("merges");
    refused(text, strlen(text), "model.merges: more than 4194304");
}

TEST(bpe_wrong_files)
{
    static const char *const paths[] = {"tests/there is no such file", "tests", "/dev/null", ""};
    size_t size;
    char *text = read_file("llama3", &size), *odd = test_block(FILE_ROOM);
    bpe model;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const char *error = bpe_open(&model, paths[i]);
        test_case("%s", paths[i]);
        CHECK(error && error == model.error && strncmp(error, paths[i], strlen(paths[i])) == 0);
    }
    for (size_t cut = 0; cut < size - 2; cut += cut < 200 || cut > size - 200 ? 1 : 13) {
        test_case("cut at %d", (int)cut);
        refused(text, cut, cut ? "byte " : "empty");
    }
    refused("[]", 2, "no object");
    refused("\xff", 1, "byte 0: ");
    test_case("a byte is another");
    for (size_t i = 0; i < 3000; i++) { /* whatever it is then, it is read or refused */
        long live = test_memory_state.live;
        size_t at = test_below(size);
        memcpy(odd, text, size);
        odd[at] = test_maybe() ? text[test_below(size)] : (char)test_below(256);
        if (!open_text(&model, odd, size)) {
            hash_line(&model, "the <|eot_id|> 12'S", 19);
            bpe_close(&model);
        }
        CHECK(test_memory_state.live == live);
    }
}

/* ---- merges that no trainer would write ---- */

static void encodes_file(const members *m, const char *text, const char *want)
{
    size_t size;
    char *file = small_file(m, &size), got[256] = "";
    bpe_tokens tokens;
    bpe model;
    test_case("%s: %s", file, text);
    if (!CHECK(open_text(&model, file, size) == NULL))
        return;
    if (CHECK(bpe_encode(&model, text, strlen(text), &tokens) == NULL)) {
        for (size_t i = 0; i < tokens.count && i < 30; i++)
            sprintf(got + strlen(got), "%s%d", i ? " " : "", (int)tokens.ids[i]);
        if (!CHECK(strcmp(got, want) == 0))
            printf("    got %s, want %s\n", got, want);
        bpe_tokens_free(&tokens);
    }
    bpe_close(&model);
}

static void encodes_added(const char *model_text, const char *added, const char *text, const char *want)
{
    members m = {0};
    m.model = model_text;
    m.added = added;
    encodes_file(&m, text, want);
}

static void encodes(const char *model_text, const char *text, const char *want)
{
    encodes_added(model_text, NULL, text, want);
}

TEST(bpe_merges)
{
    static const char unknown[] =
        "{\"vocab\":{\"a\":0,\"?\":1,\"<0xC3>\":2,\"<0xA9>\":3,\"aa\":4},\"merges\":[\"a a\"],"
        "\"unk_token\":\"?\",\"byte_fallback\":true,\"fuse_unk\":%s}";
    char *text = test_block(512);
    encodes(small_model, "abcabab", "2 3 2 2");
    encodes(small_model, "", "");
    encodes(small_model, "axbyc", "2 3"); /* what is unknown is dropped: a and b meet */
    encodes(MODEL("{\"a\":0,\"aa\":1,\"aaa\":2}", "[\"aa a\",\"a a\"]"), "aaaaaaa", "2 2 0"); /* ranks, not lengths */
    encodes(MODEL("{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":4,\"abc\":5}", "[\"b c\",\"a b\",\"a bc\",\"ab c\"]"),
            "abcab", "5 3");
    encodes(MODEL("{\"a\":0,\"b\":1,\"ab\":2,\"ba\":3}", "[\"a b\",\"b a\",\"a b\"]"), "abab", "0 3 1"); /* the last */
    encodes(MODEL("{\"a\":0,\"b\":1,\"ab\":2}", "[\"#version: 0.2\",\"a b\"]"), "ab", "2");
    encodes("{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[],\"ignore_merges\":true}", "ab", "2");
    encodes("{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[],\"ignore_merges\":true}", "abb", "0 1 1");
    snprintf(text, 512, unknown, "true");
    encodes(text, "xa\xc3\xa9yyaaz", "1 0 2 3 1 4 1");
    encodes(text, "yy\xc3\xa9y\xc3\xa9", "2 3 2 3 1"); /* bytes do not end a run of unknown characters */
    snprintf(text, 512, unknown, "false");
    encodes(text, "yyaa\xc3\xaa", "1 1 4 1");
}

/* A word of 2^18 characters is merged in the time of its length times the logarithm of that. */
TEST(bpe_long_words)
{
    const size_t size = test_quick ? 1 << 15 : 1 << 18;
    char *text = test_block(size);
    static const char *const kinds[] = {"gpt2", "llama2", "odd"};
    for (size_t k = 0; k < 3; k++) {
        bpe model;
        if (!open_kind(&model, kinds[k]))
            continue;
        for (int c = 0; c < 4; c++) {
            bpe_tokens tokens;
            for (size_t i = 0; i < size; i++)
                text[i] = c == 0 ? 'e' : c == 1 ? ' ' : (char)('a' + test_below(c == 2 ? 26 : 2));
            if (CHECK(bpe_encode(&model, text, size, &tokens) == NULL)) {
                CHECK(tokens.count > 0 && tokens.count <= size + 1);
                bpe_tokens_free(&tokens);
            }
        }
        bpe_close(&model);
    }
}

/* Pieces of "aabaaab" cut at each a, or each that is none: within pieces alone, tokens are merged. */
TEST(bpe_behaviors)
{
    static const struct {
        const char *behavior, *want, *inverted;
    } cases[] = {{"Isolated", "0 0 1 0 0 0 1", "0 0 1 0 0 0 1"},
                 {"Removed", "1 1", "0 0 0 0 0"},
                 {"Contiguous", "2 1 2 0 1", "2 1 2 0 1"},
                 {"MergedWithPrevious", "0 0 4 0 0 1", "0 3 0 0 3"},
                 {"MergedWithNext", "0 3 0 0 3", "0 0 4 0 0 1"}};
    char *step = test_block(256);
    for (size_t i = 0; i < 10; i++) {
        members m = {0};
        m.model = "{\"vocab\":{\"a\":0,\"b\":1,\"aa\":2,\"ab\":3,\"ba\":4},\"merges\":[\"a a\",\"b a\",\"a b\"]}";
        m.pre_tokenizer = step;
        snprintf(step, 256, "{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"%s\",\"invert\":%s}",
                 cases[i / 2].behavior, i % 2 ? "true" : "false");
        encodes_file(&m, "aabaaab", i % 2 ? cases[i / 2].inverted : cases[i / 2].want);
    }
}

/* Ids of tokenizers 0.22.2 and 0.23.3: of ways that are worth the same but for how the scores are rounded, of unknown
   characters, which cost 10 more than any piece and are one token in a row, and of their bytes. */
TEST(bpe_unigram)
{
    static const char dashes[] = UNIGRAM("[\"<unk>\",0],[\"_\",-2.0122928619384766],[\"-\",-5.129043102264404],"
                                         "[\"---\",-12.130167007446289]",
                                         "0"),
                      unknown[] = UNIGRAM("[\"<unk>\",0],[\"xy\",0],[\"cx\",-9.5],[\"y\",-9.5]", "0"),
                      bytes[] = "{\"type\":\"Unigram\",\"byte_fallback\":true,\"unk_id\":0,\"vocab\":[[\"<unk>\",0],"
                                "[\"a\",-1],[\"<0x62>\",0],[\"<0xC3>\",0],[\"<0xA9>\",0],[\"bb\",-3e1]]}";
    encodes_added(dashes, NULL, "_----------", "1 3 3 2 3");
    encodes_added(unknown, NULL, "cxy", "2 3");
    encodes_added(unknown, NULL, "cyqcxyzz", "0 3 0 2 3 0");
    encodes_added(bytes, NULL,
                  "ab\xc3\xa9"
                  "abc",
                  "1 2 3 4 1 0");
    encodes_added(bytes, NULL, "bb", "5");
    encodes_added(bytes, NULL, "bbb", "2 5");
    encodes_added(bytes, NULL, "b<unk>b", "0");
}

/* What somebody said is no special token of Unigram either, whose vocabulary has these among its pieces. */
TEST(bpe_unigram_said)
{
    static const char text[] = "wonderful, </s> and <pad>";
    unsigned char said[sizeof text];
    bpe model;
    bpe_tokens plain, none, all;
    if (!open_kind(&model, "t5"))
        return;
    memset(said, 1, sizeof said);
    CHECK(!bpe_encode(&model, text, sizeof text - 1, &plain));
    CHECK(!bpe_encode_said(&model, text, said, sizeof text - 1, &none));
    memset(said, 0, sizeof said);
    CHECK(!bpe_encode_said(&model, text, said, sizeof text - 1, &all));
    CHECK(plain.count == none.count && memcmp(plain.ids, none.ids, none.count * sizeof *none.ids) == 0);
    CHECK(all.count < none.count && all.ids[all.count - 1] == 0);
    bpe_tokens_free(&plain);
    bpe_tokens_free(&none);
    bpe_tokens_free(&all);
    bpe_close(&model);
}

/* The character that the text begins with may become several, or go: a mark stands in front of each piece that comes of
   it, and of no other. Ids of tokenizers 0.22.2 and 0.23.3. */
TEST(bpe_first)
{
    static const struct {
        const char *normalizer, *text, *want;
    } cases[] = {
        {REPLACE("a", ""), "ab", "1"},
        {REPLACE("a", ""), "bab", "2 1 1"},
        {REPLACE("a", "c|b"), "ab", "2 3 2 4 2 1 1"},
        {REPLACE("a", "c|b"), "bab", "2 1 3 4 1 1"},
        {REPLACE("ab", "c|b"), "abb", "3 4 1 1"},
        {REPLACE("b", "c|b"), "abb", "2 0 3 4 1 3 4 1"},
        {REPLACE("b", " "), "bb|bb", "2 2 4 2 2"},
        {"{\"type\":\"Prepend\",\"prepend\":\"c|\"}", "b|b", "2 3 2 4 2 1 4 1"},
        {"{\"type\":\"NFD\"}", "\xc3\xa0|b", "2 0 5 4 1"},
        {"{\"type\":\"NFC\"}", "a\xcc\x80|b", "2 6 4 1"},
        {"{\"type\":\"NFKC\"}", "\xef\xbd\x9c|b", "2 4 4 1"},
        {"{\"type\":\"NFKC\"}", "\xe2\x93\x90\xef\xbd\x9c", "2 0 4"},
        {"{\"type\":\"NFKD\"}", "\xe2\x84\x80|b", "2 0 3 4 1"},
        {"{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"a \"}," REPLACE(
             " ", "|") "," REPLACE("a|", "||") "]}",
         "b|b", "2 4 2 4 2 1 4 1"},
    };
    members m = {0};
    m.model = "{\"vocab\":{\"a\":0,\"b\":1,\"_\":2,\"c\":3,\"|\":4,\"\\u0300\":5,\"\\u00e0\":6},\"merges\":[]}";
    m.pre_tokenizer = "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT(
        "{\"String\":\"|\"}") ",{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\"}]}";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        m.normalizer = cases[i].normalizer;
        encodes_file(&m, cases[i].text, cases[i].want);
    }
}

/* A token takes white space that holds others: what is left of those is found, but not if nothing is. */
TEST(bpe_added_tokens_side_by_side)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"a<s>  b", "0 9 10 10 1"},
                 {"a<s> \tb", "0 9 10 11 1"},
                 {"a<s>\xe3\x80\x80\tb", "0 9 1"},
                 {"a <s>b \t ab", "0 10 9 1 10 11 10 2"}};
    static const char added[] = "[{\"id\":9,\"content\":\"<s>\",\"rstrip\":true},{\"id\":10,\"content\":\" \"},"
                                "{\"id\":11,\"content\":\"\\t\",\"lstrip\":true}]";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        encodes_added(small_model, added, cases[i].text, cases[i].want);
}

/* ---- limits ---- */

/* Whether a text of `count` letters a is encoded, of which the normalizer makes `each` bytes; else it is too large. */
static int grows(const bpe *model, size_t count, size_t each)
{
    char *text = test_block(count);
    bpe_tokens tokens;
    const char *error;
    test_case("%zu letters", count);
    memset(text, 'a', count);
    memset(&tokens, 0x5a, sizeof tokens);
    if ((error = bpe_encode(model, text, count, &tokens)) == NULL) {
        CHECK(tokens.count == count * each);
        bpe_tokens_free(&tokens);
    } else {
        CHECK(strcmp(error, "the normalizer makes the text too large") == 0 && !tokens.ids && !tokens.count);
    }
    return !error;
}

TEST(bpe_limits)
{
    static const char shorter[] = "[{\"id\":9,\"content\":\"%0128d\",\"normalized\":true}]",
                      longer[] = "[{\"id\":9,\"content\":\"%0129d\",\"normalized\":true}]";
    char *file, *added = test_block(512);
    members m = {0};
    size_t size;
    bpe model;
    bpe_tokens tokens;
    const char *error;
    m.normalizer = "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"bbbbbbbbbbbbbbbbbbbb\"}";
    m.added = added;
    snprintf(added, 512, shorter, 0);
    file = small_file(&m, &size);
    if (!CHECK(open_text(&model, file, size) == NULL))
        return;
    CHECK(grows(&model, 100, 20) && grows(&model, 1024, 20)); /* 1024 x 20 = 16 x 1024 + 4096 */
    CHECK(!grows(&model, 1025, 20) && !grows(&model, 100000, 20));
    memset(&tokens, 0x5a, sizeof tokens);
    error = bpe_encode(&model, file, (size_t)(1 << 30) + 1, &tokens);
    CHECK(error && strstr(error, "1 GiB") && !tokens.ids && tokens.count == 0);
    bpe_close(&model);
    snprintf(added, 512, longer, 0);
    file = small_file(&m, &size);
    if (!CHECK(open_text(&model, file, size) == NULL))
        return;
    CHECK(grows(&model, 256, 20) && !grows(&model, 257, 20)); /* 256 x 20 = 4 x 256 + 4096 */
    bpe_close(&model);
}

/* Text between added tokens is normalised part by part: what all of it becomes is bounded. */
TEST(bpe_growth_of_parts)
{
    members m = {0};
    char *text = test_block(1200), *file;
    size_t size;
    bpe model;
    bpe_tokens tokens;
    const char *error;
    m.normalizer = "{\"type\":\"Sequence\",\"normalizers\":["
                   "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":"
                   "\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"},"
                   "{\"type\":\"Replace\",\"pattern\":{\"String\":\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"},"
                   "\"content\":\"b\"}]}";
    m.added = "[{\"id\":9,\"content\":\"|\"}]";
    file = small_file(&m, &size);
    if (!CHECK(open_text(&model, file, size) == NULL))
        return;
    for (size = 0; size < 1200; size += 2)
        memcpy(text + size, "a|", 2);
    CHECK(bpe_encode(&model, text, 800, &tokens) == NULL && tokens.count == 800); /* 400 x 40 <= 16 x 800 + 4096 */
    bpe_tokens_free(&tokens);
    error = bpe_encode(&model, text, 1200, &tokens); /* 600 x 40 > 16 x 1200 + 4096 */
    CHECK(error && strstr(error, "too large") && !tokens.ids && tokens.count == 0);
    bpe_close(&model);
}

/* 40,000 added tokens that the normalizer writes with 450 bytes each: a trie of 17 million nodes. */
TEST(bpe_large_trie)
{
    static const char head[] =
        "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"x\"},\"content\":"
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"},"
        "\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},\"added_tokens\":[{\"id\":1,\"content\":\"y\"}";
    char *text = test_block(1 << 22);
    size_t size = strlen(head), bytes;
    memcpy(text, head, size);
    for (int i = 2; i < 40000; i++)
        size += (size_t)sprintf(text + size, ",{\"id\":%d,\"content\":\"%05dxxxxxxx\",\"normalized\":true}", i, i);
    memcpy(text + size, "]}", 2);
    test_memory_state.peak = bytes = test_memory_state.bytes;
    refused(text, size + 2, "xxx\": the normalizer makes too much of the tokens up to it");
    CHECK(test_memory_state.peak - bytes < (size_t)1 << 26);
}

TEST(bpe_decode_refuses)
{
    static const int32_t wrong[] = {-1, 4, 8, 10, INT32_MAX};
    members m = {0};
    size_t size;
    char *file = small_file(&m, &size);
    bpe model;
    if (!CHECK(open_text(&model, file, size) == NULL))
        return;
    CHECK(model.count == 10);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int32_t ids[2] = {0, 0};
        char *text = (char *)&text;
        const char *error;
        ids[1] = wrong[i];
        size = 12345;
        error = bpe_decode(&model, ids, 2, &text, &size);
        CHECK(error && strstr(error, "an id that the model does not have") && !text && !size);
    }
    bpe_close(&model);
}

/* ---- no memory ---- */

static const char *fail_nth(long n, const char *(*call)(bpe *model), bpe *model)
{
    const char *error;
    test_memory_state.fail_at = n;
    error = call(model);
    if (!error && test_memory_state.fail_at)
        error = "reached"; /* there is no nth allocation */
    test_memory_state.fail_at = 0;
    return error;
}

static const char *failing; /* the kind that call_open opens */

static const char *call_open(bpe *model)
{
    const char *error = bpe_open(model, kind_path(failing));
    if (!error)
        bpe_close(model);
    return error;
}

static const char *call_encode(bpe *model)
{
    static const char text[] =
        "\xff the is 123 \xef\xac\x81 [SEP] \xe1\xbe\xb3\xcc\x81 <s> xxexxexxexx, and so on, and so on";
    bpe_tokens tokens;
    const char *error;
    memset(&tokens, 0x5a, sizeof tokens);
    error = bpe_encode_as(model, text, sizeof text, BPE_SPECIAL, &tokens);
    if (!error)
        bpe_tokens_free(&tokens);
    else
        CHECK(tokens.count == 0 && !tokens.ids);
    return error;
}

static const char *call_decode(bpe *model)
{
    int32_t ids[200];
    char *text = (char *)&text;
    size_t size;
    const char *error;
    for (int i = 0; i < 200; i++)
        ids[i] = i;
    error = bpe_decode(model, ids, 200, &text, &size);
    if (!error)
        test_free(text);
    else
        CHECK(!text);
    return error;
}

static void fails_everywhere(const char *kind)
{
    static const struct {
        const char *name, *(*call)(bpe *model);
    } calls[] = {{"open", call_open}, {"encode", call_encode}, {"decode", call_decode}};
    bpe model;
    failing = kind;
    if (!open_kind(&model, kind))
        return;
    for (size_t i = 0; i < 3; i++) {
        long live = test_memory_state.live, n;
        for (n = 1; n < 200; n++) {
            bpe other;
            const char *error = fail_nth(n, calls[i].call, i ? &model : &other);
            test_case("%s, %s: allocation %ld fails", kind, calls[i].name, n);
            CHECK(test_memory_state.live == live);
            if (error && strcmp(error, "reached") == 0)
                break;
            CHECK(error && strstr(error, "no memory"));
        }
        CHECK(n > 1 && n < 200);
    }
    bpe_close(&model);
}

TEST(bpe_no_memory)
{
    fails_everywhere("odd");
    fails_everywhere("unigram");
    fails_everywhere("t5");
}
