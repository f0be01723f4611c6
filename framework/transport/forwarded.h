/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * forwarded.h - which headers say that a request was forwarded; for all transports
 *
 * A header counts if it says who stands behind the sender, as only a program
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
 */
#ifndef CPTI_FORWARDED_H
#define CPTI_FORWARDED_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static inline bool cpti_begins(struct cpt_bytes name, const char *with)
{
    const size_t bytes = strlen(with);

    return name.bytes >= bytes && strncasecmp(name.data, with, bytes) == 0;
}

static inline bool cpti_ends(struct cpt_bytes name, const char *with)
{
    const size_t bytes = strlen(with);

    return name.bytes >= bytes &&
           strncasecmp(name.data + name.bytes - bytes, with, bytes) == 0;
}

/* Whether a header of this name says that another program has sent the request on. */
static inline bool cpti_is_forwarding(struct cpt_bytes name)
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
        if (name.bytes == strlen(names[i]) && cpti_begins(name, names[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (cpti_ends(name, endings[i])) {
            return true;
        }
    }
    return cpti_begins(name, "X-Forwarded-");
}

#endif
