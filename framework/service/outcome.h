/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* outcome.h - the outcome of a request that ended without a reply; see cpt_rpc.h. */
#ifndef CPT_OUTCOME_H
#define CPT_OUTCOME_H

#include "framework/cpt_rpc.h"

enum { CPTI_ANSWERED_BYTES = 256 };

/* An answer, for people: by its status of HTTP, or in the words of gRPC. */
struct cpti_answered {
    unsigned http_status;
    const char *name;         /* of its outcome: "NOT_FOUND"; NULL: HTTP says it */
    struct cpt_bytes message; /* of an error, beside its name; may be empty */
};

/* "502", or "NOT_FOUND: there is no such user": as much as there is room for. */
void cpti_answered_text(const struct cpti_answered *answered,
                        char text[CPTI_ANSWERED_BYTES]);

/* The answer of @outcome: with its name if that @is_named, else by @http_status. */
struct cpti_answered cpti_answered_of(int is_named, unsigned outcome,
                                      unsigned http_status, struct cpt_bytes message);

/* The outcome of a request or a call that ended with @status. */
unsigned cpti_outcome_of(cpt_status status);

#endif
