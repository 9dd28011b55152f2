#include "sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ONE = 40 }; /* the greatest weight is 2^ONE; SAMPLE_VOCAB of them stay below 2^62 */

/* ---- random bits: SplitMix64, a counter that is hashed                        Steele 2014, 10.1145/2660193.2660195 */

static uint64_t hash(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t sample_random(uint64_t seed, uint64_t draw)
{
    return hash(hash(seed + 0x9e3779b97f4a7c15u) + (draw + 1) * 0x9e3779b97f4a7c15u);
}

/* random * below / 2^64, rounded down: 0 .. below - 1. */
static uint64_t scale_random(uint64_t random, uint64_t below)
{
    uint64_t high = random >> 32, low = random & 0xffffffffu, b1 = below >> 32, b0 = below & 0xffffffffu;
    uint64_t middle = high * b0 + (low * b0 >> 32), other = low * b1 + (middle & 0xffffffffu);
    return high * b1 + (middle >> 32) + (other >> 32);
}

/* ---- floats as integers in their order: so the greatest few of many are found by counting, without sorting ---- */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Greater floats have smaller keys; -0 and 0 have the same. */
static uint32_t key_of(float x)
{
    uint32_t bits = bits_of(x);
    if (bits == 0x80000000u)
        bits = 0;
    return bits & 0x80000000u ? bits : 0x7fffffffu - bits;
}

/* Of the tokens, each as heavy as weights says (NULL: 1) and those of weight 0 left out, by falling score: the key of
   the one with which the sum reaches `enough`, which is 1 .. all of it. *above: the sum of those whose key is smaller.
   Digit by digit: a histogram of the weights by the keys' first 11 bits tells these bits of the answer, and so on. */
static uint32_t find_key(const float *scores, const uint64_t *weights, size_t count, uint64_t enough, uint64_t *above)
{
    static const unsigned shifts[] = {21, 10, 0}, widths[] = {11, 11, 10};
    uint64_t sums[1 << 11], sum = 0;
    uint32_t found = 0, known = 0; /* bits of the answer; which are known */
    for (int level = 0; level < 3; level++) {
        uint32_t digit = 0, mask = (1u << widths[level]) - 1;
        memset(sums, 0, sizeof sums);
        for (size_t i = 0; i < count; i++) {
            uint32_t key = key_of(scores[i]);
            if ((key & known) == found)
                sums[key >> shifts[level] & mask] += weights ? weights[i] : 1;
        }
        while (digit < mask && enough - sum > sums[digit])
            sum += sums[digit++];
        found |= digit << shifts[level];
        known |= mask << shifts[level];
    }
    *above = sum;
    return found;
}

/* ---- the steps ---- */

static const char *fail(sampler *s, const char *message)
{
    snprintf(s->error, sizeof s->error, "%s", message);
    return s->error;
}

/* scores = logits, those of tokens that were there struck, over the temperature. *most: the greatest, of these the
   first. float as transformers computes, so that what is equal there is equal here. */
static const char *rewrite(sampler *s, const float *logits, size_t *most)
{
    const sample_opts *o = &s->opts;
    float penalty = (float)o->repetition_penalty, temperature = o->temperature > 0 ? (float)o->temperature : 1;
    *most = 0;
    for (size_t i = 0; i < s->vocab_size; i++) {
        float x = logits[i];
        uint32_t bits;
        if (s->seen[i])
            x = x < 0 ? x * penalty : x / penalty;
        x /= temperature;
        bits = bits_of(x);
        if ((bits & 0x7f800000u) == 0x7f800000u && bits != 0xff800000u) { /* by bits: -ffast-math knows no NaN */
            snprintf(s->error, sizeof s->error, "the logit of token %lu is %s", (unsigned long)i,
                     bits & 0x007fffffu ? "NaN" : "infinite");
            return s->error;
        }
        s->scores[i] = x;
        if (x > s->scores[*most])
            *most = i;
    }
    return bits_of(s->scores[*most]) == 0xff800000u ? fail(s, "every logit is -infinity") : NULL;
}

/* 2^(ONE + x) for x <= 0, rounded down: 2^x is 2^f over a power of 2, f within -0.5 .. 0.5, and that is its Taylor
   series, good to 2^-47. */
static uint64_t power(double x)
{
    static const double taylor[] = {6.931471805599453e-1, 2.402265069591007e-1, 5.550410866482158e-2,
                                    9.618129107628477e-3, 1.333355814642844e-3, 1.540353039338161e-4,
                                    1.525273380405984e-5, 1.321548679014431e-6, 1.017808600923970e-7,
                                    7.054911620801123e-9, 4.445538271870812e-10}; /* ln(2)^k / k!, k = 1 .. 11 */
    double f, sum = 0;
    int whole;
    if (!(x > -(ONE + 1)))
        return 0;
    whole = (int)(0.5 - x);
    f = x + whole;
    for (int k = 10; k >= 0; k--)
        sum = (sum + taylor[k]) * f;
    return (uint64_t)((1 + sum) * (double)((uint64_t)1 << (ONE + 1))) >> (whole + 1);
}

/* Tokens beyond top_k, whose key is greater than the last one's, have the weight 0. */
static void weigh(sampler *s, float most)
{
    const double log2_e = 1.4426950408889634;
    uint32_t last = 0xffffffffu;
    uint64_t above;
    if (s->opts.top_k > 0 && s->opts.top_k < s->vocab_size)
        last = find_key(s->scores, NULL, s->vocab_size, s->opts.top_k, &above);
    for (size_t i = 0; i < s->vocab_size; i++) {
        s->weights[i] = key_of(s->scores[i]) <= last ? power(((double)s->scores[i] - (double)most) * log2_e) : 0;
        s->total += s->weights[i];
    }
}

/* A token stays if what is more likely sums up to less than p; of those as likely as the last, the first few. */
static void keep_top_p(sampler *s)
{
    double enough = s->opts.top_p * (double)s->total;
    uint64_t limit = (uint64_t)enough, sum;
    uint32_t last;
    limit += (double)limit < enough;
    limit += limit == 0;
    if (s->opts.top_p >= 1 || limit >= s->total)
        return;
    last = find_key(s->scores, s->weights, s->vocab_size, limit, &sum);
    s->total = sum;
    for (size_t i = 0; i < s->vocab_size; i++) {
        uint32_t key = key_of(s->scores[i]);
        if (key > last || (key == last && s->total >= limit))
            s->weights[i] = 0;
        else if (key == last)
            s->total += s->weights[i];
    }
}

const char *sample_distribute(sampler *s, const float *logits)
{
    size_t most;
    const char *error = rewrite(s, logits, &most);
    if (error)
        return error;
    s->total = 0;
    if (s->opts.temperature > 0) {
        weigh(s, s->scores[most]);
        keep_top_p(s);
    } else {
        memset(s->weights, 0, s->vocab_size * sizeof *s->weights);
        s->weights[most] = s->total = (uint64_t)1 << ONE;
    }
    return NULL;
}

const char *sample_next(sampler *s, const float *logits, int32_t *id)
{
    const char *error = sample_distribute(s, logits);
    uint64_t left;
    size_t i = 0;
    if (error)
        return error;
    left = scale_random(sample_random(s->opts.seed, s->draws), s->total);
    while (left >= s->weights[i])
        left -= s->weights[i++];
    s->draws++;
    *id = (int32_t)i;
    s->seen[i] = s->opts.repetition_penalty != 1;
    return NULL;
}

/* ---- beginning and end ---- */

sample_opts sample_defaults(void)
{
    sample_opts opts = {0, 0, 1, 1, 0};
    return opts;
}

/* By bits, too, and from memory: with -ffast-math, clang 19 takes every argument for a number. */
static int within(double x, double least, double most)
{
    volatile double held = x;
    uint64_t bits;
    x = held;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 52 & 0x7ff) != 0x7ff && x >= least && x <= most;
}

const char *sample_begin(sampler *s, const sample_opts *opts, size_t vocab_size)
{
    memset(s, 0, sizeof *s);
    s->opts = *opts;
    s->vocab_size = vocab_size;
    if (vocab_size < 1 || vocab_size > SAMPLE_VOCAB)
        return fail(s, "a vocabulary must have 1 to 4194304 tokens");
    if (!within(opts->temperature, 0, 1e6) || (opts->temperature > 0 && opts->temperature < 1e-6))
        return fail(s, "the temperature must be 0, or 1e-6 to 1e6");
    if (!within(opts->top_p, 0, 1))
        return fail(s, "top_p must be from 0 to 1");
    if (!within(opts->repetition_penalty, 1e-6, 1e6))
        return fail(s, "the repetition penalty must be from 1e-6 to 1e6");
    s->weights = (uint64_t *)malloc(vocab_size * sizeof *s->weights);
    s->scores = (float *)malloc(vocab_size * sizeof *s->scores);
    s->seen = (unsigned char *)calloc(vocab_size, 1);
    return s->weights && s->scores && s->seen ? NULL : fail(s, "no memory");
}

void sample_end(sampler *s)
{
    free(s->weights);
    free(s->scores);
    free(s->seen);
    s->weights = NULL;
    s->scores = NULL;
    s->seen = NULL;
}

const char *sample_saw(sampler *s, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= s->vocab_size) {
            snprintf(s->error, sizeof s->error, "token %ld is not in the vocabulary", (long)ids[i]);
            return s->error;
        }
        s->seen[ids[i]] = s->opts.repetition_penalty != 1;
    }
    return NULL;
}

void sample_forget(sampler *s)
{
    memset(s->seen, 0, s->vocab_size);
}
