/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* live.c - traces out of spans that come from running services; see live.h */
#include "import/traces/live.h"

#include "cpt/base/hash_index.h"
#include "import/traces/assembly.h"
#include "import/formats/formats.h"

enum {
    GONE_SLOTS = 1 << 19, /* of ids, in each of two tables */
    GONE_MAX = GONE_SLOTS / 4 * 3,
    SPANS_MAX = 100000,
    TRACE_DIGITS = 32,
    SPAN_DIGITS = 16,
    TRACE_PART = 8, /* of the memory that one trace may have */
    LEVELS_MAX = 200,
    SLACK_PART = 16, /* of the memory that is free again when the share has fallen */
    RISES = 16       /* that are remembered; more than fit into the age of a trace */
};

static const uint64_t default_quiet_ns = 5 * UINT64_C(1000000000);
static const uint64_t default_age_ns = 60 * UINT64_C(1000000000);
static const size_t default_bytes_max = (size_t)256 << 20;
enum { DEFAULT_PART = 4 }; /* or this part of cpt_memory_max() */

/* The share falls to this part of it, and rises again after such a time, or a part of
 * the age of traces. */
static const double share_step = 0.875;
static const uint64_t rise_ns = 10 * UINT64_C(1000000000);

/*
 * Ids of traces that are gone: the place of each, its last bit replaced by whether it
 * was shed. A table is filled, then the other one instead; so an id is remembered for
 * as long as one table lasts at least.
 */
struct gone {
    uint64_t *slots;
    size_t count;
};

/* The share has risen. */
struct rise {
    uint64_t at_ns;
    unsigned from; /* the level before */
};

/* What becomes of the spans of a trace. */
enum fate { FATE_WAITS, FATE_REFUSED, FATE_SHED, FATE_LATE };

struct cpti_live {
    struct cpti_live_options options;
    struct cpti_assembly *assembly;
    struct cpti_doc *json;
    struct gone gone[2]; /* the one that is filled, and the one before */
    uint64_t turned_ns;  /* when the filled one was begun */
    unsigned level;      /* how often the share has fallen */
    uint64_t threshold;  /* places from here on are shed; UINT64_MAX: none */
    uint64_t level_ns;   /* when that has changed, or much has waited */
    uint64_t now_ns;     /* of the latest call */
    bool is_protobuf;    /* what is read now */
    /* of the span that came last in this request: neighbours often have one trace */
    char latest[TRACE_DIGITS];
    bool has_latest;
    enum fate latest_fate;
    struct rise rises[RISES]; /* the latest ones, in a ring */
    size_t rise_count;
    struct cpti_live_counts counts;
};

/* --- Life --- */

static double share_at(const struct cpti_live *live, unsigned level)
{
    double share = live->options.share;

    for (unsigned i = 0; i < level; i++) {
        share *= share_step;
    }
    return share;
}

/* Places from here on are shed at @share; UINT64_MAX: none. */
static uint64_t threshold_of(double share)
{
    static const double places = 18446744073709551616.0; /* 2^64 */

    return share >= 1 ? UINT64_MAX : (uint64_t)(share * places);
}

static void set_level(struct cpti_live *live, unsigned level)
{
    live->level = level;
    live->counts.share = share_at(live, level);
    live->threshold = threshold_of(live->counts.share);
}

static void set_defaults(struct cpti_live_options *options)
{
    options->alloc = options->alloc != NULL ? options->alloc : cpt_alloc_default();
    options->quiet_ns = options->quiet_ns != 0 ? options->quiet_ns : default_quiet_ns;
    options->age_ns = options->age_ns != 0 ? options->age_ns : default_age_ns;
    options->bytes_max = options->bytes_max != 0
                             ? options->bytes_max
                             : cpt_memory_part(default_bytes_max, DEFAULT_PART);
    options->spans_max = options->spans_max != 0 ? options->spans_max : SPANS_MAX;
    options->share = options->share > 0 && options->share < 1 ? options->share : 1;
}

struct cpti_live *cpti_live_new(const struct cpti_live_options *options)
{
    struct cpti_live_options own = *options;
    struct cpti_live *live = NULL;

    set_defaults(&own);
    live = cpt_alloc_zeroed(own.alloc, sizeof *live);
    if (live == NULL) {
        return NULL;
    }
    live->options = own;
    live->assembly = cpti_assembly_new(own.alloc);
    live->json = cpti_doc_new();
    for (size_t i = 0; i < 2; i++) {
        live->gone[i].slots =
            cpt_alloc_zeroed(own.alloc, GONE_SLOTS * sizeof *live->gone[i].slots);
    }
    if (live->assembly == NULL || live->json == NULL || live->gone[0].slots == NULL ||
        live->gone[1].slots == NULL) {
        cpti_live_free(live);
        return NULL;
    }
    cpti_assembly_limit(live->assembly, own.spans_max, own.bytes_max / TRACE_PART);
    set_level(live, 0);
    return live;
}

void cpti_live_free(struct cpti_live *live)
{
    if (live != NULL) {
        cpt_alloc_free(live->options.alloc, live->gone[0].slots);
        cpt_alloc_free(live->options.alloc, live->gone[1].slots);
        cpti_doc_free(live->json);
        cpti_assembly_free(live->assembly);
        cpt_alloc_free(live->options.alloc, live);
    }
}

/* --- Ids --- */

/* By a character: 16 and the number of a hexadecimal digit; 0: it is none. */
static const unsigned char digits_by_text[256] = {
    ['0'] = 16, ['1'] = 17, ['2'] = 18, ['3'] = 19, ['4'] = 20, ['5'] = 21,
    ['6'] = 22, ['7'] = 23, ['8'] = 24, ['9'] = 25, ['a'] = 26, ['b'] = 27,
    ['c'] = 28, ['d'] = 29, ['e'] = 30, ['f'] = 31, ['A'] = 26, ['B'] = 27,
    ['C'] = 28, ['D'] = 29, ['E'] = 30, ['F'] = 31,
};

static unsigned digit_of(char digit)
{
    return digits_by_text[(unsigned char)digit];
}

/* Whether @id is an id of @digits digits: not all are 0. Those of protobuf were bytes,
 * which have two digits each. */
static bool is_id(const struct cpti_live *live, struct cpt_bytes id, size_t digits)
{
    static const char zeros[] = "00000000000000000000000000000000";
    unsigned any = 0;
    unsigned all = 16;

    if (live->is_protobuf) {
        return id.bytes == digits && memcmp(id.data, zeros, digits) != 0;
    }
    for (size_t i = 0; i < id.bytes; i++) {
        const unsigned digit = digit_of(id.data[i]);

        any |= digit;
        all &= digit;
    }
    return id.bytes == digits && all == 16 && any != 16;
}

/* The number that @bytes digits write, by the last 16. */
static uint64_t number_of(const char *text, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++) {
        number = number << 4 | (digit_of(text[i]) & 15);
    }
    return number;
}

uint64_t cpti_live_place(struct cpt_bytes id)
{
    const size_t low_bytes = id.bytes < SPAN_DIGITS ? id.bytes : SPAN_DIGITS;
    const size_t high_bytes = id.bytes - low_bytes;

    return cpti_hash_mix(cpti_hash_mix(number_of(id.data, high_bytes)) ^
                         number_of(id.data + high_bytes, low_bytes));
}

/* --- Traces that are gone --- */

static uint64_t mark_of(uint64_t place, bool is_shed)
{
    const uint64_t mark = place < 2 ? 2 : place & ~UINT64_C(1);

    return mark | (is_shed ? 1 : 0);
}

/* The slot of @mark, or the free one where it belongs. */
static uint64_t *slot_of(const struct cpti_live *live, const struct gone *gone,
                         uint64_t mark)
{
    /* the address is a seed: ids cannot be chosen to stand in one row */
    size_t at = (size_t)cpti_hash_mix((mark | 1) ^ (uint64_t)(uintptr_t)live);

    while (gone->slots[at % GONE_SLOTS] != 0 &&
           (gone->slots[at % GONE_SLOTS] | 1) != (mark | 1)) {
        at++;
    }
    return &gone->slots[at % GONE_SLOTS];
}

/* The mark of the trace at @place, or 0: it is not known to be gone. */
static uint64_t find_gone(const struct cpti_live *live, uint64_t place)
{
    const uint64_t mark = mark_of(place, false);
    uint64_t found = 0;

    for (size_t i = 0; i < 2 && found == 0; i++) {
        if (live->gone[i].count > 0) {
            found = *slot_of(live, &live->gone[i], mark);
        }
    }
    return found;
}

/* Begins another table if this one is full or old. */
static void turn_gone(struct cpti_live *live)
{
    const struct gone oldest = live->gone[1];

    if (live->gone[0].count < GONE_MAX &&
        live->now_ns - live->turned_ns < live->options.age_ns) {
        return;
    }
    live->turned_ns = live->now_ns;
    if (live->gone[0].count > 0 || oldest.count > 0) {
        live->gone[1] = live->gone[0];
        live->gone[0] = oldest;
        live->gone[0].count = 0;
        memset(oldest.slots, 0, GONE_SLOTS * sizeof *oldest.slots);
    }
}

static void note_gone(struct cpti_live *live, uint64_t place, bool is_shed)
{
    uint64_t *slot = NULL;

    turn_gone(live);
    slot = slot_of(live, &live->gone[0], mark_of(place, is_shed));
    if (*slot == 0) {
        *slot = mark_of(place, is_shed);
        live->gone[0].count++;
    }
}

/* --- Shedding --- */

static bool is_beyond_share(const struct cpti_live *live, uint64_t place)
{
    return place >= live->threshold && live->threshold != UINT64_MAX;
}

/* A function of cpti_assembly_remove(). */
static bool shed_if_beyond(void *context, struct cpt_bytes trace, size_t span_count,
                           size_t bytes)
{
    struct cpti_live *live = context;
    const uint64_t place = cpti_live_place(trace);

    (void)bytes;
    if (!is_beyond_share(live, place)) {
        return false;
    }
    note_gone(live, place, true);
    live->counts.shed_traces++;
    live->counts.shed_spans += span_count;
    return true;
}

/* What waits, by the last level at which it is kept. */
struct levels {
    uint64_t thresholds[LEVELS_MAX + 1];
    size_t bytes[LEVELS_MAX + 1];
};

/* The same; removes nothing. */
static bool note_level(void *context, struct cpt_bytes trace, size_t span_count,
                       size_t bytes)
{
    struct levels *levels = context;
    const uint64_t place = cpti_live_place(trace);
    unsigned low = 0; /* it is kept at this level */
    unsigned high = LEVELS_MAX + 1;

    (void)span_count;
    while (low + 1 < high) {
        const unsigned middle = low + (high - low) / 2;

        *(place < levels->thresholds[middle] ? &low : &high) = middle;
    }
    levels->bytes[low] += bytes;
    return false;
}

/* The level at which what waits fits, with some slack, so that it is not looked for
 * again soon. All of it is looked at once, however the ids were chosen. */
static unsigned fitting_level(const struct cpti_live *live)
{
    const size_t bytes_max =
        live->options.bytes_max - live->options.bytes_max / SLACK_PART;
    struct levels levels = {.bytes = {0}};
    size_t bytes = cpti_assembly_bytes(live->assembly);
    unsigned level = 0;

    for (unsigned i = 0; i <= LEVELS_MAX; i++) {
        levels.thresholds[i] = threshold_of(share_at(live, i));
    }
    cpti_assembly_remove(live->assembly, note_level, &levels);
    while (level < LEVELS_MAX && (bytes > bytes_max || level <= live->level)) {
        bytes -= levels.bytes[level++];
    }
    return level;
}

static uint64_t rise_wait_ns(const struct cpti_live *live)
{
    const uint64_t part_ns = live->options.age_ns / (RISES / 2);

    return part_ns > rise_ns ? part_ns : rise_ns;
}

/* The lowest share since @from_ns: with which a trace that began then was kept. */
static double share_since(const struct cpti_live *live, uint64_t from_ns)
{
    unsigned level = live->level;

    for (size_t i = 0; i < RISES && i < live->rise_count; i++) {
        const struct rise *rise = &live->rises[i];

        level = rise->at_ns >= from_ns && rise->from > level ? rise->from : level;
    }
    return share_at(live, level);
}

/* Lowers the share until what waits fits. */
static void lower(struct cpti_live *live)
{
    if (cpti_assembly_bytes(live->assembly) <= live->options.bytes_max ||
        live->level >= LEVELS_MAX) {
        return;
    }
    set_level(live, fitting_level(live));
    live->level_ns = live->now_ns;
    live->has_latest = false;
    cpti_assembly_remove(live->assembly, shed_if_beyond, live);
}

/* Lowers the share, or lets it rise. */
static void balance(struct cpti_live *live)
{
    lower(live);
    if (cpti_assembly_bytes(live->assembly) > live->options.bytes_max / 2) {
        live->level_ns = live->now_ns;
    } else if (live->level > 0 && live->now_ns - live->level_ns >= rise_wait_ns(live)) {
        live->rises[live->rise_count++ % RISES] =
            (struct rise){live->now_ns, live->level};
        set_level(live, live->level - 1);
        live->level_ns = live->now_ns;
    }
}

/* --- Spans --- */

/* The whole trace goes, as it has too much. */
static void shed_large(struct cpti_live *live, struct cpt_bytes trace)
{
    live->counts.large_traces++;
    live->counts.shed_spans += 1 + cpti_assembly_remove_one(live->assembly, trace);
    note_gone(live, cpti_live_place(trace), true);
}

static enum fate judge(struct cpti_live *live, struct cpt_bytes trace)
{
    const uint64_t place = cpti_live_place(trace);
    uint64_t gone = 0;

    if (!is_id(live, trace, TRACE_DIGITS)) {
        return FATE_REFUSED;
    }
    gone = find_gone(live, place);
    if (gone != 0) {
        return (gone & 1) != 0 ? FATE_SHED : FATE_LATE;
    }
    if (is_beyond_share(live, place)) {
        note_gone(live, place, true);
        live->counts.shed_traces++;
        return FATE_SHED;
    }
    return FATE_WAITS;
}

static enum fate fate_of(struct cpti_live *live, struct cpt_bytes trace)
{
    if (!live->has_latest || trace.bytes != TRACE_DIGITS ||
        memcmp(trace.data, live->latest, TRACE_DIGITS) != 0) {
        live->latest_fate = judge(live, trace);
        live->has_latest = trace.bytes == TRACE_DIGITS;
        if (live->has_latest) {
            memcpy(live->latest, trace.data, TRACE_DIGITS);
        }
    }
    return live->latest_fate;
}

/* Makes room for @trace, which has grown; where no share is small enough, as ids were
 * chosen so, it goes. */
static void make_room(struct cpti_live *live, struct cpt_bytes trace)
{
    lower(live);
    if (cpti_assembly_bytes(live->assembly) > live->options.bytes_max) {
        live->counts.shed_traces++;
        live->counts.shed_spans += cpti_assembly_remove_one(live->assembly, trace);
        note_gone(live, cpti_live_place(trace), true);
        live->has_latest = false;
    }
}

/* Adds @span to the traces that wait. */
static cpt_status add_span(struct cpti_live *live, struct cpt_bytes trace,
                           const struct cpti_span *span)
{
    const cpt_status status = cpti_assembly_add(live->assembly, trace, span);

    if (status == CPT_LIMIT) {
        shed_large(live, trace);
        live->has_latest = false;
        return CPT_OK;
    }
    if (cpti_assembly_bytes(live->assembly) > live->options.bytes_max) {
        make_room(live, trace);
    }
    return status;
}

/* A cpti_sink's take. */
static cpt_status take_span(void *context, struct cpt_bytes trace,
                            const struct cpti_span *span)
{
    struct cpti_live *live = context;
    const enum fate fate = fate_of(live, trace);

    live->counts.spans++;
    if (fate == FATE_REFUSED || !is_id(live, span->id, SPAN_DIGITS) ||
        (span->parent.bytes > 0 && !is_id(live, span->parent, SPAN_DIGITS))) {
        live->counts.refused_spans++;
        return CPT_OK;
    }
    live->counts.shed_spans += fate == FATE_SHED;
    live->counts.late_spans += fate == FATE_LATE;
    return fate == FATE_WAITS ? add_span(live, trace, span) : CPT_OK;
}

/* Begins what a request does at @now_ns. A request in batches has an older time than
 * those that came in between. */
static void begin(struct cpti_live *live, uint64_t now_ns)
{
    live->now_ns = now_ns > live->now_ns ? now_ns : live->now_ns;
    live->has_latest = false;
    cpti_assembly_set_now(live->assembly, live->now_ns);
    turn_gone(live);
    balance(live);
}

/* Whether @root is a request: without spans it is empty. What has its spans under
 * another name would be lost with an answer that says they were taken. */
static bool is_request(struct cpti_doc_value root)
{
    const enum cpti_doc_type type = cpti_doc_type(cpti_doc_get(root, "resourceSpans"));
    struct cpti_doc_member first;

    return cpti_doc_type(root) == CPTI_DOC_OBJECT &&
           (type == CPTI_DOC_NULL || type == CPTI_DOC_ARRAY ||
            (type == CPTI_DOC_NONE && !cpti_doc_first(root, &first)));
}

/* Ends the reading of a request, which came to @status: counts the spans without an id;
 * all that were refused since @before to *@refused. A request without a span, but with
 * fields that are not known, is one of another version. */
static cpt_status end(struct cpti_live *live, const struct cpti_sink *sink,
                      const struct cpti_live_counts *before, cpt_status status,
                      uint64_t *refused, struct cpt_error *error)
{
    struct cpti_live_counts *counts = &live->counts;

    counts->spans += sink->refused;
    counts->refused_spans += sink->refused;
    *refused = counts->refused_spans - before->refused_spans;
    if (status == CPT_OK && sink->has_unknown_around &&
        counts->spans == before->spans) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "no span, but fields that OTLP 1.x does not have");
    }
    counts->unknown_fields += sink->unknown_fields;
    return status == CPT_CORRUPT ? CPT_INVALID : status;
}

cpt_status cpti_live_json(struct cpti_live *live, const char *text, size_t bytes,
                          uint64_t now_ns, uint64_t *refused, struct cpt_error *error)
{
    const struct cpti_live_counts before = live->counts;
    struct cpti_sink sink = {.take = take_span, .context = live};
    struct cpti_doc_value root;
    cpt_status status = cpti_doc_parse(live->json, text, bytes, &root, error);

    begin(live, now_ns);
    if (status == CPT_OK && !is_request(root)) {
        status = cpt_error_set(error, CPT_INVALID, 0,
                               "it has no resourceSpans, so it is no request to an "
                               "OpenTelemetry collector");
    } else if (status == CPT_OK) {
        live->counts.replaced += cpti_doc_replaced(live->json);
        status = cpti_otlp_request(root, &sink);
    }
    return end(live, &sink, &before, status, refused, error);
}

cpt_status cpti_live_protobuf(struct cpti_live *live, struct cpt_bytes request,
                              uint64_t now_ns, uint64_t *refused,
                              struct cpt_error *error)
{
    const struct cpti_live_counts before = live->counts;
    struct cpti_sink sink = {.take = take_span, .context = live};
    cpt_status status = CPT_OK;

    begin(live, now_ns);
    live->is_protobuf = true;
    status = cpti_otlp_protobuf(request, &sink, error);
    live->is_protobuf = false;
    return end(live, &sink, &before, status, refused, error);
}

/* --- Traces --- */

cpt_status cpti_live_take(struct cpti_live *live, uint64_t now_ns, bool takes_all,
                          struct cpti_spans *spans, struct cpt_bytes *trace,
                          double *share)
{
    cpt_status status = CPT_OK;

    begin(live, now_ns);
    cpti_spans_reset(spans);
    status =
        cpti_assembly_take_ended(live->assembly, takes_all ? 0 : live->options.quiet_ns,
                                 takes_all ? 0 : live->options.age_ns, spans, trace);
    if (status != CPT_OK) {
        return status;
    }
    note_gone(live, cpti_live_place(*trace), false);
    live->counts.traces++;
    *share = share_since(live, cpti_assembly_taken_ns(live->assembly));
    return CPT_OK;
}

void cpti_live_counts(const struct cpti_live *live, struct cpti_live_counts *counts)
{
    *counts = live->counts;
    counts->waiting_traces = cpti_assembly_count(live->assembly);
    counts->waiting_spans = cpti_assembly_span_count(live->assembly);
    counts->waiting_bytes = cpti_assembly_bytes(live->assembly);
}
