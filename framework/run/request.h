/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * request.h - one run of a plan: what the sources of this folder share of it
 *
 * A task of a request that neither runs nor waits is a *cell* of 8 bytes: how many
 * inputs it misses, and how it ended. Only while it runs or waits does it have an
 * *activation*, the struct cpt_task that its function sees; a thread that runs one task
 * after the other uses the same one for all. All lies in one block of memory, sized by
 * the plan, which is used again by a later request of it.
 *
 * Who runs a request. At first one thread, its *owner*: then nobody else touches it,
 * counters are plain numbers and no lock is taken. The owner *shares* the request,
 * for good, before anybody else can come to know of it: when it gives tasks away to
 * other threads, when a task starts something whose end comes from elsewhere, when
 * somebody gets a handle. From then on counters are atomic and the lock is taken.
 *
 *      owned:  [ run | run | run | ... ]                  one thread
 *      shared: [ run | run ] [ run ]                      any, after
 * cpti_request_share()
 *
 * Who keeps a request alive. `reference_count` counts whoever will still touch it: the
 * request itself until `done` has returned, every piece of work that is queued or runs,
 * every call, timer or deferred work that is out. A task that waits counts nothing: it
 * is gone on with by one of those. So when only the request's own is left and it has
 * not ended, nothing ever will: it is then ended with an error rather than forgotten.
 *
 * Who writes what. A task's cell, once it misses nothing, its record and its step
 * fields belong to the thread that runs it; what several threads touch is atomic or
 * guarded by the request's lock, and says so.
 */
#ifndef CPT_REQUEST_H
#define CPT_REQUEST_H

#include "cpt/cpt_arena.h"
#include "cpt/cpt_trace.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/run/budget.h"
#include "framework/run/cancel.h"
#include "framework/pool/lock.h"
#include "framework/graph/plan.h"
#include "framework/run/subgraph.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <stdatomic.h>

struct cpti_blocked;
struct cpti_call_observer;
struct cpti_deadline;

/* Something that a task may wait for. */
struct cpt_pending {
    struct cpt_request *request;
    struct cpt_task *owner;       /* who started it, and may wait for it; gone, perhaps
                                     for good, once it has ended */
    struct cpt_pending *next;     /* outstanding ones of the owner, oldest first: */
    struct cpt_pending *previous; /* guarded by the request's lock */
    struct cpt_pending *next_waiter; /* for the same task; guarded likewise */
    struct cpt_trace_call *call;     /* its record; NULL if there is none */
    const struct cpt_stub *stub;     /* of a call; else NULL */
    uint64_t begin_ns;               /* if traced */
    struct cpti_outside outside;     /* if whoever works for it can be told to stop */
    uint32_t stands_for;             /* number of the task it stands for + 1; 0: none */
    uint32_t await_number;           /* the wait of its owner that it belongs to */
    cpt_status status;               /* CPT_WAITING till it ends; guarded likewise */
};

/* One task of one request, all its life. */
struct cpti_progress {
    /*
     * Inputs that it still waits for. Whoever brings it to zero runs it next, and is
     * the one who held it up. Of a shared request acq_rel: release, so that what a
     * giver wrote is visible to whoever runs the task; acquire, because the last giver
     * is that one. After that it is the link of a list of ready tasks: the next one's
     * number + 1, of whoever has the list.
     */
    _Atomic uint32_t missing_input_count;
    /* CPT_WAITING till it ended. Release by its last step; acquire by readers of its
     * output that did not wait for it. */
    _Atomic int32_t outcome;
};

/* What is noted of every task that is traced. */
struct cpti_record {
    /* Relaxed: a walk may come to a task that still runs, for its frame only. */
    _Atomic uint64_t start_ns;
    _Atomic uint64_t end_ns;
    uint16_t unblocker; /* number + 1 of who brought its last input; 0: it was ready
                           with the request */
    uint16_t stub;      /* of a walk, which has the lock: place + 1; else 0 */
    uint32_t occupant;  /* who had the worker while it queued; cpti_task_name() */
};
_Static_assert(CPT_GRAPH_TASKS_MAX < UINT16_MAX + 1, "a number + 1 fits");

/* What the walk sees of a task: made when it first waits, else when the walk comes to
 * it. Guarded by the request's lock. */
struct cpti_stub {
    struct cpt_trace_task task; /* first */
    uint32_t number;
    struct cpti_stub *next; /* of those of the request that have waited */
    /* Covers the waits that the request had no memory for, from the first to the last.
     */
    struct cpt_trace_await lost;
};

/* One task that others may start. Guarded by the request's lock. */
struct cpti_demand {
    struct cpt_pending *waiters; /* that stand for it */
    uint64_t started_ns;         /* if traced */
    uint32_t starter;            /* number + 1 of the task that started it first */
    bool is_started;
};

/* A list of ready tasks, linked through their cells: numbers + 1; 0: none. */
struct cpti_ready {
    uint32_t first;
    uint32_t last;
};

/* An activation: one task of a request while it runs or waits. */
struct cpt_task {
    struct cpt_work work; /* first: the executor hands us this */
    struct cpt_request *request;
    struct cpti_ready ready; /* to be run, if it is no task yet */
    struct cpti_ready
        *others;     /* while a step runs: ready tasks that its thread holds */
    uint32_t number; /* of its task; CPTI_NO_TASK: none yet */
    uint32_t place;  /* in the request's block; CPTI_NO_TASK: in its arena */
    const struct cpti_plan_task *plan;
    void *output;
    struct cpti_record *record; /* NULL if not traced */
    cpt_task_fn next;

    /* Of the thread that runs it. All zero at the beginning. */
    void *state;
    size_t state_bytes;
    char *sentence;      /* why it fails */
    uint64_t timeout_ns; /* of the wait that it asked for; 0: none */
    bool has_asked;      /* to wait, in this step */
    bool has_begun;      /* its start is noted */
    bool has_slept;      /* it has called cpt_sleep() */
    bool is_used;        /* one of these is not zero, or one of those below */

    /* Guarded by the request's lock. Likewise. */
    bool is_waiting;
    bool has_runner_up;
    bool has_waited;       /* its stub is in use: not for another task */
    uint32_t await_number; /* of the wait that it asked for last … */
    uint32_t wanted_count; /* … and how many that belong to it have still to end */
    struct cpt_pending *oldest; /* outstanding, started by it */
    struct cpt_pending *newest;
    struct cpti_deadline *deadline;
    struct cpt_trace_await *await; /* record of the wait it is in; NULL if none */
    uint64_t runner_up_ns;         /* arrival before the last one, of this wait */
    struct cpti_blocked *blocked;  /* while its step is in cpt_wait() */
    uint64_t step_begin_ns;      /* if time off the processor is measured: of its … */
    uint64_t step_cpu_ns;        /* … step, and the thread's processor time then */
    struct cpt_task *next_spare; /* of those in the arena that nobody uses */
    struct cpt_task *next_waiting; /* of the request, while is_waiting */
    struct cpt_task *previous_waiting;
};

/* An activation of a request that is traced. */
struct cpti_traced_task {
    struct cpt_task task;  /* first */
    struct cpti_stub stub; /* not set before it is wanted */
};

/* What a request inherits from the service that serves it. */
struct cpti_inherited {
    struct cpti_call_observer *observer; /* the service's; NULL: started without one */
    struct cpt_ask ask; /* what its callees are asked, if it is traced */
    unsigned overcount; /* enum cpt_overcount */
    struct cpt_bytes traceparent;
    bool is_silent; /* traced, but callees are not asked: shared work */
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
    void *input;                 /* of the caller, or in the block */
    void *input_place;
    struct cpti_progress *progress;
    unsigned char *outputs;
    unsigned char *activations;
    size_t activation_bytes; /* of one … */
    size_t cleared_bytes;    /* … and what has to be cleared of it */
    struct cpti_demand *demands;
    struct cpti_record *records; /* NULL if not traced */
    struct cpti_inherited inherited;
    struct cpt_trace trace; /* entry and arrival from the beginning */
    struct cpt_bytes executor_name;
    bool is_traced;
    bool is_shared; /* written by the owner, once */

    /* Its own is CPTI_OWN_REFERENCE, others count 1. acq_rel: the last one sees all. */
    atomic_uint_least32_t reference_count;
    atomic_uchar is_stopped; /* relaxed: a hint to begin nothing more */
    atomic_uchar is_ended;   /* set once, with the lock held; release and acquire */
    /* The activations of the block that are free, a bit each; acq_rel if shared. */
    _Atomic uint64_t free_activations;

    cpt_status status;    /* set with is_ended; not changed again */
    uint32_t answered_by; /* likewise: number of the task + 1; 0: by none */
    const char *sentence;
    struct cpti_outside *outside;      /* guarded by lock; see cancel.c */
    struct cpt_request_handle *handle; /* of somebody outside, or NULL; see cancel.c */
    struct cpti_account *account;      /* for its memory, in its arena, or NULL */
    struct cpti_limit *limit;          /* its timer; NULL: none; see deadline.c */
    uint64_t deadline_ns;              /* of its clock; 0: none */
    struct cpti_stub *stubs;           /* of tasks that have waited; guarded by lock */
    uint64_t *off_cpu_ns;     /* of first steps, by number; NULL: not measured */
    struct cpt_task *spare;   /* guarded by lock */
    struct cpt_task *waiting; /* those that wait; guarded by lock */
    struct cpti_blocked *spare_blocked; /* guarded by lock */
    struct cpti_blocked *made_blocked;  /* all of them; guarded by lock */
    uint32_t blocked_count;             /* in cpt_wait(), see wait.c; guarded by lock */
    struct cpt_attribute *attributes;   /* guarded by lock; see attributes.c */
    size_t attribute_count;
    size_t attribute_bytes;
    uint64_t attribute_dropped_count;
    void *served; /* what the service keeps of it; see service.c */
    struct cpti_nest nest;

    /* Survive from one request in this block to the next. */
    struct cpti_lock lock;
    struct cpt_arena arena; /* guarded by lock once the request is shared */
    size_t block_bytes;     /* of the request with its tasks, beside the arena */
};

/* The request's own reference, so that it can be told from all others. */
#define CPTI_OWN_REFERENCE (UINT32_C(1) << 31)

/* --- request.c --- */

/* A request that does not run yet; its arena may be used. CPT_OK; CPT_NO_MEMORY,
 * CPT_LIMIT: there is none, and `gone` is not called. */
cpt_status cpti_request_new(const struct cpt_request_options *options,
                            struct cpt_request **made, struct cpt_error *error);

/* Runs it, on this thread as far as it goes if @is_here. @input is kept, not copied. */
void cpti_request_launch(struct cpt_request *request, void *input, int is_here);

/* Frees one that was never launched, or of which nothing runs any more: `gone` is
 * called; unless somebody keeps it. */
void cpti_request_discard(struct cpt_request *request);

/* Does it at once; only for cpti_request_free(). */
void cpti_request_destroy(struct cpt_request *request);

/* From now on others than this thread may touch the request. Only for its owner; of no
 * effect if it is shared already. */
static inline void cpti_request_share(struct cpt_request *request)
{
    if (!request->is_shared) {
        request->is_shared = 1;
    }
}

/* One more that will touch the request; only for who is one already. */
static inline void cpti_request_hold(struct cpt_request *request)
{
    cpti_request_share(request);
    atomic_fetch_add_explicit(&request->reference_count, 1, memory_order_relaxed);
}

/* One less. The last one frees. Not with the lock held. */
void cpti_request_release(struct cpt_request *request);

/* Ends the request, if it has not ended (1): calls `done`. @task made the output or
 * failed; NULL: nobody is left to go on, or for CPT_CANCELLED and CPT_TIMEOUT nobody
 * wants it any more, or for CPT_LIMIT there is no memory. */
int cpti_request_end(struct cpt_request *request, cpt_status status,
                     const struct cpt_task *task);

/* Zeroed memory of the request; takes the lock if it is shared. */
void *cpti_request_take(struct cpt_request *request, size_t bytes);

/* A free activation that is no task yet; NULL at the limit of memory. Lock not held. */
struct cpt_task *cpti_activation_take(struct cpt_request *request);

/* Gives one back that nobody uses. Lock not held. */
void cpti_activation_put(struct cpt_task *task);

/* What task number @number gives. */
static inline void *cpti_request_value(const struct cpt_request *request,
                                       uint32_t number)
{
    return request->outputs + request->plan->tasks[number].output_offset;
}

/* The demand for a task that others may start. */
static inline struct cpti_demand *cpti_request_demand(const struct cpt_request *request,
                                                      uint32_t number)
{
    return &request->demands[request->plan->tasks[number].demand_index];
}

/* --- task.c --- */

/* Puts @number, which misses nothing any more, behind the others. */
static inline void cpti_ready_add(struct cpt_request *request, struct cpti_ready *ready,
                                  uint32_t number)
{
    atomic_store_explicit(&request->progress[number].missing_input_count, 0,
                          memory_order_relaxed);
    if (ready->first == 0) {
        ready->first = number + 1;
    } else {
        atomic_store_explicit(&request->progress[ready->last - 1].missing_input_count,
                              number + 1, memory_order_relaxed);
    }
    ready->last = number + 1;
}

/* Hands ready tasks, at least one, to the executor. The caller holds a reference; the
 * work gets its own. If there is no memory, the request ends as CPT_LIMIT. */
void cpti_ready_submit(struct cpt_request *request, struct cpti_ready ready);

/* The same for a request that begins: they take over the caller's reference, and the
 * request. On this thread if @is_here. */
void cpti_ready_start(struct cpt_request *request, struct cpti_ready ready,
                      int is_here);

/* The step of @task is about to block its thread: others get what it would run next.
 */
void cpti_task_give_ready(struct cpt_task *task);

/* A task that waited goes on: queues it. The caller holds a reference; the work gets
 * its own. */
void cpti_task_submit(struct cpt_task *task);

/* One input more of task number @number has come, from task @giver, or it was started
 * by it. 1: it was the last. */
int cpti_task_input_arrived(struct cpt_request *request, uint32_t number,
                            uint32_t giver);

/* --- pending.c --- */

/* @task begins to wait. Lock held. */
static inline void cpti_waiting_add(struct cpt_task *task)
{
    struct cpt_task **first = &task->request->waiting;

    task->is_waiting = 1;
    task->previous_waiting = NULL;
    task->next_waiting = *first;
    if (*first != NULL) {
        (*first)->previous_waiting = task;
    }
    *first = task;
}

/* Its wait is over, or will never be. Lock held. */
static inline void cpti_waiting_remove(struct cpt_task *task)
{
    struct cpt_task **first = &task->request->waiting;

    task->is_waiting = 0;
    *(task->previous_waiting != NULL ? &task->previous_waiting->next_waiting : first) =
        task->next_waiting;
    if (task->next_waiting != NULL) {
        task->next_waiting->previous_waiting = task->previous_waiting;
    }
}

/* Task @number if it waits, else NULL. Lock held. */
static inline struct cpt_task *cpti_waiting_task(const struct cpt_request *request,
                                                 uint32_t number)
{
    struct cpt_task *task = request->waiting;

    while (task != NULL && task->number != number) {
        task = task->next_waiting;
    }
    return task;
}

/* Puts @pending, zeroed but for stands_for and call, among those of @owner, and shares
 * the request. Lock held. */
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
    return pending->request;
}

/* Takes the deadline off the wait of @task and puts it before @chain, to be told. Lock
 * held. */
struct cpti_outside *cpti_task_take_deadline(struct cpt_task *task,
                                             struct cpti_outside *chain);

/* Lets a task go on that waited. NULL is fine. Lock not held. */
void cpti_task_wake(struct cpt_task *task);

/* Ends the sleeps that @task has not waited for, and will not. Lock not held. */
void cpti_task_end_sleeps(struct cpt_task *task);

/* Makes the task wait as it asked. 1: it does, and is not ours any more; 0: it goes on
 * at once; less than 0: it fails. */
int cpti_task_wait(struct cpt_task *task);

/* Ends those that wait for task @number, which ended and may be started. */
void cpti_task_release_waiters(struct cpt_request *request, uint32_t number,
                               cpt_status status, uint64_t end_ns);

#endif
