/* Calls that something is wrong with: faults of their arguments, each with the status that it has; of two the one that is
   checked first; and that a call which fails has written nothing and is explained. */
#ifndef ATTN_TEST_CALLS_H
#define ATTN_TEST_CALLS_H

#include "sdpa.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- faults: something wrong done to one argument, or to a set of them, of a call that was right ----
   A list of them has rows X(name, arguments, status, what is done), and is an enum, a table, and the cases of the switch
   that does it, which returns the status; or ATTN_OK where what is done says ONLY_IF, and that does not hold. */
typedef struct fault_row {
    const char *name;
    unsigned args; /* the argument, or the set of them */
    attn_status want;
    const char *named; /* how an explanation begins; NULL: any way */
} fault_row;

#define FAULT_NUMBER(name, ...) name,
#define FAULT_ENTRY(name, args, want, ...) {#name, args, ATTN_ERR_##want, NULL},
#define FAULT_CASE(name, args, want, ...)                                                                              \
    case name: __VA_ARGS__; return ATTN_ERR_##want;
#define ONLY_IF(condition)                                                                                             \
    if (!(condition))                                                                                                  \
    return ATTN_OK

/* Lists whose rows say what an explanation begins with: X(name, arguments, status, "name: ", what is done). */
#define NAMED_ENTRY(name, args, want, named, ...) {#name, args, ATTN_ERR_##want, named},
#define NAMED_CASE(name, args, want, named, ...)                                                                       \
    case name: __VA_ARGS__; return ATTN_ERR_##want;

extern const char *const spoil_names[SPOILS]; /* of what test_spoil does */

void *askew(const void *p, size_t bytes);           /* so many bytes further on */
attn_status first_of(attn_status a, attn_status b); /* the one whose check comes first */

/* Runs attempt(f, g, want) for every fault f alone (g == f) and every pair of faults of different arguments: of two the
   one whose check comes first is reported. */
void all_faults(const fault_row *faults, int count, void (*attempt)(int f, int g, attn_status want));

/* ---- tensors of such calls ---- */
attn_tensor tensor(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D); /* packed, with room for another on top */
attn_tensor filled(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D); /* packed, random */
size_t size_of(attn_tensor t);                                                /* its elements */
attn_mat as_mat(attn_tensor t);                                               /* its rows, of one head */
attn_tensor of_mat(attn_mat m);                                               /* the other way; absent if that is */
attn_tensor of_floats(const float *x, size_t count);                          /* one row; absent if NULL */

/* Four times B + 1 numbers: `most` for each item; one more for the last; SIZE_MAX for it and 0 for others. */
typedef struct length_table {
    size_t *all, *long_by_one, *max;
} length_table;
length_table lengths_of(size_t B, size_t most);

/* Lists of arguments have rows X(number, name, role). */
#define ARG_NUMBER(arg, name, role) arg,
#define ARG_NAME(arg, name, role) name,
#define ARG_ROLE(arg, name, role) role,

/* ---- a function, run and dry, and all that can be wrong with a call of it ---- */

enum { CALL, DRY, FORMS };
extern const char *const form_names[FORMS]; /* what comes behind its name */
enum { TEXT = 1024 };

typedef struct subject {
    const char *name;
    const char *const *args; /* names of the arguments, in the order in which faults of one kind are named */
    int arg_count, faults;
    int left;    /* the last argument of which two faults of a kind are named by the one further left */
    size_t size; /* of a call, as it is copied */
    attn_status (*ask)(const void *call, attn_dry_run *dry); /* NULL: it is run */

    /* Does it; the status to expect, or ATTN_OK where the fault has no meaning. *names becomes the set of arguments of
       which an explanation names one; it is any where this stays 0. */
    attn_status (*inflict)(void *call, const void *good, int fault, uint64_t *names);
    int (*arg_of)(int fault);
    const char *(*name_of)(int fault);
    int (*may_undo)(int f, int g); /* one of these the other */
} subject;

uint64_t set_of(int arg);
attn_status make(const subject *u, int form, const void *call, char *text);
size_t needed_by(const subject *u, const void *call); /* bytes of scratch */

/* Each fault alone, in each form; two at once: all pairs in each form, or about one in so many, in any. `where`: what
   else there is to say of the good call, which begins with a comma. Memory was frozen. */
void check_alone(const subject *u, const void *good, const char *where);
void check_pairs(const subject *u, const void *good, size_t one_in, const char *where);

void check_refused(const subject *u, const void *call, attn_status want); /* by all forms */

/* What is right is right, in every form, and writes nothing but these outputs. */
void check_right(const subject *u, const void *good, const attn_tensor *outs, size_t count, const char *where);

/* An explanation cut to every size: always ended, always the beginning of the whole, never a byte beyond. */
void check_cuts(const subject *u, const void *call, attn_status want);

/* With exactly the bytes that are asked for, at any address, nothing is allocated and nothing beyond them is touched;
   with one byte less the call fails. Its ctx is this. Returns the bytes. */
size_t check_scratch(const subject *u, const void *call, attn_ctx *ctx, const attn_tensor *outs, size_t count);

/* Every allocation fails once: the call says NOMEM and has written nothing, or did without and gives the same bits. */
void check_allocations(const subject *u, const void *call, const attn_tensor *outs, size_t count);

/* One call in such a context; its ctx is this. It keeps to its outputs, its width and the scratch, if that is wanted: as
   large as it has to be, off every alignment. Otherwise it allocates once, at most where 16 KiB are enough unless it does
   so `always`, and frees that. */
void check_run(const subject *u, const void *call, attn_ctx *ctx, const attn_tensor *outs, size_t count, int threads,
               size_t width, int scratch, int always);

void check_fences(const subject *u, const void *call); /* it succeeds and touches none */

/* The caller's errno is never changed, whatever libm and malloc do to it. The call allocates. */
void check_errno(const subject *u, const void *call);

#endif
