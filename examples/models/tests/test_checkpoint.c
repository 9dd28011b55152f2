/* Tests of checkpoint.c: members of JSON files, weights in one file and in shards, and directories that are no model. The
   files are made here; those that transformers has written are read by the tests of the networks. */
#define _DEFAULT_SOURCE 1 /* mkdtemp with -std=c99 */
#include "directory.h"

#include "examples/models/checkpoint.h"

static int begin(void)
{
    return make_directory("checkpoints of its own");
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static void end(void)
{
    static const char *const names[] = {"config.json",       "other.json",         "model.safetensors",
                                        "a.safetensors",     "b.safetensors",      "model.safetensors.index.json",
                                        "pytorch_model.bin", "adapter_config.json"};
    remove_directory(names, sizeof names / sizeof *names);
    test_release();
}

/* A file of little-endian floats first, first + 1, ... under this header. */
static void write_weights(const char *name, const char *header, size_t count, int first)
{
    size_t size = strlen(header), i, n;
    unsigned char *bytes = (unsigned char *)test_block(8 + size + 4 * count);
    for (i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)size >> 8 * i);
    memcpy(bytes + 8, header, size);
    for (n = 0; n < count; n++)
        for (i = 0; i < 4; i++)
            bytes[8 + size + 4 * n + i] = (unsigned char)(test_bits32((float)(first + (int)n)) >> 8 * i);
    write_file(name, bytes, 8 + size + 4 * count);
}

static const char header_a[] = "{\"w.0\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                               "\"v.0\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}}";
static const char header_b[] = "{\"w.1\":{\"dtype\":\"F32\",\"shape\":[2,1,3],\"data_offsets\":[0,24]}}";
static const char shards[] = "{\"metadata\":{\"total_size\":56},\"weight_map\":{\"w.0\":\"a.safetensors\","
                             "\"w.1\":\"b.safetensors\",\"v.0\":\"a.safetensors\"}}";

static void write_model(int sharded)
{
    write_text("config.json", "{}");
    if (sharded) {
        write_text("model.safetensors.index.json", shards);
        write_weights("a.safetensors", header_a, 8, 1);
        write_weights("b.safetensors", header_b, 6, 11);
    } else {
        write_weights("model.safetensors", header_a, 8, 1);
    }
}

/* Opens the directory with its weights. */
static const char *open_all(checkpoint *files, const checkpoint_opts *opts)
{
    if (checkpoint_open(files, directory))
        return files->error;
    checkpoint_weights(files, opts);
    if (!files->failed)
        return NULL;
    checkpoint_close(files);
    return files->error;
}

static void refuses(const char *cause)
{
    checkpoint files;
    long live = test_memory_state.live;
    const char *error = open_all(&files, NULL);
    test_case("%s, for: %s", error ? error : "no error", cause);
    if (CHECK(error != NULL))
        CHECK(strstr(error, cause) != NULL && strstr(error, directory) == error && files.failed);
    else
        checkpoint_close(&files);
    CHECK(test_memory_state.live == live);
}

static void collect(void *user, double part)
{
    double *most = (double *)user;
    CHECK(part >= *most && part <= 1);
    *most = part;
}

TEST(checkpoint_shards)
{
    checkpoint files;
    checkpoint_opts opts;
    attn_mat w;
    const float *v;
    double part = 0;
    int sharded;
    if (!begin())
        return;
    opts.progress = collect;
    opts.user = &part;
    for (sharded = 0; sharded < 2; sharded++) {
        write_file("model.safetensors", NULL, 0);
        write_model(sharded);
        if (!CHECK(open_all(&files, &opts) == NULL))
            continue;
        CHECK(files.count == (sharded ? 2u : 1u) && files.tensors == (sharded ? 3u : 2u));
        part = 0;
        w = checkpoint_matrix(&files, 2, 3, "w.%d", 0);
        v = checkpoint_vector(&files, 2, "v.0");
        CHECK(attn_mat_get(w, 1, 2) == 6 && v && v[1] == 8);
        CHECK(checkpoint_has(&files, "w.%d", 1) == sharded && !checkpoint_has(&files, "w"));
        if (sharded) {
            checkpoint_finish(&files, "test");
            CHECK(files.failed && strstr(files.error, "b.safetensors: tensor w.1 is none of a test"));
            files.failed = 0;
            w = checkpoint_stack(&files, 2, 1, 3, "w.1");
            CHECK(w.rows == 2 && w.cols == 3 && attn_mat_get(w, 1, 0) == 14);
        }
        checkpoint_finish(&files, "test");
        CHECK(!files.failed && part == 1);
        checkpoint_close(&files);
        checkpoint_close(&files);
    }
    write_model(0); /* before which the index stands back */
    CHECK(open_all(&files, NULL) == NULL && files.count == 1);
    checkpoint_close(&files);
    write_file("model.safetensors", NULL, 0);
    CHECK(open_all(&files, NULL) == NULL && files.count == 2);
    checkpoint_ignore_all(&files, "w.");
    checkpoint_ignore(&files, "v.0");
    checkpoint_ignore(&files, "none");
    checkpoint_finish(&files, "test");
    CHECK(!files.failed);
    w = checkpoint_matrix(&files, 2, 3, "w.2");
    CHECK(!w.data && files.failed && strstr(files.error, "tensor w.2 is missing in all 2 files"));
    CHECK(!checkpoint_vector(&files, 2, "v.0") && checkpoint_uint(&files, files.config, "x", 1, 5) == 5);
    checkpoint_close(&files);
    end();
}

/* Names of the files in messages: what tells them from others shows, and what a terminal would obey does not get there. */
TEST(checkpoint_names)
{
    static const char header[] =
        "{\"w\\u0000\\u001b\\u0085\303\251\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    static const char *const names[] = {"llama", NULL};
    checkpoint files;
    if (!begin())
        return;
    write_text("config.json", "{\"model_type\":\"llama\\u0000\",\"act\":\"llama\302\233\"}");
    write_weights("model.safetensors", header, 1, 1);
    if (CHECK(open_all(&files, NULL) == NULL)) {
        checkpoint_choice(&files, files.config, "model_type", names);
        CHECK(files.failed && strstr(files.error, "config.json: model_type \"llama\\x00\" is none of llama"));
        files.failed = 0;
        checkpoint_choice(&files, files.config, "act", names);
        CHECK(files.failed && strstr(files.error, "config.json: act \"llama\\xc2\\x9b\" is none of llama"));
        files.failed = 0;
        checkpoint_finish(&files, "test");
        CHECK(files.failed && strstr(files.error, "tensor w\\x00\\x1b\\xc2\\x85\303\251 is none of a test"));
        checkpoint_close(&files);
    }
    end();
}

/* The directory, too, however a program was given it: of a long name the end, and the cause. */
TEST(checkpoint_directories)
{
    static char name[3000];
    checkpoint files;
    CHECK(checkpoint_open(&files, "no\x1b[31m/such\302\205") == files.error);
    CHECK(!strncmp(files.error, "no\\x1b[31m/such\\xc2\\x85/config.json: ", 35));
    memset(name, 'n', sizeof name - 1);
    CHECK(checkpoint_open(&files, name) == files.error);
    CHECK(!strncmp(files.error, "...nnn", 6) && strstr(files.error, "nnn/config.json: "));
    CHECK(strlen(files.error) < sizeof files.error && !strstr(files.error + 3, "..."));
    memset(name, 0xe9, 150); /* no UTF-8: each byte is shown as four, and the cause is not lost */
    name[150] = 0;
    CHECK(checkpoint_open(&files, name) == files.error);
    CHECK(!strncmp(files.error, "...\\xe9", 7) && strstr(files.error, "\\xe9/config.json: "));
    CHECK(!strstr(files.error + 3, "..."));
}

TEST(checkpoint_hostile_shards)
{
    static const char *const maps[][2] = {
        {"[]", "weight_map is no object"},
        {"{}", "weight_map is no object"},
        {"{\"weight_map\":{}}", "weight_map is no object"},
        {"{\"weight_map\":{\"w.0\":7}}", "is no name of a file"},
        {"{\"weight_map\":{\"w.0\":\"\"}}", "is no name of a file"},
        {"{\"weight_map\":{\"w.0\":\"../a.safetensors\"}}", "is no name of a file"},
        {"{\"weight_map\":{\"w.0\":\"/a.safetensors\"}}", "is no name of a file"},
        {"{\"weight_map\":{\"w.0\":\"a\\\\b.safetensors\"}}", "is no name of a file"},
        {"{\"weight_map\":{\"w.0\":\".safetensors\"}}", "is no name of a file"},
        {"{\"weight_map\":{\"w.0\":\"a.safetensors\\u0000b\"}}", "is no name of a file"},
        {"{\"weight_map\":{\"w.0\":\"c.safetensors\"}}", "c.safetensors: cannot be opened"},
        {"{\"weight_map\":{\"w.1\":\"a.safetensors\"}}", "a.safetensors: there is no tensor w.1"},
        {"{\"weight_map\":{\"w.0\\u0000\":\"a.safetensors\"}}", "a.safetensors: there is no tensor w.0"},
        {"{\"weight_map\":{\"w.0\":\"a.safetensors\"", "index.json: byte "}};
    size_t i;
    if (!begin())
        return;
    write_model(1);
    for (i = 0; i < sizeof maps / sizeof *maps; i++) {
        write_text("model.safetensors.index.json", maps[i][0]);
        refuses(maps[i][1]);
    }
    write_text("model.safetensors.index.json", shards);
    write_weights("b.safetensors", header_a, 8, 1);
    refuses("there is no tensor w.1");
    write_weights("b.safetensors",
                  "{\"w.0\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                  "\"w.1\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
                  2, 0);
    refuses("b.safetensors: tensor w.0 is in another file, too");
    write_file("b.safetensors", "x", 1);
    refuses("b.safetensors: ");
    write_file("model.safetensors.index.json", NULL, 0);
    refuses("model.safetensors: cannot be opened");
    write_text("pytorch_model.bin", "");
    refuses("pytorch_model.bin: only safetensors are read here");
    write_model(0);
    write_text("adapter_config.json", "{}");
    refuses("adapter_config.json: an adapter, which nothing here adds");
    write_file("config.json", NULL, 0);
    refuses("config.json: ");
    end();
}

TEST(checkpoint_members)
{
    static const char *const names[] = {"silu", "gelu", NULL}, *const one[] = {"silu", NULL};
    static const char text[] = "{\"n\":7,\"none\":null,\"x\":-2.5,\"big\":2147483648,\"yes\":true,\"act\":\"gelu\","
                               "\"sub\":{\"n\":\"7\"},\"huge\":1e999}";
    static const char *const causes[] = {"config.json: m is missing",
                                         "config.json: big is no whole number from 0 to 2147483647",
                                         "config.json: n is no whole number from 8",
                                         "config.json: n is no whole number",
                                         "other.json: n is no whole number",
                                         "config.json: m is missing",
                                         "config.json: x is no number from 0 to 1",
                                         "config.json: huge is no number",
                                         "config.json: n is neither true nor false",
                                         "config.json: n is none of silu, gelu",
                                         "config.json: act \"gelu\" is none of silu",
                                         "config.json: x must be something else"};
    checkpoint files;
    json other;
    size_t i;
    if (!begin())
        return;
    write_model(0);
    write_text("config.json", text);
    write_text("other.json", "{\"n\":1.5}");
    if (!CHECK(open_all(&files, NULL) == NULL)) {
        end();
        return;
    }
    CHECK(checkpoint_uint(&files, files.config, "n", 7, -1) == 7 &&
          checkpoint_uint(&files, files.config, "none", 1, 3) == 3);
    CHECK(checkpoint_real(&files, files.config, "x", -3, 0, -4) == -2.5);
    CHECK(checkpoint_real(&files, files.config, "none", 0, 1, 0.5) == 0.5);
    CHECK(checkpoint_flag(&files, files.config, "yes", 0) == 1 &&
          checkpoint_flag(&files, files.config, "none", 1) == 1);
    CHECK(checkpoint_choice(&files, files.config, "act", names) == 1);
    CHECK(checkpoint_choice(&files, files.config, "none", names) == 0);
    CHECK(checkpoint_json(&files, "absent.json").type == JSON_NONE && !files.failed);
    other = checkpoint_json(&files, "other.json");
    CHECK(other.type == JSON_OBJECT && !files.failed);
    for (i = 0; i < sizeof causes / sizeof *causes; i++) {
        json config = files.config;
        files.failed = 0;
        switch (i) {
        case 0: checkpoint_uint(&files, config, "m", 0, -1); break;
        case 1: checkpoint_uint(&files, config, "big", 0, 1); break;
        case 2: checkpoint_uint(&files, config, "n", 8, 1); break;
        case 3: checkpoint_uint(&files, json_get(config, "sub"), "n", 0, 1); break;
        case 4: checkpoint_uint(&files, other, "n", 0, 1); break;
        case 5: checkpoint_real(&files, config, "m", 0, 1, -1); break;
        case 6: checkpoint_real(&files, config, "x", 0, 1, 0); break;
        case 7: checkpoint_real(&files, config, "huge", 0, 1e300, 0); break;
        case 8: checkpoint_flag(&files, config, "n", 0); break;
        case 9: checkpoint_choice(&files, config, "n", names); break;
        case 10: checkpoint_choice(&files, config, "act", one); break;
        default: checkpoint_fail_member(&files, config, "x", "must be something else");
        }
        test_case("%s, for: %s", files.error, causes[i]);
        CHECK(files.failed && strstr(files.error, causes[i]));
        checkpoint_fail(&files, "another");
        CHECK(strcmp(files.error, "another") != 0); /* the first one stays */
    }
    checkpoint_close(&files);
    write_text("other.json", "{\"n\":");
    CHECK(open_all(&files, NULL) == NULL);
    checkpoint_json(&files, "other.json");
    CHECK(files.failed && strstr(files.error, "other.json: byte "));
    checkpoint_close(&files);
    end();
}

/* config.json alone: no weights are looked for. */
TEST(checkpoint_config)
{
    checkpoint files;
    const char *error;
    if (!begin())
        return;
    error = checkpoint_open(&files, directory);
    test_case("%s", error ? error : "no error");
    CHECK(error && strstr(error, "/config.json: "));
    write_text("config.json", "[]");
    error = checkpoint_open(&files, directory);
    CHECK(error && strstr(error, "/config.json: no JSON object"));
    write_text("config.json", "{\"model_type\":\"x\"}");
    CHECK(open_all(&files, NULL) != NULL);
    if (CHECK(checkpoint_open(&files, directory) == NULL)) {
        CHECK(json_is(json_get(files.config, "model_type"), "x") && files.count == 0 && files.tensors == 0);
        CHECK(!checkpoint_has(&files, "w.0"));
        checkpoint_close(&files);
    }
    end();
}

/* Embeddings "e" and "f" and heads "h" and "b", the last of BF16: the numbers 1 to 4 each, but for one of `odd`. */
static void write_ends(char odd)
{
    static const char header[] = "{\"e\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                                 "\"f\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[16,32]},"
                                 "\"h\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[32,48]},"
                                 "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[48,56]}}   ";
    unsigned char bytes[8 + sizeof header - 1 + 56] = {sizeof header - 1, 0}, *at = bytes + 8 + sizeof header - 1;
    const char *tensor;
    memcpy(bytes + 8, header, sizeof header - 1);
    bytes[1] = (unsigned char)((sizeof header - 1) >> 8);
    for (tensor = "efhb"; *tensor; tensor++)
        for (int i = 0; i < 4; i++) {
            uint32_t bits = test_bits32((float)(i + 1 + (i == 3 && *tensor == odd)));
            for (int n = *tensor == 'b' ? 2 : 0; n < 4; n++)
                *at++ = (unsigned char)(bits >> 8 * n);
        }
    write_file("model.safetensors", bytes, sizeof bytes);
}

/* The file's head counts where it is another, whatever config.json says; where it is not, it is the embedding. */
TEST(checkpoint_ends)
{
    static const char *const one[] = {"e", NULL}, *const two[] = {"none", "e", "f", NULL}, *const none[] = {"x", NULL};
    static const struct {
        char odd;
        const char *const *names;
        const char *head;
        int tied, differ;
        const char *says; /* an error, or what is noted */
    } cases[] = {{0, one, "h", 0, 0, ""},
                 {0, one, "h", 1, 0, ""},
                 {'h', one, "h", 0, 1, ""},
                 {'h', one, "h", 1, 1, ""},
                 {0, one, "b", 1, 0, ""},
                 {'b', one, "b", 1, 1, ""},
                 {0, two, "h", 1, 0, ""},
                 {'h', two, "h", 1, 1, ""},
                 {0, one, "x", 1, 0, ""},
                 {0, none, "h", 1, 0, ""},
                 {0, one, "x", 0, 0, "there is no x: the embedding takes its place"},
                 {'f', two, "h", 1, 0, "tensor f differs from e"},
                 {0, none, "h", 0, 0, "tensor x is missing"},
                 {0, none, "y", 1, 0, "tensor x is missing"}};
    if (!begin())
        return;
    write_text("config.json", "{}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        checkpoint files;
        attn_mat embedding = {NULL, ATTN_F32, 0, 0, 0, 0}, head = embedding;
        test_case("case %d", (int)i);
        write_ends(cases[i].odd);
        if (!CHECK(open_all(&files, NULL) == NULL))
            continue;
        checkpoint_ends(&files, 2, 2, cases[i].names, cases[i].head, cases[i].tied, &embedding, &head);
        CHECK(strstr(files.failed ? files.error : files.notes, cases[i].says) && (*cases[i].says || !*files.notes));
        CHECK(files.failed == (strncmp(cases[i].says, "tensor", 6) == 0));
        if (!files.failed) {
            CHECK((embedding.data != head.data) == cases[i].differ);
            CHECK(attn_mat_get(embedding, 1, 1) == 4 && attn_mat_get(head, 1, 1) == 4 + cases[i].differ);
        }
        checkpoint_close(&files);
    }
    end();
}

/* What is on no list is noted: once for a file, with its path, and shown as it can be. */
TEST(checkpoint_notes)
{
    static const char *const known[] = {"n", "act", NULL}, *const more[] = {"sub", NULL};
    static const char *const *const lists[] = {known, more, NULL};
    char all[5000] = "{\"n\":1", want[400];
    checkpoint files;
    if (!begin())
        return;
    write_model(0);
    write_text("config.json", "{\"a\\u0063t\":1,\"n\":2,\"foo\":null,\"sub\":{\"n\":1,\"bar\":{}},\"b\\u001bc\":[]}");
    if (CHECK(open_all(&files, NULL) == NULL)) {
        checkpoint_members(&files, files.config, NULL, lists);
        checkpoint_members(&files, json_get(files.config, "sub"), "sub", lists);
        checkpoint_members(&files, json_get(files.config, "foo"), "foo", lists);
        snprintf(want, sizeof want,
                 "%s/config.json: unknown members are not looked at: foo, b\\x1bc\n"
                 "%s/config.json: sub: unknown members are not looked at: bar\n",
                 directory, directory);
        CHECK(strcmp(files.notes, want) == 0);
        checkpoint_close(&files);
    }
    for (int i = 0; i < 400; i++)
        sprintf(all + strlen(all), ",\"x%d\":%d", i, i);
    strcat(all, "}");
    write_text("config.json", all);
    if (CHECK(open_all(&files, NULL) == NULL)) {
        for (int i = 0; i < 20; i++)
            checkpoint_members(&files, files.config, NULL, lists);
        CHECK(strstr(files.notes, "x0, x1") && strchr(files.notes, '\n') == files.notes + strlen(files.notes) - 1);
        for (int i = 0; i < 40; i++)
            checkpoint_note(&files, "%s/%0*d: another", directory, 20 * i + 1, i);
        for (int i = 0; i < 40; i++) { /* none is lost, and of a long one the end is there */
            snprintf(want, sizeof want, "%d: another\n", i);
            CHECK(strstr(files.notes, want));
        }
        size_t size = strlen(files.notes);
        checkpoint_fail(&files, "wrong");
        checkpoint_note(&files, "nobody reads this");
        CHECK(strlen(files.notes) == size);
        checkpoint_close(&files);
    }
    end();
}

TEST(checkpoint_weights)
{
    checkpoint files;
    if (!begin())
        return;
    write_model(0);
    CHECK(open_all(&files, NULL) == NULL);
    checkpoint_matrix(&files, 3, 2, "w.0");
    CHECK(strstr(files.error, "model.safetensors: tensor w.0 is 2 x 3, not 3 x 2 as config.json has it"));
    files.failed = 0;
    checkpoint_vector(&files, 2, "w.0");
    CHECK(strstr(files.error, "tensor w.0 is 2 x 3, not 2 as"));
    files.failed = 0;
    checkpoint_matrix(&files, 2, 3, "w.1");
    CHECK(strstr(files.error, "model.safetensors: tensor w.1 is missing"));
    files.failed = 0;
    CHECK(checkpoint_layers(&files, 2, 16) != NULL && !files.failed);
    CHECK(!checkpoint_layers(&files, 3, 16) && strstr(files.error, "config.json has 3 layers, the weights 2 tensors"));
    checkpoint_close(&files);
    end();
}

/* Each allocation fails once. */
TEST(checkpoint_no_memory)
{
    long live = test_memory_state.live, at;
    int done = 0, failed = 0;
    if (!begin())
        return;
    write_model(1);
    for (at = 1; !done; at++) {
        checkpoint files;
        test_memory_state.fail_at = at;
        if (!open_all(&files, NULL)) {
            checkpoint_vector(&files, 2, "v.0");
            checkpoint_layers(&files, 1, 8);
            done = !files.failed;
        }
        test_memory_state.fail_at = 0;
        test_case("allocation %ld: %s", at, files.error);
        CHECK(done || (strstr(files.error, ": no memory") && strstr(files.error, directory) == files.error));
        failed += !done;
        checkpoint_close(&files);
        CHECK(test_memory_state.live == live);
    }
    CHECK(failed > 10);
    end();
}
