/* learn.c: see learn.h. */
#include "learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MEAN = 0.9, SQUARE = 0.98; /* how much of the running means stays at a step */
static const double EPSILON = 1e-8, DECAY = 0.01, LONGEST = 1;

/* ==== Tasks ====================================================================================================== */

/* Calls what(of, i, task) for i < count, on all threads; task tells apart those that run at once. */
typedef struct work {
    void (*what)(learner *of, size_t i, size_t task);
    learner *of;
    size_t count, tasks;
} work;

static void run_task(void *arg, size_t index)
{
    const work *w = (const work *)arg;
    for (size_t i = index; i < w->count; i += w->tasks)
        w->what(w->of, i, index);
}

static size_t width(const learner *of)
{
    return of->parallel.run && of->parallel.width > 1 ? of->parallel.width : 1;
}

static void share(learner *of, size_t count, void (*what)(learner *of, size_t i, size_t task))
{
    work w = {what, of, count, width(of) < count ? width(of) : count};
    if (w.tasks > 1)
        of->parallel.run(of->parallel.user, w.tasks, run_task, &w);
    else
        run_task(&w, 0);
}

/* ==== A step ===================================================================================================== */

/* The gradient of part i of the batch. */
static void learn_part(learner *of, size_t i, size_t task)
{
    size_t first = i * of->count / LEARN_PARTS, end = (i + 1) * of->count / LEARN_PARTS;
    float *grads = of->grads + i * of->net.size;
    memset(grads, 0, of->net.size * sizeof *grads);
    of->losses[i] = 0;
    of->errors[i] = NULL;
    of->tapes[task].seed = network_random(of->seed, of->step * LEARN_PARTS + i);
    if (first < end)
        of->errors[i] = network_learn(&of->net, &of->tapes[task], &of->losses[i], grads, of->pairs + first,
                                      end - first, of->scale);
}

/* Slice i of the gradient, in place of that of the first part; and its part of the gradient's length. */
static void add_parts(learner *of, size_t i, size_t task)
{
    size_t first = i * of->net.size / LEARN_SLICES, end = (i + 1) * of->net.size / LEARN_SLICES;
    double sum = 0;
    (void)task;
    for (size_t part = 1; part < LEARN_PARTS; part++)
        for (size_t j = first; j < end; j++)
            of->grads[j] += of->grads[part * of->net.size + j];
    for (size_t j = first; j < end; j++)
        sum += (double)of->grads[j] * (double)of->grads[j];
    of->squares[i] = sum;
}

/* AdamW: each weight moves by about `rate`, along the running mean of its gradient, which is divided by the root of the
   running mean of its square; and it shrinks.       Kingma 2014, arXiv 1412.6980; Loshchilov 2017, arXiv 1711.05101 */
static void move(learner *of, size_t i, size_t task)
{
    size_t first = i * of->net.size / LEARN_SLICES, end = (i + 1) * of->net.size / LEARN_SLICES;
    double steps = (double)of->step;
    float keep = (float)(1 - of->rate * DECAY), rate = (float)(of->rate / (1 - pow(MEAN, steps)));
    float unbias = (float)(1 / sqrt(1 - pow(SQUARE, steps))), clip = (float)of->clip;
    (void)task;
    for (size_t j = first; j < end; j++) {
        float g = of->grads[j] * clip;
        of->mean[j] = (float)MEAN * of->mean[j] + (float)(1 - MEAN) * g;
        of->square[j] = (float)SQUARE * of->square[j] + (float)(1 - SQUARE) * g * g;
        of->net.weights[j] = keep * of->net.weights[j] -
                             rate * of->mean[j] / (sqrtf(of->square[j]) * unbias + (float)EPSILON);
    }
}

const char *learner_step(learner *of, const network_pair *pairs, size_t count, double rate)
{
    size_t words = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        words += pairs[i].target_len;
    of->pairs = pairs;
    of->count = count;
    of->scale = 1 / (double)words;
    of->rate = rate;
    of->step++;
    share(of, LEARN_PARTS, learn_part);
    of->loss = 0;
    for (size_t i = 0; i < LEARN_PARTS; i++) {
        if (of->errors[i])
            return of->errors[i];
        of->loss += of->losses[i];
    }
    share(of, LEARN_SLICES, add_parts);
    for (size_t i = 0; i < LEARN_SLICES; i++)
        squares += of->squares[i];
    of->norm = sqrt(squares);
    of->clip = of->norm > LONGEST ? LONGEST / of->norm : 1; /* a batch out of the common does no harm */
    share(of, LEARN_SLICES, move);
    return NULL;
}

/* ==== Beginning and end ========================================================================================== */

const char *learner_init(learner *of, const t5_config *config, uint64_t seed, attn_parallel parallel)
{
    const char *error;
    memset(of, 0, sizeof *of);
    if ((error = network_init(&of->net, config, seed)))
        return error;
    of->seed = network_random(seed, UINT64_MAX);
    of->parallel = parallel;
    of->tapes = (tape *)calloc(width(of), sizeof *of->tapes);
    of->grads = (float *)calloc(of->net.size, LEARN_PARTS * sizeof *of->grads);
    of->mean = (float *)calloc(of->net.size, sizeof *of->mean);
    of->square = (float *)calloc(of->net.size, sizeof *of->square);
    if (of->tapes && of->grads && of->mean && of->square)
        return NULL;
    learner_free(of);
    return "no memory";
}

void learner_free(learner *of)
{
    for (size_t i = 0; of->tapes && i < width(of); i++)
        tape_free(&of->tapes[i]);
    free(of->tapes);
    free(of->grads);
    free(of->mean);
    free(of->square);
    network_free(&of->net);
    memset(of, 0, sizeof *of);
}
