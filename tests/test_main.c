/* Runs the tests; counts checks, calls of public functions, and memory. */
#include "test.h"

#include <stdarg.h>

int test_quick;

/* list.h, generated: RUN(name) for each test of the program, in the order of files and lines; PUBLIC(name) for each
   function that they have to call */
#define RUN(name) void test_##name(void);
#define PUBLIC(name)
#include "list.h"
#undef RUN
#undef PUBLIC

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
#define RUN(name) {#name, test_##name},
#define PUBLIC(name)
#include "list.h"
#undef RUN
#undef PUBLIC
};

static const char *const public_functions[] = {
#define RUN(name)
#define PUBLIC(name) #name,
#include "list.h"
    NULL};

/* ---- checks ---- */

static unsigned long checks, failures; /* of the running test */
static char context[256];

void test_case(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
}

static int held_or_shown(int held, const char *file, int line, const char *what)
{
    checks++;
    if (held)
        return 1;
    if (++failures <= 5)
        printf("%s:%d: %s\n    in: %s\n", file, line, what, context[0] ? context : "-");
    return 0;
}

int test_check(int held, const char *file, int line, const char *what)
{
    return held_or_shown(held, file, line, what);
}

int test_check_status(attn_status got, attn_status want, const char *file, int line, const char *what)
{
    if (!held_or_shown(got == want, file, line, what) && failures <= 5)
        printf("    got \"%s\", want \"%s\"\n", (attn_status_string)(got), (attn_status_string)(want));
    return got == want;
}

int test_check_near(real got, real want, real tolerance, const char *file, int line, const char *what)
{
    int held = isnan(want) ? isnan(got) : got == want || fabsl(got - want) <= tolerance;
    if (!held_or_shown(held, file, line, what) && failures <= 5)
        printf("    got %.17Lg, want %.17Lg within %.3Lg\n", got, want, tolerance);
    return held;
}

/* ---- which public functions were called ---- */

static int covered[sizeof public_functions / sizeof *public_functions];

void test_cover(const char *function)
{
    static const char *seen[256]; /* string literals met before, by address */
    const char **slot = &seen[((uintptr_t)function >> 2) % 256];
    if (*slot == function)
        return;
    *slot = function;
    for (size_t i = 0; public_functions[i]; i++)
        if (strcmp(public_functions[i], function) == 0)
            covered[i] = 1;
}

static int report_uncovered(void)
{
    int missing = 0;
    for (size_t i = 0; public_functions[i]; i++)
        if (!covered[i]) {
            printf("no test calls %s\n", public_functions[i]);
            missing++;
        }
    return missing;
}

/* ---- the run ---- */

static uint64_t random_state;

uint64_t test_random(void) /* splitmix64 */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int run_test(const char *name, void (*run)(void))
{
    long live = test_memory_state.live;
    random_state = 0;
    for (const char *c = name; *c; c++)
        random_state = random_state * 31 + (unsigned char)*c;
    checks = failures = 0;
    test_turn = 0;
    context[0] = 0;
    run();
    test_case("at the end: memory not freed, or no check made");
    CHECK(test_memory_state.live == live && checks > 0);
    test_release();
    if (failures)
        printf("FAIL %s: %lu of %lu checks\n", name, failures, checks);
    return failures != 0;
}

/* "=cache_ring" means that test alone, "cache_ring" all whose names contain it. */
static int means(const char *word, const char *name)
{
    return *word == '=' ? strcmp(name, word + 1) == 0 : strstr(name, word) != NULL;
}

/* Whether the words on the command line, a name or - and a name, choose this test: by one of the former, if there are
   any, and by none of the latter. */
static int chosen(const char *name, int argc, char **argv)
{
    int wanted = 0, names = 0;
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-') {
            names++;
            wanted |= means(argv[i], name);
        } else if (means(argv[i] + 1, name)) {
            return 0;
        }
    return wanted || names == 0;
}

/* Words that mean no test. */
static int report_unknown(int argc, char **argv)
{
    int unknown = 0;
    for (int i = 1; i < argc; i++) {
        int known = 0;
        for (size_t n = 0; n < sizeof tests / sizeof *tests; n++)
            known |= means(argv[i] + (argv[i][0] == '-'), tests[n].name);
        if (!known)
            printf("FAIL no test is called %s\n", argv[i]);
        unknown += !known;
    }
    return unknown;
}

int main(int argc, char **argv)
{
    const char *level = getenv("TEST_LEVEL");
    int passed = 0, failed = 0;
    test_quick = !level || strcmp(level, "full") != 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (chosen(tests[i].name, argc, argv)) {
            int bad = run_test(tests[i].name, tests[i].run);
            failed += bad;
            passed += !bad;
        }
    failed += report_unknown(argc, argv);
    if (argc < 2 && *public_functions) { /* the coverage of the public functions counts as one test */
        int bad = report_uncovered() > 0;
        failed += bad;
        passed += !bad;
    }
    printf("instruction sets:");
    FOR_EACH_ISA (isa)
        printf(" %s", attn_isa_string(isa));
    printf("%s\n%d passed, %d failed\n", test_quick ? "" : " (full)", passed, failed);
    return failed > 0 || passed == 0;
}
