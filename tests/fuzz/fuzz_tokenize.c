/* Fuzz target: text under the models of examples/models/tests/golden. The input is a byte that chooses the model (and
   with 128, 100 sentinels beside it) and a text. How to run: fuzz.h. */
#include "tokens.h"

enum { MODELS = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const paths[MODELS] = {
        "examples/models/tests/golden/unigram.model",        "examples/models/tests/golden/unigram_bytes.model",
        "examples/models/tests/golden/unigram_suffix.model", "examples/models/tests/golden/bpe.model",
        "examples/models/tests/golden/bpe_bytes.model",      "examples/models/tests/golden/bpe_turns.model"};
    static sentencepiece models[MODELS];
    static by_byte indexes[MODELS];
    sentencepiece *model;
    if (!models[0].count)
        for (int i = 0; i < MODELS; i++) {
            const char *error = sentencepiece_open(&models[i], paths[i]);
            if (error) {
                fprintf(stderr, "%s\n", error);
                exit(1);
            }
            indexes[i] = pieces_by_byte(&models[i]);
        }
    if (size == 0)
        return 0;
    model = &models[bytes[0] % MODELS];
    model->extra_ids = bytes[0] & 128 ? 100 : 0;
    check_text(model, &indexes[bytes[0] % MODELS], (const char *)bytes + 1, size - 1);
    check_ids(model, (const char *)bytes + 1, size - 1);
    return 0;
}
