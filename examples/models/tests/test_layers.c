/* Layers: each function against long double, within what layers.h says, for all instruction sets; rows, threads and
   places that change no bits; errors, and each allocation that fails. */
#include "test.h" /* first: it has ATTN_THREADS */

#include "examples/models/layers.h"

static layers net_of(attn_isa isa)
{
    layers net;
    memset(&net, 0, sizeof net);
    net.isa = isa;
    return net;
}

static float *floats(size_t count)
{
    return test_block(count * sizeof(float));
}

static float *random_floats(size_t count)
{
    float *x = floats(count);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(4 * test_uniform());
    return x;
}

static float *copy_of(const float *x, size_t count)
{
    return memcpy(floats(count), x, count * sizeof *x);
}

/* Sums of floats that this file makes itself are those of layers.c, bit for bit, where nothing is more exact than it
   should be. */
#define ROUNDS (FLT_EVAL_METHOD == 0)

static int same_floats(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

/* ---- activations ---- */

static const char *const activation_names[] = {"silu", "gelu by tanh", "gelu by erf", "relu"};

static real activation(real x, layers_activation a)
{
    const real pi = 3.14159265358979323846264338327950288L;
    switch (a) {
    case LAYERS_SILU: return x / (1 + expl(-x));
    case LAYERS_GELU_TANH: return x / (1 + expl(-2 * sqrtl(2 / pi) * (x + 0.044715L * x * x * x)));
    case LAYERS_GELU_ERF: return x / 2 * erfcl(-x / sqrtl(2));
    case LAYERS_RELU: return x < 0 ? 0 : x;
    }
    return x;
}

static real activation_error(real value)
{
    return 1e-7L + fabsl(value) / 8388608;
}

/* Numbers of all magnitudes, of both signs, and a dense grid where the functions bend. */
static size_t grid_of(float *x, size_t room)
{
    size_t count = 0;
    for (uint32_t bits = 0; bits < 0x7f800000 && count + 2 <= room; bits += 0x7f800000 / 4096 - 3) {
        x[count++] = test_f32(bits);
        x[count++] = test_f32(bits | 0x80000000);
    }
    while (count < room) {
        x[count] = (float)((double)(room - count) / 128 - 20);
        count++;
    }
    return count;
}

/* Without a gate, and times one; GELU_ERF as layers_gelu too, and with a bias. */
TEST(layers_activations)
{
    enum { ROOM = 8194 + 5121 };
    float *x = floats(ROOM), *gate = random_floats(ROOM), *none = floats(ROOM), *bias = random_floats(ROOM);
    size_t count = grid_of(x, ROOM);
    for (size_t i = 0; i < ROOM; i++)
        none[i] = -0.0f; /* 0 would change -0 */
    FOR_EACH_ISA (isa) {
        layers net = net_of(isa);
        for (int a = LAYERS_SILU; a <= LAYERS_RELU; a++) {
            float *plain = copy_of(x, count), *gated = copy_of(x, count), *gelu = copy_of(x, count);
            int good = 1;
            test_case("%s, %s", attn_isa_string(isa), activation_names[a]);
            layers_gate(&net, plain, NULL, 1, count, (layers_activation)a);
            layers_gate(&net, gated, gate, 1, count, (layers_activation)a);
            for (size_t i = 0; good && i < count; i++) {
                real want = activation((real)x[i], (layers_activation)a);
                good = CHECK_NEAR((real)plain[i], want, activation_error(want)) &&
                       CHECK(!ROUNDS || test_bits32(gated[i]) == test_bits32(plain[i] * gate[i]));
            }
            if (a != LAYERS_GELU_ERF)
                continue;
            layers_gelu(&net, gelu, 1, count, NULL);
            CHECK(same_floats(gelu, plain, count));
            layers_gelu(&net, memcpy(gelu, x, count * sizeof *x), 1, count, none);
            CHECK(same_floats(gelu, plain, count));
            layers_gelu(&net, memcpy(gelu, x, count * sizeof *x), 1, count, bias);
            for (size_t i = 0; i < count; i++)
                plain[i] = x[i] + bias[i];
            layers_gelu(&net, plain, 1, count, NULL);
            CHECK(!ROUNDS || same_floats(gelu, plain, count));
        }
        CHECK(!net.failed);
    }
    test_release();
}

/* At every place of a row. */
TEST(layers_activations_of_special_numbers)
{
    enum { D = 70 };
    const float specials[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f, FLT_MAX, -FLT_MAX};
    FOR_EACH_ISA (isa) {
        layers net = net_of(isa);
        for (int a = LAYERS_SILU; a <= LAYERS_RELU; a++)
            for (size_t at = 0; at < D; at += test_quick ? 23 : 1)
                for (size_t s = 0; s < sizeof specials / sizeof *specials; s++) {
                    float x[D] = {0}, in = specials[s];
                    test_case("%s, %s of %g at %zu", attn_isa_string(isa), activation_names[a], (double)in, at);
                    x[at] = in;
                    layers_gate(&net, x, NULL, 1, D, (layers_activation)a);
                    if (isnan(in))
                        CHECK(isnan(x[at]));
                    else if (in < 0)
                        CHECK(x[at] == 0);
                    else
                        CHECK(x[at] == in); /* whatever the sign of a 0: valgrind loses it */
                    for (size_t i = 0; i < D; i++)
                        CHECK(i == at || x[i] == 0);
                }
    }
}

/* ---- norms ---- */

static const size_t widths_of_norms[] = {128, 384, 511, 1000, 1536, 4096};

static size_t norm_width(size_t n) /* 1 to 70, then these */
{
    return n < 70 ? n + 1 : widths_of_norms[n - 70];
}

enum { NORM_WIDTHS = 76, NORM_ROWS = 5 };

/* h, of x + y + y_bias if there are such, within what layers.h says. */
static int good_norm(const float *h, const float *x, size_t d, const float *weight, const float *bias, double epsilon)
{
    const real u = 1.0L / 16777216;
    real mean = 0, magnitude = 0, squares = 0, s;
    for (size_t i = 0; i < d; i++) {
        mean += (real)x[i] / (real)d;
        magnitude += fabsl((real)x[i]) / (real)d;
    }
    for (size_t i = 0; i < d; i++)
        squares += ((real)x[i] - mean) * ((real)x[i] - mean) / (real)d;
    s = 1 / sqrtl(squares + (real)epsilon);
    for (size_t i = 0; i < d; i++) {
        real want = ((real)x[i] - mean) * s * (real)weight[i] + (bias ? (real)bias[i] : 0);
        real near = u * ((real)d / 64 + 10) * fabsl((real)weight[i]) * s * (fabsl((real)x[i] - mean) + magnitude);
        if (!CHECK_NEAR((real)h[i], want, near + u * fabsl(want)))
            return 0;
    }
    return 1;
}

/* Rows around 0, around 100, of one number, and tiny ones; apart and in place; what is added first. */
TEST(layers_norm)
{
    for (size_t n = 0; n < NORM_WIDTHS; n += test_quick ? 5 : 1) {
        size_t d = norm_width(n), size = NORM_ROWS * d;
        float *x = random_floats(size), *weight = random_floats(d), *bias = random_floats(d), *h = floats(size);
        float *y = random_floats(size), *sum = floats(size);
        for (size_t i = 0; i < d; i++) {
            x[d + i] += 100;
            x[2 * d + i] = 7;
            x[3 * d + i] *= 1e-12f;
        }
        FOR_EACH_ISA (isa)
            for (int with_bias = 0; with_bias < 2; with_bias++) {
                layers net = net_of(isa);
                const float *b = with_bias ? bias : NULL;
                double epsilon = with_bias ? 1e-12 : 1e-5;
                float *in_place = copy_of(x, size);
                test_case("%s, d %zu%s", attn_isa_string(isa), d, with_bias ? ", bias" : "");
                layers_norm(&net, h, x, NORM_ROWS, d, weight, b, epsilon);
                for (size_t r = 0; r < NORM_ROWS; r++)
                    if (!good_norm(h + r * d, x + r * d, d, weight, b, epsilon))
                        break;
                layers_norm(&net, in_place, in_place, NORM_ROWS, d, weight, b, epsilon);
                CHECK(same_floats(in_place, h, size));
                for (size_t i = 0; i < size; i++)
                    sum[i] = x[i] + (with_bias ? y[i] + bias[i % d] : y[i]);
                layers_norm(&net, sum, sum, NORM_ROWS, d, weight, b, epsilon);
                memcpy(in_place, x, size * sizeof *x);
                layers_add_norm(&net, in_place, y, b, NORM_ROWS, d, weight, b, epsilon);
                CHECK(!ROUNDS || same_floats(in_place, sum, size));
                CHECK(!net.failed);
            }
        test_release();
    }
}

/* A NaN is its row's alone. */
TEST(layers_norm_of_nan)
{
    enum { N = 9, D = 100 };
    FOR_EACH_ISA (isa)
        for (size_t row = 0; row < N; row++) {
            layers net = net_of(isa);
            float *x = random_floats(N * D), *weight = random_floats(D), *h = floats(N * D), *rms = floats(N * D);
            x[row * D + 99] = NAN;
            layers_norm(&net, h, x, N, D, weight, NULL, 1e-5);
            layers_rms_norm(&net, rms, x, N, D, D, weight, 0, 1e-5);
            test_case("%s, row %zu", attn_isa_string(isa), row);
            for (size_t i = 0; i < N * D; i++)
                CHECK(!isnan(h[i]) == (i / D != row) && !isnan(rms[i]) == (i / D != row));
            test_release();
        }
}

/* Rows side by side and apart, what lies between them untouched; in place; both kinds of weight. */
TEST(layers_rms_norm)
{
    const real u = 1.0L / 16777216;
    for (size_t n = 0; n < NORM_WIDTHS; n += test_quick ? 5 : 1) {
        size_t d = norm_width(n);
        float *weight = random_floats(d);
        for (size_t stride = d; stride <= d + 9; stride += 9) {
            size_t size = (NORM_ROWS - 1) * stride + d;
            float *x = random_floats(size), *h = random_floats(size), *before = copy_of(h, size);
            FOR_EACH_ISA (isa)
                for (int plus = 0; plus < 2; plus++) {
                    layers net = net_of(isa);
                    float *in_place = copy_of(x, size);
                    int good = 1;
                    test_case("%s, d %zu, stride %zu, plus %d", attn_isa_string(isa), d, stride, plus);
                    layers_rms_norm(&net, h, x, NORM_ROWS, d, stride, weight, (float)plus, 1e-6);
                    layers_rms_norm(&net, in_place, in_place, NORM_ROWS, d, stride, weight, (float)plus, 1e-6);
                    for (size_t r = 0; r < NORM_ROWS; r++) {
                        const float *row = x + r * stride;
                        real squares = 0;
                        for (size_t i = 0; i < d; i++)
                            squares += (real)row[i] * (real)row[i] / (real)d;
                        for (size_t i = 0; good && i < d; i++) {
                            real want = (real)row[i] / sqrtl(squares + 1e-6L) * (real)(weight[i] + (float)plus);
                            good = CHECK_NEAR((real)h[r * stride + i], want, u * ((real)d / 64 + 10) * fabsl(want));
                        }
                        CHECK(same_floats(in_place + r * stride, h + r * stride, d));
                        if (r + 1 < NORM_ROWS) {
                            CHECK(same_floats(h + r * stride + d, before + r * stride + d, stride - d));
                            CHECK(same_floats(in_place + r * stride + d, x + r * stride + d, stride - d));
                        }
                    }
                    CHECK(!net.failed);
                }
        }
        test_release();
    }
}

/* ---- sums ---- */

TEST(layers_add)
{
    enum { N = 3 };
    for (size_t d = 1; d <= 70; d++)
        FOR_EACH_ISA (isa) {
            layers net = net_of(isa);
            float *x = random_floats(N * d), *y = random_floats(N * d), *bias = random_floats(d);
            float *sum = copy_of(x, N * d), *biased = copy_of(x, N * d);
            test_case("%s, d %zu", attn_isa_string(isa), d);
            layers_add(&net, sum, y, N, d);
            layers_add_bias(&net, biased, N, d, NULL);
            CHECK(same_floats(biased, x, N * d));
            layers_add_bias(&net, biased, N, d, bias);
            for (size_t i = 0; i < N * d; i++)
                CHECK(!ROUNDS || (test_bits32(sum[i]) == test_bits32(x[i] + y[i]) &&
                                  test_bits32(biased[i]) == test_bits32(x[i] + bias[i % d])));
            test_release();
        }
}

/* ---- rows and threads ---- */

/* What goes row by row, each in place, on n rows of d. */
enum { WORKS = 10 };

static void work(int which, layers *net, float *x, const float *y, size_t n, size_t d, const float *w, const float *b)
{
    switch (which) {
    case 0: layers_norm(net, x, x, n, d, w, b, 1e-12); break;
    case 1: layers_add_norm(net, x, y, b, n, d, w, b, 1e-12); break;
    case 2: layers_rms_norm(net, x, x, n, d, d, w, 1, 1e-6); break;
    case 3: layers_add(net, x, y, n, d); break;
    case 4: layers_add_bias(net, x, n, d, b); break;
    case 5: layers_gelu(net, x, n, d, b); break;
    default: layers_gate(net, x, y, n, d, (layers_activation)(which - 6)); break;
    }
}

/* Rows alone, all of them on this thread, and on others: the same bits, wherever in memory they are. */
TEST(layers_rows_and_threads)
{
    static const size_t widths[] = {1, 2, 3, 5};
    static const struct {
        size_t n, d;
    } shapes[] = {{2500, 37}, {300, 384}, {7, 9000}, {3, 70}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t n = shapes[s].n, d = shapes[s].d, size = n * d, step = test_quick ? n / 3 + 1 : n / 23 + 1;
        float *x = random_floats(size), *y = random_floats(size), *w = random_floats(d), *b = random_floats(d);
        float *want = floats(size), *got = floats(size), *alone = floats(d + 3);
        FOR_EACH_ISA (isa)
            for (int which = 0; which < WORKS; which++) {
                layers net = net_of(isa);
                test_runner runner;
                test_case("%s, work %d, %zu x %zu", attn_isa_string(isa), which, n, d);
                work(which, &net, memcpy(want, x, size * sizeof *x), y, n, d, w, b);
                for (size_t r = 0; r < n; r += step) {
                    float *at = alone + r % 4;
                    memcpy(at, x + r * d, d * sizeof *x);
                    work(which, &net, at, y + r * d, 1, d, w, b);
                    CHECK(same_floats(at, want + r * d, d));
                }
                for (size_t i = 0; i < sizeof widths / sizeof *widths; i += test_quick ? 3 : 1) {
                    net.parallel = i % 2 ? test_threads(&runner, widths[i]) : test_serial_backwards(&runner, widths[i]);
                    work(which, &net, memcpy(got, x, size * sizeof *x), y, n, d, w, b);
                    CHECK(same_floats(got, want, size));
                    CHECK(runner.most <= widths[i] && (runner.calls > 0) == (widths[i] > 1 && size >= 1 << 15));
                }
                CHECK(!net.failed);
            }
        test_release();
    }
}

/* No rows, or rows of nothing: nothing is touched. */
TEST(layers_of_nothing)
{
    FOR_EACH_ISA (isa) {
        layers net = net_of(isa);
        float w[4] = {0};
        for (int which = 0; which < WORKS; which++) {
            work(which, &net, NULL, NULL, 0, 4, w, w);
            work(which, &net, w, w, 4, 0, NULL, NULL);
        }
        layers_project(&net, NULL, NULL, 0, attn_mat_of(w, ATTN_F32, 2, 2), 1);
        layers_project_add(&net, NULL, NULL, 0, attn_mat_of(w, ATTN_F32, 2, 2), 1);
        CHECK(!net.failed);
        layers_free(&net);
    }
}

/* ---- products and attention ---- */

/* out = factor x w^T, against sums in long double; and added to what is there. */
TEST(layers_project)
{
    static const attn_dtype dtypes[] = {ATTN_F32, ATTN_F16, ATTN_BF16};
    static const size_t rows[] = {1, 3, 65};
    enum { IN = 130, OUT = 70 };
    for (size_t t = 0; t < 3; t++)
        for (size_t n = 0; n < 3; n++)
            FOR_EACH_ISA (isa) {
                attn_mat w = test_random_mat(dtypes[t], OUT, IN, t ? PADDED : PACKED);
                float *x = random_floats(rows[n] * IN), *out = floats(rows[n] * OUT),
                      *sum = random_floats(rows[n] * OUT);
                float *before = copy_of(sum, rows[n] * OUT);
                const real *weights = test_values(w);
                layers net = net_of(isa);
                long calls;
                int good = 1;
                test_case("%s, %s, %zu rows", attn_isa_string(isa), test_dtype_name(dtypes[t]), rows[n]);
                layers_project(&net, out, x, rows[n], w, 0.5);
                calls = test_memory_state.calls;
                layers_project_add(&net, sum, x, rows[n], w, 0.5);
                CHECK(test_memory_state.calls == calls); /* the scratch is there */
                for (size_t i = 0; good && i < rows[n] * OUT; i++) {
                    real want = 0, size = 0;
                    for (size_t k = 0; k < IN; k++) {
                        want += (real)x[i / OUT * IN + k] * weights[i % OUT * IN + k] / 2;
                        size += fabsl((real)x[i / OUT * IN + k] * weights[i % OUT * IN + k]);
                    }
                    good = CHECK_NEAR((real)out[i], want, size * (real)IN / 16777216) &&
                           CHECK_NEAR((real)sum[i], (real)before[i] + want, (size * (real)IN + 5) / 16777216);
                }
                CHECK(!net.failed);
                layers_free(&net);
                test_release();
            }
}

/* layers_sdpa and layers_attend have the bits of what they call, with scratch that stays. */
TEST(layers_attention)
{
    enum { L = 40, H = 2, D = 24, SIZE = L * H * D };
    float *q = random_floats(SIZE), *k = random_floats(SIZE), *v = random_floats(SIZE), *want = floats(SIZE);
    float *out = floats(SIZE);
    attn_tensor keys = attn_blhd(k, ATTN_F32, 1, L, H, D), values = attn_blhd(v, ATTN_F32, 1, L, H, D);
    attn_tensor queries = attn_blhd(q, ATTN_F32, 1, L, H, D), result = attn_blhd(out, ATTN_F32, 1, L, H, D);
    attn_kv_cache cache;
    attn_opts opts;
    memset(&opts, 0, sizeof opts);
    memset(&cache, 0, sizeof cache);
    opts.causal = ATTN_CAUSAL_LOWER_RIGHT;
    CHECK_STATUS(attn_kv_cache_init(&cache, 1, H, L, D, D, ATTN_F32, 0, NULL, 0), ATTN_OK);
    CHECK_STATUS(attn_kv_cache_append(&cache, keys, values, NULL), ATTN_OK);
    FOR_EACH_ISA (isa) {
        attn_ctx ctx = test_ctx(isa);
        for (size_t width = 1; width <= 3; width++) {
            layers net = net_of(isa);
            test_runner runner;
            long calls;
            net.parallel = test_threads(&runner, width);
            test_case("%s, width %zu", attn_isa_string(isa), width);
            net.batch_invariant = ctx.batch_invariant = (int)width % 2;
            CHECK_STATUS(attn_sdpa(attn_blhd(want, ATTN_F32, 1, L, H, D), queries, keys, values, &opts, &ctx), ATTN_OK);
            layers_sdpa(&net, result, queries, keys, values, &opts);
            CHECK(same_floats(out, want, SIZE));
            memset(out, 0, SIZE * sizeof *out);
            layers_attend(&net, result, queries, &cache, &opts);
            CHECK(same_floats(out, want, SIZE));
            calls = test_memory_state.calls;
            layers_sdpa(&net, result, queries, keys, values, &opts);
            layers_attend(&net, result, queries, &cache, &opts);
            CHECK(test_memory_state.calls == calls && !net.failed);
            layers_free(&net);
        }
    }
    attn_kv_cache_free(&cache);
    test_release();
}

/* ---- memory and errors ---- */

TEST(layers_rows)
{
    layers net = net_of(ATTN_ISA_BEST);
    long live = test_memory_state.live, calls;
    float *first = layers_rows(&net, 10, 7), *second;
    CHECK(first && (uintptr_t)first % 64 == 0);
    memset(first, 0, 70 * sizeof *first);
    calls = test_memory_state.calls;
    CHECK(layers_rows(&net, 7, 10) == first && layers_rows(&net, 0, 0) == first && test_memory_state.calls == calls);
    second = layers_rows(&net, 1000, 33);
    CHECK(second && (uintptr_t)second % 64 == 0);
    memset(second, 0, 33000 * sizeof *second);
    CHECK(test_memory_state.live == live + 1);
    layers_free(&net);
    CHECK(test_memory_state.live == live);
    CHECK(layers_rows(&net, 0, 5) != NULL && !net.failed); /* nothing is no error */
    layers_free(&net);
    layers_free(&net);
    CHECK(test_memory_state.live == live);
    CHECK(!layers_rows(&net, SIZE_MAX / 4, 2) && net.failed && !strcmp(net.error, "no memory"));
    CHECK(!layers_rows(&net, 1, 1)); /* after an error */
    net = net_of(ATTN_ISA_BEST);
    CHECK(!layers_rows(&net, 2, SIZE_MAX / 2) && net.failed && test_memory_state.live == live);
}

/* Parts lie one behind the other and are of their widths; without an error a call has no outcome. */
TEST(layers_in_parts)
{
    layers net = net_of(ATTN_ISA_BEST);
    float *a, *b, *c;
    const layers_part parts[] = {{&a, 3}, {&b, 0}, {&c, 5}}, wide[] = {{&a, SIZE_MAX}, {&b, SIZE_MAX}};
    CHECK(layers_parts(&net, 7, parts, 3) && (uintptr_t)a % 64 == 0 && b == a + 21 && c == b);
    memset(a, 0, (21 + 35) * sizeof *a);
    CHECK(!layers_outcome(&net));
    a = NULL;
    CHECK(!layers_parts(&net, 7, wide, 2) && !a && net.failed);
    CHECK(layers_outcome(&net) == net.error && !strcmp(net.error, "no memory") && !net.failed);
    CHECK(!layers_memory(SIZE_MAX / 2, 3, 1, 1) && !layers_memory(3, SIZE_MAX / 2, 4, 1));
    CHECK(!layers_memory(SIZE_MAX / 8, 1, 1, 4) && !layers_memory(1, 1, SIZE_MAX, 1));
    layers_free(&net);
    test_release();
}

/* Rows of a table by their ids; one that it does not have is an error, and nothing is written. */
TEST(layers_embeddings)
{
    static const float table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    static const int32_t ids[] = {2, 0, 2}, wrong[][2] = {{0, 3}, {-1, 0}};
    layers net = net_of(ATTN_ISA_BEST);
    attn_mat rows = attn_mat_of(table, ATTN_F32, 3, 2);
    float x[6];
    layers_embed(&net, x, rows, ids, 3);
    CHECK(!layers_outcome(&net) && x[0] == 5 && x[1] == 6 && x[2] == 1 && x[3] == 2 && x[4] == 5 && x[5] == 6);
    for (int i = 0; i < 2; i++) {
        x[0] = 9;
        layers_embed(&net, x, rows, wrong[i], 2);
        CHECK(!layers_known(&net, ids, 3, 3)); /* after an error */
        CHECK(x[0] == 9 && strstr(layers_outcome(&net), i ? "token -1 is not in the vocab" : "token 3 is not in the"));
        CHECK(layers_known(&net, ids, 3, 3));
    }
    layers_free(&net);
}

/* Errors name the argument; the first one stays, and what comes after it writes nothing. */
TEST(layers_errors)
{
    enum { N = 4, D = 8 };
    const attn_fault fault = {"out", "q", "1 row, where 2 fit"};
    float *x = random_floats(N * D), *w = random_floats(D * D), *out = random_floats(N * D);
    attn_tensor q = attn_blhd(x, ATTN_F32, 1, N, 1, D), k = attn_blhd(w, ATTN_F32, 1, N, 1, D), less = k;
    attn_tensor result = attn_blhd(out, ATTN_F32, 1, N, 1, D);
    attn_kv_cache none;
    layers net = net_of(ATTN_ISA_BEST);
    memset(&none, 0, sizeof none);
    less.dim--;
    layers_sdpa(&net, result, q, less, k, NULL);
    CHECK(net.failed && !strncmp(net.error, "attn_sdpa: k: ", 14));
    test_freeze();
    layers_project(&net, x, NULL, N, attn_mat_of(w, ATTN_F32, D, D), 1);
    layers_project(&net, out, x, N, attn_mat_of(w, ATTN_F32, D, D), 1);
    layers_project_add(&net, out, x, N, attn_mat_of(w, ATTN_F32, D, D), 1);
    layers_sdpa(&net, result, q, k, k, NULL);
    layers_attend(&net, result, q, &none, NULL);
    for (int which = 0; which < WORKS; which++)
        work(which, &net, out, x, N, D, w, w);
    CHECK(!layers_check(&net, ATTN_OK, "attn_sdpa") && !layers_check(&net, ATTN_ERR_NULL, "attn_sdpa"));
    CHECK(!layers_fail(&net, "another") && test_wrote_nothing());
    CHECK(!strncmp(net.error, "attn_sdpa: k: ", 14));
    layers_free(&net);
    CHECK(net.failed && *net.error); /* stays */

    net = net_of(ATTN_ISA_BEST);
    layers_attend(&net, result, q, &none, NULL);
    CHECK(net.failed && !strncmp(net.error, "attn_kv_cache_attend: cache", 27));
    net = net_of(ATTN_ISA_BEST);
    layers_project(&net, x, x, N, attn_mat_of(w, ATTN_F32, D, D), 1);
    CHECK(net.failed && !strncmp(net.error, "attn_matmul_ctx: out, a: ", 25));
    layers_free(&net);
    net = net_of(TEST_ISA_LACKING);
    layers_project_add(&net, out, x, N, attn_mat_of(w, ATTN_F32, D, D), 1);
    CHECK(net.failed && !strncmp(net.error, "attn_matmul_add: ctx.isa: ", 26));
    layers_free(&net);

    net = net_of(ATTN_ISA_BEST);
    net.fault = fault;
    CHECK(layers_check(&net, ATTN_OK, "attn_sdpa") && !net.failed);
    CHECK(!layers_check(&net, ATTN_ERR_SHAPE, "attn_t5_bias"));
    CHECK(!strcmp(net.error, "attn_t5_bias: dimensions do not fit together")); /* the fault was another call's */
    net = net_of(ATTN_ISA_BEST);
    CHECK(!layers_check(&net, ATTN_ERR_NOMEM, "attn_sdpa") && !strcmp(net.error, "no memory"));
    net = net_of(ATTN_ISA_BEST);
    CHECK(!layers_fail(&net, "%s", "100 %s") && !strcmp(net.error, "100 %s"));
    test_release();
}

/* Each allocation fails once: a message, nothing lost; and then the same net works. */
TEST(layers_no_memory)
{
    enum { N = 40, D = 64 };
    float *x = random_floats(N * D), *w = random_floats(D * D), *out = floats(N * D);
    attn_tensor q = attn_blhd(x, ATTN_F32, 1, N, 1, D), k = attn_blhd(w, ATTN_F32, 1, D, 1, D);
    attn_tensor result = attn_blhd(out, ATTN_F32, 1, N, 1, D);
    long live = test_memory_state.live, at;
    int done = 0;
    for (at = 1; !done; at++) {
        layers net = net_of(ATTN_ISA_BEST);
        for (int tries = 0; tries < 2; tries++) {
            test_memory_state.fail_at = tries == 0 ? at : 0;
            layers_rows(&net, N, D);
            layers_sdpa(&net, result, q, k, k, NULL);
            layers_project(&net, out, x, N, attn_mat_of(w, ATTN_F32, D, D), 1);
            test_case("allocation %ld, try %d: %s", at, tries, net.error);
            if (tries == 0)
                done = !net.failed;
            CHECK(!net.failed || !strcmp(net.error, "no memory"));
            CHECK(tries == 0 || !net.failed);
            net.failed = 0;
        }
        layers_free(&net);
        CHECK(test_memory_state.live == live);
    }
    CHECK(at > 3); /* two have failed at least */
    test_release();
}
