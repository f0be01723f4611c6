/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_answer.h - what terms do to kept requests
 *
 *      set, terms --> replay --> latencies before and after, frames whose time changes
 *
 * The command and the page that answers questions both use it.
 *
 * Threads: any, each with an answer of its own; they may share the set.
 */
#ifndef CPTI_CLI_WHATIF_ANSWER_H
#define CPTI_CLI_WHATIF_ANSWER_H

#include "tool/whatif/whatif_doubt.h"
#include "tool/whatif/whatif_stats.h"
#include "tool/whatif/whatif_sweep.h"
#include "tool/whatif/whatif_tree.h"

/* A frame's mean time on the paths. */
struct cpti_whatif_shift {
    uint32_t frame;
    double before_ns;
    double after_ns;
};

struct cpti_whatif {
    const struct cpti_whatif_set *set; /* borrowed */
    struct cpt_whatif_term terms[CPT_WHATIF_TERMS_MAX];
    const char *texts[CPT_WHATIF_TERMS_MAX];
    char *owned[CPT_WHATIF_TERMS_MAX]; /* texts of terms that were found */
    size_t term_count;
    char *file; /* --terms */
    bool replays_queues;
    bool sweeps;
    const char *output; /* a path log; NULL: none is written */
    size_t best_count;
    struct cpti_whatif_trial trial;
    const double *before_ns;       /* times of frames as recorded; NULL: are computed */
    struct cpti_whatif_tree *tree; /* gets the new paths; borrowed; NULL: not wanted */
    /* The answer: */
    struct cpti_whatif_order order;
    struct cpti_whatif_stats stats;
    struct cpti_whatif_doubt doubt; /* of the mean's change */
    struct cpt_whatif_counts counts;
    uint64_t *after_ns;
    struct cpti_whatif_shift *shifts;
    size_t shift_count;
    struct cpti_whatif_gain *gains;
    size_t gain_count;
    struct cpti_whatif_best best;
    struct cpt_whatif_workers *workers; /* of each executor, if queues are replayed */
    uint64_t other_count; /* requests whose replayed queues differ without a change */
};

/* The verb that @word is: "set", "cap" …; false: none. */
bool cpti_whatif_verb_of(const char *word, unsigned *verb);

/* Adds a term; its text is borrowed. Prints what is wrong with it. enum cpti_exit. */
int cpti_whatif_add_term(struct cpti_whatif *whatif, unsigned verb, const char *text);
int cpti_whatif_take_term(struct cpti_whatif *whatif, const char *text,
                          const struct cpt_whatif_term *term); /* as read */

/* The same with the verb in front: "set C: C1=-50%". A blank line, and one that begins
 * with '#', is none. */
int cpti_whatif_add_line(struct cpti_whatif *whatif, const char *line);

/* Adds the terms of @text, one on each line. It is cut into lines, and borrowed. */
int cpti_whatif_add_lines(struct cpti_whatif *whatif, char *text);

/* Makes room for the answer about whatif->set. enum cpti_exit. */
int cpti_whatif_open(struct cpti_whatif *whatif);

/* Answers: latencies and frames, the largest change first. enum cpti_exit. */
int cpti_whatif_answer(struct cpti_whatif *whatif);

/* The mean time of each frame on the recorded paths, for whatif->before_ns; the caller
 * frees it. @tree gets these paths; NULL: not wanted. NULL with the error printed. */
double *cpti_whatif_recorded_times(const struct cpti_whatif_set *set,
                                   struct cpti_whatif_tree *tree);

void cpti_whatif_free(struct cpti_whatif *whatif); /* not its set; may be NULL */

#endif
