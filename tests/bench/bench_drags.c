/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_drags.c - the largest requests whose paths have drags
 *
 * Drags are made before the answer is sent, with the lock of the request, of no more
 * than CPTI_DRAG_RECORDS_MAX records. So this is how long they can hold both up: a
 * service serves requests of just as many, with drags and without, and the answer is
 * later by the difference. Records of several shapes:
 *
 *      chain      of tasks, each with one input
 *      inputs     tasks with 16 inputs each, from those before them
 *      calls      of one task, one after the other
 *      bursts     of one task: calls at once, and a wait for all of them
 *
 * The transport answers at once. Times are those of the processor.
 */
#include "tests/bench/bench.h"

#include "framework/cpt_calls.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/run/recording_open.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    RECORDS = CPTI_DRAG_RECORDS_MAX,
    TASKS_MAX = RECORDS / 2,
    INPUTS = 16,
    BURST = 4000,
    ROUNDS = 15
};

static void must(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "bench_drags: %s\n", what);
        exit(1);
    }
}

static uint64_t cpu_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- Graphs --- */

static struct cpt_value values[TASKS_MAX];
static char names[TASKS_MAX][8];
static struct cpt_task_def tasks[TASKS_MAX + 1];

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->outcome = CPT_OUTCOME_OK;
    return CPT_OK;
}

static cpt_status nothing(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

/* @count tasks, and one that answers by @run; each has @inputs of those before it. */
static struct cpt_graph tasks_of(size_t count, size_t inputs, cpt_task_fn run)
{
    for (size_t i = 0; i <= count; i++) {
        const bool is_last = i == count;

        (void)snprintf(names[i % TASKS_MAX], sizeof names[0], "t%zu", i);
        values[i % TASKS_MAX] = (struct cpt_value){names[i % TASKS_MAX], sizeof(int)};
        tasks[i] =
            (struct cpt_task_def){.name = is_last ? "answer" : names[i],
                                  .run = is_last ? run : nothing,
                                  .gives = is_last ? CPT_GIVES(rpc_reply) : &values[i]};
        tasks[i].needs[0] = i == 0 ? CPT_GIVES(rpc_request) : NULL;
        for (size_t k = 0; k < inputs && k < i; k++) {
            tasks[i].needs[k] = &values[i - 1 - k];
        }
    }
    return (struct cpt_graph){"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), tasks,
                              count + 1};
}

/* --- Calls --- */

static void reply_at_once(struct cpt_transport *transport,
                          struct cpt_transport_call *call)
{
    const struct cpt_transport_reply reply = {.status = CPT_OK, .http_status = 200};

    (void)transport;
    cpt_transport_complete(call, &reply);
}

static struct cpt_transport at_once = {.name = "none", .send = reply_at_once};
static const struct cpt_stub stub = {
    .name = "B: /", .target = "B", .method = "/", .transport = &at_once};

/* A call and its wait, and that it came for it. */
static cpt_status call_next(struct cpt_task *task)
{
    int *count = cpt_state(task, int);

    must(count != NULL, "out of memory");
    if (++*count > (RECORDS - 2) / 3) {
        return answer(task);
    }
    return cpt_await(task, cpt_call(task, &stub, cpt_bytes_of("")), call_next);
}

/* Calls that came for a wait, one for each of the bursts. */
static cpt_status call_many(struct cpt_task *task)
{
    int *left = cpt_state(task, int);
    int count = BURST;

    must(left != NULL, "out of memory");
    if (*left == 0) {
        *left = (RECORDS - 2 - RECORDS / BURST) / 2;
    } else if (*left == -1) {
        return answer(task);
    }
    count = *left < count ? *left : count;
    for (int i = 0; i < count; i++) {
        (void)cpt_call(task, &stub, cpt_bytes_of(""));
    }
    *left = *left == count ? -1 : *left - count;
    return cpt_await_all(task, call_many);
}

/* --- Measured --- */

static struct cpt_service *open_service(const struct cpt_plan *plan, double drag_share)
{
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "A",
                                                .role = CPT_ROLE_ENTRY,
                                                .probability = 1,
                                                .memory_bytes_max = 64 << 20,
                                                .trace_memory_bytes_max = 64 << 20,
                                                .drag_share = drag_share};
    struct cpt_service *service = cpt_service_new(&options, NULL);

    must(service != NULL && cpt_service_method_add(service, "/", plan, NULL) == CPT_OK,
         "no service");
    return service;
}

static void look(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    must(outbound->outcome == CPT_OUTCOME_OK, "a request failed");
}

static double ms_of_request(struct cpt_service *service)
{
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                        .verb = cpt_bytes_of("GET"),
                                        .coin = cpt_service_coin(service)};
    const uint64_t begin_ns = cpu_ns();

    cpt_service_serve(service, &inbound, look, NULL);
    return (double)(cpu_ns() - begin_ns) / 1e6;
}

static void seek_drag_paths(void *context, const struct cpt_counter *counter)
{
    if (strcmp(counter->name, "drag_paths") == 0) {
        *(uint64_t *)context = counter->value;
    }
}

/* What drags add to the requests of @graph, all of which have them. */
static void measure(const char *name, const struct cpt_graph *graph)
{
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, NULL);
    struct cpt_service *plain = open_service(plan, 0);
    struct cpt_service *dragged = open_service(plan, 1);
    uint64_t drag_paths = 0;
    double more[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        const double plain_ms = ms_of_request(plain);

        more[i] = ms_of_request(dragged) - plain_ms;
    }
    cpt_service_counters(dragged, seek_drag_paths, &drag_paths);
    must(drag_paths == ROUNDS, "a path is without drags");
    bench_rounds(name, more, "ms", NULL, NULL, ROUNDS);
    cpt_service_free(plain);
    cpt_service_free(dragged);
    cpt_plan_free(plan);
}

int main(int argument_count, char **arguments)
{
    struct cpt_graph graph;

    bench_begin("bench_drags", &argument_count, arguments);
    bench_title("What drags add to the largest requests that have them");
    graph = tasks_of(TASKS_MAX - 1, 1, answer);
    measure("chain", &graph);
    graph = tasks_of(RECORDS / (INPUTS + 1) - 1, INPUTS, answer);
    measure("inputs", &graph);
    graph = tasks_of(0, 1, call_next);
    measure("calls", &graph);
    graph = tasks_of(0, 1, call_many);
    measure("bursts", &graph);
    return bench_end();
}
