/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_shape.c - from fields to events; see event_shape.h */
#include "import/lines/event_shape.h"

#include "cpt/base/text.h"

#include <string.h>

/* traceparent "00-<32 digits>-<16 digits>-01" (W3C Trace Context) */
enum { TRACE_AT = 3, TRACE_BYTES = 32, TRACEPARENT_BYTES = 55 };

void cpti_shape_init(struct cpti_shape *shape, const struct cpti_line_source *source,
                     struct cpt_bytes service)
{
    *shape = (struct cpti_shape){.source = source,
                                 .service = service,
                                 .time_resolution_ns = UINT64_MAX,
                                 .length_resolution_ns = UINT64_MAX};
}

/* --- Names --- */

static bool is_nothing(struct cpt_bytes text)
{
    return text.bytes == 0 || cpti_text_is(text, "-");
}

/* What the line says, else what its source says of all lines. */
static struct cpt_bytes field_of(const struct cpti_shape *shape,
                                 const struct cpti_fields *fields,
                                 enum cpti_event_field field)
{
    const struct cpt_bytes said = fields->of[field];

    return is_nothing(said) ? shape->source->constants[field] : said;
}

static bool is_traceparent(struct cpt_bytes text)
{
    return text.bytes == TRACEPARENT_BYTES && text.data[TRACE_AT - 1] == '-' &&
           text.data[TRACE_AT + TRACE_BYTES] == '-';
}

/* The id of the request: that of a trace, if it is a traceparent, or if a statement of
 * SQL has one in a comment. */
static struct cpt_bytes id_of(const struct cpti_shape *shape,
                              const struct cpti_fields *fields)
{
    static const char mark[] = "traceparent='";
    const struct cpt_bytes text = fields->of[CPTI_FIELD_TEXT];
    struct cpt_bytes id = field_of(shape, fields, CPTI_FIELD_ID);

    if (id.bytes == 0 && text.bytes > TRACEPARENT_BYTES) {
        const char *at = memmem(text.data, text.bytes, mark, sizeof mark - 1);

        if (at != NULL) {
            at += sizeof mark - 1;
            id = (struct cpt_bytes){at, (size_t)(text.data + text.bytes - at)};
            id.bytes = id.bytes < TRACEPARENT_BYTES ? 0 : TRACEPARENT_BYTES;
        }
    }
    return is_traceparent(id) ? (struct cpt_bytes){id.data + TRACE_AT, TRACE_BYTES}
                              : id;
}

/* "c.OrderService#324" of a logger and a line of the source; empty: there is none. */
static struct cpt_bytes place_of(struct cpti_shape *shape,
                                 const struct cpti_fields *fields)
{
    const struct cpt_bytes logger = fields->of[CPTI_FIELD_LOGGER];
    const struct cpt_bytes line = fields->of[CPTI_FIELD_LINE];

    if (is_nothing(logger) || line.bytes >= 16) {
        return (struct cpt_bytes){NULL, 0};
    }
    if (line.bytes == 0) { /* "order/place.go:324" */
        const bool has_line = memchr(logger.data, ':', logger.bytes) != NULL ||
                              memchr(logger.data, '#', logger.bytes) != NULL;

        return has_line ? logger : (struct cpt_bytes){NULL, 0};
    }
    if (logger.bytes + 1 + line.bytes > CPT_NAME_BYTES_MAX) {
        return logger;
    }
    memcpy(shape->logger, logger.data, logger.bytes);
    shape->logger[logger.bytes] = '#';
    memcpy(shape->logger + logger.bytes + 1, line.data, line.bytes);
    return (struct cpt_bytes){shape->logger, logger.bytes + 1 + line.bytes};
}

static struct cpt_bytes name_of(struct cpti_shape *shape,
                                const struct cpti_fields *fields)
{
    struct cpt_bytes name = field_of(shape, fields, CPTI_FIELD_EVENT);

    if (name.bytes == 0) {
        name = place_of(shape, fields);
    }
    if (name.bytes == 0 && !is_nothing(fields->of[CPTI_FIELD_URL])) {
        name = cpti_kind_of_url(fields->of[CPTI_FIELD_METHOD],
                                fields->of[CPTI_FIELD_URL], shape->room);
    }
    if (name.bytes == 0) {
        name = cpti_kind_of_text(fields->of[CPTI_FIELD_TEXT], shape->room);
    }
    return name.bytes != 0 ? name : cpt_bytes_of("line");
}

static struct cpt_bytes first_of(struct cpt_bytes a, struct cpt_bytes b,
                                 struct cpt_bytes c)
{
    return a.bytes > 0 ? a : b.bytes > 0 ? b : c;
}

unsigned char cpti_shape_role(struct cpt_bytes text)
{
    const char c = text.bytes > 0 ? (char)(text.data[0] | 0x20) : '\0';

    return c == 's' || c == 'i'   ? CPTI_EVENT_SERVER
           : c == 'c' || c == 'o' ? CPTI_EVENT_CLIENT
                                  : CPTI_EVENT_UNKNOWN;
}

/* Whether it is a cluster of Istio: inbound|9080||, outbound|9080||reviews.shop.svc.
 * Its inbound interval has no call within: the service's own lines are that. */
static bool is_cluster(struct cpt_bytes role)
{
    return role.bytes > 8 && memchr(role.data, '|', role.bytes) != NULL;
}

/* Whom a client called, without the port; an address is no service. Of a cluster it is
 * the first word of its name. */
static struct cpt_bytes peer_of(struct cpt_bytes peer, struct cpt_bytes role)
{
    size_t address = 0;

    peer = cpti_text_take(&peer, ':');
    while (address < peer.bytes &&
           memchr("0123456789.[", peer.data[address], 12) != NULL) {
        address++;
    }
    peer.bytes = address == peer.bytes ? 0 : peer.bytes;
    for (bool is = is_cluster(role); is && role.bytes > 0;) {
        struct cpt_bytes part = cpti_text_take(&role, '|');

        peer = role.bytes == 0 ? cpti_text_take(&part, '.') : peer;
    }
    return peer;
}

/* --- Times --- */

static void keep_finest(uint64_t *finest, uint64_t resolution_ns)
{
    *finest = resolution_ns < *finest ? resolution_ns : *finest;
}

/* Reads the stamp of @field. CPT_OK; CPT_END: there is none; CPT_CORRUPT. */
static cpt_status read_stamp(struct cpti_shape *shape, const struct cpti_fields *fields,
                             enum cpti_event_field field,
                             const struct cpti_wrapped *wrapped, int64_t *ns)
{
    const struct cpti_line_source *source = shape->source;
    const struct cpti_time_format *format = field == CPTI_FIELD_BEGIN ? &source->begin
                                            : field == CPTI_FIELD_END ? &source->end
                                                                      : &source->time;
    struct cpti_time time;

    if (is_nothing(fields->of[field])) {
        return CPT_END;
    }
    if (!cpti_time_read(format, source->zone_s, fields->of[field], &time) ||
        (time.lack != CPTI_TIME_WHOLE && !wrapped->has_outer)) {
        return CPT_CORRUPT;
    }
    cpti_time_place(&time, wrapped->outer_ns);
    keep_finest(&shape->time_resolution_ns, time.resolution_ns);
    *ns = time.ns;
    return CPT_OK;
}

static bool read_length(struct cpti_shape *shape, struct cpt_bytes text,
                        int64_t unit_ns, int64_t *ns)
{
    uint64_t resolution_ns = 0;

    if (is_nothing(text) || !cpti_time_length(text, unit_ns, ns, &resolution_ns)) {
        return false;
    }
    keep_finest(&shape->length_resolution_ns, resolution_ns);
    return true;
}

/* Sets begin and end of @event. */
static bool read_times(struct cpti_shape *shape, const struct cpti_fields *fields,
                       const struct cpti_wrapped *wrapped, struct cpti_event *event)
{
    int64_t time_ns = wrapped->outer_ns;
    int64_t length_ns = 0;
    const cpt_status begin =
        read_stamp(shape, fields, CPTI_FIELD_BEGIN, wrapped, &event->begin_ns);
    const cpt_status end =
        read_stamp(shape, fields, CPTI_FIELD_END, wrapped, &event->end_ns);
    cpt_status time = read_stamp(shape, fields, CPTI_FIELD_TIME, wrapped, &time_ns);
    const bool has_length = read_length(shape, fields->of[CPTI_FIELD_DURATION],
                                        shape->source->duration_ns, &length_ns);

    if (begin == CPT_CORRUPT || end == CPT_CORRUPT || time == CPT_CORRUPT) {
        return false;
    }
    shape->has_own_time = begin == CPT_OK || end == CPT_OK || time == CPT_OK;
    time = time == CPT_END && wrapped->has_outer ? CPT_OK : time;
    event->is_interval = (begin == CPT_OK && end == CPT_OK) || has_length;
    if (begin == CPT_OK && end != CPT_OK) {
        event->end_ns = event->begin_ns + length_ns;
    } else if (begin != CPT_OK && (end == CPT_OK || time == CPT_OK)) {
        event->end_ns = end == CPT_OK ? event->end_ns : time_ns;
        event->begin_ns = event->end_ns - length_ns;
    } else if (begin != CPT_OK) {
        return false;
    }
    return event->end_ns >= event->begin_ns;
}

/* How far times may be below the true ones. */
static uint64_t resolution_of(const struct cpti_shape *shape)
{
    const uint64_t time_ns =
        shape->time_resolution_ns != UINT64_MAX ? shape->time_resolution_ns : 0;
    const uint64_t length_ns =
        shape->length_resolution_ns != UINT64_MAX ? shape->length_resolution_ns : 0;

    return time_ns > length_ns ? time_ns : length_ns;
}

/* A later outer stamp is a higher number, for stamps from 2 s before the line's to 2 s
 * behind it. */
static uint32_t order_of(const struct cpti_wrapped *wrapped, int64_t time_ns)
{
    const int64_t lag_ns = wrapped->outer_ns - time_ns + 2 * CPTI_NS_PER_S;

    return !wrapped->has_outer   ? 0
           : lag_ns < 1          ? 1
           : lag_ns > UINT32_MAX ? UINT32_MAX
                                 : (uint32_t)lag_ns;
}

/* --- Calls within --- */

/* Adds a call from @begin_ns to @end_ns, within the interval of the line. */
static void add_call(struct cpti_shape *shape, struct cpt_bytes peer, int64_t begin_ns,
                     int64_t end_ns)
{
    struct cpti_event *call = NULL;
    const struct cpti_event *around = &shape->events[0];

    begin_ns = begin_ns > around->begin_ns ? begin_ns : around->begin_ns;
    end_ns = end_ns < around->end_ns ? end_ns : around->end_ns;
    if (shape->event_count == CPTI_LINE_EVENTS_MAX || end_ns < begin_ns) {
        return;
    }
    call = &shape->events[shape->event_count++];
    *call = *around;
    call->begin_ns = begin_ns;
    call->end_ns = end_ns;
    call->role = CPTI_EVENT_CLIENT;
    call->peer = peer;
}

/* The next length of "0.012, 0.003 : 0.001"; false: there is none. */
static bool next_length(struct cpti_shape *shape, struct cpt_bytes *text, int64_t *ns)
{
    while (text->bytes > 0) {
        struct cpt_bytes part = {text->data, 0};

        while (part.bytes < text->bytes &&
               memchr(",: ", part.data[part.bytes], 3) == NULL) {
            part.bytes++;
        }
        text->data += part.bytes + (part.bytes < text->bytes);
        text->bytes -= part.bytes + (part.bytes < text->bytes);
        if (read_length(shape, part, shape->source->upstream_ns, ns)) {
            return true;
        }
    }
    return false;
}

static bool has_body(struct cpt_bytes method)
{
    return cpti_text_is(method, "POST") || cpti_text_is(method, "PUT") ||
           cpti_text_is(method, "PATCH");
}

static void add_upstream(struct cpti_shape *shape, const struct cpti_fields *fields,
                         struct cpt_bytes peer)
{
    const struct cpti_event *around = &shape->events[0];
    struct cpt_bytes text = fields->of[CPTI_FIELD_UPSTREAM];
    int64_t total_ns = 0;
    int64_t length_ns = 0;
    int64_t at_ns = around->begin_ns;

    if (has_body(fields->of[CPTI_FIELD_METHOD])) {
        while (next_length(shape, &text, &length_ns)) {
            total_ns += length_ns;
        }
        if (total_ns < around->end_ns - around->begin_ns) {
            at_ns = around->end_ns - total_ns;
        }
        text = fields->of[CPTI_FIELD_UPSTREAM];
    }
    while (next_length(shape, &text, &length_ns) &&
           shape->event_count < CPTI_LINE_EVENTS_MAX) {
        add_call(shape, peer, at_ns, at_ns + length_ns);
        at_ns += length_ns;
    }
}

/* HAProxy's "TR/Tw/Tc/Tr/Ta" in ms, -1 for what did not happen, and '+' before a total
 * that was written before the end. @event gets its end. */
static bool read_timers(struct cpti_shape *shape, struct cpt_bytes text,
                        int64_t timers_ns[5])
{
    for (int i = 0; i < 5; i++) {
        struct cpt_bytes part = cpti_text_take(&text, '/');

        if (part.bytes > 0 && part.data[0] == '+') {
            part.data++;
            part.bytes--;
        }
        timers_ns[i] = -1;
        if (!cpti_text_is(part, "-1") &&
            !read_length(shape, part, 1000000, &timers_ns[i])) {
            return false;
        }
    }
    return timers_ns[4] >= 0;
}

/* --- The line --- */

static void add_timers(struct cpti_shape *shape, const struct cpti_fields *fields,
                       struct cpt_bytes peer)
{
    struct cpti_event *around = &shape->events[0];
    int64_t ns[5];

    if (!read_timers(shape, fields->of[CPTI_FIELD_TIMERS], ns)) {
        return;
    }
    around->is_interval = true;
    around->end_ns = around->begin_ns + ns[4];
    if (ns[0] >= 0 && ns[1] >= 0 && ns[2] >= 0) {
        add_call(shape, peer, around->begin_ns + ns[0] + ns[1], around->end_ns);
    }
}

bool cpti_shape_line(struct cpti_shape *shape, const struct cpti_fields *fields,
                     const struct cpti_wrapped *wrapped)
{
    struct cpti_event *event = &shape->events[0];
    const struct cpt_bytes role = field_of(shape, fields, CPTI_FIELD_ROLE);
    const struct cpt_bytes peer =
        peer_of(field_of(shape, fields, CPTI_FIELD_PEER), role);

    *event = (struct cpti_event){
        .id = id_of(shape, fields),
        .service = first_of(field_of(shape, fields, CPTI_FIELD_SERVICE),
                            wrapped->service, shape->service),
        .host = first_of(field_of(shape, fields, CPTI_FIELD_HOST), wrapped->host,
                         (struct cpt_bytes){NULL, 0}),
        .unit = field_of(shape, fields, CPTI_FIELD_UNIT)};
    shape->event_count = 1;
    if (!read_times(shape, fields, wrapped, event)) {
        shape->event_count = 0;
        return false;
    }
    event->name = name_of(shape, fields);
    event->outer_order = order_of(wrapped, event->begin_ns);
    event->role = cpti_shape_role(role);
    if (event->role == CPTI_EVENT_CLIENT) {
        event->peer = peer;
    } else if (fields->of[CPTI_FIELD_TIMERS].bytes > 0) {
        add_timers(shape, fields, peer);
    } else if (event->is_interval && !is_cluster(role)) {
        add_upstream(shape, fields, peer);
    }
    for (size_t i = 0; i < shape->event_count; i++) {
        shape->events[i].resolution_ns = resolution_of(shape);
        shape->events[i].role *= shape->events[i].is_interval;
    }
    return true;
}
