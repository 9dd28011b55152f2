/* attn.h - v0.4.1 - attention for C and C++ in one header - MIT licence, at the end of this file

   Attention lets each of Lq queries look at Lk keys and take home a mixture of their values:

       scores  = scale * Q K^T          Lq x Lk    how well each query matches each key
       weights = softmax(scores)        Lq x Lk    each row positive, summing to 1
       out     = weights V              Lq x Dv    each row a weighted mean of the values

   This header computes it in two ways. The steps: one function for each line above and for those around them (matrix
   product, additive, general and cosine scores, splitting and joining heads), on matrices, to read and to learn from.
   The engine: attn_sdpa, one call for all heads of a batch that never holds the scores, with every option, to use. And
   what a model needs around it: a cache of keys and values, positions, the multi-head layer.

   CONTENTS: search for "==== " to walk through this file
       API: types                1. compiler, configuration, checked sizes
       API: views                2. views and dtypes
       API: steps                3. scalar math
       API: engine               4. instruction sets, kernel table, threads
       API: key/value cache      5. steps
       API: positions            6. engine
       API: multi-head layer     7. cache, positions, layer
       API: threads              9. kernels                                  (8: reserved)

   WHAT IT DOES
       - float, double, IEEE half and bfloat16, mixed freely where that makes sense, rounded once when stored
       - any strides: transposed, sliced, padded, reversed, broadcast; nothing is copied to please the library
       - grouped queries, causal rules, windows, lengths, masks, biases, ALiBi, softcap, sinks, score_mod, log-sum-exp,
         weights and scores on demand, D and Dv of any size; exact, in memory that does not grow with the lengths
       - key/value caches, full or as a ring, in float, half, bfloat16 or 8-bit integers; rotary embeddings, ALiBi, T5's
         bias, sinusoids; multi-head attention with its projections
       - AVX2, AVX-512 or NEON at run time, with no compiler flag; plain C elsewhere
       - your threads, your allocator, your scratch memory, or none of them
       - every argument checked in every build; an error says what kind it is and has written nothing
   WHAT IT DOES NOT
       - GPUs; dropout; paged caches; packed sequences of varying length; 4-bit elements; training
       - it is tested with gcc, clang and tcc, on x86-64, AArch64, 32-bit Arm and s390x; MSVC is untested

   QUICK START: this is a whole program; cc app.c -lm

       #define ATTN_IMPLEMENTATION
       #include "attn.h"
       #include <stdio.h>

       int main(void)
       {
           float q[2][2] = {{1, 0}, {0, 1}}, k[3][2] = {{1, 0}, {0, 1}, {1, 1}}, v[3] = {10, 20, 30}, out[2];
           attn_mat none = {0};
           attn_status status = attn_attention(attn_mat_of(out, ATTN_F32, 2, 1), none, attn_mat_of(q, ATTN_F32, 2, 2),
                                               attn_mat_of(k, ATTN_F32, 3, 2), attn_mat_of(v, ATTN_F32, 3, 1), 0);
           printf("%s: %g %g\n", attn_status_string(status), out[0], out[1]);
           return status;
       }

   Define ATTN_IMPLEMENTATION in exactly one source file of a program; the others just include attn.h.

   With the engine, for q, k, v in float arrays [B][H][L][D]:

       attn_opts opts = {0};
       opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
       status = attn_sdpa(attn_bhld(out, ATTN_F32, B, H, L, D), attn_bhld(q, ATTN_F32, B, H, L, D),
                          attn_bhld(k, ATTN_F32, B, H, L, D), attn_bhld(v, ATTN_F32, B, H, L, D), &opts, NULL);

   OPTIONS: macros to define before the include
     for the whole program, the same in every file:
       ATTN_API              put before every function: storage class, visibility, dllexport       default: extern
       ATTN_THREADS          adds attn_pool_new and attn_pool_free; link with -lpthread where libc needs it
     in any file:
       ATTN_INTERFACE_ONLY   the interface alone, whatever else is defined: for programs of several files
     in the file with ATTN_IMPLEMENTATION:
       ATTN_STATIC           every function is static: a private copy for this file alone
       ATTN_HEADER           "name.h", if you renamed this file (gcc before 12, and other compilers, cannot tell)
       ATTN_MALLOC(size)     both or neither; ATTN_MALLOC may return NULL, alignment as malloc's   default: malloc, free
       ATTN_FREE(pointer)
       ATTN_NO_STDLIB        no malloc: attn_mat_new fails, and what needs a temporary returns ATTN_ERR_NOMEM
       ATTN_NO_SIMD          only the scalar kernels
       ATTN_NO_AVX512        no AVX-512 kernels
       ATTN_SQRT ATTN_EXP    double to double, instead of <math.h>; ATTN_POW has two arguments. With all seven -lm is
       ATTN_LOG ATTN_TANH    not needed
       ATTN_SIN ATTN_COS
       ATTN_POW
       ATTN_ASSERT(x)        checks for mistakes of the library itself, never of yours              default: nothing

   VIEWS
       An attn_mat is a pointer, a type, two sizes and two strides. It owns nothing and is passed by value. Element
       (r, c) is data[r * row_stride + c * col_stride], in elements. attn_mat_of makes a packed one; attn_mat_t,
       attn_mat_rows and attn_mat_cols make others from it; or fill in the members. Data is aligned to its element type.
       An attn_tensor has four sizes and strides: batch, heads, len, dim. attn_bhld and attn_blhd make packed ones.
       Absent (every member zero, `attn_mat m = {0}`) means "not given" or "not wanted", where the prototype allows it.
       A constructor that fails returns a bad view instead, which every function refuses: a failed slice is never
       mistaken for an absent argument.
       An output may not share an element with another argument, nor two of its own elements an address; where the
       identical view in place is fine, the prototype says so. Interleaved buffers are fine: views with equal strides
       whose elements fall between one another.

   THREADS
       The library starts none of its own accord. It has no global state but the instruction sets found on first use, so
       every function may be called from any thread at any time. To spread one call over threads, give it an
       attn_parallel that hands tasks to the threads you have, or the pool that ATTN_THREADS adds.

   MEMORY
       attn_mat_new allocates; so do attn_kv_cache_init, unless it is given storage, and attn_attention and the general,
       additive and cosine scores, for temporaries that they free.
       Larger matrix products take up to 512 KiB for each task, from ctx->scratch if that is given, else from
       ATTN_MALLOC; without either they use 16 KiB of stack and give the same bits, only slower.
       attn_sdpa takes some tiles for each task (attn_sdpa_scratch says how much: 220 KiB at D = 64 with AVX-512, up to
       1 MiB where many tasks share few queries) from ctx->scratch, else from the stack if 16 KiB will do, else from
       ATTN_MALLOC; so does attn_kv_cache_attend. attn_mha takes its projections besides (attn_mha_scratch). Appending
       to a cache, truncating and reordering it need no memory.

   NUMERICS
       The compute type is double if the first input is F64 (then every matrix must be), otherwise float: 16-bit
       elements are widened, sums are kept in float, and the float result is rounded once when stored, to nearest even.
       alpha and beta are rounded to the compute type too, and so may scale be.
       Products are sums over k in one chain, with fused multiply-add in the vector kernels: at least as accurate as the
       three nested loops that everybody writes.
       Softmax, against long double: each element is within 20 + d ulp, where d is the row's maximum minus that
       element's input (rounding that difference costs up to d ulp, nothing where it is exact); rows of random numbers
       stay below 8. Results below the smallest normal number are within that number. Rows sum to 1 within 4 ulp times
       the square root of their length. The vector exp by itself is within 2 ulp, of the engine too, which lets become
       zero what is below 2^-125 of a row's largest weight (2^-1021 in double).
       A cache rounds what is appended to its type once; I8 keeps each element within half a scale, the scale being its
       row's largest magnitude / 127. Angles, sines and rotations are computed in double and rounded once.
       The engine makes the same products, keeps maximum, sum and output of a row in the compute type, and rescales them
       as larger scores appear (online softmax). Its error stays within twice that of naive loops in the same type and
       4 ulp. It divides by the sum at the end: where the values of a row, each times exp(score - max), add up to more
       than the compute type holds, out is infinite or NaN. tanh of softcap is within 6 ulp in float, 8 in double.
       Scores of 10000 are no different from scores of 0. A row with NaN or +infinity is NaN throughout; a row of
       -infinity (nothing to attend to) is zeros; one of no columns is nothing.
       -ffast-math keeps all of this, except that subnormal numbers may become zero (softcaps above 1e37 lose by it).

   DETERMINISM
       On one CPU and instruction set the bits of a result depend on the inputs alone: not on threads, scratch, layout,
       neighbouring rows or batch items, what hidden keys hold, or whether an optional output was asked for; the sign of
       a zero excepted. Other instruction sets sum in another order. None of this holds for x87 arithmetic (i386 without
       SSE2).
       A cache changes nothing either: its bits are those of attn_sdpa over the same tokens, and a ring's are those of a
       full cache. With up to 16384 keys a token's bits do not depend on the keys after it: decoding token by token
       equals one causal call. Beyond, where the sums are split depends on how many keys there are.

   VERSIONS
       0.4.1   speed: products of a few rows with a transposed matrix, as models decode
       0.4.0   speed: decoding, short calls, layouts, masks; no new functions
       0.3.0   key/value cache, positions, multi-head layer
       0.2.0   the engine: attn_sdpa, attn_merge; ATTN_THREADS
       0.1.0   views, steps, kernels for AVX2, AVX-512 and NEON
*/
#ifndef ATTN__PASS

#ifndef ATTN_H
#define ATTN_H

#include <stddef.h>

#define ATTN_VERSION_MAJOR 0
#define ATTN_VERSION_MINOR 4
#define ATTN_VERSION_PATCH 1
#define ATTN_VERSION (ATTN_VERSION_MAJOR * 10000 + ATTN_VERSION_MINOR * 100 + ATTN_VERSION_PATCH)
#define ATTN_VERSION_STRING "0.4.1"

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
#define ATTN__UNREAD __attribute__((access(none, 1)))
#else
#define ATTN__UNREAD
#endif

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
    ATTN_I8 /* inside an attn_kv_cache only: all others refuse it */
} attn_dtype;

/* What a call came to. Checks are made in the order NULL, DTYPE, SHAPE, OVERFLOW, VALUE, ALIAS, NOMEM, each over the
   arguments from left to right. On anything but ATTN_OK no element of any output has been written. */
typedef enum attn_status {
    ATTN_OK = 0,
    ATTN_ERR_NULL,     /* a required argument is absent, or a bad view (see attn_mat) */
    ATTN_ERR_SHAPE,    /* dimensions do not fit together */
    ATTN_ERR_DTYPE,    /* an element type that does not go here, or with the other arguments */
    ATTN_ERR_VALUE,    /* a number out of its range, misaligned data, an instruction set this CPU lacks */
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
    ATTN_ISA_BEST = 0, /* the best of the below that this CPU has */
    ATTN_ISA_SCALAR,   /* plain C and libm: everywhere, slow, the oracle of the others */
    ATTN_ISA_AVX2,     /* with FMA and F16C */
    ATTN_ISA_AVX512,   /* F, BW, DQ, VL */
    ATTN_ISA_NEON,     /* AArch64 */
    ATTN_ISA_WASM128   /* reserved: not in this version */
} attn_isa;

/* How to run tasks side by side: run() calls task(arg, 0) .. task(arg, count - 1), in any order and on any threads, and
   returns when all are done. width: the most tasks in progress at once (0 = 1). The library calls run() with
   count <= width; tasks never wait for one another. run NULL: everything on the calling thread. */
typedef struct attn_parallel {
    void (*run)(void *user, size_t count, void (*task)(void *arg, size_t index), void *arg);
    void *user;
    size_t width;
} attn_parallel;

/* Where and how a call runs. NULL or all zero: this thread, ATTN_MALLOC, best instruction set.
   scratch: scratch_size bytes, any alignment, shared out among `width` tasks; with it nothing is allocated.
   A ctx with scratch serves one call at a time. */
typedef struct attn_ctx {
    attn_parallel parallel;
    void *scratch;
    size_t scratch_size;
    attn_isa isa;
} attn_ctx;

ATTN_API int attn_version(void);                             /* ATTN_VERSION of the compiled implementation */
ATTN_API const char *attn_status_string(attn_status status); /* one line of English; never NULL */
ATTN_API const char *attn_isa_string(attn_isa isa);          /* "avx512", ...; never NULL */
ATTN_API int attn_isa_available(attn_isa isa);               /* 1 when this build and this CPU have it */

/* ==== API: views ================================================================================================= */

/* A packed row-major rows x cols matrix over `data`, which stays the caller's. Overflow: a bad view. */
ATTN_API attn_mat attn_mat_of(const void *data, attn_dtype dtype, size_t rows, size_t cols) ATTN__UNREAD;

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
ATTN_API attn_tensor attn_bhld(const void *data, attn_dtype dtype, size_t B, size_t H, size_t L, size_t D) ATTN__UNREAD;
ATTN_API attn_tensor attn_blhd(const void *data, attn_dtype dtype, size_t B, size_t L, size_t H, size_t D) ATTN__UNREAD;

/* Any strides, in elements. Overflow: a bad view. */
ATTN_API attn_tensor attn_tensor_of(const void *data, attn_dtype dtype, size_t B, size_t H, size_t L, size_t D,
                                    ptrdiff_t batch_stride, ptrdiff_t head_stride, ptrdiff_t len_stride,
                                    ptrdiff_t dim_stride) ATTN__UNREAD;

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
   are computed in F32, and are rounded to nearest even when stored. */

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

/* attn_matmul and attn_softmax with threads, instruction set and scratch; out = alpha a b. ctx may be NULL.
   Both never return NOMEM: memory only makes them faster. */
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

/* Shows only keys i + o - left .. i + o + right; -1 = unlimited on that side. left = L shows L + 1 keys. */
typedef struct attn_window {
    int on; /* 0: left and right are not looked at */
    ptrdiff_t left, right;
} attn_window;

/* Which scores attn_opts.scores receives. */
typedef enum attn_stage {
    ATTN_STAGE_DOT = 0, /* scale q k^T */
    ATTN_STAGE_SOFTCAP, /* after softcap */
    ATTN_STAGE_FINAL    /* biased, modified, masked = -infinity: what softmax sees */
} attn_stage;

/* Edits `count` scores in place, of query i of head h of item b against keys j0, j0 + 1, ...; `scores` points to float
   or double, the compute type. It may meet keys that the mask hides (the result is discarded), but never tiles that are
   skipped; it may be called from several threads, and again for the same scores when weights or scores are wanted. */
typedef void (*attn_score_mod)(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0);

/* Every option of attn_sdpa. All zero (`attn_opts opts = {0}`): plain attention of every query with every key. */
typedef struct attn_opts {
    /* who sees whom: a key that is hidden is no part of any arithmetic, NaN or garbage there changes nothing */
    attn_causal causal;
    const ptrdiff_t *causal_offset; /* [B], may be negative */
    attn_window window;
    attn_tensor mask;      /* BOOL, true = attend; B x H x Lq x Lk, where any dimension may be 1: broadcast */
    const size_t *q_lens;  /* [B], valid queries <= Lq; rows past them are zeros, their lse -infinity */
    const size_t *kv_lens; /* [B], valid keys <= Lk; those past them are never read */

    /* scores */
    double scale;     /* 0 = 1/sqrt(D); negative is legal */
    double softcap;   /* 0 = off; else score = softcap tanh(score / softcap)       Gemma 2, arXiv 2408.00118 */
    attn_tensor bias; /* any float type, added; broadcast as mask is; -infinity hides as mask = 0 does */
    const float
        *alibi_slopes;  /* [H], adds -slope |i + o - j|                             Press 2021, arXiv 2108.12409 */
    const float *sinks; /* [H], one more logit in the denominator only               Xiao 2023, arXiv 2309.17453 */
    attn_score_mod score_mod;
    void *score_mod_user;

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
   beyond Lq or Lk, an unknown enum.
   NOMEM: ctx->scratch too small (see attn_sdpa_scratch), or ATTN_MALLOC failed.
                                                      Vaswani 2017, arXiv 1706.03762; Dao 2022, arXiv 2205.14135 */
ATTN_API attn_status attn_sdpa(attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v, const attn_opts *opts,
                               const attn_ctx *ctx);

/* *bytes = the scratch that this call needs in ctx->scratch: a function of shapes, dtypes, strides, which options are
   present, instruction set and width, never of contents. It does not grow with Lq, nor with Lk beyond one tile (beyond
   32 splits where there are fewer blocks of queries than tasks). ctx->scratch and scratch_size are not looked at. On an
   error *bytes stays as it was. */
ATTN_API attn_status attn_sdpa_scratch(size_t *bytes, attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                                       const attn_opts *opts, const attn_ctx *ctx);

/* Writes to text[size] how this call would run: instruction set, tiles, tasks, scratch, and what is copied and why. For
   a call that would fail: the same status, and the name of the argument (ATTN_ERR_ALIAS: and of the one that it meets).
   Cut to size, always terminated if size > 0. */
ATTN_API attn_status attn_sdpa_explain(char *text, size_t size, attn_tensor out, attn_tensor q, attn_tensor k,
                                       attn_tensor v, const attn_opts *opts, const attn_ctx *ctx);

/* Two results over disjoint sets of keys become one, in place: (out, lse) takes in (out_b, lse_b). For rings and split
   attention: keep the parts in F32 or F64, and give sinks to exactly one of them. out is B x H x Lq x Dv, lse
   B x H x Lq x 1 of any float type. A side with lse -infinity is empty, whatever its out; NaN or +infinity in an lse
   makes the row NaN. */
ATTN_API attn_status attn_merge(attn_tensor out, attn_tensor lse, attn_tensor out_b, attn_tensor lse_b);
ATTN_API attn_status attn_merge_ctx(attn_tensor out, attn_tensor lse, attn_tensor out_b, attn_tensor lse_b,
                                    const attn_ctx *ctx);

/* ==== API: key/value cache =======================================================================================

   Keys and values of the tokens so far, for models that make one token after another: append the new rows, attend with
   the new queries. Items of a batch may have different lengths. A ring keeps the newest `capacity` tokens of each item
   and forgets the others; tokens keep their numbers, counted from the first ever appended. */

/* Made by attn_kv_cache_init; to read, not to write. */
typedef struct attn_kv_cache {
    attn_tensor k, v;           /* B x Hkv x capacity x D and Dv; token j lies at j % capacity */
    float *k_scales, *v_scales; /* I8: [B][Hkv][capacity], a row is its integers times its scale; else NULL */
    size_t *lens;               /* [B] tokens appended so far, less those truncated */
    size_t *first;              /* [B] the oldest token that is still there: 0 unless a ring has dropped some */
    int ring;
    void *own; /* what attn_kv_cache_free frees, or NULL */
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

/* Frees what attn_kv_cache_init allocated; leaves all zero. NULL and all zero are fine. */
ATTN_API void attn_kv_cache_free(attn_kv_cache *cache);

/* Appends the first lens[b] rows of each item of k (B x Hkv x L x D) and v (B x Hkv x L x Dv); lens NULL: all L. Any
   float types, rounded once to the cache's. A ring drops its oldest tokens for them, though queries to come may need
   those; more rows than it holds are legal.
   VALUE: lens[b] > L, or the cache is no ring and an item would outgrow its capacity; then no item has changed. */
ATTN_API attn_status attn_kv_cache_append(attn_kv_cache *cache, attn_tensor k, attn_tensor v, const size_t *lens);

/* Item b forgets all but its first len tokens. What a ring has dropped does not come back. VALUE: no such item, or it
   has fewer. */
ATTN_API attn_status attn_kv_cache_truncate(attn_kv_cache *cache, size_t b, size_t len);

/* Item b becomes what item from[b] was, for all b at once: the step of a beam search. Needs no memory.
   VALUE: from[b] >= B. */
ATTN_API attn_status attn_kv_cache_reorder(attn_kv_cache *cache, const size_t *from);

/* attn_sdpa of queries against a cache: q is B x H x Lq x D, out B x H x Lq x Dv, neither of them F64. The queries of
   item b, all Lq or the first q_lens[b], belong to its newest tokens: o = lens[b] - q_lens[b]. Give q_lens what append
   was given as lens. UPPER_LEFT and LOWER_RIGHT both mean j <= i + o here. For cross-attention append the other text
   once and leave the rule NONE; there may be more queries than tokens then. Key j is token j, of a ring too; mask,
   bias, weights, scores have Lk = the largest of cache->lens. The bits are those of attn_sdpa over keys in one tensor.
   A ring is for windows: L tokens appended at once and attended by L queries need left + L <= capacity. Feed longer
   texts in pieces of capacity - left tokens; or, if the ring is empty, run attn_sdpa over the text and append it then.
   Tokens that a ring has dropped have weight 0 and scores -infinity.
   VALUE: opts->kv_lens or causal_offset given, or ATTN_CAUSAL_OFFSET; causal and window show a query a lost token. */
ATTN_API attn_status attn_kv_cache_attend(attn_tensor out, attn_tensor q, const attn_kv_cache *cache,
                                          const attn_opts *opts, const attn_ctx *ctx);

/* *bytes = scratch in ctx->scratch for that call, now and when the items have grown: as attn_sdpa_scratch, except that
   Lk is today's for the shapes of mask, bias, weights and scores. */
ATTN_API attn_status attn_kv_cache_scratch(size_t *bytes, attn_tensor out, attn_tensor q, const attn_kv_cache *cache,
                                           const attn_opts *opts, const attn_ctx *ctx);

/* Writes to text[size] how that call would run, or which argument is at fault: as attn_sdpa_explain. */
ATTN_API attn_status attn_kv_cache_explain(char *text, size_t size, attn_tensor out, attn_tensor q,
                                           const attn_kv_cache *cache, const attn_opts *opts, const attn_ctx *ctx);

/* ==== API: positions =============================================================================================

   Attention by itself does not know the order of its keys. Rotations turn queries and keys by their positions, biases
   add to the scores by distance, sinusoids are added to the tokens. */

/* Options of attn_rope; all zero: the first and second half of D are rotated, base 10000, positions 0, 1, .. */
typedef struct attn_rope_opts {
    int interleaved; /* 0: pairs (d, d + dim/2), as Llama and GPT-NeoX; 1: pairs (2d, 2d + 1), as GPT-J and the paper */
    size_t dim;      /* rotates elements 0 .. dim - 1, even; the others are copied. 0 = D */

    double base;               /* pair d turns by base^(-2d/dim) for each position; 0 = 10000 */
    const double *frequencies; /* [dim/2], instead; see attn_rope_frequencies */
    double scale;              /* what is rotated is multiplied by it; 0 = 1 */

    ptrdiff_t offset;           /* position of row i: offset + i, */
    const ptrdiff_t *positions; /* or offset + positions[b * batch_stride + i * len_stride]; the sum saturates */
    ptrdiff_t position_batch_stride, position_len_stride; /* both 0: packed [B][L] */
} attn_rope_opts;

/* Turns pair d of each row by angle position * frequency d: (x, y) -> (x cos - y sin, x sin + y cos). in and out
   B x H x L x D of any float types; in place is legal. Computed in double, rounded once: the angle is off by position
   2^-53 at most, and one that is not finite makes NaN. opts may be NULL. SHAPE: D odd with dim 0. VALUE: dim odd or
   > D; base negative, or it or 1 / base not finite; scale or a frequency not finite.     Su 2021, arXiv 2104.09864 */
ATTN_API attn_status attn_rope(attn_tensor out, attn_tensor in, const attn_rope_opts *opts);

typedef enum attn_rope_scaling_kind {
    ATTN_ROPE_PLAIN = 0,
    ATTN_ROPE_LINEAR, /* frequencies / factor                                             Chen 2023, arXiv 2306.15595 */
    ATTN_ROPE_NTK,    /* base * factor^(dim/(dim-2)): the highest frequency stays, the lowest is divided by factor */
    ATTN_ROPE_YARN    /* between PLAIN and LINEAR, by the turns a pair makes              Peng 2023, arXiv 2309.00071 */
} attn_rope_scaling_kind;

/* How a model reaches beyond the length it was trained on. */
typedef struct attn_rope_scaling {
    attn_rope_scaling_kind kind;
    double factor; /* so many times longer, > 0; for dynamic NTK: factor * len / original_len - (factor - 1) */

    /* YARN */
    double original_len;         /* the length in training, > 0 */
    double beta_fast, beta_slow; /* more turns in it than fast: PLAIN; fewer than slow: LINEAR. 0 = 32 and 1 */
} attn_rope_scaling;

/* freq[d], for d < dim/2: what attn_rope_opts.frequencies takes. dim is even; base 0 = 10000; scaling NULL = PLAIN.
   *scale, unless NULL: for attn_rope_opts.scale; 1, but 1 + ln(factor) / 10 for YARN with factor > 1.
   VALUE: dim odd, base not finite or <= 0, the same of what else the kind uses; YARN: base <= 1, beta_fast < beta_slow;
   a frequency that is not finite. */
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
   no key is bo. Rows past q_lens are zeros; rows of k and v past kv_lens are not read. Projections are kept in the
   compute type: for each item, Lq H (D + Dv) + Lk Hkv (D + Dv) elements, and Lq H Lk more for the mean. A layer with
   rotary positions or a cache has steps between these: attn_matmul, attn_rope, attn_kv_cache_attend.
   NOMEM: ctx->scratch is too small, or ATTN_MALLOC failed.                          Vaswani 2017, arXiv 1706.03762 */
ATTN_API attn_status attn_mha(attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                              const attn_mha_weights *weights, const attn_opts *opts, const attn_ctx *ctx);

/* *bytes = scratch in ctx->scratch for that call. As attn_sdpa_scratch, but it grows with the lengths. */
ATTN_API attn_status attn_mha_scratch(size_t *bytes, attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                                      const attn_mha_weights *weights, const attn_opts *opts, const attn_ctx *ctx);

/* Writes to text[size] how that call would run, or which argument is at fault: as attn_sdpa_explain. */
ATTN_API attn_status attn_mha_explain(char *text, size_t size, attn_tensor out, attn_tensor q, attn_tensor k,
                                      attn_tensor v, const attn_mha_weights *weights, const attn_opts *opts,
                                      const attn_ctx *ctx);

/* ==== API: threads =============================================================================================== */

#ifdef ATTN_THREADS
/* A pool of threads (pthreads or Win32) for ctx.parallel. `threads` counts the calling one; 0 = one for each processor.
   Calls from several threads at once are fine: one gets the pool, the others run alone. OVERFLOW: more threads than
   memory can list. NOMEM: no memory, or the system refused a thread. free: NULL-safe; leaves all zero; no call may be
   using the pool. */
ATTN_API attn_status attn_pool_new(attn_parallel *pool, size_t threads);
ATTN_API void attn_pool_free(attn_parallel *pool);
#endif

#ifdef __cplusplus
}
#endif

#endif /* ATTN_H */

/* ---- stop here if you only want the API ------------------------------------------------------------------------- */

#if defined(ATTN_IMPLEMENTATION) && !defined(ATTN_INTERFACE_ONLY) && !defined(ATTN__IMPLEMENTED)
#define ATTN__IMPLEMENTED

/* ==== 1. compiler, configuration, checked sizes ================================================================== */

#include <float.h>
#include <stdint.h>
#include <string.h>

/* malloc and libm may set errno, which a caller must not see. volatile: -ffast-math believes that libm does not. */
#ifdef ATTN_NO_STDLIB
#define ATTN__ERRNO 0
#define ATTN__ERRNO_KEEP(saved) ((void)(saved))
#else
#include <errno.h>
#define ATTN__ERRNO (*(volatile int *)&errno)
#define ATTN__ERRNO_KEEP(saved) ((void)(ATTN__ERRNO = (saved)))
#endif

#if !defined(ATTN_SQRT) || !defined(ATTN_EXP) || !defined(ATTN_LOG) || !defined(ATTN_TANH) || !defined(ATTN_SIN) ||    \
    !defined(ATTN_COS) || !defined(ATTN_POW)
#include <math.h>
#endif
#ifndef ATTN_SQRT
#define ATTN_SQRT sqrt
#endif
#ifndef ATTN_EXP
#define ATTN_EXP exp
#endif
#ifndef ATTN_LOG
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
#elif defined(ATTN_MALLOC)
#define ATTN__MALLOC(size) ATTN_MALLOC(size)
#define ATTN__FREE(p) ATTN_FREE(p)
#elif defined(ATTN_NO_STDLIB)
#define ATTN__MALLOC(size) ((void)(size), (void *)0)
#define ATTN__FREE(p) ((void)(p))
#define ATTN__NO_MALLOC 1
#else
#include <stdlib.h>
#define ATTN__MALLOC(size) malloc(size)
#define ATTN__FREE(p) free(p)
#endif

#ifndef ATTN__NO_MALLOC
#define ATTN__NO_MALLOC 0
#endif

#ifndef ATTN_ASSERT
#define ATTN_ASSERT(condition) ((void)0)
#endif

/* How this file includes itself for the kernels (section 9). */
#if defined(ATTN_HEADER)
#define ATTN__SELF ATTN_HEADER
#elif defined(__FILE_NAME__)
#define ATTN__SELF __FILE_NAME__
#else
#define ATTN__SELF "attn.h"
#endif

/* Which passes of the kernels this compiler can build; which of them run is decided on the machine (section 4). */
#if !defined(ATTN_NO_SIMD) && !defined(__TINYC__)
#if (defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))) || (defined(_MSC_VER) && defined(_M_X64))
#define ATTN__X86 1
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__) &&                                        \
    (defined(__GNUC__) || defined(__clang__))
#define ATTN__ARM 1
#endif
#endif
#if defined(ATTN__X86)
#if defined(_MSC_VER)
#include <intrin.h>
#endif
#include <immintrin.h>
#elif defined(ATTN__ARM)
#include <arm_neon.h>
#endif

#if defined(__clang__)
#define ATTN__UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define ATTN__UNROLL _Pragma("GCC unroll 16")
#else
#define ATTN__UNROLL
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ATTN__INLINE static inline __attribute__((always_inline))
#define ATTN__NOINLINE static __attribute__((noinline))
#define ATTN__TARGET_ATTRIBUTE(features) __attribute__((target(features)))
#elif defined(_MSC_VER)
#define ATTN__INLINE static __forceinline
#define ATTN__NOINLINE static __declspec(noinline)
#define ATTN__TARGET_ATTRIBUTE(features)
#else
#define ATTN__INLINE static
#define ATTN__NOINLINE static
#define ATTN__TARGET_ATTRIBUTE(features)
#endif

/* *p, a size_t, before 1 is added; and *p. What the adding thread wrote before is seen by the one that looks. Not every
   compiler has them. */
#if defined(__GCC_ATOMIC_POINTER_LOCK_FREE) && __GCC_ATOMIC_POINTER_LOCK_FREE == 2
#define ATTN__COUNT_UP(p) __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL)
#define ATTN__LOOK_AT(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#elif defined(_MSC_VER) && defined(_WIN64)
#include <intrin.h>
#define ATTN__COUNT_UP(p) ((size_t)_InterlockedExchangeAdd64((volatile __int64 *)(p), 1))
#define ATTN__LOOK_AT(p) ((size_t)_InterlockedOr64((volatile __int64 *)(p), 0))
#endif

#define ATTN__PASTE_(a, b) a##b
#define ATTN__PASTE(a, b) ATTN__PASTE_(a, b)

/* clang-format off */
#ifdef __cplusplus
#define ATTN__ZERO {}
extern "C" {
#else
#define ATTN__ZERO {0}
#endif
/* clang-format on */

static void *attn__allocate(size_t size)
{
    int saved = ATTN__ERRNO;
    void *p = ATTN__MALLOC(size);
    ATTN__ERRNO_KEEP(saved);
    return p;
}

static void attn__release(void *p)
{
    int saved;
    if (!p)
        return;
    saved = ATTN__ERRNO;
    ATTN__FREE(p);
    ATTN__ERRNO_KEEP(saved);
}

static size_t attn__min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t attn__max(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t attn__blocks(size_t n, size_t block) /* how many blocks cover n */
{
    return n <= block ? n != 0 : n / block + (n % block != 0); /* one block needs no division */
}

/* Where compilers know the size they use string instructions, which start slowly. */
static void attn__clear(void *p, size_t bytes)
{
    volatile size_t size = bytes;
    memset(p, 0, size);
}

static size_t attn__magnitude(ptrdiff_t x) /* |x|, PTRDIFF_MIN included */
{
    return x < 0 ? (size_t)0 - (size_t)x : (size_t)x;
}

/* *product = a b; 0 if that is more than PTRDIFF_MAX, the most that an object may measure. */
static int attn__multiply(size_t *product, size_t a, size_t b)
{
    const size_t half = (size_t)1 << sizeof(size_t) * 4;
    if ((a >= half || b >= half) && b != 0 && a > (size_t)PTRDIFF_MAX / b) /* small factors need no division */
        return 0;
    *product = a * b;
    return *product <= (size_t)PTRDIFF_MAX;
}

/* ==== 2. views and dtypes ========================================================================================

   Both kinds of view become an attn__view, so that validation is written once. */

typedef struct attn__view {
    const char *data;
    attn_dtype dtype;
    int role;
    size_t n[4];          /* dimensions, outermost first; a matrix has n[0] = n[1] = 1 */
    ptrdiff_t s[4];       /* their strides, in elements */
    uintptr_t first, end; /* once measured: the addresses it covers; */
    int nested;           /* each stride steps over all that the dimensions after it reach */
} attn__view;

enum attn__role {
    ATTN__IN = 0,
    ATTN__OUT = 1,
    ATTN__OPTIONAL = 2,  /* may be absent */
    ATTN__ANY_FLOAT = 4, /* F64 too, whatever the compute type */
    ATTN__ANY_TYPE = 8,  /* any float type or BOOL */
    ATTN__BOOL = 16,     /* BOOL alone */
    ATTN__IN_PLACE = 32, /* an output that may be the very same view as an input */
    ATTN__CACHED = 64,   /* I8 too, which computes in float */
    ATTN__ABSENT = 128   /* set by attn__view_of: not given */
};

static int attn__mat_absent(attn_mat m)
{
    return !m.data && m.dtype == ATTN_F32 && !m.rows && !m.cols && !m.row_stride && !m.col_stride;
}

ATTN__INLINE int attn__tensor_absent(attn_tensor t)
{
    return !t.data && ((size_t)t.dtype | t.batch | t.heads | t.len | t.dim | (size_t)t.batch_stride |
                       (size_t)t.head_stride | (size_t)t.len_stride | (size_t)t.dim_stride) == 0;
}

static attn__view attn__view_of(attn_mat m, int role)
{
    attn__view v;
    v.data = (const char *)m.data;
    v.dtype = m.dtype;
    v.role = attn__mat_absent(m) ? role | ATTN__ABSENT : role;
    v.n[0] = v.n[1] = 1;
    v.n[2] = m.rows;
    v.n[3] = m.cols;
    v.s[0] = v.s[1] = 0;
    v.s[2] = m.row_stride;
    v.s[3] = m.col_stride;
    v.first = v.end = 0;
    v.nested = 0;
    return v;
}

ATTN__INLINE attn__view attn__view_of_tensor(attn_tensor t, int role)
{
    attn__view v;
    v.data = (const char *)t.data;
    v.dtype = t.dtype;
    v.role = attn__tensor_absent(t) ? role | ATTN__ABSENT : role;
    v.n[0] = t.batch;
    v.n[1] = t.heads;
    v.n[2] = t.len;
    v.n[3] = t.dim;
    v.s[0] = t.batch_stride;
    v.s[1] = t.head_stride;
    v.s[2] = t.len_stride;
    v.s[3] = t.dim_stride;
    v.first = v.end = 0;
    v.nested = 0;
    return v;
}

static size_t attn__size(attn_dtype dtype) /* bytes of an element; 1 for an unknown dtype */
{
    switch (dtype) {
    case ATTN_F32: return 4;
    case ATTN_F64: return 8;
    case ATTN_F16:
    case ATTN_BF16: return 2;
    default: return 1;
    }
}

static size_t attn__alignment(attn_dtype dtype)
{
    struct f64 {
        char c;
        double x;
    };
    return dtype == ATTN_F64 ? offsetof(struct f64, x) : attn__size(dtype);
}

static attn_dtype attn__like(size_t size) /* for numbers that are no elements: the type that has their size */
{
    return size == 8 ? ATTN_F64 : size == 4 ? ATTN_F32 : ATTN_BOOL;
}

static int attn__is_aligned(const void *array, size_t size)
{
    return ((uintptr_t)array & (attn__alignment(attn__like(size)) - 1)) == 0;
}

/* An array of numbers that are no elements. NULL: absent. */
static attn__view attn__view_of_array(const void *data, size_t count, size_t size, int role)
{
    attn_mat m = ATTN__ZERO;
    if (data) {
        m.data = (void *)(uintptr_t)data;
        m.dtype = attn__like(size);
        m.rows = 1;
        m.cols = count;
        m.col_stride = 1;
    }
    return attn__view_of(m, role | ATTN__ANY_TYPE);
}

static int attn__is_float(attn_dtype dtype)
{
    return dtype == ATTN_F32 || dtype == ATTN_F64 || dtype == ATTN_F16 || dtype == ATTN_BF16;
}

static int attn__is_empty(const attn__view *v)
{
    return v->n[0] == 0 || v->n[1] == 0 || v->n[2] == 0 || v->n[3] == 0;
}

/* Finds the addresses that a view covers; 0 if they, a dimension or the bytes between them overflow. */
ATTN__INLINE int attn__measure(attn__view *v)
{
    const size_t most = (size_t)PTRDIFF_MAX, few = (size_t)1 << (sizeof(size_t) * 4 - 2); /* 4 few few: no overflow */
    size_t reach = 0, below = 0, size = attn__size(v->dtype), step, stride;
    uintptr_t data = (uintptr_t)v->data;
    int d;
    v->nested = 1;
    ATTN__UNROLL
    for (d = 3; d >= 0; d--) {
        if (v->n[d] < 2)
            continue;
        stride = attn__magnitude(v->s[d]);
        step = (v->n[d] - 1) * stride;
        if ((v->n[d] | stride) >= few &&
            (!attn__multiply(&step, v->n[d] - 1, stride) || v->n[d] > most || reach > most - step))
            return 0;
        v->nested &= stride > reach;
        reach += step;
        if (v->s[d] < 0)
            below += step;
    }
    if (!attn__multiply(&reach, reach + 1, size))
        return 0;
    below *= size;
    v->first = data - below;
    v->end = v->first + reach;
    return !data || (below <= data && reach - below <= UINTPTR_MAX - data);
}

static attn_mat attn__bad_mat(void)
{
    attn_mat m = ATTN__ZERO;
    m.rows = m.cols = SIZE_MAX;
    return m;
}

static attn_tensor attn__bad_tensor(void)
{
    attn_tensor t = ATTN__ZERO;
    t.batch = t.heads = t.len = t.dim = SIZE_MAX;
    return t;
}

static int attn__mat_bad(attn_mat m)
{
    return !m.data && m.rows == SIZE_MAX && m.cols == SIZE_MAX;
}

static int attn__tensor_bad(attn_tensor t)
{
    return !t.data && t.batch == SIZE_MAX && t.heads == SIZE_MAX && t.len == SIZE_MAX && t.dim == SIZE_MAX;
}

static attn_mat attn__checked_mat(attn_mat m) /* m, or a bad view if it overflows */
{
    attn__view v = attn__view_of(m, ATTN__IN);
    return attn__measure(&v) ? m : attn__bad_mat();
}

static attn_tensor attn__checked_tensor(attn_tensor t)
{
    attn__view v = attn__view_of_tensor(t, ATTN__IN);
    return attn__measure(&v) ? t : attn__bad_tensor();
}

/* data + elements, const dropped; NULL, which an array without elements may be, stays NULL. */
static void *attn__at(const void *data, attn_dtype dtype, ptrdiff_t elements)
{
    return data ? (char *)(uintptr_t)data + elements * (ptrdiff_t)attn__size(dtype) : NULL;
}

static void *attn__mat_at(attn_mat m, size_t r, size_t c)
{
    return attn__at(m.data, m.dtype, (ptrdiff_t)r * m.row_stride + (ptrdiff_t)c * m.col_stride);
}

ATTN_API attn_mat attn_mat_of(const void *data, attn_dtype dtype, size_t rows, size_t cols)
{
    attn_mat m;
    m.data = (void *)(uintptr_t)data;
    m.dtype = dtype;
    m.rows = rows;
    m.cols = cols;
    m.row_stride = (ptrdiff_t)cols;
    m.col_stride = 1;
    return attn__checked_mat(m);
}

ATTN_API attn_mat attn_mat_new(attn_dtype dtype, size_t rows, size_t cols)
{
    attn_mat m = attn_mat_of(NULL, dtype, rows, cols);
    size_t bytes = rows * cols * attn__size(dtype);
    if (attn__mat_bad(m) || (!attn__is_float(dtype) && dtype != ATTN_BOOL))
        return attn__bad_mat();
    if (bytes == 0)
        return m;
    m.data = attn__allocate(bytes);
    if (!m.data)
        return attn__bad_mat();
    memset(m.data, 0, bytes);
    return m;
}

ATTN_API void attn_mat_free(attn_mat *m)
{
    if (!m)
        return;
    attn__release(m->data);
    memset(m, 0, sizeof *m);
}

ATTN_API attn_mat attn_mat_t(attn_mat m)
{
    attn_mat t = m;
    t.rows = m.cols;
    t.cols = m.rows;
    t.row_stride = m.col_stride;
    t.col_stride = m.row_stride;
    return t;
}

ATTN_API attn_mat attn_mat_rows(attn_mat m, size_t first, size_t count)
{
    m = attn__checked_mat(m);
    if (attn__mat_bad(m) || first > m.rows || count > m.rows - first)
        return attn__bad_mat();
    if (m.data && count > 0 && m.cols > 0)
        m.data = attn__mat_at(m, first, 0);
    m.rows = count;
    return m;
}

ATTN_API attn_mat attn_mat_cols(attn_mat m, size_t first, size_t count)
{
    return attn_mat_t(attn_mat_rows(attn_mat_t(m), first, count));
}

ATTN_API attn_tensor attn_tensor_of(const void *data, attn_dtype dtype, size_t B, size_t H, size_t L, size_t D,
                                    ptrdiff_t batch_stride, ptrdiff_t head_stride, ptrdiff_t len_stride,
                                    ptrdiff_t dim_stride)
{
    attn_tensor t;
    t.data = (void *)(uintptr_t)data;
    t.dtype = dtype;
    t.batch = B;
    t.heads = H;
    t.len = L;
    t.dim = D;
    t.batch_stride = batch_stride;
    t.head_stride = head_stride;
    t.len_stride = len_stride;
    t.dim_stride = dim_stride;
    return attn__checked_tensor(t);
}

ATTN_API attn_tensor attn_bhld(const void *data, attn_dtype dtype, size_t B, size_t H, size_t L, size_t D)
{
    size_t head, item;
    if (!attn__multiply(&head, L, D) || !attn__multiply(&item, head, H))
        return attn__bad_tensor();
    return attn_tensor_of(data, dtype, B, H, L, D, (ptrdiff_t)item, (ptrdiff_t)head, (ptrdiff_t)D, 1);
}

static attn_tensor attn__packed(attn_dtype dtype, size_t B, size_t L, size_t H,
                                size_t D) /* [B][L][H][D], data NULL, not checked */
{
    attn_tensor t;
    t.data = NULL;
    t.dtype = dtype;
    t.batch = B;
    t.heads = H;
    t.len = L;
    t.dim = D;
    t.batch_stride = (ptrdiff_t)(L * H * D);
    t.head_stride = (ptrdiff_t)D;
    t.len_stride = (ptrdiff_t)(H * D);
    t.dim_stride = 1;
    return t;
}

ATTN_API attn_tensor attn_blhd(const void *data, attn_dtype dtype, size_t B, size_t L, size_t H, size_t D)
{
    attn_tensor t = attn__packed(dtype, B, L, H, D);
    size_t row, item;
    t.data = (void *)(uintptr_t)data;
    if (!attn__multiply(&row, H, D) || !attn__multiply(&item, row, L))
        return attn__bad_tensor();
    return attn__checked_tensor(t);
}

ATTN_API attn_tensor attn_tensor_slice(attn_tensor t, size_t first, size_t count)
{
    t = attn__checked_tensor(t);
    if (attn__tensor_bad(t) || first > t.len || count > t.len - first)
        return attn__bad_tensor();
    if (t.data && count > 0 && t.batch > 0 && t.heads > 0 && t.dim > 0)
        t.data = attn__at(t.data, t.dtype, (ptrdiff_t)first * t.len_stride);
    t.len = count;
    return t;
}

ATTN_API attn_tensor attn_heads(attn_mat m, size_t heads)
{
    size_t D;
    ptrdiff_t head_stride;
    attn_tensor absent = ATTN__ZERO;
    if (attn__mat_absent(m))
        return absent;
    m = attn__checked_mat(m);
    if (attn__mat_bad(m) || heads == 0 || m.cols % heads != 0)
        return attn__bad_tensor();
    D = m.cols / heads;
    head_stride = heads > 1 ? (ptrdiff_t)D * m.col_stride : 0;
    return attn_tensor_of(m.data, m.dtype, 1, heads, m.rows, D, 0, head_stride, m.row_stride, m.col_stride);
}

ATTN_API attn_mat attn_head(attn_tensor t, size_t b, size_t h)
{
    attn_mat m;
    t = attn__checked_tensor(t);
    if (attn__tensor_bad(t) || b >= t.batch || h >= t.heads)
        return attn__bad_mat();
    m.data = t.data;
    if (t.data && t.len > 0 && t.dim > 0)
        m.data = attn__at(t.data, t.dtype, (ptrdiff_t)b * t.batch_stride + (ptrdiff_t)h * t.head_stride);
    m.dtype = t.dtype;
    m.rows = t.len;
    m.cols = t.dim;
    m.row_stride = t.len_stride;
    m.col_stride = t.dim_stride;
    return m;
}

/* -- statuses and checks -- */

ATTN_API int attn_version(void)
{
    return ATTN_VERSION;
}

ATTN_API const char *attn_status_string(attn_status status)
{
    switch (status) {
    case ATTN_OK: return "ok";
    case ATTN_ERR_NULL: return "a required argument is missing, or a view that could not be made";
    case ATTN_ERR_SHAPE: return "dimensions do not fit together";
    case ATTN_ERR_DTYPE: return "element types do not fit together";
    case ATTN_ERR_VALUE: return "a number out of range, misaligned data, or an instruction set this CPU lacks";
    case ATTN_ERR_ALIAS: return "an output overlaps another argument or itself";
    case ATTN_ERR_OVERFLOW: return "dimensions, strides or bytes overflow";
    case ATTN_ERR_NOMEM: return "out of memory";
    }
    return "unknown status";
}

/* The one of two statuses that stands first in the documented order of checks. */
static attn_status attn__first(attn_status a, attn_status b)
{
    static const attn_status attn__order[] = {ATTN_ERR_NULL,  ATTN_ERR_DTYPE, ATTN_ERR_SHAPE, ATTN_ERR_OVERFLOW,
                                              ATTN_ERR_VALUE, ATTN_ERR_ALIAS, ATTN_ERR_NOMEM};
    size_t i;
    for (i = 0; i < sizeof attn__order / sizeof *attn__order; i++)
        if (a == attn__order[i] || b == attn__order[i])
            return attn__order[i];
    return ATTN_OK;
}

static attn_status attn__require(attn_status status, int condition, attn_status otherwise)
{
    return condition ? status : attn__first(status, otherwise);
}

/* Is there no fault up to OVERFLOW, so that arrays may be read, if they are aligned? */
static int attn__is_sound(attn_status status)
{
    return status == ATTN_OK || status == ATTN_ERR_VALUE || status == ATTN_ERR_ALIAS || status == ATTN_ERR_NOMEM;
}

/* Special values are made and tested by their bits: -ffast-math would fold a comparison. */
static uint64_t attn__bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

static int attn__is_finite(double x)
{
    return (attn__bits(x) >> 52 & 0x7ff) != 0x7ff;
}

static double attn__from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

static double attn__nan(void)
{
    return attn__from_bits((uint64_t)0x7ff8 << 48);
}

static double attn__minus_infinity(void)
{
    return attn__from_bits((uint64_t)0xfff << 52);
}

static double attn__or(double x, double otherwise) /* x, unless it is 0 */
{
    return attn__bits(x) << 1 != 0 ? x : otherwise;
}

/* Is x a number that stays finite in the compute type? */
static int attn__is_factor(double x, attn_dtype first_input)
{
    return attn__is_finite(x) && (first_input == ATTN_F64 || (x <= FLT_MAX && x >= -FLT_MAX));
}

/* Do the elements of an output all have addresses of their own? Sorted by size, each stride must step over everything
   that the smaller ones reach. Mostly they are sorted. */
static int attn__is_distinct(const attn__view *v)
{
    size_t stride[4], reach[4], below = 0;
    int count = 0, d, i;
    if (v->nested)
        return 1;
    for (d = 3; d >= 0; d--) {
        if (v->n[d] < 2)
            continue;
        for (i = count++; i > 0 && stride[i - 1] > attn__magnitude(v->s[d]); i--) {
            stride[i] = stride[i - 1];
            reach[i] = reach[i - 1];
        }
        stride[i] = attn__magnitude(v->s[d]);
        reach[i] = (v->n[d] - 1) * stride[i];
    }
    for (i = 0; i < count; i++) {
        if (stride[i] <= below)
            return 0;
        below += reach[i];
    }
    return 1;
}

static int attn__is_same(const attn__view *a, const attn__view *b)
{
    int d;
    if (a->data != b->data || a->dtype != b->dtype)
        return 0;
    for (d = 0; d < 4; d++)
        if (a->n[d] != b->n[d] || (a->n[d] > 1 && a->s[d] != b->s[d]))
            return 0;
    return 1;
}

/* Is there a step c, -back[k] <= c[k] <= forth[k], with sum of c[k] stride[k] = offset? Strides come largest first. Two
   blocks of 4 columns in rows of 16, 8 apart: strides 16 and 1, offset 8; no multiple of 16 comes within 3 of it: no.
   Few multiples of a stride come near once the smaller ones cannot reach far; where many do, the answer is yes. */
static int attn__lattice_meets(int count, const ptrdiff_t *stride, const size_t *back, const size_t *forth,
                               ptrdiff_t offset)
{
    size_t reach = 0, step, tries;
    ptrdiff_t quotient, rest, c;
    int k;
    if (count == 0)
        return offset == 0;
    for (k = 1; k < count; k++)
        reach += attn__max(back[k], forth[k]) * attn__magnitude(stride[k]);
    ATTN_ASSERT(stride[0] != 0);
    step = attn__magnitude(stride[0]);
    quotient = offset / stride[0];
    rest = offset % stride[0];
    if (reach > (size_t)PTRDIFF_MAX / 16 || step > (size_t)PTRDIFF_MAX / 16)
        return 1;
    tries = (reach + attn__magnitude(rest)) / step;
    if (tries > 8)
        return 1;
    for (c = -(ptrdiff_t)tries; c <= (ptrdiff_t)tries; c++) {
        ptrdiff_t total = quotient + c;
        if (attn__magnitude(total) > (total < 0 ? back[0] : forth[0]))
            continue;
        if (attn__lattice_meets(count - 1, stride + 1, back + 1, forth + 1, rest - c * stride[0]))
            return 1;
    }
    return 0;
}

/* May `out` and `other`, whose ranges of bytes meet, share an element? Legal are views with equal strides (in any
   order: one may be transposed) whose elements fall on different points of that lattice. */
ATTN__NOINLINE int attn__shares(const attn__view *out, const attn__view *other)
{
    size_t back[8], forth[8], size = attn__size(out->dtype);
    uintptr_t a = (uintptr_t)out->data, b = (uintptr_t)other->data, gap = a < b ? b - a : a - b;
    ptrdiff_t stride[8];
    int count = 0, out_only = 0, other_only = 0, differ = 0, d, i, k;
    if (attn__is_empty(out) || attn__is_empty(other))
        return 0;
    if (size != attn__size(other->dtype) || gap % size != 0 || gap > (size_t)PTRDIFF_MAX)
        return 1;
    for (d = 0; d < 4; d++) { /* the lattice: the strides of out ... */
        differ |= out->n[d] > 1 && other->n[d] > 1 && out->s[d] != other->s[d];
        if (out->n[d] < 2)
            continue;
        stride[count] = out->s[d];
        forth[count] = out->n[d] - 1;
        back[count++] = 0;
    }
    out_only = count;
    for (d = 0; d < 4; d++) { /* ... and those of other */
        if (other->n[d] < 2 || other->s[d] == 0)
            continue;
        for (i = 0; i < count && (stride[i] != other->s[d] || back[i] > 0); i++)
            continue;
        if (i < count) {
            out_only--;
        } else {
            other_only++;
            stride[count] = other->s[d];
            forth[count++] = 0;
        }
        back[i] = other->n[d] - 1;
    }
    if (differ && out_only > 0 && other_only > 0)
        return 1;
    for (i = 1; i < count; i++) /* largest first */
        for (k = i; k > 0 && attn__magnitude(stride[k - 1]) < attn__magnitude(stride[k]); k--) {
            ptrdiff_t s = stride[k];
            size_t f = forth[k], r = back[k];
            stride[k] = stride[k - 1];
            forth[k] = forth[k - 1];
            back[k] = back[k - 1];
            stride[k - 1] = s;
            forth[k - 1] = f;
            back[k - 1] = r;
        }
    return attn__lattice_meets(count, stride, back, forth, a < b ? (ptrdiff_t)(gap / size) : -(ptrdiff_t)(gap / size));
}

static int attn__meets(const attn__view *a, const attn__view *b) /* both measured: do their ranges of bytes? */
{
    return a->first < b->end && b->first < a->end;
}

static int attn__is_dtype(const attn__view *v, int wide) /* may it go there, where the compute type is F64 or not? */
{
    if (v->role & ATTN__BOOL || v->dtype == ATTN_BOOL)
        return v->dtype == ATTN_BOOL && v->role & (ATTN__BOOL | ATTN__ANY_TYPE);
    if (v->dtype == ATTN_I8)
        return v->role & ATTN__CACHED && (v->role & ATTN__ANY_FLOAT || !wide);
    return attn__is_float(v->dtype) && ((v->dtype == ATTN_F64) == wide || v->role & (ATTN__ANY_TYPE | ATTN__ANY_FLOAT));
}

/* The first fault of one view; measures it. */
static attn_status attn__find_own_fault(attn__view *v, int wide)
{
    if (v->role & ATTN__ABSENT ? !(v->role & ATTN__OPTIONAL) : !v->data && !attn__is_empty(v))
        return ATTN_ERR_NULL;
    if (!attn__is_dtype(v, wide) && !(v->role & ATTN__ABSENT))
        return ATTN_ERR_DTYPE;
    if (!attn__measure(v))
        return ATTN_ERR_OVERFLOW;
    return ((uintptr_t)v->data & (attn__alignment(v->dtype) - 1)) != 0 ? ATTN_ERR_VALUE : ATTN_OK;
}

/* Every check that needs no more than the views themselves, in the documented order. The compute type is F64 if the
   first input is F64. culprit: the view that is at fault, and for ALIAS the one that it overlaps. */
static attn_status attn__find_fault(attn__view *v, size_t count, size_t culprit[2])
{
    attn_status status = ATTN_OK, own;
    size_t i, j;
    int wide;
    for (i = 0; i + 1 < count && (v[i].role & ATTN__OUT); i++)
        continue;
    wide = v[i].dtype == ATTN_F64;
    culprit[0] = culprit[1] = 0;
    for (i = 0; i < count; i++) {
        own = attn__find_own_fault(&v[i], wide);
        if (own != ATTN_OK && own != status && attn__first(own, status) == own) {
            status = own;
            culprit[0] = i;
        }
    }
    for (i = 0; i < count && status == ATTN_OK; i++) {
        if (!(v[i].role & ATTN__OUT) || attn__is_empty(&v[i]))
            continue;
        culprit[0] = culprit[1] = i;
        if (!attn__is_distinct(&v[i]))
            return ATTN_ERR_ALIAS;
        for (j = 0; j < count; j++) {
            if (!attn__meets(&v[i], &v[j]) || j == i || ((v[j].role & ATTN__OUT) && j < i))
                continue;
            if ((v[i].role & ATTN__IN_PLACE) && attn__is_same(&v[i], &v[j]))
                continue;
            culprit[1] = j;
            if (attn__shares(&v[i], &v[j]))
                return ATTN_ERR_ALIAS;
        }
    }
    return status;
}

static attn_status attn__check_views(attn__view *v, size_t count)
{
    size_t culprit[2];
    return attn__find_fault(v, count, culprit);
}

/* -- elements -- */

/* Rounds a double to a 16-bit float of `mantissa` bits: once, to nearest even, with subnormals, infinities and the top
   bits of a NaN's payload. Integers only, so that no compiler flag changes it. */
static uint16_t attn__narrow(double x, int mantissa)
{
    int exponent_bits = 15 - mantissa, bias = (1 << (exponent_bits - 1)) - 1, shift = 52 - mantissa, exponent;
    unsigned infinity = ((1u << exponent_bits) - 1) << mantissa;
    uint64_t bits, sign, value;
    memcpy(&bits, &x, 8);
    sign = bits >> 63 << 15;
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
    return (uint16_t)(sign | value >> shift); /* a carry out of the mantissa is the next exponent, or infinity */
}

static float attn__widen_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 1023, bits;
    float x;
    if (exponent == 0) { /* zero and subnormals: a count of 2^-24 */
        x = (float)mantissa * (1.0f / 16777216.0f);
        memcpy(&bits, &x, 4);
    } else if (exponent < 31) {
        bits = (exponent + 127 - 15) << 23 | mantissa << 13;
    } else { /* a NaN is made quiet, as hardware does */
        bits = (uint32_t)0xff << 23 | mantissa << 13 | (mantissa ? (uint32_t)1 << 22 : 0);
    }
    bits |= sign;
    memcpy(&x, &bits, 4);
    return x;
}

static float attn__widen_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

ATTN__INLINE double attn__load(const void *p, attn_dtype dtype) /* one element of any type */
{
    uint16_t half;
    float single;
    double x;
    switch (dtype) {
    case ATTN_F32: memcpy(&single, p, 4); return (double)single;
    case ATTN_F64: memcpy(&x, p, 8); return x;
    case ATTN_F16:
    case ATTN_BF16:
        memcpy(&half, p, 2);
        return (double)(dtype == ATTN_F16 ? attn__widen_f16(half) : attn__widen_bf16(half));
    case ATTN_BOOL: return (double)((*(const unsigned char *)p + 255) >> 8); /* 0 or 1, without a branch */
    case ATTN_I8: return (double)*(const signed char *)p;
    default: return attn__nan();
    }
}

ATTN__INLINE void attn__store(void *p, attn_dtype dtype, double x) /* inline: kernels may not call SSE code */
{
    uint16_t half;
    float single;
    switch (dtype) {
    case ATTN_F32:
        single = (float)x;
        memcpy(p, &single, 4);
        break;
    case ATTN_F64: memcpy(p, &x, 8); break;
    case ATTN_F16:
    case ATTN_BF16:
        half = attn__narrow(x, dtype == ATTN_F16 ? 10 : 7);
        memcpy(p, &half, 2);
        break;
    case ATTN_BOOL: *(unsigned char *)p = attn__bits(x) << 1 != 0; break;
    default: break;
    }
}

ATTN_API double attn_mat_get(attn_mat m, size_t r, size_t c)
{
    m = attn__checked_mat(m);
    if (!m.data || m.dtype == ATTN_I8 || r >= m.rows || c >= m.cols)
        return attn__nan();
    return attn__load(attn__mat_at(m, r, c), m.dtype);
}

ATTN_API void attn_mat_set(attn_mat m, size_t r, size_t c, double value)
{
    m = attn__checked_mat(m);
    if (m.data && r < m.rows && c < m.cols)
        attn__store(attn__mat_at(m, r, c), m.dtype, value);
}

static void attn__copy(attn_mat out, attn_mat in)
{
    size_t r, c;
    for (r = 0; r < out.rows && out.cols > 0; r++)
        for (c = 0; c < out.cols; c++) {
            void *to = attn__mat_at(out, r, c);
            const void *from = attn__mat_at(in, r, c);
            if (out.dtype == in.dtype && out.dtype != ATTN_BOOL)
                memmove(to, from, attn__size(out.dtype));
            else
                attn__store(to, out.dtype, attn__load(from, in.dtype));
        }
}

ATTN_API attn_status attn_mat_copy(attn_mat out, attn_mat in)
{
    attn__view v[2];
    attn_status status;
    v[0] = attn__view_of(out, ATTN__OUT | ATTN__IN_PLACE | ATTN__ANY_TYPE);
    v[1] = attn__view_of(in, ATTN__IN | ATTN__ANY_TYPE);
    status = attn__check_views(v, 2);
    status = attn__require(status, out.rows == in.rows && out.cols == in.cols, ATTN_ERR_SHAPE);
    if (status == ATTN_OK)
        attn__copy(out, in);
    return status;
}

/* ==== 3. scalar math ============================================================================================= */

#define ATTN__LOG2E 1.4426950408889634 /* and */
#define ATTN__LOG2E_REST 2.0355273740931033e-17

static double attn__lowest(attn_dtype real) /* the lowest finite number */
{
    return real == ATTN_F64 ? -DBL_MAX : -(double)FLT_MAX;
}

/* Calls that -ffast-math must leave alone: it would narrow exp, reorder a division that keeps a range, or prove that
   nothing is ever lost from a sum. */
ATTN__NOINLINE double attn__exp(double x)
{
    return ATTN_EXP(x);
}

ATTN__NOINLINE double attn__log(double x)
{
    return ATTN_LOG(x);
}

ATTN__NOINLINE double attn__tanh(double x)
{
    return ATTN_TANH(x);
}

ATTN__NOINLINE double attn__sin(double x)
{
    return ATTN_SIN(x);
}

ATTN__NOINLINE double attn__cos(double x)
{
    return ATTN_COS(x);
}

ATTN__NOINLINE double attn__pow(double x, double y)
{
    return ATTN_POW(x, y);
}

ATTN__NOINLINE double attn__divide(double x, double y)
{
    return x / y;
}

ATTN__NOINLINE double attn__subtract(double x, double y)
{
    return x - y;
}

/* *sum += part, compensated: what is lost to rounding is taken from the next part.             Kahan 1965, CACM 8(1) */
static void attn__add(double *sum, double *lost, double part)
{
    double exact = part - *lost, total = *sum + exact;
    *lost = attn__subtract(attn__subtract(total, *sum), exact);
    *sum = total;
}

/* ==== 4. instruction sets, kernel table, threads =================================================================

   Every pass of section 9 fills one table. A kernel works on a block, in the real type of its pass: packed rows of
   `float` or `double`, `ld` elements apart. load and store stand between that layout and the user's views. */

/* What has been seen of the keys so far, by a block of queries.   Milakov 2018, arXiv 1805.02867 */
typedef struct attn__state {
    void *out;          /* sum of exp(score - max) value: dims x lanes; or, across, queries x dims in whole vectors */
    void *max, *sum;    /* of each query: the largest score; the sum of exp(score - max) */
    unsigned char *nan; /* of each query: a score was NaN or +infinity */
} attn__state;

/* A tile: the scores of a block of queries against a block of keys, all in reals. Its vectors lie along the queries,
   keys x lanes; or, where these are few, `across`: along the keys, queries x ld. Each number comes out the same. */
typedef struct attn__tile {
    int across;
    size_t queries, lanes;        /* queries of the block; and in whole vectors */
    size_t keys, ld;              /* keys of the tile; from query to query across, from key to key otherwise */
    void *scores;                 /* softmax leaves exp(score - max) */
    const void *bias, *mask;      /* as scores, or NULL */
    const void *first, *end;      /* of each query: it sees keys first .. end - 1 of the tile; or NULL: all */
    size_t all_first, all_end;    /* every query sees keys all_first .. all_end - 1, as far as first and end go */
    const void *position, *slope; /* of each query: position less the tile's first key, -slope of ALiBi; or NULL */
    void *factor;                 /* of each query: softmax leaves exp(old max - new max) */

    /* reals, as data that no compiler folds: the lowest finite number, -infinity, what softmax leaves for it, 0 */
    unsigned char least[8];
    unsigned char hidden[8];
    unsigned char none[8];
    unsigned char zero[8];
} attn__tile;

/* Rows of keys or values where they lie. */
typedef struct attn__rows {
    const void *data;
    attn_dtype dtype;
    ptrdiff_t step;      /* elements from row to row; those of a row are next to each other */
    const float *scales; /* of each row, for integers; or NULL */

    /* rows that will be wanted next, of the next tile, to be fetched meanwhile: how many, of so many bytes */
    const char *next;
    ptrdiff_t next_step; /* in bytes */
    size_t more, bytes;
} attn__rows;

enum attn__seen { ATTN__SHOWN = 1, ATTN__HIDDEN = 2 }; /* there is such a key */

enum attn__product_mode { ATTN__ADD_TO, ATTN__SET_TO, ATTN__SHRINK };

typedef struct attn__kernels {
    attn_isa isa;
    attn_dtype real;
    size_t size;       /* of a real */
    size_t lanes;      /* reals in a vector */
    size_t rows, cols; /* the register tile of matmul; the last tile of a row may be some vectors narrower */

    /* x[r][c] = in[r * rs + c * cs], for rows x cols elements of any type that computes in `real` */
    void (*load)(void *x, size_t ld, const void *in, attn_dtype dtype, ptrdiff_t rs, ptrdiff_t cs, size_t rows,
                 size_t cols);

    /* out[r * rs + c * cs] = alpha x[r][c], rounded to dtype; out may be x */
    void (*store)(void *out, attn_dtype dtype, ptrdiff_t rs, ptrdiff_t cs, const void *x, size_t ld, size_t rows,
                  size_t cols, double alpha);

    /* c += a b, `cols` a multiple of lanes: c in packed tiles, row of tiles by row of tiles; a[r * rs + k * ks] where
       it lies; b in panels of depth x tile cols */
    void (*matmul)(void *c, const void *a, ptrdiff_t rs, ptrdiff_t ks, size_t rows, const void *b, size_t cols,
                   size_t depth);

    /* c[r][i] += a[r] w[i]: each of `rows` packed rows, of `depth` reals, by each of `count` rows of any type */
    void (*products)(void *c, size_t ldc, const void *a, size_t lda, size_t rows, const attn__rows *w, size_t count,
                     size_t depth);

    /* the larger of `max` and n elements; *special is set if one of them is NaN or +infinity */
    double (*softmax_max)(const void *x, size_t n, double max, int *special);

    /* e[i] = exp(x[i] - max); the sum of e. e may be x */
    double (*softmax_exp)(void *e, const void *x, size_t n, double max);

    /* is one of rows x cols elements NaN or infinite? */
    int (*special)(const void *x, ptrdiff_t ld, size_t rows, size_t cols);

    /* ATTN__SHOWN if one of rows x n bytes is not 0, ATTN__HIDDEN if one is; rows are `step` apart */
    int (*seen)(const unsigned char *mask, ptrdiff_t step, size_t rows, size_t n);

    /* the scores of a tile: K queries. Rows of K are reals, queries depth x lanes */
    void (*scores)(const attn__tile *tile, const attn__rows *k, const void *queries, size_t depth);

    /* the same across, from rows of any type; queries are queries x depth */
    void (*row_scores)(const attn__tile *tile, const attn__rows *k, const void *queries, size_t depth);

    /* nothing seen yet, by `lanes` queries; out has `reals` reals. Both are multiples of the vector */
    void (*begin)(const attn__state *state, size_t reals, size_t lanes);

    /* inverse[i] = 1 / sum[i], or 0 where that is 0 */
    void (*finish)(const attn__state *state, void *inverse, size_t lanes);

    /* x[r][c] *= factor[c] or, across, factor[r]; cols a multiple of lanes */
    void (*scale)(void *x, size_t rows, size_t cols, const void *factor, int across);

    /* s = cap tanh(scale s / cap), for the scores of a tile */
    void (*softcap)(const attn__tile *tile, double scale, double cap);

    /* multiplies the scores of a tile by scale, and adds bias and ALiBi; a bias of -infinity hides its key */
    void (*bias)(const attn__tile *tile, double scale);

    /* puts -infinity where a key is hidden: by first and end, by mask, or by a bias of -infinity */
    void (*hide)(const attn__tile *tile);

    /* one step of the online softmax: takes the tile's scores, times what is left of their scale, into state->max (but
       for that scale), sum and nan, and leaves the factor by which state->out must shrink. 1 if a score was NaN or
       infinite */
    int (*softmax)(const attn__tile *tile, const attn__state *state, double scale);

    /* state->out = factor state->out + V^T scores: dims x lanes. Rows of V are reals */
    void (*values)(const attn__tile *tile, const attn__state *state, const attn__rows *v, size_t dims);

    /* the same across, from rows of any type; and state->sum, which softmax leaves to it */
    void (*row_values)(const attn__tile *tile, const attn__state *state, const attn__rows *v, size_t dims);

    /* a becomes a and b together; dims of out */
    void (*fold)(const attn__tile *tile, const attn__state *a, const attn__state *b, size_t dims, double scale);
} attn__kernels;

#if defined(ATTN__X86)

static void attn__cpuid(uint32_t leaf, uint32_t r[4]) /* eax, ebx, ecx, edx */
{
#if defined(_MSC_VER)
    int regs[4];
    __cpuidex(regs, (int)leaf, 0);
    memcpy(r, regs, 16);
#else
    __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(0));
#endif
}

static uint32_t attn__xgetbv(void) /* which registers the operating system saves */
{
#if defined(_MSC_VER)
    return (uint32_t)_xgetbv(0);
#else
    uint32_t low, high;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0)); /* xgetbv, for old assemblers too */
    (void)high;
    return low;
#endif
}

static unsigned attn__detect(void)
{
    const uint32_t basics = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29; /* leaf 1 ecx: FMA, OSXSAVE, AVX, F16C */
    unsigned isas = 1u << ATTN_ISA_SCALAR;
    uint32_t r[4], saved;
    attn__cpuid(0, r);
    if (r[0] < 7)
        return isas;
    attn__cpuid(1, r);
    if ((r[2] & basics) != basics)
        return isas;
    saved = attn__xgetbv();
    attn__cpuid(7, r); /* ebx: bit 5 AVX2; 16, 17, 30, 31 AVX-512 F, DQ, BW, VL */
    if ((saved & 0x06) != 0x06 || !(r[1] & 1u << 5))
        return isas;
    isas |= 1u << ATTN_ISA_AVX2;
#ifndef ATTN_NO_AVX512
    if ((saved & 0xe6) == 0xe6 && (r[1] & 0xc0030000u) == 0xc0030000u)
        isas |= 1u << ATTN_ISA_AVX512;
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

static unsigned attn__isas(void)
{
#if defined(ATTN__ARM)
    return 1u << ATTN_ISA_SCALAR | 1u << ATTN_ISA_NEON;
#else
    return 1u << ATTN_ISA_SCALAR;
#endif
}

#endif

/* -- the passes of section 9, and the way to their tables -- */

#define ATTN__PASS_SCALAR 1
#define ATTN__PASS_AVX2 2
#define ATTN__PASS_AVX512 3
#define ATTN__PASS_NEON 4

#define ATTN__PASS ATTN__PASS_SCALAR
#define ATTN__REAL_F64 0
#include ATTN__SELF
#define ATTN__REAL_F64 1
#include ATTN__SELF
#undef ATTN__PASS

#if defined(ATTN__X86)
#define ATTN__PASS ATTN__PASS_AVX2
#define ATTN__REAL_F64 0
#include ATTN__SELF
#define ATTN__REAL_F64 1
#include ATTN__SELF
#undef ATTN__PASS
#ifndef ATTN_NO_AVX512
#define ATTN__PASS ATTN__PASS_AVX512
#define ATTN__REAL_F64 0
#include ATTN__SELF
#define ATTN__REAL_F64 1
#include ATTN__SELF
#undef ATTN__PASS
#endif
#elif defined(ATTN__ARM)
#define ATTN__PASS ATTN__PASS_NEON
#define ATTN__REAL_F64 0
#include ATTN__SELF
#define ATTN__REAL_F64 1
#include ATTN__SELF
#undef ATTN__PASS
#endif

/* The table for an instruction set and a real type (F32 or F64), or NULL where this build or this CPU has none. */
static const attn__kernels *attn__kernels_for(attn_isa isa, attn_dtype real)
{
    static const attn__kernels *const attn__tables[][2] = {
#if defined(ATTN__X86) && !defined(ATTN_NO_AVX512)
        {&attn__kernels_avx512_f32, &attn__kernels_avx512_f64},
#endif
#if defined(ATTN__X86)
        {&attn__kernels_avx2_f32, &attn__kernels_avx2_f64},
#elif defined(ATTN__ARM)
        {&attn__kernels_neon_f32, &attn__kernels_neon_f64},
#endif
        {&attn__kernels_scalar_f32, &attn__kernels_scalar_f64}
    };
    size_t i;
    for (i = 0; i < sizeof attn__tables / sizeof *attn__tables; i++) { /* best first */
        attn_isa has = attn__tables[i][0]->isa;
        if ((isa == ATTN_ISA_BEST || isa == has) && (attn__isas() >> has & 1))
            return attn__tables[i][real == ATTN_F64];
    }
    return NULL;
}

ATTN_API const char *attn_isa_string(attn_isa isa)
{
    switch (isa) {
    case ATTN_ISA_BEST: return "best";
    case ATTN_ISA_SCALAR: return "scalar";
    case ATTN_ISA_AVX2: return "avx2";
    case ATTN_ISA_AVX512: return "avx512";
    case ATTN_ISA_NEON: return "neon";
    case ATTN_ISA_WASM128: return "wasm128";
    }
    return "unknown";
}

ATTN_API int attn_isa_available(attn_isa isa)
{
    return attn__kernels_for(isa, ATTN_F32) != NULL;
}

/* -- the ctx: checks, scratch, tasks -- */

#define ATTN__TASKS 256   /* most tasks of a run, however wide the caller is */
#define ATTN__STACK 16384 /* bytes of scratch that every task has on its stack */
#define ATTN__ALIGN 64

static attn_status attn__check_ctx(const attn_ctx *ctx)
{
    attn_status status = ATTN_OK;
    if (!ctx)
        return status;
    status = attn__require(status, ctx->scratch || ctx->scratch_size == 0, ATTN_ERR_NULL);
    return attn__require(status, attn_isa_available(ctx->isa), ATTN_ERR_VALUE);
}

static attn__view attn__view_of_scratch(const attn_ctx *ctx) /* as an output: it must overlap nothing */
{
    size_t size = ctx ? ctx->scratch_size : 0;
    return attn__view_of_array(size > 0 ? ctx->scratch : NULL, size, 1, ATTN__OUT | ATTN__OPTIONAL);
}

static const attn__kernels *attn__ctx_kernels(const attn_ctx *ctx, attn_dtype real)
{
    return attn__kernels_for(ctx ? ctx->isa : ATTN_ISA_BEST, real);
}

static size_t attn__ctx_tasks(const attn_ctx *ctx, size_t items)
{
    size_t width = ctx && ctx->parallel.run ? attn__max(ctx->parallel.width, 1) : 1;
    return attn__min(attn__min(width, ATTN__TASKS), items);
}

static void attn__run(const attn_ctx *ctx, size_t tasks, void (*task)(void *arg, size_t index), void *arg)
{
    if (tasks > 1)
        ctx->parallel.run(ctx->parallel.user, tasks, task, arg);
    else if (tasks == 1)
        task(arg, 0);
}

static char *attn__align(void *p) /* up to ATTN__ALIGN */
{
    return (char *)p + (ATTN__ALIGN - (uintptr_t)p % ATTN__ALIGN) % ATTN__ALIGN;
}

/* -- a pool of threads -- */

#ifdef ATTN_THREADS

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
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
#define ATTN__THREAD_JOIN(t) ((void)WaitForSingleObject(t, INFINITE), (void)CloseHandle(t))
#define ATTN__YIELD() ((void)SwitchToThread())
#define ATTN__THREAD_MAIN(name) static DWORD WINAPI name(LPVOID arg)
#else
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
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

#define ATTN__LOOKS 1000 /* at what is waited for, before a thread sleeps: some microseconds */

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
   long beside a small run, so that whoever waits looks for a while whether something has happened; that is a hint and
   no more: what has happened is for those to see who hold the lock. */
typedef struct attn__pool {
    attn__mutex lock;
    attn__condition wake, done; /* there is a run, or an end; its last task has returned */
    void (*task)(void *arg, size_t index);
    void *arg;
    size_t next, count;  /* the next task to take, of how many */
    size_t running;      /* tasks taken and not done */
    size_t threads;      /* started */
    size_t begun, ended; /* hints: they change with wake and done */
    int busy, stop;
    attn__thread thread[1]; /* as many as there are */
} attn__pool;

/* Waits until *hint changes, not for long; called and left with the lock held. */
static void attn__pool_look(attn__pool *pool, const size_t *hint)
{
#ifdef ATTN__LOOK_AT
    size_t before = ATTN__LOOK_AT(hint), looks;
    ATTN__MUTEX_UNLOCK(&pool->lock);
    for (looks = 0; looks < ATTN__LOOKS && ATTN__LOOK_AT(hint) == before; looks++)
        if (looks % 32 == 31)
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
#ifdef ATTN__COUNT_UP
    ATTN__COUNT_UP(hint);
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
        attn__pool_look(pool, &pool->begun);
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
    mine = !pool->busy;
    if (mine) {
        pool->busy = 1;
        pool->task = task;
        pool->arg = arg;
        pool->next = 0;
        pool->count = count;
        attn__pool_wake(&pool->wake, &pool->begun);
        attn__pool_work(pool);
        if (pool->running > 0)
            attn__pool_look(pool, &pool->ended);
        while (pool->running > 0)
            ATTN__CONDITION_WAIT(&pool->done, &pool->lock);
        pool->next = pool->count = 0;
        pool->busy = 0;
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
    while (pool->threads > 0)
        ATTN__THREAD_JOIN(pool->thread[--pool->threads]);
    ATTN__CONDITION_FREE(&pool->done);
    ATTN__CONDITION_FREE(&pool->wake);
    ATTN__MUTEX_FREE(&pool->lock);
}

static int attn__pool_sync(attn__pool *pool) /* makes lock and conditions, all or none */
{
    if (!ATTN__MUTEX_NEW(&pool->lock))
        return 0;
    if (ATTN__CONDITION_NEW(&pool->wake)) {
        if (ATTN__CONDITION_NEW(&pool->done))
            return 1;
        ATTN__CONDITION_FREE(&pool->wake);
    }
    ATTN__MUTEX_FREE(&pool->lock);
    return 0;
}

static int attn__pool_begin(attn__pool *pool, size_t threads) /* starts threads besides the caller's, all or none */
{
    memset(pool, 0, sizeof *pool);
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
    if (!attn__multiply(&bytes, threads, sizeof(attn__thread)) || bytes > (size_t)PTRDIFF_MAX - sizeof *own)
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
    memset(pool, 0, sizeof *pool);
    ATTN__ERRNO_KEEP(saved);
}

#endif /* ATTN_THREADS */

/* ==== 5. steps =================================================================================================== */

static attn_dtype attn__real(attn_dtype first_input) /* the compute type */
{
    return first_input == ATTN_F64 ? ATTN_F64 : ATTN_F32;
}

/* -- matrix product --

   out = alpha a b is cut into blocks of out; each is one work item. For every stretch of `depth` terms of the sum, the
   block's part of b is packed into panels as wide as the register tile and multiplied with rows of a, which are read
   where they lie (or packed too, if they are 16-bit). The sums stay in a block of reals until they are complete; then
   they are scaled, rounded and stored. Each element is one chain of sums over k whatever the blocks are, so its bits
   depend on neither blocks nor threads nor memory.                        Goto and van de Geijn 2008, ACM TOMS 34(3)

   Few rows against a matrix whose columns are contiguous, x w^T, as a decoder's step has them, would be done before b
   is packed. There an item is some columns of b with all rows of a, and the kernel reads b once, where it lies and in
   the order of memory; a task takes items that follow one another. Each element is the same chain. */

#define ATTN__FEW_PAD 16 /* reals between rows of a, which are not to meet in one set of a cache */

typedef struct attn__matmul_job {
    attn_mat out, a, b;
    int few;                 /* rows of a: these are packed, and b is not */
    attn_mat last_a, last_b; /* one more term of the sums, a column and a row; or absent */
    double alpha;
    const attn__kernels *kern;
    size_t rows, cols, depth; /* of a block */
    size_t tasks;
    char *scratch; /* `slice` bytes for each task, or NULL: each uses its stack */
    size_t slice;
} attn__matmul_job;

/* What a block needs: sums (rows x cols), panels of b (depth x cols), one tile of rows of a (tile rows x depth). Or of
   few rows: sums, and the rows of a. */
static size_t attn__matmul_bytes(const attn__matmul_job *job)
{
    if (job->few)
        return job->rows * (job->cols + job->depth + ATTN__FEW_PAD) * job->kern->size + ATTN__ALIGN;
    return (job->rows * job->cols + job->depth * job->cols + job->kern->rows * job->depth) * job->kern->size +
           ATTN__ALIGN;
}

/* Blocks of few rows: 4 KiB of sums, of up to 64 columns; as deep as up to 512 KiB of a allow. */
static void attn__matmul_few_blocks(attn__matmul_job *job, size_t slice)
{
    size_t lanes = job->kern->lanes, col = job->out.rows * job->kern->size; /* bytes of a column */
    size_t room = (attn__min(slice, (size_t)512 << 10) - ATTN__ALIGN) / col;
    job->rows = job->out.rows;
    job->cols = attn__min(4096 / col, 64) / lanes * lanes;
    job->depth = attn__min(job->a.cols, (room - job->cols - ATTN__FEW_PAD) / 16 * 16); /* the kernel's whole pieces */
}

/* Blocks for `slice` bytes: 256 rows x 4 tiles x 256 terms, which a second-level cache holds, halved until they fit. */
static void attn__matmul_blocks(attn__matmul_job *job, size_t slice)
{
    size_t tile_rows = job->kern->rows, tile_cols = job->kern->cols;
    size_t row_tiles = attn__min(attn__blocks(job->out.rows, tile_rows), 256 / tile_rows);
    size_t thin = 256 / (row_tiles * tile_rows); /* few rows: blocks wider and shallower by this factor, so that b is
                                                    read along its rows */
    size_t col_tiles = attn__min(attn__blocks(job->out.cols, tile_cols), 4 * thin);
    job->depth = attn__min(attn__max(job->a.cols, 1), 256 / thin);
    ATTN_ASSERT(slice >= ATTN__STACK); /* which holds one tile of every pass */
    if (job->few) {
        attn__matmul_few_blocks(job, slice);
        return;
    }
    for (;;) {
        job->rows = row_tiles * tile_rows;
        job->cols = col_tiles * tile_cols;
        if (attn__matmul_bytes(job) <= slice)
            return;
        if (row_tiles > 1)
            row_tiles = attn__blocks(row_tiles, 2);
        else if (col_tiles > 1)
            col_tiles = attn__blocks(col_tiles, 2);
        else
            job->depth = attn__blocks(job->depth, 2);
    }
}

/* Packs b[k .. k + depth][c0 .. c0 + cols] into panels, the last one filled up with zeros to whole vectors. */
static void attn__matmul_pack(const attn__kernels *kern, char *panels, attn_mat b, size_t k, size_t depth, size_t c0,
                              size_t cols)
{
    size_t c, width, padded;
    for (c = 0; c < cols; c += width) {
        char *panel = panels + c * depth * kern->size;
        width = attn__min(kern->cols, cols - c);
        padded = attn__blocks(width, kern->lanes) * kern->lanes;
        if (padded > width)
            memset(panel, 0, padded * depth * kern->size);
        kern->load(panel, padded, attn__mat_at(b, k, c0 + c), b.dtype, b.row_stride, b.col_stride, depth, width);
    }
}

/* sums += a[r0 ..][k .. k + depth] b[k .. k + depth][c0 ..], for a block. */
static void attn__matmul_terms(const attn__kernels *kern, char *sums, attn_mat a, attn_mat b, size_t k, size_t depth,
                               size_t r0, size_t rows, size_t c0, size_t cols)
{
    size_t padded = attn__blocks(cols, kern->lanes) * kern->lanes, r, height;
    size_t band = kern->rows * padded * kern->size; /* bytes of a row of tiles */
    char *panels = sums + attn__blocks(rows, kern->rows) * band, *a_rows = panels + padded * depth * kern->size;
    attn__matmul_pack(kern, panels, b, k, depth, c0, cols);
    if (a.dtype == kern->real) {
        kern->matmul(sums, attn__mat_at(a, r0, k), a.row_stride, a.col_stride, rows, panels, padded, depth);
        return;
    }
    for (r = 0; r < rows; r += kern->rows) {
        height = attn__min(kern->rows, rows - r);
        kern->load(a_rows, depth, attn__mat_at(a, r0 + r, k), a.dtype, a.row_stride, a.col_stride, height, depth);
        kern->matmul(sums + r / kern->rows * band, a_rows, (ptrdiff_t)depth, 1, height, panels, padded, depth);
    }
}

static void attn__matmul_block(const attn__matmul_job *job, size_t r0, size_t c0, char *scratch)
{
    const attn__kernels *kern = job->kern;
    attn_mat out = job->out;
    size_t rows = attn__min(job->rows, out.rows - r0), cols = attn__min(job->cols, out.cols - c0);
    size_t padded = attn__blocks(cols, kern->lanes) * kern->lanes, band = kern->rows * padded * kern->size;
    size_t k, c, r;
    char *sums = attn__align(scratch);
    memset(sums, 0, attn__blocks(rows, kern->rows) * band);
    for (k = 0; k < job->a.cols; k += job->depth)
        attn__matmul_terms(kern, sums, job->a, job->b, k, attn__min(job->depth, job->a.cols - k), r0, rows, c0, cols);
    if (job->last_a.data)
        attn__matmul_terms(kern, sums, job->last_a, job->last_b, 0, 1, r0, rows, c0, cols);
    for (r = 0; r < rows; r += kern->rows)
        for (c = 0; c < cols; c += kern->cols)
            kern->store(attn__mat_at(out, r0 + r, c0 + c), out.dtype, out.row_stride, out.col_stride,
                        sums + r / kern->rows * band + kern->rows * c * kern->size, attn__min(kern->cols, padded - c),
                        attn__min(kern->rows, rows - r), attn__min(kern->cols, cols - c), job->alpha);
}

static void attn__matmul_task(void *arg, size_t index)
{
    const attn__matmul_job *job = (const attn__matmul_job *)arg;
    char stack[ATTN__STACK], *scratch = job->scratch ? job->scratch + index * job->slice : stack;
    size_t across = attn__blocks(job->out.cols, job->cols), item;
    size_t items = attn__blocks(job->out.rows, job->rows) * across;
    for (item = index; item < items; item += job->tasks)
        attn__matmul_block(job, item / across * job->rows, item % across * job->cols, scratch);
}

/* sums += a[..][k .. k + depth] b[k .. k + depth][c0 .. c0 + cols], of few rows of reals. */
static void attn__matmul_few_terms(const attn__matmul_job *job, char *sums, const void *a, size_t ld, attn_mat b,
                                   size_t k, size_t depth, size_t c0, size_t cols, size_t end)
{
    attn__rows w;
    memset(&w, 0, sizeof w);
    w.data = attn__mat_at(b, k, c0);
    w.dtype = b.dtype;
    w.step = b.col_stride;
    w.more = k + depth < b.rows ? cols : end - c0 - cols;
    w.next = (const char *)(k + depth < b.rows ? attn__mat_at(b, k + depth, c0) : attn__mat_at(b, 0, c0 + cols));
    job->kern->products(sums, job->cols, a, ld, job->rows, &w, cols, depth);
}

/* Whether not packing b pays: that depends on how often a is read instead. Packing 16-bit numbers takes longer. */
static int attn__matmul_is_few(const attn__matmul_job *job)
{
    size_t lanes = job->kern->lanes, rows = job->a.cols < 256 ? 8 : 24;
    if (job->b.row_stride != 1 || job->out.cols < lanes || job->a.cols < lanes)
        return 0;
    return job->out.rows <= (job->b.dtype == job->kern->real ? rows : 2 * rows);
}

/* Columns c0 .. end - 1 of out. */
static void attn__matmul_few_cols(const attn__matmul_job *job, size_t c0, size_t end, char *scratch)
{
    const attn__kernels *kern = job->kern;
    attn_mat a = job->a, out = job->out;
    size_t size = job->rows * job->cols * kern->size, ld = job->depth + ATTN__FEW_PAD, loaded = SIZE_MAX;
    size_t k, depth, cols;
    char *sums = attn__align(scratch), *reals = sums + size;
    for (; c0 < end; c0 += cols) {
        cols = attn__min(job->cols, end - c0);
        memset(sums, 0, size);
        for (k = 0; k < a.cols; k += depth) {
            depth = attn__min(job->depth, a.cols - k);
            if (loaded != k)
                kern->load(reals, ld, attn__mat_at(a, 0, k), a.dtype, a.row_stride, a.col_stride, job->rows, depth);
            loaded = k;
            attn__matmul_few_terms(job, sums, reals, ld, job->b, k, depth, c0, cols, end);
        }
        if (job->last_a.data)
            attn__matmul_few_terms(job, sums, job->last_a.data, 0, job->last_b, 0, 1, c0, cols, end);
        kern->store(attn__mat_at(out, 0, c0), out.dtype, out.row_stride, out.col_stride, sums, job->cols, job->rows,
                    cols, job->alpha);
    }
}

static void attn__matmul_few_task(void *arg, size_t index)
{
    const attn__matmul_job *job = (const attn__matmul_job *)arg;
    char stack[ATTN__STACK], *scratch = job->scratch ? job->scratch + index * job->slice : stack;
    size_t items = attn__blocks(job->out.cols, job->cols);
    size_t share = items / job->tasks, rest = items % job->tasks; /* the first `rest` tasks take one more */
    size_t first = index * share + attn__min(index, rest), end = first + share + (index < rest);
    attn__matmul_few_cols(job, first * job->cols, attn__min(end * job->cols, job->out.cols), scratch);
}

static attn_mat attn__ones(attn_dtype real, size_t rows, size_t cols)
{
    static const double attn__one64 = 1;
    static const float attn__one32 = 1;
    attn_mat m = attn_mat_of(real == ATTN_F64 ? (const void *)&attn__one64 : &attn__one32, real, rows, cols);
    m.row_stride = m.col_stride = 0;
    return m;
}

/* The job of out = alpha (a b + bias in every row), bias NULL = none; for as much scratch as is of use. */
static attn__matmul_job attn__plan_matmul(attn_mat out, attn_mat a, attn_mat b, const float *bias, double alpha,
                                          const attn_ctx *ctx)
{
    attn__matmul_job job;
    memset(&job, 0, sizeof job);
    job.kern = attn__ctx_kernels(ctx, attn__real(a.dtype));
    ATTN_ASSERT(job.kern);
    job.out = out;
    job.a = a;
    job.b = b;
    if (bias) { /* [a 1] [b; bias] */
        job.last_a = attn__ones(attn__real(a.dtype), out.rows, 1);
        job.last_b = attn_mat_of(bias, ATTN_F32, 1, out.cols);
    }
    job.few = job.kern->products && attn__matmul_is_few(&job);
    job.alpha = alpha;
    attn__matmul_blocks(&job, SIZE_MAX);
    job.tasks = attn__ctx_tasks(ctx, attn__blocks(job.out.rows, job.rows) * attn__blocks(job.out.cols, job.cols));
    job.slice = attn__matmul_bytes(&job);
    return job;
}

/* out = alpha (a b + bias), everything checked. */
static void attn__matmul_bias(attn_mat out, attn_mat a, attn_mat b, const float *bias, double alpha,
                              const attn_ctx *ctx)
{
    attn__matmul_job job;
    void *own = NULL;
    size_t bytes;
    if (out.rows == 0 || out.cols == 0)
        return;
    job = attn__plan_matmul(out, a, b, bias, alpha, ctx);
    if (ctx && ctx->scratch) {
        job.scratch = (char *)ctx->scratch;
        job.slice = ctx->scratch_size / job.tasks;
    } else if (job.slice > ATTN__STACK && attn__multiply(&bytes, job.slice, job.tasks)) {
        job.scratch = (char *)(own = attn__allocate(bytes));
    }
    if (job.slice < ATTN__STACK || !job.scratch) {
        job.scratch = NULL;
        job.slice = ATTN__STACK;
    }
    attn__matmul_blocks(&job, job.slice);
    attn__run(ctx, job.tasks, job.few ? attn__matmul_few_task : attn__matmul_task, &job);
    attn__release(own);
}

static void attn__matmul(attn_mat out, attn_mat a, attn_mat b, double alpha, const attn_ctx *ctx)
{
    attn__matmul_bias(out, a, b, NULL, alpha, ctx);
}

static attn_status attn__check_matmul(attn_mat out, attn_mat a, attn_mat b, double alpha, const attn_ctx *ctx)
{
    attn__view v[4];
    attn_status status;
    v[0] = attn__view_of(out, ATTN__OUT);
    v[1] = attn__view_of(a, ATTN__IN);
    v[2] = attn__view_of(b, ATTN__IN);
    v[3] = attn__view_of_scratch(ctx);
    status = attn__first(attn__check_views(v, 4), attn__check_ctx(ctx));
    status = attn__require(status, out.rows == a.rows && out.cols == b.cols && a.cols == b.rows, ATTN_ERR_SHAPE);
    return attn__require(status, attn__is_factor(alpha, a.dtype), ATTN_ERR_VALUE);
}

ATTN_API attn_status attn_matmul_ctx(attn_mat out, attn_mat a, attn_mat b, double alpha, const attn_ctx *ctx)
{
    attn_status status = attn__check_matmul(out, a, b, alpha, ctx);
    if (status == ATTN_OK)
        attn__matmul(out, a, b, alpha, ctx);
    return status;
}

ATTN_API attn_status attn_matmul(attn_mat out, attn_mat a, attn_mat b)
{
    return attn_matmul_ctx(out, a, b, 1.0, NULL);
}

ATTN_API attn_status attn_weighted_sum(attn_mat out, attn_mat weights, attn_mat v)
{
    return attn_matmul_ctx(out, weights, v, 1.0, NULL);
}

/* -- scores -- */

static double attn__scale(double scale, size_t D) /* the one place that knows what scale 0 means */
{
    return D == 0 ? scale : attn__or(scale, 1.0 / ATTN_SQRT((double)D));
}

ATTN_API attn_status attn_scores(attn_mat out, attn_mat q, attn_mat k, double scale)
{
    double alpha = attn__scale(scale, q.cols);
    attn_status status = attn__check_matmul(out, q, attn_mat_t(k), alpha, NULL);
    status = attn__require(status, q.cols > 0, ATTN_ERR_SHAPE);
    if (status == ATTN_OK)
        attn__matmul(out, q, attn_mat_t(k), alpha, NULL);
    return status;
}

static int attn__is_possible(attn_dtype first_input, size_t rows, size_t cols) /* a temporary of the compute type */
{
    return !attn__mat_bad(attn_mat_of(NULL, attn__real(first_input), rows, cols));
}

ATTN_API attn_status attn_scores_general(attn_mat out, attn_mat q, attn_mat k, attn_mat w)
{
    attn__view v[4];
    attn_mat qw;
    attn_status status;
    v[0] = attn__view_of(out, ATTN__OUT);
    v[1] = attn__view_of(q, ATTN__IN);
    v[2] = attn__view_of(k, ATTN__IN);
    v[3] = attn__view_of(w, ATTN__IN);
    status = attn__check_views(v, 4);
    status = attn__require(status, out.rows == q.rows && out.cols == k.rows, ATTN_ERR_SHAPE);
    status = attn__require(status, w.rows == q.cols && w.cols == k.cols, ATTN_ERR_SHAPE);
    status = attn__require(status, attn__is_possible(q.dtype, q.rows, k.cols), ATTN_ERR_OVERFLOW);
    if (status != ATTN_OK)
        return status;
    qw = attn_mat_new(attn__real(q.dtype), q.rows, k.cols);
    if (attn__mat_bad(qw))
        return ATTN_ERR_NOMEM;
    attn__matmul(qw, q, w, 1.0, NULL);
    attn__matmul(out, qw, attn_mat_t(k), 1.0, NULL);
    attn_mat_free(&qw);
    return ATTN_OK;
}

/* out[i][j] = v . tanh(a_i + b_j) */
static void attn__additive(attn_mat out, attn_mat a, attn_mat b, attn_mat v)
{
    size_t i, j, d;
    int saved = ATTN__ERRNO;
    for (i = 0; i < out.rows && out.cols > 0; i++)
        for (j = 0; j < out.cols; j++) {
            double sum = 0;
            for (d = 0; d < v.rows; d++)
                sum +=
                    attn__load(attn__mat_at(v, d, 0), v.dtype) *
                    ATTN_TANH(attn__load(attn__mat_at(a, i, d), a.dtype) + attn__load(attn__mat_at(b, j, d), b.dtype));
            attn__store(attn__mat_at(out, i, j), out.dtype, sum);
        }
    ATTN__ERRNO_KEEP(saved);
}

ATTN_API attn_status attn_scores_additive(attn_mat out, attn_mat q, attn_mat k, attn_mat wq, attn_mat wk, attn_mat v)
{
    attn__view views[6];
    attn_mat a, b; /* q wq and k wk */
    attn_status status;
    views[0] = attn__view_of(out, ATTN__OUT);
    views[1] = attn__view_of(q, ATTN__IN);
    views[2] = attn__view_of(k, ATTN__IN);
    views[3] = attn__view_of(wq, ATTN__IN);
    views[4] = attn__view_of(wk, ATTN__IN);
    views[5] = attn__view_of(v, ATTN__IN);
    status = attn__check_views(views, 6);
    status = attn__require(status, out.rows == q.rows && out.cols == k.rows, ATTN_ERR_SHAPE);
    status = attn__require(status, wq.rows == q.cols && wk.rows == k.cols, ATTN_ERR_SHAPE);
    status = attn__require(status, wq.cols == v.rows && wk.cols == v.rows && v.cols == 1, ATTN_ERR_SHAPE);
    status = attn__require(status, attn__is_possible(q.dtype, q.rows, v.rows), ATTN_ERR_OVERFLOW);
    status = attn__require(status, attn__is_possible(q.dtype, k.rows, v.rows), ATTN_ERR_OVERFLOW);
    if (status != ATTN_OK)
        return status;
    a = attn_mat_new(attn__real(q.dtype), q.rows, v.rows);
    b = attn_mat_new(attn__real(q.dtype), k.rows, v.rows);
    if (attn__mat_bad(a) || attn__mat_bad(b)) {
        status = ATTN_ERR_NOMEM;
    } else {
        attn__matmul(a, q, wq, 1.0, NULL);
        attn__matmul(b, k, wk, 1.0, NULL);
        attn__additive(out, a, b, v);
    }
    attn_mat_free(&a);
    attn_mat_free(&b);
    return status;
}

/* Each row of unit = that of m divided by its length; zeros stay zeros. The row is divided by its largest magnitude
   first, so that no square overflows or vanishes. */
static void attn__normalize(attn_mat unit, attn_mat m)
{
    size_t i, d;
    for (i = 0; i < m.rows && m.cols > 0; i++) {
        double largest, sum = 0, x;
        uint64_t top = 0, bits; /* magnitudes compared as integers: NaN is above all others */
        for (d = 0; d < m.cols; d++) {
            x = attn__load(attn__mat_at(m, i, d), m.dtype);
            memcpy(&bits, &x, 8);
            bits &= UINT64_MAX >> 1;
            top = bits > top ? bits : top;
        }
        if (top == 0)
            continue; /* unit is new: zeros */
        memcpy(&largest, &top, 8);
        for (d = 0; d < m.cols; d++) {
            x = attn__divide(attn__load(attn__mat_at(m, i, d), m.dtype), largest);
            sum += x * x;
        }
        for (d = 0; d < m.cols; d++) {
            x = attn__divide(attn__load(attn__mat_at(m, i, d), m.dtype), largest);
            attn__store(attn__mat_at(unit, i, d), unit.dtype, x / ATTN_SQRT(sum));
        }
    }
}

ATTN_API attn_status attn_scores_cosine(attn_mat out, attn_mat q, attn_mat k, double beta)
{
    attn__view v[3];
    attn_mat a, b; /* q and k, their rows of length 1 */
    attn_status status;
    v[0] = attn__view_of(out, ATTN__OUT);
    v[1] = attn__view_of(q, ATTN__IN);
    v[2] = attn__view_of(k, ATTN__IN);
    status = attn__check_views(v, 3);
    status = attn__require(status, out.rows == q.rows && out.cols == k.rows && q.cols == k.cols, ATTN_ERR_SHAPE);
    status = attn__require(status, attn__is_possible(q.dtype, q.rows, q.cols), ATTN_ERR_OVERFLOW);
    status = attn__require(status, attn__is_possible(q.dtype, k.rows, k.cols), ATTN_ERR_OVERFLOW);
    status = attn__require(status, attn__is_factor(beta, q.dtype), ATTN_ERR_VALUE);
    if (status != ATTN_OK)
        return status;
    a = attn_mat_new(attn__real(q.dtype), q.rows, q.cols);
    b = attn_mat_new(attn__real(q.dtype), k.rows, k.cols);
    if (attn__mat_bad(a) || attn__mat_bad(b)) {
        status = ATTN_ERR_NOMEM;
    } else {
        attn__normalize(a, q);
        attn__normalize(b, k);
        attn__matmul(out, a, attn_mat_t(b), beta, NULL);
    }
    attn_mat_free(&a);
    attn_mat_free(&b);
    return status;
}

/* -- softmax --

   Three passes over a row: its maximum m; e_j = exp(x_j - m) and their sum; e_j / sum. Subtracting m changes nothing in
   exact arithmetic and keeps exp from overflowing. A row goes through in pieces of ATTN__PIECE elements; where in or
   out is not a packed row of reals, a piece passes through a buffer on the stack. */

#define ATTN__PIECE 1024

typedef struct attn__softmax_job {
    attn_mat out, in;
    const attn__kernels *kern;
    size_t rows; /* of a work item */
    size_t tasks;
} attn__softmax_job;

/* A piece of a row as packed reals: where it lies if it can, else in the buffer. */
static const void *attn__softmax_piece(const attn__kernels *kern, attn_mat m, size_t r, size_t first, size_t n,
                                       void *buffer)
{
    const void *x = attn__mat_at(m, r, first);
    if (m.dtype == kern->real && m.col_stride == 1)
        return x;
    kern->load(buffer, n, x, m.dtype, 0, m.col_stride, 1, n);
    return buffer;
}

static void attn__softmax_row(const attn__kernels *kern, attn_mat out, attn_mat in, size_t r, void *buffer)
{
    int direct = out.dtype == kern->real && out.col_stride == 1, special = 0;
    double max = attn__lowest(kern->real), sum = 0, lost = 0;
    size_t i, n;
    void *e = buffer;
    for (i = 0; i < in.cols; i += n) {
        n = attn__min(ATTN__PIECE, in.cols - i);
        max = kern->softmax_max(attn__softmax_piece(kern, in, r, i, n, buffer), n, max, &special);
    }
    if (special) {
        for (i = 0; i < out.cols; i++)
            attn__store(attn__mat_at(out, r, i), out.dtype, attn__nan());
        return;
    }
    for (i = 0; i < in.cols; i += n) {
        n = attn__min(ATTN__PIECE, in.cols - i);
        e = direct ? attn__mat_at(out, r, i) : buffer;
        attn__add(&sum, &lost, kern->softmax_exp(e, attn__softmax_piece(kern, in, r, i, n, buffer), n, max));
    }
    for (i = 0; i < in.cols; i += n) {
        n = attn__min(ATTN__PIECE, in.cols - i);
        e = direct ? attn__mat_at(out, r, i) : buffer;
        if (!direct && in.cols > ATTN__PIECE) /* the buffer has held another piece since */
            kern->softmax_exp(e, attn__softmax_piece(kern, in, r, i, n, buffer), n, max);
        kern->store(attn__mat_at(out, r, i), out.dtype, 0, out.col_stride, e, n, 1, n, sum > 0 ? 1 / sum : 0);
    }
}

static void attn__softmax_task(void *arg, size_t index)
{
    const attn__softmax_job *job = (const attn__softmax_job *)arg;
    double buffer[ATTN__PIECE]; /* of either real type */
    size_t items = attn__blocks(job->out.rows, job->rows), item, r;
    for (item = index; item < items; item += job->tasks)
        for (r = item * job->rows; r < attn__min((item + 1) * job->rows, job->out.rows); r++)
            attn__softmax_row(job->kern, job->out, job->in, r, buffer);
}

static void attn__softmax(attn_mat out, attn_mat in, const attn_ctx *ctx)
{
    attn__softmax_job job;
    if (out.rows == 0 || out.cols == 0)
        return;
    job.out = out;
    job.in = in;
    job.kern = attn__ctx_kernels(ctx, attn__real(in.dtype));
    ATTN_ASSERT(job.kern);
    job.rows = attn__max(1, 16384 / out.cols);
    job.tasks = attn__ctx_tasks(ctx, attn__blocks(out.rows, job.rows));
    attn__run(ctx, job.tasks, attn__softmax_task, &job);
}

ATTN_API attn_status attn_softmax_ctx(attn_mat out, attn_mat in, const attn_ctx *ctx)
{
    attn__view v[3];
    attn_status status;
    v[0] = attn__view_of(out, ATTN__OUT | ATTN__IN_PLACE);
    v[1] = attn__view_of(in, ATTN__IN);
    v[2] = attn__view_of_scratch(ctx);
    status = attn__first(attn__check_views(v, 3), attn__check_ctx(ctx));
    status = attn__require(status, out.rows == in.rows && out.cols == in.cols, ATTN_ERR_SHAPE);
    if (status == ATTN_OK)
        attn__softmax(out, in, ctx);
    return status;
}

ATTN_API attn_status attn_softmax(attn_mat out, attn_mat in)
{
    return attn_softmax_ctx(out, in, NULL);
}

/* -- values and heads -- */

ATTN_API attn_status attn_weighted_values(attn_mat out, attn_mat weights, attn_mat v)
{
    attn__view views[3];
    attn_status status;
    size_t j, d;
    views[0] = attn__view_of(out, ATTN__OUT);
    views[1] = attn__view_of(weights, ATTN__IN);
    views[2] = attn__view_of(v, ATTN__IN);
    status = attn__check_views(views, 3);
    status = attn__require(status, weights.rows == 1 && weights.cols == v.rows, ATTN_ERR_SHAPE);
    status = attn__require(status, out.rows == v.rows && out.cols == v.cols, ATTN_ERR_SHAPE);
    for (j = 0; j < v.rows && v.cols > 0 && status == ATTN_OK; j++)
        for (d = 0; d < v.cols; d++)
            attn__store(attn__mat_at(out, j, d), out.dtype,
                        attn__load(attn__mat_at(weights, 0, j), weights.dtype) *
                            attn__load(attn__mat_at(v, j, d), v.dtype));
    return status;
}

ATTN_API attn_status attn_concat_heads(attn_mat out, const attn_mat *heads, size_t count)
{
    attn__view v[2];
    attn_status status;
    size_t h, cols = 0;
    v[0] = attn__view_of(out, ATTN__OUT);
    status = attn__require(attn__check_views(v, 1), heads || count == 0, ATTN_ERR_NULL);
    for (h = 0; heads && h < count; h++) {
        int fits = heads[h].rows == out.rows && heads[h].cols <= out.cols - cols;
        v[1] = attn__view_of(heads[h], ATTN__IN);
        status = attn__require(attn__first(status, attn__check_views(v, 2)), fits, ATTN_ERR_SHAPE);
        cols += fits ? heads[h].cols : 0;
    }
    status = attn__require(status, cols == out.cols, ATTN_ERR_SHAPE);
    for (h = 0, cols = 0; h < count && status == ATTN_OK; cols += heads[h++].cols)
        attn__copy(attn_mat_cols(out, cols, heads[h].cols), heads[h]);
    return status;
}

ATTN_API attn_status attn_split_heads(attn_mat *heads, size_t count, attn_mat in)
{
    attn__view v;
    attn_status status;
    size_t h;
    v = attn__view_of(in, ATTN__IN | ATTN__ANY_FLOAT);
    status = attn__require(attn__check_views(&v, 1), heads || count == 0, ATTN_ERR_NULL);
    status = attn__require(status, count > 0 && in.cols % count == 0, ATTN_ERR_SHAPE);
    for (h = 0; h < count && status == ATTN_OK; h++)
        heads[h] = attn_mat_cols(in, h * (in.cols / count), in.cols / count);
    return status;
}

ATTN_API attn_status attn_attention(attn_mat out, attn_mat weights, attn_mat q, attn_mat k, attn_mat v, double scale)
{
    attn__view views[5];
    attn_mat s, own = ATTN__ZERO; /* s is Lq x Lk: scores, then weights */
    attn_status status;
    int wanted = !attn__mat_absent(weights), own_needed;
    double alpha = attn__scale(scale, q.cols);
    views[0] = attn__view_of(out, ATTN__OUT);
    views[1] = attn__view_of(weights, ATTN__OUT | ATTN__OPTIONAL | ATTN__ANY_FLOAT);
    views[2] = attn__view_of(q, ATTN__IN);
    views[3] = attn__view_of(k, ATTN__IN);
    views[4] = attn__view_of(v, ATTN__IN);
    status = attn__check_views(views, 5);
    status = attn__require(status, out.rows == q.rows && out.cols == v.cols, ATTN_ERR_SHAPE);
    status = attn__require(status, q.cols > 0 && q.cols == k.cols && k.rows == v.rows, ATTN_ERR_SHAPE);
    status = attn__require(status, !wanted || (weights.rows == q.rows && weights.cols == k.rows), ATTN_ERR_SHAPE);
    own_needed = !wanted || weights.dtype != attn__real(q.dtype);
    status = attn__require(status, !own_needed || attn__is_possible(q.dtype, q.rows, k.rows), ATTN_ERR_OVERFLOW);
    status = attn__require(status, attn__is_factor(alpha, q.dtype), ATTN_ERR_VALUE);
    if (status != ATTN_OK)
        return status;
    s = weights;
    if (own_needed)
        s = own = attn_mat_new(attn__real(q.dtype), q.rows, k.rows);
    if (attn__mat_bad(s))
        return ATTN_ERR_NOMEM;
    attn__matmul(s, q, attn_mat_t(k), alpha, NULL);
    attn__softmax(s, s, NULL);
    attn__matmul(out, s, v, 1.0, NULL);
    if (wanted && own_needed)
        attn__copy(weights, s);
    attn_mat_free(&own);
    return ATTN_OK;
}

/* ==== 6. engine ==================================================================================================

   out = softmax(scale q k^T + ...) v without the score matrix. The rows of one key/value head (all queries of all query
   heads of its group, head by head) are cut into blocks of a few vectors, one row in each lane. A block is transposed
   once and then meets its keys, tile by tile:

       S   = scale K Q^T           keys x lanes    each row of K against all queries at once
       S   = softcap, bias, ...    as the options say; -infinity where a lane does not see a key
       P   = exp(S - max)          max is the largest score so far, of each lane; out and sum shrink when it grows
       sum = sum + P, out = out + V^T P

   At the end out / sum goes back to rows. K and V are read where they lie; a tile is copied if it needs another type,
   or if its rows lie far apart. A task takes a few blocks abreast, which meet each tile one after another: they share
   its copy, and its way from memory. Maxima, sums and hidden keys are compared and added lane by lane, so that no lane
   knows of its neighbours. A tile that no row of the block sees is never touched.
   Milakov 2018, arXiv 1805.02867; Dao 2022, arXiv 2205.14135

   Where a block has few rows, as in decoding, most lanes would idle: such a tile is taken across. Its vectors lie along
   the keys (S = Q K^T, rows x keys; K is transposed in registers) and along the dims of V, every element of which is
   read once, in its own type, for all rows. Each number is the same chain of the same roundings either way.

   A long row of keys is cut into splits, each with a state of its own, which are folded from left to right. Where they
   lie depends on the number of valid keys and on nothing else; whether they run one after another or side by side is a
   matter of threads, and changes no bit. */

#ifndef ATTN__ON_TILE
#define ATTN__ON_TILE() ((void)0) /* the tests count tiles */
#endif

#define ATTN__KEYS 128      /* keys of a tile */
#define ATTN__ABREAST 4     /* blocks that meet it one after another, at most */
#define ATTN__TAKINGS 4     /* for each task, at least, before blocks are taken abreast */
#define ATTN__KNOWN 512     /* tiles of a mask that are remembered, at most; */
#define ATTN__AHEAD 8       /* and that are looked at together */
#define ATTN__SPLITS 32     /* splits of a block, at most */
#define ATTN__SPLIT_TILES 4 /* tiles of a split, at least */

typedef struct attn__fault {
    attn_status status;
    const char *argument, *other; /* its name; for ALIAS, whom it overlaps; or NULL */
} attn__fault;

typedef struct attn__plan {
    attn_tensor out, q, k, v;
    attn_opts opts; /* resolved: scale is not 0, what is absent has no data, a dimension that broadcasts has stride 0 */
    attn_ctx ctx;
    int given; /* 0: there are no options, nothing of opts needs a look but the scale */

    /* of a cache (section 7) */
    int newest;                       /* queries are the newest tokens: o = keys - queries, whatever the causal rule */
    const size_t *oldest;             /* [B], the oldest key still there; NULL = 0 */
    size_t wrap;                      /* key j is row j % wrap of k and v */
    const float *k_scales, *v_scales; /* [B][Hkv][wrap], a row of integers counts in these; or NULL */

    const attn__kernels *kern;
    size_t group, rows;          /* of one key/value head: its query heads, and their queries together */
    size_t lanes, blocks;        /* rows of a block, at most; blocks of one key/value head, */
    size_t all_blocks;           /* of the batch */
    size_t abreast;              /* blocks that a task takes at a time, at most */
    size_t takings, all_takings; /* such takings of one key/value head, of the batch */
    size_t keys, splits;         /* keys of a tile; splits of a block, at most */
    size_t known;                /* tiles of which a task remembers what the mask lets a block see */
    int across;                  /* tiles are across: a block has few rows */
    double scale;                /* what dot products are multiplied by before the options, */
    double scale_left;           /* and what softmax is left to do: 1, or all of it where no option wants scores */
    int records;                 /* weights or scores are wanted */
    int alike;                   /* all rows of an item see the same keys, but for the mask; no position is wanted */
    int apart;                   /* splits run side by side: their states are kept */
    size_t tasks;

    /* Scratch is a slice for each task, then states. Where things lie in a slice; attn__work points there. */
    size_t at_scores, at_bias, at_mask, at_k, at_v, at_row;
    size_t at_lanes, at_masked, at_queries, at_reals, at_state; /* of each block abreast, */
    size_t block_size, state_size, slice, bytes;                /* which are so far apart */
    char *scratch;
} attn__plan;

typedef struct attn__lane { /* one row of a block */
    size_t first, end;      /* it sees keys first .. end - 1, if the mask lets it */
    size_t oldest, valid;   /* keys oldest .. valid - 1 exist for it */
    size_t exists;          /* i < q_lens[b]; a number, so that no padding goes into scratch */
    ptrdiff_t position;     /* i + o */
} attn__lane;

typedef struct attn__copied { /* what a task has copied of k or v */
    char *rows;               /* keys from .. to - 1, as reals */
    size_t from, to;
    size_t want_from, want_to; /* what the blocks abreast see together: a tile is copied that far */
} attn__copied;

typedef struct attn__work { /* a block of rows that a task has in hand, and the memory for it */
    const attn__plan *plan;
    size_t b, head, row, count; /* item, key/value head, first row, rows */
    size_t from, to, valid;     /* keys that any of them may see; keys that exist for any */
    size_t all_from, all_to;    /* keys that all of them see, but for the mask */
    attn__lane *lanes;
    unsigned char *masked;                /* what attn__remember_masked knows of plan->known tiles; 0 = nothing yet */
    char *queries;                        /* D x lanes; across, rows x D */
    char *bias, *mask;                    /* tiles that are copied, as scores */
    attn__copied *k, *v;                  /* keys x D, keys x Dv: for all blocks abreast */
    char *first, *end, *position, *slope; /* lanes: see attn__tile */
    char *inverse;                        /* lanes: 1 / sum */
    char *row_scores;                     /* keys: one row's, for score_mod */
    attn__state state, split;             /* of the block; of one more split */
    attn__state *into;                    /* the state that tiles go into, NULL = the split has no keys for the block */
    size_t split_from, split_to;          /* keys of the split that any row may see, in attn__attend_split */
    attn__tile tile;
} attn__work;

/* -- who sees whom -- */

static ptrdiff_t attn__plus(ptrdiff_t a, ptrdiff_t b) /* a + b, saturated */
{
    if (b > 0 && a > PTRDIFF_MAX - b)
        return PTRDIFF_MAX;
    if (b < 0 && a < PTRDIFF_MIN - b)
        return PTRDIFF_MIN;
    return a + b;
}

/* Which keys query i of item b sees, mask aside. Nothing else knows what causal, window and lengths mean. */
ATTN__INLINE attn__lane attn__visible(const attn__plan *plan, size_t b, size_t i)
{
    const attn_opts *opts = &plan->opts;
    ptrdiff_t queries = (ptrdiff_t)(opts->q_lens ? opts->q_lens[b] : plan->q.len);
    ptrdiff_t keys = (ptrdiff_t)(opts->kv_lens ? opts->kv_lens[b] : plan->k.len);
    ptrdiff_t offset = 0, first = 0, end, right;
    attn__lane lane;
    lane.exists = (ptrdiff_t)i < queries;
    end = lane.exists ? keys : 0;
    lane.valid = (size_t)end;
    lane.oldest = plan->oldest && lane.exists ? plan->oldest[b] : 0;
    if (opts->causal == ATTN_CAUSAL_LOWER_RIGHT || plan->newest)
        offset = keys - queries;
    else if (opts->causal != ATTN_CAUSAL_UPPER_LEFT && opts->causal_offset)
        offset = opts->causal_offset[b];
    lane.position = attn__plus((ptrdiff_t)i, offset);
    if (opts->causal != ATTN_CAUSAL_NONE && lane.position < end)
        end = lane.position + 1;
    if (opts->window.on && opts->window.right >= 0) {
        right = attn__plus(lane.position, opts->window.right);
        end = right < end ? right + 1 : end;
    }
    if (opts->window.on && opts->window.left >= 0)
        first = attn__plus(lane.position, -opts->window.left);
    if (first < 0)
        first = 0;
    if (first >= end)
        first = end = 0;
    lane.first = (size_t)first;
    lane.end = (size_t)end;
    return lane;
}

/* -- between tensors and blocks -- */

static void *attn__tensor_at(attn_tensor t, size_t b, size_t h, size_t i, size_t d)
{
    return attn__at(t.data, t.dtype,
                    (ptrdiff_t)b * t.batch_stride + (ptrdiff_t)h * t.head_stride + (ptrdiff_t)i * t.len_stride +
                        (ptrdiff_t)d * t.dim_stride);
}

static char *attn__real_at(const attn__plan *plan, const void *reals, size_t i)
{
    return (char *)(uintptr_t)reals + i * plan->kern->size;
}

static void attn__set(const attn__plan *plan, void *reals, size_t i, double x)
{
    float single;
    if (plan->kern->real == ATTN_F64) {
        memcpy(attn__real_at(plan, reals, i), &x, 8);
    } else {
        single = (float)x;
        memcpy(attn__real_at(plan, reals, i), &single, 4);
    }
}

static double attn__get(const attn__plan *plan, const void *reals, size_t i)
{
    float single;
    double x;
    if (plan->kern->real == ATTN_F64) {
        memcpy(&x, attn__real_at(plan, reals, i), 8);
        return x;
    }
    memcpy(&single, attn__real_at(plan, reals, i), 4);
    return (double)single;
}

/* The query head and query of a lane; returns how many lanes from there on belong to that head. */
static size_t attn__head_of(const attn__work *work, size_t lane, size_t *h, size_t *i)
{
    const attn__plan *plan = work->plan;
    size_t row = work->row + lane;
    size_t head = row < plan->q.len ? 0 : row / plan->q.len;
    *h = work->head * plan->group + head;
    *i = row - head * plan->q.len;
    return attn__min(plan->q.len - *i, work->count - lane);
}

/* x[r][lane] (across: x[lane][r], ld from lane to lane) = element first + r of the lane's query in t, for `rows`
   elements. Lanes past the last row get zeros. */
static void attn__gather(const attn__work *work, void *x, size_t ld, attn_tensor t, size_t first, size_t rows)
{
    const attn__kernels *kern = work->plan->kern;
    const attn__tile *tile = &work->tile;
    size_t lane, n, h, i;
    const void *from;
    if (!tile->across && work->count < tile->lanes)
        memset(x, 0, rows * tile->lanes * kern->size);
    for (lane = 0; lane < work->count; lane += n) {
        n = attn__head_of(work, lane, &h, &i);
        from = attn__tensor_at(t, work->b, h, i, first);
        if (tile->across)
            kern->load(attn__real_at(work->plan, x, lane * ld), ld, from, t.dtype, t.len_stride, t.dim_stride, n, rows);
        else
            kern->load(attn__real_at(work->plan, x, lane), tile->lanes, from, t.dtype, t.dim_stride, t.len_stride, rows,
                       n);
    }
}

/* The way back, times alpha. */
static void attn__scatter(const attn__work *work, attn_tensor t, size_t first, const void *x, size_t ld, size_t rows,
                          double alpha)
{
    const attn__kernels *kern = work->plan->kern;
    const attn__tile *tile = &work->tile;
    size_t lane, n, h, i;
    void *to;
    for (lane = 0; lane < work->count && rows > 0; lane += n) {
        n = attn__head_of(work, lane, &h, &i);
        to = attn__tensor_at(t, work->b, h, i, first);
        if (tile->across)
            kern->store(to, t.dtype, t.len_stride, t.dim_stride, attn__real_at(work->plan, x, lane * ld), ld, n, rows,
                        alpha);
        else
            kern->store(to, t.dtype, t.dim_stride, t.len_stride, attn__real_at(work->plan, x, lane), tile->lanes, rows,
                        n, alpha);
    }
}

/* Where a number of the tile is, or of state->out, in reals. */
static size_t attn__score_at(const attn__work *work, size_t key, size_t lane)
{
    return work->tile.across ? lane * work->tile.ld + key : key * work->tile.ld + lane;
}

static size_t attn__out_row(const attn__work *work) /* across, a row of state->out is in whole vectors */
{
    size_t lanes = work->plan->kern->lanes;
    return attn__blocks(work->plan->v.dim, lanes) * lanes;
}

static size_t attn__out_at(const attn__work *work, size_t dim, size_t lane)
{
    return work->tile.across ? lane * attn__out_row(work) + dim : dim * work->tile.lanes + lane;
}

/* x[...][lane] *= factor[lane], for `rows` rows; across ld is their length. */
static void attn__scale_lanes(const attn__work *work, void *x, size_t ld, size_t rows, const void *factor)
{
    if (work->tile.across)
        work->plan->kern->scale(x, work->count, ld, factor, 1);
    else
        work->plan->kern->scale(x, rows, work->tile.lanes, factor, 0);
}

/* -- a tile: who sees what, scores, values -- */

/* What rows i .. i + rows - 1 of head h see of n keys from number k0 on, if it were for the mask alone. */
static int attn__masked(const attn__work *work, size_t h, size_t i, size_t rows, size_t k0, size_t n)
{
    attn_tensor mask = work->plan->opts.mask;
    const unsigned char *at = (const unsigned char *)attn__tensor_at(mask, work->b, h, i, k0);
    int seen = 0;
    size_t r, j;
    if (mask.len_stride == 0)
        rows = 1;
    if (mask.dim_stride == 0)
        n = attn__min(n, 1);
    if (mask.dim_stride == 1 || n == 1)
        return work->plan->kern->seen(at, mask.len_stride, rows, n);
    for (r = 0; r < rows; r++)
        for (j = 0; j < n && seen != (ATTN__SHOWN | ATTN__HIDDEN); j++)
            seen |= at[(ptrdiff_t)r * mask.len_stride + (ptrdiff_t)j * mask.dim_stride] ? ATTN__SHOWN : ATTN__HIDDEN;
    return seen;
}

/* The same for all rows of the block. */
static int attn__block_masked(const attn__work *work, size_t k0, size_t n)
{
    size_t lane, run, h, i;
    int seen = 0;
    for (lane = 0; lane < work->count; lane += run) {
        run = attn__head_of(work, lane, &h, &i);
        seen |= attn__masked(work, h, i, run, k0, n);
    }
    return seen;
}

/* The same, remembered, for keys that all rows see but for the mask. Some tiles are looked at ahead: rows of the mask
   are long and far apart, and the next block abreast wants others. */
static int attn__remember_masked(const attn__work *work, size_t k0, size_t n)
{
    size_t keys = work->plan->keys, first = k0 / keys, tile, end;
    if (k0 % keys != 0 || n != keys || first >= work->plan->known)
        return attn__block_masked(work, k0, n);
    if (!work->masked[first]) {
        end = attn__min(first + ATTN__AHEAD, work->plan->known);
        end = attn__min(end, (work->plan->apart ? attn__min(work->all_to, work->split_to) : work->all_to) / keys);
        for (tile = first; tile < end; tile++)
            work->masked[tile] = (unsigned char)attn__block_masked(work, tile * keys, keys);
    }
    return work->masked[first];
}

/* The part of keys k0 .. k0 + n - 1 that a row sees, counted from k0. Before ATTN_STAGE_FINAL: all that exist. */
static size_t attn__part(const attn__lane *lane, size_t k0, size_t n, attn_stage stage, size_t *end)
{
    size_t first = stage == ATTN_STAGE_FINAL ? lane->first : lane->oldest;
    *end = stage == ATTN_STAGE_FINAL ? lane->end : lane->valid;
    *end = attn__min(attn__max(*end, k0), k0 + n) - k0;
    return attn__min(attn__max(first, k0) - k0, *end);
}

/* The parts of the tile that each row sees, for attn__score to hide the rest. */
static void attn__set_parts(attn__work *work, size_t k0, attn_stage stage)
{
    const attn__plan *plan = work->plan;
    attn__tile *tile = &work->tile;
    size_t lane, first, end;
    for (lane = 0; lane < tile->lanes; lane++) {
        end = first = 0;
        if (lane < work->count)
            first = attn__part(&work->lanes[lane], k0, tile->keys, stage, &end);
        attn__set(plan, work->first, lane, (double)first);
        attn__set(plan, work->end, lane, (double)end);
    }
    tile->first = work->first;
    tile->end = work->end;
    tile->all_first = attn__max(work->all_from, k0) - k0;
    tile->all_end = attn__max(work->all_to, k0) - k0;
}

/* Do the rows of the block see any of keys k0 .. k0 + n - 1? If so, makes the tile ready for attn__score. */
static int attn__look(attn__work *work, size_t k0, size_t n, attn_stage stage)
{
    attn_tensor mask = work->plan->opts.mask;
    attn__tile *tile = &work->tile;
    size_t lane, h, i, first, end;
    int by_range = 0, by_mask = 0, all = stage == ATTN_STAGE_FINAL && work->all_from <= k0 && k0 + n <= work->all_to;
    tile->keys = n;
    tile->first = tile->end = tile->mask = NULL;
    if (all && !mask.data)
        return 1;
    if (all) {
        by_range = ATTN__SHOWN;
        by_mask = attn__remember_masked(work, k0, n);
    } else
        for (lane = 0; lane < work->count; lane++) {
            first = attn__part(&work->lanes[lane], k0, n, stage, &end);
            by_range |= (first < end ? ATTN__SHOWN : 0) | (end - first < n ? ATTN__HIDDEN : 0);
            if (mask.data && stage == ATTN_STAGE_FINAL && first < end) {
                attn__head_of(work, lane, &h, &i);
                by_mask |= attn__masked(work, h, i, 1, k0 + first, end - first);
            }
        }
    if (!(by_range & ATTN__SHOWN) || by_mask == ATTN__HIDDEN)
        return 0;
    if (by_range & ATTN__HIDDEN)
        attn__set_parts(work, k0, stage);
    if (by_mask & ATTN__HIDDEN) {
        attn__gather(work, work->mask, tile->ld, mask, k0, n);
        tile->mask = work->mask;
    }
    return 1;
}

/* Rows that do not follow each other fall into few sets of the cache: blocks abreast do better with a copy. */
static int attn__is_packed(const attn_tensor *t)
{
    return t->len_stride == (ptrdiff_t)t->dim;
}

/* Are n rows of k or v to be read where they lie, from row j % wrap on? Across, any type can be. */
static int attn__is_direct(const attn__plan *plan, const attn_tensor *t, size_t j, size_t n)
{
    int likes = t->dtype == plan->kern->real && (plan->abreast == 1 || attn__is_packed(t));
    return (plan->across || likes) && t->dim_stride == 1 && n <= plan->wrap - j % plan->wrap;
}

/* Copies, as reals, the rows of k or v that the tile has and those that other blocks abreast want of it. */
static void attn__copy_rows(const attn__work *work, attn__copied *copy, const attn_tensor *t, const float *factors,
                            size_t k0)
{
    const attn__plan *plan = work->plan;
    const attn__kernels *kern = plan->kern;
    size_t begin = k0 - k0 % plan->keys, r, i, row, run;
    char *to = copy->rows;
    copy->from = attn__min(k0, attn__max(begin, copy->want_from));
    copy->to = attn__max(k0 + work->tile.keys, attn__min(begin + plan->keys, copy->want_to));
    for (r = copy->from; r < copy->to; r += run) { /* up to where a ring begins anew */
        row = r % plan->wrap;
        run = attn__min(copy->to - r, plan->wrap - row);
        kern->load(to, t->dim, attn__tensor_at(*t, work->b, work->head, row, 0), t->dtype, t->len_stride, t->dim_stride,
                   run, t->dim);
        for (i = 0; factors && i < run; i++)
            kern->store(attn__real_at(plan, to, i * t->dim), kern->real, 0, 1, attn__real_at(plan, to, i * t->dim), 0,
                        1, t->dim, (double)factors[row + i]);
        to = attn__real_at(plan, to, run * t->dim);
    }
}

/* The tile's rows of k or v: where they lie if they can be read there, else, or if a copy is a `must`, in a copy. */
static void attn__fetch(const attn__work *work, attn__rows *rows, const attn_tensor *t, const float *scales, size_t k0,
                        attn__copied *copy, int must)
{
    const attn__plan *plan = work->plan;
    size_t n = work->tile.keys, row = k0 % plan->wrap, after = (k0 + n) % plan->wrap;
    const float *factors = scales ? scales + (work->b * t->heads + work->head) * plan->wrap : NULL;
    rows->data = attn__tensor_at(*t, work->b, work->head, row, 0);
    rows->dtype = t->dtype;
    rows->step = t->len > 1 ? t->len_stride : 0;
    rows->scales = factors ? factors + row : NULL;
    rows->more = t->dim_stride == 1 ? attn__min(attn__max(work->to, k0 + n) - (k0 + n), plan->keys) : 0;
    rows->more = attn__min(rows->more, plan->wrap - after);
    rows->next = rows->more > 0 ? (const char *)attn__tensor_at(*t, work->b, work->head, after, 0) : NULL;
    rows->next_step = rows->step * (ptrdiff_t)attn__size(t->dtype);
    rows->bytes = t->dim * attn__size(t->dtype);
    if (!must && attn__is_direct(plan, t, k0, n))
        return;
    if (k0 < copy->from || k0 + n > copy->to)
        attn__copy_rows(work, copy, t, factors, k0);
    rows->data = attn__real_at(plan, copy->rows, (k0 - copy->from) * t->dim);
    rows->dtype = plan->kern->real;
    rows->step = (ptrdiff_t)t->dim;
    rows->scales = NULL;
}

/* score_mod takes one row at a time; keys outside of the row's range are hidden in any case. */
static void attn__modify(attn__work *work, size_t k0)
{
    const attn__plan *plan = work->plan;
    size_t lane, h, i, j, first, end;
    for (lane = 0; lane < work->count; lane++) {
        first = attn__part(&work->lanes[lane], k0, work->tile.keys, ATTN_STAGE_FINAL, &end);
        if (first == end)
            continue;
        attn__head_of(work, lane, &h, &i);
        for (j = first; j < end; j++)
            memcpy(attn__real_at(plan, work->row_scores, j - first),
                   attn__real_at(plan, work->tile.scores, attn__score_at(work, j, lane)), plan->kern->size);
        plan->opts.score_mod(plan->opts.score_mod_user, work->row_scores, end - first, work->b, h, i, k0 + first);
        for (j = first; j < end; j++)
            memcpy(attn__real_at(plan, work->tile.scores, attn__score_at(work, j, lane)),
                   attn__real_at(plan, work->row_scores, j - first), plan->kern->size);
    }
}

/* Computes the scores of the tile that attn__look has made ready, up to a stage, but for plan->scale_left. */
static void attn__score(attn__work *work, size_t k0, attn_stage stage)
{
    const attn__plan *plan = work->plan;
    const attn__kernels *kern = plan->kern;
    const attn_opts *opts = &plan->opts;
    attn__tile *tile = &work->tile;
    attn__rows k;
    double scale = plan->scale;
    size_t lane;
    attn__fetch(work, &k, &plan->k, plan->k_scales, k0, work->k, 0);
    tile->bias = tile->slope = NULL;
    if (tile->across)
        kern->row_scores(tile, &k, work->queries, plan->q.dim);
    else
        kern->scores(tile, &k, work->queries, plan->q.dim);
    if (opts->softcap > 0 && stage != ATTN_STAGE_DOT) {
        kern->softcap(tile, scale, opts->softcap);
        scale = 1;
    }
    if (stage == ATTN_STAGE_FINAL && opts->bias.data) {
        attn__gather(work, work->bias, tile->ld, opts->bias, k0, tile->keys);
        tile->bias = work->bias;
    }
    if (stage == ATTN_STAGE_FINAL && opts->alibi_slopes) {
        for (lane = 0; lane < work->count; lane++)
            attn__set(plan, work->position, lane, (double)work->lanes[lane].position - (double)k0);
        tile->position = work->position;
        tile->slope = work->slope;
    }
    if (tile->bias || tile->slope || scale < 1 || scale > 1)
        kern->bias(tile, scale);
    if (stage == ATTN_STAGE_FINAL && opts->score_mod)
        attn__modify(work, k0);
    if (tile->first || tile->mask || (tile->bias && (opts->score_mod || opts->alibi_slopes)))
        kern->hide(tile);
}

/* Lets softmax give hidden keys the weight -0. By its bits: to -ffast-math all zeros are one. */
static void attn__mark_hidden(attn__tile *tile, attn_dtype real)
{
    uint64_t bits64 = (uint64_t)1 << 63;
    uint32_t bits32 = (uint32_t)1 << 31;
    if (real == ATTN_F64)
        memcpy(tile->none, &bits64, 8);
    else
        memcpy(tile->none, &bits32, 4);
}

/* out = factor out + V^T P for the tile. Where a key is `hidden` from some lane, NaN and infinities of its value must
   not meet the weight 0: they are taken out of a copy, and given to each lane that sees them. The weight of a hidden
   key is -0, any other at least +0. */
static void attn__take_values(attn__work *work, size_t k0, int hidden)
{
    const attn__plan *plan = work->plan;
    const attn__state *state = work->into;
    const attn__kernels *kern = plan->kern;
    const attn__tile *tile = &work->tile;
    size_t i, j, d, lane, Dv = plan->v.dim;
    attn__rows v;
    double x, weight;
    int odd;
    if (Dv == 0 && !tile->across) /* across, the sum of the weights is still to come */
        return;
    attn__fetch(work, &v, &plan->v, plan->v_scales, k0, work->v, hidden && plan->v.dtype != kern->real);
    odd = hidden && kern->special(v.data, v.step, tile->keys, Dv);
    if (odd) {
        attn__fetch(work, &v, &plan->v, plan->v_scales, k0, work->v, 1);
        for (i = 0; i < tile->keys * Dv; i++)
            if (!attn__is_finite(attn__get(plan, v.data, i)))
                attn__set(plan, attn__real_at(plan, v.data, i), 0, 0.0);
        work->v->to = work->v->from; /* no more a copy */
    }
    if (tile->across)
        kern->row_values(tile, state, &v, Dv);
    else
        kern->values(tile, state, &v, Dv);
    if (!odd)
        return;
    attn__fetch(work, &v, &plan->v, plan->v_scales, k0, work->v, 1);
    for (j = 0; j < tile->keys; j++)
        for (d = 0; d < Dv; d++) {
            x = attn__get(plan, v.data, j * Dv + d);
            for (lane = 0; lane < work->count && !attn__is_finite(x); lane++) {
                weight = attn__get(plan, tile->scores, attn__score_at(work, j, lane));
                i = attn__out_at(work, d, lane);
                if (attn__bits(weight) != (uint64_t)1 << 63)
                    attn__set(plan, state->out, i, attn__get(plan, state->out, i) + weight * x);
            }
        }
}

/* -- a block: all its keys, out, what else was asked for -- */

/* What the rows of the block see, each and together. */
static void attn__see(attn__work *work)
{
    const attn__plan *plan = work->plan;
    size_t count = plan->alike ? attn__min(plan->rows, plan->lanes) : work->count, lane, h, i; /* alike: of any block */
    attn__lane see = ATTN__ZERO;
    work->from = work->all_to = SIZE_MAX;
    work->to = work->valid = work->all_from = 0;
    attn__head_of(work, 0, &h, &i);
    for (lane = 0; lane < count; lane++, i = i + 1 < plan->q.len ? i + 1 : 0) {
        if (lane == 0 || !plan->alike) {
            see = attn__visible(plan, work->b, i);
            work->valid = attn__max(work->valid, see.valid);
            work->all_from = attn__max(work->all_from, see.first);
            work->all_to = attn__min(work->all_to, see.end);
            work->from = see.first < see.end ? attn__min(work->from, see.first) : work->from;
            work->to = see.first < see.end ? attn__max(work->to, see.end) : work->to;
        }
        work->lanes[lane] = see;
    }
    work->from = work->to > 0 ? work->from : 0;
}

static void attn__set_slopes(attn__work *work) /* zeros past the last row */
{
    const attn__plan *plan = work->plan;
    size_t lane, h, i;
    for (lane = 0; lane < work->tile.lanes; lane++) {
        if (lane < work->count)
            attn__head_of(work, lane, &h, &i);
        attn__set(plan, work->slope, lane, lane < work->count ? -(double)plan->opts.alibi_slopes[h] : 0.0);
        attn__set(plan, work->position, lane, 0.0);
    }
}

/* Takes block number `index` of the batch in hand. */
static void attn__take_up(attn__work *work, size_t index)
{
    const attn__plan *plan = work->plan;
    size_t kv_head = index / plan->blocks, b = kv_head / plan->k.heads;
    int seen = plan->alike && b == work->b;
    size_t row = (index - kv_head * plan->blocks) * plan->lanes;
    if (plan->known &&
        !(b == work->b && row == work->row && plan->opts.mask.head_stride == 0)) /* a mask's other rows */
        memset(work->masked, 0, plan->known);
    work->b = b;
    work->head = kv_head - b * plan->k.heads;
    work->row = row;
    work->count = attn__min(plan->lanes, plan->rows - work->row);
    work->tile.across = plan->across;
    work->tile.queries = work->count;
    work->tile.lanes = attn__blocks(work->count, plan->kern->lanes) * plan->kern->lanes;
    work->tile.ld = plan->across ? attn__blocks(plan->keys, plan->kern->lanes) * plan->kern->lanes : work->tile.lanes;
    if (!seen)
        attn__see(work);
    if (plan->opts.alibi_slopes)
        attn__set_slopes(work);
    attn__gather(work, work->queries, plan->q.dim, plan->q, 0, plan->q.dim);
}

static void attn__begin(attn__work *work, attn__state *state) /* nothing seen yet */
{
    const attn__plan *plan = work->plan;
    size_t lanes = work->tile.lanes;
    work->into = state;
    plan->kern->begin(state, work->tile.across ? work->count * attn__out_row(work) : plan->v.dim * lanes, lanes);
}

/* How many splits the block in hand has; the *first of them, and their *keys. Where they lie depends on the valid keys
   of the item alone: no row can tell which others share its block. */
static size_t attn__splits(const attn__work *work, size_t *first, size_t *keys)
{
    const attn__plan *plan = work->plan;
    size_t tiles;
    *first = 0;
    *keys = plan->k.len;
    if (plan->splits == 1)
        return 1;
    tiles = attn__blocks(plan->opts.kv_lens ? plan->opts.kv_lens[work->b] : plan->k.len, plan->keys);
    *keys = attn__max(attn__blocks(tiles, ATTN__SPLITS), ATTN__SPLIT_TILES) * plan->keys;
    *first = work->from / *keys;
    return attn__max(attn__blocks(work->to, *keys), *first + 1) - *first;
}

/* Takes keys k0 .. k0 + n - 1, all of one tile, into the state. */
static void attn__take_keys(attn__work *work, size_t k0, size_t n)
{
    if (!attn__look(work, k0, n, ATTN_STAGE_FINAL))
        return;
    ATTN__ON_TILE();
    attn__score(work, k0, ATTN_STAGE_FINAL);
    attn__take_values(work, k0, work->plan->kern->softmax(&work->tile, work->into, work->plan->scale_left));
}

/* Which keys the blocks abreast see together; none of them is copied yet. SIZE_MAX .. 0: a block is alone. */
static void attn__want(attn__work *work, size_t from, size_t to)
{
    work->k->want_from = work->v->want_from = from;
    work->k->want_to = work->v->want_to = to;
    work->k->from = work->v->from = work->k->to = work->v->to = 0;
}

/* The keys of split number `split`, for those of `count` blocks abreast that have a state for it. Where tiles begin
   depends on nothing else; a block may see but a part of one. */
static void attn__attend_split(attn__work *works, size_t count, size_t split, size_t keys)
{
    size_t tile = works->plan->keys, from = SIZE_MAX, to = 0, k0, first, end, i;
    for (i = 0; i < count; i++) {
        works[i].split_from = attn__max(works[i].from, split * keys);
        works[i].split_to = works[i].into ? attn__min(works[i].to, (split + 1) * keys) : 0;
        if (works[i].split_from < works[i].split_to) {
            from = attn__min(from, works[i].split_from);
            to = attn__max(to, works[i].split_to);
        }
    }
    attn__want(works, from, to);
    for (k0 = from; k0 < to; k0 += tile - k0 % tile)
        for (i = 0; i < count; i++) {
            first = attn__max(k0, works[i].split_from);
            end = attn__min(k0 - k0 % tile + tile, works[i].split_to);
            if (first < end)
                attn__take_keys(&works[i], first, end - first);
        }
}

/* The weights and scores that were asked for, tile by tile: scores are computed once more, now that max and sum are
   known. That is more work than keeping them would be, but it needs no memory and leaves the way to out alone. */
static void attn__record(attn__work *work)
{
    const attn__plan *plan = work->plan;
    const attn__kernels *kern = plan->kern;
    attn__tile *tile = &work->tile;
    attn_stage stage = plan->opts.scores_stage;
    size_t k0, n, i, size;
    memcpy(work->split.max, work->state.max, tile->lanes * kern->size);
    memset(work->split.sum, 0, tile->lanes * kern->size);
    memset(tile->none, 0, sizeof tile->none); /* weights are outputs: +0 */
    attn__want(work, SIZE_MAX, 0);
    for (k0 = 0; k0 < plan->k.len; k0 += n) {
        n = attn__min(plan->keys, (k0 < work->valid ? work->valid : plan->k.len) - k0); /* no tile is partly invalid */
        size = tile->ld * (tile->across ? work->count : n);
        if (plan->opts.scores.data) {
            if (attn__look(work, k0, n, stage))
                attn__score(work, k0, stage);
            else
                for (i = 0; i < size; i++)
                    attn__set(plan, tile->scores, i, attn__minus_infinity());
            attn__scatter(work, plan->opts.scores, k0, tile->scores, tile->ld, n, plan->scale_left);
        }
        if (plan->opts.weights.data) {
            memset(tile->scores, 0, size * kern->size);
            if (attn__look(work, k0, n, ATTN_STAGE_FINAL)) {
                attn__score(work, k0, ATTN_STAGE_FINAL);
                kern->softmax(tile, &work->split, plan->scale_left); /* max is the final one and does not move */
            }
            attn__scale_lanes(work, tile->scores, tile->ld, n, work->inverse);
            attn__scatter(work, plan->opts.weights, k0, tile->scores, tile->ld, n, 1.0);
        }
    }
    attn__mark_hidden(tile, kern->real);
}

/* One more score, without a value, for a row that has seen sum = sum of exp(score - max). Returns by what out and the
   sum so far must shrink. */
static double attn__add_sink(double sink, double *max, double *sum, int *nan)
{
    double before = *max, shrink;
    if (!attn__is_finite(sink)) {
        *nan |= attn__bits(sink) != attn__bits(attn__minus_infinity());
        return 1;
    }
    *max = *sum > 0 && before > sink ? before : sink;
    shrink = *sum > 0 ? attn__exp(before - *max) : 0;
    *sum = *sum * shrink + attn__exp(sink - *max);
    return shrink;
}

/* One row with a sink or NaN: by what its out is multiplied. And the log-sum-exp. */
static void attn__finish_row(const attn__work *work, size_t lane, size_t h, size_t i)
{
    const attn__plan *plan = work->plan;
    attn_tensor lse = plan->opts.lse;
    double sum = attn__get(plan, work->state.sum, lane), max = attn__get(plan, work->state.max, lane), shrink = 1, x;
    int nan = work->state.nan[lane], sink = plan->opts.sinks && work->lanes[lane].exists;
    max *= plan->scale_left;
    if (sink)
        shrink = attn__add_sink((double)plan->opts.sinks[h], &max, &sum, &nan);
    if (nan || (sink && attn__is_finite((double)plan->opts.sinks[h])))
        attn__set(plan, work->inverse, lane, nan ? attn__nan() : sum > 0 ? shrink / sum : 0);
    if (!lse.data)
        return;
    x = nan ? attn__nan() : sum > 0 ? max + attn__log(sum) : attn__minus_infinity();
    attn__store(attn__tensor_at(lse, work->b, h, i, 0), lse.dtype, x);
}

/* All keys are seen: everything goes to where the caller wants it. */
static void attn__finish(attn__work *work)
{
    const attn__plan *plan = work->plan;
    size_t lane, l, n, h, i;
    plan->kern->finish(&work->state, work->inverse, work->tile.lanes);
    for (lane = 0; lane < work->count; lane += n) {
        n = attn__head_of(work, lane, &h, &i);
        for (l = 0; l < n; l++)
            if (plan->opts.sinks || plan->opts.lse.data || work->state.nan[lane + l])
                attn__finish_row(work, lane + l, h, i + l);
    }
    attn__scale_lanes(work, work->state.out, attn__out_row(work), plan->v.dim, work->inverse);
    attn__scatter(work, plan->out, 0, work->state.out, attn__out_row(work), plan->v.dim, 1.0);
    if (plan->records)
        attn__record(work);
}

/* -- tasks -- */

static attn__state attn__state_at(const attn__plan *plan, char *at)
{
    size_t lanes = plan->lanes * plan->kern->size;
    attn__state state;
    state.max = at;
    state.sum = at + lanes;
    state.nan = (unsigned char *)at + 2 * lanes;
    state.out = at + attn__blocks(2 * lanes + plan->lanes, ATTN__ALIGN) * ATTN__ALIGN;
    return state;
}

static attn__state attn__state_apart(const attn__plan *plan, size_t block, size_t split)
{
    return attn__state_at(plan, plan->scratch + plan->tasks * plan->slice +
                                    (block * plan->splits + split) * plan->state_size);
}

typedef struct attn__task { /* blocks abreast, and what they share */
    attn__work works[ATTN__ABREAST];
    attn__copied k, v;
} attn__task;

static void attn__set_up(attn__task *task, const attn__plan *plan, size_t index)
{
    char *slice = plan->scratch + index * plan->slice, *at = slice;
    size_t lanes = plan->lanes * plan->kern->size, i;
    attn__work *work = task->works;
    task->k.rows = slice + plan->at_k;
    task->v.rows = slice + plan->at_v;
    for (i = 0; i < plan->abreast; i++, work++, at += plan->block_size) {
        attn__clear(work, sizeof *work);
        work->plan = plan;
        work->b = SIZE_MAX; /* none yet */
        work->k = &task->k;
        work->v = &task->v;
        work->bias = slice + plan->at_bias;
        work->mask = slice + plan->at_mask;
        work->row_scores = slice + plan->at_row;
        work->lanes = (attn__lane *)(void *)(at + plan->at_lanes);
        work->masked = (unsigned char *)at + plan->at_masked;
        work->queries = at + plan->at_queries;
        work->first = at + plan->at_reals;
        work->end = work->first + lanes;
        work->position = work->end + lanes;
        work->slope = work->position + lanes;
        work->inverse = work->slope + lanes;
        work->state = attn__state_at(plan, at + plan->at_state);
        work->split = attn__state_at(plan, at + plan->at_state + plan->state_size);
        work->tile.scores = slice + plan->at_scores;
        work->tile.factor = work->inverse + lanes;
        attn__set(plan, work->tile.hidden, 0, attn__minus_infinity());
        attn__mark_hidden(&work->tile, plan->kern->real);
        attn__set(plan, work->tile.least, 0, attn__lowest(plan->kern->real));
    }
}

static void attn__fold(attn__work *work) /* the split into the state */
{
    work->plan->kern->fold(&work->tile, &work->state, &work->split, work->plan->v.dim, work->plan->scale_left);
}

/* All splits of the blocks in hand, each block's folded from left to right. Then its end. */
static void attn__attend(attn__work *works, size_t count)
{
    size_t split, splits, keys, first = SIZE_MAX, end = 0, firsts[ATTN__ABREAST], ends[ATTN__ABREAST], i;
    for (i = 0; i < count; i++) { /* blocks of one item: their splits have the same keys */
        splits = attn__splits(&works[i], &firsts[i], &keys);
        ends[i] = firsts[i] + splits;
        first = attn__min(first, firsts[i]);
        end = attn__max(end, ends[i]);
    }
    for (split = first; split < end; split++) {
        for (i = 0; i < count; i++) {
            works[i].into = NULL;
            if (firsts[i] <= split && split < ends[i])
                attn__begin(&works[i], split == firsts[i] ? &works[i].state : &works[i].split);
        }
        attn__attend_split(works, count, split, keys);
        for (i = 0; i < count; i++)
            if (works[i].into == &works[i].split)
                attn__fold(&works[i]);
    }
    for (i = 0; i < count; i++)
        attn__finish(&works[i]);
}

/* One split of a block, into a state that is kept. */
static void attn__attend_apart(attn__work *work, size_t block, size_t split)
{
    size_t first, keys, splits = attn__splits(work, &first, &keys);
    work->split = attn__state_apart(work->plan, block, split);
    attn__begin(work, &work->split);
    if (split < splits)
        attn__attend_split(work, 1, first + split, keys);
}

/* All splits of a block that were kept. */
static void attn__gather_splits(attn__work *work, size_t block)
{
    size_t first, keys, splits = attn__splits(work, &first, &keys), split;
    work->state = attn__state_apart(work->plan, block, 0);
    for (split = 1; split < splits; split++) {
        work->split = attn__state_apart(work->plan, block, split);
        attn__fold(work);
    }
    attn__finish(work);
}

typedef struct attn__job { /* what the tasks of a run share */
    const attn__plan *plan;
    size_t items; /* takings of blocks, or splits of one where these run apart */
    size_t taken; /* items that tasks have taken, where they can be counted together */
} attn__job;

/* The item that a task, which has done so many, does next; no less than job->items: none is left. Which task does an
   item changes no bit. Each takes the next that is free, so that all end together; where compilers have no atomics,
   the items are dealt out. */
static size_t attn__next_item(attn__job *job, size_t index, size_t done)
{
#ifdef ATTN__COUNT_UP
    if (job->plan->tasks > 1)
        return ATTN__COUNT_UP(&job->taken);
#endif
    (void)job->taken;
    return index + done * job->plan->tasks;
}

static void attn__sdpa_task(void *arg, size_t index)
{
    attn__job *job = (attn__job *)arg;
    const attn__plan *plan = job->plan;
    size_t item, done, head, block, count, i;
    int saved = ATTN__ERRNO;
    attn__task task;
    attn__set_up(&task, plan, index);
    for (done = 0; (item = attn__next_item(job, index, done)) < job->items; done++) {
        item = job->items - 1 - item; /* of causal blocks the last have the most keys: they go first */
        if (plan->apart) {
            attn__take_up(task.works, item / plan->splits);
            attn__attend_apart(task.works, item / plan->splits, item % plan->splits);
        } else {
            head = item / plan->k.heads / plan->takings * plan->k.heads + item % plan->k.heads; /* the heads in turn */
            block = item / plan->k.heads % plan->takings * plan->abreast;
            count = attn__min(plan->abreast, plan->blocks - block);
            for (i = 0; i < count; i++)
                attn__take_up(&task.works[i], head * plan->blocks + block + i);
            attn__attend(task.works, count);
        }
    }
    ATTN__ERRNO_KEEP(saved);
}

static void attn__sdpa(attn__plan *plan)
{
    size_t block;
    int saved;
    attn__task task;
    attn__job job;
    job.plan = plan;
    job.items = plan->apart ? plan->all_blocks * plan->splits : plan->all_takings;
    job.taken = 0;
    attn__run(&plan->ctx, plan->tasks, attn__sdpa_task, &job);
    if (!plan->apart)
        return;
    saved = ATTN__ERRNO;
    attn__set_up(&task, plan, 0);
    for (block = 0; block < plan->all_blocks; block++) {
        attn__take_up(task.works, block);
        attn__gather_splits(task.works, block);
    }
    ATTN__ERRNO_KEEP(saved);
}

/* -- the plan -- */

/* Room for `count` things of `size` bytes at *end, which moves on; SIZE_MAX once it overflows. */
ATTN__INLINE size_t attn__reserve(size_t *end, size_t count, size_t size)
{
    const size_t most = (size_t)PTRDIFF_MAX - ATTN__ALIGN;
    size_t at = *end, bytes;
    if (at > most || !attn__multiply(&bytes, count, size) || at + bytes > most)
        *end = SIZE_MAX;
    else
        *end = (at + bytes + ATTN__ALIGN - 1) & ~(size_t)(ATTN__ALIGN - 1);
    return at;
}

/* Sizes of blocks, tiles and scratch, for arguments that have been checked; 0 if something overflows. */
static int attn__lay_out(attn__plan *plan)
{
    const attn__kernels *kern = plan->kern;
    const attn_opts *opts = &plan->opts;
    size_t width = attn__ctx_tasks(&plan->ctx, SIZE_MAX), D = plan->q.dim, Dv = plan->v.dim, end = 0, heads = 0, room,
           abreast;
    int empty = plan->q.batch == 0 || plan->q.heads == 0;
    plan->group = empty ? 1 : attn__blocks(plan->q.heads, plan->k.heads);
    if (!attn__multiply(&plan->rows, plan->group, plan->q.len))
        return 0;
    plan->lanes = attn__min(attn__max(attn__blocks(plan->rows, kern->lanes) * kern->lanes, kern->lanes), kern->cols);
    plan->blocks = attn__blocks(plan->rows, plan->lanes);
    plan->across = kern->row_scores && plan->rows <= kern->lanes / 2;
    plan->records =
        plan->given && plan->k.len > 0 && (!attn__tensor_absent(opts->weights) || !attn__tensor_absent(opts->scores));
    plan->alike = opts->causal == ATTN_CAUSAL_NONE && !opts->window.on && !opts->q_lens && !opts->alibi_slopes;
    if (empty || (Dv == 0 && !plan->records && !opts->lse.data))
        plan->all_blocks = 0;
    else if (!attn__multiply(&heads, plan->k.heads, plan->q.batch) ||
             !attn__multiply(&plan->all_blocks, heads, plan->blocks))
        return 0;
    plan->keys = attn__min(ATTN__KEYS, attn__max(attn__blocks(plan->k.len, kern->rows), 1) * kern->rows);
    plan->splits = attn__blocks(attn__blocks(plan->k.len, plan->keys), ATTN__SPLIT_TILES);
    plan->splits = attn__min(attn__max(plan->splits, 1), ATTN__SPLITS);
    plan->apart =
        plan->all_blocks < width && plan->splits > 1 && !plan->records; /* attn__record belongs to a block's task */
    room = plan->lanes < kern->cols ? 1 : ATTN__ABREAST; /* of full blocks, however many: it does not grow with Lq */
    abreast = plan->apart ? 1 : attn__min(attn__max(plan->all_blocks / (width * ATTN__TAKINGS), 1), room);
    plan->takings = attn__blocks(plan->blocks, abreast);
    plan->abreast = plan->blocks == 0 ? 1 : attn__blocks(plan->blocks, plan->takings); /* as even as can be */
    plan->all_takings = heads * plan->takings;
    plan->tasks = attn__min(width, plan->apart ? plan->all_blocks * plan->splits : plan->all_takings);

    plan->state_size = 0;
    plan->at_lanes = attn__reserve(&end, plan->lanes, sizeof(attn__lane));
    if (plan->given && !attn__tensor_absent(opts->mask)) {
        plan->known = attn__min(attn__blocks(plan->k.len, plan->keys), ATTN__KNOWN);
        plan->at_masked = attn__reserve(&end, ATTN__KNOWN, 1);
    }
    plan->at_reals = attn__reserve(&end, 6 * plan->lanes, kern->size);
    plan->at_queries = attn__reserve(&end, plan->lanes * kern->size, D);
    attn__reserve(&plan->state_size, plan->lanes * (2 * kern->size + 1), 1);
    attn__reserve(&plan->state_size, plan->lanes * kern->size, attn__blocks(Dv, kern->rows) * kern->rows);
    plan->at_state = attn__reserve(&end, 2, plan->state_size);
    plan->block_size = end;
    attn__reserve(&end, room - 1, plan->block_size);
    plan->at_scores = attn__reserve(&end, plan->keys * plan->lanes, kern->size);
    if (plan->given && !attn__tensor_absent(opts->bias))
        plan->at_bias = attn__reserve(&end, plan->keys * plan->lanes, kern->size);
    if (plan->given && !attn__tensor_absent(opts->mask))
        plan->at_mask = attn__reserve(&end, plan->keys * plan->lanes, kern->size);
    if (opts->score_mod)
        plan->at_row = attn__reserve(&end, plan->keys, kern->size);
    if (!attn__is_direct(plan, &plan->k, 0, plan->k.len) || (room > 1 && !attn__is_packed(&plan->k)))
        plan->at_k = attn__reserve(&end, plan->keys * kern->size, D);
    plan->at_v = attn__reserve(&end, plan->keys * kern->size, Dv);
    plan->slice = end;
    plan->bytes = plan->tasks > 0 ? ATTN__ALIGN : 0;
    attn__reserve(&plan->bytes, plan->tasks, plan->slice);
    if (plan->apart)
        attn__reserve(&plan->bytes, plan->all_blocks * plan->splits, plan->state_size);
    return plan->bytes != SIZE_MAX;
}

/* Where nobody asks for scores, their scale is left to softmax, which multiplies by log2(e) in any case. It must not be
   negative then, nor so large that it would have made a finite product infinite, nor so small that a limit of 1 / scale
   is out of range. */
static void attn__choose_scale(attn__plan *plan)
{
    const attn_opts *o = &plan->opts;
    int plain = !(o->softcap > 0) && attn__tensor_absent(o->bias) && !o->alibi_slopes && !o->score_mod;
    plain = plain && o->scale >= 1e-20 && o->scale * ATTN__LOG2E <= 1;
    plan->scale = plain ? 1 : o->scale;
    plan->scale_left = plain ? o->scale : 1;
}

/* A tensor of dimensions 1 or full becomes one of full dimensions with strides 0. */
static void attn__broadcast(attn_tensor *t, size_t B, size_t H, size_t Lq, size_t Lk)
{
    if (attn__tensor_absent(*t))
        return;
    t->batch_stride = t->batch == 1 ? 0 : t->batch_stride;
    t->head_stride = t->heads == 1 ? 0 : t->head_stride;
    t->len_stride = t->len == 1 ? 0 : t->len_stride;
    t->dim_stride = t->dim == 1 ? 0 : t->dim_stride;
    t->batch = B;
    t->heads = H;
    t->len = Lq;
    t->dim = Lk;
}

static int attn__is_shape(attn_tensor t, size_t B, size_t H, size_t L, size_t D)
{
    return t.batch == B && t.heads == H && t.len == L && t.dim == D;
}

static int attn__can_broadcast(attn_tensor t, size_t B, size_t H, size_t Lq, size_t Lk)
{
    return attn__tensor_absent(t) || ((t.batch == B || t.batch == 1) && (t.heads == H || t.heads == 1) &&
                                      (t.len == Lq || t.len == 1) && (t.dim == Lk || t.dim == 1));
}

enum { ATTN__ARGUMENTS = 24 }; /* those of attn_mha */

typedef struct attn__arguments {
    attn__view view[ATTN__ARGUMENTS];
    const char *name[ATTN__ARGUMENTS];
    size_t count;
} attn__arguments;

ATTN__INLINE void attn__argument(attn__arguments *args, const char *name, attn__view view)
{
    if ((view.role & ATTN__ABSENT) && (view.role & ATTN__OPTIONAL))
        return;
    ATTN_ASSERT(args->count < ATTN__ARGUMENTS);
    args->view[args->count] = view;
    args->name[args->count++] = name;
}

/* *fault becomes `otherwise` unless the condition holds or it comes first already. */
static void attn__demand(attn__fault *fault, int condition, attn_status otherwise, const char *argument)
{
    if (!condition && otherwise != fault->status && attn__first(fault->status, otherwise) == otherwise) {
        fault->status = otherwise;
        fault->argument = argument;
        fault->other = NULL;
    }
}

static int attn__lengths_fit(const size_t *lens, size_t B, size_t most)
{
    size_t b;
    for (b = 0; lens && attn__is_aligned(lens, sizeof *lens) && b < B; b++)
        if (lens[b] > most)
            return 0;
    return 1;
}

/* An option joins the arguments if it is given. */
ATTN__NOINLINE void attn__option(attn__arguments *args, const char *name, const attn_tensor *t, int role)
{
    if (!attn__tensor_absent(*t))
        attn__argument(args, name, attn__view_of_tensor(*t, role));
}

ATTN__NOINLINE void attn__option_array(attn__arguments *args, const char *name, const void *data, size_t count,
                                       size_t size)
{
    if (data)
        attn__argument(args, name, attn__view_of_array(data, count, size, ATTN__IN));
}

static void attn__list_options(attn__arguments *args, const attn__plan *plan) /* and scratch */
{
    const attn_opts *o = &plan->opts;
    size_t B = plan->q.batch, H = plan->q.heads;
    if (plan->given) {
        if (o->causal_offset || o->causal == ATTN_CAUSAL_OFFSET)
            attn__argument(args, "opts.causal_offset",
                           attn__view_of_array(o->causal_offset, B, sizeof *o->causal_offset, ATTN__IN));
        attn__option(args, "opts.mask", &o->mask, ATTN__BOOL);
        attn__option_array(args, "opts.q_lens", o->q_lens, B, sizeof *o->q_lens);
        attn__option_array(args, "opts.kv_lens", o->kv_lens, B, sizeof *o->kv_lens);
        attn__option(args, "opts.bias", &o->bias, ATTN__ANY_FLOAT);
        attn__option_array(args, "opts.alibi_slopes", o->alibi_slopes, H, sizeof *o->alibi_slopes);
        attn__option_array(args, "opts.sinks", o->sinks, H, sizeof *o->sinks);
        attn__option(args, "opts.lse", &o->lse, ATTN__OUT | ATTN__ANY_FLOAT);
        attn__option(args, "opts.weights", &o->weights, ATTN__OUT | ATTN__ANY_FLOAT);
        attn__option(args, "opts.scores", &o->scores, ATTN__OUT | ATTN__ANY_FLOAT);
    }
    if (plan->ctx.scratch)
        attn__argument(args, "ctx.scratch", attn__view_of_scratch(&plan->ctx));
}

/* What the views say by themselves: NULL, DTYPE, OVERFLOW, alignment, overlap. */
static attn__fault attn__check_arguments(attn__arguments *args)
{
    size_t culprit[2];
    attn__fault fault;
    fault.status = attn__find_fault(args->view, args->count, culprit);
    fault.argument = fault.status == ATTN_OK ? NULL : args->name[culprit[0]];
    fault.other = fault.status == ATTN_ERR_ALIAS && culprit[1] != culprit[0] ? args->name[culprit[1]] : NULL;
    return fault;
}

static void attn__check_shapes(const attn__plan *plan, attn__fault *fault)
{
    const attn_opts *o = &plan->opts;
    attn_tensor q = plan->q, k = plan->k, v = plan->v;
    size_t B = q.batch, H = q.heads, Lq = q.len, Lk = k.len;
    attn__demand(fault, attn__is_shape(plan->out, B, H, Lq, v.dim), ATTN_ERR_SHAPE, "out");
    attn__demand(fault, q.dim > 0 && (H == k.heads || (k.heads > 0 && H % k.heads == 0)), ATTN_ERR_SHAPE, "q");
    attn__demand(fault, attn__is_shape(k, B, k.heads, Lk, q.dim), ATTN_ERR_SHAPE, "k");
    attn__demand(fault, attn__is_shape(v, B, k.heads, Lk, v.dim), ATTN_ERR_SHAPE, "v");
    if (!plan->given)
        return;
    attn__demand(fault, attn__can_broadcast(o->mask, B, H, Lq, Lk), ATTN_ERR_SHAPE, "opts.mask");
    attn__demand(fault, attn__can_broadcast(o->bias, B, H, Lq, Lk), ATTN_ERR_SHAPE, "opts.bias");
    attn__demand(fault, attn__tensor_absent(o->lse) || attn__is_shape(o->lse, B, H, Lq, 1), ATTN_ERR_SHAPE, "opts.lse");
    attn__demand(fault, attn__tensor_absent(o->weights) || attn__is_shape(o->weights, B, H, Lq, Lk), ATTN_ERR_SHAPE,
                 "opts.weights");
    attn__demand(fault, attn__tensor_absent(o->scores) || attn__is_shape(o->scores, B, H, Lq, Lk), ATTN_ERR_SHAPE,
                 "opts.scores");
}

/* Numbers in their ranges. The arrays are read only where shapes are known to be sound. */
static void attn__check_values(const attn__plan *plan, attn__fault *fault, int sound)
{
    const attn_opts *o = &plan->opts;
    double cap_least = plan->q.dtype == ATTN_F64 ? DBL_MIN : (double)FLT_MIN;
    attn__demand(fault, (unsigned)o->causal <= ATTN_CAUSAL_OFFSET, ATTN_ERR_VALUE, "opts.causal");
    attn__demand(fault, !o->window.on || (o->window.left >= -1 && o->window.right >= -1), ATTN_ERR_VALUE,
                 "opts.window");
    attn__demand(fault, !sound || attn__lengths_fit(o->q_lens, plan->q.batch, plan->q.len), ATTN_ERR_VALUE,
                 "opts.q_lens");
    attn__demand(fault, !sound || attn__lengths_fit(o->kv_lens, plan->q.batch, plan->k.len), ATTN_ERR_VALUE,
                 "opts.kv_lens");
    attn__demand(fault, attn__is_factor(o->scale, plan->q.dtype), ATTN_ERR_VALUE, "opts.scale");
    attn__demand(fault,
                 attn__is_factor(o->softcap, plan->q.dtype) &&
                     (attn__bits(o->softcap) << 1 == 0 || o->softcap >= cap_least),
                 ATTN_ERR_VALUE, "opts.softcap");
    attn__demand(fault, (unsigned)o->scores_stage <= ATTN_STAGE_FINAL, ATTN_ERR_VALUE, "opts.scores_stage");
}

ATTN__INLINE void attn__begin_plan(attn__plan *plan, attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                                   const attn_opts *opts, const attn_ctx *ctx)
{
    attn__clear(plan, sizeof *plan);
    if (opts)
        plan->opts = *opts;
    plan->given = opts != NULL;
    if (ctx)
        plan->ctx = *ctx;
    plan->out = out;
    plan->q = q;
    plan->k = k;
    plan->v = v;
    plan->wrap = SIZE_MAX;
}

/* The one place where the shapes and options of the engine are checked and resolved. *fault: what is known so far. */
static void attn__resolve(attn__plan *plan, attn__fault *fault)
{
    attn_opts *o = &plan->opts;
    attn__demand(fault, plan->ctx.scratch || plan->ctx.scratch_size == 0, ATTN_ERR_NULL, "ctx.scratch");
    attn__check_shapes(plan, fault);
    if (plan->given) {
        attn__broadcast(&o->mask, plan->q.batch, plan->q.heads, plan->q.len, plan->k.len);
        attn__broadcast(&o->bias, plan->q.batch, plan->q.heads, plan->q.len, plan->k.len);
    }
    o->scale = attn__scale(o->scale, plan->q.dim);
    attn__choose_scale(plan);
    plan->kern = attn__ctx_kernels(&plan->ctx, attn__real(plan->q.dtype));
    if (attn__is_sound(fault->status) && plan->kern)
        attn__demand(fault, attn__lay_out(plan), ATTN_ERR_OVERFLOW, "q");
    if (plan->given)
        attn__check_values(plan, fault, attn__is_sound(fault->status));
    attn__demand(fault, plan->kern != NULL, ATTN_ERR_VALUE, "ctx.isa");
}

static attn__fault attn__plan_sdpa(attn__plan *plan) /* begun */
{
    attn__fault fault;
    attn__arguments args;
    args.count = 0;
    attn__argument(&args, "out", attn__view_of_tensor(plan->out, ATTN__OUT));
    attn__argument(&args, "q", attn__view_of_tensor(plan->q, ATTN__IN));
    attn__argument(&args, "k", attn__view_of_tensor(plan->k, ATTN__IN));
    attn__argument(&args, "v", attn__view_of_tensor(plan->v, ATTN__IN));
    attn__list_options(&args, plan);
    fault = attn__check_arguments(&args);
    attn__resolve(plan, &fault);
    return fault;
}

/* Is there room for `bytes`, `stack` of them without asking, as far as can be known before asking ATTN_MALLOC? */
static int attn__has_scratch(const attn_ctx *ctx, size_t bytes, size_t stack)
{
    if (ctx->scratch)
        return ctx->scratch_size >= bytes;
    return bytes <= stack || !ATTN__NO_MALLOC;
}

/* What is planned, in the caller's scratch, on the stack, or in memory of its own. */
static attn_status attn__run_plan(attn__plan *plan)
{
    char stack[ATTN__STACK];
    void *own = NULL;
    if (plan->tasks == 0)
        return ATTN_OK;
    if (!attn__has_scratch(&plan->ctx, plan->bytes, sizeof stack))
        return ATTN_ERR_NOMEM;
    if (plan->ctx.scratch)
        plan->scratch = (char *)plan->ctx.scratch;
    else if (plan->bytes <= sizeof stack)
        plan->scratch = stack;
    else
        plan->scratch = (char *)(own = attn__allocate(plan->bytes));
    if (!plan->scratch)
        return ATTN_ERR_NOMEM;
    plan->scratch = attn__align(plan->scratch);
    attn__sdpa(plan);
    attn__release(own);
    return ATTN_OK;
}

ATTN_API attn_status attn_sdpa(attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v, const attn_opts *opts,
                               const attn_ctx *ctx)
{
    attn__plan plan;
    attn_status status;
    attn__begin_plan(&plan, out, q, k, v, opts, ctx);
    status = attn__plan_sdpa(&plan).status;
    return status == ATTN_OK ? attn__run_plan(&plan) : status;
}

static attn_ctx attn__without_scratch(const attn_ctx *ctx)
{
    attn_ctx bare = ATTN__ZERO;
    if (ctx)
        bare = *ctx;
    bare.scratch = NULL;
    bare.scratch_size = 0;
    return bare;
}

ATTN_API attn_status attn_sdpa_scratch(size_t *bytes, attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                                       const attn_opts *opts, const attn_ctx *ctx)
{
    attn__plan plan;
    attn_ctx bare = attn__without_scratch(ctx);
    attn_status status;
    attn__begin_plan(&plan, out, q, k, v, opts, &bare);
    status = attn__plan_sdpa(&plan).status;
    status = attn__require(status, bytes != NULL, ATTN_ERR_NULL);
    if (status == ATTN_OK)
        *bytes = plan.bytes;
    return status;
}

/* -- explain -- */

typedef struct attn__text {
    char *at;
    size_t left; /* with room for the end of the string */
} attn__text;

static void attn__say(attn__text *text, const char *s)
{
    for (; *s && text->left > 1; s++, text->left--)
        *text->at++ = *s;
    if (text->left > 0)
        *text->at = 0;
}

static void attn__say_number(attn__text *text, const char *before, size_t n, const char *after)
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

static void attn__say_read(attn__text *text, const char *name, const attn__plan *plan, attn_tensor t)
{
    attn__say(text, name);
    if (t.dtype == ATTN_I8 && !plan->across)
        attn__say(text, " is copied tile by tile: its integers are multiplied by their scales\n");
    else if (t.dtype != plan->kern->real && !plan->across)
        attn__say(text, " is copied tile by tile: its 16-bit elements are widened\n");
    else if (t.dim_stride != 1)
        attn__say(text, " is copied tile by tile: its dim_stride is not 1\n");
    else if (!attn__is_direct(plan, &t, 0, 1))
        attn__say(text, " is copied tile by tile, once for several blocks: its rows do not follow each other\n");
    else if (t.len > plan->wrap)
        attn__say(text, " is read in place, but for the tiles where the ring begins anew\n");
    else
        attn__say(text, " is read in place\n");
}

/* What a call would do, in `bytes` of scratch (which `stack` bytes may hold), or why it would fail. */
static attn_status attn__explain(char *text, size_t size, const attn__plan *plan, attn__fault fault, size_t bytes,
                                 size_t stack)
{
    attn__text t;
    t.at = text;
    t.left = text ? size : 0;
    attn__demand(&fault, text || size == 0, ATTN_ERR_NULL, "text");
    attn__demand(&fault, fault.status != ATTN_OK || attn__has_scratch(&plan->ctx, bytes, stack), ATTN_ERR_NOMEM,
                 "ctx.scratch");
    if (fault.status != ATTN_OK) {
        attn__say(&t, fault.argument);
        attn__say(&t, fault.other ? ", " : "");
        attn__say(&t, fault.other ? fault.other : "");
        attn__say(&t, ": ");
        attn__say(&t, attn_status_string(fault.status));
        attn__say(&t, "\n");
        return fault.status;
    }
    attn__say(&t, attn_isa_string(plan->kern->isa));
    attn__say(&t, plan->kern->real == ATTN_F64 ? ", computed in double\n" : ", computed in float\n");
    attn__say_number(&t, "blocks of ", plan->across ? plan->rows : plan->lanes, " queries x ");
    attn__say_number(&t, "", plan->keys, " keys, ");
    attn__say_number(&t, "", plan->all_blocks, " of them, on ");
    attn__say_number(&t, "", plan->tasks, plan->tasks == 1 ? " task\n" : " tasks\n");
    if (plan->splits > 1)
        attn__say_number(&t, "keys in up to ", plan->splits,
                         plan->apart ? " splits, side by side\n" : " splits, one after another\n");
    if (plan->across)
        attn__say(&t, "few queries: tiles are taken across, with keys on the lanes of vectors\n");
    attn__say_read(&t, "k", plan, plan->k);
    attn__say_read(&t, "v", plan, plan->v);
    if (plan->opts.mask.data)
        attn__say(&t, "mask: looked at tile by tile, copied where it hides a part of one\n");
    if (plan->opts.bias.data)
        attn__say(&t, "bias: copied tile by tile\n");
    if (plan->records)
        attn__say(&t, "weights, scores: every score is computed once more, and splits do not run side by side\n");
    if (plan->opts.score_mod)
        attn__say(&t, "score_mod: scores go through it row by row\n");
    attn__say_number(&t, "scratch: ", bytes, " bytes\n");
    return ATTN_OK;
}

ATTN_API attn_status attn_sdpa_explain(char *text, size_t size, attn_tensor out, attn_tensor q, attn_tensor k,
                                       attn_tensor v, const attn_opts *opts, const attn_ctx *ctx)
{
    attn__plan plan;
    attn__fault fault;
    attn__begin_plan(&plan, out, q, k, v, opts, ctx);
    fault = attn__plan_sdpa(&plan);
    return attn__explain(text, size, &plan, fault, plan.bytes, ATTN__STACK);
}

/* -- merge -- */

typedef struct attn__merge_job {
    attn_tensor out, lse, out_b, lse_b;
    size_t rows, tasks;
} attn__merge_job;

/* out = (e^lse out + e^lse_b out_b) / (e^lse + e^lse_b), lse = log of that sum, for one row. An empty side is no part
   of it; where there is nothing else, the row is zeros. */
static void attn__merge_row(const attn__merge_job *job, size_t b, size_t h, size_t i)
{
    void *lse_at = attn__tensor_at(job->lse, b, h, i, 0), *at;
    double lse = attn__load(lse_at, job->lse.dtype), weight = 1, weight_b = 1, max, sum, x, y;
    double lse_b = attn__load(attn__tensor_at(job->lse_b, b, h, i, 0), job->lse_b.dtype);
    uint64_t nothing = attn__bits(attn__minus_infinity());
    int empty = attn__bits(lse) == nothing, empty_b = attn__bits(lse_b) == nothing;
    size_t d;
    if (empty_b && attn__is_finite(lse))
        return;
    if ((!empty && !attn__is_finite(lse)) || (!empty_b && !attn__is_finite(lse_b))) {
        lse = weight = weight_b = attn__nan();
    } else if (empty) {
        lse = lse_b;
    } else {
        max = lse > lse_b ? lse : lse_b;
        weight = attn__exp(lse - max);
        weight_b = attn__exp(lse_b - max);
        sum = weight + weight_b;
        weight = attn__divide(weight, sum);
        weight_b = attn__divide(weight_b, sum);
        lse = max + attn__log(sum);
    }
    for (d = 0; d < job->out.dim; d++) {
        at = attn__tensor_at(job->out, b, h, i, d);
        x = empty ? 0 : weight * attn__load(at, job->out.dtype);
        y = empty_b ? 0 : weight_b * attn__load(attn__tensor_at(job->out_b, b, h, i, d), job->out_b.dtype);
        attn__store(at, job->out.dtype, empty ? y : empty_b ? x : x + y);
    }
    attn__store(lse_at, job->lse.dtype, lse);
}

static void attn__merge_task(void *arg, size_t index)
{
    const attn__merge_job *job = (const attn__merge_job *)arg;
    size_t row, L = job->out.len;
    int saved = ATTN__ERRNO;
    for (row = index; row < job->rows; row += job->tasks)
        attn__merge_row(job, row / L / job->out.heads, row / L % job->out.heads, row % L);
    ATTN__ERRNO_KEEP(saved);
}

ATTN_API attn_status attn_merge_ctx(attn_tensor out, attn_tensor lse, attn_tensor out_b, attn_tensor lse_b,
                                    const attn_ctx *ctx)
{
    attn__view v[5];
    attn__merge_job job;
    attn_status status;
    v[0] = attn__view_of_tensor(out, ATTN__OUT);
    v[1] = attn__view_of_tensor(lse, ATTN__OUT | ATTN__ANY_FLOAT);
    v[2] = attn__view_of_tensor(out_b, ATTN__IN);
    v[3] = attn__view_of_tensor(lse_b, ATTN__IN | ATTN__ANY_FLOAT);
    v[4] = attn__view_of_scratch(ctx);
    status = attn__first(attn__check_views(v, 5), attn__check_ctx(ctx));
    status = attn__require(status, attn__is_shape(lse, out.batch, out.heads, out.len, 1), ATTN_ERR_SHAPE);
    status = attn__require(status, attn__is_shape(out_b, out.batch, out.heads, out.len, out.dim), ATTN_ERR_SHAPE);
    status = attn__require(status, attn__is_shape(lse_b, out.batch, out.heads, out.len, 1), ATTN_ERR_SHAPE);
    if (status != ATTN_OK)
        return status;
    job.out = out;
    job.lse = lse;
    job.out_b = out_b;
    job.lse_b = lse_b;
    job.rows = out.batch * out.heads * out.len; /* lse has that many elements of its own */
    job.tasks = attn__ctx_tasks(ctx, job.rows);
    attn__run(ctx, job.tasks, attn__merge_task, &job);
    return ATTN_OK;
}

ATTN_API attn_status attn_merge(attn_tensor out, attn_tensor lse, attn_tensor out_b, attn_tensor lse_b)
{
    return attn_merge_ctx(out, lse, out_b, lse_b, NULL);
}

/* ==== 7. cache, positions, layer ================================================================================= */

/* -- key/value cache --

   Storage is one block: three numbers for each item, the scales of I8, then all rows of k and v. Token j of an item is
   row j % capacity. Nothing ever moves but in attn_kv_cache_reorder; a full cache and a ring differ only in what append
   may do. Attending is the engine's work: the plan of a cache says where rows lie and which are gone. */

typedef struct attn__cache_layout { /* where things lie in the storage; lens come first */
    size_t first, uses, k_scales, v_scales, k, v, bytes;
} attn__cache_layout;

static int attn__lay_out_cache(attn__cache_layout *at, size_t B, size_t Hkv, size_t capacity, size_t D, size_t Dv,
                               attn_dtype dtype) /* 0: overflow */
{
    size_t end = 0, rows, k_row, v_row, size = attn__size(dtype), scale = dtype == ATTN_I8 ? sizeof(float) : 0;
    memset(at, 0, sizeof *at);
    if (!attn__multiply(&rows, B, Hkv) || !attn__multiply(&rows, rows, capacity) || !attn__multiply(&k_row, D, size) ||
        !attn__multiply(&v_row, Dv, size))
        return 0;
    attn__reserve(&end, B, sizeof(size_t));
    at->first = attn__reserve(&end, B, sizeof(size_t));
    at->uses = attn__reserve(&end, B, sizeof(size_t));
    at->k_scales = attn__reserve(&end, rows, scale);
    at->v_scales = attn__reserve(&end, rows, scale);
    at->k = attn__reserve(&end, rows, k_row);
    at->v = attn__reserve(&end, rows, v_row);
    at->bytes = end;
    attn__reserve(&end, 1, ATTN__ALIGN); /* to align what the caller gives */
    return end != SIZE_MAX;
}

static attn_status attn__check_cache(attn__cache_layout *at, size_t B, size_t Hkv, size_t capacity, size_t D, size_t Dv,
                                     attn_dtype dtype)
{
    attn_status status = ATTN_OK;
    int known = dtype == ATTN_F32 || dtype == ATTN_F16 || dtype == ATTN_BF16 || dtype == ATTN_I8;
    int possible = attn__lay_out_cache(at, B, Hkv, capacity, D, Dv, dtype) &&
                   !attn__tensor_bad(attn_bhld(NULL, dtype, B, Hkv, capacity, D)) &&
                   !attn__tensor_bad(attn_bhld(NULL, dtype, B, Hkv, capacity, Dv));
    status = attn__require(status, known, ATTN_ERR_DTYPE);
    status = attn__require(status, capacity > 0 && D > 0, ATTN_ERR_SHAPE);
    return attn__require(status, possible, ATTN_ERR_OVERFLOW);
}

ATTN_API attn_status attn_kv_cache_size(size_t *bytes, size_t B, size_t Hkv, size_t capacity, size_t D, size_t Dv,
                                        attn_dtype dtype, int ring)
{
    attn__cache_layout at;
    attn_status status = attn__check_cache(&at, B, Hkv, capacity, D, Dv, dtype);
    (void)ring;
    status = attn__require(status, bytes != NULL, ATTN_ERR_NULL);
    if (status == ATTN_OK)
        *bytes = at.bytes + ATTN__ALIGN;
    return status;
}

ATTN_API attn_status attn_kv_cache_init(attn_kv_cache *cache, size_t B, size_t Hkv, size_t capacity, size_t D,
                                        size_t Dv, attn_dtype dtype, int ring, void *storage, size_t size)
{
    attn__cache_layout at;
    attn_status status = attn__check_cache(&at, B, Hkv, capacity, D, Dv, dtype);
    attn__view views[2];
    void *own = NULL;
    char *base;
    views[0] = attn__view_of_array(cache, sizeof *cache, 1, ATTN__OUT);
    views[1] = attn__view_of_array(storage, size, 1, ATTN__OUT | ATTN__OPTIONAL);
    status = attn__first(status, attn__check_views(views, 2));
    status = attn__require(status, storage || size == 0, ATTN_ERR_NULL);
    status = attn__require(status, !storage || size >= at.bytes + ATTN__ALIGN, ATTN_ERR_NOMEM);
    if (status != ATTN_OK)
        return status;
    if (!storage)
        storage = own = attn__allocate(at.bytes + ATTN__ALIGN);
    if (!storage)
        return ATTN_ERR_NOMEM;
    base = attn__align(storage);
    memset(cache, 0, sizeof *cache);
    memset(base, 0, at.k_scales); /* the numbers of the items */
    cache->lens = (size_t *)(void *)base;
    cache->first = (size_t *)(void *)(base + at.first);
    if (dtype == ATTN_I8) {
        cache->k_scales = (float *)(void *)(base + at.k_scales);
        cache->v_scales = (float *)(void *)(base + at.v_scales);
    }
    cache->k = attn_bhld(base + at.k, dtype, B, Hkv, capacity, D);
    cache->v = attn_bhld(base + at.v, dtype, B, Hkv, capacity, Dv);
    cache->ring = ring != 0;
    cache->own = own;
    return ATTN_OK;
}

ATTN_API void attn_kv_cache_free(attn_kv_cache *cache)
{
    if (!cache)
        return;
    attn__release(cache->own);
    memset(cache, 0, sizeof *cache);
}

/* The cache, or one that every function refuses; and where its parts lie. */
static attn_kv_cache attn__cache_of(const attn_kv_cache *cache, attn__cache_layout *at)
{
    attn_kv_cache none = ATTN__ZERO;
    memset(at, 0, sizeof *at);
    if (!cache || !cache->lens ||
        !attn__lay_out_cache(at, cache->k.batch, cache->k.heads, cache->k.len, cache->k.dim, cache->v.dim,
                             cache->k.dtype))
        return none;
    return *cache;
}

static attn__view attn__view_of_cache(const attn_kv_cache *cache, const attn__cache_layout *at, int role)
{
    return attn__view_of_array(cache->lens, at->bytes, 1, role);
}

/* n numbers as integers; returns their scale. A row that is not finite in float throughout becomes 0 x NaN. */
static float attn__put_i8(signed char *out, const attn__kernels *kern, const char *in, attn_dtype dtype,
                          ptrdiff_t stride, size_t n)
{
    double x[ATTN__PIECE], minus_x[ATTN__PIECE], largest = 0, inverse, shifted; /* x: of either real type */
    size_t i, d, count;
    uint64_t bits;
    float scale;
    int special = 0;
    for (i = 0; i < n; i += count) {
        count = attn__min(ATTN__PIECE, n - i);
        kern->load(x, count, attn__at(in, dtype, (ptrdiff_t)i * stride), dtype, 0, stride, 1, count);
        kern->store(minus_x, kern->real, 0, 1, x, count, 1, count, -1.0);
        largest = kern->softmax_max(x, count, largest, &special);
        largest = kern->softmax_max(minus_x, count, largest, &special);
    }
    special |= largest > FLT_MAX;
    scale = (float)(special ? attn__nan() : largest / 127);
    if (!special && scale < FLT_MIN) /* coarse there: half a step more (2^-150), and no integer is beyond 127 */
        scale = (float)(largest / 127 + 7.006492321624087e-46);
    else if (!special && (double)scale * 127 > FLT_MAX) /* a step less (2^-24), and 127 of it are finite */
        scale = (float)(FLT_MAX / 127 * (1 - 5.960464477539063e-8));
    inverse = special || scale <= 0 ? 0 : attn__divide(1, (double)scale);
    for (i = 0; i < n; i += count) {
        count = attn__min(ATTN__PIECE, n - i);
        kern->load(x, count, attn__at(in, dtype, (ptrdiff_t)i * stride), dtype, 0, stride, 1, count);
        for (d = 0; d < count; d++) { /* + 1.5 * 2^52: the integer nearest to it is in the lowest bits */
            shifted = kern->real == ATTN_F64 ? x[d] : (double)((const float *)(const void *)x)[d];
            shifted = (special ? 0 : shifted) * inverse + 6755399441055744.0;
            memcpy(&bits, &shifted, 8);
            out[i + d] = (signed char)(bits & 255);
        }
    }
    return scale;
}

/* One row: n numbers of any float type, rounded once. */
static void attn__put_row(void *out, attn_dtype out_dtype, const attn__kernels *kern, const char *in, attn_dtype dtype,
                          ptrdiff_t stride, size_t n)
{
    double piece[ATTN__PIECE]; /* of either real type */
    size_t i, count;
    for (i = 0; i < n; i += count) {
        count = attn__min(ATTN__PIECE, n - i);
        kern->load(piece, count, attn__at(in, dtype, (ptrdiff_t)i * stride), dtype, 0, stride, 1, count);
        kern->store(attn__at(out, out_dtype, (ptrdiff_t)i), out_dtype, 0, 1, piece, count, 1, count, 1.0);
    }
}

/* Rows first .. n - 1 of item b, which go behind the item's tokens. */
static void attn__put_rows(attn_tensor to, float *scales, attn_tensor in, size_t b, size_t len, size_t first, size_t n)
{
    const attn__kernels *kern = attn__kernels_for(ATTN_ISA_BEST, attn__real(in.dtype));
    size_t h, r, row;
    for (h = 0; h < to.heads; h++)
        for (r = first; r < n && to.dim > 0; r++) {
            const char *x = (const char *)attn__tensor_at(in, b, h, r, 0);
            row = (len + r) % to.len;
            if (scales)
                scales[(b * to.heads + h) * to.len + row] = attn__put_i8(
                    (signed char *)attn__tensor_at(to, b, h, row, 0), kern, x, in.dtype, in.dim_stride, to.dim);
            else
                attn__put_row(attn__tensor_at(to, b, h, row, 0), to.dtype, kern, x, in.dtype, in.dim_stride, to.dim);
        }
}

/* What appending lens[b] (or all L) rows to each item comes to. */
static attn_status attn__check_room(const attn_kv_cache *cache, size_t L, const size_t *lens)
{
    attn_status status = ATTN_OK;
    size_t b, n;
    for (b = 0; b < cache->k.batch; b++) {
        n = lens ? lens[b] : L;
        status = attn__require(status, n <= L && (cache->ring || n <= cache->k.len - cache->lens[b]), ATTN_ERR_VALUE);
        status = attn__require(status, n > L || n <= (size_t)PTRDIFF_MAX - cache->lens[b], ATTN_ERR_OVERFLOW);
    }
    return status;
}

ATTN_API attn_status attn_kv_cache_append(attn_kv_cache *cache, attn_tensor k, attn_tensor v, const size_t *lens)
{
    attn__cache_layout at;
    attn_kv_cache c = attn__cache_of(cache, &at);
    attn__view views[4];
    attn_status status;
    size_t b, n, first;
    views[0] = attn__view_of_cache(&c, &at, ATTN__OUT);
    views[1] = attn__view_of_tensor(k, ATTN__IN | ATTN__ANY_FLOAT);
    views[2] = attn__view_of_tensor(v, ATTN__IN | ATTN__ANY_FLOAT);
    views[3] = attn__view_of_array(lens, c.k.batch, sizeof *lens, ATTN__OPTIONAL);
    status = attn__check_views(views, 4);
    status = attn__require(status, attn__is_shape(k, c.k.batch, c.k.heads, k.len, c.k.dim), ATTN_ERR_SHAPE);
    status = attn__require(status, attn__is_shape(v, c.k.batch, c.k.heads, k.len, c.v.dim), ATTN_ERR_SHAPE);
    if (attn__is_sound(status) && attn__is_aligned(lens, sizeof *lens))
        status = attn__first(status, attn__check_room(&c, k.len, lens));
    for (b = 0; b < c.k.batch && status == ATTN_OK; b++) {
        n = lens ? lens[b] : k.len;
        first = n > c.k.len ? n - c.k.len : 0; /* a ring keeps the newest */
        attn__put_rows(c.k, c.k_scales, k, b, c.lens[b], first, n);
        attn__put_rows(c.v, c.v_scales, v, b, c.lens[b], first, n);
        c.lens[b] += n;
        if (c.lens[b] > c.k.len)
            c.first[b] = attn__max(c.first[b], c.lens[b] - c.k.len);
    }
    return status;
}

ATTN_API attn_status attn_kv_cache_truncate(attn_kv_cache *cache, size_t b, size_t len)
{
    if (!cache || !cache->lens)
        return ATTN_ERR_NULL;
    if (b >= cache->k.batch || len > cache->lens[b])
        return ATTN_ERR_VALUE;
    cache->lens[b] = len;
    cache->first[b] = attn__min(cache->first[b], len);
    return ATTN_OK;
}

static void attn__take_bytes(void *to, void *from, size_t size, int swap) /* swap: `from` gets what `to` held */
{
    char *a = (char *)to, *b = (char *)from, held[1024];
    size_t n;
    if (!swap)
        memcpy(a, b, size);
    for (; swap && size > 0; size -= n, a += n, b += n) {
        n = attn__min(size, sizeof held);
        memcpy(held, a, n);
        memcpy(a, b, n);
        memcpy(b, held, n);
    }
}

/* The first `rows` rows of each head. */
static void attn__take_rows(attn_tensor t, size_t to, size_t from, size_t rows, int swap)
{
    size_t h, bytes = rows * t.dim * attn__size(t.dtype);
    for (h = 0; h < t.heads && bytes > 0; h++)
        attn__take_bytes(attn__tensor_at(t, to, h, 0, 0), attn__tensor_at(t, from, h, 0, 0), bytes, swap);
}

/* Item `to` becomes what item `from` is; swap: and the other way round. */
static void attn__take_item(const attn_kv_cache *cache, size_t to, size_t from, int swap)
{
    size_t rows = swap ? attn__max(cache->lens[to], cache->lens[from]) : cache->lens[from];
    attn_tensor scales;
    rows = attn__min(rows, cache->k.len);
    attn__take_rows(cache->k, to, from, rows, swap);
    attn__take_rows(cache->v, to, from, rows, swap);
    if (cache->k_scales) {
        scales = attn_bhld(cache->k_scales, ATTN_F32, cache->k.batch, cache->k.heads, cache->k.len, 1);
        attn__take_rows(scales, to, from, rows, swap);
        scales.data = cache->v_scales;
        attn__take_rows(scales, to, from, rows, swap);
    }
    attn__take_bytes(cache->lens + to, cache->lens + from, sizeof(size_t), swap);
    attn__take_bytes(cache->first + to, cache->first + from, sizeof(size_t), swap);
}

/* An item that nobody waits for is overwritten at once, which may free the one it was copied from. What then is left
   are cycles, whose items change places. */
static void attn__reorder(const attn_kv_cache *cache, size_t *waiting, const size_t *from)
{
    const size_t done = SIZE_MAX; /* waiting[b]: how many items are still to be copied from b */
    size_t b, c, next, B = cache->k.batch;
    for (b = 0; b < B; b++)
        waiting[b] = 0;
    for (b = 0; b < B; b++)
        waiting[from[b]] += from[b] != b;
    for (b = 0; b < B; b++)
        for (c = b; waiting[c] == 0; c = next) {
            next = from[c];
            waiting[c] = done;
            if (next == c)
                break;
            attn__take_item(cache, c, next, 0);
            waiting[next]--;
        }
    for (b = 0; b < B; b++)
        for (c = b; waiting[c] != done; c = next) {
            next = from[c];
            waiting[c] = done;
            if (next != c && waiting[next] != done)
                attn__take_item(cache, c, next, 1);
        }
}

ATTN_API attn_status attn_kv_cache_reorder(attn_kv_cache *cache, const size_t *from)
{
    attn__cache_layout at;
    attn_kv_cache c = attn__cache_of(cache, &at);
    attn__view views[2];
    attn_status status;
    views[0] = attn__view_of_cache(&c, &at, ATTN__OUT);
    views[1] = attn__view_of_array(from, c.k.batch, sizeof *from, ATTN__IN);
    status = attn__check_views(views, 2);
    if (attn__is_sound(status) && c.k.batch > 0)
        status = attn__require(status, attn__lengths_fit(from, c.k.batch, c.k.batch - 1), ATTN_ERR_VALUE);
    if (status == ATTN_OK)
        attn__reorder(&c, (size_t *)(void *)((char *)c.lens + at.uses), from);
    return status;
}

static int attn__sees_dropped(const attn__plan *plan)
{
    size_t b, i;
    for (b = 0; b < plan->q.batch; b++)
        for (i = 0; i < plan->q.len && plan->oldest[b] > 0; i++) {
            attn__lane lane = attn__visible(plan, b, i);
            if (lane.first < lane.end && lane.first < lane.oldest)
                return 1;
        }
    return 0;
}

static attn__fault attn__plan_cache(attn__plan *plan, attn_tensor out, attn_tensor q, const attn_kv_cache *cache,
                                    const attn_opts *opts, const attn_ctx *ctx)
{
    attn__cache_layout at;
    attn_kv_cache c = attn__cache_of(cache, &at);
    attn__arguments args;
    attn__fault fault;
    size_t b, longest = 0;
    attn__begin_plan(plan, out, q, c.k, c.v, opts, ctx);
    plan->given = 1;
    plan->newest = 1;
    plan->oldest = c.first;
    plan->wrap = c.k.len;
    plan->k_scales = c.k_scales;
    plan->v_scales = c.v_scales;
    plan->opts.kv_lens = c.lens;
    plan->opts.causal_offset = NULL;
    if (plan->opts.causal == ATTN_CAUSAL_OFFSET) /* refused below, but not for want of an array */
        plan->opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    args.count = 0;
    attn__argument(&args, "out", attn__view_of_tensor(out, ATTN__OUT));
    attn__argument(&args, "q", attn__view_of_tensor(q, ATTN__IN));
    attn__argument(&args, "cache", attn__view_of_cache(&c, &at, ATTN__IN));
    attn__argument(&args, "cache", attn__view_of_tensor(c.k, ATTN__IN | ATTN__CACHED));
    attn__argument(&args, "cache", attn__view_of_tensor(c.v, ATTN__IN | ATTN__CACHED));
    attn__list_options(&args, plan);
    fault = attn__check_arguments(&args);
    for (b = 0; b < c.k.batch; b++)
        longest = attn__max(longest, c.lens[b]);
    plan->k.len = plan->v.len = longest;
    if (opts) {
        attn__demand(&fault, !opts->kv_lens, ATTN_ERR_VALUE, "opts.kv_lens");
        attn__demand(&fault, !opts->causal_offset, ATTN_ERR_VALUE, "opts.causal_offset");
        attn__demand(&fault, opts->causal != ATTN_CAUSAL_OFFSET, ATTN_ERR_VALUE, "opts.causal");
    }
    attn__resolve(plan, &fault);
    return fault;
}

static attn__fault attn__plan_attend(attn__plan *plan, attn_tensor out, attn_tensor q, const attn_kv_cache *cache,
                                     const attn_opts *opts, const attn_ctx *ctx)
{
    attn__fault fault = attn__plan_cache(plan, out, q, cache, opts, ctx);
    if (fault.status == ATTN_OK || fault.status == ATTN_ERR_ALIAS)
        attn__demand(&fault, !attn__sees_dropped(plan), ATTN_ERR_VALUE, "cache");
    return fault;
}

ATTN_API attn_status attn_kv_cache_attend(attn_tensor out, attn_tensor q, const attn_kv_cache *cache,
                                          const attn_opts *opts, const attn_ctx *ctx)
{
    attn__plan plan;
    attn_status status = attn__plan_attend(&plan, out, q, cache, opts, ctx).status;
    return status == ATTN_OK ? attn__run_plan(&plan) : status;
}

ATTN_API attn_status attn_kv_cache_scratch(size_t *bytes, attn_tensor out, attn_tensor q, const attn_kv_cache *cache,
                                           const attn_opts *opts, const attn_ctx *ctx)
{
    attn__plan plan;
    attn_ctx bare = attn__without_scratch(ctx);
    attn_status status = attn__plan_cache(&plan, out, q, cache, opts, &bare).status;
    status = attn__require(status, bytes != NULL, ATTN_ERR_NULL);
    if (status != ATTN_OK)
        return status;
    plan.k.len = cache->ring ? (size_t)PTRDIFF_MAX : cache->k.len; /* as many keys as there may ever be */
    if (!attn__lay_out(&plan))
        return ATTN_ERR_OVERFLOW;
    *bytes = plan.bytes;
    return ATTN_OK;
}

ATTN_API attn_status attn_kv_cache_explain(char *text, size_t size, attn_tensor out, attn_tensor q,
                                           const attn_kv_cache *cache, const attn_opts *opts, const attn_ctx *ctx)
{
    attn__plan plan;
    attn__fault fault = attn__plan_attend(&plan, out, q, cache, opts, ctx);
    return attn__explain(text, size, &plan, fault, plan.bytes, ATTN__STACK);
}

/* -- positions -- */

static int attn__is_positive(double x)
{
    return attn__is_finite(x) && x > 0;
}

#define ATTN__PAIRS 64 /* pairs that are turned together */

typedef struct attn__turn { /* attn_rope at work: some pairs of one position */
    attn_tensor out, in;
    attn_rope_opts opts; /* resolved */
    const attn__kernels *kern;
    size_t first, pairs;
    double frequency[ATTN__PAIRS], cosine[ATTN__PAIRS], sine[ATTN__PAIRS];
} attn__turn;

static void attn__turn_to(attn__turn *turn, ptrdiff_t position)
{
    size_t d;
    for (d = 0; d < turn->pairs; d++) {
        double angle = (double)position * turn->frequency[d];
        turn->cosine[d] = turn->opts.scale * attn__cos(angle);
        turn->sine[d] = turn->opts.scale * attn__sin(angle);
    }
}

static void attn__turn_row(const attn__turn *turn, size_t b, size_t h, size_t i)
{
    attn_tensor out = turn->out, in = turn->in;
    double x[2 * ATTN__PAIRS], held; /* two halves, or pairs side by side */
    size_t n = turn->pairs, both = turn->opts.interleaved ? 2 : 1, step = both, at = both * turn->first, d;
    size_t y = turn->opts.interleaved ? 1 : ATTN__PAIRS, half = turn->opts.interleaved ? 0 : turn->opts.dim / 2;
    turn->kern->load(x, n, attn__tensor_at(in, b, h, i, at), in.dtype, 0, in.dim_stride, 1, both * n);
    if (half)
        turn->kern->load(x + y, n, attn__tensor_at(in, b, h, i, at + half), in.dtype, 0, in.dim_stride, 1, n);
    for (d = 0; d < n; d++) {
        held = x[step * d];
        x[step * d] = held * turn->cosine[d] - x[step * d + y] * turn->sine[d];
        x[step * d + y] = held * turn->sine[d] + x[step * d + y] * turn->cosine[d];
    }
    turn->kern->store(attn__tensor_at(out, b, h, i, at), out.dtype, 0, out.dim_stride, x, n, 1, both * n, 1.0);
    if (half)
        turn->kern->store(attn__tensor_at(out, b, h, i, at + half), out.dtype, 0, out.dim_stride, x + y, n, 1, n, 1.0);
}

static ptrdiff_t attn__position(const attn_rope_opts *o, size_t b, size_t i)
{
    if (!o->positions)
        return attn__plus(o->offset, (ptrdiff_t)i);
    return attn__plus(o->offset,
                      o->positions[(ptrdiff_t)b * o->position_batch_stride + (ptrdiff_t)i * o->position_len_stride]);
}

/* All rows, for the pairs in hand: cosines and sines are computed once for all heads, and for all items at once where
   their positions are the same. */
static void attn__turn_rows(attn__turn *turn)
{
    size_t b, h, i;
    ptrdiff_t position, last = 0;
    for (i = 0; i < turn->in.len; i++)
        for (b = 0; b < turn->in.batch; b++) {
            position = attn__position(&turn->opts, b, i);
            if ((i == 0 && b == 0) || position != last)
                attn__turn_to(turn, position);
            last = position;
            for (h = 0; h < turn->in.heads; h++)
                attn__turn_row(turn, b, h, i);
        }
}

static void attn__rope(attn_tensor out, attn_tensor in, const attn_rope_opts *opts)
{
    attn__turn turn;
    size_t d, b, h, D = in.dim, dim = opts->dim;
    turn.out = out;
    turn.in = in;
    turn.opts = *opts;
    turn.kern = attn__kernels_for(ATTN_ISA_BEST, ATTN_F64);
    for (turn.first = 0; turn.first < dim / 2; turn.first += ATTN__PAIRS) {
        turn.pairs = attn__min(dim / 2 - turn.first, ATTN__PAIRS);
        for (d = 0; d < turn.pairs; d++)
            turn.frequency[d] = opts->frequencies
                                    ? opts->frequencies[turn.first + d]
                                    : attn__pow(opts->base, -2.0 * (double)(turn.first + d) / (double)dim);
        attn__turn_rows(&turn);
    }
    for (b = 0; b < in.batch && dim < D && out.data != in.data; b++)
        for (h = 0; h < in.heads; h++)
            attn__copy(attn_mat_cols(attn_head(out, b, h), dim, D - dim),
                       attn_mat_cols(attn_head(in, b, h), dim, D - dim));
}

ATTN_API attn_status attn_rope(attn_tensor out, attn_tensor in, const attn_rope_opts *opts)
{
    attn_rope_opts o = ATTN__ZERO;
    attn__view views[4];
    attn_status status;
    size_t d;
    int saved = ATTN__ERRNO, finite = 1;
    if (opts)
        o = *opts;
    o.dim = o.dim ? o.dim : in.dim;
    o.base = attn__or(o.base, 10000);
    o.scale = attn__or(o.scale, 1);
    if (o.position_batch_stride == 0 && o.position_len_stride == 0) {
        o.position_batch_stride = (ptrdiff_t)in.len;
        o.position_len_stride = 1;
    }
    views[0] = attn__view_of_tensor(out, ATTN__OUT | ATTN__IN_PLACE | ATTN__ANY_FLOAT);
    views[1] = attn__view_of_tensor(in, ATTN__IN | ATTN__ANY_FLOAT);
    views[2] = attn__view_of_array(o.positions, in.len, sizeof *o.positions, ATTN__OPTIONAL);
    if (o.positions) {
        views[2].n[2] = in.batch;
        views[2].s[2] = o.position_batch_stride;
        views[2].s[3] = o.position_len_stride;
    }
    views[3] = attn__view_of_array(o.frequencies, o.dim / 2, sizeof *o.frequencies, ATTN__OPTIONAL);
    status = attn__check_views(views, 4);
    status = attn__require(status, attn__is_shape(out, in.batch, in.heads, in.len, in.dim), ATTN_ERR_SHAPE);
    status = attn__require(status, (opts && opts->dim) || in.dim % 2 == 0, ATTN_ERR_SHAPE);
    status = attn__require(status, o.dim % 2 == 0 && o.dim <= in.dim, ATTN_ERR_VALUE);
    if (o.frequencies && attn__is_sound(status) && attn__is_aligned(o.frequencies, sizeof *o.frequencies))
        for (d = 0; d < o.dim / 2 && o.dim <= in.dim; d++)
            finite &= attn__is_finite(o.frequencies[d]);
    finite &= attn__is_positive(o.base) && attn__is_finite(o.scale) && attn__is_finite(attn__divide(1, o.base));
    status = attn__require(status, finite, ATTN_ERR_VALUE);
    if (status == ATTN_OK && !attn__is_empty(&views[1]))
        attn__rope(out, in, &o);
    ATTN__ERRNO_KEEP(saved);
    return status;
}

/* The pair, as a real number, that comes round `cycles` times within original_len positions. */
static double attn__pair_of(double cycles, double dim, double base, double original_len)
{
    return dim * attn__log(original_len / (cycles * 6.283185307179586)) / (2 * attn__log(base));
}

static double attn__round_within(double x, double most, int up) /* rounded down or up, within 0 .. most */
{
    double whole;
    x = x < 0 ? 0 : x > most ? most : x;
    whole = (double)(size_t)x;
    return up && whole < x ? whole + 1 : whole;
}

/* Frequency d; of YARN those below `low` stay, those above `high` are stretched. */
static double attn__frequency(const attn_rope_scaling *s, double base, size_t dim, size_t d, double low, double high)
{
    double frequency = attn__pow(base, -2.0 * (double)d / (double)dim), share = 0;
    if (s->kind == ATTN_ROPE_LINEAR)
        share = 1;
    else if (s->kind == ATTN_ROPE_YARN)
        share = ((double)d - low) / (high - low);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return share > 0 ? frequency * (1 - share) + frequency / s->factor * share : frequency;
}

ATTN_API attn_status attn_rope_frequencies(double *freq, size_t dim, double base, const attn_rope_scaling *scaling,
                                           double *scale)
{
    attn_rope_scaling s = ATTN__ZERO;
    attn__view views[3];
    attn_status status;
    double most = dim > 0 ? (double)dim - 1 : 0, low = 0, high = 1;
    size_t d;
    int saved = ATTN__ERRNO, valid;
    if (scaling)
        s = *scaling;
    base = attn__or(base, 10000);
    s.beta_fast = attn__or(s.beta_fast, 32);
    s.beta_slow = attn__or(s.beta_slow, 1);
    views[0] = attn__view_of_array(freq, dim / 2, sizeof *freq, dim / 2 > 0 ? ATTN__OUT : ATTN__OUT | ATTN__OPTIONAL);
    views[1] = attn__view_of_array(scale, 1, sizeof *scale, ATTN__OUT | ATTN__OPTIONAL);
    views[2] = attn__view_of_array(scaling, sizeof *scaling, 1, ATTN__OPTIONAL);
    status = attn__check_views(views, 3);
    valid = dim % 2 == 0 && attn__is_positive(base) && (unsigned)s.kind <= ATTN_ROPE_YARN;
    valid &= s.kind == ATTN_ROPE_PLAIN || attn__is_positive(s.factor);
    valid &=
        s.kind != ATTN_ROPE_YARN || (base > 1 && attn__is_positive(s.original_len) && attn__is_positive(s.beta_slow) &&
                                     attn__is_positive(s.beta_fast) && s.beta_fast >= s.beta_slow);
    status = attn__require(status, valid, ATTN_ERR_VALUE);
    if (status != ATTN_OK)
        return status;
    if (s.kind == ATTN_ROPE_NTK && dim > 2)
        base *= attn__pow(s.factor, (double)dim / (double)(dim - 2));
    if (s.kind == ATTN_ROPE_YARN) {
        low = attn__round_within(attn__pair_of(s.beta_fast, (double)dim, base, s.original_len), most, 0);
        high = attn__round_within(attn__pair_of(s.beta_slow, (double)dim, base, s.original_len), most, 1);
        high = high > low ? high : low + 0.001;
    }
    for (d = 0; d < dim / 2; d++)
        valid &= attn__is_finite(attn__frequency(&s, base, dim, d, low, high));
    for (d = 0; d < dim / 2 && valid; d++)
        freq[d] = attn__frequency(&s, base, dim, d, low, high);
    if (scale && valid)
        *scale = s.kind == ATTN_ROPE_YARN && s.factor > 1 ? 1 + 0.1 * attn__log(s.factor) : 1;
    ATTN__ERRNO_KEEP(saved);
    return valid ? ATTN_OK : ATTN_ERR_VALUE;
}

ATTN_API attn_tensor attn_relative(attn_mat by_distance, size_t Lq, size_t Lk)
{
    attn_tensor t = ATTN__ZERO;
    if (attn__mat_absent(by_distance))
        return t;
    by_distance = attn__checked_mat(by_distance);
    if (attn__mat_bad(by_distance) || Lq > (size_t)PTRDIFF_MAX || Lk > (size_t)PTRDIFF_MAX ||
        by_distance.cols != attn__max(Lq + Lk, 1) - 1)
        return attn__bad_tensor();
    t.data = by_distance.data;
    if (t.data && Lq > 0 && Lk > 0 && by_distance.rows > 0)
        t.data = attn__mat_at(by_distance, 0, Lq - 1);
    t.dtype = by_distance.dtype;
    t.batch = 1;
    t.heads = by_distance.rows;
    t.len = Lq;
    t.dim = Lk;
    t.head_stride = by_distance.row_stride;
    t.len_stride = by_distance.cols > 1 ? -by_distance.col_stride : 0;
    t.dim_stride = by_distance.col_stride;
    return t;
}

/* The bucket of a distance = key - query. Of the `count` in one direction, half hold one distance each, the others go
   by its logarithm. */
static size_t attn__bucket(ptrdiff_t distance, size_t buckets, int bidirectional, double max_distance)
{
    size_t count = bidirectional ? buckets / 2 : buckets, exact = count / 2, first = 0;
    double apart, steps;
    if (bidirectional && distance > 0)
        first = count;
    else if (distance > 0)
        distance = 0;
    apart = (double)attn__magnitude(distance);
    if (apart < (double)exact)
        return first + attn__magnitude(distance);
    steps = attn__log(apart / (double)exact) / attn__log(max_distance / (double)exact) * (double)(count - exact);
    steps += steps * 1e-12; /* where apart is an exact step */
    return first + (steps < (double)(count - exact - 1) ? exact + (size_t)steps : count - 1);
}

ATTN_API attn_status attn_t5_bias(attn_mat by_distance, attn_mat table, int bidirectional, size_t max_distance,
                                  ptrdiff_t first_distance)
{
    attn__view views[2];
    attn_status status;
    size_t exact = table.rows / (bidirectional ? 4 : 2), c, h, bucket;
    int saved = ATTN__ERRNO;
    max_distance = max_distance ? max_distance : 128;
    views[0] = attn__view_of(by_distance, ATTN__OUT | ATTN__ANY_FLOAT);
    views[1] = attn__view_of(table, ATTN__IN | ATTN__ANY_FLOAT);
    status = attn__check_views(views, 2);
    status = attn__require(status, by_distance.rows == table.cols && exact > 0, ATTN_ERR_SHAPE);
    status = attn__require(status, max_distance > exact, ATTN_ERR_VALUE);
    for (c = 0; c < by_distance.cols && by_distance.rows > 0 && status == ATTN_OK; c++) {
        bucket =
            attn__bucket(attn__plus(first_distance, (ptrdiff_t)c), table.rows, bidirectional, (double)max_distance);
        for (h = 0; h < by_distance.rows; h++)
            attn__store(attn__mat_at(by_distance, h, c), by_distance.dtype,
                        attn__load(attn__mat_at(table, bucket, h), table.dtype));
    }
    ATTN__ERRNO_KEEP(saved);
    return status;
}

ATTN_API attn_status attn_alibi_slopes(float *slopes, size_t H)
{
    attn__view view = attn__view_of_array(slopes, H, sizeof *slopes, H > 0 ? ATTN__OUT : ATTN__OUT | ATTN__OPTIONAL);
    attn_status status;
    size_t h, power = 1;
    int saved = ATTN__ERRNO;
    status = attn__check_views(&view, 1);
    while (power <= H / 2)
        power *= 2;
    for (h = 0; h < H && status == ATTN_OK; h++) { /* the nth of power, or the 1st, 3rd, .. of 2 power */
        double n = h < power ? (double)(h + 1) : (double)(h - power) + 0.5;
        slopes[h] = (float)attn__pow(2.0, -8.0 * n / (double)power);
    }
    ATTN__ERRNO_KEEP(saved);
    return status;
}

ATTN_API attn_status attn_sinusoid(attn_mat out, size_t first)
{
    attn__view view = attn__view_of(out, ATTN__OUT | ATTN__ANY_FLOAT);
    attn_status status = attn__check_views(&view, 1);
    size_t r, c;
    int saved = ATTN__ERRNO;
    for (c = 0; c < out.cols && out.rows > 0 && status == ATTN_OK; c++) {
        double frequency = attn__pow(10000.0, -2.0 * (double)(c / 2) / (double)out.cols);
        for (r = 0; r < out.rows; r++) {
            double angle = ((double)first + (double)r) * frequency;
            attn__store(attn__mat_at(out, r, c), out.dtype, c % 2 ? attn__cos(angle) : attn__sin(angle));
        }
    }
    ATTN__ERRNO_KEEP(saved);
    return status;
}

/* -- multi-head layer --

   Q = q wq + bq, K, V become packed rows in scratch, where the engine reads them as heads; what it returns goes through
   wo. A bias is one more term of each sum. */

typedef struct attn__mha {
    attn__plan plan; /* of the projections: its tensors lie in scratch */
    attn_tensor out, q, k, v;
    attn_tensor mean, all; /* the mean of the weights, and all of them, in scratch; both absent if it is not wanted */
    attn_mha_weights w;
    size_t at_q, at_k, at_v, at_out, at_weights, at_rest, bytes;
} attn__mha;

static attn_tensor attn__join_heads(attn_tensor t) /* B x H x L x D, packed as above, as B x 1 x L x H D */
{
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

/* out = in w + bias: the first lens[b] (or all) rows of each item; the others become zeros. */
static void attn__project(attn_tensor out, attn_tensor in, attn_mat w, const float *bias, const size_t *lens,
                          const attn_ctx *ctx)
{
    attn_tensor all_out = attn__join_items(out), all_in = attn__join_items(in);
    attn_mat rows;
    size_t b, n, r, c, full = 0;
    if (out.len == 0 || out.dim == 0)
        return;
    while (full < out.batch && (!lens || lens[full] == out.len))
        full++;
    if (full == out.batch && all_out.batch == 1 && all_in.batch == 1) {
        out = all_out;
        in = all_in;
        lens = NULL;
    }
    for (b = 0; b < out.batch; b++) {
        rows = attn_head(out, b, 0);
        n = lens ? lens[b] : rows.rows;
        attn__matmul_bias(attn_mat_rows(rows, 0, n), attn_mat_rows(attn_head(in, b, 0), 0, n), w, bias, 1.0, ctx);
        for (r = n; r < rows.rows && rows.cols > 0; r++)
            for (c = 0; c < rows.cols; c++)
                attn__store(attn__mat_at(rows, r, c), rows.dtype, 0);
    }
}

/* mean = weights averaged over the heads, which lie beside each other: for each query a product of 1 x H and H x Lk. */
static void attn__mean_weights(attn_tensor mean, attn_tensor weights, const attn_ctx *ctx)
{
    attn_mat ones = attn__ones(weights.dtype, 1, weights.heads), all;
    size_t b, i;
    for (b = 0; b < mean.batch && mean.dim > 0; b++)
        for (i = 0; i < mean.len; i++) {
            all = attn_mat_of(attn__tensor_at(weights, b, 0, i, 0), weights.dtype, weights.heads, weights.dim);
            attn__matmul(attn_mat_rows(attn_head(mean, b, 0), i, 1), ones, all, 1 / (double)weights.heads, ctx);
        }
}

static void attn__list_mha(attn__arguments *args, const attn__mha *mha)
{
    const attn_mha_weights *w = &mha->w;
    attn__argument(args, "out", attn__view_of_tensor(mha->out, ATTN__OUT));
    attn__argument(args, "q", attn__view_of_tensor(mha->q, ATTN__IN));
    attn__argument(args, "k", attn__view_of_tensor(mha->k, ATTN__IN));
    attn__argument(args, "v", attn__view_of_tensor(mha->v, ATTN__IN));
    attn__argument(args, "weights.wq", attn__view_of(w->wq, ATTN__IN));
    attn__argument(args, "weights.wk", attn__view_of(w->wk, ATTN__IN));
    attn__argument(args, "weights.wv", attn__view_of(w->wv, ATTN__IN));
    attn__argument(args, "weights.wo", attn__view_of(w->wo, ATTN__IN));
    attn__argument(args, "weights.bq", attn__view_of_array(w->bq, w->wq.cols, sizeof *w->bq, ATTN__OPTIONAL));
    attn__argument(args, "weights.bk", attn__view_of_array(w->bk, w->wk.cols, sizeof *w->bk, ATTN__OPTIONAL));
    attn__argument(args, "weights.bv", attn__view_of_array(w->bv, w->wv.cols, sizeof *w->bv, ATTN__OPTIONAL));
    attn__argument(args, "weights.bo", attn__view_of_array(w->bo, w->wo.cols, sizeof *w->bo, ATTN__OPTIONAL));
    attn__list_options(args, &mha->plan);
}

static int attn__is_product(size_t n, size_t a, size_t b) /* n = a b, of a > 0 */
{
    return a > 0 && n % a == 0 && n / a == b;
}

static void attn__check_mha_shapes(const attn__mha *mha, attn__fault *fault)
{
    const attn_mha_weights *w = &mha->w;
    attn_tensor q = mha->q, k = mha->k, v = mha->v;
    size_t B = q.batch, H = w->heads, Hkv = w->kv_heads, D = mha->plan.q.dim, Dv = mha->plan.v.dim;
    attn__demand(fault, attn__is_shape(mha->out, B, 1, q.len, w->wo.cols), ATTN_ERR_SHAPE, "out");
    attn__demand(fault, q.heads == 1, ATTN_ERR_SHAPE, "q");
    attn__demand(fault, attn__is_shape(k, B, 1, k.len, k.dim), ATTN_ERR_SHAPE, "k");
    attn__demand(fault, attn__is_shape(v, B, 1, k.len, v.dim), ATTN_ERR_SHAPE, "v");
    attn__demand(fault, H > 0 && H % Hkv == 0, ATTN_ERR_SHAPE, "weights.heads");
    attn__demand(fault, w->wq.rows == q.dim && D > 0 && attn__is_product(w->wq.cols, H, D), ATTN_ERR_SHAPE,
                 "weights.wq");
    attn__demand(fault, w->wk.rows == k.dim && attn__is_product(w->wk.cols, Hkv, D), ATTN_ERR_SHAPE, "weights.wk");
    attn__demand(fault, w->wv.rows == v.dim && attn__is_product(w->wv.cols, Hkv, Dv), ATTN_ERR_SHAPE, "weights.wv");
    attn__demand(fault, attn__is_product(w->wo.rows, H, Dv), ATTN_ERR_SHAPE, "weights.wo");
}

static size_t attn__reserve_tensor(size_t *end, attn_tensor t)
{
    size_t rows, row;
    if (attn__multiply(&rows, t.batch, t.len) && attn__multiply(&row, t.heads, t.dim) &&
        attn__multiply(&row, row, attn__size(t.dtype)))
        return attn__reserve(end, rows, row);
    *end = SIZE_MAX;
    return *end;
}

/* Scratch that a product of so many rows has use for; with less it only takes longer. */
static size_t attn__product_bytes(const attn__plan *plan, size_t rows, attn_mat w)
{
    attn_mat a = attn_mat_of(NULL, plan->q.dtype, rows, w.rows), out = attn_mat_of(NULL, plan->q.dtype, rows, w.cols);
    attn__matmul_job job;
    size_t bytes;
    if (out.rows == 0 || out.cols == 0)
        return 0;
    job = attn__plan_matmul(out, a, w, NULL, 1.0, &plan->ctx);
    return job.slice > ATTN__STACK && attn__multiply(&bytes, job.slice, job.tasks) ? bytes : 0;
}

static int attn__lay_out_mha(attn__mha *mha) /* 0: overflow */
{
    attn__plan *plan = &mha->plan;
    size_t end = 0, rest, q_rows = plan->q.batch * plan->q.len, k_rows = plan->k.batch * plan->k.len;
    mha->at_q = attn__reserve_tensor(&end, plan->q);
    mha->at_k = attn__reserve_tensor(&end, plan->k);
    mha->at_v = attn__reserve_tensor(&end, plan->v);
    mha->at_out = attn__reserve_tensor(&end, plan->out);
    mha->at_weights = attn__reserve_tensor(&end, mha->all);
    mha->at_rest = end;
    if (end == SIZE_MAX)
        return 0;
    rest = attn__max(plan->bytes, attn__product_bytes(plan, q_rows, mha->w.wq));
    rest = attn__max(rest, attn__product_bytes(plan, k_rows, mha->w.wk));
    rest = attn__max(rest, attn__product_bytes(plan, k_rows, mha->w.wv));
    rest = attn__max(rest, attn__product_bytes(plan, q_rows, mha->w.wo));
    attn__reserve(&end, rest, 1);
    attn__reserve(&end, 1, ATTN__ALIGN);
    mha->bytes = end;
    return end != SIZE_MAX;
}

static attn__fault attn__plan_mha(attn__mha *mha, attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                                  const attn_mha_weights *weights, const attn_opts *opts, const attn_ctx *ctx)
{
    attn__plan *plan = &mha->plan;
    attn__arguments args;
    attn__fault fault;
    attn_dtype real = attn__real(q.dtype);
    size_t H, Hkv, D, Dv;
    memset(mha, 0, sizeof *mha);
    if (weights)
        mha->w = *weights;
    mha->w.kv_heads = mha->w.kv_heads ? mha->w.kv_heads : mha->w.heads;
    mha->out = out;
    mha->q = q;
    mha->k = k;
    mha->v = v;
    H = mha->w.heads;
    Hkv = mha->w.kv_heads;
    D = H ? mha->w.wq.cols / H : 0;
    Dv = Hkv ? mha->w.wv.cols / Hkv : 0;
    attn__begin_plan(plan, attn__packed(real, q.batch, q.len, H, Dv), attn__packed(real, q.batch, q.len, H, D),
                     attn__packed(real, q.batch, k.len, Hkv, D), attn__packed(real, q.batch, k.len, Hkv, Dv), opts,
                     ctx);
    args.count = 0;
    attn__list_mha(&args, mha);
    fault = attn__check_arguments(&args);
    if (H > 1 && !attn__tensor_absent(plan->opts.weights) &&
        attn__is_shape(plan->opts.weights, q.batch, 1, q.len, k.len)) {
        mha->mean = plan->opts.weights;
        mha->all = plan->opts.weights = attn__packed(real, q.batch, q.len, H, k.len);
    }
    attn__check_mha_shapes(mha, &fault);
    attn__resolve(plan, &fault);
    if (attn__is_sound(fault.status) && plan->kern)
        attn__demand(&fault, attn__lay_out_mha(mha), ATTN_ERR_OVERFLOW, "q");
    return fault;
}

static void attn__mha_run(attn__mha *mha, char *scratch)
{
    attn__plan *plan = &mha->plan;
    const attn_mha_weights *w = &mha->w;
    const attn_opts *o = &plan->opts;
    attn_ctx ctx = plan->ctx; /* products use what the engine will use after them */
    plan->q.data = scratch + mha->at_q;
    plan->k.data = scratch + mha->at_k;
    plan->v.data = scratch + mha->at_v;
    plan->out.data = scratch + mha->at_out;
    if (!attn__tensor_absent(mha->mean))
        plan->opts.weights.data = scratch + mha->at_weights;
    plan->scratch = scratch + mha->at_rest;
    ctx.scratch = plan->scratch;
    ctx.scratch_size = mha->bytes - ATTN__ALIGN - mha->at_rest;
    attn__project(attn__join_heads(plan->q), mha->q, w->wq, w->bq, o->q_lens, &ctx);
    attn__project(attn__join_heads(plan->k), mha->k, w->wk, w->bk, o->kv_lens, &ctx);
    attn__project(attn__join_heads(plan->v), mha->v, w->wv, w->bv, o->kv_lens, &ctx);
    if (plan->tasks > 0)
        attn__sdpa(plan);
    attn__mean_weights(mha->mean, plan->opts.weights, &ctx);
    attn__project(mha->out, attn__join_heads(plan->out), w->wo, w->bo, o->q_lens, &ctx);
}

ATTN_API attn_status attn_mha(attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                              const attn_mha_weights *weights, const attn_opts *opts, const attn_ctx *ctx)
{
    attn__mha mha;
    attn_status status = attn__plan_mha(&mha, out, q, k, v, weights, opts, ctx).status;
    void *own = NULL, *scratch = mha.plan.ctx.scratch;
    if (status != ATTN_OK)
        return status;
    if (!attn__has_scratch(&mha.plan.ctx, mha.bytes, 0))
        return ATTN_ERR_NOMEM;
    if (!scratch)
        scratch = own = attn__allocate(mha.bytes);
    if (!scratch)
        return ATTN_ERR_NOMEM;
    attn__mha_run(&mha, attn__align(scratch));
    attn__release(own);
    return ATTN_OK;
}

ATTN_API attn_status attn_mha_scratch(size_t *bytes, attn_tensor out, attn_tensor q, attn_tensor k, attn_tensor v,
                                      const attn_mha_weights *weights, const attn_opts *opts, const attn_ctx *ctx)
{
    attn__mha mha;
    attn_ctx bare = attn__without_scratch(ctx);
    attn_status status = attn__plan_mha(&mha, out, q, k, v, weights, opts, &bare).status;
    status = attn__require(status, bytes != NULL, ATTN_ERR_NULL);
    if (status == ATTN_OK)
        *bytes = mha.bytes;
    return status;
}

ATTN_API attn_status attn_mha_explain(char *text, size_t size, attn_tensor out, attn_tensor q, attn_tensor k,
                                      attn_tensor v, const attn_mha_weights *weights, const attn_opts *opts,
                                      const attn_ctx *ctx)
{
    attn__mha mha;
    attn__fault fault = attn__plan_mha(&mha, out, q, k, v, weights, opts, ctx);
    return attn__explain(text, size, &mha.plan, fault, mha.bytes, 0);
}

#ifdef __cplusplus
}
#endif

#endif /* ATTN_IMPLEMENTATION, once */

#else /* ATTN__PASS */

/* ==== 9. kernels =================================================================================================

   This part is compiled once for every instruction set and real type. First the vocabulary of the pass: the vector V of
   W reals R, its operations, its register tile of ROWS x 3 vectors. Then the kernels, written once on top of it.
   Infinities and NaNs are never compared as numbers here: -ffast-math would fold that. Masked or special values are
   found by their bits. */

#if ATTN__REAL_F64
#define ATTN__R double
#define ATTN__REAL ATTN_F64
#define ATTN__R_MAX DBL_MAX
#define ATTN__R_LEAST DBL_MIN
#define ATTN__BITS uint64_t
#define ATTN__INFINITY ((uint64_t)0x7ff << 52)
#define ATTN__MAGIC 6755399441055744.0 /* 1.5 2^52 */
#define ATTN__EXPONENT (-1021.0)
#else
#define ATTN__R float
#define ATTN__REAL ATTN_F32
#define ATTN__R_MAX FLT_MAX
#define ATTN__R_LEAST FLT_MIN
#define ATTN__BITS uint32_t
#define ATTN__INFINITY ((uint32_t)0xff << 23)
#define ATTN__MAGIC 12582912.0f /* 1.5 2^23 */
#define ATTN__EXPONENT (-125.0)
#endif

#if ATTN__PASS == ATTN__PASS_SCALAR

/* Without intrinsics a compiler may fuse or reorder here but not there: then an element's bits would depend on its
   neighbours. */
#if defined(__clang__)
#define ATTN__TARGET
#define ATTN__AS_WRITTEN _Pragma("clang fp contract(off) reassociate(off)")
#elif defined(__GNUC__) && !defined(__TINYC__)
#define ATTN__TARGET __attribute__((optimize("no-fast-math", "fp-contract=off")))
#define ATTN__AS_WRITTEN
#else
#define ATTN__TARGET
#define ATTN__AS_WRITTEN
#endif
#define ATTN__ISA ATTN_ISA_SCALAR
#if ATTN__REAL_F64
#define ATTN__NAME(x) attn__##x##_scalar_f64
#else
#define ATTN__NAME(x) attn__##x##_scalar_f32
#endif
#define ATTN__V ATTN__R
#define ATTN__W 1
#define ATTN__ROWS 4
#define ATTN__LOAD(p) (*(p))
#define ATTN__STORE(p, v) ((void)(*(p) = (v)))
#define ATTN__SET1(x) (x)
#define ATTN__ADD(a, b) ((a) + (b))
#define ATTN__SUB(a, b) ((a) - (b))
#define ATTN__MUL(a, b) ((a) * (b))
#define ATTN__FMA(a, b, c) ((a) * (b) + (c))
#define ATTN__DIV(a, b) ((a) / (b))
#define ATTN__MAX(a, b) ((a) > (b) ? (a) : (b))
#define ATTN__PICK(a, b, x, y) ((a) < (b) ? (x) : (y))
#define ATTN__PIN(v) ((void)0)
#define ATTN__SPECIAL(v) ATTN__NAME(is_special)(v)
#define ATTN__ODD(v) (ATTN__NAME(is_special)(v) | ATTN__NAME(is_special)(-(v)))
#define ATTN__EXP(v) ((ATTN__R)attn__exp((double)(v)))

#elif ATTN__PASS == ATTN__PASS_AVX2 || ATTN__PASS == ATTN__PASS_AVX512

#if ATTN__PASS == ATTN__PASS_AVX512
#define ATTN__TARGET ATTN__TARGET_ATTRIBUTE("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#define ATTN__ISA ATTN_ISA_AVX512
#define ATTN__ROWS 8
#define ATTN__REGISTER "+v"
#define ATTN__ALL ATTN__MASK(-1) /* maskz forms: gcc 12 warns about its own headers' plain ones */
#define ATTN__ROUND(v) ATTN__NAME(round)(v)
#define ATTN__LDEXP(v, n) ATTN__X(maskz_scalef)(ATTN__ALL, v, n)
#define ATTN__MAX(a, b) ATTN__X(maskz_max)(ATTN__ALL, a, b)
#if ATTN__REAL_F64
#define ATTN__NAME(x) attn__##x##_avx512_f64
#define ATTN__V __m512d
#define ATTN__W 8
#define ATTN__MASK(x) ((__mmask8)(x))
#define ATTN__X(op) _mm512_##op##_pd
#define ATTN__LOAD_F32(p) _mm512_maskz_cvtps_pd(ATTN__ALL, _mm256_loadu_ps(p))
#define ATTN__STORE_F32(p, v) _mm256_storeu_ps(p, _mm512_maskz_cvtpd_ps(ATTN__ALL, v))
#else
#define ATTN__NAME(x) attn__##x##_avx512_f32
#define ATTN__V __m512
#define ATTN__W 16
#define ATTN__MASK(x) ((__mmask16)(x))
#define ATTN__X(op) _mm512_##op##_ps
#define ATTN__LOAD_F16(p) _mm512_maskz_cvtph_ps(ATTN__ALL, _mm256_loadu_si256((const __m256i *)(p)))
#define ATTN__LOAD_BF16(p)                                                                                             \
    _mm512_castsi512_ps(_mm512_maskz_slli_epi32(                                                                       \
        ATTN__ALL, _mm512_maskz_cvtepu16_epi32(ATTN__ALL, _mm256_loadu_si256((const __m256i *)(p))), 16))
#define ATTN__STORE_F16(p, v) _mm256_storeu_si256((__m256i *)(p), _mm512_maskz_cvtps_ph(ATTN__ALL, v, 8))
#define ATTN__LOAD_BOOL(p)                                                                                             \
    _mm512_maskz_mov_ps(                                                                                               \
        _mm512_test_epi32_mask(_mm512_maskz_cvtepi8_epi32(ATTN__ALL, _mm_loadu_si128((const __m128i *)(p))),           \
                               _mm512_set1_epi32(-1)),                                                                 \
        _mm512_set1_ps(1))
#define ATTN__LOAD_I8(p)                                                                                               \
    _mm512_maskz_cvtepi32_ps(ATTN__ALL, _mm512_maskz_cvtepi8_epi32(ATTN__ALL, _mm_loadu_si128((const __m128i *)(p))))
#endif

#else
#define ATTN__TARGET ATTN__TARGET_ATTRIBUTE("avx2,fma,f16c")
#define ATTN__ISA ATTN_ISA_AVX2
#define ATTN__ROWS 4
#define ATTN__REGISTER "+x"
#define ATTN__ROUND(v) ATTN__X(round)(v, 8)
#define ATTN__MAX(a, b) ATTN__X(max)(a, b)
#define ATTN__LDEXP(v, n) ATTN__NAME(ldexp)(v, n)
#if ATTN__REAL_F64
#define ATTN__NAME(x) attn__##x##_avx2_f64
#define ATTN__V __m256d
#define ATTN__W 4
#define ATTN__X(op) _mm256_##op##_pd
#define ATTN__LOAD_F32(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define ATTN__STORE_F32(p, v) _mm_storeu_ps(p, _mm256_cvtpd_ps(v))
#else
#define ATTN__NAME(x) attn__##x##_avx2_f32
#define ATTN__V __m256
#define ATTN__W 8
#define ATTN__X(op) _mm256_##op##_ps
#define ATTN__LOAD_F16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define ATTN__LOAD_BF16(p)                                                                                             \
    _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p))), 16))
#define ATTN__STORE_F16(p, v) _mm_storeu_si128((__m128i *)(p), _mm256_cvtps_ph(v, 0))
#define ATTN__LOAD_BOOL(p)                                                                                             \
    _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(                                                           \
                         _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p))), _mm256_setzero_si256())),        \
                     _mm256_set1_ps(1))
#define ATTN__LOAD_I8(p) _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p))))
#endif
#endif

#define ATTN__LOAD(p) ATTN__X(loadu)(p)
#define ATTN__STORE(p, v) ATTN__X(storeu)(p, v)
#define ATTN__SET1(x) ATTN__X(set1)(x)
#define ATTN__ADD(a, b) ATTN__X(add)(a, b)
#define ATTN__SUB(a, b) ATTN__X(sub)(a, b)
#define ATTN__MUL(a, b) ATTN__X(mul)(a, b)
#define ATTN__DIV(a, b) ATTN__X(div)(a, b)
#define ATTN__FMA(a, b, c) ATTN__X(fmadd)(a, b, c)
#define ATTN__FMS(a, b, c) ATTN__X(fmsub)(a, b, c)
#define ATTN__EXP(v) ATTN__NAME(exp)(v)
#define ATTN__SPECIAL(v) ATTN__NAME(special_lanes)(v)
#define ATTN__ODD(v) ATTN__NAME(odd_lanes)(v)
#define ATTN__PICK(a, b, x, y) ATTN__NAME(pick)(a, b, x, y)

#elif ATTN__PASS == ATTN__PASS_NEON

#define ATTN__TARGET
#define ATTN__ISA ATTN_ISA_NEON
#define ATTN__ROWS 8
#if ATTN__REAL_F64
#define ATTN__NAME(x) attn__##x##_neon_f64
#define ATTN__V float64x2_t
#define ATTN__W 2
#define ATTN__X(op) op##_f64
#define ATTN__LOAD_F32(p) vcvt_f64_f32(vld1_f32(p))
#define ATTN__STORE_F32(p, v) vst1_f32(p, vcvt_f32_f64(v))
#else
#define ATTN__NAME(x) attn__##x##_neon_f32
#define ATTN__V float32x4_t
#define ATTN__W 4
#define ATTN__X(op) op##_f32
#define ATTN__LOAD_F16(p) vcvt_f32_f16(vreinterpret_f16_u16(ATTN__NAME(load_u16)(p)))
#define ATTN__LOAD_BF16(p) vreinterpretq_f32_u32(vshll_n_u16(ATTN__NAME(load_u16)(p), 16))
#define ATTN__STORE_F16(p, v) ATTN__NAME(store_u16)(p, vreinterpret_u16_f16(vcvt_f16_f32(v)))
#define ATTN__LOAD_I8(p) vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(ATTN__NAME(load_u8)(p))))))
#define ATTN__LOAD_BOOL(p)                                                                                             \
    vcvtq_f32_u32(vminq_u32(vmovl_u16(vget_low_u16(vmovl_u8(ATTN__NAME(load_u8)(p)))), vdupq_n_u32(1)))
#endif
#define ATTN__LOAD(p) ATTN__X(vld1q)(p)
#define ATTN__STORE(p, v) ATTN__X(vst1q)(p, v)
#define ATTN__SET1(x) ATTN__X(vdupq_n)(x)
#define ATTN__ADD(a, b) ATTN__X(vaddq)(a, b)
#define ATTN__SUB(a, b) ATTN__X(vsubq)(a, b)
#define ATTN__MUL(a, b) ATTN__X(vmulq)(a, b)
#define ATTN__DIV(a, b) ATTN__X(vdivq)(a, b)
#define ATTN__FMA(a, b, c) ATTN__X(vfmaq)(c, a, b)
#define ATTN__FMS(a, b, c) ATTN__X(vfmaq)(ATTN__X(vnegq)(c), a, b)
#define ATTN__MAX(a, b) ATTN__X(vmaxq)(a, b)
#define ATTN__REGISTER "+w"
#define ATTN__ROUND(v) ATTN__X(vrndnq)(v)
#define ATTN__LDEXP(v, n) ATTN__NAME(ldexp)(v, n)
#define ATTN__EXP(v) ATTN__NAME(exp)(v)
#define ATTN__SPECIAL(v) ATTN__NAME(special_lanes)(v)
#define ATTN__ODD(v) ATTN__NAME(odd_lanes)(v)
#define ATTN__PICK(a, b, x, y) ATTN__NAME(pick)(a, b, x, y)

#if !ATTN__REAL_F64
ATTN__INLINE uint16x4_t ATTN__NAME(load_u16)(const void *p)
{
    uint16x4_t h;
    memcpy(&h, p, sizeof h);
    return h;
}

ATTN__INLINE uint8x8_t ATTN__NAME(load_u8)(const void *p) /* four bytes */
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return vreinterpret_u8_u32(vdup_n_u32(word));
}

ATTN__INLINE void ATTN__NAME(store_u16)(void *p, uint16x4_t h)
{
    memcpy(p, &h, sizeof h);
}
#endif

#endif

/* v is final here: -ffast-math does not reorder a sum across this. */
#if defined(ATTN__REGISTER) && (defined(__GNUC__) || defined(__clang__))
#define ATTN__PIN(v) __asm__("" : ATTN__REGISTER(v))
#elif defined(ATTN__REGISTER)
#define ATTN__PIN(v) ((void)0)
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ATTN__PIN_POINTER(p) __asm__("" : "+r"(p))
#define ATTN__PREFETCH(p) __builtin_prefetch(p, 0, 2) /* into the second cache */
#else
#define ATTN__PIN_POINTER(p) ((void)0)
#define ATTN__PREFETCH(p) ((void)0)
#endif

#define ATTN__TILE_COLS (3 * ATTN__W)
#ifndef ATTN__AS_WRITTEN
#define ATTN__AS_WRITTEN
#endif

static int ATTN__NAME(is_special)(ATTN__R x) /* NaN or +infinity */
{
    ATTN__BITS bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == ATTN__INFINITY || bits << 1 > ATTN__INFINITY << 1;
}

#define ATTN__BASE ATTN__NAME(base)
typedef struct ATTN__BASE { /* of the weights of scores: e^scale = 2^(unit + rest) */
    double scale;
    ATTN__V unit, rest, limit;
} ATTN__BASE;

#if ATTN__W > 1

#if defined(__GNUC__) && !defined(__clang__) /* at -O0 some AVX-512 intrinsics are macros that convert signs */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#if ATTN__PASS == ATTN__PASS_AVX512
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(round)(ATTN__V v)
{
    return ATTN__X(maskz_roundscale)(ATTN__ALL, v, 8);
}
#endif

ATTN__TARGET ATTN__INLINE int ATTN__NAME(special_lanes)(ATTN__V v) /* is one of the lanes NaN or +infinity? */
{
#if ATTN__PASS == ATTN__PASS_AVX512 && ATTN__REAL_F64
    return _mm512_fpclass_pd_mask(v, 0x89); /* quiet NaN, signalling NaN, +infinity */
#elif ATTN__PASS == ATTN__PASS_AVX512
    return _mm512_fpclass_ps_mask(v, 0x89);
#elif ATTN__PASS == ATTN__PASS_AVX2 && ATTN__REAL_F64
    __m256i bits = _mm256_castpd_si256(v), infinity = _mm256_set1_epi64x((long long)ATTN__INFINITY);
    __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi64x(INT64_MAX));
    return _mm256_movemask_epi8(
        _mm256_or_si256(_mm256_cmpeq_epi64(bits, infinity), _mm256_cmpgt_epi64(magnitude, infinity)));
#elif ATTN__PASS == ATTN__PASS_AVX2
    __m256i bits = _mm256_castps_si256(v), infinity = _mm256_set1_epi32((int)ATTN__INFINITY);
    __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
    return _mm256_movemask_epi8(
        _mm256_or_si256(_mm256_cmpeq_epi32(bits, infinity), _mm256_cmpgt_epi32(magnitude, infinity)));
#elif ATTN__REAL_F64
    uint64x2_t bits = vreinterpretq_u64_f64(v), infinity = vdupq_n_u64(ATTN__INFINITY);
    uint64x2_t magnitude = vandq_u64(bits, vdupq_n_u64(INT64_MAX));
    uint64x2_t found = vorrq_u64(vceqq_u64(bits, infinity), vcgtq_u64(magnitude, infinity));
    return vmaxvq_u32(vreinterpretq_u32_u64(found)) != 0;
#else
    uint32x4_t bits = vreinterpretq_u32_f32(v), infinity = vdupq_n_u32(ATTN__INFINITY);
    uint32x4_t magnitude = vandq_u32(bits, vdupq_n_u32(INT32_MAX));
    return vmaxvq_u32(vorrq_u32(vceqq_u32(bits, infinity), vcgtq_u32(magnitude, infinity))) != 0;
#endif
}

ATTN__TARGET ATTN__INLINE int ATTN__NAME(odd_lanes)(ATTN__V v) /* is one of the lanes NaN or infinite? */
{
#if ATTN__PASS == ATTN__PASS_AVX512 && ATTN__REAL_F64
    return _mm512_fpclass_pd_mask(v, 0x99); /* -infinity too */
#elif ATTN__PASS == ATTN__PASS_AVX512
    return _mm512_fpclass_ps_mask(v, 0x99);
#elif ATTN__PASS == ATTN__PASS_AVX2 && ATTN__REAL_F64
    __m256i magnitude = _mm256_and_si256(_mm256_castpd_si256(v), _mm256_set1_epi64x(INT64_MAX));
    return _mm256_movemask_epi8(_mm256_cmpgt_epi64(magnitude, _mm256_set1_epi64x((long long)ATTN__INFINITY - 1)));
#elif ATTN__PASS == ATTN__PASS_AVX2
    __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(INT32_MAX));
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32((int)ATTN__INFINITY - 1)));
#elif ATTN__REAL_F64
    uint64x2_t magnitude = vandq_u64(vreinterpretq_u64_f64(v), vdupq_n_u64(INT64_MAX));
    return vmaxvq_u32(vreinterpretq_u32_u64(vcgeq_u64(magnitude, vdupq_n_u64(ATTN__INFINITY)))) != 0;
#else
    uint32x4_t magnitude = vandq_u32(vreinterpretq_u32_f32(v), vdupq_n_u32(INT32_MAX));
    return vmaxvq_u32(vcgeq_u32(magnitude, vdupq_n_u32(ATTN__INFINITY))) != 0;
#endif
}

#ifdef ATTN__STORE_F16
/* Rounds to nearest even by integers: half of what is cut off is added, and carries. NaNs, quiet ones, are cut. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(store_bf16)(uint16_t *p, ATTN__V v)
{
#if ATTN__PASS == ATTN__PASS_AVX512
    __m512i bits = _mm512_castps_si512(v), upper = _mm512_maskz_srli_epi32(ATTN__ALL, bits, 16);
    __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MAX));
    __m512i half = _mm512_add_epi32(_mm512_and_si512(upper, _mm512_set1_epi32(1)), _mm512_set1_epi32(0x7fff));
    __mmask16 nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32((int)ATTN__INFINITY));
    upper = _mm512_mask_srli_epi32(upper, (__mmask16)~nan, _mm512_add_epi32(bits, half), 16);
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_maskz_cvtepi32_epi16(ATTN__ALL, upper));
#elif ATTN__PASS == ATTN__PASS_AVX2
    __m256i bits = _mm256_castps_si256(v), upper = _mm256_srli_epi32(bits, 16);
    __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
    __m256i half = _mm256_add_epi32(_mm256_and_si256(upper, _mm256_set1_epi32(1)), _mm256_set1_epi32(0x7fff));
    __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32((int)ATTN__INFINITY));
    __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    upper = _mm256_blendv_epi8(rounded, upper, nan);
    upper = _mm256_permute4x64_epi64(_mm256_packus_epi32(upper, upper), 8);
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(upper));
#else
    uint32x4_t bits = vreinterpretq_u32_f32(v), upper = vshrq_n_u32(bits, 16);
    uint32x4_t nan = vcgtq_u32(vandq_u32(bits, vdupq_n_u32(INT32_MAX)), vdupq_n_u32(ATTN__INFINITY));
    uint32x4_t half = vaddq_u32(vandq_u32(upper, vdupq_n_u32(1)), vdupq_n_u32(0x7fff));
    upper = vbslq_u32(nan, upper, vshrq_n_u32(vaddq_u32(bits, half), 16));
    ATTN__NAME(store_u16)(p, vmovn_u32(upper));
#endif
}
#endif

/* The lanes of a and b in turn, a[0] b[0] a[1] b[1] ...: the first W of them, or the others. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(zip)(ATTN__V a, ATTN__V b, const int high)
{
#if ATTN__PASS == ATTN__PASS_AVX512 && ATTN__REAL_F64
    return _mm512_permutex2var_pd(
        a, high ? _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4) : _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), b);
#elif ATTN__PASS == ATTN__PASS_AVX512
    return _mm512_permutex2var_ps(a,
                                  high ? _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8)
                                       : _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0),
                                  b);
#elif ATTN__PASS == ATTN__PASS_AVX2 && ATTN__REAL_F64
    ATTN__V low = _mm256_unpacklo_pd(a, b), rest = _mm256_unpackhi_pd(a, b);
    return high ? _mm256_permute2f128_pd(low, rest, 0x31) : _mm256_permute2f128_pd(low, rest, 0x20);
#elif ATTN__PASS == ATTN__PASS_AVX2
    ATTN__V low = _mm256_unpacklo_ps(a, b), rest = _mm256_unpackhi_ps(a, b);
    return high ? _mm256_permute2f128_ps(low, rest, 0x31) : _mm256_permute2f128_ps(low, rest, 0x20);
#else
    return high ? ATTN__X(vzip2q)(a, b) : ATTN__X(vzip1q)(a, b);
#endif
}

/* a < b ? x : y, lane by lane; never the x where a or b is NaN */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(pick)(ATTN__V a, ATTN__V b, ATTN__V x, ATTN__V y)
{
#if ATTN__PASS == ATTN__PASS_AVX512 && ATTN__REAL_F64
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), y, x);
#elif ATTN__PASS == ATTN__PASS_AVX512
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
#elif ATTN__PASS == ATTN__PASS_AVX2
    return ATTN__X(blendv)(y, x, ATTN__X(cmp)(a, b, _CMP_LT_OQ));
#else
    return ATTN__X(vbslq)(ATTN__X(vcltq)(a, b), x, y);
#endif
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#if ATTN__PASS != ATTN__PASS_AVX512
/* v 2^n for integral n, in two steps, so that results below the smallest normal number are rounded, not lost. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(ldexp)(ATTN__V v, ATTN__V n)
{
#if ATTN__PASS == ATTN__PASS_AVX2 && ATTN__REAL_F64
    __m128i whole = _mm256_cvtpd_epi32(n), half = _mm_srai_epi32(whole, 1), bias = _mm_set1_epi32(1023);
    __m128i rest = _mm_add_epi32(_mm_sub_epi32(whole, half), bias);
    half = _mm_add_epi32(half, bias);
    v = _mm256_mul_pd(v, _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_cvtepi32_epi64(half), 52)));
    return _mm256_mul_pd(v, _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_cvtepi32_epi64(rest), 52)));
#elif ATTN__PASS == ATTN__PASS_AVX2
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), bias = _mm256_set1_epi32(127);
    __m256i rest = _mm256_add_epi32(_mm256_sub_epi32(whole, half), bias);
    half = _mm256_add_epi32(half, bias);
    v = _mm256_mul_ps(v, _mm256_castsi256_ps(_mm256_slli_epi32(half, 23)));
    return _mm256_mul_ps(v, _mm256_castsi256_ps(_mm256_slli_epi32(rest, 23)));
#elif ATTN__REAL_F64
    int64x2_t whole = vcvtq_s64_f64(n), half = vshrq_n_s64(whole, 1), bias = vdupq_n_s64(1023);
    int64x2_t rest = vaddq_s64(vsubq_s64(whole, half), bias);
    half = vaddq_s64(half, bias);
    v = vmulq_f64(v, vreinterpretq_f64_s64(vshlq_n_s64(half, 52)));
    return vmulq_f64(v, vreinterpretq_f64_s64(vshlq_n_s64(rest, 52)));
#else
    int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1), bias = vdupq_n_s32(127);
    int32x4_t rest = vaddq_s32(vsubq_s32(whole, half), bias);
    half = vaddq_s32(half, bias);
    v = vmulq_f32(v, vreinterpretq_f32_s32(vshlq_n_s32(half, 23)));
    return vmulq_f32(v, vreinterpretq_f32_s32(vshlq_n_s32(rest, 23)));
#endif
}
#endif

/* p, a minimax polynomial, with 2^f = 1 + p f for -1/2 <= f <= 1/2 */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(exp2_part)(ATTN__V f)
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

/* For x <= 0: n and f with n + f = x log2(e), n integral, -1/2 <= f <= 1/2, and p with 2^f = 1 + p f, so that
   exp(x) = 2^n (1 + p f). log2(e) comes in two parts, so that f keeps its bits where n is large. Below `least` exp
   is 0. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(exp_parts)(ATTN__V x, ATTN__V *n, ATTN__V *f)
{
#if ATTN__REAL_F64
    const double least = -746.0, log2e = ATTN__LOG2E, log2e_rest = ATTN__LOG2E_REST;
#else
    const float least = -104.0f, log2e = 1.442695f, log2e_rest = 1.925963e-8f;
#endif
    x = ATTN__MAX(x, ATTN__SET1(least));
    *n = ATTN__ROUND(ATTN__MUL(x, ATTN__SET1(log2e)));
    *f = ATTN__FMA(x, ATTN__SET1(log2e_rest), ATTN__FMS(x, ATTN__SET1(log2e), *n));
    return ATTN__NAME(exp2_part)(*f);
}

ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(exp)(ATTN__V x)
{
    ATTN__V n, f, p = ATTN__NAME(exp_parts)(x, &n, &f);
    return ATTN__LDEXP(ATTN__FMA(p, f, ATTN__SET1((ATTN__R)1)), n);
}

/* p 2^n, for n = z - ATTN__MAGIC: it stands in the lowest bits of z. Or 0 where d < limit. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(power)(ATTN__V p, ATTN__V z, ATTN__V d, ATTN__V limit)
{
#if ATTN__PASS == ATTN__PASS_AVX512 && ATTN__REAL_F64
    __m512i power = _mm512_maskz_slli_epi64(ATTN__ALL, _mm512_castpd_si512(z), 52);
    return _mm512_castsi512_pd(
        _mm512_maskz_add_epi64(_mm512_cmp_pd_mask(d, limit, _CMP_NLT_UQ), _mm512_castpd_si512(p), power));
#elif ATTN__PASS == ATTN__PASS_AVX512
    __m512i power = _mm512_maskz_slli_epi32(ATTN__ALL, _mm512_castps_si512(z), 23);
    return _mm512_castsi512_ps(
        _mm512_maskz_add_epi32(_mm512_cmp_ps_mask(d, limit, _CMP_NLT_UQ), _mm512_castps_si512(p), power));
#elif ATTN__PASS == ATTN__PASS_AVX2 && ATTN__REAL_F64
    __m256i power = _mm256_slli_epi64(_mm256_castpd_si256(z), 52);
    power = _mm256_add_epi64(_mm256_castpd_si256(p), power);
    return _mm256_and_pd(_mm256_castsi256_pd(power), _mm256_cmp_pd(d, limit, _CMP_NLT_UQ));
#elif ATTN__PASS == ATTN__PASS_AVX2
    __m256i power = _mm256_slli_epi32(_mm256_castps_si256(z), 23);
    power = _mm256_add_epi32(_mm256_castps_si256(p), power);
    return _mm256_and_ps(_mm256_castsi256_ps(power), _mm256_cmp_ps(d, limit, _CMP_NLT_UQ));
#elif ATTN__REAL_F64
    uint64x2_t power = vaddq_u64(vreinterpretq_u64_f64(p), vshlq_n_u64(vreinterpretq_u64_f64(z), 52));
    return vreinterpretq_f64_u64(vbicq_u64(power, vcltq_f64(d, limit)));
#else
    uint32x4_t power = vaddq_u32(vreinterpretq_u32_f32(p), vshlq_n_u32(vreinterpretq_u32_f32(z), 23));
    return vreinterpretq_f32_u32(vbicq_u32(power, vcltq_f32(d, limit)));
#endif
}

/* e^(scale d) for d <= 0 and scale > 0, or 0 where d < limit, where hardly a normal number is left. scale log2(e) comes
   in two parts. Adding ATTN__MAGIC rounds to an integer. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(power_of)(ATTN__V d, const ATTN__BASE *b)
{
    ATTN__V magic = ATTN__SET1(ATTN__MAGIC), z = ATTN__FMA(d, b->unit, magic), f;
    ATTN__PIN(z);
    f = ATTN__FMA(d, b->rest, ATTN__FMS(d, b->unit, ATTN__SUB(z, magic)));
    return ATTN__NAME(power)(ATTN__FMA(ATTN__NAME(exp2_part)(f), f, ATTN__SET1((ATTN__R)1)), z, d, b->limit);
}

/* tanh(x) = -t / (t + 2) with t = exp(-2x) - 1 for x >= 0; t = 2^n p f + (2^n - 1) loses nothing where x is small. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(tanh)(ATTN__V x)
{
    ATTN__V zero = ATTN__SET1((ATTN__R)0), one = ATTN__SET1((ATTN__R)1), minus = ATTN__SUB(zero, x), n, f, p, power, t;
    t = ATTN__PICK(x, zero, x, minus);
    p = ATTN__NAME(exp_parts)(ATTN__ADD(t, t), &n, &f);
    power = ATTN__LDEXP(one, n);
    t = ATTN__FMA(power, ATTN__MUL(p, f), ATTN__SUB(power, one));
    t = ATTN__DIV(t, ATTN__ADD(t, ATTN__ADD(one, one)));
    return ATTN__PICK(x, zero, t, ATTN__SUB(zero, t));
}

#else

static ATTN__R ATTN__NAME(power_of)(ATTN__R d, const ATTN__BASE *b)
{
    return (ATTN__R)attn__exp((double)d * b->scale);
}

#endif /* ATTN__W > 1 */

/* -- between the user's views and packed rows -- */

/* The first n of W reals; the others are 0. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(load_part)(const ATTN__R *p, size_t n)
{
#if ATTN__PASS == ATTN__PASS_AVX512
    return ATTN__X(maskz_loadu)(ATTN__MASK((1u << n) - 1), p);
#else
    ATTN__R lanes[ATTN__W];
    size_t i;
    memset(lanes, 0, sizeof lanes);
    for (i = 0; i < n; i++)
        memcpy(lanes + i, p + i, sizeof *p); /* as bytes: infinities pass -ffast-math */
    return ATTN__LOAD(lanes);
#endif
}

ATTN__TARGET ATTN__INLINE void ATTN__NAME(store_part)(ATTN__R *p, ATTN__V v, size_t n)
{
#if ATTN__PASS == ATTN__PASS_AVX512
    ATTN__X(mask_storeu)(p, ATTN__MASK((1u << n) - 1), v);
#else
    ATTN__R lanes[ATTN__W];
    size_t i;
    ATTN__STORE(lanes, v);
    for (i = 0; i < n; i++)
        memcpy(p + i, lanes + i, sizeof *p);
#endif
}

#define ATTN__STRIP 64 /* a row of what is transposed at a time */

#if ATTN__W > 1
/* W vectors of W reals change rows for columns: each of log2(W) shuffles halves the distance of neighbours. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(transpose)(ATTN__V *x)
{
    ATTN__V y[ATTN__W];
    size_t i, step;
    ATTN__UNROLL
    for (step = 1; step < ATTN__W; step *= 2) {
        ATTN__UNROLL
        for (i = 0; i < ATTN__W / 2; i++) {
            y[2 * i] = ATTN__NAME(zip)(x[i], x[i + ATTN__W / 2], 0);
            y[2 * i + 1] = ATTN__NAME(zip)(x[i], x[i + ATTN__W / 2], 1);
        }
        ATTN__UNROLL
        for (i = 0; i < ATTN__W; i++)
            x[i] = y[i];
    }
}

#define ATTN__QUAD (16 / (int)sizeof(ATTN__R)) /* reals in 128 bits */

/* A vector of W / QUAD pieces of 128 bits, `step` bytes apart. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(load_quads)(const char *p, ptrdiff_t step)
{
#if ATTN__PASS == ATTN__PASS_AVX512 && ATTN__REAL_F64
    __m512d v = _mm512_castpd128_pd512(_mm_loadu_pd((const double *)p));
    v = _mm512_maskz_insertf64x2(ATTN__ALL, v, _mm_loadu_pd((const double *)(p + step)), 1);
    v = _mm512_maskz_insertf64x2(ATTN__ALL, v, _mm_loadu_pd((const double *)(p + 2 * step)), 2);
    return _mm512_maskz_insertf64x2(ATTN__ALL, v, _mm_loadu_pd((const double *)(p + 3 * step)), 3);
#elif ATTN__PASS == ATTN__PASS_AVX512
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps((const float *)p));
    v = _mm512_maskz_insertf32x4(ATTN__ALL, v, _mm_loadu_ps((const float *)(p + step)), 1);
    v = _mm512_maskz_insertf32x4(ATTN__ALL, v, _mm_loadu_ps((const float *)(p + 2 * step)), 2);
    return _mm512_maskz_insertf32x4(ATTN__ALL, v, _mm_loadu_ps((const float *)(p + 3 * step)), 3);
#elif ATTN__PASS == ATTN__PASS_AVX2 && ATTN__REAL_F64
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd((const double *)p)),
                                _mm_loadu_pd((const double *)(p + step)), 1);
#elif ATTN__PASS == ATTN__PASS_AVX2
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((const float *)p)),
                                _mm_loadu_ps((const float *)(p + step)), 1);
#else
    ATTN__V v;
    (void)step;
    memcpy(&v, p, sizeof v);
    return v;
#endif
}

/* zip, within each 128 bits */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(zip_quads)(ATTN__V a, ATTN__V b, const int high)
{
#if ATTN__PASS == ATTN__PASS_AVX512
    return high ? ATTN__X(maskz_unpackhi)(ATTN__ALL, a, b) : ATTN__X(maskz_unpacklo)(ATTN__ALL, a, b);
#elif ATTN__PASS == ATTN__PASS_AVX2
    return high ? ATTN__X(unpackhi)(a, b) : ATTN__X(unpacklo)(a, b);
#else
    return ATTN__NAME(zip)(a, b, high);
#endif
}

/* QUAD such vectors change rows for columns, each QUAD x QUAD reals by themselves: of W pieces, v[i] made of those with
   numbers i, i + QUAD, ..., v[i] becomes their reals number i in order. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(turn_quads)(ATTN__V *v)
{
    ATTN__V y[ATTN__QUAD];
    int i, step;
    ATTN__UNROLL
    for (step = 1; step < ATTN__QUAD; step *= 2) {
        ATTN__UNROLL
        for (i = 0; i < ATTN__QUAD / 2; i++) {
            y[2 * i] = ATTN__NAME(zip_quads)(v[i], v[i + ATTN__QUAD / 2], 0);
            y[2 * i + 1] = ATTN__NAME(zip_quads)(v[i], v[i + ATTN__QUAD / 2], 1);
        }
        ATTN__UNROLL
        for (i = 0; i < ATTN__QUAD; i++)
            v[i] = y[i];
    }
}

/* x[r * rs + c] = in[r + c * cs] for `high` rows of W columns, by pieces of 128 bits: a vector holds QUAD rows of each
   QUAD-th column, and these change places. Not `whole`: the last rows are read but not stored, nor more than `wide`
   columns. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(turn_block)(ATTN__R *x, ptrdiff_t rs, const ATTN__R *in, ptrdiff_t cs,
                                                      size_t high, size_t wide, const int whole)
{
    ATTN__V v[ATTN__QUAD];
    size_t r;
    int i;
    for (r = 0; r < high; r += ATTN__QUAD) {
        ATTN__UNROLL
        for (i = 0; i < ATTN__QUAD; i++)
            v[i] = ATTN__NAME(load_quads)((const char *)(in + r + i * cs), ATTN__QUAD * cs * (ptrdiff_t)sizeof *in);
        ATTN__NAME(turn_quads)(v);
        ATTN__UNROLL
        for (i = 0; i < ATTN__QUAD; i++)
            if (whole)
                ATTN__STORE(x + ((ptrdiff_t)r + i) * rs, v[i]);
            else if (r + (size_t)i < high)
                ATTN__NAME(store_part)(x + ((ptrdiff_t)r + i) * rs, v[i], wide);
    }
}

/* x[r * rs + c] = in[r + c * cs] */
ATTN__TARGET static void ATTN__NAME(turn)(ATTN__R *x, ptrdiff_t rs, const ATTN__R *in, ptrdiff_t cs, size_t rows,
                                          size_t cols)
{
    ATTN__R part[ATTN__W * ATTN__W];
    size_t r, c, i, high, wide;
    for (c = 0; c < cols; c += ATTN__W) {
        wide = attn__min(cols - c, ATTN__W);
        r = wide == ATTN__W ? rows / ATTN__QUAD * ATTN__QUAD : 0;
        if (r > 0)
            ATTN__NAME(turn_block)(x + c, rs, in + (ptrdiff_t)c * cs, cs, r, wide, 1);
        for (; r < rows; r += high) {
            high = attn__min(rows - r, ATTN__W);
            for (i = 0; i < ATTN__W; i++)
                ATTN__STORE(part + i * ATTN__W,
                            ATTN__NAME(load_part)(in + (ptrdiff_t)(c + attn__min(i, wide - 1)) * cs + r, high));
            ATTN__NAME(turn_block)(x + (ptrdiff_t)r * rs + c, rs, part, ATTN__W, high, wide, 0);
        }
    }
}
#endif

/* Has the pass a vector load for that type, and a store? */
ATTN__INLINE int ATTN__NAME(widens)(attn_dtype dtype)
{
#ifdef ATTN__LOAD_F16
    if (dtype == ATTN_F16 || dtype == ATTN_BF16)
        return 1;
#endif
#ifdef ATTN__LOAD_I8
    if (dtype == ATTN_I8 || dtype == ATTN_BOOL)
        return 1;
#endif
#ifdef ATTN__LOAD_F32
    if (dtype == ATTN_F32)
        return 1;
#endif
    return dtype == ATTN__REAL;
}

ATTN__INLINE int ATTN__NAME(narrows)(attn_dtype dtype)
{
    return ATTN__NAME(widens)(dtype) && dtype != ATTN_I8 && dtype != ATTN_BOOL;
}

/* W elements of such a type as reals. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(widen)(const void *p, attn_dtype dtype)
{
#ifdef ATTN__LOAD_F16
    if (dtype == ATTN_F16)
        return ATTN__LOAD_F16(p);
    if (dtype == ATTN_BF16)
        return ATTN__LOAD_BF16(p);
#endif
#ifdef ATTN__LOAD_I8
    if (dtype == ATTN_I8)
        return ATTN__LOAD_I8(p);
    if (dtype == ATTN_BOOL)
        return ATTN__LOAD_BOOL(p);
#endif
#ifdef ATTN__LOAD_F32
    if (dtype == ATTN_F32)
        return ATTN__LOAD_F32((const float *)p);
#endif
    (void)dtype;
    return ATTN__LOAD((const ATTN__R *)p);
}

/* The first n of them; the others are 0. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(widen_part)(const void *p, attn_dtype dtype, size_t n)
{
    char part[8 * ATTN__W];
    if (dtype == ATTN__REAL)
        return ATTN__NAME(load_part)((const ATTN__R *)p, n);
    memset(part, 0, sizeof part);
    memcpy(part, p, n * attn__size(dtype));
    return ATTN__NAME(widen)(part, dtype);
}

/* The way back, rounded. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(narrow)(void *p, ATTN__V v, attn_dtype dtype)
{
#ifdef ATTN__STORE_F16
    if (dtype == ATTN_F16) {
        ATTN__STORE_F16(p, v);
        return;
    }
    if (dtype == ATTN_BF16) {
        ATTN__NAME(store_bf16)((uint16_t *)p, v);
        return;
    }
#endif
#ifdef ATTN__STORE_F32
    if (dtype == ATTN_F32) {
        ATTN__STORE_F32((float *)p, v);
        return;
    }
#endif
    (void)dtype;
    ATTN__STORE((ATTN__R *)p, v);
}

ATTN__TARGET ATTN__INLINE void ATTN__NAME(narrow_part)(void *p, ATTN__V v, attn_dtype dtype, size_t n)
{
    char part[8 * ATTN__W];
    if (dtype == ATTN__REAL) {
        ATTN__NAME(store_part)((ATTN__R *)p, v, n);
        return;
    }
    ATTN__NAME(narrow)(part, v, dtype);
    memcpy(p, part, n * attn__size(dtype));
}

ATTN__TARGET ATTN__INLINE void ATTN__NAME(load_row_of)(ATTN__R *x, const char *in, attn_dtype dtype, size_t n)
{
    size_t i = 0, size = attn__size(dtype);
    if (ATTN__NAME(widens)(dtype)) {
        for (; i + ATTN__W <= n; i += ATTN__W)
            ATTN__STORE(x + i, ATTN__NAME(widen)(in + i * size, dtype));
        if (i < n)
            ATTN__NAME(store_part)(x + i, ATTN__NAME(widen_part)(in + i * size, dtype, n - i), n - i);
        return;
    }
    for (; i < n; i++)
        x[i] = (ATTN__R)attn__load(in + i * size, dtype);
}

ATTN__TARGET static void ATTN__NAME(load_row)(ATTN__R *x, const void *in, attn_dtype dtype, size_t n)
{
    const char *from = (const char *)in;
    switch (dtype) {
    case ATTN_F32: ATTN__NAME(load_row_of)(x, from, ATTN_F32, n); break;
    case ATTN_F64: ATTN__NAME(load_row_of)(x, from, ATTN_F64, n); break;
    case ATTN_F16: ATTN__NAME(load_row_of)(x, from, ATTN_F16, n); break;
    case ATTN_BF16: ATTN__NAME(load_row_of)(x, from, ATTN_BF16, n); break;
    case ATTN_BOOL: ATTN__NAME(load_row_of)(x, from, ATTN_BOOL, n); break;
    default: ATTN__NAME(load_row_of)(x, from, ATTN_I8, n); break;
    }
}

/* x[r][c] = in[r * rs + c * cs]. A view whose columns are contiguous is read along these, some rows at a time, and
   transposed. */
ATTN__TARGET static void ATTN__NAME(load)(void *xv, size_t ld, const void *in, attn_dtype dtype, ptrdiff_t rs,
                                          ptrdiff_t cs, size_t rows, size_t cols)
{
    ATTN__R *x = (ATTN__R *)xv;
    size_t r, c;
    if (cs == 1) {
        for (r = 0; r < rows; r++)
            ATTN__NAME(load_row)(x + r * ld, attn__at(in, dtype, (ptrdiff_t)r * rs), dtype, cols);
        return;
    }
#if ATTN__W > 1
    if (rs == 1 && dtype == ATTN__REAL) {
        ATTN__NAME(turn)(x, (ptrdiff_t)ld, (const ATTN__R *)in, cs, rows, cols);
        return;
    }
    for (; rs == 1 && rows > 0; rows -= attn__min(rows, ATTN__STRIP)) {
        ATTN__R piece[ATTN__W * ATTN__STRIP];
        size_t high = attn__min(rows, ATTN__STRIP), c0, wide;
        for (c0 = 0; c0 < cols; c0 += wide) {
            wide = attn__min(cols - c0, ATTN__W);
            for (c = 0; c < wide; c++)
                ATTN__NAME(load_row)
            (piece + c * ATTN__STRIP, attn__at(in, dtype, (ptrdiff_t)(c0 + c) * cs), dtype, high);
            ATTN__NAME(turn)(x + c0, (ptrdiff_t)ld, piece, ATTN__STRIP, high, wide);
        }
        x += high * ld;
        in = attn__at(in, dtype, (ptrdiff_t)high);
    }
#endif
    for (r = 0; r < rows; r++)
        for (c = 0; c < cols; c++)
            x[r * ld + c] = (ATTN__R)attn__load(attn__at(in, dtype, (ptrdiff_t)r * rs + (ptrdiff_t)c * cs), dtype);
}

/* out[i] = factor x[i], both packed, rounded to dtype; out may be x. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(store_row_of)(char *out, attn_dtype dtype, const ATTN__R *x, size_t n,
                                                        double alpha)
{
    size_t i = 0, size = attn__size(dtype);
#if ATTN__W > 1
    ATTN__R factor = (ATTN__R)alpha;
    ATTN__V factors = ATTN__SET1(factor);
    for (; ATTN__NAME(narrows)(dtype) && i + ATTN__W <= n; i += ATTN__W)
        ATTN__NAME(narrow)(out + i * size, ATTN__MUL(ATTN__LOAD(x + i), factors), dtype);
    if (ATTN__NAME(narrows)(dtype) && i < n) {
        ATTN__V v = ATTN__MUL(ATTN__NAME(load_part)(x + i, n - i), factors);
        ATTN__NAME(narrow_part)(out + i * size, v, dtype, n - i);
        return;
    }
#else
    double factor = alpha;
#endif
    for (; i < n; i++)
        attn__store(out + i * size, dtype, (double)(ATTN__R)(x[i] * factor));
}

ATTN__TARGET static void ATTN__NAME(store_row)(void *out, attn_dtype dtype, const ATTN__R *x, size_t n, double alpha)
{
    char *to = (char *)out;
    switch (dtype) {
    case ATTN_F32: ATTN__NAME(store_row_of)(to, ATTN_F32, x, n, alpha); break;
    case ATTN_F64: ATTN__NAME(store_row_of)(to, ATTN_F64, x, n, alpha); break;
    case ATTN_F16: ATTN__NAME(store_row_of)(to, ATTN_F16, x, n, alpha); break;
    default: ATTN__NAME(store_row_of)(to, ATTN_BF16, x, n, alpha); break;
    }
}

ATTN__TARGET static void ATTN__NAME(store)(void *out, attn_dtype dtype, ptrdiff_t rs, ptrdiff_t cs, const void *xv,
                                           size_t ld, size_t rows, size_t cols, double alpha)
{
    const ATTN__R *x = (const ATTN__R *)xv;
    size_t r, c;
#if ATTN__W > 1
    ATTN__R factor = (ATTN__R)alpha;
#else
    double factor = alpha;
#endif
    if (cs == 1) {
        for (r = 0; r < rows; r++)
            ATTN__NAME(store_row)(attn__at(out, dtype, (ptrdiff_t)r * rs), dtype, x + r * ld, cols, alpha);
        return;
    }
#if ATTN__W > 1
    if (rs == 1 && dtype == ATTN__REAL && alpha >= 1 && alpha <= 1) {
        ATTN__NAME(turn)((ATTN__R *)out, cs, x, (ptrdiff_t)ld, cols, rows);
        return;
    }
    for (; rs == 1 && rows > 0; rows -= attn__min(rows, ATTN__STRIP)) { /* a transposed view: along its rows */
        ATTN__R piece[ATTN__W * ATTN__STRIP];
        size_t high = attn__min(rows, ATTN__STRIP), c0, wide;
        for (c0 = 0; c0 < cols; c0 += wide) {
            wide = attn__min(cols - c0, ATTN__W);
            ATTN__NAME(turn)(piece, ATTN__STRIP, x + c0, (ptrdiff_t)ld, wide, high);
            for (c = 0; c < wide; c++)
                ATTN__NAME(store_row)
            (attn__at(out, dtype, (ptrdiff_t)(c0 + c) * cs), dtype, piece + c * ATTN__STRIP, high, alpha);
        }
        x += high * ld;
        out = attn__at(out, dtype, (ptrdiff_t)high);
    }
#endif
    for (r = 0; r < rows; r++)
        for (c = 0; c < cols; c++)
            attn__store(attn__at(out, dtype, (ptrdiff_t)r * rs + (ptrdiff_t)c * cs), dtype,
                        (double)(ATTN__R)(x[r * ld + c] * factor));
}

/* -- matrix product -- */

/* One register tile c, ROWS x `vectors`, packed: rows of a times one panel of b. What becomes of the product is `mode`:
   ADD_TO: c = c + product, one chain of sums; SET_TO: c = product; SHRINK: c = factor c + product, a factor for each
   column. The vectors of b are named, not an array, and c needs no stride: so gcc keeps all in registers. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(matmul_tile)(ATTN__R *c, const ATTN__R *const *a, ptrdiff_t ks,
                                                       const ATTN__R *b, size_t depth, const int vectors,
                                                       const int mode, const ATTN__R *factor)
{
    ATTN__AS_WRITTEN
    ATTN__V sum[ATTN__ROWS][3];
    ptrdiff_t at = 0;
    size_t k;
    int r, v;
    ATTN__UNROLL
    for (r = 0; r < ATTN__ROWS; r++) {
        ATTN__UNROLL
        for (v = 0; v < vectors; v++)
            sum[r][v] = mode == ATTN__ADD_TO ? ATTN__LOAD(c + (r * vectors + v) * ATTN__W) : ATTN__SET1((ATTN__R)0);
    }
    for (k = 0; k < depth; k++) {
        ATTN__V b0 = ATTN__LOAD(b), b1 = b0, b2 = b0;
        if (vectors > 1)
            b1 = ATTN__LOAD(b + ATTN__W);
        if (vectors > 2)
            b2 = ATTN__LOAD(b + 2 * ATTN__W);
        ATTN__UNROLL
        for (r = 0; r < ATTN__ROWS; r++) {
            ATTN__V x = ATTN__SET1(a[r][at]);
            sum[r][0] = ATTN__FMA(x, b0, sum[r][0]);
            if (vectors > 1)
                sum[r][1] = ATTN__FMA(x, b1, sum[r][1]);
            if (vectors > 2)
                sum[r][2] = ATTN__FMA(x, b2, sum[r][2]);
        }
        at += ks;
        b += vectors * ATTN__W;
    }
    ATTN__UNROLL
    for (r = 0; r < ATTN__ROWS; r++) {
        ATTN__UNROLL
        for (v = 0; v < vectors; v++) {
            ATTN__R *to = c + (r * vectors + v) * ATTN__W;
            if (mode == ATTN__SHRINK)
                sum[r][v] = ATTN__FMA(ATTN__LOAD(to), ATTN__LOAD(factor + v * ATTN__W), sum[r][v]);
            ATTN__STORE(to, sum[r][v]);
        }
    }
}

/* Fetches row number `row` of those that are wanted next. */
ATTN__INLINE void ATTN__NAME(fetch)(const attn__rows *rows, size_t row)
{
    const char *from;
    size_t i;
    if (row >= rows->more)
        return;
    from = rows->next + (ptrdiff_t)row * rows->next_step;
    for (i = 0; i < rows->bytes; i += 64)
        ATTN__PREFETCH(from + i);
}

/* c = a b, as `mode` says. Meanwhile rows that are wanted next are fetched. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(multiply)(void *cv, const void *av, ptrdiff_t rs, ptrdiff_t ks, size_t rows,
                                                    const void *bv, size_t cols, size_t depth, const int mode,
                                                    const ATTN__R *factor, const attn__rows *next)
{
    ATTN__R *tiles = (ATTN__R *)cv;
    const ATTN__R *a[ATTN__ROWS], *b;
    size_t r0, r, c, left, wide, fetched = 0;
    for (r0 = 0; r0 < rows; r0 += ATTN__ROWS) {
        for (; next && fetched < next->more && fetched * rows <= r0 * next->more; fetched++)
            ATTN__NAME(fetch)(next, fetched);
        a[0] = (const ATTN__R *)av + (ptrdiff_t)r0 * rs;
        ATTN__UNROLL
        for (r = 1; r < ATTN__ROWS; r++) { /* past the end: the last row again, into sums that nobody reads */
            a[r] = a[r - 1] + (r0 + r < rows ? rs : 0);
            ATTN__PIN_POINTER(a[r]); /* no vector of pointers: those registers are wanted */
        }
        for (c = 0; c < cols; c += wide, tiles += wide * ATTN__ROWS) {
            b = (const ATTN__R *)bv + c * depth;
            left = (cols - c) / ATTN__W;
            wide = attn__min(left, 3) * ATTN__W;
            if (left >= 3)
                ATTN__NAME(matmul_tile)(tiles, a, ks, b, depth, 3, mode, factor);
            else if (left == 2)
                ATTN__NAME(matmul_tile)(tiles, a, ks, b, depth, 2, mode, factor);
            else
                ATTN__NAME(matmul_tile)(tiles, a, ks, b, depth, 1, mode, factor);
        }
    }
}

ATTN__TARGET static void ATTN__NAME(matmul)(void *c, const void *a, ptrdiff_t rs, ptrdiff_t ks, size_t rows,
                                            const void *b, size_t cols, size_t depth)
{
    ATTN__NAME(multiply)(c, a, rs, ks, rows, b, cols, depth, ATTN__ADD_TO, NULL, NULL);
}

/* -- softmax -- */

ATTN__TARGET static double ATTN__NAME(softmax_max)(const void *xv, size_t n, double max, int *special)
{
    const ATTN__R *x = (const ATTN__R *)xv;
    ATTN__R lanes[ATTN__W], m = (ATTN__R)max;
    ATTN__V top[4];
    size_t i = 0, j;
    int found = 0;
    for (j = 0; j < 4; j++)
        top[j] = ATTN__SET1(m);
    for (; i + 4 * ATTN__W <= n; i += 4 * ATTN__W) {
        ATTN__UNROLL
        for (j = 0; j < 4; j++) {
            ATTN__V v = ATTN__LOAD(x + i + j * ATTN__W);
            found |= ATTN__SPECIAL(v);
            top[j] = ATTN__MAX(top[j], v);
        }
    }
    top[0] = ATTN__MAX(top[0], top[1]);
    top[2] = ATTN__MAX(top[2], top[3]);
    ATTN__STORE(lanes, ATTN__MAX(top[0], top[2]));
    for (j = 0; j < ATTN__W; j++)
        m = lanes[j] > m ? lanes[j] : m;
    for (; i < n; i++) {
        found |= ATTN__NAME(is_special)(x[i]);
        m = x[i] > m ? x[i] : m;
    }
    *special |= found;
    return (double)m;
}

#if ATTN__W > 1

ATTN__TARGET static double ATTN__NAME(softmax_exp)(void *ev, const void *xv, size_t n, double max)
{
    const ATTN__R *x = (const ATTN__R *)xv;
    ATTN__R *e = (ATTN__R *)ev, lanes[ATTN__W];
    ATTN__V m = ATTN__SET1((ATTN__R)max), zero = ATTN__SET1((ATTN__R)0), sum = zero, sums[4];
    double parts[ATTN__W];
    size_t i = 0, j, count, end;
    while (n - i >= 4 * ATTN__W) { /* sums of a few, then of those: rounding errors do not pile up */
        end = i + attn__min((n - i) / (4 * ATTN__W), 8) * 4 * ATTN__W;
        for (j = 0; j < 4; j++)
            sums[j] = zero;
        for (; i < end; i += 4 * ATTN__W) {
            ATTN__UNROLL
            for (j = 0; j < 4; j++) {
                ATTN__V v = ATTN__EXP(ATTN__SUB(ATTN__LOAD(x + i + j * ATTN__W), m));
                ATTN__STORE(e + i + j * ATTN__W, v);
                sums[j] = ATTN__ADD(sums[j], v);
            }
        }
        sum = ATTN__ADD(sum, ATTN__ADD(ATTN__ADD(sums[0], sums[1]), ATTN__ADD(sums[2], sums[3])));
    }
    for (; i < n; i += ATTN__W) { /* the rest in whole vectors too: an element's bits do not depend on its place */
        count = attn__min(ATTN__W, n - i);
        for (j = 0; j < ATTN__W; j++)
            lanes[j] = j < count ? x[i + j] : (ATTN__R)max;
        ATTN__STORE(lanes, ATTN__EXP(ATTN__SUB(ATTN__LOAD(lanes), m)));
        for (j = 0; j < ATTN__W; j++)
            if (j < count)
                e[i + j] = lanes[j];
            else
                lanes[j] = 0;
        sum = ATTN__ADD(sum, ATTN__LOAD(lanes));
    }
    ATTN__STORE(lanes, sum);
    for (j = 0; j < ATTN__W; j++)
        parts[j] = (double)lanes[j];
    for (count = ATTN__W / 2; count > 0; count /= 2)
        for (j = 0; j < count; j++)
            parts[j] += parts[j + count];
    return parts[0];
}

#else

ATTN__TARGET static double ATTN__NAME(softmax_exp)(void *ev, const void *xv, size_t n, double max)
{
    const ATTN__R *x = (const ATTN__R *)xv;
    ATTN__R *e = (ATTN__R *)ev;
    double sum = 0, lost = 0;
    size_t i;
    int saved = ATTN__ERRNO;
    for (i = 0; i < n; i++) {
        e[i] = ATTN__EXP(x[i] - (ATTN__R)max);
        attn__add(&sum, &lost, (double)e[i]);
    }
    ATTN__ERRNO_KEEP(saved);
    return sum;
}

#endif

/* -- attention: tiles of scores -- */

ATTN__TARGET static int ATTN__NAME(special)(const void *xv, ptrdiff_t ld, size_t rows, size_t cols)
{
    size_t r, c;
    for (r = 0; r < rows; r++) {
        const ATTN__R *x = (const ATTN__R *)xv + (ptrdiff_t)r * ld;
        int found = 0;
        c = 0;
#if ATTN__W > 1
        for (; c + ATTN__W <= cols; c += ATTN__W)
            found |= ATTN__ODD(ATTN__LOAD(x + c));
#endif
        for (; c < cols; c++)
            found |= ATTN__NAME(is_special)(x[c]) | ATTN__NAME(is_special)(-x[c]);
        if (found)
            return 1;
    }
    return 0;
}

ATTN__TARGET static int ATTN__NAME(seen)(const unsigned char *mask, ptrdiff_t step, size_t rows, size_t n)
{
    int seen = 0;
    size_t r, j;
    for (r = 0; r < rows && seen != (ATTN__SHOWN | ATTN__HIDDEN); r++) {
        const unsigned char *at = mask + (ptrdiff_t)r * step;
        j = 0;
#if ATTN__PASS == ATTN__PASS_AVX512
        for (; j + 64 <= n; j += 64) {
            __m512i bytes = _mm512_loadu_si512(at + j);
            uint64_t shown = _mm512_test_epi8_mask(bytes, bytes);
            seen |= (shown != 0 ? ATTN__SHOWN : 0) | (shown != UINT64_MAX ? ATTN__HIDDEN : 0);
        }
#elif ATTN__PASS == ATTN__PASS_AVX2
        for (; j + 32 <= n; j += 32) {
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(at + j));
            int hidden = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
            seen |= (hidden != -1 ? ATTN__SHOWN : 0) | (hidden != 0 ? ATTN__HIDDEN : 0);
        }
#elif ATTN__PASS == ATTN__PASS_NEON
        for (; j + 16 <= n; j += 16) {
            uint8x16_t bytes = vld1q_u8(at + j);
            seen |= (vmaxvq_u8(bytes) != 0 ? ATTN__SHOWN : 0) | (vminvq_u8(bytes) == 0 ? ATTN__HIDDEN : 0);
        }
#endif
        for (; j < n; j++)
            seen |= at[j] ? ATTN__SHOWN : ATTN__HIDDEN;
    }
    return seen;
}

ATTN__TARGET static void ATTN__NAME(scores)(const attn__tile *t, const attn__rows *k, const void *queries, size_t depth)
{
    ATTN__NAME(multiply)(t->scores, k->data, k->step, 1, t->keys, queries, t->lanes, depth, ATTN__SET_TO, NULL, k);
}

ATTN__TARGET static void ATTN__NAME(values)(const attn__tile *t, const attn__state *state, const attn__rows *v,
                                            size_t dims)
{
    const ATTN__R *factor = (const ATTN__R *)t->factor;
    ATTN__NAME(multiply)(state->out, v->data, 1, v->step, dims, t->scores, t->lanes, t->keys, ATTN__SHRINK, factor, v);
}

ATTN__TARGET static void ATTN__NAME(begin)(const attn__state *state, size_t reals, size_t lanes)
{
    ATTN__V zero = ATTN__SET1((ATTN__R)0), lowest = ATTN__SET1(-ATTN__R_MAX);
    size_t i;
    for (i = 0; i < reals; i += ATTN__W)
        ATTN__STORE((ATTN__R *)state->out + i, zero);
    for (i = 0; i < lanes; i += ATTN__W) {
        ATTN__STORE((ATTN__R *)state->max + i, lowest);
        ATTN__STORE((ATTN__R *)state->sum + i, zero);
    }
    memset(state->nan, 0, lanes);
}

ATTN__TARGET static void ATTN__NAME(finish)(const attn__state *state, void *inverse, size_t lanes)
{
    ATTN__V zero = ATTN__SET1((ATTN__R)0), one = ATTN__SET1((ATTN__R)1);
    size_t i;
    for (i = 0; i < lanes; i += ATTN__W) {
        ATTN__V sum = ATTN__LOAD((const ATTN__R *)state->sum + i);
        ATTN__STORE((ATTN__R *)inverse + i, ATTN__PICK(zero, sum, ATTN__DIV(one, sum), zero));
    }
}

ATTN__TARGET static void ATTN__NAME(scale)(void *xv, size_t rows, size_t cols, const void *factorv, int across)
{
    ATTN__AS_WRITTEN
    ATTN__R *x = (ATTN__R *)xv;
    const ATTN__R *factor = (const ATTN__R *)factorv;
    size_t lines = across ? rows : cols / ATTN__W, n = across ? cols / ATTN__W : rows, i, j; /* of equal factors */
    for (i = 0; i < lines; i++) {
        ATTN__V v = across ? ATTN__SET1(factor[i]) : ATTN__LOAD(factor + i * ATTN__W);
        ATTN__R *line = x + i * (across ? cols : ATTN__W);
        for (j = 0; j < n; j++, line += across ? ATTN__W : cols)
            ATTN__STORE(line, ATTN__MUL(ATTN__LOAD(line), v));
    }
}

/* Vectors of a tile: `count` rows of `width` reals. */
static void ATTN__NAME(extent)(const attn__tile *t, size_t *count, size_t *width)
{
    *count = t->across ? t->queries : t->keys;
    *width = t->across ? attn__blocks(t->keys, ATTN__W) * ATTN__W : t->lanes;
}

static ATTN__R ATTN__NAME(softcap_one)(ATTN__R s, double scale, double cap)
{
    return (ATTN__R)(cap * attn__tanh(attn__divide((double)s * scale, cap)));
}

ATTN__TARGET static void ATTN__NAME(softcap)(const attn__tile *t, double scale, double cap)
{
    size_t count, width, r, i;
#if ATTN__W > 1
    double size = attn__divide(scale < 0 ? -scale : scale, cap);
    int in_range = size >= ATTN__R_LEAST && size <= ATTN__R_MAX;
    ATTN__V caps = ATTN__SET1((ATTN__R)cap), scales = ATTN__SET1((ATTN__R)scale);
    ATTN__V ratio = ATTN__SET1(in_range ? (ATTN__R)(scale / cap) : 0);
#endif
    ATTN__NAME(extent)(t, &count, &width);
    for (r = 0; r < count; r++) {
        ATTN__R *s = (ATTN__R *)t->scores + r * t->ld;
#if ATTN__W > 1
        for (i = 0; i < width; i += ATTN__W) {
            ATTN__R lanes[ATTN__W];
            ATTN__V v = ATTN__LOAD(s + i);
            size_t j;
            ATTN__V x = ATTN__MUL(v, in_range ? ratio : scales);
            ATTN__PIN(x);
            x = in_range ? x : ATTN__DIV(x, caps);
            ATTN__STORE(s + i, ATTN__MUL(caps, ATTN__NAME(tanh)(x)));
            if (!ATTN__SPECIAL(v))
                continue;
            ATTN__STORE(lanes, v);
            for (j = 0; j < ATTN__W; j++) /* only its own lane: the bits of the others do not change */
                if (ATTN__NAME(is_special)(lanes[j]))
                    s[i + j] = ATTN__NAME(softcap_one)(lanes[j], scale, cap);
        }
#else
        for (i = 0; i < width; i++)
            s[i] = ATTN__NAME(softcap_one)(s[i], scale, cap);
#endif
    }
}

/* What belongs to the queries, or to the numbers of the keys, of the vector at row r and column c of a tile. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(of_query)(const void *x, size_t r, size_t c, const int across)
{
    return across ? ATTN__SET1(((const ATTN__R *)x)[r]) : ATTN__LOAD((const ATTN__R *)x + c);
}

ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(key_numbers)(size_t r, size_t c, const int across)
{
    static const ATTN__R attn__count[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return across ? ATTN__ADD(ATTN__SET1((ATTN__R)c), ATTN__LOAD(attn__count)) : ATTN__SET1((ATTN__R)r);
}

ATTN__TARGET ATTN__INLINE void ATTN__NAME(bias_as)(const attn__tile *t, double scale, const int across)
{
    ATTN__AS_WRITTEN
    ATTN__R least, hidden;
    ATTN__V zero = ATTN__SET1((ATTN__R)0), scales = ATTN__SET1((ATTN__R)scale), floor, out;
    size_t count, width, r, c;
    memcpy(&least, t->least, sizeof least);
    memcpy(&hidden, t->hidden, sizeof hidden);
    floor = ATTN__SET1(least);
    out = ATTN__SET1(hidden);
    ATTN__NAME(extent)(t, &count, &width);
    for (r = 0; r < count; r++)
        for (c = 0; c < width; c += ATTN__W) {
            ATTN__R *s = (ATTN__R *)t->scores + r * t->ld + c;
            ATTN__V v = ATTN__LOAD(s);
            if (t->bias) {
                ATTN__V bias = ATTN__LOAD((const ATTN__R *)t->bias + r * t->ld + c);
                v = ATTN__PICK(bias, floor, out, ATTN__FMA(v, scales, bias));
            } else
                v = ATTN__MUL(v, scales);
            if (t->slope) {
                ATTN__V away = ATTN__NAME(of_query)(t->position, r, c, across);
                away = ATTN__SUB(away, ATTN__NAME(key_numbers)(r, c, across));
                away = ATTN__MAX(away, ATTN__SUB(zero, away));
                v = ATTN__FMA(ATTN__NAME(of_query)(t->slope, r, c, across), away, v);
            }
            ATTN__STORE(s, v);
        }
}

ATTN__TARGET static void ATTN__NAME(bias)(const attn__tile *t, double scale)
{
    if (t->across)
        ATTN__NAME(bias_as)(t, scale, 1);
    else
        ATTN__NAME(bias_as)(t, scale, 0);
}

ATTN__TARGET ATTN__INLINE void ATTN__NAME(hide_as)(const attn__tile *t, const int across)
{
    ATTN__R hidden, least;
    ATTN__V out, floor, half = ATTN__SET1((ATTN__R)0.5);
    size_t count, width, r, c;
    memcpy(&hidden, t->hidden, sizeof hidden);
    memcpy(&least, t->least, sizeof least);
    out = ATTN__SET1(hidden);
    floor = ATTN__SET1(least);
    ATTN__NAME(extent)(t, &count, &width);
    for (r = 0; r < count; r++)
        for (c = 0; c < width; c += ATTN__W) {
            ATTN__R *s = (ATTN__R *)t->scores + r * t->ld + c;
            ATTN__V v = ATTN__LOAD(s);
            if (t->first &&
                (across ? c < t->all_first || c + ATTN__W > t->all_end : r < t->all_first || r >= t->all_end)) {
                ATTN__V key = ATTN__NAME(key_numbers)(r, c, across);
                v = ATTN__PICK(key, ATTN__NAME(of_query)(t->first, r, c, across), out, v);
                v = ATTN__PICK(key, ATTN__NAME(of_query)(t->end, r, c, across), v, out);
            }
            if (t->mask)
                v = ATTN__PICK(ATTN__LOAD((const ATTN__R *)t->mask + r * t->ld + c), half, out, v);
            if (t->bias)
                v = ATTN__PICK(ATTN__LOAD((const ATTN__R *)t->bias + r * t->ld + c), floor, out, v);
            ATTN__STORE(s, v);
        }
}

ATTN__TARGET static void ATTN__NAME(hide)(const attn__tile *t)
{
    if (t->across)
        ATTN__NAME(hide_as)(t, 1);
    else
        ATTN__NAME(hide_as)(t, 0);
}

ATTN__TARGET ATTN__INLINE ATTN__BASE ATTN__NAME(base_of)(double scale)
{
    ATTN__BASE b;
    double unit = scale * ATTN__LOG2E;
    ATTN__R near = (ATTN__R)unit;
    b.scale = scale;
    b.unit = ATTN__SET1(near);
    b.rest = ATTN__SET1((ATTN__R)(ATTN__REAL_F64 ? scale * ATTN__LOG2E_REST : unit - (double)near));
    b.limit = ATTN__SET1((ATTN__R)(ATTN__EXPONENT / unit));
    return b;
}

/* One vector of scores becomes e^(scale (score - max)), or `none` where it was below `floor`: that is -infinity. `odd`:
   it may be. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(softmax_one)(ATTN__R *s, ATTN__V max, const ATTN__BASE *b, const int odd,
                                                          ATTN__V floor, ATTN__V none)
{
    ATTN__V v = ATTN__LOAD(s), e = ATTN__NAME(power_of)(ATTN__SUB(v, max), b);
    e = odd ? ATTN__PICK(v, floor, none, e) : e;
    ATTN__STORE(s, e);
    return e;
}

/* That for one vector of queries and all keys of a tile, and the sum. It is one chain, as that of the values is: what
   rounding loses from one, it loses from the other. */
ATTN__TARGET ATTN__INLINE ATTN__V ATTN__NAME(softmax_sum)(const attn__tile *t, size_t c, ATTN__V max,
                                                          const ATTN__BASE *b, const int odd)
{
    ATTN__AS_WRITTEN
    ATTN__R *s = (ATTN__R *)t->scores + c, least, gone;
    ATTN__V sum = ATTN__SET1((ATTN__R)0), floor, none;
    size_t ld = t->ld, keys = t->keys, k, j;
    memcpy(&least, t->least, sizeof least);
    memcpy(&gone, t->none, sizeof gone);
    floor = ATTN__SET1(least);
    none = ATTN__SET1(gone);
    for (k = 0; k + 4 <= keys; k += 4) {
        ATTN__UNROLL
        for (j = 0; j < 4; j++) {
            sum = ATTN__ADD(sum, ATTN__NAME(softmax_one)(s + (k + j) * ld, max, b, odd, floor, none));
            ATTN__PIN(sum);
        }
    }
    for (; k < keys; k++) {
        sum = ATTN__ADD(sum, ATTN__NAME(softmax_one)(s + k * ld, max, b, odd, floor, none));
        ATTN__PIN(sum);
    }
    return sum;
}

/* One vector of queries against the keys of a tile: maximum, exponentials, sum. */
ATTN__TARGET ATTN__INLINE int ATTN__NAME(softmax_lanes)(const attn__tile *t, const attn__state *state, size_t c,
                                                        const ATTN__BASE *b)
{
    ATTN__AS_WRITTEN
    ATTN__R *s = (ATTN__R *)t->scores + c, *max = (ATTN__R *)state->max + c, *sum = (ATTN__R *)state->sum + c, nought;
    ATTN__V old = ATTN__LOAD(max), most[4], zeros[4], zero, factor, total, v;
    size_t ld = t->ld, keys = t->keys, whole = keys / 4 * 4, k, j;
    int odd;
    memcpy(&nought, t->zero, sizeof nought);
    zero = ATTN__SET1(nought);
    ATTN__UNROLL
    for (j = 0; j < 4; j++) {
        most[j] = old;
        zeros[j] = zero;
    }
    for (k = 0; k < whole; k += 4) {
        ATTN__UNROLL
        for (j = 0; j < 4; j++) {
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
    odd = ATTN__ODD(ATTN__ADD(ATTN__ADD(zeros[0], zeros[1]), ATTN__ADD(zeros[2], zeros[3])));
    for (k = 0; odd && k < keys; k++) /* NaN or +infinity among them? */
        if (ATTN__SPECIAL(ATTN__LOAD(s + k * ld)))
            for (j = 0; j < ATTN__W; j++)
                state->nan[c + j] |= (unsigned char)ATTN__NAME(is_special)(s[k * ld + j]);
    v = ATTN__MAX(ATTN__MAX(most[0], most[1]), ATTN__MAX(most[2], most[3]));
    factor = ATTN__NAME(power_of)(ATTN__SUB(old, v), b);
    total = odd ? ATTN__NAME(softmax_sum)(t, c, v, b, 1) : ATTN__NAME(softmax_sum)(t, c, v, b, 0);
    ATTN__STORE(sum, ATTN__FMA(ATTN__LOAD(sum), factor, total));
    ATTN__STORE(max, v);
    ATTN__STORE((ATTN__R *)t->factor + c, factor);
    return odd;
}

#if ATTN__W > 1

/* One query across: maximum and exponentials; the sum comes with the values. */
ATTN__TARGET ATTN__INLINE int ATTN__NAME(softmax_row)(const attn__tile *t, const attn__state *state, size_t r,
                                                      const ATTN__BASE *b)
{
    ATTN__R *s = (ATTN__R *)t->scores + r * t->ld, *max = (ATTN__R *)state->max + r, number;
    ATTN__V old = ATTN__SET1(*max), most = old, zeros, zero, floor, none, v;
    size_t c, j;
    int odd;
    memcpy(&number, t->zero, sizeof number);
    zeros = zero = ATTN__SET1(number);
    memcpy(&number, t->none, sizeof number);
    none = ATTN__SET1(number);
    memcpy(&number, t->least, sizeof number);
    floor = ATTN__SET1(number);
    c = t->keys / ATTN__W * ATTN__W;
    if (c < t->keys) /* past the last key */
        ATTN__STORE(s + c, ATTN__PICK(ATTN__NAME(key_numbers)(0, c, 1), ATTN__SET1((ATTN__R)t->keys), ATTN__LOAD(s + c),
                                      floor));
    for (c = 0; c < t->keys; c += ATTN__W) {
        v = ATTN__LOAD(s + c);
        zeros = ATTN__FMA(v, zero, zeros);
        most = ATTN__MAX(most, v);
    }
    odd = ATTN__ODD(zeros);
    for (c = 0; odd && c < t->keys; c++)
        state->nan[r] |= (unsigned char)ATTN__NAME(is_special)(s[c]);
    ATTN__UNROLL
    for (j = 1; j < ATTN__W; j *= 2) /* the largest of all goes to all */
        most = ATTN__MAX(ATTN__NAME(zip)(most, most, 0), ATTN__NAME(zip)(most, most, 1));
    v = most;
    ATTN__NAME(store_part)(max, v, 1);
    ATTN__NAME(store_part)((ATTN__R *)t->factor + r, ATTN__NAME(power_of)(ATTN__SUB(old, v), b), 1);
    if (odd)
        for (c = 0; c < t->keys; c += ATTN__W)
            ATTN__NAME(softmax_one)(s + c, v, b, 1, floor, none);
    else
        for (c = 0; c < t->keys; c += ATTN__W)
            ATTN__NAME(softmax_one)(s + c, v, b, 0, floor, none);
    return odd;
}

#endif

ATTN__TARGET static int ATTN__NAME(softmax)(const attn__tile *t, const attn__state *state, double scale)
{
    ATTN__BASE base = ATTN__NAME(base_of)(scale);
    size_t c;
    int odd = 0;
#if ATTN__W > 1
    if (t->across) {
        for (c = 0; c < t->queries; c++)
            odd |= ATTN__NAME(softmax_row)(t, state, c, &base);
        return odd != 0;
    }
#endif
    for (c = 0; c < t->lanes; c += ATTN__W)
        odd |= ATTN__NAME(softmax_lanes)(t, state, c, &base);
    return odd != 0;
}

ATTN__TARGET static void ATTN__NAME(fold)(const attn__tile *t, const attn__state *a, const attn__state *b, size_t dims,
                                          double scale)
{
    ATTN__AS_WRITTEN
    ATTN__R *out = (ATTN__R *)a->out, *max = (ATTN__R *)a->max, *sum = (ATTN__R *)a->sum;
    const ATTN__R *out_b = (const ATTN__R *)b->out, *max_b = (const ATTN__R *)b->max, *sum_b = (const ATTN__R *)b->sum;
    ATTN__R mine[ATTN__W], other[ATTN__W];
    ATTN__BASE base = ATTN__NAME(base_of)(scale);
    ATTN__V x, y, top;
    size_t wide = attn__blocks(dims, ATTN__W) * ATTN__W, c, d, j;
    for (c = 0; c < t->lanes; c++)
        a->nan[c] |= b->nan[c];
    for (c = 0; c < t->lanes; c += ATTN__W) {
        top = ATTN__MAX(ATTN__LOAD(max + c), ATTN__LOAD(max_b + c));
        x = ATTN__NAME(power_of)(ATTN__SUB(ATTN__LOAD(max + c), top), &base);
        y = ATTN__NAME(power_of)(ATTN__SUB(ATTN__LOAD(max_b + c), top), &base);
        ATTN__STORE(max + c, top);
        ATTN__STORE(sum + c, ATTN__FMA(ATTN__LOAD(sum_b + c), y, ATTN__MUL(ATTN__LOAD(sum + c), x)));
        for (d = c; !t->across && d < dims * t->lanes; d += t->lanes)
            ATTN__STORE(out + d, ATTN__FMA(ATTN__LOAD(out_b + d), y, ATTN__MUL(ATTN__LOAD(out + d), x)));
        ATTN__STORE(mine, x);
        ATTN__STORE(other, y);
        for (j = 0; t->across && c + j < t->queries && j < ATTN__W; j++)
            for (d = (c + j) * wide; d < (c + j + 1) * wide; d += ATTN__W)
                ATTN__STORE(out + d, ATTN__FMA(ATTN__LOAD(out_b + d), ATTN__SET1(other[j]),
                                               ATTN__MUL(ATTN__LOAD(out + d), ATTN__SET1(mine[j]))));
    }
}

/* -- attention across: few queries, each row of K and V read once -- */

#if ATTN__W > 1

/* Scores of W keys from number g on, whose rows p points to, by n dims from number d on. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(row_scores_block)(const attn__tile *t, const char *p, ptrdiff_t step,
                                                            const float *scales, const ATTN__R *queries, size_t depth,
                                                            size_t g, size_t d, size_t n, attn_dtype dtype,
                                                            const int whole)
{
    ATTN__V x[ATTN__W];
    size_t i, r;
    ATTN__UNROLL
    for (i = 0; i < ATTN__W; i++, p += step) {
        ATTN__PIN_POINTER(p);
        x[i] = ATTN__NAME(widen)(p, dtype);
        if (dtype == ATTN_I8)
            x[i] = ATTN__MUL(x[i], ATTN__SET1((ATTN__R)scales[i]));
    }
    ATTN__NAME(transpose)(x);
    for (r = 0; r < t->queries; r++) {
        ATTN__R *s = (ATTN__R *)t->scores + r * t->ld + g;
        const ATTN__R *q = queries + r * depth + d;
        ATTN__V sum = d > 0 ? ATTN__LOAD(s) : ATTN__SET1((ATTN__R)0);
        ATTN__PIN(sum); /* 0 + -0 is 0, also to -ffast-math */
        ATTN__UNROLL
        for (i = 0; i < ATTN__W; i++)
            if (whole || i < n)
                sum = ATTN__FMA(x[i], ATTN__SET1(q[i]), sum);
        ATTN__STORE(s, sum);
    }
}

/* The same at the end of keys or dims, from a copy. */
ATTN__TARGET static void ATTN__NAME(row_scores_edge)(const attn__tile *t, const attn__rows *k, const ATTN__R *queries,
                                                     size_t depth, size_t g, size_t d)
{
    ATTN__R copy[ATTN__W * ATTN__W];
    size_t n = attn__min(depth - d, ATTN__W), i;
    memset(copy, 0, sizeof copy);
    for (i = 0; i < ATTN__W && g + i < t->keys; i++) {
        const void *row = attn__at(k->data, k->dtype, (ptrdiff_t)(g + i) * k->step + (ptrdiff_t)d);
        ATTN__R *x = copy + i * ATTN__W;
        ATTN__NAME(load_row)(x, row, k->dtype, n);
        if (k->scales)
            ATTN__STORE(x, ATTN__MUL(ATTN__LOAD(x), ATTN__SET1((ATTN__R)k->scales[g + i])));
    }
    ATTN__NAME(row_scores_block)
    (t, (const char *)copy, ATTN__W * sizeof *copy, NULL, queries, depth, g, d, n, ATTN__REAL, 0);
}

/* Groups of W keys are taken four at a time, far from each other, so that their chains of sums overlap. Meanwhile the
   next tile is fetched, row by row from as many places: several streams memory serves better than one. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(row_scores_of)(const attn__tile *t, const attn__rows *k,
                                                         const ATTN__R *queries, size_t depth, attn_dtype dtype)
{
    size_t apart = attn__blocks(t->keys, 4 * ATTN__W) * ATTN__W, g0, g, d, fetched, f = 0;
    ptrdiff_t step = k->step * (ptrdiff_t)attn__size(dtype);
    for (g0 = 0; g0 < apart; g0 += ATTN__W)
        for (d = fetched = 0; d < depth; d += ATTN__W, fetched = f)
            for (g = g0; g < t->keys; g += apart) {
                if (d + ATTN__W <= depth && g + ATTN__W <= t->keys)
                    ATTN__NAME(row_scores_block)
                (t, (const char *)k->data + (ptrdiff_t)g * step + d * attn__size(dtype), step,
                 k->scales ? k->scales + g : NULL, queries, depth, g, d, ATTN__W, dtype, 1);
                else ATTN__NAME(row_scores_edge)(t, k, queries, depth, g, d);
                for (f = fetched; f < ATTN__W && f * depth < (d + ATTN__W) * ATTN__W; f++)
                    ATTN__NAME(fetch)(k, g + f);
            }
}

ATTN__TARGET static void ATTN__NAME(row_scores)(const attn__tile *t, const attn__rows *k, const void *queriesv,
                                                size_t depth)
{
    const ATTN__R *queries = (const ATTN__R *)queriesv;
    switch (ATTN__REAL_F64 ? ATTN__REAL : k->dtype) {
    case ATTN_F16: ATTN__NAME(row_scores_of)(t, k, queries, depth, ATTN_F16); break;
    case ATTN_BF16: ATTN__NAME(row_scores_of)(t, k, queries, depth, ATTN_BF16); break;
    case ATTN_I8: ATTN__NAME(row_scores_of)(t, k, queries, depth, ATTN_I8); break;
    default: ATTN__NAME(row_scores_of)(t, k, queries, depth, ATTN__REAL); break;
    }
}

/* `rows` queries from number r on, `vectors` vectors of dims from number d on, n in the last one. The weights are
   summed too: one chain, like that of the lanes. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(row_values_block)(const attn__tile *t, const attn__state *state,
                                                            const attn__rows *v, size_t dims, size_t r, size_t d,
                                                            size_t n, attn_dtype dtype, const int rows,
                                                            const int vectors)
{
    size_t size = attn__size(dtype), wide = attn__blocks(dims, ATTN__W) * ATTN__W, k;
    const ATTN__R *p[4], *factor = (const ATTN__R *)t->factor;
    ATTN__V sum[4][4], x[4], total[4];
    ATTN__R *sums = (ATTN__R *)state->sum;
    int i, j;
    ATTN__UNROLL
    for (i = 0; i < rows; i++) {
        total[i] = ATTN__SET1((ATTN__R)0);
        p[i] = (const ATTN__R *)t->scores + attn__min(r + (size_t)i, t->queries - 1) * t->ld;
        ATTN__UNROLL
        for (j = 0; j < vectors; j++)
            sum[i][j] = ATTN__SET1((ATTN__R)0);
    }
    for (k = 0; k < t->keys; k++) {
        const char *from = (const char *)v->data + ((ptrdiff_t)k * v->step + (ptrdiff_t)d) * (ptrdiff_t)size;
        if (d == 0)
            ATTN__NAME(fetch)(v, k % 4 * (t->keys / 4) + k / 4);
        ATTN__UNROLL
        for (j = 0; j < vectors; j++) {
            x[j] = n == ATTN__W ? ATTN__NAME(widen)(from + (size_t)j * ATTN__W * size, dtype)
                                : ATTN__NAME(widen_part)(from, dtype, n);
            if (dtype == ATTN_I8)
                x[j] = ATTN__MUL(x[j], ATTN__SET1((ATTN__R)v->scales[k]));
        }
        ATTN__UNROLL
        for (i = 0; i < rows; i++) {
            ATTN__V weight = ATTN__SET1(p[i][k]);
            total[i] = ATTN__ADD(total[i], weight);
            ATTN__PIN(total[i]);
            ATTN__UNROLL
            for (j = 0; j < vectors; j++)
                sum[i][j] = ATTN__FMA(x[j], weight, sum[i][j]);
        }
    }
    ATTN__UNROLL
    for (i = 0; i < rows; i++) {
        size_t query = r + (size_t)i;
        ATTN__R *out = (ATTN__R *)state->out + query * wide + d;
        if (d == 0 && query < t->queries) {
            ATTN__V before = ATTN__FMA(ATTN__SET1(sums[query]), ATTN__SET1(factor[query]), total[i]);
            ATTN__NAME(store_part)(sums + query, before, 1);
        }
        ATTN__UNROLL
        for (j = 0; j < vectors; j++, out += ATTN__W)
            if (query < t->queries)
                ATTN__STORE(out, ATTN__FMA(ATTN__LOAD(out), ATTN__SET1(factor[query]), sum[i][j]));
    }
}

ATTN__TARGET ATTN__INLINE void ATTN__NAME(row_values_of)(const attn__tile *t, const attn__state *state,
                                                         const attn__rows *v, size_t dims, attn_dtype dtype)
{
    size_t d = 0, r, left, queries = t->queries;
    do {
        left = dims - d;
        for (r = 0; r < queries; r += 4)
            if (left == 0)
                ATTN__NAME(row_values_block)(t, state, v, dims, r, d, 0, dtype, 4, 0);
            else if (left < 4 * ATTN__W)
                ATTN__NAME(row_values_block)(t, state, v, dims, r, d, attn__min(left, ATTN__W), dtype, 4, 1);
            else if (queries == 1)
                ATTN__NAME(row_values_block)(t, state, v, dims, r, d, ATTN__W, dtype, 1, 4);
            else
                ATTN__NAME(row_values_block)(t, state, v, dims, r, d, ATTN__W, dtype, 4, 4);
        d += left >= 4 * ATTN__W ? 4 * ATTN__W : ATTN__W;
    } while (d < dims);
}

ATTN__TARGET static void ATTN__NAME(row_values)(const attn__tile *t, const attn__state *state, const attn__rows *v,
                                                size_t dims)
{
    switch (ATTN__REAL_F64 ? ATTN__REAL : v->dtype) {
    case ATTN_F16: ATTN__NAME(row_values_of)(t, state, v, dims, ATTN_F16); break;
    case ATTN_BF16: ATTN__NAME(row_values_of)(t, state, v, dims, ATTN_BF16); break;
    case ATTN_I8: ATTN__NAME(row_values_of)(t, state, v, dims, ATTN_I8); break;
    default: ATTN__NAME(row_values_of)(t, state, v, dims, ATTN__REAL); break;
    }
}

/* -- product of few rows: each row of w is read once, where it lies -- */

#ifdef ATTN__LOAD_F16
/* W pairs of 16-bit numbers as reals: the first of each pair, and the second. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(widen_pairs)(ATTN__V pairs, attn_dtype dtype, ATTN__V *first, ATTN__V *second)
{
#if ATTN__PASS == ATTN__PASS_AVX512
    __m512i v = _mm512_castps_si512(pairs);
    __m512i next = _mm512_maskz_srli_epi32(ATTN__ALL, v, 16);
    if (dtype == ATTN_F16) {
        *first = _mm512_maskz_cvtph_ps(ATTN__ALL, _mm512_maskz_cvtepi32_epi16(ATTN__ALL, v));
        *second = _mm512_maskz_cvtph_ps(ATTN__ALL, _mm512_maskz_cvtepi32_epi16(ATTN__ALL, next));
    } else {
        *first = _mm512_castsi512_ps(_mm512_maskz_slli_epi32(ATTN__ALL, v, 16));
        *second = _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32((int)0xffff0000)));
    }
#elif ATTN__PASS == ATTN__PASS_AVX2
    __m256i v = _mm256_castps_si256(pairs);
    if (dtype == ATTN_F16) {
        v = _mm256_shuffle_epi8(v, _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, /**/
                                                    0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
        v = _mm256_permute4x64_epi64(v, 0xd8);
        *first = _mm256_cvtph_ps(_mm256_castsi256_si128(v));
        *second = _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
    } else {
        *first = _mm256_castsi256_ps(_mm256_slli_epi32(v, 16));
        *second = _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32((int)0xffff0000)));
    }
#else
    uint32x4_t v = vreinterpretq_u32_f32(pairs);
    if (dtype == ATTN_F16) {
        *first = vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(v)));
        *second = vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(v, 16)));
    } else {
        *first = vreinterpretq_f32_u32(vshlq_n_u32(v, 16));
        *second = vreinterpretq_f32_u32(vandq_u32(v, vdupq_n_u32(0xffff0000)));
    }
#endif
}
#endif

/* sum[r] += x times one number of each row of a. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(products_term)(ATTN__V *sum, ATTN__V x, const ATTN__R *const *a, size_t k,
                                                         const int rows)
{
    int r;
    ATTN__UNROLL
    for (r = 0; r < rows; r++)
        sum[r] = ATTN__FMA(x, ATTN__SET1(a[r][k]), sum[r]);
}

/* sum[r] += W rows of w times row r of a, by 128 bits of each row of w, which p points to: terms k and next. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(products_piece)(ATTN__V *sum, const char *p, ptrdiff_t step,
                                                          const ATTN__R *const *a, size_t k, attn_dtype dtype,
                                                          const int rows)
{
    ATTN__V x[ATTN__QUAD];
    size_t i;
    ATTN__UNROLL
    for (i = 0; i < ATTN__QUAD; i++)
        x[i] = ATTN__NAME(load_quads)(p + (ptrdiff_t)i * step, ATTN__QUAD * step);
    ATTN__NAME(turn_quads)(x);
    ATTN__UNROLL
    for (i = 0; i < ATTN__QUAD; i++) {
#ifdef ATTN__LOAD_F16
        if (dtype != ATTN__REAL) {
            ATTN__V first, second;
            ATTN__NAME(widen_pairs)(x[i], dtype, &first, &second);
            ATTN__NAME(products_term)(sum, first, a, k + 2 * i, rows);
            ATTN__NAME(products_term)(sum, second, a, k + 2 * i + 1, rows);
            continue;
        }
#endif
        (void)dtype;
        ATTN__NAME(products_term)(sum, x[i], a, k + i, rows);
    }
}

/* W rows of w with up to `rows` rows of a, the last of them again if there are fewer, by all whole pieces. Meanwhile W
   other rows are fetched, those of either half one after the other: memory serves two streams better than one. */
ATTN__TARGET ATTN__INLINE void ATTN__NAME(products_group)(ATTN__R *const *c, const char *p, ptrdiff_t step,
                                                          const ATTN__R *const *a, size_t depth, const char *next,
                                                          size_t more, attn_dtype dtype, const int rows)
{
    ATTN__V sum[8];
    size_t piece = 16 / attn__size(dtype), part = attn__blocks(depth / piece, ATTN__W / 2) * piece, k = 0, end, i;
    ptrdiff_t half = more > ATTN__W / 2 ? ATTN__W / 2 * step : 0;
    const char *fetched;
    int r;
    ATTN__UNROLL
    for (r = 0; r < rows; r++)
        sum[r] = ATTN__LOAD(c[r]);
    while (k + piece <= depth) {
        fetched = next;
        next += more > 1 ? step : 0;
        more -= more > 1;
        for (end = attn__min(k + part, depth / piece * piece); k < end; k += piece) {
            for (i = 0; i < 8 * ATTN__W; i += 64) {
                ATTN__PREFETCH(fetched + i);
                ATTN__PREFETCH(fetched + half + i);
            }
            ATTN__NAME(products_piece)(sum, p, step, a, k, dtype, rows);
            p += 16;
            fetched += 8 * ATTN__W;
        }
    }
    ATTN__UNROLL
    for (r = 0; r < rows; r++)
        ATTN__STORE(c[r], sum[r]);
}

/* The same for up to W rows of w, from a copy, and for terms from k on. */
ATTN__TARGET ATTN__NOINLINE void ATTN__NAME(products_edge)(ATTN__R *c, size_t ldc, const char *p, ptrdiff_t step,
                                                           size_t count, const ATTN__R *a, size_t lda, size_t rows,
                                                           size_t k, size_t depth, attn_dtype dtype)
{
    ATTN__R copy[ATTN__W * ATTN__QUAD];
    ATTN__V x[ATTN__QUAD];
    size_t n, i, r, size = attn__size(dtype);
    memset(copy, 0, sizeof copy);
    for (; k < depth; k += n) {
        n = attn__min(depth - k, ATTN__QUAD);
        for (i = 0; i < count; i++)
            ATTN__NAME(load_row)(copy + i * ATTN__QUAD, p + (ptrdiff_t)i * step + k * size, dtype, n);
        for (i = 0; i < ATTN__QUAD; i++)
            x[i] = ATTN__NAME(load_quads)((const char *)(copy + i * ATTN__QUAD), ATTN__QUAD * 16);
        ATTN__NAME(turn_quads)(x);
        for (r = 0; r < rows; r++) {
            ATTN__V sum = ATTN__LOAD(c + r * ldc);
            for (i = 0; i < n; i++)
                sum = ATTN__FMA(x[i], ATTN__SET1(a[r * lda + k + i]), sum);
            ATTN__STORE(c + r * ldc, sum);
        }
    }
}

ATTN__TARGET ATTN__INLINE void ATTN__NAME(products_of)(ATTN__R *c, size_t ldc, const ATTN__R *a, size_t lda,
                                                       size_t rows, const attn__rows *w, size_t count, size_t depth,
                                                       attn_dtype dtype)
{
    ptrdiff_t step = w->step * (ptrdiff_t)attn__size(w->dtype);
    size_t piece = 16 / attn__size(dtype), g, r0, r, n, k, more, left;
    const char *p, *next;
    const ATTN__R *from[8];
    ATTN__R *to[8];
    for (g = 0; g < count; g += n) {
        p = (const char *)w->data + (ptrdiff_t)g * step;
        n = attn__min(count - g, ATTN__W);
        more = g + n < count ? count - g - n : w->more;
        next = g + n < count ? p + ATTN__W * step : more > 0 ? w->next : p;
        k = n == ATTN__W && w->dtype == dtype ? depth / piece * piece : 0; /* so many terms from where they lie */
        for (r0 = 0; k > 0 && r0 < rows; r0 += 8) {
            left = attn__min(rows - r0, 8);
            for (r = 0; r < 8; r++) {
                from[r] = a + (r0 + attn__min(r, left - 1)) * lda;
                to[r] = c + (r0 + attn__min(r, left - 1)) * ldc + g;
            }
            if (left > 4)
                ATTN__NAME(products_group)(to, p, step, from, depth, next, more, dtype, 8);
            else if (left > 2)
                ATTN__NAME(products_group)(to, p, step, from, depth, next, more, dtype, 4);
            else if (left > 1)
                ATTN__NAME(products_group)(to, p, step, from, depth, next, more, dtype, 2);
            else
                ATTN__NAME(products_group)(to, p, step, from, depth, next, more, dtype, 1);
        }
        if (k < depth)
            ATTN__NAME(products_edge)(c + g, ldc, p, step, n, a, lda, rows, k, depth, w->dtype);
    }
}

ATTN__TARGET static void ATTN__NAME(products)(void *cv, size_t ldc, const void *av, size_t lda, size_t rows,
                                              const attn__rows *w, size_t count, size_t depth)
{
    ATTN__R *c = (ATTN__R *)cv;
    const ATTN__R *a = (const ATTN__R *)av;
    switch (ATTN__REAL_F64 ? ATTN__REAL : w->dtype) {
    case ATTN_F16: ATTN__NAME(products_of)(c, ldc, a, lda, rows, w, count, depth, ATTN_F16); break;
    case ATTN_BF16: ATTN__NAME(products_of)(c, ldc, a, lda, rows, w, count, depth, ATTN_BF16); break;
    default: ATTN__NAME(products_of)(c, ldc, a, lda, rows, w, count, depth, ATTN__REAL); break;
    }
}

#define ATTN__ROW_KERNEL(name) ATTN__NAME(name)
#else
#define ATTN__ROW_KERNEL(name) NULL /* one query is a vector */
#endif

static const attn__kernels ATTN__NAME(kernels) = {ATTN__ISA,
                                                  ATTN__REAL,
                                                  sizeof(ATTN__R),
                                                  ATTN__W,
                                                  ATTN__ROWS,
                                                  ATTN__TILE_COLS,
                                                  ATTN__NAME(load),
                                                  ATTN__NAME(store),
                                                  ATTN__NAME(matmul),
                                                  ATTN__ROW_KERNEL(products),
                                                  ATTN__NAME(softmax_max),
                                                  ATTN__NAME(softmax_exp),
                                                  ATTN__NAME(special),
                                                  ATTN__NAME(seen),
                                                  ATTN__NAME(scores),
                                                  ATTN__ROW_KERNEL(row_scores),
                                                  ATTN__NAME(begin),
                                                  ATTN__NAME(finish),
                                                  ATTN__NAME(scale),
                                                  ATTN__NAME(softcap),
                                                  ATTN__NAME(bias),
                                                  ATTN__NAME(hide),
                                                  ATTN__NAME(softmax),
                                                  ATTN__NAME(values),
                                                  ATTN__ROW_KERNEL(row_values),
                                                  ATTN__NAME(fold)};

#undef ATTN__R
#undef ATTN__REAL
#undef ATTN__R_MAX
#undef ATTN__R_LEAST
#undef ATTN__BITS
#undef ATTN__INFINITY
#undef ATTN__TARGET
#undef ATTN__ISA
#undef ATTN__NAME
#undef ATTN__V
#undef ATTN__W
#undef ATTN__X
#undef ATTN__ROWS
#undef ATTN__TILE_COLS
#undef ATTN__STRIP
#undef ATTN__QUAD
#undef ATTN__ROW_KERNEL
#undef ATTN__AS_WRITTEN
#undef ATTN__LOAD
#undef ATTN__STORE
#undef ATTN__LOAD_F32
#undef ATTN__STORE_F32
#undef ATTN__LOAD_F16
#undef ATTN__LOAD_BF16
#undef ATTN__STORE_F16
#undef ATTN__LOAD_I8
#undef ATTN__LOAD_BOOL
#undef ATTN__SET1
#undef ATTN__ADD
#undef ATTN__SUB
#undef ATTN__MUL
#undef ATTN__DIV
#undef ATTN__FMA
#undef ATTN__FMS
#undef ATTN__MAX
#undef ATTN__PICK
#undef ATTN__ALL
#undef ATTN__MASK
#undef ATTN__ROUND
#undef ATTN__LDEXP
#undef ATTN__PIN
#undef ATTN__PIN_POINTER
#undef ATTN__PREFETCH
#undef ATTN__REGISTER
#undef ATTN__SPECIAL
#undef ATTN__ODD
#undef ATTN__EXP
#undef ATTN__MAGIC
#undef ATTN__BASE
#undef ATTN__EXPONENT
#undef ATTN__REAL_F64

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
