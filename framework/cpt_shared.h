/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_shared.h - work that several requests share: single flight, and batches
 *
 * Ten requests miss the same entry of a cache at once: one run of a plan should fill
 * it, and all ten wait for that one. That is *single flight*: whoever asks for a key
 * that is being computed joins. Or a back end answers a hundred questions as fast as
 * one: then they are collected, up to so many or for so long, and one run answers all.
 * That is a *batch*.
 *
 *      single flight                          batch of at most 3
 *      request 1  |== run ========|           |..|.. run ======|
 *      request 2      |===========|              |.. run ======|
 *      request 3           |======|                |== run ====|
 *
 * Each waits as for anything else, and each is charged all of the time that it waited
 * from when it joined: latency cannot be divided. On its path stands, below the work's
 * name, ‹batch wait› until the run began, then what the run's own path says of the
 * rest, with the label coalesced: how many shared it.
 *
 * The run is a request of its own: its memory is nobody's, and what becomes of those
 * who wait does not touch it. Whoever is cancelled or gives up leaves; if all do, it
 * goes on. If it fails, it has failed for all, and the next who asks begins a new one:
 * nothing is kept. A cache is the application's.
 *
 * Runs note their times even if nobody who waits is traced, since one that is may join
 * later; but only if one is when the run begins are callees asked for their paths, and
 * otherwise calls are ‹blind spot› with the reason `shared` to those who came later.
 *
 * A run that asks for its own key, however indirectly, is refused. Two runs that join
 * each other wait forever: order keys, or give waits a deadline.
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

/* What a plan that answers batches takes: all that was collected, in order of joining.
 */
struct cpt_batch {
    size_t count;
    const void *items; /* an array of the type of options.item */
};

/* What the work is; see cpt_options_read(). */
struct cpt_shared_options {
    size_t struct_bytes;
    const struct cpt_plan *plan; /* one run of it is the work */
    const char *name;            /* shown below who waits: "A: name", A the plan's */
    /* Where it runs; default: where the request runs that makes it begin. A batch needs
     * one with timers, or begins at once. */
    struct cpt_executor *executor;
    const struct cpt_alloc *alloc;
    size_t memory_bytes_max; /* of a run; default 16 MiB */
    size_t keys_max;         /* runs that collect or go on; default 1,024 */
    size_t waiters_max;      /* of one run; default 1,024 */
    /* For batches; 0: single flight. At most CPT_SHARED_BATCH_MAX. */
    size_t batch_count_max;
    uint64_t batch_delay_ns;      /* since the first joined; default 1 ms */
    const struct cpt_value *item; /* what each brings; the plan takes a cpt_batch */
    /* Trace a run only if somebody who waits when it begins is traced; a later one then
     * has all of its wait as ‹blind spot›, reason `shared`. */
    int is_traced_on_demand;
};

/* Shared work, or NULL with the reason in @error. The plan, and what the options point
 * to, outlive it. */
CPT_API struct cpt_shared *cpt_shared_new(const struct cpt_shared_options *options,
                                          struct cpt_error *error);

/* Waits for the runs that still go on, and frees. All requests that have joined are
 * gone; not from a thread that the runs need. NULL is fine. */
CPT_API void cpt_shared_free(struct cpt_shared *shared);

/*
 * Joins the run for @key, or begins one; what the run gave is cpt_run_output(), and why
 * it failed cpt_run_sentence(). @name is what the plan takes, or options.item, and
 * @input points to it, which is copied. The key of single flight says all that the
 * result depends on: the input of who begins is the one that counts. Batches are
 * collected for each key.
 *
 * At a limit (keys_max, waiters_max, memory, a key that is too long) the pending has
 * failed already, as CPT_LIMIT or CPT_NO_MEMORY. NULL at the memory limit of the
 * request: then cpt_await() fails.
 */
#define cpt_share(task, shared, key, name, input)                                      \
    cpt_task_share((task), (shared), (key), &cpt_value_##name,                         \
                   1 ? (input) : (const cpt_value_type_##name *)0)
CPT_API struct cpt_pending *
cpt_task_share(struct cpt_task *task, struct cpt_shared *shared, struct cpt_bytes key,
               const struct cpt_value *value, const void *input);

/* Which item of the batch was brought with @pending, from 0. */
CPT_API size_t cpt_share_index(const struct cpt_pending *pending);

CPT_END_DECLS

#endif
