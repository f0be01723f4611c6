# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# nothing but the profile
make_log experiment >a.cptlog
cpt pprof -o - a.cptlog | gzip -t && echo sound
cpt pprof a.cptlog
