/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpp_layer.cc - what cpt.hpp does with the values that C++ programs have, and with the
 * mistakes that they make; cpp.sh compiles and runs it with each compiler
 */
#include <cpt/cpt.hpp>
#include <cpt/cpt_manual.hpp>
#include <cpt/cpt_path.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <csignal>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

static int failure_count;

#define CHECK(condition) check((condition), #condition, __LINE__)

static void check(bool is_true, const char *what, int line)
{
    if (!is_true) {
        failure_count++;
        (void)std::fprintf(stderr, "cpp_layer.cc:%d: %s\n", line, what);
    }
}

static bool contains(const std::string &text, const char *part)
{
    return text.find(part) != std::string::npos;
}

static cpt_executor *pool;
static cpt_executor *other_pool;

static cpt_executor *new_pool(unsigned worker_count)
{
    cpt_pool_options options = {};

    options.struct_bytes = sizeof options;
    options.worker_count = worker_count;
    return cpt_pool_new(&options, nullptr);
}

struct number {
    int n;
};
struct answer {
    int n;
};
struct text {
    std::string all;
};

/* How many of a kind live: constructed, copied and moved, less destroyed. */
template <int kind> struct counted {
    static std::atomic<int> live;
    std::unique_ptr<int> owned = std::make_unique<int>(kind);
    counted()
    {
        live++;
    }
    counted(const counted &other) : owned(std::make_unique<int>(*other.owned))
    {
        live++;
    }
    counted(counted &&other) noexcept : owned(std::move(other.owned))
    {
        live++;
    }
    ~counted()
    {
        live--;
    }
};
template <int kind> std::atomic<int> counted<kind>::live;

/* --- Values --- */

struct only_moved {
    std::unique_ptr<std::string> owned;
    counted<1> count{};
};

/* A copy that throws fails the request that needs it, and nothing else. */
struct throws_when_copied {
    std::string name;
    explicit throws_when_copied(std::string text) : name(std::move(text))
    {
    }
    throws_when_copied(const throws_when_copied &) : name()
    {
        throw std::runtime_error("it cannot be copied");
    }
    throws_when_copied(throws_when_copied &&) = default;
};

struct virtual_base {
    int base = 1;
    virtual ~virtual_base() = default;
};
struct left : virtual virtual_base {
    int own_left = 2;
};
struct right : virtual virtual_base {
    int own_right = 3;
};
struct both : left, right {
    std::string text = "four";
};

struct huge {
    char bytes[1 << 20];
};
struct vast {
    char bytes[64 << 20];
};
template <class T> struct wrapped {
    T inner{};
};
using nested =
    wrapped<wrapped<wrapped<std::vector<std::map<std::string, std::string>>>>>;
enum class colour { red = 7 };

static void test_values()
{
    cpt::graph<number, text> graph("A");

    graph.task("moved", [](const number &n) {
        return only_moved{std::make_unique<std::string>(std::to_string(n.n))};
    });
    graph.task("both", [](const number &) { return both(); });
    graph.task("colour", [](const number &) { return colour::red; });
    graph.task("huge", [](const number &) {
        huge made{};
        made.bytes[sizeof made.bytes - 1] = 'x';
        return made;
    });
    graph.task("nested", [](const number &) { return nested(); });
    graph.task("render", [](const only_moved &m, const both &b, const colour &c,
                            const huge &h, const nested &w) {
        return text{*m.owned + b.text +
                    std::to_string(b.base + b.own_left + b.own_right) +
                    std::to_string(static_cast<int>(c)) + h.bytes[sizeof h.bytes - 1] +
                    std::to_string(w.inner.inner.inner.size())};
    });
    cpt::plan plan(graph);
    CHECK(static_cast<bool>(plan));
    for (int i = 0; i < 10; i++) {
        const auto end = plan.run({i});
        CHECK(end && end.output->all == std::to_string(i) + "four67x0");
    }
    CHECK(counted<1>::live == 0);
}

static void test_vast()
{
    cpt::graph<number, answer> graph("A");

    graph.task("vast", [](const number &) { return *std::make_unique<vast>(); });
    graph.task("render", [](const vast &) { return answer{1}; });
    cpt::plan plan(graph);
    const auto end =
        plan ? plan.run({1}) : cpt::outcome<answer>{CPT_LIMIT, plan.why(), {}};
    CHECK(!end);
    CHECK(end.status == CPT_LIMIT || end.status == CPT_NO_MEMORY);
    CHECK(!end.sentence.empty());
}

static void test_throwing_copies()
{
    cpt::graph<number, throws_when_copied> graph("A");

    graph.task("make", [](const number &) { return throws_when_copied("one"); });
    const auto end = cpt::plan(graph).run({1}); /* it is moved */
    CHECK(end && end.output->name == "one");
}

/* A move that throws, where C hands the output over. */
struct throws_when_moved {
    int moves_left;
    explicit throws_when_moved(int moves) : moves_left(moves)
    {
    }
    throws_when_moved(throws_when_moved &&other) : moves_left(other.moves_left - 1)
    {
        if (moves_left < 0) {
            throw std::runtime_error("it cannot be moved");
        }
    }
};

static void test_throwing_moves()
{
    cpt::graph<number, throws_when_moved> graph("A");
    int success_count = 0;

    graph.task("make", [](const number &n) { return throws_when_moved(n.n); });
    cpt::plan plan(graph);
    for (int moves = 0; moves < 8; moves++) {
        cpt::running<throws_when_moved> run;
        (void)plan.start({moves}, run);
        run.wait();
        try {
            const auto end = run.get();
            success_count += static_cast<bool>(end);
            CHECK(end || (end.status == CPT_FAILED && !end.sentence.empty()));
        } catch (const std::runtime_error &) { /* by get(), to its caller */
        }
    }
    CHECK(success_count > 0 && success_count < 8);
}

/* --- Names --- */

static void test_two_types_of_one_name()
{
    cpt::graph<number, text> graph("A");

    {
        struct local {
            int a;
        };
        graph.task("first", [](const number &) { return local{1}; });
    }
    {
        struct local {
            std::string b;
        };
        graph.task("second", [](const local &l) { return text{l.b}; });
    }
    cpt::plan plan(graph);
    CHECK(!plan);
    CHECK(contains(plan.why(), "two types are called"));
}

/* --- Moved from --- */

static void test_moved_from()
{
    cpt::graph<number, text> graph("A");
    graph.task("make", [](const number &) { return text{"made"}; });
    cpt::graph<number, text> second = std::move(graph);
    CHECK(static_cast<bool>(cpt::plan(graph))); // NOLINT: it is a copy
    cpt::plan plan(second);
    auto moved = std::move(plan);
    CHECK(!plan);                    // NOLINT: says so
    const auto none = plan.run({1}); // NOLINT
    CHECK(none.status == CPT_INVALID && contains(none.sentence, "moved"));
    CHECK(moved.run({1}).output->all == "made");
    cpt::outcome<text> end = moved.run({1});
    cpt::outcome<text> taken = std::move(end);
    CHECK(taken.output->all == "made");
}

/* --- Failures --- */

static void test_failures()
{
    struct row {
        int n;
        cpt_status status;
        const char *sentence;
    };
    cpt::graph<number, text> graph("A");

    graph.task("make", [](cpt::task task, const number &n) -> cpt::step<text> {
        switch (n.n) {
        case 0:
            throw cpt::error(CPT_UNAVAILABLE, "100 % of %s are gone");
        case 1:
            throw std::runtime_error("%n%n%n");
        case 2:
            throw 7;
        case 3:
            throw std::bad_alloc();
        case 4:
            return cpt::failure{CPT_OK, ""};
        case 5:
            return cpt::fail(CPT_OK, "it went well");
        case 6:
            throw cpt::error(CPT_TIMEOUT);
        case 8:
            throw cpt::refusal(CPT_OUTCOME_NOT_FOUND, "no user 8 %s");
        case 9:
            return cpt::refuse(CPT_OUTCOME_NOT_FOUND, "no user 9");
        case 7: /* in a step that goes on */
            return task.await(task.sleep("nap", 0s), [](cpt::task) -> text {
                throw std::runtime_error("later");
            });
        default: /* and in one behind that */
            return task.await(
                task.sleep("nap", 0s), [](cpt::task again) -> cpt::step<text> {
                    return again.await(again.sleep("nap", 0s),
                                       [](cpt::task) -> cpt::result<text> {
                                           return cpt::fail(CPT_CORRUPT, "last");
                                       });
                });
        }
    });
    cpt::plan plan(graph);
    for (const row &one :
         {row{0, CPT_UNAVAILABLE, "100 % of %s are gone"}, row{1, CPT_FAILED, "%n%n%n"},
          row{2, CPT_FAILED, "no std::exception"}, row{3, CPT_NO_MEMORY, "no memory"},
          row{4, CPT_FAILED, ""}, row{5, CPT_FAILED, "it went well"},
          row{6, CPT_TIMEOUT, ""}, row{7, CPT_FAILED, "later"},
          row{8, CPT_REFUSED, "no user 8 %s"}, row{9, CPT_REFUSED, "no user 9"},
          row{10, CPT_CORRUPT, "last"}}) {
        const auto end = plan.run({one.n}, {pool, nullptr, {}});
        CHECK(!end && end.status == one.status);
        CHECK(contains(end.sentence, one.sentence));
        if (end.status != one.status) {
            (void)std::fprintf(stderr, "case %d: %s\n", one.n, end.sentence.c_str());
        }
    }
}

/* What a wait's lambda owns is destroyed with its request, however that ends. */
static void test_cancelled()
{
    struct never {
        int n;
    };
    cpt::graph<number, text> graph("A");
    std::atomic<bool> has_stopped{false};
    static cpt_pending *deferred;

    graph.task("own", [](const number &) {
        return only_moved{std::make_unique<std::string>("x")};
    });
    graph.task(
        "wait", [&has_stopped](cpt::task task, const only_moved &) -> cpt::step<text> {
            auto mine = std::make_unique<counted<2>>();
            const cpt::pending work = task.defer("work", [&has_stopped]() noexcept {
                has_stopped = true;
                cpt_complete(deferred, CPT_CANCELLED);
            });
            deferred = work.get();
            return task.await(
                work, [mine = std::move(mine)](cpt::task) { return text{"never"}; });
        });
    {
        cpt::plan plan(graph);
        cpt::running<text> held;
        CHECK(plan.start({1}, held, {pool, nullptr, {}}) == CPT_OK);
        cpt::running<text> timed;
        while (counted<2>::live == 0) {
            std::this_thread::sleep_for(1ms);
        }
        std::this_thread::sleep_for(2ms);
        CHECK(plan.start({1}, held) == CPT_INVALID); /* it runs */
        CHECK(held.cancel());
        const auto end = held.get();
        CHECK(end.status == CPT_CANCELLED && has_stopped);
        CHECK(!held.cancel());
        CHECK(counted<1>::live == 0 && counted<2>::live == 0);
    }
    has_stopped = false;
    /* On a busy machine the limit passes before "work" has begun: then a longer one. */
    for (auto limit = 3ms; !has_stopped && limit < 20s; limit *= 4) {
        cpt::plan plan(graph);
        const auto end = plan.run({1}, {pool, nullptr, limit});
        CHECK(end.status == CPT_TIMEOUT);
        CHECK(!has_stopped || contains(end.sentence, "work"));
    }
    CHECK(has_stopped);
    CHECK(counted<1>::live == 0 && counted<2>::live == 0);
}

/* One that ends without being asked cancels its request. */
static void test_running_ends()
{
    static std::atomic<bool> has_begun;
    cpt::graph<number, text> graph("A");

    graph.task("sleep", [](cpt::task task, const number &) -> cpt::step<text> {
        CHECK(!task.remaining());
        task.set_slack(1s); /* of no effect, as there is one lane */
        CHECK(task.slack() == 0s);
        CHECK(!task.is_cancelled());
        has_begun = true;
        return task.await(task.sleep("long", 1000s),
                          [](cpt::task) { return text{"late"}; });
    });
    cpt::plan plan(graph);
    {
        cpt::running<text> held;
        CHECK(plan.start({1}, held, {pool, nullptr, {}}) == CPT_OK);
        while (!has_begun) {
            std::this_thread::sleep_for(1ms);
        }
    }
    cpt::running<text> none; /* never used */
    CHECK(none.get().status == CPT_WAITING);
}

static void test_deadline()
{
    cpt::graph<number, answer> graph("A");

    graph.task("look", [](cpt::task task, const number &) {
        const auto left = task.remaining();
        CHECK(left && *left > 100s && *left <= 1000s);
        return answer{2};
    });
    CHECK(cpt::plan(graph).run({1}, {pool, nullptr, 1000s}).output->n == 2);
}

/* --- Locks --- */

static cpt::mutex lock("prices");
static cpt::semaphore connections("connections", 2);

static void test_locks()
{
    static int guarded;
    static std::atomic<int> open;
    static std::atomic<int> open_max;
    cpt::graph<number, answer> one("A");

    one.task("add", [](cpt::task task, const number &n) -> cpt::step<answer> {
        {
            const std::lock_guard<cpt::mutex> guard(lock);
            guarded++;
        }
        if (n.n % 3 == 0) {
            return task.await(task.acquire(lock),
                              [](cpt::task, cpt::held<cpt::mutex> held) {
                                  guarded++;
                                  held.release();
                                  held.release();
                                  return answer{1};
                              });
        }
        return task.await(
            task.acquire(connections),
            [](cpt::task again, cpt::held<cpt::semaphore> held) -> cpt::step<answer> {
                int now = ++open;
                int most = open_max;
                while (now > most && !open_max.compare_exchange_weak(most, now)) {
                }
                cpt::held<cpt::semaphore> moved = std::move(held);
                return again.await(again.sleep("use", 100us),
                                   [moved = std::move(moved)](cpt::task) mutable {
                                       open--;
                                       moved.release();
                                       return answer{1};
                                   });
            });
    });
    cpt::plan plan(one);
    cpt::graph<number, answer> many("A");
    many.task("many", [&plan](cpt::task task, const number &n) -> cpt::step<answer> {
        for (int i = 0; i < n.n; i++) {
            (void)task.spawn("one", plan, number{i});
        }
        return task.await_all([](cpt::task) { return answer{0}; });
    });
    CHECK(static_cast<bool>(cpt::plan(many).run({60}, {pool, nullptr, {}})));
    CHECK(guarded == 80);
    CHECK(open == 0 && open_max >= 1 && open_max <= 2);
    CHECK(lock.try_lock());
    lock.unlock();
}

/* A lock that a task holds when it throws is not left behind. */
static void test_lock_of_the_failed()
{
    cpt::graph<number, answer> graph("A");

    graph.task("throw", [](cpt::task task, const number &n) -> cpt::step<answer> {
        return task.await(task.acquire(lock),
                          [n](cpt::task, cpt::held<cpt::mutex>) -> answer {
                              if (n.n == 1) {
                                  throw std::runtime_error("with the lock");
                              }
                              return answer{n.n};
                          });
    });
    cpt::plan plan(graph);
    for (int i = 0; i < 5; i++) {
        CHECK(static_cast<bool>(plan.run({i}, {pool, nullptr, {}})) == (i != 1));
    }
}

/* --- Shared work --- */

static void test_shared()
{
    static std::atomic<int> load_count;
    cpt::graph<number, text> load("A");
    load.task("load", [](cpt::task task, const number &n) -> cpt::step<text> {
        load_count++;
        return task.await(task.sleep("disk", 20ms),
                          [&n](cpt::task) -> cpt::result<text> {
                              if (n.n < 0) {
                                  return cpt::fail(CPT_CORRUPT, "bad item");
                              }
                              return text{"item " + std::to_string(n.n)};
                          });
    });
    cpt::shared loads("loads", load);
    CHECK(static_cast<bool>(loads));
    cpt::graph<number, text> ask("A");
    ask.task("ask", [&loads](cpt::task task, const number &n) -> cpt::step<text> {
        return task.await(task.share(loads, std::to_string(n.n), n),
                          [](cpt::task, const text &t) { return t; });
    });
    cpt::plan plan(ask);
    cpt::running<text> first;
    cpt::running<text> second;
    CHECK(plan.start({5}, first, {pool, nullptr, {}}) == CPT_OK);
    CHECK(plan.start({5}, second, {pool, nullptr, {}}) == CPT_OK);
    CHECK(first.get().output->all == "item 5");
    CHECK(second.get().output->all == "item 5");
    CHECK(load_count == 1);
    const auto bad = plan.run({-1}, {pool, nullptr, {}});
    CHECK(bad.status == CPT_CORRUPT && contains(bad.sentence, "bad item"));

    cpt::shared<number, text> unmade;
    cpt::graph<number, text> wrong("A");
    wrong.task("ask", [&unmade](cpt::task task, const number &n) -> cpt::step<text> {
        return task.await(task.share(unmade, "k", n), [](cpt::task, const text *t) {
            return text{t != nullptr ? "?" : "none"};
        });
    });
    CHECK(cpt::plan(wrong).run({1}, {pool, nullptr, {}}).status == CPT_INVALID);
}

struct sums {
    std::vector<int> all;
};

static void test_batch()
{
    cpt::graph<cpt::batch<number>, sums> answers("A");
    answers.task("answer", [](const cpt::batch<number> &all) {
        sums made;
        for (const number &one : all) {
            made.all.push_back(one.n * 10 + static_cast<int>(all.size()));
        }
        return made;
    });
    cpt::shared_options two;
    two.batch_count_max = 2;
    two.batch_delay = 1000s;
    cpt::shared<number, sums> batches("batches", answers, two);
    CHECK(static_cast<bool>(batches));
    cpt::graph<number, answer> ask("A");
    ask.task("ask", [&batches](cpt::task task, const number &n) -> cpt::step<answer> {
        const auto run = task.share(batches, "", n);
        return task.await(run, [run](cpt::task, const sums &s) {
            return answer{s.all.at(run.index())};
        });
    });
    cpt::plan plan(ask);
    cpt::running<answer> first;
    cpt::running<answer> second;
    CHECK(plan.start({1}, first, {pool, nullptr, {}}) == CPT_OK);
    CHECK(plan.start({2}, second, {pool, nullptr, {}}) == CPT_OK);
    CHECK(first.get().output->n == 12);
    CHECK(second.get().output->n == 22);
}

/* --- Elsewhere --- */

static void test_hand_over()
{
    static std::thread::id ran_on;
    cpt::graph<number, text> inner("A");
    inner.task("inner", [](const number &n) {
        ran_on = std::this_thread::get_id();
        return text{std::to_string(n.n)};
    });
    cpt::plan inner_plan(inner);
    std::vector<std::thread> threads;
    cpt::graph<number, text> graph("A");
    graph.task("hand over", [&](cpt::task task, const number &n) -> cpt::step<text> {
        const auto part = task.hand_over("part", inner_plan, n);
        threads.emplace_back([part] { part.adopt(); });
        return task.await(part,
                          [](cpt::task, const text &t) { return text{t.all + "!"}; });
    });
    CHECK(cpt::plan(graph).run({7}, {pool, nullptr, {}}).output->all == "7!");
    const std::thread::id other = threads.at(0).get_id();
    threads.at(0).join();
    CHECK(ran_on == other);
}

static void test_wait_and_some()
{
    cpt::graph<number, answer> graph("A");
    graph.task("wait", [](cpt::task task, const number &) -> cpt::step<answer> {
        task.wait(task.sleep("blocks", 1ms));
        const cpt::pending slow = task.sleep("slow", 1000s);
        return task.await_some({task.sleep("fast", 1ms), slow}, 1, [slow](cpt::task) {
            slow.cancel();
            return answer{4};
        });
    });
    CHECK(cpt::plan(graph).run({1}, {pool, nullptr, {}}).output->n == 4);
}

/* --- Calls --- */

struct wire {
    cpt_transport transport = {};
    std::string asked;
    unsigned http_status = 200;
    bool is_idempotent = false;
    uint64_t slack_ns = 0;
};

static void send(cpt_transport *transport, cpt_transport_call *call)
{
    wire *to = reinterpret_cast<wire *>(transport);
    static const cpt_field fields[] = {{{"ETag", 4}, {"v2", 2}}};
    cpt_transport_reply reply = {};

    to->asked = std::string(cpt::text(call->verb)) + " " + call->method + " " +
                std::string(cpt::text(call->body));
    for (std::size_t i = 0; i < call->header_count; i++) {
        to->asked += "|" + std::string(cpt::text(call->headers[i].name)) + ":" +
                     std::string(cpt::text(call->headers[i].value));
    }
    to->is_idempotent = call->is_idempotent != 0;
    to->slack_ns = call->slack_ns;
    reply.http_status = to->http_status;
    reply.body = cpt::bytes(std::string_view("a\0b", 3));
    reply.headers = fields;
    reply.header_count = 1;
    cpt_transport_sent(call);
    cpt_transport_complete(call, &reply);
}

/* What the query of a request says; "1" and a sentence if the request is refused. */
static std::string asked_by(const char *query)
{
    cpt::graph<cpt_rpc_request, text> graph("A");
    cpt_rpc_request request = {};

    graph.task("show", [](cpt::task task, const cpt_rpc_request &asked) {
        std::string all(cpt::query(task, asked, "q").value_or("none"));

        for (const auto &[name, value] : cpt::query(task, asked)) {
            all += "|" + std::string(name) + "=" + std::string(value);
        }
        return text{all};
    });
    request.query = cpt_bytes_of(query);
    const auto end = cpt::plan(graph).run(request);
    return end ? end.output->all : std::to_string(end.status == CPT_REFUSED) + end.sentence;
}

static void test_query()
{
    CHECK(asked_by("") == "none");
    CHECK(asked_by("q=a+b%26&x=%C3%A4&q=2") == "a b&|q=a b&|x=\xC3\xA4|q=2");
    CHECK(asked_by("%71=1") == "1|q=1"); // a name is encoded, too
    CHECK(asked_by("q") == "|q=");
    CHECK(asked_by("q=") == "|q=");
    CHECK(asked_by("Q=1") == "none|Q=1");
    CHECK(contains(asked_by("q=%4"), "malformed"));
    CHECK(contains(asked_by("x=1&q=%00"), "malformed"));
    CHECK(asked_by("q=1&x=%zz").substr(0, 1) == "1"); // refused: all are read
}

struct user {
    std::string name;
    std::string etag;
};

static void test_calls()
{
    static wire net;
    static cpt_stub stub =
        cpt::make_stub("B: users", "PUT /users/{id}/{name}?v=1", "B");
    static cpt_stub plain = cpt::make_stub("B: plain", "/plain", "B");
    cpt::call_options options;
    cpt::graph<number, user> graph("A");
    cpt::graph<number, text> simple("A");

    net.transport.name = "wire";
    net.transport.send = send;
    stub.transport = &net.transport;
    plain.transport = &net.transport;
    options.reply_headers = {"ETag"};
    options.answers = {{404, CPT_OUTCOME_OK}};
    graph.call(
        "user", stub,
        [](cpt::call_request &request, const number &n) {
            request.parameter("id", n.n)
                .parameter("name", n.n == 3 ? ".." : "a/b")
                .query("page", std::string(2, '&'))
                .header(n.n == 2 ? "Host" : "If-Match", "v1");
            return std::string("x\0y", 3);
        },
        [](const cpt::call_reply &reply, const number &n) {
            return user{std::to_string(n.n) + std::to_string(reply.http_status) +
                            std::to_string(reply.body.bytes),
                        std::string(cpt::header(reply, "etag").value_or("none"))};
        },
        options);
    cpt::plan plan(graph);
    CHECK(static_cast<bool>(plan));
    auto end = plan.run({1});
    CHECK(end && end.output->name == "12003" && end.output->etag == "v2");
    CHECK(net.asked == "PUT /users/1/a%2Fb?v=1&page=%26%26 " + std::string("x\0y", 3) +
                           "|If-Match:v1");
    net.http_status = 404;
    end = plan.run({1});
    CHECK(end && end.output->name == "14043");
    net.http_status = 200;
    end = plan.run({2});
    CHECK(end.status == CPT_INVALID &&
          contains(end.sentence, "'Host' of a call is refused"));
    end = plan.run({3});
    CHECK(end.status == CPT_INVALID && contains(end.sentence, "no part of a path"));

    simple.call(
        "plain", plain, [](const number &) { return std::string("q\0r", 3); },
        [](const auto &reply) { return text{std::string(cpt::text(reply.body))}; });
    const auto said = cpt::plan(simple).run({1});
    CHECK(said && said.output->all == std::string("a\0b", 3));
    CHECK(!net.is_idempotent);
    CHECK(net.asked == std::string(" /plain q\0r", 11)); /* no byte of it is an end */

    cpt::graph<number, text> twice("A");
    options.is_idempotent = true;
    twice.call(
        "plain", plain, [](const number &) { return std::string("q"); },
        [](const auto &) { return text{"x"}; }, options);
    CHECK(cpt::plan(twice).run({1}) && net.is_idempotent);

    cpt::graph<number, text> asked_twice("A");
    asked_twice.call(
        "plain", plain,
        [](cpt::call_request &request, const number &n) {
            request.idempotent(n.n == 1).slack(3ms).body("q");
        },
        [](const auto &) { return text{"x"}; });
    CHECK(cpt::plan(asked_twice).run({2}) && !net.is_idempotent);
    CHECK(net.slack_ns == 3000000);
    CHECK(cpt::plan(asked_twice).run({1}) && net.is_idempotent);

    cpt::graph<number, text> by_hand("A");
    by_hand.task("ask", [](cpt::task task, const number &) -> cpt::step<text> {
        return task.await(task.call(plain, "x"),
                          [](cpt::task, const cpt::call_reply &reply) {
                              return text{std::to_string(reply.http_status)};
                          });
    });
    CHECK(cpt::plan(by_hand).run({1}).output->all == "200");
}

/* --- A fallback whose copy throws --- */

static void test_throwing_fallback()
{
    struct price {
        throws_when_copied inner;
    };
    static wire net;
    static cpt_stub stub = cpt::make_stub("B: price", "/price", "B");
    cpt::graph<number, text> graph("A");

    net.transport.name = "wire";
    net.transport.send = send;
    net.http_status = 500;
    stub.transport = &net.transport;
    graph.call(
        "price", stub, [](const number &) { return std::string(); },
        [](const cpt::call_reply &) { return price{throws_when_copied("x")}; }, {},
        price{throws_when_copied("fallback")});
    graph.task("render", [](const price &p) { return text{p.inner.name}; });
    const auto end = cpt::plan(graph).run({1});
    CHECK(!end && end.status == CPT_FAILED);

    cpt::graph<number, text> decoded("A");
    net.http_status = 200;
    decoded.call(
        "text", stub, [](const number &) { return std::string(); },
        [](const cpt::call_reply &) -> text { throw std::runtime_error("no text"); },
        {}, text{"fallback"});
    CHECK(cpt::plan(decoded).run({1}).output->all == "fallback");
    cpt::graph<number, text> encoded("A");
    encoded.call(
        "text", stub,
        [](const number &) -> std::string { throw std::runtime_error("no question"); },
        [](const cpt::call_reply &) { return text{"?"}; });
    CHECK(contains(cpt::plan(encoded).run({1}).sentence, "no question"));
}

/* --- Functions that are not there --- */

static void test_no_function()
{
    answer (*const none)(const number &) = nullptr;
    cpt::graph<number, answer> pointer("A");
    cpt::graph<number, answer> empty("A");
    cpt::graph<number, answer> functions("A");
    bool is_refused = false;

    pointer.task("none", none);
    cpt::plan plan(pointer);
    CHECK(!plan && contains(plan.why(), "has no function"));
    empty.task("empty", std::function<answer(const number &)>());
    CHECK(cpt::plan(empty).run({1}).status == CPT_FAILED);
    functions.task("full", std::function<answer(const number &)>(
                               [](const number &n) { return answer{n.n}; }));
    CHECK(cpt::plan(functions).run({3}).output->n == 3);
    try {
        cpt::semaphore none_of_it("none", 0);
    } catch (const std::invalid_argument &) {
        is_refused = true;
    }
    CHECK(is_refused);
}

/* Two waits in one step: the last that could be made counts. */
static void test_two_waits()
{
    cpt::graph<number, text> graph("A");

    graph.task("twice", [](cpt::task task, const number &n) -> cpt::step<text> {
        const std::string brief(100, 'a');
        const std::vector<std::string> list(50, std::string(100, 'b'));
        const cpt::pending second =
            n.n == 1 ? task.sleep("two", 1ms) : cpt::pending(nullptr);
        const auto first = task.await(task.sleep("one", 1ms),
                                      [brief](cpt::task) { return text{brief}; });
        (void)task.await(second, [list](cpt::task) { return text{list.at(49)}; });
        return first;
    });
    cpt::plan plan(graph);
    CHECK(plan.run({0}, {pool, nullptr, {}}).output->all == std::string(100, 'a'));
    CHECK(plan.run({1}, {pool, nullptr, {}}).output->all == std::string(100, 'b'));
}

/* A stub that its program was not told of. */
static void test_lost_stub()
{
    static cpt_stub lost = cpt::make_stub("B: lost", "/lost", "B");
    cpt::graph<number, text> graph("A");

    graph.call(
        "lost", lost, [](const number &) { return std::string(); },
        [](const cpt::call_reply &) { return text{"?"}; });
    const auto end = cpt::plan(graph).run({1});
    CHECK(!end && contains(end.sentence, "B: lost"));
}

/* --- Attributes --- */

enum kind { kind_of_seven = 7 };

static void test_attributes()
{
    cpt::graph<number, answer> graph("A");

    graph.task("set", [](cpt::task task, const number &) {
        task.set("zero", 0);
        task.set("text", "x");
        task.set("string", std::string("y"));
        task.set("half", 0.5);
        task.set("yes", true);
        task.set("letter", 'c');
        task.set("large", UINT64_MAX);
        task.set("small", INT64_MIN);
        task.set("kind", kind_of_seven);
        return answer{1};
    });
    CHECK(static_cast<bool>(cpt::plan(graph).run({1})));
}

/* --- Limits --- */

/* A step that goes on keeps what it captured until the request ends: that is bounded. */
struct again {
    huge kept;
    int left;
    cpt::step<text> operator()(cpt::task task) const
    {
        if (left == 0) {
            return text{"done"};
        }
        return task.await(task.sleep("again", 0s), again{kept, left - 1});
    }
};

static void test_limits()
{
    cpt::graph<number, text> graph("A");
    cpt::graph<number, text> long_text("A");
    cpt::graph<number, cpt_rpc_reply> reply("A");

    graph.task("again", [](cpt::task task, const number &n) -> cpt::step<text> {
        return task.await(task.sleep("first", 0s),
                          *std::make_unique<again>(again{{}, n.n}));
    });
    cpt::plan plan(graph);
    CHECK(static_cast<bool>(plan.run({3}, {pool, nullptr, {}})));
    const auto end = plan.run({40}, {pool, nullptr, {}});
    CHECK(end.status == CPT_LIMIT && contains(end.sentence, "memory limit"));

    long_text.task("fail", [](const number &) -> cpt::result<text> {
        return cpt::fail(CPT_CORRUPT, std::string(1 << 20, '%'));
    });
    CHECK(cpt::plan(long_text).run({1}).status == CPT_CORRUPT);

    reply.task("reply", [](cpt::task task, const number &n) {
        return task.reply(std::string(static_cast<std::size_t>(n.n) << 20, 'x'));
    });
    cpt::plan replies(reply);
    CHECK(static_cast<bool>(replies.run({1})));
    CHECK(replies.run({32}).status == CPT_LIMIT);
}

static void test_null_pendings()
{
    cpt::graph<number, text> graph("A");

    graph.task("wait", [](cpt::task task, const number &n) -> cpt::step<text> {
        const cpt::calling none(nullptr);
        const cpt::run<text> no_run(nullptr);

        CHECK(none.status() < 0);
        CHECK(!none.has_succeeded());
        CHECK(no_run.output() == nullptr);
        none.cancel();
        if (n.n == 1) {
            return task.await(no_run, [](cpt::task, const text &t) { return t; });
        }
        return task.await(none,
                          [](cpt::task, const cpt::call_reply &) { return text{}; });
    });
    cpt::plan plan(graph);
    for (int i = 1; i <= 2; i++) {
        const auto end = plan.run({i});
        CHECK(!end && contains(end.sentence, "nothing to wait for"));
    }
}

/* --- By hand --- */

static void test_manual()
{
    cpt_service_options options = {};
    cpt_inbound inbound = {};

    options.struct_bytes = sizeof options;
    options.name = "A";
    options.role = CPT_ROLE_INNER;
    options.probability = 1;
    cpt_service *service = cpt_service_new(&options, nullptr);
    inbound.method = cpt::bytes("/");
    inbound.critical_path = cpt::bytes("1;max=2048");
    inbound.critical_path_count = 1;
    {
        cpt::manual request(service, inbound);
        CHECK(request.is_traced());
        {
            const auto part = request.enter("search");
            auto call = request.call("B: /lookup");
            CHECK(!call.ask().empty() && call.ask() == request.ask()); /* no graph */
            {
                const auto wait = request.wait();
                call.end();
                call.end(); /* no effect */
            }
        }
        cpt::manual moved = std::move(request);
        CHECK(!request.is_traced()); // NOLINT: says so
        {
            const auto part = request.enter("nothing");
        } // NOLINT
        moved.set("arm", "control");
        CHECK(!moved.end().empty());
        CHECK(moved.path() != nullptr);
        moved.answered(200);
    }
    cpt_service_enable(service, 0);
    {
        cpt::manual request(service, inbound); /* not traced */
        CHECK(!request.is_traced() && request.end().empty() && request.ask().empty());
        const auto part = request.enter("search");
        auto call = request.call("B: /x");
        CHECK(call.ask().empty());
        call.end();
    }
    CHECK(cpt_service_drain(service, 5000000000U) == CPT_OK);
    cpt_service_free(service);
}

/* --- main() --- */

/* Work that is left alone when the program ends goes on to use its graphs. */
static void test_abandoned()
{
    static std::atomic<bool> has_begun{false};
    static std::atomic<bool> may_end{false};
    static std::atomic<bool> has_ended{false};
    static char name[] = "test";
    char *arguments[] = {name, nullptr};
    std::thread client;
    {
        cpt::service_graph graph("A");
        auto captured = std::make_shared<std::string>("captured");

        graph.task("stuck", [captured](cpt::task task, const cpt_rpc_request &) {
            has_begun = true;
            while (!may_end) {
                std::this_thread::sleep_for(1ms);
            }
            return task.reply(*captured);
        });
        captured.reset();
        cpt::program program("A");
        program.method("/", graph).listen("127.0.0.1:0");
        program.options().drain_ns = 1000000;
        program.begin([&client](const cpt_main_parts &parts) {
            client = std::thread([service = parts.service] {
                cpt_inbound inbound = {};
                struct sigaction action = {};

                inbound.method = cpt::bytes("/");
                cpt_service_serve(
                    service, &inbound,
                    [](void *, const cpt_outbound *outbound) {
                        has_ended = cpt::text(outbound->body) == "captured";
                    },
                    nullptr);
                while (!has_begun || sigaction(SIGTERM, nullptr, &action) != 0 ||
                       action.sa_handler == SIG_DFL) {
                    std::this_thread::sleep_for(1ms);
                }
                (void)kill(getpid(), SIGTERM);
            });
        });
        CHECK(program.run(1, arguments) == 1);
    }
    client.join();
    may_end = true;
    for (int i = 0; i < 10000 && !has_ended; i++) {
        std::this_thread::sleep_for(1ms);
    }
    CHECK(has_ended);
}

static void test_begin_throws()
{
    static char name[] = "test";
    char *arguments[] = {name, nullptr};
    cpt::service_graph graph("A");
    bool has_ended = false;

    graph.task("answer",
               [](cpt::task task, const cpt_rpc_request &) { return task.reply("x"); });
    cpt::program program("A");
    program.method("/", graph).listen("127.0.0.1:0");
    program.begin(
        [](const cpt_main_parts &) { throw std::runtime_error("no database"); });
    program.end([&has_ended] { has_ended = true; });
    CHECK(program.run(1, arguments) == 1);
    CHECK(!has_ended);
}

/* Prints, and serves nothing; whatever else is wrong. */
static void test_version()
{
    static char name[] = "test";
    static char listen[] = "--listen=nonsense";
    static char flag[] = "--version";
    char *arguments[] = {name, listen, flag, nullptr};
    char printed[64] = "";
    FILE *file = std::tmpfile();
    const int before = dup(STDOUT_FILENO);
    cpt::service_graph graph("A");

    graph.task("answer",
               [](cpt::task task, const cpt_rpc_request &) { return task.reply("x"); });
    std::fflush(stdout);
    CHECK(file != nullptr && before >= 0);
    CHECK(dup2(fileno(file), STDOUT_FILENO) >= 0);
    CHECK(cpt::program("A").method("/", graph).version("1.4").run(3, arguments) == 0);
    std::fflush(stdout);
    CHECK(dup2(before, STDOUT_FILENO) >= 0);
    (void)close(before);
    std::rewind(file);
    CHECK(std::fgets(printed, sizeof printed, file) != nullptr);
    CHECK(std::string(printed).find("A 1.4 (cpt ") == 0);
    (void)std::fclose(file);
}

int main()
{
    pool = new_pool(2);
    other_pool = new_pool(1);
    test_values();
    test_vast();
    test_throwing_copies();
    test_throwing_moves();
    test_two_types_of_one_name();
    test_moved_from();
    test_failures();
    test_cancelled();
    test_running_ends();
    test_deadline();
    test_locks();
    test_lock_of_the_failed();
    test_shared();
    test_batch();
    test_hand_over();
    test_wait_and_some();
    test_query();
    test_calls();
    test_throwing_fallback();
    test_no_function();
    test_two_waits();
    test_lost_stub();
    test_limits();
    test_null_pendings();
    test_attributes();
    test_version();
    test_begin_throws();
    test_manual();
    cpt_pool_free(pool);
    cpt_pool_free(other_pool);
    CHECK(cpt_misuse_count() > 1); /* shared work that was not made, null pendings */
    test_abandoned();
    (void)std::printf("%d failures\n", failure_count);
    return failure_count != 0;
}
