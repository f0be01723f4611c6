/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * waits_deadlock.c - requests that wait for each other
 *
 * A request can go on if a task of it runs or could run, or if the wait of one of its
 * tasks can end: if enough of what it waits for can. A timer and work elsewhere can. A
 * call can if a request that it may have led to can go on, or none is known; a lock, if
 * a holder can go on, or not all holders are known.
 *
 *      all requests --- those that can go on, then those that can because of these, …
 *                       what is left is stuck
 *
 * So a request is called stuck only if every way out of it is known to be closed; what
 * is not known is a way out. Each circle among the stuck ones is a deadlock; others
 * that are stuck wait for one. Deadlines may still end it.
 *
 * A request is doubtful if its only ways out are calls that could not be followed: the
 * same is done with these as closed ways, and what is stuck then, but not before, is
 * doubtful. Calls of the last moment are not doubted.
 */
#include "tool/live/waits.h"

enum { PASSES_MAX = 512 };

static bool is_doubted(const struct cpti_wait_edge *edge)
{
    return edge->gap != CPTI_GAP_NONE && edge->gap != CPTI_GAP_LEAF &&
           (!cpti_answer_has(edge->value, "us") ||
            cpti_answer_number(edge->value, "us") >= CPTI_WAITS_DOUBT_US);
}

static bool may_end(const struct cpti_waits *waits, const struct cpti_wait_edge *edge)
{
    if (edge->may_end) {
        return !waits->is_doubting || !is_doubted(edge);
    }
    for (uint32_t i = 0; i < edge->end_count; i++) {
        if (!waits->requests[edge->ends[i]].is_stuck) {
            return true;
        }
    }
    return false;
}

static bool can_go_on(const struct cpti_waits *waits,
                      const struct cpti_wait_request *request)
{
    if (request->is_free) {
        return true;
    }
    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct cpti_wait_group *group = &waits->groups[request->group_first + i];
        uint64_t count = 0;

        for (uint32_t k = 0; k < group->edge_count; k++) {
            count += may_end(waits, &waits->edges[group->edge_first + k]);
        }
        if (count >= group->wanted) {
            return true;
        }
    }
    return false;
}

/* Returns whether anything changed. */
static bool free_some(struct cpti_waits *waits)
{
    bool has_changed = false;

    for (uint32_t i = 0; i < waits->request_count; i++) {
        struct cpti_wait_request *request = &waits->requests[i];

        if (request->is_stuck && can_go_on(waits, request)) {
            request->is_stuck = false;
            has_changed = true;
        }
    }
    return has_changed;
}

/* The first stuck request that @request waits for; there is one, or it waits only for
 * tasks of its own: then CPTI_WAITS_NONE. */
static uint32_t next_stuck(const struct cpti_waits *waits, uint32_t number)
{
    const struct cpti_wait_request *request = &waits->requests[number];

    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct cpti_wait_group *group = &waits->groups[request->group_first + i];

        for (uint32_t k = 0; k < group->edge_count; k++) {
            const struct cpti_wait_edge *edge = &waits->edges[group->edge_first + k];

            if (edge->end_count != 0 && !may_end(waits, edge)) {
                return edge->ends[0];
            }
        }
    }
    return CPTI_WAITS_NONE;
}

const struct cpti_wait_edge *cpti_waits_edge_to(const struct cpti_waits *waits,
                                                uint32_t request, uint32_t end,
                                                const struct cpti_wait_group **group)
{
    const struct cpti_wait_request *from = &waits->requests[request];

    for (uint32_t i = 0; i < from->group_count; i++) {
        *group = &waits->groups[from->group_first + i];
        for (uint32_t k = 0; k < (*group)->edge_count; k++) {
            const struct cpti_wait_edge *edge = &waits->edges[(*group)->edge_first + k];

            if (edge->end_count != 0 && edge->ends[0] == end && !may_end(waits, edge)) {
                return edge;
            }
        }
    }
    return NULL;
}

/* Follows the waits from @start until they come back to a request of this walk, which
 * has the mark @start + 1 in @walks: a circle that no earlier walk has met. */
static void walk(struct cpti_waits *waits, uint32_t start, uint32_t *walks,
                 uint32_t *used)
{
    uint32_t number = start;
    uint32_t end = start;

    while (number != CPTI_WAITS_NONE && walks[number] == 0) {
        walks[number] = start + 1;
        number = next_stuck(waits, number);
    }
    if (number == CPTI_WAITS_NONE || walks[number] != start + 1) {
        return;
    }
    end = number;
    waits->deadlocks[waits->deadlock_count].first = *used;
    do {
        waits->deadlock_requests[(*used)++] = number;
        number = next_stuck(waits, number);
    } while (number != end);
    waits->deadlocks[waits->deadlock_count].count =
        *used - waits->deadlocks[waits->deadlock_count].first;
    waits->deadlock_count++;
}

/* Those that cannot go on; if @is_doubting, also not by a call that is doubted. */
static void find_stuck(struct cpti_waits *waits, bool is_doubting)
{
    int passes = 0;

    waits->is_doubting = is_doubting;
    for (uint32_t i = 0; i < waits->request_count; i++) {
        waits->requests[i].is_stuck = true;
    }
    while (free_some(waits)) {
        if (++passes == PASSES_MAX) { /* a service that makes up chains */
            for (uint32_t i = 0; i < waits->request_count; i++) {
                waits->requests[i].is_stuck = false;
            }
        }
    }
    waits->is_doubting = false;
}

cpt_status cpti_waits_find_deadlocks(struct cpti_waits *waits)
{
    const uint32_t count = waits->request_count;
    uint32_t *walks = cpt_arena_take(&waits->arena, (count + 1) * sizeof *walks);
    uint32_t used = 0;

    waits->deadlock_requests =
        cpt_arena_take(&waits->arena, (count + 1) * sizeof(uint32_t));
    waits->deadlocks =
        cpt_arena_take(&waits->arena, (count + 1) * sizeof *waits->deadlocks);
    if (walks == NULL || waits->deadlock_requests == NULL || waits->deadlocks == NULL) {
        return CPT_NO_MEMORY;
    }
    find_stuck(waits, true);
    for (uint32_t i = 0; i < count; i++) {
        waits->requests[i].is_doubtful = waits->requests[i].is_stuck;
    }
    find_stuck(waits, false);
    for (uint32_t i = 0; i < count; i++) {
        waits->requests[i].is_doubtful &= !waits->requests[i].is_stuck;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (waits->requests[i].is_stuck && walks[i] == 0) {
            walk(waits, i, walks, &used);
        }
    }
    return CPT_OK;
}
