/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* given_up_cell.c - see given_up_cell.h */
#include "tests/unit/framework/given_up_cell.h"

#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include <sched.h>
#include <string.h>

/* --- Executors --- */

static struct virtual_time now;

static void drive_virtual(struct place *place)
{
    (void)place;
    virtual_run(&now);
}

static void drive_queue(struct place *place)
{
    (void)cpt_queue_executor_run(place->executor, 0);
}

static struct cpt_executor *new_pool(unsigned worker_count)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = worker_count};

    return cpt_pool_new(&options, NULL);
}

void places_open(struct place places[PLACES])
{
    const struct cpt_queue_executor_options queue = {.struct_bytes = sizeof queue};

    virtual_init(&now, 0);
    places[0] =
        (struct place){"virtual", &now.executor, &now.clock, drive_virtual, true};
    places[1] = (struct place){"queue", cpt_queue_executor_new(&queue, NULL), NULL,
                               drive_queue, true};
    places[2] = (struct place){"inline", cpt_executor_inline(), NULL, NULL, false};
    places[3] = (struct place){"pool of 1", new_pool(1), NULL, NULL, true};
    places[4] = (struct place){"pool of 2", new_pool(2), NULL, NULL, true};
    places[5] = (struct place){"pool of 4", new_pool(4), NULL, NULL, true};
}

void places_close(struct place places[PLACES])
{
    cpt_queue_executor_free(places[1].executor);
    for (int i = 3; i < PLACES; i++) {
        cpt_pool_free(places[i].executor);
    }
}

bool has_threads(const struct place *place)
{
    return place->drive == NULL && place->has_timers;
}

bool is_parallel(const struct place *place)
{
    return has_threads(place) && strcmp(place->name, "pool of 1") != 0;
}

/* --- The cell --- */

struct cell cell;

void complete(_Atomic(struct cpt_pending *) *pending)
{
    struct cpt_pending *taken = atomic_exchange(pending, NULL);

    if (taken != NULL) {
        cpt_complete(taken, CPT_OK);
    }
}

struct cpt_pending *defer(struct cpt_task *task, const char *name,
                          _Atomic(struct cpt_pending *) *place)
{
    struct cpt_pending *pending = cpt_defer(task, name);

    atomic_store(place, pending);
    return pending;
}

/* --- Things --- */

cpt_status beyond(struct cpt_task *task)
{
    (void)task;
    atomic_fetch_add(&cell.beyond_count, 1);
    return CPT_FAILED;
}

static void stop_work(void *context)
{
    struct work *work = context;

    atomic_fetch_add(&work->told_count, 1);
    while (atomic_load(&work->pending) == NULL) {
        (void)sched_yield(); /* it is just beginning */
    }
    cpt_complete(atomic_load(&work->pending), CPT_CANCELLED);
}

/* Work that the victim, or what it started, has begun: told once. */
static struct cpt_pending *begin_work(struct cpt_task *task)
{
    struct cpt_pending *pending =
        cpt_defer_cancellable(task, "work", stop_work, &cell.work);

    atomic_store(&cell.work.pending, pending);
    atomic_fetch_add(&cell.begun_count, 1);
    return pending;
}

/* @lock, which was free, was acquired; but not by a task that was given up before, as
 * a time limit may do on a pool. */
static void expect_acquired(struct cpt_pending *lock)
{
    EXPECT(cpt_pending_status(lock) == CPT_OK || has_threads(cell.place) ||
           cell.phase == AFTER);
}

cpt_status take_and_work(struct cpt_task *task)
{
    expect_acquired(cpt_mutex_acquire(task, cell.mutex));
    (void)begin_work(task);
    return cpt_await_all(task, beyond);
}

static cpt_status take_and_keep(struct cpt_task *task)
{
    expect_acquired(cpt_mutex_acquire(task, cell.mutex));
    *cpt_output(task, nested) = 1;
    return CPT_OK;
}

/* Ends while the task that it started goes on. */
static cpt_status start_and_end(struct cpt_task *task)
{
    (void)cpt_start(task, nested);
    *cpt_output(task, given) = 1;
    return CPT_OK;
}

static const struct cpt_task_def going_tasks[] = {
    {"inner", take_and_work, CPT_GIVES(nested), {NULL}, {NULL}, NULL}};
static const struct cpt_task_def ended_tasks[] = {
    {"inner", take_and_keep, CPT_GIVES(nested), {NULL}, {NULL}, NULL}};
static const struct cpt_task_def leaving_tasks[] = {
    {"inner", take_and_work, CPT_GIVES(nested), {NULL}, {NULL}, NULL},
    {"outer", start_and_end, CPT_GIVES(given), {NULL}, CPT_STARTS(nested), NULL},
};
static const struct cpt_graph going_graph = {"S", NULL, CPT_GIVES(nested), going_tasks,
                                             1};
static const struct cpt_graph ended_graph = {"S", NULL, CPT_GIVES(nested), ended_tasks,
                                             1};
static const struct cpt_graph leaving_graph = {"S", NULL, CPT_GIVES(given),
                                               leaving_tasks, 2};

static cpt_status fill(struct cpt_task *task)
{
    atomic_fetch_add(&cell.filled_count, 1);
    *cpt_output(task, filled) = 1;
    return CPT_OK;
}

static cpt_status wait_and_fill(struct cpt_task *task)
{
    struct cpt_pending *run = defer(task, "run", &cell.run);

    atomic_fetch_add(&cell.run_count, 1);
    return cpt_await(task, run, fill);
}

static const struct cpt_task_def fill_tasks[] = {
    {"fill", wait_and_fill, CPT_GIVES(filled), {NULL}, {NULL}, NULL}};
static const struct cpt_graph fill_graph = {"S", NULL, CPT_GIVES(filled), fill_tasks,
                                            1};

static struct cpt_plan *going_plan;
static struct cpt_plan *ended_plan;
static struct cpt_plan *leaving_plan;
static struct cpt_plan *fill_plan;

static void send_call(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    (void)transport;
    cell.call = call;
    atomic_fetch_add(&cell.begun_count, 1);
    atomic_fetch_add(&cell.open_calls, 1);
}

static void cancel_call(struct cpt_transport *transport,
                        struct cpt_transport_call *call)
{
    const struct cpt_transport_reply cancelled = {.status = CPT_CANCELLED};

    (void)transport;
    atomic_fetch_sub(&cell.open_calls, 1);
    atomic_fetch_add(&cell.work.told_count, 1);
    cpt_transport_complete(call, &cancelled);
}

static struct cpt_transport net = {
    .name = "net", .send = send_call, .cancel = cancel_call};
static const struct cpt_stub stub = {
    .name = "B: /slow", .target = "B", .method = "/slow", .transport = &net};

/* Waits for a component to end, in the step. */
static void run_component(struct cpt_task *task, const struct cpt_plan *plan)
{
    struct cpt_pending *pending = cpt_task_spawn(task, "inside", plan, NULL, NULL);

    (void)cpt_wait(task, pending);
}

struct cpt_pending *take(struct cpt_task *task)
{
    switch (cell.thing) {
    case MUTEX:
        expect_acquired(cpt_mutex_acquire(task, cell.mutex));
        return NULL;
    case SEMAPHORE:
        expect_acquired(cpt_semaphore_acquire(task, cell.semaphore));
        return NULL;
    case WAIT_FOR_MUTEX:
        return cpt_mutex_acquire(task, cell.mutex);
    case WAIT_FOR_SEMAPHORE:
        return cpt_semaphore_acquire(task, cell.semaphore);
    case TIMER:
        return cpt_sleep(task, "long", 3600000 * (uint64_t)MS);
    case WORK:
        return begin_work(task);
    case CALL:
        return cpt_call(task, &stub, cpt_bytes_of("what"));
    case COMPONENT:
        return cpt_task_spawn(task, "inside", going_plan, NULL, NULL);
    case ENDED:
        run_component(task, ended_plan);
        return NULL;
    case LEAVING:
        run_component(task, leaving_plan);
        return NULL;
    case STARTED:
        return cpt_start(task, nested);
    case SHARED:
        return cpt_task_share(task, cell.shared, cpt_bytes_of("key"), NULL, NULL);
    default:
        return NULL;
    }
}

void things_open(void)
{
    going_plan = cpt_plan_new(&going_graph, NULL, NULL);
    ended_plan = cpt_plan_new(&ended_graph, NULL, NULL);
    leaving_plan = cpt_plan_new(&leaving_graph, NULL, NULL);
    fill_plan = cpt_plan_new(&fill_graph, NULL, NULL);
}

void things_close(void)
{
    cpt_plan_free(going_plan);
    cpt_plan_free(ended_plan);
    cpt_plan_free(leaving_plan);
    cpt_plan_free(fill_plan);
}

struct cpt_plan *things_shared_plan(void)
{
    return fill_plan;
}
