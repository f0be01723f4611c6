/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_accepted.c - the connections that clients have open, and what they share
 *
 * How many there may be is limited; at the limit the listeners rest until one is
 * closed. Connections that are not used, or that take no reply, are closed by ticks: a
 * timer fires several times within idle_ns and counts; each connection keeps the count
 * of its last use. So a request needs no look at the clock for it.
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
    accepted->items[accepted->count++] = peer;
    cpti_http_set(http, CPTI_HTTP_COUNTER_connections, accepted->count);
    if (!accepted->is_resting && accepted->count >= http->options.accepted_count_max) {
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
    cpti_http_set(peer->http, CPTI_HTTP_COUNTER_connections, accepted->count);
    if (accepted->is_resting &&
        accepted->count < peer->http->options.accepted_count_max) {
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
