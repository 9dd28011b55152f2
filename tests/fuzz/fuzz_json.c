/* Fuzz target: JSON. The input is a text; if it is JSON, then what a walk finds is the text without its space, strings
   are what their escapes say, numbers are what strtod reads. How to run: fuzz.h. */
#include "fuzz.h"

#include "examples/models/json.c"

#include <math.h>

static char *found; /* what the walk has found */
static size_t found_size;

static void put(const char *text, size_t size)
{
    if (size)
        memcpy(found + found_size, text, size);
    found_size += size;
}

/* The characters of a string, a number or a word. */
static size_t scalar_size(json value)
{
    const char *at = value.text;
    if (*at == '"') {
        for (at++; *at != '"'; at++)
            at += *at == '\\';
        return (size_t)(at + 1 - value.text);
    }
    while (at < value.stop && !strchr(",:]} \t\n\r", *at))
        at++;
    return (size_t)(at - value.text);
}

/* The text without its space. */
static size_t squeeze(const char *text, size_t size, char *out)
{
    size_t n = 0;
    int quoted = 0;
    for (size_t i = 0; i < size; i++) {
        if (quoted && text[i] == '\\')
            out[n++] = text[i++];
        else if (text[i] == '"')
            quoted = !quoted;
        if (quoted || !strchr(" \t\n\r", text[i]))
            out[n++] = text[i];
    }
    return n;
}

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

static void check_spelling(json value, json other)
{
    size_t raw = scalar_size(value), size = json_string(value, NULL, 0), size2 = json_string(other, NULL, 0);
    char *text = exactly("", 0), *text2, part[8];
    free(text);
    text = malloc(size + 1), text2 = malloc(size2 + 1);
    MUST(text && text2);
    MUST(size + 2 <= raw);
    MUST(json_string(value, text, size + 1) == size && text[size] == 0);
    MUST(json_string(other, text2, size2 + 1) == size2 && text2[size2] == 0);
    memset(part, 'x', sizeof part);
    MUST(json_string(value, part, sizeof part - 1) == size && part[7] == 'x');
    MUST(memcmp(part, text, size < 6 ? size : 6) == 0 && part[size < 6 ? size : 6] == 0);
    MUST(is_utf8(text, size));
    MUST(json_is(value, text) == !memchr(text, 0, size));
    MUST(json_compare(value, value) == 0 && sign(json_compare(value, other)) == -sign(json_compare(other, value)));
    if (other.type == JSON_STRING) {
        int order = memcmp(text, text2, size < size2 ? size : size2);
        order = order ? order : (size > size2) - (size < size2);
        MUST(sign(json_compare(value, other)) == sign(order));
    }
    free(text);
    free(text2);
}

static void check_number_value(json value)
{
    size_t size = scalar_size(value);
    char *text = malloc(size + 1);
    uint64_t whole = 7;
    double number = 7, want;
    int is_number = json_double(value, &number), is_whole = json_uint(value, &whole);
    MUST(text);
    memcpy(text, value.text, size);
    text[size] = 0;
    want = strtod(text, NULL);
    MUST(is_number == (isfinite(want) != 0));
    MUST(is_number ? memcmp(&number, &want, sizeof want) == 0 : number == 7);
    MUST(is_whole ? is_number && (double)whole == number : whole == 7);
    MUST(is_whole == (strspn(text, "0123456789") == size &&
                      (size < 20 || (size == 20 && strcmp(text, "18446744073709551615") <= 0))));
    free(text);
}

static void check_type(json value)
{
    static const char begins[] = "?nft-\"[{";
    MUST(value.type > JSON_NONE && value.type <= JSON_OBJECT && value.text < value.stop);
    MUST(*value.text == begins[value.type] || (value.type == JSON_NUMBER && *value.text >= '0' && *value.text <= '9'));
}

static void check_other_types(json value)
{
    uint64_t whole;
    double number;
    char text[4] = "xyz";
    MUST(value.type == JSON_NUMBER || (!json_uint(value, &whole) && !json_double(value, &number)));
    MUST(value.type == JSON_STRING || (json_string(value, text, 4) == 0 && !*text && !json_is(value, "")));
    MUST(value.type == JSON_OBJECT || json_get(value, "a").type == JSON_NONE);
    MUST(value.type >= JSON_ARRAY || json_first(value).type == JSON_NONE);
}

static void walk(json value)
{
    json open[JSON_DEPTH], last = {JSON_NONE, NULL, NULL};
    char closing[JSON_DEPTH];
    int depth = 0;
    for (;;) {
        check_type(value);
        check_other_types(value);
        if (value.type >= JSON_ARRAY) {
            MUST(depth < JSON_DEPTH);
            put(value.text, 1);
            closing[depth] = value.type == JSON_ARRAY ? ']' : '}';
            open[depth++] = json_first(value);
        } else {
            if (value.type == JSON_STRING) {
                check_spelling(value, last);
                last = value;
            } else if (value.type == JSON_NUMBER) {
                check_number_value(value);
            }
            put(value.text, scalar_size(value));
            if (depth)
                open[depth - 1] = json_next(open[depth - 1]);
        }
        while (depth && !open[depth - 1].type) {
            put(&closing[--depth], 1);
            if (depth)
                open[depth - 1] = json_next(open[depth - 1]);
        }
        if (!depth)
            return;
        if (found[found_size - 1] != '[' && found[found_size - 1] != '{')
            put(",", 1);
        value = open[depth - 1];
        if (closing[depth - 1] == '}') {
            check_spelling(value, last);
            last = value;
            put(value.text, scalar_size(value));
            put(":", 1);
            value = json_value(value);
        }
    }
}

/* Every member is found by its name: it, or a later one of that name. */
static void check_members(json object)
{
    char name[64];
    if (object.type != JSON_OBJECT)
        return;
    for (json member = json_first(object); member.type; member = json_next(member)) {
        size_t size = json_string(member, name, sizeof name);
        if (size < sizeof name && !memchr(name, 0, size)) {
            json value = json_get(object, name);
            MUST(value.type && value.text >= json_value(member).text);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    size_t where = SIZE_MAX;
    json value = {JSON_OBJECT, text, text};
    const char *error = json_parse(&value, text, size, &where);
    MUST(where <= size);
    if (error) {
        MUST(value.type == JSON_NONE && !json_first(value).type && !json_next(value).type && !json_value(value).type);
        return 0;
    }
    found = malloc(2 * size + 1);
    MUST(found);
    found_size = 0;
    walk(value);
    MUST(squeeze(text, size, found + size) == found_size && memcmp(found, found + size, found_size) == 0);
    check_members(value);
    free(found);
    return 0;
}
