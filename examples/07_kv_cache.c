/* A key/value cache: a text is read once, then grows token by token, and no key or value is computed twice.

       cc -O2 07_kv_cache.c -lm && ./a.out */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

enum { HEADS = 4, KV_HEADS = 2, SIZE = 16, LONGEST = 20, PROMPT = 13, RING = 8, BEAMS = 3, LETTERS = 128 };

static const char *const text = "attention looks back";

/* A token is a letter. Its query, key and value would come from a layer of a model; here they are random numbers. */
static float query_of[LETTERS][HEADS * SIZE], key_of[LETTERS][KV_HEADS * SIZE], value_of[LETTERS][KV_HEADS * SIZE];

/* Tokens on their way through attention: B texts, some tokens of each, in the order [B][L][H][D]. */
typedef struct tokens {
    attn_tensor q, k, v, out;
    float q_data[BEAMS * LONGEST][HEADS * SIZE], k_data[BEAMS * LONGEST][KV_HEADS * SIZE];
    float v_data[BEAMS * LONGEST][KV_HEADS * SIZE], out_data[BEAMS * LONGEST][HEADS * SIZE];
} tokens;

static tokens whole, part;

/* Tokens first .. first + count - 1 of each text, queries and keys rotated by their positions: keys once, before they
   enter the cache, for a token keeps its position. */
static void take(tokens *t, const char *const *texts, size_t B, size_t first, size_t count)
{
    attn_rope_opts rope = {0};
    for (size_t b = 0; b < B; b++)
        for (size_t i = 0; i < count; i++) {
            int letter = texts[b][first + i];
            memcpy(t->q_data[b * count + i], query_of[letter], sizeof query_of[0]);
            memcpy(t->k_data[b * count + i], key_of[letter], sizeof key_of[0]);
            memcpy(t->v_data[b * count + i], value_of[letter], sizeof value_of[0]);
        }
    t->q = attn_blhd(t->q_data, ATTN_F32, B, count, HEADS, SIZE);
    t->k = attn_blhd(t->k_data, ATTN_F32, B, count, KV_HEADS, SIZE);
    t->v = attn_blhd(t->v_data, ATTN_F32, B, count, KV_HEADS, SIZE);
    t->out = attn_blhd(t->out_data, ATTN_F32, B, count, HEADS, SIZE);
    rope.offset = (ptrdiff_t)first;
    SHOW_TRY(attn_rope(t->q, t->q, &rope));
    SHOW_TRY(attn_rope(t->k, t->k, &rope));
}

/* What a layer does with new tokens: their keys and values enter the cache, then their queries look at all it holds. */
static void step(attn_kv_cache *cache, tokens *t, const attn_opts *opts)
{
    SHOW_TRY(attn_kv_cache_append(cache, t->k, t->v, NULL));
    SHOW_TRY(attn_kv_cache_attend(t->out, t->q, cache, opts, NULL));
}

/* Whether the outputs of some tokens have the bits of these rows. */
static const char *compare(const tokens *t, float rows[][HEADS * SIZE])
{
    return memcmp(t->out_data, rows, t->q.batch * t->q.len * sizeof rows[0]) ? "OTHER BITS" : "the same bits";
}

/* The largest difference between the output of one token and this row, or `most` if that is larger. */
static double larger(double most, const tokens *t, const float *row)
{
    for (int d = 0; d < HEADS * SIZE; d++) {
        double error = fabs((double)t->out_data[0][d] - (double)row[d]);
        most = error > most ? error : most;
    }
    return most;
}

/* The letter in a slot of item b, told by its value. */
static char letter_at(const attn_kv_cache *cache, size_t b, size_t slot)
{
    char letter = 'z';
    while (letter > ' ' && attn_mat_get(attn_head(cache->v, b, 0), slot, 0) != (double)value_of[(int)letter][0])
        letter--;
    return letter;
}

/* The text that item b holds, oldest token first. */
static void print_held(const attn_kv_cache *cache, size_t b)
{
    putchar('"');
    for (size_t j = cache->first[b]; j < cache->lens[b]; j++)
        putchar(letter_at(cache, b, j % cache->k.len)); /* token j lies at j % capacity */
    putchar('"');
}

static const char *name_of(attn_status status)
{
    return status == ATTN_ERR_VALUE ? "ATTN_ERR_VALUE" : attn_status_string(status);
}

/* The storage that one more token takes: what the cache grows by, over a thousand tokens. */
static double bytes_for_token(size_t kv_heads, size_t size, attn_dtype dtype)
{
    size_t small, large;
    SHOW_TRY(attn_kv_cache_size(&small, 1, kv_heads, 1000, size, size, dtype, 0));
    SHOW_TRY(attn_kv_cache_size(&large, 1, kv_heads, 2000, size, size, dtype, 0));
    return (double)(large - small) / 1000;
}

int main(void)
{
    static const char *const names[] = {"f32", "f16", "bf16", "i8"};
    static const attn_dtype dtypes[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
    static const char *const guess[] = {"attention looking"};
    const char *beams[BEAMS] = {"attention sees", "attention hears", "attention reads"};
    const char *const chosen[BEAMS] = {"attention red", "attention see", "attention rea"};
    const size_t from[BEAMS] = {2, 0, 2};
    attn_kv_cache cache = {0}, ring = {0};
    attn_opts causal = {0}, windowed;
    attn_status status;

    causal.causal = ATTN_CAUSAL_LOWER_RIGHT;
    windowed = causal;
    windowed.window.on = 1;
    windowed.window.left = 4; /* a token and the four before it */
    show_random(attn_mat_of(query_of, ATTN_F32, LETTERS, HEADS * SIZE), 1, -2, 2);
    show_random(attn_mat_of(key_of, ATTN_F32, LETTERS, KV_HEADS * SIZE), 2, -2, 2);
    show_random(attn_mat_of(value_of, ATTN_F32, LETTERS, KV_HEADS * SIZE), 3, -1, 1);

    show_title("1. All at once, to compare with: causal attention over the whole text");
    take(&whole, &text, 1, 0, LONGEST);
    SHOW_TRY(attn_sdpa(whole.out, whole.q, whole.k, whole.v, &causal, NULL));
    printf("%d tokens \"%s\", %d query heads on %d of keys and values, %d numbers each\n", LONGEST, text, HEADS,
           KV_HEADS, SIZE);

    show_title("2. Prefill: the prompt enters an empty cache in one step");
    SHOW_TRY(attn_kv_cache_init(&cache, 1, KV_HEADS, LONGEST, SIZE, SIZE, ATTN_F32, 0, NULL, 0));
    take(&part, &text, 1, 0, PROMPT);
    step(&cache, &part, &causal);
    print_held(&cache, 0);
    printf(": %s\n", compare(&part, whole.out_data));

    show_title("3. Decode: one token after another, each with one query");
    for (size_t i = PROMPT; i < LONGEST; i++) {
        take(&part, &text, 1, i, 1);
        step(&cache, &part, &causal);
        printf("token %d '%c'  output %5.2f %5.2f %5.2f ...  %s\n", (int)i, text[i], (double)part.out_data[0][0],
               (double)part.out_data[0][1], (double)part.out_data[0][2], compare(&part, whole.out_data + i));
    }
    status = attn_kv_cache_append(&cache, part.k, part.v, NULL);
    printf("one more than its capacity of %d: %s\n", LONGEST, name_of(status));

    show_title("4. Truncate: four guessed tokens are looked at in one step, the wrong ones forgotten");
    SHOW_TRY(attn_kv_cache_truncate(&cache, 0, PROMPT));
    take(&part, guess, 1, PROMPT, 4);
    step(&cache, &part, &causal);
    print_held(&cache, 0);
    SHOW_TRY(attn_kv_cache_truncate(&cache, 0, PROMPT + 1));
    printf(", truncated to ");
    print_held(&cache, 0);
    take(&part, &text, 1, PROMPT + 1, 1);
    step(&cache, &part, &causal);
    printf(", continued to ");
    print_held(&cache, 0);
    printf(": %s\n", compare(&part, whole.out_data + PROMPT + 1));
    attn_kv_cache_free(&cache);

    show_title("5. Bytes per token, and the largest error of the decoded outputs");
    printf("dtype  bytes    error   with 8 heads of 128, 32768 tokens\n");
    for (size_t n = 0; n < 4; n++) {
        double error = 0;
        SHOW_TRY(attn_kv_cache_init(&cache, 1, KV_HEADS, LONGEST, SIZE, SIZE, dtypes[n], 0, NULL, 0));
        for (size_t i = 0; i < LONGEST; i++) {
            take(&part, &text, 1, i, 1);
            step(&cache, &part, &causal);
            error = larger(error, &part, whole.out_data[i]);
        }
        printf("%-5s  %5.0f  %7.1g   %4.0f MiB\n", names[n], bytes_for_token(KV_HEADS, SIZE, dtypes[n]), error,
               bytes_for_token(8, 128, dtypes[n]) * 32768 / (1 << 20));
        attn_kv_cache_free(&cache);
    }

    show_title("6. A ring of 8 tokens for a window of 5: the memory no longer grows");
    SHOW_TRY(attn_sdpa(whole.out, whole.q, whole.k, whole.v, &windowed, NULL)); /* to compare with */
    SHOW_TRY(attn_kv_cache_init(&ring, 1, KV_HEADS, RING, SIZE, SIZE, ATTN_F32, 1, NULL, 0));
    take(&part, &text, 1, 0, PROMPT); /* more than it holds: attend to the tokens themselves, then append them */
    SHOW_TRY(attn_sdpa(part.out, part.q, part.k, part.v, &windowed, NULL));
    SHOW_TRY(attn_kv_cache_append(&ring, part.k, part.v, NULL));
    for (size_t i = PROMPT; i <= LONGEST; i++) {
        printf("tokens %2d to %d ", (int)ring.first[0], (int)ring.lens[0] - 1);
        print_held(&ring, 0);
        printf(" in slots \"");
        for (size_t slot = 0; slot < RING; slot++)
            putchar(letter_at(&ring, 0, slot));
        printf("\": %s\n", compare(&part, whole.out_data + i - part.q.len));
        if (i < LONGEST) {
            take(&part, &text, 1, i, 1);
            step(&ring, &part, &windowed);
        }
    }
    status = attn_kv_cache_attend(part.out, part.q, &ring, &causal, NULL);
    printf("without the window it would see tokens that are gone: %s\n", name_of(status));
    attn_kv_cache_free(&ring);

    show_title("7. Beam search: three continuations of one prompt; the third is the best, the second is given up");
    SHOW_TRY(attn_kv_cache_init(&cache, BEAMS, KV_HEADS, LONGEST, SIZE, SIZE, ATTN_F32, 0, NULL, 0));
    take(&part, &text, 1, 0, 10);
    part.k.batch = part.v.batch = BEAMS; /* the same rows for each item: a stride of 0 */
    part.k.batch_stride = part.v.batch_stride = 0;
    SHOW_TRY(attn_kv_cache_append(&cache, part.k, part.v, NULL));
    for (size_t i = 10; i < 13; i++) {
        take(&part, i < 12 ? beams : chosen, BEAMS, i, 1);
        step(&cache, &part, &causal);
        for (size_t b = 0; b < BEAMS; b++) {
            printf(b ? "  " : "beams ");
            print_held(&cache, b);
        }
        puts("");
        if (i == 11) {
            SHOW_TRY(attn_kv_cache_reorder(&cache, from));
            printf("reordered: items %d, %d and %d\n", (int)from[0], (int)from[1], (int)from[2]);
        }
    }
    take(&whole, chosen, BEAMS, 0, 13);
    SHOW_TRY(attn_sdpa(whole.out, whole.q, whole.k, whole.v, &causal, NULL));
    for (size_t b = 0; b < BEAMS; b++)
        memcpy(whole.out_data[b], whole.out_data[b * 13 + 12], sizeof whole.out_data[0]);
    printf("against computing each of them from its start: %s\n", compare(&part, whole.out_data));
    attn_kv_cache_free(&cache);
    return show_done();
}
