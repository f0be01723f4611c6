/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* calls.h - what the rows of calls need beside the public functions; calls.c */
#ifndef CPT_SERVICE_CALLS_H
#define CPT_SERVICE_CALLS_H

#include "framework/cpt_rpc.h"

/* cpt_call_attempt() with at most @timeout_ns; UINT64_MAX: only the stub's. */
struct cpt_pending *cpti_call_within(struct cpt_task *task, const struct cpt_stub *stub,
                                     struct cpt_bytes body, unsigned attempt,
                                     uint64_t timeout_ns);

#endif
