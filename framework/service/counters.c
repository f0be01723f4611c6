/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* counters.c - the counters of a callee found, all counters shown, and what becomes of
 * calls counted; see counters.h. */
#include "framework/service/counters.h"

#include "framework/cpt_running.h"
#include "framework/run/misuse.h"
#include "framework/service/log/log_queue.h"
#include "framework/service/service.h"

#include <string.h>

static struct cpti_callee *find_callee(struct cpti_counters *counters, unsigned count,
                                       struct cpt_bytes name)
{
    for (unsigned i = 0; i < count; i++) {
        if (cpt_bytes_equal(counters->callees[i].name, name)) {
            return &counters->callees[i];
        }
    }
    return NULL;
}

struct cpti_callee *cpti_counters_callee(struct cpti_counters *counters,
                                         struct cpt_bytes name)
{
    char cut[CPT_NAME_BYTES_MAX + 1];
    /* Acquire pairs with the release below: the names below count are then visible. */
    unsigned count =
        atomic_load_explicit(&counters->callee_count, memory_order_acquire);
    struct cpti_callee *callee = NULL;

    name = cpt_name_bound(name, cut);
    callee = find_callee(counters, count, name);
    if (callee != NULL) {
        return callee;
    }
    cpti_lock_take(&counters->lock);
    count = atomic_load_explicit(&counters->callee_count, memory_order_relaxed);
    callee = find_callee(counters, count, name);
    if (callee == NULL && count == CPTI_CALLEES_MAX) {
        callee = &counters->callees[CPTI_CALLEES_MAX - 1];
    } else if (callee == NULL) {
        callee = &counters->callees[count];
        name = count + 1 < CPTI_CALLEES_MAX ? name : cpt_bytes_of("others");
        if (name.bytes != 0) { /* else it may be NULL */
            memcpy(callee->text, name.data, name.bytes);
        }
        callee->name = (struct cpt_bytes){callee->text, name.bytes};
        atomic_store_explicit(&counters->callee_count, count + 1, memory_order_release);
    }
    cpti_lock_release(&counters->lock);
    return callee;
}

/* --- Showing them --- */

struct show {
    void (*visit)(void *context, const struct cpt_counter *counter);
    void *context;
};

/* Shows the counter @name of @member, which is one of @label. */
static void show_member(const struct show *to, const char *name, const char *help,
                        const char *label, struct cpt_bytes member, uint64_t value)
{
    const struct cpt_counter counter = {name, help, label, member, value};

    to->visit(to->context, &counter);
}

static void show(const struct show *to, const char *name, uint64_t value,
                 const char *help)
{
    show_member(to, name, help, NULL, (struct cpt_bytes){NULL, 0}, value);
}

static void show_callees(struct cpti_counters *counters, const struct show *to)
{
    const unsigned count =
        atomic_load_explicit(&counters->callee_count, memory_order_acquire);

#define SHOW_(field, help)                                                             \
    for (unsigned i = 0; i < count; i++) {                                             \
        struct cpti_callee *callee = &counters->callees[i];                            \
        show_member(to, "callee_" #field, help, "callee", callee->name,                \
                    atomic_load_explicit(&callee->field, memory_order_relaxed));       \
    }
    CPTI_CALLEE_MAP(SHOW_)
#undef SHOW_
}

static void show_failures(const struct cpti_counters *counters, const struct show *to)
{
#define SHOW_(word, help)                                                              \
    show_member(to, "failures",                                                        \
                "requests that failed, or were answered 5xx, by reason", "reason",     \
                cpt_bytes_of(#word),                                                   \
                atomic_load_explicit(&counters->failures[cpti_failure_##word],         \
                                     memory_order_relaxed));
    CPTI_FAILURE_MAP(SHOW_)
#undef SHOW_
}

/* A mistake names no service, so each service shows those of the process. */
static void show_misuses(const struct show *to)
{
    static const struct {
        const char *name;
        const char *help;
    } kinds[] = {
#define SHOW_(name, help) {#name, help},
        CPTI_MISUSE_MAP(SHOW_)
#undef SHOW_
    };

    for (int i = 0; i < CPTI_MISUSE_COUNT; i++) {
        show_member(to, "misuses",
                    "mistakes of the application in this process, by kind", "kind",
                    cpt_bytes_of(kinds[i].name),
                    atomic_load_explicit(&cpti_misuse_counts[i], memory_order_relaxed));
    }
}

/* The same holds for steps that block their thread. */
static void show_stall(void *context, struct cpt_bytes task, uint64_t count)
{
    show_member(context, "stalls",
                "steps of this process that blocked their thread for too long, by task",
                "task", task, count);
}

static void show_log_file(const struct cpt_log_file *file, const struct show *to)
{
    struct cpt_log_file_counts counts;

    if (file == NULL) {
        return;
    }
    cpt_log_file_counts(file, &counts);
    show(to, "log_files", counts.file_count, "files that the log has begun");
    show(to, "log_files_removed", counts.removed_count,
         "files of the log removed because there were too many");
    show(to, "log_files_unindexed", counts.unindexed_count,
         "files of the log that ended without an index");
    show(to, "log_files_lost", counts.lost_record_count,
         "records in files of the log that were removed while they were written");
    show(to, "log_file_bytes", counts.byte_count,
         "bytes in files of the log, headers and indexes too");
}

static void show_log(struct cpt_log_queue *queue, const struct show *to)
{
    struct cpt_log_queue_counts counts;

    if (queue == NULL) {
        return;
    }
    cpt_log_queue_counts(queue, &counts);
    show(to, "log_records_lost",
         counts.dropped_count + counts.unencodable_count + counts.sink_lost_count +
             counts.late_lost_count,
         "records that are not in the log, whatever the reason");
    show(to, "log_records", counts.logged_count, "records that the log has taken");
    show(to, "log_dropped", counts.dropped_count,
         "records dropped because the queue was full");
    show(to, "log_unencodable", counts.unencodable_count,
         "records that were too large, or had no memory");
    show(to, "log_lost", counts.sink_lost_count,
         "records whose block the sink refused");
    show(to, "log_late_lost", counts.late_lost_count,
         "records that were not written when the log was closed");
    show(to, "log_blocks", counts.block_count, "blocks that the log has taken");
    show(to, "log_bytes", counts.byte_count,
         "bytes of the blocks that the log has taken");
    show(to, "log_failed_blocks", counts.failed_block_count,
         "blocks that the sink refused");
    show_log_file(cpti_log_queue_file(queue), to);
}

/* Of logs beside that of paths. */
static void show_removed(const struct cpt_log_queue *queue, const char *name,
                         const char *help, const struct show *to)
{
    const struct cpt_log_file *file = cpti_log_queue_file(queue);
    struct cpt_log_file_counts counts;

    if (file != NULL) {
        cpt_log_file_counts(file, &counts);
        show(to, name, counts.removed_count, help);
    }
}

static void show_spans(struct cpt_log_queue *queue, const struct show *to)
{
    struct cpt_log_queue_counts counts;

    if (queue == NULL) {
        return;
    }
    cpt_log_queue_counts(queue, &counts);
    show(to, "spans_requests", counts.logged_count,
         "requests whose spans were written");
    show(to, "spans_lost",
         counts.dropped_count + counts.unencodable_count + counts.sink_lost_count +
             counts.late_lost_count,
         "requests whose spans are lost, whatever the reason");
    show(to, "spans_bytes", counts.byte_count, "bytes of the spans that were written");
    show_removed(queue, "spans_files_removed",
                 "files of spans removed because there were too many", to);
}

static void show_graphs(struct cpt_log_queue *queue, const struct show *to)
{
    struct cpt_log_queue_counts counts;

    if (queue == NULL) {
        return;
    }
    cpt_log_queue_counts(queue, &counts);
    show(to, "graphs_kept", counts.logged_count, "requests whose graph was written");
    show(to, "graphs_lost",
         counts.dropped_count + counts.unencodable_count + counts.sink_lost_count +
             counts.late_lost_count,
         "requests whose graph is lost, whatever the reason");
    show(to, "graphs_bytes", counts.byte_count,
         "bytes of the graphs that were written");
    show_removed(queue, "graphs_files_removed",
                 "files of graphs removed because there were too many", to);
}

void cpt_service_counters(struct cpt_service *service,
                          void (*visit)(void *context,
                                        const struct cpt_counter *counter),
                          void *context)
{
    const struct show to = {visit, context};
    struct cpti_counters *counters = &service->counters;

#define SHOW_(field, help)                                                             \
    show(&to, #field, atomic_load_explicit(&counters->field, memory_order_relaxed),    \
         help);
    CPTI_COUNTER_MAP(SHOW_)
#undef SHOW_
    for (unsigned i = 1; i < CPTI_REASONS_MAX && cpt_reason_word(i) != NULL; i++) {
        show_member(
            &to, "blind_spots", "traced calls that ended without a path, by reason",
            "reason", cpt_bytes_of(cpt_reason_word(i)),
            atomic_load_explicit(&counters->blind_spots[i], memory_order_relaxed));
    }
    show_failures(counters, &to);
    show_callees(counters, &to);
    show_misuses(&to);
    cpt_stalls_visit(show_stall, (void *)(uintptr_t)&to);
    show_log(service->options.log, &to);
    show_spans(service->options.spans, &to);
    show_graphs(service->options.graphs, &to);
}

/* --- Calls --- */

static struct cpti_counters *counters_of(struct cpti_call_observer *observer)
{
    return &CPTI_CONTAINER(observer, struct cpt_service, observer)->counters;
}

static void count_given_up(struct cpti_call_observer *observer,
                           const struct cpt_trace_call *call, cpt_status status)
{
    struct cpti_callee *callee =
        cpti_counters_callee(counters_of(observer), call->name);

    if (status == CPT_TIMEOUT) {
        CPTI_COUNT(callee, timeouts);
    } else {
        CPTI_COUNT(callee, cancelled);
    }
}

static void count_blind_spot(struct cpti_call_observer *observer,
                             const struct cpt_trace_call *call)
{
    struct cpti_counters *counters = counters_of(observer);

    CPTI_COUNT(cpti_counters_callee(counters, call->name), blind_spots);
    if (call->reason < CPTI_REASONS_MAX) {
        CPTI_COUNT(counters, blind_spots[call->reason]);
    }
}

static void count_kept(struct cpti_call_observer *observer, size_t bytes)
{
    CPTI_COUNT(counters_of(observer), reply_paths);
    CPTI_COUNT_MORE(counters_of(observer), reply_path_bytes, bytes);
}

static void count_opened(struct cpti_call_observer *observer, size_t bytes)
{
    CPTI_COUNT(counters_of(observer), decoded_paths);
    CPTI_COUNT_MORE(counters_of(observer), decoded_path_bytes, bytes);
}

/* Adds without wrapping: what a callee claims may be of any size. */
static void count_ns(atomic_uint_least64_t *counter, uint64_t more_ns)
{
    uint_least64_t before = atomic_load_explicit(counter, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(
        counter, &before, more_ns < UINT64_MAX - before ? before + more_ns : UINT64_MAX,
        memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void count_spliced(struct cpti_call_observer *observer,
                          const struct cpt_trace_call *call, uint64_t overcount_ns,
                          uint64_t undercount_ns, int is_inconsistent)
{
    struct cpti_callee *callee =
        cpti_counters_callee(counters_of(observer), call->name);

    if (overcount_ns != 0) {
        CPTI_COUNT(callee, overcounts);
        count_ns(&callee->overcount_ns, overcount_ns);
    }
    if (undercount_ns != 0) {
        CPTI_COUNT(callee, undercounts);
        count_ns(&callee->undercount_ns, undercount_ns);
    }
    if (is_inconsistent) {
        CPTI_COUNT(callee, inconsistent);
    }
}

static void count_drags(struct cpti_call_observer *observer, bool are_made)
{
    if (are_made) {
        CPTI_COUNT(counters_of(observer), drag_paths);
    } else {
        CPTI_COUNT(counters_of(observer), lost_drags);
    }
}

static void count_clamped(struct cpti_call_observer *observer,
                          const struct cpt_trace_call *call, uint64_t count)
{
    CPTI_COUNT_MORE(cpti_counters_callee(counters_of(observer), call->name),
                    clamped_drags, count);
}

static void count_stale(struct cpti_call_observer *observer,
                        const struct cpt_trace_call *call)
{
    CPTI_COUNT(cpti_counters_callee(counters_of(observer), call->name), stale_paths);
}

static void count_timer_failed(struct cpti_call_observer *observer)
{
    CPTI_COUNT(counters_of(observer), failed_timers);
}

const struct cpti_call_observer cpti_counters_observer = {
    .given_up = count_given_up,
    .blind_spot = count_blind_spot,
    .kept = count_kept,
    .opened = count_opened,
    .spliced = count_spliced,
    .timer_failed = count_timer_failed,
    .dragged = count_drags,
    .clamped = count_clamped,
    .stale = count_stale,
};
