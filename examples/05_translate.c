/* Translation with T5: what pipeline("translation_en_to_fr") of Hugging Face's transformers does, on attn.h. The model
   is a directory as it is published, with config.json, model.safetensors and tokenizer.json or spiece.model; or a GGUF.

       cc -O2 -o 05_translate 05_translate.c models/t5.c models/beam.c models/translate.c \
           models/layers.c models/checkpoint.c models/json.c models/safetensors.c models/gguf*.c \
           models/sentencepiece.c models/bpe*.c models/patterns.c models/unicode.c -lm -lpthread
       05_translate t5-small "The house is wonderful."
       05_translate --to de --beams 1 t5-base < lines.txt
       05_translate --attention house.svg t5-small "The house is wonderful."

   Each text gives one line of output; one that is blank or has failed, an empty line. Exit status: 0, 1 when a file, a
   text or memory fails, 2 when the command line is wrong. */
#define _DEFAULT_SOURCE 1 /* clock_gettime with -std=c99 */
#define ATTN_THREADS
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"
#include "models/known.h"
#include "models/program.h"
#include "models/translate.h"

enum {
    PIECE = 64,      /* bytes of a label */
    PIECES = 1000,   /* labels on a side of a map */
    CELLS = 2000000, /* of all maps */
    WORDS = 8        /* that a warning names */
};
static const double MANY = 2e10; /* multiplications that take a good part of a second */

typedef struct options {
    const char *directory, *from, *to, *prefix, *attention;
    char **texts;
    size_t count, batch, threads; /* texts: 0 for the lines of the input */
    int help, greedy, early_stopping, no_early_stopping, scores, ids, timing;
    beam_opts said; /* of the search, on the command line: 0, or what no option can say, where nothing is */
    translate_opts translate;
} options;

typedef struct program {
    options opts;
    t5 model;
    known_model taught;
    program_progress progress; /* of a batch */
    size_t steps;              /* of its search, texts together */
    translate_times times;
    translate_text *texts; /* [batch]: those of a batch that the model is to see, and what becomes of them */
    translation *results;
    int failed; /* whether a text has */
} program;

/* ==== The command line =========================================================================================== */

static const char help[] = "usage: 05_translate [OPTION...] MODEL [TEXT...]\n"
                           "Translates each TEXT, or each line of the input, with a T5: a directory\n"
                           "(config.json, model.safetensors, tokenizer.json or spiece.model) or a GGUF. A\n"
                           "line of output for each, empty where the text is blank or fails. What is in\n"
                           "brackets holds where the files say nothing.\n"
                           "  --from en --to LANG    from English to fr, de or ro (fr)\n"
                           "  --prefix TEXT          this before each TEXT, in place of what these say\n"
                           "  --beams N              hypotheses to follow, 1 to 1024 (4)\n"
                           "  --greedy               one\n"
                           "  --max-length N         one more than the most tokens of a translation (257)\n"
                           "  --length-penalty X     a score is log-probability / length^X (1.0)\n"
                           "  --early-stopping       end when N are found (--no-early-stopping: search on\n"
                           "                         while a better one may come; this)\n"
                           "  --no-repeat-ngram N    no N tokens in a row twice; 0: they may (0)\n"
                           "  --scores               the score and a tab before each translation\n"
                           "  --ids                  ids of tokens instead of text\n"
                           "  --attention FILE.svg   draws how the translation of one TEXT attends to it\n"
                           "  --batch N              texts or lines at a time (8; lines of a terminal: 1)\n"
                           "  --threads N            up to 1024; 0: one for each processor (0)\n"
                           "  --timing               tokens per second and peak memory, on stderr\n"
                           "  --help                 this text\n"
                           "  --                     what follows is no option\n"
                           "Exit status: 0; 1 when a file, a text or memory fails; 2 when the command line\n"
                           "is wrong.";

/* What the options ask for together. */
static int settle(options *o)
{
    static const char *const prefixes[][2] = {{"fr", "translate English to French: "},
                                              {"de", "translate English to German: "},
                                              {"ro", "translate English to Romanian: "}};
    size_t i = 0;
    if (!o->directory)
        return program_wrong("the model is missing", NULL, NULL);
    if (o->prefix && (o->from || o->to))
        return program_wrong("--prefix stands in place of --from and --to", NULL, NULL);
    if (o->from && strcmp(o->from, "en") != 0)
        return program_wrong("--from:", o->from, " is not en");
    while (o->to && i < 3 && strcmp(o->to, prefixes[i][0]) != 0)
        i++;
    if (i == 3)
        return program_wrong("--to:", o->to, " is not fr, de or ro");
    if (o->greedy && o->said.beams > 1)
        return program_wrong("--greedy is one beam, --beams says more", NULL, NULL);
    if (o->attention && !*o->attention)
        return program_wrong("--attention: the name of the file is missing", NULL, NULL);
    if (o->attention && o->count != 1)
        return program_wrong("--attention takes exactly one TEXT", NULL, NULL);
    o->translate.prefix = o->prefix ? o->prefix : prefixes[i][1];
    return 0;
}

/* Reads the command line; what is no option moves to the front of argv. Returns 0 or the exit status. */
static int read_options(options *o, int argc, char **argv)
{
    beam_opts *search = &o->said;
    const program_option table[] = {{"--from", PROGRAM_TEXT, &o->from, 0, 0},
                                    {"--to", PROGRAM_TEXT, &o->to, 0, 0},
                                    {"--prefix", PROGRAM_TEXT, &o->prefix, 0, 0},
                                    {"--beams", PROGRAM_SIZE, &search->beams, 1, 1024},
                                    {"--greedy", PROGRAM_FLAG, &o->greedy, 0, 0},
                                    {"--max-length", PROGRAM_SIZE, &search->max_length, 2, 1000000},
                                    {"--length-penalty", PROGRAM_REAL, &search->length_penalty, 0, 0},
                                    {"--early-stopping", PROGRAM_FLAG, &o->early_stopping, 0, 0},
                                    {"--no-early-stopping", PROGRAM_FLAG, &o->no_early_stopping, 0, 0},
                                    {"--no-repeat-ngram", PROGRAM_SIZE, &search->no_repeat_ngram, 0, 1000000},
                                    {"--scores", PROGRAM_FLAG, &o->scores, 0, 0},
                                    {"--ids", PROGRAM_FLAG, &o->ids, 0, 0},
                                    {"--attention", PROGRAM_TEXT, &o->attention, 0, 0},
                                    {"--batch", PROGRAM_SIZE, &o->batch, 1, 4096},
                                    {"--threads", PROGRAM_SIZE, &o->threads, 0, 1024},
                                    {"--timing", PROGRAM_FLAG, &o->timing, 0, 0},
                                    {"--help", PROGRAM_HELP, &o->help, 0, 0}};
    int operands, status = program_options(table, sizeof table / sizeof *table, argc, argv, &operands);
    if (status)
        return status;
    if (o->help)
        return 0;
    o->directory = operands ? argv[0] : NULL;
    o->texts = argv + 1;
    o->count = operands ? (size_t)operands - 1 : 0;
    return settle(o);
}

/* ==== Translating ================================================================================================ */

static void show_times(const translate_times *times, double loading)
{
    fprintf(stderr, "loaded %.3f s\n", loading);
    program_show_rate("encoded", times->encoded, "tokens", times->encoding);
    program_show_rate("decoded", times->decoded, "tokens", times->decoding);
    program_show_memory();
}

/* How to search: what the command line says, else the files, else translate_defaults. */
static const char *settle_search(program *p)
{
    options *o = &p->opts;
    beam_opts *search = &o->translate.search;
    const char *error;
    char task[40];
    snprintf(task, sizeof task, "translation_en_to_%s", o->to ? o->to : "fr");
    error = translate_settle(&p->model, o->prefix ? NULL : task, &o->translate);
    if (o->greedy || o->said.beams)
        search->beams = o->greedy ? 1 : o->said.beams;
    if (o->said.max_length)
        search->max_length = o->said.max_length;
    if (o->said.length_penalty < HUGE_VAL)
        search->length_penalty = o->said.length_penalty;
    if (o->said.no_repeat_ngram < SIZE_MAX)
        search->no_repeat_ngram = o->said.no_repeat_ngram;
    if (o->early_stopping || o->no_early_stopping)
        search->early_stopping = o->early_stopping;
    return error;
}

static const char *open_model(program *p)
{
    program_progress loading = program_progress_of("loading");
    const checkpoint_opts opts = {program_show_progress, &loading};
    const char *error = t5_open(&p->model, p->opts.directory, &opts);
    program_end_progress(&loading);
    error = error ? error : settle_search(p);
    program_notes(p->model.files.notes);
    if (error)
        return error;
    program_notes(p->model.tokens.notes);
    p->taught = known_of(&p->model.files);
    return p->model.files.failed ? p->model.files.error : NULL;
}

static void show_step(void *user, const translation *result, const beam_search *search)
{
    program *p = (program *)user;
    (void)result, (void)search;
    program_show_count(&p->progress, ++p->steps, "tokens");
}

/* Translates the texts of a batch that the model is to see. */
static const char *translate_texts(program *p, size_t count)
{
    size_t bytes = 0;
    const char *error;
    for (size_t i = 0; i < count; i++)
        bytes += p->texts[i].size;
    p->progress = program_progress_of("translating");
    p->steps = 0;
    if ((double)bytes * (double)p->model.files.bytes > MANY)
        p->progress.next = 0;
    program_show_count(&p->progress, 0, "tokens");
    error = translate(&p->model, &p->opts.translate, p->texts, count, p->results, &p->times);
    program_end_progress(&p->progress);
    return program_about(p->opts.directory, error);
}

/* Says which words of a text the model has not learnt, and whether it may well be wrong; `where` is "text 1". */
static void warn(const program *p, translate_text text, const translation *result, const char *where)
{
    size_t at = 0, size, said = 0;
    for (; (size = known_not(&p->taught, text.text, text.size, &at)) > 0; at += size) {
        if (said == WORDS) {
            fputs(", ..", stderr);
            break;
        }
        fprintf(stderr, said ? ", " : "%s: %s: words that it has never seen: ", program_name, where);
        program_put(stderr, text.text + at, size < PIECE ? size : PIECE);
        said++;
    }
    if (said)
        putc('\n', stderr);
    if ((double)result->score < p->taught.doubtful_below)
        program_failed("%s: probably wrong: its score is %.3f, right ones are above %.3g", where, (double)result->score,
                       p->taught.doubtful_below);
}

/* How a token is spelt, into a label: a space as a space, cut where a character ends. */
static const char *label(const t5 *model, int32_t id, char out[PIECE])
{
    static const char space[] = "\xe2\x96\x81"; /* U+2581 */
    size_t end = PIECE - 1;
    char *found;
    if (translate_piece(model, id, out, PIECE) >= PIECE) {
        while (end > 0 && (out[end - 1] & 0xc0) == 0x80)
            end--;
        out[end ? end - 1 : 0] = 0;
    }
    while ((found = strstr(out, space)) != NULL) {
        *found = ' ';
        memmove(found + 1, found + 3, strlen(found + 3) + 1);
    }
    return out;
}

/* The cross-attention of a translation, in a map for each head, block by block: the translation's pieces are the rows
   of a map, those of the text with its prefix its columns. */
static const char *draw(t5 *model, const translation *result, const char *path)
{
    size_t rows = result->count, cols = result->source_count, heads = model->config.num_heads;
    size_t count = heads * model->decoder.count;
    char(*pieces)[PIECE] = (char(*)[PIECE])malloc((rows + cols) * sizeof *pieces);
    const char **labels = (const char **)malloc((rows + cols) * sizeof *labels), *error = "no memory";
    char(*titles)[PIECE] = (char(*)[PIECE])malloc(count * sizeof *titles);
    float *weights =
        rows <= PIECES && cols <= PIECES ? (float *)malloc((count * rows * cols + 1) * sizeof *weights) : NULL;
    show_map *maps = (show_map *)malloc(count * sizeof *maps);
    attn_mat *mats = (attn_mat *)malloc(count * sizeof *mats);
    if (rows > PIECES || cols > PIECES)
        error = program_too_many("--attention", PIECES, "pieces on a side");
    else if (rows * cols > CELLS / count)
        error = program_too_many("--attention", CELLS, "weights in all heads together");
    else if (pieces && labels && titles && weights && maps && mats)
        error = program_about(model->files.directory, translate_attention(model, result, weights));
    for (size_t i = 0; !error && i < rows + cols; i++)
        labels[i] = label(model, i < rows ? result->ids[i] : result->source[i - rows], pieces[i]);
    for (size_t n = 0; !error && n < count; n++) {
        snprintf(titles[n], PIECE, "block %lu, head %lu", (unsigned long)(n / heads + 1),
                 (unsigned long)(n % heads + 1));
        mats[n] = attn_mat_of(weights + n * rows * cols, ATTN_F32, rows, cols);
        maps[n] = show_map_of(titles[n], SHOW_BLUE, "translation", "text", 2);
        maps[n].row_labels = labels;
        maps[n].col_labels = labels + rows;
        maps[n].high = 1;
        maps[n].side = 14;
    }
    if (!error)
        show_picture(path, "Cross-attention of each head", mats, maps, count, count > 24 ? heads : 2);
    free(mats);
    free(maps);
    free(weights);
    free(titles);
    free((void *)labels);
    free(pieces);
    return error;
}

static void print_translation(const options *o, const translation *result)
{
    if (o->scores)
        printf("%.6f\t", (double)result->score);
    for (size_t i = 0; o->ids && i < result->count; i++)
        printf("%s%ld", i ? " " : "", (long)result->ids[i]);
    if (!o->ids)
        program_put(stdout, result->text, result->size);
}

/* Whether the model is to see a line. */
static int is_text(translate_text line)
{
    return line.size <= PROGRAM_LINE && !program_is_blank(line.text, line.size);
}

/* Translates a batch, from number `first` of its kind on, and prints a line for each. Returns NULL, or why
   there is no point in going on. */
static const char *translate_batch(program *p, const translate_text *lines, size_t count, const char *kind,
                                   size_t first)
{
    const options *o = &p->opts;
    const char *error = NULL;
    char where[64];
    size_t used = 0, next = 0;
    for (size_t i = 0; i < count; i++)
        if (is_text(lines[i]))
            p->texts[used++] = lines[i];
    if (used)
        error = translate_texts(p, used);
    for (size_t i = 0; i < count && !error; i++) {
        const translation *result = is_text(lines[i]) ? &p->results[next++] : NULL;
        if (result && result->error[0]) {
            p->failed = program_failed("%s %lu: %s", kind, (unsigned long)(first + i), result->error);
        } else if (lines[i].size > PROGRAM_LINE) {
            p->failed = program_failed("%s %lu: more than %d bytes", kind, (unsigned long)(first + i), PROGRAM_LINE);
        } else if (result) {
            snprintf(where, sizeof where, "%s %lu", kind, (unsigned long)(first + i));
            warn(p, lines[i], result, where);
            print_translation(o, result);
        }
        putchar('\n');
    }
    if (!error)
        error = program_flush();
    if (!error && o->attention && !used)
        error = "--attention: there is no text to draw";
    if (!error && o->attention && !p->results[0].error[0])
        error = draw(&p->model, &p->results[0], o->attention);
    translate_free(p->results, used);
    return error;
}

static const char *translate_arguments(program *p)
{
    const options *o = &p->opts;
    translate_text *lines = (translate_text *)malloc(o->batch * sizeof *lines);
    const char *error = lines ? NULL : "no memory";
    for (size_t first = 0, count; first < o->count && !error; first += count) {
        for (count = 0; count < o->batch && first + count < o->count; count++) {
            lines[count].text = o->texts[first + count];
            lines[count].size = strlen(lines[count].text);
        }
        error = translate_batch(p, lines, count, "text", first + 1);
    }
    free(lines);
    return error;
}

static const char *translate_input(program *p)
{
    size_t batch = p->opts.batch, count, number = 1;
    program_line *buffers = (program_line *)calloc(batch, sizeof *buffers);
    translate_text *lines = (translate_text *)malloc(batch * sizeof *lines);
    const char *error = buffers && lines ? NULL : "no memory";
    for (count = batch; count == batch && !error; number += count) {
        for (count = 0; count < batch && program_read_line(&buffers[count]); count++) {
            lines[count].text = buffers[count].text;
            lines[count].size = buffers[count].size;
        }
        if (count)
            error = translate_batch(p, lines, count, "the input: line", number);
        if (!error && count < batch)
            error = buffers[count].error;
    }
    for (size_t i = 0; buffers && i < batch; i++)
        free(buffers[i].text);
    free(lines);
    free(buffers);
    return error;
}

/* With an open model. Returns the exit status. */
static int run(program *p)
{
    options *o = &p->opts;
    const char *error;
    attn_status status;
    if (o->translate.search.beams > p->model.config.vocab_size / 2)
        return program_wrong("--beams: more than half of the tokens that the model has", NULL, NULL);
    status = o->threads == 1 ? ATTN_OK : attn_pool_new(&p->model.net.parallel, o->threads);
    if (status != ATTN_OK)
        return program_failed("--threads: %s", attn_status_string(status));
    p->texts = (translate_text *)malloc(o->batch * sizeof *p->texts);
    p->results = (translation *)malloc(o->batch * sizeof *p->results);
    error = !p->texts || !p->results ? "no memory" : o->count ? translate_arguments(p) : translate_input(p);
    return error ? program_failed("%s", error) : p->failed;
}

int main(int argc, char **argv)
{
    static program p; /* zero */
    double start = program_now(), loading;
    const char *error;
    int status;
    program_begin(show_program = "05_translate");
    p.opts.translate = translate_defaults();
    p.opts.said.length_penalty = HUGE_VAL;
    p.opts.said.no_repeat_ngram = SIZE_MAX;
    p.opts.translate.step = show_step;
    p.opts.translate.user = &p;
    status = read_options(&p.opts, argc, argv);
    if (status)
        return status;
    if (p.opts.help)
        return program_help(help);
    if (!p.opts.batch)
        p.opts.batch = !p.opts.count && program_is_terminal(0) ? 1 : 8;
    if ((error = open_model(&p)) != NULL)
        return program_failed("%s", error);
    loading = program_now() - start;
    p.times.now = program_now;
    status = run(&p);
    if (p.opts.timing && status != 2)
        show_times(&p.times, loading);
    free(p.texts);
    free(p.results);
    attn_pool_free(&p.model.net.parallel);
    t5_close(&p.model);
    return status;
}
