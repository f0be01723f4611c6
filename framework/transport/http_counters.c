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
    if (evbuffer_add(out->text, bytes, count) != 0) {
        out->is_bad = true;
    }
}

static void put_text(struct counters_text *out, const char *text)
{
    put(out, text, strlen(text));
}

static void put_number(struct counters_text *out, uint64_t number)
{
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
    put_text(out, digits);
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

    put_text(out, out->is_first ? "\n" : ",\n");
    out->is_first = false;
    put_text(out, "{\"name\":");
    put_quoted(out, cpt_bytes_of(counter->name));
    if (counter->label != NULL) {
        put_text(out, ",\"label\":");
        put_quoted(out, cpt_bytes_of(counter->label));
        put_text(out, ",\"member\":");
        put_quoted(out, counter->member);
    }
    put_text(out, ",\"value\":");
    put_number(out, counter->value);
    put_text(out, ",\"help\":");
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
    put_text(out, "# HELP cpt_");
    put_text(out, counter->name);
    put_text(out, "_total ");
    put_text(out, counter->help);
    put_text(out, "\n# TYPE cpt_");
    put_text(out, counter->name);
    put_text(out, "_total counter\n");
}

static void visit_prometheus(void *context, const struct cpt_counter *counter)
{
    struct counters_text *out = context;

    put_help(out, counter);
    put_text(out, "cpt_");
    put_text(out, counter->name);
    put_text(out, "_total{service=");
    put_quoted(out, cpt_bytes_of(out->service));
    if (counter->label != NULL) {
        put_text(out, ",");
        put_text(out, counter->label);
        put_text(out, "=");
        put_quoted(out, counter->member);
    }
    put_text(out, "} ");
    put_number(out, counter->value);
    put_text(out, "\n");
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
    static const char *const texts[CPTI_HTTP_COUNTER_COUNT][2] = {
#define CPTI_HTTP_COUNTER_TEXT_(name, sentence) {"http_" #name, sentence},
        CPTI_HTTP_COUNTER_MAP(CPTI_HTTP_COUNTER_TEXT_)
#undef CPTI_HTTP_COUNTER_TEXT_
    };

    for (size_t i = 0; i < CPTI_HTTP_COUNTER_COUNT; i++) {
        const struct cpt_counter counter = {
            .name = texts[i][0],
            .help = texts[i][1],
            .value = atomic_load_explicit(&http->counters[i], memory_order_relaxed),
        };

        visit(context, &counter);
    }
}
