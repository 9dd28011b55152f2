/* Shows how a SentencePiece model cuts text: pieces and their ids, and the text that the ids give back.

       tokenize MODEL TEXT...            each piece with its id and score
       tokenize MODEL < FILE             the same for every line
       tokenize --ids MODEL TEXT...      the ids alone, a line for each text
       tokenize --decode MODEL ID...     the text of ids
       --extra-ids N                     sentinels <extra_id_0> to <extra_id_N-1> beyond the pieces, as T5 has 100 (the
                                         default, unless the model has them among its pieces)

   A line of the input ends before its LF. A CR before the LF belongs to the text, as every other character does: many
   models turn it into a space, others keep it. Text is printed with \xNN in place of each byte of a control character,
   --decode included, so that a terminal obeys none of them; a backslash in the text stays a backslash.

   Exit status: 0, 1 when a file or an id is wrong or memory is lacking, 2 when the command line is. */
#include "sentencepiece.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1 << 24 };

typedef struct options {
    int ids, decode, shown; /* shown: texts so far */
    long extra_ids;         /* -1: not given */
} options;

static int usage(FILE *out)
{
    fputs("usage: tokenize [--ids] [--extra-ids N] MODEL [TEXT...]\n"
          "       tokenize --decode [--extra-ids N] MODEL ID...\n"
          "Shows how a SentencePiece model cuts each text, or each line of the input: pieces, ids, scores.\n"
          "  --ids          the ids alone\n"
          "  --decode       the text of ids\n"
          "  --extra-ids N  sentinels beyond the pieces; without it 100, or 0 if the model has its own\n"
          "A CR at the end of a line is part of the text. Text is printed, by --decode too, with \\xNN for each byte\n"
          "of a control character, such as \\x09 for a tab; a backslash is printed as it is.\n",
          out);
    return out == stdout ? 0 : 2;
}

/* Prints text; control characters, which a terminal would obey, as \xNN. */
static void show(const char *text, size_t size)
{
    size_t i;
    int follow = 0; /* bytes that belong to the character before */
    for (i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i], next = i + 1 < size ? (unsigned char)text[i + 1] : 0;
        int high = c == 0xc2 && next >= 0x80 && next < 0xa0; /* U+0080 to U+009F */
        if (high)
            printf("\\x%02x\\x%02x", (unsigned)c, (unsigned)text[++i] & 0xff);
        else if (c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xc0 && !follow))
            printf("\\x%02x", (unsigned)c);
        else
            putchar(c);
        follow = high ? 0 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : c >= 0x80 && follow ? follow - 1 : 0;
    }
}

static void show_line(const char *name, const char *text, size_t size)
{
    printf("%-10s  ", name);
    show(text, size);
    putchar('\n');
}

/* What there is to say of a piece besides its spelling. */
static void show_score(const sentencepiece *model, int32_t id)
{
    static const char *const kinds[] = {"", "", "unknown", "control", "symbol", "unused", "byte"};
    if (id >= model->count)
        printf("%9s", "sentinel");
    else if (model->pieces[id].type == SENTENCEPIECE_NORMAL)
        printf("%9.4f", (double)model->pieces[id].score);
    else
        printf("%9s", kinds[model->pieces[id].type]);
}

static const char *show_tokens(const sentencepiece *model, options *o, const char *text, size_t size)
{
    sentencepiece_tokens tokens;
    const char *error = sentencepiece_encode(model, text, size, &tokens);
    char *back = NULL;
    size_t i;
    if (!error && !o->ids && (error = sentencepiece_decode(model, tokens.ids, tokens.count, &back, &i)) == NULL) {
        if (o->shown++)
            putchar('\n');
        show_line("text", text, size);
        show_line("normalized", tokens.normalized, tokens.normalized_size);
        show_line("decoded", back, i);
        printf("%-10s  %lu\n", "tokens", (unsigned long)tokens.count);
        if (tokens.count)
            printf("%8s %9s  %s\n", "id", "score", "piece");
        for (i = 0; i < tokens.count; i++) {
            printf("%8ld ", (long)tokens.ids[i]);
            show_score(model, tokens.ids[i]);
            printf("  ");
            show(tokens.pieces[i].text, tokens.pieces[i].size);
            putchar('\n');
        }
    }
    if (!error && o->ids) {
        for (i = 0; i < tokens.count; i++)
            printf("%s%ld", i ? " " : "", (long)tokens.ids[i]);
        putchar('\n');
    }
    free(back);
    sentencepiece_tokens_free(&tokens);
    return error;
}

/* The number that an argument is, from least to INT_MAX; or -1. */
static long number(const char *text, long least)
{
    char *end;
    long value;
    errno = 0;
    value = strtol(text, &end, 10);
    return *text < '0' || *text > '9' || *end || errno || value < least || value > INT_MAX ? -1 : value;
}

static const char *show_decoded(const sentencepiece *model, char **arguments, int count)
{
    static char message[64];
    int32_t *ids = malloc((size_t)count * sizeof *ids + 1);
    const char *error = ids ? NULL : "no memory";
    char *text = NULL;
    size_t size;
    int i;
    for (i = 0; i < count && !error; i++)
        if ((ids[i] = (int32_t)number(arguments[i], 0)) < 0) {
            snprintf(message, sizeof message, "number %d of the ids is not an id", i + 1);
            error = message;
        }
    if (!error && (error = sentencepiece_decode(model, ids, (size_t)count, &text, &size)) == NULL) {
        show(text, size);
        putchar('\n');
    }
    free(text);
    free(ids);
    return error;
}

/* Every line of the input, without its LF. An input without lines may have no end: LINE is the most. */
static const char *show_lines(const sentencepiece *model, options *o)
{
    size_t room = 0, size = 0;
    char *line = NULL;
    const char *error = NULL;
    int c = 0;
    while (!error && c != EOF) {
        if ((c = getchar()) != EOF && c != '\n') {
            if (size == LINE)
                error = "a line of the input is longer than 16777216 bytes";
            if (size == room && !error) {
                char *larger = realloc(line, room = 2 * room + 256);
                if (!larger)
                    error = "no memory";
                line = larger ? larger : line;
            }
            if (!error)
                line[size++] = (char)c;
        } else if (c == '\n' || size) {
            error = show_tokens(model, o, line, size);
            size = 0;
        }
    }
    free(line);
    return error ? error : ferror(stdin) ? "the input cannot be read" : NULL;
}

int main(int argc, char **argv)
{
    options o = {0, 0, 0, -1};
    sentencepiece model;
    const char *error;
    int i = 1;
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
        else if (strcmp(argv[i], "--extra-ids") == 0 && i + 1 < argc && (o.extra_ids = number(argv[i + 1], 0)) >= 0)
            i++;
        else
            return usage(stderr);
    }
    if (i == argc || (o.ids && o.decode))
        return usage(stderr);
    if ((error = sentencepiece_open(&model, argv[i])) != NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    if (sentencepiece_id(&model, "<extra_id_0>", 12) == model.unk_id)
        model.extra_ids = 100;
    if (o.extra_ids >= 0)
        model.extra_ids = o.extra_ids > INT_MAX - model.count ? INT_MAX - model.count : (int32_t)o.extra_ids;
    if (o.decode)
        error = show_decoded(&model, argv + i + 1, argc - i - 1);
    else if (i + 1 == argc)
        error = show_lines(&model, &o);
    else
        for (i++; i < argc && !error; i++)
            error = show_tokens(&model, &o, argv[i], strlen(argv[i]));
    sentencepiece_close(&model);
    if (!error && (fflush(stdout) || ferror(stdout)))
        error = "the output cannot be written";
    if (error)
        fprintf(stderr, "tokenize: %s\n", error);
    return error != NULL;
}
