/* Fuzz target: templates. The input is one. Somebody has said texts with a byte that no template here has: wherever it
   comes out, it is marked. How to run: fuzz.h. */
#include "fuzz.h"

#include "examples/models/jinja.c"
#include "examples/models/unicode.c"

enum { MARK = 0xf5 }; /* in no UTF-8, and in no escape's */

static void fill(jinja *j, void *context)
{
    (void)context;
    jinja_say(j, "system", "\xf5", 1, 1);
    jinja_say(j, "user", " \xf5\xc3\xa9 a,b</think>\xf5 \xe2\x80\xa8'\"\n", 23, 1);
    jinja_say(j, "assistant", "", 0, 1);
    jinja_set(j, "tools", NULL);
    jinja_flag(j, "add_generation_prompt", 1);
    jinja_set(j, "bos_token", "<s>");
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
