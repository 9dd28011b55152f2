/* Attention from its first step to its last: three inputs become queries, keys and values, every query scores every
   key, softmax turns scores into weights, weights mix the values; then eight heads side by side.

       cc -O2 01_attention_mechanism.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

#define INPUTS 3
#define MODEL 4 /* numbers in an input */
#define SIZE 3  /* numbers in a query, a key, a value */
#define HEADS 8
#define HEAD_SIZE 64 /* the original Transformer: 8 heads of 64, 512 together */

static const double inputs[INPUTS][MODEL] = {{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}};
static const double weights_query[MODEL][SIZE] = {{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}};
static const double weights_key[MODEL][SIZE] = {{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}};
static const double weights_value[MODEL][SIZE] = {{0, 2, 0}, {0, 3, 0}, {1, 0, 3}, {1, 1, 0}};
static const char *const names[INPUTS] = {"input 1", "input 2", "input 3"};

/* Steps 1 to 7, then all of them in one call. */
static void one_head(attn_mat x)
{
    attn_mat wq = attn_mat_of(weights_query, ATTN_F64, MODEL, SIZE);
    attn_mat wk = attn_mat_of(weights_key, ATTN_F64, MODEL, SIZE);
    attn_mat wv = attn_mat_of(weights_value, ATTN_F64, MODEL, SIZE);
    double memory[7][INPUTS * SIZE];
    attn_mat q = attn_mat_of(memory[0], ATTN_F64, INPUTS, SIZE);
    attn_mat k = attn_mat_of(memory[1], ATTN_F64, INPUTS, SIZE);
    attn_mat v = attn_mat_of(memory[2], ATTN_F64, INPUTS, SIZE);
    attn_mat scores = attn_mat_of(memory[3], ATTN_F64, INPUTS, INPUTS);
    attn_mat weights = attn_mat_of(memory[4], ATTN_F64, INPUTS, INPUTS);
    attn_mat weighted = attn_mat_of(memory[5], ATTN_F64, INPUTS, SIZE);
    attn_mat out = attn_mat_of(memory[6], ATTN_F64, INPUTS, SIZE);

    show_title("1. The input: three vectors, d_model = 4");
    show_mat("x", x);

    show_title("2. Three weight matrices, d_model x 3");
    show_mat_int("w_query", wq);
    show_mat_int("w_key", wk);
    show_mat_int("w_value", wv);

    show_title("3. Queries, keys and values: the input times each of them");
    SHOW_TRY(attn_matmul(q, x, wq));
    SHOW_TRY(attn_matmul(k, x, wk));
    SHOW_TRY(attn_matmul(v, x, wv));
    show_mat("q", q);
    show_mat("k", k);
    show_mat("v", v);

    show_title("4. Scores: every query with every key, divided by k_d = 1");
    puts("(the square root of the key size 3, taken as 1)");
    SHOW_TRY(attn_scores(scores, q, k, 1));
    show_mat("scores", scores);

    show_title("5. Weights: softmax of each row of scores");
    SHOW_TRY(attn_softmax(weights, scores));
    for (size_t i = 0; i < INPUTS; i++)
        show_vec(names[i], attn_mat_rows(weights, i, 1));

    show_title("6. The first input: each value times its weight");
    SHOW_TRY(attn_weighted_values(weighted, attn_mat_rows(weights, 0, 1), v));
    for (size_t j = 0; j < INPUTS; j++) {
        show_vec("value", attn_mat_rows(v, j, 1));
        show_vec("weighted", attn_mat_rows(weighted, j, 1));
    }

    show_title("7. The first row of the output: their sum");
    SHOW_TRY(attn_weighted_sum(attn_mat_rows(out, 0, 1), attn_mat_rows(weights, 0, 1), v));
    show_vec("output of input 1", attn_mat_rows(out, 0, 1));

    show_title("8. Steps 4 to 7 for every input: one call");
    SHOW_TRY(attn_attention(out, weights, q, k, v, 1));
    show_mat("output", out);
}

/* Steps 8 to 10 of the original, where eight trained heads are only assumed: random numbers stand for them. */
static void assumed_heads(attn_mat concatenated)
{
    attn_mat heads[HEADS];
    show_title("9. Eight heads of 3 x 64, random numbers from a seed in place of results");
    for (unsigned h = 0; h < HEADS; h++) {
        heads[h] = attn_mat_new(ATTN_F64, INPUTS, HEAD_SIZE);
        show_random(heads[h], 2017 + h, 0, 1);
    }
    show_mat("head 1", heads[0]);
    printf("%d heads of 3 x %d, %d columns together\n", HEADS, HEAD_SIZE, HEADS * HEAD_SIZE);

    show_title("10. The heads side by side");
    SHOW_TRY(attn_concat_heads(concatenated, heads, HEADS));
    show_mat("output of the heads", concatenated);
    for (int h = 0; h < HEADS; h++)
        attn_mat_free(&heads[h]);
}

/* Beyond the original: each head has weights of its own, and attends. */
static void real_heads(attn_mat x, attn_mat concatenated, const char *directory)
{
    static const char *const rows[] = {"head 1", "head 2", "head 3", "head 4", "head 5", "head 6", "head 7", "head 8"};
    attn_mat q[HEADS], k[HEADS], v[HEADS], out[HEADS], projected[3];
    double memory[HEADS][INPUTS][INPUTS];
    show_map map = show_map_of("What the last input attends to", SHOW_BLUE, 4);

    show_title("11. Eight real heads: the input projected to 3 x 512, split, attended, joined");
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
    SHOW_TRY(attn_concat_heads(concatenated, out, HEADS));
    show_mat("output of the heads", concatenated);

    map.row_labels = rows;
    map.col_labels = names;
    attn_mat last = attn_mat_of(&memory[0][INPUTS - 1], ATTN_F64, HEADS, INPUTS); /* the last row of every head */
    last.row_stride = INPUTS * INPUTS;
    show_heatmap(directory, "01_heads.svg", last, &map);
    for (int h = 0; h < HEADS; h++)
        attn_mat_free(&out[h]);
    for (int i = 0; i < 3; i++)
        attn_mat_free(&projected[i]);
}

int main(int argc, char **argv)
{
    attn_mat x = attn_mat_of(inputs, ATTN_F64, INPUTS, MODEL);
    attn_mat concatenated = attn_mat_new(ATTN_F64, INPUTS, HEADS * HEAD_SIZE);
    one_head(x);
    assumed_heads(concatenated);
    real_heads(x, concatenated, show_directory(argc, argv));
    attn_mat_free(&concatenated);
    return show_done();
}
