/* What check_chat.py runs: renders a conversation from the chat template of a directory.

       render_chat DIRECTORY SYSTEM DATE NO_THINKING TURN...

   SYSTEM and DATE may be "-": none. Prints the text, and in a last line the ids of its tokens; exit status 2, and the
   message, if it cannot be. */
#include "examples/models/chat.h"

#include <stdio.h>
#include <string.h>

static const char *given(const char *argument)
{
    return strcmp(argument, "-") ? argument : NULL;
}

static const char *render(chat *talk, const tokenizer *tokens, int count, char **turns, tokenizer_ids *ids)
{
    const char *error = NULL;
    for (int i = 0; i < count && !error; i++)
        error = i % 2 ? chat_assistant(talk, turns[i], strlen(turns[i])) : chat_user(talk, turns[i], strlen(turns[i]));
    if (!error)
        error = chat_render(talk);
    return error ? error : chat_encode(talk, tokens, ids);
}

int main(int count, char **arguments)
{
    chat_opts opts = {CHAT_NONE, NULL, 0, NULL, NULL};
    tokenizer tokens;
    tokenizer_ids ids = {NULL, 0, 0};
    chat talk;
    const char *error;
    if (count < 6)
        return fprintf(stderr, "render_chat DIRECTORY SYSTEM DATE NO_THINKING TURN...\n"), 1;
    if ((error = tokenizer_open(&tokens, arguments[1])) != NULL)
        return fprintf(stderr, "render_chat: %s\n", error), 1;
    opts.system = given(arguments[2]);
    opts.date = given(arguments[3]);
    opts.no_thinking = arguments[4][0] == '1';
    opts.tokens = &tokens;
    error = chat_begin(&talk, &opts);
    if (!error)
        error = render(&talk, &tokens, count - 5, arguments + 5, &ids);
    if (error) {
        fprintf(stderr, "%s\n", error);
    } else {
        fwrite(talk.text, 1, talk.size, stdout);
        for (size_t i = 0; i < ids.count; i++)
            printf("%s%ld", i ? " " : "\n", (long)ids.ids[i]);
        printf("\n");
    }
    chat_end(&talk);
    tokenizer_ids_free(&ids);
    tokenizer_close(&tokens);
    return error ? 2 : 0;
}
