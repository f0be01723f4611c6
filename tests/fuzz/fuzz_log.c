/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_log.c - any bytes as a path log
 *
 * The bytes are a file; the payload of a valid block, plain or compressed, because a
 * fuzzer does not guess checksums; one record in it; and the map of an index after a
 * valid block. Every byte is counted, an accepted record can be written again, and no
 * index makes a reader lose its position. Read in parts the log gives the same as read
 * whole, and items of CBOR are those that the decoder finds.
 */
#include "wire/log/cbor_pull.h"
#include "wire/cpt_log_parts.h"
#include "wire/log/log_format.h"
#include "wire/log/log_index.h"

#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

struct input {
    const unsigned char *data;
    size_t bytes;
    size_t at;
};

/* In pieces, whose length depends on the position. */
static cpt_status read_piece(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    struct input *input = context;
    size_t count = 1 + input->at * 7 % 300;

    count = count > capacity ? capacity : count;
    count = count > input->bytes - input->at ? input->bytes - input->at : count;
    if (count != 0) {
        memcpy(buffer, input->data + input->at, count);
    }
    input->at += count;
    *bytes = count;
    return CPT_OK;
}

static void check_record(const struct cpt_record *record)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_record again = *record;
    unsigned char *data = NULL;
    size_t bytes = 0;

    must(path != NULL);
    if (record->path_bytes.bytes != 0 &&
        cpt_record_path(record, NULL, path, NULL) == CPT_OK) {
        must(cpt_path_check(path, record->latency_ns, NULL) == CPT_OK);
        again.path = path;
    }
    must(cpt_record_encode(&again, NULL, &data, &bytes, NULL) == CPT_OK);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
}

static void read_log(const unsigned char *data, size_t bytes)
{
    struct input input = {data, bytes, 0};
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = read_piece,
                                                   .context = &input,
                                                   .record_bytes_max = 1 << 16};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    const struct cpt_log_counts *counts = cpt_log_reader_counts(reader);
    struct cpt_record record;
    cpt_status status = CPT_OK;
    size_t steps = 0;

    while (status != CPT_END) {
        struct cpt_error error = {0};

        status = cpt_log_reader_next(reader, &record, &error);
        must(error.status == (status == CPT_END ? CPT_OK : status));
        must(steps++ <= bytes + 1);
        if (status == CPT_OK) {
            check_record(&record);
        }
    }
    must(counts->skipped_bytes + counts->tail_bytes <= bytes);
    must(counts->records == 0 || counts->blocks != 0);
    cpt_log_reader_free(reader);
}

static void read_payload(unsigned type, const unsigned char *payload, size_t bytes)
{
    const struct cpti_log_head head = {.version = CPT_LOG_VERSION,
                                       .type = type,
                                       .payload_bytes = (uint32_t)bytes,
                                       .record_count = 1,
                                       .payload_crc = cpt_crc32c(0, payload, bytes)};
    unsigned char *block = malloc(CPTI_LOG_HEAD_BYTES + bytes);

    must(block != NULL);
    cpti_log_head_write(&head, block);
    memcpy(block + CPTI_LOG_HEAD_BYTES, payload, bytes);
    read_log(block, CPTI_LOG_HEAD_BYTES + bytes);
    free(block);
}

static void read_record(const unsigned char *data, size_t bytes)
{
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct cpt_bytes whole = {NULL, 0};

    must(block != NULL && cpt_log_block_add(block, data, bytes) == CPT_OK);
    whole = cpt_log_block_finish(block);
    read_log((const unsigned char *)whole.data, whole.bytes);
    cpt_log_block_free(block);
}

/* --- The index --- */

static cpt_status read_at(void *context, uint64_t offset, void *buffer, size_t bytes)
{
    const struct input *input = context;

    if (offset > input->bytes || bytes > input->bytes - offset) {
        return CPT_IO;
    }
    memcpy(buffer, input->data + offset, bytes);
    return CPT_OK;
}

static cpt_status seek(void *context, uint64_t offset)
{
    struct input *input = context;

    must(offset <= input->bytes);
    input->at = (size_t)offset;
    return CPT_OK;
}

/* Every other block, and blocks that seem late. */
static int wants(void *context, const struct cpt_log_index *index,
                 const struct cpt_log_index_block *block)
{
    (void)context;
    must(block->start_min_ns <= block->start_max_ns);
    must(block->latency_min_ns <= block->latency_max_ns);
    return block == cpt_log_index_block(index, cpt_log_index_count(index) - 1) ||
           block->start_max_ns > 1000;
}

static void read_with_index(struct input *input, const struct cpt_log_index *index)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = read_piece,
                                                   .context = input,
                                                   .index = index,
                                                   .seek = seek,
                                                   .wants = wants};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    const struct cpt_log_counts *counts = cpt_log_reader_counts(reader);
    struct cpt_record record;
    size_t steps = 0;

    while (cpt_log_reader_next(reader, &record, NULL) != CPT_END) {
        must(steps++ <= input->bytes + 1);
    }
    must(counts->passed_blocks <= cpt_log_index_count(index));
    must(counts->skipped_bytes + counts->tail_bytes <= input->bytes);
    cpt_log_reader_free(reader);
}

static void use_index(const unsigned char *data, size_t bytes)
{
    struct input input = {data, bytes, 0};
    const struct cpt_log_index_options options = {.struct_bytes = sizeof options,
                                                  .read_at = read_at,
                                                  .context = &input,
                                                  .input_bytes = bytes};
    struct cpt_log_index *index = NULL;
    struct cpt_error error = {0};
    const cpt_status status = cpt_log_index_read(&options, &index, &error);

    must((status == CPT_OK) == (index != NULL));
    must(error.status == (status == CPT_END ? CPT_OK : status));
    if (index != NULL) {
        read_with_index(&input, index);
    }
    cpt_log_index_free(index);
}

/* --- In parts --- */

/* Adds a number for all that a reader of [offset, end_offset) finds to @sum. */
static uint64_t read_part(struct input *input, const struct cpt_log_part *part,
                          uint64_t sum)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = read_piece,
                                                   .context = input,
                                                   .start_offset = part->offset,
                                                   .end_offset = part->end_offset};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_record record;
    cpt_status status = CPT_OK;

    input->at = (size_t)part->offset;
    while (status != CPT_END) {
        struct cpt_error error = {0};

        status = cpt_log_reader_next(reader, &record, &error);
        if (status != CPT_END) {
            sum = sum * 1000003 + (uint64_t)status * 7 + error.offset;
            sum += status == CPT_OK ? cpt_log_reader_offset(reader) : 0;
        }
    }
    cpt_log_reader_free(reader);
    return sum;
}

static void read_parts(const unsigned char *data, size_t bytes)
{
    enum { PARTS = 5 };
    struct input input = {data, bytes, 0};
    const struct cpt_log_part all = {0, 0, 0};
    const struct cpt_log_parts_options options = {.struct_bytes = sizeof options,
                                                  .read_at = read_at,
                                                  .context = &input,
                                                  .input_bytes = bytes,
                                                  .part_count_max = PARTS,
                                                  .part_bytes = 1};
    struct cpt_log_part parts[PARTS];
    size_t count = 0;
    uint64_t sum = 0;

    must(cpt_log_parts(&options, parts, &count, NULL) == CPT_OK);
    must(count >= 1 && count <= PARTS && parts[count - 1].end_offset == bytes);
    for (size_t i = 0; i < count; i++) {
        sum = read_part(&input, &parts[i], sum);
    }
    must(sum == read_part(&input, &all, 0));
}

/* A block with the first bytes, one with the rest. */
static void read_two_blocks(const unsigned char *data, size_t bytes)
{
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    const size_t first_bytes = bytes / 3 + 1;
    unsigned char *log = NULL;
    size_t log_bytes = 0;

    must(block != NULL);
    for (int i = 0; i < 2; i++) {
        const size_t from = i == 0 ? 0 : first_bytes;
        struct cpt_bytes whole = {NULL, 0};

        must(cpt_log_block_add(block, data + from,
                               i == 0 ? first_bytes : bytes - first_bytes) == CPT_OK);
        whole = cpt_log_block_finish(block);
        log = realloc(log, log_bytes + whole.bytes);
        must(log != NULL);
        memcpy(log + log_bytes, whole.data, whole.bytes);
        log_bytes += whole.bytes;
    }
    read_parts(log, log_bytes);
    free(log);
    cpt_log_block_free(block);
}

/* --- Items --- */

static void compare_items(const unsigned char *data, size_t bytes)
{
    struct cpti_cbor fast = {data, bytes, 0};
    cpt_status status = CPT_OK;

    while (status == CPT_OK) {
        struct cpti_cbor slow = fast;
        struct cpti_cbor_item ours;
        struct cpti_cbor_item theirs;

        status = cpti_cbor_next(&fast, &ours);
        must(status == cpti_cbor_next_any(&slow, &theirs) && fast.at == slow.at);
        must(status != CPT_OK ||
             (ours.type == theirs.type && ours.number == theirs.number &&
              ours.text.data == theirs.text.data &&
              ours.text.bytes == theirs.text.bytes &&
              memcmp(&ours.real, &theirs.real, sizeof ours.real) == 0));
    }
}

/* @map as that of an index behind one block with one record. */
static void read_map(const unsigned char *map, size_t bytes)
{
    static const unsigned char record[] = {0xa1, 0x00, 0x01};
    const uint32_t payload_bytes = (uint32_t)bytes + CPTI_LOG_INDEX_FOOTER_BYTES;
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct cpti_log_head head = {.version = CPT_LOG_VERSION,
                                 .type = CPTI_LOG_BLOCK_INDEX,
                                 .payload_bytes = payload_bytes};
    struct cpt_bytes first = {NULL, 0};
    unsigned char *log = NULL;
    unsigned char *payload = NULL;

    must(block != NULL && cpt_log_block_add(block, record, sizeof record) == CPT_OK);
    first = cpt_log_block_finish(block);
    log = malloc(first.bytes + CPTI_LOG_HEAD_BYTES + payload_bytes);
    must(log != NULL);
    memcpy(log, first.data, first.bytes);
    payload = log + first.bytes + CPTI_LOG_HEAD_BYTES;
    memcpy(payload, map, bytes);
    for (size_t i = 0; i < 4; i++) {
        payload[bytes + i] = (unsigned char)(payload_bytes >> (8 * i));
    }
    memcpy(payload + bytes + 4, CPTI_LOG_INDEX_MAGIC, CPTI_LOG_INDEX_MAGIC_BYTES);
    head.payload_crc = cpt_crc32c(0, payload, payload_bytes);
    cpti_log_head_write(&head, log + first.bytes);
    use_index(log, first.bytes + CPTI_LOG_HEAD_BYTES + payload_bytes);
    free(log);
    cpt_log_block_free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_log(data, size);
    use_index(data, size);
    read_parts(data, size);
    compare_items(data, size);
    if (size > 3) {
        read_two_blocks(data, size);
    }
    if (size != 0) {
        read_map(data, size);
        read_payload(CPTI_LOG_BLOCK_RECORDS, data, size);
        read_payload(CPTI_LOG_BLOCK_ZSTD, data, size);
        read_record(data, size);
    }
    return 0;
}
