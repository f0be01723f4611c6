/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn.h - who waits for whom, learnt from many requests
 *
 * Spans say when, not what a service waited for. One request shows one order of events;
 * many show which orders never happen. All requests are read three times:
 *
 *      counts   of two calls of a service, how often they ran side by side: those that
 *               never do wait for each other
 *      rows     of an event and what it waits for, how late it came: whether the
 *               service computed while it waited
 *      traces   each request, with the waits of each service
 *
 * In order of use: cpti_learn_new; for each trace cpti_learn_stamps, before
 * cpti_spans_resolve, and cpti_learn_spans, behind it; cpti_learn_next, and again
 * cpti_learn_spans for all traces, until it says that all is learnt; cpti_learn_dag.
 *
 * The order of traces changes nothing. Memory is bounded by the limits of
 * learn_inside.h. Threads: one at a time.
 */
#ifndef CPTI_LEARN_H
#define CPTI_LEARN_H

#include "import/spans/spans.h"

/* Classes with fewer nodes are not learnt. */
enum { CPTI_LEARN_NODES_MIN = 20 };

/* Of the traces of cpti_learn_dag(): their events. */
struct cpti_learn_counts {
    uint64_t learnt;
    uint64_t few;    /* too few requests, or too many calls: by the walk's rule */
    uint64_t server; /* of both, starts of calls that no client's span tells */
};

/* A class of which too little is known, and how many events of it that is so for. */
struct cpti_learn_few {
    struct cpt_bytes name; /* of a long one the beginning */
    uint64_t events;
};

enum { CPTI_LEARN_FEW_CLASSES_MAX = 4096 };

struct cpti_learn;

/* Over @alloc (NULL: malloc's); NULL without memory. */
struct cpti_learn *cpti_learn_new(const struct cpt_alloc *alloc);
void cpti_learn_free(struct cpti_learn *learn);

/* Before the first trace: none gets a doubt (cpt_doubt.h), which costs time. */
void cpti_learn_without_doubt(struct cpti_learn *learn);

/* Notes the stamps of @spans, before clocks are put right; the resolution of all of
 * them: at least 1 us. */
void cpti_learn_stamps(struct cpti_learn *learn, const struct cpti_spans *spans);
uint64_t cpti_learn_resolution_ns(const struct cpti_learn *learn);

/* Learns from a trace that was resolved. CPT_OK; CPT_LIMIT: it is too large;
 * CPT_NO_MEMORY. */
cpt_status cpti_learn_spans(struct cpti_learn *learn, struct cpti_spans *spans,
                            struct cpt_bytes trace);

/* All traces have been read. *@is_learnt false: once more, please. CPT_OK;
 * CPT_NO_MEMORY. */
cpt_status cpti_learn_next(struct cpti_learn *learn, bool *is_learnt);

/* As cpti_spans_inferred_dag(), once all is learnt. A class with too few nodes is by
 * that rule. Adds to @counts. */
cpt_status cpti_learn_dag(struct cpti_learn *learn, struct cpti_spans *spans,
                          struct cpt_bytes trace, cpt_dag_visit_fn visit, void *context,
                          struct cpti_spans_cut *cut, struct cpti_learn_counts *counts);

/* Behind cpti_learn_dag(): its trace counts for the list of classes. CPT_OK;
 * CPT_NO_MEMORY. */
cpt_status cpti_learn_count_few(struct cpti_learn *learn);

/* The classes with most events that are not learnt, at most @max, most events first,
 * then by name, until the next trace; how many. *@is_all false: there were more than
 * CPTI_LEARN_FEW_CLASSES_MAX, of which some are counted. */
size_t cpti_learn_few_list(const struct cpti_learn *learn,
                           struct cpti_learn_few *classes, size_t max, bool *is_all);

#endif
