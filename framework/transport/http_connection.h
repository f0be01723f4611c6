/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_connection.h - one connection out, which carries one call at a time
 *
 *      new --> busy --reply--> idle --> busy ... --> retired (and freed a little later)
 *                \--failure or no good for another call--^
 *
 * Its owner (http_client.c) hears of the end of each call once, never from within
 * cpti_connection_send(), and of an idle connection that the other side closed.
 *
 * Threads: the loop thread.
 */
#ifndef CPT_HTTP_CONNECTION_H
#define CPT_HTTP_CONNECTION_H

#include "framework/transport/http_address.h"
#include "framework/transport/http_loop.h"

struct cpti_connection;
struct evhttp_request;

/* How a call ended. */
struct cpti_outcome {
    cpt_status status;            /* CPT_OK: `reply` is there */
    struct evhttp_request *reply; /* borrowed until the callback returns */
    bool was_kept;                /* the connection had carried a call before */
    bool was_connected;           /* there was a connection at all */
    bool has_begun;               /* bytes of a reply came */
    bool can_be_used_again;       /* only if CPT_OK */
};

struct cpti_connection_owner {
    void (*ended)(void *context, struct cpti_connection *connection, void *tag,
                  const struct cpti_outcome *outcome);
    void (*closed)(void *context, struct cpti_connection *connection);
    void *context;
};

/* A connection to @address, an idle one, not yet opened; @family as in sockets. NULL
 * without memory. @address must outlive it. */
struct cpti_connection *cpti_connection_new(struct cpt_http *http,
                                            const struct cpti_address *address,
                                            int family,
                                            const struct cpti_connection_owner *owner);

/* Sends @call over an idle connection; it then is busy till owner->ended(), which is
 * given @tag. Breaks off a second after @timeout_ns if its owner does not sooner. */
void cpti_connection_send(struct cpti_connection *connection,
                          const struct cpt_transport_call *call, void *tag,
                          uint64_t timeout_ns);

/* Closes it and frees it a little later, so also from within its own callbacks. Its
 * owner hears no more of it. */
void cpti_connection_retire(struct cpti_connection *connection);

/* The owner's list of idle ones, newest first. */
struct cpti_connection **cpti_connection_next(struct cpti_connection *connection);

/* Whether @method may stand in a request line. */
bool cpti_method_is_good(const char *method);

#endif
