/* jinja_words.c: methods, filters and tests. */
#include "jinja_model.h"

static value join(run *r, const items *of, value between, const value *path);

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
        if (c->where != FILTERS && code >= 128)
            fail(r, "title: letters beyond ASCII");
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
    for (; old.size && count != 0 && (found = jinja_find_text(r, s, old, at)) != SIZE_MAX; count--) {
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

/* By a text, at most so many times: from the left; or from the right. */
static value split_at(run *r, value s, value by, int64_t most)
{
    value made = new_items(r, LIST);
    size_t at = 0, end;
    for (; most != 0 && (end = jinja_find_text(r, s, by, at)) != SIZE_MAX; most--) {
        add(r, items_of(made), part(s, at, end));
        at = end + by.size;
    }
    add(r, items_of(made), part(s, at, s.size));
    return made;
}

static value split_from_right(run *r, value s, value by, int64_t most)
{
    value made = new_items(r, LIST), parts = new_items(r, LIST);
    size_t at = s.size, end = s.size;
    while (most != 0 && at >= by.size) {
        spend(r, 1);
        if (memcmp(s.text + at - by.size, by.text, by.size) != 0) {
            at--;
            continue;
        }
        add(r, items_of(parts), part(s, at, end));
        at = end = at - by.size;
        most--;
    }
    add(r, items_of(parts), part(s, 0, end));
    for (at = items_of(parts)->count; at > 0; at--)
        add(r, items_of(made), items_of(parts)->values[at - 1]);
    return made;
}

/* By white space, of which there is none at the ends. */
static value split_at_blanks(run *r, value s, int64_t most)
{
    value made = new_items(r, LIST);
    size_t at = 0, begin, end;
    uint32_t code;
    spend(r, s.size / 16);
    for (s = strip(r, s, NULL, 1, most < 0); at < s.size; most--) {
        for (begin = end = at; end < s.size; end = at) {
            at = end + character(s, end, &code);
            if (most != 0 && is_blank(code))
                break;
        }
        add(r, items_of(made), part(s, begin, end));
        while (at < s.size && (end = at + character(s, at, &code), is_blank(code)))
            at = end;
    }
    return made;
}

static value f_split(run *r, value s, call *c)
{
    value by = of_kind(NONE), most;
    int from_right = *c->name == 'r';
    if (argument(r, c, 0, "sep", &by) && by.kind != NONE && (by.kind != STRING || by.size == 0))
        fail_kind(r, "what a text is split by", by);
    most = argument_of(r, c, 1, "maxsplit", INT, whole(INT, -1));
    if (by.kind == NONE && from_right && most.u.whole >= 0)
        fail(r, "rsplit by white space has no maxsplit here");
    if (by.kind == NONE)
        return split_at_blanks(r, s, most.u.whole);
    return from_right ? split_from_right(r, s, by, most.u.whole) : split_at(r, s, by, most.u.whole);
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

static int is_at_end(run *r, value s, value other, int end)
{
    spend(r, other.size / 64);
    return other.size <= s.size && memcmp(s.text + (end ? s.size - other.size : 0), other.text, other.size) == 0;
}

/* startswith and endswith, of one or any of a tuple. */
static value f_ends(run *r, value s, call *c)
{
    value other;
    int end = *c->name == 'e', holds = 0;
    if (argument(r, c, 0, "prefix", &other) && other.kind == TUPLE) {
        for (size_t i = 0; i < items_of(other)->count; i++)
            holds |= items_of(other)->values[i].kind == STRING && is_at_end(r, s, items_of(other)->values[i], end);
        return whole(BOOL, holds);
    }
    c->taken = 0;
    return whole(BOOL, is_at_end(r, s, text_argument(r, c, 0, "prefix"), end));
}

static value f_remove(run *r, value s, call *c)
{
    value other = text_argument(r, c, 0, "prefix");
    int end = c->name[6] == 's';
    if (!is_at_end(r, s, other, end))
        return s;
    return end ? part(s, 0, s.size - other.size) : part(s, other.size, s.size);
}

static value f_find(run *r, value s, call *c)
{
    value other = text_argument(r, c, 0, "sub");
    size_t found = SIZE_MAX, at = jinja_find_text(r, s, other, 0);
    for (; at != SIZE_MAX; at = *c->name == 'r' && at < s.size ? jinja_find_text(r, s, other, at + 1) : SIZE_MAX)
        found = at;
    if (found == SIZE_MAX && c->name[strlen(c->name) - 1] == 'x')
        fail(r, "%s: it is not there", c->name);
    return whole(INT, found == SIZE_MAX ? -1 : (int64_t)length_of(r, part(s, 0, found)));
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
            count += jinja_equal(r, items_of(v)->values[at], other);
        return whole(INT, count);
    }
    other = text_argument(r, c, 0, "sub");
    if (other.size == 0)
        return whole(INT, (int64_t)length_of(r, v) + 1);
    for (; (at = jinja_find_text(r, v, other, at)) != SIZE_MAX; at += other.size)
        count++;
    return whole(INT, count);
}

/* isdigit, isalpha, isspace, islower and the like, of ASCII. */
static value f_is(run *r, value s, call *c)
{
    int some = 0, all = s.size > 0, letter, digit, upper, lower;
    uint32_t code;
    spend(r, s.size / 16);
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

static value f_join(run *r, value v, call *c)
{
    value list, member;
    if (c->where == FILTERS) {
        value between = argument_of(r, c, 0, "d", STRING, word(""));
        return join(r, jinja_iterate(r, v), between, argument(r, c, 1, "attribute", &member) ? &member : NULL);
    }
    if (!argument(r, c, 0, "iterable", &list))
        fail(r, "join needs an argument");
    list = of_thing(LIST, jinja_iterate(r, list));
    for (size_t i = 0; i < items_of(list)->count; i++)
        if (items_of(list)->values[i].kind != STRING)
            fail_kind(r, "joined", items_of(list)->values[i]);
    return join(r, items_of(list), v, NULL);
}

static value f_get(run *r, value v, call *c)
{
    value key, otherwise = of_kind(NONE), *found;
    if (!argument(r, c, 0, "key", &key))
        fail(r, "get needs an argument");
    argument(r, c, 1, "default", &otherwise);
    found = jinja_find(r, items_of(v), key);
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

static value f_length(run *r, value v, call *c)
{
    (void)c;
    if (v.kind == UNDEFINED)
        return whole(INT, 0);
    if (v.kind == STRING)
        return whole(INT, (int64_t)length_of(r, v));
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
        const items *of = jinja_iterate(r, separators);
        if (of->count != 2 || of->values[0].kind != STRING || of->values[1].kind != STRING)
            fail(r, "separators are two texts");
        style.comma = of->values[0];
        style.colon = of->values[1];
    }
    style.sorted = flag_argument(r, c, 3, "sort_keys", 0);
    jinja_write_json(r, &o, v, &style, 0);
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
    if (!json_parse(&read, text, strlen(text), NULL) && json_double(read, number))
        return 1;
    for (size_t i = 0; i < s.size; i++) /* 1_000, 007, 1. and inf are numbers to Python */
        if ((s.text[i] >= '0' && s.text[i] <= '9') || (unsigned char)s.text[i] >= 128 || strchr("nN", s.text[i]))
            fail(r, "\"%s\" is no number here", show_name(r, s));
    return 0;
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
    const items *of = jinja_iterate(r, v);
    for (size_t i = 0; i < of->count; i++)
        add(r, items_of(made), of->values[i]);
    (void)c;
    return made;
}

static value f_first(run *r, value v, call *c)
{
    const items *of = jinja_iterate(r, v);
    int last = *c->name == 'l';
    if (last && v.kind == ITERATOR)
        fail_kind(r, "what has a last element", v);
    return of->count ? of->values[last ? of->count - 1 : 0] : undefined(word("an element"));
}

static value f_reverse(run *r, value v, call *c)
{
    const items *of = jinja_iterate(r, v);
    value made = new_items(r, v.kind == ITERATOR ? LIST : ITERATOR); /* as jinja2 has it */
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
        return jinja_item(r, v, path);
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
        v = jinja_item(r, v, key);
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
        jinja_write(r, &o, path ? member(r, of->values[i], *path) : of->values[i]);
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
    made = is_test ? whole(BOOL, jinja_test(r, name, v, c)) : jinja_call(r, 0, v, c);
    return checked(r, c, made);
}

static value f_map(run *r, value v, call *c)
{
    const items *of = jinja_iterate(r, truth(r, v) ? v : of_kind(UNDEFINED));
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
    const items *of = jinja_iterate(r, truth(r, v) ? v : of_kind(UNDEFINED));
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
    if (is_dict && v.kind != DICT)
        fail_kind(r, "dictsort", v);
    if (is_dict) {
        items_call.name = "items";
        v = f_views(r, v, &items_call);
    }
    of = jinja_iterate(r, v);
    for (size_t i = 0; i < of->count; i++) {
        value one = of->values[i], key = is_dict ? items_of(one)->values[by_value] : one;
        key = key_of(r, path.kind == NONE ? key : member(r, one, path), minds);
        if (is_unique && (key.kind == LIST || key.kind == DICT))
            fail_kind(r, "unique", key);
        if (is_unique && jinja_contains(r, keys, key))
            continue;
        add(r, items_of(keys), key);
        add(r, items_of(is_unique ? made : keys), one);
    }
    if (is_unique)
        return made;
    jinja_sort(r, items_of(keys)->values, of->count, 2, reverse);
    for (size_t i = 0; i < of->count; i++)
        add(r, items_of(made), items_of(keys)->values[2 * i + 1]);
    return made;
}

static value f_indent(run *r, value v, call *c)
{
    value s = v, width = whole(INT, 4), lines, space;
    written o = {NULL, NULL, 0, 0, 0};
    int first, blank;
    if (v.kind != STRING)
        fail_kind(r, "indent", v);
    lines = lines_of(r, s);
    argument(r, c, 0, "width", &width);
    first = flag_argument(r, c, 1, "first", 0);
    blank = flag_argument(r, c, 2, "blank", 0);
    space = width.kind == STRING ? width : jinja_repeat(r, word(" "), width.kind == INT ? width : whole(INT, 0));
    if (width.kind != STRING && width.kind != INT)
        fail_kind(r, "a width", width);
    if (s.size && is_at_end(r, s, word("\n"), 1)) /* jinja2 adds one before it cuts */
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
        return whole(INT, v.u.whole);
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
    return (is_number(v) && (v.kind == FLOAT ? v.u.real : (double)v.u.whole) < 0)
               ? jinja_negative(r, v)
               : jinja_negative(r, jinja_negative(r, v));
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
value jinja_call(run *r, int where, value self, call *c)
{
    c->where = where ? where : FILTERS;
    if (!where && self.kind == SAFE && strcmp(c->name, "safe") != 0)
        fail_kind(r, c->name, self);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].where & c->where && strcmp(functions[i].name, c->name) == 0)
            return functions[i].call(r, self, c);
    fail(r, "there is no %s %s here", where ? "method" : "filter", show(r, c->name, strlen(c->name)));
    return self;
}

int jinja_test(run *r, value name, value v, call *c)
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
        return jinja_equal(r, v, other) == !is_in(name, "ne !=");
    if (is_text(name, "in"))
        return jinja_contains(r, other, v);
    if (is_in(name, "lt lessthan < le <= gt greaterthan > ge >=")) {
        found = jinja_order(r, v, other);
        if (found == 0)
            return is_in(name, "le <= ge >=");
        return (found < 0) == is_in(name, "lt lessthan < le <=");
    }
    if (is_in(name, "true false"))
        return k == BOOL && v.u.whole == is_text(name, "true");
    if (is_in(name, "odd even divisibleby")) {
        rest = jinja_reckon(r, '%', 0, v.u.whole, is_text(name, "divisibleby") ? other.u.whole : 2);
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
           : is_text(name, "callable") ? k == MACRO || k == METHOD || k == FUNCTION || k == LOOP || k == UNDEFINED
           : is_text(name, "sequence") ? is_list
           : is_text(name, "iterable") ? is_list || k == VIEW || k == ITERATOR
                                       : (fail(r, "there is no test %s here", show_name(r, name)), 0);
}
