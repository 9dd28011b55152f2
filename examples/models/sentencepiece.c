#include "sentencepiece.h"
#include "heap.h"

#include <float.h>
#include <string.h>

enum {
    FILE_MAX = 1 << 26, /* bytes of a model; published ones have 20 MB at most */
    PIECE_MAX = 512,    /* bytes of a piece, at most: a text may be looked at so far again from each of its bytes.
                            T5's have 20; the trainer makes 64 unless it is told to, the library takes 7999 */
    SYMBOLS_SEEN = 64,  /* of user-defined symbols of which one begins with the other, and of a charsmap's rules: */
    RULES_SEEN = 32,    /* the library looks at so many, the shortest */
    LONG = 128,         /* normalising makes a text of n bytes GROWTH n + SLACK at most; if a piece has more than */
    GROWTH = 16,        /* LONG bytes, GROWTH_LONG n + SLACK, for then there is more to look at again. Spaces alone */
    GROWTH_LONG = 4,    /* become 3 n, U+FDFA alone 13 n, which NFKC makes longer than any other. Published pieces */
    SLACK = 4096,       /* have 93 bytes at most */
    SPLITS_DEEP = 100   /* how often the library splits an unused piece and its parts */
};

typedef text_span string;
typedef text_buffer buffer;
typedef sentencepiece_piece piece;

static const string mark = {"\xe2\x96\x81", 3}; /* U+2581, which stands for a space in pieces */
static const string blank = {" ", 1};

/* ---- messages ---- */

/* An empty model, whose messages will begin with its name. */
static void start(sentencepiece *model, const char *name)
{
    memset(model, 0, sizeof *model);
    text_begin_message(model->error, name, ": ");
}

static const char *fail_piece(sentencepiece *model, const piece *p, const char *cause)
{
    char text[128];
    return text_fail(model->error, "piece %d, \"%s\": %s", (int)(p - model->pieces),
                     shown_text(text, sizeof text, p->text.text, p->text.size), cause);
}

/* ---- protocol buffers: fields of a message, one after another ---- */

typedef struct reader {
    const unsigned char *at, *end;
} reader;

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

typedef struct field {
    uint32_t number; /* 0: the message has ended */
    int wire;
    uint64_t value; /* of VARINT and FIXED32 */
    string bytes;
} field;

/* A number of at most so many bytes: 5 where it counts or names, 10 where it is a value. */
static const char *read_varint(reader *r, int longest, uint64_t *value)
{
    int shift;
    *value = 0;
    for (shift = 0; shift < 7 * longest; shift += 7) {
        unsigned char byte;
        if (r->at == r->end)
            return "a number is cut off";
        byte = *r->at++;
        if (shift == 63 && byte > 1)
            break;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return NULL;
    }
    return "a number is too long";
}

static const char *next_field(reader *r, field *f)
{
    const char *error;
    uint64_t tag, size = 0, i;
    memset(f, 0, sizeof *f);
    if (r->at == r->end)
        return NULL;
    if ((error = read_varint(r, 5, &tag)) != NULL)
        return error;
    if (tag >> 3 == 0 || tag > UINT32_MAX)
        return "no such field number";
    f->number = (uint32_t)(tag >> 3);
    f->wire = (int)(tag & 7);
    if (f->wire == VARINT)
        return read_varint(r, 10, &f->value);
    if (f->wire == BYTES) {
        if ((error = read_varint(r, 5, &size)) != NULL)
            return error;
    } else if (f->wire == FIXED32 || f->wire == FIXED64) {
        size = f->wire == FIXED32 ? 4 : 8;
    } else {
        return "no such wire type";
    }
    if (size > (uint64_t)(r->end - r->at))
        return "a field is longer than its message";
    f->bytes.text = (const char *)r->at;
    f->bytes.size = (size_t)size;
    if (f->wire == FIXED32)
        for (i = 0; i < 4; i++)
            f->value |= (uint64_t)r->at[i] << 8 * i;
    r->at += size;
    return NULL;
}

static reader inside(const field *f)
{
    reader r;
    r.at = (const unsigned char *)f->bytes.text;
    r.end = r.at + f->bytes.size;
    return r;
}

/* ---- the parts of a model ---- */

static const char wrong_wire_type[] = "a field has the wrong wire type";

static const char *read_piece(reader r, piece *p)
{
    const char *error;
    uint32_t bits;
    field f;
    p->type = SENTENCEPIECE_NORMAL;
    while ((error = next_field(&r, &f)) == NULL && f.number)
        switch (f.number) {
        case 1:
            if (f.wire != BYTES)
                return wrong_wire_type;
            p->text = f.bytes;
            break;
        case 2:
            if (f.wire != FIXED32)
                return wrong_wire_type;
            bits = (uint32_t)f.value;
            if ((bits >> 23 & 0xff) == 0xff)
                return "the score is not finite";
            memcpy(&p->score, &bits, sizeof bits);
            break;
        case 3:
            if (f.wire != VARINT)
                return wrong_wire_type;
            if (f.value < SENTENCEPIECE_NORMAL || f.value > SENTENCEPIECE_BYTE)
                return "no such type";
            p->type = (sentencepiece_type)f.value;
            break;
        default: break;
        }
    return error;
}

/* What the trainer was told: the model type, the special pieces' spelling, byte fallback. */
typedef struct training {
    uint64_t model_type;
    string unk_surface, bos, eos, pad;
    int byte_fallback, space_at_end;
} training;

static const char *read_training(reader r, training *t)
{
    const char *error;
    field f;
    while ((error = next_field(&r, &f)) == NULL && f.number) {
        string *text = f.number == 44   ? &t->unk_surface
                       : f.number == 46 ? &t->bos
                       : f.number == 47 ? &t->eos
                       : f.number == 48 ? &t->pad
                                        : NULL;
        int number = f.number == 3 || f.number == 24 || f.number == 35;
        if ((text && f.wire != BYTES) || (number && f.wire != VARINT))
            return wrong_wire_type;
        if (text)
            *text = f.bytes;
        if (f.number == 3)
            t->model_type = f.value;
        if (f.number == 24)
            t->space_at_end = f.value != 0;
        if (f.number == 35)
            t->byte_fallback = f.value != 0;
    }
    return error;
}

static const char *read_normalizer(reader r, sentencepiece_normalizer *n)
{
    const char *error;
    field f;
    while ((error = next_field(&r, &f)) == NULL && f.number) {
        int *flag = f.number == 3   ? &n->add_dummy_prefix
                    : f.number == 4 ? &n->remove_extra_whitespaces
                    : f.number == 5 ? &n->escape_whitespaces
                                    : NULL;
        if ((flag && f.wire != VARINT) || (f.number == 2 && f.wire != BYTES))
            return wrong_wire_type;
        if (flag)
            *flag = f.value != 0;
        if (f.number == 2 && (error = charsmap_read(&n->map, f.bytes)) != NULL)
            return error;
    }
    return error;
}

/* ---- pieces in order ---- */

static int compare_pieces(const void *a, const void *b)
{
    return text_compare((*(const piece *const *)a)->text, (*(const piece *const *)b)->text);
}

/* The piece of that spelling among those in order, or NULL. */
static const piece *find_piece(const piece *const *sorted, int32_t count, string text)
{
    piece wanted;
    const piece *key = &wanted, *const * found;
    wanted.text = text;
    found = (const piece *const *)bsearch(&key, sorted, (size_t)count, sizeof *sorted, compare_pieces);
    return found ? *found : NULL;
}

/* Puts the ids of the pieces that text is cut into where they are found by their spelling; one that finds no slot is
   left out. */
static const char *hash_pieces(sentencepiece *model)
{
    int32_t i, *slot;
    if (!text_index_make(&model->hashed, model->pieces, sizeof *model->pieces, (size_t)model->sorted_count))
        return text_fail(model->error, TEXT_NO_MEMORY);
    for (i = 0; i < model->sorted_count; i++)
        if ((slot = text_index_slot(&model->hashed, model->sorted[i]->text)) != NULL)
            *slot = (int32_t)(model->sorted[i] - model->pieces);
    return NULL;
}

/* The piece of that spelling among those that text is cut into, unused ones too, or NULL. */
static const piece *look_up(const sentencepiece *model, string text)
{
    const int32_t *slot;
    if (text.size > model->longest)
        return NULL;
    if ((slot = text_index_slot(&model->hashed, text)) == NULL)
        return find_piece(model->sorted, model->sorted_count, text);
    return *slot < 0 ? NULL : &model->pieces[*slot];
}

/* The id that stands for a piece which was looked up. */
static int32_t usable_id(const sentencepiece *model, const piece *p)
{
    return p && p->type != SENTENCEPIECE_UNUSED ? (int32_t)(p - model->pieces) : model->unk_id;
}

static int is_in_text(const piece *p)
{
    return p->type == SENTENCEPIECE_NORMAL || p->type == SENTENCEPIECE_USER_DEFINED || p->type == SENTENCEPIECE_UNUSED;
}

/* The byte that <0x00> to <0xFF> stands for, or -1. */
static int byte_of(string text)
{
    return text_named_byte(text, "0123456789ABCDEF");
}

/* What is wrong with a piece, or NULL. */
static const char *check_piece(const sentencepiece *model, const piece *p)
{
    if (p->text.size == 0)
        return "empty";
    if (p->text.size > PIECE_MAX)
        return "more than 512 bytes";
    if (memchr(p->text.text, 0, p->text.size))
        return "a NUL character";
    if (p->type == SENTENCEPIECE_UNKNOWN && model->unk_id >= 0)
        return "a second unknown piece";
    if (p->type == SENTENCEPIECE_BYTE && byte_of(p->text) < 0)
        return "not the name of a byte";
    if (p->type == SENTENCEPIECE_BYTE && !model->byte_fallback)
        return "a byte in a model without byte fallback";
    return NULL;
}

/* Puts pieces in order, and refuses two of the same spelling. */
static const char *sort_pieces(sentencepiece *model, int32_t begin, int32_t end)
{
    char message[64];
    int32_t i;
    qsort(model->sorted + begin, (size_t)(end - begin), sizeof *model->sorted, compare_pieces);
    for (i = begin + 1; i < end; i++)
        if (compare_pieces(&model->sorted[i - 1], &model->sorted[i]) == 0) {
            snprintf(message, sizeof message, "the same as piece %d", (int)(model->sorted[i - 1] - model->pieces));
            return fail_piece(model, model->sorted[i], message);
        }
    return NULL;
}

/* What the longest pieces that a text begins with are found by: under Unigram all, else user-defined ones. */
static const char *build_tries(sentencepiece *model)
{
    size_t count = (size_t)model->sorted_count, symbols = 0, i;
    trie_word *words = (trie_word *)malloc(count * sizeof *words);
    const char *error = words ? NULL : TEXT_NO_MEMORY;
    trie_free(&model->tree);
    trie_free(&model->symbols);
    for (i = 0; !error && i < count; i++) {
        words[i].text = model->sorted[i]->text.text;
        words[i].size = model->sorted[i]->text.size;
        words[i].id = (int32_t)(model->sorted[i] - model->pieces);
    }
    if (!error && model->kind == SENTENCEPIECE_UNIGRAM)
        error = trie_build(&model->tree, words, count);
    for (i = 0; !error && i < count; i++)
        if (model->sorted[i]->type == SENTENCEPIECE_USER_DEFINED)
            words[symbols++] = words[i];
    error = error ? error : trie_build(&model->symbols, words, symbols);
    free(words);
    return error;
}

/* Checks all pieces, and makes what they are found by. */
static const char *index_pieces(sentencepiece *model, piece *pieces)
{
    int32_t i, others = model->count;
    const char *error = NULL;
    model->sorted_count = 0;
    model->longest = 0;
    model->unknown_score = FLT_MAX;
    model->unk_id = -1;
    for (i = 0; i < 256; i++)
        model->byte_ids[i] = -1;
    for (i = 0; i < model->count; i++) {
        piece *p = &pieces[i];
        if (p->text.size == 1 && !p->text.text[0] && (model->byte_fallback || p->type == SENTENCEPIECE_UNUSED)) {
            p->type = SENTENCEPIECE_UNUSED; /* some converters write it, who mean <0x00> */
            continue;
        }
        if ((error = check_piece(model, p)) != NULL)
            return fail_piece(model, p, error);
        if (p->type == SENTENCEPIECE_UNKNOWN)
            model->unk_id = i;
        if (p->type == SENTENCEPIECE_BYTE)
            model->byte_ids[byte_of(p->text)] = i;
        if (p->type == SENTENCEPIECE_NORMAL && p->score < model->unknown_score)
            model->unknown_score = p->score;
        if (!is_in_text(p)) {
            model->sorted[--others] = p;
            continue;
        }
        model->sorted[model->sorted_count++] = p;
        model->longest = p->text.size > model->longest ? p->text.size : model->longest;
    }
    model->unknown_score -= 10;
    if (model->sorted_count == 0)
        return text_fail(model->error, "no pieces");
    if (model->unk_id < 0 && !model->byte_fallback)
        return text_fail(model->error, "no unknown piece");
    for (i = 0; model->byte_fallback && i < 256; i++)
        if (model->byte_ids[i] < 0)
            return text_fail(model->error, "byte fallback without the piece <0x%02X>", (unsigned)i);

    model->other_count = model->count - others; /* what was skipped above left a hole before them */
    memmove(model->sorted + model->sorted_count, model->sorted + others,
            (size_t)model->other_count * sizeof *model->sorted);
    error = sort_pieces(model, 0, model->sorted_count);
    error = error ? error : sort_pieces(model, model->sorted_count, model->sorted_count + model->other_count);
    free(model->hashed.ids);
    model->hashed.ids = NULL;
    if (error)
        return error;
    if ((error = build_tries(model)) != NULL)
        return text_fail(model->error, "%s", error);
    return model->kind == SENTENCEPIECE_UNIGRAM ? NULL : hash_pieces(model);
}

static int32_t control_id(const sentencepiece *model, string text, const char *usual)
{
    const piece *p;
    text = text.size ? text : text_word(usual);
    p = find_piece(model->sorted + model->sorted_count, model->other_count, text);
    return p && p->type == SENTENCEPIECE_CONTROL ? (int32_t)(p - model->pieces) : -1;
}

/* Two passes over the file's fields: one counts the pieces, one reads everything. */
static const char *read_model(sentencepiece *model, const unsigned char *bytes, size_t size)
{
    sentencepiece_normalizer usual = {{NULL, 0, NULL, 0}, 1, 1, 1, 0};
    training trained = {SENTENCEPIECE_UNIGRAM, {" \xe2\x81\x87 ", 5}, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0};
    const char *error;
    size_t count = 0;
    piece *next;
    field f;
    reader r;
    model->normalizer = model->denormalizer = usual;
    if (size > FILE_MAX)
        return text_fail(model->error, "larger than %d bytes", (int)FILE_MAX);
    r.at = bytes;
    r.end = size ? bytes + size : bytes;
    while ((error = next_field(&r, &f)) == NULL && f.number) {
        if ((f.number <= 3 || f.number == 5) && f.wire != BYTES) {
            error = wrong_wire_type;
            break;
        }
        if (f.number == 1 && f.bytes.size < 3)
            return text_fail(model->error, "piece %d is empty", (int)count);
        count += f.number == 1;
    }
    if (error)
        return text_fail(model->error, "byte %llu: %s", (unsigned long long)(r.at - bytes), error);
    if (count == 0)
        return text_fail(model->error, "no pieces");
    model->owned = next = (piece *)malloc(count * (sizeof *next + sizeof *model->sorted));
    if (!next)
        return text_fail(model->error, TEXT_NO_MEMORY);
    memset(next, 0, count * sizeof *next);
    model->pieces = next;
    model->count = (int32_t)count;
    model->sorted = (const piece **)(void *)(next + count);
    r.at = bytes;
    while (!next_field(&r, &f) && f.number) {
        if (f.number == 1 && (error = read_piece(inside(&f), next++)) != NULL)
            return text_fail(model->error, "piece %d: %s", (int)(next - 1 - model->pieces), error);
        if (f.number == 2 && (error = read_training(inside(&f), &trained)) != NULL)
            return text_fail(model->error, "trainer_spec: %s", error);
        if (f.number == 3 && (error = read_normalizer(inside(&f), &model->normalizer)) != NULL)
            return text_fail(model->error, "normalizer_spec: %s", error);
        if (f.number == 5 && (error = read_normalizer(inside(&f), &model->denormalizer)) != NULL)
            return text_fail(model->error, "denormalizer_spec: %s", error);
    }
    if (trained.unk_surface.size > PIECE_MAX)
        return text_fail(model->error, "unk_surface has more than %d bytes", (int)PIECE_MAX);
    if (trained.model_type < SENTENCEPIECE_UNIGRAM || trained.model_type > SENTENCEPIECE_CHARACTER)
        return text_fail(model->error, "a model of type %llu, not of Unigram, BPE, words or characters",
                         (unsigned long long)trained.model_type);
    model->kind = (sentencepiece_kind)trained.model_type;
    model->byte_fallback = trained.byte_fallback;
    model->unknown_text = trained.unk_surface;
    model->normalizer.space_at_end = trained.space_at_end;
    if ((error = index_pieces(model, (piece *)model->owned)) != NULL)
        return error;
    model->bos_id = control_id(model, trained.bos, "<s>");
    model->eos_id = control_id(model, trained.eos, "</s>");
    model->pad_id = control_id(model, trained.pad, "<pad>");
    return NULL;
}

/* ---- files ---- */

/* Gives back everything when there is a message, which stays. */
static const char *finish(sentencepiece *model, const char *error)
{
    if (error)
        sentencepiece_close(model);
    else
        memset(model->error, 0, sizeof model->error);
    return error;
}

const char *sentencepiece_open(sentencepiece *model, const char *path)
{
    buffer contents = {NULL, 0, 0, 0};
    const char *error;
    start(model, path);
    error = text_read_file(model->error, path, FILE_MAX, &contents);
    model->contents = contents.text;
    return finish(model, error ? error : read_model(model, (const unsigned char *)contents.text, contents.size));
}

const char *sentencepiece_parse(sentencepiece *model, const void *bytes, size_t size, const char *name)
{
    start(model, name);
    return finish(model, read_model(model, (const unsigned char *)bytes, size));
}

const char *sentencepiece_reserve(sentencepiece *model, const char *const *names)
{
    piece *pieces = (piece *)model->owned;
    int found = 0;
    for (; *names; names++) {
        const piece *p = find_piece(model->sorted, model->sorted_count, text_word(*names));
        if (p && p->type == SENTENCEPIECE_USER_DEFINED) {
            pieces[p - model->pieces].type = SENTENCEPIECE_CONTROL;
            found = 1;
        }
    }
    return found ? finish(model, index_pieces(model, pieces)) : NULL;
}

void sentencepiece_close(sentencepiece *model)
{
    free(model->contents);
    free(model->owned);
    free(model->hashed.ids);
    trie_free(&model->tree);
    trie_free(&model->symbols);
    memset(model, 0, offsetof(sentencepiece, error));
}

/* ---- text ---- */

enum { NO_MEMORY = 1, TOO_LARGE }; /* how something has failed */

static const char *cause_of(int failed)
{
    return failed == TOO_LARGE ? "normalising makes the text too large" : TEXT_NO_MEMORY;
}

static int ends(string text, string with)
{
    return text.size >= with.size && text_begins(text_from(text, text.size - with.size), with);
}

static void skip(string *text, size_t size)
{
    *text = text_from(*text, size);
}

/* ---- normalisation ---- */

/* The longest user-defined symbol that the text begins with: its bytes, or 0. */
static size_t symbol_size(const sentencepiece *model, string text)
{
    const trie *symbols = &model->symbols;
    size_t i, longest = 0;
    uint32_t node = 0;
    int seen = 0;
    for (i = 0; i < text.size && seen < SYMBOLS_SEEN; i++) {
        if ((node = trie_step(symbols, node, text.text[i])) == 0)
            break;
        if (symbols->nodes[node].id >= 0) {
            longest = i + 1;
            seen++;
        }
    }
    return longest;
}

/* What the beginning of the text is rewritten to; sets *used to the bytes of that beginning. `model` is that of the
   symbols which are left alone, or NULL. */
static string rewrite(const sentencepiece_normalizer *n, const sentencepiece *model, string text, size_t *used)
{
    const char *written;
    if (model && (*used = symbol_size(model, text)) > 0)
        return text_of(text.text, *used);
    written = charsmap_find(&n->map, text, RULES_SEEN, used);
    if (*used)
        return text_word(written);
    if ((*used = shown_utf8(text.text, text.size)) > 0)
        return text_of(text.text, *used);
    *used = 1;
    return text_word(TEXT_REPLACEMENT);
}

/* What a text of so many bytes may become. */
static size_t most_of(const sentencepiece *model, size_t size)
{
    size_t growth = model->longest > LONG ? GROWTH_LONG : GROWTH;
    return size < SIZE_MAX / 2 / GROWTH ? size * growth + SLACK : SIZE_MAX;
}

/* Appends the text as the model's pieces spell it; *out becomes no larger than `most`. */
static void normalize(const sentencepiece_normalizer *n, const sentencepiece *model, string text, size_t most,
                      buffer *out)
{
    string space = n->escape_whitespaces ? mark : blank, part;
    size_t begin = out->size, used;
    int after_space = n->remove_extra_whitespaces;
    if (n->remove_extra_whitespaces)
        while (text.size && (part = rewrite(n, model, text, &used), part.size == 1 && *part.text == ' '))
            skip(&text, used);
    if (text.size == 0)
        return;
    if (n->add_dummy_prefix && !n->space_at_end)
        text_append(out, space);
    for (; text.size && !out->failed; skip(&text, used)) {
        part = rewrite(n, model, text, &used);
        while (after_space && text_begins(part, blank))
            skip(&part, 1);
        text_append_replaced(out, part, blank, space);
        if (part.size)
            after_space = n->remove_extra_whitespaces && ends(part, blank);
        if (out->size > most)
            out->failed = TOO_LARGE;
    }
    while (n->remove_extra_whitespaces && out->size > begin && ends(text_from(text_in(out), begin), space))
        out->size -= space.size;
    if (n->add_dummy_prefix && n->space_at_end)
        text_append(out, space);
}

/* ---- tokens that grow ---- */

/* Text that is being cut, and the tokens so far. */
typedef struct cutter {
    const sentencepiece *model;
    string text; /* normalised */
    sentencepiece_tokens *tokens;
    size_t id_room, piece_room;
    size_t most;       /* bytes of all that is normalised */
    int after_unknown; /* whether the last piece of the text was unknown */
    int failed;        /* NO_MEMORY, or TOO_LARGE */
} cutter;

/* A token of `size` bytes of the normalised text; where these lie is set at the end. */
static void add_token(cutter *c, int32_t id, size_t size)
{
    sentencepiece_tokens *tokens = c->tokens;
    string *pieces;
    if (c->failed)
        return;
    pieces = (string *)text_grow(tokens->pieces, sizeof *pieces, tokens->count, 1, &c->piece_room);
    if (pieces) {
        tokens->pieces = pieces;
        pieces[tokens->count] = text_of(NULL, size);
    }
    c->failed = !pieces || !text_push(&tokens->ids, &tokens->count, &c->id_room, &id, 1);
}

/* The next piece of the text; its bytes if it is unknown and there is byte fallback. Unknown ones in a row are one. */
static void add_piece(cutter *c, int32_t id, size_t begin, size_t size)
{
    const sentencepiece *model = c->model;
    int unknown = id == model->unk_id;
    size_t i;
    if (unknown && model->byte_fallback)
        for (i = begin; i < begin + size; i++)
            add_token(c, model->byte_ids[(unsigned char)c->text.text[i]], 1);
    else if (unknown && c->after_unknown && !c->failed)
        c->tokens->pieces[c->tokens->count - 1].size += size;
    else
        add_token(c, id, size);
    c->after_unknown = unknown;
}

/* The size of the character that the text begins with, as the library counts it: by its first byte, as far as the text
   goes. */
static size_t character_size(string text)
{
    unsigned char c = (unsigned char)text.text[0];
    size_t size = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return size < text.size ? size : text.size;
}

/* ---- Unigram: the pieces whose scores have the greatest sum ---- */

/* The best way to cut the text up to a position. */
typedef struct cut {
    float score;
    int32_t id;   /* of the last piece */
    size_t begin; /* of that piece; NONE: there is no way yet */
} cut;

#define NONE SIZE_MAX

/* The sum is rounded to float also where registers hold more, or ties would fall otherwise. */
static void improve(cut *c, float before, float own, int32_t id, size_t begin)
{
    volatile float score = own + before;
    if (c->begin == NONE || score > c->score) {
        c->score = score;
        c->id = id;
        c->begin = begin;
    }
}

/* Viterbi: fills cuts[1] to cuts[text.size], for ends of pieces, from left to right. A character that is no piece is
   unknown. Scores are sums in float; the first of equals stays. */
static void find_cuts(const sentencepiece *model, string text, cut *cuts)
{
    const float far = 100000; /* from 0: scores are moved back there, to keep their digits */
    size_t begin, end, i, furthest = 0, size;
    for (i = 0; i <= text.size; i++)
        cuts[i].begin = NONE;
    cuts[0].score = 0;
    for (begin = 0; begin < text.size; begin += size) {
        float score = cuts[begin].score;
        uint32_t node = 0;
        int single = 0;
        size = character_size(text_from(text, begin));
        if (score < -far || score > far) {
            for (i = begin; i <= furthest; i++)
                if (i == begin || cuts[i].begin != NONE)
                    cuts[i].score -= score;
            score = 0;
        }
        for (end = begin; end < text.size && (node = trie_step(&model->tree, node, text.text[end])) != 0; end++) {
            int32_t id = model->tree.nodes[node].id;
            const piece *p = id >= 0 ? &model->pieces[id] : NULL;
            size_t length = end + 1 - begin;
            volatile float own;
            if (!p || p->type == SENTENCEPIECE_UNUSED)
                continue;
            own = p->type == SENTENCEPIECE_USER_DEFINED ? (float)(0.1 * (double)(length - 1)) : p->score;
            improve(&cuts[end + 1], score, own, id, begin);
            furthest = end + 1 > furthest ? end + 1 : furthest;
            single |= length == size;
        }
        if (!single) {
            improve(&cuts[begin + size], score, model->unknown_score, model->unk_id, begin);
            furthest = begin + size > furthest ? begin + size : furthest;
        }
    }
}

static void cut_by_unigram(cutter *c)
{
    size_t size = c->text.size, begin, end, next;
    cut *cuts = size < SIZE_MAX / sizeof *cuts ? (cut *)malloc((size + 1) * sizeof *cuts) : NULL;
    if (!cuts) {
        c->failed = 1;
        return;
    }
    find_cuts(c->model, c->text, cuts);
    /* The best way is known from its end. Turned round, each cut says where the next piece ends. */
    for (end = size, next = NONE; end > 0; next = end, end = begin) {
        begin = cuts[end].begin;
        cuts[end].begin = next;
    }
    for (begin = 0, end = next; begin < size; begin = end, end = cuts[end].begin)
        add_piece(c, cuts[end].id, begin, end - begin);
    free(cuts);
}

/* ---- BPE: neighbours that are a piece together are merged, those of the highest score first ----

   The text begins as characters and user-defined symbols, which are never merged. A heap holds the pairs of neighbours
   that can be merged. A merge adds two at most, and leaves those of the old neighbours in the heap, which their size
   gives away. So n characters take n - 1 merges and 3 n pairs at most. Sennrich, Haddow, Birch: Neural machine
   translation of rare words with subword units (2015), arXiv:1508.07909. */

typedef struct symbol {  /* at the byte of the text where it begins */
    uint16_t size;       /* in bytes; 0: no symbol begins here */
    uint16_t before;     /* the size of its left neighbour; 0: it has none */
    unsigned char whole; /* never merged */
} symbol;

typedef struct merging {
    const sentencepiece *model;
    string text;
    symbol *symbols; /* text.size of them */
    heap_pair *heap; /* a pair's value: the size of both symbols */
    size_t count, room;
    uint16_t *splits; /* by id of an unused piece: the size of the left symbol of its last pair; NULL: there was none */
    int failed;
} merging;

/* A whole number that is the less the larger the score is, and less for 0 than for -0, as the library has it. */
static uint32_t rank_of(float score)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? bits : ~bits & 0x7fffffffu;
}

/* Puts the symbol at `begin` and its right neighbour into the heap if both are one piece. */
static void consider(merging *m, size_t begin)
{
    const symbol *left = &m->symbols[begin], *right = left + left->size;
    const piece *p;
    string both = text_from(m->text, begin);
    heap_pair added, *heap;
    if (begin + left->size == m->text.size || left->whole || right->whole)
        return;
    both.size = (size_t)left->size + right->size;
    if ((p = look_up(m->model, both)) == NULL)
        return;
    added.rank = rank_of(p->score);
    added.value = (uint32_t)both.size;
    added.at = begin;
    if ((heap = (heap_pair *)text_grow(m->heap, sizeof *heap, m->count, 1, &m->room)) == NULL) {
        m->failed = 1;
        return;
    }
    m->heap = heap;
    heap_push(heap, &m->count, added);
    if (p->type == SENTENCEPIECE_UNUSED) {
        if (!m->splits)
            m->splits = (uint16_t *)calloc((size_t)m->model->count, sizeof *m->splits);
        if (m->splits)
            m->splits[p - m->model->pieces] = left->size;
        else
            m->failed = 1;
    }
}

static void merge_symbols(merging *m)
{
    size_t begin, size, before = 0;
    for (begin = 0; begin < m->text.size; begin += size) {
        string rest = text_from(m->text, begin);
        m->symbols[begin].whole = (size = symbol_size(m->model, rest)) > 0;
        size = size ? size : character_size(rest);
        m->symbols[begin].size = (uint16_t)size;
        m->symbols[begin].before = (uint16_t)before;
        before = size;
    }
    for (begin = 0; begin < m->text.size; begin += m->symbols[begin].size)
        consider(m, begin);
    while (m->count && !m->failed) {
        heap_pair top = heap_pop(m->heap, &m->count);
        symbol *left = &m->symbols[top.at], *right = left + left->size;
        if (left->size == 0 || top.at + left->size == m->text.size || left->size + right->size != (int)top.value)
            continue;
        left->size = (uint16_t)top.value;
        right->size = 0;
        if (top.at + top.value < m->text.size)
            m->symbols[top.at + top.value].before = left->size;
        if (left->before)
            consider(m, top.at - left->before);
        consider(m, top.at);
    }
}

/* Adds a symbol as a piece. An unused piece is split as it was last seen to be made, and so are its parts; where that
   has gone SPLITS_DEEP deep, the library keeps it. */
static void add_symbol(cutter *c, const uint16_t *splits, size_t begin, size_t size, int depth)
{
    const piece *p = look_up(c->model, text_of(c->text.text + begin, size));
    size_t left = p && p->type == SENTENCEPIECE_UNUSED && splits ? splits[p - c->model->pieces] : 0;
    if (p && depth > SPLITS_DEEP) {
        add_piece(c, (int32_t)(p - c->model->pieces), begin, size);
    } else if (left) {
        add_symbol(c, splits, begin, left, depth + 1);
        add_symbol(c, splits, begin + left, size - left, depth + 1);
    } else {
        add_piece(c, usable_id(c->model, p), begin, size);
    }
}

static void cut_by_bpe(cutter *c)
{
    size_t size = c->text.size, begin;
    merging m;
    memset(&m, 0, sizeof m);
    m.model = c->model;
    m.text = c->text;
    m.symbols = size < SIZE_MAX / sizeof *m.symbols ? (symbol *)calloc(size, sizeof *m.symbols) : NULL;
    if (m.symbols)
        merge_symbols(&m);
    c->failed = c->failed || !m.symbols || m.failed;
    for (begin = 0; begin < size && !c->failed; begin += m.symbols[begin].size)
        add_symbol(c, m.splits, begin, m.symbols[begin].size, 0);
    free(m.symbols);
    free(m.heap);
    free(m.splits);
}

/* ---- words, and characters: a piece, or unknown ---- */

/* The size of the word that the text begins with: up to the next U+2581. */
static size_t word_size(string text)
{
    size_t size = character_size(text);
    while (size < text.size && !text_begins(text_from(text, size), mark))
        size += character_size(text_from(text, size));
    return size;
}

static void cut_simply(cutter *c)
{
    int words = c->model->kind == SENTENCEPIECE_WORD;
    size_t begin, size;
    string next;
    for (begin = 0; begin < c->text.size && !c->failed; begin += next.size) {
        next = text_from(c->text, begin);
        size = words ? word_size(next) : symbol_size(c->model, next);
        next.size = size ? size : character_size(next);
        add_piece(c, usable_id(c->model, look_up(c->model, next)), begin, next.size);
    }
}

/* ---- encoding ---- */

/* Appends the tokens of text without sentinels. */
static void encode_part(cutter *c, string part, buffer *normalized)
{
    size_t begin = normalized->size;
    normalize(&c->model->normalizer, c->model, part, c->most, normalized);
    c->failed |= normalized->failed;
    if (c->failed || normalized->size == begin)
        return;
    c->text = text_from(text_in(normalized), begin);
    c->after_unknown = 0;
    switch (c->model->kind) {
    case SENTENCEPIECE_UNIGRAM: cut_by_unigram(c); break;
    case SENTENCEPIECE_BPE: cut_by_bpe(c); break;
    case SENTENCEPIECE_WORD:
    case SENTENCEPIECE_CHARACTER: cut_simply(c); break;
    }
}

static const char sentinel_name[] = "<extra_id_";

/* The sentinel's k if the text begins with one, and its bytes; or -1. */
static int32_t sentinel_at(const sentencepiece *model, string text, size_t *size)
{
    size_t digits = strlen(sentinel_name), i = digits;
    int64_t k = 0;
    if (!text_begins(text, text_word(sentinel_name)))
        return -1;
    for (; i < text.size && text.text[i] >= '0' && text.text[i] <= '9' && k < model->extra_ids; i++)
        k = k * 10 + (text.text[i] - '0');
    if (i == digits || (text.text[digits] == '0' && i > digits + 1) || i == text.size || text.text[i] != '>' ||
        k >= model->extra_ids)
        return -1;
    *size = i + 1;
    return (int32_t)k;
}

/* What Python's str.strip takes off. */
static int is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* The bytes of the space character that the text begins or ends with, or 0. */
static size_t space_size(string text, int at_end)
{
    size_t begin = at_end && text.size ? text.size - 1 : 0, size, i;
    uint32_t c;
    while (begin > 0 && (text.text[begin] & 0xc0) == 0x80)
        begin--;
    skip(&text, begin);
    size = text.size ? shown_utf8(text.text, text.size) : 0;
    if (size == 0 || (at_end && size < text.size))
        return 0;
    c = (unsigned char)text.text[0] & 0xffu >> (size > 1 ? size + 1 : 0);
    for (i = 1; i < size; i++)
        c = c << 6 | ((unsigned char)text.text[i] & 0x3f);
    return is_space(c) ? size : 0;
}

/* Appends the tokens of text and sentinels. Space around a sentinel belongs to it. */
static void encode_all(cutter *c, string text, buffer *normalized)
{
    const sentencepiece *model = c->model;
    size_t size = 0, space;
    string part = text;
    int32_t k;
    for (part.size = 0; !c->failed;) {
        k = model->extra_ids > 0 ? sentinel_at(model, text, &size) : -1;
        if (k < 0 && text.size) {
            const char *next = model->extra_ids > 0 ? (const char *)memchr(text.text + 1, '<', text.size - 1) : NULL;
            size = next ? (size_t)(next - text.text) : text.size;
            part.size += size;
            skip(&text, size);
            continue;
        }
        while (k >= 0 && (space = space_size(part, 1)) > 0)
            part.size -= space;
        encode_part(c, part, normalized);
        if (k < 0)
            return;
        text_append(normalized, text_of(text.text, size));
        c->failed |= normalized->failed;
        add_token(c, model->count + model->extra_ids - 1 - k, size);
        skip(&text, size);
        while ((space = space_size(text, 0)) > 0)
            skip(&text, space);
        part = text_of(text.text, 0);
    }
}

const char *sentencepiece_encode(const sentencepiece *model, const char *text, size_t size,
                                 sentencepiece_tokens *tokens)
{
    buffer normalized = {NULL, 0, 0, 0};
    const char *at;
    cutter c;
    size_t i;
    memset(tokens, 0, sizeof *tokens);
    memset(&c, 0, sizeof c);
    c.model = model;
    c.tokens = tokens;
    c.most = most_of(model, size);
    encode_all(&c, text_of(size ? text : "", size), &normalized);
    at = tokens->normalized = normalized.text;
    tokens->normalized_size = normalized.size;
    if (c.failed) {
        sentencepiece_tokens_free(tokens);
        return cause_of(c.failed);
    }
    for (i = 0; i < tokens->count; i++) {
        string *spelling = &tokens->pieces[i];
        int32_t id = tokens->ids[i];
        spelling->text = at;
        at += spelling->size;
        if (id < model->count && model->byte_fallback && model->pieces[id].type == SENTENCEPIECE_BYTE)
            *spelling = model->pieces[id].text;
    }
    return NULL;
}

void sentencepiece_tokens_free(sentencepiece_tokens *tokens)
{
    free(tokens->ids);
    free(tokens->pieces);
    free(tokens->normalized);
    memset(tokens, 0, sizeof *tokens);
}

/* ---- decoding ---- */

/* What stands in text for a piece that is no byte, with U+2581 for each space. *at_start: whether a space in front is
   the one that encoding put there, which is left out; it then tells whether that may be so of the next piece. */
static string spelling_of(const sentencepiece *model, const piece *p, int *at_start)
{
    const sentencepiece_normalizer *n = &model->normalizer;
    string spelling = p->text;
    if (p->type == SENTENCEPIECE_CONTROL) {
        spelling.size = 0;
    } else if (*at_start && (n->add_dummy_prefix || n->remove_extra_whitespaces) && text_begins(spelling, mark)) {
        skip(&spelling, mark.size);
        *at_start = n->remove_extra_whitespaces;
    }
    return p->type == SENTENCEPIECE_UNKNOWN ? model->unknown_text : spelling;
}

/* Appends the text of pieces, of which none is a sentinel. */
static void decode_part(const sentencepiece *model, const int32_t *ids, size_t count, buffer *out)
{
    buffer text = {NULL, 0, 0, 0}, bytes = {NULL, 0, 0, 0};
    int at_start = 1;
    size_t i, most;
    string spelling;
    for (i = 0; i < count; i++) {
        const piece *p = &model->pieces[ids[i]];
        if (p->type == SENTENCEPIECE_BYTE) {
            char byte = (char)byte_of(p->text);
            text_append(&bytes, text_of(&byte, 1));
            continue;
        }
        text_append_valid(&text, text_in(&bytes));
        bytes.size = 0;
        at_start = at_start && text.size == 0;
        spelling = spelling_of(model, p, &at_start);
        if (p->type == SENTENCEPIECE_UNKNOWN)
            text_append(&text, spelling);
        else
            text_append_replaced(&text, spelling, mark, blank);
    }
    text_append_valid(&text, text_in(&bytes));
    if (text.failed || bytes.failed)
        out->failed = NO_MEMORY;
    most = most_of(model, text.size);
    if (out->size && text.size)
        text_append(out, blank);
    if (model->denormalizer.map.unit_count)
        normalize(&model->denormalizer, NULL, text_in(&text), most < SIZE_MAX - out->size ? most + out->size : SIZE_MAX,
                  out);
    else
        text_append(out, text_in(&text));
    free(text.text);
    free(bytes.text);
}

const char *sentencepiece_decode(const sentencepiece *model, const int32_t *ids, size_t count, char **text,
                                 size_t *size)
{
    buffer out = {NULL, 0, 0, 0};
    char name[32];
    size_t i, begin = 0;
    *text = NULL;
    *size = 0;
    for (i = 0; i < count; i++)
        if (ids[i] < 0 || (ids[i] >= model->count && ids[i] - model->count >= model->extra_ids))
            return "an id that the model does not have";
    for (i = 0; i < count; i++)
        if (ids[i] >= model->count) {
            decode_part(model, ids + begin, i - begin, &out);
            begin = i + 1;
            snprintf(name, sizeof name, "%s%s%d>", out.size ? " " : "", sentinel_name,
                     (int)(model->count + model->extra_ids - 1 - ids[i]));
            text_append(&out, text_word(name));
        }
    if (begin < count)
        decode_part(model, ids + begin, count - begin, &out);
    text_append(&out, text_of("", 1));
    if (out.failed) {
        free(out.text);
        return cause_of(out.failed);
    }
    *text = out.text;
    *size = out.size - 1;
    return NULL;
}

size_t sentencepiece_piece_bytes(const sentencepiece *model, int32_t id, int first, char *out, size_t size)
{
    const piece *p = id >= 0 && id < model->count ? &model->pieces[id] : NULL;
    size_t used = 0;
    string rest;
    char byte;
    if (!p)
        return 0;
    if (p->type == SENTENCEPIECE_BYTE) {
        byte = (char)byte_of(p->text);
        if (size)
            *out = byte;
        return 1;
    }
    for (rest = spelling_of(model, p, &first); rest.size; used++) {
        int space = p->type != SENTENCEPIECE_UNKNOWN && text_begins(rest, mark);
        byte = space ? ' ' : *rest.text;
        if (used < size)
            out[used] = byte;
        skip(&rest, space ? mark.size : 1);
    }
    return used;
}

int32_t sentencepiece_id(const sentencepiece *model, const char *spelling, size_t size)
{
    string text = text_of(size ? spelling : "", size);
    const piece *p;
    int32_t k;
    size_t used = 0;
    if ((k = sentinel_at(model, text, &used)) >= 0 && used == size)
        return model->count + model->extra_ids - 1 - k;
    p = find_piece(model->sorted + model->sorted_count, model->other_count, text);
    p = p ? p : find_piece(model->sorted, model->sorted_count, text);
    return p ? (int32_t)(p - model->pieces) : model->unk_id;
}
