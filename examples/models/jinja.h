/* jinja.h: texts rendered from templates, in the subset of Jinja that chat templates are written in, and with its
   results: those of jinja2 with trim_blocks, lstrip_blocks and loop controls, as `transformers` calls it. It takes
   jinja.c and its parts (jinja_model.h, jinja_read.c, jinja_values.c, jinja_words.c), json.c, unicode.c,
   unicode_tables.h, text.h and shown.h: C99 and libc.

       static void fill(jinja *j, void *context) // the variables
       {
           jinja_value list = jinja_list(j);
           jinja_add(j, list, jinja_text(j, "Ann", 3, 1));
           jinja_set(j, "names", list);
       }
       ...
       jinja j;
       const char *error = jinja_render(&j, "{% for n in names %}Hi, {{ n }}!\n{% endfor %}", 46, NULL, fill, NULL);
       puts(error ? error : j.text); // an error is "line 1: there is no filter xmlattr here"
       jinja_end(&j);

   There are if, for, set, macro, with, filter, raw, break, continue and generation; every operator of expressions but
   "**" and "%" of strings; namespaces; the methods, filters and tests that are listed at the end of jinja_words.c. What
   is not there is an error when it is reached, and so is what jinja2 calls one; no text is another than that of jinja2.
   Letters beyond ASCII have no upper case here, numbers have 64 bits, and iterators are gone through once.

   Each byte of a text carries a mark: 0 if the template wrote it, or that of the variable which it comes from, through
   all slices, splits and filters. So text of strangers is told from text of the template.

   A template takes at most JINJA_STEPS steps and JINJA_MEMORY bytes, and nests JINJA_DEPTH deep. */
#ifndef JINJA_H
#define JINJA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { JINJA_STEPS = 1 << 24, JINJA_MEMORY = 1 << 26, JINJA_DEPTH = 256 };

/* A value; jinja.c makes them. */
typedef struct jinja_value {
    int kind;
    union {
        int64_t whole;
        double real;
        void *of;
    } u;
    const char *text;          /* of strings, UTF-8; the name of what has one */
    const unsigned char *said; /* the marks of its bytes; NULL: all are 0 */
    size_t size;
} jinja_value;

typedef struct jinja {
    char *text; /* what has been rendered, with a NUL */
    unsigned char *said;
    size_t size;
    void *blocks, *run; /* for jinja.c */
    char error[512];
} jinja;

/* Sets the variables, when jinja_render calls it. It keeps no memory of its own: it need not come back. */
typedef void (*jinja_fill)(jinja *j, void *context);

/* Renders a template of `size` bytes. today: what strftime_now says; NULL: the date of the clock. Returns NULL, or what
   is wrong, which lives in j->error. jinja_end gives back what *j holds, either way. */
const char *jinja_render(jinja *j, const char *text, size_t size, const char *today, jinja_fill fill, void *context);
void jinja_end(jinja *j);

/* For jinja_fill alone. Texts are not copied; mark: of all their bytes. */
jinja_value jinja_none(void);
jinja_value jinja_bool(int value);
jinja_value jinja_text(jinja *j, const char *text, size_t size, int mark);
jinja_value jinja_list(jinja *j);
jinja_value jinja_dict(jinja *j);
void jinja_add(jinja *j, jinja_value list, jinja_value item);
void jinja_put(jinja *j, jinja_value dict, const char *name, jinja_value value); /* a name that is not there yet */
void jinja_set(jinja *j, const char *name, jinja_value value);

#ifdef __cplusplus
}
#endif
#endif
