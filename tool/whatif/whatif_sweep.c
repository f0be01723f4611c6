/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* whatif_sweep.c - all groups, one by one and together; see whatif_sweep.h */
#include "tool/whatif/whatif_sweep.h"

#include "tool/whatif/whatif_doubt.h"

#include <stdlib.h>
#include <string.h>

/* The most edges that an exhaustive search may visit: about a minute. */
static const double edges_max = 1e9;

/* Frames, nodes and edges that a sweep may look at: some seconds. */
static const double looks_max = 8e8;

enum { PAIRS_MAX = 1 << 28, TRIED_MAX = 4096 };

/* A group on the path of a request. */
struct pair {
    uint32_t group;
    uint32_t request;
};

struct sweep {
    const struct cpti_whatif_trial *trial;
    uint64_t *before_ns;
    uint64_t *after_ns;
    uint32_t *groups; /* of each frame, or CPTI_WHATIF_NO_GROUP */
    double *path_ns;  /* of each group, weighted */
    struct pair *pairs;
    size_t pair_count, pair_capacity;
    struct cpti_whatif_order order;
    double weight_sum;
};

struct cpt_whatif_term cpti_whatif_shorter(const struct cpti_whatif_trial *trial,
                                           uint32_t frame)
{
    return (struct cpt_whatif_term){
        .verb = CPT_WHATIF_SET,
        .change = trial->change,
        .amount_ns = trial->amount_ns,
        .share = trial->share,
        .frames = cpti_whatif_group_frames(trial->set, trial->by, frame)};
}

/* The plan of the trial's terms with shorter @groups. */
static cpt_status plan_of(const struct cpti_whatif_trial *trial, const uint32_t *groups,
                          size_t count, struct cpt_whatif_plan **plan)
{
    struct cpt_whatif_term *terms =
        calloc(trial->term_count + count + 1, sizeof *terms);
    size_t unmatched = 0;
    cpt_status status = terms != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (size_t i = 0; i < trial->term_count && status == CPT_OK; i++) {
        terms[i] = trial->terms[i];
    }
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        terms[trial->term_count + i] = cpti_whatif_shorter(trial, groups[i]);
    }
    if (status == CPT_OK) {
        status = cpti_whatif_plan_new(trial->set, terms, trial->term_count + count,
                                      false, plan, &unmatched, NULL);
    }
    free(terms);
    return status;
}

/* From the times of frames to those of groups: that of a group's first frame. */
static void sum_groups(const struct sweep *sweep, uint64_t *time_ns)
{
    const size_t frames = cpt_whatif_frame_count(sweep->trial->set->whatif);

    for (uint32_t k = 0; k < frames; k++) {
        const uint64_t own_ns = time_ns[k];

        if (sweep->groups[k] != k) {
            time_ns[k] = 0;
        }
        if (sweep->groups[k] < k) {
            time_ns[sweep->groups[k]] += own_ns;
        }
    }
}

/* The latencies without the changes, and which groups are on which paths. */
static cpt_status survey(struct sweep *sweep, struct cpt_whatif_plan *plan)
{
    const struct cpti_whatif_set *set = sweep->trial->set;
    const size_t frames = cpt_whatif_frame_count(set->whatif);
    uint64_t *time_ns = calloc(frames + 1, sizeof *time_ns);
    cpt_status status = time_ns != NULL
                            ? cpt_whatif_run(plan, 0, set->count, sweep->before_ns)
                            : CPT_NO_MEMORY;

    for (uint32_t i = 0; i < set->count && status == CPT_OK; i++) {
        memset(time_ns, 0, frames * sizeof *time_ns);
        status = cpt_whatif_times(plan, i, time_ns);
        sum_groups(sweep, time_ns);
        for (uint32_t k = 0; k < frames && status == CPT_OK; k++) {
            if (time_ns[k] == 0) {
                continue;
            }
            sweep->path_ns[k] += set->weight[i] * (double)time_ns[k];
            status =
                cpt_alloc_grow(NULL, (void **)&sweep->pairs, &sweep->pair_capacity,
                               sweep->pair_count + 1, PAIRS_MAX, sizeof *sweep->pairs);
            if (status == CPT_OK) {
                sweep->pairs[sweep->pair_count++] = (struct pair){k, i};
            }
        }
    }
    free(time_ns);
    return status;
}

static int by_group(const void *left, const void *right)
{
    const struct pair *a = left;
    const struct pair *b = right;

    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    return (a->request > b->request) - (a->request < b->request);
}

static cpt_status open_sweep(struct sweep *sweep, const struct cpti_whatif_trial *trial)
{
    const struct cpti_whatif_set *set = trial->set;
    struct cpt_whatif_plan *plan = NULL;
    cpt_status status = CPT_OK;

    *sweep = (struct sweep){.trial = trial};
    sweep->before_ns = calloc(set->count, sizeof *sweep->before_ns);
    sweep->after_ns = calloc(set->count, sizeof *sweep->after_ns);
    sweep->path_ns =
        calloc(cpt_whatif_frame_count(set->whatif) + 1, sizeof *sweep->path_ns);
    if (sweep->before_ns == NULL || sweep->after_ns == NULL || sweep->path_ns == NULL) {
        return CPT_NO_MEMORY;
    }
    status = cpti_whatif_groups(set, trial->by, &sweep->groups);
    if (status == CPT_OK) {
        status = plan_of(trial, NULL, 0, &plan);
    }
    if (status == CPT_OK) {
        status = survey(sweep, plan);
    }
    cpt_whatif_plan_free(plan);
    if (status != CPT_OK) {
        return status;
    }
    if (sweep->pair_count != 0) {
        qsort(sweep->pairs, sweep->pair_count, sizeof *sweep->pairs, by_group);
    }
    return cpti_whatif_order_init(&sweep->order, sweep->before_ns, set->weight,
                                  set->count)
               ? CPT_OK
               : CPT_NO_MEMORY;
}

static void close_sweep(struct sweep *sweep)
{
    cpti_whatif_order_deinit(&sweep->order);
    free(sweep->before_ns);
    free(sweep->after_ns);
    free(sweep->groups);
    free(sweep->path_ns);
    cpt_alloc_free(NULL, sweep->pairs);
}

/* --- One by one --- */

static int by_gain(const void *left, const void *right)
{
    const struct cpti_whatif_gain *a = left;
    const struct cpti_whatif_gain *b = right;
    const double keys[][2] = {{a->stats.rows[CPTI_WHATIF_MEAN].change_ns,
                               b->stats.rows[CPTI_WHATIF_MEAN].change_ns},
                              {-a->path_ns, -b->path_ns}};

    for (size_t i = 0; i < 2; i++) {
        if (keys[i][0] < keys[i][1] || keys[i][0] > keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* How far the change of @gain could be, by @plan. A request on whose path the group is
 * not may have had it there. */
static cpt_status find_doubt(const struct sweep *sweep, struct cpt_whatif_plan *plan,
                             struct cpti_whatif_gain *gain)
{
    const struct cpti_whatif_set *set = sweep->trial->set;
    const struct cpti_whatif_row *mean = &gain->stats.rows[CPTI_WHATIF_MEAN];
    struct cpti_whatif_doubt doubt = {.lists_waits = false};
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < set->count && status == CPT_OK; i++) {
        status = cpti_whatif_doubt_add(&doubt, set, plan, i, sweep->after_ns[i]);
    }
    cpti_whatif_doubt_judge(&doubt, mean->before_ns, mean->change_ns);
    gain->could_be = doubt.could_be;
    return status;
}

/* The group of the pairs from @begin on; *@end is behind them. */
static cpt_status try_group(struct sweep *sweep, size_t begin, size_t *end,
                            struct cpti_whatif_gain *gain)
{
    const struct cpti_whatif_set *set = sweep->trial->set;
    const uint32_t group = sweep->pairs[begin].group;
    struct cpt_whatif_plan *plan = NULL;
    cpt_status status = plan_of(sweep->trial, &group, 1, &plan);

    memcpy(sweep->after_ns, sweep->before_ns, set->count * sizeof *sweep->after_ns);
    for (; begin < sweep->pair_count && sweep->pairs[begin].group == group; begin++) {
        const uint32_t request = sweep->pairs[begin].request;

        if (status == CPT_OK) {
            status = cpt_whatif_run(plan, request, 1, &sweep->after_ns[request]);
        }
    }
    *end = begin;
    *gain = (struct cpti_whatif_gain){
        .frame = group, .path_ns = sweep->path_ns[group] / sweep->order.weight_sum};
    if (status == CPT_OK &&
        !cpti_whatif_compare(&sweep->order, sweep->after_ns, false, &gain->stats)) {
        status = CPT_NO_MEMORY;
    }
    if (status == CPT_OK) {
        status = find_doubt(sweep, plan, gain);
    }
    cpt_whatif_plan_free(plan);
    return status;
}

static int by_path_time(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a < b) - (a > b);
}

/* Leaves out the groups with the least time on the path if there are more than can be
 * tried. *@left: how many these are. */
static cpt_status bound_groups(struct sweep *sweep, size_t *left)
{
    const struct cpti_whatif_set *set = sweep->trial->set;
    const size_t frames = cpt_whatif_frame_count(set->whatif);
    const double looks = 1 + (double)frames + (double)set->part_count;
    double *path_ns = calloc(frames + 1, sizeof *path_ns);
    size_t count = 0;
    size_t kept = 0;
    size_t most = 0;
    size_t ties = 0; /* with the time of the first that is left out, that are kept */
    double least_ns = 0;
    uint32_t before = UINT32_MAX;
    bool is_kept = false;

    *left = 0;
    if (path_ns == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t k = 0; k < frames; k++) {
        path_ns[count] = sweep->path_ns[k];
        count += sweep->path_ns[k] > 0;
    }
    qsort(path_ns, count, sizeof *path_ns, by_path_time);
    most = looks_max / looks < (double)count ? (size_t)(looks_max / looks) : count;
    least_ns = most < count ? path_ns[most] : 0;
    for (size_t k = 0; k < most; k++) {
        ties += !(path_ns[k] > least_ns);
    }
    free(path_ns);
    *left = count - most;
    for (size_t i = 0; i < sweep->pair_count; i++) {
        const struct pair pair = sweep->pairs[i];
        const bool is_tie = !(sweep->path_ns[pair.group] > least_ns);

        if (is_tie && pair.group != before) {
            is_kept = ties != 0;
            ties -= is_kept;
        }
        before = pair.group;
        if (!is_tie || is_kept) {
            sweep->pairs[kept++] = pair;
        }
    }
    sweep->pair_count = kept;
    return CPT_OK;
}

static size_t count_groups(const struct sweep *sweep)
{
    size_t count = 0;

    for (size_t i = 0; i < sweep->pair_count; i++) {
        count += i == 0 || sweep->pairs[i].group != sweep->pairs[i - 1].group;
    }
    return count;
}

cpt_status cpti_whatif_sweep(const struct cpti_whatif_trial *trial,
                             struct cpti_whatif_gain **gains, size_t *count)
{
    struct sweep sweep;
    cpt_status status = open_sweep(&sweep, trial);
    size_t all = 0;
    size_t at = 0;
    size_t left = 0;

    if (status == CPT_OK) {
        status = bound_groups(&sweep, &left);
    }
    if (trial->untried != NULL) {
        *trial->untried = left;
    }
    all = status == CPT_OK ? count_groups(&sweep) : 0;
    *count = 0;
    *gains = calloc(all + 1, sizeof **gains);
    if (*gains == NULL) {
        status = CPT_NO_MEMORY;
    }
    while (status == CPT_OK && at < sweep.pair_count) {
        status = try_group(&sweep, at, &at, &(*gains)[*count]);
        ++*count;
        if (trial->progress != NULL) {
            trial->progress(*count, all);
        }
    }
    if (status == CPT_OK) {
        qsort(*gains, *count, sizeof **gains, by_gain);
    } else {
        free(*gains);
        *gains = NULL;
        *count = 0;
    }
    close_sweep(&sweep);
    return status;
}

/* --- Together --- */

struct search {
    struct sweep *sweep;
    uint32_t *candidates;
    size_t candidate_count;
    struct cpti_whatif_best *best;
    double best_ns;
};

/* The sum of the latencies with shorter @groups. */
static cpt_status try_set(struct search *search, const uint32_t *groups, size_t count,
                          double *sum_ns)
{
    const struct cpti_whatif_set *set = search->sweep->trial->set;
    struct cpt_whatif_plan *plan = NULL;
    cpt_status status = plan_of(search->sweep->trial, groups, count, &plan);

    if (status == CPT_OK) {
        status = cpt_whatif_run(plan, 0, set->count, search->sweep->after_ns);
    }
    cpt_whatif_plan_free(plan);
    *sum_ns = 0;
    for (size_t i = 0; i < set->count && status == CPT_OK; i++) {
        *sum_ns += set->weight[i] * (double)search->sweep->after_ns[i];
    }
    search->best->set_count++;
    return status;
}

/* Tries all sets of @count, in the order of their numbers. */
static cpt_status try_all(struct search *search, size_t count, double all)
{
    const struct cpti_whatif_trial *trial = search->sweep->trial;
    size_t chosen[CPTI_WHATIF_BEST_MAX];
    uint32_t groups[CPTI_WHATIF_BEST_MAX];
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count; i++) {
        chosen[i] = i;
    }
    for (;;) {
        double sum_ns = 0;
        size_t at = count;

        for (size_t i = 0; i < count; i++) {
            groups[i] = search->candidates[chosen[i]];
        }
        status = try_set(search, groups, count, &sum_ns);
        if (status != CPT_OK) {
            return status;
        }
        if (search->best->count == 0 || sum_ns < search->best_ns) {
            search->best_ns = sum_ns;
            search->best->count = count;
            memcpy(search->best->frames, groups, count * sizeof *groups);
        }
        if (trial->progress != NULL) {
            trial->progress((size_t)search->best->set_count, (size_t)all);
        }
        while (at != 0 && chosen[at - 1] == search->candidate_count - count + at - 1) {
            at--;
        }
        if (at == 0) {
            return CPT_OK;
        }
        chosen[at - 1]++;
        for (; at < count; at++) {
            chosen[at] = chosen[at - 1] + 1;
        }
    }
}

/* The most that each candidate can give beside those that were chosen: its time on the
 * path as it is with them. That of those is -1. *@base_ns becomes the sum with them. */
static cpt_status bound_gains(struct search *search, double *gain_ns, double *base_ns)
{
    const struct cpti_whatif_set *set = search->sweep->trial->set;
    const size_t frames = cpt_whatif_frame_count(set->whatif);
    uint64_t *time_ns = calloc(frames + 1, sizeof *time_ns);
    struct cpt_whatif_plan *plan = NULL;
    cpt_status status = time_ns != NULL
                            ? plan_of(search->sweep->trial, search->best->frames,
                                      search->best->count, &plan)
                            : CPT_NO_MEMORY;

    memset(gain_ns, 0, search->candidate_count * sizeof *gain_ns);
    *base_ns = 0;
    for (size_t i = 0; i < set->count && status == CPT_OK; i++) {
        memset(time_ns, 0, frames * sizeof *time_ns);
        status = cpt_whatif_times(plan, i, time_ns);
        for (size_t k = 0; k < frames; k++) {
            *base_ns += set->weight[i] * (double)time_ns[k];
        }
        sum_groups(search->sweep, time_ns);
        for (size_t k = 0; k < search->candidate_count; k++) {
            gain_ns[k] += set->weight[i] * (double)time_ns[search->candidates[k]];
        }
    }
    for (size_t i = 0; i < search->candidate_count; i++) {
        for (size_t k = 0; k < search->best->count; k++) {
            if (search->candidates[i] == search->best->frames[k]) {
                gain_ns[i] = -1;
            }
        }
    }
    cpt_whatif_plan_free(plan);
    free(time_ns);
    return status;
}

/* One more group: that which gives most. @gain_ns has the most that each can give. */
static cpt_status add_best(struct search *search, double *gain_ns, double base_ns)
{
    struct cpti_whatif_best *best = search->best;
    bool *is_new = calloc(search->candidate_count, sizeof *is_new);
    cpt_status status = is_new != NULL ? CPT_OK : CPT_NO_MEMORY;

    while (status == CPT_OK) {
        size_t first = 0;
        double sum_ns = 0;

        for (size_t i = 1; i < search->candidate_count; i++) {
            first = gain_ns[i] > gain_ns[first] ? i : first;
        }
        best->frames[best->count] = search->candidates[first];
        if (is_new[first]) {
            best->count++;
            break;
        }
        is_new[first] = true;
        status = try_set(search, best->frames, best->count + 1, &sum_ns);
        gain_ns[first] = base_ns - sum_ns;
    }
    free(is_new);
    return status;
}

static cpt_status try_greedily(struct search *search, size_t count)
{
    const struct cpti_whatif_trial *trial = search->sweep->trial;
    double *gain_ns = calloc(search->candidate_count, sizeof *gain_ns);
    cpt_status status = gain_ns != NULL ? CPT_OK : CPT_NO_MEMORY;

    while (status == CPT_OK && search->best->count < count) {
        double base_ns = 0;

        status = bound_gains(search, gain_ns, &base_ns);
        if (status == CPT_OK) {
            status = add_best(search, gain_ns, base_ns);
        }
        if (trial->progress != NULL) {
            trial->progress(search->best->count, count);
        }
    }
    free(gain_ns);
    return status;
}

/* All groups that take time in some request: one that is on no path now may be on one
 * when others are shorter. */
static cpt_status list_candidates(struct search *search)
{
    const struct cpti_whatif_trial *trial = search->sweep->trial;
    const size_t frames = cpt_whatif_frame_count(trial->set->whatif);

    search->candidates = calloc(frames + 1, sizeof *search->candidates);
    if (search->candidates == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < frames; i++) {
        struct cpt_whatif_plan *plan = NULL;
        cpt_status status = CPT_OK;

        if (search->sweep->groups[i] != i) {
            continue;
        }
        if (frames <= TRIED_MAX) {
            status = plan_of(trial, &i, 1, &plan);
        }
        cpt_whatif_plan_free(plan);
        if (status == CPT_OK) {
            search->candidates[search->candidate_count++] = i;
        } else if (status != CPT_END) { /* else no request has it */
            return status;
        }
    }
    return CPT_OK;
}

cpt_status cpti_whatif_best(const struct cpti_whatif_trial *trial, size_t count,
                            struct cpti_whatif_best *best)
{
    struct sweep sweep;
    struct search search = {.sweep = &sweep, .best = best};
    cpt_status status = open_sweep(&sweep, trial);
    double all = 1;

    *best = (struct cpti_whatif_best){.is_exhaustive = true};
    if (status == CPT_OK) {
        status = list_candidates(&search);
    }
    count = count < search.candidate_count ? count : search.candidate_count;
    count = count < CPTI_WHATIF_BEST_MAX ? count : CPTI_WHATIF_BEST_MAX;
    for (size_t i = 0; i < count; i++) {
        all = all * (double)(search.candidate_count - i) / (double)(i + 1);
    }
    best->is_exhaustive =
        all * (double)(cpt_whatif_edge_count(trial->set->whatif) + 1) <= edges_max;
    if (status == CPT_OK && count != 0) {
        status = best->is_exhaustive ? try_all(&search, count, all)
                                     : try_greedily(&search, count);
    }
    free(search.candidates);
    close_sweep(&sweep);
    return status;
}
