/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_mix.c - culprits that only another mix of requests makes
 *
 * A query may take 1 ms for one page and 20 ms for another. If the second page is asked
 * for more, the query is slower, and no service is at fault. So the scores are computed
 * once more with one mix of entry operations in both sets: a request that enters at s,
 * where the sets have n and m requests, counts
 *
 *      2 m / (n + m) in the base        2 n / (n + m) in the new set
 *
 * so that s has the weight 2 n m / (n + m) in both. With equal sets of one mix each
 * request counts 1. A culprit of which less than half of the score is left is none.
 */
#include "tool/culprit/culprit_parts.h"

#include <stdlib.h>

static const double score_part = 0.5;
/* Of each set: of fewer requests one mix says nothing. */
static const double requests_part = 0.5;

/* A request, by where it enters. */
struct entering {
    uint64_t entry;
    uint32_t set;
    uint32_t request;
};

struct mixing {
    struct cpti_culprit *culprit;
    struct entering *requests;
    double *weights[2]; /* by request */
    struct cpti_culprit_sum *sums[2];
    struct cpti_culprit_scores as_is;
    struct cpti_culprit_scores held;
};

static int compare(const void *left, const void *right)
{
    const struct entering *a = left;
    const struct entering *b = right;

    if (a->entry != b->entry) {
        return a->entry < b->entry ? -1 : 1;
    }
    if (a->set != b->set) {
        return a->set < b->set ? -1 : 1;
    }
    return (a->request > b->request) - (a->request < b->request);
}

static cpt_status allocate(struct mixing *mixing)
{
    const struct cpti_culprit *culprit = mixing->culprit;
    const struct cpti_culprit_model *model = &culprit->model;
    const struct cpt_alloc *alloc = culprit->alloc;
    const size_t keys = model->key_count + 1;
    const size_t counts[2] = {culprit->sets[0].request_count,
                              culprit->sets[1].request_count};
    bool is_whole = cpti_culprit_scores_make(model, alloc, &mixing->as_is) == CPT_OK;

    is_whole =
        cpti_culprit_scores_make(model, alloc, &mixing->held) == CPT_OK && is_whole;
    for (int i = 0; i < 2; i++) {
        mixing->weights[i] = cpt_alloc_zeroed(alloc, (counts[i] + 1) * sizeof(double));
        mixing->sums[i] = cpt_alloc_zeroed(alloc, keys * sizeof *mixing->sums[i]);
        is_whole = is_whole && mixing->weights[i] != NULL && mixing->sums[i] != NULL;
    }
    mixing->requests = cpt_alloc_array(alloc, NULL, counts[0] + counts[1] + 1,
                                       sizeof *mixing->requests);
    return is_whole && mixing->requests != NULL ? CPT_OK : CPT_NO_MEMORY;
}

static void deallocate(struct mixing *mixing)
{
    const struct cpt_alloc *alloc = mixing->culprit->alloc;

    cpti_culprit_scores_deinit(&mixing->as_is, alloc);
    cpti_culprit_scores_deinit(&mixing->held, alloc);
    for (int i = 0; i < 2; i++) {
        cpt_alloc_free(alloc, mixing->weights[i]);
        cpt_alloc_free(alloc, mixing->sums[i]);
    }
    cpt_alloc_free(alloc, mixing->requests);
}

/* Finds the weights. Whether they say something of most requests. */
static bool weigh(struct mixing *mixing)
{
    const struct cpti_culprit_set *sets = mixing->culprit->sets;
    size_t count = 0;
    size_t common[2] = {0, 0};

    for (uint32_t set = 0; set < 2; set++) {
        for (uint32_t i = 0; i < sets[set].request_count; i++) {
            mixing->requests[count++] = (struct entering){
                .entry = sets[set].entries[i], .set = set, .request = i};
        }
    }
    qsort(mixing->requests, count, sizeof *mixing->requests, compare);
    for (size_t at = 0, end = 0; at < count; at = end) {
        size_t counts[2] = {0, 0};

        for (end = at;
             end < count && mixing->requests[end].entry == mixing->requests[at].entry;
             end++) {
            counts[mixing->requests[end].set]++;
        }
        for (size_t i = at; i < end; i++) {
            const struct entering *request = &mixing->requests[i];

            mixing->weights[request->set][request->request] =
                2 * (double)counts[1 - request->set] / (double)(end - at);
        }
        for (int set = 0; set < 2; set++) {
            common[set] += counts[1 - set] > 0 ? counts[set] : 0;
        }
    }
    return (double)common[0] >= requests_part * (double)sets[0].request_count &&
           (double)common[1] >= requests_part * (double)sets[1].request_count;
}

/* Computes @scores with requests that count as their weights, or 1. */
static void score(struct mixing *mixing, bool is_held,
                  struct cpti_culprit_scores *scores)
{
    const struct cpti_culprit_model *model = &mixing->culprit->model;

    for (int set = 0; set < 2; set++) {
        const struct cpti_culprit_cells *cells = &model->sets[set];

        memset(mixing->sums[set], 0, model->key_count * sizeof *mixing->sums[set]);
        for (size_t i = 0; i < cells->request_count; i++) {
            cpti_culprit_sums_add(mixing->sums[set], cells, i,
                                  is_held ? mixing->weights[set][i] : 1);
        }
    }
    cpti_culprit_score(model, mixing->sums[0], mixing->sums[1], scores);
}

cpt_status cpti_culprit_hold_mix(struct cpti_culprit *culprit)
{
    struct mixing mixing = {.culprit = culprit};
    struct cpti_culprit_model *model = &culprit->model;
    cpt_status status = CPT_OK;
    bool is_left = false;

    if (culprit->verdict != CPTI_VERDICT_SURE) {
        return CPT_OK;
    }
    status = allocate(&mixing);
    if (status == CPT_OK && weigh(&mixing)) {
        for (uint32_t i = 0; i < model->frame_count; i++) {
            model->frames[i].is_explained = false;
        }
        score(&mixing, false, &mixing.as_is);
        score(&mixing, true, &mixing.held);
        for (uint32_t i = 0; i < model->suspect_count; i++) {
            struct cpti_suspect *suspect = &culprit->suspects[i];

            suspect->is_of_mix =
                suspect->is_culprit &&
                mixing.held.scores[i] < score_part * mixing.as_is.scores[i];
            suspect->is_culprit &= !suspect->is_of_mix;
            is_left |= suspect->is_culprit;
        }
        culprit->verdict = is_left ? CPTI_VERDICT_SURE : CPTI_VERDICT_UNSURE;
    }
    deallocate(&mixing);
    return status;
}
