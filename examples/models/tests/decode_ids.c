/* What check_decoder.py runs: reads token ids, continues them with the likeliest ones, and writes all logits.

       decode_ids DIRECTORY LOGITS CACHE THREADS PIECE COUNT < ids

   The ids, numbers on standard input, are read PIECE at a time; then COUNT more are chosen one by one, and printed on a
   line. LOGITS receives [ids + COUNT][vocab_size] floats of this machine: those after each token. CACHE: f32, f16, bf16
   or i8. What ends a text is not looked at. With several threads the bits do not depend on PIECE (batch_invariant). */
#define ATTN_THREADS
#include "examples/models/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 };

static int fail(const char *message)
{
    fprintf(stderr, "decode_ids: %s\n", message);
    return 1;
}

static int run(decoder *model, FILE *out, attn_dtype cache, size_t piece, size_t count)
{
    static int32_t ids[MOST];
    size_t V = model->config.vocab_size, n = 0, at, len, i;
    float *logits = (float *)malloc(piece * V * sizeof *logits);
    decoder_text text;
    const char *error;
    long id;
    while (n < MOST && scanf("%ld", &id) == 1)
        ids[n++] = (int32_t)id;
    if (!logits || n == 0)
        return fail(logits ? "no ids" : "no memory");
    if ((error = decoder_begin(model, &text, n + count, cache)) != NULL)
        return fail(error);
    for (at = 0, len = 1; at < n + count; at += len) {
        int32_t best = 0;
        len = at >= n ? 1 : n - at < piece ? n - at : piece;
        if (at >= n) { /* logits are those of one row: the last */
            for (i = 1; i < V; i++)
                best = logits[i] > logits[best] ? (int32_t)i : best;
            printf("%ld ", (long)best);
        }
        if ((error = decoder_read_all(model, &text, at < n ? ids + at : &best, len, logits)) != NULL)
            return fail(error);
        if (fwrite(logits, sizeof *logits, len * V, out) != len * V)
            return fail("cannot write");
        memmove(logits, logits + (len - 1) * V, V * sizeof *logits);
    }
    printf("\n");
    decoder_end(model, &text);
    free(logits);
    return 0;
}

int main(int count, char **arguments)
{
    static const char *const names[] = {"f32", "f16", "bf16", "i8"};
    static const attn_dtype types[] = {ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_I8};
    decoder model;
    const char *error;
    size_t type = 0;
    FILE *out;
    int status;
    if (count != 7)
        return fail("decode_ids DIRECTORY LOGITS CACHE THREADS PIECE COUNT < ids");
    while (type < 3 && strcmp(arguments[3], names[type]) != 0)
        type++;
    if ((error = decoder_open(&model, arguments[1], NULL)) != NULL)
        return fail(error);
    out = fopen(arguments[2], "wb");
    if (!out || attn_pool_new(&model.net.parallel, strtoul(arguments[4], NULL, 10)) != ATTN_OK)
        return fail(out ? "no threads" : "cannot write");
    model.net.batch_invariant = model.net.parallel.width > 1;
    status = run(&model, out, types[type], strtoul(arguments[5], NULL, 10), strtoul(arguments[6], NULL, 10));
    if (fclose(out) != 0)
        status = fail("cannot write");
    attn_pool_free(&model.net.parallel);
    decoder_close(&model);
    return status;
}
