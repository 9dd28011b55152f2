# What the scripts share that check a program, $tool. Of those that read a $model, `"$B/$tool" "$model" $operands` is a
# call that does.
. tests/check.sh

it() { run "$B/$tool" "$@"; }
copied() { rm -rf "$work/model" && cp -R "$model" "$work/model"; }

# minds NAME STATUS TEXT ARGUMENTS...: the program, with these arguments, ends with that status and says TEXT.
minds() { title=$tool$1 status=$2 text=$3; shift 3; check "$title" says $status "$text" "$B/$tool" "$@"; }

# no_room WHAT ARGUMENTS...: nor does it end with success if its output has no room.
no_room() {
    title="$tool: no room for the $1"; shift
    [ ! -c /dev/full ] || check "$title" says_full "$tool: the output cannot be written" "$B/$tool" "$@"
}

# A member of config.json that nobody knows is named once, on stderr, and changes nothing.
notes_members() {
    copied && sed '1s/{/{"foo": 1, "b\\u001br": {},/' "$work/model/config.json" > "$work/config" &&
        mv "$work/config" "$work/model/config.json" || return 1
    it $steady "$model" $operands > "$work/one" &&
        it $steady "$work/model" $operands > "$work/other" 2> "$work/messages" && cmp "$work/one" "$work/other" &&
        printf '%s\n' "$tool: $work/model/config.json: unknown members are not looked at: foo, b\\x1br" |
        cmp - "$work/messages"
}

# What programs that read a model do alike.
alike() {
    check "$tool: unknown members of config.json" notes_members
    check "$tool --help" is_narrow "$B/$tool"
    minds ": no model" 2 "the model is missing"
    minds ": no such model" 1 "$tool: $work/none/config.json" "$work/none" $operands
    no_room output "$model" $operands
    no_room help --help
}

# says_endless ARGUMENTS...: a line of the input that seems to have no end ends the program, with a message.
says_endless() {
    head -c 68200000 /dev/zero | it "$@" > "$work/shown" 2> "$work/messages"
    [ $? = 1 ] && grep -q -x "$tool: the input has a line without an end: more than 67108864 bytes" "$work/messages"
}

# same "OPTION..." "OPTION...": with these, and $always, $prompt gives the same; differ: it does not.
both() {
    it $always $1 "$model" "$prompt" > "$work/one" && [ -s "$work/one" ] &&
        it $always $2 "$model" "$prompt" > "$work/other"
}
same()   { both "$@" && cmp "$work/one" "$work/other"; }
differ() { both "$@" && ! cmp -s "$work/one" "$work/other"; }

# prints_times EXPECTED ARGUMENTS...: but for numbers, and the peak of memory, --timing gives these messages.
prints_times() {
    expected=$1; shift
    it --timing "$@" > "$work/output" 2> "$work/messages" || return 1
    [ "$(sed '/^peak memory [0-9.]* MiB$/d; s/[0-9.]*[0-9]/N/g' "$work/messages" | tr '\n' ';')" = "$expected" ]
}

# refuses_options OPTION...: each, with `=` for its value, is wrong by itself.
refuses_options() {
    for option in "$@"; do
        says 2 "$tool: ${option%%=*}" "$B/$tool" "$option" "$model" $operands || return 1
    done
}

# damaged NAME FILE COMMAND: the model, after a command in its directory, is refused with a message that names the file.
damaged() {
    copied && (cd "$work/model" && eval "$3")
    minds ": $1" 1 "$tool: $work/model$2" "$work/model" $operands
}
# by HOW FILE...: damaged so, each of the files.
by() { how=$1; shift; for file in "$@"; do $how $file; done; }
missing() { damaged "no $1" /$1 "rm $1"; }
half()    { damaged "half of $1" /$1 "head -c \$((\$(wc -c < $1) / 2)) $1 > half && mv half $1"; }
empty()   { damaged "an empty $1" /$1 ": > $1"; }
endless() { damaged "a $1 without an end" /$1 "ln -sf /dev/zero $1"; }

# not_numbers MESSAGE: nor are weights of which half is NaN taken.
not_numbers() {
    damaged "weights that are no numbers" ": $1" 'size=$(wc -c < model.safetensors) &&
        head -c $((size / 2)) model.safetensors > half &&
        head -c $((size - size / 2)) /dev/zero | tr "\0" "\377" >> half && mv half model.safetensors'
}
