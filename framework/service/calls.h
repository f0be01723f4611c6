/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* calls.h - what the rows of calls need beside the public functions; calls.c */
#ifndef CPT_SERVICE_CALLS_H
#define CPT_SERVICE_CALLS_H

#include "framework/cpt_calls.h"

#include <stdbool.h>

/* What a call asks for: the method of its stub, filled in. */
struct cpti_call_line {
    struct cpt_bytes verb; /* empty: the transport's default */
    const char *method;    /* the path and its query */
};

/* Reads the method of @stub, and fills in what @request, which may be NULL, or @task
 * says. CPT_OK; CPT_INVALID or CPT_LIMIT, as by cpt_fail(). */
cpt_status cpti_call_line_make(struct cpt_task *task, const struct cpt_stub *stub,
                               const struct cpt_call_request *request,
                               struct cpti_call_line *line);

/* Whether @method has a parameter called @name. */
bool cpti_call_line_names(const char *method, const char *name);

/* Whether @method begins with a verb whose calls have no body unless they say so. */
bool cpti_call_line_has_no_body(const char *method);

/* One attempt of a call. */
struct cpti_attempt {
    const struct cpt_stub *stub;
    const struct cpti_call_line *line;
    const struct cpt_call_request *request;
    uint64_t timeout_ns;                /* at most; UINT64_MAX: only the stub's */
    const struct cpt_pending *previous; /* the attempt before, or NULL */
};

struct cpt_pending *cpti_call_within(struct cpt_task *task,
                                     const struct cpti_attempt *attempt);

#endif
