/* BERT: small models with the results of transformers (golden/make_bert.py); batches and threads that change nothing; and
   models that are broken in the ways that a directory can be. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif

#include "directory.h" /* first: test.h has ATTN_THREADS */

#include "examples/models/bert.h"

static const char *const kinds[] = {"f32", "bf16", "cls", "prefixed", "v6"};

enum { KINDS = sizeof kinds / sizeof *kinds, TEXTS = 7, PATH = 128, LONGEST = 24 };

/* ---- goldens ---- */

static char path_of_model[PATH];

static const char *model_path(const char *kind)
{
    snprintf(path_of_model, sizeof path_of_model, "examples/models/tests/golden/bert/%s", kind);
    return path_of_model;
}

static int open_kind(bert *model, const char *kind)
{
    const char *error = bert_open(model, model_path(kind), NULL);
    test_case("%s: %s", kind, error ? error : "open");
    return CHECK(!error);
}

static int open_golden(safetensors *file, const char *kind)
{
    char path[PATH + 32];
    snprintf(path, sizeof path, "%s/golden.safetensors", model_path(kind));
    return CHECK(safetensors_open(file, path) == NULL);
}

static const safetensors_tensor *golden(const safetensors *file, size_t text, const char *name)
{
    char whole[64];
    const safetensors_tensor *found;
    snprintf(whole, sizeof whole, "%lu.%s", (unsigned long)text, name);
    found = safetensors_find(file, whole);
    CHECK(found != NULL);
    return found;
}

static bert_text golden_text(const safetensors *file, size_t text)
{
    const safetensors_tensor *t = golden(file, text, "text");
    bert_text out;
    out.text = t ? (const char *)t->data : NULL;
    out.size = t ? t->size : 0;
    return out;
}

static float *floats(size_t count)
{
    return (float *)test_block(count * sizeof(float));
}

static void near_golden(const float *got, const safetensors_tensor *want, size_t count)
{
    double most = 0;
    if (!want || !CHECK(want->count == count))
        return;
    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)got[i] - safetensors_get(want, i));
        most = off <= most ? most : off; /* NaN, too */
    }
    CHECK_NEAR((real)most, 0, 1e-5L);
}

/* Tokens, states and vectors are those of transformers. */
TEST(bert_goldens)
{
    for (size_t k = 0; k < KINDS; k++) {
        bert model;
        safetensors file;
        if (!open_kind(&model, kinds[k]) || !open_golden(&file, kinds[k]))
            continue;
        size_t d = model.config.hidden_size;
        CHECK(model.config.max_seq_length == LONGEST && !*model.files.notes && !*model.vocabulary.notes);
        for (size_t text = 0; text < TEXTS; text++) {
            const safetensors_tensor *want = golden(&file, text, "ids");
            bert_text in = golden_text(&file, text);
            float *states = floats(LONGEST * d), *vector = floats(d);
            int32_t *ids = (int32_t *)test_block(LONGEST * sizeof *ids);
            size_t starts[2] = {0, 0};
            test_case("%s, text %lu", kinds[k], (unsigned long)text);
            if (!CHECK(bert_tokens(&model, in, ids, &starts[1]) == NULL) || !CHECK(want && starts[1] == want->count))
                continue;
            for (size_t i = 0; i < want->count; i++)
                CHECK(ids[i] == (int32_t)safetensors_get(want, i));
            CHECK(bert_encode(&model, states, ids, starts, 1) == NULL);
            near_golden(states, golden(&file, text, "states"), starts[1] * d);
            bert_pool(&model, vector, states, starts[1]);
            near_golden(vector, golden(&file, text, "vector"), model.config.dimension);
            CHECK(bert_embed(&model, vector, &in, 1) == NULL);
            near_golden(vector, golden(&file, text, "vector"), model.config.dimension);
        }
        CHECK(model.tokens > 0 && model.truncated == 2); /* text 5, twice */
        safetensors_close(&file);
        bert_close(&model);
        test_release();
    }
}

/* Prompts of questions and of documents, and vectors that lose their end after they were normalised. */
TEST(bert_prompts)
{
    bert model;
    safetensors file;
    float vector[32];
    if (!open_kind(&model, "v6") || !open_golden(&file, "v6"))
        return;
    CHECK(model.config.dimension == 20 && model.config.hidden_size == 32 && model.prompt.size == 0);
    CHECK(model.query.size == 9 && memcmp(model.query.text, "find the ", 9) == 0 && model.document.size == 6);
    for (size_t text = 0; text < TEXTS; text++)
        for (int side = 0; side < 3; side++) {
            static const char *const names[] = {"vector", "query", "document"};
            const bert_text none = {NULL, 0}, in = golden_text(&file, text);
            test_case("text %lu, %s", (unsigned long)text, names[side]);
            model.prompt = side == 0 ? none : side == 1 ? model.query : model.document;
            for (int i = 0; i < 32; i++)
                vector[i] = 7;
            CHECK(bert_embed(&model, vector, &in, 1) == NULL && vector[20] == 7);
            near_golden(vector, golden(&file, text, names[side]), 20);
        }
    safetensors_close(&file);
    bert_close(&model);
}

/* ---- what must change nothing ---- */

/* Texts of all lengths, in batches of every size, on 1 to 3 threads: the bits of each text alone. So many texts take
   several batches of bert_embed, whose ends lie anywhere. */
TEST(bert_batches)
{
    enum { N = 150 };
    for (size_t k = 0; k < KINDS; k += test_quick ? 3 : 1) {
        static char words[N][3 * LONGEST];
        bert model;
        bert_text texts[N];
        float *alone, *together;
        size_t d, tokens;
        if (!open_kind(&model, kinds[k]))
            continue;
        model.net.batch_invariant = 1;
        d = model.config.hidden_size;
        alone = floats(N * d), together = floats(N * d);
        for (size_t i = 0; i < N; i++) {
            size_t length = test_below(LONGEST + 4);
            texts[i].text = words[i];
            texts[i].size = 2 * length;
            for (size_t j = 0; j < length; j++) {
                words[i][2 * j] = (char)('b' + test_below(25));
                words[i][2 * j + 1] = ' ';
            }
            CHECK(bert_embed(&model, alone + i * d, &texts[i], 1) == NULL);
        }
        tokens = model.tokens;
        CHECK(tokens > 1024 && model.truncated > 0);
        for (size_t threads = test_quick ? 3 : 1; threads <= 3; threads++) {
            CHECK_STATUS(attn_pool_new(&model.net.parallel, threads), ATTN_OK);
            for (size_t count = N; count; count = count > 16 ? count / (test_quick ? 5 : 2) : count - 1 - count / 4) {
                test_case("%s, %lu texts, %lu threads", kinds[k], (unsigned long)count, (unsigned long)threads);
                memset(together, 0, N * d * sizeof *together);
                model.tokens = 0;
                CHECK(bert_embed(&model, together, texts, count) == NULL);
                CHECK(memcmp(alone, together, count * d * sizeof *alone) == 0);
                CHECK(count < N || model.tokens == tokens);
            }
            attn_pool_free(&model.net.parallel);
        }
        bert_close(&model);
        test_release();
    }
}

/* Sequences without tokens between others, and none at all. */
TEST(bert_sequences)
{
    static const size_t starts[] = {0, 0, 3, 3, 5}, nothing[] = {0, 0}, one[] = {0, 3}, other[] = {0, 2};
    static const int32_t ids[] = {2, 77, 3, 2, 3};
    bert model;
    float *states, *alone;
    if (!open_kind(&model, "bf16"))
        return;
    size_t d = model.config.hidden_size;
    states = floats(5 * d), alone = floats(5 * d);
    CHECK(bert_encode(&model, states, ids, starts, 0) == NULL && bert_encode(&model, states, ids, nothing, 1) == NULL);
    CHECK(bert_encode(&model, states, ids, starts, 4) == NULL);
    CHECK(bert_encode(&model, alone, ids, one, 1) == NULL);
    CHECK(bert_encode(&model, alone + 3 * d, ids + 3, other, 1) == NULL);
    CHECK(memcmp(states, alone, 5 * d * sizeof *states) == 0);
    bert_close(&model);
    bert_close(&model); /* once more: nothing is left */
}

/* Pooling by hand: more dimensions than it takes at a time, NaN, and zeros, which have no direction. */
TEST(bert_pooling)
{
    enum { D = 130, N = 3 };
    bert model;
    float states[N * D], vector[D];
    memset(&model, 0, sizeof model);
    model.config.hidden_size = D;
    for (size_t i = 0; i < N * D; i++)
        states[i] = (float)test_uniform();
    for (int pooling = BERT_MEAN; pooling <= BERT_MAX; pooling++)
        for (int normalize = 0; normalize < 2; normalize++) {
            double want[D], squares = 0;
            test_case("pooling %d, normalize %d", pooling, normalize);
            model.config.pooling = (bert_pooling)pooling;
            model.config.normalize = normalize;
            for (size_t j = 0; j < D; j++) {
                double a = (double)states[j], b = (double)states[D + j], c = (double)states[2 * D + j];
                want[j] = pooling == BERT_CLS    ? a
                          : pooling == BERT_MEAN ? (a + b + c) / 3
                                                 : (a > b   ? a > c ? a : c
                                                    : b > c ? b
                                                            : c);
                squares += want[j] * want[j];
            }
            bert_pool(&model, vector, states, N);
            for (size_t j = 0; j < D; j++)
                CHECK_NEAR((real)vector[j], (real)(normalize ? want[j] / sqrt(squares) : want[j]), 1e-6L);
        }
    model.config.normalize = 1;
    memset(states, 0, sizeof states);
    bert_pool(&model, vector, states, N);
    for (size_t j = 0; j < D; j++)
        CHECK(test_bits32(vector[j]) == 0);
}

/* ---- errors ---- */

/* Tokens and starts that are wrong; the message says which. The model serves on. */
TEST(bert_tokens_that_are_wrong)
{
    static const int32_t wrong[] = {-1, 192, INT32_MAX};
    static const size_t starts[] = {0, 2}, late[] = {1, 2}, back[] = {0, 2, 1}, many[] = {0, 33};
    bert model;
    int32_t ids[40] = {0};
    float *states;
    const char *error;
    if (!open_kind(&model, "cls"))
        return;
    states = floats(40 * model.config.hidden_size);
    for (size_t i = 0; i < 3; i++) {
        char want[40];
        ids[1] = wrong[i];
        snprintf(want, sizeof want, "token %ld ", (long)wrong[i]);
        test_case("%s", want);
        error = bert_encode(&model, states, ids, starts, 1);
        CHECK(error && strstr(error, want));
    }
    ids[1] = 0;
    test_case("starts");
    error = bert_encode(&model, states, ids, late, 1);
    CHECK(error && strstr(error, "does not start with token 0"));
    error = bert_encode(&model, states, ids, back, 2);
    CHECK(error && strstr(error, "text 1 is not of 0 to 32 tokens"));
    error = bert_encode(&model, states, ids, many, 1);
    CHECK(error && strstr(error, "text 0 is not of 0 to 32 tokens"));
    CHECK(bert_encode(&model, states, ids, starts, 1) == NULL);
    bert_close(&model);
    test_release();
}

/* Each allocation fails once: a message, nothing lost; and then the same model works. */
TEST(bert_no_memory)
{
    static const char *const some[] = {"bf16", "prefixed"};
    for (size_t k = 0; k < 2; k++) {
        static const bert_text texts[] = {{"the cat sat on the mat", 22}, {"", 0}};
        size_t failed = 0, step = test_quick ? 7 : 1;
        long live = test_memory_state.live;
        int done = 0;
        float *want, *got;
        bert model;
        for (size_t at = 1; !done; at += step, failed++) {
            const char *error;
            test_memory_state.fail_at = (long)at;
            error = bert_open(&model, model_path(some[k]), NULL);
            test_case("%s, allocation %lu of opening: %s", some[k], (unsigned long)at, error ? error : "fine");
            done = !error || !CHECK(strstr(error, ": no memory") && test_memory_state.live == live);
            if (!error)
                bert_close(&model);
        }
        test_memory_state.fail_at = 0;
        CHECK(failed > (test_quick ? 4 : 30));
        done = 0, failed = 0;
        want = got = NULL;
        for (size_t at = 1; !done; at++, failed++) {
            const char *error;
            if (!open_kind(&model, some[k])) /* anew, so that nothing has grown yet */
                break;
            if (!want) {
                want = floats(2 * model.config.hidden_size), got = floats(2 * model.config.hidden_size);
                CHECK(bert_embed(&model, want, texts, 2) == NULL);
                bert_close(&model);
                if (!open_kind(&model, some[k]))
                    break;
            }
            test_memory_state.fail_at = (long)at;
            error = bert_embed(&model, got, texts, 2);
            test_memory_state.fail_at = 0;
            test_case("%s, allocation %lu: %s", some[k], (unsigned long)at, error ? error : "fine");
            done = !error || !CHECK(strstr(error, "no memory"));
            CHECK(bert_embed(&model, got, texts, 2) == NULL);
            CHECK(memcmp(got, want, 2 * model.config.hidden_size * sizeof *got) == 0);
            bert_close(&model);
        }
        CHECK(failed > 4);
        CHECK(test_memory_state.live == live);
        test_release();
    }
}

/* ---- directories that are no model ---- */

static const char *const files[] = {"config.json",
                                    "model.safetensors",
                                    "vocab.txt",
                                    "tokenizer_config.json",
                                    "modules.json",
                                    "sentence_bert_config.json",
                                    "1_Pooling/config.json",
                                    "config_sentence_transformers.json"};
enum { FILES = sizeof files / sizeof *files, COPIED = FILES - 1 };
enum { CONFIG, WEIGHTS, VOCABULARY, TOKENIZER, MODULES, SENTENCES, POOLING, PROMPTS };

static int begin_directory(contents *of, const char *kind)
{
    char path[PATH + 40];
    if (!make_directory("models of BERT's own"))
        return 0;
#if !defined(_WIN32)
    snprintf(path, sizeof path, "%s/1_Pooling", directory);
    CHECK(mkdir(path, 0777) == 0);
#endif
    for (int i = 0; i < COPIED; i++) {
        snprintf(path, sizeof path, "%s/%s", model_path(kind), files[i]);
        of[i] = read_all(path);
        write_file(files[i], of[i].bytes, of[i].size);
    }
    return 1;
}

static void end_directory(void)
{
#if !defined(_WIN32)
    char path[PATH];
    write_file(files[POOLING], NULL, 0);
    snprintf(path, sizeof path, "%s/1_Pooling", directory);
    rmdir(path);
#endif
    remove_directory(files, FILES);
    test_release();
}

/* The directory is refused: the message begins with the path of the file, or of the directory where name is "", and has
   the cause. */
static void refuses(const char *name, const char *cause)
{
    char path[PATH];
    long live = test_memory_state.live;
    bert model;
    const char *error = bert_open(&model, directory, NULL);
    snprintf(path, sizeof path, "%s%s%s", directory, *name ? "/" : "", name);
    test_case("%s, %s: %s", name, cause, error ? error : "open");
    if (CHECK(error != NULL))
        CHECK(strncmp(error, path, strlen(path)) == 0 && strstr(error, cause));
    else
        bert_close(&model);
    CHECK(test_memory_state.live == live);
}

/* A file of which one text has been replaced by another; NULL: all of it. */
static void with(const contents *of, int file, const char *from, const char *to)
{
    const char *at = from ? strstr(of[file].bytes, from) : of[file].bytes;
    char *bytes = (char *)test_block(of[file].size + strlen(to) + 1);
    size_t before, skipped = from ? strlen(from) : of[file].size;
    if (!CHECK(at != NULL))
        return;
    before = (size_t)(at - of[file].bytes);
    memcpy(bytes, of[file].bytes, before);
    memcpy(bytes + before, to, strlen(to));
    memcpy(bytes + before + strlen(to), at + skipped, of[file].size - before - skipped);
    write_file(files[file], bytes, of[file].size + strlen(to) - skipped);
}

static void restore(const contents *of, int file)
{
    write_file(files[file], of[file].bytes, of[file].size);
}

/* What the files may ask for and is not done. */
TEST(bert_refuses)
{
    static const struct {
        int file;
        const char *from, *to, *cause;
    } cases[] = {
        {CONFIG, "\"bert\"", "\"mpnet\"", "model_type \"mpnet\" is none of bert: a bias by distance is"},
        {CONFIG, "\"gelu\"", "\"relu\"", "hidden_act \"relu\" is none of gelu"},
        {CONFIG, "\"absolute\"", "\"relative_key\"", "position_embedding_type \"relative_key\" is none of absolute"},
        {CONFIG, "\"use_cache\"", "\"is_decoder\"", "is_decoder is true"},
        {CONFIG, "\"use_cache\"", "\"add_cross_attention\"", "add_cross_attention is true"},
        {CONFIG, "\"hidden_size\": 32", "\"hidden_size\": 34", "hidden_size is no multiple of num_attention_heads"},
        {CONFIG, "\"hidden_size\": 32", "\"hidden\": 32", "hidden_size is missing"},
        {CONFIG, "\"num_attention_heads\": 4", "\"num_attention_heads\": 0", "num_attention_heads is no whole number"},
        {CONFIG, "1e-12", "2", "layer_norm_eps is no number from 0 to 1"},
        {CONFIG, "\"max_position_embeddings\": 32", "\"max_position_embeddings\": 1", "max_position_embeddings is no"},
        {CONFIG, "{", "[{", "byte "},
        {CONFIG, NULL, "[]", "object"},
        {SENTENCES, NULL, "[]", "no JSON object"},
        {TOKENIZER, NULL, "[]", "object"},
        {SENTENCES, "24", "1", "max_seq_length is no whole number from 2"},
        {SENTENCES, "24", "true", "max_seq_length is no whole number from 2"},
        {SENTENCES, "false", "0", "do_lower_case is neither true nor false"},
        {MODULES, "models.Pooling", "models.Dense", "module 1 is \"sentence_transformers.models.Dense\"; bert.c has"},
        {MODULES, "models.Transformer", "models.CLIPModel",
         "module 0 is \"sentence_transformers.models.CLIPModel\"; bert.c has"},
        {MODULES, "models.Normalize", "models.Pooling",
         "module 2 is \"sentence_transformers.models.Pooling\"; bert.c has"},
        {MODULES, "\"1_Pooling\"", "\"../x\"", "path is no name of a directory"},
        {MODULES, "\"path\": \"\"", "\"path\": \"0\"", "path of the Transformer"},
        {MODULES, NULL, "{}", "no JSON array"},
        {POOLING, "\"pooling_mode_mean_sqrt_len_tokens\": false", "\"pooling_mode_lasttoken\": true",
         "pooling_mode_lasttoken is true"},
        {POOLING, "\"pooling_mode_max_tokens\": false", "\"pooling_mode_max_tokens\": true", "beside another"},
        {POOLING, "\"pooling_mode_max_tokens\": false", "\"pooling_mode\": \"weightedmean\"",
         "is none of mean, cls, max"},
        {POOLING, "\"pooling_mode_max_tokens\": false", "\"pooling_mode\": [\"mean\", \"max\"]",
         "is none of mean, cls, max"},
        {POOLING, "32", "33", "is not the hidden_size of config.json"},
        {POOLING, NULL, "[]", "no JSON object"},
        {CONFIG, "{", "{\"quantization_config\": {},", "quantization_config is there"},
        {SENTENCES, "{", "{\"transformer_task\": \"fill-mask\",", "\"fill-mask\" is none of feature-extraction"},
        {SENTENCES, "{", "{\"module_output_name\": \"scores\",", "module_output_name \"scores\" is none of token_emb"},
        {SENTENCES, "{", "{\"modality_config\": {\"text\": {\"method_output_name\": \"logits\"}},",
         "method_output_name \"logits\" is none of last_hidden_state"},
        {SENTENCES, "{", "{\"processing_kwargs\": {\"text\": {}},", "processing_kwargs is there"},
        {SENTENCES, "{", "{\"query_length\": 8,", "query_length is there"},
        {SENTENCES, "{", "{\"model_args\": {\"attn_implementation\": \"sdpa\", \"torch_dtype\": \"float16\"},",
         "model_args is there"},
        {SENTENCES, "{", "{\"model_args\": 1,", "model_args is there"},
        {SENTENCES, "{", "{\"config_args\": {\"attn_implementation\": \"sdpa\"},", "config_args is there"},
        {MODULES, "sentence_transformers.models.Transformer", "custom_st.Transformer", "module 0 is \"custom_st.T"},
    };
    static const char *const sentences[][2] = {
        {"{\"default_prompt_name\": \"query\", \"prompts\": {\"query\": \"a\"}}", "default_prompt_name puts a prompt"},
        {"{\"default_prompt_name\": \"other\"}", "default_prompt_name puts a prompt"},
        {"{\"default_prompt_name\": 1}", "default_prompt_name puts a prompt"},
        {"{\"prompts\": {\"query\": 1}}", "query is no string"},
        {"{\"prompts\": [\"a\"]}", "prompts is no object"},
        {"[]", "no JSON object"},
        {"{\"truncate_dim\": 0}", "truncate_dim is no whole number from 1"},
        {"{\"truncate_dim\": -2}", "truncate_dim is no whole number from 1"},
        {"{\"model_type\": null}", "model_type is null"},
        {"{\"model_type\": \"SparseEncoder\"}", "model_type \"SparseEncoder\" is none of SentenceTransformer"},
        {"{\"similarity_fn_name\": \"manhattan\"}", "similarity_fn_name \"manhattan\" is none of cosine, dot"},
        {"{\"similarity_fn_name\": \"dot\", \"truncate_dim\": 31}",
         "similarity_fn_name is dot, where vectors are not"}};
    contents of[FILES];
    char other[PATH + 40];
    if (!begin_directory(of, "f32"))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        with(of, cases[i].file, cases[i].from, cases[i].to);
        refuses(files[cases[i].file], cases[i].cause);
        restore(of, cases[i].file);
    }
    write_file(files[POOLING], NULL, 0);
    refuses("1_Pooling/config.json", "no such file");
    restore(of, POOLING);
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        write_file(files[PROMPTS], sentences[i][0], strlen(sentences[i][0]));
        refuses(files[PROMPTS], sentences[i][1]);
    }
    const char *include = "{\"prompts\": {\"query\": \"a\"}}";
    write_file(files[PROMPTS], include, strlen(include));
    with(of, POOLING, "{", "{\"include_prompt\": false,");
    refuses(files[POOLING], "include_prompt is false, and there are prompts");
    restore(of, POOLING);
    write_file(files[PROMPTS], NULL, 0);
    with(of, SENTENCES, "false", "true");
    with(of, TOKENIZER, "\"do_lower_case\": true", "\"do_lower_case\": false");
    refuses(files[SENTENCES], "do_lower_case is true, and that of the tokenizer is not");
    restore(of, SENTENCES);
    restore(of, TOKENIZER);
    with(of, VOCABULARY, "[SEP]", "[sep]");
    refuses("", "no [CLS] or no [SEP]");
    restore(of, VOCABULARY);
    with(of, CONFIG, "\"vocab_size\": 192", "\"vocab_size\": 191");
    refuses("", "the vocabulary has 192 ids, config.json says 191");
    restore(of, CONFIG);
    with(of, CONFIG, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3");
    refuses("model.safetensors", "encoder.layer.2.attention.self.query.weight is missing");
    with(of, CONFIG, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1");
    refuses("model.safetensors", "is none of a BERT");
    with(of, CONFIG, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2147483647");
    refuses("model.safetensors", "2147483647 layers");
    with(of, CONFIG, "\"intermediate_size\": 64", "\"intermediate_size\": 65");
    refuses("model.safetensors", "intermediate.dense.weight is 64 x 32, not 65 x 32");
    restore(of, CONFIG);
    snprintf(other, sizeof other, "%s/model.safetensors", model_path("cls"));
    contents weights = read_all(other);
    write_file(files[WEIGHTS], weights.bytes, weights.size);
    refuses("model.safetensors", "token_type_embeddings.weight is 1 x 32, not 2 x 32");
    end_directory();
}

/* What may be missing: without modules.json the mean as it is; without sentence_bert_config.json the tokenizer's length;
   without that as many tokens as there are positions. */
TEST(bert_defaults)
{
    contents of[FILES];
    bert model;
    if (!begin_directory(of, "f32"))
        return;
    write_file(files[MODULES], NULL, 0);
    write_file(files[SENTENCES], NULL, 0);
    with(of, TOKENIZER, "32", "31");
    if (CHECK(bert_open(&model, directory, NULL) == NULL)) {
        CHECK(model.config.pooling == BERT_MEAN && !model.config.normalize && model.config.max_seq_length == 31);
        bert_close(&model);
    }
    with(of, TOKENIZER, "32", "1000000000000000019884624838656");
    if (CHECK(bert_open(&model, directory, NULL) == NULL)) {
        CHECK(model.config.max_seq_length == 32);
        bert_close(&model);
    }
    write_file(files[TOKENIZER], NULL, 0);
    static const char *const prompts[] = {"{\"prompts\": {\"query\": \"a\"}}",
                                          "{\"truncate_dim\": 8, \"prompts\": {\"query\": \"a\"}}"};
    write_file(files[PROMPTS], prompts[1], strlen(prompts[1]));
    refuses(files[PROMPTS], "truncate_dim is there, but no modules.json");
    for (int turn = 0; turn < 2; turn++) { /* 0: without modules.json none of the two counts */
        write_file(files[PROMPTS], prompts[turn], strlen(prompts[turn]));
        with(of, SENTENCES, "24", turn ? "100" : "20");
        if (turn)
            restore(of, MODULES);
        if (!CHECK(bert_open(&model, directory, NULL) == NULL))
            continue;
        CHECK(model.config.max_seq_length == 32 && model.config.dimension == (turn ? 8 : 32));
        CHECK(model.query.size == (turn ? 1 : 0) && (*model.files.notes == 0) == turn);
        CHECK(turn || strstr(model.files.notes, "/sentence_bert_config.json: it does not count"));
        CHECK(turn || strstr(model.files.notes, "/config_sentence_transformers.json: it does not count"));
        bert_close(&model);
    }
    write_file(files[SENTENCES], "{}", 2); /* then by a name of old */
    write_file("sentence_distilbert_config.json", "{\"max_seq_length\": 21}", 22);
    if (CHECK(bert_open(&model, directory, NULL) == NULL)) {
        CHECK(model.config.max_seq_length == 21);
        bert_close(&model);
    }
    write_file("sentence_distilbert_config.json", NULL, 0);
    end_directory();
}

/* What is accepted beside that, and what is noted. */
TEST(bert_notes)
{
    static const struct {
        int file;
        const char *text, *note;
    } cases[] = {
        {PROMPTS, "{\"default_prompt_name\": \"query\", \"similarity_fn_name\": \"dot\", \"truncate_dim\": 32}", ""},
        {PROMPTS, "{\"default_prompt_name\": \"x\", \"prompts\": {\"x\": \"\", \"query\": null}}", ""},
        {PROMPTS, "{\"truncate_dim\": 99, \"prompts\": {\"clustering\": \"c: \"}, \"truncate\": 1}",
         "config_sentence_transformers.json: unknown members are not looked at: truncate\n"},
        {PROMPTS, "{\"prompts\": {\"passage\": \"p: \"}}", "of prompts, query and document alone are used\n"},
        {PROMPTS, "{\"prompts\": {\"query\": \"q: \", \"passage\": \"\"}}", ""},
        {MODULES,
         "[{\"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\", \"x\": 1}, {\"path\": "
         "\"1_Pooling\", "
         "\"type\": \"sentence_transformers.models.Pooling\", \"x\": 1}]",
         "modules.json: a module: unknown members are not looked at: x\n"},
        {SENTENCES, "{\"max_seq_length\": 24, \"model_args\": {\"attn_implementation\": \"eager\"}}", ""},
        {SENTENCES, "{\"max_seq_length\": 24, \"pooling\": 1}", "sentence_bert_config.json: unknown members are not"},
        {POOLING, "{\"pooling_mode\": \"mean\", \"include_prompt\": false, \"weights\": []}",
         "1_Pooling/config.json: unknown members are not looked at: weights\n"}};
    contents of[FILES];
    if (!begin_directory(of, "f32"))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bert model;
        write_file(files[cases[i].file], cases[i].text, strlen(cases[i].text));
        const char *error = bert_open(&model, directory, NULL);
        test_case("%s: %s", cases[i].text, error ? error : "open");
        if (CHECK(!error)) {
            CHECK(strstr(model.files.notes, cases[i].note) && (*cases[i].note || !*model.files.notes));
            CHECK(strchr(model.files.notes, '\n') == strrchr(model.files.notes, '\n')); /* one line, or none */
            CHECK(model.config.dimension == 32);
            bert_close(&model);
        }
        if (cases[i].file != PROMPTS)
            restore(of, cases[i].file);
        write_file(files[PROMPTS], NULL, 0);
    }
    end_directory();
}

/* Weights that are NaN give no vectors. */
TEST(bert_damaged_weights)
{
    static const bert_text text = {"the cat", 7};
    contents of[FILES];
    float vector[32];
    bert model;
    if (!begin_directory(of, "f32"))
        return;
    memset(of[WEIGHTS].bytes + of[WEIGHTS].size / 2, 0xff, of[WEIGHTS].size / 2);
    restore(of, WEIGHTS);
    if (CHECK(bert_open(&model, directory, NULL) == NULL)) {
        const char *error = model.config.hidden_size == 32 ? bert_embed(&model, vector, &text, 1) : NULL;
        CHECK(error && strstr(error, "not finite"));
        bert_close(&model);
    }
    end_directory();
}

/* Each file cut anywhere and with any byte changed: a message or a model that works, and nothing lost. */
TEST(bert_hostile)
{
    static const bert_text text = {"the cat", 7};
    contents of[FILES];
    if (!begin_directory(of, "prefixed"))
        return;
    for (int file = 0; file < COPIED; file++)
        for (size_t n = 0; n < (test_quick ? 20 : 100); n++) {
            long live = test_memory_state.live;
            size_t most = of[file].size < 4000 ? of[file].size : 4000, at = test_below(most);
            char *bytes = (char *)test_block(of[file].size);
            float vector[32];
            bert model;
            memcpy(bytes, of[file].bytes, of[file].size);
            if (n % 2)
                bytes[at] = (char)test_below(256);
            write_file(files[file], bytes, n % 2 ? of[file].size : at);
            test_case("%s, byte %lu, case %lu", files[file], (unsigned long)at, (unsigned long)n);
            if (bert_open(&model, directory, NULL) == NULL) {
                if (CHECK(model.config.hidden_size == 32)) {
                    const char *error = bert_embed(&model, vector, &text, 1);
                    CHECK(!error || *error);
                }
                bert_close(&model);
            } else {
                CHECK(strncmp(model.net.error, directory, strlen(directory)) == 0);
            }
            CHECK(test_memory_state.live == live);
            restore(of, file);
        }
    end_directory();
}
