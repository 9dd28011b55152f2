/* program.h: what the programs beside it have in common: their command lines, lines of input, text for people, time and
   memory. Everything is static; it takes shown.h and the C library.

       static const char *to;
       static size_t beams;
       static int asks;
       const program_option table[] = {{"--to", PROGRAM_TEXT, &to, 0, 0},
                                       {"--beams", PROGRAM_SIZE, &beams, 1, 1024},
                                       {"--help", PROGRAM_HELP, &asks, 0, 0}};
       int operands, status;
       program_begin("translate");
       if ((status = program_options(table, sizeof table / sizeof *table, argc, argv, &operands)) != 0)
           return status; // it has said what is wrong
       if (!asks && operands == 0)
           return program_wrong("the model is missing", NULL, NULL);

   Define _DEFAULT_SOURCE before the first #include: with -std=c99 there is no clock_gettime and no isatty else. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "shown.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#else
#include <sys/resource.h>
#include <unistd.h>
#endif

enum {
    PROGRAM_LINE = 1 << 20, /* bytes of a line, at most */
    PROGRAM_INPUT = 1 << 26 /* of a line that is too long, and of a text, before it is taken for one without an end */
};

static const char *program_name = "program"; /* messages begin with it */

/* Names the program; bytes of input and output stay as they are. */
static inline void program_begin(const char *name)
{
    program_name = name;
#ifdef _WIN32
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
#endif
}

static inline int program_is_terminal(int descriptor)
{
#ifdef _WIN32
    return _isatty(descriptor);
#else
    return isatty(descriptor);
#endif
}

/* ==== Text ======================================================================================================= */

/* Text for people: what a terminal would obey, a line's end too, becomes a space; what is no UTF-8, U+FFFD. */
static inline void program_put(FILE *file, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        size_t length = shown_utf8(text + i, size - i);
        if (length == 0)
            fputs("\xef\xbf\xbd", file);
        else if (shown_is_control(text + i, length))
            putc(' ', file);
        else
            fwrite(text + i, 1, length, file);
        i += length > 0 ? length - 1 : 0;
    }
}

/* Says what has failed, by printf's format, and returns the exit status for it. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static inline int
program_failed(const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: ", program_name);
    program_put(stderr, message, strlen(message));
    putc('\n', stderr);
    return 1;
}

/* Writes out what has been printed: NULL, or that it cannot be written. */
static inline const char *program_flush(void)
{
    return fflush(stdout) != 0 || ferror(stdout) ? "the output cannot be written" : NULL;
}

/* What --help prints; returns the exit status. */
static inline int program_help(const char *text)
{
    const char *error;
    puts(text);
    error = program_flush();
    return error ? program_failed("%s", error) : 0;
}

/* An error that does not name the file or directory it is about, with that name; NULL stays. Its memory serves the next
   one. What opens files names them itself. */
static inline const char *program_about(const char *name, const char *error)
{
    static char message[1024];
    char whole[sizeof message], shown[SHOWN_NAME];
    if (!error)
        return NULL;
    snprintf(whole, sizeof whole, "%s: %.700s", shown_name(shown, name), error);
    return strcpy(message, whole); /* error may be a message of this function */
}

/* That error, where there are more than `most` bytes, lines or what `of` says. */
static inline const char *program_too_many(const char *name, size_t most, const char *of)
{
    char cause[64];
    snprintf(cause, sizeof cause, "more than %lu %.30s", (unsigned long)most, of);
    return program_about(name, cause);
}

static inline int program_is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!text[i] || !strchr(" \t\r\n\v\f", text[i]))
            return 0;
    return 1;
}

/* Reads a file whole, but not much more than `most` bytes of it, into *text, which is NULL at first and to be freed; a
   NUL follows. Returns 0 where there is no memory; ferror, with errno or 0, and *size tell whether it is whole. */
static inline int program_read_all(FILE *file, size_t most, char **text, size_t *size)
{
    size_t room = 0;
    *size = 0;
    do {
        char *larger = (char *)realloc(*text, (room = 2 * room + (1 << 16)) + 1);
        if (!larger)
            return 0;
        *text = larger;
        errno = 0;
        *size += fread(*text + *size, 1, room - *size, file);
    } while (*size == room && *size <= most);
    (*text)[*size] = 0;
    return 1;
}

/* {0} at first; its text is to be freed. */
typedef struct program_line {
    char *text;
    size_t size, room; /* in bytes */
    size_t number;     /* of lines that have been read into it, this one too */
    const char *error; /* why there are no more; NULL: the input has ended */
} program_line;

/* Reads a line of the input, which ends in LF, CRLF or with it: 1, or 0 when there is none. One of more than
   PROGRAM_LINE bytes is cut, but not to less than shows that it is longer. */
static inline int program_read_line(program_line *line)
{
    size_t passed = 0;
    int c, any = 0;
    line->number++;
    line->error = NULL;
    for (line->size = 0; (c = getc(stdin)) != EOF; any = 1) {
        if (c == '\n')
            break;
        if (line->size == PROGRAM_LINE + 2) {
            if (++passed < PROGRAM_INPUT)
                continue;
            line->error = program_too_many("the input has a line without an end", PROGRAM_INPUT, "bytes");
            return 0;
        }
        if (line->size == line->room) {
            size_t room = 2 * line->room + 256;
            char *larger = (char *)realloc(line->text, room);
            if (!larger) {
                line->error = "no memory";
                return 0;
            }
            line->text = larger;
            line->room = room;
        }
        line->text[line->size++] = (char)c;
    }
    if (line->size && line->text[line->size - 1] == '\r')
        line->size--;
    if (!any && c == EOF && ferror(stdin))
        line->error = "the input cannot be read";
    return any || c == '\n';
}

/* Says that a line of a file, or of "the input", is too long. */
static inline void program_too_long(const char *name, size_t number)
{
    char shown[SHOWN_NAME];
    program_failed("%s: line %lu: more than %d bytes", shown_name(shown, name), (unsigned long)number, PROGRAM_LINE);
}

/* ==== The command line =========================================================================================== */

/* Says what is wrong with the command line, and returns the exit status for it. Texts may be NULL. */
static inline int program_wrong(const char *before, const char *argument, const char *after)
{
    fprintf(stderr, "%s: %s", program_name, before);
    if (argument) {
        fputs(" '", stderr);
        program_put(stderr, argument, strlen(argument));
        putc('\'', stderr);
    }
    fprintf(stderr, "%s\n%s --help lists the options.\n", after ? after : "", program_name);
    return 2;
}

typedef enum program_takes {
    PROGRAM_FLAG, /* no value */
    PROGRAM_HELP, /* none, and what follows is not looked at */
    PROGRAM_TEXT,
    PROGRAM_SIZE,
    PROGRAM_REAL /* -100 to 100 */
} program_takes;

typedef struct program_option {
    const char *name;
    program_takes value;
    void *target;       /* of a flag and help int, which becomes 1; const char *, size_t, double */
    size_t least, most; /* of a PROGRAM_SIZE */
} program_option;

static inline int program_read_size(const char *text, size_t least, size_t most, size_t *out)
{
    size_t value = 0;
    int valid = *text != 0;
    for (; *text && valid; text++) {
        valid = *text >= '0' && *text <= '9' && value <= most;
        value = 10 * value + (size_t)(*text - '0');
    }
    *out = value;
    return valid && value >= least && value <= most;
}

static inline int program_read_real(const char *text, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return *text && !*end && !errno && !text[strspn(text, "+-.0123456789eE")] && *out >= -100 && *out <= 100;
}

/* Gives an option its value, which is NULL where it takes none. Returns 0 or the exit status. */
static inline int program_set(const program_option *to, const char *value)
{
    char before[64], after[64] = " is not a number from -100 to 100";
    int valid = 1;
    if (to->value == PROGRAM_FLAG || to->value == PROGRAM_HELP)
        *(int *)to->target = 1;
    else if (to->value == PROGRAM_TEXT)
        *(const char **)to->target = value;
    else if (to->value == PROGRAM_REAL)
        valid = program_read_real(value, (double *)to->target);
    else
        valid = program_read_size(value, to->least, to->most, (size_t *)to->target);
    if (valid)
        return 0;
    snprintf(before, sizeof before, "%s:", to->name);
    if (to->value == PROGRAM_SIZE)
        snprintf(after, sizeof after, " is not a number from %lu to %lu", (unsigned long)to->least,
                 (unsigned long)to->most);
    return program_wrong(before, value, after);
}

/* Reads "--name value" and "--name=value"; what is no option, and all that follows "--", moves to the front of argv and
   is counted. After the first of these a single '-' begins no option: a text may begin with it. Returns 0 or the exit
   status. */
static inline int program_options(const program_option *table, size_t count, int argc, char **argv, int *operands)
{
    int i, ended = 0;
    *operands = 0;
    for (i = 1; i < argc; i++) {
        const char *argument = argv[i], *value = NULL;
        size_t length = strcspn(argument, "="), k = 0;
        int status, alone;
        if (ended || argument[0] != '-' || (argument[1] != '-' && *operands > 0)) {
            argv[(*operands)++] = argv[i];
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            ended = 1;
            continue;
        }
        while (k < count && (strlen(table[k].name) != length || strncmp(table[k].name, argument, length) != 0))
            k++;
        if (k == count)
            return program_wrong("there is no option", argument, NULL);
        alone = table[k].value == PROGRAM_FLAG || table[k].value == PROGRAM_HELP;
        if (argument[length] && alone)
            return program_wrong(table[k].name, NULL, " takes no value");
        if (argument[length])
            value = argument + length + 1;
        else if (!alone && (value = argv[++i]) == NULL)
            return program_wrong(table[k].name, NULL, " needs a value");
        if ((status = program_set(&table[k], value)) != 0 || table[k].value == PROGRAM_HELP)
            return status;
    }
    return 0;
}

/* ==== Time and memory ============================================================================================ */

/* Seconds since some time. */
static inline double program_now(void)
{
#if defined(CLOCK_MONOTONIC) && !defined(_WIN32) /* there clock() is time that passes */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

/* A line such as "encoded 12 tokens 0.034 s 352.9 tokens/s", on stderr. */
static inline void program_show_rate(const char *done, size_t count, const char *unit, double seconds)
{
    fprintf(stderr, "%s %lu %s %.3f s %.1f %s/s\n", done, (unsigned long)count, unit, seconds,
            seconds > 0 ? (double)count / seconds : 0.0, unit);
}

/* The most memory this process has held, in MiB; 0 where nobody knows. Linux's getrusage would count what started
   it. */
static inline double program_peak_memory(void)
{
#ifdef _WIN32
    return 0;
#else
    struct rusage usage;
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    double peak = 0;
    while (status && peak <= 0 && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak = strtod(line + 6, NULL) / (1 << 10);
    if (status)
        fclose(status);
    if (peak <= 0 && getrusage(RUSAGE_SELF, &usage) == 0)
        peak = (double)usage.ru_maxrss / (1 << 10);
#ifdef __APPLE__
    peak /= 1 << 10; /* bytes there */
#endif
    return peak;
#endif
}

/* A line "peak memory 45.6 MiB" on stderr, where it is known. */
static inline void program_show_memory(void)
{
    double peak = program_peak_memory();
    if (peak > 0)
        fprintf(stderr, "peak memory %.1f MiB\n", peak);
}

/* What a reader has noted of a model's files (checkpoint.h): lines, each of which becomes one on stderr. NULL: none. */
static inline void program_notes(const char *notes)
{
    size_t size;
    for (; notes && *notes; notes += size + (notes[size] == '\n')) {
        size = strcspn(notes, "\n");
        program_failed("%.*s", (int)size, notes);
    }
}

/* How far something has come that takes long, on a line of its own that disappears; what is soon done has none. */
typedef struct program_progress {
    const char *doing; /* "loading"; NULL: nothing is shown, as where stderr is no terminal */
    double next;       /* when it may be shown (again); 0: at once */
    int width;         /* of what is shown, in columns */
} program_progress;

static inline program_progress program_progress_of(const char *doing)
{
    program_progress p;
    p.doing = program_is_terminal(2) ? doing : NULL;
    p.next = p.doing ? program_now() + 0.3 : 0;
    p.width = 0;
    return p;
}

/* "reading 1234 lines" */
static inline void program_show_count(program_progress *p, size_t count, const char *unit)
{
    double now;
    if (!p->doing || (now = program_now()) < p->next)
        return;
    p->next = now + 0.1;
    p->width = fprintf(stderr, "\r%s %lu %s", p->doing, (unsigned long)count, unit);
    fflush(stderr);
}

/* For functions that tell their progress: user is a program_progress, part 0 to 1. */
static inline void program_show_progress(void *user, double part)
{
    program_show_count((program_progress *)user, (size_t)(100 * part), "%");
}

static inline void program_end_progress(program_progress *p)
{
    if (p->width > 0)
        fprintf(stderr, "\r%*s\r", p->width, "");
    p->width = 0;
}

#endif
