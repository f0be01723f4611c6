/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_open_task.c - tasks that are filled in when the walk reaches them
 *
 * Each random trace is walked twice: as it is, and through stubs whose open_task copies
 * one task at a time. Both paths must be the same to the last label.
 */
#include "tests/support/random_trace.h"
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#include <inttypes.h>
#include <string.h>

enum { CASES = 30000 };

/* The trace, its stubs, and the copies that fill them in. */
static struct {
    struct random_trace made;
    struct cpt_trace_task stubs[RANDOM_TASKS_MAX];
    struct cpt_trace_call calls[RANDOM_CALLS_MAX];
    struct cpt_trace_await awaits[RANDOM_AWAITS_MAX];
    unsigned opened_counts[RANDOM_TASKS_MAX];
    size_t opened_count;
    size_t refused; /* number of the opening that fails; 0: none */
} lazy;

static struct cpt_trace_task *stub_of(const struct cpt_trace_task *task)
{
    return task != NULL ? &lazy.stubs[task - lazy.made.tasks] : NULL;
}

static struct cpt_trace_call *copy_call(const struct cpt_trace_call *call)
{
    struct cpt_trace_call *copy =
        call != NULL ? &lazy.calls[call - lazy.made.calls] : NULL;

    if (copy != NULL && copy->reply == NULL) {
        *copy = *call;
        copy->issuer = stub_of(call->issuer);
    }
    return copy;
}

static struct cpt_trace_await *copy_awaits(const struct cpt_trace_await *newest)
{
    struct cpt_trace_await *first = NULL;
    struct cpt_trace_await **next = &first;

    for (; newest != NULL; newest = newest->previous) {
        struct cpt_trace_await *copy = &lazy.awaits[newest - lazy.made.awaits];

        *copy = *newest;
        copy->task = stub_of(newest->task);
        copy->call = copy_call(newest->call);
        *next = copy;
        next = &copy->previous;
    }
    return first;
}

static cpt_status open_task(void *context, struct cpt_trace_task *task)
{
    struct cpt_trace_task *from = task->source;

    (void)context;
    if (++lazy.opened_count == lazy.refused) {
        return CPT_LIMIT;
    }
    lazy.opened_counts[from - lazy.made.tasks]++;
    *task = *from;
    task->source = from;
    task->starter = stub_of(from->starter);
    task->unblocker = stub_of(from->unblocker);
    task->last_await = copy_awaits(from->last_await);
    return CPT_OK;
}

/* What the callee of a call replied, in either form of the trace. */
static cpt_status open_callee(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee)
{
    const struct random_call *extra = call->reply;

    (void)context;
    model_callee_path(&extra->callee, callee);
    return extra->has_path ? CPT_OK : CPT_CORRUPT;
}

static struct cpt_trace make_lazy(void)
{
    struct cpt_trace trace = lazy.made.trace;

    memset(lazy.stubs, 0, sizeof lazy.stubs);
    memset(lazy.calls, 0, sizeof lazy.calls);
    memset(lazy.opened_counts, 0, sizeof lazy.opened_counts);
    lazy.opened_count = 0;
    for (size_t i = 0; i < RANDOM_TASKS_MAX; i++) {
        lazy.stubs[i].source = &lazy.made.tasks[i];
    }
    trace.answered_by = stub_of(trace.answered_by);
    trace.open_task = open_task;
    return trace;
}

static int is_any_opened_twice(void)
{
    for (size_t i = 0; i < RANDOM_TASKS_MAX; i++) {
        if (lazy.opened_counts[i] > 1) {
            return 1;
        }
    }
    return 0;
}

static int frames_are_equal(const struct cpt_path *left, const struct cpt_path *right)
{
    if (cpt_path_frame_count(left) != cpt_path_frame_count(right)) {
        return 0;
    }
    for (uint32_t i = 0; i < cpt_path_frame_count(left); i++) {
        const struct cpt_frame *a = cpt_path_frame(left, i);
        const struct cpt_frame *b = cpt_path_frame(right, i);

        if (a->parent != b->parent || a->kind != b->kind ||
            !cpt_bytes_equal(cpt_path_frame_name(left, i),
                             cpt_path_frame_name(right, i))) {
            return 0;
        }
    }
    return 1;
}

static int paths_are_equal(const struct cpt_path *left, const struct cpt_path *right)
{
    if (!frames_are_equal(left, right) ||
        cpt_path_segment_count(left) != cpt_path_segment_count(right) ||
        cpt_path_label_count(left) != cpt_path_label_count(right)) {
        return 0;
    }
    for (size_t i = 0; i < cpt_path_segment_count(left); i++) {
        const struct cpt_segment *a = cpt_path_segment(left, i);
        const struct cpt_segment *b = cpt_path_segment(right, i);

        if (a->duration_ns != b->duration_ns || a->frame != b->frame ||
            a->reason != b->reason || a->flags != b->flags) {
            return 0;
        }
    }
    for (size_t i = 0; i < cpt_path_label_count(left); i++) {
        const struct cpt_label *a = cpt_path_label(left, i);
        const struct cpt_label *b = cpt_path_label(right, i);

        if (a->segment != b->segment || a->key != b->key || a->value != b->value) {
            return 0;
        }
    }
    return 1;
}

/* Walks both forms of the trace. 0: the paths differ. */
static int walks_are_equal(struct cpt_path *eager, struct cpt_path *opened)
{
    struct cpt_trace trace = make_lazy();
    cpt_status status = CPT_OK;

    cpt_path_reset(eager);
    cpt_path_reset(opened);
    status = cpt_critical_path(NULL, &lazy.made.trace, eager, NULL);
    if (cpt_critical_path(NULL, &trace, opened, NULL) != status) {
        return 0;
    }
    return paths_are_equal(eager, opened) && !is_any_opened_twice();
}

static void harm(struct test_random *random)
{
    switch (test_random_below(random, 4)) {
    case 0:
        random_trace_lose(&lazy.made, random);
        break;
    case 1:
        random_trace_skew(&lazy.made, random);
        break;
    case 2:
        random_trace_spoil(&lazy.made, random);
        break;
    default:
        break;
    }
}

static void test_same_path(void)
{
    const uint64_t seed = test_random_seed("open_task");
    struct cpt_path *eager = cpt_path_new(NULL);
    struct cpt_path *opened = cpt_path_new(NULL);
    uint64_t failed_count = 0;

    lazy.refused = 0;
    for (uint64_t i = 0; i < test_case_count(CASES) && failed_count < 3; i++) {
        struct test_random random = {seed + i};

        while (!random_trace_make(&lazy.made, &random)) {
        }
        harm(&random);
        lazy.made.trace.open_callee = open_callee;
        lazy.made.trace.attribution =
            i % 2 == 0 ? CPT_ATTRIBUTE_LONGEST : CPT_ATTRIBUTE_BLOCKED;
        if (!walks_are_equal(eager, opened)) {
            printf("\n  again with CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n",
                   seed + i);
            random_trace_print(&lazy.made);
            failed_count++;
        }
    }
    CU_ASSERT_EQUAL(failed_count, 0);
    cpt_path_free(eager);
    cpt_path_free(opened);
}

/* Refuses each opening in turn. */
static void test_refused(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct test_random random = {7};
    struct cpt_trace trace;
    struct cpt_error error = {0};
    size_t count = 0;

    lazy.refused = 0;
    while (count < 4) {
        while (!random_trace_make(&lazy.made, &random)) {
        }
        trace = make_lazy();
        cpt_path_reset(path);
        CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, NULL), CPT_OK);
        count = lazy.opened_count;
    }
    for (lazy.refused = 1; lazy.refused <= count; lazy.refused++) {
        trace = make_lazy();
        memset(&error, 0, sizeof error);
        cpt_path_reset(path);
        CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, &error), CPT_LIMIT);
        CU_ASSERT_EQUAL(error.status, CPT_LIMIT);
        CU_ASSERT_EQUAL(lazy.opened_count, lazy.refused);
        CU_ASSERT_EQUAL(cpt_path_frame_count(path), 0);
        /* the next walk meets all tasks as if this one had not been */
        CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, NULL), CPT_OK);
        CU_ASSERT_EQUAL(lazy.opened_count, lazy.refused + count);
    }
    lazy.refused = 0;
    cpt_path_free(path);
}

/* c was made ready by b, below a; d is not on the path, nor is e, whose wait did not
 * block. */
static void test_only_what_the_walk_comes_to(void)
{
    struct cpt_trace_task *tasks = lazy.made.tasks;
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_trace trace;

    memset(&lazy.made, 0, sizeof lazy.made);
    tasks[0] = trace_task("a", NULL, 0, 4);
    tasks[1] = trace_task("b", &tasks[0], 0, 5);
    tasks[2] = trace_task("c", NULL, 5, 9);
    tasks[2].begin = CPT_BEGIN_TASK;
    tasks[2].unblocker = &tasks[1];
    tasks[3] = trace_task("d", &tasks[0], 0, 3);
    tasks[4] = trace_task("e", &tasks[2], 5, 6);
    trace_wait(&tasks[2], &lazy.made.awaits[0], NULL, &tasks[4], 7, 6);
    lazy.made.trace.entry = cpt_bytes_of("A: /");
    lazy.made.trace.response_ns = 9 * MS;
    lazy.made.trace.answered_by = &tasks[2];
    lazy.refused = 0;
    trace = make_lazy();
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(trace_path_text(path), "a;b 5, c 4");
    CU_ASSERT_EQUAL(lazy.opened_counts[0], 1);
    CU_ASSERT_EQUAL(lazy.opened_counts[1], 1);
    CU_ASSERT_EQUAL(lazy.opened_counts[2], 1);
    CU_ASSERT_EQUAL(lazy.opened_counts[3], 0);
    CU_ASSERT_EQUAL(lazy.opened_counts[4], 0);
    cpt_path_free(path);
}

extern CU_TestInfo cpt_open_task_tests[];
CU_TestInfo cpt_open_task_tests[] = {
    {"the path is the same whether tasks are there or opened", test_same_path},
    {"a task that cannot be opened ends the walk, and leaves no trace", test_refused},
    {"only tasks that the walk reaches are opened", test_only_what_the_walk_comes_to},
    CU_TEST_INFO_NULL,
};
