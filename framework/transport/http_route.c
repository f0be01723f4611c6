/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_route.c - verbs and headers, from a request to its service and back
 *
 * Forwarded. A header counts if it says who stands behind the sender, as only a program
 * that sends for another has reason to write that:
 *
 *      Via (RFC 9110), CDN-Loop (RFC 8586)          who has forwarded it
 *      Forwarded (RFC 7239), X-Forwarded-…          for whom, and how; with something
 *      …-Forwarded-For                              before: ingress-nginx, Vercel
 *      X-Real-IP, CF-Connecting-IP, True-Client-IP,
 *      Fastly-Client-IP, Fly-Client-IP, …           the client's address: nginx,
 *                                                   Cloudflare, Akamai, Fastly, Fly
 *      …ClientIP, …SocketIP                         Azure's Front Door, Sucuri
 *      X-Envoy-External-Address, X-Remote-Addr,
 *      CloudFront-Viewer-Address                    Envoy, CloudFront
 *
 * Each vendor has a name of its own, and they all end in the same few ways; so endings
 * are looked at, and names that do not exist yet count, too. To take a request for
 * forwarded by mistake costs a person a path; the other mistake shows it to a stranger.
 *
 * What describes the request, or is passed on by those who send requests of their own,
 * says nothing: ids and traces (X-Request-Id, traceparent, X-Amzn-Trace-Id, which the
 * AWS libraries copy to calls), countries, X-Envoy-Attempt-Count. The load balancer
 * that adds X-Amzn-Trace-Id adds X-Forwarded-For beside it.
 *
 * A service may have put anything into the headers of its reply, also what a client
 * sent. So each is checked once more here, by the rule that cpt_rpc_reply_header()
 * applies: a line end would begin another header, or another reply.
 */
#include "framework/transport/http_route.h"

#include "framework/transport/http_parser.h"
#include "framework/transport/http_peer.h"

#include <string.h>
#include <strings.h>

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

static bool begins(struct cpt_bytes name, const char *with)
{
    const size_t bytes = strlen(with);

    return name.bytes >= bytes && strncasecmp(name.data, with, bytes) == 0;
}

static bool ends(struct cpt_bytes name, const char *with)
{
    const size_t bytes = strlen(with);

    return name.bytes >= bytes &&
           strncasecmp(name.data + name.bytes - bytes, with, bytes) == 0;
}

static bool is_forwarding(struct cpt_bytes name)
{
    static const char *const names[] = {"Via", "CDN-Loop", "Forwarded", "X-Forwarded",
                                        "X-Remote-Addr"};
    static const char *const endings[] = {"-IP",
                                          "-IPv6",
                                          "ClientIP",
                                          "SocketIP",
                                          "-Forwarded-For",
                                          "-External-Address",
                                          "-Viewer-Address"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cpti_http_is_same(name, names[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (ends(name, endings[i])) {
            return true;
        }
    }
    return begins(name, "X-Forwarded-");
}

bool cpti_http_is_forwarded(struct cpt_bytes head)
{
    struct cpt_field field;
    size_t at = 0;

    while (cpti_http_head_next(head, &at, &field.name, &field.value)) {
        if (is_forwarding(field.name)) {
            return true;
        }
    }
    return false;
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
