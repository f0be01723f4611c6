/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_monkey.c - random calls of the whole API, and who holds what
 *
 * Tasks acquire and release locks, sleep, defer, call, start other tasks, spawn and
 * hand over components, share work, wait in each way, cancel, and end in each way;
 * requests have deadlines and slack, and are cancelled; other threads complete, adopt
 * and cancel. All is drawn from a seed, on each executor. The oracle: what a step has
 * acquired is its own while it runs. So it enters each lock, in a count that is never
 * above that of the lock, and leaves it before it returns or gives it back; a task of a
 * calm request, which is not given up, does so across its waits, too. Once all requests
 * of a round are gone, each lock is free; what may be told was told at most once, and
 * `done` and `gone` were called once.
 *
 * CPT_TEST_CASES is the number of operations (a twentieth of 10^6 in a long test).
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/monkey_jobs.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_mutex.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_shared.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    OPERATIONS = 20000,
    REQUESTS = 24, /* of a round, at the same time */
    LOCKS = 4,     /* two mutexes, two semaphores */
    OWN_MAX = 12,  /* pendings that a task remembers */
    ACTIONS_MAX = 5,
    STEPS_MAX = 4,
    LEVELS = 2, /* of components */
    PLACES = 6,
    US = 1000
};

/* --- Locks, and who is in them --- */

struct lock {
    struct cpt_mutex *mutex; /* or … */
    struct cpt_semaphore *semaphore;
    int count;
    atomic_int inside;
};

/* The last one is of shared work alone: who waits for that may hold all others. */
static struct lock locks[LOCKS + 1];
static atomic_int wrong_line;
static atomic_uint_least64_t operation_count;

#define EXPECT(condition)                                                              \
    do {                                                                               \
        if (!(condition)) {                                                            \
            int none_ = 0;                                                             \
            (void)atomic_compare_exchange_strong(&wrong_line, &none_, __LINE__);       \
        }                                                                              \
    } while (0)

static void count_operation(void)
{
    (void)atomic_fetch_add_explicit(&operation_count, 1, memory_order_relaxed);
}

static void locks_open(void)
{
    for (int i = 0; i <= LOCKS; i++) {
        locks[i] = (struct lock){.count = i < 2 || i == LOCKS ? 1 : i - 1};
        if (locks[i].count == 1 && i != 2) {
            locks[i].mutex = cpt_mutex_new("mutex", NULL);
        } else {
            locks[i].semaphore = cpt_semaphore_new("semaphore", (uint32_t)i - 1, NULL);
        }
    }
}

/* All are free, and no more than that. */
static void locks_close(uint64_t misused)
{
    for (int i = 0; i <= LOCKS; i++) {
        EXPECT(atomic_load(&locks[i].inside) == 0);
        if (locks[i].mutex != NULL) {
            EXPECT(cpt_mutex_trylock(locks[i].mutex) == 1);
            EXPECT(cpt_mutex_trylock(locks[i].mutex) == 0);
            cpt_mutex_unlock(locks[i].mutex);
        }
        cpt_mutex_free(locks[i].mutex);
        cpt_semaphore_free(locks[i].semaphore);
    }
    EXPECT(cpt_misuse_count() == misused);
}

/* --- Where --- */

struct place {
    const char *name;
    struct cpt_executor *executor;
    const struct cpt_clock *clock;
    void (*drive)(struct place *place); /* on the main thread; or NULL */
    bool has_timers;
    bool is_alone; /* no other thread may touch it */
};

static struct virtual_time now;
static struct place *place;
static struct cpt_executor *other_pool; /* of components that run elsewhere */

static struct cpt_executor *new_pool(unsigned worker_count)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = worker_count};

    return cpt_pool_new(&options, NULL);
}

static void drive_virtual(struct place *driven)
{
    (void)driven;
    virtual_run_until(&now, now.now_ns + 20 * US);
    (void)do_any();
}

static void drive_queue(struct place *driven)
{
    (void)cpt_queue_executor_run(driven->executor, 0);
}

static void places_open(struct place places[PLACES])
{
    const struct cpt_queue_executor_options queue = {.struct_bytes = sizeof queue};

    places[0] =
        (struct place){"virtual", &now.executor, &now.clock, drive_virtual, true, true};
    places[1] = (struct place){
        "queue", cpt_queue_executor_new(&queue, NULL), NULL, drive_queue, true, false};
    places[2] =
        (struct place){"inline", cpt_executor_inline(), NULL, NULL, false, false};
    places[3] = (struct place){"pool of 1", new_pool(1), NULL, NULL, true, false};
    places[4] = (struct place){"pool of 2", new_pool(2), NULL, NULL, true, false};
    places[5] = (struct place){"pool of 4", new_pool(4), NULL, NULL, true, false};
    other_pool = new_pool(1);
}

static void places_close(struct place places[PLACES])
{
    cpt_queue_executor_free(places[1].executor);
    for (int i = 3; i < PLACES; i++) {
        cpt_pool_free(places[i].executor);
    }
    cpt_pool_free(other_pool);
}

/* --- A task --- */

struct fate {
    uint64_t random;
    unsigned level; /* how many components it lies in */
};

CPT_VALUE(fate, struct fate);
CPT_VALUE(first, int);
CPT_VALUE(second, int);
CPT_VALUE(both, int); /* that two tasks may start */
CPT_VALUE(deep, int);
CPT_VALUE(wanted, int);
CPT_VALUE(page, int);

struct own {
    struct cpt_pending *pending;
    struct lock *lock; /* NULL: it is no lock */
    bool is_inside;
};

/* The state of a task. */
struct monkey {
    uint64_t random;
    unsigned level;
    unsigned step_count;
    unsigned own_count;
    struct own own[OWN_MAX];
};

/* Work that can be told. */
struct told {
    _Atomic(struct cpt_pending *) pending;
    atomic_int count;
};

static struct cpt_plan *inner_plan;
static struct cpt_shared *shared;
static atomic_uint_least64_t task_count;

static unsigned draw(struct monkey *monkey, unsigned below)
{
    return (unsigned)virtual_random(&monkey->random, below);
}

static void remember(struct monkey *monkey, struct cpt_pending *pending,
                     struct lock *lock)
{
    if (monkey->own_count < OWN_MAX) {
        monkey->own[monkey->own_count++] = (struct own){pending, lock, false};
    }
}

static struct own *any_of(struct monkey *monkey)
{
    const unsigned count = monkey->own_count;

    return count != 0 ? &monkey->own[draw(monkey, count)] : NULL;
}

static void leave(struct own *own)
{
    if (own->is_inside) {
        own->is_inside = false;
        (void)atomic_fetch_sub(&own->lock->inside, 1);
    }
}

static void enter(struct own *own)
{
    if (own->lock != NULL && !own->is_inside &&
        cpt_pending_status(own->pending) == CPT_OK) {
        own->is_inside = true;
        EXPECT(atomic_fetch_add(&own->lock->inside, 1) < own->lock->count);
    }
}

static void release(struct own *own)
{
    leave(own);
    if (own->lock->mutex != NULL) {
        cpt_mutex_release(own->pending);
    } else {
        cpt_semaphore_release(own->pending);
    }
    own->lock = NULL; /* it may be acquired by others from now on */
}

static struct cpt_pending *acquire(struct cpt_task *task, struct lock *lock)
{
    return lock->mutex != NULL ? cpt_mutex_acquire(task, lock->mutex)
                               : cpt_semaphore_acquire(task, lock->semaphore);
}

static void stop_told(void *context)
{
    struct told *told = context;
    struct cpt_pending *pending = NULL;

    EXPECT(atomic_fetch_add(&told->count, 1) == 0);
    while ((pending = atomic_load(&told->pending)) == NULL) {
        (void)sched_yield(); /* it is just beginning */
    }
    if (take_job(pending)) {
        cpt_complete(pending, CPT_CANCELLED);
    }
}

static struct cpt_pending *defer(struct cpt_task *task, bool can_be_told)
{
    struct told *told = can_be_told ? cpt_task_memory(task, sizeof *told) : NULL;
    struct cpt_pending *pending =
        told != NULL ? cpt_defer_cancellable(task, "told", stop_told, told)
                     : cpt_defer(task, "work");

    if (told != NULL) {
        atomic_store(&told->pending, pending);
    }
    if (cpt_pending_status(pending) != CPT_LIMIT) {
        add_job(COMPLETE, pending);
    }
    return pending;
}

static void send_call(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    (void)transport;
    add_job(ANSWER, call);
}

static void cancel_call(struct cpt_transport *transport,
                        struct cpt_transport_call *call)
{
    const struct cpt_transport_reply cancelled = {.status = CPT_CANCELLED};

    (void)transport;
    if (take_job(call)) {
        cpt_transport_complete(call, &cancelled);
    }
}

static struct cpt_transport net = {
    .name = "net", .send = send_call, .cancel = cancel_call};
static const struct cpt_stub stub = {
    .name = "B: /look", .target = "B", .method = "/look", .transport = &net};

static struct cpt_pending *start_any(struct cpt_task *task, struct monkey *monkey)
{
    const struct cpt_value *const *starts = cpt_task_context(task);
    unsigned count = 0;

    while (starts != NULL && starts[count] != NULL) {
        count++;
    }
    return count != 0 ? cpt_task_start(task, starts[draw(monkey, count)]) : NULL;
}

static struct cpt_pending *spawn_any(struct cpt_task *task, struct monkey *monkey)
{
    const struct fate inner = {monkey->random, monkey->level + 1};
    struct cpt_pending *pending = NULL;
    cpt_status status = CPT_OK;

    if (monkey->level == LEVELS) {
        return NULL;
    }
    if (draw(monkey, 3) != 0) {
        return cpt_spawn(task, "inner", inner_plan, fate, &inner);
    }
    if (draw(monkey, 2) != 0 && !place->is_alone) {
        return cpt_spawn_on(task, other_pool, "elsewhere", inner_plan, fate, &inner);
    }
    pending = cpt_hand_over(task, "adopted", inner_plan, fate, &inner);
    status = cpt_pending_status(pending);
    if (status != CPT_LIMIT && status != CPT_NO_MEMORY && status != CPT_INVALID) {
        add_job(ADOPT, pending);
    }
    return pending;
}

/* Blocks in the step, for what it has begun. */
static void block(struct cpt_task *task, struct monkey *monkey)
{
    struct own *own = any_of(monkey);

    if (own == NULL || place->drive != NULL || !place->has_timers) {
        return; /* one thread may bury a step that would end the wait */
    }
    if (!begin_block()) {
        return;
    }
    for (unsigned i = 0; i < monkey->own_count; i++) {
        leave(&monkey->own[i]); /* a component on top may be given up meanwhile */
    }
    (void)cpt_wait(task, own->pending);
    end_block();
}

/* For the length of a moment, by the thread. */
static void lock_briefly(struct lock *lock)
{
    if (lock->mutex != NULL && cpt_mutex_trylock(lock->mutex)) {
        EXPECT(atomic_fetch_add(&lock->inside, 1) < lock->count);
        (void)sched_yield();
        (void)atomic_fetch_sub(&lock->inside, 1);
        cpt_mutex_unlock(lock->mutex);
    }
}

static void act(struct cpt_task *task, struct monkey *monkey)
{
    struct lock *lock = &locks[draw(monkey, LOCKS)];
    struct own *own = any_of(monkey);
    struct cpt_pending *made = NULL;

    count_operation();
    switch (draw(monkey, 14)) {
    case 0:
    case 1:
    case 2:
        made = acquire(task, lock);
        remember(monkey, made, lock);
        return;
    case 3:
        if (own != NULL && own->lock != NULL) {
            enter(own);
            release(own);
        }
        return;
    case 4:
        if (own != NULL && own->lock == NULL) {
            cpt_cancel(own->pending);
        }
        return;
    case 5:
    case 6:
        made = defer(task, draw(monkey, 2) != 0);
        break;
    case 7:
        made = place->has_timers ? cpt_sleep(task, "sleep", draw(monkey, 200) * US)
                                 : defer(task, true);
        break;
    case 8:
    case 9:
        made = start_any(task, monkey);
        break;
    case 10:
        made = spawn_any(task, monkey);
        break;
    case 11:
        made = draw(monkey, 2) != 0
                   ? cpt_call(task, &stub, cpt_bytes_of("what"))
                   : cpt_task_share(task, shared, cpt_bytes_of("key"), NULL, NULL);
        break;
    case 12:
        block(task, monkey);
        return;
    default:
        lock_briefly(lock);
        return;
    }
    if (made != NULL) {
        remember(monkey, made, NULL);
    }
}

static cpt_status step(struct cpt_task *task);

static cpt_status end_step(struct cpt_task *task, struct monkey *monkey)
{
    struct cpt_pending *some[OWN_MAX];

    for (unsigned i = 0; i < monkey->own_count; i++) {
        some[i] = monkey->own[i].pending;
    }
    count_operation();
    if (monkey->step_count >= STEPS_MAX) {
        return CPT_OK;
    }
    switch (draw(monkey, 12)) {
    case 0:
    case 1:
        return CPT_OK;
    case 2:
        return cpt_fail(task, CPT_IO, "no disk");
    case 3:
        return draw(monkey, 3) == 0
                   ? cpt_refuse(task, CPT_OUTCOME_NOT_FOUND, "no such page")
                   : cpt_await_all(task, step);
    case 4:
    case 5:
    case 6:
        return place->has_timers ? cpt_await_all_for(task, draw(monkey, 100) * US, step)
                                 : cpt_await_all(task, step);
    case 7:
    case 8:
        return monkey->own_count != 0 ? cpt_await_some(task, some, monkey->own_count,
                                                       1 + draw(monkey, 2), step)
                                      : CPT_OK;
    default:
        return cpt_await_all(task, step);
    }
}

static cpt_status step(struct cpt_task *task)
{
    struct monkey *monkey = cpt_state(task, struct monkey);
    cpt_status status = CPT_OK;

    if (monkey == NULL) {
        return CPT_LIMIT;
    }
    if (monkey->step_count++ == 0) {
        monkey->random =
            (cpt_input(task, fate)->random ^ (atomic_fetch_add(&task_count, 1) << 32)) |
            1;
        monkey->level = cpt_input(task, fate)->level;
    }
    for (unsigned left = draw(monkey, ACTIONS_MAX + 1); left != 0; left--) {
        for (unsigned i = 0; i < monkey->own_count; i++) {
            enter(&monkey->own[i]);
        }
        act(task, monkey);
    }
    status = end_step(task, monkey);
    for (unsigned i = 0; i < monkey->own_count; i++) {
        leave(&monkey->own[i]); /* it may be given up from now on */
    }
    return status;
}

static const struct cpt_value *const page_starts[] = {&cpt_value_first,
                                                      &cpt_value_second, NULL};
static const struct cpt_value *const first_starts[] = {&cpt_value_both, &cpt_value_deep,
                                                       NULL};
static const struct cpt_value *const second_starts[] = {&cpt_value_both, NULL};

static const struct cpt_task_def wild_tasks[] = {
    {.name = "wanted", .run = step, .gives = CPT_GIVES(wanted), CPT_NEEDS(fate)},
    {.name = "deep", .run = step, .gives = CPT_GIVES(deep), CPT_NEEDS(fate)},
    {.name = "both", .run = step, .gives = CPT_GIVES(both), CPT_NEEDS(fate)},
    {.name = "first",
     .run = step,
     .gives = CPT_GIVES(first),
     CPT_NEEDS(fate),
     CPT_STARTS(both, deep),
     .context = (void *)(uintptr_t)first_starts},
    {.name = "second",
     .run = step,
     .gives = CPT_GIVES(second),
     CPT_NEEDS(fate),
     CPT_STARTS(both),
     .context = (void *)(uintptr_t)second_starts},
    {.name = "page",
     .run = step,
     .gives = CPT_GIVES(page),
     CPT_NEEDS(fate),
     CPT_STARTS(first, second),
     CPT_WANTS(wanted),
     .context = (void *)(uintptr_t)page_starts},
};
static const struct cpt_graph wild_graph = {"S", CPT_GIVES(fate), CPT_GIVES(page),
                                            wild_tasks, 6};

/* What runs in components. */
static const struct cpt_task_def inner_tasks[] = {
    {.name = "deep", .run = step, .gives = CPT_GIVES(deep), CPT_NEEDS(fate)},
    {.name = "both", .run = step, .gives = CPT_GIVES(both), CPT_NEEDS(fate)},
    {.name = "page",
     .run = step,
     .gives = CPT_GIVES(page),
     CPT_NEEDS(fate),
     CPT_STARTS(both, deep),
     .context = (void *)(uintptr_t)first_starts},
};
static const struct cpt_graph inner_graph = {"S", CPT_GIVES(fate), CPT_GIVES(page),
                                             inner_tasks, 3};

/* --- Shared work, which keeps a lock --- */

CPT_VALUE(filled, int);

static cpt_status end_filling(struct cpt_task *task)
{
    *cpt_output(task, filled) = 1;
    return CPT_OK;
}

static cpt_status fill(struct cpt_task *task)
{
    count_operation();
    (void)acquire(task, &locks[LOCKS]);
    (void)defer(task, true);
    return cpt_await_all(task, end_filling);
}

static const struct cpt_task_def fill_tasks[] = {
    {.name = "fill", .run = fill, .gives = CPT_GIVES(filled)}};
static const struct cpt_graph fill_graph = {"S", NULL, CPT_GIVES(filled), fill_tasks,
                                            1};

/* --- A calm request: inside its lock across a wait --- */

struct calm {
    struct own own;
    unsigned round_count;
};

static cpt_status calm_step(struct cpt_task *task);

static cpt_status use_lock(struct cpt_task *task)
{
    struct calm *calm = cpt_state(task, struct calm);

    EXPECT(cpt_pending_status(calm->own.pending) == CPT_OK);
    enter(&calm->own);
    return cpt_await(task, defer(task, false), calm_step);
}

static cpt_status calm_step(struct cpt_task *task)
{
    struct calm *calm = cpt_state(task, struct calm);

    count_operation();
    if (calm->own.lock != NULL) {
        release(&calm->own);
    }
    if (calm->round_count++ == STEPS_MAX) {
        *cpt_output(task, page) = 1;
        return CPT_OK;
    }
    calm->own.lock =
        &locks[(cpt_input(task, fate)->random + calm->round_count) % LOCKS];
    calm->own.pending = acquire(task, calm->own.lock);
    return cpt_await(task, calm->own.pending, use_lock);
}

static const struct cpt_task_def calm_tasks[] = {
    {.name = "calm", .run = calm_step, .gives = CPT_GIVES(page), CPT_NEEDS(fate)}};
static const struct cpt_graph calm_graph = {"S", CPT_GIVES(fate), CPT_GIVES(page),
                                            calm_tasks, 1};

/* --- A round --- */

struct one {
    struct cpt_request_handle *handle;
    bool is_calm;
    bool is_traced;
    atomic_int done_count;
    atomic_int gone_count;
};

static struct one ones[REQUESTS];
static struct cpt_plan *wild_plan;
static struct cpt_plan *calm_plan;
static struct cpt_plan *fill_plan;

static void note_done(struct cpt_request *request, void *context)
{
    struct one *one = context;
    const uint64_t latency_ns = cpt_request_latency_ns(request);

    if (one->is_traced) {
        struct cpt_path *path = cpt_path_new(NULL);

        EXPECT(cpt_request_path(request, path, NULL) == CPT_OK);
        EXPECT(cpt_path_check(path, latency_ns, NULL) == CPT_OK);
        cpt_path_free(path);
    }
    EXPECT(!one->is_calm || cpt_request_status(request) == CPT_OK);
    (void)atomic_fetch_add(&one->done_count, 1);
}

static void note_gone(void *context)
{
    (void)atomic_fetch_add(&((struct one *)context)->gone_count, 1);
}

static void start(struct one *one, uint64_t *random)
{
    const struct fate input = {virtual_random(random, UINT64_MAX), 0};
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .executor = place->executor,
                                          .clock = place->clock,
                                          .input = &input,
                                          .slack_wait_ns_max = input.random % 2 * 99999,
                                          .slack_ns = input.random % 2000 * US,
                                          .done = note_done,
                                          .gone = note_gone,
                                          .context = one};

    memset(one, 0, sizeof *one);
    one->is_calm = virtual_random(random, 4) == 0;
    one->is_traced = virtual_random(random, 2) == 0;
    options.plan = one->is_calm ? calm_plan : wild_plan;
    options.is_traced = one->is_traced;
    if (!one->is_calm && place->has_timers) { /* two may wait for one another */
        options.timeout_ns = 200 * US + virtual_random(random, 3000) * US;
    }
    EXPECT(cpt_request_start_held(&options, &one->handle, NULL) == CPT_OK);
    if (!one->is_calm && (!place->has_timers || virtual_random(random, 4) == 0)) {
        add_job(CANCEL, one->handle);
    }
}

static bool are_gone(void)
{
    for (int i = 0; i < REQUESTS; i++) {
        if (atomic_load(&ones[i].gone_count) == 0) {
            return false;
        }
    }
    return all_is_done();
}

/* false: a request hangs. */
static bool wait_until_gone(void)
{
    const uint64_t limit_ns = UINT64_C(120000000000); /* a machine may be busy */
    const uint64_t end_ns = cpt_clock_now_ns(cpt_clock_monotonic()) + limit_ns;

    while (!are_gone()) {
        if (place->drive != NULL) {
            place->drive(place);
        } else {
            (void)usleep(20);
        }
        if (cpt_clock_now_ns(cpt_clock_monotonic()) > end_ns) {
            EXPECT(false); /* a request hangs */
            return false;
        }
    }
    return true;
}

/* Runs of shared work go on until they have ended, also without those that joined. */
static void settle(void)
{
    while (place->drive == drive_queue &&
           (cpt_queue_executor_run(place->executor, 0) != 0 || !all_is_done())) {
    }
    while (place->drive == drive_virtual && (now.work_count != 0 || do_any())) {
        virtual_run(&now);
    }
}

static bool run_round(uint64_t seed)
{
    const struct cpt_shared_options options = {
        .struct_bytes = sizeof options, .plan = fill_plan, .name = "cache"};
    const uint64_t misused = cpt_misuse_count();
    uint64_t random = seed | 1;

    atomic_store(&task_count, 0);
    locks_open();
    shared = cpt_shared_new(&options, NULL);
    virtual_init(&now, virtual_random(&random, 2) * seed);
    for (int i = 0; i < REQUESTS; i++) {
        start(&ones[i], &random);
    }
    if (!wait_until_gone()) {
        return false; /* all is in use */
    }
    for (int i = 0; i < REQUESTS; i++) {
        EXPECT(atomic_load(&ones[i].done_count) == 1);
        EXPECT(atomic_load(&ones[i].gone_count) == 1);
        cpt_request_handle_free(ones[i].handle);
    }
    settle();
    cpt_shared_free(shared);
    locks_close(misused);
    return atomic_load(&wrong_line) == 0;
}

static void plans_open(void)
{
    wild_plan = cpt_plan_new(&wild_graph, NULL, NULL);
    inner_plan = cpt_plan_new(&inner_graph, NULL, NULL);
    calm_plan = cpt_plan_new(&calm_graph, NULL, NULL);
    fill_plan = cpt_plan_new(&fill_graph, NULL, NULL);
}

static void plans_close(void)
{
    cpt_plan_free(wild_plan);
    cpt_plan_free(inner_plan);
    cpt_plan_free(calm_plan);
    cpt_plan_free(fill_plan);
}

static bool run_rounds(struct place places[PLACES], uint64_t seed)
{
    const uint64_t wanted_count = test_environment_number("CPT_TEST_CASES", OPERATIONS);

    atomic_store(&operation_count, 0);
    for (uint64_t i = 0; atomic_load(&operation_count) < wanted_count; i++) {
        pthread_t threads[2];
        bool is_good = false;

        place = &places[(seed + i) % PLACES];
        atomic_store(&is_over, false);
        for (int k = 0; k < 2 && !place->is_alone; k++) {
            (void)pthread_create(&threads[k], NULL, run_beside, NULL);
        }
        is_good = run_round(seed + i);
        atomic_store(&is_over, true);
        for (int k = 0; k < 2 && !place->is_alone && is_good; k++) {
            (void)pthread_join(threads[k], NULL); /* else it may hang, too */
        }
        if (!is_good) {
            printf("\n  CPT_TEST_SEED=%llu, %s: line %d\n",
                   (unsigned long long)(seed + i), place->name,
                   atomic_load(&wrong_line));
            return false;
        }
    }
    return true;
}

static void test_random_calls(void)
{
    struct place places[PLACES];

    plans_open();
    places_open(places);
    if (run_rounds(places, test_random_seed("monkey"))) {
        places_close(places);
        plans_close();
    } else { /* what hangs is in use */
        CU_FAIL("not what the oracle says");
    }
}

extern CU_TestInfo cpt_monkey_tests[];
CU_TestInfo cpt_monkey_tests[] = {
    {"random calls of the whole API", test_random_calls},
    CU_TEST_INFO_NULL,
};
