/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * lane.h - the second lane of an executor: works that may wait for others
 *
 *      submit        --> the first lane: inbox, deques, queue
 *      submit_later  --> coming --its turn--> waiting --its bound is over--> due
 *
 *      a thread takes:  1. works that are due
 *                       2. works of the first lane
 *                       3. works that wait
 *
 * With one lane a work would have its *turn* once all that came before it have begun.
 * From then on those that came after it run before it, until it has waited for its
 * bound. So against one lane
 *
 *      a work of the second lane  begins later by its bound and a work that runs
 *      one of the first           begins later by a work that runs, if at all: what is
 *                                 taken before it came before it
 *
 * at most, whatever comes. A bound from the arrival would have neither: as soon as the
 * queue took longer than the bound, the second lane would be the faster one. Works that
 * are due are taken in the order in which they came.
 *
 * Three binary heaps, each with room for all works, so that only adding may fail.
 * Inline: it is shared by pools, queue executors and tests.
 *
 * Threads: one at a time; the executor's lock guards it.
 */
#ifndef CPT_LANE_H
#define CPT_LANE_H

#include "framework/cpt_runtime.h"
#include "framework/pool/timers.h"

#include <stdbool.h>

enum { CPTI_LANE_WORKS_MAX = 1 << 20 };

struct cpti_lane_place {
    uint64_t key;    /* of the heap that it is in: see struct cpti_lane */
    uint64_t number; /* how many came into the lane before it */
    uint64_t wait_ns;
    struct cpt_work *work;
};

struct cpti_lane_heap {
    struct cpti_lane_place *places;
    size_t count;
    size_t capacity;
};

struct cpti_lane {
    const struct cpt_alloc *alloc; /* set by the executor; all else begins as 0 */
    struct cpti_lane_heap coming;  /* by how many came into the first lane before it */
    struct cpti_lane_heap waiting; /* by when its bound is over, in ns */
    struct cpti_lane_heap due;     /* by the number */
    uint64_t come_count;           /* works that came into the lane … */
    uint64_t due_count;            /* … and of these, those that were due at last */
};

/* --- One heap --- */

static inline bool cpti_lane_is_before(const struct cpti_lane_place *a,
                                       const struct cpti_lane_place *b)
{
    return a->key != b->key ? a->key < b->key : a->number < b->number;
}

/* There is room. */
static inline void cpti_lane_put(struct cpti_lane_heap *heap,
                                 struct cpti_lane_place place)
{
    size_t index = heap->count++;

    while (index > 0 && cpti_lane_is_before(&place, &heap->places[(index - 1) / 2])) {
        heap->places[index] = heap->places[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    heap->places[index] = place;
}

/* The first one, which is there, no longer is. */
static inline struct cpti_lane_place cpti_lane_pop(struct cpti_lane_heap *heap)
{
    const struct cpti_lane_place first = heap->places[0];
    const struct cpti_lane_place last = heap->places[--heap->count];
    size_t index = 0;
    size_t child = 1;

    while (child < heap->count) {
        child += child + 1 < heap->count &&
                 cpti_lane_is_before(&heap->places[child + 1], &heap->places[child]);
        if (!cpti_lane_is_before(&heap->places[child], &last)) {
            break;
        }
        heap->places[index] = heap->places[child];
        index = child;
        child = 2 * index + 1;
    }
    heap->places[index] = last;
    return first;
}

static inline bool cpti_lane_reaches(const struct cpti_lane_heap *heap, uint64_t key)
{
    return heap->count != 0 && heap->places[0].key <= key;
}

/* --- The lane --- */

static inline void cpti_lane_deinit(struct cpti_lane *lane)
{
    cpt_alloc_free(lane->alloc, lane->coming.places);
    cpt_alloc_free(lane->alloc, lane->waiting.places);
    cpt_alloc_free(lane->alloc, lane->due.places);
}

static inline size_t cpti_lane_count(const struct cpti_lane *lane)
{
    return lane->coming.count + lane->waiting.count + lane->due.count;
}

/* When there is one that is due: 0: now; a time that the first lane decides is the end
 * of time, INT64_MAX; UINT64_MAX: there is no work. */
static inline uint64_t cpti_lane_due_ns(const struct cpti_lane *lane)
{
    return lane->due.count != 0       ? 0
           : lane->waiting.count != 0 ? lane->waiting.places[0].key
           : lane->coming.count != 0  ? INT64_MAX
                                      : UINT64_MAX;
}

/* Adds @work, which may wait @wait_ns once @before_count works of the first lane have
 * begun: all that came before it. CPT_OK; CPT_LIMIT at CPTI_LANE_WORKS_MAX,
 * CPT_NO_MEMORY: it was not added. */
static inline cpt_status cpti_lane_add(struct cpti_lane *lane, struct cpt_work *work,
                                       uint64_t before_count, uint64_t wait_ns)
{
    struct cpti_lane_heap *const heaps[] = {&lane->coming, &lane->waiting, &lane->due};
    const struct cpti_lane_place place = {before_count, lane->come_count, wait_ns,
                                          work};

    for (size_t i = 0; i < sizeof heaps / sizeof heaps[0]; i++) {
        const cpt_status status = cpt_alloc_grow(
            lane->alloc, (void **)&heaps[i]->places, &heaps[i]->capacity,
            cpti_lane_count(lane) + 1, CPTI_LANE_WORKS_MAX, sizeof place);

        if (status != CPT_OK) {
            return status;
        }
    }
    lane->come_count++;
    cpti_lane_put(&lane->coming, place);
    return CPT_OK;
}

/* Whether it is the turn of one, now that @begun_count works of the first lane have
 * begun: then cpti_lane_turn() is to be called. */
static inline bool cpti_lane_has_turn(const struct cpti_lane *lane,
                                      uint64_t begun_count)
{
    return cpti_lane_reaches(&lane->coming, begun_count);
}

static inline void cpti_lane_turn(struct cpti_lane *lane, uint64_t begun_count,
                                  uint64_t now_ns)
{
    while (cpti_lane_has_turn(lane, begun_count)) {
        struct cpti_lane_place place = cpti_lane_pop(&lane->coming);

        place.key = cpti_timer_at(now_ns, place.wait_ns);
        cpti_lane_put(&lane->waiting, place);
    }
}

/* Takes the first to have come of those that are due at @now_ns; NULL: none is. */
static inline struct cpt_work *cpti_lane_take_due(struct cpti_lane *lane,
                                                  uint64_t now_ns)
{
    while (cpti_lane_reaches(&lane->waiting, now_ns)) {
        struct cpti_lane_place place = cpti_lane_pop(&lane->waiting);

        place.key = 0; /* by the number alone */
        cpti_lane_put(&lane->due, place);
        lane->due_count++;
    }
    return lane->due.count != 0 ? cpti_lane_pop(&lane->due).work : NULL;
}

/* Takes the one that is due next, as nothing else waits; NULL: there is none. */
static inline struct cpt_work *cpti_lane_take(struct cpti_lane *lane)
{
    struct cpti_lane_heap *heap = lane->due.count != 0       ? &lane->due
                                  : lane->waiting.count != 0 ? &lane->waiting
                                                             : &lane->coming;

    return heap->count != 0 ? cpti_lane_pop(heap).work : NULL;
}

#endif
