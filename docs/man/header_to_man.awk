# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# header_to_man.awk - a public header as a page of section 3
#
# Our headers read like a chapter: an opening comment, then chunks separated by empty
# lines, each a comment and the declarations that it describes. The opening comment
# becomes the DESCRIPTION, and each chunk a paragraph: declarations in bold, text below.
# Prose is filled; paragraphs with an indented line are pictures or code and stay as
# they are.
#
# Set on the command line: version. Function names go to the file `functions`, one on
# each line, for the pages that only point here.

function literal(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}

# Prints the comment lines text[1..lines] as paragraphs.
function put_prose(    i, from, indented)
{
    from = 1
    for (i = 1; i <= lines + 1; i++) {
        if (i <= lines && text[i] != "") {
            if (text[i] ~ /^  / || text[i] ~ /   /) {
                indented = 1
            }
            continue
        }
        if (i > from) {
            put_paragraph(from, i - 1, indented)
        }
        from = i + 1
        indented = 0
    }
    lines = 0
}

# Prints row[1..rows], which stay as they are, within 80 columns. The page indents them by
# @margin; wide ones stand further to the left, and lose the blanks that all begin with.
function put_literal(margin, font,    i, blank, widest)
{
    blank = 80
    widest = 0
    for (i = 1; i <= rows; i++) {
        if (row[i] != "") {
            match(row[i], /^ */)
            blank = RLENGTH < blank ? RLENGTH : blank
            widest = length(row[i]) > widest ? length(row[i]) : widest
        }
    }
    if (widest <= 80 - margin) {
        blank = 0
    }
    widest -= blank
    print ".nf"
    if (widest > 80 - margin) {
        print ".in " (widest < 80 ? 80 - widest : 0) "n"
    }
    for (i = 1; i <= rows; i++) {
        print font literal(substr(row[i], blank + 1)) (font != "" ? "\\fR" : "")
    }
    if (widest > 80 - margin) {
        print ".in"
    }
    print ".fi"
    rows = 0
}

# Adds a line of code to the rows; of one that is too long, the comment stands above, and
# a declaration goes on behind its last blank.
function add_code(line,    comment, blank, at)
{
    match(line, /^ */)
    blank = substr(line, 1, RLENGTH)
    if (length(line) > 80 && match(line, /[^ ] +\/\*.*\*\/$/)) {
        comment = substr(line, RSTART + 1)
        line = substr(line, 1, RSTART)
        sub(/^ +/, "", comment)
        row[++rows] = blank comment
    }
    while (length(line) > 80) {
        at = 80
        while (at > length(blank) + 1 && substr(line, at, 1) != " ") {
            at--
        }
        if (at <= length(blank) + 1) {
            break
        }
        row[++rows] = substr(line, 1, at - 1)
        line = blank "    " substr(line, at + 1)
    }
    row[++rows] = line
}

function put_paragraph(from, to, indented,    i)
{
    print ".PP"
    if (indented) {
        for (i = from; i <= to; i++) {
            row[++rows] = text[i]
        }
        put_literal(in_chunk ? 11 : 7, "")
        return
    }
    for (i = from; i <= to; i++) {
        print literal(text[i])
    }
}

function put_chunk(    i, line, rest)
{
    if (codes > 0) {
        print ".PP"
        for (i = 1; i <= codes; i++) {
            line = code[i]
            rest = line
            while (match(rest, /(^|[^a-zA-Z0-9_])cpt_[a-z0-9_]+\(/)) {
                name = substr(rest, RSTART, RLENGTH - 1)
                sub(/^[^a-z]/, "", name)
                if (line !~ /^[ \t]*(return|if)/ && !(name in seen)) {
                    seen[name] = 1
                    print name > functions
                }
                rest = substr(rest, RSTART + RLENGTH)
            }
            gsub(/CPT_(API|NODISCARD|UNUSED) /, "", line)
            sub(/ +\\$/, " \\", line)
            add_code(line)
        }
        put_literal(7, "\\fB")
    }
    if (lines > 0) {
        if (codes > 0) {
            print ".RS 4"
            in_chunk = 1
        }
        put_prose()
        if (codes > 0) {
            print ".RE"
            in_chunk = 0
        }
    }
    codes = 0
}

function add_comment(line)
{
    sub(/^\/\*+ ?/, "", line)
    sub(/^ \*\/$/, "", line)
    sub(/ ?\*\/$/, "", line)
    sub(/^ \* ?/, "", line)
    sub(/^---+ /, "", line)
    sub(/ ---+$/, "", line)
    text[++lines] = line
}

/SPDX-/ { next }

# The opening comment: its first line is "cpt_x.h - what it is for".
!opened && /^ \* cpt_[a-z0-9_]+\.h - / {
    opened = 1
    header = $2
    page = header
    sub(/\.h$/, "", page)
    what = $0
    sub(/^[^-]*- /, "", what)
    printf ".TH %s 3 \"\" \"cpt %s\" \"The cpt library\"\n", page, version
    print ".SH NAME"
    print page " \\- " literal(what)
    print ".SH SYNOPSIS"
    print ".nf"
    print ".B #include <cpt/" header ">"
    print ".fi"
    print ".SH DESCRIPTION"
    in_opening = 1
    next
}
in_opening {
    if ($0 ~ /\*\/$/) {
        in_opening = 0
        put_prose()
        print ".SH DECLARATIONS"
    } else {
        add_comment($0)
    }
    next
}
!opened { next }

/^CPT_BEGIN_DECLS/ { in_body = 1; next }
/^CPT_END_DECLS/ { put_chunk(); in_body = 0 }
!in_body { next }

in_comment {
    add_comment($0)
    in_comment = $0 !~ /\*\//
    next
}
/^\/\*/ {
    put_chunk()
    add_comment($0)
    in_comment = $0 !~ /\*\//
    next
}
/^$/ && !in_braces { put_chunk(); next }
{
    code[++codes] = $0
    in_braces += gsub(/\{/, "{") - gsub(/\}/, "}")
}
END {
    if (opened) {
        print ".SH SEE ALSO"
        print ".BR cpt (7),"
        print ".BR cpt (1)"
    }
}
