# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# no character that turns the direction of text reaches a person; JSON has the raw names in
# `frames` where the text of a frame is not its name
make_log turned >a.cptlog
cpt report a.cptlog >report.txt
cpt report --html report.html a.cptlog
cpt folded a.cptlog >folded.txt
cpt pprof -o - a.cptlog | gzip -dc >profile
cpt diff --by name a.cptlog a.cptlog >diff.txt
cpt diff --by edge --format markdown a.cptlog a.cptlog >diff.md
cpt log a.cptlog >log.txt
cpt log --json a.cptlog >log.json
cpt show a.cptlog >show.txt
cpt report --json a.cptlog >report.json
cpt diff --json --by name a.cptlog a.cptlog >diff.json
cpt report --where status=none a.cptlog >none.txt 2>&1
ls *.txt *.html *.md *.json profile | LC_ALL=C sort | while read -r file; do
    for character in '\342\200\256' '\342\201\246' '\342\201\251' '\342\200\217' '\330\234'; do
        LC_ALL=C grep -q "$(printf "$character")" "$file" && echo "$file has $character"
    done
done
sed -n 4,99p report.txt
cpt report --where 'path("A\xe2\x80\xae: x\x3by;gnp\xe2\x80\xae.exe") > 0ms' a.cptlog | tail -1
for file in report.json diff.json log.json; do
    echo "$file"
    grep -o '"stack":[^]]*]\|"frames":[^]]*]' $file
done
