/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * outcome.c - the table of outcomes: what they are in HTTP, in gRPC, and of a status
 *
 * Everything that is not an outcome becomes one here, and nowhere else; see cpt_rpc.h.
 */
#include "framework/service/outcome.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { OUTCOME_COUNT = CPT_OUTCOME_UNAUTHENTICATED + 1, STATUS_COUNT = 16 };

static const struct {
    const char *name;
    unsigned http_status;
} rows[OUTCOME_COUNT] = {
    [CPT_OUTCOME_NONE] = {"UNKNOWN", 200},
    [CPT_OUTCOME_OK] = {"OK", 200},
    [CPT_OUTCOME_CANCELLED] = {"CANCELLED", 499}, /* not of the standard, but usual */
    [CPT_OUTCOME_UNKNOWN] = {"UNKNOWN", 500},
    [CPT_OUTCOME_INVALID_ARGUMENT] = {"INVALID_ARGUMENT", 400},
    [CPT_OUTCOME_DEADLINE_EXCEEDED] = {"DEADLINE_EXCEEDED", 504},
    [CPT_OUTCOME_NOT_FOUND] = {"NOT_FOUND", 404},
    [CPT_OUTCOME_ALREADY_EXISTS] = {"ALREADY_EXISTS", 409},
    [CPT_OUTCOME_PERMISSION_DENIED] = {"PERMISSION_DENIED", 403},
    [CPT_OUTCOME_RESOURCE_EXHAUSTED] = {"RESOURCE_EXHAUSTED", 503},
    [CPT_OUTCOME_FAILED_PRECONDITION] = {"FAILED_PRECONDITION", 412},
    [CPT_OUTCOME_ABORTED] = {"ABORTED", 409},
    [CPT_OUTCOME_OUT_OF_RANGE] = {"OUT_OF_RANGE", 400},
    [CPT_OUTCOME_UNIMPLEMENTED] = {"UNIMPLEMENTED", 501},
    [CPT_OUTCOME_INTERNAL] = {"INTERNAL", 500},
    [CPT_OUTCOME_UNAVAILABLE] = {"UNAVAILABLE", 502}, /* it cannot reach another one */
    [CPT_OUTCOME_DATA_LOSS] = {"DATA_LOSS", 500},
    [CPT_OUTCOME_UNAUTHENTICATED] = {"UNAUTHENTICATED", 401},
};

/* What was set; 0: nothing. Relaxed: they are set before services serve. */
static atomic_uint own_http_status[OUTCOME_COUNT];
static atomic_uint own_of_status[STATUS_COUNT];

/* --- HTTP --- */

unsigned cpt_outcome_http_status(unsigned outcome)
{
    unsigned own = 0;

    if (outcome >= OUTCOME_COUNT) {
        return cpt_outcome_http_status(CPT_OUTCOME_UNKNOWN);
    }
    own = atomic_load_explicit(&own_http_status[outcome], memory_order_relaxed);
    return own != 0 ? own : rows[outcome].http_status;
}

/* The first outcome whose status is @http_status, of those that were set, or by
 * default; NONE: there is none. */
static unsigned find_status(unsigned http_status, bool is_set)
{
    for (unsigned outcome = CPT_OUTCOME_OK; outcome < OUTCOME_COUNT; outcome++) {
        const unsigned own =
            atomic_load_explicit(&own_http_status[outcome], memory_order_relaxed);

        if ((is_set ? own : rows[outcome].http_status) == http_status) {
            return outcome;
        }
    }
    return CPT_OUTCOME_NONE;
}

unsigned cpt_outcome_of_http_status(unsigned http_status)
{
    unsigned outcome =
        http_status != 0 ? find_status(http_status, true) : CPT_OUTCOME_OK;

    if (outcome == CPT_OUTCOME_NONE) {
        outcome = find_status(http_status, false);
    }
    if (outcome != CPT_OUTCOME_NONE) {
        return outcome;
    }
    return http_status < 400    ? CPT_OUTCOME_OK
           : http_status == 429 ? CPT_OUTCOME_RESOURCE_EXHAUSTED
           : http_status < 500  ? CPT_OUTCOME_INVALID_ARGUMENT
                                : CPT_OUTCOME_UNKNOWN;
}

cpt_status cpt_outcome_set_http_status(unsigned outcome, unsigned http_status)
{
    if (outcome == CPT_OUTCOME_NONE || outcome >= OUTCOME_COUNT ||
        (http_status != 0 && (http_status < 200 || http_status > 599))) {
        return CPT_INVALID;
    }
    atomic_store_explicit(&own_http_status[outcome], http_status, memory_order_relaxed);
    return CPT_OK;
}

/* --- gRPC --- */

unsigned cpt_outcome_grpc_code(unsigned outcome)
{
    if (outcome >= OUTCOME_COUNT) {
        return CPT_OUTCOME_UNKNOWN - 1;
    }
    return outcome == CPT_OUTCOME_NONE ? 0 : outcome - 1;
}

unsigned cpt_outcome_of_grpc_code(unsigned code)
{
    return code < OUTCOME_COUNT - 1 ? code + 1 : CPT_OUTCOME_UNKNOWN;
}

const char *cpt_outcome_name(unsigned outcome)
{
    return rows[outcome < OUTCOME_COUNT ? outcome : CPT_OUTCOME_UNKNOWN].name;
}

/* --- Statuses of requests and calls --- */

static unsigned default_of(cpt_status status)
{
    return status == CPT_OK            ? CPT_OUTCOME_OK
           : status == CPT_TIMEOUT     ? CPT_OUTCOME_DEADLINE_EXCEEDED
           : status == CPT_UNAVAILABLE ? CPT_OUTCOME_UNAVAILABLE
           : status == CPT_LIMIT       ? CPT_OUTCOME_RESOURCE_EXHAUSTED
           : status == CPT_CANCELLED   ? CPT_OUTCOME_CANCELLED
                                       : CPT_OUTCOME_UNKNOWN;
}

unsigned cpt_outcome_of_status(cpt_status status)
{
    unsigned own = 0;

    if (status < 0 && status > -STATUS_COUNT) {
        own = atomic_load_explicit(&own_of_status[-status], memory_order_relaxed);
    }
    return own != 0 ? own : default_of(status);
}

cpt_status cpt_outcome_set_of_status(cpt_status status, unsigned outcome)
{
    if (status >= 0 || status <= -STATUS_COUNT || outcome == CPT_OUTCOME_OK ||
        outcome >= OUTCOME_COUNT) {
        return CPT_INVALID;
    }
    atomic_store_explicit(&own_of_status[-status], outcome, memory_order_relaxed);
    return CPT_OK;
}

unsigned cpti_outcome_of(cpt_status status)
{
    return cpt_outcome_of_status(status);
}

/* --- For people --- */

struct cpti_answered cpti_answered_of(int is_named, unsigned outcome,
                                      unsigned http_status, struct cpt_bytes message)
{
    struct cpti_answered answered = {.http_status = http_status};

    if (is_named) {
        answered.name = cpt_outcome_name(outcome);
        answered.message =
            outcome > CPT_OUTCOME_OK ? message : (struct cpt_bytes){NULL, 0};
    }
    return answered;
}

void cpti_answered_text(const struct cpti_answered *answered,
                        char text[CPTI_ANSWERED_BYTES])
{
    struct cpt_bytes message = answered->message;

    if (answered->name == NULL) {
        (void)snprintf(text, CPTI_ANSWERED_BYTES, "%u", answered->http_status);
        return;
    }
    while (message.bytes > 0 && (unsigned char)message.data[message.bytes - 1] <= ' ') {
        message.bytes--;
    }
    if (message.bytes > CPTI_ANSWERED_BYTES) {
        message.bytes = CPTI_ANSWERED_BYTES;
    }
    (void)snprintf(text, CPTI_ANSWERED_BYTES, "%s%s%.*s", answered->name,
                   message.bytes > 0 ? ": " : "", (int)message.bytes,
                   message.bytes > 0 ? message.data : "");
}
