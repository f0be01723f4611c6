/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_order.h - the option --method of `cpt import --events`: how points are ordered
 *
 *      time   each line is caused by the latest earlier one (order_spans.h)
 *      hb     … of those that always come before it (model_path.h)
 */
#ifndef CPTI_CLI_EVENT_ORDER_H
#define CPTI_CLI_EVENT_ORDER_H

#include "import/model/model_path.h"

struct cpti_arguments;

#define CPTI_METHOD_OPTION                                                             \
    {                                                                                  \
        "method", 0, "METHOD",                                                         \
            "with --events, what causes a line that has one time: time, the latest "   \
            "line before it (the default); hb, the latest of those that always come "  \
            "before it, as all requests tell",                                         \
            "time hb"                                                                  \
    }

/* Zero is the order of time. */
struct cpti_event_order {
    struct cpti_model *model;
    struct cpti_model_order *order; /* NULL: that of time */
};

/* Learns from all of @requests if --method says so. enum cpti_exit. End it in any
 * case. */
int cpti_event_order_learn(struct cpti_event_order *order,
                           const struct cpti_arguments *arguments,
                           struct cpti_requests *requests);
void cpti_event_order_end(struct cpti_event_order *order);

#endif
