/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_pool.c - the connections of one target
 *
 * Connections are idle or busy. The idle one that was used last is taken first: it is
 * the least likely to have been closed meanwhile. A target whose address is not one of
 * its name any more closes its idle connections at once, each busy one after its call,
 * and is freed after that.
 */
#include "framework/transport/http/client/http_client.h"

#include <string.h>

enum {
    IDLE_TICKS = 4,
    FRESH_TICKS = 1 /* that have passed: it was unused for less than idle_ns / 2 */
};

void cpti_http_pool_drop(struct cpti_http_target *target,
                         struct cpti_http_connection *connection)
{
    struct cpt_http *http = target->client->http;

    target->connection_count--;
    http->calls_open_count--;
    cpti_http_connection_retire(connection);
    cpti_spares_fill(&http->spares);
    cpti_http_accepted_weigh(http);
    cpti_http_client_freed(http);
}

/* The other side has closed an idle connection. */
static void on_closed(void *context, struct cpti_http_connection *connection)
{
    LIST_REMOVE(connection, others);
    cpti_http_pool_drop(context, connection);
}

/* Closes the idle connections of @target that were not used for @ticks. */
static void close_idle(struct cpti_http_target *target, unsigned ticks)
{
    const unsigned now = target->client->idle_tick;
    struct cpti_http_connection *connection = LIST_FIRST(&target->idle);

    while (connection != NULL) {
        struct cpti_http_connection *next = LIST_NEXT(connection, others);

        if (now - connection->tick >= ticks) {
            on_closed(target, connection);
        }
        connection = next;
    }
}

static void idle_later(struct cpti_http_client *client);

static void on_idle(struct cpt_timer *timer)
{
    struct cpti_http_client *client =
        CPTI_CONTAINER(timer, struct cpti_http_client, idle_timer);
    struct cpti_http_target *target = NULL;
    bool has_any = false;

    client->is_idle_timed = false;
    client->idle_tick++;
    cpti_http_pool_sweep(client);
    LIST_FOREACH(target, &client->targets, all)
    {
        close_idle(target, IDLE_TICKS + 1);
        has_any |= target->connection_count > 0;
    }
    if (has_any) {
        idle_later(client);
    }
}

static void idle_later(struct cpti_http_client *client)
{
    const uint64_t tick_ns = client->http->options.idle_ns / IDLE_TICKS + 1;

    if (!client->is_idle_timed) {
        client->idle_timer.fire = on_idle;
        client->is_idle_timed =
            cpti_http_loop_after(client->http, &client->idle_timer, tick_ns) == CPT_OK;
    }
}

struct cpti_http_connection *cpti_http_pool_open(struct cpti_http_target *target)
{
    const struct cpti_http_connection_owner owner = {
        cpti_http_call_ended, on_closed, target,
        target->address.is_tls ? &target->tls : NULL};
    struct cpti_http_connection *connection =
        cpti_http_connection_new(target->client->http, &target->address, &owner);

    if (connection != NULL) {
        target->connection_count++;
        target->client->http->calls_open_count++;
        cpti_http_accepted_weigh(target->client->http);
        idle_later(target->client);
        cpti_http_count(target->client->http, CPTI_HTTP_COUNTER_connections_opened);
    }
    return connection;
}

/* The idle connection that was not used for longest, of all targets; *@count: of how
 * many. */
static struct cpti_http_connection *oldest_idle(struct cpti_http_client *client,
                                                struct cpti_http_target **of,
                                                size_t *count)
{
    struct cpti_http_connection *oldest = NULL;
    struct cpti_http_target *target = NULL;

    *count = 0;
    LIST_FOREACH(target, &client->targets, all)
    {
        struct cpti_http_connection *connection = NULL;

        LIST_FOREACH(connection, &target->idle, others)
        {
            ++*count;
            if (oldest == NULL || client->idle_tick - connection->tick >
                                      client->idle_tick - oldest->tick) {
                oldest = connection;
                *of = target;
            }
        }
    }
    return oldest;
}

/* Whether @target may have one more descriptor. As it must leave as many as it has, the
 * first that is short of answers gets half of all, the next a quarter, and there is
 * always one for a target that has none, but for very many. */
static bool has_descriptor(struct cpti_http_target *target)
{
    struct cpti_http_client *client = target->client;
    const size_t left = cpti_http_accepted_left(client->http);
    struct cpti_http_target *of = NULL;
    struct cpti_http_connection *oldest = NULL;
    size_t idle_count = 0;

    if (left > target->connection_count) {
        return true;
    }
    oldest = oldest_idle(client, &of, &idle_count);
    if (left + idle_count <= target->connection_count) {
        client->is_short = true;
        return false;
    }
    if (left == 0) {
        on_closed(of, oldest);
    }
    return true;
}

bool cpti_http_pool_has_room(struct cpti_http_target *target)
{
    return !LIST_EMPTY(&target->idle) ||
           (target->connection_count <
                target->client->http->options.connection_count_max &&
            has_descriptor(target));
}

struct cpti_http_connection *cpti_http_pool_take(struct cpti_http_target *target,
                                                 bool is_fresh)
{
    struct cpti_http_connection *connection = LIST_FIRST(&target->idle);

    if (connection == NULL) {
        return NULL;
    }
    LIST_REMOVE(connection, others);
    if (is_fresh && target->client->idle_tick - connection->tick > FRESH_TICKS) {
        cpti_http_pool_drop(target, connection);
        return NULL;
    }
    return connection;
}

void cpti_http_pool_keep(struct cpti_http_target *target,
                         struct cpti_http_connection *connection)
{
    if (target->is_gone) {
        cpti_http_pool_drop(target, connection);
        return;
    }
    connection->tick = target->client->idle_tick;
    LIST_INSERT_HEAD(&target->idle, connection, others);
}

/* --- Targets --- */

struct cpti_http_target *cpti_http_pool_new(struct cpti_http_set *set,
                                            struct cpti_http_item *item,
                                            struct cpti_http_address *address)
{
    struct cpti_http_client *client = set->client;
    struct cpti_http_target *target = NULL;

    if (client->target_count >= CPTI_HTTP_TARGETS_MAX) {
        return NULL;
    }
    target = cpt_alloc_zeroed(client->http->alloc, sizeof *target);
    if (target == NULL) {
        return NULL;
    }
    target->health.id = ++client->last_id;
    target->client = client;
    target->set = set;
    target->item = item;
    target->address = *address;
    target->tls = (struct cpti_tls_target){.context = &client->http->calls_tls,
                                           .host = target->address.host,
                                           .is_name = target->address.number != NULL};
    memset(address, 0, sizeof *address);
    TAILQ_INIT(&target->waiting);
    client->target_count++;
    cpti_lock_take(&client->http->lock);
    LIST_INSERT_HEAD(&client->targets, target, all);
    cpti_lock_release(&client->http->lock);
    return target;
}

void cpti_http_pool_retire(struct cpti_http_target *target)
{
    target->is_gone = true;
    close_idle(target, 0);
}

void cpti_http_pool_sweep(struct cpti_http_client *client)
{
    struct cpti_http_target *target = LIST_FIRST(&client->targets);

    while (target != NULL) {
        struct cpti_http_target *next = LIST_NEXT(target, all);

        if (target->is_gone && target->connection_count == 0 &&
            TAILQ_EMPTY(&target->waiting) && !target->is_checked &&
            cpti_target_number(&target->health.in_flight) == 0) {
            cpti_http_pool_free(target);
        }
        target = next;
    }
}

void cpti_http_pool_free(struct cpti_http_target *target)
{
    struct cpti_http_client *client = target->client;
    const struct cpt_alloc *alloc = client->http->alloc;

    close_idle(target, 0);
    cpti_lock_take(&client->http->lock);
    LIST_REMOVE(target, all);
    cpti_lock_release(&client->http->lock);
    client->target_count--;
    cpti_tls_target_deinit(&target->tls);
    cpti_http_address_deinit(&target->address, alloc);
    cpt_alloc_free(alloc, target);
}
