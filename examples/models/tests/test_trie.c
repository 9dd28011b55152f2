/* The longest of a set of strings that a text begins with: against comparing with all of them; and what it costs. */
#include "test.h"

#include "examples/models/trie.h"

enum { ROOM = 64 };

static int compare(const void *a, const void *b)
{
    const trie_word *x = a, *y = b;
    int order = trie_compare(x, y);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static int32_t naive_longest(const trie_word *words, size_t count, const char *text, size_t size, size_t *used)
{
    int32_t id = -1;
    size_t longest = 0;
    for (size_t i = 0; i < count; i++)
        if (words[i].size <= size && words[i].size > longest && !memcmp(words[i].text, text, words[i].size)) {
            longest = *used = words[i].size;
            id = words[i].id;
        }
    return id;
}

/* Words of one to four letters, so that many are alike, or begin as others do. */
TEST(trie_longest)
{
    for (int letters = 1; letters <= 200; letters = 3 * letters + 1)
        for (size_t count = 0; count <= ROOM; count = 2 * count + 1) {
            trie_word words[ROOM];
            trie t;
            char *text = test_block(ROOM);
            for (size_t i = 0; i < ROOM; i++)
                text[i] = (char)test_below((size_t)letters);
            for (size_t i = 0; i < count; i++) {
                words[i].text = text + test_below(ROOM - 4);
                words[i].size = 1 + test_below(4);
                words[i].id = (int32_t)i;
            }
            qsort(words, count, sizeof *words, compare);
            test_case("%d letters, %d words", letters, (int)count);
            if (!CHECK(trie_build(&t, words, count) == NULL))
                continue;
            for (size_t at = 0; at < ROOM; at++) {
                size_t used = 99, want = 99;
                int32_t id = naive_longest(words, count, text + at, ROOM - at, &want);
                CHECK(trie_longest(&t, text + at, ROOM - at, &used) == id && used == want);
            }
            CHECK(trie_longest(&t, NULL, 0, NULL) == -1);
            trie_free(&t);
            CHECK(!t.nodes && !t.bytes);
        }
}

/* Words that share all but their ends, of which a text of one letter holds none: a walk takes as many steps as that
   beginning has bytes, and looks at one child in each, however many words there are. */
TEST(trie_alike)
{
    enum { WORDS = 2000, SHARED = 494, SIZE = 500 };
    trie_word *words = test_block(WORDS * sizeof *words);
    char *text = test_block(WORDS * SIZE), a[SIZE];
    uint32_t node = 0;
    size_t steps = 0, used = 0;
    trie t;
    memset(text, 'a', WORDS * SIZE);
    memset(a, 'a', sizeof a);
    for (size_t i = 0; i < WORDS; i++) {
        char number[8];
        snprintf(number, sizeof number, "b%05d", (int)i);
        memcpy(text + i * SIZE + SHARED, number, SIZE - SHARED);
        words[i].text = text + i * SIZE;
        words[i].size = SIZE;
        words[i].id = (int32_t)i;
    }
    if (!CHECK(trie_build(&t, words, WORDS) == NULL))
        return;
    for (; (node = trie_step(&t, node, 'a')) != 0; steps++)
        CHECK(t.nodes[node + 1].first == t.nodes[node].first + 1);
    CHECK(steps == SHARED && trie_longest(&t, a, SIZE, &used) == -1);
    for (size_t i = 0; i < WORDS; i++)
        CHECK(trie_longest(&t, words[i].text, SIZE, &used) == (int32_t)i && used == SIZE);
    trie_free(&t);
}

/* As many nodes as there may be are counted here, and not built; one more is refused before memory is asked for. */
TEST(trie_limit)
{
    char *text = test_block(TRIE_NODES);
    long live = test_memory_state.live;
    size_t peak = test_memory_state.peak = test_memory_state.bytes;
    trie_word words[2];
    const char *error;
    trie t;
    memset(text, 'a', TRIE_NODES);
    words[0].text = words[1].text = text;
    words[0].size = words[1].size = TRIE_NODES - 1;
    words[0].id = words[1].id = 0;
    CHECK(trie_count(words, 0) == 1);
    CHECK(trie_count(words, 1) == TRIE_NODES);
    CHECK(trie_count(words, 2) == TRIE_NODES);
    words[1].size++;
    CHECK(trie_count(words, 2) == TRIE_NODES + (size_t)1);
    error = trie_build(&t, words, 2);
    CHECK(error && strcmp(error, "the words make a trie of more than 16777216 nodes") == 0 && !t.nodes && !t.bytes);
    CHECK(test_memory_state.live == live && test_memory_state.peak == peak);
}
