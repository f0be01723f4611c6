/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_work.c - the threads that answer what takes time; see web_work.h */
#include "tool/web/web_work.h"

#include "tool/base/output.h"
#include "cpt/cpt_clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { WORKERS = 2, BUSY = 503 };

/* Between two looks at the files: at least this, and a multiple of the time of reading
 * them, so that a log that grows all the time does not keep a processor busy. */
#define LOOK_NS     UINT64_C(300000000)
#define LOOK_MAX_NS UINT64_C(60000000000)
enum { LOOK_FACTOR = 5 };

struct list {
    struct cpti_web_job *first;
    struct cpti_web_job **end;
};

struct cpti_web_work {
    struct cpti_web_site *site;
    pthread_t workers[WORKERS];
    pthread_t watcher;
    unsigned worker_count;
    bool has_watcher;
    atomic_bool is_stopping;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t change;
    pthread_cond_t stop;
    struct list ready;
    struct list passing;         /* these need a pass */
    struct cpti_web_job *passes; /* it makes one; NULL: none does */
    size_t job_count;
};

/* --- Lists --- */

static void push(struct list *list, struct cpti_web_job *job)
{
    job->next = NULL;
    if (list->first == NULL) {
        list->end = &list->first;
    }
    *list->end = job;
    list->end = &job->next;
}

static struct cpti_web_job *pop(struct list *list)
{
    struct cpti_web_job *job = list->first;

    list->first = job->next;
    return job;
}

/* --- Workers --- */

static void finish(struct cpti_web_work *work, struct cpti_web_job *job,
                   struct cpti_web_answer *answer)
{
    (void)pthread_mutex_lock(&work->mutex);
    if (work->passes == job) {
        work->passes = NULL;
        (void)pthread_cond_broadcast(&work->change);
    }
    work->job_count--;
    (void)pthread_mutex_unlock(&work->mutex);
    job->done(job, answer); /* @job is gone */
}

/* Answers @job, or moves it to those that need a pass. Without the mutex. */
static void run_job(struct cpti_web_work *work, struct cpti_web_job *job, bool may_pass)
{
    struct cpti_web_answer answer;

    /* relaxed: the answer is dropped anyhow */
    if (atomic_load_explicit(&job->is_unwanted, memory_order_relaxed) ||
        atomic_load(&work->is_stopping)) {
        cpti_web_site_refuse(&answer, BUSY, "the answer is no longer wanted");
    } else if (!cpti_web_site_answer(work->site, job->path, job->query, may_pass,
                                     &job->is_unwanted, &answer)) {
        (void)pthread_mutex_lock(&work->mutex);
        push(&work->passing, job);
        (void)pthread_cond_broadcast(&work->change);
        (void)pthread_mutex_unlock(&work->mutex);
        return;
    }
    finish(work, job, &answer);
}

/* Runs one job, or waits for one. With the mutex. */
static void take_turn(struct cpti_web_work *work)
{
    struct cpti_web_job *job;
    bool may_pass;

    if (work->ready.first == NULL &&
        (work->passing.first == NULL || work->passes != NULL)) {
        (void)pthread_cond_wait(&work->change, &work->mutex);
        return;
    }
    may_pass = work->ready.first == NULL;
    job = pop(may_pass ? &work->passing : &work->ready);
    if (may_pass) {
        work->passes = job;
    }
    (void)pthread_mutex_unlock(&work->mutex);
    run_job(work, job, may_pass);
    (void)pthread_mutex_lock(&work->mutex);
}

static void *run_worker(void *context)
{
    struct cpti_web_work *work = context;

    (void)pthread_mutex_lock(&work->mutex);
    while (!atomic_load(&work->is_stopping) || work->ready.first != NULL ||
           work->passing.first != NULL) {
        take_turn(work);
    }
    (void)pthread_mutex_unlock(&work->mutex);
    return NULL;
}

/* --- The watcher --- */

static void pause_for(struct cpti_web_work *work, uint64_t ns)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000U);
    until.tv_nsec = (long)(ns % 1000000000U);
    (void)pthread_mutex_lock(&work->mutex);
    if (!atomic_load(&work->is_stopping)) {
        (void)pthread_cond_timedwait(&work->stop, &work->mutex, &until);
    }
    (void)pthread_mutex_unlock(&work->mutex);
}

static void *run_watcher(void *context)
{
    struct cpti_web_work *work = context;

    while (!atomic_load(&work->is_stopping)) {
        const uint64_t begin_ns = cpt_clock_now_ns(cpt_clock_monotonic());
        uint64_t pause_ns;

        cpti_web_site_watch(work->site, &work->is_stopping);
        pause_ns = (cpt_clock_now_ns(cpt_clock_monotonic()) - begin_ns) * LOOK_FACTOR;
        pause_ns = pause_ns < LOOK_NS ? LOOK_NS : pause_ns;
        pause_for(work, pause_ns > LOOK_MAX_NS ? LOOK_MAX_NS : pause_ns);
    }
    return NULL;
}

/* --- The whole --- */

/* Starts all threads, with all signals blocked: they are for the main thread. */
static bool start(struct cpti_web_work *work)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; i < WORKERS; i++) {
        work->worker_count +=
            pthread_create(&work->workers[i], NULL, run_worker, work) == 0;
    }
    work->has_watcher = pthread_create(&work->watcher, NULL, run_watcher, work) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return work->worker_count == WORKERS && work->has_watcher;
}

struct cpti_web_work *cpti_web_work_new(struct cpti_web_site *site)
{
    struct cpti_web_work *work = calloc(1, sizeof *work);

    if (work == NULL) {
        (void)cpti_failed("out of memory");
        return NULL;
    }
    work->site = site;
    (void)pthread_mutex_init(&work->mutex, NULL);
    (void)pthread_cond_init(&work->change, NULL);
    (void)pthread_cond_init(&work->stop, NULL);
    if (!start(work)) {
        cpti_web_work_free(work);
        (void)cpti_failed("no thread can be started");
        return NULL;
    }
    return work;
}

bool cpti_web_work_submit(struct cpti_web_work *work, struct cpti_web_job *job)
{
    bool is_taken = false;

    (void)pthread_mutex_lock(&work->mutex);
    if (work->job_count < CPTI_WEB_JOBS_MAX && !atomic_load(&work->is_stopping)) {
        is_taken = true;
        work->job_count++;
        push(&work->ready, job);
        (void)pthread_cond_signal(&work->change);
    }
    (void)pthread_mutex_unlock(&work->mutex);
    return is_taken;
}

void cpti_web_work_free(struct cpti_web_work *work)
{
    if (work == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&work->mutex);
    atomic_store(&work->is_stopping, true);
    if (work->passes != NULL) {
        atomic_store(&work->passes->is_unwanted, true);
    }
    (void)pthread_cond_broadcast(&work->change);
    (void)pthread_cond_broadcast(&work->stop);
    (void)pthread_mutex_unlock(&work->mutex);
    for (unsigned i = 0; i < work->worker_count; i++) {
        (void)pthread_join(work->workers[i], NULL);
    }
    if (work->has_watcher) {
        (void)pthread_join(work->watcher, NULL);
    }
    (void)pthread_cond_destroy(&work->change);
    (void)pthread_cond_destroy(&work->stop);
    (void)pthread_mutex_destroy(&work->mutex);
    free(work);
}
