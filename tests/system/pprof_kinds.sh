# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# pprof_kinds.sh - every report of pprof and every view of its web page accept our
# profiles, alone, as a difference and with labels. (Except those that need a program or
# its source: disasm, list, weblist.)
. "$(dirname "$0")/pprof.sh"
pprof=$(go tool -n pprof) # itself, so that its process can be ended
profiles 11
cp base.pb.gz ours.pb.gz

say 'reports as text and as data'
for kind in callgrind comments dot peek=. proto raw tags text top topproto traces tree; do
    for what in '' '-diff_base=new.pb.gz -nodefraction=0 -edgefraction=0' '-files' '-lines'; do
        # shellcheck disable=SC2086
        go tool pprof -unit=ms $what -"$kind" -output=report ours.pb.gz >said 2>&1 ||
            fail "$kind $what: $(cat said)"
        # labels are not in our profiles here, and a difference has no comments
        case $kind in tags | comments) ;; *) [ -s report ] || fail "$kind $what is empty" ;; esac
    done
done
go tool pprof -proto -output=again.pb.gz ours.pb.gz >said 2>&1 || fail "proto: $(cat said)"
exact -top ours.pb.gz >ours.txt
exact -top again.pb.gz >again.txt
top_rows ours.txt >ours.rows
top_rows again.txt >again.rows
same 'pprof writes it again' ours.rows again.rows

command -v dot >/dev/null 2>&1 && {
    say 'pictures'
    for kind in svg png gif ps pdf; do
        go tool pprof -unit=ms -"$kind" -output=picture ours.pb.gz >said 2>&1 ||
            fail "$kind: $(cat said)"
        [ -s picture ] || fail "$kind is empty"
    done
}

command -v curl >/dev/null 2>&1 || {
    echo 'skipped: no curl, so no web page'
    exit 77
}
# page NAME WORD: the page has the word and no error.
page()
{
    curl -sL -m 30 --noproxy '*' -o page.html -w '%{http_code}' "http://127.0.0.1:$port/ui/$1" >code
    [ "$(cat code)" = 200 ] || fail "/$1 answers $(cat code)"
    grep -q "$2" page.html || fail "/$1 has no '$2'"
}

# serve FILE OPTIONS...: on a free port
serve()
{
    for try in 1 2 3 4 5; do
        port=$((21000 + ($$ * 11 + try * 983) % 12000))
        start web "$pprof" -unit=ms -no_browser -http=127.0.0.1:$port "$@"
        for _ in $(seq 50); do
            curl -sLf -m 2 --noproxy '*' -o page.html "http://127.0.0.1:$port/ui/top" && return
            sleep 0.2
        done
    done
    fail 'the web page does not come up'
}

say 'the web page'
serve ours.pb.gz
page top 'A: /'
page flamegraph 'A: /'
page peek 'A: /'
command -v dot >/dev/null 2>&1 && page '' '</svg>'
page 'flamegraph?si=critical_path_total' 'A: /'
page 'top?si=requests' 'A: /'
page 'top?f=B:' 'B: '
curl -sL -m 30 --noproxy '*' -o again.pb.gz "http://127.0.0.1:$port/ui/download" || fail download
gzip -t again.pb.gz || fail 'the download is not a profile'

say 'the web page of a difference'
serve -diff_base=new.pb.gz ours.pb.gz
page top 'A: /'
page flamegraph 'A: /'
