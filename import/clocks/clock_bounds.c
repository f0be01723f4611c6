/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* clock_bounds.c - what a span and its parent tell of two clocks */
#include "import/clocks/clock_bounds.h"

#include "import/spans/span_tree.h"

enum { NS_PER_US = 1000, US_ERROR_NS = 2000 /* of what was cut to microseconds */ };

static int64_t bounded(int64_t ns)
{
    return ns > CPTI_VOTE_FAR ? CPTI_VOTE_FAR
                              : (ns < -CPTI_VOTE_FAR ? -CPTI_VOTE_FAR : ns);
}

static bool is_call(const struct cpti_span *client, const struct cpti_span *server)
{
    if (client->kind == CPTI_SPAN_CLIENT) {
        return server->kind == CPTI_SPAN_SERVER;
    }
    return client->kind == CPTI_SPAN_UNKNOWN && server->kind == CPTI_SPAN_UNKNOWN &&
           cpt_bytes_equal(client->operation, server->operation) &&
           !cpt_bytes_equal(client->service, server->service);
}

static uint64_t end_of(const struct cpti_span *span)
{
    return span->start_ns + span->duration_ns;
}

static bool began_within(const struct cpti_span *child, const struct cpti_span *parent)
{
    return child->start_ns >= parent->start_ns && child->start_ns <= end_of(parent);
}

bool cpti_clock_is_shared(const struct cpti_spans *spans, uint32_t number,
                          const struct cpti_clock_bound *bound)
{
    const struct cpti_span *server = &spans->items[number];
    const struct cpti_span *client = &spans->items[spans->nodes[number].parent];

    /* Processes that say the same are two if one begins to serve a call of the other
     * at a time when that does not call. */
    return client->process == server->process &&
           cpt_bytes_equal(client->host, server->host) &&
           (client->host.bytes > 0 || !is_call(client, server) ||
            began_within(server, client) || !cpti_clock_bound_breaks(bound, 0));
}

static bool has_clock(const struct cpti_span *span)
{
    return span->host.bytes > 0 || span->process != 0;
}

static bool is_whole_us(const struct cpti_span *span)
{
    return span->start_ns % NS_PER_US == 0 && span->duration_ns % NS_PER_US == 0;
}

/* Whether the client may have ended before its server did. A server that took longer
 * was not waited for, nor one whose client was answered by another. One that succeeded,
 * but not for its client, went on when that had given up; so did perhaps one that
 * failed, too, if its client ended first. */
static bool may_be_given_up(const struct cpti_spans *spans, uint32_t number)
{
    const uint32_t parent = spans->nodes[number].parent;
    const struct cpti_span *server = &spans->items[number];
    const struct cpti_span *client = &spans->items[parent];

    if (server->duration_ns > client->duration_ns ||
        cpti_spans_has(spans, parent, CPTI_SPAN_IS_GIVEN_UP)) {
        return true;
    }
    return client->is_failed &&
           (!server->is_failed ||
            (began_within(server, client) && end_of(server) > end_of(client)));
}

/* Nothing waits for what hangs below its parent like this: when it began and ended says
 * nothing of their clocks. */
static bool is_asynchronous(const struct cpti_span *parent,
                            const struct cpti_span *child)
{
    return child->is_async ||
           (parent->kind == CPTI_SPAN_PRODUCER && child->kind == CPTI_SPAN_CONSUMER);
}

bool cpti_clock_bound_of(const struct cpti_spans *spans, uint32_t number,
                         struct cpti_clock_bound *bound)
{
    const uint32_t parent = spans->nodes[number].parent;
    const struct cpti_span *server = &spans->items[number];
    const struct cpti_span *client =
        parent != CPTI_SPAN_NONE ? &spans->items[parent] : NULL;
    int64_t error_ns = 0;
    int64_t last_ns = 0;

    if (client == NULL || !has_clock(server) || !has_clock(client) ||
        !server->has_time || !client->has_time || is_asynchronous(client, server) ||
        spans->nodes[number].fate == CPTI_SPAN_duplicates) {
        return false;
    }
    error_ns = is_whole_us(server) && is_whole_us(client) ? US_ERROR_NS : 0;
    *bound = (struct cpti_clock_bound){
        .most_ns = bounded(
            bounded((int64_t)server->start_ns - (int64_t)client->start_ns) + error_ns)};
    if (is_call(client, server) && !may_be_given_up(spans, number)) {
        last_ns = (int64_t)end_of(server) - (int64_t)end_of(client);
        bound->least_ns = bounded(bounded(last_ns) - error_ns);
        bound->is_call = !client->is_failed;
    } else {
        last_ns = (int64_t)server->start_ns - (int64_t)end_of(client);
        bound->least_ns = last_ns < 0 ? bounded(bounded(last_ns) - error_ns) : 0;
        bound->is_least_guess = true;
    }
    return true;
}

bool cpti_clock_bound_breaks(const struct cpti_clock_bound *bound, int64_t offset_ns)
{
    return (!bound->is_least_guess && offset_ns < bound->least_ns) ||
           (!bound->is_most_guess && offset_ns > bound->most_ns);
}

/* Whether span @number is within its parent's time, or has no parent: then it does not
 * contradict the clocks as they are. */
static bool is_within(const struct cpti_spans *spans, uint32_t number)
{
    const uint32_t parent = spans->nodes[number].parent;
    const struct cpti_span *span = &spans->items[number];

    return parent == CPTI_SPAN_NONE ||
           (span->start_ns >= spans->items[parent].start_ns &&
            end_of(span) <= end_of(&spans->items[parent]));
}

bool cpti_clock_is_any_wrong(const struct cpti_spans *spans)
{
    struct cpti_clock_bound bound;

    for (uint32_t i = 0; i < spans->count; i++) {
        if (!is_within(spans, i) && cpti_clock_bound_of(spans, i, &bound) &&
            cpti_clock_bound_breaks(&bound, 0) &&
            !cpti_clock_is_shared(spans, i, &bound)) {
            return true;
        }
    }
    return false;
}
