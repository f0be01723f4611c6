/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_work.h - the threads that answer what takes time, and the one that watches files
 *
 * Jobs are in two lists: those that are new, and those of which it is known that they
 * read files. See web_server.h.
 *
 * Threads: any but the workers.
 */
#ifndef CPTI_CLI_WEB_WORK_H
#define CPTI_CLI_WEB_WORK_H

#include "tool/web/web_site.h"

/* Jobs that wait or run; more are refused. */
enum { CPTI_WEB_JOBS_MAX = 32 };

struct cpti_web_work;

/* Memory of its submitter, until `done` is called. */
struct cpti_web_job {
    struct cpti_web_job *next;
    struct cpt_bytes path;
    struct cpt_bytes query;
    atomic_bool is_unwanted; /* set by any thread: the answer is no longer wanted */
    /* Called once, on a worker, with an answer whose body it frees or keeps. */
    void (*done)(struct cpti_web_job *job, struct cpti_web_answer *answer);
};

/* Starts the threads. NULL with the error printed. */
struct cpti_web_work *cpti_web_work_new(struct cpti_web_site *site);

/* False: there are too many; `done` is not called. */
bool cpti_web_work_submit(struct cpti_web_work *work, struct cpti_web_job *job);

/* Ends the threads; what runs is told that it is unwanted. All jobs are done before it
 * returns. NULL is fine. */
void cpti_web_work_free(struct cpti_web_work *work);

#endif
