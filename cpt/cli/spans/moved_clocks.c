/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* moved_clocks.c - what is told of hosts whose clocks were put right */
#include "cpt/cli/spans/moved_clocks.h"

#include "cpt/cli/base/json_write.h"
#include "cpt/cli/base/output.h"
#include "cpt/import/spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NS_PER_US = 1000, TOLD_MAX = 8 };

static const double ns_per_ms = 1e6;

static struct cpti_moved_host *host_of(struct cpti_moved_clocks *clocks,
                                       const struct cpti_span_clock *clock)
{
    struct cpti_moved_host *host = NULL;
    char name[CPTI_MOVED_NAME_BYTES];

    (void)cpti_printable_to(clock->host, name, sizeof name);
    for (size_t i = 0; i < clocks->count; i++) {
        if (strcmp(clocks->hosts[i].name, name) == 0) {
            return &clocks->hosts[i];
        }
    }
    if (clocks->count == CPTI_MOVED_HOSTS_MAX) {
        return NULL;
    }
    host = &clocks->hosts[clocks->count++];
    *host = (struct cpti_moved_host){.least_ns = clock->offset_ns,
                                     .most_ns = clock->offset_ns};
    memcpy(host->name, name, sizeof name);
    return host;
}

void cpti_moved_clocks_add(struct cpti_moved_clocks *clocks,
                           const struct cpti_spans *spans)
{
    for (size_t i = 0; i < cpti_spans_clock_count(spans); i++) {
        const struct cpti_span_clock *clock = cpti_spans_clock(spans, i);
        struct cpti_moved_host *host = host_of(clocks, clock);

        if (host == NULL) {
            clocks->other_spans += clock->spans;
            continue;
        }
        host->traces++;
        host->spans += clock->spans;
        if (clock->offset_ns < host->least_ns) {
            host->least_ns = clock->offset_ns;
        }
        if (clock->offset_ns > host->most_ns) {
            host->most_ns = clock->offset_ns;
        }
    }
}

static const char *side(int64_t offset_ns)
{
    return offset_ns < 0 ? "behind" : "ahead";
}

static double ms(int64_t offset_ns)
{
    return (offset_ns < 0 ? -(double)offset_ns : (double)offset_ns) / ns_per_ms;
}

static void tell(const struct cpti_moved_host *host)
{
    if (host->least_ns == host->most_ns) {
        cpti_warn("the clock of host %s was %.3f ms %s: %" PRIu64 " spans of %" PRIu64
                  " traces moved",
                  host->name, ms(host->most_ns), side(host->most_ns), host->spans,
                  host->traces);
        return;
    }
    cpti_warn("the clock of host %s was between %.3f ms %s and %.3f ms %s: %" PRIu64
              " spans of %" PRIu64 " traces moved",
              host->name, ms(host->least_ns), side(host->least_ns), ms(host->most_ns),
              side(host->most_ns), host->spans, host->traces);
}

void cpti_moved_clocks_tell(const struct cpti_moved_clocks *clocks)
{
    uint64_t others = clocks->other_spans;

    for (size_t i = 0; i < clocks->count; i++) {
        if (i < TOLD_MAX) {
            tell(&clocks->hosts[i]);
        } else {
            others += clocks->hosts[i].spans;
        }
    }
    if (others > 0) {
        cpti_warn("%" PRIu64 " spans of other hosts moved, too", others);
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

void cpti_moved_clocks_json(struct cpti_json *json, const struct cpti_spans *spans)
{
    if (cpti_spans_clock_count(spans) == 0) {
        return;
    }
    cpti_json_open(json, "clocks", '[');
    for (size_t i = 0; i < cpti_spans_clock_count(spans); i++) {
        const struct cpti_span_clock *clock = cpti_spans_clock(spans, i);

        cpti_json_open(json, NULL, '{');
        cpti_json_bytes(json, "host", clock->host);
        cpti_json_us(json, "offset_us", clock->offset_ns);
        if (clock->error_ns == UINT64_MAX) {
            cpti_json_null(json, "error_us");
        } else {
            cpti_json_us(json, "error_us", (int64_t)clock->error_ns);
        }
        cpti_json_unsigned(json, "spans", clock->spans);
        cpti_json_close(json);
    }
    cpti_json_close(json);
}
