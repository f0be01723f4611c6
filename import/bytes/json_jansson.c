/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json_jansson.c - json.h by jansson, where there is no simdjson
 *
 * A value is a json_t; a place is an iterator of an object, or an index of an array.
 * Jansson itself bounds the depth, by 2,048, but not the memory: a text of "{}," takes
 * 73 times its length. Its allocator is one for the whole process, so ours asks the
 * thread which bound there is.
 */
#include "import/bytes/json.h"
#include "import/bytes/json_fault.h"

#include <jansson.h>

#include <malloc.h>
#include <stdlib.h>

struct cpti_doc {
    json_t *root;
    uint64_t replaced;
    size_t *left; /* of the bound; NULL: there is none */
};

/* --- Memory --- */

/* The bound of the document that this thread parses. */
static _Thread_local struct {
    size_t *left;
    bool is_passed;
} bound;

static void *take_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    const size_t taken =
        memory != NULL && bound.left != NULL ? malloc_usable_size(memory) : 0;

    if (taken == 0) {
        return memory;
    }
    if (taken > *bound.left) {
        bound.is_passed = true;
        free(memory);
        return NULL;
    }
    *bound.left -= taken;
    return memory;
}

static void give_memory(void *memory)
{
    if (bound.left != NULL && memory != NULL) {
        *bound.left += malloc_usable_size(memory);
    }
    free(memory);
}

/* Before any thread begins, as jansson asks. */
__attribute__((constructor)) static void set_memory(void)
{
    json_set_alloc_funcs(take_memory, give_memory);
}

void cpti_doc_bound(struct cpti_doc *json, size_t *left)
{
    json->left = left;
}

/* --- Documents --- */

static json_t *item(struct cpti_doc_value value)
{
    return (json_t *)(uintptr_t)value.owner;
}

static struct cpti_doc_value value_of(const json_t *owner)
{
    return (struct cpti_doc_value){.owner = owner};
}

struct cpti_doc *cpti_doc_new(void)
{
    return calloc(1, sizeof(struct cpti_doc));
}

void cpti_doc_free(struct cpti_doc *json)
{
    if (json != NULL) {
        json_decref(json->root);
        free(json);
    }
}

const char *cpti_doc_library(void)
{
    return "jansson";
}

/* CPT_OK, CPT_LIMIT, CPT_NO_MEMORY or CPT_CORRUPT, without words. */
static cpt_status load(struct cpti_doc *json, const char *bytes, size_t count)
{
    json_error_t found = {0};

    json_decref(json->root);
    bound.left = json->left;
    bound.is_passed = false;
    json->root = json_loadb(bytes, count, JSON_DECODE_ANY | JSON_ALLOW_NUL, &found);
    bound.left = NULL;
    if (json->root != NULL) {
        return CPT_OK;
    }
    if (bound.is_passed) {
        return CPT_LIMIT;
    }
    return json_error_code(&found) == json_error_out_of_memory ? CPT_NO_MEMORY
                                                               : CPT_CORRUPT;
}

cpt_status cpti_doc_parse(struct cpti_doc *json, const char *bytes, size_t count,
                          struct cpti_doc_value *root, struct cpt_error *error)
{
    struct cpti_json_mended mended = {.replaced = 0};
    cpt_status status = load(json, bytes, count);

    if (status == CPT_CORRUPT) {
        status = cpti_json_mend(bytes, count, &mended, error);
        if (status != CPT_OK) {
            *root = value_of(NULL);
            return status;
        }
        status = load(json, mended.text, mended.bytes);
        cpti_json_mended_free(&mended);
    }
    json->replaced = mended.replaced;
    *root = value_of(json->root);
    return cpti_json_refused(status, error);
}

uint64_t cpti_doc_replaced(const struct cpti_doc *json)
{
    return json->replaced;
}

enum cpti_doc_type cpti_doc_type(struct cpti_doc_value value)
{
    static const enum cpti_doc_type types[] = {
        [JSON_OBJECT] = CPTI_DOC_OBJECT, [JSON_ARRAY] = CPTI_DOC_ARRAY,
        [JSON_STRING] = CPTI_DOC_STRING, [JSON_INTEGER] = CPTI_DOC_NUMBER,
        [JSON_REAL] = CPTI_DOC_NUMBER,   [JSON_TRUE] = CPTI_DOC_BOOLEAN,
        [JSON_FALSE] = CPTI_DOC_BOOLEAN, [JSON_NULL] = CPTI_DOC_NULL};

    return value.owner == NULL ? CPTI_DOC_NONE : types[json_typeof(item(value))];
}

static bool take_member(struct cpti_doc_member *member, void *at)
{
    member->place.owner = at;
    if (at == NULL) {
        return false;
    }
    member->key =
        (struct cpt_bytes){json_object_iter_key(at), json_object_iter_key_len(at)};
    member->value = value_of(json_object_iter_value(at));
    return true;
}

static bool take_element(struct cpti_doc_member *member, size_t at)
{
    member->place.at = at;
    member->value = value_of(json_array_get(item(member->container), at));
    return member->value.owner != NULL;
}

bool cpti_doc_first(struct cpti_doc_value container, struct cpti_doc_member *member)
{
    *member = (struct cpti_doc_member){.container = container};
    switch (cpti_doc_type(container)) {
    case CPTI_DOC_OBJECT:
        return take_member(member, json_object_iter(item(container)));
    case CPTI_DOC_ARRAY:
        return take_element(member, 0);
    default:
        return false;
    }
}

bool cpti_doc_next(struct cpti_doc_member *member)
{
    if (json_is_object(item(member->container))) {
        return take_member(
            member, json_object_iter_next(item(member->container),
                                          (void *)(uintptr_t)member->place.owner));
    }
    return take_element(member, member->place.at + 1);
}

struct cpti_doc_value cpti_doc_find(struct cpti_doc_value object, const char *key,
                                    size_t bytes)
{
    (void)bytes; /* it wants a string */
    return value_of(json_object_get(item(object), key));
}

struct cpt_bytes cpti_doc_string(struct cpti_doc_value value)
{
    if (cpti_doc_type(value) != CPTI_DOC_STRING) {
        return cpt_bytes_of("");
    }
    return (struct cpt_bytes){json_string_value(item(value)),
                              json_string_length(item(value))};
}

bool cpti_doc_is_true(struct cpti_doc_value value)
{
    return value.owner != NULL && json_is_true(item(value));
}

bool cpti_doc_integer(struct cpti_doc_value value, int64_t *number)
{
    if (value.owner == NULL || !json_is_integer(item(value))) {
        return false;
    }
    *number = json_integer_value(item(value));
    return true;
}

bool cpti_doc_real(struct cpti_doc_value value, double *number)
{
    if (value.owner == NULL || !json_is_number(item(value))) {
        return false;
    }
    *number = json_number_value(item(value));
    return true;
}
