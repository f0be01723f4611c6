/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_client.c - calls out: a pool of connections for each target
 *
 *      send --> [ waiting, first come first served ] --> a connection --> complete
 *                        |         |                        |
 *                   too many:   timeout                failure, timeout
 *                 UNAVAILABLE
 *
 * A call gets an idle connection, else a new one, else it waits; if others wait, it
 * waits behind them. It leaves the queue when it has a connection, before that is
 * opened: looking up and connecting are the network's time, waiting is the pool's. The
 * idle connection used last is taken first: it is the least likely to have been closed
 * meanwhile.
 *
 * A call on a kept connection that broke before a byte of the reply came is sent again,
 * once, on a new connection: most likely the callee closed an unused connection while
 * our request was on its way. A callee that crashed because of the request looks the
 * same, so in rare cases a method runs twice, as for every client that keeps
 * connections. Names are looked up as IPv4 first, then as IPv6; of
 * each, one address is tried.
 *
 * A call ends exactly once: each way to its end takes it off the list of calls. A
 * thread that cancels one takes a reference to it first, under the lock; the loop
 * thread then finds out whether the call has ended already. Its connection is closed,
 * since the reply would come on it: that tells the callee.
 */
#include "cpt/now.h"
#include "framework/cpt_calls.h"
#include "framework/transport/http_connection.h"
#include "framework/transport/http_route.h"
#include "wire/cpt_metadata.h"

#include <assert.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

enum { TARGET_BUCKETS = 64, TARGETS_MAX = 4096, IDLE_TICKS = 4 };

struct target {
    struct target *next;
    struct cpti_http_address address;
    struct cpti_http_client *client;
    int family;                             /* of the last successful connection */
    LIST_HEAD(, cpti_http_connection) idle; /* the one used last first */
    size_t connection_count;                /* idle and busy */
    TAILQ_HEAD(, call) waiting;
    size_t waiting_count;
    bool is_pumping;
};

struct call {
    TAILQ_ENTRY(call) live;
    TAILQ_ENTRY(call) turn; /* in target->waiting */
    struct cpt_work work;
    struct cpt_work cancel_work;
    unsigned reference_count; /* guarded by cpt_http.lock, as is call->state */
    struct cpt_timer timer;
    struct cpti_http_client *client;
    struct cpt_transport_call *call;
    struct target *target;
    struct cpti_http_connection *connection; /* NULL: it waits for one */
    uint64_t deadline_ns;
    int family;
    bool is_started; /* it is in the list of calls */
    bool is_ended;
    bool is_cancelled; /* before it was started */
    bool is_waiting;
    bool is_resent;
    bool has_tried_ipv6;
};

TAILQ_HEAD(calls, call);

struct cpti_http_client {
    struct cpt_http *http;
    struct target *targets[TARGET_BUCKETS];
    size_t target_count;
    struct calls calls;
    struct cpt_timer idle_timer; /* fires several times within idle_ns */
    bool is_idle_timed;
    unsigned idle_tick; /* how often it fired */
};

static void pump(struct target *target);

/* --- The end of a call --- */

static void call_release(struct call *call)
{
    struct cpt_http *http = call->client->http;
    bool is_last = false;

    cpti_lock_take(&http->lock);
    is_last = --call->reference_count == 0;
    cpti_lock_release(&http->lock);
    if (is_last) {
        cpt_alloc_free(http->alloc, call);
    }
}

/* Takes @call off all lists, frees it, unless another thread is cancelling it just now,
 * and completes the transport's call. */
static void call_end(struct call *call, const struct cpt_transport_reply *reply)
{
    struct cpt_http *http = call->client->http;
    struct cpt_transport_call *owner = call->call;

    (void)cpti_http_loop_cancel(http, &call->timer);
    if (call->is_waiting) {
        TAILQ_REMOVE(&call->target->waiting, call, turn);
        call->target->waiting_count--;
    }
    TAILQ_REMOVE(&call->client->calls, call, live);
    call->is_ended = true;
    cpti_lock_take(&http->lock);
    owner->state = NULL; /* from here on it cannot be cancelled */
    cpti_lock_release(&http->lock);
    call_release(call);
    if (reply->status != CPT_OK) {
        cpti_http_count(http, CPTI_HTTP_COUNTER_calls_failed);
    }
    cpt_transport_complete(owner, reply);
}

static void call_fail(struct call *call, cpt_status status)
{
    call_end(call, &(const struct cpt_transport_reply){.status = status});
}

/* --- Connections of a target --- */

static void connection_drop(struct target *target,
                            struct cpti_http_connection *connection)
{
    target->connection_count--;
    cpti_http_connection_retire(connection);
}

/* The other side has closed an idle connection. */
static void on_closed(void *context, struct cpti_http_connection *connection)
{
    LIST_REMOVE(connection, others);
    connection_drop(context, connection);
}

/* Closes the connections of @target that were not used for long. */
static void idle_close(struct target *target)
{
    const unsigned now = target->client->idle_tick;
    struct cpti_http_connection *connection = LIST_FIRST(&target->idle);

    while (connection != NULL) {
        struct cpti_http_connection *next = LIST_NEXT(connection, others);

        if (now - connection->tick > IDLE_TICKS) {
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
    bool has_any = false;

    client->is_idle_timed = false;
    client->idle_tick++;
    for (size_t i = 0; i < TARGET_BUCKETS; i++) {
        for (struct target *target = client->targets[i]; target != NULL;
             target = target->next) {
            idle_close(target);
            has_any |= target->connection_count > 0;
        }
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

static void on_ended(void *context, struct cpti_http_connection *connection, void *tag,
                     const struct cpti_http_outcome *outcome);

static struct cpti_http_connection *connection_open(struct target *target, int family)
{
    const struct cpti_http_connection_owner owner = {on_ended, on_closed, target};
    struct cpti_http_connection *connection = cpti_http_connection_new(
        target->client->http, &target->address, family, &owner);

    if (connection != NULL) {
        target->connection_count++;
        idle_later(target->client);
        cpti_http_count(target->client->http, CPTI_HTTP_COUNTER_connections_opened);
    }
    return connection;
}

/* --- Sending --- */

static void call_send(struct call *call, struct cpti_http_connection *connection)
{
    const uint64_t now = cpti_now_ns();

    call->connection = connection;
    cpti_http_connection_send(connection, call->call, call,
                              call->deadline_ns > now ? call->deadline_ns - now : 0);
}

static void call_send_anew(struct call *call, int family)
{
    struct cpti_http_connection *connection = connection_open(call->target, family);

    call->family = family;
    if (connection == NULL) {
        call_fail(call, CPT_NO_MEMORY);
        return;
    }
    call_send(call, connection);
}

/* It is the turn of @call, and a connection is idle or may be opened. */
static void call_dispatch(struct call *call)
{
    struct target *target = call->target;
    struct cpti_http_connection *connection = LIST_FIRST(&target->idle);

    cpt_transport_sent(call->call);
    if (connection == NULL) {
        call_send_anew(call, target->family);
        return;
    }
    LIST_REMOVE(connection, others);
    call->family = target->family;
    call_send(call, connection);
}

static bool has_room(const struct target *target)
{
    return !LIST_EMPTY(&target->idle) ||
           target->connection_count <
               target->client->http->options.connection_count_max;
}

/* Gives connections to waiting calls. A call that ends meanwhile may call it again. */
static void pump(struct target *target)
{
    if (target->is_pumping) {
        return;
    }
    target->is_pumping = true;
    while (!TAILQ_EMPTY(&target->waiting) && has_room(target)) {
        struct call *call = TAILQ_FIRST(&target->waiting);

        TAILQ_REMOVE(&target->waiting, call, turn);
        target->waiting_count--;
        call->is_waiting = false;
        call_dispatch(call);
    }
    target->is_pumping = false;
}

/* --- What came back --- */

/* Decodes the path that came with the reply into *@memory, which the caller frees. */
static void metadata_read(struct cpt_transport_reply *reply,
                          const struct cpti_http_input *answer,
                          const struct cpt_transport_call *call,
                          const struct cpt_alloc *alloc, void **memory)
{
    const size_t capacity = call->metadata_bytes_max;
    struct cpt_bytes text = {NULL, 0};
    const unsigned count = cpti_http_parser_field(
        &answer->parser, cpti_http_input_head(answer), CPTI_HTTP_FIELD_PATH, &text);
    cpt_status status = CPT_OK;
    size_t bytes = 0;

    *memory = NULL;
    if (count == 0 || call->critical_path.bytes == 0) {
        return; /* a path that was not asked for is ignored */
    }
    if (count > 1) {
        reply->is_metadata_bad = 1;
        return;
    }
    if (text.bytes > CPT_BASE64_BYTES(capacity) + 2) { /* 2: padding */
        reply->is_metadata_large = 1;
        return;
    }
    *memory = cpt_alloc_zeroed(alloc, capacity + 1);
    if (*memory == NULL) {
        reply->is_metadata_large = 1;
        return;
    }
    status = cpt_base64_decode(text, *memory, capacity, &bytes, NULL);
    reply->is_metadata_large = status == CPT_LIMIT;
    reply->is_metadata_bad =
        (status != CPT_OK && status != CPT_LIMIT) || (status == CPT_OK && bytes == 0);
    if (status == CPT_OK) {
        reply->metadata.data = *memory;
        reply->metadata.bytes = bytes;
    }
}

static void call_answer(struct call *call, const struct cpti_http_input *answer)
{
    const struct cpt_alloc *alloc = call->client->http->alloc;
    struct cpt_transport_reply reply = {.status = CPT_OK};
    const struct cpt_bytes head = {cpti_http_input_head(answer), answer->head_bytes};
    struct cpt_field headers[CPT_CALL_FIELDS_MAX];
    void *memory = NULL;

    reply.headers = headers;
    reply.header_count = cpti_http_route_replied(head, call->call->reply_headers,
                                                 headers, CPT_CALL_FIELDS_MAX);
    reply.http_status = answer->parser.status;
    reply.outcome = cpt_outcome_of_http_status(reply.http_status);
    reply.is_cached = answer->parser.fields[CPTI_HTTP_FIELD_AGE].count > 0;
    metadata_read(&reply, answer, call->call, alloc, &memory);
    reply.body = cpti_http_input_body(answer);
    call_end(call, &reply);
    cpt_alloc_free(alloc, memory);
}

/* Whether @call, which failed with @outcome, has been sent again. */
static bool call_try_again(struct call *call, const struct cpti_http_outcome *outcome)
{
    if (outcome->status == CPT_IO && outcome->was_kept && !outcome->has_begun &&
        !call->is_resent) {
        call->is_resent = true;
        cpti_http_count(call->client->http, CPTI_HTTP_COUNTER_calls_resent);
        call_send_anew(call, call->family);
        return true;
    }
    if (!outcome->was_connected && call->target->address.is_name &&
        call->family == AF_INET && !call->has_tried_ipv6) {
        call->has_tried_ipv6 = true;
        call_send_anew(call, AF_INET6);
        return true;
    }
    return false;
}

static void on_ended(void *context, struct cpti_http_connection *connection, void *tag,
                     const struct cpti_http_outcome *outcome)
{
    struct target *target = context;
    struct call *call = tag;

    assert(call->connection == connection);
    call->connection = NULL;
    if (outcome->status != CPT_OK) {
        connection_drop(target, connection);
        if (!call_try_again(call, outcome)) {
            call_fail(call, outcome->status);
        }
        pump(target);
        return;
    }
    target->family = call->family;
    /* Idle before the call ends: the next call of its task may use it. */
    if (outcome->can_be_used_again) {
        connection->tick = target->client->idle_tick;
        LIST_INSERT_HEAD(&target->idle, connection, others);
    } else {
        connection_drop(target, connection);
    }
    call_answer(call, outcome->reply);
    pump(target);
}

/* Ends @call and closes its connection. */
static void call_break_off(struct call *call, cpt_status status)
{
    struct target *target = call->target;

    if (call->connection != NULL) {
        connection_drop(target, call->connection);
        call->connection = NULL;
    }
    call_fail(call, status);
    pump(target);
}

static void on_timeout(struct cpt_timer *timer)
{
    call_break_off(CPTI_CONTAINER(timer, struct call, timer), CPT_TIMEOUT);
}

/* --- Targets --- */

static struct target **target_place(struct cpti_http_client *client, const char *text)
{
    const uint64_t hash = cpt_hash_bytes(0, text, strlen(text));
    struct target **place = &client->targets[hash % TARGET_BUCKETS];

    while (*place != NULL && strcmp((*place)->address.text, text) != 0) {
        place = &(*place)->next;
    }
    return place;
}

static cpt_status target_find(struct cpti_http_client *client, const char *text,
                              struct target **found)
{
    const struct cpt_alloc *alloc = client->http->alloc;
    struct target **place = target_place(client, text);
    struct target *target = NULL;
    cpt_status status = CPT_OK;

    if (*place != NULL) {
        *found = *place;
        return CPT_OK;
    }
    if (client->target_count >= TARGETS_MAX) {
        return CPT_LIMIT;
    }
    target = cpt_alloc_zeroed(alloc, sizeof(*target));
    if (target == NULL) {
        return CPT_NO_MEMORY;
    }
    status = cpti_http_address_init(&target->address, text, alloc);
    if (status != CPT_OK) {
        cpt_alloc_free(alloc, target);
        return status;
    }
    target->client = client;
    target->family = target->address.is_name ? AF_INET : AF_UNSPEC;
    TAILQ_INIT(&target->waiting);
    client->target_count++;
    *place = target;
    *found = target;
    return CPT_OK;
}

/* --- The beginning of a call --- */

static cpt_status call_prepare(struct call *call)
{
    const uint64_t now = cpti_now_ns();
    const struct cpti_http_client *client = call->client;
    cpt_status status = CPT_OK;

    if (client->http->is_closed || call->is_cancelled) {
        return CPT_CANCELLED;
    }
    if (call->call->target == NULL || !cpti_http_method_is_good(call->call->method) ||
        !cpti_http_route_is_verb(call->call->verb)) {
        return CPT_INVALID;
    }
    status = target_find(call->client, call->call->target, &call->target);
    if (status != CPT_OK) {
        return status;
    }
    call->timer.fire = on_timeout;
    return cpti_http_loop_after(client->http, &call->timer,
                                call->deadline_ns > now ? call->deadline_ns - now : 0);
}

static void call_start(struct call *call)
{
    const struct cpt_http_options *options = &call->client->http->options;
    const cpt_status status = call_prepare(call);
    struct target *target = call->target;

    TAILQ_INSERT_TAIL(&call->client->calls, call, live);
    call->is_started = true;
    if (status != CPT_OK) {
        call_fail(call, status);
        return;
    }
    if (TAILQ_EMPTY(&target->waiting) && has_room(target)) {
        call_dispatch(call);
        return;
    }
    if (target->waiting_count >= options->waiting_count_max) {
        cpti_http_count(call->client->http, CPTI_HTTP_COUNTER_calls_refused);
        call_fail(call, CPT_UNAVAILABLE);
        return;
    }
    cpti_http_count(call->client->http, CPTI_HTTP_COUNTER_calls_waited);
    call->is_waiting = true;
    target->waiting_count++;
    TAILQ_INSERT_TAIL(&target->waiting, call, turn);
}

static void run_start(struct cpt_work *work)
{
    call_start(CPTI_CONTAINER(work, struct call, work));
}

static void refuse(struct cpt_transport_call *call, cpt_status status)
{
    cpt_transport_complete(call, &(const struct cpt_transport_reply){.status = status});
}

void cpti_http_client_send(struct cpt_transport *transport,
                           struct cpt_transport_call *call)
{
    struct cpt_http *http = CPTI_CONTAINER(transport, struct cpt_http, transport);
    struct call *own = cpt_alloc_zeroed(http->alloc, sizeof(*own));

    cpti_http_count(http, CPTI_HTTP_COUNTER_calls_sent);
    if (own == NULL) {
        refuse(call, CPT_NO_MEMORY);
        return;
    }
    own->client = http->client;
    own->call = call;
    own->deadline_ns = cpti_timer_at(cpti_now_ns(), call->timeout_ns);
    own->work.run = run_start;
    own->reference_count = 1;
    call->state = own;
    if (cpti_http_loop_is_here(http)) {
        call_start(own);
        return;
    }
    if (!cpti_http_loop_post_call(http, &own->work)) {
        call->state = NULL;
        cpt_alloc_free(http->alloc, own);
        refuse(call, CPT_CANCELLED);
    }
}

/* Loop thread. */
static void call_cancel(struct call *call)
{
    if (call->is_ended) {
        return;
    }
    cpti_http_count(call->client->http, CPTI_HTTP_COUNTER_calls_cancelled);
    if (call->is_started) {
        call_break_off(call, CPT_CANCELLED);
    } else {
        call->is_cancelled = true;
    }
}

static void run_cancel(struct cpt_work *work)
{
    struct call *call = CPTI_CONTAINER(work, struct call, cancel_work);

    call_cancel(call);
    call_release(call);
}

void cpti_http_client_cancel_call(struct cpt_transport *transport,
                                  struct cpt_transport_call *call)
{
    struct cpt_http *http = CPTI_CONTAINER(transport, struct cpt_http, transport);
    struct call *own = NULL;

    cpti_lock_take(&http->lock);
    own = call->state;
    if (own != NULL) {
        own->reference_count++;
    }
    cpti_lock_release(&http->lock);
    if (own == NULL) {
        return;
    }
    own->cancel_work.run = run_cancel;
    if (cpti_http_loop_is_here(http)) {
        run_cancel(&own->cancel_work);
    } else if (!cpti_http_loop_post(http, &own->cancel_work)) {
        call_release(own);
    }
}

/* --- Making and freeing --- */

struct cpti_http_client *cpti_http_client_new(struct cpt_http *http)
{
    struct cpti_http_client *client = cpt_alloc_zeroed(http->alloc, sizeof(*client));

    if (client != NULL) {
        client->http = http;
        TAILQ_INIT(&client->calls);
    }
    return client;
}

bool cpti_http_client_is_idle(const struct cpti_http_client *client)
{
    return TAILQ_EMPTY(&client->calls);
}

void cpti_http_client_cancel(struct cpti_http_client *client)
{
    struct call *call = NULL;

    while ((call = TAILQ_FIRST(&client->calls)) != NULL) {
        if (call->connection != NULL) {
            connection_drop(call->target, call->connection);
            call->connection = NULL;
        }
        call_fail(call, CPT_CANCELLED);
    }
}

static void target_free(struct target *target)
{
    const struct cpt_alloc *alloc = target->client->http->alloc;

    struct cpti_http_connection *connection = NULL;

    while ((connection = LIST_FIRST(&target->idle)) != NULL) {
        LIST_REMOVE(connection, others);
        connection_drop(target, connection);
    }
    cpti_http_address_deinit(&target->address, alloc);
    cpt_alloc_free(alloc, target);
}

void cpti_http_client_free(struct cpti_http_client *client)
{
    if (client == NULL) {
        return;
    }
    (void)cpti_http_loop_cancel(client->http, &client->idle_timer);
    for (size_t i = 0; i < TARGET_BUCKETS; i++) {
        while (client->targets[i] != NULL) {
            struct target *target = client->targets[i];

            client->targets[i] = target->next;
            target_free(target);
        }
    }
    cpt_alloc_free(client->http->alloc, client);
}
