/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_task.hpp - what tasks in C++ do: call, spawn, wait; see cpt.hpp
 *
 * A lambda that goes on after a wait lies in memory of the request, which destroys it.
 * The state of its task points to it.
 */
#ifndef CPT_TASK_HPP
#define CPT_TASK_HPP

#include <cpt/cpt_lock.hpp>
#include <cpt/cpt_shared.h>
#include <cpt/cpt_value.hpp>

#include <array>
#include <initializer_list>

namespace cpt
{

class task;

namespace detail
{

/* A step that goes on after a wait, in memory of the request. The state of the task
 * points to it. */
template <class F> struct next_step {
    F function;
    static cpt_status run(cpt_task *task);
};

} // namespace detail

/* --- Tasks --- */

template <class In, class Out> class plan;
template <class In, class Out> class shared;

/* What a task may wait for; borrowed until the request ends. */
class pending
{
  public:
    explicit pending(cpt_pending *borrowed) : pending_(borrowed)
    {
    }
    cpt_pending *get() const
    {
        return pending_;
    }
    cpt_status status() const
    {
        return cpt_pending_status(pending_);
    }
    /* Of a call; null while it is outstanding. */
    const call_reply *reply() const
    {
        return ::cpt_call_reply(pending_);
    }
    bool has_succeeded() const
    {
        const call_reply *answer = reply();

        return answer != nullptr && answer->status == CPT_OK &&
               answer->outcome == CPT_OUTCOME_OK;
    }
    /* Of a run of a plan that gives T; null unless it has succeeded. */
    template <class T> const T *output() const
    {
        return detail::read<T>(cpt_task_run_output(pending_, detail::value_of<T>()));
    }
    void cancel() const
    {
        cpt_cancel(pending_);
    }
    /* Of task.defer(), exactly once, from any thread. */
    void complete(cpt_status status = CPT_OK) const
    {
        cpt_complete(pending_, status);
    }

  private:
    cpt_pending *pending_;
};

/* A call: a step that awaits it may take a const cpt::call_reply &. */
class calling : public pending
{
  public:
    using pending::pending;
};

/* A run of a plan that gives T. A step that awaits it may take a const T *, which is
 * null if it has failed, or a const T &: then the task fails as the run does. */
template <class T> class run : public pending
{
  public:
    using pending::pending;
    const T *output() const
    {
        return pending::output<T>();
    }
    /* Why it failed; empty if it has not. */
    const char *sentence() const
    {
        return cpt_run_sentence(get());
    }
    /* Of task.share(): which item of its batch it is. */
    std::size_t index() const
    {
        return cpt_share_index(get());
    }
    /* Of task.hand_over(): runs it on this thread, exactly once. */
    void adopt() const
    {
        cpt_adopt(get());
    }
};

/* Something acquired, soon: a step that awaits it takes a cpt::held<Lock>. */
template <class Lock> class acquiring : public pending
{
  public:
    using pending::pending;
};

namespace detail
{

/* What a lambda is called with that goes on after a wait for a P, and what it gives. */
template <class P, class F> struct continuation {
    P wanted;
    F next;

    auto operator()(task self);
};

template <class P> struct continued {
    template <class F> static constexpr bool by = false;
};
template <> struct continued<calling> {
    template <class F>
    static constexpr bool by = std::is_invocable_v<F &, task, const call_reply &>;
};
template <class T> struct continued<run<T>> {
    template <class F>
    static constexpr bool by = std::is_invocable_v<F &, task, const T *> ||
                               std::is_invocable_v<F &, task, const T &>;
};
template <class Lock> struct continued<acquiring<Lock>> {
    template <class F>
    static constexpr bool by = std::is_invocable_v<F &, task, held<Lock>>;
};

} // namespace detail

/* The task whose step runs; belongs to that step. */
class task
{
  public:
    explicit task(cpt_task *borrowed) : task_(borrowed)
    {
    }
    cpt_task *get() const
    {
        return task_;
    }

    calling call(const cpt_stub &stub, std::string_view body,
                 unsigned attempt = 0) const
    {
        return calling(cpt_call_attempt(task_, &stub, bytes(body), attempt));
    }
    calling call(const cpt_stub &&, std::string_view, unsigned = 0) const = delete;
    /* With all that @said says; see cpt_calls.h. */
    calling call(const cpt_stub &stub, const cpt_call_request &said) const
    {
        return calling(cpt_call_with(task_, &stub, &said));
    }
    calling call(const cpt_stub &&, const cpt_call_request &) const = delete;
    pending sleep(const char *name, duration time) const
    {
        return pending(cpt_sleep(task_, name, detail::ns(time)));
    }
    pending back_off(duration time) const
    {
        return pending(cpt_back_off(task_, detail::ns(time)));
    }
    /* Time for a second call of @stub, if the first takes longer. */
    pending hedge_wait(const cpt_stub &stub, duration time) const
    {
        return pending(cpt_hedge_wait(task_, &stub, detail::ns(time)));
    }
    pending hedge_wait(const cpt_stub &&, duration) const = delete;
    /* Work elsewhere, until complete() of it. */
    pending defer(const char *name) const
    {
        return pending(cpt_defer(task_, name));
    }
    /* The same where it can be stopped: @stop is called at most once, on any thread, if
     * it is no longer wanted; see cpt_defer_cancellable(). It lives as long as the
     * request. */
    template <class F> pending defer(const char *name, F stop) const
    {
        static_assert(std::is_nothrow_invocable_v<F &>,
                      "what stops work takes nothing, and says noexcept: it is called "
                      "where nothing may be thrown");
        F *kept = detail::keep<F>(task_, std::move(stop));

        if (kept == nullptr) { /* at the memory limit it cannot be stopped */
            return defer(name);
        }
        return pending(cpt_defer_cancellable(
            task_, name, [](void *context) { (*static_cast<F *>(context))(); }, kept));
    }
    /* A run of @of; where @executor says, or where the request runs. */
    template <class In, class Out>
    run<Out> spawn(const char *name, const plan<In, Out> &of, const In &input,
                   cpt_executor *executor = nullptr) const
    {
        return run<Out>(cpt_task_spawn_on(task_, executor, name, of.get(),
                                          detail::value_of<In>(), &input));
    }
    template <class In, class Out>
    run<Out> spawn(const char *, const plan<In, Out> &&, const In &,
                   cpt_executor * = nullptr) const = delete;
    /* A run of @of that begins when some thread calls adopt() of it; see
     * cpt_hand_over(). */
    template <class In, class Out>
    run<Out> hand_over(const char *name, const plan<In, Out> &of, const In &input) const
    {
        return run<Out>(
            cpt_task_hand_over(task_, name, of.get(), detail::value_of<In>(), &input));
    }
    template <class In, class Out>
    run<Out> hand_over(const char *, const plan<In, Out> &&, const In &) const = delete;
    /* Joins the run of @work for @key, or begins one; see cpt_shared.h. */
    template <class In, class Out>
    run<Out> share(const shared<In, Out> &work, std::string_view key,
                   const In &input) const
    {
        return run<Out>(cpt_task_share(task_, work.get(), bytes(key),
                                       detail::value_of<In>(), &input));
    }
    /* A cpt::mutex or a cpt::semaphore. */
    template <class Lock> acquiring<Lock> acquire(const Lock &lock) const
    {
        return acquiring<Lock>(lock.ask(task_));
    }
    template <class Lock> acquiring<Lock> acquire(const Lock &&) const = delete;

    /* What is left of the deadline of the request; nothing if it has none. */
    std::optional<duration> remaining() const
    {
        const uint64_t left_ns = cpt_task_remaining_ns(task_);

        return left_ns != UINT64_MAX
                   ? std::optional<duration>(duration(static_cast<int64_t>(left_ns)))
                   : std::nullopt;
    }
    /* How late the answer may still be; see cpt_task_slack_ns(). */
    duration slack() const
    {
        return duration(static_cast<int64_t>(cpt_task_slack_ns(task_)));
    }
    void set_slack(duration slack) const
    {
        cpt_task_set_slack(task_, detail::ns(slack));
    }
    /* The request has failed, was cancelled or took too long: a long computation may
     * return. */
    bool is_cancelled() const
    {
        return cpt_task_is_cancelled(task_) != 0;
    }
    /* Blocks the thread until @wanted is complete; await() costs less. An error of it is
     * thrown. */
    void wait(const pending &wanted) const
    {
        const cpt_status status = cpt_wait(task_, wanted.get());

        if (status != CPT_OK) {
            detail::raise(status);
        }
    }

    /* `return task.await(pending, [...](cpt::task task) { ... });` What the lambda
     * returns is what the task gives, or waits for next. What it captures is destroyed
     * with the request. It may also take what came of the pending: see cpt::calling,
     * cpt::run, cpt::acquiring. */
    template <class P, class F> auto await(P wanted, F next) const
    {
        static_assert(std::is_base_of_v<pending, P>, "a task awaits a cpt::pending");
        const auto ask = [&](cpt_task_fn step) {
            return cpt_await(task_, wanted.get(), step);
        };

        if constexpr (detail::continued<P>::template by<F>) {
            return go_on(detail::continuation<P, F>{wanted, std::move(next)}, ask);
        } else {
            return go_on(std::move(next), ask);
        }
    }
    /* For the first @count of @wanted. */
    template <class F>
    auto await_some(const std::vector<pending> &wanted, std::size_t count, F next) const
    {
        return await_some_of(wanted.data(), wanted.size(), count, std::move(next));
    }
    template <class F>
    auto await_some(std::initializer_list<pending> wanted, std::size_t count,
                    F next) const
    {
        return await_some_of(wanted.begin(), wanted.size(), count, std::move(next));
    }
    /* For all that the task has started. */
    template <class F> auto await_all(F next) const
    {
        return go_on(std::move(next),
                     [&](cpt_task_fn step) { return cpt_await_all(task_, step); });
    }
    template <class F> auto await_all_for(duration time, F next) const
    {
        return go_on(std::move(next), [&](cpt_task_fn step) {
            return cpt_await_all_for(task_, detail::ns(time), step);
        });
    }

    /* An attribute of the record of the request: a text, a number or a bool. */
    void set(const char *key, const char *value) const
    {
        cpt_request_set_text(cpt_task_request(task_), key, value);
    }
    void set(const char *key, const std::string &value) const
    {
        set(key, value.c_str());
    }
    void set(const char *key, int64_t value) const
    {
        cpt_request_set_integer(cpt_task_request(task_), key, value);
    }
    void set(const char *key, std::nullptr_t) const = delete;
    template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
    void set(const char *key, N value) const
    {
        [[maybe_unused]] cpt_request *request = cpt_task_request(task_);

        if constexpr (std::is_same_v<N, bool>) {
            cpt_request_set_bool(request, key, value);
        } else if constexpr (std::is_floating_point_v<N>) {
            cpt_request_set_float(request, key, static_cast<double>(value));
        } else {
            constexpr auto most = static_cast<uint64_t>(INT64_MAX);
            const bool is_more = value > 0 && static_cast<uint64_t>(value) > most;

            set(key, is_more ? INT64_MAX : static_cast<int64_t>(value));
        }
    }

    /* An answer with a copy of @body, in memory of the request; and of headers, which
     * cpt_rpc_reply_header() checks. */
    result<cpt_rpc_reply> reply(std::string_view body,
                                unsigned outcome = CPT_OUTCOME_OK) const
    {
        cpt_rpc_reply made = {};
        const cpt_status status = detail::keep_text(task_, body, &made.body);

        if (status != CPT_OK) {
            return fail(status);
        }
        made.outcome = outcome;
        return made;
    }
    using header_list =
        std::initializer_list<std::pair<const char *, std::string_view>>;
    result<cpt_rpc_reply> reply(std::string_view body, header_list headers,
                                unsigned outcome = CPT_OUTCOME_OK) const
    {
        result<cpt_rpc_reply> made = reply(body, outcome);

        for (const auto &[name, value] : headers) {
            const cpt_status status =
                made.why() != nullptr
                    ? CPT_OK
                    : cpt_rpc_reply_header(task_, &made.value(), name, bytes(value));

            if (status != CPT_OK) {
                return fail(status,
                            std::string("the header of a reply is refused: ") + name);
            }
        }
        return made;
    }

  private:
    /* Without an allocation if they are few. */
    template <class F>
    auto await_some_of(const pending *wanted, std::size_t wanted_count,
                       std::size_t count, F &&next) const
    {
        constexpr std::size_t few_max = 16;
        std::array<cpt_pending *, few_max> few;
        std::vector<cpt_pending *> many(wanted_count > few_max ? wanted_count : 0);
        cpt_pending **list = wanted_count > few_max ? many.data() : few.data();

        for (std::size_t i = 0; i < wanted_count; i++) {
            list[i] = wanted[i].get();
        }
        return go_on(std::move(next), [&](cpt_task_fn step) {
            return cpt_await_some(task_, list, wanted_count, count, step);
        });
    }

    template <class F, class Ask> auto go_on(F &&next, Ask ask) const
    {
        using step_type = detail::next_step<std::decay_t<F>>;
        static_assert(std::is_invocable_v<F &, task>,
                      "what goes on after a wait takes a cpt::task");
        using gives =
            typename detail::given<std::decay_t<std::invoke_result_t<F &, task>>>::type;
        if (!detail::is_there(next)) {
            return waiting<gives>{
                cpt_fail(task_, CPT_INVALID, "there is no step to go on with")};
        }
        auto **state = static_cast<void **>(cpt_task_state(task_, sizeof(void *)));
        step_type *kept =
            state != nullptr
                ? detail::keep<step_type>(task_, step_type{std::forward<F>(next)})
                : nullptr;

        if (kept == nullptr) {
            return waiting<gives>{detail::at_limit(task_)};
        }
        const cpt_status status = ask(step_type::run);

        if (status >= CPT_OK) { /* else an earlier wait of this step stands */
            *state = kept;
        }
        return waiting<gives>{status};
    }

    cpt_task *task_;
};

namespace detail
{

template <class R> using step_of = step<typename given<std::decay_t<R>>::type>;

template <class T, class F> auto resume(task self, const run<T> &wanted, F &next)
{
    const T *output = wanted.output();

    if constexpr (std::is_invocable_v<F &, task, const T *>) {
        return next(self, output);
    } else {
        using step = step_of<std::invoke_result_t<F &, task, const T &>>;

        if (output == nullptr) {
            return step(failure{wanted.status(), wanted.sentence()});
        }
        return step(next(self, *output));
    }
}

template <class Lock, class F>
auto resume(task self, const acquiring<Lock> &wanted, F &next)
{
    using step = step_of<std::invoke_result_t<F &, task, held<Lock>>>;

    if (wanted.status() != CPT_OK) {
        return step(failure{wanted.status(), {}});
    }
    return step(next(self, held<Lock>(wanted.get())));
}

} // namespace detail

/* Calls the lambda with what came of the wait; what has failed, and is not asked for by a
 * pointer, fails the task. */
template <class P, class F> auto detail::continuation<P, F>::operator()(task self)
{
    if constexpr (std::is_same_v<P, calling>) {
        return next(self, *wanted.reply());
    } else {
        return resume(self, wanted, next);
    }
}

template <class F> cpt_status detail::next_step<F>::run(cpt_task *task)
{
    auto *self = static_cast<next_step *>(
        *static_cast<void **>(cpt_task_state(task, sizeof(void *))));

    return guard(task, [&] { return finish(task, self->function(cpt::task(task))); });
}

#if defined(__cpp_exceptions)
namespace detail
{

inline void check_query(cpt_status status)
{
    if (status == CPT_CORRUPT) {
        throw refusal(CPT_OUTCOME_INVALID_ARGUMENT, "the query is malformed");
    }
    if (status != CPT_OK) {
        throw error(status);
    }
}

} // namespace detail

/*
 * The first parameter @name of the query, "?page=2&q=a+b", decoded; none if it is not
 * there, and empty for "?page" and "?page=". Valid until the request ends. A query that
 * is malformed is a mistake of the client: the request is refused with
 * CPT_OUTCOME_INVALID_ARGUMENT (400).
 */
inline auto query(task self, const cpt_rpc_request &request, const char *name)
{
    cpt_bytes value;

    detail::check_query(cpt_rpc_query(self.get(), &request, name, &value));
    return present(value);
}

/* All of them, in their order, with those that come twice. */
inline auto query(task self, const cpt_rpc_request &request)
{
    std::vector<std::pair<std::string_view, std::string_view>> all;
    std::size_t position = 0;
    cpt_field field;

    for (;;) {
        detail::check_query(
            cpt_rpc_query_next(self.get(), &request, &position, &field));
        if (field.name.data == nullptr) {
            return all;
        }
        all.emplace_back(text(field.name), text(field.value));
    }
}
#endif

/* What a call says, in the function of its row that encodes. The first mistake fails the
 * task; see cpt_calls.h. Texts are copied. */
class call_request
{
  public:
    call_request(cpt_task *of, cpt_call_request *said) : task_(of), said_(said)
    {
    }
    call_request(const call_request &) = delete;
    call_request &operator=(const call_request &) = delete;

    /* "{name}" in the method of the stub. */
    call_request &parameter(const char *name, std::string_view value)
    {
        return note(status_ == CPT_OK
                        ? cpt_call_set_parameter(task_, said_, name, bytes(value))
                        : status_);
    }
    template <class N, class = std::enable_if_t<std::is_integral_v<N>>>
    call_request &parameter(const char *name, N number)
    {
        return parameter(name, std::string_view(std::to_string(number)));
    }
    call_request &query(const char *name, std::string_view value)
    {
        return note(status_ == CPT_OK
                        ? cpt_call_add_query(task_, said_, name, bytes(value))
                        : status_);
    }
    template <class N, class = std::enable_if_t<std::is_integral_v<N>>>
    call_request &query(const char *name, N number)
    {
        return query(name, std::string_view(std::to_string(number)));
    }
    call_request &header(const char *name, std::string_view value)
    {
        return note(status_ == CPT_OK
                        ? cpt_call_add_header(task_, said_, name, bytes(value))
                        : status_);
    }
    /* The callee may carry it out twice, though it is a POST or a PATCH. */
    call_request &idempotent(bool is_idempotent = true)
    {
        said_->is_idempotent = is_idempotent;
        return *this;
    }
    /* How late its answer may be without delaying the request. */
    call_request &slack(duration slack)
    {
        said_->slack_ns = detail::ns(slack);
        return *this;
    }
    call_request &body(std::string_view text)
    {
        return note(status_ == CPT_OK ? detail::keep_text(task_, text, &said_->body)
                                      : status_);
    }
    cpt_status status() const
    {
        return status_;
    }

  private:
    call_request &note(cpt_status status)
    {
        status_ = status;
        return *this;
    }

    cpt_task *task_;
    cpt_call_request *said_;
    cpt_status status_ = CPT_OK;
};

} // namespace cpt

#endif
