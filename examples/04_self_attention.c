/* Self-attention: the six words of one sentence attend to each other, with no weights to learn. One query by hand,
   three ways to normalise its scores, then all queries at once.

       cc -O2 04_self_attention.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

#define WORDS 6
#define SIZE 3
#define QUERY 1 /* "journey" */

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

int main(int argc, char **argv)
{
    const char *directory = show_directory(argc, argv);
    float one_score[WORDS] = {0}, one_weight[WORDS], ones[WORDS] = {1, 1, 1, 1, 1, 1}, dot = 0, sum;
    float memory[4][WORDS * WORDS];
    attn_mat x = attn_mat_of(embeddings, ATTN_F32, WORDS, SIZE); /* queries, keys and values alike */
    attn_mat query = attn_mat_rows(x, QUERY, 1);
    attn_mat query_scores = attn_mat_of(one_score, ATTN_F32, 1, WORDS);
    attn_mat query_weights = attn_mat_of(one_weight, ATTN_F32, 1, WORDS);
    attn_mat scores = attn_mat_of(memory[0], ATTN_F32, WORDS, WORDS);
    attn_mat weights = attn_mat_of(memory[1], ATTN_F32, WORDS, WORDS);
    attn_mat context = attn_mat_of(memory[2], ATTN_F32, WORDS, SIZE);
    attn_mat sums = attn_mat_of(memory[3], ATTN_F32, WORDS, 1);
    show_map map = show_map_of("Your journey starts with one step: attention weights", SHOW_BLUE, 4);
    show_precision(4);

    show_title("1. Six words, three numbers each");
    show_mat("inputs", x);

    show_title("2. The second word asks: its dot product with every word, one after another");
    for (size_t j = 0; j < WORDS; j++) {
        SHOW_TRY(attn_scores(attn_mat_cols(query_scores, j, 1), query, attn_mat_rows(x, j, 1), 1));
        show_vec(words[j], query_scores);
    }

    show_title("3. Inside the first of them: a dot product adds up product by product");
    for (int i = 0; i < SIZE; i++) {
        dot += embeddings[0][i] * embeddings[QUERY][i];
        printf("after %d: %.4f\n", i + 1, (double)dot);
    }
    printf("by the library: %.4f\n", (double)one_score[0]);

    show_title("4. Weights by plain division: scores over their sum");
    sum = sum_of(one_score);
    for (int j = 0; j < WORDS; j++)
        one_weight[j] = one_score[j] / sum;
    show_vec("weights", query_weights);
    printf("their sum: %.4f\n", (double)sum_of(one_weight));
    puts("(a negative score would make a negative weight, scores that cancel a division by zero)");

    show_title("5. Weights by softmax from its formula");
    naive_softmax(one_weight, one_score, 1, 0);
    show_vec("weights", query_weights);
    printf("their sum: %.4f\n", (double)sum_of(one_weight));

    show_title("6. Where that formula fails");
    naive_softmax(one_weight, one_score, 60, 0);
    show_vec("weights of 60 x scores, where exp overflows", query_weights);
    naive_softmax(one_weight, one_score, 1, -110);
    show_vec("weights of scores - 110, where every exp is 0", query_weights);

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

    show_title("8. Every word asks: all scores");
    SHOW_TRY(attn_scores(scores, x, x, 1));
    show_mat("scores", scores);

    show_title("9. All weights, and the sum of each row");
    SHOW_TRY(attn_softmax(weights, scores));
    show_mat("weights", weights);
    SHOW_TRY(attn_matmul(sums, weights, attn_mat_of(ones, ATTN_F32, WORDS, 1)));
    show_vec("sums", sums);
    map.row_labels = map.col_labels = words;
    map.row_name = "word that asks";
    map.col_name = "word that is attended to";
    map.bar = 1;
    show_heatmap(directory, "04_attention_weights.svg", weights, &map);

    show_title("10. All context vectors: the words mixed by these weights");
    SHOW_TRY(attn_weighted_sum(context, weights, x));
    show_mat("context", context);
    return show_done();
}
