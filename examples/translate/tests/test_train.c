/* Training: the gradient of every weight against PyTorch's (golden/make_train.py) and against differences of the loss,
   with dropout too; what is saved is what was learnt; a few steps make the loss fall, and threads change no bit. */
#include "test.h" /* first: it has ATTN_THREADS */

#include "examples/translate/train/learn.h"

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
    return CHECK(safetensors_open(file, "examples/translate/tests/golden/train.safetensors") == NULL);
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

static void load_pairs(network_pair *pairs, const safetensors *file)
{
    size_t n;
    for (n = 0; n < PAIRS; n++) {
        char name[8];
        const safetensors_tensor *source, *target;
        snprintf(name, sizeof name, "%lu", (unsigned long)n);
        source = named(file, "source.", name);
        target = named(file, "target.", name);
        if (!source || !target)
            continue;
        pairs[n].source = (const int32_t *)source->data;
        pairs[n].target = (const int32_t *)target->data;
        pairs[n].source_len = source->count;
        pairs[n].target_len = target->count;
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
        if (getenv("SHOW")) printf("%s %g\n", t->name, error / largest);
    }
    end(&g);
}
