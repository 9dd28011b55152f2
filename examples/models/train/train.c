/* Trains a T5 to translate: pairs of lines in, a model directory out, on attn.h.

       train [OPTION...] DIRECTORY < pairs

   The input is lines of a text, a tab, and its translation. DIRECTORY holds the vocabulary, spiece.model;
   config.json and model.safetensors are written beside it. `make train` gives it what grammar.c says. */
#define _DEFAULT_SOURCE 1 /* clock_gettime with -std=c99 */
#define ATTN_THREADS
#include "../program.h"
#include "learn.h"

#include <math.h>

static const char prefix[] = "translate English to French: ";
enum { SEED = 2017, BATCH = 64, WARMUP = 300, REPORT = 200, LINE = 1 << 16 };
static const double RATE = 2e-3; /* of learning: up to it in WARMUP steps, then a cosine down to 0 */

typedef struct options {
    const char *directory;
    size_t steps, threads;
    double dropout;
} options;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "train: %s%s%s\n", what, why ? ": " : "", why ? why : "");
    return 0;
}

/* ==== The corpus ================================================================================================= */

typedef struct corpus {
    network_pair *pairs;
    size_t count, room;
} corpus;

/* The tokens of a text, and the end; NULL and a message where there is no memory. */
static int32_t *encode(const sentencepiece *vocabulary, const char *text, size_t *count)
{
    sentencepiece_tokens tokens;
    int32_t *ids = NULL;
    if (!sentencepiece_encode(vocabulary, text, strlen(text), &tokens)) {
        ids = (int32_t *)malloc((tokens.count + 1) * sizeof *ids);
        if (ids) {
            memcpy(ids, tokens.ids, tokens.count * sizeof *ids);
            ids[tokens.count] = vocabulary->eos_id;
            *count = tokens.count + 1;
        }
        sentencepiece_tokens_free(&tokens);
    }
    if (!ids)
        fail("no memory", NULL);
    return ids;
}

/* A line becomes a pair; source: the prefix, with room for the text behind it. */
static int add_pair(corpus *of, const sentencepiece *vocabulary, char *source, const char *line)
{
    const char *tab = strchr(line, '\t');
    network_pair *pair;
    if (!tab)
        return fail("a line of the input has no tab", line);
    if (of->count == of->room) {
        size_t room = of->room ? 2 * of->room : 1024;
        void *more = realloc(of->pairs, room * sizeof *of->pairs);
        if (!more)
            return fail("no memory", NULL);
        of->pairs = (network_pair *)more;
        of->room = room;
    }
    memcpy(source + sizeof prefix - 1, line, (size_t)(tab - line));
    source[sizeof prefix - 1 + (size_t)(tab - line)] = 0;
    pair = &of->pairs[of->count++];
    pair->source = encode(vocabulary, source, &pair->source_len);
    pair->target = encode(vocabulary, tab + 1, &pair->target_len);
    return pair->source && pair->target;
}

static int read_corpus(corpus *of, const sentencepiece *vocabulary)
{
    program_progress reading = program_progress_of("reading");
    static char line[LINE], source[sizeof prefix + LINE];
    memcpy(source, prefix, sizeof prefix);
    while (fgets(line, sizeof line, stdin)) {
        size_t size = strcspn(line, "\n");
        if (line[size] != '\n')
            return fail("a line of the input is too long, or has no end", NULL);
        line[size] = 0;
        if (!add_pair(of, vocabulary, source, line))
            return 0;
        program_show_count(&reading, of->count, "sentences");
    }
    program_end_progress(&reading);
    return of->count > 0 ? 1 : fail("no input", NULL);
}

static void free_corpus(corpus *of)
{
    for (size_t i = 0; i < of->count; i++) {
        free((void *)of->pairs[i].source);
        free((void *)of->pairs[i].target);
    }
    free(of->pairs);
}

/* ==== Batches ==================================================================================================== */

/* The corpus in the order in which an epoch reads it: batches of texts of like length, in an order of chance. */
typedef struct place {
    double key;
    const network_pair *pair;
} place;

static int compare(const void *a, const void *b)
{
    const place *x = (const place *)a, *y = (const place *)b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->pair > y->pair) - (x->pair < y->pair);
}

static double chance(uint64_t seed, size_t i)
{
    return (double)(network_random(seed, i) >> 11) / 9007199254740992.0;
}

static void sort_epoch(place *order, const corpus *of, uint64_t seed)
{
    for (size_t i = 0; i < of->count; i++) {
        const network_pair *pair = &of->pairs[i];
        order[i].pair = pair;
        order[i].key = (double)(pair->source_len + pair->target_len) + 4 * chance(seed, i);
    }
    qsort(order, of->count, sizeof *order, compare);
}

/* Which batch comes when: Fisher, Yates 1938. */
static void shuffle(size_t *batches, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)(network_random(seed, i) % (i + 1));
        batches[i] = batches[j];
        batches[j] = i;
    }
}

/* ==== Training =================================================================================================== */

static double rate(size_t step, size_t steps)
{
    if (step < WARMUP)
        return RATE * (double)(step + 1) / WARMUP;
    return RATE * (0.5 + 0.5 * cos(3.141592653589793 * (double)(step - WARMUP) / (double)(steps - WARMUP)));
}

static int train(learner *of, const corpus *texts, place *order, size_t *batches, size_t steps)
{
    size_t count = (texts->count + BATCH - 1) / BATCH;
    double begin = program_now(), total = 0;
    program_progress training = program_progress_of("training");
    for (size_t step = 0; step < steps; step++) {
        network_pair pairs[BATCH];
        size_t first, size = 0;
        const char *error;
        if (step % count == 0) {
            sort_epoch(order, texts, network_random(SEED, 2 * (step / count)));
            shuffle(batches, count, network_random(SEED, 2 * (step / count) + 1));
        }
        first = BATCH * batches[step % count];
        while (size < BATCH && first + size < texts->count) {
            pairs[size] = *order[first + size].pair;
            size++;
        }
        if ((error = learner_step(of, pairs, size, rate(step, steps))))
            return fail("a step", error);
        total += of->loss;
        program_show_count(&training, step + 1, "steps");
        if ((step + 1) % REPORT == 0 || step + 1 == steps) {
            size_t since = step % REPORT + 1;
            program_end_progress(&training);
            printf("step %lu of %lu: loss %.4f, %.1f ms a step, %.0f s\n", (unsigned long)step + 1,
                   (unsigned long)steps, total / (double)since, 1e3 * (program_now() - begin) / (double)(step + 1),
                   program_now() - begin);
            fflush(stdout);
            total = 0;
        }
    }
    return 1;
}

/* The model that comes along: 0.7 million weights. */
static t5_config sizes(const sentencepiece *vocabulary)
{
    t5_config c;
    memset(&c, 0, sizeof c);
    c.vocab_size = (size_t)vocabulary->count;
    c.d_model = 96;
    c.num_heads = 4;
    c.d_kv = 24;
    c.inner = c.num_heads * c.d_kv;
    c.d_ff = 224;
    c.num_layers = c.num_decoder_layers = 3;
    c.buckets = 32;
    c.max_distance = 128;
    c.epsilon = 1e-6;
    c.tied = 1;
    c.pad_id = c.start_id = vocabulary->pad_id;
    c.eos_id = vocabulary->eos_id;
    return c;
}

static int train_model(const options *opts, const sentencepiece *vocabulary, const corpus *texts, attn_parallel pool)
{
    t5_config config = sizes(vocabulary);
    place *order = (place *)malloc(texts->count * sizeof *order);
    size_t *batches = (size_t *)malloc((texts->count / BATCH + 1) * sizeof *batches);
    learner of;
    const char *error = order && batches ? learner_init(&of, &config, SEED, pool) : "no memory";
    int good = !error || fail("the model", error);
    if (good) {
        of.net.dropout = opts->dropout;
        printf("%lu sentences, %lu weights\n", (unsigned long)texts->count, (unsigned long)of.net.size);
        good = train(&of, texts, order, batches, opts->steps);
        if (good && (error = network_save(&of.net, opts->directory)))
            good = fail(opts->directory, error);
        learner_free(&of);
    }
    free(order);
    free(batches);
    return good;
}

static int run(const options *opts)
{
    char path[4096];
    sentencepiece vocabulary;
    corpus texts = {NULL, 0, 0};
    attn_parallel pool = {NULL, NULL, 0};
    const char *error;
    int good;
    snprintf(path, sizeof path, "%s/spiece.model", opts->directory);
    if ((error = sentencepiece_open(&vocabulary, path)))
        return fail(error, NULL);
    good = read_corpus(&texts, &vocabulary);
    if (good && attn_pool_new(&pool, opts->threads) != ATTN_OK)
        good = fail("no threads", NULL);
    good = good && train_model(opts, &vocabulary, &texts, pool);
    attn_pool_free(&pool);
    free_corpus(&texts);
    sentencepiece_close(&vocabulary);
    return good;
}

static const char help[] = "usage: train [OPTION...] DIRECTORY < pairs\n"
                           "Learns from lines of English, a tab, French; DIRECTORY holds spiece.model, and\n"
                           "receives the model.\n"
                           "  --steps N      6000\n"
                           "  --dropout P    0 to 0.9 (0)\n"
                           "  --threads N    up to 1024; 0: one for each processor (0)\n"
                           "  --help         this text";

int main(int argc, char **argv)
{
    options opts = {NULL, 6000, 0, 0};
    int asks = 0, operands, status;
    const program_option table[] = {{"--steps", PROGRAM_SIZE, &opts.steps, 1, 1000000000},
                                    {"--dropout", PROGRAM_REAL, &opts.dropout, 0, 0},
                                    {"--threads", PROGRAM_SIZE, &opts.threads, 0, 1024},
                                    {"--help", PROGRAM_HELP, &asks, 0, 0}};
    program_begin("train");
    if ((status = program_options(table, sizeof table / sizeof *table, argc, argv, &operands)) != 0)
        return status;
    if (asks)
        return program_help(help);
    if (operands != 1)
        return program_wrong(operands ? "one directory, not more" : "the directory of a vocabulary is missing", NULL,
                             NULL);
    if (opts.dropout < 0 || opts.dropout > 0.9)
        return program_wrong("--dropout must be from 0 to 0.9", NULL, NULL);
    opts.directory = argv[0];
    return run(&opts) ? 0 : 1;
}
