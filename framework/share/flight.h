/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * flight.h - one run of shared work, and the requests that wait for it; see
 * cpt_shared.h
 *
 *      collecting --(full, or its timer)--> running --> ended --> freed
 *      (batches)                            |              |
 *          `-- a request for the key joins -'              '- its output and path are
 *              (single flight: also here)                     read by those who joined
 *
 * The table of the shared work holds the flights that may be joined. When the run ends,
 * the flight first leaves the table, so that no request joins it any more. Then its
 * path is made, and then each wait ends. The output and the path are read until the
 * last request that joined is freed: each of these requests keeps a reference to the
 * flight, and the flight keeps the request of the run.
 *
 * Locks: the lock of the shared work guards the table, and the lists and states of
 * flights. It is never held together with that of a request.
 */
#ifndef CPT_FLIGHT_H
#define CPT_FLIGHT_H

#include "cpt/base/container.h"
#include "framework/cpt_shared.h"
#include "framework/run/run.h"
#include "framework/service/trace_context.h"

#include <stdbool.h>
#include <sys/queue.h>

struct cpti_flight;

/* One request's wait for shared work, in the arena of that request. */
struct cpti_sharer {
    struct cpti_run run;
    struct cpti_cleanup
        cleanup; /* of the waiter: gives up its reference to the flight */
    struct cpt_shared *shared;
    struct cpti_flight *flight;
    TAILQ_ENTRY(cpti_sharer) others; /* of the flight; guarded by the shared lock, … */
    bool is_listed;                  /* … as is this one */
};

struct cpti_flight {
    struct cpt_shared *shared;
    uint64_t id;
    uint64_t hash;
    unsigned char *key; /* behind the flight, with the items and the ids */
    size_t key_bytes;
    unsigned char *items; /* what the waiters brought; of single flight, the first */
    uint64_t *outer_ids;  /* of the flights whose runs this one is nested in */
    uint32_t outer_count;

    /* Guarded by the shared lock. */
    LIST_ENTRY(cpti_flight) others; /* of the bucket */
    TAILQ_HEAD(, cpti_sharer) sharers;
    size_t waiter_count;
    size_t joined_count;
    bool is_joinable; /* in the table */
    bool has_begun;
    bool is_timer_set;
    bool is_asked; /* a traced request waits */

    /* Written by the thread that begins the run, then read by the run. */
    struct cpt_timer timer;
    struct cpt_executor *executor;
    const struct cpt_clock *clock;
    struct cpti_inherited inherited;
    struct cpti_trace_origin trace; /* inherited: the request may be freed before … */
    char tracestate[CPT_TRACESTATE_BYTES_MAX + 1]; /* … and another one be first */
    struct cpti_propagated *propagated; /* inherited, as the trace: a copy, or NULL */
    struct cpt_service
        *services[2]; /* inherited from; the flight holds them. Or NULL */
    unsigned attribution;
    bool measures_cpu;
    uint64_t begin_ns; /* of single flight: when the first joined; 0: not known */
    struct cpt_batch batch;
    struct cpt_request *request; /* of the run; NULL: it could not be made */
    struct cpt_path *path;       /* not changed once a wait has ended; may be NULL */
    char sentence[CPT_ERROR_SENTENCE_BYTES]; /* why the run could not be made */

    /* The run until it is retired, a timer, each request that joined. acq_rel: the last
     * owner sees all writes. */
    atomic_uint_least32_t reference_count;
};

LIST_HEAD(cpti_flights, cpti_flight);

struct cpt_shared {
    struct cpt_shared_options options;
    size_t item_bytes;
    size_t item_count_max;              /* of a flight */
    char frame[CPT_NAME_BYTES_MAX + 1]; /* "A: name" */
    struct cpti_lock lock;
    pthread_cond_t idle; /* flight_count is 0 */
    /* Guarded by lock. */
    uint64_t last_id;
    size_t open_count;   /* flights that collect or run */
    size_t flight_count; /* flights that are not freed */
    size_t bucket_count; /* a power of 2 */
    struct cpti_flights *buckets;
};

/* The bucket of keys with @hash. Shared lock held. */
static inline struct cpti_flights *cpti_shared_bucket(struct cpt_shared *shared,
                                                      uint64_t hash)
{
    return &shared->buckets[hash & (shared->bucket_count - 1)];
}

/* Takes a reference; the caller must hold one, or the shared lock. */
void cpti_flight_hold(struct cpti_flight *flight);

/* Gives a reference back; the last one frees. No lock held. */
void cpti_flight_release(struct cpti_flight *flight);

/* Takes @flight out of the table: no request joins it any more. Shared lock held. */
void cpti_flight_close(struct cpti_flight *flight);

/* Adds @sharer to those that wait for @flight, and removes it. Shared lock held. */
void cpti_flight_add(struct cpti_flight *flight, struct cpti_sharer *sharer);
void cpti_flight_remove(struct cpti_sharer *sharer);

/* Begins the run. To be called once, by the thread that set has_begun; no lock held.
 * The run takes over the reference that the flight was made with. */
void cpti_flight_begin(struct cpti_flight *flight);

/* Sets the timer of a batch, for its first request. No lock held. */
void cpti_flight_set_timer(struct cpti_flight *flight);

/* Cancels the timer of a batch that begins without it. No lock held. */
void cpti_flight_cancel_timer(struct cpti_flight *flight, bool is_timer_set);

/* The path of a flight for one of its sharers; as cpti_run.open. */
cpt_status cpti_flight_open(const struct cpti_run *run, struct cpt_trace_call *call,
                            struct cpt_path *callee);

#endif
