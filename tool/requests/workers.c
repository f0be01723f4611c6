/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* workers.c - several threads that share a list of jobs; see workers.h */
#include "tool/requests/workers.h"

#include "tool/base/files.h"
#include "tool/requests/log_walk.h"
#include "tool/base/output.h"
#include "cpt/cpt_clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Progress is shown after this time, this often. */
enum { PROGRESS_FIRST_MS = 1000, PROGRESS_NEXT_MS = 200 };

/* What a job has said, until it is printed. */
struct job {
    struct cpti_messages messages;
    bool ends; /* messages of later jobs are dropped */
};

struct pool {
    const struct cpti_workers *workers;
    const atomic_bool *is_unwanted; /* see cpti_inputs_end_if() */
    pthread_mutex_t mutex;
    pthread_cond_t change; /* a job is done */
    struct job *jobs;      /* all; these and the rest under the mutex */
    size_t next;           /* the first job not taken */
    size_t done;
};

struct worker {
    struct pool *pool;
    size_t index;
    pthread_t thread;
};

static void run_job(struct pool *pool, size_t worker, size_t job)
{
    struct job done = {0};

    cpti_messages_to(&done.messages);
    done.ends = pool->workers->run(pool->workers->context, worker, job) != 0;
    cpti_messages_to(NULL);
    (void)pthread_mutex_lock(&pool->mutex);
    pool->jobs[job] = done;
    pool->done++;
    (void)pthread_cond_signal(&pool->change);
    (void)pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *context)
{
    const struct worker *worker = context;
    struct pool *pool = worker->pool;

    cpti_inputs_end_if(pool->is_unwanted);
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

/* Waits for a change, at most @ms. */
static void wait_ms(struct pool *pool, unsigned ms)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)ms % 1000 * 1000000;
    until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&pool->change, &pool->mutex, &until);
}

/* Waits for all jobs, and shows progress in one line of the terminal. */
static void wait_for_all(struct pool *pool)
{
    const struct cpti_workers *workers = pool->workers;
    const bool shows_progress = isatty(STDERR_FILENO) != 0 && cpti_messages() == NULL;
    const uint64_t first_ns =
        cpt_clock_now_ns(cpt_clock_monotonic()) + UINT64_C(1000000) * PROGRESS_FIRST_MS;
    bool is_shown = false;

    (void)pthread_mutex_lock(&pool->mutex);
    while (pool->done < workers->job_count) {
        wait_ms(pool, PROGRESS_NEXT_MS);
        if (!shows_progress || cpt_clock_now_ns(cpt_clock_monotonic()) < first_ns) {
            continue;
        }
        is_shown = true;
        (void)fprintf(stderr, "\r%zu of %zu %s, %" PRIu64 " records\033[K", pool->done,
                      workers->job_count, workers->noun, cpti_log_walked());
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    (void)fputs(is_shown ? "\r\033[K" : "", stderr);
}

static void print_messages(const struct pool *pool)
{
    const struct cpti_workers *workers = pool->workers;

    if (workers->is_silent || (workers->drops_messages != NULL &&
                               workers->drops_messages(workers->context))) {
        return;
    }
    for (size_t i = 0; i < workers->job_count; i++) {
        cpti_messages_say(&pool->jobs[i].messages);
        if (pool->jobs[i].ends) {
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
    struct pool pool = {.workers = workers, .is_unwanted = cpti_inputs_end()};
    struct worker all[CPTI_WORKERS_MAX];
    size_t count = workers->worker_count;
    size_t started;

    count = count > CPTI_WORKERS_MAX ? CPTI_WORKERS_MAX : count;
    pool.jobs = calloc(workers->job_count, sizeof *pool.jobs);
    if (pool.jobs == NULL) {
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
    print_messages(&pool);
    for (size_t i = 0; i < workers->job_count; i++) {
        cpti_messages_deinit(&pool.jobs[i].messages);
    }
    free(pool.jobs);
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
