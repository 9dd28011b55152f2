/* checkpoint.h: a directory as models are published: config.json and model.safetensors, whole or in shards. It reads
   what a network needs and says what is wrong with it. It takes checkpoint.c, attn.h for attn_mat, and the readers beside
   this file: json.c, safetensors.c.

       checkpoint files;
       checkpoint_opts opts = {0};
       const char *error = checkpoint_open(&files, "SmolLM2-135M", &opts);
       checkpoint_members(&files, files.config, members, count);     // numbers of config.json
       checkpoint_matrix(&files, &q, rows, cols, "model.layers.%lu.self_attn.q_proj.weight", layer);
       if (files.failed)
           fprintf(stderr, "%s\n", files.error); // names the file, the member or tensor, and the cause
       checkpoint_close(&files);

   The first error stays: what is called after it does nothing, so that one look at `failed` serves many calls. Matrices
   lie in the mapped file, of its types, where this machine can read them there; else in copies. */
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

typedef struct checkpoint {
    json config;              /* config.json: an object */
    char *config_text;        /* what it lies in */
    char *directory;
    safetensors *files;       /* model.safetensors, or the shards that model.safetensors.index.json names, by name */
    char **paths;             /* of the files */
    size_t count, tensors;    /* files; tensors in all of them */
    int failed;
    char error[512];

    /* for checkpoint.c */
    checkpoint_opts opts;
    unsigned char **taken; /* of each tensor of each file: a network has asked for it */
    size_t bytes, read;    /* of all tensors; of those that have been touched */
    void *owned;
} checkpoint;

/* Opens config.json and the weights. Returns NULL or the message; there is nothing to close then. */
const char *checkpoint_open(checkpoint *files, const char *directory, const checkpoint_opts *opts);

/* Gives back everything, the matrices and vectors too; error stays. Fine for {0}. */
void checkpoint_close(checkpoint *files);

/* Makes this the error, unless there is one: printf's format. Returns the one there is. */
const char *checkpoint_fail(checkpoint *files, const char *format, ...);

/* -- config.json: members of an object, which is files->config or one within -- */

/* A whole number, least .. 2^31 - 1; where it is missing or null, `otherwise`, or an error if that is negative. */
size_t checkpoint_uint(checkpoint *files, json object, const char *name, size_t least, long otherwise);
/* A finite number; where it is missing or null `otherwise`, or an error if `required`. */
double checkpoint_real(checkpoint *files, json object, const char *name, double otherwise, int required);
/* true or false; where it is missing or null, otherwise. */
int checkpoint_flag(checkpoint *files, json object, const char *name, int otherwise);
/* Which of the names, ended by NULL, a string is: its number; where it is missing or null, 0; another: an error. */
size_t checkpoint_choice(checkpoint *files, json object, const char *name, const char *const *names);

/* -- weights; the name is printf's format -- */

/* Whether there is such a tensor. */
int checkpoint_has(checkpoint *files, const char *format, ...);

/* The matrix of that name, of F32, F16 or BF16; absent after an error. */
attn_mat checkpoint_matrix(checkpoint *files, size_t rows, size_t cols, const char *format, ...);

/* The vector of that name as floats, which live until checkpoint_close; NULL after an error. */
const float *checkpoint_vector(checkpoint *files, size_t count, const char *format, ...);

/* Marks a tensor as looked at, if it is there: of no use here, but no surprise either. */
void checkpoint_ignore(checkpoint *files, const char *format, ...);

/* The first tensor that nothing has asked for, in the order of files and names; NULL if there is none. */
const safetensors_tensor *checkpoint_unused(const checkpoint *files);

/* Memory that lives until checkpoint_close: count zeros of `size` bytes; NULL after an error. */
void *checkpoint_allocate(checkpoint *files, size_t count, size_t size);

#ifdef __cplusplus
}
#endif
#endif
