/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * kept_traces.h - the spans of traces, to be read again
 *
 * What is learnt from many requests needs all of them several times, and a pipe gives
 * them once. They lie in a private file, of which nothing is left (private_file.h), so
 * that memory holds one trace.
 */
#ifndef CPTI_KEPT_TRACES_H
#define CPTI_KEPT_TRACES_H

#include "import/spans/spans.h"

struct cpti_kept_traces;

/* NULL without memory. */
struct cpti_kept_traces *cpti_kept_traces_new(void);
void cpti_kept_traces_free(struct cpti_kept_traces *traces);

/* Copies @spans, before they are resolved, and the id of their trace; what was copied
 * last is kept, behind the others. CPT_OK; CPT_NO_MEMORY; CPT_IO. */
cpt_status cpti_kept_traces_copy(struct cpti_kept_traces *traces,
                                 const struct cpti_spans *spans,
                                 struct cpt_bytes trace);
cpt_status cpti_kept_traces_keep(struct cpti_kept_traces *traces);

/* After CPT_IO: the errno of what failed. */
int cpti_kept_traces_fault(const struct cpti_kept_traces *traces);

/* Goes back to the first trace; the next one, as cpti_traces_next() has it. CPT_OK;
 * CPT_END; CPT_NO_MEMORY; CPT_IO. */
cpt_status cpti_kept_traces_rewind(struct cpti_kept_traces *traces);
cpt_status cpti_kept_traces_next(struct cpti_kept_traces *traces,
                                 struct cpti_spans *spans, struct cpt_bytes *trace);

#endif
