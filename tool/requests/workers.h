/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * workers.h - several threads that share a list of jobs
 *
 *      jobs     0 1 2 3 4 5 6 …
 *      worker 0 `---. `-----.
 *      worker 1   `-----. `-- …     a free worker takes the next job
 *
 * The messages of a job (output.h) are kept until all jobs before it have printed
 * theirs, so they come in the order of the jobs, however the threads ran.
 *
 * Threads: the tool has no others; cpti_workers_run() returns when all have ended.
 */
#ifndef CPTI_CLI_WORKERS_H
#define CPTI_CLI_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

enum { CPTI_WORKERS_MAX = 256 };

struct cpti_workers {
    size_t job_count;
    size_t worker_count; /* at most CPTI_WORKERS_MAX */
    /* Does job @job on worker @worker. After a result other than 0 the messages of
     * later jobs are dropped. */
    int (*run)(void *context, size_t worker, size_t job);
    void *context;
    const char *noun; /* "files", for the line of progress */
    bool is_silent;   /* no message is printed */
    /* If set: called when all jobs are done; whether no message is printed. */
    bool (*drops_messages)(const void *context);
};

/* Runs all jobs. 0; or -1 if no thread could be started or without memory, and then no
 * job has run. */
int cpti_workers_run(const struct cpti_workers *workers);

/* The number of processors that this process may use, at least 1. */
size_t cpti_processors(void);

#endif
