# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# man pages have the same sections and options as the help
for page in '' demo events metadata log show aggregate merge load report diff culprit contention web precision plan pprof folded; do
    cpt --man $page >page || echo "$page: $?"
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' 'SEE ALSO'; do
        grep -q "^\.SH $section" page || echo "$page: no $section"
    done
done
cpt --man folded | sed '/^\.TH/d'
cpt --man nonsense
