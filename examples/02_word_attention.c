/* Attention between four words, first word by word, then for all of them in matrix form. Every number up to the scores
   is an integer; the weights are in single precision.

       cc -O2 02_word_attention.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char about[] = "Attention between four words, first word by word, then in matrix form.";

enum { WORDS = 4, SIZE = 4 };

static const char *const labels[WORDS] = {"word 1", "word 2", "word 3", "word 4"};

static attn_mat square(const void *numbers)
{
    return attn_mat_of(numbers, ATTN_F32, WORDS, SIZE);
}

/* The numbers of `ours` that are not those of the notebook, and what they are in double precision. */
static void compare(attn_mat ours, attn_mat notebook, attn_mat exact)
{
    char here[400], there[400];
    puts("not as in the notebook  here           there          in double precision");
    for (size_t i = 0; i < WORDS; i++)
        for (size_t j = 0; j < SIZE; j++) {
            show_text(here, sizeof here, ours, i, j);
            show_text(there, sizeof there, notebook, i, j);
            if (strcmp(here, there) != 0)
                printf(strchr(here, 'e') ? "row %d, column %d         %-14s %-14s %.9e\n"
                                         : "row %d, column %d         %-14s %-14s %.9f\n",
                       (int)i + 1, (int)j + 1, here, there, attn_mat_get(exact, i, j));
        }
}

static void draw(const char *directory, attn_mat weights)
{
    show_map map = show_map_of("Weights of the four words", SHOW_BLUE, "word that asks", "word that is attended to", 4);
    map.row_labels = map.col_labels = labels;
    show_heatmap(directory, "02_attention_weights.svg", weights, &map);
}

int main(int argc, char **argv)
{
    const char *directory = show_directory(argc, argv, "[DIRECTORY]", about);

    /* 1. Four words, each as four numbers; a model would have learnt them. */
    static const float words[WORDS][SIZE] = {{0, 1, 1, 2}, {1, 0, 0, 2}, {1, 1, 0, 2}, {2, 1, 1, 1}};
    attn_mat x = square(words);
    show_title("1. Four words, one in each row");
    show_mat_int("words", x);

    /* 2. Three matrices make queries, keys and values of the words. They have as many rows as a word has numbers, so
       that a word can be multiplied with them. */
    static const float weights_query[SIZE][SIZE] = {{1, 1, 0, 0}, {0, 0, 2, 2}, {1, 2, 2, 2}, {0, 0, 2, 2}};
    static const float weights_key[SIZE][SIZE] = {{1, 1, 0, 2}, {1, 1, 2, 0}, {2, 1, 0, 2}, {0, 0, 0, 1}};
    static const float weights_value[SIZE][SIZE] = {{1, 2, 1, 1}, {1, 2, 0, 1}, {0, 0, 2, 0}, {2, 1, 1, 2}};
    attn_mat wq = square(weights_query), wk = square(weights_key), wv = square(weights_value);
    show_title("2. Weights for queries, keys and values (those that the notebook drew)");
    show_mat_int("w_query", wq);
    show_mat_int("w_key", wk);
    show_mat_int("w_value", wv);

    /* 3. Each word times each matrix: what it asks, what it is found by, what it gives. */
    float queries[WORDS][SIZE], keys[WORDS][SIZE], values[WORDS][SIZE];
    attn_mat q = square(queries), k = square(keys), v = square(values);
    show_title("3. Word by word: a query, a key and a value from each");
    for (size_t i = 0; i < WORDS; i++) {
        attn_mat word = attn_mat_rows(x, i, 1); /* a view of row i; so are the rows of q, k and v */
        SHOW_TRY(attn_matmul(attn_mat_rows(q, i, 1), word, wq));
        SHOW_TRY(attn_matmul(attn_mat_rows(k, i, 1), word, wk));
        SHOW_TRY(attn_matmul(attn_mat_rows(v, i, 1), word, wv));
        printf("-- %s\n", labels[i]);
        show_mat_int("query", attn_mat_rows(q, i, 1));
        show_mat_int("key", attn_mat_rows(k, i, 1));
        show_mat_int("value", attn_mat_rows(v, i, 1));
    }

    /* 4. The first word asks: its query is multiplied with one key after another, and fits the fourth best. */
    float all_scores[WORDS][WORDS];
    attn_mat scores = square(all_scores), q1 = attn_mat_rows(q, 0, 1), scores1 = attn_mat_rows(scores, 0, 1);
    show_title("4. The first word's query with one key after another");
    for (size_t j = 0; j < WORDS; j++)
        SHOW_TRY(attn_scores(attn_mat_cols(scores1, j, 1), q1, attn_mat_rows(k, j, 1), 1));
    show_vec_int("scores of word 1", scores1);

    /* 5. Longer keys have larger sums. Division by the square root of the size takes that out again; else softmax would
       give everything to one key, and training could hardly change that. (These numbers are so large that it does so
       all the same.) */
    show_title("5. Scores divided by the square root of the key size");
    SHOW_TRY(attn_scores(scores1, q1, k, 0)); /* scale 0: 1 / sqrt(key size) */
    show_vec("scaled scores of word 1", scores1);
    puts("(The notebook calls that size three. A key has four numbers here, and its code\n"
         "divides by sqrt(4) = 2, as it should.)");

    /* 6. Softmax makes weights of the scores, which add up to 1: nearly all goes to the fourth word, 15 ahead of the
       next score, for exp(15) is three million. */
    float all_weights[WORDS][WORDS];
    attn_mat weights = square(all_weights), weights1 = attn_mat_rows(weights, 0, 1);
    show_title("6. Weights of the first word");
    SHOW_TRY(attn_softmax(weights1, scores1));
    show_vec("weights of word 1", weights1);

    /* 7. The values, each times its weight, add up to what the first word takes from the four: the value of the fourth,
       practically alone. */
    float attention[WORDS][SIZE];
    attn_mat out = square(attention);
    show_title("7. Attention of the first word: the values, mixed by these weights");
    SHOW_TRY(attn_weighted_sum(attn_mat_rows(out, 0, 1), weights1, v));
    show_mat("attention of word 1", attn_mat_rows(out, 0, 1));
    show_part(NULL, "weights of word 1", weights1, SHOW_BLUE, "query", "key", 2);
    show_part("×", "values", v, SHOW_GREEN, "value", "number", 0);
    show_part("=", "attention of word 1", attn_mat_rows(out, 0, 1), SHOW_GREEN, "query", "number", 2);
    show_figure(directory, "02_first_word.svg", "Attention of the first word", 3);

    /* 8. With all words in one matrix one product takes the place of four, and is computed faster. */
    show_title("8. Matrix form: all queries, all keys, all values");
    SHOW_TRY(attn_matmul(q, x, wq));
    SHOW_TRY(attn_matmul(k, x, wk));
    SHOW_TRY(attn_matmul(v, x, wv));
    show_mat_int("queries", q);
    show_mat_int("keys", k);
    show_mat_int("values", v);

    /* 9. One product of the queries with the keys, transposed, holds every score: a row for each word that asks, a
       column for each that is asked. */
    show_title("9. Matrix form: all scores");
    SHOW_TRY(attn_scores(scores, q, k, 1));
    show_mat_int("scores", scores);
    show_part(NULL, "queries", q, SHOW_PURPLE, "query", "number", 0);
    show_part("×", "keys, transposed", attn_mat_t(k), SHOW_ORANGE, "number", "key", 0);
    show_part("=", "scores", scores, SHOW_BLUE, "query", "key", 0);
    show_figure(directory, "02_scores.svg", "All scores: every query with every key", 3);

    /* 10. Divided by 2, then softmax in each row: every row adds up to 1. All four words attend to the fourth. */
    show_title("10. Matrix form: all weights");
    SHOW_TRY(attn_scores(scores, q, k, 0));
    SHOW_TRY(attn_softmax(weights, scores));
    show_mat("weights", weights);

    static const float notebook_weights[WORDS][WORDS] = {
        {3.0590218e-07f, 1.3887937e-11f, 1.8553907e-07f, 9.9999952e-01f},
        {3.3528148e-04f, 1.3702189e-06f, 2.0335850e-04f, 9.9946004e-01f},
        {1.6701253e-05f, 9.2372021e-09f, 1.0129822e-05f, 9.9997318e-01f},
        {1.1253516e-07f, 1.8795284e-12f, 2.5109987e-08f, 9.9999988e-01f}};
    double exact[6][WORDS * SIZE]; /* the same in double precision: q, k, v, scores, weights, attention */
    attn_mat in_double[6];
    for (int n = 0; n < 6; n++)
        in_double[n] = attn_mat_of(exact[n], ATTN_F64, WORDS, SIZE);
    for (size_t i = 0; i < WORDS; i++)
        for (size_t j = 0; j < SIZE; j++) {
            attn_mat_set(in_double[0], i, j, attn_mat_get(q, i, j));
            attn_mat_set(in_double[1], i, j, attn_mat_get(k, i, j));
            attn_mat_set(in_double[2], i, j, attn_mat_get(v, i, j));
        }
    SHOW_TRY(attn_attention(in_double[5], in_double[4], in_double[0], in_double[1], in_double[2], 0));
    compare(weights, square(notebook_weights), in_double[4]);
    puts("(A float keeps 24 bits, some seven digits. TensorFlow, which the notebook uses,\n"
         "rounds exp and sums otherwise: for the same score it printed 1.8553905e-07 in\n"
         "cell 8 and 1.8553907e-07 in cell 15.)");

    draw(directory, weights);

    /* 11. Weights times values: one row for each word, and all of them close to the fourth value. What differs here
       comes from weights that differ in step 10, and from how sums are rounded. */
    show_title("11. Matrix form: attention of all four words");
    SHOW_TRY(attn_weighted_sum(out, weights, v));
    show_mat("attention", out);
    static const float notebook_attention[WORDS][SIZE] = {{5.0000005f, 6.999999f, 4.9999995f, 5.0000005f},
                                                          {5.0002036f, 6.998787f, 4.9992557f, 5.0002036f},
                                                          {5.0000105f, 6.99994f, 4.9999633f, 5.0000105f},
                                                          {5.f, 6.9999995f, 5.f, 5.f}};
    compare(out, square(notebook_attention), in_double[5]);
    show_part(NULL, "weights", weights, SHOW_BLUE, "query", "key", 4);
    show_part("×", "values", v, SHOW_GREEN, "value", "number", 0);
    show_part("=", "attention", out, SHOW_GREEN, "query", "number", 3);
    show_figure(directory, "02_attention.svg", "Attention of all four words", 3);

    /* 12. In a program it is one call, which need not keep the scores. */
    show_title("12. Beyond: the same in one call, from queries, keys and values");
    SHOW_TRY(attn_attention(out, weights, q, k, v, 0));
    show_mat("attention", out);
    return show_done();
}
