/* A directory of a test's own, below /tmp, and the files in it. */
#ifndef DIRECTORY_H
#define DIRECTORY_H

#include "test.h"

#if !defined(_WIN32)
#include <sys/stat.h>
#include <unistd.h>
#endif

/* A file's bytes, and a NUL; a block of the test. */
typedef struct contents {
    char *bytes;
    size_t size;
} contents;

static char directory[] = "/tmp/attn-test-XXXXXX";

/* Makes a new one. Returns 0 where there can be none, and says so: `what` is skipped. */
static inline int make_directory(const char *what)
{
#if !defined(_WIN32)
    strcpy(directory, "/tmp/attn-test-XXXXXX");
    if (mkdtemp(directory) != NULL)
        return 1;
#endif
    printf("skip %s: no directory in /tmp\n", what);
    return 0;
}

static inline contents read_all(const char *path)
{
    contents c = {NULL, 0};
    FILE *f = fopen(path, "rb");
    long size;
    if (!CHECK(f != NULL) || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
        abort();
    c.size = (size_t)size;
    c.bytes = (char *)test_block(c.size + 1);
    if (fread(c.bytes, 1, c.size, f) != c.size)
        abort();
    c.bytes[c.size] = 0;
    fclose(f);
    return c;
}

/* The file of that name becomes these bytes; NULL: there is none. */
static inline void write_file(const char *name, const void *bytes, size_t size)
{
    char path[300];
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    remove(path);
    if (!bytes)
        return;
    f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, size, f) == size);
    if (f)
        CHECK(fclose(f) == 0);
}

/* Removes these files, and the directory. */
static inline void remove_directory(const char *const *names, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++)
        write_file(names[i], NULL, 0);
#if !defined(_WIN32)
    rmdir(directory);
#endif
}

#endif
