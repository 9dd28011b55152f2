/* checkpoint.h: a model as it is published: a directory with config.json and model.safetensors, whole or in shards, or a
   GGUF. It reads what a network needs and says what is wrong with it. It takes checkpoint.c, attn.h for attn_mat and,
   beside this file, gguf_files.h with what that takes. Where attn.h lies elsewhere, the line that includes it is to be changed.

       checkpoint files;
       checkpoint_open(&files, "SmolLM2-135M");
       size_t width = checkpoint_uint(&files, files.config, "hidden_size", 1, -1);
       checkpoint_weights(&files, NULL);
       attn_mat q = checkpoint_matrix(&files, width, width, "model.layers.%lu.self_attn.q_proj.weight", layer);
       if (files.failed)
           fprintf(stderr, "%s\n", files.error); // names the file, the member or tensor, and the cause
       checkpoint_close(&files);

   What the files say and no reader knows is in files.notes, for the program to show. The first error stays: what is
   called after it does nothing and returns zeros, so that one look at `failed` serves many calls. Matrices lie in the
   mapped file, of its types, where this machine can read them there; else in copies. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "../../attn.h"
#include "json.h"
#include "safetensors.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct checkpoint_opts {
    void (*progress)(void *user, double part); /* is told the part of the weights that has been read, 0 to 1; or NULL */
    void *user;
} checkpoint_opts;

/* One file of weights. */
typedef struct checkpoint_file {
    char *path;
    safetensors tensors;
    unsigned char *taken; /* of each tensor: somebody has asked for it */
} checkpoint_file;

typedef struct checkpoint {
    json config; /* of config.json: an object */
    char *directory;
    checkpoint_file *files; /* model.safetensors, or the shards that model.safetensors.index.json names */
    size_t count, tensors;  /* files; tensors in all of them */

    /* for checkpoint.c */
    checkpoint_opts opts;
    struct checkpoint_text *texts; /* the JSON files that have been read */
    struct gguf_files *gguf;       /* NULL: a directory */
    size_t bytes, read;            /* of all tensors; of those that have been touched */
    void *owned;

    char *notes;       /* lines for the user, each with its LF: what nobody looks at, and what others read otherwise; */
    size_t notes_room; /* so many bytes; NULL once the files are closed */
    int failed;        /* whether there is an error, */
    char error[512];   /* and the first one; both stay when the files are closed */
} checkpoint;

/* Opens config.json. Returns NULL or the message; there is nothing to close then. */
const char *checkpoint_open(checkpoint *files, const char *directory);

/* Opens the weights, once config.json has said that they can be of use; opts may be NULL. Without it there are none. */
void checkpoint_weights(checkpoint *files, const checkpoint_opts *opts);

/* Of a GGUF: the text of tokenizer.json, or the bytes of a SentencePiece model, which live until the files are closed.
   Returns 0 for a directory. */
int checkpoint_tokenizer(checkpoint *files, const void **bytes, size_t *size, int *is_json);

/* Gives back everything, matrices and vectors too; error stays. Fine for {0}. */
void checkpoint_close(checkpoint *files);

/* Makes this the error, unless there is one: printf's format. Returns the error. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
const char *
checkpoint_fail(checkpoint *files, const char *format, ...);

/* -- JSON: config.json is files->config; objects within it, or within another file, do as well -- */

/* The path of the file that a value is in; of a GGUF, its own. */
const char *checkpoint_path(const checkpoint *files, json value);

/* What another JSON file of the directory holds; JSON_NONE if there is no such file. */
json checkpoint_json(checkpoint *files, const char *name);

/* The same of a file that must hold an object. */
json checkpoint_object(checkpoint *files, const char *name);

/* A whole number, least .. 2^31 - 1. Where it is missing or null: `otherwise`, or an error if that is negative. */
size_t checkpoint_uint(checkpoint *files, json object, const char *name, size_t least, long otherwise);

/* A finite number, least .. most. Where it is missing or null: `otherwise`, or an error if that is below least. */
double checkpoint_real(checkpoint *files, json object, const char *name, double least, double most, double otherwise);

/* true or false. Where it is missing or null: otherwise. */
int checkpoint_flag(checkpoint *files, json object, const char *name, int otherwise);

/* Whether a member says something: it is there, and neither null, false nor empty. */
int checkpoint_says(json object, const char *name);

/* Which of the names, which NULL ends, a string is: its number; an error if it is none. Where it is missing or null: 0. */
size_t checkpoint_choice(checkpoint *files, json object, const char *name, const char *const *names);

/* The same of the member model_type: where it is none of the names, the error tells what is missing here, if known. */
size_t checkpoint_type(checkpoint *files, json object, const char *const *names);

/* A member of this object is wrong, for that reason: "config.json: rope_scaling: ..", with its path. */
const char *checkpoint_fail_member(checkpoint *files, json object, const char *name, const char *reason);

/* A line of notes, once: printf's format, and a path before it or none; of a long line the end. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void checkpoint_note(checkpoint *files, const char *format, ...);

/* Notes the members of an object that are in none of the lists (json_others): a reader lists what it reads, what it
   refuses and what is known not to matter. within: the object's name in its file; NULL: it is all of it. */
void checkpoint_members(checkpoint *files, json object, const char *within, const char *const *const *lists);

/* An error if a configuration says what no reader here has a way for, whatever the model: quantized weights, heads that
   are left out, layers that differ from the rest. */
void checkpoint_plain(checkpoint *files, json config);

/* Such lists: members of any config.json that change no result here, and those of generation_config.json. */
extern const char *const checkpoint_unread[], *const checkpoint_generating[];

/* What says how texts are generated by default: generation_config.json or, where there is none, config.json. What it
   asks for and no reader here has a way for is an error; num_beams, length_penalty, early_stopping,
   no_repeat_ngram_size, repetition_penalty and what shapes sampling are the reader's, and with `least` min_length and
   min_new_tokens are. *sample: do_sample. */
json checkpoint_generation(checkpoint *files, int *sample, int least);

/* The same errors of any object that says how texts are generated. */
void checkpoint_generates(checkpoint *files, json object, int sample, int least);

/* -- weights; the name is printf's format -- */

/* Whether there is such a tensor. */
int checkpoint_has(checkpoint *files, const char *format, ...);

/* The matrix of that name, of F32, F16 or BF16; absent after an error. checkpoint_stack: a tensor of count x rows x cols
   as a matrix of count * rows rows. */
attn_mat checkpoint_matrix(checkpoint *files, size_t rows, size_t cols, const char *format, ...);
attn_mat checkpoint_stack(checkpoint *files, size_t count, size_t rows, size_t cols, const char *format, ...);

/* A language model's embedding and head, both rows x cols. The embedding may stand under each of the names, which NULL
   ends; where it stands under several they are to be equal. The head is that of the file if it differs from the
   embedding, whatever config.json says; else, and where there is none, it is the embedding, and the same matrix. tied:
   whether config.json says so; if it says no, and the file has no head, that is noted. */
void checkpoint_ends(checkpoint *files, size_t rows, size_t cols, const char *const *names, const char *head_name,
                     int tied, attn_mat *embedding, attn_mat *head);

/* What a layer has to make x w^T + bias of x; w is outputs x inputs. checkpoint_linear_of: the matrix NAME.weight, and
   with has_bias the vector NAME.bias. */
typedef struct checkpoint_linear {
    attn_mat w;
    const float *bias; /* [outputs]; NULL: none */
} checkpoint_linear;
checkpoint_linear checkpoint_linear_of(checkpoint *files, size_t outputs, size_t inputs, int has_bias,
                                       const char *format, ...);

/* The vector of that name as floats, which live until checkpoint_close; NULL after an error. */
const float *checkpoint_vector(checkpoint *files, size_t count, const char *format, ...);

/* A tensor that may be there, and is of no use. */
void checkpoint_ignore(checkpoint *files, const char *format, ...);
void checkpoint_ignore_all(checkpoint *files, const char *prefix);

/* An error if there is a tensor that nobody has asked for: "tensor .. is none of a T5", if that is the model's name. The
   whole is read then: progress is told 1. */
void checkpoint_finish(checkpoint *files, const char *model);

/* Memory for the `count` layers of a model, zeros, which lives until checkpoint_close. NULL after an error, such as more
   layers than the files have tensors. */
void *checkpoint_layers(checkpoint *files, size_t count, size_t size);

#ifdef __cplusplus
}
#endif
#endif
