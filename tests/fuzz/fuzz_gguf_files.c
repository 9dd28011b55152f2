/* Fuzz target: GGUF files as the files of a directory. An input is what fuzz_gguf.c has. How to run: fuzz.h, with gguf.c,
   safetensors.c and json.c beside it. */
#include "fuzz.h"

#include "examples/models/gguf_files.c"

#include "examples/models/json.h"

/* Opens what gguf_files_open would. */
static int open_bytes(gguf_files *model, const void *bytes, size_t size)
{
    const char *error;
    memset(model, 0, sizeof *model);
    model->parts = (gguf *)calloc(1, sizeof *model->parts);
    MUST(model->parts);
    snprintf(model->error, sizeof model->error, "some.gguf: ");
    error = gguf_parse(&model->parts[0], bytes, size, "some.gguf");
    model->count = !error;
    if (error)
        gguf_files_close(model);
    return !error;
}

static void check_text(const char *error, gguf_files *model, const text_buffer *text)
{
    json value;
    if (error)
        check_message(error, "some.gguf", sizeof model->error);
    else if (is_utf8(text->text, text->size))
        MUST(!json_parse(&value, text->text, text->size, NULL) && value.type == JSON_OBJECT);
}

static void check_weights(const gguf_files *model)
{
    const safetensors *w = &model->weights;
    for (size_t i = 0; i < w->count; i++) {
        const safetensors_tensor *t = &w->tensors[i];
        MUST(i == 0 || strcmp(w->tensors[i - 1].name, t->name) < 0);
        MUST(strlen(t->name) == t->name_size && t->size == t->count * safetensors_bits(t->dtype) / 8);
        if (t->count)
            (void)(safetensors_get(t, 0) + safetensors_get(t, t->count - 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    size_t used;
    unsigned char *exact = (unsigned char *)gguf_of(bytes, size, &used);
    gguf_files model;
    int is_json = 0;
    for (int part = 0; part < 4 && open_bytes(&model, exact, used); part++) {
        text_buffer text = {NULL, 0, 0, 0};
        const char *error = part == 0   ? gguf_files_config(&model, &text)
                            : part == 1 ? gguf_files_tokenizer_config(&model, &text)
                            : part == 2 ? gguf_files_tokenizer(&model, &text, &is_json)
                                        : gguf_files_weights(&model, NULL, NULL);
        MUST(!error == !model.failed);
        if (part < 2 || (part == 2 && (is_json || error)))
            check_text(error, &model, &text);
        if (part == 3 && !error)
            check_weights(&model);
        free(text.text);
        gguf_files_close(&model);
    }
    free(exact);
    return 0;
}
