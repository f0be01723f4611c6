# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# arms to which users were drawn: what stands out among requests has to do so among users
make_log users >a.cptlog
two='--base arm=control --new arm=treatment'
cpt culprit $two --top 2 a.cptlog
for option in '' '--cluster user'; do
    echo "$option"
    cpt culprit $option $two --json a.cptlog | tr , '\n' |
        grep -E '^"(verdict|concurrent|cluster|hint_cluster)"'
done
