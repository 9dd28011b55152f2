#!/bin/sh
# Checks of the notebooks, the numbered examples: see tests/check.sh.
#     single     a notebook is a program by itself, without the object that `make` links with them all
#     pictures   the notebooks run, and draw the committed pictures
#     output     the notebooks print what is committed; colours go to terminals alone
. tests/check.sh

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
    [ "$level" = full ] && flags=-O2 || flags=$plain
    check "08_threads compiles by itself" $CC $flags $LDFLAGS -o "$work/single" examples/08_threads.c -lm -lpthread &&
        check "08_threads by itself: output" prints 08_threads "$work/single"
    openmp "$CC" -DATTN_INTERFACE_ONLY "$B/attn.o"
    [ "$level" != full ] || openmp gcc
    for example in 05_translate 12_search 13_generate; do
        check "$example: the files that its first comment names make a program" named_files $example
    done
}

# The command `cc -O2 -o EXAMPLE FILES -lm ..` of its first comment, but that `make` has compiled the files.
named_files() {
    files=$(sed -n '/ cc -O2 -o /,/-lm/p' examples/$1.c | tr -d '\\\n' |
        sed "s/.* -o [^ ]*//; s/ -lm.*//; s| \([^ ]*\)\.c| $B/examples/\1.o|g")
    $CC $LDFLAGS -o "$work/named" $files "$B/attn.o" -lm -lpthread &&
        run "$work/named" --help | grep -q "^usage: $1"
}

# openmp COMPILER MORE...: OpenMP runs the tasks of 08_threads, and the output is the same: on one thread, on as many as
# there are tasks, and on more.
openmp() {
    cc=$1; shift
    printf '%s\n' '#include <omp.h>' 'int main(void) { return omp_get_max_threads() < 1; }' > "$work/has_openmp.c"
    if ! { $cc -fopenmp $LDFLAGS "$work/has_openmp.c" -o "$work/openmp" &&
        run "$work/openmp"; } > "$work/output" 2>&1; then
        lacks "$cc has no OpenMP"
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
            'the output cannot be written: No space left on device' "$B/$notebook"
    done
}

parts "single pictures output" "$@"
