/* Vectors in files: what is written is read, what has been changed is not. */
#define _DEFAULT_SOURCE 1 /* mkdtemp with -std=c99 */
#include "test.h"

#include "examples/models/vectors.h"

#if !defined(_WIN32)
#include <dirent.h>
#include <unistd.h>
#endif

enum { WIDTH = 3, COUNT = 1500, SIZE = 48 + 4 * WIDTH * COUNT + 8 };

static char path[64], error[VECTORS_ERROR];

static char directory[] = "/tmp/attn-test-XXXXXX";

/* Sets path, in a directory of this run's own: others may run beside it. */
static int begin(void)
{
#if defined(_WIN32)
    return 0;
#else
    strcpy(directory, "/tmp/attn-test-XXXXXX");
    if (CHECK(mkdtemp(directory) != NULL)) {
        snprintf(path, sizeof path, "%s/vectors", directory);
        return 1;
    }
    return 0;
#endif
}

/* The file is gone, and there was nothing else. */
static void end(void)
{
#if !defined(_WIN32)
    CHECK(remove(path) == 0 && rmdir(directory) == 0);
#endif
}

static size_t read_file(unsigned char *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, most, file) : 0;
    if (file)
        fclose(file);
    return size;
}

static void write_file(const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size);
    if (file)
        CHECK(fclose(file) == 0);
}

/* Nothing is left beside the file. */
static int no_part(void)
{
    int found = 0;
#if !defined(_WIN32)
    DIR *listing = opendir(directory);
    struct dirent *entry;
    if (!CHECK(listing != NULL))
        return 0;
    while ((entry = readdir(listing)) != NULL)
        found += entry->d_name[0] != '.' && strcmp(entry->d_name, "vectors") != 0;
    closedir(listing);
#endif
    return found == 0;
}

static float *random_vectors(void)
{
    float *vectors = (float *)test_block(WIDTH * COUNT * sizeof *vectors);
    for (size_t i = 0; i < WIDTH * COUNT; i++)
        vectors[i] = (float)test_uniform();
    vectors[5] = test_f32(0x7fc12345u); /* a NaN is kept, too */
    return vectors;
}

TEST(vectors_index)
{
    static const size_t broken[] = {0, 15, 16, 47, 48, 1000, SIZE - 9, SIZE - 8, SIZE - 1};
    const vectors_key key = {WIDTH, COUNT, 0x0123456789abcdefu, 42};
    float *vectors = random_vectors(), *again = (float *)test_block(WIDTH * COUNT * sizeof *again);
    unsigned char bytes[SIZE + 1], changed[SIZE + 1];
    if (!begin())
        return;
    test_case("no file");
    CHECK(vectors_load(path, key, again, error) == 0);
    CHECK(vectors_store(path, key, vectors, error) == 1 && no_part());
    CHECK(vectors_load(path, key, again, error) == 1);
    CHECK(memcmp(vectors, again, WIDTH * COUNT * sizeof *again) == 0);
    CHECK(read_file(bytes, SIZE + 1) == SIZE);
    CHECK(memcmp(bytes, "attn.h vectors 1\3\0\0\0\0\0\0\0\334\5\0\0\0\0\0\0\357\315\253\211", 36) == 0);
    for (int member = 0; member < 4; member++) { /* out of date, which is no error */
        vectors_key other = key;
        other.width += member == 0;
        other.count -= member == 1;
        other.model ^= member == 2;
        other.text ^= (uint64_t)(member == 3) << 63;
        test_case("member %d", member);
        CHECK(vectors_load(path, other, again, error) == 0);
    }
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        test_case("cut to %lu bytes", (unsigned long)broken[i]);
        write_file(bytes, broken[i]);
        CHECK(vectors_load(path, key, again, error) == -1 && strncmp(error, path, strlen(path)) == 0);
        CHECK(strstr(error, "is not whole"));
    }
    bytes[SIZE] = 0;
    write_file(bytes, SIZE + 1);
    CHECK(vectors_load(path, key, again, error) == -1 && strstr(error, "goes on after its end"));
    for (size_t n = 0; n < 60; n++) {
        size_t at = n < 16 ? n : 48 + test_below(SIZE - 48);
        memcpy(changed, bytes, SIZE);
        changed[at] ^= (unsigned char)(1u << test_below(8));
        write_file(changed, SIZE);
        test_case("byte %lu", (unsigned long)at);
        CHECK(vectors_load(path, key, again, error) == -1);
        CHECK(strstr(error, at < 16 ? "is no index of vectors" : "is damaged"));
    }
    CHECK(vectors_store(path, key, vectors, error) == 1 && vectors_load(path, key, again, error) == 1); /* made anew */
    end();
    CHECK(vectors_load("/tmp", key, again, error) == -1 && strstr(error, "/tmp: cannot be read"));
    CHECK(vectors_store("/tmp/attn-no-such-directory/x", key, vectors, error) == 0);
    CHECK(strstr(error, "/tmp/attn-no-such-directory/x: cannot be written: "));
    test_release();
}

TEST(vectors_npy)
{
    float *vectors = random_vectors();
    unsigned char bytes[200];
    size_t size;
    if (!begin())
        return;
    CHECK(vectors_write_npy(path, vectors, 2, WIDTH, error) == 1 && no_part());
    size = read_file(bytes, sizeof bytes);
    CHECK(size == 128 + 4 * 2 * WIDTH && memcmp(bytes,
                                                "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, "
                                                "'shape': (2, 3), }  ",
                                                70) == 0);
    CHECK(bytes[127] == '\n' && bytes[126] == ' ');
    for (size_t i = 0; i < 2 * WIDTH && size == 128 + 4 * 2 * WIDTH; i++) {
        const unsigned char *p = bytes + 128 + 4 * i;
        CHECK(test_bits32(vectors[i]) ==
              ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24));
    }
    CHECK(vectors_write_npy(path, vectors, 0, WIDTH, error) == 1 && read_file(bytes, sizeof bytes) == 128);
    end();
    CHECK(vectors_write_npy("/tmp", vectors, 2, WIDTH, error) == 0 && strstr(error, "/tmp: cannot be written"));
    test_release();
}

/* Memory fails: a message, and the file as it was. A device without room, too. */
TEST(vectors_no_room)
{
    const vectors_key key = {WIDTH, COUNT, 1, 2};
    float *vectors = random_vectors(), *again = (float *)test_block(WIDTH * COUNT * sizeof *again);
    long live = test_memory_state.live;
    FILE *full;
    if (!begin())
        return;
    CHECK(vectors_store(path, key, vectors, error) == 1);
    test_memory_state.fail_at = 1;
    CHECK(vectors_store(path, key, again, error) == 0 && strstr(error, "no memory"));
    test_memory_state.fail_at = 0;
    CHECK(vectors_load(path, key, again, error) == 1 && test_memory_state.live == live);
    CHECK(memcmp(vectors, again, WIDTH * COUNT * sizeof *again) == 0);
    end();
    full = fopen("/dev/full", "wb");
    if (full) {
        fclose(full);
        CHECK(vectors_write_npy("/dev/full", vectors, COUNT, WIDTH, error) == 0);
        CHECK(strstr(error, "/dev/full: cannot be written: "));
        CHECK(vectors_write_npy("/dev/full", vectors, 1, WIDTH, error) == 0);
    }
    test_release();
}

/* Hashes of what differs differ. */
TEST(vectors_hashes)
{
    static const unsigned char zeros[40] = {0}, one[40] = {1};
    for (size_t a = 0; a < 40; a++) {
        for (size_t b = 0; b < a; b++)
            CHECK(vectors_hash(0, zeros, a) != vectors_hash(0, zeros, b));
        CHECK(vectors_hash(0, zeros, a) == vectors_hash(0, zeros, a));
        CHECK(vectors_hash(0, zeros, a) != vectors_hash(1, zeros, a));
        CHECK(a == 0 || vectors_hash(0, zeros, a) != vectors_hash(0, one, a));
    }
    CHECK(vectors_hash(0, "abcdefghi", 9) != vectors_hash(0, "abcdefgih", 9));
}
