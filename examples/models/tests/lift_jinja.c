/* A program that has taken jinja.h and jinja.c. */
#include "jinja.h"

#include <string.h>

static void fill(jinja *j, void *context)
{
    jinja_value list = jinja_list(j);
    jinja_add(j, list, jinja_text(j, (const char *)context, 3, 1));
    jinja_set(j, "names", list);
}

int main(void)
{
    static const char text[] = "{% for n in names %}Hi, {{ n }}!{% endfor %}";
    char name[] = "Ann";
    jinja j;
    int wrong = jinja_render(&j, text, strlen(text), NULL, fill, name) != NULL || strcmp(j.text, "Hi, Ann!") != 0 ||
                j.said[3] || !j.said[4] || !j.said[6] || j.said[7];
    jinja_end(&j);
    return wrong;
}
