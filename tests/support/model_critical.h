/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_critical.h - the critical path of a small trace, computed the obvious way
 *
 * Two judges that share no code with the walk of cpt/critical.c, nor with each other:
 *
 * - model_critical_path() asks for each single nanosecond, going back from the
 * response, who held the request up in it. It has no segments, no clamping, no cursors;
 * it looks through all records each time. It says exactly what the path has to be.
 *
 * - model_is_chain() is given a path and asks, going forward, whether it is one chain
 * of activities, each of which led to the next one with no waiting in between: a path
 *   from source to sink in the graph of all events. As no such chain can be longer than
 *   the latency, one that is as long is a longest path. (For CPT_ATTRIBUTE_LONGEST.)
 */
#ifndef MODEL_CRITICAL_H
#define MODEL_CRITICAL_H

#include "tests/support/random_trace.h"

/* Who owns one nanosecond. */
struct model_owner {
    const char *stack;
    unsigned reason;
};

/* Who owns each nanosecond of a request, and memory for the texts. */
struct model_line {
    struct model_owner owners[RANDOM_NS_MAX];
    size_t count;
    char pool[RANDOM_NS_MAX * MODEL_TEXT_BYTES / 2];
    size_t pool_bytes;
};

/* Fills @line with what the critical path of @made must be. */
void model_critical_path(const struct random_trace *made, struct model_line *line);

/* Fills @line with what @path says. 0: it has another length than @latency_ns. */
int model_line_of(const struct cpt_path *path, uint64_t latency_ns,
                  struct model_line *line);

/* Puts the nanoseconds of a task's own time in which no processor ran it behind the
 * others of the same stretch: in which of them it was is known only within a step. */
void model_line_settle(struct model_line *line);

/* Whether @line is a chain of events of @made. */
int model_is_chain(const struct random_trace *made, const struct model_line *line);

#endif
