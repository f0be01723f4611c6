# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the page loads nothing, no name becomes markup, equal inputs give equal pages
make_log experiment >a.cptlog
make_log markup >m.cptlog
cpt report --html one.html a.cptlog
cpt report --html two.html --base arm=control --new arm=treatment a.cptlog
cpt report --html markup.html m.cptlog
cpt report --html - --base arm=control --new arm=treatment - <a.cptlog | sed 's/"standard input"/"a.cptlog"/g' | cmp - two.html
for page in one two markup; do
    sed '/id="data"/,/<\/script>/d; s|http://www.w3.org/2000/svg||' $page.html |
        grep -cE '(src|href)=|url\(|@import|https?://' | sed "s/^/$page: lines that load something: /"
    grep -o '</*script[^>]*>' $page.html
done
sed -n 's/.*\(<title>.*<\/title>\).*/\1/p' markup.html
# what the page is told
sed -n '/id="data"/,/<\/script>/p' one.html | sed 's/.*id="data">//; s/<\/script>//' >data.json
grep -o '"self_ns":[0-9]*' data.json | awk -F: '{ sum += $2 } END { print "self times:", sum }'
cpt report --json a.cptlog | grep -o '"mean_latency_ns":[0-9.]*'
grep -o '"example":{"start":"[^"]*","latency_ns":[0-9]*' data.json
cpt aggregate -o a.cpttree a.cptlog
cpt report --html tree.html a.cpttree
grep -o '"example":null' tree.html | wc -l
