#!/bin/sh
# Checks of the notebooks, the numbered examples: see tests/check.sh.
#     single     a notebook is a program by itself, without the object that `make` links with them all
#     pictures   the notebooks run, and draw the committed pictures
#     output     the notebooks print what is committed; colours go to terminals alone
#     page       build/notebooks.html has a place for every cell of the five notebooks
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

# legible PICTURE...: a number has a contrast of 4.5 with its cell, and other text with white; each map names its rows
# and its columns, and there is a legend. The loss is no map.
legible() {
    awk '
        function digit(hex, i) { return index("123456789abcdef", substr(hex, i, 1)) }
        function light(hex, i,    level) { # the share of light of one of its three levels
            level = (16 * digit(hex, i) + digit(hex, i + 1)) / 255
            return level <= 0.04045 ? level / 12.92 : exp(2.4 * log((level + 0.055) / 1.055))
        }
        function luminance(hex) {
            if (length(hex) == 3) gsub(/./, "&&", hex)
            return 0.2126 * light(hex, 1) + 0.7152 * light(hex, 3) + 0.0722 * light(hex, 5)
        }
        function contrast(a, b) { return a > b ? (a + 0.05) / (b + 0.05) : (b + 0.05) / (a + 0.05) }
        function wrong(what) { print FILENAME ": " what; failed = 1 }
        function ends(file) {
            if (file == "" || file ~ /loss/) return
            if (!maps || rows < maps || columns < maps) { print file ": a map does not name its axes"; failed = 1 }
            if (!legend) { print file ": no legend"; failed = 1 }
        }
        FNR == 1 { ends(file); file = FILENAME; maps = rows = columns = legend = 0; cell = "" }
        /^<g transform="translate\([0-9]* [0-9]*\)">/ { maps++; cell = "" }
        /rotate\(-90\)">$/ { rows++; columns-- } # for its name follows
        /<path d="M[0-9 ]*h[0-9]*v[0-9]*H[0-9]*z" fill="#/ {
            cell = $0; sub(/.*fill="#/, "", cell); sub(/".*/, "", cell)
        }
        /url\(#scale/ { legend = 1 }
        /<text / {
            ink = "333"
            if (match($0, /fill="#[0-9a-f]*"/)) ink = substr($0, RSTART + 7, RLENGTH - 8)
            if (ink == "595959") columns++
            on_cell = ink == "000" || ink == "fff"
            if (contrast(luminance(ink), on_cell ? luminance(cell) : 1) < 4.5)
                wrong($0 " on #" (on_cell ? cell : "fff"))
        }
        END { ends(file); exit failed }' "$@"
}

part_pictures() {
    mkdir -p "$work/pictures"
    for source in examples/[0-9][0-9]_*.c; do
        notebook=$(basename "$source" .c)
        case $notebook in 12_search | 13_generate | 14_ring) continue ;; esac # which draw nothing
        set -- "$work/pictures"
        draws $notebook || set --
        [ $notebook = 05_translate ] &&
            set -- --attention "$work/pictures/05_cross_attention.svg" examples/models/bundled "$notebook_english"
        [ $notebook = 10_training ] && set -- --long "$work/pictures"
        check "notebook $notebook runs" run "$B/$notebook" "$@"
    done
    check "pictures can be read: contrast, axes, legends" legible "$work"/pictures/*.svg
    for drawn in "$work"/pictures/*.svg; do
        [ -e "examples/pictures/${drawn##*/}" ] || (cd "$work/pictures" && cksum "${drawn##*/}")
    done > "$work/pictures.txt"
    check "pictures that are not committed are as they were" diff tests/golden/pictures.txt "$work/pictures.txt"
    for picture in examples/pictures/*.svg; do
        drawn=$(basename "$picture") same=cmp
        [ $drawn = 05_cross_attention.svg ] && same=alike
        check "picture $drawn is as committed" $same "$picture" "$work/pictures/$drawn"
    done
}

# Whether a notebook takes a directory for pictures.
draws() { case $1 in 07_kv_cache | 08_threads | 15_small) return 1 ;; esac }

# What an example prints must be what is committed, up to the heading from where it differs between machines: in 02 the
# last f32 digits, in 08 what a dry run says.
prints() { # NOTEBOOK PROGRAM
    run "$2" $(draws $1 && echo "$work") | sed '/^== 8. Matrix form/,$d; /^== 5. How it runs/,$d' | diff "$top/tests/golden/$1.txt" -
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
		    if (argc > 2) /* what was found says more than the status */
		        show_fault.argument = "k", strcpy(show_fault.text, "2 rows, where 3 fit"), show_try(ATTN_ERR_SHAPE, "f");
		    if (argc > 1) /* which names q; the next call takes no ctx, and must not be blamed for it */
		        (void)attn_sdpa(q, attn_tensor_slice(q, 0, 9), q, q, NULL, &show_ctx), SHOW_TRY(attn_alibi_slopes(NULL, 4));
		    SHOW_TRY(attn_sdpa(q, q, q, q, NULL, &show_ctx));
		    return show_done();
		}
		END
    $CC $LDFLAGS -DATTN_INTERFACE_ONLY -I"$top" "$work/fault.c" "$B/attn.o" -o "$work/fault" -lm -lpthread &&
        says 1 'attn_sdpa(q, q, q, q, NULL, &show_ctx): out, q: shares memory with q' "$work/fault" &&
        says 1 'attn_alibi_slopes(NULL, 4): a required argument is missing' "$work/fault" again &&
        says 1 'f: k: 2 rows, where 3 fit' "$work/fault" with text
}

# The grounds of cells are greys, the darker the larger the number, with white on the dark half and black on the others.
even_ramp() {
    tr "$escape" '\n' < "$1" | sed -n 's/^\[48;5;\([0-9]*\);38;5;\([0-9]*\)m *\([0-9.]*\).*/\3 \1 \2/p' | sort -n |
        awk '{ print } $2 < 232 || $2 > last || $3 != ($2 > 243 ? 16 : 231) { wrong = 1 } { last = $2 }
             NR == 1 { last = $2; wrong = $2 != 255 } END { exit wrong || last != 232 || NR < 30 }'
}
uncoloured() { [ -s "$1" ] && ! grep "$(printf '\033')\[" "$1"; }

# What 02 says of the numbers that differ: some, each of them the notebook's in the second place, and the double within
# an f32's rounding of what is here.
differences() {
    run "$B/02_word_attention" "$work" > "$work/words"
    awk 'NR == FNR { if ($1 == "002") for (i = 3; i <= NF; i++) theirs[$i + 0]; next }
         /^row / { count++; here = $5; there = $6; exact = $7; off = (here - exact) / exact
                   if (!(there + 0 in theirs) || here == there || off > 1.5e-7 || off < -1.5e-7) { print; wrong = 1 } }
         END { exit wrong || count < 1 || count > 16 }' tests/golden/cells.txt "$work/words"
}

part_output() {
    check "02 says which numbers are not the notebook's" differences
    for expected in tests/golden/[0-9][0-9]_*.txt; do
        notebook=$(basename "$expected" .txt)
        check "output of $notebook is as committed" prints $notebook "$B/$notebook"
    done
    escape=$(printf '\033')
    if command -v script > /dev/null; then # a terminal of its own
        terminal="script -qec '$RUN \"$B/04_self_attention\" \"$work\"' /dev/null"
        env -u NO_COLOR TERM=xterm sh -c "$terminal" > "$work/colour" 2>&1 < /dev/null
        check "a terminal of 256 colours gets one ramp: the greys" even_ramp "$work/colour"
        env -u NO_COLOR TERM=xterm COLORTERM=truecolor sh -c "$terminal" > "$work/full" 2>&1 < /dev/null
        check "one of all colours gets those of the picture" grep -q "$escape\[48;2;28;75;190;38;5;231m" "$work/full"
        env NO_COLOR=1 TERM=xterm sh -c "$terminal" > "$work/plain" 2>&1 < /dev/null
        check "NO_COLOR: none" uncoloured "$work/plain"
    else
        echo "skip script is not installed"
    fi
    run "$B/04_self_attention" "$work" > "$work/plain"
    check "a pipe gets none" uncoloured "$work/plain"
    check "an error names the argument" names_argument
    for source in examples/0[0-46-9]_*.c examples/1[015]_*.c; do
        notebook=$(basename $source .c)
        check "$notebook --help" is_narrow "$B/$notebook"
        check "$notebook: an unknown option" says 2 "there is no option '--lang'" "$B/$notebook" --lang
        check "$notebook: too much" says 2 "one argument too many: 'c'" "$B/$notebook" $(draws $notebook && echo .) c
    done
    for expected in tests/golden/[0-9][0-9]_*.txt; do
        check "$(basename "$expected"): lines of at most 80 columns" narrow < "$expected"
    done
    for notebook in 07_kv_cache 08_threads; do
        [ -c /dev/full ] || continue
        check "$notebook: no room for the output" says_full \
            "$B/$notebook: the output cannot be written: No space left on device" "$B/$notebook"
    done
}

part_page() {
    set -- tests/golden/cells.txt "$B/notebooks.html"
    for output in "$B"/output/*.txt; do
        set -- "$@" "$output" "examples/$(basename "$output" .txt).c"
    done
    check "the page has every cell and step, what is printed and drawn, the lines that do it; closed tags, links" \
        awk -f examples/tests/page.awk "$@" examples/models/t5.c
    for part in '<math ' 'id="attention-' 'id="heads-' 'Denis Rothman' 'Learning Attention Mechanism from scratch!' \
        'next to nothing is left of the second' 'context vector                  z2'; do
        check "the page has $part" grep -q -F "$part" "$B/notebooks.html"
    done
}

parts "single pictures output page" "$@"
