/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * assembly.h - spans that wait for the others of their trace
 *
 * Threads: one at a time.
 */
#ifndef CPTI_ASSEMBLY_H
#define CPTI_ASSEMBLY_H

#include "import/spans/spans.h"

#include <stdbool.h>

struct cpti_assembly;

/* NULL without memory. The caller owns it. */
struct cpti_assembly *cpti_assembly_new(const struct cpt_alloc *alloc);
void cpti_assembly_free(struct cpti_assembly *assembly);

/* A trace may have @spans_max spans (CPTI_SPANS_MAX at most), and @bytes_max bytes; 0:
 * as many as may be. */
void cpti_assembly_limit(struct cpti_assembly *assembly, size_t spans_max,
                         size_t bytes_max);

/* What is added from now on came at @now_ns, of a clock that never goes back. */
void cpti_assembly_set_now(struct cpti_assembly *assembly, uint64_t now_ns);

/* Copies @span of @trace. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT: the trace has too many. */
cpt_status cpti_assembly_add(struct cpti_assembly *assembly, struct cpt_bytes trace,
                             const struct cpti_span *span);

/* The bytes that all that waits needs; how many traces and spans that is. */
size_t cpti_assembly_bytes(const struct cpti_assembly *assembly);
size_t cpti_assembly_count(const struct cpti_assembly *assembly);
size_t cpti_assembly_span_count(const struct cpti_assembly *assembly);

/*
 * Puts the trace that has waited longest into @spans, and its id into *@trace; borrowed
 * until the next call of this function.
 *
 * CPT_OK; CPT_END: none waits; CPT_NO_MEMORY.
 */
cpt_status cpti_assembly_take(struct cpti_assembly *assembly, struct cpti_spans *spans,
                              struct cpt_bytes *trace);

/*
 * The same with a trace that has most likely come to its end: none of its spans came
 * for @quiet_ns, or twice as long if its root has not come, which may still run; or the
 * first one came @age_ns ago.
 */
cpt_status cpti_assembly_take_ended(struct cpti_assembly *assembly, uint64_t quiet_ns,
                                    uint64_t age_ns, struct cpti_spans *spans,
                                    struct cpt_bytes *trace);

/* When the first span came of the trace that was taken last, and is borrowed. */
uint64_t cpti_assembly_taken_ns(const struct cpti_assembly *assembly);

/* Removes the traces that @is_unwanted says, which is given the id of each, how many
 * spans it has, and bytes. */
void cpti_assembly_remove(struct cpti_assembly *assembly,
                          bool (*is_unwanted)(void *context, struct cpt_bytes trace,
                                              size_t span_count, size_t bytes),
                          void *context);

/* Frees what @trace has, which waits, and refuses what comes of it later: CPT_LIMIT. It
 * is never taken. true: it was not refused before. */
bool cpti_assembly_refuse(struct cpti_assembly *assembly, struct cpt_bytes trace);

/* Removes @trace; how many spans it had. */
size_t cpti_assembly_remove_one(struct cpti_assembly *assembly, struct cpt_bytes trace);

#endif
