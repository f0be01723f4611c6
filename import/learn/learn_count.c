/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_count.c - the first pass: which calls run side by side
 *
 * All counts are integers, so that the order of traces changes nothing.
 */
#include "import/learn/learn_inside.h"

enum {
    OVERLAP_SHARE_MAX = 50, /* 2 % */
    LAST_FEW = 9,           /* requests that need not agree */
    VARIANCE_SHARE = 5,     /* 0.2 */
    LIMIT_REQUESTS = 5,
    LIMIT_SHARE = 5,    /* 20 % */
    REACHED_FIFTHS = 4, /* 80 % */
    BESIDE_TENTHS = 9   /* 90 % */
};

/* No sum of squares of 2^24 of these is above 2^127. */
static const uint64_t squared_max_ns = (uint64_t)1 << 51;

static uint64_t key_of(uint32_t one, uint32_t other)
{
    return ((uint64_t)one << 32) | other;
}

static const struct learn_pair *pair_of(const struct learn_class *class, uint32_t one,
                                        uint32_t other)
{
    return one < other ? cpti_learn_find(&class->pairs, key_of(one, other))
                       : cpti_learn_find(&class->pairs, key_of(other, one));
}

/* --- Counting --- */

/* Both places are in the node; @overlaps: and @first started before the other ended. */
static cpt_status add_pair(struct cpti_learn *learn, uint32_t first, uint32_t second,
                           bool overlaps, bool *has_room)
{
    const bool is_lower = first < second;
    struct learn_pair *pair = NULL;
    const cpt_status status =
        cpti_learn_entry(learn, &learn->node.class->pairs,
                         is_lower ? key_of(first, second) : key_of(second, first),
                         LEARN_CLASS_PAIRS_MAX, true, (void **)&pair);

    if (pair != NULL) {
        pair->count++;
        pair->overlaps[!is_lower] += overlaps;
    }
    *has_room = *has_room && pair != NULL;
    return status;
}

static cpt_status count_pairs(struct cpti_learn *learn, bool *has_room)
{
    struct learn_node *node = &learn->node;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < node->count && status == CPT_OK && *has_room; i++) {
        struct learn_call *call = &node->calls[i];
        const size_t first = i > LEARN_NEAR_MAX ? i - LEARN_NEAR_MAX : 0;

        call->depth = 1;
        for (size_t j = first; j < i && status == CPT_OK && *has_room; j++) {
            const struct learn_call *other = &node->calls[j];
            const uint64_t tolerance_ns = cpti_learn_tolerance(node, other, i);
            const bool overlaps = other->end_ns > call->start_ns + tolerance_ns &&
                                  call->end_ns > other->start_ns + tolerance_ns;

            call->depth += overlaps && other->operation == call->operation;
            status = add_pair(learn, other->place, call->place, overlaps, has_room);
        }
        if (status == CPT_OK && *has_room) {
            status =
                add_pair(learn, call->place, 0,
                         call->end_ns > node->end_ns + cpti_learn_tolerance(
                                                           node, call, node->count),
                         has_room);
        }
    }
    return status;
}

static void add_square(learn_wide *sum, learn_wide *square, uint64_t ns)
{
    const uint64_t bounded_ns = ns < squared_max_ns ? ns : squared_max_ns;

    *sum += bounded_ns;
    *square += (learn_wide)bounded_ns * bounded_ns;
}

/* What ended last before each event. */
static cpt_status count_lasts(struct cpti_learn *learn, bool *has_room)
{
    struct learn_node *node = &learn->node;
    cpt_status status = CPT_OK;
    size_t ended = 0;

    for (size_t i = 1; i <= node->count && status == CPT_OK && *has_room; i++) {
        const uint64_t at_ns = i < node->count ? node->calls[i].start_ns : node->end_ns;
        struct learn_last *last = NULL;
        size_t from = 0;

        while (ended < node->count && node->calls[node->ends[ended]].end_ns <= at_ns) {
            ended++;
        }
        from = ended;
        while (
            from > 0 && ended - from < LEARN_NEAR_MAX &&
            (node->ends[from - 1] >= i || node->calls[node->ends[from - 1]].is_lost)) {
            from--;
        }
        if (from == 0 || ended - from == LEARN_NEAR_MAX) {
            continue;
        }
        status = cpti_learn_entry(learn, &node->class->lasts,
                                  key_of(node->calls[node->ends[from - 1]].place,
                                         i < node->count ? node->calls[i].place : 0),
                                  LEARN_CLASS_PAIRS_MAX, true, (void **)&last);
        *has_room = *has_room && last != NULL;
        if (last != NULL) {
            last->count++;
            add_square(&last->gap_sum, &last->gap_square,
                       at_ns - node->calls[node->ends[from - 1]].end_ns);
            add_square(&last->lag_sum, &last->lag_square,
                       at_ns - node->calls[i - 1].start_ns);
        }
    }
    return status;
}

static void count_depths(struct learn_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        struct learn_operation *operation =
            learn_operation(node->class, node->calls[i].operation);

        operation->seen = node->calls[i].rank == 0 ? 0 : operation->seen;
        if (node->calls[i].depth > operation->seen) {
            operation->seen = node->calls[i].depth;
        }
    }
    for (size_t i = 0; i < node->count; i++) {
        struct learn_operation *operation =
            learn_operation(node->class, node->calls[i].operation);

        if (node->calls[i].rank != 0) {
            continue;
        }
        operation->counts[operation->in_node < LEARN_DEPTH_MAX ? operation->in_node
                                                               : LEARN_DEPTH_MAX]++;
        if (operation->seen > operation->depth) {
            operation->depth = operation->seen;
            operation->reached = 0;
        }
        operation->reached += operation->seen == operation->depth &&
                              operation->in_node > operation->depth;
    }
}

cpt_status cpti_learn_count_node(struct cpti_learn *learn)
{
    struct learn_class *class = learn->node.class;
    bool has_room = true;
    cpt_status status = count_pairs(learn, &has_room);

    if (status == CPT_OK && has_room) {
        status = count_lasts(learn, &has_room);
    }
    if (status == CPT_OK && has_room) {
        count_depths(&learn->node);
        class->node_count++;
    } else if (status == CPT_OK) {
        cpti_learn_leave_out(learn, class);
    }
    cpti_learn_bound(learn);
    return status;
}

/* --- What follows from them --- */

static void find_limit(struct learn_operation *operation)
{
    uint64_t nodes = 0;
    uint64_t more = 0;

    operation->limit = 0;
    if (operation->depth < 2 || operation->depth >= LEARN_DEPTH_MAX) {
        return;
    }
    for (uint32_t i = 1; i <= LEARN_DEPTH_MAX; i++) {
        nodes += operation->counts[i];
        more += i > operation->depth ? operation->counts[i] : 0;
    }
    if (more >= LIMIT_REQUESTS && more * LIMIT_SHARE >= nodes &&
        (uint64_t)operation->reached * 5 >= more * REACHED_FIFTHS) {
        operation->limit = operation->depth;
    }
}

void cpti_learn_find_limits(struct cpti_learn *learn)
{
    for (size_t i = 0; i < learn->classes.count; i++) {
        struct learn_class *class = learn_at(&learn->classes, i);

        for (size_t j = 0; j < class->operations.count; j++) {
            find_limit(learn_operation(class, (uint32_t)j));
        }
    }
}

bool cpti_learn_is_before(const struct learn_class *class, uint32_t from, uint32_t to)
{
    const struct learn_pair *pair = pair_of(class, from, to);

    return pair != NULL &&
           ((uint64_t)pair->overlaps[0] + pair->overlaps[1]) * OVERLAP_SHARE_MAX <=
               pair->count;
}

bool cpti_learn_is_beside(const struct learn_class *class, uint32_t from, uint32_t to)
{
    const struct learn_pair *pair = pair_of(class, from, to);

    return pair == NULL || ((uint64_t)pair->overlaps[0] + pair->overlaps[1]) * 10 >
                               (uint64_t)pair->count * BESIDE_TENTHS;
}

/* n times the variance of n numbers, which is less than n times their square. */
static learn_wide variance_of(uint32_t count, learn_wide sum, learn_wide square)
{
    return square - sum / count * sum - sum % count * sum / count;
}

bool cpti_learn_is_at_times_before(const struct learn_class *class, uint32_t from,
                                   uint32_t to)
{
    const struct learn_last *last = cpti_learn_find(&class->lasts, key_of(from, to));

    if (last == NULL) {
        return false;
    }
    return last->count <= LAST_FEW ||
           variance_of(last->count, last->gap_sum, last->gap_square) <=
               variance_of(last->count, last->lag_sum, last->lag_square) /
                   VARIANCE_SHARE;
}

bool cpti_learn_starts_before(const struct learn_class *class, uint32_t from,
                              uint32_t to)
{
    const struct learn_pair *pair = pair_of(class, from, to);

    return to == 0 || (pair != NULL && (uint64_t)pair->overlaps[to > from ? 1 : 0] *
                                               OVERLAP_SHARE_MAX <=
                                           pair->count);
}
