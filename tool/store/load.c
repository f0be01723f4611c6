/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * load.c - requests become rows in the next batch of their shard
 *
 *      record + path --> row --identity mod shards--> batch of a shard --POST--> shard
 *
 * The identity of a request is a hash of what makes it the same request in logs
 * (gather/seen.h): its trace id, start, entry and path or, without a trace id, all of
 * it. So a log that has grown or is loaded again, and a copy of it or of a part of it,
 * gives the same rows, and the database keeps one of each. If copies are to be kept
 * apart, the position in the log belongs to it. For the same reason a batch
 * can be sent again when its answer was lost (shard.c), whether the shard has it or
 * not.
 *
 * A stack is hashed when it occurs for the first time; later it is found by its parent,
 * kind and name.
 */
#include "tool/store/store_parts.h"
#include "tool/store/sha256.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <string.h>
#include <time.h>

/* The first columns of a row, and its partition. */
struct row_key {
    uint64_t id;
    const char *source;
    uint64_t ordinal;
    uint32_t month;
};

/* Finds the identity of the stack of frame @index, and its entry in the table. */
static cpt_status find_stack(struct cpti_store *store, const struct cpt_path *path,
                             uint32_t index, struct cpt_error *error)
{
    const struct cpt_frame *frame = cpt_path_frame(path, index);
    const struct cpt_bytes name = cpt_path_frame_name(path, index);
    const uint64_t parent = frame->parent == CPT_FRAME_NONE
                                ? CPTI_STACK_ROOT
                                : store->times[frame->parent].id;
    struct cpti_stack_time *time = &store->times[index];
    const struct cpti_store_stack *known =
        cpti_stacks_below(&store->stacks, parent, frame->kind, name);
    cpt_status status = CPT_OK;
    bool is_new;

    if (known == NULL) {
        const uint64_t id = cpti_stack_id(parent, frame->kind, name);

        status =
            cpti_stacks_add(&store->stacks, id, parent, frame->kind, name, &is_new);
        known = cpti_stacks_find(&store->stacks, id);
    }
    if (status != CPT_OK) {
        return cpt_error_set(error, status, 0, "%s",
                             status == CPT_CORRUPT ? "two stacks have the same identity"
                                                   : cpt_status_sentence(status));
    }
    time->id = known->id;
    time->entry = (size_t)(known - store->stacks.entries);
    return CPT_OK;
}

/* Fills in store->times: identity and times for the stack of each frame of @path, then
 * for the empty stack. Frames without time stay, with 0. */
static cpt_status sum_frames(struct cpti_store *store, const struct cpt_path *path,
                             struct cpt_error *error)
{
    const size_t count = cpt_path_frame_count(path);
    struct cpti_stack_time *times;

    if (cpt_alloc_grow(NULL, (void **)&store->times, &store->time_capacity, count + 1,
                       CPT_PATH_FRAMES_MAX + 1, sizeof *store->times) != CPT_OK) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    times = store->times;
    memset(times, 0, (count + 1) * sizeof *times);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        times[segment->frame].self_ns += segment->duration_ns;
    }
    for (uint32_t i = 0; i < count; i++) {
        const cpt_status status = find_stack(store, path, i, error);

        if (status != CPT_OK) {
            return status;
        }
    }
    for (size_t i = count; i-- > 0;) {
        const uint32_t parent = cpt_path_frame(path, (uint32_t)i)->parent;

        times[i].inclusive_ns += times[i].self_ns;
        if (parent != CPT_FRAME_NONE) {
            times[parent].inclusive_ns += times[i].inclusive_ns;
        }
    }
    times[count].inclusive_ns = cpt_path_sum_ns(path);
    return CPT_OK;
}

/* Whether attribute @index is the last one with its key: only that one counts. */
static bool is_last(const struct cpt_record *record, size_t index)
{
    return cpt_record_attribute(record, record->attributes[index].key) ==
           &record->attributes[index];
}

/* Adds a value to a column of the attributes. */
static void put_attribute(struct cpti_packed *row, unsigned column,
                          const struct cpt_attribute *attribute)
{
    static const struct cpt_bytes none = {"", 0};
    const unsigned type = attribute->type;

    switch (column) {
    case 0:
        cpti_row_text(row, attribute->key);
        break;
    case 1:
        cpti_row_u8(row, type);
        break;
    case 2:
        cpti_row_text(row, type == CPT_ATTRIBUTE_TEXT ? attribute->value.text : none);
        break;
    case 3:
        cpti_row_u64(row, type == CPT_ATTRIBUTE_INTEGER
                              ? (uint64_t)attribute->value.integer
                              : (uint64_t)(type == CPT_ATTRIBUTE_BOOL &&
                                           attribute->value.is_true));
        break;
    default:
        cpti_row_f64(row, type == CPT_ATTRIBUTE_FLOAT ? attribute->value.real : 0);
    }
}

static void put_attributes(struct cpti_packed *row, const struct cpt_record *record)
{
    size_t count = 0;

    for (size_t i = 0; i < record->attribute_count; i++) {
        count += (size_t)is_last(record, i);
    }
    for (unsigned column = 0; column < 5; column++) {
        cpti_row_count(row, count);
        for (size_t i = 0; i < record->attribute_count; i++) {
            if (is_last(record, i)) {
                put_attribute(row, column, &record->attributes[i]);
            }
        }
    }
}

static void put_times(struct cpti_packed *row, const struct cpti_stack_time *times,
                      size_t frame_count)
{
    size_t count = 1; /* the empty stack, even without time */

    for (size_t i = 0; i < frame_count; i++) {
        count += times[i].inclusive_ns != 0;
    }
    for (unsigned column = 0; column < 4; column++) {
        cpti_row_count(row, count);
        for (size_t i = frame_count + 1; i-- > 0;) {
            if (i != frame_count && times[i].inclusive_ns == 0) {
                continue;
            }
            if (column == 3) {
                cpti_row_u16(row, cpt_tree_bucket(times[i].inclusive_ns));
            } else {
                cpti_row_u64(row, column == 0   ? times[i].id
                                  : column == 1 ? times[i].self_ns
                                                : times[i].inclusive_ns);
            }
        }
    }
}

/* Adds the columns after identity, source and ordinal, without the stacks. */
static void put_request(struct cpti_packed *row, const struct cpt_record *record,
                        uint64_t weight)
{
    cpti_row_text(row, record->service);
    cpti_row_u64(row, record->start_unix_ns);
    cpti_row_u64(row, record->latency_ns);
    cpti_row_u64(row, weight);
    cpti_row_text(row, record->method);
    cpti_row_text(row, record->entry);
    cpti_row_text(row, record->status);
    cpti_row_u8(row, record->is_forced != 0);
    cpti_row_u8(row, record->is_random != 0);
    cpti_row_u8(row, record->is_failed != 0);
    cpti_row_u8(row, record->is_local_root != 0);
    cpti_row_text(
        row, (struct cpt_bytes){(const char *)record->trace_id,
                                record->has_trace_id ? sizeof record->trace_id : 0});
    put_attributes(row, record);
}

static void hash_number(struct cpti_sha256 *hash, uint64_t number)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
    }
    cpti_sha256_add(hash, bytes, sizeof bytes);
}

static void hash_text(struct cpti_sha256 *hash, struct cpt_bytes text)
{
    hash_number(hash, text.bytes);
    cpti_sha256_add(hash, text.data, text.bytes);
}

/* The identity of @record, whose row is store->row. */
static uint64_t identify(const struct cpti_store *store,
                         const struct cpt_record *record, uint64_t ordinal)
{
    const bool is_traced = record->has_trace_id && !store->keeps_copies;
    struct cpti_sha256 hash;
    unsigned char digest[32];
    uint64_t id = 0;

    cpti_sha256_begin(&hash);
    hash_number(&hash, store->keeps_copies ? ordinal : 0);
    if (is_traced) {
        hash_number(&hash, record->start_unix_ns);
        cpti_sha256_add(&hash, record->trace_id, sizeof record->trace_id);
        hash_text(&hash, record->service);
        hash_text(&hash, record->entry);
        hash_text(&hash, record->path_bytes);
    } else {
        cpti_sha256_add(&hash, store->row.data, store->row.bytes);
    }
    cpti_sha256_end(&hash, digest);
    for (unsigned i = 0; i < 8; i++) {
        id = id << 8 | digest[i];
    }
    return id;
}

/* Adds rows for the stacks that shard @number does not have. */
static void put_stacks(struct cpti_store *store, size_t number, size_t frame_count)
{
    const uint64_t bit = UINT64_C(1) << number;
    struct cpti_packed *rows = &store->shards[number].filling.stacks;

    for (size_t i = 0; i < frame_count; i++) {
        struct cpti_store_stack *stack = &store->stacks.entries[store->times[i].entry];

        if ((stack->shards & bit) == 0) {
            stack->shards |= bit;
            cpti_row_u64(rows, stack->id);
            cpti_row_u64(rows, stack->parent);
            cpti_row_u16(rows, stack->kind);
            cpti_row_text(rows, cpt_names_at(store->stacks.names, stack->name));
        }
    }
}

/* The partition of a request in the database: a month. */
static uint32_t month_of(uint64_t start_ns)
{
    const time_t seconds = (time_t)(uint32_t)(start_ns / 1000000000);
    struct tm parts = {0};

    (void)gmtime_r(&seconds, &parts);
    return (uint32_t)(12 * parts.tm_year + parts.tm_mon);
}

/* Adds the current row to @batch. */
static cpt_status put_row(const struct cpti_store *store,
                          struct cpti_store_batch *batch, const struct row_key *key,
                          struct cpt_error *error)
{
    struct cpti_row_place place = {.at = batch->requests.bytes, .month = key->month};

    cpti_row_u64(&batch->requests, key->id);
    cpti_row_text(&batch->requests, cpt_bytes_of(key->source));
    cpti_row_u64(&batch->requests, key->ordinal);
    cpti_row_bytes(&batch->requests, store->row.data, store->row.bytes);
    place.end = batch->requests.bytes;
    if (store->row.has_failed || batch->requests.has_failed ||
        batch->stacks.has_failed ||
        cpt_alloc_grow(NULL, (void **)&batch->places, &batch->place_capacity,
                       batch->row_count + 1, SIZE_MAX / sizeof *batch->places,
                       sizeof *batch->places) != CPT_OK) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    batch->places[batch->row_count++] = place;
    return CPT_OK;
}

cpt_status cpti_store_load_add(struct cpti_store *store, const char *source,
                               const struct cpt_record *record,
                               const struct cpt_path *path, uint64_t weight,
                               uint64_t ordinal, struct cpt_error *error)
{
    struct row_key key = {.source = source, .ordinal = ordinal};
    struct cpti_shard *shard;
    size_t number;
    cpt_status status = CPT_OK;

    if (record->is_background) {
        return CPT_OK; /* tables hold requests only */
    }
    status = sum_frames(store, path, error);
    if (status != CPT_OK) {
        return status;
    }
    store->row.bytes = 0;
    put_request(&store->row, record, weight);
    put_times(&store->row, store->times, cpt_path_frame_count(path));
    key.id = identify(store, record, ordinal);
    key.month = month_of(record->start_unix_ns);
    number = key.id % store->shard_count;
    shard = &store->shards[number];
    put_stacks(store, number, cpt_path_frame_count(path));
    status = put_row(store, &shard->filling, &key, error);
    if (status == CPT_OK && (shard->filling.row_count >= store->batch_rows ||
                             shard->filling.requests.bytes >= CPTI_BATCH_BYTES)) {
        status = cpti_shard_send(store, shard, error);
    }
    return status;
}

cpt_status cpti_store_load_end(struct cpti_store *store, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < store->shard_count && status == CPT_OK; i++) {
        status = cpti_shard_send(store, &store->shards[i], error);
    }
    for (size_t i = 0; i < store->shard_count && status == CPT_OK; i++) {
        status = cpti_shard_wait(&store->shards[i], error);
    }
    return status;
}
