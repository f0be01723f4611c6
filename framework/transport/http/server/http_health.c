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
#include "framework/transport/http/server/http_health.h"

#include "framework/transport/http/server/http_peer.h"

#include <event2/buffer.h>

#include <string.h>

#define TEXT        "text/plain; charset=utf-8"
#define PROMETHEUS  "text/plain; version=0.0.4; charset=utf-8"
#define OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

enum { OK = 200, NOT_FOUND = 404, INTERNAL = 500, UNAVAILABLE = 503 };

typedef bool (*write_fn)(struct cpt_http *http, struct cpt_service *service,
                         struct evbuffer *text);

/* --- Answers --- */

static void reply(struct cpti_http_peer *peer, unsigned status,
                  const char *content_type, struct cpt_bytes body)
{
    const struct cpti_http_reply reply = {
        .status = status,
        .content_type = cpt_bytes_of(content_type),
        .lines = cpt_bytes_of("Cache-Control: no-store\r\n"),
        .body = body};

    cpti_http_peer_reply(peer, &reply);
}

static void reply_written(struct cpti_http_peer *peer, write_fn write,
                          const char *content_type)
{
    struct evbuffer *text = evbuffer_new();
    struct cpt_bytes body = {NULL, 0};

    if (text != NULL &&
        write(peer->http, cpti_http_server_service(peer->server), text)) {
        body.bytes = evbuffer_get_length(text);
        body.data = (const char *)evbuffer_pullup(text, -1);
    }
    if (body.data != NULL) {
        reply(peer, OK, content_type, body);
    } else {
        reply(peer, INTERNAL, TEXT, cpt_bytes_of("out of memory\n"));
    }
    if (text != NULL) {
        evbuffer_free(text);
    }
    cpti_http_peer_continue(peer);
}

static void reply_sentence(struct cpti_http_peer *peer, unsigned status,
                           const char *sentence)
{
    reply(peer, status, TEXT, cpt_bytes_of(sentence));
    cpti_http_peer_continue(peer);
}

/* --- Alive, ready --- */

static bool serve_health(struct cpti_http_peer *peer, struct cpt_bytes path)
{
    const struct cpt_http *http = peer->http;

    if (cpt_bytes_equal(path, cpt_bytes_of("/healthz"))) {
        reply_sentence(peer, OK, "alive\n");
        return true;
    }
    if (!cpt_bytes_equal(path, cpt_bytes_of("/readyz"))) {
        return false;
    }
    if (http->is_falling) {
        reply_sentence(peer, UNAVAILABLE, "stopping\n");
    } else if (atomic_load_explicit(&http->is_unready, memory_order_relaxed)) {
        reply_sentence(peer, UNAVAILABLE, "not ready\n");
    } else {
        reply_sentence(peer, OK, "ready\n");
    }
    return true;
}

void cpt_http_set_ready(struct cpt_http *http, int is_ready)
{
    atomic_store_explicit(&http->is_unready, !is_ready, memory_order_relaxed);
}

/* --- Counters --- */

/* Whether the client names that format; Prometheus does, if it is to read exemplars. */
static bool takes_openmetrics(const struct cpti_http_request *request)
{
    static const char format[] = "application/openmetrics-text";
    struct cpt_bytes name;
    struct cpt_bytes value;
    size_t at = 0;

    while (cpti_http_head_next(request->head, &at, &name, &value)) {
        if (cpti_http_is_same(name, "Accept") &&
            memmem(value.data, value.bytes, format, sizeof format - 1) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether @path is @prefix with @suffix. */
static bool is_below(struct cpt_bytes path, const char *prefix, const char *suffix)
{
    const size_t bytes = strlen(prefix);

    return path.bytes >= bytes && memcmp(path.data, prefix, bytes) == 0 &&
           cpt_bytes_equal((struct cpt_bytes){path.data + bytes, path.bytes - bytes},
                           cpt_bytes_of(suffix));
}

static bool serve_counters(struct cpti_http_peer *peer, struct cpt_bytes path)
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
        if (is_below(path, peer->http->options.counters_prefix, pages[i].suffix)) {
            reply_written(peer, pages[i].write, pages[i].content_type);
            return true;
        }
    }
    return false;
}

bool cpti_http_health_serve(struct cpti_http_peer *peer,
                            const struct cpti_http_request *request)
{
    const struct cpt_http_options *options = &peer->http->options;
    const bool is_operators = cpti_http_server_is_operators(peer->server);

    if ((is_operators || options->serves_health) && serve_health(peer, request->path)) {
        return true;
    }
    if ((is_operators || options->serves_counters) &&
        serve_counters(peer, request->path)) {
        return true;
    }
    if (!is_operators) {
        return false;
    }
    if (cpt_bytes_equal(request->path, cpt_bytes_of("/metrics"))) {
        if (takes_openmetrics(request)) {
            reply_written(peer, cpti_http_openmetrics, OPENMETRICS);
        } else {
            reply_written(peer, cpti_http_metrics, PROMETHEUS);
        }
    } else {
        reply_sentence(peer, NOT_FOUND, "this port is for operators\n");
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
