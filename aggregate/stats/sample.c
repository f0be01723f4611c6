/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sample.c - pairs of samples of the same requests, and the rows that differ by chance
 *
 * Requests are kept as rows of a sparse table, one value for each node that had self
 * time, all in one array:
 *
 *      starts   0      3   4 …
 *      values   n1 n4 n5 | n1 | …        node and self time
 *
 * A pair of samples is the beginning of a shuffled list of requests: the first n are
 * one side, the next n the other. Only these are shuffled, and the next pair starts
 * from the list as it is, which is as good as a sorted list. Means are weighted as in
 * the tree.
 *
 * The samples are drawn without replacement, so the two means are slightly correlated
 * and each of them varies less. Both effects cancel exactly in their difference, so the
 * prediction holds up to half of the requests on each side.
 *
 * Cost: for each pair the values of 2n requests, and a pass over the nodes.
 */
#include "aggregate/cpt_sample.h"

#include "aggregate/tree/tree_node.h"

#include "cpt/cpt_path.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { VALUES_MAX_DEFAULT = 1 << 26 };

struct value {
    uint64_t self_ns;
    uint32_t node;
};

struct request {
    size_t start; /* of its values; they end at the start of the next request */
    double weight;
};

struct cpt_sample {
    const struct cpt_alloc *alloc;
    size_t values_max;
    struct cpt_tree *tree;
    struct value *values;
    size_t value_count;
    size_t value_capacity;
    struct request *requests;
    size_t request_count;
    size_t request_capacity;
};

struct cpt_sample *cpt_sample_new(const struct cpt_alloc *alloc,
                                  const struct cpt_sample_options *options)
{
    struct cpt_sample_options own;
    struct cpt_sample *sample = NULL;

    if (cpt_options_read(&own, sizeof own, options, NULL) != CPT_OK ||
        own.values_max > CPT_SAMPLE_VALUES_MAX) {
        return NULL;
    }
    sample = cpt_alloc_zeroed(alloc, sizeof *sample);
    if (sample == NULL) {
        return NULL;
    }
    sample->alloc = alloc;
    sample->values_max = own.values_max != 0 ? own.values_max : VALUES_MAX_DEFAULT;
    sample->tree = cpt_tree_new(alloc, NULL);
    if (sample->tree == NULL) {
        cpt_sample_free(sample);
        return NULL;
    }
    return sample;
}

void cpt_sample_free(struct cpt_sample *sample)
{
    if (sample == NULL) {
        return;
    }
    cpt_tree_free(sample->tree);
    cpt_alloc_free(sample->alloc, sample->values);
    cpt_alloc_free(sample->alloc, sample->requests);
    cpt_alloc_free(sample->alloc, sample);
}

cpt_status cpt_sample_add(struct cpt_sample *sample, const struct cpt_path *path,
                          cpt_weight weight)
{
    const size_t frame_count = cpt_path_frame_count(path);
    cpt_status status = cpt_alloc_grow(
        sample->alloc, (void **)&sample->values, &sample->value_capacity,
        sample->value_count + frame_count, sample->values_max, sizeof *sample->values);

    if (status == CPT_OK) {
        /* one more entry ends the last; requests without values count, too */
        status = cpt_alloc_grow(sample->alloc, (void **)&sample->requests,
                                &sample->request_capacity, sample->request_count + 2,
                                UINT32_MAX, sizeof *sample->requests);
    }
    if (status == CPT_OK) {
        status = cpt_tree_add(sample->tree, path, weight);
    }
    if (status != CPT_OK) {
        return status;
    }
    sample->requests[sample->request_count] =
        (struct request){sample->value_count, (double)weight / (double)CPT_WEIGHT_ONE};
    for (size_t i = 0; i < frame_count; i++) {
        const struct cpti_frame_sum *frame = &sample->tree->frames[i];

        if (frame->self_ns != 0) {
            sample->values[sample->value_count++] =
                (struct value){frame->self_ns, frame->node};
        }
    }
    sample->request_count++;
    sample->requests[sample->request_count] = (struct request){sample->value_count, 0};
    return CPT_OK;
}

const struct cpt_tree *cpt_sample_tree(const struct cpt_sample *sample)
{
    return sample->tree;
}

/* --- Deviations --- */

/* Of one node, over the requests that had self time in it. */
struct spread {
    double mean_ns; /* over all requests */
    double weight;
    double squares; /* Σ w (x - m)² */
};

static double deviation_of(const struct cpt_sample *sample, const struct spread *spread)
{
    const double weight = cpt_tree_weight(sample->tree);
    const double count = (double)sample->request_count;
    const double zeros = fmax(weight - spread->weight, 0);
    const double squares = spread->squares + zeros * spread->mean_ns * spread->mean_ns;

    return sqrt(squares / weight * count / (count - 1));
}

static void spread_requests(const struct cpt_sample *sample, struct spread *spreads)
{
    for (size_t i = 0; i < sample->request_count; i++) {
        const struct request *request = &sample->requests[i];

        for (size_t k = request[0].start; k < request[1].start; k++) {
            struct spread *spread = &spreads[sample->values[k].node];
            const double from_mean =
                (double)sample->values[k].self_ns - spread->mean_ns;

            spread->weight += request->weight;
            spread->squares += request->weight * from_mean * from_mean;
        }
    }
}

cpt_status cpt_sample_deviations(const struct cpt_sample *sample, double *deviations_ns)
{
    const struct cpt_tree *tree = sample->tree;
    const bool is_equal = cpt_tree_weight_min(tree) == cpt_tree_weight_max(tree);
    struct spread *spreads =
        cpt_alloc_array(sample->alloc, NULL, tree->node_count, sizeof *spreads);

    if (spreads == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < tree->node_count; i++) {
        const struct cpt_mean self = cpt_stats_of(tree, i).self;

        spreads[i] = (struct spread){.mean_ns = self.mean_ns};
        deviations_ns[i] = self.deviation_ns;
    }
    if (!is_equal && sample->request_count > 1) {
        spread_requests(sample, spreads);
        for (uint32_t i = 0; i < tree->node_count; i++) {
            deviations_ns[i] = deviation_of(sample, &spreads[i]);
        }
    }
    cpt_alloc_free(sample->alloc, spreads);
    return CPT_OK;
}

/* --- Predicting --- */

double cpt_false_row_chance(const struct cpt_tree *tree, uint32_t node,
                            double request_count, double threshold_ns)
{
    const struct cpt_stats stats = cpt_stats_of(tree, node);
    const double all_count = (double)cpt_tree_request_count(tree);
    const double error_ns = stats.self.error_ns;
    double chance;
    double occurs;

    if (!isfinite(error_ns) || error_ns == 0) {
        return 0;
    }
    chance = 2 * cpt_normal_cdf(-threshold_ns /
                                (error_ns * sqrt(2 * all_count / request_count)));
    occurs =
        -expm1(2 * request_count * log1p(-(double)stats.present_count / all_count));
    return chance < occurs ? chance : occurs;
}

double cpt_false_rows_predicted(const struct cpt_tree *tree, double request_count,
                                double threshold_ns)
{
    double sum = 0;

    for (uint32_t i = 1; i < cpt_tree_node_count(tree); i++) {
        sum += cpt_false_row_chance(tree, i, request_count, threshold_ns);
    }
    return sum;
}

/* --- Drawing --- */

/* Scratch of one cpt_sample_pairs(). */
struct trial {
    const struct cpt_sample *sample;
    const struct cpt_pairs *pairs;
    uint64_t state;  /* of the generator */
    uint32_t *order; /* of the requests */
    double *deltas;  /* by node */
    double *squares; /* by threshold: Σ count² */
};

/* SplitMix64. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Draws the first 2n of the order at random. The bias of % is below 2^-32. */
static void draw(struct trial *trial)
{
    const size_t count = trial->sample->request_count;

    for (size_t i = 0; i < (size_t)2 * trial->pairs->request_count; i++) {
        const size_t left = count - i; /* at least 1: see is_possible() */
        const size_t k = i + (left > 1 ? random_next(&trial->state) % left : 0);
        const uint32_t swap = trial->order[k];

        trial->order[k] = trial->order[i];
        trial->order[i] = swap;
    }
}

/* Adds @sign × the mean self times of @count requests from @first on. */
static void add_means(struct trial *trial, size_t first, size_t count, double sign)
{
    const struct cpt_sample *sample = trial->sample;
    double weight = 0;

    for (size_t i = first; i < first + count; i++) {
        weight += sample->requests[trial->order[i]].weight;
    }
    for (size_t i = first; i < first + count; i++) {
        const struct request *request = &sample->requests[trial->order[i]];
        const double factor = sign * request->weight / weight;

        for (size_t k = request[0].start; k < request[1].start; k++) {
            trial->deltas[sample->values[k].node] +=
                factor * (double)sample->values[k].self_ns;
        }
    }
}

static void try_pair(struct trial *trial, struct cpt_false_rows *results,
                     uint32_t *node_counts)
{
    const size_t n = trial->pairs->request_count;
    const size_t node_count = trial->sample->tree->node_count;

    memset(trial->deltas, 0, node_count * sizeof *trial->deltas);
    draw(trial);
    add_means(trial, 0, n, 1);
    add_means(trial, n, n, -1);
    for (size_t t = 0; t < trial->pairs->threshold_count; t++) {
        double count = 0;

        for (size_t i = 1; i < node_count; i++) {
            const int is_above =
                fabs(trial->deltas[i]) > trial->pairs->thresholds_ns[t];

            count += is_above;
            if (t == 0 && node_counts != NULL) {
                node_counts[i] += (uint32_t)is_above;
            }
        }
        results[t].observed += count;
        trial->squares[t] += count * count;
    }
}

static bool is_possible(const struct cpt_sample *sample, const struct cpt_pairs *pairs)
{
    for (size_t t = 0; t < pairs->threshold_count; t++) {
        if (!(pairs->thresholds_ns[t] > 0)) {
            return false;
        }
    }
    return pairs->request_count > 0 && pairs->pair_count > 0 &&
           pairs->pair_count <= CPT_SAMPLE_PAIRS_MAX &&
           pairs->request_count <= sample->request_count / 2;
}

static void try_all(struct trial *trial, struct cpt_false_rows *results,
                    uint32_t *node_counts)
{
    const struct cpt_pairs *pairs = trial->pairs;
    const double count = pairs->pair_count;

    for (size_t i = 0; i < trial->sample->request_count; i++) {
        trial->order[i] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < pairs->pair_count; i++) {
        try_pair(trial, results, node_counts);
    }
    for (size_t t = 0; t < pairs->threshold_count; t++) {
        const double mean = results[t].observed / count;
        const double spread = trial->squares[t] - count * mean * mean;

        results[t].observed = mean;
        results[t].error = pairs->pair_count < 2
                               ? INFINITY
                               : sqrt(fmax(spread, 0) / (count - 1) / count);
    }
}

cpt_status cpt_sample_pairs(const struct cpt_sample *sample,
                            const struct cpt_pairs *pairs,
                            struct cpt_false_rows *results, uint32_t *node_counts)
{
    const size_t node_count = sample->tree->node_count;
    struct trial trial = {.sample = sample, .pairs = pairs, .state = pairs->seed};

    if (!is_possible(sample, pairs)) {
        return CPT_INVALID;
    }
    for (size_t t = 0; t < pairs->threshold_count; t++) {
        results[t] = (struct cpt_false_rows){
            .predicted = cpt_false_rows_predicted(sample->tree, pairs->request_count,
                                                  pairs->thresholds_ns[t])};
    }
    if (node_counts != NULL) {
        memset(node_counts, 0, node_count * sizeof *node_counts);
    }
    trial.order = cpt_alloc_array(sample->alloc, NULL, sample->request_count,
                                  sizeof *trial.order);
    trial.deltas =
        cpt_alloc_array(sample->alloc, NULL, node_count, sizeof *trial.deltas);
    trial.squares = cpt_alloc_zeroed(sample->alloc, (pairs->threshold_count + 1) *
                                                        sizeof *trial.squares);
    if (trial.order != NULL && trial.deltas != NULL && trial.squares != NULL) {
        try_all(&trial, results, node_counts);
    }
    cpt_alloc_free(sample->alloc, trial.order);
    cpt_alloc_free(sample->alloc, trial.deltas);
    cpt_alloc_free(sample->alloc, trial.squares);
    return trial.order != NULL && trial.deltas != NULL && trial.squares != NULL
               ? CPT_OK
               : CPT_NO_MEMORY;
}
