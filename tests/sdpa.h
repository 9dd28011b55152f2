/* What the tests of the engine share: tensors in every layout, and the reference that attn_sdpa is compared with. */
#ifndef ATTN_TEST_SDPA_H
#define ATTN_TEST_SDPA_H

#include "test.h"

/* ---- tensors: each in a guarded block of its own (test_block), so test_freeze and test_wrote_nothing see them ---- */
enum test_tensor_layout {
    T_BHLD,      /* packed */
    T_BLHD,      /* packed, heads side by side */
    T_QKV,       /* one third of an interleaved [B][L][3][H][D] */
    T_SLICE,     /* the first L rows of a larger [B][H][L + 5][D + 3] */
    T_STEP,      /* dim_stride 2 */
    T_TURNED,    /* dim_stride L, len_stride 1 */
    T_FLIPPED,   /* every stride negative */
    T_BACKWARDS, /* len_stride negative */
    T_ODD,       /* packed, but starting off the alignment of vectors */
    T_OUT_LAYOUTS,
    T_ONE_BATCH = T_OUT_LAYOUTS, /* for inputs alone: batch_stride 0, every item is the same */
    T_ONE_HEAD,                  /* head_stride 0 */
    T_ONE_ROW,                   /* len_stride 0 */
    T_ONE_COL,                   /* dim_stride 0 */
    T_LAYOUTS
};

attn_tensor test_tensor(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout);
attn_tensor test_random_tensor(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout); /* -1 .. 1 */
attn_tensor test_tensor_like(attn_tensor t, int layout); /* same dtype, shape and bits, another layout */
void test_scatter(attn_tensor t, uint64_t seed);         /* -1 .. 1 (BOOL: 0 or 1), a function of the seed alone */
void test_fill_tensor(attn_tensor t, double value);
void *test_tensor_at(attn_tensor t, size_t b, size_t h, size_t i, size_t d);
real test_tensor_get(attn_tensor t, size_t b, size_t h, size_t i, size_t d); /* decoded without the library */
void test_tensor_set(attn_tensor t, size_t b, size_t h, size_t i, size_t d, double value);
real *test_tensor_values(attn_tensor t); /* [B][H][L][D], in a block */
int test_absent_tensor(attn_tensor t);
int test_same_tensor_bits(attn_tensor a, attn_tensor b);            /* dtype, shape and every element's bits */
int test_wrote_only_tensors(const attn_tensor *outs, size_t count); /* since test_freeze; absent ones are fine */

/* ---- parts and rows of tensors, and tensors that end where memory does ---- */

attn_tensor test_tensor_item(attn_tensor t, size_t b); /* one item of a batch, or of what is broadcast or absent */
void test_copy_tensor(attn_tensor to, attn_tensor from); /* the bits of one of the same shape */
int test_same_row(attn_tensor x, attn_tensor y, size_t b, size_t h, size_t i);
int test_row_is(attn_tensor t, size_t b, size_t h, size_t i, real want); /* in every element: 0 is +0, a NaN any */
void test_fill_row(attn_tensor t, size_t b, size_t h, size_t i, double value);

/* L random rows of H heads side by side, elements `step` apart: the first `exist` of them in fenced memory. The others
   would lie beyond the fence, which comes before the memory if the rows go backwards. */
attn_tensor test_fenced_rows(attn_dtype dtype, size_t H, size_t L, size_t D, size_t exist, size_t step, int backwards);

/* A copy whose rows lie apart: each ends where memory does that nobody may read or, if `low`, begins where such ends.
   Rows that `hidden` names, in the order [batch][heads][len], cannot be read at all; NULL: there are none. */
attn_tensor test_rows_apart(attn_tensor from, int low, const unsigned char *hidden);

/* One row of numbers for each query, or one for all, of which the first `exist` exist. */
attn_tensor test_fenced_pairs(attn_dtype dtype, size_t Lq, size_t Lk, size_t exist, int backwards);

/* ---- faults: something wrong done to one view of a call that was right ---- */
enum { SPOIL_REQUIRED = 1, SPOIL_OUTPUT = 2 }; /* what it is to the call */
enum test_spoil_kind {                         /* in the order in which they are checked */
                       SPOIL_ABSENT,
                       SPOIL_BAD,
                       SPOIL_NULL_DATA,
                       SPOIL_I8,
                       SPOIL_BOOL,
                       SPOIL_UNKNOWN,
                       SPOIL_BATCH, /* one more than fits; of a matrix only SPOIL_LEN and SPOIL_DIM */
                       SPOIL_HEADS,
                       SPOIL_LEN,
                       SPOIL_DIM,
                       SPOIL_NO_LEN,
                       SPOIL_NO_DIM,
                       SPOIL_STRIDE,
                       SPOIL_FARTHER,
                       SPOIL_MISALIGNED,
                       SPOIL_ZERO_STRIDE,
                       SPOILS
};

/* Does it; the status to expect, or ATTN_OK where the fault has no meaning for this view. */
attn_status test_spoil(attn_tensor *t, int role, int kind);
attn_status test_spoil_mat(attn_mat *m, int role, int kind);

/* ---- visibility ---- */

/* Where query i of item b stands among the keys, under the causal rule of the options; saturated. */
ptrdiff_t sdpa_position(const attn_opts *opts, size_t Lq, size_t Lk, size_t b, size_t i);

/* Whether query i of head h of item b sees key j, by lengths, causal rule, window, mask and a bias of -infinity. */
int sdpa_sees(const attn_opts *opts, size_t Lq, size_t Lk, size_t b, size_t h, size_t i, size_t j);

/* ---- the reference ----
   All of attn_sdpa in dull loops, results packed [B][H][Lq][Dv], [B][H][Lq], [B][H][Lq][Lk], [B][H][Lq][Lk]; any of
   them may be NULL. `scores` is of opts->scores_stage, whether or not opts->scores is given. EXACT: long double and
   compensated sums; NAIVE32 and NAIVE64: the naive composition, every operation rounded. opts may be NULL. What no row
   sees is not read, except that `scores` of the first two stages holds every valid pair.
   score_mod is called for one score at a time, in the compute type; so with it EXACT rounds the score once.
   EXACT raises test_size_of_sums to the largest sum of magnitudes that a score is made of. */
void sdpa_reference(real *out, real *lse, real *weights, real *scores, attn_tensor q, attn_tensor k, attn_tensor v,
                    const attn_opts *opts, test_mode mode);

/* test_pairs_error of each element of out, packed; NULL where the call takes no pairs. */
real *sdpa_pairs_error(attn_isa isa, attn_tensor q, attn_tensor k, attn_tensor v, const attn_opts *opts);

/* isfinite; and 1 and -1 for the infinities, else 0. Both look at a double: valgrind has no long doubles beyond. */
int sdpa_finite(real x);
int sdpa_infinite(real x);

extern size_t sdpa_pairs; /* pairs of a query and a key it sees that EXACT has met */

/* |got - want| <= 2 worst + 4 ulp(want), plus half an ulp of a `got` narrower than the compute type; the same NaN and
   infinities. want and naive are packed as above; worst is the largest |naive - want|, and at least `least`: where
   there are few numbers, the naive way may have been lucky. Says the first element that is off. */
int sdpa_close(attn_tensor got, const real *want, const real *naive, attn_dtype compute, real least);

/* Of a result of products of pairs, which may be off by pairs[n] more (sdpa_pairs_error). */
int sdpa_close_pairs(attn_tensor got, const real *want, const real *naive, attn_dtype compute, real least,
                     const real *pairs);

/* What two ways of computing a result of magnitude `size` may differ by when the scores are sums of test_size_of_sums:
   half an ulp of the score, times `size`; for `least` above. */
real sdpa_least(real size, attn_dtype compute);

/* Moves key j along the first query of its group, until scale q . k is about `score`, however large the terms are. */
void sdpa_aim(attn_tensor q, attn_tensor k, size_t h, size_t j, double scale, double score);

/* Keys whose dot products with the only query are all S, a little more than that power of two, in exact arithmetic but
   for less than one rounding. Terms of either sign follow one another that are half an ulp of S: those that go up a
   little more, those that go down a little less. A fused sum rounds all of them up (for every other key: down);
   products rounded on their own are half an ulp, and their sum stays at S, which is even. */
void sdpa_climb(attn_tensor q, attn_tensor k, attn_tensor v, double power);

/* The largest |naive - want| and |got - want| that sdpa_close has met since these were zeroed. */
extern real sdpa_worst_naive, sdpa_worst_got;

extern long test_tiles; /* tiles that the engine has computed: counted by tests/attn_impl.c */
extern const int test_optimised; /* whether the compiler was asked to optimise the library: of tests/attn_impl.c */

#endif
