/* A program that has taken sentencepiece.h and sentencepiece.c, and charsmap.h, heap.h, trie.h, text.h and shown.h with
   them. */
#include "sentencepiece.h"

#include <stdlib.h>
#include <string.h>

int main(void)
{
    /* three pieces: <unk> (type 2), U+2581 a (score -1), b (score -2) */
    static const char proto[] = "\n\011\n\005<unk>\030\002"
                                "\n\013\n\004\342\226\201a\025\0\0\200\277"
                                "\n\010\n\001b\025\0\0\0\300";
    static const int32_t want[] = {1, 2, 2, 0};
    sentencepiece_tokens tokens;
    sentencepiece model;
    char *text = NULL;
    size_t size;
    int right;
    if (sentencepiece_parse(&model, proto, sizeof proto - 1, "proto") ||
        sentencepiece_encode(&model, "abb?", 4, &tokens) ||
        sentencepiece_decode(&model, tokens.ids, tokens.count, &text, &size))
        return 1;
    right = tokens.count == 4 && !memcmp(tokens.ids, want, sizeof want) && !strcmp(text, "abb \342\201\207 ");
    sentencepiece_tokens_free(&tokens);
    sentencepiece_close(&model);
    free(text);
    return !right;
}
