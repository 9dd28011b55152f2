/* jinja_read.c: a template, read. What is in a file of them, as words of tags and text between, and expressions and
   statements of these. */
#include "jinja_model.h"

/* ==== Words ====================================================================================================== */

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

static value take_name(run *r)
{
    value name = now(r);
    if (r->now.kind != WORD || is_in(name, "and or not if else in is"))
        fail(r, "%s stands where a name is wanted", show_now(r));
    next(r);
    return name;
}

/* ==== Expressions ================================================================================================ */

static node *parse(run *r);
static node *parse_or(run *r);
static node *parse_unary(run *r, int filters);
static node *parse_statement(run *r);

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

/* ==== Statements ================================================================================================= */

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
    return at;
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
            end += at_text(r, end, "-") || at_text(r, end, "+");
            move(r, end);
            next(r);
            return 1;
        }
    }
}

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

node *jinja_parse(run *r)
{
    return parse_body(r, NULL, NULL);
}
