/* A block of a transformer, as decoders are made of: positions, norm, multi-head attention, feed-forward. Its weights
   are random numbers: what it computes means nothing, how it computes it is all there.

       cc 09_multi_head_layer.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

enum { WORDS = 6, SIZE = 8, HEADS = 2, INNER = 4 * SIZE, ROW = SIZE * sizeof(float) };

static const char *const words[WORDS] = {"the", "cat", "sees", "the", "small", "dog"};

/* What training would find, inputs x outputs. */
static float projections[4][SIZE * SIZE], up_data[SIZE * INNER], down_data[INNER * SIZE];
static attn_mha_weights attention;
static attn_mat up, down;
static int quiet;

static void look(const char *title, const char *name, attn_mat m)
{
    if (quiet)
        return;
    show_title(title);
    show_mat(name, m);
}

static attn_mat random_matrix(float *data, size_t rows, size_t cols, unsigned seed, double high)
{
    attn_mat m = attn_mat_of(data, ATTN_F32, rows, cols);
    show_random(m, seed, -high, high);
    return m;
}

/* Each row less its mean, over its standard deviation. */
static void norm(float *out, const float *x)
{
    for (int i = 0; i < WORDS; i++, x += SIZE, out += SIZE) {
        double mean = 0, variance = 0;
        for (int d = 0; d < SIZE; d++)
            mean += (double)x[d] / SIZE;
        for (int d = 0; d < SIZE; d++)
            variance += ((double)x[d] - mean) * ((double)x[d] - mean) / SIZE;
        for (int d = 0; d < SIZE; d++)
            out[d] = (float)(((double)x[d] - mean) / sqrt(variance + 1e-5));
    }
}

static void add(float *x, const float *y)
{
    for (int n = 0; n < WORDS * SIZE; n++)
        x[n] += y[n];
}

/* The block: x becomes x + attention(norm(x)), then x + feed-forward(norm(x)). weights: the mean over the heads. */
static void run_block(float *x_data, float *weights)
{
    float normed_data[WORDS * SIZE], change_data[WORDS * SIZE], inner_data[WORDS * INNER];
    attn_mat x = attn_mat_of(x_data, ATTN_F32, WORDS, SIZE), normed = attn_mat_of(normed_data, ATTN_F32, WORDS, SIZE);
    attn_mat change = attn_mat_of(change_data, ATTN_F32, WORDS, SIZE);
    attn_mat inner = attn_mat_of(inner_data, ATTN_F32, WORDS, INNER);
    attn_tensor in = attn_heads(normed, 1); /* 1 x 1 x WORDS x SIZE: the layer makes its heads itself */
    attn_opts opts = {0};

    norm(normed_data, x_data);
    look("3. Norm: every row with mean 0 and deviation 1", "normed", normed);

    opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    opts.weights = attn_bhld(weights, ATTN_F32, 1, 1, WORDS, WORDS);
    SHOW_TRY(attn_mha(attn_heads(change, 1), in, in, in, &attention, &opts, NULL));
    look("4. Attention: projected, two heads, side by side, projected again", "attention", change);
    add(x_data, change_data);
    look("5. Added to what came in", "x", x);

    norm(normed_data, x_data);
    SHOW_TRY(attn_matmul(inner, normed, up));
    for (int n = 0; n < WORDS * INNER; n++)
        inner_data[n] = inner_data[n] > 0 ? inner_data[n] : 0;
    SHOW_TRY(attn_matmul(change, inner, down));
    look("6. Feed-forward: norm, 8 numbers to 32, the negative ones to 0, back to 8", "feed-forward", change);
    add(x_data, change_data);
    look("7. Added again: what the next block takes in", "x", x);
}

int main(int argc, char **argv)
{
    const char *directory = show_directory(argc, argv);
    float vectors[WORDS * SIZE], positions[WORDS * SIZE], x[WORDS * SIZE], changed[WORDS * SIZE];
    float weights[WORDS * WORDS], unused[WORDS * WORDS];
    show_map map = show_map_of("Weights of the layer, the mean of two heads", SHOW_BLUE, 2);
    show_precision(2);
    attention.wq = random_matrix(projections[0], SIZE, SIZE, 1, 1);
    attention.wk = random_matrix(projections[1], SIZE, SIZE, 2, 1);
    attention.wv = random_matrix(projections[2], SIZE, SIZE, 3, 0.6);
    attention.wo = random_matrix(projections[3], SIZE, SIZE, 4, 0.6);
    attention.heads = HEADS;
    up = random_matrix(up_data, SIZE, INNER, 5, 0.6);
    down = random_matrix(down_data, INNER, SIZE, 6, 0.3);

    random_matrix(vectors, WORDS, SIZE, 37, 1);
    memcpy(vectors + 3 * SIZE, vectors, ROW);
    look("1. Six words, eight numbers each; the first and the fourth are the same word", "words",
         attn_mat_of(vectors, ATTN_F32, WORDS, SIZE));
    SHOW_TRY(attn_sinusoid(attn_mat_of(positions, ATTN_F32, WORDS, SIZE), 0));
    memcpy(x, vectors, sizeof x);
    add(x, positions);
    look("2. Their positions added: now the two differ", "x", attn_mat_of(x, ATTN_F32, WORDS, SIZE));
    memcpy(changed, x, sizeof x);
    run_block(x, weights);

    show_title("8. The weights: no word sees a later one");
    map.row_labels = map.col_labels = words;
    map.row_name = "word that asks";
    map.col_name = "word that is attended to";
    map.bar = 1;
    show_heatmap(directory, "09_layer_weights.svg", attn_mat_of(weights, ATTN_F32, WORDS, WORDS), &map);

    show_title("9. Another last word: what the block makes of those before it");
    quiet = 1;
    random_matrix(changed + (WORDS - 1) * SIZE, 1, SIZE, 8, 1);
    run_block(changed, unused);
    for (int i = 0; i < WORDS; i++)
        printf("%-5s  %s\n", words[i],
               memcmp(x + i * SIZE, changed + i * SIZE, ROW) ? "other numbers" : "the same bits");
    return show_done();
}
