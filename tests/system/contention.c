/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * contention.c - Figure 2b: A2, on no path, is in the way of A1; writes a path log
 *
 *      contention lock|worker|cpu FILE
 *
 *      lock     A1 ===|..... lock "cache" ....|==     A2 holds it
 *      worker   A1 ==|timer|.... queue .......|==     A2 has the only worker
 *      cpu      A1 ==|. no processor .|==|....|==     A2 computes beside it, on one
 *                                                     processor
 *
 * Exit 2: threads cannot be bound to one processor here.
 */
#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_mutex.h"
#include "framework/cpt_runtime.h"
#include "wire/cpt_log.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum { REQUESTS = 4 };

CPT_VALUE(start, int);
CPT_VALUE(page, int);
CPT_VALUE(extra, int);

static struct cpt_mutex *cache;
static atomic_int a2_begun;
static atomic_int a1_ended;

static uint64_t thread_cpu_ns(void)
{
    struct timespec at = {0, 0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (uint64_t)at.tv_sec * 1000 * MS + (uint64_t)at.tv_nsec;
}

static void burn(uint64_t ns)
{
    const uint64_t until_ns = thread_cpu_ns() + ns;

    while (thread_cpu_ns() < until_ns) {
    }
}

static void await_a2(void)
{
    while (!atomic_load(&a2_begun)) {
        (void)sched_yield();
    }
}

static cpt_status end_page(struct cpt_task *task)
{
    atomic_store(&a1_ended, 1);
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

/* --- lock --- */

static cpt_status a1_locks(struct cpt_task *task)
{
    (void)cpt_start(task, extra);
    await_a2();
    cpt_mutex_lock(cache);
    cpt_mutex_unlock(cache);
    return end_page(task);
}

static cpt_status a2_holds(struct cpt_task *task)
{
    cpt_mutex_lock(cache);
    atomic_store(&a2_begun, 1);
    (void)usleep(20000);
    cpt_mutex_unlock(cache);
    *cpt_output(task, extra) = 1;
    return CPT_OK;
}

/* --- worker --- */

static cpt_status a1_pauses(struct cpt_task *task)
{
    (void)cpt_start(task, extra);
    return cpt_await(task, cpt_sleep(task, "pause", MS), end_page);
}

static cpt_status a2_computes(struct cpt_task *task)
{
    burn(30 * MS);
    *cpt_output(task, extra) = 1;
    return CPT_OK;
}

/* --- cpu --- */

static cpt_status a1_computes(struct cpt_task *task)
{
    (void)cpt_start(task, extra);
    await_a2();
    burn(50 * MS);
    return end_page(task);
}

static cpt_status a2_computes_beside(struct cpt_task *task)
{
    atomic_store(&a2_begun, 1);
    while (!atomic_load(&a1_ended)) {
    }
    *cpt_output(task, extra) = 1;
    return CPT_OK;
}

#define TASKS(a1, a2)                                                                  \
    {                                                                                  \
        {"A1", a1, CPT_GIVES(page), CPT_NEEDS(start), CPT_STARTS(extra)},              \
        {                                                                              \
            "A2", a2, CPT_GIVES(extra), CPT_NEEDS(start)                               \
        }                                                                              \
    }

static const struct way {
    const char *name;
    struct cpt_task_def tasks[2];
    unsigned worker_count;
    bool is_bound;
} ways[] = {{"lock", TASKS(a1_locks, a2_holds), 2, false},
            {"worker", TASKS(a1_pauses, a2_computes), 1, false},
            {"cpu", TASKS(a1_computes, a2_computes_beside), 2, true}};

/* This thread, and those that it makes, have one processor. */
static bool bind_to_one(void)
{
    cpu_set_t all;
    cpu_set_t one;
    size_t first = 0;

    if (sched_getaffinity(0, sizeof all, &all) != 0) {
        return false;
    }
    while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &all)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

static cpt_status add_record(struct cpt_log_block *block, const struct cpt_path *path)
{
    const struct cpt_record record = {.start_unix_ns = cpt_clock_unix_ns(),
                                      .latency_ns = cpt_path_sum_ns(path),
                                      .probability = 1,
                                      .service = cpt_bytes_of("A"),
                                      .method = cpt_bytes_of("/"),
                                      .entry = cpt_bytes_of("A: /"),
                                      .status = cpt_bytes_of("ok"),
                                      .is_random = 1,
                                      .path = path};
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = cpt_record_encode(&record, NULL, &data, &bytes, NULL);

    if (status == CPT_OK) {
        status = cpt_log_block_add(block, data, bytes);
    }
    cpt_alloc_free(NULL, data);
    return status;
}

/* Where the path of a request goes, and that it has ended. */
struct ended {
    struct cpt_path *path;
    cpt_status status;
    sem_t is_gone;
};

static void note_path(struct cpt_request *request, void *context)
{
    struct ended *ended = context;

    ended->status = cpt_request_path(request, ended->path, NULL);
}

/* A2 has ended, too. */
static void note_gone(void *context)
{
    (void)sem_post(&((struct ended *)context)->is_gone);
}

/* Not by cpt_request_run(), as then this thread would be a worker, too. */
static cpt_status run_request(const struct cpt_request_options *options,
                              struct ended *ended)
{
    const cpt_status status = cpt_request_start(options, NULL);

    while (status == CPT_OK && sem_wait(&ended->is_gone) != 0) {
    }
    return status == CPT_OK ? ended->status : status;
}

static cpt_status run_requests(const struct way *way, struct cpt_log_block *block)
{
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = way->worker_count};
    const struct cpt_graph graph = {"A", CPT_GIVES(start), CPT_GIVES(page), way->tasks,
                                    2};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct ended ended = {.path = cpt_path_new(NULL)};
    const int input = 0;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = pool,
                                                .input = &input,
                                                .entry = "A: /",
                                                .is_traced = 1,
                                                .measures_cpu = 1,
                                                .done = note_path,
                                                .gone = note_gone,
                                                .context = &ended};
    cpt_status status = CPT_OK;

    (void)sem_init(&ended.is_gone, 0, 0);

    for (int i = 0; i < REQUESTS && status == CPT_OK; i++) {
        atomic_store(&a2_begun, 0);
        atomic_store(&a1_ended, 0);
        cpt_path_reset(ended.path);
        status = run_request(&options, &ended);
        if (status == CPT_OK) {
            status = add_record(block, ended.path);
        }
    }
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    cpt_path_free(ended.path);
    (void)sem_destroy(&ended.is_gone);
    return status;
}

static bool write_log(const char *name, struct cpt_log_block *block)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    const size_t header_bytes = cpt_log_header(header);
    const struct cpt_bytes bytes = cpt_log_block_finish(block);
    FILE *file = fopen(name, "wb");
    bool is_written = false;

    if (file == NULL) {
        return false;
    }
    is_written = fwrite(header, 1, header_bytes, file) == header_bytes &&
                 fwrite(bytes.data, 1, bytes.bytes, file) == bytes.bytes;
    return fclose(file) == 0 && is_written;
}

int main(int argc, char **argv)
{
    const struct way *way = NULL;
    struct cpt_log_block *block = NULL;
    bool is_done = false;

    for (size_t i = 0; argc == 3 && i < sizeof ways / sizeof ways[0]; i++) {
        way = strcmp(argv[1], ways[i].name) == 0 ? &ways[i] : way;
    }
    if (way == NULL) {
        (void)fprintf(stderr, "usage: contention lock|worker|cpu FILE\n");
        return 1;
    }
    if (way->is_bound && !bind_to_one()) {
        return 2;
    }
    cache = cpt_mutex_new("cache", NULL);
    block = cpt_log_block_new(NULL, 0);
    is_done = cache != NULL && block != NULL && run_requests(way, block) == CPT_OK &&
              write_log(argv[2], block);
    cpt_log_block_free(block);
    cpt_mutex_free(cache);
    return is_done ? 0 : 1;
}
