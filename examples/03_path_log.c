/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * 03_path_log.c - write a path log, read it again
 *
 *      path --> record --> block --> file --> record --> path
 *
 * A service does the first half itself (struct cpt_service_options.log); this example
 * shows the steps. The file is 03_paths.cptlog in the current folder, and
 * `cpt log 03_paths.cptlog` prints it too.
 */
#include <cpt/cpt_clock.h>
#include <cpt/cpt_log.h>
#include <cpt/cpt_path.h>

#include <stdio.h>

static const char file_name[] = "03_paths.cptlog";

/* The path of one request of parse, index and render. */
static cpt_status make_path(struct cpt_path *path, uint64_t index_ns)
{
    static const char *const names[] = {"A: parse", "A: index", "A: render"};
    const uint64_t durations_ns[] = {200000, index_ns, 250000};
    uint32_t entry = 0;
    uint32_t frame = 0;
    cpt_status status = cpt_path_frame_add(
        path, CPT_FRAME_NONE, cpt_bytes_of("A: /search"), CPT_KIND_WORK, &entry);

    for (size_t i = 0; i < 3 && status == CPT_OK; i++) {
        status = cpt_path_frame_add(path, entry, cpt_bytes_of(names[i]), CPT_KIND_WORK,
                                    &frame);
        if (status == CPT_OK) {
            status = cpt_path_append_ns(path, frame, durations_ns[i]);
        }
    }
    return status;
}

/* Adds one request to @block. */
static cpt_status add_record(struct cpt_log_block *block, const struct cpt_path *path,
                             const char *arm)
{
    const struct cpt_attribute attribute = {.key = cpt_bytes_of("arm"),
                                            .type = CPT_ATTRIBUTE_TEXT,
                                            .value.text = cpt_bytes_of(arm)};
    const struct cpt_record record = {
        .start_unix_ns = cpt_clock_unix_ns(),
        .latency_ns = cpt_path_sum_ns(path),
        .probability = 0.001,
        .service = cpt_bytes_of("A"),
        .method = cpt_bytes_of("/search"),
        .entry = cpt_bytes_of("A: /search"),
        .status = cpt_bytes_of("ok"),
        .attributes = &attribute,
        .attribute_count = 1,
        .is_random = 1,
        .path = path,
    };
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = cpt_record_encode(&record, NULL, &data, &bytes, NULL);

    if (status == CPT_OK) {
        status = cpt_log_block_add(block, data, bytes);
    }
    cpt_alloc_free(NULL, data);
    return status;
}

static cpt_status write_log(struct cpt_path *path)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    const size_t header_bytes = cpt_log_header(header);
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    FILE *file = fopen(file_name, "wb");
    cpt_status status = block != NULL && file != NULL ? CPT_OK : CPT_IO;

    for (unsigned i = 0; i < 4 && status == CPT_OK; i++) {
        cpt_path_reset(path);
        status = make_path(path, 300000 + i % 2 * 150000);
        if (status == CPT_OK) {
            status = add_record(block, path, i % 2 == 0 ? "control" : "treatment");
        }
    }
    if (status == CPT_OK) {
        const struct cpt_bytes bytes = cpt_log_block_finish(block);

        if (fwrite(header, 1, header_bytes, file) != header_bytes ||
            fwrite(bytes.data, 1, bytes.bytes, file) != bytes.bytes) {
            status = CPT_IO;
        }
    }
    if (file != NULL && fclose(file) != 0) {
        status = CPT_IO;
    }
    cpt_log_block_free(block);
    return status;
}

static cpt_status read_some(void *file, void *buffer, size_t capacity, size_t *bytes)
{
    *bytes = fread(buffer, 1, capacity, file);
    return ferror(file) ? CPT_IO : CPT_OK;
}

static cpt_status print_record(const struct cpt_record *record, struct cpt_path *path)
{
    const struct cpt_attribute *arm = cpt_record_attribute(record, cpt_bytes_of("arm"));
    char stack[512];
    cpt_status status;

    cpt_path_reset(path);
    status = cpt_record_path(record, NULL, path, NULL);
    if (status != CPT_OK || arm == NULL) {
        return status;
    }
    (void)printf("%.*s, arm %.*s, %.3f ms\n", (int)record->entry.bytes,
                 record->entry.data, (int)arm->value.text.bytes, arm->value.text.data,
                 (double)record->latency_ns / 1e6);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        (void)printf("%9.3f ms  %s\n", (double)segment->duration_ns / 1e6, stack);
    }
    return CPT_OK;
}

static cpt_status read_log(struct cpt_path *path, struct cpt_error *error)
{
    FILE *file = fopen(file_name, "rb");
    struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = read_some, .context = file};
    struct cpt_log_reader *reader = NULL;
    struct cpt_record record;
    cpt_status status = CPT_IO;

    if (file == NULL) {
        return status;
    }
    reader = cpt_log_reader_new(&options, error);
    while (reader != NULL &&
           (status = cpt_log_reader_next(reader, &record, error)) == CPT_OK) {
        status = print_record(&record, path);
        if (status != CPT_OK) {
            break;
        }
    }
    cpt_log_reader_free(reader);
    (void)fclose(file);
    return status == CPT_END ? CPT_OK : status;
}

int main(void)
{
    struct cpt_error error = {0};
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = path != NULL ? write_log(path) : CPT_NO_MEMORY;

    if (status == CPT_OK) {
        status = read_log(path, &error);
    }
    if (status != CPT_OK) {
        (void)fprintf(stderr, "03_path_log: %s: %s %s\n", file_name,
                      cpt_status_sentence(status), error.sentence);
    }
    cpt_path_free(path);
    return status == CPT_OK ? 0 : 1;
}
