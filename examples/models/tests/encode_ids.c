/* The ids that a decoder's tokenizer makes of each line of the input, with what stands before and behind a text:

       encode_ids DIRECTORY < FILE

   \n stands for LF in a line, \\ for a backslash. For check_saved.py. */
#include "examples/models/text.h"
#include "examples/models/tokenizer.h"

/* The next line: its size; -1: there is none. */
static long read_line(text_buffer *line)
{
    int c, before = 0;
    char byte;
    for (line->size = 0; (c = getchar()) != EOF && c != '\n' && !line->failed; before = before == '\\' ? 0 : c) {
        byte = (char)(before == '\\' && c == 'n' ? '\n' : c);
        line->size -= before == '\\';
        text_append(line, text_of(&byte, 1));
    }
    return c == EOF || line->failed ? -1 : (long)line->size;
}

int main(int argc, char **argv)
{
    text_buffer line = {NULL, 0, 0, 0};
    tokenizer tokens;
    tokenizer_ids ids = {NULL, 0, 0};
    const char *error = argc == 2 ? tokenizer_open(&tokens, argv[1]) : "usage: encode_ids DIRECTORY < FILE";
    int opened = !error;
    long size;
    if (opened)
        fputs(tokens.notes, stderr);
    while (!error && (size = read_line(&line)) >= 0) {
        ids.count = 0;
        if ((error = tokenizer_begin(&tokens, &ids)) == NULL &&
            (error = tokenizer_encode(&tokens, line.text, (size_t)size, 0, &ids)) == NULL)
            error = tokenizer_end(&tokens, &ids);
        for (size_t i = 0; !error && i < ids.count; i++)
            printf("%s%ld", i ? " " : "", (long)ids.ids[i]);
        putchar('\n');
    }
    if (error)
        fprintf(stderr, "encode_ids: %s\n", error);
    free(line.text);
    tokenizer_ids_free(&ids);
    if (opened)
        tokenizer_close(&tokens);
    return error != NULL;
}
