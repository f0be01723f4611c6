# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the commands to look at the profile are printed
make_log experiment >a.cptlog
cpt pprof -o a.pb.gz a.cptlog
cpt pprof -o "it's mine.pb.gz" a.cptlog | head -2
cpt pprof -q -o b.pb.gz a.cptlog
ls
gzip -t a.pb.gz && cmp a.pb.gz b.pb.gz && echo same
