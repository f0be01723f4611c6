/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_memory.c - see log_memory.h */
#include "tests/unit/wire/log_memory.h"

#include <CUnit/CUnit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void log_memory_append(struct log_memory *log, const void *data, size_t bytes)
{
    unsigned char *grown = realloc(log->data, log->bytes + bytes + 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(grown);
    log->data = grown;
    memcpy(log->data + log->bytes, data, bytes);
    log->bytes += bytes;
}

static void add_record(struct cpt_log_block *block, uint64_t number)
{
    struct cpt_path *path = cpt_path_new(NULL);
    char method[32];
    struct cpt_record record = {.service = cpt_bytes_of("A"),
                                .probability = 0.5,
                                .latency_ns = number + 1,
                                .is_random = 1,
                                .path = path};
    uint32_t frame = 0;
    unsigned char *data = NULL;
    size_t bytes = 0;

    snprintf(method, sizeof method, "/%u", (unsigned)number);
    record.method = cpt_bytes_of(method);
    CU_ASSERT_EQUAL_FATAL(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"),
                                             CPT_KIND_WORK, &frame),
                          CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_path_append_ns(path, frame, number + 1), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(block, data, bytes), CPT_OK);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
}

struct log_memory log_memory_new(size_t block_count, size_t record_count)
{
    struct log_memory log = {NULL, 0, 0, 0};
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    uint64_t number = 0;

    log_memory_append(&log, header, cpt_log_header(header));
    for (size_t b = 0; b < block_count; b++) {
        struct cpt_bytes bytes;

        for (size_t r = 0; r < record_count; r++) {
            add_record(block, number++);
        }
        bytes = cpt_log_block_finish(block);
        log_memory_append(&log, bytes.data, bytes.bytes);
    }
    cpt_log_block_free(block);
    return log;
}

cpt_status log_memory_read(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct log_memory *log = context;
    size_t count = log->bytes - log->at;

    if (count > capacity) {
        count = capacity;
    }
    if (log->piece_bytes != 0 && count > log->piece_bytes) {
        count = log->piece_bytes;
    }
    if (count != 0) {
        memcpy(buffer, log->data + log->at, count);
    }
    log->at += count;
    *bytes = count;
    return CPT_OK;
}

struct cpt_log_reader *log_memory_reader(struct log_memory *log,
                                         const struct cpt_alloc *alloc)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .alloc = alloc,
                                                   .read = log_memory_read,
                                                   .context = log};

    log->at = 0;
    return cpt_log_reader_new(&options, NULL);
}

cpt_status log_memory_read_at(void *context, uint64_t offset, void *buffer,
                              size_t bytes)
{
    const struct log_memory *log = context;

    if (offset > log->bytes || bytes > log->bytes - offset) {
        return CPT_IO;
    }
    memcpy(buffer, log->data + offset, bytes);
    return CPT_OK;
}
