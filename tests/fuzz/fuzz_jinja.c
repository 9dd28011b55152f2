/* Fuzz target: templates. The input is one. Somebody has said texts with a byte that no template here has: wherever it
   comes out, it is marked. How to run: fuzz.h. */
#include "fuzz.h"

#include "examples/models/jinja.c"
#include "examples/models/jinja_read.c"
#include "examples/models/jinja_values.c"
#include "examples/models/jinja_words.c"
#include "examples/models/json.c"
#include "examples/models/unicode.c"

enum { MARK = 0xf5 }; /* in no UTF-8, and in no escape's */

static void add_message(jinja *j, jinja_value list, const char *role, const char *text)
{
    jinja_value turn = jinja_dict(j);
    jinja_put(j, turn, "role", jinja_text(j, role, strlen(role), 0));
    jinja_put(j, turn, "content", jinja_text(j, text, strlen(text), 1));
    jinja_add(j, list, turn);
}

static void fill(jinja *j, void *context)
{
    jinja_value list = jinja_list(j);
    (void)context;
    add_message(j, list, "system", "\xf5");
    add_message(j, list, "user", " \xf5\xc3\xa9 a,b</think>\xf5 \xe2\x80\xa8'\"\n");
    add_message(j, list, "assistant", "");
    jinja_set(j, "messages", list);
    jinja_set(j, "m", jinja_text(j, "\xf5x\xf5", 3, 1));
    jinja_set(j, "tools", jinja_none());
    jinja_set(j, "add_generation_prompt", jinja_bool(1));
    jinja_set(j, "bos_token", jinja_text(j, "<s>", 3, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *copy = exactly(bytes, size);
    jinja j;
    const char *error;
    memset(&j, 0x5a, sizeof j);
    error = jinja_render(&j, copy, size, "today", fill, NULL);
    if (error) {
        size_t length = strlen(error);
        MUST(error == j.error && length > 8 && length < sizeof j.error && !j.text);
        MUST(strncmp(error, "line ", 5) == 0 && is_utf8(error, length));
        for (size_t i = 0; i < length; i++)
            MUST((unsigned char)error[i] >= 0x20 && error[i] != 0x7f);
    } else {
        MUST(j.text[j.size] == 0);
        for (size_t i = 0; i < j.size && !memchr(bytes, MARK, size); i++)
            MUST((unsigned char)j.text[i] != MARK || j.said[i]);
    }
    jinja_end(&j);
    MUST(!j.text && !j.blocks);
    free(copy);
    return 0;
}
