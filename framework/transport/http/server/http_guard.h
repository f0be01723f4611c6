/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_guard.h - what a server that browsers reach refuses, and adds to its replies
 *
 * A page of another site may point its own name at this machine (DNS rebinding). Its
 * scripts could then read what is served here, as if it were their own. But the browser
 * sends that foreign name as Host, so a list of own names keeps them out. A page of
 * another site may also ask without reading the answer, to keep the server busy; the
 * browser says so in Sec-Fetch-Site.
 */
#ifndef CPT_HTTP_GUARD_H
#define CPT_HTTP_GUARD_H

#include "cpt/cpt_name.h"
#include "framework/transport/cpt_http.h"

#include <stdbool.h>

struct cpti_http_request;
struct cpti_http_text;

/* Whether @host ("localhost:8080") is one of @names with @port; port 80 may be left
 * out. */
bool cpti_http_is_own_host(struct cpt_bytes host, const char *const *names,
                           uint16_t port);

/* The status to refuse @request with, which came in on @port, and why; or 0. */
unsigned cpti_http_guard(const struct cpt_http_options *options,
                         const struct cpti_http_request *request, uint16_t port,
                         const char **sentence);

/* Adds options->reply_headers to @text. */
void cpti_http_guard_headers(const struct cpt_http_options *options,
                             struct cpti_http_text *text);

#endif
