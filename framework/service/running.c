/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * running.c - the requests of a service that are not answered yet, and its plans, as
 * JSON
 *
 * A request is listed from its launch to its answer. The thread that tells of it keeps
 * the lock of its list, so it is not freed meanwhile: its answer waits. The lists are
 * many, and each holds every 16th request, so that requests seldom wait for each other.
 */
#include "framework/cpt_running.h"

#include "framework/graph/describe.h"
#include "framework/run/snapshot.h"
#include "framework/service/serving.h"
#include "framework/service/spans.h"
#include "cpt/base/text.h"

#include <inttypes.h>
#include <stdio.h>

/* Requests of one list that are told. */
enum { TOLD_MAX = CPT_RUNNING_REQUESTS_MAX / CPTI_RUNNING_LISTS };

/* What a document takes beside its requests. */
enum { REST_BYTES = 2048 };

void cpti_running_init(struct cpti_running_lists *running)
{
    for (int i = 0; i < CPTI_RUNNING_LISTS; i++) {
        cpti_lock_init(&running->lists[i].lock, CPTI_RANK_RUNNING);
        TAILQ_INIT(&running->lists[i].requests);
    }
}

void cpti_running_deinit(struct cpti_running_lists *running)
{
    for (int i = 0; i < CPTI_RUNNING_LISTS; i++) {
        cpti_lock_deinit(&running->lists[i].lock);
    }
}

void cpti_running_add(struct cpti_serving *serving)
{
    struct cpti_running_lists *running = &serving->service->running;
    const size_t list = serving->running.id % CPTI_RUNNING_LISTS;

    serving->running.begin_ns = cpti_coarse_ns();
    cpti_lock_take(&running->lists[list].lock);
    TAILQ_INSERT_TAIL(&running->lists[list].requests, &serving->running, link);
    cpti_lock_release(&running->lists[list].lock);
}

void cpti_running_remove(struct cpti_serving *serving)
{
    struct cpti_running_lists *running = &serving->service->running;
    const size_t list = serving->running.id % CPTI_RUNNING_LISTS;

    cpti_lock_take(&running->lists[list].lock);
    TAILQ_REMOVE(&running->lists[list].requests, &serving->running, link);
    cpti_lock_release(&running->lists[list].lock);
}

/* --- As JSON --- */

/* How long ago it came, and how much is left of its time. */
static void write_times(const struct cpti_serving *serving, struct cpti_json *text)
{
    struct cpt_request *request = serving->request;
    const uint64_t now_ns = cpti_snapshot_now(request);
    const uint64_t begin_ns =
        request->is_traced ? request->trace.arrival_ns : serving->running.begin_ns;
    const uint64_t deadline_ns = /* 0: none, or its launch has not come to it */
        __atomic_load_n(&request->deadline_ns, __ATOMIC_RELAXED);

    cpti_json_unsigned(text, "us", begin_ns < now_ns ? (now_ns - begin_ns) / 1000 : 0);
    if (deadline_ns != 0) {
        const uint64_t clock_ns = cpt_clock_now_ns(request->clock);

        cpti_json_unsigned(text, "left_us",
                           deadline_ns > clock_ns ? (deadline_ns - clock_ns) / 1000
                                                  : 0);
    }
}

static uint64_t id_of(const unsigned char bytes[sizeof(uint64_t)])
{
    uint64_t id = 0;

    for (size_t i = 0; i < sizeof id; i++) {
        id = id << 8 | bytes[i];
    }
    return id;
}

/* 16 digits; nothing of 0, which is no id. */
static void write_id(struct cpti_json *text, const char *key, uint64_t id)
{
    char hex[2 * sizeof id + 1];

    if (id != 0) {
        (void)snprintf(hex, sizeof hex, "%016" PRIx64, id);
        cpti_json_bytes(text, key, cpt_bytes_of(hex));
    }
}

/* The id by which the services of one request know it. */
static void write_trace_id(const struct cpti_trace_context *trace,
                           struct cpti_json *text)
{
    char hex[2 * sizeof trace->parent.trace_id];

    if (trace->is_there) { /* else tracing was off, and it came without one */
        cpti_json_bytes(
            text, "trace_id",
            cpti_text_hex(hex, trace->parent.trace_id, sizeof trace->parent.trace_id));
    }
}

/* That of its caller's span, which the caller tells beside the call; and of its own. */
static void write_span_ids(const struct cpti_serving *serving,
                           const struct cpti_trace_context *trace,
                           struct cpti_json *text)
{
    if (serving->spans != NULL) {
        write_id(text, "parent_id", serving->spans->parent_id);
        write_id(text, "span_id", id_of(trace->parent.parent_id));
    } else if (trace->is_there && !trace->is_made) {
        write_id(text, "parent_id", id_of(trace->parent.parent_id));
    }
}

static void write_request(const struct cpti_serving *serving, struct cpti_json *text)
{
    struct cpt_request *request = serving->request;
    const struct cpti_trace_context trace = cpti_trace_of(request->inherited.trace);
    char cut[CPT_NAME_BYTES_MAX + 1];

    cpti_json_open(text, NULL, '{');
    cpti_json_unsigned(text, "id", serving->running.id);
    cpti_json_bytes(text, "method", cpt_name_bound(serving->input.method, cut));
    write_times(serving, text);
    cpti_json_bool(text, "traced", request->is_traced);
    write_trace_id(&trace, text);
    cpti_snapshot_write(request, text);
    write_span_ids(serving, &trace, text);
    cpti_json_close(text);
}

/* Returns how many requests of list @index are left out. */
static uint64_t write_list(struct cpt_service *service, size_t index,
                           struct cpti_json *text)
{
    const struct cpti_running *running = NULL;
    uint64_t told_count = 0;
    uint64_t left_out = 0;

    cpti_lock_take(&service->running.lists[index].lock);
    TAILQ_FOREACH(running, &service->running.lists[index].requests, link)
    {
        const struct cpti_json_mark mark = cpti_json_mark(text);

        if (told_count == TOLD_MAX) {
            left_out++;
            continue;
        }
        write_request(CPTI_CONST_CONTAINER(running, struct cpti_serving, running),
                      text);
        told_count++;
        if (text->is_full) {
            cpti_json_cut(text, mark);
            left_out++;
        }
    }
    cpti_lock_release(&service->running.lists[index].lock);
    return left_out;
}

/* Ends the document, and gives it to @sink. */
static cpt_status hand_out(struct cpti_json *text, const struct cpt_sink *sink)
{
    cpt_status status = CPT_NO_MEMORY;

    if (!text->is_full) {
        status = sink->write(sink->context, text->data, text->used) == CPT_OK ? CPT_OK
                                                                              : CPT_IO;
    }
    cpti_json_deinit(text);
    return status;
}

cpt_status cpt_service_requests_json(struct cpt_service *service,
                                     const struct cpt_sink *sink)
{
    struct cpti_json text = {.alloc = service->options.alloc,
                             .bytes_max = CPT_RUNNING_BYTES_MAX - REST_BYTES};
    uint64_t left_out = 0;

    cpti_json_open(&text, NULL, '{');
    cpti_json_bytes(&text, "service", cpt_bytes_of(service->name));
    cpti_experiment_write(service, &text);
    cpti_json_open(&text, "requests", '[');
    for (size_t i = 0; i < CPTI_RUNNING_LISTS; i++) {
        left_out += write_list(service, i, &text);
    }
    text.bytes_max = CPT_RUNNING_BYTES_MAX;
    cpti_json_close(&text);
    cpti_json_unsigned(&text, "left_out", left_out);
    cpti_json_close(&text);
    return hand_out(&text, sink);
}

cpt_status cpt_service_plans_json(struct cpt_service *service,
                                  const struct cpt_sink *sink)
{
    struct cpti_json text = {.alloc = service->options.alloc,
                             .bytes_max = CPT_RUNNING_BYTES_MAX - REST_BYTES};
    uint64_t left_out = 0;

    cpti_json_open(&text, NULL, '{');
    cpti_json_bytes(&text, "service", cpt_bytes_of(service->name));
    cpti_json_open(&text, "methods", '[');
    for (size_t i = 0; i < service->method_count; i++) {
        const struct cpti_json_mark mark = cpti_json_mark(&text);

        cpti_json_open(&text, NULL, '{');
        cpti_json_bytes(&text, "method", cpt_bytes_of(service->methods[i].name));
        cpti_describe(service->methods[i].plan, "plan", &text);
        cpti_json_close(&text);
        if (text.is_full) {
            cpti_json_cut(&text, mark);
            left_out++;
        }
    }
    text.bytes_max = CPT_RUNNING_BYTES_MAX;
    cpti_json_close(&text);
    cpti_json_unsigned(&text, "left_out", left_out);
    cpti_json_close(&text);
    return hand_out(&text, sink);
}
