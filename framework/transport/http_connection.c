/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_connection.c - one connection out, which carries one call at a time
 *
 * evhttp does the protocol. It leaves to us:
 *
 * - It must not be freed within its own callbacks, so a work of its own frees a retired
 *   connection, and reports a failure within evhttp_make_request() (no descriptor left,
 *   for example).
 * - It reports failures in three ways: the error callback and then the request's with
 *   NULL; the request's with a reply that has no status (not connected); a negative
 *   return value. Whether we were connected, and whether bytes of a reply came, is seen
 *   from the connection's buffers: evhttp adds the request to the output when it is
 *   connected.
 * - Bytes that a server sends after the end of a reply stay in the buffer and would be
 *   read as the next reply. Such a connection is not used again, nor one whose reply
 *   ended with the connection or was of HTTP/1.0.
 * - What a reply means, and where it ends: http_gate.c lets only unambiguous ones
 *   through to evhttp, and no interim ones (status 100 or 103).
 * - An idle connection keeps its read timeout, which closes unused ones.
 */
#include "framework/transport/http_connection.h"

#include "framework/transport/http_headers.h"
#include "wire/cpt_metadata.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/http_struct.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    SLACK_BYTES = 4096,
    NO_ERROR = -1 /* of enum evhttp_request_error */
};

/* --- What evhttp does not report --- */

static void on_output(struct evbuffer *buffer, const struct evbuffer_cb_info *change,
                      void *context)
{
    struct cpti_http_connection *connection = context;
    const int on = 1;

    (void)buffer;
    if (change->n_added == 0 || connection->is_connected) {
        return;
    }
    connection->is_connected = true;
    (void)setsockopt(
        bufferevent_getfd(evhttp_connection_get_bufferevent(connection->evhttp)),
        IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static bool has_unread(const struct cpti_http_connection *connection)
{
    struct bufferevent *buffers = evhttp_connection_get_bufferevent(connection->evhttp);

    return evbuffer_get_length(bufferevent_get_input(buffers)) > 0;
}

/* --- The end of a call --- */

static bool says_close(const struct evkeyvalq *headers)
{
    const char *value = evhttp_find_header(headers, "Connection");

    return value != NULL && strcasestr(value, "close") != NULL;
}

/* Whether the reply itself says where it ends. */
static bool is_framed(const struct evhttp_request *reply)
{
    return reply->response_code == HTTP_NOCONTENT ||
           reply->response_code == HTTP_NOTMODIFIED || reply->chunked ||
           evhttp_find_header(reply->input_headers, "Content-Length") != NULL;
}

static bool can_be_used_again(const struct cpti_http_connection *connection,
                              const struct evhttp_request *reply)
{
    return reply->major == 1 && reply->minor >= 1 && is_framed(reply) &&
           !says_close(reply->input_headers) && !has_unread(connection);
}

static cpt_status status_of_failure(const struct cpti_http_connection *connection)
{
    const struct cpti_http_message *message = &connection->gate.message;

    if (connection->is_starved) {
        return CPT_NO_MEMORY;
    }
    if (!connection->is_connected) {
        return CPT_UNAVAILABLE;
    }
    if (message->state == CPTI_HTTP_REFUSED) {
        return message->is_large ? CPT_LIMIT : CPT_CORRUPT;
    }
    switch (connection->error) {
    case EVREQ_HTTP_TIMEOUT:
        return CPT_TIMEOUT;
    case EVREQ_HTTP_INVALID_HEADER:
        return CPT_CORRUPT;
    case EVREQ_HTTP_DATA_TOO_LONG:
        return CPT_LIMIT;
    default:
        return CPT_IO;
    }
}

/* @reply is NULL unless @status is CPT_OK. */
static void report(struct cpti_http_connection *connection, cpt_status status,
                   struct evhttp_request *reply)
{
    const struct cpti_http_outcome outcome = {
        .status = status,
        .reply = reply,
        .was_kept = connection->has_replied,
        .was_connected = connection->is_connected,
        .has_begun = connection->gate.received_bytes > 0,
        .can_be_used_again = reply != NULL && can_be_used_again(connection, reply),
    };

    connection->has_replied |= reply != NULL;
    connection->state = CPTI_HTTP_CONNECTION_IDLE;
    connection->owner.ended(connection->owner.context, connection, connection->tag,
                            &outcome);
}

static void post(struct cpti_http_connection *connection)
{
    if (!connection->is_posted) {
        connection->is_posted =
            cpti_http_loop_post(connection->http, &connection->work);
    }
}

static void count_refusal(const struct cpti_http_connection *connection)
{
    if (connection->gate.message.state == CPTI_HTTP_REFUSED) {
        cpti_http_count(connection->http, CPTI_HTTP_COUNTER_replies_refused);
    }
}

static void on_ended(struct evhttp_request *reply, void *context)
{
    struct cpti_http_connection *connection = context;
    struct timeval idle;

    connection->request = NULL;
    if (connection->state != CPTI_HTTP_CONNECTION_BUSY) {
        return;
    }
    if (connection->is_sending) {
        post(connection);
        return;
    }
    if (reply == NULL || reply->response_code == 0) {
        count_refusal(connection);
        report(connection, status_of_failure(connection), NULL);
    } else {
        idle = cpti_http_timeval(connection->http->options.idle_ns);
        evhttp_connection_set_timeout_tv(connection->evhttp, &idle);
        report(connection, CPT_OK, reply);
    }
}

static void on_error(enum evhttp_request_error error, void *context)
{
    ((struct cpti_http_connection *)context)->error = (int)error;
}

static void on_closed(struct evhttp_connection *evhttp, void *context)
{
    struct cpti_http_connection *connection = context;

    (void)evhttp;
    if (connection->state == CPTI_HTTP_CONNECTION_IDLE) {
        connection->owner.closed(connection->owner.context, connection);
    }
}

/* --- Sending --- */

/* Visible ASCII only: other bytes would need an escape, or begin a second line. */
bool cpti_http_method_is_good(const char *method)
{
    if (method == NULL || method[0] != '/') {
        return false;
    }
    for (const char *at = method; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~') {
            return false;
        }
    }
    return true;
}

static struct evhttp_request *request_new(struct cpti_http_connection *connection,
                                          const struct cpt_transport_call *call,
                                          uint64_t timeout_ns)
{
    const struct cpt_alloc *alloc = connection->http->alloc;
    struct evhttp_request *request = evhttp_request_new(on_ended, connection);
    struct evkeyvalq *headers = NULL;
    char timeout[24] = "";

    if (request == NULL) {
        return NULL;
    }
    if (call->has_deadline) {
        (void)snprintf(timeout, sizeof timeout, "%llu",
                       (unsigned long long)(timeout_ns / CPTI_NS_PER_US));
    }
    evhttp_request_set_error_cb(request, on_error);
    headers = evhttp_request_get_output_headers(request);
    if (cpti_http_headers_add(headers, "Host",
                              cpt_bytes_of(connection->address->host_header), alloc) &&
        cpti_http_headers_add(headers, CPT_HEADER_ASK, call->critical_path, alloc) &&
        cpti_http_headers_add(headers, CPT_HEADER_TRACEPARENT, call->traceparent,
                              alloc) &&
        cpti_http_headers_add(headers, CPT_HEADER_TIMEOUT, cpt_bytes_of(timeout),
                              alloc) &&
        evbuffer_add(evhttp_request_get_output_buffer(request), call->body.data,
                     call->body.bytes) == 0) {
        return request;
    }
    evhttp_request_free(request);
    return NULL;
}

void cpti_http_connection_send(struct cpti_http_connection *connection,
                               const struct cpt_transport_call *call, void *tag,
                               uint64_t timeout_ns)
{
    const struct timeval timeout = cpti_http_timeval(timeout_ns + CPTI_NS_PER_S);
    struct evhttp_request *request = request_new(connection, call, timeout_ns);

    connection->state = CPTI_HTTP_CONNECTION_BUSY;
    connection->tag = tag;
    connection->error = NO_ERROR;
    connection->is_starved = request == NULL;
    cpti_http_gate_begin(&connection->gate);
    if (request == NULL) {
        post(connection);
        return;
    }
    evhttp_connection_set_timeout_tv(connection->evhttp, &timeout);
    connection->request = request;
    connection->is_sending = true;
    if (evhttp_make_request(connection->evhttp, request,
                            call->body.bytes > 0 ? EVHTTP_REQ_POST : EVHTTP_REQ_GET,
                            call->method) != 0) {
        connection->request = NULL;
        connection->is_starved = true;
        post(connection);
    }
    connection->is_sending = false;
}

/* --- Making and freeing --- */

static void connection_free(struct cpti_http_connection *connection)
{
    struct bufferevent *buffers = evhttp_connection_get_bufferevent(connection->evhttp);

    cpti_http_gate_close(&connection->gate);
    (void)evbuffer_remove_cb(bufferevent_get_output(buffers), on_output, connection);
    evhttp_connection_set_closecb(connection->evhttp, NULL, NULL);
    evhttp_connection_free(connection->evhttp);
    cpt_alloc_free(connection->http->alloc, connection);
}

static void run(struct cpt_work *work)
{
    struct cpti_http_connection *connection =
        CPTI_CONTAINER(work, struct cpti_http_connection, work);

    connection->is_posted = false;
    if (connection->state == CPTI_HTTP_CONNECTION_RETIRED) {
        connection_free(connection);
        return;
    }
    report(connection, status_of_failure(connection), NULL);
}

void cpti_http_connection_retire(struct cpti_http_connection *connection)
{
    struct evhttp_request *request = connection->request;

    connection->state = CPTI_HTTP_CONNECTION_RETIRED;
    connection->request = NULL;
    if (request != NULL) {
        evhttp_cancel_request(request); /* closes, and ends a look-up */
    }
    post(connection);
    if (!connection->is_posted) {
        connection_free(connection);
    }
}

static void limits_set(struct cpti_http_connection *connection)
{
    const struct cpt_http_options *options = &connection->http->options;
    struct bufferevent *buffers = evhttp_connection_get_bufferevent(connection->evhttp);

    evhttp_connection_set_max_headers_size(connection->evhttp,
                                           (ev_ssize_t)options->header_bytes_max);
    evhttp_connection_set_max_body_size(connection->evhttp,
                                        (ev_ssize_t)options->body_bytes_max);
    bufferevent_setwatermark(buffers, EV_READ, 0,
                             options->header_bytes_max + options->body_bytes_max +
                                 SLACK_BYTES);
}

struct cpti_http_connection *
cpti_http_connection_new(struct cpt_http *http, const struct cpti_http_address *address,
                         int family, const struct cpti_http_connection_owner *owner)
{
    struct cpti_http_connection *connection =
        cpt_alloc_zeroed(http->alloc, sizeof(*connection));
    struct bufferevent *buffers = NULL;

    if (connection == NULL) {
        return NULL;
    }
    connection->evhttp =
        evhttp_connection_base_new(http->base, http->dns, address->host, address->port);
    if (connection->evhttp == NULL) {
        cpt_alloc_free(http->alloc, connection);
        return NULL;
    }
    connection->work.run = run;
    connection->http = http;
    connection->address = address;
    connection->owner = *owner;
    evhttp_connection_set_family(connection->evhttp, family);
    evhttp_connection_set_closecb(connection->evhttp, on_closed, connection);
    limits_set(connection);
    buffers = evhttp_connection_get_bufferevent(connection->evhttp);
    if (!cpti_http_gate_open(&connection->gate, buffers, true,
                             http->options.header_bytes_max) ||
        evbuffer_add_cb(bufferevent_get_output(buffers), on_output, connection) ==
            NULL) {
        connection_free(connection);
        return NULL;
    }
    return connection;
}
