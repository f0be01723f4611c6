/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* kept.h - requests whose whole graph is kept; see kept.c. */
#ifndef CPT_KEPT_H
#define CPT_KEPT_H

#include "framework/run/request.h"
#include "framework/service/log/log_queue.h"

struct cpti_serving;

/* What is kept for the graph of a request that is served. In its notes. */
struct cpti_kept_item {
    struct cpti_log_item item; /* first; its record is what the graph log says of it */
    struct cpti_kept kept;     /* that its calls take their ids from */
    struct cpti_serving *serving;
    uint64_t id;
    /* From its answer. */
    uint64_t arrival_ns;
    uint64_t dispatch_ns;
    uint64_t response_ns; /* 0: there was no answer */
    uint32_t answered_by;
};

/* Begins to keep the graph of the traced request of @serving, or the edges that its
 * drags need, if that was decided. Before it is launched. */
void cpti_kept_begin(struct cpti_serving *serving);

/* Whether the graph of the request of @serving is kept. */
bool cpti_kept_is(const struct cpti_serving *serving);

/* Keeps what the graph log says of the answer; the record of @serving is filled in. */
void cpti_kept_answered(struct cpti_serving *serving);

/* Nothing of the request runs any more: hands it over to be written, and then to its
 * spans; or frees it. */
void cpti_kept_retire(struct cpti_serving *serving);

#endif
