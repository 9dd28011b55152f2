/* Loads the shared library named by the first argument and calls into it. */
#include <dlfcn.h>
#include <string.h>
#include "attn.h"

int main(int argc, char **argv)
{
    const char *(*isa_string)(attn_isa isa);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = library ? dlsym(library, "attn_isa_string") : NULL;
    if (!symbol)
        return 1;
    memcpy(&isa_string, &symbol, sizeof symbol);
    return strcmp(isa_string(ATTN_ISA_SCALAR), "scalar") != 0;
}
