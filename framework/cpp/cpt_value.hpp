/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_value.hpp - values of C++ in a request, and what tasks return; see cpt.hpp
 *
 * A value of type T lies in its request as it is if it may be copied byte by byte. Else
 * the request has a pointer to it, and destroys it at its end.
 */
#ifndef CPT_VALUE_HPP
#define CPT_VALUE_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "cpt.hpp needs C++17"
#endif

#include <cpt/cpt_calls.h>
#include <cpt/cpt_graph.h>
#include <cpt/cpt_rpc.h>
#include <cpt/cpt_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

namespace cpt
{

using duration = std::chrono::nanoseconds;

/* How a call ended. In C the struct and a function have one name. */
using call_reply = struct ::cpt_call_reply;

/* Why a task fails: `return cpt::fail(CPT_UNAVAILABLE, "no replica answers");` */
struct failure {
    cpt_status status;
    std::string sentence;
    unsigned outcome = 0; /* enum cpt_outcome, if it is a refusal */
};

/* The same where nothing can be returned: `throw cpt::error(CPT_LIMIT, "too many");` */
class error : public std::runtime_error
{
  public:
    explicit error(cpt_status status, const std::string &sentence = {})
        : std::runtime_error(sentence), status_(status < 0 ? status : CPT_FAILED)
    {
    }
    cpt_status status() const noexcept
    {
        return status_;
    }

  private:
    cpt_status status_;
};

/* The request is wrong: cpt_refuse(). `throw cpt::refusal(CPT_OUTCOME_NOT_FOUND);` */
class refusal : public error
{
  public:
    explicit refusal(unsigned outcome, const std::string &sentence = {})
        : error(CPT_REFUSED, sentence), outcome_(outcome)
    {
    }
    unsigned outcome() const noexcept
    {
        return outcome_;
    }

  private:
    unsigned outcome_;
};

inline failure fail(cpt_status status, std::string sentence = {})
{
    return {status < 0 ? status : CPT_FAILED, std::move(sentence)};
}

/* `return cpt::refuse(CPT_OUTCOME_NOT_FOUND, "no such user");` */
inline failure refuse(unsigned outcome, std::string sentence = {})
{
    return {CPT_REFUSED, std::move(sentence), outcome};
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
/* A copy. */
inline std::string string(cpt_bytes bytes)
{
    return std::string(text(bytes));
}

#if defined(__cpp_exceptions)
/* A decimal number with an optional '-'; anything else, or one that is too large, is
 * thrown as CPT_CORRUPT: the task fails. */
inline int64_t number(cpt_bytes text)
{
    int64_t value = 0;

    if (cpt_number_of(text, &value) != CPT_OK) {
        throw error(CPT_CORRUPT, "what should be a number is none");
    }
    return value;
}
#endif

/* --- Values --- */

/* A header, a parameter or a cookie: nothing if there is none. Borrowed from the
 * request. */
inline std::optional<std::string_view> present(cpt_bytes bytes)
{
    return bytes.data != nullptr ? std::optional<std::string_view>(text(bytes))
                                 : std::nullopt;
}
inline auto header(const cpt_rpc_request &request, const char *name)
{
    return present(cpt_rpc_header(&request, name));
}
inline auto parameter(const cpt_rpc_request &request, const char *name)
{
    return present(cpt_rpc_parameter(&request, name));
}
inline auto cookie(const cpt_rpc_request &request, const char *name)
{
    return present(cpt_rpc_cookie(&request, name));
}
/* Of an answer, one of those that call_options.reply_headers says. */
inline auto header(const call_reply &reply, const char *name)
{
    return present(cpt_call_header(&reply, name));
}

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
    static_assert(
        std::is_nothrow_destructible_v<T>,
        "a value is destroyed with its request: its destructor must not throw");
    static_assert(!std::is_same_v<T, std::string_view>,
                  "a view owns nothing: give a value what it looks at");
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

/* Names have a limit, which those of templates may pass. */
inline std::string short_name(std::string name)
{
    constexpr std::size_t bytes_max = 120;

    if (name.size() > bytes_max) {
        const std::size_t hash = std::hash<std::string>()(name);

        name.resize(bytes_max);
        name += "... #" + std::to_string(hash);
    }
    return name;
}

/* A value, and its type: two types may have one name, as local ones. */
struct typed_value {
    cpt_value value;
    const std::type_info *type;
};

inline const std::type_info *type_of(const cpt_value *value)
{
    return reinterpret_cast<const typed_value *>(value)->type;
}

template <class T> const cpt_value *value_of()
{
    static_assert(sizeof(value_check<T>) != 0);
    static const std::string name = short_name(value_name<T>());
    static const typed_value value = {
        {name.c_str(), is_plain<T> ? sizeof(T) : sizeof(T *), name.c_str(), nullptr,
         nullptr},
#if defined(__cpp_rtti)
        &typeid(T)
#else
        nullptr
#endif
    };

    return &value.value;
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
    static_assert(alignof(T) <= alignof(std::max_align_t),
                  "memory of a request is aligned for any standard type, not for more");
    static_assert(std::is_nothrow_destructible_v<T>,
                  "what a lambda captures is destroyed with the request: no destructor "
                  "of it may throw");
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
    const cpt_status status = why.status < 0 ? why.status : CPT_FAILED;

    if (status == CPT_REFUSED) {
        return cpt_refuse(task, why.outcome, "%s", why.sentence.c_str());
    }
    return why.sentence.empty() ? status
                                : cpt_fail(task, status, "%s", why.sentence.c_str());
}

/* Sets *@copy to @text, in memory of the request. */
inline cpt_status keep_text(cpt_task *task, std::string_view text, cpt_bytes *copy)
{
    char *memory = static_cast<char *>(cpt_task_memory(task, text.size() + 1));

    if (memory == nullptr) {
        return at_limit(task);
    }
    if (!text.empty()) {
        std::memcpy(memory, text.data(), text.size());
    }
    *copy = {memory, text.size()};
    return CPT_OK;
}

/* Whether @function is one: a pointer may be null. */
template <class F> bool is_there([[maybe_unused]] const F &function)
{
    if constexpr (std::is_pointer_v<F>) {
        return function != nullptr;
    } else {
        return true;
    }
}

/* Runs @body; what it throws fails the task. */
template <class Body> cpt_status guard(cpt_task *task, Body &&body) noexcept
{
#if defined(__cpp_exceptions)
    try {
        return body();
    } catch (const refusal &why) {
        return cpt_refuse(task, why.outcome(), "%s", why.what());
    } catch (const error &why) { /* one without a sentence leaves that of C */
        return *why.what() == '\0' ? why.status()
                                   : cpt_fail(task, why.status(), "%s", why.what());
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
    step(result<T> end) : content_(failure{})
    {
        if (end.why() != nullptr) {
            content_.template emplace<failure>(*end.why());
        } else {
            content_.template emplace<T>(std::move(end.value()));
        }
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

/* Ends a step that cannot return. */
[[noreturn]] inline void raise(cpt_status status)
{
#if defined(__cpp_exceptions)
    throw error(status);
#else
    (void)status;
    std::terminate();
#endif
}

} // namespace detail

} // namespace cpt

#endif
