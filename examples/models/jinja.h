/* jinja.h: conversations rendered from chat templates, in the subset of Jinja that published ones reach without tools
   and documents, and with its results: those of jinja2 with trim_blocks, lstrip_blocks and loop controls, as
   `transformers` calls it. It takes jinja.c, unicode.c, unicode_tables.h, text.h and shown.h: C99 and libc.

       static void fill(jinja *j, void *context) // the variables
       {
           jinja_say(j, "user", "Hi!", 3, 1);
           jinja_set(j, "bos_token", "<s>");
       }
       ...
       jinja j;
       const char *error = jinja_render(&j, "{{ bos_token }}{{ messages[0].content }}", 40, NULL, fill, NULL);
       puts(error ? error : j.text); // an error is "line 1: there is no filter xmlattr here"
       jinja_end(&j);

   Statements: if; for, also with a filter and "else", with index, index0, first, last and previtem of loop; set, also
   of a block; macro, filter, break, continue, generation. Values: strings, integers, true, false, none, dicts,
   namespaces, and lists, which tuples are too. Operators: and, or, not, in, if; == and != of anything but lists and
   dicts, < > <= >= of integers; + of integers, strings and lists, - and % of integers, ~; members, slices, [::-1] of
   lists. Filters and methods: those in the list `functions` of jinja.c; tests: those in run_test there. Functions:
   range, dict, namespace, raise_exception, strftime_now. Lists and dicts are not printed, letters beyond ASCII have no
   upper case, strings have no escapes by number, and iterators, such as those of select, are gone through once.

   What is not there is an error by name and line when it is reached; a statement that is not there always is one. What
   jinja2 fails at fails here as well, but for some of its rules of form. No text is another than that of jinja2.

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

/* For jinja_fill alone; texts are not copied. The variables are `messages`, the list of what jinja_say adds, and those
   of jinja_set (text NULL: none) and jinja_flag. mark: of all bytes of the text. */
void jinja_say(jinja *j, const char *role, const char *text, size_t size, int mark);
void jinja_set(jinja *j, const char *name, const char *text);
void jinja_flag(jinja *j, const char *name, int flag);

#ifdef __cplusplus
}
#endif
#endif
