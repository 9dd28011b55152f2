#include "jinja.h"
#include "text.h"
#include "unicode.h"

#include <setjmp.h>
#include <time.h>

typedef enum kind {
    MISSING,   /* an argument that is not given */
    UNDEFINED, /* text: its name */
    NONE,
    BOOL,
    INT,
    STRING,
    LIST,
    VIEW,     /* of a dict, or a range */
    ITERATOR, /* of select and the like: true, without a length, used once */
    DICT,
    NAMESPACE,
    LOOP,
    MACRO,
    FUNCTION
} kind;

typedef struct value {
    enum kind kind;
    union {
        int64_t whole;      /* of BOOL and INT */
        struct items *list; /* of LIST to NAMESPACE */
        void *of;           /* a loop; of a macro the scope that it is in */
    } u;
    const char *text;          /* of strings, UTF-8; the name of what has one */
    const unsigned char *said; /* the marks of its bytes; NULL: all are 0 */
    size_t size;               /* of a macro, the token of its parameters */
} value;

/* Elements; of a DICT, a NAMESPACE and a scope: keys and values in turn. */
typedef struct items {
    value *values;
    size_t count, room;
    int used;
} items;

/* branches: "if" statements that are being run in it. Of names in the outermost scope, u.of is the scope that has read
   it: the last one, or the outermost for good. */
typedef struct scope {
    struct scope *outer;
    items names;
    int branches;
} scope;

typedef enum token_kind {
    TEXT,  /* outside of tags */
    PRINT, /* {{ */
    TAG,   /* {% */
    END,   /* of either */
    WORD,
    QUOTED,
    NUMBER,
    OTHER, /* a number or a string that is not known here */
    SIGN,
    STOP /* of all */
} token_kind;

/* jump: of the first token of a body, the TAG that ends it; of an expression a if b, "if"; 0: not known, or none. */
typedef struct token {
    token_kind kind;
    long line;
    value is; /* what it is, or how it is written */
    size_t jump;
} token;

/* What can be assigned to. */
typedef struct target {
    value names[8];
    size_t count;
    int is_tuple, is_member; /* the second name is a member of the first */
} target;

/* With a filter, elements are looked at when they are asked for, as the body may have changed what the filter sees. */
typedef struct loop {
    items *source, taken;
    size_t next, at; /* next of source; at: the place in `taken` */
    scope *outer;
    target names;
    size_t filter; /* its first token; 0: there is none */
} loop;

typedef struct call {
    value name, self; /* of what is called; what a method or a filter is of */
    int where;        /* it is found */
    items plain, named;
    value a[3]; /* the arguments, by their places */
} call;

/* Text that grows. */
typedef struct written {
    char *text;
    unsigned char *said;
    size_t size, room;
    int marked; /* whether a mark is not 0 */
} written;

/* A template is cut into tokens, which are read as often as they are run. Reading without running: once from begin to
   end, to see whether it is well-formed, and over what is not reached. */
typedef struct run {
    jinja *j;
    jmp_buf failed;
    const char *today;
    char *source;
    size_t size, cut; /* cut: how far it is tokens */
    token *tokens;
    size_t count, room, at;
    long line;
    int skipping; /* what is read is not run */
    int leaving;  /* 'b' after break, 'c' after continue, up to the end of the body */
    int depth;
    size_t steps, memory;
    scope root, *here; /* the outermost and the innermost */
    written *out;
    char shown[256];
} run;

/* ==== Errors, memory and bounds =================================================================================== */

#ifdef __GNUC__
#define FAILS __attribute__((noreturn))
#else
#define FAILS
#endif

FAILS static void fail(run *r, const char *format, ...)
{
    char *error = r->j->error;
    va_list arguments;
    int used = snprintf(error, sizeof r->j->error, "line %ld: ", r->line);
    va_start(arguments, format);
    vsnprintf(error + used, sizeof r->j->error - (size_t)used, format, arguments);
    va_end(arguments);
    longjmp(r->failed, 1);
}

static const char *show(run *r, value v)
{
    return shown_text(r->shown, sizeof r->shown, v.text, v.size);
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
    return memset((char *)b + b->used - size, 0, size);
}

/* An array with room for `more`, at twice the size if need be. */
static void *larger(run *r, void *old, size_t bytes, size_t count, size_t more, size_t *room)
{
    void *fresh;
    if (more <= *room - count)
        return old;
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
    v.kind = k;
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

static value undefined(value name)
{
    name.kind = UNDEFINED;
    return name;
}

static value new_items(run *r, kind k)
{
    value v = of_kind(k);
    v.u.list = (items *)take(r, sizeof *v.u.list);
    return v;
}

static void add(run *r, items *to, value v)
{
    to->values = (value *)larger(r, to->values, sizeof v, to->count, 1, &to->room);
    to->values[to->count++] = v;
}

static int is_same(value a, value b)
{
    return a.size == b.size && (a.text == b.text || memcmp(a.text, b.text, a.size) == 0);
}

/* Whether a text is one of a list, with spaces between. */
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

/* The bytes of a string from one on, up to another. */
static value part(value s, size_t begin, size_t end)
{
    return of_text(s.text + begin, end - begin, s.said ? s.said + begin : NULL);
}

static const char *kind_name(value v)
{
    static const char names[][13] = {"nothing",     "undefined", "none",    "a boolean",   "an integer",
                                     "a string",    "a list",    "a view",  "an iterator", "a dict",
                                     "a namespace", "a loop",    "a macro", "a function"};
    return names[v.kind];
}

FAILS static void fail_kind(run *r, const char *what, value v)
{
    if (v.kind == UNDEFINED)
        fail(r, "\"%s\" is undefined, and %s", show(r, v), what);
    fail(r, "%s: not %s", what, kind_name(v));
}

static int is_whole(value v)
{
    return v.kind == BOOL || v.kind == INT;
}

static int truth(value v)
{
    if (v.kind <= NONE)
        return 0;
    if (is_whole(v))
        return v.u.whole != 0;
    if (v.kind == LIST || v.kind == VIEW || v.kind == DICT)
        return v.u.list->count > 0;
    return v.kind != STRING || v.size > 0;
}

static int equal(run *r, value a, value b)
{
    spend(r, 1 + a.size / 64);
    if (is_whole(a) && is_whole(b))
        return a.u.whole == b.u.whole;
    if (a.kind != b.kind)
        return 0;
    if (a.kind > STRING)
        fail(r, "%s is not compared here", kind_name(a));
    return a.kind != STRING || is_same(a, b);
}

/* The value that belongs to a key of a dict, a namespace or a scope; NULL: there is none. */
static value *find(run *r, const items *dict, value key)
{
    for (size_t i = 0; i < dict->count; i += 2)
        if (equal(r, dict->values[i], key))
            return &dict->values[i + 1];
    return NULL;
}

static void put_in(run *r, items *dict, value key, value v)
{
    value *known = find(r, dict, key);
    if (key.kind > STRING)
        fail_kind(r, "a key of a dict", key);
    if (!known) {
        add(r, dict, key);
        add(r, dict, v);
    } else {
        *known = v;
    }
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
    o->marked |= s.said != NULL;
    o->size += s.size;
}

static value result_of(const written *o)
{
    return of_text(o->text ? o->text : "", o->size, o->marked ? o->said : NULL);
}

/* As str() of Python. */
static void put_value(run *r, written *o, value v)
{
    const char *text = v.kind == NONE ? "None" : v.u.whole ? "True" : "False";
    char number[32];
    if (v.kind > STRING)
        fail_kind(r, "printed", v);
    snprintf(number, sizeof number, "%lld", v.kind == INT ? (long long)v.u.whole : 0);
    if (v.kind != UNDEFINED && v.kind != MISSING)
        put(r, o, v.kind == STRING ? v : word(v.kind == INT ? number : text));
}

static value joined(run *r, value a, value b)
{
    written o = {NULL, NULL, 0, 0, 0};
    put_value(r, &o, a);
    put_value(r, &o, b);
    return result_of(&o);
}

static value to_text(run *r, value v)
{
    return v.kind == STRING ? v : joined(r, v, word(""));
}

/* What str.isspace of Python says. */
static int is_blank(uint32_t code)
{
    return unicode_is_space(code) || (code >= 0x1c && code <= 0x1f);
}

static int is_letter(uint32_t code)
{
    return code == '_' || (code | 32) - 'a' < 26;
}

/* Where a text is in another, from one byte on: SIZE_MAX if it is not. */
static size_t find_text(run *r, value s, value other, size_t at)
{
    for (; at + other.size <= s.size; at++) {
        int begins = other.size == 0 || s.text[at] == *other.text;
        spend(r, (at % 64 == 0) + (begins ? other.size / 64 : 0));
        if (begins && memcmp(s.text + at, other.text, other.size) == 0)
            return at;
    }
    return SIZE_MAX;
}

/* A string without the characters of a set at its ends; of no string: without white space. */
static value strip(run *r, value s, value set, int left, int right)
{
    size_t begin = s.size, end = 0, length;
    uint32_t code;
    spend(r, s.size / 16);
    for (size_t at = 0; at < s.size; at += length) {
        length = unicode_read(s.text + at, s.size - at, &code);
        if (set.kind == STRING ? find_text(r, set, part(s, at, at + length), 0) != SIZE_MAX : is_blank(code))
            continue;
        begin = at < begin ? at : begin;
        end = at + length;
    }
    return part(s, left && end ? begin : 0, right || !end ? end : s.size); /* end 0: nothing else is there */
}

/* How many elements there are, or characters. */
static int64_t count_of(run *r, value v)
{
    int64_t count = 0;
    uint32_t code;
    if (v.kind != STRING)
        return (int64_t)v.u.list->count / (v.kind == DICT ? 2 : 1);
    spend(r, v.size / 16);
    for (size_t at = 0; at < v.size; count++)
        at += unicode_read(v.text + at, v.size - at, &code);
    return count;
}

/* The byte where so many characters end. */
static size_t place_of(value s, int64_t count)
{
    size_t at = 0;
    uint32_t code;
    while (count-- > 0 && at < s.size)
        at += unicode_read(s.text + at, s.size - at, &code);
    return at;
}

/* ==== A template in tokens ======================================================================================== */

static int at_text(const run *r, size_t at, const char *text)
{
    size_t size = strlen(text);
    return size <= r->size - at && memcmp(r->source + at, text, size) == 0;
}

/* A token up to a place. */
static void add_token(run *r, token_kind k, value is, size_t end)
{
    token *t;
    r->tokens = (token *)larger(r, r->tokens, sizeof *t, r->count, 1, &r->room);
    t = &r->tokens[r->count++];
    t->kind = k;
    t->line = r->line;
    t->is = is;
    for (; r->cut < end; r->cut++)
        r->line += r->source[r->cut] == '\n';
}

/* Where the white space from a place on ends. */
static size_t after_blanks(const run *r, size_t at)
{
    uint32_t code;
    size_t length;
    while (at < r->size && (length = unicode_read(r->source + at, r->size - at, &code), is_blank(code)))
        at += length;
    return at;
}

/* The place behind the end of a tag that may begin here, with what it takes from the text that follows; 0: none does.
   close: the first character of its two. */
static size_t after_tag(const run *r, size_t at, char close)
{
    int minus = at_text(r, at, "-"), plus = close != '}' && at_text(r, at, "+");
    at += (size_t)(minus + plus);
    if (r->source[at] != close || r->source[at + 1] != '}')
        return 0;
    at += 2;
    return minus ? after_blanks(r, at) : at + (close != '}' && !plus && at_text(r, at, "\n"));
}

static size_t after_word(const run *r, size_t at)
{
    while (is_letter((unsigned char)r->source[at]) || (unsigned)(r->source[at] - '0') < 10)
        at++;
    return at;
}

static void read_number(run *r)
{
    size_t begin = r->cut, end = after_word(r, begin), at = begin;
    value is;
    int64_t number = 0;
    if (at_text(r, end, ".") && r->source[end + 1] >= '0' && r->source[end + 1] <= '9')
        end = after_word(r, end + 1);
    for (; at < end && at < begin + 18 && r->source[at] >= '0' && r->source[at] <= '9'; at++)
        number = number * 10 + (r->source[at] - '0');
    is = of_text(r->source + begin, end - begin, NULL);
    is.kind = INT;
    is.u.whole = number;
    add_token(r, at == end && (*is.text != '0' || is.size == 1) ? NUMBER : OTHER, is, end);
}

static void read_string(run *r)
{
    static const char letters[] = "ntr\\'\"", stand_for[] = "\n\t\r\\'\"";
    const char quote = r->source[r->cut];
    size_t begin = r->cut + 1, at;
    token_kind k = QUOTED;
    written o = {NULL, NULL, 0, 0, 0};
    for (at = begin; at < r->size && r->source[at] != quote; at++) {
        const char *known;
        if (r->source[at] != '\\')
            continue;
        put(r, &o, of_text(r->source + begin, at++ - begin, NULL));
        known = strchr(letters, r->source[at]);
        if (known && *known)
            put(r, &o, of_text(stand_for + (known - letters), 1, NULL));
        else if (r->source[at] != '\n')
            k = OTHER;
        begin = at + 1;
    }
    if (at >= r->size)
        fail(r, "a string without an end");
    put(r, &o, of_text(r->source + begin, at - begin, NULL));
    add_token(r, k, k == QUOTED ? result_of(&o) : of_text(r->source + r->cut, at + 1 - r->cut, NULL), at + 1);
}

/* open: brackets that are. */
static void read_sign(run *r, size_t *open)
{
    value sign = of_text(r->source + r->cut, 2, NULL);
    if (!is_in(sign, "** // == != >= <="))
        sign.size = 1;
    if (!is_in(sign, "+ - * / ~ % [ ] ( ) { } < > = . : | , ** // == != >= <="))
        fail(r, "\"%s\" is not known here", show(r, sign));
    *open += (size_t)is_in(sign, "( [ {");
    *open -= *open && is_in(sign, ") ] }");
    add_token(r, SIGN, sign, r->cut + sign.size);
}

/* The tokens of a tag up to its end, which close begins. */
static void read_tag(run *r, char close)
{
    size_t open = 0, end = 0;
    while (!end) {
        size_t at = after_blanks(r, r->cut);
        const char c = r->source[at];
        for (; r->cut < at; r->cut++)
            r->line += r->source[r->cut] == '\n';
        spend(r, 1);
        if (at >= r->size)
            fail(r, "a tag without an end");
        if (!open && (end = after_tag(r, at, close)) > 0)
            add_token(r, END, word("the end of the tag"), end);
        else if (is_letter((unsigned char)c))
            add_token(r, WORD, of_text(r->source + at, after_word(r, at) - at, NULL), after_word(r, at));
        else if (c >= '0' && c <= '9')
            read_number(r);
        else if (c == '"' || c == '\'')
            read_string(r);
        else
            read_sign(r, &open);
    }
}

/* Where text ends, from `begin` to a tag at `end`: white space before "-" is left out, and in lines of {% alone. */
static size_t trimmed(run *r, size_t begin, size_t end)
{
    const char sign = r->source[end + 2];
    size_t line = end, bare;
    if (sign == '+' || (sign != '-' && r->source[end + 1] == '{'))
        return end;
    bare = begin + strip(r, of_text(r->source + begin, end - begin, NULL), of_kind(NONE), 0, 1).size;
    while (line > begin && r->source[line - 1] != '\n')
        line--;
    if (sign == '-')
        return bare;
    return bare <= line && (line > begin || begin == 0 || r->source[begin - 1] == '\n') ? line : end;
}

static size_t after_comment(run *r, size_t at)
{
    size_t end = 0;
    for (at += at_text(r, at, "-") || at_text(r, at, "+"); at < r->size && !end; at++)
        end = after_tag(r, at, '#');
    if (!end)
        fail(r, "a comment without an end");
    return end;
}

/* Lines end in \n alone, and the last end is left out. */
static void read_template(run *r, const char *text, size_t size)
{
    r->source = (char *)take(r, size + 3);
    for (size_t i = 0; i < size; i++)
        if (text[i] != '\n' || i == 0 || text[i - 1] != '\r')
            r->source[r->size++] = text[i] == '\r' ? '\n' : text[i];
    r->size -= r->size > 0 && r->source[r->size - 1] == '\n';
    r->source[r->size] = 0;
    while (r->cut < r->size) {
        size_t begin = r->cut, at = begin;
        char sign;
        while (at < r->size && !at_text(r, at, "{{") && !at_text(r, at, "{%") && !at_text(r, at, "{#"))
            at++;
        spend(r, (at - begin) / 64);
        add_token(r, TEXT, of_text(r->source + begin, (at < r->size ? trimmed(r, begin, at) : at) - begin, NULL), at);
        if (at == r->size)
            break;
        sign = r->source[at + 1];
        if (sign == '#') {
            add_token(r, TEXT, word(""), after_comment(r, at + 2));
            continue;
        }
        at += 2;
        at += at_text(r, at, "-") || at_text(r, at, "+");
        add_token(r, sign == '{' ? PRINT : TAG, word(sign == '{' ? "{{" : "{%"), at);
        read_tag(r, sign == '{' ? '}' : '%');
    }
    add_token(r, STOP, word("the end of the template"), r->size);
}

static int skips(const run *r)
{
    return r->skipping || r->leaving;
}

static const token *now(const run *r)
{
    return &r->tokens[r->at];
}

static void next(run *r)
{
    spend(r, 1);
    r->line = now(r)->line;
    r->at++;
}

/* Goes on elsewhere; returns where it was. */
static size_t seek(run *r, size_t at)
{
    size_t from = r->at;
    r->at = at;
    r->line = now(r)->line;
    return from;
}

/* Whether the next token is one of those of a list, with spaces between. */
static int is_next(const run *r, const char *list)
{
    return (now(r)->kind == WORD || now(r)->kind == SIGN) && is_in(now(r)->is, list);
}

static int accept(run *r, const char *text)
{
    int found = is_next(r, text);
    if (found)
        next(r);
    return found;
}

FAILS static void fail_token(run *r, const char *wanted)
{
    r->line = now(r)->line;
    fail(r, "%s stands where %s is wanted", show(r, now(r)->is), wanted);
}

static void expect(run *r, const char *text)
{
    if (!accept(r, text))
        fail_token(r, text);
}

static void end_tag(run *r)
{
    if (now(r)->kind != END)
        fail_token(r, "the end of the tag");
    next(r);
}

static value take_name(run *r)
{
    value name = now(r)->is;
    if (now(r)->kind != WORD || is_in(name, "and or not if else in is"))
        fail_token(r, "a name");
    next(r);
    return name;
}

/* ==== What values do ============================================================================================== */

static value parse(run *r);
static value parse_logic(run *r, int is_or);
static value call_value(run *r, value f, call *c);
static value call_named(run *r, value self, call *c, int where);
static int run_test(run *r, value v, call *c);
static int pull(run *r, loop *l, size_t count);
static value body(run *r, const char *ends);

static value look_up(run *r, value name)
{
    for (scope *s = r->here; s; s = s->outer) {
        value *found = find(r, &s->names, name);
        if (found && !s->outer && found[-1].u.of != s)
            found[-1].u.of = r->here;
        if (found)
            return *found;
    }
    if (is_in(name, "self varargs kwargs caller"))
        fail(r, "there is no %s here", show(r, name));
    name.kind =
        is_in(name, "range dict namespace raise_exception strftime_now cycler joiner lipsum") ? FUNCTION : UNDEFINED;
    return name;
}

/* The elements that a value is gone through by. */
static items *iterate(run *r, value v)
{
    items *of = v.u.list, *fresh;
    uint32_t code;
    if (v.kind == ITERATOR && of->used++)
        fail(r, "an iterator is gone through twice: the filter list makes it a list");
    if (v.kind == LIST || v.kind == VIEW || v.kind == ITERATOR)
        return of;
    if (v.kind != DICT && v.kind != STRING && v.kind != UNDEFINED)
        fail_kind(r, "gone through", v);
    fresh = new_items(r, LIST).u.list;
    for (size_t i = 0; v.kind == DICT && i < of->count; i += 2)
        add(r, fresh, of->values[i]);
    for (size_t at = 0, length; v.kind == STRING && at < v.size; at += length) {
        length = unicode_read(v.text + at, v.size - at, &code);
        add(r, fresh, part(v, at, at + length));
    }
    return fresh;
}

static value loop_member(run *r, loop *l, value name)
{
    const int64_t at = (int64_t)l->at;
    if (is_in(name, "index index0"))
        return whole(INT, at + is_in(name, "index"));
    if (is_in(name, "first"))
        return whole(BOOL, at == 0);
    if (is_in(name, "last"))
        return whole(BOOL, !pull(r, l, l->at + 1));
    if (!is_in(name, "previtem"))
        fail(r, "there is no loop.%s here", show(r, name));
    return l->at ? l->taken.values[at - 1] : undefined(name);
}

/* The names that objects of Python have: these are not undefined. */
static const char members_of_dict[] = "clear copy fromkeys get items keys pop popitem setdefault update values";
static const char members_of_others[] =
    "append capitalize casefold center clear copy count encode endswith expandtabs extend find format format_map index "
    "insert isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle "
    "isupper "
    "join ljust lower lstrip maketrans partition pop remove removeprefix removesuffix replace reverse rfind rindex "
    "rjust "
    "rpartition rsplit rstrip sort split splitlines startswith strip swapcase title translate upper zfill";

/* v.name, of what is no method. */
static value attribute(run *r, value v, value name)
{
    const value *found;
    if ((name.size > 1 && memcmp(name.text, "__", 2) == 0) ||
        (v.kind < DICT && v.kind > NONE && is_in(name, members_of_others)) ||
        (v.kind == DICT && is_in(name, members_of_dict)))
        fail(r, "there is no %s of %s here", show(r, name), kind_name(v));
    if (v.kind == UNDEFINED)
        fail_kind(r, "has no members", v);
    if (v.kind == LOOP)
        return loop_member(r, (loop *)v.u.of, name);
    if (is_whole(v) || v.kind == VIEW || v.kind == ITERATOR || v.kind > NAMESPACE)
        fail_kind(r, "a value with members", v);
    if ((v.kind == DICT || v.kind == NAMESPACE) && (found = find(r, v.u.list, name)) != NULL)
        return *found;
    return undefined(name);
}

/* v[key]. */
static value item(run *r, value v, value key)
{
    const value *found;
    int64_t count, at = key.u.whole;
    if (v.kind == DICT && (found = find(r, v.u.list, key)) != NULL)
        return *found;
    if (is_whole(key) && (v.kind == STRING || v.kind == LIST)) {
        count = count_of(r, v);
        at += at < 0 ? count : 0;
        if (at < 0 || at >= count)
            return undefined(word("an element"));
        return v.kind == STRING ? part(v, place_of(v, at), place_of(v, at + 1)) : v.u.list->values[at];
    }
    return attribute(r, v, key.kind == STRING ? key : word("a member"));
}

/* A bound of a slice among `count`, as Python moves it. */
static int64_t bound(run *r, value v, int64_t count, int64_t otherwise)
{
    int64_t at = v.u.whole < 0 ? v.u.whole + count : v.u.whole;
    if (v.kind != NONE && v.kind != MISSING && !is_whole(v))
        fail_kind(r, "a bound of a slice", v);
    return !is_whole(v) ? otherwise : at < 0 ? 0 : at > count ? count : at;
}

static value slice(run *r, value v, const value bounds[3])
{
    int backwards = bounds[2].kind == INT && bounds[2].u.whole == -1 && v.kind == LIST && bounds[0].kind == MISSING &&
                    bounds[1].kind == MISSING; /* all of it */
    int64_t count, begin, end;
    value made;
    if (v.kind != STRING && v.kind != LIST)
        fail_kind(r, "sliced", v);
    if (bounds[2].kind != MISSING && !backwards)
        fail(r, "a step of a slice, but for [::-1] of a list");
    count = count_of(r, v);
    begin = bound(r, bounds[0], count, 0);
    end = bound(r, bounds[1], count, count);
    if (v.kind == STRING)
        return end <= begin ? part(v, 0, 0) : part(v, place_of(v, begin), place_of(v, end));
    made = new_items(r, LIST);
    for (; begin < end; begin++)
        add(r, made.u.list, v.u.list->values[backwards ? count - 1 - begin : begin]);
    return made;
}

static value binary(run *r, value sign, value a, value b)
{
    const int64_t most = INT64_MAX / 2;
    int64_t rest;
    value made;
    if (is_in(sign, "~"))
        return joined(r, a, b);
    if (is_whole(a) && is_whole(b) && is_in(sign, "+ - %")) {
        if (a.u.whole > most || a.u.whole < -most || b.u.whole > most || b.u.whole < -most)
            fail(r, "a number that is too large");
        if (*sign.text == '%' && b.u.whole == 0)
            fail(r, "a division by 0");
        if (*sign.text != '%')
            return whole(INT, a.u.whole + (*sign.text == '+' ? b.u.whole : -b.u.whole));
        rest = a.u.whole % b.u.whole; /* of Python it has the sign of b */
        return whole(INT, rest && (rest < 0) != (b.u.whole < 0) ? rest + b.u.whole : rest);
    }
    if (is_in(sign, "+") && a.kind == STRING && b.kind == STRING)
        return joined(r, a, b);
    if (a.kind == UNDEFINED || b.kind == UNDEFINED)
        fail_kind(r, "cannot be reckoned with", a.kind == UNDEFINED ? a : b);
    if (!is_in(sign, "+") || a.kind != LIST || b.kind != LIST)
        fail(r, "there is no \"%s\" of %s and %s here", show(r, sign), kind_name(a), kind_name(b));
    made = new_items(r, LIST);
    for (size_t i = 0, count = a.u.list->count; i < count + b.u.list->count; i++)
        add(r, made.u.list, i < count ? a.u.list->values[i] : b.u.list->values[i - count]);
    return made;
}

static int contains(run *r, value v, value what)
{
    const items *of;
    int found = 0;
    if (v.kind == STRING && what.kind != STRING)
        fail_kind(r, "looked for in a string", what);
    if (v.kind == STRING)
        return find_text(r, v, what, 0) != SIZE_MAX;
    of = iterate(r, v);
    for (size_t i = 0; !found && i < of->count; i++)
        found = equal(r, of->values[i], what);
    return found;
}

static int compare(run *r, value sign, value a, value b)
{
    if (is_in(sign, "in not"))
        return contains(r, b, a) == is_in(sign, "in");
    if (is_in(sign, "== !="))
        return equal(r, a, b) == is_in(sign, "==");
    if (!is_whole(a) || !is_whole(b))
        fail(r, "%s and %s have no order here", kind_name(a), kind_name(b));
    if (a.u.whole == b.u.whole)
        return sign.size == 2;
    return (*sign.text == '<') == (a.u.whole < b.u.whole);
}

/* ==== Expressions ================================================================================================= */

/* Elements up to a bracket, which is taken. */
static value parse_elements(run *r, kind k, const char *close)
{
    value made = new_items(r, k);
    while (!accept(r, close)) {
        value v = parse(r);
        if (k == DICT) {
            expect(r, ":");
            put_in(r, made.u.list, v, parse(r));
        } else {
            add(r, made.u.list, v);
        }
        if (!is_next(r, close))
            expect(r, ",");
    }
    return made;
}

static call new_call(value name)
{
    call c;
    memset(&c, 0, sizeof c);
    c.name = name;
    return c;
}

/* After "(". */
static void parse_arguments(run *r, call *c)
{
    while (!accept(r, ")")) {
        value name = now(r)->is;
        int is_named = now(r)->kind == WORD && now(r)[1].kind == SIGN && is_in(now(r)[1].is, "=");
        if ((accept(r, "*") || accept(r, "**")) && !skips(r))
            fail(r, "there are no arguments after * here");
        if (is_named) {
            take_name(r);
            next(r);
            put_in(r, &c->named, name, parse(r));
        } else {
            add(r, &c->plain, parse(r));
        }
        if (!is_next(r, ")"))
            expect(r, ",");
    }
}

/* Expressions with commas between them are a tuple. choices: whether "if" is part of them. */
static value parse_tuple(run *r, int choices)
{
    value v = choices ? parse(r) : parse_logic(r, 1), made;
    if (!is_next(r, ","))
        return v;
    made = new_items(r, LIST);
    add(r, made.u.list, v);
    while (accept(r, ",") && now(r)->kind != END && !is_next(r, ") ] = in"))
        add(r, made.u.list, choices ? parse(r) : parse_logic(r, 1));
    return made;
}

static value parse_primary(run *r)
{
    const token *t = now(r);
    value v = t->is;
    if (t->kind == WORD) {
        take_name(r);
        if (is_in(v, "true True false False"))
            return whole(BOOL, (*v.text | 32) == 't');
        return skips(r) || is_in(v, "none None") ? of_kind(NONE) : look_up(r, v);
    }
    if (accept(r, "[") || accept(r, "{"))
        return parse_elements(r, *v.text == '[' ? LIST : DICT, *v.text == '[' ? "]" : "}");
    if (accept(r, "(")) {
        v = is_next(r, ")") ? new_items(r, LIST) : parse_tuple(r, 1);
        expect(r, ")");
        return v;
    }
    if (t->kind < QUOTED || t->kind > OTHER)
        fail_token(r, "an expression");
    next(r);
    if (t->kind == OTHER && !skips(r))
        fail(r, "%s is not known here", show(r, v));
    for (; t->kind == QUOTED && now(r)->kind == QUOTED; next(r))
        v = joined(r, v, now(r)->is);
    return v;
}

static value parse_subscript(run *r, value v)
{
    value bounds[3] = {of_kind(MISSING), of_kind(MISSING), of_kind(MISSING)};
    int colons = 0;
    do
        if (!is_next(r, colons ? ": ]" : ":"))
            bounds[colons] = parse(r);
    while (accept(r, ":") && ++colons < 3);
    expect(r, "]");
    if (skips(r))
        return v;
    return colons ? slice(r, v, bounds) : item(r, v, bounds[0]);
}

/* A member, or what a method makes. */
static value parse_member(run *r, value v)
{
    const token *t = now(r);
    call c = new_call(t->is);
    if (t->kind != WORD && t->kind != NUMBER && (t->kind != OTHER || !skips(r)))
        fail_token(r, "a name");
    next(r);
    if (!skips(r) && !(t->kind == WORD && is_next(r, "(") && (v.kind == STRING || v.kind == LIST || v.kind == DICT)))
        return t->kind == NUMBER ? item(r, v, t->is) : attribute(r, v, t->is);
    if (accept(r, "("))
        parse_arguments(r, &c);
    return skips(r) ? v : call_named(r, v, &c, 1);
}

/* What may follow an expression: members, calls. */
static value parse_members(run *r, value v)
{
    for (;;) {
        if (accept(r, "[")) {
            v = parse_subscript(r, v);
        } else if (accept(r, ".")) {
            v = parse_member(r, v);
        } else if (accept(r, "(")) {
            call c = new_call(v);
            parse_arguments(r, &c);
            v = skips(r) ? v : call_value(r, v, &c);
        } else {
            return v;
        }
    }
}

static value parse_filter(run *r, value v)
{
    call c = new_call(take_name(r));
    if (accept(r, "("))
        parse_arguments(r, &c);
    return skips(r) ? v : call_named(r, v, &c, 0);
}

static value parse_test(run *r, value v)
{
    int denies;
    call c;
    expect(r, "is");
    denies = accept(r, "not");
    c = new_call(now(r)->is);
    if (now(r)->kind != WORD)
        fail_token(r, "a test");
    next(r);
    if (accept(r, "(")) {
        parse_arguments(r, &c);
    } else if (is_next(r, "is")) {
        fail(r, "a test of a test");
    } else if ((now(r)->kind >= QUOTED && now(r)->kind <= OTHER) || is_next(r, "[ {") ||
               (now(r)->kind == WORD && !is_next(r, "else or and"))) {
        add(r, &c.plain, parse_members(r, parse_primary(r)));
    }
    return skips(r) ? v : whole(BOOL, run_test(r, v, &c) != denies);
}

static value parse_unary(run *r, int filters)
{
    value v, sign = now(r)->is;
    if (accept(r, "+") || accept(r, "-")) {
        enter(r);
        v = parse_unary(r, 0);
        r->depth--;
        v = skips(r) ? v : binary(r, sign, whole(INT, 0), v);
    } else {
        v = parse_primary(r);
    }
    v = parse_members(r, v);
    while (filters && is_next(r, "| is"))
        v = accept(r, "|") ? parse_filter(r, v) : parse_test(r, v);
    return v;
}

/* The operators from the weakest on: one with a left and a right side, each of the next level. */
static value parse_binary(run *r, int level)
{
    static const char *const operators[] = {"+ -", "~", "* / // % **"};
    value v = level == 2 ? parse_unary(r, 1) : parse_binary(r, level + 1);
    while (is_next(r, operators[level])) {
        value sign = now(r)->is, other;
        next(r);
        other = level == 2 ? parse_unary(r, 1) : parse_binary(r, level + 1);
        v = skips(r) ? v : binary(r, sign, v, other);
    }
    return v;
}

/* A comparison, or what "not" stands before. */
static value parse_compare(run *r)
{
    int any = 0, fails = 0;
    value a, b;
    if (accept(r, "not")) {
        enter(r);
        a = parse_compare(r);
        r->depth--;
        return skips(r) ? a : whole(BOOL, !truth(a));
    }
    a = parse_binary(r, 0);
    for (;; any = 1) {
        value sign = now(r)->is;
        if (is_next(r, "not") && is_in(now(r)[1].is, "in"))
            next(r);
        else if (!is_next(r, "in == != < > <= >="))
            return any ? whole(BOOL, !fails) : a;
        next(r);
        r->skipping += fails;
        b = parse_binary(r, 0);
        r->skipping -= fails;
        fails = fails || (!skips(r) && !compare(r, sign, a, b));
        a = b;
    }
}

/* What "and" (is_or: "or") stands between. */
static value parse_logic(run *r, int is_or)
{
    value v = is_or ? parse_logic(r, 0) : parse_compare(r), other;
    while (accept(r, is_or ? "or" : "and")) {
        int decided = truth(v) == is_or;
        r->skipping += decided;
        other = is_or ? parse_logic(r, 0) : parse_compare(r);
        r->skipping -= decided;
        v = decided ? v : other;
    }
    return v;
}

/* An expression, which may be followed by "if" and what it depends on: then that is run first. */
static value parse(run *r)
{
    size_t begin = r->at, *choice = &r->tokens[begin].jump, behind;
    value v = of_kind(NONE), other;
    int holds;
    enter(r);
    if (skips(r) || !*choice)
        v = parse_logic(r, 1);
    else
        seek(r, *choice);
    if (is_next(r, "if")) {
        *choice = r->at;
        next(r);
        holds = truth(parse_logic(r, 1));
        if (holds && !skips(r)) {
            behind = seek(r, begin);
            v = parse_logic(r, 1);
            seek(r, behind);
        }
        r->skipping += holds;
        other = accept(r, "else") ? parse(r) : undefined(word("what has no else"));
        r->skipping -= holds;
        v = holds ? v : other;
    }
    r->depth--;
    return v;
}

/* ==== Methods and filters ========================================================================================= */

enum { FILTER = 1, METHOD = 2, OF_DICT = 4 };

/* Puts at most three arguments into their places, by the names in a list; there must be no others. Behind "!" there
   must be a string, behind "?" there may be one. */
static void bind(run *r, call *c, const char *names)
{
    size_t place = 0, taken = 0, length;
    for (; *names; names += length + (names[length] == ' '), place++) {
        const char sign = *names;
        const value *found;
        names += sign == '!' || sign == '?';
        length = strcspn(names, " ");
        found = place < c->plain.count ? &c->plain.values[place] : find(r, &c->named, of_text(names, length, NULL));
        c->a[place] = found ? *found : of_kind(MISSING);
        taken += found != NULL;
        if ((sign == '!' || (sign == '?' && found && found->kind != NONE)) && c->a[place].kind != STRING)
            fail(r, "%s takes a string: not %s", show(r, c->name), kind_name(c->a[place]));
    }
    if (taken < c->plain.count + c->named.count / 2)
        fail(r, "%s has arguments that are not known here", show(r, c->name));
}

/* lower, upper; capitalize: the first letter in upper case, the others in lower. title: every word so; those of the
   filter begin after white space and some brackets, those of the method after what is no letter. Letters are those of
   ASCII; of others, lower case alone is known. */
static value f_case(run *r, const call *c)
{
    written o = {NULL, NULL, 0, 0, 0};
    value s = to_text(r, c->self);
    int upper = !is_in(c->name, "lower"), is_title = is_in(c->name, "title");
    uint32_t code, lower[3];
    for (size_t at = 0, length; at < s.size; at += length) {
        size_t count = 1;
        length = unicode_read(s.text + at, s.size - at, &code);
        if (code >= 128 && code < UNICODE_INVALID && (upper || is_title || code == 0x3a3))
            fail(r, "%s: letters beyond ASCII", code == 0x3a3 ? "lower case of U+03A3" : "upper case");
        *lower = code - 'a' < 26 && upper ? code - 32 : code - 'A' < 26 && !upper ? code + 32 : code;
        if (code >= 128 && code < UNICODE_INVALID)
            count = unicode_lower(code, lower);
        for (size_t i = 0; i < count; i++) { /* bytes that stand for others carry their marks */
            char bytes[4];
            unsigned char said[4];
            value one = of_text(bytes, unicode_write(bytes, lower[i]), s.said ? said : NULL);
            memset(said, s.said ? s.said[at] : 0, sizeof said);
            put(r, &o, code == UNICODE_INVALID ? part(s, at, at + length) : one);
        }
        if (is_title && c->where == FILTER)
            upper = is_blank(code) || (code && code < 128 && strchr("-({[<", (int)code));
        else if (!is_in(c->name, "upper"))
            upper = is_title && (!is_letter(code) || code == '_');
    }
    return result_of(&o);
}

static value f_strip(run *r, const call *c)
{
    return strip(r, to_text(r, c->self), c->a[0], *c->name.text != 'r', *c->name.text != 'l');
}

static value f_replace(run *r, const call *c)
{
    value s = to_text(r, c->self), old = c->a[0], fresh = c->a[1];
    written o = {NULL, NULL, 0, 0, 0};
    size_t at = 0, found;
    if (old.size == 0)
        fail(r, "%s of nothing", show(r, c->name));
    for (; (found = find_text(r, s, old, at)) != SIZE_MAX; at = found + old.size) {
        value made = fresh;
        put(r, &o, part(s, at, found));
        if (!fresh.said && s.said && s.said[found] && fresh.size) { /* what stands for what somebody said, is said */
            unsigned char *said = (unsigned char *)take(r, fresh.size);
            memset(said, s.said[found], fresh.size);
            made.said = said;
        }
        put(r, &o, made);
    }
    put(r, &o, part(s, at, s.size));
    return result_of(&o);
}

static value f_split(run *r, const call *c)
{
    value by = c->a[0], made = new_items(r, LIST);
    int64_t most = c->a[1].kind == MISSING ? -1 : c->a[1].u.whole;
    size_t at = 0, end;
    if (by.size == 0 || (c->a[1].kind != MISSING && c->a[1].kind != INT))
        fail(r, "split by nothing, or not so many times");
    for (; most != 0 && (end = find_text(r, c->self, by, at)) != SIZE_MAX; most -= most > 0) {
        add(r, made.u.list, part(c->self, at, end));
        at = end + by.size;
    }
    add(r, made.u.list, part(c->self, at, c->self.size));
    return made;
}

/* startswith and endswith. */
static value f_ends(run *r, const call *c)
{
    value s = c->self, other = c->a[0];
    size_t at = *c->name.text == 'e' && s.size > other.size ? s.size - other.size : 0;
    spend(r, other.size / 64);
    return whole(BOOL, other.size <= s.size && memcmp(s.text + at, other.text, other.size) == 0);
}

static value f_join(run *r, const call *c)
{
    written o = {NULL, NULL, 0, 0, 0};
    const items *of = iterate(r, c->self);
    for (size_t i = 0; i < of->count; i++) {
        if (i)
            put_value(r, &o, c->a[0]);
        put_value(r, &o, of->values[i]);
    }
    return result_of(&o);
}

static value f_get(run *r, const call *c)
{
    const value *found = find(r, c->self.u.list, c->a[0]);
    if (c->a[0].kind == MISSING)
        fail(r, "get needs an argument");
    return found ? *found : c->a[1].kind == MISSING ? of_kind(NONE) : c->a[1];
}

/* keys, values and items of a dict; items as a filter as well; dictsort where the keys are integers in order. */
static value f_views(run *r, const call *c)
{
    int sorts = is_in(c->name, "dictsort");
    value made = new_items(r, sorts ? LIST : c->where == FILTER ? ITERATOR : VIEW), pair;
    const items *of = c->self.u.list;
    if (c->self.kind != DICT && (sorts || c->self.kind != UNDEFINED))
        fail_kind(r, "a dict", c->self);
    for (size_t i = 0; c->self.kind == DICT && i < of->count; i += 2) {
        pair = of->values[i + (*c->name.text == 'v')];
        if (sorts || *c->name.text == 'i') {
            pair = new_items(r, LIST);
            add(r, pair.u.list, of->values[i]);
            add(r, pair.u.list, of->values[i + 1]);
        }
        add(r, made.u.list, pair);
        if (sorts && i && !compare(r, word("<"), of->values[i - 2], of->values[i]))
            fail(r, "dictsort of keys that are not in order");
    }
    return made;
}

static value f_length(run *r, const call *c)
{
    const kind k = c->self.kind;
    if (k != UNDEFINED && k != STRING && k != LIST && k != VIEW && k != DICT)
        fail_kind(r, "of a length", c->self);
    return whole(INT, k == UNDEFINED ? 0 : count_of(r, c->self));
}

static value f_default(run *r, const call *c)
{
    (void)r;
    if (c->self.kind != UNDEFINED && (truth(c->self) || !truth(c->a[1])))
        return c->self;
    return c->a[0].kind == MISSING ? word("") : c->a[0];
}

/* string, and int of what is one. */
static value f_as(run *r, const call *c)
{
    if (is_in(c->name, "string"))
        return to_text(r, c->self);
    if (!is_whole(c->self))
        fail_kind(r, "int of an integer", c->self);
    return whole(INT, c->self.u.whole);
}

static value f_list(run *r, const call *c)
{
    value made = of_kind(LIST);
    made.u.list = iterate(r, c->self);
    return made;
}

static value f_first(run *r, const call *c)
{
    const items *of = iterate(r, c->self);
    int last = *c->name.text == 'l';
    if (last && c->self.kind == ITERATOR)
        fail_kind(r, "gone through backwards", c->self);
    return of->count ? of->values[last ? of->count - 1 : 0] : undefined(word("an element"));
}

/* select, reject, selectattr, rejectattr: those of which a test holds, or does not. The last two test a member. */
static value f_select(run *r, const call *c)
{
    const items *of = iterate(r, truth(c->self) ? c->self : undefined(word("nothing")));
    value made = new_items(r, ITERATOR), path = c->plain.count ? c->plain.values[0] : of_kind(MISSING);
    size_t by = c->name.size > 6;
    if (c->named.count || (by && (path.kind != STRING || find_text(r, path, word("."), 0) != SIZE_MAX ||
                                  (path.size && *path.text >= '0' && *path.text <= '9'))))
        fail(r, "%s has arguments that are not known here", show(r, c->name));
    for (size_t i = 0; i < of->count; i++) {
        value one = by ? item(r, of->values[i], path) : of->values[i];
        call test = *c;
        int holds = truth(one);
        if (c->plain.count > by) {
            test.name = to_text(r, c->plain.values[by]);
            test.plain.values += by + 1;
            test.plain.count -= by + 1;
            holds = run_test(r, one, &test);
        }
        if (holds == (*c->name.text == 's'))
            add(r, made.u.list, of->values[i]);
    }
    return made;
}

/* names: of the arguments; NULL: the function looks at them itself. */
static const struct {
    const char *called;
    int where;
    const char *names;
    value (*run_it)(run *, const call *);
} functions[] = {{"capitalize lower title upper", FILTER | METHOD, "", f_case},
                 {"count length", FILTER, "", f_length},
                 {"d default", FILTER, "default_value boolean", f_default},
                 {"dictsort", FILTER, "", f_views},
                 {"endswith startswith", METHOD, "!prefix", f_ends},
                 {"first last", FILTER, "", f_first},
                 {"get", OF_DICT, "key default", f_get},
                 {"int string", FILTER, "", f_as},
                 {"items", FILTER | OF_DICT, "", f_views},
                 {"join", FILTER, "?d", f_join},
                 {"keys values", OF_DICT, "", f_views},
                 {"list", FILTER, "", f_list},
                 {"lstrip rstrip strip", METHOD, "?chars", f_strip},
                 {"reject rejectattr select selectattr", FILTER, NULL, f_select},
                 {"replace", FILTER | METHOD, "!old !new", f_replace},
                 {"split", METHOD, "!sep maxsplit", f_split},
                 {"trim", FILTER, "?chars", f_strip}};

/* A filter, or a method of a value. */
static value call_named(run *r, value self, call *c, int is_method)
{
    size_t i = 0, count = sizeof functions / sizeof *functions;
    c->where = !is_method ? FILTER : self.kind == STRING ? METHOD : self.kind == DICT ? OF_DICT : 0;
    while (i < count && !(functions[i].where & c->where && is_in(c->name, functions[i].called)))
        i++;
    if (i == count)
        fail(r, "there is no %s %s here", is_method ? "method" : "filter", show(r, c->name));
    c->self = self;
    if (functions[i].names)
        bind(r, c, functions[i].names);
    return functions[i].run_it(r, c);
}

/* ==== Tests and functions ========================================================================================= */

static int run_test(run *r, value v, call *c)
{
    enum { LONG = 1 << UNDEFINED | 1 << STRING | 1 << LIST | 1 << VIEW | 1 << DICT };
    static const struct {
        const char *called;
        int kinds;
    } tests[] = {{"defined", ~(1 << UNDEFINED)},
                 {"undefined", 1 << UNDEFINED},
                 {"none", 1 << NONE},
                 {"boolean", 1 << BOOL},
                 {"number", 1 << BOOL | 1 << INT},
                 {"integer", 1 << INT},
                 {"string", 1 << STRING},
                 {"mapping", 1 << DICT},
                 {"sequence", LONG},
                 {"iterable", LONG | 1 << ITERATOR | 1 << LOOP}};
    if (is_in(c->name, "eq equalto == ne != in")) {
        bind(r, c, "other");
        if (c->a[0].kind == MISSING)
            fail(r, "the test %s needs an argument", show(r, c->name));
        return is_in(c->name, "in") ? contains(r, c->a[0], v) : equal(r, v, c->a[0]) == !is_in(c->name, "ne !=");
    }
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (is_in(c->name, tests[i].called)) {
            bind(r, c, "");
            return tests[i].kinds >> v.kind & 1;
        }
    if (!is_in(c->name, "true false"))
        fail(r, "there is no test %s here", show(r, c->name));
    return v.kind == BOOL && v.u.whole == is_in(c->name, "true");
}

static value make_range(run *r, call *c)
{
    value made = new_items(r, VIEW), at, sign;
    bind(r, c, "start stop step");
    at = c->a[1].kind == MISSING ? whole(INT, 0) : c->a[0];
    c->a[1] = c->a[1].kind == MISSING ? c->a[0] : c->a[1];
    c->a[2] = c->a[2].kind == MISSING ? whole(INT, 1) : c->a[2];
    if (at.kind != INT || c->a[1].kind != INT || c->a[2].kind != INT || c->a[2].u.whole == 0)
        fail(r, "range: a bound that is no integer, or a step of 0");
    sign = word(c->a[2].u.whole < 0 ? ">" : "<");
    for (; compare(r, sign, at, c->a[1]); at = binary(r, word("+"), at, c->a[2])) {
        if (made.u.list->count == 100000)
            fail(r, "range: more than 100000 numbers");
        add(r, made.u.list, at);
    }
    return made;
}

/* Today, as strftime writes it. */
static value today(run *r, call *c)
{
    time_t clock = time(NULL);
    const struct tm *date = localtime(&clock);
    char *format, *text;
    bind(r, c, "!format");
    if (r->today)
        return word(r->today);
    format = (char *)take(r, c->a[0].size + 1);
    memcpy(format, c->a[0].text, c->a[0].size);
    for (char *at = format; (at = strchr(at, '%')) != NULL; at++) {
        at += at[1] == '-' ? 2 : 1;
        if (!*at || !strchr("aAbBdeHIjmMpSyY%", *at))
            fail(r, "strftime_now: %s is not known here", show(r, c->a[0]));
    }
    text = (char *)take(r, 64 * c->a[0].size + 64);
    return of_text(text, date ? strftime(text, 64 * c->a[0].size + 64, format, date) : 0, NULL);
}

/* Sets a variable. jinja2 looks a name up in the scope where it is set in any case, even if that is later on: a
   variable that a loop or a macro within has read by then was undefined to it. Here that is told. */
static void set(run *r, value name, value v)
{
    const scope *s = r->here, *reader = NULL;
    const value *known = find(r, &r->root.names, name);
    if (known && !s->branches && (s == &r->root || !find(r, &s->names, name)))
        reader = (const scope *)known[-1].u.of;
    while (reader && (reader = reader->outer) != s) {
    }
    if (reader)
        fail(r, "%s is set after it was read in a scope within", show(r, name));
    put_in(r, &r->here->names, name, v);
    if (s == &r->root)
        find(r, &r->root.names, name)[-1].u.of = r->here;
}

static scope *open_scope(run *r, scope *outer)
{
    scope *s = (scope *)take(r, sizeof *s);
    s->outer = outer;
    return s;
}

/* What a body writes, as a string; in a scope of its own. */
static value captured(run *r, const char *end, scope *outer)
{
    written o = {NULL, NULL, 0, 0, 0}, *out = r->out;
    scope *before_it = r->here;
    r->out = &o;
    r->here = open_scope(r, outer);
    body(r, end);
    end_tag(r);
    r->out = out;
    r->here = before_it;
    return result_of(&o);
}

/* Up to the end of the tag; c: the arguments, or NULL. */
static void parse_parameters(run *r, call *c)
{
    size_t begin = r->at, taken = 0;
    for (int pass = c ? 0 : 1; pass < 2; pass++) {
        seek(r, begin);
        expect(r, "(");
        for (size_t place = taken = 0; !accept(r, ")"); place++) {
            value name = take_name(r), v = undefined(name);
            const value *found = !c                       ? NULL
                                 : place < c->plain.count ? &c->plain.values[place]
                                                          : find(r, &c->named, name);
            int others = found || pass == 0, defaults = accept(r, "=");
            if (defaults) {
                r->skipping += others;
                v = parse(r);
                r->skipping -= others;
            }
            if (!skips(r) && (pass == 0 || (defaults && !found)))
                set(r, name, found ? *found : pass ? v : undefined(name));
            taken += found != NULL;
            if (!is_next(r, ")"))
                expect(r, ",");
        }
    }
    if (c && taken < c->plain.count + c->named.count / 2)
        fail(r, "the macro has arguments that are not known");
    end_tag(r);
}

static value call_macro(run *r, value f, call *c)
{
    scope *before_it = r->here;
    size_t behind = seek(r, f.size);
    r->here = open_scope(r, (scope *)f.u.of);
    parse_parameters(r, c);
    f = captured(r, "endmacro", r->here);
    seek(r, behind);
    r->here = before_it;
    return f;
}

static value call_value(run *r, value f, call *c)
{
    value v;
    if (f.kind == MACRO)
        return call_macro(r, f, c);
    if (f.kind != FUNCTION)
        fail_kind(r, "called", f);
    if (is_in(f, "range"))
        return make_range(r, c);
    if (is_in(f, "strftime_now"))
        return today(r, c);
    if (is_in(f, "raise_exception")) {
        bind(r, c, "message");
        fail(r, "the template says: %s", show(r, to_text(r, c->a[0])));
    }
    if (!is_in(f, "dict namespace"))
        fail(r, "there is no %s here", show(r, f));
    if (c->plain.count)
        fail(r, "%s has arguments that are not known here", show(r, f));
    v = new_items(r, is_in(f, "dict") ? DICT : NAMESPACE);
    *v.u.list = c->named;
    return v;
}

/* ==== Statements ================================================================================================== */

static target parse_target(run *r, int members)
{
    target t;
    int closes = accept(r, "(");
    memset(&t, 0, sizeof t);
    do {
        if (t.count && is_next(r, "in = )"))
            break;
        if (t.count == sizeof t.names / sizeof *t.names || is_next(r, "true false none True False None loop"))
            fail(r, "%s cannot be set", show(r, now(r)->is));
        t.names[t.count++] = take_name(r);
        if (members && t.count == 1 && accept(r, ".")) {
            t.names[t.count++] = take_name(r);
            t.is_member = 1;
        }
        t.is_tuple |= is_next(r, ",");
    } while (!t.is_member && accept(r, ","));
    if (closes)
        expect(r, ")");
    return t;
}

static void assign(run *r, const target *t, value v)
{
    const items *of;
    value space;
    if (t->is_member) {
        space = look_up(r, t->names[0]);
        if (space.kind != NAMESPACE)
            fail_kind(r, "a namespace", space);
        put_in(r, space.u.list, t->names[1], v);
    } else if (!t->is_tuple) {
        set(r, t->names[0], v);
    } else {
        of = iterate(r, v);
        if (of->count != t->count)
            fail(r, "%s values than names before in or =", of->count < t->count ? "less" : "more");
        for (size_t i = 0; i < t->count; i++)
            set(r, t->names[i], of->values[i]);
    }
}

/* Whether a loop has more than so many elements, which are looked at up to there. */
static int pull(run *r, loop *l, size_t count)
{
    scope *before_it = r->here;
    while (l->taken.count <= count && l->next < l->source->count) {
        value v = l->source->values[l->next++];
        int holds = 1;
        spend(r, 1);
        if (l->filter) {
            size_t behind = seek(r, l->filter);
            r->here = open_scope(r, l->outer);
            assign(r, &l->names, v);
            holds = truth(parse(r));
            r->here = before_it;
            seek(r, behind);
        }
        if (holds)
            add(r, &l->taken, v);
    }
    return l->taken.count > count;
}

static void run_if(run *r, value name)
{
    int done = 0;
    while (!is_in(name, "endif")) {
        int holds = 1, is_else = is_in(name, "else");
        r->skipping += done;
        if (!is_else)
            holds = truth(parse_tuple(r, 0));
        end_tag(r);
        r->skipping += !holds;
        r->here->branches++;
        name = body(r, is_else ? "endif" : "elif else endif");
        r->here->branches--;
        r->skipping -= done + !holds;
        done |= holds;
    }
    end_tag(r);
}

/* After the header of a loop, up to its first end. Returns whether no body was run up to its end: only then jinja2 runs
   what follows "else". */
static int run_loop(run *r, loop *l)
{
    size_t begin = r->at;
    int is_else = 1;
    value self = of_kind(LOOP);
    self.u.of = l;
    for (; r->leaving != 'b' && pull(r, l, l->at); l->at++) {
        r->here = open_scope(r, l->outer);
        put_in(r, &r->here->names, word("loop"), self);
        assign(r, &l->names, l->taken.values[l->at]);
        seek(r, begin);
        body(r, "else endfor");
        is_else = is_else && r->leaving;
        r->leaving = r->leaving == 'b' ? 'b' : 0;
        r->here = l->outer;
    }
    r->leaving = 0;
    seek(r, begin);
    return is_else;
}

static void run_for(run *r, value name)
{
    loop *l = (loop *)take(r, sizeof *l);
    int is_else = 0;
    value v;
    l->outer = r->here;
    l->names = parse_target(r, 0);
    expect(r, "in");
    v = parse_tuple(r, 0);
    r->skipping++;
    if (accept(r, "if")) {
        l->filter = r->at;
        parse(r);
    }
    r->skipping--;
    end_tag(r);
    if (!skips(r)) {
        l->source = iterate(r, v);
        is_else = run_loop(r, l);
    }
    r->skipping++;
    name = body(r, "else endfor");
    r->skipping--;
    end_tag(r);
    if (is_in(name, "endfor"))
        return;
    r->here = open_scope(r, l->outer);
    r->skipping += !is_else;
    body(r, "endfor");
    r->skipping -= !is_else;
    r->here = l->outer;
    end_tag(r);
}

/* generation and filter: what a body writes, of filter through filters, which are read behind it. */
static void run_block(run *r, value name)
{
    int filters = is_in(name, "filter");
    size_t begin = r->at, behind;
    value v;
    while (now(r)->kind != END)
        next(r);
    end_tag(r);
    v = captured(r, filters ? "endfilter" : "endgeneration", r->here);
    behind = seek(r, begin);
    do
        v = filters ? parse_filter(r, v) : v;
    while (accept(r, "|"));
    end_tag(r);
    seek(r, behind);
    if (!filters || !skips(r))
        put_value(r, r->out, v);
}

static void run_set(run *r, value name)
{
    target t = parse_target(r, 1);
    value v;
    (void)name;
    if (accept(r, "=")) {
        v = parse_tuple(r, 1);
        end_tag(r);
    } else {
        end_tag(r);
        v = captured(r, "endset", r->here);
    }
    if (!skips(r))
        assign(r, &t, v);
}

static void run_macro(run *r, value name)
{
    value self = of_kind(MACRO);
    name = take_name(r);
    self.u.of = r->here;
    self.size = r->at;
    if (!skips(r))
        set(r, name, self);
    r->skipping++;
    parse_parameters(r, NULL);
    captured(r, "endmacro", NULL);
    r->skipping--;
}

static void run_leave(run *r, value name)
{
    if (!skips(r))
        r->leaving = *name.text;
    end_tag(r);
}

static void run_statement(run *r)
{
    static const struct {
        const char *called;
        void (*run_it)(run *, value);
    } statements[] = {{"if", run_if},
                      {"for", run_for},
                      {"set", run_set},
                      {"macro", run_macro},
                      {"filter generation", run_block},
                      {"break continue", run_leave}};
    value name = now(r)->is;
    if (now(r)->kind != WORD)
        fail_token(r, "a statement");
    next(r);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (is_in(name, statements[i].called)) {
            statements[i].run_it(r, name);
            return;
        }
    fail(r, "there is no statement %s here", show(r, name));
}

/* Statements up to a tag that one of these names begins, with spaces between; it is taken, and the name returned.
   NULL: up to the end. */
static value body(run *r, const char *ends)
{
    size_t begin = r->at;
    value v;
    enter(r);
    for (;;) {
        if (skips(r) && r->tokens[begin].jump)
            seek(r, r->tokens[begin].jump);
        if (now(r)->kind == STOP ||
            (now(r)->kind == TAG && ends && now(r)[1].kind == WORD && is_in(now(r)[1].is, ends)))
            break;
        next(r);
        if (now(r)[-1].kind == TAG) {
            run_statement(r);
        } else if (now(r)[-1].kind == PRINT) {
            v = parse_tuple(r, 1);
            end_tag(r);
            if (!skips(r))
                put_value(r, r->out, v);
        } else if (!skips(r)) {
            put(r, r->out, now(r)[-1].is);
        }
    }
    if (ends && now(r)->kind == STOP)
        fail(r, "the template ends where %s is wanted", ends);
    if (r->leaving && (!ends || strcmp(ends, "endmacro") == 0))
        fail(r, "break or continue outside of a loop");
    r->tokens[begin].jump = r->at;
    r->depth--;
    if (!ends)
        return now(r)->is;
    next(r);
    next(r);
    return now(r)[-1].is;
}

/* ==== What jinja.h has ============================================================================================ */

void jinja_set(jinja *j, const char *name, const char *text)
{
    run *r = (run *)j->run;
    put_in(r, &r->here->names, word(name), text ? word(text) : of_kind(NONE));
}

void jinja_flag(jinja *j, const char *name, int flag)
{
    run *r = (run *)j->run;
    put_in(r, &r->here->names, word(name), whole(BOOL, flag != 0));
}

void jinja_say(jinja *j, const char *role, const char *text, size_t size, int mark)
{
    run *r = (run *)j->run;
    value turn = new_items(r, DICT);
    unsigned char *said = (unsigned char *)take(r, size);
    memset(said, mark, size);
    put_in(r, turn.u.list, word("role"), word(role));
    put_in(r, turn.u.list, word("content"), of_text(size ? text : "", size, mark ? said : NULL));
    add(r, find(r, &r->here->names, word("messages"))->u.list, turn);
}

const char *jinja_render(jinja *j, const char *text, size_t size, const char *date, jinja_fill fill, void *context)
{
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
        r.here = &r.root;
        put_in(&r, &r.here->names, word("messages"), new_items(&r, LIST));
        fill(j, context);
        read_template(&r, text, size);
        r.skipping = 1;
        body(&r, NULL);
        r.skipping = 0;
        seek(&r, 0);
        body(&r, NULL);
        put(&r, &out, of_text("", 1, NULL));
        j->text = out.text;
        j->said = out.said;
        j->size = out.size - 1;
    }
    j->run = NULL;
    return j->text ? NULL : j->error;
}

void jinja_end(jinja *j)
{
    block *b;
    while ((b = (block *)j->blocks) != NULL) {
        j->blocks = b->next;
        free(b);
    }
    j->text = NULL;
    j->said = NULL;
    j->size = 0;
}
