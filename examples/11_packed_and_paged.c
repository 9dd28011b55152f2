/* Packed texts, pages, lists of blocks: three ways to leave out what nobody looks at. Texts of different lengths need
   no padding, texts that begin alike need the beginning only once, and queries that see few keys need not score the
   others. Each gives the bits of what it stands for.

       cc -O2 11_packed_and_paged.c -lm && ./a.out [directory for the picture] */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "show.h"

static const char about[] = "Packed texts, pages, lists of blocks: three ways to leave out what nobody\n"
                            "looks at.";

enum { HEADS = 4, KV_HEADS = 2, SIZE = 16, LETTERS = 128 };
enum { TEXTS = 3, ROWS = 20 };                        /* packed */
enum { ITEMS = 2, PAGE = 4, PAGES = 6, ENTRIES = 4 }; /* tokens of a page; pages; pages that the table names per item */
enum { LENGTH = 32, BLOCK = 4, BLOCKS = LENGTH / BLOCK, LISTED = 3 };

/* A token is a letter. Its query, key and value would come from a layer of a model; here they are random numbers. */
static float query_of[LETTERS][HEADS * SIZE], key_of[LETTERS][KV_HEADS * SIZE], value_of[LETTERS][KV_HEADS * SIZE];

/* Tokens on their way through attention: B texts of L tokens, in the order [B][L][H][D]. */
typedef struct tokens {
    attn_tensor q, k, v, out;
    float q_data[LENGTH][HEADS * SIZE], out_data[LENGTH][HEADS * SIZE];
    float k_data[LENGTH][KV_HEADS * SIZE], v_data[LENGTH][KV_HEADS * SIZE];
} tokens;

static tokens one, other;

static void take(tokens *t, const char *letters, size_t B, size_t L)
{
    for (size_t n = 0; n < B * L; n++) {
        memcpy(t->q_data[n], query_of[(int)letters[n]], sizeof t->q_data[0]);
        memcpy(t->k_data[n], key_of[(int)letters[n]], sizeof t->k_data[0]);
        memcpy(t->v_data[n], value_of[(int)letters[n]], sizeof t->v_data[0]);
    }
    t->q = attn_blhd(t->q_data, ATTN_F32, B, L, HEADS, SIZE);
    t->k = attn_blhd(t->k_data, ATTN_F32, B, L, KV_HEADS, SIZE);
    t->v = attn_blhd(t->v_data, ATTN_F32, B, L, KV_HEADS, SIZE);
    t->out = attn_blhd(t->out_data, ATTN_F32, B, L, HEADS, SIZE);
}

static const char *compare(const void *a, const void *b, size_t rows)
{
    return memcmp(a, b, rows * sizeof one.out_data[0]) ? "OTHER BITS" : "the same bits";
}

/* An error that was to be expected: show_ctx has the name of the argument. */
static void print_error(const char *what, attn_status status)
{
    printf("%s: %s: %s\n", what, show_fault.argument,
           status == ATTN_ERR_VALUE ? "ATTN_ERR_VALUE" : attn_status_string(status));
}

static void print_output(const float *row)
{
    printf("  %5.2f %5.2f %5.2f ...", (double)row[0], (double)row[1], (double)row[2]);
}

/* ---- three texts in one call ---- */

static void packed_texts(void)
{
    static const char *const texts[TEXTS] = {"a cat", "the dogs bark", "no"};
    static const char together[] = "a cat"
                                   "the dogs bark"
                                   "no";
    size_t starts[TEXTS + 1] = {0, 5, 18, 20}, pairs = 0, longest = 0; /* where each begins, and where the last ends */
    attn_opts opts = {0};

    show_title("1. Packed: three texts, one after another, attended in one call");
    opts.sequences = TEXTS;
    opts.q_starts = opts.kv_starts = starts;
    take(&one, together, 1, ROWS);
    SHOW_TRY(attn_sdpa(one.out, one.q, one.k, one.v, &opts, &show_ctx));

    printf("text           rows  last output              alone\n");
    for (size_t s = 0; s < TEXTS; s++) {
        size_t first = starts[s], length = starts[s + 1] - first;
        take(&other, texts[s], 1, length);
        SHOW_TRY(attn_sdpa(other.out, other.q, other.k, other.v, NULL, &show_ctx));
        printf("%-14s%2d-%2d", texts[s], (int)first, (int)(first + length) - 1);
        print_output(one.out_data[first + length - 1]);
        print_output(other.out_data[length - 1]);
        printf(" %s\n", compare(one.out_data[first], other.out_data, length));
        pairs += length * length;
        longest = length > longest ? length : longest;
    }
    printf("packed: %d rows, %d pairs of query and key\n", ROWS, (int)pairs);
    printf("padded to the longest: %d rows, %d pairs\n", TEXTS * (int)longest, TEXTS * (int)(longest * longest));

    starts[1] = 19; /* behind the start of the next */
    print_error("starts that decrease", attn_sdpa(one.out, one.q, one.k, one.v, &opts, &show_ctx));
}

/* ---- a cache in pages ---- */

static float key_pages[PAGES][KV_HEADS][PAGE][SIZE], value_pages[PAGES][KV_HEADS][PAGE][SIZE];

/* The letters of a page, told by their values. */
static void print_page(uint32_t page, size_t tokens_in_it)
{
    printf("  %d \"", (int)page);
    for (size_t row = 0; row < PAGE; row++) {
        char letter = 'z';
        while (letter > ' ' && value_pages[page][0][row][0] != value_of[(int)letter][0])
            letter--;
        putchar(row < tokens_in_it ? letter : '_');
    }
    putchar('"');
}

static void shared_pages(void)
{
    static const char *const texts[ITEMS] = {"the cat sleeps", "the cat dreams"};
    const size_t length = 14, prefix = 8;
    uint32_t table[ITEMS][ENTRIES] = {{5, 2}, {5, 2}}; /* the prefix: pages 5 and 2 for both items */
    uint32_t free_pages[] = {1, 4, 3, 0};              /* in no order: a page may lie anywhere */
    size_t lens[ITEMS] = {0, 0}, left = sizeof free_pages / sizeof free_pages[0];
    attn_opts opts = {0};
    attn_kv_cache cache = {0}; /* to compare with */
    attn_kv_pages pages = {0}, first;

    pages.k = attn_bhld(key_pages, ATTN_F32, PAGES, KV_HEADS, PAGE, SIZE);
    pages.v = attn_bhld(value_pages, ATTN_F32, PAGES, KV_HEADS, PAGE, SIZE);
    pages.table = table[0];
    pages.table_stride = ENTRIES;
    pages.batch = ITEMS;
    pages.lens = lens;
    SHOW_TRY(attn_kv_cache_init(&cache, ITEMS, KV_HEADS, length, SIZE, SIZE, ATTN_F32, 0, NULL, 0));

    show_title("2. Pages: two texts begin alike; what they share is computed and stored once");
    first = pages;
    first.batch = 1; /* the same pages, but only item 0 */
    take(&one, texts[0], 1, prefix);
    SHOW_TRY(attn_kv_pages_append(&first, one.k, one.v, NULL));
    lens[1] = lens[0]; /* item 1 names the same pages: now it has these tokens, too */
    one.k.batch = one.v.batch = ITEMS;
    one.k.batch_stride = one.v.batch_stride = 0;
    SHOW_TRY(attn_kv_cache_append(&cache, one.k, one.v, NULL)); /* a cache without pages has them twice */

    for (size_t i = prefix; i < length; i++) {
        char letters[ITEMS] = {texts[0][i], texts[1][i]};
        for (size_t b = 0; b < ITEMS && i % PAGE == 0; b++)
            table[b][i / PAGE] = free_pages[--left]; /* each item goes on in a page of its own */
        take(&one, letters, ITEMS, 1);
        take(&other, letters, ITEMS, 1);
        SHOW_TRY(attn_kv_pages_append(&pages, one.k, one.v, NULL));
        SHOW_TRY(attn_kv_pages_attend(one.out, one.q, &pages, NULL, &show_ctx));
        SHOW_TRY(attn_kv_cache_append(&cache, other.k, other.v, NULL));
        SHOW_TRY(attn_kv_cache_attend(other.out, other.q, &cache, NULL, &show_ctx));
        printf("token %2d", (int)i);
        for (size_t b = 0; b < ITEMS; b++) {
            printf("  '%c'", letters[b]);
            print_output(one.out_data[b]);
        }
        printf(" %s\n", compare(one.out_data, other.out_data, ITEMS));
    }

    show_title("3. The table: which page holds tokens 0 to 3, 4 to 7, and so on");
    for (size_t b = 0; b < ITEMS; b++) {
        printf("%s: ", texts[b]);
        for (size_t n = 0; n * PAGE < lens[b]; n++)
            print_page(table[b][n], lens[b] - n * PAGE);
        puts("");
    }
    printf("%d entries name %d pages\n", ITEMS * ENTRIES, PAGES - (int)left);

    opts.window.on = 1;
    opts.window.left = 3; /* a token and the three before it */
    table[0][0] = table[0][1] = table[1][0] = table[1][1] = UINT32_MAX;
    SHOW_TRY(attn_kv_pages_attend(one.out, one.q, &pages, &opts, &show_ctx));
    SHOW_TRY(attn_kv_cache_attend(other.out, other.q, &cache, &opts, &show_ctx));
    printf("pages 5 and 2 given away, which a window of 4 does not reach: %s\n",
           compare(one.out_data, other.out_data, ITEMS));
    print_error("without the window they are missed", attn_kv_pages_attend(one.out, one.q, &pages, NULL, &show_ctx));
    attn_kv_cache_free(&cache);
}

/* ---- a list of blocks ---- */

/* Queries of block s see block 0 and, as a band, their own and the one before. Returns how many blocks are listed. */
static size_t list_blocks(uint32_t index[][LISTED], uint32_t *count)
{
    size_t listed = 0;
    for (uint32_t s = 0; s < BLOCKS; s++) {
        uint32_t n = 0;
        for (uint32_t block = 0; block <= s; block++)
            if (block == 0 || block + 1 >= s)
                index[s][n++] = block; /* in ascending order */
        count[s] = n;
        listed += n;
    }
    return listed;
}

static void block_lists(const char *directory)
{
    static float lists[BLOCKS][BLOCKS], weights[HEADS][LENGTH][LENGTH];
    static unsigned char mask[LENGTH][LENGTH];
    static float masked[LENGTH][LENGTH];
    uint32_t index[BLOCKS][LISTED] = {{0}}, count[BLOCKS];
    size_t listed = list_blocks(index, count);
    attn_opts by_list = {0}, by_mask;
    attn_mat pictured[3];
    show_map maps[3];

    show_title("4. Lists: which blocks of keys each block of queries sees");
    for (size_t s = 0; s < BLOCKS; s++) {
        printf("queries %2d to %2d  see blocks", (int)(s * BLOCK), (int)(s * BLOCK) + BLOCK - 1);
        for (size_t n = 0; n < LISTED; n++) {
            printf(n < count[s] ? " %d" : "  ", (int)index[s][n]);
            if (n < count[s])
                lists[s][index[s][n]] = 1;
        }
        for (size_t block = 0; block < BLOCKS; block++)
            printf(block ? " %c" : "   %c", lists[s][block] > 0 ? '#' : '.');
        puts("");
    }
    for (size_t i = 0; i < LENGTH; i++)
        for (size_t j = 0; j < LENGTH; j++)
            mask[i][j] = lists[i / BLOCK][j / BLOCK] > 0;

    take(&one, "wherever you look there are keys", 1, LENGTH);
    take(&other, "wherever you look there are keys", 1, LENGTH);
    by_list.causal = ATTN_CAUSAL_UPPER_LEFT; /* the other options hide what the lists show */
    by_mask = by_list;
    by_list.blocks.q_len = by_list.blocks.kv_len = BLOCK;
    by_list.blocks.index = index[0];
    by_list.blocks.count = count;
    by_list.blocks.batch = by_list.blocks.heads = 1; /* the same for every head */
    by_list.blocks.width = LISTED;
    by_list.weights = attn_bhld(weights, ATTN_F32, 1, HEADS, LENGTH, LENGTH);
    by_mask.mask = attn_bhld(mask, ATTN_BOOL, 1, 1, LENGTH, LENGTH);
    SHOW_TRY(attn_sdpa(one.out, one.q, one.k, one.v, &by_list, &show_ctx));
    SHOW_TRY(attn_sdpa(other.out, other.q, other.k, other.v, &by_mask, &show_ctx));
    printf("against the mask that says the same for each key: %s\n", compare(one.out_data, other.out_data, LENGTH));
    printf("%d of %d blocks: %.0f %% of all pairs are computed\n", (int)listed, BLOCKS * BLOCKS,
           100.0 * (double)listed / (BLOCKS * BLOCKS));
    printf("the same rule in 8192 tokens with blocks of 64: %.1f %%\n", 100.0 * (128 * 3 - 3) / (128 * 128));

    index[2][2] = BLOCKS; /* the last is BLOCKS - 1 */
    print_error("a block beyond the keys", attn_sdpa(one.out, one.q, one.k, one.v, &by_list, &show_ctx));

    show_title("5. The list, the mask, and the weights of one head");
    for (size_t i = 0; i < LENGTH; i++)
        for (size_t j = 0; j < LENGTH; j++) { /* NaN: grey */
            masked[i][j] = mask[i][j] ? 1 : NAN;
            if (!mask[i][j] || j > i)
                weights[0][i][j] = NAN;
            if (!mask[i][j])
                lists[i / BLOCK][j / BLOCK] = NAN;
        }
    pictured[0] = attn_mat_of(lists, ATTN_F32, BLOCKS, BLOCKS);
    pictured[1] = attn_mat_of(masked, ATTN_F32, LENGTH, LENGTH);
    pictured[2] = attn_mat_of(weights[0], ATTN_F32, LENGTH, LENGTH);
    for (int n = 0; n < 3; n++) {
        static const char *const names[] = {"the list", "the equal mask", "weights, causal too"};
        maps[n] = show_map_of(names[n], n < 2 ? SHOW_ORANGE : SHOW_BLUE, n ? "query" : "block of queries",
                              n ? "key" : "block of keys", n < 2 ? 0 : 2);
        maps[n].side = n ? 8 : 8 * BLOCK;
        maps[n].high = n < 2 ? 1 : 0.4;
    }
    show_heatmaps(directory, "11_blocks.svg", "Lists of blocks: which keys each query sees", pictured, maps, 3, 3);
}

int main(int argc, char **argv)
{
    const char *directory = show_directory(argc, argv, "[DIRECTORY]", about);
    show_random(attn_mat_of(query_of, ATTN_F32, LETTERS, HEADS * SIZE), 1, -2, 2);
    show_random(attn_mat_of(key_of, ATTN_F32, LETTERS, KV_HEADS * SIZE), 2, -2, 2);
    show_random(attn_mat_of(value_of, ATTN_F32, LETTERS, KV_HEADS * SIZE), 3, -1, 1);
    packed_texts();
    shared_pages();
    block_lists(directory);
    return show_done();
}
