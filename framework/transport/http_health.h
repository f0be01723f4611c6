/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_health.h - what machines ask about a service: see http_health.c. */
#ifndef CPT_HTTP_HEALTH_H
#define CPT_HTTP_HEALTH_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_http;
struct cpt_service;
struct evhttp_request;

/* Answers @request for @path if it is one of them; false: it is not. @is_operators: it
 * came on a port for operators, and is answered in any case. Loop thread. */
bool cpti_http_health_serve(struct cpt_http *http, struct cpt_service *service,
                            bool is_operators, struct evhttp_request *request,
                            struct cpt_bytes path);

/* Is not ready any more, but goes on serving for unready_ns. Loop thread. */
void cpti_http_health_fall(struct cpt_http *http);

#endif
