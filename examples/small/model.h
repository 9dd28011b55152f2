/* model.h: the sizes of the model of 15_small.c, for that and for its trainer: characters in, the next one out.

   Its weights lie one after another, each matrix as outputs x inputs: embed; then for each layer q, k and v as one,
   out, up, down. A layer is x += out(attention(norm(x))), then x += down(relu(up(norm(x)))); the scores of the next
   character are embed times norm(x). norm(x) is x divided by the root of its mean square. */
#ifndef SMALL_MODEL_H
#define SMALL_MODEL_H

#define SMALL_LETTERS "\n !',.?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

enum {
    LETTERS = sizeof SMALL_LETTERS - 1, /* each has a number, its place there */
    WIDTH = 48,
    LAYERS = 3,
    HEADS = 3, /* of queries; they share one head of keys and values */
    SIZE = WIDTH / HEADS,
    QKV = (HEADS + 2) * SIZE,
    HIDDEN = 2 * WIDTH,
    WINDOW = 64, /* how many characters attention sees, the present one included */
    ROWS = LETTERS + LAYERS * (QKV + WIDTH + HIDDEN + WIDTH), /* of all matrices: each has a scale of its own */
    NUMBERS = WIDTH * LETTERS + LAYERS * WIDTH * (QKV + WIDTH + HIDDEN + HIDDEN)
};

#endif
