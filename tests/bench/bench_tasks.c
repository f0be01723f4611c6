/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_tasks.c - the cost of a task: untraced, traced, traced with its path computed
 *
 * A request of 100 empty tasks on the inline executor: a chain, where each task
 * unblocks only the next, and a fan, where one unblocks 98 and the last waits for 16 of
 * them. The baseline is the same requests untraced.
 */
#include "tests/bench/bench.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_runtime.h"

#include <stdio.h>

enum { TASKS = 100, REQUESTS = 400 };

static struct cpt_value values[TASKS];
static char names[TASKS][8];
static struct cpt_task_def chain_tasks[TASKS];
static struct cpt_task_def fan_tasks[TASKS];

static cpt_status nothing(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static void make_graphs(void)
{
    for (size_t i = 0; i < TASKS; i++) {
        (void)snprintf(names[i], sizeof names[i], "t%zu", i);
        values[i] = (struct cpt_value){names[i], sizeof(int)};
        chain_tasks[i] = (struct cpt_task_def){
            .name = names[i], .run = nothing, .gives = &values[i]};
        fan_tasks[i] = chain_tasks[i];
        chain_tasks[i].needs[0] = i != 0 ? &values[i - 1] : NULL;
        fan_tasks[i].needs[0] = i != 0 ? &values[0] : NULL;
    }
    /* No task of the fan may be useless: they are joined in groups of 15. */
    for (size_t i = 1; i < TASKS; i++) {
        if (i % 15 == 0 || i == TASKS - 1) {
            size_t count = 0;

            for (size_t k = (i - 1) / 15 * 15 + (i > 15 ? 0 : 1); k < i; k++) {
                fan_tasks[i].needs[count++] = &values[k];
            }
            fan_tasks[i].needs[count] = NULL;
        }
    }
}

struct way {
    const struct cpt_plan *plan;
    const struct cpt_clock *clock;
    int is_traced;
    int has_path;
    struct cpt_path *path;
};

static void end_request(struct cpt_request *request, void *context)
{
    struct way *way = context;

    if (way->has_path) {
        cpt_path_reset(way->path);
        (void)cpt_request_path(request, way->path, NULL);
    }
}

static void run_requests(void *context, size_t count)
{
    struct way *way = context;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = way->plan,
                                                .is_traced = way->is_traced,
                                                .clock = way->clock,
                                                .done = end_request,
                                                .context = way};

    for (size_t i = 0; i < count; i++) {
        (void)cpt_request_start(&options, NULL);
    }
}

static void compare_graph(const char *title, struct cpt_task_def *tasks)
{
    const struct cpt_graph graph = {"S", NULL, &values[TASKS - 1], tasks, TASKS};
    struct cpt_error error = {0};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, &error);
    struct way untraced = {.plan = plan};
    struct way traced = {.plan = plan, .is_traced = 1};
    struct way fast = {.plan = plan, .is_traced = 1, .clock = cpt_clock_fastest()};
    struct way with_path = {
        .plan = plan, .is_traced = 1, .has_path = 1, .path = cpt_path_new(NULL)};
    const struct bench_way ways[] = {{"untraced", run_requests, &untraced},
                                     {"traced", run_requests, &traced},
                                     {"traced, fastest clock", run_requests, &fast},
                                     {"traced, path made", run_requests, &with_path}};

    bench_title(title);
    if (plan == NULL) {
        printf("  %s\n", error.sentence);
        return;
    }
    bench_compare(&ways[0], &ways[1], REQUESTS, TASKS, "task");
    bench_compare(&ways[0], &ways[2], REQUESTS, TASKS, "task");
    bench_compare(&ways[0], &ways[3], REQUESTS, TASKS, "task");
    cpt_path_free(with_path.path);
    cpt_plan_free(plan);
}

/* The lower bound: as many calls through a pointer, each with one clock reading. */
static volatile cpt_task_fn call = nothing;

static void call_functions(void *context, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count * TASKS; i++) {
        (void)call(NULL);
    }
}

static void read_from(const struct cpt_clock *clock, size_t count)
{
    volatile uint64_t sink = 0;

    for (size_t i = 0; i < count * TASKS; i++) {
        sink = sink + cpt_clock_now_ns(clock);
    }
}

static void read_clock(void *context, size_t count)
{
    (void)context;
    read_from(cpt_clock_monotonic(), count);
}

static void read_fastest(void *context, size_t count)
{
    (void)context;
    read_from(cpt_clock_fastest(), count);
}

int main(int argument_count, char **arguments)
{
    const struct bench_way calls = {"function calls", call_functions, NULL};
    const struct bench_way clock = {"readings of the clock", read_clock, NULL};
    const struct bench_way fast = {"readings of the fastest", read_fastest, NULL};

    bench_begin("bench_tasks", &argument_count, arguments);
    make_graphs();
    compare_graph("A chain of 100 empty tasks", chain_tasks);
    compare_graph("A fan of 100 empty tasks", fan_tasks);
    bench_title("The floor");
    bench_compare(&calls, &clock, REQUESTS, TASKS, "call");
    bench_compare(&calls, &fast, REQUESTS, TASKS, "call");
    printf("  the fastest clock here: %s\n", cpt_clock_name(cpt_clock_fastest()));
    return bench_end();
}
