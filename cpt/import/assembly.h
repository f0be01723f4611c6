/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * assembly.h - spans that wait for the others of their trace
 *
 * Threads: one at a time.
 */
#ifndef CPTI_ASSEMBLY_H
#define CPTI_ASSEMBLY_H

#include "cpt/import/spans.h"

struct cpti_assembly;

/* NULL without memory. The caller owns it. */
struct cpti_assembly *cpti_assembly_new(const struct cpt_alloc *alloc);
void cpti_assembly_free(struct cpti_assembly *assembly);

/* Copies @span of @trace. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT: the trace has too many. */
cpt_status cpti_assembly_add(struct cpti_assembly *assembly, struct cpt_bytes trace,
                             const struct cpti_span *span);

/* The bytes that all that waits needs. */
size_t cpti_assembly_bytes(const struct cpti_assembly *assembly);

/*
 * Puts the trace that has waited longest into @spans, and its id into *@trace; borrowed
 * until the next call of this function.
 *
 * CPT_OK; CPT_END: none waits; CPT_NO_MEMORY.
 */
cpt_status cpti_assembly_take(struct cpti_assembly *assembly, struct cpti_spans *spans,
                              struct cpt_bytes *trace);

#endif
