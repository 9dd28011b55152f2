/* The implementation as a program embeds it; HEADER is its name there. Asking for it twice is harmless. */
#ifndef HEADER
#define HEADER "attn.h"
#endif
#define ATTN_IMPLEMENTATION
#include HEADER
#include HEADER
