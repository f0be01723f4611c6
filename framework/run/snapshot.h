/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* snapshot.h - what a request does just now, read by another thread; see snapshot.c */
#ifndef CPT_SNAPSHOT_H
#define CPT_SNAPSHOT_H

#include "cpt/base/json_text.h"
#include "framework/run/request.h"

#include <time.h>

/* The most tasks of one run, and waits of one task, that are told. */
enum { CPTI_SNAPSHOT_TASKS_MAX = 64, CPTI_SNAPSHOT_WAITS_MAX = 64 };

/* A time for ages: cheaper than a clock of requests, and a few milliseconds old. */
static inline uint64_t cpti_coarse_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Now, as the times of @request are to be compared with it: of its clock if it is
 * traced, else by cpti_coarse_ns(). */
static inline uint64_t cpti_snapshot_now(const struct cpt_request *request)
{
    return request->is_traced ? cpt_clock_now_ns(request->clock) : cpti_coarse_ns();
}

/* Writes the members `tasks`, `tasks_left_out` and `holds` of @request to @text. The
 * caller knows that it is not freed meanwhile, and has no lock of a request. */
void cpti_snapshot_write(struct cpt_request *request, struct cpti_json *text);

#endif
