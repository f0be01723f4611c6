/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * slack.h - how late a request may be, and what it has used of that
 *
 * The slack of a request is one budget for all that is done on its behalf:
 *
 *      a work waits in an executor   at most what is left, and slack_wait_ns_max;
 *                                    it takes off what it waited when it runs
 *      a call goes out               with what is left; its time is taken off when it
 *                                    ends, but not more than it was sent
 *
 * What comes one after the other is thus later by no more than the slack in all: each
 * begins with what those before it have left. Works and calls beside each other may all
 * use what is left, as the later one decides. A call may have slack of its own, which
 * comes on top: only what it took beyond that is the request's.
 *
 * All of it takes off more rather than less: a work that would have had to wait in any
 * case, and a callee that was no later than ever, are charged alike.
 *
 * Threads: any. A request without lanes pays one comparison for each work and call.
 */
#ifndef CPT_SLACK_H
#define CPT_SLACK_H

#include "framework/run/request.h"

/* From now on @request has lanes, and @slack_ns of slack. Before it is launched. */
void cpti_slack_begin(struct cpt_request *request, uint64_t slack_ns,
                      uint64_t wait_ns_max);

/* No more slack than @ns: a deadline begins. Likewise. */
void cpti_slack_limit(struct cpt_request *request, uint64_t ns);

/* What is left of it; 0: none, or the request has no lanes. */
uint64_t cpti_slack_left_ns(const struct cpt_request *request);

/* "1500", in us, as ns; "0" is none; hostile values are bounded. CPT_OK, CPT_CORRUPT.
 */
cpt_status cpti_slack_parse(struct cpt_bytes text, uint64_t *slack_ns);

/* --- Works --- */

/* For cpti_slack_submit() and cpti_slack_waited(). */
void cpti_slack_submit_later(struct cpt_task *task);
void cpti_slack_note_waited(struct cpt_task *task);

/* Submits @task; to the second lane of the executor, if it has one and there is slack.
 */
static inline void cpti_slack_submit(struct cpt_task *task)
{
    struct cpt_executor *executor = task->request->executor;

    if (__builtin_expect(task->request->inherited.slack != NULL, 0)) {
        cpti_slack_submit_later(task);
    } else {
        executor->submit(executor, &task->work);
    }
}

/* @task, which was submitted, runs. */
static inline void cpti_slack_waited(struct cpt_task *task)
{
    if (__builtin_expect(task->request->inherited.slack != NULL, 0)) {
        cpti_slack_note_waited(task);
    }
}

/* --- Calls --- */

/* What a call was sent. */
struct cpti_slack_call {
    uint64_t own_ns; /* of the call itself */
    uint64_t given_ns;
    uint64_t begin_ns; /* of the clock of the request */
};

/* The call begins, with @own_ns of its own and a timeout, of which it gets no more than
 * half. Returns what it is sent; 0: nothing, and it need not end. */
uint64_t cpti_slack_call_begin(const struct cpt_request *request, uint64_t own_ns,
                               uint64_t timeout_ns, struct cpti_slack_call *call);

/* It has ended, before its task continues. */
void cpti_slack_call_end(struct cpt_request *request,
                         const struct cpti_slack_call *call);

#endif
