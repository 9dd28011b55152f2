/* A program that has taken wordpiece.h and wordpiece.c, and what these take: unicode.h, unicode.c, unicode_tables.h,
   json.h, json.c, added.h, trie.h, text.h and shown.h. */
#include "wordpiece.h"

#include <string.h>

int main(void)
{
    static const char vocab[] = "[UNK]\n[CLS]\n[SEP]\nattention\n##s\nweigh\n.\n";
    static const int32_t want[] = {3, 5, 4, 6, 0, 2};
    wordpiece_files files;
    wordpiece_tokens tokens;
    wordpiece model;
    int right;
    memset(&files, 0, sizeof files);
    files.vocab = vocab;
    files.vocab_size = strlen(vocab);
    if (wordpiece_parse(&model, &files, "model") || wordpiece_encode(&model, "Attention weighs. 1[SEP]", 24, &tokens))
        return 1;
    right = tokens.count == 6 && !memcmp(tokens.ids, want, sizeof want) && model.cls_id == 1 && model.pad_id == -1;
    wordpiece_tokens_free(&tokens);
    wordpiece_close(&model);
    return !right;
}
