/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * targets.h - the targets of one stub: which of them gets a call; see cpt_targets.h
 *
 * Nothing of a protocol is here, and no I/O: a transport tells what becomes of calls,
 * and gives the time. It embeds a struct cpti_target in what it keeps of a target.
 *
 *      cpti_targets_pick --> cpti_targets_begin --> ... --> cpti_targets_end
 *
 * Threads: one at a time; but the numbers of a target may be read by any.
 */
#ifndef CPT_TRANSPORT_TARGETS_H
#define CPT_TRANSPORT_TARGETS_H

#include "framework/transport/cpt_targets.h"

#include <stdatomic.h>
#include <stdbool.h>

enum cpti_target_state {
    CPTI_TARGET_GOOD,
    CPTI_TARGET_EJECTED, /* until until_ns */
    CPTI_TARGET_PAUSED,  /* likewise: it may be about to stop */
    CPTI_TARGET_PROBED,  /* on probation: one call at a time */
    CPTI_TARGET_RISING   /* since since_ns */
};

/* What a call that has ended says about its target. */
enum cpti_target_result {
    CPTI_TARGET_SUCCEEDED,
    CPTI_TARGET_FAILED,
    CPTI_TARGET_CLOSES, /* it succeeded, but its connection is not kept */
    CPTI_TARGET_NOTHING /* it was cancelled, or never sent */
};

struct cpti_target {
    uint64_t id; /* no other target has had it; above 0 */
    enum cpti_target_state state;
    uint64_t until_ns;
    uint64_t since_ns;
    unsigned failures;  /* in a row */
    unsigned ejections; /* since it was good */
    bool was_ejected;   /* before it was on probation; else it was paused */
    bool is_probing;    /* a call is on its way while it is on probation */
    bool is_unready;    /* it says so itself */
    bool is_member;     /* of the set */
    bool has_kept;      /* it has kept a connection since it last closed one */
    /* relaxed; written by the thread of the set alone */
    _Atomic uint64_t in_flight;
    _Atomic uint64_t calls_count;
    _Atomic uint64_t failed_count;
    _Atomic uint64_t ejected_count;
    atomic_bool is_usable;
};

struct cpti_targets {
    const struct cpt_target_options *options; /* with their defaults */
    struct cpti_target *items[CPT_TARGETS_MAX];
    size_t count;
    size_t flawed_count; /* not good, or unready */
    uint64_t random;
    /* A target was ejected (@for_ns above 0), returns, or says that it is unready or
     * ready again. */
    void (*report)(void *context, const struct cpti_target *target, const char *reason,
                   uint64_t for_ns);
    void *context;
};

/* The defaults of *@options, for the fields that are 0. */
void cpti_target_options_complete(struct cpt_target_options *options);

/* No targets. @seed: of its choices. */
void cpti_targets_init(struct cpti_targets *targets,
                       const struct cpt_target_options *options, uint64_t seed);

/* Adds @target, zeroed but for its id. @is_late: it rises, as others have calls. false:
 * there are CPT_TARGETS_MAX. */
bool cpti_targets_add(struct cpti_targets *targets, struct cpti_target *target,
                      bool is_late, uint64_t now_ns);

/* From now on @target is not picked; calls that are on their way may end, or not. */
void cpti_targets_remove(struct cpti_targets *targets, struct cpti_target *target);

/* The target for a call that was tried at those with the ids @tried, the last one last.
 * There must be several. */
struct cpti_target *cpti_targets_pick_but(struct cpti_targets *targets, uint64_t now_ns,
                                          const uint64_t *tried, size_t tried_count);

/* The same; the time matters only if a target is flawed. */
static inline struct cpti_target *cpti_targets_pick(struct cpti_targets *targets,
                                                    uint64_t now_ns,
                                                    const uint64_t *tried,
                                                    size_t tried_count)
{
    return targets->count == 1
               ? targets->items[0]
               : cpti_targets_pick_but(targets, now_ns, tried, tried_count);
}

static inline void cpti_target_count(_Atomic uint64_t *number, uint64_t more)
{
    atomic_store_explicit(number,
                          atomic_load_explicit(number, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

static inline uint64_t cpti_target_number(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

/* A call goes to @target. */
static inline void cpti_targets_begin(struct cpti_target *target)
{
    cpti_target_count(&target->in_flight, 1);
    cpti_target_count(&target->calls_count, 1);
    target->is_probing |= target->state == CPTI_TARGET_PROBED;
}

/* That call has ended. @target may have been removed meanwhile. */
void cpti_targets_end(struct cpti_targets *targets, struct cpti_target *target,
                      enum cpti_target_result result, uint64_t now_ns);

/* The call of another target, begun later, was faster. */
void cpti_targets_overtaken(struct cpti_targets *targets, struct cpti_target *target,
                            uint64_t now_ns);

/* Whether @target says that it is ready for calls; at first it is. */
void cpti_targets_ready(struct cpti_targets *targets, struct cpti_target *target,
                        bool is_ready);

/* A number below @limit, above 0, from the choices of @targets. */
uint64_t cpti_targets_random(struct cpti_targets *targets, uint64_t limit);

#endif
