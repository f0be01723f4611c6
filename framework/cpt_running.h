/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_running.h - what a service does just now
 *
 * Requests that are not answered yet, as JSON: their age, what each of their tasks
 * waits for, which locks they hold. The HTTP transport serves it beside the counters,
 * as GET /cpt/requests, and `cpt wait` draws it; docs/running.md describes it.
 *
 *      {"service":"A","requests":[{"id":7,"method":"/page","us":1204,...,"tasks":[
 *          {"name":"A: ads","state":"waits","for":[{"kind":"call","us":1100,
 *           "name":"B: /ads","target":"http://127.0.0.1:8002","method":"/ads"}]}]}]}
 *
 * Beside it, GET /cpt/plans tells the plans of its methods.
 *
 * Threads: any.
 */
#ifndef CPT_RUNNING_H
#define CPT_RUNNING_H

#include "cpt_rpc.h"
#include "cpt/cpt_io.h"

CPT_BEGIN_DECLS

enum {
    CPT_RUNNING_REQUESTS_MAX = 1000, /* told at once; the others are counted */
    CPT_RUNNING_BYTES_MAX = 4 << 20  /* of the JSON, with its last line end */
};

/*
 * Writes what @service does just now, by one call of @sink, without locks. Older
 * requests come first, more or less. A task that is not traced is "runnable" both while
 * it runs and while it is queued, and only its calls and its locks have a time ("us").
 *
 * CPT_OK; CPT_NO_MEMORY, and nothing is written; CPT_IO if @sink failed.
 */
CPT_API cpt_status cpt_service_requests_json(struct cpt_service *service,
                                             const struct cpt_sink *sink);

/*
 * Writes the plans of the methods of @service as JSON, with the types of their values;
 * GET /cpt/plans, and `cpt graph` draws them. As cpt_service_requests_json().
 */
CPT_API cpt_status cpt_service_plans_json(struct cpt_service *service,
                                          const struct cpt_sink *sink);

/* All plans of the process are made: tells it `cpt graph PROGRAM`, if that has started
 * it (CPT_PLANS in the environment); else does nothing. cpt_http_run() calls it. */
CPT_API void cpt_plans_are_made(void);

/*
 * --- Steps that block their thread for too long, with a stack ---
 *
 * A step that computes for long, or blocks in a system call, keeps its thread from all
 * other requests. While stalls are watched, a thread of the library looks at the
 * threads that run tasks. One that has not come on for the limit gets a signal, in
 * whose handler its stack is read; the stack is reported, and the stall is counted by
 * its task (counter `stalls`).
 *
 *      cpt_stalls_watch()   handler installed, thread started      off before
 *      cpt_stalls_end()     thread ended, signal ignored
 *
 * A step in cpt_wait() is no stall: its thread is replaced meanwhile. A thread comes on
 * with each piece of work, and with each 16th task within one.
 *
 * It is off unless it is asked for: the signal may end sleeps and waits of a stalled
 * step early, with EINTR.
 */

/* One stall. Good until the report returns. */
struct cpt_stall {
    struct cpt_bytes task; /* its frame, "A: ads" */
    uint64_t stalled_ns;   /* so far, at least */
    void *const *frames;   /* return addresses, the innermost first; for
                              backtrace_symbols_fd() of <execinfo.h> or addr2line */
    size_t frame_count;
};

struct cpt_stall_options {
    size_t struct_bytes;
    uint64_t limit_ns;   /* default 100 ms */
    unsigned minute_max; /* reports in a minute; further ones are only counted;
                                default 6 */
    int signal_number;   /* which must be unused; default SIGRTMAX - 3 */
    /* Called on the watching thread, without locks. Must be set. */
    void (*report)(void *context, const struct cpt_stall *stall);
    void *context;
};

/* Begins to watch the threads of the process that run tasks, from the next piece of
 * work of each. CPT_OK; CPT_INVALID: they are watched already, there is no report, or
 * the signal is used; CPT_NO_MEMORY; CPT_IO: no thread. */
CPT_API cpt_status cpt_stalls_watch(const struct cpt_stall_options *options,
                                    struct cpt_error *error);

/* Ends that, and waits for a report that runs. No effect if none are watched. */
CPT_API void cpt_stalls_end(void);

/* Visits the number of stalls of each task since the process began. */
CPT_API void cpt_stalls_visit(void (*visit)(void *context, struct cpt_bytes task,
                                            uint64_t count),
                              void *context);

CPT_END_DECLS

#endif
