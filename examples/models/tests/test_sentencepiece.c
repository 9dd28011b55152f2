/* SentencePiece models that are broken, odd, or so small that their tokens can be told by hand: each is written here,
   field by field. */
#include "test.h"

#include "examples/models/sentencepiece.h"

#include <time.h>

/* ---- writing a model ---- */

typedef struct buffer { /* in a block */
    unsigned char *bytes;
    size_t size, room;
} buffer;

static void put(buffer *b, const void *bytes, size_t size)
{
    if (size > b->room - b->size) {
        unsigned char *more = test_block(b->room = 2 * b->room + size + 64);
        if (b->size)
            memcpy(more, b->bytes, b->size);
        b->bytes = more;
    }
    if (size)
        memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
}

static void put_byte(buffer *b, unsigned byte)
{
    unsigned char c = (unsigned char)byte;
    put(b, &c, 1);
}

static void put_u32(buffer *b, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        put_byte(b, v >> 8 * i & 0xff);
}

static void put_varint(buffer *b, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        put_byte(b, (unsigned)(v & 0x7f) | 0x80);
    put_byte(b, (unsigned)v);
}

enum { VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 }; /* wire types */

static void put_tag(buffer *b, uint64_t field, unsigned wire)
{
    put_varint(b, field << 3 | wire);
}

static void put_number(buffer *b, uint64_t field, uint64_t v)
{
    put_tag(b, field, VARINT);
    put_varint(b, v);
}

static void put_bytes(buffer *b, uint64_t field, const void *bytes, size_t size)
{
    put_tag(b, field, BYTES);
    put_varint(b, size);
    put(b, bytes, size);
}

static void put_float(buffer *b, uint64_t field, float v)
{
    put_tag(b, field, FIXED32);
    put_u32(b, test_bits32(v));
}

enum { PIECE = 1, TRAINER, NORMALIZER, DENORMALIZER = 5 }; /* fields of a model */
enum { MODEL_TYPE = 3, SPACE_AT_END = 24, BYTE_FALLBACK = 35, UNK_SURFACE = 44, BOS_PIECE = 46, EOS_PIECE, PAD_PIECE };
enum { CHARSMAP = 2, DUMMY_PREFIX, REMOVE_SPACES, ESCAPE_SPACES }; /* of its normalizer */
enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE }; /* types of pieces */
enum { UNIGRAM = 1, BPE, WORD, CHARACTER };                        /* types of models */

static const char space[] = "\xe2\x96\x81"; /* what _ stands for below */

static buffer spelled(const char *text)
{
    buffer b = {0};
    for (; *text; text++)
        if (*text == '_')
            put(&b, space, 3);
        else
            put(&b, text, 1);
    return b;
}

static void put_raw_piece(buffer *b, const void *text, size_t size, float score, int type)
{
    buffer piece = {0};
    put_bytes(&piece, 1, text, size);
    put_float(&piece, 2, score);
    if (type != NORMAL)
        put_number(&piece, 3, (uint64_t)type);
    put_bytes(b, PIECE, piece.bytes, piece.size);
}

static void put_piece(buffer *b, const char *text, float score, int type)
{
    buffer s = spelled(text);
    put_raw_piece(b, s.bytes, s.size, score, type);
}

static void put_byte_pieces(buffer *b, int but)
{
    for (int byte = 0; byte < 256; byte++)
        if (byte != but) {
            char text[8];
            snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
            put_piece(b, text, 0, BYTE);
        }
}

typedef struct parts {
    buffer trainer, normalizer, charsmap, pieces;
} parts;

static buffer joined(const parts *p)
{
    buffer model = {0}, normalizer = {0};
    put(&normalizer, p->normalizer.bytes, p->normalizer.size);
    if (p->charsmap.size)
        put_bytes(&normalizer, CHARSMAP, p->charsmap.bytes, p->charsmap.size);
    put_bytes(&model, TRAINER, p->trainer.bytes, p->trainer.size);
    put_bytes(&model, NORMALIZER, normalizer.bytes, normalizer.size);
    put(&model, p->pieces.bytes, p->pieces.size);
    return model;
}

/* ---- writing a charsmap: the double array of some rules ---- */

typedef struct rule {
    const char *from, *to;
} rule;

static const rule rules[] = {{"\t", " "}, {"A", "a"}, {"AB", "b"}, {"\xc2\xad", ""}, {"\xef\xac\x81", "fi"}};
enum { RULES = sizeof rules / sizeof *rules, UNITS = 512, MOST_UNITS = 1024, FREE = 0x7fffffff };
#define LEAF 0x80000000u

static uint32_t with_offset(uint32_t offset)
{
    return offset & 0xff ? offset << 10 : offset << 2 | 512;
}

/* Unit `at` is where rules first to stop - 1 have been followed for `depth` bytes: gives it its children. */
static void put_units(uint32_t *units, size_t count, size_t at, int first, int stop, size_t depth,
                      const uint32_t *values)
{
    size_t base = at ? at ^ 256 : 1; /* an offset of 256 is written in the other way */
    int ends = !rules[first].from[depth], fits = 0;
    for (base %= count; !fits; base = fits ? base : (base + 1) % count) {
        fits = base != at && (!ends || units[base] == FREE);
        for (int r = first + ends; r < stop; r++)
            fits = fits && units[base ^ (unsigned char)rules[r].from[depth]] == FREE;
    }
    units[at] |= with_offset((uint32_t)(at ^ base));
    if (ends) {
        units[at] |= 256;
        units[base] = LEAF | values[first++];
    }
    for (int r = first; r < stop; r++)
        units[base ^ (unsigned char)rules[r].from[depth]] = (unsigned char)rules[r].from[depth];
    for (int r = first, next; r < stop; r = next) {
        for (next = r + 1; next < stop && rules[next].from[depth] == rules[r].from[depth]; next++) {
        }
        put_units(units, count, base ^ (unsigned char)rules[r].from[depth], r, next, depth + 1, values);
    }
}

typedef struct map {
    uint32_t units[MOST_UNITS], count;
    buffer strings;
} map;

static map *new_map(uint32_t count)
{
    map *m = test_block(sizeof *m);
    uint32_t values[RULES];
    memset(m, 0, sizeof *m);
    m->count = count;
    for (int r = 0; r < RULES; r++) {
        values[r] = (uint32_t)m->strings.size;
        put(&m->strings, rules[r].to, strlen(rules[r].to) + 1);
    }
    for (uint32_t i = 1; i < count; i++)
        m->units[i] = FREE;
    put_units(m->units, count, 0, 0, RULES, 0, values);
    for (uint32_t i = 1; i < count; i++)
        if (m->units[i] == FREE)
            m->units[i] = LEAF; /* no byte leads there */
    return m;
}

static buffer charsmap_of(const map *m)
{
    buffer b = {0};
    put_u32(&b, 4 * m->count);
    for (uint32_t i = 0; i < m->count; i++)
        put_u32(&b, m->units[i]);
    put(&b, m->strings.bytes, m->strings.size);
    return b;
}

/* ---- the model that most tests begin with ---- */

enum { ID_UNK, ID_BOS, ID_EOS, ID_SPACE, ID_A, ID_B, ID_AB, ID_SPACE_A, ID_FI, ID_SYMBOL, ID_OLD, BASE_PIECES };

static parts base_parts(void)
{
    parts p = {{0}, {0}, {0}, {0}};
    put_number(&p.trainer, MODEL_TYPE, 1);
    put_bytes(&p.normalizer, 1, "test", 4);
    put_piece(&p.pieces, "<unk>", 0, UNKNOWN);
    put_piece(&p.pieces, "<s>", 0, CONTROL);
    put_piece(&p.pieces, "</s>", 0, CONTROL);
    put_piece(&p.pieces, "_", -2, NORMAL);
    put_piece(&p.pieces, "a", -2.5f, NORMAL);
    put_piece(&p.pieces, "b", -2.5f, NORMAL);
    put_piece(&p.pieces, "ab", -4, NORMAL);
    put_piece(&p.pieces, "_a", -3, NORMAL);
    put_piece(&p.pieces, "fi", -6, NORMAL);
    put_piece(&p.pieces, "<sym>", 0, USER_DEFINED);
    put_piece(&p.pieces, "b<old>", 0, UNUSED);
    p.charsmap = charsmap_of(new_map(UNITS));
    return p;
}

/* ---- opening one ---- */

typedef struct opened {
    sentencepiece model;
    void *bytes; /* exactly the model's, so that whoever reads past them is caught */
} opened;

static void *exactly(const void *bytes, size_t size)
{
    void *copy = malloc(size);
    if (size && !copy)
        abort();
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

static const char *open_bytes(opened *o, const void *bytes, size_t size)
{
    const char *error;
    memset(&o->model, 0x5a, sizeof o->model);
    o->bytes = exactly(bytes, size);
    error = sentencepiece_parse(&o->model, o->bytes, size, "odd.model");
    if (error) {
        free(o->bytes);
        o->bytes = NULL;
    }
    return error;
}

static void close_model(opened *o)
{
    if (o->bytes)
        sentencepiece_close(&o->model);
    free(o->bytes);
    o->bytes = NULL;
}

/* Whether the file is refused with a message that has the file's name and this word. */
static int refused_bytes(const void *bytes, size_t size, const char *word)
{
    opened o;
    long live = test_memory_state.live;
    const char *error = open_bytes(&o, bytes, size);
    int held = CHECK(error != NULL);
    if (held && !CHECK(strncmp(error, "odd.model: ", 11) == 0 && strstr(error + 11, word))) {
        printf("    got \"%s\", want \"%s\" in it\n", error, word);
        held = 0;
    }
    held &= CHECK(!error || (error >= o.model.error && error < o.model.error + sizeof o.model.error));
    close_model(&o);
    return CHECK(test_memory_state.live == live) && held;
}

static int refused(const buffer *file, const char *word)
{
    return refused_bytes(file->bytes, file->size, word);
}

static int refused_parts(const parts *p, const char *word)
{
    buffer file = joined(p);
    return refused(&file, word);
}

static int open_file(opened *o, const buffer *file)
{
    const char *error = open_bytes(o, file->bytes, file->size);
    if (!CHECK(error == NULL))
        printf("    got \"%s\"\n", error);
    return error == NULL;
}

static int open_parts(opened *o, const parts *p)
{
    buffer file = joined(p);
    return open_file(o, &file);
}

static int accepted(const buffer *file)
{
    opened o;
    int held = open_file(&o, file);
    close_model(&o);
    return held;
}

static int accepted_parts(const parts *p)
{
    buffer file = joined(p);
    return accepted(&file);
}

/* ---- encoding and decoding ---- */

/* Tokens as text: "7:_a 5:b". */
static const char *shown(const sentencepiece_tokens *tokens)
{
    buffer b = {0};
    for (size_t i = 0; i < tokens->count; i++) {
        char id[16];
        sentencepiece_string piece = tokens->pieces[i];
        put(&b, id, (size_t)snprintf(id, sizeof id, "%s%d:", i ? " " : "", (int)tokens->ids[i]));
        for (size_t k = 0; k < piece.size; k++)
            if (piece.size - k >= 3 && memcmp(piece.text + k, space, 3) == 0) {
                put_byte(&b, '_');
                k += 2;
            } else {
                put_byte(&b, (unsigned char)piece.text[k]);
            }
    }
    put_byte(&b, 0);
    return (char *)b.bytes;
}

static int encodes_bytes(const sentencepiece *model, const char *text, size_t size, const char *want)
{
    sentencepiece_tokens tokens;
    long live = test_memory_state.live;
    char *copy = exactly(text, size);
    int held;
    memset(&tokens, 0x5a, sizeof tokens);
    held = CHECK(sentencepiece_encode(model, copy, size, &tokens) == NULL);
    if (held) {
        const char *got = shown(&tokens);
        if (!CHECK(strcmp(got, want) == 0)) {
            printf("    got \"%s\", want \"%s\"\n", got, want);
            held = 0;
        }
        sentencepiece_tokens_free(&tokens);
    }
    free(copy);
    return CHECK(test_memory_state.live == live) && held;
}

static int encodes(const sentencepiece *model, const char *text, const char *want)
{
    test_case("\"%s\"", text);
    return encodes_bytes(model, text, strlen(text), want);
}

static int decodes_to(const sentencepiece *model, const int32_t *ids, size_t count, const char *want, size_t want_size)
{
    char *text = (char *)&text;
    size_t size = 12345;
    int32_t *copy = exactly(ids, count * sizeof *ids);
    int held = CHECK(sentencepiece_decode(model, copy, count, &text, &size) == NULL);
    if (held) {
        if (!CHECK(size == want_size && memcmp(text, want, size) == 0 && text[size] == 0)) {
            printf("    got \"%s\", want \"%s\"\n", text, want);
            held = 0;
        }
        test_free(text);
    }
    free(copy);
    return held;
}

#define DECODES(model, want, ...)                                                                                      \
    decodes_to(model, (const int32_t[]){__VA_ARGS__}, sizeof(int32_t[]){__VA_ARGS__} / sizeof(int32_t), want,          \
               sizeof(want) - 1)

/* ---- the file ---- */

/* A message of a model: the model itself, or what the field of that number holds. */
enum { MODEL = 0 };
static const int messages[] = {MODEL, PIECE, TRAINER, NORMALIZER, DENORMALIZER};
enum { MESSAGES = sizeof messages / sizeof *messages };

static buffer start_message(int message)
{
    buffer b = {0};
    if (message == PIECE)
        put_bytes(&b, 1, "new", 3);
    return b;
}

/* The base model with that message at its end. */
static buffer with(const buffer *b, int message)
{
    parts p = base_parts();
    buffer file = joined(&p);
    if (message == MODEL)
        put(&file, b->bytes, b->size);
    else
        put_bytes(&file, (uint64_t)message, b->bytes, b->size);
    return file;
}

static int refused_with(const buffer *b, int message, const char *word)
{
    buffer file = with(b, message);
    return refused(&file, word);
}

static int accepted_with(const buffer *b, int message)
{
    buffer file = with(b, message);
    return accepted(&file);
}

/* A field that nobody knows. */
enum { OTHER = 150 };

static size_t value_size(unsigned wire) /* of OTHER: 0, or no bytes */
{
    return wire == FIXED64 ? 8 : wire == FIXED32 ? 4 : 1;
}

static void check_prefixes(void)
{
    parts p = base_parts();
    buffer file = joined(&p);
    size_t ends = 0;
    for (size_t size = 0; size < file.size; size++) {
        size_t at = file.size - p.pieces.size, pieces;
        for (pieces = 0; at < size; pieces++)
            at += 2 + (size_t)file.bytes[at + 1];
        test_case("the first %zu of %zu bytes", size, file.size);
        if (at == size && pieces > ID_SPACE) { /* it stops between pieces: a smaller model */
            CHECK(accepted(&(buffer){file.bytes, size, size}));
            ends++;
        } else {
            refused_bytes(file.bytes, size, at == size || size == 2 + p.trainer.size || size == 0 ? "piece" : "");
        }
    }
    CHECK(ends == BASE_PIECES - 1 - ID_SPACE);
    test_case("the whole");
    CHECK(accepted(&file));
}

static void check_wire_types(int message)
{
    for (unsigned wire = 0; wire < 8; wire++) {
        buffer b = start_message(message);
        size_t size = value_size(wire);
        put_tag(&b, OTHER, wire);
        put(&b, "\0\0\0\0\0\0\0\0", size);
        test_case("message %d: field %d with wire type %u", message, (int)OTHER, wire);
        if (wire == GROUP || wire == END_GROUP || wire > FIXED32) {
            refused_with(&b, message, "wire type");
            continue;
        }
        CHECK(accepted_with(&b, message));
        for (; size > 0; size--) {
            b.size--;
            test_case("message %d: field %d with wire type %u, cut off", message, (int)OTHER, wire);
            refused_with(&b, message, wire == VARINT || wire == BYTES ? "cut off" : "longer");
        }
        b = start_message(message);
        put_tag(&b, 0, wire);
        put(&b, "\0\0\0\0\0\0\0\0", 8);
        test_case("message %d: field 0 with wire type %u", message, wire);
        refused_with(&b, message, "field number");
    }
}

static void put_long_varint(buffer *b, unsigned first, size_t size)
{
    for (size_t i = 1; i < size; i++, first = 0)
        put_byte(b, 0x80 | first);
    put_byte(b, first);
}

static void check_long_varints(int message)
{
    for (size_t size = 1; size <= 12; size++) {
        buffer b = start_message(message);
        put_tag(&b, OTHER, VARINT);
        put_long_varint(&b, 1, size);
        test_case("message %d: a number of %zu bytes", message, size);
        if (size > 10)
            refused_with(&b, message, "too long");
        else
            CHECK(accepted_with(&b, message));
        b = start_message(message);
        put_tag(&b, OTHER, BYTES);
        put_long_varint(&b, 0, size);
        test_case("message %d: a length of %zu bytes", message, size);
        if (size > 5)
            refused_with(&b, message, "too long");
        else
            CHECK(accepted_with(&b, message));
        b = start_message(message);
        put_long_varint(&b, 10 << 3, size);
        put_byte(&b, 0);
        test_case("message %d: a tag of %zu bytes", message, size);
        if (size > 5)
            refused_with(&b, message, "too long");
        else
            CHECK(accepted_with(&b, message));
    }
    for (unsigned last = 1; last < 128; last = 2 * last + 1) {
        buffer b = start_message(message);
        put_tag(&b, OTHER, VARINT);
        put(&b, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9);
        put_byte(&b, last);
        test_case("message %d: a number whose tenth byte is %u", message, last);
        if (last > 1)
            refused_with(&b, message, "too long");
        else
            CHECK(accepted_with(&b, message));
    }
    for (size_t size = 1; size <= 10; size++) {
        buffer b = start_message(message);
        put_long_varint(&b, 1, size);
        b.bytes[b.size - 1] |= 0x80;
        test_case("message %d: it ends within a tag, after %zu bytes", message, size);
        refused_with(&b, message, size < 5 ? "cut off" : "too long");
    }
}

static void check_lengths(int message)
{
    static const uint64_t lengths[] = {9,
                                       1u << 20,
                                       0x7fffffff,
                                       0x80000000u,
                                       0xffffffffu,
                                       UINT64_C(1) << 32,
                                       UINT64_C(1) << 62,
                                       UINT64_C(1) << 63,
                                       UINT64_MAX - 8,
                                       UINT64_MAX};
    buffer b, file;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        b = start_message(message);
        put_tag(&b, OTHER, BYTES);
        put_varint(&b, lengths[i]);
        put(&b, "abcdefgh", 8);
        test_case("message %d: a field of about 2^%.0f bytes", message, log2((double)lengths[i]));
        refused_with(&b, message, lengths[i] >> 35 ? "too long" : "longer");
    }
    if (message == MODEL)
        return;
    b = start_message(message);
    put_tag(&b, OTHER, BYTES);
    put_varint(&b, 3);
    put(&b, "ab", 2);
    file = with(&b, message);
    put_piece(&file, "after", -1, NORMAL);
    test_case("message %d: a field that goes on after it", message);
    refused(&file, "longer");
}

static void check_known_fields(void)
{
    static const struct {
        int message, field;
        unsigned wire;
    } known[] = {{MODEL, PIECE, BYTES},
                 {MODEL, TRAINER, BYTES},
                 {MODEL, NORMALIZER, BYTES},
                 {MODEL, DENORMALIZER, BYTES},
                 {PIECE, 1, BYTES},
                 {PIECE, 2, FIXED32},
                 {PIECE, 3, VARINT},
                 {TRAINER, MODEL_TYPE, VARINT},
                 {TRAINER, SPACE_AT_END, VARINT},
                 {TRAINER, BYTE_FALLBACK, VARINT},
                 {TRAINER, UNK_SURFACE, BYTES},
                 {TRAINER, BOS_PIECE, BYTES},
                 {TRAINER, EOS_PIECE, BYTES},
                 {TRAINER, PAD_PIECE, BYTES},
                 {NORMALIZER, CHARSMAP, BYTES},
                 {NORMALIZER, DUMMY_PREFIX, VARINT},
                 {NORMALIZER, REMOVE_SPACES, VARINT},
                 {NORMALIZER, ESCAPE_SPACES, VARINT},
                 {DENORMALIZER, CHARSMAP, BYTES},
                 {DENORMALIZER, DUMMY_PREFIX, VARINT}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (unsigned wire = 0; wire < 8; wire++)
            if (wire != known[i].wire) {
                buffer b = start_message(known[i].message);
                put_tag(&b, (uint64_t)known[i].field, wire);
                put(&b, "\0\0\0\0\0\0\0\0", value_size(wire));
                test_case("message %d: field %d with wire type %u", known[i].message, known[i].field, wire);
                refused_with(&b, known[i].message, "wire type");
            }
}

TEST(sentencepiece_protobuf)
{
    buffer b = {0};
    check_prefixes();
    for (int m = 0; m < MESSAGES; m++) {
        check_wire_types(messages[m]);
        check_long_varints(messages[m]);
        check_lengths(messages[m]);
    }
    check_known_fields();
    test_case("fields that nobody reads");
    put_number(&b, 4, 5);
    put_bytes(&b, 4, "skipped", 7);
    put_number(&b, 536870911, 5);
    CHECK(accepted_with(&b, MODEL));
    test_case("a field number that is too large");
    b = (buffer){0};
    put_number(&b, 536870912, 5);
    refused_with(&b, MODEL, "field number");
    test_case("a negative number, as the library writes the id of a piece that there is not");
    b = (buffer){0};
    put_number(&b, 43, UINT64_MAX);
    CHECK(accepted_with(&b, TRAINER));
}

TEST(sentencepiece_fields)
{
    opened o;
    parts p = base_parts();
    buffer file = joined(&p), odd = {0}, more = {0};
    test_case("the last value counts, and messages merge");
    put_number(&odd, DUMMY_PREFIX, 0);
    put_number(&odd, DUMMY_PREFIX, 1);
    put_number(&odd, DUMMY_PREFIX, 0);
    put_bytes(&file, NORMALIZER, odd.bytes, odd.size);
    put_number(&more, REMOVE_SPACES, 0);
    put_bytes(&file, NORMALIZER, more.bytes, more.size);
    if (open_file(&o, &file)) {
        encodes(&o.model, "Ab ", "6:ab 3:_");
        close_model(&o);
    }
    file = joined(&p);
    odd = (buffer){0}, more = (buffer){0};
    put_bytes(&odd, 1, "c", 1);
    put_float(&odd, 2, -9);
    put_bytes(&odd, 1, "a", 1); /* there is one */
    put_bytes(&odd, 1, "d", 1);
    put_float(&odd, 2, -1);
    put_bytes(&file, PIECE, odd.bytes, odd.size);
    put_bytes(&more, 1, "e", 1); /* without a score, without a type */
    put_bytes(&file, PIECE, more.bytes, more.size);
    if (open_file(&o, &file)) {
        encodes(&o.model, "dec", "3:_ 11:d 12:e 0:c");
        CHECK(o.model.pieces[11].score == -1);
        CHECK(o.model.pieces[12].score == 0 && o.model.pieces[12].type == SENTENCEPIECE_NORMAL);
        close_model(&o);
    }
    test_case("any number but 0 is true");
    p.normalizer = (buffer){0};
    put_number(&p.normalizer, DUMMY_PREFIX, 0);
    put_number(&p.normalizer, ESCAPE_SPACES, UINT64_C(1) << 40);
    if (open_parts(&o, &p)) {
        encodes(&o.model, "b a", "5:b 7:_a");
        close_model(&o);
    }
    test_case("spaces that are not escaped");
    put_number(&p.normalizer, ESCAPE_SPACES, 0);
    if (open_parts(&o, &p)) {
        encodes(&o.model, "b a", "5:b 0:  4:a");
        close_model(&o);
    }
    test_case("the space at the end");
    p = base_parts();
    put_number(&p.trainer, SPACE_AT_END, 1);
    if (open_parts(&o, &p)) {
        encodes(&o.model, " b a ", "5:b 7:_a 3:_");
        close_model(&o);
    }
    test_case("what the model is called by");
    p = base_parts();
    if (open_parts(&o, &p)) {
        CHECK(o.model.count == BASE_PIECES && o.model.unk_id == ID_UNK && o.model.bos_id == ID_BOS);
        CHECK(o.model.eos_id == ID_EOS && o.model.pad_id == -1 && o.model.extra_ids == 0);
        CHECK(sentencepiece_id(&o.model, "ab", 2) == ID_AB && sentencepiece_id(&o.model, "ab", 1) == ID_A);
        CHECK(sentencepiece_id(&o.model, "abc", 3) == ID_UNK && sentencepiece_id(&o.model, "", 0) == ID_UNK);
        CHECK(sentencepiece_id(&o.model, "</s>", 4) == ID_EOS && sentencepiece_id(&o.model, "<sym>", 5) == ID_SYMBOL);
        CHECK(sentencepiece_id(&o.model, "b<old>", 6) == ID_OLD);
        o.model.extra_ids = 3;
        CHECK(sentencepiece_id(&o.model, "<extra_id_0>", 12) == BASE_PIECES + 2);
        CHECK(sentencepiece_id(&o.model, "<extra_id_2>", 12) == BASE_PIECES);
        CHECK(sentencepiece_id(&o.model, "<extra_id_3>", 12) == ID_UNK);
        close_model(&o);
    }
}

/* Of symbols of which each begins with the one before, the library sees the first 64. */
TEST(sentencepiece_nested_symbols)
{
    for (size_t count = 63; count <= 64; count++) {
        parts p = base_parts();
        buffer file = joined(&p);
        sentencepiece_tokens tokens;
        char text[80];
        opened o;
        memset(text, 'b', sizeof text);
        for (size_t size = 2; size < 2 + count; size++) {
            text[size] = 0;
            put_piece(&file, text, 0, USER_DEFINED);
            text[size] = 'b';
        }
        strcpy(text + 1 + count, "A"); /* the next, which is also more than the rule A to a */
        put_piece(&file, text, 0, USER_DEFINED);
        test_case("%zu symbols and one more", count);
        if (open_file(&o, &file)) {
            if (CHECK(!sentencepiece_encode(&o.model, text, strlen(text), &tokens)))
                CHECK(tokens.normalized[tokens.normalized_size - 1] == (count < 64 ? 'A' : 'a'));
            sentencepiece_tokens_free(&tokens);
            close_model(&o);
        }
    }
}

/* ---- the charsmap ---- */

static int refused_map(const map *m, const char *word)
{
    parts p = base_parts();
    p.charsmap = charsmap_of(m);
    return refused_parts(&p, word);
}

static void check_rules(uint32_t units)
{
    opened o;
    parts p = base_parts();
    p.charsmap = charsmap_of(new_map(units));
    test_case("%d units", (int)units);
    if (!open_parts(&o, &p))
        return;
    encodes(&o.model, "A", "7:_a");
    encodes(&o.model, "a\tB", "7:_a 3:_ 0:B");
    encodes(&o.model, "bAB\xc2\xad\xef\xac\x81", "3:_ 5:b 5:b 8:fi"); /* the longest rule */
    encodes(&o.model, "b\xef\xac\x82", "3:_ 5:b 0:\xef\xac\x82");     /* no rule, though it begins as one */
    encodes(&o.model, "\xc2\xad", "");
    encodes(&o.model, "A\xef\xac", "7:_a 0:\xef\xbf\xbd\xef\xbf\xbd"); /* a rule cut off */
    close_model(&o);
}

/* Of rules of which each begins with the one before, the library follows the first 32. Here a node is its own child: A,
   AA, AAA and so on without an end become x. */
TEST(sentencepiece_nested_rules)
{
    opened o;
    parts p = base_parts();
    map *m = new_map(UNITS);
    for (uint32_t i = 0; i < UNITS; i++)
        m->units[i] = LEAF;
    m->units[0] = with_offset(256);
    m->units[256 ^ 'A'] = 'A' | 256 | with_offset('A');
    m->strings.size = 0;
    put(&m->strings, "x", 2);
    p.charsmap = charsmap_of(m);
    if (!open_parts(&o, &p))
        return;
    for (size_t size = 31; size <= 129; size += size < 33 ? 1 : 32) {
        char text[256], want[16] = "\xe2\x96\x81";
        sentencepiece_tokens tokens;
        memset(text, 'A', size);
        memset(want + 3, 'x', (size + 31) / 32);
        test_case("%zu letters", size);
        if (CHECK(!sentencepiece_encode(&o.model, text, size, &tokens)))
            CHECK(tokens.normalized_size == strlen(want) && !memcmp(tokens.normalized, want, strlen(want)));
        sentencepiece_tokens_free(&tokens);
    }
    close_model(&o);
}

static void check_headers(uint32_t units)
{
    static const uint32_t wrong[] = {0, 4, 1020, 1025, 1028, 2044, 3072, 0x80000000, 0xfffffc00, 0xffffffff};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parts p = base_parts();
        p.charsmap = charsmap_of(new_map(units));
        for (int k = 0; k < 4; k++)
            p.charsmap.bytes[k] = wrong[i] >> 8 * k & 0xff;
        test_case("a trie of %d units said to take %lu bytes", (int)units, (unsigned long)wrong[i]);
        refused_parts(&p, "the charsmap's trie");
    }
    for (size_t size = 0; size < 5; size++) {
        parts p = base_parts();
        p.charsmap.size = 0;
        put_bytes(&p.normalizer, CHARSMAP, "\0\0\0\0", size);
        test_case("a charsmap of %zu bytes", size);
        if (size == 0)
            accepted_parts(&p);
        else
            refused_parts(&p, size < 4 ? "header" : "trie");
    }
}

static void check_root(void)
{
    map *m = new_map(UNITS);
    uint32_t root = m->units[0];
    test_case("the root's offset: 0");
    m->units[0] = 0;
    refused_map(m, "root");
    for (uint32_t offset = UNITS; offset < 1u << 29; offset <<= 1) { /* in both ways to write it */
        test_case("the root's offset: %lu", (unsigned long)offset);
        m->units[0] = with_offset(offset);
        refused_map(m, "root");
        m->units[0] = offset << 10;
        if (offset < 1u << 21)
            refused_map(m, "root");
    }
    for (int bit = 0; bit < 32; bit += bit == 8 ? 23 : 1) { /* the label, whether it has a value, whether it is one */
        test_case("the root's bit %d", bit);
        m->units[0] = root | UINT32_C(1) << bit;
        refused_map(m, "root");
    }
}

/* Breaks one unit, whether a rule leads to it or none. */
static void check_unit(uint32_t at, int thorough)
{
    static const uint32_t offsets[] = {UNITS, UNITS * 2, UINT32_C(1) << 20, (UINT32_C(1) << 21) - 256};
    map *m = new_map(UNITS);
    parts p = base_parts();
    test_case("unit %d", (int)at);
    for (size_t i = 0; i < (thorough ? 4 : 1); i++) {
        m->units[at] = offsets[i] << 10 | 'x';
        refused_map(m, "the charsmap's trie");
        m->units[at] = with_offset(offsets[i] << 8) | 'x';
        refused_map(m, "the charsmap's trie");
    }
    m->units[at] = LEAF | (uint32_t)m->strings.size;
    refused_map(m, "strings");
    m->units[at] = 0xffffffff;
    refused_map(m, "strings");
    if (!thorough)
        return;
    m->units[at] = LEAF | ((uint32_t)m->strings.size - 1); /* the NUL at the end: an empty string */
    p.charsmap = charsmap_of(m);
    accepted_parts(&p);
    m = new_map(UNITS);
    m->units[at] = (at ^ 300) << 10 | 256 | 'x';
    m->units[300] = 'y';
    refused_map(m, "without its value");
}

static void check_odd_maps(void)
{
    static const char zeros[64];
    parts p = base_parts();
    opened o;
    map *m = new_map(UNITS);
    test_case("no strings");
    m->strings.size = 0;
    refused_map(m, "longer");
    test_case("strings without a NUL at the end");
    m = new_map(UNITS);
    m->strings.size--;
    refused_map(m, "NUL");
    for (size_t size = 255; size <= 256; size++) { /* whatever points at it */
        char *text = test_block(size + 1);
        memset(text, 'x', size);
        text[size] = 0;
        m = new_map(UNITS);
        put(&m->strings, text, size + 1);
        p.charsmap = charsmap_of(m);
        test_case("a string of %zu bytes", size);
        if (size > 255)
            refused_parts(&p, "a string of the charsmap has more than 255 bytes");
        else
            accepted_parts(&p);
    }
    m = new_map(256);
    test_case("a string that is cut off within a character, as the last of a text");
    *(char *)memchr(m->strings.bytes, 'a', m->strings.size) = '\xe2';
    p.charsmap = charsmap_of(m);
    if (open_parts(&o, &p)) {
        encodes(&o.model, "bA", "3:_ 5:b 0:\xe2");
        encodes(&o.model, "bAb",
                "3:_ 5:b 0:\xe2"
                "b");
        close_model(&o);
    }
    m = new_map(256);
    test_case("a root alone");
    for (uint32_t at = 1; at < 256; at++)
        m->units[at] = LEAF;
    p.charsmap = charsmap_of(m);
    if (open_parts(&o, &p)) {
        encodes(&o.model, "A\t", "3:_ 0:A\t");
        close_model(&o);
    }
    for (uint32_t at = 1; at < 256; at++)
        m->units[at] = at ^ 1;
    m->units[0] = 1 << 10;
    p.charsmap = charsmap_of(m);
    if (open_parts(&o, &p)) {
        for (size_t size = 0; size < sizeof zeros; size += 21) {
            sentencepiece_tokens tokens;
            char *copy = exactly(zeros, size);
            test_case("a walk that stays where it is, and ends with the text: %zu NULs", size);
            if (CHECK(sentencepiece_encode(&o.model, copy, size, &tokens) == NULL)) {
                CHECK(tokens.count == (size ? 2 : 0));
                sentencepiece_tokens_free(&tokens);
            }
            free(copy);
        }
        close_model(&o);
    }
}

static void check_denormalizer(void)
{
    parts p = base_parts();
    opened o;
    buffer b = {0}, file = joined(&p);
    test_case("a denormalizer");
    put_bytes(&b, CHARSMAP, "\0\0\0", 3);
    refused_with(&b, DENORMALIZER, "header");
    b = (buffer){0};
    put_bytes(&b, CHARSMAP, p.charsmap.bytes, p.charsmap.size);
    put_number(&b, DUMMY_PREFIX, 0);
    put_number(&b, ESCAPE_SPACES, 0);
    put_bytes(&file, DENORMALIZER, b.bytes, b.size);
    if (open_file(&o, &file)) {
        DECODES(&o.model, "a b", ID_SPACE, ID_SPACE_A, ID_SPACE, ID_SPACE, ID_B, ID_SPACE);
        close_model(&o);
    }
}

TEST(sentencepiece_charsmap)
{
    check_rules(256);
    check_rules(UNITS);
    check_rules(MOST_UNITS);
    check_headers(256);
    check_headers(UNITS);
    check_root();
    for (uint32_t at = 1; at < UNITS; at++)
        check_unit(at, at % 7 == 0);
    check_odd_maps();
    check_denormalizer();
}

/* ---- the pieces ---- */

static int32_t first_id(const sentencepiece *model, const char *text, size_t size)
{
    sentencepiece_tokens tokens;
    int32_t id = -2;
    if (CHECK(sentencepiece_encode(model, text, size, &tokens) == NULL) && CHECK(tokens.count > 0)) {
        id = tokens.ids[0];
        sentencepiece_tokens_free(&tokens);
    }
    return id;
}

static parts with_piece(const void *text, size_t size, float score, int type)
{
    parts p = base_parts();
    put_raw_piece(&p.pieces, text, size, score, type);
    return p;
}

static void check_sizes(void)
{
    static const size_t sizes[] = {512, 513, 790, 100000};
    parts p;
    for (int i = 0; i < 4; i++) {
        size_t size = sizes[i];
        opened o;
        char *text = test_block(size + 1);
        memset(text, 'z', size);
        text[size] = 'b';
        p = with_piece(text, size, -1, NORMAL);
        test_case("a piece of %zu bytes", size);
        if (size > 512) { /* bounds how far a text is looked at again from each of its bytes */
            refused_parts(&p, "more than 512 bytes");
        } else if (open_parts(&o, &p)) {
            o.model.normalizer.add_dummy_prefix = 0;
            CHECK(first_id(&o.model, text, size) == BASE_PIECES);
            CHECK(first_id(&o.model, text, size - 1) == ID_UNK);
            CHECK(first_id(&o.model, text, size + 1) == BASE_PIECES);
            close_model(&o);
        }
    }
    test_case("an empty piece");
    p = with_piece("", 0, 0, NORMAL);
    refused_parts(&p, "empty");
    p = base_parts();
    put_bytes(&p.pieces, PIECE, "", 0);
    refused_parts(&p, "empty");
}

static void check_nuls(int type)
{
    static const sentencepiece_string texts[] = {{"\0x\0", 3}, {"\0x", 2}, {"x\0", 2}, {"\0\0", 2}};
    parts p;
    opened o;
    test_case("pieces with NULs, of type %d", type);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        p = with_piece(texts[i].text, texts[i].size, -1, type);
        refused_parts(&p, "NUL");
    }
    p = with_piece("\0", 1, -1, type);
    if (type != UNUSED) {
        refused_parts(&p, "NUL");
    } else { /* converted models have it, even twice */
        put_raw_piece(&p.pieces, "\0", 1, -1, type);
        if (open_parts(&o, &p)) {
            encodes_bytes(&o.model, "a\0", 2, "7:_a 0:");
            DECODES(&o.model, "a\0", ID_A, BASE_PIECES);
            CHECK(sentencepiece_id(&o.model, "\0", 1) == ID_UNK);
            close_model(&o);
        }
    }
    test_case("a NUL beside byte pieces, of type %d", type); /* whatever they call it, it is no piece */
    p = with_piece("\0", 1, -1000, type);
    put_number(&p.trainer, BYTE_FALLBACK, 1);
    put_byte_pieces(&p.pieces, -1);
    if (open_parts(&o, &p)) {
        encodes_bytes(&o.model, "a\0", 2, "7:_a 12:<0x00>");
        DECODES(&o.model, "a\0b", ID_A, BASE_PIECES, ID_B);
        CHECK(o.model.unknown_score > -1000);
        close_model(&o);
    }
}

static void check_duplicates(void)
{
    static const struct {
        const char *text;
        int type, kept; /* as two pieces: of those that stand for no text, and the others */
    } again[] = {{"ab", NORMAL, 0},     {"ab", USER_DEFINED, 0},    {"ab", UNUSED, 0},   {"b<old>", NORMAL, 0},
                 {"<sym>", NORMAL, 0},  {"<sym>", USER_DEFINED, 0}, {"_a", NORMAL, 0},   {"</s>", CONTROL, 0},
                 {"<unk>", CONTROL, 0}, {"ab", CONTROL, 1},         {"</s>", NORMAL, 1}, {"<unk>", UNUSED, 1}};
    for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
        buffer text = spelled(again[i].text);
        parts p = with_piece(text.bytes, text.size, -1, again[i].type);
        put_byte(&text, 0);
        test_case("a second piece %s, of type %d", again[i].text, again[i].type);
        if (again[i].kept)
            accepted_parts(&p);
        else
            refused_parts(&p, (char *)text.bytes);
    }
}

static void check_kinds(void)
{
    parts p = base_parts();
    test_case("no unknown piece");
    p.pieces = (buffer){0};
    put_piece(&p.pieces, "a", 0, NORMAL);
    refused_parts(&p, "no unknown");
    test_case("two unknown pieces");
    p = with_piece("<other>", 7, 0, UNKNOWN);
    refused_parts(&p, "second unknown");
    test_case("no pieces");
    p.pieces = (buffer){0};
    refused_parts(&p, "no pieces");
    test_case("no pieces that text is cut into");
    put_piece(&p.pieces, "<unk>", 0, UNKNOWN);
    put_piece(&p.pieces, "</s>", 0, CONTROL);
    refused_parts(&p, "no pieces");
    for (int type = -1; type < 8; type++)
        if (type < NORMAL || type > BYTE) {
            test_case("pieces of type %d", type);
            p = with_piece("new", 3, 0, type);
            refused_parts(&p, "type");
        }
    for (int type = 0; type < 6; type++) {
        static const char *const words[] = {"type 0", NULL, NULL, NULL, NULL, "type 5"};
        test_case("a model of type %d", type);
        p = base_parts();
        put_number(&p.trainer, MODEL_TYPE, (uint64_t)type);
        if (words[type])
            refused_parts(&p, words[type]);
        else
            accepted_parts(&p);
    }
}

TEST(sentencepiece_pieces)
{
    static const float odd_scores[] = {NAN, -NAN, INFINITY, -INFINITY};
    static const int types[] = {NORMAL, CONTROL, USER_DEFINED, UNUSED};
    opened o;
    parts p;
    check_sizes();
    for (int t = 0; t < 4; t++)
        check_nuls(types[t]);
    check_duplicates();
    check_kinds();
    for (int i = 0; i < 4; i++)
        for (int t = 0; t < 4; t++) {
            test_case("a score of %g, type %d", (double)odd_scores[i], types[t]);
            p = with_piece("new", 3, odd_scores[i], types[t]);
            refused_parts(&p, "score");
        }
    test_case("pieces of bytes that are no characters");
    p = with_piece("a\xc3", 2, -0.5f, NORMAL);
    put_raw_piece(&p.pieces, "\xa9", 1, -0.5f, NORMAL);
    put_raw_piece(&p.pieces, "\xff", 1, -0.5f, NORMAL);
    if (open_parts(&o, &p)) {
        encodes(&o.model, "ba\xc3\xa9", "3:_ 5:b 4:a 0:\xc3\xa9");
        encodes(&o.model, "a\xa9\xff", "7:_a 0:\xef\xbf\xbd\xef\xbf\xbd");
        close_model(&o);
    }
    p = with_piece("\xe2", 1, 0, USER_DEFINED);
    if (open_parts(&o, &p)) {
        encodes(&o.model, "a\xe2", "7:_a 11:\xe2");
        encodes(&o.model,
                "a\xe2"
                "b",
                "7:_a 0:\xe2"
                "b");
        close_model(&o);
    }
}

/* ---- byte fallback ---- */

static parts byte_parts(int but)
{
    parts p = base_parts();
    put_number(&p.trainer, BYTE_FALLBACK, 1);
    put_byte_pieces(&p.pieces, but);
    return p;
}

TEST(sentencepiece_bytes)
{
    static const char *const names[] = {"<0x1>",  "<0x001>", "<0xab>",  "<0xG0>", "<0x0G>", "0x41",
                                        "<0X41>", "<0x41",   "<0x41>>", "a",      "< x41>", "<0x4 >"};
    opened o;
    parts p = base_parts();
    test_case("byte pieces without byte fallback");
    put_piece(&p.pieces, "<0x00>", 0, BYTE);
    refused_parts(&p, "without byte fallback");
    p = base_parts();
    put_byte_pieces(&p.pieces, -1);
    refused_parts(&p, "without byte fallback");
    test_case("byte fallback without byte pieces");
    p = base_parts();
    put_number(&p.trainer, BYTE_FALLBACK, 1);
    refused_parts(&p, "<0x00>");
    for (int but = 0; but < 256; but += 15) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)but);
        test_case("byte fallback without %s", name);
        p = byte_parts(but);
        refused_parts(&p, name);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        test_case("byte piece %s", names[i]);
        p = byte_parts(-1);
        put_piece(&p.pieces, names[i], 0, BYTE);
        refused_parts(&p, names[i]);
    }
    test_case("a byte piece twice");
    p = byte_parts(-1);
    put_piece(&p.pieces, "<0x41>", 0, BYTE);
    refused_parts(&p, "<0x41>");
    p = byte_parts(-1);
    if (open_parts(&o, &p)) {
        encodes(&o.model,
                "ax\xc3\xa9"
                "b",
                "7:_a 131:<0x78> 206:<0xC3> 180:<0xA9> 5:b");
        encodes_bytes(&o.model, "a\0\xff", 3, "7:_a 11:<0x00> 250:<0xEF> 202:<0xBF> 200:<0xBD>");
        close_model(&o);
    }
    test_case("a piece of letters that spells a byte");
    p = byte_parts(-1);
    put_piece(&p.pieces, "<0x78>", -1, NORMAL);
    if (open_parts(&o, &p)) {
        encodes(&o.model, "ax<0x78>", "7:_a 131:<0x78> 267:<0x78>");
        CHECK(sentencepiece_id(&o.model, "<0x78>", 6) == 131);
        close_model(&o);
    }
    test_case("byte fallback without an unknown piece");
    p.pieces = (buffer){0};
    put_piece(&p.pieces, "a", -1, NORMAL);
    put_byte_pieces(&p.pieces, -1);
    if (open_parts(&o, &p)) {
        CHECK(o.model.unk_id == -1 && sentencepiece_id(&o.model, "b", 1) == -1);
        o.model.normalizer.add_dummy_prefix = 0;
        encodes(&o.model, "axa", "0:a 121:<0x78> 0:a");
        close_model(&o);
    }
}

/* Each piece alone, as the first of a text and later; then a buffer that is too small, and ids that are no pieces. */
TEST(sentencepiece_piece_bytes)
{
    static const struct {
        int32_t id;
        const char *first, *later;
    } cases[] = {{ID_UNK, " \xe2\x81\x87 ", " \xe2\x81\x87 "},
                 {ID_BOS, "", ""},
                 {ID_SPACE, "", " "},
                 {ID_SPACE_A, "a", " a"},
                 {ID_AB, "ab", "ab"},
                 {ID_SYMBOL, "<sym>", "<sym>"},
                 {ID_OLD, "b<old>", "b<old>"},
                 {BASE_PIECES + 0xe2, "\xe2", "\xe2"},
                 {BASE_PIECES + 256, "a b", " a b"},
                 {BASE_PIECES + 257, "", ""},
                 {-1, "", ""}};
    parts p = byte_parts(-1);
    opened o;
    put_piece(&p.pieces, "_a_b", -9, NORMAL);
    if (!open_parts(&o, &p))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int first = 0; first < 2; first++) {
            const char *want = first ? cases[i].first : cases[i].later;
            size_t whole = strlen(want);
            for (size_t size = 0; size <= whole + 1; size++) {
                char *out = exactly("????????", size);
                test_case("piece %d, %s, into %zu bytes", (int)cases[i].id, first ? "first" : "later", size);
                CHECK(sentencepiece_piece_bytes(&o.model, cases[i].id, first, out, size) == whole);
                CHECK(size == 0 || memcmp(out, want, size < whole ? size : whole) == 0);
                CHECK(size <= whole || out[whole] == '?');
                free(out);
            }
        }
    o.model.extra_ids = 3;
    CHECK(sentencepiece_piece_bytes(&o.model, o.model.count, 0, NULL, 0) == 0);
    o.model.normalizer.add_dummy_prefix = o.model.normalizer.remove_extra_whitespaces = 0;
    test_case("no space was put in front");
    CHECK(sentencepiece_piece_bytes(&o.model, ID_SPACE_A, 1, NULL, 0) == 2);
    close_model(&o);
}

TEST(sentencepiece_many_pieces)
{
    double seconds[2] = {0, 0}, used[2] = {0, 0};
    for (int round = 0; round < (test_quick ? 1 : 2); round++) {
        int32_t count = round ? 1000000 : 100000;
        parts p = base_parts();
        opened o;
        clock_t start;
        size_t bytes;
        for (int32_t i = BASE_PIECES; i < count; i++) {
            char text[16];
            int size = snprintf(text, sizeof text, "k%07ld", (long)i * 7919 % 1000003); /* in no order */
            put_raw_piece(&p.pieces, text, (size_t)size, -1, NORMAL);
        }
        test_case("%ld pieces", (long)count);
        start = clock(), bytes = test_memory_state.bytes;
        test_memory_state.peak = bytes;
        if (open_parts(&o, &p)) {
            used[round] = (double)(test_memory_state.peak - bytes);
            CHECK(o.model.count == count);
            for (int32_t id = BASE_PIECES; id < count; id += 997) {
                const sentencepiece_piece *piece = &o.model.pieces[id];
                char text[32];
                snprintf(text, sizeof text, "b%.8s", piece->text.text);
                o.model.normalizer.add_dummy_prefix = 0;
                CHECK(first_id(&o.model, piece->text.text, piece->text.size) == id);
                CHECK(first_id(&o.model, text, 1 + piece->text.size) == ID_B);
                CHECK(sentencepiece_id(&o.model, piece->text.text, piece->text.size) == id);
            }
            close_model(&o);
        }
        seconds[round] = (double)(clock() - start) / (double)CLOCKS_PER_SEC;
        CHECK(used[round] <= 100.0 * count);
        p = base_parts();
        for (int32_t i = 0; i < count; i++)
            put_raw_piece(&p.pieces, "same", 4, -1, NORMAL);
        test_case("%ld pieces, all the same", (long)count);
        refused_parts(&p, "same");
    }
    test_case("ten times as many pieces took %.2f s, not %.2f s", seconds[1], seconds[0]);
    CHECK(seconds[1] <= 50 * (seconds[0] + 0.02));
}

/* 34,000 pieces of 500 bytes, of which none begins as another goes on: a trie of 17 million nodes. */
TEST(sentencepiece_large_trie)
{
    parts p = base_parts();
    char text[500];
    buffer file;
    size_t bytes;
    for (int32_t i = 0; i < 34000; i++) {
        memset(text, 'x', sizeof text);
        snprintf(text, sizeof text, "%05ld", (long)i);
        text[5] = 'x';
        put_raw_piece(&p.pieces, text, sizeof text, -1, USER_DEFINED);
    }
    file = joined(&p);
    test_memory_state.peak = bytes = test_memory_state.bytes;
    refused(&file, "the words make a trie of more than 16777216 nodes");
    CHECK(test_memory_state.peak - bytes < 2 * file.size);
}

/* Whether a text of `count` times U+00AD, with a sentinel behind each or not, is encoded; else it is too large. */
static int grows(const sentencepiece *model, size_t count, int sentinels)
{
    const char *unit = sentinels ? "\xc2\xad<extra_id_0>" : "\xc2\xad", *error;
    size_t size = strlen(unit), i;
    char *text = test_block(count * size);
    sentencepiece_tokens tokens;
    test_case("%zu letters%s", count, sentinels ? " and sentinels" : "");
    for (i = 0; i < count; i++)
        memcpy(text + i * size, unit, size);
    memset(&tokens, 0x5a, sizeof tokens);
    if ((error = sentencepiece_encode(model, text, count * size, &tokens)) == NULL)
        sentencepiece_tokens_free(&tokens);
    else
        CHECK(strcmp(error, "normalising makes the text too large") == 0 && !tokens.count && !tokens.ids &&
              !tokens.normalized);
    return !error;
}

/* A charsmap that writes 200 letters for U+00AD, in a model whose longest piece is of `longest` bytes. */
static void check_growth(size_t longest, size_t growth)
{
    char letters[201], *text = test_block(longest);
    parts p = with_piece("\xc2\xad", 2, -1, NORMAL);
    map *m = new_map(UNITS);
    buffer b = {0}, file;
    int32_t ids[64];
    size_t size, most = (4096 - 3) / (200 - 2 * growth); /* 3: the space in front */
    opened o;
    memset(letters, 'a', 200);
    letters[200] = 0;
    memset(text, 'z', longest);
    put_raw_piece(&p.pieces, text, longest, -1, NORMAL);
    for (uint32_t i = 0; i < m->count; i++) /* the rule of U+00AD, which becomes nothing */
        if (m->units[i] & LEAF && !m->strings.bytes[m->units[i] & ~LEAF] && (m->units[i] & ~LEAF))
            m->units[i] = LEAF | (uint32_t)m->strings.size;
    put(&m->strings, letters, sizeof letters);
    p.charsmap = charsmap_of(m);
    file = joined(&p);
    put_bytes(&b, CHARSMAP, p.charsmap.bytes, p.charsmap.size);
    put_number(&b, DUMMY_PREFIX, 0);
    put_bytes(&file, DENORMALIZER, b.bytes, b.size);
    if (!open_file(&o, &file))
        return;
    CHECK(grows(&o.model, most, 0) && !grows(&o.model, most + 1, 0) && !grows(&o.model, 100000, 0));
    o.model.extra_ids = 1; /* where one stands, nothing begins anew */
    CHECK(grows(&o.model, 20, 1) && grows(&o.model, 200, 1) == (14 * growth >= 212));
    for (size_t i = 0; i <= most; i++)
        ids[i] = BASE_PIECES;
    test_case("a denormalizer");
    CHECK(sentencepiece_decode(&o.model, ids, most, &text, &size) == NULL && size == 200 * most);
    test_free(text);
    CHECK(sentencepiece_decode(&o.model, ids, most + 1, &text, &size) && !text && !size);
    close_model(&o);
}

TEST(sentencepiece_growth)
{
    check_growth(128, 16);
    check_growth(129, 4);
    check_growth(512, 4);
}

/* ---- text ---- */

static void check_utf8(const sentencepiece *model)
{
    static const struct {
        const char *text, *tokens; /* ! is U+FFFD; NULL: valid UTF-8 */
    } texts[] = {{"\xff", "!"},
                 {"\x80", "!"},
                 {"\xc3", "!"},
                 {"\xe2\x96", "!!"},
                 {"\xf0\x9f\x98", "!!!"},
                 {"\xc0\xaf", "!!"},
                 {"\xe0\x80\x80", "!!!"},
                 {"\xed\xa0\x80", "!!!"},
                 {"\xed\xbf\xbf", "!!!"},
                 {"\xf0\x80\x80\x80", "!!!!"},
                 {"\xf4\x90\x80\x80", "!!!!"},
                 {"\xf8\x88\x80\x80\x80", "!!!!!"},
                 {"\xc3"
                  "b",
                  "!b"},
                 {"\xe2\x96"
                  "b",
                  "!!b"},
                 {"\xe2\x28\xa1", "!(!"},
                 {"\xef\xbf\xbd", "!"},
                 {"\xed\x9f\xbf", NULL},
                 {"\xee\x80\x80", NULL},
                 {"\xf4\x8f\xbf\xbf", NULL},
                 {"\xf0\x90\x80\x80", NULL},
                 {"\xc2\x80", NULL},
                 {"\xe0\xa0\x80", NULL},
                 {"\xef\xbf\xbf", NULL},
                 {"\x7f", NULL}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        buffer want = {0};
        char text[32];
        int unknown = 0;
        put(&want, "7:_a", 4);
        for (const char *c = texts[i].tokens; c && *c; c++)
            if (*c == 'b') {
                put(&want, " 5:b", 4);
                unknown = 0;
            } else {
                if (!unknown++)
                    put(&want, " 0:", 3);
                put(&want, *c == '!' ? "\xef\xbf\xbd" : c, *c == '!' ? 3 : 1);
            }
        if (!texts[i].tokens) {
            put(&want, " 0:", 3);
            put(&want, texts[i].text, strlen(texts[i].text));
        }
        put_byte(&want, 0);
        snprintf(text, sizeof text, "a%s", texts[i].text);
        test_case("UTF-8 that may be wrong, number %zu", i);
        encodes_bytes(model, text, strlen(text), (char *)want.bytes);
    }
}

static void check_letters(const sentencepiece *model)
{
    for (int letter = 0; letter < 3; letter++) {
        size_t size = test_quick ? 100000 : 1000000;
        char *text = test_block(size);
        sentencepiece_tokens tokens;
        memset(text, "az "[letter], size);
        test_case("a text of one letter, '%c'", "az "[letter]);
        if (CHECK(sentencepiece_encode(model, text, size, &tokens) == NULL)) {
            CHECK(tokens.count == (letter == 0 ? size : letter == 1 ? 2 : 0));
            for (size_t i = 1; i < tokens.count && letter == 0; i++)
                if (!CHECK(tokens.ids[i] == ID_A))
                    break;
            if (letter == 1)
                CHECK(tokens.ids[1] == ID_UNK && tokens.pieces[1].size == size);
            sentencepiece_tokens_free(&tokens);
        }
    }
}

TEST(sentencepiece_text)
{
    parts p = base_parts();
    opened o;
    if (!open_parts(&o, &p))
        return;
    encodes(&o.model, "", "");
    encodes_bytes(&o.model, NULL, 0, "");
    encodes(&o.model, "ab", "7:_a 5:b");
    encodes(&o.model, "bab", "3:_ 5:b 6:ab");
    test_case("spaces");
    encodes(&o.model, " ", "");
    encodes(&o.model, "    ", "");
    encodes(&o.model, " \t\t ", "");
    encodes(&o.model, "  a \t  a  ", "7:_a 7:_a");
    encodes(&o.model, " \xc2\xad a", "7:_a"); /* nothing between spaces */
    encodes(&o.model, "a \xc2\xad a", "7:_a 7:_a");
    encodes(&o.model, "\xe2\x96\x81", ""); /* the space's own sign is no space, but one that ends the text */
    encodes(&o.model,
            "\xe2\x96\x81\xe2\x96\x81"
            "a\xe2\x96\x81",
            "3:_ 3:_ 7:_a");
    encodes(&o.model,
            "a\xe2\x96\x81 \xe2\x96\x81"
            "a",
            "7:_a 3:_ 3:_ 7:_a");
    test_case("NULs");
    encodes_bytes(&o.model, "\0", 1, "3:_ 0:");
    encodes_bytes(&o.model, "a\0\0b", 4, "7:_a 0:");
    {
        sentencepiece_tokens tokens;
        if (CHECK(sentencepiece_encode(&o.model, "a\0\0b", 4, &tokens) == NULL)) {
            CHECK(tokens.count == 3 && tokens.ids[1] == ID_UNK && tokens.ids[2] == ID_B);
            CHECK(tokens.pieces[1].size == 2 && memcmp(tokens.pieces[1].text, "\0\0", 2) == 0);
            CHECK(tokens.normalized_size == 7 && memcmp(tokens.normalized,
                                                        "\xe2\x96\x81"
                                                        "a\0\0b",
                                                        7) == 0);
            sentencepiece_tokens_free(&tokens);
        }
    }
    test_case("user-defined symbols");
    encodes(&o.model, "<sym>", "3:_ 9:<sym>");
    encodes(&o.model, "a<sym><sym>b", "7:_a 9:<sym> 9:<sym> 5:b");
    encodes(&o.model, "<sym", "3:_ 0:<sym");
    encodes(&o.model, "<<sym>>", "3:_ 0:< 9:<sym> 0:>");
    encodes(&o.model, "b<old>", "3:_ 5:b 0:<old>");
    encodes(&o.model, "<s></s><unk>", "3:_ 0:<s></s><unk>");
    encodes(&o.model, "<extra_id_0>", "3:_ 0:<extr 4:a 0:_id_0>");
    check_utf8(&o.model);
    check_letters(&o.model);
    test_case("sentinels");
    o.model.extra_ids = 100;
    encodes(&o.model, "<extra_id_0>", "110:<extra_id_0>");
    encodes(&o.model, "b <extra_id_99>a", "3:_ 5:b 11:<extra_id_99> 7:_a");
    encodes(&o.model, "<extra_id_1><extra_id_10>", "109:<extra_id_1> 100:<extra_id_10>");
    encodes(&o.model, "<extra_id_100>", "3:_ 0:<extr 4:a 0:_id_100>");
    encodes(&o.model, "<extra_id_>", "3:_ 0:<extr 4:a 0:_id_>");
    encodes(&o.model, "<extra_id_1", "3:_ 0:<extr 4:a 0:_id_1");
    encodes(&o.model, "<extra_id_01>", "3:_ 0:<extr 4:a 0:_id_01>");
    encodes(&o.model, "<extra_id_4294967296>", "3:_ 0:<extr 4:a 0:_id_4294967296>");
    encodes(&o.model, "<extra_id_18446744073709551616>", "3:_ 0:<extr 4:a 0:_id_18446744073709551616>");
    encodes(&o.model, "<extra_id_-1>", "3:_ 0:<extr 4:a 0:_id_-1>");
    close_model(&o);
}

/* ---- scores ---- */

typedef struct scored {
    struct {
        const char *text;
        float score;
        int type;
    } pieces[10]; /* ids 1 and up, after <unk> */
    const char *text, *tokens;
} scored;

static int open_scored(opened *o, int kind, const scored *s)
{
    parts p = {{0}, {0}, {0}, {0}};
    put_number(&p.trainer, MODEL_TYPE, (uint64_t)kind);
    put_number(&p.normalizer, DUMMY_PREFIX, 0);
    put_number(&p.normalizer, REMOVE_SPACES, 0);
    put_piece(&p.pieces, "<unk>", -100, UNKNOWN);
    for (int i = 0; i < 10 && s->pieces[i].text; i++)
        put_piece(&p.pieces, s->pieces[i].text, s->pieces[i].score, s->pieces[i].type);
    return open_parts(o, &p);
}

#define A_B_AB(a, b, ab)                                                                                               \
    {                                                                                                                  \
        {"a", a, NORMAL}, {"b", b, NORMAL},                                                                            \
        {                                                                                                              \
            "ab", ab, NORMAL                                                                                           \
        }                                                                                                              \
    }
#define AB_BC(ab, bc)                                                                                                  \
    {                                                                                                                  \
        {"ab", ab, NORMAL},                                                                                            \
        {                                                                                                              \
            "bc", bc, NORMAL                                                                                           \
        }                                                                                                              \
    }
#define OTHERS                                                                                                         \
    {"<u>", -50, USER_DEFINED}, {"<c>", -50, CONTROL},                                                                 \
    {                                                                                                                  \
        "x", -50, UNUSED                                                                                               \
    }

static const scored scores[] = {
    /* a tie: of two ways to the same place, the one whose last piece begins first was there first */
    {A_B_AB(-1, -1, -2), "ab", "3:ab"},
    {A_B_AB(-1, -1, -2), "abab", "3:ab 3:ab"},
    {A_B_AB(-1, -1, -2), "ba", "2:b 1:a"},
    {A_B_AB(-1, -0.5f, -2), "ab", "1:a 2:b"},
    {A_B_AB(-1, -1.5f, -2), "ab", "3:ab"},
    /* an unknown letter costs 11: an unknown a and bc, or ab and an unknown c, is a tie */
    {AB_BC(-1, -1), "abc", "0:a 2:bc"},
    {AB_BC(-1, -1), "aabcc", "0:aa 2:bc 0:c"},
    {AB_BC(-1, -1), "xyabz", "0:xy 1:ab 0:z"},
    {AB_BC(-0.5f, -1), "abc", "1:ab 0:c"},
    {AB_BC(-1, -0.5f), "abc", "0:a 2:bc"},
    /* 10 less than the least score of a piece for text, whatever <unk> and others have: twice 13 beside b's 23 */
    {{{"abc", -3, NORMAL}, {"b", 23, NORMAL}, OTHERS}, "abc", "1:abc"},
    {{{"abc", -3, NORMAL}, {"b", 23.5f, NORMAL}, OTHERS}, "abc", "0:a 2:b 0:c"},
    {{{"abc", -3, NORMAL}, {"b", 22.5f, NORMAL}, OTHERS}, "abc", "1:abc"},
    /* a user-defined symbol has 0.1 for each byte after its first, whatever its score */
    {{{"aa", -50, USER_DEFINED}, {"aaa", -50, USER_DEFINED}, {"a", -1, NORMAL}}, "aaa", "2:aaa"},
    {{{"aa", -50, USER_DEFINED}, {"aaa", -50, USER_DEFINED}, {"a", -1, NORMAL}}, "aaaa", "1:aa 1:aa"},
    {{{"aa", -50, USER_DEFINED}, {"aaa", -50, USER_DEFINED}, {"a", -1, NORMAL}}, "aaaaa", "1:aa 2:aaa"},
    {{{"ab", -1, USER_DEFINED}, {"a", 0.0625f, NORMAL}, {"b", 0.03125f, NORMAL}}, "ab", "1:ab"},
    {{{"ab", -1, USER_DEFINED}, {"a", 0.0625f, NORMAL}, {"b", 0.0625f, NORMAL}}, "ab", "2:a 3:b"},
    {{{"_b", -1, USER_DEFINED}, {"_", 0.25f, NORMAL}, {"b", 0.03125f, NORMAL}},
     "\xe2\x96\x81"
     "b",
     "1:_b"}, /* 0.3 */
    /* pieces out of use leave their letters to others, and to the unknown piece */
    {{{"ab", 9, UNUSED}, {"a", -1, NORMAL}, {"b", -1, NORMAL}, {"c", 9, UNUSED}}, "abc", "2:a 3:b 0:c"},
    {{{"ab", 9, CONTROL}, {"a", -1, NORMAL}, {"b", -1, NORMAL}}, "ab", "2:a 3:b"},
    /* sums are floats: 2^16 + 2^-9 is 2^16; beyond 100,000 they begin at 0 again */
    {A_B_AB(65536, 0.001953125f, 65536), "ab", "3:ab"},
    {A_B_AB(131072, 0.001953125f, 131072), "ab", "1:a 2:b"},
    {A_B_AB(-131072, 0.001953125f, -131072), "ab", "1:a 2:b"}};

static void check_extreme_scores(float least, float most)
{
    const scored s = {{{"a", least, NORMAL}, {"b", -1, NORMAL}, {"aa", most, NORMAL}, {"ab", least, NORMAL}}, "", ""};
    opened o;
    char text[300];
    sentencepiece_tokens tokens;
    test_case("scores from %g to %g", (double)least, (double)most);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "aabac"[test_below(5)];
    if (!open_scored(&o, UNIGRAM, &s))
        return;
    if (CHECK(sentencepiece_encode(&o.model, text, sizeof text, &tokens) == NULL)) {
        size_t size = 0;
        for (size_t i = 0; i < tokens.count; i++) {
            CHECK(memcmp(tokens.pieces[i].text, text + size, tokens.pieces[i].size) == 0);
            size += tokens.pieces[i].size;
        }
        CHECK(size == sizeof text && tokens.normalized_size == size);
        sentencepiece_tokens_free(&tokens);
    }
    close_model(&o);
}

static void check_scored(int kind, const scored *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        opened o;
        test_case("case %zu", i);
        if (open_scored(&o, kind, &cases[i])) {
            encodes(&o.model, cases[i].text, cases[i].tokens);
            close_model(&o);
        }
    }
}

TEST(sentencepiece_scores)
{
    check_scored(UNIGRAM, scores, sizeof scores / sizeof *scores);
    check_extreme_scores(-FLT_MAX, -FLT_MAX);
    check_extreme_scores(FLT_MAX, FLT_MAX);
    check_extreme_scores(-FLT_MAX, FLT_MAX);
}

/* ---- BPE, words, characters ---- */

#define LETTERS(a, b, c)                                                                                               \
    {"a", a, NORMAL}, {"b", b, NORMAL},                                                                                \
    {                                                                                                                  \
        "c", c, NORMAL                                                                                                 \
    }

/* clang-format off */
static const scored merges[] = {
    /* the highest score first, of equals the left one; scores of letters do not matter */
    {{LETTERS(9, 9, 9), {"ab", -1, NORMAL}, {"bc", -2, NORMAL}}, "abc", "4:ab 3:c"},
    {{LETTERS(-9, 9, 0), {"ab", -2, NORMAL}, {"bc", -1, NORMAL}}, "abc", "1:a 5:bc"},
    {{LETTERS(0, 0, 0), {"ab", -1, NORMAL}, {"bc", -1, NORMAL}}, "abcbab", "4:ab 3:c 2:b 4:ab"},
    {{LETTERS(0, 0, 0), {"aa", -1, NORMAL}}, "aaaaa", "4:aa 4:aa 1:a"},
    {{LETTERS(0, 0, 0), {"ab", 1, NORMAL}, {"bc", 2, NORMAL}}, "abc", "1:a 5:bc"},
    {{LETTERS(0, 0, 0), {"ab", -1, NORMAL}, {"bc", 1, NORMAL}}, "abc", "1:a 5:bc"},
    {{LETTERS(0, 0, 0), {"ab", -0.0f, NORMAL}, {"bc", 0, NORMAL}}, "abc", "1:a 5:bc"},
    {{LETTERS(0, 0, 0), {"ab", 0, NORMAL}, {"bc", -0.0f, NORMAL}}, "abc", "4:ab 3:c"},
    {{LETTERS(0, 0, 0), {"ab", -FLT_MAX, NORMAL}, {"bc", FLT_MAX, NORMAL}}, "abc", "1:a 5:bc"},
    /* what was merged is merged again, with what is left of it and what is right of it */
    {{LETTERS(0, 0, 0), {"ab", -1, NORMAL}, {"abc", -5, NORMAL}, {"cab", -4, NORMAL}, {"cabc", -9, NORMAL}}, "cabcabc",
     "6:cab 7:cabc"},
    {{LETTERS(0, 0, 0), {"aa", -3, NORMAL}, {"aaaa", -1, NORMAL}, {"aaa", -2, NORMAL}}, "aaaaaaa", "5:aaaa 6:aaa"},
    /* a longer piece is of no use when no merge leads to it */
    {{LETTERS(0, 0, 0), {"abc", -1, NORMAL}}, "abc", "1:a 2:b 3:c"},
    /* a letter that is no piece can become part of one; unknown ones in a row are one */
    {{{"a", 0, NORMAL}, {"xy", -1, NORMAL}}, "axyyxxz", "1:a 2:xy 0:yxxz"},
    /* user-defined symbols are whole, the longest first, and no merge takes them in */
    {{LETTERS(0, 0, 0), {"ab", -9, USER_DEFINED}, {"abc", 9, NORMAL}, {"cab", 9, NORMAL}, {"bb", 9, NORMAL}}, "cabcabbc",
     "3:c 4:ab 3:c 4:ab 2:b 3:c"},
    {{LETTERS(0, 0, 0), {"ab", 0, USER_DEFINED}, {"abcb", 0, USER_DEFINED}, {"bc", 0, USER_DEFINED}}, "abcabcbc",
     "4:ab 3:c 5:abcb 3:c"},
    /* control pieces are not in text */
    {{LETTERS(0, 0, 0), {"ab", 9, CONTROL}, {"abc", 9, NORMAL}, {"bc", -9, NORMAL}, {"x", 9, CONTROL}}, "abcx",
     "5:abc 0:x"},
    /* unused pieces are merged, and at the end split as they were made; alone they are unknown */
    {{LETTERS(0, 0, 0), {"ab", -1, UNUSED}, {"abc", -2, UNUSED}, {"bc", -3, NORMAL}}, "abcbc", "1:a 2:b 3:c 6:bc"},
    {{LETTERS(0, 0, 0), {"ab", -1, UNUSED}, {"abc", -2, NORMAL}, {"bc", 5, UNUSED}}, "abab", "1:a 2:b 1:a 2:b"},
    {{LETTERS(0, 0, 0), {"ab", -1, UNUSED}, {"abc", -2, NORMAL}}, "abcab", "5:abc 1:a 2:b"},
    {{LETTERS(0, 0, 0), {"x", 9, UNUSED}, {"xx", -1, UNUSED}, {"ax", -1, UNUSED}}, "axxxb", "1:a 0:xxx 2:b"}};

static const scored words[] = {
    {{{"a", 0, NORMAL}, {"_a", 0, NORMAL}, {"ab", 0, USER_DEFINED}, {"_b", 0, UNUSED}, {"_c", 0, CONTROL},
      {"_", 0, NORMAL}}, "a a  ab b c a", "1:a 2:_a 6:_ 0:_ab_b_c 2:_a"},
    {{{"ab", 0, NORMAL}, {"a", 0, NORMAL}}, "ab", "1:ab"},
    {{{"_", 0, NORMAL}, {"a", 0, NORMAL}}, "   ", "1:_ 1:_ 1:_"}};

static const scored characters[] = {
    {{LETTERS(0, 0, 0), {"ab", 9, NORMAL}, {"bc", -9, USER_DEFINED}, {"x", 0, UNUSED}, {"y", 0, CONTROL}},
     "abcabxyzc", "1:a 5:bc 1:a 2:b 0:xyz 3:c"},
    {{{"_", 0, NORMAL}, {"a", 0, NORMAL}}, "a  a", "2:a 1:_ 1:_ 2:a"}};
/* clang-format on */

/* An unused piece is split, and its parts, and so on a hundred times; then what is left stays, unused as it is. */
static void check_deep_splits(void)
{
    enum { DEEPEST = 101 };
    parts p = {{0}, {0}, {0}, {0}};
    char text[DEEPEST + 30];
    opened o;
    put_number(&p.trainer, MODEL_TYPE, BPE);
    put_number(&p.normalizer, DUMMY_PREFIX, 0);
    put_piece(&p.pieces, "<unk>", 0, UNKNOWN);
    memset(text, 'a', sizeof text);
    for (size_t size = 1; size <= sizeof text; size++) /* the id is the size; each is made from the one before and a */
        put_raw_piece(&p.pieces, text, size, (float)size, size == 1 ? NORMAL : UNUSED);
    if (!open_parts(&o, &p))
        return;
    for (size_t size = DEEPEST - 1; size <= sizeof text; size++) {
        size_t rest = size > DEEPEST ? size - DEEPEST : 1;
        sentencepiece_tokens tokens;
        test_case("an unused piece of %zu letters", size);
        if (!CHECK(sentencepiece_encode(&o.model, text, size, &tokens) == NULL))
            continue;
        CHECK(tokens.count == size - rest + 1);
        for (size_t i = 0; i < tokens.count; i++)
            CHECK(tokens.ids[i] == (i ? 1 : (int32_t)rest) && tokens.pieces[i].size == (i ? 1 : rest));
        sentencepiece_tokens_free(&tokens);
    }
    close_model(&o);
}

/* Bytes of what is unknown, for each kind of model. */
static void check_fallback(void)
{
    static const char *const want[] = {"6:ab 206:<0xC3> 180:<0xA9> 131:<0x78>", "6:ab 206:<0xC3> 180:<0xA9> 131:<0x78>",
                                       "108:<0x61> 109:<0x62> 206:<0xC3> 180:<0xA9> 131:<0x78>",
                                       "4:a 5:b 206:<0xC3> 180:<0xA9> 131:<0x78>"};
    for (int kind = UNIGRAM; kind <= CHARACTER; kind++) {
        parts p = byte_parts(-1);
        opened o;
        put_number(&p.trainer, MODEL_TYPE, (uint64_t)kind);
        put_number(&p.normalizer, DUMMY_PREFIX, 0);
        put_piece(&p.pieces, "x", 0, UNUSED);
        put_piece(&p.pieces, "ab\xc3\xa9x", 0, CONTROL);
        if (open_parts(&o, &p)) {
            test_case("a model of type %d", kind);
            CHECK((int)o.model.kind == kind);
            encodes(&o.model, "ab\xc3\xa9x", want[kind - 1]);
            close_model(&o);
        }
    }
}

TEST(sentencepiece_merges)
{
    check_scored(BPE, merges, sizeof merges / sizeof *merges);
    check_deep_splits();
    check_fallback();
}

TEST(sentencepiece_words_and_characters)
{
    check_scored(WORD, words, sizeof words / sizeof *words);
    check_scored(CHARACTER, characters, sizeof characters / sizeof *characters);
}

/* The hash of a piece's bytes, as text.h has it. */
static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

/* Pieces whose hashes are all but the same: more than are looked at where one hash leads. */
TEST(sentencepiece_crowded_hashes)
{
    enum { COUNT = 300, MASK = 1023 };
    parts p = {{0}, {0}, {0}, {0}};
    char text[COUNT][16], unlisted[16] = "";
    int32_t listed = 0;
    opened o;
    put_number(&p.trainer, MODEL_TYPE, CHARACTER);
    put_number(&p.normalizer, DUMMY_PREFIX, 0);
    put_piece(&p.pieces, "<unk>", 0, UNKNOWN);
    for (int found = 0, n = 0; found <= COUNT; n++) {
        char *next = found < COUNT ? text[found] : unlisted;
        snprintf(next, sizeof unlisted, "k%d", n);
        if ((hash_of(next) & MASK) != 7)
            continue;
        if (found++ < COUNT)
            put_piece(&p.pieces, next, 0, USER_DEFINED);
    }
    if (!open_parts(&o, &p))
        return;
    for (int i = 0; i <= MASK; i++)
        listed += o.model.hashed.ids[i] >= 0;
    test_case("%d of %d pieces are where their hash says", (int)listed, (int)COUNT);
    CHECK(o.model.hashed.mask == MASK && listed > 0 && listed < COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK(first_id(&o.model, text[i], strlen(text[i])) == 1 + i);
    CHECK(first_id(&o.model, unlisted, strlen(unlisted)) == o.model.unk_id);
    close_model(&o);
}

/* Long texts under BPE: merges of equals in pairs, merges that each wait for the one before, and none. Ten times the
   text takes about ten times as long. */
TEST(sentencepiece_long_merges)
{
    static const char *const units[] = {"a", "abbbbbbb", "z", "ab"};
    parts p = {{0}, {0}, {0}, {0}};
    char piece[128];
    opened o;
    put_number(&p.trainer, MODEL_TYPE, BPE);
    put_number(&p.normalizer, DUMMY_PREFIX, 0);
    put_piece(&p.pieces, "<unk>", 0, UNKNOWN);
    memset(piece, 'a', sizeof piece);
    for (size_t size = 1; size <= 128; size *= 2)
        put_raw_piece(&p.pieces, piece, size, -1, NORMAL);
    memset(piece + 1, 'b', sizeof piece - 1);
    for (size_t size = 2; size <= 8; size++)
        put_raw_piece(&p.pieces, piece, size, (float)size, NORMAL);
    if (!open_parts(&o, &p))
        return;
    for (size_t n = 0; n < sizeof units / sizeof *units; n++) {
        static const size_t counts[] = {128, 8, SIZE_MAX, 2}; /* letters of a token; SIZE_MAX: one, unknown */
        double seconds[2] = {0, 0};
        for (int round = 0; round < (test_quick ? 1 : 2); round++) {
            size_t size = round ? 409600 : 40960, unit = strlen(units[n]);
            char *text = test_block(size);
            sentencepiece_tokens tokens;
            clock_t begin = clock();
            for (size_t i = 0; i < size; i++)
                text[i] = units[n][i % unit];
            test_case("%zu letters of \"%s\"", size, units[n]);
            if (CHECK(sentencepiece_encode(&o.model, text, size, &tokens) == NULL)) {
                size_t letters = counts[n] < size ? counts[n] : size;
                CHECK(tokens.count == size / letters);
                for (size_t i = 0; i < tokens.count; i++)
                    if (!CHECK(tokens.pieces[i].size == letters && tokens.ids[i] == tokens.ids[0]))
                        break;
                sentencepiece_tokens_free(&tokens);
            }
            seconds[round] = (double)(clock() - begin) / (double)CLOCKS_PER_SEC;
        }
        test_case("ten times as many letters of \"%s\" took %.2f s, not %.2f s", units[n], seconds[1], seconds[0]);
        CHECK(seconds[1] <= 50 * (seconds[0] + 0.02));
    }
    close_model(&o);
}

/* ---- back to text ---- */

TEST(sentencepiece_decode_ids)
{
    parts p = base_parts();
    opened o;
    int32_t first_byte = BASE_PIECES;
    static const int32_t extras[] = {0, 3, 100};
    put_number(&p.trainer, BYTE_FALLBACK, 1);
    put_byte_pieces(&p.pieces, -1);
    if (!open_parts(&o, &p))
        return;
    for (size_t i = 0; i < 3; i++) {
        int32_t wrong[] = {-1, -2, o.model.count + extras[i], INT32_MIN, INT32_MAX, o.model.count + extras[i] + 1};
        o.model.extra_ids = extras[i];
        for (size_t k = 0; k < 3 * sizeof wrong / sizeof *wrong; k++) {
            long live = test_memory_state.live;
            int32_t ids[3] = {ID_A, ID_A, ID_A};
            char *text = NULL;
            size_t size = 7;
            const char *error;
            ids[k % 3] = wrong[k / 3];
            test_case("%d sentinels, ids %d %d %d", (int)extras[i], (int)ids[0], (int)ids[1], (int)ids[2]);
            error = sentencepiece_decode(&o.model, ids, 3, &text, &size);
            CHECK(error && strstr(error, "id") && !text && test_memory_state.live == live);
        }
    }
    o.model.extra_ids = 3;
    test_case("no ids");
    decodes_to(&o.model, NULL, 0, "", 0);
    test_case("spaces and pieces without text");
    DECODES(&o.model, "a", ID_SPACE_A);
    DECODES(&o.model, "", ID_SPACE);
    DECODES(&o.model, "", ID_BOS, ID_EOS);
    DECODES(&o.model, "ab a", ID_BOS, ID_SPACE_A, ID_B, ID_EOS, ID_SPACE_A);
    DECODES(&o.model, "a  ", ID_SPACE, ID_SPACE_A, ID_SPACE, ID_SPACE);
    DECODES(&o.model, "b<old><sym>fi", ID_OLD, ID_SYMBOL, ID_FI);
    test_case("the unknown piece");
    DECODES(&o.model, " \xe2\x81\x87 ", ID_UNK);
    DECODES(&o.model, "a \xe2\x81\x87  \xe2\x81\x87 b", ID_SPACE_A, ID_UNK, ID_UNK, ID_B);
    test_case("bytes");
#define BYTE_ID(byte) (first_byte + (byte))
    DECODES(&o.model, "A", BYTE_ID('A'));
    DECODES(&o.model, "\xc3\xa9", BYTE_ID(0xc3), BYTE_ID(0xa9));
    DECODES(&o.model,
            "b\xf0\x9f\x98\x80"
            "b",
            ID_B, BYTE_ID(0xf0), BYTE_ID(0x9f), BYTE_ID(0x98), BYTE_ID(0x80), ID_B);
    DECODES(&o.model, "\0a", BYTE_ID(0), ID_A);
    DECODES(&o.model, "\xef\xbf\xbd", BYTE_ID(0xc3));
    DECODES(&o.model,
            "\xef\xbf\xbd"
            "A",
            BYTE_ID(0xc3), BYTE_ID('A'));
    DECODES(&o.model, "\xef\xbf\xbd\xef\xbf\xbd", BYTE_ID(0xe2), BYTE_ID(0x96));
    DECODES(&o.model,
            "\xef\xbf\xbd"
            "a\xef\xbf\xbd",
            BYTE_ID(0xc3), ID_A, BYTE_ID(0xa9));                                         /* a piece comes between */
    DECODES(&o.model, "\xef\xbf\xbd\xef\xbf\xbd", BYTE_ID(0xc3), ID_EOS, BYTE_ID(0xa9)); /* also one without text */
    DECODES(&o.model, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", BYTE_ID(0xed), BYTE_ID(0xa0), BYTE_ID(0x80));
    DECODES(&o.model, "\xe2\x96\x81", BYTE_ID(0xe2), BYTE_ID(0x96), BYTE_ID(0x81)); /* no space: not a piece */
    DECODES(&o.model, "A a", BYTE_ID('A'), ID_SPACE_A);
    test_case("sentinels");
    DECODES(&o.model, "<extra_id_0>", o.model.count + 2);
    DECODES(&o.model, "<extra_id_2>", o.model.count);
    DECODES(&o.model, "a <extra_id_1> a", ID_SPACE_A, o.model.count + 1, ID_SPACE_A);
    close_model(&o);
    test_case("another text for the unknown piece");
    p = base_parts();
    put_bytes(&p.trainer, UNK_SURFACE, "?", 1);
    if (open_parts(&o, &p)) {
        DECODES(&o.model, "a?", ID_SPACE_A, ID_UNK);
        close_model(&o);
    }
    put_bytes(&p.trainer, UNK_SURFACE, "", 0);
    if (open_parts(&o, &p)) {
        DECODES(&o.model, "ab", ID_SPACE_A, ID_UNK, ID_B);
        close_model(&o);
    }
    test_case("spaces that are kept");
    p = base_parts();
    put_number(&p.normalizer, REMOVE_SPACES, 0);
    if (open_parts(&o, &p)) {
        DECODES(&o.model, " a", ID_SPACE, ID_SPACE_A);
        DECODES(&o.model, "a", ID_BOS, ID_SPACE_A);
        close_model(&o);
    }
    put_number(&p.normalizer, DUMMY_PREFIX, 0);
    if (open_parts(&o, &p)) {
        DECODES(&o.model, "  a", ID_SPACE, ID_SPACE_A);
        close_model(&o);
    }
}

/* ---- no memory ---- */

static const char *fail_nth(long n, const char *(*call)(opened *o), opened *o)
{
    const char *error;
    test_memory_state.fail_at = n;
    error = call(o);
    if (!error && test_memory_state.fail_at)
        error = "reached"; /* there is no nth allocation */
    test_memory_state.fail_at = 0;
    return error;
}

static const char *call_parse(opened *o)
{
    parts p = base_parts();
    buffer file;
    const char *error;
    put_number(&p.trainer, BYTE_FALLBACK, 1);
    put_byte_pieces(&p.pieces, -1);
    file = joined(&p);
    error = open_bytes(o, file.bytes, file.size);
    if (!error)
        close_model(o);
    return error;
}

static const char *call_encode(opened *o)
{
    static const char text[] = "<extra_id_0> a\xef\xac\x81<sym>ab\xff<extra_id_1>abab abab abab abab ABABABABABABABAB";
    sentencepiece_tokens tokens;
    const char *error;
    memset(&tokens, 0x5a, sizeof tokens);
    error = sentencepiece_encode(&o->model, text, sizeof text, &tokens);
    if (!error)
        sentencepiece_tokens_free(&tokens);
    else
        CHECK(tokens.count == 0 && !tokens.ids && !tokens.pieces && !tokens.normalized);
    return error;
}

static const char *call_decode(opened *o)
{
    int32_t ids[64];
    char *text = (char *)&text;
    size_t size;
    const char *error;
    for (int i = 0; i < 64; i++)
        ids[i] = i % (o->model.count + o->model.extra_ids);
    error = sentencepiece_decode(&o->model, ids, 64, &text, &size);
    if (!error)
        test_free(text);
    else
        CHECK(!text);
    return error;
}

static const char *call_parse_bpe(opened *o)
{
    parts p = base_parts();
    buffer file;
    const char *error;
    put_number(&p.trainer, MODEL_TYPE, BPE);
    file = joined(&p);
    error = open_bytes(o, file.bytes, file.size);
    if (!error)
        close_model(o);
    return error;
}

static void check_no_memory(int kind)
{
    static const struct {
        const char *name, *(*call)(opened *o);
    } calls[] = {
        {"parse", call_parse}, {"parse BPE", call_parse_bpe}, {"encode", call_encode}, {"decode", call_decode}};
    parts p = base_parts();
    opened o;
    buffer file, b = {0};
    put_number(&p.trainer, MODEL_TYPE, (uint64_t)kind);
    put_piece(&p.pieces, "aba", -1, UNUSED); /* merged, and split again */
    put_piece(&p.pieces, "ba", -1, UNUSED);
    file = joined(&p);
    put_bytes(&b, CHARSMAP, p.charsmap.bytes, p.charsmap.size);
    put_bytes(&file, DENORMALIZER, b.bytes, b.size);
    if (!open_file(&o, &file))
        return;
    o.model.extra_ids = 2;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        long live = test_memory_state.live, n;
        for (n = 1; n < 100; n++) {
            opened other;
            const char *error = fail_nth(n, calls[i].call, i > 1 ? &o : &other);
            test_case("%s, a model of type %d: allocation %ld fails", calls[i].name, kind, n);
            CHECK(test_memory_state.live == live);
            if (error && strcmp(error, "reached") == 0)
                break;
            CHECK(error && strstr(error, "no memory"));
        }
        CHECK(n > 1 && n < 100);
    }
    close_model(&o);
}

TEST(sentencepiece_no_memory)
{
    for (int kind = UNIGRAM; kind <= CHARACTER; kind++)
        check_no_memory(kind);
}

/* ---- files ---- */

TEST(sentencepiece_open_files)
{
    static const char *const paths[] = {"tests/there is no such model", "tests", "/dev/null", "/dev/zero", ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        sentencepiece model;
        const char *error;
        FILE *file = i < 2 ? NULL : fopen(paths[i], "rb");
        if (i == 2 || i == 3) {
            if (!file)
                continue;
            fclose(file);
        }
        test_case("\"%s\"", paths[i]);
        memset(&model, 0x5a, sizeof model);
        error = sentencepiece_open(&model, paths[i]);
        CHECK(error && strncmp(error, paths[i], strlen(paths[i])) == 0 &&
              strncmp(error + strlen(paths[i]), ": ", 2) == 0);
    }
}
