/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_client.c - calls out: to one of the targets of a stub, over its connections
 *
 *      send --> target --> [ waiting, first come first served ] --> connection --> end
 *        ^     targets.c           |         |                          |
 *        |                    too many:   timeout            failure, timeout
 *        |                  UNAVAILABLE                                 |
 *        '-------------------- could not connect -----------------------'
 *
 * A call gets an idle connection of its target, else a new one, else it waits; if
 * others wait, it waits behind them. It leaves the queue when it has a connection,
 * before that is opened: connecting is the network's time, waiting is the pool's.
 *
 * A call that could not connect has not been sent, so it goes to another target; if
 * there is none, its name is looked up in the other family of addresses.
 *
 * A call on a kept connection that broke before a byte of the reply came may have met a
 * callee that had just closed an unused connection; but one that has read the call, has
 * acted and died looks the same. So it is sent again, on a new connection, only if the
 * callee cannot have seen any of it, or may carry it out twice: by its verb (RFC 9110,
 * 9.2.2), or as its row says. All other calls fail as CPT_IO; that is rare, as they
 * take no connection that was unused for half of idle_ns. What the first try took stays
 * a part of the call, which is one on the path.
 *
 * A call ends exactly once: each way to its end takes it off the list of calls. A
 * thread that cancels one takes a reference to it first, under the lock; the loop
 * thread then finds out whether the call has ended already. Its connection is closed,
 * since the reply would come on it: that tells the callee.
 */
#include "framework/transport/http/client/http_client.h"

#include "cpt/base/now.h"
#include "framework/cpt_calls.h"
#include "framework/transport/http/message/http_route.h"
#include "wire/cpt_metadata.h"

#include <assert.h>
#include <string.h>

enum { SERVICE_UNAVAILABLE = 503 };

static void pump(struct cpti_http_target *target);

/* --- The end of a call --- */

static void call_release(struct cpti_http_call *call)
{
    struct cpt_http *http = call->client->http;
    bool is_last = false;

    cpti_lock_take(&http->lock);
    is_last = --call->reference_count == 0;
    cpti_lock_release(&http->lock);
    if (is_last) {
        cpt_alloc_free(http->alloc, call->why);
        cpt_alloc_free(http->alloc, call);
    }
}

/* @call, which has succeeded, was begun as @call->call->previous was late. */
static void note_overtaken(const struct cpti_http_call *call)
{
    const struct cpt_transport_call *previous = call->call->previous;
    const struct cpti_http_call *late = previous != NULL ? previous->state : NULL;

    if (late != NULL && late->connection != NULL && late->target != call->target) {
        cpti_targets_overtaken(&late->set->targets, &late->target->health,
                               cpti_now_ns());
    }
}

/* The target of @call has it no longer. */
static void leave_target(struct cpti_http_call *call, enum cpti_target_result result)
{
    struct cpti_targets *targets = NULL;
    bool is_plain = false; /* it does not matter when */

    if (!call->is_begun) {
        return;
    }
    targets = &call->set->targets;
    is_plain = targets->count == 1 ||
               (result == CPTI_TARGET_SUCCEEDED && targets->flawed_count == 0);
    call->is_begun = false;
    cpti_targets_end(targets, &call->target->health, result,
                     is_plain ? 0 : cpti_now_ns());
    if (call->call->previous != NULL && result != CPTI_TARGET_FAILED &&
        result != CPTI_TARGET_NOTHING) {
        note_overtaken(call);
    }
}

/* Takes @call off all lists, frees it, unless another thread is cancelling it just now,
 * and completes the transport's call. */
static void call_end(struct cpti_http_call *call,
                     const struct cpt_transport_reply *reply,
                     enum cpti_target_result result)
{
    struct cpt_http *http = call->client->http;
    struct cpt_transport_call *owner = call->call;

    (void)cpti_http_loop_cancel(http, &call->timer);
    if (call->is_waiting && call->target != NULL) {
        TAILQ_REMOVE(&call->target->waiting, call, turn);
        call->target->waiting_count--;
    } else if (call->is_waiting) {
        TAILQ_REMOVE(&call->set->waiting, call, turn);
        call->set->waiting_count--;
    }
    leave_target(call, result);
    TAILQ_REMOVE(&call->client->calls, call, live);
    call->is_ended = true;
    if (call->is_check) {
        cpti_http_check_ended(call, reply);
        call_release(call);
        return;
    }
    cpti_lock_take(&http->lock);
    owner->state = NULL; /* from here on it cannot be cancelled */
    cpti_lock_release(&http->lock);
    call_release(call);
    if (reply->status != CPT_OK) {
        cpti_http_count(http, CPTI_HTTP_COUNTER_calls_failed);
    }
    cpt_transport_complete(owner, reply);
}

/* What the end of @call with @status, without a reply, says about its target. */
static enum cpti_target_result result_of(const struct cpti_http_call *call,
                                         cpt_status status)
{
    switch (status) {
    case CPT_UNAVAILABLE:
    case CPT_IO:
    case CPT_CORRUPT:
        return CPTI_TARGET_FAILED;
    case CPT_TIMEOUT:
        return call->is_sent ? CPTI_TARGET_FAILED : CPTI_TARGET_NOTHING;
    case CPT_LIMIT:
        return CPTI_TARGET_CLOSES;
    default:
        return CPTI_TARGET_NOTHING;
    }
}

/* For the operator. Without memory the reason is not told. */
static void why_keep(struct cpti_http_call *call, const char *why)
{
    const struct cpt_alloc *alloc = call->client->http->alloc;

    if (why != NULL) {
        cpt_alloc_free(alloc, call->why);
        call->why = cpti_http_text_copy(cpt_bytes_of(why), alloc);
    }
}

void cpti_http_call_fail(struct cpti_http_call *call, cpt_status status)
{
    const struct cpt_alloc *alloc = call->client->http->alloc;
    struct cpt_transport_reply reply = {.status = status};
    char *why = call->why;

    call->why = NULL;
    if (why != NULL) {
        reply.why = cpt_bytes_of(why);
    }
    call_end(call, &reply, result_of(call, status));
    cpt_alloc_free(alloc, why);
}

/* --- Sending --- */

static void call_send(struct cpti_http_call *call,
                      struct cpti_http_connection *connection)
{
    const uint64_t now = cpti_now_ns();

    call->connection = connection;
    cpti_http_connection_send(connection, call->call, call,
                              call->deadline_ns > now ? call->deadline_ns - now : 0);
}

static void call_send_anew(struct cpti_http_call *call)
{
    struct cpti_http_connection *connection = cpti_http_pool_open(call->target);

    if (connection == NULL) {
        cpti_http_call_fail(call, CPT_NO_MEMORY);
        return;
    }
    call_send(call, connection);
}

/* Whether the callee may carry it out twice. */
static bool is_idempotent(const struct cpti_http_call *call)
{
    return call->call->is_idempotent ||
           cpti_http_route_is_idempotent(cpti_http_route_verb(call->call));
}

/* It is the turn of @call, and a connection is idle or may be opened. */
static void call_dispatch(struct cpti_http_call *call)
{
    struct cpti_http_connection *connection =
        cpti_http_pool_take(call->target, !is_idempotent(call));

    if (!call->is_sent && !call->is_check) {
        call->is_sent = true;
        cpt_transport_sent(call->call);
    }
    if (connection == NULL) {
        call_send_anew(call);
        return;
    }
    call_send(call, connection);
}

/* Gives connections to waiting calls. A call that ends meanwhile may call it again. */
static void pump(struct cpti_http_target *target)
{
    if (target->is_pumping) {
        return;
    }
    target->is_pumping = true;
    while (!TAILQ_EMPTY(&target->waiting) && cpti_http_pool_has_room(target)) {
        struct cpti_http_call *call = TAILQ_FIRST(&target->waiting);

        TAILQ_REMOVE(&target->waiting, call, turn);
        target->waiting_count--;
        call->is_waiting = false;
        call_dispatch(call);
    }
    target->is_pumping = false;
}

static void run_freed(struct cpt_work *work)
{
    struct cpti_http_client *client =
        CPTI_CONTAINER(work, struct cpti_http_client, freed_work);
    struct cpti_http_target *target = NULL;

    client->is_freed_posted = false;
    client->is_short = false;
    LIST_FOREACH(target, &client->targets, all)
    {
        pump(target);
    }
}

void cpti_http_client_freed(struct cpt_http *http)
{
    struct cpti_http_client *client = http->client;

    if (client != NULL && client->is_short && !client->is_freed_posted) {
        client->freed_work.run = run_freed;
        client->is_freed_posted = cpti_http_loop_post(http, &client->freed_work);
    }
}

/* --- Where it goes --- */

/* Picks the target of @call, and tells its caller if there was a choice. */
static void call_aim(struct cpti_http_call *call)
{
    struct cpti_targets *targets = &call->set->targets;
    struct cpti_target *health =
        cpti_targets_pick(targets, targets->flawed_count != 0 ? cpti_now_ns() : 0,
                          call->tried, call->tried_count);

    call->target = CPTI_CONTAINER(health, struct cpti_http_target, health);
    call->is_begun = true;
    cpti_targets_begin(health);
    if (targets->count == 1) {
        return;
    }
    call->call->choice = health->id;
    if (call->tried_count == CPTI_HTTP_TRIED_MAX) {
        memmove(call->tried, call->tried + 1,
                (CPTI_HTTP_TRIED_MAX - 1) * sizeof call->tried[0]);
        call->tried_count--;
    }
    call->tried[call->tried_count++] = health->id;
    cpt_transport_picked(call->call, cpt_bytes_of(call->target->address.text));
}

/* Waits in @queue, unless that is full. false: @call has ended. */
static bool call_wait(struct cpti_http_call *call, struct cpti_http_calls *queue,
                      size_t *count)
{
    if (*count >= call->client->http->options.waiting_count_max) {
        cpti_http_count(call->client->http, CPTI_HTTP_COUNTER_calls_refused);
        call_end(call, &(const struct cpt_transport_reply){.status = CPT_UNAVAILABLE},
                 CPTI_TARGET_NOTHING);
        return false;
    }
    call->is_waiting = true;
    ++*count;
    TAILQ_INSERT_TAIL(queue, call, turn);
    return true;
}

void cpti_http_call_go(struct cpti_http_call *call)
{
    struct cpti_http_set *set = call->set;
    struct cpti_http_target *target = NULL;
    bool is_coming = false;

    call->target = NULL;
    if (call->has_waited && set->targets.count == 0) {
        cpti_http_call_fail(call, CPT_UNAVAILABLE);
        return;
    }
    if (!cpti_http_set_use(set, &is_coming)) {
        if (!is_coming) {
            cpti_http_call_fail(call, CPT_UNAVAILABLE);
            return;
        }
        call->has_waited = true;
        (void)call_wait(call, &set->waiting, &set->waiting_count);
        return;
    }
    call_aim(call);
    target = call->target;
    if (TAILQ_EMPTY(&target->waiting) && cpti_http_pool_has_room(target)) {
        call_dispatch(call);
    } else if (call_wait(call, &target->waiting, &target->waiting_count)) {
        cpti_http_count(call->client->http, CPTI_HTTP_COUNTER_calls_waited);
    }
}

/* Whether @call has been at all targets of its set. */
static bool has_tried_all(const struct cpti_http_call *call)
{
    const struct cpti_targets *targets = &call->set->targets;
    size_t count = 0;

    for (size_t i = 0; i < targets->count; i++) {
        for (unsigned j = 0; j < call->tried_count; j++) {
            if (call->tried[j] == targets->items[i]->id) {
                count++;
                break;
            }
        }
    }
    return targets->count <= 1 || count >= targets->count;
}

/* @call, which could not connect, goes to another target. false: it has nowhere to go.
 */
static bool call_go_elsewhere(struct cpti_http_call *call)
{
    struct cpti_http_set *set = call->set;

    if (++call->connect_count < CPT_TARGET_TRIES_MAX && !has_tried_all(call)) {
        leave_target(call, CPTI_TARGET_FAILED);
        cpti_http_count(call->client->http, CPTI_HTTP_COUNTER_calls_moved);
        cpti_http_call_go(call);
        return true;
    }
    if (!cpti_http_set_look_elsewhere(call)) {
        return false;
    }
    leave_target(call, CPTI_TARGET_FAILED);
    call->target = NULL;
    call->tried_count = 0;
    call->connect_count = 0;
    (void)call_wait(call, &set->waiting, &set->waiting_count);
    return true;
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

/* Whether it comes from a cache: it has `Age`. Varnish writes `Age: 0` on each reply;
 * its `X-Varnish` has a second number on those of its cache. */
static bool is_from_cache(const struct cpti_http_input *answer)
{
    const struct cpti_http_parser *parser = &answer->parser;
    const char *head = cpti_http_input_head(answer);
    struct cpt_bytes age = {NULL, 0};
    struct cpt_bytes varnish = {NULL, 0};

    switch (cpti_http_parser_field(parser, head, CPTI_HTTP_FIELD_AGE, &age)) {
    case 0:
        return false;
    case 1:
        break;
    default:
        return true;
    }
    return !cpt_bytes_equal(age, cpt_bytes_of("0")) ||
           cpti_http_parser_field(parser, head, CPTI_HTTP_FIELD_VARNISH, &varnish) !=
               1 ||
           varnish.bytes == 0 || memchr(varnish.data, ' ', varnish.bytes) != NULL ||
           memchr(varnish.data, '\t', varnish.bytes) != NULL;
}

static void call_answer(struct cpti_http_call *call,
                        const struct cpti_http_outcome *outcome)
{
    const struct cpti_http_input *answer = outcome->reply;
    const struct cpt_alloc *alloc = call->client->http->alloc;
    struct cpt_transport_reply reply = {.status = CPT_OK,
                                        .send_queue_ns = outcome->send_queue_ns,
                                        .receive_queue_ns = outcome->receive_queue_ns};
    const struct cpt_bytes head = {cpti_http_input_head(answer), answer->head_bytes};
    struct cpt_field headers[CPT_CALL_FIELDS_MAX];
    void *memory = NULL;

    reply.headers = headers;
    reply.header_count = cpti_http_route_replied(head, call->call->reply_headers,
                                                 headers, CPT_CALL_FIELDS_MAX);
    reply.http_status = answer->parser.status;
    reply.outcome = cpt_outcome_of_http_status(reply.http_status);
    reply.is_cached = is_from_cache(answer);
    metadata_read(&reply, answer, call->call, alloc, &memory);
    reply.body = cpti_http_input_body(answer);
    call_end(call, &reply,
             reply.http_status == SERVICE_UNAVAILABLE ? CPTI_TARGET_FAILED
             : outcome->can_be_used_again             ? CPTI_TARGET_SUCCEEDED
                                                      : CPTI_TARGET_CLOSES);
    cpt_alloc_free(alloc, memory);
}

/* Whether the callee may be given @call again, which ended with @outcome. */
static bool may_resend(const struct cpti_http_call *call,
                       const struct cpti_http_outcome *outcome)
{
    return outcome->status == CPT_IO && outcome->was_kept && !outcome->has_begun &&
           (!outcome->was_written || is_idempotent(call));
}

/* Whether @call, which failed with @outcome, has been sent again. The new connection is
 * not a kept one, so that happens once. */
static bool call_try_again(struct cpti_http_call *call,
                           const struct cpti_http_outcome *outcome)
{
    if (may_resend(call, outcome)) {
        cpti_http_count(call->client->http, CPTI_HTTP_COUNTER_calls_resent);
        call_send_anew(call);
        return true;
    }
    return outcome->status == CPT_UNAVAILABLE && !outcome->was_connected &&
           !call->is_check && call_go_elsewhere(call);
}

void cpti_http_call_ended(void *context, struct cpti_http_connection *connection,
                          void *tag, const struct cpti_http_outcome *outcome)
{
    struct cpti_http_target *target = context;
    struct cpti_http_call *call = tag;

    assert(call->connection == connection);
    call->connection = NULL;
    if (outcome->status != CPT_OK) {
        why_keep(call, outcome->why);
        cpti_http_pool_drop(target, connection);
        if (!call_try_again(call, outcome)) {
            cpti_http_call_fail(call, outcome->status);
        }
        pump(target);
        return;
    }
    /* Idle before the call ends: the next call of its task may use it. */
    if (outcome->can_be_used_again) {
        cpti_http_pool_keep(target, connection);
    } else {
        cpti_http_pool_drop(target, connection);
    }
    call_answer(call, outcome);
    pump(target);
}

/* Ends @call and closes its connection. */
static void call_break_off(struct cpti_http_call *call, cpt_status status)
{
    struct cpti_http_target *target = call->target;

    if (call->connection != NULL) {
        cpti_http_pool_drop(target, call->connection);
        call->connection = NULL;
    }
    cpti_http_call_fail(call, status);
    if (target != NULL) {
        pump(target);
    }
}

static void on_timeout(struct cpt_timer *timer)
{
    call_break_off(CPTI_CONTAINER(timer, struct cpti_http_call, timer), CPT_TIMEOUT);
}

/* --- The beginning of a call --- */

static cpt_status call_time(struct cpti_http_call *call)
{
    const uint64_t now = cpti_now_ns();

    call->timer.fire = on_timeout;
    return cpti_http_loop_after(call->client->http, &call->timer,
                                call->deadline_ns > now ? call->deadline_ns - now : 0);
}

/* The targets of the attempts before this one, the last one last. */
static void note_tried(struct cpti_http_call *call)
{
    const struct cpt_transport_call *previous = call->call->previous;
    unsigned count = 0;

    for (; previous != NULL && count < CPTI_HTTP_TRIED_MAX / 2;
         previous = previous->previous) {
        count += previous->choice != 0;
    }
    call->tried_count = count;
    for (previous = call->call->previous; count > 0; previous = previous->previous) {
        if (previous->choice != 0) {
            call->tried[--count] = previous->choice;
        }
    }
}

static cpt_status call_prepare(struct cpti_http_call *call)
{
    const struct cpti_http_client *client = call->client;
    cpt_status status = CPT_OK;

    if (client->http->is_closed || call->is_cancelled) {
        return CPT_CANCELLED;
    }
    if (call->call->target == NULL || !cpti_http_method_is_good(call->call->method) ||
        !cpti_http_route_is_verb(call->call->verb)) {
        return CPT_INVALID;
    }
    status = cpti_http_set_find(call->client, call->call->target, &call->set);
    if (status != CPT_OK) {
        return status;
    }
    if (call->call->previous != NULL) {
        note_tried(call);
    }
    return call_time(call);
}

static void call_start(struct cpti_http_call *call)
{
    const cpt_status status = call_prepare(call);

    TAILQ_INSERT_TAIL(&call->client->calls, call, live);
    call->is_started = true;
    if (status != CPT_OK) {
        cpti_http_call_fail(call, status);
        return;
    }
    cpti_http_call_go(call);
}

void cpti_http_call_check(struct cpti_http_call *call)
{
    const cpt_status status = call_time(call);

    TAILQ_INSERT_TAIL(&call->client->calls, call, live);
    call->is_started = true;
    if (status != CPT_OK) {
        cpti_http_call_fail(call, status);
        return;
    }
    call_dispatch(call);
}

static void run_start(struct cpt_work *work)
{
    call_start(CPTI_CONTAINER(work, struct cpti_http_call, work));
}

static void refuse(struct cpt_transport_call *call, cpt_status status)
{
    cpt_transport_complete(call, &(const struct cpt_transport_reply){.status = status});
}

void cpti_http_client_send(struct cpt_transport *transport,
                           struct cpt_transport_call *call)
{
    struct cpt_http *http = CPTI_CONTAINER(transport, struct cpt_http, transport);
    struct cpti_http_call *own = cpt_alloc_zeroed(http->alloc, sizeof(*own));

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
static void call_cancel(struct cpti_http_call *call)
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
    struct cpti_http_call *call =
        CPTI_CONTAINER(work, struct cpti_http_call, cancel_work);

    call_cancel(call);
    call_release(call);
}

void cpti_http_client_cancel_call(struct cpt_transport *transport,
                                  struct cpt_transport_call *call)
{
    struct cpt_http *http = CPTI_CONTAINER(transport, struct cpt_http, transport);
    struct cpti_http_call *own = NULL;

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
    const struct cpt_target_options *given = http->options.targets;
    struct cpti_http_client *client = cpt_alloc_zeroed(http->alloc, sizeof(*client));

    if (client == NULL) {
        return NULL;
    }
    if (given != NULL && cpt_options_read(&client->options, sizeof client->options,
                                          given, NULL) != CPT_OK) {
        cpt_alloc_free(http->alloc, client);
        return NULL;
    }
    cpti_target_options_complete(&client->options);
    client->http = http;
    TAILQ_INIT(&client->calls);
    return client;
}

bool cpti_http_client_is_idle(const struct cpti_http_client *client)
{
    const struct cpti_http_call *call = TAILQ_FIRST(&client->calls);

    while (call != NULL && call->is_check) {
        call = TAILQ_NEXT(call, live);
    }
    return call == NULL;
}

void cpti_http_client_cancel(struct cpti_http_client *client)
{
    struct cpti_http_call *call = NULL;

    cpti_http_sets_close(client);
    while ((call = TAILQ_FIRST(&client->calls)) != NULL) {
        if (call->connection != NULL) {
            cpti_http_pool_drop(call->target, call->connection);
            call->connection = NULL;
        }
        cpti_http_call_fail(call, CPT_CANCELLED);
    }
}

void cpti_http_client_free(struct cpti_http_client *client)
{
    struct cpti_http_target *target = NULL;

    if (client == NULL) {
        return;
    }
    (void)cpti_http_loop_cancel(client->http, &client->idle_timer);
    cpti_http_sets_close(client);
    cpti_http_sets_free(client);
    while ((target = LIST_FIRST(&client->targets)) != NULL) {
        cpti_http_pool_free(target);
    }
    cpt_alloc_free(client->http->alloc, client);
}
