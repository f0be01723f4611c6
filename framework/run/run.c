/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* run.c - a pending that stands for a run of a plan; see run.h */
#include "framework/run/run.h"

#include "cpt/base/container.h"
#include "framework/run/call.h"
#include "framework/run/misuse.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"

#include <string.h>

cpt_status cpti_run_check_input(const char *name, const struct cpt_value *expected,
                                const struct cpt_value *given, struct cpt_error *error)
{
    if (expected == given ||
        (expected != NULL && given != NULL && expected->bytes == given->bytes &&
         strcmp(expected->name, given->name) == 0)) {
        return CPT_OK;
    }
    return cpt_error_set(error, CPT_INVALID, 0,
                         "\"%s\" takes \"%s\" of %zu bytes, but is given \"%s\" of %zu",
                         name, expected != NULL ? expected->name : "nothing",
                         expected != NULL ? expected->bytes : 0,
                         given != NULL ? given->name : "nothing",
                         given != NULL ? given->bytes : 0);
}

void cpti_run_begin_locked(struct cpti_run *run, struct cpt_task *task,
                           struct cpt_trace_call *call, uint64_t now_ns)
{
    run->waiter = task->request;
    run->pending.call = call;
    cpti_pending_begin(&run->pending, CPTI_PENDING_RUN, task, now_ns);
}

void cpti_run_begin(struct cpti_run *run, struct cpt_task *task, struct cpt_bytes name)
{
    struct cpt_request *request = task->request;
    const uint64_t now_ns = cpti_record_now(request);

    cpti_lock_take(&request->lock);
    cpti_run_begin_locked(
        run, task, cpti_record_issue(task, name, CPT_CALL_COMPONENT, now_ns), now_ns);
    cpti_lock_release(&request->lock);
    cpti_request_hold(request);
}

void cpti_run_note_launch(const struct cpti_run *run, struct cpt_task *task)
{
    struct cpt_request *request = task->request;
    uint64_t now_ns = 0;

    if (task->record == NULL) {
        return;
    }
    now_ns = cpti_record_now(request);
    cpti_lock_take(&request->lock);
    if (run->pending.status != CPT_WAITING) {
        cpti_record_waited(task, &run->pending, now_ns);
    }
    cpti_lock_release(&request->lock);
}

void cpti_run_end(struct cpti_run *run, struct cpti_run_result result,
                  uint64_t arrive_ns)
{
    struct cpt_request *request = run->waiter;
    struct cpt_task *task = NULL;

    cpti_lock_take(&request->lock);
    if (run->pending.call != NULL && run->open != NULL &&
        !cpti_record_is_over(request)) {
        run->pending.call->reply = run;
        run->pending.call->reply_bytes = sizeof *run;
    }
    if (run->pending.status == CPT_WAITING) { /* else the task may be reading these */
        run->output = result.output;
        run->sentence = result.sentence;
        if (result.failed_call != NULL) {
            cpti_call_failed(request, NULL, result.status,
                             cpti_pending_starter(&run->pending),
                             result.failed_call->text);
        }
    }
    task = cpti_pending_end(&run->pending, result.status, arrive_ns);
    cpti_lock_release(&request->lock);
    cpti_task_wake(task);
}

static const char memory_limit[] = "the memory limit of the request was reached";

/* What is said of @error where the request has no memory left for its sentence. */
static const char *at_limit(const struct cpt_request *request,
                            const struct cpt_error *error)
{
    const struct cpti_quota *quota = request->nest.quota;

    return error->status == CPT_LIMIT && quota != NULL && cpti_quota_is_full(quota)
               ? memory_limit
               : NULL;
}

void cpti_run_fail(struct cpti_run *run, const struct cpt_error *error)
{
    struct cpt_request *request = run->waiter;
    const size_t bytes = strlen(error->sentence);
    char *text = cpti_request_take(request, bytes + 1);

    if (text != NULL) {
        memcpy(text, error->sentence, bytes);
    }
    cpti_run_end(
        run,
        (struct cpti_run_result){error->status, NULL,
                                 text != NULL ? text : at_limit(request, error), NULL},
        run->pending.begin_ns);
    cpti_request_release(request);
}

cpt_status cpti_run_open(struct cpt_trace_call *call, struct cpt_path *callee)
{
    const struct cpti_run *run = call->reply;

    return run->open(run, call, callee);
}

const void *cpt_task_run_output(struct cpt_pending *pending,
                                const struct cpt_value *value)
{
    const struct cpti_run *run = NULL;
    const struct cpt_value *output = NULL;

    if (!cpti_pending_is(pending, CPTI_PENDING_RUN)) {
        return NULL;
    }
    run = CPTI_CONST_CONTAINER(pending, struct cpti_run, pending);
    output = run->plan->graph->output;
    if (output != value &&
        (output->bytes != value->bytes || strcmp(output->name, value->name) != 0)) {
        CPTI_MISUSED(undeclared_value);
        return NULL;
    }
    return cpt_pending_status(pending) == CPT_OK ? run->output : NULL;
}

const char *cpt_run_sentence(struct cpt_pending *pending)
{
    const struct cpti_run *run = NULL;
    cpt_status status = CPT_INVALID;

    if (!cpti_pending_is(pending, CPTI_PENDING_RUN)) {
        return pending == cpti_pending_failed(CPT_LIMIT) ? memory_limit
                                                         : "this is no run of a plan";
    }
    run = CPTI_CONST_CONTAINER(pending, struct cpti_run, pending);
    status = cpt_pending_status(pending);
    return status == CPT_OK || status == CPT_WAITING ? ""
           : run->sentence != NULL                   ? run->sentence
                                                     : cpt_status_sentence(status);
}
