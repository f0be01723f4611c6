/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_shared.h - work that several requests share: single flight, and batches
 *
 * *Single flight*: ten requests miss the same entry of a cache at once. One run of a
 * plan should fill it, and all ten wait for that run: a request for a key that is being
 * computed joins.
 *
 * *Batch*: a back end answers a hundred questions as fast as one. Questions are
 * collected, up to a number or for a time, and one run answers all.
 *
 *      single flight                          batch of at most 3
 *      request 1  |== run ========|           |..|.. run ======|
 *      request 2      |===========|              |.. run ======|
 *      request 3           |======|                |== run ====|
 *
 * A request waits for shared work as for anything else. All of its wait, from the time
 * when it joined, is on its path, as latency cannot be divided. Below the work's name
 * is ‹batch wait› until the run began, then the rest of the run's own path, with the
 * label coalesced: how many requests shared the run.
 *
 * The run is a request of its own: its memory counts for none of those that wait, and
 * it does not depend on them. A request that is cancelled or gives up leaves; even if
 * all leave, the run continues. If it fails, it fails for all that wait, and the next
 * request begins a new run: no result is kept. A cache is the application's.
 *
 * Runs note their times even if no request that waits is traced, since a traced one may
 * join later. But callees are asked for their paths only if a traced request waits when
 * the run begins; otherwise, for requests that join later, calls are ‹blind spot› with
 * the reason `shared`. Likewise the run has drags if one that waits then asks for them;
 * who does not ask gets none. Graphs that are kept have of shared work no more than the
 * time of the wait.
 *
 * A run that asks for its own key, also indirectly, is refused. Two runs that join each
 * other wait forever: order keys, or give waits a deadline.
 *
 * Threads: any.
 */
#ifndef CPT_SHARED_H
#define CPT_SHARED_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"
#include "cpt_graph.h"

CPT_BEGIN_DECLS

struct cpt_executor;
struct cpt_shared;

enum {
    CPT_SHARED_KEY_BYTES_MAX = 1024,
    CPT_SHARED_BATCH_MAX = 4096,
    CPT_SHARED_KEYS_MAX = 1 << 20
};

/* The input of a plan that answers batches: all items, in the order of joining. */
struct cpt_batch {
    size_t count;
    const void *items; /* an array of the type of options.item */
};

/* What shared work does; see cpt_options_read(). */
struct cpt_shared_options {
    size_t struct_bytes;
    const struct cpt_plan *plan; /* one run of it is the work */
    const char *name;            /* on paths "A: name", A the plan's service */
    /* Where it runs; default: the executor of the request that joins first. Without
     * timers a batch begins at once. */
    struct cpt_executor *executor;
    const struct cpt_alloc *alloc;
    size_t memory_bytes_max; /* of a run; default as in cpt_request_options */
    size_t keys_max;         /* runs that collect or run; default 1,024 */
    size_t waiters_max;      /* of one run; default 1,024 */
    /* For batches; 0: single flight. At most CPT_SHARED_BATCH_MAX. */
    size_t batch_count_max;
    uint64_t batch_delay_ns;      /* after the first joined; default 1 ms */
    const struct cpt_value *item; /* one item; the plan takes a cpt_batch */
    /* Trace a run only if a traced request waits when it begins; for traced requests
     * that join later all of the wait is ‹blind spot›, reason `shared`. */
    int is_traced_on_demand;
    size_t trace_memory_bytes_max; /* of what is recorded of a run; likewise */
};

/* Shared work, or NULL with the reason in @error. The plan, and what the options point
 * to, outlive it. */
CPT_API struct cpt_shared *cpt_shared_new(const struct cpt_shared_options *options,
                                          struct cpt_error *error);

/* Waits until all runs have ended, and frees. All requests that have joined must be
 * freed before. Not from a thread that the runs need. NULL is fine. */
CPT_API void cpt_shared_free(struct cpt_shared *shared);

/*
 * Joins the run for @key, or begins one. cpt_run_output() is the result, and
 * cpt_run_sentence() says why the run failed. @name is the input of the plan, or
 * options.item; @input points to it, and is copied. In single flight the key must say
 * all that the result depends on, as the run gets the input of the first request. Each
 * key has a batch of its own.
 *
 * At a limit (keys_max, waiters_max, memory, bytes of the key) the pending has failed
 * already, with CPT_LIMIT or CPT_NO_MEMORY.
 */
#define cpt_share(task, shared, key, name, input)                                      \
    cpt_task_share((task), (shared), (key), &cpt_value_##name,                         \
                   1 ? (input) : (const cpt_value_type_##name *)0)
CPT_API struct cpt_pending *
cpt_task_share(struct cpt_task *task, struct cpt_shared *shared, struct cpt_bytes key,
               const struct cpt_value *value, const void *input);

/* The index of the item of @pending in the batch; SIZE_MAX if it is no run. */
CPT_API size_t cpt_share_index(const struct cpt_pending *pending);

CPT_END_DECLS

#endif
