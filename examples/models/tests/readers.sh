#!/bin/sh
# Checks of the readers of model files: see tests/check.sh.
#     examples   the test program of these, and of what else the examples read and compute with
#     readers    each compiles where a stranger takes it, and a program uses it; at the full level, by every compiler
. tests/check.sh

# in_lift COMMAND...: it runs where a reader has been taken to.
in_lift() { (cd "$work/lift" && "$@"); }
compile_reader() { in_lift sh -c "$1 -std=c99 $warnings -c *.c"; }
compile_user() {
    cp "$models_tests/lift_$1.c" "$work/lift" && in_lift sh -c "$2 $warnings $LDFLAGS lift_$1.c $3 *.o -o user"
}
names_of_others() { nm -g --defined-only "$work/lift/$1"*.o | sed -n 's/.* [A-Z] //p' | grep -v -E "^_?$1_"; }

# lifted COMPILER READER OTHERS...: in a directory of its own, as a stranger takes it, a reader of model files compiles,
# its names begin with its own, and a program that uses it runs, in C and in C++.
lifted() {
    cc=$1 reader=$2; shift
    rm -rf "$work/lift" && mkdir "$work/lift" || return
    for name in "$@"; do cp examples/models/$name*.[ch] "$work/lift" || return; done # unicode_tables.h, too
    check "$cc: $reader compiles alone" compile_reader "$cc"
    check "$cc: names of $reader begin with ${reader}_" silent names_of_others $reader
    check "$cc: a program with $reader" compile_user $reader "$cc" && check "$cc: its answer" run "$work/lift/user"
    if [ "$cc" = gcc ] && have g++; then
        check "a C++ program with $reader" compile_user $reader "g++ -x c++" "-x none" &&
            check "its answer" run "$work/lift/user"
    fi
}
readers() {
    lifted "$1" json; lifted "$1" safetensors json mapped text shown
    lifted "$1" gguf safetensors json mapped text shown; lifted "$1" sample # gguf_files, too
    lifted "$1" sentencepiece charsmap heap text trie shown; lifted "$1" unicode; lifted "$1" patterns unicode
    lifted "$1" jinja unicode text shown
    lifted "$1" bpe added charsmap json patterns unicode heap text trie shown
    lifted "$1" wordpiece added json unicode text trie shown
}

part_examples() { counted test_examples; }
part_readers() {
    if [ "$level" != full ] || [ -n "$RUN" ]; then readers "$CC"; return; fi
    for cc in gcc clang tcc 'musl-gcc -static'; do have ${cc% *} && readers "$cc"; done
}

parts "examples readers" "$@"
