# Checks build/notebooks.html: awk -f page.awk tests/golden/cells.txt build/notebooks.html OUTPUT... SOURCE...
#
# Every cell of a notebook that has an output, a line of cells.txt, is in the page's table, which leads to steps that
# show it: its numbers, in their order, in what the steps print, its picture. Every step says what happens, in C, and
# prints or draws. What stands as printed is what OUTPUT has, with as many pictures; every line of a SOURCE that calls
# the library and tries is on the page, and nothing as C that is in no SOURCE. Tags close, ids are there once, links
# within the page lead somewhere, nothing else is loaded.

function wrong(what) { print what; failed = 1 }

# The numbers of a text to `list`, in order; returns how many: without zeros at the end of a fraction, nor a point.
# Those of lines that begin with "row", which say what is not as in the notebook, to `others`, too.
function numbers(text, list, others,    n, part, count, lines, line, i, k) {
    k = split(text, lines, "\n")
    for (i = 1; i <= k; i++)
        for (line = lines[i]; match(line, /-?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?/); line = part) {
            n = substr(line, RSTART, RLENGTH); part = substr(line, RSTART + RLENGTH)
            if (match(n, /\.[0-9]*/)) {
                line = substr(n, RSTART, RLENGTH); sub(/\.?0*$/, "", line)
                n = substr(n, 1, RSTART - 1) line substr(n, RSTART + RLENGTH)
            }
            list[++count] = n
            if (lines[i] ~ /^row/) others[n]
        }
    return count
}

function plain(text) { gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&amp;/, "\\&", text); return text }
function trimmed(text) { sub(/^[ \n]+/, "", text); sub(/[ \n]+$/, "", text); return text }

# What programs printed, by steps, and the lines of their sources.
function read_files(    i, file, line, example, step) {
    for (i = 3; i < ARGC; i++) {
        file = ARGV[i]; example = file; sub(/.*\//, "", example); example = substr(example, 1, 2); step = ""
        while ((getline line < file) > 0)
            if (file ~ /\.c$/) {
                sources[trimmed(line)]
                if (line ~ /SHOW_TRY\(/) tries[trimmed(line)] = file
                if (match(line, /^ *\/\* [0-9]+\. /)) {
                    step = trimmed(line); sub(/^\/\* /, "", step); step = "s" example "-" (step + 0)
                    comment[step] = ""; line = substr(line, RSTART + RLENGTH)
                }
                if (step) comment[step] = comment[step] " " trimmed(line)
                if (line ~ /\*\/$/) step = ""
            } else if (match(line, /^== [0-9]+/)) {
                step = "s" example "-" substr(line, 4, RLENGTH - 3); printed[step] = ""
            } else if (line ~ /^picture: /) {
                pictures_of[step]++
            } else {
                printed[step] = printed[step] line "\n"
            }
    }
    delete printed[""]
}

BEGIN {
    cells_file = ARGV[1]
    read_files()
    RS = "<"
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
        if (tag == "div" && attributes ~ /"code"/) in_code = 1
        if (tag == "/div") in_code = 0
        if (in_code && tag ~ /^(pre|i|\/i)$/) code = code text
        if (tag == "/pre") code = code "\n"
        if (step == "") continue
        if (tag == "p" && attributes == "p" && text ~ /[a-z]/ && !in_box) said[step] = trimmed(text)
        if (tag == "div") { in_box = attributes; if (attributes ~ /"code"/) coded[step] = 1 }
        if (tag == "/div") in_box = ""
        if (tag == "pre" && in_box ~ /"output"/) output = 1
        if (output) prints[step] = prints[step] text
        if (tag == "svg") draws[step]++
    }
    if (depth) wrong("<" stack[depth] "> does not close")
    for (step in printed) {
        if (trimmed(plain(prints[step])) != trimmed(printed[step])) wrong(step " does not show what was printed")
        line = comment[step]; sub(/ *\*\/$/, "", line); sub(/`.*/, "", line)
        if (step !~ /^s05/ && plain(said[step]) != trimmed(line)) wrong(step " does not say all of its comment")
        if (draws[step] + 0 != pictures_of[step] + 0) wrong(step " has " draws[step] + 0 " pictures")
    }
    n = split(plain(code), list, "\n")
    for (i = 1; i <= n; i++) {
        shown[trimmed(list[i])]
        if (!(trimmed(list[i]) in sources)) wrong("in no source: " list[i])
    }
    for (line in tries) if (!(line in shown)) wrong(tries[line] ": not on the page: " line)
    for (link in links) if (!(link in ids)) wrong("nothing is called #" link)
    RS = "\n"
    while ((getline line < cells_file) > 0) {
        n = split(line, item, " "); cell = item[1] ":" item[2]; count++
        k = split(leads[cell], to, " ")
        if (!k) { wrong("cell " cell " is not in the table"); continue }
        split("", list); split("", others); text = ""; pictures = at = 0
        for (i = 1; i <= k; i++) {
            if (!((cell, to[i]) in in_step)) wrong("step " to[i] " does not name cell " cell)
            text = text prints[to[i]]
            pictures += draws[to[i]]
        }
        k = numbers(text, list, others)
        for (i = 3; i <= n; i++) {
            was = at
            if (item[i] == "picture") there = pictures
            else if (item[i] == "random") there = text ~ /0\.[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]/
            else if (sub(/^text:/, "", item[i])) there = gsub(/_/, " ", item[i]) && index(text, item[i])
            else if (item[i] in others) there = 1
            else {
                do at++; while (at <= k && list[at] != item[i] "")
                there = at <= k
                if (!there) at = was
            }
            if (!there) wrong("cell " cell ": no " item[i] " where it should be")
        }
    }
    if (count < 50) wrong("only " count + 0 " cells")
    if (steps < 60) wrong("only " steps + 0 " steps")
    exit failed
}
