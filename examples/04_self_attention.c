/* Self-attention: the six words of one sentence attend to each other, with no weights to learn. One query by hand,
   three ways to normalise its scores, then all queries at once.

       cc -O2 04_self_attention.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char about[] = "Self-attention: the six words of a sentence attend to each other.";

enum { WORDS = 6, SIZE = 3, QUERY = 1 }; /* QUERY: "journey" */

static const char *const words[WORDS] = {"Your", "journey", "starts", "with", "one", "step"};
static const float embeddings[WORDS][SIZE] = {{0.43f, 0.15f, 0.89f}, {0.55f, 0.87f, 0.66f}, {0.57f, 0.85f, 0.64f},
                                              {0.22f, 0.58f, 0.33f}, {0.77f, 0.25f, 0.10f}, {0.05f, 0.80f, 0.55f}};

/* Softmax as its formula says: exponentials, each divided by their sum. Here of factor * score + shift. */
static void naive_softmax(float *weights, const float *scores, float factor, float shift)
{
    float sum = 0;
    for (int j = 0; j < WORDS; j++)
        sum += weights[j] = expf(factor * scores[j] + shift);
    for (int j = 0; j < WORDS; j++)
        weights[j] /= sum;
}

static float sum_of(const float *numbers)
{
    float sum = 0;
    for (int j = 0; j < WORDS; j++)
        sum += numbers[j];
    return sum;
}

static void draw(const char *directory, attn_mat weights)
{
    show_map map = show_map_of("Your journey starts with one step: attention weights", SHOW_BLUE, "word that asks",
                               "word that is attended to", 4);
    map.row_labels = map.col_labels = words;
    show_heatmap(directory, "04_attention_weights.svg", weights, &map);
}

int main(int argc, char **argv)
{
    const char *directory = show_directory(argc, argv, "[DIRECTORY]", about);
    show_precision(4);

    /* 1. A sentence attends to itself: each word is three numbers, which serve as its query, its key and its value
       alike, without matrices between. */
    attn_mat x = attn_mat_of(embeddings, ATTN_F32, WORDS, SIZE);
    show_title("1. Six words, three numbers each");
    show_mat("inputs", x);

    /* 2. The second word, "journey", is the query. Its dot product with a word is the score: larger the more the two
       point the same way, and the larger their numbers are. */
    float one_score[WORDS] = {0};
    attn_mat query = attn_mat_rows(x, QUERY, 1), query_scores = attn_mat_of(one_score, ATTN_F32, 1, WORDS);
    show_title("2. The second word asks: its dot product with every word, one after another");
    for (size_t j = 0; j < WORDS; j++) {
        SHOW_TRY(attn_scores(attn_mat_cols(query_scores, j, 1), query, attn_mat_rows(x, j, 1), 1));
        show_vec(words[j], query_scores);
    }

    /* 3. A dot product multiplies two rows number by number and adds up: three products for the first score. */
    float dot = 0;
    show_title("3. Inside the first of them: a dot product adds up product by product");
    for (int i = 0; i < SIZE; i++) {
        dot += embeddings[0][i] * embeddings[QUERY][i];
        printf("after %d: %.4f  of %.4f\n", i + 1, (double)dot, (double)one_score[0]);
    }

    /* 4. Weights are shares: they are to add up to 1. Scores over their sum do, unless that sum is 0; but a negative
       score would make a negative weight, which softmax never does. */
    float one_weight[WORDS], sum = sum_of(one_score);
    attn_mat query_weights = attn_mat_of(one_weight, ATTN_F32, 1, WORDS);
    show_title("4. Weights by plain division: scores over their sum");
    for (int j = 0; j < WORDS; j++)
        one_weight[j] = one_score[j] / sum;
    show_vec("weights", query_weights);
    printf("their sum: %.4f\n", (double)sum_of(one_weight));
    puts("(a negative score would make a negative weight, scores that cancel a division\nby zero)");

    /* 5. Softmax divides exponentials, which are never negative. Here the largest score gets a little more than by
       plain division, 0.2379 instead of 0.2278. */
    show_title("5. Weights by softmax from its formula");
    naive_softmax(one_weight, one_score, 1, 0);
    show_vec("weights", query_weights);
    printf("their sum: %.4f\n", (double)sum_of(one_weight));

    /* 6. Taken literally, the formula fails for scores that are large, where exp is infinite, or far below 0, where
       every exp is 0: the division then gives nan, not a number. */
    show_title("6. Where that formula fails");
    naive_softmax(one_weight, one_score, 60, 0);
    show_vec("weights of 60 x scores, where exp overflows", query_weights);
    naive_softmax(one_weight, one_score, 1, -110);
    show_vec("weights of scores - 110, where every exp is 0", query_weights);

    /* 7. With the largest score taken off, no exponential is above 1, whatever the scores, and the largest is 1. Only
       differences between scores matter to softmax, so that the weights are the same. */
    show_title("7. Weights by the library's softmax: the largest score is taken off first");
    SHOW_TRY(attn_softmax(query_weights, query_scores));
    show_vec("weights", query_weights);
    printf("their sum: %.4f\n", (double)sum_of(one_weight));
    for (int j = 0; j < WORDS; j++)
        one_score[j] *= 60;
    SHOW_TRY(attn_softmax(query_weights, query_scores));
    show_precision(2);
    show_vec("weights of 60 x scores", query_weights);
    show_precision(4);

    /* 8. Now every word asks: one product of the words with themselves has all scores, a row for each query. It is the
       same on both sides of its diagonal, as queries and keys are the same here. */
    float memory[4][WORDS * WORDS];
    attn_mat scores = attn_mat_of(memory[0], ATTN_F32, WORDS, WORDS);
    show_title("8. Every word asks: all scores");
    puts("The terms of attention, for the query q = x2:\n"
         "  score, or unnormalised weight   omega(2, j) = x2 . xj, one for each word j\n"
         "  weight                          alpha(2, j), the scores after softmax\n"
         "  context vector                  z2, the sum of the xj, each times alpha(2, j)");
    SHOW_TRY(attn_scores(scores, x, x, 1));
    show_mat("scores", scores);
    show_part(NULL, "words", x, SHOW_PURPLE, "query", "number", 2);
    show_part("×", "words, transposed", attn_mat_t(x), SHOW_ORANGE, "number", "key", 2);
    show_part("=", "scores", scores, SHOW_BLUE, "query", "key", 2);
    show_figure(directory, "04_scores.svg", "All scores: every word with every word", 3);

    /* 9. Softmax in each row: how much each word attends to each word. */
    static const float ones[WORDS] = {1, 1, 1, 1, 1, 1};
    attn_mat weights = attn_mat_of(memory[1], ATTN_F32, WORDS, WORDS);
    attn_mat sums = attn_mat_of(memory[3], ATTN_F32, WORDS, 1);
    show_title("9. All weights, and the sum of each row");
    SHOW_TRY(attn_softmax(weights, scores));
    show_mat("weights", weights);
    SHOW_TRY(attn_matmul(sums, weights, attn_mat_of(ones, ATTN_F32, WORDS, 1)));
    show_vec("sums", sums);
    draw(directory, weights);

    /* 10. Weights times inputs: each word becomes a mix of all, with most of those that score highest with it. This
       context vector is what the next layer sees of it. */
    attn_mat context = attn_mat_of(memory[2], ATTN_F32, WORDS, SIZE);
    show_title("10. All context vectors: the words mixed by these weights");
    SHOW_TRY(attn_weighted_sum(context, weights, x));
    show_mat("context", context);
    show_part(NULL, "weights", weights, SHOW_BLUE, "query", "key", 2);
    show_part("×", "words", x, SHOW_GREEN, "key", "number", 2);
    show_part("=", "context vectors", context, SHOW_GREEN, "query", "number", 2);
    show_figure(directory, "04_context_vectors.svg", "All context vectors: the words, mixed by the weights", 3);
    return show_done();
}
