/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_connection.h - one connection out, which carries one call at a time
 *
 *      new --> busy --reply--> idle --> busy ... --> retired (and freed a little later)
 *                \--failure, or unfit for another call--^
 *
 * It calls its owner (http_client.c) once at the end of each call, never within
 * cpti_http_connection_send(), and when the other side closes an idle connection.
 *
 * Threads: the loop thread.
 */
#ifndef CPT_HTTP_CONNECTION_H
#define CPT_HTTP_CONNECTION_H

#include "framework/transport/http/client/http_address.h"
#include "framework/transport/http/message/http_input.h"
#include "framework/transport/http/loop/http_loop.h"

#include <event2/event_struct.h>

#include <sys/queue.h>

struct cpti_http_connection;

/* How a call ended. */
struct cpti_http_outcome {
    cpt_status status;                   /* CPT_OK: `reply` is there */
    const struct cpti_http_input *reply; /* borrowed until the callback returns */
    bool was_kept;                       /* the connection had carried a call before */
    bool was_connected;                  /* the connection was established, and TLS */
    bool was_written; /* some of the call may have left: the callee may act on it */
    bool has_begun;   /* bytes of a reply came */
    bool can_be_used_again;    /* only if CPT_OK */
    const char *why;           /* a failure, for people; or NULL */
    uint64_t send_queue_ns;    /* of a measured call with a reply: in our queues … */
    uint64_t receive_queue_ns; /* … as in struct cpt_transport_reply */
};

struct cpti_http_connection_owner {
    void (*ended)(void *context, struct cpti_http_connection *connection, void *tag,
                  const struct cpti_http_outcome *outcome);
    void (*closed)(void *context, struct cpti_http_connection *connection);
    void *context;
    struct cpti_tls_target *tls; /* NULL: without */
};

enum cpti_http_connection_state {
    CPTI_HTTP_CONNECTION_IDLE,
    CPTI_HTTP_CONNECTION_BUSY,
    CPTI_HTTP_CONNECTION_RETIRED
};

struct cpti_http_connection {
    struct cpt_work work; /* frees it, or reports a failure within sending */
    LIST_ENTRY(cpti_http_connection) others; /* the owner's list of idle ones */
    struct cpt_http *http;
    const struct cpti_http_address *address;
    struct cpti_http_connection_owner owner;
    int descriptor; /* -1: not opened yet */
    struct event reading;
    struct event writing;
    struct cpti_http_input input;
    enum cpti_http_connection_state state;
    unsigned tick;    /* of its last use; see http_client.c */
    bool is_posted;   /* `work` */
    bool has_replied; /* it has carried a reply */
    bool is_connected;
    bool is_shaking;      /* the TLS handshake goes on */
    bool is_writing;      /* the event is added */
    struct cpti_tls *tls; /* once connected; or NULL */
    /* Of the call in flight: */
    void *tag;
    struct cpti_http_text head; /* of the request */
    struct cpt_bytes body;
    size_t sent_bytes; /* of both */
    size_t received_bytes;
    cpt_status failure;
    bool is_broken;          /* the request could not be sent whole */
    bool is_written;         /* some of it went to the socket, or to TLS */
    bool is_measured;        /* it asks for a path */
    bool is_limited_unknown; /* another request may have added to limited_ns since */
    uint64_t begun_ns;       /* measured: when writing began; 0: not yet */
    uint64_t send_queue_ns;  /* measured: until all were */
    uint64_t limited_ns;     /* of the connection, when it was last looked at */
};

/* An idle connection to @address, not yet opened. NULL without memory. @address must
 * outlive it. */
struct cpti_http_connection *
cpti_http_connection_new(struct cpt_http *http, const struct cpti_http_address *address,
                         const struct cpti_http_connection_owner *owner);

/* Sends @call over an idle connection, which is then busy until owner->ended() is
 * called with @tag. @timeout_ns is left of it; the owner looks after that. @call is
 * used until then. */
void cpti_http_connection_send(struct cpti_http_connection *connection,
                               const struct cpt_transport_call *call, void *tag,
                               uint64_t timeout_ns);

/* Closes it and frees it a little later, so its own callbacks may call this. It calls
 * its owner no more. */
void cpti_http_connection_retire(struct cpti_http_connection *connection);

/* Whether @method may stand in a request line. */
bool cpti_http_method_is_good(const char *method);

#endif
