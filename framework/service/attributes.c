/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * attributes.c - what the application notes about a request, for its log record
 *
 * Attributes lie among the notes of the request: at most CPT_ATTRIBUTES_MAX of them,
 * with CPT_ATTRIBUTE_BYTES_MAX bytes of keys and texts, and room for those that say why
 * the request failed. Those beyond, and those that
 * the options of the service drop for privacy, are not kept; they are counted.
 */
#include "framework/service/attributes.h"

#include "framework/service/failure.h"
#include "framework/service/service.h"

#include <string.h>

/* The attribute @key, new if it was not set before; NULL at a limit. Lock held. */
static struct cpt_attribute *place(struct cpt_request *request, struct cpt_bytes key,
                                   size_t value_bytes)
{
    struct cpt_attribute *attribute = NULL;
    const size_t left = CPT_ATTRIBUTE_BYTES_MAX - request->attribute_bytes;

    if (request->attributes == NULL) {
        request->attributes = cpt_arena_take(
            &request->notes, (CPT_ATTRIBUTES_MAX + CPTI_FAILURE_ATTRIBUTES) *
                                 sizeof *request->attributes);
    }
    for (size_t i = 0; i < request->attribute_count; i++) {
        if (cpt_bytes_equal(request->attributes[i].key, key)) {
            attribute = &request->attributes[i];
        }
    }
    if (request->attributes == NULL || value_bytes > left) {
        return NULL;
    }
    if (attribute == NULL) {
        if (request->attribute_count == CPT_ATTRIBUTES_MAX || key.bytes == 0 ||
            key.bytes > left - value_bytes) {
            return NULL;
        }
        key.data = cpt_arena_copy(&request->notes, key.data, key.bytes);
        if (key.data == NULL) {
            return NULL;
        }
        attribute = &request->attributes[request->attribute_count++];
        attribute->key = key;
        request->attribute_bytes += key.bytes;
    }
    return attribute;
}

/* @request is traced. */
static void set(struct cpt_request *request, const char *key, unsigned type,
                union cpt_attribute_value value)
{
    const struct cpt_bytes key_bytes = cpt_bytes_of(key);
    const size_t value_bytes = type == CPT_ATTRIBUTE_TEXT ? value.text.bytes : 0;
    struct cpt_attribute *attribute = NULL;
    bool is_kept = false;

    while (request->nest.parent != NULL) { /* a component has no record of its own */
        request = request->nest.parent;
    }
    cpti_lock_take(&request->lock);
    is_kept = !cpti_service_drops_attribute(cpti_service_of(request), key_bytes) &&
              value_bytes <= CPT_ATTRIBUTE_BYTES_MAX - request->attribute_bytes;
    if (is_kept && type == CPT_ATTRIBUTE_TEXT) {
        /* First, so that without memory the earlier value stays. */
        value.text.data =
            cpt_arena_copy(&request->notes, value.text.data, value.text.bytes);
        is_kept = value.text.data != NULL;
    }
    if (is_kept) {
        attribute = place(request, key_bytes, value_bytes);
    }
    if (attribute != NULL) {
        request->attribute_bytes += value_bytes; /* a replaced value stays counted */
        attribute->type = type;
        attribute->value = value;
    } else {
        request->attribute_dropped_count++;
    }
    cpti_lock_release(&request->lock);
}

void cpt_request_set_text(struct cpt_request *request, const char *key,
                          const char *text)
{
    if (request->is_traced) {
        set(request, key, CPT_ATTRIBUTE_TEXT,
            (union cpt_attribute_value){.text = cpt_bytes_of(text)});
    }
}

void cpt_request_set_integer(struct cpt_request *request, const char *key,
                             int64_t number)
{
    if (request->is_traced) {
        set(request, key, CPT_ATTRIBUTE_INTEGER,
            (union cpt_attribute_value){.integer = number});
    }
}

void cpt_request_set_float(struct cpt_request *request, const char *key, double number)
{
    if (request->is_traced) {
        set(request, key, CPT_ATTRIBUTE_FLOAT,
            (union cpt_attribute_value){.real = number});
    }
}

void cpt_request_set_bool(struct cpt_request *request, const char *key, int is_true)
{
    if (request->is_traced) {
        set(request, key, CPT_ATTRIBUTE_BOOL,
            (union cpt_attribute_value){.is_true = is_true != 0});
    }
}

struct cpt_attribute *cpti_attributes_close(struct cpt_request *request, size_t *count)
{
    struct cpt_attribute *attributes = NULL;

    cpti_lock_take(&request->lock);
    attributes = request->attributes;
    *count = request->attribute_count;
    /* A task that the answer did not wait for may set one: it must not change this. */
    request->attributes = NULL;
    request->attribute_count = 0;
    request->attribute_bytes = CPT_ATTRIBUTE_BYTES_MAX;
    cpti_lock_release(&request->lock);
    return attributes;
}
