/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * monkey_jobs.h - what threads beside the requests do for test_monkey.c, in any order:
 * complete, answer, adopt, cancel
 *
 * Threads: any.
 */
#ifndef MONKEY_JOBS_H
#define MONKEY_JOBS_H

#include <stdatomic.h>
#include <stdbool.h>

enum job_kind { COMPLETE, ANSWER, ADOPT, CANCEL };

/* Adds a job for @of: a pending, a call, a handle. */
void add_job(enum job_kind kind, void *of);

/* Takes the job for @of; false: it was taken before. */
bool take_job(const void *of);

/* Does any job; false: there is none. */
bool do_any(void);

/* Whether there is none, and none is being done. */
bool all_is_done(void);

/* A thread that does them until @is_over. */
extern atomic_bool is_over;
void *run_beside(void *context);

/* Whether the calling thread may block in a step until end_block(): not if a pool would
 * have no thread left. Of the threads that do jobs one at a time may, as another one
 * has to do the job that ends its wait. */
bool begin_block(void);
void end_block(void);

#endif
