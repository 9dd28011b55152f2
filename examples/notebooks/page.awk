# Writes build/notebooks.html: what the examples are, do, print and draw, step by step.
#
#     awk -v pictures=DIRECTORY -f page.awk examples/README.md SOURCE OUTPUT [SOURCE OUTPUT]... page.html
#
# README.md has a section for each example, `## 01: title`: its first paragraph, and a table that says which cell of a
# notebook is in which step. SOURCE is an example; a step of it begins with a comment, `/* 4. what happens, and why */`,
# and ends where it draws, the next one begins, or the function ends. Before the first step of a function stand its
# declarations, before that of the program what it declares outside of functions; with a step, the functions that it is
# the first to call, but for those that draw or have steps of their own. A SOURCE without a number is one more of the
# example before it. OUTPUT is what the example printed: a step begins with `== 4. title`, and `picture: FILE` names
# what it drew. A line @NAME@ of page.html becomes the file NAME beside it, or, for notebooks, contents, cells and
# steps, what is made here.

function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }

# Markdown within a line: `code`, *emphasis*, [text](link), of which the text stays unless it leads away.
function marked(s,    link, text, parts, n, i, out) {
    n = split(escaped(s), parts, "`")
    for (i = 1; i <= n; i++) {
        if (i % 2 == 0) { out = out "<code>" parts[i] "</code>"; continue }
        s = parts[i]
        while (match(s, /\*[^* ][^*]*\*/))
            s = substr(s, 1, RSTART - 1) "<em>" substr(s, RSTART + 1, RLENGTH - 2) "</em>" substr(s, RSTART + RLENGTH)
        out = out s
    }
    while (match(out, /\[[^]]*\]\([^)]*\)/)) {
        link = substr(out, RSTART, RLENGTH); text = link
        sub(/^\[/, "", text); sub(/\]\(.*/, "", text); sub(/.*\]\(/, "", link); sub(/\)$/, "", link)
        if (link ~ /^https?:/) text = "<a href=\"" link "\">" text "</a>"
        out = substr(out, 1, RSTART - 1) text substr(out, RSTART + RLENGTH)
    }
    return out
}

# ---- reading ----

FNR == 1 {
    file = FILENAME; sub(/.*\//, "", file)
    kind = file; sub(/.*\./, "", kind)
    step = 0; state = ""
    if (file ~ /^[0-9][0-9]_.*\.c$/) {
        example = substr(file, 1, 2)
        order[++examples] = example
    }
    if (kind == "c") {
        source[example] = source[example] (source[example] ? "</code> and <code>" : "") FILENAME
        declared[example] = ""
        included = inside = 0
    }
    if (kind == "html") template = FILENAME
}

kind == "md" && /^## / {
    section = substr($0, 4); state = "begins"
    if (section ~ /^[0-9][0-9]: /) {
        title[substr(section, 1, 2)] = substr(section, 5)
        section = substr(section, 1, 2)
    }
    next
}
kind == "md" && /^\|/ {
    line = $0; gsub(/^\| *| *\|$/, "", line); gsub(/ *\| */, "|", line)
    if (line !~ /^[-|]*$/) rows[section, ++row_count[section]] = line
    next
}
kind == "md" && section && /^$/ { if (state == "reads") state = "" }
kind == "md" && section && state && /^[^!|# ]/ { intro[section] = intro[section] " " $0; state = "reads" }

# Functions, each with the comment above it, their first declarations if they have steps, and what stands outside of
# them.
function declare() {
    if (included && above ~ /#define|(^|\n)[^\/\n][^\n]*[;}]/) declared[example] = declared[example] above
    above = ""
}
kind == "c" && /^(static|int|void|const char) [^=;]*\(/ {
    name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
    body = above
    above = ""
    inside = 1
}
kind == "c" && inside { body = body $0 "\n" }
kind == "c" && !inside && /^(\/\*|$)/ { declare() }
kind == "c" && !inside && !/^(#include|#define ATTN_|$)/ { above = above $0 "\n" }
kind == "c" && /^#include/ { included = file ~ /^[0-9]/ }
kind == "c" && /^ *\/\* [0-9]+\. / { in_locals = 0 }
kind == "c" && in_locals && !/show_directory|show_precision|show_threshold/ { locals = locals substr($0, 5) "\n" }
kind == "c" && /^[{]/ { locals = ""; in_locals = 1 }
kind == "c" && inside && (/^}/ || /^[^ ].*;$/) {
    if (/^}/ && name !~ /^(draw|main$)/ && body !~ /\/\* [0-9]+\. /) {
        functions[example, ++function_count[example]] = name
        bodies[example, name] = body
    }
    inside = in_locals = 0
    locals = ""
}

kind == "c" && match($0, /^ *\/\* [0-9]+\. /) {
    step = $2 + 0; state = "says"
    line = substr($0, RSTART + RLENGTH)
    indent = match($0, /[^ ]/) - 1
    sub(/\n+$/, "\n", locals)
    before[example, step] = locals
    locals = ""
}
kind == "c" && state == "says" {
    if (!match($0, /^ *\/\* [0-9]+\. /)) { line = $0; sub(/^ */, "", line) }
    if (sub(/ *\*\/$/, "", line)) state = "does"
    says[example, step] = says[example, step] " " line
    next
}
kind == "c" && state == "does" && indent == 0 && /^}/ { code[example, step] = code[example, step] "}" }
kind == "c" && (/^}/ || /^ *(draw(_[a-z]*)?|show_part|show_figure)\(/) { state = "" }
kind == "c" && state == "does" && /^ *(show_title\(|return show_done\(|puts\("\\n==)/ { next }
kind == "c" && state == "does" { code[example, step] = code[example, step] substr($0, indent + 1) "\n" }

kind == "txt" && match($0, /^== [0-9]+\. /) {
    step = $2 + 0
    if (step > last[example]) last[example] = step
    heading[example, step] = substr($0, RSTART + RLENGTH)
    next
}
kind == "txt" && /^picture: / { drawn[example, step] = drawn[example, step] " " $2; next }
kind == "txt" { printed[example, step] = printed[example, step] $0 "\n" }

# ---- writing ----

# A file, whose ids begin with `own`, if that is given: the page has many pictures. One that is not there ends it all.
function put_file(name, own,    line, got) {
    while ((got = (getline line < name)) > 0) {
        if (own) { gsub(/id="scale/, "id=\"" own "-scale", line); gsub(/url\(#scale/, "url(#" own "-scale", line) }
        print line
    }
    close(name)
    if (got == 0) return
    print name " cannot be read" (own ? ": remove " pictures ", and it is drawn anew" : "") > "/dev/stderr"
    failed = 1
}

function put_picture(name,    own) {
    own = name; gsub(/[^a-zA-Z0-9]/, "-", own)
    put_file(pictures "/" name, own)
}

# The functions that a text calls, and that these call, unless they are `shown` already, in the order of the program.
function called(x, text,    i, n, name, depth, next_text, found, out) {
    n = function_count[x]
    for (depth = 1; depth <= 2; depth++) {
        next_text = ""
        for (i = 1; i <= n; i++) {
            name = functions[x, i]
            if (((x, name) in shown) || !match(text, "(^|[^a-z_])" name "[(]")) continue
            shown[x, name] = found[name] = 1
            next_text = next_text bodies[x, name]
        }
        text = next_text
    }
    for (i = 1; i <= n; i++)
        if (functions[x, i] in found) out = out (out ? "\n" : "") bodies[x, functions[x, i]]
    return out
}

function put_pre(class, caption, text) {
    sub(/^\n+/, "", text); sub(/\n+$/, "", text)
    if (text == "") return
    text = escaped(text)
    if (class == "code") gsub(/\/\*[^*]*\*\//, "<i>&</i>", text)
    print "<div class=\"" class "\"><p>" caption "</p><pre>" text "</pre></div>"
}

# The step that a cell of README's table names, as "01-4": `== 4. ..`, and of another example if it links to that.
function step_of(text, example) {
    if (match(text, /\]\(#[0-9][0-9]-/)) example = substr(text, RSTART + 3, 2)
    return match(text, /== [0-9]+\./) ? example "-" (substr(text, RSTART + 3, RLENGTH - 4) + 0) : ""
}

# Reads the table of an example: which notebooks its columns are of, and which cells each step has.
function read_cells(example,    i, n, m, c, fields, head, book, columns, id, k, cells) {
    n = split(rows[example, 1], head, "|")
    for (c = 1; c <= n && head[c] !~ /^what/; c++) {
        book = head[c]
        if (match(book, /[0-9][0-9][0-9]/)) book = substr(book, RSTART, 3)
        else { book = title[example]; match(book, /[0-9][0-9][0-9]/); book = substr(book, RSTART, 3) }
        columns[c] = book
    }
    for (i = 2; i <= row_count[example]; i++) {
        split(rows[example, i], fields, "|")
        row_cells[example, i] = ""
        id = step_of(fields[c + 1], example)
        for (k = 1; k < c; k++) {
            n = split(fields[k], cells, ", ")
            for (m = 1; m <= n; m++) {
                row_cells[example, i] = row_cells[example, i] " " columns[k] ":" cells[m]
                if (id) at_step[id] = at_step[id] " " columns[k] ":" cells[m]
            }
        }
        row_step[example, i] = id
    }
}

function link_to(id, example,    parts, text) {
    split(id, parts, "-")
    text = parts[2] ". " marked(heading[parts[1], parts[2]])
    return "<a href=\"#s" id "\">" (parts[1] == example ? text : parts[1] ": " text) "</a>"
}

# " 000:3 001:4 000:4" in words: notebook 000, cells 3, 4; notebook 001, cell 4.
function in_words(cells,    n, i, parts, list, books, of, seen, words) {
    n = split(cells, list, " ")
    for (i = 1; i <= n; i++) {
        split(list[i], parts, ":")
        if (list[i] in seen) continue
        seen[list[i]]
        if (of[parts[1]] == "") { books = books " " parts[1]; of[parts[1]] = parts[2] }
        else of[parts[1]] = of[parts[1]] ", " parts[2]
    }
    n = split(books, list, " ")
    for (i = 1; i <= n; i++)
        words = words (i > 1 ? "; " : "") "notebook " list[i] ", cell" (of[list[i]] ~ /,/ ? "s " : " ") of[list[i]]
    return words
}

# The cells of a notebook, each a link to its steps.
function cells_of(book,    e, i, n, list, parts, out, k, last_cell, seen) {
    for (e = 1; e <= examples; e++)
        for (i = 2; i <= row_count[order[e]]; i++) {
            n = split(row_cells[order[e], i], list, " ")
            for (k = 1; k <= n; k++) {
                split(list[k], parts, ":")
                if (parts[1] != book || !row_step[order[e], i] || (parts[2], row_step[order[e], i]) in seen) continue
                seen[parts[2], row_step[order[e], i]]
                if (parts[2] != last_cell) out = out (out ? ", " : "") "<b>" parts[2] "</b>:&nbsp;"
                else out = out " and&nbsp;"
                out = out "<a href=\"#s" row_step[order[e], i] "\">" row_step[order[e], i] "</a>"
                last_cell = parts[2]
            }
        }
    return out
}

function put_notebooks(    i, n, c, fields) {
    print "<table>"
    for (i = 1; i <= row_count["The five notebooks"]; i++) {
        n = split(rows["The five notebooks", i], fields, "|")
        printf "<tr>"
        for (c = 1; c <= n; c++) printf(i == 1 ? "<th scope=\"col\">%s</th>" : "<td>%s</td>", marked(fields[c]))
        print (i == 1 ? "<th scope=\"col\">cells: steps</th>" : "<td>" cells_of(substr(fields[1], 2, 3)) "</td>")
        print "</tr>"
    }
    print "</table>"
}

function put_cells(    e, x, i, n, c, fields, where) {
    for (e = 1; e <= examples; e++) {
        x = order[e]
        if (x == "00" || x > "04") continue
        print "<table>\n<caption>" x ": " marked(title[x]) "</caption>"
        n = split(rows[x, 1], fields, "|")
        printf "<tr>"
        for (c = 1; c < n; c++) printf "<th scope=\"col\">%s</th>", (c == n - 1 ? "step" : fields[c])
        print "</tr>"
        for (i = 2; i <= row_count[x]; i++) {
            if (row_cells[x, i] == "") continue # beyond the notebooks
            split(rows[x, i], fields, "|")
            where = row_step[x, i] ? link_to(row_step[x, i], x) : marked(fields[n - 1])
            printf "<tr data-cells=\"%s\">", substr(row_cells[x, i], 2)
            for (c = 1; c < n; c++) printf "<td>%s</td>", (c == n - 1 ? where : marked(fields[c]))
            print "</tr>"
        }
        print "</table>"
    }
}

function put_contents(    e) {
    for (e = 1; e <= examples; e++)
        print "<li><a href=\"#s" order[e] "\"><b>" order[e] "</b> " marked(title[order[e]]) "</a></li>"
}

function put_steps(    e, x, s, n, i, list, id) {
    for (e = 1; e <= examples; e++) {
        x = order[e]
        print "<section class=\"example\" id=\"s" x "\">\n<h2>" x ": " marked(title[x]) "</h2>"
        print "<p>" marked(substr(intro[x], 2)) "</p>"
        print "<p class=\"source\">In <code>" source[x] "</code></p>"
        put_pre("code", "declared at the top", declared[x])
        for (s = 1; s <= last[x]; s++) {
            id = x "-" s
            print "<section class=\"step\" id=\"s" id "\" data-cells=\"" substr(at_step[id], 2) "\">"
            print "<h3><a href=\"#s" id "\">" s ". " marked(heading[x, s]) "</a></h3>"
            if (at_step[id]) print "<p class=\"cells\">" in_words(at_step[id]) "</p>"
            print "<p>" marked(substr(says[x, s], 2)) "</p>"
            put_pre("code", "in C", before[x, s] (before[x, s] ? "\n" : "") code[x, s])
            put_pre("code", "functions that it calls", called(x, code[x, s]))
            put_pre("output", "prints", printed[x, s])
            n = split(drawn[x, s], list, " ")
            for (i = 1; i <= n; i++) {
                print "<figure>"; put_picture(list[i]); print "</figure>"
            }
            print "</section>"
        }
        print "</section>"
    }
}

END {
    for (e = 1; e <= examples; e++) read_cells(order[e])
    directory = template; sub(/[^\/]*$/, "", directory)
    while ((getline line < template) > 0) {
        if (line == "@notebooks@") put_notebooks()
        else if (line == "@contents@") put_contents()
        else if (line == "@cells@") put_cells()
        else if (line == "@steps@") put_steps()
        else if (line ~ /^@.*@$/) { gsub(/@/, "", line); put_file(directory line) }
        else print line
    }
    exit failed
}
