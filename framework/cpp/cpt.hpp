/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt.hpp - services as task graphs in C++17: a header over cpt_graph.h and cpt_rpc.h
 *
 * A value is a C++ type. A task is a lambda: what it needs are its parameters, what it
 * gives is what it returns. The graph follows from the types.
 *
 *      struct query { std::string text; };
 *      struct ads { std::vector<std::string> lines; };
 *
 *      cpt::graph<cpt_rpc_request, cpt_rpc_reply> search("search");
 *
 *      search.task("parse", [](const cpt_rpc_request &r) { return query{...}; });
 *      search.task("ads", [](const query &q) { return ads{...}; });
 *      search.task("render", [](cpt::task task, const query &q, const ads *a) {
 *          return task.reply(...);
 *      });
 *
 * A parameter `const T &` is needed, `const T *` is wanted: it is null if the task that
 * gives it has failed. A first parameter cpt::task is the task itself. A task that waits
 * returns cpt::step<T>: a T, a cpt::failure, or what task.await() returns, which takes
 * the lambda that goes on. Exceptions fail the task, not the process.
 *
 * Values may own memory: each is destroyed once, with its request. Values that can be
 * copied byte by byte lie in the request as they are.
 *
 * docs/cpp.md has recipes. Everything of the C headers can be used beside it.
 */
#ifndef CPT_HPP
#define CPT_HPP

#include <cpt/cpt_task.hpp>
#if defined(__has_include)
#if __has_include(<cpt/cpt_service_main.h>)
#include <cpt/cpt_service_main.h>
#define CPT_HPP_HAS_MAIN_ 1
#endif
#endif

#include <functional>
#include <list>
#include <memory>

namespace cpt
{

/* --- Rows --- */

namespace detail
{

template <class F> struct signature : signature<decltype(&F::operator())> {
};
template <class R, class... A> struct signature<R (*)(A...)> {
    using result = R;
    using parameters = std::tuple<A...>;
};
template <class C, class R, class... A>
struct signature<R (C::*)(A...) const> : signature<R (*)(A...)> {
};
template <class C, class R, class... A>
struct signature<R (C::*)(A...) const noexcept> : signature<R (*)(A...)> {
};
template <class C, class R, class... A> struct signature<R (C::*)(A...)> {
    static_assert(sizeof(C) == 0, "a task serves any number of requests at once: its "
                                  "lambda must not be mutable");
};

template <class P> struct parameter {
    static_assert(sizeof(P) == 0, "a task takes its inputs as const T & (needed) or "
                                  "const T * (wanted), and itself as cpt::task");
};
template <> struct parameter<task> {
    static task get(cpt_task *of)
    {
        return task(of);
    }
    static void declare(cpt_task_def &, std::vector<const cpt_value *> &)
    {
    }
    static bool is_there(cpt_task *)
    {
        return true;
    }
};
template <class T> struct parameter<const T &> {
    static const T &get(cpt_task *of)
    {
        return *read<T>(cpt_task_input(of, value_of<T>()));
    }
    static void declare(cpt_task_def &, std::vector<const cpt_value *> &needs)
    {
        needs.push_back(value_of<T>());
    }
};
template <class T> struct parameter<const T *> {
    static const T *get(cpt_task *of)
    {
        return read<T>(cpt_task_input(of, value_of<T>()));
    }
    static void declare(cpt_task_def &def, std::vector<const cpt_value *> &)
    {
        std::size_t i = 0;

        while (def.wants[i] != nullptr) {
            i++;
        }
        def.wants[i] = value_of<T>();
    }
};

template <class Parameters> struct parameters;
template <class... P> struct parameters<std::tuple<P...>> {
    static_assert((static_cast<std::size_t>(std::is_pointer_v<P>) + ... + 0u) <=
                      CPT_TASK_VALUES_MAX,
                  "a task wants at most 16 values");
    static void declare(cpt_task_def &def, std::vector<const cpt_value *> &needs)
    {
        (parameter<P>::declare(def, needs), ...);
    }
    template <class F> static decltype(auto) call(const F &function, cpt_task *task)
    {
        return function(parameter<P>::get(task)...);
    }
};

/* What belongs to a row beside its cpt_task_def, which points to it. */
struct row_base {
    std::string name;
    std::vector<const cpt_value *> needs; /* those above 16, ended by null */
    row_base() = default;
    row_base(const row_base &) = delete;
    row_base &operator=(const row_base &) = delete;
    virtual ~row_base() = default;
};

template <class F> struct task_row : row_base {
    F function;
    explicit task_row(F &&given) : function(std::move(given))
    {
    }
    static cpt_status run(cpt_task *task)
    {
        const auto *self = static_cast<const task_row *>(cpt_task_context(task));

        return guard(task, [&] {
            return finish(task, parameters<typename signature<F>::parameters>::call(
                                    self->function, task));
        });
    }
};

template <class T, class Encode, class Decode> struct call_row : row_base {
    cpt_call_row row = {};
    Encode encode;
    Decode decode;
    std::optional<T> fallback;
    call_row(Encode &&e, Decode &&d) : encode(std::move(e)), decode(std::move(d))
    {
    }

    static const call_row *of(cpt_task *task)
    {
        return static_cast<const call_row *>(cpt_call_context(task));
    }
    static cpt_status run_encode(cpt_task *task, cpt_bytes *body)
    {
        return guard(task, [&] {
            const std::string text =
                parameters<typename signature<Encode>::parameters>::call(
                    of(task)->encode, task);

            return cpt_print(task, body, "%.*s", static_cast<int>(text.size()),
                             text.c_str());
        });
    }
    static cpt_status run_decode(cpt_task *task, const call_reply *reply)
    {
        return guard(task, [&] { return finish(task, of(task)->decode(*reply)); });
    }
    static cpt_status run_fall_back(cpt_task *task)
    {
        return guard(task, [&] { return write(task, T(*of(task)->fallback)); });
    }
};

/* A graph as it was when a plan was made of it: tasks that are added later are not its. */
struct snapshot {
    std::vector<cpt_task_def> defs;
    cpt_graph graph = {};
};

/* A graph while it is built, and after; plans share it. */
struct graph_state {
    std::string service;
    std::vector<cpt_task_def> defs;
    std::list<std::unique_ptr<row_base>> rows;
    std::vector<std::shared_ptr<const graph_state>> components;
    std::list<snapshot> snapshots;
};

} // namespace detail

/* How a call is made; see struct cpt_call_row. */
struct call_options {
    duration timeout{};
    unsigned retry_count_max = 0;
    duration backoff{};
    duration hedge{};
    const cpt_stub *other_stub = nullptr;
    unsigned extra_percent_max = 0;
    bool decodes_errors = false;
};

inline cpt_stub make_stub(const char *name, const char *method,
                          const char *target = nullptr, duration timeout = {})
{
    cpt_stub stub = {};

    stub.name = name;
    stub.method = method;
    stub.target = target;
    stub.timeout_ns = detail::ns(timeout);
    return stub;
}

/* Tasks that make an Out of an In. */
template <class In, class Out> class graph
{
    static_assert(detail::is_plain<In>, "what a request brings is copied byte by byte: "
                                        "pass a plain struct, or a pointer in one");

  public:
    explicit graph(std::string service)
        : state_(std::make_shared<detail::graph_state>())
    {
        state_->service = std::move(service);
    }

    /* A task that runs @function. */
    template <class F> graph &task(std::string name, F function)
    {
        using signature = detail::signature<F>;
        using returned = typename signature::result;
        using gives = typename detail::given<returned>::type;
        static_assert(!std::is_reference_v<returned> && !std::is_pointer_v<returned> &&
                          !std::is_void_v<returned>,
                      "a task returns its value, by value");
        static_assert(!std::is_same_v<returned, failure>,
                      "say what the task gives: -> cpt::result<T>");
        auto row = std::make_unique<detail::task_row<F>>(std::move(function));
        cpt_task_def def = {};

        detail::parameters<typename signature::parameters>::declare(def, row->needs);
        def.run = detail::task_row<F>::run;
        def.gives = detail::value_of<gives>();
        def.context = row.get();
        add(std::move(name), def, std::move(row));
        return *this;
    }

    /* A task that runs @inner, on *@runs_on if that is not null. */
    template <class InnerIn, class InnerOut>
    graph &component(std::string name, const graph<InnerIn, InnerOut> &inner,
                     cpt_executor *const *runs_on = nullptr)
    {
        auto row = std::make_unique<detail::row_base>();
        cpt_task_def def = {};

        row->needs.push_back(detail::value_of<InnerIn>());
        def.gives = detail::value_of<InnerOut>();
        def.component = inner.get();
        def.runs_on = runs_on;
        state_->components.push_back(inner.state());
        add(std::move(name), def, std::move(row));
        return *this;
    }

    /* A task that calls @stub: @encode, which takes inputs as a task does, returns the
     * body as a std::string; @decode makes the value of a const cpt::call_reply &. */
    template <class Encode, class Decode>
    graph &call(std::string name, const cpt_stub &stub, Encode encode, Decode decode,
                const call_options &options = {})
    {
        using gives = given_by<Decode>;

        return call_or(std::move(name), stub, std::move(encode), std::move(decode),
                       options, std::optional<gives>());
    }
    /* The same with what the value is if the call fails. */
    template <class Encode, class Decode, class T>
    graph &call(std::string name, const cpt_stub &stub, Encode encode, Decode decode,
                const call_options &options, T fallback)
    {
        using gives = given_by<Decode>;
        static_assert(std::is_same_v<T, gives>,
                      "the fallback has the type that decode returns");
        static_assert(std::is_copy_constructible_v<gives>,
                      "a fallback is copied for each request that needs it");

        return call_or(std::move(name), stub, std::move(encode), std::move(decode),
                       options, std::optional<gives>(std::move(fallback)));
    }
    template <class... Rest>
    graph &call(std::string name, const cpt_stub &&stub, Rest... rest) = delete;

    /* For C, as it is now: valid as long as this graph, its copies or a plan of it. */
    const cpt_graph *get() const
    {
        std::list<detail::snapshot> &all = state_->snapshots;

        if (all.empty() || all.back().defs.size() != state_->defs.size()) {
            detail::snapshot &now = all.emplace_back();

            now.defs = state_->defs;
            now.graph = {state_->service.c_str(), detail::value_of<In>(),
                         detail::value_of<Out>(), now.defs.data(), now.defs.size()};
        }
        return &all.back().graph;
    }
    std::shared_ptr<const detail::graph_state> state() const
    {
        return state_;
    }

  private:
    template <class Decode>
    using given_by = typename detail::given<
        std::decay_t<std::invoke_result_t<Decode, const call_reply &>>>::type;

    template <class Encode, class Decode, class T>
    graph &call_or(std::string name, const cpt_stub &stub, Encode &&encode,
                   Decode &&decode, const call_options &options,
                   std::optional<T> fallback)
    {
        using row_type =
            detail::call_row<T, std::decay_t<Encode>, std::decay_t<Decode>>;
        using signature = detail::signature<std::decay_t<Encode>>;
        static_assert(std::is_convertible_v<typename signature::result, std::string>,
                      "encode returns the body as a std::string");
        auto row = std::make_unique<row_type>(std::move(encode), std::move(decode));
        cpt_task_def def = {};

        detail::parameters<typename signature::parameters>::declare(def, row->needs);
        row->row.stub = &stub;
        row->row.encode = row_type::run_encode;
        row->row.decode = row_type::run_decode;
        row->row.timeout_ns = detail::ns(options.timeout);
        row->row.retry_count_max = options.retry_count_max;
        row->row.backoff_ns = detail::ns(options.backoff);
        row->row.hedge_ns = detail::ns(options.hedge);
        row->row.other_stub = options.other_stub;
        row->row.extra_percent_max = options.extra_percent_max;
        row->row.decodes_errors = options.decodes_errors;
        row->row.context = row.get();
        row->fallback = std::move(fallback);
        row->row.fall_back = row->fallback ? row_type::run_fall_back : nullptr;
        def.run = cpt_call_run;
        def.gives = detail::value_of<T>();
        def.context = &row->row;
        add(std::move(name), def, std::move(row));
        return *this;
    }

    void add(std::string name, cpt_task_def def, std::unique_ptr<detail::row_base> row)
    {
        std::vector<const cpt_value *> &needs = row->needs;

        row->name = std::move(name);
        def.name = row->name.c_str();
        for (std::size_t i = 0; i < needs.size() && i < CPT_TASK_VALUES_MAX; i++) {
            def.needs[i] = needs[i];
        }
        if (needs.size() > CPT_TASK_VALUES_MAX) {
            needs.erase(needs.begin(), needs.begin() + CPT_TASK_VALUES_MAX);
            needs.push_back(nullptr);
            def.needs_more = needs.data();
        }
        state_->defs.push_back(def);
        state_->rows.push_back(std::move(row));
    }

    std::shared_ptr<detail::graph_state> state_;
};

/* --- Plans --- */

/* How a request is run. */
struct run_options {
    cpt_executor *executor = nullptr; /* default: this thread */
    cpt_path *path = nullptr;         /* gets the critical path; null: not traced */
    duration timeout{};
};

/* How it ended. */
template <class Out> struct outcome {
    cpt_status status = CPT_WAITING;
    std::string sentence;
    std::optional<Out> output;
    explicit operator bool() const
    {
        return output.has_value();
    }
};

/* A graph, checked and compiled. It keeps the graph as it is now. */
template <class In, class Out> class plan
{
  public:
    explicit plan(const graph<In, Out> &of)
        : state_(of.state()),
          plan_(cpt_plan_new(of.get(), nullptr, &error_), cpt_plan_free)
    {
    }
    /* false: the graph was refused, why() says for what. */
    explicit operator bool() const
    {
        return plan_ != nullptr;
    }
    const char *why() const
    {
        return error_.sentence;
    }
    const cpt_plan *get() const
    {
        return plan_.get();
    }

    /* Runs one request to its end, and waits until nothing of it runs any more. Not in a
     * task. */
    outcome<Out> run(const In &input, const run_options &how = {}) const
    {
        waiter own;
        cpt_request_options options = {};
        cpt_error error = {};

        own.path = how.path;
        options.struct_bytes = sizeof options;
        options.plan = plan_.get();
        options.executor = how.executor;
        options.input = &input;
        options.done = note_done;
        options.gone = note_gone;
        options.context = &own;
        options.is_traced = how.path != nullptr;
        options.timeout_ns = detail::ns(how.timeout);
        if (cpt_request_start(&options, &error) != CPT_OK) {
            own.end.status = error.status;
            own.end.sentence = error.sentence;
            return std::move(own.end);
        }
        std::unique_lock<std::mutex> lock(own.mutex);
        own.has_changed.wait(lock, [&] { return own.is_gone; });
        return std::move(own.end);
    }

  private:
    struct waiter {
        std::mutex mutex;
        std::condition_variable has_changed;
        outcome<Out> end;
        cpt_path *path = nullptr;
        bool is_gone = false;
    };

    static void note_done(cpt_request *request, void *context)
    {
        waiter *to = static_cast<waiter *>(context);
        const void *output = cpt_request_output(request);

        to->end.status = cpt_request_status(request);
        if (to->end.status == CPT_OK && output != nullptr) {
            if constexpr (detail::is_plain<Out>) {
                to->end.output = *static_cast<const Out *>(output);
            } else {
                to->end.output = std::move(**static_cast<Out *const *>(output));
            }
        } else {
            to->end.sentence = cpt_request_sentence(request);
        }
        if (to->path != nullptr) {
            (void)cpt_request_path(request, to->path, nullptr);
        }
    }
    static void note_gone(void *context)
    {
        waiter *to = static_cast<waiter *>(context);
        const std::lock_guard<std::mutex> lock(to->mutex);

        to->is_gone = true;
        to->has_changed.notify_one();
    }

    std::shared_ptr<const detail::graph_state> state_;
    cpt_error error_ = {};
    std::unique_ptr<cpt_plan, decltype(&cpt_plan_free)> plan_;
};

/* --- main() --- */

#if defined(CPT_HPP_HAS_MAIN_)

using service_graph = graph<cpt_rpc_request, cpt_rpc_reply>;

/* The main() of a service; see cpt_service_main.h:
 *
 *      return cpt::program("front").method("/page", page).stub(price).run(argc, argv);
 */
class program
{
  public:
    explicit program(std::string name) : name_(std::move(name))
    {
        options_.struct_bytes = sizeof options_;
    }
    program &method(const char *path, const service_graph &answers,
                    duration timeout = {})
    {
        const cpt_graph *graph = answers.get();

        states_.push_back(answers.state());
        methods_.push_back(
            {path, graph->tasks, graph->task_count, detail::ns(timeout)});
        return *this;
    }
    program &stub(cpt_stub &called)
    {
        stubs_.push_back(&called);
        return *this;
    }
    program &role(cpt_role role)
    {
        options_.role = role;
        return *this;
    }
    program &pool(const char *name, unsigned worker_count, cpt_executor **set)
    {
        pools_.push_back({name, worker_count, set});
        return *this;
    }
    /* All other options. */
    cpt_main_options &options()
    {
        return options_;
    }
    int run(int argc, char **argv)
    {
        methods_.push_back({});
        pools_.push_back({});
        stubs_.push_back(nullptr);
        options_.name = name_.c_str();
        options_.methods = methods_.data();
        options_.pools = pools_.data();
        options_.stubs = stubs_.data();
        return cpt_service_main(argc, argv, &options_);
    }

  private:
    std::string name_;
    std::vector<cpt_main_method> methods_;
    std::vector<cpt_main_pool> pools_;
    std::vector<cpt_stub *> stubs_;
    std::vector<std::shared_ptr<const detail::graph_state>> states_;
    cpt_main_options options_ = {};
};

#endif

} // namespace cpt

#endif
