/* A program that has taken jinja.h and jinja.c. */
#include "jinja.h"

#include <string.h>

static void fill(jinja *j, void *context)
{
    jinja_say(j, "user", (const char *)context, 3, 1);
}

int main(void)
{
    static const char text[] = "{% for m in messages %}Hi, {{ m.content }}!{% endfor %}";
    char name[] = "Ann";
    jinja j;
    int wrong = jinja_render(&j, text, strlen(text), NULL, fill, name) != NULL || strcmp(j.text, "Hi, Ann!") != 0 ||
                j.said[3] || !j.said[4] || !j.said[6] || j.said[7];
    jinja_end(&j);
    return wrong;
}
