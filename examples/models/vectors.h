/* vectors.h: vectors in files: as NumPy reads them (.npy), and as an index that is kept beside a text and serves again
   while the text and the model are what they were. It takes vectors.c and shown.h: C99 and libc.

       vectors_key key = {dimensions, count, hash_of_the_model, vectors_hash(0, text, size)};
       char error[VECTORS_ERROR];
       int state = vectors_load("notes.txt.index", key, floats, error);
       if (state < 0)
           fprintf(stderr, "%s\n", error); // what is there is no index, or not a whole one
       if (state <= 0) {
           compute(floats);
           if (!vectors_store("notes.txt.index", key, floats, error))
               fprintf(stderr, "%s\n", error);
       }

   A file is written under a name of its own, "PATH.1f0c5a3e.part", and renamed when it is whole: nobody sees half of one. */
#ifndef VECTORS_H
#define VECTORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { VECTORS_ERROR = 512 }; /* bytes of a message, which names the file */

/* What an index is of: `count` vectors of `width` floats, of a model and a text, which hashes tell from others. */
typedef struct vectors_key {
    size_t width, count;
    uint64_t model, text;
} vectors_key;

/* Takes bytes into a hash, which is 0 at first. It keeps from mistakes, not from forgers. */
uint64_t vectors_hash(uint64_t hash, const void *bytes, size_t size);

/* Reads the vectors of an index. Returns 1; 0 where there is no such file, or it has another key: it is out of date; -1
   and a message where the file is no index, not whole, damaged, or cannot be read. Unless it is 1, vectors are lost. */
int vectors_load(const char *path, vectors_key key, float *vectors, char error[VECTORS_ERROR]);

/* Writes an index. Returns 1, or 0 and a message; the file is as it was then. */
int vectors_store(const char *path, vectors_key key, const float *vectors, char error[VECTORS_ERROR]);

/* Writes rows x width floats as numpy.load reads them; to a path that is no file's, such as /dev/stdout, straight. */
int vectors_write_npy(const char *path, const float *vectors, size_t rows, size_t width, char error[VECTORS_ERROR]);

#ifdef __cplusplus
}
#endif
#endif
