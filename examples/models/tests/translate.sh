#!/bin/sh
# Checks of the command line of examples/05_translate.c: see tests/check.sh.
. examples/models/tests/models.sh

# Lines as they come: CRLF, empty, blank, too long, NUL, no UTF-8, none at the end. Each has its line of output, in
# batches of any size and with any number of threads the same, which is that of the text alone.
translates_lines() {
    {
        printf 'The house.\r\n\n \t\r\n'
        head -c 1048577 /dev/zero | tr '\0' x
        printf '\nIs it wonderful?\na\0b\n\377\nthe last'
    } > "$work/lines"
    it "$model" < "$work/lines" > "$work/lines.out" 2> "$work/messages"
    [ $? = 1 ] && [ "$(cat "$work/messages")" = '05_translate: the input: line 4: more than 1048576 bytes' ] || return 1
    for options in '--batch 1' '--batch 3 --threads 1' '--batch=4096 --threads 2'; do
        it $options "$model" < "$work/lines" 2>&1 > "$work/lines.again" | cmp - "$work/messages" &&
            cmp "$work/lines.out" "$work/lines.again" || return 1
    done
    it "$model" 'The house.' '' ' ' '' 'Is it wonderful?' > "$work/texts.out" &&
        it "$model" 'the last' > "$work/last.out" &&
        [ "$(wc -l < "$work/lines.out")" -eq 8 ] && head -n 5 "$work/lines.out" | cmp - "$work/texts.out" &&
        tail -n 1 "$work/lines.out" | cmp - "$work/last.out" && grep -q . "$work/last.out"
}
translates_nothing() {
    [ -z "$(it "$model" < /dev/null)" ] && it --timing "$model" '' ' ' > "$work/blank" 2> "$work/messages" &&
        printf '\n\n' | cmp - "$work/blank" && grep -q '^encoded 0 tokens 0[.]0[0-9]* s 0.0 tokens/s$' "$work/messages"
}

prints_scores() {
    it --scores "$model" "$prompt" | tee "$work/scores" | cut -f 2- > "$work/one"
    it --scores --ids "$model" "$prompt" | tee -a "$work/scores" | cut -f 2- > "$work/other"
    [ "$(grep -c -E '^-[0-9]+\.[0-9]{6}	' "$work/scores")" = 2 ] && grep -q -x -E '[0-9]+( [0-9]+)* 1' "$work/other" &&
        it "$model" "$prompt" | cmp - "$work/one" && it --ids "$model" "$prompt" | cmp - "$work/other"
}
stops() { [ "$(it --ids --max-length 4 "$model" "$prompt" | wc -w)" -eq 3 ]; }
repeats_nothing() { [ -z "$(it --ids --no-repeat-ngram 1 "$model" "$prompt" | tr ' ' '\n' | sort | uniq -d)" ]; }

# The files' defaults, and the command line before them; and what is not done is said.
obeys_files() {
    rm -rf "$work/said" && mkdir -p "$work/said" && cp "$model"/* "$work/said" || return 1
    say() { printf '{"eos_token_id": 1, %s}' "$1" > "$work/said/generation_config.json"; }
    translated() { it --ids --scores "$@" 'The house is wonderful.'; }
    say '"no_repeat_ngram_size": 1, "num_beams": 2, "length_penalty": 2.0, "early_stopping": false'
    options='--no-repeat-ngram 1 --beams 2 --length-penalty 2 --no-early-stopping'
    [ "$(translated --prefix x "$work/said")" = "$(translated --prefix x $options "$model")" ] &&
        [ "$(translated --prefix x "$work/said")" != "$(translated --prefix x "$model")" ] || return 1
    say '"no_repeat_ngram_size": 1, "num_beams": 2, "length_penalty": 2.0, "do_sample": true'
    options='--no-repeat-ngram 0 --greedy --length-penalty 1'
    [ "$(translated $options "$work/said" 2> "$work/messages")" = "$(translated --greedy "$model")" ] &&
        grep -q '^05_translate: .*do_sample is true: texts are searched for, not drawn$' "$work/messages"
}

draws() {
    it --attention "$work/drawn.svg" "$model" 'The house <x>' > "$work/output" || return 1
    [ "$(wc -l < "$work/output")" -eq 1 ] || return 1
    for label in ' translate' ' The' ' house' '&#60;/s&#62;'; do
        grep -q "rotate.*>$label</text>" "$work/drawn.svg" || { echo "no $label"; return 1; }
    done
    grep -q '>block 2, head 4</text>' "$work/drawn.svg"
}

part_translate() {
    model=$models_tests/golden/t5/t5_f32 prompt='The house is wonderful.'
    tool=05_translate always="--ids --scores" operands=text files='config.json model.safetensors spiece.model'
    check "05_translate: lines, batches, threads" translates_lines
    check "05_translate: nothing to translate" translates_nothing
    check "05_translate: a line without an end" says_endless "$model"
    minds ": too many tokens" 1 "05_translate: text 2: more than " "$model" one "$(yes x | head -n 5000)"
    check "05_translate: a text that begins with --" [ -n "$(it "$model" -- --beams)" ]
    check "05_translate: options after the texts" \
        [ "$(it "$model" "$prompt" --ids)" = "$(it --ids "$model" "$prompt")" ]
    check "05_translate: a GGUF" [ "$(it --ids --scores $models_tests/golden/gguf/flan_bf16.gguf "$prompt")" = \
        "$(it --ids --scores $models_tests/golden/t5/flan_bf16 "$prompt")" ]
    check "05_translate --scores, --ids" prints_scores
    check "05_translate --timing" prints_times \
        'loaded N s;encoded N tokens N s N tokens/s;decoded N tokens N s N tokens/s;' "$model" "$prompt"
    check "05_translate --greedy is one beam" same --greedy --beams=1
    check "05_translate --beams is 4" same '' '--beams 4'
    check "05_translate --beams matters" differ '--beams 1' '--beams 4'
    check "05_translate --to is fr" same '' '--from en --to fr'
    check "05_translate --to de" same '--to de' '--from=en --to=de'
    check "05_translate --to matters" differ '--to de' '--to ro'
    check "05_translate --prefix" differ '--prefix=' ''
    check "05_translate --max-length" stops
    check "05_translate --max-length is 257" same '' '--max-length 257'
    check "05_translate --no-repeat-ngram" repeats_nothing
    check "05_translate --length-penalty" differ '' '--length-penalty -2.5e0'
    check "05_translate --length-penalty is 1" same '' '--length-penalty 1.0'
    check "05_translate --no-early-stopping" same '' --no-early-stopping
    check "05_translate --early-stopping" differ '' --early-stopping
    check "05_translate: what the files say of the search" obeys_files
    check "05_translate --attention" draws
    minds " --attention: no such directory" 1 "05_translate: $work/none/x.svg: cannot be written: " \
        --attention "$work/none/x.svg" "$model" "$prompt"
    minds " --attention of too many pieces" 1 "--attention: more than 1000 pieces on a side" \
        --max-length 2 --greedy --attention "$work/x.svg" "$model" "$(yes x | head -n 1100)"
    minds " --attention of too many weights" 1 "--attention: more than 2000000 weights in all heads together" \
        --max-length 400 --greedy --attention "$work/many.svg" examples/models/bundled "$(yes 'x y' | head -n 300)"
    check "  and draws nothing" [ ! -e "$work/many.svg" ]
    minds " --attention of a blank text" 1 "--attention" --attention "$work/x.svg" "$model" ' '
    minds " --attention of two texts" 2 "--attention takes exactly one TEXT" --attention "$work/x.svg" "$model" one two
    minds " --attention of lines" 2 "--attention takes exactly one TEXT" --attention "$work/x.svg" "$model"
    check "05_translate: numbers" refuses_options --beams= --beams=0 --beams=x --beams=4x --beams=-1 --beams=1025 \
        --beams=18446744073709551617 --max-length=1 --max-length=1000001 --length-penalty=nan --length-penalty=1e999 \
        --length-penalty= --length-penalty=1,5 --no-repeat-ngram=-1 --batch=0 --batch=4097 --threads=1025 --threads=+1
    check "05_translate: languages" refuses_options --from=de --to=en --to= --greedy=1 --attention=
    minds ": more beams than half of the tokens" 2 "--beams" --beams 1024 "$model" a
    minds " --greedy --beams" 2 "--greedy" --greedy --beams 2 "$model" a
    minds " --prefix --to" 2 "--prefix" --prefix x --to de "$model" a
    minds ": an unknown option" 2 "no option '--beam'" --beam 2 "$model" a
    minds ": an option without its value" 2 "--beams needs a value" "$model" --beams
    by missing $files; by half $files; by empty $files; by endless $files
    not_numbers "the logits are not finite"
    damaged "two files changed places" / 'mv spiece.model x; mv model.safetensors spiece.model; mv x model.safetensors'
    alike
}

parts translate "$@"
