/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * request.h - one run of a plan: what the files of this room share of it
 *
 * A task that neither runs nor waits takes 8 bytes, its *progress*: how many inputs it
 * misses, and how it ended. Only while it runs or waits does it have an *activation*,
 * the struct cpt_task that its function sees. A thread that runs one task after the
 * other uses one activation for all of them. All of it lies in one block of memory,
 * sized by the plan, which a later request of the plan uses again.
 *
 * Who runs a request. At first one thread, its *owner*, has it alone: counters are
 * plain numbers and no lock is taken. Before another thread can learn of the request,
 * the owner *shares* it, for good: when it gives tasks away, when a task starts
 * something that ends elsewhere, when a handle is made. From then on counters are
 * atomic and the lock is taken.
 *
 *      owned   [ run | run | run | ... ]     one thread
 *                         |  cpti_request_share()
 *      shared  [ run | run ] [ run ]         any thread
 *
 * What keeps a request alive. `reference_count` counts everything that will still touch
 * it: the request itself until `done` has returned, each piece of work that is queued
 * or runs, each call, timer or deferred work that is ongoing. A task that waits holds
 * no reference, since one of those resumes it. So if only the request's own reference
 * is left and the request has not ended, nothing can end it any more: it then ends with
 * an error.
 *
 * Who writes what. The progress of a task that misses nothing, its record and the
 * fields of its steps belong to the thread that runs it. What several threads touch is
 * atomic or guarded by the request's lock, and says so.
 *
 * The states of requests, tasks and pendings, and the one function for each transition,
 * are drawn in README.md.
 */
#ifndef CPT_REQUEST_H
#define CPT_REQUEST_H

#include "cpt/cpt_arena.h"
#include "cpt/cpt_trace.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/graph/plan.h"
#include "framework/pool/lock.h"
#include "framework/run/budget.h"
#include "framework/run/cancel.h"
#include "framework/run/component.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <stdatomic.h>
#include <stdbool.h>

struct cpti_call_observer;
struct cpti_resource;
struct cpti_trace_origin;
struct cpti_deadline;
struct cpti_failed_call;
struct cpti_timeout;
struct cpti_wait;

/* What a pending is. */
enum cpti_pending_kind {
    CPTI_PENDING_NONE = 0, /* memory of a request that is gone, which is zeroed */
    CPTI_PENDING_FAILED,   /* nothing has begun: see cpti_pending_failed() */
    CPTI_PENDING_TASK,     /* another task of the request: stands_for */
    CPTI_PENDING_WORK,     /* elsewhere: cpt_complete() ends it */
    CPTI_PENDING_TIMER,
    CPTI_PENDING_CALL, /* of another service */
    CPTI_PENDING_RUN,  /* of a plan: struct cpti_run */
    CPTI_PENDING_LOCK, /* a mutex */
    CPTI_PENDING_SEMAPHORE
};

/* Something that a task may wait for. */
struct cpt_pending {
    struct cpt_request *request;
    struct cpt_task *task;        /* that started it and may wait for it; not valid once
                                     the pending has ended */
    struct cpt_pending *next;     /* outstanding ones of the task, oldest first: */
    struct cpt_pending *previous; /* guarded by the request's lock */
    struct cpt_pending *next_waiter;           /* for the same task; guarded likewise */
    struct cpt_trace_call *call;               /* its record; NULL if there is none */
    const struct cpt_stub *stub;               /* of a call; else NULL */
    const struct cpt_transport_call *outbound; /* of a call: what goes out; else NULL */
    const char *target; /* of a call: the one that was picked, if its stub has several;
                           guarded by the request's lock */
    const struct cpti_resource *resource; /* of a lock; else NULL */
    uint64_t begin_ns; /* if traced; else of a call or a lock, by cpti_coarse_ns() */
    struct cpti_cancellable cancellable; /* if what completes it can be told to stop */
    uint32_t stands_for;   /* number of the task that it stands for + 1; 0: none */
    uint32_t await_number; /* the wait of its task that it belongs to */
    cpt_status status;     /* CPT_WAITING until it ends; guarded likewise */
    unsigned char kind;    /* enum cpti_pending_kind */
    bool is_completed;     /* what it stands for has said so; guarded likewise */
    bool has_no_timer;     /* its timer could not be set; see await.c */
    bool is_sent;          /* a call that has got a connection; atomic, relaxed */
};

/* One task of one request, all its life. */
struct cpti_progress {
    /*
     * Inputs that it still waits for. The giver that brings this to zero unblocks the
     * task: its edge is the critical one. Acq_rel if the request is shared: release, so
     * that the thread that runs the task sees what each giver wrote; acquire, because
     * the last giver is that thread. From then on this links a list of ready tasks (the
     * next one's number + 1) and belongs to the thread that has the list.
     */
    _Atomic uint32_t missing_input_count;
    /* CPT_WAITING until it has ended; in between CPTI_GIVEN_UP, if it was given up
     * before. Release by its last step; acquire by readers of its output that did not
     * wait for it. */
    _Atomic int32_t outcome;
};

/* The outcome of a task that was given up and has not ended: a step of it runs, or it
 * is yet to be found where it would begin. It ends as CPT_CANCELLED. */
enum { CPTI_GIVEN_UP = CPT_WAITING + 1 };

/* What of a request was stopped, in cpt_request.stops. */
enum {
    CPTI_STOP_ALL = 1, /* it has failed: no task begins a step any more */
    CPTI_STOP_SOME = 2 /* tasks were given up: those whose outcome says so */
};

/* What is noted of each traced task. */
struct cpti_record {
    /* Relaxed: a walk reads only the frame of a task that still runs. */
    _Atomic uint64_t start_ns;
    _Atomic uint64_t end_ns;
    uint16_t unblocker;   /* number + 1 of the task that brought its last input; 0: it
                             was ready with the request */
    uint16_t trace_index; /* its index in a walk, which has the lock, + 1; else 0 */
    uint32_t occupant;    /* of the worker while it queued; see cpti_task_name(); and
                             CPTI_LOST_WAITS */
};

/* What is noted of a task that queued behind others. */
struct cpti_queued {
    uint32_t occupant_request; /* the occupant's number, see overlap.h */
    uint32_t queue_length;     /* as in struct cpt_trace_task */
};
/* In cpti_record.occupant: the task has waited, without memory for its trace. */
#define CPTI_LOST_WAITS (UINT32_C(1) << 31)

_Static_assert(CPT_GRAPH_TASKS_MAX < UINT16_MAX + 1, "a number + 1 fits");

/* What the walk sees of a task: made when the task first waits, else when the walk
 * comes to it. Guarded by the request's lock. */
struct cpti_task_trace {
    struct cpt_trace_task task; /* first */
    uint32_t number;
    struct cpti_task_trace *next; /* of those of the request that have waited */
    struct cpti_came *came;       /* if the request keeps edges; NULL: nothing has */
    /* Covers the waits that there was no memory to record, from the first to the
     * last */
    struct cpt_trace_await lost;
    bool is_open; /* a walk, which goes on, has filled in the task */
};

/* One task that others may start. Guarded by the request's lock. */
struct cpti_demand {
    struct cpt_pending *waiters; /* which stand for it */
    uint64_t started_ns;         /* if traced */
    struct cpt_task *task; /* its activation, from when it first waits until it has
                                    ended and left nothing; else NULL */
    uint32_t starter;      /* number + 1 of the task that started it first */
    uint32_t next_given;   /* of those that are just being given up: number + 1 */
    uint32_t gone_count;   /* of the tasks that may start it, those that failed or
                                    were given up */
    uint16_t waiter; /* number + 1 of a task that waited for it; if edges are kept */
    bool is_started;
    bool is_given; /* it was given up, perhaps when it had ended */
};

/* A list of ready tasks, linked through their progress: numbers + 1; 0: none. */
struct cpti_ready {
    uint32_t first;
    uint32_t last;
};

/* Whose an activation is that does not wait any more, cpt_task.turn. */
enum {
    CPTI_TURN_STEP,   /* of the thread that runs its step */
    CPTI_TURN_QUEUED, /* its next step is queued */
    CPTI_TURN_LOST    /* and will not run, as the task was given up */
};

/* An activation: one task of a request while it runs or waits. */
struct cpt_task {
    struct cpt_work work; /* first: the executor hands us this */
    struct cpt_request *request;
    struct cpti_ready ready; /* to be run; while it is a bundle, see task.c */
    struct cpti_ready
        *others;     /* while a step runs: ready tasks that its thread holds */
    uint32_t number; /* of its task; CPTI_NO_TASK: it is a bundle */
    uint32_t place;  /* in the request's block; CPTI_NO_TASK: in its arena */
    struct cpti_record *record; /* NULL if not traced */
    cpt_task_fn next;

    /* Of the thread that runs it. All zero at the beginning of a task. */
    void *state;
    size_t state_bytes;
    char *sentence;      /* why it fails */
    uint64_t timeout_ns; /* of the wait that it asked for; 0: none */
    uint64_t lane_ns;    /* when it was put into a second lane, until it runs; or 0 */
    cpt_status timer_status; /* why a timer could not be set, until it waits for that */
    uint32_t queue_length;   /* if traced: when it, or its bundle, was submitted */
    bool has_asked;          /* to wait, in this step */
    bool has_begun;          /* its start is noted */
    bool has_slept;          /* it has called cpt_sleep() */
    bool is_used;            /* a field from `state` on is not zero */
    unsigned char refusal;   /* enum cpt_outcome, by cpt_refuse(); 0: it has not */

    /* Guarded by the request's lock. All zero at the beginning of a task. */
    bool is_waiting;
    bool has_runner_up;
    bool has_held;       /* a lock, perhaps not any more */
    bool has_components; /* it has spawned some */
    atomic_uchar turn;   /* CPTI_TURN_…; relaxed; set to QUEUED with the lock held */
    uint32_t await_number;      /* of the wait that it asked for last … */
    uint32_t wanted_count;      /* … and how many of its pendings must still end */
    struct cpt_pending *oldest; /* outstanding, started by it */
    struct cpt_pending *newest;
    struct cpti_timeout *timeout;
    struct cpti_task_trace *trace; /* from when it first waits, if it is traced */
    struct cpt_trace_await *await; /* record of the wait it is in; NULL if none */
    uint64_t runner_up_ns;         /* the arrival before the last one, of this wait */
    struct cpti_wait *wait;        /* while its step is in cpt_wait() */
    uint64_t step_begin_ns;        /* if CPU time is measured: of its step … */
    uint64_t step_cpu_ns;          /* … and the CPU time of the thread then */
    struct cpt_task *next_spare;   /* of the unused ones in the arena */
    LIST_ENTRY(cpt_task) waiting_link; /* of the request, while is_waiting */
};

/* A call or task that a task has waited for, or may ask for yet, of a request that
 * keeps edges. Guarded by the request's lock. */
struct cpti_edge {
    struct cpti_edge *next;
    const struct cpt_pending *pending;
    struct cpt_trace_call *call;         /* it, or NULL: … */
    uint32_t giver;                      /* … number + 1 of the task */
    uint32_t waiter;                     /* number + 1 */
    const struct cpt_trace_await *await; /* NULL: its record is lost */
    uint64_t arrive_ns;                  /* 0: the wait ended before */
    uint32_t await_number; /* while it is held: of the last wait that has asked for it;
                              0: none has */
    bool is_spare;         /* that wait ends without it */
};

struct cpti_edges {
    struct cpti_edge *oldest;
    struct cpti_edge *newest;
};

/* What has come for a task. Guarded by the request's lock. */
struct cpti_came {
    struct cpti_edges arrived; /* at waits of the task */
    struct cpti_edges held;    /* the step that asks for it is yet to come, or has not
                                  returned */
    uint32_t held_count;       /* at most CPTI_CAME_MAX: others are lost, and counted */
    uint32_t asked_count;      /* those that the wait with await_number asks for … */
    uint32_t await_number;
    uint32_t spare_count; /* … and what is outstanding of it that it does not need */
};

enum { CPTI_CAME_MAX = 4096 };

/* Where the calls of a request whose graph is kept take their ids from: random numbers,
 * never 0. */
struct cpti_kept {
    uint64_t seed;
    atomic_uint_least64_t call_count; /* relaxed: each call gets a number of its own */
};

/* How late a request and its components may be; see slack.h. */
struct cpti_slack {
    atomic_uint_least64_t left_ns; /* relaxed */
    uint64_t wait_ns_max;          /* of one work, in an executor */
};

/* What a request inherits from the service that serves it. */
struct cpti_inherited {
    struct cpti_call_observer *observer; /* the service's; NULL: started without one */
    struct cpt_ask ask;              /* what its callees are asked, if it is traced */
    unsigned overcount;              /* enum cpt_overcount */
    struct cpti_trace_origin *trace; /* of W3C Trace Context, of all who inherit it; in
                                        what outlives them; service/trace_context.h */
    uint64_t span_seed; /* of the spans that are written of it; 0: none; span_ids.h */
    bool is_silent;     /* traced, but callees are not asked: shared work */
    uint32_t overlap_number;   /* see overlap.h; 0: not traced, or not known */
    struct cpt_stream *stream; /* for messages before the reply; NULL: there is none */
    const struct cpti_delay *delay; /* of tasks, if it is traced; NULL: none; delay.h */
    struct cpti_kept *kept; /* of a request whose graph is kept, and its components; in
                               what outlives them; NULL: it is not */
    struct cpti_slack *slack; /* of the outermost request; NULL: it has no lanes */
};

/* The record of a call, if the request keeps edges: spans and graphs show also calls
 * off the path. */
struct cpti_call {
    struct cpt_trace_call call; /* first */
    struct cpti_call *next;     /* that was issued before */
    uint32_t number;            /* from 0, for its span's id */
    uint32_t waiter;            /* number + 1 of the task that waited for it; 0: none */
};

/* Something that is released when a request is freed; in memory of the request, or of
 * its own. */
struct cpti_cleanup {
    struct cpti_cleanup *next;
    void (*run)(struct cpti_cleanup *cleanup);
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
    struct cpt_task *activations;
    size_t cleared_bytes; /* of each, when it is taken */
    struct cpti_demand *demands;
    struct cpti_record *records;    /* NULL if not traced */
    struct cpti_quota *notes_quota; /* of its notes and its components', if traced */
    struct cpti_inherited inherited;
    struct cpt_trace trace; /* entry and arrival from the beginning */
    struct cpt_bytes executor_name;
    bool is_traced;
    bool is_shared;   /* written once, by the owner */
    bool keeps_edges; /* calls off the path and who waited for what are noted, too: set
                         before it is launched, and only if it is traced */

    /* Its own is CPTI_OWN_REFERENCE, others count 1. Acq_rel: the last one sees all. */
    atomic_uint_least32_t reference_count;
    atomic_uchar stops;      /* CPTI_STOP_…; relaxed: a hint to begin nothing more */
    atomic_uchar uses_locks; /* it or a component has asked for one, if it is no
                                component itself; set with the lock held; relaxed */
    atomic_uchar is_ended;   /* set once, with the lock held; release and acquire */
    /* The free activations of the block, a bit each; acq_rel if shared. */
    _Atomic uint64_t free_activations;

    cpt_status status;    /* set with is_ended; not changed again */
    uint32_t answered_by; /* likewise: number of the task + 1; 0: by none */
    uint32_t failed_task; /* likewise: whose status it is, if not CPT_OK; 0: none's */
    const char *sentence;
    const char
        *refusal_text;     /* likewise: for the client, of a task that refused it … */
    unsigned char refusal; /* … and its enum cpt_outcome; 0: none has */
    struct cpti_cancellables cancellables; /* guarded by lock; see cancel.c */
    struct cpti_cancellables held_locks;   /* likewise; by tasks: struct cpti_held */
    struct cpt_request_handle *handle;     /* or NULL; see handle.c */
    struct cpti_account *account;          /* for its memory, in its arena, or NULL */
    struct cpti_deadline *deadline;        /* its timer, or NULL; see deadline.c */
    uint64_t deadline_ns;                  /* of its clock; 0: none */
    struct cpti_slack slack;               /* if it is no component and has lanes */
    struct cpti_failed_call *failed_call;  /* guarded by lock; see call.h */
    struct cpti_task_trace *traces; /* of tasks that have waited; guarded by lock */
    struct cpti_call *calls; /* if it keeps edges, newest first; guarded by lock */
    size_t noted_count;      /* likewise: its calls, waits and edges */
    uint64_t *off_cpu_ns;    /* of first steps, by number; NULL: not measured */
    const struct cpt_trace_starved **starved; /* likewise */
    struct cpti_queued *_Atomic queued; /* by number; NULL: no task has queued behind
                                           others. Release and acquire; an entry is read
                                           after the start of its task */
    struct cpt_task *spare;             /* guarded by lock */
    LIST_HEAD(, cpt_task) waiting;      /* those that wait; guarded by lock */
    atomic_uint need_count; /* steps that block until it, or a task of it, has ended,
                               and, of the outermost, locks that tasks hold; wait.c */
    atomic_uint kept_locks; /* likewise, by cpt_mutex_lock() across waits; a hint */
    struct cpti_wait *spare_waits;    /* guarded by lock */
    struct cpti_wait *made_waits;     /* all of them; guarded by lock */
    uint32_t wait_count;              /* in cpt_wait(), see wait.c; guarded by lock */
    struct cpt_attribute *attributes; /* guarded by lock; see attributes.c */
    size_t attribute_count;
    size_t attribute_bytes;
    uint64_t attribute_dropped_count;
    void *served; /* what the service knows of it; see framework/service */
    struct cpti_cleanup *cleanups; /* guarded by lock */
    struct cpti_nest nest;

    /* Survive from one request in this block to the next. */
    struct cpti_lock lock;
    struct cpt_arena arena; /* guarded by lock once the request is shared */
    struct cpt_arena notes; /* of what is recorded, if it is traced; likewise */
    struct cpti_quota own_notes_quota; /* of a traced request that is no component */
    struct cpt_path *path; /* if it is traced: its path's memory, or NULL; blocks.c */
    size_t
        block_bytes; /* of the request with its tasks, beside the arenas; of these … */
    size_t plain_bytes; /* … those that it would take if it were not traced */
};

enum {
    CPTI_REQUEST_BYTES_DEFAULT = 16 << 20, /* the limits of memory of one request … */
    CPTI_REQUEST_PART = 8,                 /* … or this part of cpt_memory_max() */
    CPTI_FAILED_CALL_BYTES = 400           /* of the text of a call that failed */
};

/* The limit of one request, and that of its trace, whose options say none. */
static inline size_t cpti_request_bytes_default(void)
{
    return cpt_memory_part(CPTI_REQUEST_BYTES_DEFAULT, CPTI_REQUEST_PART);
}

/* The request's own reference, so that it can be told from all others. */
#define CPTI_OWN_REFERENCE (UINT32_C(1) << 31)

/* --- blocks.c --- */

/* A request that does not run yet; its arenas may be used. @parent is the one whose
 * component it will be, or NULL: its memory counts with that of @parent, and if there
 * is none left for its notes, it is not traced. CPT_OK; CPT_NO_MEMORY or CPT_LIMIT:
 * none was made, and `gone` is not called. */
cpt_status cpti_request_new(const struct cpt_request_options *options,
                            const struct cpt_request *parent, struct cpt_request **made,
                            struct cpt_error *error);

/* An empty path, good as long as the traced @request; NULL without memory. There is one
 * at a time. */
struct cpt_path *cpti_request_path_new(struct cpt_request *request);

/* Destroys it, after its cleanups; only for cpti_request_free(). */
void cpti_request_destroy(struct cpt_request *request);

/* --- request.c --- */

/* Runs it; if @is_here, on this thread as far as possible. @input is not copied. */
void cpti_request_launch(struct cpt_request *request, void *input, bool is_here);

/* Frees a request that was never launched or has nothing left to run: retires it if it
 * is nested (component.h), else runs its cleanups and calls `gone`. */
void cpti_request_discard(struct cpt_request *request);

/* The bytes that are freed with @request, which is no component: its own, and those of
 * its components. Lock held, or nothing of it runs any more. */
size_t cpti_request_bytes(const struct cpt_request *request);

/* Frees a request and all that its cleanups free, without recursion. */
void cpti_request_free(struct cpt_request *request);

/* Runs @cleanup when @request is freed. Lock not held. */
void cpti_cleanup_add(struct cpt_request *request, struct cpti_cleanup *cleanup);

/* From now on other threads may touch the request. Only for its owner; no effect if it
 * is shared already. */
static inline void cpti_request_share(struct cpt_request *request)
{
    if (!request->is_shared) {
        /* What the owner wrote is visible to a snapshot that reads true; see
         * snapshot.c. No other thread reads this before it has got the request. */
        __atomic_store_n(&request->is_shared, true, __ATOMIC_RELEASE);
    }
}

/* Takes a reference; the caller must hold one. */
static inline void cpti_request_hold(struct cpt_request *request)
{
    cpti_request_share(request);
    atomic_fetch_add_explicit(&request->reference_count, 1, memory_order_relaxed);
}

/* Gives back a reference; with the last one the request is freed. Lock not held. */
void cpti_request_release(struct cpt_request *request);

/* Cancels a timer that holds a reference to @request. Lock not held. */
void cpti_timer_cancel(struct cpt_request *request, struct cpt_timer *timer);

/* Ends the request and calls `done`; false: it had ended before. @task made the output
 * or failed. If it is NULL, @status says why: CPT_INVALID: nothing can continue;
 * CPT_CANCELLED, CPT_TIMEOUT: the answer is no longer wanted; CPT_LIMIT: no memory. */
bool cpti_request_end(struct cpt_request *request, cpt_status status,
                      const struct cpt_task *task);

/* Zeroed memory of the request; takes the lock if it is shared. */
void *cpti_request_take(struct cpt_request *request, size_t bytes);

/* A free activation, as a bundle; NULL at the limit of memory. Lock not held. */
struct cpt_task *cpti_activation_take(struct cpt_request *request);

/* Gives back one that is not used any more. Lock not held. */
void cpti_activation_put(struct cpt_task *task);

/* What the plan says of @task, which is no bundle. */
static inline const struct cpti_plan_step *cpti_task_step(const struct cpt_task *task)
{
    return &task->request->plan->steps[task->number];
}

static inline const struct cpti_plan_task *cpti_task_plan(const struct cpt_task *task)
{
    return &task->request->plan->tasks[task->number];
}

/* What task number @number gives. */
static inline void *cpti_request_value(const struct cpt_request *request,
                                       uint32_t number)
{
    return request->outputs + request->plan->tasks[number].output_offset;
}

/* What @task gives. */
static inline void *cpti_task_value(const struct cpt_task *task)
{
    return cpti_request_value(task->request, task->number);
}

/* Whether the request has failed, or all of it was given up. */
static inline bool cpti_request_is_stopped(const struct cpt_request *request)
{
    return (atomic_load_explicit(&request->stops, memory_order_relaxed) &
            CPTI_STOP_ALL) != 0;
}

/* How task @number has ended; CPT_WAITING: it has not, and was not given up. */
static inline cpt_status cpti_request_outcome(const struct cpt_request *request,
                                              uint32_t number)
{
    /* Pairs with the release in end_task(): its output is then complete. */
    const int32_t outcome =
        atomic_load_explicit(&request->progress[number].outcome, memory_order_acquire);

    return outcome == CPTI_GIVEN_UP ? CPT_CANCELLED : outcome;
}

/* The demand for a task that others may start. */
static inline struct cpti_demand *cpti_request_demand(const struct cpt_request *request,
                                                      uint32_t number)
{
    return &request->demands[request->plan->tasks[number].demand_index];
}

#endif
