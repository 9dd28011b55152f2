/* Greedy and beam search: the results of generate() of transformers with models whose logits are a hash, what must hold
   of any search, and what goes wrong: options, logits, memory. */
#include "examples/models/beam.h"

#include "test.h"

enum { MOST_BEAMS = 20, MOST_VOCAB = 40, MOST_STEPS = 300, NONE = 63 };

/* ---- the model of golden/make_beam.py ---- */

enum { TWO_TOKENS = 1, STEP = 2 }; /* kinds: what logits depend on, besides the last token */

typedef struct beam_golden {
    uint32_t seed;
    size_t vocab;
    unsigned kind;
    int width, lift; /* logits are in -width .. width, those of eos_id lift / 4 higher */
    beam_opts opts;
    size_t finished, stored;
} beam_golden;

typedef struct beam_golden_found {
    double score;
    const char *ids; /* a digit or letter for each */
} beam_golden_found;

#include "golden/beam.h"

static float logit(const beam_golden *g, size_t length, int32_t before, int32_t last, size_t token)
{
    uint64_t z = (uint64_t)g->seed * 1024 + (g->kind & STEP ? length : 0);
    z = (z * 64 + (uint64_t)(g->kind & TWO_TOKENS ? before : NONE)) * 64 + (uint64_t)last;
    z = (z * 64 + token) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z = ((z ^ (z >> 31)) >> 40) % 8193;
    return (float)(((double)z - 4096) * g->width / 4096 + ((int32_t)token == g->opts.eos_id ? g->lift / 4.0 : 0));
}

/* ---- a search, and where each of its hypotheses came from, as tokens and from tell ---- */

typedef struct walk {
    const beam_golden *g;
    beam_search search;
    size_t length; /* tokens of each hypothesis, the start token counted */
    int32_t tokens[MOST_STEPS][MOST_BEAMS];
    size_t from[MOST_STEPS][MOST_BEAMS];
    float logits[MOST_BEAMS * MOST_VOCAB], log_sums[MOST_BEAMS];
} walk;

/* A hypothesis' token: its last one is `back` 0, the one before it 1. */
static int32_t token_of(const walk *w, size_t length, size_t b, size_t back)
{
    if (back >= length)
        return NONE;
    for (length--; back > 0; back--)
        b = w->from[length--][b];
    return w->tokens[length][b];
}

static float log_sum(const float *row, size_t count)
{
    double most = row[0], sum = 0;
    for (size_t i = 1; i < count; i++)
        most = row[i] > most ? row[i] : most;
    for (size_t i = 0; i < count; i++)
        sum += exp(row[i] - most);
    return (float)(most + log(sum));
}

static void look(walk *w) /* notes the running hypotheses, computes their logits */
{
    size_t vocab = w->g->vocab, beams = w->g->opts.beams;
    int moved = 0;
    for (size_t b = 0; b < beams; b++) {
        w->tokens[w->length][b] = w->search.tokens[b];
        w->from[w->length][b] = w->search.from[b];
        moved |= w->search.from[b] != b;
        CHECK(w->search.from[b] < beams && w->search.tokens[b] >= 0 && (size_t)w->search.tokens[b] < vocab);
    }
    CHECK(w->search.moved == moved);
    w->length++;
    for (size_t b = 0; b < beams; b++) {
        int32_t last = token_of(w, w->length, b, 0), before = token_of(w, w->length, b, 1);
        for (size_t t = 0; t < vocab; t++)
            w->logits[b * vocab + t] = logit(w->g, w->length, before, last, t);
        w->log_sums[b] = log_sum(w->logits + b * vocab, vocab);
    }
}

static int begin(walk *w, const beam_golden *g)
{
    if (g->opts.beams > MOST_BEAMS || g->vocab > MOST_VOCAB || g->opts.max_length > MOST_STEPS)
        abort();
    w->g = g;
    w->length = 0;
    return CHECK(beam_begin(&w->search, &g->opts, g->vocab) == NULL);
}

static const char *step(walk *w)
{
    return beam_step(&w->search, w->logits, w->log_sums);
}

static int go_to_end(walk *w)
{
    for (size_t steps = 1; !w->search.done; steps++) {
        look(w);
        if (!CHECK(step(w) == NULL) || !CHECK(steps < w->g->opts.max_length))
            return 0;
    }
    return 1;
}

static int search_of(walk *w, const beam_golden *g)
{
    return begin(w, g) && go_to_end(w);
}

static void name(const beam_golden *g, const char *what)
{
    const beam_opts *o = &g->opts;
    test_case("%sseed %lu, vocabulary %lu, kind %u, width %d, lift %d, beams %lu, length %lu, penalty %g, early %d, "
              "n-gram %lu, start %ld, end %ld, at least %lu",
              what, (unsigned long)g->seed, (unsigned long)g->vocab, g->kind, g->width, g->lift,
              (unsigned long)o->beams, (unsigned long)o->max_length, o->length_penalty, o->early_stopping,
              (unsigned long)o->no_repeat_ngram, (long)o->start_id, (long)o->eos_id,
              (unsigned long)o->min_length);
}

/* ---- transformers ---- */

/* Each token's log-probability is off by some ulps of its logit, which is below 32, and of the sum. */
static real tolerance(const beam_golden *g, const beam_hypothesis *h)
{
    real count = (real)h->count, scale = powl(count, (real)g->opts.length_penalty);
    return count * (fabsl((real)h->score) / (1 << 21) + 1 / scale / (1 << 18));
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : c >= 'a' ? c - 'a' + 10 : c - 'A' + 36;
}

static void same_as_found(const beam_golden *g, const beam_hypothesis *h, const beam_golden_found *found)
{
    size_t same = 0;
    while (same < h->count && found->ids[same] && h->ids[same] == digit(found->ids[same]))
        same++;
    CHECK(same == h->count && !found->ids[same]);
    CHECK_NEAR(h->score, found->score, tolerance(g, h));
}

TEST(beam_transformers)
{
    static walk w;
    const beam_golden_found *found = beam_goldens_found;
    for (size_t i = 0; i < sizeof beam_goldens / sizeof *beam_goldens; i++) {
        const beam_golden *g = &beam_goldens[i];
        name(g, "");
        if (search_of(&w, g))
            for (size_t j = 0; j < g->opts.beams; j++) {
                CHECK(w.search.best[j].finished == (j < g->finished));
                if (j < g->stored && j < g->finished)
                    same_as_found(g, &w.search.best[j], &found[j]);
            }
        beam_end(&w.search);
        found += g->stored;
    }
    CHECK(found == beam_goldens_found + sizeof beam_goldens_found / sizeof *beam_goldens_found);
}

/* All logits the same: the first hypothesis' first tokens win, and what was there before. Scores are exact: -log(8), or
   whole multiples of it over lengths that are powers of 2. */
TEST(beam_ties)
{
    static const struct {
        beam_opts opts;
        const char *ids[4];
        size_t steps;
    } cases[] = {
        {{1, 2, 1, 1, 0, 5, 7, 0}, {"0"}, 1},
        {{1, 5, 1, 1, 0, 5, 7, 0}, {"0000"}, 4},
        {{1, 5, 1, 0, 0, 5, 0, 0}, {"0"}, 1},
        {{4, 2, 1, 1, 0, 5, 7, 0}, {"0", "1", "2", "3"}, 1},
        {{4, 3, 1, 1, 0, 5, 7, 0}, {"00", "01", "02", "03"}, 2},
        {{2, 3, 1, 1, 0, 5, 0, 0}, {"0", "10"}, 2},                      /* not 11: 10 has no less */
        {{2, 9, 1, 0, 0, 5, 0, 0}, {"0", "10"}, 2},                      /* the others have no more, so no chance */
        {{4, 5, 1, 1, 2, 0, 7, 0}, {"0102", "0103", "0104", "0105"}, 4}, /* after 0, so neither 00 nor 01 again */
    };
    static walk w;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        beam_golden g = {0, 8, 0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}, 0, 0};
        g.opts = cases[i].opts;
        name(&g, "");
        if (search_of(&w, &g)) {
            CHECK(w.length == cases[i].steps);
            for (size_t b = 0; b < g.opts.beams; b++) {
                beam_golden_found found = {-log(8), NULL};
                found.ids = cases[i].ids[b];
                if (CHECK(w.search.best[b].finished))
                    same_as_found(&g, &w.search.best[b], &found);
            }
        }
        beam_end(&w.search);
    }
}

TEST(beam_ties_of_last) /* two end, so the last candidate goes on: the first of three that are the same */
{
    static const float first[] = {-9, -1, -2, -9, -9, 0, 0, 0, 0, 0};
    static const float second[] = {-0.125f, -0.5f, -30, -30, -30, -0.125f, -3, -3, -3, -30}, sums[] = {0, 0};
    beam_search search;
    beam_opts opts = {2, 9, 1, 0, 0, 3, 0, 0};
    if (!CHECK(beam_begin(&search, &opts, 5) == NULL))
        return;
    CHECK(beam_step(&search, first, sums) == NULL && search.tokens[0] == 1 && search.tokens[1] == 2);
    CHECK(beam_step(&search, second, sums) == NULL && search.from[0] == 0 && search.from[1] == 1);
    CHECK(search.tokens[0] == 1 && search.tokens[1] == 1 && !search.done);
    beam_end(&search);
}

/* ---- what must hold of any search ---- */

static int repeats(const beam_golden *g, const beam_hypothesis *h) /* whether it has an n-gram twice */
{
    int32_t row[MOST_STEPS];
    size_t n = g->opts.no_repeat_ngram, length = h->count + 1;
    row[0] = g->opts.start_id;
    memcpy(row + 1, h->ids, h->count * sizeof *row);
    for (size_t i = 0; n > 0 && i + n <= length; i++)
        for (size_t j = i + 1; j + n <= length; j++)
            if (memcmp(row + i, row + j, n * sizeof *row) == 0)
                return 1;
    return 0;
}

/* Whether it is a running hypothesis, as tokens and from have told, and one more token. */
static int has_run(const walk *w, const beam_hypothesis *h)
{
    for (size_t b = 0; b < w->g->opts.beams; b++) {
        size_t back = 0;
        while (back + 1 < h->count && h->ids[h->count - 2 - back] == token_of(w, h->count, b, back))
            back++;
        if (back + 1 == h->count)
            return 1;
    }
    return 0;
}

static real score_of(const beam_golden *g, const beam_hypothesis *h)
{
    int32_t before = NONE, last = g->opts.start_id;
    real sum = 0;
    for (size_t i = 0; i < h->count; i++) {
        real all = 0;
        for (size_t t = 0; t < g->vocab; t++)
            all += expl((real)logit(g, i + 1, before, last, t));
        sum += (real)logit(g, i + 1, before, last, (size_t)h->ids[i]) - logl(all);
        before = last;
        last = h->ids[i];
    }
    return sum / powl((real)h->count, (real)g->opts.length_penalty);
}

static void check_hypothesis(const walk *w, const beam_hypothesis *h)
{
    const beam_golden *g = w->g;
    size_t ends = 0;
    if (!CHECK(h->count > 0 && h->count < g->opts.max_length))
        return;
    for (size_t i = 0; i < h->count; i++)
        if (!CHECK(h->ids[i] >= 0 && (size_t)h->ids[i] < g->vocab))
            return;
        else
            ends += h->ids[i] == g->opts.eos_id;
    CHECK(ends == 1 ? h->ids[h->count - 1] == g->opts.eos_id : ends == 0 && h->count == g->opts.max_length - 1);
    CHECK(has_run(w, h));
    CHECK(!repeats(g, h));
    CHECK_NEAR(h->score, score_of(g, h), tolerance(g, h));
}

static void check_results(const walk *w)
{
    const beam_hypothesis *best = w->search.best;
    CHECK(best[0].finished);
    for (size_t i = 0; i < w->g->opts.beams && best[i].finished; i++) {
        check_hypothesis(w, &best[i]);
        CHECK(i == 0 || best[i].score <= best[i - 1].score);
        for (size_t j = 0; j < i; j++)
            CHECK(best[i].count != best[j].count || memcmp(best[i].ids, best[j].ids, best[i].count * sizeof(int32_t)));
    }
}

/* A model and options; a vocabulary so large that no rule takes every token away. */
static beam_golden any_case(size_t max_length)
{
    static const double penalties[] = {-1, 0, 0.4, 1, 2};
    beam_golden g = {0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}, 0, 0};
    g.seed = (uint32_t)test_below(1 << 20);
    g.opts.beams = 1 + test_below(8);
    g.vocab = 2 * g.opts.beams + 1 + test_below(MOST_VOCAB - 2 * g.opts.beams);
    g.opts.no_repeat_ngram = g.vocab > 2 * g.opts.beams + max_length ? test_below(4) : g.vocab > 30 ? 3 : 0;
    g.kind = (unsigned)test_below(4);
    g.width = 1 + (int)test_below(8);
    g.lift = (int)test_below(20) - 16;
    g.opts.max_length = max_length;
    g.opts.length_penalty = penalties[test_below(5)];
    g.opts.early_stopping = test_maybe();
    g.opts.start_id = (int32_t)test_below(g.vocab);
    g.opts.eos_id = (int32_t)test_below(g.vocab);
    return g;
}

TEST(beam_properties)
{
    static walk w;
    for (size_t i = 0; i < (test_quick ? 100u : 600u); i++) {
        beam_golden g = any_case(2 + test_below(i % 20 ? 20 : 250));
        name(&g, "");
        if (search_of(&w, &g))
            check_results(&w);
        beam_end(&w.search);
    }
}

static beam_golden long_case(void)
{
    beam_golden g = {7, 40, TWO_TOKENS | STEP, 2, -80, {4, 280, 1, 0, 0, 5, 1, 0}, 0, 0};
    return g;
}

TEST(beam_grows) /* no end in sight: all hypotheses are as long as may be */
{
    static walk w;
    static const size_t lengths[] = {2, 3, 31, 32, 33, 34, 63, 64, 65, 66, 128, 129, 130, 280};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        beam_golden g = long_case();
        g.opts.max_length = lengths[i];
        name(&g, "");
        if (search_of(&w, &g)) {
            check_results(&w);
            for (size_t b = 0; b < g.opts.beams; b++)
                CHECK(w.search.best[b].finished && w.search.best[b].count == lengths[i] - 1);
        }
        beam_end(&w.search);
    }
}

TEST(beam_one_token) /* the finished are the best tokens, as many as there are beams, up to half of the vocabulary */
{
    static walk w;
    for (size_t beams = 1; beams <= MOST_BEAMS; beams++) {
        beam_golden g = any_case(2);
        g.opts.beams = beams;
        g.vocab = 2 * beams + test_below(MOST_VOCAB - 2 * beams + 1);
        g.opts.start_id = (int32_t)test_below(g.vocab);
        g.opts.eos_id = (int32_t)test_below(g.vocab);
        g.opts.no_repeat_ngram = 0;
        name(&g, "");
        if (search_of(&w, &g)) {
            check_results(&w);
            for (size_t b = 0; b < beams; b++) {
                size_t better = 0, same = 0;
                float mine = w.logits[w.search.best[b].ids[0]];
                for (size_t t = 0; t < g.vocab; t++) {
                    better += w.logits[t] > mine;
                    same += w.logits[t] == mine;
                }
                CHECK(w.search.best[b].finished && w.search.best[b].count == 1);
                CHECK(better <= b && b < better + same);
            }
        }
        beam_end(&w.search);
    }
}

/* Where rules take every token away, or few are left for many beams: it ends, and there is a best one. */
TEST(beam_nothing_left)
{
    static walk w;
    for (size_t i = 0; i < (test_quick ? 100u : 400u); i++) {
        beam_golden g = any_case(2 + test_below(60));
        g.vocab = 2 * g.opts.beams + test_below(3);
        g.opts.start_id = (int32_t)test_below(g.vocab);
        g.opts.eos_id = test_maybe() ? g.opts.start_id : (int32_t)test_below(g.vocab);
        g.opts.no_repeat_ngram = 1 + test_below(2);
        name(&g, "");
        if (search_of(&w, &g)) {
            const beam_hypothesis *h = w.search.best;
            CHECK(h->finished && h->count > 0 && h->count < g.opts.max_length);
            if (g.opts.no_repeat_ngram == 1 && h->count < g.vocab && h->score > -1e8f)
                CHECK(!repeats(&g, h));
        }
        beam_end(&w.search);
    }
}

/* A logit of -infinity: a token that cannot be. Without these tokens the vocabulary is a smaller one. */
TEST(beam_impossible_tokens)
{
    static walk small, large;
    for (size_t i = 0; i < 50; i++) {
        beam_golden g = any_case(2 + test_below(40));
        size_t vocab = g.vocab;
        g.opts.no_repeat_ngram = 0;
        g.vocab = MOST_VOCAB;
        name(&g, "");
        begin(&large, &g);
        large.g = &g;
        g.vocab = vocab;
        begin(&small, &g);
        while (!small.search.done && !large.search.done) {
            look(&small);
            for (size_t b = 0; b < g.opts.beams; b++)
                for (size_t t = 0; t < MOST_VOCAB; t++)
                    large.logits[b * MOST_VOCAB + t] = t < vocab ? small.logits[b * vocab + t] : -INFINITY;
            memcpy(large.log_sums, small.log_sums, sizeof small.log_sums);
            CHECK(step(&small) == NULL && step(&large) == NULL);
            CHECK(small.search.done == large.search.done && small.search.moved == large.search.moved);
            if (!small.search.done)
                CHECK(memcmp(small.search.tokens, large.search.tokens, g.opts.beams * sizeof(int32_t)) == 0 &&
                      memcmp(small.search.from, large.search.from, g.opts.beams * sizeof(size_t)) == 0);
        }
        for (size_t b = 0; b < g.opts.beams; b++) {
            const beam_hypothesis *x = &small.search.best[b], *y = &large.search.best[b];
            CHECK(x->finished == y->finished && (!x->finished || (x->count == y->count && x->score == y->score &&
                                                                  !memcmp(x->ids, y->ids, x->count * sizeof *x->ids))));
        }
        beam_end(&small.search);
        beam_end(&large.search);
    }
}

/* ---- what goes wrong ---- */

static void refuse(const char *what, beam_opts opts, size_t vocab)
{
    beam_search search, zero;
    long calls = test_memory_state.calls;
    const char *error;
    memset(&search, 0x5a, sizeof search);
    memset(&zero, 0, sizeof zero);
    test_case("%s", what);
    error = beam_begin(&search, &opts, vocab);
    CHECK(error && *error && strcmp(error, "no memory"));
    CHECK(test_memory_state.calls == calls && memcmp(&search, &zero, sizeof search) == 0);
    beam_end(&search);
}

static void accept(const char *what, beam_opts opts, size_t vocab)
{
    beam_search search;
    test_case("%s", what);
    CHECK(beam_begin(&search, &opts, vocab) == NULL);
    beam_end(&search);
}

TEST(beam_options)
{
    const beam_opts good = beam_defaults();
    beam_opts o = good;
    CHECK(o.beams == 4 && o.max_length == 257 && o.length_penalty == 1 && o.early_stopping == 0 &&
          o.no_repeat_ngram == 0 && o.min_length == 0 && o.start_id == 0 && o.eos_id == 1);
    accept("the defaults", good, 32128);
    accept("vocabulary of twice the beams", good, 8);
    refuse("vocabulary 0", good, 0);
    refuse("vocabulary 7", good, 7);
    refuse("vocabulary 2^31", good, (size_t)1 << 31);
    refuse("vocabulary SIZE_MAX", good, SIZE_MAX);
    o.beams = 1;
    accept("vocabulary 2", o, 2);
    refuse("vocabulary 1", o, 1);
    o.beams = 0;
    refuse("beams 0", o, 10);
    o.beams = 6;
    refuse("beams 6 of 10", o, 10);
    o.beams = SIZE_MAX;
    refuse("beams SIZE_MAX", o, 10);
    refuse("beams SIZE_MAX of many", o, INT32_MAX);
    o = good, o.max_length = SIZE_MAX;
    accept("max_length SIZE_MAX", o, 10);
    o.max_length = 2;
    accept("max_length 2", o, 10);
    o.max_length = 1;
    refuse("max_length 1", o, 10);
    o.max_length = 0;
    refuse("max_length 0", o, 10);
    o = good, o.no_repeat_ngram = SIZE_MAX;
    accept("no_repeat_ngram SIZE_MAX", o, 10);
    for (int sign = -1; sign <= 1; sign += 2) {
        o = good, o.length_penalty = sign * 100.0;
        accept("length_penalty 100", o, 10);
        o.length_penalty = sign * 100.5;
        refuse("length_penalty 100.5", o, 10);
        o.length_penalty = sign * (double)INFINITY;
        refuse("length_penalty infinite", o, 10);
        o.length_penalty = sign * (double)NAN;
        refuse("length_penalty NaN", o, 10);
    }
    for (int end = 0; end < 2; end++) {
        static const int32_t ids[] = {-1, INT32_MIN, 10, INT32_MAX};
        for (size_t i = 0; i < 4; i++) {
            o = good;
            *(end ? &o.eos_id : &o.start_id) = ids[i];
            refuse(end ? "eos_id" : "start_id", o, 10);
        }
        o = good;
        *(end ? &o.eos_id : &o.start_id) = 9;
        accept(end ? "eos_id 9" : "start_id 9", o, 10);
    }
}

TEST(beam_extreme_penalties) /* whose powers are no floats: scores lose their meaning, the search does not hang */
{
    static walk w;
    static const double penalties[] = {-100, -40, 40, 100};
    for (size_t i = 0; i < 40; i++) {
        beam_golden g = any_case(40);
        g.opts.length_penalty = penalties[i % 4];
        name(&g, "");
        if (search_of(&w, &g))
            CHECK(w.search.best[0].finished);
        beam_end(&w.search);
    }
}

static void same_results(const walk *w, const walk *want)
{
    for (size_t b = 0; b < w->g->opts.beams; b++) {
        const beam_hypothesis *x = &w->search.best[b], *y = &want->search.best[b];
        CHECK(x->finished == y->finished && x->count == y->count && x->score == y->score);
        CHECK(memcmp(x->ids, y->ids, x->count * sizeof *x->ids) == 0);
    }
}

/* A step that fails leaves the search as it was. */
static const char *failing_step(walk *w)
{
    beam_search before = w->search;
    const char *error = step(w);
    size_t beams = w->g->opts.beams;
    if (error) {
        CHECK(w->search.length == before.length && w->search.capacity == before.capacity);
        CHECK(w->search.moved == before.moved && w->search.done == before.done && w->search.state == before.state);
        CHECK(w->search.tokens == before.tokens && w->search.from == before.from && w->search.best == before.best);
        CHECK(memcmp(w->tokens[w->length - 1], w->search.tokens, beams * sizeof *w->search.tokens) == 0);
        CHECK(memcmp(w->from[w->length - 1], w->search.from, beams * sizeof *w->search.from) == 0);
    }
    return error;
}

/* Each kind of bad number, in each row, in each step: a message, and the search goes on with good ones. */
TEST(beam_not_finite)
{
    static walk w, want;
    beam_golden g = long_case();
    g.opts.max_length = 6;
    search_of(&want, &g);
    begin(&w, &g);
    while (!w.search.done) {
        look(&w);
        for (size_t b = 0; b < g.opts.beams; b++)
            for (int kind = 0; kind < 6; kind++) {
                float *row = w.logits + b * g.vocab, kept[MOST_VOCAB], sum = w.log_sums[b];
                size_t first = kind < 3 ? test_below(g.vocab) : 0, end = kind < 3 ? first + 1 : g.vocab;
                const float bad[] = {NAN, -NAN, INFINITY};
                const char *error;
                test_case("step %lu, row %lu, kind %d", (unsigned long)w.length, (unsigned long)b, kind);
                memcpy(kept, row, g.vocab * sizeof *row);
                for (size_t t = first; t < end; t++)
                    row[t] = kind == 5 ? -INFINITY : bad[kind % 3];
                w.log_sums[b] = log_sum(row, g.vocab);
                error = failing_step(&w);
                CHECK(error && strstr(error, "not finite"));
                memcpy(row, kept, g.vocab * sizeof *row);
                w.log_sums[b] = sum;
            }
        CHECK(step(&w) == NULL);
    }
    same_results(&w, &want);
    beam_end(&w.search);
    beam_end(&want.search);
}

TEST(beam_not_finite_unseen) /* the sums are fine, the logits are not */
{
    static walk w;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        beam_golden g = long_case();
        const char *error;
        test_case("%g", (double)bad[i]);
        begin(&w, &g);
        for (size_t steps = 0; steps < 3; steps++) {
            look(&w);
            CHECK(step(&w) == NULL);
        }
        look(&w);
        for (size_t t = 0; t < g.opts.beams * g.vocab; t++)
            w.logits[t] = bad[i];
        error = failing_step(&w);
        CHECK(error && strstr(error, "not finite"));
        beam_end(&w.search);
    }
}

TEST(beam_no_memory)
{
    static walk w, want;
    beam_golden g = long_case();
    long live = test_memory_state.live, n;
    beam_search zero;
    memset(&zero, 0, sizeof zero);
    for (n = 1; n < 100; n++) {
        const char *error;
        test_case("allocation %ld of beam_begin fails", n);
        memset(&w.search, 0x5a, sizeof w.search);
        test_memory_state.fail_at = n;
        error = beam_begin(&w.search, &g.opts, g.vocab);
        if (test_memory_state.fail_at)
            break;
        CHECK(error && strcmp(error, "no memory") == 0 && memcmp(&w.search, &zero, sizeof zero) == 0);
        CHECK(test_memory_state.live == live);
    }
    test_memory_state.fail_at = 0;
    CHECK(n > 1 && n < 100);
    beam_end(&w.search);
    CHECK(test_memory_state.live == live);
    search_of(&want, &g);
    for (n = 1; n <= 3 * (long)g.opts.beams; n++) { /* three rows for each beam grow four times: at 32, 64, 128, 256 */
        long before = test_memory_state.live;
        size_t failures = 0;
        test_case("allocation %ld of a growth fails", n);
        begin(&w, &g);
        while (!w.search.done) {
            const char *error;
            look(&w);
            test_memory_state.fail_at = n;
            error = failing_step(&w);
            test_memory_state.fail_at = 0;
            if (error) {
                failures++;
                CHECK(strcmp(error, "no memory") == 0);
                if (!CHECK(step(&w) == NULL))
                    break;
            }
        }
        CHECK(failures == 4);
        same_results(&w, &want);
        beam_end(&w.search);
        CHECK(test_memory_state.live == before);
    }
    beam_end(&want.search);
    CHECK(test_memory_state.live == live);
}

TEST(beam_end_of_nothing)
{
    beam_search search;
    beam_golden g = long_case();
    memset(&search, 0, sizeof search);
    beam_end(NULL);
    beam_end(&search);
    CHECK(beam_begin(&search, &g.opts, g.vocab) == NULL);
    beam_end(&search); /* before the first step; and twice */
    CHECK(search.state == NULL);
    beam_end(&search);
}
