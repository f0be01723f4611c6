/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_queue.h - queues that are replayed: learnt by whatif_queue.c, scheduled by
 * whatif_schedule.c
 */
#ifndef WHATIF_QUEUE_H
#define WHATIF_QUEUE_H

#include "cpt/whatif/whatif.h"

enum what { FINISHES, ELIGIBLE, BEGINS };

struct event {
    uint64_t at_ns;
    size_t node;
    uint64_t order; /* of a stint in a queue; else the number of the request */
    enum what what;
};

/* Events or stints, the first one on top. */
struct heap {
    struct event *events;
    size_t count, capacity;
};

struct stint {
    size_t node; /* its first one */
    cpt_name_id executor;
    uint64_t ready_ns, begin_ns, end_ns;
    uint64_t loose_ns; /* all of them may be too small, by this at most */
};

struct executor {
    uint64_t worker_count;
    uint64_t recorded_count;
    size_t counted; /* in one of the orders that are tried */
    int64_t free_count;
    struct heap queue;
};

struct whatif_queues {
    struct cpt_whatif_plan *plan;
    bool is_together;
    uint64_t begin_ns;          /* the first arrival */
    struct executor *executors; /* by number + 1 */
    size_t executor_count;
    /* Of each node of all requests: */
    uint32_t *before; /* position before it in its line, or CPT_DAG_NONE */
    uint64_t *duration_ns;
    uint64_t *finish_ns; /* since the arrival */
    uint64_t *wait_ns;
    uint64_t *held_ns;
    int64_t *delay_ns; /* negative: it begins before it has its worker */
    uint64_t *order;   /* of its stint; UINT64_MAX: recorded as no first node of one */
    uint64_t *ready_ns;
    uint32_t *open;
    unsigned char *state;
    uint32_t *out; /* rows of outputs, like whatif->first */
    uint32_t *to;  /* per request at edge_begin */
    size_t to_count, to_capacity;
    size_t *edge_begin; /* of each request */
    struct stint *stints;
    size_t stint_count, stint_capacity;
    size_t *ended; /* in this moment: nodes on workers, and their requests */
    size_t ended_count, ended_capacity;
    uint64_t *ends; /* of stints: a heap of ns */
    size_t end_capacity;
    struct heap events;
    size_t *busy; /* the executors that have stints */
    size_t busy_count;
    uint32_t *request_of; /* of each node */
};

/* The state of a node that ended: its task went on; its worker is free. */
enum { CONTINUED = 1, RELEASED = 2 };

static inline const struct cpt_alloc *
cpti_whatif_alloc(const struct whatif_queues *queues)
{
    return queues->plan->whatif->alloc;
}

static inline const struct whatif_line *
cpti_whatif_line(const struct whatif_queues *queues,
                 const struct whatif_request *request, size_t node)
{
    return &queues->plan->whatif
                ->lines[request->line + queues->plan->whatif->line[node]];
}

/* Whether @node, a step of a task, runs on a worker. */
bool cpti_whatif_is_on_worker(const struct whatif_queues *queues,
                              const struct whatif_request *request, size_t node);

/* Queues before steps on workers take no time of their own: they are replayed. */
void cpti_whatif_drop_queues(struct whatif_queues *queues,
                             const struct whatif_request *request);

/* When @request begins, on the clock of the replay. */
uint64_t cpti_whatif_arrival(const struct whatif_queues *queues,
                             const struct whatif_request *request);

/* Replays all requests. CPT_OK or CPT_NO_MEMORY. */
cpt_status cpti_whatif_schedule(struct whatif_queues *queues);

#endif
