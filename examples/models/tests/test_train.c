/* Training: the gradient of every weight against PyTorch's (golden/make_train.py) and, with dropout, against
   differences of the loss; the network that is saved is the one that t5.c reads; a few steps make the loss fall, and threads change
   no bit. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>
#endif

#include "test.h" /* first: it has ATTN_THREADS */

#include "examples/models/train/learn.h"

enum { PAIRS = 4 };

/* ---- the golden network ---- */

static t5_config small_config(void)
{
    t5_config c;
    memset(&c, 0, sizeof c);
    c.vocab_size = 21;
    c.d_model = 10;
    c.num_heads = 2;
    c.d_kv = 3;
    c.inner = 6;
    c.d_ff = 14;
    c.num_layers = 2;
    c.num_decoder_layers = 1;
    c.buckets = 8;
    c.max_distance = 9;
    c.epsilon = 1e-6;
    c.tied = 1;
    c.eos_id = 1;
    return c;
}

static int open_golden(safetensors *file)
{
    return CHECK(safetensors_open(file, "examples/models/tests/golden/train.safetensors") == NULL);
}

static const safetensors_tensor *named(const safetensors *file, const char *kind, const char *name)
{
    char whole[120];
    const safetensors_tensor *t;
    snprintf(whole, sizeof whole, "%s%s", kind, name);
    test_case("%s", whole);
    t = safetensors_find(file, whole);
    return CHECK(t != NULL) ? t : NULL;
}

static void load_weights(network *net, const safetensors *file)
{
    size_t n, i;
    for (n = 0; n < net->tensor_count; n++) {
        const network_tensor *t = &net->tensors[n];
        const safetensors_tensor *from = named(file, "", t->name);
        if (from && CHECK(from->count == t->rows * t->cols))
            for (i = 0; i < from->count; i++)
                net->weights[t->at + i] = (float)safetensors_get(from, i);
    }
}

/* The ids of a text, in a block. */
static const int32_t *load_ids(const safetensors *file, const char *kind, size_t n, size_t *len)
{
    char name[8];
    const safetensors_tensor *t;
    int32_t *ids;
    size_t i;
    snprintf(name, sizeof name, "%lu", (unsigned long)n);
    t = named(file, kind, name);
    *len = t ? t->count : 0;
    ids = (int32_t *)test_block(*len * sizeof *ids);
    for (i = 0; i < *len; i++)
        ids[i] = (int32_t)safetensors_get(t, i);
    return ids;
}

static void load_pairs(network_pair *pairs, const safetensors *file)
{
    size_t n;
    for (n = 0; n < PAIRS; n++) {
        pairs[n].source = load_ids(file, "source.", n, &pairs[n].source_len);
        pairs[n].target = load_ids(file, "target.", n, &pairs[n].target_len);
    }
}

static size_t words(const network_pair *pairs)
{
    size_t n, sum = 0;
    for (n = 0; n < PAIRS; n++)
        sum += pairs[n].target_len;
    return sum;
}

typedef struct golden {
    safetensors file;
    network net;
    network_pair pairs[PAIRS];
    float *grads;
} golden;

static int begin(golden *g)
{
    t5_config config = small_config();
    memset(g, 0, sizeof *g);
    if (!open_golden(&g->file) || !CHECK(network_init(&g->net, &config, 1) == NULL))
        return 0;
    load_weights(&g->net, &g->file);
    load_pairs(g->pairs, &g->file);
    g->grads = (float *)test_block(g->net.size * sizeof *g->grads);
    return 1;
}

static void end(golden *g)
{
    network_free(&g->net);
    safetensors_close(&g->file);
}

/* The loss, and the gradient in g->grads. */
static double learn(golden *g)
{
    tape t;
    double loss = 0;
    memset(&t, 0, sizeof t);
    t.seed = 7;
    memset(g->grads, 0, g->net.size * sizeof *g->grads);
    CHECK(network_learn(&g->net, &t, &loss, g->grads, g->pairs, PAIRS, 1 / (double)words(g->pairs)) == NULL);
    tape_free(&t);
    return loss;
}

TEST(train_gradient_is_pytorchs)
{
    golden g;
    size_t n, i;
    double loss;
    const safetensors_tensor *want;
    if (!begin(&g))
        return;
    loss = learn(&g);
    want = named(&g.file, "loss", "");
    if (want)
        CHECK_NEAR(loss, safetensors_get(want, 0), 2e-6);
    for (n = 0; n < g.net.tensor_count; n++) {
        const network_tensor *t = &g.net.tensors[n];
        double largest = 0, error = 0;
        if (!(want = named(&g.file, "grad.", t->name)) || !CHECK(want->count == t->rows * t->cols))
            continue;
        for (i = 0; i < want->count; i++)
            largest = fmax(largest, fabs(safetensors_get(want, i)));
        for (i = 0; i < want->count; i++)
            error = fmax(error, fabs(g.grads[t->at + i] - safetensors_get(want, i)));
        CHECK(largest > 0);
        CHECK_NEAR(error / largest, 0, 1e-5);
    }
    end(&g);
}

/* Along its own gradient each tensor makes the loss rise by the gradient's length. */
TEST(train_gradient_with_dropout)
{
    golden g;
    size_t n, i;
    double without, with;
    if (!begin(&g))
        return;
    for (i = 0; i < g.net.config.vocab_size * g.net.config.d_model; i++) /* so that the embedding is seen as an input */
        g.net.weights[g.net.embedding + i] *= 0.5f;
    without = learn(&g);
    g.net.dropout = 0.25;
    with = learn(&g);
    CHECK(with != without && with == learn(&g));
    for (n = 0; n < g.net.tensor_count; n++) {
        const network_tensor *t = &g.net.tensors[n];
        size_t count = t->rows * t->cols;
        float *weights = &g.net.weights[t->at], *old = (float *)test_block(count * sizeof *old);
        float *step = (float *)test_block(count * sizeof *step);
        double length = 0, rise = 0;
        learn(&g);
        for (i = 0; i < count; i++)
            length += (double)g.grads[t->at + i] * (double)g.grads[t->at + i];
        length = sqrt(length);
        for (i = 0; i < count; i++)
            step[i] = (float)(2e-4 * g.grads[t->at + i] / length);
        memcpy(old, weights, count * sizeof *old);
        for (i = 0; i < count; i++)
            weights[i] = old[i] + step[i];
        rise = learn(&g);
        for (i = 0; i < count; i++)
            weights[i] = old[i] - step[i];
        rise -= learn(&g);
        memcpy(weights, old, count * sizeof *old);
        test_case("%s", t->name);
        CHECK_NEAR(rise / 4e-4, length, 1e-2 * length + 2e-3);
    }
    end(&g);
}

/* ---- files ---- */

/* The loss of a pair, as t5.c's network has it. */
static double loss_of(t5 *model, const network_pair *pair)
{
    size_t d = model->config.d_model, words_of = model->config.vocab_size, i, j;
    float *states = (float *)test_block(pair->source_len * d * sizeof *states);
    float *logits = (float *)test_block(pair->target_len * words_of * sizeof *logits);
    int32_t *tokens = (int32_t *)test_block(pair->target_len * sizeof *tokens);
    t5_text text, *one = &text;
    double loss = 0;
    for (i = 0; i < pair->target_len; i++)
        tokens[i] = i > 0 ? pair->target[i - 1] : model->config.start_id;
    CHECK(!t5_encode(model, states, pair->source, &pair->source_len, 1, pair->source_len));
    CHECK(!t5_begin(model, &text, states, pair->source_len, 1));
    CHECK(!t5_decode(model, &one, 1, tokens, pair->target_len, logits));
    for (i = 0; i < pair->target_len; i++) {
        double sum = 0;
        for (j = 0; j < words_of; j++)
            sum += exp((double)logits[i * words_of + j]);
        loss += log(sum) - (double)logits[i * words_of + (size_t)pair->target[i]];
    }
    t5_end(model, &text);
    return loss;
}

static int copy_file(const char *from, const char *to)
{
    char bytes[4096];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t size;
    int good = in && out;
    while (good && (size = fread(bytes, 1, sizeof bytes, in)) > 0)
        good = fwrite(bytes, 1, size, out) == size;
    if (in)
        fclose(in);
    return out && fclose(out) == 0 && good;
}

static void check_saved(network *net, const char *directory)
{
    static const int32_t source[] = {5, 77, 300, 999, 12, 5, 1}, target[] = {8, 500, 2, 1};
    network_pair pair = {source, target, 7, 4};
    float *grads = (float *)test_block(net->size * sizeof *grads);
    tape t = {0, NULL, NULL, 0, NULL, {0}};
    t5 model;
    double loss = 0;
    size_t i;
    const char *error = t5_open(&model, directory, NULL);
    test_case("%s", error ? error : directory);
    if (!CHECK(!error))
        return;
    for (i = 0; i < net->size; i++) /* what rounding left of the weights */
        attn_mat_set(attn_mat_of(&net->weights[i], ATTN_F32, 1, 1), 0, 0,
                     test_decode(test_encode(net->weights[i], ATTN_BF16), ATTN_BF16));
    memset(grads, 0, net->size * sizeof *grads);
    CHECK(!network_learn(net, &t, &loss, grads, &pair, 1, 1));
    CHECK_NEAR(loss, loss_of(&model, &pair), 1e-5 * loss);
    tape_free(&t);
    t5_close(&model);
}

TEST(train_saves_what_t5_opens)
{
#if !defined(_WIN32)
    static const char *const files[] = {"spiece.model", "config.json", "model.safetensors"};
    char directory[] = "/tmp/attn-test-XXXXXX", path[64];
    t5_config config = small_config();
    network net;
    size_t i;
    config.vocab_size = 1000;
    if (!mkdtemp(directory)) {
        printf("skip a network that is saved: no directory in /tmp\n");
        return;
    }
    if (CHECK(!network_init(&net, &config, 3))) {
        snprintf(path, sizeof path, "%s/spiece.model", directory);
        CHECK(copy_file("examples/models/tests/golden/unigram.model", path));
        CHECK(!network_save(&net, directory));
        CHECK(network_save(&net, "/tmp/attn-test-none") != NULL);
        check_saved(&net, directory);
        network_free(&net);
    }
    for (i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[i]);
        remove(path);
    }
    rmdir(directory);
#endif
}

/* ---- learning ---- */

/* Three steps of AdamW. A weight whose gradient is small beside its rounding may go another way: the mean counts. */
TEST(train_steps_are_pytorchs)
{
    golden g;
    learner of;
    attn_parallel none = {NULL, NULL, 0};
    t5_config config = small_config();
    size_t n, i;
    double sum = 0, moved = 0;
    if (!begin(&g) || !CHECK(!learner_init(&of, &config, 1, none)))
        return;
    load_weights(&of.net, &g.file);
    for (n = 0; n < 3; n++)
        CHECK(!learner_step(&of, g.pairs, PAIRS, 1e-2));
    for (n = 0; n < of.net.tensor_count; n++) {
        const network_tensor *t = &of.net.tensors[n];
        const safetensors_tensor *want = named(&g.file, "after.", t->name);
        for (i = 0; want && i < t->rows * t->cols; i++) {
            double after = of.net.weights[t->at + i], error = after - safetensors_get(want, i);
            sum += error * error;
            moved += (after - g.net.weights[t->at + i]) * (after - g.net.weights[t->at + i]);
        }
    }
    test_case("AdamW");
    CHECK_NEAR(sqrt(sum / moved), 0, 1e-3);
    learner_free(&of);
    end(&g);
}

enum { STEPS = 60, BATCH = 24, LONGEST = 6 };

typedef struct lesson {
    network_pair pairs[BATCH];
    int32_t ids[BATCH][2][LONGEST + 1];
} lesson;

/* Texts of chance; the translation of one is other letters in the other order. */
static void make_lesson(lesson *of)
{
    size_t n, i;
    for (n = 0; n < BATCH; n++) {
        size_t len = 1 + test_below(LONGEST);
        for (i = 0; i < len; i++) {
            of->ids[n][0][i] = (int32_t)(2 + test_below(9));
            of->ids[n][1][len - 1 - i] = of->ids[n][0][i] + 9;
        }
        of->ids[n][0][len] = of->ids[n][1][len] = 1;
        of->pairs[n].source = of->ids[n][0];
        of->pairs[n].target = of->ids[n][1];
        of->pairs[n].source_len = of->pairs[n].target_len = len + 1;
    }
}

/* What some steps make of the weights, in a block; losses: of the second step and the last. */
static float *learn_lesson(const lesson *taught, size_t threads, double *losses)
{
    t5_config config = small_config();
    attn_parallel pool = {NULL, NULL, 0};
    learner of;
    float *weights = NULL;
    size_t i;
    if (threads > 1)
        CHECK_STATUS(attn_pool_new(&pool, threads), ATTN_OK);
    if (CHECK(!learner_init(&of, &config, 5, pool))) {
        of.net.dropout = 0.01;
        for (i = 0; i < STEPS; i++) {
            CHECK(!learner_step(&of, taught->pairs, i > 0 ? BATCH : 3, 2e-2)); /* fewer pairs than parts, too */
            losses[i > 1] = of.loss;
        }
        weights = (float *)test_block(of.net.size * sizeof *weights);
        memcpy(weights, of.net.weights, of.net.size * sizeof *weights);
        losses[2] = (double)of.net.size;
        learner_free(&of);
    }
    attn_pool_free(&pool);
    return weights;
}

TEST(train_makes_the_loss_fall)
{
    lesson taught;
    double losses[3] = {0, 0, 0}, again[3];
    float *one, *other;
    make_lesson(&taught);
    one = learn_lesson(&taught, 1, losses);
    test_case("loss %g, then %g", losses[0], losses[1]);
    CHECK(losses[0] > 2 && losses[1] < losses[0] / 2);
    other = learn_lesson(&taught, 3, again);
    CHECK(one && other && !memcmp(one, other, (size_t)losses[2] * sizeof *one) && losses[1] == again[1]);
}

TEST(train_refuses_other_networks)
{
    t5_config config = small_config();
    network net;
    config.gated = 1;
    CHECK(network_init(&net, &config, 1) != NULL);
    config.gated = 0;
    config.gelu = 1;
    CHECK(network_init(&net, &config, 1) != NULL);
    config.gelu = 0;
    config.tied = 0;
    CHECK(network_init(&net, &config, 1) != NULL);
}
