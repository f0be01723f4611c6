/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* wait.h - a step that blocks its thread, as others see it; see wait.c */
#ifndef CPT_WAIT_H
#define CPT_WAIT_H

#include "framework/run/cancel.h"

#include <pthread.h>

struct cpt_request;
struct cpt_task;

/* The wait of a step in cpt_wait(). In the arena of its request, whose lock guards it.
 */
struct cpti_blocked {
    struct cpti_outside outside; /* listed while it lasts: told if the request fails */
    struct cpt_request *request;
    pthread_cond_t over;
    bool is_buried;  /* its thread runs something else meanwhile */
    bool is_counted; /* in cpt_request.blocked_count */
    struct cpti_blocked *next_spare;
    struct cpti_blocked *next_made;
};

/* What the blocked step of @task waits for has come. Lock held. */
void cpti_blocked_end(struct cpt_task *task);

/* The request is gone, and its arena about to go: ends what its waits were made of. */
void cpti_blocked_deinit(struct cpt_request *request);

#endif
