/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_route.c - verbs and headers, from a request to its service and back
 *
 * A service may have put anything into the headers of its reply, also what a client
 * sent. So each is checked once more here, by the rule that cpt_rpc_reply_header()
 * applies: a line end would begin another header, or another reply.
 */
#include "framework/transport/http/message/http_route.h"

#include "framework/transport/http/message/http_parser.h"
#include "framework/transport/http/loop/http_loop.h"
#include "wire/cpt_metadata.h"

#include <string.h>
#include <strings.h>

/* --- In --- */

void cpti_http_route_read(struct cpt_bytes head,
                          struct cpt_field fields[CPT_HEADERS_MAX],
                          struct cpt_inbound *inbound)
{
    struct cpt_field field;
    size_t at = 0;

    inbound->headers = fields;
    while (cpti_http_head_next(head, &at, &field.name, &field.value)) {
        if (inbound->header_count < CPT_HEADERS_MAX) {
            fields[inbound->header_count] = field;
        }
        inbound->header_count++;
    }
}

bool cpti_http_is_forwarded(const struct cpt_inbound *inbound)
{
    for (size_t i = 0; i < inbound->header_count && i < CPT_HEADERS_MAX; i++) {
        if (cpt_header_is_forwarding(inbound->headers[i].name)) {
            return true;
        }
    }
    return inbound->header_count > CPT_HEADERS_MAX; /* it is refused anyway */
}

/* --- Out --- */

void cpti_http_route_write(struct cpt_http *http, const struct cpt_field *headers,
                           size_t count, struct cpti_http_text *text)
{
    for (size_t i = 0; i < count; i++) {
        if (i < CPT_REPLY_HEADERS_MAX && cpt_field_is_sendable(&headers[i])) {
            cpti_http_text_line(text, headers[i].name, headers[i].value);
        } else if (http != NULL) {
            cpti_http_count(http, CPTI_HTTP_COUNTER_headers_refused);
        }
    }
}

/* --- Calls --- */

void cpti_http_route_ask(struct cpt_http *http, const struct cpt_field *headers,
                         size_t count, struct cpti_http_text *text)
{
    for (size_t i = 0; i < count; i++) {
        if (cpt_call_field_is_sendable(&headers[i])) {
            cpti_http_text_line(text, headers[i].name, headers[i].value);
        } else {
            cpti_http_count(http, CPTI_HTTP_COUNTER_headers_refused);
        }
    }
}

struct cpt_bytes cpti_http_route_verb(const struct cpt_transport_call *call)
{
    return call->verb.bytes > 0   ? call->verb
           : call->body.bytes > 0 ? cpt_bytes_of("POST")
                                  : cpt_bytes_of("GET");
}

bool cpti_http_route_is_idempotent(struct cpt_bytes verb)
{
    static const char *const verbs[] = {"GET",   "HEAD", "OPTIONS",
                                        "TRACE", "PUT",  "DELETE"};

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (cpt_bytes_equal(verb, cpt_bytes_of(verbs[i]))) {
            return true;
        }
    }
    return false;
}

bool cpti_http_route_is_verb(struct cpt_bytes verb)
{
    for (size_t i = 0; i < verb.bytes; i++) {
        if (verb.data[i] < 'A' || verb.data[i] > 'Z') {
            return false;
        }
    }
    return !cpt_bytes_equal(verb, cpt_bytes_of("CONNECT"));
}

bool cpti_http_route_has_length(struct cpt_bytes verb)
{
    return cpt_bytes_equal(verb, cpt_bytes_of("POST")) ||
           cpt_bytes_equal(verb, cpt_bytes_of("PUT")) ||
           cpt_bytes_equal(verb, cpt_bytes_of("PATCH"));
}

size_t cpti_http_route_replied(struct cpt_bytes head, const char *const *names,
                               struct cpt_field *fields, size_t capacity)
{
    size_t count = 0;

    for (; names != NULL && *names != NULL && count < capacity; names++) {
        struct cpt_field field;
        size_t at = 0;

        while (cpti_http_head_next(head, &at, &field.name, &field.value)) {
            if (cpti_http_is_same(field.name, *names)) {
                fields[count++] = field;
                break;
            }
        }
    }
    return count;
}
