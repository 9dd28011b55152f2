/* How fast attn_matmul and attn_softmax are, as ratios against peers of the same run:

   - the peak: fused multiply-adds alone, with the same vectors on the same core;
   - OpenBLAS on one thread, if this machine has it (Debian: libopenblas0);
   - for products of few rows, reading the matrix that they are multiplied by, and the loop that everybody writes;
   - for products of bf16, the same by the instruction set that AVX512BF16 extends, and of f32;
   - for softmax, memcpy of the matrix, a plain C loop, and that loop with libmvec's vector exponential.

   Bars for f32 at 512 x 512 x 512: 70 % of OpenBLAS with AVX-512, 70 % of the peak with AVX2 and with NEON.
   Those for products of few rows are for AVX-512, those for products of bf16 for Zen 5. */
#define _GNU_SOURCE
#include <math.h>
#include "library.h"
#include "bench.h"
#include "peer.h"

static attn_parallel two_threads; /* the library's pool */

static const char *bar(double value, double least)
{
    static char text[32];
    snprintf(text, sizeof text, "%.0f %%: %s", 100 * least, verdict(value >= least));
    return text;
}

/* ==== Matmul ====================================================================================================== */

typedef struct matmul {
    attn_mat out, a, b; /* b is the view that is multiplied: K x N, of N x K data where b_transposed */
    int b_transposed;
    attn_ctx ctx;
} matmul;

static void run_matmul(void *arg)
{
    matmul *m = (matmul *)arg;
    if (attn_matmul_ctx(m->out, m->a, m->b, 1, &m->ctx) != ATTN_OK) {
        fprintf(stderr, "bench: attn_matmul_ctx failed\n");
        exit(1);
    }
}

static void run_openblas(void *arg)
{
    matmul *m = (matmul *)arg;
    int rows = (int)m->a.rows, inner = (int)m->a.cols, cols = (int)m->b.cols;
    int trans = m->b_transposed ? TRANS : NO_TRANS, ldb = m->b_transposed ? inner : cols;
    if (m->out.dtype == ATTN_F32)
        sgemm(ROW_MAJOR, NO_TRANS, trans, rows, cols, inner, 1, (float *)m->a.data, inner, (float *)m->b.data, ldb, 0,
              (float *)m->out.data, cols);
    else
        dgemm(ROW_MAJOR, NO_TRANS, trans, rows, cols, inner, 1, (double *)m->a.data, inner, (double *)m->b.data, ldb, 0,
              (double *)m->out.data, cols);
}

/* A few elements of the product against a plain sum: a wrong result has no speed. */
static void check_product(const matmul *m)
{
    double unit = m->out.dtype == ATTN_BF16 ? 2e-3 : m->out.dtype == ATTN_F32 ? 1e-6 : 1e-14;
    double tolerance = unit * sqrt((double)m->a.cols) * 4;
    size_t i, k;
    for (i = 0; i < 7; i++) {
        size_t r = i * (m->out.rows - 1) / 6, c = (6 - i) * (m->out.cols - 1) / 6;
        double sum = 0;
        for (k = 0; k < m->a.cols; k++)
            sum += attn_mat_get(m->a, r, k) * attn_mat_get(m->b, k, c);
        if (!(fabs(sum - attn_mat_get(m->out, r, c)) <= tolerance)) {
            fprintf(stderr, "bench: wrong product\n");
            exit(1);
        }
    }
}

/* Who runs for one shape: the product with each instruction set, their peaks, the product with the best one on two
   threads, and OpenBLAS. The contestants stand in this order. */
typedef struct match {
    matmul products[ISA_COUNT + 2];
    peak peaks[ISA_COUNT];
    contestant c[CONTESTANTS];
    size_t isas, count;
} match;

static void enter(match *t, void (*run)(void *arg), void *arg, double work)
{
    contestant *c = &t->c[t->count++];
    c->run = run;
    c->arg = arg;
    c->work = work;
}

static void set_up(match *t, matmul product)
{
    double work = 2.0 * (double)product.a.rows * (double)product.a.cols * (double)product.b.cols;
    size_t i;

    memset(t, 0, sizeof *t);
    for (i = 0; i < ISA_COUNT + 2; i++)
        t->products[i] = product;
    for (i = 0; i < ISA_COUNT; i++)
        if (attn_isa_available(ISAS[i]) && lanes_of(ISAS[i], product.out.dtype) > 0) {
            t->products[t->isas].ctx.isa = ISAS[i];
            t->peaks[t->isas].isa = ISAS[i];
            t->peaks[t->isas++].dtype = product.out.dtype;
        }
    for (i = 0; i < t->isas; i++)
        enter(t, run_matmul, &t->products[i], work);
    for (i = 0; i < t->isas; i++)
        enter(t, run_peak, &t->peaks[i], peak_work(&t->peaks[i]));
    t->products[t->isas].ctx.parallel = two_threads;
    enter(t, run_matmul, &t->products[t->isas], work);
    t->c[t->count - 1].wall = 1;
    if (sgemm && dgemm)
        enter(t, run_openblas, &t->products[t->isas + 1], work);
}

static void print_match(const match *t, int barred)
{
    const contestant *product = t->c, *peaks = t->c + t->isas, *two = peaks + t->isas, *openblas = two + 1;
    int have_openblas = t->c + t->count > openblas;
    size_t i;

    for (i = 0; i < t->isas; i++)
        printf("%9.0f %%", 100 * ratio(&product[i], &peaks[i]));
    if (have_openblas)
        printf("%9.0f %%", 100 * ratio(product, openblas));
    else
        printf("%11s", "-");
    printf("%9.2f x", ratio(two, product));
    for (i = 0; i < t->isas && barred; i++)
        if (t->peaks[i].isa != ATTN_ISA_AVX512)
            printf("   %s of peak, %s", attn_isa_string(t->peaks[i].isa), bar(ratio(&product[i], &peaks[i]), 0.7));
        else if (have_openblas)
            printf("   avx512 of OpenBLAS, %s", bar(ratio(product, openblas), 0.7));
    printf("\n");
    fflush(stdout);
}

/* One line of a table: a rows x inner matrix times an inner x cols one. */
static void bench_matmul(attn_dtype dtype, int b_transposed, size_t rows, size_t inner, size_t cols)
{
    attn_mat data = bench_matrix(dtype, b_transposed ? cols : inner, b_transposed ? inner : cols);
    matmul product;
    match t;
    size_t i;

    memset(&product, 0, sizeof product);
    product.a = bench_matrix(dtype, rows, inner);
    product.b = b_transposed ? attn_mat_t(data) : data;
    product.b_transposed = b_transposed;
    product.out = bench_matrix(dtype, rows, cols);
    set_up(&t, product);
    for (i = 0; i < t.isas; i++) {
        run_matmul(&t.products[i]);
        check_product(&t.products[i]);
    }
    if (t.isas > 0) {
        race(t.c, t.count);
        printf("%5lu x%5lu x%5lu", (unsigned long)rows, (unsigned long)inner, (unsigned long)cols);
        print_match(&t, dtype == ATTN_F32 && !b_transposed && rows == 512 && inner == 512 && cols == 512);
    }
    free(product.a.data);
    free(product.out.data);
    free(data.data);
}

static void bench_matmuls(attn_dtype dtype, int b_transposed)
{
    static const size_t squares[] = {4, 16, 64, 127, 128, 256, 512, 513, 1024};
    size_t i;

    printf("\nmatmul %s, out = %s: speed relative to\n%19s", dtype == ATTN_F32 ? "f32" : "f64",
           b_transposed ? "a b^T" : "a b", "M     K     N ");
    for (i = 0; i < ISA_COUNT; i++)
        if (attn_isa_available(ISAS[i]))
            printf("%6s peak", attn_isa_string(ISAS[i]));
    printf("%11s%11s   bar\n", "OpenBLAS", "2 threads");

    for (i = 0; i < sizeof squares / sizeof squares[0]; i++)
        if (!is_quick() || squares[i] == 64 || squares[i] == 512)
            bench_matmul(dtype, b_transposed, squares[i], squares[i], squares[i]);
    if (is_quick())
        return;
    bench_matmul(dtype, b_transposed, 1, 4096, 4096);
    bench_matmul(dtype, b_transposed, 512, 64, 512);
    bench_matmul(dtype, b_transposed, 512, 512, 64);
}

/* ==== Few rows =================================================================================================== */

/* out = x w^T with `rows` rows of x, as a decoder's step computes it: w is cols x inner. */

/* The loop that everybody writes, of a part of the columns of out. */
static void loop_part(const matmul *m, size_t part, size_t parts)
{
    size_t rows = m->a.rows, inner = m->a.cols, cols = m->out.cols, begin = cols * part / parts;
    size_t count = cols * (part + 1) / parts - begin;
    float *out = (float *)m->out.data + begin;
    const float *x = (const float *)m->a.data;
    if (m->b.dtype == ATTN_F32)
        peer_products(out, x, (const float *)m->b.data + begin * inner, rows, inner, count, cols);
    else
        peer_products_bf16(out, x, (const uint16_t *)m->b.data + begin * inner, rows, inner, count, cols);
}

static void run_loop(void *arg)
{
    loop_part((const matmul *)arg, 0, 1);
}

static void loop_task(void *arg, size_t index)
{
    loop_part((const matmul *)arg, index, 2);
}

static void run_loop_on_two(void *arg)
{
    two_threads.run(two_threads.user, 2, loop_task, arg);
}

/* Beside the time that reading w takes with as many streams as are fastest, and beside the plain loop. */
static void bench_few_rows(attn_dtype dtype, size_t rows, size_t cols, size_t inner, double least)
{
    enum { READ = 1, LOOP, ON_TWO, ALL = 2 * ON_TWO }; /* after ours, and each again on two threads */
    attn_mat values = bench_matrix(ATTN_F32, cols, inner), w = values;
    reading read = {NULL, NULL, 0, 1, 0, NULL}, read_on_two;
    matmul one, on_two;
    contestant c[ALL] = {
        {.run = run_matmul, .arg = &one},
        {.run = run_read, .arg = &read},
        {.run = run_loop, .arg = &one},
        {.run = run_matmul, .arg = &on_two, .wall = 1},
        {.run = run_read, .arg = &read_on_two, .wall = 1},
        {.run = run_loop_on_two, .arg = &one, .wall = 1},
    };
    char shape[48];
    const char *work = dtype == ATTN_F32 ? "x w^T, f32 w" : "x w^T, bf16 w";
    size_t i;

    memset(&one, 0, sizeof one);
    if (dtype != ATTN_F32) {
        w = attn_mat_of(bench_alloc(cols * inner * 2), dtype, cols, inner);
        require(attn_mat_copy(w, values) == ATTN_OK, "attn_mat_copy");
    }
    one.a = bench_matrix(ATTN_F32, rows, inner);
    one.out = bench_matrix(ATTN_F32, rows, cols);
    one.b = attn_mat_t(w);
    on_two = one;
    on_two.ctx.parallel = two_threads;
    read.x = w.data;
    read.bytes = cols * inner * (dtype == ATTN_F32 ? 4 : 2);
    read_on_two = read;
    read_on_two.threads = &two_threads;
    read = best_reading(read);
    read_on_two = best_reading(read_on_two);

    for (i = 0; i < ALL; i++) {
        c[i].work = 1;
        if (c[i].run == run_read)
            continue;
        memset(one.out.data, 0xff, rows * cols * sizeof(float)); /* NaN */
        c[i].run(c[i].arg);
        check_product(&one);
    }
    race(c, ALL);

    snprintf(shape, sizeof shape, "%d x %d x %d", (int)rows, (int)inner, (int)cols);
    printf("%-18s%-16s", shape, work);
    for (i = 0; i < 4; i++) { /* the read on one thread and on two, the loop on one and on two */
        const contestant *ours = &c[i % 2 * ON_TWO];
        figure f = {"1 thread", "reading w", "%", 0, least, 0};
        f.of = i % 2 == 0 ? "1 thread" : "2 threads";
        if (i >= 2) {
            f.against = "plain loop";
            f.unit = "x";
            f.bar = 1;
        }
        f.value = ratio(ours, ours + (i < 2 ? READ : LOOP));
        print_figure(work, shape, &f);
    }
    printf("\n");
    fflush(stdout);
    free(one.a.data);
    free(one.out.data);
    if (w.data != values.data)
        free(w.data);
    free(values.data);
}

/* Many rows with batch_invariant, which take the kernel of few, relative to the default. */
static void bench_invariant_product(void)
{
    matmul m[2];
    contestant c[2] = {{.run = run_matmul, .arg = &m[0], .work = 1}, {.run = run_matmul, .arg = &m[1], .work = 1}};
    figure f = {"1 thread", "default", "x", 0, 0.4, 0};
    memset(m, 0, sizeof m);
    m[0].a = bench_matrix(ATTN_F32, 64, 1024);
    m[0].b = attn_mat_t(bench_matrix(ATTN_F32, 1024, 1024));
    m[0].out = bench_matrix(ATTN_F32, 64, 1024);
    m[1] = m[0];
    m[1].ctx.batch_invariant = 1;
    run_matmul(&m[1]);
    check_product(&m[1]);
    race(c, 2);
    f.value = ratio(&c[1], &c[0]);
    printf("64 x 1024 x 1024, batch_invariant relative to the default: ");
    print_figure("batch_invariant, x w^T", "64 x 1024 x 1024", &f);
    printf("\n");
    free(m[0].a.data);
    free(m[0].b.data);
    free(m[0].out.data);
}

/* Matrices that lie in caches, that do not, those of small models, and what makes a model's logits. */
static void bench_decoding(void)
{
    static const size_t inner[] = {512, 1024, 2048, 4096, 576, 896, 512},
                        cols[] = {512, 1024, 2048, 4096, 1536, 4864, 32128};
    static const double bars_of_rows[] = {0.90, 0.90, 0.75}; /* 1, 4 and 16 */
    size_t s, r;

    printf(
        "\nmatmul of few rows, out = x w^T, x f32: share of the speed of reading w; speed relative to the plain loop, "
        "compiled with %s\n%-34s%-23s%-23s%-23s%s\n",
        peer_loop_flags(), "M x K x N", "    read", "    on 2 threads", "    loop", "    on 2 threads");
    for (s = 0; s < 7; s += is_quick() ? 6 : 1)
        for (r = 0; r < (is_quick() ? 1 : 3); r++) {
            bench_few_rows(ATTN_F32, (size_t)1 << 2 * r, cols[s], inner[s], bars_of_rows[r]);
            bench_few_rows(ATTN_BF16, (size_t)1 << 2 * r, cols[s], inner[s], bars_of_rows[r]);
        }
    if (!is_quick())
        bench_invariant_product();
}

/* ==== bf16 ======================================================================================================== */

/* a, b and out are bf16. Beside AVX512BF16: AVX512 with the same, AVX512 with f32, and a limit. */

static attn_mat bf16_matrix(attn_mat values)
{
    attn_mat m = attn_mat_of(bench_alloc(values.rows * values.cols * 2), ATTN_BF16, values.rows, values.cols);
    require(attn_mat_copy(m, values) == ATTN_OK, "attn_mat_copy");
    return m;
}

static void run_bf16(matmul *m)
{
    memset(m->out.data, 0xff, m->out.rows * m->out.cols * (m->out.dtype == ATTN_F32 ? 4 : 2)); /* NaN */
    run_matmul(m);
    check_product(m);
}

/* A rows x inner matrix times an inner x cols one. Of few rows the limit is the read of b, else the peak, which one
   thread alone has. least: of the speed relative to f32. */
static void bench_bf16_product(const char *work, size_t rows, size_t inner, size_t cols, int b_transposed, double least)
{
    enum { OURS, AVX512, F32, LIMIT, ON_TWO, ALL = 2 * ON_TWO }; /* each of them again on two threads */
    static const char *const against[] = {"", "AVX512", "f32 speed"};
    size_t b_rows = b_transposed ? cols : inner, b_cols = b_transposed ? inner : cols, i, n;
    attn_mat a = bench_matrix(ATTN_F32, rows, inner), b = bench_matrix(ATTN_F32, b_rows, b_cols);
    attn_mat out = bench_matrix(ATTN_F32, rows, cols), data[3];
    int is_read = rows <= 16;
    peak highest = {ATTN_ISA_AVX512BF16, ATTN_BF16};
    matmul m[ALL];
    reading reads[2];
    contestant c[ALL];
    char shape[48];

    memset(m, 0, sizeof m);
    memset(reads, 0, sizeof reads);
    memset(c, 0, sizeof c);
    data[0] = bf16_matrix(out);
    data[1] = bf16_matrix(a);
    data[2] = bf16_matrix(b);
    reads[0].x = data[2].data;
    reads[0].bytes = b_rows * b_cols * 2;
    reads[0].streams = 1;
    reads[1] = reads[0];
    reads[1].threads = &two_threads;
    for (n = 0; n < ALL; n++) {
        int on_two = n >= ON_TWO;
        i = n % ON_TWO;
        c[n].wall = on_two;
        c[n].work = 2.0 * (double)rows * (double)inner * (double)cols;
        if (i == LIMIT && is_read) {
            reads[on_two] = best_reading(reads[on_two]);
            c[n].run = run_read;
            c[n].arg = &reads[on_two];
        } else if (i == LIMIT) {
            c[n].run = run_peak;
            c[n].arg = &highest;
            c[n].work = peak_work(&highest);
        } else {
            m[n].out = i == F32 ? out : data[0];
            m[n].a = i == F32 ? a : data[1];
            m[n].b = i == F32 ? b : data[2];
            m[n].b = b_transposed ? attn_mat_t(m[n].b) : m[n].b;
            m[n].ctx.isa = i == OURS ? ATTN_ISA_AVX512BF16 : ATTN_ISA_AVX512;
            if (on_two)
                m[n].ctx.parallel = two_threads;
            run_bf16(&m[n]);
            c[n].run = run_matmul;
            c[n].arg = &m[n];
        }
    }
    race(c, is_read ? ALL : ALL - 1);

    snprintf(shape, sizeof shape, "%d x %d x %d", (int)rows, (int)inner, (int)cols);
    for (n = 0; n < ALL; n += ON_TWO) {
        figure f = {n ? "2 threads" : "1 thread", NULL, "x", 0, 0, 0};
        printf("%-20s%-14s%-11s", n ? "" : shape, n ? "" : work, f.of);
        for (i = F32; i >= AVX512; i--) {
            f.against = against[i];
            f.value = ratio(&c[n], &c[n + i]);
            f.bar = i == F32 && is_zen5() ? least : 0;
            print_figure(work, shape, &f);
        }
        f.against = is_read ? "read" : "peak";
        f.unit = "%";
        f.bar = 0;
        f.value = ratio(&c[n], &c[n + LIMIT]);
        if (is_read || n == 0)
            print_figure(work, shape, &f);
        printf("\n");
    }
    fflush(stdout);
    for (i = 0; i < 3; i++)
        free(data[i].data);
    free(a.data);
    free(b.data);
    free(out.data);
}

/* How many multiply-adds of bf16 vdpbf16ps does while FMA does one of f32: about what a CPU can gain. */
static void bench_bf16_peaks(void)
{
    peak peaks[] = {{ATTN_ISA_AVX512BF16, ATTN_BF16}, {ATTN_ISA_AVX512, ATTN_F32}};
    figure f = {"1 thread", "vfmadd231ps", "x", 0, 0, 0};
    contestant c[2];
    size_t i;

    if (lanes_of(peaks[0].isa, peaks[0].dtype) == 0 || lanes_of(peaks[1].isa, peaks[1].dtype) == 0)
        return;
    memset(c, 0, sizeof c);
    for (i = 0; i < 2; i++) {
        c[i].run = run_peak;
        c[i].arg = &peaks[i];
        c[i].work = peak_work(&peaks[i]);
    }
    race(c, 2);
    f.value = ratio(&c[0], &c[1]);
    printf("%-20s%-14s%-11s", "multiply-adds", "vdpbf16ps", f.of);
    print_figure("vdpbf16ps", "multiply-adds", &f);
    printf("of those of vfmadd231ps\n");
}

static void bench_bf16(void)
{
    size_t rows;

    if (!attn_isa_available(ATTN_ISA_AVX512BF16))
        return;
    printf(
        "\nmatmul of bf16 with AVX512BF16: speed relative to that of f32 and of bf16 with AVX512; share of the peak, "
        "for few rows of the read\n%-20s%-14s%-11s%-23s%-23s%s\n",
        "M x K x N", "", "", "     f32", "  AVX512", "   limit");
    bench_bf16_peaks();
    bench_bf16_product("bf16 a b", 512, 512, 512, 0, 1.5);
    bench_bf16_product("bf16 a b^T", 512, 512, 512, 1, 1.5);
    if (!is_quick()) {
        bench_bf16_product("bf16 a b", 2048, 2048, 2048, 0, 1.5);
        bench_bf16_product("bf16 a b^T", 2048, 2048, 2048, 1, 1.5);
    }
    for (rows = 1; rows <= 16 && !is_quick(); rows *= 4)
        bench_bf16_product("bf16 x w^T", rows, 2048, 2048, 1, 0);
}

/* ==== Softmax ===================================================================================================== */

typedef struct softmax {
    attn_mat out, in;
    attn_ctx ctx;
} softmax;

static void run_softmax(void *arg)
{
    softmax *s = (softmax *)arg;
    if (attn_softmax_ctx(s->out, s->in, &s->ctx) != ATTN_OK) {
        fprintf(stderr, "bench: attn_softmax_ctx failed\n");
        exit(1);
    }
}

static void run_softmax_plain(void *arg)
{
    softmax *s = (softmax *)arg;
    softmax_plain((float *)s->out.data, (const float *)s->in.data, s->in.rows, s->in.cols,
                  4 * lanes_of(s->ctx.isa, ATTN_F32));
}

static void run_softmax_fast(void *arg)
{
    softmax *s = (softmax *)arg;
    softmax_fast((float *)s->out.data, (const float *)s->in.data, s->in.rows, s->in.cols,
                 4 * lanes_of(s->ctx.isa, ATTN_F32));
}

static void run_memcpy(void *arg)
{
    softmax *s = (softmax *)arg;
    memcpy(s->out.data, s->in.data, s->in.rows * s->in.cols * sizeof(float));
}

static void bench_softmax(attn_isa isa, size_t rows, size_t cols)
{
    softmax s, on_two;
    contestant c[5];
    size_t i;

    memset(&s, 0, sizeof s);
    memset(c, 0, sizeof c);
    s.in = bench_matrix(ATTN_F32, rows, cols);
    s.out = bench_matrix(ATTN_F32, rows, cols);
    s.ctx.isa = isa;
    on_two = s;
    on_two.ctx.parallel = two_threads;
    for (i = 0; i < 5; i++) {
        c[i].arg = &s;
        c[i].work = 1;
    }
    c[0].run = run_softmax;
    c[1].run = run_memcpy;
    c[2].run = run_softmax_fast;
    c[3].run = run_softmax_plain;
    c[4].run = run_softmax;
    c[4].arg = &on_two;
    c[4].wall = 1;
    race(c, 5);

    printf("%7lu x %5lu%8s", (unsigned long)rows, (unsigned long)cols, attn_isa_string(isa));
    printf("%9.0f %%%9.2f x%9.2f x%9.2f x\n", 100 * ratio(&c[0], &c[1]), ratio(&c[0], &c[2]), ratio(&c[0], &c[3]),
           ratio(&c[4], &c[0]));
    fflush(stdout);
    free(s.in.data);
    free(s.out.data);
}

static void bench_softmaxes(void)
{
    size_t i;

    printf("\nsoftmax f32: speed relative to\n%15s%8s%11s%11s%11s%11s\n", "rows x cols", "", "memcpy", "libmvec",
           "plain C", "2 threads");
    for (i = 0; i < ISA_COUNT; i++)
        if (attn_isa_available(ISAS[i])) {
            bench_softmax(ISAS[i], 16, 1024);
            bench_softmax(ISAS[i], 1024, 1024);
            if (!is_quick())
                bench_softmax(ISAS[i], 64, 32768);
        }
}

int main(void)
{
    printf("Ratios of speeds, medians of %d rounds in which the contestants take turns, on one thread.\n", ROUNDS);
    require(attn_pool_new(&two_threads, 2) == ATTN_OK, "attn_pool_new");
    open_tsv();
    load_openblas();
    if (is_wanted("matmul")) {
        bench_matmuls(ATTN_F32, 0);
        bench_matmuls(ATTN_F32, 1);
        bench_matmuls(ATTN_F64, 0);
        bench_matmuls(ATTN_F64, 1);
    }
    if (is_wanted("x w^T"))
        bench_decoding();
    if (is_wanted("bf16"))
        bench_bf16();
    if (is_wanted("softmax"))
        bench_softmaxes();
    print_bars();
    close_tsv();
    attn_pool_free(&two_threads);
    return 0;
}
