/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_set.h - kept requests, with what an answer needs beside their dags
 *
 *      files --> selected requests --> weights, recorded latencies, a cpt_whatif
 *
 * Threads: one at a time while it is filled; then any may read.
 */
#ifndef CPTI_CLI_WHATIF_SET_H
#define CPTI_CLI_WHATIF_SET_H

#include "tool/requests/kept_graphs.h"
#include "tool/whatif/whatif_inside.h"
#include "cpt/cpt_whatif.h"

struct cpti_whatif_set {
    struct cpt_whatif *whatif;
    struct cpt_names *names;
    struct cpti_kept_counts counts;
    bool by_walk; /* who waited is inferred by a rule that was asked for */
    struct cpti_whatif_inside inside;  /* of inferred requests */
    struct cpti_whatif_inside outside; /* spans that are in no visit of any request */
    uint64_t parts_max; /* nodes, edges and doubts of all requests; 0: no limit */
    uint64_t part_count;
    uint64_t excess_count;  /* left out at parts_max */
    uint64_t inexact_count; /* the longest path is not the latency */
    /* Of each request: */
    double *weight; /* requests that it stands for */
    uint64_t *recorded_ns;
    uint64_t *start_ns;
    unsigned char *evidence; /* enum cpt_evidence */
    cpt_name_id *entry;      /* of names */
    size_t count;
    size_t weight_capacity, recorded_capacity, start_capacity, evidence_capacity,
        entry_capacity;
};

/* Reads the requests of @files that @selection selects (NULL: all), of at most
 * @parts_max nodes and edges (0: no limit); @by_walk as in cpti_kept_options. What is
 * wrong with a file was printed, and what was left out. enum cpti_exit. The caller
 * deinits the set in each case. */
int cpti_whatif_set_read(struct cpti_whatif_set *set, const char *const *files,
                         size_t file_count, bool by_walk,
                         struct cpti_selection *selection, uint64_t parts_max);
void cpti_whatif_set_deinit(struct cpti_whatif_set *set);

/* "A: A1", "A: A1 ‹queue›": the frame @frame as a term takes it. */
const char *cpti_whatif_frame_text(const struct cpti_whatif_set *set, size_t frame,
                                   char text[2 * CPT_NAME_BYTES_MAX]);

/* As cpt_whatif_plan_new(); a term about spans that are in no visit does nothing, as no
 * response waits for them. */
cpt_status cpti_whatif_plan_new(const struct cpti_whatif_set *set,
                                const struct cpt_whatif_term *terms, size_t count,
                                bool replays_queues, struct cpt_whatif_plan **plan,
                                size_t *unmatched, struct cpt_error *error);

/*
 * A plan for @terms. Prints what is wrong with a term, with the operation that a span
 * of its name is within, or the frame that is most similar to a name that matches
 * nothing; @texts are the terms as given. enum
 * cpti_exit.
 */
int cpti_whatif_plan(const struct cpti_whatif_set *set,
                     const struct cpt_whatif_term *terms, const char *const *texts,
                     size_t count, bool replays_queues, struct cpt_whatif_plan **plan);

#endif
