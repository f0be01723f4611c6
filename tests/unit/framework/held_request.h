/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* held_request.h - runs a request with a handle in virtual time, and work that it can
 * cancel. There is one at a time, in static variables. */
#ifndef HELD_REQUEST_H
#define HELD_REQUEST_H

#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#define BEGIN    (UINT64_C(1000) * MS) /* virtual time begins here */
#define AFTER(n) (BEGIN + UINT64_C(n) * MS)

CPT_VALUE(page, int);

extern struct held_request {
    struct virtual_time now;
    struct outcome outcome;
    uint64_t done_ns;
    struct cpt_request_handle *handle;
    void (*within_done)(void); /* called within `done`; or NULL */
    struct {
        struct cpt_pending *pending;
        int told_count;
        int completes_when_told;
    } work;
} held;

/* Starts a request of @tasks with a handle and @timeout_ns (0: none). */
struct cpt_plan *held_start(const struct cpt_task_def *tasks, size_t task_count,
                            uint64_t timeout_ns, const struct cpt_alloc *alloc);

/* Runs it to its end and frees @plan. */
void held_finish(struct cpt_plan *plan);

/* Runs a request of one task to its end. */
void held_run_for(cpt_task_fn run, uint64_t timeout_ns);
void held_run(cpt_task_fn run);

/* Begins work that counts its cancellation, and then completes. */
struct cpt_pending *held_begin_work(struct cpt_task *task);

/* A last step: the page is 1. */
cpt_status held_end(struct cpt_task *task);

#endif
