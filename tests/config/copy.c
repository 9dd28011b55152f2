/* A private copy of the library inside one file, or with ATTN_INTERFACE_ONLY a user of the one that the program shares;
   the function COPY uses it, and tells whether it is the version that this file was compiled with. */
#ifndef ATTN_INTERFACE_ONLY
#define ATTN_STATIC
#define ATTN_IMPLEMENTATION
#endif
#include "attn.h"
#include "answer.h"

int COPY(void);

int COPY(void)
{
#ifdef ATTN_NO_SIMD
    if (attn_isa_available(ATTN_ISA_AVX2) || attn_isa_available(ATTN_ISA_AVX512))
        return 0;
    if (attn_isa_available(ATTN_ISA_NEON))
        return 0;
#endif
    return attn_version() == ATTN_VERSION && attn_isa_available(ATTN_ISA_SCALAR) && answer_is_right(NULL);
}
