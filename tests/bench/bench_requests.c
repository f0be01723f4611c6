/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_requests.c - many requests at once, against one thread that serves them in turn
 *
 * A request is 20 tasks in layers of 4; each computes for 5 us. The baseline is a
 * program without a framework: a thread that takes requests from a queue and calls the
 * 20 functions one after the other.
 *
 *   throughput   2,000 requests at the beginning: the time until the last has ended,
 *                and the processor time, which other programs on the machine affect
 *                less
 *   latency      requests arrive as from many users: at times drawn before, whether or
 *                not earlier ones have ended (an open load), at a rate that keeps the
 *                one thread busy half of the time. A latency counts from the due time.
 *
 * The load comes from its own thread, which sleeps until the next request is due, in
 * both programs.
 */
#include "tests/bench/bench.h"
#include "tests/bench/shape_plan.h"
#include "tests/bench/spin.h"

#include "cpt/cpt_clock.h"
#include "framework/cpt_runtime.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    ROUNDS = 9,
    TASKS = 20,
    BODY_NS = 5000,
    WORKERS = 2,
    COUNT = 2000, /* 0.2 s of computing; 0.4 s at half load */
    SERVERS_MAX = 4
};

static uint64_t spin_steps;

static uint64_t now_ns(void)
{
    return cpt_clock_now_ns(cpt_clock_monotonic());
}

static cpt_status run_task(struct cpt_task *task)
{
    (void)task;
    bench_spin(spin_steps);
    return CPT_OK;
}

/* --- One run: requests, and when each ended --- */

static struct {
    uint64_t due_ns[COUNT];
    uint64_t end_ns[COUNT];
    atomic_size_t ended_count;
    pthread_mutex_t lock;
    pthread_cond_t all_ended;
} load = {.lock = PTHREAD_MUTEX_INITIALIZER, .all_ended = PTHREAD_COND_INITIALIZER};

static void note_end(size_t index)
{
    load.end_ns[index] = now_ns();
    if (atomic_fetch_add(&load.ended_count, 1) + 1 == COUNT) {
        (void)pthread_mutex_lock(&load.lock);
        (void)pthread_cond_signal(&load.all_ended);
        (void)pthread_mutex_unlock(&load.lock);
    }
}

static void wait_for_all(void)
{
    (void)pthread_mutex_lock(&load.lock);
    while (atomic_load(&load.ended_count) != COUNT) {
        (void)pthread_cond_wait(&load.all_ended, &load.lock);
    }
    (void)pthread_mutex_unlock(&load.lock);
}

/* The server: takes a request, and calls note_end() later. */
struct server {
    const char *name;
    void (*submit)(struct server *server, size_t index);
    struct cpt_request_options options;
};

/* --- The one thread --- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    size_t submitted_count;
    int is_stopping;
} loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .has_work = PTHREAD_COND_INITIALIZER};

static void *run_loop(void *context)
{
    size_t taken_count = 0;

    (void)context;
    (void)pthread_mutex_lock(&loop.lock);
    while (!loop.is_stopping) {
        if (taken_count == loop.submitted_count) {
            (void)pthread_cond_wait(&loop.has_work, &loop.lock);
            continue;
        }
        (void)pthread_mutex_unlock(&loop.lock);
        for (int i = 0; i < TASKS; i++) {
            (void)run_task(NULL);
        }
        note_end(taken_count++ % COUNT);
        (void)pthread_mutex_lock(&loop.lock);
    }
    (void)pthread_mutex_unlock(&loop.lock);
    return NULL;
}

/* Requests arrive in the order of their numbers; a run has COUNT of them. */
static void submit_to_loop(struct server *server, size_t index)
{
    (void)server;
    (void)index;
    (void)pthread_mutex_lock(&loop.lock);
    loop.submitted_count++;
    (void)pthread_cond_signal(&loop.has_work);
    (void)pthread_mutex_unlock(&loop.lock);
}

static void stop_loop(pthread_t thread)
{
    (void)pthread_mutex_lock(&loop.lock);
    loop.is_stopping = 1;
    (void)pthread_cond_signal(&loop.has_work);
    (void)pthread_mutex_unlock(&loop.lock);
    (void)pthread_join(thread, NULL);
}

/* --- The framework --- */

static void end_request(struct cpt_request *request, void *context)
{
    (void)request;
    note_end((size_t)((uint64_t *)context - load.end_ns));
}

static void submit_to_pool(struct server *server, size_t index)
{
    struct cpt_request_options options = server->options;

    options.context = &load.end_ns[index];
    if (cpt_request_start(&options, NULL) != CPT_OK) {
        (void)fprintf(stderr, "bench_requests: a request could not be started\n");
        exit(2);
    }
}

/* --- Both loads --- */

/* The processor time of this process. */
static uint64_t busy_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Microseconds for each request: elapsed and processor time. */
static void run_burst(struct server *server, double *wall_us, double *busy_us)
{
    const uint64_t begin_ns = now_ns();
    const uint64_t begin_busy_ns = busy_ns();

    atomic_store(&load.ended_count, 0);
    for (size_t i = 0; i < COUNT; i++) {
        server->submit(server, i);
    }
    wait_for_all();
    *wall_us = (double)(now_ns() - begin_ns) / COUNT / 1e3;
    *busy_us = (double)(busy_ns() - begin_busy_ns) / COUNT / 1e3;
}

static void sleep_until(uint64_t at_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(at_ns / 1000000000u),
                                   .tv_nsec = (long)(at_ns % 1000000000u)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* A number between 0 and 1, exclusive. */
static double draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 12) + 0.5) / (double)(UINT64_C(1) << 52);
}

/* The mean and the 99th percentile of the latencies, in us. */
static void run_open(struct server *server, uint64_t seed, double *mean_us,
                     double *p99_us)
{
    static double latencies_us[COUNT];
    const double gap_ns = 2.0 * TASKS * BODY_NS;
    double at_ns = (double)now_ns() + 1e6;

    atomic_store(&load.ended_count, 0);
    for (size_t i = 0; i < COUNT; i++) {
        at_ns += -log(draw(&seed)) * gap_ns;
        load.due_ns[i] = (uint64_t)at_ns;
    }
    for (size_t i = 0; i < COUNT; i++) {
        if (load.due_ns[i] > now_ns()) {
            sleep_until(load.due_ns[i]);
        }
        server->submit(server, i);
    }
    wait_for_all();
    *mean_us = 0;
    for (size_t i = 0; i < COUNT; i++) {
        latencies_us[i] = (double)(load.end_ns[i] - load.due_ns[i]) / 1e3;
        *mean_us += latencies_us[i] / COUNT;
    }
    *p99_us = bench_quantile(latencies_us, COUNT, 0.99);
}

/* --- The program --- */

static double burst_us[SERVERS_MAX][ROUNDS];
static double burst_busy_us[SERVERS_MAX][ROUNDS];
static double open_mean_us[SERVERS_MAX][ROUNDS];
static double open_p99_us[SERVERS_MAX][ROUNDS];

static void run_rounds(struct server *servers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        run_burst(&servers[i], &burst_us[i][0], &burst_busy_us[i][0]); /* warms up */
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            const size_t s = (i + round) % count;

            run_burst(&servers[s], &burst_us[s][round], &burst_busy_us[s][round]);
            run_open(&servers[s], round + 1, &open_mean_us[s][round],
                     &open_p99_us[s][round]);
        }
    }
}

static void show(const char *title, struct server *servers, size_t count,
                 double values[][ROUNDS], const char *unit)
{
    bench_title(title);
    for (size_t i = 0; i < count; i++) {
        bench_rounds(servers[i].name, values[i], unit, i != 0 ? servers[0].name : NULL,
                     i != 0 ? values[0] : NULL, ROUNDS);
    }
}

int main(int argument_count, char **arguments)
{
    struct bench_shape *shape = bench_shape_layers("request", TASKS - 1, 4, 2);
    struct bench_graph *graph = bench_graph_new(shape, run_task);
    struct cpt_plan *plan = bench_graph_plan(graph, NULL);
    const struct cpt_pool_options pool = {.struct_bytes = sizeof pool,
                                          .worker_count = WORKERS};
    struct cpt_executor *executor = cpt_pool_new(&pool, NULL);
    struct server servers[] = {
        {.name = "one thread, in turn", .submit = submit_to_loop},
        {.name = "cpt, 2 workers", .submit = submit_to_pool},
        {.name = "cpt, 2 workers, traced", .submit = submit_to_pool}};
    const size_t count = sizeof servers / sizeof servers[0];
    pthread_t thread;

    bench_begin("bench_requests", &argument_count, arguments);
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    spin_steps = bench_spin_steps(BODY_NS);
    if (executor == NULL || pthread_create(&thread, NULL, run_loop, NULL) != 0) {
        (void)fprintf(stderr, "bench_requests: cannot start threads\n");
        return 2;
    }
    for (size_t i = 1; i < count; i++) {
        servers[i].options =
            (struct cpt_request_options){.struct_bytes = sizeof servers[i].options,
                                         .plan = plan,
                                         .executor = executor,
                                         .is_traced = i == 2,
                                         .clock = cpt_clock_fastest(),
                                         .done = end_request};
    }
    printf("a request is %u tasks of 5 us\n", shape->task_count);
    run_rounds(servers, count);
    show("2,000 requests at once", servers, count, burst_us, "us a request");
    show("2,000 requests at once, processor time", servers, count, burst_busy_us,
         "us a request");
    show("Half load, mean latency", servers, count, open_mean_us, "us");
    show("Half load, 99th percentile", servers, count, open_p99_us, "us");
    stop_loop(thread);
    cpt_pool_free(executor);
    cpt_plan_free(plan);
    bench_graph_free(graph);
    bench_shape_free(shape);
    return bench_end();
}
