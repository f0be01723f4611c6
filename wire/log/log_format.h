/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_format.h - the path log byte by byte: each constant once
 *
 * A file consists of blocks, one after the other. All numbers of a block's head are
 * little-endian:
 *
 *      at  bytes
 *       0   8    magic  89 63 70 74 6c 6f 67 0a   ("\x89cptlog\n")
 *       8   1    version of the payload
 *       9   1    type
 *      10   2    0
 *      12   4    bytes of the payload
 *      16   4    count of records in the payload
 *      20   4    CRC-32C of the payload
 *      24   4    CRC-32C of the 24 bytes before
 *      28   -    payload
 *
 * The head has its own checksum, so that a random length is never used, and so that
 * damage in the payload costs one block and the count of lost records is known. The
 * first byte of the magic is not ASCII, and the last is a line feed: a transfer as text
 * would change them.
 *
 * A block is valid if it is complete and both checksums match. The payload of a block
 * of records is a sequence of CBOR byte strings. Each holds one record, a map with the
 * keys below; the length of the string leads to the next record even if one is not
 * understood.
 *
 * Readers skip unknown types of blocks and unknown keys of records. The version of a
 * block changes if older readers cannot read its payload; the head never changes. Long
 * form: docs/format-path-log.md.
 *
 * Private to wire/.
 */
#ifndef LOG_FORMAT_H
#define LOG_FORMAT_H

#include "wire/cpt_log.h"

#include "cpt/cpt_crc32c.h"

#include <stdbool.h>

#define CPTI_LOG_MAGIC                                                                 \
    "\x89"                                                                             \
    "cptlog\n"

/* Of the graph log, whose blocks are the same; graph_format.h. Both begin with one byte
 * that is not in a text. */
#define CPTI_GRAPH_MAGIC                                                               \
    "\x89"                                                                             \
    "cptgrf\n"

/* Offsets in a block's head. */
enum {
    CPTI_LOG_MAGIC_BYTES = 8,
    CPTI_LOG_AT_VERSION = 8,
    CPTI_LOG_AT_TYPE = 9,
    CPTI_LOG_AT_PAYLOAD_BYTES = 12,
    CPTI_LOG_AT_RECORD_COUNT = 16,
    CPTI_LOG_AT_PAYLOAD_CRC = 20,
    CPTI_LOG_AT_HEAD_CRC = 24,
    CPTI_LOG_HEAD_BYTES = 28
};

/* The default limit of a reader for the payload. */
enum { CPTI_LOG_BLOCK_BYTES_MAX = CPT_LOG_RECORD_BYTES_MAX + 64 * 1024 };

/* Types of blocks. 128 and above are free for experiments. */
enum {
    CPTI_LOG_BLOCK_FILE = 1,    /* a CBOR map that describes the file */
    CPTI_LOG_BLOCK_RECORDS = 2, /* records */
    CPTI_LOG_BLOCK_INDEX = 3,   /* an index of the blocks before: log_index.h */
    CPTI_LOG_BLOCK_ZSTD = 4     /* records, their payload compressed by zstd */
};

/* Keys of the payload of CPTI_LOG_BLOCK_FILE. */
enum {
    CPTI_LOG_FILE_FORMAT = 0,
    CPTI_LOG_FILE_WRITER = 1,
    /* struct cpt_log_untraced */
    CPTI_LOG_FILE_SERVICE = 2,
    CPTI_LOG_FILE_PROBABILITY = 3,
    CPTI_LOG_FILE_UNTRACED = 4,
    CPTI_LOG_FILE_PROCESS = 5,
    CPTI_LOG_FILE_IS_FINAL = 6
};

/* Keys of a record; never reused for anything else. */
enum {
    CPTI_LOG_KEY_VERSION = 0,
    CPTI_LOG_KEY_START_UNIX_NS = 1,
    CPTI_LOG_KEY_SERVICE = 2,
    CPTI_LOG_KEY_METHOD = 3,
    CPTI_LOG_KEY_ENTRY = 4,
    CPTI_LOG_KEY_LATENCY_NS = 5,
    CPTI_LOG_KEY_PROBABILITY = 6,
    CPTI_LOG_KEY_FLAGS = 7,
    CPTI_LOG_KEY_STATUS = 8,
    CPTI_LOG_KEY_TRACE_ID = 9,
    CPTI_LOG_KEY_PARENT_ID = 10,
    CPTI_LOG_KEY_ATTRIBUTES = 11,
    CPTI_LOG_KEY_PATH = 12
};

/* Bits of CPTI_LOG_KEY_FLAGS; unknown bits are ignored. */
enum {
    CPTI_LOG_FLAG_FORCED = 1,
    CPTI_LOG_FLAG_RANDOM = 2,
    CPTI_LOG_FLAG_LOCAL_ROOT = 4,
    CPTI_LOG_FLAG_FAILED = 8,
    CPTI_LOG_FLAG_BACKGROUND = 16
};

/* Numbers in heads and footers: little-endian. */
static inline void cpti_log_put_u32(unsigned char *at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static inline uint32_t cpti_log_get_u32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* A block's head in memory. */
struct cpti_log_head {
    const char *magic; /* to write; NULL: CPTI_LOG_MAGIC */
    unsigned version;
    unsigned type;
    uint32_t payload_bytes;
    uint32_t record_count;
    uint32_t payload_crc;
};

/* log_writer.c: encodes the head. */
void cpti_log_head_write(const struct cpti_log_head *head,
                         unsigned char data[CPTI_LOG_HEAD_BYTES]);

/* log_writer.c: decodes @data if it is the head of a block, by magic and checksum. */
bool cpti_log_head_read(struct cpti_log_head *head,
                        const unsigned char data[CPTI_LOG_HEAD_BYTES]);

/* log_writer.c: the same for blocks with @magic. */
bool cpti_log_head_read_of(struct cpti_log_head *head, const char *magic,
                           const unsigned char data[CPTI_LOG_HEAD_BYTES]);

/* A reader's memory for the attributes of the last record. */
struct cpti_log_attributes {
    const struct cpt_alloc *alloc;
    struct cpt_attribute *all;
    size_t capacity;
};

/*
 * log_record.c: reads the record in @data, which is at @offset of the input. Texts of
 * @record point into @data.
 *
 * CPT_OK; CPT_CORRUPT; CPT_VERSION; CPT_LIMIT; CPT_NO_MEMORY.
 */
cpt_status cpti_record_read(struct cpt_record *record, struct cpt_bytes data,
                            uint64_t offset, struct cpti_log_attributes *attributes,
                            struct cpt_error *error);

/* log_reader.c: where the block of the record that was returned last begins. */
uint64_t cpti_log_reader_block(const struct cpt_log_reader *reader);

/* Reads the payload of a block of type CPTI_LOG_BLOCK_FILE; log_untraced.c. False if it
 * tells of no requests. */
bool cpti_log_untraced_read(struct cpt_bytes payload,
                            struct cpt_log_untraced *untraced);

#endif
