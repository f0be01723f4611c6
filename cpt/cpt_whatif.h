/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_whatif.h - the latency that recorded requests would have had
 *
 * All that happened in a request is a dag (cpt_dag.h). If some of it takes another
 * time, or waits for something else, each node begins as early as its inputs let it,
 * and the end of the request comes at another time:
 *
 *      A1 3 --> B1 13 ------------\
 *         \                        \           recorded           3 + 13 + 4 = 20
 *          `--> A2 1 --> C1 4 ------> A3 4     set 'B: B1=-80%'   3 + 1 + 4 + 4 = 12
 *
 * Without a change, the latency is the recorded one, to the nanosecond.
 *
 *   set       set 'C: C1=-50%'         takes half of its time
 *             '=50%' the same; '=10ms', '=0' this time; '=+2ms', '=-2ms' more, less
 *   cap       cap 'B: B2<=10ms'        takes at most this time; '>=': at least
 *   cut       cut 'A: A2 -> B: B2'     B2 does not wait for A2
 *   add       add 'A: A1 -> B: B2'     B2 waits for A1, too
 *   parallel  parallel 'A: A1 > C: C'  the calls of C that A1 makes one after
 *                                      another all begin with the first
 *   workers   workers 'B=4'            each executor of service B has 4 workers;
 *                                      'B: pool=4', 'pool=4': by name
 *
 * A name is that of a frame: the work of a task, of a call that is not known from
 * inside, or a lock. Its other time has the name of its kind: 'B: ‹queue›' is all of
 * service B, 'B: B2 ‹queue›' that of one frame, '*: ‹queue›' that of all; ASCII <queue>
 * is the same. '*' stands for any text.
 *
 * A time is one of each *occurrence*: all nodes of one kind of one task or call of the
 * request. A task that computes, waits and computes again is one; a task that runs
 * three times in a request is three. Percentages, times and caps shorten or lengthen
 * all its pieces in proportion. '=+2ms' lengthens the first piece, '=-2ms' takes from
 * the first ones. No time becomes negative: then it is 0, and the clamp is counted.
 * Terms work in the order given.
 *
 * Queues. As recorded, the time in a queue is a node like others: it stays. Replayed,
 * each step waits for one of the workers of its executor; the one that was ready first
 * goes first. Requests that were not recorded had workers, too: what a recorded step
 * waited longer than the recorded ones explain, it waits again; see whatif_queue.c.
 *
 * In order of use: cpt_whatif_new, cpt_whatif_add for each request, cpt_whatif_plan_new
 * for terms, cpt_whatif_shares for times of single requests, cpt_whatif_run,
 * cpt_whatif_path; cpt_whatif_plan_free, cpt_whatif_free.
 *
 * Threads: cpt_whatif_add() on one at a time, with no plan; later any may read. A plan
 * has scratch memory and belongs to one thread at a time.
 */
#ifndef CPT_WHATIF_H
#define CPT_WHATIF_H

#include "cpt/cpt_dag_draft.h"

CPT_BEGIN_DECLS

struct cpt_path;

enum {
    CPT_WHATIF_TERMS_MAX = 256,
    CPT_WHATIF_TERM_BYTES_MAX = 1024,
    CPT_WHATIF_REQUESTS_MAX = 1 << 24,
    CPT_WHATIF_WORKERS_MAX = 1 << 16
};

/* No amount of a term is longer. */
#define CPT_WHATIF_AMOUNT_MAX_NS UINT64_C(1000000000000000)

/* --- Terms --- */

enum cpt_whatif_verb {
    CPT_WHATIF_SET = 0,
    CPT_WHATIF_CAP = 1,
    CPT_WHATIF_CUT = 2,
    CPT_WHATIF_ADD = 3,
    CPT_WHATIF_PARALLEL = 4,
    CPT_WHATIF_WORKERS = 5
};

/* What a term does with the time of an occurrence. */
enum cpt_whatif_change {
    CPT_WHATIF_SCALE = 0, /* times share */
    CPT_WHATIF_TO = 1,    /* amount_ns */
    CPT_WHATIF_MORE = 2,
    CPT_WHATIF_LESS = 3,
    CPT_WHATIF_AT_MOST = 4,
    CPT_WHATIF_AT_LEAST = 5
};

/* Frames by name. */
struct cpt_whatif_frames {
    struct cpt_bytes name; /* with '*'; of a kind of a service: the service */
    int has_kind;          /* otherwise work, calls and locks */
    int is_service;        /* the name is a service: all frames of it */
    uint32_t kind;         /* enum cpt_dag_kind */
    int is_exact;          /* '*' is a character like any other */
};

struct cpt_whatif_term {
    unsigned verb;
    unsigned change;
    double share;
    uint64_t amount_ns; /* or the workers */
    struct cpt_whatif_frames frames;
    struct cpt_whatif_frames other; /* of an edge: to what it leads; whose calls … */
};

/*
 * Reads a term; its names are borrowed from @text. Any bytes may come.
 *
 * CPT_OK, or CPT_INVALID with what is wrong and the byte where in @error.
 */
CPT_API cpt_status cpt_whatif_term_read(unsigned verb, struct cpt_bytes text,
                                        struct cpt_whatif_term *term,
                                        struct cpt_error *error);

/* The same with the verb in front: "set C: C1=-50%". */
CPT_API cpt_status cpt_whatif_line_read(struct cpt_bytes line,
                                        struct cpt_whatif_term *term,
                                        struct cpt_error *error);

/* "set" …; NULL: there is no such verb. */
CPT_API const char *cpt_whatif_verb_word(unsigned verb);

/* Whether @frames has the frame @name. */
CPT_API int cpt_whatif_has(const struct cpt_whatif_frames *frames,
                           const struct cpt_dag_name *name);

/* --- Requests --- */

struct cpt_whatif;

CPT_API struct cpt_whatif *cpt_whatif_new(const struct cpt_alloc *alloc);
CPT_API void cpt_whatif_free(struct cpt_whatif *whatif);

/*
 * Adds a request, whose number is the count before. Everything is copied. It arrived at
 * @arrival_ns of a clock that all requests share; 0: not known.
 *
 * CPT_OK; CPT_LIMIT; CPT_NO_MEMORY. After an error it is not there.
 */
CPT_API cpt_status cpt_whatif_add(struct cpt_whatif *whatif, const struct cpt_dag *dag,
                                  const struct cpt_dag_recorded *recorded,
                                  uint64_t arrival_ns);

CPT_API size_t cpt_whatif_count(const struct cpt_whatif *whatif);
CPT_API size_t cpt_whatif_edge_count(const struct cpt_whatif *whatif);

/* The recorded latency of @request: the longest path of its dag. */
CPT_API uint64_t cpt_whatif_recorded_ns(const struct cpt_whatif *whatif,
                                        size_t request);

/* The frames of all requests. The name is borrowed until the next request is added. */
CPT_API size_t cpt_whatif_frame_count(const struct cpt_whatif *whatif);
CPT_API struct cpt_dag_name cpt_whatif_frame(const struct cpt_whatif *whatif,
                                             size_t frame);

/* The executors whose workers ran tasks: "B: pool" is that of service B. All processes
 * of a service have one together. Borrowed like names of frames. */
CPT_API size_t cpt_whatif_executor_count(const struct cpt_whatif *whatif);
CPT_API struct cpt_bytes cpt_whatif_executor(const struct cpt_whatif *whatif,
                                             size_t executor);

/* --- Replay --- */

/* Terms, made ready for the requests of a whatif, which takes no more then. */
struct cpt_whatif_plan;

struct cpt_whatif_options {
    size_t struct_bytes;
    int replays_queues; /* also without a term of workers */
};

/*
 * CPT_OK; CPT_END: term *@unmatched matches nothing, or CPT_INVALID: is not a term that
 * fits; CPT_LIMIT; CPT_NO_MEMORY. The terms may go; the names that they borrow stay.
 */
CPT_API cpt_status cpt_whatif_plan_new(const struct cpt_whatif *whatif,
                                       const struct cpt_whatif_term *terms,
                                       size_t term_count,
                                       const struct cpt_whatif_options *options,
                                       struct cpt_whatif_plan **plan, size_t *unmatched,
                                       struct cpt_error *error);
CPT_API void cpt_whatif_plan_free(struct cpt_whatif_plan *plan);

/* Of an executor in replayed queues. */
struct cpt_whatif_workers {
    uint64_t recorded; /* as many as its recorded steps show; 0: it ran none */
    uint64_t replayed; /* with the terms of workers */
};

/* The workers of @executor, below cpt_whatif_executor_count(). Both are 0 if @plan
 * keeps queues as they were. */
CPT_API struct cpt_whatif_workers cpt_whatif_workers(const struct cpt_whatif_plan *plan,
                                                     size_t executor);

/* Another time for one line of a request, on top of the terms: of what its task
 * computes; of its call, on the network or as a whole, if that is not known. */
struct cpt_whatif_share {
    double share; /* of the time that the occurrence takes; 0 or more. 1: all of it */
    int64_t more_ns; /* before its first piece; below 0: taken from the first ones */
};

/*
 * From now on @plan has these times in @request, and in no other. There are as many
 * @shares as @request has lines, in their order; the line of an occurrence is the first
 * one that it has. They are borrowed until the next call, or the plan is freed; NULL:
 * no request has other times.
 *
 * CPT_OK; CPT_INVALID: @count is another number, or @plan replays queues.
 */
CPT_API cpt_status cpt_whatif_shares(struct cpt_whatif_plan *plan, size_t request,
                                     const struct cpt_whatif_share *shares,
                                     size_t count);

/* What happened to the terms in the requests that were run since the plan was made. */
struct cpt_whatif_counts {
    uint64_t clamped;  /* occurrences that would have taken less than no time */
    uint64_t circles;  /* requests whose added edges lead in a circle: without these */
    uint64_t too_long; /* requests of more than 2^63 - 1 ns: as recorded */
};

/*
 * Replays @count requests from @first on; the latency of each goes to @latency_ns. The
 * last one is remembered: asked for its times and its path next, the plan does not
 * replay it again.
 *
 * CPT_OK; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_whatif_run(struct cpt_whatif_plan *plan, size_t first,
                                  size_t count, uint64_t *latency_ns);
CPT_API struct cpt_whatif_counts cpt_whatif_counts(const struct cpt_whatif_plan *plan);

/* Whether it is known of @request what else it may have waited for. */
CPT_API int cpt_whatif_has_doubt(const struct cpt_whatif *whatif, size_t request);

/*
 * The least and the largest latency of @request, whatever it waited for of all that is
 * possible (cpt_doubt.h). Without a change, both are that of the doubt as recorded. The
 * latency of cpt_whatif_run() may lie outside by a little.
 *
 * CPT_OK; CPT_END: nothing is known, as there is no doubt, or @plan changes who waits.
 */
CPT_API cpt_status cpt_whatif_range(struct cpt_whatif_plan *plan, size_t request,
                                    double *low_ns, double *high_ns);

/* A wait that may have been another, and what that makes of the interval. */
struct cpt_whatif_wait {
    uint32_t waiter; /* frame whose task waited … */
    uint32_t
        before; /* … before it called that of this frame, or its own, to answer … */
    uint32_t
        holder; /* … for the end of a call to this one; its own: for its own work */
    double width_ns; /* by so much the interval widens here */
};

/* Of the request that cpt_whatif_range() was asked for last, calls @visit with each
 * wait that widens the interval of its latency: those on the way of both its ends. */
CPT_API void cpt_whatif_doubts(const struct cpt_whatif_plan *plan, size_t request,
                               void (*visit)(void *context,
                                             const struct cpt_whatif_wait *wait),
                               void *context);

/*
 * Adds to @time_ns, of cpt_whatif_frame_count() elements, the time that each frame has
 * on the critical path of @request. CPT_OK; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_whatif_times(struct cpt_whatif_plan *plan, size_t request,
                                    uint64_t *time_ns);

/*
 * Appends the critical path of @request, as replayed, to @path, which is empty. Its sum
 * is the latency. @entry is the name of the frame above all others; may be empty.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT.
 */
CPT_API cpt_status cpt_whatif_path(struct cpt_whatif_plan *plan, size_t request,
                                   struct cpt_bytes entry, struct cpt_path *path);

CPT_END_DECLS

#endif
