#!/bin/sh
# Checks of the library, and of attn.h from outside, as programs embed it: see tests/check.sh.
#     library     the test program of attn.h, with the checks it counts itself
#     readme      every ```c block of README.md and examples/recipes.md is a program that compiles and runs, and so is
#                 the doc block's, in C and C++ without warnings; what is marked ```c recipe is part of one, which
#                 tests/test_recipes.c runs; and, at the full level, what is said for CMake
#     embedding   what the compiler CC makes of the header; at the full level, of two versions in one process, too
#     wasm        WebAssembly without a libc: clang and node
#     ways        the same of gcc, in every form, but in few standards and configurations
#     full_gcc    all of gcc at the full level, in every standard and configuration; tcc and musl
#     full_clang  the same of clang, and wasm; beside the other only with a B of its own
. tests/check.sh

config=$top/tests/config
implementation=$config/implementation.c caller=$config/caller.c copy=$config/copy.c

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

# ==== README ======================================================================================================

# Public functions that README's table lacks.
missing_in_readme() {
    while read -r name; do grep -q "^|.*\`$name\`.*|" README.md || echo "$name"; done < "$B/cover.h.names"
}

# program_of_readme SOURCE: it compiles and runs. At the full level it is built as README says; else the first is not
# optimised, and the others share the implementation that `make` has compiled.
program_of_readme() {
    name=$(basename "$1" .c)
    case $level-$name in
    full-*) flags=-O2; set -- "$1" ;;
    *-readme_1) flags=$plain; set -- "$1" ;;
    *) flags="-O2 -DATTN_INTERFACE_ONLY"; set -- "$1" "$B/attn.o" -lpthread ;;
    esac
    check "$name compiles" $CC $flags $LDFLAGS -I. -o "$work/readme" "$@" -lm || return
    run "$work/readme" > "$work/printed"
    check "$name runs" [ $? = 0 ]
}

programs_of_readme() {
    awk -v prefix="$work/readme_" '
        /^```c$/ { n++; on = 1; next }
        /^```/   { on = 0 }
        on       { print > (prefix n ".c") }' README.md examples/recipes.md
    for source in "$work"/readme_*.c; do program_of_readme "$source"; done
    sed -n '/^   QUICK START/,/^   The two NULL are/s/^       //p' attn.h > "$work/doc.c"
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

# The programs are C and C++. The recipes need the headers that they name, and no other; in C++ their initialisers
# are of its latest standard, and gcc would have all members there.
languages_of_readme() {
    {
        printf '#include %s\n' '"attn.h"' '<math.h>' '<stdint.h>' '<string.h>'
        awk '/^```c recipe$/ { on = 1; next } /^```/ { on = 0 } on' examples/recipes.md
    } > "$work/recipes.c"
    check "there are recipes" [ "$(grep -c '^static' "$work/recipes.c")" -ge 8 ]
    languages=c99
    have "$(cxx_of "$CC")" && languages="c99 c++11 c++20 $([ "$level" != full ] || echo c++14 c++17)"
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
    [ "$level" != full ] || cmake_of_readme
}

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
    printf '%s\n' '#define ATTN_IMPLEMENTATION' '#include "attn.h"' '#ifdef __OPTIMIZE__' '#error still optimised' \
        '#endif' > "$work/o.c"
    compile "$1" -c o.c -o "$work/optimised.o" && compile "$1" $plain -c o.c -o "$work/plain.o" &&
        [ $((2 * $(code "$work/optimised.o"))) -lt $((3 * $(code "$work/plain.o"))) ]
}
code() { size "$1" | awk 'NR == 2 { print $1 }'; } # its bytes

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

# What takes few compilations of the implementation.
embed() {
    cc=$1
    check "$cc: interface, C99" compile $cc -std=c99 $warnings -c "$caller" -o "$work/caller.o"
    check "$cc: implementation, C99" \
        compile $cc -std=c99 $plain $warnings -c "$implementation" -o "$work/implementation.o"
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

    [ "$level" != full ] || versions $cc

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
    with_less $cc
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

# What programs leave out that have little memory: a program of it, with gradients and without, in C and in C++.
with_less() {
    cc=$1
    for less in -DATTN_SMALL -DATTN_NO_F64 '-DATTN_SMALL -DATTN_NO_F64' '-DATTN_SMALL -DATTN_NO_F64 -DATTN_NO_SIMD'; do
        program "$cc $less" $cc -std=c99 $plain $warnings $less "$implementation" "$caller"
        program "$cc -O2 $less -DATTN_NO_TRAINING" $cc -std=c99 -O2 $warnings $less -DATTN_NO_TRAINING \
            "$implementation" "$caller"
        check "$cc -x c++ $less" compile $cc -x c++ -std=c++11 $plain $warnings $less -DATTN_NO_TRAINING \
            -c "$implementation" -o "$work/less.o" &&
            check "$cc -x c++ $less: without gradients" silent trained_names "$work/less.o"
    done
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
languages() { # COMPILER LANGUAGE...
    cc=$1; shift
    for language in "$@"; do
        levels=-O0
        [ $language = c++-c++20 ] && levels='-O0 -O2 -O3'
        for optimize in $levels; do
            flags="-x ${language%%-*} -std=${language#*-} $optimize"
            [ $optimize = -O0 ] && flags="$flags -DATTN_NO_OPTIMIZE"
            check "$cc $flags" compile $cc $flags $warnings -c "$config/implementation.c" -o "$work/language.o"
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
    have tcc && program "tcc" tcc -Wall "$config/implementation.c" "$config/caller.c"
    have musl-gcc &&
        program "musl-gcc" musl-gcc -O2 $warnings -static "$config/implementation.c" "$config/caller.c"
}

# A program for WebAssembly that has no libc, nor the headers of one: the compiler's own have to do. What it does not
# define itself, the linker refuses, but for the functions that it imports; it leaves nothing of the library out.
part_wasm() {
    have clang && have wasm-ld && have node || return
    for flags in '' ' -msimd128' ' -msimd128 -mbulk-memory'; do
        check "clang --target=wasm32$flags: no libc" compile clang --target=wasm32 $flags -O2 -ffreestanding -nostdlib \
            -nostdlibinc -Wl,--no-entry -Wl,--no-gc-sections $warnings "$config/freestanding.c" \
            -o "$work/freestanding.wasm" &&
            check "clang --target=wasm32$flags: answer" node "$config/freestanding.mjs" "$work/freestanding.wasm"
    done
}

installed() {
    make -s install PREFIX=/usr DESTDIR="$work/root" && cmp attn.h "$work/root/usr/include/attn.h" &&
        grep -q "^Version: [0-9]*\.[0-9]*\.[0-9]*$" "$work/root/usr/share/pkgconfig/attn.pc"
}
part_library() { counted test; }
part_embedding() {
    check "make install" installed
    embed "$CC"
}
full() {
    CC=$1 level=full
    embed "$1"; embed_in_every_way "$1"; programs_of_readme; languages_of_readme; cmake_of_readme
    languages "$1" c-c99 c-c11 c-c17 c++-c++11 c++-c++14 c++-c++17 c++-c++20; configurations "$1"
}
part_ways() {
    CC=gcc level=full
    embed_in_every_way gcc; versions gcc; languages gcc c++-c++11; cmake_of_readme; part_wasm
    have tcc && program "tcc" tcc -Wall "$implementation" "$caller"
}
part_full_gcc()   { full gcc; other_compilers; }
part_full_clang() { full clang; part_wasm; }

parts "library readme embedding" "$@"
