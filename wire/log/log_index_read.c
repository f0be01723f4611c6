/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_index_read.c - the index at the end of a log, found and checked
 *
 * The index is read from the end: the footer has the length of the payload, which leads
 * to the head, and the head has the checksum. Then the map must state the offset at
 * which it was found; its blocks must lie before it, in ascending order. Everything
 * else is checked when it is used: see pass_over() in log_reader.c.
 */
#include "wire/log/log_index.h"

#include "wire/log/cbor_pull.h"
#include "wire/log/log_format.h"

#include <string.h>

struct reading {
    const struct cpt_log_index_options *options;
    struct cpt_log_index *index;
    struct cpti_cbor cbor;
    uint64_t offset; /* of the index's block in the input */
    uint64_t behind; /* the end of the block whose row was read last */
    struct cpt_error *error;
};

static cpt_status refuse(const struct reading *reading, const char *sentence)
{
    return cpt_error_set(reading->error, CPT_CORRUPT,
                         reading->offset + CPTI_LOG_HEAD_BYTES + reading->cbor.at, "%s",
                         sentence);
}

/* --- The map --- */

static cpt_status read_number(struct reading *reading, uint64_t *number)
{
    struct cpti_cbor_item item;

    if (cpti_cbor_next(&reading->cbor, &item) != CPT_OK ||
        item.type != CPTI_CBOR_UNSIGNED) {
        return refuse(reading, "the index has no number where one is expected");
    }
    *number = item.number;
    return CPT_OK;
}

static cpt_status read_array(struct reading *reading, uint64_t *count)
{
    struct cpti_cbor_item item;

    if (cpti_cbor_next(&reading->cbor, &item) != CPT_OK ||
        item.type != CPTI_CBOR_ARRAY) {
        return refuse(reading, "the index has no array where one is expected");
    }
    *count = item.number;
    return CPT_OK;
}

static cpt_status read_names(struct reading *reading, struct cpti_log_names *names)
{
    uint64_t count = 0;
    cpt_status status = read_array(reading, &count);

    if (status == CPT_OK && (count > CPT_LOG_INDEX_NAMES_MAX || names->count != 0)) {
        return refuse(reading, "the index has too many names");
    }
    for (uint64_t i = 0; i < count && status == CPT_OK; i++) {
        struct cpti_cbor_item item;

        if (cpti_cbor_next(&reading->cbor, &item) != CPT_OK ||
            (item.type != CPTI_CBOR_TEXT && item.type != CPTI_CBOR_BYTES) ||
            item.text.bytes > CPT_LOG_INDEX_NAME_BYTES_MAX) {
            return refuse(reading, "the index has no short name where one is expected");
        }
        status = cpti_log_names_add(reading->index->alloc, names, item.text);
    }
    return status;
}

/* Reads the numbers of a row; skips those of newer versions. */
static cpt_status read_items(struct reading *reading,
                             uint64_t items[CPTI_LOG_INDEX_ROW_ITEMS])
{
    uint64_t count = 0;
    cpt_status status = read_array(reading, &count);

    if (status == CPT_OK && count < CPTI_LOG_INDEX_ROW_ITEMS) {
        return refuse(reading, "a row of the index is too short");
    }
    for (size_t i = 0; i < CPTI_LOG_INDEX_ROW_ITEMS && status == CPT_OK; i++) {
        status = read_number(reading, &items[i]);
    }
    for (uint64_t i = CPTI_LOG_INDEX_ROW_ITEMS; i < count && status == CPT_OK; i++) {
        struct cpti_cbor_item item;

        if (cpti_cbor_next(&reading->cbor, &item) != CPT_OK ||
            cpti_cbor_skip_inside(&reading->cbor, &item) != CPT_OK) {
            return refuse(reading, "a row of the index is broken");
        }
    }
    return status;
}

static cpt_status read_row(struct reading *reading)
{
    struct cpt_log_index *index = reading->index;
    uint64_t items[CPTI_LOG_INDEX_ROW_ITEMS] = {0};
    cpt_status status = read_items(reading, items);

    if (status != CPT_OK) {
        return status;
    }
    if (items[0] > reading->offset - reading->behind ||
        items[1] < CPTI_LOG_HEAD_BYTES ||
        items[1] > reading->offset - reading->behind - items[0]) {
        return refuse(reading, "a block of the index lies outside of the file");
    }
    if (items[2] > UINT32_MAX || items[3] > UINT32_MAX || items[4] > INT64_MAX ||
        items[5] > INT64_MAX - items[4] || items[6] > INT64_MAX ||
        items[7] > INT64_MAX - items[6]) {
        return refuse(reading, "a number of the index is too large");
    }
    status = cpt_alloc_grow(index->alloc, (void **)&index->blocks, &index->capacity,
                            index->count + 1, SIZE_MAX, sizeof *index->blocks);
    if (status != CPT_OK) {
        return status;
    }
    index->blocks[index->count++] =
        (struct cpt_log_index_block){.offset = reading->behind + items[0],
                                     .bytes = items[1],
                                     .record_count = (uint32_t)items[2],
                                     .payload_crc = (uint32_t)items[3],
                                     .start_min_ns = items[4],
                                     .start_max_ns = items[4] + items[5],
                                     .latency_min_ns = items[6],
                                     .latency_max_ns = items[6] + items[7],
                                     .services = items[8],
                                     .keys = items[9]};
    reading->behind += items[0] + items[1];
    return CPT_OK;
}

static cpt_status read_rows(struct reading *reading)
{
    uint64_t count = 0;
    cpt_status status = read_array(reading, &count);

    if (status == CPT_OK && count > CPT_LOG_INDEX_BLOCKS_MAX - reading->index->count) {
        return cpt_error_set(reading->error, CPT_LIMIT, reading->offset,
                             "the index has %llu blocks, the limit is %d",
                             (unsigned long long)count, CPT_LOG_INDEX_BLOCKS_MAX);
    }
    for (uint64_t i = 0; i < count && status == CPT_OK; i++) {
        status = read_row(reading);
    }
    return status;
}

/* Reads one key of the map with its value. Sets *@is_placed if that is its own
 * offset. */
static cpt_status read_member(struct reading *reading, bool *is_placed)
{
    uint64_t key = 0;
    uint64_t offset = 0;
    struct cpti_cbor_item item;
    cpt_status status = read_number(reading, &key);

    if (status != CPT_OK) {
        return status;
    }
    switch (key) {
    case CPTI_LOG_INDEX_OFFSET:
        status = read_number(reading, &offset);
        *is_placed = status == CPT_OK && offset == reading->offset;
        return status == CPT_OK && !*is_placed
                   ? refuse(reading, "the index was written for another place")
                   : status;
    case CPTI_LOG_INDEX_SERVICES:
        return read_names(reading, &reading->index->services);
    case CPTI_LOG_INDEX_KEYS:
        return read_names(reading, &reading->index->keys);
    case CPTI_LOG_INDEX_BLOCKS:
        return read_rows(reading);
    default:
        if (cpti_cbor_next(&reading->cbor, &item) != CPT_OK ||
            cpti_cbor_skip_inside(&reading->cbor, &item) != CPT_OK) {
            return refuse(reading, "the index is broken");
        }
        return CPT_OK;
    }
}

static cpt_status read_map(struct reading *reading)
{
    struct cpti_cbor_item item;
    bool is_placed = false;
    cpt_status status = CPT_OK;

    if (cpti_cbor_next(&reading->cbor, &item) != CPT_OK || item.type != CPTI_CBOR_MAP) {
        return refuse(reading, "the index is not a map");
    }
    for (uint64_t i = 0; i < item.number && status == CPT_OK; i++) {
        status = read_member(reading, &is_placed);
    }
    if (status == CPT_OK && !is_placed) {
        return refuse(reading, "the index does not say where it stands");
    }
    return status;
}

/* --- The block --- */

/* Reads the bytes of the payload from the footer; 0: there is no index. */
static cpt_status find_payload(const struct cpt_log_index_options *options,
                               uint32_t *payload_bytes)
{
    unsigned char footer[CPTI_LOG_INDEX_FOOTER_BYTES];
    cpt_status status = CPT_OK;

    *payload_bytes = 0;
    if (options->input_bytes < CPTI_LOG_HEAD_BYTES + CPTI_LOG_INDEX_FOOTER_BYTES) {
        return CPT_OK;
    }
    status = options->read_at(options->context, options->input_bytes - sizeof footer,
                              footer, sizeof footer);
    if (status == CPT_OK &&
        memcmp(footer + 4, CPTI_LOG_INDEX_MAGIC, CPTI_LOG_INDEX_MAGIC_BYTES) == 0) {
        *payload_bytes = cpti_log_get_u32(footer);
    }
    return status;
}

/* Checks that @data is the head of an index that ends the input. */
static cpt_status check_head(struct reading *reading,
                             const unsigned char data[CPTI_LOG_HEAD_BYTES],
                             uint32_t payload_bytes, struct cpti_log_head *head)
{
    if (!cpti_log_head_read(head, data) || head->type != CPTI_LOG_BLOCK_INDEX ||
        head->payload_bytes != payload_bytes) {
        return refuse(reading, "the input ends like an index, but has none");
    }
    if (head->version != CPT_LOG_VERSION) {
        return cpt_error_set(reading->error, CPT_VERSION, reading->offset,
                             "the index is of version %u, not %d", head->version,
                             CPT_LOG_VERSION);
    }
    return CPT_OK;
}

static cpt_status read_block(struct reading *reading, uint32_t payload_bytes,
                             unsigned char *payload)
{
    const struct cpt_log_index_options *options = reading->options;
    unsigned char data[CPTI_LOG_HEAD_BYTES];
    struct cpti_log_head head;
    cpt_status status =
        options->read_at(options->context, reading->offset, data, sizeof data);

    if (status == CPT_OK) {
        status = check_head(reading, data, payload_bytes, &head);
    }
    if (status == CPT_OK) {
        status =
            options->read_at(options->context, reading->offset + CPTI_LOG_HEAD_BYTES,
                             payload, payload_bytes);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (cpt_crc32c(0, payload, payload_bytes) != head.payload_crc) {
        return refuse(reading, "the index has a wrong checksum");
    }
    reading->cbor =
        (struct cpti_cbor){payload, payload_bytes - CPTI_LOG_INDEX_FOOTER_BYTES, 0};
    return read_map(reading);
}

/* Allocates the index and reads its block, whose length was checked. */
static cpt_status read_index(const struct cpt_log_index_options *options,
                             uint32_t payload_bytes, struct cpt_log_index **index,
                             struct cpt_error *error)
{
    struct reading reading = {.options = options,
                              .index = cpt_log_index_new(options->alloc),
                              .offset = options->input_bytes - payload_bytes -
                                        CPTI_LOG_HEAD_BYTES,
                              .error = error};
    unsigned char *payload = cpt_alloc_zeroed(options->alloc, payload_bytes);
    cpt_status status = CPT_NO_MEMORY;

    if (reading.index != NULL && payload != NULL) {
        status = read_block(&reading, payload_bytes, payload);
    }
    cpt_alloc_free(options->alloc, payload);
    if (status != CPT_OK) {
        cpt_log_index_free(reading.index);
        return status;
    }
    *index = reading.index;
    return CPT_OK;
}

cpt_status cpt_log_index_read(const struct cpt_log_index_options *given,
                              struct cpt_log_index **index, struct cpt_error *error)
{
    struct cpt_log_index_options options;
    uint32_t payload_bytes = 0;
    cpt_status status = cpt_options_read(&options, sizeof options, given, error);

    if (status != CPT_OK) {
        return status;
    }
    if (options.read_at == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "there is no function to read the index with");
    }
    status = find_payload(&options, &payload_bytes);
    if (status != CPT_OK) {
        return status;
    }
    if (payload_bytes < CPTI_LOG_INDEX_FOOTER_BYTES ||
        payload_bytes > options.input_bytes - CPTI_LOG_HEAD_BYTES) {
        return CPT_END;
    }
    if (payload_bytes > CPT_LOG_INDEX_BYTES_MAX) {
        return cpt_error_set(error, CPT_LIMIT,
                             options.input_bytes - CPTI_LOG_INDEX_FOOTER_BYTES,
                             "the index has %lu bytes, the limit is %d",
                             (unsigned long)payload_bytes, CPT_LOG_INDEX_BYTES_MAX);
    }
    return read_index(&options, payload_bytes, index, error);
}
