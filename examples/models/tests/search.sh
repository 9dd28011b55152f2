#!/bin/sh
# Checks of the command line of examples/12_search.c: see tests/check.sh.
. examples/models/tests/models.sh

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

# finds QUERY LINE TEXT: the query is nearest to itself.
finds() {
    it --top 1 "$model" "$notes" -- "$1" > "$work/found" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/messages")" = "12_search: $notes: line 10: more than 1048576 bytes" ] &&
        [ "$(cat "$work/found")" = "1.0000	$2	$3" ] && return
    cat "$work/found" "$work/messages"; return 1
}
finds_all() {
    finds 'the CAT sat on the mat.' 1 'The cat sat on the mat.' &&
        finds "$(printf '\377 token')" 8 "$(printf '\357\277\275\357\277\275 token')" &&
        finds ' the last line' 11 'the last line' && finds '[31m was it' 7 ' [31m was   it' && finds ab 9 'a b'
}
finds_each_once() {
    it --top 100 "$model" "$notes" x > "$work/found" 2> /dev/null
    [ "$(cut -f 2 "$work/found" | sort -n | tr '\n' ' ')" = '1 4 5 7 8 9 11 ' ] && cut -f 1 "$work/found" | sort -r -c
}
takes_queries() { # the same from the input, in batches of lines as they come, on any number of threads
    printf 'worst cat\r\n\n \nthe age of wisdom' > "$work/queries"
    for options in '' '--threads 1' '--threads=2 --top 5'; do
        it $options "$model" "$notes" < "$work/queries" > "$work/found" 2> /dev/null
        it "$model" "$notes" 'worst cat' '' ' ' 'the age of wisdom' 2> /dev/null | cmp - "$work/found" || return 1
        [ "$(grep -c . "$work/found")" = 10 ] && [ "$(grep -c '^$' "$work/found")" = 4 ] || return 1
    done
    it "$model" "$notes" 'worst cat' > "$work/one" 2> /dev/null
    head -n 5 "$work/found" | cmp - "$work/one"
}
finds_nothing() { [ -z "$(it "$model" "$notes" "$@" 2> /dev/null < /dev/null)" ]; }
says_long_query() {
    { head -c 1048577 /dev/zero | tr '\0' x; printf '\ncat\n'; } > "$work/queries"
    it --top 1 "$model" "$small" < "$work/queries" > "$work/found" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/messages")" = '12_search: the input: line 1: more than 1048576 bytes' ] &&
        [ "$(wc -l < "$work/found")" -eq 3 ]
}

says_large() { # BYTES CHARACTER MESSAGE: of a file that would take all memory
    head -c "$1" /dev/zero | tr '\0' "$2" | it --threads 1 "$model" /dev/stdin cat \
        > "$work/found" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/messages")" = "12_search: /dev/stdin: $3" ]
}

has_no_memory() (ulimit -v 150000; says_large 4194304 '\n' 'no memory')

# --embed: 11 rows of 32 floats; of blank lines zeros, of equal ones the same; nothing is read from the input.
embeds() {
    for threads in 1 2; do
        echo cat | it --threads $threads --embed "$work/$threads.npy" "$model" "$notes" > "$work/found" 2> /dev/null
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
    it --index --timing "$model" "$small" 'worst cat' > "$work/found" 2> "$work/messages" || return 1
    it "$model" "$small" 'worst cat' | cmp - "$work/found" || return 1
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
# Prompts of the model's files stand before questions and before lines, as if they were typed.
puts_prompts() (
    model=$models_tests/golden/bert/v6
    printf 'the cat\nthe mat\nit was\n' > "$small" && sed 's/^/line: /' "$small" > "$work/lines" && copied || return 1
    sed 's/"line: "/""/; s/"find the "/""/' "$model/config_sentence_transformers.json" \
        > "$work/model/config_sentence_transformers.json"
    it "$model" "$small" 'worst cat' | cut -f 1,2 > "$work/one" && [ "$(wc -l < "$work/one")" -eq 3 ] &&
        it "$work/model" "$work/lines" 'find the worst cat' | cut -f 1,2 | cmp - "$work/one" &&
        ! it "$work/model" "$small" 'worst cat' | cut -f 1,2 | cmp -s - "$work/one"
)
# An index that cannot be written is told; what was there stays, and what was asked for is found.
no_room_for_index() {
    printf 'the cat\nthe mat\n' > "$small" && rm -f "$small.attn-index" && mkdir "$small.attn-index" || return 1
    it --index "$model" "$small" 'the mat' > "$work/found" 2> "$work/messages"
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
        it --index "$model" "$small" 'the cat' > "$work/found.full" 2> "$work/messages.full")
    [ -s "$work/found.full" ] && grep -q 'attn-index: cannot be written' "$work/messages.full" &&
        [ "$(cat "$small.attn-index")" = before ] && [ ! -e "$small.attn-index.part" ]
}

part_search() {
    model=$models_tests/golden/bert/f32 notes=$work/notes/notes.txt small=$work/notes/small.txt
    tool=12_search operands="$small cat" more='modules.json 1_Pooling/config.json sentence_bert_config.json'
    make_notes && printf 'the cat\n' > "$small"
    check "12_search finds lines of all kinds" finds_all
    check "12_search finds equal lines once and no blank ones" finds_each_once
    check "12_search: queries, threads" takes_queries
    check "12_search: nothing to find" finds_nothing ''
    check "12_search: no query" finds_nothing
    check "12_search: a query that is too long" says_long_query
    check "12_search: a line without an end" says_endless "$model" "$small"
    check "12_search: a file without an end" says_large 268435457 x 'more than 268435456 bytes'
    check "12_search: too many lines" says_large 4194305 '\n' 'more than 4194304 lines'
    check "12_search: as many as may be" says_large 4194304 '\n' 'there is no line to search'
    if [ -z "$RUN" ] && (ulimit -v 150000; it --threads 1 "$model" "$small" cat) > /dev/null 2>&1; then
        check "12_search: no memory for the lines" has_no_memory
    fi
    check "12_search: prompts" puts_prompts
    check "12_search --embed" embeds
    times='loaded N s;embedded N lines N s N lines/s;embedded N tokens N s N tokens/s;'
    check "12_search --timing" \
        prints_times "${times}of that products N s N Gflop/s, attention N s;" "$model" "$small" cat
    check "12_search --index" keeps_index
    check "12_search --index: no place" no_room_for_index
    if (trap '' XFSZ; ulimit -f 1) 2> /dev/null && [ -z "$RUN" ]; then
        check "12_search --index: no room on the disk" no_room_on_disk
    fi
    rm -f "$small.attn-index" && printf 'the cat\n' > "$small"
    printf '\n \r\n' > "$work/blank" && : > "$work/empty"
    for file in blank empty; do
        minds ": a file that is $file" 1 "12_search: $work/$file: there is no line to search" "$model" "$work/$file" a
    done
    minds ": no such file" 1 "12_search: $work/none: No such file" "$model" "$work/none" a
    minds ": a directory" 1 "12_search: $work: Is a directory" "$model" "$work" a
    minds " --embed: no such directory" 1 "$work/none/x.npy: cannot be written: No such file" \
        --embed "$work/none/x.npy" "$model" "$small"
    check "12_search: numbers" refuses_options --top=0 --top=x --top=1000001 --threads=1025 --threads=-1 \
        --embed= --index=1
    minds ": an unknown option" 2 "no option '--find'" --find 2 "$model" "$small" a
    minds ": no file" 2 "the file to search is missing" "$model"
    by missing config.json model.safetensors 1_Pooling/config.json
    by half config.json model.safetensors $more # of vocab.txt it would be a smaller vocabulary
    by empty config.json model.safetensors vocab.txt $more
    by endless config.json model.safetensors vocab.txt $more
    not_numbers "a vector is not finite"
    alike
    [ ! -c /dev/full ] || minds " --embed: no room" 1 \
        "12_search: /dev/full: cannot be written: No space left on device" --embed /dev/full "$model" "$small"
}

parts search "$@"
