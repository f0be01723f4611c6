/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* outcome.c - outcomes as statuses of HTTP, and from them; see cpt_rpc.h. */
#include "framework/service/outcome.h"

/* By outcome. A status of several outcomes is read as the first of them. */
static const unsigned short http_statuses[] = {
    [CPT_OUTCOME_NONE] = 200,
    [CPT_OUTCOME_OK] = 200,
    [CPT_OUTCOME_CANCELLED] = 499, /* not of the standard, but usual: the client left */
    [CPT_OUTCOME_UNKNOWN] = 500,
    [CPT_OUTCOME_INVALID_ARGUMENT] = 400,
    [CPT_OUTCOME_DEADLINE_EXCEEDED] = 504,
    [CPT_OUTCOME_NOT_FOUND] = 404,
    [CPT_OUTCOME_ALREADY_EXISTS] = 409,
    [CPT_OUTCOME_PERMISSION_DENIED] = 403,
    [CPT_OUTCOME_RESOURCE_EXHAUSTED] = 503,
    [CPT_OUTCOME_FAILED_PRECONDITION] = 412,
    [CPT_OUTCOME_ABORTED] = 409,
    [CPT_OUTCOME_OUT_OF_RANGE] = 400,
    [CPT_OUTCOME_UNIMPLEMENTED] = 501,
    [CPT_OUTCOME_INTERNAL] = 500,
    [CPT_OUTCOME_UNAVAILABLE] = 502, /* the service cannot reach one of its own */
    [CPT_OUTCOME_DATA_LOSS] = 500,
    [CPT_OUTCOME_UNAUTHENTICATED] = 401,
};

enum { OUTCOME_COUNT = sizeof http_statuses / sizeof http_statuses[0] };

unsigned cpt_outcome_http_status(unsigned outcome)
{
    return outcome < OUTCOME_COUNT ? http_statuses[outcome] : 500;
}

unsigned cpt_outcome_of_http_status(unsigned http_status)
{
    for (unsigned outcome = CPT_OUTCOME_OK; outcome < OUTCOME_COUNT; outcome++) {
        if (http_statuses[outcome] == http_status) {
            return outcome;
        }
    }
    return http_status < 400    ? CPT_OUTCOME_OK
           : http_status == 429 ? CPT_OUTCOME_RESOURCE_EXHAUSTED
           : http_status < 500  ? CPT_OUTCOME_INVALID_ARGUMENT
                                : CPT_OUTCOME_UNKNOWN;
}

unsigned cpti_outcome_of(cpt_status status)
{
    return status == CPT_OK            ? CPT_OUTCOME_OK
           : status == CPT_TIMEOUT     ? CPT_OUTCOME_DEADLINE_EXCEEDED
           : status == CPT_UNAVAILABLE ? CPT_OUTCOME_UNAVAILABLE
           : status == CPT_LIMIT       ? CPT_OUTCOME_RESOURCE_EXHAUSTED
           : status == CPT_CANCELLED   ? CPT_OUTCOME_CANCELLED
                                       : CPT_OUTCOME_UNKNOWN;
}
