#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# pprof_speedscope.sh - speedscope opens our profiles and shows our numbers.
#
# speedscope is taken from $CPT_SPEEDSCOPE (a folder with its index.html) or from npm,
# into the folder of this test. Its "sandwich" is a table of frames: what it says is read
# in a browser without a screen. Skipped (77) without chromium or speedscope.
set -u
log=$(dirname "$0")/../data/walkthrough/paths.cptlog
skip()
{
    echo "pprof_speedscope: $1"
    exit 77
}
browser=$(command -v chromium || command -v chromium-browser) || skip 'no chromium'
scope=${CPT_SPEEDSCOPE:-node_modules/speedscope/dist/release}
if [ ! -e "$scope/index.html" ]; then
    command -v npm > /dev/null || skip 'neither speedscope nor npm'
    timeout 100 npm install --prefix . speedscope@1.25.0 > npm.out 2>&1 || skip 'npm has no speedscope'
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0
cp -r "$scope" "$work/scope" || exit 1

# Runs after its own script: opens the sandwich, and prints its table as text.
cat > "$work/tests.html" <<'END'
<script>
setTimeout(() => {
    [...document.querySelectorAll("div")].filter((at) => at.textContent.endsWith("Sandwich")).pop().click();
    setTimeout(() => dispatchEvent(new Event("resize")), 500);
    setTimeout(() => {
        const rows = document.createElement("pre");
        rows.textContent = [...document.querySelectorAll("tr")].map((row) =>
            [...row.children].map((cell) => cell.textContent).join("|")).join("\n");
        document.body.append(rows);
    }, 2500);
}, 2500);
</script>
END
sed "/<\/body>/{
r $work/tests.html
}" "$work/scope/index.html" > "$work/scope/test.html"

# The table that speedscope shows for a profile, as "total|self|frame" lines.
show() # PROFILE
{
    printf 'speedscope.loadFileFromBase64("profile.pb.gz", "%s")' "$(base64 -w0 "$1")" \
        > "$work/profile.js"
    timeout 100 "$browser" --headless --no-sandbox --disable-dev-shm-usage \
        --user-data-dir="$work/browser" --allow-file-access-from-files --use-gl=angle \
        --use-angle=swiftshader --enable-unsafe-swiftshader --window-size=1200,900 \
        --virtual-time-budget=12000 --enable-logging=stderr --dump-dom \
        "file://$work/scope/test.html#localProfilePath=$work/profile.js" 2> "$work/log" |
        sed -n '/<pre>/,/<\/pre>/p' | sed 's/<[^>]*>//g; s/&gt;/>/g; s/&lt;/</g'
    if grep 'Uncaught' "$work/log"; then
        failed=1
    fi
}

# expect WHAT PATTERN: a line of that table.
expect()
{
    grep -q "^$2\$" "$work/shown" || {
        echo "pprof_speedscope: no line '$2' in $1:"
        cat "$work/shown"
        failed=1
    }
}

"$CPT" pprof --quiet -o "$work/stacks.pb.gz" "$log" || exit 1
"$CPT" pprof --quiet --view edge -o "$work/edges.pb.gz" "$log" || exit 1
show "$work/stacks.pb.gz" > "$work/shown"
# the numbers of docs/walkthrough.md
expect 'the stacks' '38.86ms (100%)|0.00ns (<0.01%)|A: /'
expect 'the stacks' '38.86ms (100%)|13.15ms (34%)|A: A1'
expect 'the stacks' '11.22ms (29%)|4.05ms (10%)|B: B1'
expect 'the stacks' '.*|B: ‹network+serialization›'
show "$work/edges.pb.gz" > "$work/shown"
expect 'the edges' '38.86ms (100%)|.*|-> A'
expect 'the edges' '11.28ms (29%)|.*|A -> B'
[ $failed = 0 ] && echo 'pprof_speedscope: opened, with our numbers'
exit $failed
