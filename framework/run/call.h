/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* call.h - what a request's walk asks of the calls it made (see struct cpt_trace). */
#ifndef CPT_CALL_H
#define CPT_CALL_H

#include "framework/run/request.h"

/* Decodes what the callee of @call returned; @context is the request. */
cpt_status cpti_call_open(void *context, struct cpt_trace_call *call,
                          struct cpt_path *callee);

/* Makes the path of the callee of @call from what it replied. Not CPT_OK: the reason is
 * noted in @call. */
cpt_status cpti_reply_open(const struct cpt_alloc *alloc, struct cpt_trace_call *call,
                           struct cpt_path *callee);

/* Counts a call that its caller's deadline gave up or that was cancelled; not if it is
 * none. Lock held. */
void cpti_call_given_up(const struct cpt_pending *pending);

/* Counts what splicing it found. */
void cpti_call_spliced(void *context, const struct cpt_trace_call *call,
                       uint64_t overcount_ns, uint64_t undercount_ns,
                       int is_inconsistent);

#endif
