/* What a person is shown of a file's names: whole characters, nothing that a terminal obeys, never more than there is
   room for. */
#include "test.h"

#include "examples/models/shown.h"
#include "examples/show.h"

#define SHOWS(text, want)                                                                                              \
    CHECK(!strcmp(shown_text(test_block(64), 64, text, sizeof(text) - 1), want))

TEST(shown_characters)
{
    SHOWS("", "");
    SHOWS("a\\\"%s", "a\\\"%s");
    SHOWS("\0\t\n\x1f \x7f", "\\x00\\x09\\x0a\\x1f \\x7f");
    SHOWS("llama\0", "llama\\x00");
    SHOWS("\xc2\x7f\xc2\x80\xc2\x85\xc2\x9f\xc2\xa0", "\\xc2\\x7f\\xc2\\x80\\xc2\\x85\\xc2\\x9f\xc2\xa0");
    SHOWS("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    SHOWS("\x80\xff\xe2\x82", "\\x80\\xff\\xe2\\x82");
    SHOWS("\xc0\x80\xed\xa0\x80", "\\xc0\\x80\\xed\\xa0\\x80"); /* overlong; a surrogate */
    SHOWS("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");           /* beyond U+10FFFF */
}

TEST(shown_room)
{
    static const char text[] = "a\xc3\xa9\n\xc2\x85\xf0\x9f\x98\x80";
    static const struct {
        size_t room;
        const char *shown;
    } cases[] = {{4, "..."},
                 {5, "a..."},
                 {6, "a..."},
                 {7, "a\xc3\xa9..."},
                 {10, "a\xc3\xa9..."},
                 {11, "a\xc3\xa9\\x0a..."},
                 {22, "a\xc3\xa9\\x0a\\xc2\\x85..."},
                 {23, "a\xc3\xa9\\x0a\\xc2\\x85\xf0\x9f\x98\x80"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *out = test_block(cases[i].room);
        test_case("room for %zu bytes", cases[i].room);
        CHECK(shown_text(out, cases[i].room, text, strlen(text)) == out && !strcmp(out, cases[i].shown));
    }
}

/* Of a long name the end: there is room for what follows in a message. */
TEST(shown_names)
{
    char name[1000], out[SHOWN_NAME];
    CHECK(!strcmp(shown_name(out, "a/b\n"), "a/b\\x0a"));
    for (size_t lead = 0; lead < 3; lead++) {
        memset(name, '/', lead);
        for (size_t i = lead; i + 3 < sizeof name; i += 3)
            memcpy(name + i, "\xe2\x82\xac", 4);
        shown_name(out, name);
        test_case("%zu bytes in front", lead);
        CHECK(strlen(out) < SHOWN_NAME && !strncmp(out, "...\xe2\x82\xac", 6));
        CHECK(!strcmp(out + strlen(out) - 3, "\xe2\x82\xac"));
    }
}

/* Labels of pictures, which are pieces of a vocabulary: U+FFFD for each. */
TEST(shown_labels)
{
    static const char controls[] = "\x01\x1f\x7f\xc2\x80\xc2\x85\xc2\x9f";
    const char *at = controls;
    while (*at)
        CHECK(show__character(&at) == 0xfffd);
    at = "\xc2\xa0\xe2\x96\x81";
    CHECK(show__character(&at) == 0xa0 && show__character(&at) == 0x2581 && !*at);
}
