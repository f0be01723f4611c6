/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_plan.c - from terms to what a replay reads: the terms of each frame, the
 * frames of each term that changes edges, and replayed queues
 */
#include "cpt/whatif/whatif.h"

#include <string.h>

enum { OPS_MAX = 1 << 24, MARKS_MAX = 1 << 26 };

static bool is_time(const struct cpt_whatif_term *term)
{
    return term->verb == CPT_WHATIF_SET || term->verb == CPT_WHATIF_CAP;
}

/* The terms of each frame, in their order. */
static cpt_status list_ops(struct cpt_whatif_plan *plan, bool *is_matched)
{
    const struct cpt_whatif *whatif = plan->whatif;
    size_t capacity = 0;

    for (size_t frame = 0; frame < whatif->frame_count; frame++) {
        const struct cpt_dag_name name = whatif_name(whatif, frame);

        plan->first_op[frame] = (uint32_t)plan->op_count;
        for (size_t i = 0; i < plan->term_count; i++) {
            cpt_status status = CPT_OK;

            if (whatif->frames[frame].node_count == 0 || !is_time(&plan->terms[i]) ||
                !cpt_whatif_has(&plan->terms[i].frames, &name)) {
                continue;
            }
            status = cpt_alloc_grow(whatif->alloc, (void **)&plan->ops, &capacity,
                                    plan->op_count + 1, OPS_MAX, sizeof *plan->ops);
            if (status != CPT_OK) {
                return status;
            }
            plan->ops[plan->op_count++] = (uint32_t)i;
            is_matched[i] = true;
        }
    }
    plan->first_op[whatif->frame_count] = (uint32_t)plan->op_count;
    return CPT_OK;
}

static void mark(const struct cpt_whatif *whatif,
                 const struct cpt_whatif_frames *frames, unsigned char *marks)
{
    for (size_t i = 0; i < whatif->frame_count; i++) {
        struct cpt_dag_name name = whatif_name(whatif, i);

        name.kind = CPT_DAG_STEP; /* lines have names, whatever their first node is */
        marks[i] = cpt_whatif_has(frames, &name) != 0;
    }
}

/* The terms that change edges, and what they match. */
static cpt_status list_edge_terms(struct cpt_whatif_plan *plan)
{
    const size_t frames = plan->whatif->frame_count;
    size_t count = 0;

    for (size_t i = 0; i < plan->term_count; i++) {
        const unsigned verb = plan->terms[i].verb;

        count += verb == CPT_WHATIF_CUT || verb == CPT_WHATIF_ADD ||
                 verb == CPT_WHATIF_PARALLEL;
    }
    if (count == 0) {
        return CPT_OK;
    }
    if (count * 2 * frames > MARKS_MAX) {
        return CPT_LIMIT;
    }
    plan->marks = cpt_alloc_zeroed(plan->whatif->alloc, count * 2 * frames);
    if (plan->marks == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < plan->term_count; i++) {
        const struct cpt_whatif_term *term = &plan->terms[i];
        unsigned char *marks = &plan->marks[plan->edge_term_count * 2 * frames];

        if (is_time(term) || term->verb == CPT_WHATIF_WORKERS) {
            continue;
        }
        mark(plan->whatif, &term->frames, marks);
        mark(plan->whatif, &term->other, marks + frames);
        plan->edge_terms[plan->edge_term_count++] =
            (struct whatif_edge_term){term, marks, marks + frames};
    }
    return cpti_whatif_edges_new(plan);
}

/* Whether a task ran on an executor of a term of workers. */
static bool has_executors(const struct cpt_whatif *whatif,
                          const struct cpt_whatif_term *term)
{
    for (size_t i = 0; i < cpt_whatif_executor_count(whatif); i++) {
        if (cpti_whatif_has_executor(whatif, term, i)) {
            return true;
        }
    }
    return false;
}

/* Each term does something. Otherwise *@unmatched is one that does nothing. */
static cpt_status check_terms(struct cpt_whatif_plan *plan, const bool *is_matched,
                              size_t *unmatched)
{
    size_t edge_term = 0;

    for (size_t i = 0; i < plan->term_count; i++) {
        const struct cpt_whatif_term *term = &plan->terms[i];
        bool has_match = is_matched[i];
        cpt_status status = CPT_OK;

        *unmatched = i;
        if (term->verb == CPT_WHATIF_WORKERS) {
            has_match = has_executors(plan->whatif, term);
        } else if (!is_time(term)) {
            status = cpti_whatif_edges_match(plan, edge_term++, &has_match);
        }
        if (status != CPT_OK) {
            return status;
        }
        if (!has_match) {
            return CPT_END;
        }
    }
    return CPT_OK;
}

static cpt_status fill_plan(struct cpt_whatif_plan *plan,
                            const struct cpt_whatif_term *terms, bool replays_queues,
                            size_t *unmatched)
{
    const struct cpt_whatif *whatif = plan->whatif;
    bool is_matched[CPT_WHATIF_TERMS_MAX] = {false};
    cpt_status status = CPT_OK;

    plan->terms =
        cpt_alloc_array(whatif->alloc, NULL, plan->term_count + 1, sizeof *plan->terms);
    plan->first_op = cpt_alloc_array(whatif->alloc, NULL, whatif->frame_count + 1,
                                     sizeof *plan->first_op);
    plan->duration_ns = cpt_alloc_array(
        whatif->alloc, NULL, (size_t)whatif->node_max + 1, sizeof *plan->duration_ns);
    plan->finish_ns = cpt_alloc_array(whatif->alloc, NULL, (size_t)whatif->node_max + 1,
                                      sizeof *plan->finish_ns);
    plan->chain = cpt_alloc_array(whatif->alloc, NULL, (size_t)whatif->node_max + 1,
                                  sizeof *plan->chain);
    plan->drawn = cpt_alloc_array(whatif->alloc, NULL, (size_t)whatif->line_max + 1,
                                  sizeof *plan->drawn);
    if (whatif->moment_count != 0) {
        plan->shares = cpt_alloc_array(
            whatif->alloc, NULL, (size_t)whatif->line_max + 1, sizeof *plan->shares);
        plan->moments = cpt_alloc_array(
            whatif->alloc, NULL, (size_t)whatif->moment_max + 1, sizeof *plan->moments);
        if (plan->shares == NULL || plan->moments == NULL) {
            return CPT_NO_MEMORY;
        }
    }
    if (plan->terms == NULL || plan->first_op == NULL || plan->duration_ns == NULL ||
        plan->finish_ns == NULL || plan->chain == NULL || plan->drawn == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < plan->term_count; i++) {
        plan->terms[i] = terms[i];
        replays_queues = replays_queues || terms[i].verb == CPT_WHATIF_WORKERS;
    }
    status = list_ops(plan, is_matched);
    plan->has_times = plan->op_count != 0;
    if (status == CPT_OK) {
        status = list_edge_terms(plan);
    }
    if (status == CPT_OK) {
        status = check_terms(plan, is_matched, unmatched);
    }
    if (status == CPT_OK && replays_queues) {
        status = cpti_whatif_queues_new(plan);
    }
    return status;
}

cpt_status cpt_whatif_plan_new(const struct cpt_whatif *whatif,
                               const struct cpt_whatif_term *terms, size_t term_count,
                               const struct cpt_whatif_options *options,
                               struct cpt_whatif_plan **plan, size_t *unmatched,
                               struct cpt_error *error)
{
    struct cpt_whatif_options own;
    struct cpt_whatif_plan *made = NULL;
    size_t none = 0;
    cpt_status status = cpt_options_read(&own, sizeof own, options, error);

    unmatched = unmatched != NULL ? unmatched : &none;
    *unmatched = term_count;
    if (status != CPT_OK) {
        return status;
    }
    if (term_count > CPT_WHATIF_TERMS_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0, "there are more than %d terms",
                             CPT_WHATIF_TERMS_MAX);
    }
    made = cpt_alloc_zeroed(whatif->alloc, sizeof *made);
    if (made == NULL) {
        return CPT_NO_MEMORY;
    }
    made->whatif = whatif;
    made->term_count = term_count;
    made->last.request = SIZE_MAX;
    status = fill_plan(made, terms, own.replays_queues != 0, unmatched);
    if (status != CPT_OK) {
        cpt_whatif_plan_free(made);
        return cpt_error_set(error, status, 0, "%s",
                             status == CPT_END ? "the term matches nothing"
                                               : cpt_status_sentence(status));
    }
    *plan = made;
    return CPT_OK;
}

void cpt_whatif_plan_free(struct cpt_whatif_plan *plan)
{
    const struct cpt_alloc *alloc = plan != NULL ? plan->whatif->alloc : NULL;

    if (plan == NULL) {
        return;
    }
    cpti_whatif_edges_free(plan);
    cpti_whatif_queues_free(plan);
    cpt_alloc_free(alloc, plan->terms);
    cpt_alloc_free(alloc, plan->first_op);
    cpt_alloc_free(alloc, plan->ops);
    cpt_alloc_free(alloc, plan->marks);
    cpt_alloc_free(alloc, plan->duration_ns);
    cpt_alloc_free(alloc, plan->finish_ns);
    cpt_alloc_free(alloc, plan->chain);
    cpt_alloc_free(alloc, plan->drawn);
    cpt_alloc_free(alloc, plan->shares);
    cpt_alloc_free(alloc, plan->moments);
    cpt_alloc_free(alloc, plan);
}

struct cpt_whatif_counts cpt_whatif_counts(const struct cpt_whatif_plan *plan)
{
    return plan->counts;
}
