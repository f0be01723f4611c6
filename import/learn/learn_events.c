/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_events.c - what each event of a node came behind, and what held it
 *
 * An event comes behind the call that was issued last before it, of those that are
 * always issued before it, or behind the beginning. It was held by all calls that are
 * before it (learn_count.c) and had ended, but for those that what it comes behind had
 * waited for.
 *
 *      A   |------|
 *      B   |-----------|
 *      C                 |----|      behind B's start; held by A and B, last by B
 *      D                    |-----|  side by side with C: behind B, too
 *      end                          | behind D's start; held by C and D
 */
#include "import/learn/learn_inside.h"

static uint32_t place_of(const struct learn_node *node, size_t event)
{
    return event < node->count ? node->calls[event].place : 0;
}

/* The call that @event, at @at_ns, comes behind. A timer began with the first attempt,
 * also if that lost; all other events come behind what no timer started. A node whose
 * end was cut may have begun calls later than that. */
static uint32_t find_behind(const struct learn_node *node, size_t event, uint64_t at_ns)
{
    if (event < node->count && node->calls[event].is_timed) {
        return node->calls[event].before;
    }
    for (size_t i = event; i-- > 0 && event - i <= LEARN_NEAR_MAX;) {
        const struct learn_call *call = &node->calls[i];

        if (!call->is_lost && !call->is_timed && call->start_ns <= at_ns &&
            cpti_learn_starts_before(node->class, call->place, place_of(node, event))) {
            return (uint32_t)i;
        }
    }
    return LEARN_NONE;
}

static bool holds(const struct learn_node *node, size_t number, size_t event)
{
    const uint32_t from = node->calls[number].place;
    const uint32_t to = place_of(node, event);

    return cpti_learn_is_before(node->class, from, to) ||
           cpti_learn_is_at_times_before(node->class, from, to);
}

/* Whether call @number had ended by @event, and may have held it. */
static bool had_ended(const struct learn_node *node, uint32_t number, size_t event,
                      uint64_t at_ns)
{
    const struct learn_call *call = &node->calls[number];

    return number < event && !call->is_lost &&
           call->end_ns <= at_ns + cpti_learn_tolerance(node, call, event);
}

/* Whether what @event comes behind had waited for call @number. */
static bool was_over(const struct learn_node *node, const struct learn_event *event,
                     uint32_t number)
{
    return event->behind != LEARN_NONE && number != event->behind &&
           node->calls[number].end_ns <= event->behind_ns && number < event->behind &&
           holds(node, number, event->behind);
}

static cpt_status add_held(struct cpti_learn *learn, struct learn_event *event,
                           uint32_t number)
{
    struct learn_node *node = &learn->node;
    struct learn_call *call = &node->calls[number];
    const cpt_status status =
        cpt_alloc_grow(learn->alloc, (void **)&node->held, &node->held_capacity,
                       node->held_count + 1, SIZE_MAX, sizeof *node->held);

    if (status != CPT_OK) {
        return status;
    }
    if (call->end_ns > event->at_ns) {
        call->end_ns = event->at_ns;
        call->is_cut = true;
    }
    if (call->end_ns > event->held_ns) {
        event->held_ns = call->end_ns;
    }
    event->held_count++;
    node->held[node->held_count++] = number;
    return CPT_OK;
}

/* The call whose end an event waits for as no more than the limit run at once, or
 * LEARN_NONE. */
static uint32_t limit_of(const struct learn_node *node, size_t event)
{
    const struct learn_operation *operation = NULL;
    uint32_t number = 0;

    if (event == node->count) {
        return LEARN_NONE;
    }
    operation = learn_operation(node->class, node->calls[event].operation);
    if (operation->limit == 0 || node->calls[event].rank < operation->limit) {
        return LEARN_NONE;
    }
    number =
        node->ranked[operation->ranked_at + node->calls[event].rank - operation->limit];
    return number;
}

size_t cpti_learn_ended(const struct learn_node *node, uint64_t until_ns)
{
    size_t low = 0;
    size_t high = node->count;

    while (low < high) { /* the first that ended later */
        const size_t middle = low + (high - low) / 2;

        if (node->calls[node->ends[middle]].end_ns <= until_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The calls before @event that may have held it, the latest ends first. */
static cpt_status find_held(struct cpti_learn *learn, size_t number)
{
    struct learn_node *node = &learn->node;
    struct learn_event *event = &node->events[number];
    const uint64_t late_ns =
        event->at_ns + (node->end_ns - node->begin_ns) / CPTI_OVERLAP_SHARE;
    const uint32_t limit = limit_of(node, number);
    bool has_limit =
        limit == LEARN_NONE || !had_ended(node, limit, number, event->at_ns);
    cpt_status status = CPT_OK;

    for (size_t i = cpti_learn_ended(node, late_ns), looked = 0;
         i-- > 0 && looked < LEARN_NEAR_MAX && status == CPT_OK; looked++) {
        const uint32_t call = node->ends[i];

        if (had_ended(node, call, number, event->at_ns) &&
            (call == limit ||
             (holds(node, call, number) && !was_over(node, event, call)))) {
            has_limit = has_limit || call == limit;
            status = add_held(learn, event, call);
        }
    }
    return status == CPT_OK && !has_limit ? add_held(learn, event, limit) : status;
}

/* Whether a timer, not work, is what @number came late by. */
static bool is_timed(const struct learn_node *node, size_t number)
{
    const struct learn_event *event = &node->events[number];
    const struct learn_call *before = NULL;

    if (number == node->count) {
        return false;
    }
    if (node->calls[number].is_timed) {
        return true;
    }
    if (node->calls[number].before == LEARN_NONE || event->held_count == 0) {
        return false;
    }
    before = &node->calls[node->calls[number].before];
    return learn_operation(node->class, before->operation)->is_failed &&
           before->end_ns == event->held_ns;
}

cpt_status cpti_learn_events(struct cpti_learn *learn)
{
    struct learn_node *node = &learn->node;
    cpt_status status = CPT_OK;

    node->held_count = 0;
    for (size_t i = 0; i <= node->count && status == CPT_OK; i++) {
        struct learn_event *event = &node->events[i];
        const uint64_t at_ns = i < node->count ? node->calls[i].start_ns : node->end_ns;
        const uint32_t behind = find_behind(node, i, at_ns);

        *event = (struct learn_event){.at_ns = at_ns,
                                      .behind = behind,
                                      .behind_ns = behind != LEARN_NONE
                                                       ? node->calls[behind].start_ns
                                                       : node->begin_ns};
        event->held_at = (uint32_t)node->held_count;
        if (i == node->count || !node->calls[i].is_timed) {
            status = find_held(learn, i);
        }
        event->is_timed = is_timed(node, i);
    }
    return status;
}

/* --- What may have been --- */

bool cpti_learn_has_wire(const struct learn_node *node, size_t number)
{
    const struct learn_event *event = &node->events[number];
    bool has_wire = number < node->count && node->calls[number].is_bare;

    for (size_t i = 0; i < event->held_count && !has_wire; i++) {
        has_wire = node->calls[node->held[event->held_at + i]].is_bare;
    }
    return has_wire;
}

bool cpti_learn_may_hold(const struct learn_node *node, uint32_t number, size_t event)
{
    const struct learn_call *call = &node->calls[number];

    return number < event && !call->is_lost &&
           call->end_ns <= node->events[event].at_ns && !holds(node, number, event) &&
           !cpti_learn_is_beside(node->class, call->place, place_of(node, event));
}
