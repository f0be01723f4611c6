/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * delay.h - what an experiment adds before a task; see delay.c
 *
 * A request that is delayed is always traced: one that is not tests for nothing.
 */
#ifndef CPT_DELAY_H
#define CPT_DELAY_H

#include "cpt/cpt_name.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cpt_task;

enum {
    CPTI_DELAY_NS_MAX = 100000000,        /* whatever a file or a caller says */
    CPTI_DELAY_ASKED_NS_MAX = 1000000000, /* of all tasks of a request together, if a
                                     caller says it */
    CPTI_DELAY_LEFT_FACTOR = 4 /* a task is delayed only if more than four times the
                                  delay is left until the deadline */
};

/* In memory of the request that it belongs to, whose components share it. */
struct cpti_delay {
    uint64_t frame; /* cpti_delay_frame() of the tasks that are delayed … */
    uint64_t ns;    /* … by this, each time that one of them begins */
    bool burns;     /* by computing, not by waiting */
    atomic_uint_least64_t *left_ns; /* for more tasks; relaxed; NULL: no limit */
    /* Relaxed; of the service: tasks that were delayed, and that could not be. */
    atomic_uint_least64_t *delayed_count;
    atomic_uint_least64_t *spared_count;
};

/* A number for the name of a frame, never 0: what services tell each other. */
static inline uint64_t cpti_delay_frame(struct cpt_bytes name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < name.bytes; i++) {
        hash = (hash ^ (unsigned char)name.data[i]) * UINT64_C(0x100000001b3);
    }
    hash ^= hash >> 29;
    return hash != 0 ? hash : 1;
}

/* @task begins, of a request that has a delay: it is delayed if it is meant. */
void cpti_delay_begin(struct cpt_task *task);

#endif
