/* Attention from its first step to its last: three inputs become queries, keys and values, every query scores every
   key, softmax turns scores into weights, weights mix the values; then eight heads side by side.

       cc -O2 01_attention_mechanism.c -lm && ./a.out [directory for the pictures] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char about[] = "Attention from its first step to its last: queries, keys, values, scores,\n"
                            "weights, outputs; then eight heads side by side.";

enum { INPUTS = 3, MODEL = 4, SIZE = 3 }; /* numbers in an input; in a query, a key, a value */
enum { HEADS = 8, HEAD_SIZE = 64 };       /* the original Transformer: 8 heads of 64, 512 together */

static const char *const heads_of_8[] = {"head 1", "head 2", "head 3", "head 4",
                                         "head 5", "head 6", "head 7", "head 8"};

static void assumed_heads(const char *directory);          /* steps 9 and 10 */
static void real_heads(attn_mat x, const char *directory); /* step 11 */

int main(int argc, char **argv)
{
    const char *directory = show_directory(argc, argv, "[DIRECTORY]", about);

    /* 1. Attention begins with one row of numbers for each input, a word for example: here three rows of four. */
    static const double inputs[INPUTS][MODEL] = {{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}};
    attn_mat x = attn_mat_of(inputs, ATTN_F64, INPUTS, MODEL);
    show_title("1. The input: three vectors, d_model = 4");
    show_mat("x", x);
    show_part(NULL, NULL, x, SHOW_ORANGE, "input", "number", 0);
    show_figure(directory, "01_inputs.svg", "Three inputs of four numbers", 1);

    /* 2. Training finds three weight matrices, which make of an input what it asks, what it is found by, and what it
       gives. Here they are small and made up. (These weights of a model are not those of attention, of step 5.) */
    static const double weights_query[MODEL][SIZE] = {{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}};
    static const double weights_key[MODEL][SIZE] = {{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}};
    static const double weights_value[MODEL][SIZE] = {{0, 2, 0}, {0, 3, 0}, {1, 0, 3}, {1, 1, 0}};
    attn_mat wq = attn_mat_of(weights_query, ATTN_F64, MODEL, SIZE);
    attn_mat wk = attn_mat_of(weights_key, ATTN_F64, MODEL, SIZE);
    attn_mat wv = attn_mat_of(weights_value, ATTN_F64, MODEL, SIZE);
    show_title("2. Three weight matrices, d_model x 3");
    show_mat_int("w_query", wq);
    show_mat_int("w_key", wk);
    show_mat_int("w_value", wv);
    show_part(NULL, "w_query", wq, SHOW_PURPLE, "number of an input", "of the query", 0);
    show_part(NULL, "w_key", wk, SHOW_ORANGE, "number of an input", "of the key", 0);
    show_part(NULL, "w_value", wv, SHOW_GREEN, "number of an input", "of the value", 0);
    show_figure(directory, "01_weight_matrices.svg", "Three weight matrices", 3);

    /* 3. Each input times these matrices is its query, its key and its value: three roles of the same input. */
    attn_mat q = attn_mat_new(ATTN_F64, INPUTS, SIZE);
    attn_mat k = attn_mat_new(ATTN_F64, INPUTS, SIZE);
    attn_mat v = attn_mat_new(ATTN_F64, INPUTS, SIZE);
    show_title("3. Queries, keys and values: the input times each of them");
    SHOW_TRY(attn_matmul(q, x, wq));
    SHOW_TRY(attn_matmul(k, x, wk));
    SHOW_TRY(attn_matmul(v, x, wv));
    show_mat("q", q);
    show_mat("k", k);
    show_mat("v", v);
    show_part(NULL, "x", x, SHOW_ORANGE, "input", "number", 0);
    show_part("×", "w_query", wq, SHOW_PURPLE, "number", "of the query", 0);
    show_part("=", "q", q, SHOW_PURPLE, "query", "number", 0);
    show_part(NULL, "x", x, SHOW_ORANGE, "input", "number", 0);
    show_part("×", "w_key", wk, SHOW_ORANGE, "number", "of the key", 0);
    show_part("=", "k", k, SHOW_ORANGE, "key", "number", 0);
    show_part(NULL, "x", x, SHOW_ORANGE, "input", "number", 0);
    show_part("×", "w_value", wv, SHOW_GREEN, "number", "of the value", 0);
    show_part("=", "v", v, SHOW_GREEN, "value", "number", 0);
    show_figure(directory, "01_queries_keys_values.svg", "Queries, keys and values", 3);

    /* 4. A score says how well a key fits a query: the sum of their products, number by number. It is divided by the
       square root of the size; of 3 that is 1.73, but the notebooks divide by a number k_d = 1 instead, which leaves
       the scores as they are. */
    attn_mat scores = attn_mat_new(ATTN_F64, INPUTS, INPUTS);
    show_title("4. Scores: every query with every key, divided by k_d = 1");
    SHOW_TRY(attn_scores(scores, q, k, 1));
    show_mat("scores", scores);
    show_part(NULL, "q", q, SHOW_PURPLE, "query", "number", 0);
    show_part("×", "k, transposed", attn_mat_t(k), SHOW_ORANGE, "number", "key", 0);
    show_part("=", "scores", scores, SHOW_BLUE, "query", "key", 0);
    show_figure(directory, "01_scores.svg", "Scores: every query with every key", 3);

    /* 5. Softmax makes weights of a query's scores: none is negative, and they add up to 1. A score that is larger by 2
       has exp(2) = 7.4 times the weight, by 4 it is 55 times: in the second row 16 leaves 12 far behind; in the first
       row two keys, with equal scores, share nearly all. */
    attn_mat weights = attn_mat_new(ATTN_F64, INPUTS, INPUTS);
    show_title("5. Weights: softmax of each row of scores");
    SHOW_TRY(attn_softmax(weights, scores));
    show_vec("input 1", attn_mat_rows(weights, 0, 1));
    show_vec("input 2", attn_mat_rows(weights, 1, 1));
    show_vec("input 3", attn_mat_rows(weights, 2, 1));
    show_part(NULL, "scores", scores, SHOW_BLUE, "query", "key", 0);
    show_part("softmax →", "weights", weights, SHOW_BLUE, "query", "key", 4)->high = 1;
    show_figure(directory, "01_weights.svg", "Weights: each row of scores through softmax", 2);

    /* 6. The first input takes from each value as much as its weight says: little of the first value, and equal parts
       of the two others. */
    attn_mat weighted = attn_mat_new(ATTN_F64, INPUTS, SIZE);
    show_title("6. The first input: each value times its weight");
    SHOW_TRY(attn_weighted_values(weighted, attn_mat_rows(weights, 0, 1), v));
    for (size_t j = 0; j < INPUTS; j++)
        show_vec("value", attn_mat_rows(v, j, 1));
    for (size_t j = 0; j < INPUTS; j++)
        show_vec("weighted", attn_mat_rows(weighted, j, 1));
    show_part(NULL, "weights of input 1", attn_mat_t(attn_mat_rows(weights, 0, 1)), SHOW_BLUE, "key", "query", 2);
    show_part("times row", "v", v, SHOW_GREEN, "value", "number", 0);
    show_part("=", "weighted values", weighted, SHOW_GREEN, "value", "number", 2);
    show_figure(directory, "01_weighted_values.svg", "The first input: each value times its weight", 3);

    /* 7. Their sum is what attention gives for the first input: a mix of what all inputs have to give. */
    attn_mat out = attn_mat_new(ATTN_F64, INPUTS, SIZE);
    show_title("7. The first row of the output: their sum");
    SHOW_TRY(attn_weighted_sum(attn_mat_rows(out, 0, 1), attn_mat_rows(weights, 0, 1), v));
    show_vec("output of input 1", attn_mat_rows(out, 0, 1));
    show_part(NULL, "weighted values", weighted, SHOW_GREEN, "value", "number", 2);
    show_part("sum →", "output of input 1", attn_mat_rows(out, 0, 1), SHOW_GREEN, "output", "number", 2);
    show_figure(directory, "01_first_output.svg", "The first row of the output", 2);

    /* 8. The same for every input, scores, softmax and sum, is attention: softmax(Q K^T / k_d) V. The notebooks
       announce this and go on with random numbers; the second and the third row are computed here. */
    show_title("8. Steps 4 to 7 for every input: one call");
    SHOW_TRY(attn_attention(out, weights, q, k, v, 1));
    show_mat("output", out);
    show_part(NULL, "weights", weights, SHOW_BLUE, "query", "key", 4);
    show_part("×", "v", v, SHOW_GREEN, "value", "number", 0);
    show_part("=", "output", out, SHOW_GREEN, "output", "number", 2);
    show_figure(directory, "01_output.svg", "Output: the values, mixed by the weights", 3);

    assumed_heads(directory);
    real_heads(x, directory);
    attn_mat made[] = {q, k, v, scores, weights, weighted, out};
    for (size_t n = 0; n < sizeof made / sizeof *made; n++)
        attn_mat_free(&made[n]);
    return show_done();
}

static void draw_heads(const char *directory, const attn_mat heads[HEADS])
{
    for (int h = 0; h < HEADS; h++)
        show_part(NULL, heads_of_8[h], heads[h], SHOW_GREEN, "input", "number", 1)->side = 5;
    show_figure(directory, "01_eight_heads.svg", "Eight heads, 64 numbers for each input", 2);
}

/* The weights that each head gives the inputs for the last one: the last row of each. */
static void draw_weights(const char *directory, double weights[HEADS][INPUTS][INPUTS])
{
    static const char *const inputs[] = {"input 1", "input 2", "input 3"};
    attn_mat last = attn_mat_of(weights[0][INPUTS - 1], ATTN_F64, HEADS, INPUTS);
    show_map map = show_map_of("What the last input attends to", SHOW_BLUE, "head", "input that is attended to", 4);
    last.row_stride = INPUTS * INPUTS;
    map.row_labels = heads_of_8;
    map.col_labels = inputs;
    show_heatmap(directory, "01_heads.svg", last, &map);
}

static void assumed_heads(const char *directory)
{
    attn_mat heads[HEADS];

    /* 9. A layer has several heads, each with weights of its own, so that each can look for something else. Random
       numbers stand here for what eight trained heads would give. */
    show_title("9. Eight heads of 3 x 64, random numbers from a seed in place of results");
    for (unsigned h = 0; h < HEADS; h++) {
        heads[h] = attn_mat_new(ATTN_F64, INPUTS, HEAD_SIZE);
        show_random(heads[h], 2017 + h, 0, 1);
    }
    show_threshold(100); /* prints the ends of larger matrices alone */
    show_mat("head 1", heads[0]);
    printf("%d heads of 3 x %d, %d columns together\n", HEADS, HEAD_SIZE, HEADS * HEAD_SIZE);
    draw_heads(directory, heads);

    /* 10. What the heads found stands side by side: 8 x 64 = 512 numbers for each input, as many as a word has in the
       original Transformer (Vaswani 2017), so that layers can be stacked. */
    show_title("10. The heads side by side");
    attn_mat joined = attn_mat_new(ATTN_F64, INPUTS, HEADS * HEAD_SIZE);
    SHOW_TRY(attn_concat_heads(joined, heads, HEADS));
    show_mat("output of the heads", joined);
    show_part(NULL, NULL, joined, SHOW_GREEN, "input", "512 numbers: 64 of head 1, 64 of head 2, ..., 64 of head 8", 1)
        ->side = 2;
    show_figure(directory, "01_side_by_side.svg", "The eight heads side by side", 1);

    attn_mat_free(&joined);
    for (int h = 0; h < HEADS; h++)
        attn_mat_free(&heads[h]);
}

static void real_heads(attn_mat x, const char *directory)
{
    attn_mat q[HEADS], k[HEADS], v[HEADS], out[HEADS], projected[3],
        joined = attn_mat_new(ATTN_F64, INPUTS, HEADS * HEAD_SIZE);
    double memory[HEADS][INPUTS][INPUTS];

    /* 11. With matrices that nobody has trained, but heads that do attend: each takes queries, keys and values of its
       own from the same inputs, runs steps 4 to 7, and so weighs the inputs in its own way. */
    show_title("11. Beyond: eight heads that attend, from matrices of 4 x 512, joined");
    for (unsigned i = 0; i < 3; i++) { /* queries, keys, values: weights between -1 and 1 from a seed */
        attn_mat w = attn_mat_new(ATTN_F64, MODEL, HEADS * HEAD_SIZE);
        show_random(w, 100 + i, -1, 1);
        projected[i] = attn_mat_new(ATTN_F64, INPUTS, HEADS * HEAD_SIZE);
        SHOW_TRY(attn_matmul(projected[i], x, w));
        attn_mat_free(&w);
    }
    SHOW_TRY(attn_split_heads(q, HEADS, projected[0])); /* views of 3 x 64: nothing is copied */
    SHOW_TRY(attn_split_heads(k, HEADS, projected[1]));
    SHOW_TRY(attn_split_heads(v, HEADS, projected[2]));
    for (int h = 0; h < HEADS; h++) {
        out[h] = attn_mat_new(ATTN_F64, INPUTS, HEAD_SIZE);
        attn_mat weights = attn_mat_of(memory[h], ATTN_F64, INPUTS, INPUTS);
        SHOW_TRY(attn_attention(out[h], weights, q[h], k[h], v[h], 0)); /* 0: divided by the square root of 64 */
    }
    SHOW_TRY(attn_concat_heads(joined, out, HEADS));
    show_mat("output of the heads", joined);
    draw_weights(directory, memory);

    attn_mat_free(&joined);
    for (int h = 0; h < HEADS; h++)
        attn_mat_free(&out[h]);
    for (int i = 0; i < 3; i++)
        attn_mat_free(&projected[i]);
}
