/* A program that has taken bpe.h, bpe.c and their parts (bpe_model.h, bpe_read.c, bpe_split.c, bpe_merge.c,
   bpe_unigram.c), and what these take: patterns.h, patterns.c, unicode.h, unicode.c, unicode_tables.h, json.h, json.c,
   added.h, charsmap.h, heap.h, text.h, trie.h and shown.h. */
#include "bpe.h"

#include <stdlib.h>
#include <string.h>

int main(void)
{
    static const char file[] =
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\\u0120\":3},\"merges\":[\"a b\"]},"
        "\"added_tokens\":[{\"id\":4,\"content\":\"</s>\",\"special\":true}],"
        "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"decoder\":{\"type\":\"ByteLevel\"}}";
    static const int32_t want[] = {2, 3, 1, 0, 4};
    bpe_tokens tokens;
    bpe model;
    char *text = NULL;
    size_t size;
    int right;
    if (bpe_parse(&model, file, sizeof file - 1, "file") ||
        bpe_encode_as(&model, "ab ba</s>", 9, BPE_SPECIAL, &tokens) ||
        bpe_decode(&model, tokens.ids, tokens.count, &text, &size))
        return 1;
    right = tokens.count == 5 && !memcmp(tokens.ids, want, sizeof want) && !strcmp(text, "ab ba") &&
            bpe_id(&model, "</s>", 4) == 4;
    bpe_tokens_free(&tokens);
    bpe_close(&model);
    free(text);
    return !right;
}
