/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_counters.c - counters as text, for people and for programs that collect them
 *
 *      GET /cpt/counters   {"service":"B","counters":[{"name":"requests",...},...]}
 *      GET /cpt/metrics    cpt_requests_total{service="B"} 7
 *      GET /metrics        the same in seconds, with latencies; as OpenMetrics, if that
 *                          is accepted, with exemplars
 *
 * Members of a label (a callee's name, a reason) may come from outside, so they are
 * escaped, and a byte that is not UTF-8 becomes '?'.
 */
#include "cpt/base/utf8.h"
#include "framework/transport/http/loop/http_loop.h"

#include <event2/buffer.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum metrics_form { FORM_OLD, FORM_PROMETHEUS, FORM_OPENMETRICS };

/* What a visit writes to. */
struct counters_text {
    enum metrics_form form;
    struct evbuffer *text;
    const char *service;
    char last_name[64]; /* each name has a help line before its first one */
    bool is_first;
    bool is_bad; /* memory ran out */
};

static void put(struct counters_text *out, const char *bytes, size_t count)
{
    out->is_bad |= evbuffer_add(out->text, bytes, count) != 0;
}

static __attribute__((format(printf, 2, 3))) void put_text(struct counters_text *out,
                                                           const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    out->is_bad |= evbuffer_add_vprintf(out->text, format, arguments) < 0;
    va_end(arguments);
}

/* Between quotes, as JSON and Prometheus both read it: \" \\ \n, no other control. */
static void put_quoted(struct counters_text *out, struct cpt_bytes text)
{
    size_t i = 0;

    put(out, "\"", 1);
    while (i < text.bytes) {
        const size_t count = cpti_utf8_bytes(text.data + i, text.bytes - i);

        if (text.data[i] == '"' || text.data[i] == '\\') {
            put(out, "\\", 1);
            put(out, text.data + i, 1);
        } else if (text.data[i] == '\n') {
            put(out, "\\n", 2);
        } else if (count == 0 || (unsigned char)text.data[i] < ' ') {
            put(out, "?", 1);
        } else {
            put(out, text.data + i, count);
        }
        i += count > 0 ? count : 1;
    }
    put(out, "\"", 1);
}

static void visit_json(void *context, const struct cpt_counter *counter)
{
    struct counters_text *out = context;

    put_text(out, "%s{\"name\":", out->is_first ? "\n" : ",\n");
    out->is_first = false;
    put_quoted(out, cpt_bytes_of(counter->name));
    if (counter->label != NULL) {
        put_text(out, ",\"label\":");
        put_quoted(out, cpt_bytes_of(counter->label));
        put_text(out, ",\"member\":");
        put_quoted(out, counter->member);
    }
    put_text(out, ",\"value\":%llu,\"help\":", (unsigned long long)counter->value);
    put_quoted(out, cpt_bytes_of(counter->help));
    put_text(out, "}");
}

bool cpti_http_counters_json(struct cpt_http *http, struct cpt_service *service,
                             struct evbuffer *text)
{
    struct counters_text out = {.text = text, .is_first = true};

    put_text(&out, "{\"service\":");
    put_quoted(&out, cpt_bytes_of(cpt_service_name(service)));
    put_text(&out, ",\"counters\":[");
    cpt_service_counters(service, visit_json, &out);
    cpt_http_counters(http, visit_json, &out);
    put_text(&out, "\n]}\n");
    return !out.is_bad;
}

/* --- For Prometheus --- */

/* @name as it is shown: sums of ns are of seconds, which is the unit of Prometheus. */
static bool shown_name(const struct counters_text *out, const char *name,
                       char shown[64])
{
    const size_t bytes = strlen(name);
    const bool is_ns =
        out->form != FORM_OLD && bytes > 3 && strcmp(name + bytes - 3, "_ns") == 0;

    (void)snprintf(shown, 64, "%.*s%s", (int)(is_ns ? bytes - 3 : bytes), name,
                   is_ns ? "_seconds" : "");
    return is_ns;
}

static void put_seconds(struct counters_text *out, uint64_t ns)
{
    put_text(out, "%llu.%09llu", (unsigned long long)(ns / 1000000000),
             (unsigned long long)(ns % 1000000000));
}

/* The lines that stand once before all counters of one name. */
static void put_help(struct counters_text *out, const char *name, const char *help,
                     const char *type)
{
    const char *total =
        strcmp(type, "counter") == 0 && out->form != FORM_OPENMETRICS ? "_total" : "";

    if (strncmp(out->last_name, name, sizeof(out->last_name) - 1) == 0) {
        return;
    }
    (void)snprintf(out->last_name, sizeof(out->last_name), "%s", name);
    put_text(out, "# HELP cpt_%s%s %s\n# TYPE cpt_%s%s %s\n", name, total, help, name,
             total, type);
}

static void visit_metric(void *context, const struct cpt_counter *counter)
{
    struct counters_text *out = context;
    char name[64];
    const bool is_ns = shown_name(out, counter->name, name);

    put_help(out, name, counter->help, counter->is_gauge ? "gauge" : "counter");
    put_text(out,
             counter->is_gauge ? "cpt_%s{service=" : "cpt_%s_total{service=", name);
    put_quoted(out, cpt_bytes_of(out->service));
    if (counter->label != NULL) {
        put_text(out, ",%s=", counter->label);
        put_quoted(out, counter->member);
    }
    put_text(out, "} ");
    if (is_ns) {
        put_seconds(out, counter->value);
        put_text(out, "\n");
    } else {
        put_text(out, "%llu\n", (unsigned long long)counter->value);
    }
}

/* "0.0025", "10.0": as short as it can be, and with a point. */
static void put_bound(struct counters_text *out, uint64_t ns)
{
    char text[48];
    size_t bytes = (size_t)snprintf(text, sizeof text, "%llu.%09llu",
                                    (unsigned long long)(ns / 1000000000),
                                    (unsigned long long)(ns % 1000000000));

    while (text[bytes - 1] == '0' && text[bytes - 2] != '.') {
        bytes--;
    }
    put(out, text, bytes);
}

/* " # {trace_id="…"} 0.000017 1700000000.123" */
static void put_exemplar(struct counters_text *out, const struct cpt_exemplar *exemplar)
{
    if (!exemplar->is_there || out->form != FORM_OPENMETRICS) {
        return;
    }
    put_text(out, " # {trace_id=\"");
    for (size_t i = 0; i < sizeof exemplar->trace_id; i++) {
        put_text(out, "%02x", exemplar->trace_id[i]);
    }
    put_text(out, "\"} ");
    put_seconds(out, exemplar->latency_ns);
    put_text(out, " %llu.%03llu", (unsigned long long)(exemplar->unix_ns / 1000000000),
             (unsigned long long)(exemplar->unix_ns / 1000000 % 1000));
}

/* The labels of a method, but for the closing brace. */
static void put_method(struct counters_text *out, const char *suffix,
                       struct cpt_bytes method)
{
    put_text(out, "cpt_request_seconds%s{service=", suffix);
    put_quoted(out, cpt_bytes_of(out->service));
    put_text(out, ",method=");
    put_quoted(out, method);
}

static void visit_latency(void *context, const struct cpt_latency *latency)
{
    struct counters_text *out = context;
    uint64_t count = 0;

    put_help(out, "request_seconds",
             "how long requests took; a sample of them, unless all are measured",
             "histogram");
    for (size_t i = 0; i < latency->bucket_count; i++) {
        count += latency->counts[i];
        put_method(out, "_bucket", latency->method);
        put_text(out, ",le=\"");
        if (i + 1 < latency->bucket_count) {
            put_bound(out, latency->bounds_ns[i]);
        } else {
            put_text(out, "+Inf");
        }
        put_text(out, "\"} %llu", (unsigned long long)count);
        put_exemplar(out, &latency->exemplars[i]);
        put_text(out, "\n");
    }
    put_method(out, "_sum", latency->method);
    put_text(out, "} ");
    put_seconds(out, latency->sum_ns);
    put_text(out, "\n");
    put_method(out, "_count", latency->method);
    put_text(out, "} %llu\n", (unsigned long long)count);
}

bool cpti_http_counters_prometheus(struct cpt_http *http, struct cpt_service *service,
                                   struct evbuffer *text)
{
    struct counters_text out = {.text = text, .service = cpt_service_name(service)};

    cpt_service_counters(service, visit_metric, &out);
    cpt_http_counters(http, visit_metric, &out);
    return !out.is_bad;
}

static bool write_metrics(struct cpt_http *http, struct cpt_service *service,
                          struct evbuffer *text, enum metrics_form form)
{
    struct counters_text out = {
        .form = form, .text = text, .service = cpt_service_name(service)};

    cpt_service_counters(service, visit_metric, &out);
    cpt_http_counters(http, visit_metric, &out);
    cpt_service_latencies(service, visit_latency, &out);
    if (form == FORM_OPENMETRICS) {
        put_text(&out, "# EOF\n");
    }
    return !out.is_bad;
}

bool cpti_http_metrics(struct cpt_http *http, struct cpt_service *service,
                       struct evbuffer *text)
{
    return write_metrics(http, service, text, FORM_PROMETHEUS);
}

bool cpti_http_openmetrics(struct cpt_http *http, struct cpt_service *service,
                           struct evbuffer *text)
{
    return write_metrics(http, service, text, FORM_OPENMETRICS);
}

void cpt_http_counters(struct cpt_http *http,
                       void (*visit)(void *context, const struct cpt_counter *counter),
                       void *context)
{
    struct cpt_counter counters[CPTI_HTTP_COUNTER_COUNT] = {
#define CPTI_HTTP_COUNTER_TEXT_(text, sentence)                                        \
    {.name = "http_" #text, .help = sentence},
        CPTI_HTTP_COUNTER_MAP(CPTI_HTTP_COUNTER_TEXT_)
#undef CPTI_HTTP_COUNTER_TEXT_
    };

    for (size_t i = 0; i < CPTI_HTTP_COUNTER_COUNT; i++) {
        counters[i].is_gauge = i >= CPTI_HTTP_GAUGES_BEGIN;
        counters[i].value =
            atomic_load_explicit(&http->counters[i], memory_order_relaxed);
        visit(context, &counters[i]);
    }
    cpti_http_targets_show(http, visit, context);
}

void cpti_http_note_expiry(struct cpt_http *http,
                           const struct cpti_tls_context *context)
{
    const uint64_t known = atomic_load_explicit(
        &http->counters[CPTI_HTTP_COUNTER_tls_expires_unix_seconds],
        memory_order_relaxed);
    const uint64_t own = context->expires_unix_s;

    if (own != 0 && (known == 0 || own < known)) {
        cpti_http_set(http, CPTI_HTTP_COUNTER_tls_expires_unix_seconds, own);
    }
}
