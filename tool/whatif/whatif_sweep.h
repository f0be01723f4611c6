/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_sweep.h - what each fix would give, and which ones give most together
 *
 * A fix makes a group of frames (whatif_group.h) shorter.
 *
 * A group that is made shorter helps only requests on whose critical path it is, so the
 * others are not replayed. Gains of several groups do not add up: two that run side by
 * side may give nothing each, and much together. So the best K are found by trying all
 * sets, if that is not too much work, or else one after the other, the one that gives
 * most with those that were chosen before (greedy). No group gives more than its time
 * on the path, so those with less than what another one gives are not tried (lazy).
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_WHATIF_SWEEP_H
#define CPTI_CLI_WHATIF_SWEEP_H

#include "tool/whatif/could_be.h"
#include "tool/whatif/whatif_group.h"
#include "tool/whatif/whatif_stats.h"

enum { CPTI_WHATIF_BEST_MAX = 16 };

/* What is tried. */
struct cpti_whatif_trial {
    const struct cpti_whatif_set *set;
    const struct cpt_whatif_term *terms; /* that hold in any case */
    size_t term_count;
    enum cpti_whatif_by by;
    unsigned change; /* CPT_WHATIF_LESS or CPT_WHATIF_SCALE, by this much: */
    uint64_t amount_ns;
    double share;
    void (*progress)(size_t done, size_t all); /* may be NULL */
    size_t *untried; /* gets how many groups were not tried, as all of them would take
                        too long: those with the least time on the path; or NULL */
};

/* A group that is shorter. */
struct cpti_whatif_gain {
    uint32_t frame; /* the first of the group */
    double path_ns; /* its mean time on the path before */
    struct cpti_whatif_stats stats;
    struct cpti_could_be could_be; /* the change of the mean */
};

/* Fills *@gains, of *@count groups, the largest gain of the mean first; the caller
 * frees it. CPT_OK, CPT_LIMIT, CPT_NO_MEMORY. */
cpt_status cpti_whatif_sweep(const struct cpti_whatif_trial *trial,
                             struct cpti_whatif_gain **gains, size_t *count);

struct cpti_whatif_best {
    uint32_t frames[CPTI_WHATIF_BEST_MAX]; /* the first of each group */
    size_t count;
    bool is_exhaustive;
    uint64_t set_count; /* that were tried */
};

/* The best @count groups together. CPT_OK, CPT_LIMIT, CPT_NO_MEMORY. */
cpt_status cpti_whatif_best(const struct cpti_whatif_trial *trial, size_t count,
                            struct cpti_whatif_best *best);

/* The term that makes the group of @frame shorter. */
struct cpt_whatif_term cpti_whatif_shorter(const struct cpti_whatif_trial *trial,
                                           uint32_t frame);

#endif
