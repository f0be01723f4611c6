/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_connection.c - one connection out, which carries one call at a time
 *
 *      connect (-> TLS handshake) -> write the request -> read the reply -> report
 *                                     ^------- the next call, if it is kept ----/
 *
 * The event for reading stays added: it also tells when the other side closes, or sends
 * what no call has asked for. Bytes behind a reply are the danger: read as the next
 * reply, they would answer another call ("response poisoning"). So a connection
 * with such bytes is not used again, whether they come with the reply, while the
 * connection is idle, or are found when the next request is about to be written. Nor is
 * one whose reply ended with the connection, was of HTTP/1.0, came before the request
 * was sent whole, or has a length although its status has no body.
 *
 * A failure within cpti_http_connection_send() is reported by a work, as the owner
 * expects no call of its own within that. So is a retired connection freed, since its
 * own callbacks may retire it.
 *
 * TLS. A handshake that fails is a connection that fails: CPT_UNAVAILABLE. So is one
 * after which the service refuses us before a byte of its reply, as it tells in TLS 1.3
 * what it thinks of our certificate only then. A session is kept for the next
 * connection to the target.
 *
 * A reply is taken out of the connection before it is reported: what follows it may
 * send the next call on the same connection at once.
 *
 * A call that asks for a path is measured: how long its bytes waited here before they
 * left, and the reply's before they were read. The first is the larger of two: until
 * the socket had taken all, and, of the kernel, for how long the other side had no room
 * for more. That is a sum over the life of the connection, so it has to be known from
 * before; a request that fits into any window does not add to it.
 */
#include "framework/transport/http/client/http_connection.h"

#include "cpt/base/now.h"
#include "framework/transport/http/message/http_kernel.h"
#include "framework/transport/http/message/http_route.h"

#include "wire/cpt_metadata.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NO_CONTENT = 204, NOT_MODIFIED = 304, ANY_WINDOW_BYTES = 8 << 10 };

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool is_later(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* --- The end of a call --- */

static void post(struct cpti_http_connection *connection)
{
    if (!connection->is_posted) {
        connection->is_posted =
            cpti_http_loop_post(connection->http, &connection->work);
    }
}

static void report(struct cpti_http_connection *connection,
                   const struct cpti_http_outcome *outcome)
{
    connection->has_replied |= outcome->status == CPT_OK;
    connection->state = CPTI_HTTP_CONNECTION_IDLE;
    connection->owner.ended(connection->owner.context, connection, connection->tag,
                            outcome);
}

/* What TLS says of it; false: nothing. */
static bool failure_write(const struct cpti_http_connection *connection,
                          char why[CPTI_TLS_REASON_BYTES])
{
    const bool has_failed = connection->tls != NULL &&
                            cpti_tls_failure(connection->tls) != CPTI_TLS_FAILURE_NONE;

    if (has_failed) {
        cpti_tls_reason(connection->tls, why);
    }
    return has_failed;
}

static void report_failure(struct cpti_http_connection *connection, cpt_status status)
{
    char why[CPTI_TLS_REASON_BYTES];
    const struct cpti_http_outcome outcome = {
        .status = status,
        .was_kept = connection->has_replied,
        .was_connected = connection->is_connected && !connection->is_shaking,
        .was_written = connection->is_written,
        .has_begun = connection->received_bytes > 0,
        .why = failure_write(connection, why) ? why : NULL,
    };

    report(connection, &outcome);
}

/* The call fails, or, if there is none, the connection is of no use. */
static void fail(struct cpti_http_connection *connection, cpt_status status)
{
    if (connection->state == CPTI_HTTP_CONNECTION_BUSY) {
        report_failure(connection, status);
    } else if (connection->state == CPTI_HTTP_CONNECTION_IDLE) {
        connection->owner.closed(connection->owner.context, connection);
    }
}

/* It has no body, but says that it has: what follows may be that. */
static bool has_doubtful_end(const struct cpti_http_parser *parser)
{
    return (parser->status == NO_CONTENT || parser->status == NOT_MODIFIED) &&
           (parser->length > 0 || parser->fields[CPTI_HTTP_FIELD_CODING].count > 0);
}

static bool can_be_used_again(const struct cpti_http_connection *connection)
{
    const struct cpti_http_input *input = &connection->input;

    return !input->parser.is_old && cpti_http_parser_keeps(&input->parser) &&
           input->parser.state == CPTI_HTTP_IS_DONE && !connection->is_broken &&
           !has_doubtful_end(&input->parser) &&
           connection->sent_bytes == connection->head.bytes + connection->body.bytes;
}

/* The reply was read just now. */
static void measure(struct cpti_http_connection *connection,
                    struct cpti_http_outcome *outcome)
{
    struct cpti_http_queues queues;
    uint64_t limited_ns = 0;

    if (!cpti_http_queues_read(connection->descriptor, &queues)) {
        return;
    }
    if (queues.has_limited && !connection->is_limited_unknown &&
        queues.limited_ns > connection->limited_ns) {
        limited_ns = cpti_http_ticks_least(queues.limited_ns - connection->limited_ns);
    }
    connection->limited_ns = queues.limited_ns;
    connection->is_limited_unknown = false;
    outcome->receive_queue_ns = queues.unread_ns;
    outcome->send_queue_ns =
        connection->send_queue_ns > limited_ns ? connection->send_queue_ns : limited_ns;
}

/* The reply is whole. */
static void report_reply(struct cpti_http_connection *connection)
{
    struct cpt_http *http = connection->http;
    struct cpti_http_input reply = connection->input;
    const bool has_more = reply.raw_at < reply.bytes;
    struct cpti_http_outcome outcome = {
        .status = CPT_OK,
        .reply = &reply,
        .was_kept = connection->has_replied,
        .was_connected = true,
        .was_written = true,
        .has_begun = true,
        .can_be_used_again = !has_more && can_be_used_again(connection),
    };

    if (has_more) {
        cpti_http_count(http, CPTI_HTTP_COUNTER_replies_refused);
    }
    if (connection->is_measured) {
        measure(connection, &outcome);
    }
    memset(&connection->input, 0, sizeof connection->input);
    connection->input.parser = reply.parser;
    report(connection, &outcome);
    cpti_http_input_clear(http, &reply);
}

/* --- Reading --- */

/* Bytes read; 0: the end; -1: none now; -2: it is broken. */
static ssize_t socket_read(struct cpti_http_connection *connection, void *data,
                           size_t bytes)
{
    ssize_t got = 0;

    if (connection->tls != NULL) {
        return cpti_tls_read(connection->tls, data, bytes);
    }
    got = recv(connection->descriptor, data, bytes, MSG_DONTWAIT);
    if (got >= 0) {
        return got;
    }
    return is_later(errno) ? -1 : -2;
}

static void refused(struct cpti_http_connection *connection)
{
    cpti_http_count(connection->http, CPTI_HTTP_COUNTER_replies_refused);
    fail(connection, connection->input.parser.is_large ? CPT_LIMIT : CPT_CORRUPT);
}

/* Parses what has come, up to the end of the reply. */
static void advance(struct cpti_http_connection *connection)
{
    enum cpti_http_step step = CPTI_HTTP_STEP_DATA;

    while (step != CPTI_HTTP_STEP_WAIT && step != CPTI_HTTP_STEP_DONE &&
           step != CPTI_HTTP_STEP_REFUSE) {
        step = cpti_http_input_step(&connection->input);
    }
    if (step == CPTI_HTTP_STEP_DONE) {
        report_reply(connection);
    } else if (step == CPTI_HTTP_STEP_REFUSE) {
        refused(connection);
    }
}

/* The other side has closed the connection. */
static void at_end(struct cpti_http_connection *connection)
{
    if (connection->state == CPTI_HTTP_CONNECTION_BUSY &&
        connection->input.parser.state == CPTI_HTTP_IN_REST) {
        report_reply(connection);
        return;
    }
    fail(connection, CPT_IO);
}

/* The service may refuse our certificate after the handshake, for us, is over. */
static void broken(struct cpti_http_connection *connection)
{
    const bool is_refused =
        connection->tls != NULL && !connection->has_replied &&
        connection->received_bytes == 0 &&
        cpti_tls_failure(connection->tls) == CPTI_TLS_FAILURE_REFUSED;

    if (is_refused) {
        cpti_http_count(connection->http, CPTI_HTTP_COUNTER_calls_tls_failed);
    }
    fail(connection, is_refused ? CPT_UNAVAILABLE : CPT_IO);
}

/* What TLS has received already is read soon, as no event of the socket tells of it. */
static void read_held(struct cpti_http_connection *connection)
{
    if (connection->tls != NULL && cpti_tls_has_bytes(connection->tls)) {
        event_active(&connection->reading, EV_TIMEOUT, 1);
    }
}

static void read_reply(struct cpti_http_connection *connection)
{
    struct cpti_http_input *input = &connection->input;
    ssize_t got = 0;

    if (!cpti_http_input_room(connection->http, input)) {
        fail(connection, CPT_NO_MEMORY);
        return;
    }
    got = socket_read(connection, input->data + input->bytes,
                      input->capacity - input->bytes);
    if (got == -1) {
        return;
    }
    if (got < 0) {
        broken(connection);
        return;
    }
    if (got == 0) {
        at_end(connection);
        return;
    }
    connection->received_bytes += (size_t)got;
    input->bytes += (size_t)got;
    advance(connection);
    read_held(connection); /* if it was retired, it has no TLS any more */
}

/* Whether an idle connection was closed, or has bytes that no call has asked for. TLS
 * has messages of its own, which are taken. */
static bool is_spoilt(struct cpti_http_connection *connection)
{
    char byte = 0;
    ssize_t got = 0;

    if (connection->tls != NULL) {
        cpti_tls_may_receive(connection->tls);
        got = cpti_tls_read(connection->tls, &byte, 1);
    } else {
        got = recv(connection->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        got = got < 0 && is_later(errno) ? -1 : got < 0 ? -2 : got;
    }
    if (got > 0) {
        cpti_http_count(connection->http, CPTI_HTTP_COUNTER_replies_refused);
    }
    return got != -1;
}

static void shake(struct cpti_http_connection *connection);

static void on_readable(evutil_socket_t descriptor, short what, void *context)
{
    struct cpti_http_connection *connection = context;

    (void)descriptor;
    if (connection->tls != NULL && (what & EV_READ) != 0) {
        cpti_tls_may_receive(connection->tls);
    }
    if (connection->is_shaking) {
        shake(connection);
    } else if (connection->state == CPTI_HTTP_CONNECTION_BUSY) {
        read_reply(connection);
    } else if (connection->tls == NULL || is_spoilt(connection)) {
        fail(connection, CPT_IO); /* closed, or bytes that no call has asked for */
    }
}

/* --- Writing --- */

static void write_later(struct cpti_http_connection *connection, bool is_needed)
{
    if (is_needed && !connection->is_writing) {
        connection->is_writing = event_add(&connection->writing, NULL) == 0;
        connection->is_broken |= !connection->is_writing;
    } else if (!is_needed && connection->is_writing) {
        connection->is_writing = false;
        (void)event_del(&connection->writing);
    }
}

/* What is left of @bytes after @done. */
static struct iovec part_of(struct cpt_bytes bytes, size_t done)
{
    return (struct iovec){(void *)(uintptr_t)(bytes.data + done), bytes.bytes - done};
}

/* Bytes written; -1: none now; -2: it is broken. */
static ssize_t socket_write(struct cpti_http_connection *connection,
                            struct iovec *parts, size_t count)
{
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    ssize_t sent = 0;

    if (connection->tls != NULL) {
        return cpti_tls_write(connection->tls, parts, count);
    }
    sent = sendmsg(connection->descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
        return sent;
    }
    return is_later(errno) ? -1 : -2;
}

/* Stamps the first write, and the last, of a request that is measured. */
static void note_write(struct cpti_http_connection *connection, bool is_last)
{
    if (connection->begun_ns == 0 && !is_last) {
        connection->begun_ns = cpti_now_ns();
    } else if (connection->begun_ns != 0 && is_last) {
        connection->send_queue_ns = cpti_now_ns() - connection->begun_ns;
    }
}

/* Writes what the socket takes. If it is broken, a reply may still have come before:
 * reading tells. */
static void write_request(struct cpti_http_connection *connection)
{
    const struct cpt_bytes head = {connection->head.data, connection->head.bytes};
    const struct cpt_bytes body = connection->body;
    const size_t done = connection->sent_bytes;
    struct iovec parts[2];
    size_t count = 0;
    ssize_t sent = 0;

    if (done < head.bytes) {
        parts[count++] = part_of(head, done);
    }
    if (body.bytes > 0) {
        parts[count++] = part_of(body, done > head.bytes ? done - head.bytes : 0);
    }
    sent = socket_write(connection, parts, count);
    /* What TLS was given it may have sent, in part or whole, also if it says no. */
    connection->is_written |= sent > 0 || connection->tls != NULL;
    if (sent >= 0) {
        connection->sent_bytes += (size_t)sent;
    }
    connection->is_broken |= sent == -2;
    if (connection->is_measured) {
        note_write(connection, connection->sent_bytes == head.bytes + body.bytes);
    }
    write_later(connection, !connection->is_broken &&
                                connection->sent_bytes < head.bytes + body.bytes);
}

/* --- The TLS handshake --- */

/* false without memory. */
static bool shake_begin(struct cpti_http_connection *connection)
{
    if (connection->owner.tls == NULL) {
        return true;
    }
    connection->tls =
        cpti_tls_connect_new(connection->owner.tls, connection->descriptor);
    connection->is_shaking = connection->tls != NULL;
    return connection->is_shaking;
}

static void shake_failed(struct cpti_http_connection *connection)
{
    const bool is_untrusted =
        cpti_tls_failure(connection->tls) == CPTI_TLS_FAILURE_CERTIFICATE;

    cpti_http_count(connection->http, is_untrusted
                                          ? CPTI_HTTP_COUNTER_calls_tls_untrusted
                                          : CPTI_HTTP_COUNTER_calls_tls_failed);
    write_later(connection, false);
    fail(connection, CPT_UNAVAILABLE);
}

static void shaken(struct cpti_http_connection *connection)
{
    cpti_http_count(connection->http, CPTI_HTTP_COUNTER_calls_tls_handshakes);
    if (cpti_tls_is_resumed(connection->tls)) {
        cpti_http_count(connection->http, CPTI_HTTP_COUNTER_calls_tls_resumed);
    }
    connection->is_shaking = false;
    if (event_add(&connection->reading, NULL) != 0) {
        fail(connection, CPT_NO_MEMORY);
        return;
    }
    write_request(connection);
    read_held(connection);
}

/* Goes on with the handshake. While it waits until it can write, it does not read:
 * what the service sends meanwhile would wake it again and again. */
static void shake(struct cpti_http_connection *connection)
{
    bool is_bad = false;

    switch (cpti_tls_handshake(connection->tls)) {
    case CPTI_TLS_DONE:
        shaken(connection);
        return;
    case CPTI_TLS_WANTS_READ:
        write_later(connection, false);
        is_bad = event_add(&connection->reading, NULL) != 0;
        break;
    case CPTI_TLS_WANTS_WRITE:
        (void)event_del(&connection->reading);
        write_later(connection, true);
        is_bad = !connection->is_writing;
        break;
    default:
        shake_failed(connection);
        return;
    }
    if (is_bad) {
        fail(connection, CPT_NO_MEMORY);
    }
}

static void on_writable(evutil_socket_t descriptor, short what, void *context)
{
    struct cpti_http_connection *connection = context;
    int error = 0;
    socklen_t bytes = sizeof error;

    (void)what;
    if (!connection->is_connected) {
        if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 ||
            error != 0 || event_add(&connection->reading, NULL) != 0) {
            write_later(connection, false);
            fail(connection, CPT_UNAVAILABLE);
            return;
        }
        connection->is_connected = true;
        if (!shake_begin(connection)) {
            write_later(connection, false);
            fail(connection, CPT_NO_MEMORY);
            return;
        }
    }
    if (connection->is_shaking) {
        shake(connection);
    } else {
        write_request(connection);
    }
}

/* --- Connecting --- */

/* If all else has taken every descriptor: by a spare one, of which some stay for
 * operators. */
static int socket_open(struct cpt_http *http, int family)
{
    const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    int descriptor = socket(family, type, 0);

    if (descriptor < 0 && cpti_spares_is_need(errno) &&
        cpti_spares_give(&http->spares, CPTI_HTTP_SPARES / 2)) {
        descriptor = socket(family, type, 0);
    }
    return descriptor;
}

static cpt_status connect_to(struct cpti_http_connection *connection,
                             const struct sockaddr *address, socklen_t bytes)
{
    const int on = 1;
    const int descriptor = socket_open(connection->http, address->sa_family);

    if (descriptor < 0) {
        return CPT_UNAVAILABLE;
    }
    connection->descriptor = descriptor;
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (event_assign(&connection->reading, connection->http->base, descriptor,
                     EV_READ | EV_PERSIST, on_readable, connection) != 0 ||
        event_assign(&connection->writing, connection->http->base, descriptor,
                     EV_WRITE | EV_PERSIST, on_writable, connection) != 0) {
        return CPT_NO_MEMORY;
    }
    if (connect(descriptor, address, bytes) != 0 && errno != EINPROGRESS) {
        return CPT_UNAVAILABLE;
    }
    write_later(connection, true);
    return connection->is_writing ? CPT_OK : CPT_NO_MEMORY;
}

static cpt_status open_connection(struct cpti_http_connection *connection)
{
    const struct cpti_http_address *to = connection->address;
    const char *number = to->number != NULL ? to->number : to->host;
    union socket_address address;

    memset(&address, 0, sizeof address);
    if (inet_pton(AF_INET, number, &address.v4.sin_addr) == 1) {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(to->port);
        return connect_to(connection, &address.any, sizeof address.v4);
    }
    if (inet_pton(AF_INET6, number, &address.v6.sin6_addr) == 1) {
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(to->port);
        return connect_to(connection, &address.any, sizeof address.v6);
    }
    return CPT_UNAVAILABLE;
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

/* What the call waited for a connection has been used of its slack. */
static void slack_write(struct cpti_http_text *text,
                        const struct cpt_transport_call *call, uint64_t timeout_ns)
{
    const uint64_t waited_ns =
        call->timeout_ns > timeout_ns ? call->timeout_ns - timeout_ns : 0;

    if (call->slack_ns > waited_ns && call->slack_ns - waited_ns >= CPTI_NS_PER_US) {
        CPTI_HTTP_TEXT_PUT(text, CPT_HEADER_SLACK ": ");
        cpti_http_text_number(text, (call->slack_ns - waited_ns) / CPTI_NS_PER_US);
        CPTI_HTTP_TEXT_PUT(text, "\r\n");
    }
}

static void head_write(struct cpti_http_connection *connection,
                       const struct cpt_transport_call *call, uint64_t timeout_ns)
{
    struct cpti_http_text *text = &connection->head;

    cpti_http_text_reset(text);
    cpti_http_text_put(text, cpti_http_route_verb(call));
    CPTI_HTTP_TEXT_PUT(text, " ");
    cpti_http_text_put(text, cpt_bytes_of(call->method));
    CPTI_HTTP_TEXT_PUT(text, " HTTP/1.1\r\n");
    cpti_http_text_header(text, "Host", cpt_bytes_of(connection->address->host_header));
    if (call->critical_path.bytes > 0) {
        cpti_http_text_header(text, CPT_HEADER_ASK, call->critical_path);
        cpti_http_text_header(text, CPT_HEADER_NONCE, call->nonce);
    }
    cpti_http_text_header(text, CPT_HEADER_TRACEPARENT, call->traceparent);
    cpti_http_text_header(text, CPT_HEADER_TRACESTATE, call->tracestate);
    if (call->has_deadline) {
        CPTI_HTTP_TEXT_PUT(text, CPT_HEADER_TIMEOUT ": ");
        cpti_http_text_number(text, timeout_ns / CPTI_NS_PER_US);
        CPTI_HTTP_TEXT_PUT(text, "\r\n");
    }
    if (call->slack_ns != 0) {
        slack_write(text, call, timeout_ns);
    }
    cpti_http_route_ask(connection->http, call->headers, call->header_count, text);
    if (call->body.bytes > 0 || cpti_http_route_has_length(call->verb)) {
        CPTI_HTTP_TEXT_PUT(text, "Content-Length: ");
        cpti_http_text_number(text, call->body.bytes);
        CPTI_HTTP_TEXT_PUT(text, "\r\n");
    }
    CPTI_HTTP_TEXT_PUT(text, "\r\n");
}

static cpt_status send_request(struct cpti_http_connection *connection)
{
    if (connection->head.is_bad) {
        return CPT_NO_MEMORY;
    }
    if (connection->descriptor < 0) {
        return open_connection(connection);
    }
    if (is_spoilt(connection)) {
        return CPT_IO;
    }
    write_request(connection);
    return CPT_OK;
}

void cpti_http_connection_send(struct cpti_http_connection *connection,
                               const struct cpt_transport_call *call, void *tag,
                               uint64_t timeout_ns)
{
    cpt_status status = CPT_OK;

    connection->state = CPTI_HTTP_CONNECTION_BUSY;
    connection->tag = tag;
    connection->body = call->body;
    connection->sent_bytes = 0;
    connection->received_bytes = 0;
    connection->is_broken = false;
    connection->is_written = false;
    connection->is_measured = call->critical_path.bytes > 0;
    connection->begun_ns = 0;
    connection->send_queue_ns = 0;
    cpti_http_parser_begin(&connection->input.parser);
    connection->input.parser.has_no_body =
        cpt_bytes_equal(call->verb, cpt_bytes_of("HEAD"));
    head_write(connection, call, timeout_ns);
    connection->failure = CPT_OK;
    connection->is_limited_unknown |=
        !connection->is_measured &&
        connection->head.bytes + connection->body.bytes > ANY_WINDOW_BYTES;
    status = send_request(connection);
    if (status != CPT_OK) {
        if (connection->descriptor >= 0) {
            (void)event_del(&connection->reading); /* what came is no reply to it */
        }
        connection->failure = status;
        post(connection);
    }
}

/* --- Making and freeing --- */

static void connection_free(struct cpti_http_connection *connection)
{
    const struct cpt_alloc *alloc = connection->http->alloc;

    cpti_http_input_clear(connection->http, &connection->input);
    cpti_http_text_deinit(&connection->head);
    cpt_alloc_free(alloc, connection);
}

static void run(struct cpt_work *work)
{
    struct cpti_http_connection *connection =
        CPTI_CONTAINER(work, struct cpti_http_connection, work);

    connection->is_posted = false;
    if (connection->state == CPTI_HTTP_CONNECTION_RETIRED) {
        connection_free(connection);
    } else if (connection->state == CPTI_HTTP_CONNECTION_BUSY) {
        report_failure(connection, connection->failure);
    }
}

static void close_socket(struct cpti_http_connection *connection)
{
    if (connection->descriptor >= 0) {
        (void)event_del(&connection->reading);
        (void)event_del(&connection->writing);
        if (connection->tls != NULL) {
            cpti_tls_end(connection->tls);
            cpti_tls_free(connection->tls);
            connection->tls = NULL;
        }
        (void)close(connection->descriptor);
        connection->descriptor = -1;
    }
}

void cpti_http_connection_retire(struct cpti_http_connection *connection)
{
    connection->state = CPTI_HTTP_CONNECTION_RETIRED;
    close_socket(connection);
    post(connection);
    if (!connection->is_posted) {
        connection_free(connection);
    }
}

struct cpti_http_connection *
cpti_http_connection_new(struct cpt_http *http, const struct cpti_http_address *address,
                         const struct cpti_http_connection_owner *owner)
{
    const struct cpti_http_limits limits = {http->options.header_bytes_max,
                                            http->options.body_bytes_max};
    struct cpti_http_connection *connection =
        cpt_alloc_zeroed(http->alloc, sizeof(*connection));

    if (connection == NULL) {
        return NULL;
    }
    connection->work.run = run;
    connection->http = http;
    connection->address = address;
    connection->owner = *owner;
    connection->descriptor = -1;
    connection->head.alloc = http->alloc;
    cpti_http_parser_init(&connection->input.parser, true, limits);
    return connection;
}
