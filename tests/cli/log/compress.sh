# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a compressed log has the same records in fewer bytes; without zstd there is an error
make_log experiment >a.cptlog
if cpt log -o b.cptlog --compress a.cptlog 2>messages; then
    cpt log --json a.cptlog >wanted
    cpt log --json b.cptlog | cmp - wanted && echo same
    test "$(wc -c <b.cptlog)" -lt $(($(wc -c <a.cptlog) / 2)) && echo less
else
    grep 'built without zstd' messages >/dev/null && echo same && echo less
fi
cpt log --compress a.cptlog
