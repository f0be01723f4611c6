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
 * `traceparent` and `tracestate` go on to calls, as they came or made, and baggage and
 * B3 as they came (cpt_header_is_propagated()), unless the application sets them
 * itself. An ask, its nonce or a path that the application copies from one RPC to
 * another is not sent. For that requests that are not traced cost, beside the
 * objects that grpc++ wants, two of ours, without a look at the clock.
 *
 * A call whose own metadata leave no room for an ask (cpt_ask_has_room()) is sent without
 * one, as servers limit all metadata of a call, and is a blind spot.
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
        cpt_manual_answered(manual_, CPT_OUTCOME_CANCELLED, {"", 0});
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

        /* what the application has copied from its request would be a second ask */
        metadata->erase(CPT_HEADER_ASK);
        metadata->erase(CPT_HEADER_NONCE);
        carry_trace(metadata);
        carry_others(metadata);
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
    /* It is answered with @status. The metadata for the answer, at most @bytes_max. */
    std::string end(const ::grpc::Status &status, std::size_t bytes_max)
    {
        const unsigned outcome =
            cpt_outcome_of_grpc_code(static_cast<unsigned>(status.error_code()));
        std::string metadata;

        with([&](cpt_manual *manual) {
            const cpt_bytes path = cpt_manual_end_within(manual, bytes_max);

            if (path.bytes != 0) {
                metadata.assign(path.data, path.bytes);
            }
            manual_ = nullptr;
            cpt_manual_answered(
                manual, outcome,
                {status.error_message().data(), status.error_message().size()});
            cpt_manual_free(manual, cpt_outcome_http_status(outcome));
        });
        return metadata;
    }

  private:
    using sent = std::multimap<std::string, std::string>;

    /* Of all this, what the application has set itself holds. Lock held. */
    void carry_trace(sent *metadata) const
    {
        const cpt_bytes parent = cpt_manual_traceparent(manual_);
        const cpt_bytes state = cpt_manual_tracestate(manual_);

        if (parent.bytes == 0 || metadata->count(CPT_HEADER_TRACEPARENT) != 0) {
            return;
        }
        metadata->emplace(CPT_HEADER_TRACEPARENT,
                          std::string(parent.data, parent.bytes));
        if (state.bytes != 0 && metadata->count(CPT_HEADER_TRACESTATE) == 0) {
            metadata->emplace(CPT_HEADER_TRACESTATE,
                              std::string(state.data, state.bytes));
        }
    }
    /* Baggage, and B3, whose headers belong together. Lock held. */
    void carry_others(sent *metadata) const
    {
        const cpt_field *fields = nullptr;
        const std::size_t count = cpt_manual_propagated(manual_, &fields);
        bool has_baggage = false;
        bool has_b3 = false;

        if (count == 0) {
            return;
        }
        for (const auto &own : *metadata) {
            const bool is_baggage = own.first == "baggage";

            has_baggage |= is_baggage;
            has_b3 |= !is_baggage &&
                      cpt_header_is_propagated({own.first.data(), own.first.size()});
        }
        for (std::size_t i = 0; i < count; i++) {
            const std::string name(fields[i].name.data, fields[i].name.bytes);

            if (!(name == "baggage" ? has_baggage : has_b3)) {
                metadata->emplace(
                    name, std::string(fields[i].value.data, fields[i].value.bytes));
            }
        }
    }

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

/* What HTTP/2 counts for a field of metadata, whose value gRPC may send in base64. */
inline std::size_t bytes_of_field(const std::string &name, std::size_t value_bytes)
{
    const bool is_binary =
        name.size() > 4 && name.compare(name.size() - 4, 4, "-bin") == 0;

    return name.size() + 32 +
           (is_binary ? CPT_BASE64_BYTES(value_bytes) : value_bytes);
}

/* What it counts for @status, whose message is percent-encoded. */
inline std::size_t bytes_of_status(const ::grpc::Status &status)
{
    std::size_t bytes = bytes_of_field("grpc-status", 2);
    std::size_t message_bytes = 0;

    for (const char c : status.error_message()) {
        message_bytes += c < ' ' || c > '~' || c == '%' ? 3 : 1;
    }
    if (message_bytes != 0) {
        bytes += bytes_of_field("grpc-message", message_bytes);
    }
    if (!status.error_details().empty()) {
        bytes += bytes_of_field("grpc-status-details-bin", status.error_details().size());
    }
    return bytes;
}

/* Where no message goes, gRPC puts the head into one block with the status. */
inline std::size_t bytes_of_head()
{
    return bytes_of_field(":status", 3) +
           bytes_of_field("content-type", sizeof "application/grpc") +
           bytes_of_field("grpc-encoding", sizeof "identity") +
           bytes_of_field("grpc-accept-encoding", sizeof "identity, deflate, gzip");
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
    server_interceptor(cpt_service *service, std::size_t headers_bytes_max,
                       ::grpc::experimental::ServerRpcInfo *info)
        : service_(service), headers_bytes_max_(headers_bytes_max),
          context_(info->server_context()), method_(info->method())
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
        has_message_ |= methods->QueryInterceptionHookPoint(hook::PRE_SEND_MESSAGE);
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

    /* The nonce of the ask, of which two are refused, and what calls carry but for
     * traceparent; returns how many there are. */
    static std::size_t find_carried(const received &metadata,
                                    cpt_field (&fields)[CPT_HEADERS_MAX])
    {
        const auto nonces = metadata.equal_range(::grpc::string_ref(CPT_HEADER_NONCE));
        std::size_t count = 0;

        for (auto at = nonces.first; at != nonces.second && count < 2; ++at) {
            fields[count++] = {bytes_of(at->first), bytes_of(at->second)};
        }
        for (const auto &field : metadata) {
            const cpt_bytes name = bytes_of(field.first);

            if (count < CPT_HEADERS_MAX && (field.first == CPT_HEADER_TRACESTATE ||
                                            cpt_header_is_propagated(name))) {
                fields[count++] = {name, bytes_of(field.second)};
            }
        }
        return count;
    }
    void begin(const received &metadata)
    {
        cpt_inbound inbound = {};
        cpt_field fields[CPT_HEADERS_MAX];
        std::string address;

        inbound.coin = cpt_service_coin(service_);
        inbound.critical_path_count =
            find_metadata(metadata, CPT_HEADER_ASK, &inbound.critical_path);
        inbound.headers = fields;
        inbound.header_count = find_carried(metadata, fields);
        if (cpt_inbound_needs_trust(&inbound)) {
            for (const auto &field : metadata) {
                inbound.is_forwarded |= cpt_header_is_forwarding(bytes_of(field.first));
            }
            address = address_of_peer(context_->peer());
        }
        if (find_metadata(metadata, CPT_HEADER_TRACEPARENT, &inbound.traceparent) > 1) {
            inbound.traceparent = cpt_bytes_of(""); /* none of them, and counted */
        }
        inbound.method = cpt_bytes_of(method_);
        inbound.peer_address = {address.data(), address.size()};
        if (cpt_manual *manual = cpt_manual_new_carrying(service_, &inbound)) {
            remember(std::make_shared<rpc>(manual));
        }
    }
    /* The bytes that the other trailing metadata leave for the path. */
    std::size_t room(::grpc::experimental::InterceptorBatchMethods *methods) const
    {
        std::size_t bytes = bytes_of_status(methods->GetSendStatus());
        std::size_t bytes_max = headers_bytes_max_;

        for (const auto &field : *methods->GetSendTrailingMetadata()) {
            bytes += bytes_of_field(field.first, field.second.size());
        }
        if (!has_message_) {
            bytes += bytes_of_head();
        }
        if (bytes_max == 0) {
            bytes_max = has_message_ ? CPT_HEADERS_BYTES_GRPC : CPT_HEADERS_BYTES_HTTP;
        }
        return cpt_path_bytes_left(bytes_max, bytes, 1);
    }
    void end(::grpc::experimental::InterceptorBatchMethods *methods)
    {
        /* nor does the path of a callee leave that the application has copied */
        (void)methods->GetSendTrailingMetadata()->erase(CPT_HEADER_PATH);
        const std::string path =
            rpc_->end(methods->GetSendStatus(), rpc_->is_traced() ? room(methods) : 0);

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
    std::size_t headers_bytes_max_; /* 0: the default */
    ::grpc::ServerContextBase *context_;
    const char *method_;
    std::shared_ptr<rpc> rpc_; /* null: tracing is stopped */
    bool is_known_ = true;
    bool has_message_ = false; /* one goes, or has gone, before the status */
};

/* One call. */
class client_interceptor final : public ::grpc::experimental::Interceptor
{
  public:
    client_interceptor(std::shared_ptr<rpc> caller, std::string name,
                       std::size_t method_bytes)
        : caller_(std::move(caller)), name_(std::move(name)),
          method_bytes_(method_bytes)
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
        auto *const metadata = methods->GetSendInitialMetadata();

        caller_->carry(metadata);
        caller_->with([&](cpt_manual *manual) {
            call_ = cpt_manual_call_begin(manual, name_.c_str());
            const cpt_bytes ask = cpt_manual_call_ask_beside(
                manual, call_, bytes_beside(*metadata), metadata->size());

            if (ask.bytes != 0) {
                const cpt_bytes nonce = cpt_manual_call_nonce(manual, call_);

                metadata->emplace(CPT_HEADER_ASK, std::string(ask.data, ask.bytes));
                metadata->emplace(CPT_HEADER_NONCE,
                                  std::string(nonce.data, nonce.bytes));
            }
            is_waited_ = rpc_overlap_count == 0;
            if (is_waited_) {
                caller_->wait_begin(manual);
            }
        });
    }
    /* What the call sends beside an ask, but for what gRPC itself adds. */
    std::size_t bytes_beside(const std::multimap<std::string, std::string> &metadata) const
    {
        std::size_t bytes = method_bytes_;

        for (const auto &field : metadata) {
            bytes += bytes_of_field(field.first, field.second.size());
        }
        return bytes;
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

        reply.outcome =
            cpt_outcome_of_grpc_code(static_cast<unsigned>(status.error_code()));
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
    std::size_t method_bytes_;
    cpt_manual_call *call_ = nullptr; /* of a request that has not ended */
    bool is_waited_ = false;
};

} // namespace detail

using grpc_server_factories = std::vector<
    std::unique_ptr<::grpc::experimental::ServerInterceptorFactoryInterface>>;
using grpc_client_factories = std::vector<
    std::unique_ptr<::grpc::experimental::ClientInterceptorFactoryInterface>>;

/* Makes a request of @service, which must outlive the server, of each RPC.
 * @headers_bytes_max: of all trailing metadata where a path goes with them, as the
 * option of cpt_grpc.h; 0: its default. The application's own come first: if they leave
 * no room, there is no path. Interceptors behind this one that add some are not seen. */
class grpc_server_tracing final
    : public ::grpc::experimental::ServerInterceptorFactoryInterface
{
  public:
    explicit grpc_server_tracing(cpt_service *service,
                                 std::size_t headers_bytes_max = 0)
        : service_(service), headers_bytes_max_(headers_bytes_max)
    {
    }
    ::grpc::experimental::Interceptor *
    CreateServerInterceptor(::grpc::experimental::ServerRpcInfo *info) override
    {
        return new detail::server_interceptor(service_, headers_bytes_max_, info);
    }

  private:
    cpt_service *service_;
    std::size_t headers_bytes_max_;
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
                         here, here->is_traced() ? name_(info->method()) : "",
                         std::strlen(info->method()));
    }

  private:
    naming name_;
};

} // namespace cpt

#endif
