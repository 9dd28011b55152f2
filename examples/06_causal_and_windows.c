/* Visibility: each option of attn_sdpa that hides keys from queries, drawn as a map. Every query scores every key
   alike, so that the keys it sees share its attention evenly, and the value of key j is the number j: the output is the
   mean of the keys seen, and the log-sum-exp is the logarithm of their number.

       cc -O2 06_causal_and_windows.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char about[] = "Visibility: each option of attn_sdpa that hides keys from queries, as a map.";

#define MAPS 12
#define LONGEST 7
#define SIZE 4

static const char *const numbers[LONGEST] = {"0", "1", "2", "3", "4", "5", "6"};
static float queries[LONGEST][SIZE]; /* zeros: every score is 0 */
static float keys[LONGEST][SIZE], values[LONGEST];
static float weights[MAPS][LONGEST * LONGEST];
static attn_mat pictured[MAPS];
static show_map maps[MAPS];
static size_t count;

/* Attention of the first Lq queries and Lk keys under these options: prints which keys each sees, keeps the weights for
   the picture. */
static void look(const char *title, const char *name, size_t Lq, size_t Lk, attn_opts opts)
{
    float out[LONGEST], lse[LONGEST], scores[LONGEST * LONGEST];
    attn_tensor q = attn_bhld(queries, ATTN_F32, 1, 1, Lq, SIZE), k = attn_bhld(keys, ATTN_F32, 1, 1, Lk, SIZE);
    attn_tensor v = attn_bhld(values, ATTN_F32, 1, 1, Lk, 1);

    opts.weights = attn_bhld(weights[count], ATTN_F32, 1, 1, Lq, Lk);
    opts.scores = attn_bhld(scores, ATTN_F32, 1, 1, Lq, Lk);
    opts.scores_stage = ATTN_STAGE_FINAL; /* hidden keys have -infinity */
    opts.lse = attn_bhld(lse, ATTN_F32, 1, 1, Lq, 1);
    SHOW_TRY(attn_sdpa(attn_bhld(out, ATTN_F32, 1, 1, Lq, 1), q, k, v, &opts, &show_ctx));

    show_title(title);
    printf("     key ");
    for (size_t j = 0; j < Lk; j++)
        printf(" %s", numbers[j]);
    printf("   sees   output       lse\n");
    for (size_t i = 0; i < Lq; i++) {
        int seen = 0;
        printf("query %s  ", numbers[i]);
        for (size_t j = 0; j < Lk; j++) {
            int sees = scores[i * Lk + j] > -FLT_MAX;
            printf(" %c", sees ? '#' : '.');
            if (!sees)
                weights[count][i * Lk + j] = NAN; /* was 0; now a grey cell of the picture */
            seen += sees;
        }
        printf("  %5d  %7.4f  %8.4f\n", seen, (double)out[i], (double)lse[i]);
    }

    pictured[count] = attn_mat_of(weights[count], ATTN_F32, Lq, Lk);
    maps[count] = show_map_of(name, SHOW_BLUE, "query", "key", 2);
    maps[count].row_labels = maps[count].col_labels = numbers;
    maps[count].high = 1;
    count++;
}

int main(int argc, char **argv)
{
    const char *directory = show_directory(argc, argv, "[DIRECTORY]", about);
    const char *texts = "AABB-CC"; /* -: padding */
    const attn_opts none = {0};
    attn_opts opts = none;
    ptrdiff_t offset;
    size_t valid_queries = 4, valid_keys = 5;
    unsigned char same_text[LONGEST][LONGEST];
    float distance[5][5];

    for (int j = 0; j < LONGEST; j++)
        values[j] = (float)j;
    show_random(attn_mat_of(keys, ATTN_F32, LONGEST, SIZE), 6, -1, 1);

    /* 1. All queries are zeros here, and so are all scores: each of six keys gets a sixth of the weight. Value j is the
       number j, so that the output is the mean of the keys' numbers, and lse, log-sum-exp, the logarithm of the sum
       under softmax's fraction, is that of their count. Training needs it, and with it results for separate parts of
       the keys can be joined. */
    look("1. No option: every query sees every key", "no option", 6, 6, none);

    /* 2. A model that writes must not see what comes later: it could then copy the word that it is to guess. A causal
       mask hides the keys after the query's own position. In the matrix of scores the boundary is a diagonal, here from
       the upper left corner: query i is at position i. In a loop it is `if (j > i) score = -INFINITY;` before
       softmax. */
    opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    look("2. Causal, upper left: query i sits at position i of the keys", "causal, upper left", 4, 7, opts);

    /* 3. Where keys are kept from earlier calls, the queries are the last positions: the diagonal ends in the lower
       right corner, at the last key. */
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    look("3. Causal, lower right: the last query sits at the last key (4 after 3)", "causal, lower right", 4, 7, opts);

    /* 4. A query that comes before every key sees nothing: its output is zeros. */
    look("4. The same with more queries than keys: the first three see none", "lower right, Lq > Lk", 7, 4, opts);

    /* 5. Or the program says at which position the first query sits. */
    opts.causal = ATTN_CAUSAL_OFFSET;
    opts.causal_offset = &offset; /* one for each item of the batch */
    offset = 2;
    look("5. Causal, offset 2: query i sits at position i + 2", "causal, offset 2", 4, 7, opts);

    /* 6. That position may lie before the first key. The sum over no keys is 0, and the logarithm of 0 is -infinity. */
    offset = -2;
    look("6. Causal, offset -2: a row without keys gives zeros, and lse -infinity", "causal, offset -2", 6, 6, opts);

    /* 7. A window shows a fixed number of keys to the left and to the right of the query's position, so that the work
       grows with the length of the text and not with its square. */
    opts = none;
    opts.window.on = 1;
    opts.window.left = 2;
    opts.window.right = 1;
    look("7. Window, left 2 and right 1: up to 2 + 1 + 1 keys, its own among them", "window, left 2, right 1", 7, 7,
         opts);

    /* 8. With a causal rule each query sees the last three keys, its own among them. The first Mistral 7B has such a
       window, of 4096. */
    opts.window.right = -1;
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    look("8. Window, left 2, with causal lower right: a sliding window of 3", "lower right, window left 2", 5, 7, opts);

    /* 9. Either side may be without limit, and the offset counts without a causal rule, too. */
    opts = none;
    opts.window.on = 1;
    opts.window.left = -1;
    opts.window.right = 1;
    opts.causal_offset = &offset;
    offset = 3;
    look("9. Window, left unlimited and right 1, around position i + 3, not causal", "offset 3, window right 1", 5, 7,
         opts);

    /* 10. Texts of a batch have different lengths, and what stands behind their ends must not count. It may hold
       anything: NaN here, which would spread if it were read. */
    opts = none;
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    opts.q_lens = &valid_queries;
    opts.kv_lens = &valid_keys;
    keys[5][0] = keys[6][0] = values[5] = values[6] = NAN;
    look("10. Valid lengths, 4 of 6 queries and 5 of 7 keys: the last valid ones meet",
         "lower right, 4 of 6 and 5 of 7", 6, 7, opts);
    values[5] = 5;
    values[6] = 6;
    show_random(attn_mat_of(keys, ATTN_F32, LONGEST, SIZE), 6, -1, 1);

    /* 11. A mask says yes or no for each pair, for rules that have no name. A pair must pass every rule that is set. */
    opts = none;
    opts.causal = ATTN_CAUSAL_UPPER_LEFT;
    opts.mask = attn_bhld(same_text, ATTN_BOOL, 1, 1, LONGEST, LONGEST);
    for (int i = 0; i < LONGEST; i++)
        for (int j = 0; j < LONGEST; j++)
            same_text[i][j] = texts[i] == texts[j] && texts[i] != '-';
    keys[4][0] = values[4] = NAN;
    look("11. Mask and causal: texts A A B B - C C see themselves, the padding none", "causal, mask of three texts", 7,
         7, opts);

    /* 12. A bias is added to the scores, and makes keys count for more or for less; here less with distance. (Key 4
       holds NaN since step 11, and hidden it harms nothing.) */
    opts = none;
    opts.bias = attn_bhld(distance, ATTN_F32, 1, 1, 5, 5);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            distance[i][j] = j == 4 ? -INFINITY : -0.5f * (float)abs(i - j);
    look("12. Bias: near keys count for more; exactly -infinity hides key 4, NaN or not", "bias, -infinity for key 4",
         5, 5, opts);

    /* 13. A row is a query, a column a key; what is hidden is grey. */
    show_title("13. All of them: each weight, no number where the key is hidden");
    show_heatmaps(directory, "06_visibility.svg", "Visibility: weights of queries over keys", pictured, maps, count, 3);
    return show_done();
}
