/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* clock_pairs.c - what all bounds of two clocks say together */
#include "import/clocks/clock_bounds.h"

#include <stdlib.h>

/* The bounds of two clocks, side by side. */
struct ballot {
    const struct cpti_clock_bound *bounds;
    size_t count;
    struct cpti_interval_vote *vote;
};

static int compare_pairs(const void *left, const void *right)
{
    const struct cpti_clock_bound *a = left;
    const struct cpti_clock_bound *b = right;

    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return (a->to > b->to) - (a->to < b->to);
}

/* So that `from` is less than `to`. */
static void turn(struct cpti_clock_bound *bound)
{
    if (bound->from > bound->to) {
        *bound = (struct cpti_clock_bound){.from = bound->to,
                                           .to = bound->from,
                                           .least_ns = -bound->most_ns,
                                           .most_ns = -bound->least_ns,
                                           .is_call = bound->is_call,
                                           .is_least_guess = bound->is_most_guess,
                                           .is_most_guess = bound->is_least_guess};
    }
}

/* What most of the calls contain, or of the others, of what is from @least to @most. */
static cpt_status ask(const struct ballot *ballot, bool calls,
                      struct cpti_vote_result *result)
{
    const int64_t least = result->least;
    const int64_t most = result->most;
    cpt_status status = CPT_OK;

    cpti_interval_vote_reset(ballot->vote);
    for (size_t i = 0; i < ballot->count && status == CPT_OK; i++) {
        const struct cpti_clock_bound *bound = &ballot->bounds[i];

        if (bound->is_call == calls) {
            status = cpti_interval_vote_add(
                ballot->vote, bound->least_ns > least ? bound->least_ns : least,
                bound->most_ns < most ? bound->most_ns : most);
        }
    }
    if (status == CPT_OK && ballot->vote->count > 0) {
        *result = cpti_interval_vote_count(ballot->vote);
    }
    return status;
}

static void tighten(int64_t *least, int64_t *most, const struct cpti_clock_bound *bound)
{
    if (!bound->is_least_guess && bound->least_ns > *least) {
        *least = bound->least_ns;
    }
    if (!bound->is_most_guess && bound->most_ns < *most) {
        *most = bound->most_ns;
    }
}

/* Believes all bounds that contain @offset_ns. */
static void believe(const struct ballot *ballot, int64_t offset_ns,
                    struct cpti_clock_pair *pair)
{
    for (size_t i = 0; i < ballot->count; i++) {
        const struct cpti_clock_bound *bound = &ballot->bounds[i];

        if (cpti_clock_bound_breaks(bound, offset_ns)) {
            pair->is_torn = true;
            continue;
        }
        pair->calls += bound->is_call;
        pair->children += !bound->is_call;
        tighten(&pair->least_ns, &pair->most_ns, bound);
    }
}

static cpt_status elect(const struct ballot *ballot, struct cpti_clock_pair *pair)
{
    struct cpti_vote_result result = {
        .least = -CPTI_VOTE_FAR, .most = CPTI_VOTE_FAR, .has_zero = true};
    cpt_status status = ask(ballot, true, &result);
    int64_t offset_ns = 0;

    if (status == CPT_OK && (result.votes == 0 || !result.has_zero)) {
        status = ask(ballot, false, &result);
    }
    if (status != CPT_OK) {
        return status;
    }
    offset_ns = result.has_zero ? 0 : cpti_vote_middle(&result);
    *pair = (struct cpti_clock_pair){.from = ballot->bounds[0].from,
                                     .to = ballot->bounds[0].to,
                                     .least_ns = -CPTI_VOTE_FAR,
                                     .most_ns = CPTI_VOTE_FAR};
    believe(ballot, offset_ns, pair);
    if (!result.has_zero) { /* without what was guessed: where a call puts it */
        result.least = pair->least_ns;
        result.most = pair->most_ns;
        pair->best_ns = cpti_vote_middle(&result);
    }
    return CPT_OK;
}

cpt_status cpti_clock_pairs_join(struct cpti_clock_bound *bounds, size_t count,
                                 const struct cpt_alloc *alloc,
                                 struct cpti_clock_pair **pairs, size_t *pair_count)
{
    struct cpti_interval_vote vote = {.alloc = alloc};
    cpt_status status = CPT_OK;
    size_t end = 0;

    *pair_count = 0;
    *pairs = NULL;
    for (size_t i = 0; i < count; i++) {
        turn(&bounds[i]);
    }
    if (count > 0) {
        qsort(bounds, count, sizeof *bounds, compare_pairs);
    }
    for (size_t i = 0; i < count; i++) {
        *pair_count += i == 0 || compare_pairs(&bounds[i - 1], &bounds[i]) != 0;
    }
    if (count > 0) {
        *pairs = cpt_alloc_array(alloc, NULL, *pair_count, sizeof **pairs);
        status = *pairs != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < *pair_count && status == CPT_OK; i++) {
        struct ballot ballot = {.bounds = bounds + end, .vote = &vote};

        while (end < count && compare_pairs(ballot.bounds, &bounds[end]) == 0) {
            end++;
            ballot.count++;
        }
        status = elect(&ballot, &(*pairs)[i]);
    }
    cpti_interval_vote_clear(&vote);
    return status;
}
