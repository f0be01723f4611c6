/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_route.h - verbs and headers, from a request to its service and back. */
#ifndef CPT_HTTP_ROUTE_H
#define CPT_HTTP_ROUTE_H

#include "framework/cpt_rpc.h"
#include "framework/transport/cpt_http.h"

#include <stdbool.h>

struct evhttp_request;
struct evkeyvalq;

/* Sets verb and headers of @inbound, borrowed from @request and in @fields. */
void cpti_http_route_read(struct evhttp_request *request,
                          struct cpt_field fields[CPT_HEADERS_MAX],
                          struct cpt_inbound *inbound);

/*
 * The headers of @outbound that may be sent, each as "Name: value" and CR LF, those
 * that may not are counted; with @has_length also the length of its body, which is not
 * sent itself (HEAD). NULL: there are none, or no memory.
 */
char *cpti_http_route_headers(struct cpt_http *http,
                              const struct cpt_outbound *outbound, bool has_length);

/* Adds @lines, made as above, to @headers, and cuts them up. false without memory. */
bool cpti_http_route_write(struct evkeyvalq *headers, char *lines);

#endif
