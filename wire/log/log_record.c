/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_record.c - one record of the path log to CBOR and back
 *
 * A record is a map with small numbers as keys: written in ascending order, read in any
 * order. Zero values are not written. The path is a byte string, the message of
 * metadata.proto, so that a selection by the other fields need not decode it.
 */
#include "wire/log/cbor_pull.h"
#include "wire/log/cbor_put.h"
#include "wire/log/log_format.h"

#include "wire/cpt_metadata.h"

#include <assert.h>
#include <string.h>

/* --- Writing --- */

static unsigned flags_of(const struct cpt_record *record)
{
    return (record->is_forced ? CPTI_LOG_FLAG_FORCED : 0U) |
           (record->is_random ? CPTI_LOG_FLAG_RANDOM : 0U) |
           (record->is_local_root ? CPTI_LOG_FLAG_LOCAL_ROOT : 0U) |
           (record->is_failed ? CPTI_LOG_FLAG_FAILED : 0U) |
           (record->is_background ? CPTI_LOG_FLAG_BACKGROUND | CPTI_LOG_FLAG_LOCAL_ROOT
                                  : 0U);
}

static void put_value(struct cpti_put *put, const struct cpt_attribute *attribute)
{
    switch (attribute->type) {
    case CPT_ATTRIBUTE_INTEGER:
        cpti_put_integer(put, attribute->value.integer);
        break;
    case CPT_ATTRIBUTE_FLOAT:
        cpti_put_real(put, attribute->value.real);
        break;
    case CPT_ATTRIBUTE_BOOL:
        cpti_put_bool(put, attribute->value.is_true != 0);
        break;
    default:
        assert(attribute->type == CPT_ATTRIBUTE_TEXT);
        cpti_put_text(put, attribute->value.text);
        break;
    }
}

static void put_attributes(struct cpti_put *put, const struct cpt_record *record)
{
    if (record->attribute_count == 0) {
        return;
    }
    cpti_put_unsigned(put, CPTI_LOG_KEY_ATTRIBUTES);
    cpti_put_map(put, record->attribute_count);
    for (size_t i = 0; i < record->attribute_count; i++) {
        cpti_put_text(put, record->attributes[i].key);
        put_value(put, &record->attributes[i]);
    }
}

static void put_number(struct cpti_put *put, unsigned key, uint64_t number)
{
    if (number != 0) {
        cpti_put_unsigned(put, key);
        cpti_put_unsigned(put, number);
    }
}

static void put_text(struct cpti_put *put, unsigned key, struct cpt_bytes text)
{
    if (text.bytes != 0) {
        cpti_put_unsigned(put, key);
        cpti_put_text(put, text);
    }
}

static void put_bytes(struct cpti_put *put, unsigned key, const void *data,
                      size_t bytes)
{
    if (bytes != 0) {
        cpti_put_unsigned(put, key);
        cpti_put_bytes(put, (struct cpt_bytes){data, bytes});
    }
}

/* The count of keys that the functions above write. */
static size_t count_keys(const struct cpt_record *record, struct cpt_bytes path)
{
    return 1U + (record->start_unix_ns != 0) + (record->service.bytes != 0) +
           (record->method.bytes != 0) + (record->entry.bytes != 0) +
           (record->latency_ns != 0) + (record->probability > 0) +
           (flags_of(record) != 0) + (record->status.bytes != 0) +
           (record->has_trace_id != 0) + (record->has_parent_id != 0) +
           (record->attribute_count != 0) + (path.bytes != 0);
}

static void put_record(struct cpti_put *put, const struct cpt_record *record,
                       struct cpt_bytes path)
{
    cpti_put_map(put, count_keys(record, path));
    cpti_put_unsigned(put, CPTI_LOG_KEY_VERSION);
    cpti_put_unsigned(put, CPT_LOG_VERSION);
    put_number(put, CPTI_LOG_KEY_START_UNIX_NS, record->start_unix_ns);
    put_text(put, CPTI_LOG_KEY_SERVICE, record->service);
    put_text(put, CPTI_LOG_KEY_METHOD, record->method);
    put_text(put, CPTI_LOG_KEY_ENTRY, record->entry);
    put_number(put, CPTI_LOG_KEY_LATENCY_NS, record->latency_ns);
    if (record->probability > 0) {
        cpti_put_unsigned(put, CPTI_LOG_KEY_PROBABILITY);
        cpti_put_real(put, record->probability);
    }
    put_number(put, CPTI_LOG_KEY_FLAGS, flags_of(record));
    put_text(put, CPTI_LOG_KEY_STATUS, record->status);
    put_bytes(put, CPTI_LOG_KEY_TRACE_ID, record->trace_id,
              record->has_trace_id ? sizeof record->trace_id : 0);
    put_bytes(put, CPTI_LOG_KEY_PARENT_ID, record->parent_id,
              record->has_parent_id ? sizeof record->parent_id : 0);
    put_attributes(put, record);
    put_bytes(put, CPTI_LOG_KEY_PATH, path.data, path.bytes);
}

/* Checks a record that is written or was read. */
static cpt_status check_record(const struct cpt_record *record, cpt_status status,
                               uint64_t offset, struct cpt_error *error)
{
    if (record->start_unix_ns > INT64_MAX || record->latency_ns > INT64_MAX) {
        return cpt_error_set(error, status, offset,
                             "a time of the record is not below 2^63 ns");
    }
    if (!(record->probability >= 0 && record->probability <= 1)) {
        return cpt_error_set(error, status, offset,
                             "the record has probability %g, which is not in [0, 1]",
                             record->probability);
    }
    return CPT_OK;
}

/* Sets @path to the bytes of the record's path; the caller frees *@owned. */
static cpt_status path_bytes(const struct cpt_record *record,
                             const struct cpt_alloc *alloc, struct cpt_bytes *path,
                             unsigned char **owned)
{
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options, .alloc = alloc, .is_unlimited = 1};
    cpt_status status = CPT_OK;

    *path = record->path_bytes;
    *owned = NULL;
    if (record->path != NULL) {
        status = cpt_metadata_encode(record->path, &options, owned, &path->bytes, NULL);
        path->data = (const char *)*owned;
    }
    return status;
}

cpt_status cpt_record_encode(const struct cpt_record *record,
                             const struct cpt_alloc *alloc, unsigned char **data,
                             size_t *bytes, struct cpt_error *error)
{
    struct cpti_put put = {.alloc = alloc, .bytes_max = CPT_LOG_RECORD_BYTES_MAX};
    struct cpt_bytes path = {NULL, 0};
    unsigned char *owned = NULL;
    cpt_status status = check_record(record, CPT_INVALID, 0, error);

    if (status != CPT_OK) {
        return status;
    }
    if (record->attribute_count > CPT_LOG_ATTRIBUTES_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "the record has %zu attributes, the limit is %d",
                             record->attribute_count, CPT_LOG_ATTRIBUTES_MAX);
    }
    status = path_bytes(record, alloc, &path, &owned);
    if (status == CPT_OK) {
        put_record(&put, record, path);
        status = put.status;
    }
    if (status == CPT_OK && put.bytes > CPT_LOG_RECORD_BYTES_MAX) {
        status = CPT_LIMIT;
    }
    cpt_alloc_free(alloc, owned);
    if (status != CPT_OK) {
        cpt_alloc_free(alloc, put.data);
        return cpt_error_set(error, status, 0, "the record cannot be encoded: %s",
                             cpt_status_sentence(status));
    }
    *data = put.data;
    *bytes = put.bytes;
    return CPT_OK;
}

/* --- Reading --- */

struct reading {
    struct cpti_cbor cbor;
    struct cpt_record *record;
    struct cpti_log_attributes *attributes;
    uint64_t offset; /* of the record in the input */
    uint64_t version;
    struct cpt_error *error;
};

static cpt_status refuse(const struct reading *reading, const char *what)
{
    return cpt_error_set(reading->error, CPT_CORRUPT,
                         reading->offset + reading->cbor.at, "the record %s", what);
}

static cpt_status next(struct reading *reading, struct cpti_cbor_item *item)
{
    return cpti_cbor_next(&reading->cbor, item) == CPT_OK
               ? CPT_OK
               : refuse(reading, "is no CBOR of definite length");
}

static bool is_string(const struct cpti_cbor_item *item)
{
    return item->type == CPTI_CBOR_TEXT || item->type == CPTI_CBOR_BYTES;
}

/* Whether @item can be the value of an attribute. */
static bool is_value(const struct cpti_cbor_item *item)
{
    switch (item->type) {
    case CPTI_CBOR_UNSIGNED:
    case CPTI_CBOR_NEGATIVE:
        return item->number <= INT64_MAX;
    case CPTI_CBOR_TEXT:
    case CPTI_CBOR_BYTES:
    case CPTI_CBOR_FLOAT:
    case CPTI_CBOR_BOOL:
        return true;
    default:
        return false;
    }
}

static void set_value(struct cpt_attribute *attribute,
                      const struct cpti_cbor_item *item)
{
    switch (item->type) {
    case CPTI_CBOR_UNSIGNED:
        attribute->type = CPT_ATTRIBUTE_INTEGER;
        attribute->value.integer = (int64_t)item->number;
        break;
    case CPTI_CBOR_NEGATIVE:
        attribute->type = CPT_ATTRIBUTE_INTEGER;
        attribute->value.integer = -1 - (int64_t)item->number;
        break;
    case CPTI_CBOR_FLOAT:
        attribute->type = CPT_ATTRIBUTE_FLOAT;
        attribute->value.real = item->real;
        break;
    case CPTI_CBOR_BOOL:
        attribute->type = CPT_ATTRIBUTE_BOOL;
        attribute->value.is_true = item->number != 0;
        break;
    default:
        attribute->type = CPT_ATTRIBUTE_TEXT;
        attribute->value.text = item->text;
        break;
    }
}

/* Makes room for one more attribute and sets *@attribute to it. The caller fills it in
 * place: a copy would stall on the stores just made to it. */
static cpt_status next_attribute(struct reading *reading,
                                 struct cpt_attribute **attribute)
{
    struct cpti_log_attributes *attributes = reading->attributes;
    struct cpt_record *record = reading->record;
    cpt_status status = CPT_OK;

    if (record->attribute_count == attributes->capacity) {
        status = cpt_alloc_grow(attributes->alloc, (void **)&attributes->all,
                                &attributes->capacity, record->attribute_count + 1,
                                CPT_LOG_ATTRIBUTES_MAX, sizeof *attributes->all);
    }
    if (status == CPT_LIMIT) {
        return cpt_error_set(reading->error, CPT_LIMIT, reading->offset,
                             "the record has more attributes than the limit of %d",
                             CPT_LOG_ATTRIBUTES_MAX);
    }
    if (status != CPT_OK) {
        return cpt_error_set(reading->error, status, reading->offset, "out of memory");
    }
    record->attributes = attributes->all;
    *attribute = &attributes->all[record->attribute_count];
    return CPT_OK;
}

/* Skips the items inside @item. */
static cpt_status skip(struct reading *reading, const struct cpti_cbor_item *item)
{
    return cpti_cbor_skip_inside(&reading->cbor, item) == CPT_OK
               ? CPT_OK
               : refuse(reading, "is no CBOR of definite length");
}

/* Reads one key and its value. Skips a value of an unknown type or too large a
 * number. */
static cpt_status read_attribute(struct reading *reading)
{
    struct cpt_attribute *attribute = NULL;
    struct cpti_cbor_item item;
    cpt_status status = next(reading, &item);
    struct cpt_bytes key;

    if (status != CPT_OK) {
        return status;
    }
    if (!is_string(&item)) {
        return refuse(reading, "has an attribute whose key is not a text");
    }
    key = item.text;
    status = next(reading, &item);
    if (status != CPT_OK) {
        return status;
    }
    if (!is_value(&item)) {
        return skip(reading, &item);
    }
    status = next_attribute(reading, &attribute);
    if (status != CPT_OK) {
        return status;
    }
    attribute->key = key;
    set_value(attribute, &item);
    reading->record->attribute_count++;
    return CPT_OK;
}

static cpt_status read_attributes(struct reading *reading,
                                  const struct cpti_cbor_item *map)
{
    cpt_status status = CPT_OK;

    reading->record->attribute_count = 0;
    if (map->type != CPTI_CBOR_MAP) {
        return refuse(reading, "has attributes that are not a map");
    }
    for (uint64_t i = 0; i < map->number && status == CPT_OK; i++) {
        status = read_attribute(reading);
    }
    return status;
}

static cpt_status take_text(struct reading *reading, const struct cpti_cbor_item *item,
                            struct cpt_bytes *text)
{
    *text = item->text;
    return is_string(item) ? CPT_OK
                           : refuse(reading, "has a number in place of a text");
}

static cpt_status take_number(struct reading *reading,
                              const struct cpti_cbor_item *item, uint64_t *number)
{
    *number = item->number;
    return item->type == CPTI_CBOR_UNSIGNED
               ? CPT_OK
               : refuse(reading, "has a time that is not a number");
}

static cpt_status take_id(struct reading *reading, const struct cpti_cbor_item *item,
                          unsigned char *id, size_t bytes)
{
    if (item->type != CPTI_CBOR_BYTES || item->text.bytes != bytes) {
        return refuse(reading, "has an id of a wrong length");
    }
    memcpy(id, item->text.data, bytes);
    return CPT_OK;
}

static cpt_status take_probability(struct reading *reading,
                                   const struct cpti_cbor_item *item)
{
    reading->record->probability = item->real;
    return item->type == CPTI_CBOR_FLOAT
               ? CPT_OK
               : refuse(reading, "has a probability that is not a float");
}

static cpt_status take_flags(struct reading *reading, const struct cpti_cbor_item *item)
{
    reading->record->is_forced = (item->number & CPTI_LOG_FLAG_FORCED) != 0;
    reading->record->is_random = (item->number & CPTI_LOG_FLAG_RANDOM) != 0;
    reading->record->is_local_root = (item->number & CPTI_LOG_FLAG_LOCAL_ROOT) != 0;
    reading->record->is_failed = (item->number & CPTI_LOG_FLAG_FAILED) != 0;
    reading->record->is_background = (item->number & CPTI_LOG_FLAG_BACKGROUND) != 0;
    return item->type == CPTI_CBOR_UNSIGNED
               ? CPT_OK
               : refuse(reading, "has flags that are not a number");
}

/* Reads the value of a known key; CPT_END for any other key. */
static cpt_status read_value(struct reading *reading, uint64_t key,
                             const struct cpti_cbor_item *item)
{
    struct cpt_record *record = reading->record;

    switch (key) {
    case CPTI_LOG_KEY_VERSION:
        return take_number(reading, item, &reading->version);
    case CPTI_LOG_KEY_START_UNIX_NS:
        return take_number(reading, item, &record->start_unix_ns);
    case CPTI_LOG_KEY_SERVICE:
        return take_text(reading, item, &record->service);
    case CPTI_LOG_KEY_METHOD:
        return take_text(reading, item, &record->method);
    case CPTI_LOG_KEY_ENTRY:
        return take_text(reading, item, &record->entry);
    case CPTI_LOG_KEY_LATENCY_NS:
        return take_number(reading, item, &record->latency_ns);
    case CPTI_LOG_KEY_PROBABILITY:
        return take_probability(reading, item);
    case CPTI_LOG_KEY_FLAGS:
        return take_flags(reading, item);
    case CPTI_LOG_KEY_STATUS:
        return take_text(reading, item, &record->status);
    case CPTI_LOG_KEY_TRACE_ID:
        record->has_trace_id = 1;
        return take_id(reading, item, record->trace_id, sizeof record->trace_id);
    case CPTI_LOG_KEY_PARENT_ID:
        record->has_parent_id = 1;
        return take_id(reading, item, record->parent_id, sizeof record->parent_id);
    case CPTI_LOG_KEY_ATTRIBUTES:
        return read_attributes(reading, item);
    case CPTI_LOG_KEY_PATH:
        record->path_bytes = item->text;
        return item->type == CPTI_CBOR_BYTES
                   ? CPT_OK
                   : refuse(reading, "has a path that is not a byte string");
    default:
        return CPT_END;
    }
}

/* Reads one key and its value. */
static cpt_status read_pair(struct reading *reading)
{
    struct cpti_cbor_item key;
    struct cpti_cbor_item value;
    cpt_status status = next(reading, &key);

    if (status == CPT_OK) {
        status = skip(reading, &key);
    }
    if (status == CPT_OK) {
        status = next(reading, &value);
    }
    if (status != CPT_OK) {
        return status;
    }
    status = key.type == CPTI_CBOR_UNSIGNED ? read_value(reading, key.number, &value)
                                            : CPT_END;
    return status == CPT_END ? skip(reading, &value) : status;
}

static cpt_status check_version(const struct reading *reading)
{
    if (reading->version == 0) {
        return cpt_error_set(reading->error, CPT_CORRUPT, reading->offset,
                             "the record has no version");
    }
    if (reading->version > CPT_LOG_VERSION) {
        return cpt_error_set(reading->error, CPT_VERSION, reading->offset,
                             "the record is of version %llu, not %d",
                             (unsigned long long)reading->version, CPT_LOG_VERSION);
    }
    return CPT_OK;
}

cpt_status cpti_record_read(struct cpt_record *record, struct cpt_bytes data,
                            uint64_t offset, struct cpti_log_attributes *attributes,
                            struct cpt_error *error)
{
    struct reading reading = {
        .cbor = {(const unsigned char *)data.data, data.bytes, 0},
        .record = record,
        .attributes = attributes,
        .offset = offset,
        .error = error,
    };
    struct cpti_cbor_item map;
    cpt_status status = CPT_OK;

    memset(record, 0, sizeof *record);
    status = next(&reading, &map);
    if (status != CPT_OK) {
        return status;
    }
    if (map.type != CPTI_CBOR_MAP) {
        return refuse(&reading, "is not a map");
    }
    for (uint64_t i = 0; i < map.number; i++) {
        status = read_pair(&reading);
        if (status != CPT_OK) {
            return status;
        }
    }
    if (reading.cbor.at != reading.cbor.bytes) {
        return refuse(&reading, "has bytes behind its map");
    }
    status = check_version(&reading);
    return status == CPT_OK ? check_record(record, CPT_CORRUPT, offset, error) : status;
}

cpt_status cpt_record_path(const struct cpt_record *record,
                           const struct cpt_alloc *alloc, struct cpt_path *path,
                           struct cpt_error *error)
{
    const struct cpt_metadata_decode_options options = {
        .struct_bytes = sizeof options,
        .alloc = alloc,
        .bytes_max = SIZE_MAX,
        .segments_max = CPT_PATH_SEGMENTS_MAX,
        .frames_max = CPT_PATH_FRAMES_MAX,
        .labels_max = CPT_PATH_LABELS_MAX,
        .depth_max = CPT_PATH_DEPTH_MAX,
        .name_bytes_max = SIZE_MAX};
    cpt_status status = CPT_OK;

    if (record->path_bytes.bytes == 0) {
        return cpt_error_set(error, CPT_CORRUPT, 0, "the record has no path");
    }
    status = cpt_metadata_decode(record->path_bytes.data, record->path_bytes.bytes,
                                 &options, path, error);
    if (status != CPT_OK) {
        return status;
    }
    if (cpt_path_sum_ns(path) == record->latency_ns) {
        return CPT_OK; /* all else has been checked just now */
    }
    status = cpt_path_check(path, record->latency_ns, error);
    cpt_path_reset(path);
    return status;
}

const struct cpt_attribute *cpt_record_attribute(const struct cpt_record *record,
                                                 struct cpt_bytes key)
{
    for (size_t i = record->attribute_count; i-- > 0;) {
        if (cpt_bytes_equal(record->attributes[i].key, key)) {
            return &record->attributes[i];
        }
    }
    return NULL;
}
