/* A program that has taken json.h and json.c. */
#include "json.h"

#include <string.h>

int main(void)
{
    static const char text[] = "{\"num_layers\": 6, \"dropout_rate\": 0.1, \"architectures\": [\"T5\\u0041\"]}";
    json config, name;
    uint64_t layers = 0;
    double rate = 0;
    int members = 0;
    if (json_parse(&config, text, strlen(text), NULL))
        return 1;
    for (name = json_first(config); name.type; name = json_next(name))
        members++;
    return !(json_uint(json_get(config, "num_layers"), &layers) && layers == 6 && members == 3 &&
             json_double(json_get(config, "dropout_rate"), &rate) && rate == 0.1 &&
             json_is(json_first(json_get(config, "architectures")), "T5A"));
}
