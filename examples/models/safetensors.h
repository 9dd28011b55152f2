/* safetensors.h: the tensors of a .safetensors file, in place. It takes safetensors.c, mapped.h, text.h, shown.h, and
   json.c for the header: C99 and libc, and mmap where there is one (elsewhere, or with -DMAPPED_NEVER, the file is read).

       safetensors file;
       const char *error = safetensors_open(&file, "model.safetensors");
       if (error) {
           fprintf(stderr, "%s\n", error); // names the file, the tensor and the cause
           return 1;
       }
       const safetensors_tensor *w = safetensors_find(&file, "lm_head.weight");
       if (w && w->rank == 2)
           printf("%zu x %zu, first %g\n", w->shape[0], w->shape[1], safetensors_get(w, 0));
       safetensors_close(&file);

   Every rule of the format is checked before a tensor is seen, so that a file that opens holds what it says; values are
   not looked at. The reference reads a member that is there twice as the last of them, a __metadata__ of null as none,
   and a tensor written as an array; here they are errors. A mapped file must not shrink while it is open. */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of elements, in the reference's order. Those of 8 bits and less are listed, not read, but BOOL, U8 and I8. */
typedef enum safetensors_dtype {
    SAFETENSORS_BOOL,
    SAFETENSORS_F4,
    SAFETENSORS_F6_E2M3,
    SAFETENSORS_F6_E3M2,
    SAFETENSORS_U8,
    SAFETENSORS_I8,
    SAFETENSORS_F8_E5M2,
    SAFETENSORS_F8_E4M3,
    SAFETENSORS_F8_E8M0,
    SAFETENSORS_F8_E4M3FNUZ,
    SAFETENSORS_F8_E5M2FNUZ,
    SAFETENSORS_I16,
    SAFETENSORS_U16,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_I32,
    SAFETENSORS_U32,
    SAFETENSORS_F32,
    SAFETENSORS_C64, /* two F32 */
    SAFETENSORS_F64,
    SAFETENSORS_I64,
    SAFETENSORS_U64
} safetensors_dtype;

typedef struct safetensors_tensor {
    const char *name; /* UTF-8 with a NUL after it */
    size_t name_size; /* in bytes: a name may hold a NUL */
    safetensors_dtype dtype;
    size_t rank;         /* 0: one element */
    const size_t *shape; /* rank sizes, row-major; any may be 0 */
    size_t count;        /* elements */
    const void *data;    /* little-endian, as in the file: perhaps not aligned */
    size_t size;         /* of data, in bytes */
} safetensors_tensor;

typedef struct safetensors {
    const safetensors_tensor *tensors; /* in the order of their names' bytes */
    size_t count;
    const char *header; /* the JSON text, which holds "__metadata__" too; a NUL after it */
    size_t header_size; /* in bytes */

    void *owned, *mapping, *contents; /* what safetensors_close gives back */
    size_t mapped;
    char error[512];
} safetensors;

/* Opens a file. Returns NULL, or a message "PATH: ..." that says what is wrong, which lives in file->error; the file is
   empty then, and need not be closed. */
const char *safetensors_open(safetensors *file, const char *path);

/* The same of `size` bytes in memory, which must stay until the file is closed. `name` stands for the path. */
const char *safetensors_parse(safetensors *file, const void *bytes, size_t size, const char *name);

/* Gives back everything; the file is empty after it. */
void safetensors_close(safetensors *file);

/* The tensor of that name, or NULL. */
const safetensors_tensor *safetensors_find(const safetensors *file, const char *name);

/* "F32" and the like; and an element's size in bits. */
const char *safetensors_dtype_name(safetensors_dtype dtype);
size_t safetensors_bits(safetensors_dtype dtype);

/* Element i in row-major order as a double: exact, but for integers beyond 2^53, which are rounded. NaN where there is
   no such element, and of the types listed only. */
double safetensors_get(const safetensors_tensor *tensor, size_t i);

/* Whether data is an array that this machine reads as it is: aligned, and in this machine's byte order. */
int safetensors_is_native(const safetensors_tensor *tensor);

/* Copies elements `first` to first + count - 1 to `out`, in this machine's byte order, their bits unchanged. Returns 1,
   or 0 and nothing copied where there are no such elements or one takes less than 8 bits. */
int safetensors_copy(const safetensors_tensor *tensor, size_t first, size_t count, void *out);

#ifdef __cplusplus
}
#endif
#endif
