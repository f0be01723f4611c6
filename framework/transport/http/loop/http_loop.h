/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_loop.h - what the loop, the server and the client of cpt_http.h share
 *
 * One thread, the *loop thread*, is in cpt_http_run(). It alone touches libevent, and
 * each field that names no other guard. Other threads post work to it:
 *
 *      any thread --> cpti_http_loop_post() --> [ works ] --> loop thread runs it
 *
 * One lock guards the list of works, the heap of timers and a few flags; nothing else
 * is called while it is held.
 */
#ifndef CPT_HTTP_LOOP_H
#define CPT_HTTP_LOOP_H

#include "cpt/base/container.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_name.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/pool/lock.h"
#include "framework/pool/spares.h"
#include "framework/pool/timers.h"
#include "framework/transport/cpt_http.h"
#include "framework/transport/http/loop/http_text.h"
#include "framework/transport/http/tls/http_tls.h"

#include <event2/event.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

struct cpti_http_client;
struct cpti_http_peer;
struct cpti_http_server;
struct evdns_base;

enum {
    CPTI_HTTP_CONNECTIONS_DEFAULT = 64,
    CPTI_HTTP_WAITING_DEFAULT = 1024,
    CPTI_HTTP_ACCEPTED_DEFAULT = 10000,
    CPTI_HTTP_HEADER_BYTES_DEFAULT = 16 << 10, /* four of the largest replies' paths */
    CPTI_HTTP_BODY_BYTES_DEFAULT = 4 << 20,
    CPTI_HTTP_BODY_PART = 16, /* of cpt_memory_max(); likewise the other two */
    CPTI_HTTP_BODY_BYTES_MAX = 1 << 30,
    CPTI_HTTP_OPERATORS_MIN = 4,  /* connections to ports of operators, in a loop: */
    CPTI_HTTP_OPERATORS_MAX = 64, /* a part of the reserve */
    CPTI_HTTP_OPERATORS_BODY_BYTES_MAX = 64 << 10,
    CPTI_HTTP_RESERVE_MIN = 48, /* descriptors for all but clients' connections */
    CPTI_HTTP_RESERVE_MAX = 1024,
    CPTI_HTTP_SPARES = 4, /* kept back for operators, and the last ones for calls */
    CPTI_HTTP_INPUT_BYTES_DEFAULT = 128 << 20,
    CPTI_HTTP_OUTPUT_BYTES_DEFAULT = 256 << 20,
    CPTI_HTTP_QUEUES_PART = 8,
    CPTI_HTTP_BODY_RATE_DEFAULT = 1024,
    CPTI_NS_PER_US = 1000
};

#define CPTI_NS_PER_S UINT64_C(1000000000)

/* X(name, sentence): the transport's own counters; see cpt_http_counters(). */
#define CPTI_HTTP_COUNTER_MAP(X)                                                       \
    X(requests_served, "requests passed to a service")                                 \
    X(requests_abandoned, "requests whose client disconnected before the reply")       \
    X(replies_undelivered,                                                             \
      "replies whose connection was closed before they were sent")                     \
    X(accepts_failed, "connections that could not be accepted")                        \
    X(accepts_paused, "times accepting paused, as too many connections were open")     \
    X(requests_refused, "requests refused because they were malformed or ambiguous")   \
    X(headers_refused, "headers of services that were not sent, as they may not be")   \
    X(cut_slow, "connections cut off because a request took too long to come")         \
    X(cut_full, "connections cut off because requests took too much memory")           \
    X(cut_clients, "connections cut off because their client had too many")            \
    X(cut_unread,                                                                      \
      "connections cut off because replies not taken took too much memory")            \
    X(calls_sent, "calls passed to the transport")                                     \
    X(calls_waited, "calls that waited for a connection")                              \
    X(calls_refused, "calls refused because too many were waiting")                    \
    X(calls_failed, "calls that ended without a reply")                                \
    X(calls_cancelled, "of these, calls that were cancelled")                          \
    X(calls_resent, "calls sent again because a kept connection was dead")             \
    X(calls_moved, "times that a call could not connect and went to another target")   \
    X(replies_refused, "replies refused because they were malformed or ambiguous")     \
    X(connections_opened, "connections that were opened to other services")            \
    X(tls_handshakes, "TLS handshakes with clients that succeeded")                    \
    X(tls_resumed, "of these, those that resumed a session")                           \
    X(tls_failed_plain, "clients that spoke HTTP without TLS to a port with TLS")      \
    X(tls_failed_certificate, "clients whose certificate was refused, or missing")     \
    X(tls_failed_refused, "handshakes that clients refused, as they do not trust us")  \
    X(tls_failed_closed, "handshakes during which the client closed the connection")   \
    X(tls_failed_protocol, "handshakes that failed because of anything else")          \
    X(tls_reloads, "times certificates were read again")                               \
    X(tls_reloads_refused, "times they were bad, and those before them stayed")        \
    X(calls_tls_handshakes, "TLS handshakes with services that succeeded")             \
    X(calls_tls_resumed, "of these, those that resumed a session")                     \
    X(calls_tls_untrusted, "TLS handshakes in which the service was not trusted")      \
    X(calls_tls_failed, "TLS handshakes with services that failed otherwise")          \
    X(connections, "connections from clients, now")                                    \
    X(connections_max, "how many there may be")                                        \
    X(input_bytes, "bytes of requests that are not answered yet, now")                 \
    X(input_bytes_max, "how many there may be")                                        \
    X(output_bytes, "bytes of replies that clients have not taken yet, now")           \
    X(output_bytes_max, "how many there may be")                                       \
    X(requests_open, "requests that were read and are not answered yet, now")          \
    X(tls_expires_unix_seconds,                                                        \
      "when the first of our certificates expires, since 1970")

/* From this one on they are gauges. */
#define CPTI_HTTP_GAUGES_BEGIN CPTI_HTTP_COUNTER_connections

enum cpti_http_counter_id {
#define CPTI_HTTP_COUNTER_ENUM_(name, sentence) CPTI_HTTP_COUNTER_##name,
    CPTI_HTTP_COUNTER_MAP(CPTI_HTTP_COUNTER_ENUM_)
#undef CPTI_HTTP_COUNTER_ENUM_
        CPTI_HTTP_COUNTER_COUNT
};

/* Connections that were accepted. Loop thread. */
struct cpti_http_accepted {
    struct cpti_http_peer **items;
    size_t count;
    size_t capacity;
    size_t input_bytes;
    struct cpt_timer sweep; /* for requests that take too long */
    bool is_sweeping;
    struct cpt_timer idle_timer; /* for connections that are not used */
    bool is_idle_timed;
    unsigned idle_tick;    /* how often that fired */
    bool is_resting;       /* it is full: no more are accepted */
    size_t operator_count; /* of them, to ports of operators */
    uint64_t opened_count; /* of all that there were */
    /* Peers whose client did not take all of a reply yet, by when it last took some. */
    struct cpti_http_peer *unsent_first;
    struct cpti_http_peer *unsent_last;
    size_t output_bytes; /* what is kept of these replies */
    void *spare_inputs;  /* a list of buffers */
    size_t spare_count;
    struct cpti_http_text text; /* the head of the reply that is being sent */
    time_t date_s;              /* of date */
    char date[32];
};

struct cpt_http {
    struct cpt_executor executor;
    struct cpt_transport transport;
    struct cpt_http_options options;
    const struct cpt_alloc *alloc;

    struct event_base *base;
    struct evdns_base *dns;
    struct event *wake;  /* reads wake_descriptor: another thread posted work */
    struct event *soon;  /* the loop thread itself posted work */
    struct event *alarm; /* reads alarm_descriptor: the earliest timer is due */
    int alarm_descriptor;
    uint64_t alarm_ns; /* what it is set to; UINT64_MAX: not */
    bool is_working;   /* works run just now */
    struct event *signals[2];
    int wake_descriptor;
    atomic_bool is_stop_asked;
    bool sees_closed; /* the system reports that a peer has closed, without a read */
    struct cpt_work *batch; /* what runs after the work that runs now */
    unsigned turn_count;    /* yields asked for in this batch */
    bool is_draining;
    bool is_drain_over;     /* drain_ns, or before unready_ns, have passed */
    bool is_falling;        /* it stops: it is not ready any more */
    atomic_bool is_hurried; /* it was stopped twice */
    atomic_bool is_unready; /* relaxed: cpt_http_set_ready() said so */
    struct cpt_timer drain_timer;
    struct cpti_http_server *servers;
    struct cpti_http_accepted accepted;
    struct cpti_http_client *client;
    struct cpti_tls_context calls_tls;  /* made by the first call to https, or before */
    struct cpti_tls_reload *tls_reload; /* it goes on; or NULL */
    bool is_reload_over;
    atomic_bool is_reload_asked;
    size_t exchange_count;     /* requests whose reply is not yet sent */
    size_t descriptor_rest;    /* RLIMIT_NOFILE less the reserve; SIZE_MAX: no limit */
    size_t descriptor_reserve; /* see http_accepted.c */
    size_t calls_open_count;   /* connections to other services */
    struct cpti_spares spares;

    struct cpti_lock lock; /* guards what follows, but the counters */
    struct cpt_work *works;
    struct cpt_work **works_end;
    bool is_woken;  /* the loop is certain to look at the works */
    bool is_closed; /* calls are refused */
    bool is_gone;   /* works are refused, too */
    struct cpti_timers timers;
    size_t reference_count; /* the owner's, and one for each request that is served */

    /* relaxed: nothing else depends on them */
    _Atomic uint64_t counters[CPTI_HTTP_COUNTER_COUNT];
};

/* --- http_loop.c --- */

/* Makes the loop's events, descriptors and executor. @on_wake is called on the loop
 * thread when another thread woke it, and has to call cpti_http_loop_turn(). false,
 * with errno: it cannot. cpti_http_loop_deinit() frees what there is, also then. */
bool cpti_http_loop_init(struct cpt_http *http, event_callback_fn on_wake);
void cpti_http_loop_deinit(struct cpt_http *http);

/* Wakes the loop. Async-signal-safe. */
void cpti_http_loop_wake(const struct cpt_http *http);

/* Runs the works that are there now, and sets the alarm. Loop thread. */
void cpti_http_loop_turn(struct cpt_http *http);

/* Whether works wait. */
bool cpti_http_loop_has_works(struct cpt_http *http);

/* From now on calls are refused. */
void cpti_http_loop_close(struct cpt_http *http);

/* Runs the works that are left, and those that they post; later ones are refused. */
void cpti_http_loop_finish(struct cpt_http *http);

/* The caller's thread is the loop thread from now on; NULL: not any more. */
void cpti_http_loop_set_here(struct cpt_http *http);

/* Calls @work->run() on the loop thread, soon, never within this call. false: the loop
 * is gone, so it will not. Any thread. */
bool cpti_http_loop_post(struct cpt_http *http, struct cpt_work *work);

/* The same for the beginning of a call; false also if calls are refused. */
bool cpti_http_loop_post_call(struct cpt_http *http, struct cpt_work *work);

/* Whether the caller is on the loop thread. */
bool cpti_http_loop_is_here(const struct cpt_http *http);

/* The loop whose thread the caller is on; NULL: none. */
struct cpt_http *cpti_http_loop_here(void);

/* Like the executor's functions of these names. On the loop thread, false of cancel
 * means that the timer has fired. */
cpt_status cpti_http_loop_after(struct cpt_http *http, struct cpt_timer *timer,
                                uint64_t delay_ns);
bool cpti_http_loop_cancel(struct cpt_http *http, struct cpt_timer *timer);

/* Take and release a reference to the struct's memory. Any thread. */
void cpti_http_reference(struct cpt_http *http);
void cpti_http_release(struct cpt_http *http);

static inline void cpti_http_count(struct cpt_http *http, enum cpti_http_counter_id id)
{
    atomic_fetch_add_explicit(&http->counters[id], 1, memory_order_relaxed);
}

static inline void cpti_http_set(struct cpt_http *http, enum cpti_http_counter_id id,
                                 uint64_t value)
{
    atomic_store_explicit(&http->counters[id], value, memory_order_relaxed);
}

/* --- http_accepted.c --- */

/* How many descriptors calls may take yet: with those that they have, all but those of
 * clients, and the half of the reserve that is for others. */
size_t cpti_http_accepted_left(const struct cpt_http *http);

/* Calls have opened or closed a connection: clients may have fewer, or more. */
void cpti_http_accepted_weigh(struct cpt_http *http);

/* Whether a connection to a port of operators was closed, to have its descriptor. */
bool cpti_http_accepted_give(struct cpt_http *http);

/* A loop that shares its ports is made, or freed. Any thread. */
void cpti_http_accepted_share(const struct cpt_http *http, bool begins);

/* --- http_server.c; loop thread --- */

/* Takes no more connections. */
void cpti_http_servers_refuse(struct cpt_http *http);

/* Closes all connections and frees; requests not yet answered keep their memory. */
void cpti_http_servers_free(struct cpt_http *http);

/* The certificates of the @nth port; NULL: it has none, or there are fewer. */
struct cpti_tls_context *cpti_http_servers_tls(struct cpt_http *http, size_t nth);

/* Stops accepting, or starts again. */
void cpti_http_servers_rest(struct cpt_http *http, bool rests);

/* --- http_client.c; loop thread --- */

struct cpti_http_client *cpti_http_client_new(struct cpt_http *http);
void cpti_http_client_send(struct cpt_transport *transport,
                           struct cpt_transport_call *call);
bool cpti_http_client_is_idle(const struct cpti_http_client *client);

/* From any thread; at most once, after it was sent. */
void cpti_http_client_cancel_call(struct cpt_transport *transport,
                                  struct cpt_transport_call *call);

/* A descriptor is free: calls that wait for one go on. */
void cpti_http_client_freed(struct cpt_http *http);

/* Ends all calls as CPT_CANCELLED. */
void cpti_http_client_cancel(struct cpti_http_client *client);

/* Frees; there must be no calls. NULL is fine. */
void cpti_http_client_free(struct cpti_http_client *client);

/* --- http_tls_reload.c --- */

/* Reads certificates again, if that was asked for. */
void cpti_tls_reload_look(struct cpt_http *http);

/* Nothing is read any more. */
void cpti_tls_reload_end(struct cpt_http *http);

/* --- http_target_counters.c --- */

/* Visits the numbers of all targets, like cpt_http_counters(). Any thread. */
void cpti_http_targets_show(struct cpt_http *http,
                            void (*visit)(void *context,
                                          const struct cpt_counter *counter),
                            void *context);

/* --- http_counters.c --- */

struct evbuffer;

/* Writes the counters of @service and of @http to @text. false without memory. */
bool cpti_http_counters_json(struct cpt_http *http, struct cpt_service *service,
                             struct evbuffer *text);
bool cpti_http_counters_prometheus(struct cpt_http *http, struct cpt_service *service,
                                   struct evbuffer *text);
bool cpti_http_metrics(struct cpt_http *http, struct cpt_service *service,
                       struct evbuffer *text);
bool cpti_http_openmetrics(struct cpt_http *http, struct cpt_service *service,
                           struct evbuffer *text);

/* The gauge of the certificate that expires first. */
void cpti_http_note_expiry(struct cpt_http *http,
                           const struct cpti_tls_context *context);

/* --- http_running.c --- */

/* Writes what @service does just now; as above. */
bool cpti_http_requests_json(struct cpt_http *http, struct cpt_service *service,
                             struct evbuffer *text);

/* And the plans of its methods. */
bool cpti_http_plans_json(struct cpt_http *http, struct cpt_service *service,
                          struct evbuffer *text);

#endif
