/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * experiment_rows.h - what experiments have measured, and what kept graphs predict
 *
 *      logs   --> requests with an arm --> two trees of latencies a row --> Welch
 *      graphs --> replayed with a delay before each task of the frame --> mean
 *
 * A row is a frame with one delay of one kind. Its sensitivity is the difference of
 * the mean latencies of its arms, divided by the delay; cpt_diff.h compares them.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_EXPERIMENT_ROWS_H
#define CPTI_CLI_EXPERIMENT_ROWS_H

#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_tree.h"
#include "tool/requests/kept_graphs.h"

#include <stdbool.h>

enum { CPTI_EXPERIMENT_ROWS_MAX = 4096 };

/* Sums over the graphs; weights as those of trees, but not whole. */
struct cpti_prediction {
    uint64_t request_count;
    uint64_t present_count; /* of these, requests that had the frame */
    double weight;
    double sum;
    double weight2; /* of squared weights … */
    double sum2x;   /* … times x … */
    double sum2xx;  /* … times x squared */
};

struct cpti_experiment_row {
    char *frame;
    uint64_t delta_ns;
    bool burns;
    struct cpt_tree *plain;
    struct cpt_tree *delayed;
    struct cpti_prediction predicted;
    /* Set by cpti_experiment_rows_finish(): */
    uint64_t plain_count;
    uint64_t delayed_count;
    bool is_measured; /* both arms have two requests */
    double sensitivity;
    double low;
    double high;
    double p_value;
    double q_value;
    const char *doubt; /* why it must not be trusted, or "" */
    bool is_predicted;
    double prediction;
    double prediction_error; /* NAN: not known, from one graph */
    bool is_compared;        /* both are there, with their errors */
    bool agrees;             /* but for chance and 0.05, if they are compared */
};

struct cpti_experiment_rows {
    struct cpti_experiment_row *rows;
    size_t row_count;
    size_t row_capacity;
    struct cpt_path *path;  /* of one frame, for the trees */
    uint64_t request_count; /* that took part */
    uint64_t others_count;  /* that did not */
    uint64_t malformed_count;
    uint64_t graph_count;
    uint64_t delayed_graph_count; /* left out: they were delayed themselves */
};

void cpti_experiment_rows_free(struct cpti_experiment_rows *rows);

/* Adds one record of a log, with the weight that it has there. CPT_OK; CPT_LIMIT;
 * CPT_NO_MEMORY. */
cpt_status cpti_experiment_rows_add(struct cpti_experiment_rows *rows,
                                    const struct cpt_record *record, cpt_weight weight);

/* A cpti_kept_fn with the rows as its context: what the graph predicts for each. */
cpt_status cpti_experiment_rows_predict(void *context,
                                        const struct cpti_kept_graph *graph);

/* Compares the arms of all rows, and sorts them: the most sensitive first. */
cpt_status cpti_experiment_rows_finish(struct cpti_experiment_rows *rows);

#endif
