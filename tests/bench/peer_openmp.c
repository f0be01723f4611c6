/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * peer_openmp.c - the graphs as OpenMP tasks with dependencies
 *
 * A dependency is the address of the output of a task. OpenMP keeps no graph, so all
 * tasks are created for each request. The threads are created once.
 */
#include "tests/bench/peers.h"

#include <stdlib.h>

struct openmp {
    const struct bench_job *job;
    struct bench_job kept;
    char *given; /* its address represents the output of task i */
};

static void *open_openmp(const struct bench_job *job)
{
    struct openmp *openmp = calloc(1, sizeof *openmp);

    if (openmp == NULL) {
        return NULL;
    }
    openmp->kept = *job;
    openmp->job = &openmp->kept;
    openmp->given = calloc(job->shape->task_count, 1);
    if (openmp->given == NULL) {
        free(openmp);
        return NULL;
    }
    return openmp;
}

static void close_openmp(void *opened)
{
    struct openmp *openmp = opened;

    free(openmp->given);
    free(openmp);
}

static void run_request(const struct bench_job *job, char *given)
{
    const struct bench_shape *shape = job->shape;
    const uint32_t *needs = shape->needs;

    (void)given; /* the compiler does not count the addresses below */
    for (uint32_t i = 0; i < shape->task_count; i++) {
        const uint32_t begin = shape->need_begin[i];
        const uint32_t end = shape->need_begin[i + 1];

        if (begin == end) {
#pragma omp task firstprivate(i) depend(out : given[i])
            job->body(i);
        } else if (end == begin + 1) {
#pragma omp task firstprivate(i) depend(in : given[needs[begin]]) depend(out : given[i])
            job->body(i);
        } else {
#pragma omp task firstprivate(i) depend(iterator(uint32_t k = begin                    \
                                                 : end),                               \
                                        in                                             \
                                        : given[needs[k]]) depend(out                  \
                                                                  : given[i])
            job->body(i);
        }
    }
#pragma omp taskwait
}

static void run_openmp(void *opened, size_t request_count)
{
    const struct openmp *openmp = opened;

#pragma omp parallel num_threads(openmp->job->worker_count)
#pragma omp single
    for (size_t i = 0; i < request_count; i++) {
        run_request(openmp->job, openmp->given);
    }
}

const struct bench_peer bench_peers_openmp[] = {
    {"OpenMP tasks", BENCH_RUNS_FRESH | BENCH_RUNS_THREADS, open_openmp, run_openmp,
     close_openmp, NULL},
    {0}};
