/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_trace.h - what happened in a request: who waited for whom, and when
 *
 * A runtime (or an importer) notes three sorts of records while a request runs:
 *
 *   task    a piece of the application: when it became ready, started and ended,
 *           which task unblocked it (the input that arrived last), and which one
 *           started it
 *   call    work that goes on outside a task: an RPC, a timer
 *   await   a wait of a task: it stopped at block, what it waited for came at
 *           arrive, and it continued at resume
 *
 *      task A1   ready|queue|start ====== block ........ resume ===== end
 *      call B1                    issue --------- arrive
 *
 * cpt_critical_path() walks these backwards from the response and drops all that did
 * not delay it. The records are plain structs that point at each other. Their maker
 * owns them, in an arena for example, and keeps them until the walk is done.
 *
 * What the walk assumes: the steps of one task are sequential (it does nothing between
 * a block and its resume); a call does not arrive before it is issued; unblocker,
 * starter and awaited task never form a cycle. A record that breaks this costs
 * precision, never the sum, and a cycle is an error.
 *
 * The walk never looks at tasks that are off the path, which are most of a request. A
 * runtime with smaller records of its own need not turn all of them into structs: the
 * trace's open_task fills in a task when the walk first comes to it.
 *
 * Threads: one at a time; no record may change while the walk reads it.
 */
#ifndef CPT_TRACE_H
#define CPT_TRACE_H

#include "cpt/cpt_name.h"

CPT_BEGIN_DECLS

struct cpt_drags;
struct cpt_path;
struct cpt_trace_await;
struct cpt_trace_call;

/*
 * How it is known who waited for whom, from strong to weak. What rests on several waits
 * is as good as the weakest of them.
 */
enum cpt_evidence {
    CPT_EVIDENCE_RECORDED = 0, /* the runtime saw it */
    CPT_EVIDENCE_MEASURED = 1, /* the kernel saw it */
    CPT_EVIDENCE_TOLD = 2,     /* a span says so */
    CPT_EVIDENCE_LEARNT = 3,   /* from the order of events in many requests */
    CPT_EVIDENCE_INFERRED = 4  /* from the order of events in this one */
};

enum { CPT_EVIDENCE_COUNT = 5 };

/* "recorded" …; NULL for other numbers. */
CPT_API const char *cpt_evidence_word(unsigned evidence);

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

/*
 * What the kernel says of a step's time off the CPU: for how long a processor was all
 * that it missed. The rest it slept.
 */
struct cpt_trace_starved {
    uint64_t delay_ns;        /* at most the step's off_cpu_ns */
    struct cpt_bytes culprit; /* the task that ran most meanwhile, as far as is known;
                                 may be empty */
    uint64_t culprit_request; /* as occupant_request below */
};

/*
 * One task of the request. The walk reads only the first 64 bytes of the tasks that it
 * passes, and the rest of those that get a frame.
 *
 * Fields that begin with walk_ are scratch of the walk and private to it. Set
 * walk_mark to 0 in a new task; the others need no value.
 */
struct cpt_trace_task {
    struct cpt_trace_task *unblocker; /* for CPT_BEGIN_TASK */
    uint64_t ready_ns;                /* its last input arrived: it could start */
    uint64_t start_ns;
    struct cpt_trace_await *last_await; /* newest first; NULL if it never waited */
    uint64_t margin_ns;                 /* from the runner-up input to the last one */
    unsigned char begin;                /* enum cpt_trace_begin */
    unsigned char has_margin;
    unsigned char has_no_frame; /* its own time belongs to the frame above it */
    uint32_t walk_word;
    struct cpt_trace_await *walk_await;
    uint64_t walk_mark;
    struct cpt_bytes name;               /* "A: A1" */
    const struct cpt_trace_group *group; /* sub-graph it lies in, or NULL */
    struct cpt_trace_task *starter;      /* the task below which it stands, or NULL */
    struct cpt_bytes executor;           /* whose queue it waited in; may be empty */
    struct cpt_bytes occupant; /* the task that had the worker then; may be empty */
    uint64_t end_ns;
    uint64_t off_cpu_ns; /* of the first step; see measures_off_cpu */
    struct cpt_trace_await *walk_more;
    uint64_t walk_more_ns;
    void *source; /* the maker's own record, from which open_task fills in the task */
    const struct cpt_trace_starved *starved; /* of the first step; NULL: not measured */
    /* The last 8 bytes of the id of the trace that the occupant ran for, if that is
     * another request which is traced; 0: not known, or this request. */
    uint64_t occupant_request;
    uint32_t queue_length; /* works before it when it entered the queue; 0: none, or
                              not known */
    uint32_t walk_number;  /* of cpt_dag_draft.h and cpt_drag.h: its place there */
    /* Another task of the same run, if both are one thing that goes on, of which parts
     * overlap: in what-if they are one occurrence. NULL: it is one by itself. */
    const struct cpt_trace_task *occurrence;
};

/* How a call ended, as far as the path is concerned. */
enum cpt_trace_outcome {
    CPT_CALL_LOCAL = 0,   /* work of this process under the call's own name, no RPC */
    CPT_CALL_REMOTE = 1,  /* an RPC: its path if there is one, else a blind spot */
    CPT_CALL_TIMEOUT = 2, /* the deadline came first */
    CPT_CALL_KIND = 3,    /* a wait that is not work; `kind` says what */
    /* A run in this process with a path of its own, opened like that of a callee.
     * Without a name, it stands in the issuer's frame. */
    CPT_CALL_COMPONENT = 4,
    CPT_CALL_LOCK = 5 /* a wait for a lock: `name` is the lock's */
};

/* One call. */
struct cpt_trace_call {
    struct cpt_bytes name;         /* "B: Lookup", as the caller's stub says */
    struct cpt_trace_task *issuer; /* the task that made the call */
    uint64_t issue_ns;
    uint64_t sent_ns;           /* it left the queue for a connection; 0: at issue_ns */
    uint64_t arrive_ns;         /* the reply was there, or the timer fired */
    struct cpt_bytes executor;  /* whose queue it waited in until it was sent */
    uint64_t server_elapsed_ns; /* what the callee says it took */
    unsigned char has_server_elapsed;
    unsigned char outcome;   /* enum cpt_trace_outcome */
    unsigned char kind;      /* enum cpt_kind, for CPT_CALL_KIND */
    unsigned char reason;    /* enum cpt_reason, if there is no path */
    uint32_t attempt;        /* 1, 2 … if it was tried several times; else 0 */
    struct cpt_bytes status; /* how it failed, as a label; empty: it did not */
    struct cpt_bytes
        holder;        /* of a lock: which task had it at issue_ns; may be empty */
    const void *reply; /* for struct cpt_trace.open_callee; may be NULL */
    size_t reply_bytes;
    uint64_t send_queue_ns;    /* of an RPC, as in struct cpt_splice */
    uint64_t receive_queue_ns; /* likewise */
    /* Of an RPC of a request whose graph is kept: random, sent to the callee, whose
     * records name it. 0: there is none. */
    uint64_t id;
    uint64_t holder_request; /* of `holder`, as occupant_request */
    uint32_t walk_number;    /* scratch, as in a task */
    uint64_t nonce; /* that was sent with the ask; a path with another one was made for
                       another call. 0: none was sent */
};

/* One wait of a task, for a call or for another task, and the step that followed. */
struct cpt_trace_await {
    struct cpt_trace_await *previous; /* of the same task */
    struct cpt_trace_call *call;      /* what ended the wait, or NULL */
    struct cpt_trace_task *task;      /* what ended the wait, or NULL */
    uint64_t block_ns;                /* the task had nothing more to do */
    uint64_t arrive_ns;               /* at or before block: it did not have to wait */
    uint64_t resume_ns;               /* it ran again; UINT64_MAX: not yet */
    uint64_t margin_ns;               /* from the runner-up's arrival to arrive_ns */
    uint64_t off_cpu_ns;              /* of the step that begins with the resume */
    struct cpt_bytes occupant; /* the task that had the worker from arrive to resume */
    unsigned char has_margin;
    /* As in a task: of the step that begins with the resume, and of the queue before */
    const struct cpt_trace_starved *starved;
    uint64_t occupant_request;
    uint32_t queue_length;
};

/* The owner of time in which a task computes although its call is outstanding. */
enum cpt_attribution {
    /* The longest path: if the caller had to wait at all, the time from issue to
     * arrival belongs to the callee. Shortening this time shortens the request. */
    CPT_ATTRIBUTE_LONGEST = 0,
    /* Only the time in which the caller was blocked belongs to the callee. */
    CPT_ATTRIBUTE_BLOCKED = 1
};

/* One request. */
struct cpt_trace {
    struct cpt_bytes entry; /* "A: /": the frame that all others stand below */
    uint64_t arrival_ns;
    uint64_t response_ns;
    /* NULL: no task did; all time is the entry's own, or unattributed if records were
     * lost. */
    struct cpt_trace_task *answered_by;
    uint64_t dropped_event_count; /* records that were lost at a limit */
    unsigned attribution;         /* enum cpt_attribution */
    /*
     * Fills in @task, a stub: only walk_mark (0) and `source` are set. The walk calls
     * it once for each task that it comes to, before it reads anything else of the
     * task: tasks on the path, tasks whose awaits it passes, and their starters, which
     * get frames. The order is not defined.
     *
     * It sets everything but the scratch, and does not call the walk. It may add to
     * dropped_event_count. What @task then points to (starter, unblocker, the awaits,
     * the tasks and calls that ended them, the issuers of these calls) is good until
     * the walk returns, and one task is always the same struct. The tasks among these
     * may be stubs in turn; awaits, calls and groups are filled in. A second walk of
     * the same trace calls it again for tasks that are already filled in.
     *
     * NULL: every task is filled in. A status other than CPT_OK ends the walk with that
     * status, and @task remains a stub.
     */
    cpt_status (*open_task)(void *context, struct cpt_trace_task *task);
    /*
     * Makes the path of a callee from its reply. Called only for calls on the path, in
     * time order, at most once for each. It appends to @callee, which is empty, and may
     * set server_elapsed_ns in @call; or it sets @call->reason and returns a status
     * other than CPT_OK. NULL: no callee has a path.
     */
    cpt_status (*open_callee)(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee);
    /* Called with what splicing a callee's path found, or with the excess of a callee
     * that sent no path but claimed too much time; may be NULL. */
    void (*spliced)(void *context, const struct cpt_trace_call *call,
                    uint64_t overcount_ns, uint64_t undercount_ns, int is_inconsistent);
    void *context;
    unsigned overcount; /* enum cpt_overcount of cpt_path.h, for all callees */
    /* When the process began with the request, if the transport knows this apart from
     * the arrival of its bytes: the time between is ‹accept queue›. 0: at arrival. */
    uint64_t dispatch_ns;
    /*
     * Whether the steps of tasks say how long no processor ran them (off_cpu_ns). A
     * step lasts from a start or resume to the next block or to the end. A part of a
     * step on the path takes a share of that time, in proportion to its length, as a
     * segment ‹off CPU› below the task; the shares of all parts of a step sum to its
     * off_cpu_ns exactly. If the step is `starved`, the segment says in a label how
     * much of it was run delay; these sum to its delay_ns in the same way.
     */
    unsigned char measures_off_cpu;
    /* Of this trace, from cpt_drag.h: then the segments of the path have drags, as far
     * as they are known. NULL: they have none. */
    const struct cpt_drags *drags;
};

/*
 * Appends the critical path of @trace to @path, which is empty. Its sum is always
 * response_ns - arrival_ns (cpt_path_check() is asserted in debug builds).
 *
 * The method is the backward walk of critical.c. Cost: one step for each segment and
 * each await that it passes; memory: @path, 56 bytes for each step, and one callee's
 * path.
 *
 * Names that are too long are cut (cpt_name_bound()). At CPT_PATH_SEGMENTS_MAX the
 * segments of one frame become one, without labels, and @path is flagged
 * CPT_PATH_UNORDERED; at the limits of frames and names time goes to the parent, and it
 * is flagged CPT_PATH_INCOMPLETE. No time is lost.
 *
 * CPT_OK; CPT_CORRUPT if the records form a cycle or the response comes before the
 * arrival; CPT_NO_MEMORY; CPT_LIMIT if it takes more than 2^63 - 1 ns; what open_task
 * returned. After an error @path is empty again.
 */
CPT_API cpt_status cpt_critical_path(const struct cpt_alloc *alloc,
                                     const struct cpt_trace *trace,
                                     struct cpt_path *path, struct cpt_error *error);

CPT_END_DECLS

#endif
