/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_recording_dag.c - the records of requests that keep their edges, as dags
 *
 * Random graphs on one thread of virtual time. A dag that had too few edges would still
 * begin each node when it was observed, behind a node for a wait that nothing explains:
 * so there must be none.
 */
#include "tests/support/random_graph.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_dag_draft.h"
#include "framework/run/deadline.h"
#include "framework/run/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 5000, ARENA_BYTES = 1 << 20 };

static struct virtual_time now;

static void spend_ns(uint64_t duration_ns)
{
    now.now_ns += duration_ns;
}

/* Whether no wait of the graph ends without what it waits for. */
static bool waits_to_the_end(void)
{
    for (unsigned i = 0; i < random_graph.task_count; i++) {
        const struct random_script *script = &random_graph.scripts[i];

        for (unsigned k = 0; k < script->step_count; k++) {
            if (script->steps[k].wait == WAIT_ALL_FOR) {
                return false;
            }
        }
    }
    return true;
}

struct seen {
    cpt_status status; /* of the records */
    cpt_status status_too_small;
    size_t too_small_bytes;
    uint64_t latency_ns;
    uint64_t dag_ns; /* its latency */
    uint64_t unexplained_ns;
    uint64_t contradictions;
    size_t arrival_count;
};

/* "R: s3.1" */
static bool is_sleep(struct cpt_bytes name)
{
    return memchr(name.data, '.', name.bytes) != NULL;
}

/* The time of the waits that no record explains: they have the name of a task, as the
 * timeouts of tasks that others started do. */
static uint64_t unexplained(const struct cpt_dag_recorded *recorded)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < recorded->shape.node_count; i++) {
        const struct cpt_dag_node *node = &recorded->shape.nodes[i];

        if (node->kind == CPT_DAG_WAIT &&
            !is_sleep(recorded->frames[node->frame].name)) {
            sum_ns += node->duration_ns;
        }
    }
    return sum_ns;
}

static void look(struct cpt_request *request, const struct cpt_dag_records *records,
                 struct seen *seen)
{
    struct cpt_dag_draft *draft = cpt_dag_draft_new(NULL, request->trace.arrival_ns);
    struct cpt_dag_recorded recorded;
    struct cpt_dag *dag = NULL;

    seen->arrival_count = records->arrival_count;
    if (cpt_dag_draft_trace(draft, records, &recorded) == CPT_OK &&
        cpt_dag_new(NULL, &recorded.shape, &dag, NULL) == CPT_OK) {
        seen->dag_ns = cpt_dag_latency_ns(dag);
        seen->unexplained_ns = unexplained(&recorded);
        seen->contradictions = recorded.contradiction_count;
    }
    cpt_dag_free(dag);
    cpt_dag_draft_free(draft);
}

static void note_dag(struct cpt_request *request, void *context)
{
    struct seen *seen = context;
    struct cpt_dag_records records;
    struct cpt_arena arena;

    cpt_arena_init(&arena, NULL, 0, ARENA_BYTES);
    seen->latency_ns = cpt_request_latency_ns(request);
    seen->status = cpti_recording_dag_records(request, true, &arena, &records);
    if (seen->status == CPT_OK) {
        look(request, &records, seen);
    }
    cpt_arena_deinit(&arena);
    if (request->keeps_edges) {
        cpt_arena_init(&arena, NULL, 0, seen->too_small_bytes);
        seen->status_too_small =
            cpti_recording_dag_records(request, true, &arena, &records);
        cpt_arena_deinit(&arena);
    }
}

static uint64_t timeout_ns; /* of the requests that run next; 0: none */

/* Runs a request of @plan that keeps its edges, if @keeps_edges. */
static struct seen run(const struct cpt_plan *plan, uint64_t order, bool keeps_edges)
{
    struct seen seen = {.status = CPT_INVALID, .too_small_bytes = 600};
    struct cpt_request *request = NULL;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = &now.executor,
                                                .clock = &now.clock,
                                                .done = note_dag,
                                                .context = &seen,
                                                .is_traced = 1};

    virtual_init(&now, order);
    CU_ASSERT_EQUAL_FATAL(cpti_request_new(&options, NULL, &request, NULL), CPT_OK);
    request->keeps_edges = keeps_edges;
    if (timeout_ns != 0) {
        CU_ASSERT_EQUAL(cpti_deadline_begin(request, timeout_ns, 0, NULL), CPT_OK);
    }
    cpti_request_launch(request, NULL, false);
    virtual_run(&now);
    return seen;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("CPT_TEST_SEED");
    const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 20261123;

    return seed != 0 ? seed : 1;
}

static bool is_good(uint64_t seed)
{
    uint64_t random = seed;
    uint64_t order = 0;
    struct cpt_plan *plan = NULL;
    struct seen seen;
    struct seen without;
    struct seen cut;

    random_graph_make(&random, 1000);
    plan = cpt_plan_new(&random_graph.graph, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    order = virtual_random(&random, 2) == 0 ? 0 : random;
    seen = run(plan, order, true);
    without = run(plan, order, false);
    timeout_ns = 1 + virtual_random(&random, seen.latency_ns + 1);
    cut = run(plan, order, true);
    timeout_ns = 0;
    cpt_plan_free(plan);
    if (cut.status != CPT_OK || cut.dag_ns != cut.latency_ns) {
        printf("\n  CPT_TEST_SEED=%llu: with a deadline, dag %llu ns of %llu\n",
               (unsigned long long)seed, (unsigned long long)cut.dag_ns,
               (unsigned long long)cut.latency_ns);
        return false;
    }
    if (seen.status != CPT_OK || seen.status_too_small != CPT_NO_MEMORY ||
        seen.dag_ns != seen.latency_ns ||
        (seen.unexplained_ns != 0 && waits_to_the_end()) || seen.contradictions != 0 ||
        without.latency_ns != seen.latency_ns || without.dag_ns != seen.latency_ns ||
        without.arrival_count > seen.arrival_count) {
        printf("\n  CPT_TEST_SEED=%llu: dag %llu ns of %llu, %llu unexplained, %llu "
               "contradictions\n",
               (unsigned long long)seed, (unsigned long long)seen.dag_ns,
               (unsigned long long)seen.latency_ns,
               (unsigned long long)seen.unexplained_ns,
               (unsigned long long)seen.contradictions);
        return false;
    }
    return true;
}

static void test_random_graphs(void)
{
    const uint64_t seed = first_seed();
    const uint64_t count = test_case_count(GRAPHS);

    printf("(seeds from %llu) ", (unsigned long long)seed);
    random_graph.hooks = (struct random_hooks){.spend = spend_ns};
    for (uint64_t i = 0; i < count; i++) {
        if (!is_good(seed + i)) {
            CU_FAIL("a dag that is not that of its request");
            break;
        }
    }
    random_graph.hooks = (struct random_hooks){0};
}

/* --- What has ended already --- */

CPT_VALUE(query, int);
CPT_VALUE(page, int);

static struct cpt_pending *shorter;

static cpt_status end_waiter(struct cpt_task *task)
{
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

static cpt_status wait_for_shorter(struct cpt_task *task)
{
    return cpt_await(task, shorter, end_waiter);
}

static cpt_status wait_for_longer(struct cpt_task *task)
{
    struct cpt_pending *longer = NULL;

    shorter = cpt_sleep(task, "shorter", 5000);
    longer = cpt_sleep(task, "longer", 9000);
    return cpt_await(task, longer, wait_for_shorter);
}

/* A task needs also what came before it asked for it. */
static void test_what_has_ended_is_needed(void)
{
    static const struct cpt_task_def tasks[] = {
        {"A1", wait_for_longer, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    static const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page),
                                           tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct seen seen;

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    seen = run(plan, 0, true);
    CU_ASSERT_EQUAL(seen.dag_ns, 9000);
    CU_ASSERT_EQUAL(seen.latency_ns, 9000);
    CU_ASSERT_EQUAL(seen.arrival_count, 2);
    cpt_plan_free(plan);
}

/* --- A deadline --- */

CPT_VALUE(first, int);
CPT_VALUE(second, int);
CPT_VALUE(third, int);

static cpt_status give_first(struct cpt_task *task)
{
    spend_ns(3000);
    *cpt_output(task, first) = 1;
    return CPT_OK;
}

/* The deadline fires while a step runs. */
static cpt_status compute_for_long(struct cpt_task *task)
{
    struct cpt_timer *timer = now.timers[0];

    (void)task;
    spend_ns(10000);
    CU_ASSERT_EQUAL(now.executor.cancel(&now.executor, timer), 1);
    timer->fire(timer);
    return CPT_OK;
}

/* The task that the output misses queues until the deadline, as another one has the
 * thread: it delayed the request, so it is a record though it never began. */
static void test_who_queues_at_the_deadline(void)
{
    static const struct cpt_task_def tasks[] = {
        {"A1", give_first, CPT_GIVES(first), {NULL}, {NULL}, NULL},
        {"A2", compute_for_long, CPT_GIVES(second), CPT_NEEDS(first), {NULL}, NULL},
        {"A3", compute_for_long, CPT_GIVES(third), CPT_NEEDS(first), {NULL}, NULL},
        {"A4", end_waiter, CPT_GIVES(page), CPT_NEEDS(third, second), {NULL}, NULL}};
    static const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page),
                                           tasks, 4};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct seen seen;

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    timeout_ns = 13000;
    seen = run(plan, 0, true);
    timeout_ns = 0;
    CU_ASSERT_EQUAL(seen.latency_ns, 13000);
    CU_ASSERT_EQUAL(seen.dag_ns, 13000);
    CU_ASSERT_EQUAL(seen.unexplained_ns, 0);
    cpt_plan_free(plan);
}

CU_TestInfo cpt_recording_dag_tests[] = {
    {"what has ended is needed, too", test_what_has_ended_is_needed},
    {"who queues at the deadline is a record", test_who_queues_at_the_deadline},
    {"records of random graphs make dags of their latency", test_random_graphs},
    CU_TEST_INFO_NULL,
};
