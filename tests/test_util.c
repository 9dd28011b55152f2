/* What the tests share: memory blocks, matrices, decoding of numbers, runners, the allocator. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200112L
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */
#define _DARWIN_C_SOURCE 1
#define HAVE_PTHREADS 1
#include <pthread.h>
#if !defined(__wasi__)
#define HAVE_MPROTECT 1
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#endif

#include "sdpa.h"

#include <errno.h>

/* ---- the allocator ---- */

test_memory test_memory_state;

typedef union header {
    struct {
        size_t magic, size;
    } is;
    real align;
    unsigned char bytes[32];
} header;

enum { MAGIC = 0x5a7e };

void *test_malloc(size_t size)
{
    test_memory *t = &test_memory_state;
    header *h;
    t->calls++;
    errno = ENOMEM; /* as malloc may leave it */
    if (t->fail_all || (t->fail_at && --t->fail_at == 0) || size > SIZE_MAX / 4)
        return NULL;
    if ((h = malloc(sizeof *h + size)) == NULL)
        return NULL;
    memset(h + 1, 0xff, size);
    h->is.magic = MAGIC;
    h->is.size = size;
    t->live++;
    t->bytes += size;
    t->peak = t->bytes > t->peak ? t->bytes : t->peak;
    return h + 1;
}

void test_free(void *p)
{
    header *h = p;
    if (!p)
        return;
    if ((--h)->is.magic != MAGIC) {
        puts("ATTN_FREE of what ATTN_MALLOC did not give");
        abort();
    }
    h->is.magic = 0;
    test_memory_state.live--;
    test_memory_state.bytes -= h->is.size;
    free(h);
    errno = EINVAL; /* as free may leave it */
}

void *test_realloc(void *p, size_t size)
{
    void *larger = test_malloc(size);
    size_t old = p ? ((header *)p)[-1].is.size : 0;
    if (larger && p) {
        memcpy(larger, p, old < size ? old : size);
        test_free(p);
    }
    return larger;
}

void *test_calloc(size_t count, size_t size)
{
    void *p = count <= SIZE_MAX / (size ? size : 1) ? test_malloc(count * size) : NULL;
    if (p)
        memset(p, 0, count * size);
    return p;
}

int test_lacks_f64(void)
{
    return CHECK(test_wide <= ATTN_F64) && test_wide != ATTN_F64;
}

int test_invariant(void)
{
    return !test_small || test_maybe();
}

int test_is_brief(const char *text)
{
    const char *end = strchr(text, '\n');
    int found = 0;
    FOR_EACH_ISA (isa) {
        size_t count = strlen(attn_isa_string(isa));
        found |= strncmp(text, attn_isa_string(isa), count) == 0 && strncmp(text + count, ", computed in ", 14) == 0;
    }
    return found && end && end[1] == 0;
}

/* ---- random numbers ---- */

size_t test_below(size_t n)
{
    return (size_t)(test_random() % n);
}

double test_uniform(void)
{
    return (double)(test_random() >> 11) / 4503599627370496.0 - 1;
}

int test_maybe(void)
{
    return (int)(test_random() >> 63);
}

/* ---- elements ---- */

static void copy_element(void *to, const void *from, size_t size)
{
    switch (size) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8);
    }
}

static int same_element(const void *a, const void *b, size_t size)
{
    switch (size) {
    case 1: return memcmp(a, b, 1) == 0;
    case 2: return memcmp(a, b, 2) == 0;
    case 4: return memcmp(a, b, 4) == 0;
    default: return memcmp(a, b, 8) == 0;
    }
}

/* The F16 or BF16 next to a value, if that is a normal number. */
static int encode_normal(uint16_t *out, double value, attn_dtype dtype)
{
    int digits = dtype == ATTN_F16 ? 10 : 7, bias = dtype == ATTN_F16 ? 15 : 127, dropped = 52 - digits, exponent;
    uint64_t bits = test_bits64(value), size = bits & ~((uint64_t)1 << 63);
    size += ((uint64_t)1 << (dropped - 1)) - 1 + ((size >> dropped) & 1); /* to the nearest, ties to even */
    exponent = (int)(size >> 52) - 1023 + bias;
    if (exponent < 1 || exponent > 2 * bias)
        return 0;
    *out = (uint16_t)((bits >> 63) << 15 | (uint64_t)exponent << digits |
                      ((size >> dropped) & (((uint64_t)1 << digits) - 1)));
    return 1;
}

static void set(void *element, attn_dtype dtype, double value)
{
    attn_mat one = {NULL, dtype, 1, 1, 1, 1};
    float narrow = (float)value;
    uint16_t half;
    one.data = element;
    if (dtype == ATTN_F32)
        memcpy(element, &narrow, 4);
    else if (dtype == ATTN_F64)
        memcpy(element, &value, 8);
    else if ((dtype == ATTN_F16 || dtype == ATTN_BF16) && encode_normal(&half, value, dtype))
        memcpy(element, &half, 2);
    else
        (attn_mat_set)(one, 0, 0, value);
}

/* ---- blocks ---- */

#if defined(__SANITIZE_ADDRESS__)
#define GUARD 0 /* the sanitizer watches the ends, reads too */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARD 0
#endif
#endif
#ifndef GUARD
#define GUARD 64
#endif

typedef struct block {
    struct block *next;
    unsigned char *bytes, *frozen;
    size_t size, from, to; /* of bytes; what was asked for are those from .. to - 1 */
    int scratch;           /* whose contents are nobody's business */
} block;

static block *blocks;

static void *must(void *p)
{
    if (!p) {
        puts("the tests are out of memory");
        exit(2);
    }
    return p;
}

static block *new_block(size_t size, size_t before)
{
    block *b = must(malloc(sizeof *b));
    b->size = before + size + GUARD;
    b->from = before;
    b->to = before + size;
    b->bytes = must(malloc(b->size + !b->size));
    b->frozen = NULL;
    b->scratch = 0;
    memset(b->bytes, 0xff, b->size);
    b->next = blocks;
    blocks = b;
    return b;
}

void *test_block(size_t size)
{
    return new_block(size, GUARD)->bytes + GUARD;
}

static int all_canary(const unsigned char *p, size_t count)
{
    while (count > 0 && p[count - 1] == 0xff)
        count--;
    return count == 0;
}

static int guards_hold(const block *b)
{
    return all_canary(b->bytes, b->from) && all_canary(b->bytes + b->to, b->size - b->to);
}

static void free_block(block *b)
{
    free(b->bytes);
    free(b->frozen);
    free(b);
}

/* ---- fenced memory ---- */

enum { FENCE = 1 << 18 }; /* bytes on each side: whole pages everywhere */

typedef struct fenced {
    struct fenced *next;
    unsigned char *bytes;
    size_t size;
} fenced;

static fenced *all_fenced;

/* Memory whose first and last FENCE bytes are shut. (Without mprotect they are only far from what lies between.) */
#ifdef HAVE_MPROTECT

static unsigned char *open_fenced(size_t size)
{
    unsigned char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED || mprotect(bytes, FENCE, PROT_NONE) != 0 ||
        mprotect(bytes + size - FENCE, FENCE, PROT_NONE) != 0)
        must(NULL);
    return bytes;
}

static void close_fenced(fenced *f)
{
    munmap(f->bytes, f->size);
}

void test_shut(void *page)
{
    if (mprotect(page, TEST_PAGE, PROT_NONE) != 0)
        must(NULL);
}

#else

static unsigned char *open_fenced(size_t size)
{
    return memset(must(malloc(size)), 0xff, size);
}

static void close_fenced(fenced *f)
{
    free(f->bytes);
}

void test_shut(void *page)
{
    (void)page;
}

#endif

void *test_fenced(size_t size, int low)
{
    fenced *f = must(malloc(sizeof *f));
    size_t room = (size + FENCE - 1) / FENCE * FENCE;
    f->size = room + 2 * FENCE;
    f->bytes = open_fenced(f->size);
    f->next = all_fenced;
    all_fenced = f;
    return f->bytes + FENCE + (low ? 0 : room - size);
}

/* Gives back that which holds this address, and says whether there is one. */
static int close_one_fenced(const void *p)
{
    for (fenced **at = &all_fenced, *f; (f = *at) != NULL; at = &f->next)
        if ((uintptr_t)p - (uintptr_t)f->bytes < f->size) {
            *at = f->next;
            close_fenced(f);
            free(f);
            return 1;
        }
    return 0;
}

static void release_fenced(void)
{
    while (all_fenced) {
        fenced *f = all_fenced;
        all_fenced = f->next;
        close_fenced(f);
        free(f);
    }
}

/* ---- scratch ---- */

unsigned test_turn;

void test_scratch(attn_ctx *ctx, size_t size, int odd)
{
    enum { LINE = 64 };
    static const unsigned char fills[][2] = {{0xff, 0xff}, {0x3f, 0x3f}, {0, 0}, {0, 0x7f}};
    unsigned char *at;
    const unsigned char *fill = fills[(test_turn + test_turn / 4) % 4]; /* loops of four callers meet all of them */
    if (test_turn++ % 16 == 5) { /* what is only read beyond it is seen too */
        at = test_fenced(size, 0);
    } else {
        block *b = new_block(size, GUARD + LINE + (size_t)odd);
        b->scratch = 1;
        b->from -= (uintptr_t)(b->bytes + b->from - odd) % LINE;
        b->to = b->from + size;
        at = b->bytes + b->from;
    }
    for (size_t n = 0; n < size; n += 8)
        memset(at + n, fill[n / 8 % 2], size - n < 8 ? size - n : 8);
    ctx->scratch = at;
    ctx->scratch_size = size;
}

int test_scratch_kept(attn_ctx *ctx)
{
    block **at = &blocks, *b;
    void *scratch = ctx->scratch;
    int held;
    while ((b = *at) != NULL && !(b->scratch && b->bytes + b->from == ctx->scratch))
        at = &b->next;
    ctx->scratch = NULL;
    ctx->scratch_size = 0;
    if (!b)
        return close_one_fenced(scratch);
    held = guards_hold(b);
    *at = b->next;
    free_block(b);
    return held;
}

#ifdef HAVE_MPROTECT

static sigjmp_buf before_call;

static void touched_fence(int signal)
{
    siglongjmp(before_call, signal);
}

int test_keeps_off_fences(void (*call)(void *arg), void *arg)
{
    struct sigaction action, saved[2];
    volatile int kept = 0;
    memset(&action, 0, sizeof action);
    action.sa_handler = touched_fence;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &saved[0]);
    sigaction(SIGBUS, &action, &saved[1]);
    if (sigsetjmp(before_call, 1) == 0) {
        call(arg);
        kept = 1;
    }
    sigaction(SIGSEGV, &saved[0], NULL);
    sigaction(SIGBUS, &saved[1], NULL);
    return kept;
}

#else

int test_keeps_off_fences(void (*call)(void *arg), void *arg)
{
    call(arg);
    return 1;
}

#endif

void test_release(void)
{
    int kept_to_blocks = 1;
    while (blocks) {
        block *b = blocks;
        blocks = b->next;
        kept_to_blocks &= guards_hold(b);
        free_block(b);
    }
    release_fenced();
    if (!kept_to_blocks)
        CHECK(kept_to_blocks); /* bytes beside a block were written */
}

void test_freeze(void)
{
    for (block *b = blocks; b; b = b->next) {
        if (b->scratch)
            continue;
        if (!b->frozen)
            b->frozen = must(malloc(b->size + !b->size));
        memcpy(b->frozen, b->bytes, b->size);
    }
}

int test_wrote_nothing(void)
{
    for (block *b = blocks; b; b = b->next)
        if (b->frozen ? memcmp(b->frozen, b->bytes, b->size) != 0 : b->scratch && !guards_hold(b))
            return 0;
    return 1;
}

/* Takes the elements of the outputs over into the frozen copy, which then must equal memory. */
int test_wrote_only(const attn_mat *outs, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        attn_mat m = outs[n];
        size_t size = test_size(m.dtype);
        block *b = blocks;
        if (!m.rows || !m.cols)
            continue;
        while (b && !((uintptr_t)m.data >= (uintptr_t)b->bytes && (uintptr_t)m.data < (uintptr_t)b->bytes + b->size))
            b = b->next;
        if (!b || !b->frozen)
            return 0;
        for (size_t r = 0; r < m.rows; r++)
            for (size_t c = 0; c < m.cols; c++) {
                unsigned char *p = test_at(m, r, c);
                copy_element(b->frozen + (p - b->bytes), p, size);
            }
    }
    return test_wrote_nothing();
}

/* ---- matrices ---- */

size_t test_size(attn_dtype dtype)
{
    static const size_t sizes[] = {4, 8, 2, 2, 1, 1};
    return sizes[dtype];
}

const char *test_dtype_name(attn_dtype dtype)
{
    static const char *const names[] = {"f32", "f64", "f16", "bf16", "bool", "i8"};
    return names[dtype];
}

void *test_at(attn_mat m, size_t r, size_t c)
{
    return (char *)m.data + ((ptrdiff_t)r * m.row_stride + (ptrdiff_t)c * m.col_stride) * (ptrdiff_t)test_size(m.dtype);
}

attn_mat test_mat(attn_dtype dtype, size_t rows, size_t cols, int layout)
{
    ptrdiff_t R = (ptrdiff_t)rows, C = (ptrdiff_t)cols, first = 0, last = 0;
    attn_mat m = {NULL, dtype, rows, cols, C, 1};
    switch (layout) {
    case TRANSPOSED: m.row_stride = 1, m.col_stride = R; break;
    case PADDED: m.row_stride = C + 3; break;
    case STRIDED: m.row_stride = 2 * C + 3, m.col_stride = 2; break;
    case REVERSED: m.row_stride = -(C + 1), m.col_stride = -1; break;
    case MIRRORED: m.col_stride = -1; break;
    case ONE_ROW: m.row_stride = 0; break;
    case ONE_COL: m.row_stride = 1, m.col_stride = 0; break;
    default: break;
    }
    if (rows && cols) {
        ptrdiff_t down = (R - 1) * m.row_stride, across = (C - 1) * m.col_stride;
        first = (down < 0 ? down : 0) + (across < 0 ? across : 0);
        last = (down > 0 ? down : 0) + (across > 0 ? across : 0) + 1;
    }
    if (layout != PACKED) /* off the allocator's alignment */
        first--;
    m.data = (char *)test_block((size_t)(last - first) * test_size(dtype)) - first * (ptrdiff_t)test_size(dtype);
    return m;
}

attn_mat test_random_mat(attn_dtype dtype, size_t rows, size_t cols, int layout)
{
    attn_mat m = test_mat(dtype, rows, cols, layout);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            set(test_at(m, r, c), dtype, test_uniform());
    return m;
}

attn_mat test_mat_like(attn_mat m, int layout)
{
    attn_mat like = test_mat(m.dtype, m.rows, m.cols, layout);
    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0; c < m.cols; c++)
            copy_element(test_at(like, r, c), test_at(m, r, c), test_size(m.dtype));
    return like;
}

attn_mat test_numbers(attn_dtype dtype, size_t rows, size_t cols, const double *values)
{
    attn_mat m = test_mat(dtype, rows, cols, PACKED);
    for (size_t i = 0; i < rows * cols; i++)
        set(test_at(m, i / cols, i % cols), dtype, values[i]);
    return m;
}

void test_fill(attn_mat m, double value)
{
    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0; c < m.cols; c++)
            set(test_at(m, r, c), m.dtype, value);
}

int test_same_bits(attn_mat a, attn_mat b)
{
    if (a.dtype != b.dtype || a.rows != b.rows || a.cols != b.cols)
        return 0;
    for (size_t r = 0; r < a.rows; r++)
        for (size_t c = 0; c < a.cols; c++)
            if (!same_element(test_at(a, r, c), test_at(b, r, c), test_size(a.dtype)))
                return 0;
    return 1;
}

int test_same_mat(attn_mat a, attn_mat b)
{
    return a.data == b.data && a.dtype == b.dtype && a.rows == b.rows && a.cols == b.cols &&
           a.row_stride == b.row_stride && a.col_stride == b.col_stride;
}

int test_absent_mat(attn_mat m)
{
    return !m.data && !m.dtype && !m.rows && !m.cols && !m.row_stride && !m.col_stride;
}

int test_bad_mat(attn_mat m)
{
    return !m.data && m.rows == SIZE_MAX && m.cols == SIZE_MAX;
}

/* ---- numbers ---- */

uint32_t test_bits32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

uint64_t test_bits64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

float test_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

double test_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* Conversions keep a NaN's sign, where the processor does: RISC-V knows but one NaN. */
int test_same_nan(uint64_t got, uint64_t want, int bits)
{
    volatile double quiet = test_f64(0xfff8000000000000u);
    int keeps_sign = test_bits64(quiet + 1) >> 63 != 0;
    return !keeps_sign || got >> (bits - 1) == want >> (bits - 1);
}

static double decode(unsigned bits, int mantissa_bits, int bias)
{
    unsigned fraction = bits & ((1u << mantissa_bits) - 1);
    int exponent = (int)((bits & 0x7fff) >> mantissa_bits), top = (0x7fff >> mantissa_bits);
    double x = exponent == top ? (fraction ? test_f64(0x7ff8000000000000u) : HUGE_VAL)
               : exponent      ? ldexp(fraction + ldexp(1, mantissa_bits), exponent - bias - mantissa_bits)
                               : ldexp(fraction, 1 - bias - mantissa_bits);
    return bits & 0x8000 ? -x : x;
}

double test_decode(unsigned bits, attn_dtype dtype)
{
    static double values[2][65536];
    static int filled;
    if (!filled) {
        filled = 1;
        for (unsigned i = 0; i < 65536; i++) {
            values[0][i] = decode(i, 10, 15);
            values[1][i] = decode(i, 7, 127);
        }
    }
    return values[dtype == ATTN_BF16][bits];
}

/* Infinity stands where the next finite value would, so that the same rule of nearest and even decides overflow. */
unsigned test_encode(double value, attn_dtype dtype)
{
    unsigned sign = (unsigned)(test_bits64(value) >> 63) << 15, inf = dtype == ATTN_F16 ? 0x7c00 : 0x7f80;
    double x = fabs(value), beyond = 2 * test_decode(inf - (dtype == ATTN_F16 ? 0x400 : 0x80), dtype);
    unsigned low = 0, high = inf;
    if (isnan(value))
        return sign | 0x7fff;
    if (x >= beyond)
        return sign | inf;
    while (high - low > 1) { /* low <= x < high */
        unsigned middle = (low + high) / 2;
        if (test_decode(middle, dtype) <= x)
            low = middle;
        else
            high = middle;
    }
    beyond = high == inf ? beyond : test_decode(high, dtype);
    if (x - test_decode(low, dtype) > beyond - x || (x - test_decode(low, dtype) == beyond - x && (low & 1)))
        low = high;
    return sign | low;
}

real test_load(const void *element, attn_dtype dtype)
{
    uint16_t half;
    float f;
    double d;
    switch (dtype) {
    case ATTN_F32: memcpy(&f, element, 4); return f;
    case ATTN_F64: memcpy(&d, element, 8); return d;
    case ATTN_F16:
    case ATTN_BF16: memcpy(&half, element, 2); return test_decode(half, dtype);
    default: return *(const unsigned char *)element != 0;
    }
}

real test_ulp(real x, attn_dtype dtype)
{
    int f64 = dtype == ATTN_F64, f16 = dtype == ATTN_F16;
    int digits = f64 ? 53 : dtype == ATTN_F32 ? 24 : f16 ? 11 : 8, least = f64 ? -1021 : f16 ? -13 : -125, exponent;
    frexpl(x, &exponent);
    if (exponent < least || x == 0)
        exponent = least;
    return ldexpl(1, exponent - digits);
}

real *test_reals(size_t count)
{
    return test_block(count * sizeof(real));
}

real *test_values(attn_mat m)
{
    real *values = test_reals(m.rows * m.cols);
    for (size_t r = 0; r < m.rows; r++)
        for (size_t c = 0; c < m.cols; c++)
            values[r * m.cols + c] = test_load(test_at(m, r, c), m.dtype);
    return values;
}

/* ---- statuses ---- */

int test_rank(attn_status s)
{
    static const attn_status order[] = {ATTN_ERR_NULL,  ATTN_ERR_DTYPE, ATTN_ERR_SHAPE, ATTN_ERR_OVERFLOW,
                                        ATTN_ERR_VALUE, ATTN_ERR_ALIAS, ATTN_ERR_NOMEM};
    int r = 0;
    while (r < (int)(sizeof order / sizeof order[0]) && order[r] != s)
        r++;
    return r; /* ATTN_OK is the last */
}

/* ---- runners ---- */

static void note_run(test_runner *r, size_t count)
{
    r->calls++;
    if (count > r->most)
        r->most = count;
}

static void run_backwards(void *user, size_t count, void (*task)(void *, size_t), void *arg)
{
    note_run(user, count);
    while (count-- > 0)
        task(arg, count);
}

attn_ctx test_ctx(attn_isa isa)
{
    attn_ctx ctx = {0};
    ctx.isa = isa;
    return ctx;
}

const attn_ctx *test_dry(const attn_ctx *ctx, attn_dry_run *dry)
{
    static attn_ctx with;
    with = ctx ? *ctx : test_ctx(ATTN_ISA_BEST);
    with.dry_run = dry;
    return dry ? &with : ctx;
}

/* What ATTN_ISA_BEST is for BF16 depends on the processor: a dry run names it first. */
static int best_takes_pairs(void)
{
    static int known, takes;
    char text[32] = "";
    attn_dry_run dry = {0, text, sizeof text};
    uint16_t bits[4] = {0};
    attn_tensor in = attn_bhld(bits, ATTN_BF16, 1, 1, 1, 2), out = attn_bhld(bits + 2, ATTN_BF16, 1, 1, 1, 2);
    if (!known) {
        CHECK_STATUS((attn_sdpa)(out, in, in, in, NULL, test_dry(NULL, &dry)), ATTN_OK);
        takes = strncmp(text, "avx512bf16", 10) == 0;
        known = 1;
    }
    return takes;
}

int test_takes_pairs(attn_isa isa, attn_dtype q, attn_dtype k, attn_dtype v)
{
    int bf16 = q == ATTN_BF16 && k == ATTN_BF16 && v == ATTN_BF16;
    int pairs = isa == ATTN_ISA_AVX512BF16 || (isa == ATTN_ISA_BEST && best_takes_pairs());
    return bf16 && pairs;
}

int test_has_turn(attn_isa isa, size_t number)
{
    size_t count = 0, place = 0, turns;
    FOR_EACH_ISA (other)
        place += other < isa, count++;
    turns = (count + 1) / 2;
    number = number * 2654435761u >> 7 & 1023; /* what a caller derives from its number as well has no part in this */
    return !test_quick || place % turns == number % turns;
}

attn_isa test_without_pairs(attn_isa isa)
{
    if (!test_takes_pairs(isa, ATTN_BF16, ATTN_BF16, ATTN_BF16))
        return isa;
    return ATTN_ISA_AVX512;
}

real test_pairs_error(attn_isa isa, attn_dtype q, attn_dtype k, attn_dtype v, real size)
{
    return test_takes_pairs(isa, q, k, v) ? 0x1p-8L * size : 0;
}

attn_parallel test_serial_backwards(test_runner *r, size_t width)
{
    attn_parallel p = {run_backwards, r, width};
    r->width = width;
    r->calls = r->most = 0;
    return p;
}

#ifdef HAVE_PTHREADS

enum { MOST_THREADS = 16 };

typedef struct job {
    void (*task)(void *, size_t);
    void *arg;
    size_t index;
} job;

static void *run_job(void *p)
{
    job *j = p;
    j->task(j->arg, j->index);
    return NULL;
}

static void run_threads(void *user, size_t count, void (*task)(void *, size_t), void *arg)
{
    pthread_t threads[MOST_THREADS];
    job jobs[MOST_THREADS];
    int started[MOST_THREADS];
    note_run(user, count);
    for (size_t i = 0; i < count && i < MOST_THREADS; i++) {
        job j = {task, arg, i};
        jobs[i] = j;
        started[i] = pthread_create(&threads[i], NULL, run_job, &jobs[i]) == 0;
        if (!started[i])
            task(arg, i);
    }
    for (size_t i = 0; i < count && i < MOST_THREADS; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
}

attn_parallel test_threads(test_runner *r, size_t width)
{
    attn_parallel p = test_serial_backwards(r, width);
    p.run = run_threads;
    return p;
}

#else

attn_parallel test_threads(test_runner *r, size_t width)
{
    return test_serial_backwards(r, width);
}

#endif

size_t test_contexts(attn_mat out, attn_status (*call)(attn_mat, const attn_mat *, const attn_ctx *),
                     const attn_mat *in)
{
    static const size_t widths[] = {1, 2, 3, 5}, sizes[] = {0, 1, 100, 4096, 65537, 4 << 20};
    size_t most = 0;
    FOR_EACH_ISA (isa) {
        attn_ctx plain = test_ctx(isa);
        attn_mat want;
        test_case("%s, %zu x %zu, plain", attn_isa_string(isa), out.rows, out.cols);
        CHECK_STATUS(call(out, in, &plain), ATTN_OK);
        want = test_mat_like(out, PACKED);
        for (size_t n = test_quick ? 2 : 0; n < 4 * 6; n += test_quick ? 5 : 1) {
            int threads = (n + n / 4) % 2 == 1;
            size_t width = widths[n % 4], size = sizes[n / 4];
            long calls = test_memory_state.calls;
            test_runner runner;
            attn_ctx ctx = plain;
            ctx.parallel = threads ? test_threads(&runner, width) : test_serial_backwards(&runner, width);
            if (size)
                test_scratch(&ctx, size, n % 2 == 1);
            test_fill(out, 7);
            test_freeze();
            test_case("%s, %zu x %zu, %s, width %zu, scratch %zu", attn_isa_string(isa), out.rows, out.cols,
                      threads ? "threads" : "backwards", width, size);
            CHECK_STATUS(call(out, in, &ctx), ATTN_OK);
            CHECK(test_wrote_only(&out, 1));
            CHECK(test_same_bits(out, want));
            CHECK(runner.most <= width);
            most = runner.most > most ? runner.most : most;
            CHECK(!size || test_memory_state.calls == calls);
            CHECK(!size || test_scratch_kept(&ctx));
        }
    }
    return most;
}

/* ---- tensors ---- */

attn_tensor test_tensor(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout)
{
    ptrdiff_t h = (ptrdiff_t)H, l = (ptrdiff_t)L, d = (ptrdiff_t)D, first = 0, last = 0;
    ptrdiff_t size = (ptrdiff_t)test_size(dtype);
    attn_tensor t = {NULL, dtype, B, H, L, D, h * l * d, l * d, d, 1};
    switch (layout) {
    case T_BLHD: t.head_stride = d, t.len_stride = h * d; break;
    case T_QKV: t.batch_stride = 3 * l * h * d, t.len_stride = 3 * h * d, t.head_stride = d; break;
    case T_SLICE: t.len_stride = d + 3, t.head_stride = (l + 5) * (d + 3), t.batch_stride = h * t.head_stride; break;
    case T_STEP: t.dim_stride = 2, t.len_stride *= 2, t.head_stride *= 2, t.batch_stride *= 2; break;
    case T_TURNED: t.len_stride = 1, t.dim_stride = l; break;
    case T_FLIPPED: t.dim_stride = -1, t.len_stride *= -1, t.head_stride *= -1, t.batch_stride *= -1; break;
    case T_BACKWARDS: t.len_stride *= -1; break;
    case T_ONE_BATCH: t.batch_stride = 0; break;
    case T_ONE_HEAD: t.head_stride = 0; break;
    case T_ONE_ROW: t.len_stride = 0; break;
    case T_ONE_COL: t.dim_stride = 0; break;
    default: break;
    }
    if (B && H && L && D) {
        ptrdiff_t ends[4] = {(ptrdiff_t)(B - 1) * t.batch_stride, (h - 1) * t.head_stride, (l - 1) * t.len_stride,
                             (d - 1) * t.dim_stride};
        for (int n = 0; n < 4; n++) {
            first += ends[n] < 0 ? ends[n] : 0;
            last += ends[n] > 0 ? ends[n] : 0;
        }
        last++;
    }
    if (layout != T_BHLD && layout != T_BLHD) /* off the allocator's alignment */
        first--;
    t.data = (char *)test_block((size_t)((last - first) * size)) - first * size;
    return t;
}

void *test_tensor_at(attn_tensor t, size_t b, size_t h, size_t i, size_t d)
{
    return (char *)t.data + ((ptrdiff_t)b * t.batch_stride + (ptrdiff_t)h * t.head_stride +
                             (ptrdiff_t)i * t.len_stride + (ptrdiff_t)d * t.dim_stride) *
                                (ptrdiff_t)test_size(t.dtype);
}

real test_tensor_get(attn_tensor t, size_t b, size_t h, size_t i, size_t d)
{
    return test_load(test_tensor_at(t, b, h, i, d), t.dtype);
}

static size_t elements(attn_tensor t)
{
    return t.batch * t.heads * t.len * t.dim;
}

static size_t rows(attn_tensor t)
{
    return t.dim ? t.batch * t.heads * t.len : 0;
}

/* Element d of row n, of the rows in the order [B][H][L]. Whole tensors are walked row by row: finding a row takes
   divisions, whose time counts where there are millions of elements. */
static void *nth(attn_tensor t, size_t n)
{
    size_t head = n / t.len;
    return test_tensor_at(t, head / t.heads, head % t.heads, n % t.len, 0);
}

static void *along(void *row, attn_tensor t, size_t d, size_t size)
{
    return (char *)row + (ptrdiff_t)d * t.dim_stride * (ptrdiff_t)size;
}

void test_tensor_set(attn_tensor t, size_t b, size_t h, size_t i, size_t d, double value)
{
    set(test_tensor_at(t, b, h, i, d), t.dtype, value);
}

void test_scatter(attn_tensor t, uint64_t seed)
{
    size_t size = test_size(t.dtype);
    for (size_t n = 0; n < rows(t); n++) {
        void *row = nth(t, n);
        for (size_t d = 0; d < t.dim; d++) {
            uint64_t z = seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            z = (z ^ (z >> 31)) >> 11;
            set(along(row, t, d, size), t.dtype,
                t.dtype == ATTN_BOOL ? (double)(z & 1) : (double)z / 4503599627370496.0 - 1);
        }
    }
}

attn_tensor test_random_tensor(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D, int layout)
{
    attn_tensor t = test_tensor(dtype, B, H, L, D, layout);
    test_scatter(t, test_random());
    return t;
}

attn_tensor test_tensor_like(attn_tensor t, int layout)
{
    attn_tensor like = test_tensor(t.dtype, t.batch, t.heads, t.len, t.dim, layout);
    size_t size = test_size(t.dtype);
    for (size_t n = 0; n < rows(t); n++) {
        void *to = nth(like, n), *from = nth(t, n);
        for (size_t d = 0; d < t.dim; d++)
            copy_element(along(to, like, d, size), along(from, t, d, size), size);
    }
    return like;
}

void test_fill_tensor(attn_tensor t, double value)
{
    size_t size = test_size(t.dtype);
    for (size_t n = 0; n < rows(t); n++) {
        void *row = nth(t, n);
        for (size_t d = 0; d < t.dim; d++)
            set(along(row, t, d, size), t.dtype, value);
    }
}

real *test_tensor_values(attn_tensor t)
{
    real *values = test_reals(rows(t) * t.dim), *next = values;
    size_t size = test_size(t.dtype);
    for (size_t n = 0; n < rows(t); n++) {
        void *row = nth(t, n);
        for (size_t d = 0; d < t.dim; d++)
            *next++ = test_load(along(row, t, d, size), t.dtype);
    }
    return values;
}

int test_absent_tensor(attn_tensor t)
{
    return !t.data && !t.dtype && !t.batch && !t.heads && !t.len && !t.dim && !t.batch_stride && !t.head_stride &&
           !t.len_stride && !t.dim_stride;
}

int test_same_tensor_bits(attn_tensor a, attn_tensor b)
{
    size_t size = test_size(a.dtype);
    if (a.dtype != b.dtype || a.batch != b.batch || a.heads != b.heads || a.len != b.len || a.dim != b.dim)
        return 0;
    for (size_t n = 0; n < rows(a); n++) {
        void *one = nth(a, n), *other = nth(b, n);
        for (size_t d = 0; d < a.dim; d++)
            if (!same_element(along(one, a, d, size), along(other, b, d, size), size))
                return 0;
    }
    return 1;
}

int test_wrote_only_tensors(const attn_tensor *outs, size_t count)
{
    size_t heads = 0;
    attn_mat *mats;
    int held;
    for (size_t n = 0; n < count; n++)
        heads += outs[n].batch * outs[n].heads;
    mats = must(malloc((heads + 1) * sizeof *mats));
    heads = 0;
    for (size_t n = 0; n < count; n++) {
        attn_tensor t = outs[n];
        for (size_t b = 0; b < t.batch; b++)
            for (size_t h = 0; h < t.heads; h++) {
                attn_mat m = {NULL, t.dtype, t.len, t.dim, t.len_stride, t.dim_stride};
                m.data = t.len && t.dim ? test_tensor_at(t, b, h, 0, 0) : NULL;
                mats[heads++] = m;
            }
    }
    held = test_wrote_only(mats, heads);
    free(mats);
    return held;
}

/* ---- faults ---- */

attn_status test_spoil(attn_tensor *t, int role, int kind)
{
    size_t *const sizes[] = {&t->batch, &t->heads, &t->len, &t->dim};
    ptrdiff_t *const strides[] = {&t->batch_stride, &t->head_stride, &t->len_stride, &t->dim_stride};
    attn_tensor none = {0};
    size_t full = elements(*t), wide = 4; /* wide: a dimension with a stride that counts */
    while (wide > 0 && *sizes[wide - 1] < 2)
        wide--;
    switch (kind) {
    case SPOIL_ABSENT: *t = none; return role & SPOIL_REQUIRED ? ATTN_ERR_NULL : ATTN_OK;
    case SPOIL_BAD: none.batch = none.heads = none.len = none.dim = SIZE_MAX, *t = none; return ATTN_ERR_NULL;
    case SPOIL_NULL_DATA: t->data = NULL; return full ? ATTN_ERR_NULL : ATTN_OK;
    case SPOIL_I8: t->dtype = ATTN_I8; return ATTN_ERR_DTYPE;
    case SPOIL_BOOL: t->dtype = ATTN_BOOL; return ATTN_ERR_DTYPE;
    case SPOIL_UNKNOWN: t->dtype = (attn_dtype)77; return ATTN_ERR_DTYPE;
    case SPOIL_BATCH:
    case SPOIL_HEADS:
    case SPOIL_LEN:
    case SPOIL_DIM: ++*sizes[kind - SPOIL_BATCH]; return ATTN_ERR_SHAPE;
    case SPOIL_NO_LEN:
    case SPOIL_NO_DIM: {
        size_t *n = kind == SPOIL_NO_LEN ? &t->len : &t->dim, was = *n;
        *n = 0;
        return was ? ATTN_ERR_SHAPE : ATTN_OK;
    }
    case SPOIL_MISALIGNED:
        t->data = (char *)t->data + 1;
        return full && test_size(t->dtype) > 1 ? ATTN_ERR_VALUE : ATTN_OK;
    default: break;
    }
    if (!full || !wide || (kind == SPOIL_ZERO_STRIDE && !(role & SPOIL_OUTPUT)))
        return ATTN_OK;
    *strides[wide - 1] = kind == SPOIL_STRIDE ? PTRDIFF_MAX : kind == SPOIL_FARTHER ? PTRDIFF_MIN : 0;
    return kind == SPOIL_ZERO_STRIDE ? ATTN_ERR_ALIAS : ATTN_ERR_OVERFLOW;
}

attn_status test_spoil_mat(attn_mat *m, int role, int kind)
{
    attn_tensor t = {m->data, m->dtype, 1, 1, m->rows, m->cols, 0, 0, m->row_stride, m->col_stride};
    attn_status status = kind == SPOIL_BATCH || kind == SPOIL_HEADS ? ATTN_OK : test_spoil(&t, role, kind);
    attn_mat spoiled = {NULL, t.dtype, t.len, t.dim, t.len_stride, t.dim_stride};
    spoiled.data = t.data;
    *m = spoiled;
    return status;
}

int test_real_is_wider(void)
{
    volatile real one = 1, next = one + LDBL_EPSILON;
    return LDBL_MANT_DIG > DBL_MANT_DIG && next > one;
}
