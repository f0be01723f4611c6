# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what each sort of term changes, and what one that is wrong says
. "$(dirname "$0")/requests.sh"
for term in '--set=A: a=-50%' '--set=A: b <queue>=0' '--cap=A: a<=4ms' '--cut=A: a -> A: b' '--add=A: b -> A: c' \
    '--parallel=A: b > C: C1' '--workers=A=1' '--queues=replay'; do
    echo "$term:"
    cpt whatif "$term" spans.json
done
echo 'two, of a file:'
printf '# faster\r\nset A: a=-1ms\r\n \t\n  # C\ncap C: *<=3ms\n' >terms
cpt whatif --terms terms spans.json | head -4
cpt whatif --sweep 1ms spans.json
cpt whatif --best 2 --sweep 100% spans.json
cpt whatif --set 'C: C1=1ms' --output new.cptlog spans.json >printed
cpt report new.cptlog
echo 'wrong:'
for term in '--set=A: d=0' '--set=A: a <queue>=0' '--set=A: a=fast' '--cut=A: c -> A: a' '--add=A: a -> B: b' '--workers=B=3' '--queues=some' '--sweep=1' '--sweep=0%' '--best=0' '--best=3x' \
    '--terms=none' '--terms=.' '--where=latency > p99'; do
    cpt whatif "$term" spans.json
    echo "exit $?"
done
cpt whatif --where region=eu spans.json
echo "exit $?"
