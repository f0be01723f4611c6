/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * trace_context.h - the trace of W3C Trace Context that a request belongs to
 *
 * What came in is passed on to callees: traceparent untouched, tracestate with it. What
 * is malformed is dropped and counted; a request without a traceparent gets one, so
 * that its callees agree on its id.
 *
 * Most requests are not traced, and most of these call nothing, so that nothing asks
 * for their trace. It costs them next to nothing:
 *
 *      traceparent    is checked and read when the request comes
 *      tracestate     stays a header until a call goes out: only then it is checked
 *      without them   nothing is made. The ids are a function of the service's seed,
 *                     the number of the request and what was decided of it
 *
 * So who asks computes the ids, and nothing is kept: all who ask, in whatever order and
 * on whatever thread, get the same ones, and there is nothing to guard.
 *
 * The id that is made fits the decision of the coin: read as the randomness of level 2
 * (see cpt_consistent_parse()), it is what would have led to that decision. So callees
 * that sample consistently keep a part of what we keep, or all.
 */
#ifndef CPT_TRACE_CONTEXT_H
#define CPT_TRACE_CONTEXT_H

#include "cpt/cpt_arena.h"
#include "framework/service/counters.h"
#include "framework/service/propagation.h"
#include "framework/service/sampling.h"

#include <stdatomic.h>
#include <stdbool.h>

struct cpti_serving;

/* The ids of a trace. */
struct cpti_trace_context {
    struct cpt_traceparent parent;
    bool is_there;
    bool is_made; /* by us: it came with none */
};

/* Where a request and its components have their trace from. Not changed once one of
 * them runs, but for state_verdict. */
struct cpti_trace_origin {
    struct cpti_trace_context context; /* that came, or of a traced request */
    struct cpt_bytes state;            /* tracestate, if no header is to be read */
    const struct cpti_propagated *propagated; /* B3 and baggage, or NULL */
    struct cpti_serving
        *serving;               /* what is not here is made from it; NULL: no more is */
    atomic_uchar state_verdict; /* of its headers. Relaxed: all who read them find the
                                   same */
};

/* Reads the traceparent of @inbound. Counts what is malformed. */
void cpti_trace_read(struct cpti_trace_context *trace,
                     const struct cpt_inbound *inbound, struct cpti_counters *counters);

/* The request of @serving, which is not launched yet, has the trace that @came, or one
 * that is made if @is_enabled. */
void cpti_trace_open(struct cpti_serving *serving,
                     const struct cpti_trace_context *came, bool is_enabled);

/* The request of @serving is traced, and other ones can name its trace from now on. */
void cpti_trace_enter(struct cpti_serving *serving);

/* Makes @kept a copy of @origin, which may be NULL, good as long as @text. */
void cpti_trace_keep(struct cpti_trace_origin *kept, struct cpti_trace_origin *origin,
                     char text[CPT_TRACESTATE_BYTES_MAX + 1]);

/* The trace of @origin, which may be NULL. Threads: any. */
struct cpti_trace_context cpti_trace_of(const struct cpti_trace_origin *origin);

/* The tracestate that goes with it, in memory of the request or in @text. One that is
 * malformed is counted once, and none. Threads: any. */
struct cpt_bytes cpti_trace_state(struct cpti_trace_origin *origin,
                                  char text[CPT_TRACESTATE_BYTES_MAX + 1]);

/*
 * The traceparent of a call of the request, in @text; empty: there is none. @span_id:
 * the span of the call, if there are spans of ours; NULL: its caller's parent id stays.
 */
struct cpt_bytes cpti_trace_write(const struct cpti_trace_context *trace,
                                  const unsigned char *span_id,
                                  char text[CPT_TRACEPARENT_BYTES + 1]);

/* --- For requests told by hand, which are traced --- */

/* The tracestate that stands in @headers, in memory of @arena; empty, if there is none,
 * no memory, or it is malformed, which is counted. */
struct cpt_bytes cpti_trace_read_state(const struct cpt_field *headers,
                                       size_t header_count, struct cpt_arena *arena,
                                       struct cpti_counters *counters);

/* Makes ids for request @number, which came without, after @decision. */
void cpti_trace_make(struct cpti_trace_context *trace, uint64_t seed, uint64_t number,
                     const struct cpti_decision *decision);

/* The tracestate of ids that were made after @decision, in memory of @arena. */
struct cpt_bytes cpti_trace_make_state(const struct cpti_decision *decision,
                                       struct cpt_arena *arena);

#endif
