# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# log_keep.sh - the logs of a service have a limit: 4 GiB each unless --log-keep says
# otherwise; what is removed is told and counted, what is not the service's is kept.
. "$(dirname "$0")/system.sh"
need curl

# old NAME ENDING: a file of 3 GiB, which has no blocks, as an earlier process leaves it.
old() {
    truncate -s 3G "log/$1-20200101T000000Z-99-00000000$2"
}

# fill: two large files of each log, and what is like them.
fill() {
    rm -rf log
    mkdir log
    for ending in cptlog cptgraph otlp.jsonl; do
        old price "1.$ending"
        old price "2.$ending"
        old stock "1.$ending"
        old stock "2.$ending"
    done
    truncate -s 9G log/price-2020-01-01.cptlog
    truncate -s 9G log/price-20200101T000000Z-99-000000001.cptlog.gz
    truncate -s 9G log/price-old-20200101T000000Z-99-000000001.cptlog
}

# serve [OPTION]...: price, with all its logs, until its address is known.
serve() {
    start price "$CPT_EXAMPLES/shop_price" --listen 127.0.0.1:0 --operators 127.0.0.1:0 \
        --log log --spans log --graph 1 --probability 1 "$@"
    await price.out 'price listens on'
    url=http://$(sed -n 's/^price listens on //p' price.out)
    operators=http://$(sed -n 's/^price tells operators on //p' price.out)
}

# removed NAME: a counter of the metrics.
removed() {
    curl -s "$operators/metrics" | awk -v name="$1" '$1 ~ "^" name "({|$)" { print $2 }'
}

end() {
    kill "$pid"
    wait "$pid" || fail "exit $?"
    started=
}

others() {
    find log -name 'stock-*' -o -name 'price-2020-*' -o -name '*.gz' -o -name 'price-old-*' |
        wc -l
}

say 'by default 4 GiB of each log are kept'
fill
serve
for ending in cptlog cptgraph otlp.jsonl; do
    [ ! -e "log/price-20200101T000000Z-99-000000001.$ending" ] || fail "$ending: kept"
    [ -e "log/price-20200101T000000Z-99-000000002.$ending" ] || fail "$ending: not kept"
done
[ "$(others)" = 9 ] || fail "removed what is not its own: $(ls log)"
[ "$(removed cpt_log_files_removed_total)" = 1 ] || fail 'log_files_removed'
[ "$(removed cpt_graphs_files_removed_total)" = 1 ] || fail 'graphs_files_removed'
[ "$(removed cpt_spans_files_removed_total)" = 1 ] || fail 'spans_files_removed'
for content in records spans graphs; do
    grep -q "^price: log: keeps 4 GiB of files with $content, .*; removed now: 1" price.err ||
        fail "not told: $(cat price.err)"
done
end

say 'a flag says how much; a variable, too, and less than the flag'
fill
export CPT_LOG_KEEP=all
serve --log-keep 7GiB
unset CPT_LOG_KEEP
[ "$(find log -size +1G | wc -l)" = 15 ] || fail "removed: $(ls log)"
grep -q '^price: log: keeps 7 GiB of files with records, .*all)$' price.err ||
    fail "not told: $(cat price.err)"
end

say 'the limit has the current file in it'
rm -rf log
mkdir log
serve --log-keep 1MiB
for _ in 1 2 3 4 5 6; do
    curl -s -o body -d 1 "$url/price?[1-2000]"
done
size=$(cat log/*.otlp.jsonl | wc -c)
end
[ "$size" -le 1048576 ] || fail "spans have $size bytes"
[ "$size" -gt 500000 ] || fail "spans have $size bytes only"

say 'all are kept'
fill
serve --log-keep all
[ "$(find log -size +1G | wc -l)" = 15 ] || fail "removed: $(ls log)"
! grep -q 'keeps' price.err || fail "$(cat price.err)"
end

say 'what makes no sense is refused'
for wrong in '' none -1 0 1023K 1MB 4.5GiB 16777216TiB 99999999999999999999 'all '; do
    "$CPT_EXAMPLES/shop_price" --log-keep "$wrong" 2>wrong.err && fail "took '$wrong'"
    grep -q 'wrong value of --log-keep' wrong.err || fail "'$wrong': $(cat wrong.err)"
done

say 'a version'
"$CPT_EXAMPLES/shop_price" --version >version
grep -q '^price (cpt [0-9][0-9.]*)$' version || fail "$(cat version)"
CPT_LISTEN=nonsense "$CPT_EXAMPLES/shop_front" --version >version
grep -q '^front (cpt [0-9][0-9.]*)$' version || fail "$(cat version)"
