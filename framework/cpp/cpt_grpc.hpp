/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_grpc.hpp - paths of services on grpc++, by two interceptors
 *
 * Nothing in the code of the application changes but where servers and channels are
 * made:
 *
 *      cpt::grpc_server_factories in;
 *      in.push_back(std::make_unique<cpt::grpc_server_tracing>(service));
 *      builder.experimental().SetInterceptorCreators(std::move(in));
 *
 *      cpt::grpc_client_factories out;
 *      out.push_back(std::make_unique<cpt::grpc_client_tracing>());
 *      channel = grpc::experimental::CreateCustomChannelWithInterceptors(
 *          target, credentials, arguments, std::move(out));
 *
 * The server's makes a request of cpt_manual.h for each RPC and returns its path in the
 * trailing metadata. The client's adds the ask to each call that is made while such a
 * request is handled, and puts the callee's path where the call was waited for.
 *
 *      RPC in --> grpc_server_tracing --> handler, stub --> grpc_client_tracing --> out
 *                        |         current on this thread        |
 *                        +-------- the request: its path <-------+
 *
 * Which request a call belongs to is a matter of the thread: in synchronous handlers,
 * and in callback handlers until they return, it is known. On other threads say it:
 *
 *      cpt::grpc_scope scope(cpt::grpc_request::of(&server_context));
 *
 * A call counts as waited for from its beginning to its end, and of calls that overlap
 * the last one to end. A handler that computes while calls are under way says so, as
 * drags of calls are too large otherwise:
 *
 *      cpt::grpc_overlap overlap;     calls that begin in this scope are not waited for
 *      ... stub->AsyncFind(...) ... compute ...
 *      { cpt::grpc_wait wait; queue.Next(...); }      but here
 *
 * A stream is one call, which ends when its status has come: read it soon after the
 * last message.
 *
 * `traceparent` and `tracestate` go on to calls, as they came or made, unless the
 * application sets them itself. For that requests that are not traced cost, beside the
 * objects that grpc++ wants, two of ours, without a look at the clock.
 *
 * Threads: any. gRPC 1.51; its interceptors are in grpc::experimental.
 */
#ifndef CPT_GRPC_HPP
#define CPT_GRPC_HPP

#include <cpt/cpt_manual.h>
#include <cpt/cpt_metadata.h>
#include <cpt/cpt_rpc.h>

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/server_interceptor.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cpt
{

namespace detail
{

/* An RPC of a server, shared with the calls that it makes. The lock is of all that is
 * done with the request, as that is for one thread at a time. */
class rpc
{
  public:
    explicit rpc(cpt_manual *manual)
        : manual_(manual), is_traced_(cpt_manual_is_traced(manual) != 0)
    {
    }
    rpc(const rpc &) = delete;
    rpc &operator=(const rpc &) = delete;
    ~rpc()
    {
        cpt_manual_free(manual_, cpt_outcome_http_status(CPT_OUTCOME_CANCELLED));
    }

    bool is_traced() const
    {
        return is_traced_;
    }
    /* Runs @function with the request, unless that has ended or is not traced. */
    template <class F> void with(F &&function)
    {
        if (is_traced_) {
            const std::lock_guard<std::mutex> lock(mutex_);

            if (manual_ != nullptr) {
                function(manual_);
            }
        }
    }
    /* Adds what a call carries, until the request is answered. */
    void carry(std::multimap<std::string, std::string> *metadata)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const cpt_bytes parent = cpt_manual_traceparent(manual_);
        const cpt_bytes state = cpt_manual_tracestate(manual_);

        if (parent.bytes == 0 || metadata->count(CPT_HEADER_TRACEPARENT) != 0) {
            return; /* the application has set its own */
        }
        metadata->emplace(CPT_HEADER_TRACEPARENT,
                          std::string(parent.data, parent.bytes));
        if (state.bytes != 0 && metadata->count(CPT_HEADER_TRACESTATE) == 0) {
            metadata->emplace(CPT_HEADER_TRACESTATE,
                              std::string(state.data, state.bytes));
        }
    }
    void wait_begin(cpt_manual *manual)
    {
        if (wait_count_++ == 0) {
            cpt_manual_wait_begin(manual);
        }
    }
    void wait_end(cpt_manual *manual)
    {
        if (wait_count_ != 0 && --wait_count_ == 0) {
            cpt_manual_wait_end(manual);
        }
    }
    /* It is answered with @code. The metadata for the answer. */
    std::string end(unsigned code)
    {
        std::string metadata;

        with([&](cpt_manual *manual) {
            const cpt_bytes path = cpt_manual_end(manual);

            if (path.bytes != 0) {
                metadata.assign(path.data, path.bytes);
            }
            manual_ = nullptr;
            cpt_manual_free(manual,
                            cpt_outcome_http_status(cpt_outcome_of_grpc_code(code)));
        });
        return metadata;
    }

  private:
    std::mutex mutex_;
    cpt_manual *manual_;
    const bool is_traced_;
    unsigned wait_count_ = 0;
};

/* That of this thread, or null: of no RPC, or tracing is stopped. */
inline thread_local std::shared_ptr<rpc> rpc_here;
inline thread_local unsigned rpc_overlap_count = 0;

/* Those of all servers, by their contexts. */
struct rpc_table {
    std::mutex mutex;
    std::unordered_map<const void *, std::weak_ptr<rpc>> rpcs;

    static rpc_table &all()
    {
        static rpc_table *table = new rpc_table; /* outlives all threads */

        return *table;
    }
};

inline cpt_bytes bytes_of(::grpc::string_ref text)
{
    return {text.data(), text.size()};
}

/* The first @name of @metadata; returns how many there are. */
template <class Map>
unsigned find_metadata(const Map &metadata, const char *name, cpt_bytes *value)
{
    const auto range = metadata.equal_range(::grpc::string_ref(name));
    unsigned count = 0;

    for (auto at = range.first; at != range.second; ++at) {
        if (count++ == 0) {
            *value = bytes_of(at->second);
        }
    }
    return count;
}

/* Whether it says that another program has sent the request on. */
inline bool is_forwarding(const std::string &name)
{
    const auto ends = [&](const char *with) {
        const std::size_t bytes = std::strlen(with);

        return name.size() >= bytes &&
               name.compare(name.size() - bytes, bytes, with) == 0;
    };

    return name == "via" || name == "cdn-loop" || name == "forwarded" ||
           name.compare(0, 11, "x-forwarded") == 0 || name == "x-remote-addr" ||
           ends("-ip") || ends("-ipv6") || ends("clientip") || ends("socketip") ||
           ends("-forwarded-for") || ends("-external-address") ||
           ends("-viewer-address");
}

/* The numeric address of "ipv4:127.0.0.1:80" and "ipv6:%5B::1%5D:80"; else empty. */
inline std::string address_of_peer(const std::string &peer)
{
    if (peer.compare(0, 5, "ipv4:") == 0) {
        return peer.substr(5, peer.rfind(':') - 5);
    }
    if (peer.compare(0, 8, "ipv6:%5B") == 0) {
        const std::size_t end = peer.find("%5D", 8);

        return end != std::string::npos ? peer.substr(8, end - 8) : std::string();
    }
    return std::string();
}

/* "/shop.Prices/Find" as a frame: "shop.Prices: Find". */
inline std::string name_of_method(const char *method)
{
    const char *service = method[0] == '/' ? method + 1 : method;
    const char *slash = std::strrchr(service, '/');

    return slash == nullptr ? std::string(service)
                            : std::string(service, slash) + ": " + (slash + 1);
}

} // namespace detail

/* A request that is handled; empty if it is not traced. */
class grpc_request
{
  public:
    /* That of this thread. */
    static grpc_request here()
    {
        return grpc_request(detail::rpc_here);
    }
    /* That of a server's context, on any thread, until it is answered. */
    static grpc_request of(const ::grpc::ServerContextBase *context)
    {
        detail::rpc_table &table = detail::rpc_table::all();
        const std::lock_guard<std::mutex> lock(table.mutex);
        const auto found = table.rpcs.find(context);

        return grpc_request(found != table.rpcs.end() ? found->second.lock() : nullptr);
    }
    explicit operator bool() const
    {
        return rpc_ != nullptr && rpc_->is_traced();
    }
    /* Parts, attributes: @function gets the cpt_manual *, and must not keep it. It does
     * not run if the request is not traced. */
    template <class F> void with(F &&function) const
    {
        if (rpc_ != nullptr) {
            rpc_->with(std::forward<F>(function));
        }
    }

  private:
    friend class grpc_scope;
    explicit grpc_request(std::shared_ptr<detail::rpc> of) : rpc_(std::move(of))
    {
    }
    std::shared_ptr<detail::rpc> rpc_;
};

/* In this scope the thread handles @request. */
class grpc_scope
{
  public:
    explicit grpc_scope(const grpc_request &request)
        : before_(std::exchange(detail::rpc_here, request.rpc_))
    {
    }
    grpc_scope(const grpc_scope &) = delete;
    grpc_scope &operator=(const grpc_scope &) = delete;
    ~grpc_scope()
    {
        detail::rpc_here = std::move(before_);
    }

  private:
    std::shared_ptr<detail::rpc> before_;
};

/* In this scope time belongs to @part of the request of this thread. */
class grpc_part
{
  public:
    explicit grpc_part(const char *part) : request_(grpc_request::here())
    {
        request_.with([&](cpt_manual *manual) { cpt_manual_enter(manual, part); });
    }
    grpc_part(const grpc_part &) = delete;
    grpc_part &operator=(const grpc_part &) = delete;
    ~grpc_part()
    {
        request_.with([](cpt_manual *manual) { cpt_manual_leave(manual); });
    }

  private:
    grpc_request request_;
};

/* Calls that begin in this scope are not waited for, but where grpc_wait says so. */
class grpc_overlap
{
  public:
    grpc_overlap()
    {
        detail::rpc_overlap_count++;
    }
    grpc_overlap(const grpc_overlap &) = delete;
    grpc_overlap &operator=(const grpc_overlap &) = delete;
    ~grpc_overlap()
    {
        detail::rpc_overlap_count--;
    }
};

/* In this scope the thread waits for calls. */
class grpc_wait
{
  public:
    grpc_wait() : rpc_(detail::rpc_here)
    {
        if (rpc_ != nullptr) {
            rpc_->with([&](cpt_manual *manual) { rpc_->wait_begin(manual); });
        }
    }
    grpc_wait(const grpc_wait &) = delete;
    grpc_wait &operator=(const grpc_wait &) = delete;
    ~grpc_wait()
    {
        if (rpc_ != nullptr) {
            rpc_->with([&](cpt_manual *manual) { rpc_->wait_end(manual); });
        }
    }

  private:
    std::shared_ptr<detail::rpc> rpc_;
};

namespace detail
{

using hook = ::grpc::experimental::InterceptionHookPoints;

/* One RPC of a server. */
class server_interceptor final : public ::grpc::experimental::Interceptor
{
  public:
    server_interceptor(cpt_service *service, ::grpc::experimental::ServerRpcInfo *info)
        : service_(service), context_(info->server_context()), method_(info->method())
    {
    }
    ~server_interceptor() override
    {
        forget();
    }
    /* The handler runs within Proceed(), and this may be gone when that returns. */
    void Intercept(::grpc::experimental::InterceptorBatchMethods *methods) override
    {
        if (methods->QueryInterceptionHookPoint(hook::POST_RECV_INITIAL_METADATA)) {
            begin(*methods->GetRecvInitialMetadata());
        }
        if (rpc_ != nullptr &&
            methods->QueryInterceptionHookPoint(hook::PRE_SEND_STATUS)) {
            end(methods);
        }
        const std::shared_ptr<rpc> before = std::exchange(rpc_here, rpc_);
        methods->Proceed();
        rpc_here = before;
    }

  private:
    using received = std::multimap<::grpc::string_ref, ::grpc::string_ref>;

    /* All tracestates, or too many; returns how many. */
    static std::size_t find_states(const received &metadata,
                                   cpt_field (&states)[CPT_TRACESTATE_MEMBERS_MAX + 1])
    {
        const auto range =
            metadata.equal_range(::grpc::string_ref(CPT_HEADER_TRACESTATE));
        std::size_t count = 0;

        for (auto at = range.first;
             at != range.second && count <= CPT_TRACESTATE_MEMBERS_MAX; ++at) {
            states[count++] = {bytes_of(at->first), bytes_of(at->second)};
        }
        return count;
    }
    void begin(const received &metadata)
    {
        cpt_inbound inbound = {};
        cpt_field states[CPT_TRACESTATE_MEMBERS_MAX + 1]; /* as many are refused */
        std::string address;

        inbound.coin = cpt_service_coin(service_);
        inbound.critical_path_count =
            find_metadata(metadata, CPT_HEADER_ASK, &inbound.critical_path);
        if (inbound.critical_path_count > 0) {
            for (const auto &field : metadata) {
                inbound.is_forwarded |=
                    is_forwarding(std::string(field.first.data(), field.first.size()));
            }
            address = address_of_peer(context_->peer());
        }
        if (find_metadata(metadata, CPT_HEADER_TRACEPARENT, &inbound.traceparent) > 1) {
            inbound.traceparent = cpt_bytes_of(""); /* none of them, and counted */
        }
        inbound.headers = states;
        inbound.header_count = find_states(metadata, states);
        inbound.method = cpt_bytes_of(method_);
        inbound.peer_address = {address.data(), address.size()};
        if (cpt_manual *manual = cpt_manual_new_carrying(service_, &inbound)) {
            remember(std::make_shared<rpc>(manual));
        }
    }
    void end(::grpc::experimental::InterceptorBatchMethods *methods)
    {
        const std::string path =
            rpc_->end(static_cast<unsigned>(methods->GetSendStatus().error_code()));

        if (!path.empty()) {
            methods->GetSendTrailingMetadata()->emplace(CPT_HEADER_PATH, path);
        }
        forget();
    }
    void remember(std::shared_ptr<rpc> made)
    {
        rpc_table &table = rpc_table::all();
        const std::lock_guard<std::mutex> lock(table.mutex);

        rpc_ = std::move(made);
        table.rpcs[context_] = rpc_;
    }
    void forget()
    {
        if (rpc_ != nullptr && is_known_) {
            rpc_table &table = rpc_table::all();
            const std::lock_guard<std::mutex> lock(table.mutex);

            table.rpcs.erase(context_);
            is_known_ = false;
        }
    }

    cpt_service *service_;
    ::grpc::ServerContextBase *context_;
    const char *method_;
    std::shared_ptr<rpc> rpc_; /* null: tracing is stopped */
    bool is_known_ = true;
};

/* One call. */
class client_interceptor final : public ::grpc::experimental::Interceptor
{
  public:
    client_interceptor(std::shared_ptr<rpc> caller, std::string name)
        : caller_(std::move(caller)), name_(std::move(name))
    {
    }
    ~client_interceptor() override
    {
        if (is_waited_) { /* the application has let go of it */
            caller_->with([&](cpt_manual *manual) { caller_->wait_end(manual); });
        }
    }
    void Intercept(::grpc::experimental::InterceptorBatchMethods *methods) override
    {
        if (methods->QueryInterceptionHookPoint(hook::PRE_SEND_INITIAL_METADATA)) {
            begin(methods);
        }
        if (methods->QueryInterceptionHookPoint(hook::POST_RECV_STATUS)) {
            end(*methods->GetRecvStatus(), *methods->GetRecvTrailingMetadata());
        }
        methods->Proceed();
    }

  private:
    using received = std::multimap<::grpc::string_ref, ::grpc::string_ref>;

    void begin(::grpc::experimental::InterceptorBatchMethods *methods)
    {
        caller_->carry(methods->GetSendInitialMetadata());
        caller_->with([&](cpt_manual *manual) {
            call_ = cpt_manual_call_begin(manual, name_.c_str());
            const cpt_bytes ask = cpt_manual_call_ask(manual, call_);

            if (ask.bytes != 0) {
                methods->GetSendInitialMetadata()->emplace(
                    CPT_HEADER_ASK, std::string(ask.data, ask.bytes));
            }
            is_waited_ = rpc_overlap_count == 0;
            if (is_waited_) {
                caller_->wait_begin(manual);
            }
        });
    }
    static cpt_status status_of(::grpc::StatusCode code)
    {
        return code == ::grpc::StatusCode::DEADLINE_EXCEEDED ? CPT_TIMEOUT
               : code == ::grpc::StatusCode::UNAVAILABLE     ? CPT_UNAVAILABLE
               : code == ::grpc::StatusCode::CANCELLED       ? CPT_CANCELLED
                                                             : CPT_OK;
    }
    void end(const ::grpc::Status &status, const received &trailing)
    {
        cpt_manual_reply reply = {};
        cpt_bytes path = {};
        const unsigned count = find_metadata(trailing, CPT_HEADER_PATH, &path);

        reply.status = count == 1 ? CPT_OK : status_of(status.error_code());
        if (count == 1) {
            reply.metadata = path;
        } else if (count > 1) {
            reply.metadata_text = cpt_bytes_of("?"); /* which one? none */
        }
        caller_->with([&](cpt_manual *manual) {
            cpt_manual_call_end(manual, call_, &reply);
            if (is_waited_) {
                caller_->wait_end(manual);
            }
        });
        is_waited_ = false;
    }

    std::shared_ptr<rpc> caller_;
    std::string name_;
    cpt_manual_call *call_ = nullptr; /* of a request that has not ended */
    bool is_waited_ = false;
};

} // namespace detail

using grpc_server_factories = std::vector<
    std::unique_ptr<::grpc::experimental::ServerInterceptorFactoryInterface>>;
using grpc_client_factories = std::vector<
    std::unique_ptr<::grpc::experimental::ClientInterceptorFactoryInterface>>;

/* Makes a request of @service, which must outlive the server, of each RPC. */
class grpc_server_tracing final
    : public ::grpc::experimental::ServerInterceptorFactoryInterface
{
  public:
    explicit grpc_server_tracing(cpt_service *service) : service_(service)
    {
    }
    ::grpc::experimental::Interceptor *
    CreateServerInterceptor(::grpc::experimental::ServerRpcInfo *info) override
    {
        return new detail::server_interceptor(service_, info);
    }

  private:
    cpt_service *service_;
};

/* Makes calls of the request of their thread. @name says what the frame of a call is:
 * "stock: Count" for "/shop.Stock/Count"; default "shop.Stock: Count". */
class grpc_client_tracing final
    : public ::grpc::experimental::ClientInterceptorFactoryInterface
{
  public:
    using naming = std::function<std::string(const char *method)>;

    explicit grpc_client_tracing(naming name = detail::name_of_method)
        : name_(std::move(name))
    {
    }
    ::grpc::experimental::Interceptor *
    CreateClientInterceptor(::grpc::experimental::ClientRpcInfo *info) override
    {
        const std::shared_ptr<detail::rpc> &here = detail::rpc_here;

        return here == nullptr
                   ? nullptr
                   : new detail::client_interceptor(
                         here, here->is_traced() ? name_(info->method()) : "");
    }

  private:
    naming name_;
};

} // namespace cpt

#endif
