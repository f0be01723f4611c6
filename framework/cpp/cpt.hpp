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

#include <algorithm>
#include <list>
#include <memory>

namespace cpt
{

/* --- Rows --- */

namespace detail
{

/* Whether what @F takes can be told: it has one operator(), which is no template. */
template <class F, class = void> inline constexpr bool is_readable = false;
template <class F>
inline constexpr bool is_readable<F, std::void_t<decltype(&F::operator())>> = true;
template <class R, class... A> inline constexpr bool is_readable<R (*)(A...)> = true;
template <class R, class... A>
inline constexpr bool is_readable<R (*)(A...) noexcept> = true;

template <class F> struct signature : signature<decltype(&F::operator())> {
};
template <class R, class... A>
struct signature<R (*)(A...) noexcept> : signature<R (*)(A...)> {
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
template <class C, class R, class... A>
struct signature<R (C::*)(A...) noexcept> : signature<R (C::*)(A...)> {
};
template <class C, class R, class... A> struct signature<R (C::*)(A...)> {
    static_assert(sizeof(C) == 0, "a task serves any number of requests at once: its "
                                  "lambda must not be mutable");
};

/* What a function of a row is called with, beside the values of its task. */
struct extra {
    call_request *request = nullptr;
    const call_reply *reply = nullptr;
};

template <class P> struct parameter {
    static_assert(sizeof(P) == 0, "a task takes its inputs as const T & (needed) or "
                                  "const T * (wanted), and itself as cpt::task");
};
/* What is no value. */
struct no_value {
    static constexpr bool is_of_call = false;
    static void declare(cpt_task_def &, std::vector<const cpt_value *> &)
    {
    }
};
template <> struct parameter<task> : no_value {
    static task get(cpt_task *of, const extra &)
    {
        return task(of);
    }
};
template <> struct parameter<call_request &> : no_value {
    static constexpr bool is_of_call = true;
    static call_request &get(cpt_task *, const extra &with)
    {
        return *with.request;
    }
};
template <> struct parameter<const call_reply &> : no_value {
    static constexpr bool is_of_call = true;
    static const call_reply &get(cpt_task *, const extra &with)
    {
        return *with.reply;
    }
};
template <class T> struct parameter<const T &> {
    static constexpr bool is_of_call = false;
    static const T &get(cpt_task *of, const extra &)
    {
        return *read<T>(cpt_task_input(of, value_of<T>()));
    }
    static void declare(cpt_task_def &, std::vector<const cpt_value *> &needs)
    {
        needs.push_back(value_of<T>());
    }
};
template <class T> struct parameter<const T *> {
    static constexpr bool is_of_call = false;
    static const T *get(cpt_task *of, const extra &)
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
    template <class Q> static constexpr bool have = (std::is_same_v<P, Q> || ...);
    static constexpr bool are_of_task = (!parameter<P>::is_of_call && ...);

    static void declare(cpt_task_def &def, std::vector<const cpt_value *> &needs)
    {
        (parameter<P>::declare(def, needs), ...);
    }
    template <class F>
    static decltype(auto) call(const F &function, cpt_task *task, const extra &with)
    {
        (void)task; /* there may be no parameter */
        (void)with;
        return function(parameter<P>::get(task, with)...);
    }
};

template <class F> using parameters_of = parameters<typename signature<F>::parameters>;

template <class T> struct identity {
    using type = T;
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
            return finish(task, parameters_of<F>::call(self->function, task, {}));
        });
    }
};

template <class T, class Encode, class Decode> struct call_row : row_base {
    cpt_call_row row = {};
    Encode encode;
    Decode decode;
    std::optional<T> fallback;
    std::vector<const char *> reply_headers; /* ended by null */
    std::vector<cpt_call_answer> answers;    /* ended by zeros */
    call_row(Encode &&e, Decode &&d) : encode(std::move(e)), decode(std::move(d))
    {
    }

    static constexpr bool asks = parameters_of<Encode>::template have<call_request &>;
    static constexpr bool gives_body =
        std::is_convertible_v<typename signature<Encode>::result, std::string>;

    static const call_row *of(cpt_task *task)
    {
        return static_cast<const call_row *>(cpt_call_context(task));
    }
    /* The body, if that is all. */
    static cpt_status run_encode(cpt_task *task, cpt_bytes *body)
    {
        if constexpr (!asks) {
            return guard(task, [&] {
                return keep_text(
                    task, parameters_of<Encode>::call(of(task)->encode, task, {}),
                    body);
            });
        } else {
            *body = {};
            return CPT_OK;
        }
    }
    static cpt_status run_prepare(cpt_task *task, cpt_call_request *said)
    {
        return guard(task, [&] {
            call_request request(task, said);
            const extra with = {&request, nullptr};

            if constexpr (gives_body) {
                request.body(parameters_of<Encode>::call(of(task)->encode, task, with));
            } else {
                parameters_of<Encode>::call(of(task)->encode, task, with);
            }
            return request.status();
        });
    }
    static cpt_status run_decode(cpt_task *task, const call_reply *reply)
    {
        return guard(task, [&] {
            if constexpr (std::is_invocable_v<const Decode &, const call_reply &>) {
                return finish(task, of(task)->decode(*reply));
            } else {
                const extra with = {nullptr, reply};

                return finish(
                    task, parameters_of<Decode>::call(of(task)->decode, task, with));
            }
        });
    }
    static cpt_status run_fall_back(cpt_task *task)
    {
        if constexpr (std::is_copy_constructible_v<T>) {
            return guard(task, [&] { return write(task, T(*of(task)->fallback)); });
        } else {
            return CPT_INVALID; /* never given */
        }
    }
};

/* A graph as it was when a plan was made of it: tasks that are added later are not its. */
struct snapshot {
    std::vector<cpt_task_def> defs;
    cpt_graph graph = {};
    std::size_t row_count = 0;
    std::string refusal; /* the name of a row that stands for a mistake */
};

/* The name that two types among @values have; null: none. */
inline const char *clash(const std::vector<const cpt_value *> &values)
{
    for (std::size_t i = 0; i < values.size(); i++) {
        for (std::size_t j = 0; j < i; j++) {
            const std::type_info *one = type_of(values[i]);
            const std::type_info *other = type_of(values[j]);

            if (values[i] != values[j] && one != nullptr && other != nullptr &&
                *one != *other &&
                std::string_view(values[i]->name) == values[j]->name) {
                return values[i]->name;
            }
        }
    }
    return nullptr;
}

inline void list_values(const cpt_value *const *from,
                        std::vector<const cpt_value *> &to)
{
    for (; from != nullptr && *from != nullptr; from++) {
        if (std::find(to.begin(), to.end(), *from) == to.end()) {
            to.push_back(*from);
        }
    }
}

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
    std::vector<const char *> reply_headers{}; /* that decode reads: "ETag" */
    std::vector<cpt_call_answer> answers{};    /* {{404, CPT_OUTCOME_OK}} */
    bool is_idempotent = false; /* may be carried out twice, though it is a POST */
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
    /* A copy is the same graph. A graph that was moved from is one, too. */
    graph(const graph &) = default;
    graph &operator=(const graph &) = default;

    /* A task that runs @function. */
    template <class F> graph &task(std::string name, F function)
    {
        static_assert(detail::is_readable<F>,
                      "the parameters of a task say what it needs: one operator(), and "
                      "no auto");
        using signature = detail::signature<F>;
        using returned = typename signature::result;
        using gives = typename detail::given<returned>::type;
        static_assert(!std::is_reference_v<returned> && !std::is_pointer_v<returned> &&
                          !std::is_void_v<returned>,
                      "a task returns its value, by value");
        static_assert(!std::is_same_v<returned, failure>,
                      "say what the task gives: -> cpt::result<T>");
        static_assert(detail::parameters_of<F>::are_of_task,
                      "cpt::call_request and cpt::call_reply are those of a call");
        auto row = std::make_unique<detail::task_row<F>>(std::move(function));
        cpt_task_def def = {};

        detail::parameters_of<F>::declare(def, row->needs);
        if (detail::is_there(row->function)) { /* the plan is refused without one */
            def.run = detail::task_row<F>::run;
        }
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
     * body as a std::string, or takes a cpt::call_request &, too, and says all that the
     * call says; @decode makes the value of a const cpt::call_reply &, and may take
     * inputs, too. */
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

        if (all.empty() || all.back().row_count != state_->defs.size()) {
            detail::snapshot &now = all.emplace_back();

            now.defs = state_->defs;
            now.row_count = now.defs.size();
            refuse_clash(now);
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
    /* A generic lambda is decoded with, as long as the answer is all it takes. */
    template <class Decode> static auto decoded()
    {
        if constexpr (std::is_invocable_v<const Decode &, const call_reply &>) {
            return detail::identity<std::decay_t<
                std::invoke_result_t<const Decode &, const call_reply &>>>();
        } else {
            static_assert(
                detail::is_readable<Decode>,
                "decode takes a const cpt::call_reply &, and inputs; no auto");
            return detail::identity<
                std::decay_t<typename detail::signature<Decode>::result>>();
        }
    }
    template <class Decode>
    using given_by =
        typename detail::given<typename decltype(decoded<Decode>())::type>::type;

    template <class Encode, class Decode, class T>
    graph &call_or(std::string name, const cpt_stub &stub, Encode &&encode,
                   Decode &&decode, const call_options &options,
                   std::optional<T> fallback)
    {
        using row_type =
            detail::call_row<T, std::decay_t<Encode>, std::decay_t<Decode>>;
        static_assert(detail::is_readable<std::decay_t<Encode>>,
                      "the parameters of encode say what the call needs: no auto");
        static_assert(row_type::asks || row_type::gives_body,
                      "encode returns the body as a std::string, or takes a "
                      "cpt::call_request &");
        auto row = std::make_unique<row_type>(std::move(encode), std::move(decode));
        cpt_task_def def = {};

        detail::parameters_of<std::decay_t<Encode>>::declare(def, row->needs);
        if constexpr (!std::is_invocable_v<const std::decay_t<Decode> &,
                                           const call_reply &>) {
            declare_once<std::decay_t<Decode>>(def, row->needs);
        }
        row->row.stub = &stub;
        row->row.encode = row_type::run_encode;
        row->row.prepare = row_type::asks ? row_type::run_prepare : nullptr;
        row->row.decode = row_type::run_decode;
        row->row.timeout_ns = detail::ns(options.timeout);
        row->row.retry_count_max = options.retry_count_max;
        row->row.backoff_ns = detail::ns(options.backoff);
        row->row.hedge_ns = detail::ns(options.hedge);
        row->row.other_stub = options.other_stub;
        row->row.extra_percent_max = options.extra_percent_max;
        row->row.decodes_errors = options.decodes_errors;
        row->row.is_idempotent = options.is_idempotent;
        row->row.context = row.get();
        if (!options.reply_headers.empty()) {
            row->reply_headers = options.reply_headers;
            row->reply_headers.push_back(nullptr);
            row->row.reply_headers = row->reply_headers.data();
        }
        if (!options.answers.empty()) {
            row->answers = options.answers;
            row->answers.push_back({0, 0});
            row->row.answers = row->answers.data();
        }
        if (fallback) {
            row->fallback.emplace(std::move(*fallback));
        }
        row->row.fall_back = row->fallback ? row_type::run_fall_back : nullptr;
        if (detail::is_there(row->encode) && detail::is_there(row->decode)) {
            def.run = cpt_call_run;
        }
        def.gives = detail::value_of<T>();
        def.context = &row->row;
        add(std::move(name), def, std::move(row));
        return *this;
    }

    /* Two types with one name would be one value: a row that C refuses says so. */
    static void refuse_clash(detail::snapshot &now)
    {
        std::vector<const cpt_value *> all = {detail::value_of<In>(),
                                              detail::value_of<Out>()};
        cpt_task_def def = {};

        for (const cpt_task_def &row : now.defs) {
            const cpt_value *const gives[] = {row.gives, nullptr};

            detail::list_values(gives, all);
            detail::list_values(row.needs, all);
            detail::list_values(row.wants, all);
            detail::list_values(row.needs_more, all);
        }
        if (const char *name = detail::clash(all)) {
            now.refusal = std::string("two types are called ") + name;
            def.name = now.refusal.c_str();
            now.defs.insert(now.defs.begin(), def);
        }
    }

    /* What @decode takes, less what is in the lists already. */
    template <class Decode>
    static void declare_once(cpt_task_def &def, std::vector<const cpt_value *> &needs)
    {
        std::vector<const cpt_value *> more;
        cpt_task_def wanted = {};

        detail::parameters_of<Decode>::declare(wanted, more);
        for (const cpt_value *value : more) {
            if (std::find(needs.begin(), needs.end(), value) == needs.end()) {
                needs.push_back(value);
            }
        }
        for (std::size_t i = 0; wanted.wants[i] != nullptr; i++) {
            std::size_t at = 0;

            while (def.wants[at] != nullptr && def.wants[at] != wanted.wants[i]) {
                at++;
            }
            if (at < CPT_TASK_VALUES_MAX) {
                def.wants[at] = wanted.wants[i];
            }
        }
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

} // namespace cpt

#include <cpt/cpt_plan.hpp>
#if defined(__has_include)
#if __has_include(<cpt/cpt_service_main.h>)
#include <cpt/cpt_program.hpp>
#endif
#endif

#endif
