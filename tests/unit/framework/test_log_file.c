/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_log_file.c - path logs in a directory: rotating, removing, sharing, a full
 * disk */
#include "cpt/base/now.h"
#include "framework/cpt_log_file.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_log_queue.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/service/log/log_queue.h"
#include "wire/cpt_log.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/framework/log_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- What is written --- */

static void test_blocks_are_appended(void)
{
    char names[NAMES_MAX][400];
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    struct cpt_log_file *file = NULL;
    struct cpt_log_file_options options;
    uint64_t sum = 0;

    open_folder();
    options = in_folder();
    options.name = "A";
    options.is_synced = 1;
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(cpt_log_file_write(file, header, cpt_log_header(header)), CPT_OK);
    CU_ASSERT_EQUAL(write_block(file, 0, 3), CPT_OK);
    CU_ASSERT_EQUAL(read_folder(&sum), 3); /* while it is written */
    CU_ASSERT_EQUAL(write_block(file, 3, 2), CPT_OK);
    CU_ASSERT_EQUAL(list_folder(names), 1);
    CU_ASSERT_EQUAL(indexed_blocks(names[0]), -1);
    CU_ASSERT_EQUAL(counts_of(file).block_count, 2);
    CU_ASSERT_EQUAL(counts_of(file).file_count, 1);
    CU_ASSERT_EQUAL(cpt_log_file_finish(file), CPT_OK);
    CU_ASSERT_EQUAL(counts_of(file).byte_count, folder_bytes());
    CU_ASSERT_EQUAL(counts_of(file).unindexed_count, 0);
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(names[0], "/A-2"));
    CU_ASSERT_EQUAL(indexed_blocks(names[0]), 2);
    sum = 0;
    CU_ASSERT_EQUAL(read_folder(&sum), 5);
    CU_ASSERT_EQUAL(sum, 1 + 2 + 3 + 4 + 5);
    close_folder();
}

static void test_no_record_no_file(void)
{
    char names[NAMES_MAX][400];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;

    open_folder();
    options = in_folder();
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL(list_folder(names), 1);
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 0);
    cpt_log_file_free(NULL);
    close_folder();
}

/* A log that says why it has no record stays; one with records need not say it. */
static void test_no_record_and_why(void)
{
    const struct cpt_log_untraced untraced = {.request_count = 300};
    unsigned char block[CPT_LOG_UNTRACED_BYTES_MAX];
    const size_t bytes = cpt_log_untraced_block(&untraced, block);
    char names[NAMES_MAX][400];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    options = in_folder();
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL(cpt_log_file_write(file, block, bytes), CPT_OK);
    CU_ASSERT_EQUAL(cpt_log_file_write(file, block, bytes), CPT_OK);
    CU_ASSERT_EQUAL(counts_of(file).block_count, 0);
    CU_ASSERT_EQUAL(counts_of(file).byte_count, folder_bytes());
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 1);
    CU_ASSERT_EQUAL(read_folder(&sum), 0);
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL(write_block(file, 0, 3), CPT_OK);
    sum = counts_of(file).byte_count;
    CU_ASSERT_EQUAL(cpt_log_file_write(file, block, bytes), CPT_OK);
    CU_ASSERT_EQUAL(counts_of(file).byte_count, sum);
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 2);
    close_folder();
}

/* --- When a new file begins --- */

/* The number of files after three equal blocks, if a file may have two blocks and @more
 * bytes. */
static int files_with(int64_t more)
{
    char names[NAMES_MAX][400];
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    const size_t block_bytes = make_block(block, 100, 5).bytes;
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;
    int count = 0;

    open_folder();
    options = in_folder();
    options.file_bytes_max =
        (uint64_t)((int64_t)(cpt_log_header(header) + 2 * block_bytes) + more);
    file = cpt_log_file_new(&options, NULL);
    for (uint64_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(write_block(file, 100, 5), CPT_OK);
    }
    CU_ASSERT_EQUAL(counts_of(file).block_count, 3);
    cpt_log_file_free(file);
    count = list_folder(names);
    CU_ASSERT_EQUAL(read_folder(&sum), 15);
    close_folder();
    cpt_log_block_free(block);
    return count;
}

static void test_rotation_by_size(void)
{
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    const int64_t block_bytes = (int64_t)make_block(block, 100, 5).bytes;

    cpt_log_block_free(block);
    CU_ASSERT_EQUAL(files_with(-1), 3);
    CU_ASSERT_EQUAL(files_with(0), 2);
    CU_ASSERT_EQUAL(files_with(1), 2);
    CU_ASSERT_EQUAL(files_with(block_bytes - 1), 2);
    CU_ASSERT_EQUAL(files_with(block_bytes), 1);
    /* a block above the limit of a file gets its own file */
    CU_ASSERT_EQUAL(files_with(-2 * block_bytes), 3);
}

static void test_rotation_by_age(void)
{
    char names[NAMES_MAX][400];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    options = in_folder();
    options.file_age_ns_max = 1;
    file = cpt_log_file_new(&options, NULL);
    for (uint64_t i = 0; i < 12; i++) {
        CU_ASSERT_EQUAL(write_block(file, i, 1), CPT_OK);
    }
    CU_ASSERT_EQUAL(counts_of(file).file_count, 12);
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 12);
    CU_ASSERT_EQUAL(read_folder(&sum), 12);
    CU_ASSERT_EQUAL(sum, 12 * 13 / 2);
    close_folder();
}

static void test_finish_begins_another(void)
{
    char names[NAMES_MAX][400];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    options = in_folder();
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL(write_block(file, 0, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpt_log_file_finish(file), CPT_OK);
    CU_ASSERT_EQUAL(cpt_log_file_finish(file), CPT_OK);
    CU_ASSERT_EQUAL(write_block(file, 1, 1), CPT_OK);
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 2);
    CU_ASSERT_EQUAL(read_folder(&sum), 2);
    close_folder();
}

/* --- How many are kept --- */

static void touch(const char *name)
{
    char path[400];
    int descriptor = -1;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    descriptor = open(path, O_WRONLY | O_CREAT, 0644);
    CU_ASSERT_TRUE(descriptor >= 0);
    (void)close(descriptor);
}

static void test_oldest_are_removed(void)
{
    static const char *const strangers[] = {
        "A-old-20200101T000000Z-1-000001.cptlog", "A-20200101T000000Z-1-000001.txt",
        "A-20200101T000000Z-1.cptlog", "A-notes.cptlog", "A.cptlog",
        /* what people call a file that they put there */
        "A-2026-11-27.cptlog", "A-2026-11-000000001.cptlog", "A--1-000000001.cptlog",
        "A-20200101-1-000000001.cptlog", "A-20200101T000000Z-1-000000001.cptlog.gz",
        "A-20200101T000000Z-1-0001.cptlog", "A-20200101T000000Z-1-000000001.cptlog~"};
    enum { STRANGERS = sizeof strangers / sizeof strangers[0] };
    char names[NAMES_MAX][400];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    for (size_t i = 0; i < STRANGERS; i++) {
        touch(strangers[i]);
    }
    touch("A-20200101T000000Z-99-000003.cptlog"); /* of an earlier process */
    options = in_folder();
    options.name = "A";
    options.kept_file_count_max = 3;
    options.file_age_ns_max = 1;
    file = cpt_log_file_new(&options, NULL);
    for (uint64_t i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(write_block(file, i, 1), CPT_OK);
    }
    CU_ASSERT_EQUAL(counts_of(file).removed_count, 4);
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 3 + STRANGERS);
    CU_ASSERT_EQUAL(read_folder(&sum), 3);
    CU_ASSERT_EQUAL(sum, 4 + 5 + 6);
    close_folder();
}

/* What has the name of a file of the log, and is none. */
static void test_no_files_are_kept(void)
{
    char path[3][128];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    struct stat about;

    open_folder();
    for (int i = 0; i < 3; i++) {
        snprintf(path[i], sizeof path[i], "%s/A-20200101T000000Z-1-00000000%d.cptlog",
                 folder, i);
    }
    CU_ASSERT_EQUAL(mkdir(path[0], 0700), 0);
    CU_ASSERT_EQUAL(mkfifo(path[1], 0600), 0);
    CU_ASSERT_EQUAL(symlink("/etc/passwd", path[2]), 0);
    options = in_folder();
    options.name = "A";
    options.kept_file_count_max = 1;
    options.kept_bytes_max = 1;
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL(write_block(file, 0, 1), CPT_OK);
    CU_ASSERT_EQUAL(counts_of(file).removed_count, 0);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(lstat(path[i], &about), 0);
    }
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(rmdir(path[0]), 0);
    close_folder();
}

/* A file with the largest number there is: those that follow are still the log's. */
static void test_vast_number(void)
{
    char names[NAMES_MAX][400];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;

    open_folder();
    touch("A-20200101T000000Z-1-999999999999999999.cptlog");
    options = in_folder();
    options.name = "A";
    options.kept_file_count_max = 3;
    options.file_age_ns_max = 1;
    file = cpt_log_file_new(&options, NULL);
    for (uint64_t i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(write_block(file, i, 1), CPT_OK);
    }
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 3);
    close_folder();
}

/* The limit holds at each moment, the current file included; a log beside it is left
 * alone. */
static void test_bytes_at_each_moment(void)
{
    enum { LIMIT = 20000, BLOCKS = 400 };
    char names[NAMES_MAX][400];
    struct cpt_log_file_options options;
    struct cpt_log_file *other = NULL;
    struct cpt_log_file *file = NULL;
    uint64_t other_bytes = 0;
    uint64_t most = 0;

    open_folder();
    options = in_folder();
    options.name = "B";
    other = cpt_log_file_new(&options, NULL);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        CU_ASSERT_EQUAL(write_block(other, i, 5), CPT_OK);
    }
    cpt_log_file_free(other);
    other_bytes = folder_bytes();
    CU_ASSERT_TRUE(other_bytes > LIMIT);
    options.name = "A";
    options.file_bytes_max = LIMIT / 8;
    options.kept_bytes_max = LIMIT;
    file = cpt_log_file_new(&options, NULL);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        CU_ASSERT_EQUAL(write_block(file, i, 5), CPT_OK);
        most = folder_bytes() > most ? folder_bytes() : most;
    }
    CU_ASSERT_TRUE(most <= other_bytes + LIMIT);
    CU_ASSERT_TRUE(most > other_bytes + LIMIT / 2);
    CU_ASSERT_TRUE(counts_of(file).removed_count > 0);
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names) > 2, 1);
    close_folder();
}

static void test_what_is_written_to_is_kept(void)
{
    struct cpt_log_file_options options;
    struct cpt_log_file *slow = NULL;
    struct cpt_log_file *busy = NULL;
    uint64_t sum = 0;

    open_folder();
    options = in_folder();
    slow = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL(write_block(slow, 99, 1), CPT_OK);
    options.kept_file_count_max = 1;
    options.file_age_ns_max = 1;
    busy = cpt_log_file_new(&options, NULL);
    for (uint64_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(write_block(busy, i, 1), CPT_OK);
    }
    CU_ASSERT_EQUAL(counts_of(busy).removed_count, 3);
    CU_ASSERT_EQUAL(read_folder(&sum), 2);
    CU_ASSERT_EQUAL(sum, 100 + 4);
    cpt_log_file_free(slow);
    cpt_log_file_free(busy);
    close_folder();
}

/* --- Errors --- */

static void expect_refusal(struct cpt_log_file_options options, cpt_status status,
                           const char *part)
{
    struct cpt_error error = {0};

    CU_ASSERT_PTR_NULL(cpt_log_file_new(&options, &error));
    CU_ASSERT_EQUAL(error.status, status);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, part));
}

static void test_options_are_checked(void)
{
    char name[CPT_LOG_FILE_NAME_BYTES_MAX + 2];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;

    open_folder();
    memset(name, 'n', sizeof name);
    name[CPT_LOG_FILE_NAME_BYTES_MAX + 1] = '\0';
    options = in_folder();
    options.name = name;
    expect_refusal(options, CPT_INVALID, "1 to 128 bytes");
    for (size_t bytes = CPT_LOG_FILE_NAME_BYTES_MAX;
         bytes >= CPT_LOG_FILE_NAME_BYTES_MAX - 1; bytes--) {
        name[bytes] = '\0';
        file = cpt_log_file_new(&options, NULL);
        CU_ASSERT_PTR_NOT_NULL(file);
        cpt_log_file_free(file);
    }
    options.name = "../a";
    expect_refusal(options, CPT_INVALID, "without '/'");
    options.name = "";
    expect_refusal(options, CPT_INVALID, "1 to 128 bytes");
    options.name = NULL;
    options.directory = NULL;
    expect_refusal(options, CPT_INVALID, "needs a directory");
    options.directory = "/nowhere/at/all";
    expect_refusal(options, CPT_IO, "/nowhere/at/all: there is no such directory");
    close_folder();
}

/* A write beyond the file size limit of the process fails in the middle of a block. */
static void test_full_disk(void)
{
    char names[NAMES_MAX][400];
    struct rlimit before;
    struct rlimit tight;
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    options = in_folder();
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL(write_block(file, 0, 2), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)folder_bytes() + 40;
    signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &tight), 0);
    CU_ASSERT_EQUAL(write_block(file, 2, 20), CPT_IO); /* too much for a new one */
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    CU_ASSERT_EQUAL(counts_of(file).failed_count, 1);
    CU_ASSERT_EQUAL(read_folder(&sum), 2); /* and no partial block after them */
    CU_ASSERT_EQUAL(write_block(file, 4, 2), CPT_OK);
    cpt_log_file_free(file);
    sum = 0;
    CU_ASSERT_EQUAL(read_folder(&sum), 4);
    CU_ASSERT_EQUAL(sum, 1 + 2 + 5 + 6);
    CU_ASSERT_EQUAL(list_folder(names), 1);
    CU_ASSERT_EQUAL(indexed_blocks(names[0]), 2);
    close_folder();
}

static bool open_with(const struct cpt_alloc *alloc)
{
    struct cpt_log_file_options options = in_folder();
    struct cpt_log_file *file = NULL;

    options.alloc = alloc;
    file = cpt_log_file_new(&options, NULL);
    cpt_log_file_free(file);
    return file != NULL;
}

static void test_allocation_failures(void)
{
    open_folder();
    each_allocation_failure(open_with);
    close_folder();
}

/* --- Many writers --- */

enum { WRITERS = 4, WRITER_BLOCKS = 50 };

static void *write_to_directory(void *context)
{
    struct cpt_log_file *file = cpt_log_file_new(context, NULL);

    for (uint64_t i = 0; i < WRITER_BLOCKS; i++) {
        (void)write_block(file, i, 1);
    }
    cpt_log_file_free(file);
    return NULL;
}

/* Each has its own descriptor, as processes have. */
static void *append_to_one_file(void *context)
{
    int descriptor = open(context, O_WRONLY | O_APPEND | O_CREAT, 0644);
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];

    (void)cpt_log_sink_descriptor(&descriptor, header, cpt_log_header(header));
    for (uint64_t i = 0; i < WRITER_BLOCKS; i++) {
        const struct cpt_bytes bytes = make_block(block, 10 * i, 10);

        (void)cpt_log_sink_descriptor(&descriptor, bytes.data, bytes.bytes);
    }
    cpt_log_block_free(block);
    (void)close(descriptor);
    return NULL;
}

static void run_writers(void *(*run)(void *context), void *context)
{
    pthread_t threads[WRITERS];

    for (size_t i = 0; i < WRITERS; i++) {
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, run, context), 0);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
    }
}

static void test_writers_share_a_directory(void)
{
    struct cpt_log_file_options options;
    uint64_t sum = 0;

    open_folder();
    options = in_folder();
    options.file_bytes_max = 512;
    run_writers(write_to_directory, &options);
    CU_ASSERT_EQUAL(read_folder(&sum), WRITERS * WRITER_BLOCKS);
    CU_ASSERT_EQUAL(sum, WRITERS * WRITER_BLOCKS * (WRITER_BLOCKS + 1) / 2);
    close_folder();
}

static void test_writers_append_to_one_file(void)
{
    const uint64_t count = WRITER_BLOCKS * 10;
    char path[400];
    uint64_t sum = 0;

    open_folder();
    snprintf(path, sizeof path, "%s/one.cptlog", folder);
    run_writers(append_to_one_file, path);
    CU_ASSERT_EQUAL(read_folder(&sum), WRITERS * count);
    CU_ASSERT_EQUAL(sum, WRITERS * count * (count + 1) / 2);
    close_folder();
}

/* --- Counters of the service --- */

struct shown {
    uint64_t files;
    uint64_t file_bytes;
    uint64_t bytes;
    uint64_t failed_blocks;
    unsigned count;
};

static void note_counter(void *context, const struct cpt_counter *counter)
{
    const struct {
        const char *name;
        uint64_t *value;
    } wanted[] = {
        {"log_files", &((struct shown *)context)->files},
        {"log_file_bytes", &((struct shown *)context)->file_bytes},
        {"log_bytes", &((struct shown *)context)->bytes},
        {"log_failed_blocks", &((struct shown *)context)->failed_blocks},
    };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (strcmp(counter->name, wanted[i].name) == 0) {
            *wanted[i].value = counter->value;
            ((struct shown *)context)->count++;
        }
    }
}

static cpt_status refuse(void *context, const void *block, size_t bytes)
{
    (void)context;
    (void)block;
    (void)bytes;
    return CPT_IO;
}

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("done");
    return CPT_OK;
}

static void ignore_answer(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    (void)outbound;
}

/* The counters of a service that logs one traced request to @sink. */
static struct shown show_service(cpt_log_sink_fn sink, void *context)
{
    const struct cpt_log_queue_options queue_options = {
        .struct_bytes = sizeof queue_options, .sink = sink, .context = context};
    struct cpt_log_queue *queue = cpt_log_queue_new(&queue_options, NULL);
    static const struct cpt_task_def tasks[] = {
        {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
    static const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request),
                                           CPT_GIVES(rpc_reply), tasks, 1};
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options, .name = "A", .probability = 1, .log = queue};
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/")};
    struct cpt_service *service = cpt_service_new(&options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct shown shown = {0};

    CU_ASSERT_PTR_NOT_NULL_FATAL(service);
    CU_ASSERT_EQUAL_FATAL(cpt_service_method_add(service, "/", plan, NULL), CPT_OK);
    cpt_service_serve(service, &inbound, ignore_answer, NULL);
    cpt_log_queue_flush(queue);
    cpt_service_counters(service, note_counter, &shown);
    cpt_service_free(service);
    cpt_plan_free(plan);
    cpt_log_queue_free(queue);
    return shown;
}

static void test_counters_of_the_service(void)
{
    struct cpt_log_file_options options = {.struct_bytes = sizeof options,
                                           .directory = folder};
    struct cpt_log_file_counts counts;
    struct cpt_log_file *file = NULL;
    struct shown shown;

    open_folder();
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    shown = show_service(cpt_log_file_write, file);
    cpt_log_file_counts(file, &counts);
    CU_ASSERT_EQUAL(shown.count, 4);
    CU_ASSERT_EQUAL(shown.files, 1);
    CU_ASSERT_EQUAL(shown.file_bytes, counts.byte_count);
    CU_ASSERT_TRUE(shown.bytes > 0 && shown.bytes < shown.file_bytes);
    CU_ASSERT_EQUAL(shown.failed_blocks, 0);
    cpt_log_file_free(file);
    close_folder();

    shown = show_service(refuse, NULL);
    CU_ASSERT_EQUAL(shown.count, 2); /* there is no file */
    CU_ASSERT_EQUAL(shown.failed_blocks, 1);
    CU_ASSERT_EQUAL(shown.bytes, 0);
}

/* As on a full disk, no file can be begun: those beyond the limits go first. */
static void test_no_room_for_a_file(void)
{
    struct cpt_log_file_options options;
    char names[NAMES_MAX][400];
    char name[400];
    struct rlimit before;
    struct rlimit none;

    open_folder();
    options = in_folder();
    options.kept_file_count_max = 2;
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name,
                       "%s/paths-20260101T000000Z-1-00000000%d.cptlog", folder, i);
        CU_ASSERT_EQUAL(mknod(name, S_IFREG | 0600, 0), 0);
    }
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &none), 0);
    CU_ASSERT_PTR_NULL(cpt_log_file_new(&options, NULL));
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    CU_ASSERT_EQUAL(list_folder(names), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(names[0], "000000002"));
    close_folder();
}

/* --- The time that a record waits --- */

static cpt_status note_block(void *context, const void *block, size_t bytes)
{
    (void)block;
    (void)bytes;
    atomic_fetch_add((atomic_size_t *)context, 1);
    return CPT_OK;
}

static void wait_for_block(atomic_size_t *block_count, size_t before)
{
    while (atomic_load(block_count) == before) {
        (void)usleep(100);
    }
}

static void release(struct cpti_log_item *item)
{
    free(item);
}

/* How long a record takes through @queue. */
static uint64_t time_of_record(struct cpt_log_queue *queue, atomic_size_t *block_count)
{
    struct cpti_log_item *item = calloc(1, sizeof *item);
    const size_t before = atomic_load(block_count);
    const uint64_t begin_ns = cpti_now_ns();

    CU_ASSERT_PTR_NOT_NULL_FATAL(item);
    item->record = (struct cpt_record){
        .latency_ns = 1, .service = cpt_bytes_of("A"), .probability = 1};
    item->memory_bytes = sizeof *item;
    item->release = release;
    cpti_log_queue_push(queue, item);
    wait_for_block(block_count, before);
    return cpti_now_ns() - begin_ns;
}

/* A record does not wait for others longer than flush_ns says. In one of many rounds
 * it is seen, however busy the machine is. */
static void test_flush_is_kept(void)
{
    enum { ROUNDS_MAX = 2000, BATCH_NS = 5000000 };
    static atomic_size_t block_count;
    const struct cpt_log_queue_options options = {.struct_bytes = sizeof options,
                                                  .sink = note_block,
                                                  .context = &block_count,
                                                  .flush_ns = 1};
    struct cpt_log_queue *queue = NULL;
    bool is_seen = false;

    atomic_store(&block_count, 0);
    queue = cpt_log_queue_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(queue);
    wait_for_block(&block_count, 0); /* its header */
    for (int i = 0; i < ROUNDS_MAX && !is_seen; i++) {
        is_seen = time_of_record(queue, &block_count) < BATCH_NS;
    }
    CU_ASSERT_TRUE(is_seen);
    cpt_log_queue_free(queue);
}

CU_TestInfo cpt_log_file_tests[] = {
    {"a record waits no longer than flush_ns", test_flush_is_kept},
    {"blocks are appended", test_blocks_are_appended},
    {"no record, no file", test_no_record_no_file},
    {"a log without records may say why", test_no_record_and_why},
    {"a new file by size", test_rotation_by_size},
    {"a new file by age", test_rotation_by_age},
    {"a new file on request", test_finish_begins_another},
    {"the oldest are removed", test_oldest_are_removed},
    {"a file with a writer is kept", test_what_is_written_to_is_kept},
    {"what is no file is kept, whatever its name", test_no_files_are_kept},
    {"the limit of bytes holds at each moment", test_bytes_at_each_moment},
    {"a vast number of a file does not matter", test_vast_number},
    {"options are checked", test_options_are_checked},
    {"a full disk", test_full_disk},
    {"allocation failures", test_allocation_failures},
    {"writers share a directory", test_writers_share_a_directory},
    {"writers append to one file", test_writers_append_to_one_file},
    {"a service counts the state of its log", test_counters_of_the_service},
    {"without room for a file old ones are removed", test_no_room_for_a_file},
    CU_TEST_INFO_NULL,
};
