/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_lines.c - the spans of a request as a line of OTLP, as collectors write to files
 *
 *      server "A: /"          |===================================|
 *        task A1              |==== wait ====================== ==|
 *          wait                    |========================|
 *          client "B: get"       |========================|
 *
 * Times of spans are those of the wall clock, and do not say who waited for whom. So
 * each span has a *note*, an attribute of one line, with the records that the path is
 * made of: docs/format-spans.md. All its times are nanoseconds since the arrival of the
 * request, or of the component that the span belongs to. From notes cpt import makes
 * the path that the service itself has made. For other tools that look for them, there
 * are also the attributes cpt.waits, cpt.wait and cpt.after of docs/import.md.
 *
 *      task name=A:%20A1 start=1200 end=1893011 by=00f067aa0ba902b7
 */
#include "cpt/cpt_path.h"
#include "framework/run/component.h"
#include "framework/run/recording.h"
#include "framework/run/run.h"
#include "framework/run/span_ids.h"
#include "framework/service/service.h"
#include "framework/service/serving.h"
#include "framework/service/spans.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { NOTE_BYTES = 8192, ID_BYTES = 17, TRACE_BYTES = 33, FAILED_STATUS = 2 };

/* The numbers of OpenTelemetry. */
enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER = 2, SPAN_CLIENT = 3 };

/* A note while it is written. If it does not fit, the span has none. */
struct note {
    size_t bytes;
    bool is_full;
    char text[NOTE_BYTES];
};

struct writer {
    struct cpti_json *text;
    const struct cpti_span_item *item;
    char trace_id[TRACE_BYTES];
    struct note note;
};

/* A run whose spans are written: the request, or a component of it. */
struct run {
    struct writer *writer;
    struct cpt_request *request;
    uint64_t arrival_ns;  /* of its clock */
    uint64_t response_ns; /* likewise */
    uint64_t span_id;     /* that its tasks stand below */
};

/* --- Notes --- */

static void note_begin(struct note *note, const char *kind)
{
    note->is_full = false;
    note->bytes = (size_t)snprintf(note->text, sizeof note->text, "%s", kind);
}

__attribute__((format(printf, 2, 3))) static void note_print(struct note *note,
                                                             const char *format, ...)
{
    const size_t room = sizeof note->text - note->bytes;
    va_list values;
    int bytes = 0;

    va_start(values, format);
    bytes = vsnprintf(note->text + note->bytes, room, format, values);
    va_end(values);
    if (bytes < 0 || (size_t)bytes >= room) {
        note->is_full = true;
        note->text[note->bytes] = '\0';
        return;
    }
    note->bytes += (size_t)bytes;
}

/* 0 is the default of all numbers. */
static void note_number(struct note *note, const char *key, uint64_t number)
{
    if (number != 0) {
        note_print(note, " %s=%" PRIu64, key, number);
    }
}

static void note_id(struct note *note, const char *key, uint64_t id)
{
    note_print(note, " %s=%016" PRIx64, key, id);
}

/* Only letters, digits and what is harmless everywhere stand for themselves. */
static void note_escaped(struct note *note, struct cpt_bytes text)
{
    for (size_t i = 0; i < text.bytes && !note->is_full; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                              (c >= 'a' && c <= 'z') || c == '_' || c == '-' ||
                              c == '.' || c == ':';

        note_print(note, is_plain ? "%c" : "%%%02x", c);
    }
}

static void note_text(struct note *note, const char *key, struct cpt_bytes text)
{
    if (text.bytes != 0) {
        note_print(note, " %s=", key);
        note_escaped(note, text);
    }
}

/* Time @ns of the clock of @run; 0 is not set, and what was before its arrival is at
 * it. */
static void note_time(struct run *run, const char *key, uint64_t ns)
{
    if (ns != 0 && ns != UINT64_MAX) {
        note_print(&run->writer->note, " %s=%" PRIu64, key,
                   ns > run->arrival_ns ? ns - run->arrival_ns : 0);
    }
}

/* --- Spans --- */

static void put_attribute(struct cpti_json *text, const char *key, const char *type,
                          struct cpt_bytes value)
{
    cpti_json_open(text, NULL, '{');
    cpti_json_bytes(text, "key", cpt_bytes_of(key));
    cpti_json_open(text, "value", '{');
    cpti_json_bytes(text, type, value);
    cpti_json_close(text);
    cpti_json_close(text);
}

static void put_id(struct cpti_json *text, const char *key, uint64_t id)
{
    char digits[ID_BYTES];

    (void)snprintf(digits, sizeof digits, "%016" PRIx64, id);
    cpti_json_bytes(text, key, cpt_bytes_of(digits));
}

/* 0: none. */
static void put_id_attribute(struct cpti_json *text, const char *key, uint64_t id)
{
    char digits[ID_BYTES] = "";

    if (id != 0) {
        (void)snprintf(digits, sizeof digits, "%016" PRIx64, id);
    }
    put_attribute(text, key, "stringValue", cpt_bytes_of(digits));
}

static void put_number(struct cpti_json *text, const char *key, uint64_t number)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%" PRIu64, number);
    put_attribute(text, key, "intValue", cpt_bytes_of(digits));
}

/* The wall clock at @ns, which is not before the arrival of the request. */
static void put_time(const struct writer *writer, const char *key, uint64_t ns)
{
    const struct cpti_span_item *item = writer->item;
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%" PRIu64,
                   item->start_unix_ns +
                       (ns > item->arrival_ns ? ns - item->arrival_ns : 0));
    cpti_json_bytes(writer->text, key, cpt_bytes_of(digits));
}

/* Names are "service: part". */
static struct cpt_bytes part_of(struct cpt_bytes name)
{
    const struct cpt_bytes service = cpt_name_service(name);

    return service.bytes != 0 && service.bytes + 2 < name.bytes
               ? (struct cpt_bytes){name.data + service.bytes + 2,
                                    name.bytes - service.bytes - 2}
               : name;
}

struct span {
    uint64_t id;
    uint64_t parent_id; /* 0: none */
    enum span_kind kind;
    struct cpt_bytes name; /* "A: A1" */
    uint64_t start_ns;
    uint64_t end_ns;
};

/* Up to its attributes, of which the note is the first. */
static void open_span(const struct writer *writer, const struct span *span)
{
    struct cpti_json *text = writer->text;

    cpti_json_open(text, NULL, '{');
    cpti_json_bytes(text, "traceId", cpt_bytes_of(writer->trace_id));
    put_id(text, "spanId", span->id);
    if (writer->item->tracestate.bytes != 0) {
        cpti_json_bytes(text, "traceState", writer->item->tracestate);
    }
    if (span->parent_id != 0) {
        put_id(text, "parentSpanId", span->parent_id);
    }
    cpti_json_bytes(text, "name", part_of(span->name));
    cpti_json_unsigned(text, "kind", (uint64_t)span->kind);
    put_time(writer, "startTimeUnixNano", span->start_ns);
    put_time(writer, "endTimeUnixNano",
             span->end_ns > span->start_ns ? span->end_ns : span->start_ns);
    cpti_json_open(text, "attributes", '[');
    if (!writer->note.is_full) {
        put_attribute(text, CPTI_SPAN_NOTE_KEY, "stringValue",
                      (struct cpt_bytes){writer->note.text, writer->note.bytes});
    }
}

static void close_span(const struct writer *writer, bool is_failed)
{
    struct cpti_json *text = writer->text;

    cpti_json_close(text);
    if (is_failed) {
        cpti_json_open(text, "status", '{');
        cpti_json_unsigned(text, "code", FAILED_STATUS);
        cpti_json_close(text);
    }
    cpti_json_close(text);
}

/* --- Tasks and their waits --- */

static uint64_t id_of(const struct run *run, uint64_t number)
{
    return cpti_span_id(run->request->inherited.span_seed, number);
}

static uint64_t id_of_task(const struct run *run, const struct cpt_trace_task *task)
{
    return id_of(run, ((const struct cpti_task_trace *)task->source)->number);
}

static uint64_t id_of_call(const struct run *run, const struct cpt_trace_call *call)
{
    return id_of(run, CPTI_SPAN_OF_CALL | ((const struct cpti_call *)call)->number);
}

/* Task @number - 1 waited for it; 0: none did. */
static void note_waiter(struct run *run, uint32_t number)
{
    if (number != 0) {
        note_id(&run->writer->note, "waiter", id_of(run, number - 1));
    }
}

/* The sub-graphs that a task lies in, from the innermost on. */
static void note_groups(struct note *note, const struct cpt_trace_group *group)
{
    const char *before = " group=";

    for (; group != NULL; group = group->parent) {
        note_print(note, "%s", before);
        note_escaped(note, group->name);
        before = "/";
    }
}

/* Run delay, and whose fault it was. */
static void note_starved(struct note *note, const struct cpt_trace_starved *starved)
{
    if (starved != NULL) {
        note_print(note, " delay=%" PRIu64, starved->delay_ns);
        note_text(note, "culprit", starved->culprit);
        note_number(note, "culprit_trace", starved->culprit_request);
    }
}

static void write_wait(struct run *run, uint64_t task_id, uint64_t number,
                       const struct cpt_trace_await *await)
{
    struct writer *writer = run->writer;
    struct note *note = &writer->note;
    const struct span span = {
        .id = cpti_span_id(task_id, CPTI_SPAN_OF_WAIT | number),
        .parent_id = task_id,
        .kind = SPAN_INTERNAL,
        .name = cpt_bytes_of("wait"),
        .start_ns = await->block_ns,
        .end_ns = await->resume_ns != UINT64_MAX ? await->resume_ns : run->response_ns};
    const uint64_t released_by = await->call != NULL   ? id_of_call(run, await->call)
                                 : await->task != NULL ? id_of_task(run, await->task)
                                                       : 0;

    note_begin(note, "wait");
    note_number(note, "order", number);
    note_time(run, "block", await->block_ns);
    note_time(run, "arrive", await->arrive_ns);
    note_time(run, "resume", await->resume_ns);
    if (released_by != 0) {
        note_id(note, "for", released_by);
    }
    if (await->has_margin) {
        note_print(note, " margin=%" PRIu64, await->margin_ns);
    }
    note_number(note, "off", await->off_cpu_ns);
    note_starved(note, await->starved);
    note_text(note, "occupant", await->occupant);
    note_number(note, "holder_trace", await->occupant_request);
    note_number(note, "queue", await->queue_length);
    open_span(writer, &span);
    put_id_attribute(writer->text, "cpt.wait", released_by);
    close_span(writer, false);
}

/* The tasks that gave inputs of task @number in time, but for the last one. */
static void note_inputs(struct run *run, uint32_t number, uint64_t ready_ns)
{
    const struct cpt_plan *plan = run->request->plan;
    const struct cpti_plan_task *task = &plan->tasks[number];
    const struct cpti_record *records = run->request->records;
    struct note *note = &run->writer->note;
    const char *before = " inputs=";

    for (uint32_t i = 0; i < task->input_count; i++) {
        const uint32_t giver = plan->slots[task->input_slots[i]].giver;
        uint64_t end_ns = 0;

        if (giver == CPTI_NO_TASK || giver + 1 == records[number].unblocker) {
            continue;
        }
        end_ns = atomic_load_explicit(&records[giver].end_ns, memory_order_relaxed);
        if (end_ns != 0 && end_ns <= ready_ns) {
            note_print(note, "%s%016" PRIx64, before, id_of(run, giver));
            before = ",";
        }
    }
}

/* Whatever is called waits for the task that answers. */
static void write_answer(struct run *run, uint32_t answered_by)
{
    struct writer *writer = run->writer;
    const struct span span = {.id = cpti_span_id(run->span_id, CPTI_SPAN_OF_WAIT),
                              .parent_id = run->span_id,
                              .kind = SPAN_INTERNAL,
                              .name = cpt_bytes_of("wait"),
                              .start_ns = run->arrival_ns,
                              .end_ns = run->response_ns};

    if (answered_by == 0) {
        return;
    }
    note_begin(&writer->note, "answer");
    open_span(writer, &span);
    put_id_attribute(writer->text, "cpt.wait", id_of(run, answered_by - 1));
    close_span(writer, false);
}

static void write_task(void *context, const struct cpt_trace_task *task)
{
    struct run *run = context;
    struct writer *writer = run->writer;
    struct note *note = &writer->note;
    const struct span span = {.id = id_of_task(run, task),
                              .parent_id = task->starter != NULL
                                               ? id_of_task(run, task->starter)
                                               : run->span_id,
                              .kind = SPAN_INTERNAL,
                              .name = task->name,
                              .start_ns = task->start_ns,
                              .end_ns = task->end_ns};
    const uint32_t own = ((const struct cpti_task_trace *)task->source)->number;
    uint64_t number = 1;
    uint64_t waits = 0;

    note_begin(note, "task");
    note_text(note, "name", task->name);
    note_groups(note, task->group);
    note_time(run, "ready", task->ready_ns);
    note_time(run, "start", task->start_ns);
    note_time(run, "end", task->end_ns);
    if (task->begin == CPT_BEGIN_TASK) {
        note_id(note, "after", id_of_task(run, task->unblocker));
    }
    if (task->starter != NULL) {
        note_id(note, "starter", id_of_task(run, task->starter));
    }
    note_inputs(run, own, task->ready_ns);
    if (run->request->plan->steps[own].is_startable) {
        note_waiter(run, cpti_request_demand(run->request, own)->waiter);
    }
    if (task->has_margin) {
        note_print(note, " margin=%" PRIu64, task->margin_ns);
    }
    note_number(note, "off", task->off_cpu_ns);
    note_starved(note, task->starved);
    note_text(note, "executor", task->executor);
    note_text(note, "occupant", task->occupant);
    note_number(note, "holder_trace", task->occupant_request);
    note_number(note, "queue", task->queue_length);
    for (const struct cpt_trace_await *await = task->last_await; await != NULL;
         await = await->previous) {
        waits++;
    }
    open_span(writer, &span);
    put_number(writer->text, "cpt.waits", waits);
    if (task->begin == CPT_BEGIN_TASK) {
        put_id_attribute(writer->text, "cpt.after", id_of_task(run, task->unblocker));
    }
    close_span(writer, false);
    for (const struct cpt_trace_await *await = task->last_await; await != NULL;
         await = await->previous) {
        write_wait(run, span.id, number++, await);
    }
}

/* --- Calls, and the runs within --- */

static void write_tasks_and_calls(struct run *run);

static void note_run(struct run *run, uint64_t dispatch_ns, uint32_t answered_by)
{
    struct note *note = &run->writer->note;
    const struct cpt_request *request = run->request;

    note_text(note, "entry", request->trace.entry);
    note_number(note, "latency", run->response_ns - run->arrival_ns);
    note_time(run, "dispatch", dispatch_ns);
    if (answered_by != 0) {
        note_id(note, "by", id_of(run, answered_by - 1));
    }
    note_number(note, "attribution", request->trace.attribution);
    note_number(note, "overcount", request->inherited.overcount);
    note_number(note, "lost", request->trace.dropped_event_count);
    note_number(note, "cpu", request->off_cpu_ns != NULL);
}

static void note_call(struct run *run, const struct cpt_trace_call *call)
{
    struct note *note = &run->writer->note;

    note_begin(note, "call");
    note_text(note, "name", call->name);
    note_id(note, "issuer", id_of_task(run, call->issuer));
    note_waiter(run, ((const struct cpti_call *)call)->waiter);
    note_time(run, "issue", call->issue_ns);
    note_time(run, "sent", call->sent_ns);
    note_time(run, "arrive", call->arrive_ns);
    note_number(note, "outcome", call->outcome);
    note_number(note, "kind", call->kind);
    note_number(note, "reason", call->reason);
    note_number(note, "attempt", call->attempt);
    note_number(note, "path", call->reply != NULL);
    if (call->has_server_elapsed) {
        note_print(note, " elapsed=%" PRIu64, call->server_elapsed_ns);
    }
    note_number(note, "unsent", call->send_queue_ns);
    note_number(note, "unread", call->receive_queue_ns);
    note_text(note, "status", call->status);
    note_text(note, "holder", call->holder);
    note_number(note, "holder_trace", call->holder_request);
    note_text(note, "executor", call->executor);
}

/* A component of @run: its tasks stand below the span of the call. */
static bool open_component(const struct run *run, const struct cpt_trace_call *call,
                           uint64_t call_id, struct run *within)
{
    struct cpt_request *request =
        call->outcome == CPT_CALL_COMPONENT && call->reply != NULL
            ? cpti_component_request(call->reply)
            : NULL;

    if (request == NULL || !request->is_traced || request->inherited.span_seed == 0) {
        return false;
    }
    *within = (struct run){.writer = run->writer,
                           .request = request,
                           .arrival_ns = request->trace.arrival_ns,
                           .response_ns = request->trace.response_ns,
                           .span_id = call_id};
    return within->response_ns >= within->arrival_ns;
}

static void write_call(struct run *run, const struct cpt_trace_call *call)
{
    struct writer *writer = run->writer;
    /* an RPC that timed out still has its transport's queue */
    const bool is_remote =
        call->outcome == CPT_CALL_REMOTE ||
        (call->outcome == CPT_CALL_TIMEOUT && call->executor.bytes != 0);
    const struct span span = {
        .id = id_of_call(run, call),
        .parent_id = id_of_task(run, call->issuer),
        .kind = is_remote ? SPAN_CLIENT : SPAN_INTERNAL,
        .name = call->name.bytes != 0 ? call->name : cpt_bytes_of("run"),
        .start_ns = call->issue_ns,
        .end_ns = call->arrive_ns != 0 ? call->arrive_ns : run->response_ns};
    struct run within;
    const bool has_run = open_component(run, call, span.id, &within);

    note_call(run, call);
    if (has_run) {
        note_run(&within, within.request->trace.dispatch_ns,
                 within.request->answered_by);
    }
    open_span(writer, &span);
    if (is_remote) {
        put_attribute(writer->text, "peer.service", "stringValue",
                      cpt_name_service(call->name));
    }
    if (!is_remote) {
        put_number(writer->text, "cpt.waits",
                   has_run && within.request->answered_by != 0);
    }
    close_span(writer, call->status.bytes != 0 || call->outcome == CPT_CALL_TIMEOUT);
    if (has_run) {
        write_answer(&within, within.request->answered_by);
        write_tasks_and_calls(&within); /* CPT_NESTING_MAX deep */
    }
}

static void write_tasks_and_calls(struct run *run)
{
    if (cpti_recording_visit(run->request, write_task, run) != CPT_OK) {
        run->writer->text->is_full = true;
    }
    for (const struct cpti_call *call = run->request->calls; call != NULL;
         call = call->next) {
        write_call(run, &call->call);
    }
}

/* --- The request --- */

static void write_request(struct run *run)
{
    struct writer *writer = run->writer;
    const struct cpti_span_item *item = writer->item;
    const struct span span = {.id = run->span_id,
                              .parent_id = item->parent_id,
                              .kind = SPAN_SERVER,
                              .name = run->request->trace.entry,
                              .start_ns = item->arrival_ns,
                              .end_ns = item->response_ns};

    note_begin(&writer->note, "request");
    note_run(run, item->dispatch_ns, item->answered_by);
    open_span(writer, &span);
    put_number(writer->text, item->status_key, item->status);
    put_number(writer->text, "cpt.waits", item->answered_by != 0);
    close_span(writer, item->is_failed);
    write_answer(run, item->answered_by);
}

void cpti_span_lines_write(const struct cpti_span_item *item, struct cpti_json *lines)
{
    struct writer writer = {.text = lines, .item = item};
    struct cpt_request *request = item->serving->request;
    struct run run = {.writer = &writer,
                      .request = request,
                      .arrival_ns = item->arrival_ns,
                      .response_ns = item->response_ns};

    run.span_id = id_of(&run, CPTI_SPAN_OF_REQUEST);
    memcpy(writer.trace_id, item->traceparent + 3, TRACE_BYTES - 1);
    cpti_json_open(lines, NULL, '{');
    cpti_json_open(lines, "resourceSpans", '[');
    cpti_json_open(lines, NULL, '{');
    cpti_json_open(lines, "resource", '{');
    cpti_json_open(lines, "attributes", '[');
    put_attribute(lines, "service.name", "stringValue",
                  cpt_bytes_of(item->serving->service->name));
    cpti_json_close(lines);
    cpti_json_close(lines);
    cpti_json_open(lines, "scopeSpans", '[');
    cpti_json_open(lines, NULL, '{');
    cpti_json_open(lines, "scope", '{');
    cpti_json_bytes(lines, "name", cpt_bytes_of("cpt"));
    cpti_json_close(lines);
    cpti_json_open(lines, "spans", '[');
    write_request(&run);
    write_tasks_and_calls(&run);
    cpti_json_close(lines);
    cpti_json_close(lines);
    cpti_json_close(lines);
    cpti_json_close(lines);
    cpti_json_close(lines);
    cpti_json_close(lines);
}
