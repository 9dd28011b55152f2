/* Conversions: every 16-bit value one way, every midpoint between neighbours and what lies beside it the other way. */
#include "sdpa.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

static const attn_dtype halves[] = {ATTN_F16, ATTN_BF16};

enum { ALL = 65536 };

static size_t step(void) /* quick: a part of the values, of every exponent */
{
    return test_quick ? 37 : 1;
}

static unsigned infinity(attn_dtype half)
{
    return half == ATTN_F16 ? 0x7c00 : 0x7f80;
}

static void flush_subnormals(int on) /* where the tests know how to ask for it */
{
#if defined(__SSE2__)
    _mm_setcsr((_mm_getcsr() & ~0x8040u) | (on ? 0x8040u : 0));
#else
    (void)on;
#endif
}

static int is_nan16(unsigned bits, attn_dtype half)
{
    return (bits & 0x7fff) > infinity(half);
}

/* Equal bits; of a NaN only that it is one, and its sign. */
static int same64(double got, double want)
{
    return isnan(want) ? isnan(got) && test_same_nan(test_bits64(got), test_bits64(want), 64)
                       : test_bits64(got) == test_bits64(want);
}

static int same16(unsigned got, unsigned want, attn_dtype half)
{
    return is_nan16(want, half) ? is_nan16(got, half) && test_same_nan(got, want, 16) : got == want;
}

static attn_mat all_values(attn_dtype half)
{
    attn_mat m = test_mat(half, 256, 256, PACKED);
    for (unsigned i = 0; i < ALL; i++)
        ((uint16_t *)m.data)[i] = (uint16_t)i;
    return m;
}

TEST(dtypes_from_16_bits)
{
    for (size_t h = 0; h < 2; h++)
        for (int turned = 0; turned < 2; turned++) {
            attn_mat in = all_values(halves[h]), f32 = test_mat(ATTN_F32, 256, 256, turned),
                     wide = test_mat(test_wide, 256, 256, turned);
            CHECK_STATUS(attn_mat_copy(f32, in), ATTN_OK);
            CHECK_STATUS(attn_mat_copy(wide, in), ATTN_OK);
            for (unsigned i = 0; i < ALL; i++) {
                double want = test_decode(i, halves[h]);
                float *single = test_at(f32, i / 256, i % 256);
                double back = *single;
                if (i % step())
                    continue;
                test_case("%s 0x%04x, layout %d", test_dtype_name(halves[h]), i, turned);
                CHECK(same64((attn_mat_get)(in, i / 256, i % 256), want));
                CHECK(same64(back, want));
                CHECK(same64((double)test_load(test_at(wide, i / 256, i % 256), test_wide), want));
            }
            CHECK(same64(attn_mat_get(in, 0, 1), test_decode(1, halves[h])));
        }
}

/* Rounds `values` through attn_mat_set and attn_mat_copy from F64, and from F32 where they are F32 values. */
static void check_rounding(attn_dtype half, const double *values, size_t count)
{
    int copies = test_wide == ATTN_F64;
    attn_mat f64 = test_mat(ATTN_F64, 1, count, PACKED), f32 = test_mat(ATTN_F32, 1, count, PACKED);
    attn_mat from64 = test_mat(half, 1, count, PACKED), from32 = test_mat(half, 1, count, PACKED),
             set = test_mat(half, 1, count, PACKED);
    for (size_t i = 0; i < count; i++) {
        ((double *)f64.data)[i] = values[i];
        ((float *)f32.data)[i] = (float)values[i];
        (attn_mat_set)(set, 0, i, values[i]);
    }
    CHECK_STATUS(attn_mat_copy(from64, f64), copies ? ATTN_OK : ATTN_ERR_DTYPE);
    CHECK_STATUS(attn_mat_copy(from32, f32), ATTN_OK);
    for (size_t i = 0; i < count; i++) {
        unsigned want = test_encode(values[i], half), narrow = test_encode((float)values[i], half);
        int rounded = same16(((uint16_t *)set.data)[i], want, half) &&
                      (!copies || same16(((uint16_t *)from64.data)[i], want, half)) &&
                      same16(((uint16_t *)from32.data)[i], narrow, half);
        if (rounded) /* no case to print: there are too many to format each */
            continue;
        test_case("%s of %a (%.9g): set 0x%04x, copy 0x%04x, want 0x%04x; from f32 0x%04x, want 0x%04x",
                  test_dtype_name(half), values[i], values[i], ((uint16_t *)set.data)[i], ((uint16_t *)from64.data)[i],
                  want, ((uint16_t *)from32.data)[i], narrow);
        CHECK(rounded);
    }
    test_release();
}

TEST(dtypes_to_16_bits)
{
    enum { EACH = 14, ROOM = 512 * EACH };
    static double values[ROOM];
    size_t count = 0;
    for (size_t h = 0; h < 2; h++) {
        for (unsigned i = 0; i < infinity(halves[h]); i += (unsigned)step()) {
            double here = test_decode(i, halves[h]), next = i + 1 < infinity(halves[h])
                                                                ? test_decode(i + 1, halves[h])
                                                                : here + (here - test_decode(i - 1, halves[h]));
            float middle = (float)(here / 2 + next / 2); /* exact, an F32 value */
            double near[EACH / 2];
            near[0] = here;
            near[1] = middle;
            near[2] = test_f32(test_bits32(middle) - 1);
            near[3] = test_f32(test_bits32(middle) + 1);
            near[4] = test_f64(test_bits64(middle) - 1); /* closer than any F32: shows a value rounded twice */
            near[5] = test_f64(test_bits64(middle) + 1);
            near[6] = here + (next - here) * (test_uniform() + 1) / 2;
            for (size_t n = 0; n < EACH / 2; n++) {
                values[count++] = near[n];
                values[count++] = -near[n];
            }
            if (count + EACH > ROOM || i + step() >= infinity(halves[h])) {
                check_rounding(halves[h], values, count);
                count = 0;
            }
        }
        {
            static const double ends[] = {65504,   65519.99, 65520, 65536,  1e5,    3.4e38,  3.4028235677973366e38,
                                          1e300,   HUGE_VAL, 0,     1e-300, 5e-324, 2.98e-8, 5.9e-8,
                                          4.6e-41, 1.4e-45,  1e-46};
            double nans[6];
            for (size_t n = 0; n < sizeof ends / sizeof *ends; n++) {
                values[count++] = ends[n];
                values[count++] = -ends[n];
            }
            nans[0] = test_f64(0x7ff8000000000000u);
            nans[1] = test_f64(0xfff8000000000000u);
            nans[2] = test_f64(0x7ff8000000000001u); /* payloads that truncation would lose */
            nans[3] = test_f64(0xfff800000000ffffu);
            nans[4] = test_f64(0x7ff0000000000001u); /* signalling */
            nans[5] = test_f64(0xfff0000000000001u);
            for (size_t n = 0; n < 6; n++)
                values[count++] = nans[n];
            check_rounding(halves[h], values, count);
            count = 0;
        }
        { /* F32 NaNs whose payload lies below the 16 bits that stay, or which rounding up would carry away */
            static const uint32_t bits[] = {0x7f800001, 0xff800001, 0x7fc00000, 0xffc00000,
                                            0x7fffffff, 0xffffffff, 0x7f80ffff, 0x7f801000};
            attn_mat in = test_mat(ATTN_F32, 1, 8, PACKED), out = test_mat(halves[h], 1, 8, PACKED);
            memcpy(in.data, bits, sizeof bits);
            CHECK_STATUS(attn_mat_copy(out, in), ATTN_OK);
            for (size_t n = 0; n < 8; n++) {
                unsigned got = ((uint16_t *)out.data)[n];
                test_case("%s of the NaN 0x%08x: 0x%04x", test_dtype_name(halves[h]), (unsigned)bits[n], got);
                CHECK(is_nan16(got, halves[h]) && test_same_nan(got, bits[n] >> 16, 16));
            }
        }
    }
    {
        attn_mat m = test_mat(ATTN_F16, 1, 1, PACKED);
        attn_mat_set(m, 0, 0, 2049);
        CHECK(attn_mat_get(m, 0, 0) == 2048);
    }
}

TEST(dtypes_16_to_16_bits)
{
    for (size_t h = 0; h < 2; h++) {
        attn_dtype from = halves[h], to = halves[1 - h];
        attn_mat in = all_values(from), out = test_mat(to, 256, 256, PACKED);
        CHECK_STATUS(attn_mat_copy(out, in), ATTN_OK);
        for (unsigned i = 0; i < ALL; i += (unsigned)step()) {
            unsigned got = ((uint16_t *)out.data)[i];
            test_case("%s 0x%04x to %s", test_dtype_name(from), i, test_dtype_name(to));
            if (is_nan16(i, from))
                CHECK(is_nan16(got, to) && test_same_nan(got, i, 16));
            else
                CHECK(got == test_encode(test_decode(i, from), to));
        }
    }
}

/* F64 to F32 as the compiler's own conversion does it, at random values, midpoints, subnormals and beyond the range. */
TEST(dtypes_f32_and_f64)
{
    size_t count = test_quick ? 500 : 20000;
    attn_mat wide = test_mat(ATTN_F64, 1, count, PACKED), narrow = test_mat(ATTN_F32, 1, count, PACKED),
             back = test_mat(ATTN_F64, 1, count, PACKED);
    int copies = test_wide == ATTN_F64;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = test_random();
        double x = test_f32((uint32_t)bits), next = test_f32((uint32_t)bits + 1);
        switch (i % 5) {
        case 0: break;
        case 1: x = x / 2 + next / 2; break;
        case 2: x = test_f64(test_bits64(x / 2 + next / 2) + 1); break;
        case 3: x = test_f64(bits); break;
        default: x = ldexp(test_uniform(), -120 - (int)(bits % 32)); break;
        }
        ((double *)wide.data)[i] = x;
    }
    CHECK_STATUS(attn_mat_copy(narrow, wide), copies ? ATTN_OK : ATTN_ERR_DTYPE);
    CHECK_STATUS(attn_mat_copy(back, narrow), copies ? ATTN_OK : ATTN_ERR_DTYPE);
    for (size_t i = 0; i < count; i++) {
        double x = ((double *)wide.data)[i];
        float want = (float)x, got;
        test_case("%a", x);
        if (!copies) { /* views are read and written all the same */
            (attn_mat_set)(narrow, 0, i, x);
            (attn_mat_set)(back, 0, i, (attn_mat_get)(narrow, 0, i));
        }
        got = ((float *)narrow.data)[i];
        CHECK(isnan(x) ? isnan(got) && test_bits32(got) >> 31 == test_bits64(x) >> 63
                       : test_bits32(got) == test_bits32(want));
        CHECK(same64(((double *)back.data)[i], (double)got));
        (attn_mat_set)(narrow, 0, i, x);
        CHECK(isnan(x) ? isnan(((float *)narrow.data)[i])
                       : test_bits32(((float *)narrow.data)[i]) == test_bits32(want));
    }
}

TEST(dtypes_bool)
{
    static const double values[] = {0, -0.0, 1, -1, 5e-324, HUGE_VAL, 0.25, 0};
    FOR_EACH_FLOAT (dtype) {
        attn_mat in = test_numbers(dtype, 2, 4, values), bools = test_mat(ATTN_BOOL, 2, 4, PADDED);
        attn_mat out = test_mat(dtype, 2, 4, PACKED);
        attn_mat_set(in, 1, 3, NAN);
        test_case("%s to bool and back", test_dtype_name(dtype));
        CHECK_STATUS(attn_mat_copy(bools, in), ATTN_OK);
        for (size_t i = 0; i < 8; i++) { /* NaN is not zero, so it is true */
            double x = (double)test_load(test_at(in, i / 4, i % 4), in.dtype);
            CHECK(*(unsigned char *)test_at(bools, i / 4, i % 4) == (x != 0));
        }
        *(unsigned char *)test_at(bools, 0, 2) = 255;
        *(unsigned char *)test_at(bools, 0, 3) = 2;
        CHECK_STATUS(attn_mat_copy(out, bools), ATTN_OK);
        for (size_t i = 0; i < 8; i++)
            CHECK(test_load(test_at(out, i / 4, i % 4), out.dtype) ==
                  (*(unsigned char *)test_at(bools, i / 4, i % 4) != 0));
    }
}

TEST(dtypes_copy_keeps_bits)
{
    unsigned char truth[3] = {0, 2, 255}, copied[3];
    test_case("bool: still true or false");
    CHECK_STATUS(attn_mat_copy(attn_mat_of(copied, ATTN_BOOL, 1, 3), attn_mat_of(truth, ATTN_BOOL, 1, 3)), ATTN_OK);
    CHECK(copied[0] == 0 && copied[1] == 1 && copied[2] == 1);
    FOR_EACH_FLOAT (dtype)
        for (int from = PACKED; from < OUT_LAYOUTS; from++)
            for (int to = PACKED; to < OUT_LAYOUTS; to++) {
                attn_mat in = test_mat(dtype, 7, 5, from), out = test_mat(dtype, 7, 5, to);
                for (size_t i = 0; i < 35; i++) { /* any bits, signalling NaNs and subnormals among them */
                    uint64_t bits = test_random();
                    uint16_t nan = (uint16_t)(dtype == ATTN_F16 ? 0x7c01 : 0x7f81);
                    if (i % 3 == 0 && test_size(in.dtype) == 2)
                        memcpy(test_at(in, i / 5, i % 5), &nan, 2);
                    else if (i % 3 == 0 && dtype == ATTN_F32)
                        memcpy(test_at(in, i / 5, i % 5), (const uint32_t[]){0xff800001u}, 4);
                    else
                        memcpy(test_at(in, i / 5, i % 5), &bits, test_size(in.dtype));
                }
                test_case("%s, layout %d to %d", test_dtype_name(dtype), from, to);
                test_freeze();
                CHECK_STATUS(attn_mat_copy(out, in), ATTN_OK);
                CHECK(test_wrote_only(&out, 1));
                CHECK(test_same_bits(out, in));
                test_freeze();
                CHECK_STATUS(attn_mat_copy(in, in), ATTN_OK);
                CHECK(test_wrote_nothing());
            }
}

/* Halves that are signalling NaNs become quiet ones, which keep their payload: in copies, in a cache, and where the
   engine widens rows of v, which is in scratch: of ATTN_SMALL, eight rows at a time. */
static uint32_t quiet(uint32_t half)
{
    return (half & 0x8000) << 16 | 0x7fc00000 | (half & 0x3ff) << 13;
}

TEST(dtypes_signalling)
{
    enum { DIM = 19, LEN = 20, BYTES = 1 << 20 };
    static uint16_t v[2 * LEN * DIM];
    for (size_t i = 0; i < 2 * LEN * DIM; i++)
        v[i] = (uint16_t)((i % 3 ? 0x7c00 : 0xfc00) | (1 + i % 511));
    FOR_EACH_ISA (isa)
        for (ptrdiff_t stride = 1; stride <= 2; stride++) {
            attn_ctx ctx = test_ctx(isa);
            attn_tensor q = test_random_tensor(ATTN_F32, 1, 1, LEN, 4, T_BHLD);
            attn_tensor in = attn_tensor_of(v, ATTN_F16, 1, 1, LEN, DIM, 0, 0, DIM * stride, stride);
            attn_mat copy = test_mat(ATTN_F32, LEN, DIM, PACKED);
            attn_kv_cache cache = {0};
            unsigned char widened[1024] = {0};
            int signalling = 0;
            test_case("%s, stride %td", attn_isa_string(isa), stride);
            test_scratch(&ctx, BYTES, 0);
            CHECK_STATUS(attn_sdpa(test_tensor(ATTN_F32, 1, 1, LEN, DIM, T_BHLD), q, q, in, NULL, &ctx), ATTN_OK);
            CHECK_STATUS(attn_mat_copy(copy, attn_head(in, 0, 0)), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_init(&cache, 1, 1, LEN, DIM, DIM, ATTN_F32, 0, NULL, 0), ATTN_OK);
            CHECK_STATUS(attn_kv_cache_append(&cache, in, in, NULL), ATTN_OK);
            for (size_t at = 0; at < BYTES; at += 4) {
                uint32_t bits;
                memcpy(&bits, (char *)ctx.scratch + at, 4);
                signalling += (bits & 0x7fffff) && (bits & 0x7fc01fff) == 0x7f800000;
                if ((bits & 0x7fc01fff) == 0x7fc00000)
                    widened[bits >> 31 << 9 | (bits >> 13 & 511)] = 1;
            }
            CHECK(signalling < DIM); /* an address in scratch may look like one, not a row of v */
            for (size_t i = 0; i < LEN * DIM; i++) {
                uint32_t half = v[i * (size_t)stride], want = quiet(half);
                test_case("%s, stride %td, 0x%04x", attn_isa_string(isa), stride, (unsigned)half);
                CHECK(widened[half >> 15 << 9 | (half & 511)] || (test_small && i < (LEN - 8) * DIM));
                CHECK(memcmp(test_at(copy, i / DIM, i % DIM), &want, 4) == 0);
                CHECK(memcmp(test_tensor_at(cache.v, 0, 0, i / DIM, i % DIM), &want, 4) == 0);
            }
            attn_kv_cache_free(&cache);
            CHECK(test_scratch_kept(&ctx));
            test_release();
        }
}

/* Subnormal halves are normal floats: a processor that takes subnormal floats for 0, as programs linked with -ffast-math
   let it, loses none. */
TEST(dtypes_flushed)
{
    FOR_EACH_ISA (isa)
        for (ptrdiff_t stride = 1; stride <= 2; stride++) {
            enum { DIM = 19 };
            attn_ctx ctx = test_ctx(isa);
            float q[4] = {1, 2, 3, 4}, out[DIM];
            uint16_t v[2 * DIM];
            int good = 1;
            attn_tensor query = attn_bhld(q, ATTN_F32, 1, 1, 1, 4);
            for (size_t i = 0; i < 2 * DIM; i++)
                v[i] = (uint16_t)(1 + 54 * (i / (size_t)stride));
            flush_subnormals(1);
            CHECK_STATUS(attn_sdpa(attn_bhld(out, ATTN_F32, 1, 1, 1, DIM), query, query,
                                   attn_tensor_of(v, ATTN_F16, 1, 1, 1, DIM, 0, 0, 0, stride), NULL, &ctx),
                         ATTN_OK);
            flush_subnormals(0);
            for (size_t d = 0; d < DIM; d++)
                good &= fabsl(out[d] / test_decode((unsigned)(1 + 54 * d), ATTN_F16) - 1) < 1e-6L;
            test_case("%s, stride %td", attn_isa_string(isa), stride);
            CHECK(good);
        }
}
