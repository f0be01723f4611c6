/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_guard.c - what a server that browsers reach refuses; see http_guard.h */
#include "framework/transport/http/server/http_guard.h"

#include "framework/transport/http/server/http_peer.h"
#include "framework/transport/http/loop/http_text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PORT_DEFAULT = 80, NAME_BYTES_MAX = 64, FORBIDDEN = 403, NOT_ALLOWED = 405 };

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
static bool is_cross_site(const struct cpti_http_request *request)
{
    struct cpt_bytes site;

    return cpti_http_parser_field(request->parser, request->head.data,
                                  CPTI_HTTP_FIELD_SITE, &site) != 0 &&
           cpt_bytes_equal(site, cpt_bytes_of("cross-site")) &&
           !cpt_bytes_equal(request->path, cpt_bytes_of("/"));
}

static bool is_foreign(const struct cpt_http_options *options,
                       const struct cpti_http_request *request, uint16_t port)
{
    struct cpt_bytes host;

    return cpti_http_parser_field(request->parser, request->head.data,
                                  CPTI_HTTP_FIELD_HOST, &host) != 1 ||
           !cpti_http_is_own_host(host, options->hosts, port) ||
           (request->authority.bytes > 0 &&
            !cpti_http_is_own_host(request->authority, options->hosts, port));
}

unsigned cpti_http_guard(const struct cpt_http_options *options,
                         const struct cpti_http_request *request, uint16_t port,
                         const char **sentence)
{
    if (options->hosts != NULL &&
        (is_foreign(options, request, port) || is_cross_site(request))) {
        *sentence = "the Host header names another server, or a page of another site "
                    "asks; open the address that this server has printed\n";
        return FORBIDDEN;
    }
    if (options->serves_get_only &&
        !cpt_bytes_equal(request->verb, cpt_bytes_of("GET"))) {
        *sentence = "only GET is served here\n";
        return NOT_ALLOWED;
    }
    return 0;
}

void cpti_http_guard_headers(const struct cpt_http_options *options,
                             struct cpti_http_text *text)
{
    const char *const *lines = options->reply_headers;

    for (; lines != NULL && *lines != NULL; lines++) {
        const char *value = strstr(*lines, ": ");

        if (value != NULL && value - *lines < NAME_BYTES_MAX &&
            cpti_http_is_value(cpt_bytes_of(*lines))) {
            cpti_http_text_line(text,
                                (struct cpt_bytes){*lines, (size_t)(value - *lines)},
                                cpt_bytes_of(value + 2));
        }
    }
}
