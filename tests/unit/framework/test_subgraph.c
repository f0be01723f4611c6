/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_subgraph.c - components that are started while a request runs: their output,
 * their path, and what remains when they fail */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "framework/cpt_graph.h"

#include <stdio.h>
#include <string.h>

static struct virtual_time now;

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

CPT_VALUE(query, int);
CPT_VALUE(parts, int);
CPT_VALUE(page, int);
CPT_VALUE(item, int);
CPT_VALUE(weight, int);
CPT_VALUE(score, int);

/* --- The component: two tasks, as long as its input gives --- */

static cpt_status weigh(struct cpt_task *task)
{
    spend(2);
    *cpt_output(task, weight) = *cpt_input(task, item) * 10;
    return CPT_OK;
}

static cpt_status scored(struct cpt_task *task)
{
    *cpt_output(task, score) = *cpt_input(task, weight) + 1;
    return CPT_OK;
}

static cpt_status rate(struct cpt_task *task)
{
    spend(1);
    return cpt_await(
        task, cpt_sleep(task, "disk", (uint64_t)*cpt_input(task, weight) * MS), scored);
}

static const struct cpt_task_def item_tasks[] = {
    {"weigh", weigh, CPT_GIVES(weight), CPT_NEEDS(item), {NULL}, NULL},
    {"rate", rate, CPT_GIVES(score), CPT_NEEDS(weight), {NULL}, NULL},
};
static const struct cpt_graph item_graph = {"S", CPT_GIVES(item), CPT_GIVES(score),
                                            item_tasks, 2};
static struct cpt_plan *item_plan;

static void set_up(void)
{
    item_plan = cpt_plan_new(&item_graph, NULL, NULL);
}

static void tear_down(void)
{
    cpt_plan_free(item_plan);
}

/* Runs one task that begins with @run. */
static struct outcome run_task(cpt_task_fn run, int is_traced)
{
    const struct cpt_task_def tasks[] = {
        {"A", run, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL}};
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    struct outcome outcome;

    set_up();
    outcome = run_one(&now, &graph, is_traced);
    tear_down();
    CU_ASSERT_EQUAL(outcome.done_count, 1);
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
    return outcome;
}

/* --- One component --- */

struct waiting {
    struct cpt_pending *first;
    struct cpt_pending *second;
};

static cpt_status use_one(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_state(task, struct waiting)->first;

    spend(3);
    CU_ASSERT_PTR_NULL(cpt_run_output(pending, weight)); /* that is not its output */
    CU_ASSERT_STRING_EQUAL(cpt_run_sentence(pending), "");
    *cpt_output(task, page) = *cpt_run_output(pending, score);
    return CPT_OK;
}

static cpt_status spawn_one(struct cpt_task *task)
{
    struct waiting *waiting = cpt_state(task, struct waiting);

    spend(4);
    waiting->first = cpt_spawn(task, "item", item_plan, item, cpt_input(task, query));
    CU_ASSERT_PTR_NULL(cpt_run_output(waiting->first, score)); /* not yet */
    spend(5); /* computes: not on the path */
    return cpt_await(task, waiting->first, use_one);
}

static void test_component_on_the_path(void)
{
    const struct outcome outcome = run_task(spawn_one, 1);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, 11);
    CU_ASSERT_EQUAL(outcome.latency_ns, 25 * MS); /* 4 + 5 + 2 + 1 + 10 + 3 */
    /* It was queued while the only worker computed. */
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: A 4, S: /;S: A;S: item;S: weigh;S: ‹queue› 5, "
                           "S: /;S: A;S: item;S: weigh 2, S: /;S: A;S: item;S: rate 1, "
                           "S: /;S: A;S: item;S: rate;S: disk 10, S: /;S: A 3");
}

static void test_untraced_component(void)
{
    const struct outcome outcome = run_task(spawn_one, 0);

    CU_ASSERT_EQUAL(outcome.output, 11);
    CU_ASSERT_EQUAL(now.read_count, 0);
}

/* --- A map over n elements --- */

enum { ITEMS = 40 };

struct mapping {
    struct cpt_pending *items[ITEMS];
};

static cpt_status reduce(struct cpt_task *task)
{
    const struct mapping *mapping = cpt_state(task, struct mapping);
    int sum = 0;

    for (int i = 0; i < ITEMS; i++) {
        sum += *cpt_run_output(mapping->items[i], score);
    }
    *cpt_output(task, page) = sum;
    return CPT_OK;
}

static cpt_status map(struct cpt_task *task)
{
    struct mapping *mapping = cpt_state(task, struct mapping);

    for (int i = 0; i < ITEMS; i++) {
        mapping->items[i] = cpt_spawn(task, "item", item_plan, item, &i);
    }
    return cpt_await_all(task, reduce);
}

/* One worker weighs and rates all, 3 ms each; then the last one's disk is longest. */
static void test_map(void)
{
    const struct outcome outcome = run_task(map, 1);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, 10 * ITEMS * (ITEMS - 1) / 2 + ITEMS);
    CU_ASSERT_STRING_EQUAL(
        outcome.path,
        "S: /;S: A;S: item;S: weigh;S: ‹queue› 117, S: /;S: A;S: item;S: weigh 2, "
        "S: /;S: A;S: item;S: rate 1, S: /;S: A;S: item;S: rate;S: disk 390");
}

/* --- Recursion --- */

static struct cpt_plan *fold_plan;

static cpt_status folded(struct cpt_task *task)
{
    struct cpt_pending *inner = cpt_state(task, struct waiting)->first;
    const int *score = cpt_run_output(inner, score);

    spend(1);
    if (score == NULL) {
        return cpt_fail(task, cpt_pending_status(inner), "%s", cpt_run_sentence(inner));
    }
    *cpt_output(task, score) = *score + 1;
    return CPT_OK;
}

static cpt_status fold(struct cpt_task *task)
{
    const int left = *cpt_input(task, item);
    const int less = left - 1;

    spend(1);
    if (left == 0) {
        *cpt_output(task, score) = 0;
        return CPT_OK;
    }
    cpt_state(task, struct waiting)->first =
        cpt_spawn(task, "fold", fold_plan, item, &less);
    return cpt_await(task, cpt_state(task, struct waiting)->first, folded);
}

static const struct cpt_task_def fold_tasks[] = {
    {"step", fold, CPT_GIVES(score), CPT_NEEDS(item), {NULL}, NULL}};
static const struct cpt_graph fold_graph = {"S", CPT_GIVES(item), CPT_GIVES(score),
                                            fold_tasks, 1};

static struct outcome run_fold(int depth)
{
    struct outcome outcome = {0};

    fold_plan = cpt_plan_new(&fold_graph, NULL, NULL);
    virtual_init(&now, 0);
    CU_ASSERT_EQUAL(start_one(&now, fold_plan, &depth, 1, &outcome), CPT_OK);
    virtual_run(&now);
    cpt_plan_free(fold_plan);
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
    return outcome;
}

static void test_recursion_repeats_its_frames(void)
{
    const struct outcome outcome = run_fold(2);

    CU_ASSERT_EQUAL(outcome.output, 2);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: step 1, S: /;S: step;S: fold;S: step 1, "
                           "S: /;S: step;S: fold;S: step;S: fold;S: step 1, "
                           "S: /;S: step;S: fold;S: step 1, S: /;S: step 1");
}

static void test_recursion_has_a_limit(void)
{
    CU_ASSERT_EQUAL(run_fold(CPT_NESTING_MAX - 1).output, CPT_NESTING_MAX - 1);
    CU_ASSERT_EQUAL(run_fold(CPT_NESTING_MAX).output, CPT_NESTING_MAX);
    CU_ASSERT_EQUAL(run_fold(CPT_NESTING_MAX).latency_ns,
                    (2 * CPT_NESTING_MAX + 1) * (uint64_t)MS);
    CU_ASSERT_EQUAL(run_fold(CPT_NESTING_MAX + 1).status, CPT_LIMIT);
}

static cpt_status see_limit(struct cpt_task *task)
{
    *cpt_output(task, page) = 1;
    CU_ASSERT_EQUAL(cpt_pending_status(cpt_state(task, struct waiting)->first),
                    CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(
        cpt_run_sentence(cpt_state(task, struct waiting)->first),
        "\"odd\" takes \"item\" of 4 bytes, but is given \"query\" of 4");
    return CPT_OK;
}

static cpt_status spawn_with_other_input(struct cpt_task *task)
{
    struct waiting *waiting = cpt_state(task, struct waiting);

    waiting->first = cpt_spawn(task, "odd", item_plan, query, cpt_input(task, query));
    return cpt_await(task, waiting->first, see_limit);
}

static void test_other_input_is_refused(void)
{
    CU_ASSERT_EQUAL(run_task(spawn_with_other_input, 1).output, 1);
}

/* --- Failure --- */

static cpt_status fail_item(struct cpt_task *task)
{
    spend(2);
    return cpt_fail(task, CPT_IO, "no item %d", *cpt_input(task, item));
}

static const struct cpt_task_def failing_tasks[] = {
    {"weigh", fail_item, CPT_GIVES(score), CPT_NEEDS(item), {NULL}, NULL}};
static const struct cpt_graph failing_graph = {"S", CPT_GIVES(item), CPT_GIVES(score),
                                               failing_tasks, 1};
static struct cpt_plan *failing_plan;

static cpt_status pass_failure_on(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_state(task, struct waiting)->first;

    CU_ASSERT_PTR_NULL(cpt_run_output(pending, score));
    return cpt_fail(task, cpt_pending_status(pending), "%s", cpt_run_sentence(pending));
}

static cpt_status spawn_failing(struct cpt_task *task)
{
    struct waiting *waiting = cpt_state(task, struct waiting);

    waiting->first =
        cpt_spawn(task, "item", failing_plan, item, cpt_input(task, query));
    return cpt_await(task, waiting->first, pass_failure_on);
}

static void test_failure_reaches_the_parent(void)
{
    struct outcome outcome;

    failing_plan = cpt_plan_new(&failing_graph, NULL, NULL);
    outcome = run_task(spawn_failing, 1);
    cpt_plan_free(failing_plan);
    CU_ASSERT_EQUAL(outcome.status, CPT_IO);
    CU_ASSERT_STRING_EQUAL(outcome.sentence, "task 'S: A': task 'S: weigh': no item 1");
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;S: A;S: item;S: weigh 2");
}

/* --- Abandoned --- */

static cpt_status after_deadline(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_state(task, struct waiting)->first;

    spend(1);
    CU_ASSERT_EQUAL(cpt_pending_status(pending), CPT_TIMEOUT);
    CU_ASSERT_PTR_NULL(cpt_run_output(pending, score));
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

static cpt_status spawn_for_so_long(struct cpt_task *task)
{
    cpt_state(task, struct waiting)->first =
        cpt_spawn(task, "item", item_plan, item, cpt_input(task, query));
    return cpt_await_all_for(task, 6 * MS, after_deadline);
}

/* A deadline cancels what it abandons: nothing of the component is left. */
static void test_deadline_cancels(void)
{
    const struct outcome outcome = run_task(spawn_for_so_long, 1);

    CU_ASSERT_EQUAL(outcome.output, 1);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: A;S: item;S: ‹timeout› 6, S: /;S: A 1");
    CU_ASSERT_EQUAL(now.now_ns, 1000 * (uint64_t)MS + 7 * MS); /* no timer was left */
}

static cpt_status spawn_and_leave(struct cpt_task *task)
{
    (void)cpt_spawn(task, "item", item_plan, item, cpt_input(task, query));
    spend(1);
    *cpt_output(task, page) = 5;
    return CPT_OK;
}

static void test_component_without_a_waiter(void)
{
    const struct outcome outcome = run_task(spawn_and_leave, 1);

    CU_ASSERT_EQUAL(outcome.output, 5);
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;S: A 1");
}

static cpt_status spawn_and_fail(struct cpt_task *task)
{
    (void)cpt_spawn(task, "item", item_plan, item, cpt_input(task, query));
    return CPT_IO;
}

static void test_failure_of_the_parent_cancels(void)
{
    const struct outcome outcome = run_task(spawn_and_fail, 1);

    CU_ASSERT_EQUAL(outcome.status, CPT_IO);
    CU_ASSERT_EQUAL(now.now_ns, 1000 * (uint64_t)MS); /* no task of it began */
}

/* --- Code that cannot return --- */

static cpt_status wait_for_one(struct cpt_task *task)
{
    struct cpt_pending *pending = NULL;

    spend(4);
    pending = cpt_spawn(task, "item", item_plan, item, cpt_input(task, query));
    CU_ASSERT_EQUAL(cpt_wait(task, pending), CPT_OK);
    spend(3);
    *cpt_output(task, page) = *cpt_run_output(pending, score);
    return CPT_OK;
}

static void test_waiting_in_the_step(void)
{
    const struct outcome outcome = run_task(wait_for_one, 1);

    CU_ASSERT_EQUAL(outcome.output, 11);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: A 4, S: /;S: A;S: item;S: weigh 2, "
                           "S: /;S: A;S: item;S: rate 1, "
                           "S: /;S: A;S: item;S: rate;S: disk 10, S: /;S: A 3");
}

/* --- A component in place of a function --- */

CPT_VALUE(first_score, int);
CPT_VALUE(second_score, int);

static cpt_status add_scores(struct cpt_task *task)
{
    spend(3);
    *cpt_output(task, page) =
        *cpt_input(task, first_score) + *cpt_input(task, second_score);
    return CPT_OK;
}

/* One graph twice: the second item is what the first one scored. */
static const struct cpt_task_def twice_tasks[] = {
    {"first", NULL, CPT_GIVES(first_score), CPT_NEEDS(query), .component = &item_graph},
    {"second", NULL, CPT_GIVES(second_score), CPT_NEEDS(first_score),
     .component = &item_graph},
    {"add", add_scores, CPT_GIVES(page), CPT_NEEDS(first_score, second_score)},
};
static const struct cpt_graph twice = {"T", CPT_GIVES(query), CPT_GIVES(page),
                                       twice_tasks, 3};

/* Its tasks have the name of the service that it belongs to. */
static void test_static_component(void)
{
    const struct outcome outcome = run_one(&now, &twice, 1);

    CU_ASSERT_EQUAL(outcome.output, 11 + 111);
    CU_ASSERT_STRING_EQUAL(
        outcome.path,
        "S: /;T: first;T: weigh 2, S: /;T: first;T: rate 1, "
        "S: /;T: first;T: rate;T: disk 10, S: /;T: second;T: weigh 2, "
        "S: /;T: second;T: rate 1, S: /;T: second;T: rate;T: disk 110, S: /;T: add 3");
    CU_ASSERT_EQUAL(run_one(&now, &twice, 0).output, 11 + 111);
    CU_ASSERT_EQUAL(now.read_count, 0);
}

static cpt_status render_without(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_input_status(task, first_score), CPT_IO);
    *cpt_output(task, page) = 8;
    return CPT_OK;
}

/* --- A run that ends before its starter goes on --- */

static void (*plain_submit)(struct cpt_executor *executor, struct cpt_work *work);
static int submit_count;

/* The second submission, which launches a component, wakes a quicker thread: that runs
 * the component to its end before this one has a processor again. */
static void lose_the_processor(struct cpt_executor *executor, struct cpt_work *work)
{
    plain_submit(executor, work);
    if (++submit_count == 2) {
        virtual_run(&now);
        spend(1);
    }
}

static struct outcome run_losing(const struct cpt_graph *losing, int is_traced)
{
    struct outcome outcome = {.output = -1};
    struct cpt_plan *plan = cpt_plan_new(losing, NULL, NULL);
    const int one = 1;

    virtual_init(&now, 0);
    plain_submit = now.executor.submit;
    now.executor.submit = lose_the_processor;
    submit_count = 0;
    CU_ASSERT_EQUAL(start_one(&now, plan, &one, is_traced, &outcome), CPT_OK);
    virtual_run(&now);
    cpt_plan_free(plan);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    return outcome;
}

static cpt_status spawn_and_lose(struct cpt_task *task)
{
    struct waiting *waiting = cpt_state(task, struct waiting);

    spend(4);
    waiting->first = cpt_spawn(task, "item", item_plan, item, cpt_input(task, query));
    CU_ASSERT_EQUAL(cpt_pending_status(waiting->first), CPT_OK); /* already */
    spend(5);
    return cpt_await(task, waiting->first, use_one);
}

/* The time is the run's, with its inside; what follows is the task's own. */
static void test_spawned_run_ends_first(void)
{
    const struct cpt_task_def tasks[] = {
        {"A", spawn_and_lose, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL}};
    const struct cpt_graph losing = {"S", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};

    set_up();
    CU_ASSERT_STRING_EQUAL(run_losing(&losing, 1).path,
                           "S: /;S: A 4, S: /;S: A;S: item;S: weigh 2, "
                           "S: /;S: A;S: item;S: rate 1, "
                           "S: /;S: A;S: item;S: rate;S: disk 10, "
                           "S: /;S: A;S: ‹queue› 1, S: /;S: A 8");
    CU_ASSERT_EQUAL(run_losing(&losing, 0).output, 11);
    tear_down();
}

/* Such a task never computes. */
static void test_static_component_ends_first(void)
{
    const struct cpt_task_def tasks[] = {
        {"first", NULL, CPT_GIVES(score), CPT_NEEDS(query), .component = &item_graph}};
    const struct cpt_graph losing = {"T", CPT_GIVES(query), CPT_GIVES(score), tasks, 1};

    CU_ASSERT_STRING_EQUAL(
        run_losing(&losing, 1).path,
        "S: /;T: first;T: weigh 2, S: /;T: first;T: rate 1, "
        "S: /;T: first;T: rate;T: disk 10, S: /;T: first;T: ‹queue› 1");
    CU_ASSERT_EQUAL(run_losing(&losing, 0).output, 11);
}

static void test_static_component_fails(void)
{
    const struct cpt_task_def tasks[] = {
        {"item", NULL, CPT_GIVES(page), CPT_NEEDS(query), .component = &failing_graph}};
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct cpt_task_def wanting[] = {
        {"item", NULL, CPT_GIVES(first_score), CPT_NEEDS(query),
         .component = &failing_graph},
        {"render", render_without, CPT_GIVES(page), CPT_WANTS(first_score)}};
    const struct cpt_graph without = {"S", CPT_GIVES(query), CPT_GIVES(page), wanting,
                                      2};
    const struct outcome outcome = run_one(&now, &graph, 1);

    CU_ASSERT_STRING_EQUAL(outcome.sentence,
                           "task 'S: item': task 'S: weigh': no item 1");
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;S: item;S: weigh 2");
    CU_ASSERT_EQUAL(run_one(&now, &without, 1).output, 8);
}

/* --- Memory --- */

static size_t most_items;

static cpt_status reduce_what_is_there(struct cpt_task *task)
{
    *cpt_output(task, page) = (int)most_items;
    return CPT_OK;
}

/* Spawns until refused; the pending then has the reason. */
static cpt_status map_without_end(struct cpt_task *task)
{
    struct cpt_pending *pending = NULL;
    int weight = 1;

    for (most_items = 0; most_items < 100000; most_items++) {
        pending = cpt_spawn(task, "item", item_plan, item, &weight);
        if (cpt_pending_status(pending) != CPT_WAITING) {
            break;
        }
    }
    CU_ASSERT_EQUAL(cpt_pending_status(pending), CPT_LIMIT);
    CU_ASSERT_TRUE(strstr(cpt_run_sentence(pending),
                          "the request and its components take") != NULL ||
                   strstr(cpt_run_sentence(pending), "the memory limit") != NULL);
    return cpt_await_all(task, reduce_what_is_there);
}

static void test_memory_counts_with_the_parent(void)
{
    const struct cpt_task_def tasks[] = {
        {"A", map_without_end, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL}};
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};

    /* what is left at the limit may be too little for a sentence */
    for (size_t more = 0; more < 512; more += 32) {
        struct failing_alloc fa;
        struct outcome outcome;

        set_up();
        failing_alloc_init(&fa, 0);
        outcome = run_one_within(&now, &graph, 0, &fa.alloc, (1 << 20) + more);
        tear_down();
        CU_ASSERT_EQUAL(outcome.status, CPT_OK);
        CU_ASSERT_TRUE(most_items > 50 && most_items < 4000);
        CU_ASSERT_EQUAL(fa.live_count, 0);
    }
}

static cpt_status reduce_or_fail(struct cpt_task *task)
{
    const struct mapping *mapping = cpt_state(task, struct mapping);

    for (int i = 0; i < 3; i++) {
        if (mapping->items[i] == NULL) {
            return CPT_NO_MEMORY;
        }
        if (cpt_pending_status(mapping->items[i]) != CPT_OK) {
            return cpt_fail(task, cpt_pending_status(mapping->items[i]), "%s",
                            cpt_run_sentence(mapping->items[i]));
        }
    }
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

static cpt_status map_three(struct cpt_task *task)
{
    struct mapping *mapping = cpt_state(task, struct mapping);

    if (mapping == NULL) {
        return CPT_NO_MEMORY;
    }
    for (int i = 0; i < 3; i++) {
        mapping->items[i] = cpt_spawn(task, "item", item_plan, item, &i);
    }
    return cpt_await_all(task, reduce_or_fail);
}

/* Each allocation refused once: the request ends, successfully or not, without
 * leaks. */
static void test_without_memory(void)
{
    const struct cpt_task_def tasks[] = {
        {"A", map_three, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL}};
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    struct failing_alloc fa;
    size_t total = 0;

    set_up();
    failing_alloc_init(&fa, 0);
    CU_ASSERT_EQUAL(run_one_within(&now, &graph, 1, &fa.alloc, 0).output, 1);
    total = fa.call_count;
    CU_ASSERT_TRUE(total > 4);
    for (size_t n = 1; n <= total; n++) {
        struct outcome outcome;

        failing_alloc_init(&fa, n);
        outcome = run_one_within(&now, &graph, 1, &fa.alloc, 0);
        CU_ASSERT_TRUE(outcome.done_count == 1 || outcome.status == CPT_NO_MEMORY);
        CU_ASSERT_EQUAL(fa.live_count, 0);
    }
    tear_down();
}

CU_TestInfo cpt_subgraph_tests[] = {
    {"a component is below its task", test_component_on_the_path},
    {"an untraced component reads no clock", test_untraced_component},
    {"a map over elements", test_map},
    {"recursion repeats its frames", test_recursion_repeats_its_frames},
    {"recursion has a limit", test_recursion_has_a_limit},
    {"an input of another name is refused", test_other_input_is_refused},
    {"status and sentence reach the parent", test_failure_reaches_the_parent},
    {"a deadline cancels a component", test_deadline_cancels},
    {"a component need not be awaited", test_component_without_a_waiter},
    {"the failure of the parent cancels", test_failure_of_the_parent_cancels},
    {"a step may wait for one", test_waiting_in_the_step},
    {"a component in place of a function", test_static_component},
    {"such a component fails", test_static_component_fails},
    {"a run that ends before its starter goes on", test_spawned_run_ends_first},
    {"such a component in place of a function", test_static_component_ends_first},
    {"memory counts with the parent", test_memory_counts_with_the_parent},
    {"each allocation may fail", test_without_memory},
    CU_TEST_INFO_NULL,
};
