/* A program that sees the interface alone: it links with implementation.c, or with a shared library of it. */
#ifndef HEADER
#define HEADER "attn.h"
#endif
#include HEADER
#include HEADER
#include "answer.h"

int main(void)
{
    return !(attn_version() == ATTN_VERSION && answer_is_right(NULL));
}
