/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_critical.h - the critical path of a small trace, computed simply
 *
 * Two models that share no code with the walk of cpt/trace/critical.c, nor with each
 * other:
 *
 * - model_critical_path() goes backwards from the response, and finds for each
 *   nanosecond what delayed the request in it. It has no segments, no clamping, no
 *   cursors; it searches all records each time. Its result is the path that is
 *   expected.
 *
 * - model_is_chain() goes forwards along a given path, and checks that it is one chain
 *   of activities, each of which led to the next one with no waiting in between: a path
 *   from source to sink in the graph of all events. No such chain is longer than the
 *   latency, so one of that length is a longest path. (For CPT_ATTRIBUTE_LONGEST.)
 */
#ifndef MODEL_CRITICAL_H
#define MODEL_CRITICAL_H

#include "tests/support/random_trace.h"

/* The owner of one nanosecond. */
struct model_owner {
    const char *stack;
    unsigned reason;
};

/* The owner of each nanosecond of a request, and memory for the texts. */
struct model_line {
    struct model_owner owners[RANDOM_NS_MAX];
    size_t count;
    char pool[RANDOM_NS_MAX * MODEL_TEXT_BYTES / 2];
    size_t pool_bytes;
};

/* Fills @line with what the critical path of @made must be. */
void model_critical_path(const struct random_trace *made, struct model_line *line);

/* Fills @line from @path. 0: its length is not @latency_ns. */
int model_line_of(const struct cpt_path *path, uint64_t latency_ns,
                  struct model_line *line);

/* Moves the nanoseconds in which no processor ran a task behind the others of the same
 * stretch: within a step their place is unknown. */
void model_line_settle(struct model_line *line);

/* Whether @line is a chain of events of @made. */
int model_is_chain(const struct random_trace *made, const struct model_line *line);

#endif
