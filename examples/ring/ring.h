/* ring.h: what 14_ring.c needs beside its logic: the command line, parts of a text with numbers to compute with, the
   comparison with one call, and the table of what each rank did. */
#ifndef RING_H
#define RING_H

#include "../models/program.h"
#include "../show.h"
#include <mpi.h>
#include <stdarg.h>

enum { RING, ULYSSES, DECODE };
static const char *const mode_names[] = {"ring", "ulysses", "decode"};

/* What the command line says: H heads of queries on Hkv heads of keys and values, all of D numbers. */
static struct settings {
    size_t mode, length, H, Hkv, D, window, tokens, threads, repeat;
    attn_dtype type;
    int windowed, full, in_order, unchecked;
} set;
static size_t rank, ranks;
static attn_ctx ctx;

/* What a pass cost this rank. Seconds of computing and merging are of processors, those of waiting are of the clock. */
typedef struct figures {
    double pairs, computing, merging, waiting, total, sent; /* pairs of query and key, for each head; bytes */
} figures;
enum { FIGURES = sizeof(figures) / sizeof(double) };
static figures passes[2], *now = passes; /* forward, backward; the one that runs */

/* ---- errors: one rank's end is the end of all ---- */

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "14_ring: rank %d: ", (int)rank);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* TRY(call); TIME(&now->computing, call): the same, and adds the processors' seconds that it took. */
#define TRY(call) check_status((show_forget(), call), #call)
#define TIME(seconds, call)                                                                                            \
    do {                                                                                                               \
        clock_t begin_ = clock();                                                                                      \
        TRY(call);                                                                                                     \
        *(seconds) += (double)(clock() - begin_) / CLOCKS_PER_SEC;                                                     \
    } while (0)

static void check_status(attn_status status, const char *call)
{
    const char *argument = show_fault.argument ? show_fault.argument : "";
    if (status != ATTN_OK)
        fail("%s: %s%s%s", call, argument, argument[0] ? ": " : "",
             show_fault.text[0] ? show_fault.text : attn_status_string(status));
}

/* ---- parts of the text ---- */

/* Positions first .. first + len - 1. Each tensor is 1 x heads x len x D, packed; those that a part does not need are
   absent. */
typedef struct part {
    size_t first, len;
    attn_tensor q, k, v, dout;        /* of the type that was asked for */
    attn_tensor out, lse, dq, dk, dv; /* float (or double, to compare with): they are still added to */
    int attended;                     /* whether out and lse hold something already */
} part;

static attn_tensor new_tensor(attn_dtype type, size_t heads, size_t len, size_t D)
{
    attn_mat rows = {0};
    if (heads == 0 || len <= SIZE_MAX / heads)
        rows = attn_mat_new(type, heads * len, D);
    if (rows.cols != D)
        fail("no memory for %.0f positions with %.0f heads of %.0f", (double)len, (double)heads, (double)D);
    return attn_bhld(rows.data, type, 1, heads, len, D);
}

/* For H = 0, keys and values without queries. */
static part new_part(size_t first, size_t len, size_t H, size_t Hkv, attn_dtype type, attn_dtype sums)
{
    part p = {0};
    p.first = first;
    p.len = len;
    p.k = new_tensor(type, Hkv, len, set.D);
    p.v = new_tensor(type, Hkv, len, set.D);
    p.dk = new_tensor(sums, Hkv, len, set.D);
    p.dv = new_tensor(sums, Hkv, len, set.D);
    if (H == 0)
        return p;
    p.q = new_tensor(type, H, len, set.D);
    p.dout = new_tensor(type, H, len, set.D);
    p.out = new_tensor(sums, H, len, set.D);
    p.lse = new_tensor(sums, H, len, 1);
    p.dq = new_tensor(sums, H, len, set.D);
    return p;
}

/* For sums of gradients alone. */
static part new_gradients(size_t first, size_t len, size_t Hkv)
{
    part p = {0};
    p.first = first;
    p.len = len;
    p.dk = new_tensor(ATTN_F32, Hkv, len, set.D);
    p.dv = new_tensor(ATTN_F32, Hkv, len, set.D);
    return p;
}

static void free_tensor(attn_tensor t)
{
    attn_mat rows = attn_mat_of(t.data, t.dtype, t.heads * t.len, t.dim);
    attn_mat_free(&rows);
}
static void free_part(part p)
{
    attn_tensor t[] = {p.q, p.k, p.v, p.dout, p.out, p.lse, p.dq, p.dk, p.dv};
    for (size_t n = 0; n < sizeof t / sizeof t[0]; n++)
        free_tensor(t[n]);
}

/* Numbers that depend on the position and the head alone: every rank can make those of any part. Row i of the part is
   that of position first + i * step. */
static void fill(part *p, size_t step)
{
    attn_tensor t[] = {p->q, p->k, p->v, p->dout};
    for (size_t n = 0; n < 4; n++)
        for (size_t i = 0; i < t[n].len; i++)
            for (size_t h = 0; h < t[n].heads; h++) {
                uint64_t row = ((p->first + i * step) * 4 + n) << 16 | h;
                double size = n == 0 ? 2 : 1;
                show_random(attn_mat_rows(attn_head(t[n], 0, h), i, 1), row * 0xd1342543de82ef95ULL, -size, size);
            }
}

static attn_tensor heads_of(attn_tensor t, size_t first, size_t count)
{
    t.data = attn_head(t, 0, first).data;
    t.heads = count;
    return t;
}

static attn_tensor block_of(attn_tensor t, size_t first_head, size_t heads, size_t first, size_t len)
{
    return attn_tensor_slice(heads_of(t, first_head, heads), first, len);
}

/* Some heads of a part's queries at some of its positions, and what belongs to them. */
static part queries_of(const part *p, size_t first_head, size_t heads, size_t first, size_t len)
{
    part some = {0};
    some.first = p->first + first;
    some.len = len;
    some.q = block_of(p->q, first_head, heads, first, len);
    some.dout = block_of(p->dout, first_head, heads, first, len);
    some.out = block_of(p->out, first_head, heads, first, len);
    some.lse = block_of(p->lse, first_head, heads, first, len);
    some.dq = block_of(p->dq, first_head, heads, first, len);
    return some;
}

/* Of floats: t = 0; to += from. */
static void clear(attn_tensor t)
{
    for (size_t h = 0; h < t.heads && t.len > 0; h++)
        memset(attn_head(t, 0, h).data, 0, t.len * t.dim * sizeof(float));
}
static void add(attn_tensor to, attn_tensor from)
{
    for (size_t h = 0; h < to.heads; h++) {
        float *x = (float *)attn_head(to, 0, h).data;
        const float *y = (const float *)attn_head(from, 0, h).data;
        for (size_t n = 0; n < to.len * to.dim; n++)
            x[n] += y[n];
    }
}

/* Where part n of a text begins that is cut into as many as equal parts as it allows. */
static size_t start(size_t n, size_t parts, size_t length)
{
    return n * (length / parts) + (n < length % parts ? n : length % parts);
}

/* Query i sees keys first_key(i) to last_key(i). */
static size_t first_key(size_t i)
{
    return set.windowed && i > set.window ? i - set.window : 0;
}
static size_t last_key(size_t i)
{
    size_t end = set.length + (set.mode == DECODE ? set.tokens : 0) - 1;
    return !set.full ? i : set.windowed && set.window < end - i ? i + set.window : end;
}

/* How many pairs of a query and a key that it sees there are between two parts. */
static double pairs(const part *queries, const part *keys)
{
    double count = 0;
    for (size_t i = queries->first; i < queries->first + queries->len; i++) {
        size_t first = first_key(i) > keys->first ? first_key(i) : keys->first;
        size_t end = last_key(i) + 1 < keys->first + keys->len ? last_key(i) + 1 : keys->first + keys->len;
        count += end > first ? (double)(end - first) : 0;
    }
    return count;
}

/* The rule for queries that stand `offset` positions behind the keys. */
static attn_opts visibility(const ptrdiff_t *offset)
{
    attn_opts opts = {0};
    opts.causal = set.full ? ATTN_CAUSAL_NONE : ATTN_CAUSAL_OFFSET;
    opts.causal_offset = offset;
    opts.window.on = set.windowed;
    opts.window.left = opts.window.right = (ptrdiff_t)set.window;
    return opts;
}

/* ---- against one call ---- */

static void one_call(part *p, int backward)
{
    ptrdiff_t offset = 0;
    attn_opts opts = visibility(&offset);
    attn_grads grads = {0};
    opts.lse = p->lse;
    grads.q = p->dq, grads.k = p->dk, grads.v = p->dv;
    TRY(attn_sdpa(p->out, p->q, p->k, p->v, &opts, &ctx));
    if (backward)
        TRY(attn_sdpa_backward(&grads, p->dout, p->q, p->k, p->v, p->out, p->lse, &opts, &ctx));
}

/* The bound that NUMERICS of attn.h states for the output of query i of head h, dim d; and as reckoned here what each
   merge adds, where out and lse of both sides have been rounded. */
static void bounds(double *bound, const part *exact, size_t i, size_t h, size_t merges)
{
    size_t D = set.D, kv = h / (set.H / set.Hkv), first = first_key(i), end = last_key(i) + 1;
    const double *q = (const double *)attn_head(exact->q, 0, h).data + i * D;
    double u = ldexp(1, -24), A = 0, n = (double)(end - first), lse = attn_mat_get(attn_head(exact->lse, 0, h), i, 0);
    for (size_t d = 0; d < D; d++)
        bound[d] = 0;
    for (size_t j = first; j < end; j++) {
        const double *k = (const double *)attn_head(exact->k, 0, kv).data + j * D;
        const double *v = (const double *)attn_head(exact->v, 0, kv).data + j * D;
        double sum = 0;
        for (size_t d = 0; d < D; d++) {
            sum += fabs(q[d] * k[d]);
            bound[d] = fmax(bound[d], fabs(v[d]));
        }
        A = fmax(A, sum / sqrt((double)D));
    }
    for (size_t d = 0; d < D; d++)
        bound[d] *= u * (((double)D + 20) * (1 + A) + fmin(2 * n, 512 + n / 512) + (double)merges * (2 + fabs(lse))) +
                    (set.type == ATTN_BF16 && attn_isa_available(ATTN_ISA_AVX512BF16) ? 1.0 / 256 : 0);
}

enum { OUT, LSE, DQ, DK, DV, RESULTS };
static const char *const result_names[] = {"out", "lse", "dq", "dk", "dv"};
static attn_tensor result_of(const part *p, int n)
{
    attn_tensor t[] = {p->out, p->lse, p->dq, p->dk, p->dv};
    return t[n];
}

/* Sums of squares, and the largest error and bound; `equal` of `rows` have the bits of one call. */
typedef struct errors {
    double squares, squares_of_one, squares_of_exact, count, equal, rows; /* added over the ranks */
    double largest, largest_of_one, share_of_bound;                       /* the largest of all ranks */
} errors;

static void compare(errors *e, const part *p, const part *one, const part *exact, int n, size_t merges)
{
    attn_tensor got = result_of(p, n), single = result_of(one, n), right = result_of(exact, n);
    double *bound = (double *)malloc(set.D * sizeof *bound);
    if (!bound)
        fail("no memory");
    for (size_t h = 0; h < got.heads; h++)
        for (size_t r = 0; r < got.len; r++) {
            size_t i = p->first + r;
            int equal = 1;
            if (n == OUT)
                bounds(bound, exact, i, h, merges);
            for (size_t d = 0; d < got.dim; d++) {
                double x = attn_mat_get(attn_head(got, 0, h), r, d), y = attn_mat_get(attn_head(single, 0, h), i, d);
                double z = attn_mat_get(attn_head(right, 0, h), i, d), error = fabs(x - z);
                equal &= x == y;
                e->squares += error * error;
                e->squares_of_one += (y - z) * (y - z);
                e->squares_of_exact += z * z;
                e->count++;
                e->largest = fmax(e->largest, error);
                e->largest_of_one = fmax(e->largest_of_one, fabs(y - z));
                if (n == OUT)
                    e->share_of_bound = fmax(e->share_of_bound, error / bound[d]);
                if (!(error < 1e30))
                    e->largest = e->share_of_bound = 1e30; /* NaN, which fmax passes over */
            }
            e->rows++;
            e->equal += equal;
        }
    free(bound);
}

/* Decoding: every rank goes on with the same bits. */
static int same_everywhere(const part *p)
{
    attn_tensor results[] = {p->out, p->lse};
    int same = 1, all;
    for (size_t n = 0; n < 2; n++) {
        size_t count = p->len * results[n].dim; /* of a head; the command line keeps it below INT_MAX */
        attn_tensor first = new_tensor(ATTN_F32, 1, p->len, results[n].dim);
        for (size_t h = 0; h < results[n].heads; h++) {
            const void *mine = attn_head(results[n], 0, h).data;
            memcpy(first.data, mine, count * sizeof(float));
            MPI_Bcast(first.data, (int)count, MPI_FLOAT, 0, MPI_COMM_WORLD);
            same &= memcmp(first.data, mine, count * sizeof(float)) == 0;
        }
        free_tensor(first);
    }
    MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        puts(all ? "every rank has the same bits" : "OTHER BITS on some ranks");
    return all;
}

/* Compares the results of all ranks with one call over the whole text, of the same type and in double. Their RMS error
   may be twice that of the call (of gradients: three times), and 4 ulp of the RMS of the result; the largest error four
   times that of the call, and 16 ulp. Returns whether all is well. */
static int check(const part *parts, size_t count, size_t merges)
{
    int backward = set.mode != DECODE, good = 1;
    size_t length = set.length + (set.mode == DECODE ? set.tokens : 0);
    part one = new_part(0, length, set.H, set.Hkv, set.type, ATTN_F32);
    part exact = new_part(0, length, set.H, set.Hkv, ATTN_F64, ATTN_F64);
    attn_tensor from[] = {one.q, one.k, one.v, one.dout}, to[] = {exact.q, exact.k, exact.v, exact.dout};
    fill(&one, 1);
    for (size_t n = 0; n < 4; n++)
        for (size_t h = 0; h < from[n].heads; h++)
            TRY(attn_mat_copy(attn_head(to[n], 0, h), attn_head(from[n], 0, h)));
    one_call(&one, backward);
    one_call(&exact, backward);
    if (set.mode == DECODE)
        good = same_everywhere(&parts[0]);
    if (rank == 0)
        puts("      RMS error  of one call  largest error  of one call  of its bound  rows of equal bits");
    for (int n = 0; n < (backward ? RESULTS : DQ); n++) {
        errors mine = {0, 0, 0, 0, 0, 0, 0, 0, 0}, all;
        for (size_t c = 0; c < count; c++)
            compare(&mine, &parts[c], &one, &exact, n, merges);
        MPI_Allreduce(&mine.squares, &all.squares, 6, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&mine.largest, &all.largest, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        double rms = sqrt(all.squares / all.count), rms_of_one = sqrt(all.squares_of_one / all.count);
        double ulp = ldexp(1, -23) * sqrt(all.squares_of_exact / all.count), factor = n < DQ ? 2 : 3;
        int well = rms <= factor * rms_of_one + 4 * ulp && all.largest <= 4 * all.largest_of_one + 16 * ulp &&
                   all.share_of_bound <= 1;
        good &= well;
        if (rank == 0) {
            printf("%-4s %10.2e %12.2e %14.2e %12.2e", result_names[n], rms, rms_of_one, all.largest,
                   all.largest_of_one);
            if (n == OUT)
                printf(" %13.3f", all.share_of_bound);
            printf("%*.0f of %.0f%s\n", n == OUT ? 10 : 24, all.equal, all.rows, well ? "" : "   FAIL");
        }
    }
    free_part(one);
    free_part(exact);
    return good;
}

/* ---- what each rank did ---- */

static double slowest(const figures *all, size_t member, double *mean)
{
    double most = 0, sum = 0;
    for (size_t r = 0; r < ranks; r++) {
        double x = ((const double *)&all[r])[member];
        most = fmax(most, x);
        sum += x;
    }
    *mean = sum / (double)ranks;
    return *mean > 0 ? most / *mean : 1;
}

static void report(void)
{
    static const char *const names[] = {"forward", "backward"};
    figures *all = (figures *)malloc(ranks * sizeof *all);
    if (!all)
        fail("no memory");
    for (int pass = 0; pass < (set.mode == DECODE ? 1 : 2); pass++) {
        double pairs_mean, computing_mean, merging_mean, waiting_mean, total_mean, sent_mean;
        MPI_Gather(&passes[pass], FIGURES, MPI_DOUBLE, all, FIGURES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank > 0)
            continue;
        printf("\n%-8s  pairs, millions  computing ms  merging ms  waiting ms  in all ms      sent kB\n", names[pass]);
        for (size_t r = 0; r < ranks; r++)
            printf("rank %-4d %17.3f %13.2f %11.2f %11.2f %10.2f %12.1f\n", (int)r, all[r].pairs / 1e6,
                   all[r].computing * 1e3, all[r].merging * 1e3, all[r].waiting * 1e3, all[r].total * 1e3,
                   all[r].sent / 1e3);
        printf("slowest / mean: %.3f of pairs", slowest(all, 0, &pairs_mean));
        printf(", %.3f of computing", slowest(all, 1, &computing_mean));
        slowest(all, 2, &merging_mean);
        slowest(all, 3, &waiting_mean);
        slowest(all, 4, &total_mean);
        slowest(all, 5, &sent_mean);
        printf("; %.2f billion pairs in a processor's second\n", pairs_mean / computing_mean / 1e9);
        printf("merging %.2f %% of computing and merging, waiting %.2f %% of the time\n",
               100 * merging_mean / (computing_mean + merging_mean), 100 * waiting_mean / total_mean);
    }
    free(all);
}

/* ---- the command line ---- */

static const char usage[] =
    "usage: mpirun -n RANKS 14_ring [options] ring|ulysses|decode\n"
    "  --length N      positions of the text (1000); for decode those before the first new token\n"
    "  --heads N       heads of queries (8); for ulysses a multiple of the number of ranks\n"
    "  --kv-heads N    heads of keys and values (2), of which the heads of queries are a multiple\n"
    "  --size N        numbers of a head (64)\n"
    "  --type T        of queries, keys and values: f32, f16 or bf16 (f32); sums and gradients are f32\n"
    "  --window N      a query sees N keys before its own, and with --full N after it\n"
    "  --full          not causal\n"
    "  --tokens N      decode: new tokens (8)\n"
    "  --in-order      ring: rank r owns chunks 2r and 2r + 1, to see what the zigzag is for\n"
    "  --threads N     of each rank (1)\n"
    "  --repeat N      measures so many more passes, in the place of the first\n"
    "  --no-check      does not compute the whole text on each rank, to compare\n";

/* Returns 0 or the exit status, and has said what is wrong. */
static int read_settings(int argc, char **argv, int *help)
{
    static const char *const types[] = {"f32", "", "f16", "bf16"}; /* as attn_dtype has them */
    const char *type = "f32";
    const size_t none = (size_t)-1, most = 1000000000;
    const program_option table[] = {{"--length", PROGRAM_SIZE, &set.length, 1, most},
                                    {"--heads", PROGRAM_SIZE, &set.H, 1, 1024},
                                    {"--kv-heads", PROGRAM_SIZE, &set.Hkv, 1, 1024},
                                    {"--size", PROGRAM_SIZE, &set.D, 1, 4096},
                                    {"--type", PROGRAM_TEXT, &type, 0, 0},
                                    {"--window", PROGRAM_SIZE, &set.window, 0, most},
                                    {"--full", PROGRAM_FLAG, &set.full, 0, 0},
                                    {"--tokens", PROGRAM_SIZE, &set.tokens, 1, 100000},
                                    {"--in-order", PROGRAM_FLAG, &set.in_order, 0, 0},
                                    {"--threads", PROGRAM_SIZE, &set.threads, 1, 1024},
                                    {"--repeat", PROGRAM_SIZE, &set.repeat, 0, 1000000},
                                    {"--no-check", PROGRAM_FLAG, &set.unchecked, 0, 0},
                                    {"--help", PROGRAM_HELP, help, 0, 0}};
    int operands, status;
    char text[100];
    set.length = 1000, set.H = 8, set.Hkv = 2, set.D = 64, set.tokens = 8, set.threads = 1, set.window = none;
    status = program_options(table, sizeof table / sizeof *table, argc, argv, &operands);
    if (status != 0 || *help)
        return status;
    if (operands != 1)
        return program_wrong("one of ring, ulysses, decode is wanted", NULL, NULL);
    while (set.mode <= DECODE && strcmp(argv[0], mode_names[set.mode]) != 0)
        set.mode++;
    if (set.mode > DECODE)
        return program_wrong("there is no way", argv[0], ": ring, ulysses, decode");
    while (set.type <= ATTN_BF16 && strcmp(type, types[set.type]) != 0)
        set.type = (attn_dtype)(set.type + 1);
    if (set.type > ATTN_BF16 || !*type)
        return program_wrong("--type:", type, " is not f32, f16 or bf16");
    set.windowed = set.window != none;
    snprintf(text, sizeof text, "%d heads of queries are no multiple of %d of keys", (int)set.H, (int)set.Hkv);
    if (set.H % set.Hkv != 0)
        return program_wrong(text, NULL, NULL);
    snprintf(text, sizeof text, "ulysses: %d heads of queries are no multiple of %d ranks", (int)set.H, (int)ranks);
    if (set.mode == ULYSSES && set.H % ranks != 0)
        return program_wrong(text, NULL, NULL);
    if (set.mode == DECODE && set.full)
        return program_wrong("--full: decode cannot see tokens to come", NULL, NULL);
    return 0;
}

/* Rank 0 reads the command line, for all. */
static int begin_program(int *argc, char ***argv, int *help)
{
    int number, count, provided, status = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided); /* the threads of a rank compute, but call no MPI */
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    rank = (size_t)number;
    ranks = (size_t)count;
    program_begin("14_ring");
    ctx = show_ctx;
    *help = 0;
    if (rank == 0)
        status = read_settings(*argc, *argv, help);
    if (rank == 0 && status == 0 && set.threads > 1 && provided < MPI_THREAD_FUNNELED)
        status = program_wrong("--threads: this MPI wants ranks of one thread", NULL, NULL);
    if (rank == 0 && *help)
        fputs(usage, stdout);
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(help, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&set, sizeof set, MPI_BYTE, 0, MPI_COMM_WORLD);
    return status;
}

#endif
