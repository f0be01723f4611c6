/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spans.c - the ids of a request's spans, and their way to the queue
 *
 *      traceparent in --> trace id, parent            of the span of the request
 *      call           --> traceparent out, with the id of the call's span
 *      retired        --> queue --> span_lines.c      all spans at once
 *
 * While a request runs, nothing is noted for spans but the calls, in a list: the rest
 * is in the records that the path is made of. So a request is handed over when nothing
 * of it runs any more, after its record is written, and keeps its memory until its
 * spans are written, too.
 */
#include "framework/service/spans.h"

#include "framework/run/recording.h"
#include "framework/run/span_ids.h"
#include "framework/service/serving.h"
#include "framework/service/service.h"

#include <stdio.h>
#include <sys/random.h>

enum { TRACE_AT = 3, PARENT_AT = 36, ID_DIGITS = 16 };

static uint64_t number_of(const unsigned char *bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < sizeof number; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

/* Random numbers; without any, what no other request has. */
static void draw(const void *own, uint64_t *numbers, size_t count)
{
    if (getrandom(numbers, count * sizeof *numbers, GRND_NONBLOCK) ==
        (ssize_t)(count * sizeof *numbers)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] =
            cpti_span_id(cpt_clock_unix_ns() ^ (uint64_t)(uintptr_t)own << 16, i);
    }
}

/* "00-", the trace, the span @id, the flags. */
static void write_traceparent(struct cpti_span_item *item, uint64_t id, unsigned flags)
{
    (void)snprintf(item->traceparent, sizeof item->traceparent,
                   "00-%016llx%016llx-%016llx-%02x",
                   (unsigned long long)number_of(item->trace_id),
                   (unsigned long long)number_of(item->trace_id + 8),
                   (unsigned long long)id, flags & 0xff);
}

void cpti_spans_begin(struct cpti_serving *serving)
{
    struct cpt_request *request = serving->request;
    struct cpti_span_item *item = NULL;
    struct cpt_traceparent parent;
    uint64_t random[3] = {0};
    unsigned flags = CPT_TRACE_FLAG_SAMPLED | CPT_TRACE_FLAG_RANDOM;

    if (serving->service->options.spans == NULL) {
        return;
    }
    item = cpt_arena_take(&request->notes, sizeof *item);
    if (item == NULL) {
        cpti_log_queue_lose(serving->service->options.spans);
        return;
    }
    draw(item, random, sizeof random / sizeof *random);
    random[0] |= random[0] == 0;
    item->serving = serving;
    if (cpt_traceparent_parse(request->inherited.traceparent, &parent) == CPT_OK) {
        memcpy(item->trace_id, parent.trace_id, sizeof item->trace_id);
        item->parent_id = number_of(parent.parent_id);
        flags = parent.flags | CPT_TRACE_FLAG_SAMPLED; /* we keep spans of it */
    } else {
        random[1] |= random[1] == 0;
        memcpy(item->trace_id, &random[1], sizeof item->trace_id);
    }
    write_traceparent(item, cpti_span_id(random[0], CPTI_SPAN_OF_REQUEST), flags);
    request->inherited.traceparent =
        (struct cpt_bytes){item->traceparent, CPTI_TRACEPARENT_BYTES};
    request->inherited.span_seed = random[0];
    serving->spans = item;
}

struct cpt_bytes cpti_spans_traceparent(struct cpt_request *request,
                                        const struct cpt_trace_call *call)
{
    const struct cpt_bytes own = request->inherited.traceparent;
    char digits[ID_DIGITS + 1];
    char *text = NULL;

    if (call == NULL || request->inherited.span_seed == 0 ||
        own.bytes != CPTI_TRACEPARENT_BYTES) {
        return own;
    }
    text = cpt_arena_copy(&request->arena, own.data, own.bytes);
    if (text == NULL) {
        return own;
    }
    (void)snprintf(digits, sizeof digits, "%016llx",
                   (unsigned long long)cpti_span_id(
                       request->inherited.span_seed,
                       CPTI_SPAN_OF_CALL | ((const struct cpti_call *)call)->number));
    memcpy(text + PARENT_AT, digits, ID_DIGITS);
    return (struct cpt_bytes){text, own.bytes};
}

void cpti_spans_answered(struct cpti_serving *serving, unsigned http_status,
                         bool is_failed)
{
    const struct cpt_request *request = serving->request;
    const struct cpt_trace *trace = &request->trace;
    struct cpti_span_item *item = serving->spans;

    if (item == NULL) {
        return;
    }
    item->start_unix_ns =
        cpt_clock_unix_ns() - (cpt_clock_now_ns(request->clock) - trace->arrival_ns);
    item->arrival_ns = trace->arrival_ns;
    item->dispatch_ns = trace->dispatch_ns;
    item->response_ns = trace->response_ns;
    item->answered_by = request->answered_by;
    item->http_status = http_status;
    item->is_failed = is_failed;
}

static void release_item(struct cpti_log_item *item)
{
    cpti_request_free(((struct cpti_span_item *)item)->serving->request);
}

void cpti_spans_retire(struct cpti_serving *serving)
{
    struct cpt_request *request = serving->request;
    struct cpti_span_item *item = serving->spans;

    if (item == NULL || item->response_ns == 0) {
        cpti_request_free(request);
        return;
    }
    item->item.release = release_item;
    item->item.memory_bytes =
        request->block_bytes + request->arena.used_bytes + request->notes.used_bytes;
    /* As for its record: a slow disk must not take memory from requests that come. */
    cpti_account_move(&serving->account, &serving->notes);
    cpti_log_queue_push(serving->service->options.spans, &item->item);
}
