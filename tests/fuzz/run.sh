#!/bin/sh
# Runs the fuzz targets with libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer. From the top of the tree:
#
#     sh tests/fuzz/run.sh [EXECUTIONS [TARGET...]]     10,000,000 of each target, if nothing else is said
#
# Prints a line for each target: executions, edges and features covered, inputs kept, crashes. What was found stays
# below $B/fuzz (B: build): TARGET/ is what the next run begins with, TARGET-crash-* repeats a failure. Status 1 if
# anything failed. It takes clang (CC) with libFuzzer, and python3. FUZZ_FLAGS: more flags for the targets, such as
# -seed=1.

runs=${1:-10000000}
[ $# -gt 0 ] && shift
CC=${CC:-clang} B=${B:-build} failed=0
work=$B/fuzz
mkdir -p "$work" && python3 tests/fuzz/make_seeds.py "$work/seeds" || exit 1
export ASAN_OPTIONS="malloc_context_size=2:quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

fuzz() { # TARGET LONGEST FLAGS...: builds it, and runs it on inputs of at most so many bytes
    target=$1 longest=$2
    shift 2
    log=$work/$target.log
    mkdir -p "$work/$target"
    if ! $CC -std=c99 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all "$@" -I. \
        -o "$work/fuzz_$target" "tests/fuzz/fuzz_$target.c" -lm; then
        echo "FAIL $target: not built"
        failed=1
        return
    fi
    "$work/fuzz_$target" -runs="$runs" -max_len="$longest" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        -dict="$work/seeds/$target.dict" -artifact_prefix="$work/$target-" $FUZZ_FLAGS \
        "$work/$target" "$work/seeds/$target" > "$log" 2>&1
    status=$?
    executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    reached=$(sed -n 's/^#[0-9]*.DONE *\(cov: [0-9]*\) \(ft: [0-9]*\) corp: \([0-9]*\).*/\1, \2, \3 inputs/p' "$log")
    if [ $status = 0 ]; then
        echo "ok $target: ${executed:-0} executions, $reached"
    else
        echo "FAIL $target: ${executed:-0} executions, status $status: $(sed -n 's/.*Test unit written to //p' "$log")"
        grep -m 3 -e '^SUMMARY' -e 'runtime error' -e '^tests/fuzz' "$log" | sed 's/^/    /'
        failed=1
    fi
}

for target in ${*:-json safetensors gguf gguf_files sentencepiece tokenize wordpiece bpe jinja}; do
    case $target in
    json) fuzz json 1024 ;;
    safetensors) fuzz safetensors 384 ;;
    gguf) fuzz gguf 384 ;;
    gguf_files) fuzz gguf_files 768 examples/models/gguf.c examples/models/safetensors.c examples/models/json.c ;;
    sentencepiece) fuzz sentencepiece 128 -fno-sanitize-coverage=trace-cmp ;; # whose cost is half of the time
    tokenize) fuzz tokenize 64 -fno-sanitize-coverage=trace-cmp ;;
    wordpiece) fuzz wordpiece 256 -fno-sanitize-coverage=trace-cmp ;;
    bpe) fuzz bpe 512 -fno-sanitize-coverage=trace-cmp ;;
    jinja) fuzz jinja 512 -fno-sanitize-coverage=trace-cmp ;;
    *) echo "FAIL no target is called $target" && failed=1 ;;
    esac
done
exit $failed
