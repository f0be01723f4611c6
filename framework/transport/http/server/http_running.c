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

/* What cpt_service_requests_json() writes to. */
struct running_text {
    struct evbuffer *text;
    bool is_bad; /* memory ran out */
};

static void put(void *context, const char *text, size_t bytes)
{
    struct running_text *out = context;

    out->is_bad |= evbuffer_add(out->text, text, bytes) != 0;
}

bool cpti_http_requests_json(struct cpt_http *http, struct cpt_service *service,
                             struct evbuffer *text)
{
    struct running_text out = {.text = text};

    (void)http;
    return cpt_service_requests_json(service, put, &out) == CPT_OK && !out.is_bad;
}

bool cpti_http_plans_json(struct cpt_http *http, struct cpt_service *service,
                          struct evbuffer *text)
{
    struct running_text out = {.text = text};

    (void)http;
    return cpt_service_plans_json(service, put, &out) == CPT_OK && !out.is_bad;
}
