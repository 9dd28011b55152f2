/* A model in a small place: three layers of attention and 49,000 weights of 8 bits write English, one character after
   another, with a key/value cache. Nothing is allocated: all memory is in the arrays below and on the stack. So it runs
   on a microcontroller as well, and writes the same text there: `make small` puts it on an emulated Cortex-M4.

       cc -O2 15_small.c -lm && ./a.out

   small/model.h says what the model is; small/train.c has trained it, on sentences of models/train/grammar.c;
   small/weights.h is what it has learnt; small/board.c is what a board without an operating system needs. */
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "small/board.h"
#include "small/model.h"
#include "small/weights.h"

#include <math.h>
#include <string.h>

#ifdef SMALL_BOARD
enum { LAST_ISA = ATTN_ISA_BEST }; /* there is one */
#else
enum { LAST_ISA = ATTN_ISA_AVX512BF16 };
#endif

static const char prompt[] = "The queen ";
enum { SENTENCES = 8, LONGEST = 640 }; /* where it ends: lines, characters */
enum { KEPT = 2752 };                  /* bytes of a layer's cache: attn_kv_cache_size tells them */
#ifdef SMALL_BOARD                     /* bytes for attention: a dry run tells them, for as many tokens as may be */
enum { SCRATCH = 4 << 10 };
#else
enum { SCRATCH = 24 << 10 }; /* kernels of vectors take more */
#endif

/* Each layer keeps the keys and values of the last WINDOW characters: a ring, of 8-bit integers with a scale for each
   row. Text may go on for ever. */
static attn_kv_cache cache[LAYERS];
static unsigned char kept[LAYERS][KEPT], scratch[SCRATCH];
static attn_fault fault;      /* what a call says that fails */
static float scores[LETTERS]; /* of each character to come next; then its chance */
static char text[LONGEST + 1], first_text[LONGEST + 1];

/* ---- the model: one character ---- */

/* Where in the weights a pass is: it takes one matrix after another, each row with its scale. */
typedef struct place {
    const signed char *weights;
    const float *scales;
} place;

/* out (rows) = matrix (rows x cols) times in (cols). */
static void times(float *out, place *at, const float *in, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++, at->weights += cols) {
        float sum = 0;
        for (size_t i = 0; i < cols; i++)
            sum += (float)at->weights[i] * in[i];
        out[r] = sum * *at->scales++;
    }
}

static void norm(float *out, const float *in)
{
    float sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += in[i] * in[i];
    for (int i = 0; i < WIDTH; i++)
        out[i] = in[i] / sqrtf(sum / WIDTH + 1e-5f);
}

/* The scores of what comes after this character, which is number `position` of the text. */
static attn_status read_letter(int letter, size_t position, const attn_ctx *ctx)
{
    float x[WIDTH], normed[WIDTH], rows[QKV], mixed[WIDTH], hidden[HIDDEN], more[WIDTH];
    place at = {small_weights + LETTERS * WIDTH, small_scales + LETTERS}, embed = {small_weights, small_scales};
    attn_tensor turned = attn_blhd(rows, ATTN_F32, 1, 1, HEADS + 1, SIZE), q, k, v; /* turned: q and k */
    attn_rope_opts rope = {0};
    attn_opts opts = {0};
    attn_status status = attn_qkv(&q, &k, &v, rows, ATTN_F32, 1, 1, HEADS, 1, SIZE);
    rope.offset = (ptrdiff_t)position;
    opts.window.on = 1, opts.window.left = WINDOW - 1; /* all that the ring has */
    for (int i = 0; i < WIDTH; i++)
        x[i] = small_scales[letter] * (float)small_weights[letter * WIDTH + i];

    for (int n = 0; n < LAYERS && status == ATTN_OK; n++) {
        norm(normed, x);
        times(rows, &at, normed, QKV, WIDTH);
        status = attn_rope(turned, turned, &rope);
        if (status == ATTN_OK)
            status = attn_kv_cache_append(&cache[n], k, v, NULL);
        if (status == ATTN_OK)
            status = attn_kv_cache_attend(attn_blhd(mixed, ATTN_F32, 1, 1, HEADS, SIZE), q, &cache[n], &opts, ctx);
        if (status != ATTN_OK)
            break;
        times(more, &at, mixed, WIDTH, WIDTH);
        for (int i = 0; i < WIDTH; i++)
            x[i] += more[i];

        norm(normed, x);
        times(hidden, &at, normed, HIDDEN, WIDTH);
        for (int i = 0; i < HIDDEN; i++)
            hidden[i] = hidden[i] > 0 ? hidden[i] : 0;
        times(more, &at, hidden, WIDTH, HIDDEN);
        for (int i = 0; i < WIDTH; i++)
            x[i] += more[i];
    }
    norm(normed, x);
    times(scores, &embed, normed, LETTERS, WIDTH);
    return status;
}

/* ---- text ---- */

/* One of the likely characters: chances are the softmax of 2.5 times the scores, and a number from a seed decides
   (xorshift, Marsaglia 2003). Machines round otherwise; with this seed no number is within 0.003 of where a character's
   chances end and the next one's begin. */
static attn_status draw(int *letter, uint32_t *seed)
{
    attn_mat row = attn_mat_of(scores, ATTN_F32, 1, LETTERS);
    attn_status status;
    float left;
    for (int c = 0; c < LETTERS; c++)
        scores[c] *= 2.5f;
    status = attn_softmax(row, row);
    *seed ^= *seed << 13, *seed ^= *seed >> 17, *seed ^= *seed << 5;
    left = (float)(*seed >> 8) / 16777216.0f;
    for (*letter = 0; *letter + 1 < LETTERS && left >= scores[*letter]; ++*letter)
        left -= scores[*letter];
    return status;
}

/* Goes on where the prompt ends. */
static attn_status write_text(attn_isa isa)
{
    attn_ctx ctx = {0};
    attn_status status = ATTN_OK;
    uint32_t seed = 12744629;
    int sentences = 0, letter = 0;
    ctx.isa = isa, ctx.fault = &fault, ctx.scratch = scratch, ctx.scratch_size = sizeof scratch;
    ctx.batch_invariant = 1; /* three heads are few rows in plain C, too, and take less scratch */
    memset(text, 0, sizeof text);
    memcpy(text, prompt, sizeof prompt);
    for (int n = 0; n < LAYERS && status == ATTN_OK; n++)
        status = attn_kv_cache_init(&cache[n], 1, 1, WINDOW, SIZE, SIZE, ATTN_I8, 1, kept[n], sizeof kept[n]);
    for (size_t i = 0; i < LONGEST && sentences < SENTENCES && status == ATTN_OK; i++) {
        if (i >= sizeof prompt - 1) {
            status = draw(&letter, &seed);
            text[i] = SMALL_LETTERS[letter];
            sentences += text[i] == '\n';
        } else {
            letter = (int)(strchr(SMALL_LETTERS, text[i]) - SMALL_LETTERS);
        }
        if (status == ATTN_OK)
            status = read_letter(letter, i, &ctx);
    }
    return status;
}

static void write_number(unsigned long number, const char *what)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    board_write(at);
    board_write(what);
}

/* Each instruction set adds up in an order of its own, and must write the same. */
int main(int argc, char **argv)
{
    board_begin(argc, argv);
    for (int isa = ATTN_ISA_BEST; isa <= LAST_ISA; isa++) {
        attn_status status = attn_isa_available((attn_isa)isa) ? write_text((attn_isa)isa) : ATTN_OK;
        if (status != ATTN_OK) {
            board_write(fault.text[0] ? fault.text : attn_status_string(status));
            board_write("\n");
            return 1;
        }
        if (isa == ATTN_ISA_BEST)
            memcpy(first_text, text, sizeof text);
        if (strcmp(text, first_text) != 0) {
            board_write("Another text, with the instructions of ");
            board_write(attn_isa_string((attn_isa)isa));
            board_write(":\n");
            board_write(text);
            return 1;
        }
    }
    board_write(text);
    write_number(strlen(text), " characters, from ");
    write_number(NUMBERS, " weights; caches of ");
    write_number(sizeof kept, " bytes hold the last ");
    write_number(WINDOW, "\n");
    return board_end((unsigned long)strlen(text));
}
