/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_counters.c - counters as text, for people and for programs that collect them
 *
 *      GET /cpt/counters   {"service":"B","counters":[{"name":"requests",...},...]}
 *      GET /cpt/metrics    cpt_requests_total{service="B"} 7
 *
 * Members of a label (a callee's name, a reason) may come from outside, so they are
 * escaped, and a byte that is not UTF-8 becomes '?'.
 */
#include "cpt/utf8.h"
#include "framework/transport/http_loop.h"

#include <event2/buffer.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a visit writes to. */
struct counters_text {
    struct evbuffer *text;
    const char *service;
    char last_name[64]; /* Prometheus wants a help line before the first of a name */
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

/* The lines that Prometheus wants once before all counters of one name. */
static void put_help(struct counters_text *out, const struct cpt_counter *counter)
{
    if (strncmp(out->last_name, counter->name, sizeof(out->last_name) - 1) == 0) {
        return;
    }
    (void)snprintf(out->last_name, sizeof(out->last_name), "%s", counter->name);
    if (counter->is_gauge) {
        put_text(out, "# HELP cpt_%s %s\n# TYPE cpt_%s gauge\n", counter->name,
                 counter->help, counter->name);
        return;
    }
    put_text(out, "# HELP cpt_%s_total %s\n# TYPE cpt_%s_total counter\n",
             counter->name, counter->help, counter->name);
}

static void visit_prometheus(void *context, const struct cpt_counter *counter)
{
    struct counters_text *out = context;

    put_help(out, counter);
    put_text(out, counter->is_gauge ? "cpt_%s{service=" : "cpt_%s_total{service=",
             counter->name);
    put_quoted(out, cpt_bytes_of(out->service));
    if (counter->label != NULL) {
        put_text(out, ",%s=", counter->label);
        put_quoted(out, counter->member);
    }
    put_text(out, "} %llu\n", (unsigned long long)counter->value);
}

bool cpti_http_counters_prometheus(struct cpt_http *http, struct cpt_service *service,
                                   struct evbuffer *text)
{
    struct counters_text out = {.text = text, .service = cpt_service_name(service)};

    cpt_service_counters(service, visit_prometheus, &out);
    cpt_http_counters(http, visit_prometheus, &out);
    return !out.is_bad;
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
}
