/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_spans.c - lines of logs become spans; see event_spans.h */
#include "tool/events/event_spans.h"

#include "tool/base/files.h"
#include "tool/base/names.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/events/event_input.h"
#include "tool/requests/span_totals.h"
#include "tool/table/json_write.h"
#include "import/events/event_traces.h"
#include "cpt/cpt_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ID_BYTES = 17, NUMBER_BYTES = 24, NS_PER_US = 1000 };

/* What goes through the whole run. */
struct writing {
    struct cpti_event_input input;
    struct cpti_event_traces *traces;
    struct cpti_output output;
    struct cpti_json json;
    bool is_otlp;
    bool has_inputs;     /* several */
    uint64_t *processes; /* service and host of each span */
    size_t process_capacity;
    uint32_t *firsts; /* of each span: the first point in its time */
    uint32_t *nexts;  /* of each such line: the next one */
    size_t first_capacity, next_capacity;
    struct cpti_event_trace trace; /* that is written */
    char trace_id[33];
    bool is_trace_id;
};

/* The id of span @number of the trace. */
static void write_id(struct writing *writing, const char *key, uint32_t number)
{
    const uint64_t hash = cpt_hash_bytes(number + UINT64_C(3), writing->trace_id, 32);
    char text[ID_BYTES];

    (void)snprintf(text, sizeof text, "%016" PRIx64, hash != 0 ? hash : 1);
    cpti_json_text(&writing->json, key, text);
}

/* --- Attributes --- */

/* Both forms: {"key": K, "type": "string", "value": V} of Jaeger, and {"key": K,
 * "value": {"stringValue": V}} of OpenTelemetry. */
static void write_text(struct writing *writing, const char *key, struct cpt_bytes text)
{
    struct cpti_json *json = &writing->json;

    cpti_json_open(json, NULL, '{');
    cpti_json_text(json, "key", key);
    if (writing->is_otlp) {
        cpti_json_open(json, "value", '{');
        cpti_json_bytes(json, "stringValue", text);
        cpti_json_close(json);
    } else {
        cpti_json_text(json, "type", "string");
        cpti_json_bytes(json, "value", text);
    }
    cpti_json_close(json);
}

static void write_number(struct writing *writing, const char *key, uint64_t number)
{
    struct cpti_json *json = &writing->json;
    char text[NUMBER_BYTES];

    cpti_json_open(json, NULL, '{');
    cpti_json_text(json, "key", key);
    if (writing->is_otlp) { /* whose 64-bit numbers are texts */
        (void)snprintf(text, sizeof text, "%" PRIu64, number);
        cpti_json_open(json, "value", '{');
        cpti_json_text(json, "intValue", text);
        cpti_json_close(json);
    } else {
        cpti_json_text(json, "type", "int64");
        cpti_json_unsigned(json, "value", number);
    }
    cpti_json_close(json);
}

static struct cpt_bytes text_of(const struct writing *writing,
                                enum cpti_name_sort which, uint32_t number)
{
    return cpti_requests_text(writing->input.requests, which, number);
}

static void write_attributes(struct writing *writing, const char *member,
                             const struct cpti_inferred_span *span)
{
    const struct cpti_request *request = &writing->trace.request;
    const struct cpti_line *line = &request->lines[span->line];
    const bool is_inferred =
        writing->trace.method == CPTI_EVENT_BY_POINTS || writing->trace.made > 0;

    cpti_json_open(&writing->json, member, '[');
    if (!writing->is_otlp && span->role != CPTI_EVENT_UNKNOWN) {
        write_text(writing, "span.kind",
                   cpt_bytes_of(span->role == CPTI_EVENT_SERVER ? "server" : "client"));
    }
    if (span->peer != 0) {
        write_text(writing, "peer.service",
                   text_of(writing, CPTI_NAMES_SERVICE, span->peer));
    }
    write_number(writing, "cpt.row", line->row);
    if (writing->has_inputs) {
        write_number(writing, "cpt.input", (uint64_t)line->input + 1);
    }
    if (line->has_unit) {
        write_text(writing, "cpt.unit", request->units[line->unit]);
    }
    write_text(writing, CPTI_EVIDENCE_ATTRIBUTE,
               cpt_bytes_of(cpt_evidence_word(is_inferred ? CPT_EVIDENCE_INFERRED
                                                          : CPT_EVIDENCE_LEARNT)));
    if (!writing->is_trace_id && span->parent == CPTI_NO_PARENT) {
        write_text(writing, CPTI_REQUEST_ID_ATTRIBUTE, request->id);
    }
    cpti_json_close(&writing->json);
}

/* --- Points --- */

static bool is_point_of_span(const struct cpti_event_trace *trace, size_t line)
{
    return trace->owners != NULL && !trace->request.lines[line].is_interval &&
           trace->owners[line] != CPTI_NO_PARENT;
}

/* Chains the points in the time of each span, the first one first. */
static cpt_status chain_points(struct writing *writing)
{
    const struct cpti_event_trace *trace = &writing->trace;
    void *firsts = writing->firsts;
    void *nexts = writing->nexts;
    cpt_status status =
        cpt_alloc_grow(NULL, &firsts, &writing->first_capacity, trace->span_count,
                       SIZE_MAX, sizeof *writing->firsts);

    writing->firsts = firsts;
    if (status == CPT_OK) {
        status = cpt_alloc_grow(NULL, &nexts, &writing->next_capacity,
                                trace->request.count, SIZE_MAX, sizeof *writing->nexts);
        writing->nexts = nexts;
    }
    if (status != CPT_OK) {
        return status;
    }
    for (size_t i = 0; i < trace->span_count; i++) {
        writing->firsts[i] = CPTI_NO_PARENT;
    }
    for (size_t i = trace->request.count; i > 0; i--) {
        if (is_point_of_span(trace, i - 1)) {
            writing->nexts[i - 1] = writing->firsts[trace->owners[i - 1]];
            writing->firsts[trace->owners[i - 1]] = (uint32_t)(i - 1);
        }
    }
    return CPT_OK;
}

/* Writes the points in the time of span @number, if there are any. */
static void write_points(struct writing *writing, const char *member, uint32_t number)
{
    struct cpti_json *json = &writing->json;
    char text[NUMBER_BYTES];

    if (writing->firsts[number] == CPTI_NO_PARENT) {
        return;
    }
    cpti_json_open(json, member, '[');
    for (uint32_t i = writing->firsts[number]; i != CPTI_NO_PARENT;
         i = writing->nexts[i]) {
        const struct cpti_line *line = &writing->trace.request.lines[i];
        const struct cpt_bytes name = text_of(writing, CPTI_NAMES_KIND, line->kind);

        cpti_json_open(json, NULL, '{');
        if (writing->is_otlp) {
            (void)snprintf(text, sizeof text, "%" PRId64, line->begin_ns);
            cpti_json_text(json, "timeUnixNano", text);
            cpti_json_bytes(json, "name", name);
        } else {
            cpti_json_integer(json, "timestamp", line->begin_ns / NS_PER_US);
        }
        cpti_json_open(json, writing->is_otlp ? "attributes" : "fields", '[');
        if (!writing->is_otlp) {
            write_text(writing, "event", name);
        }
        write_number(writing, "cpt.row", line->row);
        cpti_json_close(json);
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

/* --- Jaeger --- */

/* Which process span @number is of: service and host. */
static uint64_t process_of(const struct writing *writing, size_t number)
{
    const struct cpti_inferred_span *span = &writing->trace.spans[number];

    return (uint64_t)span->service << 32 |
           writing->trace.request.lines[span->line].host;
}

static void process_name(uint64_t process, char text[NUMBER_BYTES])
{
    (void)snprintf(text, NUMBER_BYTES, "p%" PRIx64, process);
}

static int compare_processes(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static void write_jaeger_span(struct writing *writing, uint32_t number)
{
    const struct cpti_inferred_span *span = &writing->trace.spans[number];
    struct cpti_json *json = &writing->json;
    char process[NUMBER_BYTES];

    process_name(process_of(writing, number), process);
    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_json_text(json, "traceID", writing->trace_id);
    write_id(writing, "spanID", number);
    cpti_json_bytes(json, "operationName",
                    text_of(writing, CPTI_NAMES_KIND, span->kind));
    cpti_json_open(json, "references", '[');
    if (span->parent != CPTI_NO_PARENT) {
        cpti_json_open(json, NULL, '{');
        cpti_json_text(json, "refType", "CHILD_OF");
        cpti_json_text(json, "traceID", writing->trace_id);
        write_id(writing, "spanID", span->parent);
        cpti_json_close(json);
    }
    cpti_json_close(json);
    cpti_json_integer(json, "startTime", span->begin_ns / NS_PER_US);
    cpti_json_integer(json, "duration",
                      span->end_ns / NS_PER_US - span->begin_ns / NS_PER_US);
    write_attributes(writing, "tags", span);
    write_points(writing, "logs", number);
    cpti_json_text(json, "processID", process);
    cpti_json_close(json);
}

/* Writes the processes of the trace; @count spans are in `processes`. */
static void write_processes(struct writing *writing, size_t count)
{
    struct cpti_json *json = &writing->json;
    char name[NUMBER_BYTES];

    qsort(writing->processes, count, sizeof *writing->processes, compare_processes);
    cpti_json_open(json, "processes", '{');
    for (size_t i = 0; i < count; i++) {
        const uint64_t process = writing->processes[i];

        if (i > 0 && writing->processes[i - 1] == process) {
            continue;
        }
        process_name(process, name);
        cpti_json_open(json, name, '{');
        cpti_json_bytes(
            json, "serviceName",
            text_of(writing, CPTI_NAMES_SERVICE, (uint32_t)(process >> 32)));
        if ((uint32_t)process != 0) {
            cpti_json_open(json, "tags", '[');
            write_text(writing, "hostname",
                       text_of(writing, CPTI_NAMES_HOST, (uint32_t)process));
            cpti_json_close(json);
        }
        cpti_json_close(json);
    }
    cpti_json_close(json);
}

static cpt_status write_jaeger(struct writing *writing)
{
    const struct cpti_event_trace *trace = &writing->trace;
    void *processes = writing->processes;
    const cpt_status status =
        cpt_alloc_grow(NULL, &processes, &writing->process_capacity, trace->span_count,
                       SIZE_MAX, sizeof *writing->processes);

    writing->processes = processes;
    if (status != CPT_OK) {
        return status;
    }
    cpti_json_row(&writing->json);
    cpti_json_open(&writing->json, NULL, '{');
    cpti_json_text(&writing->json, "traceID", writing->trace_id);
    cpti_json_open(&writing->json, "spans", '[');
    for (uint32_t i = 0; i < trace->span_count; i++) {
        writing->processes[i] = process_of(writing, i);
        write_jaeger_span(writing, i);
    }
    cpti_json_close(&writing->json);
    write_processes(writing, trace->span_count);
    cpti_json_close(&writing->json);
    return CPT_OK;
}

/* --- OpenTelemetry --- */

static void write_ns(struct cpti_json *json, const char *key, int64_t ns)
{
    char text[NUMBER_BYTES];

    (void)snprintf(text, sizeof text, "%" PRId64, ns);
    cpti_json_text(json, key, text);
}

static void write_otlp_span(struct writing *writing, uint32_t number)
{
    static const unsigned kinds[] = {0, 2, 3}; /* unspecified, server, client */
    const struct cpti_inferred_span *span = &writing->trace.spans[number];
    struct cpti_json *json = &writing->json;

    cpti_json_row(json);
    cpti_json_open(json, NULL, '{');
    cpti_json_text(json, "traceId", writing->trace_id);
    write_id(writing, "spanId", number);
    if (span->parent != CPTI_NO_PARENT) {
        write_id(writing, "parentSpanId", span->parent);
    }
    cpti_json_bytes(json, "name", text_of(writing, CPTI_NAMES_KIND, span->kind));
    cpti_json_unsigned(json, "kind", kinds[span->role]);
    write_ns(json, "startTimeUnixNano", span->begin_ns);
    write_ns(json, "endTimeUnixNano", span->end_ns);
    write_attributes(writing, "attributes", span);
    write_points(writing, "events", number);
    cpti_json_close(json);
}

/* Opens the group of the spans of one service and host. */
static void open_resource(struct writing *writing, uint64_t process)
{
    struct cpti_json *json = &writing->json;

    cpti_json_open(json, NULL, '{');
    cpti_json_open(json, "resource", '{');
    cpti_json_open(json, "attributes", '[');
    write_text(writing, "service.name",
               text_of(writing, CPTI_NAMES_SERVICE, (uint32_t)(process >> 32)));
    if ((uint32_t)process != 0) {
        write_text(writing, "host.name",
                   text_of(writing, CPTI_NAMES_HOST, (uint32_t)process));
    }
    cpti_json_close(json);
    cpti_json_close(json);
    cpti_json_open(json, "scopeSpans", '[');
    cpti_json_open(json, NULL, '{');
    cpti_json_open(json, "spans", '[');
}

/* Writes the trace as groups of spans that follow each other and are of one service and
 * host. */
static void write_otlp(struct writing *writing)
{
    for (uint32_t i = 0; i < writing->trace.span_count; i++) {
        const uint64_t process = process_of(writing, i);

        if (i == 0 || process_of(writing, i - 1) != process) {
            open_resource(writing, process);
        }
        write_otlp_span(writing, i);
        if (i + 1 == writing->trace.span_count ||
            process_of(writing, i + 1) != process) {
            for (size_t k = 0; k < 4; k++) { /* spans, its scope, scopes, resource */
                cpti_json_close(&writing->json);
            }
        }
    }
}

/* --- The whole run --- */

static int write_traces(struct writing *writing)
{
    struct cpti_json *json = &writing->json;
    cpt_status status = cpti_event_traces_learn(writing->traces);

    json->file = writing->output.file;
    cpti_json_open(json, NULL, '{');
    cpti_json_open(json, writing->is_otlp ? "resourceSpans" : "data", '[');
    while (status == CPT_OK) {
        status = cpti_event_traces_next(writing->traces, &writing->trace);
        if (status != CPT_OK) {
            break;
        }
        writing->is_trace_id =
            cpti_event_trace_id(writing->trace.request.id, writing->trace_id);
        status = chain_points(writing);
        if (status == CPT_OK && writing->is_otlp) {
            write_otlp(writing);
        } else if (status == CPT_OK) {
            status = write_jaeger(writing);
        }
    }
    cpti_json_close(json);
    cpti_json_close(json);
    return status == CPT_END ? CPTI_EXIT_DONE : cpti_status_exit(status);
}

static int write_output(struct writing *writing, const char *path)
{
    int status = cpti_output_open(&writing->output, path);

    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    writing->traces = cpti_event_traces_new(NULL, writing->input.requests);
    status =
        writing->traces != NULL ? write_traces(writing) : cpti_failed("out of memory");
    cpti_event_input_tell(&writing->input);
    if (writing->traces != NULL) {
        cpti_event_input_tell_clocks(&writing->input,
                                     cpti_event_traces_clocks(writing->traces));
    }
    if (status == CPTI_EXIT_DONE &&
        cpti_requests_counts(writing->input.requests)->requests == 0) {
        status = cpti_failed("there is no request");
    }
    if (status != CPTI_EXIT_DONE) {
        cpti_output_abort(&writing->output);
        return status;
    }
    cpti_tell_count(cpti_event_traces_counts(writing->traces)->spans, "spans");
    return cpti_output_commit(&writing->output);
}

int cpti_event_spans(const struct cpti_arguments *arguments)
{
    const char *format = cpti_value(arguments, "format");
    const char *output = cpti_value(arguments, "output");
    struct writing *writing = NULL;
    int read = CPTI_EXIT_DONE;
    int status = CPTI_EXIT_DONE;

    if (output == NULL) {
        return cpti_usage("'cpt events spans' needs --output FILE; '-' is standard "
                          "output");
    }
    writing = calloc(1, sizeof *writing);
    if (writing == NULL) {
        return cpti_failed("out of memory");
    }
    writing->is_otlp = format != NULL && strcmp(format, "otlp") == 0;
    writing->has_inputs = arguments->operand_count > 1;
    read = cpti_event_input_read(&writing->input, arguments);
    status = cpti_event_input_is_usable(&writing->input, read)
                 ? write_output(writing, output)
                 : read;
    cpti_event_traces_free(writing->traces);
    cpti_event_input_end(&writing->input);
    free(writing->processes);
    free(writing->firsts);
    free(writing->nexts);
    free(writing);
    return cpti_exit_last(read, status);
}
