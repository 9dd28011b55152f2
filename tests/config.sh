#!/bin/sh
# Checks of the library from outside, as programs embed it. Run from the top of the tree, after `make`:
#
#     sh tests/config.sh PART...
#
#     library    the test program of attn.h, with the checks it counts itself
#     examples   the test program of what the examples read and compute with
#     single     a notebook is a program by itself, without the object that `make` links with them all
#     pictures   the notebooks run, and draw the committed pictures
#     output     the notebooks print what is committed; colours go to terminals alone
#     tools      tokenize and tensors show model files, 05_translate translates; all refuse wrong ones
#     search     12_search finds lines, keeps an index, and refuses wrong files
#     generate   13_generate continues texts as transformers does, talks, and refuses wrong files
#     model      what the bundled model, or the one in the directory MODEL, makes of sentences it has not seen; training
#     corpus     that none of those is in the corpus, all of it
#     readers    each reader of model files compiles where a stranger takes it, and a program uses it
#     readme     every ```c block of README.md is a program that compiles and runs, and so is the doc block's, both in C
#                and C++ without warnings; what is marked ```c recipe is part of one, which tests/test_recipes.c runs;
#                and what is said for CMake; a missing tool is a skip
#     quick      embedding: the compiler CC, three compilations and some small ones; a missing tool is a skip
#     wasm       WebAssembly without a libc: clang and node; a missing tool is a skip
#     full_gcc   embedding: gcc, every standard and configuration; tcc and musl; a missing tool is a failure
#     full_clang the same of clang, and wasm; beside the other only with a B of its own
#     full       both
#
# Prints a line for each check and, last, how many passed and failed. Environment: CC, LDFLAGS (which every program is
# linked with), RUN and B as in the Makefile, MODEL.

CC=${CC:-cc} LDFLAGS=${LDFLAGS:-} RUN=${RUN:-} B=${B:-build} MODEL=${MODEL:-examples/models/bundled}
top=$PWD
models_tests=examples/models/tests
config=$top/tests/config
work=$(mkdir -p "$B" && cd "$B" && pwd)/config
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
passed=0 failed=0 level=quick

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

# have TOOL: whether it is there.
have() {
    command -v "$1" > /dev/null && return
    if [ "$level" = full ]; then fail "$1 is installed"; else echo "skip $1 is not installed"; fi
    return 1
}

# run PROGRAM ARGUMENTS...: compilers for Windows add .exe to its name.
run() { if [ -f "$1.exe" ]; then program=$1.exe; shift; $RUN "$program" "$@"; else $RUN "$@"; fi; }

# shares: whether programs may have shared libraries here.
shares() { [ -z "$LDFLAGS$RUN" ] || { echo "skip shared libraries: not with LDFLAGS or RUN"; return 1; }; }

# cxx_of CC: the C++ compiler whose objects link with those of CC: that for the same processor.
cxx_of() { case $1 in *-gcc) echo "${1%gcc}g++" ;; *) echo g++ ;; esac; }

# compile COMMAND...: a compiler call that sees the header, from a directory that does not hold it.
compile() { (cd "$work" && "$@" -I"$top" -I"$config"); }

# build COMMAND...: the same, of a program.
build() { compile "$@" $LDFLAGS; }

# program NAME COMMAND...: a compiler call makes a program, which finds the right answer.
program() {
    name=$1; shift
    check "$name" build "$@" -o "$work/a.out" -lm && check "$name: answer" run "$work/a.out"
}

# ==== The test programs, the pictures, README =====================================================================

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
part_library()  { counted test; }
part_examples() { counted test_examples; }

# alike PICTURE PICTURE: the same, but for colours whose parts differ by one: instruction sets sum in different orders.
alike() {
    awk -v path="$2" '
        function digit(colour, i) { return index("123456789abcdef", substr(colour, i, 1)) }
        function part(colour, i) { return 16 * digit(colour, i) + digit(colour, i + 1) }
        function near(a, b, i) { return part(a, i) - part(b, i) <= 1 && part(b, i) - part(a, i) <= 1 }
        function is_colour(a) { return a ~ /^[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]/ }
        {
            if ((getline line < path) <= 0) exit wrong = 1
            count = split($0, here, "#")
            if (split(line, there, "#") != count) exit wrong = 1
            for (i = 1; i <= count; i++) {
                a = here[i]; b = there[i]
                if (a != b && !(i > 1 && is_colour(a) && is_colour(b) && substr(a, 7) == substr(b, 7) &&
                                near(a, b, 1) && near(a, b, 3) && near(a, b, 5))) exit wrong = 1
            }
        }
        END { exit wrong || (getline line < path) > 0 }' "$1"
}

part_pictures() {
    mkdir -p "$work/pictures"
    for source in examples/[0-9][0-9]_*.c; do
        notebook=$(basename "$source" .c)
        case $notebook in 12_search | 13_generate | 14_ring) continue ;; esac # which draw nothing
        set -- "$work/pictures"
        [ $notebook = 05_translate ] &&
            set -- --attention "$work/pictures/05_cross_attention.svg" examples/models/bundled "$notebook_english"
        [ $notebook = 10_training ] && set -- --long "$work/pictures"
        check "notebook $notebook runs" run "$B/$notebook" "$@"
    done
    for picture in examples/pictures/*.svg; do
        drawn=$(basename "$picture") same=cmp
        [ $drawn = 05_cross_attention.svg ] && same=alike
        check "picture $drawn is as committed" $same "$picture" "$work/pictures/$drawn"
    done
}

# What an example prints must be what is committed, up to the heading from where it differs between machines: in 02 the
# last f32 digits, in 08 what attn_sdpa_explain says.
prints() { # NOTEBOOK PROGRAM
    run "$2" "$work" | sed '/^== 8. Matrix form/,$d; /^== 5. How it runs/,$d' | diff "$top/tests/golden/$1.txt" -
}

part_single() {
    check "08_threads compiles by itself" $CC -O2 $LDFLAGS -o "$work/single" examples/08_threads.c -lm -lpthread &&
        check "08_threads by itself: output" prints 08_threads "$work/single"
    openmp "$CC" -DATTN_INTERFACE_ONLY "$B/attn.o"
    for example in 05_translate 12_search 13_generate; do
        check "$example: the files that its first comment names make a program" named_files $example
    done
}

# The command `cc -O2 -o EXAMPLE FILES -lm ..` of its first comment, but for attn.h, which is compiled already.
named_files() {
    files=$(sed -n '/ cc -O2 -o /,/-lm/p' examples/$1.c | tr -d '\\\n' | sed 's/.* -o [^ ]*//; s/ -lm.*//')
    (cd examples && $CC -O0 $LDFLAGS -DATTN_INTERFACE_ONLY -o "$work/named" $files "$(cd .. && cd "$B" && pwd)/attn.o" \
        -lm -lpthread) && run "$work/named" --help | grep -q "^usage: $1"
}

# openmp COMPILER MORE...: OpenMP runs the tasks of 08_threads, and the output is the same: on one thread, on as many as
# there are tasks, and on more.
openmp() {
    cc=$1; shift
    printf '%s\n' '#include <omp.h>' 'int main(void) { return omp_get_max_threads() < 1; }' > "$work/has_openmp.c"
    if ! { $cc -fopenmp $LDFLAGS "$work/has_openmp.c" -o "$work/openmp" &&
        run "$work/openmp"; } > "$work/output" 2>&1; then
        if [ "$level" = full ]; then fail "$cc has OpenMP"; else echo "skip $cc has no OpenMP"; fi
        return
    fi
    set -- "$top/examples/08_threads.c" "$@" -o "$work/openmp" -lm -lpthread
    check "$cc -fopenmp: 08_threads" $cc -O2 -fopenmp $LDFLAGS "$@" || return
    for threads in 1 4 7; do
        check "$cc -fopenmp: 08_threads on $threads threads" on_threads $threads
    done
}
on_threads() {
    (export OMP_NUM_THREADS=$1 && prints 08_threads "$work/openmp" &&
        run "$work/openmp" | grep -q -x "OpenMP shares the loop out to $1 threads")
}

# An example that fails says which call, which argument, and why.
names_argument() {
    cat > "$work/fault.c" <<-'END'
		#include "attn.h"
		#include "examples/show.h"
		int main(int argc, char **argv)
		{
		    float x[24] = {0};
		    attn_tensor q = attn_bhld(x, ATTN_F32, 1, 2, 3, 4);
		    (void)argv;
		    if (argc > 1) /* which names q; the next call takes no ctx, and must not be blamed for it */
		        (void)attn_sdpa(q, attn_tensor_slice(q, 0, 9), q, q, NULL, &show_ctx), SHOW_TRY(attn_alibi_slopes(NULL, 4));
		    SHOW_TRY(attn_sdpa(q, q, q, q, NULL, &show_ctx));
		    return show_done();
		}
		END
    $CC $LDFLAGS -DATTN_INTERFACE_ONLY -I"$top" "$work/fault.c" "$B/attn.o" -o "$work/fault" -lm -lpthread &&
        says 1 'attn_sdpa(q, q, q, q, NULL, &show_ctx): out, q: an output overlaps' "$work/fault" &&
        says 1 'attn_alibi_slopes(NULL, 4): a required argument is missing' "$work/fault" again
}

uncoloured() { [ -s "$1" ] && ! grep "$(printf '\033')\[" "$1"; }

part_output() {
    for expected in tests/golden/[0-9][0-9]_*.txt; do
        notebook=$(basename "$expected" .txt)
        check "output of $notebook is as committed" prints $notebook "$B/$notebook"
    done
    escape=$(printf '\033')
    if command -v script > /dev/null; then # a terminal of its own
        terminal="script -qec '$RUN \"$B/04_self_attention\" \"$work\"' /dev/null"
        env -u NO_COLOR TERM=xterm sh -c "$terminal" > "$work/colour" 2>&1 < /dev/null
        check "a terminal gets colours" grep -q "$escape\[" "$work/colour"
        env NO_COLOR=1 TERM=xterm sh -c "$terminal" > "$work/plain" 2>&1 < /dev/null
        check "NO_COLOR: none" uncoloured "$work/plain"
    else
        echo "skip script is not installed"
    fi
    run "$B/04_self_attention" "$work" > "$work/plain"
    check "a pipe gets none" uncoloured "$work/plain"
    check "an error names the argument" names_argument
    for notebook in 07_kv_cache 08_threads; do
        [ -c /dev/full ] || continue
        check "$notebook: no room for the output" says_full \
            'the output cannot be written: No space left on device' $notebook
    done
}

# Public functions that README's table lacks.
missing_in_readme() {
    while read -r name; do grep -q "^|.*\`$name\`.*|" README.md || echo "$name"; done < "$B/cover.h.names"
}

# program_of_readme SOURCE SAYS: it compiles and runs. The first is built as README says; so are the others if
# everything is checked, else they share the implementation that `make` has compiled.
program_of_readme() {
    name=$(basename "$1" .c) shared="-DATTN_INTERFACE_ONLY $B/attn.o"
    if [ "$level" = full ] || [ $name = readme_1 ]; then shared=; fi
    check "$name compiles" $CC -O2 $LDFLAGS -I. -o "$work/readme" "$1" $shared -lm ${shared:+-lpthread} || return
    run "$work/readme" > "$work/printed"
    check "$name runs" [ $? = 0 ]
}

programs_of_readme() {
    awk -v prefix="$work/readme_" '
        /^```c$/ { n++; on = 1; next }
        /^```/   { on = 0 }
        on       { print > (prefix n ".c") }' README.md
    for source in "$work"/readme_*.c; do program_of_readme "$source"; done
    sed -n '/^   QUICK START/,/^   Define ATTN_IMPLEMENTATION/s/^       //p' attn.h > "$work/doc.c"
    program_of_readme "$work/doc.c"
    check "doc prints its line" [ "$(cat "$work/printed")" = 'ok: 20 22.0334' ]
}

# is LANGUAGE SOURCE FLAGS...: it compiles as that without warnings.
is() {
    language=$1 source=$2 compiler=$CC; shift 2
    case $CC-$language in *clang*-c++*) compiler="$CC -x c++" ;; *-c++*) compiler="$(cxx_of "$CC") -x c++" ;; esac
    check "$(basename "$source" .c) is $language" compile $compiler -std=$language -O2 $warnings "$@" \
        -DATTN_INTERFACE_ONLY -c "$source" -o "$work/readme.o"
}

# The programs are C and C++. The recipes need the headers that README names, and no other; in C++ their initialisers
# are of its latest standard, and gcc would have all members there.
languages_of_readme() {
    {
        printf '#include %s\n' '"attn.h"' '<math.h>' '<stdint.h>' '<string.h>'
        awk '/^```c recipe$/ { on = 1; next } /^```/ { on = 0 } on' README.md
    } > "$work/recipes.c"
    check "README has recipes" [ "$(grep -c '^static' "$work/recipes.c")" -ge 8 ]
    languages=c99
    have "$(cxx_of "$CC")" && languages='c99 c++11 c++14 c++17 c++20'
    for language in $languages; do
        for program in "$work"/readme_*.c "$work/doc.c"; do is $language "$program"; done
        case $language in
        c99 | c++20) is $language "$work/recipes.c" -Wno-unused-function -Wno-missing-field-initializers ;;
        esac
    done
}

# What README says for CMake makes a library of attn.c, here without vectors, that programs and shared libraries link.
cmake_of_readme() {
    have cmake && shares || return
    mkdir -p "$work/cmake" && cp attn.h "$config/copy.c" "$config/copies.c" "$config/answer.h" "$work/cmake"
    printf '%s\n' '#define ATTN_IMPLEMENTATION' '#include "attn.h"' > "$work/cmake/attn.c"
    {
        printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(embedded C)'
        awk '/^```cmake$/ { on = 1; next } /^```/ { on = 0 } on' README.md
        for library in scalar best; do
            echo "add_library($library SHARED copy.c)"
            echo "target_compile_definitions($library PRIVATE ATTN_INTERFACE_ONLY COPY=copy_$library)"
            echo "target_link_libraries($library attn)"
        done
        printf '%s\n' 'add_executable(copies copies.c)' 'target_link_libraries(copies scalar best)'
    } > "$work/cmake/CMakeLists.txt"
    cmake_makes "$CC" && check "CMake for $CC: answer" run "$work/cmake/built/copies" &&
        check "CMake for $CC: no name of attn.h is shared" silent shared_names "$work/cmake/built/libbest.so"
    windows=x86_64-w64-mingw32-gcc
    command -v $windows > /dev/null && cmake_makes $windows -DCMAKE_SYSTEM_NAME=Windows &&
        check "CMake for $windows: without -lm" [ -z "$(grep -r -l -w -e -lm "$work/cmake/built")" ]
}
cmake_makes() { # COMPILER FLAGS...
    rm -rf "$work/cmake/built"
    name=$1; shift
    check "CMake for $name" env CC="$name" CFLAGS='-DATTN_NO_SIMD -DATTN_NO_TRAINING' \
        cmake -S "$work/cmake" -B "$work/cmake/built" "$@" &&
        check "CMake for $name: builds" cmake --build "$work/cmake/built"
}

part_readme() {
    check "README names every public function" silent missing_in_readme
    programs_of_readme
    languages_of_readme
    cmake_of_readme
}

# ==== Model files =================================================================================================

# says STATUS TEXT COMMAND...: the command ends with that status, and its messages hold TEXT.
says() {
    status=$1 text=$2; shift 2
    run "$@" > "$work/shown" 2> "$work/messages" < /dev/null
    got=$?
    [ $got = "$status" ] && grep -q -F -e "$text" "$work/messages" && return
    echo "status $got, messages:"; cat "$work/messages"; return 1
}

# shows EXPECTED COMMAND...: what the command prints is the committed text.
shows() { expected=$1; shift; run "$@" < /dev/null | diff "$expected" -; }

lines_agree() {
    printf 'hello world\r\n\nr\303\251sum\303\251\na' > "$work/lines"
    for lines_of in $models_tests/golden/unigram.model $models_tests/golden/unigram_bytes.model $models_tests/golden/unigram_suffix.model; do
        run "$B/tokenize" --ids "$lines_of" < "$work/lines" > "$work/ids"
        run "$B/tokenize" --ids "$lines_of" "$(printf 'hello world\r')" '' "$(printf 'r\303\251sum\303\251')" a |
            diff - "$work/ids" || return 1
    done
}
escapes() {
    bytes=$models_tests/golden/unigram_bytes.model
    [ "$(run "$B/tokenize" --decode "$bytes" $(run "$B/tokenize" --ids "$bytes" "$(printf 'a\tb')"))" = 'a\x09b' ]
}
gives_back() { [ "$(run "$B/tokenize" --decode "$model" $(run "$B/tokenize" --ids "$model" "$1"))" = "$1" ]; }

# says_full TEXT TOOL ARGUMENTS...: the tool, whose output has no room, fails and says so.
says_full() {
    text=$1 tool=$B/$2; shift 2
    run "$tool" "$@" > /dev/full 2> "$work/messages"
    [ $? = 1 ] && grep -q -x -F -e "$text" "$work/messages"
}

# A file without an end is read no further than its header says that it goes.
stops_reading() {
    { printf '\002\0\0\0\0\0\0\0{}'; cat /dev/zero; } | run "$B/tensors" /dev/stdin > "$work/messages" 2>&1
    [ $? = 1 ] && grep -q 'after the last tensor$' "$work/messages"
}

# says_endless PROGRAM ARGUMENTS...: a line of the input that seems to have no end ends the program, with a message.
says_endless() {
    tool=$1; shift
    head -c 68200000 /dev/zero | run "$B/$tool" "$@" > "$work/shown" 2> "$work/messages"
    [ $? = 1 ] && grep -q -x "$tool: the input has a line without an end: more than 67108864 bytes" "$work/messages"
}

# Makes the second half of the weights NaN.
not_numbers='size=$(wc -c < model.safetensors) && head -c $((size / 2)) model.safetensors > half &&
    head -c $((size - size / 2)) /dev/zero | tr "\0" "\377" >> half && mv half model.safetensors'

# refused NAME CAUSE TOOL BYTES: the tool refuses a file of these bytes, given as printf has them.
refused() {
    printf "$4" > "$work/hostile file"
    check "$3 refuses $1" says 1 "$3: $work/hostile file: $2" "$B/$3" "$work/hostile file"
}

# ==== Translation =================================================================================================

t5() { run "$B/05_translate" "$@"; }

# Lines as they come: CRLF, empty, blank, too long, NUL, no UTF-8, none at the end. Each has its line of output, in
# batches of any size and with any number of threads the same, which is that of the text alone.
translates_lines() {
    {
        printf 'The house.\r\n\n \t\r\n'
        head -c 1048577 /dev/zero | tr '\0' x
        printf '\nIs it wonderful?\na\0b\n\377\nthe last'
    } > "$work/lines"
    t5 "$model" < "$work/lines" > "$work/lines.out" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/messages")" = '05_translate: the input: line 4: more than 1048576 bytes' ] || return 1
    for options in '--batch 1' '--batch 3 --threads 1' '--batch=4096 --threads 2'; do
        t5 $options "$model" < "$work/lines" 2>&1 > "$work/lines.again" | cmp - "$work/messages" &&
            cmp "$work/lines.out" "$work/lines.again" || return 1
    done
    t5 "$model" 'The house.' '' ' ' '' 'Is it wonderful?' > "$work/texts.out" &&
        t5 "$model" 'the last' > "$work/last.out" &&
        [ "$(wc -l < "$work/lines.out")" -eq 8 ] && head -n 5 "$work/lines.out" | cmp - "$work/texts.out" &&
        tail -n 1 "$work/lines.out" | cmp - "$work/last.out" && grep -q . "$work/last.out"
}
translates_nothing() {
    [ -z "$(t5 "$model" < /dev/null)" ] && t5 --timing "$model" '' ' ' > "$work/blank" 2> "$work/messages" &&
        printf '\n\n' | cmp - "$work/blank" && grep -q '^encoded 0 tokens 0[.]0[0-9]* s 0.0 tokens/s$' "$work/messages"
}

# same "OPTION..." "OPTION...": both translate alike. differ: they do not.
both() {
    t5 --ids --scores $1 "$model" "$sentence" > "$work/one" && [ -s "$work/one" ] &&
        t5 --ids --scores $2 "$model" "$sentence" > "$work/other"
}
same()   { both "$1" "$2" && cmp "$work/one" "$work/other"; }
differ() { both "$1" "$2" && ! cmp -s "$work/one" "$work/other"; }

prints_scores() {
    t5 --scores "$model" "$sentence" | tee "$work/scores" | cut -f 2- > "$work/one"
    t5 --scores --ids "$model" "$sentence" | tee -a "$work/scores" | cut -f 2- > "$work/other"
    [ "$(grep -c -E '^-[0-9]+\.[0-9]{6}	' "$work/scores")" = 2 ] && grep -q -x -E '[0-9]+( [0-9]+)* 1' "$work/other" &&
        t5 "$model" "$sentence" | cmp - "$work/one" && t5 --ids "$model" "$sentence" | cmp - "$work/other"
}
prints_times() {
    t5 --timing "$model" "$sentence" > "$work/output" 2> "$work/messages"
    [ "$(sed 's/[0-9.]*[0-9]/N/g' "$work/messages" | head -n 3)" = 'loaded N s
encoded N tokens N s N tokens/s
decoded N tokens N s N tokens/s' ] && ! sed 1,3d "$work/messages" | grep -v -x 'peak memory [0-9.]* MiB'
}
stops() { [ "$(t5 --ids --max-length 4 "$model" "$sentence" | wc -w)" -eq 3 ]; }
repeats_nothing() { [ -z "$(t5 --ids --no-repeat-ngram 1 "$model" "$sentence" | tr ' ' '\n' | sort | uniq -d)" ]; }

draws() {
    t5 --attention "$work/drawn.svg" "$model" 'The house <x>' > "$work/output" || return 1
    [ "$(wc -l < "$work/output")" -eq 1 ] || return 1
    for label in ▁translate ▁The ▁house '&#60;/s&#62;'; do
        grep -q "rotate.*>$label</text>" "$work/drawn.svg" || { echo "no $label"; return 1; }
    done
}

# refuses_options OPTION..: each, with `=` for its value, is wrong by itself.
refuses_options() {
    for option in "$@"; do
        says 2 "05_translate: ${option%%=*}" "$B/05_translate" "$option" "$model" text || return 1
    done
}

# damaged NAME FILE COMMAND: the model, after a command in its directory, is refused with a message that names the file.
damaged() {
    rm -rf "$work/model" && mkdir "$work/model" && cp "$model"/* "$work/model" && (cd "$work/model" && eval "$3")
    check "05_translate: $1" says 1 "05_translate: $work/model$2" "$B/05_translate" "$work/model" "$sentence"
}

# The command line of examples/05_translate.c.
translator() {
    model=$models_tests/golden/t5/t5_f32 sentence='The house is wonderful.'
    t5 --help > "$work/shown"
    check "05_translate --help" grep -q '^usage: 05_translate' "$work/shown"
    check "05_translate: lines, batches, threads" translates_lines
    check "05_translate: nothing to translate" translates_nothing
    check "05_translate: a line without an end" says_endless 05_translate "$model"
    check "05_translate: too many tokens" says 1 "05_translate: text 2: more than " \
        "$B/05_translate" "$model" one "$(yes x | head -n 5000)"
    check "05_translate: a text that begins with --" [ -n "$(t5 "$model" -- --beams)" ]
    check "05_translate: options after the texts" \
        [ "$(t5 "$model" "$sentence" --ids)" = "$(t5 --ids "$model" "$sentence")" ]
    check "05_translate --scores, --ids" prints_scores
    check "05_translate --timing" prints_times
    check "05_translate --greedy is one beam" same --greedy --beams=1
    check "05_translate --beams is 4" same '' '--beams 4'
    check "05_translate --beams matters" differ '--beams 1' '--beams 4'
    check "05_translate --to is fr" same '' '--from en --to fr'
    check "05_translate --to de" same '--to de' '--from=en --to=de'
    check "05_translate --to matters" differ '--to de' '--to ro'
    check "05_translate --prefix" differ '--prefix=' ''
    check "05_translate --max-length" stops
    check "05_translate --max-length is 300" same '' '--max-length 300'
    check "05_translate --no-repeat-ngram" repeats_nothing
    check "05_translate --length-penalty" differ '' '--length-penalty -2.5e0'
    check "05_translate --length-penalty is 1" same '' '--length-penalty 1.0'
    check "05_translate --no-early-stopping" differ '' --no-early-stopping
    check "05_translate --attention" draws
    check "05_translate --attention: no such directory" says 1 \
        "05_translate: $work/none/x.svg: cannot be written: " \
        "$B/05_translate" --attention "$work/none/x.svg" "$model" "$sentence"
    check "05_translate --attention of too many pieces" says 1 "--attention: more than 1000 pieces on a side" \
        "$B/05_translate" --max-length 2 --greedy --attention "$work/x.svg" "$model" "$(yes x | head -n 1100)"
    check "05_translate --attention of a blank text" says 1 "--attention" \
        "$B/05_translate" --attention "$work/x.svg" "$model" ' '
    check "05_translate --attention of two texts" says 2 "--attention takes exactly one TEXT" \
        "$B/05_translate" --attention "$work/x.svg" "$model" one two
    check "05_translate --attention of lines" says 2 "--attention takes exactly one TEXT" \
        "$B/05_translate" --attention "$work/x.svg" "$model"
    check "05_translate: numbers" refuses_options --beams= --beams=0 --beams=x --beams=4x --beams=-1 --beams=1025 \
        --beams=18446744073709551617 --max-length=1 --max-length=1000001 --length-penalty=nan --length-penalty=1e999 \
        --length-penalty= --length-penalty=1,5 --no-repeat-ngram=-1 --batch=0 --batch=4097 --threads=1025 --threads=+1
    check "05_translate: languages" refuses_options --from=de --to=en --to= --greedy=1 --attention=
    check "05_translate: more beams than half of the tokens" says 2 "--beams" "$B/05_translate" --beams 1024 "$model" a
    check "05_translate --greedy --beams" says 2 "--greedy" "$B/05_translate" --greedy --beams 2 "$model" a
    check "05_translate --prefix --to" says 2 "--prefix" "$B/05_translate" --prefix x --to de "$model" a
    check "05_translate: an unknown option" says 2 "no option '--beam'" "$B/05_translate" --beam 2 "$model" a
    check "05_translate: an option without its value" says 2 "--beams needs a value" "$B/05_translate" "$model" --beams
    check "05_translate: no model" says 2 "the directory of a model is missing" "$B/05_translate"
    check "05_translate: no such model" says 1 "$work/none/config.json" "$B/05_translate" "$work/none" a
    for file in config.json model.safetensors spiece.model; do
        damaged "no $file" /$file "rm $file"
        damaged "half of $file" /$file "head -c \$((\$(wc -c < $file) / 2)) $file > half && mv half $file"
        damaged "an empty $file" /$file ": > $file"
        damaged "a $file without an end" /$file "ln -sf /dev/zero $file"
    done
    damaged "weights that are no numbers" ": the logits are not finite" "$not_numbers"
    damaged "two files changed places" / 'mv spiece.model x; mv model.safetensors spiece.model; mv x model.safetensors'
    if [ -c /dev/full ]; then
        check "05_translate: no room for the output" says_full "05_translate: the output cannot be written" \
            05_translate "$model" "$sentence"
        check "05_translate: no room for the help" says_full "05_translate: the output cannot be written" \
            05_translate --help
    fi
}

part_tools() {
    model=$models_tests/golden/unigram.model tensors=$models_tests/golden/types.safetensors
    check "tokenize shows pieces, ids and scores" shows $models_tests/golden/tokenize.out "$B/tokenize" "$model" \
        'Hello <extra_id_0> world' '' "$(printf 'caf\303\251 \033[31m \360\237\230\200 \377')"
    check "tokenize reads lines" lines_agree
    check "tokenize gives text back" gives_back 'the house'
    check "tokenize --decode escapes control characters" escapes
    check "tokenize: an id that is not there" says 1 "tokenize: $model: an id that the model does not have" \
        "$B/tokenize" --decode "$model" 123456
    check "tokenize: not an id" says 1 "tokenize: number 2 of the ids is not an id" "$B/tokenize" --decode "$model" 5 5x
    check "tokenize: contradictory options" says 2 "usage: tokenize" "$B/tokenize" --ids --decode "$model" 5
    check "tokenize: usage" says 2 "usage: tokenize" "$B/tokenize"
    check "tokenize: an unknown option" says 2 "usage: tokenize" "$B/tokenize" --idz "$model" text
    check "tokenize: no such file" says 1 "tokenize: $work/none: cannot be opened" "$B/tokenize" "$work/none" text
    check "tokenize: a directory" says 1 "tokenize: $work: cannot be read" "$B/tokenize" "$work" text
    refused "an empty model" "no pieces" tokenize ''
    refused "a truncated model" "byte 2: a field is longer than its message" tokenize '\n\005\n'
    refused "an endless number" "byte 5: a number is too long" tokenize '\377\377\377\377\377\377\377\377\377\377\377'
    refused "a model without an unknown piece" "no unknown piece" tokenize '\n\003\n\001a'

    check "tensors shows types, shapes and values" shows $models_tests/golden/tensors.out "$B/tensors" "$tensors"
    cat "$tensors" | run "$B/tensors" /dev/stdin | sed "s,^/dev/stdin,$tensors," > "$work/piped"
    check "tensors reads a pipe" diff $models_tests/golden/tensors.out "$work/piped"
    check "tensors stops where a pipe should" stops_reading
    check "tensors without mmap compiles" $CC $LDFLAGS -DSAFETENSORS_NO_MMAP -o "$work/tensors" \
        examples/models/tensors.c examples/models/safetensors.c examples/models/json.c &&
        check "tensors without mmap" shows $models_tests/golden/tensors.out "$work/tensors" "$tensors"
    if [ -c /dev/full ]; then
        check "tokenize: no room for the output" says_full "tokenize: the output cannot be written" tokenize "$model" text
        check "tensors: no room for the output" says_full "tensors: the output cannot be written" tensors "$tensors"
    fi
    check "tensors: usage" says 2 "usage: tensors" "$B/tensors"
    check "tensors: no such file" says 1 "tensors: $work/none: cannot be opened" "$B/tensors" "$work/none"
    check "tensors: a directory" says 1 "tensors: $work: cannot be read" "$B/tensors" "$work"
    refused "an empty file" "no header length" tensors ''
    refused "a header past the end" "a header of 3 bytes in a file of 10" tensors '\003\0\0\0\0\0\0\0{}'
    refused "a huge header" "a header of 9223372036854775807 bytes is too large" tensors \
        '\377\377\377\377\377\377\377\177{}'
    refused "half a surrogate pair" "header, byte 2: half a surrogate pair" tensors \
        '\014\0\0\0\0\0\0\0{"\\ud800":1}'
    translator
}

# ==== Search ======================================================================================================

search() { run "$B/12_search" "$@"; }

# Lines as they come: CRLF, empty, blank, twice, what a terminal would obey, no UTF-8, NUL, too long, no end.
make_notes() {
    mkdir -p "$work/notes" && rm -rf "$work/notes"/* || return
    {
        printf 'The cat sat on the mat.\r\n\n \t\nhow do I reset my password?\nit was the worst of times\n'
        printf 'The cat sat on the mat.\n\033[31m was \302\233 it\n\377\376 token\na\0b\n'
        head -c 1048577 /dev/zero | tr '\0' x
        printf '\nthe last line'
    } > "$notes"
}
long_line="12_search: $work/notes/notes.txt: line 10: more than 1048576 bytes"

# finds QUERY LINE TEXT: the query is nearest to itself.
finds() {
    search --top 1 "$model" "$notes" -- "$1" > "$work/found" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/messages")" = "$long_line" ] && [ "$(cat "$work/found")" = "1.0000	$2	$3" ] && return
    cat "$work/found" "$work/messages"; return 1
}
finds_all() {
    finds 'the CAT sat on the mat.' 1 'The cat sat on the mat.' &&
        finds "$(printf '\377 token')" 8 "$(printf '\357\277\275\357\277\275 token')" &&
        finds ' the last line' 11 'the last line' && finds '[31m was it' 7 ' [31m was   it' && finds ab 9 'a b'
}
finds_each_once() {
    search --top 100 "$model" "$notes" x > "$work/found" 2> /dev/null
    [ "$(cut -f 2 "$work/found" | sort -n | tr '\n' ' ')" = '1 4 5 7 8 9 11 ' ] && cut -f 1 "$work/found" | sort -r -c
}
takes_queries() { # the same from the input, in batches of lines as they come, on any number of threads
    printf 'worst cat\r\n\n \nthe age of wisdom' > "$work/queries"
    for options in '' '--threads 1' '--threads=2 --top 5'; do
        search $options "$model" "$notes" < "$work/queries" > "$work/found" 2> /dev/null
        search "$model" "$notes" 'worst cat' '' ' ' 'the age of wisdom' 2> /dev/null | cmp - "$work/found" || return 1
        [ "$(grep -c . "$work/found")" = 10 ] && [ "$(grep -c '^$' "$work/found")" = 4 ] || return 1
    done
    search "$model" "$notes" 'worst cat' > "$work/one" 2> /dev/null
    head -n 5 "$work/found" | cmp - "$work/one"
}
finds_nothing() { [ -z "$(search "$model" "$notes" "$@" 2> /dev/null < /dev/null)" ]; }
says_long_query() {
    { head -c 1048577 /dev/zero | tr '\0' x; printf '\ncat\n'; } > "$work/queries"
    search --top 1 "$model" "$small" < "$work/queries" > "$work/found" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/messages")" = '12_search: the input: line 1: more than 1048576 bytes' ] &&
        [ "$(wc -l < "$work/found")" -eq 3 ]
}

says_large() { # BYTES CHARACTER MESSAGE: of a file that would take all memory
    head -c "$1" /dev/zero | tr '\0' "$2" | search --threads 1 "$model" /dev/stdin cat \
        > "$work/found" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/messages")" = "12_search: /dev/stdin: $3" ]
}

has_no_memory() (ulimit -v 150000; says_large 4194304 '\n' 'no memory')

# --embed: 11 rows of 32 floats; of blank lines zeros, of equal ones the same; nothing is read from the input.
embeds() {
    for threads in 1 2; do
        echo cat | search --threads $threads --embed "$work/$threads.npy" "$model" "$notes" > "$work/found" 2> /dev/null
        [ $? = 1 ] && [ ! -s "$work/found" ] &&
            [ "$(wc -c < "$work/$threads.npy")" -eq $((128 + 11 * 32 * 4)) ] || return 1
    done
    cmp "$work/1.npy" "$work/2.npy" && head -c 128 "$work/1.npy" | grep -q -a "'shape': (11, 32), }" || return 1
    row 1 > "$work/row.1" && row 6 | cmp - "$work/row.1" && head -c 128 /dev/zero > "$work/zeros" &&
        row 2 | cmp - "$work/zeros" && row 10 | cmp - "$work/zeros" && ! row 11 | cmp -s - "$work/zeros" &&
        ! row 4 | cmp -s - "$work/row.1"
}
row() { tail -c +$((129 + ($1 - 1) * 128)) "$work/1.npy" | head -c 128; }

# indexed LINES MESSAGE: a search with an index embeds so many lines, and says this; it finds what one without finds.
indexed() {
    search --index --timing "$model" "$small" 'worst cat' > "$work/found" 2> "$work/messages" || return 1
    search "$model" "$small" 'worst cat' | cmp - "$work/found" || return 1
    said=$(sed '/^loaded /,$d' "$work/messages")
    grep -q "^embedded $1 lines " "$work/messages" &&
        [ "$said" = "${2:+12_search: $small.attn-index: $2; it is made anew}" ] &&
        [ "$(ls "$work/notes" | tr '\n' ' ')" = 'notes.txt small.txt small.txt.attn-index ' ] && return
    cat "$work/messages"; ls "$work/notes"; return 1
}
keeps_index() {
    rm -f "$small.attn-index"
    printf 'the cat\nthe mat\nthe cat\n' > "$small"
    indexed 2 && indexed 0 && printf 'the cat\nthe age\nthe cat\n' > "$small" && indexed 2 && indexed 0 || return 1
    model=$models_tests/golden/bert/bf16 && indexed 2 && indexed 0 || return 1
    model=$models_tests/golden/bert/f32 && indexed 2 && indexed 0 || return 1
    cp "$small.attn-index" "$work/index"
    head -c 100 "$work/index" > "$small.attn-index" && indexed 2 'is not whole' && indexed 0 || return 1
    { cat "$work/index"; echo; } > "$small.attn-index" && indexed 2 'goes on after its end' && indexed 0 || return 1
    { head -c 60 "$work/index"; printf 'x'; tail -c +62 "$work/index"; } > "$small.attn-index"
    indexed 2 'is damaged' && indexed 0 && cmp "$work/index" "$small.attn-index" || return 1
    echo 'my own file' > "$small.attn-index" && indexed 2 'is no index of vectors' && indexed 0 || return 1
    : > "$small.attn-index" && indexed 2 'is not whole' && indexed 0
}
# An index that cannot be written is told; what was there stays, and what was asked for is found.
no_room_for_index() {
    printf 'the cat\nthe mat\n' > "$small" && rm -f "$small.attn-index" && mkdir "$small.attn-index" || return 1
    search --index "$model" "$small" 'the mat' > "$work/found" 2> "$work/messages"
    status=$?
    rmdir "$small.attn-index" || return 1
    [ $status = 1 ] && grep -q '^1.0000	2	the mat$' "$work/found" &&
        grep -q -F "12_search: $small.attn-index: cannot be read" "$work/messages" &&
        grep -q -F "12_search: $small.attn-index: cannot be written" "$work/messages" &&
        [ ! -e "$small.attn-index.part" ]
}
no_room_on_disk() {
    awk 'BEGIN { for (i = 0; i < 40; i++) print "the cat", i }' > "$small"
    echo before > "$small.attn-index"
    (trap '' XFSZ; ulimit -f 1
        search --index "$model" "$small" 'the cat' > "$work/found.full" 2> "$work/messages.full")
    [ -s "$work/found.full" ] && grep -q 'attn-index: cannot be written' "$work/messages.full" &&
        [ "$(cat "$small.attn-index")" = before ] && [ ! -e "$small.attn-index.part" ]
}
prints_search_times() {
    search --timing "$model" "$small" cat > "$work/output" 2> "$work/messages" || return 1
    [ "$(sed 's/[0-9.]*[0-9]/N/g' "$work/messages" | head -n 4)" = 'loaded N s
embedded N lines N s N lines/s
embedded N tokens N s N tokens/s
of that products N s N Gflop/s, attention N s' ] && ! sed 1,4d "$work/messages" | grep -v -x 'peak memory [0-9.]* MiB'
}
refuses_search_options() {
    for option in "$@"; do
        says 2 "12_search: ${option%%=*}" "$B/12_search" "$option" "$model" "$small" cat || return 1
    done
}
damaged_encoder() {
    rm -rf "$work/model" && cp -R "$model" "$work/model" && (cd "$work/model" && eval "$3")
    check "12_search: $1" says 1 "12_search: $work/model$2" "$B/12_search" "$work/model" "$small" cat
}

# The command line of examples/12_search.c.
part_search() {
    model=$models_tests/golden/bert/f32 notes=$work/notes/notes.txt small=$work/notes/small.txt
    make_notes && printf 'the cat\n' > "$small"
    search --help > "$work/shown"
    check "12_search --help" grep -q '^usage: 12_search' "$work/shown"
    check "12_search finds lines of all kinds" finds_all
    check "12_search finds equal lines once and no blank ones" finds_each_once
    check "12_search: queries, threads" takes_queries
    check "12_search: nothing to find" finds_nothing ''
    check "12_search: no query" finds_nothing
    check "12_search: a query that is too long" says_long_query
    check "12_search: a line without an end" says_endless 12_search "$model" "$small"
    check "12_search: a file without an end" says_large 268435457 x 'more than 268435456 bytes'
    check "12_search: too many lines" says_large 4194305 '\n' 'more than 4194304 lines'
    check "12_search: as many as may be" says_large 4194304 '\n' 'there is no line to search'
    if [ -z "$RUN" ] && (ulimit -v 150000; search --threads 1 "$model" "$small" cat) > /dev/null 2>&1; then
        check "12_search: no memory for the lines" has_no_memory
    fi
    check "12_search --embed" embeds
    check "12_search --timing" prints_search_times
    check "12_search --index" keeps_index
    check "12_search --index: no place" no_room_for_index
    if (trap '' XFSZ; ulimit -f 1) 2> /dev/null && [ -z "$RUN" ]; then
        check "12_search --index: no room on the disk" no_room_on_disk
    fi
    rm -f "$small.attn-index" && printf 'the cat\n' > "$small"
    printf '\n \r\n' > "$work/blank" && : > "$work/empty"
    for file in blank empty; do
        check "12_search: a file that is $file" says 1 "12_search: $work/$file: there is no line to search" \
            "$B/12_search" "$model" "$work/$file" a
    done
    check "12_search: no such file" says 1 "12_search: $work/none: No such file" "$B/12_search" "$model" "$work/none" a
    check "12_search: a directory" says 1 "12_search: $work: Is a directory" "$B/12_search" "$model" "$work" a
    check "12_search --embed: no such directory" says 1 "$work/none/x.npy: cannot be written: No such file" \
        "$B/12_search" --embed "$work/none/x.npy" "$model" "$small"
    check "12_search: numbers" refuses_search_options --top=0 --top=x --top=1000001 --threads=1025 --threads=-1 \
        --embed= --index=1
    check "12_search: an unknown option" says 2 "no option '--find'" "$B/12_search" --find 2 "$model" "$small" a
    check "12_search: no file" says 2 "the file to search is missing" "$B/12_search" "$model"
    check "12_search: no model" says 2 "the directory of a model is missing" "$B/12_search"
    check "12_search: no such model" says 1 "$work/none/config.json" "$B/12_search" "$work/none" "$small" a
    for file in config.json model.safetensors vocab.txt modules.json 1_Pooling/config.json sentence_bert_config.json; do
        case $file in config.json | model.safetensors | 1_*) damaged_encoder "no $file" /$file "rm $file" ;; esac
        [ $file = vocab.txt ] || # which is a smaller vocabulary
            damaged_encoder "half of $file" / "head -c \$((\$(wc -c < $file) / 2)) $file > half && mv half $file"
        damaged_encoder "an empty $file" / ": > $file"
        damaged_encoder "a $file without an end" /$file "ln -sf /dev/zero $file"
    done
    damaged_encoder "weights that are no numbers" ": a vector is not finite" "$not_numbers"
    if [ -c /dev/full ]; then
        check "12_search: no room for the output" says_full "12_search: the output cannot be written" \
            12_search "$model" "$small" a
        check "12_search: no room for the help" says_full "12_search: the output cannot be written" 12_search --help
        check "12_search --embed: no room" says 1 "12_search: /dev/full: cannot be written: No space left on device" \
            "$B/12_search" --embed /dev/full "$model" "$small"
    fi
}

# ==== Texts continued ============================================================================================

generate() { run "$B/13_generate" "$@"; }

# greedy OPTION...: the likeliest tokens, on one thread, without a penalty; "$model" and a text are among the options.
greedy() { generate --greedy --repetition-penalty 1 --threads 1 "$@"; }

# continues FILE COMMAND...: what the command prints is what transformers' generate() has found.
continues() { expected=$1; shift; "$@" < /dev/null | cmp - "$expected"; }

# The prompt as an argument, as the input with any end of its line, and as ids; every cache; threads.
continues_prompts() {
    continues $model/stopped.out greedy $model "$prompt" &&
        continues $model/stopped_ids.out greedy --ids $model "$prompt" &&
        greedy $model < $model/prompt.txt | cmp - $model/stopped.out &&
        printf '%s' "$prompt" | greedy $model | cmp - $model/stopped.out &&
        printf '%s\r\n' "$prompt" | greedy $model | cmp - $model/stopped.out || return 1
    for cache in f32 f16 bf16 i8; do
        continues $model/stopped_ids.out greedy --cache $cache --ids --prompt-ids "$(cat $model/ids.txt)" $model ||
            return 1
    done
    continues $model/stopped.out greedy --threads 2 $model "$prompt"
}
continues_pieces() { # with tokenizer.model
    pieces=$work/pieces
    rm -rf "$pieces" && cp -R ${model}_model "$pieces" && cp $model/model.safetensors "$pieces" || return 1
    continues ${model}_model/text.out greedy --max-tokens 32 "$pieces" "$prompt" &&
        continues ${model}_model/ids.out greedy --ids --max-tokens 32 "$pieces" "$prompt" &&
        continues ${model}_model/ids.out greedy --ids --max-tokens 32 --prompt-ids "$(cat ${model}_model/ids.txt)" \
            "$pieces"
}

# The first piece of a text has no space in front, that of a continuation has.
begins_texts() {
    drawn='--seed 7 --temperature 5 --top-k 0 --top-p 1 --max-tokens 4'
    generate $drawn --prompt-ids 1 "$pieces" > "$work/one" && generate $drawn "$pieces" '' > "$work/other" &&
        grep -q '^ [a-z]' "$work/one" && sed '1s/^ //' "$work/one" | cmp - "$work/other"
}

# Without the stop of generation_config.json, and without that file: 48 tokens, of which --max-tokens takes the first.
goes_on() {
    rm -rf "$work/model" && cp -R $model "$work/model" && rm "$work/model/generation_config.json" || return 1
    continues $model/long.out generate --ids --max-tokens 48 --threads 1 "$work/model" "$prompt" || return 1
    [ "$(greedy --ids --max-tokens 7 "$work/model" "$prompt")" = "$(cut -d ' ' -f 1-7 $model/long.out)" ]
}

# Before a text of several tokens, and one whose beginning came before.
stops_before() {
    bad='\357\277\275' # U+FFFD, for bytes that are no character
    printf "W$bad$bad\\032\\024G$bad$bad$bad \\n" > "$work/one"
    greedy --stop 'to\' $model "$prompt" | cmp - "$work/one" || return 1
    printf "W$bad$bad\\032\\024G$bad$bad$bad to\\134\\007@$bad\\n" > "$work/one"
    greedy --stop ' ke' $model "$prompt" | cmp - "$work/one"
}
stops_nowhere() { continues $model/stopped.out greedy --stop 'no such text' $model "$prompt"; }

# A text that ends before its first byte: with a token that stops it, or with special ones, which have no bytes.
ends_before_it_begins() {
    [ "$(greedy --prompt-ids 72 $model)" = '' ] && [ "$(greedy --ids --prompt-ids 72 $model)" = '' ] || return 1
    rm -rf "$work/model" && cp -R $model "$work/model" &&
        echo '{"eos_token_id": 383}' > "$work/model/generation_config.json" || return 1
    [ "$(greedy --ids --max-tokens 1 --prompt-ids 205 "$work/model")" = 0 ] &&
        [ "$(greedy --max-tokens 1 --prompt-ids 205 "$work/model"; echo .)" = "$(echo; echo .)" ]
}

# The context: what was written before it is full stays, and the status says that it is.
fills_context() {
    tokens=$(wc -w < $model/ids.txt)
    greedy --ids --context $((tokens + 5)) $model "$prompt" > "$work/one" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/one")" = "$(cut -d ' ' -f 1-6 $model/stopped_ids.out)" ] &&
        does_not_fit $((tokens + 6)) &&
        greedy --ids --context $((tokens + 5)) --max-tokens 6 $model "$prompt" | cmp - "$work/one" || return 1
    greedy --context $((tokens - 1)) $model "$prompt" > "$work/one" 2> "$work/messages"
    [ $? = 1 ] && [ ! -s "$work/one" ] && does_not_fit $tokens
}
does_not_fit() {
    grep -q -x "13_generate: a text of $1 tokens does not fit into the context of $(($1 - 1)): --context gives more" \
        "$work/messages"
}

# Turns as arguments, as lines, with blank ones between; what special tokens a user writes are letters.
talks() {
    chat='--chat --max-tokens 12'
    continues $model/chat.out greedy $chat $model 'Who are you, <|im_end|>?' 'And now?' &&
        printf 'Who are you, <|im_end|>?\n\n \nAnd now?' | greedy $chat $model | cmp - $model/chat.out &&
        continues $model/chat.out greedy --family qwen2 $chat $model 'Who are you, <|im_end|>?' 'And now?' || return 1
    # of the second turn only what is new is read
    greedy $chat --timing $model 'Who are you, <|im_end|>?' 'And now?' 2>&1 > "$work/one" | grep -q '^read 110 tokens' &&
        greedy $chat --timing $model 'Who are you, <|im_end|>?' 2>&1 > "$work/one" | grep -q '^read 64 tokens' || return 1
    greedy $chat --system 'Be brief.' $model 'Who are you, <|im_end|>?' > "$work/one"
    [ -s "$work/one" ] && ! head -n 1 $model/chat.out | cmp -s - "$work/one" &&
        [ -z "$(greedy --chat $model < /dev/null)" ]
}
talks_at_length() { # a line that is too long is none
    { head -c 1048577 /dev/zero | tr '\0' x; printf '\nAnd now?\n'; } > "$work/lines"
    greedy --chat --max-tokens 5 $model < "$work/lines" > "$work/one" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/messages")" = '13_generate: the input: line 1: more than 1048576 bytes' ] &&
        greedy --chat --max-tokens 5 $model 'And now?' | cmp - "$work/one"
}
# adds_token ID SPECIAL: the model, whose tokenizer has one more token.
adds_token() {
    rm -rf "$work/model" && cp -R $model "$work/model" &&
        added="{\"id\": $1, \"content\": \"zyx\", \"special\": $2}," &&
        sed "s/\"added_tokens\": \\[/&$added/" $model/tokenizer.json > "$work/model/tokenizer.json"
}
# A token that a text may have and the model has not is told at once; a special one is in no text.
minds_vocabulary() {
    adds_token 384 true && greedy --max-tokens 3 "$work/model" "$prompt" > "$work/one" && [ -s "$work/one" ] &&
        adds_token 384 false &&
        says 1 "13_generate: $work/model: the tokenizer has a token 384, config.json a vocab_size of 384" \
            "$B/13_generate" --prompt-ids 1 "$work/model"
}
# A token of the template that the model has not is told before the first turn.
minds_template() {
    rm -rf "$work/model" && cp -R $model "$work/model" &&
        sed -e 's/"id": 2,/"id": 384,/' -e 's/"<|im_end|>": 2/"im_end": 2/' $model/tokenizer.json \
            > "$work/model/tokenizer.json" || return 1
    says 1 "13_generate: $work/model: the chat template qwen2 needs a token <|im_end|>, which is 384: config.json has" \
        "$B/13_generate" --chat "$work/model"
}
# The model is named by its directory, whatever a message begins with, and as text for people.
names_model() (
    rm -rf "$work/t" && cp -R $model "$work/t" && cd "$work" || return 1
    says 1 '13_generate: t: token 5000 is not in the vocabulary' ../13_generate --prompt-ids 5000 t &&
        says 1 '13_generate: k\x1b[31m\xc2\x85/config.json: ' ../13_generate "$(printf 'k\033[31m\302\205')"
)
# An answer ends at the family's token, whatever the model's files say.
ends_turns() {
    rm -rf "$work/model" && cp -R $model "$work/model" &&
        echo '{"eos_token_id": 0}' > "$work/model/generation_config.json" || return 1
    [ "$(generate --chat --seed 11 --temperature 2 --max-tokens 200 --ids "$work/model" a | wc -w)" -lt 200 ]
}
shows_templates() { # from config.json and the tokenizer alone
    rm -rf "$work/model" && mkdir "$work/model" && cp $model/config.json $model/tokenizer*.json "$work/model" || return 1
    [ "$(generate --chat --template --ids "$work/model" Hi)" = "$(generate --chat --template --ids $model Hi)" ] || return 1
    [ "$(generate --chat --template --system 'A b.' $model Hi)" = '<|im_start|>system
A b.<|im_end|>
<|im_start|>user
Hi<|im_end|>
<|im_start|>assistant' ] || return 1
    echo Hi | generate --chat --template --ids --family gemma $model 2> "$work/messages"
    [ $? = 1 ] && grep -q "^13_generate: $model: the chat template gemma needs a token <bos>," "$work/messages" &&
        generate --chat --template --ids $model Hi | grep -q -x '[0-9][0-9]*\( [0-9][0-9]*\)*' || return 1
    generate --chat --template --family smollm3 --date '1 May 2030' --no-thinking $model Hi > "$work/one"
    grep -q -x 'Today Date: 1 May 2030' "$work/one" && grep -q -x 'Reasoning Mode: /no_think' "$work/one" &&
        grep -q -x '<think>' "$work/one" &&
        generate --chat --template --family qwen3 $model Hi | grep -q '<|im_start|>user'
}

# draws_same OPTIONS OPTIONS; draws_other: what the two print.
draws_both() {
    generate --ids $1 $model "$prompt" > "$work/one" && [ -s "$work/one" ] &&
        generate --ids $2 $model "$prompt" > "$work/other"
}
draws_same()  { draws_both "$1" "$2" && cmp "$work/one" "$work/other"; }
draws_other() { draws_both "$1" "$2" && ! cmp -s "$work/one" "$work/other"; }
own='--temperature 0.7 --top-k 20 --top-p 0.8 --repetition-penalty 1.1' # generation_config.json of the model

prints_generating_times() {
    greedy --timing --max-tokens 5 $model "$prompt" > "$work/one" 2> "$work/messages" || return 1
    [ "$(sed 's/[0-9.]*[0-9]/N/g' "$work/messages" | grep -v '^peak')" = 'loaded N s
read N tokens N s N tokens/s
wrote N tokens N s N tokens/s
cache N MiB for N tokens
seed N' ] && grep -q "^read $(wc -w < $model/ids.txt) tokens" "$work/messages" &&
        grep -q '^wrote 5 tokens' "$work/messages"
}
refuses_generate_options() {
    for option in "$@"; do
        says 2 "13_generate: ${option%%=*}" "$B/13_generate" "$option" $model text || return 1
    done
}
damaged_decoder() {
    rm -rf "$work/model" && cp -R $model "$work/model" && (cd "$work/model" && eval "$3")
    check "13_generate: $1" says 1 "13_generate: $work/model$2" "$B/13_generate" "$work/model" text
}

# Bytes that a terminal would obey reach no terminal: `script` is one.
minds_terminals() {
    greedy --ids --max-tokens 48 "$work/model" "$prompt" > "$work/one"
    script -q -e -c "$B/13_generate --greedy --threads 1 --max-tokens 48 '$work/model' '$prompt'" /dev/null \
        < /dev/null > "$work/shown" 2>&1 || return 1
    LC_ALL=C tr -d '\n\r\t' < "$work/shown" | LC_ALL=C grep -q '[[:cntrl:]]' && return 1
    [ -s "$work/shown" ]
}

# The command line of examples/13_generate.c.
part_generate() {
    model=$models_tests/golden/generate prompt=$(cat $models_tests/golden/generate/prompt.txt)
    generate --help > "$work/shown"
    check "13_generate --help" grep -q '^usage: 13_generate' "$work/shown"
    check "13_generate: greedy texts, ids, caches, threads" continues_prompts
    check "13_generate: tokenizer.model" continues_pieces
    check "13_generate: the beginning of a text" begins_texts
    check "13_generate --repetition-penalty" continues $model/penalty.out \
        generate --greedy --ids --max-tokens 20 --repetition-penalty 1.1 $model "$prompt"
    check "13_generate: generation_config.json says the penalty" continues $model/penalty.out \
        generate --temperature=0 --ids --max-tokens 20 $model "$prompt"
    check "13_generate --max-tokens, no generation_config.json" goes_on
    check "13_generate --stop" stops_before
    check "13_generate --stop: nowhere" stops_nowhere
    check "13_generate: no byte of a text" ends_before_it_begins
    check "13_generate --context" fills_context
    check "13_generate --chat" talks
    check "13_generate --chat: a long line" talks_at_length
    check "13_generate --chat: a line without an end" says_endless 13_generate --chat $model
    check "13_generate: more tokens than the model has" minds_vocabulary
    check "13_generate --chat: a template with more" minds_template
    check "13_generate: the name of the model" names_model
    check "13_generate --chat: the end of a turn" ends_turns
    check "13_generate --template" shows_templates
    check "13_generate --seed" draws_same '--seed 5' '--threads 2 --seed=5'
    check "13_generate --seed matters" draws_other '--seed 5' '--seed 6'
    check "13_generate: generation_config.json" draws_same '--seed 5' "--seed 5 $own"
    check "13_generate --temperature matters" draws_other "--seed 5 $own" "--seed 5 $own --temperature 3"
    check "13_generate --top-k 1 is greedy" draws_same "--seed 5 --top-k 1" --greedy
    check "13_generate --top-p 0 is greedy" draws_same "--seed 5 --top-p 0" --greedy
    check "13_generate --timing" prints_generating_times
    check "13_generate: numbers" refuses_generate_options --temperature=-1 --temperature=101 --temperature=nan \
        --top-p=1.5 --top-p=-0.1 --top-k=-1 --top-k=x --repetition-penalty=0 --seed=-1 --seed=99999999999 \
        --max-tokens=0 --context=0 --threads=1025 --cache=f64 --cache= --stop= --prompt-ids=1 --greedy=1
    check "13_generate: a context beyond the model's" says 2 "--context" "$B/13_generate" --context 257 $model a
    check "13_generate --greedy --temperature" says 2 "--greedy" "$B/13_generate" --greedy --temperature 1 $model a
    check "13_generate --system without --chat" says 2 "need --chat" "$B/13_generate" --system a $model a
    check "13_generate --family: none of them" says 2 "no template 'x'" "$B/13_generate" --chat --family x $model a
    check "13_generate: two texts" says 2 "more than one TEXT" "$B/13_generate" $model a b
    check "13_generate: an unknown option" says 2 "no option '--top'" "$B/13_generate" --top 2 $model a
    check "13_generate: no model" says 2 "the directory of a model is missing" "$B/13_generate"
    check "13_generate: no such model" says 1 "13_generate: $work/none/config.json" "$B/13_generate" "$work/none" a
    check "13_generate: nothing to continue" says 1 "13_generate: the prompt is empty" "$B/13_generate" $model ''
    check "13_generate: an empty input" says 1 "13_generate: the prompt is empty" "$B/13_generate" $model
    for ids in '' ' ' 'x' '1x' '1 -2' '99999999999999999999' '1;2'; do
        check "13_generate --prompt-ids '$ids'" says 1 "13_generate: " "$B/13_generate" --prompt-ids "$ids" $model
    done
    check "13_generate --prompt-ids: not in the vocabulary" says 1 \
        "13_generate: $model: token 5000 is not in the vocabulary" \
        "$B/13_generate" --prompt-ids '1 5000' $model
    for file in config.json model.safetensors tokenizer.json; do
        damaged_decoder "no $file" "" "rm $file"
    done
    for file in config.json model.safetensors tokenizer.json generation_config.json tokenizer_config.json; do
        damaged_decoder "half of $file" /$file "head -c \$((\$(wc -c < $file) / 2)) $file > half && mv half $file"
        damaged_decoder "an empty $file" /$file ": > $file"
        damaged_decoder "a $file without an end" /$file "ln -sf /dev/zero $file"
    done
    damaged_decoder "weights that are no numbers" ": the logit of token 0 is NaN" "$not_numbers"
    rm -rf "$work/model" && cp -R $model "$work/model" && rm "$work/model/tokenizer_config.json"
    check "13_generate --chat: by tokens alone" \
        [ "$(greedy --chat "$work/model" a)" = "$(greedy --chat --family chatml $model a)" ]
    printf '{"chat_template": "{{ messages }}"}' > "$work/model/tokenizer_config.json"
    check "13_generate --chat: an unknown template" says 1 \
        "13_generate: $work/model: no chat template is known for this model" \
        "$B/13_generate" --chat "$work/model" a
    rm "$work/model/generation_config.json"
    [ -z "$RUN" ] && script -q -e -c true /dev/null < /dev/null > "$work/shown" 2>&1 &&
        check "13_generate: a terminal" minds_terminals
    if [ -c /dev/full ]; then
        check "13_generate: no room for the output" says_full "13_generate: the output cannot be written" \
            13_generate $model "$prompt"
        check "13_generate: no room for the help" says_full "13_generate: the output cannot be written" \
            13_generate --help
    fi
}

# ==== The bundled model ===========================================================================================

notebook_english='It is easy to translate languages with transformers'
notebook_french="Il est facile de traduire des langues à l'aide de transformateurs"
train=examples/models/train

small() { [ -s "$MODEL/model.safetensors" ] && [ "$(cat "$MODEL"/* | wc -c)" -le 1500000 ]; }

translates_notebook() {
    t5 "$MODEL" "$notebook_english" > "$work/translated" && [ "$(cat "$work/translated")" = "$notebook_french" ]
}

# Held-out sentences that the model translates as the grammar does, with the 4 beams that are the default; and all.
held_out_score() {
    cut -f 1 $train/held_out.tsv > "$work/held_out"
    t5 "$MODEL" < "$work/held_out" > "$work/translated" || : > "$work/translated"
    cut -f 2 $train/held_out.tsv | awk -v path="$work/translated" '
        { if ((getline line < path) > 0 && line == $0) same++ }
        END {
            if ((getline line < path) > 0) same = 0
            print same + 0, NR
        }'
}

passes() { [ "$2" -ge 300 ] && [ "$((100 * $1))" -ge "$((90 * $2))" ]; }

says_held_out() { run "$B/grammar" --held-out | cmp - $train/held_out.tsv; }

# keeps_rule COUNT: no sentence among the first of the corpus has subject, verb and object of one that is held out, in
# any form that only an ending tells from the first.
keeps_rule() {
    run "$B/grammar" --corpus "$1" | awk -F '\t' -v count="$1" '
        NR == FNR {
            for (i = split($3, said, "; "); i > 0; i--) {
                last = split(said[i], word, " ")
                subject[++clauses] = word[1]; verb[clauses] = word[2]; object[clauses] = word[last]
            }
            next
        }
        {
            split("", has)
            for (i = split(tolower($1), word, "[^a-z]+"); i > 0; i--) {
                has[word[i]]
                if (sub("(s|ed)$", "", word[i])) has[word[i]]
                if (sub("(e|ing)$", "", word[i])) has[word[i]]
            }
            for (i = 1; i <= clauses; i++)
                if (subject[i] in has && verb[i] in has && object[i] in has) { print; exit wrong = 1 }
        }
        END { exit wrong || FNR != count }' $train/held_out.tsv -
}

# learns NAME OPTION...: a few steps on a few sentences give a model that translates, however badly; NAME is its file.
learns() {
    name=$1; shift
    rm -rf "$work/learnt" && mkdir "$work/learnt" && cp "$MODEL/spiece.model" "$work/learnt" || return
    run "$B/grammar" --corpus 300 | run "$B/train" --steps 3 "$@" "$work/learnt" > "$work/steps" || return
    grep -q '^step 3 of 3: loss [4-8][.]' "$work/steps" || { cat "$work/steps"; return 1; }
    t5 --max-length 5 "$work/learnt" 'The house.' > "$work/translated" &&
        cp "$work/learnt/model.safetensors" "$work/$name"
}
learner() {
    check "train --threads 1" learns by_one --threads 1
    check "train --threads 2" learns by_two --threads 2
    check "train: threads change nothing that is learnt" cmp "$work/by_one" "$work/by_two"
    check "train --dropout" learns with_dropout --dropout 0.1
    check "train --dropout matters" [ "$(cksum < "$work/by_one")" != "$(cksum < "$work/with_dropout")" ]
    check "train: no input" says 1 "train: no input" "$B/train" "$work/learnt"
    check "train: no vocabulary" says 1 "$work/none/spiece.model" "$B/train" "$work/none"
    check "train: usage" says 2 "usage: train" "$B/train" --steps 0 "$work/learnt"
    check "grammar: usage" says 2 "usage: grammar" "$B/grammar" --corpse
    echo 'no tab' > "$work/lines"
    refuses "train: a line without a tab" "a line of the input has no tab" \
        sh -c "$RUN '$B/train' '$work/learnt' < '$work/lines'"
}

part_model() {
    check "the model takes at most 1.5 MB" small
    check "the model translates the notebook's sentence" translates_notebook
    set -- $(held_out_score)
    check "the model translates $1 of $2 held-out sentences (90 % of 300 at least)" passes $1 $2
    check "the grammar says what is held out" says_held_out
    check "that is not among the first 20000 sentences of the corpus" keeps_rule 20000
    learner
}
part_corpus() { check "what is held out is not in the corpus" keeps_rule 300000; }

# ==== Embedding: what one compiler makes of the header ============================================================

# Names in an object file that do not begin with attn_.
foreign_names() { nm $1 "$2" 2>&1 | awk '$3 !~ /^(attn_|\.|\$|CSWTCH\.)/ { print $3 }'; }
private_names() { nm -D --defined-only "$1" 2>&1 | awk '$3 !~ /^attn_[a-z]/ { print $3 }'; }
shared_names() { nm -D "$1" 2>&1 | grep -E 'attn_|no symbols|:'; } # which a library has, or asks other libraries for

# Names in an object file that the API declares for training; and their list.
names_of_training() {
    sed -n '/==== API: training/,/==== API: threads/s/^ATTN_API .*[ *]\(attn_[a-z0-9_]*\)(.*/\1/p' "$top/attn.h"
}
trained_names() {
    [ "$(names_of_training | grep -c -x -E 'attn_(matmul_add|sdpa_backward)')" = 2 ] || echo "attn.h: not read"
    names_of_training | while read -r name; do nm "$1" | grep -E " _?$name\$"; done
}

# A program's own function of a gradient.
trains() {
    printf '%s\n' '#include "attn.h"' 'attn_status f(attn_mat m);' \
        'attn_status f(attn_mat m) { return attn_softmax_backward(m, m, m); }' > "$work/trains.c"
    compile "$@" $warnings -c trains.c -o "$work/trains.o"
}

# Names that an object file needs, beyond mathematics, memory, what compilers call by themselves, and $2.
foreign_calls() {
    mathematics='(sqrt|exp|exp2|log|log2|tanh|sin|cos|pow|fabs|fma|floor|ceil|rint|nearbyint|ldexp)f?'
    memory='mem(cpy|move|set|cmp|chr)|bcmp'
    compilers='_*errno(_location)?|_GLOBAL_OFFSET_TABLE_|__stack_chk_.*|__aarch64_.*'
    nm -u "$1" 2>&1 | sed 's/.* //; s/@.*//' | grep -v -x -E "$mathematics|$memory|$compilers|$2"
}

# Macros that the header leaves defined, or takes away, though they do not begin with ATTN_.
foreign_macros() {
    compile "$@" -E -dD 2>&1 | awk '
        /^# [0-9]+ "/                { ours = /attn\.h"/ }
        !ours                        { next }
        $1 == "#define"              { sub(/\(.*/, "", $2); left[$2]; if ($2 == "ATTN_H") read = 1 }
        $1 == "#undef" && $2 in left { delete left[$2]; next }
        $1 == "#undef"               { left[$2] }
        END                          { for (name in left) if (name !~ /^ATTN_|^__OPTIMIZE__$/) print name
                                       if (!read) print "attn.h: not read" }'
}

# The header pasted into a file, instead of included.
paste_header() {
    { echo '#define ATTN_IMPLEMENTATION'; cat "$top/attn.h"; echo 'int main(void) { return 0; }'; } > "$work/pasted.c"
    compile "$1" -c pasted.c -o "$work/pasted.o"
}

# What ATTN_NO_STDLIB has no need of: string.h. (stdlib.h comes with the compiler's vectors.)
includes_of_strings() {
    compile "$1" -DATTN_NO_STDLIB -E "$config/implementation.c" 2>&1 | sed -n 's/^# [0-9]* "\([^"]*\)".*/\1/p' |
        grep -E '(^|/)string\.h$' | sort -u
}

# Without optimisation: compiles fast. (gcc optimises the implementation all the same, if not told.)
plain='-O0 -DATTN_NO_OPTIMIZE'

# gcc without -O optimises the implementation, which is smaller then, and nothing after it: no system header either.
optimises() {
    cat > "$work/h.c" <<-END
		#define ATTN_IMPLEMENTATION
		#include "attn.h"
		#include <fcntl.h>
		#ifdef __AVX2__
		int f(const float *p) { _mm_prefetch((const char *)p, _MM_HINT_T0); return 0; }
		#endif
		int main(void) { return open("/dev/null", O_RDONLY) < 0; }
		END
    compile "$1" -D_FORTIFY_SOURCE=2 -DATTN_THREADS -c h.c -o "$work/headers.o" || return
    compile "$1" -mavx2 -c h.c -o "$work/headers.o" || return
    printf '%s\n' '#define ATTN_IMPLEMENTATION' '#include "attn.h"' '#ifdef __OPTIMIZE__' '#error still optimised' '#endif' > "$work/o.c"
    compile "$1" -c o.c -o "$work/optimised.o" && compile "$1" $plain -c o.c -o "$work/plain.o" &&
        [ "$(size "$work/optimised.o" | awk 'NR == 2 { print 2 * $1 }')" -lt "$(size "$work/plain.o" | awk 'NR == 2 { print 3 * $1 }')" ]
}

# library COPY DIRECTORY FLAGS...: a shared library of two files, with the attn.h of that directory; the flags are those
# of the file with the implementation alone.
light="$plain -DATTN_NO_SIMD -DATTN_NO_TRAINING -fPIC"
library() {
    name=$1 directory=$2; shift 2
    compile $cc $light "$@" -I"$directory" -c "$config/implementation.c" -o "$work/shared.o" &&
        compile $cc $light -I"$directory" -DATTN_INTERFACE_ONLY -DCOPY=copy_$name -shared "$config/copy.c" \
            "$work/shared.o" -o "$work/lib$name.so" -lm
}

# Two shared libraries with two versions of attn.h in one process: the second calls the functions of the first, and is
# wrong, unless its own are hidden, in any of the ways that README has.
versions() {
    cc=$1
    shares || return
    mkdir -p "$work/older" && sed 's/\(define ATTN_VERSION_PATCH\).*/\1 99/' attn.h > "$work/older/attn.h"
    api=$(sed -n 's|^    #define ATTN_API \(.*[^ ]\) */\*.*|-DATTN_API=\1|p' "$top/README.md")
    check "$cc: a shared library with another attn.h" library scalar "$work/older" || return
    for hide in -DUNHIDDEN "$api" -fvisibility=hidden -DATTN_STATIC; do
        if [ "$hide" = -DATTN_STATIC ]; then
            check "$cc: a second one, $hide" compile $cc $light -DCOPY=copy_best -shared "$config/copy.c" \
                -o "$work/libbest.so" -lm
        else
            check "$cc: a second one, $hide" library best "$top" "$hide"
        fi
        check "$cc: $hide: their program" build $cc "$config/copies.c" "$work/libscalar.so" "$work/libbest.so" \
            -Wl,-rpath,"$work" -o "$work/a.out"
        if [ "$hide" = -DUNHIDDEN ]; then
            check "$cc: $hide: the second calls the first" [ "$(run "$work/a.out"; echo $?)" = 1 ]
        else
            check "$cc: $hide: no name of attn.h is shared" silent shared_names "$work/libbest.so"
            check "$cc: $hide: each calls its own" run "$work/a.out"
        fi
    done
}

# What takes three compilations of the implementation, and some without vectors.
embed() {
    cc=$1
    implementation=$config/implementation.c caller=$config/caller.c copy=$config/copy.c

    check "$cc: interface, C99" compile $cc -std=c99 $warnings -c "$caller" -o "$work/caller.o"
    check "$cc: implementation, C99" compile $cc -std=c99 $plain $warnings -c "$implementation" -o "$work/implementation.o"
    program "$cc: interface and implementation apart" $cc "$work/caller.o" "$work/implementation.o"
    check "$cc: names begin with attn_" silent foreign_names --defined-only "$work/implementation.o"
    check "$cc: macros begin with ATTN_, implementation" silent foreign_macros $cc "$implementation"
    check "$cc: macros begin with ATTN_, interface" silent foreign_macros $cc "$caller"
    check "$cc: calls memory and mathematics alone" silent foreign_calls "$work/implementation.o" 'malloc|calloc|free'
    cxx=$(cxx_of "$cc")
    have "$cxx" &&
        program "$cc: a C++ program and the C implementation" $cxx -x c++ "$caller" -x none "$work/implementation.o"

    check "$cc: private copy without SIMD" compile $cc $plain -DATTN_NO_SIMD -DCOPY=copy_scalar -c "$copy" \
        -o "$work/scalar.o"
    check "$cc: a private copy shows no name" \
        [ "$(nm -g --defined-only "$work/scalar.o" | sed 's/.* //')" = copy_scalar ]
    program "$cc: a private copy beside the library" $cc -DATTN_INTERFACE_ONLY -DCOPY=copy_best "$copy" \
        "$config/copies.c" "$work/scalar.o" "$work/implementation.o"

    versions $cc

    program "$cc: ATTN_NO_STDLIB, more than the stack holds" $cc -std=c99 $plain $warnings "$config/nomemory.c"
    check "$cc: ATTN_NO_STDLIB includes no string.h" silent includes_of_strings $cc

    refuses "$cc: ATTN_MALLOC without ATTN_FREE" ATTN_FREE compile $cc '-DATTN_MALLOC(n)=0' -E "$implementation"
    refuses "$cc: ATTN_FREE without ATTN_MALLOC" ATTN_MALLOC compile $cc '-DATTN_FREE(p)=(void)0' -E "$implementation"
    refuses "$cc: pasted, not included" '#error.*ATTN_HEADER' paste_header $cc
}

# The rest.
embed_in_every_way() {
    cc=$1
    copies $cc
    check "$cc: a private copy with SIMD shows no name" \
        [ "$(nm -g --defined-only "$work/best.o" | sed 's/.* //')" = copy_best ]
    [ "$cc" = gcc ] && check "$cc without -O optimises the implementation" optimises $cc
    program "$cc: own allocator" $cc $plain "$config/allocator.c"
    check "$cc: ATTN_NO_TRAINING" compile $cc -std=c99 -O2 $warnings -DATTN_NO_TRAINING -c "$implementation" \
        -o "$work/untrained.o"
    check "$cc: ATTN_NO_TRAINING leaves training out" silent trained_names "$work/untrained.o"
    program "$cc: ATTN_NO_TRAINING in one file of two" $cc "$caller" "$work/untrained.o"
    check "$cc: a file that trains" trains $cc
    refuses "$cc: ATTN_NO_TRAINING hides gradients" attn_softmax_backward trains $cc -DATTN_NO_TRAINING
    for optimize in -O0 -O3; do
        check "$cc $optimize: own mathematics, no -lm" build $cc -std=c99 $optimize $warnings "$config/ownmath.c" \
            -o "$work/a.out" && check "$cc $optimize: own mathematics: answer" run "$work/a.out"
    done
    threads $cc -std=c99 $plain $warnings
    for type in attn_opts attn_mha_weights attn_mha_grads; do
        refuses "$cc: a member of $type that is not counted" counted_$type uncounted $cc $type
    done
    for others in WINDOWS UNIX ARDUINO; do
        check "$cc: beside the macros of $others" compile $cc -std=c99 $plain $warnings -DATTN_THREADS \
            -DMACROS_OF_$others -include "$config/macros.h" -c "$implementation" -o "$work/macros.o"
    done
    if [ "$cc" = gcc ] && [ "$(uname -m)" = x86_64 ]; then as_msvc; fi

    mkdir -p "$work/inc" && cp attn.h "$work/inc/mylib_attention.h"
    for name in '' '-DATTN_HEADER="mylib_attention.h"'; do
        check "$cc: renamed header ${name#-D}" renamed $cc "$name"
    done

    check "$cc: shared library" compile $cc $plain -shared -fPIC -fvisibility=hidden \
        '-DATTN_API=extern __attribute__((visibility("default")))' "$implementation" -o "$work/libattn.so" -lm
    check "$cc: shared library exports the interface alone" silent private_names "$work/libattn.so"
    program "$cc: linked with the shared library" $cc "$caller" "$work/libattn.so" -Wl,-rpath,"$work"
    check "$cc: loader" build $cc "$config/load.c" -o "$work/load" -ldl
    check "$cc: loads the shared library" run "$work/load" "$work/libattn.so"
}

# A type with a member more than ATTN__COUNT says.
uncounted() {
    mkdir -p "$work/uncounted" && cp "$config/implementation.c" "$work/uncounted" &&
        sed "s/^typedef struct $2 {/&const float *more;/" "$top/attn.h" > "$work/uncounted/attn.h" &&
        "$1" -fsyntax-only -I"$work/uncounted" "$work/uncounted/implementation.c"
}

# What MSVC would read, compiled by gcc. The program has no more than AVX2, which its compiler may use anywhere.
as_msvc() {
    vectors='-mavx2 -mfma -mf16c -mxsave' wide='-mavx512f -mavx512bw -mavx512dq -mavx512vl'
    check "the branches of MSVC" compile gcc -std=c99 -O1 $vectors $wide -I"$config/msvc" $warnings \
        -c "$config/msvc.c" -o "$work/msvc.o"
    if grep -q -w avx2 /proc/cpuinfo; then
        program "the branches of MSVC: a program" gcc -O1 $vectors -DATTN_NO_AVX512 -I"$config/msvc" \
            "$config/msvc.c" "$config/caller.c"
    fi
}

# in_lift COMMAND...: it runs where a reader has been taken to.
in_lift() { (cd "$work/lift" && "$@"); }
compile_reader() { in_lift sh -c "$1 -std=c99 $warnings -c *.c"; }
compile_user() {
    cp "$models_tests/lift_$1.c" "$work/lift" && in_lift sh -c "$2 $warnings $LDFLAGS lift_$1.c $3 *.o -o user"
}
names_of_others() { nm -g --defined-only "$work/lift/$1.o" | sed 's/.* //' | grep -v -E "^_?$1_"; }

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
        check "a C++ program with $reader" compile_user $reader "g++ -x c++" "-x none" && check "its answer" run "$work/lift/user"
    fi
}
part_readers() { readers "$CC"; }
readers() {
    lifted "$1" json; lifted "$1" safetensors json shown; lifted "$1" sentencepiece trie shown; lifted "$1" sample
    lifted "$1" unicode; lifted "$1" patterns unicode; lifted "$1" bpe json patterns unicode trie shown
    lifted "$1" wordpiece json unicode trie shown
}

# The pool of threads, and what it calls.
threads() {
    check "$*: ATTN_THREADS" compile "$@" -DATTN_THREADS -c "$config/implementation.c" -o "$work/threads.o"
    check "$*: ATTN_THREADS calls threads, memory and mathematics alone" silent foreign_calls "$work/threads.o" \
        'malloc|calloc|free|sysconf|sched_yield|pthread_[a-z_]*'
    check "$*: macros with ATTN_THREADS begin with ATTN_" silent foreign_macros "$@" -DATTN_THREADS \
        "$config/implementation.c"
    check "$*: names with ATTN_THREADS begin with attn_" silent foreign_names '-g --defined-only' "$work/threads.o"
    check "$*: a program with threads" build "$@" -DATTN_THREADS "$config/threads.c" "$work/threads.o" \
        -o "$work/a.out" -lm -lpthread
    check "$*: a program with threads: answer" run "$work/a.out"
}

# Two private copies of the library in one program, one of them without SIMD.
copies() {
    copy=$config/copy.c
    check "$*: private copy without SIMD" compile "$@" -DATTN_NO_SIMD -DCOPY=copy_scalar -c "$copy" -o "$work/scalar.o"
    check "$*: private copy with SIMD" compile "$@" -DCOPY=copy_best -c "$copy" -o "$work/best.o"
    check "$*: their program" compile "$@" -c "$config/copies.c" -o "$work/copies.o"
    program "$*: two private copies in one program" "$1" "$work/copies.o" "$work/scalar.o" "$work/best.o"
}

# The header under another name, where only its own directory can lead to it.
renamed() {
    (cd "$work" && "$1" $plain "-DHEADER=\"inc/mylib_attention.h\"" ${2:+"$2"} -I. \
        "$config/implementation.c" "$config/caller.c" $LDFLAGS -o renamed -lm) && run "$work/renamed"
}

# ==== Embedding: every standard and configuration =================================================================

# What a standard forbids shows at -O0; what an optimiser warns of does not depend on the standard, and the test program
# is C99 at every level.
languages() {
    for language in c-c99 c-c11 c-c17 c++-c++11 c++-c++14 c++-c++17 c++-c++20; do
        levels=-O0
        [ $language = c++-c++20 ] && levels='-O0 -O2 -O3'
        for optimize in $levels; do
            flags="-x ${language%%-*} -std=${language#*-} $optimize"
            [ $optimize = -O0 ] && flags="$flags -DATTN_NO_OPTIMIZE"
            check "$1 $flags" compile $1 $flags $warnings -c "$config/implementation.c" -o "$work/language.o"
        done
    done
}

# Without those that .ci/run builds the tests with: fast math, and fewer instruction sets.
configurations() {
    cc=$1
    while read -r flags; do
        program "$cc $flags" $cc $flags $warnings "$config/implementation.c" "$config/caller.c"
    done <<-END
		-O1
		-Os
		-O2 -march=native
		-O2 -mno-avx
		-O3 -ffast-math -march=native
		-O2 -flto
		-O2 -funsigned-char
		-O2 -fPIE -pie -fstack-protector-strong -D_FORTIFY_SOURCE=2
		END
    nostdlib="-O2 -DATTN_NO_STDLIB $warnings -c $config/implementation.c"
    check "$cc -DATTN_NO_STDLIB" compile $cc $nostdlib -o "$work/nostdlib.o"
    check "$cc -DATTN_NO_STDLIB calls no malloc" silent foreign_calls "$work/nostdlib.o" 'no more'
    program "$cc -DATTN_NO_STDLIB: a program" $cc "$config/caller.c" "$work/nostdlib.o"
    check "$cc -O2" compile $cc -O2 -c "$config/implementation.c" -o "$work/optimized.o"
    check "$cc -O2 calls memory and mathematics alone" silent foreign_calls "$work/optimized.o" 'malloc|calloc|free'
    copies $cc -x c++ -std=c++11 $warnings
    threads $cc -std=c99 -O2 -DATTN_NO_SIMD $warnings
    check "$cc -x c++ -std=c++11 -DATTN_THREADS" compile $cc -x c++ -std=c++11 $plain $warnings -DATTN_THREADS \
        -c "$config/implementation.c" -o "$work/language.o"
}

other_compilers() {
    openmp gcc
    have tcc && program "tcc" tcc -Wall "$config/implementation.c" "$config/caller.c"
    have musl-gcc &&
        program "musl-gcc" musl-gcc -O2 $warnings -static "$config/implementation.c" "$config/caller.c"
    have tcc && readers tcc
    have musl-gcc && readers "musl-gcc -static"
}

# A program for WebAssembly that has no libc, nor the headers of one: the compiler's own have to do. What it does not
# define itself, the linker refuses, but for the functions that it imports; it leaves nothing of the library out.
freestanding() {
    have clang && have wasm-ld && have node || return
    for flags in '' -msimd128 '-msimd128 -mbulk-memory'; do
        check "clang --target=wasm32${flags:+ $flags}: no libc" compile clang --target=wasm32 $flags -O2 -ffreestanding \
            -nostdlib -nostdlibinc -Wl,--no-entry -Wl,--no-gc-sections $warnings "$config/freestanding.c" \
            -o "$work/freestanding.wasm" &&
            check "clang --target=wasm32${flags:+ $flags}: answer" \
                node "$config/freestanding.mjs" "$work/freestanding.wasm"
    done
}
part_wasm() { freestanding; }

installed() {
    make -s install PREFIX=/usr DESTDIR="$work/root" && cmp attn.h "$work/root/usr/include/attn.h" &&
        grep -q "^Version: [0-9]*\.[0-9]*\.[0-9]*$" "$work/root/usr/share/pkgconfig/attn.pc"
}
part_quick() {
    check "make install" installed
    if [ "${TEST_LEVEL:-}" = quick ]; then echo "skip embedding: TEST_LEVEL=quick"; else embed "$CC"; fi
}
full() {
    CC=$1 level=full
    embed "$1"; embed_in_every_way "$1"; readers "$1"; programs_of_readme; languages_of_readme; cmake_of_readme
    languages "$1"; configurations "$1"
}
part_full_gcc()   { full gcc; other_compilers; }
part_full_clang() { full clang; freestanding; }
part_full()       { part_full_gcc; part_full_clang; }

rm -rf "$work" && mkdir -p "$work" || exit 1
for part in "$@"; do part_"$part"; done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
