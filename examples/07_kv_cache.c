/* Key/value caches, one for each layer: a text is read once, then grows token by token, and no key or value is computed
   twice.

       cc -O2 07_kv_cache.c -lm && ./a.out */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char about[] = "Key/value caches: a text is read once, and then grows token by token.";

enum { LAYERS = 3, HEADS = 4, KV_HEADS = 2, SIZE = 16, WIDTH = HEADS * SIZE, LETTERS = 128 };
enum { LONGEST = 20, PROMPT = 13, RING = 8, BEAMS = 3, SHARED = 10 };
enum { PACKED = (HEADS + 2 * KV_HEADS) * SIZE }; /* queries, keys and values of a token, side by side */

static const char *const text = "attention looks back";

/* The model: a token is a letter, which begins as WIDTH numbers and goes through LAYERS layers of attention. Random
   numbers stand for what training would have made of these. */
static float begin[LETTERS][WIDTH], weights[LAYERS][WIDTH][PACKED];
static float value_of[LETTERS][KV_HEADS][SIZE]; /* the values of each letter in the first layer, to tell it by */

/* Memory for caches: keys and values of each layer, token by token, of up to BEAMS texts; and their lengths. */
static float key_memory[LAYERS][BEAMS][LONGEST][KV_HEADS][SIZE], value_memory[LAYERS][BEAMS][LONGEST][KV_HEADS][SIZE];
static size_t lengths[LAYERS][BEAMS];

/* Tokens on their way through the model: some of each of B texts. */
typedef struct tokens {
    size_t B, first, count;
    float x[BEAMS * LONGEST][WIDTH], qkv[BEAMS * LONGEST][PACKED], out[BEAMS * LONGEST][WIDTH];
} tokens;

static tokens whole, part;

/* Tokens first .. first + count - 1 of each text. */
static void take(tokens *t, const char *const *texts, size_t B, size_t first, size_t count)
{
    t->B = B;
    t->first = first;
    t->count = count;
    for (size_t b = 0; b < B; b++)
        for (size_t i = 0; i < count; i++)
            memcpy(t->x[b * count + i], begin[(int)texts[b][first + i]], sizeof t->x[0]);
}

/* The tokens go through all layers, t->x becoming what the model makes of them. In each their keys and values enter the
   cache of that layer, then their queries look at all it holds. Without caches, `cache` NULL, they see each other only.
   Keys are rotated by their positions once, before they enter the cache: a token keeps its position. One token is to
   have the bits that it has among many: batch_invariant. */
static void run(tokens *t, attn_kv_cache *cache, const attn_opts *opts)
{
    size_t rows = t->B * t->count;
    attn_tensor out = attn_blhd(t->out, ATTN_F32, t->B, t->count, HEADS, SIZE), q, k, v;
    attn_rope_opts rope = {0};
    attn_ctx ctx = show_ctx;
    ctx.batch_invariant = 1;
    rope.offset = (ptrdiff_t)t->first;
    for (int n = 0; n < LAYERS; n++) {
        SHOW_TRY(attn_matmul_ctx(attn_mat_of(t->qkv, ATTN_F32, rows, PACKED), attn_mat_of(t->x, ATTN_F32, rows, WIDTH),
                                 attn_mat_of(weights[n], ATTN_F32, WIDTH, PACKED), 1, &ctx));
        SHOW_TRY(attn_qkv(&q, &k, &v, t->qkv, ATTN_F32, t->B, t->count, HEADS, KV_HEADS, SIZE));
        SHOW_TRY(attn_rope(q, q, &rope));
        SHOW_TRY(attn_rope(k, k, &rope));
        if (cache) {
            SHOW_TRY(attn_kv_cache_append(&cache[n], k, v, NULL));
            SHOW_TRY(attn_kv_cache_attend(out, q, &cache[n], opts, &ctx));
        } else {
            SHOW_TRY(attn_sdpa(out, q, k, v, opts, &ctx));
        }
        for (size_t i = 0; i < rows; i++)
            for (int d = 0; d < WIDTH; d++)
                t->x[i][d] += t->out[i][d];
    }
}

/* ---- the caches of all layers ---- */

/* B texts in the program's own memory, where it lies. lengths[] says how many tokens are there. */
static void use_memory(attn_kv_cache *cache, size_t B)
{
    for (int n = 0; n < LAYERS; n++) {
        attn_tensor k = attn_blhd(key_memory[n], ATTN_F32, B, LONGEST, KV_HEADS, SIZE);
        attn_tensor v = attn_blhd(value_memory[n], ATTN_F32, B, LONGEST, KV_HEADS, SIZE);
        SHOW_TRY(attn_kv_cache_over(&cache[n], k, v, lengths[n], NULL));
        cache[n].fault = &show_fault; /* for functions without a ctx */
    }
}

/* One text in memory that the library allocates. */
static void allocate(attn_kv_cache *cache, size_t capacity, attn_dtype dtype, int ring)
{
    for (int n = 0; n < LAYERS; n++) {
        SHOW_TRY(attn_kv_cache_init(&cache[n], 1, KV_HEADS, capacity, SIZE, SIZE, dtype, ring, NULL, 0));
        cache[n].fault = &show_fault;
    }
}

static void release(attn_kv_cache *cache)
{
    for (int n = 0; n < LAYERS; n++)
        attn_kv_cache_free(&cache[n]);
}

/* Back to the first `len` tokens: in every layer, for each has its own keys of those that are given up. */
static void go_back(attn_kv_cache *cache, size_t len)
{
    for (int n = 0; n < LAYERS; n++)
        SHOW_TRY(attn_kv_cache_truncate(&cache[n], 0, len));
}

/* ---- what they hold, and what comes out ---- */

/* The letter of a token of item b, '?' if none: the first layer's value of it depends on the letter alone. */
static char letter_at(const attn_kv_cache *cache, size_t b, size_t token)
{
    float value[KV_HEADS][SIZE];
    SHOW_TRY(attn_kv_cache_row(attn_mat_of(value, ATTN_F32, KV_HEADS, SIZE), &cache[0], b, 1, token));
    for (char letter = ' '; letter <= 'z'; letter++)
        if (memcmp(value, value_of[(int)letter], sizeof value) == 0)
            return letter;
    return '?';
}

/* The text that item b holds, oldest token first. */
static void print_held(const attn_kv_cache *cache, size_t b)
{
    putchar('"');
    for (size_t j = cache[0].first ? cache[0].first[b] : 0; j < cache[0].lens[b]; j++)
        putchar(letter_at(cache, b, j));
    putchar('"');
}

/* Whether what the model made of some tokens has the bits of these rows. */
static const char *compare(const tokens *t, float rows[][WIDTH])
{
    return memcmp(t->x, rows, t->B * t->count * sizeof rows[0]) ? "OTHER BITS" : "the same bits";
}

/* The largest difference between one token and this row, or `most` if that is larger. */
static double larger(double most, const tokens *t, const float *row)
{
    for (int d = 0; d < WIDTH; d++) {
        double error = fabs((double)t->x[0][d] - (double)row[d]);
        most = error > most ? error : most;
    }
    return most;
}

static const char *name_of(attn_status status)
{
    return status == ATTN_ERR_VALUE ? "ATTN_ERR_VALUE" : attn_status_string(status);
}

/* The storage that one more token takes in a layer: what the cache grows by, over a thousand tokens. */
static double bytes_for_token(size_t kv_heads, size_t size, attn_dtype dtype)
{
    size_t small, large;
    SHOW_TRY(attn_kv_cache_size(&small, 1, kv_heads, 1000, size, size, dtype, 0));
    SHOW_TRY(attn_kv_cache_size(&large, 1, kv_heads, 2000, size, size, dtype, 0));
    return (double)(large - small) / 1000;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"f32", "f16", "bf16", "i8"};
    static const attn_dtype dtypes[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
    static const char *const guess[] = {"attention looking"};
    const char *beams[BEAMS] = {"attention sees", "attention hears", "attention reads"};
    const char *const chosen[BEAMS] = {"attention red", "attention see", "attention rea"};
    const size_t from[BEAMS] = {2, 0, 2};
    static attn_kv_cache cache[LAYERS]; /* all zero: empty */
    attn_opts causal = {0}, windowed;
    attn_tensor q, k, v;
    attn_status status;
    attn_ctx ctx = show_ctx; /* with which values are those of the caches */

    show_directory(argc, argv, "", about);
    causal.causal = ATTN_CAUSAL_LOWER_RIGHT;
    windowed = causal;
    windowed.window.on = 1;
    windowed.window.left = 4; /* a token and the four before it */
    show_random(attn_mat_of(begin, ATTN_F32, LETTERS, WIDTH), 1, -1, 1);
    show_random(attn_mat_of(weights, ATTN_F32, LAYERS * WIDTH, PACKED), 2, -0.25, 0.25);
    ctx.batch_invariant = 1;
    SHOW_TRY(attn_matmul_ctx(
        attn_mat_of(value_of, ATTN_F32, LETTERS, KV_HEADS * SIZE), attn_mat_of(begin, ATTN_F32, LETTERS, WIDTH),
        attn_mat_cols(attn_mat_of(weights[0], ATTN_F32, WIDTH, PACKED), WIDTH + KV_HEADS * SIZE, KV_HEADS * SIZE), 1,
        &ctx));

    show_title("1. All at once, to compare with: the whole text, causal, without a cache");
    take(&whole, &text, 1, 0, LONGEST);
    run(&whole, NULL, &causal);
    printf("%d tokens \"%s\", %d layers,\n%d query heads on %d of keys and values, %d numbers each\n", LONGEST, text,
           LAYERS, HEADS, KV_HEADS, SIZE);

    show_title("2. Prefill: the prompt enters empty caches, one for each layer, in one step");
    use_memory(cache, 1);
    take(&part, &text, 1, 0, PROMPT);
    run(&part, cache, &causal);
    print_held(cache, 0);
    printf(": %s\n", compare(&part, whole.x));

    show_title("3. Decode: one token after another, each with one query in each layer");
    for (size_t i = PROMPT; i < LONGEST; i++) {
        take(&part, &text, 1, i, 1);
        run(&part, cache, &causal);
        printf("token %d '%c'  output %5.2f %5.2f %5.2f ...  %s\n", (int)i, text[i], (double)part.x[0][0],
               (double)part.x[0][1], (double)part.x[0][2], compare(&part, whole.x + i));
    }
    SHOW_TRY(attn_qkv(&q, &k, &v, part.qkv, ATTN_F32, 1, 1, HEADS, KV_HEADS, SIZE));
    status = attn_kv_cache_append(&cache[0], k, v, NULL);
    printf("one more than the capacity of %d: %s,\n%s: %s\n", LONGEST, name_of(status), show_fault.argument,
           show_fault.text);

    show_title("4. Truncate: four guessed tokens are read at once, the wrong ones forgotten");
    go_back(cache, PROMPT);
    take(&part, guess, 1, PROMPT, 4);
    run(&part, cache, &causal);
    print_held(cache, 0);
    go_back(cache, PROMPT + 1); /* the first was right */
    printf(", truncated to ");
    print_held(cache, 0);
    take(&part, &text, 1, PROMPT + 1, 1);
    run(&part, cache, &causal);
    printf(",\ncontinued to ");
    print_held(cache, 0);
    printf(": %s\n", compare(&part, whole.x + PROMPT + 1));

    show_title("5. Bytes per token, and the largest error of what is decoded");
    printf("dtype  bytes    error   with 32 layers of 8 heads of 128, 32768 tokens\n");
    for (size_t n = 0; n < 4; n++) {
        double error = 0;
        allocate(cache, LONGEST, dtypes[n], 0);
        for (size_t i = 0; i < LONGEST; i++) {
            take(&part, &text, 1, i, 1);
            run(&part, cache, &causal);
            error = larger(error, &part, whole.x[i]);
        }
        printf("%-5s  %5.0f  %7.1g   %.1f GiB\n", names[n], LAYERS * bytes_for_token(KV_HEADS, SIZE, dtypes[n]), error,
               32 * bytes_for_token(8, 128, dtypes[n]) * 32768 / (1 << 30));
        release(cache);
    }

    show_title("6. Rings of 8 tokens for a window of 5: the memory no longer grows");
    take(&whole, &text, 1, 0, LONGEST); /* to compare with */
    run(&whole, NULL, &windowed);
    allocate(cache, RING, ATTN_F32, 1);
    for (size_t i = 0; i < LONGEST; i += part.count) {
        take(&part, &text, 1, i, i < 12 ? 4 : 1); /* RING less those before a token: the most that may enter at once */
        run(&part, cache, &windowed);
        if (i + part.count < PROMPT)
            continue;
        printf("tokens %2d to %d ", (int)cache[0].first[0], (int)cache[0].lens[0] - 1);
        print_held(cache, 0);
        printf(" in slots \"");
        for (size_t slot = 0; slot < RING; slot++) { /* token j lies at j % RING */
            size_t first = cache[0].first[0];
            putchar(letter_at(cache, 0, first + (slot + RING - first % RING) % RING));
        }
        printf("\": %s\n", compare(&part, whole.x + i));
    }
    SHOW_TRY(attn_qkv(&q, &k, &v, part.qkv, ATTN_F32, 1, 1, HEADS, KV_HEADS, SIZE));
    status = attn_kv_cache_attend(attn_blhd(part.out, ATTN_F32, 1, 1, HEADS, SIZE), q, &cache[0], &causal, &show_ctx);
    printf("without the window, tokens that it would see are gone:\n%s: %s\n", show_fault.argument, name_of(status));
    release(cache);

    show_title("7. Beam search: three continuations; the third is best, the second given up");
    memset(lengths, 0, sizeof lengths);
    use_memory(cache, 1);             /* for one text; */
    take(&part, &text, 1, 0, SHARED); /* the prompt goes through the model once, */
    run(&part, cache, &causal);
    use_memory(cache, BEAMS);        /* the same memory for three: item 0 stays where it is, */
    for (int n = 0; n < LAYERS; n++) /* and is copied */
        for (size_t b = 1; b < BEAMS; b++)
            SHOW_TRY(attn_kv_cache_copy(&cache[n], b, 0, SHARED));
    for (size_t i = SHARED; i < 13; i++) {
        take(&part, i < 12 ? beams : chosen, BEAMS, i, 1);
        run(&part, cache, &causal);
        for (size_t b = 0; b < BEAMS; b++) {
            printf(b ? "  " : "beams ");
            print_held(cache, b);
        }
        puts("");
        if (i == 11) {
            for (int n = 0; n < LAYERS; n++)
                SHOW_TRY(attn_kv_cache_reorder(&cache[n], from));
            printf("reordered: items %d, %d and %d\n", (int)from[0], (int)from[1], (int)from[2]);
        }
    }
    take(&whole, chosen, BEAMS, 0, 13);
    run(&whole, NULL, &causal);
    for (size_t b = 0; b < BEAMS; b++)
        memcpy(whole.x[b], whole.x[b * 13 + 12], sizeof whole.x[0]);
    printf("against computing each of them from its start: %s\n", compare(&part, whole.x));
    return show_done();
}
