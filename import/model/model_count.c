/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_count.c - which events of a request came before which others
 *
 * An event ends at the earliest at E = end - resolution, and begins at the latest at
 * S = begin + resolution. That i comes before k is refuted if k began before i ended:
 *
 *      S of k < E of i
 *
 * so of events in the order of S those that refute i are a prefix, which is the longer
 * the later i ends:
 *
 *      by S   a  b  c  d | e  f        i, in the order of E: the row of the place of i
 *      prefix of i ------'             gets one more at the places of a to d
 *
 * That is one addition for each two events. Pairs that are never refuted are found by a
 * bit for each place of the prefix, 64 at a time: what this block has not seen yet has
 * its first counterexample here.
 */
#include "import/model/model_inside.h"

#include <stdlib.h>

enum { WORD_BITS = 64, MANY = CPTI_MODEL_TURNS_MAX + 1 };

/* Of all later turns of a kind together, which may be of several units. */
#define UNIT_MANY UINT32_MAX

void cpti_learnt_class_deinit(const struct cpt_alloc *alloc,
                              struct cpti_learnt_class *class)
{
    cpt_alloc_free(alloc, class->places);
    cpt_alloc_free(alloc, class->heads);
    cpt_alloc_free(alloc, class->refuted);
    cpt_alloc_free(alloc, class->others);
    cpt_alloc_free(alloc, class->witness);
    cpt_alloc_free(alloc, class->overlap_witness);
    cpt_alloc_free(alloc, class->contains);
    cpt_alloc_free(alloc, class->seen);
}

void cpti_counting_deinit(const struct cpt_alloc *alloc, struct cpti_counting *counting)
{
    cpt_alloc_free(alloc, counting->events);
    cpt_alloc_free(alloc, counting->places);
    cpt_alloc_free(alloc, counting->units);
    cpt_alloc_free(alloc, counting->by_end);
    cpt_alloc_free(alloc, counting->turns);
    cpt_alloc_free(alloc, counting->event_of);
    cpt_alloc_free(alloc, counting->before);
}

/* --- Places --- */

/* @matrix of @from places a row, as one of @to; what is new is filled with @fill. NULL
 * without memory. */
static uint32_t *moved(const struct cpt_alloc *alloc, const uint32_t *matrix,
                       uint32_t from, uint32_t to, int fill)
{
    uint32_t *result = cpt_alloc_array(alloc, NULL, (size_t)to * to, sizeof *result);

    if (result == NULL) {
        return NULL;
    }
    memset(result, fill, (size_t)to * to * sizeof *result);
    for (size_t i = 0; i < from; i++) {
        memcpy(&result[i * to], &matrix[i * from], from * sizeof *result);
    }
    return result;
}

/* Makes the matrices larger. The bits are forgotten: ids are compared once more. */
static cpt_status grow_matrices(struct cpti_model_learner *learner,
                                struct cpti_learnt_class *class, uint32_t stride)
{
    const struct cpt_alloc *alloc = learner->alloc;
    const bool has_intervals = class->contains != NULL;
    const uint32_t from = class->stride;
    struct cpti_learnt_class grown = {
        .refuted = moved(alloc, class->refuted, from, stride, 0),
        .others = moved(alloc, class->others, from, stride, 0),
        .witness = moved(alloc, class->witness, from, stride, 0xff),
        .overlap_witness =
            has_intervals ? moved(alloc, class->overlap_witness, from, stride, 0xff)
                          : NULL,
        .contains =
            has_intervals ? moved(alloc, class->contains, from, stride, 0) : NULL,
        .seen = cpt_alloc_zeroed(alloc, (size_t)stride * stride / 8)};
    struct cpti_learnt_class freed = grown;
    cpt_status status = CPT_NO_MEMORY;

    if (grown.refuted != NULL && grown.others != NULL && grown.witness != NULL &&
        grown.seen != NULL &&
        (!has_intervals || (grown.overlap_witness != NULL && grown.contains != NULL))) {
        freed = *class;
        class->stride = stride;
        class->refuted = grown.refuted;
        class->others = grown.others;
        class->witness = grown.witness;
        class->overlap_witness = grown.overlap_witness;
        class->contains = grown.contains;
        class->seen = grown.seen;
        learner->pair_room += (uint64_t)stride * stride - (uint64_t)from * from;
        status = CPT_OK;
    }
    freed.places = NULL; /* these stay where they are */
    freed.heads = NULL;
    cpti_learnt_class_deinit(alloc, &freed);
    return status;
}

/* Makes room for one more place. CPT_LIMIT: there is none. */
static cpt_status room_for_place(struct cpti_model_learner *learner,
                                 struct cpti_learnt_class *class)
{
    const uint64_t stride = class->stride;
    const uint64_t used = learner->pair_room - stride * stride;
    uint64_t wanted = stride + WORD_BITS + stride / 4 / WORD_BITS * WORD_BITS;

    if (class->place_count < stride) {
        return CPT_OK;
    }
    if (used + wanted * wanted > learner->options.pairs_max) {
        wanted = stride + WORD_BITS;
    }
    return used + wanted * wanted > learner->options.pairs_max
               ? CPT_LIMIT
               : grow_matrices(learner, class, (uint32_t)wanted);
}

static cpt_status add_place(struct cpti_model_learner *learner,
                            struct cpti_learnt_class *class, uint32_t kind,
                            uint32_t last, uint32_t *place)
{
    const uint32_t turn = last != 0 ? class->places[last - 1].place.turn + 1 : 1;
    cpt_status status = room_for_place(learner, class);

    if (status == CPT_OK) {
        status = cpt_alloc_grow(learner->alloc, (void **)&class->places,
                                &class->place_capacity, class->place_count + 1,
                                CPTI_MODEL_PAIRS_MAX, sizeof *class->places);
    }
    if (status == CPT_LIMIT) {
        *place = CPTI_MODEL_NONE;
        return CPT_OK;
    }
    if (status != CPT_OK) {
        return status;
    }
    class->places[class->place_count] =
        (struct cpti_learnt_place){.place = {.kind = kind, .turn = turn}};
    *place = (uint32_t) class->place_count++;
    if (last != 0) {
        class->places[last - 1].next = *place + 1;
    } else {
        class->heads[kind] = *place + 1;
    }
    return CPT_OK;
}

/* Makes room for kinds up to @kind in *@array, with zeros. */
static cpt_status by_kind(const struct cpti_model_learner *learner, uint32_t kind,
                          uint32_t **array, size_t *count)
{
    const size_t old = *count;
    uint32_t *grown = NULL;

    if (kind < old) {
        return CPT_OK;
    }
    grown = cpt_alloc_array(learner->alloc, *array, learner->kind_count, sizeof *grown);
    if (grown == NULL) {
        return CPT_NO_MEMORY;
    }
    memset(grown + old, 0, (learner->kind_count - old) * sizeof *grown);
    *array = grown;
    *count = learner->kind_count;
    return CPT_OK;
}

cpt_status cpti_learner_place(struct cpti_model_learner *learner,
                              struct cpti_learnt_class *class, uint32_t kind,
                              uint32_t last, uint32_t *place)
{
    const cpt_status status = by_kind(learner, kind, &class->heads, &class->head_count);
    uint32_t next = 0;

    if (status != CPT_OK) {
        return status;
    }
    next = last != 0 ? class->places[last - 1].next : class->heads[kind];
    if (next != 0) {
        *place = next - 1;
        return CPT_OK;
    }
    return add_place(learner, class, kind, last, place);
}

cpt_status cpti_learner_intervals(struct cpti_model_learner *learner,
                                  struct cpti_learnt_class *class)
{
    const struct cpt_alloc *alloc = learner->alloc;
    const uint32_t stride = class->stride;
    uint32_t *witness = NULL;
    uint32_t *contains = NULL;

    if (class->contains != NULL) {
        return CPT_OK;
    }
    witness = moved(alloc, NULL, 0, stride, 0xff);
    contains = moved(alloc, NULL, 0, stride, 0);
    if (witness == NULL || contains == NULL) {
        cpt_alloc_free(alloc, witness);
        cpt_alloc_free(alloc, contains);
        return CPT_NO_MEMORY;
    }
    class->overlap_witness = witness;
    class->contains = contains;
    return CPT_OK;
}

/* --- The events of a request --- */

static cpt_status grow_array(const struct cpt_alloc *alloc, void **array, size_t count,
                             size_t bytes)
{
    void *grown = cpt_alloc_array(alloc, *array, count, bytes);

    if (grown == NULL) {
        return CPT_NO_MEMORY;
    }
    *array = grown;
    return CPT_OK;
}

/* Makes room for @count events. After a failure some arrays have grown, which does no
 * harm. */
static cpt_status reserve_events(const struct cpt_alloc *alloc,
                                 struct cpti_counting *counting, size_t count)
{
    const size_t capacity = count + count / 2 + WORD_BITS;

    if (count <= counting->capacity) {
        return CPT_OK;
    }
    if (grow_array(alloc, (void **)&counting->events, capacity,
                   sizeof *counting->events) != CPT_OK ||
        grow_array(alloc, (void **)&counting->places, capacity,
                   sizeof *counting->places) != CPT_OK ||
        grow_array(alloc, (void **)&counting->units, capacity,
                   sizeof *counting->units) != CPT_OK ||
        grow_array(alloc, (void **)&counting->by_end, capacity,
                   sizeof *counting->by_end) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    counting->capacity = capacity;
    return CPT_OK;
}

static cpt_status reserve_places(const struct cpt_alloc *alloc,
                                 struct cpti_counting *counting, size_t stride)
{
    if (stride <= counting->place_capacity) {
        return CPT_OK;
    }
    if (grow_array(alloc, (void **)&counting->event_of, stride,
                   sizeof *counting->event_of) != CPT_OK ||
        grow_array(alloc, (void **)&counting->before, stride / WORD_BITS,
                   sizeof *counting->before) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    counting->place_capacity = stride;
    return CPT_OK;
}

/* Adds @line as event *@count at @place, or to the event that stands for all of the
 * later turns of its kind. */
static void take_event(struct cpti_counting *counting, uint32_t *count, uint32_t place,
                       const struct cpti_block_line *line, unsigned turns)
{
    const int64_t end_ns = line->end_ns - line->resolution_ns;
    struct cpti_counted *event = &counting->events[*count];

    if (turns > MANY) {
        event = &counting->events[counting->event_of[place]];
        event->end_ns = end_ns > event->end_ns ? end_ns : event->end_ns;
        return;
    }
    *event = (struct cpti_counted){.start_ns = line->begin_ns + line->resolution_ns,
                                   .end_ns = end_ns,
                                   .place = place,
                                   .unit = turns == MANY ? UNIT_MANY : line->unit,
                                   .resolution_ns = line->resolution_ns,
                                   .is_interval = line->is_interval && turns != MANY};
    counting->event_of[place] = (*count)++;
}

/* The place of @line, an occurrence of its kind in this request. *@turns is which one,
 * or MANY + 1 from the second of those that are together on. */
static cpt_status next_place(struct cpti_model_learner *learner,
                             struct cpti_learnt_class *class,
                             const struct cpti_block_line *line, uint32_t *place,
                             unsigned *turns)
{
    struct cpti_counting *counting = &learner->counting;
    uint32_t *last = &counting->turns[line->kind];
    cpt_status status = CPT_OK;

    if (*last == CPTI_MODEL_NONE) { /* its last turn was left out */
        *place = CPTI_MODEL_NONE;
    } else if (*last != 0 && class->places[*last - 1].place.turn == MANY) {
        *place = *last - 1;
        *turns = MANY + 1;
        return CPT_OK;
    } else {
        status = cpti_learner_place(learner, class, line->kind, *last, place);
    }
    if (status == CPT_OK && *place == CPTI_MODEL_NONE) {
        cpti_learner_drop(learner, line->kind, 1);
        *last = CPTI_MODEL_NONE;
    } else if (status == CPT_OK) {
        *last = *place + 1;
        *turns = class->places[*place].place.turn;
        class->places[*place].place.requests++;
    }
    return status;
}

/* Makes events of the lines of @request. */
static cpt_status take_events(struct cpti_model_learner *learner,
                              struct cpti_learnt_class *class,
                              const struct cpti_block_request *request, uint32_t *count)
{
    const struct cpti_block_line *lines = &learner->block_lines[request->line];
    struct cpti_counting *counting = &learner->counting;
    cpt_status status =
        reserve_events(learner->alloc, counting, (size_t)request->line_count + 1);

    *count = 0;
    for (uint32_t i = 0; i < request->line_count && status == CPT_OK; i++) {
        uint32_t place = 0;
        unsigned turns = 0;

        status =
            by_kind(learner, lines[i].kind, &counting->turns, &counting->turn_count);
        if (status == CPT_OK) {
            status = next_place(learner, class, &lines[i], &place, &turns);
        }
        if (status == CPT_OK) {
            status = reserve_places(learner->alloc, counting, class->stride);
        }
        if (status == CPT_OK && place != CPTI_MODEL_NONE) {
            class->places[place].place.is_interval |= lines[i].is_interval;
            take_event(counting, count, place, &lines[i], turns);
        }
    }
    for (uint32_t i = 0; i < request->line_count; i++) {
        if (lines[i].kind < counting->turn_count) {
            counting->turns[lines[i].kind] = 0;
        }
    }
    return status;
}

/* --- Their order --- */

static int by_start(const void *left, const void *right)
{
    const struct cpti_counted *a = left;
    const struct cpti_counted *b = right;

    return a->start_ns != b->start_ns
               ? (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns)
               : cpti_model_compare_numbers(a->place, b->place);
}

static int by_end(const void *left, const void *right, void *context)
{
    const struct cpti_counted *events = context;
    const int64_t a = events[*(const uint32_t *)left].end_ns;
    const int64_t b = events[*(const uint32_t *)right].end_ns;

    return (a > b) - (a < b);
}

/* Puts the events in order; most requests come in it. */
static void order_events(struct cpti_counting *counting, uint32_t count)
{
    struct cpti_counted *events = counting->events;
    bool is_by_start = true;
    bool is_by_end = true;

    for (uint32_t i = 1; i < count; i++) {
        is_by_start &= events[i - 1].start_ns <= events[i].start_ns;
    }
    if (!is_by_start) {
        qsort(events, count, sizeof *events, by_start);
    }
    for (uint32_t i = 0; i < count; i++) {
        counting->places[i] = events[i].place;
        counting->units[i] = events[i].unit;
        counting->event_of[events[i].place] = i;
        counting->by_end[i] = i;
        is_by_end &= i == 0 || events[i - 1].end_ns <= events[i].end_ns;
    }
    if (!is_by_end) {
        qsort_r(counting->by_end, count, sizeof *counting->by_end, by_end, events);
    }
}

/* --- Counting --- */

/* Ids of the pairs of event @index that are refuted, and were not in this block. */
static cpt_status find_witnesses(struct cpti_model_learner *learner,
                                 struct cpti_learnt_class *class, uint32_t index,
                                 struct cpt_bytes id)
{
    const struct cpti_counting *counting = &learner->counting;
    const uint32_t row = counting->places[index];
    uint64_t *seen = &class->seen[(size_t)row * (class->stride / WORD_BITS)];
    uint32_t *witness = &class->witness[(size_t)row * class->stride];
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < class->stride / WORD_BITS; i++) {
        uint64_t found = counting->before[i] & ~seen[i];

        for (; found != 0 && status == CPT_OK; found &= found - 1) {
            const unsigned bit = (unsigned)__builtin_ctzll(found);
            const uint32_t place = i * WORD_BITS + bit;

            if (counting->units[counting->event_of[place]] != counting->units[index]) {
                seen[i] |= UINT64_C(1) << bit;
                status = cpti_learner_witness(learner, id, &witness[place]);
            }
        }
    }
    return status;
}

/* Adds one to each pair of event @index, and one of the first @before events, that are
 * of different units. */
static void add_row(const struct cpti_counting *counting, uint32_t *row, uint32_t index,
                    uint32_t before)
{
    const uint32_t *places = counting->places;
    const uint32_t *units = counting->units;
    const uint32_t unit = units[index];

    for (uint32_t i = 0; i < before; i++) {
        row[places[i]] += units[i] != unit;
    }
}

static cpt_status count_refuted(struct cpti_model_learner *learner,
                                struct cpti_learnt_class *class, uint32_t count,
                                struct cpt_bytes id)
{
    struct cpti_counting *counting = &learner->counting;
    const struct cpti_counted *events = counting->events;
    cpt_status status = CPT_OK;
    uint32_t before = 0;

    memset(counting->before, 0, class->stride / WORD_BITS * sizeof *counting->before);
    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        const uint32_t index = counting->by_end[i];
        const uint32_t place = counting->places[index];

        while (before < count && events[before].start_ns < events[index].end_ns) {
            const uint32_t bit = counting->places[before++];

            counting->before[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
        }
        add_row(counting, &class->refuted[(size_t)place * class->stride], index,
                before);
        status = find_witnesses(learner, class, index, id);
    }
    return status;
}

/* Whether @b may lie within @a. */
static bool may_contain(const struct cpti_counted *a, const struct cpti_counted *b)
{
    const int64_t resolution_ns = a->resolution_ns;

    return b->start_ns >= a->start_ns - 2 * resolution_ns &&
           b->end_ns <= a->end_ns + 2 * resolution_ns;
}

/* Counts which of two intervals contains the other one. */
static void count_contains(const struct cpti_learnt_class *class,
                           const struct cpti_counted *a, const struct cpti_counted *b)
{
    class->contains[(size_t)a->place * class->stride + b->place] += may_contain(a, b);
    class->contains[(size_t)b->place * class->stride + a->place] += may_contain(b, a);
}

/* Counts that two events, of different units, overlap: each began before the other one
 * ended. */
static cpt_status count_overlap(struct cpti_model_learner *learner,
                                struct cpti_learnt_class *class, uint32_t low,
                                uint32_t high, struct cpt_bytes id)
{
    const size_t at = (size_t)high * class->stride + low;

    class->others[at]++;
    return cpti_learner_witness(learner, id, &class->overlap_witness[at]);
}

/* Counts what is neither one order nor the other of two events. */
static cpt_status count_pair(struct cpti_model_learner *learner,
                             struct cpti_learnt_class *class, uint32_t first,
                             uint32_t second, struct cpt_bytes id)
{
    const struct cpti_counted *a = &learner->counting.events[first];
    const struct cpti_counted *b = &learner->counting.events[second];
    const uint32_t low = a->place < b->place ? a->place : b->place;
    const uint32_t high = a->place < b->place ? b->place : a->place;
    const bool is_refuted = b->start_ns < a->end_ns;

    if (a->unit == b->unit) {
        return CPT_OK;
    }
    if (a->is_interval && b->is_interval) {
        count_contains(class, a, b);
    }
    if (is_refuted != (a->start_ns < b->end_ns)) {
        return CPT_OK;
    }
    if (is_refuted) {
        return count_overlap(learner, class, low, high, id);
    }
    class->others[(size_t)low * class->stride + high]++;
    return CPT_OK;
}

/* Counts the pairs of which both, or neither, order is refuted, or one contains the
 * other: they are near each other, up to four times the resolution. */
static cpt_status count_others(struct cpti_model_learner *learner,
                               struct cpti_learnt_class *class, uint32_t count,
                               int64_t resolution_ns, struct cpt_bytes id)
{
    const struct cpti_counted *events = learner->counting.events;
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < count; i++) {
        const int64_t last_ns =
            (events[i].end_ns > events[i].start_ns ? events[i].end_ns
                                                   : events[i].start_ns) +
            4 * resolution_ns;

        for (uint32_t k = i + 1; k < count && events[k].start_ns <= last_ns; k++) {
            status = count_pair(learner, class, i, k, id);
            if (status != CPT_OK) {
                return status;
            }
        }
    }
    return CPT_OK;
}

/* Whether one of the lines is an interval, or of many turns together, which is like
 * one. */
static bool has_intervals(const struct cpti_counting *counting, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (counting->events[i].is_interval || counting->events[i].unit == UNIT_MANY) {
            return true;
        }
    }
    return false;
}

cpt_status cpti_learner_count(struct cpti_model_learner *learner,
                              struct cpti_learnt_class *class,
                              const struct cpti_block_request *request)
{
    const struct cpt_bytes id = {learner->block_ids + request->id, request->id_bytes};
    const struct cpti_block_line *lines = &learner->block_lines[request->line];
    uint32_t count = 0;
    uint32_t resolution_ns = 0;
    cpt_status status = take_events(learner, class, request, &count);

    if (status != CPT_OK || count == 0) {
        return status;
    }
    if (class->block != learner->block_number) {
        memset(class->seen, 0, (size_t) class->stride * class->stride / 8);
        class->block = learner->block_number;
    }
    for (uint32_t i = 0; i < request->line_count; i++) {
        resolution_ns = lines[i].resolution_ns > resolution_ns ? lines[i].resolution_ns
                                                               : resolution_ns;
    }
    order_events(&learner->counting, count);
    if (has_intervals(&learner->counting, count)) {
        status = cpti_learner_intervals(learner, class);
    }
    if (status == CPT_OK) {
        status = count_refuted(learner, class, count, id);
    }
    return status == CPT_OK ? count_others(learner, class, count, resolution_ns, id)
                            : status;
}
