/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* deadline.h - how long a request may take; see deadline.c */
#ifndef CPT_DEADLINE_H
#define CPT_DEADLINE_H

#include "framework/run/request.h"

/* Sets the deadline @timeout_ns after @arrival_ns (0: now), before the request is
 * launched. CPT_OK; CPT_NO_MEMORY, or the status of an executor that cannot set a
 * timer; then there is no deadline, with the sentence in @error. */
cpt_status cpti_deadline_begin(struct cpt_request *request, uint64_t timeout_ns,
                               uint64_t arrival_ns, struct cpt_error *error);

/* The request has ended well: cancels the timer. Lock not held. */
void cpti_deadline_end(struct cpt_request *request);

/* The request ends although its tasks continue: notes in the trace what delayed it, and
 * says so in @text, CPT_ERROR_SENTENCE_BYTES or NULL. Lock held. */
void cpti_deadline_blame(struct cpt_request *request, cpt_status status, char *text);

/* How long the request may take in all; 0: it has no deadline. */
uint64_t cpti_deadline_ns(const struct cpt_request *request);

/* What is left of the request's time; UINT64_MAX: there is no deadline. */
uint64_t cpti_request_remaining_ns(const struct cpt_request *request);

/* A whole number of microseconds, in digits, as a caller says it; at most a day.
 * CPT_OK; CPT_CORRUPT. */
cpt_status cpti_microseconds_parse(struct cpt_bytes text, uint64_t *us);

/* "1500", in us, as ns; hostile values are bounded. CPT_OK, CPT_CORRUPT. */
cpt_status cpti_timeout_parse(struct cpt_bytes text, uint64_t *timeout_ns);

#endif
