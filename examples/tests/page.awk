# Checks build/notebooks.html: awk -f page.awk tests/golden/cells.txt build/notebooks.html. Prints what is wrong.
#
# Every cell of a notebook that has an output, a line of cells.txt, is in the page's table, which leads to a step that
# shows it: its numbers in what the step prints, its picture. Every step says what happens, in C, and prints or draws.
# Tags close, ids are there once, links within the page lead somewhere, nothing else is loaded.

function wrong(what) { print what; failed = 1 }

# The numbers of a text as keys of `set`: without zeros at the end of a fraction, nor a point.
function numbers(text, set,    n) {
    while (match(text, /[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?/)) {
        n = substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH)
        if (match(n, /\.[0-9]*/)) {
            part = substr(n, RSTART, RLENGTH); sub(/\.?0*$/, "", part)
            n = substr(n, 1, RSTART - 1) part substr(n, RSTART + RLENGTH)
        }
        set[n]
    }
}

BEGIN {
    cells_file = ARGV[1]; RS = "<"
    while ((getline line < ARGV[2]) > 0) { # by tags: "section class="step" id=..>text"
        tag = line; sub(/[ >\n].*/, "", tag); text = line; sub(/^[^>]*>/, "", text)
        attributes = line; sub(/>.*/, "", attributes)
        if (!first++ || tag ~ /^!/) continue
        if (tag ~ /^\//) {
            if (stack[depth] != substr(tag, 2)) wrong("</" stack[depth] "> is missing before <" tag ">")
            if (tag == "/section" && step) {
                if (!said[step]) wrong(step " does not say what happens")
                if (!coded[step]) wrong(step " has no C")
                if (!(step in prints) && !(step in draws)) wrong(step " shows nothing")
                step = ""
            }
            if (tag == "/pre") output = 0
            depth--
        } else if (attributes !~ /\/$/ && tag !~ /^(meta|br|img)$/) {
            stack[++depth] = tag
        }
        if (match(attributes, / id="[^"]*"/)) {
            id = substr(attributes, RSTART + 5, RLENGTH - 6)
            if (id in ids) wrong("two ids " id)
            ids[id]
        }
        if (match(attributes, / href="#[^"]*"/)) links[substr(attributes, RSTART + 8, RLENGTH - 9)]
        if (tag ~ /^(script|link|iframe|object|embed|audio|video)$/ || attributes ~ / (src|xlink:href)=/)
            wrong("loads: <" attributes)
        cells = ""
        if (match(attributes, / data-cells="[^"]*"/)) cells = substr(attributes, RSTART + 13, RLENGTH - 14)
        if (tag == "section" && attributes ~ /class="step"/) {
            step = id; steps++
            n = split(cells, list, " ")
            for (i = 1; i <= n; i++) in_step[list[i], step]
        }
        if (tag == "tr") row = cells
        if (tag == "a" && row && match(attributes, /#s[0-9][0-9]-[0-9]+/)) {
            n = split(row, list, " ")
            for (i = 1; i <= n; i++) leads[list[i]] = leads[list[i]] " " substr(attributes, RSTART + 1, RLENGTH - 1)
        }
        if (tag == "/table") row = ""
        if (step == "") continue
        if (tag == "p" && attributes == "p" && text ~ /[a-z]/ && !in_box) said[step] = 1
        if (tag == "div") { in_box = attributes; if (attributes ~ /"code"/) coded[step] = 1 }
        if (tag == "/div") in_box = ""
        if (tag == "pre" && in_box ~ /"output"/) output = 1
        if (output) prints[step] = prints[step] text
        if (tag == "svg") draws[step]
    }
    if (depth) wrong("<" stack[depth] "> does not close")
    for (link in links) if (!(link in ids)) wrong("nothing is called #" link)
    RS = "\n"
    while ((getline line < cells_file) > 0) {
        n = split(line, item, " "); cell = item[1] ":" item[2]; count++
        k = split(leads[cell], to, " ")
        if (!k) { wrong("cell " cell " is not in the table"); continue }
        split("", shown); text = ""; pictures = 0
        for (i = 1; i <= k; i++) {
            if (!((cell, to[i]) in in_step)) wrong("step " to[i] " does not name cell " cell)
            text = text prints[to[i]]
            pictures += to[i] in draws
        }
        numbers(text, shown)
        for (i = 3; i <= n; i++) {
            if (item[i] == "picture") there = pictures
            else if (item[i] == "random") there = text ~ /0\.[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]/
            else if (sub(/^text:/, "", item[i])) there = gsub(/_/, " ", item[i]) && index(text, item[i])
            else there = item[i] in shown
            if (!there) wrong("cell " cell ": no " item[i])
        }
    }
    if (count < 50) wrong("only " count + 0 " cells")
    if (steps < 60) wrong("only " steps + 0 " steps")
    exit failed
}
