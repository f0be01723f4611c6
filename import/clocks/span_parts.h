/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_parts.h - hosts and processes taken apart, where one clock fits not all calls
 *
 * A part are visits (span_visits.c) that share a clock: those of a stretch of time, if
 * the clock of a host was set meanwhile; or each visit alone, if several processes say
 * the same of themselves. A part is named by a span: the first of its first visit.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_SPAN_PARTS_H
#define CPTI_SPAN_PARTS_H

#include "import/clocks/clock_offsets.h"

/* What is known of the clocks of a trace so far. */
struct cpti_clock_view {
    const struct cpti_spans *spans;
    size_t host_count;
    const uint32_t *host_of; /* of each span, or CPTI_SPAN_NONE */
    const bool *is_torn;     /* of each host: its calls contradict each other */
    const uint32_t *clock_of;
    const int64_t *offset_ns; /* of each clock */
};

/* Takes apart, by the times of calls, those torn hosts of @view whose clock was set:
 * *@part_of, of each span, which the caller frees; CPTI_SPAN_NONE: its host is not
 * taken apart. NULL: none is. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_span_parts_by_time(const struct cpti_clock_view *view,
                                   uint32_t **part_of);

/* Takes those processes that name no host apart into their visits, in *@part_of, which
 * may have others already: those that are torn, or all. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_span_parts_by_visit(const struct cpti_clock_view *view, bool all,
                                    uint32_t **part_of);

#endif
