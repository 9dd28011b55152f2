/* beam.c: see beam.h. */
#include "beam.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEVER (-1.0e9f) /* the score of a hypothesis that is not there yet */

/* A hypothesis and one more token. */
typedef struct candidate {
    float score; /* sum of log-probabilities */
    size_t from; /* which hypothesis */
    int32_t token;
} candidate;

struct beam_state {
    candidate *candidates;     /* [2 * beams], best first */
    int32_t **running, **next; /* [beams] rows of tokens: the hypotheses, and room for them after the next step */
    float *scores;             /* [beams]: of the running, best first */
    beam_hypothesis *finished; /* [beams], best first */
    int32_t *tokens;           /* [beams]: the last of each of the running */
    size_t *from;              /* [beams] */
    unsigned char *banned;     /* [vocab_size]: would repeat an n-gram */
};

beam_opts beam_defaults(void)
{
    beam_opts opts = {4, 257, 1.0, 0, 0, 0, 1, 0};
    return opts;
}

/* ==== Beginning and end ========================================================================================== */

static int grow_row(int32_t **row, size_t capacity)
{
    int32_t *larger = capacity <= SIZE_MAX / sizeof **row ? (int32_t *)realloc(*row, capacity * sizeof **row) : NULL;
    if (larger)
        *row = larger;
    return larger != NULL;
}

/* Room for so many tokens in every hypothesis; without memory all stay as they were. */
static int grow(beam_search *search, size_t capacity)
{
    struct beam_state *s = search->state;
    size_t b;
    if (capacity <= search->capacity)
        return 1;
    for (b = 0; b < search->opts.beams; b++)
        if (!grow_row(&s->running[b], capacity) || !grow_row(&s->next[b], capacity) ||
            !grow_row(&s->finished[b].ids, capacity))
            return 0;
    search->capacity = capacity;
    return 1;
}

static int begin_state(beam_search *search)
{
    struct beam_state *s = (struct beam_state *)calloc(1, sizeof *s);
    size_t beams = search->opts.beams, b;
    search->state = s;
    if (!s)
        return 0;
    s->running = (int32_t **)calloc(beams, sizeof *s->running);
    s->next = (int32_t **)calloc(beams, sizeof *s->next);
    s->finished = (beam_hypothesis *)calloc(beams, sizeof *s->finished);
    s->candidates = (candidate *)calloc(2 * beams, sizeof *s->candidates);
    s->scores = (float *)calloc(beams, sizeof *s->scores);
    s->tokens = (int32_t *)calloc(beams, sizeof *s->tokens);
    s->from = (size_t *)calloc(beams, sizeof *s->from);
    s->banned = (unsigned char *)calloc(search->vocab_size, 1);
    if (!s->running || !s->next || !s->finished || !s->candidates || !s->scores || !s->tokens || !s->from ||
        !s->banned || !grow(search, 32))
        return 0;
    for (b = 0; b < beams; b++) { /* all alike: only the first one counts, so that the first step finds no twins */
        s->running[b][0] = s->tokens[b] = search->opts.start_id;
        s->from[b] = b;
        s->scores[b] = b > 0 ? NEVER : 0;
        s->finished[b].score = NEVER;
    }
    return 1;
}

/* By its bits, and from memory: -ffast-math would believe that it is one, clang 19 of every argument. */
static int is_number(float x)
{
    volatile float held = x;
    uint32_t bits;
    x = held;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 23 & 0xff) != 0xff;
}

static const char *check(const beam_opts *opts, size_t vocab_size)
{
    if (vocab_size < 2 || vocab_size > INT32_MAX)
        return "the vocabulary is no number from 2 to 2^31 - 1";
    if (opts->beams < 1 || opts->beams > vocab_size / 2 || opts->beams > SIZE_MAX / 64)
        return "beams is no number from 1 to half of the vocabulary";
    if (opts->max_length < 2)
        return "max_length is less than 2";
    if (!is_number((float)opts->length_penalty) || !(opts->length_penalty >= -100 && opts->length_penalty <= 100))
        return "length_penalty is no number from -100 to 100";
    if (opts->start_id < 0 || (size_t)opts->start_id >= vocab_size || opts->eos_id < 0 ||
        (size_t)opts->eos_id >= vocab_size)
        return "start_id or eos_id is not in the vocabulary";
    return NULL;
}

const char *beam_begin(beam_search *search, const beam_opts *opts, size_t vocab_size)
{
    const char *error = check(opts, vocab_size);
    memset(search, 0, sizeof *search);
    if (error)
        return error;
    search->opts = *opts;
    search->vocab_size = vocab_size;
    search->length = 1;
    if (!begin_state(search)) {
        beam_end(search);
        return "no memory";
    }
    search->tokens = search->state->tokens;
    search->from = search->state->from;
    search->scores = search->state->scores;
    search->best = search->state->finished;
    return NULL;
}

void beam_end(beam_search *search)
{
    struct beam_state *s = search ? search->state : NULL;
    size_t b;
    for (b = 0; s && b < search->opts.beams; b++) {
        if (s->running)
            free(s->running[b]);
        if (s->next)
            free(s->next[b]);
        if (s->finished)
            free(s->finished[b].ids);
    }
    if (s) {
        free(s->candidates);
        free(s->running);
        free(s->next);
        free(s->scores);
        free(s->finished);
        free(s->tokens);
        free(s->from);
        free(s->banned);
        free(s);
    }
    if (search)
        memset(search, 0, sizeof *search);
}

/* ==== A step ===================================================================================================== */

/* Marks (or, with mark 0, unmarks) each token that would end an n-gram the hypothesis has already, and the end where it
   is too early. */
static void ban(const beam_search *search, const int32_t *row, unsigned char mark)
{
    size_t n = search->opts.no_repeat_ngram, i;
    if (search->length < search->opts.min_length)
        search->state->banned[search->opts.eos_id] = mark;
    if (n == 0 || search->length < n)
        return;
    for (i = 0; i + n <= search->length; i++)
        if (memcmp(row + i, row + search->length - (n - 1), (n - 1) * sizeof *row) == 0)
            search->state->banned[row[i + n - 1]] = mark;
}

/* Puts a candidate where it belongs among `count`, of which there are at most `most`; those that are equal stay before
   it. Returns how many there are. */
static size_t insert(candidate *list, size_t count, size_t most, candidate c)
{
    size_t i = count < most ? count++ : most - 1;
    for (; i > 0 && c.score > list[i - 1].score; i--)
        list[i] = list[i - 1];
    list[i] = c;
    return count;
}

/* The best continuations of all hypotheses; returns how many. */
static size_t choose(const beam_search *search, const float *logits, const float *log_sums)
{
    struct beam_state *s = search->state;
    size_t most = 2 * search->opts.beams, count = 0, b, t;
    candidate c;
    for (b = 0; b < search->opts.beams; b++, logits += search->vocab_size) {
        ban(search, s->running[b], 1);
        for (t = 0; t < search->vocab_size; t++) {
            c.score = s->banned[t] ? -FLT_MAX : logits[t] - log_sums[b] + s->scores[b];
            if ((count == most && !(c.score > s->candidates[most - 1].score)) || !is_number(c.score))
                continue;
            c.from = b;
            c.token = (int32_t)t;
            count = insert(s->candidates, count, most, c);
        }
        ban(search, s->running[b], 0);
    }
    return count;
}

/* A candidate is finished: it takes its place among the best, and that of the last. */
static void finish(const beam_search *search, const candidate *c, size_t length)
{
    struct beam_state *s = search->state;
    size_t i = search->opts.beams - 1;
    beam_hypothesis last = s->finished[i];
    float score = c->score / (float)pow((double)length, search->opts.length_penalty);
    if (last.finished && !(score > last.score))
        return;
    for (; i > 0 && (!s->finished[i - 1].finished || score > s->finished[i - 1].score); i--)
        s->finished[i] = s->finished[i - 1];
    memcpy(last.ids, s->running[c->from] + 1, (length - 1) * sizeof *last.ids);
    last.ids[length - 1] = c->token;
    last.count = length;
    last.score = score;
    last.finished = 1;
    s->finished[i] = last;
}

/* A candidate goes on as hypothesis b. */
static void go_on(beam_search *search, const candidate *c, size_t b)
{
    struct beam_state *s = search->state;
    memcpy(s->next[b], s->running[c->from], search->length * sizeof **s->next);
    s->next[b][search->length] = s->tokens[b] = c->token;
    s->from[b] = c->from;
    s->scores[b] = c->score;
    search->moved |= c->from != b;
}

/* Whether nothing that still runs can become one of the best. */
static int is_hopeless(const beam_search *search)
{
    const struct beam_state *s = search->state;
    const beam_hypothesis *last = &s->finished[search->opts.beams - 1];
    float hope = s->scores[0] / (float)pow((double)(search->length - 1), search->opts.length_penalty);
    return last->finished && !(hope > last->score);
}

const char *beam_step(beam_search *search, const float *logits, const float *log_sums)
{
    struct beam_state *s = search->state;
    size_t beams = search->opts.beams, length = search->length, i, b; /* length: without start, with the new token */
    int limit = length + 1 >= search->opts.max_length, full;
    int32_t **rows;
    for (b = 0; b < beams; b++)
        if (!is_number(log_sums[b]))
            return "the logits are not finite";
    if (length == search->capacity && !grow(search, 2 * length))
        return "no memory";
    if (choose(search, logits, log_sums) < 2 * beams)
        return "the logits are not finite";
    search->moved = 0;
    for (i = b = 0; i < 2 * beams; i++) {
        const candidate *c = &s->candidates[i];
        if (limit || c->token == search->opts.eos_id) {
            if (i < beams)
                finish(search, c, length);
        } else if (b < beams) {
            go_on(search, c, b++);
        }
    }
    rows = s->running;
    s->running = s->next;
    s->next = rows;
    search->length++;
    full = s->finished[beams - 1].finished && (search->opts.early_stopping || beams == 1);
    search->done = limit || full || is_hopeless(search);
    return NULL;
}
