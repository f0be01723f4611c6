/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_running.c - what a service does just now, beside its counters
 *
 *      GET /cpt/requests   {"service":"B","requests":[{"id":7,...},...],"left_out":0}
 *      GET /cpt/plans      {"service":"B","methods":[{"method":"/","plan":{...}},...]}
 */
#include "framework/cpt_running.h"
#include "framework/transport/http/loop/http_loop.h"

#include <event2/buffer.h>

/* A cpt_write_fn whose context is an evbuffer. */
static cpt_status put(void *context, const void *text, size_t bytes)
{
    return evbuffer_add(context, text, bytes) == 0 ? CPT_OK : CPT_NO_MEMORY;
}

bool cpti_http_requests_json(struct cpt_http *http, struct cpt_service *service,
                             struct evbuffer *text)
{
    const struct cpt_sink sink = {put, text};

    (void)http;
    return cpt_service_requests_json(service, &sink) == CPT_OK;
}

bool cpti_http_plans_json(struct cpt_http *http, struct cpt_service *service,
                          struct evbuffer *text)
{
    const struct cpt_sink sink = {put, text};

    (void)http;
    return cpt_service_plans_json(service, &sink) == CPT_OK;
}
