/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * occurrence_drags.h - drags of frames whose pieces are one occurrence
 *
 * The drag of a frame is the largest of its nodes (cpt_dag.h). The visit of a service
 * that spans tell of is cut into several nodes where it waits, and all are one
 * occurrence: its drag is by how much the response would come earlier if none of them
 * took any time.
 *
 * Threads: any.
 */
#ifndef CPTI_TOOL_OCCURRENCE_DRAGS_H
#define CPTI_TOOL_OCCURRENCE_DRAGS_H

#include "cpt/cpt_dag_draft.h"

/* Replaces the drags of @frames, as cpt_dag_frames() filled them, by those of their
 * occurrences. A frame with many of them keeps the least value that it has. CPT_OK or
 * CPT_NO_MEMORY. */
cpt_status cpti_occurrence_drags(const struct cpt_dag *dag,
                                 const struct cpt_dag_recorded *recorded,
                                 struct cpt_dag_frame *frames);

#endif
