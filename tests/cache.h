/* What the tests of caches and of pages share: questions to them, what makes these random, memory that they need. */
#ifndef ATTN_TEST_CACHE_H
#define ATTN_TEST_CACHE_H

#include "calls.h"

enum { KV_ITEMS = 9, KV_HEADS = 16 }; /* at most */

typedef struct kv_question {
    attn_tensor q;
    attn_opts opts; /* without its output tensors */
    attn_ctx ctx;
    attn_dtype out, lse, weights, scores; /* types */
    int wants_lse, wants_weights, wants_scores, layout;
    size_t q_lens[KV_ITEMS]; /* room for what opts and ctx may point to */
    float slopes[KV_HEADS], sinks[KV_HEADS];
    test_runner runner;
} kv_question;

typedef struct kv_answer {
    attn_tensor out, lse, weights, scores;
} kv_answer;

void kv_begin(kv_question *a, attn_tensor q, attn_isa isa); /* causal, of floats, and nothing else */
kv_answer kv_blank(const kv_question *a, size_t Lk, size_t Dv);
attn_opts kv_with_outputs(attn_opts opts, const kv_answer *r);
int kv_wrote_only(const kv_answer *r); /* since test_freeze */

/* ---- random parts ---- */
attn_dtype kv_any_float(void);
attn_dtype kv_any_narrow(void); /* of what is computed in float */
attn_isa kv_any_isa(void);
attn_tensor kv_any_broadcast(attn_dtype dtype, size_t B, size_t H, size_t Lq, size_t Lk);
void kv_add_hiding_bias(kv_question *a, size_t Lk); /* some of it -infinity */
void kv_modify(void *user, void *scores, size_t count, size_t b, size_t h, size_t i, size_t j0); /* a score_mod */

/* ---- members ---- */
size_t kv_longest(const size_t *lens, size_t B);
int kv_same_view(attn_tensor a, attn_tensor b);
void *kv_aligned(attn_tensor t); /* its data, aligned for any output */
float *kv_scale_at(const attn_kv_cache *cache, int values, size_t b, size_t h, size_t slot);

/* Does a list of blocks say that query i sees key j, or are there no lists? */
int kv_is_listed(const attn_blocks *l, size_t H, size_t Hkv, size_t Lq, size_t b, size_t h, size_t i, size_t j);

/* ---- memory ---- */
typedef struct kv_call { /* of one of the two */
    const attn_kv_cache *cache;
    const attn_kv_pages *pages;
    attn_tensor out, q;
    const attn_opts *opts;
} kv_call;

/* Exactly what it asks for, between guards and at any alignment, is enough for every runner of these widths, and gives
   the bits of one without; one byte, or one less if it is `full`, is too little. first[] is what was asked for first, or
   becomes that; it does not change. Returns the most tasks that a run had. */
size_t kv_check_scratch(const kv_call *c, attn_isa isa, const size_t *widths, size_t *first, size_t count, int full,
                        int odd);

/* Each allocation of a call without scratch fails: NOMEM, nothing written, all freed; there is at least one. */
void kv_check_no_memory(const kv_call *c);

#endif
