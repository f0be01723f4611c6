/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_reader.c - reads records from a path log, even from a damaged one
 *
 * The reader keeps a window on the input, which begins with the current block:
 *
 *      input   ....[ head | record record record ][ head | ...
 *      window      ^start              ^at         ^block_end    ^end
 *
 * It is in one of three states. *Between* blocks, it expects a head. *Inside* a sound
 * block, it returns one record after the other. *Lost*, after it has reported damage,
 * it searches for the next head (magic and checksum) byte by byte and skips the bytes
 * before.
 *
 * Where it searches matters. If the head of a block is sound but its payload is not,
 * and another head or the end of the input follows the payload, then the damage lies
 * inside: the whole block is skipped, so that no bytes inside can be taken for a block
 * (an attribute may hold any bytes). Otherwise a killed writer left the block
 * incomplete and another went on, and the next block may begin anywhere inside.
 *
 * If the input ends within a block, the block is an *incomplete tail*, as in a log that
 * is being written, unless a head lies inside it.
 *
 * Memory: the window grows with the bytes read, by doubling, up to one block. Cost:
 * each byte is read once for the checksum and once for the records; when lost, once
 * more.
 */
#include "wire/log/cbor_pull.h"
#include "wire/cpt_graph_log.h"
#include "wire/cpt_log_index.h"
#include "wire/log/log_format.h"
#include "wire/log/log_zstd.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* The window grows by at least this. */
enum { READ_BYTES = 64 * 1024 };

/* The most heads within a refused block whose payloads are checked. */
enum { REFUSED_WITHIN_MAX = 16 };

enum { LOST_BYTES_MAX = 1 << 30 };

enum state { STATE_BETWEEN, STATE_INSIDE, STATE_LOST, STATE_END };

struct cpt_log_reader {
    struct cpt_log_reader_options options;
    const char *magic; /* of a path log, or a graph log */
    unsigned version;
    enum state state;
    unsigned char *window;
    size_t capacity;
    size_t start;          /* in the window: where the current block begins */
    size_t end;            /* of the bytes read into it */
    bool is_at_end;        /* the input has ended */
    uint64_t start_offset; /* of start in the input */
    /* Inside a block. */
    size_t block_bytes; /* the whole block, in the window */
    size_t at;          /* of the next record, in the window or in `unpacked` */
    size_t block_end;   /* behind the last record */
    bool is_packed;     /* the records are in `unpacked` */
    unsigned char *unpacked;
    size_t unpacked_capacity;
    uint64_t records_left;  /* by the head of the block; may be wrong */
    uint64_t record_offset; /* of the record returned last */
    struct cpt_bytes bytes; /* of that record, in the window */
    struct cpti_log_attributes attributes;
    struct cpt_log_counts counts;
    /* Refused blocks may be nested: the end of the outermost, and the count of heads
     * within it whose payload was wrong. */
    uint64_t refused_end;
    unsigned refused_count;
    /* With an index. */
    size_t index_at;   /* its first block that is not behind the position */
    bool reads_little; /* only what is needed: the reader will probably seek next */
};

struct cpt_log_reader *cpt_log_reader_new(const struct cpt_log_reader_options *options,
                                          struct cpt_error *error)
{
    struct cpt_log_reader_options own;
    struct cpt_log_reader *reader = NULL;

    if (cpt_options_read(&own, sizeof own, options, error) != CPT_OK) {
        return NULL;
    }
    if (own.read == NULL) {
        cpt_error_set(error, CPT_INVALID, 0, "the reader has no function to read with");
        return NULL;
    }
    reader = cpt_alloc_zeroed(own.alloc, sizeof *reader);
    if (reader == NULL) {
        cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
        return NULL;
    }
    if (own.block_bytes_max == 0) {
        own.block_bytes_max = CPTI_LOG_BLOCK_BYTES_MAX;
    }
    if (own.record_bytes_max == 0) {
        own.record_bytes_max = CPT_LOG_RECORD_BYTES_MAX;
    }
    if (own.end_offset == 0) {
        own.end_offset = UINT64_MAX;
    }
    if (own.lost_bytes_max == 0) {
        own.lost_bytes_max = LOST_BYTES_MAX;
    }
    reader->options = own;
    reader->magic = CPTI_LOG_MAGIC;
    reader->version = CPT_LOG_VERSION;
    reader->start_offset = own.start_offset;
    reader->attributes.alloc = own.alloc;
    return reader;
}

struct cpt_log_reader *
cpt_graph_log_reader_new(const struct cpt_log_reader_options *options,
                         struct cpt_error *error)
{
    struct cpt_log_reader *reader = cpt_log_reader_new(options, error);

    if (reader != NULL) {
        reader->magic = CPTI_GRAPH_MAGIC;
        reader->version = CPT_GRAPH_LOG_VERSION;
    }
    return reader;
}

void cpt_log_reader_free(struct cpt_log_reader *reader)
{
    if (reader != NULL) {
        cpt_alloc_free(reader->options.alloc, reader->window);
        cpt_alloc_free(reader->options.alloc, reader->unpacked);
        cpt_alloc_free(reader->options.alloc, reader->attributes.all);
        cpt_alloc_free(reader->options.alloc, reader);
    }
}

uint64_t cpt_log_reader_offset(const struct cpt_log_reader *reader)
{
    return reader->record_offset;
}

uint64_t cpti_log_reader_block(const struct cpt_log_reader *reader)
{
    return reader->start_offset;
}

struct cpt_bytes cpt_log_reader_bytes(const struct cpt_log_reader *reader)
{
    return reader->bytes;
}

const struct cpt_log_counts *cpt_log_reader_counts(const struct cpt_log_reader *reader)
{
    return &reader->counts;
}

/* --- The window --- */

static size_t window_bytes(const struct cpt_log_reader *reader)
{
    return reader->end - reader->start;
}

/* Moves the start of the window forward by @bytes. */
static void drop(struct cpt_log_reader *reader, size_t bytes)
{
    assert(bytes <= window_bytes(reader));
    reader->start += bytes;
    reader->start_offset += bytes;
}

/* Makes room for at least one more byte behind the end. */
static cpt_status make_room(struct cpt_log_reader *reader)
{
    if (reader->end < reader->capacity) {
        return CPT_OK;
    }
    if (reader->start != 0) {
        memmove(reader->window, reader->window + reader->start, window_bytes(reader));
        reader->end -= reader->start;
        reader->start = 0;
    }
    if (reader->capacity - reader->end >= READ_BYTES / 2) {
        return CPT_OK;
    }
    return cpt_alloc_grow(reader->options.alloc, (void **)&reader->window,
                          &reader->capacity, reader->end + READ_BYTES, SIZE_MAX, 1);
}

/* Reads until the window has @bytes or the input has ended. */
static cpt_status fill(struct cpt_log_reader *reader, size_t bytes,
                       struct cpt_error *error)
{
    while (window_bytes(reader) < bytes && !reader->is_at_end) {
        size_t got = 0;
        size_t room = 0;
        cpt_status status = make_room(reader);

        if (status != CPT_OK) {
            return cpt_error_set(error, status, reader->start_offset, "out of memory");
        }
        room = reader->capacity - reader->end;
        if (reader->reads_little && room > bytes - window_bytes(reader)) {
            room = bytes - window_bytes(reader);
        }
        status = reader->options.read(reader->options.context,
                                      reader->window + reader->end, room, &got);
        if (status != CPT_OK) {
            return cpt_error_set(error, status,
                                 reader->start_offset + window_bytes(reader), "%s",
                                 cpt_status_sentence(status));
        }
        assert(got <= room);
        reader->end += got;
        reader->is_at_end = got == 0;
    }
    return CPT_OK;
}

/* The position of the next sound head from @from on; if there is none, the first
 * position that is too close to the end for a head. */
static size_t find_head(const struct cpt_log_reader *reader, size_t from)
{
    while (from + CPTI_LOG_HEAD_BYTES <= reader->end) {
        const unsigned char *found =
            memchr(reader->window + from, (unsigned char)CPTI_LOG_MAGIC[0],
                   reader->end - CPTI_LOG_HEAD_BYTES + 1 - from);
        struct cpti_log_head head;

        if (found == NULL) {
            return reader->end - CPTI_LOG_HEAD_BYTES + 1;
        }
        from = (size_t)(found - reader->window);
        if (cpti_log_head_read_of(&head, reader->magic, found)) {
            return from;
        }
        from++;
    }
    return from;
}

/* --- Blocks --- */

/* Counts damage at the start of the window, where @bytes are certainly lost. */
static cpt_status lose(struct cpt_log_reader *reader, size_t bytes,
                       uint64_t record_count)
{
    reader->counts.skipped_blocks++;
    reader->counts.skipped_records += record_count;
    reader->counts.skipped_bytes += bytes;
    drop(reader, bytes);
    reader->state = STATE_LOST;
    return CPT_CORRUPT;
}

/* Whether the block of @bytes at the start of the window is followed by another head or
 * by the end of the input. */
static bool is_followed(const struct cpt_log_reader *reader, size_t bytes)
{
    struct cpti_log_head head;

    if (reader->is_at_end && window_bytes(reader) == bytes) {
        return true;
    }
    return window_bytes(reader) >= bytes + CPTI_LOG_HEAD_BYTES &&
           cpti_log_head_read_of(&head, reader->magic,
                                 reader->window + reader->start + bytes);
}

/* Handles an incomplete block at the end of the input. */
static cpt_status open_tail(struct cpt_log_reader *reader,
                            const struct cpti_log_head *head, struct cpt_error *error)
{
    const size_t block_bytes = CPTI_LOG_HEAD_BYTES + (size_t)head->payload_bytes;
    const size_t next = find_head(reader, reader->start + CPTI_LOG_HEAD_BYTES);

    if (next + CPTI_LOG_HEAD_BYTES <= reader->end) {
        cpt_error_set(error, CPT_CORRUPT, reader->start_offset,
                      "a block of %zu bytes is cut short by the next one", block_bytes);
        return lose(reader, next - reader->start, head->record_count);
    }
    reader->counts.tail_bytes = window_bytes(reader);
    cpt_error_set(error, CPT_TRUNCATED, reader->start_offset,
                  "incomplete tail: the last block has %zu of %zu bytes",
                  window_bytes(reader), block_bytes);
    drop(reader, window_bytes(reader));
    reader->state = STATE_END;
    return CPT_TRUNCATED;
}

/*
 * Whether to search for a head within the current refused block. Each head found there
 * costs a checksum over the payload that it claims. A hostile file can have nearly as
 * many nested heads as bytes, so after REFUSED_WITHIN_MAX the whole block is skipped. A
 * sound block in between does not reset the count: a hostile file could have those,
 * too.
 */
static bool is_worth_a_search(struct cpt_log_reader *reader, size_t block_bytes)
{
    const uint64_t end = reader->start_offset + block_bytes;

    if (reader->start_offset >= reader->refused_end) {
        reader->refused_count = 0;
    }
    if (end > reader->refused_end) {
        reader->refused_end = end;
    }
    return reader->refused_count++ < REFUSED_WITHIN_MAX;
}

/* Handles a block whose payload does not match the checksum of its head. */
static cpt_status refuse_payload(struct cpt_log_reader *reader,
                                 const struct cpti_log_head *head,
                                 struct cpt_error *error)
{
    const size_t block_bytes = CPTI_LOG_HEAD_BYTES + (size_t)head->payload_bytes;
    const cpt_status status = fill(reader, block_bytes + CPTI_LOG_HEAD_BYTES, error);
    bool is_whole = false;

    if (status != CPT_OK) {
        return status;
    }
    is_whole =
        is_followed(reader, block_bytes) || !is_worth_a_search(reader, block_bytes);
    cpt_error_set(error, CPT_CORRUPT, reader->start_offset,
                  "a block of %zu bytes with %u records has a wrong checksum",
                  block_bytes, (unsigned)head->record_count);
    lose(reader, is_whole ? block_bytes : CPTI_LOG_HEAD_BYTES, head->record_count);
    if (is_whole) {
        reader->state = STATE_BETWEEN;
    }
    return CPT_CORRUPT;
}

/* Skips the current block, which is sound but cannot be read. */
static void skip_block(struct cpt_log_reader *reader, const struct cpti_log_head *head)
{
    lose(reader, CPTI_LOG_HEAD_BYTES + (size_t)head->payload_bytes, head->record_count);
    reader->state = STATE_BETWEEN;
}

/* Decompresses the records of the current block, or skips it. */
static cpt_status unpack(struct cpt_log_reader *reader,
                         const struct cpti_log_head *head, struct cpt_error *error)
{
    const struct cpt_bytes packed = {(const char *)reader->window + reader->start +
                                         CPTI_LOG_HEAD_BYTES,
                                     head->payload_bytes};
    const cpt_status status = cpti_zstd_unpack(
        reader->options.alloc, packed, reader->options.block_bytes_max,
        &reader->unpacked, &reader->unpacked_capacity, &reader->block_end);

    if (status == CPT_NO_MEMORY) {
        return cpt_error_set(error, status, reader->start_offset, "out of memory");
    }
    if (status != CPT_OK) {
        cpt_error_set(error, status, reader->start_offset,
                      status == CPT_VERSION
                          ? "a block with %u records is compressed by zstd, which this "
                            "program was built without"
                      : status == CPT_LIMIT
                          ? "a compressed block with %u records is too large unpacked"
                          : "a compressed block with %u records cannot be unpacked",
                      (unsigned)head->record_count);
        skip_block(reader, head);
    }
    return status;
}

/* Tells the caller what the description of a file says of untraced requests. */
static void tell_untraced(const struct cpt_log_reader *reader,
                          const struct cpti_log_head *head)
{
    const struct cpt_bytes payload = {(const char *)reader->window + reader->start +
                                          CPTI_LOG_HEAD_BYTES,
                                      head->payload_bytes};
    struct cpt_log_untraced untraced;

    if (cpti_log_untraced_read(payload, &untraced)) {
        reader->options.untraced(reader->options.untraced_context, &untraced);
    }
}

/* Goes to the first record of a sound block, or skips the block. */
static cpt_status enter(struct cpt_log_reader *reader, const struct cpti_log_head *head,
                        struct cpt_error *error)
{
    const size_t block_bytes = CPTI_LOG_HEAD_BYTES + (size_t)head->payload_bytes;

    reader->state = STATE_BETWEEN;
    if (head->type != CPTI_LOG_BLOCK_RECORDS && head->type != CPTI_LOG_BLOCK_ZSTD) {
        reader->counts.other_blocks++;
        if (head->type == CPTI_LOG_BLOCK_FILE && head->version == reader->version &&
            reader->options.untraced != NULL) {
            tell_untraced(reader, head);
        }
        drop(reader, block_bytes);
        return CPT_OK;
    }
    if (head->version != reader->version) {
        cpt_error_set(error, CPT_VERSION, reader->start_offset,
                      "a block is of version %u, not %u", head->version,
                      reader->version);
        skip_block(reader, head);
        return CPT_VERSION;
    }
    reader->is_packed = head->type == CPTI_LOG_BLOCK_ZSTD;
    reader->at = reader->is_packed ? 0 : CPTI_LOG_HEAD_BYTES;
    reader->block_end = block_bytes;
    if (reader->is_packed) {
        const cpt_status status = unpack(reader, head, error);

        if (status != CPT_OK) {
            return status;
        }
    }
    reader->counts.blocks++;
    reader->state = STATE_INSIDE;
    reader->block_bytes = block_bytes;
    reader->records_left = head->record_count;
    return CPT_OK;
}

/* Opens the block whose sound head is at the start of the window. */
static cpt_status open_block(struct cpt_log_reader *reader,
                             const struct cpti_log_head *head, struct cpt_error *error)
{
    const size_t block_bytes = CPTI_LOG_HEAD_BYTES + (size_t)head->payload_bytes;
    cpt_status status = CPT_OK;

    if (head->payload_bytes > reader->options.block_bytes_max) {
        cpt_error_set(error, CPT_LIMIT, reader->start_offset,
                      "a block has %u bytes, the limit is %zu",
                      (unsigned)head->payload_bytes, reader->options.block_bytes_max);
        lose(reader, CPTI_LOG_HEAD_BYTES, head->record_count);
        return CPT_LIMIT;
    }
    status = fill(reader, block_bytes, error); /* no more: a writer may be at work */
    if (status != CPT_OK) {
        return status;
    }
    if (window_bytes(reader) < block_bytes) {
        return open_tail(reader, head, error);
    }
    if (cpt_crc32c(0, reader->window + reader->start + CPTI_LOG_HEAD_BYTES,
                   head->payload_bytes) != head->payload_crc) {
        return refuse_payload(reader, head, error);
    }
    return enter(reader, head, error);
}

/* Ends an input whose rest is shorter than a head. */
static cpt_status end_input(struct cpt_log_reader *reader, struct cpt_error *error)
{
    const size_t left_bytes = window_bytes(reader);
    const size_t common_bytes =
        left_bytes < CPTI_LOG_MAGIC_BYTES ? left_bytes : CPTI_LOG_MAGIC_BYTES;
    const uint64_t offset = reader->start_offset;
    const enum state state = reader->state;

    reader->state = STATE_END;
    if (left_bytes == 0) {
        return CPT_END;
    }
    if (memcmp(reader->window + reader->start, reader->magic, common_bytes) == 0) {
        reader->counts.tail_bytes = left_bytes;
        drop(reader, left_bytes);
        return cpt_error_set(error, CPT_TRUNCATED, offset,
                             "incomplete tail: %zu bytes of the last block",
                             left_bytes);
    }
    reader->counts.skipped_bytes += left_bytes;
    drop(reader, left_bytes);
    if (state == STATE_LOST) {
        return CPT_END;
    }
    reader->counts.skipped_blocks++;
    return cpt_error_set(error, CPT_CORRUPT, offset, "%zu bytes are not a block",
                         left_bytes);
}

/* --- With an index --- */

/* The index entry of the block that begins here, if that block is not wanted. */
static const struct cpt_log_index_block *unwanted_block(struct cpt_log_reader *reader)
{
    const struct cpt_log_index *index = reader->options.index;
    const struct cpt_log_index_block *block = NULL;

    if (index == NULL || reader->options.seek == NULL ||
        reader->options.wants == NULL || reader->counts.is_index_refused) {
        return NULL;
    }
    while (reader->index_at < cpt_log_index_count(index)) {
        block = cpt_log_index_block(index, reader->index_at);
        if (block->offset >= reader->start_offset) {
            return block->offset == reader->start_offset &&
                           !reader->options.wants(reader->options.wants_context, index,
                                                  block)
                       ? block
                       : NULL;
        }
        reader->index_at++;
    }
    return NULL;
}

/* Moves behind @block, which begins at the start of the window. */
static cpt_status go_behind(struct cpt_log_reader *reader,
                            const struct cpt_log_index_block *block,
                            struct cpt_error *error)
{
    const uint64_t behind = block->offset + block->bytes;
    cpt_status status = CPT_OK;

    if (window_bytes(reader) >= block->bytes) {
        drop(reader, (size_t)block->bytes);
    } else {
        status = reader->options.seek(reader->options.context, behind);
        if (status != CPT_OK) {
            return cpt_error_set(error, status, behind, "%s",
                                 cpt_status_sentence(status));
        }
        reader->start = reader->end = 0;
        reader->start_offset = behind;
        reader->is_at_end = false;
    }
    reader->counts.passed_blocks++;
    reader->counts.passed_records += block->record_count;
    return CPT_OK;
}

/*
 * Passes over the unwanted blocks from here on, each only if its head matches the index
 * entry.
 */
static cpt_status pass_over(struct cpt_log_reader *reader, struct cpt_error *error)
{
    const struct cpt_log_index_block *block = NULL;
    cpt_status status = CPT_OK;

    while (status == CPT_OK && reader->start_offset < reader->options.end_offset &&
           (block = unwanted_block(reader)) != NULL) {
        struct cpti_log_head head;

        reader->reads_little = true;
        status = fill(reader, CPTI_LOG_HEAD_BYTES, error);
        reader->reads_little = false;
        if (status != CPT_OK) {
            return status;
        }
        if (window_bytes(reader) < CPTI_LOG_HEAD_BYTES ||
            !cpti_log_head_read_of(&head, reader->magic,
                                   reader->window + reader->start) ||
            head.record_count != block->record_count ||
            head.payload_crc != block->payload_crc ||
            CPTI_LOG_HEAD_BYTES + (uint64_t)head.payload_bytes != block->bytes) {
            reader->counts.is_index_refused = 1;
            return CPT_OK;
        }
        status = go_behind(reader, block, error);
    }
    return status;
}

/* Reads the next head, which must begin here. */
static cpt_status read_between(struct cpt_log_reader *reader, struct cpt_error *error)
{
    struct cpti_log_head head;
    cpt_status status = pass_over(reader, error);

    if (reader->start_offset >= reader->options.end_offset) {
        reader->state = STATE_END; /* the rest is another reader's part */
        return CPT_END;
    }
    if (status == CPT_OK) {
        status = fill(reader, CPTI_LOG_HEAD_BYTES, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (window_bytes(reader) < CPTI_LOG_HEAD_BYTES) {
        return end_input(reader, error);
    }
    if (!cpti_log_head_read_of(&head, reader->magic, reader->window + reader->start)) {
        cpt_error_set(error, CPT_CORRUPT, reader->start_offset, "no block begins here");
        return lose(reader, 1, 0);
    }
    return open_block(reader, &head, error);
}

/* Searches for the next head; not for ever. */
static cpt_status read_lost(struct cpt_log_reader *reader, struct cpt_error *error)
{
    cpt_status status = CPT_OK;
    uint64_t lost_bytes = 0;
    size_t next = 0;

    for (;;) {
        status = fill(reader, CPTI_LOG_HEAD_BYTES, error);
        if (status != CPT_OK) {
            return status;
        }
        if (window_bytes(reader) < CPTI_LOG_HEAD_BYTES) {
            break;
        }
        next = find_head(reader, reader->start);
        lost_bytes += next - reader->start;
        reader->counts.skipped_bytes += next - reader->start;
        drop(reader, next - reader->start);
        if (window_bytes(reader) >= CPTI_LOG_HEAD_BYTES) {
            reader->state = STATE_BETWEEN;
            return CPT_OK;
        }
        if (lost_bytes > reader->options.lost_bytes_max) {
            reader->state = STATE_END;
            return cpt_error_set(error, CPT_CORRUPT, reader->start_offset - lost_bytes,
                                 "no block in %" PRIu64
                                 " bytes from here on; the rest is not read",
                                 reader->options.lost_bytes_max);
        }
    }
    /* The last bytes may be the beginning of an incomplete head. */
    for (; window_bytes(reader) != 0; drop(reader, 1)) {
        if (reader->window[reader->start] == (unsigned char)CPTI_LOG_MAGIC[0]) {
            break;
        }
        reader->counts.skipped_bytes++;
    }
    return end_input(reader, error);
}

/* --- Records --- */

/* The memory with the records of the current block. */
static const unsigned char *inside(const struct cpt_log_reader *reader)
{
    return reader->is_packed ? reader->unpacked : reader->window + reader->start;
}

/* Skips the rest of the block, from the current record on. */
static cpt_status lose_rest(struct cpt_log_reader *reader)
{
    reader->counts.skipped_records +=
        reader->records_left != 0 ? reader->records_left : 1;
    reader->counts.skipped_bytes +=
        reader->is_packed ? 0 : reader->block_end - reader->at;
    reader->at = reader->block_end;
    return CPT_CORRUPT;
}

static cpt_status read_record(struct cpt_log_reader *reader, struct cpt_bytes data,
                              struct cpt_record *record, struct cpt_error *error)
{
    /* errors in a compressed block have the offset of the block */
    const size_t data_at =
        reader->is_packed ? 0
                          : (size_t)((const unsigned char *)data.data - inside(reader));

    if (data.bytes > reader->options.record_bytes_max) {
        return cpt_error_set(error, CPT_LIMIT, reader->record_offset,
                             "the record has %zu bytes, the limit is %zu", data.bytes,
                             reader->options.record_bytes_max);
    }
    return cpti_record_read(record, data, reader->start_offset + data_at,
                            &reader->attributes, error);
}

cpt_status cpt_log_reader_decode(struct cpt_log_reader *reader, struct cpt_bytes data,
                                 struct cpt_record *record, struct cpt_error *error)
{
    return cpti_record_read(record, data, 0, &reader->attributes, error);
}

/* Reads the next record of the current block; CPT_END behind the last. */
static cpt_status read_inside(struct cpt_log_reader *reader, struct cpt_record *record,
                              struct cpt_error *error)
{
    struct cpti_cbor cbor = {inside(reader), reader->block_end, reader->at};
    struct cpti_cbor_item item;
    cpt_status status = CPT_OK;

    if (reader->at == reader->block_end) {
        drop(reader, reader->block_bytes);
        reader->state = STATE_BETWEEN;
        return CPT_END;
    }
    reader->record_offset = reader->start_offset + (reader->is_packed ? 0 : reader->at);
    if (cpti_cbor_next(&cbor, &item) != CPT_OK || item.type != CPTI_CBOR_BYTES) {
        cpt_error_set(error, CPT_CORRUPT, reader->record_offset,
                      "no record begins here; the rest of the block is lost");
        return lose_rest(reader);
    }
    status = read_record(reader, item.text, record, error);
    if (status == CPT_NO_MEMORY) {
        return status;
    }
    if (status == CPT_OK) {
        reader->counts.records++;
        reader->bytes = item.text;
    } else {
        reader->counts.skipped_records++;
        reader->counts.skipped_bytes += reader->is_packed ? 0 : cbor.at - reader->at;
    }
    reader->records_left -= reader->records_left != 0;
    reader->at = cbor.at;
    return status;
}

cpt_status cpt_log_reader_next(struct cpt_log_reader *reader, struct cpt_record *record,
                               struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    for (;;) {
        switch (reader->state) {
        case STATE_BETWEEN:
            status = read_between(reader, error);
            break;
        case STATE_LOST:
            status = read_lost(reader, error);
            break;
        case STATE_INSIDE:
            status = read_inside(reader, record, error);
            if (status != CPT_END) {
                return status;
            }
            status = CPT_OK; /* on to the next block */
            break;
        default:
            return CPT_END;
        }
        if (status != CPT_OK) {
            return status;
        }
    }
}
