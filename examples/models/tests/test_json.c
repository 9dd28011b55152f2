/* The JSON reader: what RFC 8259 allows is read, the rest is refused at the byte that is wrong; strings against a
   decoder of their own, numbers against strtod and against exact decimal expansions, and random documents against the
   lists they were made from. Texts lie at the very end of their blocks, where a sanitizer sees a byte read too many. */
#include "examples/models/json.h"

#include "test.h"

#include <locale.h>

#define TEXT(literal) literal, sizeof literal - 1

enum { SHIFT = 8 };

static char *exactly(const char *text, size_t size) /* its copy, to be dropped */
{
    char *block = calloc(1, SHIFT + size);
    if (!block)
        abort();
    memcpy(block + SHIFT, text, size);
    return block + SHIFT;
}

static void drop(char *block)
{
    free(block - SHIFT);
}

static int refused(const char *text, size_t size, size_t from, size_t to) /* at a byte in from .. to */
{
    char *block = exactly(text, size);
    size_t where = SIZE_MAX;
    json value = {JSON_TRUE, NULL, NULL};
    const char *error = json_parse(&value, block, size, &where);
    int right = CHECK(error) && CHECK(*error) && CHECK(value.type == JSON_NONE) && CHECK(where >= from && where <= to);
    if (error && !right)
        printf("    byte %lu: %s\n", (unsigned long)where, error);
    CHECK(json_parse(&value, block, size, NULL) == error);
    drop(block);
    return right;
}

/* ---- what a document holds, written out by the iteration alone ---- */

typedef struct page {
    size_t size;
    char bytes[1 << 16];
} page;

static void put(page *p, const char *bytes, size_t size)
{
    if (p->size + size > sizeof p->bytes)
        abort();
    memcpy(p->bytes + p->size, bytes, size);
    p->size += size;
}

static void put_text(page *p, const char *text)
{
    put(p, text, strlen(text));
}

static void write_string(page *p, json s)
{
    char bytes[4096];
    size_t size = json_string(s, bytes, sizeof bytes);
    CHECK(size < sizeof bytes && bytes[size] == 0);
    put_text(p, "'");
    put(p, bytes, size);
    put_text(p, "'");
}

static void write_double(page *p, double x)
{
    char digits[40];
    sprintf(digits, "%.17g", x);
    put_text(p, digits);
}

static void write_value(page *p, json v)
{
    double x = 0;
    switch (v.type) {
    case JSON_NULL: put_text(p, "null"); break;
    case JSON_FALSE: put_text(p, "false"); break;
    case JSON_TRUE: put_text(p, "true"); break;
    case JSON_NUMBER:
        if (json_double(v, &x))
            write_double(p, x);
        else
            put_text(p, "beyond");
        break;
    case JSON_STRING: write_string(p, v); break;
    case JSON_ARRAY:
        put_text(p, "[");
        for (json e = json_first(v); e.type; e = json_next(e)) {
            write_value(p, e);
            put_text(p, ";");
        }
        put_text(p, "]");
        break;
    case JSON_OBJECT:
        put_text(p, "{");
        for (json name = json_first(v); name.type; name = json_next(json_value(name))) {
            CHECK(name.type == JSON_STRING);
            write_string(p, name);
            put_text(p, "=");
            write_value(p, json_value(name));
            put_text(p, ";");
        }
        put_text(p, "}");
        break;
    default: CHECK(v.type == JSON_OBJECT); break;
    }
}

static int reads_as(const char *text, size_t size, const char *want, size_t want_size)
{
    static page got;
    char *block = exactly(text, size);
    size_t where = SIZE_MAX;
    json value;
    const char *error = json_parse(&value, block, size, &where);
    int right = CHECK(!error);
    if (error)
        printf("    byte %lu: %s\n", (unsigned long)where, error);
    got.size = 0;
    if (right) {
        write_value(&got, value);
        right = CHECK(got.size == want_size && memcmp(got.bytes, want, want_size) == 0);
        if (!right)
            printf("    got %.*s\n", (int)got.size, got.bytes);
    }
    drop(block);
    return right;
}

TEST(json_values)
{
    static const struct {
        const char *text;
        size_t size;
        json_type type;
        const char *want;
    } cases[] = {
        {TEXT("null"), JSON_NULL, "null"},
        {TEXT("true"), JSON_TRUE, "true"},
        {TEXT("false"), JSON_FALSE, "false"},
        {TEXT("0"), JSON_NUMBER, "0"},
        {TEXT("-0"), JSON_NUMBER, "-0"},
        {TEXT("7"), JSON_NUMBER, "7"},
        {TEXT("-10"), JSON_NUMBER, "-10"},
        {TEXT("0.0"), JSON_NUMBER, "0"},
        {TEXT("-0.5"), JSON_NUMBER, "-0.5"},
        {TEXT("0e0"), JSON_NUMBER, "0"},
        {TEXT("0E+1"), JSON_NUMBER, "0"},
        {TEXT("1e2"), JSON_NUMBER, "100"},
        {TEXT("1E-2"), JSON_NUMBER, "0.01"},
        {TEXT("1e+002"), JSON_NUMBER, "100"},
        {TEXT("12.75e00"), JSON_NUMBER, "12.75"},
        {TEXT("1.000e1"), JSON_NUMBER, "10"},
        {TEXT("\"\""), JSON_STRING, "''"},
        {TEXT("\"a b\""), JSON_STRING, "'a b'"},
        {TEXT("\"[{,:}]\""), JSON_STRING, "'[{,:}]'"},
        {TEXT("\"/* no */ // comment\""), JSON_STRING, "'/* no */ // comment'"},
        {TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), JSON_STRING, "'\"\\/\b\f\n\r\t'"},
        {TEXT("\"\\\\u0041\""), JSON_STRING, "'\\u0041'"},
        {TEXT("\"\\u0041\\u00e9\\u20ac\""), JSON_STRING, "'A\303\251\342\202\254'"},
        {TEXT("\"\\uD834\\udd1e\""), JSON_STRING, "'\360\235\204\236'"},
        {TEXT("\"\303\251\342\202\254\360\237\230\200\""), JSON_STRING, "'\303\251\342\202\254\360\237\230\200'"},
        {TEXT("\"\177\""), JSON_STRING, "'\177'"},                                         /* DEL */
        {TEXT("\"\342\200\250\342\200\251\""), JSON_STRING, "'\342\200\250\342\200\251'"}, /* U+2028, U+2029 */
        {TEXT("\"\302\205\357\273\277\357\277\277\""), JSON_STRING, "'\302\205\357\273\277\357\277\277'"},
        {TEXT("\"\364\217\277\277\""), JSON_STRING, "'\364\217\277\277'"}, /* U+10FFFF */
        {TEXT("[]"), JSON_ARRAY, "[]"},
        {TEXT("[ ]"), JSON_ARRAY, "[]"},
        {TEXT("[[]]"), JSON_ARRAY, "[[];]"},
        {TEXT("[[],[],{}]"), JSON_ARRAY, "[[];[];{};]"},
        {TEXT("[1,\"\",null]"), JSON_ARRAY, "[1;'';null;]"},
        {TEXT("[true,false,[1,[2],3],4]"), JSON_ARRAY, "[true;false;[1;[2;];3;];4;]"},
        {TEXT("[\"]\",\"[\",\"\\\"]\",5]"), JSON_ARRAY, "[']';'[';'\"]';5;]"},
        {TEXT("{}"), JSON_OBJECT, "{}"},
        {TEXT("{ }"), JSON_OBJECT, "{}"},
        {TEXT("{\"\":0}"), JSON_OBJECT, "{''=0;}"},
        {TEXT("{\"a\":{\"a\":{}},\"b\":[]}"), JSON_OBJECT, "{'a'={'a'={};};'b'=[];}"},
        {TEXT("{\"}\":\"}\",\"\\\"\":[\"}\"],\"z\":-1}"), JSON_OBJECT, "{'}'='}';'\"'=['}';];'z'=-1;}"},
        {TEXT("{\"a\":1,\"a\":2}"), JSON_OBJECT, "{'a'=1;'a'=2;}"},
        {TEXT("[{\"a\":[{\"b\":null}]},[{}],\"x\"]"), JSON_ARRAY, "[{'a'=[{'b'=null;};];};[{};];'x';]"},
        {TEXT("\t\n\r [ \t1\n,\r2 ]\r\n\t "), JSON_ARRAY, "[1;2;]"},
        {TEXT("\n{\t\"a\"\r:\n1 ,\t\"b\" : [ ] }\n"), JSON_OBJECT, "{'a'=1;'b'=[];}"},
        {TEXT(" null\n"), JSON_NULL, "null"},
        {TEXT("\t-1\r"), JSON_NUMBER, "-1"},
        {TEXT(" \"\" "), JSON_STRING, "''"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        json value;
        test_case("%.80s", cases[n].text);
        reads_as(cases[n].text, cases[n].size, cases[n].want, strlen(cases[n].want));
        CHECK(json_parse(&value, cases[n].text, cases[n].size, NULL) == NULL && value.type == cases[n].type);
    }
}

/* Each of the four kinds of space may stand between any two tokens, and nothing else may. */
TEST(json_whitespace)
{
    static const char *const tokens[] = {"{", "\"a\"", ":", "[", "1",     ",", "null",  ",",
                                         "{", "}",     "]", ",", "\"b\"", ":", "\"c\"", "}"};
    static const char *const others[] = {
        "\v",   "\f",   "\b",  "\302\240", "\342\200\250", "\357\273\277", "\342\200\213", "\343\200\200",
        "/**/", "//\n", "\\n", ";",        "\302\205",     "\177",         "#\n"};
    enum { TOKENS = sizeof tokens / sizeof *tokens, SPACES = 5 };
    static const char *const spaces[SPACES] = {" ", "\t", "\n", "\r", "\r\n\t  \t"};
    const char *want = "{'a'=[1;null;{};];'b'='c';}";
    char text[200];
    for (size_t at = 0; at <= TOKENS; at++)
        for (size_t s = 0; s < SPACES + 1 + sizeof others / sizeof *others; s++) {
            const char *between = s < SPACES ? spaces[s] : s == SPACES ? "" : others[s - SPACES - 1];
            size_t size = 0, hole = 0;
            for (size_t n = 0; n <= TOKENS; n++) {
                if (n == at) {
                    hole = size;
                    memcpy(text + size, between, strlen(between));
                    size += strlen(between);
                }
                if (n < TOKENS) {
                    memcpy(text + size, tokens[n], strlen(tokens[n]));
                    size += strlen(tokens[n]);
                }
            }
            test_case("\"%s\" before token %zu", between, at);
            if (s <= SPACES)
                reads_as(text, size, want, strlen(want));
            else
                refused(text, size, hole, hole);
        }
    for (size_t at = 0; at <= TOKENS; at++) { /* a NUL */
        size_t size = 0, hole = 0;
        for (size_t n = 0; n <= TOKENS; n++) {
            if (n == at)
                text[hole = size++] = 0;
            if (n < TOKENS) {
                memcpy(text + size, tokens[n], strlen(tokens[n]));
                size += strlen(tokens[n]);
            }
        }
        test_case("NUL before token %zu", at);
        refused(text, size, hole, hole);
    }
}

/* ---- what is refused, and where: at the first byte that no document could have there, or from the start of its token,
   escape or character on ---- */

typedef struct wrong {
    const char *text;
    size_t size, from, to;
} wrong;

static void refuse_all(const wrong *cases, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        test_case("%.80s", cases[n].text);
        refused(cases[n].text, cases[n].size, cases[n].from, cases[n].to);
    }
}

TEST(json_rejects)
{
    static const wrong cases[] = {
        /* nothing, or more than one value */
        {TEXT(""), 0, 0},
        {TEXT(" "), 1, 1},
        {TEXT(" \t\r\n"), 4, 4},
        {TEXT("1 2"), 2, 2},
        {TEXT("[] []"), 3, 3},
        {TEXT("{}{}"), 2, 2},
        {TEXT("\"a\"\"b\""), 3, 3},
        {TEXT("null,"), 4, 4},
        {TEXT("true false"), 5, 5},
        {TEXT("[1]]"), 3, 3},
        {TEXT("{}}"), 2, 2},
        {TEXT("[1]x"), 3, 3},
        {TEXT("{\"a\":1}//"), 7, 7},
        {TEXT("{\"a\":1}#"), 7, 7},
        {TEXT(","), 0, 0},
        {TEXT(":"), 0, 0},
        {TEXT("]"), 0, 0},
        {TEXT("}"), 0, 0},
        /* what stands before or within a text */
        {TEXT("\357\273\277[]"), 0, 0},
        {TEXT("\357\273\277"), 0, 0},
        {TEXT("\377\376[\000]\000"), 0, 0},
        {TEXT("\000[\000]"), 0, 0},
        {TEXT("[]\000"), 2, 2},
        {TEXT("\000"), 0, 0},
        {TEXT("[1,\0002]"), 3, 3},
        {TEXT("1\0002"), 1, 1},
        {TEXT("nu\000ll"), 0, 2},
        /* literals */
        {TEXT("nul"), 0, 3},
        {TEXT("n"), 0, 1},
        {TEXT("nulll"), 0, 4},
        {TEXT("nullx"), 0, 4},
        {TEXT("tru"), 0, 3},
        {TEXT("trux"), 0, 3},
        {TEXT("fals"), 0, 4},
        {TEXT("falsy"), 0, 4},
        {TEXT("truefalse"), 0, 4},
        {TEXT("True"), 0, 0},
        {TEXT("TRUE"), 0, 0},
        {TEXT("Null"), 0, 0},
        {TEXT("None"), 0, 0},
        {TEXT("undefined"), 0, 0},
        {TEXT("a"), 0, 0},
        {TEXT("[a]"), 1, 1},
        {TEXT("[nul]"), 1, 4},
        {TEXT("[true1]"), 1, 5},
        {TEXT("\303\251"), 0, 0},
        /* arrays */
        {TEXT("["), 1, 1},
        {TEXT("[["), 2, 2},
        {TEXT("[1"), 2, 2},
        {TEXT("[1,"), 3, 3},
        {TEXT("[1,]"), 3, 3},
        {TEXT("[,1]"), 1, 1},
        {TEXT("[,]"), 1, 1},
        {TEXT("[1,,2]"), 3, 3},
        {TEXT("[1 2]"), 3, 3},
        {TEXT("[1:2]"), 2, 2},
        {TEXT("[1;2]"), 2, 2},
        {TEXT("[\"a\":1]"), 4, 4},
        {TEXT("[}"), 1, 1},
        {TEXT("[1}"), 2, 2},
        {TEXT("[[1}"), 3, 3},
        {TEXT("[)"), 1, 1},
        {TEXT("[[]"), 3, 3},
        {TEXT("[[],"), 4, 4},
        {TEXT("[\"a\""), 4, 4},
        {TEXT("[\"a\","), 5, 5},
        {TEXT("[{}"), 3, 3},
        /* objects */
        {TEXT("{"), 1, 1},
        {TEXT("{\"a\""), 4, 4},
        {TEXT("{\"a\":"), 5, 5},
        {TEXT("{\"a\":1"), 6, 6},
        {TEXT("{\"a\":1,"), 7, 7},
        {TEXT("{\"a\":1,}"), 7, 7},
        {TEXT("{,}"), 1, 1},
        {TEXT("{,\"a\":1}"), 1, 1},
        {TEXT("{\"a\":1,,\"b\":2}"), 7, 7},
        {TEXT("{\"a\" 1}"), 5, 5},
        {TEXT("{\"a\",1}"), 4, 4},
        {TEXT("{\"a\"=1}"), 4, 4},
        {TEXT("{\"a\"::1}"), 5, 5},
        {TEXT("{\"a\":}"), 5, 5},
        {TEXT("{\"a\":,}"), 5, 5},
        {TEXT("{\"a\"}"), 4, 4},
        {TEXT("{:1}"), 1, 1},
        {TEXT("{a:1}"), 1, 1},
        {TEXT("{'a':1}"), 1, 1},
        {TEXT("{1:1}"), 1, 1},
        {TEXT("{null:1}"), 1, 1},
        {TEXT("{[]:1}"), 1, 1},
        {TEXT("{\"a\":1 \"b\":2}"), 7, 7},
        {TEXT("{\"a\":1;\"b\":2}"), 6, 6},
        {TEXT("{\"a\":1:2}"), 6, 6},
        {TEXT("{\"a\":1]"), 6, 6},
        {TEXT("{]"), 1, 1},
        {TEXT("{\"a\":[}]"), 6, 6},
        {TEXT("{\"a\":[1}"), 7, 7},
        {TEXT("[{\"a\":1]}"), 7, 7},
        {TEXT("{\"a\":1,2}"), 7, 7},
        {TEXT("{\"a\":1,\"b\"}"), 10, 10},
        {TEXT("{\"a\":{\"b\":1}"), 12, 12},
        {TEXT("{\"a\":1,a:2}"), 7, 7},
        /* comments and other dialects */
        {TEXT("/**/1"), 0, 0},
        {TEXT("1/**/"), 1, 1},
        {TEXT("//\n1"), 0, 0},
        {TEXT("[1/**/]"), 2, 2},
        {TEXT("#\n1"), 0, 0},
        {TEXT("'a'"), 0, 0},
        {TEXT("`a`"), 0, 0},
        {TEXT("(1)"), 0, 0},
        {TEXT("<null>"), 0, 0},
        {TEXT("*"), 0, 0},
        {TEXT("\\u0031"), 0, 0},
        {TEXT("[\\n]"), 1, 1},
    };
    refuse_all(cases, sizeof cases / sizeof *cases);
}

TEST(json_rejects_numbers)
{
    static const wrong cases[] = {
        {TEXT("-"), 0, 1},
        {TEXT("--1"), 0, 1},
        {TEXT("+1"), 0, 0},
        {TEXT("+"), 0, 0},
        {TEXT("-+1"), 0, 1},
        {TEXT("- 1"), 0, 1},
        {TEXT("-a"), 0, 1},
        {TEXT("00"), 0, 1},
        {TEXT("01"), 0, 1},
        {TEXT("-00"), 0, 2},
        {TEXT("-01"), 0, 2},
        {TEXT("00.5"), 0, 1},
        {TEXT("012"), 0, 1},
        {TEXT(".5"), 0, 0},
        {TEXT("-.5"), 0, 1},
        {TEXT("."), 0, 0},
        {TEXT("1."), 0, 2},
        {TEXT("-1."), 0, 3},
        {TEXT("0."), 0, 2},
        {TEXT("1.e1"), 0, 2},
        {TEXT("1.E+1"), 0, 2},
        {TEXT("1..2"), 0, 2},
        {TEXT("1.2.3"), 0, 3},
        {TEXT("1,2"), 1, 1},
        {TEXT("1e"), 0, 2},
        {TEXT("1E"), 0, 2},
        {TEXT("1e+"), 0, 3},
        {TEXT("1e-"), 0, 3},
        {TEXT("1e+-1"), 0, 3},
        {TEXT("1ee1"), 0, 2},
        {TEXT("1e1e1"), 0, 3},
        {TEXT("1e1.5"), 0, 3},
        {TEXT("1e 1"), 0, 2},
        {TEXT("1 e1"), 0, 2},
        {TEXT("1.5e"), 0, 4},
        {TEXT("0e"), 0, 2},
        {TEXT("e1"), 0, 0},
        {TEXT("1-"), 0, 1},
        {TEXT("1-1"), 0, 1},
        {TEXT("1+1"), 0, 1},
        {TEXT("1_000"), 0, 1},
        {TEXT("1 000"), 2, 2},
        {TEXT("0x1"), 0, 1},
        {TEXT("0x"), 0, 1},
        {TEXT("0X1F"), 0, 1},
        {TEXT("0b1"), 0, 1},
        {TEXT("0o7"), 0, 1},
        {TEXT("0x1p3"), 0, 1},
        {TEXT("1f"), 0, 1},
        {TEXT("1L"), 0, 1},
        {TEXT("1d"), 0, 1},
        {TEXT("NaN"), 0, 0},
        {TEXT("nan"), 0, 1},
        {TEXT("-NaN"), 0, 1},
        {TEXT("Infinity"), 0, 0},
        {TEXT("-Infinity"), 0, 1},
        {TEXT("inf"), 0, 0},
        {TEXT("-inf"), 0, 1},
        {TEXT("1.#INF"), 0, 2},
        {TEXT("\357\274\221"), 0, 0}, /* a full-width 1 */
        {TEXT("1\357\274\221"), 0, 1},
        {TEXT("[-]"), 1, 2},
        {TEXT("[1.]"), 1, 3},
        {TEXT("[01]"), 1, 2},
        {TEXT("[1e]"), 1, 3},
        {TEXT("[-,1]"), 1, 2},
        {TEXT("{\"a\":-}"), 5, 6},
        {TEXT("[1\000]"), 2, 2},
    };
    refuse_all(cases, sizeof cases / sizeof *cases);
}

TEST(json_rejects_strings)
{
    static const wrong cases[] = {
        {TEXT("\""), 0, 1},
        {TEXT("\"a"), 0, 2},
        {TEXT("\"\"\""), 2, 3},
        {TEXT("\"\\"), 0, 2},
        {TEXT("\"\\\""), 0, 3},
        {TEXT("\"\\\\\\\""), 0, 5},
        {TEXT("\"a\nb\""), 2, 2},
        {TEXT("\"\t\""), 1, 1},
        {TEXT("\"\000\""), 1, 1},
        {TEXT("\"\\a\""), 1, 2},
        {TEXT("\"\\v\""), 1, 2},
        {TEXT("\"\\0\""), 1, 2},
        {TEXT("\"\\'\""), 1, 2},
        {TEXT("\"\\x41\""), 1, 2},
        {TEXT("\"\\U0041\""), 1, 2},
        {TEXT("\"\\ \""), 1, 2},
        {TEXT("\"\\\n\""), 1, 2},
        {TEXT("\"\\\000\""), 1, 2},
        {TEXT("\"\\N\""), 1, 2},
        {TEXT("\"\\\303\251\""), 1, 2},
        {TEXT("\"\\u\""), 1, 3},
        {TEXT("\"\\u1\""), 1, 4},
        {TEXT("\"\\u12\""), 1, 5},
        {TEXT("\"\\u123\""), 1, 6},
        {TEXT("\"\\u123g\""), 1, 6},
        {TEXT("\"\\u12 4\""), 1, 5},
        {TEXT("\"\\u+123\""), 1, 3},
        {TEXT("\"\\u-123\""), 1, 3},
        {TEXT("\"\\u0x41\""), 1, 4},
        {TEXT("\"\\u00:0\""), 1, 5},
        {TEXT("\"\\u00/0\""), 1, 5},
        {TEXT("\"\\u00@0\""), 1, 5},
        {TEXT("\"\\u00`0\""), 1, 5},
        {TEXT("\"\\u00G0\""), 1, 5},
        {TEXT("\"\\u{41}\""), 1, 3},
        {TEXT("\"\\u"), 1, 3},
        {TEXT("\"\\u123"), 1, 6},
        {TEXT("\"\\u1234"), 0, 7},
        {TEXT("\"\\uD800\""), 1, 7},
        {TEXT("\"\\uDBFF\""), 1, 7},
        {TEXT("\"\\uDC00\""), 1, 7},
        {TEXT("\"\\udfff\""), 1, 7},
        {TEXT("\"\\uD800x\""), 1, 7},
        {TEXT("\"\\uD800\\n\""), 1, 8},
        {TEXT("\"\\uD800\\u0041\""), 1, 13},
        {TEXT("\"\\uD800\\uD800\""), 1, 13},
        {TEXT("\"\\uDC00\\uD800\""), 1, 7},
        {TEXT("\"\\uD800 \\uDC00\""), 1, 7},
        {TEXT("\"\\uD800\\\\uDC00\""), 1, 8},
        {TEXT("\"\\uD800\\uD800\\uDC00\""), 1, 13},
        {TEXT("\"\\uD800\\uDC00\\uDC00\""), 13, 19},
        {TEXT("\"\\uD800\\u\""), 1, 9},
        {TEXT("\"\\uD800\\uDC0\""), 1, 12},
        {TEXT("\"\\uD800\\"), 1, 8},
        {TEXT("\"\\uD800"), 1, 7},
        {TEXT("\"\\uD800\\uDC0"), 1, 12},
        {TEXT("\"\\uD800\355\260\200\""), 1, 7},
        {TEXT("{\"\\uD800\":1}"), 2, 8},
        {TEXT("{\"a\":\"\\uDFFF\"}"), 6, 12},
        {TEXT("[\"\200\"]"), 2, 2},
        {TEXT("[\"a\300\200\"]"), 3, 4},
        {TEXT("{\"\377\":1}"), 2, 2},
        {TEXT("[\"\303\"]"), 2, 3},
        {TEXT("\"\303"), 1, 2},
        {TEXT("\"\342\202"), 1, 3},
        {TEXT("\"\360\237\230"), 1, 4},
        {TEXT("\"\360\237\230\""), 1, 4},
        {TEXT("\"\360\217\277\277\""), 1, 3}, /* overlong */
        {TEXT("\"\364\220\200\200\""), 1, 3}, /* beyond U+10FFFF */
        {TEXT("\"\365\200\200\200\""), 1, 2},
    };
    char text[] = "\"a?b\"";
    refuse_all(cases, sizeof cases / sizeof *cases);
    for (int c = 0; c < 0x20; c++) {
        test_case("control character %d", c);
        text[2] = (char)c;
        refused(text, 5, 2, 2);
    }
}

/* ---- strings ---- */

static size_t utf8_of(unsigned long code, char *out)
{
    if (code < 0x80)
        return *out = (char)code, 1;
    if (code < 0x800)
        return out[0] = (char)(0xc0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), 2;
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12), out[1] = (char)(0x80 | (code >> 6 & 63));
        return out[2] = (char)(0x80 | (code & 63)), 3;
    }
    out[0] = (char)(0xf0 | code >> 18), out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63)), out[3] = (char)(0x80 | (code & 63));
    return 4;
}

static int is_string(const char *text, size_t size, const char *want, size_t want_size)
{
    char *block = exactly(text, size), got[64];
    json value;
    int right = CHECK(json_parse(&value, block, size, NULL) == NULL) && CHECK(value.type == JSON_STRING) &&
                CHECK(json_string(value, got, sizeof got) == want_size) && CHECK(memcmp(got, want, want_size) == 0) &&
                CHECK(got[want_size] == 0);
    drop(block);
    return right;
}

/* Every \uXXXX, in digits of both cases; and every surrogate pair's corners. */
TEST(json_escapes)
{
    static const unsigned long corners[] = {0, 1, 2, 0x1fe, 0x200, 0x3fd, 0x3fe, 0x3ff};
    char text[40], want[8];
    for (unsigned long code = 0; code < 0x10000; code++) {
        int size = sprintf(text, code & 1 ? "\"\\u%04lx\"" : "\"\\u%04lX\"", code);
        test_case("%s", text);
        if (code >= 0xd800 && code < 0xe000)
            refused(text, (size_t)size, 1, 7);
        else
            is_string(text, (size_t)size, want, utf8_of(code, want));
    }
    for (size_t i = 0; i < 64; i++) {
        unsigned long high = corners[i / 8], low = corners[i % 8];
        int size = sprintf(text, "\"\\u%04lX\\u%04lx\"", 0xd800 + high, 0xdc00 + low);
        test_case("%s", text);
        is_string(text, (size_t)size, want, utf8_of(0x10000 + (high << 10) + low, want));
    }
}

/* How many bytes of valid UTF-8 there are before the first that begins no character. */
static size_t valid_utf8(const unsigned char *s, size_t size)
{
    size_t at = 0;
    while (at < size) {
        size_t length = s[at] < 0x80 ? 1 : s[at] >> 5 == 6 ? 2 : s[at] >> 4 == 14 ? 3 : s[at] >> 3 == 30 ? 4 : 0;
        unsigned long code = length == 1 ? s[at] : s[at] & (0x7fu >> length);
        char again[4];
        if (!length || size - at < length)
            return at;
        for (size_t i = 1; i < length; i++) {
            if (s[at + i] >> 6 != 2)
                return at;
            code = code << 6 | (s[at + i] & 63);
        }
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || utf8_of(code, again) != length)
            return at;
        at += length;
    }
    return at;
}

static void try_utf8(const unsigned char *s, size_t size)
{
    char text[16] = "\"";
    size_t valid = valid_utf8(s, size);
    for (size_t i = 0; i < size; i++)
        if (s[i] < 0x20 || s[i] == '"' || s[i] == '\\')
            return;
    memcpy(text + 1, s, size);
    text[1 + size] = '"';
    test_case("UTF-8 %02x %02x %02x %02x of %zu bytes", s[0], s[1], s[2], s[3], size);
    if (valid == size)
        is_string(text, size + 2, (const char *)s, size);
    else
        refused(text, size + 2, 1 + valid, 1 + size);
}

TEST(json_utf8)
{
    static const unsigned char tails[] = {0x20, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xe0, 0xff};
    enum { TAILS = sizeof tails };
    unsigned char s[4] = {0};
    for (unsigned a = 0x20; a < 256; a++) {
        s[0] = (unsigned char)a, s[1] = s[2] = s[3] = 0;
        try_utf8(s, 1);
        for (unsigned b = 0x20; b < 256; b += a < 0x80 ? 31 : 1) {
            s[1] = (unsigned char)b, s[2] = s[3] = 0;
            try_utf8(s, 2);
            for (size_t c = 0; c < TAILS && a >= 0xc0; c++) {
                s[2] = tails[c], s[3] = 0;
                try_utf8(s, 3);
                for (size_t d = 0; d < TAILS && a >= 0xe0; d++) {
                    s[3] = tails[d];
                    if (!test_quick || tails[d] == 0x80)
                        try_utf8(s, 4);
                }
            }
        }
    }
}

/* A string's length is its own whatever the room; the room takes what fits, and a NUL. */
TEST(json_strings)
{
    static const struct {
        const char *text;
        size_t size;
        const char *want;
        size_t length;
    } cases[] = {
        {TEXT("\"\""), TEXT("")},
        {TEXT("\"a\""), TEXT("a")},
        {TEXT("\"hello\""), TEXT("hello")},
        {TEXT("\"\\u0000\""), TEXT("\0")},
        {TEXT("\"a\\u0000b\""), TEXT("a\0b")},
        {TEXT("\"\303\251\342\202\254\""), TEXT("\303\251\342\202\254")},
        {TEXT("\"\\u00e9\\u20ac\\ud83d\\ude00!\""), TEXT("\303\251\342\202\254\360\237\230\200!")},
        {TEXT("\"\\n\\\\\\\"\""), TEXT("\n\\\"")},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char *block = exactly(cases[n].text, cases[n].size);
        size_t length = cases[n].length;
        json value;
        CHECK(json_parse(&value, block, cases[n].size, NULL) == NULL);
        CHECK(json_string(value, NULL, 0) == length);
        for (size_t room = 0; room <= length + 3; room++) {
            char out[40];
            size_t kept = room == 0 ? 0 : room - 1 < length ? room - 1 : length;
            test_case("%s in %zu bytes", cases[n].text, room);
            memset(out, 0x55, sizeof out);
            CHECK(json_string(value, out + 1, room) == length);
            CHECK(memcmp(out + 1, cases[n].want, kept) == 0);
            CHECK(room == 0 || out[1 + kept] == 0);
            CHECK(out[0] == 0x55);
            for (size_t i = 1 + (room ? kept + 1 : 0); i < sizeof out; i++)
                CHECK(out[i] == 0x55);
        }
        drop(block);
    }
}

TEST(json_spelling)
{
    static const struct {
        const char *text;
        size_t size;
        const char *spelling;
        int is;
    } cases[] = {
        {TEXT("\"\""), "", 1},
        {TEXT("\"\""), "a", 0},
        {TEXT("\"a\""), "", 0},
        {TEXT("\"abc\""), "abc", 1},
        {TEXT("\"abc\""), "ab", 0},
        {TEXT("\"abc\""), "abcd", 0},
        {TEXT("\"abc\""), "abd", 0},
        {TEXT("\"abc\""), "ABC", 0},
        {TEXT("\"\\u0061b\\u0063\""), "abc", 1},
        {TEXT("\"\\/\""), "/", 1},
        {TEXT("\"\\/\""), "\\/", 0},
        {TEXT("\"\\ud83d\\ude00\""), "\360\237\230\200", 1},
        {TEXT("\"\360\237\230\200\""), "\360\237\230\200", 1},
        {TEXT("\"\360\237\230\200\""), "\360\237\230\201", 0},
        {TEXT("\"\\u00ff\""), "\303\277", 1},
        {TEXT("\"\\u00ff\""), "\377", 0},
        {TEXT("\"a\\u0000\""), "a", 0},
        {TEXT("\"a\\u0000b\""), "a", 0},
        {TEXT("\"\\u0000\""), "", 0},
        {TEXT("12"), "12", 0},
        {TEXT("null"), "null", 0},
        {TEXT("true"), "", 0},
        {TEXT("[\"a\"]"), "a", 0},
        {TEXT("{\"a\":1}"), "a", 0},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        char *block = exactly(cases[n].text, cases[n].size);
        json value;
        test_case("%s is %s", cases[n].text, cases[n].spelling);
        CHECK(json_parse(&value, block, cases[n].size, NULL) == NULL);
        CHECK(!json_is(value, cases[n].spelling) == !cases[n].is);
        drop(block);
    }
}

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

TEST(json_order)
{
    static const char text[] =
        "[\"\", \"\\u0000\", \"\\u0000\\u0000\", \"a\", \"\\u0061\", \"a\\u0000\", \"a\\u0000b\", \"ab\", \"aB\", "
        "\"b\","
        " \"A\", \"\\n\", \" \", \"~\", \"\\u007f\", \"\\u0080\", \"\302\200\", \"\303\251\", \"e\\u0301\", "
        "\"\\u07ff\","
        " \"\\u0800\", \"\\ud7ff\", \"\\ue000\", \"\356\200\200\", \"\\uffff\", \"\\ud800\\udc00\","
        " \"\360\220\200\200\", \"\\udbff\\udfff\", \"\\ud83d\\ude00a\", \"\360\237\230\200b\", \"/\", \"\\/\","
        " \"\\\\\", \"\\\"\", \"aaaaaaaaaaaaaaaaaaaa\", \"aaaaaaaaaaaaaaaaaaab\", \"aaaaaaaaaaaaaaaaaaa\"]";
    json all, absent = {JSON_NONE, NULL, NULL}, number;
    CHECK(json_parse(&all, text, sizeof text - 1, NULL) == NULL);
    CHECK(json_parse(&number, "1", 1, NULL) == NULL);
    for (json a = json_first(all); a.type; a = json_next(a)) {
        char x[40], y[40];
        size_t m = json_string(a, x, sizeof x);
        for (json b = json_first(all); b.type; b = json_next(b)) {
            size_t n = json_string(b, y, sizeof y);
            int want = sign(memcmp(x, y, m < n ? m : n));
            if (want == 0)
                want = (m > n) - (m < n);
            test_case("%s and %s", x, y);
            CHECK(sign(json_compare(a, b)) == want);
        }
        test_case("%s and what is no string", x);
        CHECK(json_compare(a, absent) > 0 && json_compare(absent, a) < 0);
        CHECK(json_compare(a, number) > 0 && json_compare(number, a) < 0);
        CHECK(json_compare(a, all) > 0 && json_compare(all, a) < 0);
    }
    CHECK(json_compare(absent, number) == 0 && json_compare(number, absent) == 0 && json_compare(all, number) == 0);
    CHECK(json_compare(absent, absent) == 0);
}

/* ---- members ---- */

static int member_is(json object, const char *name, const char *want) /* want: NULL for no member */
{
    static page got;
    json value = json_get(object, name);
    test_case("member \"%s\"", name);
    got.size = 0;
    if (!want)
        return CHECK(value.type == JSON_NONE);
    if (!CHECK(value.type != JSON_NONE))
        return 0;
    write_value(&got, value);
    return CHECK(got.size == strlen(want) && memcmp(got.bytes, want, got.size) == 0);
}

TEST(json_members)
{
    static const char text[] =
        " { \"a\" : 1 , \"b\":{\"a\":2,\"c\":[{\"a\":3}]}, \"a\":4,\"\":\"empty\", \"\\u00e9\":5,"
        "\"x\\u0000\":6, \"x\":7,\"\\u0078y\":8,\"\\/\":9, \"n\":null,\"\\ud83d\\ude00\":[],"
        "\"last\":[\"last\"] } ";
    size_t size = sizeof text - 1;
    char *block = exactly(text, size);
    json all, inner;
    CHECK(json_parse(&all, block, size, NULL) == NULL);
    member_is(all, "a", "4");
    member_is(all, "b", "{'a'=2;'c'=[{'a'=3;};];}");
    member_is(all, "", "'empty'");
    member_is(all, "\303\251", "5");
    member_is(all, "x", "7");
    member_is(all, "xy", "8");
    member_is(all, "/", "9");
    member_is(all, "n", "null");
    member_is(all, "\360\237\230\200", "[]");
    member_is(all, "last", "['last';]");
    member_is(all, "c", NULL);
    member_is(all, "A", NULL);
    member_is(all, "las", NULL);
    member_is(all, "lastt", NULL);
    member_is(all, "\\u00e9", NULL);
    member_is(all, "empty", NULL);
    inner = json_get(all, "b");
    member_is(inner, "a", "2");
    member_is(inner, "x", NULL); /* what stands after the object is none of it */
    member_is(inner, "last", NULL);
    member_is(json_first(json_get(inner, "c")), "a", "3");
    member_is(json_first(json_get(inner, "c")), "b", NULL);
    member_is(json_get(all, "last"), "last", NULL);
    member_is(json_get(all, "n"), "last", NULL);
    member_is(json_get(json_get(json_get(all, "no"), "such"), "thing"), "a", NULL);
    drop(block);
    CHECK(json_parse(&all, "{\"a\":1,\"\\u0061\":2}", 18, NULL) == NULL);
    member_is(all, "a", "2");
    CHECK(json_parse(&all, "{\"\\u0061\":1,\"a\":{}}", 19, NULL) == NULL);
    member_is(all, "a", "{}");
    CHECK(json_parse(&all, "[\"a\",1]", 7, NULL) == NULL);
    member_is(all, "a", NULL);
}

/* What is asked of a value of another type, or of no value, has no answer. */
TEST(json_none)
{
    static const char *const texts[] = {"null", "true", "false", "12", "\"a\"", "[1,\"a\"]", "{\"a\":1}"};
    for (size_t n = 0; n < 8; n++) {
        json v = {JSON_NONE, NULL, NULL};
        uint64_t whole = 77;
        double x = 77;
        char out[4] = "xyz";
        test_case("%s", n < 7 ? texts[n] : "no value");
        if (n < 7)
            CHECK(json_parse(&v, texts[n], strlen(texts[n]), NULL) == NULL);
        if (v.type != JSON_ARRAY && v.type != JSON_OBJECT)
            CHECK(json_first(v).type == JSON_NONE);
        CHECK(json_next(v).type == JSON_NONE); /* nothing follows a whole text */
        CHECK(json_count(v) == (v.type == JSON_ARRAY ? 2u : v.type == JSON_OBJECT));
        if (v.type != JSON_OBJECT)
            CHECK(json_get(v, "a").type == JSON_NONE && json_get(v, "").type == JSON_NONE);
        if (v.type != JSON_STRING) {
            CHECK(json_string(v, NULL, 0) == 0 && json_string(v, out, sizeof out) == 0);
            CHECK(out[0] == 0 && out[1] == 'y');
            CHECK(!json_is(v, "a") && !json_is(v, ""));
        }
        if (v.type != JSON_NUMBER)
            CHECK(!json_uint(v, &whole) && !json_double(v, &x) && whole == 77 && x == 77);
    }
    {
        json none = {JSON_NONE, NULL, NULL};
        CHECK(json_value(none).type == JSON_NONE);
        CHECK(json_next(json_value(json_first(none))).type == JSON_NONE);
    }
}

/* ---- depth ---- */

static char *repeat(const char *unit, size_t times, size_t *size)
{
    size_t length = strlen(unit);
    char *text = malloc(length * times + 1);
    if (!text)
        abort();
    for (size_t n = 0; n < times; n++)
        memcpy(text + n * length, unit, length);
    text[ *size = length * times] = 0;
    return text;
}

TEST(json_depth)
{
    static const size_t many[] = {JSON_DEPTH + 1, 1000, 100000, 1000000};
    static const char *const units[] = {"[", "{\"a\":", "[{\"a\":", " [ "};
    static const size_t levels[] = {1, 1, 2, 1}, offsets[] = {0, 0, 0, 1};
    char text[JSON_DEPTH * 8], closers[JSON_DEPTH + 1];
    json value;
    for (size_t n = 0; n < sizeof many / sizeof *many; n++)
        for (size_t u = 0; u < 4; u++) {
            size_t size, at = JSON_DEPTH / levels[u] * strlen(units[u]) + offsets[u];
            char *deep = repeat(units[u], many[n], &size);
            test_case("%zu times %s", many[n], units[u]);
            refused(deep, size, at, at);
            free(deep);
        }
    CHECK(JSON_DEPTH == 128);
    /* brackets of both kinds at random: closed as they were opened, then with one closed as the other kind */
    for (size_t round = 0; round < 400; round++) {
        size_t depth = round < 130 ? round : 1 + test_below(JSON_DEPTH + 1), size = 0, wrong_at;
        for (size_t n = 0; n < depth; n++) {
            int object = test_maybe();
            const char *open = object ? "{\"\":" : "[";
            memcpy(text + size, open, strlen(open));
            size += strlen(open);
            closers[depth - 1 - n] = object ? '}' : ']';
        }
        if (size && text[size - 1] == ':') /* an empty object inside: else a value is missing */
            size -= 3;
        memcpy(text + size, closers, depth);
        if (depth == 0)
            text[size++] = '0';
        test_case("%zu levels: %.*s", depth, (int)(size + depth < 150 ? size + depth : 150), text);
        if (depth > JSON_DEPTH) {
            refused(text, size + depth, 0, size);
            continue;
        }
        {
            char *block = exactly(text, size + depth);
            CHECK(json_parse(&value, block, size + depth, NULL) == NULL);
            for (size_t n = 0; n + 1 < depth; n++)
                value = value.type == JSON_OBJECT ? json_value(json_first(value)) : json_first(value);
            CHECK(depth == 0 || value.type == (closers[0] == '}' ? JSON_OBJECT : JSON_ARRAY));
            CHECK(depth == 0 || json_first(value).type == JSON_NONE);
            drop(block);
        }
        if (depth == 0)
            continue;
        wrong_at = size + test_below(depth);
        text[wrong_at] = text[wrong_at] == '}' ? ']' : '}';
        refused(text, size + depth, wrong_at, wrong_at);
        refused(text, wrong_at, wrong_at, wrong_at); /* and with that one missing */
    }
    { /* as many side by side as one likes */
        size_t size;
        char *wide = repeat("[{}],", 1000, &size);
        wide[0] = '[', wide[1] = '[', wide[2] = ']', wide[3] = ' '; /* "[[] ,[{}],...": its last comma closes it */
        wide[size - 1] = ']';
        CHECK(json_parse(&value, wide, size, NULL) == NULL && value.type == JSON_ARRAY);
        free(wide);
    }
}

/* ---- truncation: no document is the beginning of another ---- */

TEST(json_truncated)
{
    static const char *const texts[] = {
        "[1,-2.5e+3,\"a\\u00e9\\n\303\251\342\202\254\360\237\230\200\\ud83d\\ude00\",null,true,false,[],{}]",
        " {\"a\" : [ 1 , 2 ], \"b\\\\\":{\"c\":\"d\\\"\"}, \"\":0.5e-7 }",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\uDBFF\\uDFFF\"",
        "[[[[[[0]]],{\"a\":{\"b\":{\"c\":[null]}}}]]]",
        "[0,10,1.0,1e1,1E-1,-0]",
        "{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}",
    };
    enum { ROOM = 4096 };
    char *end = (char *)test_fenced(ROOM, 0) + ROOM;
    json value;
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        size_t size = strlen(texts[n]);
        for (size_t cut = 0; cut < size; cut++) {
            size_t where = SIZE_MAX;
            test_case("%zu bytes of %s", cut, texts[n]);
            memcpy(end - cut, texts[n], cut);
            CHECK(json_parse(&value, end - cut, cut, &where) != NULL && value.type == JSON_NONE && where <= cut);
            refused(texts[n], cut, 0, cut);
        }
        test_case("%s", texts[n]);
        memcpy(end - size, texts[n], size);
        CHECK(json_parse(&value, end - size, size, NULL) == NULL && value.type != JSON_NONE);
    }
}

/* ---- numbers ---- */

static json number_in(const char *block, size_t size)
{
    json value;
    CHECK(json_parse(&value, block, size, NULL) == NULL && value.type == JSON_NUMBER);
    return value;
}

TEST(json_uint)
{
    static const struct {
        const char *text;
        int whole;
        uint64_t want;
    } cases[] = {
        {"0", 1, 0},
        {"1", 1, 1},
        {"9", 1, 9},
        {"10", 1, 10},
        {"4294967295", 1, 0xffffffffu},
        {"4294967296", 1, UINT64_C(0x100000000)},
        {"9007199254740993", 1, UINT64_C(9007199254740993)},
        {"9223372036854775807", 1, UINT64_C(9223372036854775807)},
        {"9223372036854775808", 1, UINT64_C(9223372036854775808)},
        {"10000000000000000000", 1, UINT64_C(10000000000000000000)},
        {"18446744073709551609", 1, UINT64_C(18446744073709551609)},
        {"18446744073709551610", 1, UINT64_C(18446744073709551610)},
        {"18446744073709551614", 1, UINT64_C(18446744073709551614)},
        {"18446744073709551615", 1, UINT64_MAX},
        {"18446744073709551616", 0, 0},
        {"18446744073709551617", 0, 0},
        {"18446744073709551620", 0, 0},
        {"18446744073709551700", 0, 0},
        {"20000000000000000000", 0, 0},
        {"36893488147419103232", 0, 0},
        {"99999999999999999999", 0, 0},
        {"100000000000000000000", 0, 0},
        {"184467440737095516160", 0, 0},
        {"340282366920938463463374607431768211456", 0, 0},
        {"1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001", 0, 0},
        {"-0", 0, 0},
        {"-1", 0, 0},
        {"-18446744073709551615", 0, 0},
        {"0.0", 0, 0},
        {"1.0", 0, 0},
        {"1.5", 0, 0},
        {"1e2", 0, 0},
        {"1E0", 0, 0},
        {"0e0", 0, 0},
        {"100e-2", 0, 0},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        for (size_t within = 0; within < 2; within++) { /* alone, and in an array */
            char text[120];
            size_t size = (size_t)sprintf(text, within ? "[%s ,5]" : "%s", cases[n].text);
            char *block = exactly(text, size);
            uint64_t got = 12345;
            json value;
            test_case("%s", text);
            CHECK(json_parse(&value, block, size, NULL) == NULL);
            value = within ? json_first(value) : value;
            CHECK(!json_uint(value, &got) == !cases[n].whole);
            CHECK(got == (cases[n].whole ? cases[n].want : 12345));
            drop(block);
        }
}

/* The value that strtod finds, bit for bit; or no value where that is infinite. */
static int agrees(const char *text, size_t size)
{
    char *block = exactly(text, size);
    double got = 12345, want = strtod(text, NULL);
    int held, found = json_double(number_in(block, size), &got);
    if (isinf(want))
        held = CHECK(!found) && CHECK(got == 12345);
    else
        held = CHECK(found) && CHECK(test_bits64(got) == test_bits64(want));
    if (!held)
        printf("    got %.17g, want %.17g\n", got, want);
    drop(block);
    return held;
}

static void try_number(const char *text)
{
    test_case("%.200s", text);
    agrees(text, strlen(text));
}

static char *put_digits(char *at, size_t count) /* random ones, the first not 0 */
{
    for (size_t n = 0; n < count; n++)
        *at++ = (char)('0' + (n ? test_below(10) : 1 + test_below(9)));
    return at;
}

static void try_random_numbers(size_t rounds)
{
    static char text[4096];
    for (size_t n = 0; n < rounds; n++) {
        char *at = text;
        size_t digits = n % 4 == 0 ? 1 + test_below(6) : n % 4 == 1 ? 15 + test_below(6) : 1 + test_below(40);
        size_t point;
        int exponent;
        if (n % 16 == 15)
            digits = 700 + test_below(400);
        if (test_maybe())
            *at++ = '-';
        if (n % 8 == 7) { /* a double of random bits, as printf writes it */
            double x = test_f64(test_random() & ~UINT64_C(1) << 63);
            if (isfinite(x)) {
                sprintf(at, "%.*g", 14 + (int)test_below(7), x);
                try_number(text);
            }
            continue;
        }
        point = 1 + test_below(digits);
        if (n % 5 == 0) { /* leading zeros */
            size_t zeros = test_below(400);
            at += sprintf(at, "0.");
            memset(at, '0', zeros);
            at = put_digits(at + zeros, digits);
        } else {
            char *first = at;
            at = put_digits(at, digits);
            if (point < digits) {
                memmove(first + point + 1, first + point, digits - point);
                first[point] = '.';
                at++;
            } else if (n % 3 == 0) { /* trailing zeros */
                size_t zeros = test_below(330);
                memset(at, '0', zeros);
                at += zeros;
            }
        }
        exponent = n % 3 == 0 ? (int)test_below(45) - 22 : (int)test_below(700) - 360;
        if (n % 7 == 0)
            *at = 0;
        else
            sprintf(at, exponent < 0 ? "e%d" : test_maybe() ? "E+%d" : "e%d", exponent);
        try_number(text);
    }
}

TEST(json_double)
{
    static const char cases[] =
        "0 -0 0.0 -0.0e5 1 -1 0.1 0.2 0.3 123456789012345678 3.141592653589793 9007199254740991 9007199254740992 "
        "9007199254740993 9007199254740994 9007199254740995 9007199254740993.0 "
        "9007199254740993.00000000000000000000000000000000000000000000000001 "
        "9007199254740992.99999999999999999999999999999999999999999999999999 900719925474099.3e1 "
        "90071992547409930e-1 18014398509481987 18014398509481986 36028797018963972 1e15 1e16 1e22 1e23 1e-22 "
        "1e-23 8.5e22 1e43 123456789e37 1e308 1e309 -1e309 1.7976931348623157e308 1.7976931348623158e308 "
        "1.7976931348623159e308 -1.7976931348623159e308 1e310 1e400 1e-307 1e-308 2.2250738585072014e-308 "
        "2.2250738585072011e-308 2.2250738585072012e-308 1e-310 4.9e-324 5e-324 3e-324 2.5e-324 "
        "2.4703282292062328e-324 2.4703282292062327e-324 2e-324 1e-324 1e-325 1e-400 -1e-400 7.4e-324 7.5e-324 "
        "0e999 0e-999 0.0000e99999999999999999999 -0e99999999999999999999999999 6.02214076e23 6.62607015e-34 "
        "89255.0e-22 104110013277974872254e-225 6.9294956446009195e15 "
        "0.500000000000000166533453693773481063544750213623046875 3.5844466002796428e298 1e2147483647 "
        "1e2147483648 1e-2147483648 1e4294967296 1e-4294967296 1e4294967297 1e18446744073709551616 "
        "1e-18446744073709551616 1e18446744073709551617 1e9223372036854775808";
    static char text[120000];
    for (const char *at = cases; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        memcpy(text, at, size);
        text[size] = 0;
        try_number(text);
        at += size;
    }
    for (int negative = 0; negative < 2; negative++) /* an exponent of 100 digits */
        for (int zero = 0; zero < 2; zero++) {
            char *at = text + sprintf(text, "%se%s", zero ? "0.0" : "1.5", negative ? "-" : "+");
            memset(at, '9', 100);
            at[100] = 0;
            try_number(text);
            memset(at, '0', 100); /* of zeros */
            strcpy(at + 100, "7");
            try_number(text);
        }
    for (size_t zeros = 1; zeros <= 100000; zeros *= 10) { /* 1, spelled with many zeros */
        memset(text, '0', zeros + 2);
        text[0] = '1';
        snprintf(text + 1 + zeros, 32, "e-%zu", zeros);
        try_number(text);
        memset(text, '0', zeros + 2);
        text[1] = '.';
        snprintf(text + 1 + zeros, 32, "1e%zu", zeros);
        try_number(text);
        memset(text, '0', zeros + 2);
        text[1] = '.';
        snprintf(text + 1 + zeros, 32, "1");
        try_number(text);
        memset(text, '0', zeros + 2);
        text[0] = '1', text[1] = '.';
        snprintf(text + 1 + zeros, 32, "1e-5");
        try_number(text);
    }
    for (size_t digits = 1000; digits <= 100000; digits *= 10) {
        *put_digits(text, digits) = 0;
        try_number(text); /* too large */
        text[1] = '.';
        try_number(text);
        sprintf(text + digits, "e-%zu", digits);
        text[1] = '3';
        try_number(text);
    }
    try_random_numbers(test_quick ? 2000 : 40000);
}

/* Exact decimal expansions: digits 0 to 9, the least first, times 10^exponent. */
typedef struct decimal {
    unsigned char digits[1300];
    size_t count;
    int exponent;
} decimal;

static void multiply(decimal *d, unsigned factor)
{
    unsigned carry = 0;
    for (size_t n = 0; n < d->count || carry; n++) {
        if (n == d->count)
            d->digits[d->count++] = 0;
        carry += d->digits[n] * factor;
        d->digits[n] = (unsigned char)(carry % 10);
        carry /= 10;
    }
}

static decimal exact_decimal(uint64_t m, int exponent) /* m 2^exponent */
{
    decimal d;
    d.exponent = exponent < 0 ? exponent : 0;
    for (d.count = 0; m; m /= 10)
        d.digits[d.count++] = (unsigned char)(m % 10);
    for (int n = exponent; n > 0; n--)
        multiply(&d, 2);
    for (int n = exponent; n < 0; n++)
        multiply(&d, 5);
    return d;
}

static void nudge(decimal *d, int up, size_t places) /* by one unit, so many places further down */
{
    size_t n = 0;
    memmove(d->digits + places, d->digits, d->count);
    memset(d->digits, 0, places);
    d->count += places;
    d->exponent -= (int)places;
    while (d->digits[n] == (up ? 9 : 0))
        d->digits[n++] = up ? 0 : 9;
    d->digits[n] = (unsigned char)(d->digits[n] + (up ? 1 : -1));
}

static void try_decimal(const decimal *d, double want)
{
    static char text[1400];
    char *at = text;
    size_t point = test_below(d->count);
    double got = 12345;
    int found;
    while (point && d->digits[point] == 0) /* "0" alone may come before a point */
        point--;
    if (test_maybe()) {
        at += sprintf(at, "0.");
        for (size_t n = d->count; n-- > 0;)
            *at++ = (char)('0' + d->digits[n]);
        sprintf(at, "e%d", d->exponent + (int)d->count);
    } else {
        size_t first = d->count;
        while (first > 1 && d->digits[first - 1] == 0)
            first--;
        for (size_t n = first; n-- > 0;) {
            *at++ = (char)('0' + d->digits[n]);
            if (n == point && n)
                *at++ = '.';
        }
        sprintf(at, "e%d", d->exponent + (int)point);
    }
    test_case("%.100s... for %a", text, want);
    agrees(text, strlen(text));
    found = json_double(number_in(text, strlen(text)), &got);
    if (isinf(want))
        CHECK(!found && got == 12345);
    else
        CHECK(found && test_bits64(got) == test_bits64(want));
}

/* Half way between two doubles the even one is nearest; a digit hundreds of places on decides otherwise. */
TEST(json_double_halfway)
{
    static const int exponents[] = {-1074, -1074, -1073, -1022, -600, -75, -54, -53, -52,
                                    -1,    0,     1,     10,    64,   400, 970, 971};
    for (size_t n = 0; n < (test_quick ? 60u : 600u); n++) {
        int exponent =
            n % 3 == 0 ? (int)test_below(2046) - 1074 : exponents[n % (sizeof exponents / sizeof *exponents)];
        uint64_t m = test_random() >> 11 | UINT64_C(1) << 52;
        double below, above;
        decimal d;
        if (n % 11 == 0)
            m = (UINT64_C(1) << 53) - 1;
        if (exponent == -1074 && test_maybe())
            m >>= 1 + test_below(53); /* subnormal, or 0 */
        below = ldexp((double)m, exponent);
        above = ldexp((double)(m + 1), exponent);
        d = exact_decimal(2 * m + 1, exponent - 1);
        try_decimal(&d, m % 2 ? above : below);
        nudge(&d, 1, 1 + test_below(300));
        try_decimal(&d, above);
        d = exact_decimal(2 * m + 1, exponent - 1);
        nudge(&d, 0, 1 + test_below(300));
        try_decimal(&d, below);
        if (m) {
            d = exact_decimal(m, exponent);
            try_decimal(&d, below);
        }
    }
}

TEST(json_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "de_DE",       "fr_FR.UTF-8",
                                        "fr_FR.utf8",  "nl_NL.UTF-8", "es_ES.UTF-8", "it_IT.UTF-8",
                                        "ru_RU.UTF-8", "German",      "French"};
    const char *found = NULL;
    for (size_t n = 0; n < sizeof names / sizeof *names && !found; n++)
        if (setlocale(LC_ALL, names[n]) && strcmp(localeconv()->decimal_point, ",") == 0)
            found = names[n];
    if (!found) {
        setlocale(LC_ALL, "C");
        printf("skip json_locale: no locale with a decimal comma\n");
        CHECK(1);
        return;
    }
    for (size_t n = 0; n < 4; n++) {
        static const char *const texts[4] = {"[1.5,2]", "[15e-1]", "[-0.25e1,5]", "[1,5]"};
        static const double want[4] = {1.5, 1.5, -2.5, 1};
        double got = 0;
        json value;
        test_case("%s in %s", texts[n], found);
        CHECK(json_parse(&value, texts[n], strlen(texts[n]), NULL) == NULL);
        CHECK(json_double(json_first(value), &got) && got == want[n]);
    }
    test_case("1,5 in %s", found);
    refused("1,5", 3, 1, 1);
    CHECK(strcmp(localeconv()->decimal_point, ",") == 0); /* left as it was */
    setlocale(LC_ALL, "C");
}

/* ---- random documents ---- */

static void space(page *text)
{
    while (test_below(3) == 0)
        put(text, &" \t\n\r"[test_below(4)], 1);
}

static void random_string(page *text, page *want)
{
    size_t length = test_below(5);
    put_text(text, "\"");
    put_text(want, "'");
    for (size_t n = 0; n < length; n++) {
        static const unsigned long tops[] = {0x80, 0x80, 0x800, 0x10000, 0x110000};
        unsigned long code = (unsigned long)test_below(tops[test_below(5)]);
        char bytes[4], escape[40];
        size_t size;
        if (code >= 0xd800 && code < 0xe000)
            code -= 0x800;
        size = utf8_of(code, bytes);
        put(want, bytes, size);
        if (code < 0x20 || code == '"' || code == '\\' || test_below(4) == 0) {
            if (code >= 0x10000)
                sprintf(escape, "\\u%04lx\\u%04lX", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
            else
                sprintf(escape, "\\u%04lx", code);
            put_text(text, escape);
        } else {
            put(text, bytes, size);
        }
    }
    put_text(text, "\"");
    put_text(want, "'");
}

static void random_value(page *text, page *want, size_t depth)
{
    static const char *const words[] = {"null", "true", "false"};
    size_t kind = test_below(depth ? 8 : 5), count = test_below(5);
    space(text);
    if (kind < 3) {
        put_text(text, words[kind]);
        put_text(want, words[kind]);
    } else if (kind == 3) {
        char digits[40];
        double x = (double)test_below(100000) / 64 * (test_maybe() ? 1 : -1);
        sprintf(digits, test_maybe() ? "%.6f" : "%.15e", x); /* both exact */
        put_text(text, digits);
        write_double(want, x);
    } else if (kind == 4) {
        random_string(text, want);
    } else {
        int object = kind == 7;
        put_text(text, object ? "{" : "[");
        put_text(want, object ? "{" : "[");
        for (size_t n = 0; n < count; n++) {
            if (n)
                put_text(text, ",");
            space(text);
            if (object) {
                random_string(text, want);
                space(text);
                put_text(text, ":");
                put_text(want, "=");
            }
            random_value(text, want, depth - 1);
            put_text(want, ";");
        }
        space(text);
        put_text(text, object ? "}" : "]");
        put_text(want, object ? "}" : "]");
    }
    space(text);
}

/* Documents are read as they were made; with a byte changed, taken out or put in they are refused or read, and what is
   read holds no more than it says. */
TEST(json_at_random)
{
    static page text, want, got;
    for (size_t n = 0; n < (test_quick ? 300u : 3000u); n++) {
        text.size = want.size = 0;
        random_value(&text, &want, 5);
        test_case("%zu: %.*s", n, (int)(text.size < 200 ? text.size : 200), text.bytes);
        reads_as(text.bytes, text.size, want.bytes, want.size);
        for (size_t change = 0; change < 8; change++) {
            static page other;
            size_t at = test_below(text.size), where = SIZE_MAX;
            char *block;
            json value;
            other.size = 0;
            put(&other, text.bytes, at);
            if (change % 3) /* changed or put in */
                put(&other, test_maybe() ? &"[]{},:\"\\0.e-"[test_below(13)] : (const char[1]){(char)test_below(256)},
                    1);
            put(&other, text.bytes + at + (change % 3 < 2), text.size - at - (change % 3 < 2));
            block = exactly(other.bytes, other.size);
            got.size = 0;
            if (json_parse(&value, block, other.size, &where))
                CHECK(value.type == JSON_NONE && where <= other.size);
            else
                write_value(&got, value);
            drop(block);
        }
    }
}
