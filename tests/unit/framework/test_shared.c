/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_shared.c - one run for several requests: the output and the time of each */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "framework/cpt_shared.h"

#include <stdio.h>
#include <string.h>

static struct virtual_time now;

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

CPT_VALUE(query, int);
CPT_VALUE(page, int);
CPT_VALUE(key, int);
CPT_VALUE(entry, int);
CPT_VALUE(keys, struct cpt_batch);

struct answers {
    int of[8];
};
CPT_VALUE(answers, struct answers);

/* --- The shared work: a fill that takes 2 and 20 ms --- */

static int fill_count;
static cpt_status fill_status;

static cpt_status filled(struct cpt_task *task)
{
    if (fill_status != CPT_OK) {
        return cpt_fail(task, fill_status, "no entry %d", *cpt_input(task, key));
    }
    *cpt_output(task, entry) = *cpt_input(task, key) * 10;
    return CPT_OK;
}

static cpt_status fill(struct cpt_task *task)
{
    fill_count++;
    spend(2);
    return cpt_await(task, cpt_sleep(task, "disk", 20 * MS), filled);
}

static const struct cpt_task_def fill_tasks[] = {
    {"load", fill, CPT_GIVES(entry), CPT_NEEDS(key), {NULL}, NULL}};
static const struct cpt_graph fill_graph = {"S", CPT_GIVES(key), CPT_GIVES(entry),
                                            fill_tasks, 1};

/* A batch: 5 ms for all. */
static cpt_status answer(struct cpt_task *task)
{
    const struct cpt_batch *batch = cpt_input(task, keys);
    const int *keys = batch->items;

    fill_count++;
    spend(5);
    for (size_t i = 0; i < batch->count; i++) {
        cpt_output(task, answers)->of[i] = keys[i] * 10 + (int)batch->count;
    }
    return CPT_OK;
}

static const struct cpt_task_def batch_tasks[] = {
    {"answer", answer, CPT_GIVES(answers), CPT_NEEDS(keys), {NULL}, NULL}};
static const struct cpt_graph batch_graph = {"S", CPT_GIVES(keys), CPT_GIVES(answers),
                                             batch_tasks, 1};

/* --- Requests: for key 7 at once, or at the time in ms that the query gives --- */

static struct cpt_shared *cache;
static struct cpt_shared *batches;
static const char *asked_key;

struct asking {
    struct cpt_pending *pending;
};

static cpt_status use_entry(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_state(task, struct asking)->pending;
    const int *entry = cpt_run_output(pending, entry);

    spend(1);
    if (entry == NULL) {
        return cpt_fail(task, cpt_pending_status(pending), "%s",
                        cpt_run_sentence(pending));
    }
    *cpt_output(task, page) = *entry;
    return CPT_OK;
}

static cpt_status ask_cache(struct cpt_task *task)
{
    static const int seven = 7;
    struct asking *asking = cpt_state(task, struct asking);

    if (asking == NULL) {
        return CPT_NO_MEMORY;
    }
    asking->pending = cpt_share(task, cache, cpt_bytes_of(asked_key), key, &seven);
    return cpt_await(task, asking->pending, use_entry);
}

static cpt_status ask_for_so_long(struct cpt_task *task)
{
    static const int seven = 7;

    cpt_state(task, struct asking)->pending =
        cpt_share(task, cache, cpt_bytes_of(asked_key), key, &seven);
    return cpt_await_all_for(task, 6 * MS, use_entry);
}

static cpt_status use_answer(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_state(task, struct asking)->pending;
    const struct answers *answers = cpt_run_output(pending, answers);

    if (answers == NULL) {
        return CPT_FAILED;
    }
    *cpt_output(task, page) = answers->of[cpt_share_index(pending)];
    return CPT_OK;
}

static cpt_status ask_batch(struct cpt_task *task)
{
    cpt_state(task, struct asking)->pending =
        cpt_share(task, batches, cpt_bytes_of(""), key, cpt_input(task, query));
    return cpt_await(task, cpt_state(task, struct asking)->pending, use_answer);
}

#define ONE_TASK(name, run)                                                            \
    static const struct cpt_task_def name##_tasks[] = {                                \
        {"A", run, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL}};                  \
    static const struct cpt_graph name##_graph = {"S", CPT_GIVES(query),               \
                                                  CPT_GIVES(page), name##_tasks, 1}

ONE_TASK(asker, ask_cache);
ONE_TASK(hasty, ask_for_so_long);
ONE_TASK(batcher, ask_batch);

static struct cpt_plan *fill_plan;
static struct cpt_plan *batch_plan;
static struct cpt_plan *asker_plan;
static struct cpt_plan *hasty_plan;
static struct cpt_plan *batcher_plan;
static struct outcome outcomes[8];
static size_t outcome_count;

static void set_up(struct cpt_shared_options options)
{
    const size_t batch_count_max = options.batch_count_max;
    struct cpt_error error = {0};

    virtual_init(&now, 0);
    memset(outcomes, 0, sizeof outcomes);
    outcome_count = 0;
    fill_count = 0;
    fill_status = CPT_OK;
    asked_key = "seven";
    fill_plan = cpt_plan_new(&fill_graph, NULL, NULL);
    batch_plan = cpt_plan_new(&batch_graph, NULL, NULL);
    asker_plan = cpt_plan_new(&asker_graph, NULL, NULL);
    hasty_plan = cpt_plan_new(&hasty_graph, NULL, NULL);
    batcher_plan = cpt_plan_new(&batcher_graph, NULL, NULL);
    options.struct_bytes = sizeof options;
    options.name = "cache";
    options.plan = fill_plan;
    options.batch_count_max = 0;
    cache = cpt_shared_new(&options, &error);
    options.name = "bulk";
    options.plan = batch_plan;
    options.batch_count_max = batch_count_max != 0 ? batch_count_max : 3;
    options.batch_delay_ns = 10 * MS;
    options.item = CPT_GIVES(key);
    batches = cpt_shared_new(&options, &error);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(batches);
}

static void tear_down(void)
{
    for (size_t i = 0; i < outcome_count; i++) {
        CU_ASSERT_EQUAL(outcomes[i].done_count, 1);
        CU_ASSERT_EQUAL(outcomes[i].gone_count, 1);
    }
    cpt_shared_free(cache);
    cpt_shared_free(batches);
    cpt_plan_free(fill_plan);
    cpt_plan_free(batch_plan);
    cpt_plan_free(asker_plan);
    cpt_plan_free(hasty_plan);
    cpt_plan_free(batcher_plan);
}

/* A request that arrives @ms after the beginning of the test. */
static void come_at(unsigned ms, const struct cpt_plan *plan, int query, int is_traced)
{
    virtual_run_until(&now, 1000 * (uint64_t)MS + (uint64_t)ms * MS);
    CU_ASSERT_EQUAL(
        start_one(&now, plan, &query, is_traced, &outcomes[outcome_count++]), CPT_OK);
}

/* --- Single flight --- */

#define LOAD "S: /;S: A;S: cache;S: load"

static void test_single_flight(void)
{
    set_up((struct cpt_shared_options){0});
    come_at(0, asker_plan, 1, 1);
    come_at(1, asker_plan, 1, 1);
    come_at(9, asker_plan, 1, 1);
    virtual_run(&now);
    CU_ASSERT_EQUAL(fill_count, 1);
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(outcomes[i].output, 70);
    }
    CU_ASSERT_STRING_EQUAL(outcomes[0].path,
                           LOAD " 2, " LOAD ";S: disk[coalesced=3] 20, S: /;S: A 1");
    tear_down();
}

/* A late request is charged the rest of the run; the worker was busy until 2. */
static void test_a_late_joiner_has_the_tail(void)
{
    set_up((struct cpt_shared_options){0});
    come_at(0, asker_plan, 1, 1);
    come_at(9, asker_plan, 1, 1);
    virtual_run(&now);
    CU_ASSERT_EQUAL(fill_count, 1);
    CU_ASSERT_STRING_EQUAL(outcomes[1].path,
                           LOAD ";S: disk[coalesced=2] 13, S: /;S: A;S: ‹queue› 1, "
                                "S: /;S: A 1");
    CU_ASSERT_EQUAL(outcomes[1].latency_ns, 15 * MS);
    tear_down();
}

/* Another key is another run; after the end of a run the next one begins anew. */
static void test_keys_and_ends(void)
{
    set_up((struct cpt_shared_options){0});
    come_at(0, asker_plan, 1, 0);
    virtual_run_until(&now, 1000 * (uint64_t)MS);
    asked_key = "eight";
    come_at(1, asker_plan, 1, 0);
    virtual_run(&now);
    CU_ASSERT_EQUAL(fill_count, 2);
    come_at(100, asker_plan, 1, 0);
    virtual_run(&now);
    CU_ASSERT_EQUAL(fill_count, 3);
    tear_down();
}

/* The run of an untraced request still records its times. */
static void test_untraced_first(void)
{
    set_up((struct cpt_shared_options){0});
    come_at(0, asker_plan, 1, 0);
    come_at(9, asker_plan, 1, 1);
    virtual_run(&now);
    CU_ASSERT_STRING_EQUAL(outcomes[1].path,
                           LOAD ";S: disk[coalesced=2] 13, S: /;S: A;S: ‹queue› 1, "
                                "S: /;S: A 1");
    tear_down();
}

static void test_untraced_run_is_a_blind_spot(void)
{
    set_up((struct cpt_shared_options){.is_traced_on_demand = 1});
    come_at(0, asker_plan, 1, 0);
    virtual_run_until(&now, 1005 * (uint64_t)MS);
    CU_ASSERT_EQUAL(now.read_count, 0);
    come_at(9, asker_plan, 1, 1);
    virtual_run(&now);
    CU_ASSERT_STRING_EQUAL(outcomes[1].path, "S: /;S: A;S: cache;S: ‹blind spot› 13, "
                                             "S: /;S: A;S: ‹queue› 1, S: /;S: A 1");
    tear_down();
}

static void test_failure_reaches_all(void)
{
    set_up((struct cpt_shared_options){0});
    fill_status = CPT_IO;
    come_at(0, asker_plan, 1, 1);
    come_at(9, asker_plan, 1, 1);
    virtual_run(&now);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(outcomes[i].status, CPT_IO);
        CU_ASSERT_STRING_EQUAL(outcomes[i].sentence,
                               "task 'S: A': task 'S: load': no entry 7");
    }
    tear_down();
}

static void test_who_gives_up_leaves(void)
{
    set_up((struct cpt_shared_options){0});
    come_at(0, hasty_plan, 1, 1);
    come_at(3, asker_plan, 1, 1);
    virtual_run_until(&now, 1010 * (uint64_t)MS);
    CU_ASSERT_EQUAL(outcomes[0].status, CPT_TIMEOUT);
    CU_ASSERT_EQUAL(outcomes[0].gone_count, 1); /* the run does not keep it */
    CU_ASSERT_STRING_EQUAL(outcomes[0].path,
                           "S: /;S: A;S: cache;S: ‹timeout› 6, S: /;S: A 1");
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcomes[1].output, 70);
    CU_ASSERT_STRING_EQUAL(outcomes[1].path,
                           LOAD ";S: disk[coalesced=2] 19, S: /;S: A 1");
    tear_down();
}

static void test_all_may_leave(void)
{
    set_up((struct cpt_shared_options){0});
    come_at(0, hasty_plan, 1, 1);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcomes[0].status, CPT_TIMEOUT);
    tear_down();
}

/* A request that is cancelled from outside leaves too; the run and the others go on. */
static void test_who_is_cancelled_leaves(void)
{
    struct cpt_request_handle *handle = NULL;
    const int query = 1;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .executor = &now.executor,
                                          .input = &query,
                                          .done = note_outcome,
                                          .gone = note_gone,
                                          .context = &outcomes[0],
                                          .clock = &now.clock};

    set_up((struct cpt_shared_options){0});
    options.plan = asker_plan;
    outcome_count = 1;
    CU_ASSERT_EQUAL(cpt_request_start_held(&options, &handle, NULL), CPT_OK);
    come_at(3, asker_plan, 1, 1);
    virtual_run_until(&now, 1010 * (uint64_t)MS);
    CU_ASSERT_EQUAL(cpt_request_cancel(handle), 1);
    CU_ASSERT_EQUAL(outcomes[0].status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(outcomes[0].gone_count, 1);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcomes[1].output, 70);
    cpt_request_handle_free(handle);
    tear_down();
}

/* --- Limits --- */

static void test_limits(void)
{
    char key[CPT_SHARED_KEY_BYTES_MAX + 2];

    set_up((struct cpt_shared_options){.keys_max = 2, .waiters_max = 2});
    come_at(0, asker_plan, 1, 0);
    come_at(3, asker_plan, 1, 0);
    come_at(4, asker_plan, 1, 0);
    virtual_run_until(&now, 1005 * (uint64_t)MS);
    CU_ASSERT_EQUAL(outcomes[2].status, CPT_LIMIT);
    CU_ASSERT_STRING_EQUAL(outcomes[2].sentence,
                           "task 'S: A': 2 requests wait for a key of shared work "
                           "\"cache\", the limit is 2");
    asked_key = "eight";
    come_at(6, asker_plan, 1, 0);
    virtual_run_until(&now, 1006 * (uint64_t)MS);
    asked_key = "nine";
    come_at(9, asker_plan, 1, 0);
    virtual_run_until(&now, 1009 * (uint64_t)MS);
    CU_ASSERT_EQUAL(outcomes[3].status, 0);
    CU_ASSERT_STRING_EQUAL(outcomes[4].sentence,
                           "task 'S: A': shared work \"cache\" runs for 2 keys, the "
                           "limit is 2");
    virtual_run(&now);
    memset(key, 'k', sizeof key);
    key[CPT_SHARED_KEY_BYTES_MAX] = '\0';
    asked_key = key;
    come_at(100, asker_plan, 1, 0);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcomes[5].output, 70);
    key[CPT_SHARED_KEY_BYTES_MAX] = 'k';
    key[CPT_SHARED_KEY_BYTES_MAX + 1] = '\0';
    come_at(200, asker_plan, 1, 0);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcomes[6].status, CPT_LIMIT);
    tear_down();
}

/* --- Batches --- */

#define BULK "S: /;S: A;S: bulk"

static void test_batch_by_time(void)
{
    set_up((struct cpt_shared_options){0});
    come_at(0, batcher_plan, 4, 1);
    come_at(3, batcher_plan, 5, 1);
    virtual_run(&now);
    CU_ASSERT_EQUAL(fill_count, 1);
    CU_ASSERT_EQUAL(outcomes[0].output, 42);
    CU_ASSERT_EQUAL(outcomes[1].output, 52);
    CU_ASSERT_STRING_EQUAL(outcomes[0].path, BULK ";S: ‹batch wait› 10, " BULK
                                                  ";S: answer[coalesced=2] 5");
    CU_ASSERT_STRING_EQUAL(outcomes[1].path, BULK ";S: ‹batch wait› 7, " BULK
                                                  ";S: answer[coalesced=2] 5");
    tear_down();
}

static void test_batch_by_count(void)
{
    set_up((struct cpt_shared_options){0});
    for (unsigned i = 0; i < 4; i++) {
        come_at(2 * i, batcher_plan, (int)i, 1);
    }
    virtual_run(&now);
    CU_ASSERT_EQUAL(fill_count, 2); /* three at once, the fourth when its time came */
    CU_ASSERT_EQUAL(outcomes[2].output, 23);
    CU_ASSERT_EQUAL(outcomes[3].output, 31);
    CU_ASSERT_STRING_EQUAL(outcomes[0].path, BULK ";S: ‹batch wait› 4, " BULK
                                                  ";S: answer[coalesced=3] 5");
    CU_ASSERT_STRING_EQUAL(outcomes[2].path, BULK ";S: answer[coalesced=3] 5");
    tear_down();
}

static void test_batch_of_one(void)
{
    set_up((struct cpt_shared_options){.batch_count_max = 1});
    come_at(0, batcher_plan, 4, 1);
    virtual_run(&now);
    CU_ASSERT_STRING_EQUAL(outcomes[0].path, BULK ";S: answer[coalesced=1] 5");
    CU_ASSERT_EQUAL(now.timer_count, 0);
    tear_down();
}

static void test_refused_options(void)
{
    struct cpt_shared_options options = {.struct_bytes = sizeof options};
    struct cpt_error error = {0};

    CU_ASSERT_PTR_NULL(cpt_shared_new(&options, &error));
    CU_ASSERT_STRING_EQUAL(error.sentence, "shared work needs a plan and a name");
    set_up((struct cpt_shared_options){0});
    options.plan = fill_plan;
    options.name = "cache";
    options.batch_count_max = CPT_SHARED_BATCH_MAX + 1;
    CU_ASSERT_PTR_NULL(cpt_shared_new(&options, NULL));
    options.batch_count_max = CPT_SHARED_BATCH_MAX;
    error = (struct cpt_error){0};
    CU_ASSERT_PTR_NULL(
        cpt_shared_new(&options, &error)); /* its plan accepts no batch */
    CU_ASSERT_EQUAL(error.status, CPT_INVALID);
    options.batch_count_max = 0;
    options.keys_max = CPT_SHARED_KEYS_MAX + 1;
    CU_ASSERT_PTR_NULL(cpt_shared_new(&options, NULL));
    tear_down();
}

/* --- A run that asks for its own key --- */

static cpt_status pass_on(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_state(task, struct asking)->pending;

    return cpt_fail(task, cpt_pending_status(pending), "%s", cpt_run_sentence(pending));
}

/* "seven" asks for "8", that for "9", and that for "seven". */
static cpt_status ask_in_a_circle(struct cpt_task *task)
{
    const int more = *cpt_input(task, key) + 1;
    char name[16];

    (void)snprintf(name, sizeof name, "%d", more);
    cpt_state(task, struct asking)->pending =
        cpt_share(task, cache, cpt_bytes_of(more == 10 ? "seven" : name), key, &more);
    return cpt_await(task, cpt_state(task, struct asking)->pending, pass_on);
}

static const struct cpt_task_def circle_tasks[] = {
    {"load", ask_in_a_circle, CPT_GIVES(entry), CPT_NEEDS(key), {NULL}, NULL}};
static const struct cpt_graph circle_graph = {"S", CPT_GIVES(key), CPT_GIVES(entry),
                                              circle_tasks, 1};

static void test_circle_is_refused(void)
{
    struct cpt_shared_options options = {.struct_bytes = sizeof options};

    set_up((struct cpt_shared_options){0});
    cpt_shared_free(cache);
    options.name = "cache";
    options.plan = cpt_plan_new(&circle_graph, NULL, NULL);
    cache = cpt_shared_new(&options, NULL);
    come_at(0, asker_plan, 1, 1);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcomes[0].status, CPT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        outcomes[0].sentence, "a run of shared work \"cache\" asks for its own key"));
    tear_down();
    cpt_plan_free((struct cpt_plan *)(uintptr_t)options.plan);
}

/* --- Memory --- */

static void test_without_memory(void)
{
    struct failing_alloc fa;
    size_t total = 1;

    for (size_t n = 0; n <= total; n++) {
        set_up((struct cpt_shared_options){0});
        cpt_shared_free(cache);
        failing_alloc_init(&fa, n);
        cache =
            cpt_shared_new(&(struct cpt_shared_options){.struct_bytes = sizeof(
                                                            struct cpt_shared_options),
                                                        .plan = fill_plan,
                                                        .name = "cache",
                                                        .alloc = &fa.alloc},
                           NULL);
        if (cache != NULL) {
            come_at(0, asker_plan, 1, 1);
            come_at(9, asker_plan, 1, 1);
            virtual_run(&now);
            CU_ASSERT_TRUE(outcomes[0].output == 70 ||
                           outcomes[0].status == CPT_NO_MEMORY ||
                           outcomes[0].status == CPT_LIMIT);
        }
        total = n == 0 ? fa.call_count : total;
        tear_down();
        CU_ASSERT_EQUAL(fa.live_count, 0);
    }
    CU_ASSERT_TRUE(total > 3);
}

CU_TestInfo cpt_shared_tests[] = {
    {"one run serves all requests", test_single_flight},
    {"a late joiner is charged the tail", test_a_late_joiner_has_the_tail},
    {"keys are apart, and nothing is kept", test_keys_and_ends},
    {"a run of an untraced request records its times", test_untraced_first},
    {"an untraced run is a blind spot", test_untraced_run_is_a_blind_spot},
    {"failure reaches all", test_failure_reaches_all},
    {"a request whose deadline passes leaves", test_who_gives_up_leaves},
    {"a cancelled request leaves", test_who_is_cancelled_leaves},
    {"all may leave", test_all_may_leave},
    {"keys, waiters and keys' length have limits", test_limits},
    {"a batch begins when its time comes", test_batch_by_time},
    {"a batch begins when it is full", test_batch_by_count},
    {"a batch of one does not wait", test_batch_of_one},
    {"wrong options are refused", test_refused_options},
    {"a run that asks for its own key is refused", test_circle_is_refused},
    {"each allocation may fail", test_without_memory},
    CU_TEST_INFO_NULL,
};
