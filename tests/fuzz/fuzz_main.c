/* Calls a fuzz target with each file that the command line names: for a crash that libFuzzer has found, or where there
   is no libFuzzer. */
#include "fuzz.h"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        size_t size = 0, room = 1 << 20;
        char *bytes = malloc(room);
        void *copy;
        if (!file || !bytes) {
            fprintf(stderr, "%s: cannot be opened\n", argv[i]);
            return 1;
        }
        for (size_t got; (got = fread(bytes + size, 1, room - size, file)) > 0;) {
            size += got;
            if (size == room && (bytes = realloc(bytes, room *= 2)) == NULL)
                return 1;
        }
        fclose(file);
        copy = exactly(bytes, size);
        LLVMFuzzerTestOneInput(copy, size);
        free(copy);
        free(bytes);
    }
    printf("%d inputs\n", argc - 1);
    return 0;
}
