/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* subgraph.h - requests within requests, and what stands for a run of a plan; see
 * subgraph.c and shared.c. */
#ifndef CPT_SUBGRAPH_H
#define CPT_SUBGRAPH_H

#include "framework/cpt_graph.h"
#include "framework/cpt_runtime.h"

struct cpt_error;
struct cpt_path;
struct cpt_trace_call;
struct cpti_family;
struct cpti_flight;
struct cpti_run;

/* Something that is let go when a request goes, in memory of its own or of the request.
 */
struct cpti_kept {
    struct cpti_kept *next;
    void (*release)(struct cpti_kept *kept);
};

/* What a request knows of those around it. */
struct cpti_nest {
    struct cpt_request *parent; /* of which it is a component, or NULL */
    struct cpti_flight *flight; /* the flight that it is the run of, or NULL */
    uint32_t level;             /* how many runs it lies in; 0: in none */
    /* If set: nothing of it runs any more, but whoever made it keeps it. Called in
     * place of freeing; cpti_request_free() is then theirs to call. */
    void (*retire)(struct cpt_request *request);
    struct cpti_kept *kept;         /* guarded by the request's lock */
    struct cpti_family *family;     /* whose memory counts together; lock, or NULL */
    struct cpt_request *next_freed; /* of the thread that frees */
};

/* Keeps @kept until @request goes. Lock not held. */
void cpti_request_keep(struct cpt_request *request, struct cpti_kept *kept);

/* Frees @request and what it keeps, however deep that goes. */
void cpti_request_free(struct cpt_request *request);

/* Frees what the request has for those in it; the last thing but its own memory. */
void cpti_nest_deinit(struct cpt_request *request);

/* The first step of a task whose body is a component. */
cpt_status cpti_component_run(struct cpt_task *task);

/* How a run that is on the path of who waited for it is shown; as open_callee. */
cpt_status cpti_run_open(struct cpt_trace_call *call, struct cpt_path *callee);

#endif
