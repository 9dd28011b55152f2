/* Shows how a tokenizer cuts text: pieces and their ids, and the text that the ids give back.

       tokenize MODEL TEXT...            each piece with its id and, of SentencePiece, its score
       tokenize MODEL < FILE             the same for every line
       tokenize --ids MODEL TEXT...      the ids alone, a line for each text
       tokenize --decode MODEL ID...     the text of ids
       --special                         of BPE and Unigram: special tokens in a text are tokens
       --escapes                         in lines of the input, \n stands for LF and \\ for a backslash
       --extra-ids N                     sentinels <extra_id_0> to <extra_id_N-1> beyond the pieces, as T5 has 100 (the
                                         default, unless the model has them among its pieces)

   MODEL is a SentencePiece model (spiece.model), the tokenizer.json of a BPE or Unigram tokenizer or a directory with
   it, a GGUF, or a directory with the vocab.txt or the tokenizer.json of a BERT: these show what their files say of
   special tokens, but not those that a model wants around a text.

   A line of the input ends before its LF. A CR before the LF belongs to the text, as every other character does: many
   models turn it into a space, others keep it. Text is printed with \xNN in place of each byte of a control character
   and of what is no UTF-8, --decode included, so that a terminal obeys none of them; a backslash in the text stays one.

   Exit status: 0, 1 when a file or an id is wrong or memory is lacking, 2 when the command line is. */
#define _DEFAULT_SOURCE 1 /* for program.h */
#include "bpe.h"
#include "gguf_files.h"
#include "program.h"
#include "sentencepiece.h"
#include "wordpiece.h"

#include <limits.h>

enum { LINE = 1 << 24 };

typedef struct options {
    int ids, decode, special, escapes, shown; /* shown: texts so far */
    long extra_ids;                           /* -1: not given */
    const char *path;                         /* of the model */
} options;

/* A kind of tokenizer. What they return is NULL or an error; encode sets the ids alone, unless there are scores. */
typedef struct kind {
    const char *(*encode)(const void *model, const options *o, const char *text, size_t size, sentencepiece_tokens *t);
    const char *(*decode)(const void *model, const int32_t *ids, size_t count, char **text, size_t *size); /* or NULL */
    text_span (*piece)(const void *model, const sentencepiece_tokens *t, size_t i);
    void (*show_score)(const void *model, int32_t id); /* or NULL */
} kind;

static int usage(FILE *out)
{
    fputs("usage: tokenize [--ids] [--special] [--escapes] [--extra-ids N] MODEL [TEXT...]\n"
          "       tokenize --decode [--extra-ids N] MODEL ID...\n"
          "Shows how a tokenizer cuts each text, or each line of the input: pieces, ids,\n"
          "scores. MODEL is a SentencePiece model, a BPE's or Unigram's tokenizer.json or\n"
          "its directory, a GGUF, or a directory with a BERT's vocab.txt or\n"
          "tokenizer.json.\n"
          "  --ids          the ids alone\n"
          "  --decode       the text of ids\n"
          "  --special      of BPE and Unigram: special tokens in a text are tokens\n"
          "  --escapes      in lines of the input, \\n stands for LF and \\\\ for a backslash\n"
          "  --extra-ids N  sentinels beyond the pieces (100; 0 if the model has its own)\n"
          "A CR at the end of a line is part of the text. Text is printed, by --decode too,\n"
          "with \\xNN for each byte of a control character, such as \\x09 for a tab; a\n"
          "backslash is printed as it is.\n",
          out);
    return out == stdout ? 0 : 2;
}

static void show_line(const char *name, const char *text, size_t size)
{
    printf("%-10s  ", name);
    shown_put(stdout, text, size);
    putchar('\n');
}

static void show_ids(const int32_t *ids, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++)
        printf("%s%ld", i ? " " : "", (long)ids[i]);
    putchar('\n');
}

static const char *show_tokens(const kind *k, const void *model, options *o, const char *text, size_t size)
{
    sentencepiece_tokens t = {0, NULL, NULL, NULL, 0};
    const char *error = k->encode(model, o, text, size, &t);
    char *back = NULL;
    size_t i = 0;
    if (!error && o->ids) {
        show_ids(t.ids, t.count);
    } else if (!error && (!k->decode || (error = k->decode(model, t.ids, t.count, &back, &i)) == NULL)) {
        if (o->shown++)
            putchar('\n');
        show_line("text", text, size);
        if (k->show_score)
            show_line("normalized", t.normalized, t.normalized_size);
        if (k->decode)
            show_line("decoded", back, i);
        printf("%-10s  %lu\n", "tokens", (unsigned long)t.count);
        if (t.count)
            printf("%8s%s  piece\n", "id", k->show_score ? "     score" : "");
        for (i = 0; i < t.count; i++) {
            text_span piece = k->piece(model, &t, i);
            printf("%8ld", (long)t.ids[i]);
            if (k->show_score)
                k->show_score(model, t.ids[i]);
            printf("  ");
            shown_put(stdout, piece.text, piece.size);
            putchar('\n');
        }
    }
    free(back);
    sentencepiece_tokens_free(&t);
    return error;
}

/* ---- SentencePiece ---- */

static const char *encode_pieces(const void *model, const options *o, const char *text, size_t size,
                                 sentencepiece_tokens *t)
{
    (void)o;
    return sentencepiece_encode(model, text, size, t);
}

static const char *decode_pieces(const void *model, const int32_t *ids, size_t count, char **text, size_t *size)
{
    return sentencepiece_decode(model, ids, count, text, size);
}

static text_span piece_in(const void *model, const sentencepiece_tokens *t, size_t i)
{
    (void)model;
    return t->pieces[i];
}

/* What there is to say of a piece besides its spelling. */
static void show_score(const void *opened, int32_t id)
{
    static const char *const kinds[] = {"", "", "unknown", "control", "symbol", "unused", "byte"};
    const sentencepiece *model = opened;
    if (id >= model->count)
        printf("%10s", "sentinel");
    else if (model->pieces[id].type == SENTENCEPIECE_NORMAL)
        printf(" %9.4f", (double)model->pieces[id].score);
    else
        printf("%10s", kinds[model->pieces[id].type]);
}

static const kind of_sentencepiece = {encode_pieces, decode_pieces, piece_in, show_score};

static void set_sentinels(sentencepiece *model, const options *o)
{
    if (sentencepiece_id(model, "<extra_id_0>", 12) == model->unk_id)
        model->extra_ids = 100;
    if (o->extra_ids >= 0)
        model->extra_ids = o->extra_ids > INT_MAX - model->count ? INT_MAX - model->count : (int32_t)o->extra_ids;
}

/* ---- WordPiece ---- */

static const char *encode_words(const void *model, const options *o, const char *text, size_t size,
                                sentencepiece_tokens *t)
{
    wordpiece_tokens tokens;
    const char *error = wordpiece_encode(model, text, size, &tokens);
    (void)o;
    t->ids = tokens.ids;
    t->count = tokens.count;
    return error;
}

static text_span word_of(const void *model, const sentencepiece_tokens *t, size_t i)
{
    wordpiece_word word = wordpiece_token(model, t->ids[i]);
    return text_of(word.text, word.size);
}

static const kind of_wordpiece = {encode_words, NULL, word_of, NULL};

/* ---- BPE ---- */

static const char *encode_spellings(const void *model, const options *o, const char *text, size_t size,
                                    sentencepiece_tokens *t)
{
    bpe_tokens tokens;
    const char *error = bpe_encode_as(model, text, size, o->special ? BPE_SPECIAL : 0, &tokens);
    t->ids = tokens.ids;
    t->count = tokens.count;
    return error;
}

static const char *decode_spellings(const void *model, const int32_t *ids, size_t count, char **text, size_t *size)
{
    return bpe_decode(model, ids, count, text, size);
}

static text_span spelling_of(const void *model, const sentencepiece_tokens *t, size_t i)
{
    text_span spelling;
    spelling.text = bpe_spelling(model, t->ids[i], &spelling.size);
    return spelling;
}

static const kind of_bpe = {encode_spellings, decode_spellings, spelling_of, NULL};

/* Opens PATH, or PATH/tokenizer.json if it does not end in .json. */
static const char *open_bpe(bpe *model, const char *path)
{
    size_t length = strlen(path);
    char *file = malloc(length + sizeof "/tokenizer.json");
    const char *error;
    if (!file)
        return TEXT_NO_MEMORY;
    sprintf(file, "%s%s", path, length > 5 && strcmp(path + length - 5, ".json") == 0 ? "" : "/tokenizer.json");
    error = bpe_open(model, file);
    free(file);
    return error;
}

/* The tokenizer of a GGUF: the text of tokenizer.json, or the bytes of a SentencePiece model. */
static const char *read_gguf(const char *path, text_buffer *contents, int *is_json)
{
    static char message[TEXT_ERROR];
    gguf_files model;
    const char *error = gguf_files_open(&model, path);
    if (!error)
        error = gguf_files_tokenizer(&model, contents, is_json);
    if (error) {
        snprintf(message, sizeof message, "%s", error);
        error = message;
    }
    gguf_files_close(&model);
    return error;
}

/* ---- arguments and lines ---- */

/* The number that an argument is, from least to INT_MAX; or -1. */
static long number(const char *text, long least)
{
    char *end;
    long value;
    errno = 0;
    value = strtol(text, &end, 10);
    return *text < '0' || *text > '9' || *end || errno || value < least || value > INT_MAX ? -1 : value;
}

static const char *show_decoded(const kind *k, const void *model, const options *o, char **arguments, int count)
{
    static char message[64];
    int32_t *ids = malloc((size_t)count * sizeof *ids + 1);
    const char *error = ids ? NULL : TEXT_NO_MEMORY;
    char *text = NULL;
    size_t size = 0;
    int i;
    for (i = 0; i < count && !error; i++)
        if ((ids[i] = (int32_t)number(arguments[i], 0)) < 0) {
            snprintf(message, sizeof message, "number %d of the ids is not an id", i + 1);
            error = message;
        }
    if (!error)
        error = program_about(o->path, k->decode ? k->decode(model, ids, (size_t)count, &text, &size)
                                                 : "a tokenizer of this kind cannot decode");
    if (!error) {
        shown_put(stdout, text, size);
        putchar('\n');
    }
    free(text);
    free(ids);
    return error;
}

/* Puts what escapes stand for in their place; returns the size that is left. */
static size_t unescape(char *line, size_t size)
{
    size_t i, used = 0;
    for (i = 0; i < size; i++) {
        int escapes = line[i] == '\\' && i + 1 < size && (line[i + 1] == 'n' || line[i + 1] == '\\');
        i += (size_t)escapes;
        line[used++] = (char)(escapes && line[i] == 'n' ? '\n' : line[i]);
    }
    return used;
}

/* Every line of the input, without its LF. An input without lines may have no end: LINE is the most. */
static const char *show_lines(const kind *k, const void *model, options *o)
{
    text_buffer line = {NULL, 0, 0, 0};
    const char *error = NULL;
    char byte;
    int c = 0;
    while (!error && c != EOF) {
        if ((c = getchar()) != EOF && c != '\n') {
            byte = (char)c;
            text_append(&line, text_of(&byte, 1));
            if (line.failed)
                error = TEXT_NO_MEMORY;
            else if (line.size > LINE)
                error = "a line of the input is longer than 16777216 bytes";
        } else if (c == '\n' || line.size) {
            size_t size = o->escapes ? unescape(line.text, line.size) : line.size;
            error = program_about(o->path, show_tokens(k, model, o, line.text, size));
            line.size = 0;
        }
    }
    free(line.text);
    return error ? error : ferror(stdin) ? "the input cannot be read" : NULL;
}

/* Whether a path is that of a file of a directory, or of the directory. */
static int has_file(const char *path, const char *name)
{
    size_t length = strlen(path), size = strlen(name);
    char *file = malloc(length + size + 2);
    FILE *stream = NULL;
    if (length >= size && strcmp(path + length - size, name) == 0) {
        free(file);
        return 1;
    }
    if (file) {
        sprintf(file, "%s/%s", path, name);
        stream = fopen(file, "rb");
    }
    if (stream)
        fclose(stream);
    free(file);
    return stream != NULL;
}

int main(int argc, char **argv)
{
    options o = {0, 0, 0, 0, 0, -1, NULL};
    sentencepiece pieces;
    wordpiece words;
    bpe spellings;
    text_buffer contents = {NULL, 0, 0, 0}; /* of a GGUF */
    const kind *k;
    const void *model;
    const char *error;
    int i = 1;
    program_begin("tokenize");
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--help") == 0)
            return usage(stdout);
        if (strcmp(argv[i], "--ids") == 0)
            o.ids = 1;
        else if (strcmp(argv[i], "--decode") == 0)
            o.decode = 1;
        else if (strcmp(argv[i], "--special") == 0)
            o.special = 1;
        else if (strcmp(argv[i], "--escapes") == 0)
            o.escapes = 1;
        else if (strcmp(argv[i], "--extra-ids") == 0 && i + 1 < argc && (o.extra_ids = number(argv[i + 1], 0)) >= 0)
            i++;
        else if (strcmp(argv[i], "--extra-ids") == 0)
            return usage(stderr);
        else
            return program_wrong("there is no option", argv[i], NULL);
    }
    if (i == argc || (o.ids && o.decode))
        return usage(stderr);
    o.path = argv[i];
    /* Which kind it is, its files tell. A kind more: a line here, one where models are closed, and a section above. */
    if (gguf_files_is(argv[i])) {
        int is_json = 0;
        error = read_gguf(argv[i], &contents, &is_json);
        k = is_json ? &of_bpe : &of_sentencepiece;
        model = is_json ? (void *)&spellings : &pieces;
        if (!error)
            error = is_json ? bpe_parse(&spellings, contents.text, contents.size, argv[i])
                            : sentencepiece_parse(&pieces, contents.text, contents.size, argv[i]);
    } else if (!has_file(argv[i], "vocab.txt") && (has_file(argv[i], ".json") || has_file(argv[i], "tokenizer.json"))) {
        k = &of_bpe;
        model = &spellings;
        error = open_bpe(&spellings, argv[i]);
        if (error && strstr(error, ", and not BPE")) { /* model.type is WordPiece */
            k = &of_wordpiece;
            model = &words;
            error = wordpiece_open(&words, argv[i]);
        }
    } else if (has_file(argv[i], "vocab.txt")) {
        k = &of_wordpiece;
        model = &words;
        error = wordpiece_open(&words, argv[i]);
    } else {
        k = &of_sentencepiece;
        model = &pieces;
        error = sentencepiece_open(&pieces, argv[i]);
    }
    if (error) {
        program_failed("%s", error);
        free(contents.text);
        return 1;
    }
    if (k == &of_sentencepiece)
        set_sentinels(&pieces, &o);
    program_notes(k == &of_bpe ? spellings.notes : k == &of_wordpiece ? words.notes : "");
    if (o.decode)
        error = show_decoded(k, model, &o, argv + i + 1, argc - i - 1);
    else if (i + 1 == argc)
        error = show_lines(k, model, &o);
    else
        for (i++; i < argc && !error; i++)
            error = program_about(o.path, show_tokens(k, model, &o, argv[i], strlen(argv[i])));
    if (k == &of_bpe)
        bpe_close(&spellings);
    else if (k == &of_wordpiece)
        wordpiece_close(&words);
    else
        sentencepiece_close(&pieces);
    free(contents.text);
    if (!error && (fflush(stdout) || ferror(stdout)))
        error = "the output cannot be written";
    if (error)
        program_failed("%s", error);
    return error != NULL;
}
