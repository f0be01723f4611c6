/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_files.c - stored files: each version is still read, bad files are refused
 *
 * tests/data/<format>/v<n>/ holds files that were written by that version, each with a
 * .txt of what it says. tests/data/<format>/bad/ holds files that must be refused, each
 * with an .expect of one line: "CPT_CORRUPT at 12: the sentence".
 *
 * And the hexadecimal examples of docs/format-*.md are what the library writes.
 */
#include "wire/cpt_graph_log.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"
#include "tests/unit/wire/log_memory.h"
#include "tests/unit/wire/wire_paths.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The whole file, terminated; fails the test if there is none. free() the data. */
static struct log_memory read_file(const char *name)
{
    struct log_memory file = {NULL, 0, 0, 0};
    char piece[4096];
    size_t bytes = 0;
    FILE *in = fopen(name, "rb");

    if (in == NULL) {
        printf("\n--- there is no %s\n", name);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    log_memory_append(&file, "", 0);
    while ((bytes = fread(piece, 1, sizeof piece, in)) != 0) {
        log_memory_append(&file, piece, bytes);
    }
    fclose(in);
    file.data[file.bytes] = '\0';
    return file;
}

static void compare(const char *name, const char *text,
                    const struct log_memory *expected)
{
    const int is_same = strcmp(text, (const char *)expected->data) == 0;

    CU_ASSERT_TRUE(is_same);
    if (!is_same) {
        printf("\n--- %s gives\n%s\n--- not\n%s\n", name, text,
               (const char *)expected->data);
    }
}

/* Calls @check for each file in @folder that ends in @ending, with the text beside it.
 */
static void each_file(const char *folder, const char *ending, const char *text_ending,
                      void (*check)(const char *name, struct log_memory *file,
                                    const struct log_memory *expected))
{
    DIR *directory = opendir(folder);
    const struct dirent *entry = NULL;
    size_t count = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
    while ((entry = readdir(directory)) != NULL) {
        const char *found = strstr(entry->d_name, ending);
        char name[1024];
        struct log_memory file;
        struct log_memory expected;

        if (found == NULL || strcmp(found, ending) != 0) {
            continue;
        }
        snprintf(name, sizeof name, "%s/%.*s%s", folder, (int)(found - entry->d_name),
                 entry->d_name, text_ending);
        expected = read_file(name);
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        file = read_file(name);
        check(name, &file, &expected);
        free(file.data);
        free(expected.data);
        count++;
    }
    closedir(directory);
    CU_ASSERT_NOT_EQUAL(count, 0);
}

static void error_text(const struct cpt_error *error, char *text, size_t capacity)
{
    snprintf(text, capacity, "%s at %" PRIu64 ": %s\n", cpt_status_name(error->status),
             error->offset, error->sentence);
}

/* --- Metadata --- */

static void check_good_metadata(const char *name, struct log_memory *file,
                                const struct log_memory *expected)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_metadata_summary summary;
    struct cpt_error error = {0};
    char *text = NULL;

    CU_ASSERT_EQUAL(cpt_metadata_decode(file->data, file->bytes, NULL, path, &error),
                    CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    text = path_text(path);
    compare(name, text, expected);
    free(text);
    CU_ASSERT_EQUAL(cpt_metadata_peek(file->data, file->bytes, &summary, NULL), CPT_OK);
    CU_ASSERT_EQUAL(summary.nonce,
                    strstr(name, "/nonce") != NULL ? UINT64_C(0x9f86d081884c7d65) : 0);
    cpt_path_free(path);
}

static void check_bad_metadata(const char *name, struct log_memory *file,
                               const struct log_memory *expected)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};
    char text[400];
    const cpt_status status =
        cpt_metadata_decode(file->data, file->bytes, NULL, path, &error);

    CU_ASSERT_NOT_EQUAL(status, CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 0);
    error_text(&error, text, sizeof text);
    compare(name, text, expected);
    cpt_path_free(path);
}

static void test_metadata_of_version_1(void)
{
    each_file(CPT_TEST_DATA "/metadata/v1", ".bin", ".txt", check_good_metadata);
}

static void test_bad_metadata(void)
{
    each_file(CPT_TEST_DATA "/metadata/bad", ".bin", ".expect", check_bad_metadata);
}

/* --- Path log --- */

static void print_attributes(FILE *out, const struct cpt_record *record)
{
    for (size_t i = 0; i < record->attribute_count; i++) {
        const struct cpt_attribute *attribute = &record->attributes[i];

        fprintf(out, " %.*s=", (int)attribute->key.bytes, attribute->key.data);
        if (attribute->type == CPT_ATTRIBUTE_TEXT) {
            fprintf(out, "'%.*s'", (int)attribute->value.text.bytes,
                    attribute->value.text.data);
        } else if (attribute->type == CPT_ATTRIBUTE_INTEGER) {
            fprintf(out, "%" PRId64, attribute->value.integer);
        } else if (attribute->type == CPT_ATTRIBUTE_FLOAT) {
            fprintf(out, "%.17g", attribute->value.real);
        } else {
            fprintf(out, "%s", attribute->value.is_true ? "true" : "false");
        }
    }
}

static void print_record(FILE *out, const struct cpt_record *record)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};
    char *text = NULL;

    fprintf(out, "%" PRIu64 " %.*s %.*s '%.*s' %" PRIu64 " ns p=%.17g",
            record->start_unix_ns, (int)record->service.bytes, record->service.data,
            (int)record->method.bytes, record->method.data, (int)record->entry.bytes,
            record->entry.data, record->latency_ns, record->probability);
    fprintf(out, " '%.*s'%s%s%s%s trace %d %02x..%02x parent %d %02x..%02x",
            (int)record->status.bytes, record->status.data,
            record->is_failed ? " failed" : "", record->is_forced ? " forced" : "",
            record->is_random ? " random" : "", record->is_local_root ? " local" : "",
            record->has_trace_id, record->trace_id[0], record->trace_id[15],
            record->has_parent_id, record->parent_id[0], record->parent_id[7]);
    print_attributes(out, record);
    CU_ASSERT_EQUAL(cpt_record_path(record, NULL, path, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    text = path_text(path);
    fprintf(out, "\n%s", text);
    free(text);
    cpt_path_free(path);
}

static void check_good_log(const char *name, struct log_memory *file,
                           const struct log_memory *expected)
{
    struct cpt_log_reader *reader = log_memory_reader(file, NULL);
    struct cpt_record record;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    while ((status = cpt_log_reader_next(reader, &record, NULL)) == CPT_OK) {
        print_record(out, &record);
    }
    CU_ASSERT_EQUAL(status, CPT_END);
    fclose(out);
    compare(name, text, expected);
    free(text);
    cpt_log_reader_free(reader);
}

/* Reads up to the first error, in a record or in a path. */
static void check_bad_log(const char *name, struct log_memory *file,
                          const struct log_memory *expected)
{
    struct cpt_log_reader *reader = log_memory_reader(file, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_record record;
    struct cpt_error error = {0};
    char text[400];
    cpt_status status = CPT_OK;

    while (status == CPT_OK) {
        status = cpt_log_reader_next(reader, &record, &error);
        if (status == CPT_OK) {
            cpt_path_reset(path);
            status = cpt_record_path(&record, NULL, path, &error);
        }
    }
    CU_ASSERT_NOT_EQUAL(status, CPT_END);
    error_text(&error, text, sizeof text);
    compare(name, text, expected);
    cpt_log_reader_free(reader);
    cpt_path_free(path);
}

static void test_logs_of_version_1(void)
{
    each_file(CPT_TEST_DATA "/path-log/v1", ".cptlog", ".txt", check_good_log);
}

static void test_bad_logs(void)
{
    each_file(CPT_TEST_DATA "/path-log/bad", ".cptlog", ".expect", check_bad_log);
}

/* --- Documents --- */

static int hex_of(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;

    return found != NULL ? (int)(found - digits) : -1;
}

/*
 * The bytes of the first block fenced by "```hex" in @name: pairs of digits with one
 * space between them, up to the first two spaces of each line; then come words.
 */
static struct log_memory read_example(const char *name)
{
    struct log_memory document = read_file(name);
    struct log_memory example = {NULL, 0, 0, 0};
    const char *at = strstr((const char *)document.data, "```hex\n");

    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    log_memory_append(&example, "", 0);
    at += strlen("```hex\n");
    while (strncmp(at, "```", 3) != 0 && *at != '\0') {
        while (hex_of(at[0]) >= 0 && hex_of(at[1]) >= 0) {
            const unsigned char byte =
                (unsigned char)(hex_of(at[0]) * 16 + hex_of(at[1]));

            log_memory_append(&example, &byte, 1);
            at += at[2] == ' ' ? 3 : 2;
        }
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    free(document.data);
    return example;
}

static void compare_bytes(const struct log_memory *example, const void *data,
                          size_t bytes)
{
    CU_ASSERT_EQUAL(example->bytes, bytes);
    CU_ASSERT_EQUAL_FATAL(
        memcmp(example->data, data, bytes < example->bytes ? bytes : example->bytes),
        0);
}

static void test_example_of_the_metadata_page(void)
{
    struct log_memory example = read_example(CPT_TEST_DOCS "/format-metadata.md");
    struct cpt_path *path = document_path(NULL);
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .has_server_elapsed = 1,
                                                        .server_elapsed_ns = 900000};
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL(cpt_metadata_encode(path, &options, &data, &bytes, NULL), CPT_OK);
    compare_bytes(&example, data, bytes);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    free(example.data);
}

static void test_example_of_the_log_page(void)
{
    static const struct cpt_attribute attribute = {
        {"arm", 3}, CPT_ATTRIBUTE_TEXT, {.text = {"control", 7}}};
    struct log_memory example = read_example(CPT_TEST_DOCS "/format-path-log.md");
    struct log_memory log = {NULL, 0, 0, 0};
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_record record = {.start_unix_ns = UINT64_C(1700000000000000000),
                                .latency_ns = 900000,
                                .probability = 0.001,
                                .service = cpt_bytes_of("A"),
                                .method = cpt_bytes_of("/"),
                                .entry = cpt_bytes_of("A: /"),
                                .status = cpt_bytes_of("ok"),
                                .attributes = &attribute,
                                .attribute_count = 1,
                                .is_random = 1,
                                .path = path};
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct cpt_bytes block_bytes;
    uint32_t frame = 0;

    CU_ASSERT_EQUAL(
        cpt_path_frame_add(path, CPT_FRAME_NONE, record.entry, CPT_KIND_WORK, &frame),
        CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 900000), CPT_OK);
    CU_ASSERT_EQUAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_log_block_add(block, data, bytes), CPT_OK);
    log_memory_append(&log, header, cpt_log_header(header));
    block_bytes = cpt_log_block_finish(block);
    log_memory_append(&log, block_bytes.data, block_bytes.bytes);
    compare_bytes(&example, log.data, log.bytes);
    cpt_log_block_free(block);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    free(example.data);
    free(log.data);
}

/* The records of the example: A1 calls B and waits for it. */
static void test_example_of_the_graph_page(void)
{
    enum { MS = 1000000 };
    struct log_memory example = read_example(CPT_TEST_DOCS "/format-graph-log.md");
    struct log_memory log = {NULL, 0, 0, 0};
    struct cpt_trace_task task = {.name = cpt_bytes_of("A: A1"),
                                  .executor = cpt_bytes_of("workers"),
                                  .ready_ns = 50 * MS,
                                  .start_ns = 51 * MS,
                                  .end_ns = 59 * MS};
    struct cpt_trace_call call = {.name = cpt_bytes_of("B: /b"),
                                  .issuer = &task,
                                  .issue_ns = 53 * MS,
                                  .arrive_ns = 57 * MS,
                                  .outcome = CPT_CALL_REMOTE,
                                  .id = 49};
    struct cpt_trace_await await = {
        .call = &call, .block_ns = 54 * MS, .arrive_ns = 57 * MS, .resume_ns = 57 * MS};
    const struct cpt_trace trace = {.entry = cpt_bytes_of("A: /"),
                                    .arrival_ns = 50 * MS,
                                    .response_ns = 59 * MS,
                                    .answered_by = &task};
    const struct cpt_dag_run run = {&trace, NULL};
    struct cpt_trace_task *tasks[] = {&task};
    const struct cpt_dag_records records = {
        .runs = &run, .run_count = 1, .tasks = tasks, .task_count = 1};
    const struct cpt_record request = {.start_unix_ns = UINT64_C(1700000000000000000),
                                       .latency_ns = 9 * MS,
                                       .probability = 0.001,
                                       .service = cpt_bytes_of("A"),
                                       .method = cpt_bytes_of("/"),
                                       .is_random = 1};
    struct cpt_log_block *block = cpt_graph_log_block_new(NULL, 0);
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    unsigned char *data = NULL;
    struct cpt_bytes finished;
    size_t bytes = 0;

    task.last_await = &await;
    CU_ASSERT_EQUAL_FATAL(
        cpt_graph_encode(&request, 127, &records, NULL, &data, &bytes, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(block, data, bytes), CPT_OK);
    finished = cpt_log_block_finish(block);
    log_memory_append(&log, header, cpt_graph_log_header(header));
    log_memory_append(&log, finished.data, finished.bytes);
    compare_bytes(&example, log.data, log.bytes);
    cpt_log_block_free(block);
    cpt_alloc_free(NULL, data);
    free(example.data);
    free(log.data);
}

CU_TestInfo cpt_files_tests[] = {
    {"metadata of version 1 is read", test_metadata_of_version_1},
    {"bad metadata is refused, with its sentence", test_bad_metadata},
    {"path logs of version 1 are read", test_logs_of_version_1},
    {"bad path logs are refused, with their sentence", test_bad_logs},
    {"the example of format-metadata.md is what we write",
     test_example_of_the_metadata_page},
    {"the example of format-path-log.md is what we write",
     test_example_of_the_log_page},
    {"the example of format-graph-log.md is what we write",
     test_example_of_the_graph_page},
    CU_TEST_INFO_NULL,
};
