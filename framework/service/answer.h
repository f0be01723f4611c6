/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* answer.h - what a service says when a request has ended: to its caller, and in the
 * log. */
#ifndef CPT_ANSWER_H
#define CPT_ANSWER_H

#include "framework/service/outcome.h"
#include "framework/service/service.h"
#include "framework/service/trace_context.h"

enum { CPTI_ANSWER_STATUS_BYTES = 24 };

/* Answers and logs a request that a service serves; as cpt_done_fn. */
void cpti_answer_send(struct cpt_request *request, void *context);

/* Logs what a request did after its answer, and frees it; see struct cpti_nest. */
void cpti_answer_retire(struct cpt_request *request);

/* A path for the caller that asked. */
struct cpti_answer_path {
    const struct cpt_path *path;
    const struct cpti_decision *decision; /* has the ask, and its nonce */
    uint64_t elapsed_ns;
    size_t bytes_max; /* that the other headers of the answer leave */
};

/* @answer as metadata, in @data, which has room for what the options of the service
 * allow, or is NULL; empty if it does not fit. Counts both. */
struct cpt_bytes cpti_answer_metadata(struct cpt_service *service,
                                      const struct cpti_answer_path *answer,
                                      unsigned char *data);

/* Notes in @record why it is written, and which trace the request belongs to. */
void cpti_answer_record_cause(struct cpt_record *record,
                              const struct cpti_decision *decision,
                              const struct cpti_trace_context *trace);

/* When a request arrived that did at @arrival_ns of @clock, by the wall clock: the same
 * whenever it is asked, so that requests of one process can be put together in time. */
uint64_t cpti_answer_start_unix_ns(const struct cpt_clock *clock, uint64_t arrival_ns);

/* Notes in @record how a request ended. @text holds the status as long as the record is
 * used. */
void cpti_answer_record_end(struct cpt_record *record, uint64_t latency_ns,
                            const struct cpti_answered *answered,
                            char text[CPTI_ANSWER_STATUS_BYTES]);

#endif
