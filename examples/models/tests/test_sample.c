/* Sampling: the probabilities of transformers' logits processors, what must hold of any draw, and what goes wrong:
   options, logits, ids, memory. */
#include "examples/models/sample.h"

#include "test.h"

enum { MOST_VOCAB = 60000, MOST_HISTORY = 50, PROBES = 6 };

typedef struct sample_golden {
    uint32_t seed;
    size_t vocab;
    int steps, width; /* logits are multiples of width / steps in -width .. width */
    size_t history;   /* tokens that were there */
    sample_opts opts;
    size_t kept;
    uint64_t sum; /* of the ids kept */
    struct {
        int32_t id;
        double p;
    } probes[PROBES];
} sample_golden;

#include "golden/sample.h"

/* golden/make_sample.py has the same. */
static uint32_t hashed(uint32_t seed, size_t i, unsigned stream)
{
    uint64_t z = (((uint64_t)seed * 4 + stream) << 32) + i;
    z *= 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 40);
}

static void name(const sample_golden *g)
{
    test_case("seed %lu, vocabulary %lu, history %lu, temperature %g, top_k %lu, top_p %g, penalty %g",
              (unsigned long)g->seed, (unsigned long)g->vocab, (unsigned long)g->history, g->opts.temperature,
              (unsigned long)g->opts.top_k, g->opts.top_p, g->opts.repetition_penalty);
}

TEST(sample_transformers)
{
    static float logits[MOST_VOCAB];
    for (size_t c = 0; c < sizeof sample_goldens / sizeof *sample_goldens; c++) {
        const sample_golden *g = &sample_goldens[c];
        int32_t history[MOST_HISTORY];
        sampler s;
        size_t kept = 0;
        uint64_t sum = 0, total = 0;
        name(g);
        if (g->vocab > MOST_VOCAB || g->history > MOST_HISTORY)
            abort();
        for (size_t i = 0; i < g->vocab; i++)
            logits[i] = (float)(((double)(hashed(g->seed, i, 0) % (2 * (uint32_t)g->steps + 1)) - g->steps) * g->width /
                                g->steps);
        for (size_t i = 0; i < g->history; i++)
            history[i] = (int32_t)(hashed(g->seed, i, 1) % g->vocab);
        if (!CHECK(sample_begin(&s, &g->opts, g->vocab) == NULL))
            return;
        CHECK(sample_saw(&s, history, g->history) == NULL && sample_distribute(&s, logits) == NULL);
        for (size_t i = 0; i < g->vocab; i++) {
            kept += s.weights[i] > 0;
            sum += s.weights[i] > 0 ? i : 0;
            total += s.weights[i];
        }
        /* A token less likely than 2^-40 of the likeliest has no weight here and stays there. */
        CHECK(total == s.total && (kept == g->kept || (g->kept == g->vocab && kept < g->kept)));
        CHECK(sum == g->sum || kept < g->kept);
        for (size_t i = 0; i < PROBES && g->probes[i].p > 0; i++)
            CHECK_NEAR((real)s.weights[g->probes[i].id] / (real)s.total, g->probes[i].p,
                       g->probes[i].p * 2e-5 + 1e-11); /* there in f32: a logit up to 300 has an ulp of 3e-5 */
        sample_end(&s);
    }
}

/* ---- draws ---- */

TEST(sample_frequencies)
{
    enum { DRAWS = 20000, VOCAB = 5 };
    static const float logits[VOCAB] = {0, 1, -1, 2, -9};
    sample_opts opts = sample_defaults();
    sampler s;
    size_t counts[VOCAB] = {0};
    opts.temperature = 1.5;
    opts.seed = 7;
    if (!CHECK(sample_begin(&s, &opts, VOCAB) == NULL))
        return;
    for (size_t i = 0; i < DRAWS; i++) {
        int32_t id = -1;
        if (!CHECK(sample_next(&s, logits, &id) == NULL) || !CHECK(id >= 0 && id < VOCAB))
            break;
        counts[id]++;
    }
    for (size_t i = 0; i < VOCAB; i++) { /* within 5 standard deviations */
        real p = (real)s.weights[i] / (real)s.total;
        test_case("token %lu, p %g", (unsigned long)i, (double)p);
        CHECK_NEAR((real)counts[i], p * (real)DRAWS, 5 * sqrtl((real)DRAWS * p * (1 - p)));
    }
    CHECK(s.draws == DRAWS);
    sample_end(&s);
}

static void draw(uint64_t seed, int32_t *ids, size_t count)
{
    sample_opts opts = sample_defaults();
    sampler s;
    float logits[100];
    opts.temperature = 1;
    opts.seed = seed;
    for (size_t i = 0; i < 100; i++)
        logits[i] = (float)(hashed(3, i, 0) % 64) / 32;
    if (CHECK(sample_begin(&s, &opts, 100) == NULL))
        for (size_t i = 0; i < count; i++)
            CHECK(sample_next(&s, logits, &ids[i]) == NULL);
    sample_end(&s);
}

TEST(sample_seeds) /* the same seed gives the same draws, here and everywhere; another others */
{
    static const int32_t want[8] = {36, 95, 3, 82, 20, 82, 66, 23};
    int32_t a[64], b[64], c[64];
    size_t same = 0;
    draw(1, a, 64);
    draw(1, b, 64);
    draw(2, c, 64);
    CHECK(memcmp(a, b, sizeof a) == 0);
    for (size_t i = 0; i < 64; i++)
        same += a[i] == c[i];
    CHECK(same < 10);
    for (size_t i = 0; i < 8; i++)
        CHECK(a[i] == want[i]);
    CHECK(sample_random(0, 0) != sample_random(0, 1) && sample_random(0, 1) != sample_random(1, 0));
}

TEST(sample_greedy)
{
    static const float logits[6] = {-3, 2, -0.0f, 2, 1, -HUGE_VALF}, zeros[2] = {-0.0f, 0};
    sample_opts opts = sample_defaults();
    sampler s;
    int32_t id = -1, there[2] = {1, 3};
    CHECK(sample_begin(&s, &opts, 6) == NULL);
    CHECK(sample_next(&s, logits, &id) == NULL && id == 1); /* the first of two */
    CHECK(s.weights[1] == s.total && s.weights[3] == 0);
    sample_end(&s);
    opts.repetition_penalty = 2.5;
    CHECK(sample_begin(&s, &opts, 6) == NULL && sample_saw(&s, there, 2) == NULL);
    CHECK(sample_next(&s, logits, &id) == NULL && id == 4);
    CHECK(sample_next(&s, logits, &id) == NULL && id == 1); /* 0.8; 4 has been struck, too */
    sample_forget(&s);
    CHECK(sample_next(&s, logits, &id) == NULL && id == 1 && sample_next(&s, logits, &id) == NULL && id == 3);
    sample_end(&s);
    CHECK(sample_begin(&s, &opts, 2) == NULL && sample_next(&s, zeros, &id) == NULL && id == 0);
    sample_end(&s);
}

/* top_p among equals keeps the first; top_k keeps what equals the last. */
TEST(sample_ties)
{
    float logits[8] = {1, 1, 1, 1, 0, 1, 1, 1};
    sample_opts opts = sample_defaults();
    sampler s;
    opts.temperature = 0.5;
    opts.top_k = 2;
    CHECK(sample_begin(&s, &opts, 8) == NULL && sample_distribute(&s, logits) == NULL);
    for (size_t i = 0; i < 8; i++)
        CHECK((s.weights[i] > 0) == (i != 4));
    s.opts.top_p = 0.25; /* of 7: two */
    CHECK(sample_distribute(&s, logits) == NULL && s.weights[0] && s.weights[1] && !s.weights[2] && !s.weights[7]);
    CHECK(s.total == s.weights[0] + s.weights[1]);
    s.opts.top_p = 0;
    CHECK(sample_distribute(&s, logits) == NULL && s.total == s.weights[0] && s.total > 0 && !s.weights[1]);
    sample_end(&s);
}

/* Weights are exp of the logits' distance from the greatest, in parts of 2^-40, rounded down, off by one at most. */
TEST(sample_weights)
{
    enum { VOCAB = 3000 };
    const real one = ldexpl(1, 40);
    static float logits[VOCAB];
    sample_opts opts = sample_defaults();
    sampler s;
    opts.temperature = 1;
    for (size_t i = 0; i < VOCAB; i++)
        logits[i] = -(float)i / 100;
    CHECK(sample_begin(&s, &opts, VOCAB) == NULL && sample_distribute(&s, logits) == NULL);
    for (size_t i = 0; i < VOCAB; i++) {
        test_case("logit %g", (double)logits[i]);
        CHECK_NEAR((real)s.weights[i], floorl(one * expl((real)logits[i])), 1);
    }
    CHECK(s.weights[0] == (uint64_t)1 << 40 && s.weights[VOCAB - 1] == 0);
    sample_end(&s);
}

/* What find_key is to find, by sorting. */
static int falling(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

TEST(sample_selection)
{
    enum { VOCAB = 700 };
    float logits[VOCAB], sorted[VOCAB];
    for (size_t round = 0; round < (test_quick ? 20u : 200u); round++) {
        sample_opts opts = sample_defaults();
        sampler s;
        size_t above = 0, kept = 0;
        for (size_t i = 0; i < VOCAB; i++)
            logits[i] = (float)ldexp(test_uniform(), (int)test_below(round % 2 ? 40 : 4) - (round % 2 ? 36 : 0));
        memcpy(sorted, logits, sizeof sorted);
        qsort(sorted, VOCAB, sizeof *sorted, falling);
        opts.temperature = 1;
        opts.top_k = 1 + test_below(VOCAB);
        test_case("round %lu, top_k %lu", (unsigned long)round, (unsigned long)opts.top_k);
        CHECK(sample_begin(&s, &opts, VOCAB) == NULL && sample_distribute(&s, logits) == NULL);
        for (size_t i = 0; i < VOCAB; i++) {
            above += logits[i] >= sorted[opts.top_k - 1];
            kept += s.weights[i] > 0;
            CHECK((s.weights[i] > 0) == (logits[i] >= sorted[opts.top_k - 1]));
        }
        CHECK(above == kept);
        sample_end(&s);
    }
}

/* ---- what goes wrong ---- */

static int refused(double temperature, double top_p, double penalty, size_t vocab, const char *says)
{
    sample_opts opts = sample_defaults();
    sampler s;
    const char *error;
    int held;
    opts.temperature = temperature;
    opts.top_p = top_p;
    opts.repetition_penalty = penalty;
    error = sample_begin(&s, &opts, vocab);
    held = CHECK(error && strstr(error, says));
    sample_end(&s);
    return held;
}

TEST(sample_errors)
{
    float logits[4] = {0, 1, 2, 3};
    int32_t id = 77, ids[2] = {3, 4};
    sample_opts opts = sample_defaults();
    sampler s;
    refused(-1, 1, 1, 4, "temperature");
    refused(NAN, 1, 1, 4, "temperature");
    refused(1e-9, 1, 1, 4, "temperature");
    refused(1, 1.5, 1, 4, "top_p");
    refused(1, -0.5, 1, 4, "top_p");
    refused(1, 1, 0, 4, "penalty");
    refused(1, 1, -1, 4, "penalty");
    refused(1, 1, 1, 0, "vocabulary");
    refused(1, 1, 1, (size_t)SAMPLE_VOCAB + 1, "vocabulary");
    CHECK(sample_begin(&s, &opts, 4) == NULL);
    CHECK(strstr(sample_saw(&s, ids, 2), "token 4 is not in the vocabulary"));
    ids[0] = -1;
    CHECK(strstr(sample_saw(&s, ids, 1), "token -1"));
    logits[2] = NAN;
    CHECK(strcmp(sample_next(&s, logits, &id), "the logit of token 2 is NaN") == 0 && id == 77 && s.draws == 0);
    logits[2] = HUGE_VALF;
    CHECK(strcmp(sample_next(&s, logits, &id), "the logit of token 2 is infinite") == 0);
    for (size_t i = 0; i < 4; i++)
        logits[i] = -HUGE_VALF;
    CHECK(strcmp(sample_next(&s, logits, &id), "every logit is -infinity") == 0 && id == 77);
    logits[1] = 1;
    CHECK(sample_next(&s, logits, &id) == NULL && id == 1);
    sample_end(&s);
}

TEST(sample_memory)
{
    sample_opts opts = sample_defaults();
    long live = test_memory_state.live;
    for (int fail = 1; fail <= 4; fail++) {
        sampler s;
        const char *error;
        test_memory_state.calls = 0;
        test_memory_state.fail_at = fail;
        error = sample_begin(&s, &opts, 100);
        test_memory_state.fail_at = 0;
        CHECK(fail < 4 ? error && strcmp(error, "no memory") == 0 : !error);
        sample_end(&s);
        CHECK(test_memory_state.live == live);
    }
}
