/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_users.c - a path log with the user of each request
 *
 *      cpt import arm.json -o - | log_users >arm.cptlog
 *
 * `cpt import` keeps no tags of spans. The simulation writes the user of a request to
 * the upper half of its trace id; this makes it the attribute `user` of the record, as
 * a service would have written it.
 */
#include "wire/cpt_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void must(cpt_status status)
{
    if (status != CPT_OK) {
        (void)fprintf(stderr, "log_users: %s\n", cpt_status_sentence(status));
        exit(2);
    }
}

/* A cpt_read_fn of the standard input. */
static cpt_status read_input(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    (void)context;
    *bytes = fread(buffer, 1, capacity, stdin);
    return ferror(stdin) != 0 ? CPT_IO : CPT_OK;
}

static void write_block(struct cpt_log_block *block)
{
    const struct cpt_bytes bytes = cpt_log_block_finish(block);

    (void)fwrite(bytes.data, 1, bytes.bytes, stdout);
}

static void write_record(struct cpt_log_block *block, const struct cpt_record *record)
{
    unsigned char *data = NULL;
    size_t bytes = 0;

    must(cpt_record_encode(record, NULL, &data, &bytes, NULL));
    if (cpt_log_block_add(block, data, bytes) != CPT_OK) {
        write_block(block);
        must(cpt_log_block_add(block, data, bytes));
    }
    cpt_alloc_free(NULL, data);
}

static void add_user(struct cpt_log_block *block, struct cpt_record record)
{
    struct cpt_attribute attributes[CPT_ATTRIBUTES_MAX];
    char user[24];
    uint64_t number = 0;

    if (record.attribute_count + 1 > CPT_ATTRIBUTES_MAX) {
        must(CPT_LIMIT);
    }
    for (size_t i = 0; i < record.attribute_count; i++) {
        attributes[i] = record.attributes[i];
    }
    for (size_t i = 0; i < sizeof record.trace_id / 2; i++) {
        number = number << 8 | record.trace_id[i];
    }
    (void)snprintf(user, sizeof user, "u%" PRIu64, number);
    attributes[record.attribute_count++] =
        (struct cpt_attribute){.key = cpt_bytes_of("user"),
                               .type = CPT_ATTRIBUTE_TEXT,
                               .value = {.text = cpt_bytes_of(user)}};
    record.attributes = attributes;
    write_record(block, &record);
}

int main(void)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = read_input};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    struct cpt_record record;
    cpt_status status = CPT_NO_MEMORY;

    if (reader != NULL && block != NULL) {
        (void)fwrite(header, 1, cpt_log_header(header), stdout);
        while ((status = cpt_log_reader_next(reader, &record, NULL)) == CPT_OK) {
            add_user(block, record);
        }
        write_block(block);
        must(status == CPT_END ? CPT_OK : status);
    }
    cpt_log_block_free(block);
    cpt_log_reader_free(reader);
    return status == CPT_END && fflush(stdout) == 0 ? 0 : 1;
}
