# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# colours and plain characters follow the settings of the terminal
script -qec true /dev/null >/dev/null 2>&1 || { echo 'no pseudo-terminal here'; exit 77; }
make_log experiment >a.cptlog
unset LC_ALL
for set in 'TERM=xterm LANG=en_US.UTF-8' 'TERM=dumb LANG=en_US.UTF-8' 'TERM=xterm LANG=C'; do
    env -u NO_COLOR $set script -qec 'cpt show --record 3 a.cptlog' /dev/null >out
    echo "$set: colours $(grep -c "$(printf '\033')\[3" out), blocks $(grep -c '█' out)"
done
env NO_COLOR=1 TERM=xterm LANG=en_US.UTF-8 script -qec 'cpt show --record 3 a.cptlog' /dev/null |
    grep -c "$(printf '\033')" || true
