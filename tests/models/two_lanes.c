/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * two_lanes.c - what the second lane of an executor is worth, in logical time
 *
 *      two_lanes [SEED]
 *
 * Requests come at random (Poisson) and take 1 ms on average; half of them have slack.
 * The same requests are served twice, with one lane and with two, so that each of them
 * can be compared with itself. Nothing is measured by a clock of the machine.
 *
 * service: a service, its tasks run by a queue executor on a clock that the program
 * sets, with LIMIT_MS as the longest wait.
 *
 *      those without slack   their p99 falls, and each ends no later than with one
 *                            lane, but for a work that runs as it comes
 *      each with slack       ends no later than with one lane + its bound, likewise,
 *                            nor + its slack + its bound
 *
 * pool: works of a pool with WORKERS threads. A work blocks its thread until the
 * program has come to its end; the program moves its time only when as many works run
 * as can. Which runs first is thus the pool's choice, and the time it takes is not.
 * Those with slack may wait for ever, but all of them run.
 *
 * Exit status: 0; 1: one of these does not hold.
 */
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US       UINT64_C(1000)
#define MS       (1000 * US)
#define LIMIT_MS 20

enum {
    SERVICE_REQUESTS = 30000,
    POOL_REQUESTS = 4000,
    WORKERS = 4,
    TAKES_MAX_MS = 8,
    SLACK_MIN_MS = 8,
    SLACK_MAX_MS = 60
};

/* --- Requests --- */

struct request {
    struct cpt_work work; /* first: of the pool */
    uint64_t arrival_ns;
    uint64_t takes_ns;
    uint64_t slack_ns; /* 0: none */
    uint64_t end_ns;   /* of the run that is going on */
    bool is_over;      /* of the pool: its time has come */
};

static struct request requests[SERVICE_REQUESTS];
static size_t request_count;
static uint64_t random_state;

/* 0 to 1, without 0 (SplitMix64). */
static double draw(void)
{
    uint64_t mixed = random_state += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    mixed ^= mixed >> 31;
    return ((double)(mixed >> 11) + 1) / 9007199254740992.0;
}

/* @count requests for @servers, of which each is busy @load of its time. */
static void draw_requests(size_t count, double load, unsigned servers)
{
    double at_ns = 1e9;

    request_count = count;
    for (size_t i = 0; i < count; i++) {
        const double takes_ns = -log(draw()) * 1e6;

        at_ns += -log(draw()) * 1e6 / (load * servers);
        memset(&requests[i], 0, sizeof requests[i]);
        requests[i].arrival_ns = (uint64_t)at_ns;
        requests[i].takes_ns = (uint64_t)takes_ns < TAKES_MAX_MS * MS
                                   ? (uint64_t)takes_ns + 1
                                   : TAKES_MAX_MS * MS;
        if (draw() < 0.5) {
            requests[i].slack_ns =
                (uint64_t)(SLACK_MIN_MS + draw() * (SLACK_MAX_MS - SLACK_MIN_MS)) * MS;
        }
    }
}

/* --- What is found --- */

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* The 99th percentile of the latencies of those with slack, or without, in ms. */
static double p99_ms(bool has_slack)
{
    static uint64_t latencies[SERVICE_REQUESTS];
    size_t count = 0;
    size_t at = 0;

    for (size_t i = 0; i < request_count; i++) {
        if ((requests[i].slack_ns != 0) == has_slack) {
            latencies[count++] = requests[i].end_ns - requests[i].arrival_ns;
        }
    }
    qsort(latencies, count, sizeof latencies[0], compare_numbers);
    at = count != 0 ? (count - 1) * 99 / 100 : 0;
    return (double)latencies[at] / 1e6;
}

struct found {
    double plain_ms; /* the p99 of those without slack … */
    double slack_ms; /* … and of those with it */
};

static struct found look(void)
{
    return (struct found){p99_ms(false), p99_ms(true)};
}

/* Requests that end later than they may, if they ended at @before with one lane. */
static size_t count_too_late(const uint64_t *before)
{
    size_t count = 0;

    for (size_t i = 0; i < request_count; i++) {
        const uint64_t slack_ns = requests[i].slack_ns;
        const uint64_t bound_ns = slack_ns < LIMIT_MS * MS ? slack_ns : LIMIT_MS * MS;
        const uint64_t wait_ns = bound_ns + TAKES_MAX_MS * MS; /* and for what runs */
        const uint64_t late_ns =
            requests[i].end_ns > before[i] ? requests[i].end_ns - before[i] : 0;

        count += late_ns > wait_ns || (slack_ns != 0 && late_ns > slack_ns + bound_ns);
    }
    return count;
}

static bool is_good = true;

/* A gain is more than a hundredth, so that it is not one of chance. */
static void show(const char *name, double load, struct found one, struct found two,
                 size_t late_count)
{
    const bool has_gained = two.plain_ms < 0.99 * one.plain_ms;

    is_good = is_good && has_gained && late_count == 0;
    printf("| %-7s | %.2f | %6.2f | %6.2f | %6.2f | %6.2f | %zu |%s\n", name, load,
           one.plain_ms, two.plain_ms, one.slack_ms, two.slack_ms, late_count,
           has_gained && late_count == 0 ? "" : " <-- wrong");
}

/* --- A service on a queue --- */

static uint64_t now_ns; /* the clock that all read */

static uint64_t read_clock(void *context)
{
    (void)context;
    return now_ns;
}

static const struct cpt_clock logical_clock = {.now_ns = read_clock};

static cpt_status work(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    uint64_t takes_ns = 0;

    memcpy(&takes_ns, request->body.data, sizeof takes_ns);
    now_ns += takes_ns;
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("done");
    return CPT_OK;
}

static void note_end(void *context, const struct cpt_outbound *outbound)
{
    (void)outbound;
    ((struct request *)context)->end_ns = now_ns;
}

/* At its arrival, though the queue may be at work until later. */
static void arrive(struct cpt_service *service, struct request *request)
{
    const uint64_t busy_until_ns = now_ns;
    char slack[24];
    struct cpt_inbound inbound = {
        .method = cpt_bytes_of("/work"),
        .body = {(const char *)&request->takes_ns, sizeof request->takes_ns},
        .peer_address = cpt_bytes_of("127.0.0.1")};

    if (request->slack_ns != 0) {
        (void)snprintf(slack, sizeof slack, "%llu",
                       (unsigned long long)(request->slack_ns / US));
        inbound.slack = cpt_bytes_of(slack);
    }
    now_ns = request->arrival_ns;
    cpt_service_serve(service, &inbound, note_end, request);
    now_ns = busy_until_ns > now_ns ? busy_until_ns : now_ns;
}

static void serve_all(struct cpt_service *service, struct cpt_executor *queue)
{
    now_ns = 0;
    for (size_t i = 0; i < request_count;) {
        while (i < request_count && requests[i].arrival_ns <= now_ns) {
            arrive(service, &requests[i++]);
        }
        if (cpt_queue_executor_run(queue, 1) == 0 && i < request_count) {
            now_ns = requests[i].arrival_ns;
        }
    }
    while (cpt_queue_executor_run(queue, 1) != 0) {
    }
}

static struct found run_service(uint64_t wait_ns_max)
{
    static const struct cpt_task_def rows[] = {
        {"work", work, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
    static const struct cpt_graph graph = {"S", CPT_GIVES(rpc_request),
                                           CPT_GIVES(rpc_reply), rows, 1};
    const struct cpt_queue_executor_options queue_options = {
        .struct_bytes = sizeof queue_options, .clock = &logical_clock};
    struct cpt_executor *queue = cpt_queue_executor_new(&queue_options, NULL);
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "S",
                                                .role = CPT_ROLE_INNER,
                                                .probability = -1,
                                                .executor = queue,
                                                .clock = &logical_clock,
                                                .slack_wait_ns_max = wait_ns_max};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_service *service = cpt_service_new(&options, NULL);

    if (queue == NULL || plan == NULL || service == NULL ||
        cpt_service_method_add(service, "/work", plan, NULL) != CPT_OK) {
        exit(2);
    }
    serve_all(service, queue);
    cpt_service_free(service);
    cpt_plan_free(plan);
    cpt_queue_executor_free(queue);
    return look();
}

static void try_service(double load)
{
    static uint64_t before[SERVICE_REQUESTS];
    struct found one;
    struct found two;

    draw_requests(SERVICE_REQUESTS, load, 1);
    one = run_service(0);
    for (size_t i = 0; i < request_count; i++) {
        before[i] = requests[i].end_ns;
    }
    two = run_service(LIMIT_MS * MS);
    show("service", load, one, two, count_too_late(before));
}

/* --- Works of a pool --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t has_begun = PTHREAD_COND_INITIALIZER;
static pthread_cond_t has_moved = PTHREAD_COND_INITIALIZER;
static struct request *running[WORKERS];
static unsigned running_count;

static void run_on_pool(struct cpt_work *pool_work)
{
    struct request *request = (struct request *)pool_work;

    (void)pthread_mutex_lock(&lock);
    request->end_ns = now_ns + request->takes_ns;
    running[running_count++] = request;
    (void)pthread_cond_signal(&has_begun);
    while (!request->is_over) {
        (void)pthread_cond_wait(&has_moved, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* The running one that ends first. Lock held. */
static unsigned first_to_end(void)
{
    unsigned first = 0;

    for (unsigned i = 1; i < running_count; i++) {
        first = running[i]->end_ns < running[first]->end_ns ? i : first;
    }
    return first;
}

/* Ends it, and moves the time there. Lock held. */
static void end_one(unsigned i)
{
    now_ns = running[i]->end_ns;
    running[i]->is_over = true;
    running[i] = running[--running_count];
    (void)pthread_cond_broadcast(&has_moved);
}

static struct found run_pool(bool has_lanes)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = WORKERS};
    struct cpt_executor *pool = cpt_pool_new(&options, NULL);
    size_t open_count = 0; /* have come, and not ended */
    size_t i = 0;

    if (pool == NULL) {
        exit(2);
    }
    now_ns = 0;
    (void)pthread_mutex_lock(&lock);
    while (i < request_count || open_count != 0) {
        struct request *next = i < request_count ? &requests[i] : NULL;

        while (running_count < (open_count < WORKERS ? open_count : WORKERS)) {
            (void)pthread_cond_wait(&has_begun, &lock);
        }
        if (running_count != 0 &&
            (next == NULL || running[first_to_end()]->end_ns <= next->arrival_ns)) {
            end_one(first_to_end());
            open_count--;
            continue;
        }
        now_ns = next->arrival_ns;
        next->work.run = run_on_pool;
        next->is_over = false;
        open_count++;
        i++;
        (void)pthread_mutex_unlock(&lock);
        if (has_lanes && next->slack_ns != 0) {
            pool->submit_later(pool, &next->work, UINT64_MAX);
        } else {
            pool->submit(pool, &next->work);
        }
        (void)pthread_mutex_lock(&lock);
    }
    (void)pthread_mutex_unlock(&lock);
    cpt_pool_free(pool);
    return look();
}

static void try_pool(double load)
{
    struct found one;
    struct found two;

    draw_requests(POOL_REQUESTS, load, WORKERS);
    one = run_pool(false);
    two = run_pool(true);
    show("pool", load, one, two, 0);
}

int main(int argc, char **argv)
{
    static const double loads[] = {0.8, 0.85, 0.9, 0.95};

    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 29;
    printf("seed %llu; p99 in ms, with one lane and with two\n\n",
           (unsigned long long)random_state);
    printf("|         | load | without slack | two lanes | with slack | two lanes | "
           "too late |\n| --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        try_service(loads[i]);
    }
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        try_pool(loads[i]);
    }
    return is_good ? 0 : 1;
}
