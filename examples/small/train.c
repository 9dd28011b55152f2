/* train.c: trains the model of 15_small.c on attn.h, and writes weights.h. `make small-train` gives it the English of
   examples/models/train/grammar.c, lines up to a tab.

       small_train < lines > weights.h

   What model.h says is here for many texts at once, and with its way back, as in 10_training.c; read that first. One
   instruction set makes the same weights each time, on any number of threads. */
#define ATTN_THREADS
#include "../../attn.h"
#include "../show.h"
#include "model.h"

enum { ITEMS = 16, LENGTH = 128, TOKENS = ITEMS * LENGTH, STEPS = 5000, WARMUP = 100, REPORT = 500 };
static const double RATE = 6e-3, DECAY = 0.01;

typedef struct model {
    float embed[LETTERS][WIDTH];
    struct layer {
        float qkv[QKV][WIDTH], out[WIDTH][WIDTH], up[HIDDEN][WIDTH], down[WIDTH][HIDDEN];
    } layers[LAYERS];
} model;

static model weights, gradient, mean, square_mean; /* the last two: of the gradients so far, for AdamW */

/* What the forward pass leaves for the way back, a row for each token. The steps of a layer are two: attention and what
   follows it, each with the x that it begins with, and norm(x). */
static float x[2 * LAYERS + 1][TOKENS][WIDTH], normed[2 * LAYERS + 1][TOKENS][WIDTH];
static float qkv[LAYERS][TOKENS][QKV], mixed[LAYERS][TOKENS][WIDTH], lse[LAYERS][ITEMS * HEADS * LENGTH];
static float hidden[LAYERS][TOKENS][HIDDEN], chances[TOKENS][LETTERS];
static int letter[TOKENS], next[TOKENS];

static attn_ctx ctx;

static attn_mat mat(void *data, size_t rows, size_t cols)
{
    return attn_mat_of(data, ATTN_F32, rows, cols);
}
static attn_tensor heads(void *rows)
{
    return attn_blhd(rows, ATTN_F32, ITEMS, LENGTH, HEADS, SIZE);
}
static attn_opts options(int n)
{
    attn_opts opts = {0};
    opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    opts.window.on = 1, opts.window.left = WINDOW - 1;
    opts.lse = attn_bhld(lse[n], ATTN_F32, ITEMS, HEADS, LENGTH, 1);
    return opts;
}

/* ---- the text ---- */

/* The next character's number; -1: the text ends. */
static int read_letter(void)
{
    int c = getchar();
    if (c == '\t')
        while (c != '\n' && c != EOF)
            c = getchar();
    if (c == EOF)
        return -1;
    const char *found = c ? strchr(SMALL_LETTERS, c) : NULL;
    return found ? (int)(found - SMALL_LETTERS) : 1; /* what has no number: a space */
}

static int read_batch(void)
{
    for (int t = 0; t < TOKENS; t++) {
        letter[t] = t % LENGTH ? next[t - 1] : read_letter();
        next[t] = read_letter();
        if (letter[t] < 0 || next[t] < 0)
            return 0;
    }
    return 1;
}

/* ---- forward ---- */

/* 1 over the root of the mean square of a row. */
static float norm_of(const float *row)
{
    float sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += row[i] * row[i];
    return 1 / sqrtf(sum / WIDTH + 1e-5f);
}

static attn_mat norm(int step)
{
    for (int t = 0; t < TOKENS; t++) {
        float by = norm_of(x[step][t]);
        for (int i = 0; i < WIDTH; i++)
            normed[step][t][i] = x[step][t][i] * by;
    }
    return mat(normed[step], TOKENS, WIDTH);
}

/* The next x: this one, and `rows` times a matrix. */
static void add(int step, attn_mat rows, attn_mat w)
{
    memcpy(x[step + 1], x[step], sizeof x[step]);
    SHOW_TRY(attn_matmul_add(mat(x[step + 1], TOKENS, WIDTH), rows, attn_mat_t(w), 1, &ctx));
}

static void times(attn_mat out, attn_mat rows, attn_mat w)
{
    SHOW_TRY(attn_matmul_ctx(out, rows, attn_mat_t(w), 1, &ctx));
}

/* Returns the loss: the mean of -log of the chance of the character that came. */
static double forward(void)
{
    double loss = 0;
    attn_mat scores = mat(chances, TOKENS, LETTERS);
    for (int t = 0; t < TOKENS; t++)
        memcpy(x[0][t], weights.embed[letter[t]], sizeof x[0][t]);
    for (int n = 0; n < LAYERS; n++) {
        struct layer *w = &weights.layers[n];
        attn_opts opts = options(n);
        attn_tensor q, k, v;
        times(mat(qkv[n], TOKENS, QKV), norm(2 * n), mat(w->qkv, QKV, WIDTH));
        SHOW_TRY(attn_qkv(&q, &k, &v, qkv[n], ATTN_F32, ITEMS, LENGTH, HEADS, 1, SIZE));
        SHOW_TRY(attn_rope(q, q, NULL));
        SHOW_TRY(attn_rope(k, k, NULL));
        SHOW_TRY(attn_sdpa(heads(mixed[n]), q, k, v, &opts, &ctx));
        add(2 * n, mat(mixed[n], TOKENS, WIDTH), mat(w->out, WIDTH, WIDTH));

        times(mat(hidden[n], TOKENS, HIDDEN), norm(2 * n + 1), mat(w->up, HIDDEN, WIDTH));
        for (int t = 0; t < TOKENS; t++)
            for (int i = 0; i < HIDDEN; i++)
                hidden[n][t][i] = hidden[n][t][i] > 0 ? hidden[n][t][i] : 0;
        add(2 * n + 1, mat(hidden[n], TOKENS, HIDDEN), mat(w->down, WIDTH, HIDDEN));
    }
    times(scores, norm(2 * LAYERS), mat(weights.embed, LETTERS, WIDTH));
    SHOW_TRY(attn_softmax_ctx(scores, scores, &ctx));
    for (int t = 0; t < TOKENS; t++)
        loss -= log((double)chances[t][next[t]] + 1e-30) / TOKENS;
    return loss;
}

/* ---- backward: the lines of `forward` from the last to the first ---- */

/* Back through out = rows w^T: drows is written, dw gets more. */
static void back(attn_mat drows, attn_mat dw, attn_mat dout, attn_mat rows, attn_mat w)
{
    SHOW_TRY(attn_matmul_ctx(drows, dout, w, 1, &ctx));
    SHOW_TRY(attn_matmul_add(dw, attn_mat_t(dout), rows, 1, &ctx));
}

/* dx += the gradient through norm, of which dnormed is that of what it gave. */
static void back_norm(float (*dx)[WIDTH], float (*dnormed)[WIDTH], int step)
{
    for (int t = 0; t < TOKENS; t++) {
        const float *y = normed[step][t];
        float by = norm_of(x[step][t]), along = 0;
        for (int i = 0; i < WIDTH; i++)
            along += dnormed[t][i] * y[i] / WIDTH;
        for (int i = 0; i < WIDTH; i++)
            dx[t][i] += by * (dnormed[t][i] - along * y[i]);
    }
}

static void backward(void)
{
    static float dx[TOKENS][WIDTH], drows[TOKENS][WIDTH], dhidden[TOKENS][HIDDEN], dqkv[TOKENS][QKV];
    attn_mat dx_mat = mat(dx, TOKENS, WIDTH), drows_mat = mat(drows, TOKENS, WIDTH);
    attn_rope_opts undo = {0};
    attn_grads grads = {0};
    undo.transposed = 1;
    memset(&gradient, 0, sizeof gradient);
    memset(dx, 0, sizeof dx);
    SHOW_TRY(attn_qkv(&grads.q, &grads.k, &grads.v, dqkv, ATTN_F32, ITEMS, LENGTH, HEADS, 1, SIZE));

    for (int t = 0; t < TOKENS; t++) /* logarithm and softmax at once: the chances less what came */
        for (int c = 0; c < LETTERS; c++)
            chances[t][c] = (chances[t][c] - (float)(c == next[t])) / TOKENS;
    back(drows_mat, mat(gradient.embed, LETTERS, WIDTH), mat(chances, TOKENS, LETTERS),
         mat(normed[2 * LAYERS], TOKENS, WIDTH), mat(weights.embed, LETTERS, WIDTH));
    back_norm(dx, drows, 2 * LAYERS);
    for (int n = LAYERS - 1; n >= 0; n--) {
        struct layer *w = &weights.layers[n], *dw = &gradient.layers[n];
        attn_opts opts = options(n);
        attn_tensor q, k, v;
        back(mat(dhidden, TOKENS, HIDDEN), mat(dw->down, WIDTH, HIDDEN), dx_mat, mat(hidden[n], TOKENS, HIDDEN),
             mat(w->down, WIDTH, HIDDEN));
        for (int t = 0; t < TOKENS; t++)
            for (int i = 0; i < HIDDEN; i++)
                dhidden[t][i] = hidden[n][t][i] > 0 ? dhidden[t][i] : 0;
        back(drows_mat, mat(dw->up, HIDDEN, WIDTH), mat(dhidden, TOKENS, HIDDEN), mat(normed[2 * n + 1], TOKENS, WIDTH),
             mat(w->up, HIDDEN, WIDTH));
        back_norm(dx, drows, 2 * n + 1);

        back(drows_mat, mat(dw->out, WIDTH, WIDTH), dx_mat, mat(mixed[n], TOKENS, WIDTH), mat(w->out, WIDTH, WIDTH));
        SHOW_TRY(attn_qkv(&q, &k, &v, qkv[n], ATTN_F32, ITEMS, LENGTH, HEADS, 1, SIZE));
        SHOW_TRY(attn_sdpa_backward(&grads, heads(drows), q, k, v, heads(mixed[n]), opts.lse, &opts, &ctx));
        SHOW_TRY(attn_rope(grads.q, grads.q, &undo));
        SHOW_TRY(attn_rope(grads.k, grads.k, &undo));
        back(drows_mat, mat(dw->qkv, QKV, WIDTH), mat(dqkv, TOKENS, QKV), mat(normed[2 * n], TOKENS, WIDTH),
             mat(w->qkv, QKV, WIDTH));
        back_norm(dx, drows, 2 * n);
    }
    for (int t = 0; t < TOKENS; t++)
        for (int i = 0; i < WIDTH; i++)
            gradient.embed[letter[t]][i] += dx[t][i];
}

/* AdamW, as in 10_training.c; the rate rises for WARMUP steps, and then falls to 0 as a cosine does. */
static void update(int step)
{
    const double keep = 0.9, keep_square = 0.98, part = 1 - pow(keep, step), square_part = 1 - pow(keep_square, step);
    const double rate = step < WARMUP ? RATE * step / WARMUP : RATE * (1 + cos(3.14159265358979 * step / STEPS)) / 2;
    float *w = (float *)&weights, *g = (float *)&gradient, *m = (float *)&mean, *s = (float *)&square_mean;
    for (int n = 0; n < NUMBERS; n++) {
        double slope = g[n], mean_now = keep * m[n] + (1 - keep) * slope;
        double square_now = keep_square * s[n] + (1 - keep_square) * slope * slope;
        m[n] = (float)mean_now, s[n] = (float)square_now;
        w[n] -= (float)(rate * (mean_now / part / (sqrt(square_now / square_part) + 1e-8) + DECAY * w[n]));
    }
}

/* ---- 8 bits ---- */

/* Rounds a matrix row by row to integers of -127 .. 127 times a scale, and prints the integers; its weights become what
   is left of them. */
static void round_rows(float **w, float **scales, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++, *w += cols) {
        float largest = 0;
        for (size_t i = 0; i < cols; i++)
            largest = fmaxf(largest, fabsf((*w)[i]));
        float scale = largest > 0 ? largest / 127 : 1;
        *(*scales)++ = scale;
        for (size_t i = 0; i < cols; i++) {
            int whole = (int)lrintf((*w)[i] / scale);
            printf("%d,%s", whole, (i + 1) % 48 ? "" : "\n");
            (*w)[i] = scale * (float)whole;
        }
    }
}

static void write_weights(void)
{
    static float scales[ROWS];
    float *w = (float *)&weights, *scale = scales;
    puts("/* Written by train.c: see model.h. */");
    puts("static const signed char small_weights[NUMBERS] = {");
    round_rows(&w, &scale, LETTERS, WIDTH);
    for (int n = 0; n < LAYERS; n++) {
        round_rows(&w, &scale, QKV + WIDTH + HIDDEN, WIDTH);
        round_rows(&w, &scale, WIDTH, HIDDEN);
    }
    puts("};\nstatic const float small_scales[ROWS] = { /* of each row */");
    for (int r = 0; r < ROWS; r++)
        printf("%.7ef,%s", (double)scales[r], (r + 1) % 8 && r + 1 < ROWS ? " " : "\n");
    puts("};");
}

int main(void)
{
    double loss = 0;
    SHOW_TRY(attn_pool_new(&ctx.parallel, 0));
    show_random(mat(&weights, 1, NUMBERS), 5, -0.25, 0.25);
    for (int step = 1; step <= STEPS; step++) {
        if (!read_batch())
            return fputs("small_train: the text is too short\n", stderr), 1;
        loss += forward() / REPORT;
        backward();
        update(step);
        if (step % REPORT == 0)
            fprintf(stderr, "step %4d  loss %.3f\n", step, loss), loss = 0;
    }
    if (!read_batch())
        return fputs("small_train: the text is too short\n", stderr), 1;
    loss = forward();
    write_weights();
    fprintf(stderr, "of a text that it has not learnt from: loss %.3f, with weights of 8 bits %.3f\n", loss, forward());
    attn_pool_free(&ctx.parallel);
    return fflush(stdout) != 0;
}
