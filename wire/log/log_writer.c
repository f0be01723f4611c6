/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_writer.c - records put together into blocks; the layout is in log_format.h
 *
 * A block is built in one piece of memory: room for its head is left in front and
 * filled at the end, when length and checksums are known. So a block reaches the file
 * as one write, and at most the last block of a killed writer's file is incomplete.
 */
#include "wire/log/cbor_put.h"
#include "wire/cpt_graph_log.h"
#include "wire/log/log_format.h"
#include "wire/log/log_zstd.h"

#include <assert.h>
#include <string.h>

/* Keeps the length of a payload within its 32 bits. */
enum { BLOCK_BYTES_CEILING = 1 << 30 };

struct cpt_log_block {
    const struct cpt_alloc *alloc;
    size_t bytes_max; /* of records; one alone may be larger */
    unsigned char *data;
    size_t bytes; /* so far, the head included; 0 without records */
    size_t capacity;
    size_t record_count;
    int zstd_level;    /* 0: no compression */
    const char *magic; /* NULL: of a path log */
    unsigned version;
    unsigned char *packed; /* the compressed block */
    size_t packed_capacity;
};

void cpti_log_head_write(const struct cpti_log_head *head,
                         unsigned char data[CPTI_LOG_HEAD_BYTES])
{
    memset(data, 0, CPTI_LOG_HEAD_BYTES);
    memcpy(data, head->magic != NULL ? head->magic : CPTI_LOG_MAGIC,
           CPTI_LOG_MAGIC_BYTES);
    data[CPTI_LOG_AT_VERSION] = (unsigned char)head->version;
    data[CPTI_LOG_AT_TYPE] = (unsigned char)head->type;
    cpti_log_put_u32(data + CPTI_LOG_AT_PAYLOAD_BYTES, head->payload_bytes);
    cpti_log_put_u32(data + CPTI_LOG_AT_RECORD_COUNT, head->record_count);
    cpti_log_put_u32(data + CPTI_LOG_AT_PAYLOAD_CRC, head->payload_crc);
    cpti_log_put_u32(data + CPTI_LOG_AT_HEAD_CRC,
                     cpt_crc32c(0, data, CPTI_LOG_AT_HEAD_CRC));
}

bool cpti_log_head_read(struct cpti_log_head *head,
                        const unsigned char data[CPTI_LOG_HEAD_BYTES])
{
    return cpti_log_head_read_of(head, CPTI_LOG_MAGIC, data);
}

bool cpti_log_head_read_of(struct cpti_log_head *head, const char *magic,
                           const unsigned char data[CPTI_LOG_HEAD_BYTES])
{
    if (memcmp(data, magic, CPTI_LOG_MAGIC_BYTES) != 0 ||
        cpti_log_get_u32(data + CPTI_LOG_AT_HEAD_CRC) !=
            cpt_crc32c(0, data, CPTI_LOG_AT_HEAD_CRC)) {
        return false;
    }
    head->magic = magic;
    head->version = data[CPTI_LOG_AT_VERSION];
    head->type = data[CPTI_LOG_AT_TYPE];
    head->payload_bytes = cpti_log_get_u32(data + CPTI_LOG_AT_PAYLOAD_BYTES);
    head->record_count = cpti_log_get_u32(data + CPTI_LOG_AT_RECORD_COUNT);
    head->payload_crc = cpti_log_get_u32(data + CPTI_LOG_AT_PAYLOAD_CRC);
    return true;
}

/* The description of a file: @head without payload, and what the file is. */
static size_t describe(unsigned char *buffer, struct cpti_log_head head,
                       const char *format)
{
    /* the capacity is large enough: it never grows */
    struct cpti_put put = {.data = buffer + CPTI_LOG_HEAD_BYTES,
                           .capacity = CPT_LOG_HEADER_BYTES_MAX - CPTI_LOG_HEAD_BYTES,
                           .bytes_max = CPT_LOG_HEADER_BYTES_MAX / 2};

    cpti_put_map(&put, 2);
    cpti_put_unsigned(&put, CPTI_LOG_FILE_FORMAT);
    cpti_put_text(&put, cpt_bytes_of(format));
    cpti_put_unsigned(&put, CPTI_LOG_FILE_WRITER);
    cpti_put_text(&put, cpt_bytes_of("cpt"));
    assert(put.status == CPT_OK);
    head.payload_bytes = (uint32_t)put.bytes;
    head.payload_crc = cpt_crc32c(0, put.data, put.bytes);
    cpti_log_head_write(&head, buffer);
    return CPTI_LOG_HEAD_BYTES + put.bytes;
}

size_t cpt_log_header(unsigned char *buffer)
{
    const struct cpti_log_head head = {.version = CPT_LOG_VERSION,
                                       .type = CPTI_LOG_BLOCK_FILE};

    return describe(buffer, head, "path log");
}

size_t cpt_graph_log_header(unsigned char *buffer)
{
    const struct cpti_log_head head = {.magic = CPTI_GRAPH_MAGIC,
                                       .version = CPT_GRAPH_LOG_VERSION,
                                       .type = CPTI_LOG_BLOCK_FILE};

    return describe(buffer, head, "graph log");
}

struct cpt_log_block *cpt_log_block_new(const struct cpt_alloc *alloc, size_t bytes_max)
{
    struct cpt_log_block *block = cpt_alloc_zeroed(alloc, sizeof *block);

    if (block != NULL) {
        block->alloc = alloc;
        block->version = CPT_LOG_VERSION;
        block->bytes_max = bytes_max != 0 ? bytes_max : CPT_LOG_BLOCK_BYTES_DEFAULT;
        if (block->bytes_max > BLOCK_BYTES_CEILING) {
            block->bytes_max = BLOCK_BYTES_CEILING;
        }
    }
    return block;
}

struct cpt_log_block *cpt_graph_log_block_new(const struct cpt_alloc *alloc,
                                              size_t bytes_max)
{
    struct cpt_log_block *block = cpt_log_block_new(alloc, bytes_max);

    if (block != NULL) {
        block->magic = CPTI_GRAPH_MAGIC;
        block->version = CPT_GRAPH_LOG_VERSION;
    }
    return block;
}

void cpt_log_block_free(struct cpt_log_block *block)
{
    if (block != NULL) {
        cpt_alloc_free(block->alloc, block->data);
        cpt_alloc_free(block->alloc, block->packed);
        cpt_alloc_free(block->alloc, block);
    }
}

cpt_status cpt_log_block_add(struct cpt_log_block *block, const void *data,
                             size_t bytes)
{
    unsigned char string_head[9];
    const size_t string_head_bytes = cpti_cbor_bytes_head(string_head, bytes);
    const size_t start = block->record_count == 0 ? CPTI_LOG_HEAD_BYTES : block->bytes;
    cpt_status status = CPT_OK;

    assert(bytes != 0 && bytes <= CPT_LOG_RECORD_BYTES_MAX);
    if (block->record_count != 0 &&
        start + string_head_bytes + bytes > CPTI_LOG_HEAD_BYTES + block->bytes_max) {
        return CPT_LIMIT;
    }
    status = cpt_alloc_grow(block->alloc, (void **)&block->data, &block->capacity,
                            start + string_head_bytes + bytes, SIZE_MAX, 1);
    if (status != CPT_OK) {
        return status;
    }
    memcpy(block->data + start, string_head, string_head_bytes);
    memcpy(block->data + start + string_head_bytes, data, bytes);
    block->bytes = start + string_head_bytes + bytes;
    block->record_count++;
    return CPT_OK;
}

size_t cpt_log_block_count(const struct cpt_log_block *block)
{
    return block->record_count;
}

cpt_status cpt_log_block_compress(struct cpt_log_block *block, int level)
{
    if (level != 0 && (level < CPTI_ZSTD_LEVEL_MIN || level > CPTI_ZSTD_LEVEL_MAX)) {
        return CPT_INVALID;
    }
    if (level != 0 && !cpti_zstd_is_available()) {
        return CPT_UNAVAILABLE;
    }
    block->zstd_level = level;
    return CPT_OK;
}

/* Compresses the payload into `packed`, behind room for a head. Returns its bytes; 0 if
 * that fails or is not smaller. */
static size_t pack(struct cpt_log_block *block)
{
    const struct cpt_bytes payload = {(const char *)block->data + CPTI_LOG_HEAD_BYTES,
                                      block->bytes - CPTI_LOG_HEAD_BYTES};
    const size_t bound = cpti_zstd_bound(payload.bytes);
    size_t bytes = 0;

    if (block->zstd_level == 0 ||
        cpt_alloc_grow(block->alloc, (void **)&block->packed, &block->packed_capacity,
                       CPTI_LOG_HEAD_BYTES + bound, SIZE_MAX, 1) != CPT_OK) {
        return 0;
    }
    bytes = cpti_zstd_pack(payload, block->zstd_level,
                           block->packed + CPTI_LOG_HEAD_BYTES, bound);
    return bytes < payload.bytes ? bytes : 0;
}

struct cpt_bytes cpt_log_block_finish(struct cpt_log_block *block)
{
    struct cpti_log_head head = {.magic = block->magic,
                                 .version = block->version,
                                 .type = CPTI_LOG_BLOCK_RECORDS,
                                 .record_count = (uint32_t)block->record_count};
    unsigned char *data = block->data;
    size_t packed_bytes = 0;

    if (block->record_count == 0) {
        return (struct cpt_bytes){NULL, 0};
    }
    head.payload_bytes = (uint32_t)(block->bytes - CPTI_LOG_HEAD_BYTES);
    packed_bytes = pack(block);
    if (packed_bytes != 0) {
        data = block->packed;
        head.type = CPTI_LOG_BLOCK_ZSTD;
        head.payload_bytes = (uint32_t)packed_bytes;
    }
    head.payload_crc = cpt_crc32c(0, data + CPTI_LOG_HEAD_BYTES, head.payload_bytes);
    cpti_log_head_write(&head, data);
    block->bytes = 0;
    block->record_count = 0;
    return (struct cpt_bytes){(const char *)data,
                              CPTI_LOG_HEAD_BYTES + (size_t)head.payload_bytes};
}
