/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_traces.c - requests of lines as traces; see event_traces.h */
#include "import/events/event_traces.h"

#include "import/events/order_spans.h"
#include "import/events/point_units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SPANS_SEARCHED_MAX = 1024 /* of a request, for points without a unit */ };

struct cpti_event_traces {
    const struct cpt_alloc *alloc;
    struct cpti_requests *requests;
    struct cpti_event_clocks *clocks;
    struct cpti_nesting *nesting;
    struct cpti_point_units *units;
    size_t made;     /* intervals of points, in the request that was read last */
    uint64_t number; /* of the next request */
    struct cpti_event_traces_counts counts;
    uint32_t *parents;    /* of each line */
    uint32_t *numbers;    /* of each line: its span, or that in whose time it lies */
    uint32_t *unit_spans; /* of each unit: its first one that is no client's */
    size_t parent_capacity, number_capacity, unit_capacity;
    struct cpti_inferred_span *spans;
    size_t span_capacity;
};

const char *cpti_event_method_word(enum cpti_event_method method)
{
    static const char *const words[] = {
#define METHOD_WORD_(NAME, word) word,
        CPTI_EVENT_METHOD_MAP(METHOD_WORD_)
#undef METHOD_WORD_
    };

    return words[method];
}

bool cpti_event_trace_id(struct cpt_bytes id, char text[33])
{
    bool is_id = id.bytes == 32;
    bool is_any = false;

    for (size_t i = 0; is_id && i < id.bytes; i++) {
        const char lower = (char)(id.data[i] | 0x20);

        is_id =
            (id.data[i] >= '0' && id.data[i] <= '9') || (lower >= 'a' && lower <= 'f');
        is_any |= id.data[i] != '0';
    }
    if (is_id && is_any) {
        memcpy(text, id.data, id.bytes);
        text[id.bytes] = '\0';
        return true;
    }
    (void)snprintf(text, 33, "%016" PRIx64 "%016" PRIx64,
                   cpt_hash_bytes(1, id.data, id.bytes) | 1,
                   cpt_hash_bytes(2, id.data, id.bytes));
    return false;
}

struct cpti_event_traces *cpti_event_traces_new(const struct cpt_alloc *alloc,
                                                struct cpti_requests *requests)
{
    struct cpti_event_traces *traces = cpt_alloc_zeroed(alloc, sizeof *traces);

    if (traces == NULL) {
        return NULL;
    }
    traces->alloc = alloc;
    traces->requests = requests;
    traces->nesting = cpti_nesting_new(alloc);
    traces->units = cpti_point_units_new(alloc);
    if (traces->nesting == NULL || traces->units == NULL) {
        cpti_event_traces_free(traces);
        return NULL;
    }
    return traces;
}

void cpti_event_traces_free(struct cpti_event_traces *traces)
{
    if (traces != NULL) {
        cpti_nesting_free(traces->nesting);
        cpti_point_units_free(traces->units);
        cpti_event_clocks_free(traces->clocks);
        cpt_alloc_free(traces->alloc, traces->parents);
        cpt_alloc_free(traces->alloc, traces->numbers);
        cpt_alloc_free(traces->alloc, traces->unit_spans);
        cpt_alloc_free(traces->alloc, traces->spans);
        cpt_alloc_free(traces->alloc, traces);
    }
}

const struct cpti_event_traces_counts *
cpti_event_traces_counts(const struct cpti_event_traces *traces)
{
    return &traces->counts;
}

/* --- Learning --- */

/* The next request, its clocks put right, and all of its units intervals if any is. */
static cpt_status next_request(struct cpti_event_traces *traces,
                               struct cpti_request *request)
{
    cpt_status status = cpti_requests_next(traces->requests, request);

    if (status == CPT_OK) {
        status = cpti_event_clocks_mend(traces->clocks, traces->number++, request);
    }
    return status == CPT_OK
               ? cpti_point_units_join(traces->units, request, &traces->made)
               : status;
}

static cpt_status rewind_all(struct cpti_event_traces *traces)
{
    traces->number = 0;
    return cpti_requests_rewind(traces->requests);
}

/* Counts what all requests say of clocks. */
static cpt_status learn_clocks(struct cpti_event_traces *traces)
{
    struct cpti_request request;
    cpt_status status = cpti_requests_rewind(traces->requests);

    if (status == CPT_OK) {
        traces->clocks = cpti_event_clocks_new(
            traces->alloc, cpti_requests_counts(traces->requests)->requests);
        status = traces->clocks != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    while (status == CPT_OK) {
        status = cpti_requests_next(traces->requests, &request);
        status = status == CPT_OK ? cpti_event_clocks_count(traces->clocks, &request)
                                  : status;
    }
    return status == CPT_END ? cpti_event_clocks_solve(traces->clocks) : status;
}

typedef cpt_status (*pass_fn)(struct cpti_nesting *nesting,
                              const struct cpti_request *request);

/* Hands all requests to @take. */
static cpt_status pass(struct cpti_event_traces *traces, pass_fn take)
{
    struct cpti_request request;
    cpt_status status = rewind_all(traces);

    while (status == CPT_OK) {
        status = next_request(traces, &request);
        status = status == CPT_OK ? take(traces->nesting, &request) : status;
    }
    return status == CPT_END ? CPT_OK : status;
}

cpt_status cpti_event_traces_learn(struct cpti_event_traces *traces)
{
    cpt_status status = learn_clocks(traces);

    status = status == CPT_OK ? pass(traces, cpti_nesting_enter) : status;
    status = status == CPT_OK ? pass(traces, cpti_nesting_learn) : status;
    status = status == CPT_OK ? cpti_nesting_finish(traces->nesting) : status;
    status = status == CPT_OK ? pass(traces, cpti_nesting_check) : status;
    traces->counts.unlearnt = cpti_nesting_counts(traces->nesting)->passed_over;
    return status == CPT_OK ? rewind_all(traces) : status;
}

const struct cpti_event_clocks *
cpti_event_traces_clocks(const struct cpti_event_traces *traces)
{
    return traces->clocks;
}

/* --- Spans of intervals --- */

/* Memory for @count elements more than are asked for; *@status as cpt_alloc_grow(). */
static void *room(const struct cpti_event_traces *traces, void *memory,
                  size_t *capacity, size_t count, size_t bytes, cpt_status *status)
{
    if (*status == CPT_OK) {
        *status =
            cpt_alloc_grow(traces->alloc, &memory, capacity, count, SIZE_MAX, bytes);
    }
    return memory;
}

static cpt_status make_room(struct cpti_event_traces *traces,
                            const struct cpti_request *request)
{
    cpt_status status = CPT_OK;

    traces->parents = room(traces, traces->parents, &traces->parent_capacity,
                           request->count, sizeof *traces->parents, &status);
    traces->numbers = room(traces, traces->numbers, &traces->number_capacity,
                           request->count, sizeof *traces->numbers, &status);
    traces->unit_spans = room(traces, traces->unit_spans, &traces->unit_capacity,
                              request->unit_count, sizeof *traces->unit_spans, &status);
    traces->spans = room(traces, traces->spans, &traces->span_capacity,
                         2 * request->count, sizeof *traces->spans, &status);
    return status;
}

static struct cpti_inferred_span span_of(const struct cpti_line *line, uint32_t number)
{
    return (struct cpti_inferred_span){.line = number,
                                       .parent = CPTI_NO_PARENT,
                                       .service = line->service,
                                       .kind = line->kind,
                                       .peer = line->peer,
                                       .role = line->role,
                                       .begin_ns = line->begin_ns,
                                       .end_ns = line->end_ns};
}

/* The span in whose time @point lies: of its unit, which is the service if it has none,
 * else of its service the one that began last. */
static uint32_t owner_of(const struct cpti_event_traces *traces,
                         const struct cpti_event_trace *trace,
                         const struct cpti_line *point)
{
    const uint32_t own = traces->unit_spans[point->unit];

    if ((own != CPTI_NO_PARENT && point->has_unit) ||
        trace->span_count > SPANS_SEARCHED_MAX) {
        return own;
    }
    for (size_t i = trace->span_count; i > 0; i--) {
        const struct cpti_inferred_span *span = &traces->spans[i - 1];

        if (span->service == point->service && span->role != CPTI_EVENT_CLIENT &&
            span->begin_ns <= point->begin_ns && point->begin_ns <= span->end_ns) {
            return (uint32_t)(i - 1);
        }
    }
    return own;
}

/* Makes a span of line @number, which is an interval. */
static void add_span(struct cpti_event_traces *traces, struct cpti_event_trace *trace,
                     uint32_t number)
{
    const struct cpti_line *line = &trace->request.lines[number];

    traces->numbers[number] = (uint32_t)trace->span_count;
    if (line->role != CPTI_EVENT_CLIENT &&
        traces->unit_spans[line->unit] == CPTI_NO_PARENT) {
        traces->unit_spans[line->unit] = traces->numbers[number];
    }
    traces->spans[trace->span_count++] = span_of(line, number);
}

/* Makes a span of each interval, of line @entry first. */
static void fill_spans(struct cpti_event_traces *traces, uint32_t entry,
                       struct cpti_event_trace *trace)
{
    const struct cpti_request *request = &trace->request;

    trace->span_count = 0;
    for (size_t i = 0; i < request->unit_count; i++) {
        traces->unit_spans[i] = CPTI_NO_PARENT;
    }
    add_span(traces, trace, entry);
    for (uint32_t i = 0; i < request->count; i++) {
        if (request->lines[i].is_interval && i != entry) {
            add_span(traces, trace, i);
        }
    }
}

/* Makes the spans of a request with intervals, of which line @entry is the first. */
static void fill_nested(struct cpti_event_traces *traces, uint32_t entry,
                        struct cpti_event_trace *trace)
{
    const struct cpti_request *request = &trace->request;

    fill_spans(traces, entry, trace);
    for (size_t i = 0; i < trace->span_count; i++) {
        struct cpti_inferred_span *span = &traces->spans[i];

        if (span->line != entry) {
            span->parent = traces->numbers[traces->parents[span->line]];
        }
    }
    for (size_t i = 0; i < request->count; i++) {
        if (!request->lines[i].is_interval) {
            traces->numbers[i] = owner_of(traces, trace, &request->lines[i]);
            traces->counts.points_left_out += traces->numbers[i] == CPTI_NO_PARENT;
        }
    }
}

/* Whether @span is the caller's side of a call: it says so, or it is below another one
 * of its service. */
static bool is_client(const struct cpti_inferred_span *spans,
                      const struct cpti_inferred_span *span)
{
    return span->role == CPTI_EVENT_CLIENT ||
           (span->role == CPTI_EVENT_UNKNOWN && span->parent != CPTI_NO_PARENT &&
            spans[span->parent].service == span->service);
}

/* Whether most calls between services have the side of their caller, too. */
static bool has_both_sides(const struct cpti_event_trace *trace)
{
    size_t calls = 0;
    size_t with_client = 0;

    for (size_t i = 0; i < trace->span_count; i++) {
        const struct cpti_inferred_span *span = &trace->spans[i];

        if (span->parent != CPTI_NO_PARENT &&
            trace->spans[span->parent].service != span->service) {
            calls++;
            with_client += is_client(trace->spans, &trace->spans[span->parent]);
        }
    }
    return 2 * with_client >= calls;
}

/* --- Traces --- */

cpt_status cpti_event_traces_next(struct cpti_event_traces *traces,
                                  struct cpti_event_trace *trace)
{
    uint32_t entry = CPTI_NO_PARENT;
    cpt_status status = next_request(traces, &trace->request);

    status = status == CPT_OK ? make_room(traces, &trace->request) : status;
    if (status == CPT_OK) {
        status = cpti_nesting_parents(traces->nesting, &trace->request, traces->parents,
                                      &entry);
    }
    if (status != CPT_OK) {
        return status;
    }
    trace->spans = traces->spans;
    trace->made = traces->made;
    if (entry != CPTI_NO_PARENT) {
        fill_nested(traces, entry, trace);
        trace->owners = traces->numbers;
        trace->method =
            has_both_sides(trace) ? CPTI_EVENT_BY_CALLS : CPTI_EVENT_BY_SERVERS;
    } else {
        trace->method = CPTI_EVENT_BY_POINTS;
        trace->owners = NULL;
        trace->span_count =
            cpti_order_spans(&trace->request, traces->numbers, traces->spans);
    }
    traces->counts.traces[trace->method]++;
    traces->counts.spans += trace->span_count;
    traces->counts.made += trace->made;
    return CPT_OK;
}
