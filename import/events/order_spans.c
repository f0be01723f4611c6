/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* order_spans.c - points in the order of time; see order_spans.h */
#include "import/events/order_spans.h"

#include "cpt/cpt_path.h"

#include <stdio.h>

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
        } else {
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

/* The name "service: a→b". */
static struct cpt_bytes name_pair(const struct cpti_requests *requests,
                                  uint32_t service, uint32_t a, uint32_t b,
                                  char text[4 * CPT_NAME_BYTES_MAX])
{
    const struct cpt_bytes names[] = {service_text(requests, service),
                                      cpti_requests_text(requests, CPTI_NAMES_KIND, a),
                                      cpti_requests_text(requests, CPTI_NAMES_KIND, b)};

    (void)snprintf(text, 4 * CPT_NAME_BYTES_MAX, "%.*s: %.*s→%.*s", (int)names[0].bytes,
                   names[0].data, (int)names[1].bytes, names[1].data,
                   (int)names[2].bytes, names[2].data);
    return cpt_bytes_of(text);
}

/* A service of the request. */
struct place {
    uint32_t service;
    uint32_t first; /* its first line */
    uint32_t frame;
};

enum {
    PLACES_MAX = 1024 /* services of a request; those behind hang below the last */
};

struct order_path {
    const struct cpti_requests *requests;
    const struct cpti_request *request;
    struct cpt_path *path;
    struct place places[PLACES_MAX];
    size_t place_count;
};

/* The place of the service of line @number, which is added below @above if it is
 * new. */
static cpt_status find_place(struct order_path *order, uint32_t number,
                             const struct place *above, struct place **place)
{
    const struct cpti_line *line = &order->request->lines[number];
    const struct cpt_bytes names[] = {
        service_text(order->requests, line->service),
        cpti_requests_text(order->requests, CPTI_NAMES_KIND, line->kind)};
    char text[3 * CPT_NAME_BYTES_MAX];

    for (size_t i = order->place_count; i > 0; i--) {
        *place = &order->places[i - 1];
        if ((*place)->service == line->service) {
            return CPT_OK;
        }
    }
    if (order->place_count == PLACES_MAX) {
        *place = &order->places[PLACES_MAX - 1];
        return CPT_OK;
    }
    *place = &order->places[order->place_count++];
    **place = (struct place){.service = line->service, .first = number};
    (void)snprintf(text, sizeof text, "%.*s: %.*s", (int)names[0].bytes, names[0].data,
                   (int)names[1].bytes, names[1].data);
    return cpt_path_frame_add(order->path,
                              above != NULL ? above->frame : CPT_FRAME_NONE,
                              cpt_bytes_of(text), CPT_KIND_WORK, &(*place)->frame);
}

/* Appends the time from line @number - 1, of @before, to line @number, of @after. */
static cpt_status append_step(struct order_path *order, uint32_t number,
                              const struct place *before, const struct place *after)
{
    const struct cpti_line *a = &order->request->lines[number - 1];
    const struct cpti_line *b = &order->request->lines[number];
    const struct place *caller = before->first <= after->first ? before : after;
    const struct place *callee = caller == before ? after : before;
    const unsigned kind = before == after ? CPT_KIND_WORK : CPT_KIND_GAP;
    char text[4 * CPT_NAME_BYTES_MAX];
    uint32_t frame = 0;
    cpt_status status;

    if (b->begin_ns <= a->begin_ns) {
        return CPT_OK; /* at one time */
    }
    status = cpt_path_frame_add(
        order->path, caller->frame,
        name_pair(order->requests, callee->service, a->kind, b->kind, text), kind,
        &frame);
    return status == CPT_OK ? cpt_path_append_ns(order->path, frame,
                                                 (uint64_t)(b->begin_ns - a->begin_ns))
                            : status;
}

cpt_status cpti_order_path(const struct cpti_requests *requests,
                           const struct cpti_request *request, struct cpt_path *path)
{
    struct order_path order = {.requests = requests, .request = request, .path = path};
    const size_t lines = awaited(request);
    struct place *before = NULL;
    cpt_status status = find_place(&order, 0, NULL, &before);

    cpt_path_flags_add(path, CPT_PATH_APPROXIMATE);
    for (uint32_t i = 1; status == CPT_OK && i < lines; i++) {
        struct place *after = NULL;

        status = find_place(&order, i, before, &after);
        if (status == CPT_OK) {
            status = append_step(&order, i, before, after);
        }
        before = after;
    }
    return status;
}
