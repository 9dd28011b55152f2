/* Attention between four words, first word by word, then for all of them in matrix form. Every number up to the scores
   is an integer; the weights are in single precision.

       cc -O2 02_word_attention.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

#define WORDS 4
#define SIZE 4

static const float words[WORDS][SIZE] = {{0, 1, 1, 2}, {1, 0, 0, 2}, {1, 1, 0, 2}, {2, 1, 1, 1}};
static const float weights_query[SIZE][SIZE] = {{1, 1, 0, 0}, {0, 0, 2, 2}, {1, 2, 2, 2}, {0, 0, 2, 2}};
static const float weights_key[SIZE][SIZE] = {{1, 1, 0, 2}, {1, 1, 2, 0}, {2, 1, 0, 2}, {0, 0, 0, 1}};
static const float weights_value[SIZE][SIZE] = {{1, 2, 1, 1}, {1, 2, 0, 1}, {0, 0, 2, 0}, {2, 1, 1, 2}};
static const char *const labels[WORDS] = {"word 1", "word 2", "word 3", "word 4"};

int main(int argc, char **argv)
{
    const char *directory = show_directory(argc, argv);
    attn_mat x = attn_mat_of(words, ATTN_F32, WORDS, SIZE);
    attn_mat wq = attn_mat_of(weights_query, ATTN_F32, SIZE, SIZE);
    attn_mat wk = attn_mat_of(weights_key, ATTN_F32, SIZE, SIZE);
    attn_mat wv = attn_mat_of(weights_value, ATTN_F32, SIZE, SIZE);
    float memory[6][WORDS * SIZE];
    attn_mat q = attn_mat_of(memory[0], ATTN_F32, WORDS, SIZE);
    attn_mat k = attn_mat_of(memory[1], ATTN_F32, WORDS, SIZE);
    attn_mat v = attn_mat_of(memory[2], ATTN_F32, WORDS, SIZE);
    attn_mat scores = attn_mat_of(memory[3], ATTN_F32, WORDS, WORDS);
    attn_mat weights = attn_mat_of(memory[4], ATTN_F32, WORDS, WORDS);
    attn_mat out = attn_mat_of(memory[5], ATTN_F32, WORDS, SIZE);
    attn_mat q1 = attn_mat_rows(q, 0, 1), scores1 = attn_mat_rows(scores, 0, 1); /* views: row 1 of q and of scores */
    attn_mat weights1 = attn_mat_rows(weights, 0, 1), out1 = attn_mat_rows(out, 0, 1);
    show_map map = show_map_of("Weights of the four words", SHOW_BLUE, 4);

    show_title("1. Four words, one in each row");
    show_mat_int("words", x);

    show_title("2. Weights for queries, keys and values (random in the original, fixed here)");
    show_mat_int("w_query", wq);
    show_mat_int("w_key", wk);
    show_mat_int("w_value", wv);

    show_title("3. Word by word: a query, a key and a value from each");
    for (size_t i = 0; i < WORDS; i++) {
        attn_mat word = attn_mat_rows(x, i, 1);
        SHOW_TRY(attn_matmul(attn_mat_rows(q, i, 1), word, wq));
        SHOW_TRY(attn_matmul(attn_mat_rows(k, i, 1), word, wk));
        SHOW_TRY(attn_matmul(attn_mat_rows(v, i, 1), word, wv));
        printf("-- %s\n", labels[i]);
        show_mat_int("query", attn_mat_rows(q, i, 1));
        show_mat_int("key", attn_mat_rows(k, i, 1));
        show_mat_int("value", attn_mat_rows(v, i, 1));
    }

    show_title("4. The first word's query with one key after another");
    for (size_t j = 0; j < WORDS; j++)
        SHOW_TRY(attn_scores(attn_mat_cols(scores1, j, 1), q1, attn_mat_rows(k, j, 1), 1));
    show_vec_int("scores of word 1", scores1);

    show_title("5. Scores divided by the square root of the key size");
    puts("The original text calls that size three. A key has four numbers here, and its code\n"
         "divides by sqrt(4) = 2, as it should.");
    SHOW_TRY(attn_scores(scores1, q1, k, 0)); /* scale 0: 1 / sqrt(key size) */
    show_vec("scaled scores of word 1", scores1);

    show_title("6. Weights of the first word");
    SHOW_TRY(attn_softmax(weights1, scores1));
    show_vec("weights of word 1", weights1);

    show_title("7. Attention of the first word: the values, mixed by these weights");
    SHOW_TRY(attn_weighted_sum(out1, weights1, v));
    show_mat("attention of word 1", out1);

    show_title("8. Matrix form: all queries, all keys, all values");
    SHOW_TRY(attn_matmul(q, x, wq));
    SHOW_TRY(attn_matmul(k, x, wk));
    SHOW_TRY(attn_matmul(v, x, wv));
    show_mat_int("queries", q);
    show_mat_int("keys", k);
    show_mat_int("values", v);

    show_title("9. Matrix form: all scores");
    SHOW_TRY(attn_scores(scores, q, k, 1));
    show_mat_int("scores", scores);

    show_title("10. Matrix form: all weights");
    SHOW_TRY(attn_scores(scores, q, k, 0));
    SHOW_TRY(attn_softmax(weights, scores));
    show_mat("weights", weights);
    map.row_labels = map.col_labels = labels;
    map.row_name = "query";
    map.col_name = "key";
    show_heatmap(directory, "02_attention_weights.svg", weights, &map);

    show_title("11. Matrix form: attention of all four words");
    SHOW_TRY(attn_weighted_sum(out, weights, v));
    show_mat("attention", out);

    show_title("12. The same in one call, from queries, keys and values");
    SHOW_TRY(attn_attention(out, weights, q, k, v, 0));
    show_mat("attention", out);
    return show_done();
}
