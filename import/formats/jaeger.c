/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * jaeger.c - traces as Jaeger writes them
 *
 *      {"traceID": "4f", "processes": {"p1": {"serviceName": "front"}},
 *       "spans": [{"spanID": "a1", "operationName": "GET /", "processID": "p1",
 *                  "startTime": 1661142440784957, "duration": 376188,
 *                  "references": [{"refType": "CHILD_OF", "spanID": "a0"}],
 *                  "tags": [{"key": "span.kind", "value": "server"}]}]}
 *
 * Times are microseconds. A reference to another trace is no parent. Of several, the
 * first CHILD_OF is the parent, else the first FOLLOWS_FROM. From the API, whole spans
 * may be nested in references: they come by themselves, too.
 *
 * Spans of Elasticsearch have their process inline, and some tags, or all, as fields of
 * an object, whose names have another character for the dot; which, is configured:
 *
 *      "tag": {"span@kind": "server", "error": true}
 */
#include "import/formats/formats.h"
#include "import/formats/ids.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t ns_per_us = 1000;

/* --- Processes --- */

struct process {
    struct cpt_bytes id;
    struct cpti_process process;
};

/* Those of a trace; if they are not few, in the order of their ids. */
enum { FEW = 8 };

struct processes {
    struct process *items; /* `few`, or allocated */
    size_t count;
    size_t capacity;
    struct process few[FEW];
};

/* Bytes of a key of an object of tags: more than any key that matters has. */
enum { FIELD_BYTES_MAX = 40 };

/* The key of a tag that is the field @key of an object, in @text. Whatever stands for
 * the dot, letters and digits do not, nor what keys have themselves. */
static struct cpt_bytes dotted(struct cpt_bytes key, char text[FIELD_BYTES_MAX])
{
    if (key.bytes > FIELD_BYTES_MAX) {
        return cpt_bytes_of("");
    }
    for (size_t i = 0; i < key.bytes; i++) {
        const char byte = key.data[i];
        const bool is_letter = (byte >= 'a' && byte <= 'z') ||
                               (byte >= 'A' && byte <= 'Z') ||
                               (byte >= '0' && byte <= '9');

        text[i] = is_letter || byte == '_' || byte == '-' ? byte : '.';
    }
    return (struct cpt_bytes){text, key.bytes};
}

static struct cpti_process process_of(struct cpti_doc_value json,
                                      const struct cpti_sink *sink)
{
    struct cpti_process process = {.service = {"", 0}};
    char text[FIELD_BYTES_MAX];
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(cpti_doc_get(json, "tags"), &member); is;
         is = cpti_doc_next(&member)) {
        const struct cpt_bytes key = cpti_doc_string(cpti_doc_get(member.value, "key"));
        const struct cpti_doc_value value = cpti_doc_get(member.value, "value");

        cpti_process_read(&process, key, value);
        cpti_read_tag(sink, &process.tags, key, value, true);
    }
    for (bool is = cpti_doc_first(cpti_doc_get(json, "tag"), &member); is;
         is = cpti_doc_next(&member)) {
        const struct cpt_bytes key = dotted(member.key, text);

        cpti_process_read(&process, key, member.value);
        cpti_read_tag(sink, &process.tags, key, member.value, true);
    }
    cpti_process_read(&process, cpt_bytes_of("service.name"),
                      cpti_doc_get(json, "serviceName"));
    return process;
}

static int compare(const void *left, const void *right)
{
    const struct cpt_bytes a = ((const struct process *)left)->id;
    const struct cpt_bytes b = ((const struct process *)right)->id;
    const size_t bytes = a.bytes < b.bytes ? a.bytes : b.bytes;
    const int order = memcmp(a.data, b.data, bytes);

    return order != 0 ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static void processes_init(struct processes *processes)
{
    processes->items = processes->few;
    processes->count = 0;
    processes->capacity = FEW;
}

static void processes_deinit(struct processes *processes)
{
    if (processes->items != processes->few) {
        cpt_alloc_free(cpt_alloc_default(), processes->items);
    }
}

/* Makes room for one more. */
static cpt_status processes_grow(struct processes *processes)
{
    const bool is_first = processes->items == processes->few;
    const size_t capacity = 4 * processes->capacity;
    struct process *items =
        cpt_alloc_array(cpt_alloc_default(), is_first ? NULL : processes->items,
                        capacity, sizeof *items);

    if (items == NULL) {
        return CPT_NO_MEMORY;
    }
    if (is_first) {
        memcpy(items, processes->few, sizeof processes->few);
    }
    processes->items = items;
    processes->capacity = capacity;
    return CPT_OK;
}

static cpt_status processes_read(struct processes *processes,
                                 struct cpti_doc_value json,
                                 const struct cpti_sink *sink)
{
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(json, &member); is; is = cpti_doc_next(&member)) {
        if (processes->count == processes->capacity &&
            processes_grow(processes) != CPT_OK) {
            return CPT_NO_MEMORY;
        }
        processes->items[processes->count++] =
            (struct process){member.key, process_of(member.value, sink)};
    }
    if (processes->count > FEW) {
        qsort(processes->items, processes->count, sizeof(struct process), compare);
    }
    return CPT_OK;
}

static const struct process *search(const struct processes *processes,
                                    struct cpt_bytes id)
{
    const struct process wanted = {.id = id};

    return bsearch(&wanted, processes->items, processes->count, sizeof wanted, compare);
}

/* Process @id, or NULL. */
static const struct process *processes_find(const struct processes *processes,
                                            struct cpt_bytes id)
{
    for (size_t i = 0; processes->count <= FEW && i < processes->count; i++) {
        if (cpt_bytes_equal(processes->items[i].id, id)) {
            return &processes->items[i];
        }
    }
    return processes->count > FEW ? search(processes, id) : NULL;
}

static void read_process(const struct processes *processes, struct cpt_bytes id,
                         struct cpti_span *span)
{
    const struct cpti_process unknown = {.service = {"", 0}};
    const struct process *found = processes_find(processes, id);

    cpti_process_give(found != NULL ? &found->process : &unknown, span);
}

/* --- Spans --- */

/* The next reference of a span. */
static void read_reference(struct cpti_doc_value reference, struct cpt_bytes trace,
                           struct cpti_span *span)
{
    struct cpti_doc_member member;
    struct cpt_bytes type = {"", 0};
    struct cpt_bytes of = {"", 0};
    struct cpt_bytes id = {"", 0};
    bool follows = false;

    for (bool is = cpti_doc_first(reference, &member); is;
         is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "refType")) {
            type = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "traceID")) {
            of = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "spanID")) {
            id = cpti_doc_string(member.value);
        }
    }
    follows = cpti_is_key(type, "FOLLOWS_FROM");
    if ((of.bytes > 0 && !cpti_is_one_trace(of, trace)) ||
        (!follows && !cpti_is_key(type, "CHILD_OF")) ||
        (span->parent.bytes > 0 && (follows || !span->is_async))) {
        return;
    }
    span->parent = id;
    span->is_async = follows;
}

/* The parent of @span, by its "references". */
static void read_references(struct cpti_doc_value references, struct cpt_bytes trace,
                            struct cpti_span *span)
{
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(references, &member); is;
         is = cpti_doc_next(&member)) {
        read_reference(member.value, trace, span);
    }
}

static void read_tag(struct cpti_doc_value tag, struct cpti_span *span,
                     const struct cpti_sink *sink)
{
    struct cpti_doc_member member;
    struct cpt_bytes key = {"", 0};
    struct cpti_doc_value value = {NULL, 0};

    for (bool is = cpti_doc_first(tag, &member); is; is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "key")) {
            key = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "value")) {
            value = member.value;
        }
    }
    cpti_read_attribute(span, key, value);
    cpti_read_tag(sink, &span->tags, key, value, false);
}

static void read_tags(struct cpti_doc_value tags, struct cpti_span *span,
                      const struct cpti_sink *sink)
{
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(tags, &member); is; is = cpti_doc_next(&member)) {
        read_tag(member.value, span, sink);
    }
}

/* The same of an object whose members are tags. */
static void read_tag_fields(struct cpti_doc_value tags, struct cpti_span *span,
                            const struct cpti_sink *sink)
{
    char text[FIELD_BYTES_MAX];
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(tags, &member); is; is = cpti_doc_next(&member)) {
        const struct cpt_bytes key = dotted(member.key, text);

        cpti_read_attribute(span, key, member.value);
        cpti_read_tag(sink, &span->tags, key, member.value, false);
    }
}

/* Reads @json, a span, whose trace is @trace if it does not say. */
static cpt_status read_span(struct cpti_doc_value json, struct cpt_bytes trace,
                            const struct processes *processes, struct cpti_sink *sink)
{
    struct cpti_span span = {.id = {"", 0}};
    struct cpti_doc_value references = {NULL, 0};
    struct cpt_bytes old_parent = {"", 0};
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(json, &member); is; is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "spanID")) {
            span.id = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "traceID")) {
            trace = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "operationName")) {
            span.operation = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "startTime")) {
            span.has_start = cpti_read_time(member.value, ns_per_us, &span.start_ns);
        } else if (cpti_is_key(member.key, "duration")) {
            span.has_duration =
                cpti_read_time(member.value, ns_per_us, &span.duration_ns);
        } else if (cpti_is_key(member.key, "references")) {
            references = member.value;
        } else if (cpti_is_key(member.key, "parentSpanID")) {
            old_parent = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "tags")) {
            read_tags(member.value, &span, sink);
        } else if (cpti_is_key(member.key, "tag")) {
            read_tag_fields(member.value, &span, sink);
        } else if (cpti_is_key(member.key, "process")) {
            const struct cpti_process process = process_of(member.value, sink);

            cpti_process_give(&process, &span);
        } else if (cpti_is_key(member.key, "processID")) {
            read_process(processes, cpti_doc_string(member.value), &span);
        }
    }
    read_references(references, trace, &span);
    if (span.parent.bytes == 0) {
        span.parent = old_parent;
    }
    span.has_time = span.has_start && span.has_duration;
    return cpti_sink_take(sink, trace, &span);
}

cpt_status cpti_jaeger_span(struct cpti_doc_value span, struct cpti_sink *sink)
{
    struct processes none;

    processes_init(&none);
    return read_span(span, (struct cpt_bytes){"", 0}, &none, sink);
}

cpt_status cpti_jaeger_trace(struct cpti_doc_value trace, struct cpti_sink *sink)
{
    const struct cpt_bytes id = cpti_doc_string(cpti_doc_get(trace, "traceID"));
    struct processes processes;
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    processes_init(&processes);
    status = processes_read(&processes, cpti_doc_get(trace, "processes"), sink);

    for (bool is = cpti_doc_first(cpti_doc_get(trace, "spans"), &member);
         is && status == CPT_OK; is = cpti_doc_next(&member)) {
        status = read_span(member.value, id, &processes, sink);
    }
    processes_deinit(&processes);
    return status;
}
