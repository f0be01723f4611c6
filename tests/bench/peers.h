/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * peers.h - different runners of the same graphs
 *
 * A peer runs the tasks of a shape, each after those that it needs, for a given number
 * of requests. Each measurement is a process of its own (bench_graphs.c), so that the
 * threads of one peer, which may spin when idle, do not disturb another.
 *
 * A peer whose library was not found is absent.
 */
#ifndef PEERS_H
#define PEERS_H

#include "tests/bench/shapes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to run. */
struct bench_job {
    const struct bench_shape *shape;
    void (*body)(uint32_t task); /* the body of each task; called on any thread */
    unsigned worker_count;
    int is_fresh; /* the graph is built for each request */
};

enum {
    BENCH_RUNS_REUSED = 1, /* it can run a graph many times */
    BENCH_RUNS_FRESH = 2,  /* it can build one for each request */
    BENCH_RUNS_THREADS = 4 /* it can use more than one worker */
};

struct bench_peer {
    const char *name;
    unsigned can;
    /* NULL: not possible here. */
    void *(*open)(const struct bench_job *job);
    void (*run)(void *opened, size_t request_count);
    void (*close)(void *opened);
    const char *more_than; /* its cost above this other peer is reported too; or NULL */
};

/* Each list ends with a peer without a name. */
extern const struct bench_peer bench_peers_loop[];
extern const struct bench_peer bench_peers_cpt[];
extern const struct bench_peer bench_peers_openmp[];
extern const struct bench_peer bench_peers_tbb[];
extern const struct bench_peer bench_peers_taskflow[];
extern const struct bench_peer bench_peers_dispatch[];

#ifdef __cplusplus
}
#endif

#endif
