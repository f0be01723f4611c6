/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_dag_trace.c - dags made of traces
 *
 * The longest path of the dag of a trace is as long as the latency. Random traces have
 * many things in the same nanosecond.
 */
#include "cpt/cpt_dag_draft.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/random_trace.h"
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 20000 };

static struct random_trace made;

/* The draft of `made`, or NULL with *status. */
static struct cpt_dag_draft *
draft_made(const struct cpt_alloc *alloc, const struct cpt_dag_arrival *arrivals,
           size_t arrival_count, struct cpt_dag_recorded *recorded, cpt_status *status)
{
    struct cpt_dag_draft *draft = cpt_dag_draft_new(alloc, made.trace.arrival_ns);
    struct cpt_trace_task *tasks[RANDOM_TASKS_MAX];
    const struct cpt_dag_run run = {&made.trace, NULL};
    const struct cpt_dag_records records = {
        &run, 1, tasks, NULL, made.task_count, arrivals, arrival_count};

    for (size_t i = 0; i < made.task_count; i++) {
        tasks[i] = &made.tasks[i];
    }
    *status =
        draft != NULL ? cpt_dag_draft_trace(draft, &records, recorded) : CPT_NO_MEMORY;
    if (*status != CPT_OK) {
        cpt_dag_draft_free(draft);
        return NULL;
    }
    return draft;
}

static bool is_latency_right(bool is_nonsense)
{
    const uint64_t latency_ns = made.trace.response_ns - made.trace.arrival_ns;
    struct cpt_dag_recorded recorded;
    struct cpt_dag *dag = NULL;
    cpt_status status = CPT_OK;
    struct cpt_dag_draft *draft = draft_made(NULL, NULL, 0, &recorded, &status);
    bool is_right = status == CPT_OK;

    if (is_right) {
        status = cpt_dag_new(NULL, &recorded.shape, &dag, NULL);
        is_right = status == CPT_OK && cpt_dag_latency_ns(dag) == latency_ns;
    }
    if (is_nonsense) {
        is_right = status == CPT_OK || status == CPT_CORRUPT || status == CPT_LIMIT;
    }
    cpt_dag_free(dag);
    cpt_dag_draft_free(draft);
    return is_right;
}

static void try_traces(const char *what,
                       void (*harm)(struct random_trace *, struct test_random *))
{
    const uint64_t seed = test_random_seed(what);
    unsigned failed_count = 0;

    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};

        while (!random_trace_make(&made, &random)) {
        }
        if (harm != NULL) {
            harm(&made, &random);
        }
        if (made.trace.answered_by == NULL) {
            continue;
        }
        if (!is_latency_right(harm == random_trace_spoil)) {
            printf("\n  again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n",
                   seed + i);
            failed_count++;
        }
    }
    CU_ASSERT_EQUAL(failed_count, 0);
}

static void test_latency(void)
{
    try_traces("dag of a trace", NULL);
}

static void test_skewed(void)
{
    try_traces("dag, early stamps", random_trace_skew);
}

static void test_nonsense(void)
{
    try_traces("dag, nonsense", random_trace_spoil);
}

/* a issues B and C at 3, waits for both from 5 on, and goes on from 20 to 25. */
static void make_two_calls(void)
{
    memset(&made, 0, sizeof made);
    made.task_count = 1;
    made.tasks[0] = trace_task("A: a", NULL, 0, 25);
    made.tasks[0].begin = CPT_BEGIN_REQUEST;
    made.calls[0] = (struct cpt_trace_call){.name = cpt_bytes_of("B: B1"),
                                            .issuer = &made.tasks[0],
                                            .issue_ns = 3 * MS,
                                            .arrive_ns = 20 * MS,
                                            .outcome = CPT_CALL_REMOTE};
    made.calls[1] = made.calls[0];
    made.calls[1].name = cpt_bytes_of("C: C1");
    made.calls[1].arrive_ns = 12 * MS;
    trace_wait(&made.tasks[0], &made.awaits[0], &made.calls[0], NULL, 5, 20);
    made.trace.answered_by = &made.tasks[0];
    made.trace.response_ns = 25 * MS;
}

/* Measures the frames of a draft of a request that takes 25 ms. */
static void measure_frames(const struct cpt_dag_recorded *recorded,
                           struct cpt_dag_frame frames[8])
{
    struct cpt_dag_measure measures[16];
    struct cpt_dag *dag = NULL;

    CU_ASSERT_TRUE_FATAL(recorded->shape.node_count <= 16);
    CU_ASSERT_TRUE_FATAL(recorded->shape.frame_count <= 8);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &recorded->shape, &dag, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_dag_latency_ns(dag), 25 * MS);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_measure(dag, measures), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_frames(dag, measures, frames), CPT_OK);
    cpt_dag_free(dag);
}

static uint32_t frame_of(const struct cpt_dag_recorded *recorded, const char *name,
                         unsigned kind)
{
    for (uint32_t i = 0; i < recorded->shape.frame_count; i++) {
        if (recorded->frames[i].kind == kind &&
            cpt_bytes_equal(recorded->frames[i].name, cpt_bytes_of(name))) {
            return i;
        }
    }
    return 0;
}

/* B is critical, C could take 8 ms more; without C's arrival, B would seem to be worth
 * 15 ms, but only 8 are gained before C delays the request. */
static void test_all_inputs(void)
{
    struct cpt_dag_arrival arrival = {0};
    struct cpt_dag_recorded recorded;
    struct cpt_dag_frame frames[8];
    struct cpt_dag_draft *draft = NULL;
    cpt_status status = CPT_OK;

    make_two_calls();
    arrival.waiter = &made.tasks[0];
    arrival.call = &made.calls[1];
    arrival.arrive_ns = 12 * MS;
    draft = draft_made(NULL, &arrival, 1, &recorded, &status);
    CU_ASSERT_EQUAL_FATAL(status, CPT_OK);
    CU_ASSERT_EQUAL(recorded.shape.frame_count, 3);
    measure_frames(&recorded, frames);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: B1", CPT_DAG_CALL)].drag_ns, 8 * MS);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: B1", CPT_DAG_CALL)].path_ns,
                    17 * MS);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "C: C1", CPT_DAG_CALL)].slack_ns,
                    8 * MS);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "A: a", CPT_DAG_STEP)].gain_ns, 8 * MS);
    cpt_dag_draft_free(draft);
}

/* The number of the line with a node of that frame. */
static uint32_t line_of(const struct cpt_dag_recorded *recorded, uint32_t frame)
{
    for (size_t i = 0; i < recorded->shape.node_count; i++) {
        if (recorded->shape.nodes[i].frame == frame) {
            return recorded->node_lines[i];
        }
    }
    return CPT_DAG_NONE;
}

/* Who issued B1, whom b1 answers, and whose workers they took. */
static void check_lines(const struct cpt_dag_recorded *recorded)
{
    const uint32_t a = line_of(recorded, frame_of(recorded, "A: a", CPT_DAG_STEP));
    const uint32_t b = line_of(recorded, frame_of(recorded, "B: b1", CPT_DAG_STEP));
    const uint32_t call =
        line_of(recorded, frame_of(recorded, "B: B1", CPT_DAG_NETWORK));

    CU_ASSERT_EQUAL_FATAL(recorded->line_count, 3);
    CU_ASSERT_TRUE_FATAL(a < 3 && b < 3 && call < 3);
    CU_ASSERT_EQUAL(recorded->lines[a].caller, CPT_DAG_NONE);
    CU_ASSERT_EQUAL(recorded->lines[a].is_call, 0);
    CU_ASSERT_EQUAL(recorded->lines[b].caller, call);
    CU_ASSERT_TRUE(
        cpt_bytes_equal(recorded->lines[b].executor, cpt_bytes_of("workers")));
    CU_ASSERT_EQUAL(recorded->lines[call].caller, a);
    CU_ASSERT_EQUAL(recorded->lines[call].is_call, 1);
    CU_ASSERT_EQUAL(recorded->lines[call].outcome, CPT_CALL_REMOTE);
    CU_ASSERT_EQUAL(line_of(recorded, frame_of(recorded, "B: b1", CPT_DAG_QUEUE)), b);
}

/* The same, with the callee of B1: b1 calls nothing and works from 4 to 16, after 1 ms
 * in a queue; the network takes 4 ms. @outcome, @reason: how B1 ended.
 * Measures its frames. */
static struct cpt_dag_draft *measure_callee(unsigned outcome, unsigned reason,
                                            struct cpt_dag_recorded *recorded,
                                            struct cpt_dag_frame frames[8])
{
    static const uint32_t task_runs[] = {0, 1};
    struct cpt_dag_draft *draft = cpt_dag_draft_new(NULL, 0);
    struct cpt_trace callee = {.arrival_ns = 3 * MS, .response_ns = 16 * MS};
    const struct cpt_dag_run runs[] = {{&made.trace, NULL}, {&callee, &made.calls[0]}};
    struct cpt_trace_task *tasks[] = {&made.tasks[0], &made.tasks[1]};
    const struct cpt_dag_records records = {.runs = runs,
                                            .run_count = 2,
                                            .tasks = tasks,
                                            .task_runs = task_runs,
                                            .task_count = 2};

    make_two_calls();
    made.calls[0].outcome = (unsigned char)outcome;
    made.calls[0].reason = (unsigned char)reason;
    made.tasks[1] = trace_task("B: b1", NULL, 3, 16);
    made.tasks[1].begin = CPT_BEGIN_REQUEST;
    made.tasks[1].start_ns = 4 * MS;
    made.tasks[1].executor = cpt_bytes_of("workers");
    callee.answered_by = &made.tasks[1];
    CU_ASSERT_EQUAL_FATAL(cpt_dag_draft_trace(draft, &records, recorded), CPT_OK);
    measure_frames(recorded, frames);
    return draft;
}

static void test_callee(void)
{
    struct cpt_dag_recorded recorded;
    struct cpt_dag_frame frames[8];
    struct cpt_dag_draft *draft =
        measure_callee(CPT_CALL_REMOTE, CPT_REASON_NONE, &recorded, frames);

    CU_ASSERT_EQUAL(recorded.constant_count, 0);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: b1", CPT_DAG_STEP)].drag_ns,
                    12 * MS);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: b1", CPT_DAG_QUEUE)].path_ns,
                    1 * MS);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: B1", CPT_DAG_NETWORK)].path_ns,
                    4 * MS);
    check_lines(&recorded);
    cpt_dag_draft_free(draft);
}

/* B1 ended by its deadline: although b1 seems to have answered before that, its caller
 * waited for the clock, and would have with a shorter b1. */
static void test_timeout(void)
{
    struct cpt_dag_recorded recorded;
    struct cpt_dag_frame frames[8];
    struct cpt_dag_draft *draft =
        measure_callee(CPT_CALL_TIMEOUT, CPT_REASON_NONE, &recorded, frames);

    CU_ASSERT_EQUAL(recorded.constant_count, 1);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: B1", CPT_DAG_WAIT)].path_ns,
                    17 * MS);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: b1", CPT_DAG_STEP)].path_ns, 0);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: b1", CPT_DAG_STEP)].gain_ns, 0);
    cpt_dag_draft_free(draft);
}

/* A connection that broke, or a request whose client has left: no answer ended B1. */
static void test_failed_call(void)
{
    struct cpt_dag_recorded recorded;
    struct cpt_dag_frame frames[8];
    struct cpt_dag_draft *draft =
        measure_callee(CPT_CALL_REMOTE, CPT_REASON_FAILED, &recorded, frames);

    CU_ASSERT_EQUAL(recorded.constant_count, 1);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: B1", CPT_DAG_CALL)].path_ns,
                    17 * MS);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: b1", CPT_DAG_STEP)].gain_ns, 0);
    cpt_dag_draft_free(draft);
}

/* The request ended by its deadline while a, which answers for it, waited for B: the
 * wait was over at 20, and a never went on. Until the answer it queued, as on its path.
 */
static void test_deadline(void)
{
    struct cpt_dag_recorded recorded;
    struct cpt_dag_frame frames[8];
    struct cpt_dag_draft *draft = NULL;
    cpt_status status = CPT_OK;

    make_two_calls();
    made.calls[0].outcome = CPT_CALL_TIMEOUT;
    made.awaits[0].resume_ns = UINT64_MAX;
    made.tasks[0].end_ns = 0;
    draft = draft_made(NULL, NULL, 0, &recorded, &status);
    CU_ASSERT_EQUAL_FATAL(status, CPT_OK);
    measure_frames(&recorded, frames);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "B: B1", CPT_DAG_WAIT)].path_ns,
                    17 * MS);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "A: a", CPT_DAG_QUEUE)].path_ns, 5 * MS);
    cpt_dag_draft_free(draft);
}

/* Before the process began with the request, all that begins with it waited: that queue
 * is one node, and gives back all of its 2 ms. */
static void test_accept_queue(void)
{
    struct cpt_dag_recorded recorded;
    struct cpt_dag_frame frames[8];
    struct cpt_dag_draft *draft = NULL;
    cpt_status status = CPT_OK;

    make_two_calls();
    made.task_count = 2;
    made.tasks[1] = trace_task("A: b", NULL, 2, 20);
    for (int i = 0; i < 2; i++) {
        made.tasks[i].ready_ns = 2 * MS;
        made.tasks[i].start_ns = 2 * MS;
    }
    made.trace.entry = cpt_bytes_of("A: /");
    made.trace.dispatch_ns = 2 * MS;
    draft = draft_made(NULL, NULL, 0, &recorded, &status);
    CU_ASSERT_EQUAL_FATAL(status, CPT_OK);
    measure_frames(&recorded, frames);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "A: /", CPT_DAG_QUEUE)].gain_ns, 2 * MS);
    CU_ASSERT_EQUAL(frames[frame_of(&recorded, "A: a", CPT_DAG_STEP)].gain_ns, 6 * MS);
    cpt_dag_draft_free(draft);
}

static bool draft_two_calls(const struct cpt_alloc *alloc)
{
    struct cpt_dag_recorded recorded;
    cpt_status status = CPT_OK;
    struct cpt_dag_draft *draft = NULL;

    make_two_calls();
    draft = draft_made(alloc, NULL, 0, &recorded, &status);
    cpt_dag_draft_free(draft);
    return status == CPT_OK;
}

static void test_no_memory(void)
{
    each_allocation_failure(draft_two_calls);
}

/* What is said to contradict the times is left out, and counted. */
static void test_contradictions(void)
{
    struct cpt_dag_draft *draft = cpt_dag_draft_new(NULL, 100);
    struct cpt_dag_recorded recorded;
    struct cpt_dag_link link = {0};
    struct cpt_dag *dag = NULL;
    uint32_t frame = 0;
    uint32_t early = 0;
    uint32_t late = 0;

    CU_ASSERT_EQUAL(cpt_dag_draft_frame(draft, cpt_bytes_of("a"), 99, &frame),
                    CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_dag_draft_frame(draft, cpt_bytes_of("a"), CPT_DAG_STEP, &frame),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_dag_draft_stretch(draft, frame, 90, 120, &early), CPT_OK);
    cpt_dag_draft_line(draft);
    CU_ASSERT_EQUAL(cpt_dag_draft_stretch(draft, frame, 130, 125, &late), CPT_OK);
    link.from = late;
    link.to = early;
    link.from_ns = 130;
    link.to_ns = 110;
    CU_ASSERT_EQUAL(cpt_dag_draft_link(draft, &link), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_draft_finish(draft, late, 500, &recorded), CPT_OK);
    CU_ASSERT_EQUAL(recorded.contradiction_count, 1);
    CU_ASSERT_EQUAL_FATAL(cpt_dag_new(NULL, &recorded.shape, &dag, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_dag_latency_ns(dag), 30);
    cpt_dag_free(dag);
    cpt_dag_draft_free(draft);
}

/* A task with very many waits: a service that answers with drags makes such a dag
 * before it answers, so each end of a link is found without a look at all of them. */
static void test_many_waits(void)
{
    enum { WAITS = 70000 };
    struct cpt_trace_await *awaits = calloc(WAITS, sizeof *awaits);
    struct cpt_trace_call *calls = calloc(WAITS, sizeof *calls);
    struct cpt_dag_arrival *arrivals = calloc(WAITS, sizeof *arrivals);
    struct cpt_dag_recorded recorded;
    struct cpt_dag_draft *draft = NULL;
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(awaits);
    CU_ASSERT_PTR_NOT_NULL_FATAL(calls);
    CU_ASSERT_PTR_NOT_NULL_FATAL(arrivals);
    memset(&made, 0, sizeof made);
    made.task_count = 1;
    made.tasks[0] = trace_task("A: a", NULL, 0, WAITS);
    for (size_t i = 0; i < WAITS; i++) {
        const uint64_t begin_ns = (uint64_t)i * MS;

        calls[i].issuer = &made.tasks[0];
        calls[i].name = cpt_bytes_of("A: get");
        calls[i].issue_ns = begin_ns + 1;
        calls[i].arrive_ns = begin_ns + 4;
        awaits[i].previous = made.tasks[0].last_await;
        awaits[i].call = &calls[i];
        awaits[i].block_ns = begin_ns + 2;
        awaits[i].arrive_ns = begin_ns + 4;
        awaits[i].resume_ns = begin_ns + 5;
        made.tasks[0].last_await = &awaits[i];
        arrivals[i].waiter = &made.tasks[0];
        arrivals[i].call = &calls[i];
        arrivals[i].arrive_ns = begin_ns + 4;
    }
    made.trace.response_ns = (uint64_t)WAITS * MS;
    made.trace.answered_by = &made.tasks[0];
    draft = draft_made(NULL, arrivals, WAITS, &recorded, &status);
    CU_ASSERT_EQUAL(status, CPT_OK);
    if (draft != NULL) {
        CU_ASSERT_EQUAL(recorded.contradiction_count, 0);
        CU_ASSERT_TRUE(recorded.shape.node_count > 4 * WAITS);
    }
    cpt_dag_draft_free(draft);
    free(arrivals);
    free(calls);
    free(awaits);
}

CU_TestInfo cpt_dag_trace_tests[] = {
    {"the latency of a trace", test_latency},
    {"early stamps", test_skewed},
    {"nonsense", test_nonsense},
    {"all inputs count", test_all_inputs},
    {"a callee in the place of its call", test_callee},
    {"a callee of a call that timed out", test_timeout},
    {"a callee of a call without an answer", test_failed_call},
    {"a request that ended by its deadline", test_deadline},
    {"the queue of a process", test_accept_queue},
    {"contradictions", test_contradictions},
    {"very many waits", test_many_waits},
    {"no memory", test_no_memory},
    CU_TEST_INFO_NULL,
};
