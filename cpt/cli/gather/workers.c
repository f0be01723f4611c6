/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* workers.c - several threads that share a list of jobs; see workers.h */
#include "cpt/cli/gather/workers.h"

#include "cpt/cli/gather/log_walk.h"
#include "cpt/cli/base/output.h"
#include "cpt/cpt_clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Progress is shown after this time, this often. */
enum { PROGRESS_FIRST_MS = 1000, PROGRESS_NEXT_MS = 200 };

/* What a job said, until it is printed. */
struct said {
    char *text;
    size_t bytes;
    int is_done;
    int failed;
};

struct pool {
    const struct cpti_workers *workers;
    pthread_mutex_t mutex;
    pthread_cond_t change; /* a job is done */
    struct said *said;     /* of each job; these and what follows under the mutex */
    size_t next;           /* job that nobody has taken */
    size_t done;
};

struct worker {
    struct pool *pool;
    size_t index;
    pthread_t thread;
};

static void run_job(struct pool *pool, size_t worker, size_t job)
{
    struct said said = {.is_done = 1};
    FILE *file = open_memstream(&said.text, &said.bytes);

    cpti_messages_to(file); /* without memory for it: as it comes */
    said.failed = pool->workers->run(pool->workers->context, worker, job);
    cpti_messages_to(NULL);
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)pthread_mutex_lock(&pool->mutex);
    pool->said[job] = said;
    pool->done++;
    (void)pthread_cond_signal(&pool->change);
    (void)pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *context)
{
    const struct worker *worker = context;
    struct pool *pool = worker->pool;

    for (;;) {
        size_t job;

        (void)pthread_mutex_lock(&pool->mutex);
        job = pool->next;
        pool->next += job < pool->workers->job_count;
        (void)pthread_mutex_unlock(&pool->mutex);
        if (job == pool->workers->job_count) {
            return NULL;
        }
        run_job(pool, worker->index, job);
    }
}

/* Waits for a change until @ms from now. */
static void wait_ms(struct pool *pool, unsigned ms)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)ms % 1000 * 1000000;
    until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&pool->change, &pool->mutex, &until);
}

/* Waits for all jobs, with a line on the terminal that is written over and over. */
static void wait_for_all(struct pool *pool)
{
    const struct cpti_workers *workers = pool->workers;
    const int shows_progress = isatty(STDERR_FILENO);
    const uint64_t first_ns =
        cpt_clock_now_ns(cpt_clock_monotonic()) + UINT64_C(1000000) * PROGRESS_FIRST_MS;
    int is_shown = 0;

    (void)pthread_mutex_lock(&pool->mutex);
    while (pool->done < workers->job_count) {
        wait_ms(pool, PROGRESS_NEXT_MS);
        if (!shows_progress || cpt_clock_now_ns(cpt_clock_monotonic()) < first_ns) {
            continue;
        }
        is_shown = 1;
        (void)fprintf(stderr, "\r%zu of %zu %s, %" PRIu64 " records\033[K", pool->done,
                      workers->job_count, workers->noun, cpti_log_walked());
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    (void)fputs(is_shown ? "\r\033[K" : "", stderr);
}

static void print_said(const struct pool *pool)
{
    if (pool->workers->is_in_vain != NULL &&
        pool->workers->is_in_vain(pool->workers->context)) {
        return;
    }
    (void)fflush(stdout);
    for (size_t i = 0; i < pool->workers->job_count; i++) {
        if (pool->said[i].bytes != 0) {
            (void)fwrite(pool->said[i].text, 1, pool->said[i].bytes, stderr);
        }
        if (pool->said[i].failed) {
            return;
        }
    }
}

static size_t start(struct pool *pool, struct worker *all, size_t count)
{
    size_t started = 0;

    for (size_t i = 0; i < count; i++) {
        all[started] = (struct worker){.pool = pool, .index = started};
        started += pthread_create(&all[started].thread, NULL, work, &all[started]) == 0;
    }
    return started;
}

int cpti_workers_run(const struct cpti_workers *workers)
{
    struct pool pool = {.workers = workers};
    struct worker all[CPTI_WORKERS_MAX];
    size_t count = workers->worker_count;
    size_t started;

    count = count > CPTI_WORKERS_MAX ? CPTI_WORKERS_MAX : count;
    pool.said = calloc(workers->job_count, sizeof *pool.said);
    if (pool.said == NULL) {
        return -1;
    }
    (void)pthread_mutex_init(&pool.mutex, NULL);
    (void)pthread_cond_init(&pool.change, NULL);
    started = start(&pool, all, count);
    if (started != 0) {
        wait_for_all(&pool);
    }
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(all[i].thread, NULL);
    }
    print_said(&pool);
    for (size_t i = 0; i < workers->job_count; i++) {
        free(pool.said[i].text);
    }
    free(pool.said);
    (void)pthread_cond_destroy(&pool.change);
    (void)pthread_mutex_destroy(&pool.mutex);
    return started != 0 ? 0 : -1;
}

size_t cpti_processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    return CPU_COUNT(&set) > 0 ? (size_t)CPU_COUNT(&set) : 1;
}
