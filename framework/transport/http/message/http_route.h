/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_route.h - verbs and headers, from a request to its service and back. */
#ifndef CPT_HTTP_ROUTE_H
#define CPT_HTTP_ROUTE_H

#include "framework/cpt_rpc.h"
#include "framework/transport/cpt_http.h"

#include <stdbool.h>

struct cpti_http_text;

/* Sets the headers of @inbound to those of @head, borrowed from it and in @fields. */
void cpti_http_route_read(struct cpt_bytes head,
                          struct cpt_field fields[CPT_HEADERS_MAX],
                          struct cpt_inbound *inbound);

/* Whether a proxy, not the client itself, has sent the request, by its headers. */
bool cpti_http_is_forwarded(const struct cpt_inbound *inbound);

/* Writes those of the @count headers of a service that may be sent; those that may not
 * are counted, unless @http is NULL. Any thread. */
void cpti_http_route_write(struct cpt_http *http, const struct cpt_field *headers,
                           size_t count, struct cpti_http_text *text);

/* The same for headers of a call. */
void cpti_http_route_ask(struct cpt_http *http, const struct cpt_field *headers,
                         size_t count, struct cpti_http_text *text);

/* The verb of @call: that of its stub, else POST with a body and GET without one. */
struct cpt_bytes cpti_http_route_verb(const struct cpt_transport_call *call);

/* Whether a callee may carry out requests with @verb twice: RFC 9110, 9.2.2. */
bool cpti_http_route_is_idempotent(struct cpt_bytes verb);

/* Whether a call may have @verb, which may be empty. */
bool cpti_http_route_is_verb(struct cpt_bytes verb);

/* Whether a call with @verb says its length also if it has no body. */
bool cpti_http_route_has_length(struct cpt_bytes verb);

/* Sets at most @capacity @fields to the first of each of @names in @head. @names ends
 * with NULL, and may be NULL. Returns how many. */
size_t cpti_http_route_replied(struct cpt_bytes head, const char *const *names,
                               struct cpt_field *fields, size_t capacity);

#endif
