/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_route.c - verbs and headers, from a request to its service and back
 *
 * A service may have put anything into the headers of its reply, also what a client
 * sent. So each is checked once more here, by the rule that cpt_rpc_reply_header()
 * applies: a line end would begin another header, or another reply.
 */
#include "framework/transport/http_route.h"

#include "framework/transport/http_peer.h"

/* --- In --- */

void cpti_http_route_read(const struct cpti_http_request *request,
                          struct cpt_field fields[CPT_HEADERS_MAX],
                          struct cpt_inbound *inbound)
{
    struct cpt_field field;
    size_t at = 0;

    inbound->verb = request->verb;
    inbound->headers = fields;
    while (cpti_http_head_next(request->head, &at, &field.name, &field.value)) {
        if (inbound->header_count < CPT_HEADERS_MAX) {
            fields[inbound->header_count] = field;
        }
        inbound->header_count++;
    }
}

/* --- Out --- */

void cpti_http_route_write(struct cpt_http *http, const struct cpt_field *headers,
                           size_t count, struct cpti_http_text *text)
{
    for (size_t i = 0; i < count; i++) {
        if (i < CPT_REPLY_HEADERS_MAX && cpt_field_is_sendable(&headers[i])) {
            cpti_http_text_line(text, headers[i].name, headers[i].value);
        } else {
            cpti_http_count(http, CPTI_HTTP_COUNTER_headers_refused);
        }
    }
}
