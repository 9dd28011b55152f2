/* Decoders: small models of every family with the results of transformers (golden/make_decoder.py); pieces, threads and
   rings that change nothing; and models that are broken in every way a directory can be. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif

#include "directory.h" /* first: test.h has ATTN_THREADS */

#include "examples/models/decoder.h"

static const char *const names[] = {
    "llama_f32",       "llama3_bf16",       "llama_bias_f16",   "llama_dynamic_bf16", "llama_yarn_bf16",
    "mistral_bf16",    "mistral_full_f16",  "qwen2_bf16",       "qwen2_window_f16",   "qwen3_bf16",
    "qwen3_mixed_f16", "gemma2_bf16",       "gemma2_plain_f16", "gemma3_text_bf16",   "gemma3_bf16",
    "gpt_oss_bf16",    "gpt_oss_plain_f16", "smollm3_bf16",     "smollm3_window_f16", "llama_v5",
    "qwen2_v5",        "gemma3_v5",         "gpt_oss_v5",       "gemma2_gguf_f16",    "gemma_bf16"};

static const decoder_family families[] = {
    DECODER_LLAMA,   DECODER_LLAMA,   DECODER_LLAMA,   DECODER_LLAMA,   DECODER_LLAMA,
    DECODER_MISTRAL, DECODER_MISTRAL, DECODER_QWEN2,   DECODER_QWEN2,   DECODER_QWEN3,
    DECODER_QWEN3,   DECODER_GEMMA2,  DECODER_GEMMA2,  DECODER_GEMMA3,  DECODER_GEMMA3,
    DECODER_GPT_OSS, DECODER_GPT_OSS, DECODER_SMOLLM3, DECODER_SMOLLM3, DECODER_LLAMA,
    DECODER_QWEN2,   DECODER_GEMMA3,  DECODER_GPT_OSS, DECODER_GEMMA2,  DECODER_GEMMA};

enum { NAMES = sizeof names / sizeof *names, DYNAMIC = 3, PATH = 128, LONG = 700, CHUNK = 512 };

/* ---- goldens ---- */

static const char *path_of(const char *name, const char *file)
{
    static char path[PATH];
    snprintf(path, sizeof path, "examples/models/tests/golden/decoder/%s%s%s", name, file ? "/" : "", file ? file : "");
    return path;
}

static int open_model(decoder *model, const char *name)
{
    const char *error = decoder_open(model, path_of(name, NULL), NULL);
    test_case("%s: %s", name, error ? error : "open");
    return CHECK(!error);
}

static float *floats(size_t count)
{
    return (float *)test_block(count * sizeof(float));
}

static int32_t *ids_of(const safetensors_tensor *t)
{
    int32_t *ids = (int32_t *)test_block((t->count + 1) * sizeof *ids);
    for (size_t i = 0; i < t->count; i++)
        ids[i] = (int32_t)safetensors_get(t, i);
    return ids;
}

static int32_t *long_text(void)
{
    int32_t *ids = (int32_t *)test_block(LONG * sizeof *ids);
    for (int32_t i = 0; i < LONG; i++)
        ids[i] = (7 * i + i * i / 5) % 64;
    return ids;
}

/* The largest distance between logits and row r of a golden. */
static double distance(const float *logits, const safetensors_tensor *want, size_t r)
{
    double most = 0;
    for (size_t i = 0; i < want->shape[1]; i++) {
        double off = fabs((double)logits[i] - safetensors_get(want, r * want->shape[1] + i));
        if (!(off <= most))
            most = off;
    }
    return most;
}

static int32_t likeliest(const float *logits, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

/* The text after `prompt`, one token by one, is that of the golden. */
static void continues(decoder *model, decoder_text *text, float *logits, const safetensors_tensor *greedy)
{
    for (size_t i = 0; i < greedy->count; i++) {
        int32_t id = likeliest(logits, model->config.vocab_size);
        if (!CHECK(id == (int32_t)safetensors_get(greedy, i)) ||
            !CHECK(decoder_read(model, text, &id, 1, logits) == NULL))
            return;
    }
}

/* Logits of the prompt to 1e-4, and the tokens after it; defaults of config.json and generation_config.json. */
TEST(decoder_goldens)
{
    for (size_t k = 0; k < NAMES; k++) {
        decoder model;
        decoder_text text;
        safetensors file;
        if (!open_model(&model, names[k]) || !CHECK(!safetensors_open(&file, path_of(names[k], "golden.safetensors"))))
            continue;
        const safetensors_tensor *prompt = safetensors_find(&file, "prompt"), *rows = safetensors_find(&file, "rows");
        const safetensors_tensor *want = safetensors_find(&file, "logits"), *eos = safetensors_find(&file, "eos");
        const safetensors_tensor *defaults = safetensors_find(&file, "defaults");
        const decoder_config *c = &model.config;
        size_t n = prompt->count, V = c->vocab_size;
        int32_t *ids = ids_of(prompt);
        float *logits = floats(n * V);
        CHECK(c->family == families[k] && want->shape[1] == V);
        CHECK(!*model.files.notes == (strcmp(names[k], "gpt_oss_plain_f16") != 0)); /* what a library writes is known */
        CHECK(c->tie_word_embeddings == (model.head.data == model.embedding.data));
        CHECK(decoder_begin(&model, &text, n + 64, ATTN_F32) == NULL);
        CHECK(decoder_read_all(&model, &text, ids, n, logits) == NULL && text.length == n);
        for (size_t r = 0; r < rows->count; r++)
            CHECK_NEAR((real)distance(logits + (size_t)safetensors_get(rows, r) * V, want, r), 0, 1e-4L);
        continues(&model, &text, logits + (n - 1) * V, safetensors_find(&file, "greedy"));
        CHECK(text.length == text.capacity);
        decoder_end(&model, &text);
        if (CHECK(c->eos_count == eos->count))
            for (size_t i = 0; i < eos->count; i++)
                CHECK(c->eos_ids[i] == (int32_t)safetensors_get(eos, i));
        CHECK((float)c->temperature == (float)safetensors_get(defaults, 0));
        CHECK((double)c->top_k == safetensors_get(defaults, 1));
        CHECK((float)c->top_p == (float)safetensors_get(defaults, 2));
        CHECK((float)c->repetition_penalty == (float)safetensors_get(defaults, 3));
        safetensors_close(&file);
        decoder_close(&model);
        test_release();
    }
}

/* The same models as a GGUF: logits with the same bits, but where scaling is told by floats. */
TEST(decoder_gguf)
{
    static const char *const models[] = {
        "llama_f32-00001-of-00003", "llama3_bf16",      "llama_bias_f16", "qwen2_bf16", "qwen3_bf16", "gemma_bf16",
        "gemma2_gguf_f16",          "gemma3_text_bf16", "smollm3_bf16"};
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        decoder model, same;
        decoder_text text;
        char path[PATH];
        int32_t *ids = long_text();
        snprintf(path, sizeof path, "%.*s", (int)strcspn(models[k], "-"), models[k]);
        if (!open_model(&model, path))
            continue;
        snprintf(path, sizeof path, "examples/models/tests/golden/gguf/%s.gguf", models[k]);
        const char *error = decoder_open(&same, path, NULL);
        test_case("%s: %s", path, error ? error : "open");
        if (CHECK(!error)) {
            model.config.activation = same.config.activation; /* no key says what it is: that of the architecture */
            size_t count = 200 * model.config.vocab_size;
            float *logits = floats(count), *others = floats(count);
            CHECK(same.config.tie_word_embeddings == model.config.tie_word_embeddings && !*same.files.notes);
            CHECK(decoder_begin(&model, &text, 200, ATTN_F32) == NULL);
            CHECK(decoder_read_all(&model, &text, ids, 200, logits) == NULL);
            decoder_end(&model, &text);
            CHECK(decoder_begin(&same, &text, 200, ATTN_F32) == NULL);
            CHECK(decoder_read_all(&same, &text, ids, 200, others) == NULL);
            decoder_end(&same, &text);
            for (size_t i = 0; i < count; i++)
                if (k == 1 ? !CHECK_NEAR((real)others[i], (real)logits[i], 1e-4L) : !CHECK(others[i] == logits[i]))
                    break;
            decoder_close(&same);
        }
        decoder_close(&model);
        test_release();
    }
}

/* Opens a copy of a golden GGUF in which a text, or a number of 32 bits behind it, is another. */
static const char *open_changed(decoder *model, const char *name, const char *text, const char *other, int number)
{
    char path[300];
    snprintf(path, sizeof path, "examples/models/tests/golden/gguf/%s.gguf", name);
    contents file = read_all(path);
    size_t size = strlen(text), at = 0;
    while (at + size <= file.size && memcmp(file.bytes + at, text, size) != 0)
        at++;
    if (!CHECK(at + size + 8 <= file.size))
        return "not found";
    memcpy(file.bytes + at, other, size);
    if (number >= 0) { /* behind the type of the value */
        file.bytes[at + size + 4] = (char)(number & 255);
        file.bytes[at + size + 5] = (char)(number >> 8);
    }
    write_file("model.gguf", file.bytes, file.size);
    snprintf(path, sizeof path, "%s/model.gguf", directory);
    return decoder_open(model, path, NULL);
}

TEST(decoder_gguf_refused)
{
    static const struct {
        const char *name, *text, *other, *says;
        int number;
    } changes[] = {
        {"llama3_bf16", "llama", "lxama", ": general.architecture \"lxama\" is none of llama, smollm3, qwen2,", -1},
        {"llama3_bf16", "general.arch", "general.arcx", ": general.architecture is missing", -1},
        {"llama3_bf16", "llama.block_count", "lxama.block_count", ": llama.block_count is missing", -1},
        {"llama3_bf16", "llama.rope.freq_base", "llama.rope.freq_bass",
         ": llama.rope.freq_bass is there, which this program does not do", -1},
        {"llama3_bf16", "llama.attention.value_length", "llama.attention.value_length",
         ": llama.attention.value_length is another than the size of a key", 9},
        {"llama3_bf16", "llama.attention.head_count", "llama.attention.head_count", ": num_attention_heads ", 0},
        {"llama3_bf16", "llama.block_count", "llama.block_count", ": tensor model.layers.2", 3},
        {"llama3_bf16", "llama.block_count", "llama.block_count", ": tensor model.layers.1", 1},
        {"llama3_bf16", "blk.1.attn_v.weight", "blk.1.attn_w.weight", ": tensor ", -1},
        {"llama3_bf16", "blk.1.attn_v.weight", "blk.1.attn_k.weight", ": tensor ", -1},
        {"llama3_bf16", "rope_freqs.weight", "rope_freqs.weighs", ": tensor rope_freqs.weighs", -1},
        {"qwen2_bf16", "qwen2.embedding_length", "qwen2.embedding_length", ": hidden_size ", 0},
        {"llama_bias_f16", "linear", "linea_", ": llama.rope.scaling.type is neither none, linear nor yarn", -1},
        {"gemma3_text_bf16", "gemma3.attention.sliding_window", "gemma3.attention.sliding_windox", ": gemma3.", -1},
        {"llama_f32-00001-of-00003", "split.count", "split.count", ": a part of 4 of a model", 4},
        {"llama_f32-00001-of-00003", "split.count", "split.count", ": split.tensors.count is not", 1},
    };
    static const char *const files[] = {"model.gguf"};
    decoder model;
    if (!make_directory("changed GGUF"))
        return;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const char *error = open_changed(&model, changes[i].name, changes[i].text, changes[i].other, changes[i].number);
        test_case("%s, %s: %s", changes[i].name, changes[i].other, error ? error : "open");
        if (CHECK(error != NULL))
            CHECK(strstr(error, "model.gguf") && strstr(error, changes[i].says));
        else
            decoder_close(&model);
        test_release();
    }
    static const char eos[] = "tokenizer.ggml.eos_token_id"; /* of no token: there is none */
    if (CHECK(open_changed(&model, "generate", eos, eos, 0x7fff) == NULL))
        decoder_close(&model);
    remove_directory(files, 1);
}

/* A text that is longer than what is read at once, and than every ring. */
TEST(decoder_long)
{
    static const size_t at[] = {511, 512, LONG - 1};
    for (size_t k = 0; k < NAMES; k += test_quick ? 7 : 1) {
        decoder model;
        decoder_text text;
        safetensors file;
        if (!open_model(&model, names[k]) || !CHECK(!safetensors_open(&file, path_of(names[k], "golden.safetensors"))))
            continue;
        const safetensors_tensor *want = safetensors_find(&file, "long");
        float *logits = floats(LONG * model.config.vocab_size);
        CHECK(decoder_begin(&model, &text, LONG, ATTN_F32) == NULL);
        CHECK(decoder_read_all(&model, &text, long_text(), LONG, logits) == NULL);
        for (size_t r = 0; r < 3; r++)
            CHECK_NEAR((real)distance(logits + at[r] * model.config.vocab_size, want, r), 0, 1e-4L);
        decoder_end(&model, &text);
        safetensors_close(&file);
        decoder_close(&model);
        test_release();
    }
}

TEST(decoder_config)
{
    decoder model;
    if (!open_model(&model, "llama3_bf16"))
        return;
    CHECK(model.config.bos_id == 70 && model.config.pad_id == -1 && model.config.num_key_value_heads == 2);
    CHECK(model.config.head_dim == 8 && model.config.hidden_size == 24 && model.files.count == 3);
    CHECK_NEAR((real)model.config.scale, 0.353553390593L, 1e-9L);
    decoder_close(&model);
    if (!open_model(&model, "gemma3_bf16")) /* most of it by default */
        return;
    CHECK(model.config.num_attention_heads == 8 && model.config.num_key_value_heads == 4);
    CHECK(model.config.tie_word_embeddings && model.config.activation == LAYERS_GELU_TANH);
    CHECK(model.config.bos_id == 2 && model.config.pad_id == 0);
    CHECK_NEAR((real)model.config.scale, 0.316227766017L, 1e-9L);
    decoder_close(&model);
    if (!open_model(&model, "gemma2_bf16"))
        return;
    CHECK_NEAR((real)model.config.attn_logit_softcapping, 4, 0);
    CHECK_NEAR((real)model.config.final_logit_softcapping, 9, 0);
    decoder_close(&model);
    decoder_close(&model); /* once more: nothing is left */
}

/* ---- what must change nothing ---- */

static void same_bits(const float *got, const float *want, size_t count)
{
    CHECK(memcmp(got, want, count * sizeof *got) == 0);
}

/* The logits of a text at once, one by one and in pieces, with 1 to 3 threads, and those of its last token alone. */
TEST(decoder_pieces)
{
    enum { N = 44 };
    static const size_t pieces[] = {1, 3, 13, N};
    static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    for (size_t k = 0; k < NAMES; k += test_quick ? 5 : 1) {
        decoder model;
        decoder_text text;
        int32_t *ids = long_text();
        size_t n = k == DYNAMIC ? 24 : N, V;
        float *whole, *got;
        if (!open_model(&model, names[k]))
            continue;
        model.net.batch_invariant = 1;
        V = model.config.vocab_size;
        whole = floats(n * V), got = floats(n * V);
        for (size_t t = 0; t < 3; t += test_quick ? 2 : 1) {
            CHECK(decoder_begin(&model, &text, n, types[t]) == NULL);
            CHECK(decoder_read_all(&model, &text, ids, n, whole) == NULL);
            decoder_end(&model, &text);
            for (size_t p = 0; p < 4; p++) {
                attn_parallel none = {NULL, NULL, 0};
                test_case("%s, pieces of %lu, type %lu", names[k], (unsigned long)pieces[p], (unsigned long)t);
                if (p > 0)
                    CHECK_STATUS(attn_pool_new(&model.net.parallel, p), ATTN_OK);
                CHECK(decoder_begin(&model, &text, n, types[t]) == NULL);
                for (size_t at = 0; at < n; at += pieces[p]) {
                    size_t len = n - at < pieces[p] ? n - at : pieces[p];
                    CHECK(decoder_read_all(&model, &text, ids + at, len, got + at * V) == NULL);
                }
                same_bits(got, whole, n * V);
                decoder_end(&model, &text);
                attn_pool_free(&model.net.parallel);
                model.net.parallel = none;
            }
        }
        test_case("%s, the last", names[k]);
        CHECK(decoder_begin(&model, &text, n, types[2]) == NULL);
        CHECK(decoder_read(&model, &text, ids, n - 9, NULL) == NULL);
        CHECK(decoder_read(&model, &text, ids + n - 9, 9, got) == NULL);
        same_bits(got, whole + (n - 1) * V, V);
        decoder_end(&model, &text);
        decoder_close(&model);
        test_release();
    }
}

/* Rings give the bits of full caches, and take no more memory however long the text. */
TEST(decoder_rings)
{
    static const char *const some[] = {"mistral_bf16", "gpt_oss_bf16", "gemma3_text_bf16"};
    static const size_t keeps[] = {7 - 1 + CHUNK, 5 - 1 + CHUNK, 5 - 1 + CHUNK};
    for (size_t k = 0; k < 3; k += test_quick ? 2 : 1) {
        decoder model;
        decoder_text text, other;
        int32_t *ids = long_text();
        float *whole, *got;
        size_t V, full, ring;
        if (!open_model(&model, some[k]))
            continue;
        model.net.batch_invariant = 1;
        V = model.config.vocab_size;
        whole = floats(keeps[k] * V), got = floats(keeps[k] * V);
        CHECK(decoder_begin(&model, &text, keeps[k], ATTN_F32) == NULL);
        CHECK(decoder_begin(&model, &other, LONG, ATTN_F32) == NULL);
        CHECK(!text.caches[0].ring && text.caches[0].k.len == keeps[k]);
        CHECK(other.caches[0].ring && other.caches[0].k.len == keeps[k]);
        CHECK(decoder_read_all(&model, &text, ids, keeps[k], whole) == NULL);
        CHECK(decoder_read_all(&model, &other, ids, keeps[k], got) == NULL);
        same_bits(got, whole, keeps[k] * V);
        decoder_end(&model, &text);
        /* on into what the ring has to drop for, at once and one by one */
        CHECK(decoder_read(&model, &other, ids + keeps[k], LONG - keeps[k], whole) == NULL);
        decoder_end(&model, &other);
        CHECK(decoder_begin(&model, &other, 2 * LONG, ATTN_F32) == NULL);
        for (size_t i = 0; i < LONG; i += i < 600 ? 50 : 1)
            CHECK(decoder_read(&model, &other, ids + i, i < 600 ? 50 : 1, got) == NULL);
        CHECK(other.length == LONG);
        same_bits(got, whole, V);
        decoder_end(&model, &other);
        CHECK_STATUS(attn_kv_cache_size(&full, 1, model.config.num_key_value_heads, 100000, model.config.head_dim,
                                        model.config.head_dim, ATTN_F16, 0),
                     ATTN_OK);
        CHECK_STATUS(attn_kv_cache_size(&ring, 1, model.config.num_key_value_heads, keeps[k], model.config.head_dim,
                                        model.config.head_dim, ATTN_F16, 1),
                     ATTN_OK);
        CHECK(decoder_cache_size(&model, 100000, ATTN_F16) == (k == 0   ? 2 * ring
                                                               : k == 1 ? 2 * ring + full
                                                                        : 5 * ring + full));
        CHECK(decoder_cache_size(&model, SIZE_MAX, ATTN_F16) == (k == 0 ? 2 * ring : SIZE_MAX));
        decoder_close(&model);
        test_release();
    }
}

/* The text is `old` tokens long, is cut to `len` of them, and goes on with others: the logits are those of reading all
   that afresh. Returns how many were left. */
static size_t truncates(decoder *model, size_t old, size_t len, size_t more, size_t capacity, float *whole, float *got)
{
    decoder_text text;
    int32_t *ids = long_text(), *other = long_text();
    size_t left, V = model->config.vocab_size;
    for (size_t i = len; i < len + more; i++)
        other[i] = (ids[i] + 1) % 64;
    test_case("%lu of %lu, then %lu", (unsigned long)len, (unsigned long)old, (unsigned long)more);
    CHECK(decoder_begin(model, &text, capacity, ATTN_F32) == NULL);
    CHECK(decoder_read(model, &text, other, len + more, whole) == NULL);
    decoder_end(model, &text);
    CHECK(decoder_begin(model, &text, capacity, ATTN_F32) == NULL);
    CHECK(decoder_read(model, &text, ids, old, got) == NULL);
    decoder_truncate(model, &text, len);
    left = text.length;
    CHECK(left == 0 || left == len);
    CHECK(decoder_read(model, &text, other + left, len + more - left, got) == NULL && text.length == len + more);
    same_bits(got, whole, V);
    decoder_end(model, &text);
    return left;
}

/* Every family; short of its rings, which forget nothing then. */
TEST(decoder_truncates)
{
    for (size_t k = 0; k < NAMES; k += test_quick ? 3 : 1) {
        decoder model;
        decoder_text text;
        if (!open_model(&model, names[k]))
            continue;
        model.net.batch_invariant = 1;
        size_t V = model.config.vocab_size;
        float *whole = floats(V), *got = floats(V);
        CHECK(truncates(&model, 20, 20, 1, LONG, whole, got) == 20);
        CHECK(truncates(&model, 24, 11, 9, LONG, whole, got) == 11);
        CHECK(truncates(&model, 24, 1, 20, LONG, whole, got) == 1);
        CHECK(truncates(&model, 24, 0, 3, LONG, whole, got) == 0);
        CHECK(truncates(&model, 24, 11, 13, 24, whole, got) == 11);
        if (k == DYNAMIC) /* what was read beyond max_position_embeddings has turned slower */
            CHECK(truncates(&model, model.config.max_position_embeddings + 1, 9, 3, LONG, whole, got) == 0);
        CHECK(decoder_begin(&model, &text, 4, ATTN_F32) == NULL);
        CHECK(decoder_read(&model, &text, long_text(), 3, got) == NULL);
        decoder_truncate(&model, &text, SIZE_MAX); /* longer than it is */
        CHECK(text.length == 3);
        decoder_end(&model, &text);
        decoder_close(&model);
        test_release();
    }
}

/* Rings keep W - 1 + 512 tokens: of 700 they have dropped the first, so that only the last of what was read can be
   forgotten; at the edge, one more cannot. */
TEST(decoder_truncates_rings)
{
    static const char *const some[] = {"mistral_bf16", "gpt_oss_bf16", "gemma3_text_bf16", "gemma2_bf16"};
    static const size_t windows[] = {7, 5, 5, 6}, old = 680;
    for (size_t k = 0; k < 4; k++) {
        decoder model;
        if (!open_model(&model, some[k]))
            continue;
        model.net.batch_invariant = 1;
        size_t keeps = windows[k] - 1 + CHUNK, V = model.config.vocab_size, edge = old - CHUNK;
        float *whole = floats(V), *got = floats(V);
        CHECK(truncates(&model, keeps, 3, 9, LONG, whole, got) == 3); /* nothing dropped */
        CHECK(truncates(&model, keeps + 1, 3, 9, LONG, whole, got) == 0);
        CHECK(truncates(&model, old, old - 1, 20, LONG, whole, got) == old - 1);
        CHECK(truncates(&model, old, edge, 20, LONG, whole, got) == edge);
        CHECK(truncates(&model, old, edge - 1, 20, LONG, whole, got) == 0);
        CHECK(truncates(&model, old, edge, LONG - edge, LONG, whole, got) == edge); /* and round once more */
        decoder_close(&model);
        test_release();
    }
}

/* Caches of fewer bits: near, and not the same. */
TEST(decoder_caches)
{
    static const attn_dtype types[] = {ATTN_F16, ATTN_BF16, ATTN_I8};
    static const double within[] = {0.05, 0.3, 0.5};
    enum { N = 40 };
    for (size_t k = 0; k < NAMES; k += test_quick ? 4 : 1) {
        decoder model;
        decoder_text text;
        int32_t *ids = long_text();
        float *want, *got;
        if (!open_model(&model, names[k]))
            continue;
        model.net.batch_invariant = 1;
        size_t V = model.config.vocab_size;
        want = floats(V), got = floats(V);
        CHECK(decoder_begin(&model, &text, N, ATTN_F32) == NULL);
        CHECK(decoder_read(&model, &text, ids, N, want) == NULL);
        decoder_end(&model, &text);
        for (size_t t = 0; t < 3; t++) {
            double most = 0;
            CHECK(decoder_begin(&model, &text, N, types[t]) == NULL);
            CHECK(decoder_read(&model, &text, ids, N, got) == NULL);
            decoder_end(&model, &text);
            for (size_t i = 0; i < V; i++) {
                double off = fabs((double)got[i] - (double)want[i]);
                most = off <= most ? most : off;
            }
            test_case("%s, type %lu: off by %g", names[k], (unsigned long)t, most);
            CHECK(most > 0 && most < within[t]);
        }
        decoder_close(&model);
        test_release();
    }
}

/* ---- errors of a call ---- */

TEST(decoder_calls)
{
    decoder model;
    decoder_text text;
    int32_t *ids = long_text(), wrong[3] = {5, 0, 5};
    const char *error;
    if (!open_model(&model, "gemma2_bf16"))
        return;
    model.net.batch_invariant = 1;
    size_t V = model.config.vocab_size;
    float *want = floats(V), *got = floats(V);
    static const int32_t none[] = {-1, 72, INT32_MAX, INT32_MIN};
    CHECK(decoder_begin(&model, &text, 6, ATTN_F32) == NULL);
    CHECK(decoder_read(&model, &text, ids, 6, want) == NULL);
    decoder_end(&model, &text);
    CHECK(decoder_begin(&model, &text, 6, ATTN_F32) == NULL);
    CHECK(decoder_read(&model, &text, ids, 4, got) == NULL);
    for (size_t i = 0; i < 4; i++) {
        char cause[40];
        wrong[1] = none[i];
        snprintf(cause, sizeof cause, "token %ld ", (long)none[i]);
        error = decoder_read(&model, &text, wrong, 2, got);
        test_case("%s: %s", cause, error ? error : "no error");
        CHECK(error && strstr(error, cause) && error == model.net.error && text.length == 4);
    }
    error = decoder_read_all(&model, &text, ids, 3, got);
    test_case("too many: %s", error ? error : "no error");
    CHECK(error && strstr(error, "3 tokens") && strstr(error, "1 to 2") && text.length == 4);
    error = decoder_read(&model, &text, ids, 0, got);
    CHECK(error && strstr(error, "0 tokens") && text.length == 4);
    error = decoder_read(&model, &text, ids, SIZE_MAX, got);
    CHECK(error && strstr(error, "room") && text.length == 4);
    CHECK(decoder_read(&model, &text, ids + 4, 2, got) == NULL);
    same_bits(got, want, V);
    error = decoder_read(&model, &text, ids, 1, got);
    CHECK(error && strstr(error, "room"));
    decoder_end(&model, &text);
    CHECK(!text.caches && text.length == 0);
    decoder_end(&model, &text);
    decoder_end(&model, NULL);
    static const attn_dtype types[] = {ATTN_F64, ATTN_BOOL, (attn_dtype)99, (attn_dtype)-1};
    for (size_t i = 0; i < 4; i++) {
        error = decoder_begin(&model, &text, 6, types[i]);
        test_case("cache of type %d: %s", (int)types[i], error ? error : "no error");
        CHECK(error && strstr(error, "attn_kv_cache_init") && !text.caches);
        CHECK(decoder_cache_size(&model, 6, types[i]) == SIZE_MAX);
    }
    CHECK(decoder_begin(&model, &text, 0, ATTN_F32) != NULL && !text.caches);
    CHECK(decoder_begin(&model, &text, SIZE_MAX / 2, ATTN_F32) != NULL && !text.caches);
    CHECK(decoder_begin(&model, &text, 6, ATTN_F32) == NULL); /* what failed has left nothing behind */
    CHECK(decoder_read(&model, &text, ids, 6, got) == NULL);
    same_bits(got, want, V);
    decoder_end(&model, &text);
    decoder_close(&model);
    test_release();
}

/* What fails in the second layer is forgotten in the first, of a ring too, which has dropped tokens for it. */
TEST(decoder_fails_midway)
{
    enum { N = 600, AGAIN = 50 };
    decoder model;
    decoder_text text;
    int32_t *ids = long_text();
    if (!open_model(&model, "mistral_bf16"))
        return;
    size_t V = model.config.vocab_size;
    float *want = floats(V), *got = floats(V);
    CHECK(decoder_begin(&model, &text, LONG, ATTN_F32) == NULL);
    CHECK(decoder_read(&model, &text, ids, N + AGAIN, want) == NULL);
    decoder_end(&model, &text);
    CHECK(decoder_begin(&model, &text, LONG, ATTN_F32) == NULL);
    CHECK(decoder_read(&model, &text, ids, N, got) == NULL);
    text.caches[1].k.dim++;
    const char *error = decoder_read(&model, &text, ids + N, AGAIN, got);
    test_case("%s", error ? error : "no error");
    CHECK(error && strstr(error, "attn_kv_cache_append") && error == model.net.error);
    text.caches[1].k.dim--;
    CHECK(text.length == N && text.caches[0].lens[0] == N && text.caches[1].lens[0] == N);
    CHECK(decoder_read(&model, &text, ids + N, AGAIN, got) == NULL);
    same_bits(got, want, V);
    decoder_end(&model, &text);
    decoder_close(&model);
    test_release();
}

/* Each allocation fails once: a message, nothing lost; and then the same call works. */
TEST(decoder_no_memory)
{
    static const char *const some[] = {"llama3_bf16", "gpt_oss_bf16", "gemma3_bf16"};
    enum { N = 600, FIRST = 20 };
    for (size_t k = 0; k < 3; k += test_quick ? 3 : 1) {
        long live = test_memory_state.live;
        size_t failed = 0, step = test_quick ? 5 : 1, V;
        int done = 0;
        decoder model;
        decoder_text text;
        float *want, *got;
        for (size_t at = 1; !done; at += step, failed++) {
            const char *error;
            test_memory_state.fail_at = (long)at;
            error = decoder_open(&model, path_of(some[k], NULL), NULL);
            test_case("%s, allocation %lu of opening: %s", some[k], (unsigned long)at, error ? error : "fine");
            done = !error || !CHECK(strstr(error, ": no memory") && test_memory_state.live == live);
            if (!error)
                decoder_close(&model);
        }
        test_memory_state.fail_at = 0;
        CHECK(failed > (test_quick ? 3 : 20) && test_memory_state.live == live);
        int32_t *ids = long_text();
        if (!open_model(&model, some[k]))
            continue;
        V = model.config.vocab_size;
        want = floats(V), got = floats(V);
        CHECK(decoder_begin(&model, &text, N, ATTN_F32) == NULL);
        CHECK(decoder_read(&model, &text, ids, N, want) == NULL);
        decoder_end(&model, &text);
        decoder_close(&model);
        done = 0, failed = 0;
        for (size_t at = 1; !done; at += step, failed++) {
            const char *error;
            if (!open_model(&model, some[k])) /* anew, so that nothing has grown yet */
                break;
            live = test_memory_state.live;
            test_memory_state.fail_at = (long)at;
            error = decoder_begin(&model, &text, N, ATTN_F32);
            if (error) {
                CHECK(test_memory_state.live == live && decoder_begin(&model, &text, N, ATTN_F32) == NULL);
            } else if ((error = decoder_read(&model, &text, ids, FIRST, got)) != NULL) {
                CHECK(text.length == 0);
            } else if ((error = decoder_read(&model, &text, ids + FIRST, N - FIRST, got)) != NULL) {
                CHECK(text.length == FIRST || text.length == FIRST + CHUNK);
            }
            test_case("%s, allocation %lu: %s", some[k], (unsigned long)at, error ? error : "fine");
            done = !error || !CHECK(strstr(error, "no memory"));
            test_memory_state.fail_at = 0;
            for (size_t i = 0; i < model.config.num_hidden_layers; i++)
                CHECK(text.caches[i].lens[0] == text.length);
            if (error && CHECK(decoder_read(&model, &text, ids + text.length, N - text.length, got) == NULL))
                same_bits(got, want, V);
            decoder_end(&model, &text);
            decoder_close(&model);
        }
        test_memory_state.fail_at = 0;
        CHECK(failed > (test_quick ? 2 : 6));
        test_release();
    }
}

/* ---- directories that are no model ---- */

static const char *const files[] = {"config.json", "model.safetensors", "generation_config.json"};

/* A directory with config.json and model.safetensors of a golden. */
static int begin_directory(contents *of, const char *name)
{
    if (!make_directory("decoders of its own"))
        return 0;
    for (int i = 0; i < 2; i++) {
        of[i] = read_all(path_of(name, files[i]));
        write_file(files[i], of[i].bytes, of[i].size);
    }
    return 1;
}

static void end_directory(void)
{
    remove_directory(files, 3);
    test_release();
}

/* The directory is refused: the message begins with the file's path and has the cause. */
static void refuses(const char *name, const char *cause)
{
    decoder model;
    char path[PATH];
    long live = test_memory_state.live;
    const char *error = decoder_open(&model, directory, NULL);
    snprintf(path, sizeof path, "%s/%s: ", directory, name);
    test_case("%s, for %s: %s", error ? error : "no error", name, cause);
    if (CHECK(error != NULL))
        CHECK(strncmp(error, path, strlen(path)) == 0 && strstr(error, cause) != NULL && !strchr(error, '\n'));
    else
        decoder_close(&model);
    CHECK(test_memory_state.live == live);
}

static void accepts(const char *what)
{
    decoder model;
    const char *error = decoder_open(&model, directory, NULL);
    test_case("%s: %s", what, error ? error : "open");
    if (CHECK(!error))
        decoder_close(&model);
}

/* A text with every part of it replaced, or the first alone; NULL if that is not there. */
static char *replaced(contents text, const char *part, const char *with, int every, size_t *size)
{
    size_t left = strlen(part), right = strlen(with), from = 0, to = 0, count = 0;
    char *out = (char *)test_block(text.size + (every ? text.size : 1) * (right + 1));
    while (from < text.size) {
        if (left && (every || !count) && from + left <= text.size && memcmp(text.bytes + from, part, left) == 0) {
            memcpy(out + to, with, right);
            from += left, to += right, count++;
        } else {
            out[to++] = text.bytes[from++];
        }
    }
    *size = to;
    return count ? out : NULL;
}

static int write_replaced(const contents *of, const char *part, const char *with)
{
    size_t size = 0;
    char *bytes = replaced(of[0], part, with, 0, &size);
    test_case("%s -> %s", part, with);
    if (!CHECK(bytes != NULL))
        return 0;
    write_file(files[0], bytes, size);
    return 1;
}

/* What config.json has, what it becomes, which file is refused, and why; "" for the file: fine. */
static void try_altered(const char *name, const char *const altered[][4], size_t count)
{
    contents of[2];
    if (!begin_directory(of, name))
        return;
    for (size_t i = 0; i < count; i++)
        if (write_replaced(of, altered[i][0], altered[i][1])) {
            if (altered[i][2][0])
                refuses(altered[i][2], altered[i][3]);
            else
                accepts(altered[i][1]);
        }
    end_directory();
}

/* A config.json that says little: sizes are those that transformers takes, and not of these weights. */
TEST(decoder_defaults)
{
    static const char *const wanted[][4] = {{"llama", "32 layers", "not 32000 x 4096", "head_dim is not even"},
                                            {"mistral", "32 layers", "not 32000 x 4096", "head_dim is not even"},
                                            {"qwen2", "32 layers", "not 151936 x 4096", "head_dim is not even"},
                                            {"qwen3", "32 layers", "not 151936 x 4096", "not 4096 x 16"},
                                            {"gemma2", "26 layers", "not 256000 x 2304", "not 2048 x 16"},
                                            {"gemma3_text", "26 layers", "not 262208 x 2304", "not 2048 x 16"},
                                            {"gpt_oss", "36 layers", "not 201088 x 2880", "not 4096 x 16"},
                                            {"smollm3", "36 layers", "not 128256 x 2048", "head_dim is not even"}};
    static const char *const given[] = {"", ", \"num_hidden_layers\": 2",
                                        ", \"num_hidden_layers\": 2, \"vocab_size\": 72, \"hidden_size\": 16"};
    contents of[2];
    if (!begin_directory(of, "llama_f32"))
        return;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        for (size_t k = 0; k < 3; k++) {
            char text[200];
            snprintf(text, sizeof text, "{\"model_type\": \"%s\"%s%s}", wanted[i][0], given[k],
                     i == 6 ? ", \"num_local_experts\": 1, \"num_experts_per_tok\": 1" : "");
            write_file(files[0], text, strlen(text));
            refuses(wanted[i][k + 1][0] == 'h' ? files[0] : files[1], wanted[i][k + 1]);
        }
    end_directory();
}

/* One member of config.json becomes each of many values. */
TEST(decoder_members)
{
    static const char *const members[][2] = {{"hidden_size", "24"},
                                             {"intermediate_size", "32"},
                                             {"num_hidden_layers", "2"},
                                             {"num_attention_heads", "4"},
                                             {"num_key_value_heads", "2"},
                                             {"head_dim", "12"},
                                             {"vocab_size", "72"},
                                             {"max_position_embeddings", "256"},
                                             {"rms_norm_eps", "1e-06"},
                                             {"rope_theta", "10000.0"},
                                             {"factor", "4.0"},
                                             {"beta_fast", "4.0"},
                                             {"mscale", "1.3"},
                                             {"original_max_position_embeddings", "24"},
                                             {"tie_word_embeddings", "false"},
                                             {"attention_bias", "false"},
                                             {"eos_token_id", "2"}};
    static const char *const wrong[] = {"-2",    "\"8\"", "{}",       "[[]]", "18446744073709551616",
                                        "1e999", "NaN",   "Infinity", "-1e9"};
    contents of[2];
    if (!begin_directory(of, "llama_yarn_bf16"))
        return;
    for (size_t m = 0; m < sizeof members / sizeof *members; m += test_quick ? 4 : 1)
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            char part[80], with[120];
            snprintf(part, sizeof part, "\"%s\": %s", members[m][0], members[m][1]);
            snprintf(with, sizeof with, "\"%s\": %s", members[m][0], wrong[i]);
            if (write_replaced(of, part, with))
                refuses("config.json", wrong[i][0] == 'N' || wrong[i][0] == 'I' ? "byte " : members[m][0]);
        }
    end_directory();
}

TEST(decoder_altered_llama)
{
    static const char *const altered[][4] = {
        {"\"llama\"", "\"bert\"", "config.json",
         "model_type \"bert\" is none of llama, mistral, qwen2, qwen3, gemma2, gemma3_text, "
         "gpt_oss, smollm3, gemma, gemma3"},
        {"\"llama\"", "\"phi3\"", "config.json", "gemma3: its query, key and value are one matrix, as are gate and up"},
        {"\"llama\"", "\"olmo2\"", "config.json", "gemma3: its norms come after attention and feed-forward alone"},
        {"\"llama\"", "\"granite\"", "config.json", "gemma3: multipliers of embeddings, attention, residuals and"},
        {"\"llama\"", "\"qwen3_moe\"", "config.json", "gemma3: experts are missing here"},
        {"\"llama\"", "\"mixtral\"", "config.json", "gemma3: experts are missing here"},
        {"\"llama\"", "\"t5\"", "config.json", "gemma3: 05_translate runs it"},
        {"\"model_type\": \"llama\"", "\"model_type\": 5", "config.json", "model_type is none of"},
        {"\"model_type\": \"llama\"", "\"x\": 5", "config.json", "model_type is missing"},
        {"\"model_type\": \"llama\"", "\"model_type\": \"gemma3\"", "config.json", "text_config is no object"},
        {"\"hidden_size\": 24", "\"hidden_size\": 0", "config.json", "hidden_size"},
        {"\"hidden_size\": 24", "\"hidden_size\": 25", "model.safetensors",
         "embed_tokens.weight is 72 x 24, not 72 x 25"},
        {"\"hidden_size\": 24", "\"hidden_size\": 2147483647", "model.safetensors", "embed_tokens.weight is 72 x 24"},
        {"\"intermediate_size\": 32", "\"intermediate_size\": 33", "model.safetensors",
         "gate_proj.weight is 32 x 24, not"},
        {"\"intermediate_size\": 32", "\"intermediate_size\": 2147483647", "config.json", "intermediate_size"},
        {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", "model.safetensors", "tensor model.layers.1."},
        {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "model.safetensors",
         "layers.2.self_attn.q_proj.weight"},
        {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2147483647", "model.safetensors", "2147483647 layers"},
        {"\"num_attention_heads\": 4", "\"num_attention_heads\": 3", "config.json",
         "no multiple of num_key_value_heads"},
        {"\"num_attention_heads\": 4", "\"num_attention_heads\": 6", "model.safetensors",
         "q_proj.weight is 48 x 24, not"},
        {"\"num_attention_heads\": 4", "\"num_attention_heads\": 2147483646", "config.json", "head_dim is too large"},
        {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": null", "model.safetensors",
         "k_proj.weight is 24 x 24, not"},
        {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 0", "config.json", "num_key_value_heads"},
        {"\"head_dim\": 12", "\"head_dim\": 11", "config.json", "head_dim is not even"},
        {"\"head_dim\": 12", "\"head_dim\": null", "model.safetensors", "q_proj.weight is 48 x 24, not 24 x 24"},
        {"\"head_dim\": 12", "\"head_dim\": 2147483646", "config.json", "head_dim is too large"},
        {"\"vocab_size\": 72", "\"vocab_size\": 73", "model.safetensors", "embed_tokens.weight"},
        {"\"vocab_size\": 72", "\"vocab_size\": 2", "config.json", "eos_token_id is no number below vocab_size"},
        {"\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 1.5", "config.json", "rms_norm_eps"},
        {"\"rope_theta\": 10000.0", "\"rope_theta\": 0", "config.json", "rope_theta"},
        {"\"rope_theta\": 10000.0", "\"rope_theta\": 1", "config.json", "rope_theta is not above 1"},
        {"\"rope_theta\": 10000.0", "\"rope_theta\": 1.5", "", ""},
        {"\"relu\"", "\"swish\"", "", ""},
        {"\"relu\"", "\"quick_gelu\"", "config.json", "hidden_act \"quick_gelu\" is none of silu, swish"},
        {"\"relu\"", "1", "config.json", "hidden_act is none of"},
        {"\"yarn\"", "\"longrope\"", "config.json",
         "rope_type \"longrope\" is none of default, linear, dynamic, yarn, llama3"},
        {"\"yarn\"", "\"default\"", "", ""},
        {"\"yarn\"", "\"linear\"", "", ""},
        {"\"yarn\"", "\"llama3\"", "config.json", "low_freq_factor is missing"},
        {"\"yarn\"", "\"llama3\", \"low_freq_factor\": 1", "config.json", "high_freq_factor is missing"},
        {"\"yarn\"", "\"llama3\", \"low_freq_factor\": 4, \"high_freq_factor\": 4", "config.json", "is not above"},
        {"\"yarn\"", "\"llama3\", \"low_freq_factor\": 1, \"high_freq_factor\": 4", "", ""},
        {"\"yarn\"", "\"dynamic\"", "", ""},
        {"\"rope_type\": \"yarn\"", "\"type\": \"yarn\"", "", ""},
        {"\"rope_type\": \"yarn\"", "\"x\": \"yarn\"", "config.json", "rope_scaling has no rope_type"},
        {"\"rope_type\": \"yarn\"", "\"type\": \"mrope\", \"rope_type\": \"yarn\"", "config.json",
         "type and rope_type of a rotation differ"},
        {"\"rope_scaling\": {", "\"rope_scaling\": null, \"other\": {", "", ""},
        {"\"rope_scaling\": {", "\"rope_scaling\": [], \"other\": {", "config.json", "rope_scaling is no object"},
        {"\"factor\": 4.0", "\"factors\": 4.0", "config.json", "factor is missing"},
        {"\"factor\": 4.0", "\"factor\": 0", "config.json", "factor"},
        {"\"beta_fast\": 4.0", "\"attention_factor\": -0.5", "config.json", "attention_factor is negative"},
        {"\"beta_fast\": 4.0", "\"attention_factor\": 0.5", "", ""},
        {"\"beta_fast\": 4.0", "\"truncate\": 1", "config.json", "truncate is neither true nor false"},
        {"_embeddings\": 24", "_embeddings\": 0", "config.json", "original_max_position_embeddings"},
        {"\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true", "", ""},
        {"\"attention_bias\": false", "\"attention_bias\": true", "model.safetensors", "q_proj.bias is missing"},
        {"\"mlp_bias\": false", "\"mlp_bias\": true", "model.safetensors", "gate_proj.bias is missing"},
        {"{", "{\"quantization_config\": {},", "config.json", "quantization_config is there"},
        {"{", "{\"per_layer_config\": {\"0\": {}},", "config.json", "per_layer_config is there"},
        {"{", "{\"original_max_position_embeddings\": 24,", "", ""},
        {"{", "{\"original_max_position_embeddings\": 25,", "config.json", "differs from that of the rotation"},
        {"{", "{\"rope_parameters\": null,", "", ""},
        {"\"rope_scaling\": {", "\"rope_parameters\": [], \"other\": {", "config.json", "rope_parameters is no object"},
        {"\"rope_scaling\": {", "\"rope_parameters\": {", "", ""},
        {"\"rope_scaling\": {", "\"rope_parameters\": {\"rope_theta\": 1e4, ", "", ""},
        {"\"rope_scaling\": {", "\"rope_parameters\": {\"rope_theta\": 5000, ", "config.json",
         "rope_theta differs from the rope_theta of rope_parameters"},
        {"\"rope_scaling\": {", "\"rope_parameters\": {\"rope_theta\": 0, ", "config.json", "rope_theta"},
        {"\"rope_scaling\": {", "\"rope_parameters\": {\"partial_rotary_factor\": 0.5, ", "config.json",
         "partial_rotary_factor is not 1"},
        {"\"rope_scaling\": {", "\"rope_parameters\": {\"full_attention\": {}}, \"x\": {", "config.json",
         "differs by layer types, which it does in a gemma3 alone"},
        {"\"rope_scaling\": {", "\"rope_parameters\": {}, \"other\": {", "", ""},
        {"\"rope_scaling\": {", "\"rope_parameters\": {\"factor\": 2}, \"other\": {", "config.json",
         "rope_parameters has no rope_type"},
        {"{", "{\"attention_chunk_size\": 8,", "config.json", "attention_chunk_size is there"},
        {"{", "{\"partial_rotary_factor\": 0.5,", "config.json", "partial_rotary_factor is not 1"},
        {"{", "{\"partial_rotary_factor\": 1,", "", ""},
        {"{", "{\"is_causal\": false,", "config.json", "is_causal is false"},
        {"{", "{\"is_causal\": true,", "", ""},
        {"{", "{\"rope_interleaved\": true,", "config.json", "rope_interleaved is true"},
        {"{", "{\"pruned_heads\": {\"0\": [1]},", "config.json", "pruned_heads is there"},
        {"{", "{\"pruned_heads\": {},", "", ""},
        {"{", "{\"is_encoder_decoder\": true,", "config.json", "is_encoder_decoder is true"},
        {"{", "{\"add_cross_attention\": true,", "config.json", "add_cross_attention is true"},
        {"{", "{\"attn_logit_softcapping\": 30.0,", "config.json", "attn_logit_softcapping"},
        {"{", "{\"final_logit_softcapping\": 30.0,", "config.json", "final_logit_softcapping"},
        {"{", "{\"sliding_window\": 30,", "config.json", "sliding_window is there, which no llama has"},
        {"{", "{\"sliding_window\": null,", "", ""},
        {"{", "{\"layer_types\": [\"full_attention\", \"full_attention\"],", "", ""},
        {"{", "{\"layer_types\": [\"full_attention\", \"sliding_attention\"],", "config.json",
         "there is no sliding_window"},
        {"{", "{\"layer_types\": [\"full_attention\", \"chunked_attention\"],", "config.json",
         "neither full_attention"},
        {"{", "{\"layer_types\": [\"full_attention\"],", "config.json", "layer_types is no list of num_hidden_layers"},
        {"{", "{\"layer_types\": [\"full_attention\", \"full_attention\", \"full_attention\"],", "config.json",
         "no list of"},
        {"{", "{\"layer_types\": {\"full_attention\": 1},", "config.json", "layer_types is no list"},
        {"\"eos_token_id\": 2", "\"eos_token_id\": [2, 72]", "config.json", "eos_token_id is no number below"},
        {"\"eos_token_id\": 2", "\"eos_token_id\": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]", "", ""},
        {"\"eos_token_id\": 2", "\"eos_token_id\": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]", "config.json",
         "16 elements"},
        {"\"bos_token_id\": 1", "\"bos_token_id\": 72", "", ""},
        {"\"bos_token_id\": 1", "\"bos_token_id\": \"72\"", "config.json", "bos_token_id is no number below"},
        {"\"bos_token_id\": 1", "\"pad_token_id\": 72", "config.json", "pad_token_id is no number below"},
        {"\"bos_token_id\": 1", "\"bos_token_id\": -1", "", ""},
        {"{", "{\"num_beams\": 4,", "config.json", "num_beams"},
        {"{", "[", "config.json", "byte "},
        {"\n}", "\n}}", "config.json", "byte "}};
    try_altered("llama_yarn_bf16", altered, sizeof altered / sizeof *altered);
}

TEST(decoder_altered_others)
{
    static const char *const dynamic[][4] = {
        {"\"factor\": 3.0", "\"factor\": 0.5", "config.json", "factor"},
        {"\"head_dim\": 6", "\"head_dim\": 2", "config.json", "head_dim is 2, too little"}};
    static const char *const mistral[][4] = {
        {"\"sliding_window\": 7", "\"sliding_window\": 0", "config.json", "sliding_window"},
        {"\"sliding_window\": 7", "\"sliding_window\": 7.5", "config.json", "sliding_window"},
        {"\"sliding_window\": 7", "\"sliding_window\": null", "", ""},
        {"{", "{\"layer_types\": [\"sliding_attention\", \"sliding_attention\"],", "", ""},
        {"{", "{\"layer_types\": [\"sliding_attention\", \"full_attention\"],", "config.json", "layers of a mistral"},
        {"{", "{\"attention_bias\": true,", "config.json", "attention_bias is true"},
        {"{", "{\"mlp_bias\": true,", "config.json", "mlp_bias is true"}};
    static const char *const qwen[][4] = {
        {"\"use_sliding_window\": true", "\"use_sliding_window\": false", "", ""},
        {"\"use_sliding_window\": true", "\"use_sliding_window\": 1", "config.json", "use_sliding_window"},
        {"\"max_window_layers\": 1", "\"max_window_layers\": -1", "config.json", "max_window_layers"},
        {"{", "{\"mlp_bias\": true,", "config.json", "mlp_bias is true"}};
    static const char *const qwen3[][4] = {
        {"\"use_sliding_window\": true", "\"use_sliding_window\": false", "config.json", "there is no sliding_window"},
        {"\"sliding_window\": 4", "\"sliding_window\": null", "config.json", "there is no sliding_window"},
        {"\"attention_bias\": true", "\"attention_bias\": false", "model.safetensors", "bias is none of a Qwen 3"}};
    static const char *const gemma2[][4] = {
        {"\"attn_logit_softcapping\": 4.0", "\"attn_logit_softcapping\": 0", "config.json", "attn_logit_softcapping"},
        {"\"final_logit_softcapping\": 9.0", "\"final_logit_softcapping\": -1", "config.json",
         "final_logit_softcapping"},
        {"\"query_pre_attn_scalar\": 6", "\"query_pre_attn_scalar\": 0", "config.json", "query_pre_attn_scalar"},
        {"\"sliding_window\": 6", "\"sliding_window\": null", "config.json", "sliding_window is null"},
        {"{", "{\"hidden_activation\": \"mish\",", "config.json", "hidden_activation \"mish\" is none of"},
        {"{", "{\"hidden_activation\": null, \"hidden_act\": \"mish\",", "", ""}};
    static const char *const gemma3[][4] = {
        {"\"text_config\": {", "\"text_config\": [], \"other\": {", "config.json", "text_config is no object"},
        {"\"gemma3_text\"", "\"llama\"", "config.json", "text_config.model_type is not gemma3_text"},
        {"\"attn_logit_softcapping\": null", "\"attn_logit_softcapping\": 3", "config.json", "attn_logit_softcapping"},
        {"\"final_logit_softcapping\": null", "\"final_logit_softcapping\": 3", "config.json",
         "final_logit_softcapping"},
        {"\"use_bidirectional_attention\": false", "\"use_bidirectional_attention\": true", "config.json",
         "use_bidirectional_attention"},
        {"\"text_config\": {", "\"text_config\": {\"rope_local_base_freq\": 0,", "config.json", "rope_local_base_freq"},
        {"\"text_config\": {", "\"text_config\": {\"do_sample\": true,", "config.json",
         "text_config.do_sample is true"},
        {"\"text_config\": {", "\"text_config\": {\"repetition_penalty\": 1.3,", "config.json",
         "repetition_penalty of text_config"},
        {"\"text_config\": {", "\"text_config\": {\"suppress_tokens\": [1],", "config.json", "suppress_tokens is"},
        {"\"text_config\": {", "\"do_sample\": true, \"text_config\": {\"top_k\": 5,", "config.json",
         "top_k of text_config"},
        {"\"text_config\": {", "\"text_config\": {\"no_repeat_ngram_size\": 0, \"num_beams\": 1,", "", ""},
        {"\"sliding_window_pattern\": 2", "\"sliding_window_pattern\": 0", "config.json", "sliding_window_pattern"}};
    static const char *const oss[][4] = {
        {"\"num_local_experts\": 1", "\"num_local_experts\": 32", "config.json", "num_local_experts is 32"},
        {"\"num_local_experts\": 1", "\"num_local\": 32", "config.json", "num_local_experts is 128"},
        {"\"num_experts_per_tok\": 1", "\"num_experts_per_tok\": 4", "config.json", "num_experts_per_tok is 4"},
        {"{", "{\"swiglu_limit\": 7.0,", "", ""},
        {"{", "{\"swiglu_alpha\": 1.7,", "config.json", "swiglu_alpha is not 1.702"},
        {"{", "{\"num_experts\": 4,", "config.json", "num_experts differs"},
        {"{", "{\"swiglu_limit\": 5.0,", "config.json", "swiglu_limit is not 7"},
        {"{", "{\"hidden_act\": \"gelu\",", "config.json", "hidden_act is not silu"},
        {"\"sliding_window\": 5", "\"sliding_window\": null", "config.json", "sliding_window is null"},
        {"\"intermediate_size\": 24", "\"intermediate_size\": 25", "model.safetensors",
         "gate_up_proj is 1 x 16 x 48, not"},
        {"{", "{\"attention_bias\": null,", "model.safetensors", "bias is none of a GPT-OSS"},
        {"\"truncate\": false", "\"truncate\": true", "", ""}};
    static const char *const smol[][4] = {
        {"\"no_rope_layers\": [", "\"no_rope_layers\": [2, ", "config.json", "no_rope_layers is no list of 0 and 1"},
        {"\"no_rope_layers\": [", "\"no_rope_layers\": [1, ", "config.json", "no_rope_layers is no list of 0 and 1"},
        {"\"no_rope_layers\": [", "\"no_rope_layers\": [1], \"other\": [", "config.json", "no_rope_layers is no list"},
        {"\"no_rope_layers\": [", "\"no_rope_layers\": 1, \"other\": [", "config.json", "no_rope_layers is no list"},
        {"\"no_rope_layers\": [", "\"no_rope_layers\": null, \"other\": [", "", ""},
        {"\"no_rope_layer_interval\": 4", "\"no_rope_layer_interval\": 0", "", ""},
        {"\"sliding_window\": 6", "\"sliding_window\": null", "", ""}};
    static const char *const text[][4] = {
        {"\"rope_type\"", "\"type\"", "config.json", "rope_scaling has type in place of rope_type"},
        {"\"rope_type\"", "\"type\": \"linear\", \"rope_type\"", "", ""}};
    static const char *const nested[][4] = {
        {"\"sliding_attention\": {", "\"sliding_attention\": [], \"x\": {", "config.json", "has one that is none"},
        {"\"sliding_attention\": {", "\"sliding_attention\": null, \"x\": {", "", ""},
        {"\"rope_parameters\": {", "\"rope_parameters\": {\"rope_type\": \"default\"}, \"x\": {", "config.json",
         "rope_parameters has neither full_attention nor sliding_attention"},
        {"\"rope_parameters\": {", "\"rope_local_base_freq\": 300, \"rope_parameters\": {", "config.json",
         "rope_local_base_freq differs from the rope_theta"},
        {"\"rope_parameters\": {",
         "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4}, \"rope_parameters\": {", "config.json",
         "rope_scaling differs from rope_parameters"},
        {"\"rope_parameters\": {", "\"rope_theta\": 3e4, \"rope_parameters\": {", "", ""},
        {"\"rope_type\": \"yarn\"", "\"rope_type\": \"yarn\", \"truncate\": false", "config.json",
         "truncate is false"}};
    static const struct {
        const char *name;
        const char *const (*altered)[4];
        size_t count;
    } all[] = {{"llama_dynamic_bf16", dynamic, sizeof dynamic / sizeof *dynamic},
               {"mistral_bf16", mistral, sizeof mistral / sizeof *mistral},
               {"qwen2_window_f16", qwen, sizeof qwen / sizeof *qwen},
               {"qwen3_mixed_f16", qwen3, sizeof qwen3 / sizeof *qwen3},
               {"gemma2_bf16", gemma2, sizeof gemma2 / sizeof *gemma2},
               {"gemma3_bf16", gemma3, sizeof gemma3 / sizeof *gemma3},
               {"gemma3_text_bf16", text, sizeof text / sizeof *text},
               {"gemma3_v5", nested, sizeof nested / sizeof *nested},
               {"gpt_oss_bf16", oss, sizeof oss / sizeof *oss},
               {"smollm3_window_f16", smol, sizeof smol / sizeof *smol}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        try_altered(all[i].name, all[i].altered, all[i].count);
}

/* Members that nobody knows are noted in a line for each object, and change nothing. */
TEST(decoder_unknown_members)
{
    static const char *const altered[][2] = {
        {"\"hidden_size\"", "\"qk_norms\": true, \"logit_scale\": 2, \"hidden_size\""},
        {"\"query_pre_attn_scalar\"", "\"no_rope_layers\": [0], \"query_pre_attn_scalar\""},
        {"\"rope_theta\"", "\"rope_base\": 2, \"rope_theta\""}};
    static const char *const wanted[] = {
        "config.json: text_config: unknown members are not looked at: qk_norms, logit_scale\n",
        "config.json: text_config: unknown members are not looked at: no_rope_layers\n",
        "config.json: rope_parameters: unknown members are not looked at: rope_base\n"};
    contents of[2];
    if (!begin_directory(of, "gemma3_v5"))
        return;
    for (size_t i = 0; i < 3; i++) {
        decoder model;
        if (!write_replaced(of, altered[i][0], altered[i][1]))
            continue;
        const char *error = decoder_open(&model, directory, NULL);
        test_case("%s: %s", altered[i][1], error ? error : "open");
        if (!CHECK(!error))
            continue;
        char *end = strchr(model.files.notes, '\n');
        CHECK(strstr(model.files.notes, wanted[i]) && end && !end[1]);
        decoder_close(&model);
    }
    decoder model; /* an eos_token_id of null is none: that of text_config counts */
    if (write_replaced(of, "\"text_config\": {", "\"eos_token_id\": null, \"text_config\": {") &&
        CHECK(decoder_open(&model, directory, NULL) == NULL)) {
        CHECK(model.config.eos_count == 1 && model.config.eos_ids[0] == 1);
        decoder_close(&model);
    }
    write_file(files[0], of[0].bytes, of[0].size);
    const char *generation = "{\"foo\": 1, \"do_sample\": false}";
    write_file(files[2], generation, strlen(generation));
    if (CHECK(decoder_open(&model, directory, NULL) == NULL)) {
        CHECK(strstr(model.files.notes, "generation_config.json: unknown members are not looked at: foo\n"));
        decoder_close(&model);
    }
    end_directory();
}

/* generation_config.json: what is done is read, what would change the text and is not done is refused. */
TEST(decoder_generation)
{
    static const char *const texts[][2] = {{"{\"eos_token_id\": [5, 72]}", "eos_token_id is no number below"},
                                           {"{\"eos_token_id\": \"5\"}", "eos_token_id is no number"},
                                           {"{\"do_sample\": 1}", "do_sample is neither"},
                                           {"{\"do_sample\": true, \"temperature\": -1}", "temperature"},
                                           {"{\"do_sample\": true, \"top_p\": 1.5}", "top_p"},
                                           {"{\"do_sample\": true, \"top_k\": -1}", "top_k"},
                                           {"{\"repetition_penalty\": 0}", "repetition_penalty"},
                                           {"{\"num_beams\": 2}", "num_beams"},
                                           {"{\"no_repeat_ngram_size\": 2}", "no_repeat_ngram_size"},
                                           {"{\"do_sample\": true, \"min_p\": 0.1}", "min_p"},
                                           {"{\"suppress_tokens\": [1]}", "suppress_tokens"},
                                           {"{\"forced_eos_token_id\": 1}", "forced_eos_token_id"},
                                           {"{\"token_healing\": true}", "token_healing"},
                                           {"{\"dola_layers\": \"high\"}", "dola_layers"},
                                           {"{\"constraints\": [[1]]}", "constraints"},
                                           {"{\"do_sample\": true, \"top_h\": 0.5}", "top_h"},
                                           {"[]", "no JSON object"},
                                           {"{", "byte "}};
    contents of[2];
    decoder model;
    char huge[1000];
    if (!begin_directory(of, "mistral_bf16"))
        return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file(files[2], texts[i][0], strlen(texts[i][0]));
        refuses(files[2], texts[i][1]);
    }
    const char *fine = "{\"do_sample\": false, \"min_p\": 0.1, \"top_k\": 7, \"temperature\": 0.2, \"num_beams\": 1, "
                       "\"suppress_tokens\": [], \"repetition_penalty\": 1.5, \"eos_token_id\": null}";
    write_file(files[2], fine, strlen(fine));
    if (CHECK(decoder_open(&model, directory, NULL) == NULL)) {
        CHECK(model.config.eos_count == 0 && model.config.top_k == 0 && model.config.bos_id == -1);
        CHECK(!*model.files.notes);
        CHECK_NEAR((real)model.config.temperature, 0, 0);
        CHECK_NEAR((real)model.config.repetition_penalty, 1.5L, 0);
        decoder_close(&model);
    }
    fine = "{\"do_sample\": true, \"top_k\": null}";
    write_file(files[2], fine, strlen(fine));
    if (CHECK(decoder_open(&model, directory, NULL) == NULL)) {
        CHECK(model.config.eos_count == 0 && model.config.top_k == 0);
        CHECK(strstr(model.files.notes, "top_k is null"));
        CHECK(strstr(model.files.notes, "generation_config.json: there is no eos_token_id, so no token ends a text"));
        CHECK_NEAR((real)model.config.temperature, 1, 0);
        decoder_close(&model);
    }
    for (int both = 0; both < 2; both++) { /* transformers 4 would go by config.json if that says more */
        size_t size;
        char *config = replaced(of[0], "{", both ? "{\"temperature\": 2, " : "{", 0, &size);
        write_file(files[0], config, size);
        fine = "{\"_from_model_config\": true, \"eos_token_id\": 5}";
        write_file(files[2], fine, strlen(fine));
        if (CHECK(decoder_open(&model, directory, NULL) == NULL)) {
            CHECK(both ? strstr(model.files.notes, "generation_config.json: it counts, as in") != NULL
                       : !*model.files.notes);
            decoder_close(&model);
        }
    }
    write_file(files[0], of[0].bytes, of[0].size);
    memset(huge, '[', sizeof huge);
    write_file(files[2], huge, sizeof huge);
    refuses(files[2], "byte ");
    end_directory();
}

/* The same of the header of model.safetensors, which says its own length. */
static int write_header(const contents *of, const char *part, const char *with, int every)
{
    size_t size = 0, length = 0;
    char *bytes = replaced(of[1], part, with, every, &size);
    test_case("%s -> %s", part, with);
    if (!CHECK(bytes != NULL))
        return 0;
    for (int n = 0; n < 4; n++)
        length |= (size_t)(unsigned char)bytes[n] << 8 * n;
    length += size - of[1].size;
    for (int n = 0; n < 4; n++)
        bytes[n] = (char)(length >> 8 * n);
    write_file(files[1], bytes, size);
    return 1;
}

TEST(decoder_weights)
{
    static const char *const altered[][3] = {
        {"\"model.norm.weight\"", "\"model.norms.weight\"", "tensor model.norm.weight is missing"},
        {"\"lm_head.weight\"", "\"lm_heads.weight\"", "tensor lm_heads.weight is none of a Llama"},
        {"layers.1.mlp.up_proj", "layers.1.mlp.up_prox", "tensor model.layers.1.mlp.up_proj.weight is missing"},
        {"self_attn.k_proj", "self_attn.k_prox", "k_proj.weight is missing"},
        {"[72,16]", "[16,72]", "is 16 x 72, not 72 x 16"},
        {"[72,16]", "[72,4,4]", "is 72 x 4 x 4, not 72 x 16"},
        {"[72,16]", "[1152]", "is 1152, not 72 x 16"},
        {"\"F32\"", "\"I32\"", "is of type I32"},
        {"rotary_emb.inv_freq", "rotary_emb.inv_freqs", "inv_freqs is none of a Llama"}};
    contents of[2];
    if (!begin_directory(of, "llama_f32"))
        return;
    for (size_t i = 0; i < sizeof altered / sizeof *altered; i++)
        if (write_header(of, altered[i][0], altered[i][1], 0))
            refuses(files[1], altered[i][2]);
    for (int i = 0; i < 2; i++) {
        size_t step = of[i].size / (test_quick ? 5 : 37) + 1;
        write_file(files[1 - i], of[1 - i].bytes, of[1 - i].size);
        for (size_t size = 0; size < of[i].size; size += step) {
            write_file(files[i], of[i].bytes, size);
            refuses(files[i], "");
        }
        write_file(files[i], of[1 - i].bytes, of[1 - i].size);
        refuses(files[i], "");
        write_file(files[i], NULL, 0);
        refuses(files[i], "");
        write_file(files[i], of[i].bytes, of[i].size);
    }
    accepts("whole again");
    decoder model;
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK(decoder_open(&model, longest, NULL) != NULL);
    CHECK(decoder_open(&model, "", NULL) != NULL);
    CHECK(decoder_open(&model, "examples/models/tests/golden/none", NULL) != NULL);
    end_directory();
}

/* The same logits where nothing is aligned, so that weights are copied; and with Gemma 3's tensors under the names that
   newer files have, and with a tensor among them that is none of its. */
TEST(decoder_names)
{
    static const char *const some[] = {"llama_f32", "gemma3_bf16", "gpt_oss_bf16"};
    static const char *const parts[] = {"{", "language_model.model.", "{"};
    static const char *const with[] = {"{ ", "model.language_model.", "{ "};
    enum { N = 9 };
    for (size_t k = 0; k < 3; k++) {
        contents of[2];
        decoder model;
        decoder_text text;
        int32_t *ids;
        if (!begin_directory(of, some[k]))
            return;
        ids = long_text();
        float *want = floats(72), *got = floats(72);
        for (int turn = 0; turn < 2; turn++) {
            if (turn == 1 && !write_header(of, parts[k], with[k], k == 1))
                continue;
            if (!CHECK(decoder_open(&model, directory, NULL) == NULL))
                continue;
            CHECK(decoder_begin(&model, &text, N, ATTN_F32) == NULL);
            CHECK(decoder_read(&model, &text, ids, N, turn ? got : want) == NULL);
            decoder_end(&model, &text);
            decoder_close(&model);
        }
        same_bits(got, want, 72);
        if (k == 1 && write_header(of, "\"vision_tower.", "\"audio_tower.", 0))
            refuses(files[1], "tensor audio_tower.");
        end_directory();
    }
}

/* Whether the directory opens; logits[72] after 9 tokens, and what is noted begins with the path of a file, and has this. */
static int reads(float *logits, const char *note)
{
    decoder model;
    decoder_text text;
    const char *error = decoder_open(&model, directory, NULL);
    if (!CHECK(!error))
        return 0;
    CHECK(*note ? strstr(model.files.notes, note) != NULL : !*model.files.notes);
    CHECK(decoder_begin(&model, &text, 9, ATTN_F32) == NULL);
    CHECK(decoder_read(&model, &text, long_text(), 9, logits) == NULL);
    decoder_end(&model, &text);
    decoder_close(&model);
    return 1;
}

/* Files that say the same in another way: the first is a golden's. */
TEST(decoder_other_ways)
{
    static const char *const ways[][4] = {
        {"llama_yarn_bf16", "{", "{\"rope_parameters\": {\"rope_type\": \"linear\", \"factor\": 9, \"rope_theta\": 7},",
         ""},
        {"llama_f32", "{", "{\"rope_scaling\": {}, \"max_sequence_length\": 4,", ""},
        {"llama_yarn_bf16", "\"eos_token_id\": 2", "\"other\": 2",
         "there is no eos_token_id: token 2 ends a text, which transformers 4 takes for it, and not 5\n"}};
    contents of[2];
    float *want = floats(72), *got = floats(72);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!begin_directory(of, ways[i][0]))
            return;
        test_case("%s: %s", ways[i][0], ways[i][2]);
        if (reads(want, "") && write_replaced(of, ways[i][1], ways[i][2]) && reads(got, ways[i][3]))
            same_bits(got, want, 72);
        end_directory();
        want = floats(72), got = floats(72);
    }
}

/* A base model's file, as AutoModel saves it: names without "model.", and no head. */
TEST(decoder_without_prefix)
{
    static const char *const names_of[][3] = {{"qwen2_bf16", "model.", ""},
                                              {"gemma3_bf16", "language_model.model.", "language_model."}};
    contents of[2];
    for (size_t i = 0; i < 2; i++) {
        float *want = floats(72), *got = floats(72);
        if (!begin_directory(of, names_of[i][0]))
            return;
        if (reads(want, "") && write_header(of, names_of[i][1], names_of[i][2], 1) && reads(got, ""))
            same_bits(got, want, 72);
        end_directory();
    }
}

/* A head of its own is used whatever tie_word_embeddings says. */
TEST(decoder_heads)
{
    static const char *const said[] = {"true", "false", "null"};
    contents of[2];
    float *want = floats(72), *got = floats(72);
    int32_t *ids = long_text();
    if (!begin_directory(of, "llama_yarn_bf16"))
        return;
    for (int turn = 0; turn < 4; turn++) {
        decoder model;
        decoder_text text;
        char with[60];
        snprintf(with, sizeof with, "\"tie_word_embeddings\": %s", said[turn % 3]);
        if (turn && !write_replaced(of, "\"tie_word_embeddings\": false", with))
            continue;
        if (!CHECK(decoder_open(&model, directory, NULL) == NULL))
            continue;
        CHECK(!model.config.tie_word_embeddings && !*model.files.notes);
        CHECK(decoder_begin(&model, &text, 9, ATTN_F32) == NULL);
        CHECK(decoder_read(&model, &text, ids, 9, turn ? got : want) == NULL);
        decoder_end(&model, &text);
        decoder_close(&model);
        if (turn)
            same_bits(got, want, 72);
    }
    end_directory();
}

static void collect(void *user, double part)
{
    double *most = (double *)user;
    CHECK(part >= *most && part <= 1);
    *most = part;
}

TEST(decoder_progress)
{
    decoder model;
    checkpoint_opts opts;
    double most = 0;
    opts.progress = collect;
    opts.user = &most;
    CHECK(decoder_open(&model, path_of("llama3_bf16", NULL), &opts) == NULL);
    CHECK_NEAR((real)most, 1, 0);
    decoder_close(&model);
}
