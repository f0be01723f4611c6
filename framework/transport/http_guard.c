/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_guard.c - what a server that browsers reach refuses; see http_guard.h */
#include "framework/transport/http_guard.h"

#include "framework/transport/http_headers.h"

#include <event2/buffer.h>
#include <event2/http.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PORT_DEFAULT = 80, NAME_BYTES_MAX = 64, FORBIDDEN = 403 };

bool cpti_http_is_own_host(struct cpt_bytes host, const char *const *names,
                           uint16_t port)
{
    char digits[8];
    const size_t digit_bytes =
        (size_t)snprintf(digits, sizeof digits, ":%u", (unsigned)port);

    for (; *names != NULL; names++) {
        const size_t bytes = strlen(*names);

        if (host.bytes < bytes || strncasecmp(host.data, *names, bytes) != 0) {
            continue;
        }
        if ((host.bytes == bytes && port == PORT_DEFAULT) ||
            (host.bytes == bytes + digit_bytes &&
             memcmp(host.data + bytes, digits, digit_bytes) == 0)) {
            return true;
        }
    }
    return false;
}

/* Whether a browser says that a page of another site made it ask for anything but the
 * page at "/", which links may lead to. */
static bool is_cross_site(struct evhttp_request *request)
{
    const char *target = evhttp_request_get_uri(request);
    struct cpt_bytes site;

    return cpti_http_headers_find(evhttp_request_get_input_headers(request),
                                  "Sec-Fetch-Site", &site) != 0 &&
           cpt_bytes_equal(site, cpt_bytes_of("cross-site")) &&
           (target == NULL || target[0] != '/' ||
            (target[1] != '\0' && target[1] != '?'));
}

unsigned cpti_http_guard(const struct cpt_http_options *options,
                         struct evhttp_request *request, uint16_t port)
{
    struct cpt_bytes host;

    if (options->hosts != NULL &&
        (cpti_http_headers_find(evhttp_request_get_input_headers(request), "Host",
                                &host) != 1 ||
         !cpti_http_is_own_host(host, options->hosts, port) ||
         is_cross_site(request))) {
        return FORBIDDEN;
    }
    return options->serves_get_only &&
                   evhttp_request_get_command(request) != EVHTTP_REQ_GET
               ? HTTP_BADMETHOD
               : 0;
}

bool cpti_http_guard_headers(const struct cpt_http_options *options,
                             struct evkeyvalq *headers, const struct cpt_alloc *alloc)
{
    const char *const *lines = options->reply_headers;
    bool is_good = true;

    for (; lines != NULL && *lines != NULL && is_good; lines++) {
        const char *value = strstr(*lines, ": ");
        char name[NAME_BYTES_MAX];

        if (value == NULL || (size_t)(value - *lines) >= sizeof name) {
            continue;
        }
        memcpy(name, *lines, (size_t)(value - *lines));
        name[value - *lines] = '\0';
        is_good = cpti_http_headers_add(headers, name, cpt_bytes_of(value + 2), alloc);
    }
    return is_good;
}

void cpti_http_guard_send(const struct cpt_http_options *options,
                          struct evhttp_request *request, unsigned http_status,
                          const char *sentence, const struct cpt_alloc *alloc)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    struct evbuffer *text = evbuffer_new();

    (void)cpti_http_guard_headers(options, headers, alloc);
    (void)cpti_http_headers_add(headers, "Content-Type",
                                cpt_bytes_of("text/plain; charset=utf-8"), alloc);
    if (text != NULL) {
        (void)evbuffer_add_printf(text, "%s\n", sentence);
    }
    evhttp_send_reply(request, (int)http_status,
                      http_status == FORBIDDEN ? "Forbidden" : NULL, text);
    if (text != NULL) {
        evbuffer_free(text);
    }
}

void cpti_http_guard_reply(const struct cpt_http_options *options,
                           struct evhttp_request *request, unsigned http_status,
                           const struct cpt_alloc *alloc)
{
    const bool is_host = http_status == FORBIDDEN;

    if (!is_host) {
        (void)cpti_http_headers_add(evhttp_request_get_output_headers(request), "Allow",
                                    cpt_bytes_of("GET"), alloc);
    }
    cpti_http_guard_send(
        options, request, http_status,
        is_host ? "the Host header names another server, or a page of another site "
                  "asks; open the address that this server has printed"
                : "only GET is served here",
        alloc);
}
