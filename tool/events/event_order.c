/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_order.c - how points are ordered; see event_order.h */
#include "tool/events/event_order.h"

#include "tool/base/options.h"
#include "tool/base/output.h"
#include "import/events/requests.h"

#include <string.h>

/* An order that few requests have, and none refutes, is believed: else rare lines would
 * cause nothing. */
static const struct cpti_model_rule rule = {CPTI_MODEL_VIOLATIONS, 1};

/* The model of @learner; if requests enter by several kinds, by these alone. */
static cpt_status finish(struct cpti_model_learner *learner, struct cpti_model **model)
{
    const struct cpti_model_learner_options options = {.is_coarse = true};
    struct cpti_model_learner *coarse = NULL;
    struct cpti_model *fine = NULL;
    cpt_status status = cpti_model_learner_finish(learner, &fine);

    if (status != CPT_OK || cpti_model_has_one_entry(fine)) {
        *model = fine;
        return status;
    }
    coarse = cpti_model_learner_new(NULL, &options);
    status = coarse != NULL ? cpti_model_learner_absorb(coarse, fine) : CPT_NO_MEMORY;
    if (status == CPT_OK) {
        status = cpti_model_learner_finish(coarse, model);
    }
    cpti_model_learner_free(coarse);
    cpti_model_free(fine);
    return status;
}

static cpt_status learn(struct cpti_event_order *order, struct cpti_requests *requests)
{
    struct cpti_model_learner *learner = cpti_model_learner_new(NULL, NULL);
    cpt_status status =
        learner != NULL ? cpti_requests_rewind(requests) : CPT_NO_MEMORY;

    if (learner != NULL) {
        cpti_model_learner_from(learner, requests);
    }
    while (status == CPT_OK) {
        struct cpti_request request;

        status = cpti_requests_next(requests, &request);
        if (status == CPT_OK) {
            status = cpti_model_learner_add(learner, &request);
        }
    }
    if (status == CPT_END) {
        status = finish(learner, &order->model);
    }
    cpti_model_learner_free(learner);
    if (status != CPT_OK) {
        return status;
    }
    order->order = cpti_model_order_new(NULL, order->model, requests, &rule);
    return order->order != NULL ? CPT_OK : CPT_NO_MEMORY;
}

int cpti_event_order_learn(struct cpti_event_order *order,
                           const struct cpti_arguments *arguments,
                           struct cpti_requests *requests)
{
    const char *method = cpti_value(arguments, "method");

    *order = (struct cpti_event_order){0};
    if (method == NULL || strcmp(method, "time") == 0) {
        return CPTI_EXIT_DONE;
    }
    if (strcmp(method, "hb") != 0) {
        return cpti_usage("option '--method' takes time or hb, not '%s'",
                          cpti_quoted(method));
    }
    return cpti_status_exit(learn(order, requests));
}

void cpti_event_order_end(struct cpti_event_order *order)
{
    cpti_model_order_free(order->order);
    cpti_model_free(order->model);
    *order = (struct cpti_event_order){0};
}
