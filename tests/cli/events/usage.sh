# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what cpt events is not
cpt events; echo "exit $?"
cpt events sing x.csv; echo "exit $?"
cpt events spans; echo "exit $?"
cpt events spans absent.csv; echo "exit $?"
cpt events spans absent.csv -o spans.json; echo "exit $?"
echo 'hello' >text.csv
cpt events spans text.csv -o spans.json; echo "exit $?"
echo 'id,begin_us' >half.csv
cpt events spans half.csv -o spans.json; echo "exit $?"
cpt import --events half.csv; echo "exit $?"
ls spans.json
