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
 * reaches it. The hand looks at more
 * connections than are accepted, so at most half of the tracked ones are closed. At the
 * limit all are looked at. If none is closed the listeners rest for a while: clients
 * that connect meanwhile wait in the system's queue; when it is full, they get no
 * answer.
 */
#include "framework/transport/http_loop.h"

#include <event2/bufferevent.h>

enum { LOOKS_AT_ONCE = 2 };

/* While all are open, look again after this long. */
#define FULL_REST_NS (CPTI_NS_PER_S / 100)

/* Whether evhttp has closed the one at @index; then it is removed from the table. */
static bool take_if_closed(struct cpti_http_accepted *accepted, size_t index)
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
static void look(struct cpti_http_accepted *accepted, size_t look_count)
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
    struct cpti_http_accepted *accepted = &http->accepted;

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
    while (accepted->count > 0) {
        (void)bufferevent_decref(accepted->items[--accepted->count]);
    }
    cpt_alloc_free(http->alloc, (void *)accepted->items);
    accepted->items = NULL;
    accepted->capacity = 0;
}
