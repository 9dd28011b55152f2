#!/bin/sh
# Checks of examples/models/tokenize.c and tensors.c, which show model files: see tests/check.sh.
. examples/models/tests/models.sh

# shows EXPECTED COMMAND...: what the command prints is the committed text.
shows() { expected=$1; shift; run "$@" < /dev/null | diff "$expected" -; }

lines_agree() {
    printf 'hello world\r\n\nr\303\251sum\303\251\na' > "$work/lines"
    for kind in '' _bytes _suffix; do
        set -- --ids $models_tests/golden/unigram$kind.model
        it "$@" < "$work/lines" > "$work/ids"
        it "$@" "$(printf 'hello world\r')" '' "$(printf 'r\303\251sum\303\251')" a | diff - "$work/ids" || return 1
    done
}
escapes() {
    bytes=$models_tests/golden/unigram_bytes.model
    [ "$(it --decode "$bytes" $(it --ids "$bytes" "$(printf 'a\tb')"))" = 'a\x09b' ]
}
gives_back() { [ "$(it --decode "$model" $(it --ids "$model" "$1"))" = "$1" ]; }
# A file without an end is read no further than its header says that it goes.
stops_reading() {
    { printf '\002\0\0\0\0\0\0\0{}'; cat /dev/zero; } | it /dev/stdin > "$work/messages" 2>&1
    [ $? = 1 ] && grep -q 'after the last tensor$' "$work/messages"
}

# refused NAME CAUSE BYTES: the tool refuses a file of these bytes, given as printf has them.
refused() {
    printf "$3" > "$work/hostile file"
    minds " refuses $1" 1 "$tool: $work/hostile file: $2" "$work/hostile file"
}

# A GGUF has the tokens of the file that it was made of.
tokenizes_gguf() {
    for text in 'Once upon 2 times' "it's <|eot_id|>"; do
        "$B/tokenize" --ids $models_tests/golden/bpe/llama3.json "$text" > "$work/one" &&
            "$B/tokenize" --ids $models_tests/golden/gguf/tok_llama3.gguf "$text" | cmp - "$work/one" || return 1
    done
}

part_tools() {
    tool=tokenize model=$models_tests/golden/unigram.model
    check "tokenize shows pieces, ids and scores" shows $models_tests/golden/tokenize.out "$B/tokenize" "$model" \
        'Hello <extra_id_0> world' '' "$(printf 'caf\303\251 \033[31m \360\237\230\200 \377')"
    check "tokenize reads lines" lines_agree
    check "tokenize gives text back" gives_back 'the house'
    check "tokenize --decode escapes control characters" escapes
    minds ": an id that is not there" 1 "tokenize: $model: an id that the model does not have" --decode "$model" 123456
    minds ": not an id" 1 "tokenize: number 2 of the ids is not an id" --decode "$model" 5 5x
    minds ": contradictory options" 2 "usage: tokenize" --ids --decode "$model" 5
    minds ": usage" 2 "usage: tokenize"
    minds ": an unknown option" 2 "tokenize: there is no option '--idz'" --idz "$model" text
    minds ": no such file" 1 "tokenize: $work/none: cannot be opened" "$work/none" text
    minds ": a directory" 1 "tokenize: $work: cannot be read" "$work" text
    no_room output "$model" text
    refused "an empty model" "no pieces" ''
    refused "a truncated model" "byte 2: a field is longer than its message" '\n\005\n'
    refused "an endless number" "byte 5: a number is too long" '\377\377\377\377\377\377\377\377\377\377\377'
    refused "a model without an unknown piece" "no unknown piece" '\n\003\n\001a'

    tool=tensors tensors=$models_tests/golden/types.safetensors
    check "tensors shows types, shapes and values" shows $models_tests/golden/tensors.out "$B/tensors" "$tensors"
    cat "$tensors" | it /dev/stdin | sed "s,^/dev/stdin,$tensors," > "$work/piped"
    check "tensors reads a pipe" diff $models_tests/golden/tensors.out "$work/piped"
    check "tensors stops where a pipe should" stops_reading
    check "tensors shows a GGUF" shows $models_tests/golden/gguf/types.out "$B/tensors" $models_tests/golden/gguf/types.gguf
    check "tensors --exact" shows $models_tests/golden/gguf/exact.out "$B/tensors" --exact \
        $models_tests/golden/gguf/types.gguf
    check "tokenize takes a GGUF" tokenizes_gguf
    check "tensors without mmap compiles" $CC $LDFLAGS -DMAPPED_NEVER -o "$work/tensors" \
        examples/models/tensors.c examples/models/gguf*.c examples/models/safetensors.c examples/models/json.c -lm &&
        check "tensors without mmap" shows $models_tests/golden/tensors.out "$work/tensors" "$tensors"
    no_room output "$tensors"
    check "tensors --help" is_narrow "$B/tensors"
    check "tokenize --help" is_narrow "$B/tokenize"
    minds ": no file" 2 "tensors: the name of a file is missing"
    minds ": an unknown option" 2 "tensors: there is no option '--exactly'" --exactly "$tensors"
    minds ": no such file" 1 "tensors: $work/none: cannot be opened" "$work/none"
    minds ": a directory" 1 "tensors: $work: cannot be read" "$work"
    refused "an empty file" "no header length" ''
    refused "a header past the end" "a header of 3 bytes in a file of 10" '\003\0\0\0\0\0\0\0{}'
    refused "a huge header" "a header of 9223372036854775807 bytes is too large" '\377\377\377\377\377\377\377\177{}'
    refused "half a surrogate pair" "header, byte 2: half a surrogate pair" '\014\0\0\0\0\0\0\0{"\\ud800":1}'
}

parts tools "$@"
