/* One text over many machines: attention over the ranks of an MPI program, each of which holds a part of the text, in
   three ways. Each rank compares what it gets with one call over the whole text, and says what it did.

       mpicc -O2 -o 14_ring 14_ring.c -lm -lpthread
       mpirun -n 4 ./14_ring ring                       keys and values go round; forward and backward
       mpirun -n 4 ./14_ring ulysses --length 4096      heads change places with positions; forward and backward
       mpirun -n 4 ./14_ring decode --tokens 16         each rank holds a part of the cache; token after token

   Exit status: 0; 1 when a result is outside its bounds, or when a rank fails, which ends all of them; 2 when the
   command line is wrong, or so many ranks cannot share the work. */
#define _DEFAULT_SOURCE 1 /* for models/program.h, with -std=c99 */
#define ATTN_THREADS
#define ATTN_IMPLEMENTATION
#include "../attn.h"
#include "ring/ring.h"
#include <limits.h>

/* ---- messages ---- */

/* What is under way. */
typedef struct mail {
    MPI_Request *requests;
    int count, room;
} mail;

/* Sends a tensor, which may be some heads or positions of a larger one, or receives it. One of no positions is not sent:
   both sides know that. */
static void post(mail *m, attn_tensor t, size_t peer, int tag, int sends)
{
    MPI_Datatype element = t.dtype == ATTN_F32 ? MPI_FLOAT : MPI_UINT16_T, head, all;
    MPI_Aint size = t.dtype == ATTN_F32 ? 4 : 2;
    if (t.len == 0)
        return;
    if (t.len * t.dim > INT_MAX)
        fail("a message of %.0f positions of %.0f numbers is more than MPI takes", (double)t.len, (double)t.dim);
    if (m->count == m->room) {
        m->room = 2 * m->room + 16;
        m->requests = (MPI_Request *)realloc(m->requests, (size_t)m->room * sizeof *m->requests);
        if (!m->requests)
            fail("no memory for %d messages", m->room);
    }
    MPI_Type_contiguous((int)(t.len * t.dim), element, &head);
    MPI_Type_create_hvector((int)t.heads, 1, t.head_stride * size, head, &all);
    MPI_Type_commit(&all);
    if (sends)
        MPI_Isend(t.data, 1, all, (int)peer, tag, MPI_COMM_WORLD, &m->requests[m->count++]);
    else
        MPI_Irecv(t.data, 1, all, (int)peer, tag, MPI_COMM_WORLD, &m->requests[m->count++]);
    MPI_Type_free(&head);
    MPI_Type_free(&all); /* when the message is through */
    if (sends && peer != rank)
        now->sent += (double)(t.len * t.heads * t.dim) * (double)size;
}

static void wait_for(mail *m)
{
    double begin = MPI_Wtime();
    MPI_Waitall(m->count, m->requests, MPI_STATUSES_IGNORE);
    now->waiting += MPI_Wtime() - begin;
    m->count = 0;
}

/* ---- attention, while messages are under way ----

   Of the queries so many at a time that MPI is called now and then: mostly it moves messages only while it is called. */

enum { PAIRS = 1 << 22, LEAST = 64 };

static attn_tensor room_out, room_lse; /* for a result that is to be merged */

static size_t some_queries(size_t queries, size_t keys)
{
    size_t most = keys < PAIRS / LEAST ? PAIRS / (keys + 1) : LEAST;
    return queries < most ? queries : most;
}

static void move_messages(void)
{
    int arrived;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
}

/* Of the queries p against k and v: what out and lse hold of other keys, if there is any, takes the result in. */
static void attend_some(const part *p, attn_tensor k, attn_tensor v, attn_opts opts, int merges)
{
    attn_tensor out = merges ? block_of(room_out, 0, p->q.heads, 0, p->len) : p->out;
    opts.lse = merges ? block_of(room_lse, 0, p->q.heads, 0, p->len) : p->lse;
    TIME(&now->computing, attn_sdpa(out, p->q, k, v, &opts, &ctx));
    if (merges)
        TIME(&now->merging, attn_merge_ctx(p->out, p->lse, out, opts.lse, &ctx));
}

/* A part's queries against the keys of this or another one. On the way back out and lse are those of all keys, so that
   each pair of parts gives a part of the gradients of both, which are added to what there is. */
static void attend(const part *mine, const part *theirs, int backward)
{
    size_t group = mine->q.heads / theirs->k.heads, count;
    for (size_t h = 0; h < theirs->k.heads; h++)
        for (size_t i = 0; i < mine->len; i += count) {
            ptrdiff_t offset = (ptrdiff_t)(mine->first + i) - (ptrdiff_t)theirs->first;
            attn_opts opts = visibility(&offset);
            part p = queries_of(mine, h * group, group, i, count = some_queries(mine->len - i, theirs->len));
            attn_tensor k = heads_of(theirs->k, h, 1), v = heads_of(theirs->v, h, 1);
            attn_grads grads = {0};
            if (backward) {
                grads.q = p.dq, grads.k = heads_of(theirs->dk, h, 1), grads.v = heads_of(theirs->dv, h, 1);
                grads.accumulate = 1;
                TIME(&now->computing, attn_sdpa_backward(&grads, p.dout, p.q, k, v, p.out, p.lse, &opts, &ctx));
            } else {
                attend_some(&p, k, v, opts, mine->attended);
            }
            move_messages();
        }
    now->pairs += pairs(mine, theirs) * (double)mine->q.heads;
}

/* ---- ring ----

   The text is cut into 2W chunks, of which rank r owns numbers r and 2W - 1 - r: a zigzag, with which every rank has
   equally much to do at each step of causal attention. The ranks go round: at step s rank r computes what its queries
   see of the keys of rank r - s, merges that with what it has, and meanwhile receives the next. On the way back the
   gradients of keys travel to their owner in the same manner, one step behind.
   Chunks come from their owner, not from hand to hand: each goes to those ranks alone that have queries which see it.
                                                                                  Liu 2023, arXiv 2310.01889 */

static size_t chunk_of(size_t owner, size_t b)
{
    return set.in_order ? 2 * owner + b : b ? 2 * ranks - 1 - owner : owner;
}

static int sees(size_t queries, size_t keys) /* chunks */
{
    size_t q = start(queries, 2 * ranks, set.length), q_end = start(queries + 1, 2 * ranks, set.length);
    size_t k = start(keys, 2 * ranks, set.length), k_end = start(keys + 1, 2 * ranks, set.length);
    return q < q_end && k < k_end && k <= last_key(q_end - 1) && first_key(q) < k_end;
}

static int needs(size_t who, size_t keys)
{
    return sees(chunk_of(who, 0), keys) || sees(chunk_of(who, 1), keys);
}

/* Step s: this rank's keys go to rank + s, those of rank - s come. Their gradients go the opposite way. */
static void post_keys(mail *m, const part own[2], part theirs[2], size_t s)
{
    size_t to = (rank + s) % ranks, from = (rank + ranks - s) % ranks;
    for (size_t b = 0; b < 2; b++) {
        size_t chunk = chunk_of(from, b);
        theirs[b].first = start(chunk, 2 * ranks, set.length);
        theirs[b].len = start(chunk + 1, 2 * ranks, set.length) - theirs[b].first;
        theirs[b].k.len = theirs[b].v.len = theirs[b].dk.len = theirs[b].dv.len = theirs[b].len;
        if (needs(rank, chunk)) {
            post(m, theirs[b].k, from, 0, 0);
            post(m, theirs[b].v, from, 0, 0);
        }
        if (needs(to, chunk_of(rank, b))) {
            post(m, own[b].k, to, 0, 1);
            post(m, own[b].v, to, 0, 1);
        }
    }
}
static void post_gradients(mail *m, const part theirs[2], const part back[2], size_t s)
{
    size_t to = (rank + ranks - s) % ranks, from = (rank + s) % ranks;
    for (size_t b = 0; b < 2; b++) {
        if (needs(from, chunk_of(rank, b))) {
            post(m, back[b].dk, from, 1, 0);
            post(m, back[b].dv, from, 1, 0);
        }
        if (needs(rank, chunk_of(to, b))) {
            post(m, theirs[b].dk, to, 1, 1);
            post(m, theirs[b].dv, to, 1, 1);
        }
    }
}
static void take_gradients(part own[2], const part back[2], size_t s)
{
    for (size_t b = 0; b < 2; b++)
        if (needs((rank + s) % ranks, chunk_of(rank, b))) {
            add(own[b].dk, back[b].dk);
            add(own[b].dv, back[b].dv);
        }
}

static part chunks[2], others[2][2], returned[2]; /* own; of this step and the next; what others say of own keys */

static void begin_ring(void)
{
    size_t longest = start(1, 2 * ranks, set.length), first, end;
    for (size_t b = 0; b < 2; b++) {
        first = start(chunk_of(rank, b), 2 * ranks, set.length);
        end = start(chunk_of(rank, b) + 1, 2 * ranks, set.length);
        chunks[b] = new_part(first, end - first, set.H, set.Hkv, set.type, ATTN_F32);
        returned[b] = new_gradients(first, end - first, set.Hkv);
        others[0][b] = new_part(0, longest, 0, set.Hkv, set.type, ATTN_F32);
        others[1][b] = new_part(0, longest, 0, set.Hkv, set.type, ATTN_F32);
    }
    fill(&chunks[0], 1);
    fill(&chunks[1], 1);
    room_out = new_tensor(ATTN_F32, set.H / set.Hkv, longest, set.D);
    room_lse = new_tensor(ATTN_F32, set.H / set.Hkv, longest, 1);
}

static void ring(int backward)
{
    static mail m;
    for (size_t b = 0; b < 2; b++) {
        chunks[b].attended = 0;
        clear(chunks[b].dq);
        clear(chunks[b].dk);
        clear(chunks[b].dv);
    }
    for (size_t s = 0; s < ranks + (size_t)backward; s++) {
        part *theirs = s % ranks == 0 ? chunks : others[s % 2];
        if (backward && s > 1)
            post_gradients(&m, others[(s - 1) % 2], returned, s - 1);
        if (s + 1 < ranks)
            post_keys(&m, chunks, others[(s + 1) % 2], s + 1);
        for (size_t b = 0; b < 2; b++) {
            if (backward && theirs == chunks && b != (s > 0))
                continue; /* of own keys the second chunk comes last, while the last gradients are on their way */
            if (backward && theirs != chunks) {
                clear(theirs[b].dk);
                clear(theirs[b].dv);
            }
            for (size_t a = 0; a < 2; a++) {
                if (!sees(chunk_of(rank, a), chunk_of((rank + 2 * ranks - s) % ranks, b)))
                    continue;
                attend(&chunks[a], &theirs[b], backward);
                chunks[a].attended = 1;
            }
        }
        wait_for(&m);
        if (backward && s > 1)
            take_gradients(chunks, returned, s - 1);
    }
}

/* ---- Ulysses ----

   Rank r owns a W-th of the positions, and computes H / W of the heads, for which it gets all positions. A head of keys
   goes to each rank that computes one of the heads of queries on it: with fewer of them than ranks, to several. All
   messages are posted at once; a head of keys is computed when it is there, while the others are on their way.
                                                                              Jacobs 2023, arXiv 2309.14509 */

static part here, everywhere; /* own positions, of all heads; own heads, at all positions */

/* The first of the heads that rank r computes, for queries and for keys; and those that are on head h of keys. */
static size_t first_q(size_t r)
{
    return r * (set.H / ranks);
}
static size_t first_k(size_t r)
{
    return first_q(r) * set.Hkv / set.H;
}
static size_t end_k(size_t r)
{
    return (first_q(r + 1) - 1) * set.Hkv / set.H + 1;
}
static attn_tensor on_head(attn_tensor t, size_t first_head, size_t r, size_t h)
{
    size_t group = set.H / set.Hkv, first = h * group, end = first + group;
    if (first < first_q(r))
        first = first_q(r);
    if (end > first_q(r + 1))
        end = first_q(r + 1);
    return heads_of(t, first - first_head, end - first);
}

/* What each rank says of the gradients of own keys, for the heads that it computes. */
static part *said;

static void begin_ulysses(void)
{
    size_t first = start(rank, ranks, set.length), len = start(rank + 1, ranks, set.length) - first;
    here = new_part(first, len, set.H, set.Hkv, set.type, ATTN_F32);
    fill(&here, 1);
    everywhere = new_part(0, set.length, set.H / ranks, end_k(rank) - first_k(rank), set.type, ATTN_F32);
    said = (part *)malloc(ranks * sizeof *said);
    if (!said)
        fail("no memory for %d ranks", (int)ranks);
    for (size_t r = 0; r < ranks; r++)
        said[r] = new_gradients(first, len, end_k(r) - first_k(r));
}

/* What a head of keys takes (results 0), or what comes of it (1), on the way there or back: returns how many tensors,
   of which the first *queries are those of queries. */
static size_t travellers(attn_tensor t[3], size_t *queries, const part *p, int backward, int results)
{
    attn_tensor all[2][2][3] = {{{p->q, p->k, p->v}, {p->out, p->lse}}, {{p->dout}, {p->dq, p->dk, p->dv}}};
    static const size_t counts[2][2] = {{3, 2}, {1, 3}};
    memcpy(t, all[backward][results], sizeof all[backward][results]);
    *queries = !backward && results ? 2 : 1;
    return counts[backward][results];
}

/* As the owner of positions: sends rank r what its head h of keys takes, or is ready for what comes of it. */
static void post_as_owner(mail *m, size_t r, size_t h, int backward, int results)
{
    attn_tensor t[3];
    part p = here;
    p.dk = said[r].dk, p.dv = said[r].dv; /* which begin with that rank's first head */
    for (size_t n = 0, queries, count = travellers(t, &queries, &p, backward, results); n < count; n++)
        post(m, n < queries ? on_head(t[n], 0, r, h) : heads_of(t[n], results ? h - first_k(r) : h, 1), r, results,
             !results);
}

/* As the one who computes head h of keys: the other side, of the positions that rank r owns. */
static void post_as_computer(mail *m, size_t r, size_t h, int backward, int results)
{
    attn_tensor t[3];
    size_t first = start(r, ranks, set.length), len = start(r + 1, ranks, set.length) - first;
    for (size_t n = 0, queries, count = travellers(t, &queries, &everywhere, backward, results); n < count; n++) {
        attn_tensor all = n < queries ? on_head(t[n], first_q(rank), rank, h) : heads_of(t[n], h - first_k(rank), 1);
        post(m, attn_tensor_slice(all, first, len), r, results, results);
    }
}

static void attend_head(size_t h, int backward)
{
    size_t first = first_q(rank), at = h - first_k(rank);
    part p = everywhere; /* of that, head h of keys and the queries on it */
    attn_tensor *queries[] = {&p.q, &p.dout, &p.out, &p.lse, &p.dq}, *keys[] = {&p.k, &p.v, &p.dk, &p.dv};
    for (size_t n = 0; n < 5; n++)
        *queries[n] = on_head(*queries[n], first, rank, h);
    for (size_t n = 0; n < 4; n++)
        *keys[n] = heads_of(*keys[n], at, 1);
    if (backward) {
        clear(p.dq);
        clear(p.dk);
        clear(p.dv);
    }
    attend(&p, &p, backward);
}

static void ulysses(int backward)
{
    static mail m, *arrivals;
    size_t first = first_k(rank), end = end_k(rank);
    arrivals = (mail *)calloc(end - first, sizeof *arrivals);
    if (!arrivals)
        fail("no memory for %d heads", (int)(end - first));
    for (size_t n = 0; n < set.H / ranks; n++) /* the first head of each rank comes first */
        for (size_t s = 0; s < ranks; s++) {
            size_t to = (rank + s) % ranks, from = (rank + ranks - s) % ranks;
            if (first + n < end)
                post_as_computer(&arrivals[n], from, first + n, backward, 0);
            for (int results = 0; results < 2 && first_k(to) + n < end_k(to); results++)
                post_as_owner(&m, to, first_k(to) + n, backward, results);
        }
    for (size_t h = first; h < end; h++) {
        wait_for(&arrivals[h - first]);
        free(arrivals[h - first].requests);
        attend_head(h, backward);
        for (size_t s = 0; s < ranks; s++)
            post_as_computer(&m, (rank + s) % ranks, h, backward, 1);
    }
    free(arrivals);
    wait_for(&m);
    if (!backward)
        return;
    clear(here.dk);
    clear(here.dv);
    for (size_t r = 0; r < ranks; r++) {
        add(heads_of(here.dk, first_k(r), end_k(r) - first_k(r)), said[r].dk);
        add(heads_of(here.dv, first_k(r), end_k(r) - first_k(r)), said[r].dv);
    }
}

/* ---- decode ----

   Token t is kept by rank t % W: however long the text grows, no cache is longer than another by more than a token.
   Each rank attends to its own; a rank's result is a row for each head, out and lse, and the rows of all ranks are
   reduced by attn_merge. That operation is said not to commute: MPI then keeps the order of the ranks. */

static part generated; /* the newest tokens, for which there are queries */

static attn_tensor row_out(void *rows, size_t count, size_t D)
{
    ptrdiff_t next = (ptrdiff_t)D + 1;
    return attn_tensor_of(rows, ATTN_F32, 1, count, 1, D, next, next, next, 1);
}
static attn_tensor row_lse(void *rows, size_t count, size_t D)
{
    ptrdiff_t next = (ptrdiff_t)D + 1;
    return attn_tensor_of((float *)rows + D, ATTN_F32, 1, count, 1, 1, next, next, next, 1);
}

static void merge_rows(void *in, void *inout, int *count, MPI_Datatype *row)
{
    int bytes;
    size_t D, n = (size_t)*count;
    MPI_Type_size(*row, &bytes);
    D = (size_t)bytes / sizeof(float) - 1;
    TIME(&now->merging,
         attn_merge_ctx(row_out(inout, n, D), row_lse(inout, n, D), row_out(in, n, D), row_lse(in, n, D), &ctx));
}

static attn_kv_cache cache;
static size_t prompt; /* tokens of the text in it */
static float *rows;
static MPI_Datatype row;
static MPI_Op merge;

/* The query of token t against this rank's tokens, 0 to t of all. */
static void attend_cache(attn_tensor out, attn_tensor lse, attn_tensor q, size_t t)
{
    size_t count = cache.lens[0], oldest = first_key(t), first;
    attn_opts opts = {0};
    first = oldest > rank ? (oldest - rank + ranks - 1) / ranks : 0; /* its first token that the query sees */
    opts.lse = lse;
    opts.window.on = first > 0;
    opts.window.left = (ptrdiff_t)count - 1 - (ptrdiff_t)first;
    opts.window.right = -1;
    if (first < count || first == 0) {
        TIME(&now->computing, attn_kv_cache_attend(out, q, &cache, &opts, &ctx));
        now->pairs += (double)(count - first) * (double)set.H;
        return;
    }
    for (size_t h = 0; h < set.H; h++) /* none: a side with lse -infinity counts for nothing in a merge */
        attn_mat_set(attn_head(lse, 0, h), 0, 0, -HUGE_VAL);
}

static void begin_decode(void)
{
    part text;
    prompt = set.length > rank ? (set.length - rank - 1) / ranks + 1 : 0;
    text = new_part(rank, prompt, 0, set.Hkv, set.type, ATTN_F32);
    generated = new_part(set.length, set.tokens, set.H, set.Hkv, set.type, ATTN_F32);
    fill(&text, ranks);
    fill(&generated, 1);
    TRY(attn_kv_cache_init(&cache, 1, set.Hkv, prompt + set.tokens / ranks + 1, set.D, set.D, set.type, 0, NULL, 0));
    TRY(attn_kv_cache_append(&cache, text.k, text.v, NULL));
    free_part(text);
    rows = (float *)calloc(set.H, (set.D + 1) * sizeof(float));
    if (!rows)
        fail("no memory for %d rows", (int)set.H);
    MPI_Type_contiguous((int)set.D + 1, MPI_FLOAT, &row);
    MPI_Type_commit(&row);
    MPI_Op_create(merge_rows, 0, &merge);
}

static void decode(int backward)
{
    attn_tensor out = row_out(rows, set.H, set.D), lse = row_lse(rows, set.H, set.D);
    (void)backward; /* there is none */
    TRY(attn_kv_cache_truncate(&cache, 0, prompt));
    for (size_t i = 0; i < set.tokens; i++) {
        attn_tensor k = attn_tensor_slice(generated.k, i, 1), v = attn_tensor_slice(generated.v, i, 1);
        double begin;
        if ((set.length + i) % ranks == rank)
            TRY(attn_kv_cache_append(&cache, k, v, NULL));
        attend_cache(out, lse, attn_tensor_slice(generated.q, i, 1), set.length + i);
        begin = MPI_Wtime();
        MPI_Allreduce(MPI_IN_PLACE, rows, (int)set.H, row, merge, MPI_COMM_WORLD);
        now->waiting += MPI_Wtime() - begin;
        now->sent += (double)(set.H * (set.D + 1) * sizeof(float)); /* what the reduction is given */

        /* here a model would go on */
        for (size_t h = 0; h < set.H; h++) {
            TRY(attn_mat_copy(attn_mat_rows(attn_head(generated.out, 0, h), i, 1), attn_head(out, 0, h)));
            TRY(attn_mat_copy(attn_mat_rows(attn_head(generated.lse, 0, h), i, 1), attn_head(lse, 0, h)));
        }
    }
}

/* ---- the program ---- */

static int run_all(void)
{
    static const struct {
        void (*begin)(void), (*run)(int backward);
        const part *results;
        size_t parts;
        int passes;
    } modes[] = {{begin_ring, ring, chunks, 2, 2},
                 {begin_ulysses, ulysses, &here, 1, 2},
                 {begin_decode, decode, &generated, 1, 1}};
    size_t merges = set.mode == RING ? 2 * ranks - 1 : set.mode == DECODE ? ranks - 1 : 0; /* of a row, at most */
    int good = 1;
    modes[set.mode].begin();
    for (size_t n = 0; n <= set.repeat; n++) {
        if (n == 1) /* the first pass was to warm up */
            memset(passes, 0, sizeof passes);
        for (int backward = 0; backward < modes[set.mode].passes; backward++) {
            double begin = MPI_Wtime();
            now = &passes[backward];
            modes[set.mode].run(backward);
            now->total += MPI_Wtime() - begin;
        }
    }
    if (rank == 0)
        printf("%s, %d ranks: %d positions, %d heads of %d numbers on %d of keys and values\n", mode_names[set.mode],
               (int)ranks, (int)set.length, (int)set.H, (int)set.D, (int)set.Hkv);
    if (!set.unchecked)
        good = check(modes[set.mode].results, modes[set.mode].parts, merges);
    report();
    return good;
}

int main(int argc, char **argv)
{
    int help, status = begin_program(&argc, &argv, &help);
    if (status == 0 && !help) {
        if (set.threads > 1)
            TRY(attn_pool_new(&ctx.parallel, set.threads));
        ctx.batch_invariant = set.mode == DECODE; /* a token alone has the bits that it has in one call */
        status = !run_all();
        attn_pool_free(&ctx.parallel);
    }
    MPI_Finalize();
    return status ? status : show_done();
}
