#!/bin/sh
# attn_sdpa beside the plain loop, on every target that a Debian machine can build for and run. From the top:
#
#     sh tests/bench/targets.sh [BUILD...]
#
# builds bench_targets for each of the builds below, or for those named, runs it, and prints the tables of README.md,
# which are in $B/targets/tables.md then. What runs on this CPU, or under node, is timed. What an emulator runs is not:
# there the figures are instructions, which a plugin of QEMU (Debian's qemu-user) counts: of one call, the difference
# of two runs of the program. A build whose tools are not here is a line that says so. Environment: B, ATTN and
# IMPL_CFLAGS as in the Makefile; ATTN_BENCH_QUICK: smaller lengths.

B=${B:-build}
top=$B/targets
make="make -s -j1 ATTN=${ATTN:-.}"
node='node --no-warnings --no-liftoff tests/config/wasi.mjs' # at once as fast as it becomes
memory=-Wl,--initial-memory=67108864
long=1024 middle=512 counted=128
[ -z "${ATTN_BENCH_QUICK:-}" ] || long=256 middle=256
chosen=$*
mkdir -p "$top" || exit 1

# wanted NAME: whether it was asked for.
wanted() {
    [ -z "$chosen" ] && return
    case " $chosen " in *" $1 "*) return 0 ;; esac
    return 1
}

# built NAME COMPILER CFLAGS LDFLAGS: builds bench_targets for it.
built() {
    if ! $make B="$top/$1" CC="$2" CFLAGS="$3" LDFLAGS="$4" "$top/$1/bench_targets" > "$top/$1.log" 2>&1; then
        echo "$1: does not build here, see $top/$1.log"
        return 1
    fi
}

# timed NAME LENGTH RUN COMPILER CFLAGS LDFLAGS TITLE
timed() {
    wanted "$1" && built "$1" "$4" "$5" "$6" || return
    if ! $3 "$top/$1/bench_targets" "$2" > "$top/$1.txt" 2> "$top/$1.log"; then
        echo "$1: does not run here, see $top/$1.log"
        return
    fi
    echo "== $7"
    cat "$top/$1.txt"
    awk -v title="$7" 'NR > 2 { print title "\t" $1 "\t" $(NF - 5) "\t" $(NF - 4) "\t" $(NF - 3) "\t" $(NF - 2) "\t" \
        $(NF - 1) "\t" $NF }' "$top/$1.txt" >> "$top/timed.tsv"
}

# instructions EMULATOR PROGRAM WORK CONTESTANT RUNS: of the program that runs one so often.
instructions() {
    $1 -plugin "$top/count.so" "$2" $counted "$3" "$4" "$5" 2>&1 | sed -n 's/^instructions //p'
}

# counted NAME EMULATOR COMPILER CFLAGS TITLE
counted() {
    wanted "$1" && built "$1" "$3" "$4" -static || return
    if ! "$2" -plugin "$top/count.so" "$top/$1/bench_targets" $counted check > "$top/$1.txt" 2>&1; then
        echo "$1: does not run here, see $top/$1.txt"
        return
    fi
    echo "== $5: results agree"
    vectors=vector128
    [ "$(instructions "$2" "$top/$1/bench_targets" query_128 vector128 1)" != \
        "$(instructions "$2" "$top/$1/bench_targets" query_128 vector128 3)" ] || vectors=best
    for contestant in scalar $vectors plain fast; do
        for work in prefill prefill_64 prefill_16 query query_128 query_8_heads prefill_f64 prefill_64_f64 query_f64; do
            one=$(instructions "$2" "$top/$1/bench_targets" $work $contestant 1)
            three=$(instructions "$2" "$top/$1/bench_targets" $work $contestant 3)
            printf '%s\t%s\t%s\t%s\n' "$5" $contestant $work $(((three - one) / 2))
        done
    done | tee -a "$top/counted.tsv" | cut -f 2-
}

# The scalar pass of WebAssembly without vectors beside the vectors of the other build: two programs, run in turn.
two_programs() {
    [ -x "$top/wasm/bench_targets" ] && [ -x "$top/wasm-simd128/bench_targets" ] && wanted wasm-simd128 || return
    for work in 'prefill 3' 'query 2000'; do
        for round in 1 2 3 4 5 6 7 8 9; do
            scalar=$($node "$top/wasm/bench_targets" $middle ${work% *} scalar ${work#* } seconds)
            vector=$($node "$top/wasm-simd128/bench_targets" $middle ${work% *} vector128 ${work#* } seconds)
            echo "$scalar $vector"
        done | awk '{ print $1 / $2 }' | sort -n |
            sed -n "5s/^/${work% *}: vector128 with -msimd128 over the scalar pass without: /p"
    done
}

# table COLUMN...: a row for each title of timed.tsv, a cell for each work, with the figures of these columns.
table() {
    awk -F '\t' -v columns="$*" 'BEGIN { n = split(columns, column, " ") }
        !($1 in row) { titles[++rows] = $1 }
        { cell = ""
          for (i = 1; i <= n; i++) cell = cell (i > 1 ? " / " : "") $column[i]
          sub(/ \/ -$/, "", cell)
          if (cell !~ /[0-9]/) cell = ""; else any[$1] = 1
          row[$1] = row[$1] " | " cell }
        END { for (i = 1; i <= rows; i++) if (any[titles[i]]) print "| " titles[i] row[titles[i]] " |" }' \
        "$top/timed.tsv"
}

# counts: a row for each title of counted.tsv and each contestant, in thousands.
counts() {
    awk -F '\t' '{ key = $1 " | " $2 }
        !(key in row) { keys[++rows] = key }
        { row[key] = row[key] sprintf(" | %.0f", $4 / 1000) }
        END { for (i = 1; i <= rows; i++) print "| " keys[i] row[keys[i]] " |" }' "$top/counted.tsv" |
        sed 's/ | best | / | NEON | /; s/ | plain | / | plain loop | /; s/ | fast | / | loop, -O3 -ffast-math | /'
}

header() { # FIRST-COLUMNS
    echo
    echo "| $1 | prefill | 1 x 64 x 64 | 1 x 16 x 32 | query, 1 x 1024 x 64 | query, 1 x 128 x 64 |" \
        "query, 8 x 1024 x 64 | f64, prefill | f64, 1 x 64 x 64 | f64, query, 1 x 1024 x 64 |"
    echo "$1 |||||||||" | sed 's/[^|]*|/---|/g; s/^/|/; s/$/---|/'
}

for name in $chosen; do
    grep -q -E "^ *(timed|counted) $name " "$0" || { echo "targets.sh: no build is called $name" >&2; exit 1; }
done
: > "$top/timed.tsv"
: > "$top/counted.tsv"
timed gcc-O2 $long '' gcc -O2 '' 'gcc -O2'
timed gcc-O3 $long '' gcc -O3 '' 'gcc -O3'
timed clang-O2 $long '' clang -O2 '' 'clang -O2'
timed clang-O3 $long '' clang -O3 '' 'clang -O3'
timed gcc-no-avx512 $long '' gcc '-O2 -DATTN_NO_AVX512' '' 'gcc -O2 -DATTN_NO_AVX512'
timed gcc-no-simd $long '' gcc '-O2 -DATTN_NO_SIMD' '' 'gcc -O2 -DATTN_NO_SIMD'
timed musl $long '' musl-gcc -O2 -static 'musl-gcc -O2 -static'
timed tcc $middle '' tcc -O2 '' 'tcc'
timed i686 $middle '' i686-linux-gnu-gcc -O2 -static 'i686, gcc -O2'
timed i686-sse2 $middle '' i686-linux-gnu-gcc '-O2 -msse2 -mfpmath=sse' -static 'i686, gcc -O2 -msse2 -mfpmath=sse'
timed wasm $middle "$node" clang '--target=wasm32-wasi -O2' $memory 'wasm32, clang -O2, node'
timed wasm-simd128 $middle "$node" clang '--target=wasm32-wasi -O2 -msimd128' $memory \
    'wasm32, clang -O2 -msimd128, node'
two_programs | tee "$top/two_programs.txt"

if cc -O2 -Wall -Wextra -shared -fPIC -o "$top/count.so" tests/bench/count.c; then
    counted riscv64 qemu-riscv64 riscv64-linux-gnu-gcc -O2 riscv64
    counted ppc64le qemu-ppc64le powerpc64le-linux-gnu-gcc -O2 ppc64le
    counted s390x qemu-s390x s390x-linux-gnu-gcc -O2 s390x
    counted s390x-z14 qemu-s390x s390x-linux-gnu-gcc '-O2 -march=z14' 's390x -march=z14'
    counted armhf qemu-arm arm-linux-gnueabihf-gcc -O2 armhf
    counted armhf-neon qemu-arm arm-linux-gnueabihf-gcc '-O2 -mfpu=neon-vfpv4' 'armhf -mfpu=neon-vfpv4'
    counted aarch64 qemu-aarch64 aarch64-linux-gnu-gcc -O2 aarch64
fi

{
    echo "The best instruction set over the plain loop, at the same flags / at -O3 -ffast-math:"
    header build
    table 3 4
    echo
    echo "VECTOR128 over the plain loop, at the same flags / at -O3 -ffast-math:"
    header build
    table 5 6
    echo
    echo "VECTOR128 over the scalar pass of the same build / over AVX2:"
    header build
    table 7 8
    echo
    cat "$top/two_programs.txt"
    echo
    echo "Instructions of a call, in thousands, gcc -O2:"
    header 'target | with'
    counts
} > "$top/tables.md"
echo
cat "$top/tables.md"
