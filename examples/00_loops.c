/* Attention without a library: three queries look up three keys and mix their values, in plain loops. Then the same in
   one call of attn.h, with the same numbers. Read this first: the other examples take these steps one by one.

       cc -O2 00_loops.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

enum { QUERIES = 3, KEYS = 3, SIZE = 2 };

int main(int argc, char **argv)
{
    double scores[QUERIES][KEYS], weights[QUERIES][KEYS], out[QUERIES][SIZE];
    const char *directory = show_directory(argc, argv);

    /* 1. A query says what a word looks for, a key what a word is found by, a value what it has to give: a row of
       numbers each. A model computes them from the words, as 01 shows; here they are made up. */
    const double q[QUERIES][SIZE] = {{2, 0}, {0, 2}, {1, 1}};
    const double k[KEYS][SIZE] = {{1, 0}, {0, 1}, {3, 0}};
    const double v[KEYS][SIZE] = {{10, 0}, {0, 10}, {20, 5}};
    show_title("1. Queries, keys, values");
    show_mat("q", attn_mat_of(q, ATTN_F64, QUERIES, SIZE));
    show_mat("k", attn_mat_of(k, ATTN_F64, KEYS, SIZE));
    show_mat("v", attn_mat_of(v, ATTN_F64, KEYS, SIZE));

    /* 2. A score says how well a key fits a query: multiply them number by number, add up, and divide by the square
       root of their size. Here the third key fits the first query best. */
    show_title("2. Scores: q k^T / sqrt(2)");
    for (int i = 0; i < QUERIES; i++)
        for (int j = 0; j < KEYS; j++) {
            double dot = 0;
            for (int d = 0; d < SIZE; d++)
                dot += q[i][d] * k[j][d];
            scores[i][j] = dot / sqrt(SIZE);
        }
    show_mat("scores", attn_mat_of(scores, ATTN_F64, QUERIES, KEYS));

    /* 3. Softmax makes weights of a query's scores: exponentials, which are never negative, over their sum, so that
       they add up to 1. The largest score is taken off first, which divides all exponentials by the same number and so
       changes no weight, but keeps exp from overflowing. */
    show_title("3. Weights: the softmax of each row");
    for (int i = 0; i < QUERIES; i++) {
        double largest = scores[i][0], sum = 0;
        for (int j = 1; j < KEYS; j++)
            largest = scores[i][j] > largest ? scores[i][j] : largest;
        for (int j = 0; j < KEYS; j++) {
            weights[i][j] = exp(scores[i][j] - largest);
            sum += weights[i][j];
        }
        for (int j = 0; j < KEYS; j++)
            weights[i][j] /= sum;
    }
    show_mat("weights", attn_mat_of(weights, ATTN_F64, QUERIES, KEYS));

    /* 4. The output of a query is the mean of all values, each counted by its weight: most of what fits best, a little
       of the rest. That is attention. */
    show_title("4. Output: the values, mixed by the weights");
    for (int i = 0; i < QUERIES; i++)
        for (int d = 0; d < SIZE; d++) {
            out[i][d] = 0;
            for (int j = 0; j < KEYS; j++)
                out[i][d] += weights[i][j] * v[j][d];
        }
    show_mat("output", attn_mat_of(out, ATTN_F64, QUERIES, SIZE));
    show_part(NULL, "weights", attn_mat_of(weights, ATTN_F64, QUERIES, KEYS), SHOW_BLUE, "query", "key", 2);
    show_part("×", "v", attn_mat_of(v, ATTN_F64, KEYS, SIZE), SHOW_ORANGE, "key", "number", 0)->high = 20;
    show_part("=", "output", attn_mat_of(out, ATTN_F64, QUERIES, SIZE), SHOW_ORANGE, "query", "number", 1)->high = 20;
    show_figure(directory, "00_output.svg", "The values, mixed by the weights", 3);

    /* 5. The library does these loops in one call: views say where the rows lie, and 0 stands for the scale 1 /
       sqrt(2). The output of both is compared number by number. */
    double out_of_call[QUERIES][SIZE], most = 0;
    const attn_mat no_weights = {0}; /* not asked for */
    show_title("5. The same with attn.h");
    SHOW_TRY(attn_attention(attn_mat_of(out_of_call, ATTN_F64, QUERIES, SIZE), no_weights,
                            attn_mat_of(q, ATTN_F64, QUERIES, SIZE), attn_mat_of(k, ATTN_F64, KEYS, SIZE),
                            attn_mat_of(v, ATTN_F64, KEYS, SIZE), 0));
    show_mat("output", attn_mat_of(out_of_call, ATTN_F64, QUERIES, SIZE));
    for (int i = 0; i < QUERIES; i++)
        for (int d = 0; d < SIZE; d++)
            most = fmax(most, fabs(out[i][d] - out_of_call[i][d]));
    printf("equal to the loops, to 14 digits: %s\n", most < 1e-13 ? "yes" : "no");
    return most < 1e-13 ? show_done() : 1;
}
