/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_entry.c - any bytes as lines of an entry
 *
 * Whatever a line says: what becomes a record can be read again, and its path adds up
 * to its latency.
 */
#include "import/bytes/head.h"
#include "import/lines/entry_lines.h"
#include "tool/log/entry_records.h"
#include "tool/log/span_records.h"
#include "wire/cpt_log.h"

#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES_MAX = 1 << 22, IDLE_BYTES_MAX = 1 << 20 };

struct memory {
    const uint8_t *data;
    size_t left;
};

/* The log that is written. */
struct written {
    uint8_t *data;
    size_t bytes;
};

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static cpt_status read_some(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct memory *memory = context;

    *bytes = memory->left < capacity ? memory->left : capacity;
    if (*bytes > 0) {
        memcpy(buffer, memory->data, *bytes);
    }
    memory->data += *bytes;
    memory->left -= *bytes;
    return CPT_OK;
}

static cpt_status write_some(void *context, const void *data, size_t bytes)
{
    struct written *written = context;

    if (bytes > LOG_BYTES_MAX - written->bytes) {
        return CPT_IO;
    }
    memcpy(written->data + written->bytes, data, bytes);
    written->bytes += bytes;
    return CPT_OK;
}

static void must_be_line(const struct cpti_entry_line *line)
{
    size_t bytes = 0;

    must(line->number > 0 && line->path.bytes > 0);
    must(line->start_unix_ns <= (uint64_t)INT64_MAX - line->latency_ns);
    must(line->probability > 0 && line->probability <= 1);
    must(line->member_count <= CPTI_ENTRY_MEMBERS_MAX);
    for (size_t i = 0; i < line->member_count; i++) {
        bytes += line->members[i].key.bytes + line->members[i].text.bytes;
    }
    must(bytes <= CPTI_ENTRY_MEMBER_BYTES_MAX);
}

/* Reads the log again. How many records it has. */
static uint64_t read_log(const struct written *written)
{
    struct memory memory = {written->data, written->bytes};
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = read_some, .context = &memory};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_record record;
    uint64_t count = 0;

    must(reader != NULL && path != NULL);
    while (cpt_log_reader_next(reader, &record, NULL) == CPT_OK) {
        cpt_path_reset(path);
        must(record.latency_ns > 0);
        must(cpt_record_path(&record, NULL, path, NULL) == CPT_OK);
        must(cpt_path_check(path, record.latency_ns, NULL) == CPT_OK);
        count++;
    }
    cpt_path_free(path);
    cpt_log_reader_free(reader);
    return count;
}

/* Adds all lines; how many are records. */
static uint64_t add_lines(struct cpti_entry_records *entry, struct cpti_head *head)
{
    const struct cpti_entry_lines_options options = {
        .read = cpti_head_read, .context = head, .idle_bytes_max = IDLE_BYTES_MAX};
    struct cpti_entry_lines *lines = cpti_entry_lines_new(&options);
    cpt_status status = CPT_OK;

    must(lines != NULL);
    while (status == CPT_OK || status == CPT_INVALID) {
        struct cpt_error error = {0};
        struct cpti_entry_line line;

        status = cpti_entry_lines_next(lines, &line, &error);
        must((error.status == CPT_OK) == (status == CPT_OK || status == CPT_END));
        if (status == CPT_OK) {
            must_be_line(&line);
            status = cpti_entry_records_add(entry, &line, &error);
            must(status == CPT_OK || status == CPT_INVALID || status == CPT_IO);
        }
    }
    cpti_entry_lines_free(lines);
    return entry->written;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory memory = {data, size};
    struct written written = {malloc(LOG_BYTES_MAX), 0};
    struct cpti_span_records records = {.sink = {write_some, &written}};
    struct cpti_entry_records entry = {.records = &records,
                                       .service = cpt_bytes_of(size % 2 ? "edge" : "")};
    struct cpti_head head;
    uint64_t count;

    must(written.data != NULL);
    must(cpti_head_init(&head, NULL, read_some, &memory) == CPT_OK);
    must(cpti_span_records_init(&records) == CPT_OK);
    must(cpti_entry_records_init(&entry) == CPT_OK);
    (void)cpti_entry_lines_recognise(NULL, cpti_head_read, &head);
    cpti_head_rewind(&head);
    count = add_lines(&entry, &head);
    if (cpti_span_records_flush(&records) == CPT_OK) {
        must(read_log(&written) == count);
    }
    cpti_entry_records_deinit(&entry);
    cpti_span_records_deinit(&records);
    cpti_head_deinit(&head);
    free(written.data);
    return 0;
}
