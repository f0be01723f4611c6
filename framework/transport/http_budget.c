/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_budget.c - what clients may take before their requests begin
 *
 * evhttp keeps a request in memory until all of it is there, and only then reports it.
 * So before a service can refuse anything, clients that send slowly, or never finish,
 * hold connections and memory. Three limits, each of which cuts off the connection that
 * exceeds it:
 *
 *      bytes    of all requests that are not answered yet: input_bytes_max
 *      time     for a head, header_ns; for a body, body_ns and a second more for each
 *               body_bytes_per_second_min that have come
 *      clients  connections from one address: accepted_per_address_max
 *
 * Time is looked at by a sweep over all connections, several times within the shortest
 * deadline, and only while a request is incomplete. The time of a request that waits
 * behind one that is being served begins when that is answered, as we do not read then.
 *
 * A connection that is cut off gets a short reply, if nothing else is to be sent there,
 * and is shut down. evhttp then sees its end and frees it.
 */
#include "framework/transport/http_loop.h"

#include "cpt/now.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define REPLY_END "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

enum { SWEEPS = 4 /* in the shortest deadline */ };

#define SWEEP_MAX_NS CPTI_NS_PER_S
#define SWEEP_MIN_NS (CPTI_NS_PER_S / 1000)

/* --- Cutting off --- */

/* Whether @peer has requests that are not answered, but for one that is incomplete. */
static bool has_unanswered(const struct cpti_http_peer *peer)
{
    const struct cpti_http_message *message = &peer->gate.message;
    const uint64_t complete =
        message->count - (message->state != CPTI_HTTP_HEAD && message->count > 0);

    return peer->is_served || complete > peer->request_count;
}

static void cut(struct cpti_http_peer *peer, const char *reply,
                enum cpti_http_counter_id id)
{
    struct bufferevent *buffers = peer->gate.buffers;
    struct evbuffer *input = bufferevent_get_input(buffers);
    const int descriptor = bufferevent_getfd(buffers);

    cpti_http_count(peer->http, id);
    peer->is_cut = true;
    peer->begun_ns = 0;
    cpti_http_budget_keep(peer, 0);
    if (reply != NULL && !has_unanswered(peer) &&
        evbuffer_get_length(bufferevent_get_output(buffers)) == 0) {
        (void)send(descriptor, reply, strlen(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    (void)evbuffer_drain(input, evbuffer_get_length(input));
    (void)shutdown(descriptor, SHUT_RDWR);
}

/* --- Bytes --- */

void cpti_http_budget_keep(struct cpti_http_peer *peer, size_t bytes)
{
    struct cpti_http_accepted *accepted = &peer->http->accepted;

    accepted->input_bytes -= peer->bytes;
    peer->bytes = bytes;
    accepted->input_bytes += bytes;
    cpti_http_set(peer->http, CPTI_HTTP_COUNTER_input_bytes, accepted->input_bytes);
}

static size_t unread_bytes(const struct cpti_http_peer *peer)
{
    return evbuffer_get_length(bufferevent_get_input(peer->gate.buffers)) +
           (peer->gate.held != NULL ? evbuffer_get_length(peer->gate.held) : 0);
}

void cpti_http_budget_request(struct cpti_http_peer *peer, size_t body_bytes)
{
    if (!peer->is_cut) {
        cpti_http_budget_keep(peer, body_bytes + unread_bytes(peer));
    }
}

/* --- Time --- */

/* Whether a request of @peer is incomplete. */
static bool is_open(const struct cpti_http_peer *peer)
{
    const struct cpti_http_message *message = &peer->gate.message;

    return message->state != CPTI_HTTP_REFUSED &&
           (message->state != CPTI_HTTP_HEAD || message->line_at > 0 ||
            message->searched_bytes > 0 || message->blank_count > 0);
}

static bool is_late(const struct cpti_http_peer *peer, uint64_t now_ns)
{
    const struct cpt_http_options *options = &peer->http->options;
    uint64_t allowed_ns = options->header_ns;

    if (peer->is_in_body) {
        allowed_ns = options->body_ns + peer->open_bytes * CPTI_NS_PER_S /
                                            options->body_bytes_per_second_min;
    }
    return peer->begun_ns != 0 && !peer->is_served && now_ns > peer->begun_ns &&
           now_ns - peer->begun_ns > allowed_ns;
}

static void sweep_later(struct cpt_http *http);

static void on_sweep(struct cpt_timer *timer)
{
    struct cpt_http *http = CPTI_CONTAINER(timer, struct cpt_http, accepted.sweep);
    const uint64_t now_ns = cpti_now_ns();
    bool is_any_open = false;

    http->accepted.is_sweeping = false;
    for (size_t i = 0; i < http->accepted.count; i++) {
        struct cpti_http_peer *peer = http->accepted.items[i];

        if (is_late(peer, now_ns)) {
            cut(peer, "HTTP/1.1 408 Request Timeout" REPLY_END,
                CPTI_HTTP_COUNTER_cut_slow);
        }
        is_any_open |= peer->begun_ns != 0;
    }
    if (is_any_open) {
        sweep_later(http);
    }
}

static void sweep_later(struct cpt_http *http)
{
    const struct cpt_http_options *options = &http->options;
    uint64_t delay_ns =
        options->header_ns < options->body_ns ? options->header_ns : options->body_ns;

    delay_ns /= SWEEPS;
    delay_ns = delay_ns > SWEEP_MAX_NS ? SWEEP_MAX_NS : delay_ns;
    delay_ns = delay_ns < SWEEP_MIN_NS ? SWEEP_MIN_NS : delay_ns;
    http->accepted.sweep.fire = on_sweep;
    http->accepted.is_sweeping =
        http->accepted.is_sweeping ||
        cpti_http_loop_after(http, &http->accepted.sweep, delay_ns) == CPT_OK;
}

/* Begins a deadline, or goes on with it, after @bytes have come. */
static void time_note(struct cpti_http_peer *peer, size_t bytes)
{
    const struct cpti_http_message *message = &peer->gate.message;
    const bool is_in_body = message->state != CPTI_HTTP_HEAD;

    if (!is_open(peer)) {
        peer->begun_ns = 0;
        return;
    }
    if (peer->begun_ns == 0 || peer->begun_count != message->count ||
        peer->is_in_body != is_in_body) {
        peer->begun_ns = cpti_now_ns();
        peer->begun_count = message->count;
        peer->is_in_body = is_in_body;
        peer->open_bytes = 0;
    }
    peer->open_bytes += bytes;
    sweep_later(peer->http);
}

void cpti_http_budget_answered(struct cpti_http_peer *peer)
{
    peer->is_served = false;
    if (!peer->is_cut) {
        cpti_http_budget_keep(peer, unread_bytes(peer));
    }
    if (peer->begun_ns != 0) {
        peer->begun_ns = cpti_now_ns();
    }
}

void cpti_http_budget_seen(struct cpti_http_gate *gate, size_t bytes)
{
    struct cpti_http_peer *peer = CPTI_CONTAINER(gate, struct cpti_http_peer, gate);
    struct cpt_http *http = peer->http;

    if (peer->is_cut) {
        return;
    }
    cpti_http_budget_keep(peer, peer->bytes + bytes);
    time_note(peer, bytes);
    if (http->accepted.input_bytes > http->options.input_bytes_max) {
        cpti_http_accepted_reap(http);
    }
    if (http->accepted.input_bytes > http->options.input_bytes_max) {
        cut(peer, "HTTP/1.1 503 Service Unavailable" REPLY_END,
            CPTI_HTTP_COUNTER_cut_full);
    }
}

/* --- Clients --- */

/* The address of @peer's client, without the port; IPv4 as IPv6. */
static bool address_of(const struct cpti_http_peer *peer, unsigned char address[16])
{
    struct sockaddr_storage any;
    socklen_t bytes = sizeof any;

    memset(&any, 0, sizeof any);
    memset(address, 0, 16);
    if (getpeername(peer->descriptor, (struct sockaddr *)&any, &bytes) != 0) {
        return false;
    }
    if (any.ss_family == AF_INET6) {
        memcpy(address, &((struct sockaddr_in6 *)&any)->sin6_addr, 16);
    } else if (any.ss_family == AF_INET) {
        memset(address + 10, 0xff, 2);
        memcpy(address + 12, &((struct sockaddr_in *)&any)->sin_addr, 4);
    }
    return true;
}

void cpti_http_budget_accepted(struct cpti_http_peer *peer)
{
    const struct cpt_http *http = peer->http;
    size_t count = 0;

    peer->is_unchecked = false;
    if (http->options.accepted_per_address_max == 0 ||
        !address_of(peer, peer->address)) {
        return;
    }
    for (size_t i = 0; i < http->accepted.count; i++) {
        const struct cpti_http_peer *other = http->accepted.items[i];

        count += !other->is_cut && other->descriptor >= 0 && !other->is_unchecked &&
                 memcmp(other->address, peer->address, sizeof peer->address) == 0;
    }
    if (count > http->options.accepted_per_address_max) {
        cut(peer, "HTTP/1.1 503 Service Unavailable" REPLY_END,
            CPTI_HTTP_COUNTER_cut_clients);
    }
}
