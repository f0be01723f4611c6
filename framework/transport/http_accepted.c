/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_accepted.c - how many connections are open to our servers
 *
 * evhttp owns the connections that it accepts and does not report when it closes one.
 * But we make the bufferevent of each, which has a reference count, and keep a
 * reference. If ours is the last one, evhttp has closed the connection.
 *
 *      accept --> [ tracked | tracked | closed | tracked | ... ]   at most the limit
 *                               ^ the hand looks at a few at each accept
 *
 * A closed connection stays in memory, without what it did not send, until the hand
 * reaches it. The hand looks at more connections than are accepted, so at most half of
 * the tracked ones are closed. At the limit all are looked at. If none is closed the
 * listeners rest for a while: clients that connect meanwhile wait in the system's
 * queue; when it is full, they get no answer.
 *
 * Each has a gate (http_gate.c). A request finds that of its connection by descriptor.
 */
#include "framework/transport/http_loop.h"

#include <event2/bufferevent.h>

enum { LOOKS_AT_ONCE = 2 };

/* While all are open, look again after this long. */
#define FULL_REST_NS (CPTI_NS_PER_S / 100)

/* --- Finding one --- */

static bool descriptors_grow(struct cpt_http *http, size_t count)
{
    struct cpti_http_accepted *accepted = &http->accepted;
    const size_t before = accepted->descriptor_capacity;

    if (cpt_alloc_grow(http->alloc, (void **)&accepted->by_descriptor,
                       &accepted->descriptor_capacity, count, SIZE_MAX / sizeof(void *),
                       sizeof(struct cpti_http_peer *)) != CPT_OK) {
        return false;
    }
    for (size_t i = before; i < accepted->descriptor_capacity; i++) {
        accepted->by_descriptor[i] = NULL;
    }
    return true;
}

/* evhttp gives a connection its descriptor just after it asked for the buffers. */
static void settle(struct cpt_http *http)
{
    struct cpti_http_accepted *accepted = &http->accepted;
    struct cpti_http_peer **at = &accepted->news;

    while (*at != NULL) {
        struct cpti_http_peer *peer = *at;
        const evutil_socket_t descriptor = bufferevent_getfd(peer->gate.buffers);

        if (descriptor < 0) {
            at = &peer->next_new;
            continue;
        }
        *at = peer->next_new;
        if (descriptors_grow(http, (size_t)descriptor + 1)) {
            peer->descriptor = descriptor;
            accepted->by_descriptor[descriptor] = peer;
            peer->is_unchecked = true;
        }
    }
}

struct cpti_http_peer *cpti_http_accepted_find(struct cpt_http *http,
                                               const struct bufferevent *buffers)
{
    struct cpti_http_accepted *accepted = &http->accepted;
    const evutil_socket_t descriptor =
        bufferevent_getfd((struct bufferevent *)(uintptr_t)buffers);
    struct cpti_http_peer *peer = NULL;

    settle(http);
    if (descriptor >= 0 && (size_t)descriptor < accepted->descriptor_capacity) {
        peer = accepted->by_descriptor[descriptor];
    }
    return peer != NULL && peer->gate.buffers == buffers ? peer : NULL;
}

/* --- Tracking --- */

static struct cpti_http_peer *peer_new(struct cpt_http *http,
                                       struct bufferevent *buffers)
{
    struct cpti_http_peer *peer = cpt_alloc_zeroed(http->alloc, sizeof *peer);

    if (peer == NULL) {
        return NULL;
    }
    if (!cpti_http_gate_open(&peer->gate, buffers, false,
                             http->options.header_bytes_max)) {
        cpt_alloc_free(http->alloc, peer);
        return NULL;
    }
    peer->gate.seen = cpti_http_budget_seen;
    peer->http = http;
    peer->descriptor = -1;
    peer->next_new = http->accepted.news;
    http->accepted.news = peer;
    bufferevent_incref(buffers);
    return peer;
}

static void peer_free(struct cpt_http *http, struct cpti_http_peer *peer)
{
    struct cpti_http_accepted *accepted = &http->accepted;

    struct cpti_http_peer **at = &accepted->news;

    while (*at != NULL && *at != peer) {
        at = &(*at)->next_new;
    }
    if (*at != NULL) {
        *at = peer->next_new;
    }
    if (peer->descriptor >= 0 && accepted->by_descriptor[peer->descriptor] == peer) {
        accepted->by_descriptor[peer->descriptor] = NULL;
    }
    cpti_http_budget_keep(peer, 0);
    cpti_http_gate_deinit(&peer->gate);
    cpt_alloc_free(http->alloc, peer);
}

/* Whether evhttp has closed the one at @index; then it is removed from the table. */
static bool take_if_closed(struct cpt_http *http, size_t index)
{
    struct cpti_http_accepted *accepted = &http->accepted;
    struct cpti_http_peer *peer = accepted->items[index];

    if (!bufferevent_decref(peer->gate.buffers)) {
        bufferevent_incref(peer->gate.buffers);
        return false;
    }
    peer_free(http, peer);
    accepted->count--;
    accepted->items[index] = accepted->items[accepted->count];
    return true;
}

/* Looks at the next @look_count. */
static void look(struct cpt_http *http, size_t look_count)
{
    struct cpti_http_accepted *accepted = &http->accepted;

    settle(http);
    while (look_count-- > 0 && accepted->count > 0) {
        if (accepted->hand >= accepted->count) {
            accepted->hand = 0;
        }
        if (!take_if_closed(http, accepted->hand)) {
            accepted->hand++;
        }
    }
}

static bool is_full(struct cpt_http *http)
{
    struct cpti_http_accepted *accepted = &http->accepted;

    if (accepted->count < http->options.accepted_count_max) {
        return false;
    }
    look(http, accepted->count);
    return accepted->count >= http->options.accepted_count_max;
}

static void rest(struct cpt_http *http);

void cpti_http_accepted_reap(struct cpt_http *http)
{
    look(http, http->accepted.count);
    cpti_http_set(http, CPTI_HTTP_COUNTER_connections, http->accepted.count);
}

static void run_settle(struct cpt_work *work)
{
    struct cpt_http *http = CPTI_CONTAINER(work, struct cpt_http, accepted.settle);

    http->accepted.is_settling = false;
    cpti_http_accepted_reap(http);
    for (size_t i = 0; i < http->accepted.count; i++) {
        if (http->accepted.items[i]->is_unchecked) {
            cpti_http_budget_accepted(http->accepted.items[i]);
        }
    }
}

/* New connections are looked at soon, though they may send nothing. */
static void settle_later(struct cpt_http *http)
{
    if (http->options.accepted_per_address_max != 0 && !http->accepted.is_settling) {
        http->accepted.settle.run = run_settle;
        http->accepted.is_settling = cpti_http_loop_post(http, &http->accepted.settle);
    }
}

static void on_rested(struct cpt_timer *timer)
{
    struct cpt_http *http = CPTI_CONTAINER(timer, struct cpt_http, accepted.rest);

    http->accepted.is_resting = false;
    if (is_full(http)) {
        rest(http);
    } else {
        cpti_http_servers_rest(http, false);
    }
}

static void rest(struct cpt_http *http)
{
    http->accepted.rest.fire = on_rested;
    if (cpti_http_loop_after(http, &http->accepted.rest, FULL_REST_NS) == CPT_OK) {
        http->accepted.is_resting = true;
    }
}

bool cpti_http_accepted_add(struct cpt_http *http, struct bufferevent *buffers)
{
    struct cpti_http_accepted *accepted = &http->accepted;
    struct cpti_http_peer *peer = NULL;

    look(http, LOOKS_AT_ONCE);
    if (cpt_alloc_grow(http->alloc, (void **)&accepted->items, &accepted->capacity,
                       accepted->count + 1, SIZE_MAX / sizeof(struct cpti_http_peer *),
                       sizeof(struct cpti_http_peer *)) != CPT_OK) {
        return false;
    }
    peer = peer_new(http, buffers);
    if (peer == NULL) {
        return false;
    }
    accepted->items[accepted->count++] = peer;
    cpti_http_set(http, CPTI_HTTP_COUNTER_connections, accepted->count);
    settle_later(http);
    if (!accepted->is_resting && is_full(http)) {
        rest(http);
        if (accepted->is_resting) {
            cpti_http_count(http, CPTI_HTTP_COUNTER_accepts_paused);
            cpti_http_servers_rest(http, true);
        }
    }
    return true;
}

void cpti_http_accepted_deinit(struct cpt_http *http)
{
    struct cpti_http_accepted *accepted = &http->accepted;

    (void)cpti_http_loop_cancel(http, &accepted->rest);
    (void)cpti_http_loop_cancel(http, &accepted->sweep);
    accepted->news = NULL;
    while (accepted->count > 0) {
        struct cpti_http_peer *peer = accepted->items[--accepted->count];

        (void)bufferevent_decref(peer->gate.buffers);
        peer_free(http, peer);
    }
    cpt_alloc_free(http->alloc, (void *)accepted->items);
    cpt_alloc_free(http->alloc, (void *)accepted->by_descriptor);
    accepted->by_descriptor = NULL;
    accepted->descriptor_capacity = 0;
    accepted->items = NULL;
    accepted->capacity = 0;
}
