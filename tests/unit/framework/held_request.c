/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* held_request.c - see held_request.h. */
#include "tests/unit/framework/held_request.h"

#include "tests/support/suites.h"

#include <string.h>

struct held_request held;

static void note_done(struct cpt_request *request, void *context)
{
    note_outcome(request, context);
    held.done_ns = held.now.now_ns;
    if (held.within_done != NULL) {
        struct outcome again = {0};

        held.within_done();
        note_outcome(request, &again);
        CU_ASSERT_STRING_EQUAL(again.path, held.outcome.path);
    }
}

struct cpt_plan *held_start(const struct cpt_task_def *tasks, size_t task_count,
                            uint64_t timeout_ns, const struct cpt_alloc *alloc)
{
    static struct cpt_graph graph;
    struct cpt_plan *plan = NULL;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .executor = &held.now.executor,
                                          .done = note_done,
                                          .gone = note_gone,
                                          .context = &held.outcome,
                                          .alloc = alloc,
                                          .is_traced = 1,
                                          .entry = "A: /",
                                          .clock = &held.now.clock,
                                          .timeout_ns = timeout_ns};

    graph = (struct cpt_graph){"A", NULL, CPT_GIVES(page), tasks, task_count};
    plan = cpt_plan_new(&graph, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    options.plan = plan;
    memset(&held.outcome, 0, sizeof held.outcome);
    virtual_init(&held.now, 0);
    held.outcome.status = cpt_request_start_held(&options, &held.handle, NULL);
    return plan;
}

void held_finish(struct cpt_plan *plan)
{
    virtual_run(&held.now);
    CU_ASSERT_EQUAL(held.outcome.done_count, 1);
    CU_ASSERT_EQUAL(held.outcome.gone_count, 1);
    CU_ASSERT_EQUAL(held.now.timer_count, 0);
    cpt_request_handle_free(held.handle);
    cpt_plan_free(plan);
}

void held_run_for(cpt_task_fn run, uint64_t timeout_ns)
{
    const struct cpt_task_def tasks[] = {
        {"A1", run, CPT_GIVES(page), {NULL}, {NULL}, NULL}};

    held_finish(held_start(tasks, 1, timeout_ns, NULL));
}

void held_run(cpt_task_fn run)
{
    held_run_for(run, 0);
}

static void stop_work(void *context)
{
    CU_ASSERT_PTR_EQUAL(context, &held.work);
    held.work.told_count++;
    if (held.work.completes_when_told) {
        cpt_complete(held.work.pending, CPT_OK);
    }
}

struct cpt_pending *held_begin_work(struct cpt_task *task)
{
    held.work.told_count = 0;
    held.work.completes_when_told = 1;
    held.work.pending = cpt_defer_cancellable(task, "work", stop_work, &held.work);
    return held.work.pending;
}

cpt_status held_end(struct cpt_task *task)
{
    *cpt_output(task, page) = 1;
    return CPT_OK;
}
