/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* handle.h - a request as its starter may still touch it; see handle.c */
#ifndef CPT_HANDLE_H
#define CPT_HANDLE_H

#include "framework/run/request.h"

/* A handle for @request, which has none and is not launched yet; NULL without
 * memory. */
struct cpt_request_handle *cpti_handle_new(struct cpt_request *request,
                                           const struct cpt_alloc *alloc);

/* The request is about to be freed. */
void cpti_handle_detach(struct cpt_request *request);

/* Ends @request as CPT_CANCELLED; false: it had ended before. For a caller without a
 * reference that knows that the memory of the request stays. Lock not held. */
bool cpti_request_cancel(struct cpt_request *request);

#endif
