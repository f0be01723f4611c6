/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_classes.h - what can be said of requests that entered alike, by their lines
 *
 *      calls     intervals of callers and callees    path and culprit, as from spans
 *      servers   intervals of callees alone          callers look slower than they are
 *      points                                        order alone; parallel work hides
 *
 * A class is the kind of the entry. Its order certainty is the share of the pairs of
 * kinds that occur together whose order is fixed: in all requests but 2 %.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_EVENT_CLASSES_H
#define CPTI_CLI_EVENT_CLASSES_H

#include "import/events/event_traces.h"

enum {
    CPTI_CLASSES_MAX = 64,      /* those behind them are one, without a name */
    CPTI_CLASS_KINDS_MAX = 128, /* whose order is looked at */
    CPTI_CLASS_GAPS_MAX = 64,
    CPTI_CLASS_GAPS_SHOWN = 3
};

/* Time that no line tells of: of points, between a line of one service and the next
 * one, of another service; of intervals, in a call without a line of its callee. */
struct cpti_gap {
    uint32_t from; /* kinds */
    uint32_t to;   /* UINT32_MAX: it is a call */
    double ns;     /* of all requests */
};

struct cpti_event_class {
    uint32_t kind; /* of the entry; UINT32_MAX: the rest */
    uint64_t requests;
    uint64_t methods[CPTI_EVENT_METHODS]; /* how many of them by each */
    double span_ns;  /* of all requests: from the first line to the last one, or of the
                      * entry */
    double gap_ns;   /* of that in gaps */
    double cover_ns; /* of that of entries, between other lines */
    struct cpti_gap gaps[CPTI_CLASS_GAPS_MAX]; /* the largest ones first, at the end */
    size_t gap_count;
    uint32_t kinds[CPTI_CLASS_KINDS_MAX];
    size_t kind_count;
    uint32_t *before; /* of two kinds: requests in which the first one came earlier */
};

struct cpti_event_classes;

/* NULL without memory. The caller owns it. */
struct cpti_event_classes *cpti_event_classes_new(void);
void cpti_event_classes_free(struct cpti_event_classes *classes);

/* CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_event_classes_add(struct cpti_event_classes *classes,
                                  const struct cpti_event_trace *trace);

/* The classes, those with most requests first, with their largest gaps first. */
const struct cpti_event_class *
cpti_event_classes_sort(struct cpti_event_classes *classes, size_t *count);

/* That of most of its requests. */
enum cpti_event_method cpti_event_class_method(const struct cpti_event_class *class);

/* The share of pairs whose order is fixed; false: there is no pair. @pair: the kinds of
 * the one that is furthest from it. */
bool cpti_event_class_order(const struct cpti_event_class *class, double *share,
                            uint32_t pair[2]);

#endif
