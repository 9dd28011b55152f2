/* show.h - prints matrices as numpy prints arrays and draws them as heatmaps; for the examples of attn.h - MIT licence

   Include it after attn.h. It needs the C library and nothing else: C99, C++11. attn.h itself needs nothing of this.

       SHOW_TRY(attn_sdpa(out, q, k, v, NULL, &show_ctx));
                                              runs a call; on an error prints the call, which argument is at fault (if
                                              the call takes show_ctx) and the reason, and exits with 1
       show_title("Softmax");                 a heading
       show_mat("weights", w);                name, shape, numbers; show_vec: one row or column as a 1-D array;
                                              show_text: one number, to a string
       show_heatmap(dir, "w.svg", w, &map);   coloured cells in the terminal, and a picture file
       show_heatmaps(dir, "ws.svg", title, w, maps, 6, 3);   six small ones in one file, three side by side;
                                              show_picture: the same, for a path, and prints nothing
       show_part("x", "b", b, SHOW_ORANGE, "row", "column", 2);   one of the matrices of an equation: then, for all,
       show_figure(dir, "f.svg", title, 3);   a picture of it
       show_lines(dir, "l.svg", rows, &chart);   a line for each row over a common axis, in a picture file

   Numbers look like print(array) in numpy 2: the shortest digits that read back as the same element of its own type,
   at most 8 after the point (show_precision), in columns, with exponents where the range asks for them, "..." beyond
   1000 elements (show_threshold), lines of at most 75 columns. The locale changes nothing.
   Pictures are SVG with coordinates and colours in integers: the same bytes on every platform. */
#ifndef SHOW_H
#define SHOW_H

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef _WIN32
#include <io.h>
#define SHOW__ISATTY() _isatty(1)
#else
#include <unistd.h>
#define SHOW__ISATTY() isatty(1)
#endif

/* ==== Running ==================================================================================================== */

/* A ctx without options, but for where a call notes which argument is at fault. For one with options, begin with it. */
static attn_fault show_fault;
static const attn_ctx show_ctx = {{NULL, NULL, 0}, NULL, 0, ATTN_ISA_BEST, &show_fault, 0, NULL};

#define SHOW_TRY(call) show_try((show_forget(), call), #call)

static inline void show_forget(void)
{
    show_fault.argument = show_fault.other = NULL;
    show_fault.text[0] = 0;
}

/* "attn_sdpa(out, q, k, v, &opts, &show_ctx): opts.mask: 3 heads, where 4 or 1 fit", or what the status says where the
   call has no more to say of it; "..: out, q: .." where two meet. */
static inline void show_try(attn_status status, const char *call)
{
    if (status == ATTN_OK)
        return;
    fflush(stdout);
    fprintf(stderr, "%s: %s%s%s%s%s\n", call, show_fault.argument ? show_fault.argument : "",
            show_fault.other ? ", " : "", show_fault.other ? show_fault.other : "", show_fault.argument ? ": " : "",
            show_fault.text[0] ? show_fault.text : attn_status_string(status));
    exit(1);
}

/* What messages about files begin with: as the program was called, once it has asked for its directory. NULL: with
   nothing. */
static const char *show_program;
static inline void show__put_program(void)
{
    if (show_program)
        fprintf(stderr, "%s: ", show_program);
}

/* What main returns: 0, or 1 when the output could not be written. */
static inline int show_done(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    int reason = errno;
    show__put_program();
    fprintf(stderr, "the output cannot be written: %s\n", strerror(reason));
    return 1;
}

/* The directory for pictures: the program's only argument, or the current directory. takes: what stands behind its name,
   such as "[DIRECTORY]", or "" for nothing. --help says so, and what the program is about, and ends it; so does what it
   does not take. */
static inline const char *show_directory(int argc, char **argv, const char *takes, const char *about)
{
    int most = *takes ? 2 : 1, is_option = argc > 1 && argv[1][0] == '-' && argv[1][1];
    show_program = argv[0];
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            printf("usage: %s%s%s\n%s\n%s", argv[0], *takes ? " " : "", takes, about,
                   *takes ? "Pictures are drawn into DIRECTORY, or into the current one.\n" : "");
            exit(show_done());
        }
    if (is_option || argc > most) {
        fprintf(stderr, "%s: %s '%s'\n%s --help says what there is.\n", argv[0],
                is_option ? "there is no option" : "one argument too many:", argv[is_option ? 1 : most], argv[0]);
        exit(2);
    }
    return argc == 2 ? argv[1] : ".";
}

/* Fills m with numbers in [low, high) that depend on the seed alone: the upper 53 bits of splitmix64
   (Steele, Lea, Flood 2014). */
static inline void show_random(attn_mat m, uint64_t seed, double low, double high)
{
    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0; c < m.cols; c++) {
            uint64_t z = seed += 0x9e3779b97f4a7c15ULL;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
            double unit = (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
            attn_mat_set(m, r, c, low + (high - low) * unit);
        }
}

/* ==== Numbers, by the rules of numpy's arrayprint.py ============================================================== */

static int show__precision = 8;
static size_t show__threshold = 1000;

/* At most this many digits after the point, 0 to 17. */
static inline void show_precision(int digits)
{
    show__precision = digits < 0 ? 0 : digits > 17 ? 17 : digits;
}

/* A matrix of more elements than this shows three rows and three columns at each end. */
static inline void show_threshold(size_t elements)
{
    show__threshold = elements;
}

/* A number in pieces: -12.5e+06 is "-12", "5", "e+06". */
typedef struct show__number {
    char whole[320], fraction[32], exponent[8];
} show__number;

/* NULL for a finite x, else its name. By the bits of x: under -ffast-math a comparison would not see them. */
static inline const char *show__special(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits >> 52 & 0x7ff) != 0x7ff)
        return NULL;
    return bits << 12 ? "nan" : bits >> 63 ? "-inf" : "inf";
}

static inline size_t show__copy_digits(char *out, size_t size, const char **text)
{
    size_t n = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        if (n + 1 < size)
            out[n++] = **text;
    out[n] = 0;
    return n;
}

/* x with `digits` digits after the point, as 'f' or 'e' of printf. Whatever the locale has for a point is skipped. */
static inline show__number show__split(double x, char kind, int digits)
{
    char text[400];
    const char *s = text;
    size_t sign;
    show__number n;
    snprintf(text, sizeof text, kind == 'e' ? "%.*e" : "%.*f", digits, x);
    sign = *s == '-';
    n.whole[0] = '-';
    s += sign;
    show__copy_digits(n.whole + sign, sizeof n.whole - sign, &s);
    while (*s && *s != 'e' && (*s < '0' || *s > '9'))
        s++;
    show__copy_digits(n.fraction, sizeof n.fraction, &s);
    n.exponent[0] = 0;
    if (*s == 'e') {
        n.exponent[0] = s[0];
        n.exponent[1] = s[1];
        s += 2;
        while (*s == '0' && strlen(s) > 2) /* some libraries write e+006 */
            s++;
        show__copy_digits(n.exponent + 2, sizeof n.exponent - 2, &s);
    }
    return n;
}

/* x rounded to an element of this type. */
static inline double show__rounded(double x, attn_dtype dtype)
{
    double memory = 0;
    attn_mat one = attn_mat_of(&memory, dtype, 1, 1);
    attn_mat_set(one, 0, 0, x);
    return attn_mat_get(one, 0, 0);
}

/* x with no more digits than tell it from the other numbers of its type, nor than the precision, nor zeros at the end;
   but `least` digits. At a power of two the neighbour farther from zero is twice as far away as the nearer one: there
   the shortest text may be the one above. `above` is a quarter of that step up (f64 needs it from 16 digits on). */
static inline show__number show__shortest(double x, attn_dtype dtype, char kind, int least)
{
    double quarter = dtype == ATTN_F32 ? 1.0 / (1L << 25) : dtype == ATTN_F16 ? 1.0 / (1L << 12) : 1.0 / (1L << 9);
    double above = dtype == ATTN_F64 ? x : x * (1 + quarter), found = x;
    char text[64];
    int digits;
    size_t end;
    show__number n;
    for (digits = 0; digits < 16; digits++) {
        snprintf(text, sizeof text, "%.*e", digits, x);
        found = strtod(text, NULL);
        if (show__rounded(found, dtype) == x)
            break;
        snprintf(text, sizeof text, "%.*e", digits, above);
        found = strtod(text, NULL);
        if (show__rounded(found, dtype) == x)
            break;
        found = x;
    }
    if (kind == 'f')
        digits -= (int)strtol(show__split(x, 'e', digits).exponent + 1, NULL, 10);
    if (digits < least)
        return show__split(x, kind, least);
    if (digits > show__precision)
        n = show__split(x, kind, show__precision);
    else
        n = show__split(found, kind, digits < 0 ? 0 : digits);
    end = strlen(n.fraction);
    while (end > (size_t)least && n.fraction[end - 1] == '0')
        n.fraction[--end] = 0;
    return n;
}

/* How all elements of one matrix are written. */
typedef struct show__format {
    attn_dtype dtype;
    char kind;                     /* 'f': 1.5, 'e': 1.5e+00, 'i': 2, 'b': True */
    int whole, fraction, exponent; /* the widest of each */
    size_t edge_rows, edge_cols;   /* how many are shown at each end, 0: all */
} show__format;

/* The index shown after i. */
static inline size_t show__next(size_t i, size_t count, size_t edge)
{
    return edge && i + 1 == edge ? count - edge : i + 1;
}

static inline void show__widen(int *width, const char *text)
{
    if (*width < (int)strlen(text))
        *width = (int)strlen(text);
}

/* Exponents are for numbers too large, too small or too far apart. `low` and `high`: the least and greatest absolute
   value, zeros left out. */
static inline char show__kind(double low, double high, attn_dtype dtype)
{
    double limit = dtype == ATTN_F64 ? 1e8 : dtype == ATTN_F32 ? 1e6 : dtype == ATTN_F16 ? 1e3 : 1e2;
    if (high >= limit || low < show__rounded(1e-4, dtype))
        return 'e';
    return show__rounded(high / low, dtype) > 1000 ? 'e' : 'f';
}

/* Looks at every element that will be shown: first for the kind, then for the widths. */
static inline show__format show__format_of(attn_mat m, int integers)
{
    show__format f = {m.dtype, 'f', 0, 0, 0, 0, 0};
    double low = DBL_MAX, high = 0;
    int least = 0;
    if (m.rows && m.cols > show__threshold / m.rows) {
        f.edge_rows = m.rows > 6 ? 3 : 0;
        f.edge_cols = m.cols > 6 ? 3 : 0;
    }
    for (size_t r = 0; r < m.rows; r = show__next(r, m.rows, f.edge_rows))
        for (size_t c = 0; c < m.cols; c = show__next(c, m.cols, f.edge_cols)) {
            double x = attn_mat_get(m, r, c);
            if (show__special(x)) {
                show__widen(&least, show__special(x));
            } else if (x != 0) {
                if (low > fabs(x))
                    low = fabs(x);
                if (high < fabs(x))
                    high = fabs(x);
            }
        }
    if (m.dtype == ATTN_BOOL) {
        f.kind = 'b';
        f.whole = 5;
        return f;
    }
    if (high > 0)
        f.kind = show__kind(low, high, m.dtype);
    if (integers)
        f.kind = 'i';
    for (size_t r = 0; r < m.rows; r = show__next(r, m.rows, f.edge_rows))
        for (size_t c = 0; c < m.cols; c = show__next(c, m.cols, f.edge_cols)) {
            double x = attn_mat_get(m, r, c);
            if (!show__special(x)) {
                show__number n = integers ? show__split(x, 'f', 0) : show__shortest(x, m.dtype, f.kind, 0);
                show__widen(&f.whole, n.whole);
                show__widen(&f.fraction, n.fraction);
                show__widen(&f.exponent, n.exponent);
            }
        }
    if (!integers)
        least -= 1 + f.fraction + f.exponent;
    if (f.whole < least)
        f.whole = least;
    return f;
}

/* One element, as wide as its column. */
static inline void show__word(char *out, size_t size, double x, const show__format *f)
{
    int width = f->whole + (f->kind == 'f' || f->kind == 'e' ? 1 + f->fraction + f->exponent : 0);
    if (show__special(x)) {
        snprintf(out, size, "%*s", width, show__special(x));
    } else if (f->kind == 'b') {
        snprintf(out, size, "%*s", width, x != 0 ? "True" : "False");
    } else if (f->kind == 'i') {
        snprintf(out, size, "%*s", width, show__split(x, 'f', 0).whole);
    } else if (f->kind == 'f') {
        show__number n = show__shortest(x, f->dtype, 'f', 0);
        snprintf(out, size, "%*s.%-*s", f->whole, n.whole, f->fraction, n.fraction);
    } else { /* as many digits for all, and exponents of one width */
        show__number n = show__shortest(x, f->dtype, 'e', f->fraction);
        int zeros = f->exponent - (int)strlen(n.exponent);
        snprintf(out, size, "%*s.%s%.2s%.*s%s", f->whole, n.whole, n.fraction, n.exponent, zeros, "00", n.exponent + 2);
    }
}

/* A row being printed: blanks wait until a word follows them, so that no line ends in one. */
typedef struct show__line {
    size_t indent, column, blanks;
} show__line;

static inline void show__put(show__line *line, const char *word)
{
    size_t length = strlen(word);
    if (line->column > line->indent) {
        line->column++;
        line->blanks++;
        if (line->column + length > 75 - line->indent) {
            printf("\n%*s", (int)line->indent, "");
            line->column = line->indent;
            line->blanks = 0;
        }
    }
    line->column += length;
    printf("%*s", (int)line->blanks, "");
    for (line->blanks = 0; length && word[length - 1] == ' '; length--)
        line->blanks++;
    printf("%.*s", (int)length, word);
}

static inline void show__row(attn_mat m, size_t r, const show__format *f, size_t indent)
{
    char word[400];
    show__line line = {indent, indent, 0};
    putchar('[');
    for (size_t c = 0; c < m.cols; c = show__next(c, m.cols, f->edge_cols)) {
        show__word(word, sizeof word, attn_mat_get(m, r, c), f);
        show__put(&line, word);
        if (f->edge_cols && c + 1 == f->edge_cols)
            show__put(&line, "...");
    }
    printf("%*s]", (int)line.blanks, "");
}

static inline void show__require(const char *name, attn_mat m)
{
    if (m.data || !m.rows || !m.cols)
        return;
    fflush(stdout);
    fprintf(stderr, "%s: not a matrix (a range out of bounds, or no memory)\n", name);
    exit(1);
}

static inline void show__print(const char *name, attn_mat m, int vector, int integers)
{
    show__format f;
    show__require(name, m);
    if (vector && m.cols == 1)
        m = attn_mat_t(m);
    if (m.rows != 1)
        vector = 0;
    if (vector)
        printf("%s (%lu,)\n", name, (unsigned long)m.cols);
    else
        printf("%s (%lu, %lu)\n", name, (unsigned long)m.rows, (unsigned long)m.cols);
    if (!m.rows || !m.cols) {
        puts("[]");
        return;
    }
    f = show__format_of(m, integers);
    if (!vector)
        putchar('[');
    for (size_t r = 0; r < m.rows; r = show__next(r, m.rows, f.edge_rows)) {
        if (r)
            printf("\n ");
        show__row(m, r, &f, vector ? 1 : 2);
        if (f.edge_rows && r + 1 == f.edge_rows)
            printf("\n ...");
    }
    puts(vector ? "" : "]");
}

/* Element (r, c) as show_mat prints it, without the blanks that line it up. `out`: 400 characters are enough for any. */
static inline void show_text(char *out, size_t size, attn_mat m, size_t r, size_t c)
{
    show__format f = show__format_of(m, 0);
    char word[400];
    const char *text = word;
    size_t length;
    show__word(word, sizeof word, attn_mat_get(m, r, c), &f);
    while (*text == ' ')
        text++;
    for (length = strlen(text); length && text[length - 1] == ' ';)
        length--;
    snprintf(out, size, "%.*s", (int)length, text);
}

static inline void show_title(const char *title)
{
    printf("\n== %s\n", title);
}

/* A matrix: "name (3, 4)" and [[..]]. A vector, one row or one column: "name (4,)" and [..]. _int: without points. */
static inline void show_mat(const char *name, attn_mat m)
{
    show__print(name, m, 0, 0);
}
static inline void show_vec(const char *name, attn_mat m)
{
    show__print(name, m, 1, 0);
}
static inline void show_mat_int(const char *name, attn_mat m)
{
    show__print(name, m, 0, 1);
}
static inline void show_vec_int(const char *name, attn_mat m)
{
    show__print(name, m, 1, 1);
}

/* ==== Heatmaps =================================================================================================== */

/* Families of colours, from nearly white to full. The examples draw scores and weights in blue, queries in purple, keys
   and inputs in orange, values and what attention makes of them in green. SHOW_SIGNED goes from orange through white, in
   the middle, to purple. */
typedef enum show_colours { SHOW_PURPLE = 0, SHOW_ORANGE, SHOW_BLUE, SHOW_GREEN, SHOW_SIGNED } show_colours;
enum { SHOW__FAMILIES = 5, SHOW__PARTS = 9 }; /* of colours; of a figure, at most */

/* What a heatmap looks like. Texts are UTF-8; NULL: none. A cell of NaN is grey, or a point in the terminal: a key that
   is hidden from a query. */
typedef struct show_map {
    const char *title;
    show_colours colours;
    int digits;                                        /* the cells' numbers are rounded to this many after the point */
    const char *row_name, *col_name;                   /* what a row and a column stand for */
    const char *const *row_labels, *const *col_labels; /* one for each */
    double low, high; /* the values of the first and the last colour; equal: the least and greatest of the matrix */
    /* of show_heatmaps */
    int side;          /* cells have this width, and no numbers; 0: with their numbers */
    const char *sign;  /* what stands before the map, as in "a x b = c" */
    const char *grey;  /* what the legend calls grey cells; NULL: hidden */
    const char *frame; /* what the legend calls the cells framed */
    int (*framed)(int row, int col);
    int root;                   /* colours follow the square root, so that small values are seen; low is 0 then */
    const unsigned char *marks; /* of each cell, row by row: show_marks; NULL: none */
} show_map;
enum show_marks { SHOW_HIDDEN = 1, SHOW_FRAMED = 2 }; /* hatched, and without a number; framed */

static inline show_map show_map_of(const char *title, show_colours colours, const char *row_name, const char *col_name,
                                   int digits)
{
    show_map map = {title, colours, digits, row_name, col_name, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL};
    return map;
}

/* The next character of a UTF-8 text. U+FFFD stands for what is none, for what a terminal would obey, and for what has
   no place in XML. */
static inline uint32_t show__character(const char **text)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)*text;
    unsigned more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
    uint32_t code = more ? s[0] & (0x3fU >> more) : s[0];
    for (unsigned i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *text += i;
            return 0xfffd;
        }
        code = code << 6 | (s[i] & 0x3fU);
    }
    *text += more + 1;
    if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (!more && code > 0x7f) || s[0] >= 0xf8)
        return 0xfffd;
    if (code < least[more] || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff || code == 0xfffe || code == 0xffff)
        return 0xfffd;
    return code;
}

/* The columns that a text takes: East Asian characters take two. */
static inline int show__columns(const char *text)
{
    int columns = 0;
    while (text && *text)
        columns += show__character(&text) >= 0x2e80 ? 2 : 1;
    return columns;
}

static inline int show__max(int a, int b)
{
    return a > b ? a : b;
}

static inline int show__widest(const char *const *labels, size_t count)
{
    int widest = 0;
    for (size_t i = 0; labels && i < count; i++)
        widest = show__max(widest, show__columns(labels[i]));
    return widest;
}

/* Writes a text, for XML or for the terminal. */
static inline void show__text(FILE *file, const char *text, int xml)
{
    while (text && *text) {
        uint32_t c = show__character(&text);
        if (xml && strchr("<>&\"'", (int)c < 0x80 ? (int)c : 'x')) {
            fprintf(file, "&#%d;", (int)c);
        } else if (c < 0x80) {
            putc((int)c, file);
        } else {
            int last = (int)(0x80 | (c & 0x3f)), third = (int)(0x80 | (c >> 6 & 0x3f));
            if (c < 0x800)
                fprintf(file, "%c%c", (int)(0xc0 | c >> 6), last);
            else if (c < 0x10000)
                fprintf(file, "%c%c%c", (int)(0xe0 | c >> 12), third, last);
            else
                fprintf(file, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3f)), third, last);
        }
    }
}

/* The text of a cell: `digits` after the point, an exponent from a million on, no minus before a zero. */
typedef struct show__cell {
    char text[64];
} show__cell;

static inline show__cell show__cell_of(double x, int digits)
{
    show__cell cell;
    show__number n;
    const char *whole = n.whole;
    if (show__special(x)) {
        snprintf(cell.text, sizeof cell.text, "%s", show__special(x));
        return cell;
    }
    n = show__split(x, fabs(x) < 1e6 ? 'f' : 'e', digits);
    if (!n.whole[strspn(n.whole, "-0")] && !n.fraction[strspn(n.fraction, "0")])
        whole = "0";
    snprintf(cell.text, sizeof cell.text, "%.16s%s%s%s", whole, digits ? "." : "", n.fraction, n.exponent);
    return cell;
}

typedef struct show__rgb {
    int r, g, b;
} show__rgb;

static inline show__rgb show__stop(show_colours family, int stop) /* five stops, 0 to 4 */
{
    static const unsigned char stops[SHOW__FAMILIES][5][3] = {
        {{245, 240, 247}, {218, 187, 224}, {187, 131, 199}, {154, 72, 170}, {122, 16, 140}},
        {{253, 244, 230}, {253, 223, 177}, {252, 200, 121}, {250, 175, 66}, {245, 148, 12}},
        {{238, 243, 252}, {188, 209, 244}, {131, 167, 233}, {75, 121, 217}, {28, 75, 190}},
        {{238, 246, 241}, {193, 220, 204}, {140, 187, 161}, {84, 149, 115}, {33, 107, 72}},
        {{166, 70, 0}, {244, 165, 82}, {255, 255, 255}, {169, 157, 212}, {76, 36, 124}}};
    const unsigned char *s = stops[family][stop];
    show__rgb colour = {s[0], s[1], s[2]};
    return colour;
}

/* x as its cell shows it. Colours follow this number: a last bit that differs between machines changes no picture. */
static inline double show__as_shown(double x, int digits)
{
    char text[400];
    if (show__special(x))
        return x;
    snprintf(text, sizeof text, fabs(x) < 1e6 ? "%.*f" : "%.*e", digits, x);
    return strtod(text, NULL);
}

static inline int show__is_nan(double x)
{
    return show__special(x) && show__special(x)[0] == 'n';
}

/* Where x stands between low and high, in thousandths, a little more than halves upwards. */
static inline int show__way(const show_map *map, double x)
{
    const char *special = show__special(x);
    double shown = show__as_shown(x, map->digits), range = map->high / 2 - map->low / 2;
    double way = special ? special[0] == 'i' : range > 0 ? (shown / 2 - map->low / 2) / range : 0.5;
    way = map->root && way > 0 ? sqrt(way) : way;
    return way >= 1 ? 1000 : way > 0 ? (int)(1000 * way + 0.500001) : 0;
}

static inline show__rgb show__colour(const show_map *map, double x)
{
    int t = show__way(map, x), stop = t < 1000 ? t / 250 : 3, part = t - 250 * stop;
    show__rgb a = show__stop(map->colours, stop), b = show__stop(map->colours, stop + 1), grey = {217, 217, 217};
    if (show__is_nan(x))
        return grey;
    a.r = (a.r * (250 - part) + b.r * part + 125) / 250;
    a.g = (a.g * (250 - part) + b.g * part + 125) / 250;
    a.b = (a.b * (250 - part) + b.b * part + 125) / 250;
    return a;
}

/* The share of light in a level of sRGB (IEC 61966-2-1). */
static inline double show__light(int level)
{
    return level <= 10 ? level / 255.0 / 12.92 : pow((level / 255.0 + 0.055) / 1.055, 2.4);
}

/* 1 where black text has more contrast than white. Whichever has more has at least 4.58 (WCAG 2.1). */
static inline int show__is_light(show__rgb c)
{
    return 0.2126 * show__light(c.r) + 0.7152 * show__light(c.g) + 0.0722 * show__light(c.b) > 0.1791;
}

/* Settles the digits and the range of colours; returns the width of the widest cell text. */
static inline int show__measure(attn_mat m, show_map *map)
{
    double low = DBL_MAX, high = -DBL_MAX;
    int widest = 0;
    map->digits = map->digits < 0 ? 0 : map->digits > 17 ? 17 : map->digits;
    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0; c < m.cols; c++) {
            double x = show__as_shown(attn_mat_get(m, r, c), map->digits);
            widest = show__max(widest, (int)strlen(show__cell_of(x, map->digits).text));
            if (show__special(x))
                continue;
            if (x < low)
                low = x;
            if (x > high)
                high = x;
        }
    if (!(map->low < map->high) && low <= high) {
        map->low = low;
        map->high = high;
    }
    return widest;
}

/* Escape sequences: only in a terminal that has them and whose owner does not mind (no-color.org). */
static inline int show__has_colours(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return SHOW__ISATTY() && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

/* A text in the middle of `width` columns, padded on its right too if asked. */
static inline void show__centred(const char *text, int width, int pad)
{
    int left = (width - show__columns(text)) / 2, right = width - show__columns(text) - left;
    printf("%*s", left, "");
    show__text(stdout, text, 0);
    if (pad)
        printf("%*s", right, "");
}

/* The heatmap in the terminal: blocks of colour with the numbers on them, or the numbers alone. Of 256 colours the
   greys alone are an even ramp: 24 from #eeeeee down to #080808. */
static inline void show__blocks(attn_mat m, const show_map *map, int widest)
{
    const char *term = getenv("COLORTERM");
    int colours = show__has_colours(), full = term && (strcmp(term, "truecolor") == 0 || strcmp(term, "24bit") == 0);
    int label_width = show__widest(map->row_labels, m.rows);
    int width = show__max(widest, show__widest(map->col_labels, m.cols)) + 2;
    int named = map->row_name && map->col_name;
    printf(map->title ? "heatmap: " : "heatmap");
    show__text(stdout, map->title, 0);
    if (named) {
        int length = show__columns(map->title) + show__columns(map->row_name) + show__columns(map->col_name);
        printf(length > 52 ? "\n(rows: " : " (rows: ");
        show__text(stdout, map->row_name, 0);
        printf("; columns: ");
        show__text(stdout, map->col_name, 0);
        putchar(')');
    }
    putchar('\n');
    if (map->col_labels) {
        printf("%*s", label_width + 2, "");
        for (size_t c = 0; c < m.cols; c++)
            show__centred(map->col_labels[c], width, c + 1 < m.cols);
        putchar('\n');
    }
    for (size_t r = 0; r < m.rows; r++) {
        const char *label = map->row_labels ? map->row_labels[r] : "";
        printf("%*s", label_width - show__columns(label), "");
        show__text(stdout, label, 0);
        printf("  ");
        for (size_t c = 0; c < m.cols; c++) {
            double x = attn_mat_get(m, r, c);
            show__rgb b = show__colour(map, x);
            int step = show__way(map, x) * 23 / 1000, block = colours && !show__is_nan(x);
            if (block && full)
                printf("\033[48;2;%d;%d;%d;38;5;%dm", b.r, b.g, b.b, show__is_light(b) ? 16 : 231);
            else if (block)
                printf("\033[48;5;%d;38;5;%dm", 255 - step, step < 12 ? 16 : 231);
            show__centred(show__is_nan(x) ? "." : show__cell_of(x, map->digits).text, width, colours || c + 1 < m.cols);
            if (block)
                printf("\033[0m");
        }
        putchar('\n');
    }
}

/* One <text>; anchor: "start", "middle" or "end". */
static inline void show__svg_text(FILE *file, int x, int y, const char *anchor, const char *more, const char *text)
{
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\"%s>", x, y, anchor, more);
    show__text(file, text, 1);
    fprintf(file, "</text>\n");
}

/* Where everything is in a map. The widths of texts are guessed with room to spare: 9 a character, 11 in titles. */
typedef struct show__layout {
    int cell_width, cell_height, left, top, grid_width, grid_height, width, height;
    int plain;  /* 1: cells without numbers, labels of the columns upright, unless they are single letters */
    int name_x; /* where the name of the rows is */
} show__layout;

/* A map to draw: its range of colours settled, its place in the picture, at (x, y), known. */
typedef struct show__drawing {
    attn_mat m;
    show_map map;
    show__layout at;
    int x, y;
} show__drawing;

/* Cells with their numbers, large or small ones. */
static inline show__layout show__layout_of(attn_mat m, const show_map *map, int widest, int small)
{
    show__layout at;
    int cell_text = 9 * show__max(widest, show__widest(map->col_labels, m.cols));
    at.plain = 0;
    at.cell_width = small ? show__max(30, 4 + cell_text) : show__max(76, 22 + cell_text);
    at.cell_height = small ? 30 : 46;
    at.top = 22 + (map->title ? 34 : 0) + (map->col_name ? 24 : 0) + (map->col_labels ? 26 : 0);
    return at;
}

/* Cells of one width without numbers, no less than 12 high, nor narrower than labels above them need. */
static inline show__layout show__plain_layout_of(attn_mat m, const show_map *map)
{
    show__layout at;
    at.plain = 1;
    at.cell_width = map->col_labels ? show__max(map->side, 12) : map->side;
    at.cell_height = show__max(map->side, 12);
    at.top = 22 + (map->title ? 34 : 0) + (map->col_name ? 24 : 0);
    at.top += map->col_labels ? 14 + (map->side < 20 ? 7 : 9) * show__widest(map->col_labels, m.cols) : 0;
    return at;
}

static inline show__drawing show__drawing_of(attn_mat m, const show_map *options, int small)
{
    show__drawing d = {m, *options, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 0};
    int widest = show__measure(m, &d.map),
        label = d.map.side > 0 && d.map.side < 20 ? 7 : 9; /* pixels of a character */
    int labels = label * show__widest(d.map.row_labels, m.rows);
    int title = 48 + (small ? 9 : 11) * show__columns(d.map.title),
        over; /* what the name of an axis has more than it */
    int sign = d.map.sign ? 20 + 9 * show__columns(d.map.sign) : 0;
    d.at = d.map.side > 0 ? show__plain_layout_of(m, &d.map) : show__layout_of(m, &d.map, widest, small);
    d.at.grid_width = (int)m.cols * d.at.cell_width;
    d.at.grid_height = (int)m.rows * d.at.cell_height;
    d.at.left = 24 + sign + (d.map.row_name ? 26 : 0) + (d.map.row_labels ? 12 + labels : 0);
    over = show__max(0, 8 * show__columns(d.map.col_name) - d.at.grid_width);
    d.at.width = d.at.left + d.at.grid_width + over + 24;
    d.at.left += over / 2 + show__max(0, title - d.at.width) / 2;
    over = show__max(0, 8 * show__columns(d.map.row_name) - d.at.grid_height);
    d.at.height = d.at.top + d.at.grid_height + over + 24;
    d.at.top += over / 2;
    d.at.name_x = d.at.left - 10 - (d.map.row_labels ? 12 + labels : 0);
    d.at.width = show__max(d.at.width, title);
    return d;
}

#define SHOW__HATCHED "fill=\"url(#hatched)\""
#define SHOW__FRAME "stroke=\"#c4320a\" stroke-width=\"2\""
#define SHOW__GREY " font-size=\"13\" fill=\"#595959\""

/* The title above all, names of rows and columns in grey, labels in black. */
static inline void show__svg_names(FILE *file, const show_map *map, const show__layout *at, size_t rows, size_t cols)
{
    const char *size = at->plain && at->cell_width < 20 ? " font-size=\"12\"" : ""; /* of labels */
    const char *bold = at->cell_height < 46 ? " font-weight=\"600\"" : " font-size=\"17\" font-weight=\"600\"";
    int middle = at->top + at->grid_height / 2;
    if (map->title)
        show__svg_text(file, at->width / 2, 36, "middle", bold, map->title);
    if (map->sign)
        show__svg_text(file, at->name_x - (map->row_name ? 18 : 4), middle + 6, "end", " font-size=\"18\"", map->sign);
    if (map->col_name) {
        int y = at->plain ? map->title ? 70 : 36 : at->top - (map->col_labels ? 36 : 10);
        show__svg_text(file, at->left + at->grid_width / 2, y, "middle", SHOW__GREY, map->col_name);
    }
    if (map->row_name) {
        fprintf(file, "<g transform=\"translate(%d %d) rotate(-90)\">\n", at->name_x, middle);
        show__svg_text(file, 0, 0, "middle", SHOW__GREY, map->row_name);
        fprintf(file, "</g>\n");
    }
    for (size_t c = 0; map->col_labels && c < cols; c++) {
        int x = at->left + (int)c * at->cell_width + at->cell_width / 2;
        if (at->plain && show__widest(map->col_labels, cols) > 1) {
            char upright[64];
            snprintf(upright, sizeof upright, "%s transform=\"rotate(-90 %d %d)\"", size, x + 5, at->top - 8);
            show__svg_text(file, x + 5, at->top - 8, "start", upright, map->col_labels[c]);
        } else {
            show__svg_text(file, x, at->top - 10, "middle", size, map->col_labels[c]);
        }
    }
    for (size_t r = 0; map->row_labels && r < rows; r++) {
        int y = at->top + (int)r * at->cell_height + at->cell_height / 2 + 5;
        show__svg_text(file, at->left - 10, y, "end", size, map->row_labels[r]);
    }
}

static inline int show__is_marked(attn_mat m, const show_map *map, size_t r, size_t c, int mark)
{
    return map->marks && (map->marks[r * m.cols + c] & mark);
}

/* A rectangle for as many cells of a row as are of one colour, and a number in each if it is to have one. */
static inline void show__svg_cells(FILE *file, attn_mat m, const show_map *map, const show__layout *at)
{
    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0, next; c < m.cols; c = next) {
            double value = attn_mat_get(m, r, c);
            show__rgb fill = show__colour(map, value), other = fill;
            int x = at->left + (int)c * at->cell_width, y = at->top + (int)r * at->cell_height;
            int hidden = show__is_marked(m, map, r, c, SHOW_HIDDEN);
            for (next = c + 1; at->plain && next < m.cols; next++) {
                other = show__colour(map, attn_mat_get(m, r, next));
                if (hidden != show__is_marked(m, map, r, next, SHOW_HIDDEN) || (hidden && at->cell_width >= 8))
                    break;
                if (fill.r != other.r || fill.g != other.g || fill.b != other.b)
                    break;
            }
            fprintf(file, "<path d=\"M%d %dh%dv%dH%dz\"", x, y, (int)(next - c) * at->cell_width, at->cell_height, x);
            if (hidden)
                fprintf(file, " " SHOW__HATCHED "/>\n");
            else
                fprintf(file, " fill=\"#%02x%02x%02x\"/>\n", fill.r, fill.g, fill.b);
            if (!at->plain && !hidden && !show__is_nan(value))
                show__svg_text(file, x + at->cell_width / 2, y + at->cell_height / 2 + 5, "middle",
                               show__is_light(fill) ? " fill=\"#000\"" : " fill=\"#fff\"",
                               show__cell_of(value, map->digits).text);
        }
}

/* White lines between cells, where these are wide enough to be told apart, and frames around those that have one. */
static inline void show__svg_lines(FILE *file, attn_mat m, const show_map *map, const show__layout *at)
{
    if (at->cell_width >= 8) {
        fprintf(file, "<path stroke=\"#fff\" d=\"");
        for (int r = 0; r <= (int)m.rows; r++)
            fprintf(file, "M%d %dh%d", at->left, at->top + r * at->cell_height, at->grid_width);
        for (int c = 0; c <= (int)m.cols; c++)
            fprintf(file, "M%d %dv%d", at->left + c * at->cell_width, at->top, at->grid_height);
        fprintf(file, "\"/>\n");
    }
    for (int r = 0; r < (int)m.rows; r++)
        for (int c = 0; c < (int)m.cols; c++)
            if ((map->framed && map->framed(r, c)) || show__is_marked(m, map, (size_t)r, (size_t)c, SHOW_FRAMED))
                for (int line = 0; line < 2; line++) /* red on white, for a contrast with any cell */
                    fprintf(file, "<path fill=\"none\" %s d=\"M%d %dh%dv%dh-%dz\"/>\n",
                            line ? SHOW__FRAME : "stroke=\"#fff\" stroke-width=\"5\"", at->left + c * at->cell_width,
                            at->top + r * at->cell_height, at->cell_width, at->cell_height, at->cell_width);
}

/* A place for an entry of this width in the legend. */
static inline void show__legend_next(int *x, int *y, int entry, int width)
{
    if (*x > 24 && *x + entry > width) {
        *x = 24;
        *y += 24;
    }
}

static inline int show__scale_width(const show_map *map)
{
    return 130 + 8 * (int)(strlen(show__cell_of(map->low, map->digits).text) +
                           strlen(show__cell_of(map->high, map->digits).text));
}

static inline void show__legend_cell(FILE *file, int *x, int *y, int width, const char *look, const char *text)
{
    show__legend_next(x, y, 40 + 8 * show__columns(text), width);
    if (file) {
        fprintf(file, "<path d=\"M%d %dh14v12h-14z\" %s/>\n", *x, *y, look);
        show__svg_text(file, *x + 20, *y + 11, "start", "", text);
    }
    *x += 40 + 8 * show__columns(text);
}

/* The legend, below y in a picture of this width: each scale of colours between its two values, then what grey and
   frames mean. Returns where it ends; file NULL: draws nothing. */
static inline int show__legend(FILE *file, const show__drawing *maps, size_t count, int width, int y)
{
    int x = 24, grey = 0, hatched = 0;
    const char *grey_text = "hidden", *frame = NULL;
    if (file)
        fprintf(file, "<g font-size=\"12\">\n");
    for (size_t i = 0, j; i < count; i++) {
        const show_map *map = &maps[i].map;
        for (j = 0; j < i; j++)
            if (map->colours == maps[j].map.colours && map->low >= maps[j].map.low && map->low <= maps[j].map.low &&
                map->high >= maps[j].map.high && map->high <= maps[j].map.high)
                break;
        for (size_t n = 0; !grey && n < maps[i].m.rows * maps[i].m.cols; n++)
            grey = show__is_nan(attn_mat_get(maps[i].m, n / maps[i].m.cols, n % maps[i].m.cols));
        for (size_t n = 0; map->marks && !hatched && n < maps[i].m.rows * maps[i].m.cols; n++)
            hatched = map->marks[n] & SHOW_HIDDEN;
        grey_text = map->grey ? map->grey : grey_text;
        frame = map->framed || map->marks ? map->frame : frame;
        if (j == i && map->low < map->high) {
            show__cell low = show__cell_of(map->low, map->digits), high = show__cell_of(map->high, map->digits);
            int before = 8 * (int)strlen(low.text);
            show__legend_next(&x, &y, show__scale_width(map), width);
            if (file) {
                show__svg_text(file, x + before, y + 11, "end", "", low.text);
                fprintf(file, "<path d=\"M%d %dh80v12h-80z\" fill=\"url(#scale%d)\"/>\n", x + before + 8, y,
                        (int)map->colours);
                show__svg_text(file, x + before + 96, y + 11, "start", "", high.text);
            }
            x += show__scale_width(map);
        }
    }
    if (grey)
        show__legend_cell(file, &x, &y, width, "fill=\"#d9d9d9\"", grey_text);
    if (hatched)
        show__legend_cell(file, &x, &y, width, SHOW__HATCHED, "hidden");
    if (frame)
        show__legend_cell(file, &x, &y, width, "fill=\"none\" " SHOW__FRAME, frame);
    if (file)
        fprintf(file, "</g>\n");
    return y + 32;
}

/* The scales that the legend fills rectangles with, and what hidden cells are filled with. */
static inline void show__svg_scales(FILE *file, const show__drawing *maps, size_t count)
{
    fprintf(file, "<defs>\n");
    for (int family = 0; family < SHOW__FAMILIES; family++) {
        size_t i = 0;
        while (i < count && (int)maps[i].map.colours != family)
            i++;
        if (i == count)
            continue;
        fprintf(file, "<linearGradient id=\"scale%d\">", family);
        for (int stop = 0; stop < 5; stop++) {
            show__rgb c = show__stop((show_colours)family, stop);
            fprintf(file, "<stop offset=\"%d%%\" stop-color=\"#%02x%02x%02x\"/>",
                    maps[i].map.root ? 25 * stop * stop / 4 : 25 * stop, c.r, c.g, c.b);
        }
        fprintf(file, "</linearGradient>\n");
    }
    for (size_t i = 0; i < count; i++)
        if (maps[i].map.marks) {
            fprintf(file, "<pattern id=\"hatched\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
                          "<path fill=\"#dfe3e8\" d=\"M0 0h6v6h-6z\"/>"
                          "<path stroke=\"#9aa4b1\" d=\"M-1 7L7 -1M-1 1L1 -1M5 7L7 5\"/></pattern>\n");
            break;
        }
    fprintf(file, "</defs>\n");
}

/* The start of a picture, up to its white ground. */
static inline void show__svg_open(FILE *file, int width, int height, const char *title, const char *description)
{
    fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"", width,
            height, width, height);
    fprintf(file, " role=\"img\" xml:space=\"preserve\" font-size=\"14\" fill=\"#333\"");
    fprintf(file,
            " font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif\">\n");
    fprintf(file, "<title>");
    show__text(file, title, 1);
    fprintf(file, "</title>\n<desc>%s</desc>\n", description);
    fprintf(file, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height);
}

static inline void show__file_failed(const char *path, const char *part)
{
    int reason = errno;
    if (part)
        remove(part);
    fflush(stdout);
    show__put_program();
    fprintf(stderr, "%s: cannot be written: %s\n", path, strerror(reason));
    exit(1);
}

/* A picture file: it appears whole or, with a message and exit code 1, not at all, for it is written under another name
   first: `part`, NULL for what is no file, such as /dev/stdout. */
typedef struct show__file {
    char *path, *part;
    FILE *out;
} show__file;

/* Whether `path` is a file or not there yet. */
static inline int show__is_file(const char *path)
{
#ifdef S_ISREG
    struct stat found;
    return stat(path, &found) != 0 || S_ISREG(found.st_mode);
#else
    (void)path;
    return 1;
#endif
}

static inline void *show__memory(const char *name, size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory) {
        fprintf(stderr, "%s: out of memory\n", name);
        exit(1);
    }
    return memory;
}

static inline show__file show__create(const char *directory, const char *name)
{
    size_t size = strlen(directory) + strlen(name) + 2;
    show__file file = {(char *)show__memory(name, size), (char *)show__memory(name, size + 5), NULL};
    snprintf(file.path, size, "%s%s%s", directory, *directory ? "/" : "", name);
    snprintf(file.part, size + 5, "%s.part", file.path);
    if (!show__is_file(file.path)) {
        free(file.part);
        file.part = NULL;
    }
    file.out = fopen(file.part ? file.part : file.path, "wb");
    if (!file.out)
        show__file_failed(file.path, NULL);
    return file;
}

static inline void show__finish(show__file *file)
{
    int failed = ferror(file->out);
    if (fclose(file->out) != 0 || failed)
        show__file_failed(file->path, file->part);
#ifdef _WIN32
    if (file->part)
        remove(file->path); /* rename does not replace here */
#endif
    if (file->part && rename(file->part, file->path) != 0)
        show__file_failed(file->path, file->part);
    free(file->part);
    free(file->path);
}

static inline void show__require_map(const char *name, attn_mat m)
{
    show__require(name, m);
    if (m.rows && m.cols && m.rows <= 1000 && m.cols <= 1000)
        return;
    fprintf(stderr, "%s: a picture has 1 to 1000 rows and columns\n", name);
    exit(1);
}

/* Gives maps their places, `across` side by side below y, in columns of one width; a row with signs has its maps level.
   Returns where the last row ends. */
static inline int show__arrange(show__drawing *maps, size_t count, size_t across, int left, int column, int y)
{
    for (size_t first = 0; first < count; first += across) {
        size_t end = count - first < across ? count : first + across;
        int height = 0, level = 0;
        for (size_t i = first; i < end; i++) {
            height = show__max(height, maps[i].at.height);
            level |= maps[i].map.sign != NULL;
        }
        for (size_t i = first; i < end; i++) {
            maps[i].x = left + (int)(i - first) * column + (column - maps[i].at.width) / 2;
            maps[i].y = y + (level ? (height - maps[i].at.height) / 2 : 0);
        }
        y += height;
    }
    return y;
}

/* Draws maps into the file directory/name, `across` side by side, under one title if there is one. */
static inline void show__draw(const char *directory, const char *name, const char *title, const attn_mat *mats,
                              const show_map *maps, size_t count, size_t across)
{
    show__drawing *d = (show__drawing *)show__memory(name, count * sizeof *d);
    int column = 0, width, bottom;
    char text[64];
    show__file file;
    for (size_t i = 0; i < count; i++) {
        show__require_map(name, mats[i]);
        d[i] = show__drawing_of(mats[i], &maps[i], title != NULL);
        column = show__max(column, d[i].at.width);
    }
    file = show__create(directory, name);
    across = across > count ? count : across ? across : 1;
    width = show__max((title ? 24 : 0) + (int)across * column, title ? 48 + 11 * show__columns(title) : 0);
    for (size_t i = 0; i < count; i++)
        width = show__max(width, 24 + show__scale_width(&d[i].map));
    bottom = show__arrange(d, count, across, (width - (int)across * column) / 2, column, title ? 48 : 0);

    snprintf(text, sizeof text, count > 1 ? "%d heatmaps" : "A heatmap", (int)count);
    show__svg_open(file.out, width, show__legend(NULL, d, count, width, bottom), title ? title : maps[0].title, text);
    show__svg_scales(file.out, d, count);
    if (title)
        show__svg_text(file.out, width / 2, 36, "middle", " font-size=\"17\" font-weight=\"600\"", title);
    for (size_t i = 0; i < count; i++) {
        fprintf(file.out, "<g transform=\"translate(%d %d)\">\n", d[i].x, d[i].y);
        show__svg_names(file.out, &d[i].map, &d[i].at, mats[i].rows, mats[i].cols);
        show__svg_cells(file.out, mats[i], &d[i].map, &d[i].at);
        show__svg_lines(file.out, mats[i], &d[i].map, &d[i].at);
        fprintf(file.out, "</g>\n");
    }
    show__legend(file.out, d, count, width, bottom);
    fprintf(file.out, "</svg>\n");
    show__finish(&file);
    free(d);
}

/* Draws m in the terminal, and into the file directory/name. */
static inline void show_heatmap(const char *directory, const char *name, attn_mat m, const show_map *options)
{
    show_map map = *options;
    show__require_map(name, m);
    show__blocks(m, &map, show__measure(m, &map));
    show__draw(directory, name, NULL, &m, options, 1, 1);
    printf("picture: %s\n", name);
}

/* Draws small heatmaps into the file `path` under one title, `across` side by side, and prints nothing. */
static inline void show_picture(const char *path, const char *title, const attn_mat *mats, const show_map *maps,
                                size_t count, size_t across)
{
    show__draw("", path, title, mats, maps, count, across);
}

/* The same, into the file directory/name; prints its name. */
static inline void show_heatmaps(const char *directory, const char *name, const char *title, const attn_mat *mats,
                                 const show_map *maps, size_t count, size_t across)
{
    show__draw(directory, name, title, mats, maps, count, across);
    printf("picture: %s\n", name);
}

/* A figure of matrices with signs between them, as in a x b = c: show_part adds one, drawn as a small heatmap, and
   show_figure draws those that were added, `across` side by side. Those of one colour, but for those that were given a
   range, have one range together, so that the same shade is the same number. */
static attn_mat show__parts[SHOW__PARTS];
static show_map show__looks[SHOW__PARTS];
static size_t show__part_count;

static inline show_map *show_part(const char *sign, const char *name, attn_mat m, show_colours colours, const char *row,
                                  const char *col, int digits)
{
    show_map *map = &show__looks[show__part_count];
    if (show__part_count == SHOW__PARTS) {
        fprintf(stderr, "show_part: more than %d parts\n", SHOW__PARTS);
        exit(1);
    }
    show__parts[show__part_count++] = m;
    *map = show_map_of(name, colours, row, col, digits);
    map->sign = sign;
    return map;
}

static inline void show_figure(const char *directory, const char *name, const char *title, size_t across)
{
    double low[SHOW__FAMILIES], high[SHOW__FAMILIES];
    int ranged[SHOW__PARTS];
    for (int family = 0; family < SHOW__FAMILIES; family++) {
        low[family] = DBL_MAX;
        high[family] = -DBL_MAX;
    }
    for (size_t i = 0; i < show__part_count; i++) {
        show_map map = show__looks[i];
        ranged[i] = map.low < map.high;
        show__measure(show__parts[i], &map);
        if (!ranged[i]) {
            low[map.colours] = fmin(low[map.colours], map.low);
            high[map.colours] = fmax(high[map.colours], map.high);
        }
    }
    for (size_t i = 0; i < show__part_count; i++)
        if (!ranged[i]) {
            show__looks[i].low = low[show__looks[i].colours];
            show__looks[i].high = high[show__looks[i].colours];
        }
    show_heatmaps(directory, name, title, show__parts, show__looks, show__part_count, across);
    show__part_count = 0;
}

/* ==== Lines ====================================================================================================== */

/* What a picture of lines looks like. The first number of a row stands at x_low, the last at x_high. */
typedef struct show_chart {
    const char *title, *x_name, *y_name;
    const char *const *names; /* of the lines */
    double x_low, x_high;
} show_chart;

/* The step between the marks of an axis: 1, 2 or 5 times a power of ten, for at most six of them. */
static inline double show__tick(double range)
{
    double tick = 1e-6;
    for (int i = 0; range / tick > 6 && i < 60; i++)
        tick *= i % 3 == 1 ? 2.5 : 2;
    return tick;
}

/* Where x is between low and high, in pixels: a little more than halves upwards. */
static inline int show__pixel(double x, double low, double high, int pixels)
{
    double way = (x - low) / (high - low);
    return way >= 1 ? pixels : way > 0 ? (int)(way * pixels + 0.500001) : 0;
}

enum { SHOW__LEFT = 84, SHOW__TOP = 64, SHOW__WIDTH = 640, SHOW__HEIGHT = 300 }; /* of the field of the lines */
enum { SHOW__NAME = 18 }; /* from the name of one line to that of the next, at least */

/* Marks, grey lines and names of both axes; y begins at 0. */
static inline void show__svg_axes(FILE *file, const show_chart *chart, double high)
{
    double x_tick = show__tick(chart->x_high - chart->x_low), y_tick = show__tick(high);
    int bottom = SHOW__TOP + SHOW__HEIGHT, right = SHOW__LEFT + SHOW__WIDTH;
    for (int n = 0; n * y_tick <= high; n++) {
        double y = n * y_tick;
        int at = bottom - show__pixel(y, 0, high, SHOW__HEIGHT);
        fprintf(file, "<path stroke=\"#ddd\" d=\"M%d %dH%d\"/>\n", SHOW__LEFT, at, right);
        show__svg_text(file, SHOW__LEFT - 10, at + 5, "end", "", show__cell_of(y, y_tick < 0.999 ? 1 : 0).text);
    }
    for (double x = x_tick * ceil(chart->x_low / x_tick); x <= chart->x_high + x_tick / 1000; x += x_tick) {
        int at = SHOW__LEFT + show__pixel(x, chart->x_low, chart->x_high, SHOW__WIDTH);
        fprintf(file, "<path stroke=\"#ddd\" d=\"M%d %dv6\"/>\n", at, bottom);
        show__svg_text(file, at, bottom + 24, "middle", "", show__cell_of(x, x_tick < 0.999 ? 1 : 0).text);
    }
    show__svg_text(file, SHOW__LEFT + SHOW__WIDTH / 2, bottom + 50, "middle", SHOW__GREY, chart->x_name);
    fprintf(file, "<g transform=\"translate(32 %d) rotate(-90)\">\n", SHOW__TOP + SHOW__HEIGHT / 2);
    show__svg_text(file, 0, 0, "middle", SHOW__GREY, chart->y_name);
    fprintf(file, "</g>\n");
}

/* Draws each row of `lines`, numbers from 0 up, as a line with its name at its end into the file directory/name. */
static inline void show_lines(const char *directory, const char *name, attn_mat lines, const show_chart *chart)
{
    double high = 0;
    int widest = 9 * show__widest(chart->names, lines.rows), named = -SHOW__NAME;
    show__file file;
    char text[64];
    show__require_map(name, lines);
    for (size_t r = 0; r < lines.rows; r++)
        for (size_t c = 0; c < lines.cols; c++)
            high = fmax(high, attn_mat_get(lines, r, c));
    high = high > 0 ? high * 1.05 : 1;

    file = show__create(directory, name);
    snprintf(text, sizeof text, "%d lines of %d points", (int)lines.rows, (int)lines.cols);
    show__svg_open(file.out, SHOW__LEFT + SHOW__WIDTH + widest + 36, SHOW__TOP + SHOW__HEIGHT + 74, chart->title, text);
    show__svg_text(file.out, SHOW__LEFT + SHOW__WIDTH / 2, 36, "middle", " font-size=\"17\" font-weight=\"600\"",
                   chart->title);
    show__svg_axes(file.out, chart, high);
    for (size_t r = 0; r < lines.rows; r++) {
        static const show_colours inks[3] = {SHOW_PURPLE, SHOW_BLUE, SHOW_GREEN};
        show__rgb ink = show__stop(inks[r % 3], 4);
        int y = 0;
        fprintf(file.out, "<path fill=\"none\" stroke-width=\"2\" stroke=\"#%02x%02x%02x\" d=\"", ink.r, ink.g, ink.b);
        for (size_t c = 0; c < lines.cols; c++) {
            int x = lines.cols > 1 ? (int)(c * SHOW__WIDTH / (lines.cols - 1)) : 0;
            y = SHOW__TOP + SHOW__HEIGHT - show__pixel(attn_mat_get(lines, r, c), 0, high, SHOW__HEIGHT);
            fprintf(file.out, "%c%d %d", c ? 'L' : 'M', SHOW__LEFT + x, y);
        }
        fprintf(file.out, "\"/>\n");
        named = abs(y - named) >= SHOW__NAME ? y : y < named ? named - SHOW__NAME : named + SHOW__NAME;
        if (chart->names)
            show__svg_text(file.out, SHOW__LEFT + SHOW__WIDTH + 12, named + 5, "start", "", chart->names[r]);
    }
    fprintf(file.out, "</svg>\n");
    show__finish(&file);
    printf("picture: %s\n", name);
}

#endif /* SHOW_H */
