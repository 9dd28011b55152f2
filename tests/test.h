/* The harness of the tests: checks that name their place and case, matrices in every layout, models to compare with.

   TEST_LEVEL=quick in the environment runs a short version that still calls every public function.
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

void test_cover(const char *function);
#include "cover.h" /* generated: every call of a public function passes through test_cover() */

/* ---- the tests, in the order in which they run ---- */
#define TEST_LIST(X)                                                                                                   \
    X(strings)                                                                                                         \
    X(views_of_matrices)                                                                                               \
    X(views_sliced)                                                                                                    \
    X(views_of_tensors)                                                                                                \
    X(views_too_large)                                                                                                 \
    X(views_absent_and_bad)                                                                                            \
    X(views_new_and_free)                                                                                              \
    X(views_get_and_set)                                                                                               \
    X(dtypes_from_16_bits)                                                                                             \
    X(dtypes_to_16_bits)                                                                                               \
    X(dtypes_16_to_16_bits)                                                                                            \
    X(dtypes_f32_and_f64)                                                                                              \
    X(dtypes_bool)                                                                                                     \
    X(dtypes_copy_keeps_bits)                                                                                          \
    X(status_single_faults)                                                                                            \
    X(status_order)                                                                                                    \
    X(status_empty_shapes)                                                                                             \
    X(status_numbers)                                                                                                  \
    X(status_heads)                                                                                                    \
    X(status_huge_shapes)                                                                                              \
    X(status_no_memory)                                                                                                \
    X(status_errno)                                                                                                    \
    X(status_endless_rows)                                                                                             \
    X(alias_named_cases)                                                                                               \
    X(alias_brute_force_copy)                                                                                          \
    X(alias_brute_force_matmul)                                                                                        \
    X(alias_outputs)                                                                                                   \
    X(matmul_lengths)                                                                                                  \
    X(matmul_large)                                                                                                    \
    X(matmul_bits)                                                                                                     \
    X(matmul_few_rows)                                                                                                 \
    X(matmul_alpha)                                                                                                    \
    X(matmul_specials)                                                                                                 \
    X(matmul_rounds_once)                                                                                              \
    X(matmul_contexts)                                                                                                 \
    X(softmax_accuracy)                                                                                                \
    X(softmax_equal_numbers)                                                                                           \
    X(softmax_exponential)                                                                                             \
    X(softmax_tiny_results)                                                                                            \
    X(softmax_passes_differ)                                                                                           \
    X(softmax_translation)                                                                                             \
    X(softmax_permutation)                                                                                             \
    X(softmax_specials)                                                                                                \
    X(softmax_poison)                                                                                                  \
    X(softmax_million)                                                                                                 \
    X(softmax_contexts)                                                                                                \
    X(steps_against_models)                                                                                            \
    X(steps_layouts)                                                                                                   \
    X(steps_heads)                                                                                                     \
    X(steps_values)                                                                                                    \
    X(steps_cosine)                                                                                                    \
    X(steps_cosine_nan)                                                                                                \
    X(steps_attention)                                                                                                 \
    X(steps_pytorch)                                                                                                   \
    X(golden_pytorch)                                                                                                  \
    X(golden_flex)                                                                                                     \
    X(golden_onnx)                                                                                                     \
    X(golden_microsoft)                                                                                                \
    X(golden_t5_buckets)                                                                                               \
    X(golden_t5_biases)                                                                                                \
    X(golden_frequencies)                                                                                              \
    X(golden_slopes)                                                                                                   \
    X(golden_sinusoids)                                                                                                \
    X(golden_rotations)                                                                                                \
    X(golden_layers)                                                                                                   \
    X(golden_sessions)                                                                                                 \
    X(sdpa_grid)                                                                                                       \
    X(sdpa_contexts)                                                                                                   \
    X(sdpa_batch)                                                                                                      \
    X(sdpa_requests)                                                                                                   \
    X(sdpa_layouts)                                                                                                    \
    X(sdpa_interleaved)                                                                                                \
    X(sdpa_accuracy)                                                                                                   \
    X(sdpa_truncation)                                                                                                 \
    X(sdpa_permutation)                                                                                                \
    X(sdpa_groups)                                                                                                     \
    X(sdpa_merged)                                                                                                     \
    X(sdpa_garbage)                                                                                                    \
    X(sdpa_infinite_scores)                                                                                            \
    X(sdpa_unseen)                                                                                                     \
    X(sdpa_fences)                                                                                                     \
    X(sdpa_scratch)                                                                                                    \
    X(sdpa_scratch_of_long)                                                                                            \
    X(sdpa_scratch_steady)                                                                                             \
    X(sdpa_scratch_of_wide)                                                                                            \
    X(sdpa_scratch_grows)                                                                                              \
    X(sdpa_memory)                                                                                                     \
    X(sdpa_tiles)                                                                                                      \
    X(sdpa_empty_rows)                                                                                                 \
    X(sdpa_empty_rows_together)                                                                                        \
    X(sdpa_no_keys)                                                                                                    \
    X(sdpa_hidden_garbage)                                                                                             \
    X(sdpa_hidden_from_all)                                                                                            \
    X(sdpa_past_lengths)                                                                                               \
    X(sdpa_past_lengths_same_bits)                                                                                     \
    X(sdpa_mask_selects)                                                                                               \
    X(sdpa_minus_infinity)                                                                                             \
    X(sdpa_minus_infinity_hides)                                                                                       \
    X(sdpa_nan_attended)                                                                                               \
    X(sdpa_overflow_of_scores)                                                                                         \
    X(sdpa_softcap_before_bias_and_mask)                                                                               \
    X(sdpa_all_options)                                                                                                \
    X(sdpa_who_sees_whom)                                                                                              \
    X(sdpa_who_sees_whom_across_tiles)                                                                                 \
    X(sdpa_groups_of_heads)                                                                                            \
    X(sdpa_sinks)                                                                                                      \
    X(sdpa_sinks_of_minus_infinity)                                                                                    \
    X(sdpa_sinks_of_nan)                                                                                               \
    X(sdpa_sinks_of_empty_rows)                                                                                        \
    X(sdpa_tiles_abreast)                                                                                              \
    X(sdpa_tiles_remembered)                                                                                           \
    X(sdpa_tiles_split)                                                                                                \
    X(sdpa_tiles_across)                                                                                               \
    X(sdpa_tiles_exponentials)                                                                                         \
    X(sdpa_tiles_scales)                                                                                               \
    X(sdpa_tiles_softcaps)                                                                                             \
    X(sdpa_natural_log)                                                                                                \
    X(sdpa_scales)                                                                                                     \
    X(sdpa_softcap_accuracy)                                                                                           \
    X(sdpa_large_logits)                                                                                               \
    X(sdpa_rows_alone)                                                                                                 \
    X(sdpa_equal_values)                                                                                               \
    X(sdpa_softcap_of_infinity)                                                                                        \
    X(sdpa_finite_bias_is_no_mask)                                                                                     \
    X(sdpa_truth)                                                                                                      \
    X(sdpa_requests_change_nothing)                                                                                    \
    X(sdpa_stages)                                                                                                     \
    X(sdpa_types_of_outputs)                                                                                           \
    X(sdpa_values_within_keys)                                                                                         \
    X(sdpa_one_buffer)                                                                                                 \
    X(sdpa_shared_by_the_batch)                                                                                        \
    X(sdpa_score_mod_calls)                                                                                            \
    X(sdpa_score_mod_skips)                                                                                            \
    X(sdpa_score_mod_is_bias)                                                                                          \
    X(sdpa_score_mod_of_identity)                                                                                      \
    X(sdpa_alibi)                                                                                                      \
    X(sdpa_alibi_far_away)                                                                                             \
    X(merge_halves)                                                                                                    \
    X(merge_ring)                                                                                                      \
    X(merge_rows)                                                                                                      \
    X(merge_light_sides)                                                                                               \
    X(merge_empty_keeps_bits)                                                                                          \
    X(merge_contexts)                                                                                                  \
    X(sdpa_status_single_faults)                                                                                       \
    X(sdpa_status_order)                                                                                               \
    X(sdpa_status_empty_shapes)                                                                                        \
    X(sdpa_status_pointers)                                                                                            \
    X(sdpa_status_masks)                                                                                               \
    X(sdpa_status_shapes)                                                                                              \
    X(sdpa_status_huge_shapes)                                                                                         \
    X(sdpa_status_huge_and_empty)                                                                                      \
    X(sdpa_status_types)                                                                                               \
    X(sdpa_status_values)                                                                                              \
    X(sdpa_status_edges)                                                                                               \
    X(sdpa_status_overlap)                                                                                             \
    X(sdpa_status_scratch)                                                                                             \
    X(sdpa_status_scratch_unread)                                                                                      \
    X(sdpa_status_small_scratch)                                                                                       \
    X(sdpa_status_no_memory)                                                                                           \
    X(sdpa_status_no_memory_at_last)                                                                                   \
    X(sdpa_status_errno)                                                                                               \
    X(sdpa_status_errno_apart)                                                                                         \
    X(sdpa_explain_sizes)                                                                                              \
    X(sdpa_explain_text)                                                                                               \
    X(sdpa_explain_options)                                                                                            \
    X(merge_status)                                                                                                    \
    X(merge_status_types)                                                                                              \
    X(pool_runs)                                                                                                       \
    X(pool_new_and_free)                                                                                               \
    X(pool_nested)                                                                                                     \
    X(pool_bits)                                                                                                       \
    X(pool_nested_calls)                                                                                               \
    X(pool_callers)                                                                                                    \
    X(notebooks_printed)                                                                                               \
    X(notebooks_heads)                                                                                                 \
    X(rope_grid)                                                                                                       \
    X(rope_many_rows)                                                                                                  \
    X(rope_rounds_once)                                                                                                \
    X(rope_copies)                                                                                                     \
    X(rope_in_place)                                                                                                   \
    X(rope_overlap)                                                                                                    \
    X(rope_properties)                                                                                                 \
    X(rope_far_away)                                                                                                   \
    X(rope_status)                                                                                                     \
    X(positions_errno)                                                                                                 \
    X(rope_frequencies_formulas)                                                                                       \
    X(rope_frequencies_status)                                                                                         \
    X(relative_elements)                                                                                               \
    X(relative_shapes)                                                                                                 \
    X(t5_buckets)                                                                                                      \
    X(t5_other_buckets)                                                                                                \
    X(t5_whole_steps)                                                                                                  \
    X(t5_far_away)                                                                                                     \
    X(t5_types_and_layouts)                                                                                            \
    X(t5_as_bias)                                                                                                      \
    X(t5_status)                                                                                                       \
    X(alibi_slopes_values)                                                                                             \
    X(alibi_slopes_status)                                                                                             \
    X(sinusoid_values)                                                                                                 \
    X(sinusoid_status)                                                                                                 \
    X(mha_grid)                                                                                                        \
    X(mha_large)                                                                                                       \
    X(mha_of_identities)                                                                                               \
    X(mha_batch)                                                                                                       \
    X(mha_requests)                                                                                                    \
    X(mha_padding)                                                                                                     \
    X(mha_empty_rows)                                                                                                  \
    X(mha_fences)                                                                                                      \
    X(mha_memory)                                                                                                      \
    X(mha_scratch_grows)                                                                                               \
    X(mha_status)                                                                                                      \
    X(mha_status_types)                                                                                                \
    X(mha_status_heads)                                                                                                \
    X(mha_status_overlap)                                                                                              \
    X(mha_status_empty_shapes)                                                                                         \
    X(mha_status_huge_shapes)                                                                                          \
    X(mha_errno)                                                                                                       \
    X(mha_explain)                                                                                                     \
    X(mha_empty_items)                                                                                                 \
    X(arrays_misaligned)                                                                                               \
    X(rope_frequencies_finite)                                                                                         \
    X(cache_storage)                                                                                                   \
    X(cache_own_storage)                                                                                               \
    X(cache_fences)                                                                                                    \
    X(cache_empty_shapes)                                                                                              \
    X(cache_append_types)                                                                                              \
    X(cache_append_lengths)                                                                                            \
    X(cache_append_past_capacity)                                                                                      \
    X(cache_rows_apart)                                                                                                \
    X(cache_truncate)                                                                                                  \
    X(cache_truncate_ring)                                                                                             \
    X(cache_reorder)                                                                                                   \
    X(cache_reorder_random)                                                                                            \
    X(cache_decode)                                                                                                    \
    X(cache_chunks)                                                                                                    \
    X(cache_decode_far)                                                                                                \
    X(cache_ring)                                                                                                      \
    X(cache_ring_prefill)                                                                                              \
    X(cache_dropped)                                                                                                   \
    X(cache_at_random)                                                                                                 \
    X(cache_garbage)                                                                                                   \
    X(cache_i8_rows)                                                                                                   \
    X(cache_i8_nearest)                                                                                                \
    X(cache_i8_attend)                                                                                                 \
    X(cache_i8_nan)                                                                                                    \
    X(cache_status_init)                                                                                               \
    X(cache_status_huge_shapes)                                                                                        \
    X(cache_status_huge_and_empty)                                                                                     \
    X(cache_status_append)                                                                                             \
    X(cache_status_ring_append)                                                                                        \
    X(cache_status_endless_append)                                                                                     \
    X(cache_status_truncate_and_reorder)                                                                               \
    X(cache_status_attend)                                                                                             \
    X(cache_status_attend_right)                                                                                       \
    X(cache_explain)                                                                                                   \
    X(cache_odd_arguments)                                                                                             \
    X(cache_overlap)                                                                                                   \
    X(cache_no_memory)                                                                                                 \
    X(cache_scratch)                                                                                                   \
    X(cache_scratch_grows)                                                                                             \
    X(cache_zeroed)                                                                                                    \
    X(cache_errno)                                                                                                     \
    X(tokens_unigram)                                                                                                  \
    X(tokens_bytes)                                                                                                    \
    X(tokens_suffix)                                                                                                   \
    X(tokens_shared_models)                                                                                            \
    X(tokens_flags)                                                                                                    \
    X(tokens_ids)                                                                                                      \
    X(tokens_round_trip)                                                                                               \
    X(tokens_spell_the_text)                                                                                           \
    X(tokens_sentinels)                                                                                                \
    X(tokens_t5_goldens)                                                                                               \
    X(tokens_trails)                                                                                                   \
    X(json_values)                                                                                                     \
    X(json_whitespace)                                                                                                 \
    X(json_rejects)                                                                                                    \
    X(json_rejects_numbers)                                                                                            \
    X(json_rejects_strings)                                                                                            \
    X(json_escapes)                                                                                                    \
    X(json_utf8)                                                                                                       \
    X(json_strings)                                                                                                    \
    X(json_spelling)                                                                                                   \
    X(json_order)                                                                                                      \
    X(json_members)                                                                                                    \
    X(json_none)                                                                                                       \
    X(json_depth)                                                                                                      \
    X(json_truncated)                                                                                                  \
    X(json_uint)                                                                                                       \
    X(json_double)                                                                                                     \
    X(json_double_halfway)                                                                                             \
    X(json_locale)                                                                                                     \
    X(json_at_random)                                                                                                  \
    X(safetensors_types)                                                                                               \
    X(safetensors_unaligned)                                                                                           \
    X(safetensors_dtypes)                                                                                              \
    X(safetensors_16_bits)                                                                                             \
    X(safetensors_files)                                                                                               \
    X(safetensors_verdicts)                                                                                            \
    X(safetensors_truncated)                                                                                           \
    X(safetensors_bytes_flipped)                                                                                       \
    X(safetensors_changed)                                                                                             \
    X(safetensors_find)                                                                                                \
    X(safetensors_names)                                                                                               \
    X(safetensors_open)                                                                                                \
    X(safetensors_no_memory)                                                                                           \
    X(sentencepiece_protobuf)                                                                                          \
    X(sentencepiece_fields)                                                                                            \
    X(sentencepiece_nested_symbols)                                                                                    \
    X(sentencepiece_nested_rules)                                                                                      \
    X(sentencepiece_charsmap)                                                                                          \
    X(sentencepiece_pieces)                                                                                            \
    X(sentencepiece_bytes)                                                                                             \
    X(sentencepiece_many_pieces)                                                                                       \
    X(sentencepiece_text)                                                                                              \
    X(sentencepiece_scores)                                                                                            \
    X(sentencepiece_decode_ids)                                                                                        \
    X(sentencepiece_no_memory)                                                                                         \
    X(sentencepiece_open_files)                                                                                        \
    X(beam_transformers)                                                                                               \
    X(beam_ties)                                                                                                       \
    X(beam_ties_of_last)                                                                                               \
    X(beam_properties)                                                                                                 \
    X(beam_grows)                                                                                                      \
    X(beam_one_token)                                                                                                  \
    X(beam_nothing_left)                                                                                               \
    X(beam_impossible_tokens)                                                                                          \
    X(beam_options)                                                                                                    \
    X(beam_extreme_penalties)                                                                                          \
    X(beam_not_finite)                                                                                                 \
    X(beam_not_finite_unseen)                                                                                          \
    X(beam_no_memory)                                                                                                  \
    X(beam_end_of_nothing)                                                                                             \
    X(t5_states_and_logits)                                                                                            \
    X(t5_translations)                                                                                                 \
    X(t5_batches)                                                                                                      \
    X(t5_padding)                                                                                                      \
    X(t5_steps)                                                                                                        \
    X(t5_attention)                                                                                                    \
    X(t5_texts)                                                                                                        \
    X(t5_tokens)                                                                                                       \
    X(t5_no_memory)                                                                                                    \
    X(t5_files)                                                                                                        \
    X(t5_config)                                                                                                       \
    X(t5_embedding)                                                                                                    \
    X(t5_tensors)

#define TEST(name) void test_##name(void)
#define TEST_DECLARE(name) TEST(name);
TEST_LIST(TEST_DECLARE)

extern int test_quick; /* the short version */

typedef long double real; /* what references are computed in */

/* ---- checks: each returns whether it held ---- */
#define CHECK(condition) test_check((condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define CHECK_STATUS(call, want) test_check_status(call, want, __FILE__, __LINE__, #call)
#define CHECK_NEAR(got, want, tolerance) test_check_near(got, want, tolerance, __FILE__, __LINE__, #got)

int test_check(int held, const char *file, int line, const char *what);
int test_check_status(attn_status got, attn_status want, const char *file, int line, const char *what);
int test_check_near(real got, real want, real tolerance, const char *file, int line, const char *what);

#if defined(__GNUC__)
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
void test_release(void);                                 /* frees every block */
void test_freeze(void);                                  /* remembers every block's bytes */
int test_wrote_nothing(void);                            /* no block changed since then */
int test_wrote_only(const attn_mat *outs, size_t count); /* nothing but the elements of these changed */

/* `size` bytes between two fences, memory that nobody may read or write: they end where one begins or, if `low`, begin
   where the other ends. Only with POSIX; elsewhere a block. */
void *test_fenced(size_t size, int low);
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
real *test_values(attn_mat m); /* row by row, in a block */
real *test_reals(size_t count);
real test_sum(const real *x, size_t count); /* compensated */

/* ---- instruction sets and parallel runners ---- */
#define FOR_EACH_ISA(isa)                                                                                              \
    for (attn_isa isa = ATTN_ISA_SCALAR; isa <= ATTN_ISA_WASM128; isa = (attn_isa)(isa + 1))                           \
        if (attn_isa_available(isa))

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

#endif
