# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cpp.sh SOURCE BUILD - the programs of docs/cpp.md compile without a warning, with each
# compiler that is here, and do what the page says; and mistakes do not compile. A block of
# code whose first line is "// name.cc" begins a program.
. "$(dirname "$0")/system.sh"
source=$1
build=$2

. "$(dirname "$0")/cpp_build.sh"

rm -f ./*.cc ./*.expected
awk '
    /^```cpp$/ { in_code = 1; next }
    /^```text$/ { in_text = 1; next }
    /^```$/ { in_code = in_text = 0; next }
    in_code && /^\/\/ [a-z]*\.cc$/ { name = $2 }
    in_code { print > name }
    in_text { print > name ".expected" }' "$source/docs/cpp.md"

for cxx in $compilers; do
    say "$cxx: the programs of the page"
    for program in words cache price front; do
        # shellcheck disable=SC2086
        $cxx $warnings $sanitize -I "$build/include" -o "$program-$cxx" $program.cc \
            $libraries $others || fail "$cxx: $program.cc"
    done
    for program in words cache; do
        "./$program-$cxx" >$program.out
        cmp $program.cc.expected $program.out || fail "$cxx: $(cat $program.out)"
    done

    command -v curl >/dev/null 2>&1 || continue
    start "price-$cxx" "./price-$cxx" --listen 127.0.0.1:0
    await "price-$cxx.out" 'listens on'
    price=$(sed -n 's/.*listens on //p' "price-$cxx.out")
    price_pid=$pid
    start "front-$cxx" "./front-$cxx" --listen 127.0.0.1:0 --to "price=http://$price"
    await "front-$cxx.out" 'listens on'
    front=$(sed -n 's/.*listens on //p' "front-$cxx.out")
    curl -s "http://$front/page?pear" >page
    [ "$(cat page)" = 'pear: 4p EUR, no offer' ] || fail "$cxx: $(cat page "front-$cxx.err")"
    curl -si "http://$price/price/pear?currency=a%2Fb" | grep -q '^X-Currency: a/b' ||
        fail "$cxx: the query of price.cc"
    [ "$(curl -so page -w '%{http_code}' "http://$price/price/pear?currency=%2")" = 400 ] ||
        fail "$cxx: a bad query: $(cat page)"
    curl -s "http://$front/page?lemon" >page
    [ "$(cat page)" = 'lemon: not sold, no offer' ] || fail "$cxx: $(cat page "front-$cxx.err")"
    curl -s "http://$front/page?a/b" >page # one segment
    [ "$(cat page)" = 'a/b: 3a EUR, no offer' ] || fail "$cxx: $(cat page "front-$cxx.err")"
    curl -s "http://$front/page?../price" >page # leads elsewhere
    grep -q 'the request failed' page || fail "$cxx: $(cat page "front-$cxx.err")"
    kill -TERM "$pid" "$price_pid"
    wait "$pid" || fail "$cxx: front ended with $?: $(cat "front-$cxx.err")"
    wait "$price_pid" || fail "$cxx: price ended with $?: $(cat "price-$cxx.err")"
    started=
done

# Each with both standards; the first compiler also without exceptions and RTTI.
for cxx in $compilers; do
    for standard in 17 20; do
        say "$cxx, C++$standard: values, mistakes, locks, shared work, calls"
        # shellcheck disable=SC2086
        $cxx $warnings -std=c++$standard $sanitize -g -I "$build/include" -o "layer-$cxx-$standard" \
            "$source/tests/system/cpp_layer.cc" $libraries $others || fail "$cxx: cpp_layer.cc"
        "./layer-$cxx-$standard" >layer.out 2>&1 || fail "$cxx, C++$standard: $(tail -30 layer.out)"
    done
    echo '#include <cpt/cpt.hpp>' >bare.cc
    echo '#include <cpt/cpt_manual.hpp>' >>bare.cc
    # shellcheck disable=SC2086
    $cxx $warnings -fno-exceptions -fno-rtti -fsyntax-only -I "$build/include" bare.cc ||
        fail "$cxx: without exceptions"
done

# mistake EXPECTED WHAT CODE: is refused by the compiler with the words EXPECTED; "" is
# taken.
mistake() {
    cat >mistake.cc <<END
#include <cpt/cpt.hpp>
#include <cpt/cpt_manual.hpp>
struct number { int n; };
struct name { std::string text; };
static cpt_stub stub = cpt::make_stub("B: /b", "/b");
void use();
void use()
{
    cpt::graph<number, name> graph("A");
    (void)stub;
    $3
}
END
    for cxx in ${compilers##* }; do # one of them: they have the same static_assert
        # shellcheck disable=SC2086
        if $cxx $warnings -fsyntax-only -I "$build/include" mistake.cc >mistake.out 2>&1; then
            [ -z "$1" ] || fail "$cxx: $2 compiles"
        else
            [ -n "$1" ] || fail "$cxx: $2 is refused: $(cat mistake.out)"
            grep -q -e "$1" mistake.out || fail "$cxx: $2: $(grep error mistake.out | head -5)"
        fi
    done
}

say 'mistakes do not compile'
mistake '' 'a task' 'graph.task("t", [](const number &n) { return name{std::to_string(n.n)}; });'
mistake 'wrap a number' 'an int as a value' 'graph.task("t", [](const number &n) { return n.n; });'
mistake 'takes its inputs as const T' 'an input by value' 'graph.task("t", [](number) { return name{}; });'
mistake 'takes its inputs as const T' 'an input to be changed' 'graph.task("t", [](number &) { return name{}; });'
mistake 'must not be mutable' 'a mutable lambda' \
    'graph.task("t", [i = 0](const number &) mutable { i++; return name{}; });'
mistake 'returns its value' 'a task that gives nothing' 'graph.task("t", [](const number &) {});'
mistake 'returns its value' 'a task that gives a reference' \
    'static name n; graph.task("t", [](const number &) -> name & { return n; });'
mistake 'copied byte by byte' 'a request that brings a string' 'cpt::graph<name, name> wrong("A");'
mistake 'takes a cpt::task' 'a next step without a task' 'graph.task("t", [](cpt::task t, const number &)
    -> cpt::step<name> { return t.await(t.sleep("s", {}), [](int) { return name{}; }); });'
mistake 'the type that decode returns' 'a fallback of another type' 'graph.call("c", stub,
    [](const number &) { return std::string(); }, [](const cpt::call_reply &) { return name{}; },
    {}, number{1});'
mistake 'deleted' 'a stub that is a temporary' 'graph.call("c", cpt::make_stub("B: /b", "/b"),
    [](const number &) { return std::string(); }, [](const cpt::call_reply &) { return name{}; });'
mistake 'returns the body' 'a body that is a number' 'graph.call("c", stub,
    [](const number &n) { return n; }, [](const cpt::call_reply &) { return name{}; });'
mistake 'no auto' 'a task with auto' 'graph.task("t", [](const auto &) { return name{}; });'
mistake 'no auto' 'a generic encode' 'graph.call("c", stub, [](const auto &) { return std::string(); },
    [](const cpt::call_reply &) { return name{}; });'
mistake 'without const or &' 'a const value' 'graph.task("t", [](const number &) -> const name { return {}; });
    (void)cpt::detail::value_of<const name>();'
mistake 'a view owns nothing' 'a view as a value' 'graph.task("t", [](const number &) { return std::string_view("x"); });'
mistake 'aligned for any standard' 'a value of a large alignment' \
    'struct alignas(64) line { int n; }; graph.task("t", [](const number &) { return line{}; });'
mistake 'aligned for any standard' 'a lambda that captures one' 'struct alignas(64) line { int n; };
    graph.task("t", [](cpt::task t, const number &) -> cpt::step<name> {
        return t.await(t.sleep("s", {}), [l = line{}](cpt::task) { return name{std::to_string(l.n)}; }); });'
mistake 'must not throw' 'a destructor that throws' 'struct bad { ~bad() noexcept(false) {} bad() = default; bad(bad &&) {} };
    graph.task("t", [](const number &) { return bad(); });'
mistake 'incomplete' 'an incomplete value' 'struct later; graph.task("t", [](const later &) { return name{}; });'
mistake 'must be movable' 'a value that stays where it is' 'struct fixed { fixed() = default; fixed(fixed &&) = delete; };
    graph.task("t", [](const number &) { return fixed(); });'
mistake 'those of a call' 'a task that takes the request of a call' 'graph.task("t", [](cpt::call_request &) { return name{}; });'
mistake 'says noexcept' 'a stop that may throw' 'graph.task("t", [](cpt::task t, const number &) -> cpt::step<name> {
        return t.await(t.defer("d", [] {}), [](cpt::task) { return name{}; }); });'
mistake 'deleted' 'a plan that is a temporary' 'graph.task("t", [](cpt::task t, const number &n) -> cpt::step<name> {
        return t.await(t.spawn("s", cpt::plan<number, name>(cpt::graph<number, name>("B")), n), [](cpt::task) { return name{}; }); });'
mistake 'deleted' 'a lock that is a temporary' 'graph.task("t", [](cpt::task t, const number &) -> cpt::step<name> {
        return t.await(t.acquire(cpt::mutex("m")), [](cpt::task) { return name{}; }); });'
mistake 'deleted' 'a copy of what is held' '(void)graph; cpt::held<cpt::mutex> one(nullptr); auto two = one; (void)two;'
mistake 'deleted' 'a copy of a request that runs' '(void)graph; cpt::running<name> one; auto two = one;'
mistake 'nodiscard' 'a part that ends where it begins' '(void)graph; cpt::manual m(nullptr, {}); m.enter("x");'
mistake 'awaits a cpt::pending' 'a wait for something else' 'graph.task("t", [](cpt::task t, const number &) -> cpt::step<name> {
        return t.await(17, [](cpt::task) { return name{}; }); });'
mistake '' 'all of it' 'static const cpt::plan plan(graph); static cpt::mutex lock("m"); graph.task("t",
    [](cpt::task t, const number &n) -> cpt::step<name> { (void)t.acquire(lock);
        return t.await(t.spawn("s", plan, n), [](cpt::task, const name &got) { return got; }); });'
