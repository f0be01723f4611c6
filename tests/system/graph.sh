# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# graph.sh - cpt graph: the plans of each example, as a program and as a service.
. "$(dirname "$0")/system.sh"
need curl python3

here=$(dirname "$0")

say 'each example'
for example in 01_one_service 02_two_services 03_path_log 04_profile 05_components 06_optional_inputs \
    07_shared_work 08_by_hand figure1_a figure1_b figure1_c; do
    status=0
    "$CPT" graph "$CPT_EXAMPLES/$example" >$example.dot 2>$example.err || status=$?
    case $example in
    03* | 04* | 08*) # they have no graph
        [ $status = 1 ] && grep -q 'it has made no plan' $example.err || fail "$example: $(tail -2 $example.err)"
        continue
        ;;
    esac
    [ $status = 0 ] || fail "$example: status $status, $(tail -2 $example.err)"
    cat $example.dot
    ! command -v dot >/dev/null || dot -Tsvg $example.dot >$example.svg || fail "$example: dot refuses it"
done >all.out
cat all.out
grep -qF 'n1 -> n2 [label="text\nconst char *"]' 01_one_service.dot || fail 'no typed arrow in 01_one_service.dot'
grep -q 'label="component"' 05_components.dot || fail 'no component'
grep -q 'style=dotted' 06_optional_inputs.dot || fail 'no optional input'

say 'a service that runs tells the same'
rm -f ports
start services "$CPT_HELPERS/wait_services" ports
await ports .
read -r a b <ports
"$CPT" graph "127.0.0.1:$b" >service.dot
cat >expected <<'END'
digraph plans {
  rankdir=LR;
  node [shape=box];
  subgraph cluster_1 {
  label="B: /check";
  n1 [shape=ellipse, label="rpc_request\nstruct cpt_rpc_request"];
  n2 [label="B: check"];
  n1 -> n2 [label="rpc_request\nstruct cpt_rpc_request"];
  n3 [shape=ellipse, label="rpc_reply\nstruct cpt_rpc_reply"];
  n2 -> n3;
  }
  subgraph cluster_4 {
  label="B: /sleep";
  n4 [shape=ellipse, label="rpc_request\nstruct cpt_rpc_request"];
  n5 [label="B: sleep"];
  n4 -> n5 [label="rpc_request\nstruct cpt_rpc_request"];
  n6 [shape=ellipse, label="rpc_reply\nstruct cpt_rpc_reply"];
  n5 -> n6;
  }
}
END
diff expected service.dot || fail 'the graph of a service differs'
curl -sS "http://127.0.0.1:$a/cpt/plans" | python3 "$here/../cli/json_schema.py" --complete "$here/../../docs/schemas/plans.json"
if command -v dot >/dev/null; then
    "$CPT" graph --svg "127.0.0.1:$b" | grep -q '<svg' || fail 'no picture'
fi

say 'programs that make no plan, or do not exist'
for program in true ./none; do
    ! "$CPT" graph $program 2>err || fail "$program has plans"
    grep -q 'it has made no plan' err || fail "$(cat err)"
done
echo 'passed'
