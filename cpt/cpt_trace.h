/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_trace.h - what happened in a request: who waited for whom, and when
 *
 * A runtime (or an importer) notes three sorts of records while a request runs:
 *
 *   task    a piece of the application: when it became ready, started and ended, who
 *           unblocked it (the input that arrived last) and who started it
 *   call    work that goes on outside a task: an RPC, a timer
 *   await   a task stopped at block until something had come (arrive), and went on at
 *           resume
 *
 *      task A1   ready|queue|start ====== block ........ resume ===== end
 *      call B1                    issue --------- arrive
 *
 * cpt_critical_path() walks these backwards from the response and throws away all that
 * did not hold it up. The records are plain structs that point at each other; whoever
 * makes them owns them, in an arena say, and keeps them until the walk is done.
 *
 * What the walk relies on: the steps of one task are sequential (between a block and
 * its resume it does nothing); a call arrives not before it is issued; following
 * unblocker, starter and awaited task never leads in a circle. It does not believe it:
 * a record that breaks this costs precision, never the sum, and a circle is reported.
 *
 * Most tasks of a request are off its path, and the walk never looks at them. Whoever
 * keeps its own, smaller records of tasks need not make structs of all of them: the
 * trace's open_task fills in each one when the walk first comes to it.
 *
 * Threads: one at a time; nobody may change a record while the walk reads it.
 */
#ifndef CPT_TRACE_H
#define CPT_TRACE_H

#include "cpt/cpt_name.h"

CPT_BEGIN_DECLS

struct cpt_path;
struct cpt_trace_await;
struct cpt_trace_call;

/* A sub-graph that tasks lie in: a frame of its own between the entry and the task. */
struct cpt_trace_group {
    struct cpt_bytes name;
    const struct cpt_trace_group *parent; /* NULL: right below the entry frame */
};

/* How a task came to begin. */
enum cpt_trace_begin {
    CPT_BEGIN_REQUEST = 0, /* with the request */
    CPT_BEGIN_TASK = 1,   /* when `unblocker` delivered its last input, or started it */
    CPT_BEGIN_UNKNOWN = 2 /* the record was lost: the time before is unattributed */
};

/* One task of the request. The first 64 bytes are what the walk reads of every task
 * that it passes, the rest is for those that give a frame. */
struct cpt_trace_task {
    struct cpt_trace_task *unblocker; /* for CPT_BEGIN_TASK */
    uint64_t ready_ns;                /* its last input had come, it could start */
    uint64_t start_ns;
    struct cpt_trace_await *last_await; /* newest first; NULL if it never waited */
    uint64_t margin_ns;  /* the runner-up input came so much before the last one */
    unsigned char begin; /* enum cpt_trace_begin */
    unsigned char has_margin;
    unsigned char has_no_frame; /* its own time is that of what it stands below */
    /* Scratch of the walk: walk_state is 0 before and after, the rest anything. */
    unsigned char walk_state;
    uint32_t walk_frame;
    struct cpt_trace_await *walk_await;
    struct cpt_trace_task *walk_next;
    struct cpt_bytes name;               /* "A: A1" */
    const struct cpt_trace_group *group; /* sub-graph it lies in, or NULL */
    struct cpt_trace_task *starter;      /* the task below which it stands, or NULL */
    struct cpt_bytes executor;           /* whose queue it waited in; may be empty */
    struct cpt_bytes occupant;           /* who had the worker then; may be empty */
    uint64_t end_ns;
    uint64_t off_cpu_ns; /* of the first step; see measures_off_cpu */
    struct cpt_trace_await *walk_step;
    uint64_t walk_step_end_ns;
    void *source; /* the maker's own: what open_task fills the task in from */
};

/* How a call ended, as far as the path is concerned. */
enum cpt_trace_outcome {
    CPT_CALL_LOCAL = 0,   /* work of this process under the call's own name, no RPC */
    CPT_CALL_REMOTE = 1,  /* an RPC: its path if there is one, else a blind spot */
    CPT_CALL_TIMEOUT = 2, /* the deadline came first */
    CPT_CALL_KIND = 3,    /* a wait that is no work: `kind` says which (a back-off) */
    /* A run of this process that has a path of its own, opened like that of a callee.
     * Without a name it is the issuer's own frame that stands for it. */
    CPT_CALL_COMPONENT = 4,
    CPT_CALL_LOCK = 5 /* a wait for a lock: `name` is the lock's */
};

/* One call. */
struct cpt_trace_call {
    struct cpt_bytes name;         /* "B: Lookup", as the caller's stub says */
    struct cpt_trace_task *issuer; /* the task that made the call */
    uint64_t issue_ns;
    uint64_t sent_ns;           /* it left the queue for a connection; 0: at once */
    uint64_t arrive_ns;         /* the reply was there, or the timer fired */
    struct cpt_bytes executor;  /* whose queue it waited in till sent */
    uint64_t server_elapsed_ns; /* what the callee says it took */
    unsigned char has_server_elapsed;
    unsigned char outcome;   /* enum cpt_trace_outcome */
    unsigned char kind;      /* enum cpt_kind, for CPT_CALL_KIND */
    unsigned char reason;    /* enum cpt_reason, if there is no path */
    uint32_t attempt;        /* 1, 2 … where it was tried several times; else 0 */
    struct cpt_bytes status; /* how it ended, where not well: a label; may be empty */
    struct cpt_bytes holder; /* of a lock: who had it at issue_ns; may be empty */
    const void *reply;       /* for struct cpt_trace.open_callee; may be NULL */
    size_t reply_bytes;
};

/* One wait of a task, and the step that came after it. It is for a call or for a task,
 * never for both. */
struct cpt_trace_await {
    struct cpt_trace_await *previous; /* of the same task */
    struct cpt_trace_call *call;      /* what released it, or NULL */
    struct cpt_trace_task *task;      /* what released it, or NULL */
    uint64_t block_ns;                /* the task had nothing more to do */
    uint64_t arrive_ns;               /* at or before block: it did not have to wait */
    uint64_t resume_ns;               /* it ran again; UINT64_MAX: not yet */
    uint64_t margin_ns;               /* the runner-up came so much earlier */
    uint64_t off_cpu_ns;              /* of the step from its resume on */
    struct cpt_bytes occupant; /* who had the worker from arrive to resume; or empty */
    unsigned char has_margin;
};

/* Whose the time is in which a task computed although it had a call outstanding. */
enum cpt_attribution {
    /* The longest path: from issue to arrival it is the callee's, if the caller had to
     * wait at all. To shorten what is charged shortens the request. */
    CPT_ATTRIBUTE_LONGEST = 0,
    /* Only the time in which the caller was blocked is the callee's. */
    CPT_ATTRIBUTE_BLOCKED = 1
};

/* One request. */
struct cpt_trace {
    struct cpt_bytes entry; /* "A: /": the frame that all others stand below */
    uint64_t arrival_ns;
    uint64_t response_ns;
    /* NULL: by no task; all is the entry's own, unattributed if records were lost. */
    struct cpt_trace_task *answered_by;
    uint64_t dropped_event_count; /* records that were lost at a limit */
    unsigned attribution;         /* enum cpt_attribution */
    /*
     * Fills in @task, of which only walk_state (0) and `source` are set till then.
     * Called once for each task that a walk comes to, before the walk reads anything
     * else of it: for those on the path, those whose awaits it passes over, and their
     * starters, which give a frame; in no order to rely on. It sets everything but the
     * scratch and does not call the walk. What it points to is good until the walk has
     * returned, and there is one struct for one task: starter, unblocker, the awaits
     * with the tasks and calls that released them, and the calls' issuers. The tasks
     * among these may be stubs in turn; awaits, calls and groups are filled in. It may
     * add to dropped_event_count. A second walk of the same trace calls it again for
     * tasks that are filled in already.
     *
     * NULL: every task is filled in already. Anything else than CPT_OK ends the walk
     * with that status, and @task is a stub still.
     */
    cpt_status (*open_task)(void *context, struct cpt_trace_task *task);
    /*
     * Makes the path of a callee from what it replied. Called for calls that turned out
     * to be on the path, only for them, in time order, at most once each. It appends
     * to @callee, which is empty, and may set server_elapsed_ns in @call; or it returns
     * something else than CPT_OK after setting @call->reason. NULL: no callee has one.
     */
    cpt_status (*open_callee)(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee);
    /* Told what splicing a callee's path found, or that a callee without one claimed
     * too much; may be NULL. */
    void (*spliced)(void *context, const struct cpt_trace_call *call,
                    uint64_t overcount_ns, uint64_t undercount_ns, int is_inconsistent);
    void *context;
    unsigned overcount; /* enum cpt_overcount of cpt_path.h, for all callees */
    /* When the request was taken up, if the transport can tell its bytes' arrival from
     * that: the time between is ‹accept queue›. 0: at arrival. */
    uint64_t dispatch_ns;
    /*
     * Whether the tasks' steps say for how long no processor ran them (off_cpu_ns). A
     * step lasts from a start or resume to the next block or to the end. A part of a
     * step that is on the path takes its share of that time with it, in proportion, as
     * a segment ‹off CPU› below the task; the shares of all parts of a step sum to its
     * off_cpu_ns exactly.
     */
    unsigned char measures_off_cpu;
};

/*
 * Appends the critical path of @trace to @path, which is empty. Its sum is always
 * response_ns - arrival_ns (cpt_path_check() is asserted in debug builds).
 *
 * The method is the backward walk of critical.c. Cost: a step for each segment and each
 * await passed over; memory: @path, 56 bytes a step, and one callee's path.
 *
 * Names that are too long are cut (cpt_name_bound()).
 *
 * CPT_OK; CPT_CORRUPT if the records lead in a circle or the response comes before the
 * arrival; CPT_NO_MEMORY; CPT_LIMIT; what open_task returned. After an error @path is
 * empty again.
 */
CPT_API cpt_status cpt_critical_path(const struct cpt_alloc *alloc,
                                     const struct cpt_trace *trace,
                                     struct cpt_path *path, struct cpt_error *error);

CPT_END_DECLS

#endif
