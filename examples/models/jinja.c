#include "jinja.h"
#include "json.h"
#include "text.h"
#include "unicode.h"

#include <setjmp.h>
#include <time.h>

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

typedef struct scope {
    struct scope *outer;
    items names;
} scope;

typedef enum node_kind {
    CONSTANT, /* with `name` as its value */
    NAME,
    ATTRIBUTE, /* a.name */
    ITEM,      /* a[b] */
    SLICE,     /* a[b:c:list] */
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
    FOR,      /* a in b if c: list, else other */
    SET,      /* a = b, or list filtered by b */
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
    struct loop *above;
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

/* ==== Errors, memory and bounds =================================================================================== */

#ifdef __GNUC__
__attribute__((noreturn, format(printf, 2, 3)))
#endif
static void
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
static const char *show(run *r, const char *text, size_t size)
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

static const char *show_name(run *r, value v)
{
    return show(r, v.text, v.size);
}

static void spend(run *r, size_t steps)
{
    if (steps > JINJA_STEPS - r->steps)
        fail(r, "more than %ld steps", (long)JINJA_STEPS);
    r->steps += steps;
}

static void enter(run *r)
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

static void *take(run *r, size_t size)
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
static void *larger(run *r, const void *old, size_t bytes, size_t count, size_t more, size_t *room)
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

/* ==== Values ====================================================================================================== */

static value of_kind(kind k)
{
    value v;
    memset(&v, 0, sizeof v);
    v.kind = (int)k;
    return v;
}

static value of_text(const char *text, size_t size, const unsigned char *said)
{
    value v = of_kind(STRING);
    v.text = text;
    v.size = size;
    v.said = said;
    return v;
}

static value word(const char *text)
{
    return of_text(text, strlen(text), NULL);
}

static value whole(kind k, int64_t number)
{
    value v = of_kind(k);
    v.u.whole = number;
    return v;
}

static value real(double number)
{
    value v = of_kind(FLOAT);
    v.u.real = number;
    return v;
}

static value of_thing(kind k, void *thing)
{
    value v = of_kind(k);
    v.u.of = thing;
    return v;
}

static value named(kind k, value name)
{
    name.kind = (int)k;
    return name;
}

static value new_items(run *r, kind k)
{
    items *of = (items *)take(r, sizeof *of);
    memset(of, 0, sizeof *of);
    return of_thing(k, of);
}

static items *items_of(value v)
{
    return (items *)v.u.of;
}

static void add(run *r, items *to, value v)
{
    to->values = (value *)larger(r, to->values, sizeof v, to->count, 1, &to->room);
    to->values[to->count++] = v;
}

static int is_text(value v, const char *text)
{
    return v.size == strlen(text) && memcmp(v.text, text, v.size) == 0;
}

static int is_same(value a, value b)
{
    return a.size == b.size && (a.text == b.text || memcmp(a.text, b.text, a.size) == 0);
}

/* The bytes of a string from one on, up to another. */
static value part(value s, size_t begin, size_t end)
{
    return of_text(s.text + begin, end - begin, s.said ? s.said + begin : NULL);
}

static const char *kind_name(value v)
{
    static const char *const names[] = {"what is undefined", "none",      "a boolean",   "an integer", "a float",
                                        "a string",          "safe text", "a list",      "a tuple",    "a view",
                                        "an iterator",       "a dict",    "a namespace", "a loop",     "a macro",
                                        "a method",          "a function"};
    return names[v.kind];
}

#ifdef __GNUC__
__attribute__((noreturn))
#endif
static void
fail_kind(run *r, const char *what, value v)
{
    if (v.kind == UNDEFINED)
        fail(r, "\"%s\" is undefined, and %s", show_name(r, v), what);
    fail(r, "%s: not %s", what, kind_name(v));
}

static int is_number(value v)
{
    return v.kind == BOOL || v.kind == INT || v.kind == FLOAT;
}

static double real_of(run *r, value v)
{
    const int64_t most = (int64_t)1 << 53;
    if (v.kind == FLOAT)
        return v.u.real;
    if (v.u.whole > most || v.u.whole < -most)
        fail(r, "an integer that is too large for a float");
    return (double)v.u.whole;
}

static int truth(run *r, value v)
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

static int equal(run *r, value a, value b);

static int equal_items(run *r, const items *a, const items *b)
{
    int same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = equal(r, a->values[i], b->values[i]);
    return same;
}

static value *find(run *r, const items *dict, value key);

static int equal_dicts(run *r, const items *a, const items *b)
{
    int same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i += 2) {
        const value *other = find(r, b, a->values[i]);
        same = other && equal(r, a->values[i + 1], *other);
    }
    return same;
}

static int equal(run *r, value a, value b)
{
    int same = 0;
    enter(r);
    if (a.kind == SAFE || b.kind == SAFE || a.kind == VIEW || b.kind == VIEW)
        fail(r, "%s is not compared here", a.kind == SAFE || b.kind == SAFE ? "safe text" : "a view");
    if (is_number(a) && is_number(b))
        same = a.kind != FLOAT && b.kind != FLOAT ? a.u.whole == b.u.whole : real_of(r, a) == real_of(r, b);
    else if (a.kind == b.kind && a.kind == STRING)
        spend(r, a.size / 64), same = is_same(a, b);
    else if (a.kind == b.kind && (a.kind == LIST || a.kind == TUPLE))
        same = equal_items(r, items_of(a), items_of(b));
    else if (a.kind == b.kind && a.kind == DICT)
        same = equal_dicts(r, items_of(a), items_of(b));
    else if (a.kind == b.kind)
        same = a.kind == UNDEFINED || a.kind == NONE || (a.kind < METHOD && a.u.of == b.u.of);
    r->depth--;
    return same;
}

/* The value that belongs to a key of a dict, a namespace or a scope; NULL: there is none. */
static value *find(run *r, const items *dict, value key)
{
    if (key.kind == LIST || key.kind == DICT || key.kind == SAFE)
        fail_kind(r, "a key of a dict", key);
    spend(r, dict->count / 8);
    for (size_t i = 0; i < dict->count; i += 2) {
        const value *known = &dict->values[i];
        if (key.kind == STRING && known->kind == STRING ? is_same(*known, key) : equal(r, *known, key))
            return &dict->values[i + 1];
    }
    return NULL;
}

static void put_in(run *r, items *dict, value key, value v)
{
    value *known = find(r, dict, key);
    if (known) {
        *known = v;
        return;
    }
    add(r, dict, key);
    add(r, dict, v);
}

/* ==== Text ======================================================================================================== */

static void put(run *r, written *o, value s)
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

static void put_word(run *r, written *o, const char *text)
{
    put(r, o, word(text));
}

static value text_in_output(const written *o)
{
    return of_text(o->text ? o->text : "", o->size, o->marked ? o->said : NULL);
}

/* Bytes of the character at a place; of what is no UTF-8: one. */
static size_t character(value s, size_t at, uint32_t *code)
{
    return unicode_read(s.text + at, s.size - at, code);
}

/* Where the character before a place begins. */
static size_t before(value s, size_t at, uint32_t *code)
{
    size_t begin = at - 1;
    while (begin > 0 && at - begin < 4 && ((unsigned char)s.text[begin] & 0xc0) == 0x80)
        begin--;
    if (character(s, begin, code) != at - begin)
        character(s, begin = at - 1, code);
    return begin;
}

/* What str.isspace of Python says. */
static int is_blank(uint32_t code)
{
    return unicode_is_space(code) || (code >= 0x1c && code <= 0x1f);
}

/* What str.splitlines of Python cuts at. */
static int is_line_end(uint32_t code)
{
    return (code >= 0x0a && code <= 0x0d) || (code >= 0x1c && code <= 0x1e) || code == 0x85 || code == 0x2028 ||
           code == 0x2029;
}

static int is_one_of(value set, uint32_t code)
{
    uint32_t other;
    for (size_t at = 0; at < set.size;) {
        at += character(set, at, &other);
        if (other == code)
            return 1;
    }
    return 0;
}

/* A string without the characters of a set (NULL: white space) at its ends. */
static value strip(run *r, value s, const value *set, int left, int right)
{
    size_t begin = 0, end = s.size, next;
    uint32_t code;
    for (; left && begin < end; begin = next) {
        next = begin + character(s, begin, &code);
        spend(r, set ? set->size / 16 : 0);
        if (!(set ? is_one_of(*set, code) : is_blank(code)))
            break;
    }
    for (; right && begin < end; end = next) {
        next = before(s, end, &code);
        spend(r, set ? set->size / 16 : 0);
        if (!(set ? is_one_of(*set, code) : is_blank(code)))
            break;
    }
    spend(r, (s.size - (end - begin)) / 16);
    return part(s, begin, end);
}

static size_t length_of(value s)
{
    size_t count = 0;
    uint32_t code;
    for (size_t at = 0; at < s.size; count++)
        at += character(s, at, &code);
    return count;
}

/* Where a text is in another, from one byte on: SIZE_MAX if it is not. */
static size_t find_text(run *r, value s, value other, size_t at)
{
    size_t begin = at, found = SIZE_MAX;
    for (; found == SIZE_MAX && at + other.size <= s.size; at++)
        if (other.size == 0 || (s.text[at] == *other.text && memcmp(s.text + at, other.text, other.size) == 0))
            found = at;
    spend(r, (at - begin) / 64 * (other.size / 16 + 1));
    return found;
}

/* ---- as Python writes values ---- */

static void put_whole(run *r, written *o, int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    put(r, o, of_text(text, strlen(text), NULL));
}

/* The shortest digits that give the number back; from 1e16 on and below 1e-4 with an exponent. */
static void put_real(run *r, written *o, double number)
{
    char digits[40], text[64];
    int precision = 0, exponent, count;
    double back = 0;
    if (!(number - number == 0))
        fail(r, "a float that is no number");
    do {
        snprintf(digits, sizeof digits, "%.*e", precision, number);
        back = strtod(digits, NULL);
    } while (back != number && ++precision < 17);
    exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent >= 16 || exponent < -4) {
        snprintf(text, sizeof text, "%.*e", precision, number);
    } else {
        count = precision > exponent ? precision - exponent : 0;
        snprintf(text, sizeof text, "%.*f%s", count, number, count ? "" : ".0");
    }
    put(r, o, of_text(text, strlen(text), NULL));
}

/* Bytes that stand for others carry their marks. */
static void put_marked(run *r, written *o, const char *text, value s, size_t at)
{
    unsigned char said[16];
    value v = word(text);
    if (s.said) {
        memset(said, s.said[at], sizeof said);
        v.said = said;
    }
    put(r, o, v);
}

/* A string in quotes, as repr of Python writes it or as JSON does. */
static void put_quoted(run *r, written *o, value s, int is_json)
{
    static const char shown[] = "\n\r\t\b\f", letters[] = "nrtbf";
    int twice = is_json || (s.size && memchr(s.text, '\'', s.size) && !memchr(s.text, '"', s.size));
    const char *quote = twice ? "\"" : "'", *known;
    size_t at = 0, length, begin = 0;
    char escape[16];
    uint32_t code;
    put_word(r, o, quote);
    for (; at < s.size; at += length) {
        length = character(s, at, &code);
        known = code && code < 128 ? strchr(shown, (int)code) : NULL;
        if (code == '\\' || code == (unsigned char)*quote)
            snprintf(escape, sizeof escape, "\\%c", (int)code);
        else if (known && (is_json || known - shown < 3))
            snprintf(escape, sizeof escape, "\\%c", letters[known - shown]);
        else if (is_json && code < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)code);
        else if (!is_json && code != ' ' && code < UNICODE_INVALID &&
                 unicode_is(code, UNICODE_CC | UNICODE_CF | UNICODE_CO | UNICODE_CN | UNICODE_Z))
            snprintf(escape, sizeof escape,
                     code < 0x100     ? "\\x%02x"
                     : code < 0x10000 ? "\\u%04x"
                                      : "\\U%08x",
                     (unsigned)code);
        else
            continue;
        put(r, o, part(s, begin, at));
        put_marked(r, o, escape, s, at);
        begin = at + length;
    }
    put(r, o, part(s, begin, s.size));
    put_word(r, o, quote);
}

static void put_repr(run *r, written *o, value v)
{
    const items *of = (const items *)v.u.of;
    int is_dict = v.kind == DICT;
    const char *ends = is_dict ? "{}" : v.kind == TUPLE ? "()" : "[]";
    enter(r);
    switch ((kind)v.kind) {
    case UNDEFINED: put_word(r, o, "Undefined"); break;
    case NONE: put_word(r, o, "None"); break;
    case BOOL: put_word(r, o, v.u.whole ? "True" : "False"); break;
    case INT: put_whole(r, o, v.u.whole); break;
    case FLOAT: put_real(r, o, v.u.real); break;
    case STRING: put_quoted(r, o, v, 0); break;
    case LIST:
    case TUPLE:
    case DICT:
        put(r, o, of_text(ends, 1, NULL));
        for (size_t i = 0; i < of->count; i++) {
            put_word(r, o, i == 0 ? "" : is_dict && i % 2 ? ": " : ", ");
            put_repr(r, o, of->values[i]);
        }
        put_word(r, o, v.kind == TUPLE && of->count == 1 ? ",)" : ends + 1);
        break;
    default: fail_kind(r, "printed", v);
    }
    r->depth--;
}

/* As str() of Python. */
static void put_value(run *r, written *o, value v)
{
    if (v.kind == STRING || v.kind == SAFE)
        put(r, o, v);
    else if (v.kind != UNDEFINED)
        put_repr(r, o, v);
}

static value to_text(run *r, value v)
{
    written o = {NULL, NULL, 0, 0, 0};
    if (v.kind == STRING)
        return v;
    put_value(r, &o, v);
    return text_in_output(&o);
}

/* How json.dumps writes: with a line for each element, so much further to the right, unless indent is negative. */
typedef struct json_style {
    int64_t indent;
    value comma, colon;
    int sorted;
} json_style;

static void put_line(run *r, written *o, const json_style *style, int64_t level)
{
    if (style->indent < 0)
        return;
    put_word(r, o, "\n");
    for (int64_t i = 0; i < level * style->indent; i++)
        put_word(r, o, " ");
}

static void sort(run *r, value *values, size_t count, size_t bytes, int reverse);

static void put_json(run *r, written *o, value v, const json_style *style, int64_t level);

static void put_json_items(run *r, written *o, value v, const json_style *style, int64_t level)
{
    const items *of = items_of(v);
    size_t step = v.kind == DICT ? 2 : 1;
    const value *values = of->values;
    if (style->sorted && v.kind == DICT && of->count) {
        value *sorted = (value *)take(r, of->count * sizeof *sorted);
        memcpy(sorted, values, of->count * sizeof *sorted);
        sort(r, sorted, of->count / 2, 2, 0);
        values = sorted;
    }
    put_word(r, o, v.kind == DICT ? "{" : "[");
    for (size_t i = 0; i < of->count; i += step) {
        if (i)
            put(r, o, style->comma);
        put_line(r, o, style, level + 1);
        if (v.kind == DICT) {
            if (values[i].kind != STRING)
                fail_kind(r, "a name in JSON", values[i]);
            put_quoted(r, o, values[i], 1);
            put(r, o, style->colon);
        }
        put_json(r, o, values[i + step - 1], style, level + 1);
    }
    if (of->count)
        put_line(r, o, style, level);
    put_word(r, o, v.kind == DICT ? "}" : "]");
}

static void put_json(run *r, written *o, value v, const json_style *style, int64_t level)
{
    enter(r);
    if (v.kind == NONE)
        put_word(r, o, "null");
    else if (v.kind == BOOL)
        put_word(r, o, v.u.whole ? "true" : "false");
    else if (v.kind == STRING)
        put_quoted(r, o, v, 1);
    else if (v.kind == INT || v.kind == FLOAT)
        put_value(r, o, v);
    else if (v.kind == LIST || v.kind == TUPLE || v.kind == DICT)
        put_json_items(r, o, v, style, level);
    else
        fail_kind(r, "tojson", v);
    r->depth--;
}

/* ==== The words of a template ===================================================================================== */

static int at_text(const run *r, size_t at, const char *text)
{
    size_t size = strlen(text);
    return size <= r->size - at && memcmp(r->source + at, text, size) == 0;
}

static void move(run *r, size_t at)
{
    for (; r->counted < at; r->counted++)
        r->line += r->source[r->counted] == '\n';
    r->at = at;
}

/* Where the white space from a place on ends. */
static size_t after_blanks(const run *r, size_t at)
{
    uint32_t code;
    size_t next = at;
    while (at < r->size) {
        next = at + unicode_read(r->source + at, r->size - at, &code);
        if (!is_blank(code))
            break;
        at = next;
    }
    return at;
}

/* The place behind the end of a tag that may begin here, with what it takes from the text that follows; 0: none does.
   close: the first character of its two. */
static size_t after_tag(const run *r, size_t at, char close)
{
    char text[4] = {'-', 0, '}', 0};
    text[1] = close;
    if (at_text(r, at, text))
        return after_blanks(r, at + 3);
    text[0] = '+';
    if (close != '}' && at_text(r, at, text))
        return at + 3;
    if (!at_text(r, at, text + 1))
        return 0;
    return at + 2 + (close != '}' && at_text(r, at + 2, "\n"));
}

static int is_letter(uint32_t code)
{
    return code == '_' || (code < 128 ? (code | 32) >= 'a' && (code | 32) <= 'z'
                                      : unicode_is(code, UNICODE_LETTER | UNICODE_MARK | UNICODE_NL));
}

static size_t after_word(const run *r, size_t at)
{
    uint32_t code;
    while (at < r->size) {
        size_t length = unicode_read(r->source + at, r->size - at, &code);
        if (!is_letter(code) && !(code < 128 ? code >= '0' && code <= '9' : unicode_is(code, UNICODE_ND)))
            break;
        at += length;
    }
    return at;
}

static unsigned long digits_of(run *r, size_t at, size_t most, unsigned base, size_t *used)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    unsigned long number = 0;
    for (*used = 0; *used < most && at + *used < r->size; ++*used) {
        const char c = r->source[at + *used], *digit = c ? strchr(digits, c) : NULL;
        if (!digit || (unsigned)(digit - digits) % 16 >= base)
            break;
        number = number * base + (unsigned)(digit - digits) % 16;
    }
    return number;
}

/* Appends what a backslash at a place stands for, and returns where the text goes on. */
static size_t put_escape(run *r, written *o, size_t at)
{
    static const char letters[] = "ntr\\'\"abfv", stand_for[] = "\n\t\r\\'\"\a\b\f\v";
    const char c = r->source[at + 1], *known = c ? strchr(letters, c) : NULL;
    size_t used = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0, got;
    char bytes[4];
    unsigned long code;
    if (known) {
        put(r, o, of_text(stand_for + (known - letters), 1, NULL));
    } else if (used || (c >= '0' && c <= '7')) {
        code = used ? digits_of(r, at + 2, used, 16, &got) : digits_of(r, at + 1, 3, 8, &got);
        if ((used && got < used) || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            fail(r, "an escape that is no character");
        put(r, o, of_text(bytes, unicode_write(bytes, (uint32_t)code), NULL));
        return at + (used ? 2 : 1) + got;
    } else if (c == 'N' || (unsigned char)c >= 128) {
        fail(r, "there is no escape %s here", show(r, r->source + at, 2));
    } else if (c != '\n') {
        put(r, o, of_text(r->source + at, 1, NULL));
        return at + 1;
    }
    return at + 2;
}

static void read_string(run *r)
{
    const char quote = r->source[r->at];
    written o = {NULL, NULL, 0, 0, 0};
    size_t at = r->at + 1, begin = at;
    while (at < r->size && r->source[at] != quote) {
        if (r->source[at] != '\\') {
            at++;
            continue;
        }
        put(r, &o, of_text(r->source + begin, at - begin, NULL));
        if (at + 1 >= r->size)
            break;
        begin = at = put_escape(r, &o, at);
    }
    if (at >= r->size)
        fail(r, "a string without an end");
    put(r, &o, of_text(r->source + begin, at - begin, NULL));
    r->now.kind = QUOTED;
    r->now.is = text_in_output(&o);
    move(r, at + 1);
}

static void read_number(run *r)
{
    size_t at = r->at, begin = at, end, used;
    int is_member = begin > 0 && r->source[begin - 1] == '.', is_real = 0;
    char text[64];
    json number;
    double read;
    int64_t sum = 0;
    digits_of(r, at, SIZE_MAX - at, 10, &used);
    end = at += used;
    if (!is_member && at_text(r, at, ".") && (digits_of(r, at + 1, SIZE_MAX - at - 1, 10, &used), used > 0))
        end = at += 1 + used, is_real = 1;
    if (!is_member && at < r->size && (r->source[at] | 32) == 'e') {
        at += at_text(r, at + 1, "+") || at_text(r, at + 1, "-") ? 2 : 1;
        digits_of(r, at, SIZE_MAX - at, 10, &used);
        if (used > 0)
            end = at + used, is_real = 1;
    }
    if (end < r->size && is_letter((unsigned char)r->source[end]))
        fail(r, "a number that is not known here");
    if (is_real) {
        snprintf(text, sizeof text, "%.*s", (int)(end - begin < 63 ? end - begin : 63), r->source + begin);
        if (end - begin > 62 || json_parse(&number, text, strlen(text), NULL) || !json_double(number, &read))
            fail(r, "a number that is not known here");
        r->now.is = real(read);
    } else {
        for (at = begin; at < end && sum <= (INT64_MAX - 9) / 10; at++)
            sum = sum * 10 + (r->source[at] - '0');
        if (at < end || (end - begin > 1 && r->source[begin] == '0'))
            fail(r, "a number that is not known here");
        r->now.is = whole(INT, sum);
    }
    r->now.kind = NUMBER;
    move(r, end);
}

static void read_sign(run *r)
{
    static const char *const signs[] = {"**", "//", "==", "!=", ">=", "<="};
    const char c = r->source[r->at];
    const char *bracket = strchr("([{)]}", c);
    size_t size = 1;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (at_text(r, r->at, signs[i]))
            size = 2;
    if (size == 1 && (!c || !strchr("+-*/%~[](){}<>=.:|,", c)))
        fail(r, "\"%s\" is not known here", show(r, r->source + r->at, 1));
    if (bracket && strchr("([{", c)) {
        if (r->open == JINJA_DEPTH)
            fail(r, "nested more than %d deep", (int)JINJA_DEPTH);
        r->brackets[r->open++] = bracket[3];
    } else if (bracket && (r->open == 0 || r->brackets[--r->open] != c)) {
        fail(r, "\"%c\" closes nothing", c);
    }
    r->now.kind = SIGN;
    move(r, r->at + size);
}

/* Reads the next word of the tag that is open; at its end what lies behind it is text again. */
static void next(run *r)
{
    size_t begin, end;
    uint32_t code;
    spend(r, 1);
    move(r, after_blanks(r, r->at));
    begin = r->at;
    if (begin >= r->size)
        fail(r, "a tag without an end");
    memset(&r->now, 0, sizeof r->now);
    unicode_read(r->source + begin, r->size - begin, &code);
    end = r->open ? 0 : after_tag(r, begin, r->tag == '{' ? '}' : '%');
    if (end)
        move(r, end);
    else if (is_letter(code))
        r->now.kind = WORD, move(r, after_word(r, begin));
    else if (code >= '0' && code <= '9')
        read_number(r);
    else if (code == '"' || code == '\'')
        read_string(r);
    else
        read_sign(r);
    r->now.text = text_of(r->source + begin, r->at - begin);
}

static value now(const run *r)
{
    return of_text(r->now.text.text, r->now.text.size, NULL);
}

static int is_word(const run *r, const char *text)
{
    return r->now.kind == WORD && is_text(now(r), text);
}

static int is_sign(const run *r, const char *text)
{
    return r->now.kind == SIGN && is_text(now(r), text);
}

static int accept(run *r, const char *text)
{
    int found = is_word(r, text) || is_sign(r, text);
    if (found)
        next(r);
    return found;
}

static const char *show_now(run *r)
{
    return r->now.kind == END ? "the end of the tag" : show(r, r->now.text.text, r->now.text.size);
}

static void expect(run *r, const char *text)
{
    if (!accept(r, text))
        fail(r, "%s stands where %s is wanted", show_now(r), text);
}

/* Whether a word is among those of a list, with spaces between. */
static int is_in(value name, const char *list)
{
    size_t length;
    for (; *list; list += length + (list[length] == ' ')) {
        length = strcspn(list, " ");
        if (length == name.size && memcmp(list, name.text, length) == 0)
            return 1;
    }
    return 0;
}

static value take_name(run *r)
{
    value name = now(r);
    if (r->now.kind != WORD || is_in(name, "and or not if else in is"))
        fail(r, "%s stands where a name is wanted", show_now(r));
    next(r);
    return name;
}

/* ==== Expressions, read =========================================================================================== */

static node *new_node(run *r, node_kind k, node *a, node *b)
{
    node *n = (node *)take(r, sizeof *n);
    memset(n, 0, sizeof *n);
    n->kind = k;
    n->line = r->line;
    n->a = a;
    n->b = b;
    return n;
}

static node *named_node(run *r, node_kind k, node *a, value name)
{
    node *n = new_node(r, k, a, NULL);
    n->name = name;
    return n;
}

static node *parse(run *r);
static node *parse_or(run *r);
static node *parse_unary(run *r, int filters);

/* Elements up to a closing bracket, which is taken; a DICT's keys and values in turn. */
static node *parse_elements(run *r, const char *close, int is_dict)
{
    node *first = NULL, **last = &first;
    while (!is_sign(r, close)) {
        *last = parse(r);
        last = &(*last)->next;
        if (is_dict) {
            expect(r, ":");
            *last = parse(r);
            last = &(*last)->next;
        }
        if (!is_sign(r, close))
            expect(r, ",");
    }
    next(r);
    return first;
}

static node *parse_arguments(run *r)
{
    node *first = NULL, **last = &first;
    int is_named = 0;
    expect(r, "(");
    while (!is_sign(r, ")")) {
        const size_t at = after_blanks(r, r->at);
        value name = now(r);
        if (is_sign(r, "*") || is_sign(r, "**"))
            fail(r, "there are no arguments after %s here", show_now(r));
        if (r->now.kind == WORD && at_text(r, at, "=") && !at_text(r, at, "==")) {
            next(r);
            next(r);
            *last = named_node(r, KEYWORD, parse(r), name);
            is_named = 1;
        } else {
            if (is_named)
                fail(r, "an argument without a name after one with a name");
            *last = parse(r);
        }
        last = &(*last)->next;
        if (!is_sign(r, ")"))
            expect(r, ",");
    }
    next(r);
    return first;
}

/* Expressions with commas between them are a tuple. choices: whether "if" belongs to them. */
static node *parse_tuple(run *r, int choices)
{
    node *n = choices ? parse(r) : parse_or(r), *tuple, **last;
    if (!is_sign(r, ","))
        return n;
    tuple = new_node(r, TUPLE_OF, NULL, NULL);
    tuple->list = n;
    last = &n->next;
    while (accept(r, ",") && r->now.kind != END && !is_sign(r, ")") && !is_sign(r, "]") && !is_sign(r, "=") &&
           !is_word(r, "in")) {
        *last = choices ? parse(r) : parse_or(r);
        last = &(*last)->next;
    }
    return tuple;
}

static node *parse_name(run *r)
{
    value name = take_name(r);
    if (is_in(name, "true True false False"))
        return named_node(r, CONSTANT, NULL, whole(BOOL, (name.text[0] | 32) == 't'));
    if (is_in(name, "none None"))
        return named_node(r, CONSTANT, NULL, of_kind(NONE));
    if (is_in(name, "self") || (r->in_macro && is_in(name, "varargs kwargs caller")))
        fail(r, "there is no %s here", show_name(r, name));
    return named_node(r, NAME, NULL, name);
}

static node *parse_primary(run *r)
{
    node *n;
    if (r->now.kind == WORD)
        return parse_name(r);
    if (r->now.kind == NUMBER) {
        n = named_node(r, CONSTANT, NULL, r->now.is);
        next(r);
    } else if (r->now.kind == QUOTED) {
        written o = {NULL, NULL, 0, 0, 0};
        n = new_node(r, CONSTANT, NULL, NULL);
        for (; r->now.kind == QUOTED; next(r))
            put(r, &o, r->now.is);
        n->name = text_in_output(&o);
    } else if (accept(r, "(")) {
        if (is_sign(r, ")"))
            n = new_node(r, TUPLE_OF, NULL, NULL);
        else
            n = parse_tuple(r, 1);
        expect(r, ")");
    } else if (accept(r, "[")) {
        n = new_node(r, LIST_OF, NULL, NULL);
        n->list = parse_elements(r, "]", 0);
    } else if (accept(r, "{")) {
        n = new_node(r, DICT_OF, NULL, NULL);
        n->list = parse_elements(r, "}", 1);
    } else {
        fail(r, "%s stands where an expression is wanted", show_now(r));
    }
    return n;
}

static node *parse_subscript(run *r, node *a)
{
    node *n = new_node(r, ITEM, a, NULL), *bounds[3] = {NULL, NULL, NULL};
    int count = 0;
    while (!is_sign(r, "]")) {
        if (is_sign(r, ":")) {
            if (++count == 3)
                fail(r, "a slice of more than three numbers");
            next(r);
        } else {
            if (bounds[count])
                fail(r, "%s stands where ] is wanted", show_now(r));
            bounds[count] = parse(r);
        }
    }
    next(r);
    n->b = bounds[0];
    n->c = bounds[1];
    n->other = bounds[2];
    n->kind = count ? SLICE : ITEM;
    if (!count && !n->b)
        fail(r, "nothing in []");
    return n;
}

/* What may follow an expression: members, calls. */
static node *parse_members(run *r, node *n)
{
    for (;;) {
        if (is_sign(r, "(")) {
            n = new_node(r, CALL, n, NULL);
            n->list = parse_arguments(r);
        } else if (accept(r, "[")) {
            n = parse_subscript(r, n);
        } else if (accept(r, ".")) {
            if (r->now.kind == NUMBER && r->now.is.kind == INT) {
                n = new_node(r, ITEM, n, named_node(r, CONSTANT, NULL, r->now.is));
            } else if (r->now.kind == WORD) {
                n = named_node(r, ATTRIBUTE, n, now(r));
            } else {
                fail(r, "%s stands where a name is wanted", show_now(r));
            }
            next(r);
        } else {
            return n;
        }
    }
}

static node *parse_filter(run *r, node *n)
{
    n = named_node(r, FILTER, n, take_name(r));
    if (is_sign(r, "("))
        n->list = parse_arguments(r);
    return n;
}

static node *parse_test(run *r, node *n)
{
    int denies = accept(r, "not");
    value name = now(r);
    if (r->now.kind != WORD)
        fail(r, "%s stands where a test is wanted", show_now(r));
    next(r);
    n = named_node(r, TEST, n, name);
    if (is_sign(r, "("))
        n->list = parse_arguments(r);
    else if (r->now.kind == QUOTED || r->now.kind == NUMBER || is_sign(r, "[") || is_sign(r, "{") ||
             (r->now.kind == WORD && !is_in(now(r), "else or and is")))
        n->list = parse_members(r, parse_primary(r));
    else if (is_word(r, "is"))
        fail(r, "two tests in a row");
    return denies ? new_node(r, NOT, n, NULL) : n;
}

static node *parse_unary(run *r, int filters)
{
    node *n;
    enter(r);
    if (accept(r, "-"))
        n = new_node(r, NEGATIVE, parse_unary(r, 0), NULL);
    else if (accept(r, "+"))
        n = new_node(r, POSITIVE, parse_unary(r, 0), NULL);
    else
        n = parse_primary(r);
    n = parse_members(r, n);
    while (filters) {
        if (accept(r, "|"))
            n = parse_filter(r, n);
        else if (accept(r, "is"))
            n = parse_test(r, n);
        else if (is_sign(r, "("))
            n = parse_members(r, n);
        else
            break;
    }
    if (is_sign(r, "**"))
        fail(r, "there is no operator ** here");
    r->depth--;
    return n;
}

/* The operators from the weakest on: one with a left and a right side, each of the next level. */
static node *parse_binary(run *r, int level)
{
    static const char *const operators[] = {"+ -", "~", "* / // %"};
    node *n = level == 3 ? parse_unary(r, 1) : parse_binary(r, level + 1);
    while (level < 3 && r->now.kind == SIGN && is_in(now(r), operators[level])) {
        value name = now(r);
        next(r);
        n = named_node(r, BINARY, n, name);
        n->b = parse_binary(r, level + 1);
    }
    return n;
}

static node *parse_compare(run *r)
{
    node *a = parse_binary(r, 0), *n = NULL, **last = NULL;
    for (;;) {
        value name = now(r);
        if (is_word(r, "not")) { /* in "not in" alone */
            next(r);
            if (!is_word(r, "in"))
                fail(r, "%s stands where in is wanted", show_now(r));
        } else if (!is_word(r, "in") && !(r->now.kind == SIGN && is_in(name, "== != < > <= >="))) {
            return n ? n : a;
        }
        next(r);
        if (!n) {
            n = new_node(r, COMPARE, a, NULL);
            last = &n->list;
        }
        *last = named_node(r, OPERATOR, parse_binary(r, 0), name);
        last = &(*last)->next;
    }
}

static node *parse_not(run *r)
{
    node *n;
    enter(r);
    n = accept(r, "not") ? new_node(r, NOT, parse_not(r), NULL) : parse_compare(r);
    r->depth--;
    return n;
}

static node *parse_or(run *r)
{
    node *n = NULL, *side;
    do {
        side = parse_not(r);
        while (accept(r, "and"))
            side = new_node(r, AND, side, parse_not(r));
        n = n ? new_node(r, OR, n, side) : side;
    } while (accept(r, "or"));
    return n;
}

static node *parse(run *r)
{
    node *n;
    enter(r);
    n = parse_or(r);
    while (accept(r, "if")) {
        n = new_node(r, CHOICE, parse_or(r), n);
        n->c = accept(r, "else") ? parse(r) : NULL;
    }
    r->depth--;
    return n;
}

/* ==== Statements, read ============================================================================================ */

static void end_tag(run *r)
{
    if (r->now.kind != END)
        fail(r, "%s stands where the end of the tag is wanted", show_now(r));
    r->tag = 0;
}

static node *text_node(run *r, size_t begin, size_t end)
{
    return begin < end ? named_node(r, TEXT, NULL, of_text(r->source + begin, end - begin, NULL)) : NULL;
}

/* Where text ends, from `begin` to a tag whose sign is at `end` + 2. */
static size_t trimmed(const run *r, size_t begin, size_t end)
{
    const char sign = end + 2 < r->size ? r->source[end + 2] : 0;
    value s = of_text(r->source, end, NULL);
    size_t at = end;
    uint32_t code;
    if (sign == '+' || (sign != '-' && r->source[end + 1] == '{'))
        return end;
    while (at > begin && (sign == '-' || s.text[at - 1] != '\n')) {
        size_t before_it = before(s, at, &code);
        if (!is_blank(code))
            break;
        at = before_it;
    }
    if (sign == '-' || (at > begin ? s.text[at - 1] == '\n' : begin == 0 || s.text[begin - 1] == '\n'))
        return at;
    return end;
}

/* Where the tag {%- name -%} ends that may begin at a place; 0: it is none. */
static size_t after_named_tag(const run *r, size_t at, const char *name, int takes_line)
{
    size_t end;
    at += 2;
    at += at_text(r, at, "-") || at_text(r, at, "+");
    at = after_blanks(r, at);
    if (!at_text(r, at, name))
        return 0;
    at = after_blanks(r, at + strlen(name));
    end = after_tag(r, at, '%');
    return end && !takes_line && !at_text(r, at, "-") ? (at_text(r, at, "+") ? 0 : at + 2) : end;
}

static node *parse_raw(run *r, size_t begin)
{
    size_t at = begin, end = 0;
    node *n;
    while (at < r->size && !(at_text(r, at, "{%") && (end = after_named_tag(r, at, "endraw", 1)) > 0))
        at++;
    if (at >= r->size)
        fail(r, "raw without an end");
    n = text_node(r, begin, trimmed(r, begin, at));
    move(r, end);
    return n;
}

static size_t after_comment(run *r, size_t at)
{
    at += 2;
    at += at_text(r, at, "-") || at_text(r, at, "+");
    for (; at < r->size; at++) {
        size_t end = after_tag(r, at, '#');
        if (end)
            return end;
    }
    fail(r, "a comment without an end");
}

/* Reads text up to a tag that opens, over comments; into *last, which it moves. Returns 0 at the end of all, else the
   tag is open. */
static int read_text(run *r, node ***last)
{
    for (;;) {
        size_t begin = r->at, at = begin, end;
        while (at < r->size && !at_text(r, at, "{{") && !at_text(r, at, "{%") && !at_text(r, at, "{#"))
            at++;
        spend(r, (at - begin) / 64);
        if ((**last = text_node(r, begin, at < r->size ? trimmed(r, begin, at) : at)) != NULL)
            *last = &(**last)->next;
        move(r, at);
        if (at >= r->size)
            return 0;
        r->tag = r->source[at + 1];
        if (r->tag == '#') {
            move(r, after_comment(r, at));
        } else if (r->tag == '%' && (end = after_named_tag(r, at, "raw", 0)) > 0) {
            move(r, end);
            if ((**last = parse_raw(r, end)) != NULL)
                *last = &(**last)->next;
        } else {
            end = at + 2;
            end += at_text(r, end, "-") || (r->tag == '%' && at_text(r, end, "+"));
            move(r, end);
            next(r);
            return 1;
        }
    }
}

static node *parse_statement(run *r);

/* Statements up to a tag that one of these names begins, with spaces between; it is taken, *ended (may be NULL) is the
   name. NULL: up to the end. */
static node *parse_body(run *r, const char *ends, value *ended)
{
    node *first = NULL, **last = &first;
    enter(r);
    for (;;) {
        value name;
        if (!read_text(r, &last)) {
            if (ends)
                fail(r, "the template ends where %s is wanted", ends);
            break;
        }
        name = now(r);
        if (r->tag == '{') {
            *last = new_node(r, PRINT, parse_tuple(r, 1), NULL);
            end_tag(r);
        } else if (ends && r->now.kind == WORD && is_in(name, ends)) {
            next(r);
            if (ended)
                *ended = name;
            else
                end_tag(r);
            break;
        } else {
            *last = parse_statement(r);
        }
        last = &(*last)->next;
    }
    r->depth--;
    return first;
}

/* After "if" or "elif", up to and with endif. */
static node *parse_if(run *r)
{
    node *n = new_node(r, IF, parse_tuple(r, 0), NULL);
    value ended;
    enter(r);
    end_tag(r);
    n->list = parse_body(r, "elif else endif", &ended);
    if (is_text(ended, "elif")) {
        n->b = parse_if(r);
    } else {
        end_tag(r);
        n->b = is_text(ended, "else") ? parse_body(r, "endif", NULL) : NULL;
    }
    r->depth--;
    return n;
}

/* What can be assigned to: a name, or names in a tuple; for SET a member of a name. */
static node *parse_target(run *r, int members)
{
    node *first = NULL, **last = &first, *tuple = NULL;
    int closes = accept(r, "(");
    do {
        value name;
        if (first && (is_word(r, "in") || is_sign(r, "=") || is_sign(r, ")")))
            break;
        name = take_name(r);
        if (is_in(name, "true false none True False None loop"))
            fail(r, "%s cannot be set", show_name(r, name));
        *last = named_node(r, NAME, NULL, name);
        if (members && *last == first && accept(r, ".")) {
            if (r->now.kind != WORD)
                fail(r, "%s stands where a name is wanted", show_now(r));
            first = named_node(r, ATTRIBUTE, first, now(r));
            next(r);
            return first;
        }
        last = &(*last)->next;
        if (is_sign(r, ",") && !tuple)
            tuple = new_node(r, TUPLE_OF, NULL, NULL);
    } while (accept(r, ","));
    if (closes)
        expect(r, ")");
    if (!tuple)
        return first;
    tuple->list = first;
    return tuple;
}

static node *parse_for(run *r)
{
    node *n = new_node(r, FOR, parse_target(r, 0), NULL);
    value ended;
    expect(r, "in");
    n->b = parse_tuple(r, 0);
    if (accept(r, "if"))
        n->c = parse(r);
    if (is_word(r, "recursive"))
        fail(r, "there are no recursive loops here");
    end_tag(r);
    n->list = parse_body(r, "else endfor", &ended);
    end_tag(r);
    n->other = is_text(ended, "else") ? parse_body(r, "endfor", NULL) : NULL;
    return n;
}

/* A chain of filters, which has no beginning. */
static node *parse_filters(run *r, int first)
{
    node *n = NULL;
    while (first || accept(r, "|")) {
        n = parse_filter(r, n);
        first = 0;
    }
    return n;
}

static node *parse_set(run *r)
{
    node *n = new_node(r, SET, parse_target(r, 1), NULL);
    if (accept(r, "=")) {
        n->b = parse_tuple(r, 1);
        end_tag(r);
        return n;
    }
    n->b = parse_filters(r, 0);
    n->c = n; /* says that it is a block */
    end_tag(r);
    n->list = parse_body(r, "endset", NULL);
    return n;
}

/* Names and KEYWORDs up to a sign, or the end of the tag. */
static node *parse_parameters(run *r, const char *close)
{
    node *first = NULL, **last = &first;
    while (close ? !is_sign(r, close) : r->now.kind != END) {
        value name = take_name(r);
        *last = named_node(r, NAME, NULL, name);
        if (accept(r, "=")) {
            (*last)->kind = KEYWORD;
            (*last)->a = parse(r);
        } else if (!close) {
            fail(r, "%s has no value", show_name(r, name));
        }
        last = &(*last)->next;
        if (close ? !is_sign(r, close) : r->now.kind != END)
            expect(r, ",");
    }
    return first;
}

static node *parse_macro(run *r)
{
    node *n = named_node(r, MACRO_OF, NULL, take_name(r));
    expect(r, "(");
    n->b = parse_parameters(r, ")");
    next(r);
    end_tag(r);
    r->in_macro++;
    n->list = parse_body(r, "endmacro", NULL);
    r->in_macro--;
    return n;
}

static node *parse_statement(run *r)
{
    value name = now(r);
    node *n;
    if (r->now.kind != WORD)
        fail(r, "%s stands where a statement is wanted", show_now(r));
    next(r);
    if (is_text(name, "if"))
        return parse_if(r);
    if (is_text(name, "for"))
        return parse_for(r);
    if (is_text(name, "set"))
        return parse_set(r);
    if (is_text(name, "macro"))
        return parse_macro(r);
    if (is_text(name, "with")) {
        n = new_node(r, WITH, NULL, parse_parameters(r, NULL));
        end_tag(r);
        n->list = parse_body(r, "endwith", NULL);
    } else if (is_text(name, "filter")) {
        n = new_node(r, FILTERED, NULL, parse_filters(r, 1));
        end_tag(r);
        n->list = parse_body(r, "endfilter", NULL);
    } else if (is_text(name, "generation")) {
        n = new_node(r, BLOCK, NULL, NULL);
        end_tag(r);
        n->list = parse_body(r, "endgeneration", NULL);
    } else if (is_text(name, "break") || is_text(name, "continue")) {
        n = new_node(r, is_text(name, "break") ? BREAK : CONTINUE, NULL, NULL);
        end_tag(r);
    } else {
        fail(r, "there is no statement %s here", show_name(r, name));
    }
    return n;
}

/* ==== Expressions, evaluated ====================================================================================== */

static value eval(run *r, const node *n);
static value call_value(run *r, value f, call *c);
static value call_named(run *r, int where, value self, call *c);
static int run_test(run *r, value name, value v, call *c);
static int exec(run *r, const node *n);

static value undefined(value name)
{
    return named(UNDEFINED, name);
}

static value look_up(run *r, value name)
{
    for (const scope *s = r->here; s; s = s->outer) {
        const value *found = find(r, &s->names, name);
        if (found)
            return *found;
    }
    if (is_in(name, "range dict namespace raise_exception strftime_now cycler joiner lipsum"))
        return named(FUNCTION, name);
    return undefined(name);
}

/* The elements that a value is gone through by. */
static items *iterate(run *r, value v)
{
    items *of = (items *)v.u.of, *fresh;
    if (v.kind == LIST || v.kind == TUPLE || v.kind == VIEW)
        return of;
    if (v.kind == ITERATOR) {
        if (of->used++)
            fail(r, "an iterator is gone through twice: the filter list makes it a list");
        return of;
    }
    fresh = items_of(new_items(r, LIST));
    if (v.kind == DICT) {
        for (size_t i = 0; i < of->count; i += 2)
            add(r, fresh, of->values[i]);
    } else if (v.kind == STRING) {
        uint32_t code;
        for (size_t at = 0, length; at < v.size; at += length) {
            length = character(v, at, &code);
            add(r, fresh, part(v, at, at + length));
        }
    } else if (v.kind != UNDEFINED) {
        fail_kind(r, "gone through", v);
    }
    return fresh;
}

/* The next element of a loop that its filter lets through: whether there is one beyond `count`. */
static int pull(run *r, loop *l, size_t count);

static value at_place(const loop *l, size_t at)
{
    return l->taken.values[at];
}

static value method(run *r, value v, value name)
{
    value *self = (value *)take(r, sizeof *self);
    *self = v;
    name.kind = METHOD;
    name.u.of = self;
    return name;
}

static value loop_member(run *r, loop *l, value name)
{
    const int64_t at = (int64_t)l->at;
    if (is_text(name, "index"))
        return whole(INT, at + 1);
    if (is_text(name, "index0"))
        return whole(INT, at);
    if (is_text(name, "first"))
        return whole(BOOL, at == 0);
    if (is_text(name, "last"))
        return whole(BOOL, !pull(r, l, l->at + 1));
    if (is_text(name, "previtem"))
        return l->at ? at_place(l, l->at - 1) : undefined(name);
    if (is_text(name, "nextitem"))
        return pull(r, l, l->at + 1) ? at_place(l, l->at + 1) : undefined(name);
    if (is_text(name, "length") || is_text(name, "revindex") || is_text(name, "revindex0")) {
        pull(r, l, SIZE_MAX);
        return whole(INT, (int64_t)l->taken.count - (is_text(name, "length")     ? 0
                                                     : is_text(name, "revindex") ? at
                                                                                 : at + 1));
    }
    if (is_text(name, "depth") || is_text(name, "depth0"))
        return whole(INT, is_text(name, "depth"));
    if (is_text(name, "cycle"))
        return method(r, of_thing(LOOP, l), name);
    fail(r, "there is no loop.%s here", show_name(r, name));
}

/* The names that objects of Python have: what is no method here, but there, is not undefined. */
static const char members_of_text[] =
    "capitalize casefold center count encode endswith expandtabs find format format_map index isalnum isalpha isascii "
    "isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip "
    "maketrans partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split "
    "splitlines "
    "startswith strip swapcase title translate upper zfill";
static const char members_of_list[] = "append clear copy count extend index insert pop remove reverse sort";
static const char members_of_dict[] = "clear copy fromkeys get items keys pop popitem setdefault update values";
static const char members_of_number[] =
    "as_integer_ratio bit_count bit_length conjugate denominator from_bytes fromhex hex imag is_integer numerator real "
    "to_bytes";

/* v.name: a method, or what a dict has by that name. */
static value attribute(run *r, value v, value name)
{
    const value *found;
    if (name.size > 1 && memcmp(name.text, "__", 2) == 0)
        fail(r, "there is no %s here", show_name(r, name));
    switch ((kind)v.kind) {
    case UNDEFINED: fail_kind(r, "has no members", v);
    case STRING:
        if (is_in(name, members_of_text))
            return method(r, v, name);
        break;
    case TUPLE:
    case LIST:
        if (is_in(name, members_of_list))
            return method(r, v, name);
        break;
    case DICT:
        if (is_in(name, members_of_dict))
            return method(r, v, name);
        if ((found = find(r, items_of(v), name)) != NULL)
            return *found;
        break;
    case NAMESPACE:
        if ((found = find(r, items_of(v), name)) != NULL)
            return *found;
        break;
    case LOOP: return loop_member(r, (loop *)v.u.of, name);
    case BOOL:
    case INT:
    case FLOAT:
        if (is_in(name, members_of_number))
            fail(r, "there is no %s of numbers here", show_name(r, name));
        break;
    case NONE: break;
    default: fail_kind(r, "a value with members", v);
    }
    return undefined(name);
}

static value character_at(value s, int64_t at)
{
    uint32_t code;
    size_t begin = 0, end = s.size;
    for (; at > 0 && begin < s.size; at--)
        begin += character(s, begin, &code);
    for (; at < 0 && end > 0; at++)
        begin = before(s, end, &code), end = at < -1 ? begin : end;
    return at == 0 && begin < end ? part(s, begin, begin + character(s, begin, &code)) : undefined(word("a character"));
}

/* v[key]. */
static value item(run *r, value v, value key)
{
    const int is_place = key.kind == INT || key.kind == BOOL;
    const value *found;
    const items *of = (const items *)v.u.of;
    int64_t at;
    if (v.kind == UNDEFINED)
        fail_kind(r, "has no members", v);
    if (v.kind == DICT && (found = find(r, of, key)) != NULL)
        return *found;
    if (v.kind == VIEW || v.kind == ITERATOR || v.kind == SAFE)
        fail_kind(r, "a value with members", v);
    if (v.kind == STRING && is_place) {
        spend(r, v.size / 64);
        return character_at(v, key.u.whole);
    }
    if ((v.kind == LIST || v.kind == TUPLE) && is_place) {
        at = key.u.whole < 0 ? key.u.whole + (int64_t)of->count : key.u.whole;
        return at >= 0 && at < (int64_t)of->count ? of->values[at] : undefined(word("an element"));
    }
    return key.kind == STRING ? attribute(r, v, key) : undefined(word("a member"));
}

/* A bound of a slice among `count`, as Python moves it; n may be NULL. */
static int64_t bound(run *r, const node *n, int64_t count, int64_t step, int is_end)
{
    value v = n ? eval(r, n) : of_kind(NONE);
    int64_t least = step < 0 ? -1 : 0, most = step < 0 ? count - 1 : count, at;
    if (v.kind == NONE)
        return (step < 0) == is_end ? least : most;
    if (v.kind != INT && v.kind != BOOL)
        fail_kind(r, "a bound of a slice", v);
    at = v.u.whole < 0 ? (v.u.whole < -count ? least : v.u.whole + count) : v.u.whole;
    return at < least ? least : at > most ? most : at;
}

/* The byte where so many characters end. */
static size_t place_of(value s, int64_t count)
{
    size_t at = 0;
    uint32_t code;
    while (count-- > 0)
        at += character(s, at, &code);
    return at;
}

static value slice(run *r, const node *n)
{
    value v = eval(r, n->a), step = n->other ? eval(r, n->other) : of_kind(NONE), made;
    int64_t begin, end, by = step.kind == NONE ? 1 : step.u.whole, count = 0;
    written o = {NULL, NULL, 0, 0, 0};
    const items *of;
    if (v.kind != STRING && v.kind != LIST && v.kind != TUPLE)
        fail_kind(r, "sliced", v);
    if ((step.kind != INT && step.kind != NONE) || by == 0)
        fail(r, "a step of a slice that is 0 or no number");
    count = v.kind == STRING ? (int64_t)length_of(v) : (int64_t)items_of(v)->count;
    by = by > count ? count + 1 : by < -count ? -count - 1 : by;
    begin = bound(r, n->b, count, by, 0);
    end = bound(r, n->c, count, by, 1);
    spend(r, v.size / 32);
    if (v.kind == STRING && by == 1)
        return end <= begin ? part(v, 0, 0) : part(v, place_of(v, begin), place_of(v, end));
    of = iterate(r, v);
    made = new_items(r, (kind)v.kind);
    for (; by < 0 ? begin > end : begin < end; begin += by) {
        spend(r, 1);
        if (v.kind == STRING)
            put(r, &o, of->values[begin]);
        else
            add(r, items_of(made), of->values[begin]);
    }
    return v.kind == STRING ? text_in_output(&o) : made;
}

static value join_two(run *r, value a, value b)
{
    written o = {NULL, NULL, 0, 0, 0};
    put_value(r, &o, a);
    put_value(r, &o, b);
    return text_in_output(&o);
}

static value repeat(run *r, value v, value times)
{
    value made = new_items(r, (kind)v.kind);
    written o = {NULL, NULL, 0, 0, 0};
    for (int64_t i = 0; i < times.u.whole; i++) {
        spend(r, 1);
        if (v.kind == STRING)
            put(r, &o, v);
        else
            for (size_t k = 0; k < items_of(v)->count; k++)
                add(r, items_of(made), items_of(v)->values[k]);
    }
    return v.kind == STRING ? text_in_output(&o) : made;
}

static value of_reals(run *r, char sign, int twice, double a, double b)
{
    if (sign == '%' || twice)
        fail(r, "there is no %s of floats here", twice ? "//" : "%");
    if (sign == '/' && b == 0)
        fail(r, "a division by 0");
    return real(sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b);
}

static value of_wholes(run *r, char sign, int twice, int64_t a, int64_t b)
{
    const int64_t most = INT64_MAX / 2;
    int64_t rest, made = 0;
    if (a > most || a < -most || b > most || b < -most)
        fail(r, "a number that is too large");
    if ((sign == '/' || sign == '%') && b == 0)
        fail(r, "a division by 0");
    if (sign == '/' && !twice)
        return real(real_of(r, whole(INT, a)) / real_of(r, whole(INT, b)));
    if (sign == '*') {
        if (a && (b > most / (a < 0 ? -a : a) || b < -most / (a < 0 ? -a : a)))
            fail(r, "a number that is too large");
        made = a * b;
    } else if (sign == '+' || sign == '-') {
        made = sign == '+' ? a + b : a - b;
    } else {
        rest = a % b;
        rest += rest && (rest < 0) != (b < 0) ? b : 0; /* as Python rounds: down */
        made = sign == '%' ? rest : (a - rest) / b;
    }
    return whole(INT, made);
}

static value binary(run *r, const node *n)
{
    value a = eval(r, n->a), b = eval(r, n->b), made;
    const char sign = *n->name.text;
    r->line = n->line;
    if (sign == '~')
        return join_two(r, a, b);
    if (is_number(a) && is_number(b)) {
        if (a.kind == FLOAT || b.kind == FLOAT)
            return of_reals(r, sign, n->name.size == 2, real_of(r, a), real_of(r, b));
        return of_wholes(r, sign, n->name.size == 2, a.u.whole, b.u.whole);
    }
    if (sign == '+' && a.kind == STRING && b.kind == STRING)
        return join_two(r, a, b);
    if (sign == '+' && (a.kind == LIST || a.kind == TUPLE) && a.kind == b.kind) {
        made = repeat(r, a, whole(INT, 1));
        for (size_t i = 0; i < items_of(b)->count; i++)
            add(r, items_of(made), items_of(b)->values[i]);
        return made;
    }
    if (sign == '*' && (a.kind == STRING || a.kind == LIST || a.kind == TUPLE) && b.kind == INT)
        return repeat(r, a, b);
    if (sign == '*' && (b.kind == STRING || b.kind == LIST || b.kind == TUPLE) && a.kind == INT)
        return repeat(r, b, a);
    if (a.kind == UNDEFINED || b.kind == UNDEFINED)
        fail_kind(r, "cannot be reckoned with", a.kind == UNDEFINED ? a : b);
    fail(r, "there is no \"%s\" of %s and %s here", show_name(r, n->name), kind_name(a), kind_name(b));
}

static int contains(run *r, value v, value what)
{
    const items *of;
    if (v.kind == STRING) {
        if (what.kind != STRING)
            fail_kind(r, "looked for in a string", what);
        return find_text(r, v, what, 0) != SIZE_MAX;
    }
    if (v.kind == DICT)
        return find(r, items_of(v), what) != NULL;
    of = iterate(r, v);
    for (size_t i = 0; i < of->count; i++)
        if (equal(r, of->values[i], what))
            return 1;
    return 0;
}

/* Negative, 0 or positive. */
static int order(run *r, value a, value b)
{
    int found = 0;
    if (is_number(a) && is_number(b) && a.kind != FLOAT && b.kind != FLOAT)
        return (a.u.whole > b.u.whole) - (a.u.whole < b.u.whole);
    if (is_number(a) && is_number(b))
        return (real_of(r, a) > real_of(r, b)) - (real_of(r, a) < real_of(r, b));
    if ((a.kind == LIST || a.kind == TUPLE) && a.kind == b.kind) {
        const items *x = items_of(a), *y = items_of(b);
        enter(r);
        for (size_t i = 0; !found && i < x->count && i < y->count; i++)
            found = equal(r, x->values[i], y->values[i]) ? 0 : order(r, x->values[i], y->values[i]);
        r->depth--;
        return found ? found : (x->count > y->count) - (x->count < y->count);
    }
    if (a.kind != STRING || b.kind != STRING)
        fail(r, "%s and %s have no order", kind_name(a), kind_name(b));
    spend(r, a.size / 64);
    return text_compare(text_of(a.text, a.size), text_of(b.text, b.size));
}

static int compare(run *r, value sign, value a, value b)
{
    int found;
    if (is_in(sign, "in not"))
        return contains(r, b, a) == is_text(sign, "in");
    if (is_in(sign, "== !="))
        return equal(r, a, b) == is_text(sign, "==");
    found = order(r, a, b);
    if (found == 0)
        return sign.size == 2;
    return (*sign.text == '<') == (found < 0);
}

static value eval_compare(run *r, const node *n)
{
    value a = eval(r, n->a);
    int holds = 1;
    for (const node *o = n->list; holds && o; o = o->next) {
        value b = eval(r, o->a);
        r->line = o->line;
        holds = compare(r, o->name, a, b);
        a = b;
    }
    return whole(BOOL, holds);
}

static value eval_list(run *r, const node *n)
{
    value made = new_items(r, n->kind == LIST_OF ? LIST : n->kind == DICT_OF ? DICT : TUPLE);
    for (const node *e = n->list; e; e = e->next) {
        value v = eval(r, e);
        if (n->kind == DICT_OF) {
            e = e->next;
            put_in(r, items_of(made), v, eval(r, e));
        } else {
            add(r, items_of(made), v);
        }
    }
    return made;
}

static void eval_arguments(run *r, const node *list, call *c)
{
    const node *n;
    size_t count = 0;
    for (n = list; n; n = n->next)
        count++;
    memset(c, 0, sizeof *c);
    if (count == 0)
        return;
    c->values = (value *)take(r, 2 * count * sizeof *c->values);
    c->names = c->values + count;
    for (n = list; n; n = n->next) {
        c->names[c->count] = n->name;
        c->values[c->count++] = eval(r, n->kind == KEYWORD ? n->a : n);
        c->plain += n->kind != KEYWORD;
    }
}

/* What is left of the arguments must be nothing. */
static value checked(run *r, const call *c, value v)
{
    if (c->taken < c->count)
        fail(r, "%s has arguments that are not known here", c->name);
    return v;
}

static value eval_call(run *r, const node *n)
{
    call c;
    char name[64];
    value f = n->a ? eval(r, n->a) : of_kind(NONE), made;
    eval_arguments(r, n->list, &c);
    r->line = n->line;
    if (n->kind == CALL) {
        snprintf(name, sizeof name, "%.*s", (int)(f.text && f.size < 63 ? f.size : 0), f.text ? f.text : "");
        c.name = name;
        return call_value(r, f, &c);
    }
    snprintf(name, sizeof name, "%.*s", (int)(n->name.size < 63 ? n->name.size : 63), n->name.text);
    c.name = name;
    if (n->kind == TEST)
        made = whole(BOOL, run_test(r, n->name, f, &c));
    else
        made = call_named(r, 0, f, &c);
    return checked(r, &c, made);
}

static value negative(run *r, value v)
{
    if (v.kind == FLOAT)
        return real(-v.u.real);
    if (v.kind != INT && v.kind != BOOL)
        fail_kind(r, "a number", v);
    return of_wholes(r, '-', 0, 0, v.u.whole);
}

static value eval_kind(run *r, const node *n)
{
    value v;
    switch (n->kind) {
    case CONSTANT: return n->name;
    case NAME: return look_up(r, n->name);
    case ATTRIBUTE: v = eval(r, n->a); return r->line = n->line, attribute(r, v, n->name);
    case ITEM: v = eval(r, n->a); return item(r, v, eval(r, n->b));
    case SLICE: return slice(r, n);
    case NOT: return whole(BOOL, !truth(r, eval(r, n->a)));
    case NEGATIVE: return negative(r, eval(r, n->a));
    case POSITIVE: return negative(r, negative(r, eval(r, n->a)));
    case AND: v = eval(r, n->a); return truth(r, v) ? eval(r, n->b) : v;
    case OR: v = eval(r, n->a); return truth(r, v) ? v : eval(r, n->b);
    case CHOICE:
        return truth(r, eval(r, n->a)) ? eval(r, n->b) : n->c ? eval(r, n->c) : undefined(word("what has no else"));
    case COMPARE: return eval_compare(r, n);
    case BINARY: return binary(r, n);
    case LIST_OF:
    case TUPLE_OF:
    case DICT_OF: return eval_list(r, n);
    default: return eval_call(r, n);
    }
}

static value eval(run *r, const node *n)
{
    value v;
    enter(r);
    r->line = n->line;
    v = eval_kind(r, n);
    r->depth--;
    return v;
}

/* ==== Methods and filters ========================================================================================= */

/* An argument by its place or its name: whether it is there. */
static int argument(run *r, call *c, size_t place, const char *name, value *v)
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
static value argument_of(run *r, call *c, size_t place, const char *name, kind k, value otherwise)
{
    value v;
    if (!argument(r, c, place, name, &v))
        return otherwise;
    if (v.kind != (int)k && !(k == INT && v.kind == BOOL))
        fail_kind(r, name, v);
    return v;
}

static value text_argument(run *r, call *c, size_t place, const char *name)
{
    value v;
    if (!argument(r, c, place, name, &v))
        fail(r, "%s needs an argument: %s", c->name, name);
    if (v.kind != STRING)
        fail_kind(r, name, v);
    return v;
}

static int flag_argument(run *r, call *c, size_t place, const char *name, int otherwise)
{
    value v;
    return argument(r, c, place, name, &v) ? truth(r, v) : otherwise;
}

/* Letters of ASCII; of others, lower case alone is known. */
static void put_case(run *r, written *o, value s, int upper)
{
    uint32_t code, lower[3];
    char bytes[4];
    for (size_t at = 0, length; at < s.size; at += length) {
        value one;
        length = character(s, at, &code);
        if (code >= 128 && code < UNICODE_INVALID && (upper || code == 0x3a3))
            fail(r, "%s: letters beyond ASCII", upper ? "upper case" : "lower case of U+03A3");
        if (code < 128 || code >= UNICODE_INVALID) {
            int turns = upper ? code >= 'a' && code <= 'z' : code >= 'A' && code <= 'Z';
            lower[0] = turns ? code ^ 32u : code;
            one = of_text(bytes, unicode_write(bytes, lower[0]), s.said ? s.said + at : NULL);
            put(r, o, one);
            continue;
        }
        for (size_t i = 0, count = unicode_lower(code, lower); i < count; i++) {
            size_t size = unicode_write(bytes, lower[i]);
            char text[5] = {0};
            memcpy(text, bytes, size);
            put_marked(r, o, text, s, at);
        }
    }
}

static value in_case(run *r, value v, int upper)
{
    written o = {NULL, NULL, 0, 0, 0};
    put_case(r, &o, to_text(r, v), upper);
    return text_in_output(&o);
}

static value f_case(run *r, value v, call *c)
{
    return in_case(r, v, *c->name == 'u');
}

/* The first letter in upper case, the others in lower. */
static value f_capitalize(run *r, value v, call *c)
{
    written o = {NULL, NULL, 0, 0, 0};
    value s = to_text(r, v);
    uint32_t code;
    size_t first = s.size ? character(s, 0, &code) : 0;
    (void)c;
    put_case(r, &o, part(s, 0, first), 1);
    put_case(r, &o, part(s, first, s.size), 0);
    return text_in_output(&o);
}

enum { FILTERS = 1, OF_TEXT = 2, OF_LISTS = 4, OF_DICTS = 8 };

/* Every word so. Words of the filter begin after white space and some brackets, those of the method after what is no
   letter. */
static value f_title(run *r, value v, call *c)
{
    written o = {NULL, NULL, 0, 0, 0};
    value s = to_text(r, v);
    int begins = 1;
    uint32_t code;
    for (size_t at = 0, length; at < s.size; at += length) {
        length = character(s, at, &code);
        put_case(r, &o, part(s, at, at + length), begins);
        begins = c->where != FILTERS ? !is_letter(code) || code == '_'
                                     : is_blank(code) || (code && code < 128 && strchr("-({[<", (int)code));
    }
    return text_in_output(&o);
}

static value f_strip(run *r, value v, call *c)
{
    value set, *of = argument(r, c, 0, "chars", &set) && set.kind != NONE ? &set : NULL;
    if (of && of->kind != STRING)
        fail_kind(r, "characters", *of);
    return strip(r, to_text(r, v), of, *c->name != 'r', *c->name != 'l');
}

static value f_replace(run *r, value v, call *c)
{
    value s = to_text(r, v), old = text_argument(r, c, 0, "old"), fresh = text_argument(r, c, 1, "new");
    int64_t count = argument_of(r, c, 2, "count", INT, whole(INT, -1)).u.whole;
    written o = {NULL, NULL, 0, 0, 0};
    size_t at = 0, found;
    if (old.size == 0 && fresh.size)
        fail(r, "%s of nothing", c->name);
    for (; old.size && count != 0 && (found = find_text(r, s, old, at)) != SIZE_MAX; count--) {
        value made = fresh;
        put(r, &o, part(s, at, found));
        if (!fresh.said && s.said && s.said[found] && fresh.size) { /* what stands for what somebody said, is said */
            unsigned char *said = (unsigned char *)take(r, fresh.size);
            memset(said, s.said[found], fresh.size);
            made.said = said;
        }
        put(r, &o, made);
        at = found + old.size;
    }
    put(r, &o, part(s, at, s.size));
    return text_in_output(&o);
}

/* str.split() and rsplit(): by white space, or by a text; at most so many times, from the left or from the right. */
static value f_split(run *r, value s, call *c)
{
    value by = of_kind(NONE), made = new_items(r, LIST), *parts;
    int64_t most = -1;
    size_t at = 0, begin, end;
    uint32_t code;
    if (argument(r, c, 0, "sep", &by) && by.kind != NONE && (by.kind != STRING || by.size == 0))
        fail_kind(r, "what a text is split by", by);
    most = argument_of(r, c, 1, "maxsplit", INT, whole(INT, -1)).u.whole;
    if (*c->name == 'r' && most >= 0 && by.kind != NONE) { /* the last ones: all, and the first ones joined again */
        call all = *c;
        value every;
        size_t joined = 0, size;
        all.name = "split";
        all.count = all.plain = 1;
        all.values = &by;
        every = f_split(r, s, &all);
        parts = items_of(every)->values;
        size = items_of(every)->count;
        for (at = 0; at + 1 < size && (int64_t)(size - at) > most + 1; at++)
            joined += parts[at].size + by.size;
        add(r, items_of(made), part(s, 0, joined + parts[at].size));
        while (++at < size)
            add(r, items_of(made), parts[at]);
        return made;
    }
    if (*c->name == 'r' && most >= 0)
        fail(r, "rsplit by white space has no maxsplit here");
    for (; by.kind == STRING && most != 0 && (end = find_text(r, s, by, at)) != SIZE_MAX; most--) {
        add(r, items_of(made), part(s, at, end));
        at = end + by.size;
    }
    if (by.kind == STRING) {
        add(r, items_of(made), part(s, at, s.size));
        return made;
    }
    spend(r, s.size / 16);
    for (s = strip(r, s, NULL, 1, most < 0); at < s.size; most--) {
        for (begin = end = at; end < s.size; end = at) {
            at = end + character(s, end, &code);
            if (most != 0 && is_blank(code))
                break;
        }
        add(r, items_of(made), part(s, begin, most == 0 ? s.size : end));
        at = most == 0 ? s.size : end;
        while (at < s.size && (end = at + character(s, at, &code), is_blank(code)))
            at = end;
    }
    return made;
}

static value lines_of(run *r, value s)
{
    value made = new_items(r, LIST);
    uint32_t code;
    for (size_t at = 0, begin = 0, length; at < s.size; begin = at) {
        do {
            length = character(s, at, &code);
            at += length;
        } while (!is_line_end(code) && at < s.size);
        add(r, items_of(made), part(s, begin, is_line_end(code) ? at - length : at));
        at += code == '\r' && at < s.size && s.text[at] == '\n';
    }
    return made;
}

static value f_splitlines(run *r, value s, call *c)
{
    (void)c;
    return lines_of(r, s);
}

static int is_at_end(value s, value other, int end)
{
    return other.size <= s.size && memcmp(s.text + (end ? s.size - other.size : 0), other.text, other.size) == 0;
}

/* startswith and endswith, of one or any of a tuple. */
static value f_ends(run *r, value s, call *c)
{
    value other;
    int end = *c->name == 'e', holds = 0;
    if (argument(r, c, 0, "prefix", &other) && other.kind == TUPLE) {
        for (size_t i = 0; i < items_of(other)->count; i++)
            holds |= items_of(other)->values[i].kind == STRING && is_at_end(s, items_of(other)->values[i], end);
        return whole(BOOL, holds);
    }
    c->taken = 0;
    return whole(BOOL, is_at_end(s, text_argument(r, c, 0, "prefix"), end));
}

static value f_remove(run *r, value s, call *c)
{
    value other = text_argument(r, c, 0, "prefix");
    int end = c->name[6] == 's';
    if (!is_at_end(s, other, end))
        return s;
    return end ? part(s, 0, s.size - other.size) : part(s, other.size, s.size);
}

static value f_find(run *r, value s, call *c)
{
    value other = text_argument(r, c, 0, "sub");
    size_t found = SIZE_MAX, at = find_text(r, s, other, 0);
    for (; at != SIZE_MAX; at = *c->name == 'r' && at < s.size ? find_text(r, s, other, at + 1) : SIZE_MAX)
        found = at;
    if (found == SIZE_MAX && c->name[strlen(c->name) - 1] == 'x')
        fail(r, "%s: it is not there", c->name);
    return whole(INT, found == SIZE_MAX ? -1 : (int64_t)length_of(part(s, 0, found)));
}

static value f_count(run *r, value v, call *c)
{
    value other;
    int64_t count = 0;
    size_t at = 0;
    if (v.kind != STRING) {
        if (!argument(r, c, 0, "value", &other))
            fail(r, "count needs an argument");
        for (; at < items_of(v)->count; at++)
            count += equal(r, items_of(v)->values[at], other);
        return whole(INT, count);
    }
    other = text_argument(r, c, 0, "sub");
    if (other.size == 0)
        return whole(INT, (int64_t)length_of(v) + 1);
    for (; (at = find_text(r, v, other, at)) != SIZE_MAX; at += other.size)
        count++;
    return whole(INT, count);
}

/* isdigit, isalpha, isspace, islower and the like, of ASCII. */
static value f_is(run *r, value s, call *c)
{
    int some = 0, all = s.size > 0, letter, digit, upper, lower;
    uint32_t code;
    for (size_t at = 0; at < s.size;) {
        at += character(s, at, &code);
        if (code >= 128 && strcmp(c->name, "isspace") != 0)
            fail(r, "%s: letters beyond ASCII", c->name);
        upper = code >= 'A' && code <= 'Z';
        lower = code >= 'a' && code <= 'z';
        letter = upper || lower;
        digit = code >= '0' && code <= '9';
        switch (c->name[2]) {
        case 'd':
        case 'n': all &= digit; break;
        case 's': all &= is_blank(code); break;
        case 'a': all &= letter || (digit && c->name[4] == 'n'); break;
        default: all &= c->name[2] == 'u' ? !lower : !upper; some |= letter;
        }
    }
    return whole(BOOL, all && (some || (c->name[2] != 'u' && c->name[2] != 'l')));
}

static value join(run *r, const items *of, value between, const value *member);

static value f_join(run *r, value v, call *c)
{
    value list, member;
    if (c->where == FILTERS) {
        value between = argument_of(r, c, 0, "d", STRING, word(""));
        return join(r, iterate(r, v), between, argument(r, c, 1, "attribute", &member) ? &member : NULL);
    }
    if (!argument(r, c, 0, "iterable", &list))
        fail(r, "join needs an argument");
    list = of_thing(LIST, iterate(r, list));
    for (size_t i = 0; i < items_of(list)->count; i++)
        if (items_of(list)->values[i].kind != STRING)
            fail_kind(r, "joined", items_of(list)->values[i]);
    return join(r, items_of(list), v, NULL);
}

/* ---- of dicts ---- */

static value f_get(run *r, value v, call *c)
{
    value key, otherwise = of_kind(NONE), *found;
    if (!argument(r, c, 0, "key", &key))
        fail(r, "get needs an argument");
    argument(r, c, 1, "default", &otherwise);
    found = find(r, items_of(v), key);
    return found ? *found : otherwise;
}

static value pair(run *r, value a, value b)
{
    value made = new_items(r, TUPLE);
    add(r, items_of(made), a);
    add(r, items_of(made), b);
    return made;
}

/* keys, values and items of a dict; the last a filter as well. */
static value f_views(run *r, value v, call *c)
{
    value made = new_items(r, c->where == FILTERS ? ITERATOR : VIEW);
    const items *of = (const items *)v.u.of;
    if (v.kind == UNDEFINED)
        return made;
    if (v.kind != DICT)
        fail_kind(r, c->name, v);
    for (size_t i = 0; i < of->count; i += 2)
        add(r, items_of(made),
            *c->name == 'i'   ? pair(r, of->values[i], of->values[i + 1])
            : *c->name == 'k' ? of->values[i]
                              : of->values[i + 1]);
    return made;
}

/* ---- filters ---- */

static value f_length(run *r, value v, call *c)
{
    (void)c;
    if (v.kind == UNDEFINED)
        return whole(INT, 0);
    if (v.kind == STRING)
        return whole(INT, (int64_t)length_of(v));
    if (v.kind != LIST && v.kind != TUPLE && v.kind != VIEW && v.kind != DICT)
        fail_kind(r, "of a length", v);
    return whole(INT, (int64_t)items_of(v)->count / (v.kind == DICT ? 2 : 1));
}

static value f_default(run *r, value v, call *c)
{
    value otherwise = word("");
    int falsy;
    argument(r, c, 0, "default_value", &otherwise);
    falsy = flag_argument(r, c, 1, "boolean", 0);
    return v.kind == UNDEFINED || (falsy && !truth(r, v)) ? otherwise : v;
}

static value f_tojson(run *r, value v, call *c)
{
    json_style style;
    written o = {NULL, NULL, 0, 0, 0};
    value separators, indent = of_kind(NONE);
    if (flag_argument(r, c, 0, "ensure_ascii", 0))
        fail(r, "tojson has no ensure_ascii here");
    argument(r, c, 1, "indent", &indent);
    if (indent.kind != NONE && (indent.kind != INT || indent.u.whole < 0 || indent.u.whole > 64))
        fail_kind(r, "an indent from 0 to 64", indent);
    style.indent = indent.kind == INT ? indent.u.whole : -1;
    style.comma = word(indent.kind == INT ? "," : ", ");
    style.colon = word(": ");
    if (argument(r, c, 2, "separators", &separators) && separators.kind != NONE) {
        const items *of = iterate(r, separators);
        if (of->count != 2 || of->values[0].kind != STRING || of->values[1].kind != STRING)
            fail(r, "separators are two texts");
        style.comma = of->values[0];
        style.colon = of->values[1];
    }
    style.sorted = flag_argument(r, c, 3, "sort_keys", 0);
    put_json(r, &o, v, &style, 0);
    return text_in_output(&o);
}

static value f_string(run *r, value v, call *c)
{
    (void)c;
    return to_text(r, v);
}

static value f_safe(run *r, value v, call *c)
{
    (void)c;
    return named(SAFE, to_text(r, v));
}

/* A number written in a text, with white space around it: whether it is one. */
static int read_as_number(run *r, value s, double *number)
{
    char text[64];
    json read;
    size_t sign;
    s = strip(r, s, NULL, 1, 1);
    sign = s.size > 0 && *s.text == '+';
    snprintf(text, sizeof text, "%.*s", (int)(s.size < 63 ? s.size - sign : 0), s.text + sign);
    return !json_parse(&read, text, strlen(text), NULL) && json_double(read, number);
}

static value f_number(run *r, value v, call *c)
{
    const double most = 9007199254740992.0;
    int is_int = *c->name == 'i';
    value otherwise = is_int ? whole(INT, 0) : real(0);
    double number = 0;
    argument(r, c, 0, "default", &otherwise);
    if (v.kind == UNDEFINED || v.kind == SAFE)
        fail_kind(r, "a number", v);
    if (v.kind == STRING ? !read_as_number(r, v, &number) : !is_number(v))
        return otherwise;
    if (is_number(v) && v.kind != FLOAT && is_int)
        return whole(INT, v.u.whole);
    number = is_number(v) ? real_of(r, v) : number;
    if (is_int && (number > most || number < -most))
        fail(r, "a number that is too large");
    return is_int ? whole(INT, (int64_t)number) : real(number);
}

static value f_list(run *r, value v, call *c)
{
    value made = new_items(r, LIST);
    const items *of = iterate(r, v);
    for (size_t i = 0; i < of->count; i++)
        add(r, items_of(made), of->values[i]);
    (void)c;
    return made;
}

static value f_first(run *r, value v, call *c)
{
    const items *of = iterate(r, v);
    int last = *c->name == 'l';
    if (last && v.kind == ITERATOR)
        fail_kind(r, "what has a last element", v);
    return of->count ? of->values[last ? of->count - 1 : 0] : undefined(word("an element"));
}

static value f_reverse(run *r, value v, call *c)
{
    const items *of = iterate(r, v);
    value made = new_items(r, ITERATOR);
    written o = {NULL, NULL, 0, 0, 0};
    (void)c;
    for (size_t i = of->count; i-- > 0;) {
        if (v.kind == STRING)
            put(r, &o, of->values[i]);
        else
            add(r, items_of(made), of->values[i]);
    }
    return v.kind == STRING ? text_in_output(&o) : made;
}

/* An element's member by a path such as "function.name". */
static value member(run *r, value v, value path)
{
    size_t at = 0, end;
    if (path.kind == INT)
        return item(r, v, path);
    if (path.kind != STRING)
        fail_kind(r, "the name of a member", path);
    do {
        value key;
        end = at;
        while (end < path.size && path.text[end] != '.')
            end++;
        key = part(path, at, end);
        if (end > at && *key.text >= '0' && *key.text <= '9')
            fail(r, "a member by number");
        v = item(r, v, key);
        at = end + 1;
    } while (end < path.size);
    return v;
}

static value join(run *r, const items *of, value between, const value *path)
{
    written o = {NULL, NULL, 0, 0, 0};
    for (size_t i = 0; i < of->count; i++) {
        if (i)
            put(r, &o, between);
        put_value(r, &o, path ? member(r, of->values[i], *path) : of->values[i]);
    }
    return text_in_output(&o);
}

/* The arguments that are left after the first ones, for a filter or a test that those name. */
static call rest_of(const call *c, size_t first)
{
    call rest = *c;
    rest.values += first;
    rest.names += first;
    rest.plain -= first;
    rest.count -= first;
    rest.taken = 0;
    return rest;
}

static value call_text(run *r, value name, value v, call *c, int is_test)
{
    char text[64];
    value made;
    snprintf(text, sizeof text, "%.*s", (int)(name.kind == STRING && name.size < 63 ? name.size : 0), name.text);
    c->name = text;
    made = is_test ? whole(BOOL, run_test(r, name, v, c)) : call_named(r, 0, v, c);
    return checked(r, c, made);
}

static value f_map(run *r, value v, call *c)
{
    const items *of = iterate(r, truth(r, v) ? v : of_kind(UNDEFINED));
    value made = new_items(r, ITERATOR), path, otherwise = of_kind(UNDEFINED);
    int by_name = c->plain > 0;
    if (!by_name && !argument(r, c, SIZE_MAX, "attribute", &path))
        fail(r, "map needs the name of a filter, or attribute");
    if (!by_name)
        argument(r, c, SIZE_MAX, "default", &otherwise);
    for (size_t i = 0; i < of->count; i++) {
        value one = of->values[i];
        call rest = by_name ? rest_of(c, 1) : *c;
        if (by_name)
            one = call_text(r, c->values[0], one, &rest, 0);
        else if ((one = member(r, one, path)).kind == UNDEFINED && otherwise.kind != UNDEFINED)
            one = otherwise;
        add(r, items_of(made), one);
    }
    c->taken = by_name ? c->count : c->taken;
    return made;
}

/* select, reject, selectattr, rejectattr: those of which a test holds, or does not. */
static value f_select(run *r, value v, call *c)
{
    const items *of = iterate(r, truth(r, v) ? v : of_kind(UNDEFINED));
    value made = new_items(r, ITERATOR);
    int wanted = *c->name == 's';
    size_t by = strlen(c->name) > 6; /* an argument, if it is a member that is looked at */
    if (c->plain < by)
        fail(r, "%s needs the name of a member", c->name);
    for (size_t i = 0; i < of->count; i++) {
        value one = by ? member(r, of->values[i], c->values[0]) : of->values[i];
        int holds;
        if (c->plain > by) {
            call rest = rest_of(c, by + 1);
            holds = truth(r, call_text(r, c->values[by], one, &rest, 1));
        } else {
            holds = truth(r, one);
        }
        if (holds == wanted)
            add(r, items_of(made), of->values[i]);
    }
    c->taken = c->count;
    return made;
}

/* Merges runs of sorted records of so many values, by the first of each. */
static void sort(run *r, value *values, size_t count, size_t bytes, int reverse)
{
    value *other = (value *)take(r, count * bytes * sizeof *other), *swap;
    value *from = values, *to = other;
    for (size_t length = 1; length < count; length *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * length) {
            size_t middle = begin + length < count ? begin + length : count;
            size_t end = begin + 2 * length < count ? begin + 2 * length : count, a = begin, b = middle;
            for (size_t k = begin; k < end; k++) {
                int right = a == middle;
                if (a < middle && b < end) {
                    int by = order(r, from[b * bytes], from[a * bytes]);
                    right = reverse ? by > 0 : by < 0;
                }
                spend(r, 1);
                memcpy(to + k * bytes, from + (right ? b++ : a++) * bytes, bytes * sizeof *to);
            }
        }
        swap = from;
        from = to;
        to = swap;
    }
    if (from != values)
        memcpy(values, from, count * bytes * sizeof *values);
}

/* What is compared: strings without regard to case, unless it matters. */
static value key_of(run *r, value v, int case_sensitive)
{
    return v.kind == STRING && !case_sensitive ? in_case(r, v, 0) : v;
}

/* sort, dictsort and unique, each by a key. */
static value f_sort(run *r, value v, call *c)
{
    int is_dict = *c->name == 'd', is_unique = *c->name == 'u', reverse, minds, by_value = 0;
    value made = new_items(r, is_unique ? ITERATOR : LIST), path, keys = new_items(r, LIST), by = of_kind(NONE);
    const items *of;
    call items_call = *c;
    minds = flag_argument(r, c, is_dict || is_unique ? 0 : 1, "case_sensitive", 0);
    if (is_dict)
        by = argument_of(r, c, 1, "by", STRING, word("key"));
    by_value = is_dict && is_text(by, "value");
    reverse = is_unique ? 0 : flag_argument(r, c, is_dict ? 2 : 0, "reverse", 0);
    if (is_dict || !argument(r, c, is_unique ? 1 : 2, "attribute", &path))
        path = of_kind(NONE);
    if (is_dict) {
        items_call.name = "items";
        v = f_views(r, v, &items_call);
    }
    of = iterate(r, v);
    for (size_t i = 0; i < of->count; i++) {
        value one = of->values[i], key = is_dict ? items_of(one)->values[by_value] : one;
        key = key_of(r, path.kind == NONE ? key : member(r, one, path), minds);
        if (is_unique && contains(r, keys, key))
            continue;
        add(r, items_of(keys), key);
        add(r, items_of(is_unique ? made : keys), one);
    }
    if (is_unique)
        return made;
    sort(r, items_of(keys)->values, of->count, 2, reverse);
    for (size_t i = 0; i < of->count; i++)
        add(r, items_of(made), items_of(keys)->values[2 * i + 1]);
    return made;
}

static value f_indent(run *r, value v, call *c)
{
    value s = to_text(r, v), width = whole(INT, 4), lines = lines_of(r, s), space;
    written o = {NULL, NULL, 0, 0, 0};
    int first, blank;
    argument(r, c, 0, "width", &width);
    first = flag_argument(r, c, 1, "first", 0);
    blank = flag_argument(r, c, 2, "blank", 0);
    space = width.kind == STRING ? width : repeat(r, word(" "), width.kind == INT ? width : whole(INT, 0));
    if (width.kind != STRING && width.kind != INT)
        fail_kind(r, "a width", width);
    if (s.size && is_at_end(s, word("\n"), 1)) /* jinja2 adds one before it cuts */
        add(r, items_of(lines), word(""));
    for (size_t i = 0; i < items_of(lines)->count; i++) {
        value line = items_of(lines)->values[i];
        if (i)
            put_word(r, &o, "\n");
        if (i ? blank || line.size : first)
            put(r, &o, space);
        put(r, &o, line);
    }
    if (items_of(lines)->count == 0 && first)
        put(r, &o, space);
    return text_in_output(&o);
}

static value f_round(run *r, value v, call *c)
{
    value precision = argument_of(r, c, 0, "precision", INT, whole(INT, 0));
    value how = argument_of(r, c, 1, "method", STRING, word("common"));
    double number = is_number(v) ? real_of(r, v) : 0, down;
    if (!is_number(v) || precision.u.whole != 0 || number > 9e15 || number < -9e15)
        fail_kind(r, "rounded here", v);
    if (is_text(how, "common") && v.kind != FLOAT)
        return v;
    down = (double)(int64_t)number;
    down -= down > number;
    if (is_text(how, "ceil"))
        down += number > down;
    else if (is_text(how, "common") && (number - down > 0.5 || (number - down == 0.5 && (int64_t)down % 2)))
        down += 1;
    else if (!is_text(how, "floor") && !is_text(how, "common"))
        fail(r, "round: there is no method %s", show_name(r, how));
    return real(down);
}

static value f_abs(run *r, value v, call *c)
{
    (void)c;
    return (is_number(v) && (v.kind == FLOAT ? v.u.real : (double)v.u.whole) < 0) ? negative(r, v)
                                                                                  : negative(r, negative(r, v));
}

static const struct {
    const char *name;
    int where;
    value (*call)(run *, value, call *);
} functions[] = {{"abs", FILTERS, f_abs},
                 {"capitalize", FILTERS | OF_TEXT, f_capitalize},
                 {"count", FILTERS, f_length},
                 {"count", OF_TEXT | OF_LISTS, f_count},
                 {"d", FILTERS, f_default},
                 {"default", FILTERS, f_default},
                 {"dictsort", FILTERS, f_sort},
                 {"endswith", OF_TEXT, f_ends},
                 {"find", OF_TEXT, f_find},
                 {"first", FILTERS, f_first},
                 {"float", FILTERS, f_number},
                 {"get", OF_DICTS, f_get},
                 {"indent", FILTERS, f_indent},
                 {"index", OF_TEXT, f_find},
                 {"int", FILTERS, f_number},
                 {"isalnum", OF_TEXT, f_is},
                 {"isalpha", OF_TEXT, f_is},
                 {"isdigit", OF_TEXT, f_is},
                 {"islower", OF_TEXT, f_is},
                 {"isnumeric", OF_TEXT, f_is},
                 {"isspace", OF_TEXT, f_is},
                 {"isupper", OF_TEXT, f_is},
                 {"items", FILTERS | OF_DICTS, f_views},
                 {"join", FILTERS | OF_TEXT, f_join},
                 {"keys", OF_DICTS, f_views},
                 {"last", FILTERS, f_first},
                 {"length", FILTERS, f_length},
                 {"list", FILTERS, f_list},
                 {"lower", FILTERS | OF_TEXT, f_case},
                 {"lstrip", OF_TEXT, f_strip},
                 {"map", FILTERS, f_map},
                 {"reject", FILTERS, f_select},
                 {"rejectattr", FILTERS, f_select},
                 {"removeprefix", OF_TEXT, f_remove},
                 {"removesuffix", OF_TEXT, f_remove},
                 {"replace", FILTERS | OF_TEXT, f_replace},
                 {"reverse", FILTERS, f_reverse},
                 {"rfind", OF_TEXT, f_find},
                 {"rindex", OF_TEXT, f_find},
                 {"round", FILTERS, f_round},
                 {"rsplit", OF_TEXT, f_split},
                 {"rstrip", OF_TEXT, f_strip},
                 {"safe", FILTERS, f_safe},
                 {"select", FILTERS, f_select},
                 {"selectattr", FILTERS, f_select},
                 {"sort", FILTERS, f_sort},
                 {"split", OF_TEXT, f_split},
                 {"splitlines", OF_TEXT, f_splitlines},
                 {"startswith", OF_TEXT, f_ends},
                 {"string", FILTERS, f_string},
                 {"strip", OF_TEXT, f_strip},
                 {"title", FILTERS | OF_TEXT, f_title},
                 {"tojson", FILTERS, f_tojson},
                 {"trim", FILTERS, f_strip},
                 {"unique", FILTERS, f_sort},
                 {"upper", FILTERS | OF_TEXT, f_case},
                 {"values", OF_DICTS, f_views}};

/* A filter, or a method of a value. */
static value call_named(run *r, int where, value self, call *c)
{
    c->where = where ? where : FILTERS;
    if (!where && self.kind == SAFE && strcmp(c->name, "safe") != 0)
        fail_kind(r, c->name, self);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].where & c->where && strcmp(functions[i].name, c->name) == 0)
            return functions[i].call(r, self, c);
    fail(r, "there is no %s %s here", where ? "method" : "filter", show(r, c->name, strlen(c->name)));
}

/* ==== Tests and functions ========================================================================================= */

static int run_test(run *r, value name, value v, call *c)
{
    static const char with_one[] =
        "eq equalto == ne != lt lessthan < le <= gt greaterthan > ge >= in divisibleby sameas";
    value other = of_kind(NONE), rest;
    const int k = v.kind, is_list = k == LIST || k == TUPLE || k == STRING || k == UNDEFINED || k == DICT;
    int found;
    if (name.kind != STRING)
        fail_kind(r, "the name of a test", name);
    if (k == SAFE && !is_in(name, "defined undefined none string"))
        fail_kind(r, "tested here", v);
    if (is_in(name, with_one) && !argument(r, c, 0, "other", &other))
        fail(r, "the test %s needs an argument", show_name(r, name));
    if (is_in(name, "defined undefined"))
        return (k == UNDEFINED) == is_text(name, "undefined");
    if (is_in(name, "eq equalto == ne !="))
        return equal(r, v, other) == !is_in(name, "ne !=");
    if (is_text(name, "in"))
        return contains(r, other, v);
    if (is_in(name, "lt lessthan < le <= gt greaterthan > ge >=")) {
        found = order(r, v, other);
        if (found == 0)
            return is_in(name, "le <= ge >=");
        return (found < 0) == is_in(name, "lt lessthan < le <=");
    }
    if (is_in(name, "true false"))
        return k == BOOL && v.u.whole == is_text(name, "true");
    if (is_in(name, "odd even divisibleby")) {
        rest = of_wholes(r, '%', 0, v.u.whole, is_text(name, "divisibleby") ? other.u.whole : 2);
        if ((k != INT && k != BOOL) || (other.kind != NONE && other.kind != INT))
            fail_kind(r, "a whole number", v);
        return rest.u.whole == is_text(name, "odd");
    }
    if (is_text(name, "sameas")) {
        if (other.kind != BOOL && other.kind != NONE)
            fail_kind(r, "sameas: true, false or none", other);
        return k == other.kind && (k == NONE || v.u.whole == other.u.whole);
    }
    if (is_in(name, "lower upper")) {
        call plain = *c;
        plain.name = is_text(name, "lower") ? "islower" : "isupper";
        return truth(r, f_is(r, to_text(r, v), &plain));
    }
    return is_text(name, "none")       ? k == NONE
           : is_text(name, "boolean")  ? k == BOOL
           : is_text(name, "integer")  ? k == INT
           : is_text(name, "float")    ? k == FLOAT
           : is_text(name, "number")   ? is_number(v)
           : is_text(name, "string")   ? k == STRING || k == SAFE
           : is_text(name, "mapping")  ? k == DICT
           : is_text(name, "callable") ? k == MACRO || k == METHOD || k == FUNCTION
           : is_text(name, "sequence") ? is_list
           : is_text(name, "iterable") ? is_list || k == VIEW || k == ITERATOR
                                       : (fail(r, "there is no test %s here", show_name(r, name)), 0);
}

/* dict(a=1) and namespace(a=1), also of a dict. */
static value make_dict(run *r, kind k, call *c)
{
    value made = new_items(r, k);
    const items *of = c->plain ? items_of(c->values[0]) : NULL;
    if (c->plain > 1 || (c->plain && c->values[0].kind != DICT))
        fail(r, "%s: not made of a dict", c->name);
    for (size_t i = 0; of && i < of->count; i++)
        add(r, items_of(made), of->values[i]);
    for (size_t i = c->plain; i < c->count; i++)
        put_in(r, items_of(made), c->names[i], c->values[i]);
    c->taken = c->count;
    return made;
}

static value make_range(run *r, call *c)
{
    value made = new_items(r, VIEW), bounds[3];
    for (size_t i = 0; i < 3; i++)
        bounds[i] = argument_of(r, c, i, "a bound of range", INT, whole(INT, i == 2));
    if (c->plain == 1) {
        bounds[1] = bounds[0];
        bounds[0] = whole(INT, 0);
    }
    if (c->plain == 0 || bounds[2].u.whole == 0)
        fail(r, "range: a step of 0, or no argument");
    for (int64_t at = bounds[0].u.whole, by = bounds[2].u.whole;
         by < 0 ? at > bounds[1].u.whole : at < bounds[1].u.whole;) {
        add(r, items_of(made), whole(INT, at));
        if (items_of(made)->count > 100000)
            fail(r, "range: more than 100000 numbers");
        at = of_wholes(r, '+', 0, at, by).u.whole;
    }
    return made;
}

/* Today, as strftime writes it. */
static value today(run *r, call *c)
{
    value format = text_argument(r, c, 0, "format");
    time_t clock = time(NULL);
    const struct tm *date = localtime(&clock);
    char one[8], *text, *out;
    if (r->today)
        return word(r->today);
    text = (char *)take(r, 64 * format.size + 64);
    for (out = text; format.size;) {
        size_t size = *format.text != '%' ? 1 : format.size > 1 && format.text[1] == '-' ? 3 : 2;
        if (size > format.size || (size > 1 && !strchr("aAbBdeHIjmMpSyY%", format.text[size - 1])))
            fail(r, "strftime_now: %%%s is not known here", show(r, format.text + 1, format.size > 1));
        memcpy(one, format.text, size);
        one[size] = 0;
        if (size == 1)
            *out++ = *one;
        else
            out += date ? strftime(out, 63, one, date) : 0;
        format = part(format, size, format.size);
    }
    return of_text(text, (size_t)(out - text), NULL);
}

static value call_function(run *r, value f, call *c)
{
    value v;
    if (is_text(f, "range"))
        return make_range(r, c);
    if (is_text(f, "dict"))
        return make_dict(r, DICT, c);
    if (is_text(f, "namespace"))
        return make_dict(r, NAMESPACE, c);
    if (is_text(f, "strftime_now"))
        return today(r, c);
    if (!is_text(f, "raise_exception"))
        fail(r, "there is no %s here", show_name(r, f));
    if (!argument(r, c, 0, "message", &v))
        v = word("");
    v = to_text(r, v);
    fail(r, "the template says: %s", show_name(r, v));
}

static void set(run *r, scope *s, value name, value v)
{
    put_in(r, &s->names, name, v);
}

static scope *open_scope(run *r, scope *outer)
{
    scope *s = (scope *)take(r, sizeof *s);
    memset(s, 0, sizeof *s);
    s->outer = outer;
    return s;
}

/* What a body writes, as a string; in a scope of its own. */
static value captured(run *r, const node *body, scope *inside)
{
    written o = {NULL, NULL, 0, 0, 0}, *outer = r->out;
    scope *before_it = r->here;
    r->out = &o;
    r->here = inside;
    exec(r, body);
    r->out = outer;
    r->here = before_it;
    return text_in_output(&o);
}

static value call_macro(run *r, const macro *m, call *c)
{
    scope *inside = open_scope(r, m->outer), *before_it = r->here;
    const node *p;
    size_t place = 0;
    for (p = m->of->b; p; p = p->next, place++) {
        char name[64];
        value v;
        snprintf(name, sizeof name, "%.*s", (int)(p->name.size < 63 ? p->name.size : 63), p->name.text);
        if (!argument(r, c, place, name, &v)) {
            r->here = inside;
            v = p->kind == KEYWORD ? eval(r, p->a) : undefined(p->name);
            r->here = before_it;
        }
        set(r, inside, p->name, v);
    }
    checked(r, c, of_kind(NONE));
    return captured(r, m->of->list, inside);
}

static value cycle(run *r, const loop *l, call *c)
{
    if (c->plain == 0)
        fail(r, "cycle needs an argument");
    c->taken = c->count;
    return c->values[l->at % c->plain];
}

static value call_value(run *r, value f, call *c)
{
    value self, made;
    int where;
    if (f.kind == MACRO)
        return call_macro(r, (const macro *)f.u.of, c);
    if (f.kind == METHOD) {
        self = *(const value *)f.u.of;
        where = self.kind == STRING ? OF_TEXT : self.kind == DICT ? OF_DICTS : OF_LISTS;
        made = self.kind == LOOP ? cycle(r, (const loop *)self.u.of, c) : call_named(r, where, self, c);
    } else if (f.kind == FUNCTION) {
        made = call_function(r, f, c);
    } else {
        fail_kind(r, "called", f);
    }
    return checked(r, c, made);
}

/* ==== Statements, run ============================================================================================= */

static void assign(run *r, const node *target, value v)
{
    const items *of;
    size_t at = 0;
    if (target->kind == NAME) {
        set(r, r->here, target->name, v);
    } else if (target->kind == ATTRIBUTE) {
        value name = look_up(r, target->a->name);
        if (name.kind != NAMESPACE)
            fail_kind(r, "a namespace", name);
        put_in(r, items_of(name), target->name, v);
    } else {
        of = iterate(r, v);
        for (const node *n = target->list; n; n = n->next, at++) {
            if (at >= of->count)
                fail(r, "too few values for the names before in or =");
            assign(r, n, of->values[at]);
        }
        if (at < of->count)
            fail(r, "more values than names before in or =");
    }
}

static int pull(run *r, loop *l, size_t count)
{
    scope *before_it = r->here;
    while (l->taken.count <= count && l->next < l->source->count) {
        value v = l->source->values[l->next++];
        int holds = 1;
        spend(r, 1);
        if (l->of->c) {
            r->here = open_scope(r, l->outer);
            assign(r, l->of->a, v);
            holds = truth(r, eval(r, l->of->c));
            r->here = before_it;
        }
        if (holds)
            add(r, &l->taken, v);
    }
    return l->taken.count > count;
}

static int exec_for(run *r, const node *n)
{
    loop *l = (loop *)take(r, sizeof *l);
    int status = 0;
    memset(l, 0, sizeof *l);
    l->of = n;
    l->outer = r->here;
    l->source = iterate(r, eval(r, n->b));
    for (; status != 1 && pull(r, l, l->at); l->at++) {
        r->here = open_scope(r, l->outer);
        set(r, r->here, word("loop"), of_thing(LOOP, l));
        assign(r, n->a, at_place(l, l->at));
        status = exec(r, n->list);
        r->here = l->outer;
    }
    if (l->at == 0 && n->other) {
        r->here = open_scope(r, l->outer);
        status = exec(r, n->other);
        r->here = l->outer;
        return status;
    }
    return 0;
}

static value filtered(run *r, const node *filters, value v)
{
    node constant, *last;
    if (!filters)
        return v;
    memset(&constant, 0, sizeof constant);
    constant.line = r->line;
    constant.name = v;
    for (last = (node *)(uintptr_t)filters; last->a; last = last->a) {
    }
    last->a = &constant;
    v = eval(r, filters);
    last->a = NULL;
    return v;
}

static int exec_one(run *r, const node *n)
{
    scope *inside, *outer = r->here;
    macro *m;
    int status = 0;
    switch (n->kind) {
    case TEXT: put(r, r->out, n->name); break;
    case PRINT: put_value(r, r->out, eval(r, n->a)); break;
    case IF: return exec(r, truth(r, eval(r, n->a)) ? n->list : n->b);
    case FOR: return exec_for(r, n);
    case SET:
        assign(r, n->a, n->c ? filtered(r, n->b, captured(r, n->list, open_scope(r, outer))) : eval(r, n->b));
        break;
    case FILTERED: put_value(r, r->out, filtered(r, n->b, captured(r, n->list, open_scope(r, outer)))); break;
    case MACRO_OF:
        m = (macro *)take(r, sizeof *m);
        m->of = n;
        m->outer = outer;
        set(r, outer, n->name, of_thing(MACRO, m));
        break;
    case WITH:
        inside = open_scope(r, outer);
        for (const node *p = n->b; p; p = p->next)
            set(r, inside, p->name, eval(r, p->a));
        r->here = inside;
        status = exec(r, n->list);
        r->here = outer;
        break;
    case BLOCK:
        r->here = open_scope(r, outer);
        status = exec(r, n->list);
        r->here = outer;
        break;
    case BREAK: return 1;
    case CONTINUE: return 2;
    default: break;
    }
    return status;
}

/* Runs statements; returns 1 after break, 2 after continue. */
static int exec(run *r, const node *n)
{
    int status = 0;
    enter(r);
    for (; n && !status; n = n->next) {
        spend(r, 1);
        r->line = n->line;
        status = exec_one(r, n);
    }
    r->depth--;
    return status;
}

/* ==== What jinja.h has ============================================================================================ */

jinja_value jinja_none(void)
{
    return of_kind(NONE);
}

jinja_value jinja_bool(int flag)
{
    return whole(BOOL, flag != 0);
}

jinja_value jinja_text(jinja *j, const char *text, size_t size, int mark)
{
    unsigned char *said = NULL;
    if (size && mark) {
        said = (unsigned char *)take((run *)j->run, size);
        memset(said, mark, size);
    }
    return of_text(text ? text : "", size, said);
}

jinja_value jinja_list(jinja *j)
{
    return new_items((run *)j->run, LIST);
}

jinja_value jinja_dict(jinja *j)
{
    return new_items((run *)j->run, DICT);
}

void jinja_add(jinja *j, jinja_value list, jinja_value item_of)
{
    add((run *)j->run, items_of(list), item_of);
}

void jinja_put(jinja *j, jinja_value dict, const char *name, jinja_value v)
{
    put_in((run *)j->run, items_of(dict), word(name), v);
}

void jinja_set(jinja *j, const char *name, jinja_value v)
{
    set((run *)j->run, ((run *)j->run)->here, word(name), v);
}

/* A copy of the template with lines that end in \n alone, and without the last end. */
static void copy_source(run *r, const char *text, size_t size)
{
    r->source = (char *)take(r, size + 1);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n' && i > 0 && text[i - 1] == '\r')
            continue;
        r->source[r->size++] = text[i] == '\r' ? '\n' : text[i];
    }
    r->size -= r->size > 0 && r->source[r->size - 1] == '\n';
    r->source[r->size] = 0;
}

const char *jinja_render(jinja *j, const char *text, size_t size, const char *date, jinja_fill fill, void *context)
{
    static const char nothing[1] = "";
    written out = {NULL, NULL, 0, 0, 0};
    run r;
    memset(j, 0, sizeof *j);
    memset(&r, 0, sizeof r);
    r.j = j;
    r.today = date;
    r.line = 1;
    r.out = &out;
    j->run = &r;
    if (setjmp(r.failed) == 0) {
        const node *body;
        r.here = open_scope(&r, NULL);
        fill(j, context);
        copy_source(&r, text, size);
        body = parse_body(&r, NULL, NULL);
        exec(&r, body);
        put(&r, &out, of_text(nothing, 1, NULL));
        j->text = out.text;
        j->said = out.said;
        j->size = out.size - 1;
    }
    j->run = NULL;
    return j->text ? NULL : j->error;
}

void jinja_end(jinja *j)
{
    block *b = (block *)j->blocks, *next_block;
    for (; b; b = next_block) {
        next_block = b->next;
        free(b);
    }
    j->blocks = NULL;
    j->text = NULL;
    j->said = NULL;
    j->size = 0;
}
