/* gguf.h: the metadata and tensors of a .gguf file, as llama.cpp passes models on. It takes gguf.c, mapped.h, text.h and
   shown.h: C99 and libc, and mmap where there is one (elsewhere the file is read).

       gguf file;
       const char *error = gguf_open(&file, "SmolLM2-135M-Instruct.Q4_1.gguf");
       if (error) {
           fprintf(stderr, "%s\n", error); // names the file, the key or tensor, and the cause
           return 1;
       }
       uint64_t layers;
       float row[576];
       const gguf_tensor *w = gguf_find(&file, "token_embd.weight");
       if (gguf_uint(gguf_get(&file, "llama.block_count"), &layers) && w && w->rank == 2 && w->shape[1] == 576)
           gguf_read(w, 0, 576, row); // the first row
       gguf_close(&file);

   Versions 2 and 3, little-endian. Every size and offset is checked before a key or tensor is seen. A mapped file must
   not shrink while it is open. */
#ifndef GGUF_H
#define GGUF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- metadata ---- */

typedef enum gguf_kind {
    GGUF_NONE, /* no value: a missing key, the end of an array */
    GGUF_UINT,
    GGUF_INT,
    GGUF_REAL,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY
} gguf_kind;

/* A value in the file's header: copy it freely, as long as the file is open. */
typedef struct gguf_value {
    gguf_kind kind;
    size_t count; /* elements of an array; of an element, those from it on */

    /* for gguf.c */
    const unsigned char *bytes, *stop;
    unsigned type;
} gguf_value;

/* ---- tensors ---- */

/* Types that can be read; a tensor may be of another, and has data of no size then. */
typedef enum gguf_type {
    GGUF_F32 = 0,
    GGUF_F16 = 1,
    GGUF_Q4_0 = 2,
    GGUF_Q4_1 = 3,
    GGUF_Q5_0 = 6,
    GGUF_Q5_1 = 7,
    GGUF_Q8_0 = 8,
    GGUF_Q2_K = 10,
    GGUF_Q3_K = 11,
    GGUF_Q4_K = 12,
    GGUF_Q5_K = 13,
    GGUF_Q6_K = 14,
    GGUF_IQ4_NL = 20,
    GGUF_BF16 = 30,
    GGUF_MXFP4 = 39
} gguf_type;

typedef struct gguf_tensor {
    const char *name; /* not ended by a NUL */
    size_t name_size;
    unsigned type;
    size_t rank, shape[4]; /* row-major: the last size is that of a row */
    size_t count;          /* elements; a row has whole blocks of them */
    const void *data;
    size_t size; /* of data, in bytes; 0: the type cannot be read */
} gguf_tensor;

typedef struct gguf {
    const gguf_tensor *tensors; /* in the order of their names' bytes */
    size_t count;

    /* for gguf.c */
    struct gguf_key *keys;
    size_t key_count;
    void *mapping, *contents, *header, *owned;
    size_t mapped;
    char error[512];
} gguf;

/* Opens a file. Returns NULL, or a message "PATH: ..." that says what is wrong, which lives in file->error; nothing is
   to be closed then. gguf_parse: the same of `size` bytes in memory, which must stay; `name` stands for the path. */
const char *gguf_open(gguf *file, const char *path);
const char *gguf_parse(gguf *file, const void *bytes, size_t size, const char *name);
void gguf_close(gguf *file);

/* The value of a key; of kind GGUF_NONE if there is none. */
gguf_value gguf_get(const gguf *file, const char *key);

/* The keys, in the order of their bytes: how many there are, and how one is spelt, not ended by a NUL. */
size_t gguf_key_count(const gguf *file);
const char *gguf_key_name(const gguf *file, size_t index, size_t *size);

/* The elements of an array in order; kind is GGUF_NONE after the last, and of what is no array. */
gguf_value gguf_first(gguf_value array);
gguf_value gguf_next(gguf_value element);

/* Numbers: 1 and *out, or 0 and *out untouched. gguf_uint: whole ones from 0 on; gguf_real: any. gguf_flag: of a
   GGUF_BOOL alone. gguf_string: the text, not ended by a NUL, and *size; NULL of what is none. */
int gguf_uint(gguf_value value, uint64_t *out);
int gguf_real(gguf_value value, double *out);
int gguf_flag(gguf_value value, int *out);
const char *gguf_string(gguf_value value, size_t *size);

/* The tensor of that name, or NULL. */
const gguf_tensor *gguf_find(const gguf *file, const char *name);

/* "Q4_K" and the like, also of types that cannot be read; "type 99" is up to the caller: NULL. */
const char *gguf_type_name(unsigned type);

/* Elements of a block, of which a read may have whole ones only: 1, 32 or 256. 0: the type cannot be read. */
size_t gguf_block(unsigned type);

/* Elements `first` to first + count - 1 as floats, exactly as the format's reference gives them. Returns 1, or 0 and
   nothing where there are no such elements, or not whole blocks. */
int gguf_read(const gguf_tensor *tensor, size_t first, size_t count, float *out);

/* The memory of its data may be given back, where the file is mapped; they come back when they are read again. */
void gguf_forget(const gguf *file, const gguf_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
