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
 * Descriptors. A service calls others for its clients, so neither may take all of them,
 * and both must leave some for what else the process opens: files of settings, of logs,
 * connections of operators, what the host has:
 *
 *      RLIMIT_NOFILE = [ descriptor_rest                | reserve                 ]
 *      clients         [ at most these, less what ...   |
 *      calls           ... calls have beyond their half | half of it ]
 *      all else                                                      | the other half ]
 *
 * So half of the reserve is for calls however many clients there are; what clients do
 * not use calls may. No target takes more than half of what is left of that: one that
 * hangs leaves some for all others (http_pool.c).
 *
 * Ports of operators are open also at the limit, so they have one of their own: the
 * oldest of their connections is closed for a new one. Then neither many of them, nor
 * slow ones, keep a health check out, or take the descriptors of clients. If all else
 * has taken every descriptor, they have spares (spares.h).
 *
 * Each loop counts for itself. Those of a process that share a port, one for each core,
 * share its descriptors: each may have its part of them.
 */
#include "framework/transport/http/server/http_peer.h"

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

/* Loops that share a port share the descriptors, too. */
static size_t part_of(const struct cpt_http *http, size_t all)
{
    const unsigned sharing = atomic_load_explicit(&sharing_count, memory_order_relaxed);

    if (!http->options.shares_port || sharing == 0 || all == SIZE_MAX) {
        return all;
    }
    return all > sharing ? all / sharing : 1;
}

static size_t client_count(const struct cpt_http *http)
{
    return http->accepted.count - http->accepted.operator_count;
}

/* Of clients and calls together. */
static size_t both_max(const struct cpt_http *http)
{
    const size_t rest = part_of(http, http->descriptor_rest);
    const size_t half = part_of(http, http->descriptor_reserve / 2 + 1);

    return rest < SIZE_MAX - half ? rest + half : SIZE_MAX;
}

/* Of clients, now. */
static size_t count_max(const struct cpt_http *http)
{
    const size_t both = both_max(http);
    size_t most = part_of(http, http->descriptor_rest);

    most = http->options.accepted_count_max < most ? http->options.accepted_count_max
                                                   : most;
    if (both != SIZE_MAX && both - most < http->calls_open_count) {
        most = both > http->calls_open_count ? both - http->calls_open_count : 1;
    }
    return most;
}

size_t cpti_http_accepted_left(const struct cpt_http *http)
{
    const size_t both = both_max(http);
    const size_t taken = client_count(http) + http->calls_open_count;

    return both > taken ? both - taken : 0;
}

static bool is_full(const struct cpt_http *http)
{
    return client_count(http) >= count_max(http);
}

static size_t operators_max(const struct cpt_http *http)
{
    const size_t part = http->descriptor_reserve / 8;

    return part < CPTI_HTTP_OPERATORS_MIN   ? CPTI_HTTP_OPERATORS_MIN
           : part > CPTI_HTTP_OPERATORS_MAX ? CPTI_HTTP_OPERATORS_MAX
                                            : part;
}

static void note_count(struct cpt_http *http)
{
    cpti_http_set(http, CPTI_HTTP_COUNTER_connections, client_count(http));
    cpti_http_set(http, CPTI_HTTP_COUNTER_connections_max, count_max(http));
}

void cpti_http_accepted_weigh(struct cpt_http *http)
{
    struct cpti_http_accepted *accepted = &http->accepted;
    const bool rests = is_full(http);

    note_count(http);
    if (rests == accepted->is_resting) {
        return;
    }
    accepted->is_resting = rests;
    if (rests) {
        cpti_http_count(http, CPTI_HTTP_COUNTER_accepts_paused);
    }
    cpti_http_servers_rest(http, rests);
}

bool cpti_http_accepted_give(struct cpt_http *http)
{
    const struct cpti_http_accepted *accepted = &http->accepted;
    struct cpti_http_peer *oldest = NULL;

    for (size_t i = 0; i < accepted->count; i++) {
        struct cpti_http_peer *peer = accepted->items[i];

        if (cpti_http_server_is_operators(peer->server) &&
            (oldest == NULL || peer->opened < oldest->opened)) {
            oldest = peer;
        }
    }
    if (oldest == NULL) {
        return false;
    }
    cpti_http_count(http, CPTI_HTTP_COUNTER_cut_clients);
    cpti_http_refused(oldest, CPT_REFUSAL_CLIENTS, 0, cpt_bytes_of(""),
                      "too many connections to the port for operators");
    cpti_http_peer_close(oldest);
    return true;
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
        if (accepted->operator_count > operators_max(http)) {
            (void)cpti_http_accepted_give(http); /* the oldest one: not this */
        }
    }
    cpti_http_accepted_weigh(http);
    idle_later(http);
    return true;
}

void cpti_http_accepted_remove(struct cpti_http_peer *peer)
{
    struct cpti_http_accepted *accepted = &peer->http->accepted;

    accepted->items[peer->index] = accepted->items[--accepted->count];
    accepted->items[peer->index]->index = peer->index;
    accepted->operator_count -= cpti_http_server_is_operators(peer->server);
    cpti_spares_fill(&peer->http->spares);
    cpti_http_accepted_weigh(peer->http);
    cpti_http_client_freed(peer->http);
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
