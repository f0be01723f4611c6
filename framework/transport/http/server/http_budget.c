/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_budget.c - what clients may take before their requests begin, and after
 *
 * A request is in memory until all of it is there, and only then is it served. So
 * before a service can refuse anything, clients that send slowly, or never finish, hold
 * connections and memory. Three limits:
 *
 *      bytes    of all requests that are not answered yet: input_bytes_max; the
 *               buffers that hold them are at most twice as large
 *      time     for a head, or a TLS handshake, header_ns; for a body, body_ns and a
 *               second more for each body_bytes_per_second_min that have come, but
 *               never more than body_ns from now: what came at once buys no silence
 *      clients  connections from one address: accepted_per_address_max
 *
 * Time and clients: who exceeds it is cut off. Time is looked at by a sweep over all
 * connections, several times within the shortest deadline, and only while a request is
 * incomplete. The time of a request that waits behind one that is being served begins
 * when that is answered, as we do not read then.
 *
 * Bytes: who brings the last one is not who holds the others; cutting it off would let
 * clients that send much and fall silent shut out all others. So it is the slowest for
 * what they hold that make room: by
 *
 *      the age of what has come, on average  *  what it holds, up to an equal share
 *
 * A few bytes that follow many make these hardly younger. What is beyond a share counts
 * no more, so that one large body that comes fast outlives many small ones that do not
 * come; and small ones that come slowly outlive large ones, as they are not what takes
 * the room. A little more room is made than is needed: each look is at all connections.
 * A request that is whole is its service's, and is not cut off, though it be the last
 * of small ones that exceed the limit.
 *
 * A connection that is cut off gets a short reply, if nothing else is to be sent there,
 * and what it still sends is dropped for a while, or else the reply would be lost.
 *
 * Replies that clients do not take are limited, too: output_bytes_max, the sum of what
 * is kept of them. Beyond, the client that has taken nothing for longest is cut off.
 * Refusing the new reply instead would let clients that never read hold all of it, and
 * refuse the replies of those that do. One that takes a byte now and then does not stay
 * ahead of these for nothing: the system tells that a socket takes more only when a
 * third of its buffer is free. The one that came just now is never cut off, so the
 * limit may be exceeded by one reply.
 */
#include "framework/transport/http/server/http_peer.h"

#include "cpt/base/now.h"

#include <string.h>

#define REPLY_END "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

enum {
    SWEEPS = 4,                 /* in the shortest deadline */
    ROOM_PART = 16,             /* of input_bytes_max is made free at once */
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
    cpti_http_peer_cut(peer, reply);
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

/* How much @peer is in the way of others at @now_ns; 0: not at all. */
static uint64_t burden_of(const struct cpti_http_peer *peer, uint64_t now_ns,
                          size_t share)
{
    const uint64_t age_us = (now_ns - peer->fresh_ns) / CPTI_NS_PER_US + 1;

    if (peer->begun_ns == 0 || peer->is_served || peer->is_lingering) {
        return 0;
    }
    return (age_us < UINT32_MAX ? age_us : UINT32_MAX) *
           (peer->bytes < share ? peer->bytes : share);
}

static uint64_t burden_max(const struct cpti_http_accepted *accepted, uint64_t now_ns,
                           size_t share)
{
    uint64_t most = 0;

    for (size_t i = 0; i < accepted->count; i++) {
        const uint64_t burden = burden_of(accepted->items[i], now_ns, share);

        most = burden > most ? burden : most;
    }
    return most;
}

/* Cuts off those that are in the way, @peer among them, until there is room for the
 * others. false: @peer was cut off. */
static bool make_room(struct cpti_http_peer *peer)
{
    static const struct reason full = {
        CPTI_HTTP_COUNTER_cut_full, CPT_REFUSAL_FULL, UNAVAILABLE,
        "requests that have not come whole exceed input_bytes_max"};
    static const struct reason full_handshake = {
        CPTI_HTTP_COUNTER_cut_full, CPT_REFUSAL_FULL, 0,
        "TLS handshakes and requests that have not come whole exceed input_bytes_max"};
    struct cpti_http_accepted *accepted = &peer->http->accepted;
    const size_t bytes_max = peer->http->options.input_bytes_max;
    bool is_there = true;

    while (is_there && accepted->input_bytes > bytes_max) {
        const uint64_t now_ns = cpti_now_ns();
        const size_t share = bytes_max / accepted->count + 1;
        const uint64_t most = burden_max(accepted, now_ns, share);

        if (most == 0) {
            return true; /* the rest is of requests that are being served */
        }
        for (size_t i = accepted->count;
             i-- > 0 && accepted->input_bytes > bytes_max - bytes_max / ROOM_PART;) {
            struct cpti_http_peer *other = accepted->items[i];
            const uint64_t burden = burden_of(other, now_ns, share);

            if (burden == 0 || burden < most / 2) {
                continue;
            }
            is_there &= other != peer;
            cut(other, other->is_shaking ? &full_handshake : &full);
            i = i < accepted->count ? i : accepted->count; /* as they may be less */
        }
    }
    return is_there;
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
    return peer->begun_ns != 0 && now_ns > peer->due_ns;
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

/* @allowed_ns begin now. */
static void time_begin(struct cpti_http_peer *peer, uint64_t allowed_ns)
{
    peer->begun_ns = cpti_now_ns();
    peer->fresh_ns = peer->begun_ns;
    peer->due_ns = cpti_timer_at(peer->begun_ns, allowed_ns);
    sweep_later(peer->http);
}

/* @bytes more have come of what has begun. */
static void time_go_on(struct cpti_http_peer *peer, size_t bytes)
{
    const struct cpt_http_options *options = &peer->http->options;
    const uint64_t now_ns = cpti_now_ns();
    const size_t all = peer->bytes > bytes ? peer->bytes : bytes;
    const uint64_t latest_ns = cpti_timer_at(now_ns, options->body_ns);

    peer->fresh_ns +=
        (uint64_t)((double)(now_ns - peer->fresh_ns) * (double)bytes / (double)all);
    if (peer->is_in_body) {
        const uint64_t due_ns = cpti_timer_at(
            peer->due_ns, bytes * CPTI_NS_PER_S / options->body_bytes_per_second_min);

        peer->due_ns = due_ns < latest_ns ? due_ns : latest_ns;
    }
    sweep_later(peer->http);
}

/* Begins a deadline, or goes on with it, after @bytes have come. */
static void time_note(struct cpti_http_peer *peer, size_t bytes)
{
    const struct cpt_http_options *options = &peer->http->options;
    const bool is_in_body = peer->input.head_bytes > 0;

    if (peer->is_served || !cpti_http_parser_is_within(&peer->input.parser)) {
        peer->begun_ns = 0;
    } else if (peer->begun_ns == 0 || peer->is_in_body != is_in_body || bytes == 0) {
        peer->is_in_body = is_in_body;
        time_begin(peer, is_in_body ? options->body_ns : options->header_ns);
    } else {
        time_go_on(peer, bytes);
    }
}

bool cpti_http_budget_shake(struct cpti_http_peer *peer, bool is_over)
{
    peer->begun_ns = 0;
    peer->is_in_body = false;
    cpti_http_budget_keep(peer, is_over ? 0 : HANDSHAKE_BYTES);
    if (is_over) {
        return true;
    }
    time_begin(peer, peer->http->options.header_ns);
    return make_room(peer);
}

bool cpti_http_budget_record(struct cpti_http_peer *peer, bool is_there)
{
    const size_t kept = cpti_http_input_kept(&peer->input);

    cpti_http_budget_keep(peer, kept + (is_there ? RECORD_BYTES : 0));
    if (!is_there) {
        if (!cpti_http_parser_is_within(&peer->input.parser)) {
            peer->begun_ns = 0;
        }
        return true;
    }
    if (peer->begun_ns == 0) {
        peer->is_in_body = false;
        time_begin(peer, peer->http->options.header_ns);
    }
    return make_room(peer);
}

void cpti_http_budget_linger(struct cpti_http_peer *peer)
{
    time_begin(peer, LINGER_NS);
}

bool cpti_http_budget_seen(struct cpti_http_peer *peer, size_t bytes)
{
    if (peer->is_lingering) {
        return true;
    }
    cpti_http_budget_keep(peer, cpti_http_input_kept(&peer->input));
    time_note(peer, bytes);
    return make_room(peer);
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
