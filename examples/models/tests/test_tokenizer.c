/* Tokenizers of directories: either kind, what stands before a text, templates of chats, broken files, memory. The ids
   are those of the tokenizers and sentencepiece packages; bpe.c and sentencepiece.c have their own tests. */
#define _DEFAULT_SOURCE 1 /* mkdtemp with -std=c99 */
#include "examples/models/text.h"
#include "examples/models/tokenizer.h"

#include "directory.h"

#define GOLDEN "examples/models/tests/golden/"
#define of_json GOLDEN "generate"
#define of_model GOLDEN "generate_model"

#include "golden/tags.h"
#include "lines.h"

/* ---- files ---- */

static const char *const names[] = {
    "tokenizer.json",    "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja",
    "added_tokens.json", "config.json"};

static int begin(void)
{
    return make_directory("tokenizers of its own");
}

static void end(void)
{
    remove_directory(names, sizeof names / sizeof *names);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static size_t read_file(const char *from, const char *name, char *text, size_t room)
{
    char path[300];
    size_t size = 0;
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", from, name);
    f = fopen(path, "rb");
    if (CHECK(f != NULL)) {
        size = fread(text, 1, room - 1, f);
        fclose(f);
    }
    text[size] = 0;
    return size;
}

static void copy_file(const char *from, const char *name)
{
    static char text[1 << 16];
    write_file(name, text, read_file(from, name, text, sizeof text));
}

static void rename_file(const char *from, const char *to)
{
    char path[300], other[300];
    snprintf(path, sizeof path, "%s/%s", directory, from);
    snprintf(other, sizeof other, "%s/%s", directory, to);
    CHECK(rename(path, other) == 0);
}

/* A vocabulary of letters and two special tokens, and what stands before a text: nothing, or <s>. */
static void write_letters(int with_bos)
{
    static const char post[] =
        "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}"
        "},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"Sequence\":{\"id\":\"A\","
        "\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],\"special_tokens\":{\"<s>\":{"
        "\"id\":\"<s>\",\"ids\":[3],\"tokens\":[\"<s>\"]}}}";
    char text[4096];
    snprintf(
        text, sizeof text,
        "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{\"id\":3,\"content\":\"<s>\","
        "\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true},{\"id\":4,"
        "\"content\":\"</s>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,"
        "\"special\":true}],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
        "\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":%s,\"decoder\":{\"type\":\"ByteLevel\","
        "\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true},\"model\":{\"type\":\"BPE\","
        "\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,"
        "\"fuse_unk\":false,\"byte_fallback\":false,\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}",
        with_bos ? post : "null");
    write_text("tokenizer.json", text);
}

/* ---- what is right ---- */

/* The ids of a text: those of the package, in a file. */
static void encodes(const char *path)
{
    char prompt[256], want[1024];
    tokenizer tokens;
    tokenizer_ids ids = {NULL, 0, 0};
    size_t size = read_file(of_json, "prompt.txt", prompt, sizeof prompt) - 1, text = 0;
    const char *at = want;
    char out[64], back[256];
    read_file(path, "ids.txt", want, sizeof want);
    test_case("%s", path);
    if (!CHECK(tokenizer_open(&tokens, path) == NULL))
        return;
    CHECK(tokenizer_begin(&tokens, &ids) == NULL && tokenizer_encode(&tokens, prompt, size, 0, &ids) == NULL);
    for (size_t i = 0; i < ids.count; i++) {
        CHECK(strtol(at, (char **)&at, 10) == ids.ids[i]);
        CHECK(ids.ids[i] >= 0 && (size_t)ids.ids[i] < tokens.count);
    }
    CHECK(*at == '\n');
    for (size_t i = 0; i < ids.count; i++) { /* piece by piece it comes back */
        size_t length = tokenizer_piece(&tokens, ids.ids[i], text == 0, out, sizeof out);
        if (!CHECK(length <= sizeof out && text + length <= sizeof back))
            break;
        CHECK(tokenizer_piece(&tokens, ids.ids[i], text == 0, NULL, 0) == length);
        memcpy(back + text, out, length);
        text += length;
    }
    CHECK(text == size && memcmp(back, prompt, size) == 0);
    CHECK(tokens.is_bpe || tokenizer_piece(&tokens, tokens.model.unk_id, 0, out, sizeof out) == 0);
    CHECK(tokenizer_piece(&tokens, -1, 0, out, sizeof out) == 0);
    CHECK(tokenizer_piece(&tokens, (int32_t)tokens.count, 0, out, sizeof out) == 0);
    tokenizer_ids_free(&ids);
    tokenizer_close(&tokens);
}

TEST(tokenizer_kinds)
{
    tokenizer tokens;
    tokenizer_ids ids = {NULL, 0, 0}, more = {NULL, 0, 0};
    int32_t end_id;
    encodes(of_json);
    encodes(of_model);
    if (CHECK(tokenizer_open(&tokens, of_json) == NULL)) {
        CHECK(tokens.is_bpe && tokens.before_count == 0 &&
              tokens.bos_id == tokenizer_special(&tokens, "<|endoftext|>"));
        CHECK(tokens.chat_template && strncmp(tokens.chat_template, "{% if messages[0]", 17) == 0);
        end_id = tokenizer_special(&tokens, "<|im_end|>");
        CHECK(end_id >= 0 && tokenizer_special(&tokens, "e") == -1 && tokenizer_special(&tokens, "") == -1);
        CHECK(tokenizer_piece(&tokens, end_id, 0, NULL, 0) == 0);
        CHECK(tokenizer_encode(&tokens, "a<|im_end|>", 11, 0, &ids) == NULL);
        for (size_t i = 0; i < ids.count; i++)
            CHECK(ids.ids[i] != end_id);
        tokenizer_ids_free(&ids);
        tokenizer_close(&tokens);
    }
    if (CHECK(tokenizer_open(&tokens, of_model) == NULL)) {
        CHECK(!tokens.is_bpe && tokens.before_count == 1 && tokens.before[0] == 1 && tokens.bos_id == 1);
        CHECK(tokenizer_special(&tokens, "</s>") == 2 && tokenizer_special(&tokens, "<unk>") == -1);
        CHECK(tokenizer_special(&tokens, "e") == -1 && tokenizer_special(&tokens, "no such") == -1);
        CHECK(tokenizer_encode(&tokens, " see", 4, 1, &ids) == NULL); /* inside: the space is the text's own */
        CHECK(tokenizer_encode(&tokens, "see", 3, 0, &more) == NULL);
        CHECK(ids.count == more.count && memcmp(ids.ids, more.ids, ids.count * sizeof *ids.ids) == 0);
        CHECK(tokenizer_encode(&tokens, "see", 3, 1, &ids) == NULL);
        CHECK(ids.count == more.count || ids.ids[more.count] != more.ids[0]);
        tokenizer_ids_free(&ids);
        tokenizer_ids_free(&more);
        tokenizer_close(&tokens);
    }
}

/* ---- tags that a model has as user-defined pieces ---- */

static void has_ids(const int32_t *ids, size_t count, size_t golden)
{
    CHECK(count == tag_goldens[golden].count);
    CHECK(count != tag_goldens[golden].count || !memcmp(ids, tag_goldens[golden].ids, count * sizeof *ids));
}

/* Tokenizers of a GGUF: the ids of the files that they were made of. */
TEST(tokenizer_gguf)
{
    static const char *const kinds[] = {"gpt2", "smollm", "llama3", "qwen2", "mistral_nemo", "bpe_bytes", "bpe_turns"};
    char path[128], *line = (char *)test_block(LINE_BYTES);
    if (!begin())
        return;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int is_json = k < 5;
        tokenizer of_gguf, same;
        snprintf(path, sizeof path, is_json ? GOLDEN "bpe/%s.json" : GOLDEN "%s.model", kinds[k]);
        contents file = read_all(path);
        write_file("tokenizer.json", is_json ? file.bytes : NULL, file.size);
        write_file("tokenizer.model", is_json ? NULL : file.bytes, file.size);
        snprintf(path, sizeof path, GOLDEN "gguf/tok_%s.gguf", kinds[k]);
        const char *error = tokenizer_open(&of_gguf, path), *other = tokenizer_open(&same, directory);
        test_case("%s: %s, %s", path, error ? error : "open", other ? other : "open");
        if (!CHECK(!error && !other))
            continue;
        CHECK(of_gguf.count == same.count && of_gguf.bos_id == same.bos_id && !*of_gguf.notes);
        CHECK(of_gguf.before_count == same.before_count && of_gguf.after_count == 0);
        for (size_t i = 0; i < LINE_COUNT; i += test_quick ? 100 : 10) {
            tokenizer_ids a = {0}, b = {0};
            size_t size = generate_line(i, line);
            if (size > 5000)
                continue;
            test_case("%s, line %lu", path, (unsigned long)i);
            CHECK(!tokenizer_begin(&of_gguf, &a) && !tokenizer_encode(&of_gguf, line, size, 0, &a));
            CHECK(!tokenizer_begin(&same, &b) && !tokenizer_encode(&same, line, size, 0, &b));
            int alike = a.count == b.count && (a.count == 0 || memcmp(a.ids, b.ids, a.count * sizeof *a.ids) == 0);
            tokenizer_ids_free(&a);
            tokenizer_ids_free(&b);
            if (!CHECK(alike))
                break;
        }
        tokenizer_close(&of_gguf);
        tokenizer_close(&same);
    }
    end();
    test_release();
}

/* A text of a chat in tok_chatml.gguf has the tokens of the special one, and of a text of its own, or of what is inside
   one where it begins with a space. */
static void goes_on(const tokenizer *tokens, const char *text, size_t special)
{
    static const unsigned char said[32] = {0};
    tokenizer_ids a = {0}, b = {0};
    size_t size = strlen(text);
    int alike;
    test_case("%s", text);
    CHECK(!tokenizer_encode_said(tokens, text, said, size, &a) &&
          !tokenizer_encode(tokens, text + special, size - special, text[special] == ' ', &b));
    alike = a.count == b.count + 1 && b.count > 0 && memcmp(a.ids + 1, b.ids, b.count * sizeof *b.ids) == 0;
    CHECK(alike && a.ids[0] == tokenizer_special(tokens, "<|im_start|>"));
    tokenizer_ids_free(&a);
    tokenizer_ids_free(&b);
}

/* Writes a file of golden/gguf with a text in it replaced by one of the same length, and opens it. */
static const char *open_other(tokenizer *tokens, const char *name, const char *text, const char *other)
{
    char path[160];
    contents file;
    size_t size = strlen(text), at = 0;
    snprintf(path, sizeof path, GOLDEN "gguf/%s", name);
    file = read_all(path);
    while (at + size < file.size && memcmp(file.bytes + at, text, size) != 0)
        at++;
    memcpy(file.bytes + at, other, size);
    write_file("other.gguf", file.bytes, file.size);
    snprintf(path, sizeof path, "%s/other.gguf", directory);
    return tokenizer_open(tokens, path);
}

TEST(tokenizer_gguf_others)
{
    tokenizer tokens, same;
    const char *error;
    if (!begin())
        return;
    if (CHECK(tokenizer_open(&tokens, GOLDEN "gguf/tok_chatml.gguf") == NULL)) {
        CHECK(strstr(tokens.notes, ": chat_template has none that is named \"default\"\n"));
        CHECK(strchr(tokens.notes, '\n')[1] == 0);
        goes_on(&tokens, "<|im_start|>user", 12);
        goes_on(&tokens, "<|im_start|> user", 12);
        tokenizer_close(&tokens);
    }
    error = open_other(&tokens, "tok_chatml.gguf", "add_space_prefix", "padding_token_id");
    CHECK(error && strstr(error, "other.gguf: tokenizer.ggml.padding_token_id has a value of another kind"));
    /* a tag, whatever its type, which here was that of a piece */
    if (CHECK(open_other(&tokens, "tok_chatml.gguf", "tence", "<EOT>") == NULL)) {
        goes_on(&tokens, "<|im_start|>user", 12);
        tokenizer_ids ids = {0};
        CHECK(!tokenizer_encode_said(&tokens, "<EOT>", (const unsigned char *)"\0\0\0\0\0", 5, &ids));
        CHECK(ids.count == 1 && ids.ids[0] == 80);
        tokenizer_ids_free(&ids);
        tokenizer_close(&tokens);
    }
    /* SmolLM3's: as Llama 3's, without a bos */
    if (CHECK(open_other(&tokens, "tok_llama3.gguf", "llama-bpe", "smaug-bpe") == NULL)) {
        static const char text[] = "Hello  world, 12345 it's\n\n ok";
        tokenizer_ids a = {0}, b = {0};
        CHECK(tokenizer_open(&same, GOLDEN "gguf/tok_llama3.gguf") == NULL);
        CHECK(tokens.before_count == 0 && same.before_count == 1);
        CHECK(!tokenizer_encode(&tokens, text, sizeof text - 1, 0, &a) &&
              !tokenizer_encode(&same, text, sizeof text - 1, 0, &b));
        CHECK(a.count == b.count && memcmp(a.ids, b.ids, a.count * sizeof *a.ids) == 0);
        tokenizer_ids_free(&a);
        tokenizer_ids_free(&b);
        tokenizer_close(&tokens);
        tokenizer_close(&same);
    }
    error = open_other(&tokens, "tok_gpt2.gguf", "ggml.merges", "ggml.mergex");
    CHECK(error && strstr(error, "other.gguf: tokenizer.ggml.merges is no array of texts"));
    write_file("other.gguf", NULL, 0);
    end();
    test_release();
}

/* As the SentencePiece library, once they are control pieces; after each failing allocation the model is closed. */
TEST(tokenizer_reserves)
{
    for (size_t i = 0; i < sizeof tag_goldens / sizeof *tag_goldens; i++) {
        const char *text = tag_goldens[i].text;
        long live = test_memory_state.live;
        sentencepiece_tokens found;
        sentencepiece model;
        char path[300];
        snprintf(path, sizeof path, GOLDEN "%s.model", tag_goldens[i].model);
        test_case("%s: %s", path, text);
        if (!CHECK(sentencepiece_open(&model, path) == NULL) ||
            !CHECK(sentencepiece_reserve(&model, tag_goldens[i].names) == NULL))
            return;
        CHECK(sentencepiece_reserve(&model, tag_goldens[i].names) == NULL); /* there is nothing left to do */
        if (CHECK(sentencepiece_encode(&model, text, strlen(text), &found) == NULL)) {
            has_ids(found.ids, found.count, i);
            sentencepiece_tokens_free(&found);
        }
        sentencepiece_close(&model);
        CHECK(sentencepiece_open(&model, path) == NULL);
        for (long n = 1;; n++) {
            test_memory_state.fail_at = n;
            const char *error = sentencepiece_reserve(&model, tag_goldens[i].names);
            int failed = !test_memory_state.fail_at;
            test_memory_state.fail_at = 0;
            CHECK(failed ? error && strcmp(error, "no memory") == 0 : !error);
            if (!error)
                break;
            CHECK(test_memory_state.live == live && sentencepiece_open(&model, path) == NULL);
        }
        sentencepiece_close(&model);
        CHECK(test_memory_state.live == live);
    }
}

TEST(tokenizer_reserves_all)
{
    static const char proto[] = "\n\011\n\005<unk>\030\002\n\005\n\001a\030\004";
    static const char *const both[] = {"b", "a", NULL};
    sentencepiece model;
    if (CHECK(sentencepiece_parse(&model, proto, sizeof proto - 1, "proto") == NULL))
        CHECK(strcmp(sentencepiece_reserve(&model, both), "no pieces") == 0);
}

/* What a user writes is no tag of Gemma's; other user-defined pieces are what they are. */
TEST(tokenizer_tags)
{
    tokenizer tokens;
    if (!begin())
        return;
    copy_file(GOLDEN, "bpe_turns.model");
    rename_file("bpe_turns.model", "tokenizer.model");
    if (CHECK(tokenizer_open(&tokens, directory) == NULL)) {
        int32_t tag = tokenizer_special(&tokens, "<start_of_turn>");
        CHECK(tag >= 0 && tokenizer_piece(&tokens, tag, 0, NULL, 0) == 0);
        CHECK(tokenizer_special(&tokens, "<|user|>") >= 0 && tokenizer_special(&tokens, "<table>") == -1);
        for (size_t i = 0; i < 5; i++) {
            tokenizer_ids ids = {NULL, 0, 0};
            const char *text = tag_goldens[i].text;
            test_case("%s", text);
            CHECK(tokenizer_encode(&tokens, text, strlen(text), 0, &ids) == NULL);
            has_ids(ids.ids, ids.count, i);
            ids.count = 0;
            CHECK(tokenizer_encode(&tokens, text, strlen(text), 1, &ids) == NULL); /* no space before it either way */
            has_ids(ids.ids, ids.count, i);
            tokenizer_ids_free(&ids);
        }
        tokenizer_close(&tokens);
    }
    end();
}

/* ---- what stands before a text ---- */

/* opens CONFIG, and so many tokens stand before a text: <s>. */
static void before(const char *config, size_t count, int32_t bos_id)
{
    tokenizer tokens;
    test_case("tokenizer_config.json %s", config ? config : "none");
    write_file("tokenizer_config.json", config, config ? strlen(config) : 0);
    if (!CHECK(tokenizer_open(&tokens, directory) == NULL))
        return;
    CHECK(tokens.before_count == count && (count == 0 || tokens.before[0] == bos_id));
    CHECK(tokens.bos_id == bos_id);
    tokenizer_close(&tokens);
}

TEST(tokenizer_before)
{
    if (!begin())
        return;
    write_letters(1);
    before("{}", 1, 3);
    before("{\"add_bos_token\":false}", 1, 3); /* as transformers 5 */
    before("{\"add_bos_token\":null,\"bos_token\":null}", 1, 3);
    before("{\"add_bos_token\":true,\"bos_token\":\"<s>\"}", 1, 3);
    write_letters(0);
    before("{}", 0, -1);
    before("{\"add_bos_token\":true}", 0, -1);
    before("{\"add_bos_token\":true,\"bos_token\":\"<s>\"}", 0, 3);
    before("{\"bos_token\":{\"content\":\"<s>\"}}", 0, 3);
    before("{\"bos_token\":\"ab\"}", 0, 2); /* which becomes a special token */
    before("{\"bos_token\":\"x\"}", 0, -1);
    before("{\"bos_token\":[\"<s>\"]}", 0, -1);
    end();
    if (!begin())
        return;
    copy_file(of_model, "tokenizer.model");
    before("{}", 1, 1);
    before("{\"add_bos_token\":false}", 0, 1);
    write_text("special_tokens_map.json", "{\"bos_token\":{\"content\":\"</s>\"},\"eos_token\":null}");
    before("{\"bos_token\":\"<s>\"}", 1, 2);                             /* as transformers, this goes before it .. */
    before("{\"bos_token\":\"<s>\",\"added_tokens_decoder\":{}}", 1, 1); /* .. unless this is there */
    end();
}

/* ---- what is wrong ---- */

static void refused(const char *says)
{
    tokenizer tokens;
    const char *error = tokenizer_open(&tokens, directory);
    if (!CHECK(error && strstr(error, says) && strncmp(error, directory, strlen(directory)) == 0))
        fprintf(stderr, "    %s\n", error ? error : "nothing");
    if (!error)
        tokenizer_close(&tokens);
}

/* So many tokens stand behind a text: </s>. */
static void after(const char *config, size_t count)
{
    tokenizer tokens;
    tokenizer_ids ids = {NULL, 0, 0};
    test_case("tokenizer_config.json %s", config ? config : "none");
    write_file("tokenizer_config.json", config, config ? strlen(config) : 0);
    if (!CHECK(tokenizer_open(&tokens, directory) == NULL))
        return;
    CHECK(tokenizer_end(&tokens, &ids) == NULL && ids.count == count && (count == 0 || ids.ids[0] == tokens.eos_id));
    CHECK(count == 0 || tokenizer_last(&tokens) >= tokens.eos_id);
    tokenizer_ids_free(&ids);
    tokenizer_close(&tokens);
}

TEST(tokenizer_after)
{
    if (!begin())
        return;
    write_letters(1);
    after("{}", 0);
    after("{\"eos_token\":\"</s>\"}", 0);
    after("{\"eos_token\":\"</s>\",\"add_eos_token\":false}", 0);
    after("{\"eos_token\":{\"content\":\"</s>\"},\"add_eos_token\":true}", 0);
    end();
    if (!begin())
        return;
    copy_file(of_model, "tokenizer.model");
    after("{\"add_eos_token\":true}", 1);
    after("{\"add_eos_token\":null}", 0);
    end();
}

/* Members that nobody knows, and tokens that the vocabulary lacks: a line for each, or a message. */
static void notes_two(const char *config, const char *line, const char *more)
{
    tokenizer tokens;
    char want[900] = "";
    test_case("tokenizer_config.json %s", config ? config : "none");
    write_file("tokenizer_config.json", config, config ? strlen(config) : 0);
    if (*line)
        snprintf(want, sizeof want, "%s/%s\n", directory, line);
    if (*more)
        snprintf(want + strlen(want), sizeof want - strlen(want), "%s/%s\n", directory, more);
    if (!CHECK(tokenizer_open(&tokens, directory) == NULL))
        return;
    CHECK(strcmp(tokens.notes, want) == 0 && !tokens.error[0]);
    tokenizer_close(&tokens);
}

static void notes(const char *config, const char *line)
{
    notes_two(config, line, "");
}

TEST(tokenizer_members)
{
    static const char around[] = "tokenizer_config.json: what tokenizer.json puts around a text counts here, and not "
                                 "add_bos_token and add_eos_token, as in transformers 5; not so in 4";
    static const char other[] = "{\"added_tokens_decoder\":{\"9\":{\"content\":\"<x>\",\"special\":true}}}";
    if (!begin())
        return;
    write_letters(1);
    notes("{\"backend\":\"tokenizers\",\"is_local\":true,\"model_max_length\":9,\"clean_up_tokenization_spaces\":true}",
          "");
    notes("{\"cut\":1,\"legacy\":null,\"\\u001b\":2}",
          "tokenizer_config.json: unknown members are not looked at: cut, \\x1b");
    notes("{\"added_tokens_decoder\":{\"3\":{\"content\":\"<s>\",\"special\":true}}}", "");
    notes(other, "tokenizer_config.json: the token \"<x>\" is not in the vocabulary");
    notes("{\"add_prefix_space\":false}", "");
    notes("{\"tokenizer_class\":\"LlamaTokenizerFast\",\"eos_token\":\"</s>\"}", "");
    notes("{\"tokenizer_class\":\"LlamaTokenizerFast\",\"add_bos_token\":true,\"bos_token\":\"<s>\"}", "");
    notes("{\"tokenizer_class\":\"LlamaTokenizer\",\"add_bos_token\":false}", around);
    notes("{\"tokenizer_class\":\"GemmaTokenizer\",\"add_eos_token\":true}", around);
    notes("{\"tokenizer_class\":\"GemmaTokenizer\",\"bos_token\":\"</s>\"}", around);
    notes("{\"tokenizer_class\":\"PreTrainedTokenizerFast\",\"add_bos_token\":false,\"add_eos_token\":true}", "");
    write_text("tokenizer_config.json", "{\"added_tokens_decoder\":{\"9\":{\"content\":\"<x>\"}}}");
    refused("/tokenizer_config.json: the token \"<x>\" is not in the vocabulary");
    write_text("tokenizer_config.json", "{\"add_prefix_space\":true}");
    refused("/tokenizer_config.json: add_prefix_space is not as tokenizer.json has it");
    write_text("tokenizer_config.json", "{\"add_eos_token\":1}");
    refused("/tokenizer_config.json: add_eos_token is neither true nor false");
    write_text("added_tokens.json", "{\"<x>\":9}");
    notes("{\"added_tokens_decoder\":{}}", ""); /* this counts */
    write_text("tokenizer_config.json", "{}");
    refused("/added_tokens.json: the token \"<x>\" is not in the vocabulary");
    write_text("added_tokens.json", "{\"<s>\":3,\"a\":0}");
    refused("/added_tokens.json: \"a\" is no added token in tokenizer.json");
    write_text("added_tokens.json", "{\"<s>\":3,\"</s>\":4}");
    notes("{}", "");
    end();
    if (!begin())
        return;
    copy_file(of_model, "tokenizer.model");
    write_text("added_tokens.json", "{\"<s>\":1,\"<pad>\":32000}");
    notes("{}", "added_tokens.json: the token \"<pad>\" is not in the vocabulary");
    write_text("added_tokens.json", "{\"<x>\":9}");
    refused("/added_tokens.json: the token \"<x>\" is not in the vocabulary");
    write_text("added_tokens.json", "[]");
    refused("/added_tokens.json: not an object");
    end();
}

/* What transformers 5 makes of a tokenizer_class is noted where it is another; published files have no notes. */
TEST(tokenizer_classes)
{
    static const char other[] =
        "normalizer and pre_tokenizer of tokenizer.json count here; transformers 5 has others for "
        "this tokenizer_class or model_type";
    static const char spaces[] = "a text that begins with a space, and in chats what follows special tokens, gets one "
                                 "more, as in transformers 4; 5 adds none";
    static const char legacy[] = "in chats, a U+2581 stands behind special tokens where tokenizer.json puts one, as in "
                                 "transformers 4; 5 goes by \"legacy\"";
    static const char space[] = "add_prefix_space does not count: tokenizer.json puts no space in front of texts";
    static const struct {
        const char *kind, *config, *note, *more, *model; /* model: config.json */
    } cases[] = {
        {"llama2", "{\"tokenizer_class\":\"LlamaTokenizer\",\"bos_token\":\"<s>\",\"legacy\":false}", spaces, "", NULL},
        {"llama2", "{\"tokenizer_class\":\"LlamaTokenizer\",\"legacy\":true,\"chat_template\":\"x\"}", spaces, "",
         NULL},
        {"llama2", "{\"tokenizer_class\":\"LlamaTokenizerFast\",\"legacy\":false,\"chat_template\":\"x\"}", spaces,
         legacy, NULL},
        {"llama2", "{\"tokenizer_class\":\"LlamaTokenizerFast\"}", "", "", "{\"model_type\":\"mistral\"}"},
        {"llama2", "{}", spaces, "", "{\"model_type\":\"llama\",\"tokenizer_class\":\"LlamaTokenizerFast\"}"},
        {"llama2", "{}", other, "", "{\"model_type\":\"gemma2\"}"},
        {"llama3", "{\"tokenizer_class\":\"LlamaTokenizerFast\"}", other, "", "{\"model_type\":\"qwen2\"}"},
        {"llama3", "{\"tokenizer_class\":\"LlamaTokenizerFast\"}", "", "", "{\"model_type\":\"qwen3\"}"},
        {"llama3", "{}", other, "", "{\"model_type\":\"qwen3\"}"},
        {"llama3", NULL, other, "", "{\"model_type\":\"qwen3\"}"},
        {"qwen2", "{}", "", "", "{\"model_type\":\"qwen3\"}"},
        {"mistral", "{\"tokenizer_class\":\"LlamaTokenizer\",\"chat_template\":\"x\"}", "", "", NULL},
        {"mistral", "{\"tokenizer_class\":\"LlamaTokenizer\",\"legacy\":true,\"chat_template\":\"x\"}", legacy, "",
         NULL},
        {"metaspace", "{\"tokenizer_class\":\"LlamaTokenizer\",\"add_bos_token\":false}", other, "", NULL},
        {"metaspace", "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}", "", "", NULL},
        {"llama3", "{\"tokenizer_class\":\"LlamaTokenizerFast\"}", "", "", NULL},
        {"llama3", "{\"add_prefix_space\":true}", space, "", NULL},
        {"gemma", "{\"tokenizer_class\":\"GemmaTokenizer\",\"bos_token\":\"<bos>\"}",
         "the token \"<bos>\" is not in the vocabulary", "", NULL},
        {"llama2", "{\"tokenizer_class\":\"GemmaTokenizer\"}", other, "", NULL},
        {"qwen2", "{\"tokenizer_class\":\"Qwen2Tokenizer\",\"add_prefix_space\":false}", "", "", NULL},
        {"qwen2", "{\"tokenizer_class\":\"Qwen2Tokenizer\",\"add_prefix_space\":true}", space, "", NULL},
        {"qwen35", "{\"tokenizer_class\":\"Qwen2Tokenizer\"}", other, "", NULL},
        {"llama3", "{\"tokenizer_class\":\"GPTNeoXTokenizerFast\"}", other, "", NULL},
        {"llama3", "{\"tokenizer_class\":\"TokenizersBackend\"}", "", "", NULL},
        {"llama2", "{\"tokenizer_class\":\"CodeLlamaTokenizer\",\"fill_token\":\"<s>\"}", spaces, "", NULL},
        {"llama2",
         "{\"tokenizer_class\":\"LlamaTokenizer\",\"pad_token\":\"a\",\"added_tokens_decoder\":{\"0\":{},"
         "\"1\":{},\"2\":{},\"416\":{},\"417\":{},\"418\":{}}}",
         spaces, "", NULL},
        {"llama2", "{\"tokenizer_class\":\"LlamaTokenizer\",\"added_tokens_decoder\":{\"0\":{}}}", spaces,
         "added_tokens_decoder has fewer tokens than tokenizer.json, which counts here; transformers 5 knows no others",
         NULL},
        {"gpt2", "{\"tokenizer_class\":\"GPT2Tokenizer\",\"vocab_size\":3}", "", "", NULL},
        {"smollm", "{\"tokenizer_class\":\"GPT2Tokenizer\"}", other, "", NULL},
        {"mistral", "{\"tokenizer_class\":\"GPT2Tokenizer\"}", other, "", NULL},
    };
    if (!begin())
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *file = cases[i].config ? "tokenizer_config.json" : "tokenizer.json";
        char name[64], line[400] = "", more[400] = "";
        snprintf(name, sizeof name, "%s.json", cases[i].kind);
        copy_file(GOLDEN "bpe", name);
        rename_file(name, "tokenizer.json");
        if (*cases[i].note)
            snprintf(line, sizeof line, "%s: %s", file, cases[i].note);
        if (*cases[i].more)
            snprintf(more, sizeof more, "%s: %s", file, cases[i].more);
        write_file("config.json", cases[i].model, cases[i].model ? strlen(cases[i].model) : 0);
        notes_two(cases[i].config, line, more);
    }
    end();
}

/* The ids of a text, with what tokenizer_config.json says of added tokens: as transformers has them. */
static void amended(const char *config, const char *text, const char *want)
{
    tokenizer tokens;
    tokenizer_ids ids = {NULL, 0, 0};
    char got[200] = "";
    write_text("tokenizer_config.json", config);
    test_case("tokenizer_config.json %s, %s", config, text);
    if (!CHECK(tokenizer_open(&tokens, directory) == NULL))
        return;
    CHECK(tokenizer_encode_said(&tokens, text, NULL, strlen(text), &ids) == NULL && !*tokens.notes);
    for (size_t i = 0; i < ids.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%ld ", (long)ids.ids[i]);
    CHECK(strcmp(got, want) == 0);
    tokenizer_ids_free(&ids);
    tokenizer_close(&tokens);
}

TEST(tokenizer_amends)
{
#define TOKEN(id, flags) "\"" #id "\":{" flags "}"
#define DECODER(tokens) "{\"added_tokens_decoder\":{" tokens "}}"
    static const char *const broken = DECODER(TOKEN(9, "\"content\":\"<x>\",\"lstrip\":1"));
    if (!begin())
        return;
    write_text("tokenizer.json",
               "{\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\" \":3},\"merges\":[\"a b\"]},\"added_tokens\":["
               "{\"id\":4,\"content\":\"<x>\",\"lstrip\":true},{\"id\":5,\"content\":\"<y>\",\"special\":true}]}");
    amended("{}", "ab <x> <y>b", "2 4 3 5 1 ");
    amended(DECODER(TOKEN(4, "\"content\":\"<x>\"")), "ab <x> <y>b", "2 3 4 3 5 1 ");
    amended(DECODER(TOKEN(4, "\"content\":\"<x>\",\"rstrip\":true")), "ab <x> <y>b", "2 3 4 5 1 ");
    amended(DECODER(TOKEN(5, "\"content\":\"<y>\",\"special\":true,\"lstrip\":true")), "ab <x> <y>b", "2 4 5 1 ");
    amended(DECODER(TOKEN(1, "\"content\":\"b\"")), "ab <x>ab", "0 1 4 0 1 ");
    write_text("tokenizer_config.json", broken);
    refused("/tokenizer_config.json: the token \"<x>\": lstrip is neither true nor false");
    end();
#undef TOKEN
#undef DECODER
}

/* "legacy": false beside tokenizer.model: a space goes in front of a text that begins with none, and behind no token. */
TEST(tokenizer_legacy)
{
    static const char *const texts[] = {"a b", " a b", "\342\226\201a b"};
    static const unsigned char said[8] = {0};
    if (!begin())
        return;
    copy_file(of_model, "tokenizer.model");
    for (int legacy = 0; legacy < 2; legacy++) {
        tokenizer tokens;
        write_text("tokenizer_config.json", legacy ? "{\"legacy\":true}" : "{\"legacy\":false}");
        if (!CHECK(tokenizer_open(&tokens, directory) == NULL))
            continue;
        for (int i = 0; i < 3; i++) {
            tokenizer_ids a = {NULL, 0, 0}, b = {NULL, 0, 0}, c = {NULL, 0, 0};
            size_t size = strlen(texts[i]);
            test_case("legacy %d, %s", legacy, texts[i]);
            CHECK(!tokenizer_encode(&tokens, texts[i], size, 0, &a) &&
                  !tokenizer_encode(&tokens, texts[i], size, 1, &b));
            CHECK((a.count == b.count && memcmp(a.ids, b.ids, a.count * sizeof *a.ids) == 0) == (!legacy && i > 0));
            CHECK(!tokenizer_encode_said(&tokens, "<s>a", said, 4, &c) && c.count > 1 && c.ids[0] == tokens.bos_id);
            a.count = 0;
            CHECK(!tokenizer_encode(&tokens, "a", 1, !legacy, &a));
            CHECK(c.count == a.count + 1 && memcmp(c.ids + 1, a.ids, a.count * sizeof *a.ids) == 0);
            tokenizer_ids_free(&a);
            tokenizer_ids_free(&b);
            tokenizer_ids_free(&c);
        }
        tokenizer_close(&tokens);
    }
    write_text("tokenizer_config.json", "{\"add_prefix_space\":false}");
    refused("/tokenizer_config.json: add_prefix_space is false, and tokenizer.model puts a space in front of texts");
    notes(NULL, "tokenizer.model: without tokenizer_config.json a bos token goes before a text, as in transformers 4; "
                "5 may put none");
    notes("{\"legacy\":false,\"eos_token\":\"<|im_end|>\"}",
          "tokenizer_config.json: the token \"<|im_end|>\" is not in the vocabulary");
    copy_file(GOLDEN, "unigram_suffix.model");
    rename_file("unigram_suffix.model", "tokenizer.model"); /* has <mask> */
    notes("{\"legacy\":false}", "");
    notes("{}", "tokenizer_config.json: in chats no space is put behind special tokens, as their publishers have it; "
                "transformers puts one unless \"legacy\" is false");
    end();
}

/* What is named as a special token beside the vocabulary is one. */
TEST(tokenizer_named)
{
    static const struct {
        const char *config, *map;
    } cases[] = {{"{\"eos_token\":\"ab\"}", NULL},
                 {"{\"additional_special_tokens\":[\"ab\"]}", NULL},
                 {"{\"extra_special_tokens\":[{\"content\":\"ab\"}]}", NULL},
                 {"{\"extra_special_tokens\":{\"end\":\"ab\"}}", NULL},
                 {"{}", "{\"pad_token\":\"ab\"}"},
                 {"{}", "{\"additional_special_tokens\":[\"ab\"]}"}};
    if (!begin())
        return;
    write_letters(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tokenizer tokens;
        tokenizer_ids ids = {NULL, 0, 0};
        test_case("%s %s", cases[i].config, cases[i].map ? cases[i].map : "");
        write_text("tokenizer_config.json", cases[i].config);
        write_file("special_tokens_map.json", cases[i].map, cases[i].map ? strlen(cases[i].map) : 0);
        if (!CHECK(tokenizer_open(&tokens, directory) == NULL))
            continue;
        CHECK(tokenizer_special(&tokens, "ab") == 2 && tokenizer_special(&tokens, "a") == -1 && !*tokens.notes);
        CHECK(tokenizer_piece(&tokens, 2, 0, NULL, 0) == 0);
        CHECK(tokenizer_encode_said(&tokens, "aab", NULL, 3, &ids) == NULL);
        CHECK(ids.count == 2 && ids.ids[0] == 0 && ids.ids[1] == 2);
        tokenizer_ids_free(&ids);
        tokenizer_close(&tokens);
    }
    write_file("special_tokens_map.json", NULL, 0);
    notes("{\"additional_special_tokens\":[\"<x>\"],\"pad_token\":\"<s>\"}",
          "tokenizer_config.json: the token \"<x>\" is not in the vocabulary");
    notes("{\"chat_template\":[{\"name\":\"rag\",\"template\":\"a\"}]}",
          "tokenizer_config.json: chat_template has none that is named \"default\"");
    notes("{\"chat_template\":5}", "tokenizer_config.json: chat_template is no text");
    write_file("additional_chat_templates", "", 0);
    notes("{}", "additional_chat_templates: templates in it are not looked at");
    write_file("additional_chat_templates", NULL, 0);
    write_text("tekken.json", "{}");
    notes("{}", "tekken.json: it is not looked at: where transformers 5 reads it, texts may be cut otherwise");
    write_file("tekken.json", NULL, 0);
    notes("{\"split_special_tokens\":true}", "tokenizer_config.json: split_special_tokens is true: in chats, special "
                                             "tokens of the template are tokens all the same");
    end();
}

/* Of more notes than there is room for, the first stay, each once, and the last line tells of the rest. */
TEST(tokenizer_many_notes)
{
    char lines[TEXT_NOTES] = "", prefix[300];
    size_t i, count = 0;
    memset(prefix, 'p', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = 0;
    for (i = 0; i < 100; i++)
        text_note(lines, prefix, "%lu", (unsigned long)(i / 2));
    for (i = 0; lines[i]; i++)
        count += lines[i] == '\n';
    CHECK(count > 12 && i < TEXT_NOTES && strncmp(lines + 299, "0\np", 3) == 0 && strstr(lines, "p11\n"));
    CHECK(strcmp(strrchr(lines, 'p') + 4, "there is more to note than is shown here\n") == 0);
}

static void last_is(int32_t want)
{
    tokenizer tokens;
    if (!CHECK(tokenizer_open(&tokens, directory) == NULL))
        return;
    CHECK(tokenizer_last(&tokens) == want);
    tokenizer_close(&tokens);
}

/* The last id that a text may have: special tokens and control pieces are in none, unless they stand before it. */
TEST(tokenizer_last)
{
#define LETTERS(added, post)                                                                                           \
    "{\"model\":{\"vocab\":{\"a\":0,\"b\":7},\"merges\":[]},\"added_tokens\":[" added "]" post "}"
#define SPECIAL "{\"id\":9,\"content\":\"<s>\",\"special\":true}"
    static const char proto[] = "\n\011\n\005<unk>\030\002\n\005\n\001a\030\001"
                                "\n\005\n\001b\030\003\n\005\n\001c\030\005"; /* b: control, c: unused */
    if (!begin())
        return;
    write_text("tokenizer.json", LETTERS("", ""));
    last_is(7);
    write_text("tokenizer.json", LETTERS(SPECIAL, ""));
    last_is(7);
    write_text("tokenizer.json", LETTERS(SPECIAL ",{\"id\":8,\"content\":\"c\"}", ""));
    last_is(8);
    write_text("tokenizer.json", LETTERS(SPECIAL, ",\"post_processor\":{\"type\":\"TemplateProcessing\","
                                                  "\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},{\"Sequence\":{}}],"
                                                  "\"special_tokens\":{\"<s>\":{\"ids\":[9]}}}"));
    last_is(9);
    end();
    if (!begin())
        return;
    write_file("tokenizer.model", proto, sizeof proto - 1);
    last_is(1);
    end();
}

static void template_is(const char *want)
{
    tokenizer tokens;
    if (!CHECK(tokenizer_open(&tokens, directory) == NULL))
        return;
    CHECK(want ? tokens.chat_template && strcmp(tokens.chat_template, want) == 0 : !tokens.chat_template);
    tokenizer_close(&tokens);
}

TEST(tokenizer_templates)
{
    if (!begin())
        return;
    write_letters(0);
    template_is(NULL);
    write_text("tokenizer_config.json", "{\"chat_template\":\"a\\n\\u00e9\"}");
    template_is("a\n\xc3\xa9");
    write_text("tokenizer_config.json", "{\"chat_template\":[{\"name\":\"tools\",\"template\":\"t\"},"
                                        "{\"name\":\"default\",\"template\":\"d\"}]}");
    template_is("d");
    write_text("tokenizer_config.json", "{\"chat_template\":[{\"name\":\"default\",\"template\":\"d\"},"
                                        "{\"name\":\"default\",\"template\":\"e\"}]}");
    template_is("e");
    write_text("tokenizer_config.json", "{\"chat_template\":{\"tools\":\"t\",\"default\":\"o\"}}");
    template_is("o");
    write_text("tokenizer_config.json", "{\"chat_template\":[{\"name\":\"tools\",\"template\":\"t\"}]}");
    template_is(NULL);
    write_text("tokenizer_config.json", "{\"chat_template\":[1,null,{\"name\":\"default\",\"template\":7}]}");
    template_is(NULL);
    write_text("tokenizer_config.json", "{\"chat_template\":\"a\"}");
    write_text("chat_template.jinja", "b");
    template_is("b");
    end();
}

TEST(tokenizer_errors)
{
    static char path[5000];
    tokenizer tokens;
    if (!begin())
        return;
    refused(": there is neither tokenizer.json nor tokenizer.model");
    write_text("tokenizer.model", "nonsense");
    refused("/tokenizer.model: ");
    copy_file(of_model, "tokenizer.model");
    write_text("tokenizer.json", "{");
    refused("/tokenizer.json: ");
    write_letters(0);
    write_text("tokenizer_config.json", "{\"a\":");
    refused("/tokenizer_config.json: byte 5: ");
    write_text("tokenizer_config.json", "[]");
    refused("/tokenizer_config.json: not an object");
    end();
    CHECK(tokenizer_open(&tokens, "no\x1b[31m/such\302\205") == tokens.error);
    CHECK(!strncmp(tokens.error, "no\\x1b[31m/such\\xc2\\x85: there is neither", 40));
    memset(path, 'x', sizeof path - 1);
    CHECK(strstr(tokenizer_open(&tokens, path), "the path is too long"));
    CHECK(strlen(tokens.error) < sizeof tokens.error);
}

/* Every allocation fails once: a message, and nothing is lost. */
TEST(tokenizer_memory)
{
    static const char *const paths[] = {of_json, of_model};
    for (size_t i = 0; i < 2; i++) {
        long live = test_memory_state.live;
        int done = 0;
        for (long fail = 1; !done && fail < 1000; fail++) {
            tokenizer tokens;
            tokenizer_ids ids = {NULL, 0, 0};
            const char *error;
            test_case("%s, allocation %ld", paths[i], fail);
            test_memory_state.calls = 0;
            test_memory_state.fail_at = fail;
            error = tokenizer_open(&tokens, paths[i]);
            if (!error) {
                error = tokenizer_encode(&tokens, "a text", 6, 0, &ids);
                done = !error && test_memory_state.fail_at > 0; /* none has failed */
                CHECK(!error || ids.count == 0);
                tokenizer_ids_free(&ids);
                tokenizer_close(&tokens);
            }
            CHECK(!error || strstr(error, "no memory"));
            test_memory_state.fail_at = 0;
            CHECK(test_memory_state.live == live);
        }
        CHECK(done);
    }
}

/* ---- what a template makes ---- */

static void encodes_said(const tokenizer *tokens, const char *text, const char *marks, const char *want)
{
    unsigned char said[64];
    char got[200] = "";
    tokenizer_ids ids = {NULL, 0, 0};
    size_t size = strlen(text), used = 0;
    test_case("%s, %s", text, marks);
    for (size_t i = 0; i < size; i++)
        said[i] = marks[i] == 'x';
    if (CHECK(strlen(marks) == size) && CHECK(tokenizer_encode_said(tokens, text, said, size, &ids) == NULL))
        for (size_t i = 0; i < ids.count; i++)
            used += (size_t)snprintf(got + used, sizeof got - used, "%s%ld", i ? " " : "", (long)ids.ids[i]);
    if (!CHECK(strcmp(got, want) == 0))
        fprintf(stderr, "    [%s]\n", got);
    tokenizer_ids_free(&ids);
}

/* Special tokens that nobody said, in text that a normalizer rewrites before they are looked for. */
TEST(tokenizer_said)
{
    static const char text[] =
        "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{\"id\":6,\"content\""
        ":\"<s>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":true,\"special\":"
        "true}],\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\""
        "\\u2581\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\\u2581\"}]},\"pre_"
        "tokenizer\":null,\"post_processor\":null,\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type"
        "\":\"Replace\",\"pattern\":{\"String\":\"\\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\""
        "},{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]},\"model\":{"
        "\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_"
        "word_suffix\":null,\"fuse_unk\":false,\"byte_fallback\":false,\"vocab\":{\"\\u2581\":0,\"a\":1,\""
        "b\":2,\"<\":3,\"s\":4,\">\":5},\"merges\":[]}}";
    tokenizer tokens;
    if (!begin())
        return;
    write_text("tokenizer.json", text);
    if (CHECK(tokenizer_open(&tokens, directory) == NULL)) {
        encodes_said(&tokens, "<s>a <s>b", ".........", "6 1 6 2");
        encodes_said(&tokens, " <s> a", "......", "0 6 0 1");
        encodes_said(&tokens, "a<s>", "x...", "0 1 3 4 5");
        encodes_said(&tokens, "<s>a <s>b", "...xxxxxx", "6 1 0 3 4 5 2");
        encodes_said(&tokens, "<s>a <s>b", "xxxxx....", "0 3 4 5 1 6 2");
        encodes_said(&tokens, "<s><s>", "..x...", "0 3 4 5 3 4 5");
        encodes_said(&tokens, "<s> \xff<s>", "....xxxx", "6 0 3 4 5");
        tokenizer_close(&tokens);
    }
    end();
}

static const char *name_of(const tokenizer *tokens, const char *name)
{
    size_t at = 0;
    while (at < tokens->names_size) {
        const char *known = tokens->names + at, *text = known + strlen(known) + 1;
        if (strcmp(known, name) == 0)
            return text;
        at += strlen(known) + strlen(text) + 2;
    }
    return "";
}

/* A template that a NUL would cut off is none. */
TEST(tokenizer_template_nul)
{
    tokenizer tokens;
    if (!begin())
        return;
    write_letters(0);
    write_text("tokenizer_config.json", "{\"chat_template\": \"a\\u0000b\"}");
    CHECK(strstr(tokenizer_open(&tokens, directory), "tokenizer_config.json: chat_template has a NUL within"));
    write_file("chat_template.jinja", "a\0b", 3);
    CHECK(strstr(tokenizer_open(&tokens, directory), "chat_template.jinja: a NUL within"));
    end();
}

/* The names that transformers knows special tokens by. */
TEST(tokenizer_names)
{
    static const struct {
        const char *config, *map;
        const char *bos, *eos, *image;
    } cases[] = {
        {"{\"bos_token\": \"<s>\", \"eos_token\": {\"content\": \"</s>\"}, \"image_token\": \"<i>\"}", NULL, "<s>",
         "</s>", "<i>"},
        {"{\"bos_token\": \"<s>\", \"eos_token\": null, \"extra_special_tokens\": {\"image_token\": \"<j>\"}}",
         "{\"bos_token\": \"<t>\", \"eos_token\": {\"content\": \"</t>\"}}", "<s>", "</t>", "<j>"},
        {"{\"bos_token\": null, \"added_tokens_decoder\": {}}", "{\"bos_token\": \"<t>\"}", "", "", ""},
        {"{\"tokenizer_class\": \"LlamaTokenizerFast\", \"eos_token\": null}", NULL, "<s>", "", ""},
        {"{\"tokenizer_class\": \"LlamaTokenizer\", \"add_bos_token\": true}", NULL, "<s>", "</s>", ""},
        {"{\"tokenizer_class\": \"LlamaTokenizer\", \"eos_token\": null}", "{\"pad_token\": \"<p>\"}", "<s>", "", ""},
        {NULL, "{\"bos_token\": \"<t>\"}", "<t>", "", ""},
        {"{\"tokenizer_class\": \"Qwen2Tokenizer\"}", NULL, "", "<|endoftext|>", ""},
        {"{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", "[1", "", "", ""},
        {"{\"extra_special_tokens\": [\"a\"], \"bos_token\": 5}", NULL, "", "", ""},
    };
    if (!begin())
        return;
    write_letters(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tokenizer tokens;
        write_file("tokenizer_config.json", cases[i].config, cases[i].config ? strlen(cases[i].config) : 0);
        write_file("special_tokens_map.json", cases[i].map, cases[i].map ? strlen(cases[i].map) : 0);
        test_case("%s, %s", cases[i].config ? cases[i].config : "none", cases[i].map ? cases[i].map : "no map");
        if (!CHECK(tokenizer_open(&tokens, directory) == NULL))
            continue;
        CHECK(strcmp(name_of(&tokens, "bos_token"), cases[i].bos) == 0);
        CHECK(strcmp(name_of(&tokens, "eos_token"), cases[i].eos) == 0);
        CHECK(strcmp(name_of(&tokens, "image_token"), cases[i].image) == 0);
        tokenizer_close(&tokens);
    }
    {
        tokenizer tokens;
        if (CHECK(tokenizer_open(&tokens, of_model) == NULL)) {
            CHECK(strcmp(name_of(&tokens, "bos_token"), "<s>") == 0 &&
                  strcmp(name_of(&tokens, "eos_token"), "</s>") == 0);
            tokenizer_close(&tokens);
        }
    }
    end();
}
