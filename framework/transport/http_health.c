/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_health.c - what machines ask about a service: is it alive, is it ready, how much
 *
 *      port of            path                      answered if
 *      operators          /healthz /readyz          always
 *                         /metrics /cpt/...         always; what else is asked: 404
 *      the service        /healthz /readyz          serves_health
 *                         /cpt/...                  serves_counters
 *
 * Alive means that the loop answers at all, so that who restarts a service that hangs
 * can ask. Ready means that requests should be sent here:
 *
 *      set_ready(0)   set_ready(1)        stop              nothing left
 *      | 503          | 200               | 503             |
 *      | starting     | serving           | still serving   | ends
 *                                         |- unready_ns -|- drain -|
 *
 * A balancer learns of the fall only when it asks next. Until then it goes on sending;
 * so connections are still accepted for unready_ns, and only then is drained. The port
 * of operators answers until the end.
 */
#include "framework/transport/http_health.h"

#include "framework/transport/http_guard.h"
#include "framework/transport/http_headers.h"
#include "framework/transport/http_loop.h"

#include <event2/buffer.h>
#include <event2/http.h>

#include <string.h>

#define TEXT        "text/plain; charset=utf-8"
#define PROMETHEUS  "text/plain; version=0.0.4; charset=utf-8"
#define OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

enum { NOT_FOUND = 404, UNAVAILABLE = 503 };

typedef bool (*write_fn)(struct cpt_http *http, struct cpt_service *service,
                         struct evbuffer *text);

/* --- Answers --- */

static void reply(struct cpt_http *http, struct evhttp_request *request,
                  unsigned http_status, const char *content_type, struct evbuffer *text)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    const bool is_good =
        text != NULL && cpti_http_guard_headers(&http->options, headers, http->alloc) &&
        cpti_http_headers_add(headers, "Content-Type", cpt_bytes_of(content_type),
                              http->alloc);

    (void)cpti_http_headers_add(headers, "Cache-Control", cpt_bytes_of("no-store"),
                                http->alloc);
    if (is_good && evhttp_request_get_command(request) == EVHTTP_REQ_HEAD) {
        (void)evbuffer_drain(text, evbuffer_get_length(text));
    }
    evhttp_send_reply(request, is_good ? (int)http_status : HTTP_INTERNAL, NULL,
                      is_good ? text : NULL);
}

static void reply_written(struct cpt_http *http, struct cpt_service *service,
                          struct evhttp_request *request, write_fn write,
                          const char *content_type)
{
    struct evbuffer *text = evbuffer_new();
    const bool is_good = text != NULL && write(http, service, text);

    reply(http, request, HTTP_OK, content_type, is_good ? text : NULL);
    if (text != NULL) {
        evbuffer_free(text);
    }
}

static void reply_sentence(struct cpt_http *http, struct evhttp_request *request,
                           unsigned http_status, const char *sentence)
{
    struct evbuffer *text = evbuffer_new();

    if (text != NULL) {
        (void)evbuffer_add_printf(text, "%s\n", sentence);
    }
    reply(http, request, http_status, TEXT, text);
    if (text != NULL) {
        evbuffer_free(text);
    }
}

/* --- Alive, ready --- */

static bool serve_health(struct cpt_http *http, struct evhttp_request *request,
                         struct cpt_bytes path)
{
    if (cpt_bytes_equal(path, cpt_bytes_of("/healthz"))) {
        reply_sentence(http, request, HTTP_OK, "alive");
        return true;
    }
    if (!cpt_bytes_equal(path, cpt_bytes_of("/readyz"))) {
        return false;
    }
    if (http->is_falling) {
        reply_sentence(http, request, UNAVAILABLE, "stopping");
    } else if (atomic_load_explicit(&http->is_unready, memory_order_relaxed)) {
        reply_sentence(http, request, UNAVAILABLE, "not ready");
    } else {
        reply_sentence(http, request, HTTP_OK, "ready");
    }
    return true;
}

void cpt_http_set_ready(struct cpt_http *http, int is_ready)
{
    atomic_store_explicit(&http->is_unready, !is_ready, memory_order_relaxed);
}

/* --- Counters --- */

/* Whether the client names that format; Prometheus does, if it is to read exemplars. */
static bool takes_openmetrics(struct evhttp_request *request)
{
    static const char name[] = "application/openmetrics-text";
    struct cpt_bytes accept;

    return cpti_http_headers_find(evhttp_request_get_input_headers(request), "Accept",
                                  &accept) == 1 &&
           memmem(accept.data, accept.bytes, name, sizeof name - 1) != NULL;
}

/* Whether @path is @prefix with @suffix. */
static bool is_below(struct cpt_bytes path, const char *prefix, const char *suffix)
{
    const size_t bytes = strlen(prefix);

    return path.bytes >= bytes && memcmp(path.data, prefix, bytes) == 0 &&
           cpt_bytes_equal((struct cpt_bytes){path.data + bytes, path.bytes - bytes},
                           cpt_bytes_of(suffix));
}

static bool serve_counters(struct cpt_http *http, struct cpt_service *service,
                           struct evhttp_request *request, struct cpt_bytes path)
{
    static const struct {
        const char *suffix;
        write_fn write;
        const char *content_type;
    } pages[] = {
        {"/counters", cpti_http_counters_json, "application/json"},
        {"/requests", cpti_http_requests_json, "application/json"},
        {"/plans", cpti_http_plans_json, "application/json"},
        {"/metrics", cpti_http_counters_prometheus, PROMETHEUS},
    };

    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (is_below(path, http->options.counters_prefix, pages[i].suffix)) {
            reply_written(http, service, request, pages[i].write,
                          pages[i].content_type);
            return true;
        }
    }
    return false;
}

bool cpti_http_health_serve(struct cpt_http *http, struct cpt_service *service,
                            bool is_operators, struct evhttp_request *request,
                            struct cpt_bytes path)
{
    if ((is_operators || http->options.serves_health) &&
        serve_health(http, request, path)) {
        return true;
    }
    if ((is_operators || http->options.serves_counters) &&
        serve_counters(http, service, request, path)) {
        return true;
    }
    if (!is_operators) {
        return false;
    }
    if (cpt_bytes_equal(path, cpt_bytes_of("/metrics"))) {
        if (takes_openmetrics(request)) {
            reply_written(http, service, request, cpti_http_openmetrics, OPENMETRICS);
        } else {
            reply_written(http, service, request, cpti_http_metrics, PROMETHEUS);
        }
    } else {
        reply_sentence(http, request, NOT_FOUND, "this port is for operators");
    }
    return true;
}

/* --- The fall --- */

static void on_fallen(struct cpt_timer *timer)
{
    CPTI_CONTAINER(timer, struct cpt_http, drain_timer)->is_drain_over = true;
}

void cpti_http_health_fall(struct cpt_http *http)
{
    http->is_falling = true;
    if (http->options.unready_ns == 0) {
        return;
    }
    http->is_drain_over = false;
    http->drain_timer.fire = on_fallen;
    if (cpti_http_loop_after(http, &http->drain_timer, http->options.unready_ns) !=
        CPT_OK) {
        return;
    }
    while (!http->is_drain_over && !atomic_load(&http->is_hurried)) {
        (void)event_base_loop(http->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
    }
    (void)cpti_http_loop_cancel(http, &http->drain_timer);
}
