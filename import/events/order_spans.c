/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* order_spans.c - points in the order of time; see order_spans.h */
#include "import/events/order_spans.h"

#include "cpt/cpt_path.h"

#include <stdio.h>

enum { PLACES_MAX = 256 /* services on the stack; deeper ones count as the last */ };

/* How many lines the request has up to the last one of its entry. */
static size_t awaited(const struct cpti_request *request)
{
    size_t count = request->count;

    while (request->lines[count - 1].service != request->lines[0].service) {
        count--;
    }
    return count;
}

static struct cpti_inferred_span span_at(const struct cpti_request *request,
                                         uint32_t number, uint32_t parent)
{
    const struct cpti_line *line = &request->lines[number];

    return (struct cpti_inferred_span){.line = number,
                                       .parent = parent,
                                       .service = line->service,
                                       .kind = line->kind,
                                       .role = CPTI_EVENT_SERVER,
                                       .begin_ns = line->begin_ns,
                                       .end_ns = line->begin_ns};
}

/* Where the service of @line is on the stack; @depth: nowhere. */
static size_t place_of(const struct cpti_line *line, const uint32_t *stack,
                       size_t depth, const struct cpti_inferred_span *spans)
{
    for (size_t i = depth; i > 0; i--) {
        if (spans[stack[i - 1]].service == line->service) {
            return i - 1;
        }
    }
    return depth;
}

/* Ends the calls above @place, which a line of its service at @time_ns shows to be
 * over. Of its own call the caller saw the end then; the others end with their
 * callees. */
static void end_calls(struct cpti_inferred_span *spans, const uint32_t *stack,
                      size_t depth, size_t place, int64_t time_ns)
{
    for (size_t i = depth - 1; i > place; i--) {
        const struct cpti_inferred_span *callee = &spans[stack[i]];
        struct cpti_inferred_span *client = &spans[callee->parent];
        struct cpti_inferred_span *caller = &spans[client->parent];

        client->end_ns = i == place + 1 ? time_ns : callee->end_ns;
        if (caller->end_ns < client->end_ns) {
            caller->end_ns = client->end_ns;
        }
    }
}

/* Adds a call of the service of line @number by span @caller: the spans of both sides,
 * numbers @count and the next one. */
static void add_call(const struct cpti_request *request, uint32_t number,
                     uint32_t caller, uint32_t count, struct cpti_inferred_span *spans)
{
    const struct cpti_line *line = &request->lines[number];
    struct cpti_inferred_span client = spans[caller];

    client.parent = caller;
    client.role = CPTI_EVENT_CLIENT;
    client.peer = line->service;
    client.kind = line->kind;
    client.begin_ns = spans[caller].end_ns;
    client.end_ns = line->begin_ns;
    spans[count] = client;
    spans[count + 1] = span_at(request, number, count);
}

size_t cpti_order_spans(const struct cpti_request *request, uint32_t *stack,
                        struct cpti_inferred_span *spans)
{
    const size_t lines = awaited(request);
    size_t depth = 1;
    size_t count = 1;

    spans[0] = span_at(request, 0, CPTI_NO_PARENT);
    stack[0] = 0;
    for (uint32_t i = 1; i < lines; i++) {
        const struct cpti_line *line = &request->lines[i];
        const size_t place = place_of(line, stack, depth, spans);

        if (place < depth) {
            end_calls(spans, stack, depth, place, line->begin_ns);
            depth = place + 1;
        } else if (depth < PLACES_MAX) {
            add_call(request, i, stack[depth - 1], (uint32_t)count, spans);
            stack[depth++] = (uint32_t)count + 1;
            count += 2;
        }
        spans[stack[depth - 1]].end_ns = line->begin_ns;
    }
    return count;
}

/* --- The path --- */

static struct cpt_bytes service_text(const struct cpti_requests *requests,
                                     uint32_t service)
{
    return service != 0 ? cpti_requests_text(requests, CPTI_NAMES_SERVICE, service)
                        : cpt_bytes_of("unknown");
}

/* A service that has the request, or waits for one above it. */
struct place {
    uint32_t service;
    uint32_t frame;
};

struct order_path {
    const struct cpti_requests *requests;
    const struct cpti_request *request;
    struct cpt_path *path;
    struct place stack[PLACES_MAX];
    size_t depth;
};

/* Puts the service of line @number on the stack, with a frame that is called after that
 * line. */
static cpt_status push(struct order_path *order, uint32_t number)
{
    const struct cpti_line *line = &order->request->lines[number];
    const struct cpt_bytes service = service_text(order->requests, line->service);
    const struct cpt_bytes name =
        cpti_requests_text(order->requests, CPTI_NAMES_KIND, line->kind);
    const uint32_t above =
        order->depth > 0 ? order->stack[order->depth - 1].frame : CPT_FRAME_NONE;
    struct place *place = NULL;
    char text[3 * CPT_NAME_BYTES_MAX];

    if (order->depth == PLACES_MAX) {
        return CPT_OK;
    }
    place = &order->stack[order->depth++];
    place->service = line->service;
    (void)snprintf(text, sizeof text, "%.*s: %.*s", (int)service.bytes, service.data,
                   (int)name.bytes, name.data);
    return cpt_path_frame_add(order->path, above, cpt_bytes_of(text), CPT_KIND_WORK,
                              &place->frame);
}

/* Appends the time up to line @number, below @above: work of its service, or a gap. */
static cpt_status append_step(struct order_path *order, uint32_t number,
                              const struct place *above, unsigned kind)
{
    const struct cpti_line *lines = order->request->lines + number - 1;
    const int64_t ns = lines[1].begin_ns - lines[0].begin_ns;
    const struct cpt_bytes service = service_text(order->requests, above->service);
    const struct cpt_bytes names[] = {
        cpti_requests_text(order->requests, CPTI_NAMES_KIND, lines[0].kind),
        cpti_requests_text(order->requests, CPTI_NAMES_KIND, lines[1].kind)};
    char text[4 * CPT_NAME_BYTES_MAX];
    uint32_t frame = 0;
    cpt_status status = CPT_OK;

    if (ns <= 0) {
        return CPT_OK; /* at one time */
    }
    (void)snprintf(text, sizeof text, "%.*s%s%.*s→%.*s",
                   kind == CPT_KIND_WORK ? (int)service.bytes : 0, service.data,
                   kind == CPT_KIND_WORK ? ": " : "", (int)names[0].bytes,
                   names[0].data, (int)names[1].bytes, names[1].data);
    status =
        cpt_path_frame_add(order->path, above->frame, cpt_bytes_of(text), kind, &frame);
    return status == CPT_OK ? cpt_path_append_ns(order->path, frame, (uint64_t)ns)
                            : status;
}

/* Goes on to line @number: to its service, from that of the line before. */
static cpt_status step(struct order_path *order, uint32_t number)
{
    const struct cpti_line *line = &order->request->lines[number];
    const struct place callee = order->stack[order->depth - 1];
    size_t place = order->depth;
    cpt_status status = CPT_OK;

    if (callee.service == line->service) {
        return append_step(order, number, &callee, CPT_KIND_WORK);
    }
    while (place > 0 && order->stack[place - 1].service != line->service) {
        place--;
    }
    if (place > 0) {
        order->depth = place;
        return append_step(order, number, &callee, CPT_KIND_GAP);
    }
    status = push(order, number);
    return status == CPT_OK ? append_step(order, number,
                                          &order->stack[order->depth - 1], CPT_KIND_GAP)
                            : status;
}

cpt_status cpti_order_path(const struct cpti_requests *requests,
                           const struct cpti_request *request, struct cpt_path *path)
{
    struct order_path order = {.requests = requests, .request = request, .path = path};
    const size_t lines = awaited(request);
    cpt_status status = push(&order, 0);

    cpt_path_flags_add(path, CPT_PATH_APPROXIMATE);
    for (uint32_t i = 1; status == CPT_OK && i < lines; i++) {
        status = step(&order, i);
    }
    return status;
}
