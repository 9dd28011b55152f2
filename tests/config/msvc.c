/* The implementation as MSVC reads it, but by gcc: its branches of #if, with the instructions that flags allow. */
#include <errno.h>
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#undef __GNUC__
#define _MSC_VER 1930
#define _M_X64 100
#define _WIN64 1
#define __forceinline inline
#define __int64 long long
#define __declspec(attribute)
#include "implementation.c"
