# What the scripts of checks share. Each of them sources this, defines a function part_PART for each of its parts, and
# ends with `parts "PART..." "$@"`. It runs from the top of the tree, after `make`:
#
#     sh SCRIPT PART...     these parts, or with none those that its last line names
#
# It prints a line for each check and, last, how many passed and failed. Environment: CC, LDFLAGS (which every program
# is linked with), RUN and B as in the Makefile; MODEL, a directory with a model that examples/models/train has made;
# TEST_LEVEL: full for what takes minutes, or repeats with other flags what else shows; a tool that is missing is a
# failure then.

CC=${CC:-cc} LDFLAGS=${LDFLAGS:-} RUN=${RUN:-} B=$(mkdir -p "${B:-build}" && cd "${B:-build}" && pwd) || exit 1
MODEL=${MODEL:-examples/models/bundled} level=${TEST_LEVEL:-quick}
top=$PWD
models_tests=examples/models/tests
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
plain='-O0 -DATTN_NO_OPTIMIZE' # compiles fast; gcc optimises the implementation all the same, if not told
notebook_english='It is easy to translate languages with transformers'
passed=0 failed=0

# ==== Counting ====================================================================================================

ok()   { passed=$((passed + 1)); echo "ok $1"; }
fail() { failed=$((failed + 1)); echo "FAIL $1"; }

# check NAME COMMAND...: the command succeeds. What it printed shows only when it does not.
check() {
    title=$1; shift
    "$@" > "$work/output" 2>&1 && ok "$title" && return
    fail "$title"
    sed -n '1,20s/^/    /p' "$work/output"
    return 1
}

# refuses NAME TEXT COMMAND...: the command fails, and says TEXT.
refuses() {
    title=$1 text=$2; shift 2
    if ! "$@" > "$work/output" 2>&1 && grep -q "$text" "$work/output"; then ok "$title"; else fail "$title"; fi
}

# silent COMMAND...: it prints nothing.
silent() { printed=$("$@" 2>&1); [ -z "$printed" ] || { echo "$printed"; return 1; }; }

# lacks WHAT: of what would be checked with it, nothing is; that is a failure at the full level. have TOOL: it is there.
lacks() { if [ "$level" = full ]; then fail "$1"; else echo "skip $1"; fi; }
have() { command -v "$1" > /dev/null || { lacks "$1 is not installed"; return 1; }; }

# counted PROGRAM: runs a test program and adds what it counted.
counted() {
    { run "$B/$1"; echo "status $?"; } 2>&1 | tr -d '\r' | tee "$work/log" |
        grep -v -E '^(status [0-9]+|[0-9]+ passed, [0-9]+ failed)$'
    name=$1
    set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/log" | tail -n 1)
    check "$name reaches its end" [ $# = 2 ]
    check "$name: its status tells success from failure" \
        grep -q -E "^status $([ "${2:-1}" = 0 ] && echo 0 || echo '[1-9]')" "$work/log"
    passed=$((passed + ${1:-0})) failed=$((failed + ${2:-0}))
}

# parts ALL PART...: runs these parts, or else all, each in a directory $work of its own, and ends the script.
parts() {
    all=$1; shift
    for part in ${*:-$all}; do
        work=$B/check/$part
        rm -rf "$work" && mkdir -p "$work" || exit 1
        if command -v part_$part > /dev/null; then part_$part; else fail "there is no part $part"; fi
    done
    [ $((passed + failed)) != 0 ] || fail "$0 checks something"
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
    exit
}

# ==== Programs ====================================================================================================

# run PROGRAM ARGUMENTS...: compilers for Windows add .exe to its name.
run() { if [ -f "$1.exe" ]; then program=$1.exe; shift; $RUN "$program" "$@"; else $RUN "$@"; fi; }

# says STATUS TEXT COMMAND...: the command ends with that status, and its messages hold TEXT.
says() {
    status=$1 text=$2; shift 2
    run "$@" > "$work/shown" 2> "$work/messages" < /dev/null
    got=$?
    [ $got = "$status" ] && grep -q -F -e "$text" "$work/messages" && return
    echo "status $got, messages:"; cat "$work/messages"; return 1
}

# narrow: of the input, no line is wider than 80 columns. is_narrow PROGRAM: nor is what --help prints.
narrow() { LC_ALL=C tr -d '\200-\277' | LC_ALL=C awk 'length($0) > 80 { print; wide = 1 } END { exit wide || NR == 0 }'; }
is_narrow() { run "$1" --help > "$work/shown" && grep -q "^usage: " "$work/shown" && narrow < "$work/shown"; }

# says_full TEXT PROGRAM ARGUMENTS...: the program, whose output has no room, fails and says so.
says_full() {
    text=$1; shift
    run "$@" > /dev/full 2> "$work/messages"
    [ $? = 1 ] && grep -q -x -F -e "$text" "$work/messages"
}
