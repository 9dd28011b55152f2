/* jinja_values.c: what values do: they are compared, looked into, reckoned with and written. */
#include "jinja_model.h"

static int equal_items(run *r, const items *a, const items *b)
{
    int same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = jinja_equal(r, a->values[i], b->values[i]);
    return same;
}

static int equal_dicts(run *r, const items *a, const items *b)
{
    int same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i += 2) {
        const value *other = jinja_find(r, b, a->values[i]);
        same = other && jinja_equal(r, a->values[i + 1], *other);
    }
    return same;
}

int jinja_equal(run *r, value a, value b)
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
value *jinja_find(run *r, const items *dict, value key)
{
    if (key.kind == LIST || key.kind == DICT || key.kind == SAFE)
        fail_kind(r, "a key of a dict", key);
    spend(r, dict->count / 8 * (key.size / 64 + 1));
    for (size_t i = 0; i < dict->count; i += 2) {
        const value *known = &dict->values[i];
        if (key.kind == STRING && known->kind == STRING ? is_same(*known, key) : jinja_equal(r, *known, key))
            return &dict->values[i + 1];
    }
    return NULL;
}

void jinja_put_in(run *r, items *dict, value key, value v)
{
    value *known = jinja_find(r, dict, key);
    if (known) {
        *known = v;
        return;
    }
    add(r, dict, key);
    add(r, dict, v);
}

/* Where a text is in another, from one byte on: SIZE_MAX if it is not. */
size_t jinja_find_text(run *r, value s, value other, size_t at)
{
    size_t work = 0;
    for (; at + other.size <= s.size; at++) {
        int begins = other.size == 0 || s.text[at] == *other.text;
        if (begins && memcmp(s.text + at, other.text, other.size) == 0)
            return at;
        if ((work += begins ? 1 + other.size / 16 : 1) >= 4096) {
            spend(r, work / 64);
            work = 0;
        }
    }
    return SIZE_MAX;
}

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
void jinja_write(run *r, written *o, value v)
{
    if (v.kind == STRING || v.kind == SAFE)
        put(r, o, v);
    else if (v.kind != UNDEFINED)
        put_repr(r, o, v);
}

static void put_line(run *r, written *o, const json_style *style, int64_t level)
{
    if (style->indent < 0)
        return;
    put_word(r, o, "\n");
    for (int64_t i = 0; i < level * style->indent; i++)
        put_word(r, o, " ");
}

static void put_json_items(run *r, written *o, value v, const json_style *style, int64_t level)
{
    const items *of = items_of(v);
    size_t step = v.kind == DICT ? 2 : 1;
    const value *values = of->values;
    if (style->sorted && v.kind == DICT && of->count) {
        value *sorted = (value *)take(r, of->count * sizeof *sorted);
        memcpy(sorted, values, of->count * sizeof *sorted);
        jinja_sort(r, sorted, of->count / 2, 2, 0);
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
        jinja_write_json(r, o, values[i + step - 1], style, level + 1);
    }
    if (of->count)
        put_line(r, o, style, level);
    put_word(r, o, v.kind == DICT ? "}" : "]");
}

void jinja_write_json(run *r, written *o, value v, const json_style *style, int64_t level)
{
    enter(r);
    if (v.kind == NONE)
        put_word(r, o, "null");
    else if (v.kind == BOOL)
        put_word(r, o, v.u.whole ? "true" : "false");
    else if (v.kind == STRING)
        put_quoted(r, o, v, 1);
    else if (v.kind == INT || v.kind == FLOAT)
        jinja_write(r, o, v);
    else if (v.kind == LIST || v.kind == TUPLE || v.kind == DICT)
        put_json_items(r, o, v, style, level);
    else
        fail_kind(r, "tojson", v);
    r->depth--;
}

/* The elements that a value is gone through by. */
items *jinja_iterate(run *r, value v)
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
        return whole(BOOL, !jinja_pull(r, l, l->at + 1));
    if (is_text(name, "previtem"))
        return l->at ? at_place(l, l->at - 1) : undefined(name);
    if (is_text(name, "nextitem"))
        return jinja_pull(r, l, l->at + 1) ? at_place(l, l->at + 1) : undefined(name);
    if (is_text(name, "length") || is_text(name, "revindex") || is_text(name, "revindex0")) {
        jinja_pull(r, l, SIZE_MAX);
        return whole(INT, (int64_t)l->taken.count - (is_text(name, "length")     ? 0
                                                     : is_text(name, "revindex") ? at
                                                                                 : at + 1));
    }
    if (is_text(name, "depth") || is_text(name, "depth0"))
        return whole(INT, is_text(name, "depth"));
    if (is_text(name, "cycle"))
        return method(r, of_thing(LOOP, l), name);
    fail(r, "there is no loop.%s here", show_name(r, name));
    return undefined(name);
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
value jinja_attribute(run *r, value v, value name)
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
        if ((found = jinja_find(r, items_of(v), name)) != NULL)
            return *found;
        break;
    case NAMESPACE:
        if ((found = jinja_find(r, items_of(v), name)) != NULL)
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
value jinja_item(run *r, value v, value key)
{
    const int is_place = key.kind == INT || key.kind == BOOL;
    const value *found;
    const items *of = (const items *)v.u.of;
    int64_t at;
    if (v.kind == UNDEFINED)
        fail_kind(r, "has no members", v);
    if (v.kind == DICT && (found = jinja_find(r, of, key)) != NULL)
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
    return key.kind == STRING ? jinja_attribute(r, v, key) : undefined(word("a member"));
}

value jinja_join(run *r, value a, value b)
{
    written o = {NULL, NULL, 0, 0, 0};
    jinja_write(r, &o, a);
    jinja_write(r, &o, b);
    return text_in_output(&o);
}

value jinja_repeat(run *r, value v, value times)
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

value jinja_reckon_reals(run *r, char sign, int twice, double a, double b)
{
    if (sign == '%' || twice)
        fail(r, "there is no %s of floats here", twice ? "//" : "%");
    if (sign == '/' && b == 0)
        fail(r, "a division by 0");
    return real(sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b);
}

value jinja_reckon(run *r, char sign, int twice, int64_t a, int64_t b)
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

int jinja_contains(run *r, value v, value what)
{
    const items *of;
    if (v.kind == STRING) {
        if (what.kind != STRING)
            fail_kind(r, "looked for in a string", what);
        return jinja_find_text(r, v, what, 0) != SIZE_MAX;
    }
    if (v.kind == DICT)
        return jinja_find(r, items_of(v), what) != NULL;
    of = jinja_iterate(r, v);
    for (size_t i = 0; i < of->count; i++)
        if (jinja_equal(r, of->values[i], what))
            return 1;
    return 0;
}

/* Negative, 0 or positive. */
int jinja_order(run *r, value a, value b)
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
            found = jinja_equal(r, x->values[i], y->values[i]) ? 0 : jinja_order(r, x->values[i], y->values[i]);
        r->depth--;
        return found ? found : (x->count > y->count) - (x->count < y->count);
    }
    if (a.kind != STRING || b.kind != STRING)
        fail(r, "%s and %s have no order", kind_name(a), kind_name(b));
    spend(r, a.size / 64);
    return text_compare(text_of(a.text, a.size), text_of(b.text, b.size));
}

value jinja_negative(run *r, value v)
{
    if (v.kind == FLOAT)
        return real(-v.u.real);
    if (v.kind != INT && v.kind != BOOL)
        fail_kind(r, "a number", v);
    return jinja_reckon(r, '-', 0, 0, v.u.whole);
}

/* Merges runs of sorted records of so many values, by the first of each. */
void jinja_sort(run *r, value *values, size_t count, size_t bytes, int reverse)
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
                    int by = jinja_order(r, from[b * bytes], from[a * bytes]);
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
