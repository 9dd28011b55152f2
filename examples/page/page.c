/* What the page attention.html computes with: attn.h for WebAssembly, in functions that js/engine.js calls. `make page`
   builds it. Numbers cross the border as arrays of double in this memory, which page_memory gives out; texts as UTF-8.
   The model's files are read by fopen: js/engine.js answers the system calls of WASI that this becomes.

   A function that can fail returns 0, or else there is a sentence at page_message. */
#include "../../attn.h"
#include "../show.h"
#include "../models/translate.h"

#include <stdarg.h>

#define EXPORT(name) __attribute__((export_name(name)))

static char message[512];

/* Notes what a call came to: the argument at fault, if it is known, and the reason. Returns whether it failed. */
static int failed(attn_status status, const char *name, const attn_fault *fault)
{
    const char *argument = fault && fault->argument ? fault->argument : "";
    const char *other = fault && fault->other ? fault->other : "";
    message[0] = 0;
    if (status != ATTN_OK)
        snprintf(message, sizeof message, "%s: %s%s%s%s%s", name, argument, *other ? ", " : "", other,
                 *argument ? ": " : "", fault && fault->text[0] ? fault->text : attn_status_string(status));
    return status != ATTN_OK;
}

EXPORT("page_message") const char *page_message(void)
{
    return message;
}
EXPORT("page_memory") void *page_memory(size_t bytes)
{
    return malloc(bytes ? bytes : 1);
}
EXPORT("page_free") void page_free(void *memory)
{
    free(memory);
}
EXPORT("page_version") const char *page_version(void)
{
    return ATTN_VERSION_STRING;
}
EXPORT("page_isa") const char *page_isa(void)
{
    return attn_isa_string(attn_isa_available(ATTN_ISA_VECTOR128) ? ATTN_ISA_VECTOR128 : ATTN_ISA_SCALAR);
}

/* ==== Step by step: one head, by the library's steps ============================================================= */

/* A matrix of doubles seen as one of `type`, float or double: of floats it is `copy`, rows x cols of them. */
static attn_mat typed(attn_dtype type, const double *numbers, float *copy, size_t rows, size_t cols)
{
    attn_mat given = attn_mat_of(numbers, ATTN_F64, rows, cols), floats = attn_mat_of(copy, ATTN_F32, rows, cols);
    if (type == ATTN_F64)
        return given;
    attn_mat_copy(floats, given);
    return floats;
}

enum { CELLS = 64 * 64 }; /* of a matrix, at most */

/* out = a b, rows x inner by inner x cols. */
EXPORT("page_matmul")
int page_matmul(attn_dtype type, double *out, double *a, double *b, size_t rows, size_t inner, size_t cols)
{
    static float copies[3][CELLS];
    attn_mat product = typed(type, out, copies[0], rows, cols);
    if (failed(attn_matmul(product, typed(type, a, copies[1], rows, inner), typed(type, b, copies[2], inner, cols)),
               "attn_matmul", NULL))
        return 1;
    return failed(attn_mat_copy(attn_mat_of(out, ATTN_F64, rows, cols), product), "attn_mat_copy", NULL);
}

/* Attention in its stages: the product q k^T (Lq x Lk), the same times scale, with hidden keys at -infinity, its
   softmax, the values of query `row` times their weights (Lk x Dv), and the output (Lq x Dv). hidden: Lq x Lk, 0: seen. */
EXPORT("page_steps")
int page_steps(attn_dtype type, size_t Lq, size_t Lk, size_t D, size_t Dv, double *query, double *key, double *value,
               double scale, const unsigned char *hidden, size_t row, double *product, double *scaled, double *masked,
               double *softmax, double *weighted, double *output)
{
    static float copies[9][CELLS];
    attn_mat q = typed(type, query, copies[0], Lq, D), k = typed(type, key, copies[1], Lk, D);
    attn_mat v = typed(type, value, copies[2], Lk, Dv);
    double *numbers[6] = {product, scaled, masked, softmax, weighted, output};
    attn_mat stage[6];
    for (size_t n = 0; n < 6; n++)
        stage[n] = typed(type, numbers[n], copies[3 + n], n == 4 ? Lk : Lq, n < 4 ? Lk : Dv);
    if (failed(attn_scores(stage[0], q, k, 1), "attn_scores", NULL) ||
        failed(attn_scores(stage[1], q, k, scale), "attn_scores", NULL) ||
        failed(attn_mat_copy(stage[2], stage[1]), "attn_mat_copy", NULL))
        return 1;
    for (size_t i = 0; i < Lq; i++)
        for (size_t j = 0; j < Lk; j++)
            if (hidden[i * Lk + j])
                attn_mat_set(stage[2], i, j, (double)-INFINITY);
    if (failed(attn_softmax(stage[3], stage[2]), "attn_softmax", NULL) ||
        failed(attn_weighted_values(stage[4], attn_mat_rows(stage[3], row, 1), v), "attn_weighted_values", NULL) ||
        failed(attn_weighted_sum(stage[5], stage[3], v), "attn_weighted_sum", NULL))
        return 1;
    for (size_t n = 0; n < 6; n++)
        attn_mat_copy(attn_mat_of(numbers[n], ATTN_F64, stage[n].rows, stage[n].cols), stage[n]);
    return 0;
}

/* Numbers as numpy prints them, with at most `digits` after the point: a line for each, those of one row alike. */
EXPORT("page_text")
const char *page_text(attn_dtype type, const double *numbers, size_t count, int digits)
{
    static char text[64 * 48];
    static float copy[CELLS];
    attn_mat row = typed(type, numbers, copy, 1, count);
    size_t at = 0;
    show_precision(digits);
    text[0] = 0;
    for (size_t c = 0; c < count && at + 48 < sizeof text; c++) {
        show_text(text + at, 47, row, 0, c);
        at += strlen(text + at);
        text[at++] = '\n';
    }
    text[at] = 0;
    return text;
}

/* Numbers from a seed, in [low, high). */
EXPORT("page_random") void page_random(double *out, size_t count, double seed, double low, double high)
{
    show_random(attn_mat_of(out, ATTN_F64, 1, count), (uint64_t)seed, low, high);
}

/* ==== Pictures: show.h's, in files that js/engine.js keeps ====================================================== */

enum { MAPS = 16 };
static attn_mat picture_maps[MAPS];
static show_map picture_looks[MAPS];
static size_t picture_count;

EXPORT("page_picture_begin") void page_picture_begin(void)
{
    picture_count = 0;
}

/* Adds a map to the next picture. All that is given must stay where it is until it is drawn. marks: show_marks of each
   cell. look: colours of show.h, digits, low, high, side (0 for cells with their numbers), and whether colours follow the
   square root. texts: title, names of rows and of columns, sign, what a frame means (NULL: none). */
EXPORT("page_map")
int page_map(double *values, const unsigned char *marks, size_t rows, size_t cols, const double look[6],
             const char *const texts[5], const char *const *row_labels, const char *const *col_labels)
{
    show_map map = show_map_of(texts[0], (show_colours)look[0], texts[1], texts[2], (int)look[1]);
    map.low = look[2], map.high = look[3], map.side = (int)look[4], map.root = look[5] != 0;
    map.sign = texts[3], map.row_labels = row_labels, map.col_labels = col_labels;
    map.marks = marks, map.frame = texts[4], map.grey = "NaN";
    if (picture_count == MAPS) {
        snprintf(message, sizeof message, "a picture has at most %d maps", MAPS);
        return 1;
    }
    picture_maps[picture_count] = attn_mat_of(values, ATTN_F64, rows, cols);
    picture_looks[picture_count++] = map;
    return 0;
}

/* Draws those that were added, `across` side by side, into the file "picture.svg". */
EXPORT("page_picture") void page_picture(const char *title, size_t across)
{
    show_picture("picture.svg", title, picture_maps, picture_looks, picture_count, across);
}

/* Draws `rows` lines of `cols` numbers each, the first at x_low and the last at x_high. texts: title, names of axes. */
EXPORT("page_lines")
void page_lines(double *values, size_t rows, size_t cols, const char *const texts[3], const char *const *names,
                double x_low, double x_high)
{
    show_chart chart = {texts[0], texts[1], texts[2], names, x_low, x_high};
    show_lines("", "picture.svg", attn_mat_of(values, ATTN_F64, rows, cols), &chart);
}

/* ==== Masking: attn_sdpa and its options ========================================================================= */

/* The options, in the order of js/masking.js's list. What is off is NaN. */
typedef enum page_option {
    CAUSAL,
    OFFSET,
    LEFT,
    RIGHT,
    Q_LEN,
    KV_LEN,
    ALIBI,
    SOFTCAP,
    SINK,
    SCALE,
    OPTIONS
} page_option;

static ptrdiff_t whole(double x, ptrdiff_t otherwise)
{
    return x >= -1e9 && x <= 1e9 ? (ptrdiff_t)x : otherwise;
}

/* One head in float, with the scores of three stages, Lq x Lk: scaled; after softcap; all that softmax is given. lse
   has Lq numbers. explain: what a dry run says, of at most `size` bytes. */
EXPORT("page_attend")
int page_attend(const double options[OPTIONS], size_t Lq, size_t Lk, size_t D, size_t Dv, double *query, double *key,
                double *value, double *stages[3], double *softmax, double *lse, double *output, char *explain,
                size_t size)
{
    static float copies[9][CELLS];
    float slope = (float)options[ALIBI], sink = (float)options[SINK];
    size_t q_len = (size_t)whole(options[Q_LEN], 0), kv_len = (size_t)whole(options[KV_LEN], 0);
    ptrdiff_t offset = whole(options[OFFSET], 0);
    attn_fault fault = {NULL, NULL, ""};
    attn_dry_run dry = {0, NULL, 0};
    attn_ctx ctx = {{NULL, NULL, 0}, NULL, 0, ATTN_ISA_BEST, NULL, 0, NULL};
    attn_tensor q = attn_bhld(typed(ATTN_F32, query, copies[0], Lq, D).data, ATTN_F32, 1, 1, Lq, D);
    attn_tensor k = attn_bhld(typed(ATTN_F32, key, copies[1], Lk, D).data, ATTN_F32, 1, 1, Lk, D);
    attn_tensor v = attn_bhld(typed(ATTN_F32, value, copies[2], Lk, Dv).data, ATTN_F32, 1, 1, Lk, Dv);
    attn_tensor out = attn_bhld(copies[3], ATTN_F32, 1, 1, Lq, Dv);
    attn_opts opts = {0};

    ctx.fault = &fault;
    opts.causal = (attn_causal)whole(options[CAUSAL], 0);
    if (opts.causal == ATTN_CAUSAL_OFFSET)
        opts.causal_offset = &offset;
    opts.window.on = !isnan(options[LEFT]) || !isnan(options[RIGHT]);
    opts.window.left = whole(options[LEFT], -1);
    opts.window.right = whole(options[RIGHT], -1);
    opts.q_lens = isnan(options[Q_LEN]) ? NULL : &q_len;
    opts.kv_lens = isnan(options[KV_LEN]) ? NULL : &kv_len;
    opts.alibi_slopes = isnan(options[ALIBI]) ? NULL : &slope;
    opts.softcap = isnan(options[SOFTCAP]) ? 0 : options[SOFTCAP];
    opts.sinks = isnan(options[SINK]) ? NULL : &sink;
    opts.scale = isnan(options[SCALE]) ? 0 : options[SCALE];
    dry.text = explain;
    dry.text_size = size;
    ctx.dry_run = &dry;
    if (failed(attn_sdpa(out, q, k, v, &opts, &ctx), "attn_sdpa", &fault))
        return 1;
    ctx.dry_run = NULL;
    opts.weights = attn_bhld(copies[4], ATTN_F32, 1, 1, Lq, Lk);
    opts.lse = attn_bhld(copies[5], ATTN_F32, 1, 1, Lq, 1);
    for (int n = 0; n < 3; n++) {
        opts.scores_stage = (attn_stage)n;
        opts.scores = attn_bhld(copies[6 + n], ATTN_F32, 1, 1, Lq, Lk);
        if (failed(attn_sdpa(out, q, k, v, &opts, &ctx), "attn_sdpa", &fault))
            return 1;
        attn_mat_copy(attn_mat_of(stages[n], ATTN_F64, Lq, Lk), attn_mat_of(copies[6 + n], ATTN_F32, Lq, Lk));
    }
    attn_mat_copy(attn_mat_of(softmax, ATTN_F64, Lq, Lk), attn_mat_of(copies[4], ATTN_F32, Lq, Lk));
    attn_mat_copy(attn_mat_of(lse, ATTN_F64, Lq, 1), attn_mat_of(copies[5], ATTN_F32, Lq, 1));
    attn_mat_copy(attn_mat_of(output, ATTN_F64, Lq, Dv), attn_mat_of(copies[3], ATTN_F32, Lq, Dv));
    return 0;
}

/* ==== Token by token: without a key/value cache, and with one =================================================== */

/* The bytes of one more token of one head. */
EXPORT("page_cache_bytes") double page_cache_bytes(attn_dtype type, size_t D)
{
    size_t few = 0, more = 0;
    attn_kv_cache_size(&few, 1, 1, 1024, D, D, type, 0);
    attn_kv_cache_size(&more, 1, 1, 2048, D, D, type, 0);
    return (double)(more - few) / 1024;
}

static attn_tensor one_head(attn_mat rows)
{
    return attn_bhld(rows.data, ATTN_F32, 1, 1, rows.rows, rows.cols);
}

typedef enum cached_part { KEYS, VALUES, OUTPUT, WEIGHTS, CACHED_PARTS } cached_part;

/* A causal head in float over `count` tokens, the rows of x, of D numbers: all of them at once (made[0]), and one after
   the other with a cache of `type` (made[1]), whose keys and values are as it has them. The parts are count x D, but
   for the weights, count x count. projections: D x D, of queries, keys and values. */
EXPORT("page_cached")
int page_cached(attn_dtype type, size_t count, size_t D, double *x, double *projections[3],
                double *made[2][CACHED_PARTS])
{
    static float copies[3 + 2 * CACHED_PARTS][CELLS];
    attn_mat input = typed(ATTN_F32, x, copies[0], count, D), q = attn_mat_of(copies[1], ATTN_F32, count, D);
    attn_mat all[CACHED_PARTS], step[CACHED_PARTS];
    attn_kv_cache cache = {0};
    attn_fault fault = {NULL, NULL, ""};
    attn_ctx ctx = {{NULL, NULL, 0}, NULL, 0, ATTN_ISA_BEST, NULL, 0, NULL};
    attn_opts opts = {0};
    int bad;

    ctx.fault = &fault;
    ctx.batch_invariant = 1; /* a token alone has the bits that it has among many */
    opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    memset(copies[3], 0, 2 * CACHED_PARTS * sizeof copies[0]);
    for (int n = 0; n < CACHED_PARTS; n++) {
        all[n] = attn_mat_of(copies[3 + n], ATTN_F32, count, n == WEIGHTS ? count : D);
        step[n] = attn_mat_of(copies[3 + CACHED_PARTS + n], ATTN_F32, count, all[n].cols);
    }
    for (int n = 0; n < 3; n++)
        if (failed(attn_matmul(n == 0 ? q : all[n - 1], input, typed(ATTN_F32, projections[n], copies[2], D, D)),
                   "attn_matmul", NULL))
            return 1;
    opts.weights = one_head(all[WEIGHTS]);
    if (failed(attn_sdpa(one_head(all[OUTPUT]), one_head(q), one_head(all[KEYS]), one_head(all[VALUES]), &opts, &ctx),
               "attn_sdpa", &fault) ||
        failed(attn_kv_cache_init(&cache, 1, 1, count, D, D, type, 0, NULL, 0), "attn_kv_cache_init", NULL))
        return 1;
    cache.fault = &fault;
    bad = 0;
    for (size_t i = 0; i < count && !bad; i++) {
        attn_mat row[CACHED_PARTS];
        for (int n = 0; n < CACHED_PARTS; n++)
            row[n] = attn_mat_rows(step[n], i, 1);
        opts.weights = one_head(attn_mat_cols(row[WEIGHTS], 0, i + 1));
        bad = failed(attn_kv_cache_append(&cache, one_head(attn_mat_rows(all[KEYS], i, 1)),
                                          one_head(attn_mat_rows(all[VALUES], i, 1)), NULL),
                     "attn_kv_cache_append", &fault) ||
              failed(attn_kv_cache_attend(one_head(row[OUTPUT]), one_head(attn_mat_rows(q, i, 1)), &cache, &opts, &ctx),
                     "attn_kv_cache_attend", &fault) ||
              failed(attn_kv_cache_row(row[KEYS], &cache, 0, 0, i), "attn_kv_cache_row", &fault) ||
              failed(attn_kv_cache_row(row[VALUES], &cache, 0, 1, i), "attn_kv_cache_row", &fault);
    }
    attn_kv_cache_free(&cache);
    for (int n = 0; n < CACHED_PARTS; n++) {
        attn_mat_copy(attn_mat_of(made[0][n], ATTN_F64, count, all[n].cols), all[n]);
        attn_mat_copy(attn_mat_of(made[1][n], ATTN_F64, count, all[n].cols), step[n]);
    }
    return bad;
}

/* ==== Translation ================================================================================================ */

static t5 translator;

/* Text that grows: JSON for js/engine.js. Without memory it stays what it was, and says so. */
static struct {
    char *text;
    size_t size, capacity, steps;
    int failed;
} reply;

static void put(const char *text, size_t size)
{
    if (reply.size + size + 1 > reply.capacity) {
        size_t capacity = 2 * (reply.size + size) + 1024;
        char *larger = (char *)realloc(reply.text, capacity);
        if (!larger) {
            reply.failed = 1;
            return;
        }
        reply.text = larger;
        reply.capacity = capacity;
    }
    memcpy(reply.text + reply.size, text, size);
    reply.size += size;
    reply.text[reply.size] = 0;
}

static void put_format(const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(text, strlen(text));
}

static void put_string(const char *text, size_t size)
{
    put("\"", 1);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            put("\\", 1);
        if ((unsigned char)text[i] < ' ')
            put_format("\\u%04x", text[i]);
        else
            put(text + i, 1);
    }
    put("\"", 1);
}

static void put_token(int32_t id)
{
    char piece[256];
    size_t size = translate_piece(&translator, id, piece, sizeof piece);
    put_string(piece, size < sizeof piece ? size : sizeof piece - 1);
}

static void put_tokens(const char *name, const int32_t *ids, size_t count)
{
    put_format(",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        put(",", i > 0);
        put_token(ids[i]);
    }
    put("]", 1);
}

/* A step of the search: the hypotheses that go on, each by its newest token, and which it continues. */
static void put_step(void *user, const translation *result, const beam_search *search)
{
    int first = 1;
    (void)user, (void)result;
    put(",", reply.steps++ > 0);
    put("[", 1);
    for (size_t b = 0; b < search->opts.beams && !search->done; b++) {
        if (search->scores[b] < -1e8f)
            continue;
        put_format("%s{\"beam\":%lu,\"from\":%lu,\"score\":%.9g,\"token\":", first ? "" : ",", (unsigned long)b,
                   (unsigned long)search->from[b], (double)search->scores[b]);
        put_token(search->tokens[b]);
        put("}", 1);
        first = 0;
    }
    put("]", 1);
}

/* ---- the weights of each block ---- */

enum { PARTS = 3, BLOCKS = 64 };
static float *attention[PARTS][BLOCKS]; /* heads x queries x keys, or NULL */

static void keep(void *user, t5_part part, size_t block, attn_tensor weights)
{
    size_t bytes = weights.heads * weights.len * weights.dim * sizeof(float);
    (void)user;
    if (block < BLOCKS && (attention[part][block] = (float *)malloc(bytes)) != NULL)
        memcpy(attention[part][block], weights.data, bytes);
}

static void forget(void)
{
    for (int part = 0; part < PARTS; part++)
        for (int block = 0; block < BLOCKS; block++) {
            free(attention[part][block]);
            attention[part][block] = NULL;
        }
}

EXPORT("page_attention") const float *page_attention(size_t part, size_t block)
{
    return part < PARTS && block < BLOCKS ? attention[part][block] : NULL;
}

/* Opens the model of a directory, or of a GGUF. */
EXPORT("page_open") int page_open(const char *path)
{
    const char *error = t5_open(&translator, path, NULL);
    if (!error && (translator.encoder.count > BLOCKS || translator.decoder.count > BLOCKS))
        error = "more than 64 layers";
    snprintf(message, sizeof message, "%s", error ? error : "");
    return error != NULL;
}

/* The sizes of the model that is open: layers of the encoder, of the decoder, and heads. */
EXPORT("page_sizes") size_t page_sizes(int which)
{
    return which == 0 ? translator.encoder.count : which == 1 ? translator.decoder.count : translator.config.num_heads;
}

/* Translates. changes: of t5_watch, or NULL. The reply is at page_reply: JSON of text, score, source and target
   (tokens), steps (of the search); the weights are at page_attention. */
EXPORT("page_translate")
int page_translate(const char *text, size_t size, size_t beams, size_t max_length, const unsigned char *changes)
{
    translate_opts opts = translate_defaults();
    translate_text given;
    translation result;
    const char *error;
    char long_text[96];
    given.text = text, given.size = size;
    memset(&result, 0, sizeof result);
    error = translate_settle(&translator, "translation_en_to_fr", &opts);
    opts.search.beams = beams;
    opts.search.max_length = max_length;
    opts.max_source = 200;
    opts.step = put_step;
    forget();
    reply.size = reply.steps = 0, reply.failed = 0;
    put("{\"steps\":[", 10);
    translator.watch.look = NULL;
    translator.watch.changes = changes;
    if (!error)
        error = translate(&translator, &opts, &given, 1, &result, NULL);
    translator.watch.look = keep;
    if (!error && result.error[0]) {
        snprintf(long_text, sizeof long_text, "The sentence is too long: it has %s.", result.error);
        error = long_text;
    }
    if (!error)
        error = translate_again(&translator, &result);
    translator.watch.changes = NULL;
    if (!error) {
        put_format("],\"score\":%.9g,\"text\":", (double)result.score);
        put_string(result.text, result.size);
        put_tokens("source", result.source, result.source_count);
        put_tokens("target", result.ids, result.count);
        put("}", 1);
    }
    if (!error && reply.failed)
        error = "no memory";
    snprintf(message, sizeof message, "%s", error ? error : "");
    translate_free(&result, 1);
    return error != NULL;
}

EXPORT("page_reply") const char *page_reply(void)
{
    return reply.text;
}

/* ==== Training: the example, with another main =================================================================== */

#define main example_main
#include "../10_training.c"
#undef main

static double losses[2];
static int step_number, guesses[LENGTH];

/* What it makes of the text that it has not learnt from. */
static void read_unseen(void)
{
    write_texts(UNSEEN);
    forward(1);
    make_guesses(guesses);
}

EXPORT("page_train_begin") void page_train_begin(void)
{
    step_number = 0;
    begin();
    read_unseen();
}

/* Makes one step and returns its number; at the last one it stays. `look`: reads the text of page_train_looks, too. */
EXPORT("page_train_step") int page_train_step(int look)
{
    if (step_number < LONG)
        train(++step_number, 0, losses);
    if (look)
        read_unseen();
    return step_number;
}

EXPORT("page_train_steps") int page_train_steps(void)
{
    return LONG;
}
EXPORT("page_train_length") int page_train_length(void)
{
    return LENGTH;
}

/* The loss of the last step before it: of new letters (0), of repeated ones (1). */
EXPORT("page_train_loss") double page_train_loss(int known)
{
    return losses[known != 0];
}

/* Of the unseen text: its letters, what comes next, the guesses (-1: none), each LENGTH; a head's weights, LENGTH x
   LENGTH; how much it looks at the letter before (after = 0), at the one that followed the same letter earlier (1). */
EXPORT("page_train_letters") const int *page_train_letters(void)
{
    return letter;
}
EXPORT("page_train_next") const int *page_train_next(void)
{
    return next;
}
EXPORT("page_train_guesses") const int *page_train_guesses(void)
{
    return guesses;
}
EXPORT("page_train_looks") const double *page_train_looks(int block, int head)
{
    return &looks[block & 1][0][head & 1][0][0];
}
EXPORT("page_train_share") double page_train_share(int block, int head, int after)
{
    return share(block & 1, head & 1, after);
}
