# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# small_memory.sh SERVICE - a service that may have 64 MiB, and 90 clients that send half of an
# upload each and fall silent: it goes on serving, and never has more.
#
# Where a control group can be made (as root), the kernel ends the service if it has more;
# elsewhere CPT_MEMORY_MAX says how much it may have.
. "$(dirname "$0")/system.sh"
need curl python3
limit=67108864

# group: makes a control group with the limit, inside of another that has none; its folder
# is printed. Fails where that is not possible.
group() {
    old=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
    new=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
    for outer in "$old" "$new"; do
        made=$outer/cpt-test-$$
        mkdir "$made" 2>/dev/null || continue
        for file in memory.limit_in_bytes memory.max; do
            [ -e "$made/$file" ] || continue
            if mkdir "$made/inner" 2>/dev/null && echo $limit 2>/dev/null >"$made/$file"; then
                echo "$made"
                return 0
            fi
        done
        rmdir "$made/inner" "$made" 2>/dev/null || true
    done
    return 1
}

# peak PID: the most that it has had, in bytes.
peak() {
    echo $(($(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status") * 1024))
}

# uploads: after 90 halves of an upload a request is answered.
uploads() {
    await front.out 'listens on'
    front=$(sed -n 's/.*listens on //p' front.out)
    python3 "$(dirname "$0")/half_uploads.py" "$front" 90 3500000 ||
        fail "it does not serve: $(cat front.err)"
    [ "$(peak "$pid")" -lt $limit ] || fail "it had $(peak "$pid") bytes"
    kill "$pid"
    wait "$pid" || fail "it ends with $(cat front.err)"
}

say 'by CPT_MEMORY_MAX'
CPT_MEMORY_MAX=64MiB
export CPT_MEMORY_MAX
start front "$1" --listen 127.0.0.1:0 --counters
uploads
unset CPT_MEMORY_MAX

say 'options of the program hold'
CPT_MEMORY_MAX=64MiB start front "$1" --own --listen 127.0.0.1:0 --counters
await front.out 'listens on'
front=$(sed -n 's/.*listens on //p' front.out)
curl -s "http://$front/cpt/counters" | grep -q '"http_input_bytes_max","value":33554432,' ||
    fail "$(curl -s "http://$front/cpt/counters")"
kill "$pid"
wait "$pid" || fail "it ends with $(cat front.err)"

if made=$(group); then
    say "by a control group: $made"
    start front sh -c "echo \$\$ >'$made/inner/cgroup.procs' && exec \"\$@\"" sh \
        "$1" --listen 127.0.0.1:0 --counters
    uploads
    tries=100 # the kernel takes the process out a little later
    until rmdir "$made/inner" "$made" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || fail "$made is still there"
        sleep 0.1
    done
fi
