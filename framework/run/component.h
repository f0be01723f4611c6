/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* component.h - requests within requests; see component.c */
#ifndef CPT_COMPONENT_H
#define CPT_COMPONENT_H

#include "framework/cpt_graph.h"

#include "framework/run/cancel.h"

#include <stdbool.h>
#include <stdint.h>

struct cpt_pending;
struct cpt_request;
struct cpti_flight;
struct cpti_quota;
struct cpti_run;

/* What a request knows of the requests around it. */
struct cpti_nest {
    struct cpt_request *parent; /* whose component it is, or NULL */
    struct cpti_flight *flight; /* the shared work whose run it is, or NULL */
    uint32_t level;             /* how many runs it lies in; 0: in none */
    bool has_moved_output; /* its output is that of its task now, and cleaned there */
    /* If set, called in place of freeing the request once nothing of it runs any more;
     * what made the request then frees it, by cpti_request_free(). */
    void (*retire)(struct cpt_request *request);
    struct cpti_quota *quota;       /* memory shared with components; lock, or NULL */
    struct cpt_request *next_freed; /* of the thread that frees it */
    struct cpt_request *next_over;  /* of the thread that ended the outermost request */
};

/* The run that @pending, which has not ended, stands for; NULL if it is no component's,
 * or that does not run yet. Good while the lock of the waiter, which is held, is. */
struct cpt_request *cpti_component_of(const struct cpt_pending *pending);

/* The request of @run, a component; NULL: it could not be made, or @run is shared work.
 * Good as long as that of the waiter. */
struct cpt_request *cpti_component_request(const struct cpti_run *run);

/* Adds the components that task @number of @request has spawned to @told, to end what
 * they are and what they have left, each once; CPTI_NO_TASK: those of all its tasks.
 * Lock of @request held. */
void cpti_components_tell(struct cpt_request *request, uint32_t number,
                          struct cpti_cancellables *told);

/* Puts the components of @request before @rest, linked by nest.next_over. Lock of
 * @request held. */
struct cpt_request *cpti_components_chain(struct cpt_request *request,
                                          struct cpt_request *rest);

/* The first step of a task whose body is a component. */
cpt_status cpti_component_run(struct cpt_task *task);

/* @executor, or if that belongs to a component that was handed over, the one behind it,
 * which outlives the request. */
struct cpt_executor *cpti_executor_behind(struct cpt_executor *executor);

/* Where the component of @pending, a run, runs; NULL: it is shared work. */
struct cpt_executor *cpti_component_executor(const struct cpt_pending *pending);

#endif
