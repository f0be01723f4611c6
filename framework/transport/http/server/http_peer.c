/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_peer.c - a connection that a client has opened: bytes in, replies out
 *
 *      reading --a whole request--> served --reply--> reading ... --> closed
 *         \--refused--> answered --> lingering ----------------------^
 *
 * Reading. While a request is served, or its reply is being sent, nothing is read: what
 * the client sends ahead (a pipeline) waits in the buffer as far as it has come with
 * the request, else in the system's.
 *
 * The event for reading stays added while a request is served, as most are answered
 * before anything else comes; that saves two calls of the system for each. If it fires
 * nevertheless, one byte is peeked at: there is none if the client has closed its
 * side, and then it wants no reply. If there is one, we wait for the end without
 * reading (EV_CLOSED). A reset is told as readable only, and again and again; so that
 * event is edge-triggered: told once for each change.
 *
 * Writing. A reply's head and body go out in one call. What the socket does not take
 * is copied, and sent when it takes more.
 *
 * Lingering. A request that is refused may go on, unread, or more may lie behind one
 * that is the last. A connection that is closed with bytes unread is reset, and what
 * the client has not taken of the reply is lost. So its own side is closed
 * first, and for a while what comes is dropped.
 *
 * Ends. cpti_http_peer_close() closes at once; the memory is freed when nothing up the
 * stack holds it.
 *
 * TLS. Bytes pass socket_read() and socket_write(), which have them from TLS or from
 * the socket. The handshake comes first. Bytes that were received,
 * but lie in TLS, wake no event of the socket: so when we read again, and when a read
 * may have left some, the event for reading is made to fire once more.
 */
#include "framework/transport/http/server/http_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DROP_BYTES = 16 << 10, BAD_REQUEST = 400 };

#define NO_MEMORY_REPLY                                                                \
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: "        \
    "0\r\n\r\n"

#define PLAIN_REPLY                                                                    \
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"    \
    "Content-Length: 32\r\n\r\nthis port takes TLS only: https\n"

/* --- The socket --- */

/* Bytes read; 0: the end; -1: none now; -2: it is broken. */
static ssize_t socket_read(const struct cpti_http_peer *peer, void *data, size_t bytes)
{
    ssize_t got = 0;

    if (peer->tls != NULL) {
        return cpti_tls_read(peer->tls, data, bytes);
    }
    got = recv(peer->descriptor, data, bytes, MSG_DONTWAIT);
    if (got >= 0) {
        return got;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? -1 : -2;
}

/* Bytes written, maybe 0; -2: it is broken. */
static ssize_t socket_write(const struct cpti_http_peer *peer, struct iovec *parts,
                            size_t count)
{
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    ssize_t sent = 0;

    if (peer->tls != NULL) {
        return cpti_tls_write(peer->tls, parts, count);
    }
    sent = sendmsg(peer->descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
        return sent;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -2;
}

/* What TLS has received already is read soon, as no event of the socket tells of it. */
static void read_held(struct cpti_http_peer *peer)
{
    if (peer->tls != NULL && peer->is_reading && cpti_tls_has_bytes(peer->tls)) {
        event_active(&peer->reading, EV_TIMEOUT, 1);
    }
}

void cpti_http_peer_say(struct cpti_http_peer *peer, const char *text)
{
    struct iovec part = {(void *)(uintptr_t)text, strlen(text)};

    if (!peer->is_shaking) {
        (void)socket_write(peer, &part, 1);
    }
}

/* --- The end --- */

static void peer_free(struct cpti_http_peer *peer)
{
    struct cpt_http *http = peer->http;

    cpti_http_input_clear(http, &peer->input);
    cpt_alloc_free(http->alloc, peer->output);
    cpt_alloc_free(http->alloc, peer);
}

void cpti_http_peer_release(struct cpti_http_peer *peer)
{
    if (--peer->hold_count == 0 && peer->is_closed) {
        peer_free(peer);
    }
}

void cpti_http_peer_close(struct cpti_http_peer *peer)
{
    struct cpti_http_exchange *exchange = peer->exchange;

    if (peer->is_closed) {
        return;
    }
    peer->is_closed = true;
    (void)event_del(&peer->reading);
    (void)event_del(&peer->writing);
    (void)event_del(&peer->closing);
    if (peer->tls != NULL) {
        cpti_tls_end(peer->tls);
        cpti_tls_free(peer->tls);
        peer->tls = NULL;
    }
    (void)close(peer->descriptor);
    if (peer->output != NULL) {
        cpti_http_budget_unsent(peer, 0);
        if (peer->is_undelivered) {
            cpti_http_count(peer->http, CPTI_HTTP_COUNTER_replies_undelivered);
        }
    }
    cpti_http_budget_keep(peer, 0);
    cpti_http_accepted_remove(peer);
    peer->exchange = NULL;
    if (peer->hold_count == 0) {
        peer_free(peer);
    }
    if (exchange != NULL) {
        cpti_http_exchange_leave(exchange);
    }
}

/* --- Writing --- */

static void unwatch(struct cpti_http_peer *peer)
{
    if (peer->is_watched) {
        peer->is_watched = false;
        (void)event_del(&peer->closing);
    }
}

/* false: it is closed. */
static bool read_later(struct cpti_http_peer *peer)
{
    unwatch(peer);
    if (!peer->is_reading) {
        peer->is_reading = event_add(&peer->reading, NULL) == 0;
        if (!peer->is_reading) {
            cpti_http_peer_close(peer);
            return false;
        }
    }
    return true;
}

static void read_again(struct cpti_http_peer *peer)
{
    if (read_later(peer)) {
        read_held(peer);
    }
}

/* Whether the client has sent what is not read, or not parsed. */
static bool has_unread(const struct cpti_http_peer *peer)
{
    char byte = 0;

    return peer->input.parser.state == CPTI_HTTP_IS_REFUSED ||
           peer->input.raw_at < peer->input.bytes ||
           (peer->tls != NULL && cpti_tls_has_bytes(peer->tls)) ||
           recv(peer->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void linger(struct cpti_http_peer *peer)
{
    if (peer->tls != NULL) {
        cpti_tls_end(peer->tls);
    }
    (void)shutdown(peer->descriptor, SHUT_WR);
    if (!peer->is_served) {
        cpti_http_input_clear(peer->http, &peer->input);
    }
    peer->is_lingering = true;
    cpti_http_budget_keep(peer, 0);
    cpti_http_budget_linger(peer);
    read_again(peer);
}

/* Nothing is left to send. */
static void sent(struct cpti_http_peer *peer)
{
    if (peer->is_last && has_unread(peer)) {
        linger(peer);
    } else if (peer->is_last) {
        cpti_http_peer_close(peer);
    }
}

void cpti_http_peer_cut(struct cpti_http_peer *peer, const char *text)
{
    if (peer->is_shaking || peer->is_served || peer->output != NULL) {
        cpti_http_peer_close(peer);
        return;
    }
    cpti_http_peer_say(peer, text);
    peer->is_last = true;
    linger(peer); /* the rest of the request may be on its way */
}

/* Keeps what is left of @parts after @done bytes. false without memory. */
static bool output_keep(struct cpti_http_peer *peer, const struct iovec *parts,
                        size_t count, size_t done)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += parts[i].iov_len;
    }
    peer->output = cpt_alloc_array(peer->http->alloc, NULL, bytes - done, 1);
    if (peer->output == NULL) {
        return false;
    }
    peer->output_at = 0;
    peer->output_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t skipped = done < parts[i].iov_len ? done : parts[i].iov_len;

        done -= skipped;
        if (parts[i].iov_len > skipped) {
            memcpy(peer->output + peer->output_bytes,
                   (const char *)parts[i].iov_base + skipped,
                   parts[i].iov_len - skipped);
            peer->output_bytes += parts[i].iov_len - skipped;
        }
    }
    cpti_http_budget_unsent(peer, peer->output_bytes);
    return true;
}

static void send_parts(struct cpti_http_peer *peer, struct iovec *parts, size_t count)
{
    const size_t bytes = parts[0].iov_len + (count > 1 ? parts[1].iov_len : 0);
    const ssize_t done = socket_write(peer, parts, count);

    if (done >= 0 && (size_t)done == bytes) {
        sent(peer);
        return;
    }
    if (done < 0 || !output_keep(peer, parts, count, (size_t)done) ||
        event_add(&peer->writing, NULL) != 0) {
        if (peer->is_undelivered && peer->output == NULL) {
            cpti_http_count(peer->http, CPTI_HTTP_COUNTER_replies_undelivered);
        }
        cpti_http_peer_close(peer);
    }
}

/* Whether the verb is HEAD; a request that is refused may have no whole head. */
static bool asks_head(const struct cpti_http_input *input)
{
    const size_t at = input->head_bytes > 0 ? input->head_at : input->raw_at;

    return input->parser.verb_bytes == 4 && memcmp(input->data + at, "HEAD", 4) == 0;
}

void cpti_http_peer_reply(struct cpti_http_peer *peer,
                          const struct cpti_http_reply *reply)
{
    struct cpti_http_text *text = &peer->http->accepted.text;
    const bool is_head = asks_head(&peer->input);
    const bool has_body =
        reply->body.bytes > 0 && !is_head && cpti_http_has_body(reply->status);
    struct iovec parts[2];

    if (peer->is_closed) {
        return;
    }
    peer->exchange = NULL;
    unwatch(peer); /* no edge-triggered event beside that for writing */
    peer->is_last = reply->closes || peer->http->is_draining ||
                    !cpti_http_parser_keeps(&peer->input.parser);
    peer->is_undelivered = reply->is_of_service;
    peer->tick = peer->http->accepted.idle_tick;
    cpti_http_text_reset(text);
    cpti_http_reply_write(peer->http, text, reply, &peer->input.parser, peer->is_last);
    parts[0] = (struct iovec){text->data, text->bytes};
    parts[1] = (struct iovec){(void *)(uintptr_t)reply->body.data, reply->body.bytes};
    if (text->is_bad) {
        peer->is_last = true;
        parts[0] = (struct iovec){(void *)(uintptr_t)NO_MEMORY_REPLY,
                                  sizeof(NO_MEMORY_REPLY) - 1};
    }
    send_parts(peer, parts, has_body && !text->is_bad ? 2 : 1);
}

static void output_write(struct cpti_http_peer *peer)
{
    struct iovec rest = {peer->output + peer->output_at,
                         peer->output_bytes - peer->output_at};
    const ssize_t done = socket_write(peer, &rest, 1);

    if (done < 0) {
        cpti_http_peer_close(peer);
        return;
    }
    peer->tick = peer->http->accepted.idle_tick;
    peer->output_at += (size_t)done;
    if (peer->output_at < peer->output_bytes) {
        if (done > 0) {
            cpti_http_budget_unsent(peer, peer->output_bytes);
        }
        return;
    }
    (void)event_del(&peer->writing);
    cpt_alloc_free(peer->http->alloc, peer->output);
    peer->output = NULL;
    cpti_http_budget_unsent(peer, 0);
    cpti_http_peer_hold(peer);
    sent(peer);
    cpti_http_peer_continue(peer);
    cpti_http_peer_release(peer);
}

/* --- Reading --- */

static void refuse(struct cpti_http_peer *peer, unsigned status, const char *reason)
{
    char body[128];
    struct cpti_http_reply reply = {.status = status,
                                    .content_type =
                                        cpt_bytes_of("text/plain; charset=utf-8"),
                                    .closes = true};
    const int bytes = snprintf(body, sizeof body, "%s\n", reason);

    peer->input.parser.state = CPTI_HTTP_IS_REFUSED;
    cpti_http_count(peer->http, CPTI_HTTP_COUNTER_requests_refused);
    cpti_http_refused(peer, cpti_http_refusal_of(status), status, cpt_bytes_of(""),
                      reason);
    reply.body = (struct cpt_bytes){body, (size_t)bytes};
    cpti_http_peer_reply(peer, &reply);
}

/* The client waits for it before it sends the body. If the socket takes none of it now,
 * the client sends the body after a while. */
static void say_continue(struct cpti_http_peer *peer)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec part = {(void *)(uintptr_t)text, sizeof text - 1};
    const ssize_t done = socket_write(peer, &part, 1);
    const bool is_partial = done > 0 || peer->tls != NULL; /* that may keep a record */

    if (done < 0 || (is_partial && (size_t)done < sizeof text - 1)) {
        cpti_http_peer_close(peer);
    }
}

/* The head is there, but not the body. */
static void head_seen(struct cpti_http_peer *peer)
{
    const struct cpti_http_input *input = &peer->input;

    if (input->parser.expects_continue && !input->parser.is_old &&
        input->parser.state != CPTI_HTTP_IS_DONE && input->raw_at == input->bytes) {
        say_continue(peer);
    }
}

/* Parses one thing more. false: it waits for more. */
static bool step(struct cpti_http_peer *peer)
{
    switch (cpti_http_input_step(&peer->input)) {
    case CPTI_HTTP_STEP_WAIT:
        return false;
    case CPTI_HTTP_STEP_HEAD:
        head_seen(peer);
        return true;
    case CPTI_HTTP_STEP_DONE:
        peer->is_served = true;
        cpti_http_exchange_begin(peer);
        return true;
    case CPTI_HTTP_STEP_REFUSE:
        refuse(peer, peer->input.parser.refusal, peer->input.parser.reason);
        return false;
    default:
        return true;
    }
}

static bool may_read(const struct cpti_http_peer *peer)
{
    return !peer->is_closed && !peer->is_served && peer->output == NULL &&
           !peer->is_last;
}

/* Parses what has come, up to a request that is not answered at once. */
static void advance(struct cpti_http_peer *peer)
{
    if (peer->is_advancing) {
        return;
    }
    peer->is_advancing = true;
    while (may_read(peer) && peer->input.data != NULL && step(peer)) {
    }
    peer->is_advancing = false;
}

static void read_rest(struct cpti_http_peer *peer)
{
    peer->is_reading = false;
    (void)event_del(&peer->reading);
}

void cpti_http_peer_continue(struct cpti_http_peer *peer)
{
    if (peer->is_closed) {
        return;
    }
    if (peer->is_lingering) {
        cpti_http_input_clear(peer->http, &peer->input);
        return;
    }
    if (peer->is_served) {
        peer->is_served = false;
        cpti_http_input_next(peer->http, &peer->input);
    }
    cpti_http_budget_keep(peer, cpti_http_input_kept(&peer->input));
    if (peer->output != NULL) { /* the client does not take its reply */
        return;
    }
    cpti_http_peer_hold(peer);
    advance(peer);
    if (!peer->is_closed && may_read(peer) && cpti_http_budget_seen(peer, 0)) {
        read_again(peer);
    }
    cpti_http_peer_release(peer);
}

/* The client sends, or has closed its side, while a request is served. */
static void look_ahead(struct cpti_http_peer *peer)
{
    char byte = 0;
    const ssize_t got =
        recv(peer->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT | MSG_NOSIGNAL);

    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        return;
    }
    read_rest(peer);
    if (got > 0 && peer->http->sees_closed) {
        peer->is_watched = event_add(&peer->closing, NULL) == 0;
    } else if (got <= 0 && peer->exchange != NULL) {
        cpti_http_exchange_abandon(peer->exchange);
    }
}

/* The client has sent more, has closed its side, or has reset the connection. */
static void on_closing(evutil_socket_t descriptor, short what, void *context)
{
    struct cpti_http_peer *peer = context;
    struct pollfd state = {.fd = descriptor, .events = POLLRDHUP};

    (void)what;
    if (poll(&state, 1, 0) <= 0) {
        return;
    }
    unwatch(peer);
    if (peer->exchange != NULL) {
        cpti_http_exchange_abandon(peer->exchange);
    }
}

/* Of TLS not even the records are looked at. */
static void drop_input(struct cpti_http_peer *peer)
{
    char dropped[DROP_BYTES];
    const ssize_t got = recv(peer->descriptor, dropped, sizeof dropped, MSG_DONTWAIT);

    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        cpti_http_peer_close(peer);
    }
}

static void read_more(struct cpti_http_peer *peer)
{
    struct cpti_http_input *input = &peer->input;
    ssize_t got = 0;

    if (!cpti_http_input_room(peer->http, input)) {
        cpti_http_peer_close(peer);
        return;
    }
    got = socket_read(peer, input->data + input->bytes, input->capacity - input->bytes);
    if (got == -1) {
        if (peer->tls != NULL) {
            (void)cpti_http_budget_record(peer, cpti_tls_has_bytes(peer->tls));
        }
        return;
    }
    if (got <= 0) {
        cpti_http_peer_close(peer);
        return;
    }
    peer->tick = peer->http->accepted.idle_tick;
    input->bytes += (size_t)got;
    advance(peer);
    if (!peer->is_closed && cpti_http_budget_seen(peer, (size_t)got)) {
        read_held(peer);
    }
}

/* --- The TLS handshake --- */

static void shake_failed(struct cpti_http_peer *peer)
{
    static const enum cpti_http_counter_id counters[] = {
        [CPTI_TLS_FAILURE_NONE] = CPTI_HTTP_COUNTER_tls_failed_protocol,
        [CPTI_TLS_FAILURE_CLOSED] = CPTI_HTTP_COUNTER_tls_failed_closed,
        [CPTI_TLS_FAILURE_PLAIN] = CPTI_HTTP_COUNTER_tls_failed_plain,
        [CPTI_TLS_FAILURE_CERTIFICATE] = CPTI_HTTP_COUNTER_tls_failed_certificate,
        [CPTI_TLS_FAILURE_REFUSED] = CPTI_HTTP_COUNTER_tls_failed_refused,
        [CPTI_TLS_FAILURE_PROTOCOL] = CPTI_HTTP_COUNTER_tls_failed_protocol,
    };
    const enum cpti_tls_failure failure = cpti_tls_failure(peer->tls);
    const bool is_plain = failure == CPTI_TLS_FAILURE_PLAIN;
    char why[CPTI_TLS_REASON_BYTES];
    char sentence[CPTI_TLS_REASON_BYTES + 32];

    cpti_tls_reason(peer->tls, why);
    (void)snprintf(sentence, sizeof sentence, "TLS handshake failed: %s", why);
    if (failure != CPTI_TLS_FAILURE_CLOSED) {
        cpti_http_refused(peer, CPT_REFUSAL_MALFORMED, is_plain ? BAD_REQUEST : 0,
                          cpt_bytes_of(""), sentence);
    }
    cpti_tls_free(peer->tls); /* it has sent its alert */
    peer->tls = NULL;
    peer->is_shaking = false;
    (void)event_del(&peer->writing);
    if (is_plain) {
        cpti_http_peer_say(peer, PLAIN_REPLY);
    }
    peer->is_last = true;
    sent(peer);
    cpti_http_count(peer->http, counters[failure]);
}

static void shaken(struct cpti_http_peer *peer)
{
    cpti_http_count(peer->http, CPTI_HTTP_COUNTER_tls_handshakes);
    if (cpti_tls_is_resumed(peer->tls)) {
        cpti_http_count(peer->http, CPTI_HTTP_COUNTER_tls_resumed);
    }
    peer->is_shaking = false;
    peer->tick = peer->http->accepted.idle_tick;
    (void)event_del(&peer->writing);
    (void)cpti_http_budget_shake(peer, true);
    read_again(peer);
}

/* Goes on with the handshake. While it waits until it can write, it does not read:
 * what the client sends meanwhile would wake it again and again. */
static void shake(struct cpti_http_peer *peer)
{
    switch (cpti_tls_handshake(peer->tls)) {
    case CPTI_TLS_DONE:
        shaken(peer);
        return;
    case CPTI_TLS_WANTS_READ:
        (void)event_del(&peer->writing);
        (void)read_later(peer); /* what lies here is a part of a record */
        return;
    case CPTI_TLS_WANTS_WRITE:
        read_rest(peer);
        if (event_add(&peer->writing, NULL) != 0) {
            cpti_http_peer_close(peer);
        }
        return;
    default:
        shake_failed(peer);
    }
}

static void on_writable(evutil_socket_t descriptor, short what, void *context)
{
    struct cpti_http_peer *peer = context;

    (void)descriptor;
    (void)what;
    if (peer->is_shaking) {
        cpti_http_peer_hold(peer);
        shake(peer);
        cpti_http_peer_release(peer);
    } else {
        output_write(peer);
    }
}

static void on_readable(evutil_socket_t descriptor, short what, void *context)
{
    struct cpti_http_peer *peer = context;

    (void)descriptor;
    cpti_http_peer_hold(peer);
    if (peer->tls != NULL && (what & EV_READ) != 0) {
        cpti_tls_may_receive(peer->tls);
    }
    if (peer->is_shaking) {
        shake(peer);
    } else if (peer->is_lingering) {
        drop_input(peer);
    } else if (may_read(peer)) {
        read_more(peer);
    } else if (peer->is_served && peer->output == NULL) {
        look_ahead(peer);
    } else {
        read_rest(peer);
    }
    cpti_http_peer_release(peer);
}

/* --- The request --- */

/* "http://host:port/path?query": the authority is taken off *@target. */
static bool authority_take(struct cpt_bytes *target, struct cpt_bytes *authority)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t bytes = strlen(schemes[i]);
        const struct cpt_bytes begin = {target->data, bytes};

        if (target->bytes < bytes || !cpti_http_is_same(begin, schemes[i])) {
            continue;
        }
        authority->data = target->data + bytes;
        while (bytes + authority->bytes < target->bytes &&
               memchr("/?", authority->data[authority->bytes], 2) == NULL) {
            authority->bytes++;
        }
        target->data += bytes + authority->bytes;
        target->bytes -= bytes + authority->bytes;
        return authority->bytes > 0 &&
               memchr(authority->data, '@', authority->bytes) == NULL;
    }
    return false;
}

static bool target_split(struct cpt_bytes target, struct cpti_http_request *request)
{
    const char *mark = NULL;

    if (target.data[0] != '/' && !authority_take(&target, &request->authority)) {
        request->path = target;
        return target.bytes == 1 && target.data[0] == '*';
    }
    mark = target.bytes > 0 ? memchr(target.data, '?', target.bytes) : NULL;
    request->path = target;
    if (mark != NULL) {
        request->path.bytes = (size_t)(mark - target.data);
        request->query =
            (struct cpt_bytes){mark + 1, target.bytes - request->path.bytes - 1};
    }
    if (request->path.bytes == 0) {
        request->path = cpt_bytes_of("/");
    }
    return true;
}

bool cpti_http_peer_request(const struct cpti_http_peer *peer,
                            struct cpti_http_request *request)
{
    const struct cpti_http_parser *parser = &peer->input.parser;
    const char *head = cpti_http_input_head(&peer->input);

    memset(request, 0, sizeof *request);
    request->parser = parser;
    request->head = (struct cpt_bytes){head, peer->input.head_bytes};
    request->body = cpti_http_input_body(&peer->input);
    request->verb = (struct cpt_bytes){head, parser->verb_bytes};
    request->query = cpt_bytes_of("");
    return target_split(
        (struct cpt_bytes){head + parser->verb_bytes + 1, parser->target_bytes},
        request);
}

/* --- Opening --- */

/* IPv4 as IPv6, and as text; an IPv4-mapped IPv6 address as plain IPv4, as networks are
 * written. */
static void address_read(struct cpti_http_peer *peer, const struct sockaddr *address)
{
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const void *from = NULL;
    int family = AF_INET;

    if (address->sa_family == AF_INET6) {
        memcpy(peer->address,
               &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    } else if (address->sa_family == AF_INET) {
        memcpy(peer->address, mapped, sizeof mapped);
        memcpy(peer->address + 12,
               &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    } else {
        return;
    }
    from = peer->address + 12;
    if (memcmp(peer->address, mapped, sizeof mapped) != 0) {
        family = AF_INET6;
        from = peer->address;
    }
    (void)inet_ntop(family, from, peer->text_address, sizeof peer->text_address);
}

static struct cpti_http_peer *peer_new(struct cpti_http_server *server,
                                       struct cpt_http *http, int descriptor)
{
    const struct cpti_http_limits limits = {http->options.header_bytes_max,
                                            cpti_http_body_max(server)};
    struct cpti_tls_context *tls = cpti_http_server_tls(server);
    struct cpti_http_peer *peer = cpt_alloc_zeroed(http->alloc, sizeof *peer);

    if (peer == NULL) {
        return NULL;
    }
    peer->http = http;
    peer->server = server;
    peer->descriptor = descriptor;
    peer->tick = http->accepted.idle_tick;
    cpti_http_parser_init(&peer->input.parser, false, limits);
    if (event_assign(&peer->reading, http->base, descriptor, EV_READ | EV_PERSIST,
                     on_readable, peer) != 0 ||
        event_assign(&peer->writing, http->base, descriptor, EV_WRITE | EV_PERSIST,
                     on_writable, peer) != 0 ||
        event_assign(&peer->closing, http->base, descriptor,
                     EV_CLOSED | EV_READ | EV_ET | EV_PERSIST, on_closing, peer) != 0 ||
        event_add(&peer->reading, NULL) != 0) {
        cpt_alloc_free(http->alloc, peer);
        return NULL;
    }
    peer->is_reading = true;
    peer->is_shaking = tls != NULL;
    if (tls != NULL) {
        peer->tls = cpti_tls_accept_new(tls, descriptor);
    }
    if ((tls != NULL && peer->tls == NULL) || !cpti_http_accepted_add(peer)) {
        (void)event_del(&peer->reading);
        cpti_tls_free(peer->tls);
        cpt_alloc_free(http->alloc, peer);
        return NULL;
    }
    return peer;
}

void cpti_http_peer_open(struct cpti_http_server *server, int descriptor,
                         const struct sockaddr *address)
{
    struct cpt_http *http = cpti_http_loop_here();
    struct cpti_http_peer *peer = peer_new(server, http, descriptor);

    if (peer == NULL) {
        if (cpti_http_server_tls(server) == NULL) {
            (void)send(descriptor, NO_MEMORY_REPLY, sizeof(NO_MEMORY_REPLY) - 1,
                       MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        (void)close(descriptor);
        return;
    }
    address_read(peer, address);
    if (cpti_http_budget_accepted(peer) && peer->is_shaking) {
        (void)cpti_http_budget_shake(peer, false);
    }
}
