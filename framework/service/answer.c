/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * answer.c - the end of a request: its path, its answer, its record
 *
 *      plan ended --> response time is fixed --> path, as metadata if asked
 *                                                  |
 *                       log queue <-- record <-- answer
 *
 * The latency of a request ends just before its path is made: the caller sees the time
 * that making and encoding it takes as ‹network+serialization›. The record is made
 * after the answer. A request keeps its memory until its record is written.
 */
#include "framework/service/answer.h"

#include "framework/run/recording.h"
#include "framework/service/attributes.h"
#include "framework/service/rules/experiment.h"
#include "framework/service/failure.h"
#include "framework/service/kept.h"
#include "framework/service/outcome.h"
#include "framework/service/serving.h"

#include <stdio.h>
#include <string.h>

/* --- The record --- */

static void release_item(struct cpti_log_item *item)
{
    struct cpti_serving *serving = CPTI_CONTAINER(item, struct cpti_serving, item);

    cpti_request_release(serving->request);
}

void cpti_answer_record_cause(struct cpt_record *record,
                              const struct cpti_decision *decision,
                              const struct cpti_trace_context *trace)
{
    record->probability = decision->probability > 0 ? decision->probability : 1;
    record->is_forced = decision->is_forced;
    record->is_random = decision->is_random;
    record->is_local_root = decision->is_local_root;
    if (trace->is_there) {
        const struct cpt_traceparent *parent = &trace->parent;

        record->has_trace_id = 1;
        record->has_parent_id = !trace->is_made; /* no span of its caller is known */
        memcpy(record->trace_id, parent->trace_id, sizeof parent->trace_id);
        memcpy(record->parent_id, parent->parent_id, sizeof parent->parent_id);
    }
}

/* A thread that is stopped between two clocks reads them again. */
enum { CLOCK_READS_MAX = 4, CLOCK_READ_NS = 1000 };

uint64_t cpti_answer_start_unix_ns(const struct cpt_clock *clock, uint64_t arrival_ns)
{
    uint64_t start_ns = 0;
    uint64_t least_ns = UINT64_MAX;

    for (int i = 0; i < CLOCK_READS_MAX && least_ns > CLOCK_READ_NS; i++) {
        const uint64_t before_ns = cpt_clock_now_ns(clock);
        const uint64_t unix_ns = cpt_clock_unix_ns();
        const uint64_t took_ns = cpt_clock_now_ns(clock) - before_ns;

        if (took_ns < least_ns) {
            least_ns = took_ns;
            start_ns = unix_ns - (before_ns + took_ns / 2 - arrival_ns);
        }
    }
    return start_ns;
}

void cpti_answer_record_end(struct cpt_record *record, uint64_t latency_ns,
                            const struct cpti_answered *answered,
                            char text[CPTI_ANSWER_STATUS_BYTES])
{
    const char *name = answered->name;

    record->latency_ns = latency_ns;
    record->is_failed = answered->http_status >= 500;
    if (name != NULL) {
        (void)snprintf(text, CPTI_ANSWER_STATUS_BYTES, "%s",
                       strcmp(name, "OK") == 0 ? "ok" : name);
    } else {
        (void)snprintf(text, CPTI_ANSWER_STATUS_BYTES,
                       answered->http_status < 400 ? "ok" : "%u",
                       answered->http_status);
    }
    record->status = cpt_bytes_of(text);
}

/* The attributes of the application, and why the request failed, if it did. */
static void fill_attributes(struct cpti_serving *serving,
                            const struct cpti_failure *failure)
{
    struct cpt_request *request = serving->request;
    struct cpt_record *record = &serving->item.record;
    struct cpt_attribute *attributes =
        cpti_attributes_close(request, &record->attribute_count);

    serving->attribute_count = record->attribute_count;
    if (failure != NULL) {
        cpti_lock_take(&request->lock);
        attributes = cpti_failure_note(failure, serving->service, &request->notes,
                                       attributes, &record->attribute_count);
        cpti_lock_release(&request->lock);
    }
    record->attributes = attributes;
}

/* @failure: NULL if the request has not failed. */
static void fill_record(struct cpti_serving *serving,
                        const struct cpti_answered *answered,
                        const struct cpti_failure *failure)
{
    struct cpt_request *request = serving->request;
    struct cpt_record *record = &serving->item.record;

    cpti_answer_record_end(record, cpt_request_latency_ns(request), answered,
                           serving->status);
    record->start_unix_ns =
        cpti_answer_start_unix_ns(request->clock, request->trace.arrival_ns);
    record->is_failed |= request->status != CPT_OK && request->refusal == 0;
    record->service = serving->service_name;
    record->method = serving->method_name;
    record->entry = request->trace.entry;
    fill_attributes(serving, failure);
    record->path = serving->path;
    cpti_answer_record_cause(record, &serving->decision, &serving->trace.context);
    if (serving->spans != NULL) { /* it is ours: who called is in the one that came */
        record->has_parent_id = serving->spans->parent_id != 0;
        for (size_t i = 0; i < sizeof record->parent_id; i++) {
            record->parent_id[i] =
                (unsigned char)(serving->spans->parent_id >> (56 - 8 * i));
        }
    }
}

/* --- The answer --- */

/* Whether a request that had begun ended because the requests of its service together
 * have no more memory. */
static bool is_starved(const struct cpt_request *request)
{
    const struct cpti_serving *serving = request->served;

    return (request->status == CPT_LIMIT || request->status == CPT_NO_MEMORY) &&
           cpti_account_is_refused(&serving->account);
}

/* What a task that refused the request says to the client, as a line. */
static struct cpt_bytes refusal_line(struct cpt_request *request)
{
    const size_t bytes =
        request->refusal_text != NULL ? strlen(request->refusal_text) : 0;
    char *line = bytes != 0 ? cpti_request_take(request, bytes + 2) : NULL;

    if (line == NULL) {
        return cpt_bytes_of("the request was refused\n");
    }
    memcpy(line, request->refusal_text, bytes);
    line[bytes] = '\n';
    return (struct cpt_bytes){line, bytes + 1};
}

/* Fills in the output of the plan, or that it failed. The sentence of an error is not
 * sent: it may reveal internals. */
static void fill_outbound(struct cpt_request *request, struct cpt_outbound *outbound)
{
    static const char plain_text[] = "text/plain; charset=utf-8";
    static const struct cpt_rpc_reply none = {0};
    const struct cpt_rpc_reply *reply = cpt_request_output(request);

    if (request->refusal != 0) {
        reply = &none;
        outbound->outcome = request->refusal;
        outbound->body = refusal_line(request);
    } else if (reply == NULL) {
        reply = &none;
        outbound->outcome = is_starved(request) ? CPT_OUTCOME_RESOURCE_EXHAUSTED
                                                : cpti_outcome_of(request->status);
        outbound->body = cpt_bytes_of(is_starved(request) ? "too much in flight\n"
                                                          : "the request failed\n");
    } else {
        outbound->outcome = reply->outcome != CPT_OUTCOME_NONE
                                ? reply->outcome
                                : cpt_outcome_of_http_status(reply->http_status);
        outbound->body = reply->body;
        outbound->headers = reply->headers;
        outbound->header_count = reply->header_count;
        outbound->is_stream = reply->is_stream;
    }
    outbound->http_status = reply->http_status != 0
                                ? reply->http_status
                                : cpt_outcome_http_status(outbound->outcome);
    outbound->content_type =
        reply->content_type.bytes != 0
            ? reply->content_type
            : (struct cpt_bytes){plain_text, sizeof plain_text - 1};
}

/* The critical path, from now on part of the request. */
static void make_path(struct cpti_serving *serving)
{
    serving->path = cpti_request_path_new(serving->request);
    if (serving->path == NULL ||
        cpt_request_path(serving->request, serving->path, NULL) != CPT_OK) {
        CPTI_COUNT(&serving->service->counters, lost_paths);
        serving->path = NULL;
    }
}

struct cpt_bytes cpti_answer_metadata(struct cpt_service *service,
                                      const struct cpti_answer_path *answer,
                                      unsigned char *data)
{
    struct cpti_counters *counters = &service->counters;
    const size_t own = service->options.metadata_bytes_max;
    const struct cpt_ask *ask = &answer->decision->ask;
    const size_t asked = ask->bytes_max;
    const size_t both = asked < own ? asked : own;
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options,
        .alloc = service->options.alloc,
        .server_elapsed_ns = answer->elapsed_ns,
        .has_server_elapsed = 1,
        .bytes_max = answer->bytes_max < both ? answer->bytes_max : both,
        .without_drags = !ask->wants_drag,
        .nonce = answer->decision->nonce,
    };
    size_t bytes = 0;
    int fit = CPT_FIT_WHOLE;

    if (options.bytes_max == 0 || data == NULL ||
        cpt_metadata_write(answer->path, &options, data, own, &bytes, &fit) != CPT_OK) {
        CPTI_COUNT(counters, unreturned_paths);
        return (struct cpt_bytes){NULL, 0};
    }
    CPTI_COUNT(counters, returned_paths);
    if (fit != CPT_FIT_WHOLE) {
        CPTI_COUNT(counters, returned_folded);
    }
    return (struct cpt_bytes){(char *)data, bytes};
}

/* What the request, which is traced, could not record. */
static void count_lost(struct cpti_counters *counters, struct cpt_request *request)
{
    uint64_t lost_events = 0;
    uint64_t lost_attributes = 0;

    if (request->is_shared) {
        /* A task that the answer did not wait for may still run and lose more. */
        cpti_lock_take(&request->lock);
        lost_events = request->trace.dropped_event_count;
        lost_attributes = request->attribute_dropped_count;
        cpti_lock_release(&request->lock);
    } else {
        lost_events = request->trace.dropped_event_count;
        lost_attributes = request->attribute_dropped_count;
    }
    if (lost_events != 0 || lost_attributes != 0) {
        CPTI_COUNT_MORE(counters, lost_events, lost_events);
        CPTI_COUNT_MORE(counters, lost_attributes, lost_attributes);
    }
}

static void count_end(struct cpti_serving *serving)
{
    struct cpti_counters *counters = &serving->service->counters;
    struct cpt_request *request = serving->request;

    if (request->status != CPT_OK) {
        CPTI_COUNT(counters, failed);
    }
    if (is_starved(request)) {
        CPTI_COUNT(counters, refused_busy);
    }
    if (request->status == CPT_TIMEOUT) {
        CPTI_COUNT(counters, timed_out);
    } else if (request->status == CPT_CANCELLED) {
        CPTI_COUNT(counters, cancelled);
    }
    if (request->is_traced) {
        count_lost(counters, request);
        if (serving->is_in_experiment) {
            cpti_experiment_end(serving);
        }
    }
}

/* The rules decide whether the record is written. */
static bool end_pending(struct cpti_serving *serving)
{
    struct cpt_record *record = &serving->item.record;
    const struct cpti_ended ended = {.latency_ns = record->latency_ns,
                                     .is_failed = record->is_failed != 0,
                                     .attributes = record->attributes,
                                     .attribute_count = record->attribute_count,
                                     .path = serving->path};

    cpti_sampling_end(&serving->service->sampling, &serving->decision, &ended,
                      serving->method->glance, &serving->service->counters);
    cpti_answer_record_cause(record, &serving->decision, &serving->trace.context);
    return serving->decision.is_logged;
}

/* The names of a record that is made though it was not sure to be. */
static bool take_names(struct cpti_serving *serving)
{
    struct cpt_request *request = serving->request;
    bool is_taken = false;

    cpti_lock_take(&request->lock);
    is_taken = cpti_serving_copy_names(serving, &request->notes);
    cpti_lock_release(&request->lock);
    if (!is_taken) {
        serving->decision.is_logged = false;
        CPTI_COUNT(&serving->service->counters, lost_paths);
    }
    return is_taken;
}

/* Whether the request is traced for rules that cannot keep it, as nearly all are: then
 * its path is not made. */
static bool is_dropped(struct cpti_serving *serving, unsigned http_status)
{
    struct cpt_request *request = serving->request;

    return cpti_sampling_drops(&serving->service->sampling, &serving->decision,
                               cpt_request_latency_ns(request),
                               http_status >= 500 ||
                                   (request->status != CPT_OK && request->refusal == 0),
                               &serving->service->counters);
}

/* Whether the request has a record for the log, or one that the rules need to decide
 * about its spans. */
static bool has_record(const struct cpti_serving *serving)
{
    return serving->path != NULL && serving->decision.is_logged &&
           (serving->service->options.log != NULL ||
            (serving->spans != NULL && serving->decision.is_pending));
}

/* Hands the record to the log if the request is to have one. */
static void log_request(struct cpti_serving *serving,
                        const struct cpti_answered *answered,
                        const struct cpti_failure *failure)
{
    struct cpt_request *request = serving->request;
    const bool has_log = serving->service->options.log != NULL;
    const bool is_kept = cpti_kept_is(serving);

    if (!has_record(serving) && !is_kept) {
        count_end(serving);
        return;
    }
    if (serving->decision.is_pending && !take_names(serving)) {
        count_end(serving);
        return;
    }
    cpti_request_hold(request); /* for the record */
    fill_record(serving, answered, failure);
    count_end(serving);
    if (is_kept) {
        cpti_kept_answered(serving);
    }
    if (!has_record(serving) ||
        (serving->decision.is_pending && !end_pending(serving)) || !has_log) {
        cpti_request_release(request);
        return;
    }
    serving->item.release = release_item;
    cpti_lock_take(&request->lock);
    serving->item.memory_bytes = cpti_request_bytes(request);
    cpti_lock_release(&request->lock);
    /* From now on the limit of the queue holds: a slow log must not take memory from
     * requests that come. */
    cpti_account_move(&serving->account, &serving->notes);
    cpti_log_queue_push(serving->service->options.log, &serving->item);
}

/* Counts how long the request took, if it is known and not chosen by its caller. */
static void count_latency(const struct cpti_serving *serving)
{
    const struct cpt_service *service = serving->service;
    struct cpt_request *request = serving->request;
    const struct cpti_trace_context *trace = &serving->trace.context;
    const bool is_dropped =
        serving->decision.is_pending && !serving->decision.is_logged;
    const unsigned char *trace_id = NULL;

    if (!serving->decision.is_random && !service->options.measures_latency) {
        return;
    }
    /* It came, or the request is traced: an id that is made when something asks is
     * found nowhere. One that we made is found in its record. */
    if (trace->is_there && !(trace->is_made && is_dropped)) {
        trace_id = trace->parent.trace_id;
    }
    cpti_latency_count(serving->method->latency,
                       request->is_traced ? cpt_request_latency_ns(request)
                                          : cpt_clock_now_ns(service->options.clock) -
                                                serving->begin_ns,
                       trace_id);
}

/* Adds the path to @outbound, which is whole otherwise, if the caller asked for it.
 * @room has CPT_METADATA_BYTES_CEILING bytes. */
static void add_path(struct cpti_serving *serving, struct cpt_outbound *outbound,
                     unsigned char *room)
{
    const struct cpti_answer_path answer = {
        .path = serving->path,
        .decision = &serving->decision,
        .elapsed_ns = cpt_request_latency_ns(serving->request),
        .bytes_max = serving->path_room != NULL
                         ? serving->path_room(serving->context, outbound)
                         : SIZE_MAX};

    outbound->metadata = cpti_answer_metadata(serving->service, &answer, room);
}

void cpti_answer_send(struct cpt_request *request, void *context)
{
    struct cpti_serving *serving = request->served;
    struct cpt_service *service = serving->service;
    struct cpt_outbound outbound = {0};
    unsigned char metadata[CPT_METADATA_BYTES_CEILING];
    struct cpti_failure failure;
    struct cpti_answered answered = {0};
    bool has_failed = false;

    (void)context;

    cpti_running_remove(serving);
    if (request->is_traced) {
        cpti_record_response(request);
    }
    fill_outbound(request, &outbound);
    if (request->is_traced && !is_dropped(serving, outbound.http_status)) {
        make_path(serving);
    }
    if (serving->path != NULL && serving->decision.ask.version != 0) {
        add_path(serving, &outbound, metadata);
    }
    if (serving->spans != NULL) {
        cpti_spans_answered(serving, &outbound);
    }
    count_latency(serving);
    /* Before the reply: the client that reads it may send the next request at once. */
    (void)atomic_fetch_sub_explicit(&service->in_flight_count, 1, memory_order_relaxed);
    serving->reply(serving->context, &outbound);
    has_failed = cpti_failure_is(request, outbound.http_status);
    if (request->is_traced || has_failed) {
        answered = cpti_answered_of(serving->has_outcomes, outbound.outcome,
                                    outbound.http_status, outbound.body);
    }
    if (has_failed) { /* while the request is surely there */
        cpti_failure_of(request, &answered, is_starved(request), &failure);
        cpti_failure_count(service, &failure);
        cpti_failure_tell(service, &failure, serving->input.method, &answered);
    }
    if (request->is_traced) {
        log_request(serving, &answered, has_failed ? &failure : NULL);
    } else {
        count_end(serving);
    }
}

/* --- After the answer --- */

static void release_background(struct cpti_log_item *item)
{
    struct cpti_serving *serving = CPTI_CONTAINER(item, struct cpti_serving, item);

    cpti_kept_retire(serving);
}

/* The number + 1 of the task that ended last, and when; 0: none ended after
 * @after_ns. */
static uint32_t last_task(const struct cpt_request *request, uint64_t after_ns,
                          uint64_t *end_ns)
{
    uint32_t last = 0;

    *end_ns = after_ns;
    for (uint32_t i = 0; i < request->plan->task_count; i++) {
        const uint64_t own_ns =
            atomic_load_explicit(&request->records[i].end_ns, memory_order_relaxed);

        if (own_ns > *end_ns) {
            *end_ns = own_ns;
            last = i + 1;
        }
    }
    return last;
}

/* Why task @number - 1 has failed, which ended last, after the answer. */
static void note_background_failure(struct cpti_serving *serving, uint32_t number)
{
    struct cpt_request *request = serving->request;
    struct cpt_record *record = &serving->item.record;
    const unsigned outcome = cpti_outcome_of(CPT_FAILED);
    const struct cpti_answered answered =
        cpti_answered_of(serving->has_outcomes, outcome,
                         cpt_outcome_http_status(outcome), cpt_bytes_of(""));
    struct cpti_failure failure;

    cpti_failure_of_task(request, number - 1,
                         atomic_load_explicit(&request->progress[number - 1].outcome,
                                              memory_order_relaxed),
                         &failure);
    record->attributes =
        cpti_failure_note(&failure, serving->service, &request->notes,
                          (struct cpt_attribute *)(uintptr_t)record->attributes,
                          &record->attribute_count);
    cpti_failure_tell(serving->service, &failure, serving->input.method, &answered);
}

/* Turns the trace into that of the time after the answer, and makes its path. */
static cpt_status make_background(struct cpti_serving *serving, uint32_t last,
                                  uint64_t end_ns)
{
    struct cpt_request *request = serving->request;
    struct cpt_record *record = &serving->item.record;

    record->start_unix_ns += record->latency_ns;
    request->trace.arrival_ns = request->trace.response_ns;
    request->trace.dispatch_ns = 0;
    request->trace.response_ns = end_ns;
    request->answered_by = last;
    record->latency_ns = end_ns - request->trace.arrival_ns;
    record->is_background = 1;
    record->is_local_root = 1;
    record->is_failed = atomic_load_explicit(&request->progress[last - 1].outcome,
                                             memory_order_relaxed) != CPT_OK;
    record->status = cpt_bytes_of(record->is_failed ? "failed" : "ok");
    record->attribute_count = serving->attribute_count;
    if (record->is_failed) {
        note_background_failure(serving, last);
    }
    serving->path = cpti_request_path_new(request);
    record->path = serving->path;
    return serving->path != NULL ? cpt_request_path(request, serving->path, NULL)
                                 : CPT_NO_MEMORY;
}

/*
 * The work of the request has ended, and its record, if it has one, is written. Its
 * work after the answer gets a record of its own: that work delayed no caller, so it is
 * in no path, but it was not free.
 */
void cpti_answer_retire(struct cpt_request *request)
{
    struct cpti_serving *serving = request->served;
    uint64_t end_ns = 0;
    uint32_t last = 0;

    if (serving->item.release == release_item && request->status == CPT_OK) {
        last = last_task(request, request->trace.response_ns, &end_ns);
    }
    if (last == 0) {
        cpti_kept_retire(serving);
        return;
    }
    if (make_background(serving, last, end_ns) != CPT_OK) {
        CPTI_COUNT(&serving->service->counters, lost_paths);
        release_background(&serving->item);
        return;
    }
    CPTI_COUNT(&serving->service->counters, background);
    serving->item.release = release_background;
    cpti_log_queue_push(serving->service->options.log, &serving->item);
}
