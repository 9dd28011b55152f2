/* gguf_files.h: a GGUF model as the files of a directory that the readers beside it know: config.json, tokenizer.json or
   tokenizer.model, tokenizer_config.json, and model.safetensors. It takes gguf_files.c, gguf.c, and safetensors.c with
   what that takes.

       gguf_files model;
       text_buffer config = {NULL, 0, 0, 0};
       const char *error = gguf_files_open(&model, "SmolLM2-135M-Instruct.Q4_1.gguf");
       if (!error)
           error = gguf_files_config(&model, &config);        // {"model_type": "llama", "hidden_size": 576, ..
       if (!error)
           error = gguf_files_weights(&model, NULL, NULL);    // model.weights: "model.embed_tokens.weight", ..
       gguf_files_close(&model);
       free(config.text);

   Architectures: llama, qwen2, qwen3, gemma, gemma2, gemma3, smollm3, t5. A key of the architecture that is not known
   here is an error that names it, as is a type of tensor that cannot be read.

   Weights of F32, F16 and BF16 stay as and where they are in the file, but where their order is another there. All
   others become F16, which rounds what they stand for to 11 bits; a tensor with a number beyond 65504 becomes F32, and
   vectors do. Keys that say nothing of results are passed over. */
#ifndef GGUF_FILES_H
#define GGUF_FILES_H

#include "gguf.h"
#include "safetensors.h"
#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gguf_files {
    safetensors weights; /* by the names that they have in a model.safetensors */

    /* for gguf_files.c */
    gguf *parts; /* the files of a model that is split, or one */
    size_t count;
    void *pieces; /* weights that had to be written anew */
    int failed;
    char error[TEXT_ERROR];
} gguf_files;

/* Whether a path is that of a GGUF file: it is a file, and begins as one. */
int gguf_files_is(const char *path);

/* Opens a model, of which the path is that of its first file: NAME-00001-of-00003.gguf if it is split. All return NULL,
   or a message that names the file and lives in model->error; there is nothing to close then. */
const char *gguf_files_open(gguf_files *model, const char *path);
void gguf_files_close(gguf_files *model);

/* Append the text of config.json; of tokenizer.json, or the bytes of a SentencePiece model (*is_json: which); and of
   tokenizer_config.json. */
const char *gguf_files_config(gguf_files *model, text_buffer *out);
const char *gguf_files_tokenizer(gguf_files *model, text_buffer *out, int *is_json);
const char *gguf_files_tokenizer_config(gguf_files *model, text_buffer *out);

/* Whether it says how tokens are to be drawn, which is not read. */
int gguf_files_samples(const gguf_files *model);

/* Makes model->weights. progress, or NULL, is told the part of the file that has been read, 0 to 1. */
const char *gguf_files_weights(gguf_files *model, void (*progress)(void *user, double part), void *user);

/* What the type of a tensor's weights is then, and how far the rounding takes them: at most, and the mean of its
   squares; 0 where nothing is rounded. Returns 0 where the tensor cannot be read, or without memory. */
int gguf_files_rounding(const gguf_tensor *tensor, safetensors_dtype *dtype, double *largest, double *square);

#ifdef __cplusplus
}
#endif
#endif
