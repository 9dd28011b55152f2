/* translate.c: see translate.h. */
#include "translate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

translate_opts translate_defaults(void)
{
    translate_opts opts;
    opts.prefix = "translate English to French: ";
    opts.max_source = 4096;
    opts.search = beam_defaults();
    opts.step = NULL;
    opts.user = NULL;
    return opts;
}

/* Of a search what one object says. */
static void settle(checkpoint *files, json g, beam_opts *search)
{
    checkpoint_generates(files, g, 0, 1);
    search->beams = checkpoint_uint(files, g, "num_beams", 1, (long)search->beams);
    search->no_repeat_ngram = checkpoint_uint(files, g, "no_repeat_ngram_size", 0, (long)search->no_repeat_ngram);
    search->length_penalty = checkpoint_real(files, g, "length_penalty", -100, 100, search->length_penalty);
    search->early_stopping = checkpoint_flag(files, g, "early_stopping", search->early_stopping);
    search->max_length = checkpoint_uint(files, g, "max_length", 2, (long)search->max_length);
    search->max_length = 1 + checkpoint_uint(files, g, "max_new_tokens", 1, (long)search->max_length - 1);
    search->min_length = checkpoint_uint(files, g, "min_length", 0, (long)search->min_length);
    if (json_get(g, "min_new_tokens").type > JSON_NULL)
        search->min_length = 1 + checkpoint_uint(files, g, "min_new_tokens", 0, -1);
    if (search->beams > 1024)
        checkpoint_fail_member(files, g, "num_beams", "is above 1024");
}

const char *translate_settle(t5 *model, const char *task, translate_opts *opts)
{
    checkpoint *files = &model->files;
    json all = json_get(files->config, "task_specific_params"), one = json_get(all, task ? task : ""), prefix, key;
    for (key = json_first(all); all.type == JSON_OBJECT && !task && key.type && one.type == JSON_NONE;
         key = json_next(key))
        if (json_is(json_get(json_value(key), "prefix"), opts->prefix))
            one = json_value(key);
    settle(files, model->generation, &opts->search);
    settle(files, one, &opts->search);
    prefix = json_get(one, "prefix");
    if (prefix.type == JSON_STRING && !json_is(prefix, opts->prefix))
        checkpoint_note(files, "%s/config.json: task_specific_params: the prefix of %s is another than \"%s\"",
                        files->directory, task, opts->prefix);
    if (prefix.type != JSON_STRING && checkpoint_says(files->config, "prefix") &&
        !json_is(json_get(files->config, "prefix"), opts->prefix))
        checkpoint_note(files, "%s/config.json: prefix is another than \"%s\"", files->directory, opts->prefix);
    return files->failed ? files->error : NULL;
}

void translate_free(translation *results, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        free(results[i].text);
        free(results[i].source);
        free(results[i].ids);
        memset(&results[i], 0, sizeof results[i]);
    }
}

/* ==== Text and tokens ============================================================================================ */

/* Sets the source to ids with what stands before and behind them. 0: no memory. */
static int set_source(translation *result, const int32_t *ids, size_t count, const bpe_tokens *before,
                      const bpe_tokens *after)
{
    size_t room = 0;
    return text_push(&result->source, &result->source_count, &room, before->ids, before->count) &&
           text_push(&result->source, &result->source_count, &room, ids, count) &&
           text_push(&result->source, &result->source_count, &room, after->ids, after->count);
}

/* Marks the bytes of what has the spelling of a token that ends, fills or is unknown, which in a text is none. The
   others that are special, such as <extra_id_0> and those of a model's own, are tokens. Returns NULL or said[size]. */
static unsigned char *mark_said(const char *text, size_t size)
{
    static const char *const names[] = {"</s>", "<pad>", "<unk>"};
    unsigned char *said = (unsigned char *)calloc(size + 1, 1);
    for (size_t i = 0; said && i < 3; i++)
        for (size_t length = strlen(names[i]), at = 0; at + length <= size; at++)
            if (memcmp(text + at, names[i], length) == 0)
                memset(said + at, 1, length);
    return said;
}

/* The tokens of a text, and eos. */
static const char *encode_source(t5 *model, const char *text, size_t size, translation *result)
{
    bpe_tokens none = {NULL, 0}, end = {&model->config.eos_id, 1}, tokens;
    sentencepiece_tokens pieces;
    const char *error;
    if (model->tokens.count) {
        unsigned char *said = mark_said(text, size);
        error = said ? bpe_encode_said(&model->tokens, text, said, size, &tokens) : TEXT_NO_MEMORY;
        free(said);
        if (error)
            return error;
        error = set_source(result, tokens.ids, tokens.count, &model->tokens.before, &model->tokens.after)
                    ? NULL
                    : TEXT_NO_MEMORY;
        bpe_tokens_free(&tokens);
        return error;
    }
    if ((error = sentencepiece_encode(&model->vocabulary, text, size, &pieces)) != NULL)
        return error;
    error = set_source(result, pieces.ids, pieces.count, &none, &end) ? NULL : TEXT_NO_MEMORY;
    sentencepiece_tokens_free(&pieces);
    return error;
}

/* The tokens of prefix and text, and eos. */
static const char *tokenize(t5 *model, const translate_opts *opts, const translate_text *text, translation *result)
{
    size_t prefix = opts->prefix ? strlen(opts->prefix) : 0;
    char *whole;
    const char *error;
    if (text->size > (size_t)PTRDIFF_MAX - prefix || !(whole = (char *)malloc(prefix + text->size + 1)))
        return TEXT_NO_MEMORY;
    if (prefix > 0)
        memcpy(whole, opts->prefix, prefix);
    if (text->size > 0)
        memcpy(whole + prefix, text->text, text->size);
    error = encode_source(model, whole, prefix + text->size, result);
    free(whole);
    if (!error && result->source_count > opts->max_source) {
        snprintf(result->error, sizeof result->error, "more than %lu tokens", (unsigned long)opts->max_source);
        free(result->source);
        result->source = NULL;
        result->source_count = 0;
    }
    return error;
}

/* Whether a token of a translation has a text; the vocabulary's sentinels have none. */
static int is_spelt(const t5 *model, int32_t id)
{
    size_t size;
    if (id == model->config.pad_id || id == model->config.eos_id)
        return 0;
    if (model->tokens.count)
        return id != model->tokens.unk_id && bpe_spelling(&model->tokens, id, &size) != NULL;
    return id < model->vocabulary.count && id != model->vocabulary.unk_id;
}

/* The text of the tokens that have one. */
static const char *spell(t5 *model, translation *result)
{
    int32_t *spelt = (int32_t *)malloc((result->count + 1) * sizeof *spelt);
    size_t count = 0, i;
    const char *error;
    if (!spelt)
        return TEXT_NO_MEMORY;
    for (i = 0; i < result->count; i++)
        if (is_spelt(model, result->ids[i]))
            spelt[count++] = result->ids[i];
    error = model->tokens.count ? bpe_decode(&model->tokens, spelt, count, &result->text, &result->size)
                                : sentencepiece_decode(&model->vocabulary, spelt, count, &result->text, &result->size);
    free(spelt);
    if (error || model->tokens.count) /* the slow tokenizer alone takes spaces off the ends */
        return error;
    while (result->size > 0 && result->text[result->size - 1] == ' ')
        result->text[--result->size] = 0;
    for (i = 0; result->text[i] == ' ';)
        i++;
    memmove(result->text, result->text + i, (result->size -= i) + 1);
    return NULL;
}

size_t translate_piece(const t5 *model, int32_t id, char *out, size_t size)
{
    const sentencepiece *v = &model->vocabulary;
    size_t length = 0;
    const char *text = bpe_spelling(&model->tokens, id, &length);
    int wrote;
    if (id >= 0 && id < v->count) {
        text = v->pieces[id].text.text;
        length = v->pieces[id].text.size;
    }
    if (text)
        wrote = snprintf(out, size, "%.*s", (int)length, text);
    else if (id >= v->count && id - v->count < v->extra_ids)
        wrote = snprintf(out, size, "<extra_id_%ld>", (long)(v->count + v->extra_ids - 1 - id));
    else
        wrote = snprintf(out, size, "<%ld>", (long)id);
    return wrote > 0 ? (size_t)wrote : 0;
}

/* ==== Translating ================================================================================================ */

/* A text on its way. */
typedef struct journey {
    t5_text text;
    beam_search search;
    translation *result;
} journey;

/* What the texts of a batch share. */
typedef struct batch {
    t5 *model;
    const translate_opts *opts;
    journey *journeys;
    size_t count, longest; /* texts; tokens of the longest */
    size_t beams;
    t5_text **open; /* [count]: the texts that are not done, */
    size_t *which;  /* [count]: and which they are */
    int32_t *tokens;
    float *logits, *probabilities, *log_sums; /* [beams][vocab_size] for each open text; [beams] */
} batch;

static const char *begin_batch(batch *all)
{
    size_t vocab_size = all->model->config.vocab_size;
    all->open = (t5_text **)layers_memory(all->count, 1, 1, sizeof *all->open);
    all->which = (size_t *)layers_memory(all->count, 1, 1, sizeof *all->which);
    all->tokens = (int32_t *)layers_memory(all->count, all->beams, 1, sizeof *all->tokens);
    all->logits = (float *)layers_memory(all->count, all->beams, vocab_size, sizeof *all->logits);
    all->probabilities = (float *)layers_memory(all->count, all->beams, vocab_size, sizeof *all->probabilities);
    all->log_sums = (float *)layers_memory(all->count, all->beams, 1, sizeof *all->log_sums);
    return all->open && all->which && all->tokens && all->logits && all->probabilities && all->log_sums ? NULL
                                                                                                        : "no memory";
}

static void end_batch(batch *all)
{
    size_t i;
    for (i = 0; all->journeys && i < all->count; i++) {
        t5_end(all->model, &all->journeys[i].text);
        beam_end(&all->journeys[i].search);
    }
    free(all->journeys);
    free(all->open);
    free(all->which);
    free(all->tokens);
    free(all->logits);
    free(all->probabilities);
    free(all->log_sums);
}

/* The encoder, of all texts at once: shorter ones are padded. Then each begins its search. */
static const char *encode(batch *all)
{
    t5 *model = all->model;
    size_t d = model->config.d_model, i, n;
    int32_t *ids = (int32_t *)layers_memory(all->count, all->longest, 1, sizeof *ids);
    size_t *lens = (size_t *)layers_memory(all->count, 1, 1, sizeof *lens);
    float *states = (float *)layers_memory(all->count, all->longest, d, sizeof *states);
    beam_opts search = all->opts->search;
    const char *error = ids && lens && states ? NULL : "no memory";
    search.start_id = model->config.start_id;
    search.eos_id = model->config.eos_id;
    for (i = 0; !error && i < all->count; i++) {
        const translation *result = all->journeys[i].result;
        for (n = 0; n < all->longest; n++)
            ids[i * all->longest + n] = n < result->source_count ? result->source[n] : model->config.pad_id;
        lens[i] = result->source_count;
    }
    if (!error)
        error = t5_encode(model, states, ids, lens, all->count, all->longest);
    for (i = 0; !error && i < all->count; i++) {
        journey *j = &all->journeys[i];
        error = beam_begin(&j->search, &search, model->config.vocab_size);
        if (!error)
            error = t5_begin(model, &j->text, states + i * all->longest * d, lens[i], all->beams);
    }
    free(ids);
    free(lens);
    free(states);
    return error;
}

/* log(sum of exp(logits)) of n rows: the largest less the log of its probability. */
static const char *sum_up(batch *all, size_t n)
{
    t5 *model = all->model;
    size_t size = model->config.vocab_size, r, i, top;
    attn_ctx ctx = {{0, 0, 0}, 0, 0, ATTN_ISA_BEST, 0, 0, 0};
    ctx.parallel = model->net.parallel;
    ctx.fault = &model->net.fault;
    if (!layers_check(&model->net,
                      attn_softmax_ctx(attn_mat_of(all->probabilities, ATTN_F32, n, size),
                                       attn_mat_of(all->logits, ATTN_F32, n, size), &ctx),
                      "attn_softmax_ctx"))
        return layers_outcome(&model->net);
    for (r = 0; r < n; r++) {
        const float *row = all->logits + r * size;
        for (top = 0, i = 1; i < size; i++)
            if (row[i] > row[top])
                top = i;
        all->log_sums[r] = row[top] - logf(all->probabilities[r * size + top]);
    }
    return NULL;
}

/* One more token for each hypothesis of the texts that are not done. Sets *open to how many those were. */
static const char *step(batch *all, size_t *open)
{
    t5 *model = all->model;
    size_t i, n = 0;
    const char *error;
    for (i = 0; i < all->count; i++) {
        journey *j = &all->journeys[i];
        if (j->search.done)
            continue;
        memcpy(all->tokens + n * all->beams, j->search.tokens, all->beams * sizeof *all->tokens);
        all->open[n] = &j->text;
        all->which[n++] = i;
    }
    *open = n;
    if (n == 0)
        return NULL;
    if ((error = t5_decode(model, all->open, n, all->tokens, 1, all->logits)) || (error = sum_up(all, n * all->beams)))
        return error;
    for (i = 0; !error && i < n; i++) {
        journey *j = &all->journeys[all->which[i]];
        error = beam_step(&j->search, all->logits + i * all->beams * model->config.vocab_size,
                          all->log_sums + i * all->beams);
        if (!error && j->search.moved && !j->search.done)
            error = t5_reorder(model, &j->text, j->search.from);
        if (!error && all->opts->step)
            all->opts->step(all->opts->user, j->result, &j->search);
    }
    return error;
}

/* The best hypothesis of a text becomes its translation. */
static const char *take(t5 *model, const journey *j)
{
    const beam_hypothesis *best = &j->search.best[0];
    translation *result = j->result;
    result->ids = (int32_t *)malloc((best->count + 1) * sizeof *result->ids);
    if (!result->ids)
        return "no memory";
    memcpy(result->ids, best->ids, best->count * sizeof *best->ids);
    result->count = best->count;
    result->score = best->score;
    return spell(model, result);
}

static double seconds(const translate_times *times)
{
    return times && times->now ? times->now() : 0;
}

static const char *run(batch *all, translate_times *times)
{
    size_t open = 1, i;
    double start = seconds(times), middle;
    const char *error = encode(all);
    middle = seconds(times);
    if (!error)
        error = begin_batch(all);
    while (!error && open > 0)
        error = step(all, &open);
    for (i = 0; !error && i < all->count; i++)
        error = take(all->model, &all->journeys[i]);
    if (error || !times)
        return error;
    times->encoding += middle - start;
    times->decoding += seconds(times) - middle;
    for (i = 0; i < all->count; i++) {
        times->encoded += all->journeys[i].result->source_count;
        times->decoded += all->journeys[i].result->count;
    }
    return NULL;
}

const char *translate(t5 *model, const translate_opts *opts, const translate_text *texts, size_t count,
                      translation *results, translate_times *times)
{
    batch all;
    size_t i;
    const char *error = NULL;
    memset(&all, 0, sizeof all);
    memset(results, 0, count * sizeof *results);
    all.model = model;
    all.opts = opts;
    all.beams = opts->search.beams;
    all.journeys = (journey *)calloc(count + 1, sizeof *all.journeys);
    if (!all.journeys)
        return "no memory";
    for (i = 0; !error && i < count; i++) {
        error = tokenize(model, opts, &texts[i], &results[i]);
        if (error || results[i].error[0])
            continue;
        all.journeys[all.count++].result = &results[i];
        if (results[i].source_count > all.longest)
            all.longest = results[i].source_count;
    }
    if (!error && all.count > 0)
        error = run(&all, times);
    end_batch(&all);
    return error;
}

const char *translate_again(t5 *model, const translation *result)
{
    size_t d = model->config.d_model, vocab_size = model->config.vocab_size, n = result->count, i;
    float *states = (float *)layers_memory(result->source_count, d, 1, sizeof *states);
    float *logits = (float *)layers_memory(n, vocab_size, 1, sizeof *logits);
    int32_t *tokens = (int32_t *)layers_memory(n, 1, 1, sizeof *tokens);
    t5_text text, *one = &text;
    const char *error = states && logits && tokens ? NULL : "no memory";
    memset(&text, 0, sizeof text);
    for (i = 0; !error && i < n; i++)
        tokens[i] = i > 0 ? result->ids[i - 1] : model->config.start_id;
    if (!error)
        error = t5_encode(model, states, result->source, &result->source_count, 1, result->source_count);
    if (!error)
        error = t5_begin(model, &text, states, result->source_count, 1);
    if (!error)
        error = t5_decode(model, &one, 1, tokens, n, logits);
    t5_end(model, &text);
    free(states);
    free(logits);
    free(tokens);
    return error;
}

/* Keeps what t5_watch shows of cross-attention. */
static void keep(void *user, t5_part part, size_t block, attn_tensor weights)
{
    size_t numbers = weights.heads * weights.len * weights.dim;
    (void)part;
    memcpy((float *)user + block * numbers, weights.data, numbers * sizeof(float));
}

const char *translate_attention(t5 *model, const translation *result, float *weights)
{
    t5_watch watch = model->watch;
    const char *error;
    model->watch.look = keep;
    model->watch.user = weights;
    model->watch.cross_alone = 1;
    error = translate_again(model, result);
    model->watch = watch;
    return error;
}
