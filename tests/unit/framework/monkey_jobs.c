/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* monkey_jobs.c - see monkey_jobs.h */
#include "tests/unit/framework/monkey_jobs.h"

#include "tests/support/virtual_time.h"

#include "framework/cpt_rpc.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

enum {
    JOBS_MAX = 16384,
    BLOCKED_MAX = 24 /* steps at one time: fewer than a pool has threads */
};

struct job {
    enum job_kind kind;
    void *of; /* a pending, a call, a handle */
};

static struct {
    pthread_mutex_t mutex;
    struct job jobs[JOBS_MAX];
    size_t count; /* all guarded by mutex */
    size_t busy_count;
    uint64_t random;
} beside = {.mutex = PTHREAD_MUTEX_INITIALIZER, .random = 1};

static void do_job(struct job job)
{
    const struct cpt_transport_reply reply = {.status = CPT_OK};

    switch (job.kind) {
    case COMPLETE:
        cpt_complete(job.of, CPT_OK);
        break;
    case ANSWER:
        cpt_transport_complete(job.of, &reply);
        break;
    case ADOPT:
        cpt_adopt(job.of);
        break;
    default:
        (void)cpt_request_cancel(job.of);
        break;
    }
}

void add_job(enum job_kind kind, void *of)
{
    bool is_full = false;

    (void)pthread_mutex_lock(&beside.mutex);
    is_full = beside.count == JOBS_MAX;
    if (!is_full) {
        beside.jobs[beside.count++] = (struct job){kind, of};
    }
    (void)pthread_mutex_unlock(&beside.mutex);
    if (is_full) {
        do_job((struct job){kind, of});
    }
}

bool take_job(const void *of)
{
    bool is_there = false;

    (void)pthread_mutex_lock(&beside.mutex);
    for (size_t i = 0; i < beside.count && !is_there; i++) {
        is_there = beside.jobs[i].of == of;
        if (is_there) {
            beside.jobs[i] = beside.jobs[--beside.count];
        }
    }
    (void)pthread_mutex_unlock(&beside.mutex);
    return is_there;
}

bool do_any(void)
{
    struct job job = {COMPLETE, NULL};

    (void)pthread_mutex_lock(&beside.mutex);
    if (beside.count != 0) {
        const size_t i = virtual_random(&beside.random, beside.count);

        job = beside.jobs[i];
        beside.jobs[i] = beside.jobs[--beside.count];
        beside.busy_count++;
    }
    (void)pthread_mutex_unlock(&beside.mutex);
    if (job.of == NULL) {
        return false;
    }
    do_job(job);
    (void)pthread_mutex_lock(&beside.mutex);
    beside.busy_count--;
    (void)pthread_mutex_unlock(&beside.mutex);
    return true;
}

bool all_is_done(void)
{
    bool is_done = false;

    (void)pthread_mutex_lock(&beside.mutex);
    is_done = beside.count == 0 && beside.busy_count == 0;
    (void)pthread_mutex_unlock(&beside.mutex);
    return is_done;
}

atomic_bool is_over;
static _Thread_local bool does_jobs;
static atomic_bool is_one_blocked; /* of the threads that do jobs */
static atomic_int blocked_count;

bool begin_block(void)
{
    if (does_jobs && atomic_exchange(&is_one_blocked, true)) {
        return false;
    }
    if (atomic_fetch_add(&blocked_count, 1) < BLOCKED_MAX) {
        return true;
    }
    end_block();
    return false;
}

void end_block(void)
{
    (void)atomic_fetch_sub(&blocked_count, 1);
    if (does_jobs) {
        atomic_store(&is_one_blocked, false);
    }
}

void *run_beside(void *context)
{
    (void)context;
    does_jobs = true;
    while (!atomic_load(&is_over)) {
        if (!do_any()) {
            (void)usleep(50);
        }
    }
    return NULL;
}
