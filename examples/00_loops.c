/* Attention without a library: three queries look up three keys and mix their values, in plain loops. Then the same in
   one call of attn.h, with the same numbers. Read this first: the other examples take these steps one by one.

       cc -O2 00_loops.c -lm && ./a.out [directory for the picture] */
#include <math.h>
#include <stdio.h>

enum { QUERIES = 3, KEYS = 3, SIZE = 2 };

static void print(const char *name, const double *numbers, int rows, int cols)
{
    printf("%s\n", name);
    for (int n = 0; n < rows * cols; n++)
        printf("%9.4f%s", numbers[n], (n + 1) % cols ? "" : "\n");
}

static const char *find_directory(int argc, char **argv);
static int same_by_the_library(const char *directory, const double *q, const double *k, const double *v,
                               const double *out);

int main(int argc, char **argv)
{
    const char *directory = find_directory(argc, argv);
    double scores[QUERIES][KEYS], weights[QUERIES][KEYS], out[QUERIES][SIZE];

    /* 1. A query says what a word looks for, a key what a word is found by, a value what it has to give: a row of
       numbers each. A model computes them from the words, as 01 shows; here they are made up. */
    static const double q[QUERIES][SIZE] = {{2, 0}, {0, 2}, {1, 1}};
    static const double k[KEYS][SIZE] = {{1, 0}, {0, 1}, {3, 0}};
    static const double v[KEYS][SIZE] = {{10, 0}, {0, 10}, {20, 5}};
    puts("\n== 1. Queries, keys, values");
    print("q", q[0], QUERIES, SIZE);
    print("k", k[0], KEYS, SIZE);
    print("v", v[0], KEYS, SIZE);

    /* 2. A score says how well a key fits a query: multiply them number by number, add up, and divide by the square
       root of their size. Here the third key fits the first query best. */
    puts("\n== 2. Scores: q k^T / sqrt(2)");
    for (int i = 0; i < QUERIES; i++)
        for (int j = 0; j < KEYS; j++) {
            double dot = 0;
            for (int d = 0; d < SIZE; d++)
                dot += q[i][d] * k[j][d];
            scores[i][j] = dot / sqrt((double)SIZE);
        }
    print("scores", scores[0], QUERIES, KEYS);

    /* 3. Softmax makes weights of a query's scores: exponentials, which are never negative, over their sum, so that
       they add up to 1. The largest score is taken off first, which divides all exponentials by the same number and so
       changes no weight, but keeps exp from overflowing. */
    puts("\n== 3. Weights: the softmax of each row");
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
    print("weights", weights[0], QUERIES, KEYS);

    /* 4. The output of a query is the mean of all values, each counted by its weight: most of what fits best, a little
       of the rest. That is attention. */
    puts("\n== 4. Output: the values, mixed by the weights");
    for (int i = 0; i < QUERIES; i++)
        for (int d = 0; d < SIZE; d++) {
            out[i][d] = 0;
            for (int j = 0; j < KEYS; j++)
                out[i][d] += weights[i][j] * v[j][d];
        }
    print("output", out[0], QUERIES, SIZE);
    return same_by_the_library(directory, q[0], k[0], v[0], out[0]);
}

#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char *find_directory(int argc, char **argv)
{
    return show_directory(argc, argv, "[DIRECTORY]", "Attention in plain loops, then in one call of attn.h.");
}

static int same_by_the_library(const char *directory, const double *q, const double *k, const double *v,
                               const double *out)
{
    /* 5. The library does all of these loops in one call: matrices say where the numbers lie, and 0 stands for the
       scale 1 / sqrt(2). This is the function that step 4 ends with. */
    double call[QUERIES * SIZE], call_weights[QUERIES * KEYS], most = 0;
    attn_mat matrix_out = attn_mat_of(call, ATTN_F64, QUERIES, SIZE), matrix_v = attn_mat_of(v, ATTN_F64, KEYS, SIZE);
    attn_mat matrix_weights = attn_mat_of(call_weights, ATTN_F64, QUERIES, KEYS);
    show_title("5. The same with attn.h");
    SHOW_TRY(attn_attention(matrix_out, matrix_weights, attn_mat_of(q, ATTN_F64, QUERIES, SIZE),
                            attn_mat_of(k, ATTN_F64, KEYS, SIZE), matrix_v, 0));
    print("output", call, QUERIES, SIZE);
    for (int n = 0; n < QUERIES * SIZE; n++)
        most = fmax(most, fabs(out[n] - call[n]));
    printf("equal to the loops, to 14 digits: %s\n", most < 1e-13 ? "yes" : "no");
    show_part(NULL, "weights", matrix_weights, SHOW_BLUE, "query", "key", 2);
    show_part("×", "v", matrix_v, SHOW_GREEN, "key", "number", 0);
    show_part("=", "output", matrix_out, SHOW_GREEN, "query", "number", 1);
    show_figure(directory, "00_output.svg", "The values, mixed by the weights", 3);
    return most < 1e-13 ? show_done() : 1;
}
