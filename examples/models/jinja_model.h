/* jinja_model.h: a template in memory, and what happens when it is rendered, for the parts of jinja.c alone:
   jinja_read.c makes the one of text; jinja.c runs it; what values do is in jinja_values.c, methods, filters and tests
   are in jinja_words.c. Whoever calls jinja.h has no need of it. */
#ifndef JINJA_MODEL_H
#define JINJA_MODEL_H

#include "jinja.h"
#include "json.h"
#include "text.h"
#include "unicode.h"

#include <setjmp.h>

typedef jinja_value value;

typedef enum kind {
    UNDEFINED, /* text: its name */
    NONE,
    BOOL,
    INT,
    FLOAT,
    STRING,
    SAFE, /* what the filter of this name makes: only printed */
    LIST,
    TUPLE,
    VIEW,     /* of a dict, or a range */
    ITERATOR, /* of map, select and the like: true, without a length, used once */
    DICT,
    NAMESPACE,
    LOOP,
    MACRO,
    METHOD,
    FUNCTION
} kind;

/* Elements; of a DICT, a NAMESPACE and a scope: keys and values in turn. */
typedef struct items {
    value *values;
    size_t count, room;
    int used;
} items;

/* branches: "if" statements that are being run in it. Of a name in the outermost scope, u.of is the scope that has read
   it: the last one, or the outermost for good. */
typedef struct scope {
    struct scope *outer;
    items names;
    int branches;
} scope;

typedef enum node_kind {
    CONSTANT, /* with `name` as its value */
    NAME,
    ATTRIBUTE, /* a.name */
    ITEM,      /* a[b] */
    SLICE,     /* a[b:c:other] */
    CALL,      /* a(list) */
    FILTER,    /* a|name(list) */
    TEST,      /* a is name(list) */
    KEYWORD,   /* name=a, in a list of arguments */
    NOT,
    NEGATIVE,
    POSITIVE,
    AND,
    OR,
    CHOICE,  /* b if a else c */
    COMPARE, /* a, and a list of OPERATORs */
    OPERATOR,
    BINARY, /* a name b */
    LIST_OF,
    TUPLE_OF,
    DICT_OF, /* list: keys and values in turn */
    TEXT,    /* statements: `name` as it is */
    PRINT,
    IF,       /* a, then list, else b */
    FOR,      /* a in b if c: list; other: else */
    SET,      /* a = b; or, if there is c, list filtered by b */
    MACRO_OF, /* name(b: NAMEs and KEYWORDs): list */
    WITH,     /* b: KEYWORDs; list */
    FILTERED, /* list, filtered by b */
    BLOCK,    /* list, in a scope of its own */
    BREAK,
    CONTINUE
} node_kind;

typedef struct node {
    node_kind kind;
    long line;
    value name;
    struct node *a, *b, *c, *list, *other, *next;
} node;

/* What a FOR has come to. With a filter, elements are looked at when they are asked for, as the body may have changed
   what the filter sees. */
typedef struct loop {
    const node *of;
    items *source, taken;
    size_t next, at; /* next of source; at: the place in `taken` */
    scope *outer;
} loop;

typedef struct macro {
    const node *of;
    scope *outer;
} macro;

/* Arguments: first those without names. */
typedef struct call {
    const char *name; /* of what is called */
    int where;        /* it is found */
    value *values, *names;
    size_t plain, count, taken;
} call;

/* Text that grows. */
typedef struct written {
    char *text;
    unsigned char *said;
    size_t size, room;
    int marked; /* whether a mark is not 0 */
} written;

typedef enum token_kind { END, WORD, QUOTED, NUMBER, SIGN } token_kind;

typedef struct token {
    token_kind kind;
    text_span text;
    value is; /* of QUOTED and NUMBER */
} token;

typedef struct run {
    jinja *j;
    jmp_buf failed;
    const char *today;
    char *source;
    size_t size, at, counted; /* at: where the lexer is; counted: up to where `line` counts */
    long line;
    token now;
    char tag, brackets[JINJA_DEPTH]; /* tag: that is open, '{' or '%' */
    int open, depth, in_macro;
    size_t steps, memory;
    scope *here; /* the innermost */
    written *out;
    char shown[256];
} run;

/* ---- errors, memory and bounds ---- */

/* It does not come back; a return behind it is for compilers that cannot be told. */
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 2, 3)))
#endif
static inline void
fail(run *r, const char *format, ...)
{
    char *error = r->j->error;
    va_list arguments;
    int used = snprintf(error, sizeof r->j->error, "line %ld: ", r->line);
    va_start(arguments, format);
    vsnprintf(error + used, sizeof r->j->error - (size_t)used, format, arguments);
    va_end(arguments);
    longjmp(r->failed, 1);
}

/* A text as messages show it, at most a line of it. */
static inline const char *show(run *r, const char *text, size_t size)
{
    size_t used = 0;
    char one[SHOWN_ONE];
    while (size && used + sizeof one < sizeof r->shown) {
        size_t length = shown_next(one, text, size);
        memcpy(r->shown + used, one, strlen(one));
        used += strlen(one);
        text += length;
        size -= length;
    }
    r->shown[used] = 0;
    return r->shown;
}

static inline const char *show_name(run *r, value v)
{
    return show(r, v.text, v.size);
}

static inline void spend(run *r, size_t steps)
{
    if (steps > JINJA_STEPS - r->steps)
        fail(r, "more than %ld steps", (long)JINJA_STEPS);
    r->steps += steps;
}

static inline void enter(run *r)
{
    spend(r, 1);
    if (++r->depth > JINJA_DEPTH)
        fail(r, "nested more than %d deep", (int)JINJA_DEPTH);
}

/* Memory that jinja_end gives back; for anything. */
typedef struct block {
    struct block *next;
    size_t used, size;
} block;

static inline void *take(run *r, size_t size)
{
    block *b = (block *)r->j->blocks;
    size = (size + 15) / 16 * 16;
    if (size > JINJA_MEMORY || r->memory + size > JINJA_MEMORY)
        fail(r, "more than %ld bytes", (long)JINJA_MEMORY);
    if (!b || size > b->size - b->used) {
        size_t room = size > 8192 ? size : 32768, head = (sizeof *b + 15) / 16 * 16;
        if ((b = (block *)malloc(head + room)) == NULL) {
            snprintf(r->j->error, sizeof r->j->error, TEXT_NO_MEMORY);
            longjmp(r->failed, 1);
        }
        b->next = (block *)r->j->blocks;
        b->used = head;
        b->size = head + room;
        r->j->blocks = b;
    }
    r->memory += size;
    b->used += size;
    return (char *)b + b->used - size;
}

/* An array with room for `more`, at twice the size if need be. */
static inline void *larger(run *r, const void *old, size_t bytes, size_t count, size_t more, size_t *room)
{
    void *fresh;
    if (more <= *room - count)
        return (void *)(uintptr_t)old;
    if (more > JINJA_MEMORY)
        fail(r, "more than %ld bytes", (long)JINJA_MEMORY);
    *room = 2 * count + more + 4;
    fresh = take(r, *room * bytes);
    if (count)
        memcpy(fresh, old, count * bytes);
    return fresh;
}

/* ---- values ---- */

static inline value of_kind(kind k)
{
    value v;
    memset(&v, 0, sizeof v);
    v.kind = (int)k;
    return v;
}

static inline value of_text(const char *text, size_t size, const unsigned char *said)
{
    value v = of_kind(STRING);
    v.text = text;
    v.size = size;
    v.said = said;
    return v;
}

static inline value word(const char *text)
{
    return of_text(text, strlen(text), NULL);
}

static inline value whole(kind k, int64_t number)
{
    value v = of_kind(k);
    v.u.whole = number;
    return v;
}

static inline value real(double number)
{
    value v = of_kind(FLOAT);
    v.u.real = number;
    return v;
}

static inline value of_thing(kind k, void *thing)
{
    value v = of_kind(k);
    v.u.of = thing;
    return v;
}

static inline value named(kind k, value name)
{
    name.kind = (int)k;
    return name;
}

static inline value new_items(run *r, kind k)
{
    items *of = (items *)take(r, sizeof *of);
    memset(of, 0, sizeof *of);
    return of_thing(k, of);
}

static inline items *items_of(value v)
{
    return (items *)v.u.of;
}

static inline void add(run *r, items *to, value v)
{
    to->values = (value *)larger(r, to->values, sizeof v, to->count, 1, &to->room);
    to->values[to->count++] = v;
}

static inline int is_text(value v, const char *text)
{
    return v.size == strlen(text) && memcmp(v.text, text, v.size) == 0;
}

static inline int is_same(value a, value b)
{
    return a.size == b.size && (a.text == b.text || memcmp(a.text, b.text, a.size) == 0);
}

/* The bytes of a string from one on, up to another. */
static inline value part(value s, size_t begin, size_t end)
{
    return of_text(s.text + begin, end - begin, s.said ? s.said + begin : NULL);
}

static inline const char *kind_name(value v)
{
    static const char *const names[] = {"what is undefined", "none",      "a boolean",   "an integer", "a float",
                                        "a string",          "safe text", "a list",      "a tuple",    "a view",
                                        "an iterator",       "a dict",    "a namespace", "a loop",     "a macro",
                                        "a method",          "a function"};
    return names[v.kind];
}

#if defined(__GNUC__)
__attribute__((noreturn))
#endif
static inline void
fail_kind(run *r, const char *what, value v)
{
    if (v.kind == UNDEFINED)
        fail(r, "\"%s\" is undefined, and %s", show_name(r, v), what);
    fail(r, "%s: not %s", what, kind_name(v));
}

static inline int is_number(value v)
{
    return v.kind == BOOL || v.kind == INT || v.kind == FLOAT;
}

static inline double real_of(run *r, value v)
{
    const int64_t most = (int64_t)1 << 53;
    if (v.kind == FLOAT)
        return v.u.real;
    if (v.u.whole > most || v.u.whole < -most)
        fail(r, "an integer that is too large for a float");
    return (double)v.u.whole;
}

static inline int truth(run *r, value v)
{
    switch ((kind)v.kind) {
    case UNDEFINED:
    case NONE: return 0;
    case BOOL:
    case INT: return v.u.whole != 0;
    case FLOAT: return v.u.real != 0;
    case STRING: return v.size > 0;
    case SAFE: fail_kind(r, "only printed", v);
    case LIST:
    case TUPLE:
    case VIEW:
    case DICT: return items_of(v)->count > 0;
    default: return 1;
    }
}

/* ---- text ---- */

static inline void put(run *r, written *o, value s)
{
    size_t room = o->room;
    if (s.size == 0)
        return;
    spend(r, s.size / 64);
    o->text = (char *)larger(r, o->text, 1, o->size, s.size, &o->room);
    o->said = (unsigned char *)larger(r, o->said, 1, o->size, s.size, &room);
    memcpy(o->text + o->size, s.text, s.size);
    if (s.said)
        memcpy(o->said + o->size, s.said, s.size);
    else
        memset(o->said + o->size, 0, s.size);
    o->marked |= s.said != NULL;
    o->size += s.size;
}

static inline void put_word(run *r, written *o, const char *text)
{
    put(r, o, word(text));
}

static inline value text_in_output(const written *o)
{
    return of_text(o->text ? o->text : "", o->size, o->marked ? o->said : NULL);
}

/* Bytes of the character at a place; of what is no UTF-8: one. */
static inline size_t character(value s, size_t at, uint32_t *code)
{
    return unicode_read(s.text + at, s.size - at, code);
}

/* Where the character before a place begins. */
static inline size_t before(value s, size_t at, uint32_t *code)
{
    size_t begin = at - 1;
    while (begin > 0 && at - begin < 4 && ((unsigned char)s.text[begin] & 0xc0) == 0x80)
        begin--;
    if (character(s, begin, code) != at - begin)
        character(s, begin = at - 1, code);
    return begin;
}

/* What str.isspace of Python says. */
static inline int is_blank(uint32_t code)
{
    return unicode_is_space(code) || (code >= 0x1c && code <= 0x1f);
}

static inline size_t length_of(run *r, value s)
{
    size_t count = 0;
    uint32_t code;
    spend(r, s.size / 32);
    for (size_t at = 0; at < s.size; count++)
        at += character(s, at, &code);
    return count;
}

/* Bytes that stand for others carry their marks. */
static inline void put_marked(run *r, written *o, const char *text, value s, size_t at)
{
    unsigned char said[16];
    value v = word(text);
    if (s.said) {
        memset(said, s.said[at], sizeof said);
        v.said = said;
    }
    put(r, o, v);
}

static inline int is_letter(uint32_t code)
{
    return code == '_' || (code < 128 ? (code | 32) >= 'a' && (code | 32) <= 'z'
                                      : unicode_is(code, UNICODE_LETTER | UNICODE_MARK | UNICODE_NL));
}

/* Whether a word is among those of a list, with spaces between. */
static inline int is_in(value name, const char *list)
{
    size_t length;
    for (; *list; list += length + (list[length] == ' ')) {
        length = strcspn(list, " ");
        if (length == name.size && memcmp(list, name.text, length) == 0)
            return 1;
    }
    return 0;
}

static inline value undefined(value name)
{
    return named(UNDEFINED, name);
}

static inline value at_place(const loop *l, size_t at)
{
    return l->taken.values[at];
}

/* What is left of the arguments must be nothing. */
static inline value checked(run *r, const call *c, value v)
{
    if (c->taken < c->count)
        fail(r, "%s has arguments that are not known here", c->name);
    return v;
}

/* ---- jinja_read.c ---- */

/* Reads the template that r->source is. */
node *jinja_parse(run *r);

/* ---- jinja_values.c ---- */

int jinja_equal(run *r, value a, value b);
int jinja_order(run *r, value a, value b); /* negative, 0 or positive */
int jinja_contains(run *r, value v, value what);

/* The value that belongs to a key of a dict, a namespace or a scope; NULL: there is none. And: the key gets a value. */
value *jinja_find(run *r, const items *dict, value key);
void jinja_put_in(run *r, items *dict, value key, value v);

/* The elements that a value is gone through by; v[key]; v.name. */
items *jinja_iterate(run *r, value v);
value jinja_item(run *r, value v, value key);
value jinja_attribute(run *r, value v, value name);

/* a + b, and - * / % and, twice, // of whole numbers; -v; both texts in a row; so many times; where a text is in
   another from one byte on, SIZE_MAX if it is not. */
value jinja_reckon(run *r, char sign, int twice, int64_t a, int64_t b);
value jinja_reckon_reals(run *r, char sign, int twice, double a, double b);
value jinja_negative(run *r, value v);
value jinja_join(run *r, value a, value b);
value jinja_repeat(run *r, value v, value times);
size_t jinja_find_text(run *r, value s, value other, size_t at);

/* Merge sort of records of so many values, by the first of each. */
void jinja_sort(run *r, value *values, size_t count, size_t bytes, int reverse);

/* Writes as str() of Python, and as json.dumps does: with a line for each element, so much further to the right, unless
   indent is negative. */
typedef struct json_style {
    int64_t indent;
    value comma, colon;
    int sorted;
} json_style;
void jinja_write(run *r, written *o, value v);
void jinja_write_json(run *r, written *o, value v, const json_style *style, int64_t level);

/* ---- jinja_words.c ---- */

enum { FILTERS = 1, OF_TEXT = 2, OF_LISTS = 4, OF_DICTS = 8 };

/* A filter, or a method of a value: where it is found. Whether a test holds. */
value jinja_call(run *r, int where, value self, call *c);
int jinja_test(run *r, value name, value v, call *c);

/* ---- jinja.c ---- */

/* Whether a loop has more than `count` elements that its filter lets through. */
int jinja_pull(run *r, loop *l, size_t count);

/* As str() of Python. */
static inline value to_text(run *r, value v)
{
    written o = {NULL, NULL, 0, 0, 0};
    if (v.kind == STRING)
        return v;
    jinja_write(r, &o, v);
    return text_in_output(&o);
}

/* ---- arguments ---- */

/* An argument by its place or its name: whether it is there. */
static inline int argument(run *r, call *c, size_t place, const char *name, value *v)
{
    size_t at = place;
    if (place >= c->plain)
        for (at = c->plain; at < c->count && !is_text(c->names[at], name); at++)
            spend(r, 1);
    if (at >= c->count)
        return 0;
    *v = c->values[at];
    c->taken++;
    return 1;
}

/* The same of a kind that is wanted, or what stands in place of it. */
static inline value argument_of(run *r, call *c, size_t place, const char *name, kind k, value otherwise)
{
    value v;
    if (!argument(r, c, place, name, &v))
        return otherwise;
    if (v.kind != (int)k && !(k == INT && v.kind == BOOL))
        fail_kind(r, name, v);
    return v;
}

static inline value text_argument(run *r, call *c, size_t place, const char *name)
{
    value v;
    if (!argument(r, c, place, name, &v))
        fail(r, "%s needs an argument: %s", c->name, name);
    if (v.kind != STRING)
        fail_kind(r, name, v);
    return v;
}

static inline int flag_argument(run *r, call *c, size_t place, const char *name, int otherwise)
{
    value v;
    return argument(r, c, place, name, &v) ? truth(r, v) : otherwise;
}

#endif
