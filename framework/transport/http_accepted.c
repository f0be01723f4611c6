/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_accepted.c - the connections that clients have open, and what they share
 *
 * How many there may be is limited; at the limit the listeners rest until one is
 * closed. Connections that are not used, or that take no reply, are closed by ticks: a
 * timer fires several times within idle_ns and counts; each connection keeps the count
 * of its last use. So a request needs no look at the clock for it.
 *
 * Ports of operators are open also at the limit, so they have one of their own: the
 * oldest of their connections is closed for a new one. Then neither many of them, nor
 * slow ones, keep a health check out, or take the descriptors of clients.
 *
 * Each loop counts for itself. Those of a process that share a port, one for each core,
 * share its descriptors: each may have its part of them.
 */
#include "framework/transport/http_peer.h"

enum { IDLE_TICKS = 4 };

/* --- Idle ones --- */

static void idle_later(struct cpt_http *http);

/* Closes connections that were not used for long, or that take no reply. */
static void on_idle(struct cpt_timer *timer)
{
    struct cpt_http *http = CPTI_CONTAINER(timer, struct cpt_http, accepted.idle_timer);
    struct cpti_http_accepted *accepted = &http->accepted;

    accepted->is_idle_timed = false;
    accepted->idle_tick++;
    for (size_t i = accepted->count; i-- > 0;) {
        struct cpti_http_peer *peer = accepted->items[i];
        const bool is_used =
            peer->is_lingering ||
            (peer->output == NULL &&
             (peer->is_served || cpti_http_parser_is_within(&peer->input.parser)));

        if (!is_used && accepted->idle_tick - peer->tick > IDLE_TICKS) {
            cpti_http_peer_close(peer);
            i = i < accepted->count ? i
                                    : accepted->count; /* others may close with it */
        }
    }
    if (accepted->count > 0) {
        idle_later(http);
    }
}

static void idle_later(struct cpt_http *http)
{
    struct cpti_http_accepted *accepted = &http->accepted;

    if (!accepted->is_idle_timed) {
        accepted->idle_timer.fire = on_idle;
        accepted->is_idle_timed =
            cpti_http_loop_after(http, &accepted->idle_timer,
                                 http->options.idle_ns / IDLE_TICKS + 1) == CPT_OK;
    }
}

/* --- How many --- */

static atomic_uint sharing_count; /* relaxed: loops of this process that share ports */

void cpti_http_accepted_share(const struct cpt_http *http, bool begins)
{
    if (http->options.shares_port) {
        (void)atomic_fetch_add_explicit(&sharing_count, begins ? 1U : -1U,
                                        memory_order_relaxed);
    }
}

/* Of clients; loops that share a port share the descriptors, too. */
static size_t count_max(const struct cpt_http *http)
{
    const size_t own = http->options.accepted_count_max;
    const unsigned sharing = atomic_load_explicit(&sharing_count, memory_order_relaxed);
    size_t part = http->descriptor_rest;

    if (!http->options.shares_port || sharing == 0) {
        return own;
    }
    part = part > sharing ? part / sharing : 1;
    return own < part ? own : part;
}

static bool is_full(const struct cpt_http *http)
{
    return http->accepted.count - http->accepted.operator_count >= count_max(http);
}

static void note_count(struct cpt_http *http)
{
    cpti_http_set(http, CPTI_HTTP_COUNTER_connections,
                  http->accepted.count - http->accepted.operator_count);
    cpti_http_set(http, CPTI_HTTP_COUNTER_connections_max, count_max(http));
}

/* Closes the oldest connection to ports of operators if there is one too many. */
static void operators_bound(struct cpti_http_accepted *accepted)
{
    struct cpti_http_peer *oldest = NULL;

    if (accepted->operator_count <= CPTI_HTTP_OPERATORS_MAX) {
        return;
    }
    for (size_t i = 0; i < accepted->count; i++) {
        struct cpti_http_peer *peer = accepted->items[i];

        if (cpti_http_server_is_operators(peer->server) &&
            (oldest == NULL || peer->opened < oldest->opened)) {
            oldest = peer;
        }
    }
    if (oldest != NULL) {
        cpti_http_count(oldest->http, CPTI_HTTP_COUNTER_cut_clients);
        cpti_http_refused(oldest, CPT_REFUSAL_CLIENTS, 0, cpt_bytes_of(""),
                          "too many connections to the port for operators");
        cpti_http_peer_close(oldest);
    }
}

/* --- All --- */

bool cpti_http_accepted_add(struct cpti_http_peer *peer)
{
    struct cpt_http *http = peer->http;
    struct cpti_http_accepted *accepted = &http->accepted;

    if (cpt_alloc_grow(http->alloc, (void **)&accepted->items, &accepted->capacity,
                       accepted->count + 1, SIZE_MAX / sizeof(struct cpti_http_peer *),
                       sizeof(struct cpti_http_peer *)) != CPT_OK) {
        return false;
    }
    peer->index = accepted->count;
    peer->tick = accepted->idle_tick;
    peer->opened = accepted->opened_count++;
    accepted->items[accepted->count++] = peer;
    if (cpti_http_server_is_operators(peer->server)) {
        accepted->operator_count++;
        operators_bound(accepted);
    }
    note_count(http);
    if (!accepted->is_resting && is_full(http)) {
        accepted->is_resting = true;
        cpti_http_count(http, CPTI_HTTP_COUNTER_accepts_paused);
        cpti_http_servers_rest(http, true);
    }
    idle_later(http);
    return true;
}

void cpti_http_accepted_remove(struct cpti_http_peer *peer)
{
    struct cpti_http_accepted *accepted = &peer->http->accepted;

    accepted->items[peer->index] = accepted->items[--accepted->count];
    accepted->items[peer->index]->index = peer->index;
    accepted->operator_count -= cpti_http_server_is_operators(peer->server);
    note_count(peer->http);
    if (accepted->is_resting && !is_full(peer->http)) {
        accepted->is_resting = false;
        cpti_http_servers_rest(peer->http, false);
    }
}

void cpti_http_peers_deinit(struct cpt_http *http)
{
    struct cpti_http_accepted *accepted = &http->accepted;

    while (accepted->count > 0) {
        cpti_http_peer_close(accepted->items[accepted->count - 1]);
    }
    (void)cpti_http_loop_cancel(http, &accepted->sweep);
    (void)cpti_http_loop_cancel(http, &accepted->idle_timer);
    cpti_http_text_deinit(&accepted->text);
    cpt_alloc_free(http->alloc, (void *)accepted->items);
    accepted->items = NULL;
    accepted->capacity = 0;
}
