/* What attn.h takes on a small machine beside plain loops: instructions, stack, scratch. Prints a line for each figure,
   "name value unit", and for each check, "ok ..." or "FAIL ...". */
#define ATTN_IMPLEMENTATION
#define ATTN_STATIC
#include "attn.h"
#include "board.h"
#include "loops.h"

typedef struct shape {
    const char *name;
    size_t Lq, Lk, D;
    int causal;
} shape;

enum { H = 2 };

#ifdef TINY /* 16 KB of RAM, of which a part is stack */
enum { MOST = H * 8 * 8, MOST_KEYS = 8, MOST_D = 8, SCRATCH = 6144 };
static const shape shapes[] = {{"prefill-8x8", 8, 8, 8, 0}, {"causal-8x8", 8, 8, 8, 1}, {"query-8x8", 1, 8, 8, 0}};
#else
enum { MOST = H * 48 * 256, MOST_KEYS = 100, MOST_D = 256, SCRATCH = 300000 };
static const shape shapes[] = {
    {"prefill-48x64", 48, 48, 64, 0}, {"causal-48x64", 48, 48, 64, 1},    {"query-48x64", 1, 48, 64, 0},
    {"prefill-16x32", 16, 16, 32, 0}, {"causal-16x32", 16, 16, 32, 1},    {"query-16x32", 1, 16, 32, 0},
    {"prefill-100x80", 100, 100, 80, 0}, {"causal-100x80", 100, 100, 80, 1}, {"query-100x80", 1, 100, 80, 0}};
#endif
static const size_t shapes_count = sizeof shapes / sizeof *shapes;

static float q[MOST], k[MOST], v[MOST], out[MOST], expected[MOST], scores[MOST_KEYS];
static char scratch[SCRATCH], storage[H * MOST_KEYS * (2 * MOST_D + 8) + 256];
static shape s;
static attn_ctx ctx;
static attn_kv_cache cache;
static attn_status status;
static int failed;

static void figure(const char *name, const char *what, uint32_t value, const char *unit)
{
    char digits[12], *at = digits + sizeof digits;
    *--at = 0;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    put(name), put("-"), put(what), put(" "), put(at), put(" "), put(unit), put("\n");
}

static void check(const char *name, const char *what, int right)
{
    put(right ? "ok " : "FAIL "), put(name), put(": "), put(what), put("\n");
    failed |= !right;
}

static void call_sdpa(void)
{
    attn_opts opts = ATTN__ZERO;
    opts.causal = s.causal ? ATTN_CAUSAL_LOWER_RIGHT : ATTN_CAUSAL_NONE;
    status = attn_sdpa(attn_bhld(out, ATTN_F32, 1, H, s.Lq, s.D), attn_bhld(q, ATTN_F32, 1, H, s.Lq, s.D),
                       attn_bhld(k, ATTN_F32, 1, H, s.Lk, s.D), attn_bhld(v, ATTN_F32, 1, H, s.Lk, s.D), &opts, &ctx);
}

static void call_append(void)
{
    status = attn_kv_cache_append(&cache, attn_bhld(k, ATTN_F32, 1, H, s.Lk, s.D),
                                  attn_bhld(v, ATTN_F32, 1, H, s.Lk, s.D), NULL);
}

static void call_attend(void)
{
    status = attn_kv_cache_attend(attn_bhld(out, ATTN_F32, 1, H, s.Lq, s.D), attn_bhld(q, ATTN_F32, 1, H, s.Lq, s.D),
                                  &cache, NULL, &ctx);
}

static void call_loops(void)
{
    loops(expected, q, k, v, scores, H, s.Lq, s.Lk, s.D, s.causal);
}

/* Gives the call the scratch that it asks for: how much that is. */
static uint32_t scratch_of(void (*call)(void))
{
    attn_dry_run dry = ATTN__ZERO;
    ctx.dry_run = &dry;
    ctx.scratch = NULL, ctx.scratch_size = 0;
    call();
    ctx.dry_run = NULL;
    ctx.scratch = scratch, ctx.scratch_size = dry.scratch < SCRATCH ? dry.scratch : SCRATCH;
    return (uint32_t)dry.scratch;
}

static uint32_t instructions_of(void (*call)(void))
{
    uint32_t before = instructions();
    call();
    return instructions() - before;
}

static int near(float most)
{
    size_t n, wrong = 0;
    for (n = 0; n < H * s.Lq * s.D; n++)
        wrong += !(out[n] - expected[n] <= most && expected[n] - out[n] <= most); /* NaN is */
    return status == ATTN_OK && !wrong;
}

static void speed(void)
{
    uint32_t most = 0, least = 0, taken;
    if (instructions()) {
        taken = instructions();
        spin(1000000);
        taken = instructions() - taken;
        figure("calibration", "of-1000000", taken, "instructions");
        check("calibration", "within 1 %", taken > 990000 && taken < 1010000);
    }
    for (size_t n = 0; n < shapes_count; n++) {
        s = shapes[n];
        scratch_of(call_sdpa);
        most = instructions_of(call_sdpa), least = instructions_of(call_loops);
        if (most) {
            figure(s.name, "attn", most, "instructions");
            figure(s.name, "loops", least, "instructions");
        }
        check(s.name, "is what the loops find", near(1e-5f));
    }
}

static void memory(void)
{
    size_t bytes = 0;
    s = shapes[0];
    figure("scratch", "sdpa", scratch_of(call_sdpa), "bytes");
    figure("stack", "sdpa", stack_of(call_sdpa), "bytes");
    check("stack-sdpa", "the call succeeds", status == ATTN_OK);

    attn_kv_cache_size(&bytes, 1, H, s.Lk, s.D, s.D, ATTN_I8, 0);
    figure("storage", "i8", (uint32_t)bytes, "bytes");
    status = attn_kv_cache_init(&cache, 1, H, s.Lk, s.D, s.D, ATTN_I8, 0, storage, sizeof storage);
    check("cache of I8", "is made", status == ATTN_OK);
    figure("stack", "append-i8", stack_of(call_append), "bytes");
    check("stack-append-i8", "the call succeeds", status == ATTN_OK);
    s = shapes[2];
    figure("scratch", "attend-i8", scratch_of(call_attend), "bytes");
    figure("stack", "attend-i8", stack_of(call_attend), "bytes");
    call_loops();
    check("stack-attend-i8", "nearly what the loops find", near(0.01f));

#ifndef TINY
    s = shapes[0], s.D = 256;
    figure("scratch", "sdpa-D256", scratch_of(call_sdpa), "bytes");
    ctx.scratch = NULL, ctx.scratch_size = 0;
    figure("stack", "sdpa-D256-no-scratch", stack_of(call_sdpa), "bytes");
    figure("status", "sdpa-D256-no-scratch", status, attn_status_string(status));
#endif
}

int main(void)
{
    uint32_t seed = 1;
    for (size_t n = 0; n < MOST; n++) {
        seed = seed * 1664525u + 1013904223u, q[n] = (float)(int32_t)seed / 2147483648.0f;
        seed = seed * 1664525u + 1013904223u, k[n] = (float)(int32_t)seed / 2147483648.0f;
        seed = seed * 1664525u + 1013904223u, v[n] = (float)(int32_t)seed / 2147483648.0f;
    }
    speed();
    memory();
    return failed;
}
