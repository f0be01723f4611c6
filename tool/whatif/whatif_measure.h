/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_measure.h - of a request, the times that two windows have in common
 *
 *      front: /      |===|.......|==|....|=|   own: no call of it is out
 *      cart: get         |-=====-|             wire: the call less what the callee took
 *      stock: find                  |....|     call: nothing is known of the inside
 *
 * Who waited for whom is not looked at: all of it is of the spans. The *kind* of a
 * request is its entry, the calls of that, and theirs.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_WHATIF_MEASURE_H
#define CPTI_CLI_WHATIF_MEASURE_H

#include "tool/requests/kept_graphs.h"

struct measured_line;
struct measured_visit;
struct measured_call;

/* A time; those with the same key are of the same thing: the own time of an operation
 * of a service, the wire between two, a call of one by the other. */
struct cpti_measured_time {
    uint64_t key;
    uint64_t ns;
    uint32_t line; /* of the recorded dag: of the task or the call */
    bool is_own;
};

/* Zero, but for the first fields, at first. */
struct cpti_whatif_measure {
    const char *service;        /* whose times they are, its own and those of its calls,
                                   be it caller or callee; "*": all */
    struct cpt_names *services; /* all that were met are added; or NULL */
    bool has_service;           /* it was met */
    /* Of the last request: */
    uint64_t kind;
    struct cpt_bytes entry; /* "front: /" */
    struct cpti_measured_time *times;
    size_t time_count;
    size_t line_count; /* of the recorded dag */
    /* Scratch: */
    size_t time_capacity, visit_capacity, call_capacity, line_capacity, node_capacity;
    size_t start_capacity, call_count;
    struct measured_line *lines;
    struct measured_visit *visits;
    struct measured_call *calls;
    uint64_t *duration_ns;
    uint64_t *start_ns;
};

/* Measures @graph, whose times are good until the next one. CPT_OK; CPT_LIMIT;
 * CPT_NO_MEMORY. */
cpt_status cpti_whatif_measure(struct cpti_whatif_measure *measure,
                               const struct cpti_kept_graph *graph);
void cpti_whatif_measure_deinit(struct cpti_whatif_measure *measure);

/* The calls of the entry of the last request, @graph: "cart: get, stock: find ×3", the
 * names from A to Z, as many as fit; @capacity is at
 * least 16. It is the last thing that is asked of this request. */
void cpti_whatif_measure_calls(struct cpti_whatif_measure *measure,
                               const struct cpti_kept_graph *graph, char *text,
                               size_t capacity);

#endif
