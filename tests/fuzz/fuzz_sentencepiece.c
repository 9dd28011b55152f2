/* Fuzz target: SentencePiece models. The input is a byte that says how the model is made, one that says how long the
   text at the end is, the model's bytes and the text:

       0  the model
       1  fields that come after those of a model with a charsmap
       2  changes to the bytes of that model: two bytes of where, one of what
       3  fields that come after those of a model with byte fallback

   and 4 more for 3 sentinels. How to run: fuzz.h. */
#include "tokens.h"

static unsigned char base[8192]; /* the model; the one with byte fallback goes on where it ends */
static size_t base_size, bytes_size;

static void put(const void *bytes, size_t size)
{
    MUST(size <= sizeof base - bytes_size);
    memcpy(base + bytes_size, bytes, size);
    bytes_size += size;
}

static void put_piece(const char *text, int score, int type)
{
    unsigned char head[] = {10, 0, 10, 0}, tail[] = {0x15, 0, 0, 0, 0, 0x18, 0};
    float f = (float)score;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    head[3] = (unsigned char)strlen(text);
    head[1] = (unsigned char)(head[3] + 2 + sizeof tail);
    for (int i = 0; i < 4; i++)
        tail[1 + i] = (unsigned char)(bits >> 8 * i);
    tail[6] = (unsigned char)type;
    put(head, sizeof head);
    put(text, strlen(text));
    put(tail, sizeof tail);
}

/* Rules: A to a, AB to b, a no-break space to a space, each a path through units of one block. */
static void put_charsmap(void)
{
    uint32_t units[256];
    static const char strings[] = "a\0b\0 ";
    for (int i = 0; i < 256; i++)
        units[i] = 0x80000000;
    units[0] = 8 << 10; /* children at 8 ^ byte */
    units[8 ^ 'A'] = 'A' | 256 | (8 ^ 'A' ^ 16) << 10;
    units[16] = 0x80000000;
    units[16 ^ 'B'] = 'B' | 256 | (16 ^ 'B' ^ 17) << 10;
    units[17] = 0x80000002;
    units[8 ^ 0xc2] = 0xc2 | (8 ^ 0xc2 ^ 32) << 10;
    units[32 ^ 0xa0] = 0xa0 | 256 | (32 ^ 0xa0 ^ 33) << 10;
    units[33] = 0x80000004;
    put("\x1a\x8d\x08\x12\x8a\x08\0\4\0", 10); /* normalizer_spec, its charsmap, the size of the trie */
    for (int i = 0; i < 256; i++)
        for (int b = 0; b < 4; b++)
            put(&(unsigned char){(unsigned char)(units[i] >> 8 * b)}, 1);
    put(strings, sizeof strings);
}

static void make_base(void)
{
    put_charsmap();
    put_piece("<unk>", 0, 2);
    put_piece("<s>", 0, 3);
    put_piece("</s>", 0, 3);
    put_piece("\xe2\x96\x81", -2, 1);
    put_piece("a", -3, 1);
    put_piece("b", -3, 1);
    put_piece("ab", -5, 1);
    put_piece("\xe2\x96\x81"
              "a",
              -4, 1);
    put_piece("<x>", 0, 4);
    put_piece("c", 0, 5);
    base_size = bytes_size;
    put("\x12\3\x98\2\1", 5); /* trainer_spec, byte_fallback */
    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
        put_piece(text, 0, 6);
    }
    for (int i = 0; i < 2; i++) { /* it must be right, or nothing is tried */
        static const char text[] = "\342\226\201aab\342\226\201a";
        const size_t size = sizeof text - 1;
        sentencepiece model;
        sentencepiece_tokens tokens;
        MUST(sentencepiece_parse(&model, base, i ? bytes_size : base_size, "base") == NULL);
        MUST(model.byte_fallback == i && model.count == (i ? 266 : 10));
        MUST(sentencepiece_encode(&model, "AaAB\302\240A", 7, &tokens) == NULL);
        MUST(tokens.normalized_size == size && memcmp(tokens.normalized, text, size) == 0);
        sentencepiece_tokens_free(&tokens);
        sentencepiece_close(&model);
    }
}

static void check_model(const unsigned char *bytes, size_t size, const char *text, size_t text_size, int sentinels)
{
    sentencepiece model;
    const char *error;
    by_byte index;
    memset(&model, 0x5a, sizeof model);
    error = sentencepiece_parse(&model, bytes, size, "some.model");
    if (error) {
        check_message(error, "some.model", sizeof model.error);
        MUST(error == model.error && !model.count && !model.pieces && !model.owned);
        return;
    }
    model.extra_ids = sentinels;
    MUST(model.count > 0 && model.unk_id < model.count && (model.unk_id >= 0 || model.byte_fallback));
    for (int32_t id = 0; id < model.count && id < 40; id++) {
        sentencepiece_string spelling = model.pieces[id].text;
        int32_t other = sentencepiece_id(&model, spelling.text, spelling.size);
        MUST(spelling.size > 0 && spelling.size < 8000);
        if (other >= 0 && other < model.count && other != id && spelling.text[0])
            MUST(model.pieces[other].text.size == spelling.size &&
                 memcmp(model.pieces[other].text.text, spelling.text, spelling.size) == 0);
    }
    index = pieces_by_byte(&model);
    check_text(&model, &index, text, text_size);
    check_ids(&model, text, text_size);
    free(index.next);
    sentencepiece_close(&model);
    MUST(!model.pieces && !model.owned && !model.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    unsigned char *model;
    size_t text_size, model_size;
    const char *text;
    int how;
    if (base_size == 0)
        make_base();
    if (size < 2)
        return 0;
    text_size = bytes[1] < size - 2 ? bytes[1] : size - 2;
    model_size = size - 2 - text_size;
    text = (const char *)bytes + size - text_size;
    if ((how = bytes[0] & 3) == 0) {
        model = exactly(bytes + 2, model_size);
    } else {
        size_t begin = how == 3 ? bytes_size : base_size, extra = how == 2 ? 0 : model_size;
        model = malloc(begin + extra);
        MUST(model);
        memcpy(model, base, begin);
        memcpy(model + begin, bytes + 2, extra);
        for (size_t i = 0; how == 2 && i + 3 <= model_size; i += 3)
            model[(bytes[2 + i] + 256u * bytes[3 + i]) % base_size] = bytes[4 + i];
        model_size = begin + extra;
    }
    check_model(model, model_size, text, text_size, bytes[0] & 4 ? 3 : 0);
    free(model);
    return 0;
}
