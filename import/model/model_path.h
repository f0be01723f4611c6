/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_path.h - the path of a request by learnt order: what always comes before what
 *
 *      by time     a1 --> b1 --> c1 --> a2       c1 is the latest line before a2
 *      by a model  a1 --> b1 ---------> a2       but comes behind it now and then
 *
 * The events of a request are a graph: one leads to another that its model says it
 * always comes before, and to the next one of its own unit. The path is that of the
 * last finisher: from the last event of the entry's service backwards, to the latest
 * event that leads to the one at hand. An edge to the latest one is no detour of
 * others, so this is the same with and without the edges that a transitive reduction
 * removes.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_MODEL_PATH_H
#define CPTI_MODEL_PATH_H

#include "import/model/model_relations.h"

struct cpti_model_order;

/* Orders of @model, for requests of @requests, whose names are final. Both outlive it.
 * NULL without memory. The caller owns it. */
struct cpti_model_order *cpti_model_order_new(const struct cpt_alloc *alloc,
                                              const struct cpti_model *model,
                                              const struct cpti_requests *requests,
                                              const struct cpti_model_rule *rule);
void cpti_model_order_free(struct cpti_model_order *order);

/*
 * Keeps of @request, which has points alone, the lines on its path; the first line
 * stays. Of a class that the model does not have, the order of time is all that is
 * known, and all lines stay. What is behind the last line of the entry's service goes.
 *
 * CPT_OK; CPT_NO_MEMORY, with @request as it was.
 */
cpt_status cpti_model_order_keep(struct cpti_model_order *order,
                                 struct cpti_request *request);

#endif
