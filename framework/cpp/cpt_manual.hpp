/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_manual.hpp - requests whose code tells the path, in C++; see cpt_manual.h
 *
 *      cpt::manual request(service, inbound);
 *      {
 *          const auto part = request.enter("search");
 *          auto call = request.call("B: /lookup");
 *          ... send, with the header critical-path: call.ask()
 *          {
 *              const auto wait = request.wait();
 *              ... receive
 *              call.end(reply);
 *          }
 *      }
 *      ... answer, with the header critical-path-bin: request.end() in base64
 *      request.answered(200);
 *
 * It is one object, by one thread at a time; parts and waits end in the reverse order of
 * their beginning, and before it.
 */
#ifndef CPT_MANUAL_HPP
#define CPT_MANUAL_HPP

#include <cpt/cpt_manual.h>
#include <cpt/cpt_value.hpp>

#include <cstdint>

namespace cpt
{

class manual
{
  public:
    /* Leaves a part, or ends a wait, when it ends. */
    class scope
    {
      public:
        scope(scope &&other) noexcept
            : manual_(std::exchange(other.manual_, nullptr)), leave_(other.leave_)
        {
        }
        scope(const scope &) = delete;
        scope &operator=(const scope &) = delete;
        ~scope()
        {
            leave_(manual_);
        }

      private:
        friend class manual;
        scope(cpt_manual *of, void (*leave)(cpt_manual *)) : manual_(of), leave_(leave)
        {
        }
        cpt_manual *manual_;
        void (*leave_)(cpt_manual *);
    };

    /* A call. If it is never told to have ended, it delayed nothing. */
    class call_out
    {
      public:
        void end()
        {
            end_with(nullptr);
        }
        void end(const cpt_manual_reply &reply)
        {
            end_with(&reply);
        }
        /* For its header, before its end; empty: send none. */
        std::string_view ask() const
        {
            return text(cpt_manual_call_ask(manual_, call_));
        }
        /* The same beside other headers, counted as cpt_ask_has_room() says. */
        std::string_view ask(std::size_t headers_bytes, std::size_t header_count) const
        {
            return text(cpt_manual_call_ask_beside(manual_, call_, headers_bytes,
                                                   header_count));
        }
        /* For the header critical-path-nonce beside it. */
        std::string_view nonce() const
        {
            return text(cpt_manual_call_nonce(manual_, call_));
        }

      private:
        friend class manual;
        call_out(cpt_manual *of, cpt_manual_call *call) : manual_(of), call_(call)
        {
        }
        void end_with(const cpt_manual_reply *reply)
        {
            if (call_ != nullptr) {
                cpt_manual_call_end(manual_, std::exchange(call_, nullptr), reply);
            }
        }
        cpt_manual *manual_;
        cpt_manual_call *call_;
    };

    /* The service outlives it. */
    manual(cpt_service *service, const cpt_inbound &inbound)
        : manual_(cpt_manual_new(service, &inbound))
    {
    }
    /* One whose calls carry its trace context also if it is not traced. */
    static manual carrying(cpt_service *service, const cpt_inbound &inbound)
    {
        return manual(cpt_manual_new_carrying(service, &inbound));
    }
    manual(manual &&other) noexcept
        : manual_(std::exchange(other.manual_, nullptr)),
          http_status_(other.http_status_)
    {
    }
    manual(const manual &) = delete;
    manual &operator=(const manual &) = delete;
    /* Without answered() the answer was 500. */
    ~manual()
    {
        cpt_manual_free(manual_, http_status_);
    }

    bool is_traced() const
    {
        return cpt_manual_is_traced(manual_) != 0;
    }
    [[nodiscard]] scope enter(const char *part)
    {
        cpt_manual_enter(manual_, part);
        return {manual_, cpt_manual_leave};
    }
    [[nodiscard]] scope wait()
    {
        cpt_manual_wait_begin(manual_);
        return {manual_, cpt_manual_wait_end};
    }
    call_out call(const char *callee)
    {
        return {manual_, cpt_manual_call_begin(manual_, callee)};
    }
    std::string_view ask() const
    {
        return text(cpt_manual_ask(manual_));
    }
    /* Of W3C Trace Context, for calls; empty: send none. */
    std::string_view traceparent() const
    {
        return text(cpt_manual_traceparent(manual_));
    }
    std::string_view tracestate() const
    {
        return text(cpt_manual_tracestate(manual_));
    }
    /* Baggage and B3, for calls: runs @function with the name and the value of each. */
    template <class F> void propagate(F &&function) const
    {
        const cpt_field *fields = nullptr;
        const std::size_t count = cpt_manual_propagated(manual_, &fields);

        for (std::size_t i = 0; i < count; i++) {
            function(text(fields[i].name), text(fields[i].value));
        }
    }
    void set(const char *key, const char *value)
    {
        cpt_manual_set_text(manual_, key, value);
    }
    /* The metadata for the answer, raw; at most @path_bytes_max of them, as by
     * cpt_path_bytes_left(): what the other headers of the answer leave. */
    std::string_view end(std::size_t path_bytes_max = SIZE_MAX)
    {
        return text(cpt_manual_end_within(manual_, path_bytes_max));
    }
    const cpt_path *path() const
    {
        return cpt_manual_path(manual_);
    }
    void answered(unsigned http_status)
    {
        http_status_ = http_status;
    }
    cpt_manual *get() const
    {
        return manual_;
    }

  private:
    explicit manual(cpt_manual *made) : manual_(made)
    {
    }
    cpt_manual *manual_;
    unsigned http_status_ = 500;
};

} // namespace cpt

#endif
