/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* timers.c - see timers.h. */
#include "framework/pool/timers.h"

static void put(struct cpti_timers *timers, size_t index, struct cpt_timer *timer)
{
    timers->heap[index] = timer;
    timer->index = index + 1;
}

static void move_up(struct cpti_timers *timers, size_t index, struct cpt_timer *timer)
{
    while (index > 0 && timers->heap[(index - 1) / 2]->at_ns > timer->at_ns) {
        put(timers, index, timers->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(timers, index, timer);
}

static void move_down(struct cpti_timers *timers, size_t index, struct cpt_timer *timer)
{
    for (;;) {
        size_t child = 2 * index + 1;

        if (child + 1 < timers->count &&
            timers->heap[child + 1]->at_ns < timers->heap[child]->at_ns) {
            child++;
        }
        if (child >= timers->count || timers->heap[child]->at_ns >= timer->at_ns) {
            break;
        }
        put(timers, index, timers->heap[child]);
        index = child;
    }
    put(timers, index, timer);
}

cpt_status cpti_timers_add(struct cpti_timers *timers, struct cpt_timer *timer,
                           uint64_t at_ns)
{
    const cpt_status status =
        cpt_alloc_grow(timers->alloc, (void **)&timers->heap, &timers->capacity,
                       timers->count + 1, CPTI_TIMERS_MAX, sizeof(struct cpt_timer *));

    if (status != CPT_OK) {
        return status;
    }
    timer->at_ns = at_ns;
    timers->count++;
    move_up(timers, timers->count - 1, timer);
    return CPT_OK;
}

int cpti_timers_remove(struct cpti_timers *timers, struct cpt_timer *timer)
{
    const size_t index = timer->index - 1;
    struct cpt_timer *last = NULL;

    if (timer->index == 0) {
        return 0;
    }
    timer->index = 0;
    last = timers->heap[--timers->count];
    if (last == timer) {
        return 1;
    }
    if (index > 0 && timers->heap[(index - 1) / 2]->at_ns > last->at_ns) {
        move_up(timers, index, last);
    } else {
        move_down(timers, index, last);
    }
    return 1;
}

void cpti_timers_deinit(struct cpti_timers *timers)
{
    cpt_alloc_free(timers->alloc, (void *)timers->heap);
}
