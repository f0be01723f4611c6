# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# every command that prints an answer keeps it below --max-bytes, as JSON that is valid, and
# what is left out is counted and summed
if ! command -v python3 >/dev/null; then
    echo "skipped: there is no python3"
    exit 77
fi
make_log experiment >a.cptlog
make_log traced >b.cptlog
make_log hostile >hostile.cptlog
make_log metadata >value
cpt aggregate -o a.cpttree a.cptlog
two='--base arm=control --new arm=treatment'
cat >check.py <<'EOF'
import json, sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def total(lines):
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines.splitlines())


def check(kind, text, whole):
    if kind == "lines":
        rows = [json.loads(line) for line in text.splitlines()]
        rest = rows.pop()["rest"] if rows and "rest" in rows[-1] else {"records": 0, "latency_ns": 0}
        all_rows = [json.loads(line) for line in whole.splitlines()]
        assert len(rows) + rest["records"] == len(all_rows), "records"
        assert sum(r["latency_ns"] for r in rows) + rest["latency_ns"] == sum(r["latency_ns"] for r in all_rows), "sum"
        assert all(row in all_rows for row in rows), "a record that is not in the log"
        return
    if kind == "folded":
        assert total(text) == total(whole), "sum"
        return
    answer, all_rows = json.loads(text), json.loads(whole)
    if kind == "metadata":
        lengths = [s["duration_ns"] for s in answer["segments"]]
        longest = sorted((s["duration_ns"] for s in all_rows["segments"]), reverse=True)
        assert sum(lengths) + answer["rest"]["duration_ns"] == all_rows["sum_ns"], "sum"
        assert len(lengths) + answer["rest"]["segments"] == len(longest), "segments"
        assert sorted(lengths, reverse=True) == longest[:len(lengths)], "not the longest"
    elif kind == "rows":
        assert len(answer["rows"]) + answer["rest"]["rows"] == len(all_rows["rows"]), "rows"


for path in sys.argv[2:]:
    try:
        check(sys.argv[1], read(path), read("whole"))
    except Exception as error:
        print(f"{path}: {type(error).__name__} {error}")
EOF
walk()
{
    kind=$1
    shift
    "$@" >whole <value || echo "$*: fails"
    # a limit of exactly its length leaves it as it is
    "$@" --max-bytes $(wc -c <whole) <value 2>said | cmp - whole || echo "$*: $(cat said)"
    fits=0
    rm -f out.*
    for size in 1 150 400 1000 1500 2k 4k 16k 1M; do
        case $size in
        *k) limit=$((${size%k} * 1024)) ;;
        *M) limit=$((${size%M} * 1048576)) ;;
        *) limit=$size ;;
        esac
        out=out.$size
        "$@" --max-bytes $size >$out 2>said <value
        status=$?
        if [ $status = 2 ]; then
            # the size that the refusal names works
            least=$(grep -o '[0-9]* bytes$' said | cut -d' ' -f1)
            [ "${least:-0}" -gt $limit ] || echo "$*: refuses $size: $(cat said)"
            grep -v '^{"error":' $out && echo "$*: refuses $size, but prints"
            "$@" --max-bytes $least >$out 2>said <value || echo "$*: $least do not work"
            limit=$least
        elif [ $status != 0 ]; then
            echo "$*: exits with $status"
        else
            fits=$((fits + 1))
        fi
        [ $(wc -c <$out) -le $limit ] || echo "$*: $(wc -c <$out) bytes with $limit"
    done
    if [ "$kind" != text ] && python3 check.py $kind out.* | grep .; then
        echo "$*: is wrong"
    fi
    [ $fits -gt 2 ] || echo "$*: only $fits sizes work"
    cmp -s $out whole || [ "$kind" != text ] || echo "$*: 1M is not all"
    echo "$*" >>walked
}
walk text cpt metadata
walk metadata cpt metadata --json
walk text cpt log a.cptlog
walk text cpt log --paths hostile.cptlog
walk text cpt log --check a.cptlog b.cptlog hostile.cptlog
walk text cpt log --where arm=control --sample 5 a.cptlog
walk lines cpt log --json a.cptlog hostile.cptlog
walk text cpt show --slowest a.cptlog
walk text cpt show b.cptlog
walk text cpt report a.cptlog
walk rows cpt report --json a.cptlog
walk rows cpt report --json --quantiles 50%,99% a.cpttree
walk text cpt diff $two a.cptlog
walk text cpt diff --format markdown $two a.cptlog
walk rows cpt diff --json $two a.cptlog
walk text cpt diff --quantile 90% $two a.cptlog
walk rows cpt diff --json --quantile 90% $two a.cptlog
walk text cpt natural --when arm=control a.cptlog
walk rows cpt natural --json --when arm=control --by name a.cptlog
walk text cpt predict --key region --threshold 20ms a.cptlog
walk json cpt predict --json --key region --threshold 20ms a.cptlog
walk text cpt culprit --by name $two a.cptlog
walk json cpt culprit --json $two a.cptlog
make_log drags >drags.cptlog
walk text cpt report drags.cptlog
walk text cpt report --drag drags.cptlog
walk rows cpt report --json --drag drags.cptlog
make_log contended >contended.cptlog
walk text cpt contention contended.cptlog
walk json cpt contention --json contended.cptlog
for task in 1 2 3 4 5 6; do # one after the other, each of the same length
    printf '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%032d","spanId":"%016d","parentSpanId":"%s",' 1 $task "${parent:-}"
    printf '"name":"op","startTimeUnixNano":"1","endTimeUnixNano":"60000001","attributes":[{"key":"critical_path.note",'
    if [ $task = 1 ]; then
        parent=$(printf '%016d' 1)
        note="request entry=A:%20%2f latency=50000000 by=$(printf '%016d' 6)"
    else
        note="task name=A:%20t$task ready=$((task - 2))0000000 start=$((task - 2))0000000 end=$((task - 1))0000000"
        [ $task = 2 ] || note="$note after=$(printf '%016d' $((task - 1)))"
    fi
    printf '"value":{"stringValue":"%s"}}]}]}]}]}\n' "$note"
done >notes.json
walk text cpt slack notes.json
walk json cpt slack --json notes.json
walk text cpt busy notes.json
walk json cpt busy --json notes.json
walk text cpt whatif --set '*=-50%' notes.json
walk json cpt whatif --json --set '*=-50%' notes.json
{
    echo id,service,unit,event,time_us
    for i in 1 2 3 4 5 6 7 8 9; do
        at=170000000${i}00000
        printf 'r%d,web,w,GET,%s\nr%d,a,a,x,%s\nr%d,a,a,y,%s\nr%d,b,b,z,%s\n' \
            $i ${at}1 $i ${at}3 $i ${at}5 $i $at$((i / 5 * 3 + 4))
    done
} >lines.csv
sed 's/,y,/,q,/' lines.csv >changed.csv
if cpt model learn lines.csv >lines.cptmodel 2>said; then
    cpt model learn changed.csv >changed.cptmodel 2>said
    walk text cpt model show lines.cptmodel
    walk json cpt model show --json lines.cptmodel
    walk text cpt model curve lines.csv
    walk text cpt model diff lines.cptmodel changed.cptmodel
    walk rows cpt model diff --json lines.cptmodel changed.cptmodel
else
    grep -q 'built without simdjson' said || cat said
fi
make_log delays >delays.cptlog
walk text cpt experiment delays.cptlog
walk rows cpt experiment --json delays.cptlog
walk text cpt precision --pairs 2 --requests 10 a.cptlog
walk rows cpt precision --json --pairs 2 --requests 10 a.cptlog
walk text cpt plan a.cptlog
walk json cpt plan --json a.cptlog
walk folded cpt folded a.cptlog
walk json cpt assert --json 'some span("A: /")' a.cptlog
# what is left out is the smaller part
cpt log --max-bytes 400 a.cptlog | tail -1
cpt folded --max-bytes 60 a.cptlog
cpt metadata --max-bytes 300 <value
# commands that are not walked write files, or serve
cpt help | sed -n '/^commands/,/^options/s/^  \([a-z]*\) .*/\1/p' | while read -r command; do
    grep -q "^cpt $command" walked || echo "not walked: $command"
done
cpt log --max-bytes 4k --follow a.cptlog
cpt log --max-bytes 4k --output x a.cptlog
cpt folded --max-bytes 4k --output x a.cptlog || true
