/* attn.h - v0.18.0 - attention for C and C++ in one header - MIT licence, at the end of this file

   Attention lets each of Lq queries look at Lk keys and read a mixture of their values:

       scores  = scale * Q K^T          Lq x Lk    how well each query matches each key
       weights = softmax(scores)        Lq x Lk    each row positive, summing to 1
       out     = weights V              Lq x Dv    each row a weighted mean of the values

   This header computes it in two ways. The steps: one function for each line above and for those around them, on
   matrices, to read and to learn from. The engine: attn_sdpa, one call for all heads of a batch that never holds the
   scores, to use. And what a model needs around it: caches, positions, the multi-head layer, gradients.

   CONTENTS: search for "==== " to walk through this file
       API: types, views, steps, engine, key/value cache, pages, positions, multi-head layer, training, threads
       What is promised: threads, memory, numerics, determinism; versions
       what keeps bits equal
       attention; the plan: options, schedule; the walk, a tile, few rows, weights and scores, keys, rows of a block
       merge, matrix products, softmax, steps, key/value cache, positions, multi-head layer, training
       compiler and configuration, sizes and memory, views, NaN and infinities, arguments, elements, scalar math, the
       kernel table, instruction sets, the ctx, a pool of threads
       the kernels

   WHAT IT DOES
       - float, double, IEEE half and bfloat16, mixed freely, rounded once when stored; any strides
       - grouped queries, causal rules, windows, lengths, masks, biases, ALiBi, softcap, sinks, score_mod, dropout,
         log-sum-exp, weights and scores on demand; exact, in memory that does not grow with the lengths
       - no work for what nobody sees: texts packed without padding, lists of the key blocks that each query sees
       - gradients of all of this, of the multi-head layer and of T5's bias
       - key/value caches, full, as a ring or in pages, in float, half, bfloat16 or 8-bit integers; rotary embeddings,
         ALiBi, T5's bias, sinusoids; multi-head attention with its projections
       - AVX2, AVX-512, NEON or SSE2 found at run time, with no compiler flag; 16-byte vectors or plain C elsewhere
       - your threads, your allocator, your scratch memory, or none of them
       - every argument checked in every build: an error has written nothing, and ctx->fault says which argument, what
         was found there and what would fit
   WHAT IT DOES NOT
       - GPUs; 4-bit elements. MSVC is untested: gcc, clang and tcc are, on eight kinds of processor and MinGW

   QUICK START: this is a whole program; cc -O2 app.c -lm

       #define ATTN_IMPLEMENTATION
       #include "attn.h"
       #include <stdio.h>

       int main(void)
       {
           float q[2][2] = {{1, 0}, {0, 1}}, k[3][2] = {{1, 0}, {0, 1}, {1, 1}}, v[3] = {10, 20, 30}, out[2];
           attn_status status = attn_sdpa(attn_bhld(out, ATTN_F32, 1, 1, 2, 1), attn_bhld(q, ATTN_F32, 1, 1, 2, 2),
                                          attn_bhld(k, ATTN_F32, 1, 1, 3, 2), attn_bhld(v, ATTN_F32, 1, 1, 3, 1),
                                          NULL, NULL);
           printf("%s: %g %g\n", attn_status_string(status), out[0], out[1]);
           return status != ATTN_OK;
       }

   The two NULL are options, such as the causal rule (attn_opts), and threads, scratch and the like (attn_ctx).
   Define ATTN_IMPLEMENTATION in exactly one source file of a program; the others just include attn.h. Compile that file
   with -O2: without it kernels run at a twentieth of their speed (gcc optimises those of AVX2, AVX-512 and NEON all the
   same, as a pragma tells it to). Keep attn.h in a file of its own, out of amalgamations: it includes itself.

   OPTIONS: macros to define before the include
     for the whole program, the same in every file:
       ATTN_API              put before every function: storage class, visibility, dllexport       default: extern
                             In a shared library __attribute__((visibility("hidden"))): where programs are ELF, two
                             versions of attn.h in one process would call each other's functions
       ATTN_THREADS          adds attn_pool_new and attn_pool_free; link with -lpthread where libc needs it
     in any file:
       ATTN_INTERFACE_ONLY   the interface alone, whatever else is defined: for programs of several files
     in the file with ATTN_IMPLEMENTATION:
       ATTN_STATIC           every function is static: a private copy for this file alone
       ATTN_HEADER           "name.h", if you renamed this file (gcc before 12, and other compilers, cannot tell), or
                             compile it by itself
       ATTN_MALLOC(size)     both or neither; ATTN_MALLOC may return NULL, alignment as malloc's   default: malloc, free
       ATTN_FREE(pointer)
       ATTN_NO_STDLIB        no malloc: attn_mat_new fails, and what needs a temporary returns ATTN_ERR_NOMEM. Includes
                             <math.h> at most, and not that with the seven macros below (x86's vectors: <stdlib.h>,
                             but for ATTN_NO_SIMD). Compilers call memcpy, memmove and memset: wasm without a libc,
                             clang --target=wasm32 -ffreestanding, needs these three, or -mbulk-memory
       ATTN_NO_SIMD          only the kernels of ATTN_ISA_SCALAR;                ATTN_NO_AVX512    none of AVX-512
       ATTN_NO_TRAINING      without the functions of "API: training", which other files do not see then either
       ATTN_NO_F64           no compute type double: F64 arguments are ATTN_ERR_DTYPE. What is computed in double inside
                             (merge, rotations, sparsemax) stays
       ATTN_SMALL            the same functions within the same bounds from half the code: every row is computed as
                             ctx.batch_invariant has it, keys are never split, types of 16 bits and integers are widened
                             first; AVX2 or plain C on x86-64; texts of dry runs are one line, those of faults the
                             status's. With scratch a call takes at most 6 KiB of stack, gradients and steps aside;
                             attention of up to 256 dims that has no memory 16 KiB
       ATTN_NO_OPTIMIZE      gcc without -O compiles kernels as it does the rest, for debugging
       ATTN_SQRT ATTN_EXP    double to double, instead of <math.h>; ATTN_POW has two arguments. With all seven -lm is
       ATTN_LOG ATTN_TANH    not needed
       ATTN_SIN ATTN_COS
       ATTN_POW
       ATTN_ASSERT(x)        checks for mistakes of the library itself, never of yours              default: nothing

     KB of code, gcc 12 -O2 for x86-64                                    all functions   a program that calls attn_sdpa
       nothing defined                                                          391                             293
       ATTN_NO_TRAINING                                                         342                             276
       ATTN_NO_F64                                                              299                             194
       ATTN_NO_F64 ATTN_NO_TRAINING                                             258                             186
       ATTN_NO_AVX512                                                           308                             208
       ATTN_NO_SIMD                                                             204                            99.9
       ATTN_SMALL                                                               170                             103
       ATTN_SMALL ATTN_NO_F64                                                   141                            69.7
       ATTN_SMALL ATTN_NO_F64 ATTN_NO_TRAINING                                  105                            56.5
       ATTN_SMALL ATTN_NO_F64 ATTN_NO_TRAINING ATTN_NO_SIMD -Os                89.1                            37.6
*/
#if !defined(ATTN__PASS) && !defined(ATTN__GROUND)

#ifndef ATTN_H
#define ATTN_H

#include <stddef.h>
#include <stdint.h>

#define ATTN_VERSION_MAJOR 0
#define ATTN_VERSION_MINOR 18
#define ATTN_VERSION_PATCH 1
#define ATTN_VERSION (ATTN_VERSION_MAJOR * 10000 + ATTN_VERSION_MINOR * 100 + ATTN_VERSION_PATCH)
#define ATTN_VERSION_STRING "0.18.1"

#ifdef __cplusplus
extern "C" {
#endif

/* ==== API: types ================================================================================================= */

/* The type of one element. 16-bit types are native-endian; a BOOL is one byte, nonzero = true. */
typedef enum attn_dtype {
    ATTN_F32 = 0,
    ATTN_F64,
    ATTN_F16,  /* IEEE 754 binary16 */
    ATTN_BF16, /* the upper half of an F32 */
    ATTN_BOOL,
    ATTN_I8 /* inside an attn_kv_cache or attn_kv_pages only: all others refuse it */
} attn_dtype;

/* What a call came to. Checks are made in the order NULL, DTYPE, SHAPE, OVERFLOW, VALUE, ALIAS, NOMEM, each over the
   arguments from left to right. On anything but ATTN_OK no element of any output has been written. */
typedef enum attn_status {
    ATTN_OK = 0,
    ATTN_ERR_NULL,     /* a required argument is absent, or a bad view (see attn_mat) */
    ATTN_ERR_SHAPE,    /* dimensions do not fit together */
    ATTN_ERR_DTYPE,    /* an element type that does not go here, or with the other arguments */
    ATTN_ERR_VALUE,    /* a number out of its range, a full cache, misaligned data, an instruction set this CPU lacks */
    ATTN_ERR_ALIAS,    /* an output overlaps another argument or itself */
    ATTN_ERR_OVERFLOW, /* dimensions, strides or bytes beyond what the address space holds */
    ATTN_ERR_NOMEM     /* ATTN_MALLOC failed, or there is none (ATTN_NO_STDLIB), or ctx->scratch is too small */
} attn_status;

/* A matrix of rows x cols elements that live elsewhere: element (r, c) is data[r * row_stride + c * col_stride].
   Strides count elements and may be negative, or 0 in an input (one row or column seen many times).
   Absent ("not given", "not wanted"): every member zero. Bad (a constructor failed): data NULL, rows and cols SIZE_MAX;
   every function refuses it with ATTN_ERR_NULL. */
typedef struct attn_mat {
    void *data;
    attn_dtype dtype;
    size_t rows, cols;
    ptrdiff_t row_stride, col_stride;
} attn_mat;

/* The same with four dimensions: batch x heads x len x dim. Absent and bad as for attn_mat. */
typedef struct attn_tensor {
    void *data;
    attn_dtype dtype;
    size_t batch, heads, len, dim;
    ptrdiff_t batch_stride, head_stride, len_stride, dim_stride;
} attn_tensor;

/* The instruction sets the kernels exist for. */
typedef enum attn_isa {
    ATTN_ISA_BEST = 0,  /* the best of the below that this CPU has; for products of BF16 by BF16 see NUMERICS */
    ATTN_ISA_SCALAR,    /* plain C and libm: everywhere, slow, the oracle of the others */
    ATTN_ISA_AVX2,      /* with FMA and F16C */
    ATTN_ISA_AVX512,    /* F, BW, DQ, VL */
    ATTN_ISA_NEON,      /* AArch64 */
    ATTN_ISA_VECTOR128, /* gcc and clang, for every other CPU: SSE2, or the vectors of 16 bytes that the compiler's
                            target has (POWER's VSX, wasm with -msimd128, s390x from -march=z14, RISC-V with V), single
                            numbers where it has none; not beside NEON */
    ATTN_ISA_AVX512BF16 /* AVX512, but for products of BF16 by BF16 (see NUMERICS): in attn_sdpa, caches and pages
                            where q, k and v are BF16 and kv_len of opts.blocks is even; in attn_matmul,
                            attn_matmul_add, attn_mha and its gradients where both factors of a product of matrices
                            are; not in attn_sdpa_backward. gcc has it from 10 on, clang from 9 but for 16,
                            neither with ATTN_NO_AVX512. The number after it is reserved */
} attn_isa;

/* How to run tasks side by side: run() calls task(arg, 0) .. task(arg, count - 1), in any order and on any threads, and
   returns when all are done. width: the most tasks in progress at once (0 = 1). The library calls run() with
   count <= width; tasks never wait for one another. run NULL: everything on the calling thread. */
typedef struct attn_parallel {
    void (*run)(void *user, size_t count, void (*task)(void *arg, size_t index), void *arg);
    void *user;
    size_t width;
} attn_parallel;

/* Which argument a status other than ATTN_OK speaks of: its name as in the prototype, "k", or that of a member,
   "opts.mask"; for ATTN_ERR_ALIAS also the name of the argument that it meets, if that is another: static strings. And
   what was found there and what would fit, "3 heads, where 4 or 1 fit", or what attn_status_string says. */
typedef struct attn_fault {
    const char *argument, *other; /* other: NULL if there is none */
    char text[96];
} attn_fault;

/* ctx->dry_run: the call is checked and planned, not run, and no output is written; as long as it is there a call
   computes nothing. The status is that of the call, but for too small a ctx->scratch; data of matrices and tensors may
   be NULL, of arrays not, which are read as in the call. */
typedef struct attn_dry_run {
    size_t scratch; /* bytes that the call has use for in ctx->scratch; on an error it stays as it was. A function of
                       shapes, dtypes, strides, which options are present, and the ctx's instruction set, width and
                       batch_invariant, never of contents */
    char *text;     /* NULL, or gets how the call would run: instruction set, tiles, tasks, scratch, what is copied and
                       why; for one that would fail, the argument and what is wrong with it. */
    size_t text_size; /* It is cut to so many bytes, and terminated if that is not 0. Not 0 without text: NULL */
} attn_dry_run;

/* Where and how a call runs. NULL or all zero: this thread, ATTN_MALLOC, best instruction set.
   scratch: scratch_size bytes, any alignment, shared out among `width` tasks; with it nothing is allocated.
   batch_invariant: 0, few rows, as in decoding, take kernels of their own, which are faster for them and add in another
   order. 1, all rows take these, in products (attn_matmul_ctx, attn_matmul_add), attn_sdpa, caches, pages, attn_mha and
   attn_mha_backward: a row has the same bits whatever number of rows is computed beside it. Many rows take up to 2.5
   times as long then, in attention with D of less than 64 up to 6 times, few no longer. See DETERMINISM.
   A ctx with scratch, fault or dry_run serves one call at a time. */
typedef struct attn_ctx {
    attn_parallel parallel;
    void *scratch;
    size_t scratch_size;
    attn_isa isa;
    attn_fault *fault; /* written on an error, else left as it was; NULL: not wanted */
    int batch_invariant;
    attn_dry_run *dry_run; /* NULL: the call is run */
} attn_ctx;

#ifndef ATTN_API
#if defined(ATTN_STATIC) && (defined(__GNUC__) || defined(__clang__))
#define ATTN_API static __attribute__((unused))
#elif defined(ATTN_STATIC)
#define ATTN_API static
#else
#define ATTN_API extern
#endif
#endif

/* A view may be made over an output that holds nothing yet: gcc takes a const pointer for one that is read. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define ATTN__UNREAD(argument) __attribute__((access(none, argument)))
#else
#define ATTN__UNREAD(argument)
#endif

ATTN_API int attn_version(void);                             /* ATTN_VERSION of the compiled implementation */
ATTN_API const char *attn_status_string(attn_status status); /* one line of English; never NULL */
ATTN_API const char *attn_isa_string(attn_isa isa);          /* "avx512", ...; never NULL */
ATTN_API int attn_isa_available(attn_isa isa);               /* 1 when this build and this CPU have it */

/* ==== API: views =================================================================================================

   An attn_mat is a pointer, a type, two sizes and two strides. It owns nothing and is passed by value. Element
   (r, c) is data[r * row_stride + c * col_stride], in elements. attn_mat_of makes a packed one; attn_mat_t,
   attn_mat_rows and attn_mat_cols make others from it; or fill in the members. Data is aligned to its element type.
   An attn_tensor has four sizes and strides: batch, heads, len, dim. attn_bhld and attn_blhd make packed ones.
   Absent (every member zero: `attn_mat m = {0}`, in C++ `{}`) means "not given" or "not wanted", where the
   prototype allows it.
   A constructor that fails returns a bad view instead, which every function refuses: a failed slice is never
   mistaken for an absent argument.
   An output may not share an element with another argument, nor two of its own elements an address; where the
   identical view in place is fine, the prototype says so. Interleaved buffers are fine: views with equal strides
   whose elements fall between one another. */

/* A packed row-major rows x cols matrix over `data`, which stays the caller's. Overflow: a bad view. */
ATTN_API attn_mat attn_mat_of(const void *data, attn_dtype dtype, size_t rows, size_t cols) ATTN__UNREAD(1);

/* The same over memory of its own, zero-filled. Overflow, no memory or an unknown dtype: a bad view. */
ATTN_API attn_mat attn_mat_new(attn_dtype dtype, size_t rows, size_t cols);

/* Frees what attn_mat_new gave; leaves an absent view. NULL, absent and bad views are fine. */
ATTN_API void attn_mat_free(attn_mat *m);

/* The transpose, cols x rows: strides change places, nothing moves. */
ATTN_API attn_mat attn_mat_t(attn_mat m);

/* Rows (columns) first .. first + count - 1. Out of range: a bad view. */
ATTN_API attn_mat attn_mat_rows(attn_mat m, size_t first, size_t count);
ATTN_API attn_mat attn_mat_cols(attn_mat m, size_t first, size_t count);

/* One element as a double, of any dtype. Out of range: NaN; set: no effect. set rounds once, to nearest even. */
ATTN_API double attn_mat_get(attn_mat m, size_t r, size_t c);
ATTN_API void attn_mat_set(attn_mat m, size_t r, size_t c, double value);

/* out = in, both R x C, of any two dtypes: each element is rounded once, to nearest even; BOOL becomes 0 or 1.
   Equal dtypes keep every bit. The identical view in place is legal. */
ATTN_API attn_status attn_mat_copy(attn_mat out, attn_mat in);

/* Packed tensors over `data`, in the two usual orders of memory. Both are indexed batch, head, position, dim.
   Overflow: a bad view. */
ATTN_API attn_tensor attn_bhld(const void *data, attn_dtype dtype, size_t B, size_t H, size_t L, size_t D)
    ATTN__UNREAD(1);
ATTN_API attn_tensor attn_blhd(const void *data, attn_dtype dtype, size_t B, size_t L, size_t H, size_t D)
    ATTN__UNREAD(1);

/* Any strides, in elements. Overflow: a bad view. */
ATTN_API attn_tensor attn_tensor_of(const void *data, attn_dtype dtype, size_t B, size_t H, size_t L, size_t D,
                                    ptrdiff_t batch_stride, ptrdiff_t head_stride, ptrdiff_t len_stride,
                                    ptrdiff_t dim_stride) ATTN__UNREAD(1);

/* q (H heads), k and v (Hkv heads) as views of a packed projection [B][L][(H + 2 Hkv) D]: the product of the tokens and
   one matrix for all three. On an error those that are given become bad views. data NULL is no error here: who takes
   the views refuses them with ATTN_ERR_NULL, unless they have no elements. */
ATTN_API attn_status attn_qkv(attn_tensor *q, attn_tensor *k, attn_tensor *v, const void *data, attn_dtype dtype,
                              size_t B, size_t L, size_t H, size_t Hkv, size_t D) ATTN__UNREAD(4);

/* Positions first .. first + count - 1 of every head. Out of range: a bad view. */
ATTN_API attn_tensor attn_tensor_slice(attn_tensor t, size_t first, size_t count);

/* An L x (heads * D) matrix seen as 1 x heads x L x D: head h is columns h*D .. h*D + D - 1.
   heads 0 or no divisor of cols: a bad view; an absent matrix stays absent. */
ATTN_API attn_tensor attn_heads(attn_mat m, size_t heads);

/* Head h of batch item b as an L x D matrix. Out of range: a bad view. */
ATTN_API attn_mat attn_head(attn_tensor t, size_t b, size_t h);

/* ==== API: steps =================================================================================================

   One function for each step of attention. Letters: Lq, Lk number of queries and keys, D size of a query and a key,
   Dv size of a value. Types: when the first input is F64 every matrix must be; otherwise F32, F16 and BF16 mix freely,
   are computed in F32, and are rounded to nearest even when stored. The bits of a row of a product may depend on how
   many there are, as with a ctx without batch_invariant: DETERMINISM. */

/* out = a b, with a M x K, b K x N, out M x N. K = 0 gives zeros. a b^T is attn_matmul(out, a, attn_mat_t(b)). */
ATTN_API attn_status attn_matmul(attn_mat out, attn_mat a, attn_mat b);

/* out = scale q k^T: how well query i matches key j. q Lq x D, k Lk x D, out Lq x Lk; D = 0 is ATTN_ERR_SHAPE.
   scale 0 means 1/sqrt(D); pass 1 for the raw product.                                Vaswani 2017, arXiv 1706.03762 */
ATTN_API attn_status attn_scores(attn_mat out, attn_mat q, attn_mat k, double scale);

/* out = q w k^T, with w Dq x Dk: the general score. NOMEM: needs an Lq x Dk temporary.  Luong 2015, arXiv 1508.04025 */
ATTN_API attn_status attn_scores_general(attn_mat out, attn_mat q, attn_mat k, attn_mat w);

/* out[i][j] = sum over a of v[a] tanh((q wq)[i][a] + (k wk)[j][a]): the additive score, with wq Dq x A, wk Dk x A,
   v A x 1. NOMEM: needs (Lq + Lk) x A temporaries.                                    Bahdanau 2014, arXiv 1409.0473 */
ATTN_API attn_status attn_scores_additive(attn_mat out, attn_mat q, attn_mat k, attn_mat wq, attn_mat wk, attn_mat v);

/* out[i][j] = beta cos(q_i, k_j); a zero vector gives 0, unless the other has NaN or infinity.
   NOMEM: needs (Lq + Lk) x D temporaries.                                               Graves 2014, arXiv 1410.5401 */
ATTN_API attn_status attn_scores_cosine(attn_mat out, attn_mat q, attn_mat k, double beta);

/* Each row of out = exp(in - max) / sum, Lq x Lk. In place is legal. A row with NaN or +infinity is NaN in every
   element; a row of -infinity (nothing to attend to) is zeros. */
ATTN_API attn_status attn_softmax(attn_mat out, attn_mat in);

/* Softmax with zeros: rows are positive or 0 and sum to 1; what is 1 (entmax15: 2) below the largest, or less, is 0.
   sparsemax: max(in - t, 0), of all such rows the one nearest to in; entmax15: max(in / 2 - t, 0)^2, between that and
   softmax. The t of each row is found to the last bits of double. All Lq x Lk; in place is legal; NaN and infinities as
   in attn_softmax.
                                      Martins, Astudillo 2016, arXiv 1602.02068; Peters 2019, arXiv 1905.05702 */
ATTN_API attn_status attn_sparsemax(attn_mat out, attn_mat in);
ATTN_API attn_status attn_entmax15(attn_mat out, attn_mat in);

/* out[j][d] = weights[0][j] v[j][d]: each value by its weight, before the sum. weights 1 x Lk, v and out Lk x Dv. */
ATTN_API attn_status attn_weighted_values(attn_mat out, attn_mat weights, attn_mat v);

/* out = weights v: the context vectors. weights Lq x Lk, v Lk x Dv, out Lq x Dv. */
ATTN_API attn_status attn_weighted_sum(attn_mat out, attn_mat weights, attn_mat v);

/* out = [heads[0] heads[1] ...]: `count` matrices side by side; out has their rows and the sum of their columns. */
ATTN_API attn_status attn_concat_heads(attn_mat out, const attn_mat *heads, size_t count);

/* The way back, without copying: heads[h] becomes the view of columns h*D .. h*D + D - 1 of `in`, D = cols / count.
   count 0 or no divisor of cols: ATTN_ERR_SHAPE. */
ATTN_API attn_status attn_split_heads(attn_mat *heads, size_t count, attn_mat in);

/* One head, the steps in order, to read: out = softmax(scale q k^T) v. q Lq x D, k Lk x D, v Lk x Dv, out Lq x Dv.
   weights: Lq x Lk of any float type, receives the softmax; or absent. Asking for it does not change out.
   scale as in attn_scores. NOMEM: needs an Lq x Lk temporary, unless weights has the compute type. */
ATTN_API attn_status attn_attention(attn_mat out, attn_mat weights, attn_mat q, attn_mat k, attn_mat v, double scale);

/* attn_matmul and attn_softmax with threads, instruction set, scratch and batch_invariant; out = alpha a b. ctx may be
   NULL. Both never return NOMEM: memory only makes them faster. */
ATTN_API attn_status attn_matmul_ctx(attn_mat out, attn_mat a, attn_mat b, double alpha, const attn_ctx *ctx);
ATTN_API attn_status attn_softmax_ctx(attn_mat out, attn_mat in, const attn_ctx *ctx);

/* ==== API: engine ================================================================================================

   All of attention in one call, over batch and heads, without ever holding the score matrix. In exact arithmetic it
   equals the steps, head by head; the order is always: dot, scale, softcap, + bias, + ALiBi, score_mod, mask, softmax.
   Letters: B batch, H query heads, Hkv key/value heads, Lq and Lk number of queries and keys, D size of a query and a
   key, Dv size of a value. */

/* The rule j <= i + o: query i, at position i + o of the keys, sees no key after itself. i + o saturates. */
typedef enum attn_causal {
    ATTN_CAUSAL_NONE = 0,    /* every key. o = causal_offset[b], or 0 without it, for window and ALiBi */
    ATTN_CAUSAL_UPPER_LEFT,  /* o = 0: the first query sees the first key */
    ATTN_CAUSAL_LOWER_RIGHT, /* o = kv_lens[b] - q_lens[b], valid lengths: the last query sees the last key */
    ATTN_CAUSAL_OFFSET       /* o = causal_offset[b], which must be given */
} attn_causal;

/* Shows only keys i + o - left .. i + o + right; -1 = unlimited on that side. left = L shows L + 1 keys, the query's
   own included: Hugging Face's sliding_window = W and ONNX Runtime's local_window_size = W are left = W - 1
   (ONNX Runtime before September 2025: left = W). */
typedef struct attn_window {
    int on;                /* 0: no window, whatever left and right are */
    ptrdiff_t left, right; /* >= -1; not looked at without `on` */
} attn_window;

/* Which scores attn_opts.scores receives. */
typedef enum attn_stage {
    ATTN_STAGE_DOT = 0, /* scale q k^T */
    ATTN_STAGE_SOFTCAP, /* after softcap */
    ATTN_STAGE_FINAL    /* biased, modified, masked = -infinity: what softmax sees, but for rounding (NUMERICS) */
} attn_stage;

/* Edits `count` scores in place, of query i of head h of item (or text) b against keys j0, j0 + 1, ...; `scores` points
   to float or double, the compute type. It may meet keys that the mask hides (the result is discarded), but never tiles
   that are skipped; it may be called from several threads, and again for the same scores: when weights or scores are
   wanted, or where a value is NaN or infinite. */
typedef void (*attn_score_mod)(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0);

/* Weights become 0 with probability p, and the others 1 / (1 - p) times as large, for training. Which ones, says a
   counter-based generator: a function of (seed, b, h, i, j) alone, whatever the types and the instruction set; take
   another seed for each layer and step. 0 <= p < 1; p 0: none, the seed is not looked at. A weight is multiplied by 0,
   so that a dropped value of NaN or infinity gives NaN. The queries and keys of each call count from 0: parts that
   attn_merge joins are not the whole.                                         Srivastava 2014, JMLR 15(56) */
typedef struct attn_dropout {
    double p;
    uint64_t seed;
} attn_dropout;

/* Which keys each query sees, by blocks: key block n is keys n kv_len .. n kv_len + kv_len - 1, and queries s q_len ..
   s q_len + q_len - 1 see the key blocks index[b][h][s][0], index[b][h][s][1], .., of which the first count[b][h][s]
   hold, strictly ascending; none is fine. kv_len 1: single keys, the top k of each query. A key is seen if it is listed
   and nothing else hides it. The bits are those of the equal mask. Keys that are not listed are not read: time follows
   what is listed, a key of a narrow block taking more than one of a wide one. But scores before ATTN_STAGE_FINAL look
   at whole tiles of 128 keys, or for few rows of 256; the way back at those of 128.
                      Child 2019, arXiv 1904.10509; Zaheer 2020, arXiv 2007.14062; Yuan 2025, arXiv 2502.11089 */
typedef struct attn_blocks {
    size_t q_len, kv_len;  /* queries and keys of a block; the last ones may be shorter */
    const uint32_t *index; /* [batch][heads][ceil(Lq / q_len)][width] */
    const uint32_t *count; /* [batch][heads][ceil(Lq / q_len)], each <= width */
    size_t batch, heads;   /* of the lists: 1 or B; 1, Hkv or H */
    size_t width;
} attn_blocks;

/* Every option of attn_sdpa. All zero (`attn_opts opts = {0}`, in C++ `{}`): every query attends to every key. */
typedef struct attn_opts {
    /* visibility: a key that is hidden is no part of any arithmetic, NaN or garbage there changes nothing */
    attn_causal causal;
    const ptrdiff_t *causal_offset; /* [B], or [sequences]; may be negative. In a cache it goes with every rule */
    attn_window window;
    attn_tensor mask;      /* BOOL, true = attend; B x H x Lq x Lk, where any dimension may be 1: broadcast */
    const size_t *q_lens;  /* [B], valid queries <= Lq; rows past them are zeros, their lse -infinity */
    const size_t *kv_lens; /* [B], valid keys <= Lk; those past them are never read */
    attn_blocks blocks;    /* lists of key blocks; absent = all zero */

    /* packed texts: many, without padding. q is 1 x H x Lq x D, and text s has its rows q_starts[s] .. q_starts[s + 1]
       - 1; k and v are 1 x Hkv x Lk x D and Dv, with kv_starts. Each text is attended as if alone: i and j count from
       its first row, b is s, causal_offset has an element for each. Queries past the last text are zeros, their lse
       -infinity; keys past it are never read. With q_lens, kv_lens, mask, bias, blocks, weights, scores or a cache:
       ATTN_ERR_VALUE */
    size_t sequences;        /* texts; 0: off, the starts are not looked at */
    const size_t *q_starts;  /* [sequences + 1], the first 0, not decreasing, the last <= Lq */
    const size_t *kv_starts; /* the same for keys, the last <= Lk */

    /* scores */
    double scale;     /* 0 = 1/sqrt(D); negative is legal */
    double softcap;   /* 0 = off; else score = softcap tanh(score / softcap)       Gemma 2, arXiv 2408.00118 */
    attn_tensor bias; /* any float type, added; broadcast as mask is; -infinity hides as mask = 0 does */
    const float
        *alibi_slopes;  /* [H], adds -slope |i + o - j|                             Press 2021, arXiv 2108.12409 */
    const float *sinks; /* [H], one more logit in the denominator only               Xiao 2023, arXiv 2309.17453 */
    attn_score_mod score_mod;
    void *score_mod_user;
    attn_dropout dropout; /* of the weights: lse is without it, opts.weights shows what was used. Not in a cache */

    /* more outputs, of any float type; asking for them does not change out */
    attn_tensor lse;     /* B x H x Lq x 1: natural log of the sum of exp of the row's scores, sinks included */
    attn_tensor weights; /* B x H x Lq x Lk: the probabilities */
    attn_tensor scores;  /* B x H x Lq x Lk, as of scores_stage; -infinity past the valid lengths */
    attn_stage scores_stage;
} attn_opts;

/* All heads, fused, to use: out = softmax(scale q k^T) v for every head, with every option. q is B x H x Lq x D,
   k B x Hkv x Lk x D, v B x Hkv x Lk x Dv, out B x H x Lq x Dv. H is a multiple of Hkv: query head h reads key/value
   head h / (H / Hkv). A k or v shared by the whole batch has batch_stride 0. opts and ctx may be NULL.
   A score of -infinity, however it came about, hides its key. A row with nothing to attend to is zeros: weights 0, lse
   -infinity, or the sink if there is one. A NaN or +infinity among its scores (after softcap) or for a sink makes a row
   NaN, with its lse and weights. Lk = 0 is the empty row; D = 0 is ATTN_ERR_SHAPE.
   VALUE: scale or softcap not finite in the compute type, softcap < 0 or subnormal there, a window side < -1, a length
   beyond Lq or Lk, dropout.p not in 0 <= p < 1, an unknown enum; starts that do not begin with 0, decrease or go beyond
   the rows; with lists of blocks, q_len or kv_len 0, a count > width, an index beyond the keys or not ascending.
   NOMEM: ctx->scratch too small (see attn_dry_run; it does not grow with Lq, nor with Lk beyond one tile, or 32 splits
   where there are fewer blocks of queries than tasks, or fewer items, whose key heads lie side by side; with ATTN_SMALL
   once more beyond 4096 keys), or ATTN_MALLOC failed.
                                                      Vaswani 2017, arXiv 1706.03762; Dao 2022, arXiv 2205.14135 */
ATTN_API attn_status attn_sdpa(attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v, const attn_opts *opts,
                               const attn_ctx *ctx);

/* Two results over disjoint sets of keys become one, in place: (out, lse) takes in (out_b, lse_b). For rings and split
   attention: keep the parts in F32 or F64, and give sinks to exactly one of them. out is B x H x Lq x Dv, lse
   B x H x Lq x 1 of any float type. A side with lse -infinity is empty, whatever its out; NaN or +infinity in an lse
   makes the row NaN. Computed in double, whatever the types. */
ATTN_API attn_status attn_merge(attn_tensor out, attn_tensor lse, attn_tensor out_b, attn_tensor lse_b);
ATTN_API attn_status attn_merge_ctx(attn_tensor out, attn_tensor lse, attn_tensor out_b, attn_tensor lse_b,
                                    const attn_ctx *ctx);

/* ==== API: key/value cache =======================================================================================

   Keys and values of the tokens so far, for models that make one token after another: append the new rows, attend with
   the new queries. Items of a batch may have different lengths. A ring keeps the newest `capacity` tokens of each item
   and forgets the others; tokens keep their numbers, counted from the first ever appended. */

/* Made by attn_kv_cache_init; to read, not to write. Or by attn_kv_cache_over, which says what may be written. */
typedef struct attn_kv_cache {
    attn_tensor k, v;           /* B x Hkv x capacity x D and Dv; token j lies at j % capacity */
    float *k_scales, *v_scales; /* I8: [B][Hkv][capacity], a row is its integers times its scale; else NULL */
    size_t *lens;               /* [B] tokens appended so far, less those truncated */
    size_t *first;              /* [B] the oldest token still there: 0 unless a ring has dropped some; NULL: all 0 */
    int ring;
    void *own;         /* what attn_kv_cache_free frees, or NULL */
    attn_fault *fault; /* as in attn_ctx, of append, truncate, reorder, copy and row; NULL after attn_kv_cache_init and
                          _over, then the program may set it */
} attn_kv_cache;

/* *bytes = the storage that such a cache needs; the arguments of attn_kv_cache_init. */
ATTN_API attn_status attn_kv_cache_size(size_t *bytes, size_t B, size_t Hkv, size_t capacity, size_t D, size_t Dv,
                                        attn_dtype dtype, int ring);

/* An empty cache. dtype F32, F16, BF16, or I8: each row of integers -127 .. 127 with one float scale, its largest
   magnitude / 127, so that an element is off by at most half a scale and one rounding; a row with NaN, infinity or what
   float does not hold is NaN throughout.
   storage: attn_kv_cache_size bytes, any alignment, the caller's until the last use of the cache; NULL (and size 0):
   from ATTN_MALLOC. What *cache was before is not looked at, nor freed; on an error it stays as it was: begin with {0}.
   SHAPE: capacity or D is 0. NOMEM: size is too small, or ATTN_MALLOC failed. */
ATTN_API attn_status attn_kv_cache_init(attn_kv_cache *cache, size_t B, size_t Hkv, size_t capacity, size_t D,
                                        size_t Dv, attn_dtype dtype, int ring, void *storage, size_t size);

/* A cache over memory that the program owns, where it lies: k B x Hkv x capacity x D, v B x Hkv x capacity x Dv, F32,
   F16 or BF16, of any strides (a layer of [layer][capacity][Hkv][D] is an attn_blhd with B = 1); lens[b] tokens are
   there already. first: [B], for a ring; NULL: no ring. The program may set lens and first between calls, and keeps all
   four until the last use of the cache; each layer has lens of its own. v may be a part of the rows of k, its dims
   d .. d + Dv - 1 (multi-head latent attention: d = 0); attn_kv_cache_append then takes an absent v. Where k and v
   share memory otherwise, or rows of one do, they can be read: what would write them returns ATTN_ERR_ALIAS.
   What *cache was before is not looked at, nor freed. SHAPE: capacity or D is 0.
   VALUE: lens[b] - first[b] beyond the capacity, or negative; so in every function that takes the cache. */
ATTN_API attn_status attn_kv_cache_over(attn_kv_cache *cache, attn_tensor k, attn_tensor v, size_t *lens,
                                        size_t *first);

/* Frees what attn_kv_cache_init allocated; leaves all zero. NULL and all zero are fine. */
ATTN_API void attn_kv_cache_free(attn_kv_cache *cache);

/* Appends the first lens[b] rows of each item of k (B x Hkv x L x D) and v (B x Hkv x L x Dv); lens NULL: all L. Any
   float types, rounded once to the cache's. A ring drops its oldest tokens for them, though queries to come may need
   those; more rows than it holds are legal. v is absent if the cache's v is a part of its k, and only then.
   VALUE: lens[b] > L, or the cache is no ring and an item would outgrow its capacity; then no item has changed. */
ATTN_API attn_status attn_kv_cache_append(attn_kv_cache *cache, attn_tensor k, attn_tensor v, const size_t *lens);

/* Item b forgets all but its first len tokens. What a ring has dropped does not come back. VALUE: no such item, or it
   has fewer. */
ATTN_API attn_status attn_kv_cache_truncate(attn_kv_cache *cache, size_t b, size_t len);

/* Item b becomes what item from[b] was, for all b at once: the step of a beam search. Needs no memory; beside the rows
   it takes B^2 steps.
   VALUE: from[b] >= B. */
ATTN_API attn_status attn_kv_cache_reorder(attn_kv_cache *cache, const size_t *from);

/* Item `to` becomes the first len tokens of item `from`, for texts that begin alike; what a ring has dropped stays
   dropped. VALUE: no such item, or `from` has fewer. */
ATTN_API attn_status attn_kv_cache_copy(attn_kv_cache *cache, size_t to, size_t from, size_t len);

/* The key (values 0) or value (else) of one token of item b, out Hkv x D or Dv of any float type: as the cache has it,
   I8 times its scale. VALUE: no such item, or a token that is not there. */
ATTN_API attn_status attn_kv_cache_row(attn_mat out, const attn_kv_cache *cache, size_t b, int values, size_t token);

/* attn_sdpa of queries against a cache: q is B x H x Lq x D, out B x H x Lq x Dv, neither of them F64. The queries of
   item b, all Lq or the first q_lens[b], belong to its newest tokens: o = lens[b] - q_lens[b]. Give q_lens what append
   was given as lens. Where they are others (a tree of drafts, which a mask arranges; a text read once more), any rule
   takes causal_offset: o = causal_offset[b]. UPPER_LEFT, LOWER_RIGHT and OFFSET, which must have it, all mean
   j <= i + o here. For cross-attention append the other text once and leave the rule NONE; there may be more queries
   than tokens then. Key j is token j, of a ring too; mask, bias, weights, scores have Lk = the largest of cache->lens;
   a mask or bias may have the cache's capacity instead, if that is not less, of which the first Lk columns count. The
   bits are those of attn_sdpa over keys in one tensor; those of I8 are near them (NUMERICS).
   A ring is for windows: L tokens appended at once and attended by L queries need left + L <= capacity. Feed longer
   texts in chunks of capacity - left tokens; or, if the ring is empty, run attn_sdpa over the text and append it then.
   Tokens that a ring has dropped have weight 0 and scores -infinity. A dry run tells the scratch for as many tokens as
   there may ever be; shapes of mask, bias, weights and scores, and the blocks that may be listed, are for today's.
   VALUE: opts->kv_lens or dropout given; cache.first: causal and window show a query a lost token that neither mask nor
   blocks hide (a bias of -infinity does not count). */
ATTN_API attn_status attn_kv_cache_attend(attn_tensor out, attn_tensor q, const attn_kv_cache *cache,
                                          const attn_opts *opts, const attn_ctx *ctx);

/* ==== API: pages =================================================================================================

   A cache in pages, as servers keep it: keys and values lie in pages of page_len tokens, and a table says which page
   holds which tokens of an item. The program owns pages and table: items that begin with the same text may name the
   same pages, and pages that no query will see again may be given away.              Kwon 2023, arXiv 2309.06180 */
typedef struct attn_kv_pages {
    attn_tensor k, v;           /* pages x Hkv x page_len x D and Dv, any strides; F32, F16, BF16 or I8 */
    float *k_scales, *v_scales; /* I8: [pages][Hkv][page_len], as in attn_kv_cache; else NULL */
    const uint32_t *table;      /* token j of item b is in page table[b * table_stride + j / page_len], */
    size_t table_stride;        /* row j % page_len; an item has room for table_stride * page_len tokens */
    size_t batch;               /* B */
    size_t *lens;               /* [B] tokens so far: 0 at first; the program may set them */
    attn_fault *fault;          /* as in attn_ctx, of append; NULL: not wanted */
} attn_kv_pages;

/* Appends rows to the pages that the table names: as attn_kv_cache_append; v may be absent as there. The table must
   name a page for them, and no two items the same one, which is not checked.
   VALUE: lens[b] > L; an item would outgrow its room; a page number >= that of pages; then nothing has changed. */
ATTN_API attn_status attn_kv_pages_append(const attn_kv_pages *pages, attn_tensor k, attn_tensor v, const size_t *lens);

/* attn_sdpa of queries against pages: as attn_kv_cache_attend, with the same bits. A page is not read, nor its number
   in the table, if causal, window, lens and blocks hide all of it from every query; but scores before ATTN_STAGE_FINAL
   are those of all tokens.
   VALUE: as there; the number of a page to be read >= the number of pages; lens[b] beyond the room of an item. */
ATTN_API attn_status attn_kv_pages_attend(attn_tensor out, attn_tensor q, const attn_kv_pages *pages,
                                          const attn_opts *opts, const attn_ctx *ctx);

/* ==== API: positions =============================================================================================

   Attention by itself does not know the order of its keys. Rotations turn queries and keys by their positions, biases
   add to the scores by distance, sinusoids are added to the tokens. */

/* Options of attn_rope; all zero: the first and second half of D are rotated, base 10000, positions 0, 1, .. */
typedef struct attn_rope_opts {
    int interleaved; /* 0: pairs (d, d + dim/2), as Hugging Face's checkpoints, Llama's included, and GPT-NeoX;
                        1: pairs (2d, 2d + 1), as the paper, GPT-J, Meta's own Llama files and llama2.c */
    size_t dim;      /* rotates elements 0 .. dim - 1, even; the others are copied. 0 = D */

    double base;               /* pair d rotates by base^(-2d/dim) for each position; 0 = 10000 */
    const double *frequencies; /* [dim/2], instead; see attn_rope_frequencies */
    double scale;              /* what is rotated is multiplied by it; 0 = 1 */
    int transposed;            /* the other way round, by the negative angle: what the gradient passes through */

    ptrdiff_t offset;           /* position of row i: offset + i, */
    const ptrdiff_t *positions; /* or offset + positions[b * batch_stride + i * len_stride]; the sum saturates */
    ptrdiff_t position_batch_stride, position_len_stride; /* both 0: packed [B][L] */

    attn_mat cos, sin; /* positions x dim/2, any float types, in place of base and frequencies: ONNX's caches */
} attn_rope_opts;

/* Rotates pair d of each row by angle position * frequency d: (x, y) -> (x cos - y sin, x sin + y cos). in and out
   B x H x L x D of any float types; in place is legal. Computed in double, rounded once: the angle is off by position
   2^-53 at most, and one that is not finite makes NaN. opts may be NULL. SHAPE: D odd with dim 0; cos or sin not of
   dim/2 columns, or not of equally many rows. NULL: one of them alone. VALUE: dim odd or > D; base negative, or
   it or 1 / base not finite; scale or a frequency not finite; a position beyond the rows of cos.
                                                                                          Su 2021, arXiv 2104.09864 */
ATTN_API attn_status attn_rope(attn_tensor out, attn_tensor in, const attn_rope_opts *opts);

typedef enum attn_rope_scaling_kind {
    ATTN_ROPE_PLAIN = 0,
    ATTN_ROPE_LINEAR,   /* frequencies / factor                                        Chen 2023, arXiv 2306.15595 */
    ATTN_ROPE_NTK,      /* base * factor^(dim/(dim-2)): the highest frequency stays, the lowest is divided by factor */
    ATTN_ROPE_YARN,     /* between PLAIN and LINEAR, by the number of a pair           Peng 2023, arXiv 2309.00071 */
    ATTN_ROPE_LLAMA3,   /* between the two, by the rotations of a pair                Dubey 2024, arXiv 2407.21783 */
    ATTN_ROPE_LONGROPE, /* each frequency / factors[d]                                 Ding 2024, arXiv 2402.13753 */
    ATTN_ROPE_PROPORTIONAL /* the first pairs, by `share`, as LINEAR; the others do not turn                  Gemma 4 */
} attn_rope_scaling_kind;

/* How a model reaches beyond the length it was trained on. */
typedef struct attn_rope_scaling {
    attn_rope_scaling_kind kind;
    double factor; /* so many times longer, > 0; for dynamic NTK: factor * len / original_len - (factor - 1);
                      PROPORTIONAL: 0 = 1 */

    /* YARN, LLAMA3; of LONGROPE, *scale alone asks for it */
    double original_len;         /* the length in training, > 0; LONGROPE: > 1 */
    double beta_fast, beta_slow; /* more rotations in it than fast: PLAIN; fewer than slow: LINEAR. YARN: 0 = 32, 1.
                                    LLAMA3 (high_freq_factor, low_freq_factor): 0 = 4, 1, and fast is above slow */

    int no_truncate;               /* YARN: the pairs of fast and slow are not rounded to whole ones */
    double mscale, mscale_all_dim; /* YARN, >= 0: see *scale */

    const double *factors; /* LONGROPE: [dim/2], each > 0 */
    double share;          /* PROPORTIONAL: of the pairs, <= 1, rounded down to whole ones; 0 = 1 */
} attn_rope_scaling;

/* freq[d], for d < dim/2: what attn_rope_opts.frequencies takes. dim is even; base 0 = 10000; scaling NULL = PLAIN.
   *scale, unless NULL: for attn_rope_opts.scale; 1, but with factor > 1 m(1) for YARN, m(x) = 1 + x ln(factor) / 10, or
   m(mscale) / m(mscale_all_dim) if neither is 0; and for LONGROPE sqrt(1 + ln(factor) / ln(original_len)).
   VALUE: dim odd, base not finite or <= 0, the same of what else the kind uses; YARN: base <= 1, beta_fast < beta_slow;
   a frequency that is not finite. NULL: factors of LONGROPE are missing. */
ATTN_API attn_status attn_rope_frequencies(double *freq, size_t dim, double base, const attn_rope_scaling *scaling,
                                           double *scale);

/* H x (Lq + Lk - 1) values by distance as a 1 x H x Lq x Lk bias, without a copy: element (h, i, j) is
   by_distance[h][j - i + Lq - 1], the same for every item. Other shapes: a bad view; an absent matrix stays absent. */
ATTN_API attn_tensor attn_relative(attn_mat by_distance, size_t Lq, size_t Lk);

/* T5's bias for attn_relative: by_distance[h][c] = table[bucket of distance first_distance + c][h], distance = key -
   query. by_distance H x N, table buckets x H, any float types. The first half of the buckets holds one distance each,
   the others grow with its logarithm up to max_distance (0 = 128) and beyond; bidirectional: half of the buckets for
   keys after the query, else those share bucket 0. For Lq queries of which the first is at position p: first_distance =
   1 - Lq - p. T5 has opts.scale = 1. SHAPE: fewer than 2 buckets (4 if bidirectional). VALUE: max_distance is not above
   the number of buckets that hold one distance.                                     Raffel 2019, arXiv 1910.10683 */
ATTN_API attn_status attn_t5_bias(attn_mat by_distance, attn_mat table, int bidirectional, size_t max_distance,
                                  ptrdiff_t first_distance);

/* slopes[h] for attn_opts.alibi_slopes: 2^(-8 (h + 1) / H) if H is a power of 2; else those of the power of 2 below H,
   then every other of the next one.                                                    Press 2021, arXiv 2108.12409 */
ATTN_API attn_status attn_alibi_slopes(float *slopes, size_t H);

/* out[r][2d] = sin(p / 10000^(2d/D)), out[r][2d + 1] = cos of the same, for position p = first + r and D columns.
                                                                                     Vaswani 2017, arXiv 1706.03762 */
ATTN_API attn_status attn_sinusoid(attn_mat out, size_t first);

/* ==== API: multi-head layer ====================================================================================== */

/* A row x becomes x w + b. Matrices are inputs x outputs: give attn_mat_t of PyTorch's. */
typedef struct attn_mha_weights {
    attn_mat wq, wk, wv;       /* Eq x H D, Ek x Hkv D, Ev x Hkv Dv */
    attn_mat wo;               /* H Dv x E */
    const float *bq, *bk, *bv; /* [H D], [Hkv D], [Hkv Dv], float in every compute type; NULL = none */
    const float *bo;           /* [E]; NULL = none */
    size_t heads, kv_heads;    /* H, which must be given; Hkv, 0 = H */
} attn_mha_weights;

/* Multi-head attention with its four projections: out = concat(attn_sdpa of q wq + bq, k wk + bk, v wv + bv) wo + bo.
   q is B x 1 x Lq x Eq, k B x 1 x Lk x Ek, v B x 1 x Lk x Ev, out B x 1 x Lq x E: the mathematics of PyTorch's
   nn.MultiheadAttention, without bias_k, bias_v and add_zero_attn. opts as in attn_sdpa, with padding as kv_lens or a
   mask B x 1 x 1 x Lk; opts->weights may also be B x 1 x Lq x Lk: it receives the mean over the heads. A row that sees
   no key is bo. Rows past q_lens are zeros, rows of k and v past kv_lens are not read; of packed texts the same holds
   past the last one. Projections are kept in the compute type (so attention has no products of BF16): for each item,
   Lq H (D + Dv) + Lk Hkv (D + Dv) elements, and Lq H Lk more for the mean. A layer with rotary positions or a cache has
   steps between these: attn_matmul, attn_rope, attn_kv_cache_attend.
   NOMEM: ctx->scratch is too small, or ATTN_MALLOC failed.                          Vaswani 2017, arXiv 1706.03762 */
ATTN_API attn_status attn_mha(attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                              const attn_mha_weights *weights, const attn_opts *opts, const attn_ctx *ctx);

/* ==== API: training ==============================================================================================

   The way back: given how a loss changes with an output, its gradient dout, how it changes with each input.
   attn_sdpa_backward needs neither the scores nor the weights of the forward call: memory is linear in the lengths.
   ATTN_NO_TRAINING leaves all of this section out. */

#ifndef ATTN_NO_TRAINING

/* out += alpha a b, with a M x K, b K x N, out M x N: for gradients of weights, dw += x^T dy. out is F32 or F64; the
   sum is rounded to the compute type and then added. ctx may be NULL. Never NOMEM: memory only makes it faster. */
ATTN_API attn_status attn_matmul_add(attn_mat out, attn_mat a, attn_mat b, double alpha, const attn_ctx *ctx);

/* din = out (dout - sum of dout out), row by row: the gradient that reaches softmax's input, out being what
   attn_softmax gave. All Lq x Lk. din may be the identical view as dout or out. A row of zeros, which saw nothing,
   passes on zeros, whatever dout holds there. */
ATTN_API attn_status attn_softmax_backward(attn_mat din, attn_mat dout, attn_mat out);

/* Turns in place the gradient with respect to the scores that score_mod left into that with respect to those that it
   was given, `before`: `count` reals of the compute type each, of query i of head h of item b against keys j0, j0 + 1,
   ... What it makes of hidden keys is discarded. */
typedef void (*attn_score_mod_grad)(void *user, void *dscores, const void *before, size_t count, size_t b, size_t h,
                                    size_t i, size_t j0);

/* What attn_sdpa_backward writes. Absent (all zero): not wanted. If none is wanted, a call is checked like any other,
   writes nothing and returns ATTN_OK. Gradients of 16-bit types are summed in the compute type and rounded once; F64 is
   for inputs of F64, but bias and by_distance take any float type. */
typedef struct attn_grads {
    attn_tensor q, k, v;  /* of the shapes of q, k, v; but batch 1 where an input that the whole batch shares has
                                batch_stride 0: summed over the batch */
    attn_tensor bias;     /* of the shape of opts.bias: summed over its dimensions of 1 */
    attn_mat by_distance; /* H x (Lq + Lk - 1), where opts.bias is what attn_relative makes: summed over the batch */
    float *sinks;         /* [H], summed over the batch */
    float *alibi_slopes;  /* [H], summed over the batch */
    attn_tensor dlse;     /* an input: the gradient that reaches lse, B x H x Lq x 1 of any float type; absent = 0 */
    int accumulate;       /* adds to what is there. Not to 16-bit types: ATTN_ERR_DTYPE */
    attn_score_mod_grad score_mod_grad; /* given score_mod_user; required with opts.score_mod, else not looked at */
} attn_grads;

/* The gradients of attn_sdpa, exact, fused, for every option. dout, B x H x Lq x Dv, is the gradient that reaches out;
   out and lse are what the forward call gave with the same q, k, v, opts (or attn_merge of its parts), lse in the
   compute type. The outputs in opts are not looked at. P is not rounded to BF16, where the forward call did that (see
   NUMERICS). With P = exp(score - lse) and the sums over the keys or queries
   of each head:

       dv = P^T dout     dP = dout v^T     dS = P (dP - (dout . out - dlse))     dq = scale dS k     dk = scale dS^T q

   dk and dv are summed over the query heads of a group. The gradient of a hidden key is 0, whatever lies there; a row
   that sees nothing has dq 0 and gives nothing to k, v and bias. Rows past q_lens: dout, out, lse and dlse are not
   looked at, dq is 0. A NaN row makes NaN of its own dq and of what it sees, of nothing else.
   Packed texts: sums over the batch are over the texts; queries past the last text are as those past q_lens, and
   gradients of keys past it are 0.
   NULL: grads; score_mod without score_mod_grad. SHAPE: by_distance, unless opts.bias is 1 x H x Lq x Lk with
   len_stride = -dim_stride; the gradient of an option that is not given. VALUE: as attn_sdpa.
   NOMEM: ctx->scratch too small (it grows with the lengths by gradients of 16-bit types, sums by distance, and a number
   for each row, or key, of slopes and of a bias with dimensions of 1), or ATTN_MALLOC failed.
                                                      Dao 2022, arXiv 2205.14135; Dao 2023, arXiv 2307.08691 */
ATTN_API attn_status attn_sdpa_backward(const attn_grads *grads, attn_tensor dout, attn_tensor q, attn_tensor k,
                                        attn_tensor v, attn_tensor out, attn_tensor lse, const attn_opts *opts,
                                        const attn_ctx *ctx);

/* dtable[bucket of distance first_distance + c][h] = sum of dby_distance[h][c] over the distances of the bucket: the
   way back through attn_t5_bias, whose arguments the others are. Overwrites dtable, buckets x H; dby_distance H x N. */
ATTN_API attn_status attn_t5_bias_backward(attn_mat dtable, attn_mat dby_distance, int bidirectional,
                                           size_t max_distance, ptrdiff_t first_distance);

/* What attn_mha_backward writes. Absent or NULL: not wanted; if none is wanted, as in attn_grads. */
typedef struct attn_mha_grads {
    attn_tensor q, k, v;      /* of the shapes of q, k, v; or batch 1, as in attn_grads */
    attn_mat wq, wk, wv, wo;  /* of the shapes of the weights */
    float *bq, *bk, *bv, *bo; /* [H D], [Hkv D], [Hkv Dv], [E] */
    int accumulate;           /* adds to what is there. Not to 16-bit types: ATTN_ERR_DTYPE */
} attn_mha_grads;

/* The gradients of attn_mha, which it computes once more for that: the other arguments are those of the forward call,
   dout, B x 1 x Lq x E, the gradient that reaches out. opts: its outputs are not looked at; the gradients of its bias,
   sinks and slopes are for attn_sdpa_backward alone. VALUE: score_mod.
   Memory: that of attn_mha, its projections' gradients, out and lse; more where q, k, v or dout is larger than half of
   that. Rows past q_lens and kv_lens are not read, their gradients are 0; those of hidden keys are 0 too, and what lies
   there changes nothing. */
ATTN_API attn_status attn_mha_backward(const attn_mha_grads *grads, attn_tensor dout, attn_tensor q, attn_tensor k,
                                       attn_tensor v, const attn_mha_weights *weights, const attn_opts *opts,
                                       const attn_ctx *ctx);
#endif /* ATTN_NO_TRAINING */

/* ==== API: threads =============================================================================================== */

#ifdef ATTN_THREADS
/* A pool of threads (pthreads: link with -lpthread; or Win32) for ctx.parallel. Define ATTN_THREADS in every file, that
   with ATTN_IMPLEMENTATION too. `threads` counts the calling one; 0 = one for each processor. Calls from several
   threads at once are fine: one gets the pool, the others run alone. OVERFLOW: more threads than memory can list.
   NOMEM: no memory, or the system refused a thread. free: NULL-safe; leaves all zero; no call may be using the pool. */
ATTN_API attn_status attn_pool_new(attn_parallel *pool, size_t threads);
ATTN_API void attn_pool_free(attn_parallel *pool);
#endif

#ifdef __cplusplus
}
#endif

/* ==== What is promised ===========================================================================================

   THREADS
       The library starts none of its own accord. It has no global state but the instruction sets found on first use, so
       every function may be called from any thread at any time. To spread one call over threads, give it an
       attn_parallel that hands tasks to the threads you have, or the pool that ATTN_THREADS adds.

   MEMORY
       On x86-64, as gcc and clang compile it optimised, a call takes at most 8 KiB of stack if ctx->scratch has what a
       dry run tells, at most 24 KiB without; attention up to 40 KiB with ATTN_NO_STDLIB.
       attn_mat_new allocates; so do attn_kv_cache_init, unless it is given storage, and attn_attention and the general,
       additive and cosine scores, for temporaries that they free.
       Matrix products take up to 600 KiB for each task, from ctx->scratch if that is given, else the larger ones from
       ATTN_MALLOC; without either they use 16 KiB of stack and give the same bits, only slower. attn_softmax_ctx
       converts in 8 KiB for each task, of ctx->scratch or of the stack.
       attn_sdpa takes some tiles for each task (220 KiB at D = 64 with AVX-512, up to 700 KiB where many tasks share
       few queries) from ctx->scratch, else from the stack if 16 KiB will do, else from ATTN_MALLOC; so do
       attn_kv_cache_attend and attn_kv_pages_attend. attn_mha takes its projections besides. Other functions of caches
       and pages need no memory.
       attn_sdpa_backward takes, from ctx->scratch or else ATTN_MALLOC, up to 1 MiB for each task at D = 64 or 128, and
       6 KiB more for each dim beyond that; and what is summed before it is rounded or added up. attn_mha_backward takes
       its projections and their gradients besides. ctx->dry_run says how much a call takes.

   NUMERICS
       The compute type is double if the first input is F64 (then every matrix must be), otherwise float: 16-bit
       elements are widened, sums are kept in float, and the float result is rounded once when stored, to nearest even.
       A NaN stays one. Nothing more is said of its bits on RISC-V and in wasm; elsewhere what only moves or widens it
       keeps its sign and the top of its payload.
       alpha and beta are rounded to the compute type too, and so may scale be.
       Products are sums over k in two chains, of the terms of even number and of the others, which are added at the
       end; with fused multiply-add in the kernels of AVX2, AVX-512 and NEON, and in those of VECTOR128 where the
       compiler's target is POWER, s390x, RISC-V without V, 32-bit Arm with VFPv4, or x86 with -mfma; as the engine
       chooses, always in the same way, where it is wasm with -mrelaxed-simd (clang from 16 on); in two roundings in its
       others, and in plain C. On random data their RMS error is about 0.7 of that of the three nested loops that
       everybody writes. Of few rows (see DETERMINISM) the terms are dealt out to the lanes of a vector, each lane is a
       chain, then the lanes are added: an error of 0.3 to 0.6; in plain C they are one chain, as in those loops. Huge
       terms that cancel may overflow in the chains, though not in all.
       With ATTN_ISA_AVX512BF16 products of BF16 by BF16 add two terms at a time, and the chains are of pairs. Each term
       is exact, sums are float; but what is below the smallest normal number counts as zero, in the factors too. In
       attention of many rows the weights exp(score - max) are rounded to BF16 before they multiply the values, not in
       their sum, lse, weights and scores; of few rows none are, as values are widened. ATTN_ISA_BEST does this on CPUs
       where it is faster; with ctx->isa = ATTN_ISA_AVX512 BF16 is widened to float there, as elsewhere.
       Softmax, against long double: each element is within 20 + d ulp, where d is the row's maximum minus that
       element's input (rounding that difference costs up to d ulp, nothing where it is exact); rows of random numbers
       stay below 8. Results below the smallest normal number are within that number. Rows sum to 1 within 4 ulp times
       the square root of their length. The vector exp by itself is within 2 ulp, of the engine too, which lets become
       zero what is below 2^-125 of a row's largest weight (2^-1021 in double).
       attn_sparsemax and attn_entmax15 are computed in double, whatever the types, and rounded once.
       A cache rounds what is appended to its type once; I8 keeps each element within half a scale (and 2^-16 of it with
       ATTN_NO_F64), the scale being its row's largest magnitude / 127. Attention multiplies the dot product of a key,
       and the weight of a value, by the scale of the row, not each element: products of q with the integers, up to 127,
       must not overflow. Angles, sines and rotations are computed in double and rounded once.
       The engine sums scores of many rows as products are, and values over the keys of a tile in one chain (the first
       48 keys in chains of 16). Of few rows it sums scores as products of few rows are, and so the weights of a tile;
       values are in chains of 16 keys (8 with ATTN_SMALL). It keeps maximum, sum and output of a row in the compute
       type, and rescales them as larger scores appear (online softmax). Each element of out is within u ((D + 20) (1 +
       A) + K) times the largest |value| that it sees in its column, u being 2^-24 (2^-53 in double), and half an ulp of
       a narrower out. A is the largest, over the keys that the row sees, of the sum over d of |scale q[d] k[d]|, plus
       |bias| and the ALiBi term; K is 2 n or 512 + n / 512, whichever is less, for n keys. No multiple of the error of
       naive loops bounds that of each element. On random data with scores up to 20 the RMS error of a call of 16
       queries or more is at most twice that of naive loops in the same type, plus 4 ulp of the RMS of out. Weights
       rounded to BF16 add to each element's error 2^-8 times that largest |value| at most. On random data that is up to
       0.2 % of the RMS of out where scores have an RMS of 0.3, 0.03 to 0.05 % at 5, 0.02 % at 15, least where one key
       has nearly all the weight; to round out to BF16 costs 0.17 %. tanh of softcap is within 6 ulp in float, 9 in
       double.
       The engine divides by the sum at the end: where the values of a row, each times exp(score - max), add up to more
       than the compute type holds, out is infinite or NaN.
       Scores that are asked for are rounded after scale, which softmax may not have done: without softcap, bias, ALiBi
       and score_mod it may apply scale to differences of dot products. Weights then agree with the softmax of those
       scores to a factor of exp(2^-22 max |score|) (2^-51 in double), beside the error of softmax. With any of these
       options the scores are the ones that softmax takes. Scores of 10000 overflow nothing; rounding them costs what A
       says. A row with NaN or +infinity is NaN throughout; a row of -infinity (nothing to attend to) is zeros; one of
       no columns is nothing.
       Gradients, which compute weights once more as exp(score - lse), are those of the out that they are given,
       however it was rounded. Each element is within u (2 (D + 25) (1 + A) + Dv + 2 K + N) times the sum of the
       magnitudes of its terms, twice that with softcap, and half an ulp of a narrower type (tests/test_backward.c). N
       is how many pairs of query and key it is summed over; A and K are the largest of the call; a sink's magnitude,
       or A / softcap, takes the place of A if it is more. The slope of softcap, (1 - tanh)(1 + tanh), counts as 1 in
       terms, for it has the error of tanh. On random data the RMS error of each gradient of a call is at most 8 u (1 +
       the largest |score| or |lse|; where lse is of few rows, whose scores were added up in another order, A) times
       the RMS of those sums; and at most 3 times that of naive loops in the same type, given 64 queries and 64 keys or
       more, D of 4 or more, scores up to 20, and no BF16.
       -ffast-math keeps all of this, except that subnormal numbers may become zero (and with softcaps above 1e37, where
       1 / softcap is one, gradients).

   DETERMINISM
       On one CPU and instruction set, and in one engine of wasm, the bits of a result depend on the inputs alone: not
       on threads, scratch, layout, neighbouring batch items, what hidden keys hold, or whether an optional output was
       asked for (of gradients: which of them); the sign of a zero excepted. Other instruction sets sum in another
       order, and ATTN_ISA_BEST may be one for BF16 and another for the rest. None of this holds for x87 arithmetic
       (i386 without -msse2 -mfpmath=sse), nor for ATTN_ISA_SCALAR where clang may fuse what it likes (-ffast-math or
       -ffp-contract=fast, with fused multiply-add in the target).
       How many rows there are does matter, unless ctx->batch_invariant is set: few, as in decoding, are added up in
       another order than many. To attention rows are few if the queries of their own batch item (those that q_lens
       counts) or text, times the query heads that share a key/value head, are up to 8 with AVX-512 (6 in double), 6
       with AVX2, NEON and VECTOR128 (4 in double), 1 where there are no vectors; a dry run says it. In a
       product a b, of all functions that have one, rows of a are few up to 24 with AVX-512 (8 in double), 48 elsewhere,
       and up to 8 if they are shorter than 128. attn_mha and attn_mha_backward count for each product the rows that
       exist in one batch item, or text; sums over tokens, gradients of weights and biases, are never of few. Functions
       without a ctx are as with 0. Nothing else decides: not neighbours, lists, layout, or threads. With
       batch_invariant a row alone has the bits of a row among many, and decoding token by token equals one causal call,
       with up to 16384 keys; beyond, where the sums are split depends on how many keys there are. attn_sdpa_backward
       has no kernels of few rows.
       A cache changes nothing either: its bits are those of attn_sdpa over the same tokens (I8 rounds otherwise), and
       those of a ring or of pages are those of a full cache. A packed text has the bits that it has alone, and lists of
       blocks those of the equal mask, forward and back (with an odd kv_len, those that it has without products of
       BF16).

   VERSIONS
       0.18.1  Builds are a tenth smaller, and scratch a little; gcc without -O compiles in less than half the time. Of
               ATTN_SMALL: bounds hold beyond 16000 keys; products of doubles that find no memory keep to their stack
       0.18.0  ATTN_SMALL and ATTN_NO_F64, for programs that have little memory
       0.17.0  The same numbers, from a file that is read from its top, attn_sdpa first, and from less code.
               attn_mha_backward takes a little less scratch. kv_lens that are not aligned are refused without being
               read
       Older ones are told by the history of the repository */

#endif /* ATTN_H */

/* ---- stop here if you only want the API ------------------------------------------------------------------------- */

#if defined(ATTN_IMPLEMENTATION) && !defined(ATTN_INTERFACE_ONLY) && !defined(ATTN__IMPLEMENTED)
#define ATTN__IMPLEMENTED
#if defined(__INCLUDE_LEVEL__) && __INCLUDE_LEVEL__ == 0 && !defined(ATTN_HEADER)
/* clang-format off */
#error "attn.h includes itself: save it as a file of its own and #include it (ATTN_HEADER: its name)"
/* clang-format on */
#else

/* How to read what follows. Below stand, from what a reader knows first to what all of it stands on:

       attention      the call, its plan, the walk over blocks and splits, a tile, few rows, weights and scores; then
                      what a tile asks: where keys lie, and which rows a block has
       around it      merge, matrix products, softmax, steps, key/value cache, positions, multi-head layer, training
       the ground     compiler, sizes and memory, views, NaN and infinities, arguments, elements, scalar math, the
                      kernel table, which says what attention asks of kernels, instruction sets, the ctx, threads
       the kernels    all arithmetic on vectors, written once for all instruction sets

   Each is a room that begins with "====", says what it is for, and declares what it calls of itself and of rooms
   further down, unless a room before it has; the ground and the kernels are compiled first. So this file can be
   read from here to its end.

   A compiler wants it the other way round, for macros and types of the ground come before their use. So this file
   includes itself: with ATTN__GROUND the ground alone is compiled, at the place where that is included, below; and the
   ground includes the kernels once for each instruction set, which ATTN__PASS names: plain C first, whose functions the
   others call. */

/* ==== what keeps bits equal =======================================================================================

   DETERMINISM promises that bits depend on the inputs alone: not on threads, scratch, layout, neighbours, or what
   hidden keys hold. These are the rules that hold it; whoever changes one of these functions changes bits, or breaks
   the promise.

   Which kernel: as many rows as one item, or text, has by itself decide, and the length of a sum, never the call:
   attn__has_few (attention), attn__are_few (products). With ctx.batch_invariant, and in a build with ATTN_SMALL, all
   rows are few, but for sums over tokens or heads, whose length is the call's (attn__mean_weights,
   attn__weights_backward, attn__bias_backward and the batch in attn__input_backward). Types and the length of listed
   blocks decide about pairs (attn__ctx_products), options that change scores about where the scale is applied
   (attn__choose_scale). Products of many rows: a sum is two chains, of terms of even number and of the others
   (microkernel); parts of a sum have an even number of terms (attn__gemm_blocks) and keep both chains. So blocks and
   panels do not matter. Products of few rows: a lane is a chain, then a tree adds the lanes (dot_terms, add_lanes);
   parts keep the lanes. Softmax and values of many rows: one chain for each tile, where tiles begin at multiples of
   tile_keys (attn__attend_split); over the first keys of a sequence short ones (attn__chain_end: softmax_lanes,
   attn__multiply_values). Of few rows: chains of ATTN__FEW_CHAIN keys, by their numbers (attn__chain_keys, weigh), and
   weights are summed in the lane of their key's number (softmax_row). First keys: what a block sees begins with a whole
   chain, or term (attn__find_visible); which of its keys others see does not matter, as a hidden one has the weight 0.
   Its value may be NaN: then it is left out, and added for those that see it (attn__add_nonfinite), with the same
   weights, computed once more (attn__recompute_weights). Splits of keys follow from the item's own length, and from
   whether it has few rows; they are merged from left to right (attn__splits, attn__attend_blocks); with ATTN_SMALL each
   4096 keys are one (attn__attend_block). An exponential is the same wherever it stands: rests of rows go through whole
   vectors too (softmax_exp, weights). Gradients: a product over a tile is finished before it is added; dq takes tiles,
   dk and dv query heads and blocks in ascending order, so a cell waits for those above and to the left of it
   (attn__take_cell); a bias that heads or items share is summed by place, heads within items (attn__sum_place).
   Gradients of attention never take dot. What is summed row by row and then over heads or items is so in double
   (attn__add_up, attn__sum_sink). Dropout: what happens to a weight follows from seed, item, head, query and key
   (attn__set_drop_rows, drop). Workers: each unit of work owns what it writes, so it does not matter who takes it
   (attn__take). Compilers: passes without intrinsics are compiled as written (ATTN__TARGET_AS_WRITTEN); where
   -ffast-math would reorder, ATTN__PIN, ATTN__OPAQUE, attn__divide, attn__subtract. With intrinsics a compiler may fuse
   MUL and ADD: one binary does so alike in every lane and call, so bits may differ between builds, not between calls.
   Layout: rows that cannot be read where they lie are copied, element by element, and take the same kernels (load).
   Numbers: ATTN__TILE_KEYS, FEW_KEYS, FEW_CHAIN, FIRST_KEYS, FIRST_CHAIN, SPLITS, SPLIT_KEYS, GEMM_SHORT,
   GEMM_FEW_SHORT, ROW_BUFFER (of a softmax), SOFTMAX_SCALE_LEAST, attn__tuned (its two few_..) and ATTN__PAIRS_BEST
   change bits. Names without attn__ are kernels, at the end of the file. */

/* The name under which this file includes itself, once for each variant of the kernels. */
#if !defined(ATTN_HEADER) && defined(__FILE_NAME__)
#define ATTN_HEADER __FILE_NAME__
#elif !defined(ATTN_HEADER)
#define ATTN_HEADER "attn.h"
#endif

#define ATTN__GROUND 1
#include ATTN_HEADER
#undef ATTN__GROUND

#ifndef ATTN__PASSED
/* clang-format off */
#error "attn.h includes itself, but found another file: define ATTN_HEADER as its name, and do not paste it"
/* clang-format on */
#endif

/* ==== attention ====================================================================================================

   This room has what everything here is about: attn_sdpa, the formula, and the two things that a call is described by,
   what was asked (attn__call) and how it will be done (attn__plan).

   out = softmax(scale q k^T + ...) v without the score matrix. The rows of one key/value head, that is all queries of
   all query heads of its group, are cut into query blocks (with lists of keys, the rows of each list: see Lists). A
   block meets its keys tile by tile, and after each tile holds the exact result over the keys so far. This is the
   online softmax; the kernel `softmax` finds m, P and sum, and by how much `out` is rescaled:

       S   = scale K Q^T           the scores of a tile of keys
       S   = softcap, bias, ...    as the options say; -infinity where a query does not see a key
       m   = max(m, S)             the largest score so far, of each query
       P   = exp(S - m)            the weights
       sum = sum exp(old m - m) + P
       out = out exp(old m - m) + P V          and at the end out / sum
                                                      Milakov 2018, arXiv 1805.02867; Dao 2022, arXiv 2205.14135

   Calls, each to be found by searching for its name; those without attn__ are kernels, gemm is NAME(gemm)( there:

       attn_sdpa
         attn__sdpa_ready              checks and resolves the arguments, makes the schedule, finds the scratch
           attn__plan_resolve          defaults and options: the one place
           attn__plan_schedule         how the work is cut into tasks
         attn__plan_run                runs it there, or on the stack
           attn__plan_execute          runs the workers; where splits ran in parallel, merges them
             attn__sdpa_worker         takes units of work until none is left
               attn__attend_blocks     the query blocks of a unit, or one split of a block
                 attn__begin_block     which keys its rows see: attn__find_visible
                   attn__gather_by     Q into vectors, block->queries, by the kernels load_panel, load_rows
                 attn__attend_split    a split of the keys, tile by tile, for all blocks of the unit
                   attn__process_tile
                     attn__prepare_tile       does any row see any of its keys? no more is done if none does
                     attn__score_tile         K Q^T by gemm, of K where attn__tile_rows says; then softcap
                       attn__score_run        bias, ALiBi, score_mod and hidden keys, by edit
                       attn__keep_scores      scores that are wanted go to the caller's matrices
                     softmax                  the kernel: m, P, sum; attn__drop
                     attn__accumulate_values  out + P V by gemm, which rescales what was there: attn__multiply_values
                 merge                 the kernel: the result over one more split joins that over those before
                 attn__finish_block    out / sum, sinks, lse; attn__finish_matrices: weights and scores

   Layout. Of many rows, queries lie on the lanes of vectors: maxima, sums and hidden keys are compared and added lane
   by lane, K and V are read where they lie, row by row, each element broadcast to all lanes. Few rows, as in decoding,
   would leave most lanes idle: there the terms of a dot product lie on lanes (see the room of few rows).

   Words. A row is a query of a query head. A group is the query heads that read one key/value head, or share a row of
   lists; a block some rows of a group, a unit some blocks, a split some keys, a tile fewer. A run is keys of a tile
   whose numbers follow each other. Lanes are the numbers of a vector; a chain is a sum that is made one term after the
   other. A term is what a product takes at a time: a real, or a pair of BF16. A panel is a strip of a matrix, as wide
   as a register tile, as gemm reads it. An item is one of the batch, or of packed texts.

   Lists. All rows of a block have the same keys to choose from. With lists of key blocks, the queries of one row of
   lists are taken together, and a group is the query heads that share it. Packed texts are items whose rows follow each
   other in the tensors: attn__place says where they begin.

   Keys. A tile spans tile_keys numbers. Which keys it has, and where their rows lie, is for the room of keys to say: in
   one run, or in several, whose numbers follow each other.

   Units. A worker takes a few blocks of one head together, as one unit of work. They meet each tile one after another,
   and share its way from memory, and its copy if it needs one (other types, rows that lie far apart). Units are dealt
   out for as many heads in turn as there are workers, or for all heads of a batch item that share a mask or bias: those
   of the last queries of these heads first, as causal attention has the longest there.

   Split-KV. Many keys are cut into splits, each with a result of its own, merged from left to right. Where they lie
   depends on the number of valid keys alone; whether they run one after another or in parallel changes no bit. */

typedef struct attn__call { /* what was asked */
    attn_tensor out, q, k, v;
    attn_opts opts;  /* resolved: scale is not 0; dimensions of mask and bias that broadcast have stride 0 */
    int has_options; /* 0: none was given, all of opts but the scale is zero */
    attn_ctx ctx;
    const attn__kernels *kern;
    attn__number scale;         /* what dot products are multiplied by before the options, */
    attn__number softmax_scale; /* and what is left to softmax: 1, or all of it where nothing in between wants scores */
    int edits;                  /* attn__edit */
} attn__call;

/* The table of a planned call. Where there is but one it is a constant that compilers see through, and what a call has
   says no more than that its instruction set is there. So what no kernel of attention needs is not linked. */
#if ATTN__ONE_TABLE
#define ATTN__MARK(kern) ((kern) ? (const attn__kernels *)&attn__no_source : NULL)
#else
#define ATTN__MARK(kern) (kern)
#endif

static const attn__kernels *attn__kern(const attn__call *call)
{
    return ATTN__ONE_TABLE ? &attn__kernels_scalar_f32 : call->kern;
}

/* Options that change scores one by one, after softcap. */
enum attn__edit { ATTN__EDIT_BIAS = 1, ATTN__EDIT_ALIBI = 2, ATTN__EDIT_MOD = 4 };

typedef struct attn__source {   /* where keys and values are: what a cache says, and packed texts */
    int newest;                 /* a cache: its queries are the newest tokens, so positions count from the end */
    size_t *oldest;             /* [B] the oldest key still there; NULL = 0 */
    size_t capacity;            /* rows of a ring, or of a page: key j is row j % capacity; SIZE_MAX if neither */
    const uint32_t *table;      /* NULL, or key j of item b lies in page table[b * table_stride + j / capacity] */
    size_t table_stride, pages; /* how many pages there are */
    const size_t *starts;       /* key j of text b is row starts[b] + j of item 0; NULL: no texts */
    float *k_scales, *v_scales; /* I8: [B, or pages][Hkv][capacity]; else NULL */
} attn__source;

static const attn__source attn__no_source = {0, NULL, SIZE_MAX, NULL, 0, 0, NULL, NULL, NULL};

typedef struct attn__schedule {      /* how the work is cut: see the room of the schedule */
    size_t list_rows, list_queries;  /* rows of lists of an item, 1 without lists; queries that share one */
    size_t item_groups, group_heads; /* groups of query heads of an item and row of lists; heads of a group */
    size_t group_rows;               /* group_heads x list_queries */
    size_t block_rows;               /* rows of a query block, in whole vectors, */
    size_t most_rows;                /* and if blocks were filled one after another, for which there is room; */
    int full_rows;                   /* as many as any block has: several blocks may share a unit */
    size_t few_most;                 /* rows of an item and group of query heads that are few, at most; */
    int takes_few;                   /* some items may have few */
    size_t few_room, many_room;      /* room for rows of a block of few, and of many, if there are such blocks */
    size_t side_heads;               /* few rows: key/value heads that lie side by side, and are one block */
    size_t blocks, all_blocks;       /* query blocks of one group of a row of lists, and of the batch */
    size_t tile_keys, few_keys;      /* keys of a tile, and of one of few rows */
    size_t splits;                   /* of a block, at most */
    size_t unit_blocks;              /* blocks of a group that are a unit of work, at most; */
    size_t groups, group_units;      /* groups of the call; units of each */
    size_t mixed_groups;             /* groups whose units are taken in turn */
    size_t units, workers;           /* units of the call, of blocks, or of one split in parallel; and who takes them */
    size_t mask_tiles;               /* tiles of a mask whose visibility is cached */
    int prefetches;                  /* many rows prefetch those of the next tile */
    int holds_next, fetches_few; /* few rows: there is room for where those are that they will read; they prefetch */
    int skips, scattered;        /* tiles have listed keys alone; the rows of a tile may lie in several places */
    int masked, hides;           /* there is a mask; tiles need bits of keys that it, or a list, hides */
    int vary;                    /* items differ in their number of queries, which a schedule may not read */
    int k_direct, v_direct;      /* rows are read where they lie, unless they lie in several places */
    int parallel_splits;         /* splits run in parallel: their results are kept, then merged; */
    int side_splits;             /* there is room for that, as all heads of an item may be one block of few rows */
    int uniform_rows;            /* rows of a batch item see the same keys, but for the mask */
    int writes_matrices;         /* weights or scores are wanted */
    int weights_in_place;        /* weights are wanted where scores can be kept until max and sum are known */
} attn__schedule;

typedef struct attn__plan {
    attn__call call;
    attn__source source;
    attn__schedule schedule;
    size_t column;              /* reals for each row of a block, in whole vectors */
    int frugal;                 /* scratch has to be on the stack: without what only makes calls faster */
    size_t worker_bytes, bytes; /* scratch of one worker; of all, and of the results of parallel splits behind them, */
    size_t state_bytes;         /* each of so many, */
    size_t state_out;           /* so many of these for out */
    char *scratch;
    void *own; /* what is allocated; */
    int runs;  /* attn__plan_ready */
} attn__plan;

static attn_status attn__plan_run(attn__plan *plan, attn_status status);
ATTN__NOINLINE attn_status attn__sdpa_ready(attn__plan *plan, const attn_ctx *ctx);
static attn_status attn__plan_ready(attn__plan *plan, attn__check *check, size_t bytes);
ATTN__NOINLINE void attn__plan_on_stack(attn__plan *plan);
ATTN__NOINLINE void attn__plan_on_last_stack(attn__plan *plan);
/* of "the plan: options" */
static void attn__list_options(attn__check *check, const attn__plan *plan);
static void attn__require_inputs(attn__check *check, const attn__call *call);
static void attn__plan_resolve(attn__plan *plan, attn__check *check, int back);
/* of "the plan: schedule" */
static int attn__plan_schedule(attn__plan *plan);
static void attn__say_plan(attn__message *t, const attn__plan *plan);
/* of "the walk" */
static void attn__plan_execute(attn__plan *plan);

static void attn__plan_begin(attn__plan *plan, const attn_tensor *out, const attn_tensor *q, const attn_tensor *k,
                             const attn_tensor *v, const attn_opts *opts, const attn_ctx *ctx)
{
    attn__copy_struct(&plan->call.opts, opts, sizeof plan->call.opts);
    attn__copy_struct(&plan->call.ctx, ctx, sizeof plan->call.ctx);
    plan->call.has_options = opts != NULL;
    plan->frugal = 0;
    plan->source = attn__no_source;
    plan->source.starts = plan->call.opts.sequences > 0 ? plan->call.opts.kv_starts : NULL;
    plan->call.out = *out;
    plan->call.q = *q;
    plan->call.k = *k;
    plan->call.v = *v;
}

ATTN_API attn_status attn_sdpa(attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v, const attn_opts *opts,
                               const attn_ctx *ctx)
{
    attn__plan plan;
    attn__plan_begin(&plan, &out, &q, &k, &v, opts, ctx);
    return attn__plan_run(&plan, attn__sdpa_ready(&plan, ctx));
}

ATTN__NOINLINE attn_status attn__sdpa_ready(attn__plan *plan, const attn_ctx *ctx) /* begun */
{
    static const attn__argument attn__arguments[] = {
        {"out", ATTN__OUT, offsetof(attn__call, out), ATTN__SHAPE4(B, H, Lq, Dv)},
        {"q", ATTN__IN, offsetof(attn__call, q), ATTN__SHAPE4(B, H, Lq, D)},
        {"k", ATTN__IN, offsetof(attn__call, k), ATTN__SHAPE4(B, Hkv, Lk, D)},
        {"v", ATTN__IN, offsetof(attn__call, v), ATTN__SHAPE4(B, Hkv, Lk, Dv)}};
    attn__check check;
    attn__check_begin(&check, ctx);
    attn__list(&check, attn__arguments, 4, &plan->call, NULL, 0);
    attn__list_options(&check, plan);
    attn__check_views(&check);
    attn__require_inputs(&check, &plan->call);
    attn__plan_resolve(plan, &check, 0);
    return attn__plan_ready(plan, &check, plan->bytes);
}

/* Ends the checks of a plan: a dry run is told what there is to tell, else memory is found. plan->runs, if that is to
   follow: here the stack is that of checks. */
static attn_status attn__plan_ready(attn__plan *plan, attn__check *check, size_t bytes)
{
    const attn_ctx *ctx = &plan->call.ctx;
    attn__message t;
    plan->scratch = NULL;
    plan->own = NULL;
    plan->runs = check->status == ATTN_OK && plan->schedule.workers > 0 && !ctx->dry_run;
    if (ATTN__LARGE && ATTN__NO_MALLOC && check->status == ATTN_OK && plan->schedule.workers > 0 && !ctx->scratch &&
        plan->bytes > ATTN__PLAN_STACK) { /* what does not fit on the stack, the only memory, is planned once more */
        plan->frugal = 1;
        attn__plan_schedule(plan);
    }
    if (ctx->dry_run && attn__tell(&t, check, attn__kern(&plan->call), bytes) && ATTN__LARGE)
        attn__say_plan(&t, plan);
    if (plan->runs && (ctx->scratch || plan->bytes > (ATTN__NO_MALLOC ? ATTN__LAST_STACK : ATTN__PLAN_STACK))) {
        /* a frugal plan that does not fit says what one with scratch takes */
        plan->scratch = attn__borrow(check, ctx, ATTN__LARGE && plan->frugal ? bytes : plan->bytes, &plan->own);
        plan->runs = plan->scratch != NULL;
    }
    return attn__check_end(check);
}

static attn_status attn__plan_run(attn__plan *plan, attn_status status)
{
    if (plan->runs && plan->scratch)
        attn__plan_execute(plan);
    else if (plan->runs && plan->bytes <= ATTN__PLAN_STACK)
        attn__plan_on_stack(plan);
    else if (ATTN__LAST_STACK > ATTN__PLAN_STACK && plan->runs)
        attn__plan_on_last_stack(plan);
    if (plan->runs)
        attn__release(plan->own);
    return status;
}

ATTN__NOINLINE void attn__plan_on_stack(attn__plan *plan)
{
    char stack[ATTN__PLAN_STACK];
    plan->scratch = attn__align(stack);
    attn__plan_execute(plan);
    plan->scratch = NULL; /* the stack ends here */
}

ATTN__NOINLINE void attn__plan_on_last_stack(attn__plan *plan)
{
    char stack[ATTN__LAST_STACK];
    plan->scratch = attn__align(stack);
    attn__plan_execute(plan);
    plan->scratch = NULL;
}

/* ==== the plan: options ============================================================================================

   Checks what was asked and fills in what was left open: attn__plan_resolve is the one place that knows the defaults of
   options and refuses what does not go together. It fills in attn__call. It knows nothing of tiles or memory, but that
   attn__plan_schedule may find that sizes overflow; and arrays of the caller are read here only where
   attn__is_sound says that shapes and addresses are right. */

/* Softmax multiplies by log2(e) in any case, and can take the scale of the scores along. Not a scale below this: the
   limit under which weights become 0, a number / scale, would be out of range. */
#define ATTN__SOFTMAX_SCALE_LEAST 1e-20

static void attn__resolve_options(attn__check *check, attn__call *call);
static void attn__require_values(attn__check *check, const attn__call *call);
static void attn__require_lists(attn__check *check, const attn__call *call);
static void attn__require_texts(attn__check *check, const attn__call *call, int sound);
/* of "keys" */
static size_t attn__items(const attn__plan *plan);

/* Where nothing between the dot products and softmax wants scores, softmax takes their scale along. It must not be
   negative then, nor so large that it would have made a finite product infinite. */
static void attn__choose_scale(attn__call *call)
{
    const attn_opts *o = &call->opts;
    int biased = call->has_options && !attn__tensor_absent(&o->bias), plain;
    call->edits = biased ? ATTN__EDIT_BIAS : 0;
    call->edits |= (o->alibi_slopes ? ATTN__EDIT_ALIBI : 0) | (o->score_mod ? ATTN__EDIT_MOD : 0);
    plain = !(o->softcap > 0) && call->edits == 0;
    plain = plain && o->scale >= ATTN__SOFTMAX_SCALE_LEAST && o->scale * ATTN__LOG2E <= 1;
    call->scale = plain ? 1 : (attn__number)o->scale;
    call->softmax_scale = plain ? (attn__number)o->scale : 1;
}

/* The one place where options of the engine are checked and resolved, for arguments whose shapes have been. The way
   back has no products of pairs of BF16, and a schedule of its own, which is made when its memory is laid out. */
static void attn__plan_resolve(attn__plan *plan, attn__check *check, int back)
{
    attn__call *call = &plan->call;
    attn_opts *o = &call->opts;
    attn_dtype kv = call->k.dtype == call->v.dtype && !back ? call->k.dtype : ATTN_F32;
    attn__resolve_options(check, call);
    o->scale = attn__scale(o->scale, call->q.dim);
    attn__choose_scale(call);
    /* in tiles that have listed keys alone, keys that make a term must be listed together */
    call->kern = ATTN__MARK(attn__ctx_products(&call->ctx, call->q.dtype, kv, o->blocks.kv_len));
    if (!back && attn__is_sound(check) && call->kern)
        attn__require(check, attn__plan_schedule(plan), ATTN_ERR_OVERFLOW, "q");
    if (call->has_options)
        attn__require_values(check, call);
    attn__require_ctx(check);
}

static size_t attn__count_lists(const attn__call *call) /* for each head of lists; without q_len none */
{
    const attn_blocks *blocks = &call->opts.blocks;
    return blocks->q_len > 0 ? attn__ceil_div(call->q.len, blocks->q_len) : 0;
}

static int attn__lists_absent(const attn_blocks *blocks)
{
    return !blocks->index && !blocks->count && !(blocks->q_len | blocks->kv_len | blocks->width) &&
           !(blocks->batch | blocks->heads);
}

static void attn__list_options(attn__check *check, const attn__plan *plan) /* and scratch */
{
    static const attn__argument attn__arguments[] = {
        ATTN__MEMBER(opts, opts, causal_offset, ATTN__LENGTHS, ATTN__SHAPE1(items)),
        ATTN__MEMBER(opts, opts, mask, ATTN__OPTIONAL | ATTN__BOOL | ATTN__BROADCASTS, ATTN__SHAPE4(B, H, Lq, Lk)),
        ATTN__MEMBER(opts, opts, q_lens, ATTN__OPTIONAL | ATTN__LENGTHS, ATTN__SHAPE1(B)),
        ATTN__MEMBER(opts, opts, kv_lens, ATTN__OPTIONAL | ATTN__LENGTHS, ATTN__SHAPE1(B)),
        ATTN__MEMBER(opts, opts, blocks.index, ATTN__FLOATS | ATTN__IF_ANY, ATTN__SHAPE2(lists, width)),
        ATTN__MEMBER(opts, opts, blocks.count, ATTN__FLOATS | ATTN__IF_ANY, ATTN__SHAPE1(lists)),
        ATTN__MEMBER(opts, opts, q_starts, ATTN__LENGTHS, ATTN__SHAPE1(starts)),
        ATTN__MEMBER(opts, opts, kv_starts, ATTN__LENGTHS, ATTN__SHAPE1(starts)),
        ATTN__MEMBER(opts, opts, bias, ATTN__OPTIONAL | ATTN__ANY_FLOAT | ATTN__BROADCASTS, ATTN__SHAPE4(B, H, Lq, Lk)),
        ATTN__MEMBER(opts, opts, alibi_slopes, ATTN__OPTIONAL | ATTN__FLOATS, ATTN__SHAPE1(H)),
        ATTN__MEMBER(opts, opts, sinks, ATTN__OPTIONAL | ATTN__FLOATS, ATTN__SHAPE1(H)),
        ATTN__MEMBER(opts, opts, lse, ATTN__OPTIONAL | ATTN__OUT | ATTN__ANY_FLOAT, ATTN__SHAPE4(B, H, Lq, 1)),
        ATTN__MEMBER(opts, opts, weights, ATTN__OPTIONAL | ATTN__OUT | ATTN__ANY_FLOAT, ATTN__SHAPE4(B, H, Lq, Lk)),
        ATTN__MEMBER(opts, opts, scores, ATTN__OPTIONAL | ATTN__OUT | ATTN__ANY_FLOAT, ATTN__SHAPE4(B, H, Lq, Lk))};
    const attn_opts *o = &plan->call.opts;
    size_t lists;
    if (plan->call.has_options) {
        attn__bind(check, ATTN__L_items, attn__items(plan));
        attn__list(check, attn__arguments, 1, o, NULL, o->causal != ATTN_CAUSAL_OFFSET);
        attn__list(check, attn__arguments + 1, 3, o, NULL, 0);
        if (!attn__lists_absent(&o->blocks) && o->sequences == 0) { /* which refuse each other */
            if (!attn__mul_size(&lists, o->blocks.batch, o->blocks.heads) ||
                !attn__mul_size(&lists, lists, attn__count_lists(&plan->call)))
                lists = SIZE_MAX;
            attn__bind(check, ATTN__L_lists, lists);
            attn__bind(check, ATTN__L_width, o->blocks.width);
            attn__list(check, attn__arguments + 4, 2, o, NULL, 0);
        }
        if (o->sequences > 0) {
            attn__bind(check, ATTN__L_starts,
                       attn__max(o->sequences + 1, o->sequences)); /* which overflows at once with 1 */
            attn__list(check, attn__arguments + 6, 2, o, NULL, 0);
        }
        attn__list(check, attn__arguments + 8, 6, o, NULL, 0);
    }
    attn__list_ctx(check);
}

/* What letters cannot say of the shapes of q and k. */
static void attn__require_inputs(attn__check *check, const attn__call *call)
{
    const attn_tensor *q = &call->q, *k = &call->k;
    if (q->dim == 0)
        attn__blame(check, ATTN_ERR_SHAPE, "q", 0, "no dims", 0, "");
    if (q->heads != k->heads && (k->heads == 0 || q->heads % k->heads != 0))
        attn__blame(check, ATTN_ERR_SHAPE, "q", q->heads, " heads, where ", k->heads, " or a multiple of it fits");
    if (call->opts.sequences > 0 && q->batch != 1)
        attn__blame(check, ATTN_ERR_SHAPE, "q", q->batch, " items, where ", 1, " has all texts");
}

/* The dimensions of an option that are 1 become those of the scores, with stride 0. */
static void attn__broadcast(attn_tensor *t, const attn__call *call)
{
    const attn_tensor *q = &call->q;
    if (attn__tensor_absent(t))
        return;
    t->batch_stride *= t->batch != 1;
    t->head_stride *= t->heads != 1;
    t->len_stride *= t->len != 1;
    t->dim_stride *= t->dim != 1;
    t->batch = q->batch;
    t->heads = q->heads;
    t->len = q->len;
    t->dim = call->k.len;
}

static void attn__resolve_options(attn__check *check, attn__call *call)
{
    attn_opts *o = &call->opts;
    const attn_blocks *blocks = &o->blocks;
    if (!call->has_options)
        return;
    if (!attn__lists_absent(blocks) && blocks->batch != 1 && blocks->batch != call->q.batch)
        attn__blame(check, ATTN_ERR_SHAPE, "opts.blocks", blocks->batch, " items, where ", call->q.batch, " or 1 fit");
    if (!attn__lists_absent(blocks) && blocks->heads != 1 && blocks->heads != call->k.heads &&
        blocks->heads != call->q.heads)
        attn__blame(check, ATTN_ERR_SHAPE, "opts.blocks", blocks->heads, " heads, where ", call->q.heads,
                    ", those of k, or 1 fit");
    attn__broadcast(&o->mask, call);
    attn__broadcast(&o->bias, call);
}

/* Numbers in their ranges. Arrays are read only where shapes are known to be sound. */
static void attn__require_values(attn__check *check, const attn__call *call)
{
    const attn_opts *o = &call->opts;
    attn_dtype type = call->q.dtype;
    double smallest = type == ATTN_F64 ? DBL_MIN : (double)FLT_MIN;
    int sound = attn__is_sound(check), no_cap = attn__bits(o->softcap) << 1 == 0;
    attn__require(check, (unsigned)o->causal <= ATTN_CAUSAL_OFFSET, ATTN_ERR_VALUE, "opts.causal");
    attn__require(check, !o->window.on || (o->window.left >= -1 && o->window.right >= -1), ATTN_ERR_VALUE,
                  "opts.window");
    if (sound) {
        attn__require_lengths(check, o->q_lens, call->q.batch, call->q.len, "opts.q_lens");
        attn__require_lengths(check, o->kv_lens, call->q.batch, call->k.len, "opts.kv_lens");
    }
    if (sound && !attn__lists_absent(&o->blocks) && attn__is_aligned(o->blocks.index, sizeof *o->blocks.index) &&
        attn__is_aligned(o->blocks.count, sizeof *o->blocks.count))
        attn__require_lists(check, call);
    attn__require_texts(check, call, sound);
    attn__require(check, attn__is_factor(o->scale, type), ATTN_ERR_VALUE, "opts.scale");
    attn__require(check, attn__is_factor(o->softcap, type) && (no_cap || o->softcap >= smallest), ATTN_ERR_VALUE,
                  "opts.softcap");
    attn__require(check, attn__is_finite(o->dropout.p) && o->dropout.p >= 0 && o->dropout.p < 1, ATTN_ERR_VALUE,
                  "opts.dropout");
    attn__require(check, (unsigned)o->scores_stage <= ATTN_STAGE_FINAL, ATTN_ERR_VALUE, "opts.scores_stage");
}

/* The lists name blocks that there are, each once and in order. */
static void attn__require_lists(attn__check *check, const attn__call *call)
{
    const attn_blocks *blocks = &call->opts.blocks;
    size_t lists, most, list, i;
    attn__require(check, blocks->q_len > 0, ATTN_ERR_VALUE, "opts.blocks.q_len");
    attn__require(check, blocks->kv_len > 0, ATTN_ERR_VALUE, "opts.blocks.kv_len");
    if (blocks->q_len == 0 || blocks->kv_len == 0)
        return;
    lists = blocks->batch * blocks->heads * attn__count_lists(call);
    most = attn__ceil_div(call->k.len, blocks->kv_len);
    for (list = 0; list < lists; list++) {
        const uint32_t *index = blocks->index + list * blocks->width;
        attn__require_most(check, blocks->count[list], blocks->width, "opts.blocks.count");
        for (i = 0; i < blocks->count[list] && attn__rank(check->status) > attn__rank(ATTN_ERR_VALUE); i++) {
            if (index[i] >= most)
                attn__blame(check, ATTN_ERR_VALUE, "opts.blocks.index", index[i], ", where there are ", most,
                            " blocks");
            if (i > 0 && index[i] <= index[i - 1])
                attn__blame(check, ATTN_ERR_VALUE, "opts.blocks.index", index[i], " follows ", index[i - 1], "");
        }
    }
}

static void attn__require_starts(attn__check *check, const size_t *starts, size_t sequences, size_t total,
                                 const char *name)
{
    size_t s;
    if (!attn__is_aligned(starts, sizeof *starts)) /* a fault of its own */
        return;
    attn__require_most(check, starts[0], 0, name);
    for (s = 0; s < sequences; s++)
        if (starts[s + 1] < starts[s])
            attn__blame(check, ATTN_ERR_VALUE, name, starts[s + 1], " follows ", starts[s], "");
    attn__require_most(check, starts[sequences], total, name);
}

/* Options that speak of one rectangle of queries and keys do not go with texts. */
static void attn__require_texts(attn__check *check, const attn__call *call, int sound)
{
    const attn_opts *o = &call->opts;
    const char *other = !attn__tensor_absent(&o->mask)      ? "opts.mask"
                        : o->q_lens                         ? "opts.q_lens"
                        : o->kv_lens                        ? "opts.kv_lens"
                        : !attn__lists_absent(&o->blocks)   ? "opts.blocks"
                        : !attn__tensor_absent(&o->bias)    ? "opts.bias"
                        : !attn__tensor_absent(&o->weights) ? "opts.weights"
                        : !attn__tensor_absent(&o->scores)  ? "opts.scores"
                                                            : NULL;
    if (o->sequences == 0)
        return;
    if (other)
        attn__blame(check, ATTN_ERR_VALUE, other, 0, "does not go with opts.sequences", 0, "");
    if (!sound)
        return;
    attn__require_starts(check, o->q_starts, o->sequences, call->q.len, "opts.q_starts");
    attn__require_starts(check, o->kv_starts, o->sequences, call->k.len, "opts.kv_starts");
}

/* ==== the plan: schedule ===========================================================================================

   How the work is cut into tasks: rows into query blocks, blocks into units, keys into splits, units among workers; and
   how much scratch that takes. It fills in attn__schedule, a function of views, of which options are present, of
   kernels and width, never of what arrays hold, but for kv_lens, which decide whether splits of few rows run in
   parallel. Bits depend on few of these numbers, see "what keeps bits equal"; a change of the others changes speed
   alone. */

static void attn__plan_few(attn__plan *plan, size_t rows, size_t width);
static int attn__is_direct(const attn__plan *plan, const attn_tensor *t);
static void attn__say_rows(attn__message *text, const char *name, const attn__plan *plan, const attn_tensor *t,
                           int direct);
/* of "the walk" */
static void attn__measure_plan(attn__plan *plan);
static int attn__is_packed(const attn_tensor *t);
/* of "a tile" */
static int attn__bias_direct(const attn__call *call);
/* of "keys" */
static void attn__plan_keys(attn__plan *plan, int every);
static int attn__has_lists(const attn_opts *opts);
static size_t attn__valid_keys(const attn__plan *plan, size_t b);
/* of "rows of a block" */
static int attn__drops(const attn_opts *opts);

/* Do few rows of so many heads side by side prefetch? */
static int attn__fetches_few(const attn__plan *plan, size_t heads)
{
    const attn__schedule *s = &plan->schedule;
    const attn_tensor *k = &plan->call.k;
    double bytes = (double)k->dim * (double)attn__size(k->dtype);
    return s->takes_few && s->holds_next && attn__isas() & ATTN__FETCHES_FEW &&
           bytes * (double)s->few_keys * (double)heads <= ATTN__CACHED_BYTES &&
           bytes * (double)k->len * (double)s->groups > ATTN__FEW_FETCHED;
}

static size_t attn__unit_blocks(const attn__schedule *s) /* at most */
{
    return ATTN__LARGE ? s->unit_blocks : 1;
}

static size_t attn__count_splits(size_t keys)
{
    return attn__min(attn__max(attn__ceil_div(keys, ATTN__SPLIT_KEYS), 1), ATTN__SPLITS);
}

/* Units of so many query blocks: those of each group; slots of texts, see attn__text_slot. */
static size_t attn__count_units(const attn__plan *plan, size_t blocks)
{
    const attn__schedule *s = &plan->schedule;
    const size_t texts = plan->call.opts.sequences;
    return texts > 0 ? (s->group_rows / (blocks * s->block_rows) + texts) * s->item_groups
                     : s->groups * attn__ceil_div(s->blocks, blocks);
}

/* How the work is cut, and the scratch for it, for arguments that have been checked; 0 if something overflows. */
static int attn__plan_schedule(attn__plan *plan)
{
    attn__schedule *s = &plan->schedule;
    const attn__call *call = &plan->call;
    const attn__kernels *kern = attn__kern(call);
    const attn_opts *opts = &call->opts;
    size_t width = attn__ctx_workers(&call->ctx, SIZE_MAX), rows = 0, most = 1, full, least;
    int empty = call->q.batch == 0 || call->q.heads == 0;
    attn__plan_keys(plan, !attn__tensor_absent(&opts->scores) && opts->scores_stage != ATTN_STAGE_FINAL);
    s->writes_matrices = call->has_options && call->k.len > 0 &&
                         (!attn__tensor_absent(&opts->weights) || !attn__tensor_absent(&opts->scores));
    s->weights_in_place = ATTN__LARGE && s->writes_matrices && opts->weights.dtype == kern->real &&
                          opts->weights.dim_stride == 1 && !attn__drops(opts);

    /* query blocks: the rows of a group of query heads, in whole vectors, as evenly as can be; no wider than a register
       tile of gemm, so that its packed tiles, one below the other, are rows of tile.lanes reals */
    if (!attn__mul_size(&s->group_rows, s->group_heads, s->list_queries) ||
        !attn__mul_size(&most, s->group_heads, call->q.len) ||
        !attn__mul_size(&rows, empty ? 1 : call->q.heads / call->k.heads, call->q.len))
        return 0;
    full = s->masked ? attn__min(kern->cols, ATTN__MASK_ROWS) : kern->cols;
    if (!ATTN__LARGE)
        full = attn__min(ATTN__SMALL_ROWS, ATTN__SMALL_REALS / attn__max(attn__max(call->q.dim, call->v.dim), 1));
    least = ATTN__LARGE ? kern->lanes : 1;
    s->most_rows = attn__max(attn__min(attn__whole(s->group_rows, least), full), least);
    s->full_rows = s->most_rows == full;
    s->blocks = attn__ceil_div(s->group_rows, s->most_rows);
    s->block_rows = s->most_rows;
    if (ATTN__LARGE && s->blocks > 1 && opts->sequences == 0)
        s->block_rows = attn__whole(attn__ceil_div(s->group_rows, s->blocks), kern->lanes);
    s->all_blocks = s->groups = 0;
    if (!empty && (call->v.dim > 0 || s->writes_matrices || !attn__tensor_absent(&opts->lse))) {
        if (!attn__mul_size(&s->groups, s->item_groups, attn__items(plan)) ||
            !attn__mul_size(&s->groups, s->groups, s->list_rows) ||
            !attn__mul_size(&s->all_blocks, s->groups, s->blocks))
            return 0;
        if (s->group_rows > 0)
            s->all_blocks = attn__count_units(plan, 1);
    }

    if (!ATTN__LARGE) { /* a block is a unit */
        s->few_room = s->most_rows;
        s->many_room = 0;
        s->units = s->all_blocks;
        s->workers = attn__min(width, s->units);
        attn__measure_plan(plan);
        return plan->bytes != SIZE_MAX;
    }

    /* splits */
    s->splits = attn__count_splits(call->k.len);
    s->side_splits = 0;
    s->parallel_splits = s->all_blocks < width && s->splits > 1 && !s->writes_matrices; /* which need the final max */
    attn__plan_few(plan, rows, width);

    /* units: blocks as evenly as can be; full blocks of a group share one */
    most = 1;
    if (!s->parallel_splits && s->full_rows)
        most = attn__max(attn__min(s->all_blocks / (width * ATTN__WORKER_ITEMS), ATTN__UNIT_BLOCKS), 1);
    s->group_units = attn__ceil_div(s->blocks, most);
    s->unit_blocks = opts->sequences > 0 ? most : attn__max(attn__ceil_div(s->blocks, s->group_units), 1);
    s->units = s->all_blocks > 0 ? attn__count_units(plan, s->unit_blocks) : 0;
    if (s->parallel_splits)
        s->units = s->all_blocks / s->side_heads * s->splits;
    s->fetches_few = attn__fetches_few(plan, s->side_heads);
    s->prefetches = (double)call->k.len * (double)call->k.dim * (double)s->groups * (double)attn__size(call->k.dtype) >
                    ATTN__CACHED_BYTES;
    s->workers = attn__min(width, s->units);
    s->mixed_groups = s->workers;
    if ((s->masked && opts->mask.head_stride == 0) || (call->edits & ATTN__EDIT_BIAS && opts->bias.head_stride == 0))
        s->mixed_groups = attn__max(s->workers, s->item_groups);
    s->k_direct = attn__is_direct(plan, &call->k);
    s->v_direct = attn__is_direct(plan, &call->v);

    attn__measure_plan(plan);
    return plan->bytes != SIZE_MAX;
}

/* Are rows of k or v read where they lie, by blocks with queries on lanes? Several blocks of a unit do better with a
   copy of rows that do not follow each other, which compete for few sets of a cache: those of v in any case, as a few
   elements of each are read in turn; those of k, which are read one after another, only if they are a multiple of
   ATTN__COMPETING apart. Rows of v are no terms where these have several elements. */
static int attn__is_direct(const attn__plan *plan, const attn_tensor *t)
{
    const attn__schedule *s = &plan->schedule;
    const attn__kernels *kern = attn__kern(&plan->call);
    int readable = t == &plan->call.k ? attn__are_terms(kern, t->dtype, t->len_stride, t->dim_stride, t->len, t->dim)
                                      : attn__is_panel(kern, t->dtype);
    return readable && t->dim_stride == 1 &&
           (s->unit_blocks == 1 || attn__is_packed(t) ||
            (t == &plan->call.k && t->len > 1 && attn__step(t) % ATTN__COMPETING != 0));
}

/* Which rows are few, and how many of them a block has: those of heads that lie side by side together, as many as leave
   each worker a block. Or of all heads, so that memory is read in order, if there are splits for all workers: of f32,
   8 x 4096 x 128, two workers of a Sapphire Rapids take 0.6 to 0.8 of the time. But where such a block would prefetch,
   which short splits cut off, 1.2. `rows`: of an item and group. */
static void attn__plan_few(attn__plan *plan, size_t rows, size_t width)
{
    attn__schedule *s = &plan->schedule;
    const attn__call *call = &plan->call;
    const attn__kernels *kern = attn__kern(call);
    size_t most = attn__min(s->group_rows, kern->tuned->few_most), longest = 0, b;
    s->few_most = call->ctx.batch_invariant ? SIZE_MAX : kern->tuned->few_most;
    s->many_room = rows > s->few_most ? s->most_rows : 0;
    s->takes_few = rows <= s->few_most || s->vary;
    s->few_room = attn__min(s->most_rows, call->ctx.batch_invariant ? s->group_rows : most);
    s->few_room = s->takes_few || !plan->frugal ? s->few_room : 0;  /* a shorter call, which may be few, fits as well */
    s->holds_next = s->few_keys == ATTN__FEW_KEYS && !plan->frugal; /* on any CPU: scratch follows from shapes */
    s->side_heads = 1;
    if (call->k.head_stride >= call->k.len_stride || call->k.len_stride <= 0) /* heads are not interleaved */
        return;
    if (s->parallel_splits || s->item_groups != call->k.heads || s->groups == 0 || call->opts.blocks.heads > 1 ||
        plan->frugal)
        return;
    s->side_heads = attn__min(kern->cols / attn__max(most, 1), s->item_groups);
    s->side_splits = !s->vary && !attn__has_lists(&call->opts) && call->q.batch < width && width <= s->groups &&
                     s->item_groups <= kern->cols / attn__max(attn__min(s->group_heads, kern->tuned->few_most), 1);
    if (s->side_splits)
        s->few_room = attn__max(s->few_room, s->side_heads * most);
    for (b = 0; s->side_splits && attn__is_aligned(call->opts.kv_lens, sizeof longest) && b < call->q.batch; b++)
        longest = attn__max(longest, attn__valid_keys(plan, b));
    s->parallel_splits = s->side_splits && rows <= kern->tuned->few_most && s->side_heads == s->item_groups &&
                         !s->writes_matrices && attn__count_splits(longest) >= width &&
                         !attn__fetches_few(plan, s->item_groups);
    if (s->parallel_splits) {
        s->splits = attn__count_splits(longest);
        return;
    }
    s->side_heads = attn__max(attn__min(s->side_heads, s->groups / width), 1);
    s->side_heads = attn__ceil_div(s->item_groups, attn__ceil_div(s->item_groups, s->side_heads));
    s->few_room = attn__max(s->few_room, s->side_heads * most);
}

static void attn__say_pairs(attn__message *t, const attn__call *call)
{
    attn__say(t, attn__why_no_pairs(attn__kern(call), &call->ctx, call->q.dtype, call->k.dtype, call->v.dtype,
                                    call->opts.blocks.kv_len));
}

static void attn__say_plan(attn__message *t, const attn__plan *plan)
{
    const attn__call *call = &plan->call;
    const attn__schedule *s = &plan->schedule;
    attn__say_pairs(t, call);
    attn__say_number(t, "query blocks of ", attn__min(s->group_rows, s->block_rows), " rows x key tiles of ");
    attn__say_number(t, "", s->many_room > 0 ? s->tile_keys : s->few_keys, ", ");
    attn__say_number(t, "", s->all_blocks, " blocks on ");
    attn__say_number(t, "", s->workers, s->workers == 1 ? " task\n" : " tasks\n");
    if (s->splits > 1)
        attn__say_number(t, "split-KV: keys in up to ", s->splits,
                         s->parallel_splits ? " splits, in parallel\n" : " splits, one after another\n");
    if (s->many_room > 0)
        attn__say_number(t, "queries lie on the lanes of vectors: more rows than ", s->few_most,
                         " of an item and a key/value head\n");
    if (s->takes_few && call->ctx.batch_invariant)
        attn__say(t, "terms of dot products lie on lanes: batch_invariant\n");
    else if (s->takes_few)
        attn__say_number(t, "terms of dot products lie on lanes: few rows, up to ", s->few_most,
                         " of an item and a key/value head\n");
    if (s->takes_few && s->side_heads > 1)
        attn__say_number(t, "few rows of ", s->side_heads, " key/value heads are one block: they lie side by side\n");
    attn__say_rows(t, "k", plan, &call->k, s->many_room == 0 || s->k_direct);
    attn__say_rows(t, "v", plan, &call->v, s->many_room == 0 || s->v_direct);
    if (call->opts.sequences > 0)
        attn__say_number(t, "texts: ", call->opts.sequences, ", each as if alone\n");
    if (attn__has_lists(&call->opts))
        attn__say(t, s->skips ? "blocks: keys that are not listed are left out\n"
                              : "blocks: keys that are not listed are hidden, as their scores are wanted\n");
    if (plan->source.table)
        attn__say_number(t, "pages of ", plan->source.capacity, " tokens\n");
    if (!attn__tensor_absent(&call->opts.mask))
        attn__say(t, "mask: classified tile by tile, copied where it hides a part of one\n");
    if (!attn__tensor_absent(&call->opts.bias))
        attn__say(t, attn__bias_direct(call) && s->many_room > 0
                         ? "bias: added from where it lies, where a block has many rows of one head alone\n"
                         : "bias: copied tile by tile: few rows, another type, dim_stride is not 1, ALiBi, "
                           "score_mod or no vectors\n");
    if (s->writes_matrices)
        attn__say(t, "weights, scores: kept as they are computed; splits do not run in parallel\n");
    if (s->writes_matrices && !attn__tensor_absent(&call->opts.scores) && call->opts.scores_stage != ATTN_STAGE_FINAL)
        attn__say(t, "scores: those of hidden keys are computed for them\n");
    if (s->writes_matrices && !attn__tensor_absent(&call->opts.weights) && !s->weights_in_place)
        attn__say(t, "weights: every score is computed once more, as they cannot hold scores: another type, "
                     "dim_stride is not 1, or dropout\n");
    if (call->opts.score_mod)
        attn__say(t, "score_mod: scores go through it row by row\n");
    if (attn__drops(&call->opts))
        attn__say(t, "dropout: of the weights of each tile, between softmax and values\n");
}

static void attn__say_rows(attn__message *text, const char *name, const attn__plan *plan, const attn_tensor *t,
                           int direct)
{
    const attn__kernels *kern = attn__kern(&plan->call);
    int few = plan->schedule.many_room == 0, readable = few ? attn__reads(kern, t->dtype) : t->dtype == kern->element;
    const char *why = NULL;
    if (!few && readable && t == &plan->call.v && !attn__is_panel(kern, t->dtype))
        why = "its rows are interleaved in pairs\n";
    else if (!few && readable && t == &plan->call.k && t->dim_stride == 1 &&
             !attn__are_terms(kern, t->dtype, t->len_stride, 1, t->len, t->dim))
        why = "dim or len_stride is odd, which parts pairs\n";
    else if (!readable)
        why = attn__has_scales(t->dtype) ? "its integers are widened, scales multiply scores and weights\n"
                                         : "its 16-bit elements are widened\n";
    else if (t->dim_stride != 1)
        why = "its dim_stride is not 1\n";
    else if (!direct)
        why = "once for several query blocks, as its rows do not follow each other\n";
    attn__say(text, name);
    if (why)
        attn__say(text, few ? " is copied, 16 keys at a time: " : " is copied tile by tile: ");
    if (!why && !few && t->len > plan->source.capacity && !plan->source.table)
        why = " is read in place, but for the tiles where the ring begins anew\n";
    else if (!why && !few && plan->schedule.scattered)
        why = " is read in place, or copied where its keys lie in many places\n";
    attn__say(text, why ? why : " is read in place\n");
}

/* ==== the walk =====================================================================================================

   From workers to tiles. A worker carves its memory from scratch, then takes units, of blocks or of one split, until
   none is left. A block finds its rows and the keys that these see (attn__begin_block), meets its splits tile by tile,
   and at the end divides by its sums (attn__finish_block). This room owns the block, the worker and their memory; it
   does not know what happens in a tile, nor where keys lie. */

/* The most rows that a block has in any pass: 3 vectors of 16 floats. */
#define ATTN__BLOCK_ROWS 48

typedef struct attn__range { /* keys from .. to - 1; none if from >= to */
    size_t from, to;
} attn__range;

typedef struct attn__listed { /* blocks of keys that some queries see */
    const uint32_t *index;
    size_t count, keys; /* how many; keys of each, 0: there are no lists, every key is seen */
} attn__listed;

typedef struct attn__row { /* one row of a query block */
    attn__range seen;      /* the keys that it sees, unless lists, mask, bias or score_mod hide them */
    attn__range exists;    /* those that exist for it */
    ptrdiff_t offset;      /* o: the position of row i is i + o */
} attn__row;

typedef struct attn__tile_cache { /* rows of k or v copied as reals, for all blocks of a unit */
    char *rows;
    size_t head;      /* key/value head of the rows, SIZE_MAX if there are none */
    attn__range held; /* the keys that are there */
} attn__tile_cache;

typedef struct attn__run {  /* keys of a tile whose numbers follow each other, as do their rows in memory */
    size_t item, row;       /* of k and v: where the first one lies */
    uint16_t key, at, keys; /* its number, less that of the tile's first; how many of the tile precede it; how many */
} attn__run;

typedef struct attn__shared { /* what the blocks of a unit use one after another */
    attn__run *run;           /* the tile in hand: its keys, ascending */
    size_t runs, found_keys;
    attn__range found; /* where the tile is in several runs: those of these keys are known */
    attn__tile_cache k, v;
    attn__range wanted;         /* keys that the blocks see together: a tile is copied as far as these go */
    attn__range finite;         /* keys with values without NaN and infinity, the last that were looked at */
    size_t least_key;           /* of all blocks of the unit */
    char *scores, *bias, *mask; /* of a tile */
    char *copied_rows;          /* few rows: a copy of rows of k or v */
    char *lanes;                /* attn__operand.lanes */
    char *scales;               /* of a tile's rows of k or v, in I8 */
    uint64_t *hidden;           /* keys of a tile, where that matters: a bit for each row that does not see one */
    const char **at, **next;    /* few rows: where the rows of a tile are, and those that will be read next; */
    uint16_t *numbers;          /* and the numbers of listed keys */
    char *row;                  /* one row's scores, for score_mod */
    char *before, *capped;      /* copies of the tile's scores before score_mod and after softcap; NULL: not wanted */
} attn__shared;

/* Reals of each row of a block: bounds and ALiBi as the tile has them, the factor of softmax, 1 / sum. */
enum attn__row_reals { ATTN__FIRST, ATTN__END, ATTN__POSITION, ATTN__SLOPE, ATTN__INVERSE, ATTN__FACTOR, ATTN__REALS };

typedef struct attn__place { /* which rows a block has */
    size_t b;                /* batch item or text: of lengths, offsets, options; */
    size_t item, start;      /* of q, out and lse: the batch item, and the row of query 0. Without texts b and 0 */
    size_t first, queries;   /* of the row of lists */
    size_t head, kv_head;    /* the first query head of the group, and the key/value head that it reads */
    size_t heads;            /* how many of these, where there are few rows: their query heads are one group */
    size_t row, count;       /* the first row, counted through the query heads of the group, and how many */
    attn__listed listed;
} attn__place;

typedef struct attn__block {
    const attn__plan *plan;
    attn__shared *shared;
    attn__place at;
    attn__range visible_to_any, visible_to_all; /* mask aside; the first begins with a pair, or chain, of keys */
    size_t least_key;                           /* that any row sees, mask aside, or that has scores which are wanted */
    attn__range exists;                         /* keys that exist */
    attn__row *rows;
    unsigned char *mask_cache; /* attn__visibility of each half of the first tiles; 0 = not yet classified */
    uint32_t *drop_rows;       /* with dropout, a key of 64 bits for each lane: lower halves, then upper ones */
    char *queries;             /* Q of the block */
    char *reals;               /* attn__row_reals x block_rows */
    attn__state state, split;  /* the result over the keys so far; and over those of one more split */
    attn__state *into;         /* the one that tiles go into; NULL: the block sees no key of the split in hand */
    attn__range split_keys;    /* keys of that split that any row may see */
    attn__range span;          /* what the tile spans: it has those of keys from .. to - 1 that are attended */
    int by_bounds, by_mask;    /* what these show of them, and hide: attn__visibility */
    int few;                   /* its rows take the kernels of few rows: attn__has_few */
    size_t tile_keys;
    const struct attn__block *next; /* which meets a tile next: the same tile, if it comes later in the unit */
    attn__tile tile;
} attn__block;

typedef struct attn__worker { /* the blocks of a unit, and what they share */
    attn__block *blocks;
    attn__shared shared;
} attn__worker;

static void attn__sdpa_worker(attn__share *share);
static void attn__clear_missing(const attn__plan *plan);
static void attn__begin_worker(attn__worker *worker, const attn__plan *plan, size_t index);
static void attn__attend_blocks(attn__worker *worker, size_t first, size_t count, size_t alone);
static void attn__attend_block(attn__block *block, size_t index);
static void attn__reset_caches(attn__shared *shared, attn__range wanted, size_t least_key);
static int attn__begin_block(attn__block *block, size_t index);
static attn__range attn__keys_of_split(const attn__block *block, size_t split, size_t keys);
static void attn__find_kept(attn__state *state, const attn__plan *plan, size_t index, size_t split);
static void attn__attend_split(attn__block *blocks, size_t count, size_t split, size_t keys);
static void attn__finish_block(attn__block *block);
static void attn__find_block(attn__place *at, const attn__plan *plan, size_t index);
static void attn__find_visible(attn__block *block);
ATTN__NOINLINE void attn__finish_row(const attn__block *block, size_t row);
static size_t attn__carve_worker(char *base, const attn__plan *plan, attn__worker *worker);
static void attn__begin_tiles(attn__block *block, const attn__plan *plan, attn__shared *shared);
/* of "a tile" */
static int attn__keeps_weights(const attn__plan *plan);
static void attn__process_tile(attn__block *block, size_t from, size_t to);
/* of "few rows" */
static size_t attn__side_heads(const attn__block *block);
static int attn__is_few(const attn__block *block);
static int attn__has_few(const attn__plan *plan, size_t b, size_t most);
static size_t attn__few_step(const attn__plan *plan);
static size_t attn__query_room(const attn__plan *plan);
static int attn__copies_few(const attn__plan *plan, const attn_tensor *t);
/* of "weights and scores" */
static void attn__fill_part(const attn_tensor *t, size_t b, size_t h, size_t i, size_t from, size_t to, attn__number x);
static void attn__keep_hidden(attn__block *block, size_t from, size_t to, attn__number weight);
static void attn__scale_rows(const attn__block *block, void *x, attn__layout layout, size_t n);
ATTN__NOINLINE void attn__finish_matrices(attn__block *block);
/* of "keys" */
static size_t attn__valid_queries(const attn__plan *plan, size_t b);
static void attn__join(attn__range *all, attn__range more);
static size_t attn__next_key(const attn__block *block, size_t j, size_t end);
static attn__range attn__common(attn__range a, attn__range b);
static void attn__begin_item(attn__place *at, const attn__plan *plan, size_t b);
static attn__listed attn__find_listed(const attn__plan *plan, size_t b, size_t h, size_t list_row);
static void attn__visible(attn__row *row, const attn__plan *plan, size_t b, size_t i);
/* of "rows of a block" */
static size_t attn__query_terms(const attn__plan *plan);
static attn__layout attn__layout_of(const attn__block *block, size_t elements);
static void attn__set_drop_rows(attn__block *block);
static void attn__gather_by(attn__load_kernel *load, size_t words, const attn__block *block, void *x,
                            attn__layout layout, const attn_tensor *t, size_t first, size_t n);
static size_t attn__query_of(const attn__block *block, size_t row, size_t *h, size_t *i);
static char *attn__row_real(const attn__block *block, enum attn__row_reals which, size_t row);
static void attn__scatter(const attn__block *block, const attn_tensor *t, size_t first, const void *x,
                          attn__layout layout, size_t n, attn__number alpha);
static attn__number attn__get_real(const attn__plan *plan, const void *reals, size_t i);
static void attn__set_real(const attn__plan *plan, void *reals, size_t i, attn__number x);
static void *attn__query_at(const attn__block *block, const attn_tensor *t, size_t h, size_t i, size_t d);

/* The planned call, in plan->scratch, aligned. */
static void attn__plan_execute(attn__plan *plan)
{
    size_t index;
    attn__worker worker;
    attn__spread(&plan->call.ctx, plan->schedule.workers, plan->schedule.units, attn__sdpa_worker, plan, NULL, 0);
    attn__clear_missing(plan);
    if (!ATTN__LARGE || !plan->schedule.parallel_splits)
        return;
    attn__begin_worker(&worker, plan, 0);
    for (index = 0; index < plan->schedule.all_blocks; index++)
        attn__attend_blocks(&worker, index, 1, SIZE_MAX);
}

/* Rows that do not exist: past the queries of an item, or past the last text. */
static void attn__clear_missing(const attn__plan *plan)
{
    const attn_opts *opts = &plan->call.opts;
    const attn_tensor *out = &plan->call.out;
    size_t b, h, i, first;
    for (b = 0; plan->schedule.vary && b < out->batch; b++) {
        first = opts->sequences > 0 ? opts->q_starts[opts->sequences] : attn__valid_queries(plan, b);
        for (h = 0; h < out->heads; h++)
            for (i = first; i < out->len; i++) {
                attn__fill_part(out, b, h, i, 0, out->dim, 0.0);
                attn__fill_part(&opts->lse, b, h, i, 0, opts->lse.dim, attn__minus_infinity());
                attn__fill_part(&opts->weights, b, h, i, 0, opts->weights.dim, 0.0);
                attn__fill_part(&opts->scores, b, h, i, 0, opts->scores.dim, attn__minus_infinity());
            }
    }
}

static void attn__sdpa_worker(attn__share *share)
{
    const attn__plan *plan = (const attn__plan *)share->arg;
    const attn__schedule *s = &plan->schedule;
    size_t unit, first, count, group, block;
    attn__worker worker;
    attn__begin_worker(&worker, plan, share->index);
    while (attn__take(share, &unit)) {
        unit = s->units - 1 - unit; /* the last blocks of causal attention have the most keys: longest first */
        if (ATTN__LARGE && s->parallel_splits) {
            attn__attend_blocks(&worker, unit / s->splits * s->side_heads, 1, unit % s->splits);
        } else if (!ATTN__LARGE || plan->call.opts.sequences > 0) {
            attn__attend_blocks(&worker, unit * attn__unit_blocks(s), attn__unit_blocks(s), SIZE_MAX);
        } else { /* a few groups in turn: units of one length come together, and yet a worker's next unit mostly has the
                    keys of its last, or the same rows of a mask, which are in its cache */
            first = attn__quotient(unit, s->mixed_groups * s->group_units) * s->mixed_groups;
            count = attn__min(s->mixed_groups, s->groups - first);
            unit -= first * s->group_units;
            block = attn__quotient(unit, count);
            group = first + unit - block * count;
            block *= s->unit_blocks;
            attn__attend_blocks(&worker, group * s->blocks + block, attn__min(s->unit_blocks, s->blocks - block),
                                SIZE_MAX);
        }
    }
}

/* The splits of the block, by number: those of its batch item that some row may see, at least one; and the keys of a
   split. Where splits lie depends on the valid keys of the batch item alone: no row can tell which others share its
   block. With up to ATTN__SPLITS x ATTN__SPLIT_KEYS = 16384 keys they lie at fixed keys. */
static attn__range attn__splits(const attn__block *block, size_t *keys)
{
    const attn__plan *plan = block->plan;
    attn__range splits;
    size_t tiles = attn__ceil_div(attn__valid_keys(plan, block->at.b), block->tile_keys);
    *keys = attn__max(attn__ceil_div(tiles, ATTN__SPLITS) * block->tile_keys, ATTN__SPLIT_KEYS);
    splits.from = attn__quotient(block->visible_to_any.from, *keys);
    splits.to = attn__max(attn__ceil_div(block->visible_to_any.to, *keys), splits.from + 1);
    return splits;
}

/* Query blocks first .. first + count - 1 of the batch, all of one group, as far as they have rows: all their splits,
   then their outputs. Where splits run in parallel, count is 1. It is called for each split by itself then, whose
   result is kept: `alone` is its number, counted from the first that the block sees. And once more, with SIZE_MAX, to
   merge what was kept. */
static void attn__attend_blocks(attn__worker *worker, size_t first, size_t count, size_t alone)
{
    attn__block *blocks = worker->blocks, *block;
    const attn__plan *plan = blocks->plan;
    const int kept = plan->schedule.parallel_splits, ends = alone == SIZE_MAX;
    attn__range splits[ATTN__UNIT_BLOCKS], all = {SIZE_MAX, 0}, seen;
    int begun[ATTN__UNIT_BLOCKS] = {0};
    size_t split, keys = 0, i;
    if (!ATTN__LARGE) {
        attn__attend_block(blocks, first);
        return;
    }
    for (i = 0; i < count; i++) { /* of one batch item: their splits have the same keys */
        if (!attn__begin_block(&blocks[i], first + i)) {
            count = i;
            break;
        }
        if (plan->schedule.writes_matrices && plan->schedule.skips)
            attn__keep_hidden(&blocks[i], blocks[i].visible_to_any.from, blocks[i].visible_to_any.to,
                              attn__minus_infinity());
        splits[i] = attn__splits(&blocks[i], &keys);
        attn__join(&all, splits[i]);
    }
    for (i = 0; i < count; i++)
        blocks[i].next = &blocks[i + 1 < count ? i + 1 : 0];
    for (split = ends ? all.from : all.from + alone; split < all.to && (ends || split == all.from + alone); split++) {
        for (i = 0; i < count; i++) {
            block = &blocks[i];
            block->into = NULL;
            seen = attn__keys_of_split(block, split, keys);
            if (splits[i].from > split || split >= splits[i].to ||
                (split + 1 < splits[i].to && attn__next_key(block, seen.from, seen.to) == seen.to)) /* none is listed */
                continue;
            block->into = begun[i] ? &block->split : &block->state;
            begun[i] = 1;
            if (kept)
                attn__find_kept(block->into, plan, first, split - all.from);
            if (!kept || !ends)
                attn__kern(&plan->call)->block.begin(block->into, plan->call.v.dim, block->at.count, block->tile.lanes);
        }
        if (!kept || !ends)
            attn__attend_split(blocks, count, split, keys);
        for (i = 0; i < count; i++) /* the result over one more split joins that over those before */
            if (blocks[i].into == &blocks[i].split)
                attn__kern(&plan->call)
                    ->block.merge(&blocks[i].tile, &blocks[i].state, &blocks[i].split, plan->call.v.dim,
                                  plan->call.softmax_scale);
    }
    for (i = 0; i < count && ends; i++)
        attn__finish_block(&blocks[i]);
}

/* In a small build: query block number `index` of the batch, split by split, each tile by tile; then its outputs. */
static void attn__attend_block(attn__block *block, size_t index)
{
    const attn__plan *plan = block->plan;
    const attn__kernels *kern = attn__kern(&plan->call);
    size_t tile, k0, next, end;
    if (!attn__begin_block(block, index))
        return;
    tile = block->tile_keys;
    if (plan->schedule.writes_matrices && plan->schedule.skips)
        attn__keep_hidden(block, block->visible_to_any.from, block->visible_to_any.to, attn__minus_infinity());
    block->into = &block->state;
    end = block->visible_to_any.from;
    do {
        block->split_keys.from = end;
        end = block->split_keys.to =
            attn__min((attn__quotient(end, ATTN__SPLIT_KEYS) + 1) * ATTN__SPLIT_KEYS, block->visible_to_any.to);
        kern->block.begin(block->into, plan->call.v.dim, block->at.count, block->tile.lanes);
        attn__reset_caches(block->shared, block->split_keys, block->least_key);
        for (k0 = attn__next_key(block, block->split_keys.from, end); k0 < end; k0 = attn__next_key(block, next, end)) {
            next = attn__min((attn__quotient(k0, tile) + 1) * tile, end);
            attn__process_tile(block, k0, next);
        }
        if (block->into == &block->split)
            kern->block.merge(&block->tile, &block->state, &block->split, plan->call.v.dim, plan->call.softmax_scale);
        block->into = &block->split;
    } while (end < block->visible_to_any.to);
    attn__finish_block(block);
}

/* Empties the tile caches. `wanted`: by the blocks of a unit together; no keys, if one block is alone. */
static void attn__reset_caches(attn__shared *shared, attn__range wanted, size_t least_key)
{
    const attn__range none = {0, 0};
    shared->k.head = shared->v.head = SIZE_MAX;
    shared->wanted = wanted;
    shared->finite = shared->found = none;
    shared->least_key = least_key;
}

/* The keys of one split, tile by tile, for those of `count` blocks that have a state for it. Where tiles begin depends
   on nothing else; a block may see but a part of one. */
static void attn__attend_split(attn__block *blocks, size_t count, size_t split, size_t keys)
{
    size_t tile = blocks->tile_keys, least = SIZE_MAX, k0, next, first, end, i;
    attn__range all = {SIZE_MAX, 0};
    for (i = 0; i < count; i++) {
        blocks[i].split_keys = attn__keys_of_split(&blocks[i], split, keys);
        if (!blocks[i].into)
            blocks[i].split_keys.to = 0;
        attn__join(&all, blocks[i].split_keys);
        if (blocks[i].split_keys.from < blocks[i].split_keys.to)
            least = attn__min(least, blocks[i].least_key);
    }
    attn__reset_caches(blocks->shared, all, least);
    for (k0 = attn__next_key(blocks, all.from, all.to); k0 < all.to; k0 = attn__next_key(blocks, next, all.to)) {
        next = (attn__quotient(k0, tile) + 1) * tile;
        for (i = 0; i < count; i++) {
            first = attn__max(k0, blocks[i].split_keys.from);
            end = attn__min(next, blocks[i].split_keys.to);
            if (first < end && attn__next_key(&blocks[i], first, end) < end)
                attn__process_tile(&blocks[i], first, end);
        }
    }
}

/* Keys of a split that any row of the block may see. */
static attn__range attn__keys_of_split(const attn__block *block, size_t split, size_t keys)
{
    const attn__range all = {split * keys, (split + 1) * keys};
    return attn__common(all, block->visible_to_any);
}

/* -- a block: its rows, what they see, and its outputs -- */

/* Makes `block` query block number `index` of the batch; returns if it has rows. */
static int attn__begin_block(attn__block *block, size_t index)
{
    const attn__plan *plan = block->plan;
    const attn__schedule *schedule = &plan->schedule;
    size_t lanes = attn__kern(&plan->call)->lanes, known = block->at.count, terms = attn__query_terms(plan);
    attn__place *at = &block->at, last = *at;
    attn__layout queries;
    int same_item, same_rows;
    attn__find_block(at, plan, index);
    if (at->count == 0) {
        at->b = SIZE_MAX; /* what is visible to it is not known */
        return 0;
    }
    same_item = at->b == last.b;
    same_rows = same_item && at->first == last.first && at->row == last.row && plan->call.opts.mask.head_stride == 0;
    if (ATTN__LARGE && schedule->mask_tiles > 0 && !same_rows)
        ATTN__MEMSET(block->mask_cache, 0, 2 * schedule->mask_tiles);
    block->next = block;
    block->few = attn__has_few(plan, at->b, schedule->few_most); /* nothing else decides which kernels take them */
    block->tile_keys = attn__is_few(block) ? schedule->few_keys : schedule->tile_keys;
    block->tile.queries = at->count;
    block->tile.lanes = attn__whole(at->count, lanes);
    block->tile.layout = attn__layout_of(block, attn__few_step(plan));
    queries = attn__layout_of(block, attn__query_room(plan));
    block->state.layout = block->split.layout = attn__layout_of(block, attn__whole(plan->call.v.dim, lanes));
    if (!(ATTN__LARGE && schedule->uniform_rows && same_item && at->count <= known))
        attn__find_visible(block);
    if (attn__drops(&plan->call.opts))
        attn__set_drop_rows(block);
    if (attn__is_few(block) && queries.query > terms) /* whole vectors */
        ATTN__MEMSET(block->queries, 0, at->count * queries.query * attn__kern(&plan->call)->size);
    attn__gather_by(attn__is_few(block) ? attn__kern(&plan->call)->load_rows : attn__kern(&plan->call)->load_panel,
                    terms, block, block->queries, queries, &plan->call.q, 0, plan->call.q.dim);
    return 1;
}

/* A slot has room for the rows of a unit. The number of the first slot of text s is (rows before it) / (rows of a slot)
   + s: the s more make room for each text's rounding up. So texts need no table; some slots stay empty. */
static size_t attn__text_slot(const attn__plan *plan, size_t s)
{
    const attn__schedule *schedule = &plan->schedule;
    return plan->call.opts.q_starts[s] * schedule->group_heads / (attn__unit_blocks(schedule) * schedule->block_rows) +
           s;
}

/* The text that a unit belongs to: a unit is a slot of a group, and a text's slots come group by group. */
static size_t attn__text_of(const attn__plan *plan, size_t unit)
{
    size_t low = 0, high = plan->call.opts.sequences, middle;
    while (low + 1 < high) { /* the last text whose slots begin at this one or before */
        middle = low + (high - low) / 2;
        if (attn__text_slot(plan, middle) * plan->schedule.item_groups <= unit)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Finds the rows of query block number `index` of the batch, if it has any: of the last list_row of an item, and of
   items with fewer queries than others, some have none. Few rows of heads that lie side by side are in the block of the
   first. */
static void attn__find_block(attn__place *at, const attn__plan *plan, size_t index)
{
    const attn__schedule *s = &plan->schedule;
    size_t blocks = s->blocks, group, list_row, rows, valid, b = 0, slot;
    if (plan->call.opts.sequences > 0) {
        b = attn__text_of(plan, index / attn__unit_blocks(s));
        slot = attn__text_slot(plan, b);
        index -= slot * s->item_groups * attn__unit_blocks(s);
        blocks = (attn__text_slot(plan, b + 1) - slot) * attn__unit_blocks(s);
    }
    group = attn__quotient(index, blocks);
    list_row =
        attn__quotient(group, s->item_groups); /* of a text the first; behind the last text one that has no queries */
    at->head = (group - list_row * s->item_groups) * s->group_heads;
    at->row = (index - group * blocks) * s->block_rows;
    if (plan->call.opts.sequences == 0) {
        b = attn__quotient(list_row, s->list_rows);
        list_row -= b * s->list_rows;
    }
    attn__begin_item(at, plan, b);
    valid = attn__valid_queries(plan, b);
    at->first = list_row * s->list_queries;
    at->queries = at->first < valid ? attn__min(s->list_queries, valid - at->first) : 0;
    if (s->skips) /* else tiles have all keys */
        at->listed = attn__find_listed(plan, b, at->head, list_row);
    rows = at->queries * s->group_heads;
    at->kv_head = attn__quotient(at->head, plan->call.q.heads / plan->call.k.heads);
    at->heads = 1;
    if (ATTN__LARGE && s->side_heads > 1 &&
        attn__has_few(plan, at->b, attn__kern(&plan->call)->tuned->few_most)) { /* invariant or not */
        at->heads = attn__min(s->side_heads, s->item_groups - at->kv_head);
        at->count = at->kv_head % s->side_heads == 0 && at->row == 0 ? at->heads * rows : 0;
        return;
    }
    at->count = at->row < rows ? attn__min(s->block_rows, rows - at->row) : 0;
}

/* What the rows of the block see, each and together. Uniform rows are found once, for as many as a block has. */
static void attn__find_visible(attn__block *block)
{
    const attn__plan *plan = block->plan;
    size_t chain = attn__is_few(block) ? ATTN__FEW_CHAIN : attn__kern(&plan->call)->term, h, i;
    attn__range any = {SIZE_MAX, 0}, all = {0, SIZE_MAX};
    attn__row *row;
    attn__query_of(block, 0, &h, &i);
    for (row = block->rows; row < block->rows + block->at.count; row++) {
        if (ATTN__LARGE && row > block->rows && plan->schedule.uniform_rows) {
            *row = row[-1];
            continue;
        }
        attn__visible(row, plan, block->at.b, i);
        i = i + 1 < block->at.first + block->at.queries ? i + 1 : block->at.first;
        all = attn__common(all, row->seen);
        attn__join(&any, row->seen);
    }
    if (any.to == 0)
        any.from = 0;
    block->exists = block->rows->exists;
    block->least_key = any.from;
    if (plan->call.opts.scores.data && plan->call.opts.scores_stage != ATTN_STAGE_FINAL)
        block->least_key = attn__min(any.from, block->exists.from); /* others have scores, too */
    any.from -= any.from % chain; /* which keys make a pair, or a chain, does not depend on the block */
    block->visible_to_any = any;
    block->visible_to_all = all;
}

/* All keys have been met: the outputs go to where the caller wants them. */
static void attn__finish_block(attn__block *block)
{
    const attn__plan *plan = block->plan;
    const attn_opts *opts = &plan->call.opts;
    attn__state *state = &block->state;
    size_t row, Dv = plan->call.v.dim;
    attn__kern(&plan->call)->block.finish(state, attn__row_real(block, ATTN__INVERSE, 0), block->tile.lanes);
    for (row = 0; row < block->at.count; row++)
        if (opts->sinks || opts->lse.data || state->nan[row])
            attn__finish_row(block, row);
    attn__scale_rows(block, state->out, state->layout, Dv);
    attn__scatter(block, &plan->call.out, 0, state->out, state->layout, Dv, 1.0);
    if (plan->schedule.writes_matrices)
        attn__finish_matrices(block);
}

/* One more score, without a value, for a row that has sum = sum of exp(score - max). Returns the factor by which out,
   and the sum so far, must shrink. */
static attn__number attn__add_sink(attn__number sink, attn__number *max, attn__number *sum, int *nan)
{
    attn__number before = *max, factor;
    if (!attn__is_finite(sink)) {
        *nan |= attn__bits(sink) != attn__bits(attn__minus_infinity());
        return 1;
    }
    *max = *sum > 0 && before > sink ? before : sink;
    factor = *sum > 0 ? ATTN__NUMBER(exp)(before - *max) : 0;
    *sum = *sum * factor + ATTN__NUMBER(exp)(sink - *max);
    return factor;
}

/* A row with a sink, NaN, or a log-sum-exp that is wanted. */
ATTN__NOINLINE void attn__finish_row(const attn__block *block, size_t row)
{
    const attn__plan *plan = block->plan;
    const attn_tensor *lse = &plan->call.opts.lse;
    attn__number sum = attn__get_real(plan, block->state.sum, row), factor = 1, x;
    attn__number max = attn__get_real(plan, block->state.max, row) * plan->call.softmax_scale;
    int nan = block->state.nan[row], sink = plan->call.opts.sinks != NULL;
    size_t h, i;
    attn__query_of(block, row, &h, &i);
    if (sink)
        factor = attn__add_sink((attn__number)plan->call.opts.sinks[h], &max, &sum, &nan);
    x = nan ? (attn__number)attn__nan() : sum > 0 ? factor / sum : 0;
    if (nan || (sink && attn__is_finite((double)plan->call.opts.sinks[h])))
        attn__set_real(plan, attn__row_real(block, ATTN__INVERSE, row), 0, x);
    if (!lse->data)
        return;
    x = nan ? (attn__number)attn__nan() : sum > 0 ? max + ATTN__NUMBER(log)(sum) : (attn__number)attn__minus_infinity();
    attn__set_element(attn__query_at(block, lse, h, i, 0), lse->dtype, x);
}

/* -- the memory of a worker -- */

/* Measures the scratch of a call. */
static void attn__measure_plan(attn__plan *plan)
{
    const attn__schedule *s = &plan->schedule;
    const attn__call *call = &plan->call;
    const attn__kernels *kern = attn__kern(call);
    const size_t keys = attn__max(s->tile_keys, s->few_keys);
    attn__arena arena = {NULL, 0};
    attn__worker worker;
    size_t most;
    plan->column = attn__whole(attn__max(s->many_room, s->few_room), kern->lanes);
    plan->bytes = SIZE_MAX;
    if (!attn__mul_size(&most, call->q.dim / 2 + call->v.dim / 2 + 513,
                        2 * (3 * ATTN__UNIT_BLOCKS * plan->column + keys) * kern->size))
        return; /* dims alone have no bound: all else, down to the rounding, is less than that of 1024 dims */
    plan->state_out = attn__max(s->many_room * attn__whole(call->v.dim, attn__max(kern->rows, kern->lanes)),
                                s->few_room * attn__whole(call->v.dim, kern->lanes)) *
                      kern->size;
    plan->state_bytes = attn__whole(plan->state_out + 3 * plan->column * kern->size, ATTN__ALIGN);
    plan->worker_bytes = attn__carve_worker(NULL, plan, &worker);
    arena.used = s->workers > 0 ? ATTN__ALIGN : 0; /* to align what the caller gives */
    attn__carve(&arena, s->workers, plan->worker_bytes);
    if (ATTN__LARGE && s->side_splits)
        attn__carve(&arena, call->q.batch * attn__count_splits(call->k.len), plan->state_bytes);
    else if (ATTN__LARGE && s->parallel_splits)
        attn__carve(&arena, s->units, plan->state_bytes);
    plan->bytes = arena.used;
}

static void attn__begin_worker(attn__worker *worker, const attn__plan *plan, size_t index)
{
    size_t i;
    attn__carve_worker(plan->scratch + index * plan->worker_bytes, plan, worker);
    for (i = 0; i < attn__unit_blocks(&plan->schedule); i++)
        attn__begin_tiles(&worker->blocks[i], plan, &worker->shared);
}

/* What is the same for all tiles of a block that has its memory. */
static void attn__begin_tiles(attn__block *block, const attn__plan *plan, attn__shared *shared)
{
    attn__tile *tile = &block->tile;
    block->plan = plan;
    block->shared = shared;
    block->next = block;
    ATTN__MEMSET(&block->at, 0, sizeof block->at);
    block->at.b = SIZE_MAX; /* none yet */
    block->few = 0;
    tile->scores = shared->scores;
    tile->factor = attn__row_real(block, ATTN__FACTOR, 0);
    attn__set_real(plan, tile->zero, 0, 0.0);
    attn__set_real(plan, tile->minus_infinity, 0, attn__minus_infinity());
    attn__set_real(plan, tile->lowest, 0, attn__lowest(attn__kern(&plan->call)->real));
}

static int attn__is_packed(const attn_tensor *t) /* rows follow each other */
{
    return t->len_stride == (ptrdiff_t)t->dim;
}

/* The result over some keys, of as many rows as a block may have: out; max, sum and, with room to spare, nan. */
static void attn__carve_state(attn__arena *arena, const attn__plan *plan, attn__state *state)
{
    const size_t reals = plan->column * attn__kern(&plan->call)->size;
    char *at = (char *)attn__put(arena, plan->state_bytes);
    state->out = at;
    state->max = at + plan->state_out;
    state->sum = at + plan->state_out + reals;
    state->nan = (unsigned char *)at + plan->state_out + 2 * reals;
}

/* The scratch of a worker: what its blocks share, and what each has. It does not grow with Lq: where blocks may be full
   there is room for ATTN__UNIT_BLOCKS of them, whatever the call has. Blocks of many rows and of few use the same
   arrays. Room for values follows that for scores: of many rows attn__tile_rows may copy those of a tile, few copy rows
   of k or v. */
static size_t attn__carve_worker(char *base, const attn__plan *plan, attn__worker *worker)
{
    const attn__schedule *s = &plan->schedule;
    const attn__call *call = &plan->call;
    const attn_opts *o = &call->opts;
    const attn__kernels *kern = attn__kern(call);
    attn__shared *shared = &worker->shared;
    const size_t many = ATTN__MANY ? s->many_room : 0, few = s->few_room, size = kern->size, tile = s->tile_keys;
    const size_t keys = attn__max(many > 0 ? tile : 0, few > 0 ? s->few_keys : 0);
    const size_t dims = attn__max(attn__copies_few(plan, &call->k) ? call->q.dim : 0, call->v.dim);
    const size_t scores = attn__whole(many * tile * size, ATTN__ALIGN);
    const size_t few_scores = attn__whole(few * attn__few_step(plan) * size, ATTN__ALIGN);
    const int k_lies = s->k_direct && !s->scattered && (!s->full_rows || attn__is_packed(&call->k));
    const size_t queries =
        attn__min(attn__min(few, s->group_rows), ATTN__DOT_MOST); /* of a head, that dot takes together: */
    const size_t lanes = queries + (queries % 4 == 3);            /* of three it makes four */
    attn__arena arena = {base, 0};
    attn__block none;
    size_t i, blocks;
    shared->run = (attn__run *)attn__put(&arena, (s->scattered ? keys : 1) * sizeof(attn__run));
    shared->scores = (char *)attn__put(&arena, attn__max(scores + (many > 0 ? tile * call->v.dim * size : 0),
                                                         few_scores + (few > 0 ? ATTN__FEW_CHAIN * dims * size : 0)));
    shared->v.rows = shared->scores + scores;
    shared->copied_rows = shared->scores + few_scores;
    shared->lanes = (char *)attn__put(&arena, lanes * kern->dot_keys * kern->lanes * size);
    shared->hidden = (uint64_t *)attn__put(&arena, keys * sizeof(uint64_t));
    shared->next = (const char **)attn__put(&arena, (ATTN__LARGE && s->holds_next ? keys : 0) * (sizeof(char *)));
    shared->k.rows = (char *)attn__put(&arena, (many > 0 && !k_lies ? tile * size : 0) * call->q.dim);
    shared->bias = shared->mask = shared->row = shared->before = shared->capped = shared->scales = NULL;
    shared->at = NULL;
    shared->numbers = NULL;
    if (call->has_options || s->scattered) {
        const int scales = plan->source.k_scales || plan->source.v_scales;
        shared->bias = (char *)attn__put(&arena, call->edits & ATTN__EDIT_BIAS ? attn__max(scores, few_scores) : 0);
        shared->mask = (char *)attn__put(&arena, !s->hides     ? 0
                                                 : !ATTN__MANY ? few_scores
                                                               : attn__ceil_div(keys, 64) * 8 * plan->column);
        shared->row = (char *)attn__put(&arena, (o->score_mod ? keys : 0) * size);
        shared->scales = (char *)attn__put(&arena, (scales ? keys + kern->lanes : 0) * size);
        shared->at = (const char **)attn__put(&arena, (s->scattered ? keys : 0) * (sizeof(char *)));
        shared->numbers = (uint16_t *)attn__put(&arena, (few > 0 && s->skips ? keys : 0) * sizeof(uint16_t));
    }
    blocks = ATTN__LARGE && s->full_rows ? ATTN__UNIT_BLOCKS : 1;
    worker->blocks = (attn__block *)attn__put(&arena, blocks * sizeof none);
    for (i = 0; i < blocks; i++) {
        attn__block *block = base ? &worker->blocks[i] : &none;
        block->rows = (attn__row *)attn__put(&arena, attn__max(many, few) * sizeof(attn__row));
        if (call->has_options) {
            block->mask_cache =
                (unsigned char *)attn__put(&arena, ATTN__LARGE && s->mask_tiles > 0 ? ATTN__MASK_CACHE : 0);
            block->drop_rows =
                (uint32_t *)attn__put(&arena, (attn__drops(o) ? 2 * plan->column : 0) * sizeof(uint32_t));
        }
        block->reals = (char *)attn__put(&arena, (ATTN__REALS * plan->column) * size);
        block->queries =
            (char *)attn__put(&arena, attn__max(many * attn__query_terms(plan), few * attn__query_room(plan)) * size);
        attn__carve_state(&arena, plan, &block->state);
        if (ATTN__LARGE || call->k.len > ATTN__SPLIT_KEYS)
            attn__carve_state(&arena, plan, &block->split);
    }
    return arena.used;
}

/* The result of one of a block's splits, which is kept until all are there. */
static void attn__find_kept(attn__state *state, const attn__plan *plan, size_t index, size_t split)
{
    size_t workers = plan->schedule.workers * plan->worker_bytes;
    size_t kept = index / plan->schedule.side_heads * plan->schedule.splits + split;
    attn__arena arena = {plan->scratch + workers + kept * plan->state_bytes, 0};
    attn__carve_state(&arena, plan, state);
}

/* ==== a tile =======================================================================================================

   One tile of keys against one query block: which of its keys rows see, its scores, their softmax, the values.
   attn__process_tile is the inner loop of attention. The room owns the tile, and asks the kernels of the table for all
   arithmetic, the room of keys for rows of K and V. It does not know which tile comes next. */

#ifndef ATTN__ON_TILE
#define ATTN__ON_TILE() ((void)0) /* the tests count tiles */
#endif

static int attn__classify_half(const attn__block *block, size_t k0, size_t to);
static int attn__prepare_tile(attn__block *block, size_t from, size_t to);
static void attn__score_tile(attn__block *block, attn_stage stage, int keep);
static void attn__accumulate_values(attn__block *block, int nonfinite_scores);
static void attn__find_visibility(attn__block *block, size_t k0, size_t n);
static int attn__scale_tile(const attn__block *block, const float *scales, int clean);
static void attn__score_run(attn__block *block, attn__tile *run, attn__number scale);
static void attn__find_bias(const attn__block *block, attn__tile *run);
static void attn__set_alibi(const attn__block *block, attn__tile *run);
ATTN__NOINLINE void attn__modify_scores(const attn__block *block, const attn__tile *run);
static int attn__multiply_values(const attn__block *block, int clean);
ATTN__NOINLINE void attn__recompute_weights(attn__block *block, const attn__state *state, uint64_t *hidden);
ATTN__NOINLINE void attn__add_nonfinite(const attn__block *block, const attn_tensor *t, const float *scales, char *sums,
                                        attn__layout to, const void *weights, uint64_t *hidden);
/* of "few rows" */
static int attn__multiply_few(const attn__block *block, const attn_tensor *t, int clean);
/* of "weights and scores" */
static void attn__keep_scores(const attn__block *block, attn_stage stage, attn__number scale);
/* of "keys" */
static attn__range attn__listed_range(const attn__block *block, size_t from, size_t to, int *all);
static void attn__set_tile(attn__block *block, size_t from, size_t to);
static int attn__next_run(const attn__block *block, attn__tile *run, size_t *i);
static int attn__lists_by_bits(const attn__block *block);
static size_t attn__listed_for(const attn__block *block, size_t row, attn__listed *listed);
ATTN__INLINE_IF_LARGE int attn__next_listed(const attn__listed *listed, attn__range keys, size_t *entry,
                                            attn__range *next);
static void attn__tile_rows(const attn__block *block, attn__rows *rows, const attn_tensor *t, int copy);
static size_t attn__scale_at(const attn__source *source, size_t heads, size_t item, size_t h, size_t row);
/* of "rows of a block" */
static void attn__drop(const attn__block *block, void *x);
static char *attn__real_at(const attn__plan *plan, const void *reals, size_t i);
static void attn__gather(const attn__block *block, void *x, attn__layout layout, const attn_tensor *t, size_t first,
                         size_t n);

/* Takes keys from .. to - 1, all of one tile, into the state of the split in hand. Halves of the tile at either end
   that a mask hides from all rows are left out first. */
static void attn__process_tile(attn__block *block, size_t from, size_t to)
{
    const attn__call *call = &block->plan->call;
    int keep = block->plan->schedule.writes_matrices, nonfinite;
    if (ATTN__LARGE && call->opts.mask.data && !keep) {
        while (from < to && attn__classify_half(block, from, to) == ATTN__SOME_HIDDEN)
            from += ATTN__HALF_TILE;
        while (from < to && attn__classify_half(block, to - ATTN__HALF_TILE, to) == ATTN__SOME_HIDDEN)
            to -= ATTN__HALF_TILE;
        if (from >= to || attn__next_key(block, from, to) == to)
            return;
    }
    if (!attn__prepare_tile(block, from, to)) {
        if (keep)
            attn__keep_hidden(block, from, to, attn__minus_infinity());
        return;
    }
    ATTN__ON_TILE();
    attn__score_tile(block, ATTN_STAGE_FINAL, keep);
    nonfinite = attn__kern(call)->block.softmax(&block->tile, block->into, call->softmax_scale);
    attn__drop(block, block->tile.scores); /* after the sum: that, and so lse, is of all weights */
    attn__accumulate_values(block, nonfinite);
}

/* -- which keys of a tile rows see -- */

/* Does any row of the block see any of keys from .. to - 1? If so, makes the tile ready for attn__score_tile. */
static int attn__prepare_tile(attn__block *block, size_t from, size_t to)
{
    attn__tile run;
    size_t i = 0;
    int all;
    attn__range listed = attn__listed_range(block, from, to, &all);
    if (listed.from >= listed.to)
        return 0;
    attn__set_tile(block, from, to);
    block->by_bounds = block->by_mask = 0;
    while (attn__next_run(block, &run, &i))
        attn__find_visibility(block, run.first_key, run.keys);
    if (!(block->by_bounds & ATTN__SOME_VISIBLE) || block->by_mask == ATTN__SOME_HIDDEN)
        return 0;
    block->by_mask |= all ? 0 : ATTN__SOME_HIDDEN;
    return 1;
}

/* Which of keys k0 .. k0 + n - 1 a row sees, counted from k0. */
static attn__range attn__seen_keys(const attn__row *row, size_t k0, size_t n)
{
    attn__range seen;
    seen.to = attn__min(attn__max(row->seen.to, k0), k0 + n) - k0;
    seen.from = attn__min(attn__max(row->seen.from, k0) - k0, seen.to);
    return seen;
}

/* What the mask alone lets rows i .. i + rows - 1 of head h of item b see of n keys from number k0 on. */
static int attn__classify_rows(const attn__plan *plan, size_t b, size_t h, size_t i, size_t rows, size_t k0, size_t n)
{
    const attn_tensor *mask = &plan->call.opts.mask;
    const unsigned char *at = (const unsigned char *)attn__tensor_at(mask, b, h, i, k0);
    size_t j, together = mask->dim_stride == 1 ? n : 1; /* keys that lie side by side */
    int found = 0;
    if (mask->len_stride == 0)
        rows = 1;
    if (mask->dim_stride == 0)
        n = attn__min(n, 1);
    for (j = 0; j < n && found != (ATTN__SOME_VISIBLE | ATTN__SOME_HIDDEN); j += together)
        found |=
            attn__kern(&plan->call)->classify(at + (ptrdiff_t)j * mask->dim_stride, mask->len_stride, rows, together);
    return found;
}

/* What the mask alone lets the rows of the block see of n keys from number k0 on. */
static int attn__classify(const attn__block *block, size_t k0, size_t n)
{
    size_t row, rows, h, i;
    int found = 0;
    for (row = 0; row < block->at.count; row += rows) {
        rows = attn__query_of(block, row, &h, &i);
        found |= attn__classify_rows(block->plan, block->at.b, h, i, rows, k0, n);
    }
    return found;
}

/* What the rows of the block see of n keys from number k0 on. */
static void attn__find_visibility(attn__block *block, size_t k0, size_t n)
{
    const attn_tensor *mask = &block->plan->call.opts.mask;
    attn__range seen;
    size_t row, h, i, k;
    int half = 0;
    if (block->visible_to_all.from <= k0 && k0 + n <= block->visible_to_all.to) {
        block->by_bounds |= ATTN__SOME_VISIBLE;
        for (k = k0; mask->data && k < k0 + n; k += half ? ATTN__HALF_TILE : n) {
            half = ATTN__LARGE ? attn__classify_half(block, k, k0 + n) : 0;
            block->by_mask |= half ? half : attn__classify(block, k, k0 + n - k);
        }
        return;
    }
    for (row = 0; row < block->at.count; row++) {
        seen = attn__seen_keys(&block->rows[row], k0, n);
        block->by_bounds |= seen.from < seen.to ? ATTN__SOME_VISIBLE : 0;
        block->by_bounds |= seen.to - seen.from < n ? ATTN__SOME_HIDDEN : 0;
        if (mask->data && seen.from < seen.to) {
            attn__query_of(block, row, &h, &i);
            block->by_mask |=
                attn__classify_rows(block->plan, block->at.b, h, i, 1, k0 + seen.from, seen.to - seen.from);
        }
    }
}

/* attn__classify of the half tile that begins with key k0, looked up in mask_cache, which is filled for
   ATTN__LOOK_AHEAD tiles at a time. 0 says that it is not known: where no half begins at k0, where keys from `to` on
   belong to it, or where bounds hide keys of its tile from some row already. */
static int attn__classify_half(const attn__block *block, size_t k0, size_t to)
{
    const attn__schedule *schedule = &block->plan->schedule;
    size_t end = attn__min(block->visible_to_all.to, block->split_keys.to), tile = k0 / ATTN__TILE_KEYS, i;
    size_t half = k0 / ATTN__HALF_TILE;
    end = attn__min(schedule->mask_tiles, end / schedule->tile_keys);
    if (k0 % ATTN__HALF_TILE != 0 || to - k0 < ATTN__HALF_TILE || schedule->tile_keys != ATTN__TILE_KEYS ||
        tile * ATTN__TILE_KEYS < block->visible_to_all.from || tile >= end)
        return 0;
    end = attn__min(end, tile + ATTN__LOOK_AHEAD);
    if (!block->mask_cache[half])
        for (i = 2 * tile; i < 2 * end; i++)
            block->mask_cache[i] = (unsigned char)attn__classify(block, i * ATTN__HALF_TILE, ATTN__HALF_TILE);
    return block->mask_cache[half];
}

/* The mask of a run of keys, as bits. Lanes past the last row see nothing. Where bits hide keys that are not listed,
   the run is a whole tile, and of each row of a mask those keys are left out; without a mask all listed keys are seen,
   by all rows that share the list. */
ATTN__NOINLINE void attn__gather_mask(const attn__block *block, attn__tile *run)
{
    const attn_tensor *mask = &block->plan->call.opts.mask;
    const attn__range keys = {run->first_key, run->first_key + run->keys};
    unsigned char listed_bytes[ATTN__FEW_KEYS > ATTN__TILE_KEYS ? ATTN__FEW_KEYS : ATTN__TILE_KEYS];
    size_t row, rows, h, i, j, entry;
    attn__listed listed;
    attn__range next;
    run->mask = block->shared->mask;
    if (ATTN__MANY && block->at.count < run->lanes)
        ATTN__MEMSET(block->shared->mask, 0, attn__ceil_div(run->keys, 64) * 8 * run->lanes);
    for (row = 0; row < block->at.count; row += rows) {
        const unsigned char *from;
        ptrdiff_t rs = mask->len_stride, cs = mask->dim_stride;
        rows = attn__query_of(block, row, &h, &i);
        from = (const unsigned char *)attn__tensor_at(mask, block->at.b, h, i, keys.from);
        if (attn__lists_by_bits(block)) {
            rows = attn__min(attn__listed_for(block, row, &listed), mask->data ? 1 : rows);
            ATTN__MEMSET(listed_bytes, 0, run->keys);
            for (next.to = keys.from, entry = SIZE_MAX; attn__next_listed(&listed, keys, &entry, &next);)
                for (j = next.from - keys.from; j < next.to - keys.from; j++)
                    listed_bytes[j] = !mask->data || from[(ptrdiff_t)j * cs];
            from = listed_bytes;
            rs = 0;
            cs = 1;
        }
        if (ATTN__MANY)
            attn__kern(&block->plan->call)
                ->load_bits(attn__real_at(block->plan, block->shared->mask, row), run->lanes, from, rs, cs, rows,
                            run->keys);
        else
            attn__kern(&block->plan->call)
                ->load(attn__real_at(block->plan, block->shared->mask, row * run->layout.query), run->layout.query,
                       from, ATTN_BOOL, rs, cs, rows, run->keys);
    }
}

/* Which keys of a run each row sees, for the kernel that hides the rest. */
static void attn__set_bounds(const attn__block *block, attn__tile *run)
{
    attn__range seen;
    size_t row, k0 = run->first_key;
    ATTN__MEMSET(attn__row_real(block, ATTN__FIRST, 0), 0,
                 2 * block->plan->column * attn__kern(&block->plan->call)->size);
    for (row = 0; row < block->at.count; row++) {
        seen = attn__seen_keys(&block->rows[row], k0, run->keys);
        attn__set_real(block->plan, attn__row_real(block, ATTN__FIRST, row), 0, (attn__number)seen.from);
        attn__set_real(block->plan, attn__row_real(block, ATTN__END, row), 0, (attn__number)seen.to);
    }
    run->bounds.first = attn__row_real(block, ATTN__FIRST, 0);
    run->bounds.end = attn__row_real(block, ATTN__END, 0);
    run->bounds.all_first = attn__max(block->visible_to_all.from, k0) - k0;
    run->bounds.all_end = attn__max(block->visible_to_all.to, k0) - k0;
}

/* -- its scores -- */

/* While gemm reads `rows`, it prefetches n elements, from number `first` on, of the block's rows of a matrix, as
   far as these are of one head, in place of the rows of the next tile: they will be read or written soon, and lie so
   far apart that each access would wait for memory. */
static void attn__prefetch_matrix(const attn__block *block, attn__rows *rows, const attn_tensor *t, size_t first,
                                  size_t n)
{
    size_t h, i, count = attn__query_of(block, 0, &h, &i);
    if (t->dim_stride != 1 || t->len_stride == 0 || n == 0)
        return;
    rows->next = (const char *)attn__tensor_at(t, block->at.b, h, i, first);
    rows->next_count = count;
    rows->next_step = attn__step(t);
    rows->row_bytes = n * attn__size(t->dtype);
}

/* Copies the tile's scores as they are now, for the backward pass, where a tile is one run. NULL: not wanted. */
static void attn__copy_tile(const attn__block *block, char *copy)
{
    const attn__tile *tile = &block->tile;
    if (copy)
        ATTN__MEMCPY(copy, tile->scores, tile->keys * tile->lanes * attn__kern(&block->plan->call)->size);
}

/* The scores of the tile that attn__prepare_tile has made ready, up to a stage, but for call->softmax_scale. `keep`
   those that the caller wants. */
static void attn__score_tile(attn__block *block, attn_stage stage, int keep)
{
    const attn__plan *plan = block->plan;
    const attn__kernels *kern = attn__kern(&plan->call);
    const attn_opts *opts = &plan->call.opts;
    attn__tile *tile = &block->tile;
    attn__rows k;
    attn__tile run;
    const attn_tensor *apart = NULL; /* a matrix whose rows the processor does not foresee */
    attn__number scale = plan->call.scale;
    int edits = plan->call.edits != 0 || scale < 1 || scale > 1 ||
                ((block->by_bounds | block->by_mask) & ATTN__SOME_HIDDEN); /* something for attn__score_run */
    size_t i;
    if (attn__is_few(block)) {
        attn__multiply_few(block, &plan->call.k, 0);
    } else {
        attn__tile_rows(block, &k, &plan->call.k, 0);
        if (keep && (opts->scores.data || attn__keeps_weights(plan)))
            apart = opts->scores.data ? &opts->scores : &opts->weights;
        else if (opts->bias.data || (opts->mask.data && block->by_mask & ATTN__SOME_HIDDEN))
            apart = opts->bias.data ? &opts->bias : &opts->mask;
        if (apart)
            attn__prefetch_matrix(block, &k, apart, tile->first_key, tile->keys);
        kern->gemm(tile->scores, k.data, k.step, 1, tile->keys, block->queries, tile->lanes, attn__query_terms(plan), 0,
                   NULL, &k);
    }
    attn__scale_tile(block, plan->source.k_scales, 0);
    if (keep)
        attn__keep_scores(block, ATTN_STAGE_DOT, scale);
    if (opts->softcap > 0 && stage != ATTN_STAGE_DOT) {
        kern->block.softcap(tile, scale, (attn__number)opts->softcap);
        attn__copy_tile(block, block->shared->capped);
        scale = 1;
    }
    if (keep)
        attn__keep_scores(block, ATTN_STAGE_SOFTCAP, scale);
    if (stage != ATTN_STAGE_FINAL)
        return;
    for (i = 0, run = *tile; edits && attn__next_run(block, &run, &i);)
        attn__score_run(block, &run, scale);
    if (keep)
        attn__keep_scores(block, ATTN_STAGE_FINAL, 1.0);
}

/* What depends on the number of a key, for a run of them: bias, ALiBi, score_mod, and hidden keys. scale: what the
   scores are still to be multiplied by. */
static void attn__score_run(attn__block *block, attn__tile *run, attn__number scale)
{
    const attn__plan *plan = block->plan;
    const attn__kernels *kern = attn__kern(&plan->call);
    const attn_opts *opts = &plan->call.opts;
    run->bias = run->bias_rows = run->mask = run->bounds.first = run->bounds.end = NULL;
    if (opts->bias.data)
        attn__find_bias(block, run);
    attn__set_alibi(block, run);
    if (run->bias || run->bias_rows || run->slope || scale < 1 || scale > 1)
        kern->block.edit(run, scale, 0);
    if (opts->score_mod) {
        attn__copy_tile(block, block->shared->before);
        attn__modify_scores(block, run);
    }
    if (block->by_bounds & ATTN__SOME_HIDDEN)
        attn__set_bounds(block, run);
    if (block->by_mask & ATTN__SOME_HIDDEN)
        attn__gather_mask(block, run);
    /* ALiBi and score_mod may have changed a score that a bias of -infinity had hidden */
    if (run->bounds.first || run->mask || (run->bias && plan->call.edits != ATTN__EDIT_BIAS))
        kern->block.edit(run, 1, 1);
}

/* Do scores wait in opts.weights until max and sum are known? */
static int attn__keeps_weights(const attn__plan *plan)
{
    return ATTN__LARGE && plan->schedule.weights_in_place;
}

/* Is bias added from where it lies, to blocks whose rows are of one head and fill their vectors? */
static int attn__bias_direct(const attn__call *call)
{
    const attn_tensor *bias = &call->opts.bias;
    return ATTN__LARGE && attn__kern(call)->lanes > 1 && bias->dtype == attn__kern(call)->real &&
           bias->dim_stride == 1 && call->edits == ATTN__EDIT_BIAS;
}

/* The run's part of the bias: where it lies, or a copy. */
static void attn__find_bias(const attn__block *block, attn__tile *run)
{
    const attn_tensor *bias = &block->plan->call.opts.bias;
    size_t h, i, rows = attn__query_of(block, 0, &h, &i);
    if (attn__bias_direct(&block->plan->call) && !attn__is_few(block) && run->keys % ATTN__BIAS_KEYS == 0 &&
        rows == run->lanes) {
        run->bias_rows = attn__tensor_at(bias, block->at.b, h, i, run->first_key);
        run->bias_step = bias->len_stride;
    } else {
        attn__gather(block, block->shared->bias, run->layout, bias, run->first_key, run->keys);
        run->bias = block->shared->bias;
    }
}

/* ALiBi, if it is wanted: positions and slopes of the rows, zeros past the last. */
static void attn__set_alibi(const attn__block *block, attn__tile *run)
{
    const attn__plan *plan = block->plan;
    size_t row, h, i;
    run->slope = NULL;
    if (!(plan->call.edits & ATTN__EDIT_ALIBI))
        return;
    ATTN__MEMSET(attn__row_real(block, ATTN__POSITION, 0), 0,
                 2 * plan->column * attn__kern(&plan->call)->size); /* both */
    for (row = 0; row < block->at.count; row++) {
        attn__query_of(block, row, &h, &i);
        attn__set_real(plan, attn__row_real(block, ATTN__POSITION, row), 0,
                       (attn__number)attn__plus((ptrdiff_t)i, block->rows->offset) - (attn__number)run->first_key);
        attn__set_real(plan, attn__row_real(block, ATTN__SLOPE, row), 0,
                       -(attn__number)plan->call.opts.alibi_slopes[h]);
    }
    run->position = attn__row_real(block, ATTN__POSITION, 0);
    run->slope = attn__row_real(block, ATTN__SLOPE, 0);
}

/* score_mod edits one row at a time; it is shown the keys between the row's bounds. */
ATTN__NOINLINE void attn__modify_scores(const attn__block *block, const attn__tile *run)
{
    const attn__plan *plan = block->plan;
    const attn_opts *opts = &plan->call.opts;
    attn__layout layout = run->layout;
    size_t row, h, i, j, size = attn__kern(&plan->call)->size, k0 = run->first_key;
    attn__range seen;
    for (row = 0; row < block->at.count; row++) {
        char *scores = attn__real_at(plan, run->scores, row * layout.query), *copy = block->shared->row;
        seen = attn__seen_keys(&block->rows[row], k0, run->keys);
        if (seen.from == seen.to)
            continue;
        attn__query_of(block, row, &h, &i);
        for (j = seen.from; j < seen.to; j++)
            ATTN__MEMCPY(copy + (j - seen.from) * size, scores + j * layout.element * size, size);
        opts->score_mod(opts->score_mod_user, copy, seen.to - seen.from, block->at.b, h, i, k0 + seen.from);
        for (j = seen.from; j < seen.to; j++)
            ATTN__MEMCPY(scores + j * layout.element * size, copy + (j - seen.from) * size, size);
    }
}

/* Numbers that are not finite become 0: of n reals, or of elements of terms, which are known to have some. Returns if
   there are any. */
static int attn__clear_nonfinite(const attn__kernels *kern, void *x, size_t n, attn_dtype dtype)
{
    const int found = dtype != kern->real || kern->nonfinite(x, 0, 1, n);
    void *at;
    size_t i;
    for (i = 0; found && i < n; i++)
        if (!attn__is_finite(attn__get_element(at = attn__at(x, dtype, (ptrdiff_t)i), dtype)))
            attn__set_element(at, dtype, 0.0);
    return found;
}

/* Multiplies the tile's scores, or weights, by the scales of its rows in I8, so that not each element has to be.
   `clean`: scales that are not finite count as 0; returns if there are any. */
static int attn__scale_tile(const attn__block *block, const float *scales, int clean)
{
    const attn__plan *plan = block->plan;
    const attn__kernels *kern = attn__kern(&plan->call);
    const attn__shared *shared = block->shared;
    const attn__run *run;
    attn__tile head;
    size_t g, h;
    int found = 0;
    if (!scales)
        return 0;
    head = block->tile;
    head.queries = block->at.count / attn__side_heads(block);
    ATTN__MEMSET(attn__real_at(plan, shared->scales, head.keys), 0, kern->lanes * kern->size);
    for (g = 0, h = block->at.kv_head; g < attn__side_heads(block); g++, h++) {
        for (run = shared->run; run < shared->run + shared->runs; run++)
            kern->load(attn__real_at(plan, shared->scales, run->at), run->keys,
                       scales + attn__scale_at(&plan->source, plan->call.k.heads, run->item, h, run->row), ATTN_F32, 0,
                       1, 1, run->keys);
        found |= clean && attn__clear_nonfinite(kern, shared->scales, head.keys, kern->real);
        head.scores = attn__real_at(plan, block->tile.scores, g * head.queries * head.layout.query);
        kern->block.scale_keys(&head, shared->scales);
    }
    return found;
}

/* -- its values -- */

/* out = factor out + P V for the tile. Where some scores were not finite, keys may be hidden, and a NaN or infinity
   among their values (or scales, in I8) must not meet the weight 0: such are left out then, as zeros in a copy, and
   added for those rows that see them. A hidden key has the score -infinity: so a tile whose scores are all finite hides
   none, and its values need no look. */
static void attn__accumulate_values(attn__block *block, int nonfinite_scores)
{
    const attn__plan *plan = block->plan;
    attn__range *finite = &block->shared->finite;
    int clean = nonfinite_scores && !(finite->from <= block->span.from && block->span.to <= finite->to);
    int found = attn__scale_tile(block, plan->source.v_scales, clean);
    if (!attn__is_few(block))
        found |= attn__multiply_values(block, clean);
    else if (plan->call.v.dim > 0)
        found |= attn__multiply_few(block, &plan->call.v, clean);
    if (found) {
        attn__prepare_tile(block, block->span.from, block->span.to);
        attn__recompute_weights(block, block->into, block->shared->hidden);
        attn__add_nonfinite(block, &plan->call.v, plan->source.v_scales, (char *)block->into->out, block->into->layout,
                            block->tile.scores, block->shared->hidden);
    } else if (nonfinite_scores) {
        *finite = block->span;
    }
}

/* out = factor out + P V, for the tile's rows of V, chain by chain: queries on lanes. `clean`: NaNs and
   infinities among the values count as 0, in a copy; returns if there were any. */
static int attn__multiply_values(const attn__block *block, int clean)
{
    const attn__plan *plan = block->plan;
    const attn__kernels *kern = attn__kern(&plan->call);
    const attn__tile *tile = &block->tile;
    size_t Dv = plan->call.v.dim, terms = attn__terms(kern, tile->keys), k, end, i, first, next = block->span.to;
    attn__rows v;
    attn__tile_rows(block, &v, &plan->call.v, clean && plan->call.v.dtype != kern->real);
    clean = clean && kern->nonfinite_terms(v.data, v.step, terms, Dv);
    if (clean) {
        attn__tile_rows(block, &v, &plan->call.v, 1);
        attn__clear_nonfinite(kern, attn__real_at(plan, v.data, 0), terms * kern->term * Dv, kern->element);
        block->shared->v.head = SIZE_MAX; /* it is no copy of V any more */
    }
    if (attn__keeps_weights(plan) && plan->call.opts.scores.data) { /* gemm of the scores does it for those */
        end = attn__max(attn__min(next + plan->schedule.tile_keys, block->visible_to_any.to), next);
        attn__prefetch_matrix(block, &v, &plan->call.opts.weights, next, end - next);
    }
    kern->to_terms(tile->scores, tile->keys, tile->lanes);
    for (k = 0; k < tile->keys && Dv > 0; k = end) { /* without dims there may be no data */
        end = attn__chain_end(tile, k);
        first = attn__terms(kern, k);
        kern->gemm(block->into->out, (const char *)v.data + (ptrdiff_t)first * v.step * (ptrdiff_t)kern->size, 1,
                   v.step, Dv, attn__real_at(plan, tile->scores, first * tile->lanes), tile->lanes,
                   attn__terms(kern, end - k), 0, tile->factor, end == tile->keys ? &v : NULL);
        for (i = 0; i < tile->lanes && end < tile->keys; i++)
            attn__set_real(plan, tile->factor, i, 1.0);
    }
    return clean;
}

/* -- NaNs and infinities among values, which must not meet the weight 0 of a hidden key -- */

/* Which keys of the tile are hidden from which rows, by its scores: a weight or gradient that is 0 does not tell. */
static void attn__find_hidden(const attn__block *block, uint64_t *hidden)
{
    const attn__tile *tile = &block->tile;
    size_t row, j;
    attn__number score;
    for (j = 0; j < tile->keys; j++) {
        hidden[j] = 0;
        for (row = 0; row < block->at.count; row++) {
            score = attn__get_real(block->plan, tile->scores, j * tile->layout.element + row * tile->layout.query);
            hidden[j] |= (uint64_t)(attn__bits(score) == attn__bits(attn__minus_infinity())) << row;
        }
    }
}

/* The weights of the tile that attn__prepare_tile has made ready, once more: the state knows the maximum over the tile
   by now, so that softmax gives the same ones. `hidden`: where its scores, which are computed for that, say which keys
   are hidden (-infinity), as a weight may be 0 in any case; NULL: weights are to be divided by the sum. */
ATTN__NOINLINE void attn__recompute_weights(attn__block *block, const attn__state *state, uint64_t *hidden)
{
    const attn__plan *plan = block->plan;
    const attn__tile *tile = &block->tile;
    double max[ATTN__BLOCK_ROWS / 2], sum[ATTN__BLOCK_ROWS / 2]; /* half as many as of floats */
    unsigned char nan[ATTN__BLOCK_ROWS];
    attn__state again = *state;
    attn__score_tile(block, ATTN_STAGE_FINAL, 0);
    if (hidden)
        attn__find_hidden(block, hidden);
    again.max = max;
    again.sum = sum;
    again.nan = nan;
    ATTN__MEMSET(sum, 0, sizeof sum);
    ATTN__MEMSET(nan, 0, sizeof nan);
    ATTN__MEMCPY(max, state->max, tile->lanes * attn__kern(&plan->call)->size);
    attn__kern(&plan->call)->block.softmax(tile, &again, plan->call.softmax_scale);
    if (!hidden)
        attn__scale_rows(block, tile->scores, tile->layout, tile->keys);
    attn__drop(block, tile->scores);
}

/* sum += weight x */
static void attn__add_product(const attn__plan *plan, void *sum, const void *weight, attn__number x)
{
    attn__set_real(plan, sum, 0, attn__get_real(plan, sum, 0) + attn__get_real(plan, weight, 0) * x);
}

/* What is left out of products with the tile's rows of t, as 0: sums += weights x for those numbers x (in I8, their
   scales) that are NaN or infinite, and those rows of the block that see their key. */
ATTN__NOINLINE void attn__add_nonfinite(const attn__block *block, const attn_tensor *t, const float *scales, char *sums,
                                        attn__layout to, const void *weights, uint64_t *hidden)
{
    const attn__plan *plan = block->plan;
    const attn__layout of = block->tile.layout;
    const attn__run *run = block->shared->run;
    size_t n, g, d, r, h, row, key, queries = block->at.count / attn__side_heads(block);
    attn__number x;
    for (n = 0; n < block->tile.keys; n++) {
        run += n == (size_t)run->at + run->keys; /* its keys follow */
        key = run->row + n - run->at;
        for (g = 0, h = block->at.kv_head; g < attn__side_heads(block); g++, h++)
            for (d = 0; d < t->dim; d++) {
                x = attn__get_element(attn__tensor_at(t, run->item, h, key, d), t->dtype);
                if (scales)
                    x *= (attn__number)scales[attn__scale_at(&plan->source, t->heads, run->item, h, key)];
                for (r = 0; r < queries && !attn__is_finite(x); r++) {
                    row = g * queries + r;
                    if (!(hidden[n] >> row & 1))
                        attn__add_product(plan, attn__real_at(plan, sums, d * to.element + row * to.query),
                                          attn__real_at(plan, weights, n * of.element + row * of.query), x);
                }
            }
    }
}

/* ==== few rows =====================================================================================================

   Few rows, as in decoding, would leave most lanes idle (attn__has_few says which items have few). There the terms of a
   dot product lie on lanes: what happens to one query is

       attn__score_tile
         attn__multiply_few          of a tile of ATTN__FEW_KEYS keys: attn__find_operand says where rows of K are; the
                                     kernel dot multiplies each by the query, vector by vector, and adds up the lanes
         softcap, attn__score_run    as for many rows: bias, ALiBi, score_mod, hidden keys; keys side by side
       softmax                       maximum, exponentials and their sum
       attn__accumulate_values
         attn__multiply_few          out is multiplied by the factor; the kernel weigh adds each row of V times its
                                     weight, dims on lanes: in chains of ATTN__FEW_CHAIN keys, each added to out

   A row of K or V comes once from memory, for all queries that share it; key/value heads that lie side by side, as in
   [B,L,H,D], are one block, so that memory is read in its order, but where workers would lack blocks. No number of a
   query depends on the other rows of its block: with ctx.batch_invariant all blocks are such. While K is read, the rows
   of V are prefetched, and then those of K in the next tile, on CPUs where that was measured to pay
   (ATTN__FETCHES_FEW). */

static int attn__meets_nonfinite(const attn__block *block, const attn__operand *values, size_t head, size_t k);
static void attn__copy_few(const attn__block *block, attn__operand *operand, size_t head, const attn_tensor *t);
/* of "keys" */
static void attn__find_operand(const attn__block *block, attn__operand *operand, const attn_tensor *t);

static size_t attn__side_heads(const attn__block *block) /* key/value heads of a block */
{
    return ATTN__LARGE ? block->at.heads : 1;
}

static int attn__is_few(const attn__block *block)
{
    return !ATTN__MANY || block->few;
}

/* Has a batch item or text so few rows? They are as many as one query head has, times the heads of a group. */
static int attn__has_few(const attn__plan *plan, size_t b, size_t most)
{
    return !ATTN__LARGE || attn__valid_queries(plan, b) * (plan->call.q.heads / plan->call.k.heads) <= most;
}

/* How many keys of the tile, from number k on, are of one chain. */
static size_t attn__chain_keys(const attn__block *block, size_t k)
{
    const uint16_t *numbers = block->tile.numbers;
    size_t end = k + 1;
    if (!numbers)
        return attn__min(ATTN__FEW_CHAIN, block->tile.keys - k);
    while (end < block->tile.keys && numbers[end] / ATTN__FEW_CHAIN == numbers[k] / ATTN__FEW_CHAIN)
        end++;
    return end - k;
}

/* The tile's scores, of its rows of k; or out = factor out + P V, of its rows of v: all of them where they lie, or of
   a head and a chain of keys at a time. `clean`: numbers of V that are not finite count as 0; returns if there are
   any. */
static int attn__multiply_few(const attn__block *block, const attn_tensor *t, int clean)
{
    const attn__plan *plan = block->plan;
    const attn__kernels *kern = attn__kern(&plan->call);
    const attn__tile *tile = &block->tile;
    const attn__state *state = block->into;
    int values = t == &plan->call.v, copies, found = 0;
    attn__operand all, some, *now = &all;
    size_t k, n, g, row, room = attn__query_room(plan);
    attn__find_operand(block, &all, t);
    copies = attn__copies_few(plan, t);
    if (values)
        kern->block.scale(state->out, state->layout, t->dim, block->at.count, tile->factor);
    for (k = 0; k < all.keys; k += n) {
        n = copies || clean || (values && tile->numbers) ? attn__chain_keys(block, k) : all.keys;
        for (g = 0; g < attn__side_heads(block); g += ATTN__LARGE ? now->heads : 1) {
            row = g * all.queries;
            if (copies || clean || n < all.keys) { /* from key number k on */
                now = &some;
                some = all;
                some.at = all.at ? all.at + k : NULL;
                some.row += (ptrdiff_t)k * all.step;
                some.next = all.next ? all.next + k : NULL;
                some.keys = n;
            }
            if (copies || (clean && (ATTN__LARGE || attn__meets_nonfinite(block, &some, g, k)))) {
                attn__copy_few(block, &some, g, t);
                found |= clean && attn__clear_nonfinite(kern, block->shared->copied_rows, n * t->dim, kern->real);
            }
            if (values)
                attn__run_few(kern, attn__real_at(plan, state->out, row * state->layout.query), state->layout.query,
                              attn__real_at(plan, tile->scores, row * tile->layout.query + k), tile->layout.query, now,
                              1);
            else
                attn__run_few(kern, attn__real_at(plan, tile->scores, row * tile->layout.query + k), tile->layout.query,
                              attn__real_at(plan, block->queries, row * room), room, now, 0);
        }
    }
    return found;
}

/* Does a value that is NaN or infinite meet a weight of 0 among some keys, from number k of the tile on, and a head? */
static int attn__meets_nonfinite(const attn__block *block, const attn__operand *values, size_t head, size_t k)
{
    const attn__plan *plan = block->plan;
    const attn__tile *tile = &block->tile;
    size_t n = values->keys, i, r;
    int zeros = 0;
    for (r = head * values->queries; r < (head + 1) * values->queries && !zeros; r++)
        for (i = k; i < k + n && !zeros; i++)
            zeros = !(attn__get_real(plan, tile->scores, r * tile->layout.query + i) > 0);
    for (i = 0; i < n && zeros; i++) {
        const char *row = values->at ? values->at[i] : values->row + (ptrdiff_t)i * values->step;
        row += (ptrdiff_t)head * values->apart;
        if (attn__kern(&plan->call)->nonfinite(row, 0, 1, values->dims))
            return 1;
    }
    return 0;
}

/* Copies the rows of a head, a chain at most, as the kernels take them; they become *operand. */
static void attn__copy_few(const attn__block *block, attn__operand *operand, size_t head, const attn_tensor *t)
{
    const attn__plan *plan = block->plan;
    const attn__kernels *kern = attn__kern(&plan->call);
    int keys = t == &plan->call.k;
    size_t room = keys ? attn__terms(kern, t->dim) : t->dim, i, n;
    for (i = 0; i < operand->keys; i += n) {
        const char *from = operand->at ? operand->at[i] : operand->row;
        char *to = attn__real_at(plan, block->shared->copied_rows, i * room);
        n = operand->at ? 1 : operand->keys;
        from += (ptrdiff_t)head * operand->apart;
        (keys ? kern->load_rows : kern->load)(to, room, from, t->dtype, t->len_stride, t->dim_stride, n, t->dim);
    }
    operand->at = NULL;
    operand->row = block->shared->copied_rows;
    operand->step = (ptrdiff_t)(room * kern->size);
    operand->heads = 1;
    operand->dtype = keys ? kern->element : kern->real;
}

static size_t attn__query_room(const attn__plan *plan) /* of a query of few, in whole vectors */
{
    return attn__whole(attn__query_terms(plan), attn__kern(&plan->call)->lanes);
}

/* Must few rows copy rows of k or v? */
static int attn__copies_few(const attn__plan *plan, const attn_tensor *t)
{
    return t->dim_stride != 1 || !attn__reads(attn__kern(&plan->call), t->dtype);
}

static size_t attn__few_step(const attn__plan *plan) /* of a row's scores, few rows: in whole vectors */
{
    return plan->schedule.few_keys + (plan->schedule.scattered ? ATTN__FEW_CHAIN : 0);
}

/* ==== weights and scores ===========================================================================================

   What opts.weights and opts.scores ask for. Scores are stored as they are computed (attn__keep_scores); weights need
   the final maximum and sum, which are known at the end: where they have the compute type scores wait in their place,
   else all scores are computed once more. Keys that no row of a block sees are filled in. Without these options little
   here is called: attn__fill_part fills rows that do not exist, attn__scale_rows divides by the sums. The room does not
   know how scores are computed, nor where keys lie. */

static void attn__recompute_to_weights(attn__block *block);
/* of "rows of a block" */
static attn__number attn__to_real(const attn__plan *plan, attn__number x);

/* The numbers of the tile's keys in t = alpha its scores, run by run. */
static void attn__scatter_tile(const attn__block *block, const attn_tensor *t, attn__number alpha)
{
    attn__tile run = block->tile;
    size_t i = 0;
    while (attn__next_run(block, &run, &i))
        attn__scatter(block, t, run.first_key, run.scores, run.layout, run.keys, alpha);
}

/* The tile's scores, as they are at a stage, go to where the caller wants them. `scale`, and that of softmax, are what
   they are still to be multiplied by. Those that softmax takes wait in weights until max and sum are known. */
static void attn__keep_scores(const attn__block *block, attn_stage stage, attn__number scale)
{
    const attn__plan *plan = block->plan;
    const attn_opts *opts = &plan->call.opts;
    if (opts->scores.data && opts->scores_stage == stage)
        attn__scatter_tile(block, &opts->scores, attn__to_real(plan, scale) * plan->call.softmax_scale);
    if (attn__keeps_weights(plan) && stage == ATTN_STAGE_FINAL)
        attn__scatter_tile(block, &opts->weights, 1.0);
}

/* Elements from .. to - 1 of a row of t = x: those that follow each other by copies of the first ones. */
static void attn__fill_part(const attn_tensor *t, size_t b, size_t h, size_t i, size_t from, size_t to, attn__number x)
{
    size_t size = attn__size(t->dtype), together = t->dim_stride == 1 ? to - from : 1, d, n;
    for (d = from; d < to; d += together) {
        char *at = (char *)attn__tensor_at(t, b, h, i, d);
        attn__set_element(at, t->dtype, x);
        for (n = 1; n < together; n *= 2)
            ATTN__MEMCPY(at + n * size, at, attn__min(n, together - n) * size);
    }
}

/* The block's rows of t, if it is there, elements from .. to - 1, = x; but weights, x = 0, of a row that is NaN are
   NaN, too. */
static void attn__fill(const attn__block *block, const attn_tensor *t, size_t from, size_t to, attn__number x)
{
    size_t row, h, i;
    attn__number inverse;
    for (row = 0; row < block->at.count && t->data; row++) {
        attn__query_of(block, row, &h, &i);
        inverse = attn__bits(x) ? 0 : attn__get_real(block->plan, attn__row_real(block, ATTN__INVERSE, row), 0);
        attn__fill_part(t, block->at.b, h, i, from, to, attn__is_finite(inverse) ? x : inverse);
    }
}

/* Scores of keys from .. to - 1, which no row of the block sees: -infinity at the last stage; before it, those of keys
   that exist are computed. Their weights are `weight`: 0 at the end; where weights hold scores so far, -infinity, of a
   tile that is hidden, or before keys that are listed are met, which then overwrite theirs. */
static void attn__keep_hidden(attn__block *block, size_t from, size_t to, attn__number weight)
{
    const attn__plan *plan = block->plan;
    const attn_opts *opts = &plan->call.opts;
    size_t first = attn__min(attn__max(from, block->exists.from), to), k0, n;
    size_t end = opts->scores_stage == ATTN_STAGE_FINAL ? first : attn__max(attn__min(to, block->exists.to), first);
    for (k0 = first; k0 < end && opts->scores.data; k0 += n) {
        n = attn__min(block->tile_keys, end - k0);
        attn__set_tile(block, k0, k0 + n);
        attn__score_tile(block, opts->scores_stage, 1);
    }
    attn__fill(block, &opts->scores, from, first, attn__minus_infinity());
    attn__fill(block, &opts->scores, end, to, attn__minus_infinity());
    if (attn__bits(weight) == 0 || attn__keeps_weights(plan))
        attn__fill(block, &opts->weights, from, to, weight);
}

/* What is left of the weights and scores that were asked for: those of the keys that the block did not meet, and scores
   of rows that do not exist; and kept scores become weights, row by row, or are computed once more. */
ATTN__NOINLINE void attn__finish_matrices(attn__block *block)
{
    const attn__plan *plan = block->plan;
    const attn_opts *opts = &plan->call.opts;
    const attn__row *rows = block->rows;
    size_t row, h, i, keys = plan->call.k.len;
    const attn__range seen = block->visible_to_any, alone = {SIZE_MAX, 0};
    attn__reset_caches(block->shared, alone, block->least_key);
    attn__keep_hidden(block, 0, seen.from, 0.0);
    attn__keep_hidden(block, seen.to, keys, 0.0);
    if (seen.from < seen.to) /* the first of a term or chain may not exist */
        attn__fill(block, &opts->scores, seen.from, block->exists.from, attn__minus_infinity());
    for (row = 0; attn__keeps_weights(plan) && row < block->at.count; row++) {
        attn__range own = attn__seen_keys(&rows[row], seen.from, seen.to - seen.from);
        attn__query_of(block, row, &h, &i);
        attn__kern(&plan->call)
            ->block.weights(&block->tile, attn__tensor_at(&opts->weights, block->at.b, h, i, seen.from),
                            seen.to - seen.from, own.from, own.to, attn__real_at(plan, block->state.max, row),
                            attn__row_real(block, ATTN__INVERSE, row), plan->call.softmax_scale);
    }
    if (opts->weights.data && !attn__keeps_weights(plan))
        attn__recompute_to_weights(block);
}

static void attn__scale_rows(const attn__block *block, void *x, attn__layout layout, size_t n) /* by 1 / sum */
{
    attn__kern(&block->plan->call)->block.scale(x, layout, n, block->at.count, attn__row_real(block, ATTN__INVERSE, 0));
}

/* Weights that cannot hold scores, or with dropout, tile by tile: scores are computed once more, now that max and sum
   are known. */
static void attn__recompute_to_weights(attn__block *block)
{
    const attn_tensor *weights = &block->plan->call.opts.weights;
    size_t tile_keys = block->tile_keys, k0, next;
    int seen;
    for (k0 = block->visible_to_any.from; k0 < block->visible_to_any.to; k0 = next) {
        next = attn__min((attn__quotient(k0, tile_keys) + 1) * tile_keys, block->visible_to_any.to);
        seen = attn__next_key(block, k0, next) < next && attn__prepare_tile(block, k0, next);
        if (!seen || block->tile.keys < next - k0)
            attn__fill(block, weights, k0, next, 0.0);
        if (!seen)
            continue;
        attn__recompute_weights(block, &block->state, NULL);
        attn__scatter_tile(block, weights, 1.0);
    }
}

/* ==== keys =========================================================================================================

   This room alone decides where keys are: in a tensor, a ring, pages, one of several texts, and whether lists say which
   of them are attended. Others ask

       which there are, and which a row sees       attn__items, attn__valid_keys, attn__ask, attn__visible
       for the next tile                           attn__next_key, attn__set_tile
       for its rows, what is prefetched besides    attn__tile_rows, attn__find_operand, attn__scale_at
       for keys of it whose numbers follow         attn__next_run: bias, ALiBi, score_mod, bounds, mask and dropout
       each other                                  depend on numbers

   and those that store rows, or add what is not finite, for one row or key: attn__find_rows, attn__scale_at,
   attn__run, attn__lacks_page.

   A tile is made of runs: keys whose numbers follow each other, and whose rows do so in memory. Of a tensor it is one;
   pages, rings and lists make more. Where tiles cannot leave out keys that are not listed, as each row has lists of its
   own or hidden keys have scores too, bits hide them, as a mask does. */

static size_t attn__items(const attn__plan *plan) /* batch items, or texts */
{
    return plan->call.opts.sequences > 0 ? plan->call.opts.sequences : plan->call.q.batch;
}

static size_t attn__valid_queries(const attn__plan *plan, size_t b) /* of one of them */
{
    const attn_opts *opts = &plan->call.opts;
    if (opts->sequences > 0)
        return opts->q_starts[b + 1] - opts->q_starts[b];
    return opts->q_lens ? opts->q_lens[b] : plan->call.q.len;
}

static size_t attn__valid_keys(const attn__plan *plan, size_t b)
{
    const attn_opts *opts = &plan->call.opts;
    if (opts->sequences > 0)
        return opts->kv_starts[b + 1] - opts->kv_starts[b];
    return opts->kv_lens ? opts->kv_lens[b] : plan->call.k.len;
}

/* Where its queries are in q, out and lse. */
static void attn__begin_item(attn__place *at, const attn__plan *plan, size_t b)
{
    const attn_opts *opts = &plan->call.opts;
    at->b = b;
    at->item = opts->sequences > 0 ? 0 : b;
    at->start = opts->sequences > 0 ? opts->q_starts[b] : 0;
}

/* Which keys query i of batch item b may see, mask, lists and scores aside: the one place that turns causal, window and
   lengths into keys. */
ATTN__NOINLINE void attn__ask(attn__row *row, const attn__plan *plan, size_t b, size_t i)
{
    const attn_opts *opts = &plan->call.opts;
    ptrdiff_t queries = (ptrdiff_t)attn__valid_queries(plan, b), keys = (ptrdiff_t)attn__valid_keys(plan, b);
    ptrdiff_t first = 0, end, right, position;
    end = (ptrdiff_t)i < queries ? keys : 0;
    row->exists.to = (size_t)end;
    row->exists.from = plan->source.oldest && (ptrdiff_t)i < queries ? plan->source.oldest[b] : 0;
    row->offset = 0;
    if (opts->causal_offset &&
        (plan->source.newest || opts->causal == ATTN_CAUSAL_NONE || opts->causal == ATTN_CAUSAL_OFFSET))
        row->offset = opts->causal_offset[b];
    else if (opts->causal == ATTN_CAUSAL_LOWER_RIGHT || plan->source.newest)
        row->offset = keys - queries;
    position = attn__plus((ptrdiff_t)i, row->offset);
    if (opts->causal != ATTN_CAUSAL_NONE && position < end)
        end = position + 1;
    if (opts->window.on && opts->window.right >= 0) {
        right = attn__plus(position, opts->window.right);
        end = right < end ? right + 1 : end;
    }
    if (opts->window.on && opts->window.left >= 0)
        first = attn__plus(position, -opts->window.left);
    row->seen.from = first > 0 ? (size_t)first : 0;
    row->seen.to = end > 0 ? (size_t)end : 0;
}

static attn__range attn__common(attn__range a, attn__range b) /* keys of both */
{
    a.from = attn__max(a.from, b.from);
    a.to = attn__max(attn__min(a.to, b.to), a.from);
    return a;
}

/* Makes a range as long as it takes to have those of another, too. */
static void attn__join(attn__range *all, attn__range more)
{
    if (more.from < more.to) {
        all->from = attn__min(all->from, more.from);
        all->to = attn__max(all->to, more.to);
    }
}

/* The keys that attn__ask gives, as far as they are there. A ring may have dropped some: calls where no mask or list
   hides these are refused. */
static void attn__visible(attn__row *row, const attn__plan *plan, size_t b, size_t i)
{
    attn__ask(row, plan, b, i);
    row->seen = attn__common(row->seen, row->exists);
}

static int attn__has_lists(const attn_opts *opts)
{
    return opts->blocks.q_len > 0;
}

/* The blocks that row `list_row` of the lists of batch item b and query head h names. */
static attn__listed attn__find_listed(const attn__plan *plan, size_t b, size_t h, size_t list_row)
{
    const attn_blocks *blocks = &plan->call.opts.blocks;
    attn__listed listed = {NULL, 0, 0};
    size_t list;
    if (!attn__has_lists(&plan->call.opts))
        return listed;
    list = blocks->batch == 1 ? 0 : b;
    list = list * blocks->heads + h / (plan->call.q.heads / blocks->heads);
    list = list * plan->schedule.list_rows + list_row;
    listed.index = blocks->index + list * blocks->width;
    listed.count = blocks->count[list];
    listed.keys = blocks->kv_len;
    return listed;
}

/* What is listed for a row of the block; returns how many rows from there on share it. */
static size_t attn__listed_for(const attn__block *block, size_t row, attn__listed *listed)
{
    const attn__plan *plan = block->plan;
    size_t h, i, rows = attn__query_of(block, row, &h, &i), q_len = plan->call.opts.blocks.q_len;
    *listed = attn__find_listed(plan, block->at.b, h, i / q_len);
    return attn__min(rows, q_len - i % q_len);
}

/* The entry of the first block that is listed, with key j or after it. */
static size_t attn__find_entry(const attn__listed *listed, size_t j)
{
    size_t number = j / listed->keys, low = 0, high = listed->count, middle;
    while (low < high) {
        middle = low + (high - low) / 2;
        if (listed->index[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The next keys of a range that are listed and follow each other. *next: those before, at first none, where the range
   begins; *entry: that of the list to look at next, at first SIZE_MAX. Returns 0 after the last. */
ATTN__INLINE_IF_LARGE int attn__next_listed(const attn__listed *listed, attn__range keys, size_t *entry,
                                            attn__range *next)
{
    size_t first;
    next->from = next->to;
    if (listed->keys == 0) {
        next->to = keys.to;
        return next->from < next->to;
    }
    if (*entry == SIZE_MAX)
        *entry = attn__find_entry(listed, next->from);
    if (*entry >= listed->count)
        return 0;
    next->from = next->to = attn__max(next->from, listed->index[*entry] * listed->keys);
    for (; next->to < keys.to && *entry < listed->count; ++*entry) {
        first = listed->index[*entry] * listed->keys;
        if (first > next->to)
            break;
        next->to = first + attn__min(keys.to - first, listed->keys);
    }
    return next->from < keys.to;
}

static size_t attn__keys_in(const attn__block *block, size_t from, size_t to) /* that are attended */
{
    const attn__range keys = {from, to};
    attn__range next = {from, from};
    size_t entry = SIZE_MAX, n = 0;
    while (attn__next_listed(&block->at.listed, keys, &entry, &next))
        n += next.to - next.from;
    return n;
}

/* The first key, from number j on, that tiles of this block have; `end` if there is none before it. */
static size_t attn__next_key(const attn__block *block, size_t j, size_t end)
{
    const attn__range keys = {j, end};
    attn__range next = {j, j};
    size_t entry = SIZE_MAX;
    if (block->at.listed.keys == 0)
        return attn__min(j, end);
    return attn__next_listed(&block->at.listed, keys, &entry, &next) ? next.from : end;
}

/* Where keys j .. j + n - 1 of batch item or text b lie: the first is row *row of item (or page) *item of k and v.
   Returns how many of them follow it there, up to the end of the page, or to where a ring begins anew. Only numbers of
   pages that are seen have been checked; a tile may meet others, whose keys are hidden from all of its rows. */
static size_t attn__find_rows(const attn__source *source, size_t b, size_t j, size_t n, size_t *item, size_t *row)
{
    size_t page = 0;
    *item = b;
    *row = j;
    if (source->starts) {
        *item = 0;
        *row += source->starts[b];
    } else if (j >= source->capacity || source->table) {
        page = attn__quotient(j, source->capacity);
        *row -= page * source->capacity;
    }
    if (source->table)
        *item = attn__min(source->table[b * source->table_stride + page], source->pages - 1);
    return attn__min(n, source->capacity - *row);
}

/* Is a token from .. to - 1 of item b in a page that is not in the pool? */
static int attn__lacks_page(const attn__source *source, size_t b, size_t from, size_t to)
{
    size_t page, end = attn__ceil_div(to, source->capacity);
    if (!source->table || from >= to)
        return 0;
    for (page = from / source->capacity; page < end; page++)
        if (source->table[b * source->table_stride + page] >= source->pages)
            return 1;
    return 0;
}

/* Where in k_scales or v_scales the scale of this row of an item (or page) and head is, in I8. */
static size_t attn__scale_at(const attn__source *source, size_t heads, size_t item, size_t h, size_t row)
{
    return (item * heads + h) * source->capacity + row;
}

/* Where the rows of a run of keys begin, in a tensor of keys or values, of a head. */
static const char *attn__run_rows(const attn__run *run, const attn_tensor *t, size_t h)
{
    return (const char *)attn__tensor_at(t, run->item, h, run->row, 0);
}

/* Finds the runs of those of these keys that are attended; returns how many keys these are. It overwrites shared->run,
   so that who asks for other keys than those of the tile asks for these again. The keys of a block begin with a whole
   chain, or term. The first of that may be seen by nobody, and have left the ring, or lie in no page: they are hidden,
   and the row of the first key that is seen (least_key) is read in their place. */
static size_t attn__find_runs(const attn__block *block, attn__range keys)
{
    const attn__plan *plan = block->plan;
    attn__shared *shared = block->shared;
    attn__run *run = shared->run;
    attn__range next = {keys.from, keys.from};
    size_t entry = SIZE_MAX, at = 0, j, n, gone = plan->schedule.scattered ? shared->least_key : 0; /* else one run */
    if (plan->schedule.scattered && keys.from == shared->found.from && keys.to == shared->found.to)
        return shared->found_keys;
    while (attn__next_listed(&block->at.listed, keys, &entry, &next))
        for (j = next.from; j < next.to; j += n, at += n, run++) {
            n = j < gone ? 1 : next.to - j;
            n = attn__find_rows(&plan->source, block->at.b, attn__max(j, gone), n, &run->item, &run->row);
            run->key = (uint16_t)(j - keys.from);
            run->at = (uint16_t)at;
            run->keys = (uint16_t)n;
        }
    shared->runs = (size_t)(run - shared->run);
    shared->found = keys;
    return shared->found_keys = at;
}

/* The tile becomes those keys from .. to - 1 that are attended: at least one. */
static void attn__set_tile(attn__block *block, size_t from, size_t to)
{
    attn__shared *shared = block->shared;
    attn__tile *tile = &block->tile;
    size_t chain, end, i, r, base = from % ATTN__FEW_CHAIN;
    block->span.from = from;
    block->span.to = to;
    tile->keys = attn__find_runs(block, block->span);
    tile->first_key = from + shared->run->key;
    for (chain = 0; from < ATTN__FIRST_KEYS && chain < ATTN__FIRST_KEYS / ATTN__FIRST_CHAIN; chain++) {
        end = attn__min(attn__max((chain + 1) * ATTN__FIRST_CHAIN, from), to);
        tile->chain_ends[chain] = attn__keys_in(block, from, end);
    }
    tile->numbers = attn__is_few(block) && block->at.listed.keys > 0 ? shared->numbers : NULL;
    for (i = 0; tile->numbers && i < shared->runs; i++)
        for (r = 0; r < shared->run[i].keys; r++)
            shared->numbers[shared->run[i].at + r] = (uint16_t)(base + shared->run[i].key + r);
}

/* Turns `run`, a copy of the tile, into the next keys of it whose numbers follow each other, with their part of the
   scores. *i: the number of the attn__run to look at next, from 0. Returns 0 after the last. */
static int attn__next_run(const attn__block *block, attn__tile *run, size_t *i)
{
    const attn__shared *shared = block->shared;
    const attn__run *next = &shared->run[*i];
    if (*i == shared->runs)
        return 0;
    run->scores = attn__real_at(block->plan, block->tile.scores, next->at * block->tile.layout.element);
    run->first_key = block->span.from + next->key;
    for (run->keys = 0; *i < shared->runs && block->span.from + next->key == run->first_key + run->keys; next++, ++*i)
        run->keys += next->keys;
    return 1;
}

static int attn__lists_by_bits(const attn__block *block) /* are keys that are not listed hidden by bits? */
{
    return attn__has_lists(&block->plan->call.opts) && !block->plan->schedule.skips;
}

/* Of keys from .. to - 1, those from the first to the last that is listed for any row, or all where bits do not hide
   any. *all: every one of from .. to - 1 is listed for every row. */
static attn__range attn__listed_range(const attn__block *block, size_t from, size_t to, int *all)
{
    const attn__range keys = {from, to};
    attn__range found = {to, from}, next;
    attn__listed listed;
    size_t row, rows, entry;
    *all = 1;
    if (!attn__lists_by_bits(block))
        return keys;
    for (row = 0; row < block->at.count; row += rows) {
        int whole = 0;
        rows = attn__listed_for(block, row, &listed);
        for (next.to = from, entry = SIZE_MAX; attn__next_listed(&listed, keys, &entry, &next);) {
            attn__join(&found, next);
            whole = next.from == from && next.to == to;
        }
        *all &= whole;
    }
    return found;
}

/* Where row j of a copy of k or v begins, which is rows of terms of k, a panel of terms of v. */
static char *attn__copied_row(const attn__block *block, const char *copy, const attn_tensor *t, size_t j)
{
    const attn__kernels *kern = attn__kern(&block->plan->call);
    if (t == &block->plan->call.k)
        return attn__real_at(block->plan, copy, j * attn__terms(kern, t->dim));
    return attn__real_at(block->plan, copy, j / kern->term * t->dim) + j % kern->term * attn__size(kern->element);
}

/* Copies, as products take them, the rows of k or v that the tile has, and those of its keys that other blocks of the
   unit want. */
static void attn__copy_rows(const attn__block *block, attn__tile_cache *cache, const attn_tensor *t)
{
    const attn__shared *shared = block->shared;
    const attn__kernels *kern = attn__kern(&block->plan->call);
    const attn__run *run;
    size_t keys = block->plan->schedule.tile_keys, begin = block->span.from - block->span.from % keys, ld = t->dim;
    attn__load_kernel *load = kern->load_panel;
    if (t == &block->plan->call.k) {
        load = kern->load_rows;
        ld = attn__terms(kern, t->dim);
    }
    cache->head = block->at.kv_head;
    cache->held.from = attn__min(block->span.from, attn__max(begin, shared->wanted.from));
    cache->held.to = attn__max(block->span.to, attn__min(begin + keys, shared->wanted.to));
    attn__find_runs(block, cache->held);
    for (run = shared->run; run < shared->run + shared->runs; run++)
        load(attn__copied_row(block, cache->rows, t, run->at), ld, attn__run_rows(run, t, cache->head), t->dtype,
             t->len_stride, t->dim_stride, run->keys, t->dim);
    attn__find_runs(block, block->span);
}

/* The rows of the tile after the one in hand, for the kernel to prefetch. */
ATTN__NOINLINE void attn__next_rows(const attn__block *block, attn__rows *rows, const attn_tensor *t)
{
    const attn__plan *plan = block->plan;
    size_t next = block->span.to, end = block->visible_to_any.to, item, row;
    if (block->next > block) /* that takes these rows too */
        return;
    while (plan->schedule.mask_tiles > next / ATTN__TILE_KEYS && next % ATTN__HALF_TILE == 0 &&
           block->mask_cache[next / ATTN__HALF_TILE] == ATTN__SOME_HIDDEN)
        next += ATTN__HALF_TILE;
    next = attn__next_key(block, next, end);
    if (t->dim_stride != 1 || next == end)
        return;
    end = attn__min(end - next, plan->schedule.tile_keys);
    rows->next_count = attn__find_rows(&plan->source, block->at.b, next, end, &item, &row);
    rows->next = (const char *)attn__tensor_at(t, item, block->at.kv_head, row, 0);
    rows->next_step = attn__step(t);
}

/* The tile's rows of k or v: where they lie, or in a copy, if that is required or if they lie in several places. */
static void attn__tile_rows(const attn__block *block, attn__rows *rows, const attn_tensor *t, int copy)
{
    const attn__plan *plan = block->plan;
    const attn__kernels *kern = attn__kern(&plan->call);
    const attn__shared *shared = block->shared;
    const int keys = t == &plan->call.k;
    attn__tile_cache *cache = keys ? &block->shared->k : &block->shared->v;
    size_t h = block->at.kv_head;
    copy = copy || !(keys ? plan->schedule.k_direct : plan->schedule.v_direct);
    ATTN__MEMSET(rows, 0, sizeof *rows);
    rows->row_bytes = attn__row_bytes(t->dtype, t->dim);
    if (ATTN__LARGE && plan->schedule.prefetches && t->dim > 0) /* without dims there may be no data */
        attn__next_rows(block, rows, t);
    if (!copy && shared->runs == 1) {
        rows->step = t->len > 1 ? t->len_stride / (ptrdiff_t)kern->term : 0;
        rows->data = attn__run_rows(shared->run, t, h);
        return;
    }
    if (cache->head != h || block->span.from < cache->held.from || block->span.to > cache->held.to)
        attn__copy_rows(block, cache, t);
    rows->data = attn__copied_row(block, cache->rows, t, attn__keys_in(block, cache->held.from, block->span.from));
    rows->step = (ptrdiff_t)(keys ? attn__terms(kern, t->dim) : t->dim);
}

/* at[j] = where the row of t of the jth key of the runs is. `quarter` not 0, for what is prefetched: in the order 0,
   quarter, 2 quarter, 3 quarter, 1, quarter + 1, .., as memory is fastest in several streams. */
ATTN__HOT void attn__point_at(const attn__block *block, const char **at, const attn_tensor *t, size_t quarter)
{
    const ptrdiff_t step = attn__step(t);
    const attn__shared *shared = block->shared;
    const attn__run *run;
    size_t n = 0, lap = 0, place = 0, r;
    ptrdiff_t off;
    for (run = shared->run; run < shared->run + shared->runs; run++) {
        const char *from = attn__run_rows(run, t, block->at.kv_head);
        for (r = 0, off = 0; r < run->keys; r++, off += step) {
            at[place] = from + off;
            place += n < 4 * quarter ? 4 : 1;
            if (++n == (lap + 1) * quarter && lap < 4)
                place = ++lap < 4 ? lap : n;
        }
    }
}

/* The tile's rows of k or v, for the kernels of few rows; and what they prefetch: after those of k, those of v; then,
   those of k in the next tile. */
static void attn__find_operand(const attn__block *block, attn__operand *operand, const attn_tensor *t)
{
    const attn__call *call = &block->plan->call;
    const attn__schedule *schedule = &block->plan->schedule;
    attn__shared *shared = block->shared;
    const attn_tensor *other = t == &call->v ? &call->k : &call->v;
    const ptrdiff_t size = (ptrdiff_t)attn__size(t->dtype);
    attn__range next = block->span;
    size_t n;
    ATTN__MEMSET(operand, 0, sizeof *operand);
    operand->keys = block->tile.keys;
    operand->lanes = shared->lanes;
    operand->row = attn__run_rows(shared->run, t, block->at.kv_head);
    if (shared->runs > 1) {
        attn__point_at(block, shared->at, t, 0);
        operand->at = shared->at;
    }
    operand->step = attn__step(t);
    operand->heads = attn__side_heads(block);
    operand->apart = attn__side_heads(block) > 1 ? t->head_stride * size : 0;
    operand->queries = block->at.count / attn__side_heads(block);
    operand->dtype = t->dtype;
    operand->dims = t->dim;
    if (!ATTN__LARGE || !schedule->fetches_few || schedule->skips)
        return;
    operand->next_apart = block->at.heads > 1 ? other->head_stride * (ptrdiff_t)attn__size(other->dtype) : 0;
    operand->next_bytes = attn__row_bytes(other->dtype, other->dim);
    if (t == &call->v) {
        next.from = next.to;
        next.to = attn__min(next.from + block->tile_keys, block->visible_to_any.to);
    }
    if (next.from >= next.to)
        return;
    n = attn__find_runs(block, next);
    attn__point_at(block, shared->next, other, n / 4);
    for (; n < operand->keys; n++) /* a row for each key */
        shared->next[n] = shared->next[n - 1];
    operand->next = shared->next;
    attn__find_runs(block, block->span);
}

/* What a schedule has to know: tiles of whole register tiles, and which rows choose among the same keys. `every`: tiles
   have all their keys, listed or not. */
static void attn__plan_keys(attn__plan *plan, int every)
{
    attn__schedule *s = &plan->schedule;
    const attn__call *call = &plan->call;
    const attn__kernels *kern = attn__kern(call);
    const attn_opts *opts = &call->opts;
    int lists = attn__has_lists(opts);
    s->skips = lists && !every;
    s->scattered = s->skips || plan->source.table || call->k.len > plan->source.capacity;
    s->masked = call->has_options && !attn__tensor_absent(&opts->mask);
    s->hides = s->masked || (lists && every);
    s->vary = opts->sequences > 0 || opts->q_lens;
    s->uniform_rows = opts->causal == ATTN_CAUSAL_NONE && !opts->window.on && !opts->q_lens;
    s->tile_keys = attn__min(ATTN__TILE_KEYS, attn__max(attn__whole(call->k.len, kern->rows), kern->rows));
    s->few_keys = attn__min(ATTN__FEW_KEYS, attn__max(attn__whole(call->k.len, ATTN__FEW_CHAIN), ATTN__FEW_CHAIN));
    s->mask_tiles =
        ATTN__LARGE && s->masked ? attn__min(attn__ceil_div(call->k.len, s->tile_keys), ATTN__MASK_CACHE / 2) : 0;
    s->item_groups = lists ? attn__max(call->k.heads, opts->blocks.heads) : call->k.heads;
    s->group_heads = call->q.batch == 0 || call->q.heads == 0 ? 1 : call->q.heads / s->item_groups;
    s->list_queries = lists ? attn__min(opts->blocks.q_len, call->q.len) : call->q.len;
    s->list_rows = lists ? attn__ceil_div(call->q.len, opts->blocks.q_len) : 1;
}

/* -- keys that are gone: dropped by a ring, or of a page that is not in the pool -- */

/* The keys that queries from .. to - 1 of item b may see, lists and mask aside. */
static attn__range attn__seen_range(const attn__plan *plan, size_t b, size_t from, size_t to)
{
    attn__range seen = {SIZE_MAX, 0};
    attn__row row;
    for (; from < to; from++) {
        attn__ask(&row, plan, b, from);
        attn__join(&seen, row.seen);
    }
    return seen;
}

/* Is one of these tokens of item b not there that one of these queries of these heads sees? */
static int attn__misses(const attn__plan *plan, size_t b, attn__range heads, attn__range queries, attn__range tokens)
{
    const attn_tensor *mask = &plan->call.opts.mask;
    attn__range dropped = {0, plan->source.oldest ? plan->source.oldest[b] : 0}, seen;
    size_t i, h, end = mask->head_stride ? heads.to : heads.from + 1;
    if (attn__lacks_page(&plan->source, b, tokens.from, tokens.to))
        return 1;
    dropped = attn__common(dropped, tokens);
    for (i = queries.from; i < queries.to && dropped.from < dropped.to; i++) {
        seen = attn__common(attn__seen_range(plan, b, i, i + 1), dropped);
        for (h = heads.from; h < end && seen.from < seen.to; h++)
            if (attn__tensor_absent(mask) || /* that of a dry run may be there without data */
                (mask->data &&
                 attn__classify_rows(plan, b, h, i, 1, seen.from, seen.to - seen.from) & ATTN__SOME_VISIBLE))
                return 1;
    }
    return 0;
}

/* Does a query see tokens that are not there: dropped by a ring, or of a page beyond the pool? */
static int attn__sees_missing(const attn__plan *plan)
{
    const attn__call *call = &plan->call;
    int all = plan->source.table && call->opts.scores.data && call->opts.scores_stage != ATTN_STAGE_FINAL;
    size_t groups = attn__has_lists(&call->opts) ? call->opts.blocks.heads : 1, b, list_row, h, entry;
    attn__listed listed;
    attn__range seen, tokens, queries, heads;
    for (b = 0; b < call->q.batch; b++)
        for (list_row = 0; list_row < plan->schedule.list_rows && call->q.heads > 0; list_row++) {
            int drops = plan->source.oldest && plan->source.oldest[b] > 0;
            if (!drops && !plan->source.table) /* all are there */
                continue;
            if (all && attn__lacks_page(&plan->source, b, 0, attn__valid_keys(plan, b)))
                return 1;
            queries.from = list_row * plan->schedule.list_queries;
            queries.to = queries.from + attn__min(plan->schedule.list_queries, call->q.len - queries.from);
            seen = attn__seen_range(plan, b, queries.from, queries.to);
            for (h = 0; h < groups; h++) {
                heads.from = h * (call->q.heads / groups);
                heads.to = heads.from + call->q.heads / groups;
                listed = attn__find_listed(plan, b, heads.from, list_row);
                for (tokens.to = seen.from, entry = SIZE_MAX; attn__next_listed(&listed, seen, &entry, &tokens);)
                    if (attn__misses(plan, b, heads, queries, tokens))
                        return 1;
            }
        }
    return 0;
}

/* ==== rows of a block ==============================================================================================

   Between tensors and blocks. A row of a block is a query of a query head; this room alone knows which
   (attn__query_of), and moves rows of tensors to and from the two layouts of a block's numbers. Dropout is here, too:
   it depends on rows and keys alone. Of keys the room knows their numbers, of tiles their layout. */

static char *attn__real_at(const attn__plan *plan, const void *reals, size_t i)
{
    return (char *)(uintptr_t)reals + i * attn__kern(&plan->call)->size;
}

/* Written out, not by attn__set_element: it sets the factors and bounds of every row of a tile. */
static void attn__set_real(const attn__plan *plan, void *reals, size_t i, attn__number x)
{
    double wide;
    float single;
    if (attn__is_f64(attn__kern(&plan->call))) {
        wide = (double)x;
        ATTN__MEMCPY((double *)reals + i, &wide, 8);
    } else {
        single = (float)x;
        ATTN__MEMCPY((float *)reals + i, &single, 4);
    }
}

static attn__number attn__to_real(const attn__plan *plan, attn__number x) /* rounded to the compute type */
{
    return attn__is_f64(attn__kern(&plan->call)) ? x : (attn__number)(float)x;
}

static attn__number attn__get_real(const attn__plan *plan, const void *reals, size_t i)
{
    return attn__get_element(attn__real_at(plan, reals, i), attn__kern(&plan->call)->real);
}

static char *attn__row_real(const attn__block *block, enum attn__row_reals which, size_t row)
{
    return attn__real_at(block->plan, block->reals, which * block->plan->column + row);
}

static size_t attn__query_terms(const attn__plan *plan) /* of its product with a key */
{
    return attn__terms(attn__kern(&plan->call), plan->call.q.dim);
}

/* The layout of numbers of a block, `elements` for each row (counted in whole vectors where they are to lie on lanes),
   as the schedule has chosen. */
static attn__layout attn__layout_of(const attn__block *block, size_t elements)
{
    const attn__layout queries_on_lanes = {block->tile.lanes, 1}, keys_on_lanes = {1, elements};
    return attn__is_few(block) ? keys_on_lanes : queries_on_lanes;
}

/* The query head and query of a row of the block; returns how many rows from there on belong to that head. */
static size_t attn__query_of(const attn__block *block, size_t row, size_t *h, size_t *i)
{
    const attn__place *at = &block->at;
    size_t number = at->row + row, head = attn__quotient(number, at->queries);
    *h = at->head + head;
    number -= head * at->queries;
    *i = at->first + number;
    return attn__min(at->queries - number, at->count - row);
}

/* Element d of query i of head h in a tensor of queries, or of what belongs to them. */
static void *attn__query_at(const attn__block *block, const attn_tensor *t, size_t h, size_t i, size_t d)
{
    return attn__tensor_at(t, block->at.item, h, block->at.start + i, d);
}

/* Elements first .. first + n - 1 of the block's rows of t from number `row` on, as far as these are of one head, in
   the order of numbers of such a layout: a row of the matrix for each element, where queries lie on lanes. Returns how
   many rows of the block they are. */
static size_t attn__view_rows(attn_mat *view, const attn__block *block, attn__layout layout, const attn_tensor *t,
                              size_t row, size_t first, size_t n)
{
    size_t h, i, rows = attn__query_of(block, row, &h, &i);
    const attn_mat m = {attn__query_at(block, t, h, i, first), t->dtype, rows, n, t->len_stride, t->dim_stride};
    *view = layout.query == 1 ? attn_mat_t(m) : m;
    return rows;
}

/* x = elements first .. first + n - 1 of the block's rows in t, as `words` reals, or terms, that a loader makes.
   Lanes past the last row get zeros. */
static void attn__gather_by(attn__load_kernel *load, size_t words, const attn__block *block, void *x,
                            attn__layout layout, const attn_tensor *t, size_t first, size_t n)
{
    size_t row, rows, ld = attn__max(layout.query, layout.element);
    attn_mat m;
    if (layout.query == 1 && block->at.count < block->tile.lanes)
        ATTN__MEMSET(x, 0, words * block->tile.lanes * attn__kern(&block->plan->call)->size);
    for (row = 0; row < block->at.count; row += rows) {
        rows = attn__view_rows(&m, block, layout, t, row, first, n);
        load(attn__real_at(block->plan, x, row * layout.query), ld, m.data, m.dtype, m.row_stride, m.col_stride, m.rows,
             m.cols);
    }
}

static void attn__gather(const attn__block *block, void *x, attn__layout layout, const attn_tensor *t, size_t first,
                         size_t n)
{
    attn__gather_by(attn__kern(&block->plan->call)->load, n, block, x, layout, t, first, n);
}

/* The block's rows of t, elements first .. first + n - 1, = alpha x. */
static void attn__scatter(const attn__block *block, const attn_tensor *t, size_t first, const void *x,
                          attn__layout layout, size_t n, attn__number alpha)
{
    size_t row, rows, ld = attn__max(layout.query, layout.element);
    attn_mat m;
    for (row = 0; row < block->at.count && n > 0; row += rows) {
        rows = attn__view_rows(&m, block, layout, t, row, first, n);
        attn__kern(&block->plan->call)
            ->store(m.data, m.dtype, m.row_stride, m.col_stride, attn__real_at(block->plan, x, row * layout.query), ld,
                    m.rows, m.cols, alpha);
    }
}

/* -- dropout --

   Whether a weight is dropped follows from (seed, b, h, i, j) alone. The first four are mixed into 64 bits, the row's
   key; the kernel mixes that with each j into 32 bits, which drop the weight if they are less than p 2^32.
                                                      Salmon 2011, doi 10.1145/2063384.2063405; Steele 2014, OOPSLA */

static int attn__drops(const attn_opts *opts)
{
    return opts->dropout.p > 0;
}

ATTN__NOINLINE uint64_t attn__mix(uint64_t x, uint64_t y) /* one step of splitmix64 */
{
    x += y + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The keys of the block's rows, zeros past the last. */
static void attn__set_drop_rows(attn__block *block)
{
    uint64_t key, item = attn__mix(attn__mix(block->plan->call.opts.dropout.seed, 0), block->at.b);
    size_t row, h, i, lanes = block->tile.lanes;
    ATTN__MEMSET(block->drop_rows, 0, 2 * lanes * sizeof *block->drop_rows);
    for (row = 0; row < block->at.count; row++) {
        attn__query_of(block, row, &h, &i);
        key = attn__mix(attn__mix(item, h), i);
        block->drop_rows[row] = (uint32_t)key;
        block->drop_rows[lanes + row] = (uint32_t)(key >> 32);
    }
}

/* x = z x, with z = 0 where a weight is dropped, else 1 / (1 - p); without dropout nothing is done. x is laid out as
   the tile's scores. */
static void attn__drop(const attn__block *block, void *x)
{
    const attn__call *call = &block->plan->call;
    double p = call->opts.dropout.p, threshold = p * 4294967296.0 + 0.5;
    attn__tile run;
    size_t i = 0, n;
    if (!attn__drops(&call->opts))
        return;
    for (n = 0, run = block->tile; attn__next_run(block, &run, &i); n += run.keys)
        attn__kern(call)->block.drop(&run, attn__real_at(block->plan, x, n * run.layout.element), block->drop_rows,
                                     threshold < 4294967295.0 ? (uint32_t)threshold : 0xffffffffu,
                                     (attn__number)(1 / (1 - p)));
}

/* ==== merge ========================================================================================================

   out = (e^lse out + e^lse_b out_b) / (e^lse + e^lse_b), lse = log of that sum, row by row. All of it is computed in
   double, whatever the types, and rounded once: two results of opposite signs may leave little of each other. Plans,
   tiles and keys are unknown here: splits of a call are merged by the kernel `merge`, not by this room. */

#define ATTN__MERGE_COPY 2 /* so many rows are copied together where they do not lie as the kernel wants them */

typedef struct attn__merge_job {
    attn_tensor out, lse, out_b, lse_b;
    const attn__kernels *kern, *wide; /* of the compute type, and of double */
    size_t rows, step_rows;
} attn__merge_job;

/* The sides that have a part in a row. A side whose lse is -infinity has none, whatever its out. */
enum attn__merge_sides { ATTN__NEITHER = 0, ATTN__FIRST_SIDE = 1, ATTN__SECOND_SIDE = 2, ATTN__BOTH = 3 };

static void attn__merge_worker(attn__share *share);
static void attn__merge_step(const attn__merge_job *job, size_t row);
static void attn__merge_head_rows(const attn__merge_job *job, const attn__merge_rows *rows, size_t r, unsigned sides,
                                  size_t b, size_t h, size_t i, size_t n);

ATTN_API attn_status attn_merge(attn_tensor out, attn_tensor lse, attn_tensor out_b, attn_tensor lse_b)
{
    return attn_merge_ctx(out, lse, out_b, lse_b, NULL);
}

ATTN__NOINLINE attn_status attn__merge_ready(const attn__merge_job *job, const attn_ctx *ctx)
{
    static const attn__argument attn__arguments[] = {
        {"out", ATTN__OUT, offsetof(attn__merge_job, out), ATTN__SHAPE4(B, H, L, Dv)},
        {"lse", ATTN__OUT | ATTN__ANY_FLOAT, offsetof(attn__merge_job, lse), ATTN__SHAPE4(B, H, L, 1)},
        {"out_b", ATTN__LATE, offsetof(attn__merge_job, out_b), ATTN__SHAPE4(B, H, L, Dv)},
        {"lse_b", ATTN__LATE | ATTN__ANY_FLOAT, offsetof(attn__merge_job, lse_b), ATTN__SHAPE4(B, H, L, 1)}};
    attn__message t;
    attn__check check;
    attn__check_begin(&check, ctx);
    attn__list(&check, attn__arguments, 4, job, NULL, 0);
    attn__check_listed(&check);
    if (attn__is_dry(&check))
        attn__tell(&t, &check, attn__ctx_kernels(ctx, attn__real(job->out.dtype)), 0);
    return attn__check_end(&check);
}

ATTN_API attn_status attn_merge_ctx(attn_tensor out, attn_tensor lse, attn_tensor out_b, attn_tensor lse_b,
                                    const attn_ctx *ctx)
{
    attn__merge_job job = {out, lse, out_b, lse_b, NULL, NULL, 0, 0};
    attn_status status = attn__merge_ready(&job, ctx);
    size_t workers;
    if (status != ATTN_OK || (ctx && ctx->dry_run))
        return status;
    job.rows = out.batch * out.heads * out.len; /* lse has that many elements of its own */
    job.kern = attn__ctx_kernels(ctx, attn__real(out.dtype));
    job.wide = attn__wide_kernels(ctx ? ctx->isa : ATTN_ISA_BEST);
    workers = attn__ctx_workers(ctx, SIZE_MAX);
    job.step_rows = attn__min(attn__ceil_div(job.rows, workers * ATTN__MERGE_STEPS), ATTN__MERGE_ROWS);
    attn__spread(ctx, ATTN__WORKERS, attn__ceil_div(job.rows, job.step_rows * ATTN__MERGE_STEPS), attn__merge_worker,
                 &job, NULL, 0);
    return ATTN_OK;
}

static void attn__merge_worker(attn__share *share)
{
    const attn__merge_job *job = (const attn__merge_job *)share->arg;
    size_t item, row, end;
    while (attn__take(share, &item)) {
        end = attn__min((item + 1) * ATTN__MERGE_STEPS * job->step_rows, job->rows);
        for (row = item * ATTN__MERGE_STEPS * job->step_rows; row < end; row += job->step_rows)
            attn__merge_step(job, row);
    }
}

/* Where a row lies; returns how many rows, up to `most`, follow each other there. */
static size_t attn__merge_place(const attn__merge_job *job, size_t row, size_t most, size_t *b, size_t *h, size_t *i)
{
    size_t head = row / job->out.len;
    *b = head / job->out.heads;
    *h = head - *b * job->out.heads;
    *i = row - head * job->out.len;
    return attn__min(job->out.len - *i, most);
}

/* Those of a row with an lse that may not be finite, and what becomes of the row: NaN, where an lse is NaN or
   +infinity. Where one side alone has a part, its lse stays as it is. */
static unsigned char attn__merge_nonfinite(attn__merge_rows *rows, size_t r)
{
    const uint64_t nothing = attn__bits(attn__minus_infinity());
    const int first = attn__bits(rows->lse[r]) != nothing, second = attn__bits(rows->lse_b[r]) != nothing;
    if ((first && !attn__is_finite(rows->lse[r])) || (second && !attn__is_finite(rows->lse_b[r]))) {
        rows->log_sum[r] = rows->weight[r] = rows->weight_b[r] = attn__nan();
        return ATTN__BOTH;
    }
    if (!first || !second)
        rows->log_sum[r] = first ? rows->lse[r] : rows->lse_b[r];
    return (unsigned char)(first * ATTN__FIRST_SIDE + second * ATTN__SECOND_SIDE);
}

/* The rows of one step, from number `row` on. */
static void attn__merge_step(const attn__merge_job *job, size_t row)
{
    const size_t count = attn__min(job->step_rows, job->rows - row);
    attn__merge_rows rows;
    unsigned char sides[ATTN__MERGE_ROWS];
    const attn_tensor *lse = &job->lse, *lse_b = &job->lse_b;
    const attn__kernels *wide = job->wide;
    size_t r, n, k, same, b, h, i;
    for (r = 0; r < count; r += n) {
        n = attn__merge_place(job, row + r, count - r, &b, &h, &i);
        wide->load(rows.lse + r, 0, attn__tensor_at(lse, b, h, i, 0), lse->dtype, 0, lse->len_stride, 1, n);
        wide->load(rows.lse_b + r, 0, attn__tensor_at(lse_b, b, h, i, 0), lse_b->dtype, 0, lse_b->len_stride, 1, n);
    }
    ATTN__MEMSET(sides, ATTN__BOTH, count);
    if (wide->merge_weights(&rows, count))
        for (r = 0; r < count; r++)
            sides[r] = attn__merge_nonfinite(&rows, r);
    for (r = 0; r < count; r += n) {
        n = attn__merge_place(job, row + r, count - r, &b, &h, &i);
        wide->store(attn__tensor_at(lse, b, h, i, 0), lse->dtype, 0, lse->len_stride, rows.log_sum + r, 0, 1, n, 1.0);
        for (k = 0; k < n; k += same) {
            for (same = 1; k + same < n && sides[r + k + same] == sides[r + k]; same++)
                continue;
            attn__merge_head_rows(job, &rows, r + k, sides[r + k], b, h, i + k, same);
        }
    }
}

/* Rows i .. i + n - 1 of a head, those from number r on of the step, which have the same sides. The kernel takes rows
   of the compute type where they lie; others, and those that have one side or none, go through copies. */
static void attn__merge_head_rows(const attn__merge_job *job, const attn__merge_rows *rows, size_t r, unsigned sides,
                                  size_t b, size_t h, size_t i, size_t n)
{
    const attn_tensor *const t[2] = {&job->out, &job->out_b};
    const attn__kernels *kern = job->kern;
    double copy[2][ATTN__MERGE_COPY * ATTN__BUFFER]; /* of twice as many floats */
    const size_t most = ATTN__MERGE_COPY * sizeof(double) / kern->size;
    size_t r0, c0, high, wide, k;
    int direct = sides == ATTN__BOTH;
    for (k = 0; k < 2; k++)
        direct = direct && t[k]->dtype == kern->real && t[k]->dim_stride == 1;
    if (direct)
        job->wide->merge_rows(attn__tensor_at(t[0], b, h, i, 0), t[0]->len_stride, attn__tensor_at(t[1], b, h, i, 0),
                              t[1]->len_stride, kern->real, rows->weight + r, rows->weight_b + r, n, t[0]->dim);
    if (direct || sides == ATTN__FIRST_SIDE)
        return;
    for (r0 = 0; r0 < n; r0 += high)
        for (c0 = 0, high = attn__min(n - r0, most); c0 < t[0]->dim; c0 += wide) {
            wide = attn__min(t[0]->dim - c0, ATTN__BUFFER);
            if (sides == ATTN__NEITHER)
                ATTN__MEMSET(copy[0], 0, sizeof copy[0]);
            for (k = 0; k < 2; k++)
                if (sides >> k & 1)
                    kern->load(copy[k], ATTN__BUFFER, attn__tensor_at(t[k], b, h, i + r0, c0), t[k]->dtype,
                               t[k]->len_stride, t[k]->dim_stride, high, wide);
            if (sides == ATTN__BOTH)
                job->wide->merge_rows(copy[0], ATTN__BUFFER, copy[1], ATTN__BUFFER, kern->real, rows->weight + r + r0,
                                      rows->weight_b + r + r0, high, wide);
            kern->store(attn__tensor_at(t[0], b, h, i + r0, c0), t[0]->dtype, t[0]->len_stride, t[0]->dim_stride,
                        copy[sides == ATTN__SECOND_SIDE], ATTN__BUFFER, high, wide, 1.0);
        }
}

/* ==== matrix products ==============================================================================================

   out = alpha (a b + bias), computed as Goto and BLIS do it. out is cut into blocks of mc x nc elements, one after the
   other for each worker. The sum over k is cut into parts of kc terms. For each of them, kc x nc elements of b are
   packed into panels as wide as the register tile of the microkernel, which multiplies them with rows of a. These are
   read where they lie, or packed too if they are not of the compute type. A block of sums in the compute type stays in
   cache until the last term has come; only then is it scaled, rounded and stored. Each element is the sum of two chains
   over k, of the terms of even number and of the others: between parts, which have an even number of terms, both are
   kept. So its bits depend on neither blocks nor threads nor memory.
   Goto and van de Geijn 2008, ACM TOMS 34(3); Van Zee and van de Geijn 2015, ACM TOMS 41(3)

   Gradients of weights are added to what out holds: the same, but for the last step.

   Few rows (attn__are_few) times a matrix, x w^T, as in decoding, are different: packing w would take longer than the
   product. The kernel `dot` reads w where its terms lie side by side, and is given copies of some columns at a time
   where they do not; its order of adding up is its own. Of several rows the sums come in parts, so that terms of x and
   of w stay in the first-level cache: the lanes of the sums are kept between them.

   Somewhat more rows are multiplied as the transpose of w x^T where that is faster: then it is w that is read where it
   lies, and x that is packed. The sums are the same as of many.

   A row times a matrix too large for caches takes as long as reading w. Where that is fastest in some long streams
   (ATTN__FAR_STREAMS), rows of w that lie far apart are multiplied together, then those that follow each of them.

   The room knows matrices, a table of kernels and workers; that there is attention it does not know. */

typedef struct attn__gemm {
    attn_mat out, a, b;
    attn_mat ones, bias; /* one more term of each sum, a column times a row; or absent */
    double alpha;
    const attn__kernels *kern;
    const attn__kernels *bias_kern; /* that term is a real */
    size_t terms;                   /* of each sum */
    int adds;                       /* the product is added to what is there; else it replaces that */
    int transposed;                 /* out, a and b are those of the transposed product */
    int few;                        /* the product of few rows, */
    int far_rows;                   /* with far ones */
    size_t mc, nc, kc;              /* rows and columns of a block, terms of a part of the sum */
    int copies_a;                   /* of few rows: a is copied, not read where it lies; */
    int whole_a;                    /* that, or whole rows of it at once, as there is room; else part by part */
    int copies_b;                   /* b is copied, part by part */
    size_t lda, ldb;                /* terms from one copied row of a, or column of b, to the next */
    size_t sums_at, b_at, a_at;     /* where things are in the scratch of a block: bytes */
    size_t workers;
    size_t worker_bytes; /* scratch that each has use for: 600 KiB at most */
} attn__gemm;

/* A block of out: `rows` from r0 on; and `cols` columns that follow each other from c0 on or, of few rows if apart is
   not 0, those of ATTN__GEMM_FAR_STREAMS streams so many columns apart, in turn. Sums lie as dot writes them or, of
   many rows, in packed tiles, row of tiles by row of tiles, each row filled up to whole vectors. */
typedef struct attn__gemm_block {
    size_t r0, rows, c0, cols, apart;
    size_t padded;    /* cols in whole vectors */
    size_t row_bytes; /* bytes of a row of tiles */
    char *lanes, *sums, *b, *a;
    size_t lda; /* terms from one row of few to the next */
} attn__gemm_block;

static void attn__product(const attn_mat *out, const attn_mat *a, const attn_mat *b, const float *bias, double alpha,
                          int adds, int few, const attn_ctx *ctx);
static void attn__gemm_plan(attn__gemm *g, const attn_mat *out, const attn_mat *a, const attn_mat *b, const float *bias,
                            double alpha, int few, const attn_ctx *ctx);
static size_t attn__gemm_blocks(attn__gemm *g, size_t bytes);
static void attn__gemm_worker(attn__share *share);
static void attn__gemm_few(const attn__gemm *g, attn__gemm_block few);
static void attn__gemm_many(const attn__gemm *g, attn__gemm_block block);
static void attn__gemm_few_load(const attn__gemm *g, const attn__gemm_block *few, size_t k, size_t depth);
static void attn__gemm_few_block(const attn__gemm *g, const attn__gemm_block *few);
static void attn__gemm_few_dot(const attn__gemm *g, const attn__gemm_block *few, size_t k, size_t depth);
static void attn__gemm_store(const attn__gemm *g, const attn_mat *to, const char *sums, size_t ld);
static void attn__gemm_add(const attn__kernels *kern, const attn__gemm_block *block, const attn_mat *a,
                           const attn_mat *b, size_t k, size_t depth, int part);
static attn_status attn__checked_product(const attn_mat *out, const attn_mat *a, const attn_mat *b, size_t least,
                                         double alpha, int adds, const attn_ctx *ctx);

/* Are so many rows of a few? Nothing else decides in which order a kernel adds up their sums: not b's layout, not
   threads. */
static int attn__are_few(const attn_mat *a, const attn_mat *b, size_t rows, const attn_ctx *ctx)
{
    const attn__kernels *kern = attn__ctx_products(ctx, a->dtype, b->dtype, 0);
    return !ATTN__LARGE || (ctx && ctx->batch_invariant) ||
           rows <= (a->cols < ATTN__GEMM_SHORT ? ATTN__GEMM_FEW_SHORT : kern->tuned->few_products);
}

static void attn__matmul(const attn_mat *out, const attn_mat *a, const attn_mat *b, double alpha)
{
    attn__product(out, a, b, NULL, alpha, 0, attn__are_few(a, b, out->rows, NULL), NULL);
}

/* out = alpha (a b + bias), or += without bias, all checked. Columns of out that lie side by side are added to as rows
   of the transposed product: the same sums. Without memory for scratch, or with too little, it makes do with the
   stack. */
static void attn__product(const attn_mat *out, const attn_mat *a, const attn_mat *b, const float *bias, double alpha,
                          int adds, int few, const attn_ctx *ctx)
{
    attn__gemm g;
    void *scratch = ctx ? ctx->scratch : NULL, *own = NULL;
    size_t bytes, blocks;
    few = !ATTN__LARGE || few;
    if (out->rows == 0 || out->cols == 0)
        return;
    if (adds && !few && out->row_stride == 1 && out->col_stride != 1) {
        const attn_mat out_t = attn_mat_t(*out), a_t = attn_mat_t(*b), b_t = attn_mat_t(*a);
        attn__product(&out_t, &a_t, &b_t, NULL, alpha, adds, few, ctx);
        return;
    }
    attn__gemm_plan(&g, out, a, b, bias, alpha, few, ctx);
    g.adds = adds;
    bytes = scratch ? ctx->scratch_size / g.workers : g.worker_bytes;
    if (!scratch && bytes > ATTN__STACK)
        scratch = own = attn__allocate(g.worker_bytes * g.workers);
    if (!scratch || bytes < attn__min(g.worker_bytes, ATTN__STACK)) {
        scratch = NULL;
        bytes = ATTN__STACK;
    }
    blocks = attn__gemm_blocks(&g, bytes);
    attn__spread(ctx, g.workers, few ? g.workers : blocks, attn__gemm_worker, &g, scratch, bytes);
    attn__release(own);
}

/* A matrix whose elements are all the same 1. */
static attn_mat attn__ones(attn_dtype real, size_t rows, size_t cols)
{
    static const double attn__one64 = 1;
    static const float attn__one32 = 1;
    const void *one = attn__real(real) == ATTN_F64 ? (const void *)&attn__one64 : &attn__one32;
    const attn_mat m = {(void *)(uintptr_t)one, real, rows, cols, 0, 0};
    return m;
}

/* Lays out the scratch of a block: lanes of sums, of few rows; sums, two chains of them but for few rows; columns of b,
   panels or copied; and copied rows of a, one tile or few. Returns its bytes. */
static size_t attn__gemm_bytes(attn__gemm *g)
{
    size_t size = g->kern->size, parts = g->few && g->kc < g->terms;
    size_t lanes = (parts ? g->mc : attn__min(g->mc, ATTN__DOT_MOST)) + 1;
    g->sums_at = g->few ? lanes * g->kern->lanes * (parts ? g->nc : g->kern->dot_keys) * size : 0;
    g->b_at = g->sums_at + (g->few ? 1 : 2) * g->mc * g->nc * size;
    g->a_at = g->b_at + g->nc * g->ldb * size;
    return g->a_at + (g->few ? g->mc : g->kern->rows) * g->lda * size + ATTN__ALIGN;
}

/* Plans out = alpha (a b + bias in every row), with as much scratch as is of use. bias may be NULL. */
static void attn__gemm_plan(attn__gemm *g, const attn_mat *out, const attn_mat *a, const attn_mat *b, const float *bias,
                            double alpha, int few, const attn_ctx *ctx)
{
    size_t of_row, bytes; /* of a row of w; of all of them */
    g->kern = attn__ctx_products(ctx, a->dtype, b->dtype, 0);
    g->bias_kern = attn__ctx_kernels(ctx, attn__real(a->dtype));
    ATTN_ASSERT(g->kern && g->bias_kern);
    g->transposed = ATTN__LARGE && !few && b->row_stride == 1 && out->rows <= g->kern->tuned->transposed &&
                    out->rows <= out->cols / ATTN__GEMM_TRANSPOSED_COLS;
    g->out = ATTN__LARGE && g->transposed ? attn_mat_t(*out) : *out;
    g->a = ATTN__LARGE && g->transposed ? attn_mat_t(*b) : *a;
    g->b = ATTN__LARGE && g->transposed ? attn_mat_t(*a) : *b;
    g->bias.data = NULL;
    if (bias) { /* [a 1] [b; bias] */
        const attn_mat ones = attn__ones(g->kern->real, out->rows, 1), row = attn_mat_of(bias, ATTN_F32, 1, out->cols);
        g->ones = ATTN__LARGE && g->transposed ? attn_mat_t(row) : ones;
        g->bias = ATTN__LARGE && g->transposed ? attn_mat_t(ones) : row;
    }
    g->terms = attn__terms(g->kern, a->cols);
    g->few = few;
    g->copies_a = !attn__are_terms(g->kern, a->dtype, a->row_stride, a->col_stride, a->rows, a->cols) ||
                  a->col_stride != 1 || a->row_stride < 0 || g->terms % g->kern->lanes > 0;
    g->copies_b = b->row_stride != 1 || !attn__reads(g->kern, b->dtype);
    of_row = g->a.cols * attn__size(g->b.dtype);
    g->far_rows = ATTN__LARGE && few && attn__isas() & ATTN__FAR_STREAMS && !g->copies_b && !bias && of_row % 64 == 0 &&
                  g->out.rows <= ATTN__GEMM_FAR_ROWS && attn__mul_size(&bytes, of_row, g->out.cols) &&
                  bytes >= (g->out.rows == 1 ? ATTN__GEMM_FAR_BYTES : ATTN__GEMM_FAR_ROWS_BYTES);
    g->alpha = alpha;
    g->adds = 0;
    g->workers = attn__ctx_workers(ctx, attn__gemm_blocks(g, SIZE_MAX));
    g->worker_bytes = attn__gemm_bytes(g);
}

/* The blocks of few rows, or little ones, for which a stack is enough. Returns what one needs. */
static size_t attn__gemm_few_blocks(attn__gemm *g, int little)
{
    size_t size = g->kern->size, keys = g->kern->dot_keys, whole = attn__whole(g->terms, g->kern->lanes);
    size_t most = (g->copies_b ? ATTN__GEMM_FEW_B_BYTES : ATTN__LONG_ROW) / size;
    int parts = g->copies_b || (g->out.rows > 1 && g->terms > most + most / 2);
    g->mc = attn__min(g->out.rows, little ? ATTN__GEMM_FEW_LITTLE : ATTN__GEMM_FEW_MC);
    g->nc = attn__min(attn__whole(g->out.cols, keys), ATTN__GEMM_FEW_NC);
    if (little || (parts && !g->copies_b))
        g->nc = keys; /* each row of b is read to its end, while lanes are kept */
    g->whole_a = !g->copies_a || (!little && whole <= ATTN__CACHED_BYTES / size / g->mc);
    g->kc = parts || !g->whole_a ? attn__min(whole, little ? ATTN__GEMM_FEW_B_BYTES / 2 / size : most) : whole;
    g->lda = g->copies_a ? (g->whole_a ? whole : g->kc) + ATTN__GEMM_FEW_PAD : 0;
    g->ldb = g->copies_b ? g->kc + ATTN__GEMM_FEW_PAD : 0;
    return attn__gemm_bytes(g);
}

/* Chooses the blocks for a worker with so many bytes: ATTN__GEMM_.. of the kernel table, halved until they fit. Where
   out has fewer rows than a block, blocks are wider and shallower, so that more of each row of b is read. Returns how
   many there are. */
static size_t attn__gemm_blocks(attn__gemm *g, size_t bytes)
{
    size_t tile_rows = g->kern->rows, tile_cols = g->kern->cols, most, row_tiles, wider, col_tiles;
    if (!ATTN__LARGE || g->few) {
        size_t need = attn__gemm_few_blocks(g, 0);
        if (need > bytes)
            need = attn__gemm_few_blocks(g, 1);
        ATTN_ASSERT(need <= bytes); /* ATTN__STACK holds a little block of every pass */
        (void)need;
        return attn__ceil_div(g->out.rows, g->mc) * attn__ceil_div(g->out.cols, g->nc);
    }
    most = attn__max(ATTN__GEMM_MC, ATTN__GEMM_MC_OF_LANE * g->kern->lanes);
    row_tiles = attn__min(attn__ceil_div(g->out.rows, tile_rows),
                          (ATTN__LARGE && g->transposed ? ATTN__GEMM_TRANSPOSED_MC : most) / tile_rows);
    wider = attn__min(most / (row_tiles * tile_rows), most / ATTN__GEMM_WIDER);
    col_tiles = attn__min(attn__ceil_div(g->out.cols, tile_cols), ATTN__GEMM_TILES / most * wider);
    g->kc = attn__min(attn__max(g->terms, 1), attn__max(ATTN__GEMM_TILES / col_tiles / 2 * 2, 2));
    for (;;) { /* it ends: ATTN__STACK holds a register tile, two terms deep, of every pass */
        g->mc = row_tiles * tile_rows;
        g->nc = col_tiles * tile_cols;
        g->lda = g->ldb = g->kc;
        if (attn__gemm_bytes(g) <= bytes)
            return attn__ceil_div(g->out.rows, g->mc) * attn__ceil_div(g->out.cols, g->nc);
        if (row_tiles > 1)
            row_tiles = attn__ceil_div(row_tiles, 2);
        else if (col_tiles > 1)
            col_tiles = attn__ceil_div(col_tiles, 2);
        else
            g->kc = attn__max(g->kc / 4 * 2, 2);
    }
}

/* An item is a block; or, of few rows, as many blocks in a row as are a worker's share: then b is read in its order. */
static void attn__gemm_worker(attn__share *share)
{
    const attn__gemm *g = (const attn__gemm *)share->arg;
    size_t per_row = attn__ceil_div(g->out.cols, g->nc), blocks = attn__ceil_div(g->out.rows, g->mc) * per_row;
    size_t each = attn__ceil_div(blocks, share->items), item, first, end, row, n;
    char *lanes = share->scratch, *sums = lanes + g->sums_at, *b = lanes + g->b_at, *a = lanes + g->a_at;
    attn__gemm_block block = {0, 0, 0, 0, 0, 0, 0, lanes, sums, b, a, g->lda};
    while (attn__take(share, &item))
        for (first = item * each, end = attn__min(first + each, blocks); first < end; first += n) {
            row = attn__quotient(first, per_row);
            n = attn__min((row + 1) * per_row, end) - first;
            block.r0 = row * g->mc;
            block.rows = attn__min(g->mc, g->out.rows - block.r0);
            block.c0 = (first - row * per_row) * g->nc;
            block.cols = attn__min(n * g->nc, g->out.cols - block.c0);
            if (!ATTN__LARGE || g->few)
                attn__gemm_few(g, block);
            else
                attn__gemm_many(g, block);
        }
}

/* Computes the columns of a block of few rows, however many they are, in smaller ones: those of far streams, then those
   that are left. */
static void attn__gemm_few(const attn__gemm *g, attn__gemm_block few)
{
    const size_t size = attn__size(g->b.dtype), step = (size_t)g->b.col_stride * size, c0 = few.c0, cols = few.cols;
    size_t apart = ATTN__LARGE && g->far_rows ? cols / ATTN__GEMM_FAR_STREAMS : 0, in_streams, done;
    if (!g->copies_a) {
        few.a = (char *)attn__mat_at(&g->a, few.r0, 0);
        few.lda = (size_t)g->a.row_stride / g->kern->term;
    } else if (g->whole_a) {
        attn__gemm_few_load(g, &few, 0, g->terms);
    }
    if (apart > 16 && apart * step % ATTN__GEMM_FAR_SET == 0 && g->a.cols * size % ATTN__GEMM_FAR_SET > 0)
        apart--; /* and a row more or less parts them */
    in_streams = apart * ATTN__GEMM_FAR_STREAMS;
    for (done = 0; done < cols; done += few.cols) {
        few.apart = done < in_streams ? apart : 0;
        few.c0 = c0 + (done < in_streams ? done / ATTN__GEMM_FAR_STREAMS : done);
        few.cols = attn__min(g->nc, (done < in_streams ? in_streams : cols) - done);
        attn__gemm_few_block(g, &few);
    }
}

/* x[r][k] = terms k .. k + depth - 1 of rows r0 .. r0 + rows - 1 of a, as products take them. */
static void attn__gemm_load(const attn__kernels *kern, void *x, size_t ld, const attn_mat *a, size_t r0, size_t k,
                            size_t rows, size_t depth)
{
    kern->load_rows(x, ld, attn__mat_at(a, r0, k * kern->term), a->dtype, a->row_stride, a->col_stride, rows,
                    attn__min(depth * kern->term, a->cols - k * kern->term));
}

/* Copies terms k .. k + depth - 1 of few rows of a, with zeros up to whole vectors. */
static void attn__gemm_few_load(const attn__gemm *g, const attn__gemm_block *few, size_t k, size_t depth)
{
    size_t size = g->kern->size, rest = attn__whole(depth, g->kern->lanes) - depth, r;
    attn__gemm_load(g->kern, few->a, few->lda, &g->a, few->r0, k, few->rows, depth);
    for (r = 0; r < few->rows && rest > 0; r++)
        ATTN__MEMSET(few->a + (r * few->lda + depth) * size, 0, rest * size);
}

/* Computes a block of few rows. */
static void attn__gemm_few_block(const attn__gemm *g, const attn__gemm_block *few)
{
    size_t k = 0, depth, r;
    attn_mat to = attn__submatrix(&g->out, few->r0, few->c0, few->rows, few->cols);
    do {
        depth = attn__min(g->kc, g->terms - k);
        attn__gemm_few_dot(g, few, k, depth);
        k += depth;
    } while (k < g->terms);
    if (few->apart == 0)
        attn__gemm_store(g, &to, few->sums, g->nc);
    for (r = 0; few->apart > 0 && r < few->rows; r++) { /* each row is a matrix, with a column for each stream */
        const attn_mat streams = {attn__mat_at(&to, r, 0), to.dtype,      few->cols / ATTN__GEMM_FAR_STREAMS,
                                  ATTN__GEMM_FAR_STREAMS,  to.col_stride, (ptrdiff_t)few->apart * to.col_stride};
        attn__gemm_store(g, &streams, few->sums + r * g->nc * g->kern->size, streams.cols);
    }
}

/* The attn__part that terms k .. k + depth - 1 are. */
static int attn__gemm_part(const attn__gemm *g, size_t k, size_t depth)
{
    return (k > 0 ? ATTN__BEGUN : 0) | (k + depth < g->terms ? ATTN__UNFINISHED : 0);
}

/* sums = a b, or a part of it: terms k .. k + depth - 1. */
static void attn__gemm_few_dot(const attn__gemm *g, const attn__gemm_block *few, size_t k, size_t depth)
{
    const attn__kernels *kern = g->kern;
    const size_t first = k * kern->term, size = attn__size(g->b.dtype);
    const char *at[ATTN__GEMM_FEW_NC];
    double added[ATTN__GEMM_FEW_NC]; /* of either real type */
    const char *a = g->whole_a ? few->a + k * kern->size : few->a;
    size_t i, cols;
    attn__operand w;
    ATTN__MEMSET(&w, 0, sizeof w);
    w.queries = few->rows;
    w.heads = 1;
    w.dtype = g->b.dtype;
    w.dims = attn__min(depth * kern->term, g->a.cols - first);
    w.part = attn__gemm_part(g, k, depth);
    w.row = (const char *)attn__mat_at(&g->b, first, few->c0);
    w.step = g->out.cols > 1 ? g->b.col_stride * (ptrdiff_t)size : 0; /* that of one column may be anything */
    for (i = 0; few->apart > 0 && i < few->cols; i++)
        at[i] = (const char *)attn__mat_at(
            &g->b, first, few->c0 + i / ATTN__GEMM_FAR_STREAMS + i % ATTN__GEMM_FAR_STREAMS * few->apart);
    w.ahead = few->apart > 0 ? ATTN__GEMM_FAR_AHEAD : 0;
    if (g->copies_b) {
        attn_mat columns = attn_mat_t(g->b);
        attn__gemm_load(kern, few->b, g->ldb, &columns, few->c0, k, few->cols, depth);
        w.row = few->b;
        w.step = (ptrdiff_t)(g->ldb * kern->size);
        w.dtype = kern->element;
    }
    if (!g->whole_a)
        attn__gemm_few_load(g, few, k, depth);
    if (g->bias.data && !(w.part & ATTN__UNFINISHED)) {
        ATTN__MEMSET(added, 0, sizeof added);
        kern->load(added, 0, attn__mat_at(&g->bias, 0, few->c0), ATTN_F32, 0, 1, 1, few->cols);
    }
    for (i = 0; i < few->cols; i += cols) { /* dot_keys at a time, if in parts */
        cols = w.part ? attn__min(few->cols - i, kern->dot_keys) : few->cols;
        w.keys = cols;
        w.at = few->apart > 0 ? at + i : NULL;
        w.lanes = few->lanes + (w.part ? i * (g->mc + 1) * kern->lanes * kern->size : 0);
        w.added = g->bias.data ? (char *)added + i * kern->size : NULL;
        attn__run_few(kern, few->sums + i * kern->size, g->nc, a, few->lda, &w, 0);
        w.row += (ptrdiff_t)cols * w.step;
    }
}

#ifndef ATTN_NO_TRAINING
/* out += alpha x, for reals x. Rows of reals that lie side by side are added to where they are; others one by one in a
   buffer, by the same kernel, so that the bits are the same. Floats and doubles are added as doubles. */
static void attn__add_to(const attn__kernels *kern, const attn_mat *out, const char *x, size_t ld, double alpha)
{
    const attn__kernels *add;
    double sum[ATTN__BUFFER], term[ATTN__BUFFER]; /* of either real type */
    size_t r;
    if (out->col_stride == 1 && out->dtype == kern->real) {
        kern->add(out->data, out->row_stride, x, ld, out->rows, out->cols, (attn__number)alpha);
        return;
    }
    ATTN_ASSERT(out->cols <= ATTN__BUFFER);
    add = attn__kernels_for(kern->isa, attn__real(out->dtype == ATTN_F64 ? ATTN_F64 : kern->real));
    for (r = 0; r < out->rows; r++, x += ld * kern->size) {
        void *to = attn__mat_at(out, r, 0);
        add->load(sum, ATTN__BUFFER, to, out->dtype, 0, out->col_stride, 1, out->cols);
        add->load(term, ATTN__BUFFER, x, kern->real, 0, 1, 1, out->cols);
        add->add(sum, ATTN__BUFFER, term, ATTN__BUFFER, 1, out->cols, (attn__number)alpha);
        add->store(to, out->dtype, 0, out->col_stride, sum, ATTN__BUFFER, 1, out->cols, 1.0);
    }
}
#endif

/* to = alpha sums, or += */
static void attn__gemm_store(const attn__gemm *g, const attn_mat *to, const char *sums, size_t ld)
{
#ifndef ATTN_NO_TRAINING
    if (g->adds) {
        attn__add_to(g->kern, to, sums, ld, g->alpha);
        return;
    }
#endif
    g->kern->store(to->data, to->dtype, to->row_stride, to->col_stride, sums, ld, to->rows, to->cols,
                   (attn__number)g->alpha);
}

/* Computes a block of many rows. */
static void attn__gemm_many(const attn__gemm *g, attn__gemm_block block)
{
    const attn__kernels *kern = g->kern;
    int parts = g->terms > g->kc || g->bias.data; /* of which sums are made: their two chains lie in two tiles */
    size_t k, c, r, depth, tiles = kern->rows * (parts ? 2 : 1);
    block.padded = attn__whole(block.cols, kern->lanes);
    block.row_bytes = tiles * block.padded * kern->size;
    if (g->terms == 0)
        ATTN__MEMSET(block.sums, 0, attn__ceil_div(block.rows, kern->rows) * block.row_bytes);
    for (k = 0; k < g->terms; k += depth) {
        depth = attn__min(g->kc, g->terms - k);
        attn__gemm_add(kern, &block, &g->a, &g->b, k, depth,
                       attn__gemm_part(g, k, depth) | (g->bias.data ? ATTN__UNFINISHED : 0));
    }
    if (g->bias.data)
        attn__gemm_add(g->bias_kern, &block, &g->ones, &g->bias, 0, 1, ATTN__BEGUN);
    for (r = 0; r < block.rows; r += kern->rows)
        for (c = 0; c < block.cols; c += kern->cols) {
            attn_mat to = attn__submatrix(&g->out, block.r0 + r, block.c0 + c, attn__min(kern->rows, block.rows - r),
                                          attn__min(kern->cols, block.cols - c));
            attn__gemm_store(g, &to, block.sums + r / kern->rows * block.row_bytes + tiles * c * kern->size,
                             attn__min(kern->cols, block.padded - c));
        }
}

/* Packs b[k .. k + depth][c0 .. c0 + cols] into panels, the last one filled up with zeros to whole vectors. Here and
   below, k and depth count terms. */
static void attn__gemm_pack(const attn__kernels *kern, char *panels, const attn_mat *b, size_t k, size_t depth,
                            size_t c0, size_t cols)
{
    size_t first = k * kern->term, c, width, padded;
    for (c = 0; c < cols; c += width) {
        char *panel = panels + c * depth * kern->size;
        width = attn__min(kern->cols, cols - c);
        padded = attn__whole(width, kern->lanes);
        if (padded > width)
            ATTN__MEMSET(panel, 0, padded * depth * kern->size);
        kern->load_panel(panel, padded, attn__mat_at(b, first, c0 + c), b->dtype, b->row_stride, b->col_stride,
                         attn__min(depth * kern->term, b->rows - first), width);
    }
}

/* sums += a[rows of the block][k .. k + depth] b[k .. k + depth][columns of the block] */
static void attn__gemm_add(const attn__kernels *kern, const attn__gemm_block *block, const attn_mat *a,
                           const attn_mat *b, size_t k, size_t depth, int part)
{
    size_t r, rows;
    attn__gemm_pack(kern, block->b, b, k, depth, block->c0, block->cols);
    if (attn__are_terms(kern, a->dtype, a->row_stride, a->col_stride, a->rows, a->cols)) {
        kern->gemm(block->sums, attn__mat_at(a, block->r0, k * kern->term), a->row_stride / (ptrdiff_t)kern->term,
                   a->col_stride, block->rows, block->b, block->padded, depth, part, NULL, NULL);
        return;
    }
    for (r = 0; r < block->rows; r += kern->rows) {
        rows = attn__min(kern->rows, block->rows - r);
        attn__gemm_load(kern, block->a, depth, a, block->r0 + r, k, rows, depth);
        kern->gemm(block->sums + r / kern->rows * block->row_bytes, block->a, (ptrdiff_t)depth, 1, rows, block->b,
                   block->padded, depth, part, NULL, NULL);
    }
}

#ifndef ATTN_NO_TRAINING
ATTN_API attn_status attn_matmul_add(attn_mat out, attn_mat a, attn_mat b, double alpha, const attn_ctx *ctx)
{
    return attn__checked_product(&out, &a, &b, 0, alpha, 1, ctx);
}
#endif

/* Checks and computes out = alpha a b, or +=. `least`: the smallest legal length of a sum. */
static attn_status attn__checked_product(const attn_mat *out, const attn_mat *a, const attn_mat *b, size_t least,
                                         double alpha, int adds, const attn_ctx *ctx)
{
    static const attn__argument attn__arguments[] = {
        {"out", ATTN__MAT | ATTN__OUT | ATTN__ANY_FLOAT | ATTN__SUM, 0, ATTN__SHAPE2(M, N)},
        {"a", ATTN__MAT, 0, ATTN__SHAPE2(M, K)},
        {"b", ATTN__MAT, 0, ATTN__SHAPE2(K, N)}};
    attn__message t;
    attn__gemm g;
    attn__check c;
    int few;
    attn__check_begin(&c, ctx);
    c.ignored = adds ? 0 : ATTN__SUM | ATTN__ANY_FLOAT;
    ATTN__LIST(&c, attn__arguments, out, a, b);
    attn__list_ctx(&c);
    attn__check_views(&c);
    attn__require(&c, !adds || out->dtype == ATTN_F64 || out->dtype == attn__real(a->dtype), ATTN_ERR_DTYPE, "out");
    attn__require(&c, a->cols >= least, ATTN_ERR_SHAPE, "a");
    attn__require(&c, attn__is_factor(alpha, a->dtype), ATTN_ERR_VALUE, "alpha");
    attn__require_ctx(&c);
    few = c.status == ATTN_OK && attn__are_few(a, b, out->rows, ctx);
    if (attn__is_dry(&c)) {
        g.kern = attn__ctx_kernels(ctx, attn__real(a->dtype));
        g.workers = g.worker_bytes = 0;
        if (c.status == ATTN_OK && out->rows > 0 && out->cols > 0)
            attn__gemm_plan(&g, out, a, b, NULL, alpha, few, ctx);
        if (attn__tell(&t, &c, g.kern, g.worker_bytes * g.workers) && ATTN__LARGE) {
            attn__say(&t, few ? "few rows: terms of dot products lie on lanes\n" : "many rows: in blocks\n");
            attn__say_number(&t, "", g.workers, g.workers == 1 ? " task\n" : " tasks\n");
        }
    } else if (c.status == ATTN_OK) {
        attn__product(out, a, b, NULL, alpha, adds, few, ctx);
    }
    return attn__check_end(&c);
}

ATTN_API attn_status attn_matmul_ctx(attn_mat out, attn_mat a, attn_mat b, double alpha, const attn_ctx *ctx)
{
    return attn__checked_product(&out, &a, &b, 0, alpha, 0, ctx);
}

ATTN_API attn_status attn_matmul(attn_mat out, attn_mat a, attn_mat b)
{
    return attn_matmul_ctx(out, a, b, 1.0, NULL);
}

ATTN_API attn_status attn_weighted_sum(attn_mat out, attn_mat weights, attn_mat v)
{
    return attn__checked_product(&out, &weights, &v, 0, 1.0, 0, NULL);
}

/* ==== softmax ======================================================================================================

   Three passes over a row: its maximum m; e_j = exp(x_j - m) and their sum; e_j / sum. Subtracting m changes nothing in
   exact arithmetic and keeps exp from overflowing. A row is processed ATTN__ROW_BUFFER elements at a time. Where in or
   out is not a packed row of reals, these are converted in a buffer. Attention, whose rows never are there as a whole,
   has the kernel `softmax` instead, of which this room knows nothing. */

#define ATTN__ROW_BUFFER                                                                                               \
    (ATTN__LARGE ? 1024 : 64) /* the buffer, of either real type, takes half of ATTN__STACK at most */

typedef struct attn__softmax_job {
    attn_mat out, in;
    const attn__kernels *kern;
    size_t rows; /* that a worker takes at a time */
    int power;   /* 0: softmax; else the one with zeros */
} attn__softmax_job;

/* Arguments of a softmax, out and in, and of the way back, din, dout and out: it has no ctx that would tell names. */
static const attn__argument attn__softmax_arguments[] = {
    {"out", ATTN__MAT | ATTN__OUT | ATTN__IN_PLACE, 0, ATTN__SHAPE2(Lq, Lk)},
    {"in", ATTN__MAT, 0, ATTN__SHAPE2(Lq, Lk)},
    ATTN__INPUT(Lq, Lk)};

static attn_status attn__checked_softmax(const attn_mat *out, const attn_mat *in, int power, const attn_ctx *ctx);
static void attn__softmax(const attn_mat *out, const attn_mat *in, int power, const attn_ctx *ctx);
static void attn__softmax_worker(attn__share *share);
static void attn__softmax_row(const attn__softmax_job *job, size_t r, void *buffer);

ATTN_API attn_status attn_softmax_ctx(attn_mat out, attn_mat in, const attn_ctx *ctx)
{
    return attn__checked_softmax(&out, &in, 0, ctx);
}

/* The scratch that a softmax has use for: if it must convert. */
static size_t attn__softmax_bytes(const attn_mat *out, const attn_mat *in, const attn_ctx *ctx)
{
    attn_dtype real = attn__real(in->dtype);
    int direct = out->dtype == real && in->dtype == real && out->col_stride == 1 && in->col_stride == 1;
    return direct ? 0 : attn__ctx_workers(ctx, SIZE_MAX) * ATTN__ROW_BUFFER * sizeof(double) + ATTN__ALIGN;
}

/* Checks and computes a softmax. */
static attn_status attn__checked_softmax(const attn_mat *out, const attn_mat *in, int power, const attn_ctx *ctx)
{
    attn__message t;
    attn__check c;
    ATTN__CHECK(&c, ctx, attn__softmax_arguments, out, in);
    if (attn__is_dry(&c))
        attn__tell(&t, &c, attn__ctx_kernels(ctx, attn__real(in->dtype)), attn__softmax_bytes(out, in, ctx));
    else if (c.status == ATTN_OK)
        attn__softmax(out, in, power, ctx);
    return attn__check_end(&c);
}

static void attn__softmax(const attn_mat *out, const attn_mat *in, int power, const attn_ctx *ctx)
{
    attn__softmax_job job = {*out, *in, NULL, 0, power};
    int given = ctx && ctx->scratch && ctx->scratch_size >= attn__softmax_bytes(out, in, ctx);
    if (out->rows == 0 || out->cols == 0)
        return;
    job.kern =
        power ? attn__wide_kernels(ctx ? ctx->isa : ATTN_ISA_BEST) : attn__ctx_kernels(ctx, attn__real(in->dtype));
    job.rows = attn__max(1, ATTN__SOFTMAX_ELEMENTS / out->cols);
    attn__spread(ctx, ATTN__WORKERS, attn__ceil_div(out->rows, job.rows), attn__softmax_worker, &job,
                 given ? ctx->scratch : NULL, ATTN__ROW_BUFFER * sizeof(double));
}

ATTN__NOINLINE void attn__sparse_row(const attn__softmax_job *job, size_t r, void *buffer);

static void attn__softmax_worker(attn__share *share)
{
    const attn__softmax_job *job = (const attn__softmax_job *)share->arg;
    size_t item, r;
    while (attn__take(share, &item))
        for (r = item * job->rows; r < attn__min((item + 1) * job->rows, job->out.rows); r++)
            (job->power == 0 ? attn__softmax_row : attn__sparse_row)(job, r, share->scratch);
}

/* Some elements of a row as packed reals: where it lies if it can, else in the buffer. */
static const void *attn__buffered(const attn__kernels *kern, const attn_mat *m, size_t r, size_t first, size_t n,
                                  void *buffer)
{
    const void *x = attn__mat_at(m, r, first);
    if (m->dtype == kern->real && m->col_stride == 1)
        return x;
    kern->load(buffer, n, x, m->dtype, 0, m->col_stride, 1, n);
    return buffer;
}

/* The maximum of a row, in *max. A row with NaN or +infinity has none: returns 0, and out is NaN. */
ATTN__INLINE int attn__softmax_max(const attn__softmax_job *job, size_t r, void *buffer, double *max)
{
    const attn__kernels *kern = job->kern;
    int nonfinite = 0;
    size_t i, n;
    *max = attn__lowest(kern->real);
    for (i = 0; i < job->in.cols; i += n) {
        n = attn__min(ATTN__ROW_BUFFER, job->in.cols - i);
        *max = kern->softmax_max(attn__buffered(kern, &job->in, r, i, n, buffer), n, *max, &nonfinite);
    }
    for (i = 0; nonfinite && i < job->out.cols; i++)
        attn__mat_set(&job->out, r, i, attn__nan());
    return !nonfinite;
}

static void attn__softmax_row(const attn__softmax_job *job, size_t r, void *buffer)
{
    const attn__kernels *kern = job->kern;
    const attn_mat *out = &job->out, *in = &job->in;
    int direct = out->dtype == kern->real && out->col_stride == 1;
    double max, sum = 0, lost = 0;
    size_t i, n;
    void *e = buffer;
    if (!attn__softmax_max(job, r, buffer, &max))
        return;
    for (i = 0; i < in->cols; i += n) {
        n = attn__min(ATTN__ROW_BUFFER, in->cols - i);
        e = direct ? attn__mat_at(out, r, i) : buffer;
        attn__add(&sum, &lost, kern->softmax_exp(e, attn__buffered(kern, in, r, i, n, buffer), n, max));
    }
    for (i = 0; i < in->cols; i += n) {
        n = attn__min(ATTN__ROW_BUFFER, in->cols - i);
        e = direct ? attn__mat_at(out, r, i) : buffer;
        if (!direct && in->cols > ATTN__ROW_BUFFER) /* the buffer has held others since */
            kern->softmax_exp(e, attn__buffered(kern, in, r, i, n, buffer), n, max);
        kern->store(attn__mat_at(out, r, i), out->dtype, 0, out->col_stride, e, n, 1, n,
                    (attn__number)(sum > 0 ? 1 / sum : 0));
    }
}

ATTN_API attn_status attn_softmax(attn_mat out, attn_mat in)
{
    return attn__checked_softmax(&out, &in, 0, NULL);
}

/* -- softmax with zeros --

   Elements are max(x / power - t, 0)^power, with power 1 (sparsemax) or 2 (entmax15), x being the row less its maximum.
   Their sum falls as t grows, ever more slowly, from at least 1 at t = -1; t is where it is 1. Newton's method comes
   nearer from the left, step by step and never beyond, until rounding stops it. The slope is -1 at most, so that t is
   off by no more than the sum is. */

/* Elements from `first` on of a row, divided by power, less `max` divided by power: as many as the result says. */
static size_t attn__load_below(const attn__kernels *wide, double *x, const attn_mat *in, size_t r, size_t first,
                               double max, int power)
{
    size_t j, n = attn__min(ATTN__ROW_BUFFER, in->cols - first);
    double share = power == 1 ? 1 : 0.5;
    wide->load(x, n, attn__mat_at(in, r, first), in->dtype, 0, in->col_stride, 1, n);
    for (j = 0; j < n; j++)
        x[j] = x[j] * share - max * share;
    return n;
}

/* A row, in double; the buffer holds some of it. */
ATTN__NOINLINE void attn__sparse_row(const attn__softmax_job *job, size_t r, void *buffer)
{
    const attn__kernels *wide = job->kern;
    const attn_mat *out = &job->out, *in = &job->in;
    const int power = job->power;
    double *x = (double *)buffer, max, t = -1, last, sum, lost, slope, rest, above;
    size_t i, j, n;
    if (!attn__softmax_max(job, r, buffer, &max))
        return;
    do { /* the sum of elements less 1, and minus its slope, at t */
        last = t;
        sum = -1;
        lost = slope = 0;
        for (i = 0; i < in->cols; i += n) {
            n = attn__load_below(wide, x, in, r, i, max, power);
            for (j = 0; j < n; j++)
                if (x[j] > t) {
                    above = x[j] - t;
                    attn__add(&sum, &lost, power == 1 ? above : above * above);
                    slope += power == 1 ? 1 : 2 * above;
                }
        }
        if (sum > 0)
            t += sum / slope;
    } while (t > last);
    rest = slope > 0 ? sum / slope : 0; /* what t cannot hold: of many equal elements it is a large part */
    for (i = 0; i < in->cols; i += n) {
        n = attn__load_below(wide, x, in, r, i, max, power);
        for (j = 0; j < n; j++)
            x[j] -= t;
        for (j = 0; j < n; j++) { /* in a loop of its own: -ffast-math would add t and rest first */
            above = x[j] - rest;
            above = above > 0 ? above : 0;
            x[j] = power == 1 ? above : above * above;
        }
        wide->store(attn__mat_at(out, r, i), out->dtype, 0, out->col_stride, x, n, 1, n, 1.0);
    }
}

ATTN_API attn_status attn_sparsemax(attn_mat out, attn_mat in)
{
    return attn__checked_softmax(&out, &in, 1, NULL);
}

ATTN_API attn_status attn_entmax15(attn_mat out, attn_mat in)
{
    return attn__checked_softmax(&out, &in, 2, NULL);
}

#ifndef ATTN_NO_TRAINING
/* The way back, in double and rounded once. A row of zeros had nothing to attend to: whatever reaches it, NaN too, it
   passes on nothing. In bits: -ffast-math would take NaN for 0. */
static void attn__softmax_backward(const attn_mat *din, const attn_mat *dout, const attn_mat *out, size_t r)
{
    const attn__kernels *wide = attn__wide_kernels(ATTN_ISA_BEST);
    double y[ATTN__ROW_BUFFER / 4], dy[ATTN__ROW_BUFFER / 4], sum = 0;
    uint64_t some = 0;
    size_t pass, i, j, n;
    for (pass = 0; pass < 2; pass++)
        for (i = 0; i < out->cols; i += n) {
            n = attn__min(out->cols - i, ATTN__ROW_BUFFER / 4);
            wide->load(y, n, attn__mat_at(out, r, i), out->dtype, 0, out->col_stride, 1, n);
            wide->load(dy, n, attn__mat_at(dout, r, i), dout->dtype, 0, dout->col_stride, 1, n);
            for (j = 0; j < n && pass == 0; j++) {
                sum += dy[j] * y[j];
                some |= attn__bits(y[j]) << 1; /* all but the sign */
            }
            for (j = 0; j < n && pass == 1; j++)
                y[j] = some ? y[j] * (dy[j] - sum) : 0;
            if (pass == 1)
                wide->store(attn__mat_at(din, r, i), din->dtype, 0, din->col_stride, y, n, 1, n, 1.0);
        }
}

ATTN_API attn_status attn_softmax_backward(attn_mat din, attn_mat dout, attn_mat out)
{
    size_t r;
    attn__check c;
    ATTN__CHECK(&c, NULL, attn__softmax_arguments, &din, &dout, &out);
    for (r = 0; r < out.rows && out.cols > 0 && c.status == ATTN_OK; r++)
        attn__softmax_backward(&din, &dout, &out, r);
    return c.status;
}
#endif

/* ==== steps ========================================================================================================

   One function for each step of attention, on matrices: scores, softmax, values, heads; and attn_attention, which calls
   them in order, to read. They have no options and no tricks but those of the products and the softmax above, and know
   nothing of attn_sdpa: so the one can be tested by the other. */

static void attn__normalize(const attn_mat *unit, const attn_mat *m);

/* *m = a temporary of the compute type, if there is no fault so far; else it has no elements. */
static void attn__new_temporary(attn__check *c, attn_mat *m, attn_dtype first_input, size_t rows, size_t cols)
{
    *m = attn_mat_of(NULL, attn__real(first_input), rows, cols);
    attn__require(c, attn__mat_fits(m), ATTN_ERR_OVERFLOW, NULL);
    if (c->status != ATTN_OK)
        return;
    *m = attn_mat_new(m->dtype, rows, cols);
    attn__require(c, attn__mat_fits(m), ATTN_ERR_NOMEM, NULL);
}

/* -- scores -- */

ATTN_API attn_status attn_scores(attn_mat out, attn_mat q, attn_mat k, double scale)
{
    attn_mat kt = attn_mat_t(k);
    return attn__checked_product(&out, &q, &kt, 1, attn__scale(scale, q.cols), 0, NULL);
}

ATTN_API attn_status attn_scores_general(attn_mat out, attn_mat q, attn_mat k, attn_mat w)
{
    /* out, q, k, w */
    static const attn__argument attn__arguments[] = {ATTN__RESULT(Lq, Lk), ATTN__INPUT(Lq, Eq), ATTN__INPUT(Lk, Ek),
                                                     ATTN__INPUT(Eq, Ek)};
    attn_mat qw = ATTN__ZERO, kt = attn_mat_t(k);
    attn__check c;
    ATTN__CHECK(&c, NULL, attn__arguments, &out, &q, &k, &w);
    attn__new_temporary(&c, &qw, q.dtype, q.rows, k.cols);
    if (c.status == ATTN_OK) {
        attn__matmul(&qw, &q, &w, 1.0);
        attn__matmul(&out, &qw, &kt, 1.0);
    }
    attn_mat_free(&qw);
    return c.status;
}

ATTN_API attn_status attn_scores_additive(attn_mat out, attn_mat q, attn_mat k, attn_mat wq, attn_mat wk, attn_mat v)
{
    /* out, q, k, wq, wk, v */
    static const attn__argument attn__arguments[] = {ATTN__RESULT(Lq, Lk), ATTN__INPUT(Lq, Eq), ATTN__INPUT(Lk, Ek),
                                                     ATTN__INPUT(Eq, M),   ATTN__INPUT(Ek, M),  ATTN__INPUT(M, 1)};
    attn_mat a = ATTN__ZERO, b = ATTN__ZERO; /* q wq and k wk; out[i][j] = v . tanh(a_i + b_j) */
    size_t i, j, d;
    double sum;
    attn__check c;
    ATTN__CHECK(&c, NULL, attn__arguments, &out, &q, &k, &wq, &wk, &v);
    attn__new_temporary(&c, &a, q.dtype, q.rows, v.rows);
    attn__new_temporary(&c, &b, q.dtype, k.rows, v.rows);
    if (c.status == ATTN_OK) {
        attn__matmul(&a, &q, &wq, 1.0);
        attn__matmul(&b, &k, &wk, 1.0);
    }
    for (i = 0; i < out.rows && out.cols > 0 && c.status == ATTN_OK; i++)
        for (j = 0; j < out.cols; j++) {
            for (sum = 0, d = 0; d < v.rows; d++)
                sum += attn__mat_get(&v, d, 0) * attn__tanh(attn__mat_get(&a, i, d) + attn__mat_get(&b, j, d));
            attn__mat_set(&out, i, j, sum);
        }
    attn_mat_free(&a);
    attn_mat_free(&b);
    return c.status;
}

ATTN_API attn_status attn_scores_cosine(attn_mat out, attn_mat q, attn_mat k, double beta)
{
    /* out, q, k */
    static const attn__argument attn__arguments[] = {ATTN__RESULT(Lq, Lk), ATTN__INPUT(Lq, D), ATTN__INPUT(Lk, D)};
    attn_mat a = ATTN__ZERO, b = ATTN__ZERO, bt; /* q and k, with rows of length 1 */
    attn__check c;
    ATTN__CHECK(&c, NULL, attn__arguments, &out, &q, &k);
    attn__require(&c, attn__is_factor(beta, q.dtype), ATTN_ERR_VALUE, NULL);
    attn__new_temporary(&c, &a, q.dtype, q.rows, q.cols);
    attn__new_temporary(&c, &b, q.dtype, k.rows, k.cols);
    if (c.status == ATTN_OK) {
        attn__normalize(&a, &q);
        attn__normalize(&b, &k);
        bt = attn_mat_t(b);
        attn__matmul(&out, &a, &bt, beta);
    }
    attn_mat_free(&a);
    attn_mat_free(&b);
    return c.status;
}

/* Each row of `to`, which holds zeros, becomes that of m divided by its length; zeros stay zeros. The row is divided
   by its largest magnitude first, so that no square overflows or vanishes. Magnitudes are compared as integers, where
   NaN is above all numbers. */
static void attn__normalize(const attn_mat *to, const attn_mat *m)
{
    size_t i, d;
    for (i = 0; i < m->rows && m->cols > 0; i++) {
        double largest, sum = 0, length, x;
        uint64_t top = 0, bits;
        for (d = 0; d < m->cols; d++) {
            bits = attn__bits(attn__mat_get(m, i, d)) & UINT64_MAX >> 1;
            top = bits > top ? bits : top;
        }
        if (top == 0)
            continue;
        largest = attn__from_bits(top);
        for (d = 0; d < m->cols; d++) {
            x = attn__divide(attn__mat_get(m, i, d), largest);
            sum += x * x;
        }
        length = attn__sqrt(sum);
        for (d = 0; d < m->cols; d++)
            attn__mat_set(to, i, d, attn__divide(attn__mat_get(m, i, d), largest) / length);
    }
}

/* -- values and heads -- */

ATTN_API attn_status attn_weighted_values(attn_mat out, attn_mat weights, attn_mat v)
{
    /* out, weights, v */
    static const attn__argument attn__arguments[] = {ATTN__RESULT(Lk, Dv), ATTN__INPUT(1, Lk), ATTN__INPUT(Lk, Dv)};
    size_t j, d;
    double weight;
    attn__check c;
    ATTN__CHECK(&c, NULL, attn__arguments, &out, &weights, &v);
    for (j = 0; j < v.rows && v.cols > 0 && c.status == ATTN_OK; j++) {
        weight = attn__mat_get(&weights, 0, j);
        for (d = 0; d < v.cols; d++)
            attn__mat_set(&out, j, d, weight * attn__mat_get(&v, j, d));
    }
    return c.status;
}

ATTN_API attn_status attn_concat_heads(attn_mat out, const attn_mat *heads, size_t count)
{
    /* out, and each of the heads */
    static const attn__argument attn__arguments[] = {ATTN__RESULT(L, E), ATTN__INPUT(L, D)};
    attn_mat to;
    size_t h, cols = 0;
    attn__check c, one;
    ATTN__CHECK(&c, NULL, attn__arguments, &out);
    attn__require(&c, heads || count == 0, ATTN_ERR_NULL, NULL);
    for (h = 0; heads && h < count; cols += heads[h++].cols) { /* one by one: there may be more than a list takes */
        ATTN__CHECK(&one, NULL, attn__arguments, &out, &heads[h]);
        attn__require(&c, one.status == ATTN_OK, one.status, NULL);
        attn__require(&c, heads[h].cols <= out.cols - cols, ATTN_ERR_SHAPE, NULL);
    }
    attn__require(&c, cols == out.cols, ATTN_ERR_SHAPE, NULL);
    for (h = 0, cols = 0; h < count && c.status == ATTN_OK; cols += heads[h++].cols) {
        to = attn_mat_cols(out, cols, heads[h].cols);
        attn__copy(&to, &heads[h]);
    }
    return c.status;
}

ATTN_API attn_status attn_split_heads(attn_mat *heads, size_t count, attn_mat in)
{
    static const attn__argument attn__in = {NULL, ATTN__MAT | ATTN__ANY_FLOAT, 0, ATTN__SHAPE2(L, E)};
    size_t h;
    attn__check c;
    ATTN__CHECK(&c, NULL, &attn__in, &in);
    attn__require(&c, heads || count == 0, ATTN_ERR_NULL, NULL);
    attn__require(&c, count > 0 && in.cols % count == 0, ATTN_ERR_SHAPE, NULL);
    for (h = 0; h < count && c.status == ATTN_OK; h++)
        heads[h] = attn_mat_cols(in, h * (in.cols / count), in.cols / count);
    return c.status;
}

ATTN_API attn_status attn_attention(attn_mat out, attn_mat weights, attn_mat q, attn_mat k, attn_mat v, double scale)
{
    /* out, weights, q, k, v */
    static const attn__argument attn__arguments[] = {
        ATTN__RESULT(Lq, Dv),
        {NULL, ATTN__MAT | ATTN__OUT | ATTN__OPTIONAL | ATTN__ANY_FLOAT, 0, ATTN__SHAPE2(Lq, Lk)},
        ATTN__INPUT(Lq, D),
        ATTN__INPUT(Lk, D),
        ATTN__INPUT(Lk, Dv)};
    attn_mat s = weights, kt = attn_mat_t(k); /* s is Lq x Lk: scores, then weights; */
    int own = attn__mat_absent(&weights) || weights.dtype != attn__real(q.dtype); /* a temporary */
    double alpha = attn__scale(scale, q.cols);
    attn__check c;
    ATTN__CHECK(&c, NULL, attn__arguments, &out, &weights, &q, &k, &v);
    attn__require(&c, q.cols > 0, ATTN_ERR_SHAPE, NULL);
    attn__require(&c, attn__is_factor(alpha, q.dtype), ATTN_ERR_VALUE, NULL);
    if (own)
        attn__new_temporary(&c, &s, q.dtype, q.rows, k.rows);
    if (c.status == ATTN_OK) {
        attn__matmul(&s, &q, &kt, alpha);
        attn__softmax(&s, &s, 0, NULL);
        attn__matmul(&out, &s, &v, 1.0);
        if (own)
            attn__copy(&weights, &s); /* of which absent ones have no elements */
    }
    if (own)
        attn_mat_free(&s);
    return c.status;
}

/* ==== key/value cache ==============================================================================================

   Token j of an item is row j % capacity of k and v, which may have any strides. Storage of attn_kv_cache_init is one
   block: two numbers for each item, the scales of I8, then all rows. Nothing ever moves but from item to item; a full
   cache and a ring differ only in what append may do. The room stores rows and says where they are (attn__source); how
   attention meets them it does not know. */

typedef struct attn__stored {
    const attn__argument *is; /* itself and its members, as arguments: in the order of attn__member */
    const void *in;           /* the cache, or pages; */
    attn_fault *fault;        /* who wants to know what is at fault */
    int given, paged, ring;   /* not given: all numbers are 0 */
    const attn_tensor *k, *v;
    size_t batch, room; /* items, and how many tokens of each may be there at once */
    size_t *lens;
    attn__source source; /* the same for the engine, whose `oldest` is first: append and copies write it */
} attn__stored;

/* TOKENS: lens, and which tokens are not there, first; of pages the other way round, table and lens. */
enum attn__member { ATTN__WHOLE, ATTN__K, ATTN__V, ATTN__K_SCALES, ATTN__V_SCALES, ATTN__TOKENS };
enum { ATTN__SCALES = ATTN__STORED | ATTN__FLOATS | ATTN__IF_ANY }; /* as an argument */

/* Marks, in lens, an item that has become what it shall be. */
#define ATTN__DONE (SIZE_MAX ^ SIZE_MAX >> 1)

static size_t attn__carve_cache(attn_kv_cache *cache, char *base, size_t B, size_t Hkv, size_t capacity, size_t D,
                                size_t Dv, attn_dtype dtype);
static attn__stored attn__of_cache(const attn_kv_cache *cache);
static void attn__list_stored(attn__check *c, const attn__stored *s, int scales);
static int attn__require_tokens(attn__check *c, const attn__stored *s, const attn_tensor *other);
static attn_status attn__append(attn__stored to, const attn_tensor *k, const attn_tensor *v, const size_t *lens);
static void attn__append_rows(const attn__source *source, const attn_tensor *to, float *scales, const attn_tensor *in,
                              size_t b, size_t len, size_t first, size_t n);
static float attn__store_row_i8(const attn__kernels *kern, signed char *out, ptrdiff_t step, const attn_mat *row);
static attn__stored attn__of_pages(const attn_kv_pages *pages);
static void attn__copy_item(const attn__stored *s, size_t to, size_t from, size_t tokens, int swap);
static void attn__copy_item_rows(const attn_tensor *t, size_t to, size_t from, size_t rows, int swap);
static void attn__reorder(const attn__stored *s, const size_t *from);
ATTN__NOINLINE attn_status attn__stored_ready(attn__plan *plan, attn__stored s, const attn_tensor *out,
                                              const attn_tensor *q, const attn_opts *opts, const attn_ctx *ctx);

ATTN_API attn_status attn_kv_cache_init(attn_kv_cache *cache, size_t B, size_t Hkv, size_t capacity, size_t D,
                                        size_t Dv, attn_dtype dtype, int ring, void *storage, size_t size)
{
    static const attn__argument attn__arguments[] = {
        {NULL, ATTN__BYTES | ATTN__OUT, 0, ATTN__SHAPE1(bytes)},
        {NULL, ATTN__BYTES | ATTN__OUT | ATTN__OPTIONAL, 0, ATTN__SHAPE1(M)}};
    attn_kv_cache made = ATTN__ZERO;
    const attn_ctx memory = {{NULL, NULL, 0}, storage, size, ATTN_ISA_BEST, NULL, 0, NULL};
    size_t bytes = 0;
    char *base;
    attn__check c;
    attn__check_begin(&c, NULL);
    attn__bind(&c, ATTN__L_bytes, sizeof *cache);
    attn__bind(&c, ATTN__L_M, size);
    ATTN__LIST(&c, attn__arguments, cache, storage);
    attn__check_views(&c);
    attn__fault(&c, attn_kv_cache_size(&bytes, B, Hkv, capacity, D, Dv, dtype, ring), 0, NULL);
    attn__require(&c, storage || size == 0, ATTN_ERR_NULL, NULL);
    base = attn__borrow(&c, &memory, bytes, &made.own);
    if (!base)
        return c.status;
    attn__carve_cache(&made, base, B, Hkv, capacity, D, Dv, dtype);
    made.lens = (size_t *)(void *)base; /* of no items, too: NULL would mean that there is no cache */
    made.ring = ring != 0;
    ATTN__MEMSET(base, 0, 2 * attn__whole(B * sizeof(size_t), ATTN__ALIGN)); /* lens and first */
    *cache = made;
    return ATTN_OK;
}

ATTN_API attn_status attn_kv_cache_size(size_t *bytes, size_t B, size_t Hkv, size_t capacity, size_t D, size_t Dv,
                                        attn_dtype dtype, int ring)
{
    attn_kv_cache made;
    size_t size = attn__carve_cache(&made, NULL, B, Hkv, capacity, D, Dv, dtype);
    (void)ring;
    if (!bytes)
        return ATTN_ERR_NULL;
    if (dtype != ATTN_F32 && dtype != ATTN_F16 && dtype != ATTN_BF16 && !attn__has_scales(dtype))
        return ATTN_ERR_DTYPE;
    if (capacity == 0 || D == 0)
        return ATTN_ERR_SHAPE;
    if (size == SIZE_MAX)
        return ATTN_ERR_OVERFLOW;
    *bytes = size;
    return ATTN_OK;
}

/* Lays out a cache from base on. Returns its bytes, with what aligning base takes; SIZE_MAX if they overflow. */
static size_t attn__carve_cache(attn_kv_cache *cache, char *base, size_t B, size_t Hkv, size_t capacity, size_t D,
                                size_t Dv, attn_dtype dtype)
{
    attn__arena arena = {base, 0};
    size_t rows = B * Hkv * capacity, scales = attn__has_scales(dtype) ? rows : 0;
    cache->k = attn_bhld(NULL, dtype, B, Hkv, capacity, D);
    cache->v = attn_bhld(NULL, dtype, B, Hkv, capacity, Dv);
    if (attn__tensor_bad(&cache->k) || attn__tensor_bad(&cache->v))
        return SIZE_MAX;
    cache->lens = (size_t *)attn__carve(&arena, B, sizeof(size_t));
    cache->first = (size_t *)attn__carve(&arena, B, sizeof(size_t));
    cache->k_scales = (float *)attn__carve(&arena, scales, sizeof(float));
    cache->v_scales = (float *)attn__carve(&arena, scales, sizeof(float));
    cache->k.data = attn__carve(&arena, rows, D * attn__size(dtype));
    cache->v.data = attn__carve(&arena, rows, Dv * attn__size(dtype));
    attn__carve(&arena, 1, ATTN__ALIGN); /* to align what the caller gives */
    return arena.used;
}

ATTN_API void attn_kv_cache_free(attn_kv_cache *cache)
{
    if (!cache)
        return;
    attn__release(cache->own);
    ATTN__MEMSET(cache, 0, sizeof *cache);
}

/* -- what is stored --

   A cache and pages are the same to what appends to them and attends to them: rows of keys and values, and how many
   tokens each item has. Pages say in a table where the rows of an item lie; a cache may have dropped the first ones. */

ATTN_API attn_status attn_kv_cache_over(attn_kv_cache *cache, attn_tensor k, attn_tensor v, size_t *lens, size_t *first)
{
    const attn_kv_cache made = {k, v, NULL, NULL, lens, first, first != NULL, NULL, NULL};
    const attn__stored s = attn__of_cache(&made);
    static const attn__argument attn__cache = {NULL, ATTN__BYTES | ATTN__OUT, 0, ATTN__SHAPE1(bytes)};
    attn__check c;
    attn__check_begin(&c, NULL);
    attn__bind(&c, ATTN__L_bytes, sizeof *cache);
    ATTN__LIST(&c, &attn__cache, cache);
    attn__list_stored(&c, &s, 0); /* of I8, which is refused below, too */
    attn__check_views(&c);
    attn__require(&c, !attn__has_scales(k.dtype) && !attn__has_scales(v.dtype), ATTN_ERR_DTYPE, NULL);
    attn__require_tokens(&c, &s, NULL);
    if (c.status == ATTN_OK)
        *cache = made;
    return c.status;
}

static attn__stored attn__of_cache(const attn_kv_cache *cache)
{
    static const attn__argument attn__arguments[] = {
        {"cache", ATTN__POINTER, 0, ATTN__SHAPE0},
        ATTN__MEMBER(cache, kv_cache, k, ATTN__STORED, ATTN__SHAPE4(B, Hkv, capacity, D)),
        ATTN__MEMBER(cache, kv_cache, v, ATTN__STORED, ATTN__SHAPE4(B, Hkv, capacity, Dv)),
        ATTN__MEMBER(cache, kv_cache, k_scales, ATTN__SCALES, ATTN__SHAPE3(B, Hkv, capacity)),
        ATTN__MEMBER(cache, kv_cache, v_scales, ATTN__SCALES, ATTN__SHAPE3(B, Hkv, capacity)),
        ATTN__MEMBER(cache, kv_cache, lens, ATTN__STORED | ATTN__LENGTHS, ATTN__SHAPE1(B)),
        ATTN__MEMBER(cache, kv_cache, first, ATTN__STORED | ATTN__LENGTHS | ATTN__OPTIONAL, ATTN__SHAPE1(B))};
    static const attn_kv_cache attn__none = ATTN__ZERO;
    const attn_kv_cache *c = cache && cache->lens ? cache : &attn__none;
    float *k_scales = attn__has_scales(c->k.dtype) ? c->k_scales : NULL;
    float *v_scales = attn__has_scales(c->v.dtype) ? c->v_scales : NULL;
    attn_fault *fault = cache ? cache->fault : NULL;
    /* clang-format off */
    const attn__stored s = {attn__arguments, c, fault, c->lens != NULL, 0, c->ring, &c->k, &c->v, c->k.batch, c->k.len,
                            c->lens, {1, c->first, c->k.len, NULL, 0, c->k.batch, NULL, k_scales, v_scales}};
    /* clang-format on */
    return s;
}

/* Are values a part of the rows of keys? */
static int attn__is_within(const attn_tensor *v, const attn_tensor *k)
{
    uintptr_t at_k = (uintptr_t)k->data, at_v = (uintptr_t)v->data;
    size_t step, apart = k->dim_stride < 0 ? at_k - at_v : at_v - at_k;
    if (!k->data || attn__has_scales(k->dtype) || v->dtype != k->dtype || v->dim == 0 || v->dim > k->dim ||
        !attn__is_shape(v, k->batch, k->heads, k->len, v->dim) ||
        (k->batch > 1 && v->batch_stride != k->batch_stride) || (k->heads > 1 && v->head_stride != k->head_stride) ||
        (k->len > 1 && v->len_stride != k->len_stride) || (v->dim > 1 && v->dim_stride != k->dim_stride) ||
        !attn__mul_size(&step, attn__max(attn__magnitude(k->dim_stride), 1), attn__size(k->dtype)))
        return 0;
    return apart % step == 0 && apart / step <= k->dim - v->dim;
}

/* Lists the members: values that are a part of the keys with these, if they are to be written. */
static void attn__list_stored(attn__check *c, const attn__stored *s, int scales)
{
    const void *const whole[] = {s->given ? s->in : NULL};
    size_t room;
    attn__list(c, s->is, 1, NULL, whole, 0);
    if (!s->given)
        return;
    if (c->written) { /* who does not fit what is stored is at fault */
        attn__bind(c, ATTN__L_B, s->batch);
        attn__bind(c, ATTN__L_Hkv, s->k->heads);
        attn__bind(c, ATTN__L_D, s->k->dim);
        attn__bind(c, ATTN__L_Dv, s->v->dim);
    }
    attn__bind(c, ATTN__L_table, s->source.table_stride);
    attn__list(c, s->is + ATTN__K, 1, s->in, NULL, 0);
    if (!c->written || !attn__is_within(s->v, s->k))
        attn__list(c, s->is + ATTN__V, 1, s->in, NULL, 0);
    if (scales && attn__has_scales(s->k->dtype))
        attn__list(c, s->is + ATTN__K_SCALES, 1, s->in, NULL, 0);
    if (scales && attn__has_scales(s->v->dtype))
        attn__list(c, s->is + ATTN__V_SCALES, 1, s->in, NULL, 0);
    attn__list(c, s->is + ATTN__TOKENS, 2, s->in, NULL, 0);
    attn__require(c, s->k->dtype != ATTN_F64, ATTN_ERR_DTYPE, s->is[ATTN__K].name);
    attn__require(c, s->v->dtype != ATTN_F64, ATTN_ERR_DTYPE, s->is[ATTN__V].name);
    attn__require(c, s->k->len > 0 && s->k->dim > 0, ATTN_ERR_SHAPE, s->is[ATTN__K].name);
    attn__require(c, !s->paged || attn__mul_size(&room, s->source.table_stride, s->k->len), ATTN_ERR_OVERFLOW,
                  "pages.table_stride");
}

/* Requires room for the tokens that lens and first speak of, if these may be read: where something overflows, only if
   k fits, or for pages `other`, which has their batch. Returns 1 if lens is known: of pages, even without room. */
static int attn__require_tokens(attn__check *c, const attn__stored *s, const attn_tensor *other)
{
    attn_tensor t = s->paged ? *other : *s->k;
    int known = attn__rank(c->status) > attn__rank(ATTN_ERR_SHAPE) && attn__is_aligned(s->lens, sizeof *s->lens) &&
                attn__is_aligned(s->source.oldest, sizeof *s->source.oldest) &&
                t.batch <= (size_t)PTRDIFF_MAX / sizeof *s->lens &&
                (c->status != ATTN_ERR_OVERFLOW || attn__tensor_fits(&t));
    const char *lens_name = s->is[ATTN__TOKENS + s->paged].name, *gone_name = s->is[ATTN__TOKENS + !s->paged].name;
    size_t b, gone, held;
    for (b = 0; known && b < s->batch; b++) {
        gone = s->source.oldest ? s->source.oldest[b] : 0;
        held = s->lens[b] - gone;
        known = gone <= s->lens[b] && held <= s->room && s->lens[b] <= (size_t)PTRDIFF_MAX;
        if (!known && gone > s->lens[b])
            attn__blame(c, ATTN_ERR_VALUE, gone_name, gone, ", where at most ", s->lens[b], " have been");
        else if (!known)
            attn__blame(c, ATTN_ERR_VALUE, lens_name, held, " tokens, where at most ", s->room, " fit");
        known |= s->paged;
    }
    return known;
}

ATTN_API attn_status attn_kv_cache_append(attn_kv_cache *cache, attn_tensor k, attn_tensor v, const size_t *lens)
{
    return attn__append(attn__of_cache(cache), &k, &v, lens);
}

/* Begins the checks of what writes to the members. */
static void attn__check_stored(attn__check *c, const attn__stored *s)
{
    attn__check_begin(c, NULL);
    c->wanted = s->fault;
    c->written = ATTN__STORED;
    attn__list_stored(c, s, 1);
}

static attn_status attn__append(attn__stored to, const attn_tensor *k, const attn_tensor *v, const size_t *lens)
{
    const attn__source *source = &to.source;
    static const attn__argument attn__arguments[] = {
        {"k", ATTN__ANY_FLOAT, 0, ATTN__SHAPE4(B, Hkv, L, D)},
        {"v", ATTN__ANY_FLOAT | ATTN__OPTIONAL, 0, ATTN__SHAPE4(B, Hkv, L, Dv)},
        {"lens", ATTN__LENGTHS | ATTN__OPTIONAL, 0, ATTN__SHAPE1(B)}};
    int within = attn__is_within(to.v, to.k), absent = attn__tensor_absent(v);
    size_t b, n, len, room, L = k->len, first;
    attn__check c;
    attn__check_stored(&c, &to);
    ATTN__LIST(&c, attn__arguments, k, v, lens);
    attn__require(&c, !absent || within, ATTN_ERR_NULL, "v");
    attn__check_views(&c);
    if (!absent && within)
        attn__blame(&c, ATTN_ERR_VALUE, "v", 0, "is a part of the keys, and comes with k", 0, "");
    if (attn__require_tokens(&c, &to, k) && attn__is_sound(&c) && attn__is_aligned(lens, sizeof *lens))
        for (b = 0; b < to.batch; b++) {
            n = lens ? lens[b] : L;
            room = to.ring ? n : to.room - to.lens[b];
            attn__require_most(&c, n, L, "lens");
            if (n > room)
                attn__blame(&c, ATTN_ERR_VALUE, lens ? "lens" : "k", n, " more tokens, where ", room,
                            room == 0 ? " fit: it is full" : " fit");
            len = to.lens[b];
            attn__require(&c, n > L || to.paged || n <= (size_t)PTRDIFF_MAX - len, ATTN_ERR_OVERFLOW, "lens");
            if (attn__rank(c.status) > attn__rank(ATTN_ERR_VALUE))
                if (attn__lacks_page(source, b, len, len + n))
                    attn__blame(&c, ATTN_ERR_VALUE, "pages.table", 0, "names no page that there is for a token", 0, "");
        }
    for (b = 0; b < to.batch && c.status == ATTN_OK; b++) {
        n = lens ? lens[b] : L;
        first = n > to.room ? n - to.room : 0; /* a ring keeps the newest */
        attn__append_rows(source, to.k, source->k_scales, k, b, to.lens[b], first, n);
        if (!absent)
            attn__append_rows(source, to.v, source->v_scales, v, b, to.lens[b], first, n);
        to.lens[b] += n;
        if (source->oldest && to.lens[b] > to.room)
            source->oldest[b] = attn__max(source->oldest[b], to.lens[b] - to.room);
    }
    return attn__check_end(&c);
}

static void attn__store_row(const attn__kernels *kern, void *out, attn_dtype dtype, ptrdiff_t step, const attn_mat *row)
{
    double buffer[ATTN__ROW_BUFFER]; /* of either real type */
    size_t i, n;
    for (i = 0; i < row->cols; i += n) { /* rounded once */
        n = attn__min(ATTN__ROW_BUFFER, row->cols - i);
        kern->store(attn__at(out, dtype, (ptrdiff_t)i * step), dtype, 0, step,
                    attn__buffered(kern, row, 0, i, n, buffer), n, 1, n, 1.0);
    }
}

/* Rows first .. n - 1 of item b of `in` go behind the `len` tokens that the item has. */
static void attn__append_rows(const attn__source *source, const attn_tensor *to, float *scales, const attn_tensor *in,
                              size_t b, size_t len, size_t first, size_t n)
{
    const attn__kernels *kern = attn__kernels_for(ATTN_ISA_BEST, attn__real(in->dtype));
    size_t h, r, item, at, together;
    attn_mat row = {NULL, in->dtype, 1, to->dim, 0, in->dim_stride};
    void *out;
    for (h = 0; h < to->heads && to->dim > 0; h++)
        for (r = first; r < n; r += together) {
            together = attn__find_rows(source, b, len + r, n - r, &item, &at);
            out = attn__tensor_at(to, item, h, at, 0);
            row.data = attn__tensor_at(in, b, h, r, 0);
            if (to->dtype == kern->real && to->dim_stride == 1 && (to->len_stride > 0 || together == 1)) {
                kern->load(out, together > 1 ? (size_t)to->len_stride : to->dim, row.data, in->dtype, in->len_stride,
                           in->dim_stride, together, to->dim);
                continue;
            }
            together = 1;
            if (scales)
                scales[attn__scale_at(source, to->heads, item, h, at)] =
                    attn__store_row_i8(kern, (signed char *)out, to->dim_stride, &row);
            else
                attn__store_row(kern, out, to->dtype, to->dim_stride, &row);
        }
}

/* Stores a row as integers and returns their scale, its largest magnitude / 127. A row that is not finite in float
   throughout becomes 0 x NaN. Two corrections keep each integer within 127: a subnormal scale is coarse, and half a
   step (2^-150) is added; one so large that 127 of it exceed FLT_MAX goes down by a step (2^-24). */
static float attn__store_row_i8(const attn__kernels *kern, signed char *out, ptrdiff_t step, const attn_mat *row)
{
    /* x + 1.5 * 2^52, or 2^23, has the integer nearest to x in its lowest bits */
    const attn__number round = ATTN__HAS_F64 ? (attn__number)6755399441055744.0 : (attn__number)12582912;
    attn__number buffer[ATTN__ROW_BUFFER], minus_x[ATTN__ROW_BUFFER], inverse, real; /* buffers: of either real type */
    attn__number_bits bits;
    double largest = 0;
    const void *x;
    size_t i, d, n;
    float scale;
    int nonfinite = 0;
    for (i = 0; i < row->cols; i += n) {
        n = attn__min(ATTN__ROW_BUFFER, row->cols - i);
        x = attn__buffered(kern, row, 0, i, n, buffer);
        kern->store(minus_x, kern->real, 0, 1, x, n, 1, n, -1.0);
        largest = kern->softmax_max(x, n, largest, &nonfinite);
        largest = kern->softmax_max(minus_x, n, largest, &nonfinite);
    }
    nonfinite |= largest > FLT_MAX;
    scale = (float)(nonfinite ? attn__nan() : largest / 127);
    if (!nonfinite && scale < FLT_MIN)
        scale = (float)(largest / 127 + 7.006492321624087e-46);
    else if (!nonfinite && (double)scale * 127 > FLT_MAX)
        scale = (float)(FLT_MAX / 127 * (1 - 5.960464477539063e-8));
    nonfinite |= !(scale > 0); /* all of them are zeros then, too */
    inverse = ATTN__HAS_F64 && !nonfinite ? (attn__number)attn__divide(1, (double)scale) : 0;
    for (i = 0; i < row->cols; i += n) {
        n = attn__min(ATTN__ROW_BUFFER, row->cols - i);
        x = attn__buffered(kern, row, 0, i, n, buffer);
        for (d = 0; d < n; d++) {
            real = attn__is_f64(kern) ? (attn__number)((const double *)x)[d] : ((const float *)x)[d];
            real = nonfinite ? 0 : ATTN__HAS_F64 ? real * inverse : ATTN__NUMBER(divide)(real, (attn__number)scale);
            real += round;
            ATTN__MEMCPY(&bits, &real, sizeof bits);
            out[(ptrdiff_t)(i + d) * step] = (signed char)(bits & 255);
        }
    }
    return scale;
}

ATTN_API attn_status attn_kv_pages_append(const attn_kv_pages *pages, attn_tensor k, attn_tensor v, const size_t *lens)
{
    return attn__append(attn__of_pages(pages), &k, &v, lens);
}

static attn__stored attn__of_pages(const attn_kv_pages *pages)
{
    static const attn__argument attn__arguments[] = {
        {"pages", ATTN__POINTER, 0, ATTN__SHAPE0},
        ATTN__MEMBER(pages, kv_pages, k, ATTN__STORED, ATTN__SHAPE4(pages, Hkv, capacity, D)),
        ATTN__MEMBER(pages, kv_pages, v, ATTN__STORED, ATTN__SHAPE4(pages, Hkv, capacity, Dv)),
        ATTN__MEMBER(pages, kv_pages, k_scales, ATTN__SCALES, ATTN__SHAPE3(pages, Hkv, capacity)),
        ATTN__MEMBER(pages, kv_pages, v_scales, ATTN__SCALES, ATTN__SHAPE3(pages, Hkv, capacity)),
        ATTN__MEMBER(pages, kv_pages, table, ATTN__FLOATS, ATTN__SHAPE2(B, table)),
        ATTN__MEMBER(pages, kv_pages, lens, ATTN__STORED | ATTN__LENGTHS, ATTN__SHAPE1(B))};
    static const attn_kv_pages attn__none = ATTN__ZERO;
    const attn_kv_pages *p = pages ? pages : &attn__none;
    float *k_scales = attn__has_scales(p->k.dtype) ? p->k_scales : NULL;
    float *v_scales = attn__has_scales(p->v.dtype) ? p->v_scales : NULL;
    size_t room = p->table_stride * p->k.len; /* attn__list_stored refuses what overflows */
    /* clang-format off */
    const attn__stored s = {attn__arguments, p, p->fault, pages != NULL, 1, 0, &p->k, &p->v, p->batch, room, p->lens,
                            {1, NULL, p->k.len, p->table, p->table_stride, p->k.batch, NULL, k_scales, v_scales}};
    /* clang-format on */
    return s;
}

ATTN_API attn_status attn_kv_cache_truncate(attn_kv_cache *cache, size_t b, size_t len)
{
    const attn__stored s = attn__of_cache(cache);
    attn__check c;
    attn__check_begin(&c, NULL);
    c.wanted = s.fault;
    attn__require(&c, s.given, ATTN_ERR_NULL, "cache");
    attn__require(&c, attn__require_tokens(&c, &s, NULL) && b < s.batch, ATTN_ERR_VALUE, "b");
    if (c.status == ATTN_OK)
        attn__require_most(&c, len, s.lens[b], "len");
    if (c.status == ATTN_OK)
        attn__copy_item(&s, b, b, len, 0);
    return attn__check_end(&c);
}

/* Item `to` of a cache becomes the first `tokens` tokens of item `from`; swap: all of it, which becomes what `to` was.
   Rows of a ring that has begun anew may be any of all. */
static void attn__copy_item(const attn__stored *s, size_t to, size_t from, size_t tokens, int swap)
{
    size_t held, rows = swap ? attn__max(s->lens[to], s->lens[from]) : tokens, *first = s->source.oldest;
    attn_tensor k = attn_bhld(s->source.k_scales, ATTN_F32, s->k->batch, s->k->heads, s->k->len, 1), v = k;
    v.data = s->source.v_scales;
    rows = to == from ? 0 : attn__min(rows, s->k->len);
    attn__copy_item_rows(s->k, to, from, rows, swap);
    if (!attn__is_within(s->v, s->k))
        attn__copy_item_rows(s->v, to, from, rows, swap);
    attn__copy_item_rows(&k, to, from, rows, swap);
    attn__copy_item_rows(&v, to, from, rows, swap);
    held = s->lens[to];
    s->lens[to] = swap ? s->lens[from] : tokens;
    if (swap)
        s->lens[from] = held;
    held = first ? first[to] : 0;
    if (first)
        first[to] = attn__min(first[from], s->lens[to]);
    if (first && swap)
        first[from] = held;
}

/* The first `rows` rows of each head of t, from item `from` to item `to`; swap: and the other way round. */
static void attn__copy_item_rows(const attn_tensor *t, size_t to, size_t from, size_t rows, int swap)
{
    size_t h, r, d, n, size = attn__size(t->dtype), together = 1;
    attn_mat a, b;
    char held[1024];
    if (t->dim_stride == 1 && t->len_stride == (ptrdiff_t)t->dim)
        together = rows; /* as one row */
    for (h = 0; h < t->heads && t->data && rows > 0; h++) {
        a = attn__head_rows(t, to, h, 0, rows / together, 0);
        b = attn__head_rows(t, from, h, 0, rows / together, 0);
        a.cols = b.cols = t->dim * together;
        if (!swap)
            attn__copy(&a, &b);
        for (r = 0; r < a.rows && swap; r++)
            for (d = 0; d < a.cols; d += n) {
                n = a.col_stride == 1 ? attn__min(a.cols - d, sizeof held / size) : 1;
                ATTN__MEMCPY(held, attn__mat_at(&a, r, d), n * size);
                ATTN__MEMCPY(attn__mat_at(&a, r, d), attn__mat_at(&b, r, d), n * size);
                ATTN__MEMCPY(attn__mat_at(&b, r, d), held, n * size);
            }
    }
}

ATTN_API attn_status attn_kv_cache_reorder(attn_kv_cache *cache, const size_t *from)
{
    const attn__stored s = attn__of_cache(cache);
    static const attn__argument attn__from = {"from", ATTN__LENGTHS, 0, ATTN__SHAPE1(B)};
    attn__check c;
    attn__check_stored(&c, &s);
    ATTN__LIST(&c, &attn__from, from);
    attn__bind(&c, ATTN__L_B, s.batch);
    attn__check_views(&c);
    attn__require_tokens(&c, &s, NULL);
    if (attn__is_sound(&c) && s.batch > 0)
        attn__require_lengths(&c, from, s.batch, s.batch - 1, "from");
    if (c.status == ATTN_OK)
        attn__reorder(&s, from);
    return attn__check_end(&c);
}

static int attn__is_awaited(const size_t *lens, const size_t *from, size_t B, size_t b) /* to be copied, then changed */
{
    size_t c;
    for (c = 0; c < B; c++)
        if (from[c] == b && from[b] != b && !(lens[c] & ATTN__DONE))
            return 1;
    return 0;
}

/* An item that is not awaited is overwritten at once, which may free the one that it was copied from. What then is left
   are cycles, whose items are swapped. */
static void attn__reorder(const attn__stored *s, const size_t *from)
{
    size_t b, c, next, B = s->batch, *lens = s->lens;
    int swap;
    for (swap = 0; swap < 2; swap++)
        for (b = 0; b < B; b++)
            for (c = b; !(lens[c] & ATTN__DONE) && (swap || !attn__is_awaited(lens, from, B, c)); c = next) {
                next = from[c];
                if (!swap || !(lens[next] & ATTN__DONE))
                    attn__copy_item(s, c, next, lens[next] & ~ATTN__DONE, swap);
                lens[c] |= ATTN__DONE;
            }
    for (b = 0; b < B; b++)
        lens[b] &= ~ATTN__DONE;
}

ATTN_API attn_status attn_kv_cache_copy(attn_kv_cache *cache, size_t to, size_t from, size_t len)
{
    const attn__stored s = attn__of_cache(cache);
    attn__check c;
    int fit;
    attn__check_stored(&c, &s);
    attn__check_views(&c);
    fit = attn__require_tokens(&c, &s, NULL) && from < s.batch;
    attn__require(&c, to < s.batch, ATTN_ERR_VALUE, "to");
    attn__require(&c, from < s.batch, ATTN_ERR_VALUE, "from");
    if (fit)
        attn__require_most(&c, len, s.lens[from], "len");
    if (c.status == ATTN_OK)
        attn__copy_item(&s, to, from, len, 0);
    return attn__check_end(&c);
}

ATTN_API attn_status attn_kv_cache_row(attn_mat out, const attn_kv_cache *cache, size_t b, int values, size_t token)
{
    const attn__stored s = attn__of_cache(cache);
    const attn_tensor *rows = values ? s.v : s.k;
    const float *scales = values ? s.source.v_scales : s.source.k_scales;
    attn_mat to, in;
    size_t h, d, at, item;
    int fit;
    static const attn__argument attn__out[] = {
        {"out", ATTN__MAT | ATTN__OUT | ATTN__ANY_FLOAT, 0, ATTN__SHAPE2(Hkv, D)},
        {"out", ATTN__MAT | ATTN__OUT | ATTN__ANY_FLOAT, 0, ATTN__SHAPE2(Hkv, Dv)}};
    attn__check c;
    attn__check_begin(&c, NULL);
    c.wanted = s.fault;
    ATTN__LIST(&c, attn__out + (values != 0), &out);
    attn__list_stored(&c, &s, 1);
    attn__check_views(&c);
    fit = attn__require_tokens(&c, &s, NULL) && b < s.batch;
    attn__require(&c, b < s.batch, ATTN_ERR_VALUE, "b");
    attn__require(&c, !fit || (token < s.lens[b] && (!s.source.oldest || token >= s.source.oldest[b])), ATTN_ERR_VALUE,
                  "token");
    for (h = 0; h < rows->heads && c.status == ATTN_OK; h++) {
        attn__find_rows(&s.source, b, token, 1, &item, &at);
        to = attn_mat_rows(out, h, 1);
        in = attn__head_rows(rows, item, h, at, 1, 0);
        attn__copy(&to, &in);
        for (d = 0; d < rows->dim && scales; d++)
            attn__mat_set(&to, 0, d,
                          attn__mat_get(&to, 0, d) *
                              (double)scales[attn__scale_at(&s.source, rows->heads, item, h, at)]);
    }
    return attn__check_end(&c);
}

/* -- attention to what is stored -- */

ATTN_API attn_status attn_kv_cache_attend(attn_tensor out, attn_tensor q, const attn_kv_cache *cache,
                                          const attn_opts *opts, const attn_ctx *ctx)
{
    attn__plan plan;
    return attn__plan_run(&plan, attn__stored_ready(&plan, attn__of_cache(cache), &out, &q, opts, ctx));
}

/* Plans attention to what is stored. Lk is the largest of lens, if these may be read; of the columns of a mask or bias
   for every token that there is room for, the first Lk count. */
ATTN__NOINLINE attn_status attn__stored_ready(attn__plan *plan, attn__stored s, const attn_tensor *out,
                                              const attn_tensor *q, const attn_opts *opts, const attn_ctx *ctx)
{
    static const attn__argument attn__arguments[] = {{"out", ATTN__OUT, 0, ATTN__SHAPE4(B, H, Lq, Dv)},
                                                     {"q", ATTN__IN, 0, ATTN__SHAPE4(B, H, Lq, D)}};
    attn_opts *o = &plan->call.opts;
    attn_tensor *const wide[] = {&o->mask, &o->bias, &o->weights, &o->scores};
    attn__check c;
    size_t b, i, longest = 0, bytes;
    int known;
    attn__check_begin(&c, ctx);
    ATTN__LIST(&c, attn__arguments, out, q);
    attn__list_stored(&c, &s, 1);
    if (q->dtype == ATTN_F64)
        attn__fault(&c, ATTN_ERR_DTYPE, 0, "q"); /* not out, which differs from that */
    attn__check_some(&c);
    if (s.batch != q->batch)
        attn__blame(&c, ATTN_ERR_SHAPE, s.paged ? "pages.batch" : "cache.k", s.batch, " items, where ", q->batch,
                    " fit");

    /* what is attended: the tokens so far */
    attn__plan_begin(plan, out, q, s.k, s.v, opts, ctx);
    plan->source = s.source;
    plan->call.k.batch = plan->call.v.batch = q->batch; /* pages aside, keys are those of the items */
    o->kv_lens = NULL;                                  /* both are refused below, where the caller gave them */
    o->sequences = 0;
    known = attn__require_tokens(&c, &s, q); /* else there is a fault already, and Lk is not known */
    for (b = 0; known && b < s.batch; b++)
        longest = attn__max(longest, s.lens[b]);
    plan->call.k.len = plan->call.v.len = longest;
    attn__bind(&c, ATTN__L_Lk, longest);
    for (i = 0; i < 4; i++) { /* weights and scores have no other Lk than that */
        int counts = i < 2 && longest < wide[i]->dim && wide[i]->dim == s.room;
        if (!known)
            counts = wide[i]->data || attn__is_dry(&c); /* else it is at fault */
        if (counts && !attn__tensor_absent(wide[i]) && !attn__tensor_bad(wide[i]))
            wide[i]->dim = longest;
    }
    attn__list_options(&c, plan);
    plan->call.has_options = 1;
    o->kv_lens = known ? s.lens : NULL;
    attn__check_views(&c);
    attn__require_inputs(&c, &plan->call);
    if (opts && opts->kv_lens)
        attn__blame(&c, ATTN_ERR_VALUE, "opts.kv_lens", 0, "does not go with a cache", 0, "");
    if (opts && attn__drops(opts))
        attn__blame(&c, ATTN_ERR_VALUE, "opts.dropout", 0, "does not go with a cache", 0, "");
    if (opts && opts->sequences > 0)
        attn__blame(&c, ATTN_ERR_VALUE, "opts.sequences", 0, "does not go with a cache", 0, "");
    attn__plan_resolve(plan, &c, 0);
    if (attn__rank(c.status) > attn__rank(ATTN_ERR_VALUE) && attn__sees_missing(plan))
        attn__blame(&c, ATTN_ERR_VALUE, s.is[ATTN__TOKENS + !s.paged].name, 0, "a query sees a token that is not there",
                    0, "");
    bytes = plan->bytes;
    if (attn__is_dry(&c) && c.status == ATTN_OK) { /* what it takes when there are as many keys as there may ever be */
        plan->call.k.len = s.ring ? (size_t)PTRDIFF_MAX : s.room;
        attn__require(&c, attn__plan_schedule(plan), ATTN_ERR_OVERFLOW, "q");
        bytes = plan->bytes;
        plan->call.k.len = longest;
        attn__plan_schedule(plan);
    }
    return attn__plan_ready(plan, &c, bytes);
}

ATTN_API attn_status attn_kv_pages_attend(attn_tensor out, attn_tensor q, const attn_kv_pages *pages,
                                          const attn_opts *opts, const attn_ctx *ctx)
{
    attn__plan plan;
    return attn__plan_run(&plan, attn__stored_ready(&plan, attn__of_pages(pages), &out, &q, opts, ctx));
}

/* ==== positions ====================================================================================================

   Rotary embeddings, biases by distance, slopes and sinusoids: numbers that depend on where a token stands. All of it
   is computed in double and rounded once. Nothing here knows of attention: rows, distances and a table of frequencies
   are all. */

#define ATTN__ROTATED 64 /* pairs of a row that are rotated together: their cosines and sines take 1 KiB */

typedef struct attn__rope_job {
    const attn_tensor *out, *in;
    const attn_rope_opts *opts; /* resolved */
    const attn__kernels *kern;  /* of double */
    size_t first, pairs;        /* the pairs in hand */
    double frequency[ATTN__ROTATED], cosine[ATTN__ROTATED], sine[ATTN__ROTATED];
} attn__rope_job;

static int attn__has_rows(const attn_rope_opts *o, size_t B, size_t L);
static void attn__rope(const attn_tensor *out, const attn_tensor *in, const attn_rope_opts *opts);
static void attn__rope_row(const attn__rope_job *job, size_t b, size_t h, size_t i);
static attn_status attn__t5(const attn_mat *table, const attn_mat *by_distance, int back, int bidirectional,
                            size_t max_distance, ptrdiff_t first_distance);
static size_t attn__bucket_of(const attn_mat *table, ptrdiff_t first_distance, size_t col, int bidirectional,
                              size_t max_distance);

ATTN__NOINLINE int attn__is_positive(double x)
{
    return attn__is_finite(x) && x > 0;
}

ATTN_API attn_status attn_rope(attn_tensor out, attn_tensor in, const attn_rope_opts *opts)
{
    static const attn__argument attn__arguments[] = {
        {NULL, ATTN__OUT | ATTN__IN_PLACE | ATTN__ANY_FLOAT, 0, ATTN__SHAPE4(B, H, L, D)}, /* out */
        {NULL, ATTN__ANY_FLOAT, 0, ATTN__SHAPE4(B, H, L, D)},                              /* in */
        {NULL, ATTN__MAT | ATTN__WORDS, 0, ATTN__SHAPE2(B, L)},                            /* opts.positions */
        {NULL, ATTN__DOUBLES | ATTN__OPTIONAL, 0, ATTN__SHAPE1(M)},                        /* opts.frequencies */
        {NULL, ATTN__MAT | ATTN__ANY_FLOAT, 0, ATTN__SHAPE2(N, M)},                        /* opts.cos */
        {NULL, ATTN__MAT | ATTN__ANY_FLOAT, 0, ATTN__SHAPE2(N, M)}};                       /* opts.sin */
    attn_rope_opts o = ATTN__ZERO;
    attn_mat positions = ATTN__ZERO;
    const void *each[] = {&out, &in, &positions, NULL, &o.cos, &o.sin};
    size_t d;
    int given, fine;
    attn__check c;
    if (opts)
        o = *opts;
    given = !attn__mat_absent(&o.cos) || !attn__mat_absent(&o.sin);
    each[3] = o.frequencies = given ? NULL : o.frequencies;
    o.dim = o.dim ? o.dim : in.dim;
    o.base = attn__default(o.base, 10000);
    o.scale = attn__default(o.scale, 1);
    if (o.position_batch_stride == 0 && o.position_len_stride == 0) {
        o.position_batch_stride = (ptrdiff_t)in.len;
        o.position_len_stride = 1;
    }
    if (o.positions) {
        const attn_dtype as_wide = sizeof *o.positions == 8 ? ATTN_F64 : ATTN_F32;
        const attn_mat at = {(void *)(uintptr_t)o.positions, as_wide, in.batch, in.len, o.position_batch_stride,
                             o.position_len_stride};
        positions = at;
    }
    attn__check_begin(&c, NULL);
    attn__bind(&c, ATTN__L_M, o.dim / 2);
    attn__list(&c, attn__arguments, 4, NULL, each, 0);
    attn__list(&c, attn__arguments + 4, 2, NULL, each + 4, !given);
    attn__check_views(&c);
    attn__require(&c, (opts && opts->dim) || in.dim % 2 == 0, ATTN_ERR_SHAPE, NULL);
    fine = o.dim % 2 == 0 && o.dim <= in.dim && attn__is_finite(o.scale) &&
           (given || (attn__is_positive(o.base) && attn__is_finite(attn__divide(1, o.base))));
    if (fine && attn__is_sound(&c) && attn__is_aligned(o.frequencies, sizeof *o.frequencies) &&
        attn__is_aligned(o.positions, sizeof *o.positions)) {
        for (d = 0; o.frequencies && d < o.dim / 2; d++)
            fine &= attn__is_finite(o.frequencies[d]);
        fine &= !given || attn__has_rows(&o, in.batch, in.len);
    }
    attn__require(&c, fine, ATTN_ERR_VALUE, NULL);
    if (c.status == ATTN_OK && in.batch > 0 && in.heads > 0 && in.len > 0 && in.dim > 0)
        attn__rope(&out, &in, &o);
    return c.status;
}

static ptrdiff_t attn__position(const attn_rope_opts *o, size_t b, size_t i)
{
    ptrdiff_t position = (ptrdiff_t)i;
    if (o->positions)
        position = o->positions[(ptrdiff_t)b * o->position_batch_stride + (ptrdiff_t)i * o->position_len_stride];
    return attn__plus(o->offset, position);
}

/* Have the tables a row for every position? Of those that tokens share, one is looked at; without positions, which then
   ascend, the first and the last. */
static int attn__has_rows(const attn_rope_opts *o, size_t B, size_t L)
{
    size_t b, i, every = o->positions && o->position_len_stride ? 1 : attn__max(L, 2) - 1;
    ptrdiff_t position;
    for (b = 0; b < (o->positions && o->position_batch_stride ? B : attn__min(B, 1)); b++)
        for (i = 0; i < L; i += every) {
            position = attn__position(o, b, i);
            if (position < 0 || (size_t)position >= o->cos.rows)
                return 0;
        }
    return 1;
}

ATTN__NOINLINE double attn__frequency(double base, size_t d, size_t dim) /* of pair d */
{
    return attn__pow(base, -2.0 * (double)d / (double)dim);
}

static void attn__rope_angles(attn__rope_job *job, ptrdiff_t position)
{
    const attn_rope_opts *o = job->opts;
    size_t d;
    for (d = 0; d < job->pairs; d++) {
        int given = !attn__mat_absent(&o->cos);
        double angle = given ? 0 : (double)position * job->frequency[d];
        double cosine = given ? attn__mat_get(&o->cos, (size_t)position, job->first + d) : attn__cos(angle);
        double sine = given ? attn__mat_get(&o->sin, (size_t)position, job->first + d) : attn__sin(angle);
        job->cosine[d] = o->scale * cosine;
        job->sine[d] = (o->transposed ? -o->scale : o->scale) * sine;
    }
}

/* Cosines and sines are computed once for all heads, and for all items at once where their positions are the same. */
static void attn__rope(const attn_tensor *out, const attn_tensor *in, const attn_rope_opts *opts)
{
    attn__rope_job job = {out, in, opts, attn__wide_kernels(ATTN_ISA_BEST), 0, 0, {0}, {0}, {0}};
    attn_mat to, from;
    size_t b, h, i, d, dim = opts->dim;
    ptrdiff_t position, last = 0;
    for (; job.first < dim / 2; job.first += ATTN__ROTATED) {
        job.pairs = attn__min(dim / 2 - job.first, ATTN__ROTATED);
        for (d = 0; d < job.pairs && attn__mat_absent(&opts->cos); d++)
            job.frequency[d] =
                opts->frequencies ? opts->frequencies[job.first + d] : attn__frequency(opts->base, job.first + d, dim);
        for (i = 0; i < in->len; i++)
            for (b = 0; b < in->batch; b++) {
                position = attn__position(opts, b, i);
                if ((i == 0 && b == 0) || position != last)
                    attn__rope_angles(&job, position);
                last = position;
                for (h = 0; h < in->heads; h++)
                    attn__rope_row(&job, b, h, i);
            }
    }
    for (b = 0; b < in->batch && dim < in->dim && out->data != in->data; b++)
        for (h = 0; h < in->heads; h++) {
            to = attn__head_rows(out, b, h, 0, out->len, dim);
            from = attn__head_rows(in, b, h, 0, in->len, dim);
            attn__copy(&to, &from);
        }
}

/* The first and second elements of the pairs lie side by side (interleaved), in one row, or in two halves, two rows. */
static void attn__rope_row(const attn__rope_job *job, size_t b, size_t h, size_t i)
{
    const attn_tensor *out = job->out, *in = job->in;
    const ptrdiff_t half = (ptrdiff_t)(job->opts->dim / 2);
    double x[2 * ATTN__ROTATED], held;
    size_t rows = job->opts->interleaved ? 1 : 2, each = 2 / rows, n = each * job->pairs, at = each * job->first, d;
    size_t y = rows == 1 ? 1 : ATTN__ROTATED; /* how far apart a pair lies in x */
    job->kern->load(x, ATTN__ROTATED, attn__tensor_at(in, b, h, i, at), in->dtype, half * in->dim_stride,
                    in->dim_stride, rows, n);
    for (d = 0; d < job->pairs; d++) {
        held = x[each * d];
        x[each * d] = held * job->cosine[d] - x[each * d + y] * job->sine[d];
        x[each * d + y] = held * job->sine[d] + x[each * d + y] * job->cosine[d];
    }
    job->kern->store(attn__tensor_at(out, b, h, i, at), out->dtype, half * out->dim_stride, out->dim_stride, x,
                     ATTN__ROTATED, rows, n, 1.0);
}

/* Within 0 .. most and, if it is to be whole, rounded down or up. */
ATTN__NOINLINE double attn__clamp_plane(double x, double most, int whole, int up)
{
    double below;
    x = x < 0 ? 0 : x > most ? most : x;
    below = (double)(ptrdiff_t)x;
    return !whole ? x : up && below < x ? below + 1 : below;
}

/* The number of the pair, as a real one, that rotates so many times within original_len positions. */
ATTN__NOINLINE double attn__plane_of(double rotations, double dim, double base, double original_len)
{
    return dim * attn__log(original_len / (rotations * 6.283185307179586)) / (2 * attn__log(base));
}

/* The frequency of pair d. Up to `low` pairs are left alone, from `high` on divided by the factor. They go by their
   number, or by their rotations, the most of which are low then. */
ATTN__NOINLINE double attn__scaled_frequency(const attn_rope_scaling *s, double base, size_t dim, size_t d, double low,
                                             double high)
{
    double frequency = attn__frequency(base, d, dim), at = (double)d, share;
    if (s->kind == ATTN_ROPE_LONGROPE)
        return attn__divide(frequency, s->factors[d]);
    if (s->kind == ATTN_ROPE_PROPORTIONAL && at + 1 > s->share * (double)dim / 2)
        return 0;
    if (s->kind == ATTN_ROPE_LLAMA3)
        at = s->original_len * frequency / 6.283185307179586;
    share = (at - low) / (high - low);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return share > 0 ? frequency * (1 - share) + frequency / s->factor * share : frequency;
}

/* By what rotated vectors are multiplied. */
static double attn__rope_scale(const attn_rope_scaling *s)
{
    double x = s->factor > 1 ? attn__log(s->factor) : 0;
    if (s->kind == ATTN_ROPE_LONGROPE && x > 0)
        return attn__sqrt(1 + x / attn__log(s->original_len));
    if (s->kind != ATTN_ROPE_YARN)
        return 1;
    return s->mscale > 0 && s->mscale_all_dim > 0 ? (1 + 0.1 * s->mscale * x) / (1 + 0.1 * s->mscale_all_dim * x)
                                                  : 1 + 0.1 * x;
}

ATTN_API attn_status attn_rope_frequencies(double *freq, size_t dim, double base, const attn_rope_scaling *scaling,
                                           double *scale)
{
    static const attn__argument attn__arguments[] = {
        {NULL, ATTN__DOUBLES | ATTN__OUT | ATTN__IF_ANY, 0, ATTN__SHAPE1(M)},   /* freq */
        {NULL, ATTN__DOUBLES | ATTN__OUT | ATTN__OPTIONAL, 0, ATTN__SHAPE1(1)}, /* scale */
        {NULL, ATTN__BYTES | ATTN__OPTIONAL, 0, ATTN__SHAPE1(bytes)},           /* scaling */
        {NULL, ATTN__DOUBLES | ATTN__IF_ANY, 0, ATTN__SHAPE1(M)}};              /* scaling.factors */
    attn_rope_scaling s = ATTN__ZERO;
    const void *each[] = {freq, scale, scaling, NULL};
    double D = (double)dim, most = dim > 0 ? D - 1 : 0, low, high;
    int yarn, ramp, longrope, fine;
    size_t d;
    attn__check c;
    if (scaling)
        s = *scaling;
    yarn = s.kind == ATTN_ROPE_YARN;
    ramp = yarn || s.kind == ATTN_ROPE_LLAMA3;
    longrope = s.kind == ATTN_ROPE_LONGROPE;
    base = attn__default(base, 10000);
    s.beta_fast = attn__default(s.beta_fast, yarn ? 32 : 4);
    s.beta_slow = attn__default(s.beta_slow, 1);
    s.share = attn__default(s.share, 1);
    s.factor = attn__default(s.factor, s.kind == ATTN_ROPE_PROPORTIONAL);
    each[3] = s.factors;
    attn__check_begin(&c, NULL);
    attn__bind(&c, ATTN__L_M, dim / 2);
    attn__bind(&c, ATTN__L_bytes, sizeof *scaling);
    attn__list(&c, attn__arguments, longrope ? 4 : 3, NULL, each, 0);
    attn__check_views(&c);
    fine = dim % 2 == 0 && attn__is_positive(base) && (unsigned)s.kind <= ATTN_ROPE_PROPORTIONAL &&
           (s.kind == ATTN_ROPE_PLAIN || attn__is_positive(s.factor)) &&
           (s.kind != ATTN_ROPE_PROPORTIONAL || (attn__is_positive(s.share) && s.share <= 1));
    if (ramp)
        fine = fine && attn__is_positive(s.original_len) && attn__is_positive(s.beta_slow) &&
               attn__is_positive(s.beta_fast) && (yarn ? s.beta_fast >= s.beta_slow : s.beta_fast > s.beta_slow);
    if (yarn)
        fine = fine && base > 1 && attn__is_finite(s.mscale) && s.mscale >= 0 && attn__is_finite(s.mscale_all_dim) &&
               s.mscale_all_dim >= 0;
    if (longrope && s.factor > 1)
        fine = fine && attn__is_finite(s.original_len) && s.original_len > 1;
    for (d = 0; longrope && d < dim / 2 && c.status == ATTN_OK; d++)
        fine = fine && attn__is_positive(s.factors[d]);
    attn__require(&c, fine, ATTN_ERR_VALUE, NULL);
    if (c.status != ATTN_OK)
        return c.status;
    if (s.kind == ATTN_ROPE_NTK && dim > 2)
        base *= attn__pow(s.factor, D / (D - 2));
    low = s.kind == ATTN_ROPE_LINEAR || s.kind == ATTN_ROPE_PROPORTIONAL ? -1 : D; /* all pairs are above, or none */
    high = low + 1;
    if (yarn) {
        low = attn__clamp_plane(attn__plane_of(s.beta_fast, D, base, s.original_len), most, !s.no_truncate, 0);
        high = attn__clamp_plane(attn__plane_of(s.beta_slow, D, base, s.original_len), most, !s.no_truncate, 1);
        high = high > low ? high : low + 0.001;
    } else if (ramp) {
        low = s.beta_fast;
        high = s.beta_slow;
    }
    for (d = 0; d < dim / 2; d++)
        attn__require(&c, attn__is_finite(attn__scaled_frequency(&s, base, dim, d, low, high)), ATTN_ERR_VALUE, NULL);
    for (d = 0; d < dim / 2 && c.status == ATTN_OK; d++)
        freq[d] = attn__scaled_frequency(&s, base, dim, d, low, high);
    if (scale && c.status == ATTN_OK)
        *scale = attn__rope_scale(&s);
    return c.status;
}

ATTN_API attn_tensor attn_relative(attn_mat by_distance, size_t Lq, size_t Lk)
{
    attn_tensor t = {
        by_distance.data,      by_distance.dtype, 1, by_distance.rows, Lq, Lk, 0, by_distance.row_stride, 0,
        by_distance.col_stride};
    attn_tensor absent = ATTN__ZERO;
    if (attn__mat_absent(&by_distance))
        return absent;
    if (!attn__mat_fits(&by_distance) || Lq > (size_t)PTRDIFF_MAX || Lk > (size_t)PTRDIFF_MAX ||
        by_distance.cols != attn__max(Lq + Lk, 1) - 1)
        return attn__bad_tensor;
    if (Lq > 0 && Lk > 0 && by_distance.rows > 0)
        t.data = attn__mat_at(&by_distance, 0, Lq - 1);
    if (by_distance.cols > 1)
        t.len_stride = -by_distance.col_stride;
    return t;
}

ATTN_API attn_status attn_t5_bias(attn_mat by_distance, attn_mat table, int bidirectional, size_t max_distance,
                                  ptrdiff_t first_distance)
{
    return attn__t5(&table, &by_distance, 0, bidirectional, max_distance, first_distance);
}

/* by_distance, of a bias, from the table; or back: of gradients, the table from by_distance. The columns of a bucket
   follow one another. */
static attn_status attn__t5(const attn_mat *table, const attn_mat *by_distance, int back, int bidirectional,
                            size_t max_distance, ptrdiff_t first_distance)
{
    static const attn__argument attn__arguments[] = {
        {NULL, ATTN__MAT | ATTN__OUT | ATTN__ANY_FLOAT, 0, ATTN__SHAPE2(M, N)},
        {NULL, ATTN__MAT | ATTN__ANY_FLOAT, 0, ATTN__SHAPE2(L, K)}};
    size_t most = max_distance ? max_distance : 128, exact = table->rows / (bidirectional ? 4 : 2);
    size_t first, end, col, h, bucket;
    attn__check c;
    ATTN__CHECK(&c, NULL, attn__arguments, back ? table : by_distance, back ? by_distance : table);
    attn__require(&c, by_distance->rows == table->cols, ATTN_ERR_SHAPE, NULL);
    attn__require(&c, exact > 0, ATTN_ERR_SHAPE, NULL);
    attn__require(&c, most > exact, ATTN_ERR_VALUE, NULL);
    if (c.status != ATTN_OK || table->cols == 0)
        return c.status;
    for (bucket = 0; back && bucket < table->rows; bucket++)
        for (h = 0; h < table->cols; h++)
            attn__mat_set(table, bucket, h, 0);
    for (first = 0; first < by_distance->cols; first = end) {
        bucket = attn__bucket_of(table, first_distance, first, bidirectional, most);
        for (end = first + 1; end < by_distance->cols; end++)
            if (attn__bucket_of(table, first_distance, end, bidirectional, most) != bucket)
                break;
        for (h = 0; h < table->cols; h++) {
            double value = attn__mat_get(table, bucket, h);
            for (col = first; !back && col < end; col++)
                attn__mat_set(by_distance, h, col, value);
            for (col = first; back && col < end; col++)
                value += attn__mat_get(by_distance, h, col);
            if (back)
                attn__mat_set(table, bucket, h, value);
        }
    }
    return c.status;
}

/* The bucket of column `col` by distance = key - query. Of the `count` in one direction, half hold one distance each,
   the others go by its logarithm. */
static size_t attn__bucket_of(const attn_mat *table, ptrdiff_t first_distance, size_t col, int bidirectional,
                              size_t max_distance)
{
    ptrdiff_t distance = attn__plus(first_distance, (ptrdiff_t)col);
    size_t count = bidirectional ? table->rows / 2 : table->rows, exact = count / 2, first = 0, apart;
    double steps;
    if (bidirectional && distance > 0)
        first = count;
    else if (distance > 0)
        distance = 0;
    apart = attn__magnitude(distance);
    if (apart < exact)
        return first + apart;
    steps = attn__log((double)apart / (double)exact) / attn__log((double)max_distance / (double)exact) *
            (double)(count - exact);
    steps += steps * 1e-12; /* where apart is an exact step */
    return first + (steps < (double)(count - exact - 1) ? exact + (size_t)steps : count - 1);
}

#ifndef ATTN_NO_TRAINING
ATTN_API attn_status attn_t5_bias_backward(attn_mat dtable, attn_mat dby_distance, int bidirectional,
                                           size_t max_distance, ptrdiff_t first_distance)
{
    return attn__t5(&dtable, &dby_distance, 1, bidirectional, max_distance, first_distance);
}
#endif

ATTN_API attn_status attn_alibi_slopes(float *slopes, size_t H)
{
    static const attn__argument attn__slopes = {NULL, ATTN__FLOATS | ATTN__OUT | ATTN__IF_ANY, 0, ATTN__SHAPE1(H)};
    size_t h, power = 1;
    attn__check c;
    attn__check_begin(&c, NULL);
    attn__bind(&c, ATTN__L_H, H);
    ATTN__LIST(&c, &attn__slopes, slopes);
    attn__check_views(&c);
    while (power <= H / 2)
        power *= 2;
    for (h = 0; h < H && c.status == ATTN_OK; h++) { /* the nth of power, or the 1st, 3rd, .. of 2 power */
        double n = h < power ? (double)(h + 1) : (double)(h - power) + 0.5;
        slopes[h] = (float)attn__pow(2.0, -8.0 * n / (double)power);
    }
    return c.status;
}

ATTN_API attn_status attn_sinusoid(attn_mat out, size_t first)
{
    static const attn__argument attn__out = {NULL, ATTN__MAT | ATTN__OUT | ATTN__ANY_FLOAT, 0, ATTN__SHAPE2(L, D)};
    size_t row, col;
    attn__check c;
    ATTN__CHECK(&c, NULL, &attn__out, &out);
    for (col = 0; col < out.cols && out.rows > 0 && c.status == ATTN_OK; col++) {
        double frequency = attn__frequency(10000.0, col / 2, out.cols);
        for (row = 0; row < out.rows; row++) {
            double angle = ((double)first + (double)row) * frequency;
            attn__mat_set(&out, row, col, col % 2 ? attn__cos(angle) : attn__sin(angle));
        }
    }
    return c.status;
}

/* ==== multi-head layer =============================================================================================

   Q = q wq + bq, K and V become packed rows in scratch, where the engine reads them as heads; what it returns goes
   through wo. A bias is one more term of each sum. The room lays out arrays and asks for products and attention by
   their plans; it knows nothing of blocks and tiles. */

typedef struct attn__projection_back { /* what a projection has on the way back, else NULL */
    attn_tensor *heads;                /* the gradient of its heads, of the last one the heads themselves; */
    const attn_tensor *x; /* the gradients that are wanted, else absent: of x, where NULL says that it is the last; */
    const attn_mat *w;    /* of the weights, x^T heads, of the last the transpose of that; */
    float *b;             /* of the bias */
} attn__projection_back;

typedef struct attn__projection { /* one of the four, between rows of the caller and rows of heads in scratch */
    const attn_tensor *x;         /* q, k, v; of the last, whose way is the other one, out, or dout */
    attn_tensor *heads;
    const attn_mat *w;
    const float *bias;
    const size_t *lens; /* valid rows of each item; of texts, behind their starts, the end of the last; NULL = all */

    attn__projection_back d;
} attn__projection;

typedef struct attn__mha {
    attn__plan plan; /* of the projections: its tensors lie in scratch */
    attn_mha_weights w;
    attn__projection p[4]; /* of q, k, v, out */
    attn_tensor mean;      /* the mean of the weights, where that is wanted: all of them lie in scratch then */
    attn_ctx ctx;          /* of the products */
} attn__mha;

/* The arguments of a call that is a job, as the caller gave them; what a call does not have is NULL. */
typedef struct attn__given {
    const attn_tensor *out, *q, *k, *v; /* the way back through a layer has its dout as out, for it is of that shape */
    const attn_opts *opts;
    const attn_ctx *ctx;
    const attn_mha_weights *weights;
    const void *grads; /* attn_grads or attn_mha_grads */
    const attn_tensor *dout, *lse;
} attn__given;

typedef struct attn__ready { /* to run: */
    attn__plan *plan;        /* or NULL; and */
    void *own;               /* what is to be released in the end */
} attn__ready;

/* A call whose plan is large. It is planned in a frame that is gone when it runs and, if it is to run, once more in the
   memory that its arrays get, from where it runs. Every plan is a struct of its own that begins with an attn__plan. */
typedef struct attn__job {
    size_t size;                                                                                  /* of the struct; */
    attn_status (*ready)(attn__ready *to, const struct attn__job *job, const attn__given *given); /* has that frame; */
    void (*plan)(attn__plan *plan, attn__check *c, const attn__given *given); /* checks and resolves all arguments; */
    size_t (*carve)(attn__plan *plan, char *base); /* lays out the arrays, and returns their bytes, or SIZE_MAX, for */
    const char *overflows;                         /* which this argument is blamed; */
    void (*say)(attn__message *t, const attn__plan *plan); /* explains the plan; */
    void (*execute)(attn__plan *plan);
} attn__job;

static void attn__mha_plan(attn__plan *plan, attn__check *c, const attn__given *given);
static size_t attn__carve_mha(attn__plan *plan, char *base);
static void attn__mha_run(attn__plan *plan);
static attn_status attn__do_job(const attn__job *job, const attn__given *given);
static void attn__mha_begin(attn__mha *mha, const attn__given *given);
ATTN__NOINLINE void attn__mha_list(attn__check *c, const attn__mha *mha, const attn__given *given, int back);
static void attn__set_projections(attn__mha *mha, const attn__given *given);
static size_t attn__carve_rest(attn__mha *mha, attn__arena *arena, size_t bytes);
static size_t attn__projections_bytes(const attn__mha *mha);
static void attn__mha_attend(attn__mha *mha);
static void attn__project(const attn__mha *mha, const attn_tensor *to, const attn_tensor *from, const attn_mat *w,
                          const float *bias, const size_t *lens, int add);
static attn_status attn__plan_job(attn__ready *to, const attn__job *job, attn__plan *plan, const attn__given *given);
ATTN__NOINLINE attn_status attn__mha_ready(attn__ready *to, const attn__job *job, const attn__given *given);

ATTN_API attn_status attn_mha(attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                              const attn_mha_weights *weights, const attn_opts *opts, const attn_ctx *ctx)
{
    static const attn__job attn__layer = {sizeof(attn__mha), attn__mha_ready, attn__mha_plan, attn__carve_mha, "q",
                                          attn__say_plan,    attn__mha_run};
    const attn__given given = {&out, &q, &k, &v, opts, ctx, weights, NULL, NULL, NULL};
    return attn__do_job(&attn__layer, &given);
}

/* [B][L][H][D] without data. Products that overflow are found when it is carved. */
ATTN__NOINLINE attn_tensor attn__packed(attn_dtype dtype, size_t B, size_t L, size_t H, size_t D)
{
    attn_tensor t = {NULL, dtype, B, H, L, D, (ptrdiff_t)(L * H * D), (ptrdiff_t)D, (ptrdiff_t)(H * D), 1};
    return t;
}

ATTN__NOINLINE attn_status attn__mha_ready(attn__ready *to, const attn__job *job, const attn__given *given)
{
    attn__mha here;
    return attn__plan_job(to, job, &here.plan, given);
}

static void attn__mha_plan(attn__plan *plan, attn__check *c, const attn__given *given)
{
    attn__mha *mha = (attn__mha *)plan;
    attn_tensor *weights = &plan->call.opts.weights;
    const attn_tensor *q = given->q;
    attn__mha_begin(mha, given);
    attn__check_begin(c, given->ctx);
    if (mha->w.heads > 1 && attn__is_shape(weights, q->batch, 1, q->len, given->k->len)) {
        mha->mean = *weights;
        attn__copy_struct(weights, NULL, sizeof *weights);
    }
    attn__mha_list(c, mha, given, 0);
    if (!attn__tensor_absent(&mha->mean))
        *weights = attn__packed(attn__real(q->dtype), q->batch, q->len, mha->w.heads, given->k->len);
    attn__plan_resolve(plan, c, 0);
}

/* Begins the plan of a layer, or of the way back through it: its weights, the heads between projections and engine, and
   the projections, without what these have on the way back. */
static void attn__mha_begin(attn__mha *mha, const attn__given *given)
{
    attn_mha_weights *w = &mha->w;
    const attn_tensor *q = given->q, *k = given->k;
    attn_dtype real = attn__real(q->dtype);
    attn_tensor heads[4]; /* out, q, k, v */
    size_t D, Dv;
    attn__copy_struct(w, given->weights, sizeof *w);
    attn__copy_struct(&mha->mean, NULL, sizeof mha->mean);
    w->kv_heads = w->kv_heads ? w->kv_heads : w->heads;
    D = w->heads ? w->wq.cols / w->heads : 0;
    Dv = w->kv_heads ? w->wv.cols / w->kv_heads : 0;
    heads[0] = attn__packed(real, q->batch, q->len, w->heads, Dv);
    heads[1] = attn__packed(real, q->batch, q->len, w->heads, D);
    heads[2] = attn__packed(real, q->batch, k->len, w->kv_heads, D);
    heads[3] = attn__packed(real, q->batch, k->len, w->kv_heads, Dv);
    attn__plan_begin(&mha->plan, &heads[0], &heads[1], &heads[2], &heads[3], given->opts, given->ctx);
    attn__set_projections(mha, given);
}

/* The valid rows of each item of a projection. No starts, and too many, are refused later. */
static const size_t *attn__rows_of(const attn_opts *o, const size_t *lens, const size_t *starts)
{
    if (o->sequences == 0)
        return lens;
    return starts && o->sequences <= (size_t)PTRDIFF_MAX / sizeof *starts ? starts + o->sequences : NULL;
}

static void attn__set_projections(attn__mha *mha, const attn__given *given)
{
    attn__call *call = &mha->plan.call;
    const attn_mha_weights *w = &mha->w;
    const size_t *q_lens = attn__rows_of(&call->opts, call->opts.q_lens, call->opts.q_starts);
    const size_t *kv_lens = attn__rows_of(&call->opts, call->opts.kv_lens, call->opts.kv_starts);
    const attn__projection p[] = {{given->q, &call->q, &w->wq, w->bq, q_lens, {NULL, NULL, NULL, NULL}},
                                  {given->k, &call->k, &w->wk, w->bk, kv_lens, {NULL, NULL, NULL, NULL}},
                                  {given->v, &call->v, &w->wv, w->bv, kv_lens, {NULL, NULL, NULL, NULL}},
                                  {given->out, &call->out, &w->wo, w->bo, q_lens, {NULL, NULL, NULL, NULL}}};
    ATTN__MEMCPY(mha->p, p, sizeof p);
}

static void attn__require_columns(attn__check *c, size_t n, size_t heads, size_t dims, const char *name)
{
    if (heads > 0 && (n % heads != 0 || n / heads != dims))
        attn__blame(c, ATTN_ERR_SHAPE, name, n, " in all heads, where ", heads * dims, " fit");
}

/* Lists the arguments of a layer; or those of the way back, of which the first is dout. */
ATTN__NOINLINE void attn__mha_list(attn__check *c, const attn__mha *mha, const attn__given *given, int back)
{
    static const attn__argument attn__arguments[] = {
        {"out", ATTN__OUT, 0, ATTN__SHAPE4(B, 1, Lq, E)}, {"dout", ATTN__LATE, 0, ATTN__SHAPE4(B, 1, Lq, E)},
        {"q", ATTN__IN, 0, ATTN__SHAPE4(B, 1, Lq, Eq)},   {"k", ATTN__IN, 0, ATTN__SHAPE4(B, 1, Lk, Ek)},
        {"v", ATTN__IN, 0, ATTN__SHAPE4(B, 1, Lk, Ev)},   {"weights", ATTN__POINTER, 0, ATTN__SHAPE0}};
    static const attn__argument attn__members[] = {
        ATTN__MEMBER(weights, mha_weights, wq, ATTN__MAT, ATTN__SHAPE2(Eq, HD)), /* H D, */
        ATTN__MEMBER(weights, mha_weights, wk, ATTN__MAT, ATTN__SHAPE2(Ek, KD)), /* Hkv D, */
        ATTN__MEMBER(weights, mha_weights, wv, ATTN__MAT, ATTN__SHAPE2(Ev, KV)), /* Hkv Dv, */
        ATTN__MEMBER(weights, mha_weights, wo, ATTN__MAT, ATTN__SHAPE2(HV, E)),  /* H Dv */
        ATTN__MEMBER(weights, mha_weights, bq, ATTN__FLOATS | ATTN__OPTIONAL, ATTN__SHAPE1(HD)),
        ATTN__MEMBER(weights, mha_weights, bk, ATTN__FLOATS | ATTN__OPTIONAL, ATTN__SHAPE1(KD)),
        ATTN__MEMBER(weights, mha_weights, bv, ATTN__FLOATS | ATTN__OPTIONAL, ATTN__SHAPE1(KV)),
        ATTN__MEMBER(weights, mha_weights, bo, ATTN__FLOATS | ATTN__OPTIONAL, ATTN__SHAPE1(E))};
    static const attn__argument attn__mean = {"opts.weights", ATTN__OUT | ATTN__ANY_FLOAT, 0,
                                              ATTN__SHAPE4(B, 1, Lq, Lk)};
    const attn_mha_weights *w = &mha->w;
    const void *const each[] = {given->out, given->q, given->k, given->v, given->weights}, *mean = &mha->mean;
    size_t D = mha->plan.call.q.dim, Dv = mha->plan.call.v.dim;
    attn__bind(c, ATTN__L_H, w->heads);
    attn__list(c, attn__arguments + back, 1, NULL, each, 0);
    attn__list(c, attn__arguments + 2, 4, NULL, each + 1, 0);
    attn__list(c, attn__members, 8, w, NULL, 0);
    attn__list_options(c, &mha->plan);
    if (!attn__tensor_absent(&mha->mean))
        attn__list(c, &attn__mean, 1, NULL, &mean, 0);
    attn__check_views(c);
    attn__require(c, w->heads > 0, ATTN_ERR_SHAPE, "weights.heads");
    if (w->heads > 0 && w->heads % w->kv_heads != 0)
        attn__blame(c, ATTN_ERR_SHAPE, "weights.kv_heads", w->kv_heads, " heads, where ", w->heads,
                    " or a divisor of it fits");
    attn__require_columns(c, w->wq.cols, w->heads, D, "weights.wq");
    attn__require_columns(c, w->wk.cols, w->kv_heads, D, "weights.wk");
    attn__require_columns(c, w->wv.cols, w->kv_heads, Dv, "weights.wv");
    attn__require_columns(c, w->wo.rows, w->heads, Dv, "weights.wo");
    attn__require(c, D > 0, ATTN_ERR_SHAPE, "weights.wq");
    if (mha->plan.call.opts.sequences > 0 && given->q->batch != 1)
        attn__blame(c, ATTN_ERR_SHAPE, "q", given->q->batch, " items, where ", 1, " has all texts");
}

static void attn__carve_tensor(attn__arena *arena, attn_tensor *t)
{
    size_t rows, row;
    t->data = NULL;
    if (attn__mul_size(&rows, t->batch, t->len) && attn__mul_size(&row, t->heads, t->dim) &&
        attn__mul_size(&row, row, attn__size(t->dtype)))
        t->data = attn__carve(arena, rows, row);
    else
        arena->used = SIZE_MAX;
}

/* Carves the scratch of a layer. Returns its bytes; SIZE_MAX on overflow. */
static size_t attn__carve_mha(attn__plan *plan, char *base)
{
    attn__mha *mha = (attn__mha *)plan;
    attn__arena arena = {base, 0};
    int i;
    for (i = 0; i < 4; i++)
        attn__carve_tensor(&arena, mha->p[i].heads);
    if (!attn__tensor_absent(&mha->mean))
        attn__carve_tensor(&arena, &plan->call.opts.weights);
    return attn__carve_rest(mha, &arena, plan->bytes);
}

/* Carves what products and engine, which takes so many bytes, use one after another, as the last of the scratch.
   Returns the bytes of it all; SIZE_MAX on overflow. */
static size_t attn__carve_rest(attn__mha *mha, attn__arena *arena, size_t bytes)
{
    if (arena->used == SIZE_MAX)
        return SIZE_MAX;
    mha->ctx = mha->plan.call.ctx;
    bytes = attn__max(bytes, attn__projections_bytes(mha));
    bytes = attn__max(bytes, attn__ctx_workers(&mha->ctx, SIZE_MAX) * ATTN__STACK); /* no product needs the stack */
    mha->ctx.scratch = mha->plan.scratch = (char *)attn__carve(arena, bytes, 1);
    mha->ctx.scratch_size = bytes;
    attn__carve(arena, 1, ATTN__ALIGN); /* to align what the caller gives */
    return arena->used;
}

/* Scratch that a product has use for, of so many rows and b; with less it only takes longer. */
static size_t attn__product_bytes(const attn__plan *plan, size_t rows, const attn_mat *b)
{
    attn_dtype real = attn__kern(&plan->call)->real;
    attn_mat a = attn_mat_of(NULL, real, rows, b->rows), out = attn_mat_of(NULL, real, rows, b->cols);
    attn__gemm g;
    size_t bytes = 0;
    int few;
    if (out.rows == 0 || out.cols == 0 || !attn__mat_fits(&a) || !attn__mat_fits(&out))
        return 0;
    for (few = 0; few < 2; few++) {
        attn__gemm_plan(&g, &out, &a, b, NULL, 1.0, few, &plan->call.ctx);
        bytes = attn__max(bytes, g.worker_bytes * g.workers);
    }
    return bytes;
}

/* The same of what a layer multiplies: its rows by weights; on the way back also heads by the weights transposed, and
   the rows transposed by heads. */
static size_t attn__projections_bytes(const attn__mha *mha)
{
    const attn__plan *plan = &mha->plan;
    const attn__projection *p = mha->p;
    size_t bytes = 0, tokens;
    attn_mat wt, heads;
    for (; p < mha->p + 4; p++) {
        bytes = attn__max(bytes, attn__product_bytes(plan, p->heads->batch * p->heads->len, p->w));
        if (!p->d.heads)
            continue;
        tokens = p->d.heads->batch * p->d.heads->len; /* 0 if absent */
        wt = attn_mat_t(*p->w);
        heads = attn_mat_of(NULL, attn__kern(&plan->call)->real, tokens, p->d.heads->heads * p->d.heads->dim);
        bytes = attn__max(bytes, attn__product_bytes(plan, tokens, &wt));
        bytes = attn__max(bytes, attn__product_bytes(plan, p->x->dim, &heads));
    }
    return bytes;
}

/* mean = weights averaged over the heads, which lie beside each other: for each query a product of 1 x H and H x Lk. */
static void attn__mean_weights(const attn__mha *mha)
{
    const attn_tensor *mean = &mha->mean, *weights = &mha->plan.call.opts.weights;
    attn_mat ones = attn__ones(weights->dtype, 1, weights->heads), all, row;
    size_t b, i;
    for (b = 0; b < mean->batch && mean->dim > 0; b++)
        for (i = 0; i < mean->len; i++) {
            all = attn_mat_of(attn__tensor_at(weights, b, 0, i, 0), weights->dtype, weights->heads, weights->dim);
            row = attn__head_rows(mean, b, 0, i, 1, 0);
            attn__product(&row, &ones, &all, NULL, 1 / (double)weights->heads, 0, 0, &mha->ctx);
        }
}

static void attn__mha_run(attn__plan *plan)
{
    attn__mha *mha = (attn__mha *)plan;
    const attn__projection *last = &mha->p[3];
    attn__mha_attend(mha);
    attn__mean_weights(mha);
    attn__project(mha, last->x, last->heads, last->w, last->bias, last->lens, 0);
}

static void attn__mha_attend(attn__mha *mha) /* as far as the heads' out */
{
    const attn__projection *p = mha->p;
    for (; p < mha->p + 3; p++)
        attn__project(mha, p->heads, p->x, p->w, p->bias, p->lens, 0);
    attn__plan_execute(&mha->plan);
}

static attn_tensor attn__join_heads(const attn_tensor *packed) /* as B x 1 x L x H D */
{
    attn_tensor t = *packed;
    t.dim *= t.heads;
    t.heads = 1;
    return t;
}

/* Rows of all items in one, where strides allow. */
static attn_tensor attn__join_items(attn_tensor t)
{
    if (t.len == 1)
        t.len_stride = t.batch_stride;
    else if (t.batch != 1 && (size_t)t.batch_stride != (size_t)t.len_stride * t.len)
        return t;
    t.len *= t.batch;
    t.batch = 1;
    return t;
}

/* to = from w + bias: the first lens[b] (or all) rows of each item, or those of its texts; the others become zeros. Or,
   without bias, from w is added. What rows an item, or text, has by itself decides if they are few. */
static void attn__project(const attn__mha *mha, const attn_tensor *to, const attn_tensor *from, const attn_mat *w,
                          const float *bias, const size_t *lens, int add)
{
    attn_tensor out = attn__join_heads(to), in = attn__join_heads(from);
    attn_tensor all_out = attn__join_items(out), all_in = attn__join_items(in);
    const attn_ctx *ctx = &mha->ctx;
    const size_t texts = mha->plan.call.opts.sequences, *starts = lens ? lens - texts : NULL;
    attn_mat rows, x;
    size_t b, n, r, t, end, full = 0, each = out.len;
    int few;
    if (out.len == 0 || out.dim == 0)
        return;
    while (full < out.batch && (!lens || lens[full] == out.len))
        full++;
    if (full == out.batch && texts == 0 && all_out.batch == 1 && all_in.batch == 1) {
        out = all_out;
        in = all_in;
        lens = NULL;
    }
    for (b = 0; b < out.batch; b++) {
        n = lens ? lens[b] : out.len;
        for (r = t = 0; r < n; r = end) {
            x = attn__head_rows(&in, b, 0, r, n - r, 0);
            few = attn__are_few(&x, w, texts > 0 ? starts[t + 1] - starts[t] : lens ? n : each, ctx);
            end = texts > 0 ? starts[++t] : n;
            while (t < texts && attn__are_few(&x, w, starts[t + 1] - starts[t], ctx) == few) /* all that are alike */
                end = starts[++t];
            rows = attn__head_rows(&out, b, 0, r, end - r, 0);
            x.rows = rows.rows;
            attn__product(&rows, &x, w, bias, 1.0, add, few, ctx);
        }
        for (; r < out.len && !add; r++)
            attn__fill_part(&out, b, 0, r, 0, out.dim, 0.0);
    }
}

/* Plans a job and runs it, unless there is a fault, or it is a dry run. */
static attn_status attn__do_job(const attn__job *job, const attn__given *given)
{
    attn__ready to;
    attn_status status = job->ready(&to, job, given);
    if (to.plan)
        job->execute(to.plan);
    attn__release(to.own);
    return status;
}

/* Plans a job in *plan and, if it is to run, once more in memory of its own: see attn__job. */
static attn_status attn__plan_job(attn__ready *to, const attn__job *job, attn__plan *plan, const attn__given *given)
{
    const size_t self = attn__whole(job->size, ATTN__ALIGN);
    size_t bytes = 0;
    attn__message t;
    attn__check c;
    job->plan(plan, &c, given);
    if (attn__is_sound(&c) && plan->call.kern)
        bytes = job->carve(plan, NULL);
    attn__require(&c, bytes != SIZE_MAX, ATTN_ERR_OVERFLOW, job->overflows);
    to->plan = (attn__plan *)(void *)attn__borrow(&c, given->ctx, self + bytes, &to->own);
    if (to->plan) {
        job->plan(to->plan, &c, given);
        job->carve(to->plan, (char *)to->plan + self);
    } else if (attn__is_dry(&c) && attn__tell(&t, &c, attn__kern(&plan->call), self + bytes)) {
        if (ATTN__LARGE)
            job->say(&t, plan);
    }
    return attn__check_end(&c);
}

#ifndef ATTN_NO_TRAINING

/* ==== training =====================================================================================================

   How a loss changes with q, k and v, given how it changes with out (dout). P is computed once more from the scores and
   the log-sum-exp that the forward call left, tile by tile:

       S  = scale K Q^T, softcap, bias, ...      as in attention, by its functions
       P  = exp(S - lse)                         0 where a key is hidden
       dP = V dO^T                               with dropout, that and P times z = 0 or 1 / (1 - p), but not in dS
       dS = P (dP - delta)                       delta = dout . out - dlse, of each row
       dv = dv + P dO      dk = dk + scale dS Q      dq = dq + scale dS^T K
                                                      Dao 2022, arXiv 2205.14135; Dao 2023, arXiv 2307.08691

   Options turn dS, which belongs to the scores that softmax saw, into what belongs to those before them, in reverse
   order: score_mod_grad; then it is the gradient of biases; the slope of softcap; scale.

   Calls:

       attn_sdpa_backward
         attn__plan_job                 plans the call, finds its memory, and plans it once more there:
           attn__backward_plan            checks and resolves the arguments
           attn__backward_schedule        cuts the work, measures scratch
         attn__backward_execute         runs one phase after another, each with all workers:
           attn__clear_head               outputs that are sums begin with 0
           attn__backward_unit            a key/value head of a batch item: all its cells
           attn__backward_cell            query blocks against a chunk of keys, of which K, V, dk and dv stay in cache
             attn__sees_chunk               which of its keys a query block may see
             attn__meet_chunk               once it sees some: K, V, dk, dv of the chunk; Q, dO, delta, dq of the block
             attn__backward_tile            one tile of keys: the lines above
               attn__tile_gradients           S by attn__score_tile, dP by gemm; the kernel backward: P and dS
               attn__add_biases               gradients of biases
               attn__add_queries              dq; attn__add_keys: dv and dk
           attn__finish_head              sums are rounded to 16 bits, or added up over heads, rows, items
           attn__sum_sink                 the gradient of a sink
           attn__sum_place                the gradient of a bias that heads or items share, by cells too

   Order of sums. A cell may be computed once the one above it (the query blocks before, the same chunk) and the one to
   its left (the chunk before) are there; nothing else about the order matters to the bits. Where there are at least as
   many units as workers, each worker has units of its own. The units that are left over, or all, are cut into cells, of
   which workers take any that is ready. Sums by distance obey the same rule: of two tiles that share a distance one
   always comes before the other, and cells that are computed at one time share none. */

struct attn__backward_worker;

/* A gradient, mostly summed tile by tile. */
typedef struct attn__sum {
    attn_tensor at;           /* where: in the caller's tensor, or in scratch; absent: not wanted */
    const attn_tensor *out;   /* what sums in scratch are rounded to, or added up to where it has 1; or NULL */
    size_t cleared, finished; /* heads: of at that begin with 0, of out */
} attn__sum;

enum attn__sum_of { ATTN__DQ, ATTN__DK, ATTN__DV, ATTN__DBIAS, ATTN__DDISTANCES, ATTN__DSLOPES, ATTN__SUMS };

typedef struct attn__backward {
    attn__plan *plan; /* the tensors and options, and what attention needs to know about tiles */
    attn_grads grads;
    attn_tensor dout, lse;
    attn__sum sums[ATTN__SUMS];
    attn_tensor distances, slopes;    /* the outputs of two of them */
    size_t places;                    /* of tiles in a bias that heads or items share, but no rows or keys; else 0 */
    int summing_places;               /* the phase in hand is that of these: see attn__sum_place */
    int modified;                     /* dS goes through score_mod_grad, or is needed before scale */
    size_t group, block_rows;         /* query heads of a key/value head; rows of a query block, whole vectors */
    size_t chunk_keys, chunks;        /* keys of a chunk, whole tiles; chunks of a head */
    size_t head_blocks, unit_blocks;  /* query blocks of a query head; of all of a group */
    size_t items, units, whole_units; /* batch items of a unit; units; those that one worker does alone */
    size_t cell_blocks, cell_rows;    /* the others: query blocks of a cell; rows of cells, one below the other */
    size_t rows, *cells;              /* rows of cells, of all such units; of each row: twice those done, 1 more */
                                      /* if one is being computed */
    char *ones;                       /* factors for gemm: what was there stays */
    size_t workers, worker_bytes, bytes;
    void (*phase)(struct attn__backward_worker *worker, size_t index); /* the one in hand: what an item of it is; */
    size_t item, idle; /* of cells, the batch item, and workers that found no cell ready */
} attn__backward;

typedef struct attn__backward_worker {
    attn__backward *backward;
    const attn__call *call;    /* that of backward, */
    const attn__kernels *kern; /* and its kernels */
    attn__shared shared;
    attn__block block;        /* block.queries: Q, D x lanes */
    char *dout;               /* dO of the block, Dv x lanes */
    char *q_rows, *dout_rows; /* the same as panels of gemm, a row for each query */
    char *lse, *delta;        /* of each row; lse as softmax has the maximum, without call.softmax_scale */
    char *dscores;            /* dP of a tile, then dS; a tile's width of other sums in passing */
    char *kept;               /* a tile of sums: of a place of the bias */
    char *clean;              /* K of a tile without what is not finite */
    char *dq, *dk, *dv;       /* sums: dq of the block, D x lanes; dk and dv of the chunk, in register tiles */
    attn__range keys;         /* of the chunk, those that are valid; */
    int loaded;               /* their K and V are in cache */
    int k_nonfinite, q_nonfinite, dout_nonfinite; /* some of K of the chunk, of Q and dO of the block is not finite */
} attn__backward_worker;

enum { ATTN__GRADIENT = ATTN__OUT | ATTN__OPTIONAL | ATTN__SUM }; /* as an argument */

typedef struct attn__sdpa_backward { /* the job of attn_sdpa_backward */
    attn__plan plan;
    attn__backward way;
} attn__sdpa_backward;

typedef struct attn__mha_backward {
    attn__mha mha;        /* the forward pass; its out is dout */
    attn__backward heads; /* from the gradient of the heads' out to those of their q, k, v, all of which lie in */
                          /* scratch, and are absent where not needed */
    const attn_mha_grads *grads; /* what is wanted */
    char *rows; /* over tensors that are done with: the gradient of a bias, then sums of heads, then copies of tokens */
} attn__mha_backward;

static void attn__backward_execute(attn__backward *w);
static void attn__backward_plan(attn__plan *plan, attn__check *check, const attn__given *given);
static size_t attn__place_backward(attn__plan *plan, char *base);
static void attn__say_way(attn__message *t, const attn__plan *plan);
static void attn__backward_list(attn__check *c, const attn__backward *w);
static int attn__backward_schedule(attn__backward *w);
static void attn__carve_backward(attn__arena *arena, const attn__backward *w, attn__backward_worker *worker);
static int attn__carve_sums(attn__backward *w, char *base);
static void attn__run_phase(attn__backward *w, void (*item)(attn__backward_worker *, size_t), size_t items);
static void attn__clear_head(attn__backward_worker *worker, size_t index);
static void attn__backward_unit(attn__backward_worker *worker, size_t unit);
static void attn__run_cells(attn__backward *w);
static void attn__finish_head(attn__backward_worker *worker, size_t index);
static void attn__sum_sink(attn__backward_worker *worker, size_t head);
static void attn__sum_place(attn__backward_worker *worker, size_t index);
static void attn__place_sum(attn__sum *sum, attn__arena *arena, attn_dtype real, const attn_tensor *out);
static void attn__phase_worker(attn__share *share);
static void attn__unit_cell(attn__backward_worker *worker, size_t unit, size_t item, size_t first, size_t count,
                            size_t chunk);
static void attn__backward_cell(attn__backward_worker *worker, size_t b, size_t kv_head, size_t first, size_t end,
                                size_t chunk);
static attn_mat attn__bias_place(const attn__backward *w, size_t b, size_t h, size_t i, size_t queries, size_t j,
                                 size_t keys);
static void attn__put_sums(attn__backward_worker *worker, const attn_mat *place, const char *x, size_t ld, int adds);
static int attn__place_rows(attn__backward_worker *worker, size_t b, size_t kv_head, size_t index);
static void attn__find_delta(attn__backward_worker *worker);
static int attn__sees_chunk(attn__backward_worker *worker);
static void attn__meet_chunk(attn__backward_worker *worker);
static void attn__backward_tile(attn__backward_worker *worker);
static void attn__move_sums(const attn__backward_worker *worker, char *tiles, const attn_tensor *t, int store);
static void attn__fetch_rows(const attn__backward_worker *worker, attn__tile_cache *cache, const attn_tensor *t);
static int attn__pack_rows(const attn__block *block, char *panels, const attn_tensor *t);
static void attn__tile_gradients(attn__backward_worker *worker);
static void attn__add_keys(attn__backward_worker *worker, char *sums, const void *weights, const char *rows,
                           const attn_tensor *t, int nonfinite);
static void attn__add_biases(attn__backward_worker *worker);
static void attn__add_queries(attn__backward_worker *worker);
ATTN__NOINLINE void attn__modify_gradients(attn__backward_worker *worker);
ATTN__NOINLINE void attn__add_nonfinite_rows(attn__backward_worker *worker, const attn_tensor *t, char *sums,
                                             const void *weights);
static void attn__input_backward(const attn__mha_backward *w, const attn__projection *p);
static void attn__weights_backward(const attn__mha_backward *w, const attn__projection *p);
static void attn__mha_backward_plan(attn__plan *plan, attn__check *c, const attn__given *given);
static size_t attn__carve_mha_backward(attn__plan *plan, char *base);
static void attn__mha_grads_list(attn__check *c, const attn__mha_backward *w);

/* -- the plan -- */

static void attn__run_backward(attn__plan *plan)
{
    attn__backward_execute(&((attn__sdpa_backward *)plan)->way);
}

ATTN__NOINLINE attn_status attn__backward_ready(attn__ready *to, const attn__job *job, const attn__given *given)
{
    attn__sdpa_backward here;
    return attn__plan_job(to, job, &here.plan, given);
}

ATTN_API attn_status attn_sdpa_backward(const attn_grads *grads, attn_tensor dout, attn_tensor q, attn_tensor k,
                                        attn_tensor v, attn_tensor out, attn_tensor lse, const attn_opts *opts,
                                        const attn_ctx *ctx)
{
    static const attn__job attn__back = {sizeof(attn__sdpa_backward),
                                         attn__backward_ready,
                                         attn__backward_plan,
                                         attn__place_backward,
                                         "q",
                                         attn__say_way,
                                         attn__run_backward};
    const attn__given given = {&out, &q, &k, &v, opts, ctx, NULL, grads, &dout, &lse};
    return attn__do_job(&attn__back, &given);
}

static void attn__forget_outputs(attn_opts *o) /* of the forward call */
{
    const attn_tensor none = ATTN__ZERO;
    o->lse = o->weights = o->scores = none;
    o->scores_stage = ATTN_STAGE_DOT;
}

/* The one place where all arguments of the way back are checked and resolved. */
static void attn__backward_plan(attn__plan *plan, attn__check *check, const attn__given *given)
{
    attn__backward *w = &((attn__sdpa_backward *)plan)->way;
    ATTN__MEMSET(w, 0, sizeof *w);
    w->plan = plan;
    attn__plan_begin(plan, given->out, given->q, given->k, given->v, given->opts, given->ctx);
    attn__forget_outputs(&plan->call.opts);
    attn__copy_struct(&w->grads, given->grads, sizeof w->grads);
    w->dout = *given->dout;
    w->lse = *given->lse;
    attn__check_begin(check, given->ctx);
    if (!given->grads)
        attn__fault(check, ATTN_ERR_NULL, 0, "grads");
    attn__backward_list(check, w);
    attn__plan_resolve(plan, check, 1);
}

/* Of the gradient of an input that items share: 1, or as many. */
static size_t attn__gradient_items(const attn_tensor *grad, const attn_tensor *t)
{
    int empty = t->heads == 0 || t->len == 0 || t->dim == 0; /* packed, that has batch_stride 0 too */
    return t->batch > 1 && t->batch_stride == 0 && (!empty || grad->batch == 1) ? 1 : t->batch;
}

/* Is the bias what attn_relative makes, and the gradient by distance of its shape? */
static int attn__is_by_distance(const attn__backward *w)
{
    const attn_tensor *bias = &w->plan->call.opts.bias, *q = &w->plan->call.q;
    const attn_mat *m = &w->grads.by_distance;
    size_t Lk = w->plan->call.k.len;
    return attn__mat_absent(m) || (attn__is_shape(bias, 1, q->heads, q->len, Lk) && m->rows == q->heads &&
                                   ((size_t)bias->len_stride + (size_t)bias->dim_stride == 0 || m->cols <= 1) &&
                                   m->cols == attn__max(q->len + Lk, 1) - 1);
}

static void attn__backward_list(attn__check *c, const attn__backward *w)
{
    static const attn__argument attn__members[] = {
        ATTN__MEMBER(grads, grads, q, ATTN__GRADIENT, ATTN__SHAPE4(Gq, H, Lq, D)),
        ATTN__MEMBER(grads, grads, k, ATTN__GRADIENT, ATTN__SHAPE4(Gk, Hkv, Lk, D)),
        ATTN__MEMBER(grads, grads, v, ATTN__GRADIENT, ATTN__SHAPE4(Gv, Hkv, Lk, Dv)),
        ATTN__MEMBER(grads, grads, bias, ATTN__GRADIENT | ATTN__ANY_FLOAT, ATTN__SHAPE4(Xb, Xh, Xq, Xk)),
        ATTN__MEMBER(grads, grads, by_distance, ATTN__GRADIENT | ATTN__MAT | ATTN__ANY_FLOAT,
                     ATTN__SHAPE2(H, distances)),
        ATTN__MEMBER(grads, grads, sinks, ATTN__GRADIENT | ATTN__FLOATS, ATTN__SHAPE1(H)),
        ATTN__MEMBER(grads, grads, alibi_slopes, ATTN__GRADIENT | ATTN__FLOATS, ATTN__SHAPE1(H)),
        ATTN__MEMBER(grads, grads, dlse, ATTN__LATE | ATTN__OPTIONAL | ATTN__ANY_FLOAT, ATTN__SHAPE4(B, H, Lq, 1)),
        {"grads.score_mod_grad", ATTN__POINTER, offsetof(attn_grads, score_mod_grad), ATTN__SHAPE0}};
    static const attn__argument attn__arguments[] = {
        {"dout", ATTN__LATE, 0, ATTN__SHAPE4(B, H, Lq, Dv)},
        {"q", ATTN__IN, 0, ATTN__SHAPE4(B, H, Lq, D)},
        {"k", ATTN__IN, 0, ATTN__SHAPE4(B, Hkv, Lk, D)},
        {"v", ATTN__IN, 0, ATTN__SHAPE4(B, Hkv, Lk, Dv)},
        {"out", ATTN__LATE, 0, ATTN__SHAPE4(B, H, Lq, Dv)},
        {"lse", ATTN__LATE | ATTN__COMPUTED, 0, ATTN__SHAPE4(B, H, Lq, 1)}};
    const attn_grads *g = &w->grads;
    const attn__call *call = &w->plan->call;
    const attn_opts *o = &call->opts;
    c->ignored = g->accumulate ? 0 : ATTN__SUM;
    attn__bind(c, ATTN__L_Gq, attn__gradient_items(&g->q, &call->q));
    attn__bind(c, ATTN__L_Gk, attn__gradient_items(&g->k, &call->k));
    attn__bind(c, ATTN__L_Gv, attn__gradient_items(&g->v, &call->v));
    attn__bind(c, ATTN__L_Xb, o->bias.batch);
    attn__bind(c, ATTN__L_Xh, o->bias.heads);
    attn__bind(c, ATTN__L_Xq, o->bias.len);
    attn__bind(c, ATTN__L_Xk, o->bias.dim);
    attn__bind(c, ATTN__L_distances, attn__max(call->q.len + call->k.len, 1) - 1);
    attn__list(c, attn__members, 8, g, NULL, 0);
    attn__list(c, attn__members + 8, 1, g, NULL, !o->score_mod);
    ATTN__LIST(c, attn__arguments, &w->dout, &call->q, &call->k, &call->v, &call->out, &w->lse);
    attn__list_options(c, w->plan);
    attn__check_views(c);
    attn__require(c, attn__tensor_absent(&g->bias) || !attn__tensor_absent(&o->bias), ATTN_ERR_SHAPE, "grads.bias");
    attn__require(c, attn__is_by_distance(w), ATTN_ERR_SHAPE, "grads.by_distance");
    attn__require(c, !g->sinks || o->sinks, ATTN_ERR_SHAPE, "grads.sinks");
    attn__require(c, !g->alibi_slopes || o->alibi_slopes, ATTN_ERR_SHAPE, "grads.alibi_slopes");
    attn__require_inputs(c, call);
}

/* Cuts the work. The scratch is laid out when the call runs: first base is only kept. */
static size_t attn__place_backward(attn__plan *plan, char *base)
{
    attn__backward *w = &((attn__sdpa_backward *)plan)->way;
    plan->scratch = base;
    return attn__backward_schedule(w) ? w->bytes : SIZE_MAX;
}

/* How the work is cut, for arguments that have been checked; returns 0 if something overflows. */
static int attn__backward_schedule(attn__backward *w)
{
    attn__schedule *s = &w->plan->schedule;
    const attn__call *call = &w->plan->call;
    const attn__kernels *kern = attn__kern(call);
    const attn_grads *g = &w->grads;
    size_t B = attn__items(w->plan), Hkv = call->k.heads;
    size_t width = attn__ctx_workers(&call->ctx, SIZE_MAX);
    int dbias = !attn__tensor_absent(&g->bias);
    size_t heads, tiles, bytes, most;
    attn__arena arena = {NULL, 0};
    attn__backward_worker worker;
    w->group = Hkv > 0 ? attn__max(call->q.heads / Hkv, 1) : 1;
    /* at least one head: sums over no items are to be 0 */
    if (!attn__mul_size(&heads, attn__max(B, 1), attn__max(attn__max(Hkv, call->q.heads), 1)) ||
        !attn__mul_size(&most, w->group, call->q.len))
        return 0;

    /* blocks have rows of one query head, queries on lanes; K and V are copied, chunk by chunk */
    ATTN__MEMSET(s, 0, sizeof *s);
    attn__plan_keys(w->plan, 1);
    w->block_rows = attn__min(attn__max(attn__whole(call->q.len, kern->lanes), kern->lanes), kern->cols);
    w->plan->column = w->block_rows;
    w->head_blocks = attn__ceil_div(call->q.len, w->block_rows);
    w->unit_blocks = call->q.heads > 0 ? w->group * w->head_blocks : 0;
    tiles = attn__ceil_div(call->k.len, s->tile_keys);
    if (!attn__mul_size(&bytes, 2 * s->tile_keys * kern->size, call->q.dim + call->v.dim) ||
        (B > 0 && call->q.heads > 0 && !attn__mul_size(&most, heads, w->head_blocks)))
        return 0;
    w->modified = call->opts.score_mod || call->opts.softcap > 0 || dbias || !attn__mat_absent(&g->by_distance) ||
                  g->alibi_slopes;
    if (dbias && g->bias.dim == call->k.len && g->bias.len == call->q.len &&
        (g->bias.batch != call->q.batch || g->bias.heads != call->q.heads) &&
        !attn__mul_size(&w->places, g->bias.batch * g->bias.heads * w->head_blocks, tiles))
        return 0;

    /* units, chunks and cells */
    /* a gradient that is summed over items has a batch of 1, one that is not wanted 0 */
    w->items = call->q.batch > 1 && (g->q.batch == 1 || g->k.batch == 1 || g->v.batch == 1) ? B : 1;
    w->units = w->items > 1 ? Hkv : B * Hkv;
    w->whole_units = w->units;
#ifdef ATTN__ATOMIC_TAKE
    if (w->units < 2 * ATTN__WORKER_ITEMS * width)
        w->whole_units -= w->units % width;
#endif
    w->chunk_keys = attn__min(attn__max(ATTN__CACHED_BYTES / bytes, 1), tiles);
    w->cell_blocks = attn__max(w->unit_blocks, 1);
    if (w->whole_units < w->units) {
        w->chunk_keys = attn__min(attn__ceil_div(tiles, ATTN__WORKER_ITEMS * width), w->chunk_keys);
        w->cell_blocks = attn__max(attn__ceil_div(w->unit_blocks, 2 * ATTN__WORKER_ITEMS * width), 1);
    }
    w->chunk_keys = attn__max(w->chunk_keys, 1) * s->tile_keys;
    w->chunks = attn__ceil_div(call->k.len, w->chunk_keys);
    w->cell_rows = attn__ceil_div(w->unit_blocks, w->cell_blocks);
    w->rows = (w->units - w->whole_units) * w->cell_rows;
    most = attn__max(heads, (w->units - w->whole_units) * attn__min(w->cell_rows, w->chunks)); /* ready at one time */
    w->workers = attn__min(width, most);

    /* scratch */
    attn__carve_backward(&arena, w, &worker);
    w->worker_bytes = arena.used;
    return arena.used != SIZE_MAX && attn__carve_sums(w, NULL);
}

static void attn__say_backward(attn__message *t, const attn__backward *w)
{
    attn__say_number(t, "query blocks of ", attn__min(w->plan->call.q.len, w->block_rows), " rows x ");
    attn__say_number(t, "key tiles of ", w->plan->schedule.tile_keys, ", in ");
    attn__say_number(t, "", w->chunks, w->chunks == 1 ? " chunk of " : " chunks of ");
    attn__say_number(t, "", w->chunk_keys, " keys, which are copied\n");
    attn__say_number(t, "", w->whole_units, " units of one key/value head");
    attn__say_number(t, ", ", w->units - w->whole_units, " units cut into cells of ");
    attn__say_number(t, "", w->cell_blocks, " query blocks x one chunk, on ");
    attn__say_number(t, "", w->workers, w->workers == 1 ? " task\n" : " tasks\n");
    if (w->sums[ATTN__DQ].out || w->sums[ATTN__DK].out || w->sums[ATTN__DV].out)
        attn__say(t, "gradients of 16-bit types are summed in scratch\n");
    if (w->places > 0)
        attn__say(t, "grads.bias: every score is computed once more, as heads or items share the bias\n");
}

static void attn__say_way(attn__message *t, const attn__plan *plan)
{
    attn__say_pairs(t, &plan->call);
    attn__say_backward(t, &((const attn__sdpa_backward *)plan)->way);
}

/* -- workers -- */

static size_t attn__count_heads(const attn_tensor *t) /* that have elements */
{
    return t->data && t->len > 0 && t->dim > 0 ? t->batch * t->heads : 0;
}

/* The planned call, in plan.scratch, aligned. */
static void attn__backward_execute(attn__backward *w)
{
    size_t cleared = 0, finished = 0, n;
    int wanted = 0; /* anything that is summed tile by tile */
    attn__sum *sum;
    attn__carve_sums(w, w->plan->scratch);
    for (n = 0; n < attn__kern(&w->plan->call)->cols; n++)
        attn__set_real(w->plan, w->ones, n, 1.0);
    for (sum = w->sums; sum < w->sums + ATTN__SUMS; sum++) {
        sum->cleared = sum->out || !w->grads.accumulate ? attn__count_heads(&sum->at) : 0;
        sum->finished = sum->out ? attn__count_heads(sum->out) : 0;
        cleared += sum->cleared;
        finished += sum->finished;
        wanted |= sum->at.data != NULL;
    }
    attn__run_phase(w, attn__clear_head, cleared);
    if (wanted && w->chunks > 0 && w->unit_blocks > 0) {
        attn__run_phase(w, attn__backward_unit, w->whole_units);
        for (w->item = 0; w->item < w->items && w->whole_units < w->units; w->item++)
            attn__run_cells(w);
    }
    attn__run_phase(w, attn__finish_head, finished);
    attn__run_phase(w, attn__sum_sink, w->grads.sinks ? w->plan->call.q.heads : 0);
    if (w->places == 0)
        return;
    w->summing_places = 1; /* and nothing else, of chunks of one tile */
    w->chunk_keys = w->plan->schedule.tile_keys;
    w->chunks = attn__ceil_div(w->plan->call.k.len, w->chunk_keys);
    ATTN__MEMSET(w->sums, 0, sizeof w->sums);
    attn__run_phase(w, attn__sum_place, w->places);
}

/* Sums of so many items, heads, ... in scratch, of which `out` is made. */
static void attn__carve_sum(attn__sum *sum, attn__arena *arena, attn_dtype real, size_t B, size_t H, size_t L, size_t D,
                            const attn_tensor *out)
{
    sum->at = attn_bhld(NULL, ATTN_F64, B, H, L, D); /* or bad */
    sum->at.dtype = real;
    if (attn__tensor_bad(&sum->at))
        arena->used = SIZE_MAX;
    else
        sum->at.data = attn__carve(arena, B * H * L * D, attn__size(real));
    sum->out = out;
}

/* Lays out the scratch: that of the workers, then sums. Returns 0 on overflow. */
static int attn__carve_sums(attn__backward *w, char *base)
{
    const attn__call *call = &w->plan->call;
    const attn_grads *g = &w->grads;
    const attn_mat *m = &g->by_distance;
    attn_dtype real = attn__kern(call)->real;
    size_t B = call->q.batch, H = call->q.heads, Lq = call->q.len, Lk = call->k.len;
    attn__sum *sums = w->sums;
    int dbias = !attn__tensor_absent(&g->bias);
    attn__arena arena = {base, 0};
    attn__carve(&arena, w->workers, w->worker_bytes);
    w->cells = (size_t *)attn__carve(&arena, w->rows, sizeof *w->cells);
    w->ones = (char *)attn__carve(&arena, attn__kern(call)->cols, attn__kern(call)->size);
    attn__place_sum(&sums[ATTN__DQ], &arena, real, &g->q);
    attn__place_sum(&sums[ATTN__DK], &arena, real, &g->k);
    attn__place_sum(&sums[ATTN__DV], &arena, real, &g->v);
    if (dbias && g->bias.dim != Lk)
        attn__carve_sum(&sums[ATTN__DBIAS], &arena, real, B, H, Lq, 1, &g->bias);
    else if (dbias && g->bias.len != Lq)
        attn__carve_sum(&sums[ATTN__DBIAS], &arena, real, B, H, 1, Lk, &g->bias);
    else if (w->places == 0)
        sums[ATTN__DBIAS].at = g->bias;
    if (!attn__mat_absent(m)) {
        w->distances = attn_tensor_of(m->data, m->dtype, 1, H, 1, m->cols, 0, m->row_stride, 0, m->col_stride);
        attn__carve_sum(&sums[ATTN__DDISTANCES], &arena, real, B, H, 1, m->cols, &w->distances);
    }
    if (g->alibi_slopes) {
        w->slopes = attn_tensor_of(g->alibi_slopes, ATTN_F32, 1, H, 1, 1, 0, 1, 0, 0);
        attn__carve_sum(&sums[ATTN__DSLOPES], &arena, real, B, H, Lq, 1, &w->slopes);
    }
    attn__carve(&arena, 1, ATTN__ALIGN); /* to align what the caller gives */
    w->bytes = arena.used;
    return arena.used != SIZE_MAX;
}

/* A gradient is summed in its place if that has the compute type, else in scratch. */
static void attn__place_sum(attn__sum *sum, attn__arena *arena, attn_dtype real, const attn_tensor *out)
{
    sum->at = *out;
    if (!attn__tensor_absent(out) && out->dtype != real)
        attn__carve_sum(sum, arena, real, out->batch, out->heads, out->len, out->dim, out);
    if (sum->at.batch == 1)
        sum->at.batch_stride = 0;
}

static void attn__run_phase(attn__backward *w, void (*item)(attn__backward_worker *, size_t), size_t items)
{
    w->phase = item;
    attn__spread(&w->plan->call.ctx, w->workers, items, attn__phase_worker, w, NULL, 0);
}

static void attn__phase_worker(attn__share *share)
{
    attn__backward *w = (attn__backward *)share->arg;
    attn__arena arena = {w->plan->scratch + share->index * w->worker_bytes, 0};
    attn__backward_worker worker;
    size_t index;
    worker.backward = w;
    worker.call = &w->plan->call;
    worker.kern = attn__kern(&w->plan->call);
    attn__carve_backward(&arena, w, &worker);
    attn__begin_tiles(&worker.block, w->plan, &worker.shared);
    worker.k_nonfinite = worker.q_nonfinite = worker.dout_nonfinite = 0;
    worker.keys.from = worker.keys.to = 0;
    while (attn__take(share, &index))
        w->phase(&worker, index);
}

/* Lays out the arrays of a worker. */
static void attn__carve_backward(attn__arena *arena, const attn__backward *w, attn__backward_worker *worker)
{
    const attn__schedule *s = &w->plan->schedule;
    const attn__call *call = &w->plan->call;
    const attn_opts *o = &call->opts;
    const attn__kernels *kern = attn__kern(call);
    attn__block *block = &worker->block;
    attn__shared *shared = &worker->shared;
    size_t column = w->block_rows * kern->size, D = call->q.dim, Dv = call->v.dim;
    size_t wide = attn__whole(D, kern->lanes), wide_v = attn__whole(Dv, kern->lanes);
    int dq = !w->summing_places && !attn__tensor_absent(&w->grads.q);
    int dk = !w->summing_places && !attn__tensor_absent(&w->grads.k);
    int dv = !w->summing_places && !attn__tensor_absent(&w->grads.v);
    shared->scores = (char *)attn__carve(arena, s->tile_keys, column);
    shared->run = (attn__run *)attn__carve(arena, s->scattered ? s->tile_keys : 1, sizeof(attn__run));
    shared->bias = (char *)attn__carve(arena, call->edits & ATTN__EDIT_BIAS ? s->tile_keys : 0, column);
    shared->mask = (char *)attn__carve(arena, s->hides ? s->tile_keys : 0, column);
    shared->row = (char *)attn__carve(arena, o->score_mod ? 2 * s->tile_keys : 0, kern->size);
    shared->before = (char *)attn__carve(arena, o->score_mod ? s->tile_keys : 0, column);
    shared->capped = (char *)attn__carve(arena, o->softcap > 0 ? s->tile_keys : 0, column);
    shared->scales = NULL;
    shared->k.rows = (char *)attn__carve(arena, w->chunk_keys * kern->size, D);
    shared->v.rows = (char *)attn__carve(arena, w->chunk_keys * kern->size, Dv);
    block->rows = (attn__row *)attn__carve(arena, w->block_rows, sizeof(attn__row));
    block->mask_cache = (unsigned char *)attn__carve(arena, 2 * s->mask_tiles, 1);
    block->drop_rows = (uint32_t *)attn__carve(arena, attn__drops(o) ? 2 * w->block_rows : 0, sizeof(uint32_t));
    block->reals = (char *)attn__carve(arena, ATTN__REALS, column);
    block->queries = (char *)attn__carve(arena, D, column);
    worker->dout = (char *)attn__carve(arena, Dv, column);
    worker->q_rows = (char *)attn__carve(arena, dk ? wide : 0, column);
    worker->dout_rows = (char *)attn__carve(arena, dv ? wide_v : 0, column);
    worker->lse = (char *)attn__carve(arena, 1, column);
    worker->delta = (char *)attn__carve(arena, 1, column);
    worker->dscores = (char *)attn__carve(arena, ATTN__TILE_KEYS, column);
    shared->hidden = (uint64_t *)attn__carve(arena, s->tile_keys, sizeof(uint64_t));
    worker->kept = (char *)attn__carve(arena, attn__tensor_absent(&w->grads.bias) ? 0 : s->tile_keys, column);
    worker->clean = (char *)attn__carve(arena, dq ? s->tile_keys * kern->size : 0, D);
    worker->dq = (char *)attn__carve(arena, dq ? attn__whole(D, kern->rows) : 0, column);
    worker->dk = (char *)attn__carve(arena, dk ? w->chunk_keys * kern->size : 0, wide);
    worker->dv = (char *)attn__carve(arena, dv ? w->chunk_keys * kern->size : 0, wide_v);
}

#ifdef ATTN__ATOMIC_TAKE
/* Takes the next cell of this row, number *chunk, if it is ready. */
static int attn__take_cell(attn__backward *w, size_t row, size_t *chunk)
{
    size_t state = ATTN__ATOMIC_LOAD(&w->cells[row]);
    *chunk = state / 2;
    return state % 2 == 0 && *chunk < w->chunks &&
           (row % w->cell_rows == 0 || ATTN__ATOMIC_LOAD(&w->cells[row - 1]) / 2 > *chunk) &&
           ATTN__ATOMIC_TAKE(&w->cells[row], state);
}

/* Cells, each of the first row that has one ready, until there is none, or another worker found none: what has become
   ready since is for that one, too. */
static void attn__backward_cells(attn__backward_worker *worker, size_t index)
{
    attn__backward *w = worker->backward;
    size_t row, chunk = 0;
    (void)index;
    do {
        for (row = 0; row < w->rows && !attn__take_cell(w, row, &chunk); row++)
            continue;
        if (row == w->rows) {
            ATTN__ATOMIC_ADD1(&w->idle);
            return;
        }
        attn__unit_cell(worker, w->whole_units + row / w->cell_rows, w->item, row % w->cell_rows * w->cell_blocks,
                        w->cell_blocks, chunk);
        ATTN__ATOMIC_ADD1(&w->cells[row]);
    } while (ATTN__ATOMIC_LOAD(&w->idle) == 0);
}
#endif

/* All cells of the units that are cut, for one item of those that are summed. A run may end before all is done: where
   workers became idle, as at the beginning. */
static void attn__run_cells(attn__backward *w)
{
#ifdef ATTN__ATOMIC_TAKE
    size_t row;
    ATTN__MEMSET(w->cells, 0, w->rows * sizeof *w->cells);
    for (row = 0; row < w->rows; row++)
        while (w->cells[row] < 2 * w->chunks) {
            w->idle = 0;
            attn__run_phase(w, attn__backward_cells, w->workers);
        }
#else
    (void)w;
#endif
}

/* -- phases: what one item of each is -- */

/* Query blocks from `first` on, so many of a unit if it has them, against a chunk of keys. */
static void attn__unit_cell(attn__backward_worker *worker, size_t unit, size_t item, size_t first, size_t count,
                            size_t chunk)
{
    const attn__backward *w = worker->backward;
    size_t b = w->items > 1 ? item : attn__quotient(unit, worker->call->k.heads);
    size_t kv_head = w->items > 1 ? unit : unit - b * worker->call->k.heads;
    attn__backward_cell(worker, b, kv_head, first, attn__min(first + count, w->unit_blocks), chunk);
}

/* All cells of a unit: of the items whose gradients are summed, one after another. */
static void attn__backward_unit(attn__backward_worker *worker, size_t unit)
{
    const attn__backward *w = worker->backward;
    size_t item, chunk;
    for (item = 0; item < w->items; item++)
        for (chunk = 0; chunk < w->chunks; chunk++)
            attn__unit_cell(worker, unit, item, 0, w->unit_blocks, chunk);
}

/* Items to sum over: none where there are no rows, else a huge batch of nothing would take its time. */
static size_t attn__summed_items(const attn__backward *w)
{
    const attn_tensor *q = &w->plan->call.q;
    return q->heads > 0 && q->len > 0 ? q->batch : 0;
}

/* One place of a bias that heads or items share: a query block against a tile, of each of them in turn. Every score is
   computed once more for that, as sums of all places would take too much memory. */
static void attn__sum_place(attn__backward_worker *worker, size_t index)
{
    const attn__backward *w = worker->backward;
    const attn__call *call = worker->call;
    const attn_tensor *bias = &w->grads.bias;
    size_t room = w->block_rows, tile = index % w->chunks;
    size_t row = index / w->chunks % w->head_blocks, place = index / w->chunks / w->head_blocks;
    size_t head = place % bias->heads, item = place / bias->heads, i = row * room, j = tile * w->chunk_keys, b, h;
    const attn_mat to = attn__bias_place(w, item, head, i, attn__min(room, call->q.len - i), j,
                                         attn__min(w->chunk_keys, call->k.len - j));
    int starts = w->grads.accumulate && to.dtype == attn__kern(call)->real; /* from what is there */
    ATTN__MEMSET(worker->kept, 0, to.rows * room * attn__kern(call)->size);
    if (starts)
        attn__kern(call)->load(worker->kept, room, to.data, to.dtype, to.row_stride, to.col_stride, to.rows, to.cols);
    for (b = item; b < (bias->batch == 1 ? attn__summed_items(w) : item + 1); b++)
        for (h = head; h < (bias->heads == 1 ? call->q.heads : head + 1); h++) {
            size_t block = h % w->group * w->head_blocks + row;
            attn__backward_cell(worker, b, h / w->group, block, block + 1, tile);
        }
    attn__put_sums(worker, &to, worker->kept, room, w->grads.accumulate && !starts);
}

static void attn__clear_head(attn__backward_worker *worker, size_t index) /* counted through all sums */
{
    const attn__sum *sum = worker->backward->sums;
    size_t b, h, i;
    for (; index >= sum->cleared; sum++)
        index -= sum->cleared;
    b = index / sum->at.heads;
    h = index % sum->at.heads;
    for (i = 0; i < sum->at.len; i++)
        attn__fill_part(&sum->at, b, h, i, 0, sum->at.dim, 0.0);
}

/* The gradient of a sink, which is in every denominator: -exp(sink - lse) delta, summed over the rows of its head. */
static void attn__sum_sink(attn__backward_worker *worker, size_t head)
{
    const attn__backward *w = worker->backward;
    size_t items = attn__summed_items(w) > 0 ? attn__items(w->plan) : 0, b, index, row, h, i;
    double sink = (double)worker->call->opts.sinks[head], lse, sum = 0, lost = 0;
    if (attn__bits(sink) == attn__bits(attn__minus_infinity()))
        items = 0;
    for (b = 0; b < items; b++)
        for (index = 0; index < w->head_blocks; index++) {
            if (!attn__place_rows(worker, b, head / w->group, head % w->group * w->head_blocks + index))
                break; /* nor have the others any rows */
            attn__find_delta(worker);
            for (row = 0; row < worker->block.at.count; row++) {
                attn__query_of(&worker->block, row, &h, &i);
                lse = attn__get_element(attn__query_at(&worker->block, &w->lse, h, i, 0), w->lse.dtype);
                attn__add(&sum, &lost, -attn__exp(sink - lse) * (double)attn__get_real(w->plan, worker->delta, row));
            }
        }
    w->grads.sinks[head] = (float)(w->grads.accumulate ? (double)w->grads.sinks[head] + sum : sum);
}

/* Adds up, in double, what belongs to element (b, h, i, d) of the output: all from there on where it has 1. */
static double attn__add_up(const attn__backward *w, const attn__sum *s, size_t b, size_t h, size_t i, size_t d)
{
    const attn_tensor *out = s->out, *at = &s->at;
    const size_t items = out->batch == 1 ? attn__summed_items(w) : b + 1, heads = out->heads == 1 ? at->heads : h + 1;
    const size_t rows = out->len == 1 ? at->len : i + 1, dims = out->dim == 1 ? at->dim : d + 1;
    size_t head, row, dim;
    double sum = 0, lost = 0;
    for (; b < items; b++)
        for (head = h; head < heads; head++)
            for (row = i; row < rows; row++)
                for (dim = d; dim < dims; dim++)
                    attn__add(&sum, &lost, attn__get_element(attn__tensor_at(at, b, head, row, dim), at->dtype));
    return sum;
}

/* A head of an output that is not where it is summed, counted through all of them. */
static void attn__finish_head(attn__backward_worker *worker, size_t index)
{
    const attn__backward *w = worker->backward;
    const attn__sum *sum = w->sums;
    const attn_tensor *out;
    size_t b, h, i, d;
    double x;
    for (; index >= sum->finished; sum++)
        index -= sum->finished;
    out = sum->out;
    b = index / out->heads;
    h = index % out->heads;
    if (sum <= &w->sums[ATTN__DV]) { /* 16-bit gradients are rounded */
        worker->kern->store(attn__tensor_at(out, b, h, 0, 0), out->dtype, out->len_stride, out->dim_stride,
                            attn__tensor_at(&sum->at, b, h, 0, 0), out->dim, out->len, out->dim, 1.0);
        return;
    }
    for (i = 0; i < out->len; i++)
        for (d = 0; d < out->dim; d++) {
            void *element = attn__tensor_at(out, b, h, i, d);
            x = attn__add_up(w, sum, b, h, i, d);
            attn__set_element(
                element, out->dtype,
                (attn__number)(w->grads.accumulate ? (double)attn__get_element(element, out->dtype) + x : x));
        }
}

/* -- a cell -- */

/* The keys of the tile at `tile` that the block may see, in whole register tiles; returns if there are any. */
static int attn__seen_of_tile(attn__backward_worker *worker, size_t tile, attn__range *keys)
{
    const attn__range *seen = &worker->block.visible_to_any;
    int all;
    size_t rows = worker->kern->rows,
           end = attn__min(tile + worker->backward->plan->schedule.tile_keys, worker->keys.to);
    keys->from = attn__max(seen->from, tile);
    keys->to = attn__min(seen->to, end);
    if (keys->from < keys->to)
        *keys = attn__listed_range(&worker->block, keys->from, keys->to, &all);
    if (keys->from >= keys->to)
        return 0;
    keys->from -= (keys->from - tile) % rows;
    keys->to = attn__min(tile + attn__whole(keys->to - tile, rows), end);
    return 1;
}

/* Query blocks first .. end - 1 of a key/value head against a chunk of its keys. */
static void attn__backward_cell(attn__backward_worker *worker, size_t b, size_t kv_head, size_t first, size_t end,
                                size_t chunk)
{
    const attn__backward *w = worker->backward;
    attn__block *block = &worker->block;
    attn__range keys;
    size_t index, tile;
    int gathered;
    worker->keys.from = chunk * w->chunk_keys;
    worker->keys.to = attn__min(worker->keys.from + w->chunk_keys, attn__valid_keys(w->plan, b));
    worker->loaded = 0;
    for (index = first; index < end && worker->keys.from < worker->keys.to; index++) {
        if (!attn__place_rows(worker, b, kv_head, index)) {
            index += w->head_blocks - 1 - index % w->head_blocks; /* nor have the others of this head any rows */
            continue;
        }
        if (!attn__sees_chunk(worker))
            continue;
        for (gathered = 0, tile = worker->keys.from; tile < worker->keys.to; tile += w->plan->schedule.tile_keys) {
            if (!attn__seen_of_tile(worker, tile, &keys) || !attn__prepare_tile(block, keys.from, keys.to))
                continue;
            if (!gathered)
                attn__meet_chunk(worker);
            gathered = 1;
            attn__backward_tile(worker);
        }
        if (gathered && worker->dq)
            attn__scatter(block, &w->sums[ATTN__DQ].at, 0, worker->dq, block->tile.layout, worker->call->q.dim, 1.0);
    }
    if (worker->loaded) {
        attn__move_sums(worker, worker->dk, &w->sums[ATTN__DK].at, 1);
        attn__move_sums(worker, worker->dv, &w->sums[ATTN__DV].at, 1);
    }
}

/* The block sees something of the chunk: now all is read. */
static void attn__meet_chunk(attn__backward_worker *worker)
{
    const attn__backward *w = worker->backward;
    const attn__call *call = worker->call;
    attn__block *block = &worker->block;
    if (!worker->loaded) {
        attn__fetch_rows(worker, &worker->shared.k, &call->k);
        attn__fetch_rows(worker, &worker->shared.v, &call->v);
        worker->k_nonfinite = attn__kern(call)->nonfinite(worker->shared.k.rows, (ptrdiff_t)call->k.dim,
                                                          worker->keys.to - worker->keys.from, call->k.dim);
        attn__move_sums(worker, worker->dk, &w->sums[ATTN__DK].at, 0);
        attn__move_sums(worker, worker->dv, &w->sums[ATTN__DV].at, 0);
        worker->loaded = 1;
    }
    if (attn__drops(&call->opts))
        attn__set_drop_rows(block);
    attn__gather(block, block->queries, block->tile.layout, &call->q, 0, call->q.dim);
    attn__find_delta(worker);
    worker->q_nonfinite = worker->dk && attn__pack_rows(block, worker->q_rows, &call->q);
    worker->dout_nonfinite = worker->dv && attn__pack_rows(block, worker->dout_rows, &w->dout);
    if (worker->dq)
        attn__gather(block, worker->dq, block->tile.layout, &w->sums[ATTN__DQ].at, 0, call->q.dim);
}

/* -- a tile -- */

/* The tile that attn__prepare_tile has made ready, whole register tiles of the chunk's sums. */
static void attn__backward_tile(attn__backward_worker *worker)
{
    const attn__backward *w = worker->backward;
    const attn__kernels *kern = worker->kern;
    const attn__tile *tile = &worker->block.tile;
    const attn_opts *o = &worker->call->opts;
    attn__tile_gradients(worker);
    if (worker->dv && w->dout.dim > 0)
        attn__add_keys(worker, worker->dv, tile->scores, worker->dout_rows, &w->dout, worker->dout_nonfinite);
    attn__add_biases(worker);
    if (!worker->dq && !worker->dk)
        return;
    if (o->softcap > 0)
        kern->block.softcap_backward(tile, worker->dscores, worker->shared.capped, (attn__number)o->softcap,
                                     (attn__number)o->scale);
    else if (w->modified)
        kern->store(worker->dscores, kern->real, 0, 1, worker->dscores, 0, 1, tile->keys * tile->lanes,
                    attn__to_real(w->plan, (attn__number)o->scale));
    if (worker->dq)
        attn__add_queries(worker);
    if (worker->dk)
        attn__add_keys(worker, worker->dk, worker->dscores, worker->q_rows, &worker->call->q, worker->q_nonfinite);
}

/* P and dS of the tile that attn__prepare_tile has made ready, as far as biases need it. P is left in tile->scores. */
static void attn__tile_gradients(attn__backward_worker *worker)
{
    const attn__call *call = worker->call;
    attn__block *block = &worker->block;
    attn__tile *tile = &block->tile;
    attn__rows v;
    ATTN__ON_TILE();
    attn__score_tile(block, ATTN_STAGE_FINAL, 0);
    if (call->opts.score_mod || worker->k_nonfinite || worker->q_nonfinite || worker->dout_nonfinite)
        attn__find_hidden(block, worker->shared.hidden);
    attn__tile_rows(block, &v, &call->v, 1);
    if (call->v.dim > 0)
        attn__kern(call)->gemm(worker->dscores, v.data, v.step, 1, tile->keys, worker->dout, tile->lanes, call->v.dim,
                               0, NULL, NULL);
    else /* there is no data */
        ATTN__MEMSET(worker->dscores, 0, tile->keys * tile->lanes * attn__kern(call)->size);
    attn__drop(block, worker->dscores);
    attn__kern(call)->block.backward(tile, worker->dscores, worker->lse, worker->delta, call->softmax_scale,
                                     worker->backward->modified ? 1 : (attn__number)call->opts.scale);
    attn__drop(block, tile->scores);
    if (call->opts.score_mod)
        attn__modify_gradients(worker);
}

/* dS with respect to what score_mod left becomes that with respect to what it was given. */
ATTN__NOINLINE void attn__modify_gradients(attn__backward_worker *worker)
{
    const attn__block *block = &worker->block;
    const attn__tile *tile = &block->tile;
    size_t row, h, i, j, size = worker->kern->size, k0 = tile->first_key;
    char *before = worker->shared.row, *grads = before + tile->keys * size;
    attn__range seen;
    for (row = 0; row < block->at.count; row++) {
        seen = attn__seen_keys(&block->rows[row], k0, tile->keys);
        if (seen.from == seen.to)
            continue;
        attn__query_of(block, row, &h, &i);
        for (j = seen.from; j < seen.to; j++) {
            size_t at = (j * tile->lanes + row) * size, to = (j - seen.from) * size;
            ATTN__MEMCPY(before + to, worker->shared.before + at, size);
            ATTN__MEMCPY(grads + to, worker->dscores + at, size);
        }
        worker->backward->grads.score_mod_grad(worker->call->opts.score_mod_user, grads, before, seen.to - seen.from,
                                               block->at.b, h, i, k0 + seen.from);
        for (j = seen.from; j < seen.to; j++)
            if (!(worker->shared.hidden[j] >> row & 1))
                ATTN__MEMCPY(worker->dscores + (j * tile->lanes + row) * size, grads + (j - seen.from) * size, size);
    }
}

/* sums += weights rows, over the queries of the block: dk with dS and Q, dv with P and dO. */
static void attn__add_keys(attn__backward_worker *worker, char *sums, const void *weights, const char *rows,
                           const attn_tensor *t, int nonfinite)
{
    const attn__tile *tile = &worker->block.tile;
    size_t padded = attn__whole(t->dim, worker->kern->lanes);
    sums += (tile->first_key - worker->keys.from) * padded * worker->kern->size;
    worker->kern->gemm(sums, weights, (ptrdiff_t)tile->lanes, 1, tile->keys, rows, padded, tile->queries, 0,
                       worker->backward->ones, NULL);
    if (nonfinite)
        attn__add_nonfinite_rows(worker, t, sums, weights);
}

/* The numbers of K, Q and dO that are not finite are left out of products, as 0, and added afterwards for the pairs of
   query and key that see each other. Here for rows t (Q or dO) of the block, and sums of keys in register tiles, from
   the tile's first on. */
ATTN__NOINLINE void attn__add_nonfinite_rows(attn__backward_worker *worker, const attn_tensor *t, char *sums,
                                             const void *weights)
{
    const attn__plan *plan = worker->backward->plan;
    const attn__kernels *kern = worker->kern;
    const attn__block *block = &worker->block;
    const attn__tile *tile = &block->tile;
    size_t padded = attn__whole(t->dim, kern->lanes), row, d, j, h, i, c, at;
    attn__number x;
    for (row = 0; row < block->at.count; row++)
        for (d = 0; d < t->dim; d++) {
            attn__query_of(block, row, &h, &i);
            x = attn__get_element(attn__query_at(block, t, h, i, d), t->dtype);
            c = d - d % kern->cols;
            for (j = 0; j < tile->keys && !attn__is_finite(x); j++) {
                at = (j - j % kern->rows) * padded + c * kern->rows;
                at += j % kern->rows * attn__min(kern->cols, padded - c) + (d - c);
                if (!(worker->shared.hidden[j] >> row & 1))
                    attn__add_product(plan, attn__real_at(plan, sums, at),
                                      attn__real_at(plan, weights, j * tile->lanes + row), x);
            }
        }
}

/* Where dS of so many queries and keys of a head belongs in the gradient of the bias: keys x queries. */
static attn_mat attn__bias_place(const attn__backward *w, size_t b, size_t h, size_t i, size_t queries, size_t j,
                                 size_t keys)
{
    attn_mat place = attn__head_rows(&w->grads.bias, b, h, i, queries, j);
    place.cols = keys;
    return attn_mat_t(place);
}

/* place = x, or += x if it adds; a tile of reals is added in worker->kept, which is faster than attn__add_to. */
static void attn__put_sums(attn__backward_worker *worker, const attn_mat *place, const char *x, size_t ld, int adds)
{
    const attn__kernels *kern = worker->kern;
    if (adds && place->dtype != kern->real) {
        attn__add_to(kern, place, x, ld, 1.0);
        return;
    }
    if (adds) {
        kern->load(worker->kept, ld, place->data, place->dtype, place->row_stride, place->col_stride, place->rows,
                   place->cols);
        kern->add(worker->kept, (ptrdiff_t)ld, x, ld, place->rows, place->cols, 1.0);
    }
    kern->store(place->data, place->dtype, place->row_stride, place->col_stride, adds ? worker->kept : x, ld,
                place->rows, place->cols, 1.0);
}

/* dS is the gradient of biases. Of that of the bias, a sum over keys, and whatever else, is kept of each row; over
   rows, but not keys, of each key; over heads or items alone, it is a phase of its own. */
static void attn__add_biases(attn__backward_worker *worker)
{
    const attn__backward *w = worker->backward;
    const attn__call *call = worker->call;
    const attn__kernels *kern = worker->kern;
    attn__block *block = &worker->block;
    attn__tile *tile = &block->tile;
    const attn_tensor *bias = &w->sums[ATTN__DBIAS].at, *slopes = &w->sums[ATTN__DSLOPES].at;
    const attn_tensor *distances = &w->sums[ATTN__DDISTANCES].at;
    void *rows = NULL, *alibi = NULL;
    size_t b = block->at.b, k0 = tile->first_key, h, i;
    attn__query_of(block, 0, &h, &i);
    if (w->summing_places) {
        kern->add(attn__real_at(w->plan, worker->kept, (k0 - worker->keys.from) * w->block_rows),
                  (ptrdiff_t)w->block_rows, worker->dscores, tile->lanes, tile->keys, block->at.count, 1.0);
    } else if (bias->data && bias->dim != call->k.len) {
        rows = attn__tensor_at(bias, b, h, i, 0);
    } else if (bias->data && bias->len != call->q.len) {
        kern->block.sum_rows(tile, attn__tensor_at(bias, b, h, 0, k0), worker->dscores);
    } else if (bias->data) {
        const attn_mat place = attn__bias_place(w, b, h, i, block->at.count, k0, tile->keys);
        attn__put_sums(worker, &place, worker->dscores, tile->lanes, w->grads.accumulate);
    }
    if (slopes->data) {
        alibi = attn__query_at(block, slopes, h, i, 0);
        attn__set_alibi(block, tile);
    }
    if (rows || alibi)
        kern->block.sum_keys(tile, rows, alibi, worker->dscores);
    if (distances->data) /* that of the last row and the first key, which is the lowest */
        kern->block.sum_distances(tile, attn__tensor_at(distances, b, h, 0, k0 + call->q.len - (i + block->at.count)),
                                  worker->dscores);
}

/* dq += dS^T K, over the keys of the tile. */
static void attn__add_queries(attn__backward_worker *worker)
{
    const attn__kernels *kern = worker->kern;
    const attn_tensor *k = &worker->call->k;
    const attn__tile *tile = &worker->block.tile;
    size_t D = k->dim, n = tile->keys * D;
    attn__rows rows;
    attn__tile_rows(&worker->block, &rows, k, 1);
    if (worker->k_nonfinite) {
        ATTN__MEMCPY(worker->clean, rows.data, n * kern->size);
        attn__clear_nonfinite(kern, worker->clean, n, kern->real);
        rows.data = worker->clean;
    }
    kern->gemm(worker->dq, rows.data, 1, (ptrdiff_t)D, D, worker->dscores, tile->lanes, tile->keys, 0,
               worker->backward->ones, NULL);
    if (worker->k_nonfinite)
        attn__add_nonfinite(&worker->block, k, NULL, worker->dq, tile->layout, worker->dscores, worker->shared.hidden);
}

/* -- a query block: its rows of Q and dO, lse, delta -- */

/* The block's rows of t as panels of gemm, `t->dim` wide. Those numbers that are not finite become 0, so that they do
   not meet the weight 0 of a hidden key; returns if there are such. */
static int attn__pack_rows(const attn__block *block, char *panels, const attn_tensor *t)
{
    const attn__kernels *kern = attn__kern(&block->plan->call);
    size_t n = block->at.count * attn__whole(t->dim, kern->lanes), h, i;
    attn_mat rows;
    attn__query_of(block, 0, &h, &i);
    rows = attn__head_rows(t, block->at.item, h, block->at.start + i, block->at.count, 0);
    attn__gemm_pack(kern, panels, &rows, 0, rows.rows, 0, rows.cols);
    return attn__clear_nonfinite(kern, panels, n, kern->real);
}

/* dO of the block; delta = dout . out - dlse, and lse, of each row; 0 past the last. A row whose lse is -infinity sees
   no key: any finite lse will do. */
static void attn__find_delta(attn__backward_worker *worker)
{
    const attn__backward *w = worker->backward;
    const attn__plan *plan = w->plan;
    const attn__block *block = &worker->block;
    const attn__kernels *kern = worker->kern;
    size_t lanes = block->tile.lanes, Dv = worker->call->v.dim, row, d, n, h, i;
    attn__number lse, delta;
    ATTN__MEMSET(worker->delta, 0, lanes * kern->size);
    ATTN__MEMSET(worker->lse, 0, lanes * kern->size);
    for (d = 0; d < Dv; d += n) { /* so many dims at a time, however many keys there are: dscores has room for them */
        char *dout = attn__real_at(plan, worker->dout, d * lanes);
        n = attn__min(Dv - d, ATTN__TILE_KEYS);
        attn__gather(block, dout, block->tile.layout, &w->dout, d, n);
        attn__gather(block, worker->dscores, block->tile.layout, &worker->call->out, d, n);
        kern->block.add_dot(worker->delta, worker->dscores, dout, n, lanes);
    }
    for (row = 0; row < block->at.count; row++) {
        attn__query_of(block, row, &h, &i);
        lse = attn__get_element(attn__query_at(block, &w->lse, h, i, 0), w->lse.dtype);
        if (attn__bits(lse) == attn__bits(attn__minus_infinity()))
            lse = 0;
        attn__set_real(plan, worker->lse, row, ATTN__NUMBER(divide)(lse, worker->call->softmax_scale));
        delta = attn__get_real(plan, worker->delta, row);
        if (w->grads.dlse.data)
            delta -= attn__get_element(attn__query_at(block, &w->grads.dlse, h, i, 0), w->grads.dlse.dtype);
        attn__set_real(plan, worker->delta, row, delta);
    }
}

/* Makes the block query block number `index` of a key/value head, counted through its group, and ready for
   attn__prepare_tile; returns if it has rows: of one query head, from a multiple of block_rows on, with lists too, for
   sums depend on that. */
static int attn__place_rows(attn__backward_worker *worker, size_t b, size_t kv_head, size_t index)
{
    const attn__backward *w = worker->backward;
    attn__block *block = &worker->block;
    attn__place *at = &block->at;
    size_t head = attn__quotient(index, w->head_blocks), first = (index - head * w->head_blocks) * w->block_rows;
    attn__begin_item(at, w->plan, b);
    at->queries = attn__valid_queries(w->plan, b);
    at->kv_head = kv_head;
    at->heads = 1;
    at->head = kv_head * w->group;
    at->row = head * at->queries + first;
    at->count = first < at->queries ? attn__min(w->block_rows, at->queries - first) : 0;
    block->tile.queries = at->count;
    block->tile.lanes = attn__whole(at->count, worker->kern->lanes);
    block->tile.layout = attn__layout_of(block, 0);
    block->split_keys = worker->keys;
    if (w->plan->schedule.mask_tiles > 0)
        ATTN__MEMSET(block->mask_cache, 0, 2 * w->plan->schedule.mask_tiles);
    return at->count > 0;
}

/* Does the block see keys of the chunk? The later a row, the later the keys that it sees: mostly the first and the last
   row tell already that it does not. */
static int attn__sees_chunk(attn__backward_worker *worker)
{
    attn__block *block = &worker->block;
    attn__row row;
    size_t h, i;
    attn__query_of(block, 0, &h, &i);
    attn__visible(&row, block->plan, block->at.b, i);
    if (row.seen.from >= worker->keys.to)
        return 0;
    attn__visible(&row, block->plan, block->at.b, i + block->at.count - 1);
    if (row.seen.to <= worker->keys.from)
        return 0;
    attn__find_visible(block);
    return attn__max(block->visible_to_any.from, worker->keys.from) <
           attn__min(block->visible_to_any.to, worker->keys.to);
}

/* -- a chunk: its rows of K and V, its sums -- */

/* The chunk's rows of k or v, or of their gradients, as they lie. */
static attn_mat attn__chunk_rows(const attn__backward_worker *worker, const attn_tensor *t)
{
    const attn__range *keys = &worker->keys;
    const attn__place *at = &worker->block.at;
    size_t item, row,
        n = attn__find_rows(&worker->backward->plan->source, at->b, keys->from, keys->to - keys->from, &item, &row);
    return attn__head_rows(t, item, at->kv_head, row, n, 0);
}

static void attn__fetch_rows(const attn__backward_worker *worker, attn__tile_cache *cache, const attn_tensor *t)
{
    const attn_mat rows = attn__chunk_rows(worker, t);
    if (t->dim > 0) /* else there may be no data */
        worker->kern->load(cache->rows, t->dim, rows.data, rows.dtype, rows.row_stride, rows.col_stride, rows.rows,
                           rows.cols);
    cache->head = worker->block.at.kv_head;
    cache->held = worker->keys;
}

/* Sums of the chunk's keys come from the gradient t to register tiles as gemm has them, or go back. NULL: none is
   wanted. */
static void attn__move_sums(const attn__backward_worker *worker, char *tiles, const attn_tensor *t, int store)
{
    const attn__kernels *kern = worker->kern;
    const attn_mat m = attn__chunk_rows(worker, t);
    size_t padded = attn__whole(m.cols, kern->lanes), r, c, high, wide, ld;
    for (r = 0; tiles && r < m.rows; r += kern->rows)
        for (c = 0; c < m.cols; c += kern->cols) {
            char *tile = tiles + (r * padded + c * kern->rows) * kern->size;
            void *at = attn__mat_at(&m, r, c);
            ld = attn__min(kern->cols, padded - c);
            high = attn__min(kern->rows, m.rows - r);
            wide = attn__min(kern->cols, m.cols - c);
            if (store)
                kern->store(at, m.dtype, m.row_stride, m.col_stride, tile, ld, high, wide, 1.0);
            else
                kern->load(tile, ld, at, m.dtype, m.row_stride, m.col_stride, high, wide);
        }
}

/* -- multi-head layer --

   A row x of an input, or of the heads' out, became y = x w + b. Given dy,

       dx = dy w^T      dw = x^T dy      db = 1^T dy          over all tokens of the batch

   The forward pass is computed once more, with lse; then the gradients of Q, K and V as heads, from that of the heads'
   out. dw is one product over the tokens whose rows of heads (dy; for wo that is x) are not all zero: tokens that are
   padding, or hidden from all, or see nothing, take no part in it, whatever the caller has there. */

static void attn__bias_backward(const attn__mha_backward *w, const attn__projection *p)
{
    attn_tensor dy = attn__join_heads(p->d.x ? p->d.heads : p->x);
    attn_mat sums = attn_mat_of(w->rows, attn__kern(&w->mha.plan.call)->real, 1, dy.dim), ones, rows;
    size_t b, c;
    if (!p->d.b || dy.dim == 0)
        return;
    ATTN__MEMSET(sums.data, 0, sums.cols * attn__size(sums.dtype));
    for (b = 0; b < dy.batch && dy.len > 0; b++) {
        rows = attn__head_rows(&dy, b, 0, 0, p->lens ? p->lens[b] : dy.len, 0);
        ones = attn__ones(sums.dtype, 1, rows.rows);
        attn__product(&sums, &ones, &rows, NULL, 1.0, 1, 0, &w->mha.ctx);
    }
    for (c = 0; c < dy.dim; c++)
        p->d.b[c] = (float)(attn__mat_get(&sums, 0, c) + (w->grads->accumulate ? (double)p->d.b[c] : 0));
}

static void attn__mha_backward_run(attn__plan *plan)
{
    attn__mha_backward *w = (attn__mha_backward *)plan;
    const attn__projection *p = w->mha.p, *last = p + 3;
    const attn_mat wot = attn_mat_t(*last->w);
    int inner = !attn__tensor_absent(&w->heads.dout);
    if (inner || !attn__mat_absent(&w->grads->wo)) {
        attn__plan_schedule(plan);
        attn__mha_attend(&w->mha);
    }
    if (inner) {
        attn__project(&w->mha, &w->heads.dout, last->x, &wot, NULL, last->lens, 0);
        attn__backward_schedule(&w->heads);
        attn__backward_execute(&w->heads);
    }
    for (; p <= last; p++) {
        attn__bias_backward(w, p);
        if (p < last)
            attn__input_backward(w, p);
        attn__weights_backward(w, p);
    }
}

/* dx; of an input that the batch shares, from the sum of heads over the batch, in w->rows. */
static void attn__input_backward(const attn__mha_backward *w, const attn__projection *p)
{
    attn_mat wt = attn_mat_t(*p->w), ones, items, sum;
    attn_tensor heads = *p->d.heads;
    const size_t *lens = p->lens;
    size_t most = 0, b, n = heads.len * heads.heads * heads.dim;
    if (attn__tensor_absent(p->d.x))
        return;
    if (p->d.x->batch != heads.batch) {
        for (b = 0; lens && b < heads.batch; b++)
            most = attn__max(most, lens[b]);
        lens = lens ? &most : NULL;
        ones = attn__ones(heads.dtype, 1, heads.batch);
        items = attn_mat_of(heads.data, heads.dtype, heads.batch, n);
        sum = attn_mat_of(w->rows, heads.dtype, 1, n);
        attn__product(&sum, &ones, &items, NULL, 1.0, 0, 0, &w->mha.ctx);
        heads.data = w->rows;
        heads.batch = 1;
    }
    attn__project(&w->mha, p->d.x, &heads, &wt, NULL, lens, w->grads->accumulate);
}

static int attn__is_zero_row(const attn_mat *m, size_t row) /* of reals, of either sign */
{
    size_t c;
    for (c = 0; c < m->cols; c++)
        if (attn__bits(attn__get_element(attn__mat_at(m, row, c), m->dtype)) << 1 != 0)
            return 0;
    return 1;
}

/* dw, the last of the three: it overwrites w->rows, and heads where not all tokens count. The tokens are rows of two
   matrices. Those of x are the caller's where all count and lie side by side, else copies; heads are closed up where
   they lie. */
static void attn__weights_backward(const attn__mha_backward *w, const attn__projection *p)
{
    const attn__kernels *kern = attn__kern(&w->mha.plan.call);
    const attn_tensor rows = attn__join_heads(p->d.heads), all = attn__join_items(*p->x);
    const attn_mat from = attn_mat_of(rows.data, rows.dtype, rows.batch * rows.len, rows.dim);
    size_t L = rows.len, E = p->x->dim, bytes = from.cols * kern->size, count = 0, t, tokens;
    attn_mat x, heads = from, dw = p->d.x ? *p->d.w : attn_mat_t(*p->d.w);
    if (attn__mat_absent(p->d.w))
        return;
    for (t = 0; t < from.rows; t++)
        count += !attn__is_zero_row(&from, t);
    heads.rows = count;
    x = attn_mat_of(w->rows, kern->real, count, E);
    if (count == from.rows && all.batch == 1)
        x = attn__head_rows(&all, 0, 0, 0, count, 0);
    else
        for (t = count = 0; t < from.rows && E > 0; t += attn__max(tokens, 1)) { /* runs of tokens that all count */
            for (tokens = 0; tokens < L - t % L && !attn__is_zero_row(&from, t + tokens); tokens++) /* of one item */
                continue;
            if (tokens == 0)
                continue;
            kern->load(attn__mat_at(&x, count, 0), E, attn__tensor_at(p->x, t / L, 0, t % L, 0), p->x->dtype,
                       p->x->len_stride, p->x->dim_stride, tokens, E);
            ATTN__MEMMOVE(attn__mat_at(&heads, count, 0), attn__mat_at(&from, t, 0), tokens * bytes);
            count += tokens;
        }
    x = attn_mat_t(x);
    attn__product(&dw, &x, &heads, NULL, 1.0, w->grads->accumulate, 0, &w->mha.ctx);
}

/* -- its plan -- */

/* Explains the plan of the way there, then that of the way back, which takes its place. */
static void attn__say_mha_backward(attn__message *t, const attn__plan *plan)
{
    attn__mha_backward *w = (attn__mha_backward *)(uintptr_t)plan;
    attn__plan_schedule(&w->mha.plan);
    attn__say_plan(t, plan);
    if (attn__tensor_absent(&w->heads.dout))
        return;
    attn__backward_schedule(&w->heads);
    attn__say(t, "then the way back through the heads: ");
    attn__say_backward(t, &w->heads);
}

ATTN__NOINLINE attn_status attn__mha_backward_ready(attn__ready *to, const attn__job *job, const attn__given *given)
{
    attn__mha_backward here;
    return attn__plan_job(to, job, &here.mha.plan, given);
}

ATTN_API attn_status attn_mha_backward(const attn_mha_grads *grads, attn_tensor dout, attn_tensor q, attn_tensor k,
                                       attn_tensor v, const attn_mha_weights *weights, const attn_opts *opts,
                                       const attn_ctx *ctx)
{
    static const attn__job attn__layer_back = {
        sizeof(attn__mha_backward), attn__mha_backward_ready, attn__mha_backward_plan, attn__carve_mha_backward, "dout",
        attn__say_mha_backward,     attn__mha_backward_run};
    const attn__given given = {&dout, &q, &k, &v, opts, ctx, weights, grads, NULL, NULL};
    return attn__do_job(&attn__layer_back, &given);
}

static void attn__mha_backward_plan(attn__plan *plan, attn__check *c, const attn__given *given)
{
    static const attn_mha_grads attn__none = ATTN__ZERO;
    const attn_mha_grads *g = given->grads ? (const attn_mha_grads *)given->grads : &attn__none;
    attn__mha_backward *w = (attn__mha_backward *)plan;
    attn__call *call = &plan->call;
    attn_grads *heads = &w->heads.grads;
    const attn__projection_back d[] = {{&heads->q, &g->q, &g->wq, g->bq},
                                       {&heads->k, &g->k, &g->wk, g->bk},
                                       {&heads->v, &g->v, &g->wv, g->bv},
                                       {&call->out, NULL, &g->wo, g->bo}};
    attn__projection *p;
    attn__copy_struct(&w->heads, NULL, sizeof w->heads);
    w->grads = g;
    attn__mha_begin(&w->mha, given);
    attn__forget_outputs(&call->opts);
    for (p = w->mha.p; p < w->mha.p + 4; p++)
        p->d = d[p - w->mha.p];
    attn__check_begin(c, given->ctx);
    if (!given->grads)
        attn__fault(c, ATTN_ERR_NULL, 0, "grads");
    attn__mha_grads_list(c, w);
    attn__mha_list(c, &w->mha, given, 1);
    for (p = w->mha.p; p < w->mha.p + 3; p++)
        if (!attn__tensor_absent(p->d.x) || !attn__mat_absent(p->d.w) || p->d.b) { /* that takes those of heads, lse */
            *p->d.heads = *p->heads;
            w->heads.dout = call->out;
            call->opts.lse = attn__packed(call->q.dtype, call->q.batch, call->q.len, call->q.heads, 1);
            call->has_options = 1;
        }
    attn__plan_resolve(plan, c, 0);
    attn__require(c, !call->opts.score_mod, ATTN_ERR_VALUE, "opts.score_mod");
}

/* Lists the gradients, of the shapes of what they belong to. */
static void attn__mha_grads_list(attn__check *c, const attn__mha_backward *w)
{
    static const attn__argument attn__members[] = {
        ATTN__MEMBER(grads, mha_grads, q, ATTN__GRADIENT, ATTN__SHAPE4(Gq, 1, Lq, Eq)),
        ATTN__MEMBER(grads, mha_grads, k, ATTN__GRADIENT, ATTN__SHAPE4(Gk, 1, Lk, Ek)),
        ATTN__MEMBER(grads, mha_grads, v, ATTN__GRADIENT, ATTN__SHAPE4(Gv, 1, Lk, Ev)),
        ATTN__MEMBER(grads, mha_grads, wq, ATTN__GRADIENT | ATTN__MAT, ATTN__SHAPE2(Eq, HD)),
        ATTN__MEMBER(grads, mha_grads, wk, ATTN__GRADIENT | ATTN__MAT, ATTN__SHAPE2(Ek, KD)),
        ATTN__MEMBER(grads, mha_grads, wv, ATTN__GRADIENT | ATTN__MAT, ATTN__SHAPE2(Ev, KV)),
        ATTN__MEMBER(grads, mha_grads, wo, ATTN__GRADIENT | ATTN__MAT, ATTN__SHAPE2(HV, E)),
        ATTN__MEMBER(grads, mha_grads, bq, ATTN__GRADIENT | ATTN__FLOATS, ATTN__SHAPE1(HD)),
        ATTN__MEMBER(grads, mha_grads, bk, ATTN__GRADIENT | ATTN__FLOATS, ATTN__SHAPE1(KD)),
        ATTN__MEMBER(grads, mha_grads, bv, ATTN__GRADIENT | ATTN__FLOATS, ATTN__SHAPE1(KV)),
        ATTN__MEMBER(grads, mha_grads, bo, ATTN__GRADIENT | ATTN__FLOATS, ATTN__SHAPE1(E))};
    const attn__projection *p = w->mha.p;
    c->ignored = w->grads->accumulate ? 0 : ATTN__SUM;
    attn__bind(c, ATTN__L_Gq, attn__gradient_items(p[0].d.x, p[0].x));
    attn__bind(c, ATTN__L_Gk, attn__gradient_items(p[1].d.x, p[1].x));
    attn__bind(c, ATTN__L_Gv, attn__gradient_items(p[2].d.x, p[2].x));
    attn__list(c, attn__members, 11, w->grads, NULL, 0);
}

/* Carves the scratch of a layer's way back, and cuts the work of the way back through the heads, which runs in it. */
static size_t attn__carve_mha_backward(attn__plan *plan, char *base)
{
    attn__arena arena = {base, 0};
    attn__call *call = &plan->call;
    attn__mha_backward *w = (attn__mha_backward *)plan;
    attn__backward *heads = &w->heads;
    const attn__projection *p = w->mha.p;
    for (; p < w->mha.p + 3; p++)
        attn__carve_tensor(&arena, p->heads);
    attn__carve_tensor(&arena, &call->opts.lse);
    attn__carve_tensor(&arena, &heads->dout);
    w->rows = base; /* as long as these five at least, of which q, k or v has room for sums of heads */
    for (p = w->mha.p; p < w->mha.p + 4; p++) {
        attn_tensor tokens = attn__packed(attn__kern(call)->real, call->q.batch, p->x->len, 1, p->x->dim);
        attn__arena rows = {NULL, 0};
        attn__carve(&rows, p->w->cols, attn__kern(call)->size);
        if (!attn__mat_absent(p->d.w))
            attn__carve_tensor(&rows, &tokens);
        arena.used = attn__max(arena.used, rows.used);
    }
    attn__carve_tensor(&arena, &call->out);
    for (p = w->mha.p; p < w->mha.p + 3; p++)
        attn__carve_tensor(&arena, p->d.heads);
    heads->plan = plan; /* which serves one after the other */
    heads->lse = call->opts.lse;
    if (arena.used == SIZE_MAX || (!attn__tensor_absent(&heads->dout) && !attn__backward_schedule(heads)))
        return SIZE_MAX;
    return attn__carve_rest(&w->mha, &arena, attn__max(plan->bytes, heads->bytes));
}

#endif /* ATTN_NO_TRAINING */

#ifdef __cplusplus
}
#endif

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wignored-pragmas"
#pragma float_control(pop)
#pragma clang diagnostic pop
#endif

#ifdef ATTN__OPTIMIZED_SIZE
#pragma GCC pop_options
typedef int attn__optimized_size;
#undef __OPTIMIZE_SIZE__
#ifdef ATTN__OPTIMIZED
#undef __OPTIMIZE__
#endif
#endif

#endif /* not pasted */
#endif /* ATTN_IMPLEMENTATION, once */

#elif !defined(ATTN__PASS) /* ATTN__GROUND */

/* ==== compiler and configuration ==================================================================================

   What this compiler, this target and the macros of the program allow: libc or none, errno, libm, the passes that can
   be built, inlining, unrolling, atomics. All that depends on them is decided here, by macros that the rest uses
   without asking again. Nothing here knows what attention is. */

#include <float.h>

/* ATTN_NO_STDLIB does without <string.h>: only these three functions, to which compilers emit calls anyway. The builtin
   forms agree with whatever <string.h> a C++ program may include besides. */
#if defined(ATTN_NO_STDLIB) && (defined(__GNUC__) || defined(__clang__))
#define ATTN__MEMCPY __builtin_memcpy
#define ATTN__MEMMOVE __builtin_memmove
#define ATTN__MEMSET __builtin_memset
#else
#if defined(ATTN_NO_STDLIB) && !defined(__cplusplus)
extern void *memcpy(void *to, const void *from, size_t size);
extern void *memmove(void *to, const void *from, size_t size);
extern void *memset(void *to, int byte, size_t size);
#else
#include <string.h>
#endif
#define ATTN__MEMCPY memcpy
#define ATTN__MEMMOVE memmove
#define ATTN__MEMSET memset
#endif

/* The library leaves errno as it was: whatever calls malloc, libm or threads saves it before and restores it after.
   volatile, because -ffast-math assumes that libm does not set it. */
#ifdef ATTN_NO_STDLIB
#define ATTN__ERRNO 0
#define ATTN__ERRNO_KEEP(saved) ((void)(saved))
#else
#include <errno.h>
#define ATTN__ERRNO (*(volatile int *)&errno)
#define ATTN__ERRNO_KEEP(saved) ((void)(ATTN__ERRNO = (saved)))
#endif

/* ATTN_NO_F64 and ATTN_SMALL, as constants: what a build does without stands where it belongs, and is not compiled. */
#ifdef ATTN_NO_F64
#define ATTN__HAS_F64 0
#else
#define ATTN__HAS_F64 1
#endif
#ifdef ATTN_SMALL
#define ATTN__LARGE 0
#else
#define ATTN__LARGE 1
#endif
#if ATTN__HAS_F64
typedef double attn__number; /* of a call, as wide as the widest compute type */
typedef uint64_t attn__number_bits;
#define ATTN__LOAD_NUMBER attn__load
#define ATTN__STORE_NUMBER attn__store
#else
typedef float attn__number;
typedef uint32_t attn__number_bits;
#define ATTN__LOAD_NUMBER attn__load_float
#define ATTN__STORE_NUMBER attn__store_float
#endif
#if ATTN__LARGE || !defined(ATTN_NO_TRAINING)
#define ATTN__MANY 1 /* kernels of many rows: gradients have no others */
#else
#define ATTN__MANY 0
#endif

#if !defined(ATTN_SQRT) || !defined(ATTN_EXP) || !defined(ATTN_LOG) || !defined(ATTN_TANH) || !defined(ATTN_SIN) ||    \
    !defined(ATTN_COS) || !defined(ATTN_POW)
#include <math.h>
#endif
#ifdef ATTN_SQRT
#define ATTN__SQRTF(x) (float)ATTN_SQRT((double)(x))
#else
#define ATTN__SQRTF sqrtf
#define ATTN_SQRT sqrt
#endif
#ifndef ATTN_EXP
#define ATTN_EXP exp
#endif
#ifdef ATTN_LOG
#define ATTN__LOGF(x) (float)ATTN_LOG((double)(x))
#else
#define ATTN__LOGF logf
#define ATTN_LOG log
#endif
#ifndef ATTN_TANH
#define ATTN_TANH tanh
#endif
#ifndef ATTN_SIN
#define ATTN_SIN sin
#endif
#ifndef ATTN_COS
#define ATTN_COS cos
#endif
#ifndef ATTN_POW
#define ATTN_POW pow
#endif

#if defined(ATTN_MALLOC) != defined(ATTN_FREE)
#error "attn.h: define both ATTN_MALLOC and ATTN_FREE, or neither"
#elif !defined(ATTN_MALLOC) && defined(ATTN_NO_STDLIB)
#define ATTN_MALLOC(size) ((void)(size), (void *)0)
#define ATTN_FREE(p) ((void)(p))
#define ATTN__NO_MALLOC 1
#elif !defined(ATTN_MALLOC)
#include <stdlib.h>
#define ATTN_MALLOC(size) malloc(size)
#define ATTN_FREE(p) free(p)
#endif

#ifndef ATTN__NO_MALLOC
#define ATTN__NO_MALLOC 0
#endif

#ifndef ATTN_ASSERT
#define ATTN_ASSERT(condition) ((void)0)
#endif

/* The variants of the kernels that this compiler can build. The program chooses among them when it runs. */
#if !defined(ATTN_NO_SIMD) && !defined(__TINYC__)
#if ((defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))) ||                       \
    (defined(_MSC_VER) && defined(_M_X64))
#define ATTN__X86 1
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__) &&                                        \
    (defined(__GNUC__) || defined(__clang__))
#define ATTN__ARM 1
#endif
#if (defined(__GNUC__) || defined(__clang__)) && !defined(ATTN__ARM) && !(defined(ATTN__X86) && defined(ATTN_SMALL))
#define ATTN__VECTOR128 1
#endif
#endif

#if defined(ATTN__X86) && !defined(ATTN_NO_AVX512) && !defined(ATTN_SMALL)
#define ATTN__HAS_AVX512 1
#endif

/* clang 16 crashes while it compiles this pass; 19 has no intrinsics for it where the target lacks SSE2. */
#if defined(ATTN__HAS_AVX512) && !defined(_MSC_VER) &&                                                                 \
    ((defined(__clang__) && __clang_major__ >= 9 && __clang_major__ != 16 && defined(__SSE2__)) ||                     \
     (!defined(__clang__) && __GNUC__ >= 10))
#define ATTN__AVX512BF16 1
#endif

#if defined(ATTN__X86) || defined(ATTN__ARM) || defined(ATTN__VECTOR128)
#define ATTN__HAS_VECTORS 1
#else
#define ATTN__HAS_VECTORS 0
#endif
#define ATTN__ONE_TABLE (!ATTN__HAS_F64 && !ATTN__HAS_VECTORS)

/* Has the target registers of 16 bytes for the reals of that pass? */
#if defined(ATTN__X86) || defined(__wasm_simd128__) || defined(__VSX__) || defined(__loongarch_sx) ||                  \
    defined(__mips_msa) || (defined(__VX__) && __ARCH__ >= 12) || (defined(__aarch64__) && defined(__ARM_NEON)) ||     \
    (defined(__riscv_v_min_vlen) && __riscv_v_min_vlen >= 128)
#define ATTN__REGISTERS128 1
#endif

#if defined(_MSC_VER)
#include <intrin.h>
#endif
#if defined(ATTN__X86)
#include <immintrin.h>
#elif defined(ATTN__ARM)
#include <arm_neon.h>
#endif

#if defined(ATTN_THREADS) && defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#elif defined(ATTN_THREADS)
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

/* Kernels that are not optimised are slower than a plain loop that is. So, where the program is not, those of vectors
   are, and what of few rows stands between them; what takes gcc long and gains little is left out. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE__) && !defined(ATTN_NO_OPTIMIZE)
#define ATTN__OPTIMIZED 1
#define ATTN__HOT __attribute__((optimize("O2"))) static
#define ATTN__LEAF ATTN__INLINE /* of these kernels */
#else
#define ATTN__HOT static
#define ATTN__LEAF static
#endif

/* A small build is compiled for size, but for kernels of vectors; where there are none, as the program is. */
#if defined(ATTN_SMALL) && ATTN__HAS_VECTORS && defined(__GNUC__) && !defined(__clang__) &&                            \
    !defined(__OPTIMIZE_SIZE__) && !defined(ATTN_NO_OPTIMIZE)
#pragma GCC push_options
#pragma GCC optimize("Os")
#define ATTN__OPTIMIZED_SIZE 1
#endif

/* -ffast-math, or a part of it, would turn comparisons around that NaN makes different, and divisions of infinity into
   products. Where clang cannot be told so (32-bit Arm, wasm, AArch64 before 16), barriers are left: ATTN__OPAQUE. */
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wignored-pragmas"
#pragma float_control(precise, on, push)
#pragma clang diagnostic pop
#endif

#if defined(__clang__)
#define ATTN__UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define ATTN__UNROLL _Pragma("GCC unroll 16")
#else
#define ATTN__UNROLL
#endif

/* For each i below n, which is known where this is compiled: so that arrays of vectors become registers. */
#define ATTN__EACH(i, n)                                                                                               \
    ATTN__UNROLL                                                                                                       \
    for (i = 0; i < (n); i++)

#if defined(__GNUC__) || defined(__clang__)
#define ATTN__INLINE static inline __attribute__((always_inline))
#define ATTN__NOINLINE static __attribute__((noinline))
#define ATTN__TARGET_ATTRIBUTE(features) __attribute__((target(features)))
#define ATTN__PIN_POINTER(p) __asm__("" : "+r"(p))
#define ATTN__PREFETCH(p, caches) __builtin_prefetch(p, 0, caches) /* 3: into the first cache; 2: the second */
#else
#if defined(_MSC_VER)
#define ATTN__INLINE static __forceinline
#define ATTN__NOINLINE static __declspec(noinline)
#else
#define ATTN__INLINE static
#define ATTN__NOINLINE static
#endif
#define ATTN__TARGET_ATTRIBUTE(features)
#define ATTN__PIN_POINTER(p) ((void)0)
#define ATTN__PREFETCH(p, caches) ((void)(p))
#endif

/* What a small build has once, other builds where it is used; and the other way round. */
#if ATTN__LARGE
#define ATTN__UNROLL_IF_LARGE ATTN__UNROLL
#define ATTN__INLINE_IF_LARGE ATTN__INLINE
#define ATTN__NOINLINE_IF_LARGE ATTN__NOINLINE
#else
#define ATTN__UNROLL_IF_LARGE
#define ATTN__INLINE_IF_LARGE ATTN__NOINLINE
#define ATTN__NOINLINE_IF_LARGE static
#endif

/* gcc, which before 12 makes vectors of loops at -O3 alone, makes them of this function's. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__TINYC__)
#define ATTN__VECTORIZE __attribute__((optimize("tree-vectorize")))
#else
#define ATTN__VECTORIZE
#endif

/* Atomics on a size_t, where the compiler has them. ATOMIC_ADD1 adds 1 and returns the old value, ATOMIC_LOAD loads. A
   thread that sees a count also sees what the counting thread wrote before (acquire, release). */
#if defined(__GCC_ATOMIC_POINTER_LOCK_FREE) && __GCC_ATOMIC_POINTER_LOCK_FREE == 2
#define ATTN__ATOMIC_ADD1(p) __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL)
#define ATTN__ATOMIC_LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define ATTN__ATOMIC_TAKE(p, old)                                                                                      \
    __atomic_compare_exchange_n(p, &(old), (old) + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#elif defined(_MSC_VER) && defined(_WIN64)
#define ATTN__ATOMIC_ADD1(p) ((size_t)_InterlockedExchangeAdd64((volatile __int64 *)(p), 1))
#define ATTN__ATOMIC_LOAD(p) ((size_t)_InterlockedOr64((volatile __int64 *)(p), 0))
#define ATTN__ATOMIC_TAKE(p, old)                                                                                      \
    (_InterlockedCompareExchange64((volatile __int64 *)(p), (__int64)((old) + 1), (__int64)(old)) == (__int64)(old))
#endif

/* clang-format off */
#ifdef __cplusplus
#define ATTN__ZERO {}
extern "C" {
#else
#define ATTN__ZERO {0}
#endif
/* clang-format on */

/* ==== sizes and memory ============================================================================================

   Arithmetic on sizes that cannot overflow unseen (attn__mul_size, attn__plus, attn__magnitude), and memory: allocation
   that leaves errno alone, and the arena, from which every call carves its arrays. Who describes memory does so in one
   function that runs twice, to measure and to set pointers: so the two cannot differ. What bytes hold is not known
   here. */

ATTN__NOINLINE void *attn__allocate(size_t size)
{
    int saved = ATTN__ERRNO;
    void *p = ATTN_MALLOC(size);
    ATTN__ERRNO_KEEP(saved);
    return p;
}

ATTN__NOINLINE void attn__release(void *p)
{
    int saved;
    if (!p)
        return;
    saved = ATTN__ERRNO;
    ATTN_FREE(p);
    ATTN__ERRNO_KEEP(saved);
}

ATTN__LEAF size_t attn__min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t attn__max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The number of blocks that cover n elements, n / block rounded up; one block, the common case, without a division. */
static size_t attn__ceil_div(size_t n, size_t block)
{
    return n <= block ? n != 0 : (n - 1) / block + 1;
}

/* n rounded up to whole vectors, register tiles or cache lines: to a multiple of a power of 2. */
static size_t attn__whole(size_t n, size_t power)
{
    return (n + power - 1) & ~(power - 1);
}

/* n / d; nothing, the common case, without a division. */
static size_t attn__quotient(size_t n, size_t d)
{
    return ATTN__LARGE && n < d ? 0 : n / d;
}

static ptrdiff_t attn__plus(ptrdiff_t a, ptrdiff_t b) /* a + b, saturated */
{
    if (b > 0 && a > PTRDIFF_MAX - b)
        return PTRDIFF_MAX;
    if (b < 0 && a < PTRDIFF_MIN - b)
        return PTRDIFF_MIN;
    return a + b;
}

static size_t attn__magnitude(ptrdiff_t x) /* |x|, PTRDIFF_MIN included */
{
    return x < 0 ? (size_t)0 - (size_t)x : (size_t)x;
}

/* *product = a b. Returns 0 if that exceeds PTRDIFF_MAX, the largest size of an object. Factors below half the bits of
   a size_t cannot overflow, so that only large ones cost a division. */
static int attn__mul_size(size_t *product, size_t a, size_t b)
{
    if ((a | b) >> sizeof(size_t) * 4 != 0 && b != 0 && a > (size_t)PTRDIFF_MAX / b)
        return 0;
    *product = a * b;
    return *product <= (size_t)PTRDIFF_MAX;
}

/* Copies a struct; from NULL, it becomes zero. The volatile size keeps compilers from emitting string instructions (rep
   stos, rep movs), which take longer to start than the calls of 3 x 3 matrices last. */
static void attn__copy_struct(void *to, const void *from, size_t bytes)
{
    volatile size_t size = bytes;
    if (from)
        ATTN__MEMCPY(to, from, size);
    else
        ATTN__MEMSET(to, 0, size);
}

/* Memory is described by functions that carve arrays from an arena. Each runs twice: without memory (base NULL) to
   measure it, then with memory, aligned to ATTN__ALIGN, to set the pointers. */
typedef struct attn__arena {
    char *base;  /* NULL: measures only */
    size_t used; /* bytes carved so far, a multiple of ATTN__ALIGN; SIZE_MAX once they overflow */
} attn__arena;

#define ATTN__ALIGN 64 /* bytes of a cache line, and of the widest vector */

ATTN__NOINLINE void *attn__carve_some(attn__arena *arena, size_t count, size_t size)
{
    const size_t most = (size_t)PTRDIFF_MAX - ATTN__ALIGN;
    size_t at = arena->used, bytes;
    if (at > most || !attn__mul_size(&bytes, count, size) || at + bytes > most) {
        arena->used = SIZE_MAX;
        return NULL;
    }
    arena->used = attn__whole(at + bytes, ATTN__ALIGN);
    return arena->base ? arena->base + at : NULL;
}

/* Room for count x size bytes; NULL while measuring, and for nothing. */
ATTN__INLINE void *attn__carve(attn__arena *arena, size_t count, size_t size)
{
    return count > 0 ? attn__carve_some(arena, count, size) : NULL;
}

/* The same for bytes whose sum is known not to overflow: what they are while measuring, nobody asks. */
ATTN__INLINE_IF_LARGE void *attn__put(attn__arena *arena, size_t bytes)
{
    uintptr_t at = (uintptr_t)arena->base + arena->used;
    arena->used += attn__whole(bytes, ATTN__ALIGN);
    return (void *)at;
}

/* ==== views ========================================================================================================

   Matrices and tensors are passed by value in the API and by pointer inside. Here are the constructors of the API, and
   what is asked of a view: is it absent, or bad, does it overflow (attn__measure), where is an element or a part of it
   (attn__at, attn__tensor_at, attn__head_rows, attn__submatrix). What a view is for, and which of its numbers is wrong,
   is for arguments to say. */

static int attn__mat_absent(const attn_mat *m)
{
    return !m->data && ((size_t)m->dtype | m->rows | m->cols | (size_t)m->row_stride | (size_t)m->col_stride) == 0;
}

static int attn__tensor_absent(const attn_tensor *t)
{
    return !t->data && ((size_t)t->dtype | t->batch | t->heads | t->len | t->dim | (size_t)t->batch_stride |
                        (size_t)t->head_stride | (size_t)t->len_stride | (size_t)t->dim_stride) == 0;
}

static const attn_mat attn__bad_mat = {NULL, ATTN_F32, SIZE_MAX, SIZE_MAX, 0, 0};
static const attn_tensor attn__bad_tensor = {NULL, ATTN_F32, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, 0, 0, 0, 0};

static int attn__is_shape(const attn_tensor *t, size_t B, size_t H, size_t L, size_t D)
{
    return t->batch == B && t->heads == H && t->len == L && t->dim == D;
}

static int attn__tensor_bad(const attn_tensor *t)
{
    return !t->data && attn__is_shape(t, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX);
}

ATTN__INLINE size_t attn__size(attn_dtype dtype) /* bytes of an element; 1 for an unknown dtype */
{
    static const unsigned char attn__sizes[] = {4, 8, 2, 2, 1, 1};
    return (unsigned)dtype < sizeof attn__sizes ? attn__sizes[dtype] : 1;
}

static size_t attn__row_bytes(attn_dtype dtype, size_t n) /* of n elements side by side */
{
    return n * attn__size(dtype);
}

static int attn__has_scales(attn_dtype dtype) /* of each row, in caches and pages, which alone hold such */
{
    return dtype == ATTN_I8;
}

/* Does data lie where elements of so many bytes may? A double of 8 bytes may be aligned to fewer than that. */
static int attn__is_aligned(const void *data, size_t size)
{
    struct f64 {
        char c;
        double x;
    };
    return ((uintptr_t)data & ((size == sizeof(double) ? offsetof(struct f64, x) : size) - 1)) == 0;
}

static attn_dtype attn__real(attn_dtype first_input) /* the compute type */
{
    return ATTN__HAS_F64 && first_input == ATTN_F64 ? ATTN_F64 : ATTN_F32;
}

/* One kind of view for all that is asked about memory: a matrix (1 x 1 x rows x cols), a tensor, or an array. */
typedef struct attn__box {
    const char *data;
    attn_dtype dtype;
    size_t n[4];    /* dimensions, outermost first */
    ptrdiff_t s[4]; /* their strides, in elements */
} attn__box;

/* A matrix as the tensor of one item and one head that it is: what is known of tensors holds of matrices, too. */
static attn_tensor attn__as_tensor(const attn_mat *m)
{
    const attn_tensor t = {m->data, m->dtype, 1, 1, m->rows, m->cols, 0, 0, m->row_stride, m->col_stride};
    return t;
}

/* The addresses that a box covers. */
typedef struct attn__extent {
    uintptr_t first, end;
    int ordered; /* each stride steps over all that the ones on its right reach, so that no two elements share one */
} attn__extent;

/* Finds these addresses. Returns 0 if they, a dimension, or the bytes between them overflow. */
ATTN__NOINLINE int attn__measure(const attn__box *box, attn__extent *extent)
{
    const uintptr_t data = (uintptr_t)box->data;
    const size_t most = (size_t)PTRDIFF_MAX;
    size_t reach = 0, below = 0, step, stride, size = attn__size(box->dtype);
    int d, ordered = 1;
    ATTN__UNROLL_IF_LARGE
    for (d = 3; d >= 0; d--)
        if (box->n[d] > 1) {
            stride = attn__magnitude(box->s[d]);
            if (box->n[d] > most || !attn__mul_size(&step, box->n[d] - 1, stride) || step > most - reach)
                return 0;
            ordered &= stride > reach;
            reach += step;
            below += box->s[d] < 0 ? step : 0;
        }
    if (!attn__mul_size(&reach, reach + 1, size))
        return 0;
    extent->first = data - below * size;
    extent->end = extent->first + reach;
    extent->ordered = ordered;
    return !data || (extent->first <= data && data <= extent->end); /* neither wraps around */
}

/* Is it a view that does not overflow, as a bad one does? */
ATTN__INLINE int attn__tensor_fits(const attn_tensor *t)
{
    attn__box box;
    attn__extent extent;
    ATTN__MEMCPY(&box, t, sizeof box);
    return attn__measure(&box, &extent);
}

static int attn__mat_fits(const attn_mat *m)
{
    const attn_tensor t = attn__as_tensor(m);
    return attn__tensor_fits(&t);
}

/* data + elements, const dropped; NULL, which an array without elements may be, stays NULL. */
static void *attn__at(const void *data, attn_dtype dtype, ptrdiff_t elements)
{
    return data ? (char *)(uintptr_t)data + elements * (ptrdiff_t)attn__size(dtype) : NULL;
}

static void *attn__mat_at(const attn_mat *m, size_t r, size_t c)
{
    return attn__at(m->data, m->dtype, (ptrdiff_t)r * m->row_stride + (ptrdiff_t)c * m->col_stride);
}

static attn_mat attn__submatrix(const attn_mat *m, size_t r, size_t c, size_t rows, size_t cols)
{
    const attn_mat some = {attn__mat_at(m, r, c), m->dtype, rows, cols, m->row_stride, m->col_stride};
    return some;
}

ATTN__NOINLINE void *attn__tensor_at(const attn_tensor *t, size_t b, size_t h, size_t i, size_t d)
{
    return attn__at(t->data, t->dtype,
                    (ptrdiff_t)b * t->batch_stride + (ptrdiff_t)h * t->head_stride + (ptrdiff_t)i * t->len_stride +
                        (ptrdiff_t)d * t->dim_stride);
}

/* Rows first .. first + count - 1 of a head, from column d on; all of that is there. */
ATTN__NOINLINE attn_mat attn__head_rows(const attn_tensor *t, size_t b, size_t h, size_t first, size_t count, size_t d)
{
    attn_mat m = {t->data, t->dtype, count, t->dim - d, t->len_stride, t->dim_stride};
    if (count > 0 && t->dim > d)
        m.data = attn__tensor_at(t, b, h, first, d);
    return m;
}

/* Bytes from row to row. That of one row, or of pages that have one each, may be anything. */
static ptrdiff_t attn__step(const attn_tensor *t)
{
    return t->len > 1 ? (ptrdiff_t)((size_t)t->len_stride * attn__size(t->dtype)) : 0;
}

/* Do n x m packed elements fit in the address space? 0 if there are none, too. */
static int attn__elements_fit(const void *data, attn_dtype dtype, size_t n, size_t m)
{
    size_t bytes;
    return attn__mul_size(&bytes, n, m) && attn__mul_size(&bytes, bytes, attn__size(dtype)) && bytes > 0 &&
           (uintptr_t)data <= UINTPTR_MAX - bytes;
}

ATTN_API attn_mat attn_mat_of(const void *data, attn_dtype dtype, size_t rows, size_t cols)
{
    const attn_mat m = {(void *)(uintptr_t)data, dtype, rows, cols, (ptrdiff_t)cols, 1};
    return attn__elements_fit(data, dtype, rows, cols) || attn__mat_fits(&m) ? m : attn__bad_mat;
}

ATTN_API attn_mat attn_mat_new(attn_dtype dtype, size_t rows, size_t cols)
{
    attn_mat m = attn_mat_of(NULL, dtype, rows, cols);
    size_t bytes = rows * cols * attn__size(dtype);
    if ((unsigned)dtype > ATTN_BOOL || !attn__mat_fits(&m)) /* integers have scales beside them: not here */
        return attn__bad_mat;
    if (bytes > 0 && !(m.data = attn__allocate(bytes)))
        return attn__bad_mat;
    if (bytes > 0)
        ATTN__MEMSET(m.data, 0, bytes);
    return m;
}

ATTN_API void attn_mat_free(attn_mat *m)
{
    if (!m)
        return;
    attn__release(m->data);
    ATTN__MEMSET(m, 0, sizeof *m);
}

ATTN_API attn_mat attn_mat_t(attn_mat m)
{
    const attn_mat t = {m.data, m.dtype, m.cols, m.rows, m.col_stride, m.row_stride};
    return t;
}

ATTN_API attn_mat attn_mat_rows(attn_mat m, size_t first, size_t count)
{
    const attn_tensor rows = attn_tensor_slice(attn__as_tensor(&m), first, count); /* bad ones are a bad matrix */
    return attn__head_rows(&rows, 0, 0, 0, rows.len, 0);
}

ATTN_API attn_mat attn_mat_cols(attn_mat m, size_t first, size_t count)
{
    return attn_mat_t(attn_mat_rows(attn_mat_t(m), first, count));
}

ATTN_API attn_tensor attn_tensor_of(const void *data, attn_dtype dtype, size_t B, size_t H, size_t L, size_t D,
                                    ptrdiff_t batch_stride, ptrdiff_t head_stride, ptrdiff_t len_stride,
                                    ptrdiff_t dim_stride)
{
    const attn_tensor t = {
        (void *)(uintptr_t)data, dtype, B, H, L, D, batch_stride, head_stride, len_stride, dim_stride};
    return attn__tensor_fits(&t) ? t : attn__bad_tensor;
}

ATTN_API attn_tensor attn_bhld(const void *data, attn_dtype dtype, size_t B, size_t H, size_t L, size_t D)
{
    attn_tensor t = {(void *)(uintptr_t)data, dtype, B, H, L, D, 0, 0, (ptrdiff_t)D, 1};
    size_t head, item;
    if (!attn__mul_size(&head, L, D) || !attn__mul_size(&item, head, H))
        return attn__bad_tensor;
    t.batch_stride = (ptrdiff_t)item;
    t.head_stride = (ptrdiff_t)head;
    return attn__elements_fit(data, dtype, B, item) || attn__tensor_fits(&t) ? t : attn__bad_tensor;
}

static attn_tensor attn__swapped(attn_tensor t) /* heads and positions change places */
{
    const attn_tensor swapped = {t.data, t.dtype,        t.batch,      t.len,         t.heads,
                                 t.dim,  t.batch_stride, t.len_stride, t.head_stride, t.dim_stride};
    return swapped;
}

ATTN_API attn_tensor attn_blhd(const void *data, attn_dtype dtype, size_t B, size_t L, size_t H, size_t D)
{
    return attn__swapped(attn_bhld(data, dtype, B, L, H, D));
}

ATTN_API attn_status attn_qkv(attn_tensor *q, attn_tensor *k, attn_tensor *v, const void *data, attn_dtype dtype,
                              size_t B, size_t L, size_t H, size_t Hkv, size_t D)
{
    const size_t most = (size_t)PTRDIFF_MAX / 4; /* heads whose number does not overflow */
    const int given = q && k && v, fits = H <= most && Hkv <= most;
    const attn_tensor all = given && fits ? attn_bhld(data, dtype, B, L, H + 2 * Hkv, D) : attn__bad_tensor;
    if (q) /* the "positions" of `all`, whose slices these are, are heads */
        *q = attn__swapped(attn_tensor_slice(all, 0, H));
    if (k)
        *k = attn__swapped(attn_tensor_slice(all, H, Hkv));
    if (v)
        *v = attn__swapped(attn_tensor_slice(all, H + Hkv, Hkv));
    return !given ? ATTN_ERR_NULL : attn__tensor_bad(&all) ? ATTN_ERR_OVERFLOW : ATTN_OK;
}

ATTN_API attn_tensor attn_tensor_slice(attn_tensor t, size_t first, size_t count)
{
    if (!attn__tensor_fits(&t) || first > t.len || count > t.len - first)
        return attn__bad_tensor;
    if (count > 0 && t.batch > 0 && t.heads > 0 && t.dim > 0)
        t.data = attn__tensor_at(&t, 0, 0, first, 0);
    t.len = count;
    return t;
}

ATTN_API attn_tensor attn_heads(attn_mat m, size_t heads)
{
    const size_t D = heads > 0 ? m.cols / heads : 0;
    const attn_tensor absent = ATTN__ZERO;
    if (attn__mat_absent(&m))
        return absent;
    if (!attn__mat_fits(&m) || heads == 0 || m.cols % heads != 0)
        return attn__bad_tensor;
    return attn_tensor_of(m.data, m.dtype, 1, heads, m.rows, D, 0, heads > 1 ? (ptrdiff_t)D * m.col_stride : 0,
                          m.row_stride, m.col_stride);
}

ATTN_API attn_mat attn_head(attn_tensor t, size_t b, size_t h)
{
    if (!attn__tensor_fits(&t) || b >= t.batch || h >= t.heads)
        return attn__bad_mat;
    return attn__head_rows(&t, b, h, 0, t.len, 0);
}

ATTN_API int attn_version(void)
{
    return ATTN_VERSION;
}

ATTN_API const char *attn_status_string(attn_status status)
{
    static const char *const attn__texts[] = {
        "ok",
        "a required argument is missing, or a view that could not be made",
        "dimensions do not fit together",
        "element types do not fit together",
        "a number out of range, a full cache, misaligned data, or an instruction set this CPU lacks",
        "an output overlaps another argument or itself",
        "dimensions, strides or bytes overflow",
        "out of memory"};
    return (unsigned)status < sizeof attn__texts / sizeof *attn__texts ? attn__texts[status] : "unknown status";
}

/* ==== NaN and infinities ===========================================================================================

   They are made and tested by their bits: -ffast-math would fold a comparison. Under it, or a part of it that no macro
   tells of, clang also takes for granted that no argument and no result of a function is NaN or infinite, so bits pass
   where it cannot see what they are. */

#if defined(__clang__)
#define ATTN__OPAQUE_IN(where, bits) __asm__("" : where(bits))
#else
#define ATTN__OPAQUE_IN(where, bits) ((void)0)
#endif
#define ATTN__OPAQUE(bits) ATTN__OPAQUE_IN("+r", bits)

static uint64_t attn__bits(double x)
{
    uint64_t bits;
    ATTN__MEMCPY(&bits, &x, 8);
    ATTN__OPAQUE(bits);
    return bits;
}

static int attn__is_finite(double x)
{
    return (attn__bits(x) >> 52 & 0x7ff) != 0x7ff;
}

static double attn__from_bits(uint64_t bits)
{
    double x;
    ATTN__OPAQUE(bits);
    ATTN__MEMCPY(&x, &bits, 8);
    return x;
}

static double attn__nan(void)
{
    return attn__from_bits((uint64_t)0x7ff8 << 48);
}

static attn__number attn__minus_infinity(void)
{
    return (attn__number)attn__from_bits((uint64_t)0xfff << 52);
}

ATTN__NOINLINE double attn__default(double x, double otherwise) /* x, or `otherwise` if x is 0 */
{
    return attn__bits(x) << 1 != 0 ? x : otherwise;
}

/* Is x finite in the compute type, too? */
static int attn__is_factor(double x, attn_dtype first_input)
{
    return attn__is_finite(x) && (first_input == ATTN_F64 || (x <= FLT_MAX && x >= -FLT_MAX));
}

/* ==== arguments ====================================================================================================

   A public function describes its arguments in a table, from left to right: their names, what may stand there, and
   their shapes in letters, B Hkv Lk D. A letter is bound to a size by the first argument that has it: inputs first,
   then outputs, and what came out of another call (LATE). Who does not fit then is at fault. What a table cannot say, a
   function requires besides. The fault that counts is the first one in the order of statuses, among those of one status
   the leftmost. Functions without a ctx have arguments without names, which nobody would receive. What a function does
   with its arguments is not known here. */

/* -- messages -- */

typedef struct attn__message {
    char *at;
    size_t left; /* with room for the end of the string */
} attn__message;

ATTN__NOINLINE void attn__say(attn__message *text, const char *s)
{
    for (; *s && text->left > 1; s++, text->left--)
        *text->at++ = *s;
    if (text->left > 0)
        *text->at = 0;
}

ATTN__NOINLINE void attn__say_number(attn__message *text, const char *before, size_t n, const char *after)
{
    char digits[24];
    size_t i = sizeof digits - 1;
    digits[i] = 0;
    do
        digits[--i] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    attn__say(text, before);
    attn__say(text, digits + i);
    attn__say(text, after);
}

static int attn__begins(const char *name, const char *with) /* with the other, up to its end or a dot? */
{
    for (; *with; name++, with++)
        if (*name != *with)
            return 0;
    return *name == 0 || *name == '.';
}

/* -- roles and letters -- */

enum attn__role {
    ATTN__IN = 0,
    ATTN__OUT = 1 << 0,
    ATTN__LATE = 1 << 1,       /* an input that binds letters after the others, and does not decide the compute type */
    ATTN__OPTIONAL = 1 << 2,   /* may be absent */
    ATTN__BROADCASTS = 1 << 3, /* 1 stands for any size */
    ATTN__ANY_FLOAT = 1 << 4,  /* F64 too, whatever the compute type */
    ATTN__ANY_TYPE = 1 << 5,   /* any float type or BOOL */
    ATTN__BOOL = 1 << 6,       /* BOOL alone */
    ATTN__IN_PLACE = 1 << 7,   /* an output that may be the very same view as an input */
    ATTN__STORED = 1 << 8,     /* in a cache: any type of float, and I8; an output where the check says so */
    ATTN__COMPUTED = 1 << 9,   /* of the compute type alone */
    ATTN__SUM = 1 << 10,       /* no 16-bit type where the check says so */
    ATTN__MAT = 1 << 11,       /* an attn_mat; else an attn_tensor, or an array: a pointer to as many elements as its */
    ATTN__BYTES = 1 << 12,     /* letters say, of one byte, */
    ATTN__FLOATS = 1 << 13,    /* of four, */
    ATTN__DOUBLES = 1 << 14,   /* of eight, */
    ATTN__IF_ANY = 1 << 15,    /* and may be absent if there are none */
    ATTN__LENGTHS = sizeof(size_t) == 8 ? ATTN__DOUBLES : ATTN__FLOATS,
    ATTN__ARRAY = ATTN__BYTES | ATTN__FLOATS | ATTN__DOUBLES,
    ATTN__WORDS = ATTN__ANY_TYPE | ATTN__OPTIONAL, /* of 4 or 8 bytes, as F32 or F64, which they are not */
    ATTN__POINTER = ATTN__BYTES /* of which is asked whether it is there: without letters it has no elements */
};

/* The letters of shapes. Where a table says so, those of a matrix are the last two; an array has as many elements as
   their product says. */
/* clang-format off */
enum attn__letter {
    ATTN__L_none, ATTN__L_1,                                /* no dimension; 1 */
    ATTN__L_B, ATTN__L_H, ATTN__L_Hkv,                      /* items of a batch; heads; heads of keys and values */
    ATTN__L_Lq, ATTN__L_Lk, ATTN__L_D, ATTN__L_Dv,          /* queries; keys; dims of both, and of values */
    ATTN__L_L, ATTN__L_M, ATTN__L_N, ATTN__L_K,             /* rows, columns, terms of any matrix */
    ATTN__L_E, ATTN__L_Eq, ATTN__L_Ek, ATTN__L_Ev,          /* of a layer: dims of out, q, k, v; */
    ATTN__L_HD, ATTN__L_KD, ATTN__L_KV, ATTN__L_HV,         /* dims of all heads of q, k, v, and of their out */
    ATTN__L_Gq, ATTN__L_Gk, ATTN__L_Gv,                     /* items of the gradients of q, k, v */
    ATTN__L_Xb, ATTN__L_Xh, ATTN__L_Xq, ATTN__L_Xk,         /* dimensions of a bias */
    ATTN__L_items, ATTN__L_starts, ATTN__L_distances,       /* items, or texts; starts of these; of by_distance */
    ATTN__L_lists, ATTN__L_width,                           /* lists of blocks, entries of each */
    ATTN__L_capacity, ATTN__L_pages, ATTN__L_table,         /* tokens of an item or page; pages; those of an item */
    ATTN__L_bytes, ATTN__LETTERS                            /* of scratch, or a struct */
};

#define ATTN__SHAPE0 {ATTN__L_none, ATTN__L_none, ATTN__L_none, ATTN__L_none}
#define ATTN__SHAPE1(a) {ATTN__L_none, ATTN__L_none, ATTN__L_none, ATTN__L_##a}
#define ATTN__SHAPE2(a, b) {ATTN__L_none, ATTN__L_none, ATTN__L_##a, ATTN__L_##b}
#define ATTN__SHAPE3(a, b, c) {ATTN__L_none, ATTN__L_##a, ATTN__L_##b, ATTN__L_##c}
#define ATTN__SHAPE4(a, b, c, d) {ATTN__L_##a, ATTN__L_##b, ATTN__L_##c, ATTN__L_##d}
#define ATTN__MEMBER(of, type, member, role, shape) {#of "." #member, role, offsetof(attn_##type, member), shape}
#define ATTN__INPUT(a, b) {NULL, ATTN__MAT, 0, ATTN__SHAPE2(a, b)} /* matrices of functions without a ctx */
#define ATTN__RESULT(a, b) {NULL, ATTN__MAT | ATTN__OUT, 0, ATTN__SHAPE2(a, b)}
/* clang-format on */

typedef struct attn__argument {
    const char *name;        /* as faults give it: "q", "opts.mask" */
    unsigned short role, at; /* where it is in its struct */
    unsigned char shape[4];  /* enum attn__letter */
} attn__argument;

typedef struct attn__view { /* an argument that is there */
    const attn__argument *is;
    const void *given;  /* the attn_mat, attn_tensor or array; NULL: absent, though it is required */
    attn__extent where; /* once it has been checked: no addresses, if it is at fault or has no data */
} attn__view;

/* attn_mha_backward lists most: the tensors, matrices and arrays in attn_opts but its outputs (9), attn_mha_weights (8)
   and attn_mha_grads (11), dout, q, k, v, weights and scratch. Once one of these types has grown, this does not compile
   (where pointers have 8 bytes): count again then. */
#define ATTN__ARGUMENTS 34

#define ATTN__COUNTED(type, bytes)                                                                                     \
    typedef char attn__counted_##type[sizeof(void *) != 8 || sizeof(type) <= (bytes) ? 1 : -1]
ATTN__COUNTED(attn_opts, 608);
ATTN__COUNTED(attn_mha_weights, 240);
#ifndef ATTN_NO_TRAINING
ATTN__COUNTED(attn_mha_grads, 472);
#endif

typedef struct attn__check {
    attn_status status;           /* ATTN_OK so far, or the fault that comes first in the documented order: */
    size_t position;              /* where in the list the argument at fault is; */
    const char *argument, *other; /* its name; for ALIAS, that of the one that it meets, or NULL; */
    const char *middle, *end_of;  /* and what attn_fault.text says: found, middle, fits, end_of. The numbers only */
    size_t found, fits;           /* where middle joins them: it begins with a space or comma */
    const attn_ctx *ctx;          /* or NULL */
    attn_fault *wanted;
    int ignored, written; /* roles that do not count: SUM, unless it is added to; those that are outputs: STORED */
    uint64_t bound;       /* a bit for each letter that is bound, */
    size_t size[ATTN__LETTERS]; /* and the size */
    attn__view *checked, *end;  /* of the list */
    attn__view view[ATTN__ARGUMENTS];
} attn__check;

/* The size that a letter is bound to: n, if it is met for the first time. So are bound, besides, the letters that are
   known before any argument. */
ATTN__INLINE_IF_LARGE size_t attn__bind(attn__check *c, unsigned letter, size_t n)
{
    if (!(c->bound >> letter & 1)) {
        c->bound |= (uint64_t)1 << letter;
        c->size[letter] = n;
    }
    return c->size[letter];
}

static void attn__check_begin(attn__check *c, const attn_ctx *ctx) /* views are not cleared, which would take longer */
{
    c->status = ATTN_OK;
    c->position = SIZE_MAX;
    c->ctx = ctx;
    c->wanted = ctx ? ctx->fault : NULL;
    c->ignored = ATTN__SUM;
    c->written = 0;
    c->bound = 1 << ATTN__L_none | 1 << ATTN__L_1;
    c->size[ATTN__L_none] = c->size[ATTN__L_1] = 1;
    c->checked = c->end = c->view;
}

/* The place of a status in the documented order of checks. ATTN_OK comes last. */
static int attn__rank(attn_status status)
{
    /*                                      OK NULL SHAPE DTYPE VALUE ALIAS OVERFLOW NOMEM */
    static const unsigned char attn__order[] = {7, 0, 2, 1, 4, 5, 3, 6};
    return attn__order[status];
}

/* Notes a fault, if it comes before the one so far. Returns if it does. */
ATTN__NOINLINE int attn__fault(attn__check *c, attn_status status, size_t position, const char *argument)
{
    int rank = attn__rank(status), before = attn__rank(c->status);
    if (rank > before || (rank == before && position >= c->position))
        return 0;
    c->status = status;
    c->position = position;
    c->argument = argument;
    c->other = NULL;
    c->middle = attn_status_string(status);
    c->end_of = "";
    c->found = c->fits = 0;
    return 1;
}

/* A fault of one that a table cannot tell. Shapes are those of an argument, which may be listed further left than one
   that has been found at fault. */
ATTN__NOINLINE int attn__refuse(attn__check *c, attn_status status, const char *argument)
{
    size_t position = SIZE_MAX - 1;
    attn__view *v;
    for (v = c->view; v < c->end && status == ATTN_ERR_SHAPE && argument; v++) /* or a struct that it is in, or is */
        if (v->is->name && (attn__begins(argument, v->is->name) || attn__begins(v->is->name, argument)))
            position = (size_t)(v - c->view);
    return attn__fault(c, status, position, argument);
}

/* And says why, but in a small build, whose texts are those of statuses. */
ATTN__NOINLINE_IF_LARGE void attn__blame(attn__check *c, attn_status status, const char *argument, size_t found,
                                         const char *middle, size_t fits, const char *end_of)
{
    if (!attn__refuse(c, status, argument) || !ATTN__LARGE)
        return;
    c->found = found;
    c->middle = middle;
    c->fits = fits;
    c->end_of = end_of;
}

static void attn__require(attn__check *c, int condition, attn_status otherwise, const char *argument)
{
    if (!condition)
        attn__refuse(c, otherwise, argument);
}

static void attn__require_most(attn__check *c, size_t x, size_t most, const char *argument)
{
    if (x > most)
        attn__blame(c, ATTN_ERR_VALUE, argument, x, ", where at most ", most, " fit");
}

static int attn__is_dry(const attn__check *c)
{
    return c->ctx && c->ctx->dry_run;
}

/* Is there no fault up to OVERFLOW, so that arrays may be read, if they are aligned? */
static int attn__is_sound(const attn__check *c)
{
    return attn__rank(c->status) > attn__rank(ATTN_ERR_OVERFLOW);
}

/* Lists the arguments of a table: those at their places in a struct or, without one, those that `each` points to, an
   array being what it points to. optional: those that may be absent, besides. */
ATTN__NOINLINE void attn__list(attn__check *c, const attn__argument *is, size_t n, const void *in,
                               const void *const *each, int optional)
{
    size_t i;
    for (i = 0; i < n; i++, is++) {
        const void *given = in ? (const char *)in + is->at : each[i];
        int absent;
        if (in && is->role & ATTN__ARRAY)
            ATTN__MEMCPY(&given, given, sizeof given);
        absent = is->role & ATTN__ARRAY ? !given
                 : is->role & ATTN__MAT ? attn__mat_absent((const attn_mat *)given)
                                        : attn__tensor_absent((const attn_tensor *)given);
        if (absent && (optional || is->role & ATTN__OPTIONAL))
            continue;
        ATTN_ASSERT(c->end < c->view + ATTN__ARGUMENTS);
        c->end->is = is;
        c->end->given = absent ? NULL : given;
        c->end++;
    }
}

/* The same with pointers to the arguments one by one: to as many of the table as there are. */
#define ATTN__LIST(c, is, ...)                                                                                         \
    do {                                                                                                               \
        const void *const attn__each[] = {__VA_ARGS__};                                                                \
        attn__list(c, is, sizeof attn__each / sizeof *attn__each, NULL, attn__each, 0);                                \
    } while (0)

/* The quotient of what is written is 1, ATTN__OUT, or 0. */
static int attn__role_of(const attn__check *c, const attn__view *v)
{
    return (v->is->role & ~c->ignored) | (v->is->role & c->written) / ATTN__STORED;
}

/* Where the elements of an argument lie. An array is the row of one matrix. */
static void attn__find_box(attn__check *c, const attn__view *v, attn__box *box)
{
    attn_tensor t = {(void *)(uintptr_t)v->given, ATTN_BOOL, 1, 1, 1, 1, 0, 0, 0, 1};
    int d;
    if (v->is->role & ATTN__ARRAY) {
        for (d = 0; d < 4; d++)
            if (v->is->shape[d] && !attn__mul_size(&t.dim, t.dim, attn__bind(c, v->is->shape[d], 1)))
                t.dim = SIZE_MAX;
        t.dtype = v->is->role & ATTN__DOUBLES ? ATTN_F64 : v->is->role & ATTN__FLOATS ? ATTN_F32 : ATTN_BOOL;
        t.dim *= v->is->shape[3] != ATTN__L_none; /* no letters: it is there or not, and has no elements */
        ATTN__MEMCPY(box, &t, sizeof *box);
    } else if (v->is->role & ATTN__MAT) {
        t = attn__as_tensor((const attn_mat *)v->given);
        ATTN__MEMCPY(box, &t, sizeof *box);
    } else {
        ATTN__MEMCPY(box, v->given, sizeof *box);
    }
}

/* The scratch of a ctx is listed as an output: it must overlap nothing. */
static void attn__list_ctx(attn__check *c)
{
    static const attn__argument attn__scratch = {"ctx.scratch", ATTN__BYTES | ATTN__OUT | ATTN__OPTIONAL, 0,
                                                 ATTN__SHAPE1(bytes)};
    if (c->ctx && c->ctx->scratch_size > 0) {
        attn__bind(c, ATTN__L_bytes, c->ctx->scratch_size);
        ATTN__LIST(c, &attn__scratch, c->ctx->scratch);
    }
}

static int attn__is_empty(const attn__box *box)
{
    return box->n[0] == 0 || box->n[1] == 0 || box->n[2] == 0 || box->n[3] == 0;
}

/* May an element of this type go there, where the compute type is F64 (wide) or F32? */
static int attn__is_dtype(attn_dtype dtype, int role, int wide)
{
    const int any = ATTN__HAS_F64 || (role & ATTN__WORDS) == ATTN__WORDS;
    const unsigned half = 1u << ATTN_F16 | 1u << ATTN_BF16, all = half | 1u << ATTN_F32 | (any ? 1u << ATTN_F64 : 0);
    unsigned fits = wide ? 1u << ATTN_F64 : half | 1u << ATTN_F32;
    if (role & (ATTN__ANY_TYPE | ATTN__ANY_FLOAT | ATTN__STORED | ATTN__ARRAY))
        fits = all | (role & ATTN__STORED ? 1u << ATTN_I8 : 0) |
               (role & (ATTN__ANY_TYPE | ATTN__ARRAY) ? 1u << ATTN_BOOL : 0);
    if (role & (ATTN__COMPUTED | ATTN__SUM))
        fits &= ~half;
    return (unsigned)dtype < 8 && (role & ATTN__BOOL ? 1u << ATTN_BOOL : fits) >> dtype & 1;
}

static const char *attn__dtype_string(attn_dtype dtype)
{
    static const char *const attn__names[] = {"f32", "f64", "f16", "bf16", "bool", "i8"};
    return (unsigned)dtype < sizeof attn__names / sizeof *attn__names ? attn__names[dtype] : "an unknown type";
}

/* Says what is wrong with an argument: the cold half of attn__check_view. d: the dimension that does not fit. */
ATTN__NOINLINE void attn__blame_view(attn__check *c, const attn__view *v, attn_status status, const attn__box *box,
                                     int wide, size_t d)
{
    const int role = attn__role_of(c, v), any = ATTN__HAS_F64 && role & (ATTN__ANY_FLOAT | ATTN__STORED);
    static const char *const attn__middle[] = {" items, where ", " heads, where ", " positions, where ",
                                               " dims, where ",  " rows, where ",  " columns, where "};
    if (!attn__fault(c, status, (size_t)(v - c->view), v->is->name) || !ATTN__LARGE)
        return;
    if (status == ATTN_ERR_NULL) {
        c->middle = !v->given               ? "is required"
                    : box->n[3] == SIZE_MAX ? "is a view that could not be made"
                                            : "data is NULL";
    } else if (status == ATTN_ERR_DTYPE) {
        c->middle = attn__dtype_string(box->dtype);
        c->end_of = any && role & ATTN__SUM               ? ", where f32 or f64 fit"
                    : any                                 ? ", where a type of float fits"
                    : role & ATTN__BOOL                   ? ", where bool fits"
                    : wide                                ? ", where f64 fits"
                    : role & (ATTN__COMPUTED | ATTN__SUM) ? ", where f32 fits"
                                                          : ", where f32, f16 or bf16 fit";
    } else if (status == ATTN_ERR_SHAPE) {
        c->found = box->n[d];
        c->middle = attn__middle[role & ATTN__MAT ? d + 2 : d];
        c->fits = c->size[v->is->shape[d]];
        c->end_of = c->fits == 1 ? " fits" : role & ATTN__BROADCASTS ? " or 1 fit" : " fit";
    } else if (status == ATTN_ERR_VALUE) {
        c->middle = "is not aligned to its elements";
    }
}

/* All that an argument says by itself, and its shape, whose letters it binds. In a dry run data may be NULL. */
static void attn__check_view(attn__check *c, attn__view *v, int role, int wide)
{
    attn_status status = ATTN_OK;
    attn__box box;
    size_t d = 0, n, misfit = 4;
    if (v->given && !(role & (ATTN__MAT | ATTN__ARRAY))) /* mostly */
        ATTN__MEMCPY(&box, v->given, sizeof box);
    else if (v->given || role & ATTN__ARRAY)
        attn__find_box(c, v, &box);
    if (role & ATTN__ARRAY)
        status = v->given || (role & ATTN__IF_ANY && box.n[3] == 0) ? ATTN_OK : ATTN_ERR_NULL;
    else if (!v->given || (!box.data && !attn__is_empty(&box) && (!attn__is_dry(c) || box.n[3] == SIZE_MAX)))
        status = ATTN_ERR_NULL;
    else if (!attn__is_dtype(box.dtype, role, wide))
        status = ATTN_ERR_DTYPE;
    else {
        ATTN__UNROLL_IF_LARGE
        for (d = 0; d < 4; d++) { /* the first two of a matrix are 1, and have no letters */
            n = attn__bind(c, v->is->shape[d], box.n[d]);
            if (n != box.n[d] && misfit == 4 && !(role & ATTN__BROADCASTS && box.n[d] == 1))
                misfit = d;
        }
    }
    if (misfit < 4)
        status = ATTN_ERR_SHAPE;
    if (status == ATTN_OK && !attn__measure(&box, &v->where))
        status = ATTN_ERR_OVERFLOW;
    else if (status == ATTN_OK && !attn__is_aligned(box.data, attn__size(box.dtype)))
        status = ATTN_ERR_VALUE;
    if (status != ATTN_OK)
        attn__blame_view(c, v, status, &box, wide, misfit);
    if (status != ATTN_OK || !box.data)
        v->where.first = v->where.end = 0;
}

static int attn__is_same(const attn__box *a, const attn__box *b)
{
    int d;
    if (a->data != b->data || a->dtype != b->dtype)
        return 0;
    for (d = 0; d < 4; d++)
        if (a->n[d] != b->n[d] || (a->n[d] > 1 && a->s[d] != b->s[d]))
            return 0;
    return 1;
}

/* The axes of a view, or of a lattice: two views with equal strides lie on one, as q and k do in an interleaved buffer.
   An element of `out` and one of `other` are c strides apart along an axis, where c runs from -back (the extent of
   `other`) to forth (that of `out`). They meet if some choice of the c makes up the distance of the two views. */
typedef struct attn__axis {
    ptrdiff_t stride;
    size_t back, forth;
} attn__axis;

/* One more axis, among `count` that stand in order, largest stride first. */
static void attn__add_axis(attn__axis *axis, int count, ptrdiff_t stride, size_t back, size_t forth)
{
    for (axis += count; count > 0 && attn__magnitude(axis[-1].stride) < attn__magnitude(stride); count--, axis--)
        axis[0] = axis[-1];
    axis->stride = stride;
    axis->back = back;
    axis->forth = forth;
}

static int attn__add_axes(attn__axis axis[4], const attn__box *v) /* those of more than one element */
{
    int count = 0, d;
    for (d = 0; d < 4; d++)
        if (v->n[d] > 1)
            attn__add_axis(axis, count++, v->s[d], 0, v->n[d] - 1);
    return count;
}

/* Does each element of an output have an address of its own? Each stride must step over all that the smaller ones
   reach. */
static int attn__is_distinct(const attn__box *v)
{
    size_t stride, below = 0;
    attn__axis axis[4];
    int count = attn__add_axes(axis, v);
    while (count-- > 0) {
        stride = attn__magnitude(axis[count].stride);
        if (stride <= below)
            return 0;
        below += axis[count].forth * stride;
    }
    return 1;
}

/* Is there a choice of c[k], -back <= c[k] <= forth, so that the sum of c[k] stride[k] is `offset`? Axes come largest
   stride first. Example: two blocks of 4 columns in rows of 16 elements, 8 apart, have strides 16 and 1 and offset 8;
   no multiple of 16 comes within 3 of 8, so the answer is no. Mostly the smaller strides reach so little that few
   multiples of the largest come into question. Where more than ATTN__LATTICE_TRIES do, the answer is yes. */
#define ATTN__LATTICE_TRIES 8

static int attn__lattice_meets(int count, const attn__axis *axis, ptrdiff_t offset)
{
    size_t reach = 0, step, tries;
    ptrdiff_t quotient, rest, c, total;
    int k;
    if (count == 0)
        return offset == 0;
    for (k = 1; k < count; k++)
        reach += attn__max(axis[k].back, axis[k].forth) * attn__magnitude(axis[k].stride);
    ATTN_ASSERT(axis->stride != 0);
    step = attn__magnitude(axis->stride);
    quotient = offset / axis->stride;
    rest = offset % axis->stride;
    if (reach > (size_t)PTRDIFF_MAX / 16 || step > (size_t)PTRDIFF_MAX / 16) /* sums below could overflow */
        return 1;
    tries = (reach + attn__magnitude(rest)) / step;
    if (tries > ATTN__LATTICE_TRIES)
        return 1;
    for (c = -(ptrdiff_t)tries; c <= (ptrdiff_t)tries; c++) {
        total = quotient + c;
        if (attn__magnitude(total) <= (total < 0 ? axis->back : axis->forth) &&
            attn__lattice_meets(count - 1, axis + 1, rest - c * axis->stride))
            return 1;
    }
    return 0;
}

/* May `out` and `other`, whose ranges of bytes meet, share an element? Not if they fall on different points of one
   lattice. Its axes are those of `out`, and those that only `other` has: an axis of `other` is the same as one of `out`
   if the strides are equal, whatever the dimension, as one view may be transposed. */
ATTN__NOINLINE int attn__shares(const attn__box *out, const attn__box *other)
{
    uintptr_t a = (uintptr_t)out->data, b = (uintptr_t)other->data, gap = a < b ? b - a : a - b;
    size_t size = attn__size(out->dtype);
    attn__axis axis[8];
    int count = attn__add_axes(axis, out), out_only = count, other_only = 0, differ = 0, d, i;
    if (attn__is_empty(out) || attn__is_empty(other))
        return 0;
    if (size != attn__size(other->dtype) || gap % size != 0 || gap > (size_t)PTRDIFF_MAX)
        return 1;
    for (d = 0; d < 4; d++) {
        differ |= out->n[d] > 1 && other->n[d] > 1 && out->s[d] != other->s[d];
        if (other->n[d] < 2 || other->s[d] == 0)
            continue;
        for (i = 0; i < count && (axis[i].stride != other->s[d] || axis[i].back > 0); i++)
            continue;
        if (i < count) {
            out_only--;
            axis[i].back = other->n[d] - 1;
        } else {
            other_only++;
            attn__add_axis(axis, count++, other->s[d], other->n[d] - 1, 0);
        }
    }
    if (differ && out_only > 0 && other_only > 0) /* they have no common lattice */
        return 1;
    gap /= size;
    return attn__lattice_meets(count, axis, a < b ? (ptrdiff_t)gap : -(ptrdiff_t)gap);
}

/* Does an output overlap itself or another argument? Pairs of outputs are looked at once, by the first. */
static void attn__check_alias(attn__check *c, const attn__view *v)
{
    const attn__view *w;
    const int role = attn__role_of(c, v);
    attn__box out, other;
    if (v->where.first == v->where.end)
        return;
    attn__find_box(c, v, &out);
    if (attn__is_empty(&out))
        return;
    if (!v->where.ordered && !attn__is_distinct(&out) && attn__fault(c, ATTN_ERR_ALIAS, 0, v->is->name)) {
        c->middle = "its elements share memory";
        return;
    }
    for (w = c->view; w < c->end; w++) {
        if (w->where.end <= v->where.first || v->where.end <= w->where.first || w == v ||
            (attn__role_of(c, w) & ATTN__OUT && w < v))
            continue;
        attn__find_box(c, w, &other);
        if (!(role & ATTN__IN_PLACE && attn__is_same(&out, &other)) && attn__shares(&out, &other)) {
            attn__fault(c, ATTN_ERR_ALIAS, 0, v->is->name);
            c->other = w->is->name;
            c->middle = "shares memory with ";
            c->end_of = w->is->name ? w->is->name : "";
            return;
        }
    }
}

/* What the arguments that have been listed since say by themselves, and by their shapes: NULL, DTYPE, SHAPE, OVERFLOW,
   alignment. The compute type is F64 if the first input is F64, of outputs alone if the first of them is. */
static void attn__check_some(attn__check *c)
{
    attn__view *v = c->view;
    int pass, role, wide;
    while (v < c->end && attn__role_of(c, v) & (ATTN__OUT | ATTN__LATE | ATTN__ARRAY))
        v++;
    if (v == c->end)
        v = c->view;
    wide = ATTN__HAS_F64 && v < c->end && v->given && !(v->is->role & ATTN__ARRAY) &&
           ((const attn_tensor *)v->given)->dtype == ATTN_F64; /* or a matrix, which begins alike */
    for (pass = 0; pass < 2; pass++)
        for (v = c->checked; v < c->end; v++) {
            role = attn__role_of(c, v);
            if (!(role & (ATTN__OUT | ATTN__LATE)) == !pass)
                attn__check_view(c, v, role, wide);
        }
    c->checked = c->end;
}

/* The same, and ALIAS, of all: the end of a list. */
static void attn__check_views(attn__check *c)
{
    const attn__view *v;
    attn__check_some(c);
    for (v = c->view; v < c->end && c->status == ATTN_OK; v++)
        if (attn__role_of(c, v) & ATTN__OUT)
            attn__check_alias(c, v);
}

/* What else is asked of a ctx. */
static void attn__require_ctx(attn__check *c)
{
    const attn_ctx *ctx = c->ctx;
    const attn_dry_run *dry = ctx ? ctx->dry_run : NULL;
    attn__require(c, !ctx || ctx->scratch || ctx->scratch_size == 0, ATTN_ERR_NULL, "ctx.scratch");
    attn__require(c, !dry || dry->text || dry->text_size == 0, ATTN_ERR_NULL, "ctx.dry_run.text");
    if (ctx && !attn_isa_available(ctx->isa))
        attn__blame(c, ATTN_ERR_VALUE, "ctx.isa", 0, attn_isa_string(ctx->isa), 0, ", which this CPU or build lacks");
}

/* A function that knows its arguments one by one checks them all at once, and its ctx, if it has one. */
static void attn__check_listed(attn__check *c)
{
    attn__list_ctx(c);
    attn__check_views(c);
    attn__require_ctx(c);
}

#define ATTN__CHECK(c, ctx, is, ...)                                                                                   \
    do {                                                                                                               \
        attn__check_begin(c, ctx);                                                                                     \
        ATTN__LIST(c, is, __VA_ARGS__);                                                                                \
        attn__check_listed(c);                                                                                         \
    } while (0)

/* The text of a fault. Its numbers are said where `middle` joins them; else this is all of it, or nothing. */
static void attn__say_fault(attn__message *t, const attn__check *c)
{
    if (ATTN__LARGE && (*c->middle == ' ' || *c->middle == ',')) {
        attn__say_number(t, "", c->found, c->middle);
        attn__say_number(t, "", c->fits, c->end_of);
    } else {
        attn__say(t, c->middle);
        attn__say(t, c->end_of);
    }
}

/* What a function returns; tells who wants to know which argument is at fault, and why. */
static attn_status attn__check_end(const attn__check *c)
{
    attn__message t;
    if (c->status != ATTN_OK && c->wanted) {
        c->wanted->argument = c->argument;
        c->wanted->other = c->other;
        t.at = c->wanted->text;
        t.left = sizeof c->wanted->text;
        attn__say_fault(&t, c);
    }
    return c->status;
}

/* Are all of lens[B] at most `most`? NULL holds, and so does what is not aligned, which is a fault of its own. */
static void attn__require_lengths(attn__check *c, const size_t *lens, size_t B, size_t most, const char *argument)
{
    size_t b;
    for (b = 0; lens && attn__is_aligned(lens, sizeof *lens) && b < B; b++)
        attn__require_most(c, lens[b], most, argument);
}

/* ==== elements ====================================================================================================

   One element of any type: attn__load and attn__store, and what is made of them, attn__mat_get, attn__mat_set and
   attn__copy. They are right for every type and stride, and slow; kernels do the same for rows. Rounding to 16 bits is
   done in integers, so that it is the same everywhere. No kernel is known here. */

/* Rounds a double to a 16-bit float whose mantissa has so many bits: once, to nearest even, with subnormals, infinities
   and the top bits of a NaN's payload. It computes in integers, so that no compiler flag changes the result. */
static uint16_t attn__narrow(double x, int mantissa)
{
    int exponent_bits = 15 - mantissa, bias = (1 << (exponent_bits - 1)) - 1, shift = 52 - mantissa, exponent;
    unsigned infinity = ((1u << exponent_bits) - 1) << mantissa;
    uint64_t bits = attn__bits(x), sign = bits >> 63 << 15, value;
    bits &= UINT64_MAX >> 1;
    if (bits > (uint64_t)0x7ff << 52)
        return (uint16_t)(sign | infinity | 1u << (mantissa - 1) | (bits << 12 >> (12 + shift)));
    exponent = (int)(bits >> 52) - 1023;
    if (exponent > bias)
        return (uint16_t)(sign | infinity);
    if (exponent >= 1 - bias) {
        value = bits - ((uint64_t)(1023 - bias) << 52);
    } else {
        shift += 1 - bias - exponent;
        if (shift > 54)
            return (uint16_t)sign;
        value = (bits & (UINT64_MAX >> 12)) | (uint64_t)1 << 52;
    }
    value += ((uint64_t)1 << (shift - 1)) - 1 + (value >> shift & 1);
    return (uint16_t)(sign | value >> shift); /* a carry out of the mantissa makes the next exponent, or infinity */
}

/* The float of some bits. A BF16 is the upper half of one. */
static float attn__float_of(uint32_t bits)
{
    float x;
    ATTN__OPAQUE(bits);
    ATTN__MEMCPY(&x, &bits, 4);
    return x;
}

static float attn__widen_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 1023, bits;
    float x;
    if (exponent == 0) { /* zero and subnormals are multiples of 2^-24 */
        x = (float)mantissa * (1.0f / 16777216.0f);
        ATTN__MEMCPY(&bits, &x, 4);
    } else if (exponent < 31) {
        bits = (exponent + 127 - 15) << 23 | mantissa << 13;
    } else { /* infinity or NaN, which becomes quiet, as hardware does it */
        bits = (uint32_t)0xff << 23 | mantissa << 13 | (mantissa ? (uint32_t)1 << 22 : 0);
    }
    return attn__float_of(bits | sign);
}

/* One element of any type. attn__load and attn__store are for the kernels: code with wide vectors must not call SSE
   functions, which would stall. All else calls the functions below them, which are compiled once. */
ATTN__INLINE float attn__load_float(const void *p, attn_dtype dtype) /* of any type but F64 */
{
    uint16_t half;
    float x;
    switch (dtype) {
    case ATTN_F32: ATTN__MEMCPY(&x, p, 4); return x;
    case ATTN_F16:
    case ATTN_BF16:
        ATTN__MEMCPY(&half, p, 2);
        return dtype == ATTN_F16 ? attn__widen_f16(half) : attn__float_of((uint32_t)half << 16);
    case ATTN_BOOL: return (float)((*(const unsigned char *)p + 255) >> 8); /* 0 or 1, without a branch */
    case ATTN_I8: return (float)*(const signed char *)p;
    default: return attn__float_of((uint32_t)0x7fc0 << 16);
    }
}

ATTN__INLINE double attn__load(const void *p, attn_dtype dtype)
{
    double x;
    if (dtype != ATTN_F64)
        return (double)attn__load_float(p, dtype);
    ATTN__MEMCPY(&x, p, 8);
    return x;
}

ATTN__INLINE void attn__store(void *p, attn_dtype dtype, double x)
{
    uint16_t half;
    float single;
    switch (dtype) {
    case ATTN_F32:
        single = (float)x;
        ATTN__MEMCPY(p, &single, 4);
        break;
    case ATTN_F64: ATTN__MEMCPY(p, &x, 8); break;
    case ATTN_F16:
    case ATTN_BF16:
        half = attn__narrow(x, dtype == ATTN_F16 ? 10 : 7);
        ATTN__MEMCPY(p, &half, 2);
        break;
    case ATTN_BOOL: *(unsigned char *)p = attn__bits(x) << 1 != 0; break;
    default: break;
    }
}

ATTN__INLINE void attn__store_float(void *p, attn_dtype dtype, float x)
{
    if (dtype == ATTN_F32)
        ATTN__MEMCPY(p, &x, 4);
    else
        attn__store(p, dtype, (double)x);
}

ATTN__NOINLINE attn__number attn__get_element(const void *p, attn_dtype dtype)
{
    return ATTN__LOAD_NUMBER(p, dtype);
}

ATTN__NOINLINE void attn__set_element(void *p, attn_dtype dtype, attn__number x)
{
    ATTN__STORE_NUMBER(p, dtype, x);
}

ATTN__NOINLINE double attn__mat_get(const attn_mat *m, size_t r, size_t c)
{
    return attn__load(attn__mat_at(m, r, c), m->dtype);
}

ATTN__NOINLINE void attn__mat_set(const attn_mat *m, size_t r, size_t c, double x)
{
    attn__store(attn__mat_at(m, r, c), m->dtype, x);
}

ATTN_API double attn_mat_get(attn_mat m, size_t r, size_t c)
{
    if (!attn__mat_fits(&m) || !m.data || attn__has_scales(m.dtype) || r >= m.rows || c >= m.cols)
        return attn__nan();
    return attn__mat_get(&m, r, c);
}

ATTN_API void attn_mat_set(attn_mat m, size_t r, size_t c, double value)
{
    if (attn__mat_fits(&m) && m.data && r < m.rows && c < m.cols)
        attn__mat_set(&m, r, c, value);
}

/* out = in. Equal types keep every bit, but for BOOL, which becomes 0 or 1. */
ATTN__NOINLINE void attn__copy(const attn_mat *out, const attn_mat *in)
{
    int convert = out->dtype != in->dtype || out->dtype == ATTN_BOOL;
    size_t r, c, together = !convert && out->col_stride == 1 && in->col_stride == 1 ? out->cols : 1;
    for (r = 0; r < out->rows && out->cols > 0; r++)
        for (c = 0; c < out->cols; c += together)
            if (convert)
                attn__mat_set(out, r, c, attn__mat_get(in, r, c));
            else
                ATTN__MEMMOVE(attn__mat_at(out, r, c), attn__mat_at(in, r, c), together * attn__size(out->dtype));
}

ATTN_API attn_status attn_mat_copy(attn_mat out, attn_mat in)
{
    static const attn__argument attn__arguments[] = {
        {NULL, ATTN__MAT | ATTN__OUT | ATTN__IN_PLACE | ATTN__ANY_TYPE, 0, ATTN__SHAPE2(M, N)}, /* out */
        {NULL, ATTN__MAT | ATTN__ANY_TYPE, 0, ATTN__SHAPE2(M, N)}};                             /* in */
    attn__check c;
    ATTN__CHECK(&c, NULL, attn__arguments, &out, &in);
    if (c.status == ATTN_OK)
        attn__copy(&out, &in);
    return c.status;
}

/* ==== scalar math =================================================================================================

   Constants, calls of libm, and arithmetic that -ffast-math must not touch. Kernels of plain C, sinks, rotations and
   biases use it, one number at a time. What it may not do is change errno. */

#define ATTN__LOG2E 1.4426950408889634          /* log2(e) rounded to double, */
#define ATTN__LOG2E_REST 2.0355273740931033e-17 /* and what is missing from it */
#define ATTN__LOG2E_F32 1.442695f               /* the same in float */
#define ATTN__LOG2E_REST_F32 1.925963e-8f

static attn__number attn__lowest(attn_dtype real) /* the lowest finite number */
{
    return ATTN__HAS_F64 && real == ATTN_F64 ? (attn__number)-DBL_MAX : -(attn__number)FLT_MAX;
}

/* MinGW's exp and pow compute in x87 registers, to as many bits as the thread's control word says: 64 in the main
   thread, 53 in those of CreateThread. They are called with 64, so that bits do not depend on the thread. */
#if defined(__MINGW32__) && (defined(__x86_64__) || defined(__i386__))
static unsigned short attn__x87(unsigned short word) /* returns the control word as it was before */
{
    unsigned short before;
    __asm__ volatile("fnstcw %0" : "=m"(before));
    __asm__ volatile("fldcw %0" : : "m"(word));
    return before;
}
#define ATTN__X87(word) attn__x87(word)
#else
#define ATTN__X87(word) (word)
#endif

/* Calls of libm, out of line, as -ffast-math would narrow them. They leave errno alone: where an argument is not one of
   the many for which libm does too (quiet), errno is saved. Compilers believe that cos has nothing to do with errno;
   volatile keeps the call between the two. */
#define ATTN__LIBM(name, parameters, call, quiet)                                                                      \
    ATTN__NOINLINE double name parameters                                                                              \
    {                                                                                                                  \
        const unsigned short word = ATTN__X87(0x37f);                                                                  \
        volatile double held;                                                                                          \
        int saved;                                                                                                     \
        if (quiet) {                                                                                                   \
            x = call;                                                                                                  \
        } else {                                                                                                       \
            held = x;                                                                                                  \
            saved = ATTN__ERRNO;                                                                                       \
            x = held;                                                                                                  \
            held = call;                                                                                               \
            ATTN__ERRNO_KEEP(saved);                                                                                   \
            x = held;                                                                                                  \
        }                                                                                                              \
        (void)ATTN__X87(word);                                                                                         \
        return x;                                                                                                      \
    }

ATTN__LIBM(attn__exp, (double x), ATTN_EXP(x), x > -700 && x < 700)
ATTN__LIBM(attn__log, (double x), ATTN_LOG(x), x >= DBL_MIN && x <= DBL_MAX)
ATTN__LIBM(attn__tanh, (double x), ATTN_TANH(x), attn__is_finite(x))
ATTN__LIBM(attn__sin, (double x), ATTN_SIN(x), attn__is_finite(x))
ATTN__LIBM(attn__cos, (double x), ATTN_COS(x), attn__is_finite(x))
ATTN__LIBM(attn__sqrt, (double x), ATTN_SQRT(x), x >= DBL_MIN && x <= DBL_MAX)
ATTN__LIBM(attn__pow, (double x, double y), ATTN_POW(x, y), x > 1e-100 && x < 1e100 && y > -3 && y < 3)

/* And arithmetic that -ffast-math must leave alone: it would reorder a division that keeps a range, or prove that
   nothing is ever lost from a sum. */
ATTN__NOINLINE double attn__divide(double x, double y)
{
    return x / y;
}

ATTN__NOINLINE double attn__subtract(double x, double y)
{
    return x - y;
}

/* The same of numbers of a call: without F64 in float. e^x for x <= 0. */
#if ATTN__HAS_F64
#define ATTN__NUMBER(f) attn__##f
#else
#define ATTN__NUMBER(f) attn__##f##_float
ATTN__NOINLINE float attn__divide_float(float x, float y)
{
    return x / y;
}

ATTN__NOINLINE float attn__exp_float(float x);

static float attn__log_float(float x)
{
    return ATTN__LOGF(x);
}

ATTN__NOINLINE float attn__sqrt_float(float x) /* under -ffast-math gcc has but an estimate for 1 / sqrt(x) together */
{
    return ATTN__SQRTF(x);
}
#endif

/* *sum += term, compensated: what a rounding adds too much, *lost, is taken off the next term. After the last one *sum
   is the result: *lost is less than an ulp of it.                                             Kahan 1965, CACM 8(1) */
static void attn__add(double *sum, double *lost, double term)
{
    double exact = term - *lost, total = *sum + exact;
    *lost = attn__subtract(attn__subtract(total, *sum), exact);
    *sum = total;
}

static attn__number attn__scale(double scale, size_t D) /* the one place that knows what scale 0 means */
{
    return attn__bits(scale) << 1 != 0 || D == 0 ? (attn__number)scale : 1 / ATTN__NUMBER(sqrt)((attn__number)D);
}

/* ==== the kernel table =============================================================================================

   What is asked of an instruction set. A pass compiles the kernels for one of them, in float and in double, and fills a
   table for each (of pairs of BF16, for one). A kernel works in the real type of its table: rows of reals, `ld`
   elements apart. load and store stand between that layout and the user's views. */

/* Rows of a tile's keys or values, and what is prefetched while they are multiplied. */
typedef struct attn__rows {
    const void *data; /* the first one */
    ptrdiff_t step;   /* reals, or terms, from row to row; those of a row are next to each other */

    const char *next;    /* rows that will be read after these: where they are, */
    size_t next_count;   /* how many, */
    ptrdiff_t next_step; /* bytes from row to row, */
    size_t row_bytes;    /* and of a row */
} attn__rows;

/* Rows of K or V for the kernels of few rows: those of some keys, of key/value heads that are read together. */
typedef struct attn__operand {
    const char *row;       /* of the first key and head; those of the next keys follow `step` bytes from each other, */
    const char *const *at; /* or, where not NULL, here is where each is */
    ptrdiff_t step, apart; /* those of the next head are so many bytes further */
    size_t keys, heads;
    size_t queries; /* rows of q, of scores, of out, that belong to each head */
    attn_dtype dtype;
    size_t dims;
    const char *const *next; /* or NULL: of each key, the row that is prefetched while its own is read, */
    ptrdiff_t next_apart;    /* from there to that of the next head, */
    size_t next_bytes;       /* and how long it is */
    ptrdiff_t ahead;         /* dot, of one query and long rows: so many bytes ahead they are prefetched; 0: not */
    const void *added;       /* dot: of each key, what is added to its scores; or NULL */
    int part;                /* dot: attn__part; where not 0, there are dot_keys keys at most */
    void *lanes; /* dot: dot_keys vectors of each query, and of one more if there are 3 or 7 of 8: of a part, what is
                    added up so far; of a whole, of ATTN__DOT_MOST queries at most */
} attn__operand;

/* What a kernel of few rows does at a time: some queries of a head, and some of its keys. */
typedef struct attn__few_job {
    const attn__operand *operand; /* of K or V */
    size_t first, keys;           /* of its keys */
    const void *x;                /* the queries, or their weights of these keys: rows of reals, ldx apart */
    void *out;                    /* the scores of these keys, or the sums of values: rows of reals, ld apart */
    size_t queries, ldx, ld;      /* ATTN__DOT_MOST of them at most */
    ptrdiff_t head, fetch; /* bytes from where a key's rows are to that of the head, and to what is prefetched, */
    size_t fetch_bytes;    /* which is so long */
    void *lanes;           /* dot: of each query dot_keys vectors, one for each key */
} attn__few_job;

/* The row of key number i of the job. */
ATTN__INLINE const char *attn__key_of(const attn__few_job *job, size_t i)
{
    const attn__operand *operand = job->operand;
    return operand->at ? operand->at[job->first + i] : operand->row + (ptrdiff_t)(job->first + i) * operand->step;
}

/* -- tuning --

   Numbers that speed depends on; bits depend on some of them, too, which are listed under "what keeps bits equal".
   Shapes of register tiles, and how many sums a loop keeps, are the passes' own.

   In parentheses stands what another number does: speed with it, that with the present one being 1. Measured on a Xeon
   of the kind of Sapphire Rapids (AVX-512, 2 MiB of second-level cache), unless another is named; calls of two builds
   in turn, medians of 15 to 31; "B Hq/H x Lk x D" is attention, "few" that of one query, "M x N x K" a product. A
   difference below 0.03 is noise. */

/* What stays in a second-level cache beside all else that passes through it: keys of all heads that are not prefetched,
   a tile of few rows that is, rows of x, and K, V, dk and dv of a chunk of keys on the way back. (256 KiB: backward
   0.97; 1 MiB: few, 32/8 x 4096 x 128 packed by tokens, 0.75; other calls 1.) */
#define ATTN__CACHED_BYTES ((size_t)512 << 10)

/* Few rows are prefetched (ATTN__FETCHES_FEW) where keys have more than so many bytes. (512 KiB and 1 MiB: 32/8 x 300 x
   128 0.9; 8 MiB: two queries, 32/8 x 1024 x 128, 0.93, and 8 8/8 x 256 x 64 1.09.) */
#define ATTN__FEW_FETCHED (2 << 20)

/* Rows at multiples of so many bytes compete for few sets of the second-level cache. (4096: 1; never: 32/32
   x 512 x 64 packed by tokens 0.98.) */
#define ATTN__COMPETING 8192

/* Items for each worker, at least: then all end at about one time. Query blocks share a unit only if so many units are
   left, chunks are cut so that there are as many; rows of cells and whole units on the way back are twice as many. (2
   and 8, two threads: 1.) */
#define ATTN__WORKER_ITEMS 4

/* Query blocks of a unit share the read of a tile; so few that queries and results stay in the second-level cache.
   (2: 0.96 to 1; 8: causal, D 128, 1.05, else 1, for twice the memory.) */
#define ATTN__UNIT_BLOCKS (ATTN__LARGE ? 4 : 1)

/* Which kernels take how many rows: where these are as fast as those. Measured on Sapphire Rapids:
   - attention, 4 heads x 256 and 2048 keys x 64 and 128: up to `few` rows, dot and weigh are 1.0 to 1.5 times as fast
     as tiles of gemm, with twice as many rows 0.7 to 1.0 times;
   - x w^T, 512 and 1024 columns and terms: with AVX-512, up to 24 rows dot is 1.0 to 1.2 times as fast as either way of
     gemm, 32 rows 0.8 to 0.95 times; with AVX2, up to 48 rows 1.0 to 1.4 times; in double with AVX-512, 16 rows 0.8 to
     1.0 times, with AVX2 too, whose number was left as that of float. VECTOR128 and plain C gain by dot at any number,
     and have that of AVX2; so has NEON, unmeasured. Beyond it, up to `transposed` rows gemm of w x^T is faster. */
typedef struct attn__tuning {
    size_t few_most;     /* rows of an item and group */
    size_t few_products; /* rows of x in x w^T, unless they are short: attn__are_few */
    size_t transposed;   /* and of those that are not few, so many */
} attn__tuning;

/* clang-format off */
static const attn__tuning attn__tuned[][2] = { /* by ATTN__PASS_..; of float, and of double */
    {{0, 0, 0}, {0, 0, 0}},
    {{1, 48, 0}, {1, 48, 0}},  /* scalar, and where a vector is one real */
    {{6, 48, 0}, {4, 48, 0}},  /* avx2 */
    {{8, 24, 64}, {6, 8, 64}}, /* avx512 */
    {{6, 48, 0}, {4, 48, 0}},  /* neon */
    {{6, 48, 0}, {4, 48, 0}},  /* vector128 */
    {{8, 24, 64}, {0, 0, 0}}   /* avx512bf16 */
};
/* clang-format on */

/* A small build: rows of a block, and reals that its queries, or results, have at most if it has more than one. */
#define ATTN__SMALL_ROWS 4
#define ATTN__SMALL_REALS 256

/* Splits of a block: enough to occupy workers with few heads; each costs a merge. And the least keys of a split
   (256: 0.99; 1024: 1 to 1.06). */
#define ATTN__SPLITS 32
#define ATTN__SPLIT_KEYS (ATTN__LARGE ? 512 : 4096)

/* Half tiles of a mask whose visibility is cached, and tiles that are classified together when one is asked for: rows
   of a mask lie far apart, and looking at several tiles of a row at once uses what each access brings along. Rows of a
   block, at most, where there is a mask: a block then mostly meets but one block of a mask that has such. (CACHE 16:
   0.99 at 1024 keys, more keys not measured; LOOK_AHEAD 2 and 16: 1; ROWS 16: 0.84; 48: random masks 1.06, blocks of
   64 0.75.) */
#define ATTN__MASK_CACHE 512
#define ATTN__LOOK_AHEAD 8
#define ATTN__MASK_ROWS 32

/* Rows of two results that are merged together; how often a worker does that before it takes more, which costs as much
   as some rows; and how many rows ahead are prefetched: they may lie apart. (AHEAD 2: 1; 16: 0.93. The others were not
   measured one by one.) */
#define ATTN__MERGE_ROWS 32
#define ATTN__DOT_MOST 8 /* queries that dot multiplies together, in any pass */
#define ATTN__MERGE_STEPS 16
#define ATTN__MERGE_AHEAD 8

/* Elements of the rows of a softmax that a worker takes at a time: less would be lost in starting it. (4096,
   two threads: 0.91; 65536: 1.02.) */
#define ATTN__SOFTMAX_ELEMENTS 16384

/* Blocks of the general product: as many rows, which share what packing b takes, as terms; more with long vectors, of
   which no panel stays in the first-level cache anyway. Sums, those of parts twice, panels and rows of a come to 0.6
   MiB at most: they stay in a second-level cache of 1 MiB. (MC 128 and 512: 1; OF_LANE 16: 0.96, 64: 1; TILES 512:
   0.98, 2048: 512 x 512 x 512, two threads, 0.91; WIDER 4 and 16: 1.) */
#define ATTN__GEMM_MC 256        /* rows and terms, */
#define ATTN__GEMM_MC_OF_LANE 32 /* or so many for each lane; */
#define ATTN__GEMM_TILES 1024    /* register tiles in a row of columns, times terms; */
#define ATTN__GEMM_WIDER 8       /* more columns, fewer terms, where out has fewer rows, as if it had these at least */

/* Of short sums fewer rows are few: their lanes take as long to add up as the terms. (Not measured one by one.) */
#define ATTN__GEMM_SHORT 128     /* terms of a sum that is not short */
#define ATTN__GEMM_FEW_SHORT 8   /* rows */

/* Blocks of the product of few rows. (MC 16 and 64: 1; NC 32: 1, 128: 1 to 1.05; PAD 0: pairs 0.97; LITTLE and B_BYTES:
   not measured one by one.) */
#define ATTN__GEMM_FEW_MC 32
#define ATTN__GEMM_FEW_NC 64
#define ATTN__GEMM_FEW_LITTLE 4    /* rows of small blocks, whose parts have half as many terms */
#define ATTN__GEMM_FEW_B_BYTES 512 /* of a part of a sum where b is copied: so much of each column */
#define ATTN__GEMM_FEW_PAD 16      /* reals between copied rows, which would else compete for one set of a cache */

/* Products that are computed as w x^T: where w has so many times as many rows, else packing w costs less than it saves;
   and rows of w in a block, few enough for threads to share. (COLS 4: 1; 16: 48 x 512 x 512 0.5 to 0.9; MC 64: 0.95;
   256: 1.04, but nothing is left to share.) */
#define ATTN__GEMM_TRANSPOSED_COLS 8
#define ATTN__GEMM_TRANSPOSED_MC 128

/* Products with far rows. (Of the CPUs that have them, Zen 4, not measured one by one.) */
#define ATTN__GEMM_FAR_STREAMS 8                    /* as many long rows as `dot` reads together for one of x */
#define ATTN__GEMM_FAR_ROWS 8                       /* of x, at most */
#define ATTN__GEMM_FAR_BYTES ((size_t)128 << 10)    /* of w, at least, for one row: streams take some lines to start; */
#define ATTN__GEMM_FAR_ROWS_BYTES ((size_t)8 << 20) /* for several, which gain nothing from caches */
#define ATTN__GEMM_FAR_SET 2048                     /* bytes: places such multiples apart compete in caches */
#define ATTN__GEMM_FAR_AHEAD 384                    /* bytes: the CPU's own prefetchers stop at the end of each page */

/* Where rows of K, or of w, have so many bytes, dot takes more of them together for one query: short ones come faster
   from memory if they are fewer (0.96 times the time at 512 bytes, from 2 KiB on 1.0 to 1.15 times). And parts of
   longer rows of x: so much of several rows stays in the first-level cache. (1024: 4 and 16 rows of x 0.95; 4096: 4
   rows 1.1, 16 rows 0.94, one row of BF16 0.93.) */
#define ATTN__LONG_ROW 2048

/* A key tile, with its scores for a full query block, stays in the second-level cache. That of few rows is longer:
   they read it at the speed of memory, which prefers to go on with K, or V, for a while. Both are multiples of twice
   the rows of a register tile and of FEW_CHAIN, TILE is at most FEW, FEW below 65536; the API's text on blocks names
   both.
   (TILE 64: 1; FEW 128: 0.95 to 1.05.) */
#define ATTN__TILE_KEYS 128
#define ATTN__FEW_KEYS (ATTN__LARGE ? 256 : ATTN__HAS_VECTORS ? 64 : 32)
#define ATTN__HALF_TILE (ATTN__TILE_KEYS / 2) /* masks are made of blocks that mostly have as many keys, or more */

/* Few rows add up the values of so many keys in one chain, and this to what they have. The chains begin at multiples of
   this number, of the keys: whichever keys a row sees beside those that others see, its sums are the same. (Neither
   this nor HALF_TILE was measured one by one.) */
#define ATTN__FEW_CHAIN (ATTN__LARGE ? 16 : 8)

/* -- tiles and kernels -- */

/* A part of a sum over k: others came before; others will follow. Neither: the whole sum. */
enum attn__part { ATTN__BEGUN = 1, ATTN__UNFINISHED = 2 };

/* Two layouts for the numbers of a query block. Queries on lanes, of many rows: one query per lane, a vector for each
   key (or each dim). Keys on lanes, of few rows: each vector holds keys (or dims) of one query.

   As data: element e (a key of a tile, a dim of V) of query i lies e * element + i * query reals from the start. One of
   the two steps is 1, and along it lie the vectors. */
typedef struct attn__layout {
    size_t element, query;
} attn__layout;

/* The running result of a query block over the keys that it has met so far.           Milakov 2018, arXiv 1805.02867 */
typedef struct attn__state {
    attn__layout layout;
    void *out;          /* of each query and dim of V: sum of exp(score - max) value */
    void *max, *sum;    /* of each query: the largest score; the sum of exp(score - max) */
    unsigned char *nan; /* of each query: a score was NaN or +infinity */
} attn__state;

/* Which keys of a tile each query sees, mask and bias aside: keys first[i] .. end[i] - 1, counted from the first of the
   tile. Every query sees keys all_first .. all_end - 1. */
typedef struct attn__bounds {
    const void *first, *end; /* reals; NULL: no bounds */
    size_t all_first, all_end;
} attn__bounds;

/* Keys of a tile to which a bias is added from where it lies are a multiple of this: floats in 128 bits. */
#define ATTN__BIAS_KEYS 4

/* Of many rows, sums over the keys of a tile, of weights and of values, are one chain; but over the first keys of a
   sequence they are short ones, added one after another. A result over many keys is made of many chains in any case;
   one over few would lose more to rounding than its products do. */
#define ATTN__FIRST_KEYS 48
#define ATTN__FIRST_CHAIN 16

/* A tile: the scores of a query block against a block of keys. */
typedef struct attn__tile {
    attn__layout layout;    /* of scores and bias */
    size_t first_key, keys; /* the number of its first key; how many: with lists, numbers may have gaps */
    size_t chain_ends[ATTN__FIRST_KEYS / ATTN__FIRST_CHAIN]; /* how many of them precede the end of each short chain */
    size_t queries, lanes;                                   /* of the block; and filled up to whole vectors */
    void *scores;                                            /* softmax turns them into the weights exp(score - max) */
    const void *bias;                                        /* or NULL */
    const void *bias_rows;   /* or NULL; in place of bias, reals where the caller has them: keys side by side, */
    ptrdiff_t bias_step;     /* queries so far apart. Queries lie on lanes and fill their vectors, without ALiBi; */
                             /* keys are a multiple of ATTN__BIAS_KEYS */
    const void *mask;        /* or NULL; bits as load_bits makes them, `lanes` words for each word of keys */
    attn__bounds bounds;     /* all NULL: every query sees every key */
    const uint16_t *numbers; /* few rows, with lists: of each key, its number less that of a multiple of FEW_CHAIN */
    const void *position, *slope; /* of each query, for ALiBi: position less the tile's first key; -slope; or NULL */
    void *factor;                 /* of each query: softmax leaves exp(old max - new max) */

    /* reals as data, which no compiler folds: the lowest finite number, -infinity, 0 */
    unsigned char lowest[8];
    unsigned char minus_infinity[8];
    unsigned char zero[8];
} attn__tile;

static size_t attn__chain_end(const attn__tile *tile, size_t k) /* of the chain that key k of the tile belongs to */
{
    size_t chain;
    for (chain = 0; tile->first_key < ATTN__FIRST_KEYS && chain < ATTN__FIRST_KEYS / ATTN__FIRST_CHAIN; chain++)
        if (k < tile->chain_ends[chain])
            return tile->chain_ends[chain];
    return tile->keys;
}

/* What there is among some keys of a mask. */
enum attn__visibility { ATTN__SOME_VISIBLE = 1, ATTN__SOME_HIDDEN = 2 };

/* Kernels for a query block and one of its tiles. `elements` are keys of a tile, or dims of state->out. */
typedef struct attn__block_kernels {
    /* no key met yet */
    void (*begin)(const attn__state *state, size_t dims, size_t queries, size_t lanes);

    /* multiplies the scores, or the weights, of each key by a scale */
    void (*scale_keys)(const attn__tile *tile, const void *scales);

    /* s = cap tanh(scale s / cap) for each score */
    void (*softcap)(const attn__tile *tile, attn__number scale, attn__number cap);

    /* multiplies the scores by scale, and adds bias and ALiBi; a bias of -infinity hides its key. With `hide` it does
       nothing of that, but puts -infinity where a key is hidden: by bounds, by mask, or by a bias of -infinity */
    void (*edit)(const attn__tile *tile, attn__number scale, int hide);

    /* one step of the online softmax: takes the tile's scores, times scale, into state->max (which leaves out the
       scale), sum and nan, and leaves in tile->factor by how much state->out must shrink. Returns 1 if a score was NaN
       or infinite, else 0 */
    int (*softmax)(const attn__tile *tile, const attn__state *state, attn__number scale);

    /* dropout: multiplies x, laid out as the tile's scores, by 0 where a weight is dropped, else by keep. `rows`: the
       keys of the rows, the lower halves of all lanes and then the upper ones */
    void (*drop)(const attn__tile *tile, void *x, const uint32_t *rows, uint32_t threshold, attn__number keep);

    /* a becomes the result over the keys of both a and b */
    void (*merge)(const attn__tile *tile, const attn__state *a, const attn__state *b, size_t dims, attn__number scale);

    /* inverse[i] = 1 / sum[i], or 0 where that is 0 */
    void (*finish)(const attn__state *state, void *inverse, size_t lanes);

    /* x = factor x, with a factor for each query */
    void (*scale)(void *x, attn__layout layout, size_t elements, size_t queries, const void *factor);

    /* the n scores of one query, side by side, become weights exp(scale (score - max)) inverse for the keys that it may
       see, first .. end - 1, and 0 inverse for the others */
    void (*weights)(const attn__tile *tile, void *x, size_t n, size_t first, size_t end, const void *max,
                    const void *inverse, attn__number scale);

#ifndef ATTN_NO_TRAINING
    /* the tile's scores become p = exp(scale (score - lse)), dp becomes factor p (dp - delta), with lse and delta of
       each query; 0 where a score is -infinity */
    void (*backward)(const attn__tile *tile, void *dp, const void *lse, const void *delta, attn__number scale,
                     attn__number factor);

    /* multiplies ds by factor (1 - |capped| / cap) (1 + |capped| / cap); what is 0 stays */
    void (*softcap_backward)(const attn__tile *tile, void *ds, const void *capped, attn__number cap,
                             attn__number factor);

    /* sum[i] += sum over elements of x y, for each of `lanes` queries on lanes */
    void (*add_dot)(void *sum, const void *x, const void *y, size_t elements, size_t lanes);

    /* sums over the tile, each finished before it is added: for each query, over keys, of ds and, with ALiBi, of ds
       -|distance|, either of which may be NULL; for each key, over queries; and for each distance, from that of the
       last query and the first key on */
    void (*sum_keys)(const attn__tile *tile, void *sums, void *alibi, const void *ds);
    void (*sum_rows)(const attn__tile *tile, void *sums, const void *ds);
    void (*sum_distances)(const attn__tile *tile, void *sums, const void *ds);
#endif
} attn__block_kernels;

/* Rows of two results over different keys, which become one. */
typedef struct attn__merge_rows {
    double lse[ATTN__MERGE_ROWS], lse_b[ATTN__MERGE_ROWS];
    double log_sum[ATTN__MERGE_ROWS];                            /* of e^lse + e^lse_b, */
    double weight[ATTN__MERGE_ROWS], weight_b[ATTN__MERGE_ROWS]; /* and what each of the two is of that sum */
} attn__merge_rows;

/* Terms. What products multiply is a term of a sum: a real. Or two: some CPUs multiply two pairs of BF16 and add both
   products to a float by one instruction. In a table for them a term is such a pair, in the place of a real, the first
   in the lower half; the last of an odd number has a zero beside it. Depths, steps and parts of sums count terms; sums
   are reals in any case. Loaders make them; all else counts them, but for attn__copied_row, which finds a single value
   in a panel of terms. */

/* x[r][c] = in[r * rs + c * cs], for rows x cols elements of any type that computes in `real`: as reals, or as terms */
typedef void attn__load_kernel(void *x, size_t ld, const void *in, attn_dtype dtype, ptrdiff_t rs, ptrdiff_t cs,
                               size_t rows, size_t cols);

typedef struct attn__kernels {
    attn_isa isa;
    attn_dtype real;
    size_t size;       /* of a real, or a term, in bytes */
    size_t lanes;      /* reals in a vector */
    size_t rows, cols; /* the register tile of gemm; the last one of a row may be some vectors narrower */
    const attn__tuning *tuned;
    size_t dot_keys;    /* dot takes so many keys together: lanes, or more */
    attn_dtype element; /* of a term, */
    size_t term;        /* which has so many of them */
    unsigned reads;     /* a bit for each type of rows that dot and weigh read where they lie */

    /* load makes reals; load_rows terms of elements beside each other in a row; load_panel terms of elements below each
       other in a column: x may begin with a term's second element then, beside the row before */
    attn__load_kernel *load, *load_rows, *load_panel;

    /* out[r * rs + c * cs] = alpha x[r][c], rounded to dtype; out may be x */
    void (*store)(void *out, attn_dtype dtype, ptrdiff_t rs, ptrdiff_t cs, const void *x, size_t ld, size_t rows,
                  size_t cols, attn__number alpha);

#ifndef ATTN_NO_TRAINING
    /* out[r * rs + c] += alpha x[r][c], for reals; rows of x may be read up to a whole vector */
    void (*add)(void *out, ptrdiff_t rs, const void *x, size_t ld, size_t rows, size_t cols, attn__number alpha);
#endif

    /* c = a b, or factor c + a b with a factor for each column; `cols` a multiple of lanes. c in packed register tiles,
       row of tiles by row of tiles; a[r * rs + k * ks] where it lies; b in panels of depth x tile cols. `part`:
       attn__part, each of which counts its terms anew. Where sums are made of parts, the second chain of each tile lies
       in another behind it; the last part leaves the sums in the first. `next`, or NULL: rows to prefetch */
    void (*gemm)(void *c, const void *a, ptrdiff_t rs, ptrdiff_t ks, size_t rows, const void *b, size_t cols,
                 size_t depth, int part, const void *factor, const attn__rows *next);

    /* out[r][j] = x[r] . k[j], for few rows of x: of `dims` reals (or BF16, in a pass with pairs), and zeros up to
       whole vectors. The terms of a product lie on lanes. Up to a multiple of dot_keys, scores of 0 follow. By
       attn__run_few, as weigh is */
    void (*dot)(const attn__few_job *job);

    /* out[r] += sum over j of x[r][j] v[j], over the keys of a chain. Dims on lanes, in whole vectors */
    void (*weigh)(const attn__few_job *job);

    /* rows x cols reals, whole vectors, become a panel of terms where they lie */
    void (*to_terms)(void *x, size_t rows, size_t cols);

    /* the larger of `max` and n elements; *nonfinite is set if one of them is NaN or +infinity */
    double (*softmax_max)(const void *x, size_t n, double max, int *nonfinite);

    /* e[i] = exp(x[i] - max); the sum of e. e may be x */
    double (*softmax_exp)(void *e, const void *x, size_t n, double max);

    /* finds log_sum, weight and weight_b of n rows. Returns 1 if an lse is NaN or infinite, else 0. In double alone, as
       merge_rows is; in float both are NULL */
    int (*merge_weights)(attn__merge_rows *rows, size_t n);

    /* x[r][c] = weight[r] x[r][c] + weight_b[r] y[r][c], for packed rows of F32 or F64, xs and ys elements apart */
    void (*merge_rows)(void *x, ptrdiff_t xs, const void *y, ptrdiff_t ys, attn_dtype dtype, const double *weight,
                       const double *weight_b, size_t rows, size_t cols);

    /* is one of rows x cols reals, or terms, NaN or infinite? */
    int (*nonfinite)(const void *x, ptrdiff_t ld, size_t rows, size_t cols);
    int (*nonfinite_terms)(const void *x, ptrdiff_t ld, size_t rows, size_t cols);

    /* mask bytes as bits, in words of the size of a real: bit j of row r says if in[r * rs + j * cs] is not 0; j < n.
       It counts from the lowest bit of word r; the bits that follow those of a word stand `ld` words later */
    void (*load_bits)(void *words, size_t ld, const unsigned char *in, ptrdiff_t rs, ptrdiff_t cs, size_t rows,
                      size_t n);

    /* which attn__visibility there is in rows x n bytes of a mask; rows are `step` apart */
    int (*classify)(const unsigned char *mask, ptrdiff_t step, size_t rows, size_t n);

    attn__block_kernels block;
} attn__kernels;

/* Few rows of x by all keys: out = x K^T; or with `values` out += x V, in chains of FEW_CHAIN keys, of which the first
   key begins one. The queries of all heads share the read of some keys. Of what is prefetched each job takes its share,
   so that memory has something to do while any of them computes. */
ATTN__HOT void attn__run_few(const attn__kernels *kern, void *out, size_t ld, const void *x, size_t ldx,
                             const attn__operand *operand, int values)
{
    const size_t step = values ? ATTN__FEW_CHAIN : kern->dot_keys, size = kern->size;
    size_t head, r, n;
    attn__few_job job = {operand, 0, 0, x, out, 0, ldx, ld, 0, 0, 0, operand->lanes};
    for (; job.first < operand->keys; job.first += step)
        for (head = r = 0; head < (ATTN__LARGE ? operand->heads : 1); head++)
            for (n = 0; n < operand->queries; n += job.queries, r += job.queries) {
                job.keys = attn__min(operand->keys - job.first, step);
                job.queries = attn__min(operand->queries - n, ATTN__DOT_MOST);
                job.x = (const char *)x + (r * ldx + (values ? job.first : 0)) * size;
                job.out = (char *)out + (r * ld + (values ? 0 : job.first)) * size;
                job.head = (ptrdiff_t)head * operand->apart;
                if (ATTN__LARGE && operand->next) {
                    job.fetch =
                        (ptrdiff_t)head * operand->next_apart + (ptrdiff_t)(n * operand->next_bytes / operand->queries);
                    job.fetch_bytes = job.queries * operand->next_bytes / operand->queries;
                }
                if (operand->part)
                    job.lanes = (char *)operand->lanes + r * step * kern->lanes * size;
                (values ? kern->weigh : kern->dot)(&job);
            }
}

/* ==== instruction sets ============================================================================================

   Which instruction sets this CPU has (attn__isas, found once), what families of CPUs do differently, and the way from
   an attn_isa and a real type to a table of kernels: attn__kernels_for. The passes are included here, plain C first.
   The rest of the library asks for a table and never for a CPU, but for the bits of what pays there. */

#if defined(ATTN__X86)

static void attn__cpuid(uint32_t leaf, uint32_t subleaf, uint32_t r[4]) /* eax, ebx, ecx, edx */
{
#if defined(_MSC_VER)
    __cpuidex((int *)r, (int)leaf, (int)subleaf);
#else
    __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(subleaf));
#endif
}

static uint32_t attn__xgetbv(void) /* which registers the operating system saves */
{
#if defined(_MSC_VER)
    return (uint32_t)_xgetbv(0);
#else
    uint32_t low;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low) : "c"(0) : "edx"); /* xgetbv, for old assemblers too */
    return low;
#endif
}

/* What families of CPUs do differently. Each bit was measured to pay there, by `make bench`:
   FAR_STREAMS  Zen 4. It has few places for lines that are under way into the first cache, so that prefetches cannot
                ask for enough of them. Its own prefetchers can, while it reads forward in up to 16 long streams.
   FETCHES_FEW  Intel's with AVX-512. Attention of few rows prefetches into the second cache, in four streams: 0.73 of
                the time on Sapphire Rapids, from memory, 32/8 heads x 4096 keys x 128, f32. From a cache up to 1.1.
   PAIRS_BEST   AMD's with AVX512-BF16. Products of BF16 are made of pairs, unless ctx->isa says otherwise: attention of
                8 x 1024 x 64 is 1.69 times as fast with them on Zen 4, on Emerald Rapids 0.58 times. */
#define ATTN__FAR_STREAMS (1u << 30)
#define ATTN__FETCHES_FEW (1u << 28)
#define ATTN__PAIRS_BEST (1u << 29)

#define ATTN__INTEL 0x6c65746e /* the last letters of GenuineIntel, */
#define ATTN__AMD 0x444d4163   /* and of AuthenticAMD */

static unsigned attn__detect(void)
{
    const uint32_t basics = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29; /* leaf 1 ecx: FMA, OSXSAVE, AVX, F16C */
    unsigned isas = 1u << ATTN_ISA_SCALAR;
    uint32_t r[4], saved, maker, leaves, signature;
    attn__cpuid(0, 0, r);
    leaves = r[0];
    maker = r[2];
    attn__cpuid(1, 0, r);
    signature = r[0];
    if (r[3] & 1u << 26) /* SSE2 */
        isas |= 1u << ATTN_ISA_VECTOR128;
    if (leaves < 7 || (r[2] & basics) != basics)
        return isas;
    saved = attn__xgetbv();
    attn__cpuid(7, 0, r);                      /* ebx: bit 5 AVX2; 16, 17, 30, 31 AVX-512 F, DQ, BW, VL */
    if (maker == ATTN__AMD && r[1] & 1u << 16) /* Zen 4 and later */
        isas |= (signature & 0xff00f00) == 0xa00f00 ? ATTN__FAR_STREAMS : 0;
    if ((saved & 0x06) != 0x06 || !(r[1] & 1u << 5))
        return isas;
    isas |= 1u << ATTN_ISA_AVX2;
#ifdef ATTN__HAS_AVX512
    if ((saved & 0xe6) != 0xe6 || (r[1] & 0xc0030000u) != 0xc0030000u)
        return isas;
    isas |= 1u << ATTN_ISA_AVX512 | (maker == ATTN__INTEL ? ATTN__FETCHES_FEW : 0);
#ifdef ATTN__AVX512BF16
    attn__cpuid(7, r[0] > 0, r); /* leaf 1 of these, if there is one; eax: bit 5 AVX512_BF16 */
    if (r[0] & 1u << 5)
        isas |= 1u << ATTN_ISA_AVX512BF16 | (maker == ATTN__AMD ? ATTN__PAIRS_BEST : 0);
#endif
#endif
    return isas;
}

static unsigned attn__isas(void) /* a bit for each instruction set at hand; looked up once */
{
    static unsigned attn__found;
#if defined(_MSC_VER) && !defined(__clang__)
    unsigned isas = *(volatile unsigned *)&attn__found;
    if (isas == 0)
        *(volatile unsigned *)&attn__found = isas = attn__detect();
#else
    unsigned isas = __atomic_load_n(&attn__found, __ATOMIC_RELAXED);
    if (isas == 0) {
        isas = attn__detect();
        __atomic_store_n(&attn__found, isas, __ATOMIC_RELAXED);
    }
#endif
    return isas;
}

#else

#define ATTN__FAR_STREAMS 0u
#define ATTN__FETCHES_FEW 0u
#define ATTN__PAIRS_BEST 0u

static unsigned attn__isas(void) /* every CPU has all that this build has */
{
    return ~0u;
}

#endif

/* -- the passes of the kernels, and the way to their tables --

   The kernels, at the end of this file, are a template: with ATTN__PASS defined, including this file compiles them
   alone, for one instruction set, in float and in double. */

#define ATTN__PASS_SCALAR 1
#define ATTN__PASS_AVX2 2
#define ATTN__PASS_AVX512 3
#define ATTN__PASS_NEON 4
#define ATTN__PASS_VECTOR128 5
#define ATTN__PASS_AVX512BF16 6

ATTN__INLINE void attn__prefetch_row(const char *row, size_t bytes)
{
    const char *end = row + bytes;
    for (; row < end; row += 64)
        ATTN__PREFETCH(row, 2);
}

static void attn__are_reals(void *x, size_t rows, size_t cols) /* terms already */
{
    (void)x, (void)rows, (void)cols;
}

#define ATTN__BUFFER 64 /* load and store transpose through so many reals of each row at a time, on the stack */

#define ATTN__PASS ATTN__PASS_SCALAR
#include ATTN_HEADER

#ifdef ATTN__OPTIMIZED_SIZE /* but for kernels of vectors */
#pragma GCC pop_options
#endif

#if defined(ATTN__VECTOR128)
#define ATTN__PASS ATTN__PASS_VECTOR128
#include ATTN_HEADER
#endif

#ifdef ATTN__OPTIMIZED
#pragma GCC push_options
#pragma GCC optimize("O2", "no-tree-vrp", "no-thread-jumps", "no-tree-pre", "no-tree-vectorize", "no-schedule-insns2", \
                     "no-tree-dominator-opts", "no-gcse", "no-ivopts", "no-tree-pta")
#endif
#if defined(ATTN__X86)
#define ATTN__PASS ATTN__PASS_AVX2
#include ATTN_HEADER
#ifdef ATTN__HAS_AVX512
#define ATTN__PASS ATTN__PASS_AVX512
#include ATTN_HEADER
#endif
#ifdef ATTN__AVX512BF16
#define ATTN__PASS ATTN__PASS_AVX512BF16
#include ATTN_HEADER
#endif
#elif defined(ATTN__ARM)
#define ATTN__PASS ATTN__PASS_NEON
#include ATTN_HEADER
#endif
#ifdef ATTN__OPTIMIZED
#pragma GCC pop_options
typedef int attn__optimized; /* gcc is back with the next token, but forgets a macro: */
#undef __OPTIMIZE__
#endif

#ifdef ATTN__OPTIMIZED_SIZE
#pragma GCC push_options
#pragma GCC optimize("Os")
#endif

#if ATTN__HAS_F64
#define ATTN__TABLES(isa)                                                                                              \
    {                                                                                                                  \
        &attn__kernels_##isa##_f32, &attn__kernels_##isa##_f64                                                         \
    }
#else
#define ATTN__TABLES(isa)                                                                                              \
    {                                                                                                                  \
        &attn__kernels_##isa##_f32                                                                                     \
    }
#endif

#if !ATTN__HAS_F64
ATTN__TARGET_AS_WRITTEN ATTN__NOINLINE float attn__exp_float(float x)
{
    const attn__params_scalar_f32 one = attn__exp_params_scalar_f32(1);
    return attn__exp_scaled_scalar_f32(x, &one);
}
#endif

/* The table for an instruction set and a real type (F32 or F64), or NULL where this build or this CPU has none. What is
   not a product of BF16 is the same with pairs and without. */
static const attn__kernels *attn__kernels_for(attn_isa isa, attn_dtype real)
{
#if ATTN__ONE_TABLE
    (void)real;
    return isa == ATTN_ISA_BEST || isa == ATTN_ISA_SCALAR ? &attn__kernels_scalar_f32 : NULL;
#else
    static const attn__kernels *const attn__tables[][1 + ATTN__HAS_F64] = {
#ifdef ATTN__HAS_AVX512
        ATTN__TABLES(avx512),
#endif
#if defined(ATTN__X86)
        ATTN__TABLES(avx2),
#elif defined(ATTN__ARM)
        ATTN__TABLES(neon),
#endif
#if defined(ATTN__VECTOR128)
        ATTN__TABLES(vector128),
#endif
        ATTN__TABLES(scalar)
    };
    size_t i;
    if (isa == ATTN_ISA_AVX512BF16 && attn__isas() >> isa & 1)
        isa = ATTN_ISA_AVX512;
    for (i = 0; i < sizeof attn__tables / sizeof *attn__tables; i++) { /* best first */
        attn_isa has = attn__tables[i][0]->isa;
        if ((isa == ATTN_ISA_BEST || isa == has) && (attn__isas() >> has & 1))
            return attn__tables[i][real == ATTN_F64];
    }
    return NULL;
#endif
}

/* What is computed in double whatever the types: merging, rotating, sparsemax. Without F64 by plain C, whose table then
   has no more than that. */
static const attn__kernels *attn__wide_kernels(attn_isa isa)
{
#if ATTN__HAS_F64
    return attn__kernels_for(isa, ATTN_F64);
#else
    (void)isa;
    return &attn__kernels_scalar_f64;
#endif
}

static int attn__is_f64(const attn__kernels *kern) /* does it compute in double? */
{
    return ATTN__HAS_F64 && kern->real == ATTN_F64;
}

ATTN_API const char *attn_isa_string(attn_isa isa)
{
    static const char *const attn__names[] = {"best", "scalar", "avx2", "avx512", "neon", "vector128", "avx512bf16"};
    return (unsigned)isa < sizeof attn__names / sizeof *attn__names ? attn__names[isa] : "unknown";
}

ATTN_API int attn_isa_available(attn_isa isa)
{
    return attn__kernels_for(isa, ATTN_F32) != NULL;
}

/* ==== the ctx: kernels, workers, scratch ==========================================================================

   What an attn_ctx means: its kernels (attn__ctx_kernels, attn__ctx_products), how many workers it allows, and where
   scratch comes from. attn__spread runs a worker function by as many workers as there are items for, hands each its
   slice of scratch or a stack, and deals out items by attn__take; attn__borrow takes scratch from the caller or malloc;
   attn__tell ends a dry run. Workers share nothing but the counter of items taken, and on the way back the cells. What
   an item is, the room does not know. */

/* A call has so many workers at the most, however wide the caller's attn_parallel is: their scratch is proportional. */
#define ATTN__WORKERS 256

/* Bytes of scratch that every call, or worker, has on its stack: little enough for threads of small stacks. */
#define ATTN__STACK (ATTN__LARGE ? 16384 : 8192)
#define ATTN__PLAN_STACK (ATTN__LARGE ? 16896 : 12544)            /* and attention, whose other frames are small; */
#define ATTN__LAST_STACK (ATTN__LARGE ? 33792 : ATTN__PLAN_STACK) /* this much where there is no malloc */

static const attn__kernels *attn__ctx_kernels(const attn_ctx *ctx, attn_dtype real)
{
    return attn__kernels_for(ctx ? ctx->isa : ATTN_ISA_BEST, real);
}

/* The table for products of elements of type a by elements of type b, of which so many (0: all) stay together. */
static const attn__kernels *attn__ctx_products(const attn_ctx *ctx, attn_dtype a, attn_dtype b, size_t together)
{
#ifdef ATTN__AVX512BF16
    const attn__kernels *pairs = &attn__kernels_avx512bf16;
    attn_isa isa = ctx ? ctx->isa : ATTN_ISA_BEST;
    int best = isa == ATTN_ISA_BEST && attn__isas() & ATTN__PAIRS_BEST;
    if (a == pairs->element && b == pairs->element && together % pairs->term == 0 &&
        (best || (isa == pairs->isa && attn_isa_available(isa))))
        return pairs;
#else
    (void)b, (void)together;
#endif
    return attn__ctx_kernels(ctx, attn__real(a));
}

/* Why a call that asks for pairs, or has a tensor of BF16 on a CPU that is faster with them, has none; else "". */
static const char *attn__why_no_pairs(const attn__kernels *kern, const attn_ctx *ctx, attn_dtype q, attn_dtype k,
                                      attn_dtype v, size_t together)
{
    int some = (q == ATTN_BF16) + (k == ATTN_BF16) + (v == ATTN_BF16);
    int best = ctx->isa == ATTN_ISA_BEST && attn__isas() & ATTN__PAIRS_BEST && some > 0;
    if (kern->term > 1 || !(ctx->isa == ATTN_ISA_AVX512BF16 || best))
        return "";
    if (some < 3)
        return "no products of BF16, because not all of q, k and v are BF16\n";
    return together % 2 > 0 ? "no products of BF16, because kv_len of the lists is odd\n"
                            : "no products of BF16, because these are gradients\n";
}

static size_t attn__terms(const attn__kernels *kern, size_t n) /* of n elements */
{
    return kern->term == 1 ? n : attn__ceil_div(n, kern->term);
}

static int attn__is_panel(const attn__kernels *kern, attn_dtype dtype) /* are rows of such elements one, as they lie? */
{
    return dtype == kern->element && kern->term == 1;
}

static int attn__reads(const attn__kernels *kern, attn_dtype dtype) /* where they lie, in dot and weigh */
{
    return (int)(kern->reads >> dtype & 1);
}

/* Do rows of such elements lie as gemm takes rows of terms? */
static int attn__are_terms(const attn__kernels *kern, attn_dtype dtype, ptrdiff_t rs, ptrdiff_t cs, size_t rows,
                           size_t cols)
{
    return dtype == kern->element &&
           (kern->term == 1 || (cs == 1 && cols % kern->term == 0 && (rows <= 1 || rs % (ptrdiff_t)kern->term == 0)));
}

static size_t attn__ctx_workers(const attn_ctx *ctx, size_t items) /* no more than there are items of work */
{
    size_t width = ctx && ctx->parallel.run ? attn__max(ctx->parallel.width, 1) : 1;
    return attn__min(attn__min(width, ATTN__WORKERS), items);
}

/* One worker's share of a run of items. A worker prepares what it keeps from item to item, then takes items until none
   is left: while (attn__take(share, &item)). Which worker takes an item changes no bit. */
typedef struct attn__share {
    void (*worker)(struct attn__share *share);
    void *arg;
    size_t items, workers; /* of the run */
    char *scratch;       /* of this worker, aligned; of the run, before that: a slice for each, one after the other; */
    size_t bytes;        /* how large a slice is. If there is no scratch, it is on the worker's stack */
    size_t index;        /* of this worker */
    size_t next, *taken; /* the next item, where they are dealt out in turn; how many all workers have taken, else */
} attn__share;

/* Each worker takes the next free item, so that all end at about the same time; without atomics items are dealt out in
   turn. Returns 0 if none is left. */
static int attn__take(attn__share *share, size_t *item)
{
    *item = share->next;
    share->next += share->workers;
#ifdef ATTN__ATOMIC_ADD1
    if (share->workers > 1)
        *item = ATTN__ATOMIC_ADD1(share->taken);
#endif
    return *item < share->items;
}

static char *attn__align(void *p) /* up to ATTN__ALIGN */
{
    return (char *)p + (ATTN__ALIGN - (uintptr_t)p % ATTN__ALIGN) % ATTN__ALIGN;
}

/* A frame of its own, so that a call with scratch has no such stack. */
ATTN__NOINLINE void attn__work_on_stack(attn__share *share)
{
    char stack[ATTN__STACK];
    share->scratch = attn__align(stack);
    share->worker(share);
}

ATTN__NOINLINE void attn__work_on_half(attn__share *share)
{
    char stack[ATTN__STACK / 2 + ATTN__ALIGN];
    share->scratch = attn__align(stack);
    share->worker(share);
}

static void attn__work_of(attn__share *share) /* of one worker, who has a copy of the share if there are others */
{
    if (share->scratch)
        share->scratch = attn__align(share->scratch + share->index * share->bytes);
    if (share->scratch || share->bytes == 0)
        share->worker(share);
    else if (share->bytes > ATTN__STACK / 2)
        attn__work_on_stack(share);
    else
        attn__work_on_half(share);
}

static void attn__work(void *arg, size_t index) /* a task of attn_parallel */
{
    attn__share share = *(const attn__share *)arg;
    share.index = share.next = index;
    attn__work_of(&share);
}

/* All items, by as many workers as the ctx lets run, and no more than `workers` or items. Each has `bytes` of scratch,
   with room to align it: of a stack ATTN__STACK at most, where there is no other. */
static void attn__spread(const attn_ctx *ctx, size_t workers, size_t items, void (*worker)(attn__share *), void *arg,
                         void *scratch, size_t bytes)
{
    const size_t width = attn__min(workers, attn__ctx_workers(ctx, items));
    size_t taken = 0;
    attn__share share = {worker, arg, items, width, (char *)scratch, bytes, 0, 0, &taken};
    if (width > 1)
        ctx->parallel.run(ctx->parallel.user, width, attn__work, &share);
    else if (items > 0)
        attn__work_of(&share);
}

/* The scratch of a checked call, aligned: the caller's, or memory that becomes *own, for attn__release. NULL if there
   is a fault, or too little memory, which is one from then on; and in a dry run. */
static char *attn__borrow(attn__check *check, const attn_ctx *ctx, size_t bytes, void **own)
{
    void *scratch = NULL, *given = ctx ? ctx->scratch : NULL;
    size_t size = given ? ctx->scratch_size : 0;
    *own = NULL;
    if (attn__is_dry(check))
        return NULL;
    if (check->status == ATTN_OK && (!given || size >= bytes))
        scratch = given ? given : (*own = attn__allocate(bytes));
    if (!scratch)
        attn__blame(check, ATTN_ERR_NOMEM, "ctx.scratch", size, " bytes, where it takes ", bytes, "");
    return scratch ? attn__align(scratch) : NULL;
}

/* In a dry run: tells how much scratch the call has use for, and begins to say how it would run, or says why it would
   fail. Returns 0 if no more is to be said. */
static int attn__tell(attn__message *t, attn__check *c, const attn__kernels *kern, size_t bytes)
{
    attn_dry_run *dry = c->ctx->dry_run;
    t->at = dry->text;
    t->left = dry->text ? dry->text_size : 0;
    if (c->status == ATTN_OK) {
        dry->scratch = bytes;
        attn__say(t, attn_isa_string(kern->isa));
        attn__say(t, attn__is_f64(kern) ? ", computed in double\n" : ", computed in float\n");
        if (ATTN__LARGE)
            attn__say_number(t, "scratch: ", bytes, " bytes\n");
        return t->left > 1;
    }
    attn__say(t, c->argument);
    attn__say(t, c->other ? ", " : "");
    attn__say(t, c->other ? c->other : "");
    attn__say(t, ": ");
    attn__say_fault(t, c);
    attn__say(t, "\n");
    return 0;
}

/* ==== a pool of threads ===========================================================================================

   ATTN_THREADS: attn_pool_new starts threads that fill an attn_parallel, by pthreads or Win32, whose words the macros
   here give one name each. It is an example of an attn_parallel as much as a part of the library, which calls it as it
   calls that of anybody else: it knows a function, a user and a number of tasks. */

#ifdef ATTN_THREADS

#if defined(_WIN32)
typedef HANDLE attn__thread;
typedef SRWLOCK attn__mutex;
typedef CONDITION_VARIABLE attn__condition;
#define ATTN__MUTEX_NEW(m) (InitializeSRWLock(m), 1)
#define ATTN__MUTEX_FREE(m) ((void)(m))
#define ATTN__MUTEX_LOCK(m) AcquireSRWLockExclusive(m)
#define ATTN__MUTEX_UNLOCK(m) ReleaseSRWLockExclusive(m)
#define ATTN__CONDITION_NEW(c) (InitializeConditionVariable(c), 1)
#define ATTN__CONDITION_FREE(c) ((void)(c))
#define ATTN__CONDITION_WAIT(c, m) ((void)SleepConditionVariableSRW(c, m, INFINITE, 0))
#define ATTN__CONDITION_WAKE(c) WakeAllConditionVariable(c)
#define ATTN__THREAD_START(t, arg) ((*(t) = CreateThread(NULL, 0, attn__pool_thread, arg, 0, NULL)) != NULL)
#define ATTN__THREAD_JOIN(t) (WaitForSingleObject(t, INFINITE), (void)CloseHandle(t))
#define ATTN__YIELD() ((void)SwitchToThread())
#define ATTN__THREAD_MAIN(name) static DWORD WINAPI name(LPVOID arg)
#else
typedef pthread_t attn__thread;
typedef pthread_mutex_t attn__mutex;
typedef pthread_cond_t attn__condition;
#define ATTN__MUTEX_NEW(m) (pthread_mutex_init(m, NULL) == 0)
#define ATTN__MUTEX_FREE(m) ((void)pthread_mutex_destroy(m))
#define ATTN__MUTEX_LOCK(m) ((void)pthread_mutex_lock(m))
#define ATTN__MUTEX_UNLOCK(m) ((void)pthread_mutex_unlock(m))
#define ATTN__CONDITION_NEW(c) (pthread_cond_init(c, NULL) == 0)
#define ATTN__CONDITION_FREE(c) ((void)pthread_cond_destroy(c))
#define ATTN__CONDITION_WAIT(c, m) ((void)pthread_cond_wait(c, m))
#define ATTN__CONDITION_WAKE(c) ((void)pthread_cond_broadcast(c))
#define ATTN__THREAD_START(t, arg) (pthread_create(t, NULL, attn__pool_thread, arg) == 0)
#define ATTN__THREAD_JOIN(t) ((void)pthread_join(t, NULL))
#define ATTN__YIELD() ((void)sched_yield())
#define ATTN__THREAD_MAIN(name) static void *name(void *arg)
#endif

#if defined(_WIN32)
#define ATTN__PAUSE() YieldProcessor()
#elif (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
#define ATTN__PAUSE() __builtin_ia32_pause()
#elif (defined(__GNUC__) || defined(__clang__)) && defined(__aarch64__)
#define ATTN__PAUSE() __asm__ volatile("yield")
#else
#define ATTN__PAUSE() ((void)0)
#endif

#define ATTN__SPINS 1000 /* times that a thread looks at the counter before it sleeps: some microseconds */

static size_t attn__processors(void)
{
#if defined(_WIN32)
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return attn__max(info.dwNumberOfProcessors, 1);
#else
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (size_t)count : 1;
#endif
}

/* Threads wait for a run, take its tasks one by one along with the caller, and wait again. To sleep and be woken takes
   long beside a small run, so a waiting thread first spins on a counter. The counter is a hint and no more: what has
   happened is decided under the lock. */
typedef struct attn__pool {
    attn__mutex lock;
    attn__condition wake, done; /* there is a run, or an end; its last task has returned */
    void (*task)(void *arg, size_t index);
    void *arg;
    size_t next, count;  /* the next task to take, of how many: 0, if nobody has the pool */
    size_t running;      /* tasks taken and not done */
    size_t threads;      /* started */
    size_t begun, ended; /* hints: they change with wake and done */
    int stop;
    attn__thread thread[1]; /* as many as there are */
} attn__pool;

/* Spins until *hint changes, not for long; called and left with the lock held. */
static void attn__pool_spin(attn__pool *pool, const size_t *hint)
{
#ifdef ATTN__ATOMIC_LOAD
    size_t before = ATTN__ATOMIC_LOAD(hint), i;
    ATTN__MUTEX_UNLOCK(&pool->lock);
    for (i = 0; i < ATTN__SPINS && ATTN__ATOMIC_LOAD(hint) == before; i++)
        if (i % 32 == 31)
            ATTN__YIELD(); /* to the thread that is waited for, if it has no other processor */
        else
            ATTN__PAUSE();
    ATTN__MUTEX_LOCK(&pool->lock);
#else
    (void)pool, (void)hint;
#endif
}

static void attn__pool_wake(attn__condition *condition, size_t *hint) /* with the lock held */
{
#ifdef ATTN__ATOMIC_ADD1
    ATTN__ATOMIC_ADD1(hint);
#else
    (void)hint;
#endif
    ATTN__CONDITION_WAKE(condition);
}

/* Takes tasks until none is left; called and left with the lock held. */
static void attn__pool_work(attn__pool *pool)
{
    while (pool->next < pool->count) {
        void (*task)(void *arg, size_t index) = pool->task;
        void *arg = pool->arg;
        size_t index = pool->next++;
        pool->running++;
        ATTN__MUTEX_UNLOCK(&pool->lock);
        task(arg, index);
        ATTN__MUTEX_LOCK(&pool->lock);
        if (--pool->running == 0 && pool->next == pool->count)
            attn__pool_wake(&pool->done, &pool->ended);
    }
}

ATTN__THREAD_MAIN(attn__pool_thread)
{
    attn__pool *pool = (attn__pool *)arg;
    ATTN__MUTEX_LOCK(&pool->lock);
    while (!pool->stop) {
        attn__pool_work(pool);
        attn__pool_spin(pool, &pool->begun);
        if (!pool->stop && pool->next == pool->count)
            ATTN__CONDITION_WAIT(&pool->wake, &pool->lock);
    }
    ATTN__MUTEX_UNLOCK(&pool->lock);
    return 0;
}

static void attn__pool_run(void *user, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    attn__pool *pool = (attn__pool *)user;
    size_t index;
    int saved = ATTN__ERRNO, mine;
    ATTN__MUTEX_LOCK(&pool->lock);
    mine = pool->count == 0;
    if (mine) {
        pool->task = task;
        pool->arg = arg;
        pool->next = 0;
        pool->count = count;
        attn__pool_wake(&pool->wake, &pool->begun);
        attn__pool_work(pool);
        if (pool->running > 0)
            attn__pool_spin(pool, &pool->ended);
        while (pool->running > 0)
            ATTN__CONDITION_WAIT(&pool->done, &pool->lock);
        pool->next = pool->count = 0;
    }
    ATTN__MUTEX_UNLOCK(&pool->lock);
    for (index = 0; !mine && index < count; index++) /* somebody else has the pool: alone, then */
        task(arg, index);
    ATTN__ERRNO_KEEP(saved);
}

static void attn__pool_end(attn__pool *pool)
{
    ATTN__MUTEX_LOCK(&pool->lock);
    pool->stop = 1;
    attn__pool_wake(&pool->wake, &pool->begun);
    ATTN__MUTEX_UNLOCK(&pool->lock);
    for (; pool->threads > 0; pool->threads--)
        ATTN__THREAD_JOIN(pool->thread[pool->threads - 1]);
    ATTN__CONDITION_FREE(&pool->done);
    ATTN__CONDITION_FREE(&pool->wake);
    ATTN__MUTEX_FREE(&pool->lock);
}

static int attn__pool_sync(attn__pool *pool) /* makes lock and conditions, all or none */
{
    const int lock = ATTN__MUTEX_NEW(&pool->lock), wake = lock && ATTN__CONDITION_NEW(&pool->wake);
    if (wake && ATTN__CONDITION_NEW(&pool->done))
        return 1;
    if (wake)
        ATTN__CONDITION_FREE(&pool->wake);
    if (lock)
        ATTN__MUTEX_FREE(&pool->lock);
    return 0;
}

static int attn__pool_begin(attn__pool *pool, size_t threads) /* starts threads besides the caller's, all or none */
{
    ATTN__MEMSET(pool, 0, sizeof *pool);
    if (!attn__pool_sync(pool))
        return 0;
    for (; pool->threads + 1 < threads; pool->threads++)
        if (!ATTN__THREAD_START(&pool->thread[pool->threads], pool)) {
            attn__pool_end(pool);
            return 0;
        }
    return 1;
}

ATTN_API attn_status attn_pool_new(attn_parallel *pool, size_t threads)
{
    attn__pool *own;
    size_t bytes;
    int saved = ATTN__ERRNO, begun;
    if (!pool)
        return ATTN_ERR_NULL;
    if (threads == 0)
        threads = attn__processors();
    if (!attn__mul_size(&bytes, threads, sizeof(attn__thread)) || bytes > (size_t)PTRDIFF_MAX - sizeof *own)
        return ATTN_ERR_OVERFLOW;
    own = (attn__pool *)attn__allocate(sizeof *own + bytes);
    begun = own && attn__pool_begin(own, threads);
    ATTN__ERRNO_KEEP(saved);
    if (!begun) {
        attn__release(own);
        return ATTN_ERR_NOMEM;
    }
    pool->run = attn__pool_run;
    pool->user = own;
    pool->width = threads;
    return ATTN_OK;
}

ATTN_API void attn_pool_free(attn_parallel *pool)
{
    int saved = ATTN__ERRNO;
    if (!pool)
        return;
    if (pool->user)
        attn__pool_end((attn__pool *)pool->user);
    attn__release(pool->user);
    ATTN__MEMSET(pool, 0, sizeof *pool);
    ATTN__ERRNO_KEEP(saved);
}

#endif /* ATTN_THREADS */

#else /* ATTN__PASS */

/* ==== the kernels =================================================================================================

   This room is compiled once for every instruction set (ATTN__PASS) and real type. First the vocabulary of the pass:
   the vector V of W reals R, its operations, its register tile of ROWS x 3 vectors. Then the kernels, written once on
   top. They see rows of numbers, tiles and states; never a plan, options, a tensor or a ctx.

   What a new instruction set defines:
   - its name: attn_isa, attn_isa_string;
   - compiler and configuration: if the compiler can build it (as ATTN__X86 says), and the header of its intrinsics;
   - instruction sets: ATTN__PASS_, which is the number of its attn_isa, and the #include of its pass; if the CPU has it
     (attn__detect, or attn__isas); a row of attn__tables, and in the kernel table one of attn__tuned;
   - here: NAME, TARGET (the function attribute), V, W (16 at most) and ROWS (of the register tile), powers of 2, and
     the vocabulary (FMS and REGISTER where it gains by them), with an #undef for each word that other passes define
     otherwise. V is a complete type, of which there are arrays. The vocabulary of VECTOR128 does for any processor that
     a compiler has vectors for.
   What a new element format defines:
   - its name: attn_dtype;
   - views, arguments and elements: attn__size and attn__row_bytes (of a row), attn__is_aligned; in attn__is_dtype,
     which arguments may have it; attn_mat_new or attn__has_scales; attn__load and attn__store of one element;
   - here: its loader (a case of widen, and one in each ladder that chooses it by type: widens, OF_TYPE, READS) and its
     storer (narrows, narrow): the last case of a ladder is not the default of new formats; formats whose terms are not
     reals: load_rows, load_panel, to_terms, any_nonfinite;
   - key/value cache: attn__append_rows and a storer of its rows, where these have scales; attn_kv_cache_size.
   Strides count elements: a format of less than a byte needs attn__at, too, and attn__row_bytes wherever attn__size is
   multiplied by a number of elements.

   The vocabulary: LOAD, STORE, SET1, ADD, SUB, MUL, DIV, MAX as their names say; ROUND to nearest even; FMA(a,b,c) = a
   b + c, FMS(a,b,c) = a b - c; PICK(a,b,x,y) = a < b ? x : y in each lane, y where a or b is NaN; REGISTER, the
   constraint of a vector register in inline assembly. On integers of the lanes' size, I: ISET, IADD, ISUB, IAND, ISHL,
   ISHR (logical); IANY(i): has a lane its top bit set; IADD_UNLESS(a,b,d,limit) = d < limit ? 0 : a + b;
   PICK_BITS(i,j,x,y) = i & j != 0 ? x : y, of reals x and y; AS_BITS and AS_REAL between both. In float also LOAD_F16,
   LOAD_BF16, LOAD_I8 of W such numbers and, or such elements are stored one by one, STORE_F16, STORE_U16 of the lower
   halves of integers, IADD_UP_TO(a,b,x,most) = x <= most ? a + b : a; in double LOAD_F32, STORE_F32. The pass adds
   itself to the functions that move lanes: load_128, interleave_128, add_128 and fold. any_nonfinite (without which it
   needs no IANY), ldexp, load_first, store_first and nonzero, of which load_bits and classify are made, may gain from
   other instructions. A pass with pairs extends another one: it has the vocabulary of that in float, and BASE(x), the
   name of its kernel x. DOT(a,b,c) = c + a b, where a and b are pairs; PAIR_UP(a,b), each real of a beside that of b,
   rounded to nearest even. It has ATTN__PAIRS, the section "-- pairs --" of this room, element and term in its table,
   attn__kernels_for and ATTN__PAIRS_BEST in instruction sets, attn__ctx_products and attn__why_no_pairs in the ctx.

   -ffast-math would fold comparisons with infinities and NaNs: such numbers are found by their bits, and are passed as
   data (attn__tile). */

#define ATTN__PASSED 1 /* whoever included it sees that it was this file */

#ifndef ATTN__REAL_F64
#define ATTN__REAL_F64 0 /* float first, then double: see the end */
#endif

/* A pass with pairs has the kernels of products alone, in float; the others are those of the pass that it extends. */
#define ATTN__PAIRS (ATTN__PASS == ATTN__PASS_AVX512BF16)
#if ATTN__PAIRS
#define ATTN__OF_TERMS(pairs, reals) pairs
#else
#define ATTN__OF_TERMS(pairs, reals) reals
#endif
#define ATTN__BASE(x) ATTN__OF_TERMS(attn__##x##_avx512_f32, ATTN__NAME(x))

#define ATTN__AVX512 (ATTN__PASS == ATTN__PASS_AVX512 || ATTN__PASS == ATTN__PASS_AVX512BF16)
#define ATTN__ISA ((attn_isa)ATTN__PASS) /* their numbers are the same */
/* Exponentials and the like; without F64 in double alone. */
#define ATTN__BY_LIBM (ATTN__PASS == ATTN__PASS_SCALAR && (ATTN__HAS_F64 || ATTN__REAL_F64))

#if ATTN__REAL_F64
#define ATTN__OF_REAL(f32, f64) f64
#else
#define ATTN__OF_REAL(f32, f64) f32
#endif
#define ATTN__R ATTN__OF_REAL(float, double)
#define ATTN__REAL ATTN__OF_REAL(ATTN_F32, ATTN_F64)
#define ATTN__R_MAX ATTN__OF_REAL(FLT_MAX, DBL_MAX)
#define ATTN__BITS ATTN__OF_REAL(uint32_t, uint64_t)
#define ATTN__MANTISSA ATTN__OF_REAL(23, 52)                                /* bits of the mantissa */
#define ATTN__BIAS ATTN__OF_REAL(127, 1023)                                 /* of the exponent */
#define ATTN__INFINITY ((ATTN__BITS)(2 * ATTN__BIAS + 1) << ATTN__MANTISSA) /* its bits */
/* 1.5 2^MANTISSA: added to a small number, leaves its integer in the low bits */
#define ATTN__MAGIC ATTN__OF_REAL(12582912.0f, 6755399441055744.0)

#if ATTN__AVX512 || ATTN__PASS == ATTN__PASS_AVX2

#if ATTN__AVX512
#if ATTN__PAIRS
#define ATTN__TARGET ATTN__TARGET_ATTRIBUTE("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")
#define ATTN__NAME(x) attn__##x##_avx512bf16
#define ATTN__PAIR_UP(a, b) ATTN__NAME(zip)((__m512i)_mm512_cvtne2ps_pbh(b, a))
#else
#define ATTN__TARGET ATTN__TARGET_ATTRIBUTE("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#define ATTN__NAME(x) ATTN__OF_REAL(attn__##x##_avx512_f32, attn__##x##_avx512_f64)
#endif
#define ATTN__LESS(x) ATTN__OF_REAL(attn__##x##_avx2_f32, attn__##x##_avx2_f64)
#define ATTN__ROWS 8
#define ATTN__REGISTER "+v"
#define ATTN__V ATTN__OF_REAL(__m512, __m512d)
#define ATTN__W ATTN__OF_REAL(16, 8)
#define ATTN__X(op) ATTN__OF_REAL(_mm512_##op##_ps, _mm512_##op##_pd)
#define ATTN__M(op) ATTN__OF_REAL(_mm512_##op##_ps_mask, _mm512_##op##_pd_mask)
#define ATTN__MASK(n) ((ATTN__OF_REAL(__mmask16, __mmask8))((1u << (n)) - 1)) /* the first n lanes */
#define ATTN__ALL ATTN__MASK(ATTN__W) /* maskz forms: gcc 12 warns about its own headers' plain ones */
#define ATTN__SHUFFLE_128(a, b, which)                                                                                 \
    ATTN__OF_REAL(_mm512_maskz_shuffle_f32x4, _mm512_maskz_shuffle_f64x2)(ATTN__ALL, a, b, which)
#define ATTN__ROUND(v) ATTN__X(maskz_roundscale)(ATTN__ALL, v, 8)
#define ATTN__MAX(a, b) ATTN__X(maskz_max)(ATTN__ALL, a, b)
#define ATTN__PICK(a, b, x, y) ATTN__X(mask_blend)(ATTN__M(cmp)(a, b, _CMP_LT_OQ), y, x)
#define ATTN__I __m512i
#define ATTN__IX(op) ATTN__OF_REAL(_mm512_##op##_epi32, _mm512_##op##_epi64)
#define ATTN__AS_BITS(v) ATTN__OF_REAL(_mm512_castps_si512, _mm512_castpd_si512)(v)
#define ATTN__AS_REAL(i) ATTN__OF_REAL(_mm512_castsi512_ps, _mm512_castsi512_pd)(i)
#define ATTN__ISET(x) ATTN__OF_REAL(_mm512_set1_epi32((int)(x)), _mm512_set1_epi64((long long)(x)))
#define ATTN__IADD_UNLESS(a, b, d, limit) ATTN__IX(maskz_add)(ATTN__M(cmp)(d, limit, _CMP_NLT_UQ), a, b)
#define ATTN__IAND(a, b) _mm512_and_si512(a, b)
#define ATTN__ISHL(a, n) ATTN__IX(maskz_slli)(ATTN__ALL, a, n)
#define ATTN__ISHR(a, n) ATTN__IX(maskz_srli)(ATTN__ALL, a, n)
#define ATTN__PICK_BITS(i, j, x, y)                                                                                    \
    ATTN__X(mask_blend)(ATTN__OF_REAL(_mm512_test_epi32_mask, _mm512_test_epi64_mask)(i, j), y, x)
#define ATTN__LOAD_F16(p) _mm512_maskz_cvtph_ps(ATTN__ALL, _mm256_loadu_si256((const __m256i *)(p)))
#define ATTN__LOAD_BF16(p)                                                                                             \
    ATTN__AS_REAL(ATTN__ISHL(_mm512_maskz_cvtepu16_epi32(ATTN__ALL, _mm256_loadu_si256((const __m256i *)(p))), 16))
#define ATTN__LOAD_I8(p)                                                                                               \
    _mm512_maskz_cvtepi32_ps(ATTN__ALL, _mm512_maskz_cvtepi8_epi32(ATTN__ALL, _mm_loadu_si128((const __m128i *)(p))))
#define ATTN__LOAD_F32(p) _mm512_maskz_cvtps_pd(ATTN__ALL, _mm256_loadu_ps(p))
#define ATTN__STORE_F32(p, v) _mm256_storeu_ps(p, _mm512_maskz_cvtpd_ps(ATTN__ALL, v))

#else
#define ATTN__TARGET ATTN__TARGET_ATTRIBUTE("avx2,fma,f16c")
#define ATTN__NAME(x) ATTN__OF_REAL(attn__##x##_avx2_f32, attn__##x##_avx2_f64)
#define ATTN__ROWS 4
#define ATTN__REGISTER "+x"
#define ATTN__V ATTN__OF_REAL(__m256, __m256d)
#define ATTN__W ATTN__OF_REAL(8, 4)
#define ATTN__X(op) ATTN__OF_REAL(_mm256_##op##_ps, _mm256_##op##_pd)
#define ATTN__MASK(n)                                                                                                  \
    ATTN__AS_BITS(ATTN__X(cmp)(ATTN__LOAD(ATTN__NAME(count)), ATTN__SET1((ATTN__R)(int)(n)), _CMP_LT_OQ))
#define ATTN__ROUND(v) ATTN__X(round)(v, 8)
#define ATTN__MAX(a, b) ATTN__X(max)(a, b)
#define ATTN__PICK(a, b, x, y) ATTN__X(blendv)(y, x, ATTN__X(cmp)(a, b, _CMP_LT_OQ))
#define ATTN__I __m256i
#define ATTN__IX(op) ATTN__OF_REAL(_mm256_##op##_epi32, _mm256_##op##_epi64)
#define ATTN__AS_BITS(v) ATTN__OF_REAL(_mm256_castps_si256, _mm256_castpd_si256)(v)
#define ATTN__AS_REAL(i) ATTN__OF_REAL(_mm256_castsi256_ps, _mm256_castsi256_pd)(i)
#define ATTN__ISET(x) ATTN__OF_REAL(_mm256_set1_epi32((int)(x)), _mm256_set1_epi64x((long long)(x)))
#define ATTN__IAND(a, b) _mm256_and_si256(a, b)
#define ATTN__IADD_UNLESS(a, b, d, limit)                                                                              \
    ATTN__IAND(ATTN__IADD(a, b), ATTN__AS_BITS(ATTN__X(cmp)(d, limit, _CMP_NLT_UQ)))
#define ATTN__ISHL(a, n) ATTN__IX(slli)(a, n)
#define ATTN__ISHR(a, n) ATTN__IX(srli)(a, n)
#define ATTN__IANY(i) ATTN__X(movemask)(ATTN__AS_REAL(i))
#define ATTN__PICK_BITS(i, j, x, y)                                                                                    \
    ATTN__X(blendv)(x, y, ATTN__AS_REAL(ATTN__IX(cmpeq)(ATTN__IAND(i, j), _mm256_setzero_si256())))
#define ATTN__LOAD_F16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define ATTN__LOAD_BF16(p) ATTN__AS_REAL(ATTN__ISHL(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p))), 16))
#define ATTN__LOAD_I8(p) _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p))))
#define ATTN__STORE_F16(p, v) _mm_storeu_si128((__m128i *)(p), _mm256_cvtps_ph(v, 0))
#define ATTN__IADD_UP_TO(a, b, x, most) ATTN__IADD(a, _mm256_andnot_si256(_mm256_cmpgt_epi32(x, most), b))
#define ATTN__STORE_U16(p, i)                                                                                          \
    _mm_storeu_si128((__m128i *)(void *)(p),                                                                           \
                     _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(i, i), 8)))
#define ATTN__LOAD_F32(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define ATTN__STORE_F32(p, v) _mm_storeu_ps(p, _mm256_cvtpd_ps(v))
#endif

#define ATTN__LOAD(p) ATTN__X(loadu)(p)
#define ATTN__STORE(p, v) ATTN__X(storeu)(p, v)
#define ATTN__SET1(x) ATTN__X(set1)(x)
#define ATTN__BY(of, name, op, a, b) of(name)(a, b)
#define ATTN__FMA(a, b, c) ATTN__X(fmadd)(a, b, c)
#define ATTN__FMS(a, b, c) ATTN__X(fmsub)(a, b, c)

#elif ATTN__PASS == ATTN__PASS_NEON

#define ATTN__TARGET
#define ATTN__NAME(x) ATTN__OF_REAL(attn__##x##_neon_f32, attn__##x##_neon_f64)
#define ATTN__ROWS 8
#define ATTN__REGISTER "+w"
#define ATTN__V ATTN__OF_REAL(float32x4_t, float64x2_t)
#define ATTN__W ATTN__OF_REAL(4, 2)
#define ATTN__X(op) ATTN__OF_REAL(op##_f32, op##_f64)
#define ATTN__LOAD(p) ATTN__X(vld1q)(p)
#define ATTN__STORE(p, v) ATTN__X(vst1q)(p, v)
#define ATTN__SET1(x) ATTN__X(vdupq_n)(x)
#define ATTN__BY(of, name, op, a, b) of(v##name##q)(a, b)
#define ATTN__FMA(a, b, c) ATTN__X(vfmaq)(c, a, b)
#define ATTN__FMS(a, b, c) ATTN__X(vfmaq)(ATTN__X(vnegq)(c), a, b)
#define ATTN__MAX(a, b) ATTN__X(vmaxq)(a, b)
#define ATTN__ROUND(v) ATTN__X(vrndnq)(v)
#define ATTN__PICK(a, b, x, y) ATTN__X(vbslq)(ATTN__NAME(truth)(ATTN__X(vcltq)(a, b)), x, y)
#define ATTN__I ATTN__OF_REAL(uint32x4_t, uint64x2_t)
#define ATTN__IX(op) ATTN__OF_REAL(op##_u32, op##_u64)
#define ATTN__AS_BITS(v) ATTN__OF_REAL(vreinterpretq_u32_f32, vreinterpretq_u64_f64)(v)
#define ATTN__AS_REAL(i) ATTN__OF_REAL(vreinterpretq_f32_u32, vreinterpretq_f64_u64)(i)
#define ATTN__ISET(x) ATTN__IX(vdupq_n)(x)
#define ATTN__IAND(a, b) ATTN__IX(vandq)(a, b)
#define ATTN__IADD_UNLESS(a, b, d, limit) ATTN__IX(vbicq)(ATTN__IADD(a, b), ATTN__X(vcltq)(d, limit))
#define ATTN__ISHL(a, n) ATTN__IX(vshlq_n)(a, n)
#define ATTN__ISHR(a, n) ATTN__IX(vshrq_n)(a, n)
#define ATTN__IANY(i) (vmaxvq_u32(ATTN__OF_REAL(i, vreinterpretq_u32_u64(vshrq_n_u64(i, 32)))) >> 31 != 0)
#define ATTN__PICK_BITS(i, j, x, y) ATTN__X(vbslq)(ATTN__IX(vtstq)(i, j), x, y)
#define ATTN__LOAD_F16(p) vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8((const unsigned char *)(p))))
#define ATTN__LOAD_BF16(p) ATTN__AS_REAL(vshll_n_u16(vreinterpret_u16_u8(vld1_u8((const unsigned char *)(p))), 16))
#define ATTN__LOAD_I8(p) vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(ATTN__NAME(load_4)(p)))))
#define ATTN__STORE_F16(p, v) vst1_u8((unsigned char *)(p), vreinterpret_u8_f16(vcvt_f16_f32(v)))
#define ATTN__IADD_UP_TO(a, b, x, most) ATTN__IADD(a, vbicq_u32(b, vcgtq_u32(x, most)))
#define ATTN__STORE_U16(p, i) vst1_u8((unsigned char *)(p), vreinterpret_u8_u16(vmovn_u32(i)))
#define ATTN__LOAD_F32(p) vcvt_f64_f32(vld1_f32(p))
#define ATTN__STORE_F32(p, v) vst1_f32(p, vcvt_f32_f64(v))

#else

/* Operators of C: on reals or, in the pass of VECTOR128, on vectors of GNU C, of 16 bytes; without registers for these
   on single reals there too. Without intrinsics a compiler may fuse or reorder here but not there: then an element's
   bits would depend on its neighbours. */
#if defined(__clang__)
#pragma clang fp contract(off) reassociate(off)
#define ATTN__TARGET_AS_WRITTEN
#elif defined(ATTN__X86) && defined(__GNUC__) && defined(__OPTIMIZE__) /* most CPUs take another pass: for size */
#define ATTN__TARGET_AS_WRITTEN __attribute__((optimize("Os", "no-fast-math", "fp-contract=off")))
#elif defined(__GNUC__) && !defined(__TINYC__)
#define ATTN__TARGET_AS_WRITTEN __attribute__((optimize("no-fast-math", "fp-contract=off")))
#else
#define ATTN__TARGET_AS_WRITTEN
#endif
#if ATTN__PASS == ATTN__PASS_VECTOR128 && defined(ATTN__X86)
#define ATTN__TARGET ATTN__TARGET_AS_WRITTEN ATTN__TARGET_ATTRIBUTE("sse2")
#else
#define ATTN__TARGET ATTN__TARGET_AS_WRITTEN
#endif

#if ATTN__PASS == ATTN__PASS_SCALAR
#define ATTN__NAME(x) ATTN__OF_REAL(attn__##x##_scalar_f32, attn__##x##_scalar_f64)
#define ATTN__ROWS 4
#else
#define ATTN__NAME(x) ATTN__OF_REAL(attn__##x##_vector128_f32, attn__##x##_vector128_f64)
#if defined(__VSX__) || defined(__VX__) || defined(__aarch64__) || defined(__riscv) || defined(__loongarch__)
#define ATTN__ROWS 8 /* of 32 registers */
#elif defined(__wasm_simd128__)
#define ATTN__ROWS 2 /* with more, V8 keeps sums in memory */
#else
#define ATTN__ROWS 4
#endif
#endif

#if ATTN__PASS == ATTN__PASS_VECTOR128 && defined(ATTN__REGISTERS128)
#define ATTN__V ATTN__NAME(reals)
#define ATTN__I ATTN__NAME(bits)
typedef ATTN__R ATTN__V __attribute__((vector_size(16)));
typedef ATTN__BITS ATTN__I __attribute__((vector_size(16)));
typedef ATTN__V ATTN__NAME(memory) __attribute__((aligned(sizeof(ATTN__R)), may_alias));
typedef ATTN__V ATTN__NAME(panel) __attribute__((may_alias));
#define ATTN__W ATTN__OF_REAL(4, 2)
#if ATTN__REAL_F64
#define ATTN__SAME(x)                                                                                                  \
    {                                                                                                                  \
        x, x                                                                                                           \
    }
#else
#define ATTN__SAME(x)                                                                                                  \
    {                                                                                                                  \
        x, x, x, x                                                                                                     \
    }
#endif
#define ATTN__LOAD(p) ((ATTN__V) * (const ATTN__NAME(memory) *)(p))
#define ATTN__LOAD_PANEL(p) ((ATTN__V) * (const ATTN__NAME(panel) *)(p))
#define ATTN__STORE(p, v) ((void)(*(ATTN__NAME(memory) *)(p) = (v)))
#define ATTN__SET1(x) ATTN__NAME(set1)(x)
#define ATTN__ISET(x) ATTN__NAME(iset)((ATTN__BITS)(x))
#define ATTN__AS_BITS(v) ((ATTN__I)(v))
#define ATTN__AS_REAL(i) ((ATTN__V)(i))
#define ATTN__IANY(i) ATTN__NAME(iany)(i)
#define ATTN__TRUE(condition) ATTN__NAME(truth)((ATTN__I)(condition))
#define ATTN__CHOOSE(condition, x, y) ATTN__NAME(choose)(ATTN__TRUE(condition), x, y)
#define ATTN__PICK(a, b, x, y) ATTN__CHOOSE((a) < (b), x, y)
#define ATTN__LOAD_F16(p) ATTN__NAME(wide_f16)(ATTN__NAME(load_u16)(p))
#define ATTN__LOAD_BF16(p) ATTN__AS_REAL(ATTN__NAME(load_u16)(p) << 16)
#define ATTN__LOAD_I8(p) ATTN__NAME(load_i8)((const signed char *)(p))
#define ATTN__LOAD_F32(p) ATTN__NAME(load_f32)(p)
#define ATTN__STORE_F32(p, v) ((p)[0] = (float)(v)[0], (p)[1] = (float)(v)[1])
#if defined(ATTN__X86)
#define ATTN__REGISTER "+x"
#ifdef __FMA__
#define ATTN__FUSED ATTN__OF_REAL(_mm_fmadd_ps, _mm_fmadd_pd)
#endif
#elif defined(__VX__)
#define ATTN__REGISTER "+v"
#define ATTN__FUSED ATTN__OF_REAL(__builtin_s390_vfmasb, __builtin_s390_vfmadb)
#elif defined(__VSX__)
#define ATTN__REGISTER "+wa"
#ifdef __clang__
#define ATTN__FUSED ATTN__OF_REAL(__builtin_vsx_xvmaddasp, __builtin_vsx_xvmaddadp)
#else
#define ATTN__FUSED ATTN__OF_REAL(__builtin_vsx_xvmaddsp, __builtin_vsx_xvmadddp)
#endif
#elif defined(__wasm__)
#if !defined(__clang__) || __clang_major__ < 19 || __clang_major__ > 21
#define ATTN__REGISTER "+r" /* at which 19 to 21 stop */
#endif
#if defined(__wasm_relaxed_simd__) && defined(__has_builtin)
#if __has_builtin(__builtin_wasm_relaxed_madd_f32x4) /* clang 16: the standard's instructions, by their final names */
#define ATTN__FUSED ATTN__OF_REAL(__builtin_wasm_relaxed_madd_f32x4, __builtin_wasm_relaxed_madd_f64x2)
#endif
#endif
#endif
#if !defined(ATTN__REGISTER) && defined(__clang__) && __FINITE_MATH_ONLY__
#define ATTN__REGISTER "+m" /* slow, but -ffast-math needs pins */
#endif
#ifdef ATTN__FUSED
#define ATTN__FMA(a, b, c) ATTN__NAME(fma)(a, b, c)
#endif
#if defined(__clang__)
#define ATTN__MOVE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define ATTN__MOVE(a, b, ...) __builtin_shuffle(a, b, __extension__(ATTN__I){__VA_ARGS__})
#endif

#else
#define ATTN__V ATTN__R
#define ATTN__I ATTN__BITS
#define ATTN__W 1
#define ATTN__LOAD(p) (*(p))
#define ATTN__STORE(p, v) ((void)(*(p) = (v)))
#define ATTN__SET1(x) (x)
#define ATTN__ISET(x) ((ATTN__BITS)(x))
#define ATTN__AS_BITS(v) ATTN__NAME(as_bits)(v)
#define ATTN__AS_REAL(i) ATTN__NAME(as_real)(i)
#define ATTN__IANY(i) ((int)((i) >> ATTN__OF_REAL(31, 63)))
#define ATTN__TRUE(condition) (0 - (ATTN__BITS)(condition))
#define ATTN__CHOOSE(condition, x, y) ((condition) ? (x) : (y))
#define ATTN__PICK(a, b, x, y) ATTN__CHOOSE(ATTN__NAME(less)(a, b), x, y)
#if (ATTN__PASS == ATTN__PASS_VECTOR128 || !ATTN__HAS_VECTORS) &&                                                      \
    ((ATTN__REAL_F64 && defined(__FP_FAST_FMA)) || (!ATTN__REAL_F64 && defined(__FP_FAST_FMAF)))
#define ATTN__FMA(a, b, c) ATTN__OF_REAL(__builtin_fmaf, __builtin_fma)(a, b, c)
#endif
#endif

#define ATTN__BY(of, name, op, a, b) ((a)op(b))
#ifndef ATTN__FMA
#define ATTN__FMA(a, b, c) ((a) * (b) + (c))
#endif
#if ATTN__W > 1 && defined(ATTN__X86)
#define ATTN__MAX(a, b) ((ATTN__V)ATTN__OF_REAL(_mm_max_ps, _mm_max_pd)(a, b))
#else
#define ATTN__MAX(a, b) ATTN__CHOOSE((a) > (b), a, b)
#endif
/* The cast rounds where C computes floats in double, as gcc does for s390x. */
#define ATTN__ROUND(v) ((ATTN__V)((v) + ATTN__SET1(ATTN__MAGIC)) - ATTN__SET1(ATTN__MAGIC))
#define ATTN__IAND(a, b) ((a) & (b))
#define ATTN__IADD_UNLESS(a, b, d, limit) (((a) + (b)) & ~ATTN__TRUE((d) < (limit)))
#define ATTN__ISHL(a, n) ((a) << (n))
#define ATTN__ISHR(a, n) ((a) >> (n))
#define ATTN__PICK_BITS(i, j, x, y) ATTN__CHOOSE(((i) & (j)) != 0, x, y)
#endif

/* By a function of that name, of reals (X) or integers (IX), or by the operator of C. */
#define ATTN__ADD(a, b) ATTN__BY(ATTN__X, add, +, a, b)
#define ATTN__SUB(a, b) ATTN__BY(ATTN__X, sub, -, a, b)
#define ATTN__MUL(a, b) ATTN__BY(ATTN__X, mul, *, a, b)
#define ATTN__DIV(a, b) ATTN__BY(ATTN__X, div, /, a, b)
#define ATTN__IADD(a, b) ATTN__BY(ATTN__IX, add, +, a, b)
#define ATTN__ISUB(a, b) ATTN__BY(ATTN__IX, sub, -, a, b)

/* v is final here: -ffast-math does not reorder a sum across this. And as ATTN__OPAQUE, of lanes. (Of integers: a
   pinned real would be taken for finite.) */
#if defined(ATTN__REGISTER) && (defined(__GNUC__) || defined(__clang__))
#define ATTN__PIN(v) __asm__("" : ATTN__REGISTER(v))
#define ATTN__OPAQUE_LANES(bits) ATTN__OPAQUE_IN(ATTN__REGISTER, bits)
#else
#define ATTN__PIN(v) ((void)0)
#define ATTN__OPAQUE_LANES(bits) ((void)0)
#endif

#if defined(__GNUC__) && !defined(__clang__) /* at -O0 some AVX-512 intrinsics are macros that convert signs */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif

#define ATTN__TILE_COLS (3 * ATTN__W)
#ifndef ATTN__LESS /* the pass to which this one leaves other views and types */
#define ATTN__LESS(x) ATTN__OF_REAL(attn__##x##_scalar_f32, attn__##x##_scalar_f64)
#endif
#ifndef ATTN__LOAD_PANEL
#define ATTN__LOAD_PANEL(p) ATTN__LOAD(p)
#endif

/* What products are made of: c + a b, of reals or of the two terms of pairs; and one element for all lanes. */
#define ATTN__DOT(a, b, c) ATTN__OF_TERMS(_mm512_dpbf16_ps(c, (__m512bh)(a), (__m512bh)(b)), ATTN__FMA(a, b, c))
#define ATTN__SET_ELEMENT(p) ATTN__OF_TERMS(ATTN__NAME(set_element)(p), ATTN__SET1(*(p)))

#if ATTN__W == 1
ATTN__INLINE ATTN__BITS ATTN__NAME(as_bits)(ATTN__R x)
{
    ATTN__BITS bits;
    ATTN__MEMCPY(&bits, &x, sizeof bits);
    ATTN__OPAQUE(bits);
    return bits;
}

ATTN__INLINE ATTN__R ATTN__NAME(as_real)(ATTN__BITS bits)
{
    ATTN__R x;
    ATTN__OPAQUE(bits);
    ATTN__MEMCPY(&x, &bits, sizeof x);
    return x;
}

static int ATTN__NAME(less)(ATTN__R a, ATTN__R b) /* a < b: may be compiled as !(a >= b), which is true of NaN */
{
#if defined(__clang__) && __FINITE_MATH_ONLY__
    const ATTN__BITS most = ATTN__INFINITY << 1;
    if (ATTN__NAME(as_bits)(a) << 1 > most || ATTN__NAME(as_bits)(b) << 1 > most)
        return 0;
#endif
    return a < b;
}
#endif

#if ATTN__PASS == ATTN__PASS_NEON || (ATTN__PASS == ATTN__PASS_VECTOR128 && ATTN__W > 1)
/* With -ffast-math clang would turn a < b around, as if there were no NaN. */
ATTN__TARGET ATTN__INLINE ATTN__I ATTN__NAME(truth)(ATTN__I condition)
{
    ATTN__OPAQUE_LANES(condition);
    return condition;
}
#endif

#if ATTN__PASS == ATTN__PASS_NEON && !ATTN__REAL_F64
ATTN__INLINE int8x8_t ATTN__NAME(load_4)(const void *p) /* four bytes */
{
    uint32_t word;
    ATTN__MEMCPY(&word, p, sizeof word);
    return vreinterpret_s8_u32(vdup_n_u32(word));
}
#endif

#if ATTN__PASS == ATTN__PASS_VECTOR128 && ATTN__W > 1
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(set1)(ATTN__R x)
{
    ATTN__V v = ATTN__SAME(x);
    return v;
}

ATTN__TARGET ATTN__INLINE ATTN__I ATTN__NAME(iset)(ATTN__BITS x)
{
    ATTN__I i = ATTN__SAME(x);
    return i;
}

#ifdef ATTN__FUSED
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(fma)(ATTN__V a, ATTN__V b, ATTN__V c)
{
    ATTN__V v = (ATTN__V)ATTN__FUSED(a, b, c);
#if defined(__clang__) && !defined(__wasm__) /* would reorder a sum of these with -ffast-math */
    __asm__("" : ATTN__REGISTER(v));
#endif
    return v;
}
#endif

ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(choose)(ATTN__I which, ATTN__V x, ATTN__V y)
{
    return (ATTN__V)((which & (ATTN__I)x) | (~which & (ATTN__I)y));
}

ATTN__TARGET ATTN__INLINE int ATTN__NAME(iany)(ATTN__I i)
{
#if defined(ATTN__X86)
    return ATTN__OF_REAL(_mm_movemask_ps, _mm_movemask_pd)((ATTN__V)i);
#elif ATTN__REAL_F64
    return (int)((i[0] | i[1]) >> 63);
#else
    return (int)((i[0] | i[1] | i[2] | i[3]) >> 31);
#endif
}

#if ATTN__W == 2
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(load_f32)(const float *p)
{
#if defined(ATTN__X86)
    return (ATTN__V)_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p)));
#else
    ATTN__V v = {(double)p[0], (double)p[1]};
    return v;
#endif
}
#else
ATTN__TARGET ATTN__INLINE ATTN__I ATTN__NAME(load_u16)(const void *p)
{
#if defined(ATTN__X86)
    return (ATTN__I)_mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)p), _mm_setzero_si128());
#else
    uint16_t h __attribute__((vector_size(8)));
    ATTN__MEMCPY(&h, p, sizeof h);
    return __builtin_convertvector(h, ATTN__I);
#endif
}

ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(load_i8)(const signed char *p)
{
#if defined(ATTN__X86)
    int32_t word;
    __m128i i;
    ATTN__MEMCPY(&word, p, sizeof word);
    i = _mm_cvtsi32_si128(word);
    i = _mm_unpacklo_epi8(i, i);
    return (ATTN__V)_mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(i, i), 24));
#else
    int32_t i __attribute__((vector_size(16))) = {p[0], p[1], p[2], p[3]};
    return __builtin_convertvector(i, ATTN__V);
#endif
}

/* Subnormal halves become normal floats by a subtraction; infinities and NaNs need the largest exponent. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(wide_f16)(ATTN__I h)
{
    ATTN__I m = (h & 0x7fff) << 13, bits = m + (112 << 23), least = ATTN__ISET(113 << 23);
    ATTN__V subnormal = (ATTN__V)(m + least) - (ATTN__V)least;
    bits += ATTN__TRUE(m >= 0x7c00 << 13) & (112 << 23);
    bits |= ATTN__TRUE(m > 0x7c00 << 13) & (1 << 22);
    return (ATTN__V)((ATTN__I)ATTN__CHOOSE(m < 1 << 23, subnormal, (ATTN__V)bits) | (h & 0x8000) << 16);
}
#endif

#endif

/* Is one of the lanes NaN, +infinity or, with `minus`, -infinity? With pairs, is half of one? */
ATTN__TARGET ATTN__INLINE int ATTN__NAME(any_nonfinite)(ATTN__V v, const int minus)
{
#if ATTN__PAIRS
    const __m512i infinity = _mm512_set1_epi16(0x7f80);
    (void)minus;
    return _mm512_cmpeq_epi16_mask(_mm512_and_si512(ATTN__AS_BITS(v), infinity), infinity) != 0;
#elif ATTN__AVX512
    return minus ? ATTN__M(fpclass)(v, 0x99) : ATTN__M(fpclass)(v, 0x89); /* quiet and signalling NaNs, infinities */
#else
    ATTN__I bits = ATTN__AS_BITS(v), magnitude, beyond = ATTN__ISET((ATTN__BITS)1 << ATTN__MANTISSA);
    ATTN__OPAQUE_LANES(bits);
    magnitude = ATTN__IAND(bits, ATTN__ISET((ATTN__BITS)-1 >> 1));
    if (!minus) /* of negative numbers NaNs alone */
        beyond = ATTN__ISUB(beyond, ATTN__ISHR(bits, ATTN__OF_REAL(31, 63)));
    return ATTN__IANY(ATTN__IADD(magnitude, beyond)); /* from infinity on the top bit is set */
#endif
}

/* e^(scale d) = 2^(log2e d + log2e_rest d), and 0 for d < limit: what the weights of a row have in common. */
#define ATTN__PARAMS ATTN__NAME(params)
typedef struct ATTN__PARAMS {
    attn__number scale;
    ATTN__V log2e, log2e_rest, limit;
} ATTN__PARAMS;

#if !ATTN__BY_LIBM

/* v 2^n for integral n, in two steps, so that results below the smallest normal number are rounded, not lost. Adding
   ATTN__MAGIC + 2 bias leaves n + 2 bias in the lowest bits; each half of it, moved up, is the exponent of a factor. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(ldexp)(ATTN__V v, ATTN__V n)
{
#if ATTN__AVX512
    return ATTN__X(maskz_scalef)(ATTN__ALL, v, n);
#else
    ATTN__I both = ATTN__AS_BITS(ATTN__ADD(n, ATTN__SET1(ATTN__MAGIC + 2 * ATTN__BIAS))), half = ATTN__ISHR(both, 1);
    v = ATTN__MUL(v, ATTN__AS_REAL(ATTN__ISHL(half, ATTN__MANTISSA)));
    return ATTN__MUL(v, ATTN__AS_REAL(ATTN__ISHL(ATTN__ISUB(both, half), ATTN__MANTISSA)));
#endif
}

#if defined(ATTN__STORE_U16) && !ATTN__REAL_F64
/* Rounds to nearest even by integers: half of what is cut off is added, and carries. NaNs, quiet ones, are cut. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(store_bf16)(uint16_t *p, ATTN__V v)
{
    ATTN__I bits = ATTN__AS_BITS(v), magnitude, half;
    ATTN__OPAQUE_LANES(bits);
    magnitude = ATTN__IAND(bits, ATTN__ISET(INT32_MAX));
    half = ATTN__IADD(ATTN__IAND(ATTN__ISHR(bits, 16), ATTN__ISET(1)), ATTN__ISET(0x7fff));
    bits = ATTN__ISHR(ATTN__IADD_UP_TO(bits, half, magnitude, ATTN__ISET(ATTN__INFINITY)), 16);
    ATTN__STORE_U16(p, bits);
}
#endif

/* p, a minimax polynomial, with 2^f = 1 + p f for -1/2 <= f <= 1/2 */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(exp2_poly)(ATTN__V f)
{
#if ATTN__REAL_F64
    static const double attn__terms[] = {
        4.078071929588336665e-10,   7.072570412814423510e-9,   1.018064765923413889e-7,    1.3215442675329822143e-6,
        1.52527273851938681969e-5,  1.54035304415721303297e-4, 1.333355815343996474705e-3, 9.618129107607002379584e-3,
        5.550410866479039455165e-2, 0.2402265069591009800657,  0.6931471805599456967506};
#else
    static const float attn__terms[] = {1.559467816e-4f, 1.340664390e-3f, 9.617692973e-3f,
                                        5.550310551e-2f, 0.2402265278f,   0.6931472150f};
#endif
    ATTN__V p = ATTN__SET1(attn__terms[0]);
    size_t i;
    ATTN__UNROLL
    for (i = 1; i < sizeof attn__terms / sizeof *attn__terms; i++)
        p = ATTN__FMA(p, f, ATTN__SET1(attn__terms[i]));
    return p;
}

/* x log2e + x log2e_rest - n, where x log2e is nearly n: so its own rounding must not count. Without an instruction for
   that, both are cut in halves, whose products are exact.                                               Dekker 1971 */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(fraction)(ATTN__V x, ATTN__V log2e, ATTN__V log2e_rest, ATTN__V n)
{
#ifdef ATTN__FMS
    return ATTN__FMA(x, log2e_rest, ATTN__FMS(x, log2e, n));
#else
    ATTN__I upper = ATTN__ISET((ATTN__BITS)-1 << (ATTN__MANTISSA / 2 + 1));
    ATTN__V x1 = ATTN__AS_REAL(ATTN__IAND(ATTN__AS_BITS(x), upper)), x2 = ATTN__SUB(x, x1);
    ATTN__V unit1 = ATTN__AS_REAL(ATTN__IAND(ATTN__AS_BITS(log2e), upper));
    ATTN__V unit2 = ATTN__ADD(ATTN__SUB(log2e, unit1), log2e_rest);
    ATTN__V f = ATTN__FMA(x1, unit2, ATTN__SUB(ATTN__MUL(x1, unit1), n));
    return ATTN__FMA(x2, log2e, f);
#endif
}

/* For x <= 0: n and f with n + f = x log2(e), n integral, -1/2 <= f <= 1/2, and p with 2^f = 1 + p f, so that
   exp(x) = 2^n (1 + p f). log2(e) comes in two parts, so that f keeps its bits where n is large. Below `least` exp
   is 0. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(exp_parts)(ATTN__V x, ATTN__V *n, ATTN__V *f)
{
    const ATTN__R least = ATTN__OF_REAL(-104.0f, -746.0), log2e = ATTN__OF_REAL(ATTN__LOG2E_F32, ATTN__LOG2E);
    const ATTN__R log2e_rest = ATTN__OF_REAL(ATTN__LOG2E_REST_F32, ATTN__LOG2E_REST);
    x = ATTN__MAX(x, ATTN__SET1(least));
    *n = ATTN__ROUND(ATTN__MUL(x, ATTN__SET1(log2e)));
    *f = ATTN__NAME(fraction)(x, ATTN__SET1(log2e), ATTN__SET1(log2e_rest), *n);
    return ATTN__NAME(exp2_poly)(*f);
}

ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(exp)(ATTN__V x)
{
    ATTN__V n, f, p = ATTN__NAME(exp_parts)(x, &n, &f);
    return ATTN__NAME(ldexp)(ATTN__FMA(p, f, ATTN__SET1((ATTN__R)1)), n);
}

/* e^(scale d) for d <= 0 and scale > 0, or 0 where d < limit, where hardly a normal number is left. scale log2(e) comes
   in two parts. Adding ATTN__MAGIC rounds to an integer n, which stands in the lowest bits of z: shifted into the
   exponent and added to the bits of 2^f, it multiplies by 2^n. */
ATTN__TARGET ATTN__INLINE_IF_LARGE ATTN__V ATTN__NAME(exp_scaled)(ATTN__V d, const ATTN__PARAMS *p)
{
    ATTN__V magic = ATTN__SET1(ATTN__MAGIC), z = ATTN__FMA(d, p->log2e, magic), f, e;
    ATTN__PIN(z);
    f = ATTN__NAME(fraction)(d, p->log2e, p->log2e_rest, ATTN__SUB(z, magic));
    e = ATTN__FMA(ATTN__NAME(exp2_poly)(f), f, ATTN__SET1((ATTN__R)1));
    return ATTN__AS_REAL(
        ATTN__IADD_UNLESS(ATTN__AS_BITS(e), ATTN__ISHL(ATTN__AS_BITS(z), ATTN__MANTISSA), d, p->limit));
}

/* tanh(x) = -t / (t + 2) with t = exp(-2x) - 1 for x >= 0; t = 2^n p f + (2^n - 1) loses nothing where x is small. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(tanh)(ATTN__V x)
{
    ATTN__V zero = ATTN__SET1((ATTN__R)0), one = ATTN__SET1((ATTN__R)1), minus = ATTN__SUB(zero, x), n, f, p, power, t;
    t = ATTN__PICK(x, zero, x, minus);
    p = ATTN__NAME(exp_parts)(ATTN__ADD(t, t), &n, &f);
    power = ATTN__NAME(ldexp)(one, n);
    t = ATTN__FMA(power, ATTN__MUL(p, f), ATTN__SUB(power, one));
    t = ATTN__DIV(t, ATTN__ADD(t, ATTN__ADD(one, one)));
    return ATTN__PICK(x, zero, t, ATTN__SUB(zero, t));
}

#else

static ATTN__R ATTN__NAME(exp)(ATTN__R x)
{
    return (ATTN__R)attn__exp((double)x);
}

static ATTN__R ATTN__NAME(exp_scaled)(ATTN__R d, const ATTN__PARAMS *p)
{
    return (ATTN__R)attn__exp((double)d * p->scale);
}

#endif /* ATTN__BY_LIBM */

/* -- between the user's views and packed rows -- */

static const ATTN__R ATTN__NAME(count)[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* The first n of W reals, or all of them where n is more; the others are 0. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(load_first)(const ATTN__R *p, size_t n)
{
    if (n >= ATTN__W)
        return ATTN__LOAD(p);
#if ATTN__AVX512
    return ATTN__X(maskz_loadu)(ATTN__MASK(n), p);
#elif ATTN__PASS == ATTN__PASS_AVX2
    return ATTN__X(maskload)(p, ATTN__MASK(n));
#else
    ATTN__R lanes[ATTN__W];
    size_t i;
    ATTN__MEMSET(lanes, 0, sizeof lanes);
    for (i = 0; i < n; i++)
        ATTN__MEMCPY(lanes + i, p + i, sizeof *p); /* as bytes: infinities pass -ffast-math */
    return ATTN__LOAD(lanes);
#endif
}

/* Stores as many; what follows them may belong to another row. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(store_first)(ATTN__R *p, ATTN__V v, size_t n)
{
    if (n >= ATTN__W)
        ATTN__STORE(p, v);
    else {
#if ATTN__AVX512
        ATTN__X(mask_storeu)(p, ATTN__MASK(n), v);
#elif ATTN__PASS == ATTN__PASS_AVX2
        ATTN__X(maskstore)(p, ATTN__MASK(n), v);
#else
        ATTN__R lanes[ATTN__W];
        size_t i;
        ATTN__STORE(lanes, v);
        for (i = 0; i < n; i++)
            ATTN__MEMCPY(p + i, lanes + i, sizeof *p);
#endif
    }
}

#if ATTN__W > 1
#define ATTN__LANES128 (16 / (int)sizeof(ATTN__R)) /* reals in 128 bits, which AVX shuffles cheaply within */

#if ATTN__AVX512
/* 128 bits from each of four places. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(load_quarters)(const char *p, const char *q, const char *r, const char *s)
{
    __m256 v = _mm256_castps128_ps256(_mm_loadu_ps((const float *)p));
    __m256 w = _mm256_castps128_ps256(_mm_loadu_ps((const float *)r)); /* half a vector: Zen 4 takes half as long */
    v = _mm256_insertf128_ps(v, _mm_loadu_ps((const float *)q), 1);
    w = _mm256_insertf128_ps(w, _mm_loadu_ps((const float *)s), 1);
    return ATTN__AS_REAL(_mm512_castps_si512(_mm512_maskz_insertf32x8(UINT16_MAX, _mm512_castps256_ps512(v), w, 1)));
}
#endif

/* A vector of W / LANES128 times 128 bits, `step` bytes apart. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(load_128)(const char *p, ptrdiff_t step)
{
#if ATTN__AVX512
    return ATTN__NAME(load_quarters)(p, p + step, p + 2 * step, p + 3 * step);
#elif ATTN__PASS == ATTN__PASS_AVX2
    __m256 v = _mm256_castps128_ps256(_mm_loadu_ps((const float *)p));
    v = _mm256_insertf128_ps(v, _mm_loadu_ps((const float *)(p + step)), 1);
    return ATTN__AS_REAL(_mm256_castps_si256(v));
#else
    (void)step;
    return ATTN__LOAD((const ATTN__R *)(const void *)p);
#endif
}

/* The lanes of a and b interleaved within each 128 bits, a[0] b[0] a[1] b[1]: their lower halves, or the upper. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(interleave_128)(ATTN__V a, ATTN__V b, const int high)
{
#if ATTN__AVX512
    return high ? ATTN__X(maskz_unpackhi)(ATTN__ALL, a, b) : ATTN__X(maskz_unpacklo)(ATTN__ALL, a, b);
#elif ATTN__PASS == ATTN__PASS_AVX2
    return high ? ATTN__X(unpackhi)(a, b) : ATTN__X(unpacklo)(a, b);
#elif ATTN__PASS == ATTN__PASS_NEON
    return high ? ATTN__X(vzip2q)(a, b) : ATTN__X(vzip1q)(a, b);
#elif ATTN__REAL_F64
    return high ? ATTN__MOVE(a, b, 1, 3) : ATTN__MOVE(a, b, 0, 2);
#else
    return high ? ATTN__MOVE(a, b, 2, 6, 3, 7) : ATTN__MOVE(a, b, 0, 4, 1, 5);
#endif
}

/* The sums of the 128 bits of each vector: those of v[0], then of v[1], .. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(add_128)(const ATTN__V *v)
{
#if ATTN__AVX512
    ATTN__V x = ATTN__ADD(ATTN__SHUFFLE_128(v[0], v[1], 0x88), ATTN__SHUFFLE_128(v[0], v[1], 0xdd));
    ATTN__V y = ATTN__ADD(ATTN__SHUFFLE_128(v[2], v[3], 0x88), ATTN__SHUFFLE_128(v[2], v[3], 0xdd));
    return ATTN__ADD(ATTN__SHUFFLE_128(x, y, 0x88), ATTN__SHUFFLE_128(x, y, 0xdd));
#elif ATTN__PASS == ATTN__PASS_AVX2
    return ATTN__ADD(ATTN__X(permute2f128)(v[0], v[1], 0x20), ATTN__X(permute2f128)(v[0], v[1], 0x31));
#else
    return v[0];
#endif
}

/* Transposes the LANES128 x LANES128 reals that stand in the same 128 bits of as many vectors: where v[i] is made of
   chunks i, i + LANES128, ..., v[i] becomes real number i of each of the W chunks, in order. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(transpose_128)(ATTN__V *v)
{
    ATTN__V y[ATTN__LANES128];
    int i, step;
    ATTN__UNROLL
    for (step = 1; step < ATTN__LANES128; step *= 2) {
        ATTN__EACH (i, ATTN__LANES128 / 2) {
            y[2 * i] = ATTN__NAME(interleave_128)(v[i], v[i + ATTN__LANES128 / 2], 0);
            y[2 * i + 1] = ATTN__NAME(interleave_128)(v[i], v[i + ATTN__LANES128 / 2], 1);
        }
        ATTN__EACH (i, ATTN__LANES128)
            v[i] = y[i];
    }
}

#if !ATTN__PAIRS
/* x[r * rs + c] = alpha in[r + c * cs] for `high` rows of W columns: a vector holds LANES128 rows of every LANES128-th
   column, and as many of them are transposed together. Not `whole`: rows past the last are read but not stored, nor are
   columns from `wide` on. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(transpose_block)(ATTN__R *x, ptrdiff_t rs, const ATTN__R *in, ptrdiff_t cs,
                                                           size_t high, size_t wide, ATTN__V alpha, const int whole)
{
    ATTN__V v[ATTN__LANES128];
    size_t r;
    int i;
    for (r = 0; r < high; r += ATTN__LANES128) {
        ATTN__EACH (i, ATTN__LANES128)
            v[i] = ATTN__NAME(load_128)((const char *)(in + r + i * cs), ATTN__LANES128 * cs * (ptrdiff_t)sizeof *in);
        ATTN__NAME(transpose_128)(v);
        ATTN__EACH (i, ATTN__LANES128)
            if (whole)
                ATTN__STORE(x + ((ptrdiff_t)r + i) * rs, ATTN__MUL(v[i], alpha));
            else if (r + (size_t)i < high)
                ATTN__NAME(store_first)(x + ((ptrdiff_t)r + i) * rs, ATTN__MUL(v[i], alpha), wide);
    }
}

/* x[r * rs + c] = alpha in[r + c * cs], in blocks of W columns */
ATTN__TARGET static void ATTN__NAME(transpose)(ATTN__R *x, ptrdiff_t rs, const ATTN__R *in, ptrdiff_t cs, size_t rows,
                                               size_t cols, attn__number alpha)
{
    ATTN__R buffer[ATTN__W * ATTN__W];
    ATTN__V factor = ATTN__SET1((ATTN__R)alpha);
    size_t r, c, i, high, wide;
    for (c = 0; c < cols; c += ATTN__W) {
        wide = attn__min(cols - c, ATTN__W);
        r = wide == ATTN__W ? rows / ATTN__LANES128 * ATTN__LANES128 : 0;
        if (r > 0)
            ATTN__NAME(transpose_block)(x + c, rs, in + (ptrdiff_t)c * cs, cs, r, wide, factor, 1);
        for (; r < rows; r += high) {
            high = attn__min(rows - r, ATTN__W);
            for (i = 0; i < ATTN__W; i++)
                ATTN__STORE(buffer + i * ATTN__W,
                            ATTN__NAME(load_first)(in + (ptrdiff_t)(c + attn__min(i, wide - 1)) * cs + r, high));
            ATTN__NAME(transpose_block)(x + (ptrdiff_t)r * rs + c, rs, buffer, ATTN__W, high, wide, factor, 0);
        }
    }
}
#endif
#endif /* ATTN__W > 1 */

#if !ATTN__PAIRS
/* One element: without F64, none is a double. */
#if ATTN__HAS_F64 || ATTN__REAL_F64
#define ATTN__LOAD_ONE(p, dtype) attn__load(p, dtype)
#define ATTN__STORE_ONE(p, dtype, x) attn__store(p, dtype, (double)(x))
#else
#define ATTN__LOAD_ONE(p, dtype) attn__load_float(p, dtype)
#define ATTN__STORE_ONE(p, dtype, x) attn__store_float(p, dtype, (float)(x))
#endif

/* Has the pass a loop that loads rows of that type, and one that stores them? AVX-512 has those of AVX2. */
ATTN__INLINE int ATTN__NAME(widens)(attn_dtype dtype)
{
    int wide = dtype == ATTN_F64 || dtype == ATTN_BOOL;
    return dtype == ATTN__REAL || (ATTN__W > 1 && !ATTN__AVX512 && (ATTN__REAL_F64 ? dtype == ATTN_F32 : !wide));
}

ATTN__INLINE int ATTN__NAME(narrows)(attn_dtype dtype)
{
    const int by_one = dtype == ATTN_I8 || (ATTN__PASS == ATTN__PASS_VECTOR128 && !ATTN__REAL_F64);
    return dtype == ATTN__REAL || (!by_one && ATTN__NAME(widens)(dtype));
}

/* W elements of such a type as reals. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(widen)(const void *p, attn_dtype dtype)
{
#if ATTN__W == 1
    if (dtype != ATTN__REAL)
        return (ATTN__R)ATTN__LOAD_ONE(p, dtype);
#elif ATTN__REAL_F64
    if (dtype == ATTN_F32)
        return ATTN__LOAD_F32((const float *)p);
#else
    switch (dtype) {
    case ATTN_F16: return ATTN__LOAD_F16(p);
    case ATTN_BF16: return ATTN__LOAD_BF16(p);
    case ATTN_I8: return ATTN__LOAD_I8(p);
    default: break;
    }
#endif
    (void)dtype;
    return ATTN__LOAD((const ATTN__R *)p);
}

/* Fewer than W of them, of any type, with zeros after them, as they lie where a row ends. */
ATTN__TARGET ATTN__NOINLINE void ATTN__NAME(widen_rest)(ATTN__R *x, const void *p, attn_dtype dtype, size_t n)
{
    char buffer[8 * ATTN__W];
    ATTN__MEMSET(buffer, 0, sizeof buffer);
    ATTN__MEMCPY(buffer, p, n * attn__size(dtype));
    ATTN__STORE(x, ATTN__NAME(widen)(buffer, dtype));
}

/* The first n of them, W at most; the others are 0. Whole vectors are in the loops, what is left is not. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(widen_first)(const void *p, attn_dtype dtype, size_t n)
{
    ATTN__R rest[ATTN__W];
    if (ATTN__W == 1 || n == ATTN__W)
        return ATTN__NAME(widen)(p, dtype);
    if (dtype == ATTN__REAL)
        return ATTN__NAME(load_first)((const ATTN__R *)p, n);
    ATTN__NAME(widen_rest)(rest, p, dtype, n);
    return ATTN__LOAD(rest);
}

/* W reals as elements of such a type, rounded. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(narrow)(void *p, ATTN__V v, attn_dtype dtype)
{
#if ATTN__W == 1
    if (dtype != ATTN__REAL)
        ATTN__STORE_ONE(p, dtype, v);
#elif ATTN__REAL_F64
    if (dtype == ATTN_F32)
        ATTN__STORE_F32((float *)p, v);
#elif defined(ATTN__STORE_F16)
    if (dtype == ATTN_F16)
        ATTN__STORE_F16(p, v);
    if (dtype == ATTN_BF16)
        ATTN__NAME(store_bf16)((uint16_t *)p, v);
#endif
    if (dtype == ATTN__REAL)
        ATTN__STORE((ATTN__R *)p, v);
}

/* The first n of W reals, fewer than all. */
ATTN__TARGET ATTN__NOINLINE void ATTN__NAME(narrow_rest)(void *p, const ATTN__R *x, attn_dtype dtype, size_t n)
{
    char buffer[8 * ATTN__W];
    ATTN__NAME(narrow)(buffer, ATTN__LOAD(x), dtype);
    ATTN__MEMCPY(p, buffer, n * attn__size(dtype));
}

ATTN__TARGET ATTN__INLINE void ATTN__NAME(narrow_first)(void *p, ATTN__V v, attn_dtype dtype, size_t n)
{
    ATTN__R rest[ATTN__W];
    if (ATTN__W == 1 || n == ATTN__W)
        ATTN__NAME(narrow)(p, v, dtype);
    else if (dtype == ATTN__REAL)
        ATTN__NAME(store_first)((ATTN__R *)p, v, n);
    else {
        ATTN__STORE(rest, v);
        ATTN__NAME(narrow_rest)(p, rest, dtype, n);
    }
}

/* What becomes of numbers that are moved: nothing; times alpha; and added to what is there. */
enum { ATTN__NAME(as_is), ATTN__NAME(scaled), ATTN__NAME(added) };

/* W numbers, or the first n of them, from a type that the pass widens to one that it narrows to. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(move)(void *to, attn_dtype to_type, const void *from, attn_dtype from_type,
                                                size_t n, ATTN__V alpha, const int how)
{
    ATTN__V v = ATTN__NAME(widen_first)(from, from_type, n);
    if (how == ATTN__NAME(scaled))
        v = ATTN__MUL(v, alpha);
    if (how == ATTN__NAME(added))
        v = ATTN__FMA(v, alpha, ATTN__NAME(widen_first)(to, to_type, n));
    ATTN__NAME(narrow_first)(to, v, to_type, n);
}

/* to[r][c] = from[r][c]; to may be from. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(move_rows)(void *to, attn_dtype to_type, ptrdiff_t to_step, const void *from,
                                                     attn_dtype from_type, ptrdiff_t from_step, size_t rows,
                                                     size_t cols, attn__number alpha, const int how)
{
    const size_t whole = cols / ATTN__W * ATTN__W, size = attn__size(from_type), to_size = attn__size(to_type);
    ATTN__V factor = ATTN__SET1((ATTN__R)alpha);
    size_t r, c;
    for (r = 0; r < rows && cols > 0; r++) { /* without columns there may be no data */
        const char *x = (const char *)from + (ptrdiff_t)r * from_step * (ptrdiff_t)size;
        char *out = (char *)to + (ptrdiff_t)r * to_step * (ptrdiff_t)to_size;
        for (c = 0; c < whole; c += ATTN__W)
            ATTN__NAME(move)(out + c * to_size, to_type, x + c * size, from_type, ATTN__W, factor, how);
        if (c < cols)
            ATTN__NAME(move)(out + c * to_size, to_type, x + c * size, from_type, cols - c, factor, how);
    }
}

/* Code for each type, which it has as a constant. */
#define ATTN__OF_TYPE(dtype, call)                                                                                     \
    switch (dtype) {                                                                                                   \
    case ATTN_F16: call(ATTN_F16); break;                                                                              \
    case ATTN_BF16: call(ATTN_BF16); break;                                                                            \
    case ATTN_I8: call(ATTN_I8); break;                                                                                \
    default: call(ATTN__REAL); break;                                                                                  \
    }

#if ATTN__W == 1
/* x[r][c] = in[r * rs + c * cs], element by element: in the other passes too, where a view has strides that no vector
   is made for, or a type that the pass has no loader for. */
ATTN__TARGET ATTN__NOINLINE void ATTN__NAME(load)(void *x, size_t ld, const void *in, attn_dtype dtype, ptrdiff_t rs,
                                                  ptrdiff_t cs, size_t rows, size_t cols)
{
    size_t r, c;
    for (r = 0; r < rows; r++)
        for (c = 0; c < cols; c++)
            ((ATTN__R *)x)[r * ld + c] =
                (ATTN__R)ATTN__LOAD_ONE(attn__at(in, dtype, (ptrdiff_t)r * rs + (ptrdiff_t)c * cs), dtype);
}

/* out[r * rs + c * cs] = alpha x[r][c], rounded: alpha is a real, too. */
ATTN__TARGET ATTN__NOINLINE void ATTN__NAME(store)(void *out, attn_dtype dtype, ptrdiff_t rs, ptrdiff_t cs,
                                                   const void *x, size_t ld, size_t rows, size_t cols,
                                                   attn__number alpha)
{
    size_t r, c;
    for (r = 0; r < rows; r++)
        for (c = 0; c < cols; c++)
            ATTN__STORE_ONE(attn__at(out, dtype, (ptrdiff_t)r * rs + (ptrdiff_t)c * cs), dtype,
                            (ATTN__R)(((const ATTN__R *)x)[r * ld + c] * (ATTN__HAS_F64 ? alpha : (ATTN__R)alpha)));
}

#else
ATTN__TARGET ATTN__NOINLINE void ATTN__NAME(turn)(ATTN__R *x, size_t ld, void *view, attn_dtype dtype, ptrdiff_t cs,
                                                  size_t rows, size_t cols, attn__number alpha, int storing);

/* The same by vectors, of views whose rows, or columns, are contiguous. */
#define ATTN__LOAD_ROWS(type)                                                                                          \
    ATTN__NAME(move_rows)(x, ATTN__REAL, (ptrdiff_t)ld, in, type, rs, rows, cols, 1.0, ATTN__NAME(as_is))

ATTN__TARGET static void ATTN__NAME(load)(void *x, size_t ld, const void *in, attn_dtype dtype, ptrdiff_t rs,
                                          ptrdiff_t cs, size_t rows, size_t cols)
{
    if (!ATTN__NAME(widens)(dtype) || (cs != 1 && (rs != 1 || !ATTN__LARGE)))
        ATTN__LESS(load)(x, ld, in, dtype, rs, cs, rows, cols);
    else if (cs != 1)
        ATTN__NAME(turn)((ATTN__R *)x, ld, (void *)in, dtype, cs, rows, cols, 1.0, 0); /* which it reads alone */
    else if (ATTN__REAL_F64 && dtype == ATTN_F32)
        ATTN__LOAD_ROWS(ATTN_F32);
    else
        ATTN__OF_TYPE(ATTN__OF_REAL(dtype, ATTN_F64), ATTN__LOAD_ROWS)
}

#define ATTN__STORE_ROWS(type)                                                                                         \
    ATTN__NAME(move_rows)(out, type, rs, x, ATTN__REAL, (ptrdiff_t)ld, rows, cols, alpha, ATTN__NAME(scaled))

ATTN__TARGET static void ATTN__NAME(store)(void *out, attn_dtype dtype, ptrdiff_t rs, ptrdiff_t cs, const void *x,
                                           size_t ld, size_t rows, size_t cols, attn__number alpha)
{
    if (!ATTN__NAME(narrows)(dtype) || (cs != 1 && (rs != 1 || !ATTN__LARGE)))
        ATTN__LESS(store)(out, dtype, rs, cs, x, ld, rows, cols, (attn__number)(ATTN__R)alpha);
    else if (cs != 1)
        ATTN__NAME(turn)((ATTN__R *)x, ld, out, dtype, cs, rows, cols, alpha, 1);
    else if (ATTN__REAL_F64 && dtype == ATTN_F32)
        ATTN__STORE_ROWS(ATTN_F32);
    else
        ATTN__OF_TYPE(ATTN__OF_REAL(dtype, ATTN_F64), ATTN__STORE_ROWS)
}

/* A view whose columns are contiguous, or with `storing` the rows x, is read along these and transposed into the other:
   reals where they lie, other types through a buffer, some rows and columns at a time. Reals are stored some rows of
   the view at a time, each to its end: caches write that fastest. */
ATTN__TARGET ATTN__NOINLINE void ATTN__NAME(turn)(ATTN__R *x, size_t ld, void *view, attn_dtype dtype, ptrdiff_t cs,
                                                  size_t rows, size_t cols, attn__number alpha, int storing)
{
    const int real = ATTN__AVX512 || dtype == ATTN__REAL; /* AVX-512 has no others */
    const ptrdiff_t step = real ? cs : (ptrdiff_t)ATTN__BUFFER, size = (ptrdiff_t)attn__size(dtype);
    ATTN__R buffer[ATTN__AVX512 ? 1 : ATTN__W * ATTN__BUFFER];
    size_t r, c, high, wide;
    for (r = 0; r < rows; r += high) {
        high = real ? rows : attn__min(rows - r, ATTN__BUFFER);
        for (c = 0; c < cols; c += wide, x += wide) {
            char *at = (char *)view + ((ptrdiff_t)r + (ptrdiff_t)c * cs) * size;
            ATTN__R *transposed = real ? (ATTN__R *)(void *)at : buffer;
            wide = attn__min(cols - c, real && storing ? ATTN__LANES128 : ATTN__W);
            if (storing)
                ATTN__NAME(transpose)(transposed, step, x, (ptrdiff_t)ld, wide, high, real ? alpha : 1);
            if (!real && storing)
                ATTN__NAME(store)(at, dtype, cs, 1, buffer, ATTN__BUFFER, wide, high, alpha);
            if (!real && !storing)
                ATTN__NAME(load)(buffer, ATTN__BUFFER, at, dtype, cs, 1, wide, high);
            if (!storing)
                ATTN__NAME(transpose)(x, (ptrdiff_t)ld, transposed, step, high, wide, 1.0);
        }
        x += high * ld - cols;
    }
}
#endif

#ifndef ATTN_NO_TRAINING
ATTN__TARGET static void ATTN__NAME(add)(void *out, ptrdiff_t rs, const void *x, size_t ld, size_t rows, size_t cols,
                                         attn__number alpha)
{
    ATTN__NAME(move_rows)(out, ATTN__REAL, rs, x, ATTN__REAL, (ptrdiff_t)ld, rows, cols, alpha, ATTN__NAME(added));
}
#endif

#endif /* !ATTN__PAIRS */

#if ATTN__PAIRS
/* -- pairs -- */

/* Pairs of elements i of the lower and i of the upper half, in order. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(zip)(__m512i halves)
{
    const __m512i at = _mm512_set_epi32(0x001f000f, 0x001e000e, 0x001d000d, 0x001c000c, 0x001b000b, 0x001a000a,
                                        0x00190009, 0x00180008, 0x00170007, 0x00160006, 0x00150005, 0x00140004,
                                        0x00130003, 0x00120002, 0x00110001, 0x00100000);
    return ATTN__AS_REAL(_mm512_maskz_permutexvar_epi16(UINT32_MAX, at, halves));
}

/* Pairs of elements from two rows; the first n of W, and zeros. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(load_pair)(const char *p, const char *q, size_t n)
{
    __mmask16 which = (__mmask16)(UINT16_MAX >> (ATTN__W - n));
    __m256i low = _mm256_maskz_loadu_epi16(which, p);
    __m256i high = _mm256_maskz_loadu_epi16(which, q);
    return ATTN__NAME(zip)(_mm512_maskz_inserti64x4(UINT8_MAX, _mm512_castsi256_si512(low), high, 1));
}

/* load_panel of `pairs` pairs of rows that are next to each other: LANES128 pairs of W columns at a time. */
ATTN__TARGET static void ATTN__NAME(pair_transposed)(ATTN__R *x, size_t ld, const char *in, ptrdiff_t cs, size_t pairs,
                                                     size_t cols)
{
    const char *at[ATTN__W];
    ATTN__V v[ATTN__LANES128];
    size_t c, p, wide, i;
    for (c = 0; c < cols; c += wide) {
        wide = attn__min(cols - c, ATTN__W);
        for (i = 0; i < ATTN__W; i++) /* past the last column: that again */
            at[i] = in + 2 * (ptrdiff_t)(c + attn__min(i, wide - 1)) * cs;
        for (p = 0; p < pairs; p += ATTN__LANES128) {
            ATTN__EACH (i, ATTN__LANES128)
                v[i] =
                    ATTN__NAME(load_quarters)(at[i] + 4 * p, at[i + 4] + 4 * p, at[i + 8] + 4 * p, at[i + 12] + 4 * p);
            ATTN__NAME(transpose_128)(v);
            ATTN__EACH (i, ATTN__LANES128)
                ATTN__NAME(store_first)(x + (p + i) * ld + c, v[i], wide);
        }
    }
}

static void ATTN__NAME(load_terms)(void *pairs, size_t ld, const void *in, attn_dtype dtype, ptrdiff_t rs, ptrdiff_t cs,
                                   size_t rows, size_t cols)
{
    const char *from;
    char *to = (char *)pairs;
    size_t r, c;
    (void)dtype;
    for (r = 0; r < rows && cols > 0; r++, to += 4 * ld) {
        from = (const char *)in + 2 * (ptrdiff_t)r * rs; /* the stride of one row may be anything */
        if (cs == 1)
            ATTN__MEMCPY(to, from, 2 * cols);
        else
            for (c = 0; c < cols; c++)
                ATTN__MEMCPY(to + 2 * c, from + 2 * (ptrdiff_t)c * cs, 2);
        if (cols % 2)
            ATTN__MEMSET(to + 2 * cols, 0, 2);
    }
}

ATTN__TARGET static void ATTN__NAME(load_panel)(void *pairs, size_t ld, const void *in, attn_dtype dtype, ptrdiff_t rs,
                                                ptrdiff_t cs, size_t rows, size_t cols)
{
    ATTN__R *x = (ATTN__R *)pairs;
    static const uint16_t attn__zeros[ATTN__W] = {0}; /* beside the last row of an odd number */
    const char *p, *q;
    size_t r, c;
    ptrdiff_t beside; /* 2, or for that row 0 */
    uint16_t pair[2];
    (void)dtype;
    if ((uintptr_t)pairs % sizeof pair > 0 && rows > 0) { /* the first row is the second one of its pairs */
        for (c = 0; c < cols; c++)
            ATTN__MEMCPY((char *)pairs + 4 * c, (const char *)in + 2 * (ptrdiff_t)c * cs, 2);
        x = (ATTN__R *)(void *)((char *)pairs - 2) + ld;
        in = (const char *)in + 2 * rs;
        rows--;
    }
    r = rs == 1 && cs != 1 ? rows / (2 * ATTN__LANES128) * ATTN__LANES128 : 0;
    ATTN__NAME(pair_transposed)(x, ld, (const char *)in, cs, r, cols);
    for (x += r * ld, r *= 2; r < rows && cols > 0;
         r += 2, x += ld) { /* the stride of one row, or column, may be anything */
        p = (const char *)in + 2 * (ptrdiff_t)r * rs;
        q = r + 1 < rows ? p + 2 * rs : (const char *)attn__zeros;
        beside = r + 1 < rows ? 2 : 0;
        for (c = 0; cs == 1 && c < cols; c += ATTN__W) {
            size_t n = attn__min(cols - c, ATTN__W);
            ATTN__NAME(store_first)(x + c, ATTN__NAME(load_pair)(p + 2 * c, q + beside * (ptrdiff_t)c, n), n);
        }
        for (; c < cols; c++) {
            ATTN__MEMCPY(pair, p + 2 * (ptrdiff_t)c * cs, 2);
            ATTN__MEMCPY(pair + 1, q + beside * (ptrdiff_t)c * cs, 2);
            ATTN__MEMCPY(x + c, pair, sizeof pair);
        }
    }
}

ATTN__TARGET static void ATTN__NAME(to_terms)(void *xv, size_t rows, size_t cols)
{
    const ATTN__R *x = (const ATTN__R *)xv;
    ATTN__R *to = (ATTN__R *)xv;
    ATTN__V a, b;
    size_t r, c;
    for (r = 0; r < rows; r += 2, x += 2 * cols, to += cols)
        for (c = 0; c < cols; c += ATTN__W) {
            a = ATTN__LOAD(x + c);
            b = r + 1 < rows ? ATTN__LOAD(x + cols + c) : ATTN__SET1(0.0f);
            ATTN__STORE(to + c, ATTN__PAIR_UP(a, b));
        }
}

ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(set_element)(const ATTN__R *p)
{
    ATTN__BITS pair;
    ATTN__MEMCPY(&pair, p, sizeof pair);
    return ATTN__AS_REAL(ATTN__ISET(pair));
}
#endif                                                       /* ATTN__PAIRS */

/* A row is looked at as a whole before it decides, so that the loop over its vectors has no branch. */
ATTN__TARGET static int ATTN__NAME(nonfinite)(const void *xv, ptrdiff_t ld, size_t rows, size_t cols)
{
    size_t r, c;
    for (r = 0; cols > 0 && r < rows; r++) { /* without columns there may be no data */
        const ATTN__R *x = (const ATTN__R *)xv + (ptrdiff_t)r * ld;
        int found = 0;
        for (c = 0; c < cols; c += ATTN__W)
            found |= ATTN__NAME(any_nonfinite)(ATTN__NAME(load_first)(x + c, cols - c), 1);
        if (found)
            return 1;
    }
    return 0;
}

/* -- gemm -- */

/* The microkernel: one register tile c of ROWS x `vectors` vectors, packed; ROWS rows of a times one panel of b.
   Without `factor` a sum is two chains, of the terms of even number and of the others, which are added at the end:
   short chains lose less to rounding. Every kernel of the pass sums so but for sums over keys, of weights and of
   values: with `factor`, c = factor c + a b in one chain. With pairs, a term is a pair. Of parts of a sum, c has two
   tiles, one for each chain, until the last has come. The vectors of b are named, not an array, and c needs no stride:
   so gcc keeps all in registers. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(microkernel)(ATTN__R *c, const ATTN__R *const *a, ptrdiff_t ks,
                                                       const ATTN__R *b, size_t depth, const int vectors, int part,
                                                       const ATTN__R *factor)
{
    const size_t tile = ATTN__ROWS * (size_t)vectors * ATTN__W;
    size_t chains = factor ? 1 : 2, chain, terms;
    ATTN__V sum[ATTN__ROWS][3], zero = ATTN__SET1((ATTN__R)0);
    int r, v;
    for (chain = 0; chain < chains; chain++) {
        const ATTN__R *from = b + chain * (size_t)vectors * ATTN__W;
        ATTN__R *to = c + (part ? chain * tile : 0);
        ptrdiff_t at = (ptrdiff_t)chain * ks;
        ATTN__EACH (r, ATTN__ROWS)
            ATTN__EACH (v, vectors)
                sum[r][v] = part & ATTN__BEGUN ? ATTN__LOAD(to + (r * vectors + v) * ATTN__W) : zero;
        for (terms = factor ? depth : (depth + 1 - chain) / 2; terms > 0; terms--) {
            ATTN__V b0 = ATTN__LOAD_PANEL(from), b1 = vectors > 1 ? ATTN__LOAD_PANEL(from + ATTN__W) : b0;
            ATTN__V b2 = vectors > 2 ? ATTN__LOAD_PANEL(from + 2 * ATTN__W) : b0;
            ATTN__EACH (r, ATTN__ROWS) {
                ATTN__V x = ATTN__SET_ELEMENT(a[r] + at);
#if ATTN__PASS == ATTN__PASS_VECTOR128 && defined(ATTN__X86) /* no register is left for b2 */
                ATTN__PIN_POINTER(from);
                b2 = vectors > 2 ? ATTN__LOAD_PANEL(from + 2 * ATTN__W) : b0;
#endif
                sum[r][0] = ATTN__DOT(x, b0, sum[r][0]);
                if (vectors > 1)
                    sum[r][1] = ATTN__DOT(x, b1, sum[r][1]);
                if (vectors > 2)
                    sum[r][2] = ATTN__DOT(x, b2, sum[r][2]);
            }
            at += (ptrdiff_t)chains * ks;
            from += chains * (size_t)vectors * ATTN__W;
        }
        if (factor || (chain > 0 && !(part & ATTN__UNFINISHED))) { /* the first chain times 1 */
            to = c;
            ATTN__EACH (v, vectors) {
                ATTN__V times = factor ? ATTN__LOAD(factor + v * ATTN__W) : ATTN__SET1((ATTN__R)1);
                ATTN__EACH (r, ATTN__ROWS)
                    sum[r][v] = ATTN__FMA(ATTN__LOAD(to + (r * vectors + v) * ATTN__W), times, sum[r][v]);
            }
        }
        ATTN__EACH (r, ATTN__ROWS)
            ATTN__EACH (v, vectors)
                ATTN__STORE(to + (r * vectors + v) * ATTN__W, sum[r][v]);
    }
}

/* Row of register tiles by row of register tiles; before each row, its share of what is prefetched. Where columns are
   not a multiple of three vectors, the last tile of a row is narrower. */
ATTN__TARGET static void ATTN__NAME(gemm)(void *cv, const void *av, ptrdiff_t rs, ptrdiff_t ks, size_t rows,
                                          const void *bv, size_t cols, size_t depth, int part, const void *factorv,
                                          const attn__rows *next)
{
    ATTN__R *tiles = (ATTN__R *)cv;
    const ATTN__R *a[ATTN__ROWS], *b, *factor = (const ATTN__R *)factorv;
    size_t r0, r, c, left, wide, prefetched = 0;
    for (r0 = 0; r0 < rows; r0 += ATTN__ROWS) {
        for (; next && prefetched < next->next_count && prefetched * rows <= r0 * next->next_count; prefetched++)
            attn__prefetch_row(next->next + (ptrdiff_t)prefetched * next->next_step, next->row_bytes);
        a[0] = (const ATTN__R *)av + (ptrdiff_t)r0 * rs;
        ATTN__UNROLL
        for (r = 1; r < ATTN__ROWS; r++) { /* past the end: the last row again, into sums that nobody reads */
            a[r] = a[r - 1] + (r0 + r < rows ? rs : 0);
            ATTN__PIN_POINTER(a[r]); /* no vector of pointers: those registers are wanted */
        }
        for (c = 0; c < cols; c += wide) {
            b = (const ATTN__R *)bv + c * depth;
            left = (cols - c) / ATTN__W;
            wide = attn__min(left, 3) * ATTN__W;
            if (left >= 3)
                ATTN__NAME(microkernel)(tiles, a, ks, b, depth, 3, part, factor);
            else if (left == 2)
                ATTN__NAME(microkernel)(tiles, a, ks, b, depth, 2, part, factor);
            else
                ATTN__NAME(microkernel)(tiles, a, ks, b, depth, 1, part, factor);
            tiles += (part ? 2 : 1) * wide * ATTN__ROWS;
        }
    }
}

#if !ATTN__PAIRS
/* -- softmax -- */

/* The first n lanes of v, and the others of w. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(first_lanes)(ATTN__V v, ATTN__V w, size_t n)
{
    return ATTN__PICK(ATTN__LOAD(ATTN__NAME(count)), ATTN__SET1((ATTN__R)(int)n), v, w);
}

ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(add_or_max)(ATTN__V a, ATTN__V b, const int sum)
{
    return sum ? ATTN__ADD(a, b) : ATTN__MAX(a, b);
}

/* The largest of all lanes, or their sum, in all lanes: each step is one of the lower half and the upper. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(fold)(ATTN__V v, const int sum)
{
#if ATTN__W > 1
    int step;
#if ATTN__AVX512
    v = ATTN__NAME(add_or_max)(ATTN__SHUFFLE_128(v, v, 0x44), ATTN__SHUFFLE_128(v, v, 0xee), sum);
    v = ATTN__NAME(add_or_max)(ATTN__SHUFFLE_128(v, v, 0x00), ATTN__SHUFFLE_128(v, v, 0x55), sum);
#elif ATTN__PASS == ATTN__PASS_AVX2
    v = ATTN__NAME(add_or_max)(ATTN__X(permute2f128)(v, v, 0x00), ATTN__X(permute2f128)(v, v, 0x11), sum);
#endif
    ATTN__UNROLL
    for (step = 1; step < ATTN__LANES128; step *= 2)
        v = ATTN__NAME(add_or_max)(ATTN__NAME(interleave_128)(v, v, 0), ATTN__NAME(interleave_128)(v, v, 1), sum);
#endif
    (void)sum;
    return v;
}

/* Four maxima side by side, because each waits for the one before it in its chain. Lanes past the end of the row repeat
   the maximum that it began with. */
ATTN__TARGET static double ATTN__NAME(softmax_max)(const void *xv, size_t n, double max, int *nonfinite)
{
    const ATTN__R *x = (const ATTN__R *)xv;
    ATTN__R lanes[ATTN__W];
    ATTN__V m = ATTN__SET1((ATTN__R)max), top[4] = {m, m, m, m}, v;
    size_t i = 0, j, count;
    int found = 0;
    for (; i + 4 * ATTN__W <= n; i += 4 * ATTN__W) {
        ATTN__EACH (j, 4) {
            v = ATTN__LOAD(x + i + j * ATTN__W);
            found |= ATTN__NAME(any_nonfinite)(v, 0);
            top[j] = ATTN__MAX(top[j], v);
        }
    }
    for (; i < n; i += ATTN__W) {
        count = attn__min(n - i, ATTN__W);
        v = ATTN__NAME(first_lanes)(ATTN__NAME(load_first)(x + i, n - i), m, count);
        found |= ATTN__NAME(any_nonfinite)(v, 0);
        top[0] = ATTN__MAX(top[0], v);
    }
    v = ATTN__MAX(ATTN__MAX(top[0], top[1]), ATTN__MAX(top[2], top[3]));
    ATTN__STORE(lanes, ATTN__NAME(fold)(v, 0));
    *nonfinite |= found;
    return (double)lanes[0];
}

#if !ATTN__BY_LIBM

ATTN__TARGET static double ATTN__NAME(softmax_exp)(void *ev, const void *xv, size_t n, double max)
{
    const ATTN__R *x = (const ATTN__R *)xv;
    ATTN__R *e = (ATTN__R *)ev, lanes[ATTN__W];
    ATTN__V m = ATTN__SET1((ATTN__R)max), zero = ATTN__SET1((ATTN__R)0), sum = zero, v;
    double doubles[ATTN__W];
    size_t i = 0, j, count, end;
    while (n - i >= 4 * ATTN__W) { /* sums of a few, then of those: rounding errors do not pile up */
        ATTN__V sums[4] = {zero, zero, zero, zero};
        end = i + attn__min((n - i) / (4 * ATTN__W), 8) * 4 * ATTN__W;
        for (; i < end; i += 4 * ATTN__W) {
            for (j = 0; j < 4; j++) {
                v = ATTN__NAME(exp)(ATTN__SUB(ATTN__LOAD(x + i + j * ATTN__W), m));
                ATTN__STORE(e + i + j * ATTN__W, v);
                sums[j] = ATTN__ADD(sums[j], v);
            }
        }
        sum = ATTN__ADD(sum, ATTN__ADD(ATTN__ADD(sums[0], sums[1]), ATTN__ADD(sums[2], sums[3])));
    }
    for (; i < n; i += ATTN__W) { /* in whole vectors to the end: an element's bits do not depend on its place */
        count = attn__min(n - i, ATTN__W);
        v = ATTN__NAME(exp)(ATTN__SUB(ATTN__NAME(load_first)(x + i, n - i), m));
        ATTN__NAME(store_first)(e + i, v, n - i);
        sum = ATTN__ADD(sum, ATTN__NAME(first_lanes)(v, zero, count));
    }
    ATTN__STORE(lanes, sum);
    for (j = 0; j < ATTN__W; j++)
        doubles[j] = (double)lanes[j];
    for (count = ATTN__W / 2; count > 0; count /= 2)
        for (j = 0; j < count; j++)
            doubles[j] += doubles[j + count];
    return doubles[0];
}

#else

ATTN__TARGET static double ATTN__NAME(softmax_exp)(void *ev, const void *xv, size_t n, double max)
{
    const ATTN__R *x = (const ATTN__R *)xv;
    ATTN__R *e = (ATTN__R *)ev;
    double sum = 0, lost = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        e[i] = ATTN__NAME(exp)(x[i] - (ATTN__R)max);
        attn__add(&sum, &lost, (double)e[i]);
    }
    return sum;
}

#endif

/* -- attention: tiles of scores -- */

ATTN__TARGET ATTN__INLINE uint64_t ATTN__NAME(nonzero)(const unsigned char *p) /* of 64 bytes, as bits */
{
#if ATTN__AVX512
    __m512i bytes = _mm512_loadu_si512(p);
    return _mm512_test_epi8_mask(bytes, bytes);
#elif ATTN__PASS == ATTN__PASS_AVX2
    const __m256i *at = (const __m256i *)(const void *)p;
    int low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(at), _mm256_setzero_si256()));
    int high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(at + 1), _mm256_setzero_si256()));
    return ~((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
#else
    uint64_t bits = 0;
    size_t i;
#if ATTN__PASS == ATTN__PASS_NEON
    const uint8x16_t place = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
    for (i = 0; i < 64; i += 16) {
        uint8x16_t bytes = vld1q_u8(p + i), set = vandq_u8(vtstq_u8(bytes, bytes), place);
        bits |= (uint64_t)(vaddv_u8(vget_low_u8(set)) | (unsigned)vaddv_u8(vget_high_u8(set)) << 8) << i;
    }
#elif ATTN__PASS == ATTN__PASS_VECTOR128 && defined(ATTN__X86)
    for (i = 0; i < 64; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        bits |= (uint64_t)(~_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) & 0xffff) << i;
    }
#else
    for (i = 0; i < 64; i++)
        bits |= (uint64_t)(p[i] != 0) << i;
#endif
    return bits;
#endif
}

/* 64 bytes of a row at a time. Where they lie apart, or are fewer, they are copied next to each other first. */
ATTN__TARGET static void ATTN__NAME(load_bits)(void *words, size_t ld, const unsigned char *in, ptrdiff_t rs,
                                               ptrdiff_t cs, size_t rows, size_t n)
{
    const size_t wide = 8 * sizeof(ATTN__BITS);
    unsigned char copy[64] = {0};
    size_t r, j, i, m;
    for (j = 0; j < n; j += 64, in += 64 * cs)
        for (r = 0; r < rows; r++) {
            const unsigned char *row = in + (ptrdiff_t)r * rs;
            uint64_t bits;
            m = attn__min(n - j, 64);
            for (i = 0; (cs != 1 || m < 64) && i < m; i++)
                copy[i] = row[(ptrdiff_t)i * cs];
            bits = ATTN__NAME(nonzero)(cs == 1 && m == 64 ? row : copy);
            bits &= UINT64_MAX >> (64 - m);
            for (i = 0; i < 64; i += wide) {
                ATTN__BITS word = (ATTN__BITS)(bits >> i);
                ATTN__MEMCPY((ATTN__BITS *)words + (j + i) / wide * ld + r, &word, sizeof word);
            }
        }
}

/* Stops as soon as both a visible key and a hidden one have been found: more cannot be learnt. */
ATTN__TARGET static int ATTN__NAME(classify)(const unsigned char *mask, ptrdiff_t step, size_t rows, size_t n)
{
    int found = 0;
    size_t r, j;
    for (r = 0; r < rows && found != (ATTN__SOME_VISIBLE | ATTN__SOME_HIDDEN); r++) {
        const unsigned char *at = mask + (ptrdiff_t)r * step;
        for (j = 0; j + 64 <= n; j += 64) {
            uint64_t visible = ATTN__NAME(nonzero)(at + j);
            found |= (visible != 0 ? ATTN__SOME_VISIBLE : 0) | (visible != UINT64_MAX ? ATTN__SOME_HIDDEN : 0);
        }
        for (; j < n; j++)
            found |= at[j] ? ATTN__SOME_VISIBLE : ATTN__SOME_HIDDEN;
    }
    return found;
}

#define ATTN__BY_QUERY(layout) (ATTN__MANY && (layout).query == 1) /* do queries lie on lanes? */

/* A block's numbers, in either layout, as groups of vectors: those of a group belong to the same queries. Vector i of
   group g lies at g * strip_step + i * step. Its lanes are of one element of as many queries, or of W elements of one
   query. */
typedef struct ATTN__NAME(strips) {
    size_t strips, vectors, strip_step, step, elements;
} ATTN__NAME(strips);

static ATTN__NAME(strips) ATTN__NAME(strips_of)(attn__layout layout, size_t elements, size_t queries)
{
    ATTN__NAME(strips) by_query = {attn__ceil_div(queries, ATTN__W), elements, ATTN__W, layout.element, 1};
    ATTN__NAME(strips) by_element = {queries, attn__ceil_div(elements, ATTN__W), layout.query, ATTN__W, ATTN__W};
    return ATTN__BY_QUERY(layout) ? by_query : by_element;
}

/* What belongs to the queries of a group. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(of_strip)(const void *x, attn__layout layout, size_t g)
{
    const ATTN__R *reals = (const ATTN__R *)x;
    return ATTN__BY_QUERY(layout) ? ATTN__LOAD(reals + g * ATTN__W) : ATTN__SET1(reals[g]);
}

ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(set_bytes)(const unsigned char *bytes) /* a real that is data */
{
    ATTN__R x;
    ATTN__MEMCPY(&x, bytes, sizeof x);
    return ATTN__SET1(x);
}

/* No key has been met: sums are 0, which as bytes are zeros, and the maximum is the lowest finite number, below which
   there is no score but -infinity. */
ATTN__TARGET static void ATTN__NAME(begin)(const attn__state *state, size_t dims, size_t queries, size_t lanes)
{
    size_t i, n = ATTN__BY_QUERY(state->layout) ? dims * lanes : queries * state->layout.query;
    for (i = 0; i < lanes; i += ATTN__W)
        ATTN__STORE((ATTN__R *)state->max + i, ATTN__SET1(-ATTN__R_MAX));
    ATTN__MEMSET(state->out, 0, attn__whole(n, ATTN__W) * sizeof(ATTN__R));
    ATTN__MEMSET(state->sum, 0, lanes * sizeof(ATTN__R));
    ATTN__MEMSET(state->nan, 0, lanes);
}

/* A query that has seen no key has the sum 0, and gets the factor 0: so its results are zeros, not 0 / 0. */
ATTN__TARGET static void ATTN__NAME(finish)(const attn__state *state, void *inverse, size_t lanes)
{
    ATTN__V zero = ATTN__SET1((ATTN__R)0), one = ATTN__SET1((ATTN__R)1);
    size_t i;
    for (i = 0; i < lanes; i += ATTN__W) {
        ATTN__V sum = ATTN__LOAD((const ATTN__R *)state->sum + i);
        ATTN__STORE((ATTN__R *)inverse + i, ATTN__PICK(zero, sum, ATTN__DIV(one, sum), zero));
    }
}

/* Whatever the layout, a group of vectors has one factor: a vector of them, or one in all lanes. */
ATTN__TARGET static void ATTN__NAME(scale)(void *xv, attn__layout layout, size_t elements, size_t queries,
                                           const void *factors)
{
    ATTN__NAME(strips) e = ATTN__NAME(strips_of)(layout, elements, queries);
    size_t g, i;
    for (g = 0; g < e.strips; g++) {
        ATTN__V factor = ATTN__NAME(of_strip)(factors, layout, g);
        ATTN__R *x = (ATTN__R *)xv + g * e.strip_step;
        for (i = 0; i < e.vectors; i++, x += e.step)
            ATTN__STORE(x, ATTN__MUL(ATTN__LOAD(x), factor));
    }
}

ATTN__TARGET static void ATTN__NAME(scale_keys)(const attn__tile *t, const void *scales)
{
    const attn__layout swapped = {t->layout.query, t->layout.element}; /* keys in place of queries */
    size_t r, i;
    if (ATTN__MANY) {
        ATTN__NAME(scale)(t->scores, swapped, t->queries, t->keys, scales);
        return;
    }
    for (r = 0; r < t->queries; r++)
        for (i = 0; i < t->keys; i += ATTN__W) {
            ATTN__R *s = (ATTN__R *)t->scores + r * t->layout.query + i;
            ATTN__STORE(s, ATTN__MUL(ATTN__LOAD(s), ATTN__LOAD((const ATTN__R *)scales + i)));
        }
}

/* What walks with j by steps of 2^32 / golden ratio is mixed as in lowbias32 (Wellons 2018, hash-prospector), from the
   lower half of the row's key on; adding the upper half midway, no row is another one shifted. j counts modulo 2^32. No
   vocabulary: compilers make vectors of the W turns of the inner loop. */
ATTN__TARGET ATTN__VECTORIZE static void ATTN__NAME(drop)(const attn__tile *t, void *xv, const uint32_t *rows,
                                                          uint32_t threshold, attn__number keep)
{
    ATTN__NAME(strips) e = ATTN__NAME(strips_of)(t->layout, t->keys, t->queries);
    ATTN__R zero, kept = (ATTN__R)keep, others[ATTN__W]; /* 0 is data: no compiler makes x 0 = 0 of it */
    const uint32_t step = 0x9e3779b9u, steps = (uint32_t)e.elements * step;
    const size_t by_query = ATTN__BY_QUERY(t->layout), more = (e.vectors * e.elements - t->keys) * sizeof zero;
    uint32_t low[ATTN__W], high[ATTN__W], bits;
    size_t g, k, i;
    ATTN__MEMCPY(&zero, t->zero, sizeof zero);
    for (g = 0; g < e.strips; g++) {
        ATTN__R *row = (ATTN__R *)xv + g * e.strip_step, *x = row;
        for (i = 0; i < ATTN__W; i++) {
            k = by_query ? g * ATTN__W + i : g;
            high[i] = rows[t->lanes + k];
            low[i] = rows[k] + (uint32_t)(t->first_key + (by_query ? 0 : i)) * step;
        }
        ATTN__MEMCPY(others, row + t->keys, more); /* of the last vector, what belongs to other keys */
        for (k = 0; k < e.vectors; k++, x += e.step)
            for (i = 0; i < ATTN__W; i++) {
                bits = (low[i] ^ low[i] >> 16) * 0x21f0aaadu + high[i];
                bits = (bits ^ bits >> 15) * 0x735a2d97u;
                x[i] *= (bits ^ bits >> 15) < threshold ? zero : kept;
                low[i] += steps;
            }
        ATTN__MEMCPY(row + t->keys, others, more);
    }
}

/* The same of one score, which may be NaN or infinite. */
static ATTN__R ATTN__NAME(softcap_one)(ATTN__R s, attn__number scale, attn__number cap)
{
#if ATTN__HAS_F64 || ATTN__REAL_F64
    return (ATTN__R)(cap * attn__tanh(attn__divide((double)s * scale, cap)));
#else
    return attn__bits((double)s) << 1 > (uint64_t)0x7ff << 53 ? s : (ATTN__R)(scale < 0 ? -cap : cap);
#endif
}

ATTN__TARGET static void ATTN__NAME(softcap)(const attn__tile *t, attn__number scale, attn__number cap)
{
    ATTN__NAME(strips) e = ATTN__NAME(strips_of)(t->layout, t->keys, t->queries);
    size_t g, i;
#if !ATTN__BY_LIBM
    const attn__number size = ATTN__NUMBER(divide)(scale < 0 ? -scale : scale, cap);
    int in_range = size >= ATTN__OF_REAL(FLT_MIN, DBL_MIN) && size <= ATTN__R_MAX;
    ATTN__V caps = ATTN__SET1((ATTN__R)cap), scales = ATTN__SET1((ATTN__R)scale);
    ATTN__V ratio = ATTN__SET1(in_range ? (ATTN__R)(scale / cap) : 0);
#endif
    for (g = 0; g < e.strips; g++) {
        ATTN__R *s = (ATTN__R *)t->scores + g * e.strip_step;
        for (i = 0; i < e.vectors; i++, s += e.step) {
#if !ATTN__BY_LIBM
            ATTN__R lanes[ATTN__W];
            ATTN__V v = ATTN__LOAD(s);
            size_t j;
            ATTN__V x = ATTN__MUL(v, in_range ? ratio : scales);
            ATTN__PIN(x);
            x = in_range ? x : ATTN__DIV(x, caps);
            ATTN__STORE(s, ATTN__MUL(caps, ATTN__NAME(tanh)(x)));
            if (!ATTN__NAME(any_nonfinite)(v, 0))
                continue;
            ATTN__STORE(lanes, v);
            for (j = 0; j < ATTN__W; j++) /* only its own lane: the bits of the others do not change */
                if (ATTN__NAME(any_nonfinite)(ATTN__SET1(lanes[j]), 0))
                    s[j] = ATTN__NAME(softcap_one)(lanes[j], scale, cap);
#else
            *s = ATTN__NAME(softcap_one)(*s, scale, cap);
#endif
        }
    }
}

#if ATTN__W > 1
/* With tile->bias_rows, which are transposed on the way to the scores as transpose_block does it. */
ATTN__TARGET static void ATTN__NAME(bias_rows)(const attn__tile *t, attn__number scale)
{
    ATTN__V scales = ATTN__SET1((ATTN__R)scale), v[ATTN__LANES128];
    ATTN__V lowest = ATTN__NAME(set_bytes)(t->lowest), hidden = ATTN__NAME(set_bytes)(t->minus_infinity);
    const ptrdiff_t row = t->bias_step * (ptrdiff_t)sizeof(ATTN__R);
    size_t c, k, keys = t->keys, lanes = t->lanes, ld = t->layout.element;
    int i;
    for (c = 0; c < lanes; c += ATTN__W) {
        const char *from = (const char *)t->bias_rows + (ptrdiff_t)c * row;
        ATTN__R *s = (ATTN__R *)t->scores + c;
        for (k = 0; k < keys; k += ATTN__LANES128, from += 16) {
            ATTN__EACH (i, ATTN__LANES128)
                v[i] = ATTN__NAME(load_128)(from + i * row, ATTN__LANES128 * row);
            ATTN__NAME(transpose_128)(v);
            ATTN__UNROLL
            for (i = 0; i < ATTN__LANES128; i++, s += ld)
                ATTN__STORE(s, ATTN__PICK(v[i], lowest, hidden, ATTN__FMA(ATTN__LOAD(s), scales, v[i])));
        }
    }
}
#endif

/* v where the mask shows a key, `hidden` where not: the vector of group g that begins with key number `key`. With
   queries on lanes, each lane has the same bit of its own word; with keys on lanes, a bit of one word. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(pick_visible)(const attn__tile *t, size_t g, size_t key, ATTN__V v,
                                                           ATTN__V hidden)
{
    static const ATTN__BITS attn__place[] = {1,   2,   4,    8,    16,   32,   64,      128,
                                             256, 512, 1024, 2048, 4096, 8192, 1 << 14, 1 << 15};
    const size_t wide = 8 * sizeof(ATTN__BITS);
    const ATTN__BITS *words = (const ATTN__BITS *)t->mask + key / wide * t->lanes;
    ATTN__BITS word = 1;
    ATTN__I seen;
    if (ATTN__BY_QUERY(t->layout)) {
        ATTN__MEMCPY(&seen, words + g * ATTN__W, sizeof seen);
        return ATTN__PICK_BITS(seen, ATTN__ISET(word << key % wide), v, hidden);
    }
    ATTN__MEMCPY(&seen, attn__place, sizeof seen);
    ATTN__MEMCPY(&word, words + g, sizeof word);
    return ATTN__PICK_BITS(seen, ATTN__ISET(word >> key % wide), v, hidden);
}

/* One walk through the scores does either: it adds what is added to them, or hides keys. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(edit_scores)(const attn__tile *tile, attn__number scale, const int hide)
{
    const attn__tile copy = *tile, *t = &copy; /* which no store into scores changes */
    ATTN__NAME(strips) e = ATTN__NAME(strips_of)(t->layout, t->keys, t->queries);
    ATTN__V zero = ATTN__SET1((ATTN__R)0), scales = ATTN__SET1((ATTN__R)scale), position = zero, slope = zero;
    ATTN__V lowest = ATTN__NAME(set_bytes)(t->lowest), hidden = ATTN__NAME(set_bytes)(t->minus_infinity);
    ATTN__V lanes = e.elements > 1 ? ATTN__LOAD(ATTN__NAME(count)) : zero, first = lanes, end = lanes, bias = zero;
    const int bounds = hide && t->bounds.first, slopes = !hide && t->slope;
    size_t g, i, at, left;
#if ATTN__W > 1
    if (ATTN__LARGE && !hide && t->bias_rows) {
        ATTN__NAME(bias_rows)(t, scale);
        return;
    }
#endif
    for (g = 0; g < e.strips; g++) {
        if (bounds) {
            first = ATTN__NAME(of_strip)(t->bounds.first, t->layout, g);
            end = ATTN__NAME(of_strip)(t->bounds.end, t->layout, g);
        }
        if (slopes) {
            position = ATTN__NAME(of_strip)(t->position, t->layout, g);
            slope = ATTN__NAME(of_strip)(t->slope, t->layout, g);
        }
        for (i = 0, at = g * e.strip_step; i < e.vectors; i++, at += e.step) {
            ATTN__R *s = (ATTN__R *)t->scores + at;
            ATTN__V v = ATTN__LOAD(s), key = zero;
            int some = bounds && (i * e.elements < t->bounds.all_first || (i + 1) * e.elements > t->bounds.all_end);
            if (some || slopes)
                key = ATTN__ADD(ATTN__SET1((ATTN__R)(i * e.elements)), lanes);
            if (t->bias)
                bias = ATTN__LOAD((const ATTN__R *)t->bias + at);
            if (!hide)
                v = t->bias ? ATTN__FMA(v, scales, bias) : ATTN__MUL(v, scales);
            if (some) {
                v = ATTN__PICK(key, first, hidden, v);
                v = ATTN__PICK(key, end, v, hidden);
            }
            if (hide && t->mask && !ATTN__MANY)
                v = ATTN__PICK(zero, ATTN__LOAD((const ATTN__R *)t->mask + at), v, hidden);
            else if (hide && t->mask)
                v = ATTN__NAME(pick_visible)(t, g, i * e.elements, v, hidden);
            if (t->bias)
                v = ATTN__PICK(bias, lowest, hidden, v);
            if (slopes) {
                ATTN__V away = ATTN__SUB(position, key);
                v = ATTN__FMA(slope, ATTN__MAX(away, ATTN__SUB(zero, away)), v);
            }
            left = t->keys - i * e.elements;
            ATTN__NAME(store_first)(s, v, left < e.elements ? left : ATTN__W);
        }
    }
}

ATTN__TARGET static void ATTN__NAME(edit)(const attn__tile *tile, attn__number scale, int hide)
{
    if (hide)
        ATTN__NAME(edit_scores)(tile, scale, 1);
    else
        ATTN__NAME(edit_scores)(tile, scale, 0);
}

ATTN__TARGET ATTN__INLINE ATTN__PARAMS ATTN__NAME(exp_params)(attn__number scale)
{
    ATTN__PARAMS p;
#if ATTN__HAS_F64 || ATTN__REAL_F64
    double log2e = scale * ATTN__LOG2E;
    ATTN__R rounded = (ATTN__R)log2e;
    p.scale = scale;
    p.log2e = ATTN__SET1(rounded);
    p.log2e_rest = ATTN__SET1((ATTN__R)(ATTN__REAL_F64 ? scale * ATTN__LOG2E_REST : log2e - (double)rounded));
    p.limit = ATTN__SET1((ATTN__R)((2 - ATTN__BIAS) / log2e)); /* 2 to this is the least weight */
#else
    const ATTN__V times = ATTN__SET1(scale), log2e = ATTN__SET1(ATTN__LOG2E_F32);
    p.scale = scale;
    p.log2e = ATTN__MUL(times, log2e);
    p.log2e_rest = ATTN__NAME(fraction)(times, log2e, ATTN__SET1(ATTN__LOG2E_REST_F32), p.log2e);
    p.limit = ATTN__DIV(ATTN__SET1((ATTN__R)(2 - ATTN__BIAS)), p.log2e);
#endif
    return p;
}

/* exp_scaled of W reals, in their place: by a call, where exponentials are not most of the work. */
ATTN__TARGET ATTN__NOINLINE void ATTN__NAME(exp_at)(ATTN__R *d, const ATTN__PARAMS *p)
{
    ATTN__STORE(d, ATTN__NAME(exp_scaled)(ATTN__LOAD(d), p));
}

/* One vector of queries against the keys of a tile: maximum, exponentials, sum. A score that is not finite makes the
   sum of 0 * score NaN. Scores become e^(scale (score - max)), which for -infinity is 0; they are added up in the
   chains that values are summed in, so that what rounding loses from one it loses from the other. */
ATTN__TARGET ATTN__INLINE int ATTN__NAME(softmax_lanes)(const attn__tile *t, const attn__state *state, size_t c,
                                                        const ATTN__PARAMS *p)
{
    ATTN__R *s = (ATTN__R *)t->scores + c, *max = (ATTN__R *)state->max + c, *sum = (ATTN__R *)state->sum + c;
    ATTN__V old = ATTN__LOAD(max), zero = ATTN__NAME(set_bytes)(t->zero), v;
    ATTN__V most[4] = {old, old, old, old}, zeros[4] = {zero, zero, zero, zero};
    ATTN__V none = ATTN__SET1((ATTN__R)0), all = none, chain, e;
    size_t ld = t->layout.element, keys = t->keys, whole = keys / 4 * 4, k, j, end;
    int nonfinite;
    for (k = 0; k < whole; k += 4) {
        ATTN__EACH (j, 4) {
            v = ATTN__LOAD(s + (k + j) * ld);
            zeros[j] = ATTN__FMA(v, zero, zeros[j]);
            most[j] = ATTN__MAX(most[j], v);
        }
    }
    for (; k < keys; k++) {
        v = ATTN__LOAD(s + k * ld);
        zeros[0] = ATTN__FMA(v, zero, zeros[0]);
        most[0] = ATTN__MAX(most[0], v);
    }
    v = ATTN__ADD(ATTN__ADD(zeros[0], zeros[1]), ATTN__ADD(zeros[2], zeros[3]));
    nonfinite = ATTN__NAME(any_nonfinite)(v, 1) != 0;
    for (k = 0; nonfinite && k < keys; k++)
        if (ATTN__NAME(any_nonfinite)(ATTN__LOAD(s + k * ld), 0))
            for (j = 0; j < ATTN__W; j++)
                state->nan[c + j] |= ATTN__NAME(any_nonfinite)(ATTN__SET1(s[k * ld + j]), 0) != 0;
    v = ATTN__MAX(ATTN__MAX(most[0], most[1]), ATTN__MAX(most[2], most[3]));
    ATTN__STORE((ATTN__R *)t->factor + c, ATTN__SUB(old, v));
    ATTN__NAME(exp_at)((ATTN__R *)t->factor + c, p);
    ATTN__STORE(max, v);
    for (k = 0; k < keys;) {
        end = attn__chain_end(t, k);
        for (chain = none; k < end; k++, s += ld) {
            e = ATTN__NAME(exp_scaled)(ATTN__SUB(ATTN__LOAD(s), v), p);
            ATTN__STORE(s, e);
            chain = ATTN__ADD(chain, e);
            ATTN__PIN(chain);
        }
        all = ATTN__ADD(all, chain);
        ATTN__PIN(all);
    }
    ATTN__STORE(sum, ATTN__FMA(ATTN__LOAD(sum), ATTN__LOAD((const ATTN__R *)t->factor + c), all));
    return nonfinite;
}

/* A row of the caller's: the same numbers that softmax and scale make of a tile. */
ATTN__TARGET static void ATTN__NAME(weights)(const attn__tile *t, void *xv, size_t n, size_t first, size_t end,
                                             const void *max, const void *inverse, attn__number scale)
{
    ATTN__PARAMS p = ATTN__NAME(exp_params)(scale);
    ATTN__V most = ATTN__SET1(*(const ATTN__R *)max), factor = ATTN__SET1(*(const ATTN__R *)inverse);
    ATTN__V nothing = ATTN__MUL(ATTN__NAME(set_bytes)(t->zero), factor), v;
    ATTN__R *x = (ATTN__R *)xv;
    size_t i;
    for (i = 0; i < n; i += ATTN__W) {
        v = nothing;
        if (i + ATTN__W > first && i < end) {
            v = ATTN__SUB(ATTN__NAME(load_first)(x + i, n - i), most);
            v = ATTN__MUL(ATTN__NAME(exp_scaled)(v, &p), factor);
        }
        if (i < first && i + ATTN__W > first)
            v = ATTN__NAME(first_lanes)(nothing, v, first - i);
        if (i < end && i + ATTN__W > end)
            v = ATTN__NAME(first_lanes)(v, nothing, end - i);
        ATTN__NAME(store_first)(x + i, v, n - i);
    }
}

/* One query, with keys on lanes: maximum, exponentials, sum. A weight is added in the lane of its key's number, then
   the lanes: so neither hidden keys matter to the sum, nor those that a list leaves out. */
ATTN__TARGET ATTN__INLINE int ATTN__NAME(softmax_row)(const attn__tile *t, const attn__state *state, size_t r,
                                                      const ATTN__PARAMS *p)
{
    ATTN__R *s = (ATTN__R *)t->scores + r * t->layout.query, *max = (ATTN__R *)state->max + r;
    ATTN__R *sum = (ATTN__R *)state->sum + r, lanes[ATTN__W];
    ATTN__V old = ATTN__SET1(*max), most = old, zero = ATTN__NAME(set_bytes)(t->zero), zeros = zero, total = zero;
    ATTN__V v, factor;
    size_t c = t->keys / ATTN__W * ATTN__W;
    int nonfinite;
    if (c < t->keys) /* past the last key: the lowest number */
        ATTN__STORE(s + c, ATTN__NAME(first_lanes)(ATTN__LOAD(s + c), ATTN__NAME(set_bytes)(t->lowest), t->keys - c));
    for (c = 0; c < t->keys; c += ATTN__W) {
        v = ATTN__LOAD(s + c);
        zeros = ATTN__FMA(v, zero, zeros);
        most = ATTN__MAX(most, v);
    }
    nonfinite = ATTN__NAME(any_nonfinite)(zeros, 1) != 0;
    for (c = 0; nonfinite && c < t->keys; c += ATTN__W)
        state->nan[r] |= ATTN__NAME(any_nonfinite)(ATTN__LOAD(s + c), 0) != 0;
    most = ATTN__NAME(fold)(most, 0);
    ATTN__STORE(lanes, most);
    *max = lanes[0];
    ATTN__STORE(lanes, ATTN__SUB(old, most));
    ATTN__NAME(exp_at)(lanes, p);
    factor = ATTN__LOAD(lanes);
    ((ATTN__R *)t->factor)[r] = lanes[0];
    for (c = 0; c < t->keys; c += ATTN__W) {
        v = ATTN__NAME(exp_scaled)(ATTN__SUB(ATTN__LOAD(s + c), most), p);
        if (c + ATTN__W > t->keys)
            v = ATTN__NAME(first_lanes)(v, zero, t->keys - c);
        ATTN__STORE(s + c, v);
        total = ATTN__ADD(total, v);
        ATTN__PIN(total);
    }
    if (t->numbers) {
        ATTN__STORE(lanes, zero);
        for (c = 0; c < t->keys; c++)
            lanes[t->numbers[c] % ATTN__W] += s[c];
        total = ATTN__LOAD(lanes);
    }
    ATTN__STORE(lanes, ATTN__FMA(ATTN__SET1(*sum), factor, ATTN__NAME(fold)(total, 1)));
    *sum = lanes[0];
    return nonfinite;
}

ATTN__TARGET static int ATTN__NAME(softmax)(const attn__tile *t, const attn__state *state, attn__number scale)
{
    ATTN__PARAMS params = ATTN__NAME(exp_params)(scale);
    size_t c;
    int nonfinite = 0;
    if (!ATTN__LARGE || t->layout.query != 1) {
        for (c = 0; c < t->queries; c++)
            nonfinite |= ATTN__NAME(softmax_row)(t, state, c, &params);
        return nonfinite;
    }
    for (c = 0; c < t->lanes; c += ATTN__W)
        nonfinite |= ATTN__NAME(softmax_lanes)(t, state, c, &params);
    return nonfinite;
}

#ifndef ATTN_NO_TRAINING

/* -- the backward pass: queries on lanes -- */

/* P and dS. No score is above lse but by rounding, of which exp would make much where both are huge. A NaN in lse is
   added once more: exp_scaled makes a number of a NaN whose lowest bits are not 0. */
ATTN__TARGET static void ATTN__NAME(backward)(const attn__tile *t, void *dpv, const void *lsev, const void *deltav,
                                              attn__number scale, attn__number factor)
{
    ATTN__PARAMS p = ATTN__NAME(exp_params)(scale);
    ATTN__V zero = ATTN__SET1((ATTN__R)0), lowest = ATTN__NAME(set_bytes)(t->lowest);
    ATTN__V times = ATTN__SET1((ATTN__R)factor), none = ATTN__NAME(set_bytes)(t->zero);
    size_t c, k, ld = t->lanes, keys = t->keys;
    for (c = 0; c < ld; c += ATTN__W) {
        ATTN__R *s = (ATTN__R *)t->scores + c, *dp = (ATTN__R *)dpv + c;
        ATTN__V lse = ATTN__LOAD((const ATTN__R *)lsev + c), delta = ATTN__LOAD((const ATTN__R *)deltav + c);
        for (k = 0; k < keys; k++, s += ld, dp += ld) {
            ATTN__V score = ATTN__LOAD(s), d = ATTN__SUB(score, lse);
            ATTN__V e = ATTN__NAME(exp_scaled)(ATTN__PICK(none, d, none, d), &p), ds;
            e = ATTN__FMA(lse, none, e);
            ds = ATTN__MUL(e, ATTN__SUB(ATTN__LOAD(dp), delta));
            ATTN__PIN(ds); /* times may also follow later */
            ds = ATTN__MUL(ds, times);
            ATTN__STORE(s, ATTN__PICK(score, lowest, zero, e));
            ATTN__STORE(dp, ATTN__PICK(score, lowest, zero, ds));
        }
    }
}

/* ds *= factor (1 - tanh^2); where ds is 0, as of hidden keys, it stays so, whatever `capped` holds there. */
ATTN__TARGET static void ATTN__NAME(softcap_backward)(const attn__tile *t, void *dsv, const void *cappedv,
                                                      attn__number cap, attn__number factor)
{
    ATTN__V zero = ATTN__SET1((ATTN__R)0), one = ATTN__SET1((ATTN__R)1), caps = ATTN__SET1((ATTN__R)cap);
    ATTN__V inverse = ATTN__SET1((ATTN__R)(1 / cap)), times = ATTN__SET1((ATTN__R)factor);
    const ATTN__R *capped = (const ATTN__R *)cappedv;
    ATTN__R *ds = (ATTN__R *)dsv;
    size_t i, n = t->keys * t->lanes;
    for (i = 0; i < n; i += ATTN__W) {
        ATTN__V d = ATTN__LOAD(ds + i), c = ATTN__LOAD(capped + i), x;
        c = ATTN__MAX(c, ATTN__SUB(zero, c)); /* |capped|; exactly the cap where tanh is 1 */
        x = ATTN__MUL(ATTN__MUL(ATTN__SUB(caps, c), inverse), ATTN__ADD(one, ATTN__MUL(c, inverse)));
        x = ATTN__MUL(ATTN__MUL(d, x), times);
        ATTN__STORE(ds + i, ATTN__PICK(d, zero, x, ATTN__PICK(zero, d, x, d)));
    }
}

/* Two chains, of the even elements and of the odd ones, as the products of gemm are summed. */
ATTN__TARGET static void ATTN__NAME(add_dot)(void *sumv, const void *xv, const void *yv, size_t elements, size_t lanes)
{
    size_t c, e;
    for (c = 0; c < lanes; c += ATTN__W) {
        const ATTN__R *x = (const ATTN__R *)xv + c, *y = (const ATTN__R *)yv + c;
        ATTN__V sum[2], both;
        sum[0] = sum[1] = ATTN__SET1((ATTN__R)0);
        for (e = 0; e < elements; e++)
            sum[e % 2] = ATTN__FMA(ATTN__LOAD(x + e * lanes), ATTN__LOAD(y + e * lanes), sum[e % 2]);
        both = ATTN__ADD(sum[0], sum[1]);
        ATTN__PIN(both);
        ATTN__STORE((ATTN__R *)sumv + c, ATTN__ADD(ATTN__LOAD((const ATTN__R *)sumv + c), both));
    }
}

/* The sums of a vector of queries are finished before they are added to those of earlier tiles; lanes that fill up the
   last vector belong to no query, and are left out. */
ATTN__TARGET static void ATTN__NAME(sum_keys)(const attn__tile *t, void *sumv, void *alibiv, const void *dsv)
{
    ATTN__R lanes[2][ATTN__W];
    size_t c, k, i, ld = t->lanes;
    for (c = 0; c < ld; c += ATTN__W) {
        const ATTN__R *ds = (const ATTN__R *)dsv + c;
        ATTN__V zero = ATTN__SET1((ATTN__R)0), sum = zero, alibi = zero, position = zero;
        if (alibiv)
            position = ATTN__LOAD((const ATTN__R *)t->position + c);
        for (k = 0; k < t->keys; k++) {
            ATTN__V d = ATTN__LOAD(ds + k * ld), away = ATTN__SUB(position, ATTN__SET1((ATTN__R)k));
            sum = ATTN__ADD(sum, d);
            alibi = ATTN__FMA(d, ATTN__SUB(zero, ATTN__MAX(away, ATTN__SUB(zero, away))), alibi);
        }
        ATTN__STORE(lanes[0], sum);
        ATTN__STORE(lanes[1], alibi);
        for (i = c; i < t->queries && i < c + ATTN__W; i++) {
            if (sumv)
                ((ATTN__R *)sumv)[i] += lanes[0][i - c];
            if (alibiv)
                ((ATTN__R *)alibiv)[i] += lanes[1][i - c];
        }
    }
}

ATTN__TARGET static void ATTN__NAME(sum_rows)(const attn__tile *t, void *sumv, const void *dsv)
{
    const ATTN__R *ds = (const ATTN__R *)dsv;
    size_t k, i;
    for (k = 0; k < t->keys; k++, ds += t->lanes) {
        ATTN__R sum = 0;
        for (i = 0; i < t->queries; i++)
            sum += ds[i];
        ((ATTN__R *)sumv)[k] += sum;
    }
}

ATTN__TARGET static void ATTN__NAME(sum_distances)(const attn__tile *t, void *sumv, const void *dsv)
{
    ATTN__R sums[ATTN__TILE_KEYS + ATTN__TILE_COLS];
    const ATTN__R *ds = (const ATTN__R *)dsv;
    size_t k, i, last = t->queries - 1;
    ATTN__MEMSET(sums, 0, sizeof sums);
    for (k = 0; k < t->keys; k++, ds += t->lanes)
        for (i = 0; i <= last; i++)
            sums[k + last - i] += ds[i];
    for (k = 0; k < t->keys + last; k++)
        ((ATTN__R *)sumv)[k] += sums[k];
}

#endif /* ATTN_NO_TRAINING */

#define ATTN__MOST_LANES (ATTN__TILE_COLS > 16 ? ATTN__TILE_COLS : 16) /* of a block, which a small build has of AVX2 */

/* Both results are shrunk to the larger of the two maxima of each query; then their sums and outputs are added. */
ATTN__TARGET static void ATTN__NAME(merge)(const attn__tile *t, const attn__state *a, const attn__state *b, size_t dims,
                                           attn__number scale)
{
    ATTN__NAME(strips) e = ATTN__NAME(strips_of)(a->layout, dims, t->queries);
    ATTN__R *max = (ATTN__R *)a->max, *sum = (ATTN__R *)a->sum, factor[ATTN__MOST_LANES], factor_b[ATTN__MOST_LANES];
    const ATTN__R *max_b = (const ATTN__R *)b->max, *sum_b = (const ATTN__R *)b->sum;
    ATTN__PARAMS params = ATTN__NAME(exp_params)(scale);
    ATTN__V x, y, top;
    size_t c, g, i;
    for (c = 0; c < t->lanes; c++)
        a->nan[c] |= b->nan[c];
    for (c = 0; c < t->lanes; c += ATTN__W) {
        top = ATTN__MAX(ATTN__LOAD(max + c), ATTN__LOAD(max_b + c));
        ATTN__STORE(factor + c, ATTN__SUB(ATTN__LOAD(max + c), top));
        ATTN__STORE(factor_b + c, ATTN__SUB(ATTN__LOAD(max_b + c), top));
        ATTN__STORE(max + c, top);
        ATTN__NAME(exp_at)(factor + c, &params);
        ATTN__NAME(exp_at)(factor_b + c, &params);
        x = ATTN__MUL(ATTN__LOAD(sum + c), ATTN__LOAD(factor + c));
        ATTN__STORE(sum + c, ATTN__FMA(ATTN__LOAD(sum_b + c), ATTN__LOAD(factor_b + c), x));
    }
    for (g = 0; g < e.strips; g++) {
        ATTN__R *out = (ATTN__R *)a->out + g * e.strip_step;
        const ATTN__R *out_b = (const ATTN__R *)b->out + g * e.strip_step;
        x = ATTN__NAME(of_strip)(factor, a->layout, g);
        y = ATTN__NAME(of_strip)(factor_b, a->layout, g);
        for (i = 0; i < e.vectors; i++, out += e.step, out_b += e.step)
            ATTN__STORE(out, ATTN__FMA(ATTN__LOAD(out_b), y, ATTN__MUL(ATTN__LOAD(out), x)));
    }
}

/* -- attention: two results become one -- */

#if ATTN__REAL_F64

/* x + log(1 + w) for 0 <= w <= 1. With z = w / (2 + w), log(1 + w) = 2 atanh(z) = z p(z^2), p a minimax polynomial. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(add_log1p)(ATTN__V x, ATTN__V w)
{
#if !ATTN__BY_LIBM
    static const double attn__terms[] = {0.17044163562781398,
                                         0.0832450651186082,
                                         0.1211016872806922,
                                         0.1330037403267463,
                                         0.1538661404230401,
                                         0.18181740832504807,
                                         0.22222224080747675,
                                         0.2857142854545411,
                                         0.4000000000018575,
                                         0.6666666666666615,
                                         2.0};
    ATTN__V z = ATTN__DIV(w, ATTN__ADD(ATTN__SET1(2.0), w)), square = ATTN__MUL(z, z), p = ATTN__SET1(attn__terms[0]);
    size_t i;
    ATTN__UNROLL
    for (i = 1; i < sizeof attn__terms / sizeof *attn__terms; i++)
        p = ATTN__FMA(p, square, ATTN__SET1(attn__terms[i]));
    return ATTN__FMA(z, p, x);
#else
    return x + attn__log(1 + w);
#endif
}

/* With w = exp(smaller lse - larger), the smaller one has the share w / (1 + w). Both shares are divided by the same
   rounded sum: where two results nearly cancel, its error does no harm. */
ATTN__TARGET static int ATTN__NAME(merge_weights)(attn__merge_rows *rows, size_t n)
{
    ATTN__V zero = ATTN__SET1(0.0), one = ATTN__SET1(1.0);
    size_t i, count;
    int nonfinite = 0;
    for (i = 0; i < n; i += ATTN__W) {
        ATTN__V x, y, apart, w, sum, less, more;
        count = attn__min(n - i, ATTN__W);
        x = ATTN__NAME(load_first)(rows->lse + i, count);
        y = ATTN__NAME(load_first)(rows->lse_b + i, count);
        nonfinite |= ATTN__NAME(any_nonfinite)(x, 1) | ATTN__NAME(any_nonfinite)(y, 1);
        apart = ATTN__SUB(x, y);
        w = ATTN__NAME(exp)(ATTN__PICK(apart, zero, apart, ATTN__SUB(zero, apart)));
        sum = ATTN__ADD(one, w);
        less = ATTN__DIV(w, sum);
        more = ATTN__DIV(one, sum);
        ATTN__NAME(store_first)(rows->weight + i, ATTN__PICK(apart, zero, less, more), count);
        ATTN__NAME(store_first)(rows->weight_b + i, ATTN__PICK(apart, zero, more, less), count);
        ATTN__NAME(store_first)(rows->log_sum + i, ATTN__NAME(add_log1p)(ATTN__MAX(x, y), w), count);
    }
    return nonfinite != 0;
}

/* x = a x + b y, of W numbers or the first n of them. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(merge_vector)(char *x, const char *y, attn_dtype dtype, ATTN__V a, ATTN__V b,
                                                        size_t n)
{
    ATTN__V v = ATTN__MUL(ATTN__NAME(widen_first)(x, dtype, n), a);
    ATTN__PIN(v);
    ATTN__NAME(narrow_first)(x, ATTN__FMA(ATTN__NAME(widen_first)(y, dtype, n), b, v), dtype, n);
}

ATTN__TARGET ATTN__INLINE void ATTN__NAME(merge_row_of)(char *x, const char *y, attn_dtype dtype, double weight,
                                                        double weight_b, size_t n)
{
    const size_t size = attn__size(dtype);
    ATTN__V a = ATTN__SET1(weight), b = ATTN__SET1(weight_b);
    size_t i, j;
    for (i = 0; i + 4 * ATTN__W <= n; i += 4 * ATTN__W)
        ATTN__EACH (j, 4)
            ATTN__NAME(merge_vector)(x + (i + j * ATTN__W) * size, y + (i + j * ATTN__W) * size, dtype, a, b, ATTN__W);
    for (; i < n; i += ATTN__W)
        ATTN__NAME(merge_vector)(x + i * size, y + i * size, dtype, a, b, attn__min(n - i, ATTN__W));
}

ATTN__TARGET static void ATTN__NAME(merge_rows)(void *x, ptrdiff_t xs, const void *y, ptrdiff_t ys, attn_dtype dtype,
                                                const double *weight, const double *weight_b, size_t rows, size_t cols)
{
    ptrdiff_t size = (ptrdiff_t)attn__size(dtype);
    size_t r, c;
    for (r = 0; r < rows; r++) { /* the stride of one row may be anything */
        char *to = (char *)x + (ptrdiff_t)r * xs * size;
        const char *from = (const char *)y + (ptrdiff_t)r * ys * size;
        if (rows - r > ATTN__MERGE_AHEAD)
            for (c = 0; c < attn__min(cols * (size_t)size, 1024); c += 64) {
                ATTN__PREFETCH(to + ATTN__MERGE_AHEAD * xs * size + c, 3);
                ATTN__PREFETCH(from + ATTN__MERGE_AHEAD * ys * size + c, 3);
            }
        if (dtype == ATTN_F32)
            ATTN__NAME(merge_row_of)(to, from, ATTN_F32, weight[r], weight_b[r], cols);
        else
            ATTN__NAME(merge_row_of)(to, from, ATTN_F64, weight[r], weight_b[r], cols);
    }
}

#endif

#endif /* !ATTN__PAIRS */

/* -- few rows: the terms of a dot product on lanes --

   A row of K, or of w in x w^T, is loaded as it lies, a vector of terms at a time, and multiplied into a sum for each
   query. Of W keys the lanes of these sums are added up together, by a tree. A row of V is multiplied by its weight and
   added, dims on lanes. So each row comes once from memory, and is read where it lies; and no number of a query depends
   on which others are computed beside it. */

/* Queries of a head that a loop multiplies together; that of 4 also takes three, the last one twice. */
#define ATTN__FEW_QUERIES (ATTN__LARGE ? (ATTN__ROWS > 4 ? 4 : 2) : 1)

/* Keys whose scores become vectors together, at least as many as a loop multiplies by one query. Each loop of keys is
   that of all queries of a run, one after the other, so that memory does not wait for long. */
#define ATTN__DOT_KEYS (ATTN__W > 8 ? ATTN__W : 8)

/* Narrow elements are widened as they are loaded; in a pass that is to be small, or has no vectors, before that. */
#define ATTN__SMALL (!ATTN__LARGE || ATTN__W == 1 || ATTN__PASS == ATTN__PASS_VECTOR128)
#define ATTN__NARROW (!ATTN__REAL_F64 && !ATTN__PAIRS && !ATTN__SMALL)

#define ATTN__TERMS (ATTN__PAIRS ? 2 * ATTN__W : ATTN__W) /* in a vector: reals or, in a pass with pairs, BF16 */

/* The first n of them from a row of K, and zeros. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(terms)(const char *p, attn_dtype dtype, size_t n)
{
#if ATTN__PAIRS
    (void)dtype;
    return ATTN__AS_REAL(_mm512_maskz_loadu_epi16(UINT32_MAX >> (ATTN__TERMS - n), p));
#else
    return ATTN__NAME(widen_first)(p, dtype, n);
#endif
}

/* Lane j of the result is the sum of the lanes of v[j]: each by additions in the same order. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(add_lanes)(const ATTN__V *v)
{
#if ATTN__W > 1
    ATTN__V x[ATTN__LANES128], y[ATTN__W / ATTN__LANES128];
    int i, j, step;
    ATTN__EACH (i, ATTN__W / ATTN__LANES128) {
        ATTN__EACH (j, ATTN__LANES128)
            x[j] = v[i * ATTN__LANES128 + j];
        ATTN__UNROLL
        for (step = ATTN__LANES128 / 2; step > 0; step /= 2) {
            ATTN__EACH (j, step)
                x[j] = ATTN__ADD(ATTN__NAME(interleave_128)(x[j], x[j + step], 0),
                                 ATTN__NAME(interleave_128)(x[j], x[j + step], 1));
        }
        y[i] = x[0];
    }
    return ATTN__NAME(add_128)(y);
#else
    return v[0];
#endif
}

/* Row r of x; where a loop has more queries than the job, the last one again. */
ATTN__INLINE const ATTN__R *ATTN__NAME(row_of)(const attn__few_job *job, size_t r)
{
    return (const ATTN__R *)job->x + attn__min(r, job->queries - 1) * job->ldx;
}

/* sum += the products of `queries` queries and `keys` keys: of `vectors` vectors of terms of each, from number d on. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(dot_terms)(ATTN__V *sum, const ATTN__R *const *q, const char *const *p,
                                                     size_t d, attn_dtype dtype, const int queries, const int keys,
                                                     const int vectors)
{
    ATTN__V k;
    int r, j, v;
    ATTN__EACH (j, keys) {
        ATTN__EACH (v, vectors) {
            k = ATTN__NAME(terms)(p[j] + (d + (size_t)v * ATTN__TERMS) * attn__size(dtype), dtype, ATTN__TERMS);
            if (queries > 1)
                ATTN__PIN(k); /* loaded once */
            ATTN__EACH (r, queries)
                sum[r * keys + j] =
                    ATTN__DOT(k, ATTN__LOAD(q[r] + d / (ATTN__TERMS / ATTN__W) + v * ATTN__W), sum[r * keys + j]);
        }
    }
}

/* The same of all whole vectors of terms. By one query, some vectors of a key are read at a time. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(dot_rows)(ATTN__V *sum, const ATTN__R *const *q, const char *const *p,
                                                    const attn__operand *operand, attn_dtype dtype, const int queries,
                                                    const int keys)
{
    const int vectors = queries > 1 || !ATTN__LARGE ? 1 : 4;
    const size_t size = attn__size(dtype), dims = operand->dims, step = (size_t)vectors * ATTN__TERMS;
    size_t d, i, n;
    for (d = 0; dims - d >= step; d += step) {
        for (i = 0; ATTN__LARGE && keys > 4 && operand->ahead && i < (size_t)keys; i++)
            for (n = 0; n < step * size; n += 64)
                ATTN__PREFETCH(p[i] + d * size + n + operand->ahead, 3);
        ATTN__NAME(dot_terms)(sum, q, p, d, dtype, queries, keys, vectors);
    }
    for (; vectors > 1 && dims - d >= ATTN__TERMS; d += ATTN__TERMS)
        ATTN__NAME(dot_terms)(sum, q, p, d, dtype, queries, keys, 1);
}

#define ATTN__FEW_TYPE (ATTN__PAIRS ? ATTN_BF16 : ATTN__NARROW ? job->operand->dtype : ATTN__REAL)
#define ATTN__DOT_ROWS(dtype) ATTN__NAME(dot_rows)(sum, q, p, job->operand, dtype, queries, keys)

/* lanes += those products. Each sum is a chain of additions: so many hide how long one takes. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(dot_block)(const attn__few_job *job, size_t first, size_t key,
                                                     const char *const *p, const int queries, const int keys)
{
    ATTN__V sum[16], *sums = (ATTN__V *)job->lanes + first * ATTN__DOT_KEYS + key;
    const ATTN__R *q[ATTN__FEW_QUERIES];
    int r;
    ATTN__EACH (r, queries)
        q[r] = ATTN__NAME(row_of)(job, first + (size_t)r);
    ATTN__EACH (r, queries * keys)
        sum[r] = ATTN__SET1((ATTN__R)0);
    if (job->operand->part & ATTN__BEGUN) {
        ATTN__EACH (r, queries * keys)
            sum[r] = sums[r / keys * ATTN__DOT_KEYS + r % keys];
    }
    ATTN__OF_TYPE(ATTN__FEW_TYPE, ATTN__DOT_ROWS)
    ATTN__EACH (r, queries * keys)
        sums[r / keys * ATTN__DOT_KEYS + r % keys] = sum[r];
}

/* The vectors of products of the job's keys: first of whole vectors of terms, then of the terms that are left. */
ATTN__TARGET ATTN__NOINLINE void ATTN__NAME(dot_keys)(const attn__few_job *job)
{
    const size_t n = job->keys, dims = job->operand->dims, row_bytes = dims * attn__size(job->operand->dtype);
    const size_t keys = ATTN__SMALL || job->queries > 1 || row_bytes < ATTN__LONG_ROW ? 4 : 8;
    const size_t left = dims % ATTN__TERMS, d = dims - left;
    const ptrdiff_t step = job->operand->at ? 0 : job->operand->step;
    const char *p[8], *row = attn__key_of(job, 0) + job->head;
    size_t i, j, r;
    for (i = 0; i < n; i += keys) {
        for (j = 0; j < keys; j++, row += step)
            p[j] = i + j >= n ? p[j - 1] : step ? row : attn__key_of(job, i + j) + job->head; /* the last one again */
        for (j = i; ATTN__LARGE && job->operand->next && j < n && j < i + keys; j++)
            attn__prefetch_row(job->operand->next[job->first + j] + job->fetch, job->fetch_bytes);
        for (r = 0; r < job->queries; r += ATTN__FEW_QUERIES)
            if (ATTN__FEW_QUERIES > 2 && job->queries - r > 2)
                ATTN__NAME(dot_block)(job, r, i, p, ATTN__FEW_QUERIES, 4);
            else if (ATTN__LARGE && job->queries - r > 1)
                ATTN__NAME(dot_block)(job, r, i, p, 2, 4);
            else if (!ATTN__SMALL && keys > 4)
                ATTN__NAME(dot_block)(job, r, i, p, 1, 8);
            else
                ATTN__NAME(dot_block)(job, r, i, p, 1, 4);
    }
    for (i = 0; left > 0 && i < n; i++) {
        const char *rest = attn__key_of(job, i) + job->head + d * attn__size(ATTN__FEW_TYPE);
        ATTN__V k = ATTN__NAME(terms)(rest, ATTN__FEW_TYPE, left), *sum = (ATTN__V *)job->lanes + i;
        for (r = 0; r < job->queries; r++, sum += ATTN__DOT_KEYS)
            *sum = ATTN__DOT(k, ATTN__LOAD(ATTN__NAME(row_of)(job, r) + d / (ATTN__TERMS / ATTN__W)), *sum);
    }
}

/* And their sums, unless other terms will follow. */
ATTN__TARGET static void ATTN__NAME(dot)(const attn__few_job *job)
{
    const ATTN__R *added = (const ATTN__R *)job->operand->added;
    size_t r, i;
    ATTN__NAME(dot_keys)(job);
    for (r = 0; r < job->queries && !(job->operand->part & ATTN__UNFINISHED); r++) {
        ATTN__V *sum = (ATTN__V *)job->lanes + r * ATTN__DOT_KEYS, score;
        for (i = job->keys; i < ATTN__DOT_KEYS; i++)
            sum[i] = ATTN__SET1((ATTN__R)0);
        for (i = 0; i < ATTN__DOT_KEYS; i += ATTN__W) {
            score = ATTN__NAME(add_lanes)(sum + i);
            if (added)
                score = ATTN__ADD(score, ATTN__LOAD(added + job->first + i));
            ATTN__STORE((ATTN__R *)job->out + r * job->ld + i, score);
        }
    }
}

#if !ATTN__PAIRS
/* sum += weights V: of so many queries, so many vectors of n dims. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(weigh_rows)(ATTN__V (*sum)[8], const ATTN__R *const *w,
                                                      const attn__few_job *job, ptrdiff_t from, const char *const *next,
                                                      size_t n, attn_dtype dtype, const int queries, const int vectors)
{
    const char *const *at = job->operand->at ? job->operand->at + job->first : NULL;
    const char *row = job->operand->row + (ptrdiff_t)job->first * job->operand->step + from;
    ATTN__V x[8], weight;
    size_t k;
    int r, v;
    for (k = 0; k < job->keys; k++, row += job->operand->step) {
        const char *p = at ? at[k] + from : row;
        if (next)
            attn__prefetch_row(next[k] + job->fetch, job->fetch_bytes);
        ATTN__EACH (v, vectors)
            x[v] = ATTN__NAME(terms)(p + v * ATTN__W * (int)attn__size(dtype), dtype, n);
        ATTN__EACH (r, queries) {
            weight = ATTN__SET1(w[r][k]);
            ATTN__EACH (v, vectors)
                sum[r][v] = ATTN__FMA(x[v], weight, sum[r][v]);
        }
    }
}

#define ATTN__WEIGH_ROWS(dtype) ATTN__NAME(weigh_rows)(sum, w, job, from, next, n, dtype, queries, vectors)

/* out += those products: of so many queries from number `first` on, so many vectors from number d on. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(weigh_block)(const attn__few_job *job, size_t first, size_t d, size_t n,
                                                       const int queries, const int vectors)
{
    const ptrdiff_t from = job->head + (ptrdiff_t)(d * attn__size(ATTN__FEW_TYPE));
    const char *const *next =
        ATTN__LARGE && job->operand->next && first == 0 && d == 0 ? job->operand->next + job->first : NULL;
    ATTN__V sum[ATTN__FEW_QUERIES][8];
    const ATTN__R *w[ATTN__FEW_QUERIES];
    int r, v;
    ATTN__EACH (r, queries) {
        w[r] = ATTN__NAME(row_of)(job, first + (size_t)r);
        ATTN__EACH (v, vectors)
            sum[r][v] = ATTN__SET1((ATTN__R)0);
    }
    ATTN__OF_TYPE(ATTN__FEW_TYPE, ATTN__WEIGH_ROWS)
    ATTN__EACH (r, queries)
        if (first + (size_t)r < job->queries) {
            ATTN__R *out = (ATTN__R *)job->out + (first + (size_t)r) * job->ld + d;
            ATTN__EACH (v, vectors)
                ATTN__STORE(out + v * ATTN__W, ATTN__ADD(ATTN__LOAD(out + v * ATTN__W), sum[r][v]));
        }
}

/* All dims of so many queries: 8 or 4 vectors at a time, as many as have registers for their sums, then those that are
   left: by two only where the usual numbers of dims are not multiples of 4 vectors. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(weigh_keys_of)(const attn__few_job *job, size_t first, const int queries)
{
    const size_t dims = job->operand->dims;
    size_t d = 0;
    for (; ATTN__LARGE && queries == 1 && dims - d >= 8 * ATTN__W; d += 8 * ATTN__W)
        ATTN__NAME(weigh_block)(job, first, d, ATTN__W, queries, 8);
    for (; dims - d >= 4 * ATTN__W; d += 4 * ATTN__W)
        ATTN__NAME(weigh_block)(job, first, d, ATTN__W, queries, 4);
    for (; ATTN__LARGE && ATTN__W > 8 && dims - d >= 2 * ATTN__W; d += 2 * ATTN__W)
        ATTN__NAME(weigh_block)(job, first, d, ATTN__W, queries, 2);
    for (; d < dims; d += ATTN__W)
        ATTN__NAME(weigh_block)(job, first, d, attn__min(dims - d, ATTN__W), queries, 1);
}

ATTN__TARGET static void ATTN__NAME(weigh)(const attn__few_job *job)
{
    size_t r = 0;
    for (; ATTN__LARGE && r + ATTN__FEW_QUERIES / 2 < job->queries; r += ATTN__FEW_QUERIES)
        ATTN__NAME(weigh_keys_of)(job, r, ATTN__FEW_QUERIES);
    for (; r < job->queries; r++)
        ATTN__NAME(weigh_keys_of)(job, r, 1);
}
#endif

/* A bit for each type that is read where it lies. */
#define ATTN__READS                                                                                                    \
    (ATTN__PAIRS    ? 1u << ATTN_F32 | 1u << ATTN_BF16                                                                 \
     : ATTN__NARROW ? 1u << ATTN_F32 | 1u << ATTN_F16 | 1u << ATTN_BF16 | 1u << ATTN_I8                                \
                    : 1u << ATTN__REAL)

#define ATTN__DOUBLE_KERNEL(name) ATTN__OF_REAL(NULL, ATTN__NAME(name))
#define ATTN__IF_MANY(kernel) (ATTN__MANY ? ATTN__IF_TYPE(kernel) : NULL)
#define ATTN__IF_TYPE(kernel) (ATTN__REAL_F64 && !ATTN__HAS_F64 ? NULL : kernel) /* of a compute type */

#if defined(__clang__)
#pragma clang fp contract(on) /* as float_control has it in compiler and configuration */
#elif defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* The members in their order: first what the pass is, then its kernels, each of which has the name of its member, but
   for four: load_rows and load_panel are load, to_terms does nothing, nonfinite_terms is nonfinite where a term is a
   real. With pairs, those that do not make products are the kernels of the pass that it extends. */
/* clang-format off */
static const attn__kernels ATTN__NAME(kernels) = {
    ATTN__ISA, ATTN__REAL, sizeof(ATTN__R), ATTN__W, ATTN__ROWS, ATTN__TILE_COLS,
    &attn__tuned[ATTN__W == 1 ? ATTN__PASS_SCALAR : ATTN__PASS][ATTN__REAL_F64], ATTN__DOT_KEYS,
    ATTN__PAIRS ? ATTN_BF16 : ATTN__REAL, ATTN__PAIRS ? 2 : 1, ATTN__READS, ATTN__BASE(load),
    ATTN__OF_TERMS(ATTN__NAME(load_terms), ATTN__NAME(load)), ATTN__OF_TERMS(ATTN__NAME(load_panel), ATTN__NAME(load)),
    ATTN__BASE(store),
#ifndef ATTN_NO_TRAINING
    ATTN__IF_TYPE(ATTN__BASE(add)),
#endif
    ATTN__IF_MANY(ATTN__NAME(gemm)), ATTN__IF_TYPE(ATTN__NAME(dot)), ATTN__IF_TYPE(ATTN__BASE(weigh)),
    ATTN__OF_TERMS(ATTN__NAME(to_terms), attn__are_reals),
    ATTN__BASE(softmax_max), ATTN__IF_TYPE(ATTN__BASE(softmax_exp)), ATTN__DOUBLE_KERNEL(merge_weights),
    ATTN__DOUBLE_KERNEL(merge_rows), ATTN__IF_TYPE(ATTN__BASE(nonfinite)), ATTN__IF_TYPE(ATTN__NAME(nonfinite)),
    ATTN__IF_MANY(ATTN__BASE(load_bits)), ATTN__IF_TYPE(ATTN__BASE(classify)),
    {
        ATTN__IF_TYPE(ATTN__BASE(begin)), ATTN__IF_TYPE(ATTN__BASE(scale_keys)), ATTN__IF_TYPE(ATTN__BASE(softcap)),
        ATTN__IF_TYPE(ATTN__BASE(edit)), ATTN__IF_TYPE(ATTN__BASE(softmax)), ATTN__IF_TYPE(ATTN__BASE(drop)),
        ATTN__IF_TYPE(ATTN__LARGE ? ATTN__BASE(merge) : ATTN__OF_REAL(attn__merge_scalar_f32, attn__merge_scalar_f64)),
        ATTN__IF_TYPE(ATTN__BASE(finish)),
        ATTN__IF_TYPE(ATTN__BASE(scale)),
        ATTN__LARGE ? ATTN__IF_TYPE(ATTN__BASE(weights)) : NULL,
#ifndef ATTN_NO_TRAINING
        ATTN__IF_TYPE(ATTN__BASE(backward)), ATTN__IF_TYPE(ATTN__BASE(softcap_backward)),
        ATTN__IF_TYPE(ATTN__BASE(add_dot)), ATTN__IF_TYPE(ATTN__BASE(sum_keys)), ATTN__IF_TYPE(ATTN__BASE(sum_rows)),
        ATTN__IF_TYPE(ATTN__BASE(sum_distances)),
#endif
    },
};
/* clang-format on */

/* What has the same text in every pass may stay. */
#undef ATTN__OF_REAL
#undef ATTN__TARGET
#undef ATTN__NAME
#undef ATTN__V
#undef ATTN__W
#undef ATTN__ROWS
#undef ATTN__LOAD
#undef ATTN__STORE
#undef ATTN__SET1
#undef ATTN__BY
#undef ATTN__FMA
#undef ATTN__MAX
#undef ATTN__PICK
#undef ATTN__PIN
#undef ATTN__OPAQUE_LANES
#undef ATTN__REGISTER
#undef ATTN__LESS
#undef ATTN__MASK
#undef ATTN__ROUND
#undef ATTN__I
#undef ATTN__IADD_UNLESS
#undef ATTN__IADD_UP_TO
#undef ATTN__ISHL
#undef ATTN__X
#undef ATTN__IX
#undef ATTN__AS_BITS
#undef ATTN__AS_REAL
#undef ATTN__LOAD_F32
#undef ATTN__STORE_F32
#undef ATTN__LOAD_F16
#undef ATTN__LOAD_BF16
#undef ATTN__LOAD_I8
#undef ATTN__ISET
#undef ATTN__IAND
#undef ATTN__ISHR
#undef ATTN__STORE_U16
#undef ATTN__STORE_F16
#undef ATTN__PICK_BITS
#undef ATTN__IANY
#undef ATTN__FMS
#undef ATTN__LOAD_PANEL
#undef ATTN__TRUE
#undef ATTN__CHOOSE
#undef ATTN__SAME
#undef ATTN__OF_TERMS
#undef ATTN__LOAD_ONE
#undef ATTN__STORE_ONE

/* Once more, in double. */
#if ATTN__REAL_F64 || ATTN__PAIRS || !(ATTN__HAS_F64 || ATTN__PASS == ATTN__PASS_SCALAR)
#undef ATTN__REAL_F64
#undef ATTN__PASS
#else
#undef ATTN__REAL_F64
#define ATTN__REAL_F64 1
#include ATTN_HEADER
#endif

#endif /* ATTN__PASS */

/* ==== licence ====================================================================================================

MIT licence

Copyright (c) 2026 the attn.h authors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/
