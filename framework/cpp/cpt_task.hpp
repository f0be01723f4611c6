/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_task.hpp - what tasks in C++ see: values, results, waits; see cpt.hpp
 *
 * A value of type T lies in its request as it is if it may be copied byte by byte. Else
 * the request has a pointer to it, and destroys it at its end. The same holds for the
 * lambda that goes on after a wait, to which the state of its task points.
 */
#ifndef CPT_TASK_HPP
#define CPT_TASK_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "cpt.hpp needs C++17"
#endif

#include <cpt/cpt_calls.h>
#include <cpt/cpt_graph.h>
#include <cpt/cpt_rpc.h>
#include <cpt/cpt_runtime.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cpt
{

class task;

using duration = std::chrono::nanoseconds;

/* How a call ended. In C the struct and a function have one name. */
using call_reply = struct ::cpt_call_reply;

/* Why a task fails: `return cpt::fail(CPT_UNAVAILABLE, "no replica answers");` */
struct failure {
    cpt_status status;
    std::string sentence;
};

inline failure fail(cpt_status status, std::string sentence = {})
{
    return {status < 0 ? status : CPT_FAILED, std::move(sentence)};
}

inline std::string_view text(cpt_bytes bytes)
{
    return bytes.bytes != 0 ? std::string_view(bytes.data, bytes.bytes)
                            : std::string_view();
}

inline cpt_bytes bytes(std::string_view text)
{
    return {text.data(), text.size()};
}

/* --- Values --- */

namespace detail
{

inline uint64_t ns(duration time)
{
    return time.count() > 0 ? static_cast<uint64_t>(time.count()) : 0;
}

template <class T> constexpr std::string_view pretty()
{
    return __PRETTY_FUNCTION__;
}

/* "query" of "... [with T = query; ...]" or "... [T = query]" */
template <class T> std::string type_name()
{
    const std::string_view all = pretty<T>();
    const std::size_t begin = all.find("T = ") + 4;
    const std::size_t semicolon = all.find(';', begin);
    const std::size_t end =
        semicolon != std::string_view::npos ? semicolon : all.rfind(']');

    return std::string(all.substr(begin, end - begin));
}

/* Whether a value lies in the request as it is; else a pointer to it does. */
template <class T>
inline constexpr bool is_plain =
    std::is_trivially_copyable_v<T> &&std::is_trivially_destructible_v<T>;

template <class T> struct value_check {
    static_assert(std::is_same_v<T, std::remove_cv_t<std::remove_reference_t<T>>>,
                  "a value is a type without const or &");
    static_assert(std::is_class_v<T> || std::is_enum_v<T>,
                  "the type of a value is its name: wrap a number or a pointer in a "
                  "struct of its own");
    static_assert(std::is_move_constructible_v<T>, "a task returns its value: it must "
                                                   "be movable");
    static_assert(alignof(T) <= alignof(std::max_align_t),
                  "memory of a request is aligned for any standard type, not for more");
};

/* The names of those of cpt_rpc.h. */
template <class T> std::string value_name()
{
    return type_name<T>();
}
template <> inline std::string value_name<cpt_rpc_request>()
{
    return "rpc_request";
}
template <> inline std::string value_name<cpt_rpc_reply>()
{
    return "rpc_reply";
}

template <class T> const cpt_value *value_of()
{
    static_assert(sizeof(value_check<T>) != 0);
    static const std::string name = value_name<T>();
    static const cpt_value value = {name.c_str(), is_plain<T> ? sizeof(T) : sizeof(T *),
                                    name.c_str(), nullptr, nullptr};

    return &value;
}

template <class T> const T *read(const void *memory)
{
    if (memory == nullptr) {
        return nullptr;
    }
    if constexpr (is_plain<T>) {
        return static_cast<const T *>(memory);
    } else {
        return *static_cast<T *const *>(memory);
    }
}

template <class T> void destroy(void *value)
{
    static_cast<T *>(value)->~T();
}

inline cpt_status at_limit(cpt_task *task)
{
    return cpt_fail(task, CPT_LIMIT, "the memory limit of the request was reached");
}

/* Moves @from into memory of the request, which destroys it; null at its limit. */
template <class T, class From> T *keep(cpt_task *task, From &&from)
{
    void *memory = cpt_task_memory(task, sizeof(T));
    T *made = nullptr;

    if (memory == nullptr) {
        return nullptr;
    }
    made = new (memory) T(std::forward<From>(from));
    if constexpr (!std::is_trivially_destructible_v<T>) {
        if (cpt_task_at_end(task, destroy<T>, made) != CPT_OK) {
            made->~T();
            return nullptr;
        }
    }
    return made;
}

template <class T> cpt_status write(cpt_task *task, T &&value)
{
    using plain = std::remove_cv_t<std::remove_reference_t<T>>;
    void *output = cpt_task_output(task, value_of<plain>());

    if (output == nullptr) {
        return cpt_fail(task, CPT_INVALID, "the task gives another value");
    }
    if constexpr (is_plain<plain>) {
        std::memcpy(output, &value, sizeof value);
    } else {
        plain *made = keep<plain>(task, std::forward<T>(value));

        if (made == nullptr) {
            return at_limit(task);
        }
        *static_cast<plain **>(output) = made;
    }
    return CPT_OK;
}

inline cpt_status fail_with(cpt_task *task, const failure &why)
{
    return why.sentence.empty()
               ? why.status
               : cpt_fail(task, why.status, "%s", why.sentence.c_str());
}

/* Runs @body; what it throws fails the task. */
template <class Body> cpt_status guard(cpt_task *task, Body &&body) noexcept
{
#if defined(__cpp_exceptions)
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return cpt_fail(task, CPT_NO_MEMORY, "there is no memory");
    } catch (const std::exception &error) {
        return cpt_fail(task, CPT_FAILED, "%s", error.what());
    } catch (...) {
        return cpt_fail(task, CPT_FAILED, "an exception that is no std::exception");
    }
#else
    (void)task;
    return body();
#endif
}

} // namespace detail

/* --- What tasks return --- */

/* A task that waits, and will give a T: what task.await() returns. */
template <class T> struct waiting {
    cpt_status status;
};

/* A T, or why there is none. */
template <class T> class result
{
  public:
    result(T value) : content_(std::move(value))
    {
    }
    result(failure why) : content_(std::move(why))
    {
    }
    const failure *why() const
    {
        return std::get_if<failure>(&content_);
    }
    T &value()
    {
        return std::get<T>(content_);
    }

  private:
    std::variant<failure, T> content_;
};

/* A T, a failure, or a wait. */
template <class T> class step
{
  public:
    step(T value) : content_(std::move(value))
    {
    }
    step(failure why) : content_(std::move(why))
    {
    }
    step(waiting<T> wait) : content_(wait)
    {
    }

    /* Ends the step of @task. */
    cpt_status finish(cpt_task *task)
    {
        if (const waiting<T> *wait = std::get_if<waiting<T>>(&content_)) {
            return wait->status;
        }
        if (const failure *why = std::get_if<failure>(&content_)) {
            return detail::fail_with(task, *why);
        }
        return detail::write(task, std::move(std::get<T>(content_)));
    }

  private:
    std::variant<failure, waiting<T>, T> content_;
};

namespace detail
{

/* What a task that returns R gives. */
template <class R> struct given {
    using type = R;
};
template <class T> struct given<step<T>> {
    using type = T;
};
template <class T> struct given<result<T>> {
    using type = T;
};
template <class T> struct given<waiting<T>> {
    using type = T;
};

template <class T> cpt_status finish(cpt_task *task, T &&value)
{
    return write(task, std::forward<T>(value));
}
template <class T> cpt_status finish(cpt_task *task, step<T> &&value)
{
    return value.finish(task);
}
template <class T> cpt_status finish(cpt_task *task, result<T> &&value)
{
    return value.why() != nullptr ? fail_with(task, *value.why())
                                  : write(task, std::move(value.value()));
}
template <class T> cpt_status finish(cpt_task *, waiting<T> &&value)
{
    return value.status;
}

/* A step that goes on after a wait, in memory of the request. The state of the task
 * points to it. */
template <class F> struct next_step {
    F function;
    static cpt_status run(cpt_task *task);
};

} // namespace detail

/* --- Tasks --- */

template <class In, class Out> class plan;

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

  private:
    cpt_pending *pending_;
};

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

    pending call(const cpt_stub &stub, std::string_view body,
                 unsigned attempt = 0) const
    {
        return pending(cpt_call_attempt(task_, &stub, bytes(body), attempt));
    }
    pending call(const cpt_stub &&, std::string_view, unsigned = 0) const = delete;
    pending sleep(const char *name, duration time) const
    {
        return pending(cpt_sleep(task_, name, detail::ns(time)));
    }
    pending back_off(duration time) const
    {
        return pending(cpt_back_off(task_, detail::ns(time)));
    }
    /* Work elsewhere, until cpt_complete() of it. */
    pending defer(const char *name) const
    {
        return pending(cpt_defer(task_, name));
    }
    /* A run of @of; where @executor says, or where the request runs. */
    template <class In, class Out>
    pending spawn(const char *name, const plan<In, Out> &of, const In &input,
                  cpt_executor *executor = nullptr) const
    {
        return pending(cpt_task_spawn_on(task_, executor, name, of.get(),
                                         detail::value_of<In>(), &input));
    }

    /* `return task.await(pending, [...](cpt::task task) { ... });` What the lambda
     * returns is what the task gives, or waits for next. What it captures is destroyed
     * with the request. */
    template <class F> auto await(pending wanted, F next) const
    {
        return wait(std::move(next), [&](cpt_task_fn step) {
            return cpt_await(task_, wanted.get(), step);
        });
    }
    /* For the first @count of @wanted. */
    template <class F>
    auto await_some(const std::vector<pending> &wanted, std::size_t count, F next) const
    {
        std::vector<cpt_pending *> list;

        for (const pending &one : wanted) {
            list.push_back(one.get());
        }
        return wait(std::move(next), [&](cpt_task_fn step) {
            return cpt_await_some(task_, list.data(), list.size(), count, step);
        });
    }
    /* For all that the task has started. */
    template <class F> auto await_all(F next) const
    {
        return wait(std::move(next),
                    [&](cpt_task_fn step) { return cpt_await_all(task_, step); });
    }
    template <class F> auto await_all_for(duration time, F next) const
    {
        return wait(std::move(next), [&](cpt_task_fn step) {
            return cpt_await_all_for(task_, detail::ns(time), step);
        });
    }

    /* An attribute of the record of the request. */
    void set(const char *key, const char *value) const
    {
        cpt_request_set_text(cpt_task_request(task_), key, value);
    }
    void set(const char *key, int64_t value) const
    {
        cpt_request_set_integer(cpt_task_request(task_), key, value);
    }

    /* An answer with a copy of @body, in memory of the request. */
    result<cpt_rpc_reply> reply(std::string_view body,
                                unsigned outcome = CPT_OUTCOME_OK) const
    {
        cpt_rpc_reply made = {};
        char *copy = static_cast<char *>(cpt_task_memory(task_, body.size() + 1));

        if (copy == nullptr) {
            return fail(CPT_LIMIT, "the memory limit of the request was reached");
        }
        if (!body.empty()) {
            std::memcpy(copy, body.data(), body.size());
        }
        made.body = {copy, body.size()};
        made.outcome = outcome;
        return made;
    }

  private:
    template <class F, class Ask> auto wait(F &&next, Ask ask) const
    {
        using step_type = detail::next_step<std::decay_t<F>>;
        static_assert(std::is_invocable_v<F, task>,
                      "what goes on after a wait takes a cpt::task");
        using gives = typename detail::given<std::invoke_result_t<F, task>>::type;
        auto **state = static_cast<void **>(cpt_task_state(task_, sizeof(void *)));
        step_type *kept =
            state != nullptr
                ? detail::keep<step_type>(task_, step_type{std::forward<F>(next)})
                : nullptr;

        if (kept == nullptr) {
            return waiting<gives>{detail::at_limit(task_)};
        }
        *state = kept;
        return waiting<gives>{ask(step_type::run)};
    }

    cpt_task *task_;
};

template <class F> cpt_status detail::next_step<F>::run(cpt_task *task)
{
    auto *self = static_cast<next_step *>(
        *static_cast<void **>(cpt_task_state(task, sizeof(void *))));

    return guard(task, [&] { return finish(task, self->function(cpt::task(task))); });
}

} // namespace cpt

#endif
