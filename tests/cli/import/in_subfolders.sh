# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans in subfolders alone: the folder is one of spans for each command; links are no loops
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p spans/2026/01 new/01 deep
cp "$here/../../data/spans/traces.json" spans/2026/01
sed 's/"traceID": *"0*/&7/' spans/2026/01/traces.json >new/01/traces.json
ln -s .. spans/2026/01/loop
for command in report log folded contention 'aggregate -o all.cpttree' slack 'import --sections'; do
    cpt $command spans >out 2>err
    echo "$command: $? $(tail -1 err)"
done
cpt report spans 2>/dev/null | head -1
cpt diff spans new 2>/dev/null | head -1
cpt spans 2>/dev/null | head -1
echo '-- a path log in a subfolder comes first'
cpt import -o spans/2026/a.cptlog new 2>/dev/null
cpt report spans 2>&1 | head -2
echo '-- beyond the depth that a folder may have'
path=deep
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do
    path=$path/d
done
mkdir -p $path
cp new/01/traces.json $path
cpt report deep 2>&1 | sed 's|/d.*/d:|/…:|'
