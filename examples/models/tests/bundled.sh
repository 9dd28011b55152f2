#!/bin/sh
# Checks of the bundled model, or of the one in the directory MODEL, and of what has made it: see tests/check.sh.
#     model      what it makes of sentences it has not seen; training
#     corpus     that none of those is in the corpus, all of it
. examples/models/tests/models.sh

t5() { run "$B/05_translate" "$@"; }
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

# Words of the corpus's first sentences, which have them all, beside those that known.json says.
says_known() {
    run "$B/grammar" --corpus 20000 | cut -f 1 | tr 'A-Z' 'a-z' | tr -c "a-z'" '\n' | sed "s/^'*//; s/'*$//; /^$/d" |
        sort -u > "$work/words"
    sed '1s/.*"words"//' "$MODEL/known.json" | grep -o '"[^"]*"' | tr -d '"' | sort | diff "$work/words" -
}

# warns TEXT PATTERN: of that text the program says this, and nothing of the notebook's sentence.
warns() {
    t5 "$MODEL" "$1" "$notebook_english" 2> "$work/warnings" > "$work/translated"
    grep -q -x "$2" "$work/warnings" && ! grep -q 'text 2' "$work/warnings"
}

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

# A corpus that takes long to come: on a terminal the program says how far it is, elsewhere nothing.
shows_progress() {
    rm -rf "$work/slow" && mkdir "$work/slow" && cp "$MODEL/spiece.model" "$work/slow" || return
    printf '%s\n' "{ $RUN '$B/grammar' --corpus 300; sleep 1; $RUN '$B/grammar' --corpus 300; } |" \
        "    $RUN '$B/train' --steps 1 '$work/slow'" > "$work/slow.sh"
    script -qec "sh '$work/slow.sh'" /dev/null > "$work/terminal" < /dev/null &&
        grep -q 'reading [0-9]* sentences' "$work/terminal" && sh "$work/slow.sh" > "$work/steps" 2> "$work/messages" &&
        [ ! -s "$work/messages" ] && ! grep -q reading "$work/steps"
}

part_model() {
    check "the model takes at most 1.5 MB" small
    check "the model translates the notebook's sentence" translates_notebook
    set -- $(held_out_score)
    check "the model translates $1 of $2 held-out sentences (90 % of 300 at least)" passes $1 $2
    check "the grammar says what is held out" says_held_out
    check "known.json has the words of the corpus" says_known
    check "a word that the model has not seen is named" warns "My hovercraft's in the house, isn't it." \
        "05_translate: text 1: words that it has never seen: hovercraft's"
    check "an answer is said to be probably wrong" warns 'house house house house' \
        '05_translate: text 1: probably wrong: its score is -0[.][0-9]*, right ones are above -0.018'
    check "that is not among the first 20000 sentences of the corpus" keeps_rule 20000
    tool=train
    check "train --threads 1" learns by_one --threads 1
    check "train --threads 2" learns by_two --threads 2
    check "train: threads change nothing that is learnt" cmp "$work/by_one" "$work/by_two"
    check "train --dropout" learns with_dropout --dropout 0.1
    check "train --dropout matters" [ "$(cksum < "$work/by_one")" != "$(cksum < "$work/with_dropout")" ]
    minds ": no input" 1 "train: no input" "$work/learnt"
    minds ": no vocabulary" 1 "$work/none/spiece.model" "$work/none"
    minds ": steps" 2 "train: --steps: '0' is not a number from 1" --steps 0 "$work/learnt"
    minds ": an option" 2 "train: there is no option '--stops'" --stops 3 "$work/learnt"
    check "train --help" is_narrow "$B/train"
    echo 'no tab' > "$work/lines"
    refuses "train: a line without a tab" "a line of the input has no tab" \
        sh -c "$RUN '$B/train' '$work/learnt' < '$work/lines'"
    if command -v script > /dev/null; then
        check "train: progress on a terminal" shows_progress
    else
        echo "skip script is not installed"
    fi
    tool=grammar
    minds ": usage" 2 "usage: grammar"
    minds ": an option" 2 "grammar: there is no option '--corpse'" --corpse
    check "grammar --help" is_narrow "$B/grammar"
}
part_corpus() {
    check "what is held out is not in the corpus" keeps_rule 300000
    run "$B/grammar" --known > "$work/known.json"
    check "known.json is what the grammar says" cmp "$work/known.json" "$MODEL/known.json"
}

parts "model corpus" "$@"
