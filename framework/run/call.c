/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* call.c - replies decoded for the walk, and what is counted of calls; see call.h */
#include "framework/run/call.h"

#include "framework/run/random.h"
#include "framework/run/run.h"
#include "framework/run/span_ids.h"
#include "wire/cpt_metadata.h"

#include <stdatomic.h>
#include <stdio.h>

uint64_t cpti_call_nonce(uint64_t now_ns)
{
    /* 0: not drawn yet. Relaxed: one that is drawn twice is as good. */
    static _Atomic uint64_t drawn;
    static _Atomic uint64_t count;
    uint64_t seed = atomic_load_explicit(&drawn, memory_order_relaxed);

    if (seed == 0) {
        seed = cpti_random_seed();
        atomic_store_explicit(&drawn, seed, memory_order_relaxed);
    }
    /* The time tells processes apart that were forked, and go on with one count. */
    return cpti_span_id(seed ^ cpti_span_id(now_ns, 0),
                        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed));
}

/* After an error the reason is in @call: it is cached if the path answers another ask,
 * as then nothing in it is of this call, the callee's time neither. */
static cpt_status open_reply(const struct cpt_alloc *alloc, struct cpt_trace_call *call,
                             struct cpt_path *callee, uint64_t *clamped)
{
    const struct cpt_metadata_decode_options options = {
        .struct_bytes = sizeof options,
        .alloc = alloc,
        .bytes_max = call->reply_bytes, /* no more than was asked for */
        .clamped_drags = clamped,
    };
    struct cpt_metadata_summary summary;
    cpt_status status =
        cpt_metadata_peek(call->reply, call->reply_bytes, &summary, NULL);

    if (status == CPT_OK && summary.nonce != 0 && summary.nonce != call->nonce) {
        call->reason = CPT_REASON_CACHED;
        return CPT_CORRUPT;
    }
    if (status == CPT_OK && summary.has_server_elapsed) {
        call->server_elapsed_ns = summary.server_elapsed_ns;
        call->has_server_elapsed = 1;
    }
    if (status == CPT_OK) {
        status =
            cpt_metadata_decode(call->reply, call->reply_bytes, &options, callee, NULL);
    }
    if (status != CPT_OK) {
        call->reason = CPT_REASON_UNDECODABLE;
    }
    return status;
}

cpt_status cpti_call_open(struct cpti_call_observer *observer,
                          const struct cpt_alloc *alloc, struct cpt_trace_call *call,
                          struct cpt_path *callee)
{
    cpt_status status = CPT_OK;
    uint64_t clamped = 0;

    if (call->outcome == CPT_CALL_COMPONENT) {
        return cpti_run_open(call, callee);
    }
    if (observer != NULL) {
        observer->opened(observer, call->reply_bytes);
    }
    status = open_reply(alloc, call, callee, &clamped);
    if (status != CPT_OK && observer != NULL) {
        if (call->reason == CPT_REASON_CACHED) {
            observer->stale(observer, call);
        }
        observer->blind_spot(observer, call);
    }
    if (clamped != 0 && observer != NULL) {
        observer->clamped(observer, call, clamped);
    }
    return status;
}

void cpti_call_spliced(struct cpti_call_observer *observer,
                       const struct cpt_trace_call *call, uint64_t overcount_ns,
                       uint64_t undercount_ns, int is_inconsistent)
{
    if (observer != NULL && call->outcome != CPT_CALL_COMPONENT) {
        observer->spliced(observer, call, overcount_ns, undercount_ns, is_inconsistent);
    }
}

void cpti_call_given_up(const struct cpt_pending *pending)
{
    struct cpti_call_observer *observer = pending->request->inherited.observer;

    if (observer != NULL && pending->call != NULL &&
        pending->call->outcome == CPT_CALL_REMOTE) {
        observer->given_up(observer, pending->call, pending->status);
    }
}

void cpti_call_failed(struct cpt_request *request, const struct cpt_stub *stub,
                      cpt_status status, uint32_t task, const char *text)
{
    struct cpti_failed_call *failed = request->failed_call;

    if (failed == NULL) {
        failed = cpt_arena_take(&request->arena, sizeof *failed);
        if (failed == NULL) {
            return;
        }
        request->failed_call = failed;
    }
    failed->stub = stub;
    failed->status = status;
    failed->task = task;
    failed->call = NULL;
    (void)snprintf(failed->text, sizeof failed->text, "%s", text);
}

void cpti_call_was_late(const struct cpt_pending *pending, const struct cpt_task *task,
                        uint64_t timeout_ns)
{
    char text[CPTI_FAILED_CALL_BYTES];

    (void)snprintf(text, sizeof text, "'%.80s'%s%.60s had not answered after %.6g ms",
                   pending->stub->name, pending->target != NULL ? " at " : "",
                   pending->target != NULL ? pending->target : "",
                   (double)timeout_ns / 1e6);
    cpti_call_failed(pending->request, pending->stub, CPT_TIMEOUT, task->number + 1,
                     text);
}

bool cpti_call_failure(struct cpt_request *request, struct cpti_failed_call *copy)
{
    bool is_there = false;

    cpti_lock_take(&request->lock);
    is_there = request->failed_call != NULL && request->failed_call->task != 0;
    if (is_there) {
        *copy = *request->failed_call;
    }
    cpti_lock_release(&request->lock);
    return is_there;
}

void cpti_timer_failed(const struct cpt_request *request)
{
    struct cpti_call_observer *observer = request->inherited.observer;

    if (observer != NULL) {
        observer->timer_failed(observer);
    }
}
