#!/bin/sh
# Checks of the command line of examples/13_generate.c: see tests/check.sh.
. examples/models/tests/models.sh

# greedy OPTION...: the likeliest tokens, on one thread, without a penalty; "$model" and a text are among the options.
greedy() { it --greedy --repetition-penalty 1 --threads 1 "$@"; }

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

# A GGUF of the same model says the same. It has no generation_config.json, whose stop is left out.
takes_gguf() {
    copied && rm "$work/model/generation_config.json" || return 1
    for options in "--max-tokens 48 --ids" "--max-tokens 48" "--chat --max-tokens 9" "--chat --template"; do
        greedy $options "$work/model" "$prompt" > "$work/one" 2> /dev/null &&
            greedy $options $models_tests/golden/gguf/generate.gguf "$prompt" | cmp - "$work/one" || return 1
    done
}

# The first piece of a text has no space in front, that of a continuation has.
begins_texts() {
    drawn='--seed 7 --temperature 5 --top-k 0 --top-p 1 --max-tokens 4'
    it $drawn --prompt-ids 1 "$pieces" > "$work/one" && it $drawn "$pieces" '' > "$work/other" &&
        grep -q '^ [a-z]' "$work/one" && sed '1s/^ //' "$work/one" | cmp - "$work/other"
}

# Without the stop of generation_config.json, and without that file: 48 tokens, of which --max-tokens takes the first.
goes_on() {
    copied && rm "$work/model/generation_config.json" || return 1
    continues $model/long.out it --ids --max-tokens 48 --threads 1 "$work/model" "$prompt" || return 1
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
    copied && echo '{"eos_token_id": 383}' > "$work/model/generation_config.json" || return 1
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
    set -- greedy $chat --timing $model 'Who are you, <|im_end|>?'
    "$@" 'And now?' 2>&1 > "$work/one" | grep -q '^read 110 tokens' &&
        "$@" 2>&1 > "$work/one" | grep -q '^read 64 tokens' || return 1
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
    copied && added="{\"id\": $1, \"content\": \"zyx\", \"special\": $2}," &&
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
    copied &&
        sed -e 's/"id": 2,/"id": 384,/' -e 's/"<|im_end|>": 2/"im_end": 2/' $model/tokenizer.json \
            > "$work/model/tokenizer.json" || return 1
    says 1 "13_generate: $work/model: the chat template needs a token 384: config.json has a vocab_size of 384" \
        "$B/13_generate" --chat "$work/model"
}
# The model is named by its directory, whatever a message begins with, and as text for people.
names_model() (
    rm -rf "$work/t" && cp -R $model "$work/t" && cd "$work" || return 1
    says 1 '13_generate: t: token 5000 is not in the vocabulary' "$B/$tool" --prompt-ids 5000 t &&
        says 1 '13_generate: k\x1b[31m\xc2\x85/config.json: ' "$B/$tool" "$(printf 'k\033[31m\302\205')"
)
# An answer ends at the family's token, whatever the model's files say.
ends_turns() {
    copied && echo '{"eos_token_id": 0}' > "$work/model/generation_config.json" || return 1
    [ "$(it --chat --seed 11 --temperature 2 --max-tokens 200 --ids "$work/model" a | wc -w)" -lt 200 ]
}
shows_templates() { # from config.json and the tokenizer alone
    copied && rm "$work"/model/model.safetensors "$work"/model/generation_config.json || return 1
    [ "$(it --chat --template --ids "$work/model" Hi)" = "$(it --chat --template --ids $model Hi)" ] || return 1
    [ "$(it --chat --template --system 'A b.' $model Hi)" = '<|im_start|>system
A b.<|im_end|>
<|im_start|>user
Hi<|im_end|>
<|im_start|>assistant' ] || return 1
    echo Hi | it --chat --template --ids --family gemma $model 2> "$work/messages"
    [ $? = 1 ] && grep -q "^13_generate: $model: the chat template gemma needs a token <bos>," "$work/messages" &&
        it --chat --template --ids $model Hi | grep -q -x '[0-9][0-9]*\( [0-9][0-9]*\)*' || return 1
    it --chat --template --family smollm3 --date '1 May 2030' --no-thinking $model Hi > "$work/one"
    grep -q -x 'Today Date: 1 May 2030' "$work/one" && grep -q -x 'Reasoning Mode: /no_think' "$work/one" &&
        grep -q -x '<think>' "$work/one" &&
        it --chat --template --family qwen3 $model Hi | grep -q '<|im_start|>user'
}

own='--temperature 0.7 --top-k 20 --top-p 0.8 --repetition-penalty 1.1' # generation_config.json of the model

counts_tokens() {
    prints_times 'loaded N s;read N tokens N s N tokens/s;wrote N tokens N s N tokens/s;cache N MiB for N tokens;seed N;' \
        --greedy --repetition-penalty 1 --max-tokens 5 $model "$prompt" &&
        grep -q "^read $(wc -w < $model/ids.txt) tokens" "$work/messages" && grep -q '^wrote 5 tokens' "$work/messages"
}

# Bytes that a terminal would obey reach no terminal: `script` is one.
minds_terminals() {
    greedy --ids --max-tokens 48 "$work/model" "$prompt" > "$work/one"
    script -q -e -c "'$B/13_generate' --greedy --threads 1 --max-tokens 48 '$work/model' '$prompt'" /dev/null \
        < /dev/null > "$work/shown" 2>&1 || return 1
    LC_ALL=C tr -d '\n\r\t' < "$work/shown" | LC_ALL=C grep -q '[[:cntrl:]]' && return 1
    [ -s "$work/shown" ]
}

part_generate() {
    tool=13_generate always=--ids steady=--seed=1 operands=text files='config.json model.safetensors tokenizer.json'
    model=$models_tests/golden/generate prompt=$(cat $models_tests/golden/generate/prompt.txt)
    check "13_generate: greedy texts, ids, caches, threads" continues_prompts
    check "13_generate: tokenizer.model" continues_pieces
    check "13_generate: a GGUF" takes_gguf
    check "13_generate: the beginning of a text" begins_texts
    check "13_generate --repetition-penalty" continues $model/penalty.out \
        it --greedy --ids --max-tokens 20 --repetition-penalty 1.1 $model "$prompt"
    check "13_generate: generation_config.json says the penalty" continues $model/penalty.out \
        it --temperature=0 --ids --max-tokens 20 $model "$prompt"
    check "13_generate --max-tokens, no generation_config.json" goes_on
    check "13_generate --stop" stops_before
    check "13_generate --stop: nowhere" stops_nowhere
    check "13_generate: no byte of a text" ends_before_it_begins
    check "13_generate --context" fills_context
    check "13_generate --chat" talks
    check "13_generate --chat: a long line" talks_at_length
    check "13_generate --chat: a line without an end" says_endless --chat $model
    check "13_generate: more tokens than the model has" minds_vocabulary
    check "13_generate --chat: a template with more" minds_template
    check "13_generate: the name of the model" names_model
    check "13_generate --chat: the end of a turn" ends_turns
    check "13_generate --template" shows_templates
    check "13_generate --seed" same '--seed 5' '--threads 2 --seed=5'
    check "13_generate --seed matters" differ '--seed 5' '--seed 6'
    check "13_generate: generation_config.json" same '--seed 5' "--seed 5 $own"
    check "13_generate --temperature matters" differ "--seed 5 $own" "--seed 5 $own --temperature 3"
    check "13_generate --top-k 1 is greedy" same "--seed 5 --top-k 1" --greedy
    check "13_generate --top-p 0 is greedy" same "--seed 5 --top-p 0" --greedy
    check "13_generate --timing" counts_tokens
    check "13_generate: numbers" refuses_options --temperature=-1 --temperature=101 --temperature=nan \
        --top-p=1.5 --top-p=-0.1 --top-k=-1 --top-k=x --repetition-penalty=0 --seed=-1 --seed=99999999999 \
        --max-tokens=0 --context=0 --threads=1025 --cache=f64 --cache= --stop= --prompt-ids=1 --greedy=1
    minds ": a file that is no GGUF" 1 "README.md: neither a directory nor a GGUF that can be read" README.md a
    minds ": no such GGUF" 1 "none.gguf: there is no such file" none.gguf a
    minds ": a context beyond the model's" 2 "--context" --context 257 $model a
    minds " --greedy --temperature" 2 "--greedy" --greedy --temperature 1 $model a
    minds " --system without --chat" 2 "need --chat" --system a $model a
    minds " --family: none of them" 2 "no template 'x'" --chat --family x $model a
    minds ": two texts" 2 "more than one TEXT" $model a b
    minds ": a special token in a text" 0 "special tokens in the text are read as characters" --greedy $model "<|im_end|>"
    minds ": an unknown option" 2 "no option '--top'" --top 2 $model a
    minds ": nothing to continue" 1 "13_generate: the prompt is empty" $model ''
    minds ": an empty input" 1 "13_generate: the prompt is empty" $model
    for ids in '' ' ' 'x' '1x' '1 -2' '99999999999999999999' '1;2'; do
        minds " --prompt-ids '$ids'" 1 "13_generate: " --prompt-ids "$ids" $model
    done
    minds " --prompt-ids: not in the vocabulary" 1 "13_generate: $model: token 5000 is not in the vocabulary" \
        --prompt-ids '1 5000' $model
    for file in $files; do damaged "no $file" "" "rm $file"; done
    files="$files generation_config.json tokenizer_config.json"
    by half $files; by empty $files; by endless $files
    not_numbers "the logit of token 0 is NaN"
    copied && rm "$work/model/tokenizer_config.json"
    check "13_generate --chat: by tokens alone" \
        [ "$(greedy --chat "$work/model" a)" = "$(greedy --chat --family chatml $model a)" ]
    printf '{"chat_template": "a\\n{{ messages|xmlattr }}"}' > "$work/model/tokenizer_config.json"
    minds " --chat: a filter that is not known" 1 \
        "13_generate: $work/model: chat template: line 2: there is no filter xmlattr" --chat "$work/model" a
    printf '{"chat_template": "{{ raise_exception(1) }}"}' > "$work/model/tokenizer_config.json"
    minds " --chat: a template that refuses" 1 \
        "13_generate: $work/model: chat template: line 1: the template says: 1" --chat "$work/model" a
    rm "$work/model/generation_config.json"
    [ -z "$RUN" ] && script -q -e -c true /dev/null < /dev/null > "$work/shown" 2>&1 &&
        check "13_generate: a terminal" minds_terminals
    alike
}

parts generate "$@"
