/* Search by meaning: the lines of a file that are nearest to a question, as sentence-transformers finds them, on
   attn.h. The model is a directory as it is published, such as all-MiniLM-L6-v2: config.json, model.safetensors,
   vocab.txt or tokenizer.json, and what says how a text becomes a vector (modules.json, 1_Pooling/config.json, ..).

       cc -O2 -o 12_search 12_search.c models/bert.c models/vectors.c models/wordpiece.c models/unicode.c \
           models/layers.c models/checkpoint.c models/json.c models/safetensors.c models/gguf*.c -lm -lpthread
       12_search all-MiniLM-L6-v2 notes.txt "how do I reset my password"
       12_search --index --top 3 all-MiniLM-L6-v2 notes.txt < questions.txt
       12_search --embed notes.npy all-MiniLM-L6-v2 notes.txt

   Where config_sentence_transformers.json has prompts named "query" and "document", these stand before questions and
   before lines; its truncate_dim shortens vectors. A line of output is the cosine of the two vectors, the number of the
   line, and the line. Exit status: 0, 1 when a file, a line or memory fails, 2 when the command line is wrong. */
#define _DEFAULT_SOURCE 1 /* clock_gettime with -std=c99 */
#define ATTN_THREADS
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "models/bert.h"
#include "models/program.h"
#include "models/vectors.h"

#include <math.h>

enum {
    CHUNK = 1024,        /* lines between two looks at the progress */
    TOP = 5,             /* results of a query, if nothing is said */
    FILE_SIZE = 1 << 28, /* bytes of the file, at most: it is held whole, and so are the vectors of its lines */
    LINES = 1 << 22      /* of it, at most: each takes some 70 bytes beside its text and its vector */
};

static const char INDEX[] = ".attn-index"; /* what the name of an index ends in */

typedef struct options {
    const char *directory, *path, *embed;
    char **queries;
    size_t count, top, threads; /* queries: 0 for the lines of the input */
    int help, index, timing;
} options;

/* The file: its lines, and of those that are to be found the first of each kind. */
typedef struct notes {
    char *text;
    size_t size;
    bert_text *lines;
    size_t count;
    bert_text *kinds; /* lines that differ, neither blank nor too long */
    size_t *kind_of;  /* [count] of each line; `different` for one that has none */
    size_t *line_of;  /* [different] the first line of each kind */
    size_t different;
    float *vectors; /* different x dimension */
} notes;

typedef struct program {
    options opts;
    bert model;
    notes notes;
    double embedding;        /* seconds */
    bert_times times;        /* of that */
    size_t embedded, tokens; /* lines; and tokens in them */
    int failed;              /* something has, but not all */
} program;

/* ==== The command line =========================================================================================== */

static const char help[] = "usage: 12_search [OPTION...] MODEL_DIR FILE [QUERY...]\n"
                           "Prints the lines of FILE that are nearest in meaning to each QUERY, or to each\n"
                           "line of the input, by a BERT model of a directory (config.json,\n"
                           "model.safetensors, vocab.txt or tokenizer.json, modules.json): score, a tab,\n"
                           "number of the line, a tab, the line. An empty line comes after the results of\n"
                           "each query, but for a single QUERY. Blank lines are not found, and of equal ones\n"
                           "the first.\n"
                           "  --top N                lines for each query, 1 to 1000000 (5)\n"
                           "  --index                keeps the vectors of the lines in FILE.attn-index, and\n"
                           "                         reads them there while FILE and the model are the same\n"
                           "  --embed OUT.npy        writes the vectors of the lines for numpy.load: a row\n"
                           "                         for each line, zeros for one that is blank or too long;\n"
                           "                         without a QUERY that is all\n"
                           "  --threads N            up to 1024; 0: one for each processor (0)\n"
                           "  --timing               lines and tokens per second and peak memory, on stderr\n"
                           "  --help                 this text\n"
                           "  --                     what follows is no option\n"
                           "Exit status: 0; 1 when a file, a line or memory fails; 2 when the command line\n"
                           "is wrong.";

/* Returns 0 or the exit status. */
static int read_options(options *o, int argc, char **argv)
{
    const program_option table[] = {
        {"--top", PROGRAM_SIZE, &o->top, 1, 1000000}, {"--index", PROGRAM_FLAG, &o->index, 0, 0},
        {"--embed", PROGRAM_TEXT, &o->embed, 0, 0},   {"--threads", PROGRAM_SIZE, &o->threads, 0, 1024},
        {"--timing", PROGRAM_FLAG, &o->timing, 0, 0}, {"--help", PROGRAM_HELP, &o->help, 0, 0}};
    int operands, status = program_options(table, sizeof table / sizeof *table, argc, argv, &operands);
    if (status || o->help)
        return status;
    if (operands < 1)
        return program_wrong("the model is missing", NULL, NULL);
    if (operands < 2)
        return program_wrong("the file to search is missing", NULL, NULL);
    if (o->embed && !*o->embed)
        return program_wrong("--embed: the name of the file is missing", NULL, NULL);
    o->directory = argv[0];
    o->path = argv[1];
    o->queries = argv + 2;
    o->count = (size_t)operands - 2;
    return 0;
}

/* ==== The file =================================================================================================== */

/* Reads the file whole; a NUL follows. */
static const char *read_text(notes *n, const char *path)
{
    FILE *file = fopen(path, "rb");
    int read, failed;
    if (!file)
        return program_about(path, strerror(errno));
    read = program_read_all(file, FILE_SIZE, &n->text, &n->size);
    failed = ferror(file) ? (errno ? errno : EIO) : 0;
    fclose(file);
    if (!read)
        return program_about(path, "no memory");
    if (n->size > FILE_SIZE)
        return program_too_many(path, FILE_SIZE, "bytes");
    return failed ? program_about(path, strerror(failed)) : NULL;
}

static size_t line_end(const notes *n, size_t at)
{
    const char *stop = (const char *)memchr(n->text + at, '\n', n->size - at);
    return stop ? (size_t)(stop - n->text) : n->size;
}

/* Lines end in LF, CRLF or with the file. */
static const char *split_lines(notes *n, const char *path)
{
    size_t at, end;
    for (at = 0; at < n->size; at = line_end(n, at) + 1)
        if (++n->count > LINES)
            return program_too_many(path, LINES, "lines");
    n->lines = (bert_text *)calloc(n->count + 1, sizeof *n->lines);
    n->kinds = (bert_text *)calloc(n->count + 1, sizeof *n->kinds);
    n->kind_of = (size_t *)calloc(n->count + 1, sizeof *n->kind_of);
    n->line_of = (size_t *)calloc(n->count + 1, sizeof *n->line_of);
    if (!n->lines || !n->kinds || !n->kind_of || !n->line_of)
        return program_about(path, "no memory");
    n->count = 0;
    for (at = 0; at < n->size; at = end + 1) {
        bert_text *line = &n->lines[n->count++];
        end = line_end(n, at);
        line->text = n->text + at;
        line->size = end > at && n->text[end - 1] == '\r' ? end - 1 - at : end - at;
    }
    return NULL;
}

/* Numbers the lines that differ, by a table of at least twice as many places. */
static const char *find_kinds(program *p)
{
    notes *n = &p->notes;
    size_t places = 16, i, at, none = SIZE_MAX, *table;
    while (places < 2 * n->count)
        places *= 2;
    table = (size_t *)malloc(places * sizeof *table);
    if (!table)
        return program_about(p->opts.path, "no memory");
    for (at = 0; at < places; at++)
        table[at] = none;
    for (i = 0; i < n->count; i++) {
        bert_text line = n->lines[i];
        n->kind_of[i] = none;
        if (line.size > PROGRAM_LINE) {
            program_too_long(p->opts.path, i + 1);
            p->failed = 1;
        }
        if (line.size > PROGRAM_LINE || program_is_blank(line.text, line.size))
            continue;
        at = (size_t)vectors_hash(0, line.text, line.size) & (places - 1);
        while (table[at] != none &&
               (n->kinds[table[at]].size != line.size || memcmp(n->kinds[table[at]].text, line.text, line.size) != 0))
            at = (at + 1) & (places - 1);
        if (table[at] == none) {
            n->kinds[n->different] = line;
            n->line_of[n->different] = i;
            table[at] = n->different++;
        }
        n->kind_of[i] = table[at];
    }
    free(table);
    return n->different ? NULL : program_about(p->opts.path, "there is no line to search");
}

/* ==== Vectors ==================================================================================================== */

/* What decides about vectors: the weights, how the network uses them, and the files of the vocabulary. */
static uint64_t hash_model(const bert *model)
{
    static const char *const names[] = {
        "config.json",      "vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
        "added_tokens.json"};
    const bert_config *c = &model->config;
    const checkpoint *files = &model->files;
    uint64_t hash = 0;
    char text[4096];
    size_t i, t, size;
    size = (size_t)snprintf(text, sizeof text, "%lu heads, %lu layers, %lu tokens, pooling %d, normalised %d, %.17g",
                            (unsigned long)c->num_attention_heads, (unsigned long)c->num_hidden_layers,
                            (unsigned long)c->max_seq_length, (int)c->pooling, c->normalize, c->layer_norm_eps);
    hash = vectors_hash(hash, text, size);
    hash = vectors_hash(hash, model->document.text, model->document.size);
    for (i = 0; i < files->count; i++)
        for (t = 0; t < files->files[i].tensors.count; t++) {
            const safetensors_tensor *tensor = &files->files[i].tensors.tensors[t];
            const char *type = safetensors_dtype_name(tensor->dtype);
            hash = vectors_hash(hash, tensor->name, tensor->name_size);
            hash = vectors_hash(hash, type, strlen(type));
            hash = vectors_hash(hash, tensor->data, tensor->size);
        }
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        FILE *file;
        snprintf(text, sizeof text, "%s/%s", files->directory, names[i]);
        file = fopen(text, "rb");
        hash = vectors_hash(hash, names[i], file ? 1 : 0);
        while (file && (size = fread(text, 1, sizeof text, file)) > 0)
            hash = vectors_hash(hash, text, size);
        if (file)
            fclose(file);
    }
    return hash;
}

static const char *embed_lines(program *p)
{
    notes *n = &p->notes;
    program_progress state = program_progress_of("reading");
    double start = program_now();
    size_t first, count;
    const char *error = NULL;
    p->model.prompt = p->model.document;
    if (n->different > CHUNK / 4)
        state.next = 0; /* the first chunk may take long */
    for (first = 0; first < n->different && !error; first += count) {
        count = n->different - first < CHUNK ? n->different - first : (size_t)CHUNK;
        program_show_progress(&state, (double)first / (double)n->different);
        error = bert_embed(&p->model, n->vectors + first * p->model.config.dimension, n->kinds + first, count);
    }
    program_end_progress(&state);
    p->embedding = program_now() - start;
    p->embedded = n->different;
    p->tokens = p->model.tokens;
    p->times = p->model.times;
    return program_about(p->opts.directory, error);
}

/* The vectors of all kinds of lines, from the index if there is one to trust. */
static const char *find_vectors(program *p)
{
    notes *n = &p->notes;
    size_t d = p->model.config.dimension;
    char *path = NULL, error[VECTORS_ERROR];
    const char *failed;
    vectors_key key;
    int state = 0;
    n->vectors = (float *)layers_memory(n->different, d, 1, sizeof *n->vectors);
    if (!n->vectors)
        return program_about(p->opts.path, "no memory");
    if (p->opts.index) {
        size_t size = strlen(p->opts.path) + sizeof INDEX;
        path = (char *)malloc(size);
        if (!path)
            return program_about(p->opts.path, "no memory");
        snprintf(path, size, "%s%s", p->opts.path, INDEX);
        key.width = d;
        key.count = n->different;
        key.model = hash_model(&p->model);
        key.text = vectors_hash(0, n->text, n->size);
        state = vectors_load(path, key, n->vectors, error);
        if (state < 0)
            program_failed("%s; it is made anew", error);
    }
    failed = state > 0 ? NULL : embed_lines(p);
    if (!failed && path && state <= 0 && !vectors_store(path, key, n->vectors, error))
        p->failed = program_failed("%s", error);
    free(path);
    return failed;
}

/* --embed: a row for each line. */
static const char *write_vectors(program *p)
{
    static char error[VECTORS_ERROR];
    const notes *n = &p->notes;
    size_t d = p->model.config.dimension, i;
    float *rows =
        n->count <= (size_t)PTRDIFF_MAX / sizeof *rows / d ? (float *)calloc(n->count * d, sizeof *rows) : NULL;
    int written;
    if (!rows)
        return program_about(p->opts.embed, "no memory");
    for (i = 0; i < n->count; i++)
        if (n->kind_of[i] != SIZE_MAX)
            memcpy(rows + i * d, n->vectors + n->kind_of[i] * d, d * sizeof *rows);
    written = vectors_write_npy(p->opts.embed, rows, n->count, d, error);
    free(rows);
    return written ? NULL : error;
}

/* ==== Searching ================================================================================================== */

/* Vectors of length 1, so that products are cosines; one of zeros stays, and what is no number finds nothing. */
static void normalise(float *vectors, size_t count, size_t d)
{
    size_t i;
    for (; count; count--, vectors += d) {
        double squares = 0;
        for (i = 0; i < d; i++)
            squares += (double)vectors[i] * (double)vectors[i];
        for (i = 0; i < d && squares > 0; i++)
            vectors[i] = (float)((double)vectors[i] / sqrt(squares));
    }
}

typedef struct found {
    float score;
    size_t kind;
} found;

/* Whether a comes before b: the higher score, or the earlier line. NaN comes last. */
static int before(found a, found b)
{
    if (a.score > b.score || a.score < b.score)
        return a.score > b.score;
    if ((a.score != a.score) != (b.score != b.score))
        return b.score != b.score;
    return a.kind < b.kind;
}

/* Lets the one at i sink in a heap whose root comes last of all. */
static void sink(found *heap, size_t count, size_t i)
{
    for (;;) {
        size_t last = i, child;
        for (child = 2 * i + 1; child < 2 * i + 3 && child < count; child++)
            if (before(heap[last], heap[child]))
                last = child;
        if (last == i)
            return;
        found f = heap[i];
        heap[i] = heap[last];
        heap[last] = f;
        i = last;
    }
}

/* The best `top` of `count` scores, which are no fewer, best first. */
static void select_best(found *best, size_t top, const float *scores, size_t count)
{
    for (size_t i = 0; i < top; i++) {
        best[i].score = scores[i];
        best[i].kind = i;
    }
    for (size_t i = top / 2; i-- > 0;)
        sink(best, top, i);
    for (size_t i = top; i < count; i++) {
        const found f = {scores[i], i};
        if (before(f, best[0])) {
            best[0] = f;
            sink(best, top, 0);
        }
    }
    for (size_t i = top; i-- > 1;) {
        found f = best[0];
        best[0] = best[i];
        best[i] = f;
        sink(best, i, 0);
    }
}

/* Memory of the queries. */
typedef struct searcher {
    float *query, *scores; /* dimension; of all kinds of lines */
    found *best;           /* [top] */
} searcher;

static const char *search(program *p, searcher *s, bert_text text)
{
    const notes *n = &p->notes;
    layers *net = &p->model.net;
    size_t d = p->model.config.dimension, i;
    const char *error;
    p->model.prompt = p->model.query;
    error = bert_embed(&p->model, s->query, &text, 1);
    if (error)
        return program_about(p->opts.directory, error);
    normalise(s->query, 1, d);
    layers_project(net, s->scores, s->query, 1, attn_mat_of(n->vectors, ATTN_F32, n->different, d), 1);
    if (net->failed)
        return program_about(p->opts.directory, net->error);
    select_best(s->best, p->opts.top, s->scores, n->different);
    for (i = 0; i < p->opts.top; i++) {
        bert_text line = n->kinds[s->best[i].kind];
        printf("%.4f\t%lu\t", (double)s->best[i].score, (unsigned long)(n->line_of[s->best[i].kind] + 1));
        program_put(stdout, line.text, line.size);
        putchar('\n');
    }
    return NULL;
}

static const char *search_arguments(program *p, searcher *s)
{
    const char *error = NULL;
    for (size_t i = 0; i < p->opts.count && !error; i++) {
        bert_text query;
        query.text = p->opts.queries[i];
        query.size = strlen(query.text);
        if (!program_is_blank(query.text, query.size))
            error = search(p, s, query);
        if (p->opts.count > 1)
            putchar('\n');
    }
    return error ? error : program_flush();
}

static const char *search_input(program *p, searcher *s)
{
    program_line line = {NULL, 0, 0, 0, NULL};
    const char *error = NULL;
    while (!error && program_read_line(&line)) {
        bert_text query;
        query.text = line.text;
        query.size = line.size;
        if (line.size > PROGRAM_LINE) {
            program_too_long("the input", line.number);
            p->failed = 1;
        } else if (!program_is_blank(line.text, line.size)) {
            error = search(p, s, query);
        }
        putchar('\n');
        if (!error)
            error = program_flush();
    }
    free(line.text);
    return error ? error : line.error;
}

static const char *search_all(program *p)
{
    searcher s;
    size_t d = p->model.config.dimension, n = p->notes.different;
    const char *error;
    p->opts.top = p->opts.top < n ? p->opts.top : n;
    normalise(p->notes.vectors, n, d);
    s.query = (float *)malloc(d * sizeof *s.query);
    s.scores = (float *)malloc(n * sizeof *s.scores);
    s.best = (found *)malloc(p->opts.top * sizeof *s.best);
    if (!s.query || !s.scores || !s.best)
        error = "no memory";
    else
        error = p->opts.count ? search_arguments(p, &s) : search_input(p, &s);
    free(s.query);
    free(s.scores);
    free(s.best);
    return error;
}

/* ==== Running ==================================================================================================== */

/* With an open model. */
static const char *run(program *p)
{
    const options *o = &p->opts;
    attn_status status = o->threads == 1 ? ATTN_OK : attn_pool_new(&p->model.net.parallel, o->threads);
    const char *error;
    if (status != ATTN_OK)
        return program_about("--threads", attn_status_string(status));
    if ((error = read_text(&p->notes, o->path)) != NULL || (error = split_lines(&p->notes, o->path)) != NULL ||
        (error = find_kinds(p)) != NULL || (error = find_vectors(p)) != NULL)
        return error;
    if (o->embed && (error = write_vectors(p)) != NULL)
        return error;
    return o->embed && !o->count ? NULL : search_all(p);
}

static const char *open_model(program *p)
{
    program_progress loading = program_progress_of("loading");
    const checkpoint_opts opts = {program_show_progress, &loading};
    const char *error = bert_open(&p->model, p->opts.directory, &opts);
    program_end_progress(&loading);
    program_notes(p->model.files.notes);
    program_notes(error ? "" : p->model.vocabulary.notes);
    return error;
}

static void show_times(const program *p, double loading)
{
    const bert_times *t = &p->times;
    fprintf(stderr, "loaded %.3f s\n", loading);
    program_show_rate("embedded", p->embedded, "lines", p->embedding);
    program_show_rate("embedded", p->tokens, "tokens", p->embedding);
    fprintf(stderr, "of that products %.3f s %.2f Gflop/s, attention %.3f s\n", t->products,
            t->products > 0 ? t->flops / t->products * 1e-9 : 0.0, t->attention);
    program_show_memory();
}

int main(int argc, char **argv)
{
    static program p; /* zero */
    double start = program_now(), loading;
    const char *error;
    int status;
    program_begin("12_search");
    p.opts.top = TOP;
    status = read_options(&p.opts, argc, argv);
    if (status)
        return status;
    if (p.opts.help)
        return program_help(help);
    error = open_model(&p);
    loading = program_now() - start;
    p.model.times.now = program_now;
    if (!error)
        error = run(&p);
    if (!error && p.opts.timing)
        show_times(&p, loading);
    if (error)
        program_failed("%s", error);
    free(p.notes.text);
    free(p.notes.lines);
    free(p.notes.kinds);
    free(p.notes.kind_of);
    free(p.notes.line_of);
    free(p.notes.vectors);
    attn_pool_free(&p.model.net.parallel);
    bert_close(&p.model);
    return error || p.failed;
}
