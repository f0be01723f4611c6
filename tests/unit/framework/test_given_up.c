/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_given_up.c - what can be held x each way to give it up x each phase x executor
 *
 *      page <--wants-- owner --starts--> victim --holds--> a thing
 *
 * The victim takes the thing, and reaches its phase. The owner, its request, or its
 * client then gives up, in each possible way. Always: no step of the victim runs any
 * more, what it held is free, what it waited for is withdrawn, what it had begun is
 * told, once; the page, which wants the locks, too, gets them; the request ends, and is
 * freed. The table is that of docs/framework.md.
 */
#include "tests/support/suites.h"
#include "tests/unit/framework/given_up_cell.h"

#include "cpt/cpt_path.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

static const char *const thing_names[THINGS] = {"mutex",
                                                "semaphore",
                                                "wait for a mutex",
                                                "wait for a semaphore",
                                                "timer",
                                                "work",
                                                "call",
                                                "component",
                                                "component that has ended",
                                                "component that left a task",
                                                "task",
                                                "shared work"};
static const char *const way_names[WAYS] = {
    "cancelled",         "timed out", "its owner fails", "component cancelled",
    "the request fails", "refused",   "deadline",        "client gone"};
static const char *const phase_names[PHASES] = {"before",  "within", "blocked",
                                                "between", "queued", "after"};

/* --- The victim --- */

/* Its phase is reached, or will be once its step has returned. */
static void reach(void)
{
    atomic_fetch_add(&cell.reached_count, 1);
    if (cell.way != TOO_LATE && cell.way != LEFT) {
        complete(&cell.go);
    }
}

/* The client of a request of one thread goes while a step of it runs. */
static void leave_meanwhile(void)
{
    if (cell.way == LEFT && !has_threads(cell.place)) {
        EXPECT(cpt_request_cancel(cell.handle) == 1);
    }
}

/* In its step, until it was given up. How that ends does not matter; but before an
 * owner has failed it must not end well. */
static cpt_status stay_within(struct cpt_task *task, struct cpt_pending *until)
{
    static atomic_uint turn;

    leave_meanwhile();
    while (!atomic_load(&cell.is_given_up)) {
        (void)sched_yield();
    }
    switch (cell.way != FAILED ? atomic_fetch_add(&turn, 1) % 3 : 0) {
    case 0:
        return cpt_await(task, until, beyond);
    case 1:
        return cpt_fail(task, CPT_IO, "no task hears it");
    default:
        *cpt_output(task, given) = 1;
        return CPT_OK;
    }
}

static cpt_status stay_blocked(struct cpt_task *task, struct cpt_pending *pending)
{
    leave_meanwhile();
    EXPECT(cpt_wait(task, pending) == CPT_CANCELLED ||
           cpt_pending_status(pending) != CPT_WAITING); /* it had ended */
    EXPECT(cpt_task_is_cancelled(task) != 0);
    *cpt_output(task, given) = 1;
    return CPT_OK;
}

static cpt_status be_given_up(struct cpt_task *task)
{
    struct cpt_pending *pending = NULL;
    struct cpt_pending *until = NULL;

    atomic_fetch_add(&cell.step_count, 1);
    pending = take(task);
    if (cell.phase == AFTER) {
        *cpt_output(task, given) = 1;
    } else {
        until = defer(task, "until", &cell.until);
    }
    if (cell.phase != AFTER) {
        reach();
    }
    switch (cell.phase) {
    case WITHIN:
        return stay_within(task, until);
    case BLOCKED:
        return stay_blocked(task, pending != NULL ? pending : until);
    case BETWEEN:
        return cpt_await_all(task, beyond);
    case QUEUED:
        return cpt_await(task, until, beyond);
    default:
        return CPT_OK;
    }
}

static cpt_status open_gate(struct cpt_task *task)
{
    *cpt_output(task, opened) = 1;
    return CPT_OK;
}

static cpt_status wait_at_gate(struct cpt_task *task)
{
    return cell.phase == BEFORE
               ? cpt_await(task, defer(task, "gate", &cell.gate), open_gate)
               : open_gate(task);
}

/* --- The owner --- */

static cpt_status end_owner(struct cpt_task *task)
{
    *cpt_output(task, owned) = 1;
    return CPT_OK;
}

/* No step of the victim runs, so all is free before this step goes on. */
static void expect_free_at_once(void)
{
    if ((cell.phase != BETWEEN && cell.phase != QUEUED) || is_parallel(cell.place)) {
        return;
    }
    if (cell.thing != WAIT_FOR_MUTEX) {
        EXPECT(cpt_mutex_trylock(cell.mutex) == 1);
        cpt_mutex_unlock(cell.mutex);
    }
    EXPECT(atomic_load(&cell.open_calls) == 0);
}

static cpt_status give_up(struct cpt_task *task)
{
    if (cell.phase == QUEUED) {
        complete(&cell.until); /* it queues behind this step */
    }
    switch (cell.way) {
    case CANCELLED:
        cpt_cancel(*cpt_state(task, struct cpt_pending *));
        expect_free_at_once();
        EXPECT(cell.phase == AFTER || cpt_input(task, given) == NULL);
        EXPECT(cell.phase == AFTER ||
               cpt_pending_status(cpt_start(task, given)) == CPT_CANCELLED);
        atomic_store(&cell.is_given_up, true);
        return end_owner(task);
    case TIMED_OUT:
        expect_free_at_once();
        atomic_store(&cell.is_given_up, true);
        return end_owner(task);
    case REFUSED:
        atomic_store(&cell.is_given_up, true);
        return cpt_refuse(task, CPT_OUTCOME_NOT_FOUND, "there is no such page");
    default:
        /* Only for the step that waits for it: it may see this before the failure. */
        atomic_store(&cell.is_given_up, true);
        return cpt_fail(task, CPT_IO, "no disk");
    }
}

/* What the owner waits for before it gives up; NULL: for its time limit. */
static struct cpt_pending *begin_to_wait(struct cpt_task *task)
{
    return cell.way == TIMED_OUT ? NULL
           : cell.way == SPAWNED ? defer(task, "never", &cell.never)
                                 : defer(task, "go", &cell.go);
}

static cpt_status wait_to_give_up(struct cpt_task *task, struct cpt_pending *waits_for)
{
    return waits_for != NULL ? cpt_await(task, waits_for, give_up)
                             : cpt_await_all_for(task, 2 * MS, give_up);
}

/* Its victim has ended. */
static cpt_status go_on_after(struct cpt_task *task)
{
    struct cpt_pending *waits_for = begin_to_wait(task);

    reach();
    return wait_to_give_up(task, waits_for);
}

static cpt_status own(struct cpt_task *task)
{
    struct cpt_pending **victim = cpt_state(task, struct cpt_pending *);
    struct cpt_pending *waits_for = NULL;

    if (cell.phase == AFTER) {
        *victim = cpt_start(task, given);
        return cpt_await(task, *victim, go_on_after);
    }
    waits_for = begin_to_wait(task);
    *victim = cpt_start(task, given);
    if (cell.phase == BEFORE) {
        reach();
    }
    return wait_to_give_up(task, waits_for);
}

#define VICTIM_TASKS                                                                   \
    {"gate", wait_at_gate, CPT_GIVES(opened), {NULL}, {NULL}, NULL},                   \
        {"victim",          be_given_up,        CPT_GIVES(given),                      \
         CPT_NEEDS(opened), CPT_STARTS(nested), NULL},                                 \
        {"nested", take_and_work, CPT_GIVES(nested), {NULL}, {NULL}, NULL},            \
    {                                                                                  \
        "owner", own, CPT_GIVES(owned), {NULL}, CPT_STARTS(given), NULL                \
    }

static const struct cpt_task_def within_tasks[] = {VICTIM_TASKS};
static const struct cpt_graph within_graph = {"S", NULL, CPT_GIVES(owned), within_tasks,
                                              4};
static struct cpt_plan *within_plan;

/* The owner of the owner, in the way SPAWNED. */
static cpt_status cancel_component(struct cpt_task *task)
{
    cpt_cancel(*cpt_state(task, struct cpt_pending *));
    atomic_store(&cell.is_given_up, true);
    return end_owner(task);
}

static cpt_status spawn_owner(struct cpt_task *task)
{
    struct cpt_pending *go = defer(task, "go of all", &cell.go);

    *cpt_state(task, struct cpt_pending *) =
        cpt_task_spawn(task, "within", within_plan, NULL, NULL);
    return cpt_await(task, go, cancel_component);
}

/* --- The page --- */

static cpt_status make_page(struct cpt_task *task)
{
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

/* What a task that ended well has not released is kept until the request is over. */
static cpt_status make_page_after(struct cpt_task *task)
{
    if (cell.way != SPAWNED && (cell.thing == MUTEX || cell.thing == ENDED)) {
        EXPECT(cpt_mutex_trylock(cell.mutex) == 0);
    }
    if (cell.way != SPAWNED && cell.thing == SEMAPHORE) {
        EXPECT(cpt_pending_status(cpt_semaphore_acquire(task, cell.semaphore)) ==
               CPT_WAITING);
    }
    return make_page(task);
}

/* Needs the locks that the victim had. */
static cpt_status lock_and_make(struct cpt_task *task)
{
    if (cell.phase == AFTER) {
        return make_page_after(task);
    }
    if (cell.thing != WAIT_FOR_MUTEX) {
        (void)cpt_mutex_acquire(task, cell.mutex);
    }
    if (cell.thing != WAIT_FOR_SEMAPHORE) {
        (void)cpt_semaphore_acquire(task, cell.semaphore);
    }
    return cpt_await_all(task, make_page);
}

static const struct cpt_task_def wanting_tasks[] = {
    VICTIM_TASKS,
    {.name = "page", .run = lock_and_make, .gives = CPT_GIVES(page), CPT_WANTS(owned)},
};
static const struct cpt_task_def needing_tasks[] = {
    VICTIM_TASKS,
    {"page", lock_and_make, CPT_GIVES(page), CPT_NEEDS(owned), {NULL}, NULL},
};
static const struct cpt_task_def spawning_tasks[] = {
    {"owner", spawn_owner, CPT_GIVES(owned), {NULL}, {NULL}, NULL},
    {"page", lock_and_make, CPT_GIVES(page), CPT_NEEDS(owned), {NULL}, NULL},
};
static const struct cpt_graph wanting_graph = {"S", NULL, CPT_GIVES(page),
                                               wanting_tasks, 5};
static const struct cpt_graph needing_graph = {"S", NULL, CPT_GIVES(page),
                                               needing_tasks, 5};
static const struct cpt_graph spawning_graph = {"S", NULL, CPT_GIVES(page),
                                                spawning_tasks, 2};

static struct cpt_plan *wanting_plan;
static struct cpt_plan *needing_plan;
static struct cpt_plan *spawning_plan;

/* --- Who has the semaphore that the victim waits for --- */

CPT_VALUE(turn, int);

static cpt_status end_turn(struct cpt_task *task)
{
    *cpt_output(task, turn) = 1;
    return CPT_OK;
}

static cpt_status hold(struct cpt_task *task)
{
    (void)cpt_semaphore_acquire(task, cell.semaphore);
    (void)defer(task, "other", &cell.other);
    atomic_fetch_add(&cell.holder_count, 1);
    return cpt_await_all(task, end_turn);
}

static const struct cpt_task_def hold_tasks[] = {
    {"hold", hold, CPT_GIVES(turn), {NULL}, {NULL}, NULL}};
static const struct cpt_graph hold_graph = {"S", NULL, CPT_GIVES(turn), hold_tasks, 1};
static struct cpt_plan *hold_plan;

static void note_holder_gone(void *context)
{
    (void)context;
    atomic_fetch_add(&cell.holder_gone_count, 1);
}

/* --- One cell --- */

static void note_done(struct cpt_request *request, void *context)
{
    const uint64_t latency_ns = cpt_request_latency_ns(request);

    (void)context;
    cell.status = cpt_request_status(request);
    if (cell.is_traced) {
        struct cpt_path *path = cpt_path_new(NULL);

        EXPECT(cpt_request_path(request, path, NULL) == CPT_OK);
        EXPECT(cpt_path_check(path, latency_ns, NULL) == CPT_OK);
        cpt_path_free(path);
    }
    atomic_store(&cell.is_given_up, true);
    atomic_fetch_add(&cell.done_count, 1);
}

static void note_cell_gone(void *context)
{
    (void)context;
    atomic_fetch_add(&cell.gone_count, 1);
}

/* Lets all go on that waits, now that the request has ended. */
static void complete_waits(void)
{
    if (atomic_load(&cell.done_count) != 0) {
        complete(&cell.go);
        complete(&cell.gate);
        complete(&cell.until);
        complete(&cell.never);
        complete(&cell.other);
    }
}

/* Until @count is not 0; false: it never is. A busy machine may take long. */
static bool wait_for(atomic_int *count)
{
    const uint64_t end_ns =
        cpt_clock_now_ns(cpt_clock_monotonic()) + 60000 * (uint64_t)MS;

    while (atomic_load(count) == 0 &&
           cpt_clock_now_ns(cpt_clock_monotonic()) < end_ns) {
        if (cell.place->drive != NULL) {
            cell.place->drive(cell.place);
        }
        complete_waits();
        (void)sched_yield();
    }
    return atomic_load(count) != 0;
}

static bool is_possible(void)
{
    switch (cell.phase) {
    case WITHIN: /* on one thread no other task could give it up meanwhile */
        if (!is_parallel(cell.place) && cell.way != LEFT) {
            return false;
        }
        break;
    case QUEUED: /* known only where work is run in its order */
        if (cell.place->drive == NULL || cell.way == TIMED_OUT ||
            cell.way == TOO_LATE || cell.way == LEFT || cell.way == SPAWNED) {
            return false;
        }
        break;
    default:
        break;
    }
    return cell.place->has_timers ||
           (cell.thing != TIMER && cell.way != TIMED_OUT && cell.way != TOO_LATE);
}

static cpt_status expected_status(void)
{
    switch (cell.way) {
    case ALL_FAILED:
        return CPT_IO;
    case REFUSED:
        return CPT_REFUSED;
    case TOO_LATE:
        return CPT_TIMEOUT;
    case LEFT:
        return CPT_CANCELLED;
    default:
        return CPT_OK;
    }
}

/* Whether the victim, which has ended, has left something that goes on. */
static bool goes_on_after(void)
{
    return cell.phase == AFTER && (cell.way == CANCELLED || cell.way == TIMED_OUT ||
                                   (cell.way == FAILED && cell.thing == LEAVING));
}

static bool has_work(void)
{
    return cell.thing == WORK || cell.thing == CALL || cell.thing == COMPONENT ||
           cell.thing == LEAVING || cell.thing == STARTED;
}

static const struct cpt_plan *plan_of_cell(void)
{
    switch (cell.way) {
    case SPAWNED:
        return spawning_plan;
    case CANCELLED:
    case TIMED_OUT:
    case FAILED:
        return wanting_plan;
    default:
        return needing_plan;
    }
}

static void open_cell(void)
{
    const struct cpt_shared_options shared = {
        .struct_bytes = sizeof shared, .plan = things_shared_plan(), .name = "cache"};
    const struct cpt_request_options hold = {.struct_bytes = sizeof hold,
                                             .plan = hold_plan,
                                             .executor = cell.place->executor,
                                             .clock = cell.place->clock,
                                             .gone = note_holder_gone};

    cell.mutex = cpt_mutex_new("cache", NULL);
    cell.semaphore = cpt_semaphore_new("connections", 1, NULL);
    cell.shared = cpt_shared_new(&shared, NULL);
    if (cell.thing == WAIT_FOR_MUTEX) {
        EXPECT(cpt_mutex_trylock(cell.mutex) == 1);
    }
    if (cell.thing == WAIT_FOR_SEMAPHORE) {
        EXPECT(cpt_request_start(&hold, NULL) == CPT_OK);
        EXPECT(wait_for(&cell.holder_count));
    }
}

/* All is free now, although what waits for work elsewhere is not gone yet. */
static void expect_free(void)
{
    atomic_int has_it = 0;

    if (cell.thing == WAIT_FOR_MUTEX) {
        cpt_mutex_unlock(cell.mutex);
    }
    for (int i = 0; i < 1000000 && !has_it; i++) { /* a step may be just returning */
        has_it = cpt_mutex_trylock(cell.mutex);
        (void)sched_yield();
    }
    EXPECT(has_it == 1);
    EXPECT(cpt_mutex_trylock(cell.mutex) == 0);
    cpt_mutex_unlock(cell.mutex);
}

/* Ends what was left to go on. */
static void complete_rest(void)
{
    EXPECT(!goes_on_after() || !has_work() || wait_for(&cell.begun_count));
    if (goes_on_after() && cell.thing == CALL) {
        const struct cpt_transport_reply reply = {.status = CPT_OK};

        atomic_fetch_sub(&cell.open_calls, 1);
        cpt_transport_complete(cell.call, &reply);
    } else if (goes_on_after() && has_work()) {
        cpt_complete(cell.work.pending, CPT_OK);
    }
}

static void close_cell(void)
{
    const uint64_t misused = cpt_misuse_count();

    EXPECT(goes_on_after() || wait_for(&cell.gone_count));
    EXPECT(atomic_load(&cell.holder_count) == 0 || wait_for(&cell.holder_gone_count));
    if (cell.thing == SHARED && atomic_load(&cell.step_count) != 0) {
        EXPECT(wait_for(&cell.run_count));
        complete(&cell.run);
        EXPECT(wait_for(&cell.filled_count));
    }
    EXPECT(wait_for(&cell.gone_count));
    if (cell.place->drive != NULL) {
        cell.place->drive(cell.place);
    }
    cpt_request_handle_free(cell.handle);
    cpt_shared_free(cell.shared);
    cpt_mutex_free(cell.mutex);
    cpt_semaphore_free(cell.semaphore);
    EXPECT(cpt_misuse_count() == misused);
}

static void run_cell(void)
{
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .plan = plan_of_cell(),
                                          .executor = cell.place->executor,
                                          .clock = cell.place->clock,
                                          .done = note_done,
                                          .gone = note_cell_gone,
                                          .is_traced = cell.is_traced};

    options.timeout_ns = cell.way == TOO_LATE ? 3 * MS : 0;
    open_cell();
    EXPECT(cpt_request_start_held(&options, &cell.handle, NULL) == CPT_OK);
    if (cell.way == LEFT) {
        EXPECT(wait_for(&cell.reached_count));
        (void)cpt_request_cancel(cell.handle);
    }
    EXPECT(wait_for(&cell.done_count));
    EXPECT(cell.status == expected_status());
    if (cell.phase != AFTER || !goes_on_after() || !has_work()) {
        expect_free();
    }
    complete_rest();
    close_cell();
    EXPECT(atomic_load(&cell.done_count) == 1);
    EXPECT(atomic_load(&cell.gone_count) == 1);
    EXPECT(atomic_load(&cell.open_calls) == 0);
    EXPECT(atomic_load(&cell.step_count) == (cell.phase != BEFORE) ||
           cell.way == TIMED_OUT || cell.way == TOO_LATE);
    EXPECT(goes_on_after() || atomic_load(&cell.beyond_count) == 0);
    EXPECT(goes_on_after() ||
           atomic_load(&cell.work.told_count) == atomic_load(&cell.begun_count));
    EXPECT(!goes_on_after() || atomic_load(&cell.work.told_count) == 0);
}

static bool check_cell(struct place *place, enum thing thing, enum way way,
                       enum phase phase, bool is_traced)
{
    memset(&cell, 0, sizeof cell);
    cell.place = place;
    cell.thing = thing;
    cell.way = way;
    cell.phase = phase;
    cell.is_traced = is_traced;
    if (is_possible()) {
        run_cell();
    }
    if (atomic_load(&cell.wrong) != 0) {
        printf("\n  line %d: %s, %s, %s a step, %s, traced %d\n",
               atomic_load(&cell.wrong), thing_names[thing], way_names[way],
               phase_names[phase], place->name, is_traced);
    }
    return atomic_load(&cell.wrong) == 0;
}

static void test_each_cell(void)
{
    struct place places[PLACES];
    bool is_good = true;

    things_open();
    within_plan = cpt_plan_new(&within_graph, NULL, NULL);
    wanting_plan = cpt_plan_new(&wanting_graph, NULL, NULL);
    needing_plan = cpt_plan_new(&needing_graph, NULL, NULL);
    spawning_plan = cpt_plan_new(&spawning_graph, NULL, NULL);
    hold_plan = cpt_plan_new(&hold_graph, NULL, NULL);
    places_open(places);
    for (int i = 0; i < PLACES * THINGS * WAYS * PHASES * 2 && is_good; i++) {
        is_good = check_cell(&places[i / 2 / PHASES / WAYS / THINGS],
                             (enum thing)(i / 2 / PHASES / WAYS % THINGS),
                             (enum way)(i / 2 / PHASES % WAYS),
                             (enum phase)(i / 2 % PHASES), i % 2 != 0);
    }
    CU_ASSERT_TRUE(is_good);
    places_close(places);
    things_close();
    cpt_plan_free(within_plan);
    cpt_plan_free(wanting_plan);
    cpt_plan_free(needing_plan);
    cpt_plan_free(spawning_plan);
    cpt_plan_free(hold_plan);
}

extern CU_TestInfo cpt_given_up_tests[];
CU_TestInfo cpt_given_up_tests[] = {
    {"all that can be held, each way to give up, each phase, each executor",
     test_each_cell},
    CU_TEST_INFO_NULL,
};
