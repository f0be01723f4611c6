/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* nested_keys.c - attributes that are nested in two sets; see nested_keys.h */
#include "tool/culprit/nested_keys.h"

#include "wire/cpt_log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 20 };

struct value {
    uint64_t hash;
    unsigned set;
};

struct key {
    char name[CPTI_NESTED_KEY_BYTES];
    struct value *values;
    size_t count;
    size_t capacity;
};

struct cpti_nested_keys {
    struct key keys[CPTI_NESTED_KEYS_MAX];
    size_t count;
};

/* FNV-1a, with the highest bit set: numbers of requests have it clear. */
uint64_t cpti_nested_hash(struct cpt_bytes value)
{
    uint64_t hash = 0xcbf29ce484222325U;

    for (size_t i = 0; i < value.bytes; i++) {
        hash = (hash ^ (unsigned char)value.data[i]) * 0x100000001b3U;
    }
    return hash | UINT64_C(1) << 63;
}

struct cpti_nested_keys *cpti_nested_new(void)
{
    return cpt_alloc_zeroed(NULL, sizeof(struct cpti_nested_keys));
}

void cpti_nested_free(struct cpti_nested_keys *keys)
{
    for (size_t i = 0; keys != NULL && i < keys->count; i++) {
        cpt_alloc_free(NULL, keys->keys[i].values);
    }
    cpt_alloc_free(NULL, keys);
}

/* The key of @name, which is new if there is room; else NULL. */
static struct key *find_key(struct cpti_nested_keys *keys, struct cpt_bytes name)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (cpt_bytes_equal(cpt_bytes_of(keys->keys[i].name), name)) {
            return &keys->keys[i];
        }
    }
    if (keys->count == CPTI_NESTED_KEYS_MAX || name.bytes >= CPTI_NESTED_KEY_BYTES ||
        name.bytes == 0 || memchr(name.data, 0, name.bytes) != NULL) {
        return NULL;
    }
    memcpy(keys->keys[keys->count].name, name.data, name.bytes);
    return &keys->keys[keys->count++];
}

/* The hash of a value; false if it is of no type that tells users apart. */
static bool hash_of(const struct cpt_attribute *attribute, uint64_t *hash)
{
    struct cpt_bytes bytes = attribute->value.text;

    if (attribute->type == CPT_ATTRIBUTE_INTEGER) {
        bytes = (struct cpt_bytes){(const char *)&attribute->value.integer,
                                   sizeof attribute->value.integer};
    } else if (attribute->type != CPT_ATTRIBUTE_TEXT) {
        return false;
    }
    *hash = cpti_nested_hash(bytes);
    return true;
}

cpt_status cpti_nested_add(struct cpti_nested_keys *keys,
                           const struct cpt_record *record, unsigned set)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < record->attribute_count && status == CPT_OK; i++) {
        struct key *key = find_key(keys, record->attributes[i].key);
        struct value value = {.set = set};
        void *values;

        if (key == NULL || key->count == VALUES_MAX ||
            !hash_of(&record->attributes[i], &value.hash)) {
            continue;
        }
        values = key->values;
        status = cpt_alloc_grow(NULL, &values, &key->capacity, key->count + 1,
                                VALUES_MAX, sizeof value);
        key->values = values;
        if (status == CPT_OK) {
            key->values[key->count++] = value;
        }
    }
    return status;
}

static int compare_values(const void *left, const void *right)
{
    const struct value *a = left;
    const struct value *b = right;

    return a->hash != b->hash ? (a->hash > b->hash) - (a->hash < b->hash)
                              : (a->set > b->set) - (a->set < b->set);
}

/* Whether each value of @key is in one set, and several requests share most of them. */
static bool is_nested(struct key *key)
{
    size_t counts[2] = {0, 0};

    if (key->count == 0) {
        return false;
    }
    qsort(key->values, key->count, sizeof *key->values, compare_values);
    for (size_t i = 0; i < key->count; i++) {
        const struct value *value = &key->values[i];
        const bool is_new = i == 0 || value[-1].hash != value->hash;

        if (!is_new && value[-1].set != value->set) {
            return false;
        }
        counts[value->set] += is_new;
    }
    return counts[0] >= CPTI_NESTED_VALUES_MIN && counts[1] >= CPTI_NESTED_VALUES_MIN &&
           2 * (counts[0] + counts[1]) <= key->count;
}

const char *cpti_nested_key(struct cpti_nested_keys *keys, size_t index)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (is_nested(&keys->keys[i]) && index-- == 0) {
            return keys->keys[i].name;
        }
    }
    return NULL;
}
