/* Fuzz target: WordPiece tokenizers. The input is four bytes, the files of a tokenizer and a text: which files there are
   (1 vocab.txt, 2 tokenizer.json, 4 tokenizer_config.json; 8: vocab.txt is a small one that is right, 16: so is
   tokenizer.json), and the sizes of the three. Words that text is cut into must be those that a search of the vocabulary
   finds, and normal forms of it be normal. How to run: fuzz.h. */
#include "fuzz.h"

#include "examples/models/json.c"
#include "examples/models/unicode.c"
#include "examples/models/wordpiece.c"

static const char base_vocab[] =
    "[UNK]\n[CLS]\n[SEP]\na\nab\nb\n##a\n##ab\n##b\n.\n\xc3\xa9\n##\xc3\xa9\n\xe6\xbc\xa2\n";
static const char base_json[] = "{\"model\":{\"type\":\"WordPiece\"},\"normalizer\":{\"type\":\"BertNormalizer\"},"
                                "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"added_tokens\":["
                                "{\"id\":20,\"content\":\"<a>\",\"lstrip\":true,\"rstrip\":true},"
                                "{\"id\":21,\"content\":\"BA\",\"normalized\":true}]}";

/* ---- normal forms ---- */

UNTRACED static void check_forms(const char *text, size_t size)
{
    size_t room = 64 * size + 64;
    char *form = malloc(room), *again = malloc(room);
    MUST(form && again);
    for (int f = UNICODE_NFC; f <= UNICODE_NFKD; f++) {
        size_t used = unicode_normalize((unicode_form)f, text, size, form, room), more;
        MUST(used <= room && unicode_normalize((unicode_form)f, text, size, NULL, 0) == used);
        MUST(unicode_normalize((unicode_form)f, form, used, again, used) == used && memcmp(form, again, used) == 0);
        more = unicode_normalize((unicode_form)(f ^ 1), form, used, again, room); /* the other of the two kinds */
        more = unicode_normalize((unicode_form)f, again, more, form, room);
        MUST(more == used && unicode_normalize((unicode_form)f, text, size, again, room) == used);
        MUST(memcmp(form, again, used) == 0);
    }
    free(form);
    free(again);
}

/* ---- tokens, by searching all words ---- */

/* A word that text is cut into: not one that is an added token alone. */
UNTRACED static const word *vocabulary_word(const wordpiece *model, const char *text, size_t size)
{
    uint32_t node = 0;
    size_t i;
    for (i = 0; i < size && (i == 0 || node); i++)
        node = trie_step(&model->pieces, node, text[i]);
    return size && node && model->pieces.nodes[node].id >= 0 ? find_word(model->words, model->word_count, text, size)
                                                             : NULL;
}

UNTRACED static int occurs(text_span w, const char *text, size_t size)
{
    for (size_t i = 0; i + w.size <= size; i++)
        if (memcmp(text + i, w.text, w.size) == 0)
            return 1;
    return 0;
}

/* The ids of one word of clean text, written at ids; returns how many. */
UNTRACED static size_t naive_word(const wordpiece *model, const char *prefix, const char *text, size_t size,
                                  int32_t *ids)
{
    size_t count = 0, at = 0, characters = 0, skip = strlen(prefix);
    char *piece = malloc(skip + size + 1);
    MUST(piece);
    for (size_t i = 0; i < size; i++)
        characters += ((unsigned char)text[i] & 0xc0) != 0x80;
    while (at < size && characters <= model->longest_word) {
        size_t end = size, begins = at ? skip : 0;
        const word *found = NULL;
        memcpy(piece, prefix, begins);
        memcpy(piece + begins, text + at, size - at);
        while (end > at && !(found = vocabulary_word(model, piece, begins + end - at)))
            end--;
        if (!found)
            break;
        ids[count++] = found->id;
        at = end;
    }
    free(piece);
    if (at < size) {
        ids[0] = model->unk_id;
        count = 1;
    }
    return count;
}

UNTRACED static void check_cut(const wordpiece *model, const char *prefix, const char *text, size_t size,
                               const wordpiece_tokens *tokens)
{
    buffer cleaned = {NULL, 0, 0, 0}, spare = {NULL, 0, 0, 0};
    size_t begin = 0, count = 0, n;
    uint32_t code;
    int32_t *ids;
    for (size_t i = 0; i < model->added.count; i++) {
        const added_token *t = &model->added.tokens[i];
        if (occurs(t->text, text, size) || t->flags & ADDED_NORMALIZED)
            return; /* it is not known here where it takes part */
    }
    MUST(clean(model, text, size, &cleaned, &spare));
    ids = malloc((cleaned.size + 1) * sizeof *ids);
    MUST(ids);
    for (size_t at = 0; at < cleaned.size; at += n) {
        n = unicode_read(cleaned.text + at, cleaned.size - at, &code);
        MUST(code < UNICODE_INVALID);
        if (unicode_is_space(code) || is_punctuation(code)) {
            count += begin < at ? naive_word(model, prefix, cleaned.text + begin, at - begin, ids + count) : 0;
            count += unicode_is_space(code) ? 0 : naive_word(model, prefix, cleaned.text + at, n, ids + count);
            begin = at + n;
        }
    }
    count +=
        begin < cleaned.size ? naive_word(model, prefix, cleaned.text + begin, cleaned.size - begin, ids + count) : 0;
    MUST(count == tokens->count && (!count || memcmp(ids, tokens->ids, count * sizeof *ids) == 0));
    free(ids);
    free(cleaned.text);
    free(spare.text);
}

/* ---- models ---- */

UNTRACED static void check_model(const wordpiece *model, const char *prefix, const char *text, size_t size)
{
    wordpiece_tokens tokens;
    MUST(model->count > 0 && model->unk_id >= 0 && model->unk_id < model->count && model->word_count > 0);
    for (size_t i = 0; i < model->word_count; i++) {
        const word *w = &model->words[i];
        MUST(w->id >= 0 && w->id < model->count && is_utf8(w->text, w->size));
        MUST(wordpiece_id(model, w->text, w->size) == w->id && wordpiece_token(model, w->id).id == w->id);
    }
    memset(&tokens, 0x5a, sizeof tokens);
    MUST(wordpiece_encode(model, text, size, &tokens) == NULL);
    for (size_t i = 0; i < tokens.count; i++)
        MUST(wordpiece_token(model, tokens.ids[i]).text != NULL);
    if (prefix)
        check_cut(model, prefix, text, size, &tokens);
    wordpiece_tokens_free(&tokens);
    MUST(!tokens.ids && !tokens.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const names[] = {"some", "some/vocab.txt", "some/tokenizer.json", "some/tokenizer_config.json"};
    char *parts[4];
    size_t sizes[4], at = 4, i;
    wordpiece_files files;
    wordpiece model;
    const char *error;
    if (size < 4)
        return 0;
    for (i = 0; i < 4; i++) {
        sizes[i] = i < 3 && bytes[1 + i] < size - at ? bytes[1 + i] : size - at;
        parts[i] = exactly(bytes + at, sizes[i]);
        at += sizes[i];
    }
    memset(&files, 0, sizeof files);
    files.vocab = bytes[0] & 8 ? base_vocab : bytes[0] & 1 ? parts[0] : NULL;
    files.vocab_size = bytes[0] & 8 ? sizeof base_vocab - 1 : bytes[0] & 1 ? sizes[0] : 0;
    files.tokenizer = bytes[0] & 16 ? base_json : bytes[0] & 2 ? parts[1] : NULL;
    files.tokenizer_size = bytes[0] & 16 ? sizeof base_json - 1 : bytes[0] & 2 ? sizes[1] : 0;
    files.config = bytes[0] & 4 ? parts[2] : NULL;
    files.config_size = bytes[0] & 4 ? sizes[2] : 0;
    memset(&model, 0x5a, sizeof model);
    error = wordpiece_parse(&model, &files, "some");
    if (error) {
        for (i = 3; i && strncmp(error, names[i], strlen(names[i])) != 0; i--)
            ;
        check_message(error, names[i], sizeof model.error);
        MUST(error == model.error && !model.words && !model.text && !model.pieces.nodes);
    } else { /* a prefix of its own is nothing that is known here */
        int usual = !(bytes[0] & 2) || bytes[0] & 16;
        check_model(&model, usual ? "##" : NULL, parts[3], sizes[3]);
        wordpiece_close(&model);
        MUST(!model.words && !model.count);
    }
    check_forms(parts[3], sizes[3]);
    for (i = 0; i < 4; i++)
        free(parts[i]);
    return 0;
}
