/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_queue_executor.c - an executor driven by an event loop of the application: by
 * hand, by poll(), by libevent, with completions from other threads */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_graph.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#ifdef TEST_WITH_LIBEVENT
#include <event2/event.h>
#endif

#define MS 1000000U

/* --- By hand, in virtual time --- */

static struct virtual_time now; /* only its clock */
static int wake_count;
static char ran[64]; /* what ran, a letter each */

static void count_wake(void *context)
{
    (void)context;
    wake_count++;
}

static struct cpt_executor *make_queue(void)
{
    const struct cpt_queue_executor_options options = {
        .struct_bytes = sizeof options, .wake = count_wake, .clock = &now.clock};

    virtual_init(&now, 0);
    wake_count = 0;
    ran[0] = '\0';
    return cpt_queue_executor_new(&options, NULL);
}

struct lettered {
    struct cpt_work work;
    struct cpt_timer timer;
    struct cpt_executor *again; /* submits itself again */
    char letter;
};

static void note_letter(char letter)
{
    const size_t length = strlen(ran);

    ran[length] = letter;
    ran[length + 1] = '\0';
}

static void run_letter(struct cpt_work *work)
{
    struct lettered *lettered = (struct lettered *)work;

    note_letter(lettered->letter);
    if (lettered->again != NULL) {
        lettered->again->submit(lettered->again, work);
        lettered->again = NULL;
    }
}

static void fire_letter(struct cpt_timer *timer)
{
    note_letter(((struct lettered *)((char *)timer - offsetof(struct lettered, timer)))
                    ->letter);
}

static void test_order_and_count(void)
{
    struct lettered letters[4];
    struct cpt_executor *queue = make_queue();

    CU_ASSERT_PTR_NOT_NULL_FATAL(queue);
    CU_ASSERT_STRING_EQUAL(queue->name, "queue");
    for (int i = 0; i < 4; i++) {
        letters[i] = (struct lettered){.work.run = run_letter,
                                       .timer.fire = fire_letter,
                                       .letter = (char)('a' + i)};
    }
    letters[0].again = queue;
    for (int i = 0; i < 3; i++) {
        queue->submit(queue, &letters[i].work);
    }
    CU_ASSERT_EQUAL(queue->after(queue, &letters[3].timer, 0), CPT_OK);
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 1), 1);
    CU_ASSERT_STRING_EQUAL(ran, "d"); /* timers first */
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 0), 3);
    CU_ASSERT_STRING_EQUAL(ran, "dabc"); /* not the work that they submit */
    CU_ASSERT_EQUAL(queue->hunger(queue), CPT_HUNGRY_WORK);
    CU_ASSERT_EQUAL(queue->yield(queue, &letters[1].work), 1);
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 0), 2);
    CU_ASSERT_STRING_EQUAL(ran, "dabcab");
    CU_ASSERT_EQUAL(queue->hunger(queue), 0);
    CU_ASSERT_EQUAL(queue->yield(queue, &letters[1].work), 0);
    CU_ASSERT_EQUAL(queue->help(queue), 0);
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 0), 0);
    cpt_queue_executor_free(queue);
}

static void test_wakes_only_who_waits(void)
{
    struct lettered early = {.work.run = run_letter, .timer.fire = fire_letter};
    struct lettered late = {.timer.fire = fire_letter};
    struct cpt_executor *queue = make_queue();

    CU_ASSERT_EQUAL(queue->after(queue, &late.timer, 20 * MS), CPT_OK);
    CU_ASSERT_EQUAL(wake_count, 1); /* its work was never run */
    CU_ASSERT_EQUAL(cpt_queue_executor_next_ns(queue), 20 * MS);
    CU_ASSERT_EQUAL(queue->after(queue, &early.timer, 30 * MS), CPT_OK);
    CU_ASSERT_EQUAL(wake_count, 1); /* it returns before that */
    CU_ASSERT_EQUAL(queue->cancel(queue, &early.timer), 1);
    CU_ASSERT_EQUAL(queue->cancel(queue, &early.timer), 0);
    CU_ASSERT_EQUAL(queue->after(queue, &early.timer, 10 * MS), CPT_OK);
    CU_ASSERT_EQUAL(wake_count, 2);
    queue->submit(queue, &early.work);
    CU_ASSERT_EQUAL(wake_count, 2); /* it is awake, and will look for work */
    CU_ASSERT_EQUAL(cpt_queue_executor_next_ns(queue), 0);
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 0), 1);
    CU_ASSERT_EQUAL(cpt_queue_executor_next_ns(queue), 10 * MS);
    now.now_ns += 20 * MS;
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 0), 2);
    CU_ASSERT_EQUAL(cpt_queue_executor_next_ns(queue), UINT64_MAX);
    queue->submit(queue, &early.work);
    CU_ASSERT_EQUAL(wake_count, 3);
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 0), 1);
    cpt_queue_executor_free(queue);
    cpt_queue_executor_free(NULL);
}

static bool make_with(const struct cpt_alloc *alloc)
{
    struct cpt_queue_executor_options options = {.struct_bytes = sizeof options,
                                                 .alloc = alloc};
    struct cpt_executor *queue = cpt_queue_executor_new(&options, NULL);
    struct lettered lettered = {.timer.fire = fire_letter};
    bool is_good = queue != NULL;

    is_good = is_good && queue->after(queue, &lettered.timer, 0) == CPT_OK;
    cpt_queue_executor_free(queue);
    return is_good;
}

static void test_allocations_may_fail(void)
{
    each_allocation_failure(make_with);
}

/* --- Requests whose work is done by another thread --- */

CPT_VALUE(number, int);
CPT_VALUE(doubled, int);
CPT_VALUE(slept, int);
CPT_VALUE(sum, int);

struct state {
    struct cpt_pending *pending;
    pthread_t thread;
};

static void *complete_elsewhere(void *context)
{
    (void)usleep(1000);
    cpt_complete(context, CPT_OK);
    return NULL;
}

static cpt_status use_double(struct cpt_task *task)
{
    (void)pthread_join(cpt_state(task, struct state)->thread, NULL);
    *cpt_output(task, doubled) = 2 * *cpt_input(task, number);
    return CPT_OK;
}

static cpt_status begin_double(struct cpt_task *task)
{
    struct state *state = cpt_state(task, struct state);

    state->pending = cpt_defer(task, "elsewhere");
    if (pthread_create(&state->thread, NULL, complete_elsewhere, state->pending) != 0) {
        cpt_complete(state->pending, CPT_FAILED);
    }
    return cpt_await(task, state->pending, use_double);
}

static cpt_status use_slept(struct cpt_task *task)
{
    *cpt_output(task, slept) = 1;
    return CPT_OK;
}

static cpt_status begin_sleep(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", 2 * MS), use_slept);
}

static cpt_status add(struct cpt_task *task)
{
    *cpt_output(task, sum) = *cpt_input(task, doubled) + *cpt_input(task, slept);
    return CPT_OK;
}

static const struct cpt_task_def tasks[] = {
    {"double", begin_double, CPT_GIVES(doubled), CPT_NEEDS(number), {NULL}, NULL},
    {"sleep", begin_sleep, CPT_GIVES(slept), CPT_NEEDS(number), {NULL}, NULL},
    {"add", add, CPT_GIVES(sum), CPT_NEEDS(doubled, slept), {NULL}, NULL},
};
static const struct cpt_graph graph = {"S", CPT_GIVES(number), CPT_GIVES(sum), tasks,
                                       3};

enum { REQUESTS = 20 };

static int gone_count;
static int good_count;

static void check_sum(struct cpt_request *request, void *context)
{
    const int *output = cpt_request_output(request);
    struct cpt_path *path = cpt_path_new(NULL);

    (void)context;
    good_count += output != NULL && *output == 43 &&
                  cpt_request_path(request, path, NULL) == CPT_OK &&
                  cpt_path_check(path, cpt_request_latency_ns(request), NULL) == CPT_OK;
    cpt_path_free(path);
}

static void count_gone(void *context)
{
    (void)context;
    gone_count++; /* on the loop's thread, like the whole request */
}

static void start_requests(struct cpt_executor *executor, const struct cpt_plan *plan)
{
    static const int input = 21;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = executor,
                                                .input = &input,
                                                .done = check_sum,
                                                .gone = count_gone,
                                                .is_traced = 1,
                                                .entry = "S: /"};

    gone_count = 0;
    good_count = 0;
    for (int i = 0; i < REQUESTS; i++) {
        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    }
}

static void write_event(void *context)
{
    const uint64_t one = 1;

    (void)!write(*(int *)context, &one, sizeof one);
}

/* In ms, rounded up; -1: no limit. */
static int poll_timeout(uint64_t next_ns)
{
    return next_ns == UINT64_MAX ? -1 : (int)((next_ns + MS - 1) / MS);
}

static void test_driven_by_poll(void)
{
    int event_fd = eventfd(0, EFD_NONBLOCK);
    const struct cpt_queue_executor_options options = {.struct_bytes = sizeof options,
                                                       .name = "poll",
                                                       .wake = write_event,
                                                       .context = &event_fd};
    struct cpt_executor *queue = cpt_queue_executor_new(&options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(queue);
    start_requests(queue, plan);
    while (gone_count < REQUESTS) {
        struct pollfd fd = {event_fd, POLLIN, 0};
        uint64_t value = 0;

        (void)poll(&fd, 1, poll_timeout(cpt_queue_executor_next_ns(queue)));
        (void)!read(event_fd, &value, sizeof value);
        (void)cpt_queue_executor_run(queue, 0);
    }
    CU_ASSERT_EQUAL(good_count, REQUESTS);
    cpt_queue_executor_free(queue);
    cpt_plan_free(plan);
    (void)close(event_fd);
}

#ifdef TEST_WITH_LIBEVENT

struct loop {
    struct event_base *base;
    struct event *woken;
    struct event *timer;
    struct cpt_executor *queue;
    int event_fd;
};

/* Runs the available work; returns when to call it again. */
static void run_queue(evutil_socket_t fd, short what, void *context)
{
    struct loop *loop = context;
    uint64_t next_ns = 0;

    if ((what & EV_READ) != 0) {
        uint64_t value = 0;

        (void)!read((int)fd, &value, sizeof value);
    }
    while (next_ns == 0) {
        (void)cpt_queue_executor_run(loop->queue, 0);
        next_ns = cpt_queue_executor_next_ns(loop->queue);
    }
    if (gone_count == REQUESTS) {
        (void)event_base_loopbreak(loop->base);
    } else if (next_ns != UINT64_MAX) {
        const struct timeval delay = {(time_t)(next_ns / 1000000000u),
                                      (suseconds_t)(next_ns % 1000000000u / 1000 + 1)};

        (void)evtimer_add(loop->timer, &delay);
    }
}

static void test_driven_by_libevent(void)
{
    struct loop loop = {.base = event_base_new(), .event_fd = eventfd(0, EFD_NONBLOCK)};
    const struct cpt_queue_executor_options options = {.struct_bytes = sizeof options,
                                                       .name = "libevent",
                                                       .wake = write_event,
                                                       .context = &loop.event_fd};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(loop.base);
    loop.queue = cpt_queue_executor_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(loop.queue);
    loop.woken =
        event_new(loop.base, loop.event_fd, EV_READ | EV_PERSIST, run_queue, &loop);
    loop.timer = evtimer_new(loop.base, run_queue, &loop);
    (void)event_add(loop.woken, NULL);
    start_requests(loop.queue, plan);
    (void)event_base_dispatch(loop.base);
    CU_ASSERT_EQUAL(good_count, REQUESTS);
    event_free(loop.woken);
    event_free(loop.timer);
    event_base_free(loop.base);
    cpt_queue_executor_free(loop.queue);
    cpt_plan_free(plan);
    (void)close(loop.event_fd);
}

#endif

CU_TestInfo cpt_queue_executor_tests[] = {
    {"timers, then work, without the work they submit", test_order_and_count},
    {"only a waiting loop is woken", test_wakes_only_who_waits},
    {"allocations may fail", test_allocations_may_fail},
    {"driven by poll, with completions from other threads", test_driven_by_poll},
#ifdef TEST_WITH_LIBEVENT
    {"driven by libevent", test_driven_by_libevent},
#endif
    CU_TEST_INFO_NULL,
};
