/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* failure.h - why a request failed: for its record, the counters and the operator; see
 * failure.c. */
#ifndef CPT_FAILURE_H
#define CPT_FAILURE_H

#include "framework/service/outcome.h"
#include "framework/service/service.h"
#include "wire/cpt_log.h"

enum { CPTI_FAILURE_SENTENCE_BYTES = 512, CPTI_FAILURE_ATTRIBUTES = 2 };

/* Why a request failed. */
struct cpti_failure {
    enum cpti_failure_reason reason;
    char sentence[CPTI_FAILURE_SENTENCE_BYTES];
};

/* Whether @request, which has ended and is answered with @http_status, has failed. */
static inline bool cpti_failure_is(const struct cpt_request *request,
                                   unsigned http_status)
{
    return (request->status != CPT_OK && request->refusal == 0) || http_status >= 500;
}

/* Fills in why it has failed. @is_starved: all requests together have no memory. */
void cpti_failure_of(struct cpt_request *request, const struct cpti_answered *answered,
                     bool is_starved, struct cpti_failure *failure);

/* The same of a request whose code told its path; with what it says about it; of one
 * task after the answer. */
void cpti_failure_of_answer(const struct cpti_answered *answered,
                            struct cpti_failure *failure);
void cpti_failure_of_code(unsigned reason, const char *sentence,
                          struct cpti_failure *failure); /* enum cpt_failure */
void cpti_failure_of_task(const struct cpt_request *request, uint32_t number,
                          cpt_status status, struct cpti_failure *failure);

/* Counts it. */
void cpti_failure_count(struct cpt_service *service,
                        const struct cpti_failure *failure);

/* Tells the operator of it. Lock not held. */
void cpti_failure_tell(struct cpt_service *service, const struct cpti_failure *failure,
                       struct cpt_bytes method, const struct cpti_answered *answered);

/*
 * Adds it to the @count attributes @attributes of a record, all in memory of @arena,
 * which have room for CPTI_FAILURE_ATTRIBUTES more, or are NULL. A key that the
 * application has set, or that the service drops, is left out. Returns the attributes.
 */
struct cpt_attribute *cpti_failure_note(const struct cpti_failure *failure,
                                        const struct cpt_service *service,
                                        struct cpt_arena *arena,
                                        struct cpt_attribute *attributes,
                                        size_t *count);

/* A request is refused before it begins. */
void cpti_refusal_tell(struct cpt_service *service, const struct cpt_inbound *inbound,
                       bool is_busy);

/* The service is drained: tells what the rate has left out. */
void cpti_failure_tell_rest(struct cpt_service *service);

#endif
