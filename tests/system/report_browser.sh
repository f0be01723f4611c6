#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# report_browser.sh MAKE_LOG - the HTML report works in a browser: it loads without
# messages on the console, the sum shown is the mean latency, keys zoom and search,
# hostile names stay text, and nothing is wider than a phone; of ten thousand stacks all
# are found, drawn and listed, and the smallest is the first by q. See report_browser.js.
set -u
make_log=$1
here=$(dirname "$0")
browser=$(command -v chromium || command -v chromium-browser) || {
    echo "report_browser: no chromium"
    exit 77
}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0

# The page with a listener before its script, and our script after it.
with_tests() # PAGE
{
    awk -v tests="$here/report_browser.js" '
        /<\/head>/ { print "<script>window.errors = [];" \
            "addEventListener(\"error\", (event) => errors.push(event.message));" \
            "addEventListener(\"securitypolicyviolation\"," \
            " (event) => errors.push(event.violatedDirective));</script>" }
        /<\/body>/ {
            print "<script>"
            while ((getline line < tests) > 0) print line
            print "</script>"
        }
        { print }' "$1"
}

check() # PAGE WIDTH
{
    with_tests "$work/$1.html" > "$work/tested.html"
    # In a frame: a window is never as narrow as a phone.
    cat > "$work/around.html" <<END
<iframe src="tested.html" style="width: $2px; height: 900px; border: 0"></iframe>
<script>addEventListener("message", (event) => {
    const result = document.createElement("pre");
    result.textContent = event.data;
    document.body.append(result);
});</script>
END
    timeout 100 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$work/profile" --window-size=1400,1000 --virtual-time-budget=5000 \
        --enable-logging=stderr --dump-dom "file://$work/around.html" \
        > "$work/dom" 2> "$work/log" || {
        cat "$work/log"
        echo "report_browser: the browser failed"
        exit 1
    }
    sed -n '/<pre>/,/<\/pre>/p' "$work/dom" | sed 's/<[^>]*>//g' > "$work/result"
    if ! grep -qx "sound at $2" "$work/result" || grep 'CONSOLE' "$work/log"; then
        echo "$1 at $2: $(cat "$work/result")"
        failed=1
    else
        echo "$1 at $2: $(cat "$work/result")"
    fi
}

"$make_log" experiment > "$work/a.cptlog"
"$make_log" markup > "$work/m.cptlog"
"$make_log" wide > "$work/w.cptlog"
"$make_log" moved > "$work/moved.cptlog"
"$CPT" report --html "$work/one.html" "$work/a.cptlog" || exit 1
"$CPT" report --html "$work/two.html" --base arm=control --new arm=treatment \
    "$work/a.cptlog" || exit 1
"$CPT" report --html "$work/markup.html" "$work/m.cptlog" || exit 1
"$CPT" report --html "$work/wide.html" "$work/w.cptlog" || exit 1
"$CPT" diff --html "$work/wide_diff.html" --base arm=control --new arm=treatment \
    "$work/w.cptlog" || exit 1
"$CPT" diff --html "$work/moved.html" --base arm=control --new arm=treatment \
    "$work/moved.cptlog" || exit 1
"$CPT" diff --html "$work/edges.html" --by edge --base arm=control --new arm=treatment \
    "$work/a.cptlog" || exit 1
for page in one two edges markup wide wide_diff moved; do
    check $page 1280
    check $page 390
done
exit $failed
