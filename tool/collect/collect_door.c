/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* collect_door.c - what cpt collect answers, and what it keeps; see collect_door.h */
#include "tool/collect/collect_door.h"

#include "tool/base/command.h"
#include "tool/base/output.h"
#include "tool/collect/collect_age.h"
#include "tool/collect/collect_answer.h"
#include "tool/log/span_records.h"
#include "tool/requests/span_totals.h"
#include "cpt/cpt_alloc.h"
#include "import/traces/batches.h"
#include "framework/cpt_log_file.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* What is counted beside cpti_live_counts. */
struct tally {
    uint64_t refused[CPTI_COLLECT_REFUSALS];
    uint64_t records;
    uint64_t left_out; /* whose path is too large, or without memory */
    uint64_t lost;     /* that had ended when the log could not be written */
    uint64_t failed_writes;
    uint64_t large_spans;   /* of large requests, larger than a span may be there */
    uint64_t large_unknown; /* fields around the spans of large requests */
    struct cpti_span_totals left;
    struct cpti_collect_ages ages;
};

struct cpti_collect_door {
    struct cpti_live *live;
    struct cpti_spans *spans;
    struct cpti_span_records records;
    struct cpt_log_file *log;
    pthread_mutex_t mutex; /* guards all but itself */
    unsigned large_count;  /* large requests that are read now */
    bool is_failing;       /* the log could not be written */
    struct tally tally;
};

struct cpti_collect_door *
cpti_collect_door_new(const struct cpti_collect_door_options *options)
{
    struct cpti_collect_door *door =
        cpt_alloc_zeroed(cpt_alloc_default(), sizeof *door);
    cpt_status status = CPT_OK;

    if (door == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&door->mutex, NULL);
    door->log = options->log;
    door->records.sink = (struct cpt_sink){cpt_log_file_write, options->log};
    status = cpti_span_records_init(&door->records);
    door->live = cpti_live_new(&options->live);
    door->spans = cpti_spans_new(NULL);
    if (status != CPT_OK || door->live == NULL || door->spans == NULL) {
        cpti_collect_door_free(door);
        return NULL;
    }
    return door;
}

void cpti_collect_door_free(struct cpti_collect_door *door)
{
    if (door != NULL) {
        cpti_span_records_deinit(&door->records);
        cpti_live_free(door->live);
        cpti_spans_free(door->spans);
        (void)pthread_mutex_destroy(&door->mutex);
        cpt_alloc_free(cpt_alloc_default(), door);
    }
}

static void lock(struct cpti_collect_door *door)
{
    (void)pthread_mutex_lock(&door->mutex);
}

static void unlock(struct cpti_collect_door *door)
{
    (void)pthread_mutex_unlock(&door->mutex);
}

bool cpti_collect_door_is_writing(struct cpti_collect_door *door)
{
    bool is_writing = false;

    lock(door);
    is_writing = !door->is_failing;
    unlock(door);
    return is_writing;
}

/* --- Requests --- */

static enum cpti_collect_refusal refusal_of(cpt_status status)
{
    switch (status) {
    case CPT_OK:
        return CPTI_COLLECT_TAKEN;
    case CPT_LIMIT:
        return CPTI_COLLECT_REFUSED_LARGE;
    case CPT_NO_MEMORY:
        return CPTI_COLLECT_REFUSED_MEMORY;
    case CPT_VERSION:
        return CPTI_COLLECT_REFUSED_ENCODING;
    default:
        return CPTI_COLLECT_REFUSED_MALFORMED;
    }
}

/* What stands before the work. */
static enum cpti_collect_refusal look_at(struct cpti_collect_door *door,
                                         const struct cpti_collect_request *request)
{
    if (cpti_collect_type(request->type) == CPTI_COLLECT_OTHER) {
        return CPTI_COLLECT_REFUSED_TYPE;
    }
    if (!cpti_collect_is_encoding(request->encoding)) {
        return CPTI_COLLECT_REFUSED_ENCODING;
    }
    return cpti_collect_door_is_writing(door) ? CPTI_COLLECT_TAKEN
                                              : CPTI_COLLECT_REFUSED_LOG;
}

/* Takes the spans of a part of a request. */
static cpt_status take_batch(struct cpti_collect_door *door, struct cpt_bytes batch,
                             bool is_json, uint64_t now_ns, uint64_t *rejected,
                             struct cpt_error *error)
{
    uint64_t own = 0;
    cpt_status status = CPT_OK;

    lock(door);
    status = is_json ? cpti_live_json(door->live, batch.data, batch.bytes, now_ns, &own,
                                      error)
                     : cpti_live_protobuf(door->live, batch, now_ns, &own, error);
    unlock(door);
    *rejected += own;
    return status;
}

/* One more large request is read, if there are not too many; or one less. */
static bool begin_large(struct cpti_collect_door *door)
{
    bool may = false;

    lock(door);
    may = door->large_count < CPTI_COLLECT_LARGE_MAX;
    door->large_count += may;
    unlock(door);
    return may;
}

static void end_large(struct cpti_collect_door *door)
{
    lock(door);
    door->large_count--;
    unlock(door);
}

/* Takes all batches of a request; between them others have their turn. */
static cpt_status take_batches(struct cpti_collect_door *door,
                               struct cpti_batches *batches, bool is_json,
                               uint64_t now_ns, uint64_t *rejected,
                               struct cpt_error *error)
{
    struct cpt_bytes batch = {"", 0};
    bool is_large = false;
    cpt_status status = cpti_batches_next(batches, &batch, error);

    if (status == CPT_OK && cpti_batches_have_more(batches)) {
        is_large = begin_large(door);
        if (!is_large) {
            return CPT_NO_MEMORY;
        }
    }
    while (status == CPT_OK) {
        status = take_batch(door, batch, is_json, now_ns, rejected, error);
        status = CPTI_THEN(status, cpti_batches_next(batches, &batch, error));
    }
    if (is_large) {
        end_large(door);
    }
    lock(door);
    door->tally.large_spans += cpti_batches_refused(batches);
    door->tally.large_unknown += cpti_batches_unknown_fields(batches);
    unlock(door);
    *rejected += cpti_batches_refused(batches);
    return status == CPT_END ? CPT_OK : status;
}

static enum cpti_collect_refusal take(struct cpti_collect_door *door,
                                      const struct cpti_collect_request *request,
                                      uint64_t now_ns, uint64_t *rejected,
                                      struct cpt_error *error)
{
    const struct cpti_batches_options options = {
        .is_json = cpti_collect_type(request->type) == CPTI_COLLECT_JSON,
        .is_compressed = cpti_collect_is_compressed(request->encoding),
        .bytes_max = cpt_memory_part(CPTI_COLLECT_INFLATED_BYTES_MAX,
                                     CPTI_COLLECT_INFLATED_PART)};
    const enum cpti_collect_refusal refusal = look_at(door, request);
    struct cpti_batches *batches = NULL;
    cpt_status status = CPT_NO_MEMORY;

    if (refusal != CPTI_COLLECT_TAKEN) {
        return refusal;
    }
    batches = cpti_batches_new(request->body, &options);
    if (batches != NULL) {
        status = take_batches(door, batches, options.is_json, now_ns, rejected, error);
    }
    cpti_batches_free(batches);
    return refusal_of(status);
}

void cpti_collect_door_take(struct cpti_collect_door *door,
                            const struct cpti_collect_request *request, uint64_t now_ns,
                            struct cpti_collect_answer *answer)
{
    struct cpt_error error = {0};
    uint64_t rejected = 0;
    const enum cpti_collect_refusal refusal =
        take(door, request, now_ns, &rejected, &error);

    lock(door);
    door->tally.refused[refusal]++;
    unlock(door);
    cpti_collect_answer(answer, cpti_collect_type(request->type), refusal,
                        error.sentence, rejected);
}

/* --- The log --- */

static void fail(struct cpti_collect_door *door, cpt_status status)
{
    door->tally.failed_writes++;
    if (!door->is_failing) {
        (void)cpti_failed("the log cannot be written (%s); spans are refused until it "
                          "can",
                          cpt_status_sentence(status));
    }
    door->is_failing = true;
}

/* The wall clock, by which spans have their times. */
static uint64_t unix_now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Adds the trace that is in `spans`. CPT_OK, or an error of the log. */
static cpt_status add(struct cpti_collect_door *door, struct cpt_bytes trace,
                      double share)
{
    struct cpti_spans_report report;
    cpt_status status = cpti_spans_resolve(door->spans, &report);

    if (status == CPT_END) {
        door->tally.left.rootless++;
        cpti_span_totals_add(&door->tally.left, door->spans, &report);
        return CPT_OK;
    }
    status = CPTI_THEN(status, cpti_spans_walk(door->spans, CPTI_SPANS_EXACT));
    if (status == CPT_OK) {
        cpti_span_totals_add(&door->tally.left, door->spans, &report);
    }
    if (status == CPT_OK && cpti_spans_section_count(door->spans) == 0) {
        door->tally.left.empty++;
        return CPT_OK;
    }
    status = CPTI_THEN(
        status, cpti_span_records_add(&door->records, door->spans, trace, share));
    if (status == CPT_OK) {
        door->tally.records++;
        cpti_collect_age_note(
            &door->tally.ages,
            cpti_spans_end_ns(door->spans, cpti_spans_root(door->spans)),
            unix_now_ns());
    }
    if (status == CPT_NO_MEMORY || status == CPT_LIMIT || status == CPT_INVALID) {
        door->tally.left_out++;
        return CPT_OK;
    }
    door->tally.lost += status != CPT_OK;
    return status;
}

/* cpti_collect_door_write() under the lock. */
static bool write_ended(struct cpti_collect_door *door, uint64_t now_ns, bool takes_all,
                        size_t count_max)
{
    cpt_status status = CPT_OK;
    bool has_ended = true;

    if (door->is_failing) {
        status = cpti_span_records_flush(&door->records);
        door->tally.failed_writes += status != CPT_OK;
        if (status != CPT_OK) {
            return false;
        }
        door->is_failing = false;
        cpti_warn("the log can be written again");
    }
    for (size_t i = 0; i < count_max && has_ended && status == CPT_OK; i++) {
        struct cpt_bytes trace = {"", 0};
        double share = 1;

        has_ended = cpti_live_take(door->live, now_ns, takes_all, door->spans, &trace,
                                   &share) == CPT_OK;
        status = has_ended ? add(door, trace, share) : CPT_OK;
    }
    status = CPTI_THEN(status, cpti_span_records_flush(&door->records));
    if (status != CPT_OK) {
        fail(door, status);
    }
    return has_ended && status == CPT_OK;
}

bool cpti_collect_door_write(struct cpti_collect_door *door, uint64_t now_ns,
                             bool takes_all, size_t count_max)
{
    bool has_more = false;

    lock(door);
    has_more = write_ended(door, now_ns, takes_all, count_max);
    unlock(door);
    return has_more;
}

/* --- Counters --- */

/* Records that were written to the log. */
static uint64_t written_of(const struct cpti_collect_door *door)
{
    return door->tally.records - cpti_span_records_waiting(&door->records);
}

/* One counter. @labels: "{reason=\"large\"}", or "". */
struct shown {
    const char *name;
    const char *help;
    uint64_t value;
    bool is_gauge;
};

static void show_head(FILE *file, const char *name, const char *help, bool is_gauge)
{
    (void)fprintf(file, "# HELP cpt_collect_%s %s\n# TYPE cpt_collect_%s %s\n", name,
                  help, name, is_gauge ? "gauge" : "counter");
}

static void show_refusals(const struct cpti_collect_door *door, FILE *file)
{
    static const char *const reasons[] = {[CPTI_COLLECT_TAKEN] = NULL,
#define REASON(name, status, code, reason) [CPTI_COLLECT_REFUSED_##name] = (reason),
                                          CPTI_COLLECT_REFUSAL_MAP(REASON)
#undef REASON
    };

    show_head(file, "refused_total", "Requests that were refused.", false);
    for (size_t i = 1; i < CPTI_COLLECT_REFUSALS; i++) {
        (void)fprintf(file, "cpt_collect_refused_total{reason=\"%s\"} %" PRIu64 "\n",
                      reasons[i], door->tally.refused[i]);
    }
}

/* Why spans are left out of their trace: the parts of dropped_spans_total. */
static void show_dropped(const struct cpti_span_totals *left, FILE *file)
{
    show_head(file, "dropped_spans_by_reason_total",
              "Spans that are left out of their trace, by reason.", false);
#define SHOW(name, sentence)                                                           \
    (void)fprintf(file,                                                                \
                  "cpt_collect_dropped_spans_by_reason_total{reason=\"" #name          \
                  "\"} %" PRIu64 "\n",                                                 \
                  left->name);
    CPTI_SPAN_DROP_MAP(SHOW)
#undef SHOW
}

static void show_each(FILE *file, const struct shown *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        show_head(file, all[i].name, all[i].help, all[i].is_gauge);
        (void)fprintf(file, "cpt_collect_%s %" PRIu64 "\n", all[i].name, all[i].value);
    }
}

/* The counters of spans. */
static void show_spans(const struct tally *tally, const struct cpti_live_counts *live,
                       FILE *file)
{
    const struct shown all[] = {
        {"requests_total", "Requests whose spans were taken.",
         tally->refused[CPTI_COLLECT_TAKEN], false},
        {"spans_total", "Spans that came.", live->spans + tally->large_spans, false},
        {"refused_spans_total", "Spans whose ids are none, or that are too large.",
         live->refused_spans + tally->large_spans, false},
        {"late_spans_total", "Spans that came after their trace was written.",
         live->late_spans, false},
        {"shed_spans_total", "Spans of traces that are left out.", live->shed_spans,
         false},
        {"dropped_spans_total", "Spans that are left out of their trace.",
         tally->left.dropped, false},
        {"clipped_spans_total", "Spans that were cut to the time of their parent.",
         tally->left.clipped, false},
        {"moved_spans_total", "Spans whose clock was put right.",
         cpti_moved_clocks_spans(&tally->left.clocks), false},
        {"doubted_spans_total",
         "Spans that were not believed, as others contradict what they tell of clocks.",
         cpti_moved_clocks_doubted(&tally->left.clocks), false},
        {"contradictory_traces_total", "Traces whose clocks contradict each other.",
         tally->left.contradictory, false},
        {"joined_spans_total", "Pieces that went into the span that they are of.",
         tally->left.joined, false},
        {"unknown_fields_total", "Fields of requests that OTLP 1.x does not have.",
         live->unknown_fields + tally->large_unknown, false},
        {"replaced_characters_total",
         "Characters that were not UTF-8, or half of a pair.", live->replaced, false},
    };

    show_each(file, all, sizeof all / sizeof *all);
}

/* cpti_collect_door_metrics() under the lock. */
static void show(const struct cpti_collect_door *door, FILE *file)
{
    const struct tally *tally = &door->tally;
    struct cpt_log_file_counts log;
    struct cpti_live_counts live;

    cpti_live_counts(door->live, &live);
    cpt_log_file_counts(door->log, &log);
    show_spans(tally, &live, file);
    {
        const struct shown all[] = {
            {"traces_total", "Traces that have ended.", live.traces, false},
            {"shed_traces_total", "Traces that are left out to fit the share.",
             live.shed_traces, false},
            {"large_traces_total", "Traces that are left out, as they are too large.",
             live.large_traces, false},
            {"rootless_traces_total", "Traces in which no span can be the root.",
             tally->left.rootless, false},
            {"fragment_traces_total",
             "Traces whose root is missing, or has no time that makes sense.",
             cpti_span_totals_fragments(&tally->left), false},
            {"empty_traces_total", "Traces that took no time.", tally->left.empty,
             false},
            {"unwritten_traces_total", "Traces that could not be written.",
             tally->left_out + tally->lost, false},
            {"records_total", "Records for the log.", tally->records, false},
            {"written_records_total", "Records that are in the log.", written_of(door),
             false},
            {"failed_writes_total", "Times that the log could not be written.",
             tally->failed_writes, false},
            {"log_bytes_total", "Bytes of the log.", log.byte_count, false},
            {"log_files_total", "Files of the log that were begun.", log.file_count,
             false},
            {"removed_log_files_total", "Old files of the log that were removed.",
             log.removed_count, false},
            {"held_traces", "Traces that have not ended yet.", live.waiting_traces,
             true},
            {"held_spans", "Spans of traces that have not ended yet.",
             live.waiting_spans, true},
            {"held_bytes", "Memory of traces that have not ended yet.",
             live.waiting_bytes, true},
        };

        show_each(file, all, sizeof all / sizeof *all);
    }
    show_head(file, "share", "The part of the traces that is kept.", true);
    (void)fprintf(file, "cpt_collect_share %.6f\n", live.share);
    show_dropped(&tally->left, file);
    show_refusals(door, file);
    cpti_collect_age_metrics(&tally->ages, file);
}

void cpti_collect_door_metrics(struct cpti_collect_door *door, FILE *file)
{
    lock(door);
    show(door, file);
    unlock(door);
}

/* --- Words --- */

/* "98 % of the requests were written within 8 s" of their end */
static void tell_age(const struct cpti_collect_ages *ages, unsigned percent)
{
    const unsigned within_s = cpti_collect_age_within(ages, percent / 100.0);

    if (within_s > 0) {
        cpti_told("%u %% of the requests were written within %u s", percent, within_s);
    }
}

/* Traces that were taken and are not in the log, as it could not be written. */
static uint64_t lost_of(const struct cpti_collect_door *door,
                        const struct cpti_live_counts *live)
{
    return door->tally.records - written_of(door) + door->tally.lost +
           live->waiting_traces;
}

int cpti_collect_door_tell(struct cpti_collect_door *door)
{
    struct cpti_span_totals *left = &door->tally.left;
    struct cpt_log_file_counts log;
    struct cpti_live_counts live;
    uint64_t lost = 0;

    lock(door);
    cpt_log_file_counts(door->log, &log);
    cpti_live_counts(door->live, &live);
    lost = lost_of(door, &live);
    cpti_told("%" PRIu64 " traces of %" PRIu64 " spans; %" PRIu64 " records written",
              live.traces + live.waiting_traces, live.spans - live.refused_spans,
              written_of(door));
    if (door->tally.ages.count > 0) {
        tell_age(&door->tally.ages, 50);
        tell_age(&door->tally.ages, 98);
    }
    left->refused_spans = live.refused_spans;
    left->unknown_fields = live.unknown_fields + door->tally.large_unknown;
    left->replaced = live.replaced;
    cpti_span_totals_tell(left);
    cpti_tell_count(door->tally.large_spans, "spans refused, as they are too large");
    cpti_tell_count(live.late_spans,
                    "spans left out that came after their trace was written");
    cpti_tell_count(live.shed_traces, "traces left out to fit the share");
    cpti_tell_count(live.large_traces, "traces left out, as they are too large");
    cpti_tell_count(door->tally.left_out,
                    "traces left out, as their path is too large");
    cpti_tell_count(log.lost_record_count,
                    "records in log files that another program removed");
    unlock(door);
    return lost == 0 ? CPTI_EXIT_DONE
                     : cpti_failed("%" PRIu64 " traces are lost, as the log could not "
                                   "be written",
                                   lost);
}
