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

#include "framework/transport/http_loop.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

enum { LENGTH_LINE_BYTES = 48, LINE_EXTRA_BYTES = 4 /* ": " and CR LF */ };

/* --- In --- */

static const char *verb_of(struct evhttp_request *request)
{
    switch (evhttp_request_get_command(request)) {
    case EVHTTP_REQ_GET:
        return "GET";
    case EVHTTP_REQ_POST:
        return "POST";
    case EVHTTP_REQ_HEAD:
        return "HEAD";
    case EVHTTP_REQ_PUT:
        return "PUT";
    case EVHTTP_REQ_DELETE:
        return "DELETE";
    case EVHTTP_REQ_OPTIONS:
        return "OPTIONS";
    case EVHTTP_REQ_PATCH:
        return "PATCH";
    default:
        return "?"; /* no method takes it */
    }
}

void cpti_http_route_read(struct evhttp_request *request,
                          struct cpt_field fields[CPT_HEADERS_MAX],
                          struct cpt_inbound *inbound)
{
    const struct evkeyval *header = NULL;

    inbound->verb = cpt_bytes_of(verb_of(request));
    inbound->headers = fields;
    TAILQ_FOREACH(header, evhttp_request_get_input_headers(request), next)
    {
        if (inbound->header_count < CPT_HEADERS_MAX) {
            fields[inbound->header_count] = (struct cpt_field){
                cpt_bytes_of(header->key), cpt_bytes_of(header->value)};
        }
        inbound->header_count++;
    }
}

/* --- Out --- */

/* Copies @text behind @to. */
static char *put(char *to, struct cpt_bytes text)
{
    if (text.bytes > 0) {
        memcpy(to, text.data, text.bytes);
    }
    return to + text.bytes;
}

/* How many of @outbound's headers are looked at. */
static size_t count_of(const struct cpt_outbound *outbound)
{
    return outbound->header_count < CPT_REPLY_HEADERS_MAX ? outbound->header_count
                                                          : CPT_REPLY_HEADERS_MAX;
}

static size_t bytes_of(const struct cpt_outbound *outbound, bool has_length)
{
    size_t bytes = has_length ? LENGTH_LINE_BYTES : 0;

    for (size_t i = 0; i < count_of(outbound); i++) {
        const struct cpt_field *field = &outbound->headers[i];

        if (cpt_field_is_sendable(field)) {
            bytes += field->name.bytes + field->value.bytes + LINE_EXTRA_BYTES;
        }
    }
    return bytes;
}

char *cpti_http_route_headers(struct cpt_http *http,
                              const struct cpt_outbound *outbound, bool has_length)
{
    size_t bytes = 0;
    char *lines = NULL;
    char *end = NULL;

    if (outbound->header_count == 0 && !has_length) {
        return NULL;
    }
    bytes = bytes_of(outbound, has_length);
    lines = cpt_alloc_zeroed(http->alloc, bytes + 1);
    if (lines == NULL) {
        return NULL;
    }
    end = lines;
    for (size_t i = 0; i < outbound->header_count; i++) {
        const struct cpt_field *field = &outbound->headers[i];

        if (i >= count_of(outbound) || !cpt_field_is_sendable(field)) {
            cpti_http_count(http, CPTI_HTTP_COUNTER_headers_refused);
            continue;
        }
        end = put(put(end, field->name), cpt_bytes_of(": "));
        end = put(put(end, field->value), cpt_bytes_of("\r\n"));
    }
    if (has_length) {
        (void)snprintf(end, LENGTH_LINE_BYTES, "Content-Length: %zu\r\n",
                       outbound->body.bytes);
    }
    return lines;
}

bool cpti_http_route_write(struct evkeyvalq *headers, char *lines)
{
    bool is_good = true;

    while (lines != NULL && *lines != '\0') {
        char *value = strchr(lines, ':');
        char *end = strchr(lines, '\r');

        *value = '\0';
        *end = '\0';
        is_good &= evhttp_add_header(headers, lines, value + 2) == 0;
        lines = end + 2;
    }
    return is_good;
}
