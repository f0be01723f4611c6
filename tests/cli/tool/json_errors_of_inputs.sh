# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the error in the place of a document: damage, and which file it is
make_log few >few.cptlog
head -c 60 few.cptlog >bad.cptlog
printf '\377' | dd of=bad.cptlog bs=1 seek=50 conv=notrunc 2>/dev/null
try() { "$@" 2>/dev/null; echo "exit $?"; }
for command in report log precision plan contention experiment 'report --stop-at-error'; do
    try cpt $command --json bad.cptlog
done
try cpt diff --json bad.cptlog bad.cptlog
try cpt culprit --json bad.cptlog bad.cptlog
# with sound records there is a document
cat bad.cptlog few.cptlog >half.cptlog
try cpt report --json half.cptlog | head -c 9; echo
# an error that has further lines
try cpt report --json --where arm=none --where 'latency > 1h' few.cptlog
try cpt log --json --where 'latency >' few.cptlog
# the name of the file is not escaped
try cpt report --json 'no;such\file'
printf '\037\213\010' >profile.pb.gz
try cpt report --json profile.pb.gz
echo '{"data": []}' >none.json
try cpt report --json none.json
try cpt metadata --json zzz
echo zzz | try cpt metadata --json
# --max-bytes leaves out what does not fit
try cpt report --json --max-bytes 4k missing
try cpt report --json --max-bytes=4k missing
try cpt report --json --max-bytes 40 missing
try cpt report --json --max-bytes 4z missing
try cpt report --json --max-bytes
