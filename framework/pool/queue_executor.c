/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * queue_executor.c - an executor that a foreign event loop drives
 *
 * A queue, a second lane (lane.h) and the timers, behind a lock. The loop asks how long
 * it may wait, and from then on work or a timer that comes sooner wakes it:
 * `asleep_until_ns` is when it is back by itself, and 0 while it is awake and will ask
 * again. So a loop that is busy is never woken, and one that waits is woken once.
 */
#include "cpt/base/container.h"
#include "framework/pool/lock.h"
#include "framework/pool/executor.h"
#include "framework/pool/lane.h"
#include "framework/pool/timers.h"

#include <stdatomic.h>
#include <stdio.h>

struct queue {
    struct cpt_executor executor; /* what the user has */
    const struct cpt_alloc *alloc;
    const struct cpt_clock *clock;
    void (*wake)(void *context);
    void *context;
    char name[CPT_NAME_BYTES_MAX + 1];

    struct cpti_lock lock; /* guards what follows */
    struct cpt_work *first;
    struct cpt_work *last;
    struct cpti_lane lane;
    uint64_t come_count;  /* works of the first lane … */
    uint64_t begun_count; /* … and those of them that were taken */
    atomic_size_t count;  /* of both; relaxed where it is only a hint */
    struct cpti_timers timers;
    uint64_t asleep_until_ns;
};

static struct queue *queue_of(struct cpt_executor *executor)
{
    return CPTI_CONTAINER(executor, struct queue, executor);
}

/* There is something to run at @at_ns. Lock held. */
static void wake(struct queue *queue, uint64_t at_ns)
{
    if (at_ns < queue->asleep_until_ns) {
        queue->asleep_until_ns = 0;
        if (queue->wake != NULL) {
            /* With the lock held: once the work has run, the executor may be freed. */
            queue->wake(queue->context);
        }
    }
}

/* Lock held. */
static void put(struct queue *queue, struct cpt_work *work)
{
    work->next = NULL;
    *(queue->first != NULL ? &queue->last->next : &queue->first) = work;
    queue->last = work;
    queue->come_count++;
    atomic_fetch_add_explicit(&queue->count, 1, memory_order_relaxed);
}

static void queue_submit(struct cpt_executor *executor, struct cpt_work *work)
{
    struct queue *queue = queue_of(executor);

    cpti_lock_take(&queue->lock);
    put(queue, work);
    wake(queue, 0);
    cpti_lock_release(&queue->lock);
}

static void queue_submit_later(struct cpt_executor *executor, struct cpt_work *work,
                               uint64_t wait_ns_max)
{
    struct queue *queue = queue_of(executor);

    cpti_lock_take(&queue->lock);
    if (cpti_lane_add(&queue->lane, work, queue->come_count, wait_ns_max) == CPT_OK) {
        cpti_lane_turn(&queue->lane, queue->begun_count,
                       cpt_clock_now_ns(queue->clock));
        atomic_fetch_add_explicit(&queue->count, 1, memory_order_relaxed);
    } else {
        put(queue, work);
    }
    wake(queue, 0);
    cpti_lock_release(&queue->lock);
}

/* Lock held. */
static bool has_work(const struct queue *queue)
{
    return queue->first != NULL || cpti_lane_count(&queue->lane) != 0;
}

static cpt_status queue_after(struct cpt_executor *executor, struct cpt_timer *timer,
                              uint64_t delay_ns)
{
    struct queue *queue = queue_of(executor);
    const uint64_t at_ns = cpti_timer_at(cpt_clock_now_ns(queue->clock), delay_ns);
    cpt_status status = CPT_OK;

    cpti_lock_take(&queue->lock);
    status = cpti_timers_add(&queue->timers, timer, at_ns);
    if (status == CPT_OK) {
        wake(queue, at_ns);
    }
    cpti_lock_release(&queue->lock);
    return status;
}

static int queue_cancel(struct cpt_executor *executor, struct cpt_timer *timer)
{
    struct queue *queue = queue_of(executor);

    return cpti_timers_cancel(&queue->timers, &queue->lock, timer);
}

static unsigned queue_hunger(struct cpt_executor *executor)
{
    struct queue *queue = queue_of(executor);

    return atomic_load_explicit(&queue->count, memory_order_relaxed) != 0
               ? (unsigned)CPT_HUNGRY_WORK
               : 0;
}

static size_t queue_length(struct cpt_executor *executor)
{
    return atomic_load_explicit(&queue_of(executor)->count, memory_order_relaxed);
}

static int queue_yield(struct cpt_executor *executor, struct cpt_work *work)
{
    struct queue *queue = queue_of(executor);
    bool others_wait = false;

    cpti_lock_take(&queue->lock);
    others_wait = has_work(queue);
    if (others_wait) {
        put(queue, work);
    }
    cpti_lock_release(&queue->lock);
    return others_wait;
}

/* --- Running --- */

/* The next work, or NULL; see lane.h. Lock held. */
static struct cpt_work *take(struct queue *queue)
{
    const bool has_later = cpti_lane_count(&queue->lane) != 0;
    const uint64_t now_ns = has_later ? cpt_clock_now_ns(queue->clock) : 0;
    struct cpt_work *work = has_later ? cpti_lane_take_due(&queue->lane, now_ns) : NULL;

    if (work != NULL) {
        return work;
    }
    work = queue->first;
    if (work == NULL) {
        return cpti_lane_take(&queue->lane);
    }
    queue->first = work->next;
    queue->begun_count++;
    cpti_lane_turn(&queue->lane, queue->begun_count, now_ns);
    return work;
}

/* Runs a piece of work. false: there is none. */
static bool run_one(struct queue *queue)
{
    struct cpt_work *work = NULL;

    cpti_lock_take(&queue->lock);
    work = take(queue);
    if (work != NULL) {
        atomic_fetch_sub_explicit(&queue->count, 1, memory_order_relaxed);
    }
    cpti_lock_release(&queue->lock);
    if (work != NULL) {
        work->run(work);
    }
    return work != NULL;
}

static int queue_help(struct cpt_executor *executor)
{
    struct queue *queue = queue_of(executor);

    return cpti_timers_fire_due(&queue->timers, &queue->lock,
                                cpt_clock_now_ns(queue->clock)) ||
           run_one(queue);
}

size_t cpt_queue_executor_run(struct cpt_executor *executor, size_t count_max)
{
    struct queue *queue = queue_of(executor);
    const uint64_t now_ns = cpt_clock_now_ns(queue->clock);
    size_t done_count = 0;
    size_t timer_count = 0;
    size_t work_count = 0;

    cpti_thread_occupant.tells_idling = true; /* below, each time the queue is empty */
    count_max = count_max != 0 ? count_max : SIZE_MAX;
    cpti_lock_take(&queue->lock);
    queue->asleep_until_ns = 0;
    timer_count = queue->timers.count;
    cpti_lock_release(&queue->lock);
    while (done_count < count_max && done_count < timer_count &&
           cpti_timers_fire_due(&queue->timers, &queue->lock, now_ns)) {
        done_count++;
    }
    work_count = atomic_load_explicit(&queue->count, memory_order_relaxed);
    for (; done_count < count_max && work_count != 0 && run_one(queue); work_count--) {
        done_count++;
    }
    if (atomic_load_explicit(&queue->count, memory_order_relaxed) == 0) {
        cpti_thread_occupant = (struct cpti_occupant){.name_id = 0};
    }
    return done_count;
}

uint64_t cpt_queue_executor_next_ns(struct cpt_executor *executor)
{
    struct queue *queue = queue_of(executor);
    const uint64_t now_ns = cpt_clock_now_ns(queue->clock);
    const struct cpt_timer *timer = NULL;
    uint64_t at_ns = UINT64_MAX;

    cpti_lock_take(&queue->lock);
    timer = cpti_timers_first(&queue->timers);
    if (has_work(queue) || (timer != NULL && timer->at_ns <= now_ns)) {
        at_ns = now_ns;
        queue->asleep_until_ns = 0;
    } else {
        at_ns = timer != NULL ? timer->at_ns : UINT64_MAX;
        queue->asleep_until_ns = at_ns;
    }
    cpti_lock_release(&queue->lock);
    return at_ns == UINT64_MAX ? UINT64_MAX : at_ns - now_ns;
}

/* --- Making and freeing --- */

struct cpt_executor *
cpt_queue_executor_new(const struct cpt_queue_executor_options *given,
                       struct cpt_error *error)
{
    struct cpt_queue_executor_options options;
    struct queue *queue = NULL;

    if (cpt_options_read(&options, sizeof options, given, error) != CPT_OK) {
        return NULL;
    }
    queue = cpt_alloc_zeroed(options.alloc, sizeof *queue);
    if (queue == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for an executor");
        return NULL;
    }
    queue->alloc = options.alloc;
    queue->timers.alloc = options.alloc;
    queue->lane.alloc = options.alloc;
    queue->clock = options.clock != NULL ? options.clock : cpt_clock_monotonic();
    queue->wake = options.wake;
    queue->context = options.context;
    queue->asleep_until_ns = UINT64_MAX; /* the loop has not run it yet */
    (void)snprintf(queue->name, sizeof queue->name, "%s",
                   options.name != NULL ? options.name : "queue");
    queue->executor = (struct cpt_executor){.name = queue->name,
                                            .submit = queue_submit,
                                            .submit_later = queue_submit_later,
                                            .after = queue_after,
                                            .cancel = queue_cancel,
                                            .hunger = queue_hunger,
                                            .yield = queue_yield,
                                            .help = queue_help,
                                            .queue_length = queue_length};
    cpti_lock_init(&queue->lock, CPTI_RANK_POOL);
    return &queue->executor;
}

void cpt_queue_executor_free(struct cpt_executor *executor)
{
    struct queue *queue = executor != NULL ? queue_of(executor) : NULL;

    if (queue == NULL) {
        return;
    }
    /* The thread that submitted what just ran may still hold the lock. */
    cpti_lock_take(&queue->lock);
    cpti_lock_release(&queue->lock);
    cpti_lock_deinit(&queue->lock);
    cpti_timers_deinit(&queue->timers);
    cpti_lane_deinit(&queue->lane);
    cpt_alloc_free(queue->alloc, queue);
}
