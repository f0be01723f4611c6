/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_doubt.c - what each event may have waited for, beside what is taken
 *
 * An event may come behind what it comes behind in the trace, P, if the service may
 * have computed until then; behind each of the calls that held it, N, by the same
 * measure; and behind calls that had ended and run beside it in some requests only. Of
 * a visit that is not learnt all calls that had ended may have held it, and P.
 *
 * Visits are noted in their order while their waits are made; when all are there, their
 * events are put behind one another so that each comes after its holders: a call
 * begins, its callee does all that it does, and then the call ends.
 */
#include "import/learn/learn_inside.h"

#include <string.h>

/* What a holder is of, while events are noted. */
enum { OF_BEGIN, OF_START, OF_END };

/* --- Noting --- */

static cpt_status grow(struct cpti_learn *learn, struct learn_list *list, size_t more,
                       size_t element_bytes)
{
    return cpt_alloc_grow(learn->alloc, &list->items, &list->capacity,
                          list->count + more, LEARN_HOLDERS_MAX, element_bytes);
}

static struct learn_noted *noted_at(const struct cpti_learn *learn, size_t number)
{
    return &((struct learn_noted *)learn->doubt.events.items)[number];
}

static struct learn_holder *holder_at(const struct cpti_learn *learn, size_t number)
{
    return &((struct learn_holder *)learn->doubt.holders.items)[number];
}

/* Adds a holder of the event that is being noted. Without memory, or at the limit, the
 * trace has no doubt. */
static void add_holder(struct cpti_learn *learn, unsigned of, uint32_t call,
                       uint64_t lag_ns, uint32_t flags)
{
    struct learn_doubt *doubt = &learn->doubt;

    if (grow(learn, &doubt->holders, 1, sizeof(struct learn_holder)) != CPT_OK) {
        doubt->is_lost = true;
        return;
    }
    *holder_at(learn, doubt->holders.count++) =
        (struct learn_holder){lag_ns, call, (unsigned char)of, (unsigned char)flags};
}

static void end_event(struct cpti_learn *learn, uint32_t call, uint64_t at_ns,
                      uint64_t wire_ns, bool is_timed)
{
    struct learn_doubt *doubt = &learn->doubt;

    if (grow(learn, &doubt->events, 1, sizeof(struct learn_noted)) != CPT_OK) {
        doubt->is_lost = true;
        return;
    }
    *noted_at(learn, doubt->events.count++) = (struct learn_noted){
        at_ns, wire_ns, (uint32_t)doubt->holders.count, call, is_timed};
}

void cpti_learn_doubt_begin(struct cpti_learn *learn)
{
    learn->doubt.events.count = 0;
    learn->doubt.holders.count = 0;
    learn->doubt.is_lost = learn->doubt.is_unwanted;
}

/* --- Events of a class that is learnt --- */

/* The largest c that may be behind call @call; INT64_MAX: any. */
static int64_t hi_of(const struct learn_fit *fit, uint32_t place)
{
    for (uint32_t i = 0; i < fit->anchor_count; i++) {
        if (fit->anchors[i].place == place) {
            return fit->anchors[i].hi_ns;
        }
    }
    return INT64_MAX;
}

/* Adds one that the event comes @lag_ns behind, @gap_ns of which are those behind all
 * of N: it may hold it alone if @hi_ns is enough for the rest. */
static void add_bounded(struct cpti_learn *learn, unsigned of, uint32_t call,
                        uint64_t lag_ns, uint64_t gap_ns, int64_t hi_ns, uint32_t flags)
{
    const int64_t rest_ns = (int64_t)(lag_ns - gap_ns);
    const bool may_hold = hi_ns >= rest_ns;

    add_holder(learn, of, call,
               may_hold ? lag_ns : gap_ns + (hi_ns > 0 ? (uint64_t)hi_ns : 0),
               flags | (may_hold ? CPT_DOUBT_MAY_HOLD : 0));
}

static void add_behind(struct cpti_learn *learn, const struct learn_event *event,
                       uint64_t gap_ns, int64_t hi_ns)
{
    const bool is_begin = event->behind == LEARN_NONE;

    add_bounded(learn, is_begin ? OF_BEGIN : OF_START,
                is_begin ? LEARN_NONE : learn->node.calls[event->behind].number,
                event->at_ns - event->behind_ns, gap_ns, hi_ns, 0);
}

/* What held @event, N: its last end may hold it in any case. */
static void add_held(struct cpti_learn *learn, const struct learn_event *event,
                     const struct learn_fit *fit)
{
    const struct learn_node *node = &learn->node;
    const uint64_t gap_ns = event->at_ns - event->held_ns;

    for (uint32_t i = 0; i < event->held_count; i++) {
        const struct learn_call *held = &node->calls[node->held[event->held_at + i]];
        const int64_t hi_ns = fit == NULL || held->end_ns == event->held_ns
                                  ? INT64_MAX
                                  : hi_of(fit, held->place);

        add_bounded(learn, OF_END, held->number, event->at_ns - held->end_ns, gap_ns,
                    hi_ns,
                    fit != NULL && !fit->may_never_wait ? CPT_DOUBT_NOT_BEFORE : 0);
    }
}

/* Calls that had ended and are not known to hold it. */
static void add_others(struct cpti_learn *learn, size_t number)
{
    const struct learn_node *node = &learn->node;
    const struct learn_event *event = &node->events[number];

    for (size_t i = cpti_learn_ended(node, event->at_ns), looked = 0;
         i-- > 0 && looked < LEARN_NEAR_MAX; looked++) {
        const uint32_t call = node->ends[i];

        if (cpti_learn_may_hold(node, call, number)) {
            add_holder(learn, OF_END, node->calls[call].number,
                       event->at_ns - node->calls[call].end_ns, CPT_DOUBT_MAY_HOLD);
        }
    }
}

void cpti_learn_doubt_node(struct cpti_learn *learn)
{
    const struct learn_node *node = &learn->node;

    for (size_t i = 0; i <= node->count && !learn->doubt.is_lost; i++) {
        const struct learn_event *event = &node->events[i];
        const struct learn_fit *fit =
            event->held_count != 0 ? cpti_learn_fit_of(node, i) : NULL;
        const uint64_t last_ns =
            event->held_ns > event->behind_ns ? event->held_ns : event->behind_ns;
        const uint64_t gap_ns = event->at_ns - last_ns;
        uint64_t wire_ns = cpti_learn_wire_of(node, i);

        if (event->is_timed && event->held_count != 0) {
            add_held(learn, event, NULL);
        } else {
            add_behind(learn, event, gap_ns,
                       fit == NULL || fit->may_never_wait ? INT64_MAX : fit->hi_ns);
            add_held(learn, event, fit);
        }
        if (!event->is_timed) {
            add_others(learn, i);
        }
        wire_ns = wire_ns < gap_ns ? wire_ns : gap_ns;
        end_event(learn, i < node->count ? node->calls[i].number : LEARN_NONE,
                  event->at_ns, wire_ns, event->is_timed);
    }
}

/* --- Events of a class that is not --- */

void cpti_learn_doubt_walk(struct cpti_learn *learn, const struct cpti_making *making,
                           uint32_t number, const uint32_t *starts,
                           const uint32_t *ends, size_t count)
{
    const struct cpti_visit *visit = &making->visits[number];
    uint32_t behind = LEARN_NONE;
    uint64_t behind_ns = visit->trace.arrival_ns;
    size_t ended = 0;

    for (size_t i = 0; i <= count && !learn->doubt.is_lost; i++) {
        const uint64_t at_ns = i < count ? making->calls[starts[i]].call.issue_ns
                                         : visit->trace.response_ns;

        add_holder(learn, behind == LEARN_NONE ? OF_BEGIN : OF_START, behind,
                   at_ns - behind_ns, CPT_DOUBT_MAY_HOLD);
        while (ended < count && making->calls[ends[ended]].call.arrive_ns <= at_ns) {
            ended++;
        }
        for (size_t k = ended, looked = 0; k-- > 0 && looked < LEARN_NEAR_MAX;
             looked++) {
            const struct cpti_visit_call *call = &making->calls[ends[k]];

            if (!call->is_beside) {
                add_holder(learn, OF_END, ends[k], at_ns - call->call.arrive_ns,
                           CPT_DOUBT_MAY_HOLD);
            }
        }
        end_event(learn, i < count ? starts[i] : LEARN_NONE, at_ns,
                  (i < count && cpti_visit_is_bare(making, starts[i])) ||
                          (ended != 0 && cpti_visit_is_bare(making, ends[ended - 1]))
                      ? at_ns - behind_ns
                      : 0,
                  false);
        if (i < count && !making->calls[starts[i]].is_beside &&
            at_ns <= visit->trace.response_ns) {
            behind = starts[i];
            behind_ns = at_ns;
        }
    }
}

/* --- The moments of a trace --- */

/* A trace whose moments are made. */
struct ordering {
    struct cpti_learn *learn;
    const struct cpti_making *making;
    uint32_t *begins; /* of each visit: its moment, or LEARN_NONE: not yet */
    uint32_t *starts; /* of each call */
    uint32_t *ends;
    uint32_t *first_events; /* of each visit */
    struct {
        uint32_t visit;
        uint32_t event; /* that comes next */
    } * stack;
    uint32_t depth;
    struct cpt_doubt_moment *moments;
    struct cpt_doubt_holder *holders;
    uint32_t moment_count;
    uint32_t holder_count;
    uint32_t task_count;
    size_t moment_max, holder_max;
};

static uint32_t line_of_visit(const struct ordering *ordering, uint32_t visit)
{
    return ordering->making->visits[visit].task.walk_number;
}

static uint32_t line_of_call(const struct ordering *ordering, uint32_t call)
{
    return ordering->task_count + ordering->making->calls[call].call.walk_number;
}

static uint32_t add_moment(struct ordering *ordering, uint64_t at_ns, uint32_t line,
                           uint32_t worker, uint32_t flags)
{
    const uint64_t begin_ns = ordering->making->visits[0].trace.arrival_ns;

    ordering->moments[ordering->moment_count] =
        (struct cpt_doubt_moment){.at_ns = at_ns - begin_ns,
                                  .holder_end = ordering->holder_count,
                                  .line = line,
                                  .worker = worker,
                                  .flags = flags};
    return ordering->moment_count++;
}

/* The next moment comes @lag_ns behind @from. */
static void add_sole(struct ordering *ordering, uint32_t from, uint64_t lag_ns)
{
    ordering->holders[ordering->holder_count++] =
        (struct cpt_doubt_holder){lag_ns, from, CPT_DOUBT_MAY_HOLD};
}

/* Visit @visit begins, which call @call leads to, if that is not LEARN_NONE. */
static void begin_visit(struct ordering *ordering, uint32_t visit, uint32_t call)
{
    const struct cpt_trace *trace = &ordering->making->visits[visit].trace;
    const uint32_t line = line_of_visit(ordering, visit);

    if (call != LEARN_NONE) {
        const uint32_t from = ordering->starts[call];
        const uint64_t issue_ns = ordering->making->calls[call].call.issue_ns;
        const uint32_t own = line_of_call(ordering, call);

        add_sole(ordering, from,
                 trace->arrival_ns > issue_ns ? trace->arrival_ns - issue_ns : 0);
        (void)add_moment(ordering, trace->arrival_ns, own, own, CPT_DOUBT_ADDS);
        add_sole(ordering, ordering->moment_count - 1, 0);
    }
    ordering->begins[visit] =
        add_moment(ordering, trace->arrival_ns, line, line, CPT_DOUBT_ADDS);
    ordering->stack[ordering->depth].visit = visit;
    ordering->stack[ordering->depth++].event = 0;
}

/* Call @number ends: behind its callee's last moment, or, if that is LEARN_NONE or
 * later, after as long a time as it took. */
static void end_call(struct ordering *ordering, uint32_t number, uint32_t last)
{
    const struct cpti_visit_call *call = &ordering->making->calls[number];
    const uint64_t issue_ns = call->call.issue_ns;
    const uint64_t arrive_ns = call->call.arrive_ns;
    const uint32_t line = line_of_call(ordering, number);
    const bool is_known = last != LEARN_NONE && !call->is_given_up;
    const bool is_work = last == LEARN_NONE && call->call.outcome == CPT_CALL_REMOTE;

    if (is_known) {
        const uint64_t response_ns =
            ordering->making->visits[call->callee].trace.response_ns;

        add_sole(ordering, last, arrive_ns > response_ns ? arrive_ns - response_ns : 0);
    } else {
        add_sole(ordering, ordering->starts[number], arrive_ns - issue_ns);
    }
    ordering->ends[number] =
        add_moment(ordering, arrive_ns, line, is_known || is_work ? line : CPT_DAG_NONE,
                   CPT_DOUBT_IS_END | (is_work ? CPT_DOUBT_ADDS : 0));
}

/* The moment that @holder is; LEARN_NONE: it comes later. */
static uint32_t moment_of(const struct ordering *ordering, uint32_t visit,
                          const struct learn_holder *holder)
{
    switch (holder->of) {
    case OF_BEGIN:
        return ordering->begins[visit];
    case OF_START:
        return ordering->starts[holder->call];
    default:
        return ordering->ends[holder->call];
    }
}

/* Event @number of all: the moment it becomes. */
static uint32_t add_event(struct ordering *ordering, uint32_t visit, uint32_t number)
{
    const struct cpti_learn *learn = ordering->learn;
    const struct learn_noted *event = noted_at(learn, number);
    const uint32_t begin = number != 0 ? noted_at(learn, number - 1)->holder_end : 0;
    const uint32_t worker = line_of_visit(ordering, visit);
    uint32_t made = 0;

    for (uint32_t i = begin; i < event->holder_end; i++) {
        const struct learn_holder *holder = holder_at(learn, i);
        const uint32_t from = moment_of(ordering, visit, holder);

        if (from != LEARN_NONE) {
            ordering->holders[ordering->holder_count++] =
                (struct cpt_doubt_holder){holder->lag_ns, from, holder->flags};
        }
    }
    made = add_moment(ordering, event->at_ns,
                      event->call != LEARN_NONE ? line_of_call(ordering, event->call)
                                                : worker,
                      event->is_timed ? CPT_DAG_NONE : worker,
                      event->call != LEARN_NONE ? 0 : CPT_DOUBT_IS_END);
    ordering->moments[made].wire_ns = event->wire_ns;
    return made;
}

/* The next event of the visit at the top of the stack. */
static void go_on(struct ordering *ordering)
{
    const uint32_t visit = ordering->stack[ordering->depth - 1].visit;
    const uint32_t number =
        ordering->first_events[visit] + ordering->stack[ordering->depth - 1].event++;
    const uint32_t call = noted_at(ordering->learn, number)->call;
    const uint32_t made = add_event(ordering, visit, number);
    const uint32_t caller = ordering->making->visits[visit].call;

    if (call == LEARN_NONE) {
        ordering->depth--;
        if (caller != CPTI_NO_VISIT) {
            end_call(ordering, caller, made);
        }
        return;
    }
    ordering->starts[call] = made;
    if (ordering->making->calls[call].callee != CPTI_NO_VISIT) {
        begin_visit(ordering, ordering->making->calls[call].callee, call);
    } else {
        end_call(ordering, call, LEARN_NONE);
    }
}

static void forget(struct ordering *ordering)
{
    const struct cpt_alloc *alloc = ordering->learn->alloc;

    cpt_alloc_free(alloc, ordering->begins);
    cpt_alloc_free(alloc, ordering->starts);
    cpt_alloc_free(alloc, ordering->ends);
    cpt_alloc_free(alloc, ordering->first_events);
    cpt_alloc_free(alloc, ordering->stack);
}

static uint32_t *numbers(const struct cpt_alloc *alloc, size_t count)
{
    uint32_t *made = cpt_alloc_array(alloc, NULL, count + 1, sizeof *made);

    if (made != NULL) {
        memset(made, 0xff, (count + 1) * sizeof *made); /* LEARN_NONE */
    }
    return made;
}

static bool make_room(struct ordering *ordering)
{
    struct learn_doubt *doubt = &ordering->learn->doubt;
    const struct cpt_alloc *alloc = ordering->learn->alloc;
    const struct cpti_making *making = ordering->making;

    /* an event is a moment, and so are both sides of the beginning of a visit, and the
     * end of a call; all but events have one holder */
    const size_t others = 2 * making->visit_count + making->call_count;

    ordering->begins = numbers(alloc, making->visit_count);
    ordering->first_events = numbers(alloc, making->visit_count);
    ordering->starts = numbers(alloc, making->call_count);
    ordering->ends = numbers(alloc, making->call_count);
    ordering->stack =
        cpt_alloc_array(alloc, NULL, making->visit_count + 1, sizeof *ordering->stack);
    return ordering->begins != NULL && ordering->first_events != NULL &&
           ordering->starts != NULL && ordering->ends != NULL &&
           ordering->stack != NULL &&
           cpt_alloc_grow(alloc, (void **)&doubt->moments, &doubt->moment_capacity,
                          doubt->events.count + others, SIZE_MAX,
                          sizeof *doubt->moments) == CPT_OK &&
           cpt_alloc_grow(alloc, (void **)&doubt->made, &doubt->made_capacity,
                          doubt->holders.count + others, SIZE_MAX,
                          sizeof *doubt->made) == CPT_OK;
}

/* Where the events of each visit begin; false: some are not there. */
static bool find_events(struct ordering *ordering)
{
    const struct cpti_making *making = ordering->making;
    size_t count = 0;

    for (size_t i = 0; i < making->visit_count; i++) {
        ordering->first_events[i] = (uint32_t)count;
        count += making->visits[i].call_end -
                 (i != 0 ? making->visits[i - 1].call_end : 0) + 1;
    }
    return count == ordering->learn->doubt.events.count;
}

bool cpti_learn_doubt(struct cpti_learn *learn, const struct cpti_making *making,
                      struct cpt_doubt *doubt)
{
    struct ordering ordering = {.learn = learn,
                                .making = making,
                                .task_count = (uint32_t)making->build.tasks.count};
    const bool is_made =
        !learn->doubt.is_lost && make_room(&ordering) && find_events(&ordering);

    if (is_made) {
        ordering.moments = learn->doubt.moments;
        ordering.holders = learn->doubt.made;
        begin_visit(&ordering, 0, LEARN_NONE);
        while (ordering.depth != 0) {
            go_on(&ordering);
        }
        *doubt = (struct cpt_doubt){ordering.moments, ordering.moment_count,
                                    ordering.holders, ordering.holder_count};
    }
    forget(&ordering);
    return is_made;
}

void cpti_learn_doubt_free(struct cpti_learn *learn)
{
    cpt_alloc_free(learn->alloc, learn->doubt.events.items);
    cpt_alloc_free(learn->alloc, learn->doubt.holders.items);
    cpt_alloc_free(learn->alloc, learn->doubt.moments);
    cpt_alloc_free(learn->alloc, learn->doubt.made);
}
