/* Written by make_tags.py with SentencePiece 0.2.3, for test_tokenizer.c. */
/* clang-format off */

/* Model, pieces that are control pieces, text, ids and how many they are. */
static const struct {
    const char *model, *names[5], *text;
    size_t count;
    int32_t ids[35];
} tag_goldens[] = {
    {"bpe_turns", {"<start_of_turn>", NULL}, "<start_of_turn>user\nHi!", 21,
     {582, 493, 494, 313, 494, 585, 497, 511, 585, 494, 326, 492, 583, 499, 493, 490, 495, 13, 549, 496, 53}},
    {"bpe_turns", {"<start_of_turn>", NULL}, "Who?<end_of_turn>\n<start_of_turn>model\n", 34,
     {528, 501, 497, 559, 582, 278, 500, 585, 497, 511, 585, 494, 326, 492, 583, 13, 582, 493, 494, 313, 494, 585,
      497, 511, 585, 494, 326, 492, 583, 506, 497, 500, 321, 13}},
    {"bpe_turns", {"<start_of_turn>", NULL}, "<start_of_turn><start_of_turn>>", 27,
     {582, 493, 494, 313, 494, 585, 497, 511, 585, 494, 326, 492, 583, 582, 493, 494, 313, 494, 585, 497, 511, 585,
      494, 326, 492, 583, 583}},
    {"bpe_turns", {"<start_of_turn>", NULL}, "a<|user|>: <|user|>, abcd ab\n\n<start_of_turn", 24,
     {491, 7, 489, 6, 513, 489, 11, 500, 489, 10, 13, 13, 582, 493, 494, 313, 494, 585, 497, 511, 585, 494, 326, 492}},
    {"bpe_turns", {"<start_of_turn>", NULL}, "New York == <start_of_turn>New York", 18,
     {9, 489, 17, 489, 582, 493, 494, 313, 494, 585, 497, 511, 585, 494, 326, 492, 583, 9}},
    {"bpe_turns", {"<start_of_turn>", "<|user|>:", "\n", "abc", NULL}, "<start_of_turn>user\nHi!", 21,
     {582, 493, 494, 313, 494, 585, 497, 511, 585, 494, 326, 492, 583, 499, 493, 490, 495, 30, 549, 496, 53}},
    {"bpe_turns", {"<start_of_turn>", "<|user|>:", "\n", "abc", NULL}, "Who?<end_of_turn>\n<start_of_turn>model\n", 34,
     {528, 501, 497, 559, 582, 278, 500, 585, 497, 511, 585, 494, 326, 492, 583, 30, 582, 493, 494, 313, 494, 585,
      497, 511, 585, 494, 326, 492, 583, 506, 497, 500, 321, 30}},
    {"bpe_turns", {"<start_of_turn>", "<|user|>:", "\n", "abc", NULL}, "<start_of_turn><start_of_turn>>", 27,
     {582, 493, 494, 313, 494, 585, 497, 511, 585, 494, 326, 492, 583, 582, 493, 494, 313, 494, 585, 497, 511, 585,
      494, 326, 492, 583, 583}},
    {"bpe_turns", {"<start_of_turn>", "<|user|>:", "\n", "abc", NULL}, "a<|user|>: <|user|>, abcd ab\n\n<start_of_turn", 25,
     {491, 6, 543, 489, 6, 513, 489, 10, 12, 489, 10, 30, 30, 582, 493, 494, 313, 494, 585, 497, 511, 585, 494, 326,
      492}},
    {"bpe_turns", {"<start_of_turn>", "<|user|>:", "\n", "abc", NULL}, "New York == <start_of_turn>New York", 18,
     {9, 489, 17, 489, 582, 493, 494, 313, 494, 585, 497, 511, 585, 494, 326, 492, 583, 9}},
    {"unigram", {"<sep>", "<sep>>", NULL}, "<sep>user\nHi!", 11,
     {3, 235, 901, 335, 236, 12, 8, 38, 607, 72, 2}},
    {"unigram", {"<sep>", "<sep>>", NULL}, "Who?<end_of_turn>\n<sep>model\n", 23,
     {725, 28, 23, 179, 235, 802, 238, 23, 87, 238, 70, 99, 39, 236, 3, 235, 901, 335, 236, 337, 23, 895, 9}},
    {"unigram", {"<sep>", "<sep>>", NULL}, "<sep><sep>>", 10,
     {3, 235, 901, 335, 236, 235, 901, 335, 236, 236}},
    {"unigram", {"<sep>", "<sep>>", NULL}, "a<|user|>: <|user|>, abcd ab\n\n<start_of_turn", 35,
     {6, 235, 2, 12, 8, 38, 2, 236, 230, 3, 235, 2, 12, 8, 38, 2, 236, 11, 3, 351, 17, 6, 29, 3, 235, 943, 61, 70,
      238, 23, 87, 238, 70, 99, 39}},
    {"unigram", {"<sep>", "<sep>>", NULL}, "New York == <sep>New York", 11,
     {653, 122, 3, 349, 3, 235, 901, 335, 236, 652, 122}}};
