/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_sweep.c - the throughput of a service that computes, by its sampling rate
 *
 *      bench_sweep [--json[=FILE]] [ROUNDS]
 *
 * A service of 20 tasks, each of which computes for 5 us and needs the one before,
 * serves requests one after the other on the thread that calls it; those that are
 * traced are logged, to a sink that only counts. Every way gets the same number of
 * requests in each round, in an order that rotates. The figure is processor time, of
 * all threads, so that other programs on the machine count as little as possible: a
 * service that has nothing else to wait for serves fewer requests by as much.
 *
 * The intervals are of a bootstrap over the rounds; the table at the end is Markdown.
 */
#include "tests/bench/bench.h"
#include "tests/bench/spin.h"

#include "framework/cpt_log_queue.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    ROUNDS_DEFAULT = 60,
    ROUNDS_MAX = BENCH_ROUNDS_MAX,
    REQUESTS = 2048, /* of each way in a round */
    TASKS = 20,
    TASK_NS = 5000,
    DRAWS = 1000
};

/* A sampling rate; the first is the baseline, the second shows the noise. */
struct way {
    const char *name;
    double probability; /* below 0: never */
    struct cpt_log_queue *log;
    struct cpt_service *service;
    double ns[ROUNDS_MAX]; /* a request */
};

static struct way ways[] = {
    {.name = "untraced", .probability = -1},
    {.name = "untraced, again", .probability = -1},
    {.name = "1/1", .probability = 1},
    {.name = "1/2", .probability = 1.0 / 2},
    {.name = "1/4", .probability = 1.0 / 4},
    {.name = "1/8", .probability = 1.0 / 8},
    {.name = "1/16", .probability = 1.0 / 16},
    {.name = "1/1024", .probability = 1.0 / 1024},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static uint64_t steps; /* of a task */

static void must(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "bench_sweep: %s\n", what);
        exit(1);
    }
}

/* --- The service --- */

CPT_VALUE(value0, int);
CPT_VALUE(value1, int);
CPT_VALUE(value2, int);
CPT_VALUE(value3, int);
CPT_VALUE(value4, int);
CPT_VALUE(value5, int);
CPT_VALUE(value6, int);
CPT_VALUE(value7, int);
CPT_VALUE(value8, int);
CPT_VALUE(value9, int);
CPT_VALUE(value10, int);
CPT_VALUE(value11, int);
CPT_VALUE(value12, int);
CPT_VALUE(value13, int);
CPT_VALUE(value14, int);
CPT_VALUE(value15, int);
CPT_VALUE(value16, int);
CPT_VALUE(value17, int);
CPT_VALUE(value18, int);

static cpt_status compute(struct cpt_task *task)
{
    (void)task;
    bench_spin(steps);
    return CPT_OK;
}

static cpt_status answer(struct cpt_task *task)
{
    bench_spin(steps);
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

#define TASK_(n, after)                                                                \
    {                                                                                  \
        "part " #n, compute, CPT_GIVES(value##n), CPT_NEEDS(after)                     \
    }

static const struct cpt_task_def tasks[TASKS] = {
    TASK_(0, rpc_request),
    TASK_(1, value0),
    TASK_(2, value1),
    TASK_(3, value2),
    TASK_(4, value3),
    TASK_(5, value4),
    TASK_(6, value5),
    TASK_(7, value6),
    TASK_(8, value7),
    TASK_(9, value8),
    TASK_(10, value9),
    TASK_(11, value10),
    TASK_(12, value11),
    TASK_(13, value12),
    TASK_(14, value13),
    TASK_(15, value14),
    TASK_(16, value15),
    TASK_(17, value16),
    TASK_(18, value17),
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(value18)}};
static const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request),
                                       CPT_GIVES(rpc_reply), tasks, TASKS};

static cpt_status drop(void *context, const void *block, size_t bytes)
{
    (void)context;
    (void)block;
    (void)bytes;
    return CPT_OK;
}

static void open_way(struct way *way, const struct cpt_plan *plan)
{
    const struct cpt_log_queue_options log = {
        .struct_bytes = sizeof log, .sink = drop, .record_count_max = 2 * REQUESTS};
    struct cpt_service_options options = {.struct_bytes = sizeof options,
                                          .name = "A",
                                          .probability = way->probability,
                                          .seed = 1};

    way->log = cpt_log_queue_new(&log, NULL);
    options.log = way->log;
    way->service = cpt_service_new(&options, NULL);
    must(way->log != NULL && way->service != NULL &&
             cpt_service_method_add(way->service, "/", plan, NULL) == CPT_OK,
         "no service");
}

static void check_way(struct way *way)
{
    struct cpt_log_queue_counts counts;

    cpt_log_queue_counts(way->log, &counts);
    must(counts.dropped_count == 0, "records were dropped");
}

static void ignore(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    must(outbound->http_status == 200, "a request failed");
}

/* --- Measuring --- */

static double cpu_ns(void)
{
    struct timespec time;

    must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0, "no clock");
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double serve(const struct way *way)
{
    const double begin = cpu_ns();

    for (int i = 0; i < REQUESTS; i++) {
        struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                      .verb = cpt_bytes_of("GET")};

        inbound.coin = cpt_service_coin(way->service);
        cpt_service_serve(way->service, &inbound, ignore, NULL);
    }
    cpt_log_queue_flush(way->log);
    return (cpu_ns() - begin) / REQUESTS;
}

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The median of the ratios of the rounds in @chosen. */
static double ratio_of(const struct way *way, const size_t *chosen, size_t rounds)
{
    double ratios[ROUNDS_MAX];

    for (size_t i = 0; i < rounds; i++) {
        ratios[i] = way->ns[chosen[i]] / ways[0].ns[chosen[i]];
    }
    return bench_quantile(ratios, rounds, 0.5);
}

static void show(struct way *way, size_t rounds)
{
    static double draws[DRAWS];
    size_t chosen[ROUNDS_MAX];
    uint64_t random = 1;
    double ratio = 0;
    double low = 0;
    double high = 0;

    for (size_t i = 0; i < rounds; i++) {
        chosen[i] = i;
    }
    ratio = ratio_of(way, chosen, rounds);
    for (size_t draw = 0; draw < DRAWS; draw++) {
        for (size_t i = 0; i < rounds; i++) {
            chosen[i] = (size_t)(random_next(&random) % rounds);
        }
        draws[draw] = ratio_of(way, chosen, rounds);
    }
    low = bench_quantile(draws, DRAWS, 0.025);
    high = bench_quantile(draws, DRAWS, 0.975);
    printf("| %s | %+.2f %% (%+.2f … %+.2f) | %+.2f %% |\n", way->name,
           (ratio - 1) * 100, (low - 1) * 100, (high - 1) * 100, (1 / ratio - 1) * 100);
}

int main(int argument_count, char **arguments)
{
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    size_t rounds = ROUNDS_DEFAULT;

    bench_begin("bench_sweep", &argument_count, arguments);
    if (argument_count > 1) {
        rounds = strtoul(arguments[1], NULL, 10);
        must(rounds > 0 && rounds <= ROUNDS_MAX, "how many rounds?");
    }
    must(plan != NULL, "no plan");
    steps = bench_spin_steps(TASK_NS);
    for (size_t i = 0; i < WAYS; i++) {
        open_way(&ways[i], plan);
        (void)serve(&ways[i]); /* warms up */
    }
    for (size_t round = 0; round < rounds; round++) {
        for (size_t k = 0; k < WAYS; k++) {
            struct way *way = &ways[(round + k) % WAYS];

            way->ns[round] = serve(way);
        }
    }
    bench_title("A service that computes 100 us, processor time of a request");
    for (size_t i = 0; i < WAYS; i++) {
        check_way(&ways[i]);
        bench_rounds(ways[i].name, ways[i].ns, "ns a request",
                     i != 0 ? ways[0].name : NULL, i != 0 ? ways[0].ns : NULL, rounds);
    }
    printf("\n| traced | processor time | throughput |\n| --- | --- | --- |\n");
    for (size_t i = 1; i < WAYS; i++) {
        show(&ways[i], rounds);
    }
    for (size_t i = 0; i < WAYS; i++) {
        cpt_service_free(ways[i].service);
        cpt_log_queue_free(ways[i].log);
    }
    cpt_plan_free(plan);
    return bench_end();
}
