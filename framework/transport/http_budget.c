/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_budget.c - what clients may take before their requests begin, and after
 *
 * A request is in memory until all of it is there, and only then is it served. So
 * before a service can refuse anything, clients that send slowly, or never finish, hold
 * connections and memory. Three limits, each of which cuts off the connection that
 * exceeds it:
 *
 *      bytes    of all requests that are not answered yet: input_bytes_max; the
 *               buffers that hold them are at most twice as large
 *      time     for a head, or a TLS handshake, header_ns; for a body, body_ns and a
 *               second more for each body_bytes_per_second_min that have come
 *      clients  connections from one address: accepted_per_address_max
 *
 * Time is looked at by a sweep over all connections, several times within the shortest
 * deadline, and only while a request is incomplete. The time of a request that waits
 * behind one that is being served begins when that is answered, as we do not read then.
 *
 * A connection that is cut off gets a short reply, if nothing else is to be sent there.
 *
 * Replies that clients do not take are limited, too: output_bytes_max, the sum of what
 * is kept of them. Beyond, the client that has taken nothing for longest is cut off.
 * Refusing the new reply instead would let clients that never read hold all of it, and
 * refuse the replies of those that do. One that takes a byte now and then does not stay
 * ahead of these for nothing: the system tells that a socket takes more only when a
 * third of its buffer is free. The one that came just now is never cut off, so the
 * limit may be exceeded by one reply.
 */
#include "framework/transport/http_peer.h"

#include "cpt/now.h"

#include <string.h>

#define REPLY_END "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

enum {
    SWEEPS = 4,                 /* in the shortest deadline */
    HANDSHAKE_BYTES = 32 << 10, /* what one of TLS takes, while it goes on */
    RECORD_BYTES = 17 << 10,    /* the buffer of a record that has come in part */
    TIMED_OUT = 408,
    UNAVAILABLE = 503
};

#define SWEEP_MAX_NS CPTI_NS_PER_S
#define SWEEP_MIN_NS (CPTI_NS_PER_S / 1000)
#define LINGER_NS    (2 * CPTI_NS_PER_S)

/* --- Cutting off --- */

/* Why a connection is cut off. */
struct reason {
    enum cpti_http_counter_id counter;
    enum cpt_refusal refusal;
    unsigned status;
    const char *sentence;
};

static void cut(struct cpti_http_peer *peer, const struct reason *reason)
{
    struct cpt_http *http = peer->http;
    const char *reply = reason->status == TIMED_OUT
                            ? "HTTP/1.1 408 Request Timeout" REPLY_END
                            : "HTTP/1.1 503 Service Unavailable" REPLY_END;

    cpti_http_refused(peer, reason->refusal, reason->status, cpt_bytes_of(""),
                      reason->sentence);
    if (!peer->is_served && peer->output == NULL) {
        cpti_http_peer_say(peer, reply);
    }
    (void)shutdown(peer->descriptor, SHUT_RDWR);
    cpti_http_peer_close(peer);
    cpti_http_count(http, reason->counter); /* last: its bytes count no more */
}

/* --- Bytes --- */

void cpti_http_budget_keep(struct cpti_http_peer *peer, size_t bytes)
{
    struct cpti_http_accepted *accepted = &peer->http->accepted;

    if (bytes != peer->bytes) {
        accepted->input_bytes += bytes - peer->bytes;
        peer->bytes = bytes;
        cpti_http_set(peer->http, CPTI_HTTP_COUNTER_input_bytes, accepted->input_bytes);
    }
}

/* --- Replies --- */

static void unsent_remove(struct cpti_http_peer *peer)
{
    struct cpti_http_accepted *accepted = &peer->http->accepted;
    struct cpti_http_peer *previous = peer->unsent_previous;
    struct cpti_http_peer *next = peer->unsent_next;

    *(previous != NULL ? &previous->unsent_next : &accepted->unsent_first) = next;
    *(next != NULL ? &next->unsent_previous : &accepted->unsent_last) = previous;
    accepted->output_bytes -= peer->unsent_bytes;
    peer->unsent_bytes = 0;
}

static void unsent_append(struct cpti_http_peer *peer, size_t bytes)
{
    struct cpti_http_accepted *accepted = &peer->http->accepted;
    struct cpti_http_peer *last = accepted->unsent_last;

    peer->unsent_previous = last;
    peer->unsent_next = NULL;
    *(last != NULL ? &last->unsent_next : &accepted->unsent_first) = peer;
    accepted->unsent_last = peer;
    accepted->output_bytes += bytes;
    peer->unsent_bytes = bytes;
}

/* It is reset: so the system, too, forgets what it has of the reply, and the client
 * does not take a part for the whole. */
static void cut_unread(struct cpti_http_peer *peer)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    struct cpt_http *http = peer->http;

    cpti_http_refused(peer, CPT_REFUSAL_UNREAD, 0, cpt_bytes_of(""),
                      "replies that are not taken exceed output_bytes_max");
    (void)setsockopt(peer->descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    cpti_http_peer_close(peer);
    cpti_http_count(http, CPTI_HTTP_COUNTER_cut_unread);
}

void cpti_http_budget_unsent(struct cpti_http_peer *peer, size_t bytes)
{
    struct cpt_http *http = peer->http;
    struct cpti_http_accepted *accepted = &http->accepted;

    if (peer->unsent_bytes != 0) {
        unsent_remove(peer);
    }
    if (bytes != 0) {
        unsent_append(peer, bytes);
    }
    while (bytes != 0 && accepted->output_bytes > http->options.output_bytes_max &&
           accepted->unsent_first != peer) {
        cut_unread(accepted->unsent_first);
    }
    cpti_http_set(http, CPTI_HTTP_COUNTER_output_bytes, accepted->output_bytes);
}

/* --- Time --- */

static bool is_late(const struct cpti_http_peer *peer, uint64_t now_ns)
{
    const struct cpt_http_options *options = &peer->http->options;
    uint64_t allowed_ns = options->header_ns;

    if (peer->is_lingering) {
        allowed_ns = LINGER_NS;
    } else if (peer->is_in_body) {
        allowed_ns = options->body_ns + peer->open_bytes * CPTI_NS_PER_S /
                                            options->body_bytes_per_second_min;
    }
    return peer->begun_ns != 0 && now_ns > peer->begun_ns &&
           now_ns - peer->begun_ns > allowed_ns;
}

static void sweep_later(struct cpt_http *http);

static void on_sweep(struct cpt_timer *timer)
{
    static const struct reason slow_head = {CPTI_HTTP_COUNTER_cut_slow,
                                            CPT_REFUSAL_SLOW, TIMED_OUT,
                                            "a head took longer than header_ns"};
    static const struct reason slow_body = {
        CPTI_HTTP_COUNTER_cut_slow, CPT_REFUSAL_SLOW, TIMED_OUT,
        "a body took longer than body_ns and body_bytes_per_second_min allow"};
    static const struct reason slow_handshake = {
        CPTI_HTTP_COUNTER_cut_slow, CPT_REFUSAL_SLOW, 0,
        "a TLS handshake took longer than header_ns"};
    struct cpt_http *http = CPTI_CONTAINER(timer, struct cpt_http, accepted.sweep);
    const uint64_t now_ns = cpti_now_ns();
    bool is_any_open = false;

    http->accepted.is_sweeping = false;
    for (size_t i = http->accepted.count; i-- > 0;) {
        struct cpti_http_peer *peer = http->accepted.items[i];

        is_any_open |= peer->begun_ns != 0;
        if (!is_late(peer, now_ns)) {
            continue;
        }
        if (peer->is_lingering) {
            cpti_http_peer_close(peer);
        } else {
            cut(peer, peer->is_shaking   ? &slow_handshake
                      : peer->is_in_body ? &slow_body
                                         : &slow_head);
        }
        i = i < http->accepted.count ? i
                                     : http->accepted.count; /* as they may be less */
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
    const bool is_in_body = peer->input.head_bytes > 0;

    if (peer->is_served || !cpti_http_parser_is_within(&peer->input.parser)) {
        peer->begun_ns = 0;
        return;
    }
    if (peer->begun_ns == 0 || peer->is_in_body != is_in_body || bytes == 0) {
        peer->begun_ns = cpti_now_ns();
        peer->is_in_body = is_in_body;
        peer->open_bytes = 0;
    }
    peer->open_bytes += bytes;
    sweep_later(peer->http);
}

bool cpti_http_budget_shake(struct cpti_http_peer *peer, bool is_over)
{
    static const struct reason full = {
        CPTI_HTTP_COUNTER_cut_full, CPT_REFUSAL_FULL, 0,
        "requests and TLS handshakes exceed input_bytes_max"};

    peer->begun_ns = is_over ? 0 : cpti_now_ns();
    peer->is_in_body = false;
    cpti_http_budget_keep(peer, is_over ? 0 : HANDSHAKE_BYTES);
    if (is_over) {
        return true;
    }
    sweep_later(peer->http);
    if (peer->http->accepted.input_bytes > peer->http->options.input_bytes_max) {
        cut(peer, &full);
        return false;
    }
    return true;
}

bool cpti_http_budget_record(struct cpti_http_peer *peer, bool is_there)
{
    static const struct reason full = {
        CPTI_HTTP_COUNTER_cut_full, CPT_REFUSAL_FULL, UNAVAILABLE,
        "requests and parts of TLS records exceed input_bytes_max"};
    const size_t kept = cpti_http_input_kept(&peer->input);

    cpti_http_budget_keep(peer, kept + (is_there ? RECORD_BYTES : 0));
    if (!is_there) {
        if (!cpti_http_parser_is_within(&peer->input.parser)) {
            peer->begun_ns = 0;
        }
        return true;
    }
    if (peer->begun_ns == 0) {
        peer->begun_ns = cpti_now_ns();
        peer->is_in_body = false;
        peer->open_bytes = 0;
        sweep_later(peer->http);
    }
    if (peer->http->accepted.input_bytes > peer->http->options.input_bytes_max) {
        cut(peer, &full);
        return false;
    }
    return true;
}

void cpti_http_budget_linger(struct cpti_http_peer *peer)
{
    peer->begun_ns = cpti_now_ns();
    sweep_later(peer->http);
}

bool cpti_http_budget_seen(struct cpti_http_peer *peer, size_t bytes)
{
    static const struct reason full = {
        CPTI_HTTP_COUNTER_cut_full, CPT_REFUSAL_FULL, UNAVAILABLE,
        "requests that are not answered yet exceed input_bytes_max"};
    struct cpt_http *http = peer->http;

    if (peer->is_lingering) {
        return true;
    }
    cpti_http_budget_keep(peer, cpti_http_input_kept(&peer->input));
    time_note(peer, bytes);
    if (http->accepted.input_bytes > http->options.input_bytes_max) {
        cut(peer, &full);
        return false;
    }
    return true;
}

/* --- Clients --- */

bool cpti_http_budget_accepted(struct cpti_http_peer *peer)
{
    static const struct reason many = {
        CPTI_HTTP_COUNTER_cut_clients, CPT_REFUSAL_CLIENTS, UNAVAILABLE,
        "its connections exceed accepted_per_address_max"};
    const struct cpt_http *http = peer->http;
    size_t count = 0;

    if (http->options.accepted_per_address_max == 0) {
        return true;
    }
    for (size_t i = 0; i < http->accepted.count; i++) {
        count += memcmp(http->accepted.items[i]->address, peer->address,
                        sizeof peer->address) == 0;
    }
    if (count > http->options.accepted_per_address_max) {
        cut(peer, &many);
        return false;
    }
    return true;
}
