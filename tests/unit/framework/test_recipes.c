/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_recipes.c - the recipes of docs/framework.md, run
 *
 * Each case has the title of its recipe. A calls B, whose "/work" takes the ms that the
 * body gives. Time is virtual except in recipes about threads or loops.
 */
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_mutex.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

CPT_VALUE(query, int);
CPT_VALUE(ads, int);
CPT_VALUE(page, int);

struct state {
    struct cpt_pending *call;
    struct cpt_pending *calls[2];
    struct cpt_pending *replicas[3];
    struct cpt_pending *ads_call;
    struct cpt_pending *patience;
    unsigned attempt;
};

#define BEGIN 1000000000U /* of virtual time */
#define WORK  "A: /a;A: A1;B: /work;B: work;B: disk "

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

static struct cpt_pending *work(struct cpt_task *task, const char *ms)
{
    return cpt_call(task, &work_stub, cpt_bytes_of(ms));
}

static cpt_status give_answer(struct cpt_task *task)
{
    spend(1);
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

/* Serves a request by A with the one task @run; its path must be @path. */
static void open_recipe(void)
{
    open_pair(never, never);
    serve_work();
}

static void ask_recipe(cpt_task_fn run, const char *path)
{
    const struct cpt_task_def tasks[] = {
        {"A1", run, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};

    ask_graph("/a", &graph);
    CU_ASSERT_STRING_EQUAL(answered_path(), path);
}

static void run_recipe(cpt_task_fn run, const char *path)
{
    open_recipe();
    ask_recipe(run, path);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    close_pair();
}

/* --- Calls --- */

static cpt_status render(struct cpt_task *task)
{
    const struct cpt_call_reply *reply =
        cpt_call_reply(cpt_state(task, struct state)->call);

    if (reply->status != CPT_OK) {
        return cpt_fail(task, reply->status, "no lookup");
    }
    return give_answer(task);
}

static cpt_status ask_once(struct cpt_task *task)
{
    struct state *state = cpt_state(task, struct state);

    spend(2);
    state->call = work(task, "7");
    return cpt_await(task, state->call, render);
}

static void test_call(void)
{
    run_recipe(ask_once, "A: /a;A: A1 2, " WORK "7, A: /a;A: A1 1");
}

static cpt_status compute_on(struct cpt_task *task)
{
    struct state *state = cpt_state(task, struct state);

    state->call = work(task, "7");
    virtual_run_until(&now, now.now_ns); /* B begins meanwhile */
    spend(5);
    return cpt_await(task, state->call, render);
}

static void test_compute_on(void)
{
    run_recipe(compute_on, WORK "7, A: /a;A: A1 1");
}

static cpt_status ask_all(struct cpt_task *task)
{
    static const char *const ms[] = {"3", "9", "6"};

    for (size_t i = 0; i < 3; i++) {
        cpt_state(task, struct state)->replicas[i] = work(task, ms[i]);
    }
    return cpt_await_all(task, give_answer);
}

static void test_all_at_once(void)
{
    run_recipe(ask_all, WORK "9, A: /a;A: A1 1");
}

/* A wire that returns no reply, but keeps deadlines. */
static struct cpt_timer silence;
static struct cpt_transport_call *unanswered;

static void break_silence(struct cpt_timer *timer)
{
    const struct cpt_transport_reply reply = {.status = CPT_TIMEOUT};

    (void)timer;
    cpt_transport_complete(unanswered, &reply);
}

static void send_nowhere(struct cpt_transport *transport,
                         struct cpt_transport_call *call)
{
    (void)transport;
    unanswered = call;
    silence = (struct cpt_timer){.fire = break_silence};
    CU_ASSERT_EQUAL(now.executor.after(&now.executor, &silence, call->timeout_ns),
                    CPT_OK);
}

static cpt_status do_without(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_call_reply(cpt_state(task, struct state)->call)->status,
                    CPT_TIMEOUT);
    return give_answer(task);
}

static cpt_status ask_for_30_ms(struct cpt_task *task)
{
    static const struct cpt_stub lookup_stub = {.name = "B: /work",
                                                .target = "B",
                                                .method = "/work",
                                                .transport = &net.transport,
                                                .timeout_ns = 30 * MS};
    struct state *state = cpt_state(task, struct state);

    state->call = cpt_call(task, &lookup_stub, cpt_bytes_of("500"));
    return cpt_await(task, state->call, do_without);
}

static void test_deadline_of_a_call(void)
{
    open_recipe();
    net.transport.send = send_nowhere;
    ask_recipe(ask_for_30_ms, "A: /a;A: A1;B: /work;B: ‹timeout› 30, A: /a;A: A1 1");
    close_pair();
}

/* --- No longer --- */

static cpt_status see_timeout(struct cpt_task *task)
{
    const struct state *state = cpt_state(task, struct state);

    CU_ASSERT_EQUAL(cpt_pending_status(state->calls[0]), CPT_OK);
    CU_ASSERT_EQUAL(cpt_pending_status(state->calls[1]), CPT_TIMEOUT);
    CU_ASSERT_EQUAL(cpt_pending_status(state->patience), CPT_TIMEOUT);
    return give_answer(task);
}

static cpt_status ask_for_20_ms(struct cpt_task *task)
{
    struct state *state = cpt_state(task, struct state);

    state->calls[0] = work(task, "5");
    state->calls[1] = work(task, "400");
    state->patience = cpt_sleep(task, "nap", 300 * MS);
    return cpt_await_all_for(task, 20 * MS, see_timeout);
}

/* All outstanding work is abandoned. */
static void test_no_longer(void)
{
    run_recipe(ask_for_20_ms, "A: /a;A: A1;B: /work;B: ‹timeout› 20, A: /a;A: A1 1");
    CU_ASSERT_EQUAL(net.cancel_count, 1);
}

static cpt_status enough(struct cpt_task *task)
{
    struct state *state = cpt_state(task, struct state);

    cpt_cancel(state->ads_call); /* the ended one is unchanged */
    cpt_cancel(state->patience);
    return cpt_await(task, state->call, render);
}

static cpt_status give_up(struct cpt_task *task, const char *call, const char *ads_call)
{
    struct state *state = cpt_state(task, struct state);
    struct cpt_pending *race[2] = {NULL, NULL};

    state->call = work(task, call);
    state->ads_call = work(task, ads_call);
    state->patience = cpt_sleep(task, "patience", 20 * MS);
    race[0] = state->ads_call;
    race[1] = state->patience;
    return cpt_await_some(task, race, 2, 1, enough);
}

static cpt_status give_up_one(struct cpt_task *task)
{
    return give_up(task, "5", "400");
}

static cpt_status give_up_one_and_wait(struct cpt_task *task)
{
    return give_up(task, "50", "400");
}

static cpt_status have_both(struct cpt_task *task)
{
    return give_up(task, "5", "9");
}

/* Only one call is abandoned; the other goes on. */
static void test_one_no_longer(void)
{
    run_recipe(give_up_one, "A: /a;A: A1;A: patience 20, A: /a;A: A1 1");
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    run_recipe(give_up_one_and_wait, WORK "50, A: /a;A: A1 1");
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    run_recipe(have_both, WORK "9, A: /a;A: A1 1");
    CU_ASSERT_EQUAL(net.cancel_count, 0);
}

static cpt_status quorum(struct cpt_task *task)
{
    struct state *state = cpt_state(task, struct state);

    CU_ASSERT_EQUAL(cpt_pending_status(state->replicas[1]), CPT_WAITING);
    for (size_t i = 0; i < 3; i++) {
        cpt_cancel(state->replicas[i]); /* ended work is unchanged */
    }
    CU_ASSERT_EQUAL(cpt_pending_status(state->replicas[0]), CPT_OK);
    CU_ASSERT_EQUAL(cpt_pending_status(state->replicas[1]), CPT_CANCELLED);
    CU_ASSERT_EQUAL(cpt_pending_status(state->replicas[2]), CPT_OK);
    return give_answer(task);
}

static cpt_status ask_three(struct cpt_task *task)
{
    struct state *state = cpt_state(task, struct state);
    static const char *const ms[] = {"4", "400", "6"};

    for (size_t i = 0; i < 3; i++) {
        state->replicas[i] = work(task, ms[i]);
    }
    return cpt_await_some(task, state->replicas, 3, 2, quorum);
}

static void test_quorum(void)
{
    run_recipe(ask_three, WORK "6, A: /a;A: A1 1");
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    CU_ASSERT_EQUAL(now.now_ns, BEGIN + 7 * MS);
}

static void break_two(void *context, struct cpt_transport_reply *reply)
{
    if (++*(int *)context <= 2) {
        reply->status = CPT_IO;
    }
}

static cpt_status tried(struct cpt_task *task);

static cpt_status try_it(struct cpt_task *task)
{
    struct state *state = cpt_state(task, struct state);

    state->attempt++;
    state->call = cpt_call_attempt(task, &work_stub, cpt_bytes_of("2"), state->attempt);
    return cpt_await(task, state->call, tried);
}

static cpt_status tried(struct cpt_task *task)
{
    const struct state *state = cpt_state(task, struct state);

    if (cpt_call_reply(state->call)->status != CPT_OK && state->attempt < 3) {
        return cpt_await(task, cpt_back_off(task, (5 * MS) << state->attempt), try_it);
    }
    return render(task);
}

static void test_try_again(void)
{
    int count = 0;

    open_recipe();
    net.tamper = break_two;
    net.context = &count;
    ask_recipe(try_it, "A: /a;A: A1;B: /work;B: ‹blind spot› 2, "
                       "A: /a;A: A1;A: ‹backoff› 10, "
                       "A: /a;A: A1;B: /work;B: ‹blind spot› 2, "
                       "A: /a;A: A1;A: ‹backoff› 20, " WORK "2, A: /a;A: A1 1");
    close_pair();
}

/* --- Tasks --- */

static cpt_status find_ads(struct cpt_task *task)
{
    spend(3);
    *cpt_output(task, ads) = 5;
    return CPT_OK;
}

static cpt_status have_ads(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(*cpt_input(task, ads), 5);
    return give_answer(task);
}

static cpt_status want_ads(struct cpt_task *task)
{
    spend(2);
    return cpt_await(task, cpt_start(task, ads), have_ads);
}

static void test_on_demand(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", want_ads, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), CPT_STARTS(ads),
         NULL},
        {"ads", find_ads, CPT_GIVES(ads), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 2};

    open_recipe();
    ask_graph("/a", &graph);
    CU_ASSERT_STRING_EQUAL(answered_path(),
                           "A: /a;A: A1 2, A: /a;A: A1;A: ads 3, A: /a;A: A1 1");
    close_pair();
}

/* A function of a library, some calls deep. */
static void pool_get(const char *name)
{
    struct cpt_task *task = cpt_current_task();

    if (task != NULL) {
        cpt_request_set(cpt_task_request(task), "database", name);
    }
}

static cpt_status use_library(struct cpt_task *task)
{
    CU_ASSERT_PTR_EQUAL(cpt_current_task(), task);
    pool_get("main");
    return give_answer(task);
}

static void test_current_task(void)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    pool_get("outside");
    CU_ASSERT_PTR_NULL(cpt_current_task());
    open_pair(always, never);
    ask_recipe(use_library, "A: /a;A: A1 1");
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(record.attribute_count, 1);
    cpt_log_reader_free(reader);
    close_pair();
}

static cpt_status leave_behind(struct cpt_task *task)
{
    (void)cpt_start(task, ads);
    return give_answer(task);
}

static void test_answer_first(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", leave_behind, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request),
         CPT_STARTS(ads), NULL},
        {"ads", find_ads, CPT_GIVES(ads), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 2};
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    open_pair(always, never);
    ask_graph("/a", &graph);
    CU_ASSERT_STRING_EQUAL(answered_path(), "A: /a;A: A1 1");
    reader = read_record(1, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_TRUE(record.is_background);
    CU_ASSERT_EQUAL(record.latency_ns, 3 * MS);
    cpt_log_reader_free(reader);
    close_pair();
}

/* --- Code that cannot return --- */

static void on_include(const char *name, void *context)
{
    struct cpt_pending *file = cpt_call(context, &work_stub, cpt_bytes_of(name));

    if (cpt_wait(context, file) == CPT_OK) {
        CU_ASSERT_EQUAL(cpt_call_reply(file)->status, CPT_OK);
    }
}

static cpt_status parse(struct cpt_task *task)
{
    spend(1);
    on_include("4", task); /* a library that calls back from deep within */
    spend(1);
    on_include("6", task);
    return give_answer(task);
}

static void test_wait(void)
{
    run_recipe(parse,
               "A: /a;A: A1 1, " WORK "4, A: /a;A: A1 1, " WORK "6, A: /a;A: A1 1");
}

/* --- Requests without a service --- */

static cpt_status add_one(struct cpt_task *task)
{
    *cpt_output(task, page) = *cpt_input(task, query) + 1;
    return CPT_OK;
}

static cpt_status nap(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", 2 * MS), add_one);
}

static cpt_status nap_for_long(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", 900 * MS), add_one);
}

/* The outcome of a request. */
struct end {
    atomic_int done_count;
    atomic_int gone_count;
    cpt_status status;
    int page;
    char sentence[CPT_ERROR_SENTENCE_BYTES];
};

static void note_done(struct cpt_request *request, void *context)
{
    struct end *end = context;
    const int *output = cpt_request_output(request);

    end->status = cpt_request_status(request);
    end->page = output != NULL ? *output : -1;
    (void)snprintf(end->sentence, sizeof end->sentence, "%s",
                   cpt_request_sentence(request));
    atomic_fetch_add(&end->done_count, 1);
}

static void note_gone(void *context)
{
    atomic_fetch_add(&((struct end *)context)->gone_count, 1);
}

static struct cpt_plan *plan_of(cpt_task_fn run)
{
    static struct cpt_task_def tasks[1]; /* valid as long as the plan */
    static struct cpt_graph graph;
    struct cpt_plan *plan = NULL;

    tasks[0] = (struct cpt_task_def){"A1",   run, CPT_GIVES(page), CPT_NEEDS(query),
                                     {NULL}, NULL};
    graph = (struct cpt_graph){"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    plan = cpt_plan_new(&graph, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    return plan;
}

static void test_any_number_of_requests(void)
{
    enum { REQUESTS = 50 };

    static struct end ends[REQUESTS];
    struct cpt_plan *plan = plan_of(nap);
    int got = 0;
    int question = 6;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .plan = plan,
                                          .executor = &now.executor,
                                          .done = note_done,
                                          .gone = note_gone};
    struct cpt_plan *short_plan = NULL;

    memset(ends, 0, sizeof ends);
    virtual_init(&now, 0);
    for (int i = 0; i < REQUESTS; i++) {
        options.input = &i; /* is copied */
        options.context = &ends[i];
        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    }
    virtual_run(&now);
    for (int i = 0; i < REQUESTS; i++) {
        CU_ASSERT_EQUAL(ends[i].page, i + 1);
        CU_ASSERT_EQUAL(ends[i].gone_count, 1);
    }
    cpt_plan_free(plan);
    short_plan = plan_of(add_one);
    options = (struct cpt_request_options){
        .struct_bytes = sizeof options, .plan = short_plan, .input = &question};
    CU_ASSERT_EQUAL(cpt_request_run(&options, &got, NULL, NULL), CPT_OK);
    CU_ASSERT_EQUAL(got, 7);
    cpt_plan_free(short_plan);
}

/* Starts one that is cancelled after 5 ms, or exceeds its deadline. */
static struct end start_long(uint64_t timeout_ns)
{
    static struct end end;
    const int question = 1;
    struct cpt_plan *plan = plan_of(nap_for_long);
    struct cpt_request_handle *handle = NULL;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = &now.executor,
                                                .input = &question,
                                                .done = note_done,
                                                .gone = note_gone,
                                                .context = &end,
                                                .is_traced = 1,
                                                .clock = &now.clock,
                                                .timeout_ns = timeout_ns};

    memset(&end, 0, sizeof end);
    virtual_init(&now, 0);
    CU_ASSERT_EQUAL(cpt_request_start_held(&options, &handle, NULL), CPT_OK);
    if (timeout_ns == 0) {
        virtual_run_until(&now, BEGIN + 5 * MS);
        CU_ASSERT_EQUAL(cpt_request_cancel(handle), 1);
    }
    virtual_run(&now);
    CU_ASSERT_EQUAL(cpt_request_cancel(handle), 0); /* it may outlive the request */
    cpt_request_handle_free(handle);
    CU_ASSERT_EQUAL(end.done_count, 1);
    CU_ASSERT_EQUAL(end.gone_count, 1);
    cpt_plan_free(plan);
    return end;
}

static void test_nobody_wants_it(void)
{
    CU_ASSERT_EQUAL(start_long(0).status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(now.now_ns, BEGIN + 5 * MS);
}

static void test_too_long(void)
{
    const struct end end = start_long(200 * MS);

    CU_ASSERT_EQUAL(end.status, CPT_TIMEOUT);
    CU_ASSERT_EQUAL(now.now_ns, BEGIN + 200 * MS);
    CU_ASSERT_STRING_EQUAL(
        end.sentence, "the request took too long: task 'A: A1' waited for 'A: nap'");
}

/* --- Real time --- */

static void write_to_eventfd(void *context)
{
    const uint64_t one = 1;

    CU_ASSERT_EQUAL(write(*(int *)context, &one, sizeof one), (ssize_t)sizeof one);
}

static int in_ms(uint64_t delay_ns)
{
    return delay_ns == UINT64_MAX ? -1 : (int)((delay_ns + MS - 1) / MS);
}

static void test_loop(void)
{
    int wakes = eventfd(0, EFD_NONBLOCK);
    const int question = 1;
    static struct end end;
    struct cpt_plan *plan = plan_of(nap);
    struct cpt_executor *executor = cpt_queue_executor_new(
        &(struct cpt_queue_executor_options){
            .struct_bytes = sizeof(struct cpt_queue_executor_options),
            .wake = write_to_eventfd,
            .context = &wakes},
        NULL);
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = executor,
                                                .input = &question,
                                                .done = note_done,
                                                .gone = note_gone,
                                                .context = &end};
    struct pollfd fds[] = {{.fd = wakes, .events = POLLIN}};

    memset(&end, 0, sizeof end);
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    while (end.gone_count == 0) {
        uint64_t count = 0;

        (void)poll(fds, 1, in_ms(cpt_queue_executor_next_ns(executor)));
        (void)!read(wakes, &count, sizeof count);
        (void)cpt_queue_executor_run(executor, 0);
    }
    CU_ASSERT_EQUAL(end.page, 2);
    cpt_queue_executor_free(executor);
    cpt_plan_free(plan);
    (void)close(wakes);
}

static struct cpt_mutex *cache;
static int cached;

static cpt_status count_in_cache(struct cpt_task *task)
{
    const struct timespec a_while = {.tv_nsec = 100000};

    cpt_mutex_lock(cache);
    *cpt_output(task, page) = ++cached;
    (void)nanosleep(&a_while, NULL);
    cpt_mutex_unlock(cache);
    return CPT_OK;
}

static void test_lock(void)
{
    enum { REQUESTS = 20 };

    static struct end ends[REQUESTS];
    const struct timespec a_while = {.tv_nsec = 1000000};
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = 2};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct cpt_plan *plan = plan_of(count_in_cache);
    const int question = 1;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .plan = plan,
                                          .executor = pool,
                                          .input = &question,
                                          .done = note_done,
                                          .gone = note_gone,
                                          .is_traced = 1};

    memset(ends, 0, sizeof ends);
    cached = 0;
    cache = cpt_mutex_new("cache", NULL);
    for (int i = 0; i < REQUESTS; i++) {
        options.context = &ends[i];
        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    }
    for (int i = 0; i < REQUESTS; i++) {
        while (atomic_load(&ends[i].gone_count) == 0) {
            (void)nanosleep(&a_while, NULL);
        }
        CU_ASSERT_EQUAL(ends[i].status, CPT_OK);
    }
    CU_ASSERT_EQUAL(cached, REQUESTS);
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    cpt_mutex_free(cache);
}

CU_TestInfo cpt_recipes_tests[] = {
    {"One graph, any number of requests", test_any_number_of_requests},
    {"Compute, call, compute", test_call},
    {"Compute while a call is outstanding", test_compute_on},
    {"Any number of calls at once", test_all_at_once},
    {"A deadline for one call", test_deadline_of_a_call},
    {"A deadline for all waits of a task", test_no_longer},
    {"A deadline for all waits of a task: a single one", test_one_no_longer},
    {"The first of several; Cancel what is not needed", test_quorum},
    {"Retry", test_try_again},
    {"Start a task on demand", test_on_demand},
    {"Code deep below a task", test_current_task},
    {"Code that cannot return", test_wait},
    {"Your own event loop", test_loop},
    {"A lock of the application", test_lock},
    {"A request that takes too long", test_too_long},
    {"Cancel a request", test_nobody_wants_it},
    {"Continue after the answer", test_answer_first},
    CU_TEST_INFO_NULL,
};
