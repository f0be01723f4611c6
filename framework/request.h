/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * request.h - one run of a plan: what the sources of this folder share of it
 *
 * Who keeps a request alive. `reference_count` counts whoever will still touch it: the
 * request itself until `done` has returned, every task that is queued or running, every
 * call, timer or deferred work that is out. A task that waits counts nothing: it is
 * gone on with by one of those. So when only the request's own is left and it has not
 * ended, nothing ever will: it is then ended with an error rather than forgotten.
 *
 * Who writes what. A task's record and step fields belong to the thread that runs it;
 * what several threads touch is atomic or guarded by the request's lock, and says so.
 */
#ifndef CPT_REQUEST_H
#define CPT_REQUEST_H

#include "cpt/cpt_arena.h"
#include "cpt/cpt_trace.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/cancel.h"
#include "framework/lock.h"
#include "framework/plan.h"
#include "framework/subgraph.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <stdatomic.h>

struct cpti_deadline;

/* Something that a task may wait for. */
struct cpt_pending {
    struct cpt_task *owner;          /* who started it, and may wait for it */
    struct cpt_pending *next;        /* outstanding ones of the owner, oldest first: */
    struct cpt_pending *previous;    /* guarded by the request's lock */
    struct cpt_pending *next_waiter; /* of the same task; guarded likewise */
    struct cpt_task *task;           /* what it stands for, or NULL */
    struct cpt_trace_call *call;     /* its record; NULL if there is none */
    const struct cpt_stub *stub;     /* of a call; else NULL */
    uint64_t begin_ns;               /* if traced */
    struct cpti_outside outside;     /* if whoever works for it can be told to stop */
    uint32_t await_number;           /* the wait of its owner that it belongs to */
    cpt_status status;               /* CPT_WAITING till it ends; guarded likewise */
};

/* What is noted of a task that is traced. */
struct cpti_record {
    struct cpt_trace_task task;
    /* Covers the waits that the request had no memory for, from the first to the last.
     */
    struct cpt_trace_await lost;
};

/* One task of one request. */
struct cpt_task {
    struct cpt_work work; /* first: the executor hands us this */
    struct cpt_request *request;
    const struct cpti_plan_task *plan;
    void *output;
    struct cpt_trace_task *record; /* NULL if not traced */

    /*
     * Inputs that it still waits for. Whoever brings it to zero runs it next, and is
     * the one who held it up. acq_rel: release, so that what a giver wrote is visible
     * to whoever runs the task; acquire, because the last giver is that one.
     */
    _Atomic uint32_t missing_input_count;
    /* CPT_WAITING till it ended. Release by its last step; acquire by readers of its
     * output that did not wait for it. */
    _Atomic cpt_status outcome;

    /* Of the thread that runs it. */
    cpt_task_fn next;
    void *state;
    size_t state_bytes;
    char *sentence;          /* why it fails */
    uint64_t timeout_ns;     /* of the wait that it asked for; 0: none */
    unsigned char has_asked; /* to wait, in this step */
    unsigned char has_slept; /* it has called cpt_sleep() */

    /* Guarded by the request's lock. */
    unsigned char is_started; /* on demand */
    unsigned char is_waiting;
    unsigned char has_runner_up;
    uint32_t await_number; /* of the wait that it asked for last … */
    uint32_t wanted_count; /* … and how many that belong to it have still to end */
    struct cpt_pending *oldest; /* outstanding, started by it */
    struct cpt_pending *newest;
    struct cpt_pending *waiters; /* that stand for it */
    struct cpti_deadline *deadline;
    struct cpt_trace_await *await; /* record of the wait it is in; NULL if none */
    uint64_t started_ns;           /* on demand, if traced */
    uint64_t runner_up_ns;         /* arrival before the last one, of this wait */
};

/* What a request inherits from the service that serves it. */
struct cpti_inherited {
    struct cpt_service *service; /* NULL: started without one */
    struct cpt_ask ask;          /* what its callees are asked, if it is traced */
    unsigned overcount;          /* enum cpt_overcount */
    struct cpt_bytes traceparent;
};

/* One run of a plan. */
struct cpt_request {
    const struct cpt_plan *plan;
    const struct cpt_alloc *alloc;
    struct cpt_executor *executor;
    const struct cpt_clock *clock;
    cpt_done_fn done;
    void (*gone)(void *context); /* may be NULL */
    void *context;               /* of both */
    void *input;
    struct cpt_task *tasks;
    struct cpti_inherited inherited;
    struct cpt_trace trace; /* entry and arrival from the beginning */
    struct cpt_bytes executor_name;
    unsigned char is_traced;

    /* Its own is CPTI_OWN_REFERENCE, others count 1. acq_rel: the last one sees all. */
    atomic_uint_least32_t reference_count;
    atomic_uchar is_stopped; /* relaxed: a hint to begin nothing more */

    struct cpti_lock lock;
    struct cpt_arena arena; /* guarded by lock once the request runs */
    size_t block_bytes;     /* of the request with its tasks, beside the arena */
    atomic_uchar is_ended;  /* set once, with the lock held; release and acquire */
    cpt_status status;      /* set with it; not changed again */
    const char *sentence;
    struct cpti_outside *outside;      /* guarded by lock; see cancel.c */
    struct cpt_request_handle *handle; /* of somebody outside, or NULL; see cancel.c */
    struct cpti_limit *limit;          /* its timer; NULL: none; see deadline.c */
    uint64_t deadline_ns;              /* of its clock; 0: none */
    struct cpt_attribute *attributes;  /* guarded by lock; see attributes.c */
    size_t attribute_count;
    size_t attribute_bytes;
    uint64_t attribute_dropped_count;
    void *served; /* what the service keeps of it; see service.c */
    struct cpti_nest nest;
};

/* The request's own reference, so that it can be told from all others. */
#define CPTI_OWN_REFERENCE (UINT32_C(1) << 31)

/* --- request.c --- */

/* A request that does not run yet; its arena may be used. CPT_OK; CPT_NO_MEMORY,
 * CPT_LIMIT: there is none, and `gone` is not called. */
cpt_status cpti_request_new(const struct cpt_request_options *options,
                            struct cpt_request **made, struct cpt_error *error);

/* Runs it. @input is kept, not copied. */
void cpti_request_launch(struct cpt_request *request, void *input);

/* Frees one that was never launched, or of which nothing runs any more: `gone` is
 * called; unless somebody keeps it. */
void cpti_request_discard(struct cpt_request *request);

/* Does it at once; only for cpti_request_free(). */
void cpti_request_destroy(struct cpt_request *request);

/* One more that will touch the request; only for who is one already. */
static inline void cpti_request_hold(struct cpt_request *request)
{
    atomic_fetch_add_explicit(&request->reference_count, 1, memory_order_relaxed);
}

/* One less. The last one frees. Not with the lock held. */
void cpti_request_release(struct cpt_request *request);

/* Ends the request, if it has not ended (1): calls `done`. @task made the output or
 * failed; NULL: nobody is left to go on, or for CPT_CANCELLED and CPT_TIMEOUT nobody
 * wants it any more. */
int cpti_request_end(struct cpt_request *request, cpt_status status,
                     const struct cpt_task *task);

/* Zeroed memory of the request; takes the lock. */
void *cpti_request_take(struct cpt_request *request, size_t bytes);

/* --- executor.c --- */

/* Whether this thread is running work of the inline executor. */
int cpti_executor_inline_runs(void);

/* --- task.c --- */

/* Its inputs are there: queues it. The caller holds a reference; the task gets its own.
 */
void cpti_task_submit(struct cpt_task *task);

/* One input more has come, from @giver (or it was started by it) at @arrive_ns. 1: it
 * was the last. */
int cpti_task_input_arrived(struct cpt_task *task, struct cpt_task *giver,
                            uint64_t arrive_ns);

/* --- pending.c --- */

/* Puts @pending, zeroed but for task and call, among those of @owner. Lock held. */
void cpti_pending_begin(struct cpt_pending *pending, struct cpt_task *owner,
                        uint64_t begin_ns);

/* Ends it, if it has not ended. Lock held. The task that goes on now, or NULL: hand it
 * to cpti_task_wake() once the lock is released. */
struct cpt_task *cpti_pending_end(struct cpt_pending *pending, cpt_status status,
                                  uint64_t arrive_ns);

/* What works for @pending has begun, and can be told to stop. Should the request fail
 * before this, the end of the step tells it. Lock not held. */
void cpti_pending_tell_by(struct cpt_pending *pending,
                          void (*tell)(struct cpti_outside *outside));

/* Ends it, for its owner only: who works for it is neither told nor listed less, and no
 * task goes on. It has not ended. Lock held. */
void cpti_pending_drop(struct cpt_pending *pending, cpt_status status);

/* The request that @pending belongs to. */
static inline struct cpt_request *
cpti_pending_request(const struct cpt_pending *pending)
{
    return pending->owner->request;
}

/* Lets a task go on that waited. NULL is fine. Lock not held. */
void cpti_task_wake(struct cpt_task *task);

/* Ends the sleeps that @task has not waited for, and will not. Lock not held. */
void cpti_task_end_sleeps(struct cpt_task *task);

/* Makes the task wait as it asked. 1: it does, and is not ours any more; 0: it goes on
 * at once; less than 0: it fails. */
int cpti_task_wait(struct cpt_task *task);

/* Ends those that wait for @task, which ended. */
void cpti_task_release_waiters(struct cpt_task *task, cpt_status status,
                               uint64_t end_ns);

#endif
