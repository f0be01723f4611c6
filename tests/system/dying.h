/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dying.h - random calls of a callee that dies at any byte
 *
 *      caller threads --> stubs --> transport --> [ chopper ] --> a real service
 *                                                 lets a random number of bytes pass
 *                                                 each way, then ends the connection
 *
 * Whatever is lost, what the service has carried out it has counted: a call that is not
 * idempotent at most once, and exactly once if it has succeeded.
 */
#ifndef DYING_H
#define DYING_H

#include "framework/cpt_rpc.h"

#include <stdbool.h>

enum { DYING_CALLERS = 4 };

/* How calls are carried. */
struct dying_wire {
    const char *name;
    const char *scheme; /* before "127.0.0.1:port" */
    bool has_verbs;     /* else all calls are of one method, and not idempotent */
    struct cpt_transport *transport;
    uint16_t port;    /* where the callee serves */
    bool sends_again; /* calls that are idempotent, once their connection has broken */
};

/* The service that counts; @wire->port is where it is served. Free it at the end. */
struct cpt_service *dying_service_new(size_t call_count, struct cpt_executor *executor);
void dying_service_free(struct cpt_service *service);

/* Makes all calls, in requests on @executor; what the callee still does goes on. */
void dying_calls_make(const struct dying_wire *wire, struct cpt_executor *executor,
                      uint64_t seed);

/* Once the callee has ended, too: whether all holds, printed. */
bool dying_calls_judge(const struct dying_wire *wire);

#endif
