/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * batches_json.c - a large request in JSON, cut into small ones; see batches.h
 *
 *      {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [{}, {}]}]}]}
 *      ROOT              LIST RESOURCE                 SCOPES SCOPE  SPANS
 *
 * Only what is around the spans is looked into; a span is read by who takes the batch.
 */
#include "import/traces/batches_inside.h"

#include "import/bytes/json.h"

#include <string.h>

enum key { KEY_OTHER, KEY_KNOWN, KEY_LIST, KEY_RESOURCE, KEY_SCOPES, KEY_SPANS };

/* --- Values --- */

static enum key key_of(const char *text, size_t bytes)
{
    static const struct {
        const char *text; /* with its quotes */
        enum key key;
    } keys[] = {{"\"resourceSpans\"", KEY_LIST},
                {"\"resource\"", KEY_RESOURCE},
                {"\"scopeSpans\"", KEY_SCOPES},
                {"\"instrumentationLibrarySpans\"", KEY_SCOPES},
                {"\"spans\"", KEY_SPANS},
                {"\"scope\"", KEY_KNOWN},
                {"\"instrumentationLibrary\"", KEY_KNOWN},
                {"\"schemaUrl\"", KEY_KNOWN}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strlen(keys[i].text) == bytes && memcmp(text, keys[i].text, bytes) == 0) {
            return keys[i].key;
        }
    }
    return KEY_OTHER;
}

/* The first byte of what follows, which is not the end. */
static cpt_status look(struct cpti_scan *scan, char *byte)
{
    const cpt_status status = cpti_scan_look(scan, byte);

    return status == CPT_END ? CPT_TRUNCATED : status;
}

/* Takes the value at `at`, or passes it if it is not @wanted. Of one that is too long
 * the data is NULL. */
static cpt_status take_value(struct cpti_scan *scan, bool is_wanted,
                             struct cpt_bytes *value)
{
    struct cpti_window *window = &scan->window;
    const size_t at = window->at;
    cpt_status status = CPT_OK;

    cpti_window_forget(window, at);
    window->is_dropped = !is_wanted;
    scan->depth = 0;
    scan->is_in_string = false;
    status = cpti_scan_value(scan);
    *value = (struct cpt_bytes){NULL, 0};
    if (status == CPT_OK && !window->is_dropped) {
        *value = (struct cpt_bytes){window->buffer + window->start,
                                    window->at - window->start};
    }
    window->is_dropped = false;
    return status == CPT_OK && value->data != NULL && value->bytes == 0 ? CPT_CORRUPT
                                                                        : status;
}

static cpt_status pass_value(struct cpti_scan *scan)
{
    struct cpt_bytes passed;
    char byte = 0;
    const cpt_status status = look(scan, &byte);

    if (status != CPT_OK || byte == '}' || byte == ']') {
        return status != CPT_OK ? status : CPT_CORRUPT; /* there is no value */
    }
    return take_value(scan, false, &passed);
}

/* Passes the key of the next member of an object, to its value, which begins with
 * *@byte; or passes the end of the object: '}'. */
static cpt_status next_member(struct cpti_scan *scan, enum key *key, char *byte)
{
    struct cpt_bytes text;
    cpt_status status = look(scan, byte);

    if (status == CPT_OK && *byte == '}') {
        scan->window.at++;
        return CPT_OK;
    }
    if (status != CPT_OK || *byte != '"') {
        return status != CPT_OK ? status : CPT_CORRUPT;
    }
    status = take_value(scan, true, &text);
    if (status != CPT_OK) {
        return status;
    }
    *key = text.data != NULL ? key_of(text.data, text.bytes) : KEY_OTHER;
    status = look(scan, byte);
    if (status != CPT_OK || *byte != ':') {
        return status != CPT_OK ? status : CPT_CORRUPT;
    }
    scan->window.at++;
    status = look(scan, byte);
    return status == CPT_OK && (*byte == '}' || *byte == ']') ? CPT_CORRUPT : status;
}

/* --- What is around spans --- */

static cpt_status take_resource(struct cpti_batches *batches, struct cpti_scan *scan)
{
    struct cpt_bytes value;
    const cpt_status status = take_value(scan, true, &value);

    if (status != CPT_OK || value.data == NULL) {
        return status != CPT_OK ? status : CPT_LIMIT;
    }
    batches->has_resource = true;
    return cpti_batches_describe(batches, value);
}

/* Looks for the resource behind the spans. */
static cpt_status find_resource(struct cpti_batches *batches)
{
    struct cpti_reader *ahead = NULL;
    cpt_status status = cpti_batches_ahead(batches, batches->resource_offset, &ahead);

    while (status == CPT_OK && !batches->has_resource) {
        enum key key = KEY_OTHER;
        char byte = 0;

        status = next_member(&ahead->scan, &key, &byte);
        if (status == CPT_OK && byte == '}') {
            batches->has_resource = true; /* it has none */
        } else if (status == CPT_OK && key == KEY_RESOURCE) {
            status = take_resource(batches, &ahead->scan);
        } else if (status == CPT_OK) {
            status = pass_value(&ahead->scan);
        }
    }
    return status;
}

/* Enters the value of a member if it begins with @begin. */
static cpt_status enter(struct cpti_batches *batches, char byte, char begin,
                        enum cpti_batches_level level)
{
    if (byte != begin) {
        return pass_value(&batches->reader.scan);
    }
    batches->reader.scan.window.at++;
    batches->level = level;
    return CPT_OK;
}

static cpt_status step_root(struct cpti_batches *batches)
{
    struct cpti_scan *scan = &batches->reader.scan;
    enum key key = KEY_OTHER;
    char byte = 0;
    cpt_status status = next_member(scan, &key, &byte);

    if (status != CPT_OK) {
        return status;
    }
    if (byte == '}') {
        batches->level = CPTI_AT_END;
        status = cpti_scan_look(scan, &byte);
        return status == CPT_OK ? CPT_CORRUPT : status == CPT_END ? CPT_OK : status;
    }
    if (key == KEY_LIST && byte != '[' && byte != 'n') {
        return CPT_CORRUPT;
    }
    batches->unknown_fields += key == KEY_OTHER;
    return key == KEY_LIST ? enter(batches, byte, '[', CPTI_IN_LIST) : pass_value(scan);
}

static cpt_status step_resource(struct cpti_batches *batches)
{
    struct cpti_scan *scan = &batches->reader.scan;
    enum key key = KEY_OTHER;
    char byte = 0;
    cpt_status status = next_member(scan, &key, &byte);

    if (status != CPT_OK) {
        return status;
    }
    if (byte == '}') {
        batches->level = CPTI_IN_LIST;
        return CPT_OK;
    }
    if (key == KEY_RESOURCE && !batches->has_resource) {
        return take_resource(batches, scan);
    }
    if (key == KEY_SCOPES && byte == '[' && !batches->has_resource) {
        status = find_resource(batches);
    }
    if (status != CPT_OK) {
        return status;
    }
    batches->unknown_fields += key == KEY_OTHER;
    return key == KEY_SCOPES ? enter(batches, byte, '[', CPTI_IN_SCOPES)
                             : pass_value(scan);
}

static cpt_status step_scope(struct cpti_batches *batches)
{
    struct cpti_scan *scan = &batches->reader.scan;
    enum key key = KEY_OTHER;
    char byte = 0;
    const cpt_status status = next_member(scan, &key, &byte);

    if (status != CPT_OK) {
        return status;
    }
    if (byte == '}') {
        batches->level = CPTI_IN_SCOPES;
        return CPT_OK;
    }
    batches->unknown_fields += key == KEY_OTHER;
    return key == KEY_SPANS ? enter(batches, byte, '[', CPTI_IN_SPANS)
                            : pass_value(scan);
}

static cpt_status take_span(struct cpti_batches *batches)
{
    struct cpt_bytes span;
    cpt_status status = take_value(&batches->reader.scan, true, &span);

    if (status == CPT_OK && span.data == NULL) {
        batches->refused++;
        return CPT_OK;
    }
    if (status == CPT_OK && batches->spans.bytes > 0) {
        status = cpti_buffer_add(&batches->spans, ",", 1);
    }
    return status == CPT_OK ? cpti_buffer_add(&batches->spans, span.data, span.bytes)
                            : status;
}

/* The next element of an array, or its end, behind which the array around is. */
static cpt_status step_array(struct cpti_batches *batches,
                             enum cpti_batches_level around,
                             enum cpti_batches_level within)
{
    struct cpti_scan *scan = &batches->reader.scan;
    char byte = 0;
    const cpt_status status = look(scan, &byte);

    if (status != CPT_OK || byte == '}') {
        return status != CPT_OK ? status : CPT_CORRUPT;
    }
    if (byte == ']') {
        scan->window.at++;
        batches->level = around;
        return CPT_OK;
    }
    if (within == CPTI_AT_END) {
        return take_span(batches);
    }
    if (byte == '{' && within == CPTI_IN_RESOURCE) {
        batches->has_resource = false;
        batches->resource_offset = cpti_reader_offset(&batches->reader) + 1;
    }
    return enter(batches, byte, '{', within);
}

cpt_status cpti_batches_json_step(struct cpti_batches *batches)
{
    char byte = 0;
    cpt_status status = CPT_OK;

    switch (batches->level) {
    case CPTI_AT_FIRST:
        status = look(&batches->reader.scan, &byte);
        if (status != CPT_OK || byte != '{') {
            return status != CPT_OK ? status : CPT_CORRUPT;
        }
        return enter(batches, byte, '{', CPTI_IN_ROOT);
    case CPTI_IN_ROOT:
        return step_root(batches);
    case CPTI_IN_LIST:
        return step_array(batches, CPTI_IN_ROOT, CPTI_IN_RESOURCE);
    case CPTI_IN_RESOURCE:
        return step_resource(batches);
    case CPTI_IN_SCOPES:
        return step_array(batches, CPTI_IN_RESOURCE, CPTI_IN_SCOPE);
    case CPTI_IN_SCOPE:
        return step_scope(batches);
    case CPTI_IN_SPANS:
        return step_array(batches, CPTI_IN_SCOPE, CPTI_AT_END);
    default:
        return CPT_OK;
    }
}

/* --- Batches --- */

static cpt_status add_text(struct cpti_buffer *buffer, const char *text)
{
    return cpti_buffer_add(buffer, text, strlen(text));
}

cpt_status cpti_batches_json_close(struct cpti_batches *batches)
{
    struct cpti_buffer *batch = &batches->batch;
    cpt_status status =
        add_text(batch, batch->bytes == 0 ? "{\"resourceSpans\":[{" : ",{");

    if (status == CPT_OK && batches->resource.bytes > 0) {
        status = add_text(batch, "\"resource\":");
        if (status == CPT_OK) {
            status =
                cpti_buffer_add(batch, batches->resource.data, batches->resource.bytes);
        }
        status = status == CPT_OK ? add_text(batch, ",") : status;
    }
    if (status == CPT_OK) {
        status = add_text(batch, "\"scopeSpans\":[{\"spans\":[");
    }
    if (status == CPT_OK) {
        status = cpti_buffer_add(batch, batches->spans.data, batches->spans.bytes);
    }
    return status == CPT_OK ? add_text(batch, "]}]}") : status;
}

cpt_status cpti_batches_json_finish(struct cpti_batches *batches)
{
    static const char padding[CPTI_DOC_PADDING];
    cpt_status status = add_text(&batches->batch, "]}");

    if (status == CPT_OK) {
        status = cpti_buffer_add(&batches->batch, padding, sizeof padding);
        batches->batch.bytes -= status == CPT_OK ? sizeof padding : 0;
    }
    return status;
}
