/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * trace_context.h - the trace of W3C Trace Context that a request belongs to
 *
 * What came in is passed on to callees: traceparent untouched, tracestate with it. What
 * is malformed is dropped and counted; a request without a traceparent gets one, so
 * that its callees agree on its id. It costs three numbers; its text is made for each
 * call that goes out.
 *
 * The id that is made fits the decision of the coin: read as the randomness of level 2
 * (see cpt_consistent_parse()), it is what would have led to that decision. So callees
 * that sample consistently keep a part of what we keep, or all.
 */
#ifndef CPT_TRACE_CONTEXT_H
#define CPT_TRACE_CONTEXT_H

#include "cpt/cpt_arena.h"
#include "framework/run/request.h"
#include "framework/service/counters.h"
#include "framework/service/sampling.h"

/* Reads the traceparent of @inbound; @trace is all 0. Counts what is malformed. */
void cpti_trace_read(struct cpti_trace_context *trace,
                     const struct cpt_inbound *inbound, struct cpti_counters *counters);

/* Takes the tracestate that stands in @headers to memory of @arena; nothing, if there
 * is no traceparent, no memory, or it is malformed, which is counted. */
void cpti_trace_read_state(struct cpti_trace_context *trace,
                           const struct cpt_field *headers, size_t header_count,
                           struct cpt_arena *arena, struct cpti_counters *counters);

/* Makes ids for request @number, which came without, after @decision. @arena is for the
 * tracestate. */
void cpti_trace_make(struct cpti_trace_context *trace, uint64_t seed, uint64_t number,
                     const struct cpti_decision *decision, struct cpt_arena *arena);

/*
 * The traceparent of a call of the request, in @text; empty: there is none. @span_id:
 * the span of the call, if there are spans of ours; NULL: its caller's parent id stays.
 */
struct cpt_bytes cpti_trace_write(const struct cpti_trace_context *trace,
                                  const unsigned char *span_id,
                                  char text[CPT_TRACEPARENT_BYTES + 1]);

#endif
