/* A block of a transformer, as decoders are made of: norm, multi-head attention, feed-forward. Its weights are random
   numbers: what it computes means nothing, how it computes it is all there.
       cc -O2 09_multi_head_layer.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char about[] = "A block of a transformer, with random weights.";

enum { WORDS = 6, SIZE = 8, HEADS = 2, INNER = 4 * SIZE, ROW = SIZE * sizeof(float) };
static const char *const words[WORDS] = {"the", "cat", "sees", "the", "small", "dog"};
/* What training would find, inputs x outputs: the four projections of attention, and up and down of feed-forward. */
static float numbers[6][SIZE * INNER];
static attn_mat learnt[6];
static attn_mha_weights attention;
static int quiet;

static void look(const char *title, const char *name, const float *x)
{
    if (!quiet)
        show_title(title), show_mat(name, attn_mat_of(x, ATTN_F32, WORDS, SIZE));
}

/* Each row less its mean, over its standard deviation. */
static void norm(float *out, const float *x)
{
    for (int i = 0; i < WORDS; i++, x += SIZE, out += SIZE) {
        double mean = 0, square = 0;
        for (int d = 0; d < SIZE; d++)
            mean += (double)x[d] / SIZE, square += (double)x[d] * (double)x[d] / SIZE;
        for (int d = 0; d < SIZE; d++)
            out[d] = (float)(((double)x[d] - mean) / sqrt(square - mean * mean + 1e-5));
    }
}

static void add(float *x, const float *y)
{
    for (int n = 0; n < WORDS * SIZE; n++)
        x[n] += y[n];
}

/* The block: x becomes x + attention(norm(x)), then x + feed-forward(norm(x)). weights: the mean over the heads. */
static void run_block(float *x, float *weights)
{
    float normed[WORDS * SIZE], change[WORDS * SIZE], inner[WORDS * INNER];
    attn_tensor in = attn_bhld(normed, ATTN_F32, 1, 1, WORDS, SIZE);
    attn_tensor out = attn_bhld(change, ATTN_F32, 1, 1, WORDS, SIZE);
    attn_mat wide = attn_mat_of(inner, ATTN_F32, WORDS, INNER);

    /* 3. Each of the block's two layers, attention and feed-forward, adds to x, whose numbers grow; a layer reads them
       normed, every row with mean 0 and deviation 1. x itself stays as it is. */
    norm(normed, x);
    look("3. Norm: every row with mean 0 and deviation 1", "normed", normed);

    /* 4. Each word takes from itself and the words before it what its queries find: times three matrices, two heads,
       side by side, times a fourth matrix, all in one call. Queries, keys and values come from the same rows, `in`. */
    attn_opts opts = {0};
    attn_ctx ctx = show_ctx;
    ctx.batch_invariant = 1; /* a word has the same bits, however many stand beside it */
    opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    opts.weights = attn_bhld(weights, ATTN_F32, 1, 1, WORDS, WORDS);
    SHOW_TRY(attn_mha(out, in, in, in, &attention, &opts, &ctx));
    look("4. Attention: projected, two heads, side by side, projected again", "attention", change);

    /* 5. What attention found is added to the word and does not replace it, so that nothing of the word is lost however
       many blocks follow. */
    add(x, change);
    look("5. Added to what came in", "x", x);

    /* 6. Attention mixes words; feed-forward works on each word alone, with four times as many numbers in between.
       Negative ones become 0, without which two matrices would do no more than one. */
    norm(normed, x);
    SHOW_TRY(attn_matmul(wide, attn_head(in, 0, 0), learnt[4]));
    for (int n = 0; n < WORDS * INNER; n++)
        inner[n] = inner[n] > 0 ? inner[n] : 0;
    SHOW_TRY(attn_matmul(attn_head(out, 0, 0), wide, learnt[5]));
    look("6. Feed-forward: norm, 8 numbers to 32, the negative ones to 0, back to 8", "feed-forward", change);

    /* 7. The block ends as it began, with six words of eight numbers, so that blocks can be stacked. */
    add(x, change);
    look("7. Added again: what the next block takes in", "x", x);
}

int main(int argc, char **argv)
{
    static const double high[6] = {1, 1, 0.6, 0.6, 0.6, 0.3};
    const char *directory = show_directory(argc, argv, "[DIRECTORY]", about);
    float x[WORDS * SIZE], positions[WORDS * SIZE], other[WORDS * SIZE], weights[2][WORDS * WORDS];
    show_map map = show_map_of("Weights of the layer, the mean of two heads", SHOW_BLUE, "word that asks",
                               "word that is attended to", 2);
    map.row_labels = map.col_labels = words;
    show_precision(2);
    for (unsigned n = 0; n < 6; n++)
        show_random(learnt[n] = attn_mat_of(numbers[n], ATTN_F32, n == 5 ? INNER : SIZE, n == 4 ? INNER : SIZE), n + 1,
                    -high[n], high[n]);
    attention.wq = learnt[0], attention.wk = learnt[1], attention.wv = learnt[2], attention.wo = learnt[3];
    attention.heads = HEADS;

    /* 1. A word is a row of numbers, the same wherever it stands. (`look` prints.) */
    show_random(attn_mat_of(x, ATTN_F32, WORDS, SIZE), 37, -1, 1);
    memcpy(x + 3 * SIZE, x, ROW);
    look("1. Six words, eight numbers each; the first and the fourth are the same word", "words", x);

    /* 2. Attention does not know where a key stands; a causal mask tells it only which keys come before. Both words
       "the" would be found alike. So their positions are added, as sines and cosines of several wavelengths. Then x
       goes through the block: `run_block` is steps 3 to 7. */
    SHOW_TRY(attn_sinusoid(attn_mat_of(positions, ATTN_F32, WORDS, SIZE), 0));
    add(x, positions);
    look("2. Their positions added: now the two differ", "x", x);
    memcpy(other, x, sizeof x);
    run_block(x, weights[0]);

    /* 8. What the layer attended to; grey: later words, which are hidden. */
    for (int i = 0; i < WORDS; i++)
        for (int j = i + 1; j < WORDS; j++)
            weights[0][i * WORDS + j] = NAN; /* was 0; now a grey cell */
    show_title("8. The weights: no word sees a later one");
    show_heatmap(directory, "09_layer_weights.svg", attn_mat_of(weights[0], ATTN_F32, WORDS, WORDS), &map);

    /* 9. A check that no word sees a later one: with another last word, what the block makes of the words before it has
       the same bits. */
    show_title("9. Another last word: what the block makes of those before it");
    quiet = 1;
    show_random(attn_mat_of(other + (WORDS - 1) * SIZE, ATTN_F32, 1, SIZE), 8, -1, 1);
    run_block(other, weights[1]);
    for (int i = 0; i < WORDS * SIZE; i += SIZE)
        printf("%-5s  %s\n", words[i / SIZE], memcmp(x + i, other + i, ROW) ? "other numbers" : "the same bits");
    return show_done();
}
