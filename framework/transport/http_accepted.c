/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_accepted.c - how many connections are open to our servers
 *
 * evhttp owns what it accepts and does not tell when it closes one. But what it opens a
 * connection with is ours to make, and is counted by references: we keep one to each.
 * If giving it back would free it, evhttp has let go of its own, and the connection is
 * closed.
 *
 *      accept --> [ tracked | tracked | closed | tracked | ... ]   at most the limit
 *                               ^ the hand looks at a few at each accept
 *
 * What evhttp has closed stays in memory until the hand comes by; as the hand is faster
 * than what comes, at most half of what is tracked is closed. At the limit all are
 * looked at. If none of them is closed the listeners rest for a while: who connects
 * meanwhile waits in the system's queue, and when that is full, is not answered.
 */
#include "framework/transport/http_loop.h"

#include <event2/bufferevent.h>

enum { LOOKS_AT_ONCE = 2 };

/* While it is full, it looks again after this long. */
#define FULL_REST_NS (CPTI_NS_PER_S / 100)

/* Whether evhttp has closed what is at @index; then it is gone from the table. */
static bool take_if_closed(struct cpti_accepted *accepted, size_t index)
{
    struct bufferevent *buffers = accepted->items[index];

    if (!bufferevent_decref(buffers)) {
        bufferevent_incref(buffers);
        return false;
    }
    accepted->count--;
    accepted->items[index] = accepted->items[accepted->count];
    return true;
}

/* Looks at the next @look_count. */
static void look(struct cpti_accepted *accepted, size_t look_count)
{
    while (look_count-- > 0 && accepted->count > 0) {
        if (accepted->hand >= accepted->count) {
            accepted->hand = 0;
        }
        if (!take_if_closed(accepted, accepted->hand)) {
            accepted->hand++;
        }
    }
}

static bool is_full(struct cpt_http *http)
{
    struct cpti_accepted *accepted = &http->accepted;

    if (accepted->count < http->options.accepted_count_max) {
        return false;
    }
    look(accepted, accepted->count);
    return accepted->count >= http->options.accepted_count_max;
}

static void rest(struct cpt_http *http);

static void on_rested(struct cpt_timer *timer)
{
    struct cpt_http *http = CPTI_CONTAINER(timer, struct cpt_http, accepted.rest);

    http->accepted.is_resting = false;
    if (is_full(http)) {
        rest(http);
    } else {
        cpti_servers_rest(http, false);
    }
}

static void rest(struct cpt_http *http)
{
    http->accepted.rest.fire = on_rested;
    if (cpti_loop_after(http, &http->accepted.rest, FULL_REST_NS) == CPT_OK) {
        http->accepted.is_resting = true;
    }
}

bool cpti_accepted_add(struct cpt_http *http, struct bufferevent *buffers)
{
    struct cpti_accepted *accepted = &http->accepted;

    look(accepted, LOOKS_AT_ONCE);
    if (cpt_alloc_grow(http->alloc, (void **)&accepted->items, &accepted->capacity,
                       accepted->count + 1, SIZE_MAX / sizeof(struct bufferevent *),
                       sizeof(struct bufferevent *)) != CPT_OK) {
        return false;
    }
    bufferevent_incref(buffers);
    accepted->items[accepted->count++] = buffers;
    if (!accepted->is_resting && is_full(http)) {
        rest(http);
        if (accepted->is_resting) {
            cpti_count(http, CPTI_COUNTER_accepts_paused);
            cpti_servers_rest(http, true);
        }
    }
    return true;
}

void cpti_accepted_deinit(struct cpt_http *http)
{
    struct cpti_accepted *accepted = &http->accepted;

    (void)cpti_loop_cancel(http, &accepted->rest);
    while (accepted->count > 0) {
        (void)bufferevent_decref(accepted->items[--accepted->count]);
    }
    cpt_alloc_free(http->alloc, (void *)accepted->items);
    accepted->items = NULL;
    accepted->capacity = 0;
}
