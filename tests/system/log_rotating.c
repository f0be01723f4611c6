/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_rotating.c - a service's log, which rotates through files
 *
 *      log_rotating FOLDER RECORDS BYTES MILLISECONDS
 *
 * Writes numbered records into FOLDER, each in its own block, with a pause after it; a
 * file ends before it has more than BYTES.
 */
#include "framework/cpt_log_file.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void must(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "log_rotating: %s\n", what);
        exit(2);
    }
}

static void write_record(struct cpt_log_file *file, struct cpt_log_block *block,
                         uint64_t number)
{
    const struct cpt_attribute attribute = {
        cpt_bytes_of("number"), CPT_ATTRIBUTE_INTEGER, {.integer = (int64_t)number}};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_record record = {.service = cpt_bytes_of("A"),
                                .entry = cpt_bytes_of("A: /"),
                                .start_unix_ns = number,
                                .latency_ns = 1000,
                                .probability = 1,
                                .is_random = 1,
                                .attributes = &attribute,
                                .attribute_count = 1,
                                .path = path};
    uint32_t frame;
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct cpt_bytes whole;

    must(path != NULL &&
             cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("A: /"),
                                CPT_KIND_WORK, &frame) == CPT_OK &&
             cpt_path_append_ns(path, frame, 1000) == CPT_OK &&
             cpt_record_encode(&record, NULL, &data, &bytes, NULL) == CPT_OK &&
             cpt_log_block_add(block, data, bytes) == CPT_OK,
         "no memory");
    whole = cpt_log_block_finish(block);
    must(cpt_log_file_write(file, whole.data, whole.bytes) == CPT_OK, "cannot write");
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
}

int main(int argument_count, char **arguments)
{
    struct cpt_log_file_options options = {.struct_bytes = sizeof options, .name = "A"};
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct cpt_error error = {0};
    struct cpt_log_file *file;
    struct timespec pause = {0, 0};
    uint64_t count;

    must(argument_count == 5 && block != NULL,
         "log_rotating FOLDER RECORDS BYTES MILLISECONDS");
    options.directory = arguments[1];
    count = strtoull(arguments[2], NULL, 10);
    options.file_bytes_max = strtoull(arguments[3], NULL, 10);
    pause.tv_nsec = strtol(arguments[4], NULL, 10) * 1000000L;
    file = cpt_log_file_new(&options, &error);
    must(file != NULL, error.sentence);
    for (uint64_t i = 0; i < count; i++) {
        write_record(file, block, i);
        (void)nanosleep(&pause, NULL);
    }
    cpt_log_file_free(file);
    cpt_log_block_free(block);
    return 0;
}
