/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_queue.h - what the queue, the servers and the client of cpt_grpc.h share
 *
 * gRPC puts an event into the queue when a *batch* of operations has ended. Its tag
 * says what to run then, on the one thread that takes events out, the *queue thread*:
 *
 *      any thread --> cpti_grpc_start() --> gRPC --> [ queue ] --> tag->run(tag, ok)
 *
 * Batches may be started by any thread, but never after the queue was closed, as gRPC
 * would abort: so each start goes through a gate, and the end waits until all threads
 * have left it.
 */
#ifndef CPT_GRPC_QUEUE_H
#define CPT_GRPC_QUEUE_H

#include "cpt/base/container.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_name.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/pool/lock.h"
#include "framework/transport/cpt_grpc.h"
#include "framework/transport/grpc/grpc_tls.h"

#include <grpc/grpc.h>

#include <stdatomic.h>
#include <stdbool.h>

#define CPTI_GRPC_NS_PER_S UINT64_C(1000000000)

/* X(name, sentence): the transport's own counters; see cpt_grpc_counters(). */
#define CPTI_GRPC_COUNTER_MAP(X)                                                       \
    X(requests_served, "requests passed to a service")                                 \
    X(requests_abandoned, "requests whose client cancelled before the reply")          \
    X(requests_refused,                                                                \
      "requests refused as too many were open, or without a message")                  \
    X(replies_undelivered, "replies whose client had gone before they were sent")      \
    X(headers_refused, "headers of services that were not sent, as they may not be")   \
    X(streams_cut,                                                                     \
      "messages of streams that were refused, and replies that were cut off, at a "    \
      "limit")                                                                         \
    X(cut_slow, "requests cut off because their message took too long to come")        \
    X(tls_reloads, "how often certificates were read again")                           \
    X(tls_reloads_refused, "certificates that were to be read again, but are bad")     \
    X(calls_sent, "calls passed to the transport")                                     \
    X(calls_refused, "calls refused because too many were open, or by gRPC")           \
    X(calls_failed, "calls that ended without a reply")                                \
    X(calls_cancelled, "of these, calls that were cancelled")                          \
    X(requests_open, "requests that have begun and are not answered yet, now")         \
    X(calls_open, "calls that have not ended, now")

/* From this one on they are gauges. */
#define CPTI_GRPC_GAUGES_BEGIN CPTI_GRPC_COUNTER_requests_open

enum cpti_grpc_counter_id {
#define CPTI_GRPC_COUNTER_ENUM_(name, sentence) CPTI_GRPC_COUNTER_##name,
    CPTI_GRPC_COUNTER_MAP(CPTI_GRPC_COUNTER_ENUM_)
#undef CPTI_GRPC_COUNTER_ENUM_
        CPTI_GRPC_COUNTER_COUNT
};

/* What runs when a batch has ended; @is_ok: as it was asked for. Queue thread. */
struct cpti_grpc_tag {
    void (*run)(struct cpti_grpc_tag *tag, bool is_ok);
};

/* A member of a circular list, or its head. */
struct cpti_grpc_link {
    struct cpti_grpc_link *previous;
    struct cpti_grpc_link *next;
};

struct cpti_grpc_channel;
struct cpti_grpc_exchange;
struct cpti_grpc_server;

struct cpt_grpc {
    struct cpt_transport transport;
    struct cpt_grpc_options options;
    const struct cpt_alloc *alloc;
    grpc_completion_queue *queue;
    grpc_resource_quota *quota;                  /* of all servers */
    struct cpti_grpc_certificates *certificates; /* of ports; guarded by lock */
    grpc_channel_credentials *secure; /* of calls by TLS; NULL: the system's */
    pthread_t thread;
    struct cpti_grpc_link
        reading;        /* requests without a message yet; queue thread, as */
    uint64_t looked_ns; /* when they were looked at, and */
    bool asks_again;    /* whether a server had no memory to ask for more */

    struct cpti_lock lock;      /* guards what follows, but the atomics */
    pthread_cond_t has_changed; /* open counts, entered_count, servers that end */
    struct cpti_grpc_server *servers;
    struct cpti_grpc_channel *channels;
    size_t channel_count;
    struct cpti_grpc_link calls; /* those that may be cancelled */
    struct cpti_grpc_link cut;   /* those that were, as everything ends */
    size_t entered_count;        /* threads that start a batch */
    size_t requests_open;        /* exchanges that exist, but for those to come */
    size_t calls_open;
    size_t servers_ending;
    size_t reference_count; /* the owner's, and one for each exchange */
    bool is_stopped;
    bool refuses_calls;
    bool is_closed; /* the gate */

    _Atomic size_t stream_bytes; /* relaxed: of messages that wait, of all streams */
    atomic_bool is_unready;      /* relaxed: says it, and guards nothing */
    /* relaxed: nothing else depends on them */
    _Atomic uint64_t counters[CPTI_GRPC_COUNTER_COUNT];
};

/* --- grpc_queue.c --- */

/* Starts a batch of @call, whose end runs @tag. false: it was not, and @tag does not
 * run: the queue is closed, or gRPC refused. Any thread. */
bool cpti_grpc_start(struct cpt_grpc *grpc, grpc_call *call, const grpc_op *ops,
                     size_t count, struct cpti_grpc_tag *tag);

/* The gate around other functions that start something; false: it is closed. */
bool cpti_grpc_enter(struct cpt_grpc *grpc);
void cpti_grpc_leave(struct cpt_grpc *grpc);

/* Take and release a reference to the struct's memory. Any thread. */
void cpti_grpc_reference(struct cpt_grpc *grpc);
void cpti_grpc_release(struct cpt_grpc *grpc);

static inline void cpti_grpc_count(struct cpt_grpc *grpc, enum cpti_grpc_counter_id id)
{
    atomic_fetch_add_explicit(&grpc->counters[id], 1, memory_order_relaxed);
}

static inline void cpti_grpc_set(struct cpt_grpc *grpc, enum cpti_grpc_counter_id id,
                                 uint64_t value)
{
    atomic_store_explicit(&grpc->counters[id], value, memory_order_relaxed);
}

/* What a message of a stream takes beside its bytes. */
enum { CPTI_GRPC_MESSAGE_BYTES = 128 };

/* Notes that @bytes more wait, of messages of any stream; false: that is too much. */
static inline bool cpti_grpc_stream_note(struct cpt_grpc *grpc, size_t bytes)
{
    if (atomic_fetch_add_explicit(&grpc->stream_bytes, bytes, memory_order_relaxed) +
            bytes <=
        grpc->options.streams_bytes_max) {
        return true;
    }
    (void)atomic_fetch_sub_explicit(&grpc->stream_bytes, bytes, memory_order_relaxed);
    return false;
}

static inline void cpti_grpc_stream_forget(struct cpt_grpc *grpc, size_t bytes)
{
    (void)atomic_fetch_sub_explicit(&grpc->stream_bytes, bytes, memory_order_relaxed);
}

static inline void cpti_grpc_link_init(struct cpti_grpc_link *head)
{
    head->previous = head;
    head->next = head;
}

static inline void cpti_grpc_link_add(struct cpti_grpc_link *head,
                                      struct cpti_grpc_link *link)
{
    link->previous = head->previous;
    link->next = head;
    head->previous->next = link;
    head->previous = link;
}

static inline void cpti_grpc_link_remove(struct cpti_grpc_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    cpti_grpc_link_init(link);
}

/* --- grpc_server.c, grpc_exchange.c --- */

/* Takes no more requests; `servers_ending` falls when a server has none left. */
void cpti_grpc_servers_refuse(struct cpt_grpc *grpc);

/* Cancels all requests. */
void cpti_grpc_servers_cut(struct cpt_grpc *grpc);

/* Frees; they have ended. */
void cpti_grpc_servers_free(struct cpt_grpc *grpc);

/* Asks for the next request; if there is no memory, again later. Queue thread. */
void cpti_grpc_server_ask(struct cpti_grpc_server *server);

/* Does so where that failed before. Queue thread. */
void cpti_grpc_servers_ask(struct cpt_grpc *grpc);

/* A request to come; NULL without memory. */
struct cpti_grpc_exchange *cpti_grpc_exchange_new(struct cpti_grpc_server *server);
void cpti_grpc_exchange_ask(struct cpti_grpc_exchange *exchange);

/* Frees one that was not asked for. NULL is fine. */
void cpti_grpc_exchange_forget(struct cpti_grpc_exchange *exchange);

/* Cuts off requests whose message takes too long. Queue thread. */
void cpti_grpc_exchanges_sweep(struct cpt_grpc *grpc, uint64_t now_ns);

/* A port, and the service behind it. */
struct cpti_grpc_server {
    struct cpt_grpc *grpc;
    struct cpt_service *service;
    grpc_server *server;
    struct cpti_grpc_tag end;
    struct cpti_grpc_server *next; /* guarded by the lock */
    bool is_asking;                /* a request is asked for; queue thread */
    bool is_secure;                /* with TLS */
};

/* --- grpc_tls_reload.c --- */

/* The certificates of a port, of the files @tls with the contents @pem, which it takes;
 * NULL without memory. It lives as long as @grpc. */
struct cpti_grpc_certificates *
cpti_grpc_certificates_new(struct cpt_grpc *grpc, const struct cpt_http_tls *tls,
                           struct cpti_grpc_pem *pem);
grpc_server_credentials *
cpti_grpc_certificates_credentials(struct cpti_grpc_certificates *own);
/* They are not read again: the port could not be opened. */
void cpti_grpc_certificates_forget(struct cpti_grpc_certificates *own);
void cpti_grpc_certificates_free(struct cpt_grpc *grpc);

/* --- grpc_client.c --- */

void cpti_grpc_client_send(struct cpt_transport *transport,
                           struct cpt_transport_call *call);
void cpti_grpc_client_cancel(struct cpt_transport *transport,
                             struct cpt_transport_call *call);

/* Cancels all calls; no more are sent. */
void cpti_grpc_client_cut(struct cpt_grpc *grpc);

/* Frees the channels; there are no calls. */
void cpti_grpc_client_free(struct cpt_grpc *grpc);

#endif
