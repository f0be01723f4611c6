/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* collect_door.c - what cpt collect answers, and what it keeps; see collect_door.h */
#include "cpt/cli/spans/collect_door.h"

#include "cpt/cli/base/output.h"
#include "cpt/cli/spans/collect_age.h"
#include "cpt/cli/spans/collect_answer.h"
#include "cpt/cli/spans/span_records.h"
#include "cpt/cpt_alloc.h"
#include "cpt/import/inflate.h"
#include "cpt/import/json.h"
#include "framework/cpt_log_file.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
    FIRST_BYTES = 64 * 1024,
    KEPT_BYTES_MAX = 1 << 20, /* of the buffer, from request to request */
    RETRY_S = 5
};

/* What is counted beside cpti_live_counts. */
struct tally {
    uint64_t refused[CPTI_COLLECT_REFUSALS];
    uint64_t records;
    uint64_t rootless; /* traces in which no span can be the root */
    uint64_t empty;    /* that took no time */
    uint64_t left_out; /* whose path is too large, or without memory */
    uint64_t failed_writes;
    uint64_t dropped_spans; /* not in the tree of their trace's root */
    struct cpti_collect_ages ages;
};

struct cpti_collect_door {
    struct cpti_live *live;
    struct cpti_spans *spans;
    struct cpti_span_records records;
    struct cpt_log_file *log;
    char *buffer; /* an uncompressed body, with CPTI_DOC_PADDING behind it */
    size_t capacity;
    bool is_failing; /* the log could not be written */
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
    door->log = options->log;
    door->records.write = cpt_log_file_write;
    door->records.context = options->log;
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
        cpt_alloc_free(cpt_alloc_default(), door->buffer);
        cpt_alloc_free(cpt_alloc_default(), door);
    }
}

bool cpti_collect_door_is_writing(const struct cpti_collect_door *door)
{
    return !door->is_failing;
}

/* --- Bodies --- */

/* The part of a body that was not read yet. */
struct body {
    struct cpt_bytes left;
};

/* A cpti_read_fn. */
static cpt_status read_body(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct body *body = context;

    *bytes = body->left.bytes < capacity ? body->left.bytes : capacity;
    if (*bytes > 0) {
        memcpy(buffer, body->left.data, *bytes);
        body->left.data += *bytes;
        body->left.bytes -= *bytes;
    }
    return CPT_OK;
}

/* Makes room in the buffer for @bytes and the padding. */
static cpt_status reserve(struct cpti_collect_door *door, size_t bytes)
{
    void *buffer = door->buffer;
    size_t needed = bytes + CPTI_DOC_PADDING;
    cpt_status status = CPT_OK;

    needed = needed < FIRST_BYTES ? FIRST_BYTES : needed;
    status = cpt_alloc_grow(cpt_alloc_default(), &buffer, &door->capacity, needed,
                            CPTI_COLLECT_INFLATED_BYTES_MAX + FIRST_BYTES, 1);
    door->buffer = buffer;
    return status;
}

/* A large buffer is not kept for the small requests that follow. */
static void release(struct cpti_collect_door *door)
{
    if (door->capacity > KEPT_BYTES_MAX) {
        cpt_alloc_free(cpt_alloc_default(), door->buffer);
        door->buffer = NULL;
        door->capacity = 0;
    }
}

/* Uncompresses @given; it is in the buffer, of *@bytes. CPT_LIMIT: it is too large. */
static cpt_status inflate(struct cpti_collect_door *door, struct cpt_bytes given,
                          size_t *bytes)
{
    struct body body = {given};
    struct cpti_inflate *inflate = cpti_inflate_new(NULL, read_body, &body);
    cpt_status status = inflate != NULL ? CPT_OK : CPT_NO_MEMORY;
    size_t read = 1;

    *bytes = 0;
    while (status == CPT_OK && read > 0) {
        status = reserve(door, *bytes + 1);
        if (status == CPT_OK) {
            status =
                cpti_inflate_read(inflate, door->buffer + *bytes,
                                  door->capacity - CPTI_DOC_PADDING - *bytes, &read);
            *bytes += status == CPT_OK ? read : 0;
        }
        if (status == CPT_OK && *bytes > CPTI_COLLECT_INFLATED_BYTES_MAX) {
            status = CPT_LIMIT;
        }
    }
    cpti_inflate_free(inflate);
    return status;
}

/* Puts the body as it was before it was compressed into the buffer; protobuf that is
 * not compressed stays where it is. *@body is where. */
static cpt_status read_all(struct cpti_collect_door *door,
                           const struct cpti_collect_request *request,
                           enum cpti_collect_type type, struct cpt_bytes *body)
{
    cpt_status status = CPT_OK;

    *body = request->body;
    if (cpti_collect_is_compressed(request->encoding)) {
        status = inflate(door, request->body, &body->bytes);
        body->data = door->buffer;
        return status;
    }
    if (body->bytes > CPTI_COLLECT_INFLATED_BYTES_MAX) {
        return CPT_LIMIT;
    }
    if (type != CPTI_COLLECT_JSON) {
        return CPT_OK;
    }
    status = reserve(door, body->bytes);
    if (status == CPT_OK && body->bytes > 0) {
        memcpy(door->buffer, body->data, body->bytes);
    }
    body->data = door->buffer;
    return status;
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

static enum cpti_collect_refusal take(struct cpti_collect_door *door,
                                      const struct cpti_collect_request *request,
                                      uint64_t now_ns, uint64_t *rejected,
                                      struct cpt_error *error)
{
    const enum cpti_collect_type type = cpti_collect_type(request->type);
    struct cpt_bytes body = {"", 0};
    cpt_status status = CPT_OK;

    if (type == CPTI_COLLECT_OTHER) {
        return CPTI_COLLECT_REFUSED_TYPE;
    }
    if (!cpti_collect_is_encoding(request->encoding)) {
        return CPTI_COLLECT_REFUSED_ENCODING;
    }
    if (door->is_failing) {
        return CPTI_COLLECT_REFUSED_LOG;
    }
    status = read_all(door, request, type, &body);
    if (status == CPT_OK && type == CPTI_COLLECT_JSON) {
        memset(door->buffer + body.bytes, 0, CPTI_DOC_PADDING);
        status = cpti_live_json(door->live, door->buffer, body.bytes, now_ns, rejected,
                                error);
    } else if (status == CPT_OK) {
        status = cpti_live_protobuf(door->live, body, now_ns, rejected, error);
    }
    release(door);
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

    door->tally.refused[refusal]++;
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
        door->tally.rootless++;
        return CPT_OK;
    }
    if (status == CPT_OK) {
        door->tally.dropped_spans += report.dropped;
        status = cpti_spans_walk(door->spans, CPTI_SPANS_EXACT);
    }
    if (status == CPT_OK && cpti_spans_section_count(door->spans) == 0) {
        door->tally.empty++;
        return CPT_OK;
    }
    if (status == CPT_OK) {
        status = cpti_span_records_add(&door->records, door->spans, trace, share);
    }
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
    door->tally.left_out += status != CPT_OK;
    return status;
}

bool cpti_collect_door_write(struct cpti_collect_door *door, uint64_t now_ns,
                             bool takes_all, size_t count_max)
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
    if (status == CPT_OK) {
        status = cpti_span_records_flush(&door->records);
    }
    if (status != CPT_OK) {
        fail(door, status);
    }
    return has_ended && status == CPT_OK;
}

/* --- Counters --- */

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

void cpti_collect_door_metrics(const struct cpti_collect_door *door, FILE *file)
{
    const struct tally *tally = &door->tally;
    struct cpt_log_file_counts log;
    struct cpti_live_counts live;

    cpti_live_counts(door->live, &live);
    cpt_log_file_counts(door->log, &log);
    {
        const struct shown all[] = {
            {"requests_total", "Requests whose spans were taken.", live.requests,
             false},
            {"spans_total", "Spans that came.", live.spans, false},
            {"refused_spans_total", "Spans whose ids are none.", live.refused_spans,
             false},
            {"late_spans_total", "Spans that came after their trace was written.",
             live.late_spans, false},
            {"shed_spans_total", "Spans of traces that are left out.", live.shed_spans,
             false},
            {"dropped_spans_total", "Spans that are not below the root of their trace.",
             tally->dropped_spans, false},
            {"traces_total", "Traces that have ended.", live.traces, false},
            {"shed_traces_total", "Traces that are left out to fit the share.",
             live.shed_traces, false},
            {"large_traces_total", "Traces that are left out, as they are too large.",
             live.large_traces, false},
            {"rootless_traces_total", "Traces in which no span can be the root.",
             tally->rootless, false},
            {"empty_traces_total", "Traces that took no time.", tally->empty, false},
            {"unwritten_traces_total", "Traces that could not be written.",
             tally->left_out, false},
            {"records_total", "Records for the log.", tally->records, false},
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

        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            show_head(file, all[i].name, all[i].help, all[i].is_gauge);
            (void)fprintf(file, "cpt_collect_%s %" PRIu64 "\n", all[i].name,
                          all[i].value);
        }
    }
    show_head(file, "share", "The part of the traces that is kept.", true);
    (void)fprintf(file, "cpt_collect_share %.6f\n", live.share);
    show_refusals(door, file);
    cpti_collect_age_metrics(&tally->ages, file);
}

/* --- Words --- */

/* "98 % of the requests were written within 8 s" of their end */
static void tell_age(const struct cpti_collect_ages *ages, unsigned percent, FILE *file)
{
    const unsigned within_s = cpti_collect_age_within(ages, percent / 100.0);

    if (within_s > 0) {
        (void)fprintf(file, "cpt: %u %% of the requests were written within %u s\n",
                      percent, within_s);
    }
}

static void tell(uint64_t count, const char *what)
{
    if (count > 0) {
        cpti_warn("%" PRIu64 " %s", count, what);
    }
}

void cpti_collect_door_tell(const struct cpti_collect_door *door, FILE *file)
{
    struct cpti_live_counts live;

    cpti_live_counts(door->live, &live);
    (void)fprintf(file, "cpt: %" PRIu64 " traces of %" PRIu64 " spans\n", live.traces,
                  live.spans);
    if (door->tally.ages.count > 0) {
        tell_age(&door->tally.ages, 50, file);
        tell_age(&door->tally.ages, 98, file);
    }
    tell(live.refused_spans, "spans refused, as their ids are none");
    tell(live.late_spans, "spans left out that came after their trace was written");
    tell(live.shed_traces, "traces left out to fit the share");
    tell(live.large_traces, "traces left out, as they are too large");
    tell(door->tally.dropped_spans, "spans left out that are not below a root");
    tell(door->tally.rootless, "traces left out in which no span can be the root");
    tell(door->tally.empty, "traces left out that took no time");
    tell(door->tally.left_out, "traces that could not be written");
}
