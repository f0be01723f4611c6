/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* manual.h - a request whose code tells the path; for the files manual*.c */
#ifndef MANUAL_H
#define MANUAL_H

#include "framework/cpt_manual.h"

#include "cpt/cpt_arena.h"
#include "cpt/cpt_dag_draft.h"
#include "cpt/cpt_trace.h"
#include "framework/service/answer.h"
#include "framework/service/log/log_queue.h"
#include "framework/service/trace_context.h"

#include <stdbool.h>

enum { CPTI_MANUAL_ASK_BYTES = 128 };

/* A part that was entered, and the wait of the part around it. */
struct cpti_part {
    struct cpt_trace_task task; /* first */
    struct cpt_trace_await await;
    struct cpti_part *outer; /* NULL: the request itself */
    struct cpti_part *next;  /* of all, in the order of their beginnings, or NULL */
};

struct cpt_manual_call {
    struct cpt_trace_call call; /* first */
    const char *ask;            /* of its own, with its id; NULL: that of the request */
    char nonce[CPT_NONCE_BYTES + 1]; /* that was sent with it; "": none yet */
    bool is_unasked;                 /* its other headers leave no room for an ask */
};

struct cpti_manual_arrival; /* see manual_drags.c */

/* What is kept for the graph of a request. In its memory. */
struct cpti_manual_kept {
    struct cpti_log_item item; /* first; its record is what the graph log says of it */
    struct cpt_manual *manual;
    uint64_t seed;       /* of the ids of its calls, … */
    uint64_t call_count; /* … of which as many have one */
};

struct cpt_manual {
    struct cpti_log_item item; /* its record */
    struct cpt_service *service;
    struct cpt_arena arena;
    struct cpti_decision decision;
    struct cpt_trace trace;
    struct cpti_part root;
    struct cpti_part *current;
    struct cpti_part *newest;
    struct cpti_manual_kept *kept;        /* NULL: its graph is not kept */
    struct cpti_manual_arrival *arrivals; /* oldest first, if it keeps_edges … */
    struct cpti_manual_arrival *newest_arrival;
    size_t edge_count;             /* … and these and waits of calls that passed */
    size_t lost_depth;             /* parts within `current` that were not noted */
    struct cpt_trace_await *await; /* the current wait, or NULL */
    uint64_t *off_cpu_ns;          /* of the current step; NULL: there is none */
    uint64_t step_begin_ns;
    uint64_t step_cpu_ns;
    struct cpt_path *path; /* after the end; NULL: it could not be made */
    unsigned char *room;   /* of … */
    struct cpt_bytes metadata;
    struct cpt_attribute *attributes;
    size_t attribute_count;
    size_t attribute_bytes;
    size_t ask_bytes;
    size_t metadata_bytes_max; /* of callees */
    bool wants_drags;          /* its path is to have them */
    bool keeps_edges;          /* they, or its graph, need what ended beside the path */
    bool is_carrier; /* it is not traced, and has ended: its calls carry its context */
    bool has_ended;
    bool has_failed;               /* its code said so: … */
    unsigned failure_reason;       /* enum cpt_failure, or another number */
    const char *failure_sentence;  /* or NULL */
    struct cpti_answered answered; /* with a name: cpt_manual_answered() was called */
    char ask[CPTI_MANUAL_ASK_BYTES];
    struct cpti_trace_context trace_context;
    struct cpt_bytes tracestate;
    const struct cpti_propagated *propagated;    /* B3 and baggage, or NULL */
    char traceparent[CPT_TRACEPARENT_BYTES + 1]; /* of its calls */
    char status[CPTI_ANSWER_STATUS_BYTES];       /* for the record */
};

static inline uint64_t cpti_manual_now(const struct cpt_manual *manual)
{
    return cpt_clock_now_ns(manual->service->options.clock);
}

/* Zeroed memory of the request; NULL: there is none, so a record is lost and counted.
 */
static inline void *cpti_manual_take(struct cpt_manual *manual, size_t bytes)
{
    void *memory = cpt_arena_take(&manual->arena, bytes);

    if (memory == NULL) {
        manual->trace.dropped_event_count++;
    }
    return memory;
}

/* @given, or what a part or a call is called that was given no name. */
struct cpt_bytes cpti_manual_name(struct cpt_bytes given);

/* A copy in the memory of the request; empty without memory. */
struct cpt_bytes cpti_manual_copy(struct cpt_manual *manual, struct cpt_bytes from);

/* Ends the current step, if there is one, and begins another, whose time off the
 * processor goes to *@off_cpu_ns; NULL: begins none. */
void cpti_manual_measure(struct cpt_manual *manual, uint64_t now_ns,
                         uint64_t *off_cpu_ns);
static inline void cpti_manual_turn(struct cpt_manual *manual, uint64_t now_ns,
                                    uint64_t *off_cpu_ns)
{
    if (manual->trace.measures_off_cpu) {
        cpti_manual_measure(manual, now_ns, off_cpu_ns);
    }
}

/* Begins a wait of @part at @block_ns. */
static inline void cpti_manual_await(struct cpti_part *part,
                                     struct cpt_trace_await *await, uint64_t block_ns)
{
    await->block_ns = block_ns;
    await->arrive_ns = UINT64_MAX;
    await->resume_ns = UINT64_MAX;
    await->previous = part->task.last_await;
    part->task.last_await = await;
}

/* The code, which waits, does something, so it runs: what had ended in the wait comes
 * before that, and from now on @part waits, which is the current one or becomes it.
 * Nothing if it does not wait. */
void cpti_manual_wait_on(struct cpt_manual *manual, struct cpti_part *part,
                         uint64_t now_ns);

/* The wait is over, if there is one. */
void cpti_manual_wait_over(struct cpt_manual *manual, uint64_t now_ns);

/* --- Drags and graphs (manual_drags.c) --- */

/* The most parts, waits and arrivals of a path with drags: what these take before the
 * answer is sent is bounded. And the most arrivals, and waits of calls that passed, of
 * a graph. */
enum { CPTI_MANUAL_DRAG_RECORDS_MAX = 8192 };

/* @call has ended within @await, which goes on. */
void cpti_manual_add_arrival(struct cpt_manual *manual, struct cpt_trace_await *await,
                             struct cpt_trace_call *call);

/* @call has ended while the code did not wait. */
void cpti_manual_add_pass(struct cpt_manual *manual, struct cpt_trace_call *call);

/* Makes the path of @manual, which has ended, with drags; or without them, which is
 * counted. As cpt_critical_path(). */
cpt_status cpti_manual_dragged_path(struct cpt_manual *manual);

/* All records of @manual, which has ended, to @records, whose arrays are in @arena.
 * false: there are more than @count_max, or not all were noted, or no memory. */
bool cpti_manual_records(struct cpt_manual *manual, size_t count_max,
                         struct cpt_arena *arena, struct cpt_dag_records *records);

/* --- Graphs (manual_graph.c) --- */

/* Begins to keep the graph of the traced request @manual, if that was decided. */
void cpti_manual_keep(struct cpt_manual *manual);

/* The graph log says of @manual what its record says now. No effect if its graph is
 * not kept. */
void cpti_manual_kept_answered(struct cpt_manual *manual);

/* Hands @manual, whose record is written, over to the graph log, which calls @release
 * with the item of its graph; false: its graph is not kept, or lost, which is counted.
 */
bool cpti_manual_kept_push(struct cpt_manual *manual,
                           void (*release)(struct cpti_log_item *item));

#endif
