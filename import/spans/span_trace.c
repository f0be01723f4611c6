/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_trace.c - all that the spans of a request tell, as one trace
 *
 * A *visit* of a service is the span with which it was entered, and its spans below
 * that. It becomes a run with one task, and each call that hangs below one of its spans
 * a call of this task:
 *
 *      front: /          |==================================|     visit
 *      front: render        |===========================|         within, no task
 *      front: get             |-------------------|               call
 *      cart: get                |===============|                 visit, of that call
 *      stock: find                                   |====|       call and visit
 *      task of front     |=====|..................|==|....|=|
 *                         own   wait               own     own
 *
 * Who waited for whom is inferred, by the rule of the walk: each event of a visit, the
 * start of a call or its own end, waited for all calls that had ended by then, and what
 * is behind the last of them is its own work. As in the walk, a call that overlaps the
 * next one by at most 1 % of the visit ended where that began; and a call that outlives
 * its visit by more is not waited for, if one that does not ran beside it.
 *
 * A call whose callee went on for longer than the caller waited was given up: it takes
 * as long whatever the callee does. If another attempt answered in the same moment, it
 * is a hedge that lost, and held up nothing.
 */
#include "import/spans/span_trace.h"

#include "import/spans/span_tree.h"

#include "cpt/cpt_path.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOMENT_NS = 2000,    /* stamps of one moment differ by so much */
    NEIGHBOURS_MAX = 64, /* calls that ended in one moment, and are compared */
    BEGIN_NS = 1         /* when the request arrives: 0 would be "not set" */
};

/* --- Visits and calls --- */

static struct cpt_bytes name_of(struct cpti_making *making, uint32_t number)
{
    char text[CPTI_SPAN_FRAME_BYTES];
    struct cpti_span_frame frame;
    struct cpt_bytes name;
    char *copy = NULL;

    cpti_spans_frame(making->spans, number, &frame);
    name = cpti_span_frame_name(text, &frame);
    copy = cpt_trace_build_take(&making->build, name.bytes, 1);
    if (copy != NULL) {
        memcpy(copy, name.data, name.bytes);
    }
    return (struct cpt_bytes){copy, copy != NULL ? name.bytes : 0};
}

static struct cpti_visit_call *add_call(struct cpti_making *making, uint32_t visit,
                                        uint32_t span)
{
    struct cpti_visit_call *call = &making->calls[making->call_count++];

    *call =
        (struct cpti_visit_call){.visit = visit, .span = span, .callee = CPTI_NO_VISIT};
    return call;
}

/* Begins a visit with span @number, to which @call leads. */
static void add_visit(struct cpti_making *making, uint32_t number, uint32_t call)
{
    struct cpti_visit *visit = &making->visits[making->visit_count];

    visit->span = number;
    visit->call = call;
    making->visit_of[number] = (uint32_t)making->visit_count;
    if (call != CPTI_NO_VISIT) {
        making->calls[call].callee = (uint32_t)making->visit_count;
    }
    making->visit_count++;
}

/* Span @child below @above, the client's side of a call: the callee's side, or one more
 * attempt of it. */
static void place_callee(struct cpti_making *making, uint32_t above, uint32_t child)
{
    const uint32_t visit = making->visit_of[above];
    struct cpti_visit_call *call = add_call(making, visit, above);

    add_visit(making, child, (uint32_t)(call - making->calls));
}

/* Span @child of the tree, below @above: a part of a visit, a call, a visit. */
static void place(void *context, uint32_t above, uint32_t child)
{
    struct cpti_making *making = context;
    struct cpti_spans *spans = making->spans;
    const uint32_t visit = making->visit_of[above];
    const enum cpti_span_role role = cpti_spans_role(spans, child);

    if (cpti_spans_has(spans, child, CPTI_SPAN_IS_WAIT)) {
        making->visit_of[child] = visit;
        if (cpti_span_wait_kind(&spans->items[child]) != CPT_KIND_WORK) {
            (void)add_call(making, visit, child);
        }
    } else if (role == CPTI_SPAN_CALLEE) {
        place_callee(making, above, child);
    } else if (role == CPTI_SPAN_PASSED || role == CPTI_SPAN_CALL ||
               cpt_bytes_equal(spans->items[child].service,
                               spans->items[making->visits[visit].span].service)) {
        making->visit_of[child] = visit;
        if (role == CPTI_SPAN_BLIND) {
            (void)add_call(making, visit, child);
        }
    } else {
        struct cpti_visit_call *call = add_call(making, visit, child);

        if (role == CPTI_SPAN_BLIND) {
            making->visit_of[child] = visit;
        } else {
            add_visit(making, child, (uint32_t)(call - making->calls));
        }
    }
}

/* Finds all visits and calls, each before those below it. */
static void find_visits(struct cpti_making *making)
{
    const struct cpti_spans *spans = making->spans;

    for (size_t i = 0; i < spans->count; i++) {
        making->visit_of[i] = CPTI_NO_VISIT;
    }
    add_visit(making, spans->root, CPTI_NO_VISIT);
    cpti_spans_each_below(making->spans, place, making);
}

/* Puts the calls of each visit side by side. Their order stays otherwise, so attempts
 * of one call, which are neighbours, stay neighbours. */
static void order_calls(struct cpti_making *making)
{
    for (size_t i = 0; i < making->call_count; i++) {
        making->visits[making->calls[i].visit].call_end++;
    }
    for (size_t i = 1; i < making->visit_count; i++) {
        making->visits[i].call_end += making->visits[i - 1].call_end;
    }
    for (size_t i = making->call_count; i-- > 0;) {
        struct cpti_visit *visit = &making->visits[making->calls[i].visit];

        making->order[--visit->call_end] = (uint32_t)i; /* the end of the one before */
    }
    for (size_t i = 0; i < making->visit_count; i++) {
        making->visits[i].call_end = i + 1 < making->visit_count
                                         ? making->visits[i + 1].call_end
                                         : (uint32_t)making->call_count;
    }
}

/* --- Times --- */

static uint64_t start_of(const struct cpti_making *making, uint32_t span)
{
    const struct cpti_spans *spans = making->spans;

    return spans->items[span].start_ns - spans->items[spans->root].start_ns + BEGIN_NS;
}

static uint64_t end_of(const struct cpti_making *making, uint32_t span)
{
    return start_of(making, span) + making->spans->items[span].duration_ns;
}

/* Sets the time of @span within @low and @high. What began before the request has a
 * time modulo 2^64. */
static void within(const struct cpti_making *making, uint32_t span, uint64_t low,
                   uint64_t high, uint64_t *start, uint64_t *end)
{
    const int64_t least = (int64_t)low;
    const int64_t most = (int64_t)high;
    const int64_t begin = (int64_t)start_of(making, span);
    const int64_t over = (int64_t)end_of(making, span);
    const int64_t first = begin < least ? least : begin > most ? most : begin;

    *start = (uint64_t)first;
    *end = (uint64_t)(over < first ? first : over > most ? most : over);
}

/* The same of a side of @call, which keeps how much is cut. */
static void cut(struct cpti_making *making, struct cpti_visit_call *call, uint32_t span,
                uint64_t low, uint64_t high, uint64_t *start, uint64_t *end)
{
    within(making, span, low, high, start, end);
    if (*start != start_of(making, span) || *end != end_of(making, span)) {
        const uint64_t cut_ns =
            making->spans->items[span].duration_ns - (*end - *start);

        call->is_cut = true;
        call->cut_ns = cut_ns > call->cut_ns ? cut_ns : call->cut_ns;
    }
}

static struct cpti_visit_call *call_at(const struct cpti_making *making,
                                       const uint32_t *numbers, size_t at)
{
    return &making->calls[numbers[at]];
}

static int compare_attempts(const void *left, const void *right, void *context)
{
    const struct cpti_making *making = context;
    const uint32_t a =
        making->visits[making->calls[*(const uint32_t *)left].callee].span;
    const uint32_t b =
        making->visits[making->calls[*(const uint32_t *)right].callee].span;
    const int64_t from = (int64_t)start_of(making, a);
    const int64_t to = (int64_t)start_of(making, b);

    return from != to ? (from < to ? -1 : 1) : cpti_spans_order(making->spans, a, b);
}

/* Whether it is the callee's side of a call whose client's side is another span. */
static bool has_client(const struct cpti_making *making,
                       const struct cpti_visit_call *call)
{
    return call->callee != CPTI_NO_VISIT &&
           making->visits[call->callee].span != call->span;
}

/* Whether the callee of @call went on for longer than the caller waited. */
static bool is_given_up(const struct cpti_making *making,
                        const struct cpti_visit_call *call)
{
    const uint64_t share_ns =
        making->spans->items[call->span].duration_ns / CPTI_OVERLAP_SHARE;
    const int64_t late_ns =
        call->callee == CPTI_NO_VISIT
            ? 0
            : (int64_t)(end_of(making, making->visits[call->callee].span) -
                        end_of(making, call->span));

    return late_ns > (int64_t)(share_ns > MOMENT_NS ? share_ns : MOMENT_NS);
}

/* The calls @numbers, of one client's span, one after the other: each begins where the
 * one before it ended, unless they overlap, and the last one to end ends with it. */
static void time_attempts(struct cpti_making *making, const struct cpti_visit *visit,
                          uint32_t *numbers, size_t count, uint64_t last_ns)
{
    uint64_t issue_ns = 0;
    uint64_t arrive_ns = 0;
    uint64_t before_ns = UINT64_MAX;
    struct cpti_visit_call *last = call_at(making, numbers, 0);

    cut(making, call_at(making, numbers, 0), call_at(making, numbers, 0)->span,
        visit->trace.arrival_ns, last_ns, &issue_ns, &arrive_ns);
    qsort_r(numbers, count, sizeof *numbers, compare_attempts, making);
    for (size_t i = 0; i < count; i++) {
        struct cpti_visit_call *call = call_at(making, numbers, i);
        uint64_t start_ns = 0;
        uint64_t end_ns = 0;

        within(making, making->visits[call->callee].span, issue_ns, arrive_ns,
               &start_ns, &end_ns);
        if (before_ns <= start_ns) {
            issue_ns = before_ns;
        }
        call->call.issue_ns = issue_ns;
        call->call.arrive_ns = end_ns;
        before_ns = end_ns;
        last = end_ns >= last->call.arrive_ns ? call : last;
    }
    last->call.arrive_ns = arrive_ns;
}

/* Each call of the visit, whose own times are known: when it began and ended. */
static void time_calls(struct cpti_making *making, const struct cpti_visit *visit,
                       uint32_t *numbers, size_t count, uint64_t last_ns)
{
    for (size_t i = 0; i < count; i++) {
        struct cpti_visit_call *call = call_at(making, numbers, i);

        call->is_given_up = is_given_up(making, call);
        call->is_beside = false;
        call->is_cut = false;
        call->cut_ns = 0;
    }
    for (size_t i = 0; i < count;) {
        struct cpti_visit_call *call = call_at(making, numbers, i);
        size_t end = i + 1;

        while (end < count && has_client(making, call) &&
               call_at(making, numbers, end)->span == call->span &&
               has_client(making, call_at(making, numbers, end))) {
            end++;
        }
        if (end - i > 1) {
            time_attempts(making, visit, &numbers[i], end - i, last_ns);
        } else {
            cut(making, call, call->span, visit->trace.arrival_ns, last_ns,
                &call->call.issue_ns, &call->call.arrive_ns);
        }
        i = end;
    }
}

int cpti_visit_calls_order(const struct cpti_making *making, uint32_t left,
                           uint32_t right)
{
    const uint32_t a = making->calls[left].span;
    const uint32_t b = making->calls[right].span;

    return a != b ? cpti_spans_order(making->spans, a, b)
                  : (left > right) - (left < right);
}

static int compare_issues(const void *left, const void *right, void *context)
{
    const struct cpti_making *making = context;
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    const uint64_t first = making->calls[a].call.issue_ns;
    const uint64_t second = making->calls[b].call.issue_ns;

    return first != second ? (first < second ? -1 : 1)
                           : cpti_visit_calls_order(making, a, b);
}

/* By their end. Of those that ended together the last one is the one that the walk
 * takes: the first to begin, then the first by number; and what took no time comes
 * behind all of them, as it does not come before what begins with it. */
static int compare_ends(const void *left, const void *right, void *context)
{
    const struct cpti_making *making = context;
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    const struct cpt_trace_call *first = &making->calls[a].call;
    const struct cpt_trace_call *second = &making->calls[b].call;
    const bool is_first_empty = first->issue_ns == first->arrive_ns;

    if (first->arrive_ns != second->arrive_ns) {
        return first->arrive_ns < second->arrive_ns ? -1 : 1;
    }
    if (is_first_empty != (second->issue_ns == second->arrive_ns)) {
        return is_first_empty ? 1 : -1;
    }
    return -compare_issues(left, right, context);
}

/* --- Who waited --- */

/* By how much @span may be late, and still be waited for. */
static uint64_t tolerance_of(const struct cpti_visit *visit)
{
    return (visit->trace.response_ns - visit->trace.arrival_ns) / CPTI_OVERLAP_SHARE;
}

/* Whether @call ended later than its visit, by more than clocks and threads do. Both as
 * they came, not as they were cut. */
static bool outlives(const struct cpti_making *making, const struct cpti_visit *visit,
                     const struct cpti_visit_call *call)
{
    const uint64_t late_ns = end_of(making, call->span) - end_of(making, visit->span);

    return (int64_t)late_ns > 0 &&
           late_ns > making->spans->items[visit->span].duration_ns / CPTI_OVERLAP_SHARE;
}

static bool are_attempts(struct cpti_making *making, const struct cpti_visit_call *left,
                         const struct cpti_visit_call *right)
{
    struct cpti_span_frame a;
    struct cpti_span_frame b;

    cpti_spans_frame(making->spans, left->span, &a);
    cpti_spans_frame(making->spans, right->span, &b);
    return cpt_bytes_equal(a.service, b.service) &&
           cpt_bytes_equal(a.operation, b.operation);
}

/* Whether another attempt of the call @ends[@at], which ran beside it, answered when it
 * was given up; @ends are in the order of their end. */
static bool is_lost(struct cpti_making *making, const uint32_t *ends, size_t count,
                    size_t at)
{
    const struct cpti_visit_call *own = call_at(making, ends, at);
    const size_t first = at > NEIGHBOURS_MAX ? at - NEIGHBOURS_MAX : 0;

    for (size_t i = first; i < count && i <= at + NEIGHBOURS_MAX; i++) {
        const struct cpti_visit_call *other = call_at(making, ends, i);
        const uint64_t a = own->call.arrive_ns;
        const uint64_t b = other->call.arrive_ns;

        if (i != at && !other->is_given_up && (a > b ? a - b : b - a) <= MOMENT_NS &&
            own->call.issue_ns < b && other->call.issue_ns < a &&
            are_attempts(making, own, other)) {
            return true;
        }
    }
    return false;
}

/* Finds the hedges that lost; orders @ends by their end. */
static void find_lost(struct cpti_making *making, uint32_t *ends, size_t count)
{
    qsort_r(ends, count, sizeof *ends, compare_ends, making);
    for (size_t i = 0; i < count; i++) {
        struct cpti_visit_call *call = call_at(making, ends, i);

        call->is_beside |= call->is_given_up && is_lost(making, ends, count, i);
    }
}

void cpti_visit_times(struct cpti_making *making, const struct cpti_visit *visit,
                      uint32_t *starts, uint32_t *ends, size_t count, uint64_t last_ns)
{
    time_calls(making, visit, starts, count, last_ns);
    memcpy(ends, starts, count * sizeof *ends);
    find_lost(making, ends, count);
}

/* Finds the calls that the visit did not wait for. */
static void pass_over(struct cpti_making *making, const struct cpti_visit *visit,
                      const uint32_t *numbers, size_t count)
{
    uint64_t within_ns = 0;

    for (size_t i = 0; i < count; i++) {
        const struct cpti_visit_call *call = call_at(making, numbers, i);

        if (call->call.issue_ns < call->call.arrive_ns &&
            call->call.arrive_ns > within_ns && !outlives(making, visit, call)) {
            within_ns = call->call.arrive_ns;
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct cpti_visit_call *call = call_at(making, numbers, i);

        call->is_beside |=
            call->call.issue_ns < within_ns && outlives(making, visit, call);
    }
}

/* Cuts calls that end a little later than another one, of @numbers in the order of
 * their beginning, begins: that one waited for them. None of them is beside. */
static void cut_overlaps(struct cpti_making *making, const struct cpti_visit *visit,
                         const uint32_t *numbers, size_t count)
{
    const uint64_t tolerance_ns = tolerance_of(visit);

    for (size_t i = 0; i + 1 < count; i++) {
        struct cpti_visit_call *own = call_at(making, numbers, i);
        struct cpt_trace_call *call = &own->call;
        const uint64_t early_ns =
            call->arrive_ns > tolerance_ns ? call->arrive_ns - tolerance_ns : 0;
        const uint64_t least_ns =
            early_ns > call->issue_ns ? early_ns : call->issue_ns + 1;
        size_t low = i + 1;
        size_t high = count;

        while (low < high) { /* the first that begins at @least_ns or later */
            const size_t middle = low + (high - low) / 2;

            if (call_at(making, numbers, middle)->call.issue_ns < least_ns) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low < count &&
            call_at(making, numbers, low)->call.issue_ns < call->arrive_ns) {
            own->is_cut = true;
            own->cut_ns +=
                call->arrive_ns - call_at(making, numbers, low)->call.issue_ns;
            call->arrive_ns = call_at(making, numbers, low)->call.issue_ns;
        }
    }
}

/* Something that the task of @visit waited for, or, if that did not, a spare. */
static void add_arrival(struct cpti_making *making, struct cpti_visit *visit,
                        struct cpti_visit_call *call,
                        const struct cpt_trace_await *await)
{
    cpt_trace_build_arrival(&making->build,
                            &(struct cpt_dag_arrival){.waiter = &visit->task,
                                                      .call = &call->call,
                                                      .arrive_ns = call->call.arrive_ns,
                                                      .is_spare = await == NULL,
                                                      .await = await});
}

/* The task waited from @block_ns on for the @count calls at @numbers, of which the last
 * one ended last; those beside it do not count. */
static void add_await(struct cpti_making *making, struct cpti_visit *visit,
                      const uint32_t *numbers, size_t count, uint64_t block_ns)
{
    struct cpt_trace_await *await = NULL;

    for (size_t i = count; i-- > 0;) {
        struct cpti_visit_call *call = call_at(making, numbers, i);

        if (call->is_beside) {
            add_arrival(making, visit, call, NULL);
            continue;
        }
        if (await == NULL) {
            await = cpt_trace_build_take(&making->build, 1, sizeof *await);
            if (await == NULL) {
                return;
            }
            *await = (struct cpt_trace_await){.previous = visit->task.last_await,
                                              .call = &call->call,
                                              .block_ns = block_ns,
                                              .arrive_ns = call->call.arrive_ns,
                                              .resume_ns = call->call.arrive_ns};
            visit->task.last_await = await;
        }
        add_arrival(making, visit, call, await);
    }
}

/* Each event of the visit waits for what has ended by then and not before: the calls
 * @starts in the order of their beginning, the same @ends in that of their end. */
static void add_awaits(struct cpti_making *making, struct cpti_visit *visit,
                       const uint32_t *starts, const uint32_t *ends, size_t count)
{
    uint64_t before_ns = visit->trace.arrival_ns;
    size_t ended = 0;

    for (size_t i = 0; i <= count; i++) {
        const uint64_t event_ns = i < count ? call_at(making, starts, i)->call.issue_ns
                                            : visit->trace.response_ns;
        const size_t first = ended;

        while (ended < count) {
            const struct cpt_trace_call *call = &call_at(making, ends, ended)->call;

            /* what takes no time does not come before what begins with it */
            if (i < count &&
                (call->arrive_ns > event_ns ||
                 (call->arrive_ns == event_ns && call->issue_ns == event_ns))) {
                break;
            }
            ended++;
        }
        add_await(making, visit, &ends[first], ended - first, before_ns);
        before_ns = event_ns;
    }
}

/* --- Records --- */

/* When the callee of @own arrived and answered. */
static void time_callee(struct cpti_making *making, struct cpti_visit_call *own)
{
    struct cpti_visit *callee = &making->visits[own->callee];
    struct cpt_trace_call *call = &own->call;

    if (own->is_given_up) {
        call->outcome = CPT_CALL_TIMEOUT;
        cut(making, own, callee->span, call->issue_ns, INT64_MAX,
            &callee->trace.arrival_ns, &callee->trace.response_ns);
    } else if (callee->span != own->span) {
        cut(making, own, callee->span, call->issue_ns, call->arrive_ns,
            &callee->trace.arrival_ns, &callee->trace.response_ns);
    } else {
        callee->trace.arrival_ns = call->issue_ns;
        callee->trace.response_ns = call->arrive_ns;
    }
}

/* The calls @starts of the visit get their times and are ordered by their beginning;
 * the same @ends, by their end. */
static void order_visit(struct cpti_making *making, const struct cpti_visit *visit,
                        uint32_t *starts, uint32_t *ends, size_t count)
{
    size_t waited = 0;

    cpti_visit_times(making, visit, starts, ends, count, visit->trace.response_ns);
    qsort_r(starts, count, sizeof *starts, compare_issues, making);
    pass_over(making, visit, starts, count);
    for (size_t i = 0; i < count; i++) {
        if (!call_at(making, starts, i)->is_beside) {
            ends[waited++] = starts[i];
        }
    }
    cut_overlaps(making, visit, ends, waited);
    memcpy(ends, starts, count * sizeof *ends);
    qsort_r(ends, count, sizeof *ends, compare_ends, making);
}

/* What each call of @starts is. */
static void name_calls(struct cpti_making *making, struct cpti_visit *visit,
                       const uint32_t *starts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t span = call_at(making, starts, i)->span;
        struct cpt_trace_call *call = &call_at(making, starts, i)->call;

        call->issuer = &visit->task;
        call->outcome = CPT_CALL_REMOTE;
        if (cpti_spans_has(making->spans, span, CPTI_SPAN_IS_WAIT)) {
            call->outcome = CPT_CALL_KIND;
            call->kind =
                (unsigned char)cpti_span_wait_kind(&making->spans->items[span]);
            continue;
        }
        call->name = name_of(making, span);
    }
}

/* Whether all of it is known by the rule of @making, not by the walk's. */
static bool finish_visit(struct cpti_making *making, uint32_t number, uint32_t *starts,
                         uint32_t *ends, size_t count)
{
    struct cpti_visit *visit = &making->visits[number];
    bool is_filled = false;

    name_calls(making, visit, starts, count);
    if (making->rule != NULL && making->build.status == CPT_OK) {
        is_filled = making->rule->fill(making->rule->context, making, number, starts,
                                       ends, count);
    }
    if (!is_filled) {
        order_visit(making, visit, starts, ends, count);
        add_awaits(making, visit, starts, ends, count);
        if (making->rule != NULL && making->build.status == CPT_OK) {
            making->rule->walked(making->rule->context, making, number, starts, ends,
                                 count);
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct cpti_visit_call *own = call_at(making, starts, i);

        if (own->callee != CPTI_NO_VISIT) {
            time_callee(making, own);
        }
        making->cut.count += own->is_cut;
        making->cut.ns += own->cut_ns;
    }
    return is_filled;
}

static void add_visit_records(struct cpti_making *making, uint32_t number)
{
    struct cpti_visit *visit = &making->visits[number];
    const uint32_t first = number > 0 ? making->visits[number - 1].call_end : 0;
    bool is_filled = false;

    visit->trace.entry = name_of(making, visit->span);
    visit->trace.answered_by = &visit->task;
    visit->task.name = visit->trace.entry;
    visit->task.begin = CPT_BEGIN_REQUEST;
    visit->task.ready_ns = visit->trace.arrival_ns;
    visit->task.start_ns = visit->trace.arrival_ns;
    visit->task.end_ns = visit->trace.response_ns;
    cpt_trace_build_task(&making->build, &visit->task, number);
    is_filled = finish_visit(making, number, &making->order[first],
                             &making->ends[first], visit->call_end - first);
    cpt_trace_build_run(
        &making->build,
        (struct cpt_dag_run){
            &visit->trace,
            visit->call != CPTI_NO_VISIT ? &making->calls[visit->call].call : NULL,
            is_filled ? CPT_EVIDENCE_LEARNT : CPT_EVIDENCE_INFERRED});
}

/* All memory but that of names and waits. A span begins a visit, a call, or both. */
static void make_room(struct cpti_making *making)
{
    const size_t count = making->spans->count;
    struct cpt_trace_build *build = &making->build;

    making->visit_of = cpt_trace_build_take(build, count, sizeof *making->visit_of);
    making->visits = cpt_trace_build_take(build, count, sizeof *making->visits);
    making->calls = cpt_trace_build_take(build, count, sizeof *making->calls);
    making->order = cpt_trace_build_take(build, count, sizeof *making->order);
    making->ends = cpt_trace_build_take(build, count, sizeof *making->ends);
}

void cpti_spans_watch_inside(struct cpti_spans *spans, cpti_span_inside_fn inside,
                             void *context)
{
    spans->inside = inside;
    spans->inside_context = context;
}

/* Tells of the spans within visits, but for those that stand for calls or waits; and of
 * those that are in no visit. */
static void tell_inside(struct cpti_making *making)
{
    struct cpti_spans *spans = making->spans;

    for (uint32_t i = 0; i < spans->count; i++) {
        const uint32_t number = making->visit_of[i];
        char text[CPTI_SPAN_FRAME_BYTES];
        struct cpti_span_frame frame;

        if (number != CPTI_NO_VISIT && (making->visits[number].span == i ||
                                        cpti_spans_has(spans, i, CPTI_SPAN_IS_WAIT) ||
                                        cpti_spans_role(spans, i) != CPTI_SPAN_WORK)) {
            continue;
        }
        cpti_spans_frame(spans, i, &frame);
        spans->inside(spans->inside_context, cpti_span_frame_name(text, &frame),
                      number != CPTI_NO_VISIT ? making->visits[number].task.name
                                              : (struct cpt_bytes){"", 0});
    }
}

cpt_status cpti_spans_dag_by(struct cpti_spans *spans,
                             const struct cpti_visit_rule *rule, cpt_dag_visit_fn visit,
                             void *context, struct cpti_spans_cut *left)
{
    struct cpti_making making = {
        .spans = spans, .rule = rule, .build = {.arena = &making.arena}};
    cpt_status status = CPT_OK;

    cpt_arena_init(&making.arena, spans->alloc, 0, CPT_TRACE_BYTES_MAX);
    make_room(&making);
    if (making.build.status == CPT_OK) {
        const uint64_t length = spans->items[spans->root].duration_ns;

        find_visits(&making);
        order_calls(&making);
        making.visits[0].trace.arrival_ns = BEGIN_NS;
        making.visits[0].trace.response_ns = BEGIN_NS + length;
    }
    for (uint32_t i = 0; i < making.visit_count && making.build.status == CPT_OK; i++) {
        add_visit_records(&making, i);
    }
    if (spans->inside != NULL && visit != NULL && making.build.status == CPT_OK) {
        tell_inside(&making);
    }
    *left = making.cut;
    status = making.build.status;
    if (status == CPT_OK && visit != NULL) {
        const struct cpt_dag_records records = cpt_trace_build_records(&making.build);

        status = cpt_dag_draft_visit(spans->alloc, &records, visit, context);
    }
    cpt_arena_deinit(&making.arena);
    return status;
}

cpt_status cpti_spans_inferred_dag(struct cpti_spans *spans, cpt_dag_visit_fn visit,
                                   void *context, struct cpti_spans_cut *cut)
{
    return cpti_spans_dag_by(spans, NULL, visit, context, cut);
}
