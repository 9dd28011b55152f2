#!/bin/sh
# What attn.h costs where memory is small. From the top of the tree:
#
#     sh tests/boards/boards.sh figures [BARS]       prints a line "name value unit" for each figure: instructions beside
#                                                  plain loops, flash, stack and scratch on boards of QEMU, sizes on
#                                                  x86-64; and checks results. A figure above its bar fails; BARS has
#                                                  lines "name most", and # before remarks
#     sh tests/boards/boards.sh table                prints the sizes of configurations, as a table in markdown
#     sh tests/boards/boards.sh check-table FILE...  compares such a table in each FILE with what is measured; unless at
#                                                  the full level only rows with ATTN_NO_SIMD, which compile in seconds
#     sh tests/boards/boards.sh sizes                the same of attn.h and README.md
#
# A table begins with a line that holds "KB of code, gcc 12" and ends with an empty line or the end of a comment. Its
# rows, those that have two numbers at their end, are: a configuration, as `rows` below has it; KB (1024 bytes) of all
# functions; KB of a program that calls attn_sdpa alone, on floats, less one that calls nothing. | and ` are not looked
# at. A number that is off by more than 5 % fails. See tests/check.sh for the environment.
. tests/check.sh

o=$B/boards boards=tests/boards size=size
macros='-DATTN_NO_STDLIB -DATTN_NO_SIMD -DATTN_NO_TRAINING -DATTN_SMALL -DATTN_NO_F64'
apart='-ffunction-sections -fdata-sections' sources="$boards/work.c $boards/loops.c $boards/board.c"
mkdir -p "$o" || exit 1

# made FILE COMMAND...: the command makes the file, not again before it or a source has changed; FILE.seconds: how long
# that took.
made() {
    target=$1; shift
    [ "$(cat "$target.by" 2> /dev/null)" = "$*" ] && [ -f "$target" ] &&
        [ -z "$(find attn.h tests/boards tests/config/implementation.c -name '*.[ch]' -newer "$target.by")" ] && return
    rm -f "$target"
    echo "$*" > "$target.by"
    times > "$o/before"
    "$@" -o "$target" || return
    times > "$o/after"
    awk 'FNR == 2 { split($1, t, /[ms]/); s = 60 * t[1] + t[2] - s } END { print s }' "$o/before" "$o/after" > \
        "$target.seconds"
}

text() { "$size" "$1" | awk 'NR == 2 { print $1 }'; } # its bytes
data() { "$size" "$1" | awk 'NR == 2 { print $2 }'; }

figure() { echo "$*" | tee -a "$work/figures"; } # NAME VALUE UNIT

# ==== Boards ======================================================================================================

# board NAME FLASH LENGTH RAM LENGTH COMPILER QEMU: what the next functions are about.
board() {
    board=$1 cc=$6 qemu=$7 size=${6%%-gcc*}-size
    { echo "MEMORY { FLASH : ORIGIN = $2, LENGTH = $3 RAM : ORIGIN = $4, LENGTH = $5 }"; cat "$boards/sections.ld"; } > \
        "$o/$board.ld"
}
emulates='-display none -monitor none -serial none -icount shift=0 -semihosting-config enable=on,target=native'
arm='arm-none-eabi-gcc -mthumb' of_arm="qemu-system-arm $emulates -M"
riscv='riscv64-unknown-elf-gcc --specs=picolibc.specs' of_riscv="qemu-system-riscv32 $emulates -bios none -M"
on_m4() { board m4 0 4M 0x20000000 4M "$arm -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" "$of_arm mps2-an386"; }
on_m7() { board m7 0 4M 0x20000000 4M "$arm -mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-sp-d16" "$of_arm mps2-an500"; }
on_rv32() { board rv32 0x80000000 4M 0x80400000 4M "$riscv -march=rv32imafc -mabi=ilp32f" "$of_riscv virt"; }
on_m0() { board m0 0 4M 0x20000000 4M "$arm -mcpu=cortex-m0plus" "$of_arm mps2-an385"; } # a Cortex-M3 executes it, too
on_microbit() { board microbit 0 256K 0x20000000 16K "$arm -mcpu=cortex-m0" "$of_arm microbit"; }

# linked PROGRAM FLAGS SOURCE...: for the board.
linked() {
    elf=$1 options=$2; shift 2
    made "$o/$elf" $cc -std=gnu99 $warnings $apart $options -I. -nostartfiles -Wl,--gc-sections -T "$o/$board.ld" \
        "$@" -lm
}

# works -O FLAGS: runs work.c on the board.
works() {
    name=$board$1
    check "$name: compiles" linked "$name.elf" "$1 $macros $2" $sources || return
    timeout 300 $qemu -kernel "$o/$name.elf" > "$work/said" 2>&1
    check "$name: ends well" [ $? = 0 ]
    reads "$name" < "$work/said"
}

# Whether there is room for it, on a microcontroller of 256 KB of flash and 16 KB of RAM: how many checks fail.
fits() {
    figure $board-failures $(
        if linked $board.elf "-Os $macros -DTINY" $sources > "$o/log" 2>&1; then
            timeout 60 $qemu -kernel "$o/$board.elf" > "$work/said" 2>&1 || echo FAIL >> "$work/said"
            grep -c '^FAIL' "$work/said"
        else
            echo 1
        fi) checks
}

# reads NAME: figures and checks of work.c; the ratio of attn.h and the loops.
reads() {
    awk -v name="$1" '
        sub(/^(ok|FAIL) /, "&" name "-") { print; next }
        NF < 3 || $2 !~ /^[0-9]+$/ { print "    " $0; next } # QEMU, of what went wrong
        { print name "-" $0 }
        $1 ~ /-attn$/ { attn = $2 }
        sub(/-loops$/, "", $1) { printf "%s-%s-ratio %.3f x\n", name, $1, attn / $2 }' | tee "$work/read"
    grep -v -E '^(ok|FAIL|   ) ' "$work/read" >> "$work/figures"
    passed=$((passed + $(grep -c '^ok ' "$work/read"))) failed=$((failed + $(grep -c '^FAIL ' "$work/read")))
}

# Flash of a program that calls attn_sdpa on floats: what a link without libc keeps, its own few bytes included; and all
# of it. How much more a cache of I8 takes.
flash() {
    for program in 0 1 2; do
        flags="-Os $macros -DPROGRAM=$program"
        check "$board: program $program" linked "$board-$program.elf" "$flags" "$boards/size.c" "$boards/board.c" &&
            check "$board: program $program without libc" made "$o/$board-$program.o" $cc -std=gnu99 $warnings $apart \
                $flags -I. -nostdlib -r -Wl,--gc-sections,-e,main "$boards/size.c" || return
    done
    for kind in o elf; do
        with=; [ $kind = o ] || with=-with-libc
        empty=$(flash_of 0) sdpa=$(flash_of 1) cache=$(flash_of 2)
        figure $board-flash-sdpa$with $((sdpa - empty)) bytes
        figure $board-flash-cache-i8$with $((cache - sdpa)) bytes
    done
}
flash_of() { echo $(($(text "$o/$board-$1.$kind") + $(data "$o/$board-$1.$kind"))); }

# ==== This machine ================================================================================================

# Whether sizes here are those of the tables.
is_gcc12() {
    [ "$(echo __GNUC__ __x86_64__ __clang__ | $CC -E -P -x c -)" = '12 1 __clang__' ] && return
    echo 'skip sizes: they are those of gcc 12 for x86-64'
    return 1
}

# whole FLAGS, alone FLAGS: bytes of all functions; of a program that calls attn_sdpa alone.
whole() {
    object="$o/whole$(echo "$*" | tr -d ' ').o"
    made "$object" $CC "$@" -I. -c tests/config/implementation.c > "$o/log" 2>&1 && text "$object"
}
alone() {
    calls="$o/alone$(echo "$*" | tr -d ' ')" nothing=$o/nothing
    made "$nothing" $CC $apart -DPROGRAM=0 -Wl,--gc-sections "$boards/size.c" $LDFLAGS &&
        made "$calls" $CC "$@" $apart -DPROGRAM=1 -Wl,--gc-sections -I. "$boards/size.c" $LDFLAGS -lm > "$o/log" 2>&1 &&
        echo $(($(text "$calls") - $(text "$nothing")))
}

host() {
    size=size
    check "host: compiles" made "$o/host" $CC -std=gnu99 $warnings -Os $macros -I. $sources $LDFLAGS -lm || return
    run "$o/host" > "$work/said"
    check "host: ends well" [ $? = 0 ]
    grep -v '^stack\|^status\|^storage' "$work/said" | reads host
    is_gcc12 || return
    few='-DATTN_NO_F64 -DATTN_NO_TRAINING'
    figure x86-sdpa-O2 $(alone -O2 $few) bytes
    figure x86-small-all-O2 $(whole -O2 -DATTN_SMALL) bytes
    figure x86-small-all-O2-compile $(cat "$o/whole-O2-DATTN_SMALL.o.seconds") s
    figure x86-small-sdpa-Os $(alone -DATTN_SMALL $few -DATTN_NO_SIMD -Os) bytes
}

# ==== Figures =====================================================================================================

part_figures() {
    on_m4; works -Os; works -O2; flash
    on_m7; works -Os; works -O2
    on_rv32; works -Os; works -O2
    on_m0; works -Os
    on_microbit; fits
    host
    [ -z "$bars" ] || judged
}

# Each bar: there is such a figure, and it is not above.
judged() {
    while read -r name most rest; do
        case $name in '' | '#'*) continue ;; esac
        value=$(awk -v name="$name" '$1 == name { print $2 }' "$work/figures")
        check "$name: ${value:-no figure}, at most $most" \
            awk -v value="$value" -v most="$most" 'BEGIN { exit !(value != "" && value + 0 <= most + 0) }'
    done < "$bars"
}

# ==== Tables ======================================================================================================

rows() {
    cat <<-END_OF_ROWS
		nothing defined
		ATTN_NO_TRAINING
		ATTN_NO_F64
		ATTN_NO_F64 ATTN_NO_TRAINING
		ATTN_NO_AVX512
		ATTN_NO_SIMD
		ATTN_SMALL
		ATTN_SMALL ATTN_NO_F64
		ATTN_SMALL ATTN_NO_F64 ATTN_NO_TRAINING
		ATTN_SMALL ATTN_NO_F64 ATTN_NO_TRAINING ATTN_NO_SIMD -Os
	END_OF_ROWS
}

# flags_of ROW: what the compiler is told.
flags_of() {
    flags=$(echo "$1" | sed 's/nothing defined//; s/ATTN_/-DATTN_/g')
    case $flags in *-O*) ;; *) flags="-O2 $flags" ;; esac
}

table() {
    is_gcc12 || exit 1
    echo '| KB of code, gcc 12 -O2 for x86-64 | all functions | `attn_sdpa` alone |'
    echo '|---|---|---|'
    rows | while read -r row; do
        flags_of "$row"
        echo "$(whole $flags) $(alone $flags)" | awk -v row="\`$row\`" '
            function kb(bytes) { return sprintf(bytes < 102400 ? "%.1f" : "%.0f", bytes / 1024) }
            { sub(/`nothing defined`/, "nothing defined", row); print "| " row " | " kb($1) " | " kb($2) " |" }'
    done
}

# rows_of FILE: those of its table, as "all alone configuration".
rows_of() {
    awk '/KB of code, gcc 12/ { on = 1; next }
         on { ends = /\*\//; gsub(/[|`]|\*\//, " ") }
         NF == 0 { on = 0 }
         on && NF > 2 && $NF ~ /^[0-9.]+$/ && $(NF - 1) ~ /^[0-9.]+$/ {
             all = $(NF - 1); alone = $NF; NF -= 2; print all, alone, $0 }
         ends { on = 0 }' "$1"
}

part_check_table() {
    for file in $files; do
        rows_of "$file" > "$work/rows"
        check "$file has a table of sizes, with a row for each configuration" \
            [ "$(rows | wc -l)" = "$(wc -l < "$work/rows")" ]
        while read -r all one row; do
            check "$file: $row: a row of the table" listed "$row" || continue
            flags_of "$row"
            case $level-$row in full-* | *ATTN_NO_SIMD*) ;; *) continue ;; esac
            is_gcc12 || break
            bytes=$(whole $flags); near "$file: $row: all functions" "$all" "$bytes"
            bytes=$(alone $flags); near "$file: $row: attn_sdpa alone" "$one" "$bytes"
        done < "$work/rows"
    done
}

listed() { rows | grep -q -x -F -e "$1"; }

# near NAME KB BYTES
near() {
    check "$1: $2 KB, measured $3 bytes" awk -v kb="$2" -v bytes="$3" '
        BEGIN { off = kb * 1024 - bytes; exit !(bytes > 0 && off <= bytes / 20 && -off <= bytes / 20) }'
}

mode=${1:-figures}
[ $# = 0 ] || shift
bars= files="attn.h README.md"
case $mode in
table) table; exit ;;
figures) bars=${1:-} ;;
check-table) mode=check_table files=$* ;;
sizes) mode=check_table ;;
esac
parts $mode
