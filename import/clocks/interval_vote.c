/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * interval_vote.c - see interval_vote.h
 *
 * Of n intervals, those that contain x are as many as begin at x or before, less those
 * that end before x. So both ends are sorted, each kind by itself, and gone through
 * together. That is only needed if there is no value that all contain.
 */
#include "import/clocks/interval_vote.h"

#include <stdlib.h>

enum { ZERO_PERCENT = 98 };

void cpti_interval_vote_reset(struct cpti_interval_vote *vote)
{
    vote->count = 0;
    vote->at_zero = 0;
    vote->low = -CPTI_VOTE_FAR;
    vote->high = CPTI_VOTE_FAR;
}

void cpti_interval_vote_clear(struct cpti_interval_vote *vote)
{
    cpt_alloc_free(vote->alloc, vote->leasts);
    cpt_alloc_free(vote->alloc, vote->mosts);
    *vote = (struct cpti_interval_vote){.alloc = vote->alloc};
}

/* Makes room for one more of *@values. */
static cpt_status grow(const struct cpti_interval_vote *vote, int64_t **values,
                       size_t *capacity)
{
    void *grown = *values;
    const cpt_status status = cpt_alloc_grow(
        vote->alloc, &grown, capacity, vote->count + 1, SIZE_MAX / 2, sizeof **values);

    *values = grown;
    return status;
}

cpt_status cpti_interval_vote_add(struct cpti_interval_vote *vote, int64_t least,
                                  int64_t most)
{
    cpt_status status = CPT_OK;

    if (least > most) {
        return CPT_OK;
    }
    if (vote->count == 0) {
        cpti_interval_vote_reset(vote);
    }
    if (vote->count == vote->least_capacity) {
        status = grow(vote, &vote->leasts, &vote->least_capacity);
    }
    if (status == CPT_OK && vote->count == vote->most_capacity) {
        status = grow(vote, &vote->mosts, &vote->most_capacity);
    }
    if (status != CPT_OK) {
        return status;
    }
    vote->leasts[vote->count] = least;
    vote->mosts[vote->count] = most;
    vote->count++;
    vote->at_zero += least <= 0 && most >= 0;
    vote->low = least > vote->low ? least : vote->low;
    vote->high = most < vote->high ? most : vote->high;
    return CPT_OK;
}

static int compare(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static int64_t distance(const struct cpti_vote_result *peak)
{
    return peak->least > 0 ? peak->least : peak->most < 0 ? -peak->most : 0;
}

/* Whether @peak is to be preferred to @other. */
static bool is_better(const struct cpti_vote_result *peak,
                      const struct cpti_vote_result *other)
{
    if (peak->votes != other->votes) {
        return peak->votes > other->votes;
    }
    if (distance(peak) != distance(other)) {
        return distance(peak) < distance(other);
    }
    return peak->most - peak->least > other->most - other->least;
}

/* The best of all stretches between an end and the next one. */
static struct cpti_vote_result sweep(struct cpti_interval_vote *vote)
{
    struct cpti_vote_result best = {0};
    size_t ended = 0;

    qsort(vote->leasts, vote->count, sizeof *vote->leasts, compare);
    qsort(vote->mosts, vote->count, sizeof *vote->mosts, compare);
    for (size_t begun = 1; begun <= vote->count; begun++) {
        struct cpti_vote_result peak = {.least = vote->leasts[begun - 1]};

        while (vote->mosts[ended] < peak.least) {
            ended++;
        }
        if (begun < vote->count && vote->leasts[begun] <= vote->mosts[ended]) {
            continue; /* one more begins before any ends */
        }
        peak.most = vote->mosts[ended];
        peak.votes = begun - ended;
        best = is_better(&peak, &best) ? peak : best;
    }
    return best;
}

struct cpti_vote_result cpti_interval_vote_count(struct cpti_interval_vote *vote)
{
    struct cpti_vote_result result = {-CPTI_VOTE_FAR, CPTI_VOTE_FAR, 0, true};

    if (vote->count == 0) {
        return result;
    }
    if (vote->low <= vote->high) {
        result = (struct cpti_vote_result){
            .least = vote->low, .most = vote->high, .votes = vote->count};
    } else {
        result = sweep(vote);
    }
    result.has_zero = (uint64_t)vote->at_zero * 100 >= result.votes * ZERO_PERCENT;
    return result;
}

int64_t cpti_vote_middle(const struct cpti_vote_result *result)
{
    if (result->least <= -CPTI_VOTE_FAR) {
        return result->most >= CPTI_VOTE_FAR ? 0 : result->most;
    }
    if (result->most >= CPTI_VOTE_FAR) {
        return result->least;
    }
    return result->least + (result->most - result->least) / 2;
}
