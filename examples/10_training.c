/* Training: how attention learns. A transformer of two layers, attention and nothing else, starts from random numbers
   and reads texts that repeat themselves. The second time, what comes next can be known: a head must find where the
   letter stood before, and look at the one that followed it. Such an induction head is not built in. The loss alone
   makes it (Olsson 2022, arXiv 2209.11895).

       cc -O2 10_training.c -lm && ./a.out
       cc -O2 10_training.c -lm && ./a.out --long [directory for the pictures]      trains to the end, and draws */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char about[] = "How attention learns to look back: a transformer of two layers is trained,\n"
                            "for 250 steps; with --long for 1000, and then it is drawn.";

enum { LETTERS = 16, LENGTH = 24, ITEMS = 16, TOKENS = ITEMS * LENGTH }; /* each step learns from ITEMS texts */
enum { UNSEEN = 112 };                                               /* the seed of texts that it does not learn from */
enum { LAYERS = 2, HEADS = 2, SIZE = 32, SHORT = 250, LONG = 1000 }; /* SHORT, LONG: so many steps */

/* What training changes. Doubles, so that a machine that adds up in another order prints the same digits. */
typedef struct model {
    double embed[LETTERS][SIZE]; /* what a letter begins with */
    double wq[LAYERS][SIZE][SIZE], wk[LAYERS][SIZE][SIZE], wv[LAYERS][SIZE][SIZE], wo[LAYERS][SIZE][SIZE];
    double unembed[SIZE][LETTERS]; /* from what the last layer gives to a score for each letter that may come next */
} model;

static model weights, gradient, mean, square_mean; /* the last two: of the gradients so far, for AdamW */
enum { NUMBERS = sizeof(model) / sizeof(double) };

/* What the forward pass leaves for the backward pass, a row for each token: x goes from layer to layer. */
static double x[LAYERS + 1][TOKENS][SIZE], q[LAYERS][TOKENS][SIZE], k[LAYERS][TOKENS][SIZE], v[LAYERS][TOKENS][SIZE];
static double out[LAYERS][TOKENS][SIZE], lse[LAYERS][ITEMS * HEADS * LENGTH];
static double chances[TOKENS][LETTERS]; /* of each letter to come next */

static double looks[LAYERS][ITEMS][HEADS][LENGTH][LENGTH]; /* the weights of attention, when they are wanted */
static int letter[TOKENS], next[TOKENS], period[ITEMS];    /* the texts, what comes next, when they repeat */

static attn_mat mat(void *data, size_t rows, size_t cols)
{
    return attn_mat_of(data, ATTN_F64, rows, cols);
}
static attn_mat square(void *w) /* one of a layer's weights */
{
    return mat(w, SIZE, SIZE);
}
static attn_mat tokens(void *rows)
{
    return mat(rows, TOKENS, SIZE);
}
static attn_tensor heads(void *rows) /* the same rows as texts of several heads */
{
    return attn_blhd(rows, ATTN_F64, ITEMS, LENGTH, HEADS, SIZE / HEADS);
}

/* New texts: 6 to 12 letters, no two alike, and then the same over and over. */
static void write_texts(uint64_t seed)
{
    double dice[ITEMS][LETTERS + 1];
    show_random(mat(dice, ITEMS, LETTERS + 1), seed, 0, 1);
    for (int b = 0; b < ITEMS; b++) {
        int shuffled[LETTERS] = {0};
        period[b] = 6 + (int)(7 * dice[b][LETTERS]);
        for (int n = 0; n < LETTERS; n++) {
            int other = (int)(dice[b][n] * (n + 1));
            shuffled[n] = shuffled[other];
            shuffled[other] = n;
        }
        for (int i = 0; i < LENGTH; i++) {
            letter[b * LENGTH + i] = shuffled[i % period[b]];
            next[b * LENGTH + i] = shuffled[(i + 1) % period[b]];
        }
    }
}

/* ---- forward: from letters to chances ---- */

static attn_opts options(int layer, int want_looks)
{
    attn_opts opts = {0};
    opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    opts.lse = attn_bhld(lse[layer], ATTN_F64, ITEMS, HEADS, LENGTH, 1); /* the backward pass will need it */
    if (want_looks)
        opts.weights = attn_bhld(looks[layer], ATTN_F64, ITEMS, HEADS, LENGTH, LENGTH);
    return opts;
}

static void forward(int want_looks)
{
    attn_mat scores = mat(chances, TOKENS, LETTERS);
    for (int t = 0; t < TOKENS; t++)
        memcpy(x[0][t], weights.embed[letter[t]], sizeof x[0][t]);
    for (int n = 0; n < LAYERS; n++) {
        attn_opts opts = options(n, want_looks);
        SHOW_TRY(attn_matmul(tokens(q[n]), tokens(x[n]), square(weights.wq[n])));
        SHOW_TRY(attn_matmul(tokens(k[n]), tokens(x[n]), square(weights.wk[n])));
        SHOW_TRY(attn_matmul(tokens(v[n]), tokens(x[n]), square(weights.wv[n])));
        SHOW_TRY(attn_rope(heads(q[n]), heads(q[n]), NULL)); /* positions */
        SHOW_TRY(attn_rope(heads(k[n]), heads(k[n]), NULL));
        SHOW_TRY(attn_sdpa(heads(out[n]), heads(q[n]), heads(k[n]), heads(v[n]), &opts, &show_ctx));
        memcpy(x[n + 1], x[n], sizeof x[n]);
        SHOW_TRY(attn_matmul_add(tokens(x[n + 1]), tokens(out[n]), square(weights.wo[n]), 1, &show_ctx));
    }
    SHOW_TRY(attn_matmul(scores, tokens(x[LAYERS]), mat(weights.unembed, SIZE, LETTERS)));
    SHOW_TRY(attn_softmax(scores, scores));
}

/* The loss of a token, its cross-entropy: -log of the chance that the letter had which came next. Here the mean over
   tokens that stood in the text before (known = 1), over the others, after which nobody can know what comes (0), or
   over all (-1). */
static double loss(int known)
{
    double sum = 0;
    int count = 0;
    for (int t = 0; t < TOKENS; t++)
        if (known < 0 || known == (t % LENGTH >= period[t / LENGTH]))
            sum -= log(chances[t][next[t]]), count++;
    return sum / count;
}

/* ---- backward: from the loss to its gradient, the lines of `forward` from the last to the first ---- */

/* Back through y = x w: what y's gradient says of w's, and of x's. Both add to what there is. */
static void back(attn_mat dx, attn_mat dw, attn_mat dy, attn_mat from, attn_mat w)
{
    SHOW_TRY(attn_matmul_add(dx, dy, attn_mat_t(w), 1, &show_ctx));
    SHOW_TRY(attn_matmul_add(dw, attn_mat_t(from), dy, 1, &show_ctx));
}

static void backward(void)
{
    static double dscores[TOKENS][LETTERS], dx[TOKENS][SIZE], dout[TOKENS][SIZE];
    static double dq[TOKENS][SIZE], dk[TOKENS][SIZE], dv[TOKENS][SIZE];
    attn_grads grads = {0};
    attn_rope_opts undo = {0};
    grads.q = heads(dq), grads.k = heads(dk), grads.v = heads(dv);
    undo.transposed = 1;
    memset(&gradient, 0, sizeof gradient);
    memset(dx, 0, sizeof dx);

    for (int t = 0; t < TOKENS; t++) /* logarithm and softmax at once: the chances less what came */
        for (int c = 0; c < LETTERS; c++)
            dscores[t][c] = (chances[t][c] - (c == next[t])) / TOKENS;
    back(tokens(dx), mat(gradient.unembed, SIZE, LETTERS), mat(dscores, TOKENS, LETTERS), tokens(x[LAYERS]),
         mat(weights.unembed, SIZE, LETTERS));
    for (int n = LAYERS - 1; n >= 0; n--) { /* dx, of what a layer gives, becomes that of what it takes */
        attn_opts opts = options(n, 0);
        memset(dout, 0, sizeof dout);
        back(tokens(dout), square(gradient.wo[n]), tokens(dx), tokens(out[n]), square(weights.wo[n]));
        SHOW_TRY(attn_sdpa_backward(&grads, heads(dout), heads(q[n]), heads(k[n]), heads(v[n]), heads(out[n]), opts.lse,
                                    &opts, &show_ctx));
        SHOW_TRY(attn_rope(grads.q, grads.q, &undo));
        SHOW_TRY(attn_rope(grads.k, grads.k, &undo));
        back(tokens(dx), square(gradient.wq[n]), tokens(dq), tokens(x[n]), square(weights.wq[n]));
        back(tokens(dx), square(gradient.wk[n]), tokens(dk), tokens(x[n]), square(weights.wk[n]));
        back(tokens(dx), square(gradient.wv[n]), tokens(dv), tokens(x[n]), square(weights.wv[n]));
    }
    for (int t = 0; t < TOKENS; t++)
        for (int d = 0; d < SIZE; d++)
            gradient.embed[letter[t]][d] += dx[t][d];
}

/* AdamW: each weight moves against the mean of its gradients, measured by their usual size, and shrinks a little. The
   rate falls to 0 at the end.                                        Loshchilov, Hutter 2017, arXiv 1711.05101 */
static void update(int step)
{
    const double keep = 0.9, keep_square = 0.99, decay = 0.01, rate = 0.02 * (LONG - step) / LONG;
    const double part = 1 - pow(keep, step), square_part = 1 - pow(keep_square, step); /* the means began as zeros */
    double *w = (double *)&weights, *g = (double *)&gradient, *m = (double *)&mean, *s = (double *)&square_mean;
    for (int n = 0; n < NUMBERS; n++) {
        m[n] = keep * m[n] + (1 - keep) * g[n];
        s[n] = keep_square * s[n] + (1 - keep_square) * g[n] * g[n];
        w[n] -= rate * (m[n] / part / (sqrt(s[n] / square_part) + 1e-8) + decay * w[n]);
    }
}

/* ---- training ---- */

static void begin(void)
{
    show_random(mat(&weights, 1, NUMBERS), 5, -0.2, 0.2);
    show_random(mat(weights.embed, LETTERS, SIZE), 4, -1, 1);
    memset(&mean, 0, sizeof mean);
    memset(&square_mean, 0, sizeof square_mean);
}

/* Steps count from 1. The losses are those before the step. */
static void train(int step, int want_looks, double losses[2])
{
    write_texts((uint64_t)(1000 + step));
    forward(want_looks);
    for (int known = 0; known < 2; known++)
        losses[known] = loss(known);
    backward();
    update(step);
}

/* ---- to see it ---- */

/* One of the numbers: its gradient as `backward` has it, and the slope between two losses, a little to either side. */
static void check_gradient(const char *name, double *w)
{
    const double *g = (double *)&gradient + (w - (double *)&weights), old = *w, little = 1e-5;
    double more, less;
    *w = old + little, forward(0), more = loss(-1);
    *w = old - little, forward(0), less = loss(-1);
    *w = old;
    printf("%-14s  %10.7f  %10.7f\n", name, *g, (more - less) / (2 * little));
}

/* The weight that a head gives to the letter just before (after = 0), or to those that followed the same letter earlier
   in the text (1): the mean over tokens that stood in the text before. */
static double share(int n, int h, int after)
{
    double sum = 0;
    int count = 0;
    for (int b = 0; b < ITEMS; b++)
        for (int i = period[b]; i < LENGTH; i++, count++)
            for (int j = 1; j <= i; j++)
                if (after ? letter[b * LENGTH + j - 1] == letter[b * LENGTH + i] : j == i - 1)
                    sum += looks[n][b][h][i][j];
    return sum / count;
}

static void print_shares(void)
{
    printf("layer  head  letter before  letter that followed\n");
    for (int n = 0; n < LAYERS; n++)
        for (int h = 0; h < HEADS; h++)
            printf("%5d  %4d  %13.2f  %20.2f\n", n + 1, h + 1, share(n, h, 0), share(n, h, 1));
}

static void print_text(const char *name, const int *text)
{
    printf("%-7s", name);
    for (int i = 0; i < LENGTH; i++)
        printf(" %c", text[i] < 0 ? '-' : 'a' + text[i]);
    puts("");
}

/* The likeliest next letter, after those of the first text that stood in it before; -1 after the others. */
static void make_guesses(int guess[LENGTH])
{
    for (int i = 0; i < LENGTH; i++) {
        guess[i] = i < period[0] ? -1 : 0;
        for (int c = 0; c < LETTERS && guess[i] >= 0; c++)
            guess[i] = chances[i][c] > chances[i][guess[i]] ? c : guess[i];
    }
}

/* Where a head of each layer looks in the first text: '#' half of its weight or more, '+' a tenth or more. */
static void print_maps(const int *head)
{
    printf("  layer 1, head %d%*slayer 2, head %d\n ", head[0] + 1, LENGTH - 14, "", head[1] + 1);
    for (int n = 0; n < LAYERS * LENGTH; n++)
        printf("%s%c", n % LENGTH ? "" : " ", 'a' + letter[n % LENGTH]);
    for (int i = 0; i < LENGTH; i++) {
        printf("\n%c", 'a' + letter[i]);
        for (int n = 0; n < LAYERS; n++) {
            const double *w = looks[n][0][head[n]][i];
            putchar(' ');
            for (int j = 0; j < (n + 1 < LAYERS ? LENGTH : i + 1); j++)
                putchar(j > i ? ' ' : w[j] >= 0.5 ? '#' : w[j] >= 0.1 ? '+' : '.');
        }
    }
    puts("");
}

/* Whether the letter at j followed, earlier in the first text, the one that stands at i. */
static int followed(int i, int j)
{
    return j >= 1 && j <= i && letter[j - 1] == letter[i];
}

/* The pictures: where an induction head looks before training and after, and the losses on the way. */
static void pictures(const char *directory, double before[LENGTH][LENGTH], double after[LENGTH][LENGTH], void *losses)
{
    static const char *const lines[2] = {"new letters", "repeated letters"};
    attn_mat mats[2] = {mat(before, LENGTH, LENGTH), mat(after, LENGTH, LENGTH)};
    show_map maps[2];
    show_chart chart = {"The loss in training", "step", "-log of the chance of what came", lines, 0, LONG};
    char names[LENGTH][2] = {{0}};
    const char *labels[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
        names[i][0] = (char)('a' + letter[i]);
        labels[i] = names[i];
    }
    for (int n = 0; n < 2; n++) {
        maps[n] = show_map_of(n ? "after training" : "before training", SHOW_BLUE, "letter that asks",
                              "letter that is looked at", 2);
        maps[n].row_labels = maps[n].col_labels = labels;
        maps[n].high = 1;
        maps[n].side = 16;
        maps[n].framed = followed;
        maps[n].frame = "where an induction head is to look: what followed the same letter before";
    }
    for (int i = 0; i < LENGTH; i++)
        for (int j = i + 1; j < LENGTH; j++)
            before[i][j] = after[i][j] = NAN; /* hidden */
    show_heatmaps(directory, "10_induction_head.svg", "An induction head: its weights in a text that repeats itself",
                  mats, maps, 2, 2);
    show_lines(directory, "10_loss.svg", mat(losses, 2, LONG / 10), &chart);
}

int main(int argc, char **argv)
{
    static double before[HEADS][LENGTH][LENGTH], losses[2][LONG / 10];
    const int is_long = argc > 1 && strcmp(argv[1], "--long") == 0, steps = is_long ? LONG : SHORT;
    const char *directory;
    int head[LAYERS], guess[LENGTH];
    if (is_long)
        argv[1] = argv[0], argv++, argc--;
    directory = show_directory(argc, argv, "[--long] [DIRECTORY]", about);
    show_precision(2);
    show_threshold(100);

    /* 1. What comes next in a text that repeats itself can be known by looking back: what followed this letter the last
       time? A letter is what a word was so far: a token. */
    show_title("1. Texts: 6 to 12 of 16 letters, no two alike, then the same over and over");
    write_texts(UNSEEN);
    for (int b = 0; b < 4; b++)
        print_text("text", letter + b * LENGTH);

    /* 2. The matrix embed makes numbers of a letter; wq, wk, wv and wo are the matrices of a layer's attention; unembed
       makes a score for each letter that may come next. Every number is random: the model knows nothing. Only positions
       are built in: RoPE turns pairs of numbers of each query and key by angles that grow with the position, so that
       scores depend on the distance. */
    show_title("2. The model before training: random numbers, in 2 layers of 2 heads of 16");
    begin();
    show_mat("embed", mat(weights.embed, LETTERS, SIZE));
    show_mat("wq of layer 1", square(weights.wq[0]));
    printf("wk, wv and wo are like it, so is layer 2; unembed (%d, %d); %d in all\n", SIZE, LETTERS, NUMBERS);

    /* 3. Forward: from letters to the chances of the next one. The loss is the surprise at what comes, minus the
       logarithm of the chance that the model gave it. A model that knows nothing gives each of 16 letters a
       sixteenth. */
    show_title("3. What it knows: its loss is a guess among 16, its heads look everywhere");
    forward(1);
    memcpy(before, looks[1][0], sizeof before);
    printf("loss %.2f, -log(1/16) = %.2f\n", loss(-1), log(LETTERS));
    print_shares();

    /* 4. The gradient says for each number how the loss changes with it. The backward pass finds all 9216 at once, from
       the last line of forward to the first; to move one number a little and compute the loss anew checks it. */
    show_title("4. How the loss changes with some numbers: their gradient, and by trying");
    backward();
    printf("number            gradient      trying\n");
    check_gradient("embed", weights.embed[letter[0]]);
    check_gradient("wq of layer 1", weights.wq[0][0]);
    check_gradient("wk of layer 1", weights.wk[0][1]);
    check_gradient("wv of layer 2", weights.wv[1][0]);
    check_gradient("wo of layer 2", weights.wo[1][0]);
    check_gradient("unembed", weights.unembed[0]);

    /* 5. Each number moves a little against its gradient, again and again. For a hundred steps the loss hardly changes.
       Then heads of both layers find their parts, and the loss of repeated letters falls to nearly 0. That of new ones
       rises meanwhile, as the model looks up what is not there yet; later it learns to expect, among new letters, those
       that have not come. The last columns: the largest share that a head of layer 1 gives to the letter before, and a
       head of layer 2 to letters that followed. */
    show_title("5. Training: each step reads 16 new texts, and changes every number");
    printf("      loss of letters      most that a head looks at\n");
    printf("step   new   repeated    letter before   that followed\n");
    for (int step = 1; step <= steps; step++) {
        int report = step == 1 || step % (steps / 10) == 0;
        double now[2];
        train(step, report, now);
        for (int known = 0; known < 2; known++)
            losses[known][(step - 1) / 10] += now[known] / 10;
        if (report)
            printf("%4d  %4.2f  %9.2f  %15.2f  %14.2f\n", step, now[0], now[1], fmax(share(0, 0, 0), share(0, 1, 0)),
                   fmax(share(1, 0, 1), share(1, 1, 1)));
    }

    /* 6. In texts that it has never seen it knows what comes as soon as the letters repeat: it has not learnt texts,
       but how to look something up. */
    show_title("6. Texts that it has not learnt from: what comes next in the first one");
    write_texts(UNSEEN);
    forward(1);
    print_text("text", letter);
    print_text("next", next);
    make_guesses(guess);
    print_text("guess", guess);
    printf("loss of new letters %.2f, of repeated ones %.2f\n", loss(0), loss(1));

    /* 7. How it does it: each letter in layer 1 notes which one stood before it; heads of layer 2 ask for those that
       note the present letter, and find what followed it. Nobody built that in. In the maps a row is a letter that
       asks; # is half of its weight or more, + a tenth or more. */
    show_title("7. How: a head of layer 1 looks at the letter before, of 2 at what followed");
    print_shares();
    head[0] = share(0, 1, 0) > share(0, 0, 0);
    head[1] = share(1, 1, 1) > share(1, 0, 1);
    print_maps(head);

    /* 8. A head of layer 2 before training, when it looks everywhere, and after, when it looks into the frames: at what
       followed the same letter earlier. */
    if (is_long) {
        show_title("8. Pictures");
        pictures(directory, before[head[1]], looks[1][0][head[1]], losses);
    } else {
        printf("\n(With --long it goes on to step %d, and draws an induction head and the loss.)\n", LONG);
    }
    return show_done();
}
