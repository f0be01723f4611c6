/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_loop.h - what the loop, the server and the client of cpt_http.h share
 *
 * One thread, the *loop thread*, is in cpt_http_run() and alone touches libevent and
 * whatever is not said to be guarded otherwise. Other threads leave work for it:
 *
 *      any thread --> cpti_loop_post() --> [ works ] --> loop thread runs it
 *
 * The list of works, the heap of timers and the few flags beside them are guarded by
 * one lock, under which nothing else is called.
 */
#ifndef CPT_HTTP_LOOP_H
#define CPT_HTTP_LOOP_H

#include "cpt/container.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_name.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/pool/lock.h"
#include "framework/pool/timers.h"
#include "framework/transport/cpt_http.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <stdbool.h>

struct cpti_client;
struct bufferevent;
struct cpti_server;
struct evdns_base;

enum {
    CPTI_CONNECTIONS_DEFAULT = 64,
    CPTI_WAITING_DEFAULT = 1024,
    CPTI_ACCEPTED_DEFAULT = 10000,
    CPTI_HEADER_BYTES_DEFAULT = 16 << 10, /* four of the largest replies' paths */
    CPTI_BODY_BYTES_DEFAULT = 4 << 20,
    CPTI_BODY_BYTES_MAX = 1 << 30, /* evhttp and watermarks count in int */
    CPTI_NS_PER_US = 1000
};

#define CPTI_NS_PER_S UINT64_C(1000000000)

/* X(name, sentence): the transport's own counters; see cpt_http_counters(). */
#define CPTI_COUNTER_MAP(X)                                                            \
    X(requests_served, "requests that a service was given")                            \
    X(requests_abandoned, "requests whose client had gone before the reply")           \
    X(replies_undelivered, "replies whose connection had gone before them")            \
    X(accepts_failed, "connections that could not be accepted")                        \
    X(accepts_paused, "times that no more were accepted, as too many were open")       \
    X(calls_sent, "calls that were given to the transport")                            \
    X(calls_waited, "calls that waited for a connection")                              \
    X(calls_refused, "calls for which too many were waiting already")                  \
    X(calls_failed, "calls that ended without an answer")                              \
    X(calls_cancelled, "of these, calls that nobody waited for any more")              \
    X(calls_resent, "calls sent again because a kept connection was dead")             \
    X(connections_opened, "connections that were opened to other services")

enum cpti_counter_id {
#define CPTI_COUNTER_ENUM_(name, sentence) CPTI_COUNTER_##name,
    CPTI_COUNTER_MAP(CPTI_COUNTER_ENUM_)
#undef CPTI_COUNTER_ENUM_
        CPTI_COUNTER_COUNT
};

/* Connections that were accepted. Loop thread. */
struct cpti_accepted {
    struct bufferevent **items; /* a reference to each */
    size_t count;
    size_t capacity;
    size_t hand; /* the next one to look at */
    struct cpt_timer rest;
    bool is_resting; /* it is full: none are accepted */
};

struct cpt_http {
    struct cpt_executor executor;   /* begins with, so that its pointer is ours */
    struct cpt_transport transport; /* likewise, by offset */
    struct cpt_http_options options;
    const struct cpt_alloc *alloc;

    struct event_base *base;
    struct evdns_base *dns;
    struct event *wake;  /* reads wake_descriptor: another thread left work */
    struct event *soon;  /* the loop thread itself left work */
    struct event *alarm; /* the earliest timer */
    struct event *signals[2];
    int wake_descriptor;
    atomic_int is_stop_asked;
    bool sees_closed; /* the system tells that a peer has closed, without reading */
    struct cpt_work *batch; /* what is run after what runs; loop thread's, as … */
    unsigned turn_count; /* … long runs that were asked whether they yield, since */
    bool is_draining;    /* loop thread's, as are those below */
    bool is_drain_over;  /* drain_ns have passed */
    struct cpt_timer drain_timer;
    struct cpti_server *servers;
    struct cpti_accepted accepted;
    struct cpti_client *client;
    size_t exchange_count; /* requests that are not answered and sent off yet */

    struct cpti_lock lock; /* guards all below */
    struct cpt_work *works;
    struct cpt_work **works_end;
    bool is_woken;  /* somebody has made sure that the loop will look at the works */
    bool is_closed; /* calls come too late */
    bool is_gone;   /* works, too: nobody will look at them */
    struct cpti_timers timers;
    size_t reference_count; /* the owner's, and one for each request being served */

    /* relaxed: numbers that nothing else depends on */
    _Atomic uint64_t counters[CPTI_COUNTER_COUNT];
};

/* --- http_loop.c --- */

/* Has @work->run called on the loop thread, soon, never from within. false: the loop is
 * gone and it will not be. Any thread. */
bool cpti_loop_post(struct cpt_http *http, struct cpt_work *work);

/* The same for the beginning of a call; false also when it is too late for one. */
bool cpti_loop_post_call(struct cpt_http *http, struct cpt_work *work);

/* Whether the caller is on the loop thread. */
bool cpti_loop_is_here(const struct cpt_http *http);

/* The loop whose thread the caller is on. */
struct cpt_http *cpti_loop_here(void);

/* Like the executor's functions of these names. On the loop thread, 0 of the second
 * means that the timer has fired. */
cpt_status cpti_loop_after(struct cpt_http *http, struct cpt_timer *timer,
                           uint64_t delay_ns);
int cpti_loop_cancel(struct cpt_http *http, struct cpt_timer *timer);

/* Keeps the struct's memory until the opposite. Any thread. */
void cpti_http_reference(struct cpt_http *http);
void cpti_http_release(struct cpt_http *http);

static inline void cpti_count(struct cpt_http *http, enum cpti_counter_id id)
{
    atomic_fetch_add_explicit(&http->counters[id], 1, memory_order_relaxed);
}

struct timeval cpti_timeval(uint64_t ns);

/* --- http_server.c; loop thread --- */

/* Takes no more connections. */
void cpti_servers_refuse(struct cpt_http *http);

/* Closes all connections and frees; requests not yet answered keep their memory. */
void cpti_servers_free(struct cpt_http *http);

/* Accepts nothing for a while, or goes on. */
void cpti_servers_rest(struct cpt_http *http, bool rests);

/* --- http_accepted.c; loop thread --- */

/* One more connection will be accepted, with @buffers. false without memory. */
bool cpti_accepted_add(struct cpt_http *http, struct bufferevent *buffers);

/* Lets go of all; evhttp has. */
void cpti_accepted_deinit(struct cpt_http *http);

/* --- http_client.c; loop thread --- */

struct cpti_client *cpti_client_new(struct cpt_http *http);
void cpti_client_send(struct cpt_transport *transport, struct cpt_transport_call *call);
bool cpti_client_is_idle(const struct cpti_client *client);

/* From any thread; at most once, after it was sent. */
void cpti_client_cancel_call(struct cpt_transport *transport,
                             struct cpt_transport_call *call);

/* Ends all calls as CPT_CANCELLED. */
void cpti_client_cancel(struct cpti_client *client);

/* Frees; it has no calls. NULL is fine. */
void cpti_client_free(struct cpti_client *client);

/* --- http_counters.c --- */

struct evbuffer;

/* Writes the counters of @service and of @http to @text. false without memory. */
bool cpti_counters_json(struct cpt_http *http, struct cpt_service *service,
                        struct evbuffer *text);
bool cpti_counters_prometheus(struct cpt_http *http, struct cpt_service *service,
                              struct evbuffer *text);

#endif
