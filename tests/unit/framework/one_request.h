/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* one_request.h - runs a request in virtual time and returns its outcome */
#ifndef ONE_REQUEST_H
#define ONE_REQUEST_H

#include "framework/cpt_graph.h"
#include "framework/cpt_runtime.h"

#define MS 1000000U

struct outcome {
    int done_count;
    int gone_count;
    cpt_status status;
    int output; /* -1: none */
    uint64_t latency_ns;
    char sentence[CPT_ERROR_SENTENCE_BYTES];
    unsigned path_flags; /* CPT_PATH_… */
    char path[4096];     /* "S: /;S: a 3, S: /;S: b[coalesced=2] 4", in ms */
};

/* Notes the outcome; for `done` with a struct outcome. Its output is an int. */
void note_outcome(struct cpt_request *request, void *context);
void note_gone(void *context);

/* Starts a request of @plan, whose input is an int, in the order of struct
 * cpt_request_options; @executor is one of virtual time whose clock it takes. */
struct virtual_time;
cpt_status start_one(struct virtual_time *now, const struct cpt_plan *plan,
                     const int *input, int is_traced, struct outcome *outcome);

/* Compiles @graph, runs it once from time 0 and frees the plan. */
struct outcome run_one(struct virtual_time *now, const struct cpt_graph *graph,
                       int is_traced);

/* The same with memory of @alloc, at most @memory_bytes_max (0: the default). */
struct outcome run_one_within(struct virtual_time *now, const struct cpt_graph *graph,
                              int is_traced, const struct cpt_alloc *alloc,
                              size_t memory_bytes_max);

#endif
