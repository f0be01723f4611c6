/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* running.h - the requests of a service that are not answered yet; see running.c */
#ifndef CPT_RUNNING_LIST_H
#define CPT_RUNNING_LIST_H

#include "framework/pool/lock.h"

#include <stdint.h>
#include <sys/queue.h>

struct cpti_serving;

/* One request, while it is listed. */
struct cpti_running {
    TAILQ_ENTRY(cpti_running) link;
    uint64_t id;       /* of the service; from the beginning of the request */
    uint64_t begin_ns; /* cpti_coarse_ns() */
};

enum { CPTI_RUNNING_LISTS = 16 }; /* a power of 2; threads seldom meet at a lock */

/* Requests by their ids, the oldest first in each list. */
struct cpti_running_lists {
    struct {
        struct cpti_lock lock;
        TAILQ_HEAD(, cpti_running) requests; /* guarded by lock */
    } lists[CPTI_RUNNING_LISTS];
};

void cpti_running_init(struct cpti_running_lists *running);
void cpti_running_deinit(struct cpti_running_lists *running);

/* @serving is about to be launched, and about to be answered. No lock held. */
void cpti_running_add(struct cpti_serving *serving);
void cpti_running_remove(struct cpti_serving *serving);

#endif
