/* Trials of calls that something is wrong with. */
#include "calls.h"
#include "grid.h"

#include <errno.h>

/* ---- faults ---- */

const char *const spoil_names[SPOILS] = {"absent",     "bad",      "data NULL", "I8",     "BOOL",   "unknown",
                                         "more batch", "more heads", "more len",  "more dim", "no len", "no dim",
                                         "stride",     "farther",  "misaligned", "no stride"};

void *askew(const void *p, size_t bytes)
{
    return (void *)((uintptr_t)p + bytes);
}

attn_status first_of(attn_status a, attn_status b)
{
    return test_rank(a) < test_rank(b) ? a : b;
}

void all_faults(const fault_row *faults, int count, void (*attempt)(int f, int g, attn_status want))
{
    for (int f = 0; f < count; f++)
        for (int g = f; g < count; g++) {
            if (g != f && faults[f].args & faults[g].args)
                continue;
            test_case("%s and %s", faults[f].name, faults[g].name);
            attempt(f, g, first_of(faults[f].want, faults[g].want));
        }
}

/* ---- tensors ---- */

attn_tensor tensor(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D)
{
    enum { ROOM = 64 };
    return attn_bhld(test_block(B * H * L * D * test_size(dtype) + ROOM), dtype, B, H, L, D);
}

attn_tensor filled(attn_dtype dtype, size_t B, size_t H, size_t L, size_t D)
{
    return test_random_tensor(dtype, B, H, L, D, T_BHLD);
}

size_t size_of(attn_tensor t)
{
    return t.batch * t.heads * t.len * t.dim;
}

attn_mat as_mat(attn_tensor t)
{
    attn_mat m = {NULL, t.dtype, t.len, t.dim, t.len_stride, t.dim_stride};
    m.data = t.data;
    return m;
}

attn_tensor of_mat(attn_mat m)
{
    attn_tensor t = {NULL, m.dtype, 1, 1, m.rows, m.cols, 0, 0, m.row_stride, m.col_stride}, none = {0};
    t.data = m.data;
    return test_absent_mat(m) ? none : t;
}

attn_tensor of_floats(const float *x, size_t count)
{
    attn_tensor none = {0};
    return x ? attn_bhld(x, ATTN_F32, 1, 1, 1, count) : none;
}

length_table lengths_of(size_t B, size_t most)
{
    length_table n;
    n.all = test_block(4 * (B + 1) * sizeof *n.all);
    n.long_by_one = n.all + B + 1;
    n.max = n.long_by_one + B + 1;
    for (size_t b = 0; b < B; b++) {
        n.all[b] = most;
        n.long_by_one[b] = most + (b + 1 == B);
        n.max[b] = b + 1 == B ? SIZE_MAX : 0;
    }
    return n;
}

/* ---- one call ---- */

uint64_t set_of(int arg)
{
    return (uint64_t)1 << arg;
}

attn_status make(const subject *u, int form, const void *call, char *text)
{
    attn_dry_run dry = {987654321, text, text ? TEXT : 0};
    int fails = test_memory_state.fail_all;
    attn_status status;
    test_memory_state.fail_all |= form == DRY; /* which may not allocate */
    status = u->ask(call, form == DRY ? &dry : NULL);
    test_memory_state.fail_all = fails;
    CHECK((form == DRY && status == ATTN_OK) == (dry.scratch != 987654321));
    return status;
}

size_t needed_by(const subject *u, const void *call)
{
    attn_dry_run dry = {0};
    CHECK_STATUS(u->ask(call, &dry), ATTN_OK);
    return dry.scratch;
}

const char *const form_names[FORMS] = {"", ", dry"};

static int names_one_of(const subject *u, const char *text, uint64_t names)
{
    for (int a = 0; a < u->arg_count; a++)
        if (names & set_of(a) && grid_names(text, u->args[a]))
            return 1;
    return !names;
}

static void check_failure(const subject *u, int form, const void *call, attn_status want, uint64_t names)
{
    char text[TEXT];
    memset(text, 'x', sizeof text);
    CHECK_STATUS(make(u, form, call, text), want);
    CHECK(test_wrote_nothing());
    if (form == DRY && CHECK(memchr(text, 0, TEXT) != NULL)) {
        if (!CHECK(strstr(text, ": ") && strchr(text, '\n') == text + strlen(text) - 1 && names_one_of(u, text, names)))
            printf("    it says: %s\n", text);
    }
}

/* ---- trials ---- */

/* A dry run needs neither memory nor data. */
static int concerns(const subject *u, int form, int fault, attn_status want)
{
    return want != ATTN_OK && (form == CALL || (want != ATTN_ERR_NOMEM && !strstr(u->name_of(fault), "NULL")));
}

static void *copy_of(const subject *u, const void *good)
{
    void *call = malloc(u->size);
    if (!call)
        exit(2);
    return memcpy(call, good, u->size);
}

void check_alone(const subject *u, const void *good, const char *where)
{
    for (int fault = 0; fault < u->faults; fault++)
        for (int form = 0; form < FORMS; form++) {
            void *call = copy_of(u, good);
            uint64_t names = 0;
            attn_status want = u->inflict(call, good, fault, &names);
            test_case("%s%s%s, %s: %s", u->name, form_names[form], where, u->args[u->arg_of(fault)], u->name_of(fault));
            if (concerns(u, form, fault, want))
                check_failure(u, form, call, want, names);
            free(call);
        }
}

/* In that form, or FORMS: in any. Of two of a kind the argument that stands further left is named, or either. */
static void check_pair(const subject *u, const void *good, int f, int g, int form, const char *where)
{
    int a = u->arg_of(f), b = u->arg_of(g);
    uint64_t names_f = 0, names_g = 0;
    void *call = copy_of(u, good);
    attn_status first = u->inflict(call, good, f, &names_f),
                second = first == ATTN_OK ? ATTN_OK : u->inflict(call, good, g, &names_g);
    if (second != ATTN_OK && form == FORMS)
        form = (int)test_below(FORMS);
    if (second != ATTN_OK && concerns(u, form, f, first) && concerns(u, form, g, second)) {
        int left = a <= u->left && first != ATTN_ERR_ALIAS && names_f == set_of(a) && names_g == set_of(b);
        test_case("%s%s%s, %s: %s; and %s: %s", u->name, form_names[form], where, u->args[a], u->name_of(f), u->args[b],
                  u->name_of(g));
        if (test_rank(first) == test_rank(second))
            check_failure(u, form, call, first, left ? names_f : names_f && names_g ? names_f | names_g : 0);
        else if (test_rank(first) < test_rank(second))
            check_failure(u, form, call, first, names_f);
        else
            check_failure(u, form, call, second, names_g);
    }
    free(call);
}

void check_pairs(const subject *u, const void *good, size_t one_in, const char *where)
{
    for (int f = 0; f < u->faults; f++)
        for (int g = f + 1; g < u->faults; g++) {
            int turned = u->arg_of(f) > u->arg_of(g);
            if (u->may_undo(f, g) || (one_in > 1 && test_below(one_in) != 0))
                continue;
            for (int form = one_in > 1 ? FORMS : 0; form < FORMS + (one_in > 1); form++)
                check_pair(u, good, turned ? g : f, turned ? f : g, form, where);
        }
}

void check_refused(const subject *u, const void *call, attn_status want)
{
    test_freeze();
    for (int form = 0; form < FORMS; form++)
        check_failure(u, form, call, want, 0);
}

void check_right(const subject *u, const void *good, const attn_tensor *outs, size_t count, const char *where)
{
    char text[TEXT];
    test_case("%s%s, as it should be", u->name, where);
    CHECK_STATUS(make(u, DRY, good, NULL), ATTN_OK);
    CHECK_STATUS(make(u, DRY, good, text), ATTN_OK);
    CHECK(test_wrote_nothing());
    CHECK_STATUS(make(u, CALL, good, NULL), ATTN_OK);
    CHECK(test_wrote_only_tensors(outs, count));
}

void check_cuts(const subject *u, const void *call, attn_status want)
{
    char whole[TEXT], text[TEXT + 8];
    memset(whole, 'x', sizeof whole);
    CHECK_STATUS(make(u, DRY, call, whole), want);
    if (!CHECK(memchr(whole, 0, TEXT) != NULL && strlen(whole) > 0))
        return;
    for (size_t size = 0; size <= strlen(whole) + 3; size++) {
        size_t length = size && size <= strlen(whole) ? size - 1 : strlen(whole);
        attn_dry_run dry = {0, text, size};
        memset(text, 0x55, sizeof text);
        CHECK_STATUS(u->ask(call, &dry), want);
        CHECK(size == 0 || (memcmp(text, whole, length) == 0 && text[length] == 0));
        for (size_t i = size; i < size + 8 && i < sizeof text; i++)
            CHECK(text[i] == 0x55);
    }
}

/* ---- memory ---- */

enum { MOST_OUTPUTS = 40 };

size_t check_scratch(const subject *u, const void *call, attn_ctx *ctx, const attn_tensor *outs, size_t count)
{
    size_t bytes = needed_by(u, call);
    long calls = test_memory_state.calls;
    test_scratch(ctx, bytes, 1);
    CHECK(bytes > 0 && needed_by(u, call) == bytes);
    test_freeze();
    CHECK_STATUS(make(u, CALL, call, NULL), ATTN_OK);
    CHECK(test_memory_state.calls == calls);
    CHECK(test_wrote_only_tensors(outs, count));
    for (size_t less = 1; less < bytes; less = less * 5 + 1) {
        ctx->scratch_size = bytes - less;
        test_freeze();
        check_failure(u, CALL, call, ATTN_ERR_NOMEM, 0);
        CHECK(needed_by(u, call) == bytes && test_wrote_nothing() && test_memory_state.calls == calls);
    }
    return bytes;
}

static void fill_all(const attn_tensor *outs, size_t count)
{
    for (size_t n = 0; n < count; n++)
        test_fill_tensor(outs[n], 99);
    test_freeze();
}

void check_allocations(const subject *u, const void *call, const attn_tensor *outs, size_t count)
{
    attn_tensor want[MOST_OUTPUTS];
    int spent = 0;
    CHECK_STATUS(make(u, CALL, call, NULL), ATTN_OK);
    for (size_t n = 0; n < count; n++)
        want[n] = test_tensor_like(outs[n], T_BHLD);
    for (int nth = 1; !spent && nth < 100; nth++) {
        long live = test_memory_state.live;
        attn_status status;
        int same = 1;
        fill_all(outs, count);
        test_memory_state.fail_at = nth;
        status = make(u, CALL, call, NULL);
        spent = test_memory_state.fail_at > 0;
        test_memory_state.fail_at = 0;
        for (size_t n = 0; n < count && status == ATTN_OK; n++)
            same &= test_same_tensor_bits(outs[n], want[n]);
        CHECK(status == ATTN_OK || status == ATTN_ERR_NOMEM);
        CHECK(status == ATTN_OK ? same : test_wrote_nothing());
        CHECK(test_memory_state.live == live);
    }
    CHECK(spent);
    fill_all(outs, count);
    test_memory_state.fail_all = 1;
    CHECK_STATUS(make(u, CALL, call, NULL), ATTN_ERR_NOMEM);
    test_memory_state.fail_all = 0;
    CHECK(test_wrote_nothing());
}

void check_run(const subject *u, const void *call, attn_ctx *ctx, const attn_tensor *outs, size_t count, int threads,
               size_t width, int scratch, int always)
{
    test_runner r = {0, 0, 0};
    long calls = test_memory_state.calls, live = test_memory_state.live;
    size_t bytes;
    ctx->parallel = threads ? test_threads(&r, width) : test_serial_backwards(&r, width);
    bytes = needed_by(u, call);
    CHECK(test_memory_state.calls == calls);
    if (scratch)
        test_scratch(ctx, bytes, 1);
    test_freeze();
    CHECK_STATUS(u->ask(call, NULL), ATTN_OK);
    CHECK(test_wrote_only_tensors(outs, count));
    CHECK(!scratch || test_scratch_kept(ctx));
    CHECK(r.most <= width);
    CHECK(test_memory_state.live == live);
    CHECK(test_memory_state.calls - calls <= !scratch);
    if (always || bytes > 16384)
        CHECK(test_memory_state.calls - calls == !scratch);
}

typedef struct asked {
    const subject *subject;
    const void *call;
    attn_status status;
} asked;

static void ask_it(void *arg)
{
    asked *a = arg;
    a->status = a->subject->ask(a->call, NULL);
}

void check_fences(const subject *u, const void *call)
{
    asked a = {u, call, ATTN_ERR_NULL};
    if (CHECK(test_keeps_off_fences(ask_it, &a)))
        CHECK_STATUS(a.status, ATTN_OK);
}

void check_errno(const subject *u, const void *call)
{
    char text[TEXT];
    errno = 7;
    CHECK_STATUS(make(u, CALL, call, NULL), ATTN_OK);
    CHECK(errno == 7);
    CHECK_STATUS(make(u, DRY, call, text), ATTN_OK);
    CHECK(errno == 7);
    test_memory_state.fail_all = 1;
    CHECK_STATUS(make(u, CALL, call, NULL), ATTN_ERR_NOMEM);
    test_memory_state.fail_all = 0;
    CHECK(errno == 7);
}
