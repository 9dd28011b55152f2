#!/bin/sh
# Checks of examples/14_ring.c: see tests/check.sh. The program, as ranks on this machine, however many processors it
# has, compares its results with one call over the whole text; here it is run with everything that may change them, and
# with mistakes.
. tests/check.sh

program=$B/14_ring
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

# sees NAME COMMAND...: the command succeeds; what the last ranks printed shows only when it does not.
sees() { title=$1; shift; check "$title" told "$@"; }
told() { "$@" || { cat "$work/out" "$work/shown" "$work/messages" 2> /dev/null; return 1; }; }

# ranks COUNT ARGUMENTS...: so many of them.
ranks() { count=$1; shift; timeout 120 mpirun -n "$count" "$program" "$@" > "$work/out" 2> "$work/messages"; }

# agree COUNT ARGUMENTS...: they get what one call does, and say so in a line for each result.
agree() {
    results=5
    case " $* " in *\ decode\ *) results=2 ;; esac
    ranks "$@" && [ "$(grep -c -E '^(out|lse|dq|dk|dv) ' "$work/out")" = $results ] &&
        ! grep -q 'FAIL\|OTHER BITS' "$work/out"
}

# equal RESULTS COUNT ARGUMENTS...: the same, and these results have the bits of the one call in every row.
equal() {
    equal_ones=$1; shift
    agree "$@" || return
    for result in $equal_ones; do
        awk -v result="$result" '$1 == result { same = $(NF - 2) == $NF } END { exit !same }' "$work/out" || return
    done
}

# value PASS COLUMN: a column of the table, added up over the ranks; column 1 is the one behind the rank's number.
value() {
    awk -v pass="$1" -v column="$2" '/^[a-z]+ward / { now = $1 } now == pass && /^rank/ { sum += $(column + 2) }
        END { print sum }' "$work/out"
}
# slowest PASS WHAT: of the slowest rank, relative to the mean.
slowest() { sed -n "/^$1 /,\$s/^slowest .*[ :] *\([0-9.]*\) of $2.*/\1/p" "$work/out" | head -n 1; }
less() { awk "BEGIN { exit !($1) }"; }
# near A B: but for what the table has rounded.
near() { less "$1 - $2 < 0.01 && $2 - $1 < 0.01"; }

# all_refuse STATUS TEXT COUNT ARGUMENTS...: all end with that status, and the messages hold TEXT.
all_refuse() {
    expected=$1 said=$2 count=$3; shift 3
    says "$expected" "$said" timeout 120 mpirun -n "$count" "$program" "$@"
}

# ==== Results =====================================================================================================

part_results() {
    for count in 1 2 3 4 7; do
        for options in '--length 1' '--length 13' '--length 97 --window 0' '--length 600 --heads 6 --kv-heads 6' \
            '--length 601 --window 40' '--length 601 --window 250' '--length 500 --full' \
            '--length 333 --full --window 30' '--length 451 --heads 5 --kv-heads 1 --size 40'; do
            sees "ring, $count ranks, $options" agree $count ring $options
        done
        for options in '--length 2 --tokens 12' '--length 600 --heads 6 --kv-heads 6' '--length 601 --window 40' \
            '--length 601 --window 1' '--length 451 --heads 5 --kv-heads 1 --size 40 --type bf16'; do
            sees "decode, $count ranks, $options" agree $count decode $options
        done
        # One head of keys for several ranks, several for one, and groups that ranks cut through: those alone add
        # gradients of keys from several ranks.
        h=$((6 * count))
        long='ulysses --length 301'
        for heads in "$h --kv-heads 1" "$h --kv-heads 2" "$h --kv-heads 3"; do
            sees "ulysses, $count ranks, --heads $heads" equal 'out lse dq' $count $long --size 24 --heads $heads
        done
        sees "ulysses, $count ranks, --heads $h --kv-heads $h" \
            equal 'out lse dq dk dv' $count $long --size 24 --heads $h --kv-heads $h
        sees "ulysses, $count ranks, 3 positions" agree $count ulysses --length 3 --heads $count --kv-heads 1
        sees "ulysses, $count ranks, window" equal 'out lse dq' $count $long --heads $h --window 20 --full
    done
    sees "one rank decodes with the bits of one call" equal 'out lse' 1 decode --length 300
    for type in f16 bf16; do
        sees "ring, $type" agree 3 ring --type $type
        sees "ulysses, $type" agree 4 ulysses --type $type
        sees "decode, $type" agree 3 decode --type $type
    done
    sees "ring, two threads" agree 2 ring --threads 2
    for mode in ring ulysses decode; do # a second pass begins with what the first has left
        sees "$mode, twice" agree 4 $mode --repeat 1
    done
    sees "ring, chunks in order" agree 3 ring --in-order --window 100
    sees "ring, calls of some queries each" agree 2 ring --length 9000 --heads 1 --kv-heads 1 --size 16 --window 3000
}

# ==== Work and messages ===========================================================================================

part_work() {
    sees "zigzag: the slowest rank has as much to do as the mean" ranks 4 ring --length 4000 --no-check
    for pass in forward backward; do
        sees "zigzag, $pass: pairs" less "$(slowest $pass pairs) <= 1.05"
    done
    ranks 4 ring --length 4000 --no-check --in-order
    sees "in order, the last rank has far more" less "$(slowest forward pairs) >= 1.7"

    # Eight chunks of 100 positions, 2 heads of 64 floats, keys and values: 102.4 kB each. With a window of 50 six of
    # them are seen by the chunk behind, of another rank; without, each of the chunks 0 to 3 goes to 3 ranks, 4 to 6 to
    # 3, 2, 1.
    ranks 4 ring --length 800 --window 50 --no-check
    sees "window: chunks that nobody sees are not sent" near "$(value forward 6)" 614.4
    sees "window: nor their gradients" near "$(value backward 6)" 1228.8
    ranks 4 ring --length 800 --no-check
    sees "causal: the same" near "$(value forward 6)" 1843.2
    sees "causal: 8 times half of 800 x 801 pairs" near "$(value forward 1)" 2.5632
    ranks 4 ring --length 800 --no-check --full --repeat 1
    sees "not causal: every chunk to every rank" near "$(value forward 6)" 2457.6
    sees "not causal: 8 times 800 x 800 pairs" near "$(value backward 1)" 5.12
    # Each rank sends each other one of its 200 positions 2 heads of queries, one of keys, one of values; and back 2 of
    # outputs, and a number for each.
    ranks 4 ulysses --length 800 --no-check
    sees "ulysses: bytes" near "$(value forward 6)" 3705.6
}

# ==== Copies ======================================================================================================

# The comparison sees what is wrong: copies of the program with a mistake, which must say so and end with 1.
copy() { # SED-COMMAND
    rm -rf "$work/copy" && mkdir -p "$work/copy/examples/models" && cp attn.h "$work/copy" &&
        cp -r examples/ring examples/show.h "$work/copy/examples" &&
        cp examples/models/program.h examples/models/shown.h "$work/copy/examples/models" &&
        sed "$1" examples/14_ring.c > "$work/copy/examples/14_ring.c" &&
        ! { [ -n "$1" ] && cmp -s examples/14_ring.c "$work/copy/examples/14_ring.c"; } &&
        (cd "$work/copy/examples" && mpicc -O1 -DATTN_INTERFACE_ONLY -o ../14_ring 14_ring.c "$B/attn.o" -lm -lpthread)
}
mistaken() { # SED-COMMAND MODE
    copy "$1" && { timeout 60 mpirun -n 3 "$work/copy/14_ring" $2 > "$work/out" 2> "$work/messages"; [ $? = 1 ]; } &&
        grep -q 'FAIL\|OTHER BITS' "$work/out"
}
part_copies() {
    sees "the files of the first comment are enough" copy ''
    sees "a mistake: a merge too few" mistaken 's/opts, mine->attended/opts, mine->len > 170/' ring
    sees "a mistake: one key too many" mistaken 's/(ptrdiff_t)theirs->first;/(ptrdiff_t)theirs->first + 1;/' ring
    sees "a mistake: gradients that are not cleared" \
        mistaken '/clear(p.dk);/d' 'ulysses --heads 3 --kv-heads 3 --repeat 1'
    sees "a mistake: a token in two caches" mistaken '/% ranks == rank)/s/== rank/< 2/' 'decode --tokens 2'
    last='^    if (!set.unchecked)'
    sees "a mistake: one number off by a few units" \
        mistaken "s/$last/    if (rank == 1) ((float *)chunks[0].out.data)[70] += 1e-5f;\n&/" ring
    sees "a mistake: other bits on one rank" \
        mistaken "s/$last/    if (rank == 2) ((float *)generated.out.data)[70] *= 1.0000002f;\n&/" decode
}

# ==== Mistakes ====================================================================================================

# One rank without memory, and one that is killed: all end, and say why.
one_without_memory() {
    timeout 60 mpirun -n 2 "$program" ring --length 200000 --no-check : \
        -n 1 sh -c 'ulimit -v 700000; exec "$@"' sh "$program" > "$work/out" 2> "$work/messages"
    [ $? = 1 ] && grep -q 'rank 2: no memory for 3333[34] positions' "$work/messages"
}
one_killed() {
    timeout 60 mpirun -n 3 sh -c '[ $OMPI_COMM_WORLD_RANK = 1 ] && (sleep 2; kill -9 $$) & exec "$@"' sh "$program" \
        ring --length 20000 --no-check --repeat 1000 > "$work/out" 2> "$work/messages"
    status=$?
    [ $status != 0 ] && [ $status != 124 ] && grep -q 'signal 9' "$work/messages"
}
part_mistakes() {
    sees "--help" ranks 2 --help
    sees "--help is said once" less "$(grep -c usage "$work/out") == 1"
    sees "ulysses: too many ranks" all_refuse 2 'ulysses: 8 heads of queries are no multiple of 7 ranks' 7 ulysses
    sees "no way" all_refuse 2 'one of ring, ulysses, decode is wanted' 2
    sees "an unknown way" all_refuse 2 "there is no way 'star'" 2 star
    sees "two ways" all_refuse 2 'one of ring, ulysses, decode is wanted' 2 ring decode
    sees "an unknown option" all_refuse 2 "there is no option '--hops'" 2 ring --hops 3
    sees "a length of 0" all_refuse 2 "--length: '0' is not a number from 1 to" 2 ring --length 0
    sees "a type" all_refuse 2 "--type: 'f64' is not f32, f16 or bf16" 2 ring --type f64
    sees "heads" all_refuse 2 '8 heads of queries are no multiple of 3 of keys' 2 ring --kv-heads 3
    sees "decode --full" all_refuse 2 '--full: decode cannot see tokens to come' 2 decode --full
    sees "what is wrong is said once" less "$(grep -c '^14_ring:' "$work/messages") == 1"
    sees "a rank without memory ends all" one_without_memory
    sees "a rank that is killed ends all" one_killed
}

parts "results work copies mistakes" "$@"
