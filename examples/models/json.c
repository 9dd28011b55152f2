#include "json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checking ---- */

typedef struct scanner {
    const char *at, *end;
} scanner;

static void skip_space(scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The bytes of the UTF-8 sequence at `text`, or 0 if it is not valid (RFC 3629). */
static size_t utf8_size(const char *text, const char *end)
{
    const unsigned char *b = (const unsigned char *)text;
    size_t size = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0, i;
    if (size > (size_t)(end - text))
        return 0;
    for (i = 1; i < size; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) || /* overlong; a surrogate */
        (b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] > 0x8f))   /* overlong; beyond U+10FFFF */
        return 0;
    return size;
}

/* The number that four hexadecimal digits spell, or -1. */
static int32_t hex4(const char *text, const char *end)
{
    int32_t value = 0;
    int i;
    for (i = 0; i < 4; i++) {
        char c = text + i < end ? text[i] : 0;
        if (is_digit(c))
            value = value * 16 + (c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            value = value * 16 + ((c | 32) - 'a' + 10);
        else
            return -1;
    }
    return value;
}

static int is_high(int32_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static int is_low(int32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

static const char *check_escape(scanner *s)
{
    const char *next = s->at + 1;
    int32_t unit;
    if (next < s->end && *next != 'u') {
        if (!*next || !strchr("\"\\/bfnrt", *next))
            return "no such escape";
        s->at += 2;
        return NULL;
    }
    if ((unit = next < s->end ? hex4(next + 1, s->end) : -1) < 0)
        return "\\u needs four hexadecimal digits";
    if (is_low(unit))
        return "half a surrogate pair";
    if (is_high(unit)) {
        if (s->end - s->at < 12 || s->at[6] != '\\' || s->at[7] != 'u' || !is_low(hex4(s->at + 8, s->end)))
            return "half a surrogate pair";
        s->at += 6;
    }
    s->at += 6;
    return NULL;
}

static const char *check_string(scanner *s)
{
    s->at++;
    while (s->at < s->end && *s->at != '"') {
        const char *error = NULL;
        size_t size;
        if (*s->at == '\\')
            error = check_escape(s);
        else if ((unsigned char)*s->at < 0x20)
            error = "a control character in a string";
        else if ((size = utf8_size(s->at, s->end)) == 0)
            error = "not UTF-8";
        else
            s->at += size;
        if (error)
            return error;
    }
    if (s->at == s->end)
        return "a string does not end";
    s->at++;
    return NULL;
}

/* Digits, at least one. */
static int check_digits(scanner *s)
{
    const char *begin = s->at;
    while (s->at < s->end && is_digit(*s->at))
        s->at++;
    return s->at > begin;
}

static const char *check_number(scanner *s)
{
    if (*s->at == '-')
        s->at++;
    if (s->end - s->at > 1 && s->at[0] == '0' && is_digit(s->at[1]))
        return "a number begins with 0";
    if (!check_digits(s))
        return "a digit is missing";
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!check_digits(s))
            return "a digit is missing";
    }
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
            s->at++;
        if (!check_digits(s))
            return "a digit is missing";
    }
    return NULL;
}

static const char *check_scalar(scanner *s)
{
    static const char *const words[] = {"null", "false", "true"};
    size_t i, left = (size_t)(s->end - s->at);
    if (left && *s->at == '"')
        return check_string(s);
    if (left && (*s->at == '-' || is_digit(*s->at)))
        return check_number(s);
    for (i = 0; i < 3; i++)
        if (left >= strlen(words[i]) && memcmp(s->at, words[i], strlen(words[i])) == 0) {
            s->at += strlen(words[i]);
            return NULL;
        }
    return "a value is missing";
}

/* A member's name and the colon after it. */
static const char *check_name(scanner *s)
{
    const char *error;
    skip_space(s);
    if (s->at == s->end || *s->at != '"')
        return "a name in quotes is missing";
    if ((error = check_string(s)) != NULL)
        return error;
    skip_space(s);
    if (s->at == s->end || *s->at != ':')
        return "a colon is missing";
    s->at++;
    return NULL;
}

/* One value and nothing else. What is open is on a stack of its own, not on the program's. */
static const char *check_text(scanner *s)
{
    char closing[JSON_DEPTH];
    int depth = 0;
    const char *error;
    for (;;) {
        skip_space(s);
        if (s->at < s->end && (*s->at == '[' || *s->at == '{')) {
            if (depth == JSON_DEPTH)
                return "arrays and objects nest too deep";
            closing[depth++] = *s->at++ == '[' ? ']' : '}';
            skip_space(s);
            if (s->at == s->end || *s->at != closing[depth - 1]) {
                if (closing[depth - 1] == '}' && (error = check_name(s)) != NULL)
                    return error;
                continue;
            }
        } else if ((error = check_scalar(s)) != NULL) {
            return error;
        }
        for (;; depth--, s->at++) { /* the brackets that close after the value */
            skip_space(s);
            if (depth == 0)
                return s->at < s->end ? "more follows the value" : NULL;
            if (s->at == s->end || *s->at != closing[depth - 1])
                break;
        }
        if (s->at == s->end || *s->at != ',')
            return closing[depth - 1] == ']' ? "a comma or ] is missing" : "a comma or } is missing";
        s->at++;
        if (closing[depth - 1] == '}' && (error = check_name(s)) != NULL)
            return error;
    }
}

/* ---- walking: from here on the text is known to be right ---- */

/* The value that begins at or after `at`, in front of which there may be space. */
static json value_at(const char *at, const char *stop)
{
    json value = {JSON_NUMBER, NULL, NULL};
    scanner s;
    s.at = at;
    s.end = stop;
    skip_space(&s);
    value.text = s.at;
    value.stop = stop;
    switch (*s.at) {
    case 'n': value.type = JSON_NULL; break;
    case 'f': value.type = JSON_FALSE; break;
    case 't': value.type = JSON_TRUE; break;
    case '"': value.type = JSON_STRING; break;
    case '[': value.type = JSON_ARRAY; break;
    case '{': value.type = JSON_OBJECT; break;
    default: break;
    }
    return value;
}

static json no_value(void)
{
    json none = {JSON_NONE, NULL, NULL};
    return none;
}

static const char *after_string(const char *at)
{
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

/* The next character after a value that is not space, or stop. */
static const char *after(json value)
{
    size_t depth = 0;
    scanner s;
    s.at = value.text;
    s.end = value.stop;
    do {
        if (*s.at == '"') {
            s.at = after_string(s.at);
        } else if (value.type == JSON_ARRAY || value.type == JSON_OBJECT) {
            depth += *s.at == '[' || *s.at == '{';
            depth -= *s.at == ']' || *s.at == '}';
            s.at++;
        } else {
            while (s.at < s.end && (is_digit(*s.at) || (*s.at >= 'a' && *s.at <= 'z') || strchr("+-.E", *s.at)))
                s.at++;
        }
    } while (depth > 0);
    skip_space(&s);
    return s.at;
}

const char *json_parse(json *value, const char *text, size_t size, size_t *where)
{
    const char *error = "empty";
    scanner s;
    s.at = text;
    s.end = size ? text + size : text;
    *value = no_value();
    if (size && (error = check_text(&s)) == NULL)
        *value = value_at(text, s.end);
    if (where)
        *where = size ? (size_t)(s.at - text) : 0;
    return error;
}

json json_first(json container)
{
    scanner s;
    if (container.type != JSON_ARRAY && container.type != JSON_OBJECT)
        return no_value();
    s.at = container.text + 1;
    s.end = container.stop;
    skip_space(&s);
    return *s.at == ']' || *s.at == '}' ? no_value() : value_at(s.at, s.end);
}

json json_next(json element)
{
    const char *at;
    if (!element.type)
        return no_value();
    at = after(element);
    if (at < element.stop && *at == ':')
        at = after(value_at(at + 1, element.stop));
    return at < element.stop && *at == ',' ? value_at(at + 1, element.stop) : no_value();
}

json json_value(json name)
{
    const char *at;
    if (name.type != JSON_STRING)
        return no_value();
    at = after(name);
    return at < name.stop && *at == ':' ? value_at(at + 1, name.stop) : no_value();
}

size_t json_count(json container)
{
    size_t count = 0;
    for (container = json_first(container); container.type; container = json_next(container))
        count++;
    return count;
}

json json_get(json object, const char *name)
{
    json found = no_value(), member;
    if (object.type == JSON_OBJECT)
        for (member = json_first(object); member.type; member = json_next(member))
            if (json_is(member, name))
                found = json_value(member);
    return found;
}

static int is_listed(json name, const char *const *const *lists)
{
    const char *const *list;
    for (; *lists; lists++)
        for (list = *lists; *list; list++)
            if (json_is(name, *list))
                return 1;
    return 0;
}

size_t json_others(json object, const char *const *const *lists, char *out, size_t size)
{
    json name = object.type == JSON_OBJECT ? json_first(object) : no_value();
    size_t count = 0, at = 0;
    if (size)
        out[0] = 0;
    for (; name.type; name = json_next(name)) {
        if (is_listed(name, lists))
            continue;
        if (count++ && at + 2 < size) {
            strcpy(out + at, ", ");
            at += 2;
        }
        if (at < size)
            at += json_string(name, out + at, size - at);
    }
    return count;
}

/* ---- strings ---- */

/* The bytes that a string spells, one after another. */
typedef struct speller {
    const char *at;
    unsigned char bytes[4]; /* of the escape before `at` */
    int count, next;
} speller;

static speller spell(json string)
{
    speller s = {NULL, {0, 0, 0, 0}, 0, 0};
    s.at = string.type == JSON_STRING ? string.text + 1 : "\"";
    return s;
}

static void spell_escape(speller *s)
{
    static const char names[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    int32_t unit;
    int i;
    s->next = 0;
    if (s->at[1] != 'u') {
        s->bytes[0] = (unsigned char)characters[strchr(names, s->at[1]) - names];
        s->count = 1;
        s->at += 2;
        return;
    }
    unit = hex4(s->at + 2, s->at + 6);
    s->at += 6;
    if (is_high(unit)) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (hex4(s->at + 2, s->at + 6) - 0xdc00);
        s->at += 6;
    }
    s->count = unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit < 0x10000 ? 3 : 4;
    for (i = s->count - 1; i > 0; i--, unit >>= 6)
        s->bytes[i] = (unsigned char)(0x80 | (unit & 0x3f));
    s->bytes[0] = (unsigned char)((s->count == 1 ? 0 : 0xf00 >> s->count & 0xff) | unit);
}

/* The next byte, or -1 after the last. */
static int next_byte(speller *s)
{
    if (s->next == s->count) {
        if (*s->at == '"')
            return -1;
        if (*s->at != '\\')
            return (unsigned char)*s->at++;
        spell_escape(s);
    }
    return s->bytes[s->next++];
}

size_t json_string(json string, char *out, size_t size)
{
    speller s = spell(string);
    size_t length = 0;
    int byte;
    for (; (byte = next_byte(&s)) >= 0; length++)
        if (length + 1 < size)
            out[length] = (char)byte;
    if (size)
        out[length < size ? length : size - 1] = 0;
    return length;
}

int json_compare(json a, json b)
{
    speller s = spell(a), t = spell(b);
    int x, y;
    if (a.type != JSON_STRING || b.type != JSON_STRING)
        return (a.type == JSON_STRING) - (b.type == JSON_STRING);
    do {
        x = next_byte(&s);
        y = next_byte(&t);
    } while (x == y && x >= 0);
    return (x > y) - (x < y);
}

int json_is(json string, const char *text)
{
    speller s = spell(string);
    int byte;
    while ((byte = next_byte(&s)) > 0 && byte == (unsigned char)*text)
        text++;
    return string.type == JSON_STRING && byte < 0 && !*text;
}

/* ---- numbers ---- */

int json_uint(json number, uint64_t *out)
{
    const char *at = number.text;
    uint64_t value = 0;
    if (number.type != JSON_NUMBER)
        return 0;
    for (; at < number.stop && is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    if (at == number.text || (at < number.stop && strchr(".eE", *at)))
        return 0;
    *out = value;
    return 1;
}

/* The number is handed to strtod as a whole number times a power of ten, because the point of decimals is another
   character in some locales. No double lies so near to the middle between two others that digits beyond the 800th
   count, except in whether all of them are 0. */
int json_double(json number, double *out)
{
    enum { DIGITS = 800, LARGE = 100000 };
    char text[DIGITS + 32];
    const char *at = number.text;
    long long exponent = 0, power = 0;
    int count = 0, sticky = 0, fraction = 0, negative, down;
    uint64_t bits;
    volatile double held; /* with -ffast-math, clang 19 takes every result for finite */
    double value;
    if (number.type != JSON_NUMBER)
        return 0;
    at += negative = *at == '-';
    for (; at < number.stop && (is_digit(*at) || *at == '.'); at++) {
        if (*at == '.') {
            fraction = 1;
        } else if (count == 0 && *at == '0') {
            exponent -= fraction;
        } else if (count < DIGITS) {
            text[count++] = *at;
            exponent -= fraction;
        } else {
            sticky |= *at != '0';
            exponent += !fraction;
        }
    }
    if (sticky) {
        text[count++] = '1';
        exponent--;
    }
    if (at < number.stop && (*at == 'e' || *at == 'E')) {
        down = *++at == '-';
        for (at += *at == '-' || *at == '+'; at < number.stop && is_digit(*at); at++)
            if (power < LLONG_MAX / 32)
                power = power * 10 + (*at - '0');
        exponent += down ? -power : power;
    }
    exponent = exponent > LARGE ? LARGE : exponent < -LARGE ? -LARGE : exponent;
    if (count == 0)
        text[count++] = '0';
    snprintf(text + count, sizeof text - (size_t)count, "e%d", (int)exponent);
    held = strtod(text, NULL);
    value = held;
    memcpy(&bits, &value, sizeof bits);
    if ((bits >> 52 & 0x7ff) == 0x7ff)
        return 0;
    *out = negative ? -value : value;
    return 1;
}
