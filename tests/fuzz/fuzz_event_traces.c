/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_event_traces.c - any bytes as lines of CSV, joined to requests, then to traces
 *
 * Requests come in the order of time, and their lines, too; the parents of spans lead
 * to the entry; the path of points has the time that they have.
 */
#include "import/events/event_traces.h"
#include "import/events/order_spans.h"
#include "import/lines/event_lines.h"
#include "cpt/cpt_path.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct input {
    const uint8_t *data;
    size_t left;
};

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static cpt_status read_input(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    struct input *input = context;

    *bytes = input->left < capacity ? input->left : capacity;
    if (*bytes > 0) {
        memcpy(buffer, input->data, *bytes);
    }
    input->data += *bytes;
    input->left -= *bytes;
    return CPT_OK;
}

static void check_path(const struct cpti_requests *requests,
                       const struct cpti_event_trace *trace)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const struct cpti_inferred_span *entry = &trace->spans[0];

    must(path != NULL);
    must(cpti_order_path(requests, &trace->request, path) == CPT_OK);
    must(cpt_path_check(path, (uint64_t)(entry->end_ns - entry->begin_ns), NULL) ==
         CPT_OK);
    cpt_path_free(path);
}

static void check_trace(const struct cpti_requests *requests,
                        const struct cpti_event_trace *trace)
{
    const struct cpti_request *request = &trace->request;

    must(trace->span_count >= 1 && trace->spans[0].parent == CPTI_NO_PARENT);
    for (size_t i = 1; i < request->count; i++) {
        must(request->lines[i - 1].begin_ns <= request->lines[i].begin_ns);
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        uint32_t at = (uint32_t)i;
        size_t steps = 0;

        must(trace->spans[i].begin_ns <= trace->spans[i].end_ns);
        must(trace->spans[i].line < request->count);
        while (at != 0 && steps++ <= trace->span_count) {
            at = trace->spans[at].parent;
            must(at < trace->span_count);
        }
        must(at == 0);
    }
    if (trace->method == CPTI_EVENT_BY_POINTS) {
        check_path(requests, trace);
    }
}

static void check_traces(struct cpti_requests *requests)
{
    struct cpti_event_traces *traces = cpti_event_traces_new(NULL, requests);
    struct cpti_event_trace trace;
    cpt_status status = traces != NULL ? cpti_event_traces_learn(traces) : CPT_OK;

    must(traces != NULL);
    while (status == CPT_OK) {
        status = cpti_event_traces_next(traces, &trace);
        if (status == CPT_OK) {
            check_trace(requests, &trace);
        }
    }
    must(status == CPT_END);
    cpti_event_traces_free(traces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const struct cpti_event_lines_options options = {
        .read = read_input, .context = &input, .name = "x.csv"};
    const struct cpti_requests_options joined = {.memory_bytes_max = 1 << 26};
    struct cpti_event_lines *lines = cpti_event_lines_new(&options);
    struct cpti_requests *requests = cpti_requests_new(&joined);
    struct cpti_event event;
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;

    must(lines != NULL && requests != NULL);
    while (status == CPT_OK) {
        status = cpti_event_lines_next(lines, &event, &error);
        if (status == CPT_OK) {
            must(cpti_requests_add(requests, &event) == CPT_OK);
        }
    }
    must(status == CPT_END || error.sentence[0] != '\0');
    check_traces(requests);
    cpti_requests_free(requests);
    cpti_event_lines_free(lines);
    return 0;
}
