/* T5: small models of every kind with the results of transformers (golden/make_t5.py); batches, threads and steps
   that change nothing; and models that are broken in every way a directory can be. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif

#include "directory.h" /* first: test.h has ATTN_THREADS */

#include "examples/models/translate.h"

static const char *const kinds[] = {"t5_f32",    "t5_f16",    "t5_bf16",     "v1_1_f32",      "v1_1_f16",
                                    "v1_1_bf16", "flan_bf16", "t5_f16.gguf", "flan_bf16.gguf"};

enum { KINDS = sizeof kinds / sizeof *kinds, TEXTS = 5, PATH = 128 };

/* ---- goldens ---- */

static char path_of_model[PATH];

static const char *model_path(const char *kind)
{
    snprintf(path_of_model, sizeof path_of_model, "examples/models/tests/golden/%s/%s",
             strchr(kind, '.') ? "gguf" : "t5", kind);
    return path_of_model;
}

static int open_kind(t5 *model, const char *kind)
{
    const char *error = t5_open(model, model_path(kind), NULL);
    test_case("%s: %s", kind, error ? error : "open");
    return CHECK(!error);
}

static const safetensors_tensor *golden(const safetensors *file, size_t text, int search, const char *name)
{
    char whole[64];
    if (search < 0)
        snprintf(whole, sizeof whole, "%lu.%s", (unsigned long)text, name);
    else
        snprintf(whole, sizeof whole, "%lu.%d.%s", (unsigned long)text, search, name);
    return safetensors_find(file, whole);
}

static int open_golden(safetensors *file, const char *kind)
{
    char path[PATH + 32];
    snprintf(path, sizeof path, "examples/models/tests/golden/t5/%.*s/golden.safetensors", (int)strcspn(kind, "."),
             kind);
    return CHECK(safetensors_open(file, path) == NULL);
}

static translate_text golden_text(const safetensors *file, size_t text)
{
    const safetensors_tensor *t = golden(file, text, -1, "text");
    translate_text out = {NULL, 0};
    if (CHECK(t != NULL)) {
        out.text = (const char *)t->data;
        out.size = t->size;
    }
    return out;
}

static translate_opts golden_opts(const safetensors_tensor *options)
{
    translate_opts opts = translate_defaults();
    opts.prefix = NULL;
    opts.search.beams = (size_t)safetensors_get(options, 0);
    opts.search.max_length = (size_t)safetensors_get(options, 1);
    opts.search.early_stopping = safetensors_get(options, 2) > 0;
    opts.search.length_penalty = safetensors_get(options, 3);
    opts.search.no_repeat_ngram = (size_t)safetensors_get(options, 4);
    return opts;
}

static int same_ids(const int32_t *ids, size_t count, const safetensors_tensor *want)
{
    size_t i;
    if (!CHECK(want && count == want->count))
        return 0;
    for (i = 0; i < count; i++)
        if (!CHECK(ids[i] == (int32_t)safetensors_get(want, i)))
            return 0;
    return 1;
}

static float *floats(size_t count)
{
    return (float *)test_block(count * sizeof(float));
}

/* The ids of a golden text, and its states. */
static int32_t *golden_source(const safetensors *file, size_t text, size_t *count)
{
    const safetensors_tensor *t = golden(file, text, -1, "source");
    int32_t *ids;
    size_t i;
    *count = 0;
    if (!CHECK(t != NULL))
        return NULL;
    ids = (int32_t *)test_block(t->count * sizeof *ids);
    for (i = 0; i < t->count; i++)
        ids[i] = (int32_t)safetensors_get(t, i);
    *count = t->count;
    return ids;
}

static void near_golden(const float *got, const safetensors_tensor *want, size_t count)
{
    size_t i;
    double most = 0;
    if (!CHECK(want->count == count))
        return;
    for (i = 0; i < count; i++) {
        double off = fabs((double)got[i] - safetensors_get(want, i));
        most = off > most ? off : most;
    }
    CHECK_NEAR((real)most, 0, 1e-4L);
}

/* Encoder states and logits, to 1e-4. */
TEST(t5_states_and_logits)
{
    for (size_t k = 0; k < KINDS; k++) {
        t5 model;
        safetensors file;
        if (!open_kind(&model, kinds[k]) || !open_golden(&file, kinds[k]))
            continue;
        for (size_t text = 0; text < TEXTS; text++) {
            const safetensors_tensor *logits = golden(&file, text, -1, "logits"), *ids = golden(&file, text, 0, "ids");
            size_t n, d = model.config.d_model;
            int32_t *source = golden_source(&file, text, &n);
            float *states = floats(n * d);
            t5_text hypotheses, *one = &hypotheses;
            test_case("%s, text %lu", kinds[k], (unsigned long)text);
            if (CHECK(t5_encode(&model, states, source, &n, 1, n) == NULL))
                near_golden(states, golden(&file, text, -1, "states"), n * d);
            if (!logits)
                continue;
            size_t steps = logits->shape[0];
            float *got = floats(logits->count);
            int32_t *tokens = (int32_t *)test_block(steps * sizeof *tokens);
            for (size_t i = 0; i < steps; i++)
                tokens[i] = i ? (int32_t)safetensors_get(ids, i - 1) : model.config.start_id;
            if (CHECK(t5_begin(&model, &hypotheses, states, n, 1) == NULL) &&
                CHECK(t5_decode(&model, &one, 1, tokens, steps, got) == NULL))
                near_golden(got, logits, logits->count);
            t5_end(&model, &hypotheses);
        }
        safetensors_close(&file);
        t5_close(&model);
        test_release();
    }
}

/* Every search of the goldens: tokens, ids, score and text. */
TEST(t5_translations)
{
    for (size_t k = 0; k < KINDS; k++) {
        t5 model;
        safetensors file;
        if (!open_kind(&model, kinds[k]) || !open_golden(&file, kinds[k]))
            continue;
        for (size_t text = 0; text < TEXTS; text++)
            for (int search = 0; golden(&file, text, search, "ids") && !(test_quick && text + 1 < TEXTS); search++) {
                const safetensors_tensor *output = golden(&file, text, search, "output");
                translate_text in = golden_text(&file, text);
                translate_opts opts = golden_opts(golden(&file, text, search, "options"));
                translation result;
                test_case("%s, text %lu, search %d", kinds[k], (unsigned long)text, search);
                if (CHECK(translate(&model, &opts, &in, 1, &result, NULL) == NULL && !result.error[0])) {
                    same_ids(result.source, result.source_count, golden(&file, text, -1, "source"));
                    same_ids(result.ids, result.count, golden(&file, text, search, "ids"));
                    CHECK_NEAR((real)result.score, (real)safetensors_get(golden(&file, text, search, "score"), 0),
                               1e-4L);
                    CHECK(output && result.size == output->size &&
                          memcmp(result.text, output->data, output->size) == 0);
                }
                translate_free(&result, 1);
            }
        safetensors_close(&file);
        t5_close(&model);
    }
}

/* ---- what must change nothing ---- */

/* All texts of a model in one batch, with padding, equal each alone: states bit for bit, ids, score. */
TEST(t5_batches)
{
    for (size_t k = 0; k < KINDS; k += test_quick ? 3 : 1) {
        t5 model;
        safetensors file;
        translate_text texts[TEXTS];
        translation together[TEXTS], alone;
        translate_opts opts = translate_defaults();
        if (!open_kind(&model, kinds[k]) || !open_golden(&file, kinds[k]))
            continue;
        model.net.batch_invariant = 1;
        opts.search.max_length = 12;
        for (size_t i = 0; i < TEXTS; i++)
            texts[i] = golden_text(&file, i);
        if (CHECK(translate(&model, &opts, texts, TEXTS, together, NULL) == NULL))
            for (size_t i = 0; i < TEXTS; i++) {
                test_case("%s, text %lu", kinds[k], (unsigned long)i);
                if (!CHECK(translate(&model, &opts, &texts[i], 1, &alone, NULL) == NULL))
                    continue;
                CHECK(alone.count == together[i].count &&
                      memcmp(alone.ids, together[i].ids, alone.count * sizeof *alone.ids) == 0);
                CHECK(test_bits32(alone.score) == test_bits32(together[i].score));
                CHECK(strcmp(alone.text, together[i].text) == 0);
                translate_free(&alone, 1);
            }
        translate_free(together, TEXTS);
        safetensors_close(&file);
        t5_close(&model);
    }
}

/* States of texts of lengths 1 to 9 in one batch, whose padding is garbage, equal those of each alone. */
TEST(t5_padding)
{
    enum { B = 9, L = 9 };
    for (size_t k = 0; k < KINDS; k += test_quick ? 3 : 1) {
        t5 model;
        int32_t ids[B][L];
        size_t lens[B], d;
        float *all, *one;
        if (!open_kind(&model, kinds[k]))
            continue;
        model.net.batch_invariant = 1;
        d = model.config.d_model;
        all = floats(B * L * d);
        one = floats(L * d);
        for (size_t b = 0; b < B; b++)
            for (size_t i = 0; i < L; i++)
                ids[b][i] = i <= b ? (int32_t)test_below(1100) : -77;
        for (size_t b = 0; b < B; b++)
            lens[b] = b + 1;
        CHECK(t5_encode(&model, all, &ids[0][0], lens, B, L) == NULL);
        for (size_t b = 0; b < B; b++) {
            test_case("%s, length %lu", kinds[k], (unsigned long)lens[b]);
            CHECK(t5_encode(&model, one, ids[b], &lens[b], 1, lens[b]) == NULL);
            CHECK(memcmp(one, all + b * L * d, lens[b] * d * sizeof *one) == 0);
            for (size_t i = lens[b] * d; i < L * d; i++)
                CHECK(test_bits32(all[b * L * d + i]) == 0);
        }
        t5_close(&model);
        test_release();
    }
}

/* The logits of 40 tokens at once, one by one, and in pieces; of several texts and hypotheses at once; with 1 to 3
   threads; after hypotheses have changed places: the same bits. */
TEST(t5_steps)
{
    enum { N = 40, S = 7 };
    for (size_t k = 0; k < KINDS; k += test_quick ? 3 : 1) {
        static const size_t from[] = {1, 1, 0}, pieces[] = {1, 3, 13, N};
        t5 model;
        t5_text text, other, *texts[2];
        int32_t source[S], tokens[3 * N], step[3];
        size_t V, d, n = S, at;
        float *states, *whole, *got;
        texts[0] = &text, texts[1] = &other;
        if (!open_kind(&model, kinds[k]))
            continue;
        model.net.batch_invariant = 1;
        V = model.config.vocab_size, d = model.config.d_model;
        states = floats(S * d), whole = floats(3 * N * V), got = floats(3 * N * V);
        for (size_t i = 0; i < S; i++)
            source[i] = (int32_t)test_below(1000);
        for (size_t i = 0; i < 3 * N; i++)
            tokens[i] = (int32_t)test_below(1000);
        CHECK(t5_encode(&model, states, source, &n, 1, S) == NULL);
        CHECK(t5_begin(&model, &text, states, S, 3) == NULL);
        CHECK(t5_decode(&model, texts, 1, tokens, N, whole) == NULL);
        CHECK(text.length == N);
        t5_end(&model, &text);
        for (size_t p = 0; p < 4; p++) { /* of hypothesis 1 alone */
            test_case("%s, pieces of %lu", kinds[k], (unsigned long)pieces[p]);
            CHECK(t5_begin(&model, &text, states, S, 1) == NULL);
            for (at = 0; at < N; at += pieces[p]) {
                size_t len = N - at < pieces[p] ? N - at : pieces[p];
                CHECK(t5_decode(&model, texts, 1, tokens + N + at, len, got) == NULL);
                CHECK(memcmp(got, whole + (N + at) * V, len * V * sizeof *got) == 0);
            }
            t5_end(&model, &text);
        }
        for (size_t threads = 1; threads <= 3; threads++) { /* two texts; in the middle 0, 1, 2 become 1, 1, 0 */
            test_case("%s, %lu threads", kinds[k], (unsigned long)threads);
            CHECK_STATUS(attn_pool_new(&model.net.parallel, threads), ATTN_OK);
            CHECK(t5_begin(&model, &text, states, S, 1) == NULL && t5_begin(&model, &other, states, S, 3) == NULL);
            for (at = 0; at < 6; at++) {
                int32_t mixed[4];
                if (at == 3)
                    CHECK(t5_reorder(&model, &other, from) == NULL);
                for (size_t b = 0; b < 3; b++)
                    step[b] = tokens[(at < 3 ? b : from[b]) * N + at];
                mixed[0] = tokens[2 * N + at];
                memcpy(mixed + 1, step, sizeof step);
                CHECK(t5_decode(&model, texts, 2, mixed, 1, got) == NULL);
                CHECK(memcmp(got, whole + (2 * N + at) * V, V * sizeof *got) == 0);
                for (size_t b = 0; b < 3; b++)
                    CHECK(memcmp(got + (1 + b) * V, whole + ((at < 3 ? b : from[b]) * N + at) * V, V * sizeof *got) ==
                          0);
            }
            t5_end(&model, &text);
            t5_end(&model, &other);
            attn_pool_free(&model.net.parallel);
        }
        t5_end(&model, NULL);
        t5_end(&model, &text);
        t5_close(&model);
        test_release();
    }
}

/* What t5_watch has seen of a text and its translation. */
typedef struct seen {
    const translation *result;
    size_t blocks[3];
    float *cross; /* [blocks][heads][count][source_count]: its weights */
} seen;

static void look(void *user, t5_part part, size_t block, attn_tensor weights)
{
    seen *s = (seen *)user;
    size_t target = s->result->count, source = s->result->source_count;
    const float *w = (const float *)weights.data;
    CHECK(block == s->blocks[part]++);
    CHECK(weights.batch == 1 && weights.len == (part == T5_ENCODER ? source : target));
    CHECK(weights.dim == (part == T5_DECODER ? target : source));
    for (size_t n = 0; n < weights.heads * weights.len; n++) {
        real sum = 0;
        for (size_t j = 0; j < weights.dim; j++) {
            CHECK(w[n * weights.dim + j] >= 0);
            if (part == T5_CROSS)
                s->cross[(block * weights.heads * weights.len + n) * weights.dim + j] = w[n * weights.dim + j];
            if (part == T5_DECODER && j > n % weights.len)
                CHECK(w[n * weights.dim + j] == 0);
            sum += w[n * weights.dim + j];
        }
        CHECK_NEAR(sum, 1, 1e-5L);
    }
}

/* What translate_opts.step has seen. */
typedef struct steps {
    size_t count;
    int done;
} steps;

static void look_at_step(void *user, const translation *result, const beam_search *search)
{
    steps *s = (steps *)user;
    CHECK(result->source_count > 0 && !s->done);
    for (size_t b = 1; b < search->opts.beams; b++)
        CHECK(search->scores[b] <= search->scores[b - 1]);
    CHECK(search->length == ++s->count + 1);
    s->done = search->done;
}

/* Each block once, in order; rows sum to 1; nobody looks ahead; translate_attention gives cross-attention, head by head. */
TEST(t5_watched)
{
    for (size_t k = 0; k < KINDS; k += 3) {
        t5 model;
        translate_opts opts = translate_defaults();
        translate_text text = {"The house is wonderful.", 23};
        translation result;
        steps watched = {0, 0};
        if (!open_kind(&model, kinds[k]))
            continue;
        opts.search.max_length = 9;
        opts.step = look_at_step;
        opts.user = &watched;
        if (CHECK(translate(&model, &opts, &text, 1, &result, NULL) == NULL)) {
            size_t n = result.count * result.source_count * model.config.num_heads * model.decoder.count;
            seen s = {&result, {0, 0, 0}, floats(n)};
            float *weights = floats(n);
            CHECK(watched.done);
            model.watch.look = look;
            model.watch.user = &s;
            CHECK(translate_again(&model, &result) == NULL);
            CHECK(s.blocks[T5_ENCODER] == model.encoder.count);
            CHECK(s.blocks[T5_DECODER] == model.decoder.count && s.blocks[T5_CROSS] == model.decoder.count);
            CHECK(translate_attention(&model, &result, weights) == NULL);
            CHECK(s.blocks[T5_ENCODER] == model.encoder.count); /* who watches is not asked about that */
            CHECK(memcmp(weights, s.cross, n * sizeof *weights) == 0);
        }
        translate_free(&result, 1);
        t5_close(&model);
        test_release();
    }
}

/* ---- changed heads ---- */

/* A model with its goldens of changes, and what they are: C changes of B texts. */
enum { CHANGED_TEXTS = 2 };
typedef struct changed_model {
    t5 model;
    safetensors file;
    const safetensors_tensor *changes, *states, *logits;
    size_t count, L, steps, every, V, d; /* every: which logits are there */
    size_t lens[CHANGED_TEXTS];
    int32_t *ids, *tokens; /* [B][L]; [B][steps] */
} changed_model;

static int32_t *golden_ids(const safetensors *file, const char *name, size_t *columns)
{
    const safetensors_tensor *t = safetensors_find(file, name);
    if (!CHECK(t && t->shape[0] == CHANGED_TEXTS))
        return NULL;
    int32_t *ids = (int32_t *)test_block(t->count * sizeof *ids);
    for (size_t i = 0; i < t->count; i++)
        ids[i] = (int32_t)safetensors_get(t, i);
    *columns = t->count / CHANGED_TEXTS;
    return ids;
}

static int open_changed(changed_model *m, const char *kind)
{
    char path[PATH + 32];
    size_t one;
    if (!open_kind(&m->model, kind))
        return 0;
    snprintf(path, sizeof path, "%s/changes.safetensors", model_path(kind));
    if (!CHECK(safetensors_open(&m->file, path) == NULL))
        return 0;
    m->changes = safetensors_find(&m->file, "changes");
    m->states = safetensors_find(&m->file, "states");
    m->logits = safetensors_find(&m->file, "logits");
    if (!CHECK(m->changes && m->states && m->logits))
        return 0;
    m->ids = golden_ids(&m->file, "ids", &m->L);
    m->tokens = golden_ids(&m->file, "tokens", &m->steps);
    int32_t *lens = golden_ids(&m->file, "lens", &one);
    for (size_t b = 0; b < CHANGED_TEXTS; b++)
        m->lens[b] = (size_t)lens[b];
    m->count = m->changes->shape[0];
    m->V = m->model.config.vocab_size, m->d = m->model.config.d_model;
    m->every = m->V / m->logits->shape[3];
    return CHECK(m->changes->shape[2] ==
                 (m->model.decoder.count > m->model.encoder.count ? m->model.decoder.count : m->model.encoder.count));
}

static void close_changed(changed_model *m)
{
    safetensors_close(&m->file);
    t5_close(&m->model);
    test_release();
}

static const unsigned char *changes_of(const changed_model *m, size_t c)
{
    return (const unsigned char *)m->changes->data + c * (m->changes->count / m->count);
}

/* Rows of the decoder, of text b from step `first` on, or of the encoder, are those of change c: to 1e-4. */
static void near_changed(const changed_model *m, size_t c, const float *states, const float *logits, size_t b,
                         size_t first, size_t count)
{
    double most = 0;
    size_t rows = states ? m->L : count, n = m->L * m->d, v = m->V / m->every;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < (states ? m->d : v); j++) {
            size_t at = (c * CHANGED_TEXTS + b) * (states ? n : m->steps * v);
            double got = states ? states[i * m->d + j] : logits[i * m->V + j * m->every];
            double want = states ? safetensors_get(m->states, at + i * m->d + j)
                                 : safetensors_get(m->logits, at + (first + i) * v + j);
            most = fabs(got - want) <= most ? most : fabs(got - want);
        }
    CHECK_NEAR((real)most, 0, 1e-4L);
}

/* Who looks at the weights of changed heads. */
typedef struct changed_rows {
    const changed_model *m;
    const unsigned char *changes;
    size_t seen[3][3]; /* of each part, of each t5_change */
} changed_rows;

/* Trained rows sum to 1; those of zero heads are zeros; uniform ones are 1 / (keys seen) and see those alone. */
static void look_at_changed(void *user, t5_part part, size_t block, attn_tensor weights)
{
    changed_rows *s = (changed_rows *)user;
    const changed_model *m = s->m;
    size_t H = weights.heads, L = weights.len, N = weights.dim;
    const float *w = (const float *)weights.data;
    for (size_t b = 0; b < weights.batch; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < L; i++, w += N) {
                unsigned char change = s->changes[(part * m->changes->shape[2] + block) * H + h];
                size_t keys = part == T5_DECODER ? N - L + i + 1 : N;
                real sum = 0;
                if (part == T5_ENCODER && weights.batch > 1) /* past a text's length there is no query */
                    keys = i < m->lens[b] ? m->lens[b] : 0;
                for (size_t j = 0; j < N; j++) {
                    sum += w[j];
                    if (change == T5_UNIFORM && j < keys) /* -ffast-math may take a reciprocal */
                        CHECK_NEAR(w[j], 1 / (real)keys, 1e-7L);
                    else
                        CHECK(j < keys && change == T5_AS_TRAINED ? w[j] >= 0 : test_bits32(w[j]) == 0);
                }
                CHECK_NEAR(sum, change == T5_ZERO || !keys ? 0 : 1, 1e-5L);
                s->seen[part][change] += keys > 0;
            }
}

/* Change c: the encoder's states, those of each text alone, all steps at once, and one by one with 2 hypotheses, of
   which the second takes in the other text's tokens. */
static void runs_changed(changed_model *m, size_t c)
{
    t5 *model = &m->model;
    t5_text texts[CHANGED_TEXTS], *all[CHANGED_TEXTS];
    size_t B = CHANGED_TEXTS, N = m->steps, V = m->V, n = m->L * m->d;
    float *states = floats(B * n), *alone = floats(n), *whole = floats(B * N * V), *step = floats(2 * B * V);
    CHECK(t5_encode(model, states, m->ids, m->lens, B, m->L) == NULL);
    for (size_t b = 0; b < B; b++) {
        all[b] = &texts[b];
        near_changed(m, c, states + b * n, NULL, b, 0, 0);
        CHECK(t5_begin(model, &texts[b], states + b * n, m->lens[b], 1) == NULL);
    }
    CHECK(t5_decode(model, all, B, m->tokens, N, whole) == NULL);
    for (size_t b = 0; b < B; b++) {
        near_changed(m, c, NULL, whole + b * N * V, b, 0, N);
        t5_end(model, &texts[b]);
        CHECK(t5_encode(model, alone, m->ids + b * m->L, &m->lens[b], 1, m->lens[b]) == NULL);
        if (model->net.batch_invariant)
            CHECK(memcmp(alone, states + b * n, m->lens[b] * m->d * sizeof *alone) == 0);
        CHECK(t5_begin(model, &texts[b], alone, m->lens[b], 2) == NULL);
    }
    for (size_t i = 0; i < N; i++) {
        int32_t tokens[2 * CHANGED_TEXTS];
        for (size_t b = 0; b < 2 * B; b++)
            tokens[b] = m->tokens[(b % 2 ? 1 - b / 2 : b / 2) * N + i];
        CHECK(t5_decode(model, all, B, tokens, 1, step) == NULL);
        for (size_t b = 0; b < B; b++) {
            near_changed(m, c, NULL, step + 2 * b * V, b, i, 1);
            if (model->net.batch_invariant)
                CHECK(memcmp(step + 2 * b * V, whole + (b * N + i) * V, V * sizeof *step) == 0);
        }
    }
    for (size_t b = 0; b < B; b++)
        t5_end(model, &texts[b]);
}

/* Heads that are zero or uniform: what transformers makes of its models with them, in every way to go through a text,
   with every instruction set; batch-invariant with three threads. */
TEST(t5_changed)
{
    static const char *const some[] = {"t5_f32", "v1_1_f32"};
    for (int turn = 0; turn < 2 * (ATTN_ISA_AVX512BF16 + 1); turn++)
        for (size_t k = 0; k < 2; k++) {
            attn_isa isa = (attn_isa)(turn / 2);
            changed_model m;
            changed_rows rows = {&m, NULL, {{0}}};
            if ((isa && !attn_isa_available(isa)) || !open_changed(&m, some[k]))
                continue;
            m.model.net.isa = isa;
            m.model.net.batch_invariant = turn % 2;
            CHECK_STATUS(attn_pool_new(&m.model.net.parallel, turn % 2 ? 3 : 1), ATTN_OK);
            m.model.watch.user = &rows;
            for (size_t c = 0; c < m.count; c += test_quick ? 2 : 1)
                for (int watched = 0; watched < 2; watched++) {
                    test_case("%s, %s, invariant %d, change %lu, watched %d", some[k], attn_isa_string(isa), turn % 2,
                              (unsigned long)c, watched);
                    m.model.watch.changes = rows.changes = changes_of(&m, c);
                    m.model.watch.look = watched ? look_at_changed : NULL;
                    runs_changed(&m, c);
                }
            for (size_t n = 0; n < 9; n++)
                CHECK(rows.seen[n / 3][n % 3] > 50);
            attn_pool_free(&m.model.net.parallel);
            close_changed(&m);
        }
}

/* Changes that are none have the bits of no changes, and so do those of blocks that a stack does not have. */
TEST(t5_unchanged)
{
    static const char *const some[] = {"t5_f32", "v1_1_f32", "flan_bf16"}; /* the larger stack: none, 2nd, 1st */
    enum { S = 7, N = 5, MOST = 3 * 3 * 4 };
    for (size_t k = 0; k < 3; k++) {
        t5 model;
        t5_text text, *one = &text;
        unsigned char changes[MOST];
        int32_t ids[S], tokens[N];
        size_t n = S;
        float *states[3], *logits[3];
        if (!open_kind(&model, some[k]))
            continue;
        size_t H = model.config.num_heads, d = model.config.d_model, V = model.config.vocab_size;
        size_t counts[3] = {model.encoder.count, model.decoder.count, model.decoder.count};
        size_t blocks = counts[counts[0] < counts[1]];
        CHECK(3 * blocks * H <= MOST);
        for (size_t i = 0; i < S; i++)
            ids[i] = (int32_t)test_below(1000);
        for (size_t i = 0; i < N; i++)
            tokens[i] = (int32_t)test_below(1000);
        for (int turn = 0; turn < 3; turn++) {
            for (size_t i = 0; i < 3 * blocks * H; i++)
                changes[i] = turn == 2 && i / H % blocks >= counts[i / H / blocks] ? T5_ZERO : T5_AS_TRAINED;
            model.watch.changes = turn ? changes : NULL;
            states[turn] = floats(S * d), logits[turn] = floats(N * V);
            test_case("%s, turn %d", some[k], turn);
            CHECK(t5_encode(&model, states[turn], ids, &n, 1, S) == NULL);
            CHECK(t5_begin(&model, &text, states[turn], S, 1) == NULL);
            CHECK(t5_decode(&model, &one, 1, tokens, N, logits[turn]) == NULL);
            CHECK(memcmp(states[0], states[turn], S * d * sizeof(float)) == 0);
            CHECK(memcmp(logits[0], logits[turn], N * V * sizeof(float)) == 0);
            t5_end(&model, &text);
        }
        t5_close(&model);
        test_release();
    }
}

/* ---- texts ---- */

static void spells(const t5 *model, int32_t id, const char *want)
{
    char got[64], little[3];
    test_case("piece %ld", (long)id);
    CHECK(translate_piece(model, id, got, sizeof got) == strlen(want) && strcmp(got, want) == 0);
    CHECK(translate_piece(model, id, little, sizeof little) == strlen(want) && strncmp(little, want, 2) == 0);
}

TEST(t5_texts)
{
    t5 model;
    translate_opts opts = translate_defaults();
    translation results[4];
    translate_text texts[4] = {{"", 0}, {NULL, 0}, {"a\0b", 3}, {"one two three four five six seven eight", 39}};
    translate_times times = {NULL, 0, 0, 0, 0};
    const char *error;
    if (!open_kind(&model, "t5_f32"))
        return;
    opts.prefix = NULL;
    opts.search.max_length = 5;
    opts.max_source = 9;
    test_case("texts");
    CHECK(translate(&model, &opts, texts, 4, results, &times) == NULL);
    for (size_t i = 0; i < 4; i++) {
        test_case("text %lu", (unsigned long)i);
        if (i == 3) { /* too long for max_source: that one alone fails */
            CHECK(strcmp(results[i].error, "more than 9 tokens") == 0 && !results[i].text);
            CHECK(!results[i].ids && !results[i].source && results[i].count == 0);
        } else {
            CHECK(!results[i].error[0] && results[i].text && strlen(results[i].text) == results[i].size);
            CHECK(results[i].source[results[i].source_count - 1] == model.config.eos_id);
        }
    }
    CHECK(results[0].source_count == 1 && results[1].source_count == 1);
    CHECK(times.encoded == results[0].source_count + results[1].source_count + results[2].source_count);
    CHECK(times.decoded == results[0].count + results[1].count + results[2].count);
    translate_free(results, 4);
    CHECK(translate(&model, &opts, texts, 0, results, NULL) == NULL);
    CHECK(translate(&model, &opts, texts + 3, 1, results, NULL) == NULL && results[0].error[0]);
    opts.search.beams = 0;
    CHECK((error = translate(&model, &opts, texts, 1, results, NULL)) && strstr(error, "beams"));
    translate_free(results, 1);
    opts.search = beam_defaults();
    opts.search.max_length = 1;
    CHECK((error = translate(&model, &opts, texts, 1, results, NULL)) && strstr(error, "max_length"));
    translate_free(results, 1);
    spells(&model, 1, "</s>");
    spells(&model, 1099, "<extra_id_0>");
    spells(&model, 1000, "<extra_id_99>");
    spells(&model, 1100, "<1100>");
    spells(&model, -1, "<-1>");
    t5_close(&model);
    t5_close(&model); /* once more: nothing is left */
}

/* A token that is none; the message names it. */
TEST(t5_tokens)
{
    static const int32_t wrong[] = {-1, 1104, INT32_MAX};
    t5 model;
    t5_text text, *one = &text;
    size_t len = 2;
    if (!open_kind(&model, "v1_1_f32"))
        return;
    float *states = floats(2 * model.config.d_model), *logits = floats(model.config.vocab_size);
    for (size_t i = 0; i < 3; i++) {
        int32_t ids[2] = {5, 0};
        char want[40];
        ids[1] = wrong[i];
        snprintf(want, sizeof want, "token %ld ", (long)wrong[i]);
        test_case("%s", want);
        const char *error = t5_encode(&model, states, ids, &len, 1, 2);
        CHECK(error && strstr(error, want));
        ids[1] = 6;
        CHECK(t5_encode(&model, states, ids, &len, 1, 2) == NULL && t5_begin(&model, &text, states, 2, 1) == NULL);
        error = t5_decode(&model, &one, 1, &wrong[i], 1, logits);
        CHECK(error && strstr(error, want));
        CHECK(text.length == 0);
        t5_end(&model, &text);
    }
    t5_close(&model);
    test_release();
}

/* Each allocation fails once: a message, nothing lost; and then the same model works. The second one's heads are
   changed. */
TEST(t5_no_memory)
{
    static const char *const some[] = {"t5_bf16", "v1_1_f32"};
    static const unsigned char changes[3 * 3 * 3] = {1, 0, 2, 0, 2, 0, 0, 0, 0, 2, 1, 0, 0, 1,
                                                     0, 0, 0, 2, 0, 0, 1, 2, 0, 1, 0, 2, 0};
    for (size_t k = 0; k < 2; k++) {
        translate_opts opts = translate_defaults();
        translate_text texts[2] = {{"The house is wonderful.", 23}, {"cat", 3}};
        translation results[2], want[2];
        size_t failed = 0, step = test_quick ? 7 : 1;
        long live = test_memory_state.live;
        int done = 0;
        t5 model;
        opts.search.max_length = 6;
        opts.search.beams = 2;
        for (size_t at = 1; !done; at += step, failed++) {
            const char *error;
            test_memory_state.fail_at = (long)at;
            error = t5_open(&model, model_path(some[k]), NULL);
            test_case("%s, allocation %lu of opening: %s", some[k], (unsigned long)at, error ? error : "fine");
            done = !error || !CHECK(strstr(error, ": no memory") && test_memory_state.live == live);
            if (!error)
                t5_close(&model);
        }
        test_memory_state.fail_at = 0;
        CHECK(failed > (test_quick ? 5 : 30));
        if (!open_kind(&model, some[k]))
            continue;
        model.watch.changes = k ? changes : NULL;
        if (!CHECK(translate(&model, &opts, texts, 2, want, NULL) == NULL))
            continue;
        t5_close(&model);
        done = 0, failed = 0;
        for (size_t at = 1; !done; at += step, failed++) {
            static float weights[16 * 64 * 8]; /* heads of all blocks, tokens of the text, of its translation */
            const char *error;
            if (!open_kind(&model, some[k])) /* anew, so that nothing has grown yet */
                break;
            model.watch.changes = k ? changes : NULL;
            test_memory_state.fail_at = (long)at;
            error = translate(&model, &opts, texts, 2, results, NULL);
            if (!error && CHECK(results[0].source_count <= 64 && model.config.num_heads * model.decoder.count <= 16))
                error = translate_attention(&model, &results[0], weights);
            translate_free(results, 2);
            test_case("%s, allocation %lu: %s", some[k], (unsigned long)at, error ? error : "fine");
            done = !error || !CHECK(strstr(error, "no memory"));
            test_memory_state.fail_at = 0;
            if (CHECK(translate(&model, &opts, texts, 2, results, NULL) == NULL))
                for (size_t i = 0; i < 2; i++)
                    CHECK(results[i].count == want[i].count && strcmp(results[i].text, want[i].text) == 0 &&
                          test_bits32(results[i].score) == test_bits32(want[i].score));
            translate_free(results, 2);
            t5_close(&model);
        }
        CHECK(failed > (test_quick ? 5 : 50));
        translate_free(want, 2);
        CHECK(test_memory_state.live == live);
    }
}

/* ---- directories that are no model ---- */

static const char *const files[] = {"config.json", "model.safetensors", "spiece.model", "generation_config.json"};

static int begin_directory(contents *of, const char *kind)
{
    if (!make_directory("models of T5's own"))
        return 0;
    for (int i = 0; i < 3; i++) {
        char path[PATH + 32];
        snprintf(path, sizeof path, "%s/%s", model_path(kind), files[i]);
        of[i] = read_all(path);
        write_file(files[i], of[i].bytes, of[i].size);
    }
    return 1;
}

static void end_directory(void)
{
    remove_directory(files, 4);
    test_release();
}

/* The directory is refused: the message begins with the file's path and has the cause. */
static void refuses(const char *name, const char *cause)
{
    t5 model;
    char path[PATH];
    long live = test_memory_state.live;
    const char *error = t5_open(&model, directory, NULL);
    snprintf(path, sizeof path, "%s/%s: ", directory, name);
    test_case("%s, for %s: %s", error ? error : "no error", name, cause);
    if (CHECK(error != NULL))
        CHECK(strncmp(error, path, strlen(path)) == 0 && strstr(error, cause) != NULL && !strchr(error, '\n'));
    else
        t5_close(&model);
    CHECK(test_memory_state.live == live);
}

/* A text with one part of it replaced; NULL if that is not there. */
static char *replaced(contents text, const char *part, const char *with, size_t *size)
{
    size_t left = strlen(part), right = strlen(with), at;
    char *out = (char *)test_block(text.size + right + 1);
    for (at = 0; at + left <= text.size; at++)
        if (memcmp(text.bytes + at, part, left) == 0) {
            memcpy(out, text.bytes, at);
            memcpy(out + at, with, right);
            memcpy(out + at + right, text.bytes + at + left, text.size - at - left);
            *size = text.size - left + right;
            return out;
        }
    return NULL;
}

static void refuses_replaced(const contents *of, int file, const char *part, const char *with, const char *name,
                             const char *cause)
{
    size_t size = 0;
    char *bytes = replaced(of[file], part, with, &size);
    test_case("%s -> %s", part, with);
    if (!CHECK(bytes != NULL))
        return;
    write_file(files[file], bytes, size);
    refuses(name, cause);
    write_file(files[file], of[file].bytes, of[file].size);
}

/* One member of config.json becomes each of many values. */
static void refuses_member(const contents *of, const char *member, const char *value)
{
    static const char *const wrong[] = {
        "-1",   "1e3", "2.5", "\"8\"", "true", "[]", "{}", "2147483648", "18446744073709551615", "18446744073709551616",
        "1e999"};
    char part[80], with[120];
    snprintf(part, sizeof part, "\"%s\": %s", member, value);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(with, sizeof with, "\"%s\": %s", member, wrong[i]);
        refuses_replaced(of, 0, part, with, "config.json", member);
    }
}

TEST(t5_files)
{
    contents of[3];
    long live;
    if (!begin_directory(of, "t5_bf16"))
        return;
    live = test_memory_state.live;
    for (int i = 0; i < 3; i++) {
        size_t step = of[i].size / (test_quick ? 5 : 23) + 1;
        write_file(files[i], NULL, 0);
        refuses(files[i], "");
        for (size_t size = 0; size < of[i].size; size += step) {
            write_file(files[i], of[i].bytes, size);
            t5 model;
            const char *error = t5_open(&model, directory, NULL);
            test_case("%s, %lu bytes", files[i], (unsigned long)size);
            if (i < 2) /* part of a vocabulary may be one */
                CHECK(error && strstr(error, files[i]) != NULL);
            if (!error)
                t5_close(&model);
            CHECK(test_memory_state.live == live);
        }
        for (int j = 0; j < 3; j++)
            if (j != i) {
                write_file(files[i], of[j].bytes, of[j].size);
                refuses(files[i], "");
            }
        write_file(files[i], of[i].bytes, of[i].size);
    }
    static const char *const others[] = {"examples/models/tests/golden/unigram_bytes.model",
                                         "examples/models/tests/golden/unigram_suffix.model"};
    for (int i = 0; i < 2; i++) {
        contents other = read_all(others[i]);
        write_file(files[2], other.bytes, other.size);
        refuses(files[2], "too few");
    }
    size_t pieces = 13300; /* a cut between two pieces: what follows them is lost */
    write_file(files[2], of[2].bytes, pieces);
    refuses(files[2], "");
    char longest[5000];
    t5 model;
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    test_case("a long name");
    CHECK(t5_open(&model, longest, NULL) != NULL);
    CHECK(t5_open(&model, "", NULL) != NULL);
    CHECK(t5_open(&model, "examples/models/tests/golden/none", NULL) != NULL);
    end_directory();
}

TEST(t5_config)
{
    static const char *const members[][2] = {{"d_model", "20"},
                                             {"d_kv", "8"},
                                             {"d_ff", "28"},
                                             {"num_heads", "3"},
                                             {"num_layers", "2"},
                                             {"num_decoder_layers", "3"},
                                             {"vocab_size", "1104"},
                                             {"relative_attention_num_buckets", "10"},
                                             {"relative_attention_max_distance", "20"},
                                             {"layer_norm_epsilon", "1e-06"},
                                             {"eos_token_id", "1"}};
    /* what config.json has, what it becomes, which file is refused, and why */
    static const char *const altered[][4] = {
        {"\"d_model\": 20", "\"d_mode\": 20", "config.json", "d_model is missing"},
        {"\"d_model\": 20", "\"d_model\": 0", "config.json", "d_model"},
        {"\"d_model\": 20", "\"d_model\": 24", "model.safetensors", "tensor shared.weight is 1104 x 20, not 1104 x 24"},
        {"\"d_model\": 20", "\"d_model\": 2147483647", "model.safetensors", "tensor shared.weight"},
        {"\"d_kv\": 8", "\"d_kv\": 0", "config.json", "d_kv"},
        {"\"d_kv\": 8", "\"d_kv\": 5", "model.safetensors", "SelfAttention.q.weight is 24 x 20, not 15 x 20"},
        {"\"d_kv\": 8", "\"d_kv\": 2147483647", "config.json", "num_heads times d_kv"},
        {"\"d_ff\": 28", "\"d_ff\": 0", "config.json", "d_ff"},
        {"\"d_ff\": 28", "\"d_ff\": 2147483647", "model.safetensors", "wi_0.weight is 28 x 20, not 2147483647 x 20"},
        {"\"num_heads\": 3", "\"num_heads\": 0", "config.json", "num_heads"},
        {"\"num_heads\": 3", "\"num_heads\": 2147483647", "config.json", "num_heads times d_kv"},
        {"\"num_layers\": 2", "\"num_layers\": 0", "config.json", "num_layers"},
        {"\"num_layers\": 2", "\"num_layers\": 1", "model.safetensors", "tensor encoder.block.1."},
        {"\"num_layers\": 2", "\"num_layers\": 3", "model.safetensors", "encoder.block.2.layer.0.SelfAttention.q"},
        {"\"num_layers\": 2", "\"num_layers\": 2147483647", "model.safetensors", "2147483647 layers"},
        {"\"num_decoder_layers\": 3", "\"num_decoder_layers\": 0", "config.json", "num_decoder_layers"},
        {"\"num_decoder_layers\": 3", "\"num_decoder_layers\": 2147483647", "model.safetensors", "2147483647 layers"},
        {"\"vocab_size\": 1104", "\"vocab_size\": 1", "config.json", "vocab_size"},
        {"\"vocab_size\": 1104", "\"vocab_size\": 999", "spiece.model", "1000 pieces"},
        {"\"vocab_size\": 1104", "\"vocab_size\": 1105", "model.safetensors", "shared.weight"},
        {"num_buckets\": 10", "num_buckets\": 3", "config.json", "num_buckets"},
        {"num_buckets\": 10", "num_buckets\": 12", "model.safetensors", "relative_attention_bias.weight is 10 x 3"},
        {"num_buckets\": 10", "num_buckets\": 2147483647", "config.json", "max_distance"},
        {"max_distance\": 20", "max_distance\": 5", "config.json", "max_distance"},
        {"max_distance\": 20", "max_distance\": 0", "config.json", "max_distance"},
        {"epsilon\": 1e-06", "epsilon\": -1e-06", "config.json", "epsilon"},
        {"epsilon\": 1e-06", "epsilon\": 1.5", "config.json", "epsilon"},
        {"eos_token_id\": 1", "eos_token_id\": 1104", "config.json", "is not below vocab_size"},
        {"pad_token_id\": 0", "pad_token_id\": 1104", "config.json", "is not below vocab_size"},
        {"start_token_id\": 0", "start_token_id\": 1104", "config.json", "is not below vocab_size"},
        {"\"gated-gelu\"", "\"relu\"", "config.json", "dense_act_fn is not what feed_forward_proj says"},

        {"\"gated-gelu\"", "\"gated-silu\"", "config.json", "feed_forward_proj"},
        {"\"gated-gelu\"", "null", "config.json", "feed_forward_proj"},
        {"embeddings\": false", "embeddings\": 0", "config.json", "tie_word_embeddings"},
        {"\"t5\"", "\"bert\"", "config.json", "model_type \"bert\" is none of t5: 12_search runs it"},
        {"\"t5\"", "\"bart\"", "config.json", "is none of t5: learnt positions and layer norms are missing here"},
        {"{", "[", "config.json", "byte "},
        {"\n}", "\n}}", "config.json", "byte "}};
    contents of[3];
    char *huge;
    if (!begin_directory(of, "v1_1_f32"))
        return;
    for (size_t i = 0; i < sizeof members / sizeof *members; i += test_quick ? 4 : 1)
        refuses_member(of, members[i][0], members[i][1]);
    for (size_t i = 0; i < sizeof altered / sizeof *altered; i++)
        refuses_replaced(of, 0, altered[i][0], altered[i][1], altered[i][2], altered[i][3]);
    write_file(files[0], "[]", 2);
    refuses(files[0], "no JSON object");
    huge = (char *)test_block(2000000);
    memset(huge, ' ', 2000000);
    write_file(files[0], huge, 2000000);
    refuses(files[0], "larger than");
    end_directory();
}

/* The tokenizer.json that has the pieces and sentinels of a model's spiece.model, as transformers 5 writes it. */
static size_t write_tokenizer(const sentencepiece *v, const char *added, const char *end)
{
    char *text = (char *)test_block(1 << 17);
    size_t used = (size_t)sprintf(
        text,
        "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[%s"
        "{\"id\":1,\"content\":\"</"
        "s>\",\"special\":true}],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"Sequence\","
        "\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"},{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\","
        "\"prepend_scheme\":\"always\",\"split\":true}]},\"post_processor\":{\"type\":\"TemplateProcessing\","
        "\"single\":["
        "{\"Sequence\":{\"id\":\"A\"}}%s],\"special_tokens\":{\"</s>\":{\"id\":\"</s>\",\"ids\":[1]}}},\"decoder\":{"
        "\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\",\"prepend_scheme\":\"always\"},\"model\":{\"type\":"
        "\"Unigram\",\"unk_id\":%d,\"byte_fallback\":false,\"vocab\":[",
        added, end, (int)v->unk_id);
    for (int32_t i = 0; i < v->count; i++) {
        const sentencepiece_piece *p = &v->pieces[i];
        used += (size_t)sprintf(text + used, "%s[\"", i ? "," : "");
        for (size_t k = 0; k < p->text.size; k++)
            used += (size_t)sprintf(text + used, strchr("\"\\", p->text.text[k]) ? "\\%c" : "%c", p->text.text[k]);
        used += (size_t)sprintf(text + used, "\",%.17g]", (double)p->score);
    }
    for (int i = 99; i >= 0; i--)
        used += (size_t)sprintf(text + used, ",[\"<extra_id_%d>\",0.0]", i);
    used += (size_t)sprintf(text + used, "]}}");
    write_file("tokenizer.json", text, used);
    return used;
}

#define END ",{\"SpecialToken\":{\"id\":\"</s>\"}}"

/* tokenizer.json in place of spiece.model, and before it. */
TEST(t5_tokenizer_json)
{
    static const char *const more[] = {"config.json", "model.safetensors", "spiece.model", "tokenizer.json"};
    static const char house[] = "The house is wonderful, </s> and <extra_id_3> I have seen it.";
    translate_opts opts = translate_defaults();
    translate_text text = {house, sizeof house - 1};
    translation want, got;
    contents of[3];
    t5 model, other;
    if (!begin_directory(of, "t5_f32") || !CHECK(t5_open(&model, directory, NULL) == NULL))
        return;
    opts.search.max_length = 20;
    opts.search.early_stopping = 1; /* there is no other sentinel in the result then */
    CHECK(translate(&model, &opts, &text, 1, &want, NULL) == NULL && want.count > 3);
    for (int both = 0; both < 2; both++) {
        write_file(files[2], both ? "no model" : NULL, both ? 8 : 0);
        write_tokenizer(&model.vocabulary, "{\"id\":1096,\"content\":\"<extra_id_3>\",\"special\":true},", END);
        test_case(both ? "beside spiece.model" : "alone");
        if (!CHECK(t5_open(&other, directory, NULL) == NULL))
            continue;
        CHECK(translate(&other, &opts, &text, 1, &got, NULL) == NULL);
        CHECK(got.source_count == want.source_count &&
              memcmp(got.source, want.source, got.source_count * sizeof *got.source) == 0);
        CHECK(got.count == want.count && memcmp(got.ids, want.ids, got.count * sizeof *got.ids) == 0);
        CHECK(strcmp(got.text, want.text) == 0);
        translate_free(&got, 1);
        spells(&other, 1, "</s>");
        spells(&other, 1099, "<extra_id_0>");
        spells(&other, 1100, "<1100>");
        t5_close(&other);
    }
    /* a special token of one's own is one in a text, too */
    write_tokenizer(&model.vocabulary, "{\"id\":1100,\"content\":\"<hl>\",\"special\":true},", END);
    if (CHECK(t5_open(&other, directory, NULL) == NULL)) {
        text.text = "The <hl> house";
        text.size = 14;
        CHECK(translate(&other, &opts, &text, 1, &got, NULL) == NULL);
        int found = 0;
        for (size_t i = 0; i < got.source_count; i++)
            found += got.source[i] == 1100;
        CHECK(found == 1);
        translate_free(&got, 1);
        t5_close(&other);
    }
    write_tokenizer(&model.vocabulary, "", "");
    refuses(more[3], "texts end with piece -1, not 1 as config.json has it");
    write_tokenizer(&model.vocabulary, "{\"id\":1104,\"content\":\"<x>\"},", END);
    refuses(more[3], "1105 pieces, more than the vocab_size");
    write_file(more[3], "{}", 2);
    refuses(more[3], "\"model\" is missing");
    translate_free(&want, 1);
    t5_close(&model);
    remove_directory(more, 4);
    test_release();
}

/* Tokens that files beside spiece.model add to it: those that it has, as no text, are fine. */
TEST(t5_added_tokens)
{
    static const char *const more[] = {"config.json",       "model.safetensors",     "spiece.model",
                                       "added_tokens.json", "tokenizer_config.json", "special_tokens_map.json"};
    static const char *const fine[] = {
        "{\"<extra_id_99>\": 1000, \"</s>\": 1}",
        "{\"added_tokens_decoder\": {\"0\": {\"content\": \"<pad>\"}, \"1000\": {\"content\": \"<extra_id_99>\"}}}",
        "{\"eos_token\": \"</s>\", \"additional_special_tokens\": [\"<extra_id_0>\", {\"content\": \"</s>\"}]}"};
    static const char *const wrong[] = {"{\"<hl>\": 1100}",
                                        "{\"added_tokens_decoder\": {\"1100\": {\"content\": \"<hl>\"}}}",
                                        "{\"additional_special_tokens\": [\"<hl>\"]}"};
    contents of[3];
    t5 model;
    if (!begin_directory(of, "t5_f32"))
        return;
    for (int i = 0; i < 3; i++) {
        write_file(more[3 + i], fine[i], strlen(fine[i]));
        if (CHECK(t5_open(&model, directory, NULL) == NULL))
            t5_close(&model);
        write_file(more[3 + i], wrong[i], strlen(wrong[i]));
        refuses(more[3 + i], "the token \"<hl>\" was added to spiece.model: a tokenizer.json that has it is needed");
        write_file(more[3 + i], NULL, 0);
    }
    write_file(more[4], "{\"extra_ids\": 50}", 17);
    refuses(more[4], "extra_ids is not 100");
    write_file(more[4], NULL, 0);
    /* beside tokenizer.json, too */
    if (CHECK(t5_open(&model, directory, NULL) == NULL)) {
        write_tokenizer(&model.vocabulary, "{\"id\":1096,\"content\":\"<extra_id_3>\",\"special\":true},", END);
        t5_close(&model);
    }
    write_file(more[4], wrong[1], strlen(wrong[1]));
    refuses(more[4], "the token \"<hl>\" was added to tokenizer.json: a tokenizer.json that has it is needed");
    write_file(more[4], "{\"extra_special_tokens\": [\"<pad>\", \"<extra_id_3>\"]}", 51);
    if (CHECK(t5_open(&model, directory, NULL) == NULL))
        t5_close(&model);
    /* whose flags are those of tokenizer_config.json */
    for (int is_word = 0; is_word < 2; is_word++) {
        static const char begins[] = "{\"added_tokens_decoder\": {\"1096\": {\"content\": \"<extra_id_3>\", ";
        char config[200];
        bpe_tokens tokens;
        snprintf(config, sizeof config, "%s\"single_word\": %s}}}", begins, is_word ? "true" : "false");
        write_file(more[4], config, strlen(config));
        if (!CHECK(t5_open(&model, directory, NULL) == NULL))
            continue;
        if (CHECK(bpe_encode(&model.tokens, "<extra_id_3>a", 13, &tokens) == NULL)) {
            CHECK((tokens.ids[0] == 1096) == !is_word);
            bpe_tokens_free(&tokens);
        }
        t5_close(&model);
    }
    write_file("tokenizer.json", NULL, 0);
    remove_directory(more, 6);
    test_release();
}

/* The same of the header of model.safetensors, which says its own length. */
static int write_header(const contents *of, const char *part, const char *with)
{
    size_t size = 0, length = 0;
    char *bytes = replaced(of[1], part, with, &size);
    test_case("%s -> %s", part, with);
    if (!CHECK(bytes != NULL))
        return 0;
    for (int n = 0; n < 4; n++)
        length |= (size_t)(unsigned char)bytes[n] << 8 * n;
    length += strlen(with) - strlen(part);
    for (int n = 0; n < 4; n++)
        bytes[n] = (char)(length >> 8 * n);
    write_file(files[1], bytes, size);
    return 1;
}

static void refuses_header(const contents *of, const char *part, const char *with, const char *cause)
{
    if (write_header(of, part, with))
        refuses(files[1], cause);
    write_file(files[1], of[1].bytes, of[1].size);
}

/* The embedding under each of its names, and what is at other addresses for that: copied where it must be. */
TEST(t5_embedding)
{
    static const char *const names[] = {"shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                                        "lm_head.weight"};
    static const char *const some[] = {"t5_f32", "v1_1_f16"};
    translate_opts opts = translate_defaults();
    translate_text text = {"The house is wonderful.", 23};
    opts.search.max_length = 9;
    for (size_t k = 0; k < 2; k++) {
        contents of[3];
        translation want, got;
        t5 model;
        if (!open_kind(&model, some[k]))
            continue;
        CHECK(translate(&model, &opts, &text, 1, &want, NULL) == NULL);
        t5_close(&model);
        if (!begin_directory(of, some[k])) {
            translate_free(&want, 1);
            return;
        }
        for (size_t i = 0; i < 4; i++) {
            char part[64], with[64];
            snprintf(part, sizeof part, "\"%s\":", names[0]);
            snprintf(with, sizeof with, " \"%s\":", names[i]); /* one byte more: nothing is aligned any longer */
            if (!write_header(of, part, with))
                continue;
            if (k == 1 && i == 3) {
                refuses(files[1], "two members"); /* v1_1 has a head of its own under that name */
                continue;
            }
            if (!CHECK(t5_open(&model, directory, NULL) == NULL))
                continue;
            CHECK(translate(&model, &opts, &text, 1, &got, NULL) == NULL);
            CHECK(got.count == want.count && test_bits32(got.score) == test_bits32(want.score));
            translate_free(&got, 1);
            t5_close(&model);
        }
        translate_free(&want, 1);
        end_directory();
    }
}

/* A head of its own is used, and its logits are not scaled unless scale_decoder_outputs says so: as transformers 5
   writes what had no tied head. A copy of the embedding that is another is refused. */
TEST(t5_heads)
{
    static const struct {
        const char *said;
        int scaled, noted;
    } cases[] = {{"false", 0, 0},
                 {"true", 0, 1},
                 {"null", 0, 1},
                 {"true, \"scale_decoder_outputs\": false", 0, 0},
                 {"false, \"scale_decoder_outputs\": true", 1, 0},
                 {"true, \"scale_decoder_outputs\": true", 1, 0}};
    translate_opts opts = translate_defaults();
    translate_text text = {"The house is wonderful.", 23};
    contents of[3];
    translation want = {0}, got;
    opts.search.max_length = 9;
    if (!begin_directory(of, "v1_1_f32"))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char with[80];
        size_t size;
        t5 model;
        snprintf(with, sizeof with, "\"tie_word_embeddings\": %s", cases[i].said);
        char *config = replaced(of[0], "\"tie_word_embeddings\": false", with, &size);
        test_case("%s", with);
        if (!CHECK(config != NULL))
            continue;
        write_file(files[0], config, size);
        if (!CHECK(t5_open(&model, directory, NULL) == NULL))
            continue;
        CHECK(model.head.data != model.embedding.data && model.config.tied == cases[i].scaled);
        CHECK((strstr(model.files.notes, "there is no scale_decoder_outputs") != NULL) == cases[i].noted);
        CHECK((*model.files.notes != 0) == cases[i].noted);
        CHECK(translate(&model, &opts, &text, 1, i ? &got : &want, NULL) == NULL);
        if (i) {
            CHECK((test_bits32(got.score) == test_bits32(want.score)) == !cases[i].scaled);
            translate_free(&got, 1);
        }
        t5_close(&model);
    }
    translate_free(&want, 1);
    end_directory();
    if (!begin_directory(of, "t5_bf16"))
        return;
    safetensors file;
    CHECK(safetensors_parse(&file, of[1].bytes, of[1].size, "model") == NULL);
    const safetensors_tensor *copy = safetensors_find(&file, "decoder.embed_tokens.weight");
    if (CHECK(copy != NULL))
        ((unsigned char *)of[1].bytes)[(const char *)copy->data - of[1].bytes] ^= 1;
    safetensors_close(&file);
    write_file(files[1], of[1].bytes, of[1].size);
    refuses(files[1], "tensor decoder.embed_tokens.weight differs from shared.weight");
    end_directory();
}

/* The same translations with config.json and generation_config.json of transformers 5. */
TEST(t5_version_5)
{
    static const char *const some[] = {"t5_f16", "v1_1_bf16"};
    translate_opts opts = translate_defaults();
    translate_text text = {"The house is wonderful.", 23};
    opts.search.max_length = 20;
    for (size_t k = 0; k < 2; k++) {
        contents of[3], config, generation = read_all("examples/models/tests/golden/t5/v5/generation_config.json");
        char path[PATH + 32];
        translation want = {0}, got;
        if (!begin_directory(of, some[k]))
            return;
        snprintf(path, sizeof path, "examples/models/tests/golden/t5/v5/%s.json", some[k]);
        config = read_all(path);
        for (int turn = 0; turn < 2; turn++) {
            t5 model;
            const char *error = t5_open(&model, directory, NULL);
            test_case("%s, %d: %s", some[k], turn, error ? error : "open");
            if (!CHECK(!error))
                continue;
            CHECK(!*model.files.notes && model.config.tied == (k == 0));
            CHECK(translate(&model, &opts, &text, 1, turn ? &got : &want, NULL) == NULL);
            if (turn) {
                CHECK(got.count == want.count && test_bits32(got.score) == test_bits32(want.score));
                translate_free(&got, 1);
            }
            t5_close(&model);
            write_file(files[0], config.bytes, config.size);
            write_file(files[3], generation.bytes, generation.size);
        }
        translate_free(&want, 1);
        end_directory();
    }
}

/* generation_config.json: its ids count, and what it asks for in vain is refused. Of config.json what is noted. */
TEST(t5_generation)
{
    static const char *const wrong[][2] = {{"{\"forced_bos_token_id\": 5}", "forced_bos_token_id is something"},
                                           {"{\"suppress_tokens\": [5]}", "suppress_tokens is something"},
                                           {"{\"repetition_penalty\": 1.5}", "repetition_penalty is something"},
                                           {"{\"decoder_start_token_id\": -1}", "decoder_start_token_id is no whole"},
                                           {"{\"eos_token_id\": [1, 2]}", "eos_token_id is no whole number"},
                                           {"[]", "no JSON object"}};
    static const char *const altered[][3] = {
        {"{", "{\"hidden_size\": 21,", "hidden_size is another name"},
        {"{", "{\"head_dim\": 9,", "head_dim is another name"},
        {"\"dense_act_fn\": \"gelu_new\"", "\"dense_act_fn\": \"relu\"",
         "dense_act_fn is not what feed_forward_proj says"},
        {"\"is_gated_act\": true", "\"is_gated_act\": false", "is_gated_act is not what"},
        {"{", "{\"tie_encoder_decoder\": true,", "tie_encoder_decoder is true"},
        {"{", "{\"scale_decoder_outputs\": null,", "scale_decoder_outputs is null"},
        {"\"is_encoder_decoder\": true", "\"is_encoder_decoder\": false", "is_encoder_decoder is false"},
        {"{", "{\"per_layer_config\": {\"0\": {}},", "per_layer_config is there"}};
    const char *fine = "{\"decoder_start_token_id\": 3, \"num_beams\": 2, \"no_repeat_ngram_size\": 3, \"x\": 1}";
    contents of[3];
    t5 model;
    size_t size;
    char *config;
    if (!begin_directory(of, "v1_1_f32"))
        return;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file(files[3], wrong[i][0], strlen(wrong[i][0]));
        refuses(files[3], wrong[i][1]);
    }
    write_file(files[3], fine, strlen(fine));
    for (size_t i = 0; i < sizeof altered / sizeof *altered; i++)
        refuses_replaced(of, 0, altered[i][0], altered[i][1], files[0], altered[i][2]);
    config = replaced(of[0], "{", "{\"hidden_size\": 20, \"lora\": 1,", &size);
    write_file(files[0], config, size);
    if (CHECK(t5_open(&model, directory, NULL) == NULL)) {
        CHECK(model.config.start_id == 3 && model.config.eos_id == 1);
        CHECK(strstr(model.files.notes, "generation_config.json: unknown members are not looked at: x\n"));
        CHECK(strstr(model.files.notes, "/config.json: unknown members are not looked at: lora\n"));
        CHECK(strstr(model.files.notes, "generation_config.json: there is no eos_token_id"));
        t5_close(&model);
    }
    write_file(files[3], NULL, 0);
    config = replaced(of[0], "\"eos_token_id\": 1", "\"renormalize_logits\": true", &size);
    write_file(files[0], config, size);
    if (CHECK(t5_open(&model, directory, NULL) == NULL)) {
        CHECK(strstr(model.files.notes, "/config.json: there is no eos_token_id"));
        CHECK(strstr(model.files.notes, ": renormalize_logits is true, which is not done"));
        t5_close(&model);
    }
    end_directory();
}

/* How to search: what generation_config.json or config.json says, then the task. */
TEST(t5_settles)
{
    static const char *const generation = "{\"num_beams\": 3, \"no_repeat_ngram_size\": 2, \"length_penalty\": 0.5, "
                                          "\"max_new_tokens\": 8, \"eos_token_id\": 1, \"do_sample\": true}";
    static const char *const wrong[][2] = {
        {"\"num_beams\": 1025", "num_beams is above 1024"},
        {"\"early_stopping\": \"never\"", "early_stopping is neither true nor false"},
        {"\"min_new_tokens\": -1", "min_new_tokens is no whole number"},
        {"\"length_penalty\": 101", "length_penalty is no number"}};
    contents of[3];
    translate_opts opts;
    t5 model;
    size_t size;
    if (!begin_directory(of, "t5_bf16"))
        return;
    for (int turn = 0; turn < 4; turn++) { /* 2: the same in config.json; 3: another prefix */
        char with[300];
        strcpy(with, turn == 2 ? generation : "{");
        if (turn == 2)
            with[strlen(with) - 1] = ',';
        char *config = turn == 3 ? replaced(of[0], "to French", "to france", &size) : replaced(of[0], "{", with, &size);
        write_file(files[0], config, size);
        write_file(files[3], turn == 1 || turn == 3 ? generation : NULL, strlen(generation));
        if (!CHECK(t5_open(&model, directory, NULL) == NULL))
            continue;
        CHECK(!*model.files.notes == !turn && (!turn || strstr(model.files.notes, "do_sample is true")));
        opts = translate_defaults();
        opts.search.max_length = 40;
        opts.prefix = "";
        CHECK(translate_settle(&model, NULL, &opts) == NULL);
        opts.prefix = translate_defaults().prefix;
        CHECK(opts.search.beams == (turn ? 3 : 4) && opts.search.no_repeat_ngram == (turn ? 2 : 0));
        CHECK(!opts.search.early_stopping && opts.search.max_length == (turn ? 9 : 40));
        CHECK_NEAR((real)opts.search.length_penalty, turn ? 0.5L : 1, 0);
        CHECK(translate_settle(&model, "translation_en_to_fr", &opts) == NULL); /* as t5-small has it */
        CHECK(opts.search.beams == 4 && opts.search.early_stopping && opts.search.max_length == 300);
        CHECK(opts.search.no_repeat_ngram == (turn ? 2 : 0));
        CHECK((strstr(model.files.notes, "the prefix of translation_en_to_fr is another than") != NULL) == (turn == 3));
        t5_close(&model);
    }
    write_file(files[3], NULL, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *config = replaced(of[0], "\"num_beams\": 4", wrong[i][0], &size); /* of the first task: en_to_de */
        write_file(files[0], config, size);
        if (!CHECK(config && t5_open(&model, directory, NULL) == NULL))
            continue;
        opts = translate_defaults();
        CHECK(translate_settle(&model, "translation_en_to_ro", &opts) == NULL);
        const char *error = translate_settle(&model, "translation_en_to_de", &opts);
        test_case("%s", error ? error : "none");
        CHECK(error && strstr(error, wrong[i][1]) && strstr(error, "config.json: "));
        t5_close(&model);
    }
    for (int turn = 0; turn < 3; turn++) { /* without a name the task is that of the prefix */
        static const char *const prefixes[] = {"summarize: ", "sum: ", ""};
        char *config = replaced(of[0], "\"translate English to German: \"",
                                turn < 2 ? "\"summarize: \", \"min_length\": 7" : "1", &size);
        write_file(files[0], config, size);
        if (!CHECK(config && t5_open(&model, directory, NULL) == NULL))
            continue;
        opts = translate_defaults();
        opts.prefix = prefixes[turn];
        test_case("prefix %s", opts.prefix);
        CHECK(translate_settle(&model, NULL, &opts) == NULL && !*model.files.notes);
        CHECK(opts.search.min_length == (turn ? 0 : 7) && opts.search.max_length == (turn ? 257 : 300));
        t5_close(&model);
    }
    char *config = replaced(of[0], "{", "{\"prefix\": \"sum: \", \"min_length\": 7, \"min_new_tokens\": 9, ", &size);
    write_file(files[0], config, size);
    if (CHECK(config && t5_open(&model, directory, NULL) == NULL)) {
        opts = translate_defaults();
        CHECK(translate_settle(&model, NULL, &opts) == NULL && opts.search.min_length == 10 && !*model.files.notes);
        opts.prefix = "";
        CHECK(translate_settle(&model, NULL, &opts) == NULL &&
              strstr(model.files.notes, "/config.json: prefix is another than \"\""));
        t5_close(&model);
    }
    end_directory();
}

/* A tensor of BF16 is NaN throughout: that shows in the end, whatever is made of it on the way. */
static void finds_no_number(const contents *of, size_t at, size_t size)
{
    t5 model;
    translation result;
    translate_opts opts = translate_defaults();
    translate_text text = {"cat", 3};
    char *bytes = (char *)test_block(of[1].size);
    memcpy(bytes, of[1].bytes, of[1].size);
    memset(bytes + at, 0xff, size);
    write_file(files[1], bytes, of[1].size);
    test_case("NaN at byte %lu", (unsigned long)at);
    if (CHECK(t5_open(&model, directory, NULL) == NULL)) {
        const char *error = translate(&model, &opts, &text, 1, &result, NULL);
        CHECK(error && strstr(error, "not finite"));
        translate_free(&result, 1);
        t5_close(&model);
    }
    write_file(files[1], of[1].bytes, of[1].size);
}

/* Every tensor: missing; of another shape, with as many elements; of a type that is not for weights. Those that the file
   has more than once, or that nobody reads, may be missing, but not stand under a name that is none; of NaN they would
   differ from their copies. */
TEST(t5_tensors)
{
    static const char *const spare[] = {"decoder.embed_tokens.weight", "encoder.embed_tokens.weight", "lm_head.weight",
                                        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
                                        "shared.weight"};
    contents of[3];
    safetensors file;
    if (!begin_directory(of, "t5_bf16"))
        return;
    CHECK(safetensors_parse(&file, of[1].bytes, of[1].size, "model") == NULL && file.count > 40);
    for (size_t i = 0; i < file.count; i += test_quick ? 3 : 1) {
        const safetensors_tensor *t = &file.tensors[i];
        char part[300], with[300], cause[300], dtype[200];
        int is_spare = 0;
        for (size_t n = 0; n < sizeof spare / sizeof *spare; n++)
            is_spare |= strcmp(t->name, spare[n]) == 0;
        snprintf(part, sizeof part, "\"%s\":", t->name);
        snprintf(with, sizeof with, "\"%sx\":", t->name);
        snprintf(cause, sizeof cause, is_spare ? "tensor %sx is none of a T5" : "tensor %s is missing", t->name);
        refuses_header(of, part, with, cause);
        if (is_spare && t->rank == 2 && t->shape[0] != 1104)
            continue; /* nobody looks at it */
        snprintf(part, sizeof part, "\"%s\":{\"dtype\":\"BF16\"", t->name);
        snprintf(with, sizeof with, "\"%s\":{\"dtype\":\"I16\"", t->name);
        snprintf(cause, sizeof cause, "tensor %s is of type I16", t->name);
        refuses_header(of, part, with, cause);
        snprintf(dtype, sizeof dtype, "\"%s\":{\"dtype\":\"BF16\",\"shape\":", t->name);
        if (t->rank == 2) {
            snprintf(part, sizeof part, "%s[%lu,", dtype, (unsigned long)t->shape[0]);
            snprintf(with, sizeof with, "%s[1,%lu,", dtype, (unsigned long)t->shape[0]);
            snprintf(cause, sizeof cause, "tensor %s is 1 x %lu x %lu, not ", t->name, (unsigned long)t->shape[0],
                     (unsigned long)t->shape[1]);
        } else {
            snprintf(part, sizeof part, "%s[%lu]", dtype, (unsigned long)t->shape[0]);
            snprintf(with, sizeof with, "%s[%lu,2]", dtype, (unsigned long)t->shape[0] / 2);
            snprintf(cause, sizeof cause, "tensor %s is %lu x 2, not ", t->name, (unsigned long)t->shape[0] / 2);
        }
        refuses_header(of, part, with, cause);
        if (!is_spare)
            finds_no_number(of, (size_t)((const char *)t->data - of[1].bytes), t->size);
    }
    safetensors_close(&file);
    end_directory();
}

static const char *came_to(layers *net, attn_status status, const char *name)
{
    layers_check(net, status, name);
    return layers_outcome(net);
}

/* Errors of attn.h name the argument; what the next call reports is its own. */
TEST(t5_names_argument)
{
    static const char said[] = "attn_sdpa: opts.bias: 3 heads, where 4 or 1 fit";
    static t5 model;
    const attn_fault one = {"opts.bias", NULL, "3 heads, where 4 or 1 fit"}, two = {"out", "q", ""};
    model.net.fault = one;
    CHECK(!strcmp(came_to(&model.net, ATTN_ERR_SHAPE, "attn_sdpa"), said));
    CHECK(!strcmp(came_to(&model.net, ATTN_ERR_SHAPE, "attn_t5_bias"), "attn_t5_bias: dimensions do not fit together"));
    model.net.fault = two;
    CHECK(!strncmp(came_to(&model.net, ATTN_ERR_ALIAS, "attn_sdpa"), "attn_sdpa: out, q: an output overlaps", 37));
    CHECK(!came_to(&model.net, ATTN_OK, "attn_sdpa"));
}
