/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * load.c - requests become rows, and rows go to their shard until it has them
 *
 *      record + path --> row --identity mod shards--> batch of a shard --POST--> shard
 *
 * The identity of a request is a hash of its row and of its place in its log, without
 * the log's name: so a log that has grown, was renamed or is loaded a second time
 * brings the rows that are there already, and the database keeps one of each. That is
 * also why a batch may be sent again when its answer was lost: whether the shard had
 * taken it before it died makes no difference.
 *
 * A batch is never sent to another shard instead, since there the same rows would count
 * once more. While a shard is away its rows wait, and the loader with them.
 */
#include "cpt/store/store_parts.h"
#include "cpt/store/sha256.h"
#include "cpt/store/tables.h"
#include "aggregate/cpt_tree.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <string.h>
#include <time.h>

/* Pause before the next try: at first, and at most. */
enum { PAUSE_FIRST_MS = 100, PAUSE_MAX_MS = 3000 };

/* --- Sending --- */

static void pause_ms(unsigned ms)
{
    const struct timespec time = {(time_t)(ms / 1000), (long)ms % 1000 * 1000000};

    (void)nanosleep(&time, NULL);
}

/* Runs an INSERT until the shard has taken it, refuses it, or time is up. */
static cpt_status insert(const struct cpti_store *store, struct cpti_shard *shard,
                         const char *statement, const struct cpti_rows *rows,
                         struct cpt_error *error)
{
    const uint64_t until_ns = cpt_clock_now_ns(cpt_clock_monotonic()) +
                              store->retry_seconds * UINT64_C(1000000000);
    unsigned ms = PAUSE_FIRST_MS;

    if (rows->bytes == 0) {
        return CPT_OK;
    }
    for (;;) {
        struct cpt_error why = {0};
        const cpt_status status = cpti_shard_run(store, shard, statement, rows, &why);

        if (status == CPT_OK) {
            return CPT_OK;
        }
        if (status != CPT_UNAVAILABLE ||
            cpt_clock_now_ns(cpt_clock_monotonic()) + ms * UINT64_C(1000000) >=
                until_ns) {
            return cpt_error_set(error, status, 0, "%s", why.sentence);
        }
        pause_ms(ms);
        ms = 2 * ms < PAUSE_MAX_MS ? 2 * ms : PAUSE_MAX_MS;
    }
}

/* Stacks first: whoever reads a request finds out what its numbers mean. */
static cpt_status send_shard(const struct cpti_store *store, struct cpti_shard *shard,
                             struct cpt_error *error)
{
    cpt_status status = insert(store, shard, CPTI_INSERT_STACKS, &shard->stacks, error);

    if (status == CPT_OK) {
        status = insert(store, shard, CPTI_INSERT_REQUESTS, &shard->requests, error);
    }
    if (status == CPT_OK) {
        shard->stacks.bytes = 0;
        shard->requests.bytes = 0;
        shard->row_count = 0;
    }
    return status;
}

cpt_status cpti_store_load_end(struct cpti_store *store, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < store->shard_count && status == CPT_OK; i++) {
        status = send_shard(store, &store->shards[i], error);
    }
    return status;
}

/* --- Rows --- */

/* The frames of @path with the identities and times of their stacks, the empty stack
 * behind them. Frames without time stay, with 0. */
static cpt_status sum_frames(struct cpti_store *store, const struct cpt_path *path)
{
    const size_t count = cpt_path_frame_count(path);
    struct cpti_stack_time *times;

    if (cpt_alloc_grow(NULL, (void **)&store->times, &store->time_capacity, count + 1,
                       CPT_PATH_FRAMES_MAX + 1, sizeof *store->times) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    times = store->times;
    memset(times, 0, (count + 1) * sizeof *times);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        times[segment->frame].self_ns += segment->duration_ns;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);

        times[i].id = cpti_stack_id(
            frame->parent == CPT_FRAME_NONE ? CPTI_STACK_ROOT : times[frame->parent].id,
            frame->kind, cpt_path_frame_name(path, i));
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

/* Whether attribute @index is the last one with its key, which is the one that counts.
 */
static int is_last(const struct cpt_record *record, size_t index)
{
    return cpt_record_attribute(record, record->attributes[index].key) ==
           &record->attributes[index];
}

/* A column of the attributes: one value of each. */
static void put_attribute(struct cpti_rows *row, unsigned column,
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

static void put_attributes(struct cpti_rows *row, const struct cpt_record *record)
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

static void put_times(struct cpti_rows *row, const struct cpti_stack_time *times,
                      size_t frame_count)
{
    size_t count = 1; /* the empty stack may have no time, and is there */

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

/* All columns but the identity and the log. */
static void put_request(struct cpti_rows *row, const struct cpt_record *record,
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

static uint64_t identify(const struct cpti_rows *row, uint64_t ordinal)
{
    struct cpti_sha256 hash;
    unsigned char place[8];
    unsigned char digest[32];
    uint64_t id = 0;

    for (unsigned i = 0; i < 8; i++) {
        place[i] = (unsigned char)(ordinal >> 8 * i);
    }
    cpti_sha256_begin(&hash);
    cpti_sha256_add(&hash, place, sizeof place);
    cpti_sha256_add(&hash, row->data, row->bytes);
    cpti_sha256_end(&hash, digest);
    for (unsigned i = 0; i < 8; i++) {
        id = id << 8 | digest[i];
    }
    return id;
}

/* Rows for the stacks that @shard has not been told of. */
static cpt_status put_stacks(struct cpti_shard *shard, const struct cpt_path *path,
                             const struct cpti_stack_time *times,
                             struct cpt_error *error)
{
    for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);
        const struct cpt_bytes name = cpt_path_frame_name(path, i);
        const uint64_t parent =
            frame->parent == CPT_FRAME_NONE ? CPTI_STACK_ROOT : times[frame->parent].id;
        int is_new = 0;
        const cpt_status status = cpti_stacks_add(&shard->known, times[i].id, parent,
                                                  frame->kind, name, &is_new);

        if (status != CPT_OK) {
            return cpt_error_set(error, status, 0, "%s",
                                 status == CPT_CORRUPT
                                     ? "two stacks have the same identity"
                                     : cpt_status_sentence(status));
        }
        if (is_new) {
            cpti_row_u64(&shard->stacks, times[i].id);
            cpti_row_u64(&shard->stacks, parent);
            cpti_row_u16(&shard->stacks, frame->kind);
            cpti_row_text(&shard->stacks, name);
        }
    }
    return CPT_OK;
}

cpt_status cpti_store_load_add(struct cpti_store *store, const char *source,
                               const struct cpt_record *record,
                               const struct cpt_path *path, uint64_t weight,
                               uint64_t ordinal, struct cpt_error *error)
{
    struct cpti_shard *shard;
    uint64_t id;
    cpt_status status = sum_frames(store, path);

    if (status != CPT_OK) {
        return cpt_error_set(error, status, 0, "out of memory");
    }
    store->row.bytes = 0;
    put_request(&store->row, record, weight);
    put_times(&store->row, store->times, cpt_path_frame_count(path));
    id = identify(&store->row, ordinal);
    shard = &store->shards[id % store->shard_count];
    status = put_stacks(shard, path, store->times, error);
    cpti_row_u64(&shard->requests, id);
    cpti_row_text(&shard->requests, cpt_bytes_of(source));
    cpti_row_u64(&shard->requests, ordinal);
    cpti_row_bytes(&shard->requests, store->row.data, store->row.bytes);
    if (store->row.has_failed || shard->requests.has_failed ||
        shard->stacks.has_failed) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    shard->row_count++;
    if (status == CPT_OK && (shard->row_count >= store->batch_rows ||
                             shard->requests.bytes >= CPTI_BATCH_BYTES)) {
        status = send_shard(store, shard, error);
    }
    return status;
}
