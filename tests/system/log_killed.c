/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_killed.c - a service is killed while it writes its log, again and again
 *
 *      log_killed FOLDER ROUNDS [SEED]
 *
 * In each round a process serves requests, all traced and numbered, through the log
 * queue into files; sometimes it flushes and reports the number of requests so far. It
 * is killed at a random moment (SIGKILL). Then the last file is cut at a random place
 * after the flushed bytes, like a write that was interrupted. After that
 *
 *   - every request that was flushed is in the log, once, and adds up;
 *   - no other request is there twice;
 *   - the reader reports no other error than an incomplete last block.
 *
 * Every fourth round appends to the file that the process of the round before was
 * writing when it was killed: then a partial block is in the middle, and only it is
 * lost.
 */
#include "framework/cpt_graph.h"
#include "framework/cpt_log_file.h"
#include "framework/cpt_log_queue.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "wire/cpt_log.h"

#include "tests/support/test_random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    NUMBERS_MAX = 1 << 20, /* requests of one round; it ends before */
    SHARED_ROUNDS = 10,    /* then the shared file is replaced */
    FILES_MAX = 4096
};

#define SHARED_FILE "shared.cptlog"

/* A report of the process: all that it did before is in the file. */
struct report {
    uint64_t request_count;
    uint64_t bytes; /* written: of all files of the round, or of the shared one */
};

static uint64_t seed;
static uint64_t round_number;

static void fail(const char *what, uint64_t number)
{
    printf("round %" PRIu64 ", seed %" PRIu64 ": %s: %" PRIu64 "\n", round_number, seed,
           what, number);
    exit(1);
}

static void must(int holds, const char *what)
{
    if (!holds) {
        fail(what, (uint64_t)errno);
    }
}

/* --- The process that is killed --- */

static uint64_t number_at_hand;

static cpt_status answer(struct cpt_task *task)
{
    cpt_request_set(cpt_task_request(task), "number", (int64_t)number_at_hand);
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("done");
    return CPT_OK;
}

static const struct cpt_task_def tasks[] = {
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request),
                                       CPT_GIVES(rpc_reply), tasks, 1};

static void ignore_answer(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    (void)outbound;
}

static struct cpt_service *make_service(struct cpt_log_queue *log)
{
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options, .name = "A", .probability = 1, .log = log};
    struct cpt_service *service = cpt_service_new(&options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

    must(service != NULL && plan != NULL &&
             cpt_service_method_add(service, "/", plan, NULL) == CPT_OK,
         "the service");
    return service;
}

/* Where the blocks go: a directory or the shared file. */
struct target {
    struct cpt_log_file *file;
    int descriptor;
};

static uint64_t bytes_written(const struct target *target)
{
    struct cpt_log_file_counts counts = {0};

    if (target->file == NULL) {
        return (uint64_t)lseek(target->descriptor, 0, SEEK_END);
    }
    cpt_log_file_counts(target->file, &counts);
    return counts.byte_count;
}

static struct cpt_log_queue *open_target(struct target *target, int is_shared,
                                         struct test_random *random)
{
    const struct cpt_log_file_options file = {
        .struct_bytes = sizeof file,
        .directory = ".",
        .file_bytes_max = 1000 + test_random_below(random, 60000)};
    struct cpt_log_queue_options queue = {.struct_bytes = sizeof queue,
                                          .flush_ns =
                                              1 + test_random_below(random, 3000000),
                                          .record_count_max = NUMBERS_MAX};

    if (is_shared) {
        target->descriptor = open(SHARED_FILE, O_WRONLY | O_CREAT | O_APPEND, 0644);
        must(target->descriptor >= 0, "the shared file");
        queue.sink = cpt_log_sink_descriptor;
        queue.context = &target->descriptor;
    } else {
        target->file = cpt_log_file_new(&file, NULL);
        must(target->file != NULL, "the log file");
        queue.sink = cpt_log_file_write;
        queue.context = target->file;
    }
    queue.zstd_level = (int)test_random_below(random, 2);
    if (queue.zstd_level != 0) {
        struct cpt_log_queue *compressed = cpt_log_queue_new(&queue, NULL);

        if (compressed != NULL) {
            return compressed;
        }
        queue.zstd_level = 0; /* built without zstd */
    }
    return cpt_log_queue_new(&queue, NULL);
}

/* Serves until it is killed. */
static void serve(int is_shared, uint64_t first, int out, struct test_random *random)
{
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/")};
    struct target target = {NULL, -1};
    struct cpt_log_queue *queue = open_target(&target, is_shared, random);
    struct cpt_service *service = make_service(queue);
    struct report report = {0, 0};

    while (report.request_count < NUMBERS_MAX - 1000) {
        const uint64_t more = 1 + test_random_below(random, 600);

        for (uint64_t i = 0; i < more; i++) {
            number_at_hand = first + report.request_count++;
            cpt_service_serve(service, &inbound, ignore_answer, NULL);
        }
        cpt_log_queue_flush(queue);
        report.bytes = bytes_written(&target);
        must(write(out, &report, sizeof report) == (ssize_t)sizeof report,
             "the report");
    }
    for (;;) {
        (void)pause();
    }
}

/* Starts it, kills it, and returns its last report. */
static struct report run_and_kill(int is_shared, uint64_t first,
                                  struct test_random *random)
{
    const struct timespec delay = {0, (long)test_random_below(random, 8000000)};
    struct report report = {0, 0};
    struct report next;
    int ends[2];
    pid_t child;

    must(pipe(ends) == 0, "a pipe");
    child = fork();
    must(child >= 0, "a process");
    if (child == 0) {
        (void)close(ends[0]);
        serve(is_shared, first, ends[1], random);
    }
    (void)close(ends[1]);
    (void)nanosleep(&delay, NULL);
    (void)kill(child, SIGKILL);
    must(waitpid(child, NULL, 0) == child, "waiting");
    while (read(ends[0], &next, sizeof next) == (ssize_t)sizeof next) {
        report = next;
    }
    (void)close(ends[0]);
    return report;
}

/* --- What remains --- */

static unsigned char seen[NUMBERS_MAX * SHARED_ROUNDS];

static char *names[FILES_MAX];
static size_t name_count;

static int is_log(const struct dirent *entry)
{
    return strncmp(entry->d_name, "paths-", 6) == 0;
}

static void list_files(int is_shared)
{
    struct dirent **entries = NULL;
    int count = 0;

    for (size_t i = 0; i < name_count; i++) {
        free(names[i]);
    }
    name_count = 0;
    if (is_shared) {
        names[name_count++] = strdup(SHARED_FILE);
        return;
    }
    count = scandir(".", &entries, is_log, alphasort);
    must(count >= 0 && count < FILES_MAX, "listing the files");
    for (int i = 0; i < count; i++) {
        names[name_count++] = strdup(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static uint64_t file_bytes(const char *name)
{
    struct stat about = {0};

    return stat(name, &about) == 0 ? (uint64_t)about.st_size : 0;
}

/* Cuts the last file somewhere after the first @flushed_bytes of all files. */
static void cut(uint64_t flushed_bytes, struct test_random *random)
{
    const char *last = name_count != 0 ? names[name_count - 1] : NULL;
    uint64_t before = 0;
    uint64_t bytes = 0;
    uint64_t kept = 0;

    for (size_t i = 0; i + 1 < name_count; i++) {
        before += file_bytes(names[i]);
    }
    bytes = last != NULL ? file_bytes(last) : 0;
    kept = flushed_bytes > before ? flushed_bytes - before : 0;
    if (kept > bytes) {
        fail("flushed bytes are not there", kept - bytes);
    }
    if (bytes > kept && test_random_below(random, 2) == 0) {
        must(truncate(last, (off_t)(kept + test_random_below(random, bytes - kept))) ==
                 0,
             "cutting");
    }
}

static void meet_record(const struct cpt_record *record, struct cpt_path *path)
{
    const struct cpt_attribute *number =
        cpt_record_attribute(record, cpt_bytes_of("number"));

    must(number != NULL && number->type == CPT_ATTRIBUTE_INTEGER &&
             (uint64_t)number->value.integer < sizeof seen,
         "a record without its number");
    cpt_path_reset(path);
    if (cpt_record_path(record, NULL, path, NULL) != CPT_OK) {
        fail("a path that does not hold, of number", (uint64_t)number->value.integer);
    }
    if (seen[number->value.integer]++ != 0) {
        fail("is there twice", (uint64_t)number->value.integer);
    }
}

static cpt_status read_some(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    *bytes = fread(buffer, 1, capacity, context);
    return CPT_OK;
}

/* Reads @name. A partial block may be at the end of the last file, and anywhere in the
 * shared one. */
static void read_file(const char *name, int is_last, int is_shared)
{
    FILE *in = fopen(name, "rb");
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = read_some, .context = in};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    cpt_status status = CPT_OK;

    must(in != NULL && reader != NULL && path != NULL, "opening a file");
    while (status != CPT_END) {
        struct cpt_record record;
        struct cpt_error error = {0};

        status = cpt_log_reader_next(reader, &record, &error);
        if (status == CPT_OK) {
            meet_record(&record, path);
        } else if (status != CPT_END && !(status == CPT_TRUNCATED && is_last) &&
                   !(status == CPT_CORRUPT && is_shared)) {
            puts(error.sentence);
            fail("the reader is confused at byte", error.offset);
        }
    }
    cpt_path_free(path);
    cpt_log_reader_free(reader);
    (void)fclose(in);
}

static void read_files(int is_shared)
{
    for (size_t i = 0; i < name_count; i++) {
        read_file(names[i], i + 1 == name_count, is_shared);
    }
}

static void expect_seen(uint64_t first, uint64_t count)
{
    for (uint64_t number = first; number < first + count; number++) {
        if (seen[number] != 1) {
            fail("was flushed and is lost", number);
        }
    }
}

/* --- Rounds --- */

struct totals {
    uint64_t flushed;
    uint64_t files;
};

/* A directory without the files of earlier rounds. */
static void run_in_directory(struct test_random *random, struct totals *totals)
{
    struct report report;

    list_files(0);
    for (size_t i = 0; i < name_count; i++) {
        (void)unlink(names[i]);
    }
    report = run_and_kill(0, 0, random);
    list_files(0);
    cut(report.bytes, random);
    memset(seen, 0, NUMBERS_MAX);
    read_files(0);
    expect_seen(0, report.request_count);
    totals->flushed += report.request_count;
    totals->files += name_count;
}

static void run_in_shared_file(struct test_random *random, struct totals *totals)
{
    static uint64_t flushed[SHARED_ROUNDS];
    static size_t turn;
    struct report report;

    if (turn == SHARED_ROUNDS) {
        turn = 0;
    }
    if (turn == 0) {
        (void)unlink(SHARED_FILE);
    }
    report = run_and_kill(1, turn * NUMBERS_MAX, random);
    flushed[turn++] = report.request_count;
    if (file_bytes(SHARED_FILE) != 0) {
        list_files(1);
        if (report.request_count != 0) { /* otherwise its former content is unknown */
            cut(report.bytes, random);
        }
        memset(seen, 0, turn * NUMBERS_MAX);
        read_files(1);
    }
    for (size_t i = 0; i < turn; i++) {
        expect_seen(i * NUMBERS_MAX, flushed[i]);
    }
    totals->flushed += report.request_count;
}

int main(int argc, char **argv)
{
    struct test_random random = {0};
    struct totals totals = {0, 0};
    const uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

    seed = argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL);
    if (rounds == 0) {
        (void)fprintf(stderr, "usage: log_killed FOLDER ROUNDS [SEED]\n");
        return 2;
    }
    (void)mkdir(argv[1], 0755);
    must(chdir(argv[1]) == 0, "the folder");
    random.state = seed;
    for (round_number = 1; round_number <= rounds; round_number++) {
        /* the killed process draws its own numbers: their count is random */
        if (round_number % 4 == 0) {
            run_in_shared_file(&random, &totals);
        } else {
            run_in_directory(&random, &totals);
        }
    }
    printf("%" PRIu64 " times killed (seed %" PRIu64 "): %" PRIu64
           " flushed requests are all there, in %" PRIu64 " files\n",
           rounds, seed, totals.flushed, totals.files);
    return 0;
}
