/* vectors.c: see vectors.h. An index is, in bytes of which the lowest comes first: 16 of MAGIC, 8 each of width, count,
   model and text, 4 of each float, and 8 of the hash of all before. */
#include "vectors.h"
#include "shown.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>

static const char MAGIC[] = "attn.h vectors 1";

enum { HEADER = 48, PART = 4096 }; /* bytes before the floats; floats at a time */

static int fail(char *error, const char *path, const char *what, int reason)
{
    char shown[SHOWN_NAME];
    snprintf(error, VECTORS_ERROR, "%s: %s%s%s", shown_name(shown, path), what, reason ? ": " : "",
             reason ? strerror(reason) : "");
    return 0;
}

/* ==== Bytes ====================================================================================================== */

static uint64_t get64(const unsigned char *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
           (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

static void put(unsigned char *p, uint64_t number, int bytes)
{
    int i;
    for (i = 0; i < bytes; i++)
        p[i] = (unsigned char)(number >> (8 * i));
}

uint64_t vectors_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *p = (const unsigned char *)bytes;
    unsigned char last[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    size_t left;
    for (left = size; left >= 8; left -= 8, p += 8) {
        hash = (hash ^ get64(p)) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    if (left)
        memcpy(last, p, left);
    hash = (hash ^ get64(last)) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29 ^ (uint64_t)size) * 0xbf58476d1ce4e5b9u; /* so that zeros at the end count */
    return hash ^ hash >> 32;
}

static void floats_to_bytes(unsigned char *bytes, const float *floats, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++, bytes += 4) {
        uint32_t bits;
        memcpy(&bits, &floats[i], sizeof bits);
        put(bytes, bits, 4);
    }
}

static void bytes_to_floats(float *floats, const unsigned char *bytes, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++, bytes += 4) {
        uint32_t bits =
            (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        memcpy(&floats[i], &bits, sizeof bits);
    }
}

/* ==== Files that appear whole ==================================================================================== */

typedef struct output {
    const char *path;
    char *part; /* what it is called until it is whole; NULL for what is no file, such as /dev/stdout */
    FILE *file;
    uint64_t hash;      /* of what has been written in parts */
    int failed, reason; /* errno of the first failure */
} output;

/* Whether `path` is a file or not there yet. */
static int is_file(const char *path)
{
#ifdef S_ISREG
    struct stat found;
    return stat(path, &found) != 0 || S_ISREG(found.st_mode);
#else
    (void)path;
    return 1;
#endif
}

static int create(output *out, const char *path, char *error)
{
    size_t size = strlen(path) + 40;
    unsigned long now = (unsigned long)time(NULL) ^ (unsigned long)clock() << 16, here = (unsigned long)(uintptr_t)out;
    out->path = path;
    out->part = NULL;
    out->hash = 0;
    out->failed = out->reason = 0;
    if (is_file(path)) {
        out->part = (char *)malloc(size);
        if (!out->part)
            return fail(error, path, "no memory", 0);
        snprintf(out->part, size, "%s.%08lx.part", path, (now ^ here >> 4) & 0xffffffff); /* two programs: two names */
    }
    errno = 0;
    out->file = fopen(out->part ? out->part : path, "wb");
    if (out->file)
        return 1;
    fail(error, path, "cannot be written", errno);
    free(out->part);
    return 0;
}

/* Notes whether something went well. */
static void note(output *out, int well)
{
    if (!well && !out->failed) {
        out->failed = 1;
        out->reason = errno;
    }
}

static void write_bytes(output *out, const void *bytes, size_t size)
{
    errno = 0;
    note(out, fwrite(bytes, 1, size, out->file) == size);
}

static void put_floats(output *out, const float *floats, size_t count)
{
    unsigned char bytes[4 * PART];
    size_t n;
    for (; count && !out->failed; count -= n, floats += n) {
        n = count < PART ? count : (size_t)PART;
        floats_to_bytes(bytes, floats, n);
        out->hash = vectors_hash(out->hash, bytes, 4 * n);
        write_bytes(out, bytes, 4 * n);
    }
}

static int finish(output *out, char *error)
{
    errno = 0;
    note(out, fclose(out->file) == 0);
#ifdef _WIN32
    if (out->part && !out->failed)
        remove(out->path); /* rename does not replace here */
#endif
    if (out->part && !out->failed)
        note(out, rename(out->part, out->path) == 0);
    if (out->part && out->failed)
        remove(out->part);
    if (out->failed)
        fail(error, out->path, "cannot be written", out->reason);
    free(out->part);
    return !out->failed;
}

/* ==== Index ====================================================================================================== */

static void make_header(unsigned char header[HEADER], vectors_key key)
{
    memcpy(header, MAGIC, 16);
    put(header + 16, key.width, 8);
    put(header + 24, key.count, 8);
    put(header + 32, key.model, 8);
    put(header + 40, key.text, 8);
}

/* The rest of an index whose header is right: what is wrong with it, or NULL. */
static const char *read_floats(FILE *file, float *vectors, size_t count, uint64_t hash)
{
    unsigned char bytes[4 * PART];
    size_t n;
    for (; count; count -= n, vectors += n) {
        n = count < PART ? count : (size_t)PART;
        if (fread(bytes, 4, n, file) != n)
            return "is not whole";
        hash = vectors_hash(hash, bytes, 4 * n);
        bytes_to_floats(vectors, bytes, n);
    }
    if (fread(bytes, 1, 8, file) != 8)
        return "is not whole";
    if (get64(bytes) != hash)
        return "is damaged";
    return fread(bytes, 1, 1, file) ? "goes on after its end" : NULL;
}

int vectors_load(const char *path, vectors_key key, float *vectors, char error[VECTORS_ERROR])
{
    unsigned char header[HEADER], want[HEADER];
    const char *cause = NULL;
    size_t size;
    int same = 0, reason = 0;
    FILE *file;
    errno = 0;
    file = fopen(path, "rb");
    if (!file && errno == ENOENT)
        return 0;
    if (!file)
        return fail(error, path, "cannot be read", errno) - 1;
    make_header(want, key);
    size = fread(header, 1, HEADER, file);
    if (size == HEADER && memcmp(header, want, HEADER) == 0) {
        same = 1;
        cause = read_floats(file, vectors, key.width * key.count, vectors_hash(0, header, HEADER));
    } else if (memcmp(header, MAGIC, size < 16 ? size : 16) != 0) {
        cause = "is no index of vectors";
    } else if (size < HEADER) {
        cause = "is not whole";
    }
    if (ferror(file)) {
        cause = "cannot be read";
        reason = errno;
    }
    fclose(file);
    return cause ? fail(error, path, cause, reason) - 1 : same;
}

int vectors_store(const char *path, vectors_key key, const float *vectors, char error[VECTORS_ERROR])
{
    unsigned char header[HEADER], hash[8];
    output out;
    if (!create(&out, path, error))
        return 0;
    make_header(header, key);
    write_bytes(&out, header, HEADER);
    out.hash = vectors_hash(0, header, HEADER);
    put_floats(&out, vectors, key.width * key.count);
    put(hash, out.hash, 8);
    write_bytes(&out, hash, 8);
    return finish(&out, error);
}

/* ==== NumPy ====================================================================================================== */

int vectors_write_npy(const char *path, const float *vectors, size_t rows, size_t width, char error[VECTORS_ERROR])
{
    char header[128];
    output out;
    if (!create(&out, path, error))
        return 0;
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\1\0\x76\0", 10); /* version 1.0; 118 bytes follow, so that numbers begin at 128 */
    header[10 + snprintf(header + 10, sizeof header - 10,
                         "{'descr': '<f4', 'fortran_order': False, 'shape': (%lu, %lu), }", (unsigned long)rows,
                         (unsigned long)width)] = ' ';
    header[127] = '\n';
    write_bytes(&out, header, sizeof header);
    put_floats(&out, vectors, rows * width);
    return finish(&out, error);
}
