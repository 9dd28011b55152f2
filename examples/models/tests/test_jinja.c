/* Templates: what jinja2 makes of them, who has said what, and where they end. */
#include "examples/models/jinja.h"

#include "test.h"

typedef struct jinja_golden {
    const char *template_text;
    size_t conversation;
    const char *text;
} jinja_golden;

#include "golden/jinja.h"

/* The roles and texts that context has, ended by NULL; texts are marked 1. */
static void fill(jinja *j, void *context)
{
    const char *const *turns = (const char *const *)context;
    for (; turns && *turns; turns += 2)
        jinja_say(j, turns[0], turns[1], strlen(turns[1]), 1);
    jinja_set(j, "tools", NULL);
    jinja_flag(j, "add_generation_prompt", 1);
    jinja_set(j, "bos_token", "<s>");
    jinja_set(j, "eos_token", "</s>");
}

static const char *render(jinja *j, const char *text, size_t conversation)
{
    return jinja_render(j, text, strlen(text), "today", fill, (void *)(uintptr_t)jinja_conversations[conversation]);
}

static void renders(const char *text, size_t conversation, const char *want)
{
    jinja j;
    const char *error = render(&j, text, conversation);
    test_case("%s", text);
    if (!CHECK(error == NULL) || !CHECK(strcmp(j.text, want) == 0 && strlen(want) == j.size))
        fprintf(stderr, "    is   [%s]\n    want [%s]\n", error ? error : j.text, want);
    jinja_end(&j);
}

static void refuses(const char *text, const char *want)
{
    jinja j;
    const char *error = render(&j, text, 0);
    test_case("%s", text);
    if (!CHECK(error && strncmp(error, "line ", 5) == 0 && (!want || strcmp(error, want) == 0)))
        fprintf(stderr, "    is   [%s]\n", error ? error : j.text);
    jinja_end(&j);
    CHECK(!j.text && !j.said && !j.size);
}

/* Rendered by transformers. */
TEST(jinja_transformers)
{
    for (size_t i = 0; i < sizeof jinja_goldens / sizeof *jinja_goldens; i++)
        renders(jinja_goldens[i].template_text, jinja_goldens[i].conversation, jinja_goldens[i].text);
}

/* Refused by jinja2, and here. */
TEST(jinja_failing)
{
    for (size_t i = 0; i < sizeof jinja_failing / sizeof *jinja_failing; i++)
        refuses(jinja_failing[i], NULL);
}

/* Rendered by jinja2, and not here. */
TEST(jinja_refused)
{
    for (size_t i = 0; i < sizeof jinja_refused / sizeof *jinja_refused; i++)
        refuses(jinja_refused[i], NULL);
}

/* What jinja2 knows and this does not has a message, by name and line; where it is not reached, it is no matter. */
TEST(jinja_messages)
{
    refuses("\n{{ 1|xmlattr }}", "line 2: there is no filter xmlattr here");
    refuses("{{ 'a'.zfill(2) }}", "line 1: there is no method zfill here");
    refuses("{{ [1].append(2) }}", "line 1: there is no method append here");
    refuses("{# a\nb #}{% if 1 %}\n{{ 1 is filter }}{% endif %}", "line 3: there is no test filter here");
    refuses("{% include 'a' %}", "line 1: there is no statement include here");
    refuses("{{ 2 ** 3 }}", "line 1: there is no \"**\" of an integer and an integer here");
    refuses("{{ '%s' % 'a' }}", "line 1: there is no \"%\" of a string and a string here");
    refuses("{{ lipsum() }}", "line 1: there is no lipsum here");
    refuses("{{ [1, 2]|select }}", "line 1: printed: not an iterator");
    refuses("{{ {'a': 1}.items }}", "line 1: there is no items of a dict here");
    refuses("{{ [1, 'a'] }}", "line 1: printed: not a list");
    refuses("{{ [1] == [1] }}", "line 1: a list is not compared here");
    refuses("{{ 1.5 }}", "line 1: 1.5 is not known here");
    refuses("{{ 'a\\x41' }}", "line 1: 'a\\x41' is not known here");
    refuses("{{ 7 // 2 }}", "line 1: there is no \"//\" of an integer and an integer here");
    refuses("{{ messages|tojson(indent=2) }}", "line 1: there is no filter tojson here");
    refuses("{{ 'a'.split() }}", "line 1: split takes a string: not nothing");
    refuses("{{ 'aa'.replace('a', 'b', 1) }}", "line 1: replace has arguments that are not known here");
    refuses("{% for a in [1] %}{{ loop.cycle(1) }}{% endfor %}", "line 1: there is no loop.cycle here");
    refuses("{% raw %}a{% endraw %}", "line 1: there is no statement raw here");
    refuses("{% break %}", "line 1: break or continue outside of a loop");
    refuses("{% macro m() %}{% break %}{% endmacro %}{% for a in [1] %}{{ m() }}{% endfor %}",
            "line 1: break or continue outside of a loop");
    refuses("{% set a = [1]|select %}{{ a|join }}{{ a|join }}",
            "line 1: an iterator is gone through twice: the filter list makes it a list");
    refuses("{% for a in [1] recursive %}{% endfor %}", "line 1: recursive stands where the end of the tag is wanted");
    refuses("{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "line 1: there is no caller here");
    refuses("{{ '\xc3\xa9'|upper }}", "line 1: upper case: letters beyond ASCII");
    refuses("{{ 99999999999999999999 }}", "line 1: 99999999999999999999 is not known here");
    refuses("{{ 999999999999999999 * 3 }}", "line 1: there is no \"*\" of an integer and an integer here");
    refuses("{% for a in [1] %}{{ tools }}{% endfor %}{% set tools = 1 %}",
            "line 1: tools is set after it was read in a scope within");
    renders("{% for a in [1] %}{{ tools }}{% endfor %}{% if 1 %}{% set tools = 1 %}{% endif %}{{ tools }}", 0, "None1");
    renders("{{ tools }}{% for a in [1] %}{{ tools }}{% set tools = 2 %}{{ tools }}{% endfor %}{% set tools = 1 %}", 0,
            "NoneNone2");
    refuses("{{ raise_exception('no\n\x1b[31m') }}", "line 2: the template says: no\\x0a\\x1b[31m");
    renders("{% if tools %}{{ 1.5|xmlattr(*a)|tojson(indent='\\x20', *b) is divisibleby 2 }}{% for a in b.0.1 %}"
            "{{ a['x':]**2 }}{% endfor %}{% endif %}a\r\nb\rc\n",
            0, "a\nb\nc");
    renders("{{ strftime_now('%Y') }}", 0, "today");
    {
        jinja j;
        CHECK(jinja_render(&j, "{{ strftime_now('%Y')|length }}{{ strftime_now('%-d %b%%')|length > 3 }}", 72, NULL,
                           fill, NULL) == NULL &&
              strcmp(j.text, "4True") == 0);
        jinja_end(&j);
        CHECK(strcmp(jinja_render(&j, "{{ strftime_now('a%Q') }}", 25, NULL, fill, NULL),
                     "line 1: strftime_now: a%Q is not known here") == 0);
        jinja_end(&j);
    }
}

/* Each byte is marked as what it comes from: '.' the template's, 'x' somebody's. */
TEST(jinja_marks)
{
    static const struct {
        const char *text, *want, *marks;
    } cases[] = {
        {"a{{ m }}b", "aab </s>b", ".xxxxxxx."},
        {"{{ m[3:] }}{{ m[1:3] }}", "</s>b ", "xxxxxx"},
        {"{{ m.split(' ')|join('-') }}", "ab-</s>", "xx.xxxx"},
        {"{{ ('<' + m + '>').replace('b', '!!') }}", "<a!! </s>>", ".xxxxxxxx."},
        {"{{ m|upper|lower|capitalize|title }}", "Ab </s>", "xxxxxxx"},
        {"{{ [m, 1]|join(', ') }}{{ m ~ '\"' }}", "ab </s>, 1ab </s>\"", "xxxxxxx...xxxxxxx."},
        {"{% set x %}.{{ m|trim }}{% endset %}{{ x }}{{ x|length }}", ".ab </s>8", ".xxxxxxx."},
        {"{% for c in m %}{{ c }}|{% endfor %}", "a|b| |<|/|s|>|", "x.x.x.x.x.x.x."},
        {"{% macro f(a) %}({{ a }}){% endmacro %}{{ f(m) ~ f(a=m) }}", "(ab </s>)(ab </s>)", ".xxxxxxx..xxxxxxx."},
        {"{{ 'ab </s>' if 'ab' in m }}{{ m == 'ab </s>' }}", "ab </s>True", "..........."},
    };
    static const char *const turns[] = {"user", "ab </s>", NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200], marks[64];
        jinja j;
        const char *error;
        snprintf(text, sizeof text, "{%% set m = messages[0].content %%}%s", cases[i].text);
        error = jinja_render(&j, text, strlen(text), NULL, fill, (void *)(uintptr_t)turns);
        test_case("%s", cases[i].text);
        if (CHECK(!error && strcmp(j.text, cases[i].want) == 0)) {
            for (size_t k = 0; k <= j.size; k++)
                marks[k] = k == j.size ? 0 : j.said[k] ? 'x' : '.';
            if (!CHECK(strcmp(marks, cases[i].marks) == 0))
                fprintf(stderr, "    %s\n    %s\n", j.text, marks);
        } else {
            fprintf(stderr, "    [%s]\n", error ? error : j.text);
        }
        jinja_end(&j);
    }
}

/* Time, depth and memory have ends. */
TEST(jinja_bounds)
{
    static char deep[4000];
    refuses("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", NULL);
    refuses("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "line 1: nested more than 256 deep");
    refuses("{% set ns = namespace(s='abcdefgh') %}{% for a in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
            "line 1: more than 67108864 bytes");
    refuses("{{ 'a' * 4000000000 }}", NULL);
    memset(deep, '(', sizeof deep - 1);
    memset(deep + 2000, ')', sizeof deep - 2001);
    deep[1999] = '1';
    memcpy(deep, "{{ ", 3);
    memcpy(deep + sizeof deep - 4, " }}", 3);
    refuses(deep, "line 1: nested more than 256 deep");
    memset(deep + 3, '-', sizeof deep - 7);
    refuses(deep, "line 1: nested more than 256 deep");
    for (size_t i = 0; i + 10 < sizeof deep; i += 10)
        memcpy(deep + i, "{% if 1 %}", 10);
    refuses(deep, "line 1: nested more than 256 deep");
}

/* Every allocation fails once. */
TEST(jinja_memory)
{
    static const char text[] = "{% set ns = namespace(s='a') %}{% for i in range(16) %}{% set ns.s = ns.s + ns.s %}"
                               "{% endfor %}{{ ns.s }}";
    long live = test_memory_state.live, at = 1;
    int done = 0;
    for (; !done && at < 200; at++) {
        jinja j;
        const char *error;
        test_memory_state.calls = 0;
        test_memory_state.fail_at = at;
        error = render(&j, text, 2);
        done = !error && test_memory_state.fail_at > 0;
        test_memory_state.fail_at = 0;
        CHECK(done || strcmp(error, "no memory") == 0);
        jinja_end(&j);
    }
    CHECK(done && at > 3 && test_memory_state.live == live);
}
