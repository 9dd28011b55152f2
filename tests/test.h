/* The harness of the tests: checks that name their place and case, matrices in every layout, models to compare with.

   TEST_LEVEL=full in the environment runs the long version, for `make test-everywhere`: more cases of the same kinds,
   which meet more combinations, but no line of attn.h that the short one does not.
   build/test NAME... -NAME... runs only the tests whose name contains a NAME (=NAME: is NAME), and of these not what
   contains a -NAME (-=NAME: is NAME); each test seeds its own random numbers, so a failing case comes back. */
#ifndef ATTN_TEST_H
#define ATTN_TEST_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTN_THREADS
#include "attn.h"
#include "test_malloc.h"

#ifdef __MINGW32__ /* whose macros narrow in branches that are not taken, and say yes with other numbers than 1 */
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#define isnan(x) (__builtin_isnan(x) != 0)
#define isinf(x) (__builtin_isinf(x) != 0)
#define isfinite(x) (__builtin_isfinite(x) != 0)
#define signbit(x) (__builtin_signbit(x) != 0)
#endif

void test_cover(const char *function);
#include "cover.h" /* generated: every call of a public function passes through test_cover() */

/* A test: it runs because it stands in one of the files, which the Makefile searches for lines that begin with this. */
#define TEST(name)                                                                                                     \
    void test_##name(void);                                                                                            \
    void test_##name(void)

extern int test_quick; /* the short version */

typedef long double real; /* what references are computed in */

/* ---- what the implementation is: these are of tests/attn_impl.c ---- */
extern const int test_small; /* ATTN_SMALL */
enum { SPLIT_KEYS = 4096 };  /* keys of a split then */
int test_invariant(void); /* a ctx.batch_invariant that makes rows it: 1, but either for ATTN_SMALL, of which all are */
int test_is_brief(const char *text); /* what that tells of a dry run: in one line, the instruction set and the type */

/* The widest type that it computes in, F64 or, with ATTN_NO_F64, F32; and all of them: F32, that, F16, BF16. What is
   tried of both types meets F32 twice then. A tensor that only the tests compute with may be F64 all the same. */
extern const attn_dtype test_wide, test_floats[4];
int test_lacks_f64(void); /* there is nothing to test of F64 alone */

#define FOR_EACH_FLOAT(type)                                                                                           \
    for (attn_dtype type = ATTN_F32; type <= ATTN_BF16; type = (attn_dtype)(type + 1))                                 \
        if (test_floats[type] == type)

/* ---- checks: each returns whether it held ---- */
#define CHECK(condition) test_check((condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define CHECK_STATUS(call, want) test_check_status(call, want, __FILE__, __LINE__, #call)
#define CHECK_NEAR(got, want, tolerance) test_check_near(got, want, tolerance, __FILE__, __LINE__, #got)

int test_check(int held, const char *file, int line, const char *what);
int test_check_status(attn_status got, attn_status want, const char *file, int line, const char *what);
int test_check_near(real got, real want, real tolerance, const char *file, int line, const char *what);

#if defined(__MINGW_PRINTF_FORMAT) /* stdio's own, which knows %zu; plain printf is that of Windows */
__attribute__((format(__MINGW_PRINTF_FORMAT, 1, 2)))
#elif defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void test_case(const char *format, ...); /* what is being tried: printed with a check that fails */

int test_rank(attn_status s); /* its place in the order of the checks */

/* ---- random numbers ---- */
uint64_t test_random(void);
size_t test_below(size_t n); /* 0 .. n - 1 */
double test_uniform(void);   /* -1 .. 1, 53 random bits */
int test_maybe(void);

/* ---- memory: blocks between guard zones, filled with 0xff (NaN in every float type), freed after each test ---- */
void *test_block(size_t size);
void test_release(void);                                 /* frees every block; a guard zone that changed is a failure */
void test_freeze(void);                                  /* remembers every block's bytes */
int test_wrote_nothing(void);                            /* no block changed since then */
int test_wrote_only(const attn_mat *outs, size_t count); /* nothing but the elements of these changed */

/* Gives ctx a block of scratch, of exactly so many bytes. It begins at a multiple of 64 or, if `odd`, one beyond; or,
   now and then, ends at a fence. What it holds takes turns: NaN, ordinary numbers, 0, and 0 beside large ones; nobody looks at what it holds after a call.
   test_scratch_kept takes it back, and returns 0 if something beside it was written. */
void test_scratch(attn_ctx *ctx, size_t size, int odd);
int test_scratch_kept(attn_ctx *ctx);
extern unsigned test_turn; /* 0 as a test begins */

/* `size` bytes between two fences, memory that nobody may read or write: they end where one begins or, if `low`, begin
   where the other ends. Without mprotect nothing keeps anybody off them. */
void *test_fenced(size_t size, int low);
#if defined(_WIN32) || defined(__wasi__)
enum { TEST_PAGE = 1 << 12 };
#else
enum { TEST_PAGE = 1 << 16 }; /* bytes: whole pages of any processor */
#endif
void test_shut(void *page); /* in fenced memory of whole ones: another fence, until test_release */
int test_keeps_off_fences(void (*call)(void *arg), void *arg); /* calls; 0 if that touched a fence */

/* ---- matrices ---- */
enum test_layout {
    PACKED,
    TRANSPOSED,
    PADDED,
    STRIDED,
    REVERSED,
    MIRRORED,
    OUT_LAYOUTS,
    ONE_ROW = OUT_LAYOUTS,
    ONE_COL,
    LAYOUTS
};

attn_mat test_mat(attn_dtype dtype, size_t rows, size_t cols, int layout);        /* in a block of its own */
attn_mat test_random_mat(attn_dtype dtype, size_t rows, size_t cols, int layout); /* filled, -1 .. 1 */
attn_mat test_mat_like(attn_mat m, int layout); /* same dtype and values, another layout */
attn_mat test_numbers(attn_dtype dtype, size_t rows, size_t cols, const double *values);
void test_fill(attn_mat m, double value);
int test_same_bits(attn_mat a, attn_mat b); /* dtype, shape and every element's bits */
int test_same_mat(attn_mat a, attn_mat b);  /* the very same view */
int test_absent_mat(attn_mat m);
int test_bad_mat(attn_mat m);
void *test_at(attn_mat m, size_t r, size_t c); /* address of an element */
size_t test_size(attn_dtype dtype);
const char *test_dtype_name(attn_dtype dtype);

/* ---- numbers, decoded without the library ---- */
real test_load(const void *element, attn_dtype dtype);
double test_decode(unsigned bits, attn_dtype dtype);  /* the value of an F16 or BF16 */
unsigned test_encode(double value, attn_dtype dtype); /* rounded to nearest even, by searching the table of values */
real test_ulp(real x, attn_dtype dtype);              /* distance to the next value away from zero */
uint32_t test_bits32(float x);
uint64_t test_bits64(double x);
float test_f32(uint32_t bits);
double test_f64(uint64_t bits);
int test_same_nan(uint64_t got, uint64_t want, int bits); /* NaNs of so many bits, their signs on top */
real *test_values(attn_mat m);                            /* row by row, in a block */
real *test_reals(size_t count);
real test_sum(const real *x, size_t count); /* compensated */

/* ---- instruction sets and parallel runners ---- */
#define TEST_LAST_ISA ATTN_ISA_AVX512BF16

#define FOR_EACH_ISA(isa)                                                                                              \
    for (attn_isa isa = ATTN_ISA_SCALAR; isa <= TEST_LAST_ISA; isa = (attn_isa)(isa + 1))                              \
        if (attn_isa_available(isa))

/* For what takes long: without one that differs from another for inputs of BF16 alone, where these are of another
   type. */
#define FOR_EACH_ISA_OF(isa, type)                                                                                     \
    FOR_EACH_ISA (isa)                                                                                                 \
        if (isa == test_without_pairs(isa) || (type) == ATTN_BF16)

/* The same of one case of many: in the short version each is for one or two of the instruction sets, which take turns;
   all of them where there are two. */
#define FOR_ISAS_OF_CASE(isa, type, number)                                                                            \
    FOR_EACH_ISA_OF (isa, type)                                                                                        \
        if (test_has_turn(isa, number))

int test_has_turn(attn_isa isa, size_t number);

/* Does attention of these types multiply pairs of BF16? Then weights are rounded to BF16 before they meet values, which
   moves a result by 2^-8 sum |weight value| at most; nothing else is rounded. Not backward, nor where lists of key
   blocks have an odd kv_len: there the instruction set is test_without_pairs. */
int test_takes_pairs(attn_isa isa, attn_dtype q, attn_dtype k, attn_dtype v);
attn_isa test_without_pairs(attn_isa isa);

/* By how much it moves a result at most; `size` is the sum of |weight value|, or as much. */
real test_pairs_error(attn_isa isa, attn_dtype q, attn_dtype k, attn_dtype v, real size);

/* One that no processor has beside the others. */
#define TEST_ISA_LACKING (attn_isa_available(ATTN_ISA_NEON) ? ATTN_ISA_AVX2 : ATTN_ISA_NEON)

attn_ctx test_ctx(attn_isa isa); /* with this, all else zero */

/* ctx (NULL: all zero) with that dry run, until this is called again; ctx itself where there is none. */
const attn_ctx *test_dry(const attn_ctx *ctx, attn_dry_run *dry);

typedef struct test_runner {
    size_t width, calls, most;
} test_runner;
attn_parallel test_serial_backwards(test_runner *r, size_t width);
attn_parallel test_threads(test_runner *r, size_t width);

/* Calls `call(out, arg, ctx)` under every instruction set and on it every runner, width and scratch: all must give the
   bits of the plain call, call the runner within its width, keep to the scratch, and allocate nothing beside it.
   Returns the most tasks that a run had. */
size_t test_contexts(attn_mat out, attn_status (*call)(attn_mat out, const attn_mat *in, const attn_ctx *ctx),
                     const attn_mat *in);

/* ---- the allocator ---- */
typedef struct test_memory {
    long calls, live, fail_at;
    int fail_all;
    size_t bytes, peak; /* held now, and the most so far */
} test_memory;          /* fail_at: 1 = the next call */
extern test_memory test_memory_state;

/* ---- the steps as a table ---- */
enum { OP_ARGS = 6, OP_SCALE = 1, OP_CTX = 2, OP_IN_PLACE = 4, OP_COPY = 8, OP_ALLOCATES = 16 };

typedef enum { EXACT, NAIVE32, NAIVE64 } test_mode; /* how a model computes: far beyond f64, or step by step as typed */

typedef struct test_op {
    const char *name;
    const char *shapes; /* two letters a matrix, outputs first: i j d e a as in dims[], 1 is 1, h is 2 d */
    int outs, args, flags;
    attn_status (*call)(const attn_mat *m, double scale, const attn_ctx *ctx);
    void (*model)(real *const *m, const size_t *dims, double scale, test_mode mode);
} test_op;

extern const test_op test_ops[];
extern const size_t test_op_count;

enum { DIM_I, DIM_J, DIM_D, DIM_E, DIM_A, DIMS };
const test_op *test_op_named(const char *name);
void test_op_shape(const test_op *op, int arg, const size_t *dims, size_t *rows, size_t *cols);

/* |out - want| <= 2 worst + 4 ulp(want), plus half an ulp of a 16-bit out; NaN where want is NaN. worst is the largest
   |naive - want| of the matrix, and at least half an ulp of the largest sum of magnitudes that the EXACT model met
   since test_size_of_sums was zeroed: where there are few numbers, the naive way may have been lucky. */
extern real test_size_of_sums;
int test_close(attn_mat out, const real *want, const real *naive, attn_dtype compute);

/* Is a real more exact than a double? Not on every processor, nor under valgrind. */
int test_real_is_wider(void);

#endif
