# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_program.sh SOURCE BUILD - the program of docs/grpc.md that calls by gRPC compiles
# without a warning, with each compiler that is here, and calls a service of gRPC; one path
# crosses both.
. "$(dirname "$0")/system.sh"
source=$1
build=$2
. "$(dirname "$0")/cpp_build.sh"
need curl
GRPC_VERBOSITY=NONE
export GRPC_VERBOSITY

library=$(find "$build/modules" -name 'libcpt_grpc.a' -o -name 'libcpt_grpc.so')
libraries="$library -Wl,-rpath,$(dirname "$library") $libraries"
others="$others $(sh "$(dirname "$0")/../support/link_flags.sh" "$build" cpt-grpc)"
awk '/^```cpp$/ { in_code = 1; next }
     /^```/ { in_code = 0 }
     in_code && /^\/\/ page.cc$/ { is_ours = 1 }
     !in_code { is_ours = 0 }
     is_ours' "$source/docs/grpc.md" >page.cc

start d "$CPT_HELPERS/grpc_chain" D --listen 127.0.0.1:0
await d.out 'listens on'
d=$(sed -n 's/.*listens on //p' d.out)
start c "$CPT_HELPERS/grpc_chain" C --listen 127.0.0.1:0 --to "d=http://$d"
await c.out 'listens on'
c=127.0.0.1:$(sed -n 's/^grpc //p' c.out)
for cxx in $compilers; do
    say "$cxx: the program of the page"
    # shellcheck disable=SC2086
    $cxx $warnings $sanitize -I "$build/include" -o "page-$cxx" page.cc $libraries $others ||
        fail "$cxx: page.cc"
    start "page-$cxx" "./page-$cxx" --listen 127.0.0.1:0 --trust 127.0.0.0/8 --to "greeter=$c"
    await "page-$cxx.out" 'listens on'
    page=$(sed -n 's/.*listens on //p' "page-$cxx.out")
    curl -s "http://$page/?you" >answer
    grep -q you answer || fail "$cxx: $(cat answer "page-$cxx.err")"
    curl -si -H 'critical-path: 1' "http://$page/?you" | tr -d '\r' |
        sed -n 's/^critical-path-bin: //p' | "$CPT" metadata >path
    grep -q 'greeter: Hello' path || fail "$cxx: $(cat path)"
    grep -q 'C: ' path || fail "$cxx: $(cat path)"
    kill -TERM "$pid"
    wait "$pid" || fail "$cxx: it ended with $?: $(cat "page-$cxx.err")"
done
