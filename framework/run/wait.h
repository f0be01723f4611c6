/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* wait.h - a step that blocks its thread, as other files see it; see wait.c */
#ifndef CPT_WAIT_H
#define CPT_WAIT_H

#include "framework/run/cancel.h"

#include <pthread.h>

struct cpt_task;

/* The wait of a step in cpt_wait(). In the arena of its request, whose lock guards
 * it. */
struct cpti_wait {
    struct cpti_cancellable cancellable; /* listed while it lasts: told if the request
                                            fails */
    struct cpt_request *request;
    pthread_cond_t is_over;
    bool is_buried;  /* its thread runs something else meanwhile */
    bool is_counted; /* in cpt_request.wait_count */
    struct cpti_wait *next_spare;
    struct cpti_wait *next_made;
};

/* What the blocked step of @task waits for has ended. Lock held. */
void cpti_wait_end(struct cpt_task *task);

/* The request is about to be freed, and its arena with it: destroys its waits. */
void cpti_wait_deinit(struct cpt_request *request);

#endif
