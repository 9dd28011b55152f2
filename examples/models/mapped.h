/* mapped.h: the bytes of a file where they lie, mapped where there is mmap and the file is a regular one. Everything is
   static. Include it before any system header, which it asks for POSIX. With -DMAPPED_NEVER nothing is mapped. */
#ifndef MAPPED_H
#define MAPPED_H

#if !defined(_WIN32) && !defined(MAPPED_NEVER)
#define MAPPED_MMAP
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1 /* madvise */
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef MAPPED_MMAP
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifndef O_CLOEXEC
#define O_CLOEXEC 0
#endif
#endif

/* The mapping of a file and its size in bytes; NULL where there can be none, and the file is to be read. */
static inline void *mapped_open(const char *path, size_t *size)
{
    void *mapping = NULL;
#ifdef MAPPED_MMAP
    struct stat status;
    int descriptor;
    if (stat(path, &status) || !S_ISREG(status.st_mode) || (descriptor = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        return NULL;
    if (!fstat(descriptor, &status) && status.st_size > 0 && (uintmax_t)status.st_size <= SIZE_MAX) {
        mapping = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        mapping = mapping == MAP_FAILED ? NULL : mapping;
        *size = (size_t)status.st_size;
    }
    close(descriptor);
#else
    (void)path, (void)size;
#endif
    return mapping;
}

/* The pages within these bytes of a mapping may leave memory; they come back when they are read. */
static inline void mapped_forget(const void *bytes, size_t size)
{
#if defined(MAPPED_MMAP) && defined(MADV_DONTNEED)
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)bytes, begin = (at + page - 1) / page * page;
    if ((at + size) / page * page > begin)
        madvise((void *)begin, (at + size) / page * page - begin, MADV_DONTNEED);
#else
    (void)bytes, (void)size;
#endif
}

static inline void mapped_close(void *mapping, size_t size)
{
#ifdef MAPPED_MMAP
    if (mapping)
        munmap(mapping, size);
#else
    (void)mapping, (void)size;
#endif
}

#endif
