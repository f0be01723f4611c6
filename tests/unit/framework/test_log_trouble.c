/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_log_trouble.c - a log that neither ends nor stops its service: closed pipes,
 * limits, stalled readers, files that others remove or rename, a clock set back
 */
#include "framework/cpt_log_file.h"
#include "framework/cpt_log_queue.h"
#include "framework/cpt_rpc.h"
#include "framework/service/log/log_queue.h"
#include "wire/cpt_log.h"

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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- Records without requests --- */

static atomic_size_t released_count;

static void release(struct cpti_log_item *item)
{
    atomic_fetch_add(&released_count, 1);
    free(item);
}

static void push(struct cpt_log_queue *queue, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cpti_log_item *item = calloc(1, sizeof *item);

        item->record = (struct cpt_record){
            .latency_ns = i + 1, .service = cpt_bytes_of("A"), .probability = 1};
        item->memory_bytes = sizeof *item;
        item->release = release;
        cpti_log_queue_push(queue, item);
    }
}

static struct cpt_log_queue *queue_to(cpt_log_sink_fn sink, void *context)
{
    const struct cpt_log_queue_options options = {.struct_bytes = sizeof options,
                                                  .sink = sink,
                                                  .context = context,
                                                  .record_count_max = 100000};

    return cpt_log_queue_new(&options, NULL);
}

static uint64_t lost_count(const struct cpt_log_queue_counts *counts)
{
    return counts->sink_lost_count + counts->late_lost_count;
}

/* Runs @body in a process of its own; its exit status, or less than 0: a signal. */
static int run_process(int (*body)(void))
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        _exit(body());
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* --- Signals --- */

static bool is_clean(void)
{
    sigset_t waiting;
    sigset_t blocked;

    (void)sigpending(&waiting);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    return !sigismember(&waiting, SIGPIPE) && !sigismember(&waiting, SIGXFSZ) &&
           !sigismember(&blocked, SIGPIPE) && !sigismember(&blocked, SIGXFSZ);
}

/* On the thread of the queue, and on that of the caller. */
static int log_to_nobody(int writer)
{
    struct cpt_log_queue *queue = queue_to(cpt_log_sink_descriptor, &writer);
    struct cpt_log_queue_counts counts;

    push(queue, 10);
    cpt_log_queue_flush(queue);
    cpt_log_queue_counts(queue, &counts);
    cpt_log_queue_free(queue);
    return counts.sink_lost_count == 10 &&
                   cpt_log_sink_descriptor(&writer, "x", 1) == CPT_IO && is_clean()
               ? 0
               : 1;
}

static int log_to_closed_pipe(void)
{
    int ends[2];

    if (pipe(ends) != 0) {
        return 2;
    }
    (void)close(ends[0]);
    return log_to_nobody(ends[1]);
}

static int log_to_closed_socket(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return 2;
    }
    (void)close(ends[0]);
    return log_to_nobody(ends[1]);
}

static void test_reader_has_left(void)
{
    CU_ASSERT_EQUAL(run_process(log_to_closed_pipe), 0);
    CU_ASSERT_EQUAL(run_process(log_to_closed_socket), 0);
}

static int limit_files(size_t bytes)
{
    const struct rlimit limit = {bytes, bytes};

    return setrlimit(RLIMIT_FSIZE, &limit);
}

static int log_beyond_limit(void)
{
    struct cpt_log_file_options options = in_folder();
    struct cpt_log_file *file = NULL;
    struct cpt_log_file_counts counts;

    if (limit_files(1000) != 0 || (file = cpt_log_file_new(&options, NULL)) == NULL) {
        return 2;
    }
    for (uint64_t i = 0; i < 20; i++) {
        if (write_block(file, i, 5) != CPT_OK) {
            return 3;
        }
    }
    counts = counts_of(file);
    cpt_log_file_free(file);
    return counts.failed_count == 0 && counts.file_count > 1 && is_clean() ? 0 : 1;
}

/* A service whose files have a limit begins another file. */
static void test_file_size_limit(void)
{
    uint64_t sum = 0;

    open_folder();
    CU_ASSERT_EQUAL(run_process(log_beyond_limit), 0);
    CU_ASSERT_EQUAL(read_folder(&sum), 100);
    close_folder();
}

static int append_beyond_limit(void)
{
    char path[400];
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    int descriptor = -1;
    int failed_count = 0;

    (void)snprintf(path, sizeof path, "%s/one.cptlog", folder);
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (descriptor < 0 || limit_files(1000) != 0) {
        return 2;
    }
    for (uint64_t i = 0; i < 20; i++) {
        const struct cpt_bytes bytes = make_block(block, i, 5);

        failed_count +=
            cpt_log_sink_descriptor(&descriptor, bytes.data, bytes.bytes) == CPT_IO;
    }
    return failed_count > 0 && failed_count < 20 && is_clean() ? 0 : 1;
}

/* The one file of several processes keeps no part of a block. */
static void test_no_half_block(void)
{
    uint64_t sum = 0;
    uint64_t count = 0;

    open_folder();
    CU_ASSERT_EQUAL(run_process(append_beyond_limit), 0);
    count = read_folder(&sum); /* which asserts that the file is intact */
    CU_ASSERT_TRUE(count > 0 && count < 100);
    close_folder();
}

static cpt_status note_mask(void *context, const void *block, size_t bytes)
{
    (void)block;
    (void)bytes;
    (void)pthread_sigmask(SIG_BLOCK, NULL, context);
    return CPT_OK;
}

static void test_writer_leaves_signals_to_others(void)
{
    sigset_t mask;

    sigemptyset(&mask);
    cpt_log_queue_free(queue_to(note_mask, &mask));
    CU_ASSERT_TRUE(sigismember(&mask, SIGTERM));
    CU_ASSERT_TRUE(sigismember(&mask, SIGPIPE));
    CU_ASSERT_FALSE(sigismember(&mask, SIGSEGV));
    (void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
    CU_ASSERT_FALSE(sigismember(&mask, SIGTERM));
}

/* --- Devices and stalled readers --- */

static void test_device_is_full(void)
{
    int descriptor = open("/dev/full", O_WRONLY);
    struct cpt_log_queue *queue = queue_to(cpt_log_sink_descriptor, &descriptor);
    struct cpt_log_queue_counts counts;

    CU_ASSERT_TRUE_FATAL(descriptor >= 0);
    push(queue, 10);
    cpt_log_queue_flush(queue);
    cpt_log_queue_counts(queue, &counts);
    CU_ASSERT_EQUAL(counts.logged_count, 0);
    CU_ASSERT_EQUAL(counts.sink_lost_count, 10);
    cpt_log_queue_free(queue);
    (void)close(descriptor);
}

enum { STALLED_RECORDS = 20000 };

/* Logs to @descriptor, whose reader takes nothing. */
static void log_to_stalled(int descriptor)
{
    struct cpt_log_queue *queue = queue_to(cpt_log_sink_descriptor, &descriptor);
    struct cpt_log_queue_counts counts;

    atomic_store(&released_count, 0);
    push(queue, STALLED_RECORDS);
    CU_ASSERT_EQUAL(cpt_log_queue_flush_for(queue, 1000000), CPT_TIMEOUT);
    CU_ASSERT_EQUAL(cpt_log_queue_close(queue, 1000000), CPT_TIMEOUT);
    CU_ASSERT_EQUAL(cpt_log_queue_close(queue, UINT64_MAX), CPT_TIMEOUT);
    push(queue, 1);
    cpt_log_queue_counts(queue, &counts);
    CU_ASSERT_EQUAL(counts.dropped_count, 1);
    CU_ASSERT_NOT_EQUAL(counts.late_lost_count, 0);
    CU_ASSERT_EQUAL(counts.logged_count + lost_count(&counts), STALLED_RECORDS);
    CU_ASSERT_EQUAL(cpt_log_queue_flush_for(queue, UINT64_MAX), CPT_OK); /* nothing */
    cpt_log_queue_free(queue);
    CU_ASSERT_EQUAL(atomic_load(&released_count), STALLED_RECORDS + 1);
}

static void test_reader_stalls(void)
{
    char path[400];
    int ends[2];
    int reader = -1;
    int writer = -1;

    open_folder();
    (void)snprintf(path, sizeof path, "%s/fifo", folder);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    writer = open(path, O_WRONLY);
    CU_ASSERT_TRUE_FATAL(reader >= 0 && writer >= 0);
    log_to_stalled(writer);
    CU_ASSERT_EQUAL(fcntl(writer, F_GETFL) & O_NONBLOCK, 0);
    (void)close(reader);
    (void)close(writer);
    close_folder();

    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    log_to_stalled(ends[0]);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A queue that is freed alone waits as long as its option says. */
static void test_free_has_a_deadline(void)
{
    int ends[2];
    struct cpt_log_queue_options options = {.struct_bytes = sizeof options,
                                            .sink = cpt_log_sink_descriptor,
                                            .context = &ends[1],
                                            .record_count_max = 100000,
                                            .close_ns = 1000000};
    struct cpt_log_queue *queue = NULL;

    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    queue = cpt_log_queue_new(&options, NULL);
    atomic_store(&released_count, 0);
    push(queue, STALLED_RECORDS);
    cpt_log_queue_flush(queue);
    cpt_log_queue_free(queue);
    CU_ASSERT_EQUAL(atomic_load(&released_count), STALLED_RECORDS);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

struct slow_reader {
    int descriptor;
    char path[400]; /* where it writes to */
};

static void *read_slowly(void *context)
{
    const struct slow_reader *reader = context;
    FILE *out = fopen(reader->path, "wb");
    char buffer[1000];
    ssize_t count = 0;

    while ((count = read(reader->descriptor, buffer, sizeof buffer)) > 0) {
        (void)fwrite(buffer, 1, (size_t)count, out);
    }
    (void)fclose(out);
    return NULL;
}

/* What a pipe takes in pieces arrives whole. */
static void test_reader_is_slow(void)
{
    struct slow_reader reader;
    struct cpt_log_queue *queue = NULL;
    pthread_t thread;
    int ends[2];
    uint64_t sum = 0;

    open_folder();
    (void)snprintf(reader.path, sizeof reader.path, "%s/copy.cptlog", folder);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    reader.descriptor = ends[0];
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_slowly, &reader), 0);
    queue = queue_to(cpt_log_sink_descriptor, &ends[1]);
    push(queue, STALLED_RECORDS);
    CU_ASSERT_EQUAL(cpt_log_queue_close(queue, UINT64_MAX), CPT_OK);
    cpt_log_queue_free(queue);
    (void)close(ends[1]);
    (void)pthread_join(thread, NULL);
    (void)close(ends[0]);
    CU_ASSERT_EQUAL(read_file(reader.path, &sum), STALLED_RECORDS);
    close_folder();
}

/* --- What others do to a file --- */

/* A log with one block of two records; the name of its file. */
static struct cpt_log_file *log_with_block(char name[400])
{
    struct cpt_log_file_options options = in_folder();
    struct cpt_log_file *file = cpt_log_file_new(&options, NULL);
    char names[NAMES_MAX][400];

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(write_block(file, 0, 2), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(list_folder(names), 1);
    memcpy(name, names[0], 400);
    return file;
}

static void test_file_is_removed(void)
{
    char name[400];
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    file = log_with_block(name);
    CU_ASSERT_EQUAL(unlink(name), 0);
    CU_ASSERT_EQUAL(write_block(file, 2, 3), CPT_OK);
    CU_ASSERT_EQUAL(read_folder(&sum), 3);
    CU_ASSERT_EQUAL(counts_of(file).lost_record_count, 2);
    CU_ASSERT_EQUAL(counts_of(file).file_count, 2);
    cpt_log_file_free(file);
    close_folder();
}

static void test_file_is_renamed(void)
{
    char name[400];
    char moved[400 + 10];
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    file = log_with_block(name);
    (void)snprintf(moved, sizeof moved, "%s.1", name);
    CU_ASSERT_EQUAL(rename(name, moved), 0);
    CU_ASSERT_EQUAL(write_block(file, 2, 3), CPT_OK);
    CU_ASSERT_EQUAL(read_folder(&sum), 5);
    CU_ASSERT_EQUAL(counts_of(file).lost_record_count, 0);
    CU_ASSERT_EQUAL(counts_of(file).file_count, 2);
    CU_ASSERT_EQUAL(indexed_blocks(moved), 1); /* it was finished */
    cpt_log_file_free(file);
    close_folder();
}

/* An empty file that another program put in the place of ours is not touched. */
static void test_file_is_replaced(void)
{
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    char names[NAMES_MAX][400];
    char moved[400 + 10];
    int descriptor = -1;

    open_folder();
    options = in_folder();
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL_FATAL(list_folder(names), 1);
    (void)snprintf(moved, sizeof moved, "%s.1", names[0]);
    CU_ASSERT_EQUAL(rename(names[0], moved), 0);
    descriptor = open(names[0], O_WRONLY | O_CREAT | O_EXCL, 0600);
    CU_ASSERT_TRUE(descriptor >= 0);
    (void)close(descriptor);
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 2);
    close_folder();
}

/* As logrotate's copytruncate does. */
static void test_file_is_cut(void)
{
    char name[400];
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    file = log_with_block(name);
    CU_ASSERT_EQUAL(truncate(name, 0), 0);
    CU_ASSERT_EQUAL(write_block(file, 2, 3), CPT_OK);
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(read_folder(&sum), 3);
    close_folder();
}

static void test_directory_is_replaced(void)
{
    char name[400];
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    file = log_with_block(name);
    CU_ASSERT_EQUAL(unlink(name), 0);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
    CU_ASSERT_EQUAL(write_block(file, 2, 3), CPT_IO); /* there is nowhere to write */
    CU_ASSERT_EQUAL(counts_of(file).failed_count, 1);
    CU_ASSERT_EQUAL(mkdir(folder, 0700), 0);
    CU_ASSERT_EQUAL(write_block(file, 2, 3), CPT_OK);
    CU_ASSERT_EQUAL(read_folder(&sum), 3);
    cpt_log_file_free(file);
    close_folder();
}

/* Moved away, with the current file, for another one of its name. */
static void test_directory_is_renamed(void)
{
    char name[400];
    char moved[sizeof folder];
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    file = log_with_block(name);
    (void)snprintf(moved, sizeof moved, "%.50s.old", folder);
    CU_ASSERT_EQUAL(rename(folder, moved), 0);
    CU_ASSERT_EQUAL(cpt_log_file_finish(file), CPT_OK);
    CU_ASSERT_EQUAL(write_block(file, 2, 1), CPT_OK); /* there is no other one yet */
    CU_ASSERT_EQUAL(mkdir(folder, 0700), 0);
    cpt_log_file_reopen(file);
    CU_ASSERT_EQUAL(write_block(file, 3, 3), CPT_OK);
    CU_ASSERT_EQUAL(read_folder(&sum), 3);
    CU_ASSERT_EQUAL(counts_of(file).lost_record_count, 0);
    cpt_log_file_free(file);
    close_folder();
    memcpy(folder, moved, sizeof folder);
    CU_ASSERT_EQUAL(read_folder(&sum), 3);
    close_folder();
}

static int log_elsewhere(void)
{
    struct cpt_log_file_options options = in_folder();
    struct cpt_log_file *file = NULL;

    options.directory = ".";
    options.file_age_ns_max = 1;
    if (chdir(folder) != 0 || (file = cpt_log_file_new(&options, NULL)) == NULL ||
        chdir("/") != 0 || write_block(file, 0, 2) != CPT_OK ||
        write_block(file, 2, 3) != CPT_OK) {
        return 1;
    }
    cpt_log_file_free(file);
    return 0;
}

static void test_working_directory_changes(void)
{
    uint64_t sum = 0;

    open_folder();
    CU_ASSERT_EQUAL(run_process(log_elsewhere), 0);
    CU_ASSERT_EQUAL(read_folder(&sum), 5);
    close_folder();
}

static struct cpt_log_file *reopened;

static void reopen_on_signal(int number)
{
    (void)number;
    cpt_log_file_reopen(reopened);
}

static void test_reopened_by_a_signal(void)
{
    char name[400];
    char names[NAMES_MAX][400];
    uint64_t sum = 0;

    open_folder();
    reopened = log_with_block(name);
    signal(SIGHUP, reopen_on_signal);
    (void)raise(SIGHUP);
    signal(SIGHUP, SIG_DFL);
    CU_ASSERT_EQUAL(indexed_blocks(name), -1);
    CU_ASSERT_EQUAL(write_block(reopened, 2, 3), CPT_OK);
    CU_ASSERT_EQUAL(write_block(reopened, 5, 1), CPT_OK); /* once is enough */
    CU_ASSERT_EQUAL(list_folder(names), 2);
    CU_ASSERT_EQUAL(indexed_blocks(name), 1);
    CU_ASSERT_EQUAL(read_folder(&sum), 6);
    cpt_log_file_free(reopened);
    close_folder();
}

/* --- Which files are kept, and who may read them --- */

static void touch(const char *name, const char *text)
{
    char path[400];
    FILE *file = NULL;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

/* The clock was wrong when the first two files were begun, and was set back. */
static void test_clock_was_set_back(void)
{
    char names[NAMES_MAX][400];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    uint64_t sum = 0;

    open_folder();
    touch("A-20990101T000000Z-99-000000003.cptlog", "");
    touch("A-20990101T000001Z-98-000000004.cptlog", "");
    touch("A-20990101T000001Z-98-000123.cptlog", ""); /* of an earlier version */
    options = in_folder();
    options.name = "A";
    options.kept_file_count_max = 2;
    options.file_age_ns_max = 1;
    file = cpt_log_file_new(&options, NULL);
    for (uint64_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(write_block(file, i, 1), CPT_OK);
    }
    cpt_log_file_free(file);
    CU_ASSERT_EQUAL(list_folder(names), 2);
    CU_ASSERT_EQUAL(read_folder(&sum), 2);
    CU_ASSERT_EQUAL(sum, 2 + 3); /* the newest two */
    CU_ASSERT_PTR_NOT_NULL(strstr(names[1], "-000000007.cptlog"));
    close_folder();
}

enum { KEPT_BYTES = 8000, KEPT_WRITERS = 3, KEPT_BLOCKS = 100 };

static struct cpt_log_file_options kept_options(void)
{
    struct cpt_log_file_options options = in_folder();

    options.name = "A";
    options.file_bytes_max = 1000;
    options.kept_bytes_max = KEPT_BYTES;
    return options;
}

static int log_and_keep_little(void)
{
    const struct cpt_log_file_options options = kept_options();
    struct cpt_log_file *file = cpt_log_file_new(&options, NULL);

    for (uint64_t i = 0; i < KEPT_BLOCKS; i++) {
        if (write_block(file, i, 5) != CPT_OK) {
            return 1;
        }
    }
    cpt_log_file_free(file);
    return 0;
}

static void test_bytes_of_several_processes(void)
{
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    pid_t children[KEPT_WRITERS];
    uint64_t sum = 0;
    uint64_t bytes = 0;

    open_folder();
    touch("B-20200101T000000Z-1-000000000.cptlog", ""); /* of another log */
    for (int i = 0; i < KEPT_WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            _exit(log_and_keep_little());
        }
    }
    for (int i = 0; i < KEPT_WRITERS; i++) {
        int status = 0;

        CU_ASSERT_EQUAL(waitpid(children[i], &status, 0), children[i]);
        CU_ASSERT_EQUAL(status, 0);
    }
    options = kept_options();
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL(write_block(file, 5000, 1), CPT_OK);
    bytes = folder_bytes();
    CU_ASSERT_TRUE(bytes < KEPT_BYTES + 1000);
    CU_ASSERT_TRUE(bytes > KEPT_BYTES / 2); /* and no more is removed than needed */
    (void)read_folder(&sum);
    CU_ASSERT_TRUE(sum > 5000);
    cpt_log_file_free(file);
    close_folder();
}

/* What one large file adds is noticed while it is written. */
static void test_bytes_while_a_file_grows(void)
{
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    char text[2001];
    char names[NAMES_MAX][400];

    open_folder();
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    touch("A-20200101T000000Z-1-000000000.cptlog", text);
    touch("A-20200101T000000Z-1-000000001.cptlog", text);
    options = kept_options();
    options.file_bytes_max = 0;
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_EQUAL(list_folder(names), 3);
    while (counts_of(file).byte_count < 5000) {
        CU_ASSERT_EQUAL(write_block(file, 0, 5), CPT_OK);
    }
    CU_ASSERT_EQUAL(list_folder(names), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(names[0], "-000000001.cptlog"));
    CU_ASSERT_EQUAL(counts_of(file).removed_count, 1);
    cpt_log_file_free(file);
    close_folder();
}

static mode_t mode_with(unsigned file_mode)
{
    char names[NAMES_MAX][400];
    struct cpt_log_file_options options;
    struct cpt_log_file *file = NULL;
    struct stat about = {0};

    open_folder();
    options = in_folder();
    options.file_mode = file_mode;
    file = cpt_log_file_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(list_folder(names), 1);
    CU_ASSERT_EQUAL(stat(names[0], &about), 0);
    cpt_log_file_free(file);
    close_folder();
    return about.st_mode & 07777;
}

static void test_mode_of_files(void)
{
    struct cpt_log_file_options options;
    struct cpt_error error = {0};
    const mode_t mask = umask(022);

    CU_ASSERT_EQUAL(mode_with(0), 0644);
    CU_ASSERT_EQUAL(mode_with(0600), 0600);
    CU_ASSERT_EQUAL(mode_with(0777), 0777);
    (void)umask(077);
    CU_ASSERT_EQUAL(mode_with(0), 0600);
    CU_ASSERT_EQUAL(mode_with(0640), 0640);
    (void)umask(mask);
    open_folder();
    options = in_folder();
    options.file_mode = 01000;
    CU_ASSERT_PTR_NULL(cpt_log_file_new(&options, &error));
    CU_ASSERT_EQUAL(error.status, CPT_INVALID);
    close_folder();
}

/* --- Counters --- */

static void note_counter(void *context, const struct cpt_counter *counter)
{
    unsigned *found = context;

    *found += strcmp(counter->name, "log_late_lost") == 0 ||
              strcmp(counter->name, "log_files_lost") == 0;
}

static void test_losses_are_shown(void)
{
    struct cpt_log_file_options file_options;
    struct cpt_service_options options = {.struct_bytes = sizeof options, .name = "A"};
    struct cpt_log_file *file = NULL;
    struct cpt_service *service = NULL;
    unsigned found = 0;

    open_folder();
    file_options = in_folder();
    file = cpt_log_file_new(&file_options, NULL);
    options.log = queue_to(cpt_log_file_write, file);
    service = cpt_service_new(&options, NULL);
    cpt_service_counters(service, note_counter, &found);
    CU_ASSERT_EQUAL(found, 2);
    cpt_service_free(service);
    cpt_log_queue_free(options.log);
    cpt_log_file_free(file);
    close_folder();
}

CU_TestInfo cpt_log_trouble_tests[] = {
    {"a reader has left", test_reader_has_left},
    {"at the file size limit another file begins", test_file_size_limit},
    {"a file of several processes keeps no half block", test_no_half_block},
    {"the writer leaves signals to other threads",
     test_writer_leaves_signals_to_others},
    {"a device is full", test_device_is_full},
    {"a reader stalls", test_reader_stalls},
    {"freeing has a deadline", test_free_has_a_deadline},
    {"a slow reader gets all", test_reader_is_slow},
    {"a file is removed", test_file_is_removed},
    {"a file is renamed", test_file_is_renamed},
    {"a file is replaced", test_file_is_replaced},
    {"a file is cut", test_file_is_cut},
    {"the directory is replaced", test_directory_is_replaced},
    {"the directory is renamed", test_directory_is_renamed},
    {"the working directory changes", test_working_directory_changes},
    {"reopened by a signal", test_reopened_by_a_signal},
    {"the clock was set back", test_clock_was_set_back},
    {"bytes of several processes", test_bytes_of_several_processes},
    {"bytes while a file grows", test_bytes_while_a_file_grows},
    {"the mode of files", test_mode_of_files},
    {"losses are shown", test_losses_are_shown},
    CU_TEST_INFO_NULL,
};
