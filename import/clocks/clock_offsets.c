/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* clock_offsets.c - see clock_offsets.h */
#include "import/clocks/clock_offsets.h"

#include <stdlib.h>

enum { MEND_STEPS_MAX = 1 << 27, CHOICE_STEPS_MAX = 1 << 26 };

static int64_t bounded(int64_t ns)
{
    return ns > CPTI_VOTE_FAR ? CPTI_VOTE_FAR
                              : (ns < -CPTI_VOTE_FAR ? -CPTI_VOTE_FAR : ns);
}

/* --- The order of pairs --- */

static int compare_places(const struct cpti_clock_pair *a,
                          const struct cpti_clock_pair *b)
{
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return (a->to > b->to) - (a->to < b->to);
}

/* Narrow ones first; behind them those that are left out. */
static int compare_widths(const void *left, const void *right)
{
    const struct cpti_clock_pair *a = left;
    const struct cpti_clock_pair *b = right;
    const int64_t width_a = a->most_ns - a->least_ns;
    const int64_t width_b = b->most_ns - b->least_ns;

    if (a->is_left_out != b->is_left_out) {
        return a->is_left_out ? 1 : -1;
    }
    return width_a != width_b ? (width_a < width_b ? -1 : 1) : compare_places(a, b);
}

static bool holds(const struct cpti_clock_pair *pair, int64_t from_ns, int64_t to_ns)
{
    return pair->is_left_out ||
           (to_ns - from_ns >= pair->least_ns && to_ns - from_ns <= pair->most_ns);
}

/* Those that many calls speak for first; of the others, those by which clocks are right
 * as they are. */
static int compare_voices(const void *left, const void *right)
{
    const struct cpti_clock_pair *a = left;
    const struct cpti_clock_pair *b = right;

    if (a->calls != b->calls) {
        return a->calls > b->calls ? -1 : 1;
    }
    if (a->children != b->children) {
        return a->children > b->children ? -1 : 1;
    }
    if (holds(a, 0, 0) != holds(b, 0, 0)) {
        return holds(a, 0, 0) ? -1 : 1;
    }
    return compare_widths(left, right);
}

static void sort(struct cpti_clock_offsets *offsets,
                 int (*compare)(const void *, const void *))
{
    if (offsets->pair_count > 0) {
        qsort(offsets->pairs, offsets->pair_count, sizeof *offsets->pairs, compare);
    }
}

/* --- The tree of clocks --- */

/* The head of the tree of @clock, and how much its clock differs from the head's. */
static uint32_t head_of(const struct cpti_clock_offsets *offsets, uint32_t clock,
                        int64_t *differ_ns)
{
    *differ_ns = 0;
    while (offsets->above[clock] != clock) {
        *differ_ns = bounded(*differ_ns + offsets->differ_ns[clock]);
        clock = offsets->above[clock];
    }
    return clock;
}

/* Joins the trees of the two clocks of @pair, unless they are one. */
static void join(struct cpti_clock_offsets *offsets, const struct cpti_clock_pair *pair)
{
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    uint32_t from = head_of(offsets, pair->from, &from_ns);
    uint32_t to = head_of(offsets, pair->to, &to_ns);
    int64_t differ_ns = bounded(bounded(pair->best_ns + from_ns) - to_ns);

    if (from == to) {
        return;
    }
    if (offsets->joined[from] < offsets->joined[to]) {
        const uint32_t swap = from;

        from = to;
        to = swap;
        differ_ns = -differ_ns;
    }
    offsets->above[to] = from;
    offsets->differ_ns[to] = differ_ns;
    offsets->joined[from] += offsets->joined[to];
}

/* Joins all clocks, and finds their offsets from the reference; of a tree without it,
 * from its first clock. */
static void span_clocks(struct cpti_clock_offsets *offsets)
{
    int64_t differ_ns = 0;

    for (uint32_t i = 0; i < offsets->count; i++) {
        offsets->above[i] = i;
        offsets->joined[i] = 1;
    }
    sort(offsets, compare_widths);
    for (size_t i = 0; i < offsets->pair_count; i++) {
        join(offsets, &offsets->pairs[i]);
    }
    for (uint32_t i = 0; i < offsets->count; i++) {
        offsets->low_ns[i] =
            CPTI_VOTE_FAR; /* for now: what its tree is measured from */
    }
    offsets->low_ns[head_of(offsets, offsets->reference, &differ_ns)] = differ_ns;
    for (uint32_t i = 0; i < offsets->count; i++) {
        const uint32_t head = head_of(offsets, i, &differ_ns);

        if (offsets->low_ns[head] == CPTI_VOTE_FAR) {
            offsets->low_ns[head] = differ_ns;
        }
        offsets->offset_ns[i] = bounded(differ_ns - offsets->low_ns[head]);
    }
}

/* --- Mending --- */

/* Makes *@value at most @limit; whether it was more. */
static bool lower(int64_t *value, int64_t limit)
{
    const bool is_changed = *value > limit;

    *value = is_changed ? limit : *value;
    return is_changed;
}

/* Lowers the two values of @pair in @values, if it does not hold. */
static bool lower_pair(const struct cpti_clock_pair *pair, int64_t *values, int sign)
{
    const int64_t most = sign > 0 ? pair->most_ns : -pair->least_ns;
    const int64_t least = sign > 0 ? pair->least_ns : -pair->most_ns;
    int64_t *from = &values[pair->from];
    int64_t *to = &values[pair->to];
    bool is_changed = false;

    if (most < CPTI_VOTE_FAR && *from < CPTI_VOTE_FAR) {
        is_changed |= lower(to, bounded(*from + most));
    }
    if (least > -CPTI_VOTE_FAR && *to < CPTI_VOTE_FAR) {
        is_changed |= lower(from, bounded(*to - least));
    }
    return is_changed;
}

/* Lowers @values until the first @count pairs hold; values that are CPTI_VOTE_FAR say
 * nothing. false: the pairs contradict each other, or it takes too long to find out.
 * With @sign -1 all is mirrored: it raises -@values. */
static bool mend(struct cpti_clock_offsets *offsets, size_t count, int64_t *values,
                 int sign)
{
    bool is_changed = true;

    for (size_t pass = 0; is_changed; pass++) {
        if (pass > offsets->count || offsets->steps_left < count) {
            offsets->steps_left = offsets->steps_left < count ? 0 : offsets->steps_left;
            return false;
        }
        offsets->steps_left -= count;
        is_changed = false;
        for (size_t i = 0; i < count; i++) {
            if (!offsets->pairs[i].is_left_out) {
                is_changed |= lower_pair(&offsets->pairs[i], values, sign);
            }
        }
    }
    return true;
}

/* The offsets nearest to those of the tree with which all pairs hold, if there are any:
 * the mean of lowering and of raising them, as bounds are convex. */
static bool mend_offsets(struct cpti_clock_offsets *offsets)
{
    int64_t *low = offsets->low_ns; /* negated */
    int64_t *high = offsets->high_ns;
    int64_t base = 0;

    for (size_t i = 0; i < offsets->count; i++) {
        high[i] = offsets->offset_ns[i];
        low[i] = -offsets->offset_ns[i];
    }
    if (!mend(offsets, offsets->pair_count, high, 1) ||
        !mend(offsets, offsets->pair_count, low, -1)) {
        return false;
    }
    for (size_t i = 0; i < offsets->count; i++) {
        const int64_t sum = high[i] - low[i];

        offsets->offset_ns[i] = sum / 2 - (sum % 2 < 0); /* downwards */
    }
    base = offsets->offset_ns[offsets->reference];
    for (size_t i = 0; i < offsets->count; i++) {
        offsets->offset_ns[i] = bounded(offsets->offset_ns[i] - base);
    }
    return true;
}

/* Whether there are offsets with which the first @count pairs hold. */
static bool agree(struct cpti_clock_offsets *offsets, size_t count)
{
    for (size_t i = 0; i < offsets->count; i++) {
        offsets->high_ns[i] = 0;
    }
    return mend(offsets, count, offsets->high_ns, 1);
}

/* Leaves pairs out until the others agree: of all beginnings of the pairs that do, the
 * longest is kept, and what follows it is left out, again and again. false: it takes
 * too long. */
static bool leave_out(struct cpti_clock_offsets *offsets)
{
    size_t kept = 0;

    offsets->steps_left = CHOICE_STEPS_MAX;
    sort(offsets, compare_voices);
    while (!agree(offsets, offsets->pair_count)) {
        size_t beyond = offsets->pair_count; /* this many do not agree */

        while (beyond - kept > 1) {
            const size_t middle = kept + (beyond - kept) / 2;

            if (agree(offsets, middle)) {
                kept = middle;
            } else {
                beyond = middle;
            }
        }
        if (offsets->steps_left == 0) {
            return false;
        }
        offsets->pairs[kept].is_left_out = true;
        offsets->pairs[kept].is_torn = true;
        kept++;
    }
    return true;
}

/* --- Clocks that stay --- */

/* Clocks that can stay where they are, whether others do so or not, stay. */
static void keep(struct cpti_clock_offsets *offsets)
{
    uint32_t *stays = offsets->joined; /* no longer needed */

    for (size_t i = 0; i < offsets->count; i++) {
        stays[i] = 1;
    }
    for (size_t i = 0; i < offsets->pair_count; i++) {
        const struct cpti_clock_pair *pair = &offsets->pairs[i];

        stays[pair->to] &= holds(pair, offsets->offset_ns[pair->from], 0);
        stays[pair->from] &= holds(pair, 0, offsets->offset_ns[pair->to]);
    }
    for (size_t i = 0; i < offsets->pair_count; i++) {
        const struct cpti_clock_pair *pair = &offsets->pairs[i];

        if (stays[pair->from] && stays[pair->to] && !holds(pair, 0, 0)) {
            stays[pair->from] = 0;
            stays[pair->to] = 0;
        }
    }
    for (size_t i = 0; i < offsets->count; i++) {
        offsets->offset_ns[i] = stays[i] ? 0 : offsets->offset_ns[i];
    }
}

/* How far each clock can be from the reference's, by all pairs together. */
static void measure(struct cpti_clock_offsets *offsets)
{
    for (size_t i = 0; i < offsets->count; i++) {
        offsets->high_ns[i] = i == offsets->reference ? 0 : CPTI_VOTE_FAR;
        offsets->low_ns[i] = i == offsets->reference ? 0 : CPTI_VOTE_FAR;
    }
    (void)mend(offsets, offsets->pair_count, offsets->high_ns, 1);
    (void)mend(offsets, offsets->pair_count, offsets->low_ns, -1);
}

/* --- All of it --- */

static bool reserve(struct cpti_clock_offsets *offsets)
{
    const struct cpt_alloc *alloc = offsets->alloc;
    const size_t count = offsets->count;

    offsets->above = cpt_alloc_array(alloc, NULL, count, sizeof *offsets->above);
    offsets->joined = cpt_alloc_array(alloc, NULL, count, sizeof *offsets->joined);
    offsets->differ_ns = cpt_alloc_array(alloc, NULL, count, sizeof(int64_t));
    offsets->offset_ns = cpt_alloc_array(alloc, NULL, count, sizeof(int64_t));
    offsets->low_ns = cpt_alloc_array(alloc, NULL, count, sizeof(int64_t));
    offsets->high_ns = cpt_alloc_array(alloc, NULL, count, sizeof(int64_t));
    return offsets->above != NULL && offsets->joined != NULL &&
           offsets->differ_ns != NULL && offsets->offset_ns != NULL &&
           offsets->low_ns != NULL && offsets->high_ns != NULL;
}

cpt_status cpti_clock_offsets_solve(struct cpti_clock_offsets *offsets)
{
    bool is_mended = false;

    if (!reserve(offsets)) {
        return CPT_NO_MEMORY;
    }
    offsets->steps_left = MEND_STEPS_MAX;
    span_clocks(offsets);
    is_mended = mend_offsets(offsets);
    offsets->is_sure = is_mended;
    if (!is_mended && leave_out(offsets)) {
        span_clocks(offsets);
        is_mended = mend_offsets(offsets);
    }
    if (is_mended) {
        keep(offsets);
        measure(offsets);
    }
    for (size_t i = 0; i < offsets->pair_count; i++) {
        offsets->is_sure &= !offsets->pairs[i].is_torn;
    }
    return CPT_OK;
}

uint64_t cpti_clock_offsets_error(const struct cpti_clock_offsets *offsets,
                                  uint32_t clock)
{
    const int64_t below = offsets->offset_ns[clock] + offsets->low_ns[clock];
    const int64_t above = offsets->high_ns[clock] - offsets->offset_ns[clock];

    if (!offsets->is_sure || offsets->low_ns[clock] == CPTI_VOTE_FAR ||
        offsets->high_ns[clock] == CPTI_VOTE_FAR || below < 0 || above < 0) {
        return UINT64_MAX;
    }
    return (uint64_t)(below > above ? below : above);
}

void cpti_clock_offsets_clear(struct cpti_clock_offsets *offsets)
{
    const struct cpt_alloc *alloc = offsets->alloc;

    cpt_alloc_free(alloc, offsets->pairs);
    cpt_alloc_free(alloc, offsets->above);
    cpt_alloc_free(alloc, offsets->joined);
    cpt_alloc_free(alloc, offsets->differ_ns);
    cpt_alloc_free(alloc, offsets->offset_ns);
    cpt_alloc_free(alloc, offsets->low_ns);
    cpt_alloc_free(alloc, offsets->high_ns);
}
