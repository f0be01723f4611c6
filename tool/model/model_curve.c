/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_curve.c - relations after n requests; see model_curve.h */
#include "tool/model/model_curve.h"

#include "tool/base/options.h"
#include "tool/base/output.h"
#include "tool/table/sheet.h"
#include "tool/events/event_input.h"

enum { POINTS_MAX = 40 };

/* After `requests`. */
struct point {
    uint64_t requests;
    uint64_t pairs; /* that are not rare */
    uint64_t fixed;
    uint64_t exclusive;
    uint64_t either;
    uint64_t lost; /* that are in no fixed order any more, since the point before */
    bool has_lost;
};

#define POINT(field) CPTI_OF(struct point, field)

static struct cpti_cell get_lost(const struct cpti_asked *asked)
{
    const struct point *point = asked->row;

    return point->has_lost ? cpti_cell_count(point->lost) : cpti_cell_unknown();
}

static const struct cpti_column columns[] = {
    {"requests", "requests", CPTI_COUNT, POINT(requests), "that were learnt from"},
    {"pairs", "pairs", CPTI_COUNT, POINT(pairs), "that enough requests have"},
    {"fixed", "fixed", CPTI_COUNT, POINT(fixed), "that come in one order"},
    {"exclusive", "exclusive", CPTI_COUNT, POINT(exclusive),
     "in either order that never overlap"},
    {"either", "either", CPTI_COUNT, POINT(either), "that were seen in both orders"},
    {"found", "new either", CPTI_COUNT, get_lost, 0,
     "how many more these are than a row above"},
    {0},
};

const struct cpti_relation cpti_model_points = {
    "points", columns, "requests,pairs,fixed,exclusive,either,found",
    NULL,     true,    "curve"};

static cpt_status add_point(struct cpti_model_learner *learner,
                            const struct cpti_model_rule *rule, struct point *points,
                            size_t *count)
{
    struct cpti_model *model = NULL;
    struct point point = {0};
    const cpt_status status = cpti_model_learner_finish(learner, &model);

    if (status != CPT_OK) {
        return status;
    }
    point.requests = model->requests;
    for (size_t i = 0; i < model->class_count; i++) {
        uint64_t tally[CPTI_MODEL_RELATIONS];

        cpti_model_tally(model, &model->classes[i], rule, tally);
        point.fixed += tally[CPTI_MODEL_BEFORE] + tally[CPTI_MODEL_AFTER];
        point.exclusive += tally[CPTI_MODEL_EXCLUSIVE];
        point.either += tally[CPTI_MODEL_EITHER];
        point.pairs += tally[CPTI_MODEL_TOGETHER] + tally[CPTI_MODEL_CONTAINS] +
                       tally[CPTI_MODEL_WITHIN];
    }
    point.pairs += point.fixed + point.exclusive + point.either;
    if (*count > 0 && points[*count - 1].either <= point.either) {
        point.has_lost = true;
        point.lost = point.either - points[*count - 1].either;
    }
    points[(*count)++] = point;
    cpti_model_free(model);
    return CPT_OK;
}

/* Adds all requests; a point after 10, 20, 40 … of them, and at the end. */
static cpt_status learn(struct cpti_requests *requests,
                        struct cpti_model_learner *learner,
                        const struct cpti_model_rule *rule, struct point *points,
                        size_t *count)
{
    cpt_status status = cpti_requests_rewind(requests);
    uint64_t added = 0;
    uint64_t next = 10;

    cpti_model_learner_from(learner, requests);
    while (status == CPT_OK) {
        struct cpti_request request;

        status = cpti_requests_next(requests, &request);
        if (status == CPT_OK) {
            status = cpti_model_learner_add(learner, &request);
        }
        if (status == CPT_OK && ++added == next && *count + 1 < POINTS_MAX) {
            status = add_point(learner, rule, points, count);
            next *= 2;
        }
    }
    if (status != CPT_END) {
        return status;
    }
    return *count == 0 || points[*count - 1].requests != added
               ? add_point(learner, rule, points, count)
               : CPT_OK;
}

/* Prints the curve of @requests. */
static int print_curve(struct cpti_requests *requests,
                       const struct cpti_model_rule *rule, const struct cpti_view *view)
{
    struct cpti_model_learner *learner = cpti_model_learner_new(NULL, NULL);
    struct point points[POINTS_MAX];
    size_t count = 0;
    const cpt_status status = learner != NULL
                                  ? learn(requests, learner, rule, points, &count)
                                  : CPT_NO_MEMORY;
    const struct cpti_sheet sheet = {.view = view,
                                     .rows = CPTI_ROWS(points, count, NULL)};

    cpti_model_learner_free(learner);
    if (status != CPT_OK) {
        return cpti_status_exit(status);
    }
    cpti_relation_sort(view, points, count, sizeof *points, NULL);
    return cpti_sheet_print(&sheet);
}

int cpti_model_curve(const struct cpti_arguments *arguments,
                     const struct cpti_model_rule *rule, const struct cpti_view *view)
{
    struct cpti_event_input input;
    int status = cpti_event_input_read(&input, arguments);

    if (cpti_event_input_is_usable(&input, status)) {
        status = cpti_exit_last(status, print_curve(input.requests, rule, view));
    }
    cpti_event_input_end(&input);
    return status;
}
