/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn.c - the passes over all traces
 */
#include "import/learn/learn_inside.h"

static const uint64_t stamp_min_ns = 1000;

struct cpti_learn *cpti_learn_new(const struct cpt_alloc *alloc)
{
    struct cpti_learn *learn = cpt_alloc_zeroed(alloc, sizeof *learn);

    if (learn != NULL) {
        learn->alloc = alloc;
        learn->classes.entry_bytes = sizeof(struct learn_class);
        learn->hash_max = UINT64_MAX;
        cpti_learn_few_reset(&learn->few);
        cpti_learn_few_reset(&learn->few_of_trace);
    }
    return learn;
}

void cpti_learn_without_doubt(struct cpti_learn *learn)
{
    learn->doubt.is_unwanted = true;
}

void cpti_learn_free(struct cpti_learn *learn)
{
    if (learn == NULL) {
        return;
    }
    for (size_t i = 0; i < learn->classes.count; i++) {
        cpti_learn_leave_out(learn, learn_at(&learn->classes, i));
    }
    cpti_learn_few_deinit(learn, &learn->few);
    cpti_learn_few_deinit(learn, &learn->few_of_trace);
    cpt_alloc_free(learn->alloc, learn->classes.index.slots);
    cpt_alloc_free(learn->alloc, learn->classes.entries);
    cpt_alloc_free(learn->alloc, learn->node.calls);
    cpt_alloc_free(learn->alloc, learn->node.ends);
    cpt_alloc_free(learn->alloc, learn->node.ranked);
    cpt_alloc_free(learn->alloc, learn->node.events);
    cpt_alloc_free(learn->alloc, learn->node.held);
    cpti_learn_doubt_free(learn);
    cpt_alloc_free(learn->alloc, learn);
}

/* --- Stamps --- */

static uint64_t divisor_of(uint64_t one, uint64_t other)
{
    while (other != 0) {
        const uint64_t rest = one % other;

        one = other;
        other = rest;
    }
    return one;
}

void cpti_learn_stamps(struct cpti_learn *learn, const struct cpti_spans *spans)
{
    for (size_t i = 0; i < cpti_spans_count(spans); i++) {
        const struct cpti_span *span = cpti_spans_at(spans, i);

        if (span->has_time && learn->stamp_ns != 1) {
            learn->stamp_ns = divisor_of(divisor_of(span->start_ns, span->duration_ns),
                                         learn->stamp_ns);
        }
    }
}

uint64_t cpti_learn_resolution_ns(const struct cpti_learn *learn)
{
    return learn->stamp_ns > stamp_min_ns ? learn->stamp_ns : stamp_min_ns;
}

/* --- Passes --- */

static cpt_status count_events(struct cpti_learn *learn,
                               const struct cpti_making *making, uint32_t number,
                               const uint32_t *starts, size_t count, bool is_learnt)
{
    *(is_learnt ? &learn->counts.learnt : &learn->counts.few) += count + 1;
    for (size_t i = 0; i < count; i++) {
        learn->counts.server += cpti_visit_is_bare(making, starts[i]);
    }
    return is_learnt
               ? CPT_OK
               : cpti_learn_few_add(learn, &learn->few_of_trace,
                                    making->visits[number].trace.entry, count + 1);
}

/* Whether the visits of @class are learnt in this pass. */
static bool is_learnt(const struct cpti_learn *learn, const struct learn_class *class)
{
    return class != NULL && !class->is_left_out &&
           (learn->pass == LEARN_COUNT || class->node_count >= CPTI_LEARN_NODES_MIN);
}

/* Makes the visit the node of @learn. Its class is NULL: it is not learnt. */
static cpt_status find_node(struct cpti_learn *learn, struct cpti_making *making,
                            uint32_t number, uint32_t *starts, size_t count)
{
    struct learn_class *class = NULL;
    cpt_status status = cpti_learn_class(learn, making->visits[number].trace.entry,
                                         learn->pass == LEARN_COUNT, &class);

    learn->node.class = NULL;
    if (status == CPT_OK && is_learnt(learn, class)) {
        status = cpti_learn_node(learn, making, number, starts, count, class);
    }
    if (status == CPT_OK && learn->node.class != NULL && learn->pass != LEARN_COUNT) {
        status = cpti_learn_events(learn);
    }
    return status;
}

/* A rule of struct cpti_visit_rule. */
static bool fill(void *context, struct cpti_making *making, uint32_t number,
                 uint32_t *starts, uint32_t *ends, size_t count)
{
    struct cpti_learn *learn = context;
    cpt_status status = CPT_OK;
    bool is_known = false;

    cpti_visit_times(making, &making->visits[number], starts, ends, count, INT64_MAX);
    status = find_node(learn, making, number, starts, count);
    is_known = status == CPT_OK && learn->node.class != NULL;
    learn->making = making;
    if (learn->pass == LEARN_FILL && status == CPT_OK) {
        status = count_events(learn, making, number, starts, count, is_known);
        if (is_known) {
            cpti_learn_fill(learn, making, number);
            cpti_learn_doubt_node(learn);
        }
    } else if (is_known) {
        status = learn->pass == LEARN_COUNT
                     ? cpti_learn_count_node(learn)
                     : cpti_learn_add_rows(learn, making, number);
    }
    if (status != CPT_OK) {
        making->build.status = status;
    }
    return is_known || learn->pass != LEARN_FILL;
}

static void walked(void *context, const struct cpti_making *making, uint32_t number,
                   const uint32_t *starts, const uint32_t *ends, size_t count)
{
    struct cpti_learn *learn = context;

    if (learn->pass == LEARN_FILL) {
        cpti_learn_doubt_walk(learn, making, number, starts, ends, count);
    }
}

static cpt_status go_through(struct cpti_learn *learn, struct cpti_spans *spans,
                             struct cpt_bytes trace, cpt_dag_visit_fn visit,
                             void *context, struct cpti_spans_cut *cut)
{
    const struct cpti_visit_rule rule = {fill, walked, learn};

    learn->trace_hash = cpti_id_hash(0, trace);
    (void)cpti_spans_move_callees(spans);
    return cpti_spans_dag_by(spans, &rule, visit, context, cut);
}

cpt_status cpti_learn_spans(struct cpti_learn *learn, struct cpti_spans *spans,
                            struct cpt_bytes trace)
{
    struct cpti_spans_cut cut;

    return go_through(learn, spans, trace, NULL, NULL, &cut);
}

cpt_status cpti_learn_next(struct cpti_learn *learn, bool *is_learnt)
{
    cpt_status status = CPT_OK;

    *is_learnt = false;
    if (learn->pass == LEARN_COUNT) {
        cpti_learn_find_limits(learn);
        learn->pass = LEARN_ROWS;
        return CPT_OK;
    }
    status = cpti_learn_fit_all(learn, is_learnt);
    if (*is_learnt) {
        learn->pass = LEARN_FILL;
    }
    return status;
}

/* Who takes a dag. */
struct taking {
    struct cpti_learn *learn;
    cpt_dag_visit_fn visit;
    void *context;
};

static cpt_status take(void *context, const struct cpt_dag *dag,
                       const struct cpt_dag_recorded *recorded, uint64_t latency_ns)
{
    const struct taking *taking = context;
    struct cpt_dag_recorded with_doubt = *recorded;
    struct cpt_doubt doubt;

    if (cpti_learn_doubt(taking->learn, taking->learn->making, &doubt)) {
        with_doubt.doubt = &doubt;
    }
    return taking->visit(taking->context, dag, &with_doubt, latency_ns);
}

cpt_status cpti_learn_dag(struct cpti_learn *learn, struct cpti_spans *spans,
                          struct cpt_bytes trace, cpt_dag_visit_fn visit, void *context,
                          struct cpti_spans_cut *cut, struct cpti_learn_counts *counts)
{
    struct taking taking = {learn, visit, context};
    cpt_status status = CPT_OK;

    learn->counts = (struct cpti_learn_counts){0, 0, 0};
    cpti_learn_few_reset(&learn->few_of_trace);
    cpti_learn_doubt_begin(learn);
    status = go_through(learn, spans, trace, take, &taking, cut);
    counts->learnt += learn->counts.learnt;
    counts->few += learn->counts.few;
    counts->server += learn->counts.server;
    return status;
}
