/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_health.h - what machines ask about a service: see http_health.c. */
#ifndef CPT_HTTP_HEALTH_H
#define CPT_HTTP_HEALTH_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_http;
struct cpti_http_peer;
struct cpti_http_request;

/* Answers the @request of @peer if it is one of them; false: it is not. All that comes
 * on a port for operators is answered. Loop thread. */
bool cpti_http_health_serve(struct cpti_http_peer *peer,
                            const struct cpti_http_request *request);

/* Is not ready any more, but goes on serving for unready_ns. Loop thread. */
void cpti_http_health_fall(struct cpt_http *http);

#endif
