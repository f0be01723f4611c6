/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * manual.c - requests whose code tells the path; see cpt_manual.h
 *
 * Such a request has a trace like that of a plan. The request is a task without a
 * frame: its time is that of the entry. A part that is entered is a task that the part
 * around it starts and awaits at once; so it stands below, and leaving it ends the
 * wait:
 *
 *      A: /      ===block...............resume====        task without a frame
 *      A: search    [ start ========= end ]               started and awaited by it
 *
 * Calls and waits (manual_calls.c) are those of the innermost part. The walk does the
 * rest.
 *
 * All memory comes from an arena, which has the limit of the service's requests. What
 * does not fit is counted, and the path says that it is incomplete. Parts that were not
 * noted are counted too, so that each leave still belongs to its enter.
 */
#include "framework/share/manual.h"

#include "framework/run/call.h"
#include "framework/run/misuse.h"
#include "framework/run/recording.h"
#include "framework/service/failure.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { INTERNAL = 500 };

void cpti_manual_measure(struct cpt_manual *manual, uint64_t now_ns,
                         uint64_t *off_cpu_ns)
{
    const uint64_t cpu_ns = cpti_thread_cpu_ns();

    if (manual->off_cpu_ns != NULL) {
        const uint64_t wall_ns = now_ns - manual->step_begin_ns;
        const uint64_t ran_ns = cpu_ns - manual->step_cpu_ns;

        *manual->off_cpu_ns = wall_ns > ran_ns ? wall_ns - ran_ns : 0;
    }
    manual->off_cpu_ns = off_cpu_ns;
    manual->step_begin_ns = now_ns;
    manual->step_cpu_ns = cpu_ns;
}

/* --- New --- */

struct cpt_bytes cpti_manual_name(struct cpt_bytes given)
{
    return given.bytes != 0 ? given : cpt_bytes_of("unnamed");
}

/* "service: @part", cut to what a name may have; empty without memory. */
static struct cpt_bytes frame_name(struct cpt_manual *manual, struct cpt_bytes part)
{
    const char *service = manual->service->name;
    char text[2 * CPT_NAME_BYTES_MAX];
    char cut[CPT_NAME_BYTES_MAX + 1];
    struct cpt_bytes name = {text, 0};

    part = cpti_manual_name(part);
    (void)snprintf(text, sizeof text, "%s: %.*s", service, (int)part.bytes, part.data);
    name.bytes = strlen(text);
    name = cpt_name_bound(name, cut);
    name.data = cpt_arena_copy(&manual->arena, name.data, name.bytes);
    return name.data != NULL ? name : (struct cpt_bytes){NULL, 0};
}

struct cpt_bytes cpti_manual_copy(struct cpt_manual *manual, struct cpt_bytes from)
{
    struct cpt_bytes to = {NULL, from.bytes};

    if (from.bytes != 0) {
        to.data = cpt_arena_copy(&manual->arena, from.data, from.bytes);
    }
    return to.data != NULL ? to : (struct cpt_bytes){NULL, 0};
}

/* The trace that it came with, or its own if @is_enabled, and what is passed on. */
static void note_trace(struct cpt_manual *manual, const struct cpt_inbound *inbound,
                       uint64_t number, bool is_enabled)
{
    struct cpti_trace_context *trace = &manual->trace_context;
    struct cpt_service *service = manual->service;

    if (cpti_propagated_is_in(inbound)) {
        (void)cpti_propagated_read(&service->sampling, inbound, &service->counters,
                                   &manual->arena, &manual->propagated);
    }
    if (!trace->is_there && !is_enabled) {
        return;
    }
    if (trace->is_there) {
        manual->tracestate = cpti_trace_read_state(
            inbound->headers,
            inbound->header_count < CPT_HEADERS_MAX ? inbound->header_count
                                                    : CPT_HEADERS_MAX,
            &manual->arena, &service->counters);
    } else {
        cpti_trace_make(trace, service->sampling.trace_seed, number, &manual->decision);
        manual->tracestate = cpti_trace_make_state(&manual->decision, &manual->arena);
    }
    (void)cpti_trace_write(trace, NULL, manual->traceparent);
}

/* What the record says about the request, but for its end. */
static void note_inbound(struct cpt_manual *manual, const struct cpt_inbound *inbound,
                         uint64_t number)
{
    struct cpt_record *record = &manual->item.record;
    char cut[CPT_NAME_BYTES_MAX + 1];

    manual->trace.entry = frame_name(manual, inbound->method);
    record->entry = manual->trace.entry;
    record->service = cpti_manual_copy(manual, cpt_bytes_of(manual->service->name));
    record->method = cpti_manual_copy(manual, cpt_name_bound(inbound->method, cut));
    note_trace(manual, inbound, number, true);
    cpti_answer_record_cause(record, &manual->decision, &manual->trace_context);
}

/* What callees are asked. */
static void note_ask(struct cpt_manual *manual)
{
    struct cpt_ask ask = cpti_sampling_ask(&manual->decision,
                                           manual->service->options.metadata_bytes_max);

    manual->wants_drags = ask.wants_drag != 0;
    manual->keeps_edges = manual->wants_drags;
    manual->metadata_bytes_max = ask.bytes_max;
    manual->ask_bytes = cpt_ask_format(&ask, manual->ask, sizeof manual->ask);
    assert(manual->ask_bytes < sizeof manual->ask);
}

static void begin_trace(struct cpt_manual *manual, const struct cpt_inbound *inbound)
{
    const uint64_t arrival_ns = inbound->arrival_ns;
    const struct cpt_service_options *options = &manual->service->options;
    const uint64_t now_ns = cpti_manual_now(manual);
    struct cpt_trace *trace = &manual->trace;

    trace->arrival_ns = now_ns;
    if (arrival_ns != 0 && arrival_ns < now_ns) {
        trace->arrival_ns = arrival_ns;
        trace->dispatch_ns = now_ns;
    }
    cpti_trace_waited(trace, inbound->waited_ns);
    trace->attribution = options->attribution;
    trace->overcount = options->overcount;
    trace->answered_by = &manual->root.task;
    manual->root.task.has_no_frame = 1;
    manual->root.task.ready_ns = now_ns;
    manual->root.task.start_ns = now_ns;
    manual->current = &manual->root;
    manual->newest = &manual->root;
    trace->measures_off_cpu = options->measures_cpu != 0;
    cpti_manual_turn(manual, now_ns, &manual->root.task.off_cpu_ns);
}

/* A request without anything of its own yet; NULL: there is no memory. */
static struct cpt_manual *make(struct cpt_service *service,
                               const struct cpti_decision *decision,
                               const struct cpti_trace_context *trace)
{
    const size_t bytes_max = service->options.memory_bytes_max;
    struct cpt_manual *manual = cpt_alloc_zeroed(&service->notes.alloc, sizeof *manual);

    if (manual == NULL) {
        if (decision->is_traced) {
            CPTI_COUNT(&service->counters, lost_paths);
        }
        return NULL;
    }
    cpti_service_hold(service);
    manual->service = service;
    manual->decision = *decision;
    manual->trace_context = *trace;
    cpt_arena_init(&manual->arena, &service->notes.alloc, 0, bytes_max);
    return manual;
}

/* @carries: it is made as well if it is not traced, but has a context. */
static struct cpt_manual *begin(struct cpt_service *service,
                                const struct cpt_inbound *inbound, bool carries)
{
    const uint64_t number = 1 + atomic_fetch_add_explicit(&service->counters.requests,
                                                          1, memory_order_relaxed);
    const bool is_enabled = cpt_service_is_enabled(service) != 0;
    struct cpti_trace_context trace;
    struct cpti_decision decision = {.is_traced = false};
    struct cpt_manual *manual = NULL;

    if (!is_enabled && !carries) {
        return NULL;
    }
    cpti_trace_read(&trace, inbound, &service->counters);
    if (is_enabled) {
        cpti_sampling_decide(&service->sampling, inbound, &trace, &service->counters,
                             &decision);
    }
    if (decision.glance_bytes != 0) {
        cpti_sampling_look(&service->sampling, &decision, &service->glance,
                           cpti_sampling_arrival_ns(&service->sampling, inbound),
                           &service->counters);
    }
    if (!decision.is_traced && (!carries || (!is_enabled && !trace.is_there &&
                                             !cpti_propagated_is_in(inbound)))) {
        return NULL;
    }
    manual = make(service, &decision, &trace);
    if (manual == NULL) {
        return NULL;
    }
    if (!decision.is_traced) {
        manual->is_carrier = true;
        manual->has_ended = true;
        note_trace(manual, inbound, number, is_enabled);
        return manual;
    }
    note_inbound(manual, inbound, number);
    note_ask(manual);
    cpti_manual_keep(manual);
    begin_trace(manual, inbound);
    return manual;
}

struct cpt_manual *cpt_manual_new(struct cpt_service *service,
                                  const struct cpt_inbound *inbound)
{
    return begin(service, inbound, false);
}

struct cpt_manual *cpt_manual_new_carrying(struct cpt_service *service,
                                           const struct cpt_inbound *inbound)
{
    return begin(service, inbound, true);
}

int cpt_manual_is_traced(const struct cpt_manual *manual)
{
    return manual != NULL && !manual->is_carrier;
}

/* --- Parts --- */

void cpt_manual_enter(struct cpt_manual *manual, const char *name)
{
    struct cpti_part *part = NULL;
    struct cpti_part *outer = NULL;
    uint64_t now_ns = 0;

    if (manual == NULL || manual->has_ended) {
        return;
    }
    part = manual->lost_depth == 0 ? cpti_manual_take(manual, sizeof *part) : NULL;
    if (part == NULL) {
        manual->lost_depth++;
        return;
    }
    outer = manual->current;
    now_ns = cpti_manual_now(manual);
    part->outer = outer;
    manual->newest->next = part;
    manual->newest = part;
    part->task.name = frame_name(manual, cpt_bytes_of(name));
    part->task.begin = CPT_BEGIN_TASK;
    part->task.unblocker = &outer->task;
    part->task.starter = &outer->task;
    part->task.ready_ns = now_ns;
    part->task.start_ns = now_ns;
    part->await.task = &part->task;
    cpti_manual_wait_on(manual, part, now_ns);
    cpti_manual_await(outer, &part->await, now_ns);
    cpti_manual_turn(manual, now_ns,
                     manual->await == NULL ? &part->task.off_cpu_ns : NULL);
    manual->current = part;
}

static void leave(struct cpt_manual *manual, uint64_t now_ns)
{
    struct cpti_part *part = manual->current;

    part->task.end_ns = now_ns;
    part->await.arrive_ns = now_ns;
    part->await.resume_ns = now_ns;
    cpti_manual_wait_on(manual, part->outer, now_ns);
    cpti_manual_turn(manual, now_ns,
                     manual->await == NULL ? &part->await.off_cpu_ns : NULL);
    manual->current = part->outer;
}

void cpt_manual_leave(struct cpt_manual *manual)
{
    if (manual == NULL || manual->has_ended) {
        return;
    }
    if (manual->lost_depth != 0) {
        manual->lost_depth--;
        return;
    }
    if (manual->current == &manual->root) {
        CPTI_MISUSED(unbalanced);
        return;
    }
    leave(manual, cpti_manual_now(manual));
}

/* --- What goes with calls --- */

struct cpt_bytes cpt_manual_ask(const struct cpt_manual *manual)
{
    return manual != NULL ? (struct cpt_bytes){manual->ask, manual->ask_bytes}
                          : (struct cpt_bytes){NULL, 0};
}

struct cpt_bytes cpt_manual_traceparent(const struct cpt_manual *manual)
{
    return manual != NULL ? cpt_bytes_of(manual->traceparent)
                          : (struct cpt_bytes){NULL, 0};
}

struct cpt_bytes cpt_manual_tracestate(const struct cpt_manual *manual)
{
    return manual != NULL ? manual->tracestate : (struct cpt_bytes){NULL, 0};
}

size_t cpt_manual_propagated(const struct cpt_manual *manual,
                             const struct cpt_field **fields)
{
    const struct cpti_propagated *propagated =
        manual != NULL ? manual->propagated : NULL;

    *fields = propagated != NULL ? propagated->fields : NULL;
    return propagated != NULL ? propagated->count : 0;
}

/* --- Attributes --- */

void cpt_manual_set_text(struct cpt_manual *manual, const char *key, const char *text)
{
    const struct cpt_bytes key_bytes = cpt_bytes_of(key);
    const struct cpt_bytes value = cpt_bytes_of(text);
    struct cpt_attribute *attribute = NULL;

    if (manual == NULL || manual->has_ended) {
        return;
    }
    if (manual->attributes == NULL) {
        manual->attributes =
            cpti_manual_take(manual, (CPT_ATTRIBUTES_MAX + CPTI_FAILURE_ATTRIBUTES) *
                                         sizeof *manual->attributes);
    }
    if (manual->attributes == NULL || manual->attribute_count == CPT_ATTRIBUTES_MAX ||
        key_bytes.bytes == 0 ||
        key_bytes.bytes + value.bytes >
            CPT_ATTRIBUTE_BYTES_MAX - manual->attribute_bytes ||
        cpti_service_drops_attribute(manual->service, key_bytes)) {
        CPTI_COUNT(&manual->service->counters, lost_attributes);
        return;
    }
    attribute = &manual->attributes[manual->attribute_count];
    attribute->key = cpti_manual_copy(manual, key_bytes);
    attribute->type = CPT_ATTRIBUTE_TEXT;
    attribute->value.text = cpti_manual_copy(manual, value);
    if (attribute->key.data != NULL) {
        manual->attribute_count++; /* readers take the last one of a key */
        manual->attribute_bytes += key_bytes.bytes + value.bytes;
    }
}

/* --- The end --- */

static cpt_status open_callee(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee)
{
    struct cpt_service *service = ((struct cpt_manual *)context)->service;

    return cpti_call_open(&service->observer, &service->budget.alloc, call, callee);
}

static void spliced(void *context, const struct cpt_trace_call *call,
                    uint64_t overcount_ns, uint64_t undercount_ns, int is_inconsistent)
{
    cpti_call_spliced(&((struct cpt_manual *)context)->service->observer, call,
                      overcount_ns, undercount_ns, is_inconsistent);
}

static void make_path(struct cpt_manual *manual)
{
    struct cpti_counters *counters = &manual->service->counters;
    const struct cpt_alloc *alloc = &manual->service->budget.alloc;
    cpt_status status = CPT_NO_MEMORY;

    manual->trace.open_callee = open_callee;
    manual->trace.spliced = spliced;
    manual->trace.context = manual;
    manual->path = cpt_path_new(alloc);
    if (manual->path != NULL) {
        status = manual->wants_drags
                     ? cpti_manual_dragged_path(manual)
                     : cpt_critical_path(alloc, &manual->trace, manual->path, NULL);
    }
    if (status != CPT_OK) {
        CPTI_COUNT(counters, lost_paths);
        cpt_path_free(manual->path);
        manual->path = NULL;
    }
    CPTI_COUNT_MORE(counters, lost_events, manual->trace.dropped_event_count);
}

static void end_request(struct cpt_manual *manual, size_t path_bytes_max)
{
    const uint64_t now_ns = cpti_manual_now(manual);
    struct cpt_trace *trace = &manual->trace;

    cpti_manual_wait_over(manual, now_ns);
    while (manual->current != &manual->root) {
        leave(manual, now_ns);
    }
    cpti_manual_turn(manual, now_ns, NULL);
    manual->root.task.end_ns = now_ns;
    trace->response_ns = now_ns;
    manual->has_ended = true;
    make_path(manual);
    if (manual->path != NULL && manual->decision.ask.version != 0) {
        struct cpt_service *service = manual->service;
        const struct cpti_answer_path answer = {.path = manual->path,
                                                .decision = &manual->decision,
                                                .elapsed_ns = trace->response_ns -
                                                              trace->arrival_ns,
                                                .bytes_max = path_bytes_max};

        manual->room = cpt_alloc_array(&service->budget.alloc, NULL,
                                       service->options.metadata_bytes_max, 1);
        manual->metadata = cpti_answer_metadata(service, &answer, manual->room);
    }
}

struct cpt_bytes cpt_manual_end_within(struct cpt_manual *manual, size_t path_bytes_max)
{
    if (manual == NULL) {
        return (struct cpt_bytes){NULL, 0};
    }
    if (!manual->has_ended) {
        end_request(manual, path_bytes_max);
    }
    return manual->metadata;
}

struct cpt_bytes cpt_manual_end(struct cpt_manual *manual)
{
    return cpt_manual_end_within(manual, SIZE_MAX);
}

const struct cpt_path *cpt_manual_path(const struct cpt_manual *manual)
{
    return manual != NULL ? manual->path : NULL;
}

static void free_parts(struct cpt_manual *manual)
{
    struct cpt_service *service = manual->service;

    cpt_path_free(manual->path);
    cpt_arena_deinit(&manual->arena);
    cpt_alloc_free(&service->notes.alloc, manual);
    cpti_service_release(service);
}

static void release_graph(struct cpti_log_item *item)
{
    free_parts(((struct cpti_manual_kept *)item)->manual);
}

/* Its record, if it has one, is written. */
static void release_item(struct cpti_log_item *item)
{
    struct cpt_manual *manual = CPTI_CONTAINER(item, struct cpt_manual, item);

    if (!cpti_manual_kept_push(manual, release_graph)) {
        free_parts(manual);
    }
}

static void tell_failure(struct cpt_service *service,
                         const struct cpti_failure *failure, struct cpt_bytes method,
                         const struct cpti_answered *answered)
{
    CPTI_COUNT(&service->counters, failed);
    cpti_failure_count(service, failure);
    cpti_failure_tell(service, failure, method, answered);
}

void cpt_manual_fail(struct cpt_manual *manual, struct cpt_service *service,
                     const struct cpt_manual_failure *given)
{
    struct cpt_manual_failure own;
    struct cpti_failure failure;

    if (cpt_options_read(&own, sizeof own, given, NULL) != CPT_OK) {
        return;
    }
    if (!cpt_manual_is_traced(manual)) {
        const struct cpti_answered answered = {
            .http_status = own.http_status != 0 ? own.http_status : INTERNAL};

        cpti_failure_of_code(own.reason, own.sentence, &failure);
        tell_failure(service, &failure, own.method, &answered);
    } else if (!manual->has_failed) {
        manual->has_failed = true;
        manual->failure_reason = own.reason;
        if (own.sentence != NULL) {
            const size_t bytes = strnlen(own.sentence, CPTI_FAILURE_SENTENCE_BYTES - 1);
            char *sentence = cpt_arena_take(&manual->arena, bytes + 1); /* zeroed */

            if (sentence != NULL) {
                manual->failure_sentence = memcpy(sentence, own.sentence, bytes);
            }
        }
    }
}

/* Counts and tells that the request failed, and notes it for the record. */
static void note_failure(struct cpt_manual *manual)
{
    struct cpt_service *service = manual->service;
    struct cpti_failure failure;

    if (manual->has_failed) {
        cpti_failure_of_code(manual->failure_reason, manual->failure_sentence,
                             &failure);
    } else {
        cpti_failure_of_answer(&manual->answered, &failure);
    }
    tell_failure(service, &failure, manual->item.record.method, &manual->answered);
    manual->attributes =
        cpti_failure_note(&failure, service, &manual->arena, manual->attributes,
                          &manual->attribute_count);
}

static void fill_record(struct cpt_manual *manual)
{
    struct cpt_record *record = &manual->item.record;

    cpti_answer_record_end(record, manual->trace.response_ns - manual->trace.arrival_ns,
                           &manual->answered, manual->status);
    record->start_unix_ns = cpti_answer_start_unix_ns(manual->service->options.clock,
                                                      manual->trace.arrival_ns);
    record->is_failed = record->is_failed || manual->has_failed;
    record->attributes = manual->attributes;
    record->attribute_count = manual->attribute_count;
    record->path = manual->path;
}

/* The rules decide; false: it is not logged. */
static bool end_pending(struct cpt_manual *manual)
{
    struct cpt_record *record = &manual->item.record;
    const struct cpti_ended ended = {.latency_ns = record->latency_ns,
                                     .is_failed = record->is_failed != 0,
                                     .attributes = record->attributes,
                                     .attribute_count = record->attribute_count,
                                     .path = manual->path};

    cpti_sampling_end(&manual->service->sampling, &manual->decision, &ended,
                      &manual->service->glance, &manual->service->counters);
    cpti_answer_record_cause(record, &manual->decision, &manual->trace_context);
    return manual->decision.is_logged;
}

void cpt_manual_answered(struct cpt_manual *manual, unsigned outcome,
                         struct cpt_bytes message)
{
    if (!cpt_manual_is_traced(manual)) {
        return;
    }
    if (message.bytes > CPTI_ANSWERED_BYTES) {
        message.bytes = CPTI_ANSWERED_BYTES;
    }
    message.data = message.bytes > 0
                       ? cpt_arena_copy(&manual->arena, message.data, message.bytes)
                       : NULL;
    message.bytes = message.data != NULL ? message.bytes : 0;
    manual->answered =
        cpti_answered_of(true, outcome, cpt_outcome_http_status(outcome), message);
}

void cpt_manual_free(struct cpt_manual *manual, unsigned http_status)
{
    struct cpt_log_queue *log = NULL;
    bool is_logged = false;

    if (manual == NULL) {
        return;
    }
    if (manual->is_carrier) {
        free_parts(manual);
        return;
    }
    (void)cpt_manual_end(manual);
    cpt_alloc_free(&manual->service->budget.alloc, manual->room);
    if (manual->answered.name == NULL) {
        manual->answered.http_status = http_status;
    }
    if (manual->answered.http_status >= 500 || manual->has_failed) {
        note_failure(manual);
    }
    log = manual->service->options.log;
    is_logged = manual->path != NULL && manual->decision.is_logged && log != NULL;
    if (!is_logged && manual->kept == NULL) {
        free_parts(manual);
        return;
    }
    fill_record(manual);
    cpti_manual_kept_answered(manual);
    if (!is_logged || (manual->decision.is_pending && !end_pending(manual))) {
        release_item(&manual->item);
        return;
    }
    manual->item.release = release_item;
    manual->item.memory_bytes = sizeof *manual + manual->arena.used_bytes;
    cpti_log_queue_push(log, &manual->item);
}
