/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_import.c - lines of logs become records; see event_import.h */
#include "tool/events/event_import.h"

#include "tool/base/command.h"
#include "tool/base/files.h"
#include "tool/base/names.h"
#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/events/event_input.h"
#include "tool/events/event_order.h"
#include "tool/log/span_records.h"
#include "tool/requests/span_totals.h"
#include "import/events/event_traces.h"
#include "import/events/order_spans.h"
#include "import/spans/spans.h"
#include "cpt/cpt_path.h"
#include "cpt/cpt_trace.h"
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ATTRIBUTES_MAX = 4, ID_BYTES = 17 };

/* What goes through the whole run. */
struct event_import {
    struct cpti_event_input input;
    struct cpti_event_traces *traces;
    struct cpti_event_order order;
    struct cpti_spans *spans;
    struct cpti_output log;
    struct cpti_span_records records;
    struct cpti_span_totals left;
    struct cpti_span_mark *marks; /* points of the trace, those of a span together */
    size_t *mark_ends;            /* of each span, in `marks` */
    size_t mark_capacity, mark_end_capacity;
    char (*ids)[ID_BYTES]; /* of spans: their numbers, from 1 */
    size_t id_capacity;
    struct cpt_attribute attributes[ATTRIBUTES_MAX];
    uint64_t paths;
};

/* --- Traces --- */

static struct cpt_attribute text_of(const char *key, struct cpt_bytes text)
{
    return (struct cpt_attribute){
        .key = cpt_bytes_of(key), .type = CPT_ATTRIBUTE_TEXT, .value = {.text = text}};
}

/* Makes attributes of what all records of lines say; how many. */
static size_t describe(struct event_import *import,
                       const struct cpti_event_trace *trace, bool is_trace_id)
{
    const bool is_learnt = trace->method == CPTI_EVENT_BY_POINTS
                               ? import->order.order != NULL
                               : trace->made == 0;
    const unsigned evidence = is_learnt ? CPT_EVIDENCE_LEARNT : CPT_EVIDENCE_INFERRED;
    struct cpt_attribute *attributes = import->attributes;
    size_t count = 0;

    attributes[count++] =
        text_of(CPTI_EVIDENCE_ATTRIBUTE, cpt_bytes_of(cpt_evidence_word(evidence)));
    attributes[count++] =
        text_of(CPTI_SOURCE_ATTRIBUTE, cpt_bytes_of(CPTI_SOURCE_EVENTS));
    attributes[count++] = text_of(CPTI_EVENTS_ATTRIBUTE,
                                  cpt_bytes_of(cpti_event_method_word(trace->method)));
    if (!is_trace_id) {
        attributes[count++] = text_of(CPTI_REQUEST_ID_ATTRIBUTE, trace->request.id);
    }
    return count;
}

static enum cpti_span_kind kind_of(unsigned char role)
{
    return role == CPTI_EVENT_SERVER   ? CPTI_SPAN_SERVER
           : role == CPTI_EVENT_CLIENT ? CPTI_SPAN_CLIENT
                                       : CPTI_SPAN_UNKNOWN;
}

/* The text of span @number, which lives as long as the trace. */
static struct cpt_bytes id_of(const struct event_import *import, uint32_t number)
{
    if (number == CPTI_NO_PARENT) {
        return (struct cpt_bytes){"", 0};
    }
    return cpt_bytes_of(import->ids[number]);
}

/* Gives the spans of a trace their ids. */
static cpt_status make_ids(struct event_import *import, size_t count)
{
    const size_t before = import->id_capacity;
    void *ids = import->ids;
    const cpt_status status = cpt_alloc_grow(NULL, &ids, &import->id_capacity, count,
                                             UINT32_MAX, sizeof *import->ids);

    import->ids = ids;
    for (size_t i = before; i < import->id_capacity; i++) {
        (void)snprintf(import->ids[i], ID_BYTES, "%zx", i + 1);
    }
    return status;
}

/* A cpti_span_marks_fn. */
static size_t marks_of(void *context, uint32_t number,
                       const struct cpti_span_mark **marks)
{
    const struct event_import *import = context;
    size_t from = 0;

    number = (uint32_t)cpti_spans_at(import->spans, number)->number;
    from = number > 0 ? import->mark_ends[number - 1] : 0;

    *marks = import->marks + from;
    return import->mark_ends[number] - from;
}

static bool is_mark(const struct cpti_event_trace *trace, size_t line)
{
    return !trace->request.lines[line].is_interval &&
           trace->owners[line] != CPTI_NO_PARENT;
}

/* Puts the points of each span together, by counting; they stay in the order of
 * time. */
static cpt_status make_marks(struct event_import *import,
                             const struct cpti_event_trace *trace)
{
    const struct cpti_request *request = &trace->request;
    void *marks = import->marks;
    void *ends = import->mark_ends;
    cpt_status status = cpt_alloc_grow(NULL, &marks, &import->mark_capacity,
                                       request->count, SIZE_MAX, sizeof *import->marks);

    import->marks = marks;
    if (status == CPT_OK) {
        status =
            cpt_alloc_grow(NULL, &ends, &import->mark_end_capacity,
                           trace->span_count + 1, SIZE_MAX, sizeof *import->mark_ends);
        import->mark_ends = ends;
    }
    if (status != CPT_OK) {
        return status;
    }
    memset(import->mark_ends, 0, (trace->span_count + 1) * sizeof *import->mark_ends);
    for (size_t i = 0; i < request->count; i++) {
        import->mark_ends[is_mark(trace, i) ? trace->owners[i] + 1 : 0]++;
    }
    import->mark_ends[0] = 0;
    for (size_t i = 1; i <= trace->span_count; i++) {
        import->mark_ends[i] += import->mark_ends[i - 1];
    }
    /* [n] is where those of span n begin; it moves to where they end */
    for (size_t i = 0; i < request->count; i++) {
        if (is_mark(trace, i)) {
            import->marks[import->mark_ends[trace->owners[i]]++] =
                (struct cpti_span_mark){(uint64_t)request->lines[i].begin_ns,
                                        cpti_requests_text(import->input.requests,
                                                           CPTI_NAMES_KIND,
                                                           request->lines[i].kind)};
        }
    }
    return CPT_OK;
}

static cpt_status add_spans(struct event_import *import,
                            const struct cpti_event_trace *trace)
{
    const struct cpti_requests *requests = import->input.requests;
    cpt_status status = make_ids(import, trace->span_count);

    cpti_spans_reset(import->spans);
    for (uint32_t i = 0; status == CPT_OK && i < trace->span_count; i++) {
        const struct cpti_inferred_span *from = &trace->spans[i];
        const struct cpti_span span = {
            .id = id_of(import, i),
            .parent = id_of(import, from->parent),
            .service = cpti_requests_text(requests, CPTI_NAMES_SERVICE, from->service),
            .operation = cpti_requests_text(requests, CPTI_NAMES_KIND, from->kind),
            .peer = cpti_requests_text(requests, CPTI_NAMES_SERVICE, from->peer),
            .start_ns = (uint64_t)from->begin_ns,
            .duration_ns = (uint64_t)(from->end_ns - from->begin_ns),
            .number = i,
            .kind = (unsigned char)kind_of(from->role),
            .has_time = true,
            .has_start = true,
            .has_duration = true};

        status = cpti_spans_add(import->spans, &span);
    }
    return status;
}

/* Adds a record of the spans of @trace, whose id is @id. */
static cpt_status add_nested(struct event_import *import,
                             const struct cpti_event_trace *trace, struct cpt_bytes id)
{
    struct cpti_spans_report report;
    cpt_status status = add_spans(import, trace);

    status = status == CPT_OK ? make_marks(import, trace) : status;
    status = status == CPT_OK ? cpti_spans_resolve(import->spans, &report) : status;
    if (status == CPT_END) {
        import->left.rootless++;
        return CPT_OK;
    }
    status =
        status == CPT_OK ? cpti_spans_walk(import->spans, CPTI_SPANS_EXACT) : status;
    if (status != CPT_OK) {
        return status;
    }
    cpti_span_totals_add(&import->left, import->spans, &report);
    if (cpti_spans_section_count(import->spans) == 0) {
        import->left.empty++;
        return CPT_OK;
    }
    import->paths++;
    return cpti_span_records_add(&import->records, import->spans, id, 1);
}

/* Adds a record of the points of @trace. */
static cpt_status add_ordered(struct event_import *import,
                              const struct cpti_event_trace *trace, struct cpt_bytes id)
{
    struct cpt_path *path = import->records.path;
    struct cpti_request request = trace->request;
    struct cpt_record record = {
        .start_unix_ns = (uint64_t)trace->request.lines[0].begin_ns,
        .method = cpti_requests_text(import->input.requests, CPTI_NAMES_KIND,
                                     trace->spans[0].kind),
        .probability = 1};
    cpt_status status = CPT_OK;

    cpt_path_reset(path);
    if (import->order.order != NULL) {
        status = cpti_model_order_keep(import->order.order, &request);
    }
    if (status == CPT_OK) {
        status = cpti_order_path(import->input.requests, &request, path);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (cpt_path_segment_count(path) == 0) {
        import->left.empty++;
        return CPT_OK;
    }
    import->paths++;
    record.entry = cpt_path_frame_name(path, 0);
    return cpti_span_records_put(&import->records, &record, id);
}

static int import_trace(struct event_import *import,
                        const struct cpti_event_trace *trace)
{
    char id[33];
    const bool is_trace_id = cpti_event_trace_id(trace->request.id, id);
    cpt_status status;

    import->records.extra = import->attributes;
    import->records.extra_count = describe(import, trace, is_trace_id);
    status = trace->method == CPTI_EVENT_BY_POINTS
                 ? add_ordered(import, trace, cpt_bytes_of(id))
                 : add_nested(import, trace, cpt_bytes_of(id));
    if (status == CPT_OK ||
        status == CPT_IO) { /* the end of the log tells the latter */
        return status == CPT_OK ? CPTI_EXIT_DONE : CPTI_EXIT_FAILED;
    }
    return cpti_failed("a request is left out: %s", cpt_status_sentence(status));
}

/* --- The whole run --- */

static int import_all(struct event_import *import)
{
    struct cpti_event_trace trace;
    int exit_status = CPTI_EXIT_DONE;
    cpt_status status = cpti_event_traces_learn(import->traces);

    while (status == CPT_OK) {
        status = cpti_event_traces_next(import->traces, &trace);
        if (status == CPT_OK) {
            exit_status = cpti_exit_last(exit_status, import_trace(import, &trace));
        }
    }
    if (status != CPT_END) {
        return cpti_status_exit(status);
    }
    return cpti_span_records_flush(&import->records) == CPT_OK ? exit_status
                                                               : CPTI_EXIT_FAILED;
}

static int open_log(struct event_import *import, const char *path)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    const int status = cpti_output_open(&import->log, path);

    if (status == CPTI_EXIT_DONE &&
        cpti_output_write(&import->log, header, cpt_log_header(header)) != 0) {
        cpti_output_abort(&import->log);
        return CPTI_EXIT_FAILED;
    }
    return status;
}

static void tell_all(const struct event_import *import)
{
    const struct cpti_event_traces_counts *counts =
        cpti_event_traces_counts(import->traces);

    cpti_event_input_tell(&import->input);
    cpti_event_input_tell_clocks(&import->input,
                                 cpti_event_traces_clocks(import->traces));
    cpti_tell_count(counts->traces[CPTI_EVENT_BY_CALLS],
                    "requests with intervals of callers and callees");
    cpti_tell_count(counts->traces[CPTI_EVENT_BY_SERVERS],
                    "requests with intervals of callees alone: the way to them looks "
                    "like work of their callers");
    cpti_tell_count(counts->traces[CPTI_EVENT_BY_POINTS],
                    "requests with points alone: work that ran beside it is not seen");
    cpti_tell_count(counts->unlearnt,
                    "requests that no nesting was learnt from: they are long, or "
                    "others were enough");
    cpti_tell_count(counts->made,
                    "intervals made of the lines of a unit that has none, from its "
                    "first line to its last");
    cpti_tell_count(counts->points_left_out, "points that lie in no interval left out");
    cpti_span_totals_tell(&import->left);
}

/* Imports what was read into the log, which is open, and ends that. */
static int import_input(struct event_import *import,
                        const struct cpti_arguments *arguments)
{
    int status;

    import->records.sink = (struct cpt_sink){cpti_output_write, &import->log};
    import->records.adds_visits = cpti_has(arguments, "visits");
    import->spans = cpti_spans_new(NULL);
    import->traces = cpti_event_traces_new(NULL, import->input.requests);
    if (cpti_span_records_init(&import->records) != CPT_OK || import->spans == NULL ||
        import->traces == NULL) {
        cpti_output_abort(&import->log);
        return cpti_failed("out of memory");
    }
    cpti_spans_align_clocks(import->spans, false); /* they are, over many requests */
    cpti_spans_split(import->spans, marks_of, import);
    status = cpti_event_order_learn(&import->order, arguments, import->input.requests);
    if (status != CPTI_EXIT_DONE) {
        cpti_output_abort(&import->log);
        return status;
    }
    status = import_all(import);
    tell_all(import);
    if (status == CPTI_EXIT_DONE && import->paths == 0) {
        status = cpti_failed("no request has a critical path");
    }
    if (import->paths == 0) {
        cpti_output_abort(&import->log); /* an older log stays */
        return status;
    }
    return cpti_exit_last(status, cpti_output_commit(&import->log));
}

int cpti_event_import(const struct cpti_arguments *arguments)
{
    static const char *const others[] = {
        "sections", "calls", "attribute", "annotate", "mode", "trace-limit", NULL};
    const char *output = cpti_value(arguments, "output");
    struct event_import import = {.paths = 0};
    int status = CPTI_EXIT_DONE;
    int read = CPTI_EXIT_DONE;

    if (cpti_excludes(arguments, "events", others) != CPTI_EXIT_DONE) {
        return CPTI_EXIT_USAGE;
    }
    if (output == NULL) {
        return cpti_usage("'cpt import --events' needs --output FILE for a path log");
    }
    status = open_log(&import, output);
    if (status != CPTI_EXIT_DONE) {
        return status;
    }
    read = cpti_event_input_read(&import.input, arguments);
    if (cpti_event_input_is_usable(&import.input, read)) {
        status = import_input(&import, arguments);
    } else {
        cpti_output_abort(&import.log);
        status = read;
    }
    cpti_event_traces_free(import.traces);
    cpti_event_order_end(&import.order);
    cpti_event_input_end(&import.input);
    cpti_span_records_deinit(&import.records);
    cpti_spans_free(import.spans);
    free(import.ids);
    free(import.marks);
    free(import.mark_ends);
    return cpti_exit_last(read, status);
}

const struct cpti_command cpti_event_folders = {
    .name = "events",
    .is_in_folder = cpti_event_input_recognise,
    .folder_noun = "text file",
};
