/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* moved_clocks.c - what is told of clocks; see moved_clocks.h */
#include "tool/requests/moved_clocks.h"

#include "tool/table/json_write.h"
#include "tool/base/output.h"
#include "import/spans/spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NS_PER_US = 1000, TOLD_MAX = 8 };

static const double ns_per_ms = 1e6;

void cpti_moved_clock_name(struct cpt_bytes host, struct cpt_bytes service,
                           char name[CPTI_MOVED_NAME_BYTES])
{
    const int bytes = snprintf(name, CPTI_MOVED_NAME_BYTES, "%s ",
                               host.bytes > 0 ? "host" : "service");

    if (host.bytes == 0 && service.bytes == 0) {
        (void)snprintf(name, CPTI_MOVED_NAME_BYTES, "a process without a name");
        return;
    }
    (void)cpti_printable_to(host.bytes > 0 ? host : service, name + bytes,
                            CPTI_MOVED_NAME_BYTES - (size_t)bytes);
}

/* What is known of @host, or of the processes of @service; NULL: there is no room. */
static struct cpti_moved_host *host_of(struct cpti_moved_clocks *clocks,
                                       struct cpt_bytes host_name,
                                       struct cpt_bytes service)
{
    struct cpti_moved_host *host = NULL;
    char name[CPTI_MOVED_NAME_BYTES];

    cpti_moved_clock_name(host_name, service, name);
    for (size_t i = 0; i < clocks->count; i++) {
        if (strcmp(clocks->hosts[i].name, name) == 0) {
            return &clocks->hosts[i];
        }
    }
    if (clocks->count == CPTI_MOVED_HOSTS_MAX) {
        return NULL;
    }
    host = &clocks->hosts[clocks->count++];
    *host = (struct cpti_moved_host){.least_ns = INT64_MAX, .most_ns = INT64_MIN};
    memcpy(host->name, name, sizeof name);
    return host;
}

/* Counts the spans that were not believed, by host, in an order that is not that of the
 * file: it is the one in which messages name them. */
static void add_doubted(struct cpti_moved_clocks *clocks, struct cpti_spans *spans)
{
    const uint32_t *numbers = NULL;
    const size_t count = cpti_spans_doubted(spans, &numbers);

    for (size_t i = 0; i < count; i++) {
        const struct cpti_span *span = cpti_spans_at(spans, numbers[i]);
        struct cpti_moved_host *host = host_of(clocks, span->host, span->service);

        if (host == NULL) {
            clocks->other_doubted++;
            continue;
        }
        host->doubted++;
        host->doubted_traces += host->doubted_trace != clocks->traces;
        host->doubted_trace = clocks->traces;
    }
}

void cpti_moved_clocks_add(struct cpti_moved_clocks *clocks, struct cpti_spans *spans,
                           const struct cpti_spans_report *report)
{
    clocks->traces++;
    if (report->doubted > 0) {
        add_doubted(clocks, spans);
    }
    for (size_t i = 0; i < cpti_spans_clock_count(spans); i++) {
        const struct cpti_span_clock *clock = cpti_spans_clock(spans, i);
        struct cpti_moved_host *host = host_of(clocks, clock->host, clock->service);

        if (host == NULL) {
            clocks->other_spans += clock->spans;
            continue;
        }
        host->traces += host->trace != clocks->traces; /* several processes, one name */
        host->trace = clocks->traces;
        host->spans += clock->spans;
        if (clock->offset_ns < host->least_ns) {
            host->least_ns = clock->offset_ns;
        }
        if (clock->offset_ns > host->most_ns) {
            host->most_ns = clock->offset_ns;
        }
    }
}

uint64_t cpti_moved_clocks_spans(const struct cpti_moved_clocks *clocks)
{
    uint64_t spans = clocks->other_spans;

    for (size_t i = 0; i < clocks->count; i++) {
        spans += clocks->hosts[i].spans;
    }
    return spans;
}

uint64_t cpti_moved_clocks_doubted(const struct cpti_moved_clocks *clocks)
{
    uint64_t doubted = clocks->other_doubted;

    for (size_t i = 0; i < clocks->count; i++) {
        doubted += clocks->hosts[i].doubted;
    }
    return doubted;
}

static const char *side(int64_t offset_ns)
{
    return offset_ns < 0 ? "behind" : "ahead";
}

static double ms(int64_t offset_ns)
{
    return (offset_ns < 0 ? -(double)offset_ns : (double)offset_ns) / ns_per_ms;
}

static void tell_moved(const struct cpti_moved_host *host)
{
    if (host->spans == 0) {
        return;
    }
    if (host->least_ns == host->most_ns) {
        cpti_warn("the clock of %s was %.3f ms %s: %" PRIu64 " spans of %" PRIu64
                  " traces moved",
                  host->name, ms(host->most_ns), side(host->most_ns), host->spans,
                  host->traces);
        return;
    }
    cpti_warn("the clock of %s was between %.3f ms %s and %.3f ms %s: %" PRIu64
              " spans of %" PRIu64 " traces moved",
              host->name, ms(host->least_ns), side(host->least_ns), ms(host->most_ns),
              side(host->most_ns), host->spans, host->traces);
}

static void tell_doubted(const struct cpti_moved_host *host)
{
    if (host->doubted > 0) {
        cpti_warn("%" PRIu64 " spans of %s, of %" PRIu64 " traces, were not believed: "
                  "others contradict what they tell of clocks",
                  host->doubted, host->name, host->doubted_traces);
    }
}

void cpti_moved_clocks_tell(const struct cpti_moved_clocks *clocks)
{
    uint64_t spans = clocks->other_spans;
    uint64_t doubted = clocks->other_doubted;

    for (size_t i = 0; i < clocks->count; i++) {
        if (i < TOLD_MAX) {
            tell_moved(&clocks->hosts[i]);
            tell_doubted(&clocks->hosts[i]);
        } else {
            spans += clocks->hosts[i].spans;
            doubted += clocks->hosts[i].doubted;
        }
    }
    if (spans > 0) {
        cpti_warn("%" PRIu64 " spans of other hosts moved, too", spans);
    }
    if (doubted > 0) {
        cpti_warn("%" PRIu64 " spans of other hosts were not believed, either",
                  doubted);
    }
}

void cpti_json_us(struct cpti_json *json, const char *key, int64_t ns)
{
    const uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    const unsigned fraction = (unsigned)(size % NS_PER_US);
    char text[40];
    int bytes =
        snprintf(text, sizeof text, "%s%" PRIu64, ns < 0 ? "-" : "", size / NS_PER_US);

    if (fraction != 0) {
        bytes += snprintf(text + bytes, sizeof text - (size_t)bytes, ".%03u", fraction);
    }
    cpti_json_raw(json, key, (struct cpt_bytes){text, (size_t)bytes});
}

static void json_host(struct cpti_json *json, struct cpt_bytes host,
                      struct cpt_bytes service)
{
    if (host.bytes > 0) {
        cpti_json_bytes(json, "host", host);
    } else {
        cpti_json_null(json, "host");
        cpti_json_bytes(json, "service", service);
    }
}

static void json_clock(struct cpti_json *json, const struct cpti_span_clock *clock)
{
    cpti_json_open(json, NULL, '{');
    json_host(json, clock->host, clock->service);
    cpti_json_us(json, "offset_us", clock->offset_ns);
    if (clock->error_ns == UINT64_MAX) {
        cpti_json_null(json, "error_us");
    } else {
        cpti_json_us(json, "error_us", (int64_t)clock->error_ns);
    }
    cpti_json_unsigned(json, "spans", clock->spans);
    if (clock->is_stretch && clock->spans > 0) {
        cpti_json_us(json, "first_us", (int64_t)clock->first_ns);
        cpti_json_us(json, "last_us", (int64_t)clock->last_ns);
    }
    cpti_json_close(json);
}

static void json_doubted(struct cpti_json *json, struct cpti_spans *spans)
{
    const uint32_t *numbers = NULL;
    const size_t count = cpti_spans_doubted(spans, &numbers);

    if (count == 0) {
        return;
    }
    cpti_json_open(json, "doubted", '[');
    for (size_t i = 0; i < count; i++) {
        const struct cpti_span *span = cpti_spans_at(spans, numbers[i]);

        cpti_json_open(json, NULL, '{');
        cpti_json_bytes(json, "span_id", span->id);
        json_host(json, span->host, span->service);
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

void cpti_moved_clocks_json(struct cpti_json *json, struct cpti_spans *spans)
{
    if (cpti_spans_clock_count(spans) > 0) {
        cpti_json_open(json, "clocks", '[');
        for (size_t i = 0; i < cpti_spans_clock_count(spans); i++) {
            json_clock(json, cpti_spans_clock(spans, i));
        }
        cpti_json_close(json);
    }
    json_doubted(json, spans);
}
