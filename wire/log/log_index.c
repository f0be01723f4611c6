/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_index.c - an index built block by block, and written; see log_index.h
 *
 * The sets of services and keys are one number for each block, with a bit for each
 * name. Names after the 63rd, and very long ones, share the last bit: then a set
 * excludes fewer blocks than it could, but never a wrong one.
 */
#include "wire/log/log_index.h"

#include "wire/log/cbor_pull.h"
#include "wire/log/cbor_put.h"
#include "wire/log/log_format.h"
#include "wire/log/log_zstd.h"

#include <assert.h>
#include <string.h>

struct cpt_log_index *cpt_log_index_new(const struct cpt_alloc *alloc)
{
    struct cpt_log_index *index = cpt_alloc_zeroed(alloc, sizeof *index);

    if (index != NULL) {
        index->alloc = alloc;
    }
    return index;
}

static void free_names(const struct cpt_alloc *alloc, struct cpti_log_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        union {
            const char *borrowed;
            void *owned;
        } data = {names->all[i].data};

        cpt_alloc_free(alloc, data.owned);
    }
}

void cpt_log_index_free(struct cpt_log_index *index)
{
    if (index != NULL) {
        free_names(index->alloc, &index->services);
        free_names(index->alloc, &index->keys);
        cpt_alloc_free(index->alloc, index->blocks);
        cpt_alloc_free(index->alloc, index);
    }
}

size_t cpt_log_index_count(const struct cpt_log_index *index)
{
    return index->count;
}

const struct cpt_log_index_block *cpt_log_index_block(const struct cpt_log_index *index,
                                                      size_t number)
{
    assert(number < index->count);
    return &index->blocks[number];
}

size_t cpt_log_index_service_count(const struct cpt_log_index *index)
{
    return index->services.count;
}

struct cpt_bytes cpt_log_index_service(const struct cpt_log_index *index, size_t number)
{
    assert(number < index->services.count);
    return index->services.all[number];
}

size_t cpt_log_index_key_count(const struct cpt_log_index *index)
{
    return index->keys.count;
}

struct cpt_bytes cpt_log_index_key(const struct cpt_log_index *index, size_t number)
{
    assert(number < index->keys.count);
    return index->keys.all[number];
}

/* --- Names --- */

uint64_t cpti_log_names_bit(const struct cpti_log_names *names, struct cpt_bytes name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (cpt_bytes_equal(names->all[i], name)) {
            return UINT64_C(1) << i;
        }
    }
    return 0;
}

cpt_status cpti_log_names_add(const struct cpt_alloc *alloc,
                              struct cpti_log_names *names, struct cpt_bytes name)
{
    char *copy = cpt_alloc_zeroed(alloc, name.bytes + 1);

    assert(names->count < CPT_LOG_INDEX_NAMES_MAX);
    if (copy == NULL) {
        return CPT_NO_MEMORY;
    }
    if (name.bytes != 0) {
        memcpy(copy, name.data, name.bytes);
    }
    names->all[names->count++] = (struct cpt_bytes){copy, name.bytes};
    return CPT_OK;
}

/* Adds the bit of @name to *@set. */
static cpt_status note_name(const struct cpt_alloc *alloc, struct cpti_log_names *names,
                            struct cpt_bytes name, uint64_t *set)
{
    const uint64_t bit = cpti_log_names_bit(names, name);

    if (bit != 0) {
        *set |= bit;
        return CPT_OK;
    }
    if (names->count == CPT_LOG_INDEX_NAMES_MAX ||
        name.bytes > CPT_LOG_INDEX_NAME_BYTES_MAX) {
        *set |= CPT_LOG_INDEX_OTHERS;
        return CPT_OK;
    }
    *set |= UINT64_C(1) << names->count;
    return cpti_log_names_add(alloc, names, name);
}

uint64_t cpt_log_index_service_set(const struct cpt_log_index *index,
                                   struct cpt_bytes service)
{
    const uint64_t bit = cpti_log_names_bit(&index->services, service);

    return bit != 0 ? bit : CPT_LOG_INDEX_OTHERS;
}

uint64_t cpt_log_index_key_set(const struct cpt_log_index *index, struct cpt_bytes key)
{
    const uint64_t bit = cpti_log_names_bit(&index->keys, key);

    return bit != 0 ? bit : CPT_LOG_INDEX_OTHERS;
}

/* --- Adding a block --- */

static cpt_status note_record(struct cpt_log_index *index,
                              struct cpt_log_index_block *row,
                              const struct cpt_record *record)
{
    cpt_status status =
        note_name(index->alloc, &index->services, record->service, &row->services);

    for (size_t i = 0; i < record->attribute_count && status == CPT_OK; i++) {
        status = note_name(index->alloc, &index->keys, record->attributes[i].key,
                           &row->keys);
    }
    if (record->start_unix_ns < row->start_min_ns) {
        row->start_min_ns = record->start_unix_ns;
    }
    if (record->start_unix_ns > row->start_max_ns) {
        row->start_max_ns = record->start_unix_ns;
    }
    if (record->latency_ns < row->latency_min_ns) {
        row->latency_min_ns = record->latency_ns;
    }
    if (record->latency_ns > row->latency_max_ns) {
        row->latency_max_ns = record->latency_ns;
    }
    return status;
}

/* Notes all records of a payload. CPT_CORRUPT if one is not understood. */
static cpt_status note_records(struct cpt_log_index *index,
                               struct cpt_log_index_block *row,
                               const unsigned char *payload, size_t bytes)
{
    struct cpti_log_attributes attributes = {.alloc = index->alloc};
    struct cpti_cbor cbor = {payload, bytes, 0};
    struct cpti_cbor_item item;
    cpt_status status = CPT_OK;

    while (status == CPT_OK && cbor.at < bytes) {
        struct cpt_record record;

        if (cpti_cbor_next(&cbor, &item) != CPT_OK || item.type != CPTI_CBOR_BYTES) {
            status = CPT_CORRUPT;
            break;
        }
        status = cpti_record_read(&record, item.text, 0, &attributes, NULL);
        if (status == CPT_OK) {
            status = note_record(index, row, &record);
        }
    }
    cpt_alloc_free(index->alloc, attributes.all);
    return status;
}

/* The same for a compressed payload. */
static cpt_status note_packed(struct cpt_log_index *index,
                              struct cpt_log_index_block *row,
                              const unsigned char *payload, size_t bytes)
{
    const struct cpt_bytes packed = {(const char *)payload, bytes};
    unsigned char *data = NULL;
    size_t capacity = 0;
    size_t unpacked_bytes = 0;
    cpt_status status = cpti_zstd_unpack(index->alloc, packed, CPTI_LOG_BLOCK_BYTES_MAX,
                                         &data, &capacity, &unpacked_bytes);

    if (status == CPT_OK) {
        status = note_records(index, row, data, unpacked_bytes);
    }
    cpt_alloc_free(index->alloc, data);
    return status;
}

cpt_status cpt_log_index_add(struct cpt_log_index *index, uint64_t offset,
                             const void *block, size_t bytes)
{
    const unsigned char *data = block;
    struct cpt_log_index_block row = {.offset = offset,
                                      .bytes = bytes,
                                      .start_min_ns = UINT64_MAX,
                                      .latency_min_ns = UINT64_MAX};
    struct cpti_log_head head;
    cpt_status status = CPT_OK;

    if (bytes < CPTI_LOG_HEAD_BYTES || !cpti_log_head_read(&head, data) ||
        (head.type != CPTI_LOG_BLOCK_RECORDS && head.type != CPTI_LOG_BLOCK_ZSTD) ||
        head.version != CPT_LOG_VERSION || head.payload_bytes == 0 ||
        head.payload_bytes != bytes - CPTI_LOG_HEAD_BYTES ||
        index->count == CPT_LOG_INDEX_BLOCKS_MAX) {
        return CPT_OK;
    }
    row.record_count = head.record_count;
    row.payload_crc = head.payload_crc;
    status = cpt_alloc_grow(index->alloc, (void **)&index->blocks, &index->capacity,
                            index->count + 1, SIZE_MAX, sizeof *index->blocks);
    if (status == CPT_OK) {
        status = (head.type == CPTI_LOG_BLOCK_ZSTD ? note_packed : note_records)(
            index, &row, data + CPTI_LOG_HEAD_BYTES, head.payload_bytes);
    }
    if (status == CPT_OK) {
        index->blocks[index->count++] = row;
    }
    return status == CPT_NO_MEMORY ? status : CPT_OK;
}

/* --- The block of the index --- */

static void put_names(struct cpti_put *put, unsigned key,
                      const struct cpti_log_names *names)
{
    cpti_put_unsigned(put, key);
    cpti_put_array(put, names->count);
    for (size_t i = 0; i < names->count; i++) {
        cpti_put_text(put, names->all[i]);
    }
}

static void put_row(struct cpti_put *put, const struct cpt_log_index_block *row,
                    uint64_t before)
{
    const uint64_t items[CPTI_LOG_INDEX_ROW_ITEMS] = {
        row->offset - before, row->bytes,
        row->record_count,    row->payload_crc,
        row->start_min_ns,    row->start_max_ns - row->start_min_ns,
        row->latency_min_ns,  row->latency_max_ns - row->latency_min_ns,
        row->services,        row->keys,
    };

    cpti_put_array(put, CPTI_LOG_INDEX_ROW_ITEMS);
    for (size_t i = 0; i < CPTI_LOG_INDEX_ROW_ITEMS; i++) {
        cpti_put_unsigned(put, items[i]);
    }
}

static void put_index(struct cpti_put *put, const struct cpt_log_index *index,
                      uint64_t offset)
{
    uint64_t before = 0;

    cpti_put_map(put, 4);
    cpti_put_unsigned(put, CPTI_LOG_INDEX_OFFSET);
    cpti_put_unsigned(put, offset);
    put_names(put, CPTI_LOG_INDEX_SERVICES, &index->services);
    put_names(put, CPTI_LOG_INDEX_KEYS, &index->keys);
    cpti_put_unsigned(put, CPTI_LOG_INDEX_BLOCKS);
    cpti_put_array(put, index->count);
    for (size_t i = 0; i < index->count; i++) {
        put_row(put, &index->blocks[i], before);
        before = index->blocks[i].offset + index->blocks[i].bytes;
    }
}

/* Makes the block: head, map and footer. NULL without memory. */
static unsigned char *make_block(const struct cpti_put *put,
                                 const struct cpt_alloc *alloc)
{
    struct cpti_log_head head = {
        .version = CPT_LOG_VERSION,
        .type = CPTI_LOG_BLOCK_INDEX,
        .payload_bytes = (uint32_t)(put->bytes + CPTI_LOG_INDEX_FOOTER_BYTES)};
    unsigned char *data =
        cpt_alloc_zeroed(alloc, CPTI_LOG_HEAD_BYTES + (size_t)head.payload_bytes);
    unsigned char *payload = NULL;
    unsigned char *footer = NULL;

    if (data == NULL) {
        return NULL;
    }
    payload = data + CPTI_LOG_HEAD_BYTES;
    footer = payload + put->bytes;
    memcpy(payload, put->data, put->bytes);
    cpti_log_put_u32(footer, head.payload_bytes);
    memcpy(footer + 4, CPTI_LOG_INDEX_MAGIC, CPTI_LOG_INDEX_MAGIC_BYTES);
    head.payload_crc = cpt_crc32c(0, payload, head.payload_bytes);
    cpti_log_head_write(&head, data);
    return data;
}

cpt_status cpt_log_index_encode(const struct cpt_log_index *index, uint64_t offset,
                                unsigned char **data, size_t *bytes)
{
    struct cpti_put put = {.alloc = index->alloc,
                           .bytes_max =
                               CPT_LOG_INDEX_BYTES_MAX - CPTI_LOG_INDEX_FOOTER_BYTES};
    unsigned char *block = NULL;

    put_index(&put, index, offset);
    if (put.status == CPT_OK) {
        block = make_block(&put, index->alloc);
        put.status = block != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    cpt_alloc_free(index->alloc, put.data);
    if (put.status == CPT_OK) {
        *data = block;
        *bytes = CPTI_LOG_HEAD_BYTES + put.bytes + CPTI_LOG_INDEX_FOOTER_BYTES;
    }
    return put.status;
}
