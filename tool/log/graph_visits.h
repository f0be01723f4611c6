/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph_visits.h - all visits of services that a kept request made, as one sequence
 *
 *      A: A1  |==|            |==|     A: / 0, A: A1 4, B: /b 5 + 2 of the network,
 *      B: /b     |-==========-|        C: /c 3 + 2: each frame with its own time,
 *      C: /c     |-======-|            whether the request waited for it or not
 *
 * The sequence is a path as cpti_spans_all() makes of spans: frames as on a critical
 * path, the sum that of all work and no latency. Own time of a task is that of its
 * steps, of its queues and locks, and of waits that are no calls; that of a call the
 * time that its callee does not have. A nanosecond of the caller stands behind each
 * call, and one before, so that two calls of one operation stay two. Labels tell when a
 * call began and ended (CPT_LABEL_BEGIN), and what failed (CPT_LABEL_STATUS).
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_GRAPH_VISITS_H
#define CPTI_CLI_GRAPH_VISITS_H

#include "cpt/cpt_dag_draft.h"

#include <stdbool.h>

struct cpt_path;

/*
 * Appends to @path, which is empty, all visits of the request of @records, which failed
 * if @is_failed. Uses the scratch of the tasks and calls, as cpt_dag_draft_trace()
 * does, by which @records are known to make sense.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT: it is too large for a path.
 */
cpt_status cpti_graph_visits(const struct cpt_dag_records *records, bool is_failed,
                             struct cpt_path *path);

#endif
