/* One step of a decoder with attention: its state scores the encoder's annotations, softmax turns scores into weights,
   the weighted annotations add up to a context vector. Then Luong's attentional state, three other ways to score, and
   two other ways to turn scores into weights.

       cc -O2 03_attention_scoring.c -lm && ./a.out [directory for the pictures] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char about[] = "One step of a decoder with attention: scores, weights, context vector; other\n"
                            "ways to score, and other ways to turn scores into weights.";

enum { STEPS = 4, NODES = 3 }; /* steps of the encoder, one annotation each; numbers in a hidden state */

static const char *const nodes[] = {"node 1", "node 2", "node 3"};
static const char *const steps[] = {"step 1", "step 2", "step 3", "step 4"};

/* Draws rows of states as the columns of a heatmap. */
static void draw(const char *directory, const char *file, const char *title, show_colours colours, int digits,
                 attn_mat m)
{
    show_map map = show_map_of(title, colours, "node", m.rows > 1 ? "step of the encoder" : "state", digits);
    map.row_labels = nodes;
    map.col_labels = m.rows > 1 ? steps : NULL;
    show_heatmap(directory, file, attn_mat_t(m), &map);
}

/* Softmax as one would first write it: exp(929) is beyond the largest double, and infinity / infinity is no number. */
static void naive_softmax(attn_mat scores)
{
    double powers[STEPS], weights[STEPS], sum = 0;
    for (size_t j = 0; j < STEPS; j++)
        sum += powers[j] = exp(attn_mat_get(scores, 0, j));
    for (size_t j = 0; j < STEPS; j++)
        weights[j] = powers[j] / sum;
    show_vec("exp(scores)", attn_mat_of(powers, ATTN_F64, 1, STEPS));
    show_vec("exp(scores) / their sum", attn_mat_of(weights, ATTN_F64, 1, STEPS));
}

/* tanh(Wc [context; state]): what the decoder goes on with (Luong 2015). Wc would be learnt. */
static void attentional_state(attn_mat context, attn_mat state)
{
    static const double weights[NODES][2 * NODES] = {{0.02, -0.05, 0.01, 0.04, 0.10, -0.02},
                                                     {-0.06, 0.03, 0.02, -0.01, 0.05, -0.03},
                                                     {0.05, 0.08, -0.03, 0.02, -0.10, 0.04}};
    double memory[2 * NODES], out[NODES];
    attn_mat wc = attn_mat_of(weights, ATTN_F64, NODES, 2 * NODES);
    attn_mat both = attn_mat_of(memory, ATTN_F64, 1, 2 * NODES), parts[2];
    parts[0] = context;
    parts[1] = state;
    SHOW_TRY(attn_concat_heads(both, parts, 2));
    SHOW_TRY(attn_matmul(attn_mat_of(out, ATTN_F64, 1, NODES), both, attn_mat_t(wc)));
    for (int i = 0; i < NODES; i++)
        out[i] = tanh(out[i]);
    show_vec("[context; state]", both);
    show_vec("attentional state", attn_mat_of(out, ATTN_F64, 1, NODES));
}

/* The same state and annotations, scored in four ways. The matrices would be learnt. */
static void four_scorers(const char *directory, attn_mat state, attn_mat annotations)
{
    static const char *const names[] = {"dot", "general", "additive", "cosine"};
    static const double w[NODES][NODES] = {{0.01, 0, 0}, {0, 0.02, 0}, {0, 0, 0.001}};
    static const double query_weights[NODES][2] = {{0.05, -0.02}, {0.01, 0.04}, {-0.01, 0.02}};
    static const double key_weights[NODES][2] = {{0.02, -0.01}, {-0.03, 0.02}, {0.01, 0.01}};
    static const double mix[2] = {2, 1};
    attn_mat general = attn_mat_of(w, ATTN_F64, NODES, NODES), v = attn_mat_of(mix, ATTN_F64, 2, 1);
    attn_mat wq = attn_mat_of(query_weights, ATTN_F64, NODES, 2), wk = attn_mat_of(key_weights, ATTN_F64, NODES, 2);
    double memory[2][4 * STEPS];
    attn_mat scores = attn_mat_of(memory[0], ATTN_F64, 4, STEPS), weights = attn_mat_of(memory[1], ATTN_F64, 4, STEPS);
    show_map map = show_map_of("Weights by four ways of scoring", SHOW_BLUE, "score", "step of the encoder", 4);
    SHOW_TRY(attn_scores(attn_mat_rows(scores, 0, 1), state, annotations, 1));
    SHOW_TRY(attn_scores_general(attn_mat_rows(scores, 1, 1), state, annotations, general));
    SHOW_TRY(attn_scores_additive(attn_mat_rows(scores, 2, 1), state, annotations, wq, wk, v));
    SHOW_TRY(attn_scores_cosine(attn_mat_rows(scores, 3, 1), state, annotations, 1));
    SHOW_TRY(attn_softmax(weights, scores));
    for (size_t i = 0; i < 4; i++)
        show_vec(names[i], attn_mat_rows(scores, i, 1));
    map.row_labels = names;
    map.col_labels = steps;
    show_heatmap(directory, "03_scorers.svg", weights, &map);
}

/* Softmax leaves every key a little weight. entmax15 and sparsemax give exactly 0 to what scores too low. */
static void three_normalisers(const char *directory, attn_mat notebook)
{
    enum { KEYS = 6 };
    static const char *const names[] = {"softmax", "entmax15", "sparsemax"};
    static const double row[KEYS] = {3, 2.5, 2, 1, 0, -1};
    static const char *const keys[KEYS] = {"3", "2.5", "2", "1", "0", "-1"};
    double memory[2][3 * KEYS];
    attn_mat scores = attn_mat_of(row, ATTN_F64, 1, KEYS);
    attn_mat weights = attn_mat_of(memory[0], ATTN_F64, 3, KEYS);
    attn_mat weights_of_notebook = attn_mat_of(memory[1], ATTN_F64, 3, STEPS);
    show_map map = show_map_of(NULL, SHOW_BLUE, "method", "score of the key", 2);
    SHOW_TRY(attn_softmax(attn_mat_rows(weights, 0, 1), scores));
    SHOW_TRY(attn_entmax15(attn_mat_rows(weights, 1, 1), scores));
    SHOW_TRY(attn_sparsemax(attn_mat_rows(weights, 2, 1), scores));
    SHOW_TRY(attn_softmax(attn_mat_rows(weights_of_notebook, 0, 1), notebook));
    SHOW_TRY(attn_entmax15(attn_mat_rows(weights_of_notebook, 1, 1), notebook));
    SHOW_TRY(attn_sparsemax(attn_mat_rows(weights_of_notebook, 2, 1), notebook));
    show_precision(4);
    show_vec("scores", scores);
    for (size_t i = 0; i < 3; i++)
        show_vec(names[i], attn_mat_rows(weights, i, 1));
    puts("the decoder's scores; step 1 is 2 below the best: too low for all but softmax");
    show_vec("scores", notebook);
    for (size_t i = 0; i < 3; i++)
        show_vec(names[i], attn_mat_rows(weights_of_notebook, i, 1));

    for (size_t n = 0; n < 3 * KEYS; n++)
        if (memory[0][n] == 0)
            memory[0][n] = NAN; /* a grey cell of the picture */
    map.row_labels = names;
    map.col_labels = keys;
    map.high = 0.8;
    map.grey = "exactly 0";
    show_heatmaps(directory, "03_normalisers.svg", "Weights of six keys", &weights, &map, 1, 1);
}

int main(int argc, char **argv)
{
    const char *directory = show_directory(argc, argv, "[DIRECTORY]", about);

    /* 1. Two networks translate: an encoder reads the text, a decoder writes the translation. The decoder's hidden
       state, a row of numbers, is what it knows so far. It is the query: which word of the text matters for the next
       word of the translation? */
    static const double decoder_state[NODES] = {5, 1, 20};
    attn_mat state = attn_mat_of(decoder_state, ATTN_F64, 1, NODES);
    show_title("1. Who asks: the decoder's hidden state");
    show_vec_int("state", state);
    draw(directory, "03_decoder_state.svg", "Decoder state", SHOW_PURPLE, 0, state);

    /* 2. The encoder has left a hidden state for each step of its reading, for each word: an annotation. Annotations
       are keys and values both; there are no matrices, and nothing is divided by a square root. */
    static const double encoder_states[STEPS][NODES] = {{3, 12, 45}, {59, 2, 5}, {1, 43, 5}, {4, 3, 45.3}};
    attn_mat annotations = attn_mat_of(encoder_states, ATTN_F64, STEPS, NODES); /* one in each row */
    attn_mat annotation = attn_mat_rows(annotations, 0, 1);
    show_title("2. Who is asked: one annotation, a hidden state of the encoder");
    show_vec_int("annotation", annotation);
    draw(directory, "03_annotation.svg", "One annotation", SHOW_ORANGE, 0, annotation);

    /* 3. The simplest score is the dot product: large where both are large, and so a measure of how well the annotation
       answers the state. 5 x 3 + 1 x 12 + 20 x 45 = 927. */
    double memory[4][STEPS * NODES];
    attn_mat scores = attn_mat_of(memory[0], ATTN_F64, 1, STEPS);
    show_title("3. The score of that annotation: a dot product");
    SHOW_TRY(attn_scores(attn_mat_cols(scores, 0, 1), state, annotation, 1));
    printf("score: %.0f\n", attn_mat_get(scores, 0, 0));

    /* 4. There are four annotations; as columns they are the matrix that the state is multiplied with. */
    show_title("4. All annotations, one in each column");
    show_mat("annotations", attn_mat_t(annotations));
    draw(directory, "03_annotations.svg", "Annotations", SHOW_ORANGE, 1, annotations);

    /* 5. One product of the state with that matrix scores all of them. The first and the last do best. */
    show_title("5. All scores in one product");
    SHOW_TRY(attn_scores(scores, state, annotations, 1));
    show_vec("scores", scores);

    /* 6. Weights are to add up to 1, which softmax sees to. Its formula, taken literally, fails here: exp(927) is
       larger than any double, and infinity by infinity is not a number. */
    show_title("6. Softmax without care: the exponentials overflow");
    naive_softmax(scores);

    /* 7. With the largest score taken off, every exponential is at most 1, and the weights are the same, for numerator
       and denominator shrink alike. A score that is 2 lower gets a seventh of the largest weight, 532 lower next to
       nothing, and 781 lower a 0, as a double holds nothing so small. */
    attn_mat weights = attn_mat_of(memory[1], ATTN_F64, 1, STEPS);
    show_title("7. Softmax with the largest score taken off first");
    puts("(the notebook takes numpy's float128 instead, which only moves the limit)");
    SHOW_TRY(attn_softmax(weights, scores));
    show_vec("weights", weights);
    for (size_t j = 0; j < STEPS; j++)
        printf("%s: %.9g\n", steps[j], attn_mat_get(weights, 0, j));

    /* 8. Each annotation is multiplied by its weight: what is to be attended to keeps its size, the rest fades. */
    attn_mat applied = attn_mat_of(memory[2], ATTN_F64, STEPS, NODES);
    show_title("8. Each annotation times its weight");
    SHOW_TRY(attn_weighted_values(applied, weights, annotations));
    show_mat("applied attention", attn_mat_t(applied));
    puts("Beside the annotations as they were: next to nothing is left of the second and\n"
         "the third, the first keeps an eighth of itself, and the fourth stands out.");
    draw(directory, "03_applied_attention.svg", "Annotations times their weights", SHOW_ORANGE, 2, applied);

    /* 9. The sum over the steps is the context vector: one vector of the size of an annotation, with what the decoder
       asked for. */
    attn_mat context = attn_mat_of(memory[3], ATTN_F64, 1, NODES);
    show_title("9. The context vector: their sum");
    SHOW_TRY(attn_weighted_sum(context, weights, annotations));
    show_vec("context", context);
    draw(directory, "03_context_vector.svg", "Context vector", SHOW_BLUE, 2, context);

    /* 10. The decoder goes on with context and state together, through one more layer: the two, one after the other,
       times a matrix that would be learnt. */
    show_title("10. Beyond: the attentional state, tanh(Wc [context; state])");
    attentional_state(context, state);

    /* 11. A dot product is not the only score. Learnt matrices (here made up) can choose which numbers to compare:
       general is q W k^T, and additive is tanh(q Wq + k Wk) v. A cosine, the dot product over both lengths, looks at
       directions alone. The same annotations get other weights. */
    show_title("11. Beyond: the general, additive and cosine scores beside the dot product");
    four_scorers(directory, state, annotations);

    /* 12. Softmax leaves every key a little weight, as far as a number can hold it. Two others give exactly 0 to what
       scores too low, so that a program can leave it out. */
    show_title("12. Beyond: softmax, entmax15 and sparsemax, which leave out low scores");
    three_normalisers(directory, scores);
    return show_done();
}
