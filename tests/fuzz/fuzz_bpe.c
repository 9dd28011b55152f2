/* Fuzz target: BPE tokenizers. The input is a byte that says what is tried, one that says how long the text at the end
   is, the bytes of a file or what stands for them, and the text:

       0  a tokenizer.json
       1  changes to one of examples/models/tests/golden/bpe: a byte that chooses it; two bytes of where, one of what
       2  a byte that chooses one of those, as it is

   How to run: fuzz.h. */
#include "fuzz.h"

#include "examples/models/bpe.c"
#include "examples/models/bpe_merge.c"
#include "examples/models/bpe_read.c"
#include "examples/models/bpe_split.c"
#include "examples/models/bpe_unigram.c"
#include "examples/models/json.c"
#include "examples/models/patterns.c"
#include "examples/models/unicode.c"

static const char *const names[] = {"gpt2",  "llama3",  "smollm",        "gpt_oss",        "mistral_nemo",
                                    "qwen2", "qwen35",  "deepseek3",     "deepseek_coder", "llama2",
                                    "gemma", "mistral", "phi3",          "metaspace",      "odd",
                                    "runs",  "t5",      "t5_saved_by_5", "unigram"};
enum { KINDS = sizeof names / sizeof *names, EXACT = 5, CHARACTERS_FROM = 9 };

static bpe kinds[KINDS];
static char *files[KINDS];
static size_t sizes[KINDS];

static void open_kinds(void)
{
    for (int i = 0; i < KINDS; i++) {
        char path[128];
        const char *error;
        FILE *file;
        snprintf(path, sizeof path, "examples/models/tests/golden/bpe/%s.json", names[i]);
        if ((error = bpe_open(&kinds[i], path)) != NULL || (file = fopen(path, "rb")) == NULL) {
            fprintf(stderr, "%s\n", error ? error : path);
            exit(1);
        }
        files[i] = malloc(1 << 16);
        MUST(files[i]);
        sizes[i] = fread(files[i], 1, 1 << 16, file);
        fclose(file);
    }
}

/* The lowest rank of all pairs, the leftmost of those, until there is none: what merges are. */
UNTRACED static void check_merges(const bpe_model *m, const char *text, size_t size)
{
    int32_t *ids = malloc((size + 1) * sizeof *ids);
    bpe_tokens tokens = {NULL, 0};
    size_t count = 0;
    encoder e;
    MUST(ids);
    for (; count < size; count++)
        ids[count] = m->byte_ids[(unsigned char)text[count]];
    for (;;) {
        const merge *best = NULL;
        size_t at = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            const merge *found = find_merge(m, ids[i], ids[i + 1]);
            if (found && (!best || found->rank < best->rank)) {
                best = found;
                at = i;
            }
        }
        if (!best)
            break;
        ids[at] = best->id;
        memmove(ids + at + 1, ids + at + 2, (count - at - 2) * sizeof *ids);
        count--;
    }
    memset(&e, 0, sizeof e);
    e.model = m;
    e.tokens = &tokens;
    bpe_encode_word(&e, text_of(text, size));
    MUST(!e.error && (m->ignore_merges || tokens.count == count));
    MUST(m->ignore_merges || count == 0 || memcmp(tokens.ids, ids, count * sizeof *ids) == 0);
    bpe_tokens_free(&tokens);
    free(e.symbols);
    free(e.heap);
    free(e.spelled.text);
    free(ids);
}

UNTRACED static void try_text(const bpe *model, const char *text, size_t size, int gives_back)
{
    char *copy = exactly(text, size), *decoded = NULL;
    size_t decoded_size = SIZE_MAX, used = 0, piece_size;
    for (int flags = 0; flags < 4; flags++) {
        bpe_tokens tokens;
        const char *error;
        memset(&tokens, 0x5a, sizeof tokens);
        error = bpe_encode_as(model, copy, size, flags, &tokens);
        if (error) {
            MUST(error == too_large && !tokens.ids && !tokens.count);
            continue;
        }
        for (size_t i = 0; i < tokens.count; i++) {
            int32_t id = tokens.ids[i];
            const char *spelling = bpe_spelling(model, id, &piece_size);
            MUST(spelling && bpe_id(model, spelling, piece_size) == id);
            MUST(flags & BPE_SPECIAL || !bpe_is_special(model, id) || model->model->tokens[id].flags & IN_VOCABULARY);
        }
        MUST(bpe_decode(model, tokens.ids, tokens.count, &decoded, &decoded_size) == NULL);
        MUST(decoded[decoded_size] == 0 && is_utf8(decoded, decoded_size));
        if (flags == 0 && gives_back && is_utf8(text, size)) {
            MUST(decoded_size == size && memcmp(decoded, text, size) == 0);
            for (size_t i = 0; i < tokens.count; i++) {
                char piece[256];
                piece_size = bpe_piece(model, tokens.ids[i], i == 0, piece, sizeof piece);
                MUST(piece_size <= sizeof piece && piece_size <= size - used);
                MUST(memcmp(piece, text + used, piece_size) == 0);
                used += piece_size;
            }
            MUST(used == size);
        }
        free(decoded);
        bpe_tokens_free(&tokens);
    }
    free(copy);
}

/* Where nobody said anything, special tokens are found as ever; where somebody said all of it, none are. */
UNTRACED static void try_said(const bpe *model, const char *text, size_t size)
{
    unsigned char *said = calloc(size + 1, 1);
    bpe_tokens tokens, all;
    const char *error;
    MUST(said);
    error = bpe_encode_as(model, text, size, BPE_SPECIAL, &all);
    MUST((error == NULL) == (bpe_encode_said(model, text, said, size, &tokens) == NULL));
    MUST(tokens.count == all.count &&
         (all.count == 0 || memcmp(tokens.ids, all.ids, all.count * sizeof *all.ids) == 0));
    bpe_tokens_free(&tokens);
    bpe_tokens_free(&all);
    for (int half = 0; half < 2; half++) {
        memset(said + (half ? size / 2 : 0), 1, size - (half ? size / 2 : 0));
        error = bpe_encode_said(model, text, said, size, &tokens);
        for (size_t i = 0; half == 0 && i < tokens.count; i++)
            MUST(!bpe_is_special(model, tokens.ids[i]) || model->model->tokens[tokens.ids[i]].flags & IN_VOCABULARY);
        MUST(!error || !tokens.ids);
        bpe_tokens_free(&tokens);
        memset(said, 0, size);
    }
    free(said);
}

/* Decodes ids that the bytes choose. */
UNTRACED static void try_ids(const bpe *model, const char *bytes, size_t size)
{
    int32_t *ids = malloc((size + 1) * sizeof *ids);
    char *text = NULL, piece[8];
    size_t text_size = 0;
    int known = 1;
    MUST(ids);
    for (size_t i = 0; i < size; i++) {
        ids[i] = (unsigned char)bytes[i] + (i ? 256 * (unsigned char)bytes[i - 1] : 0);
        ids[i] = size % 3 ? ids[i] % model->count : ids[i];
        known &= bpe_spelling(model, ids[i], &text_size) != NULL;
        bpe_piece(model, ids[i], i % 2, piece, i % sizeof piece);
    }
    MUST((bpe_decode(model, ids, size, &text, &text_size) == NULL) == known);
    MUST(!known == !text);
    MUST(!known || (text[text_size] == 0 && is_utf8(text, text_size)));
    free(text);
    free(ids);
}

static void check_file(const char *file, size_t size, const char *text, size_t text_size)
{
    bpe model;
    char *copy = exactly(file, size);
    const char *error;
    memset(&model, 0x5a, sizeof model);
    error = bpe_parse(&model, copy, size, "some.json");
    free(copy);
    if (error) {
        check_message(error, "some.json", sizeof model.error);
        MUST(error == model.error && !model.count && !model.model && !model.before.ids && !model.after.ids);
        return;
    }
    MUST(model.count > 0);
    for (size_t i = 0; i < model.before.count + model.after.count; i++) {
        size_t spelling;
        MUST(bpe_spelling(
            &model, i < model.before.count ? model.before.ids[i] : model.after.ids[i - model.before.count], &spelling));
    }
    try_text(&model, text, text_size, 0);
    try_said(&model, text, text_size);
    try_ids(&model, text, text_size);
    bpe_close(&model);
    MUST(!model.model && !model.count && !model.before.ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *file = (const char *)bytes + 2, *text;
    size_t text_size, file_size;
    char *changed;
    int kind;
    if (!files[0])
        open_kinds();
    if (size < 3)
        return 0;
    kind = bytes[2] % KINDS;
    text_size = bytes[1] < size - 3 ? bytes[1] : size - 3;
    file_size = size - 2 - text_size;
    text = (const char *)bytes + size - text_size;
    if (bytes[0] % 3 == 0) {
        check_file(file, file_size, text, text_size);
    } else if (bytes[0] % 3 == 1) {
        changed = exactly(files[kind], sizes[kind]);
        for (size_t i = 1; i + 3 <= file_size; i += 3)
            changed[((unsigned char)file[i] + 256u * (unsigned char)file[i + 1]) % sizes[kind]] = file[i + 2];
        check_file(changed, sizes[kind], text, text_size);
        free(changed);
    } else {
        try_text(&kinds[kind], text, text_size, kind < EXACT);
        try_said(&kinds[kind], text, text_size);
        try_ids(&kinds[kind], text, text_size);
        if (kind < CHARACTERS_FROM)
            check_merges(kinds[kind].model, text, text_size);
    }
    return 0;
}
