/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_drag.h - by how much a response would come earlier without a segment of its path
 *
 * The drag of a segment is the latency minus what the latency would be if the segment
 * took no time and all else lasted as long as it did. It is never larger than the
 * segment; it is smaller where something else would then delay the response:
 *
 *      path    [ A1 3 ][         B1 14         ][ A1 10 ]         drag of B1: 9, as
 *      A1              [   5   ]........ waits                    A1's 5 remain
 *
 * Who walks a trace (cpt_trace.h) and wants drags makes them from all records of the
 * request first, and puts them into the trace:
 *
 *      cpt_drags_new(alloc, &records, 0, &drags, &error);
 *      trace.drags = drags;
 *      cpt_critical_path(alloc, &trace, path, &error);    cpt_path_drag(path, i)
 *      cpt_drags_free(drags);
 *
 * A callee's segments keep the drags that it sent with its path, each at most the drag
 * of its call: that minimum is exact (docs/model.md). Components count as callees.
 *
 * Exact, where all inputs of all joins were recorded. More precisely:
 *
 *   unknown     if records were lost or contradict each other, or none tells of the
 *               segment
 *   at least    if the segment comes before a join that did not wait for all its
 *               inputs (a spare input of cpt_dag_draft.h might have come earlier)
 *   at most     for what a task did before it asked for something that had come
 *               by then, if no record says so; and for the part ‹off CPU› of a
 *               step, and the rest of that step, if it was cut where something
 *               left or arrived: the clock does not say when it was off the CPU
 *
 * Threads: drags are not changed once made; a walk that uses them writes its scratch
 * into the tasks as ever.
 */
#ifndef CPT_DRAG_H
#define CPT_DRAG_H

#include "cpt/cpt_dag_draft.h"

CPT_BEGIN_DECLS

struct cpt_drags;

/*
 * The drags of run @run of @records: of its tasks and calls, and of the arrivals at
 * these. Its callees and components are calls here, whether or not the records have
 * runs of them. The records are the caller's, unchanged until the drags are freed. Uses
 * the scratch of the tasks and calls, so no walk may be going on; and until the drags
 * are freed, no other drags or draft may be made of the same ones.
 *
 * If nothing can be said (see above), there are drags all the same, all unknown.
 *
 * CPT_OK; CPT_CORRUPT if the records form a circle; CPT_INVALID if there is no such
 * run; CPT_LIMIT, also if stamps are so far out of order, or thousands of one tick of
 * the clock, that it would take too long;
 * CPT_NO_MEMORY. *drags is set only on success. Cost: O((records) log (records)); the
 * walk then takes O(records log segments) more.
 */
CPT_API cpt_status cpt_drags_new(const struct cpt_alloc *alloc,
                                 const struct cpt_dag_records *records, size_t run,
                                 struct cpt_drags **drags, struct cpt_error *error);
CPT_API void cpt_drags_free(struct cpt_drags *drags);

CPT_END_DECLS

#endif
