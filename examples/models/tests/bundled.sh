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
learner() {
    tool=train
    check "train --threads 1" learns by_one --threads 1
    check "train --threads 2" learns by_two --threads 2
    check "train: threads change nothing that is learnt" cmp "$work/by_one" "$work/by_two"
    check "train --dropout" learns with_dropout --dropout 0.1
    check "train --dropout matters" [ "$(cksum < "$work/by_one")" != "$(cksum < "$work/with_dropout")" ]
    minds ": no input" 1 "train: no input" "$work/learnt"
    minds ": no vocabulary" 1 "$work/none/spiece.model" "$work/none"
    minds ": usage" 2 "usage: train" --steps 0 "$work/learnt"
    echo 'no tab' > "$work/lines"
    refuses "train: a line without a tab" "a line of the input has no tab" \
        sh -c "$RUN '$B/train' '$work/learnt' < '$work/lines'"
    tool=grammar
    minds ": usage" 2 "usage: grammar" --corpse
}

part_model() {
    check "the model takes at most 1.5 MB" small
    check "the model translates the notebook's sentence" translates_notebook
    set -- $(held_out_score)
    check "the model translates $1 of $2 held-out sentences (90 % of 300 at least)" passes $1 $2
    check "the grammar says what is held out" says_held_out
    check "that is not among the first 20000 sentences of the corpus" keeps_rule 20000
    learner
}
part_corpus() { check "what is held out is not in the corpus" keeps_rule 300000; }

parts "model corpus" "$@"
