/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tails.h - cpt diff --quantile p99: both sets, each cut at a quantile of its latency
 *
 * A first pass finds the quantile of each set, and where its edge begins (see
 * aggregate/cpt_tail.h); the second one makes four trees of each:
 *
 *      all    every selected request
 *      tail   latency >= p99        rest   latency < p99
 *      edge   p98 <= latency < p99, the slowest of the rest
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_TAILS_H
#define CPTI_CLI_TAILS_H

#include "tool/folds/views.h"
#include "aggregate/cpt_tail.h"

enum cpti_tail_part {
    CPTI_TAIL_ALL,
    CPTI_TAIL_TAIL,
    CPTI_TAIL_REST,
    CPTI_TAIL_EDGE,
    CPTI_TAIL_PARTS
};

enum { CPTI_TAIL_TERM_BYTES = 96 };

struct cpti_tails {
    const char
        *cluster_key; /* of --cluster: only the quantiles are compared; or NULL */
    enum cpti_by by;
    uint64_t share;  /* of the quantile, in millionths of a percent */
    double quantile; /* the same: 0 to 1 */
    struct cpti_gather gathers[2][CPTI_TAIL_PARTS]; /* of base and new */
    struct cpti_views views[2][CPTI_TAIL_PARTS];
    struct cpti_selection *selections; /* in the order of the gathers */
    char terms[2][CPTI_TAIL_PARTS][CPTI_TAIL_TERM_BYTES];
    uint64_t border_ns[2]; /* the quantile of each set, exact */
};

/* Reads --quantile and --by. enum cpti_exit. Deinit it in any case. */
int cpti_tails_init(struct cpti_tails *tails, const struct cpti_arguments *arguments);
void cpti_tails_deinit(struct cpti_tails *tails);

/* Reads the two sets: two operands, or --base and --new of all. enum cpti_exit;
 * *@is_usable as of cpti_gather(). */
int cpti_tails_gather(struct cpti_tails *tails, const struct cpti_arguments *arguments,
                      bool *is_usable);

/* Whether each set has requests below its border: not if all take equally long, or more
 * than the quantile as long as the fastest. Then only the quantiles can be compared. */
bool cpti_tails_have_rest(const struct cpti_tails *tails);

/* Compares them. NULL with the error printed. The caller frees the result. */
struct cpt_tail *cpti_tails_compare(const struct cpti_tails *tails);

#endif
