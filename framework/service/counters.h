/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * counters.h - what a service counts
 *
 * Numbers are atomic and relaxed: each is exact, but they go on changing while they are
 * shown. Those of a callee are found by the name of its stub. There are
 * CPTI_CALLEES_MAX places at most; all further callees share the last one.
 */
#ifndef CPT_COUNTERS_H
#define CPT_COUNTERS_H

#include "cpt/cpt_path.h"
#include "framework/cpt_rpc.h"
#include "framework/pool/lock.h"

#include <stdatomic.h>

/* X(name, help) */
#define CPTI_COUNTER_MAP(X)                                                            \
    X(requests, "requests that came in")                                               \
    X(traced, "requests that were traced")                                             \
    X(traced_by_coin, "requests that this service's own coin hit")                     \
    X(traced_by_ask, "requests that were traced because the header asked")             \
    X(kept_by_rule, "requests logged because a keep rule held at their end")           \
    X(dropped_at_end, "requests traced for a keep rule that did not hold, not logged") \
    X(asked_little,                                                                    \
      "requests traced for keep rules whose callees were asked for little")            \
    X(asked_whole,                                                                     \
      "requests that asked for all, as a rule had kept one of their method")           \
    X(limited_whole, "requests that would have, but for whole_rate")                   \
    X(tenants_shared, "requests of tenants that had no rate of their own any more")    \
    X(refused_malformed, "critical-path headers that were malformed")                  \
    X(refused_repeated, "requests with several critical-path headers")                 \
    X(refused_untrusted, "critical-path headers from callers that are not trusted")    \
    X(refused_traceparents, "traceparent headers that were malformed, or several")     \
    X(refused_tracestates,                                                             \
      "tracestate headers that were malformed, and not passed on")                     \
    X(refused_propagated,                                                              \
      "requests with B3 or baggage that was malformed or large, and not passed on")    \
    X(untrusted_propagated,                                                            \
      "requests with B3 or baggage of clients that an entry does not trust")           \
    X(limited_forced, "requests asked for from outside above forced_per_second_max")   \
    X(limited_asked, "requests that callers asked for above asked_per_second_max")     \
    X(refused_graphs, "graphs asked for that this service did not keep")               \
    X(unknown_methods, "requests for a method that the service does not have")         \
    X(refused_verbs, "requests with a verb that no method of their path takes")        \
    X(refused_paths, "requests whose path or headers were malformed, or too many")     \
    X(settings_taken, "times that settings were taken from a file")                    \
    X(settings_refused, "times that a file of settings was bad, and nothing changed")  \
    X(failed, "requests that ended with an error")                                     \
    X(timed_out, "of these, requests that took too long")                              \
    X(cancelled, "of these, requests that were cancelled")                             \
    X(refused_timeouts, "cpt-timeout headers that were malformed, or came twice")      \
    X(untrusted_timeouts, "deadlines of clients that an entry does not trust")         \
    X(slack_requests, "requests with slack, in the second lane")                       \
    X(refused_slacks, "cpt-slack headers that were malformed, or came twice")          \
    X(untrusted_slacks, "slack of clients that an entry does not trust")               \
    X(refused_busy, "requests refused or ended because too much was in flight")        \
    X(refused_memory, "requests refused because there was no memory")                  \
    X(call_retries, "calls that rows of graphs repeated after a failure")              \
    X(call_hedges, "calls that rows of graphs made beside another attempt")            \
    X(call_extras_refused, "retries and hedges refused by the budget of their row")    \
    X(call_fallbacks, "calls of rows that failed and gave their fallback")             \
    X(failed_timers, "timers that could not be set, as there was no thread or memory") \
    X(lost_events, "events dropped because a traced request had no memory for them")   \
    X(lost_attributes, "attributes above a limit or on the drop-list")                 \
    X(lost_paths, "traced requests whose path could not be made")                      \
    X(background, "requests that went on after their answer, and were logged")         \
    X(experiment_plain, "requests of an experiment in the arm without a delay")        \
    X(experiment_delayed, "requests of an experiment in the arm with one")             \
    X(experiment_left_out, "requests left out of one: too near to their deadline")     \
    X(experiment_asked, "requests that callers asked to delay, and were obeyed")       \
    X(experiment_refused, "requests that callers asked to delay, and were not")        \
    X(experiment_tasks, "tasks that were delayed for an experiment")                   \
    X(experiment_spared, "tasks that were not, near a deadline or without a timer")    \
    X(experiment_stops, "experiments that a guard has stopped")                        \
    X(reply_paths, "paths in replies of callees")                                      \
    X(reply_path_bytes, "bytes of these paths")                                        \
    X(decoded_paths, "of these, decoded, as their calls were on the critical path")    \
    X(decoded_path_bytes, "bytes of the paths that were decoded")                      \
    X(returned_paths, "paths returned to callers")                                     \
    X(returned_folded, "of these, folded to fit the budget")                           \
    X(unreturned_paths, "paths that did not fit even as a sum")                        \
    X(drag_paths, "paths that were made with drags")                                   \
    X(lost_drags, "paths without drags, as the request was too large for them")

/* Why requests failed: X(word, help). The word stands in records, and never changes. */
#define CPTI_FAILURE_MAP(X)                                                            \
    X(deadline, "the request took longer than it may")                                 \
    X(cancelled, "its caller left, or it was cancelled")                               \
    X(memory, "its memory limit, or no memory")                                        \
    X(busy, "all requests together had no more memory")                                \
    X(callee, "a call of it failed")                                                   \
    X(task, "one of its tasks failed by itself")                                       \
    X(stuck, "nothing was left that could go on with it")                              \
    X(answer, "its answer said so")

enum cpti_failure_reason {
#define CPTI_FAILURE_ENUM_(word, help) cpti_failure_##word,
    CPTI_FAILURE_MAP(CPTI_FAILURE_ENUM_)
#undef CPTI_FAILURE_ENUM_
        CPTI_FAILURE_REASONS
};

enum { CPTI_REFUSALS = CPT_REFUSAL_MEMORY + 1 };

/* What is counted for each callee. */
#define CPTI_CALLEE_MAP(X)                                                             \
    X(calls, "traced calls to the callee")                                             \
    X(timeouts, "traced calls that a deadline ended")                                  \
    X(cancelled, "traced calls that their caller cancelled")                           \
    X(blind_spots, "traced calls that ended without a path")                           \
    X(overcounts, "callee's paths that were longer than the call")                     \
    X(overcount_ns, "sum of these differences")                                        \
    X(undercounts, "callee's paths that were shorter than the call")                   \
    X(undercount_ns, "sum of these differences")                                       \
    X(inconsistent, "callee's paths longer than its own elapsed time")                 \
    X(clamped_drags, "drags of callee's segments that were above the segment")         \
    X(stale_paths, "callee's paths that a cache had kept of another call")

struct cpti_call_observer;

enum {
    CPTI_CALLEES_MAX = 128,
    CPTI_REASONS_MAX = 16 /* of blind spots; enum cpt_reason has fewer */
};

struct cpti_callee {
    struct cpt_bytes name; /* in `text`: a stub may be freed before the service */
    char text[CPT_NAME_BYTES_MAX + 1];
#define CPTI_COUNTER_FIELD_(name, help) atomic_uint_least64_t name;
    CPTI_CALLEE_MAP(CPTI_COUNTER_FIELD_)
};

struct cpti_counters {
    CPTI_COUNTER_MAP(CPTI_COUNTER_FIELD_)
#undef CPTI_COUNTER_FIELD_
    atomic_uint_least64_t blind_spots[CPTI_REASONS_MAX];  /* by enum cpt_reason */
    atomic_uint_least64_t failures[CPTI_FAILURE_REASONS]; /* by reason */
    struct cpti_lock lock;                                /* guards adding to callees */
    atomic_uint callee_count;
    struct cpti_callee callees[CPTI_CALLEES_MAX];
};

/* Adds 1, or @more, to @field of counters or of a callee. */
#define CPTI_COUNT(counters, field) CPTI_COUNT_MORE(counters, field, 1)
#define CPTI_COUNT_MORE(counters, field, more)                                         \
    ((void)atomic_fetch_add_explicit(&(counters)->field, (more), memory_order_relaxed))

/* The counters of the callee @name; new ones if there are none. */
struct cpti_callee *cpti_counters_callee(struct cpti_counters *counters,
                                         struct cpt_bytes name);

/* Counts the calls of the service it is part of; see framework/run/call.h. */
extern const struct cpti_call_observer cpti_counters_observer;

#endif
