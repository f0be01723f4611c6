/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_runtime.h - running requests, and where their tasks run
 *
 * A *request* is one run of a plan. It takes all its memory from one arena, runs its
 * tasks on an *executor*, and calls `done` exactly once, when the output is there or a
 * task that it needs has failed. If it is traced, its critical path is there too. Tasks
 * that the output did not wait for go on after `done`; the request is *gone* when the
 * last of them has ended.
 *
 *      input --> [ task ]--->[ task ]---> output --> done(request)
 *                    \------>[ task ]
 *
 * A request that is not traced notes nothing, and reads no clock but for a deadline.
 *
 * Executors: cpt_executor_inline() runs tasks on the thread that makes them ready; a
 * pool has worker threads. A transport brings one that runs them on its event loop. An
 * executor of your own is a struct cpt_executor.
 *
 * Threads: cpt_request_start() from any. `done` is called on the thread that ended the
 * request, with no lock held; its arguments are good until it returns.
 */
#ifndef CPT_RUNTIME_H
#define CPT_RUNTIME_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_name.h"

CPT_BEGIN_DECLS

struct cpt_path;
struct cpt_plan;
struct cpt_request;

/* --- Executors --- */

/* A piece of work for an executor, in memory of its submitter. */
struct cpt_work {
    struct cpt_work *next; /* for the executor */
    void (*run)(struct cpt_work *work);
};

/* A piece of work for later. All but `fire` is for the executor. */
struct cpt_timer {
    struct cpt_timer *next;
    uint64_t at_ns;
    size_t index;
    void *handle;
    void (*fire)(struct cpt_timer *timer);
};

/* See struct cpt_executor.hunger. */
enum cpt_hunger {
    CPT_HUNGRY_THREAD = 1, /* another thread could take work, now or soon: a request
                              keeps no ready task back while it runs one */
    CPT_HUNGRY_WORK = 2    /* other work waits for its turn: a long run should yield */
};

/* Where tasks run. All functions may be called from any thread. */
struct cpt_executor {
    const char *name; /* shown beside queueing time */
    /* Runs @work soon, once; within this call only if this thread runs no work now. */
    void (*submit)(struct cpt_executor *executor, struct cpt_work *work);
    /* Calls timer->fire() after @delay_ns, on any thread; CPT_INVALID if it cannot. */
    cpt_status (*after)(struct cpt_executor *executor, struct cpt_timer *timer,
                        uint64_t delay_ns);
    /* 1: the timer will not fire. 0: it has fired or is about to. */
    int (*cancel)(struct cpt_executor *executor, struct cpt_timer *timer);

    /* What follows may be NULL. */

    /* Whether threads could take work, and work waits: enum cpt_hunger, or-ed. A hint,
     * and cheap. NULL: CPT_HUNGRY_THREAD always. */
    unsigned (*hunger)(struct cpt_executor *executor);
    /* Called during a long run; @work is its rest. 1: @work is queued behind what waits
     * now, and the caller returns; 0: nothing waits, or the caller's turn is not over:
     * it continues. Cheap. NULL: 0 always. */
    int (*yield)(struct cpt_executor *executor, struct cpt_work *work);
    /* Runs one piece of work, or fires a timer, on this thread. 0: there is none.
     * cpt_wait() calls it while a task waits, if the executor has no `block`. */
    int (*help)(struct cpt_executor *executor);
    /* The calling thread, which runs work of the executor, is about to block (1) or
     * continues (0): another thread may take its place meanwhile. */
    void (*block)(struct cpt_executor *executor, int is_blocked);
    /* How many works wait in the queue that work submitted now by this thread would
     * join. Called before a traced task is submitted; a hint, and cheap. */
    size_t (*queue_length)(struct cpt_executor *executor);
    /* As submit(), in a second lane: once all that was submitted before it has begun,
     * @work waits for what is submitted after it, but no longer than @wait_ns_max: then
     * it is next. NULL: there is one lane. Pools and queue executors have two. */
    void (*submit_later)(struct cpt_executor *executor, struct cpt_work *work,
                         uint64_t wait_ns_max);
};

/*
 * The calling thread, which runs work of an executor of yours, has nothing to run: call
 * it before the thread waits for work, each time. A task that had to queue names, as
 * `holder`, the task that had its thread meanwhile. A thread that does not say when
 * it idles names one only if that is known to have run during the wait, which takes a
 * traced one. Costs a nanosecond; executors of cpt do it by themselves.
 */
CPT_API void cpt_executor_idles(void);

/* Runs work on the thread that submits it, in the order of submission, without
 * recursion. It has no timers. Static memory. */
CPT_API struct cpt_executor *cpt_executor_inline(void);

/* What a pool is made of; see cpt_options_read(). */
struct cpt_pool_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    unsigned worker_count; /* default: the machine's processors */
    const char *name;      /* default "pool" */
    /* Extra threads that replace workers while these block in cpt_wait() or
     * cpt_mutex_lock(); default 64. A pool makes them when it needs them; then they
     * sleep. While worker_count and this many steps block, one more thread runs what
     * they wait for, and nothing else: other work waits in line. */
    unsigned extra_worker_count_max;
};

/* A pool with its workers running, or NULL with the reason in @error. */
CPT_API struct cpt_executor *cpt_pool_new(const struct cpt_pool_options *options,
                                          struct cpt_error *error);

/* Runs what was submitted, ends the workers and frees. NULL is fine. Timers that have
 * not fired never do: let requests end first. */
CPT_API void cpt_pool_free(struct cpt_executor *pool);

/* --- An executor that an event loop of the application drives --- */

/*
 * Work and timers wait until the loop runs them, all on its thread:
 *
 *      for (;;) {
 *          poll(..., cpt_queue_executor_next_ns(executor), rounded up to ms);
 *          ... the loop's own events; among them what `wake` has written ...
 *          cpt_queue_executor_run(executor, 0);
 *      }
 */
struct cpt_queue_executor_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    const char *name; /* default "queue" */
    /* Ends the loop's poll (writes to an eventfd, say): there is something to run
     * sooner than cpt_queue_executor_next_ns() returned. Called from any thread, once
     * after each call of that, with the executor's lock held: it must not call the
     * executor. */
    void (*wake)(void *context);
    void *context;
    const struct cpt_clock *clock; /* of timers; default: monotonic */
};

/* NULL with the reason in @error. */
CPT_API struct cpt_executor *
cpt_queue_executor_new(const struct cpt_queue_executor_options *options,
                       struct cpt_error *error);

/*
 * Fires timers that are due and then runs waiting work, on this thread: at most
 * @count_max of both together; 0: all that there is now, but not what that adds.
 * Returns how many.
 */
CPT_API size_t cpt_queue_executor_run(struct cpt_executor *executor, size_t count_max);

/* How long the loop may wait: 0 if there is something to run now, UINT64_MAX if there
 * will be nothing before `wake` is called. Call it on the loop's thread, just before it
 * waits. */
CPT_API uint64_t cpt_queue_executor_next_ns(struct cpt_executor *executor);

/* Frees; work and timers that are left never run: let requests end first. NULL is fine.
 */
CPT_API void cpt_queue_executor_free(struct cpt_executor *executor);

/* --- Requests --- */

/* Called once, when the request has ended. What it borrows is good until it returns. */
typedef void (*cpt_done_fn)(struct cpt_request *request, void *context);

/* One request; see cpt_options_read(). */
struct cpt_request_options {
    size_t struct_bytes;
    const struct cpt_plan *plan;
    struct cpt_executor *executor; /* default: inline */
    const void *input;             /* of the plan's input type; is copied */
    cpt_done_fn done;
    /* Called once nothing of the request runs any more, some time after `done`: plan
     * and executor may go then. May be NULL. */
    void (*gone)(void *context);
    void *context; /* of both */
    const struct cpt_alloc *alloc;
    size_t memory_bytes_max; /* of all of the request but its trace; default 16
                                MiB, at most 1/8 of cpt_memory_max() */
    int is_traced;
    const char *entry; /* the entry frame, "A: /"; default: the service's name */
    const struct cpt_clock *clock; /* default: monotonic; not read unless traced */
    uint64_t arrival_ns;           /* of that clock; default: when it is started */
    unsigned attribution;          /* enum cpt_attribution of cpt_trace.h */
    /* Traced requests also note how long their steps were off the CPU: ‹off CPU› on the
     * path. Costs two system calls a step. */
    int measures_cpu;
    /* The deadline, from arrival_ns, or from the start if that is 0; 0: none. When it
     * passes, the request ends as CPT_TIMEOUT, what is ongoing is told to stop, and the
     * sentence says what the request waited for. The timeouts of its calls are no
     * longer than what is left. The executor needs timers. */
    uint64_t timeout_ns;
    /* Of what is recorded of a traced request and its components, beside 24 bytes for
     * each task of its plan, which count for no limit; default likewise. What does not
     * fit is dropped and counted, and the path is flagged CPT_PATH_INCOMPLETE; the
     * request is not affected. */
    size_t trace_memory_bytes_max;
    /* As in struct cpt_service_options; 0: it has one lane. */
    uint64_t slack_wait_ns_max;
    /* How late it may be, if it has lanes; at most half of timeout_ns. Its works wait
     * in the second lane as long as some of it is left. */
    uint64_t slack_ns;
};

/*
 * Starts a request. CPT_OK: `done` and `gone` have been or will be called, in any case.
 * CPT_NO_MEMORY, CPT_LIMIT at memory_bytes_max, CPT_INVALID: they will not.
 */
CPT_API cpt_status cpt_request_start(const struct cpt_request_options *options,
                                     struct cpt_error *error);

/* --- Cancelling from outside --- */

/* A request as its starter may still cancel it. It keeps nothing of the request alive,
 * and may outlive it. */
struct cpt_request_handle;

/* cpt_request_start() with a handle for it, which the caller frees. After an error
 * *@handle is NULL. */
CPT_API cpt_status cpt_request_start_held(const struct cpt_request_options *options,
                                          struct cpt_request_handle **handle,
                                          struct cpt_error *error);

/*
 * Ends the request as CPT_CANCELLED if it has not ended: `done` is called before this
 * returns, no task of it begins another step, and all that is ongoing is told to stop
 * (see cpt_cancel() of cpt_graph.h). 1: it did. 0: the request had ended already; tasks
 * that it left running are not stopped, or @handle is NULL: it was not started. From
 * any thread, at any time, any number of times.
 */
CPT_API int cpt_request_cancel(struct cpt_request_handle *handle);

/* Frees the handle, not the request. NULL is fine. */
CPT_API void cpt_request_handle_free(struct cpt_request_handle *handle);

/*
 * Starts a request and waits for its end on this thread. @output, which may be NULL,
 * gets a copy of the output (as large as the output value); @path, which may be NULL,
 * the critical path if it is traced. `done` and `gone` are not called. When it returns,
 * nothing of the request runs any more. Not for tasks of the same pool, as it blocks a
 * thread of it; CPT_INVALID from within the inline executor.
 *
 * How the request ended, with the sentence of the task that failed in @error. If it
 * ended well but its path could not be made, that is CPT_OK, @path is empty, and
 * @error says why.
 */
CPT_API cpt_status cpt_request_run(const struct cpt_request_options *options,
                                   void *output, struct cpt_path *path,
                                   struct cpt_error *error);

/*
 * How many mistakes code of this process has made in its use of the framework: a
 * pending completed twice, given to a function for another kind, or used after its
 * request; a state of another size; a value that is not declared; a free mutex that is
 * unlocked. Each has a defined error and no other effect. The counters of a service
 * ("misuses") tell the kinds.
 */
CPT_API uint64_t cpt_misuse_count(void);

/* --- Inside `done` --- */

CPT_API cpt_status cpt_request_status(const struct cpt_request *request);

/* The sentence of the task that failed: "task 'A: A1': no such user". Empty if none. */
CPT_API const char *cpt_request_sentence(const struct cpt_request *request);

/* The output, or NULL if it failed. */
CPT_API const void *cpt_request_output(const struct cpt_request *request);

/* Arrival to now, the response. Fixed at the first call of it or of
 * cpt_request_path(); 0 if not traced. */
CPT_API uint64_t cpt_request_latency_ns(struct cpt_request *request);

/*
 * Appends the critical path to @path, which is empty. CPT_INVALID if not traced;
 * errors of cpt_critical_path().
 */
CPT_API cpt_status cpt_request_path(struct cpt_request *request, struct cpt_path *path,
                                    struct cpt_error *error);

/* --- Attributes: what the log says beside the path --- */

/*
 * Notes an attribute: from any task, and in `done` until it returns. The last value of
 * a key counts. An untraced request notes nothing. Strings are copied.
 */
CPT_API void cpt_request_set_text(struct cpt_request *request, const char *key,
                                  const char *text);
CPT_API void cpt_request_set_integer(struct cpt_request *request, const char *key,
                                     int64_t number);
CPT_API void cpt_request_set_float(struct cpt_request *request, const char *key,
                                   double number);
CPT_API void cpt_request_set_bool(struct cpt_request *request, const char *key,
                                  int is_true);

#if !defined(__cplusplus)
/* The one for the type of @value: cpt_request_set(request, "arm", "control"). */
#define cpt_request_set(request, key, value)                                           \
    _Generic((value), char *: cpt_request_set_text, const char *: cpt_request_set_text, \
             float: cpt_request_set_float, double: cpt_request_set_float,              \
             _Bool: cpt_request_set_bool, default: cpt_request_set_integer)(            \
        request, key, value)
#endif

CPT_END_DECLS

#endif
