/* Calls that something is wrong with: faults of their arguments, each with the status that it has. */
#ifndef ATTN_TEST_CALLS_H
#define ATTN_TEST_CALLS_H

#include "sdpa.h"

/* ---- faults: something wrong done to one argument, or to a set of them, of a call that was right ----
   A list of them has rows X(name, arguments, status, what is done), and is an enum, a table, and the cases of the switch
   that does it, which returns the status; or ATTN_OK where what is done says ONLY_IF, and that does not hold. */
typedef struct fault {
    const char *name;
    unsigned args; /* the argument, or the set of them */
    attn_status want;
    const char *named; /* how an explanation begins; NULL: any way */
} fault;

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

void *askew(const void *p, size_t bytes);          /* so many bytes further on */
attn_status first_of(attn_status a, attn_status b); /* the one whose check comes first */

/* Runs attempt(f, g, want) for every fault f alone (g == f) and every pair of faults of different arguments: of two the
   one whose check comes first is reported. */
void all_faults(const fault *faults, int count, void (*attempt)(int f, int g, attn_status want));

#endif
