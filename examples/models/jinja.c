/* jinja.c: see jinja.h. It runs templates; its parts read them, and do what values, filters and tests do. */
#include "jinja_model.h"

#include <time.h>

static value eval(run *r, const node *n);
static value call_value(run *r, value f, call *c);
static int exec(run *r, const node *n);

/* ==== Expressions ================================================================================================ */

static value look_up(run *r, value name)
{
    for (scope *s = r->here; s; s = s->outer) {
        value *found = jinja_find(r, &s->names, name);
        if (found && !s->outer && found[-1].u.of != s)
            found[-1].u.of = r->here;
        if (found)
            return *found;
    }
    if (is_in(name, "range dict namespace raise_exception strftime_now cycler joiner lipsum"))
        return named(FUNCTION, name);
    return undefined(name);
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
    count = v.kind == STRING ? (int64_t)length_of(r, v) : (int64_t)items_of(v)->count;
    by = by > count ? count + 1 : by < -count ? -count - 1 : by;
    begin = bound(r, n->b, count, by, 0);
    end = bound(r, n->c, count, by, 1);
    if (v.kind == STRING && by == 1)
        return end <= begin ? part(v, 0, 0) : part(v, place_of(v, begin), place_of(v, end));
    of = jinja_iterate(r, v);
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

static value binary(run *r, const node *n)
{
    value a = eval(r, n->a), b = eval(r, n->b), made;
    const char sign = *n->name.text;
    r->line = n->line;
    if (sign == '~')
        return jinja_join(r, a, b);
    if (is_number(a) && is_number(b)) {
        if (a.kind == FLOAT || b.kind == FLOAT)
            return jinja_reckon_reals(r, sign, n->name.size == 2, real_of(r, a), real_of(r, b));
        return jinja_reckon(r, sign, n->name.size == 2, a.u.whole, b.u.whole);
    }
    if (sign == '+' && a.kind == STRING && b.kind == STRING)
        return jinja_join(r, a, b);
    if (sign == '+' && (a.kind == LIST || a.kind == TUPLE) && a.kind == b.kind) {
        made = jinja_repeat(r, a, whole(INT, 1));
        for (size_t i = 0; i < items_of(b)->count; i++)
            add(r, items_of(made), items_of(b)->values[i]);
        return made;
    }
    if (sign == '*' && (a.kind == STRING || a.kind == LIST || a.kind == TUPLE) && b.kind == INT)
        return jinja_repeat(r, a, b);
    if (sign == '*' && (b.kind == STRING || b.kind == LIST || b.kind == TUPLE) && a.kind == INT)
        return jinja_repeat(r, b, a);
    if (a.kind == UNDEFINED || b.kind == UNDEFINED)
        fail_kind(r, "cannot be reckoned with", a.kind == UNDEFINED ? a : b);
    fail(r, "there is no \"%s\" of %s and %s here", show_name(r, n->name), kind_name(a), kind_name(b));
    return made;
}

static int compare(run *r, value sign, value a, value b)
{
    int found;
    if (is_in(sign, "in not"))
        return jinja_contains(r, b, a) == is_text(sign, "in");
    if (is_in(sign, "== !="))
        return jinja_equal(r, a, b) == is_text(sign, "==");
    found = jinja_order(r, a, b);
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
            jinja_put_in(r, items_of(made), v, eval(r, e));
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
        made = whole(BOOL, jinja_test(r, n->name, f, &c));
    else
        made = jinja_call(r, 0, f, &c);
    return checked(r, &c, made);
}

static value eval_kind(run *r, const node *n)
{
    value v;
    switch (n->kind) {
    case CONSTANT: return n->name;
    case NAME: return look_up(r, n->name);
    case ATTRIBUTE: v = eval(r, n->a); return r->line = n->line, jinja_attribute(r, v, n->name);
    case ITEM: v = eval(r, n->a); return jinja_item(r, v, eval(r, n->b));
    case SLICE: return slice(r, n);
    case NOT: return whole(BOOL, !truth(r, eval(r, n->a)));
    case NEGATIVE: return jinja_negative(r, eval(r, n->a));
    case POSITIVE: return jinja_negative(r, jinja_negative(r, eval(r, n->a)));
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

/* ==== Functions and macros ======================================================================================= */

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
        jinja_put_in(r, items_of(made), c->names[i], c->values[i]);
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
        at = jinja_reckon(r, '+', 0, at, by).u.whole;
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
        if (size > format.size || (size > 1 && !memchr("aAbBdeHIjmMpSyY%", format.text[size - 1], 16)))
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
    return v;
}

/* jinja2 looks a name up in the scope where it is set in any case, even if that is later on: a variable that a loop or
   a macro within has read by then was undefined to it. Here that is told. */
static void check_readers(run *r, const scope *s, value name)
{
    const scope *root = s, *reader;
    const value *known;
    while (root->outer)
        root = root->outer;
    known = jinja_find(r, &root->names, name);
    reader = known ? (const scope *)known[-1].u.of : NULL;
    if (!reader || reader == root || reader == s || s->branches || (s != root && jinja_find(r, &s->names, name)))
        return;
    while (reader && reader != s)
        reader = reader->outer;
    if (reader)
        fail(r, "%s is set after it was read in a scope within", show_name(r, name));
}

static void set(run *r, scope *s, value name, value v)
{
    check_readers(r, s, name);
    jinja_put_in(r, &s->names, name, v);
    if (!s->outer)
        jinja_find(r, &s->names, name)[-1].u.of = s;
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
        made = self.kind == LOOP ? cycle(r, (const loop *)self.u.of, c) : jinja_call(r, where, self, c);
    } else if (f.kind == FUNCTION) {
        made = call_function(r, f, c);
    } else {
        fail_kind(r, "called", f);
    }
    return checked(r, c, made);
}

/* ==== Statements ================================================================================================= */

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
        jinja_put_in(r, items_of(name), target->name, v);
    } else {
        of = jinja_iterate(r, v);
        for (const node *n = target->list; n; n = n->next, at++) {
            if (at >= of->count)
                fail(r, "too few values for the names before in or =");
            assign(r, n, of->values[at]);
        }
        if (at < of->count)
            fail(r, "more values than names before in or =");
    }
}

int jinja_pull(run *r, loop *l, size_t count)
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

/* As jinja2 has it, "else" is for loops of which no iteration came to the end of its body. */
static int exec_for(run *r, const node *n)
{
    loop *l = (loop *)take(r, sizeof *l);
    int status = 0, whole_body = 0;
    memset(l, 0, sizeof *l);
    l->of = n;
    l->outer = r->here;
    l->source = jinja_iterate(r, eval(r, n->b));
    for (; status != 1 && jinja_pull(r, l, l->at); l->at++) {
        r->here = open_scope(r, l->outer);
        set(r, r->here, word("loop"), of_thing(LOOP, l));
        assign(r, n->a, at_place(l, l->at));
        status = exec(r, n->list);
        whole_body |= status == 0;
        r->here = l->outer;
    }
    if (whole_body || !n->other)
        return 0;
    r->here = open_scope(r, l->outer);
    status = exec(r, n->other);
    r->here = l->outer;
    return status;
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
    case PRINT: jinja_write(r, r->out, eval(r, n->a)); break;
    case IF:
        r->here->branches++;
        status = exec(r, truth(r, eval(r, n->a)) ? n->list : n->b);
        outer->branches--;
        return status;
    case FOR: return exec_for(r, n);
    case SET:
        assign(r, n->a, n->c ? filtered(r, n->b, captured(r, n->list, open_scope(r, outer))) : eval(r, n->b));
        break;
    case FILTERED: jinja_write(r, r->out, filtered(r, n->b, captured(r, n->list, open_scope(r, outer)))); break;
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

/* ==== What jinja.h has =========================================================================================== */

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
    jinja_put_in((run *)j->run, items_of(dict), word(name), v);
}

void jinja_set(jinja *j, const char *name, jinja_value v)
{
    jinja_put_in((run *)j->run, &((run *)j->run)->here->names, word(name), v);
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
        body = jinja_parse(&r);
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
