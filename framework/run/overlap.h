/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * overlap.h - traced requests that overlap in time name each other
 *
 * What holds a lock or has a worker is noted as 64 bits, its *tenant*: the name of
 * the task (cpti_task_name()), and the *number* of its request if that is traced. A
 * waiter finds the trace of that request under its number, while it is one of the last
 * few thousand that began. So a request notes its trace once, and what it holds costs
 * no more than the name alone.
 *
 *      request 4711 begins    places[4711 % N] = {4711, trace}
 *      it takes a lock        holder = {name of the task, 4711}
 *      another one waits      places[4711 % N] is still that of 4711: its trace
 */
#ifndef CPT_OVERLAP_H
#define CPT_OVERLAP_H

#include "framework/run/request.h"

/* A new number for a traced request of the trace whose id ends with @trace; 0: none, as
 * that is 0. Threads: any. */
uint32_t cpti_overlap_enter(uint64_t trace);

/* The trace of the request with @number; 0: not known any more. Threads: any. */
uint64_t cpti_overlap_trace(uint32_t number);

/* The trace of request @number as @request says it: 0 if it is @request itself. */
static inline uint64_t cpti_overlap_other(const struct cpt_request *request,
                                          uint32_t number)
{
    return number != 0 && number != request->inherited.overlap_number
               ? cpti_overlap_trace(number)
               : 0;
}

/* @task, which may be NULL, as a tenant. */
static inline uint64_t cpti_tenant_of(const struct cpt_task *task)
{
    return task != NULL ? cpti_task_step(task)->name_id |
                              (uint64_t)task->request->inherited.overlap_number << 32
                        : 0;
}

static inline uint32_t cpti_tenant_name(uint64_t tenant)
{
    return (uint32_t)tenant;
}

static inline uint32_t cpti_tenant_request(uint64_t tenant)
{
    return (uint32_t)(tenant >> 32);
}

#endif
