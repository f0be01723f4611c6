/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* serving.h - one request that a service serves, from its arrival to its record. */
#ifndef CPT_SERVING_H
#define CPT_SERVING_H

#include "framework/service/answer.h"
#include "framework/service/log/log_queue.h"
#include "framework/service/method.h"
#include "framework/service/spans.h"
#include "framework/service/trace_context.h"

/* What a service knows of a request that it serves. In the request's arena. */
struct cpti_serving {
    struct cpti_log_item item; /* its record */
    struct cpti_running running;
    struct cpt_service *service;
    struct cpt_request *request;
    const struct cpti_method *method;
    struct cpti_decision decision;
    struct cpti_account account; /* of its memory … */
    struct cpti_account notes; /* … and of what is recorded of it, if it is traced */
    struct cpti_trace_origin trace;
    struct cpt_rpc_request input;
    struct cpt_bytes service_name; /* copies: the record may outlive the service */
    struct cpt_bytes method_name;  /* bounded, as it comes from outside */
    struct cpt_path *path;         /* of a traced request that ended */
    size_t attribute_count;        /* that the application has noted */
    char status[CPTI_ANSWER_STATUS_BYTES]; /* for the record */
    struct cpti_span_item *spans;          /* NULL: none are written */
    uint64_t timeout_ns;                   /* it may take so long; 0: no limit */
    uint64_t begin_ns; /* if its latency is measured, and it is not traced */
    cpt_reply_fn reply;
    void *context;
    /* That of struct cpt_inbound, if the request is traced, or NULL. */
    size_t (*path_room)(void *context, const struct cpt_outbound *outbound);
    struct cpti_cleanup stream_end; /* releases inherited.stream */
    bool is_in_experiment;
    bool has_outcomes; /* its client knows them: struct cpt_inbound */
};

/* Copies what the record needs of the service, which may be freed before, to @arena.
 * False: there is no memory. */
bool cpti_serving_copy_names(struct cpti_serving *serving, struct cpt_arena *arena);

#endif
